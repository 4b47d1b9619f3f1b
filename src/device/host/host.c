/* host.c - the CPU as a device: kernels are shared objects, memory is memory.
 *
 * What the machine is comes from /proc/cpuinfo and sysconf. Compiled code is loaded from a memfd where the system has
 * them, so that it needs no file system that allows execution; else from a file that is removed again at once.
 *
 * Addresses are pointers. Blocks are aligned to 256 bytes, charged in units of 256 to device.memory, whose parent is
 * the account that the device was opened with: device memory is the machine's memory here. What the device needs for
 * itself is charged to that account directly.
 *
 * A kernel that crashes takes the process with it; nothing here can help that. The code cache's checksums and the check
 * of the ELF header below keep damaged code from being run.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/machine.h"
#include "base/mutex.h"
#include "device/host/host_int.h"

enum {
    ALIGN = 256,
    PAGE = 4096,
    MAPPED_MIN = 1 << 20, /* mem_alloc gives whole pages from here on */
    LOCAL_MIN = 128 << 10,
    LOCAL_MAX = 1 << 20,
    MEMFD_EXEC = 16, /* MFD_EXEC of Linux 6.3: wanted where the system makes memory files non-executable by default */
};

/* ---- what the machine is --------------------------------------------------------------------------- */

typedef struct Cpu {
    char model[96];
    char arch[64];
    uint64_t features; /* hash of model and features: equal where -march=native means the same */
} Cpu;

static void read_cpu(Cpu *c) {
    *c = (Cpu){0};
    struct utsname u;
    bool known = uname(&u) == 0;
    snprintf(c->arch, sizeof c->arch, "%.60s", known ? u.machine : "unknown");
    FILE *f = fopen("/proc/cpuinfo", "re");
    char *line = NULL;
    size_t size = 0;
    while (f && getline(&line, &size, f) > 0) {
        if (line[0] == '\n') break; /* the first processor speaks for all */
        char *colon = strchr(line, ':');
        if (!colon) continue;
        char *value = colon + 1 + strspn(colon + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        bool model = strncmp(line, "model name", 10) == 0, flags = strncmp(line, "flags", 5) == 0;
        if (model) snprintf(c->model, sizeof c->model, "%.95s", value);
        if (flags && strstr(value, " avx2")) snprintf(c->arch, sizeof c->arch, "avx2");
        if (flags && strstr(value, " avx512f")) snprintf(c->arch, sizeof c->arch, "avx512");
        static const char *const telling[] = {"model", "cpu family", "flags", "CPU ", "Features"};
        for (int64_t i = 0; i < ARRAY_LEN(telling); i++) {
            if (strncmp(line, telling[i], strlen(telling[i])) == 0)
                c->features = hash_u64(c->features ^ checksum64(value, (int64_t)strlen(value)));
        }
    }
    free(line);
    if (f) fclose(f);
    if (!c->model[0]) snprintf(c->model, sizeof c->model, "%.60s processor", c->arch);
}

static void probe(void (*add)(void *ctx, const DeviceEntry *e), void *ctx) {
    Cpu cpu;
    read_cpu(&cpu);
    DeviceEntry entry = {.id = "host", .state = "ready", .kind = DEVICE_HOST, .memory_bytes = machine_memory_bytes()};
    snprintf(entry.name, sizeof entry.name, "%s", cpu.model);
    char path[HOST_PATH_MAX];
    entry.usable = host_compiler_find(path, sizeof path, entry.state, sizeof entry.state);
    if (entry.usable)
        snprintf(entry.detail, sizeof entry.detail, "%s, %d processors, compiler %.150s", cpu.arch, cpu_count(), path);
    add(ctx, &entry);
}

/* ---- memory ---------------------------------------------------------------------------------------- */

/* mem_alloc aligns to 64 bytes, or to pages. Small blocks are moved up, with their start kept just before them. */
static void *block_new(int64_t bytes, Err *e) {
    if (bytes >= MAPPED_MIN) return mem_alloc(NULL, bytes, e);
    char *base = mem_alloc(NULL, bytes + ALIGN, e);
    if (!base) return NULL;
    char *p = base + (ALIGN - (uintptr_t)base % ALIGN); /* at least 64 bytes up */
    memcpy(p - sizeof base, &base, sizeof base);
    return p;
}

static void block_free(void *p, int64_t bytes) {
    if (bytes >= MAPPED_MIN) {
        mem_free(NULL, p, bytes);
        return;
    }
    char *base;
    memcpy(&base, (char *)p - sizeof base, sizeof base);
    mem_free(NULL, base, bytes + ALIGN);
}

static Status host_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    *out = 0;
    if (bytes < 0 || bytes > INT64_MAX / 4) return device_charge(d, -1, e);
    bytes = align_up(MAX_OF(bytes, 1), ALIGN);
    TRY(device_charge(d, bytes, e));
    void *p = block_new(bytes, e);
    if (!p) {
        mem_discharge(&d->memory, bytes);
        return ST_ERROR;
    }
    *out = (DevPtr)(uintptr_t)p;
    return ST_OK;
}

