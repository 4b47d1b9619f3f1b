/* fake_cuda.c - libcuda and libnvrtc for tests: a shared object with the functions that src/device/cuda calls, on host
 * memory.
 *
 * Work is done at once; a stream only pretends to be busy. The n-th call can be made to fail; a failing release
 * releases all the same, as the real driver does when it reports an earlier error. Wrong use is refused as the real
 * driver refuses it: no context, unknown pointers, overlapping registrations, copies across the border of a
 * registration. Code is text: a kernel exists when its name is in it. "add_k": dst[i] = src[i] + k for 64-bit dst, src,
 * n, k. "crash": an illegal address. With $FAKE_CUDA_LANES (the folder tests/lanes) real kernels are compiled by the
 * host's C++ compiler, and run lane by lane: see the README there.
 */
#include "fake_cuda.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lanes/lanes_run.h"
#include "device/cuda/cuda_api.h"

struct CuCtx_st {
    int refs;
};
enum { FUNCTIONS = 32 }; /* of a module */
struct CuMod_st {
    char *text;
    void *code;
    struct CuFunc_st {
        struct CuMod_st *m;
        int kind;
        int raised;
        void (*run)(const void *);
    } functions[FUNCTIONS];
    int n;
};
struct CuStream_st {
    int busy;
};
struct CuEvent_st {
    bool recorded;
    CuStream s;
};
struct Range {
    struct Range *next;
    char *at;
    size_t n;
};
struct Mapping {
    struct Mapping *next;
    char *at;
    size_t n;
    struct Memory *memory;
    bool open;
};
struct Memory {
    size_t n;
    int refs;
}; /* what cuMemCreate made: lives while its handle or a mapping does */
enum { GRANULARITY = 2 << 20 };

FakeCuda *fake_cuda(void);
static FakeCuda state = {.version = 13000, .devices = 1, .param_info = 1};
FakeCuda *fake_cuda(void) { return &state; }

static const char *lanes_folder(void) { return getenv("FAKE_CUDA_LANES"); }
static size_t device_memory(void) { return lanes_folder() ? (size_t)8 << 30 : 8u << 20; }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CuCtx_st primary;
static struct Range *chunks, *pinned, *regions, *reserved;
static struct Mapping *mappings;
static _Thread_local CuContext current;

static const char *scratch_folder(void) {
    const char *tmp = getenv("TMPDIR");
    return tmp ? tmp : "/tmp";
}
/* With lanes: the first launch of calls in a process is a line of the file "bulks" in $TMPDIR, so that tests know that
 * they have tested something. */
static void tell_of_bulks(void) {
    static bool told; /* under lock */
    char path[512];
    snprintf(path, sizeof path, "%s/bulks", scratch_folder());
    FILE *f = told ? NULL : fopen(path, "a");
    if (!f) return;
    told = fprintf(f, "kernels run calls\n") > 0;
    fclose(f);
}

static CuResult count_call(void) {
    int64_t n = atomic_fetch_add(&state.calls, 1) + 1;
    if (atomic_load(&state.sticky)) return atomic_load(&state.sticky);
    if (n != state.fail_at) return CU_SUCCESS;
    if (state.fail_result >= 700 && state.fail_result < 800) atomic_store(&state.sticky, state.fail_result);
    return state.fail_result;
}
#define COUNT()                          \
    do {                                 \
        CuResult r_ = count_call();      \
        if (r_ != CU_SUCCESS) return r_; \
    } while (0)
#define COUNT_IN_CONTEXT()                          \
    do {                                            \
        if (current != &primary || !primary.refs) { \
            atomic_fetch_add(&state.no_context, 1); \
            return 201;                             \
        }                                           \
        COUNT();                                    \
    } while (0)

