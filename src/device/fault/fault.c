/* fault.c - a device around another one whose operations fail where a test wants it.
 *
 * Every op that returns a Status is counted in the plan, which the test owns and may change between calls. The n-th
 * fails: an allocation with 53200, as a full device would, the rest with 58000; with lose_device the device is lost
 * there and then. What fails was not done, with two exceptions: sync and event_sync wait first, so that the memory that
 * queued work uses may be freed afterwards, as it may after the driver's own errors (the inner device's work is not
 * gone only because we say so).
 *
 * Releases always reach the inner device. Queues, modules and kernels are wrapped, because ops that take them must find
 * the device; events are the inner device's own. The wrapper has its own memory account, without a parent: the inner
 * one charges its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "device/work.h"

typedef struct FaultDevice {
    Device device; /* first */
    Device *inner;
    FaultPlan *plan;
} FaultDevice;

struct DevQueue {
    FaultDevice *f;
    DevQueue *inner;
};
struct DevKernel {
    FaultDevice *f;
    DevKernel *inner;
    DevKernel *next;
};
struct DevModule {
    FaultDevice *f;
    DevModule *inner;
    _Atomic(DevKernel *) kernels;
};

static FaultDevice *fault_of(Device *d) { return (FaultDevice *)d; }

/* Counts a call; ST_ERROR when it is the one. */
static Status step(FaultDevice *f, const char *call, const char *sqlstate, Err *e) {
    FaultPlan *p = f->plan;
    if (p->only && strcmp(p->only, call) != 0) return f->device.info.lost ? device_lost(&f->device, e) : ST_OK;
    int64_t n = atomic_fetch_add(&p->calls, 1) + 1;
    if (f->device.info.lost) return device_lost(&f->device, e);
    if (p->fail_at <= 0 || !(n == p->fail_at || (p->sticky && n > p->fail_at))) return ST_OK;
    if (p->lose_device) {
        f->device.info.lost = true;
        return device_lost(&f->device, e);
    }
    return err_set(e, sqlstate, "device \"%s\": %s: injected fault at call %lld", f->device.info.id, call,
                   (long long)n);
}
#define STEP(f, call, e) TRY(step((f), (call), ERR_SYSTEM, (e)))

/* The inner device may have been lost by itself. */
static Status passed(FaultDevice *f, Status st) {
    if (st != ST_OK && f->inner->info.lost) f->device.info.lost = true;
    return st;
}

/* ---- memory ---- */

static Status fault_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = 0;
    TRY(step(f, "alloc", ERR_OUT_OF_MEMORY, e));
    TRY(device_charge(d, bytes, e));
    Status st = passed(f, f->inner->ops->alloc(f->inner, bytes, out, e));
    if (st != ST_OK) mem_discharge(&d->memory, bytes);
    return st;
}

static void fault_free(Device *d, DevPtr p, int64_t bytes) {
    FaultDevice *f = fault_of(d);
    if (!p) return;
    f->inner->ops->free(f->inner, p, bytes);
    mem_discharge(&d->memory, bytes);
}

static Status fault_alloc_pinned(Device *d, int64_t bytes, void **host, DevPtr *dev, Err *e) {
    FaultDevice *f = fault_of(d);
    *host = NULL;
    TRY(step(f, "alloc_pinned", ERR_OUT_OF_MEMORY, e));
    return passed(f, f->inner->ops->alloc_pinned(f->inner, bytes, host, dev, e));
}

static void fault_free_pinned(Device *d, void *host, int64_t bytes) {
    FaultDevice *f = fault_of(d);
    f->inner->ops->free_pinned(f->inner, host, bytes);
}

static Status fault_map(Device *d, void *host, int64_t bytes, DevPtr *out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = 0;
    STEP(f, "map_host", e);
    return passed(f, f->inner->ops->map_host(f->inner, host, bytes, out, e));
}

static void fault_unmap(Device *d, void *host, int64_t bytes) {
    FaultDevice *f = fault_of(d);
    f->inner->ops->unmap_host(f->inner, host, bytes);
}

static Status fault_memory_used(Device *d, int64_t *free_bytes, int64_t *total, Err *e) {
    FaultDevice *f = fault_of(d);
    STEP(f, "memory_used", e);
    return passed(f, f->inner->ops->memory_used(f->inner, free_bytes, total, e));
}

static Status fault_span_new(Device *d, int64_t bytes, int64_t *most, DevPtr *out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = 0;
    TRY(step(f, "span_new", ERR_OUT_OF_MEMORY, e));
    TRY(device_charge(d, bytes, e));
    Status st = passed(f, f->inner->ops->span_new(f->inner, bytes, most, out, e));
    if (st != ST_OK) mem_discharge(&d->memory, bytes);
    return st;
}

static Status fault_span_grow(Device *d, DevPtr p, int64_t had, int64_t bytes, Err *e) {
    FaultDevice *f = fault_of(d);
    TRY(step(f, "span_grow", ERR_OUT_OF_MEMORY, e));
    TRY(device_charge(d, bytes - had, e));
    Status st = passed(f, f->inner->ops->span_grow(f->inner, p, had, bytes, e));
    if (st != ST_OK) mem_discharge(&d->memory, bytes - had);
    return st;
}