static void host_free(Device *d, DevPtr p, int64_t bytes) {
    if (!p) return;
    bytes = align_up(MAX_OF(bytes, 1), ALIGN);
    block_free((void *)(uintptr_t)p, bytes);
    mem_discharge(&d->memory, bytes);
}

static Status host_span_new(Device *d, int64_t bytes, int64_t *most, DevPtr *out, Err *e) {
    *out = 0;
    TRY(device_charge(d, bytes, e));
    void *p = mem_span_new(NULL, bytes, most, e);
    if (!p) mem_discharge(&d->memory, bytes);
    *out = (DevPtr)(uintptr_t)p;
    return p ? ST_OK : ST_ERROR;
}

static Status host_span_grow(Device *d, DevPtr p, int64_t had, int64_t bytes, Err *e) {
    TRY(device_charge(d, bytes - had, e));
    Status st = mem_span_grow(NULL, (void *)(uintptr_t)p, had, bytes, e);
    if (st != ST_OK) mem_discharge(&d->memory, bytes - had);
    return st;
}

static void host_span_shrink(Device *d, DevPtr p, int64_t had, int64_t bytes) {
    mem_span_shrink(NULL, (void *)(uintptr_t)p, had, bytes);
    mem_discharge(&d->memory, had - bytes);
}

static void host_span_free(Device *d, DevPtr p, int64_t bytes, int64_t most) {
    if (!p) return;
    mem_span_free(NULL, (void *)(uintptr_t)p, bytes, most);
    mem_discharge(&d->memory, bytes);
}

/* All host memory is as good as pinned; it is charged as host memory. */
static Status host_alloc_pinned(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e) {
    *host = NULL;
    HostDevice *h = host_of(d);
    if (bytes < 0 || bytes > INT64_MAX / 4) return err_oom(e);
    bytes = align_up(MAX_OF(bytes, 1), ALIGN);
    TRY(mem_charge(h->account, bytes, e));
    *host = block_new(bytes, e);
    if (!*host) {
        mem_discharge(h->account, bytes);
        return ST_ERROR;
    }
    if (dev) *dev = (DevPtr)(uintptr_t)*host;
    return ST_OK;
}

static void host_free_pinned(Device *d, void *host, int64_t bytes) {
    if (!host) return;
    bytes = align_up(MAX_OF(bytes, 1), ALIGN);
    block_free(host, bytes);
    mem_discharge(host_of(d)->account, bytes);
}

static Status host_map(Device *d, void *host, int64_t bytes, DevPtr *out, Err *e) {
    (void)d, (void)bytes, (void)e;
    *out = (DevPtr)(uintptr_t)host;
    return ST_OK;
}

static void host_unmap(Device *d, void *host, int64_t bytes) { (void)d, (void)host, (void)bytes; }

static Status host_memory_used(Device *d, int64_t *free_bytes, int64_t *total, Err *e) {
    *total = d->info.memory_bytes;
    FILE *f = fopen("/proc/meminfo", "re");
    if (!f) return err_errno(e, errno, "open", "/proc/meminfo");
    char line[256];
    long long kb = -1;
    while (kb < 0 && fgets(line, sizeof line, f)) {
        if (sscanf(line, "MemAvailable: %lld", &kb) != 1) kb = -1;
    }
    fclose(f);
    if (kb < 0) return err_set(e, ERR_SYSTEM, "device \"host\": /proc/meminfo does not tell the memory available");
    *free_bytes = (int64_t)kb * 1024;
    return ST_OK;
}