static void add_range(struct Range **list, void *at, size_t n) {
    struct Range *r = malloc(sizeof *r);
    if (!r) abort();
    pthread_mutex_lock(&lock);
    *r = (struct Range){*list, at, n};
    *list = r;
    pthread_mutex_unlock(&lock);
}
static size_t remove_range(struct Range **list, const void *at) {
    size_t n = 0;
    pthread_mutex_lock(&lock);
    for (struct Range **r = list; *r; r = &(*r)->next) {
        if ((*r)->at != at) continue;
        struct Range *gone = *r;
        n = gone->n;
        *r = gone->next;
        free(gone);
        break;
    }
    pthread_mutex_unlock(&lock);
    return n;
}
/* Whether [at, at + n) lies in one range of the list; *touches: whether it has a byte of any. */
static bool inside(struct Range *list, const void *p, size_t n, bool *touches) {
    const char *at = p;
    bool in = false;
    *touches = false;
    pthread_mutex_lock(&lock);
    for (struct Range *r = list; r; r = r->next) {
        if (at >= r->at && at + n <= r->at + r->n) in = true;
        if (at < r->at + r->n && at + n > r->at) *touches = true;
    }
    pthread_mutex_unlock(&lock);
    return in;
}
/* [at, at + n) is mapped and open, in one piece or several. */
static bool in_mappings(const char *at, size_t n) {
    pthread_mutex_lock(&lock);
    for (struct Mapping *m = mappings; m && n > 0;) {
        if (!m->open || at < m->at || at >= m->at + m->n) {
            m = m->next;
            continue;
        }
        size_t here = (size_t)(m->at + m->n - at);
        at += here < n ? here : n;
        n -= here < n ? here : n;
        m = mappings;
    }
    pthread_mutex_unlock(&lock);
    return n == 0;
}
static bool device_range(CuDeviceptr p, size_t n) {
    if (lanes_folder()) return true; /* constants of a module are memory of its library */
    bool touches;
    void *at = (void *)p;
    if (in_mappings(at, n)) return true;
    return inside(chunks, at, n, &touches) || inside(pinned, at, n, &touches) || inside(regions, at, n, &touches);
}
static bool host_range(const void *p, size_t n) {
    bool touches;
    return inside(regions, p, n, &touches) || !touches;
}

/* ---- driver and devices ------------------------------------------------------------- */

CuResult cuInit(unsigned flags) { return flags ? CU_INVALID_VALUE : state.init_result; }
CuResult cuDriverGetVersion(int *v) {
    *v = state.version;
    return CU_SUCCESS;
}
CuResult cuGetErrorName(CuResult r, const char **out) {
    switch (r) {
    case CU_INVALID_VALUE: *out = "CUDA_ERROR_INVALID_VALUE"; break;
    case CU_OUT_OF_MEMORY: *out = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case CU_NO_DEVICE: *out = "CUDA_ERROR_NO_DEVICE"; break;
    case CU_ILLEGAL_ADDRESS: *out = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case CU_LAUNCH_FAILED: *out = "CUDA_ERROR_LAUNCH_FAILED"; break;
    default: return CU_INVALID_VALUE;
    }
    return CU_SUCCESS;
}
CuResult cuGetErrorString(CuResult r, const char **out) {
    *out = r == CU_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "fake text";
    return CU_SUCCESS;
}
CuResult cuDeviceGetCount(int *n) {
    COUNT();
    *n = state.devices;
    return CU_SUCCESS;
}
CuResult cuDeviceGet(CuDevice *d, int i) {
    COUNT();
    *d = i;
    return i < state.devices ? CU_SUCCESS : 101;
}
CuResult cuDeviceGetName(char *s, int n, CuDevice d) {
    COUNT();
    snprintf(s, (size_t)n, "Fake %d", d);
    return CU_SUCCESS;
}
CuResult cuDeviceTotalMem_v2(size_t *n, CuDevice d) {
    (void)d;
    COUNT();
    *n = device_memory();
    return CU_SUCCESS;
}
CuResult cuDeviceGetAttribute(int *v, int a, CuDevice d) {
    (void)d;
    COUNT();
    switch (a) {
    case CU_ATTR_MAX_THREADS_PER_BLOCK: *v = 1024; break;
    case CU_ATTR_MAX_SHARED_PER_BLOCK: *v = 49152; break;
    case CU_ATTR_WARP_SIZE: *v = 32; break;
    case CU_ATTR_MULTIPROCESSORS: *v = lanes_folder() ? 1 : 10; break;
    case CU_ATTR_COMPUTE_MODE: *v = state.compute_mode; break;
    case CU_ATTR_MEMORY_CLOCK_KHZ: *v = 1000000; break;
    case CU_ATTR_MEMORY_BUS_BITS: *v = 512; break;
    case CU_ATTR_L2_BYTES: *v = 1 << 20; break;
    case CU_ATTR_THREADS_PER_MULTIPROCESSOR: *v = 2048; break;
    case CU_ATTR_CC_MAJOR: *v = 9; break;
    case CU_ATTR_CC_MINOR: *v = 0; break;
    case CU_ATTR_MAX_SHARED_OPTIN: *v = 232448; break;
    case CU_ATTR_VIRTUAL_MEMORY: *v = !state.no_virtual; break;
    default: *v = 1;
    }
    return CU_SUCCESS;
}
CuResult cuDevicePrimaryCtxRetain(CuContext *c, CuDevice d) {
    (void)d;
    COUNT();
    primary.refs++;
    atomic_fetch_add(&state.contexts, 1);
    *c = &primary;
    return CU_SUCCESS;
}
CuResult cuDevicePrimaryCtxRelease_v2(CuDevice d) {
    (void)d;
    if (!primary.refs) return 201;
    primary.refs--;
    atomic_fetch_sub(&state.contexts, 1);
    return count_call();
}
CuResult cuCtxGetCurrent(CuContext *c) {
    COUNT();
    *c = current;
    return CU_SUCCESS;
}
CuResult cuCtxSetCurrent(CuContext c) {
    current = c;
    return count_call();
}