static void fault_span_shrink(Device *d, DevPtr p, int64_t had, int64_t bytes) {
    FaultDevice *f = fault_of(d);
    f->inner->ops->span_shrink(f->inner, p, had, bytes);
    mem_discharge(&d->memory, had - bytes);
}

static void fault_span_free(Device *d, DevPtr p, int64_t bytes, int64_t most) {
    FaultDevice *f = fault_of(d);
    if (!p) return;
    f->inner->ops->span_free(f->inner, p, bytes, most);
    mem_discharge(&d->memory, bytes);
}

/* ---- queues ---- */

static Status fault_queue_new(Device *d, DevQueue **out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = NULL;
    STEP(f, "queue_new", e);
    DevQueue *q = mem_alloc(NULL, (int64_t)sizeof *q, e);
    if (!q) return ST_ERROR;
    q->f = f;
    if (passed(f, f->inner->ops->queue_new(f->inner, &q->inner, e)) != ST_OK) {
        mem_free(NULL, q, (int64_t)sizeof *q);
        return ST_ERROR;
    }
    *out = q;
    return ST_OK;
}

static void fault_queue_free(Device *d, DevQueue *q) {
    FaultDevice *f = fault_of(d);
    if (!q) return;
    f->inner->ops->queue_free(f->inner, q->inner);
    mem_free(NULL, q, (int64_t)sizeof *q);
}

static Status fault_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    STEP(q->f, "copy_in", e);
    return passed(q->f, q->f->inner->ops->copy_in(q->inner, dst, src, n, e));
}

static Status fault_copy_in_many(DevQueue *q, const DevCopy *copies, int64_t n, Err *e) {
    STEP(q->f, "copy_in_many", e);
    return passed(q->f, device_copy_in_many(q->f->inner, q->inner, copies, n, e));
}

static Status fault_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    STEP(q->f, "copy_out", e);
    return passed(q->f, q->f->inner->ops->copy_out(q->inner, dst, src, n, e));
}

static Status fault_copy(DevQueue *q, DevPtr dst, DevPtr src, int64_t n, Err *e) {
    STEP(q->f, "copy", e);
    return passed(q->f, q->f->inner->ops->copy(q->inner, dst, src, n, e));
}

static Status fault_fill(DevQueue *q, DevPtr dst, uint8_t byte, int64_t n, Err *e) {
    STEP(q->f, "fill", e);
    return passed(q->f, q->f->inner->ops->fill(q->inner, dst, byte, n, e));
}

static Status fault_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t group_size, int64_t local_bytes,
                           const uint64_t *params, int32_t n_params, Err *e) {
    STEP(q->f, "launch", e);
    return passed(q->f,
                  q->f->inner->ops->launch(q->inner, k->inner, groups, group_size, local_bytes, params, n_params, e));
}

static Status wait_for(DevQueue *q, bool finish, DevPoll poll, void *ctx, Err *e) {
    FaultDevice *f = q->f;
    Status st = step(f, "sync", ERR_SYSTEM, e);
    Err *said = st == ST_OK ? e : NULL;
    Status waited = passed(f, finish ? device_finish(f->inner, q->inner, poll, ctx, said)
                                     : f->inner->ops->sync(q->inner, poll, ctx, said));
    return st != ST_OK ? st : waited;
}
static Status fault_sync(DevQueue *q, DevPoll poll, void *ctx, Err *e) { return wait_for(q, false, poll, ctx, e); }
static Status fault_finish(DevQueue *q, DevPoll poll, void *ctx, Err *e) { return wait_for(q, true, poll, ctx, e); }

/* ---- events ---- */

static Status fault_event_new(Device *d, DevEvent **out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = NULL;
    STEP(f, "event_new", e);
    return passed(f, f->inner->ops->event_new(f->inner, out, e));
}

static void fault_event_free(Device *d, DevEvent *ev) {
    FaultDevice *f = fault_of(d);
    f->inner->ops->event_free(f->inner, ev);
}

static Status fault_event_record(DevQueue *q, DevEvent *ev, Err *e) {
    STEP(q->f, "event_record", e);
    return passed(q->f, q->f->inner->ops->event_record(q->inner, ev, e));
}

static Status fault_event_wait(DevQueue *q, DevEvent *ev, Err *e) {
    STEP(q->f, "event_wait", e);
    return passed(q->f, q->f->inner->ops->event_wait(q->inner, ev, e));
}

static Status fault_event_sync(Device *d, DevEvent *ev, DevPoll poll, void *ctx, Err *e) {
    FaultDevice *f = fault_of(d);
    Status st = step(f, "event_sync", ERR_SYSTEM, e);
    Status waited = passed(f, f->inner->ops->event_sync(f->inner, ev, poll, ctx, st == ST_OK ? e : NULL));
    return st != ST_OK ? st : waited;
}