/* ---- modules --------------------------------------------------------------------------------------- */

/* Whether all that the ELF header announces is there: the loader maps the file, and one that is cut off ends the
 * process with SIGBUS. */
static bool elf_complete(const void *code, int64_t n) {
    Elf64_Ehdr h;
    if (!code || n < (int64_t)sizeof h) return false;
    memcpy(&h, code, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_type != ET_DYN)
        return false;
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > (uint64_t)n) return false;
    if ((uint64_t)n - h.e_phoff < (uint64_t)h.e_phnum * sizeof(Elf64_Phdr)) return false;
    for (int i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, (const char *)code + h.e_phoff + (uint64_t)i * sizeof p, sizeof p);
        if (p.p_offset > (uint64_t)n || p.p_filesz > (uint64_t)n - p.p_offset) return false;
    }
    return true;
}

static Status load_error(Err *e, const char *what) {
    return err_set(e, ERR_SYSTEM, "device \"host\": loading a kernel failed: %s", what ? what : "unknown reason");
}

/* Loads from memory, if it can. The descriptor must outlive the library: the loader takes an equal path for the same
 * library. */
static bool load_memfd(DevModule *m, const void *code, int64_t n) {
    m->fd = memfd_create("stele-kernel", MFD_CLOEXEC | MEMFD_EXEC);
    if (m->fd < 0 && errno == EINVAL) m->fd = memfd_create("stele-kernel", MFD_CLOEXEC);
    if (m->fd < 0) return false;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", m->fd);
    if (host_write_fd(m->fd, path, code, n, NULL) == ST_OK) m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return m->handle != NULL;
}

static Status load_file(DevModule *m, const void *code, int64_t n, Err *e) {
    char dir[HOST_PATH_MAX], path[HOST_PATH_MAX + 16];
    TRY(host_make_dir(dir, sizeof dir, e));
    snprintf(path, sizeof path, "%s/kernel.so", dir);
    Status st = host_write_file(path, code, n, e);
    if (st == ST_OK && !(m->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL))) st = load_error(e, dlerror());
    host_remove_dir(dir);
    return st;
}

static void host_unload(Device *d, DevModule *m) {
    if (!m) return;
    MemAccount *account = host_of(d)->account;
    while (m->kernels) {
        DevKernel *k = m->kernels;
        m->kernels = k->next;
        mem_free(account, k, (int64_t)sizeof *k);
    }
    if (m->handle) dlclose(m->handle);
    if (m->fd >= 0) close(m->fd);
    mutex_destroy(&m->lock);
    mem_free(account, m, (int64_t)sizeof *m);
}

static Status host_load(Device *d, const void *code, int64_t n, DevModule **out, Err *e) {
    HostDevice *h = host_of(d);
    *out = NULL;
    if (!elf_complete(code, n)) return load_error(e, "the code is not a complete shared object");
    DevModule *m = mem_calloc(h->account, (int64_t)sizeof *m, e);
    if (!m) return ST_ERROR;
    m->host = h;
    mutex_init(&m->lock, RANK_HOST_MODULE);
    if (!load_memfd(m, code, n)) { /* if the code is to blame, the file will tell */
        if (m->fd >= 0) close(m->fd);
        m->fd = -1;
        if (load_file(m, code, n, e) != ST_OK) {
            host_unload(d, m);
            return ST_ERROR;
        }
    }
    *out = m;
    return ST_OK;
}

static Status host_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    *out = NULL;
    void *symbol = dlsym(m->handle, name);
    if (!symbol) return err_set(e, ERR_SYSTEM, "device \"host\": kernel \"%s\" not found in its module", name);
    KernelFn fn;
    static_assert(sizeof fn == sizeof symbol, "POSIX");
    memcpy(&fn, &symbol, sizeof fn);
    mutex_lock(&m->lock);
    DevKernel *k = m->kernels;
    while (k && k->fn != fn) k = k->next;
    if (!k && (k = mem_calloc(m->host->account, (int64_t)sizeof *k, e))) {
        *k = (DevKernel){.next = m->kernels, .module = m, .fn = fn};
        m->kernels = k;
    }
    mutex_unlock(&m->lock);
    *out = k;
    return k ? ST_OK : ST_ERROR;
}