/* ---- memory ---------------------------------------------------------------------------- */

CuResult cuMemGetInfo_v2(size_t *f, size_t *t) {
    COUNT_IN_CONTEXT();
    *t = device_memory();
    *f = *t - (size_t)atomic_load(&state.device_bytes) % *t;
    return CU_SUCCESS;
}
CuResult cuMemAlloc_v2(CuDeviceptr *p, size_t n) {
    COUNT_IN_CONTEXT();
    atomic_fetch_add(&state.chunk_calls, 1);
    if (state.memory_limit && atomic_load(&state.device_bytes) + (int64_t)n > state.memory_limit)
        return CU_OUT_OF_MEMORY;
    void *at = aligned_alloc(512, (n + 511) / 512 * 512);
    if (!at) return CU_OUT_OF_MEMORY;
    add_range(&chunks, at, n);
    atomic_fetch_add(&state.chunks, 1);
    atomic_fetch_add(&state.device_bytes, (int64_t)n);
    *p = (CuDeviceptr)(uintptr_t)at;
    return CU_SUCCESS;
}
CuResult cuMemFree_v2(CuDeviceptr p) {
    void *at = (void *)p;
    size_t n = remove_range(&chunks, at);
    if (!n) return CU_INVALID_VALUE;
    free(at);
    atomic_fetch_sub(&state.chunks, 1);
    atomic_fetch_sub(&state.device_bytes, (int64_t)n);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
/* Virtual memory: refused as the documentation says, and what is not mapped or not open cannot be touched. */
static bool whole(size_t n) { return n > 0 && n % GRANULARITY == 0; }
static bool kind_ok(const CuMemoryKind *k) {
    return k->type == CU_ALLOCATION_PINNED && k->exported_as == 0 && k->location.kind == CU_LOCATION_DEVICE &&
           k->location.id == 0 && !k->security && k->flags.usage == 0;
}
CuResult cuMemGetAllocationGranularity(size_t *n, const CuMemoryKind *kind, int option) {
    COUNT_IN_CONTEXT();
    if (!kind_ok(kind) || option != CU_GRANULARITY_MINIMUM) return CU_INVALID_VALUE;
    *n = GRANULARITY;
    return CU_SUCCESS;
}
CuResult cuMemAddressReserve(CuDeviceptr *p, size_t n, size_t align, CuDeviceptr hint, unsigned long long flags) {
    COUNT_IN_CONTEXT();
    if (!whole(n) || (align & (align - 1)) || hint || flags) return CU_INVALID_VALUE;
    if (state.address_limit && n > (size_t)state.address_limit) return CU_OUT_OF_MEMORY;
    char *at = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return CU_OUT_OF_MEMORY;
    add_range(&reserved, at, n);
    atomic_fetch_add(&state.reserved, 1);
    *p = (CuDeviceptr)(uintptr_t)at;
    return CU_SUCCESS;
}
static bool mapped_in(const char *at, size_t n) {
    bool any = false;
    pthread_mutex_lock(&lock);
    for (struct Mapping *m = mappings; m; m = m->next) any |= at < m->at + m->n && at + n > m->at;
    pthread_mutex_unlock(&lock);
    return any;
}
CuResult cuMemAddressFree(CuDeviceptr p, size_t n) {
    bool touches;
    char *at = (void *)p;
    if (!inside(reserved, at, n, &touches) || mapped_in(at, n) || remove_range(&reserved, at) != n)
        return CU_INVALID_VALUE;
    munmap(at, n);
    atomic_fetch_sub(&state.reserved, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuMemCreate(CuMemory *out, size_t n, const CuMemoryKind *kind, unsigned long long flags) {
    COUNT_IN_CONTEXT();
    if (!whole(n) || !kind_ok(kind) || flags) return CU_INVALID_VALUE;
    if (state.memory_limit && atomic_load(&state.device_bytes) + (int64_t)n > state.memory_limit)
        return CU_OUT_OF_MEMORY;
    struct Memory *m = malloc(sizeof *m);
    if (!m) return CU_OUT_OF_MEMORY;
    *m = (struct Memory){n, 1};
    atomic_fetch_add(&state.device_bytes, (int64_t)n);
    atomic_fetch_add(&state.memories, 1);
    *out = (CuMemory)(uintptr_t)m;
    return CU_SUCCESS;
}
static void let_go(struct Memory *m) {
    if (--m->refs > 0) return;
    atomic_fetch_sub(&state.device_bytes, (int64_t)m->n);
    atomic_fetch_sub(&state.memories, 1);
    free(m);
}
CuResult cuMemRelease(CuMemory m) {
    let_go((struct Memory *)(uintptr_t)m);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuMemMap(CuDeviceptr p, size_t n, size_t offset, CuMemory memory, unsigned long long flags) {
    COUNT_IN_CONTEXT();
    struct Memory *m = (struct Memory *)(uintptr_t)memory;
    bool touches;
    char *at = (void *)p;
    if (!whole(n) || p % 4096 || offset || flags || n != m->n || !inside(reserved, at, n, &touches) || mapped_in(at, n))
        return CU_INVALID_VALUE;
    struct Mapping *x = malloc(sizeof *x);
    if (!x) return CU_OUT_OF_MEMORY;
    m->refs++;
    pthread_mutex_lock(&lock);
    *x = (struct Mapping){mappings, at, n, m, false};
    mappings = x;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&state.mappings, 1);
    return CU_SUCCESS;
}
static struct Mapping **mapping_at(const char *at, size_t n) {
    struct Mapping **x = &mappings;
    while (*x && ((*x)->at != at || (*x)->n != n)) x = &(*x)->next;
    return x;
}
CuResult cuMemSetAccess(CuDeviceptr p, size_t n, const CuAccess *access, size_t count) {
    COUNT_IN_CONTEXT();
    if (count != 1 || access->location.kind != CU_LOCATION_DEVICE || access->location.id != 0 ||
        access->flags != CU_ACCESS_READ_WRITE)
        return CU_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct Mapping *x = *mapping_at((void *)p, n);
    if (x) x->open = mprotect(x->at, x->n, PROT_READ | PROT_WRITE) == 0;
    pthread_mutex_unlock(&lock);
    return x ? CU_SUCCESS : CU_INVALID_VALUE;
}
CuResult cuMemUnmap(CuDeviceptr p, size_t n) {
    pthread_mutex_lock(&lock);
    struct Mapping **at = mapping_at((void *)p, n), *x = *at;
    if (x) *at = x->next;
    pthread_mutex_unlock(&lock);
    if (!x) return CU_INVALID_VALUE;
    if (mmap(x->at, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
    let_go(x->memory);
    free(x);
    atomic_fetch_sub(&state.mappings, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuMemHostAlloc(void **p, size_t n, unsigned flags) {
    COUNT_IN_CONTEXT();
    if (flags != 3) return CU_INVALID_VALUE;
    atomic_fetch_add(&state.pinned_calls, 1);
    *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    if (!*p) return CU_OUT_OF_MEMORY;
    add_range(&pinned, *p, n);
    atomic_fetch_add(&state.pinned, 1);
    return CU_SUCCESS;
}
CuResult cuMemFreeHost(void *p) {
    if (!remove_range(&pinned, p)) return CU_INVALID_VALUE;
    free(p);
    atomic_fetch_sub(&state.pinned, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuMemHostGetDevicePointer_v2(CuDeviceptr *d, void *h, unsigned flags) {
    COUNT_IN_CONTEXT();
    bool touches;
    if (flags || (!inside(pinned, h, 1, &touches) && !inside(regions, h, 1, &touches))) return CU_INVALID_VALUE;
    *d = (CuDeviceptr)(uintptr_t)h;
    return CU_SUCCESS;
}
CuResult cuMemHostRegister_v2(void *p, size_t n, unsigned flags) {
    COUNT_IN_CONTEXT();
    bool touches;
    if (flags != 3 || !n || (uintptr_t)p % 4096 || n % 4096) return CU_INVALID_VALUE;
    inside(regions, p, n, &touches);
    if (touches) return CU_ALREADY_REGISTERED;
    add_range(&regions, p, n);
    atomic_fetch_add(&state.regions, 1);
    return CU_SUCCESS;
}
CuResult cuMemHostUnregister(void *p) {
    if (!remove_range(&regions, p)) return 713;
    atomic_fetch_sub(&state.regions, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}

/* ---- streams and events ------------------------------------------------------------------- */

CuResult cuMemcpyHtoDAsync_v2(CuDeviceptr dst, const void *src, size_t n, CuStream s) {
    (void)s;
    COUNT_IN_CONTEXT();
    if (!device_range(dst, n) || !host_range(src, n)) return CU_INVALID_VALUE;
    memcpy((void *)dst, src, n);
    return CU_SUCCESS;
}
CuResult cuMemcpyBatchAsync_v2(CuDeviceptr *to, CuDeviceptr *from, size_t *bytes, size_t n, CuCopyAttributes *a,
                               size_t *first, size_t n_a, CuStream s) {
    (void)s;
    COUNT_IN_CONTEXT();
    if (n == 0 || n_a != 1 || first[0] != 0 || a->source_order != CU_COPY_SOURCE_IN_STREAM_ORDER || a->flags != 0)
        return CU_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == 0 || !device_range(to[i], bytes[i]) || !host_range((void *)from[i], bytes[i]))
            return CU_INVALID_VALUE;
    for (size_t i = n; i-- > 0;) memcpy((void *)to[i], (void *)from[i], bytes[i]); /* order is not promised */
    atomic_fetch_add(&state.batches, 1);
    return CU_SUCCESS;
}
CuResult cuMemcpyDtoHAsync_v2(void *dst, CuDeviceptr src, size_t n, CuStream s) {
    (void)s;
    COUNT_IN_CONTEXT();
    if (!device_range(src, n) || !host_range(dst, n)) return CU_INVALID_VALUE;
    memcpy(dst, (void *)src, n);
    return CU_SUCCESS;
}
CuResult cuMemcpyDtoDAsync_v2(CuDeviceptr dst, CuDeviceptr src, size_t n, CuStream s) {
    (void)s;
    COUNT_IN_CONTEXT();
    if (!device_range(src, n) || !device_range(dst, n)) return CU_INVALID_VALUE;
    memmove((void *)dst, (void *)src, n);
    return CU_SUCCESS;
}
CuResult cuMemsetD8Async(CuDeviceptr dst, unsigned char byte, size_t n, CuStream s) {
    (void)s;
    COUNT_IN_CONTEXT();
    if (!device_range(dst, n)) return CU_INVALID_VALUE;
    memset((void *)dst, byte, n);
    return CU_SUCCESS;
}
CuResult cuStreamCreate(CuStream *s, unsigned flags) {
    COUNT_IN_CONTEXT();
    if (flags != CU_STREAM_NON_BLOCKING) return CU_INVALID_VALUE;
    *s = calloc(1, sizeof **s);
    if (!*s) return CU_OUT_OF_MEMORY;
    atomic_fetch_add(&state.streams, 1);
    return CU_SUCCESS;
}
CuResult cuStreamDestroy_v2(CuStream s) {
    free(s);
    atomic_fetch_sub(&state.streams, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuStreamQuery(CuStream s) {
    COUNT_IN_CONTEXT();
    if (s->busy == 0) return CU_SUCCESS;
    if (s->busy > 0) s->busy--;
    return CU_NOT_READY;
}
CuResult cuStreamSynchronize(CuStream s) {
    COUNT_IN_CONTEXT();
    s->busy = 0;
    return CU_SUCCESS;
}
CuResult cuStreamWaitEvent(CuStream s, CuEvent ev, unsigned flags) {
    (void)s;
    (void)ev;
    COUNT_IN_CONTEXT();
    return flags ? CU_INVALID_VALUE : CU_SUCCESS;
}
CuResult cuEventCreate(CuEvent *ev, unsigned flags) {
    COUNT_IN_CONTEXT();
    if (flags) return CU_INVALID_VALUE;
    *ev = calloc(1, sizeof **ev);
    if (!*ev) return CU_OUT_OF_MEMORY;
    atomic_fetch_add(&state.events, 1);
    return CU_SUCCESS;
}
CuResult cuEventDestroy_v2(CuEvent ev) {
    free(ev);
    atomic_fetch_sub(&state.events, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuEventRecord(CuEvent ev, CuStream s) {
    COUNT_IN_CONTEXT();
    ev->recorded = true;
    ev->s = s;
    return CU_SUCCESS;
}
CuResult cuEventQuery(CuEvent ev) { return ev->recorded ? cuStreamQuery(ev->s) : CU_SUCCESS; }
CuResult cuEventSynchronize(CuEvent ev) {
    COUNT_IN_CONTEXT();
    return ev->recorded ? CU_SUCCESS : 400;
}
CuResult cuEventElapsedTime(float *ms, CuEvent a, CuEvent b) {
    COUNT_IN_CONTEXT();
    if (!a->recorded || !b->recorded) return 400;
    *ms = 1.5f;
    return CU_SUCCESS;
}

/* ---- modules and kernels ---------------------------------------------------------------------- */

CuResult cuModuleLoadData(CuModule *m, const void *image) {
    COUNT_IN_CONTEXT();
    *m = calloc(1, sizeof **m);
    if (!*m) return CU_OUT_OF_MEMORY;
    (*m)->text = strdup(image);
    Dl_info here; /* what is loaded calls what is in this library */
    if (lanes_folder() && dladdr(&state, &here)) (void)dlopen(here.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    if (lanes_folder() && !((*m)->code = dlopen((*m)->text, RTLD_NOW | RTLD_LOCAL))) {
        fprintf(stderr, "fake_cuda: %s\n", dlerror());
        abort(); /* a bulk would go on without the device */
    }
    atomic_fetch_add(&state.modules, 1);
    return CU_SUCCESS;
}
CuResult cuModuleUnload(CuModule m) {
    if (m->code) dlclose(m->code);
    free(m->text);
    free(m);
    atomic_fetch_sub(&state.modules, 1);
    COUNT_IN_CONTEXT();
    return CU_SUCCESS;
}
CuResult cuModuleGetGlobal_v2(CuDeviceptr *p, size_t *n, CuModule m, const char *name) { /* its modules have none */
    COUNT_IN_CONTEXT();
    Dl_info info;
    const ElfW(Sym) *symbol = NULL;
    void *at = m->code ? dlsym(m->code, name) : NULL;
    if (!at || !dladdr1(at, &info, (void **)(uintptr_t)&symbol, RTLD_DL_SYMENT) || !symbol) return 500;
    *p = (CuDeviceptr)(uintptr_t)at;
    *n = symbol->st_size;
    return CU_SUCCESS;
}
CuResult cuModuleGetFunction(CuFunction *f, CuModule m, const char *name) {
    COUNT_IN_CONTEXT();
    if (m->code) {
        void *at = dlsym(m->code, name);
        if (!at || m->n == FUNCTIONS) return 500;
        *f = &m->functions[m->n++];
        (*f)->m = m;
        memcpy(&(*f)->run, &at, sizeof at);
        (*f)->kind = strcmp(name, "bulk_main") == 0;
        return CU_SUCCESS;
    }
    if (!strstr(m->text, name)) return 500;
    int kind = strcmp(name, "add_k") == 0 ? 1 : strcmp(name, "crash") == 0 ? 2 : 0;
    m->functions[kind].m = m;
    m->functions[kind].kind = kind;
    *f = &m->functions[kind];
    return CU_SUCCESS;
}
CuResult cuFuncGetAttribute(int *v, int a, CuFunction f) {
    (void)f;
    COUNT_IN_CONTEXT();
    *v = 1024;
    return a == CU_FUNC_SHARED_BYTES ? CU_SUCCESS : CU_INVALID_VALUE;
}
CuResult cuFuncSetAttribute(CuFunction f, int a, int v) {
    COUNT_IN_CONTEXT();
    if (a != CU_FUNC_MAX_DYNAMIC_SHARED_BYTES || v + 1024 > 232448) return CU_INVALID_VALUE;
    f->raised = v;
    atomic_fetch_add(&state.raise_calls, 1);
    return CU_SUCCESS;
}
CuResult cuFuncGetParamInfo(CuFunction f, size_t i, size_t *offset, size_t *n) {
    COUNT_IN_CONTEXT();
    const unsigned long *bytes = f->run && !i ? dlsym(f->m->code, "lanes_params") : NULL;
    if (bytes) {
        *offset = 0;
        *n = *bytes;
        return CU_SUCCESS;
    }
    if (i || f->kind == 0 || !state.param_info) return CU_INVALID_VALUE;
    *offset = 0;
    *n = f->kind == 1 ? 32 : 8;
    return CU_SUCCESS;
}
CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CuFunction f, int size, size_t local) {
    COUNT_IN_CONTEXT();
    if (local + 1024 > 49152 && !f->raised) return CU_INVALID_VALUE;
    *n = 2048 / size;
    return CU_SUCCESS;
}
CuResult cuLaunchKernel(CuFunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CuStream s, void **params, void **extra) {
    COUNT_IN_CONTEXT();
    if (gx == 0 || gy != 1 || gz != 1 || bx == 0 || by != 1 || bz != 1 || extra) return CU_INVALID_VALUE;
    if (shared + 1024 > 49152 && !f->raised) return CU_INVALID_VALUE;
    state.launched_groups = gx;
    state.launched_size = bx;
    state.launched_local = shared;
    s->busy = state.busy;
    if (f->run) {
        pthread_mutex_lock(&lock);
        if (f->kind == 1) tell_of_bulks();
        lanes_run(f->run, params[0], gx, bx);
        pthread_mutex_unlock(&lock);
        return CU_SUCCESS;
    }
    if (f->kind == 1) {
        uint64_t p[4];
        memcpy(p, params[0], sizeof p);
        for (uint64_t i = 0; i < p[2]; i++) ((uint64_t *)p[0])[i] = ((uint64_t *)p[1])[i] + p[3];
    }
    if (f->kind == 2) atomic_store(&state.sticky, CU_ILLEGAL_ADDRESS); /* seen by the next call */
    return CU_SUCCESS;
}

/* ---- compiler ------------------------------------------------------------------------------------ */

typedef struct Program {
    char *source;
} Program;
const char *nvrtcGetErrorString(int r);
int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *a);
int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n, const char *const *h,
                       const char *const *names);
int nvrtcDestroyProgram(Program **p);
int nvrtcCompileProgram(Program *p, int n, const char *const *options);
int nvrtcGetPTXSize(Program *p, size_t *n);
int nvrtcGetPTX(Program *p, char *out);
int nvrtcGetCUBINSize(Program *p, size_t *n);
int nvrtcGetCUBIN(Program *p, char *out);
int nvrtcGetProgramLogSize(Program *p, size_t *n);
int nvrtcGetProgramLog(Program *p, char *out);

const char *nvrtcGetErrorString(int r) { return r == 6 ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR"; }
int nvrtcVersion(int *major, int *minor) {
    *major = 12;
    *minor = 4;
    return 0;
}
int nvrtcGetNumSupportedArchs(int *n) {
    *n = 3;
    return 0;
}
int nvrtcGetSupportedArchs(int *a) {
    a[0] = 90;
    a[1] = 60;
    a[2] = 80;
    return 0;
}
int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n, const char *const *h,
                       const char *const *names) {
    (void)name;
    (void)h;
    (void)names;
    if (n || count_call() != CU_SUCCESS) return 1;
    *p = calloc(1, sizeof **p);
    if (!*p) return 1;
    (*p)->source = strdup(source);
    atomic_fetch_add(&state.programs, 1);
    return 0;
}
int nvrtcDestroyProgram(Program **p) {
    free((*p)->source);
    free(*p);
    atomic_fetch_sub(&state.programs, 1);
    return 0;
}
/* What a C++ compiler of the host cannot read, in its words. */
static char *in_host_words(const char *source) {
    static const char *const words[][2] = {
        {"extern __shared__", "extern"},
        {"const __grid_constant__ KernelParams kp", "const KernelParams &kp"},
        {"asm(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(", "lanes_below_to(("},
        {"asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(", "lanes_number_to(("},
    };
    size_t n = 0, cap = strlen(source) * 2 + 1;
    char *out = malloc(cap);
    while (out && *source) {
        size_t old = 1, new = 1;
        const char *with = source;
        for (int64_t i = 0; i < ARRAY_LEN(words); i++) {
            if (strncmp(source, words[i][0], strlen(words[i][0])) != 0) continue;
            with = words[i][1];
            old = strlen(words[i][0]);
            new = strlen(with);
            break;
        }
        memcpy(out + n, with, new);
        n += new;
        source += old;
    }
    if (out) out[n] = 0;
    return out;
}
/* The code is a shared object; in its place the compiler gives its name. */
static int compile_lanes(Program *p) {
    char dir[512], line[2048];
    snprintf(dir, sizeof dir, "%s/fake_cuda_XXXXXX", scratch_folder());
    char *text = in_host_words(p->source);
    if (!text || !mkdtemp(dir)) return 6;
    snprintf(line, sizeof line, "%s/k.cc", dir);
    FILE *f = fopen(line, "w");
    if (!f) return 6;
    fprintf(f,
            "%s\nunsigned char kc_local_memory[232448] __attribute__((aligned(16)));\nextern \"C\" const unsigned long "
            "lanes_params = sizeof(KernelParams);\n",
            text);
    free(text);
    fclose(f);
    snprintf(line, sizeof line,
             "c++ -O1 -std=c++17 -w -fPIC -shared -D__CUDACC_RTC__ -include %s/lanes.h -o %s/k.so %s/k.cc",
             lanes_folder(), dir, dir);
    if (system(line) != 0) abort();
    snprintf(line, sizeof line, "%s/k.so", dir);
    free(p->source);
    p->source = strdup(line);
    return 0;
}
int nvrtcCompileProgram(Program *p, int n, const char *const *options) {
    if (lanes_folder()) return compile_lanes(p);
    state.options[0] = 0;
    for (int i = 0; i < n; i++) {
        size_t used = strlen(state.options);
        snprintf(state.options + used, sizeof state.options - used, "%s\n", options[i]);
    }
    return strstr(p->source, "#error") || count_call() != CU_SUCCESS ? 6 : 0;
}
static int size_of(Program *p, size_t *n) {
    if (count_call() != CU_SUCCESS) return 4;
    *n = strlen(p->source) + 1;
    return 0;
}
static int text_of(Program *p, char *out) {
    if (count_call() != CU_SUCCESS) return 4;
    memcpy(out, p->source, strlen(p->source) + 1);
    return 0;
}
int nvrtcGetPTXSize(Program *p, size_t *n) { return size_of(p, n); }
int nvrtcGetPTX(Program *p, char *out) { return text_of(p, out); }
int nvrtcGetCUBINSize(Program *p, size_t *n) { return size_of(p, n); }
int nvrtcGetCUBIN(Program *p, char *out) { return text_of(p, out); }
static const char messages[] = "kernel.cu(1): warning: first\nkernel.cu(2): error: second\n";
int nvrtcGetProgramLogSize(Program *p, size_t *n) {
    *n = strstr(p->source, "#error") ? sizeof messages : 1;
    return 0;
}
int nvrtcGetProgramLog(Program *p, char *out) {
    (void)p;
    memcpy(out, messages, sizeof messages);
    return 0;
}
