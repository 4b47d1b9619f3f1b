/* null.c - a device that accepts and counts everything and runs nothing.
 *
 * For tests of what the layers above ask of a device, and for measuring what they cost without one. Addresses come from
 * a counter and lead nowhere; copies to the host give zeros, so that undefined memory is never read. Everything is over
 * at once. Counters are kept under a lock and are read by their owner when nothing runs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mutex.h"
#include "device/device.h"

enum { ALIGN = 256, RESIDENT = 1024 };
static const DevPtr first_address = UINT64_C(1) << 40;

typedef struct NullDevice {
    Device device; /* first */
    MemAccount *account;
    Mutex lock; /* guards the following */
    NullCounts counts;
    DevPtr next;
} NullDevice;

/* All have the device, so that one release serves them. */
struct DevQueue {
    NullDevice *n;
};
struct DevEvent {
    NullDevice *n;
};
struct DevKernel {
    NullDevice *n;
    DevKernel *next;
};
struct DevModule {
    NullDevice *n;
    DevKernel *kernels;
};

static NullDevice *null_of(Device *d) { return (NullDevice *)d; }

static void count(NullDevice *n, int64_t *counter, int64_t by) {
    mutex_lock(&n->lock);
    *counter += by;
    mutex_unlock(&n->lock);
}

static DevPtr take_address(NullDevice *n, int64_t bytes) {
    mutex_lock(&n->lock);
    DevPtr p = n->next;
    n->next += (DevPtr)align_up(bytes + 1, ALIGN); /* never adjacent */
    mutex_unlock(&n->lock);
    return p;
}

/* ---- memory ---- */

static Status null_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    NullDevice *n = null_of(d);
    *out = 0;
    if (bytes > INT64_MAX / 4) bytes = -1;
    TRY(device_charge(d, bytes, e));
    *out = take_address(n, bytes);
    count(n, &n->counts.allocs, 1);
    count(n, &n->counts.bytes_in_use, bytes);
    return ST_OK;
}

static void null_free(Device *d, DevPtr p, int64_t bytes) {
    NullDevice *n = null_of(d);
    if (!p) return;
    mem_discharge(&d->memory, bytes);
    count(n, &n->counts.frees, 1);
    count(n, &n->counts.bytes_in_use, -bytes);
}

static Status null_alloc_pinned(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e) {
    NullDevice *n = null_of(d);
    *host = mem_alloc(n->account, bytes, e);
    if (!*host) return ST_ERROR;
    if (dev) *dev = take_address(n, bytes);
    return ST_OK;
}

static void null_free_pinned(Device *d, void *host, int64_t bytes) { mem_free(null_of(d)->account, host, bytes); }

static Status null_map(Device *d, void *host, int64_t bytes, DevPtr *out, Err *e) {
    (void)host, (void)e;
    *out = take_address(null_of(d), bytes);
    return ST_OK;
}

static void null_unmap(Device *d, void *host, int64_t bytes) { (void)d, (void)host, (void)bytes; }

static Status null_memory_used(Device *d, int64_t *free_bytes, int64_t *total, Err *e) {
    (void)e;
    *total = d->info.memory_bytes;
    *free_bytes = *total - atomic_load(&d->memory.used);
    return ST_OK;
}

/* ---- queues and events ---- */

static Status null_queue_new(Device *d, DevQueue **out, Err *e) {
    DevQueue *q = *out = mem_alloc(null_of(d)->account, (int64_t)sizeof *q, e);
    if (!q) return ST_ERROR;
    q->n = null_of(d);
    return ST_OK;
}

static void null_queue_free(Device *d, DevQueue *q) { mem_free(null_of(d)->account, q, (int64_t)sizeof *q); }

static Status count_copy(DevQueue *q, int64_t n, Err *e) {
    if (n < 0) return err_internal(e, "device \"null\": copy of %lld bytes", (long long)n);
    count(q->n, &q->n->counts.copies, 1);
    count(q->n, &q->n->counts.bytes_copied, n);
    return ST_OK;
}

static Status null_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    (void)dst, (void)src;
    return count_copy(q, n, e);
}

static Status null_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    (void)src;
    TRY(count_copy(q, n, e));
    if (n > 0) memset(dst, 0, (size_t)n);
    return ST_OK;
}

static Status null_copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e) {
    (void)dst, (void)src;
    return count_copy(q, n, e);
}

static Status null_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    (void)dst, (void)byte;
    if (n < 0) return err_internal(e, "device \"null\": fill of %lld bytes", (long long)n);
    count(q->n, &q->n->counts.fills, 1);
    return ST_OK;
}

static Status null_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                          const uint64_t *params, int32_t n_params, Err *e) {
    (void)k, (void)params;
    const DeviceInfo *i = &q->n->device.info;
    if (groups < 0 || group_size < 1 || group_size > i->group_max || local_bytes < 0 || local_bytes > i->local_bytes ||
        n_params < 0 || n_params > DEV_PARAMS_MAX)
        return err_internal(
            e, "device \"null\": launch of %lld groups of %d with %lld bytes of local memory and %d parameters",
            (long long)groups, group_size, (long long)local_bytes, n_params);
    count(q->n, &q->n->counts.launches, 1);
    return ST_OK;
}

static Status null_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    (void)poll, (void)ctx, (void)e;
    count(q->n, &q->n->counts.syncs, 1);
    return ST_OK;
}

static Status null_event_new(Device *d, DevEvent **out, Err *e) {
    DevEvent *ev = *out = mem_alloc(null_of(d)->account, (int64_t)sizeof *ev, e);
    if (!ev) return ST_ERROR;
    ev->n = null_of(d);
    return ST_OK;
}