static Status fault_event_ns(Device *d, DevEvent *from, DevEvent *to, int64_t *ns, Err *e) {
    FaultDevice *f = fault_of(d);
    STEP(f, "event_ns", e);
    return passed(f, f->inner->ops->event_ns(f->inner, from, to, ns, e));
}

/* ---- kernels ---- */

static Status fault_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = (DevCode){0};
    STEP(f, "compile", e);
    return passed(f, f->inner->ops->compile(f->inner, source, options, out, e));
}

static Status fault_load(Device *d, const void *code, int64_t n, DevModule **out, Err *e) {
    FaultDevice *f = fault_of(d);
    *out = NULL;
    STEP(f, "load", e);
    DevModule *m = mem_calloc(NULL, (int64_t)sizeof *m, e);
    if (!m) return ST_ERROR;
    m->f = f;
    if (passed(f, f->inner->ops->load(f->inner, code, n, &m->inner, e)) != ST_OK) {
        mem_free(NULL, m, (int64_t)sizeof *m);
        return ST_ERROR;
    }
    *out = m;
    return ST_OK;
}

static void fault_unload(Device *d, DevModule *m) {
    FaultDevice *f = fault_of(d);
    if (!m) return;
    for (DevKernel *k = atomic_load(&m->kernels), *next; k; k = next) {
        next = k->next;
        mem_free(NULL, k, (int64_t)sizeof *k);
    }
    f->inner->ops->unload(f->inner, m->inner);
    mem_free(NULL, m, (int64_t)sizeof *m);
}

static Status fault_kernel(DevModule *m, const char *name, DevKernel **out, Err *e) {
    *out = NULL;
    STEP(m->f, "kernel", e);
    DevKernel *k = mem_calloc(NULL, (int64_t)sizeof *k, e);
    if (!k) return ST_ERROR;
    k->f = m->f;
    if (passed(m->f, m->f->inner->ops->kernel(m->inner, name, &k->inner, e)) != ST_OK) {
        mem_free(NULL, k, (int64_t)sizeof *k);
        return ST_ERROR;
    }
    k->next = atomic_load(&m->kernels);
    while (!atomic_compare_exchange_weak(&m->kernels, &k->next, k)) {}
    *out = k;
    return ST_OK;
}

static Status fault_constant(DevModule *m, const char *name, int64_t bytes, DevPtr *out, Err *e) {
    const DeviceOps *inner = m->f->inner->ops;
    *out = 0;
    STEP(m->f, "constant", e);
    return passed(m->f, inner->constant(m->inner, name, bytes, out, e));
}

static int64_t fault_resident_groups(DevKernel *k, int32_t group_size, int64_t local_bytes) {
    return k->f->inner->ops->resident_groups(k->inner, group_size, local_bytes);
}

static Status fault_share_units(DevKernel *k, Err *e) {
    const DeviceOps *inner = k->f->inner->ops;
    if (!inner->share_units) return ST_OK; /* callers check the inner device's op the same way */
    STEP(k->f, "share_units", e);
    return passed(k->f, inner->share_units(k->inner, e));
}

/* ---- the device ---- */

static void fault_close(Device *d) { mem_free(NULL, d, (int64_t)sizeof(FaultDevice)); }

static const DeviceOps fault_ops = {
    .version = DEVICE_VERSION,
    .close = fault_close,
    .alloc = fault_alloc,
    .free = fault_free,
    .alloc_pinned = fault_alloc_pinned,
    .free_pinned = fault_free_pinned,
    .map_host = fault_map,
    .unmap_host = fault_unmap,
    .memory_used = fault_memory_used,
    .span_new = fault_span_new,
    .span_grow = fault_span_grow,
    .span_shrink = fault_span_shrink,
    .span_free = fault_span_free,
    .queue_new = fault_queue_new,
    .queue_free = fault_queue_free,
    .copy_in = fault_copy_in,
    .copy_out = fault_copy_out,
    .copy = fault_copy,
    .fill = fault_fill,
    .launch = fault_launch,
    .sync = fault_sync,
    .finish = fault_finish,
    .event_new = fault_event_new,
    .event_free = fault_event_free,
    .event_record = fault_event_record,
    .event_wait = fault_event_wait,
    .event_sync = fault_event_sync,
    .event_ns = fault_event_ns,
    .compile = fault_compile,
    .load = fault_load,
    .unload = fault_unload,
    .kernel = fault_kernel,
    .resident_groups = fault_resident_groups,
    .constant = fault_constant,
    .share_units = fault_share_units,
    .copy_in_many = fault_copy_in_many,
};

Status device_fault_new(Device *inner, FaultPlan *plan, Device **out, Err *e) {
    *out = NULL;
    FaultDevice *f = mem_calloc(NULL, (int64_t)sizeof *f, e);
    if (!f) return ST_ERROR;
    f->device.ops = &fault_ops;
    f->device.info = inner->info;
    mem_account_init(&f->device.memory, NULL, "device", atomic_load(&inner->memory.limit), inner->memory.setting);
    f->inner = inner;
    f->plan = plan;
    *out = &f->device;
    return ST_OK;
}