static int64_t host_resident_groups(DevKernel *k, int32_t group_size, int64_t local_bytes) {
    (void)group_size, (void)local_bytes;
    return k->module->host->threads;
}

/* ---- the device ------------------------------------------------------------------------------------ */

static void host_close(Device *d) {
    HostDevice *h = host_of(d);
    mem_free(h->account, h, (int64_t)sizeof *h);
}

static const DeviceOps host_ops = {
    .version = DEVICE_VERSION,
    .close = host_close,
    .alloc = host_alloc,
    .free = host_free,
    .alloc_pinned = host_alloc_pinned,
    .free_pinned = host_free_pinned,
    .map_host = host_map,
    .unmap_host = host_unmap,
    .memory_used = host_memory_used,
    .span_new = host_span_new,
    .span_grow = host_span_grow,
    .span_shrink = host_span_shrink,
    .span_free = host_span_free,
    .queue_new = host_queue_new,
    .queue_free = host_queue_free,
    .copy_in = host_copy_in,
    .copy_out = host_copy_out,
    .copy = host_copy,
    .fill = host_fill,
    .launch = host_launch,
    .sync = host_sync,
    .finish = host_finish,
    .event_new = host_event_new,
    .event_free = host_event_free,
    .event_record = host_event_record,
    .event_wait = host_event_wait,
    .event_sync = host_event_sync,
    .event_ns = host_event_ns,
    .compile = host_compile,
    .load = host_load,
    .unload = host_unload,
    .kernel = host_kernel,
    .resident_groups = host_resident_groups,
};

static void fill_info(HostDevice *h, const Cpu *cpu) {
    DeviceInfo *i = &h->device.info;
    snprintf(i->id, sizeof i->id, "host");
    snprintf(i->name, sizeof i->name, "%s", cpu->model);
    snprintf(i->arch, sizeof i->arch, "%s", cpu->arch);
    uint64_t key = hash_u64(cpu->features) ^ host_compiler_flags_hash(&h->compiler);
    snprintf(i->compiler, sizeof i->compiler, "%.60s; %.40s; %016llx", h->compiler.version, cpu->model,
             (unsigned long long)key);
    struct utsname u;
    if (uname(&u) == 0) snprintf(i->driver, sizeof i->driver, "%.30s %.30s", u.sysname, u.release);
    i->kind = DEVICE_HOST;
    i->shares_memory = i->native_threads = i->can_map = i->concurrent = true;
    i->span_unit = PAGE;
    i->memory_bytes = machine_memory_bytes();
    i->units = h->threads;
    i->warp = i->group_max = i->group_rows = i->group_calls = i->items_per_unit = 1;
    i->measure_bytes = INT64_C(1) << 30;
    int64_t l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    i->local_bytes = l2 < LOCAL_MIN ? LOCAL_MIN : MIN_OF(l2, LOCAL_MAX);
    i->cache_bytes = l3 > 0 ? l3 : MAX_OF(l2, 0);
}

static Status host_open(int index, Pool *pool, MemAccount *account, Device **out, Err *e) {
    (void)index;
    *out = NULL;
    HostDevice *h = mem_calloc(account, (int64_t)sizeof *h, e);
    if (!h) return ST_ERROR;
    h->device.ops = &host_ops;
    h->pool = pool;
    h->threads = pool ? pool_threads(pool) : 1;
    h->account = account;
    mem_account_init(&h->device.memory, account, "device host", 0, "device_memory_limit");
    char reason[256];
    Status st = ST_OK;
    if (!host_compiler_find(h->compiler.path, sizeof h->compiler.path, reason, sizeof reason)) {
        st = err_set(e, ERR_SYSTEM, "device \"host\" cannot be used: %s", reason);
    }
    if (st == ST_OK) st = host_compiler_open(&h->compiler, e);
    if (st != ST_OK) {
        host_close(&h->device);
        return st;
    }
    Cpu cpu;
    read_cpu(&cpu);
    fill_info(h, &cpu);
    *out = &h->device;
    return ST_OK;
}

const DeviceDriver device_driver_host = {DEVICE_VERSION,      "host",           probe, host_open,
                                         .kind = DEVICE_HOST, .sql_name = "cpu"};
