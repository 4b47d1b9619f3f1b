/* work.c - see work.h. */
#include "device/work.h"

#include <sched.h>
#include <time.h>

/* ---- memory ---- */
bool device_is_short(const Err *e) {
    return strcmp(e->sqlstate, ERR_OUT_OF_MEMORY) == 0 || strcmp(e->sqlstate, ERR_LIMIT_EXCEEDED) == 0;
}
/* Whether the call that failed so is worth another try. */
static bool reclaimed(Device *d, int64_t bytes, const Err *e) {
    return device_is_short(e) && d->reclaim && d->reclaim(d->reclaim_ctx, bytes);
}

Status device_alloc(Device *d, int64_t bytes, DevPtr *out, Err *e) {
    Err err;
    do {
        err_clear(&err);
        if (d->ops->alloc(d, bytes, out, &err) == ST_OK) return ST_OK;
    } while (reclaimed(d, bytes, &err));
    *out = 0;
    err_copy(e, &err);
    return ST_ERROR;
}

static Status span_new(Device *d, int64_t bytes, DevSpan *s, Err *e) {
    Err err;
    do {
        err_clear(&err);
        if (d->ops->span_new(d, bytes, &s->most, &s->at, &err) == ST_OK) return ST_OK;
    } while (reclaimed(d, bytes, &err));
    err_copy(e, &err);
    return ST_ERROR;
}

static Status span_grow(Device *d, const DevSpan *s, int64_t bytes, Err *e) {
    Err err;
    do {
        err_clear(&err);
        if (d->ops->span_grow(d, s->at, s->bytes, bytes, &err) == ST_OK) return ST_OK;
    } while (reclaimed(d, bytes - s->bytes, &err));
    err_copy(e, &err);
    return ST_ERROR;
}

Status device_mem_need(Device *d, DevQueue *q, DevMem *m, int64_t bytes, Err *e) {
    if (m->bytes >= bytes) return ST_OK;
    if (m->p && q) TRY(d->ops->sync(q, NULL, NULL, e));
    device_mem_free(d, m);
    bytes += bytes / 8;
    TRY(device_alloc(d, bytes, &m->p, e));
    m->bytes = bytes;
    return ST_OK;
}
void device_mem_free(Device *d, DevMem *m) {
    if (m->p) d->ops->free(d, m->p, m->bytes);
    *m = (DevMem){0};
}

Status device_pinned_need(Device *d, DevPinned *m, int64_t bytes, Err *e) {
    if (m->bytes >= bytes) return ST_OK;
    device_pinned_free(d, m);
    TRY(d->ops->alloc_pinned(d, bytes, &m->p, NULL, e));
    m->bytes = bytes;
    return ST_OK;
}
void device_pinned_free(Device *d, DevPinned *m) {
    d->ops->free_pinned(d, m->p, m->bytes);
    *m = (DevPinned){0};
}

/* ---- memory that grows ---- */
/* Addresses cost next to nothing, so they are kept for many times the bytes, up to all that the device has. */
enum { SPAN_TIMES = 64 };
#define SPAN_LEAST (INT64_C(1) << 30)

Status device_span_new(Device *d, int64_t bytes, DevSpan *s, Err *e) {
    DevSpan fresh = {.bytes = bytes};
    if (d->info.span_unit > 0 && bytes >= d->info.span_unit && bytes <= INT64_MAX / SPAN_TIMES) {
        fresh.most = MAX_OF(bytes, MIN_OF(MAX_OF(bytes * SPAN_TIMES, SPAN_LEAST), d->info.memory_bytes));
        TRY(span_new(d, bytes, &fresh, e));
    } else {
        TRY(device_alloc(d, bytes, &fresh.at, e));
    }
    *s = fresh;
    return ST_OK;
}

Status device_span_copy(Device *d, DevQueue *q, const DevSpan *from, int64_t bytes, int64_t keep, DevSpan *out,
                        Err *e) {
    TRY(device_span_new(d, bytes, out, e));
    Status st = device_settle(d, q, d->ops->copy(q, out->at, from->at, keep, e), e);
    if (st != ST_OK) device_span_free(d, out);
    return st;
}

Status device_span_grow(Device *d, DevQueue *q, DevSpan *s, int64_t bytes, int64_t keep, Err *e) {
    if (bytes <= s->bytes) return ST_OK;
    if (bytes <= s->most) {
        TRY(span_grow(d, s, bytes, e));
        s->bytes = bytes;
        return ST_OK;
    }
    DevSpan fresh = {0};
    TRY(device_span_copy(d, q, s, bytes, keep, &fresh, e));
    device_span_free(d, s);
    *s = fresh;
    return ST_OK;
}

Status device_span_shrink(Device *d, DevQueue *q, DevSpan *s, int64_t bytes, int64_t keep, Err *e) {
    if (bytes >= s->bytes) return ST_OK;
    if (s->most > 0) {
        TRY(d->ops->sync(q, NULL, NULL, e));
        d->ops->span_shrink(d, s->at, s->bytes, bytes);
        s->bytes = bytes;
        return ST_OK;
    }
    if (bytes > s->bytes / 2) return ST_OK;
    DevSpan fresh = {0};
    Err why = {0};
    if (device_span_copy(d, q, s, bytes, MIN_OF(keep, bytes), &fresh, &why) != ST_OK) {
        if (device_is_short(&why)) return ST_OK;
        err_copy(e, &why);
        return ST_ERROR;
    }
    device_span_free(d, s);
    *s = fresh;
    return ST_OK;
}