static void null_event_free(Device *d, DevEvent *ev) { mem_free(null_of(d)->account, ev, (int64_t)sizeof *ev); }

static Status null_event_queue(DevQueue *q, DevEvent *ev, Err *e) {
    (void)q, (void)ev, (void)e;
    return ST_OK;
}

static Status null_event_sync(Device *d, DevEvent *ev, DevPoll poll, void *ctx, Err *e) {
    (void)d, (void)ev, (void)poll, (void)ctx, (void)e;
    return ST_OK;
}

static Status null_event_ns(Device *d, DevEvent *from, DevEvent *to, int64_t *ns, Err *e) {
    (void)d, (void)from, (void)to, (void)e;
    *ns = 0;
    return ST_OK;
}

/* ---- kernels ---- */

/* The code is the source. */
static Status null_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    (void)options;
    NullDevice *n = null_of(d);
    *out = (DevCode){.bytes = strdup(source), .n = (int64_t)strlen(source)};
    if (!out->bytes) return err_oom(e);
    count(n, &n->counts.compiles, 1);
    return ST_OK;
}

static Status null_load(Device *d, const void *code, int64_t size, DevModule **out, Err *e) {
    (void)code, (void)size;
    DevModule *m = *out = mem_calloc(null_of(d)->account, (int64_t)sizeof *m, e);
    if (!m) return ST_ERROR;
    m->n = null_of(d);
    return ST_OK;
}

static void null_unload(Device *d, DevModule *m) {
    if (!m) return;
    MemAccount *account = null_of(d)->account;
    while (m->kernels) {
        DevKernel *k = m->kernels;
        m->kernels = k->next;
        mem_free(account, k, (int64_t)sizeof *k);
    }
    mem_free(account, m, (int64_t)sizeof *m);
}

static Status null_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    (void)name;
    DevKernel *k = *out = mem_calloc(m->n->account, (int64_t)sizeof *k, e);
    if (!k) return ST_ERROR;
    k->n = m->n;
    mutex_lock(&m->n->lock);
    k->next = m->kernels;
    m->kernels = k;
    mutex_unlock(&m->n->lock);
    return ST_OK;
}

static int64_t null_resident_groups(DevKernel *k, int32_t group_size, int64_t local_bytes) {
    (void)k, (void)group_size, (void)local_bytes;
    return RESIDENT;
}

/* ---- the device ---- */

static void null_close(Device *d) {
    NullDevice *n = null_of(d);
    mutex_destroy(&n->lock);
    mem_free(n->account, n, (int64_t)sizeof *n);
}

static const DeviceOps null_ops = {
    .version = DEVICE_VERSION,
    .close = null_close,
    .alloc = null_alloc,
    .free = null_free,
    .alloc_pinned = null_alloc_pinned,
    .free_pinned = null_free_pinned,
    .map_host = null_map,
    .unmap_host = null_unmap,
    .memory_used = null_memory_used,
    .queue_new = null_queue_new,
    .queue_free = null_queue_free,
    .copy_in = null_copy_in,
    .copy_out = null_copy_out,
    .copy = null_copy,
    .fill = null_fill,
    .launch = null_launch,
    .sync = null_sync,
    .event_new = null_event_new,
    .event_free = null_event_free,
    .event_record = null_event_queue,
    .event_wait = null_event_queue,
    .event_sync = null_event_sync,
    .event_ns = null_event_ns,
    .compile = null_compile,
    .load = null_load,
    .unload = null_unload,
    .kernel = null_kernel,
    .resident_groups = null_resident_groups,
};

static const DeviceInfo null_info = {
    .id = "null",
    .name = "accepts and counts everything, runs nothing",
    .arch = "null",
    .compiler = "null 1",
    .driver = "null",
    .kind = DEVICE_NULL,
    .can_map = true,
    .concurrent = true,
    .runs_nothing = true,
    .memory_bytes = INT64_C(64) << 30,
    .units = 64,
    .warp = 32,
    .group_max = 1024,
    .group_rows = 64,
    .group_calls = 64,
    .items_per_unit = 2048,
    .local_bytes = 48 << 10,
    .cache_bytes = 32 << 20,
};

static void probe(void (*add)(void *ctx, const DeviceEntry *e), void *ctx) {
    DeviceEntry entry = {
        .id = "null", .state = "ready", .usable = true, .kind = DEVICE_NULL, .memory_bytes = null_info.memory_bytes};
    snprintf(entry.name, sizeof entry.name, "%s", null_info.name);
    snprintf(entry.detail, sizeof entry.detail, "for tests");
    add(ctx, &entry);
}

static Status null_open(int index, Pool *pool, MemAccount *account, Device **out, Err *e) {
    (void)index, (void)pool;
    *out = NULL;
    NullDevice *n = mem_calloc(account, (int64_t)sizeof *n, e);
    if (!n) return ST_ERROR;
    n->device.ops = &null_ops;
    n->device.info = null_info;
    n->account = account;
    n->next = first_address;
    mutex_init(&n->lock, RANK_NULL_DEVICE);
    /* No parent: its bytes exist nowhere. */
    mem_account_init(&n->device.memory, NULL, "device null", 0, "device_memory_limit");
    *out = &n->device;
    return ST_OK;
}

const NullCounts *device_null_counts(const Device *d) { return &((const NullDevice *)d)->counts; }

const DeviceDriver device_driver_null = {DEVICE_VERSION,     "null",        probe, null_open, .kind = DEVICE_NULL,
                                         .sql_name = "null", .hidden = true};