void device_span_free(Device *d, DevSpan *s) {
    if (s->most > 0) d->ops->span_free(d, s->at, s->bytes, s->most);
    else if (s->at) d->ops->free(d, s->at, s->bytes);
    *s = (DevSpan){0};
}

/* ---- host memory that several threads fill ---- */
static void fill_piece(DevFill *f, int64_t piece) {
    f->fill(f->ctx, piece);
    atomic_store_explicit(&f->full[piece % f->places], piece + 1, memory_order_release);
}
static void fill_ahead(DevFill *f) {
    const struct timespec nap = {.tv_nsec = 20000};
    for (;;) {
        int64_t piece = atomic_fetch_add(&f->next, 1);
        if (piece >= f->n) return;
        for (int tries = 0; piece >= atomic_load_explicit(&f->limit, memory_order_acquire); tries++) {
            if (atomic_load(&f->over)) return;
            if (tries < 64) sched_yield();
            else nanosleep(&nap, NULL);
        }
        fill_piece(f, piece);
    }
}
static void fill_worker(void *ctx, int worker) {
    DevFill *f = ctx;
    if (worker > 0) {
        fill_ahead(f);
        return;
    }
    f->st = f->body(f->ctx, f->e);
    atomic_store(&f->over, true);
}
Status device_fill(DevFill *f, Pool *pool, int threads, Err *e) {
    f->e = e;
    if (threads > 1) pool_run(pool, threads, fill_worker, f);
    else fill_worker(f, 0);
    return f->st;
}
bool device_is_full(const DevFill *f, int64_t piece) {
    return atomic_load_explicit(&f->full[piece % f->places], memory_order_acquire) == piece + 1;
}
void device_fill_one(DevFill *f) {
    int64_t mine = atomic_load(&f->next);
    if (mine < MIN_OF(atomic_load(&f->limit), f->n) && atomic_compare_exchange_strong(&f->next, &mine, mine + 1))
        fill_piece(f, mine);
    else sched_yield();
}

/* ---- queues and events ---- */
Status device_queue_need(Device *d, DevQueue **q, Err *e) { return *q ? ST_OK : d->ops->queue_new(d, q, e); }
void device_queue_drop(Device *d, DevQueue **q) {
    if (!*q) return;
    d->ops->queue_free(d, *q);
    *q = NULL;
}
Status device_mark(Device *d, DevQueue *q, DevEvent **ev, Err *e) {
    if (!*ev) TRY(d->ops->event_new(d, ev, e));
    return d->ops->event_record(q, *ev, e);
}
void device_event_drop(Device *d, DevEvent **ev) {
    if (!*ev) return;
    d->ops->event_free(d, *ev);
    *ev = NULL;
}

/* ---- launches ---- */
enum { GROUPS_PER_UNIT = 8 };
int64_t device_groups(const Device *d, int64_t items) {
    int64_t size = d->info.group_rows, most = (int64_t)d->info.units * GROUPS_PER_UNIT;
    return MAX_OF(INT64_C(1), MIN_OF((items + size - 1) / size, most));
}
Status device_launch_over(const Device *d, DevQueue *q, DevKernel *k, int64_t items, int64_t local,
                          const uint64_t *params, int32_t n_params, Err *e) {
    int32_t size = d->info.group_rows;
    return d->ops->launch(q, k, device_groups(d, items), size, size * local, params, n_params, e);
}

Status device_copy_in_many(const Device *d, DevQueue *q, const DevCopy *copies, int64_t n, Err *e) {
    if (d->ops->copy_in_many) return d->ops->copy_in_many(q, copies, n, e);
    for (int64_t i = 0; i < n; i++) TRY(d->ops->copy_in(q, copies[i].to, copies[i].from, copies[i].bytes, e));
    return ST_OK;
}

/* ---- waiting ---- */
Status device_finish(const Device *d, DevQueue *q, DevPoll poll, void *ctx, Err *e) {
    return d->ops->finish ? d->ops->finish(q, poll, ctx, e) : d->ops->sync(q, poll, ctx, e);
}
Status device_settle(const Device *d, DevQueue *q, Status st, Err *e) {
    return d->ops->sync(q, NULL, NULL, st == ST_OK ? e : NULL) == ST_OK ? st : ST_ERROR;
}
Status device_read(const Device *d, DevQueue *q, void *to, DevPtr from, int64_t bytes, Err *e) {
    TRY(d->ops->copy_out(q, to, from, bytes, e));
    return d->ops->sync(q, NULL, NULL, e);
}

Status device_signal(Device *d, DevQueue **own, DevPtr at, const uint64_t *word, Err *e) {
    if (d->info.native_threads) {
        *(volatile uint64_t *)(uintptr_t)at = *word;
        return ST_OK;
    }
    TRY(device_queue_need(d, own, e));
    return d->ops->copy_in(*own, at, word, 8, e);
}
