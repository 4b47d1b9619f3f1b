/* dev_mem.c - blocks of device memory, lanes, and the small copies between them.
 *
 * Allocating device memory and making queues cost tens to hundreds of microseconds, so both are kept by the runtime
 * when a query ends. Blocks have sizes from a coarse grid, which makes the next query find what the last one left. What
 * is kept counts against device_memory_limit like everything else and goes first when memory is short, before cached
 * columns do.
 */
#include "base/mutex.h"
#include "exec/device/dev_int.h"

enum { BLOCK_MIN = 4096, WORDS_BYTES = 65536 };

int64_t dev_limit(const Device *d) {
    int64_t limit = atomic_load(&d->memory.limit), all = d->info.memory_bytes - d->info.memory_bytes / 16;
    return limit > 0 && (limit < all || all <= 0) ? limit : all;
}
static int64_t keep_limit(const DevRuntime *r) {
    return r->d->info.shares_memory ? MIN_OF(INT64_C(64) << 20, dev_limit(r->d) / 8) : dev_limit(r->d) / 4;
}

/* Powers of two up to 1 MiB, then eighths of them. */
static int64_t size_class(int64_t bytes) {
    int64_t n = BLOCK_MIN;
    while (n < bytes && n < INT64_C(1) << 20) n *= 2;
    if (n >= bytes) return n;
    while (n <= bytes / 2) n *= 2;
    return align_up(bytes, n / 8);
}

/* Takes the last kept block out; a block of 0 bytes when there is none. Under `lock`. */
static DevMem pop_free(DevRuntime *r) {
    if (r->n_free == 0) return (DevMem){0};
    DevMem m = r->free[--r->n_free];
    r->free_bytes -= m.bytes;
    return m;
}

bool dev_mem_trim(DevRuntime *r) {
    for (bool any = false;; any = true) {
        mutex_lock(&r->lock);
        DevMem m = pop_free(r);
        mutex_unlock(&r->lock);
        if (!m.bytes) return any;
        r->d->ops->free(r->d, m.p, m.bytes);
    }
}

/* By how much `bytes` more would exceed the limit. */
static int64_t beyond_limit(const Device *d, int64_t bytes) {
    int64_t limit = atomic_load(&d->memory.limit);
    return limit > 0 ? atomic_load(&d->memory.used) + bytes - limit : 0;
}

bool dev_mem_reclaim(void *runtime, int64_t bytes) {
    DevRuntime *r = runtime;
    return dev_mem_trim(r) || res_evict(r, MAX_OF(bytes, beyond_limit(r->d, bytes)));
}

void dev_runtime_limit(DevRuntime *r, int64_t bytes) {
    atomic_store(&r->d->memory.limit, bytes);
    if (LIKELY(beyond_limit(r->d, 0) <= 0)) return;
    (void)dev_mem_trim(r);
    int64_t beyond = beyond_limit(r->d, 0);
    if (beyond > 0) (void)res_evict(r, beyond);
}

Status dev_mem_get(DevRuntime *r, int64_t bytes, DevMem *out, Err *e) {
    *out = (DevMem){0};
    if (bytes < 0 || bytes > INT64_MAX / 4) return err_internal(e, "device block of %lld bytes", (long long)bytes);
    int64_t want = size_class(bytes), best = -1;
    mutex_lock(&r->lock);
    for (int64_t i = 0; i < r->n_free; i++) {
        int64_t have = r->free[i].bytes;
        if (have >= want && have <= want + want / 2 && (best < 0 || have < r->free[best].bytes)) best = i;
    }
    if (best >= 0) {
        *out = r->free[best];
        r->free[best] = r->free[--r->n_free];
        r->free_bytes -= out->bytes;
    }
    mutex_unlock(&r->lock);
    if (out->bytes) return ST_OK;
    TRY(device_alloc(r->d, want, &out->p, e));
    out->bytes = want;
    return ST_OK;
}

void dev_mem_put(DevRuntime *r, DevMem *m) {
    if (!m->bytes) return;
    bool kept = false;
    mutex_lock(&r->lock);
    if (!atomic_load(&r->d->info.lost) && r->free_bytes + m->bytes <= keep_limit(r)) {
        if (r->n_free == r->cap_free) {
            Err quiet = {0};
            int64_t cap = MAX_OF(INT64_C(64), r->cap_free * 2), size = (int64_t)sizeof(DevMem);
            DevMem *grown = mem_realloc(r->account, r->free, r->cap_free * size, cap * size, &quiet);
            if (grown) {
                r->free = grown;
                r->cap_free = cap;
            }
        }
        if (r->n_free < r->cap_free) {
            r->free[r->n_free++] = *m;
            r->free_bytes += m->bytes;
            kept = true;
        }
    }
    mutex_unlock(&r->lock);
    if (!kept) r->d->ops->free(r->d, m->p, m->bytes);
    *m = (DevMem){0};
}

Status query_mem_get(DevQuery *q, int64_t bytes, DevMem *out, Err *e) {
    int64_t want = size_class(bytes), best = -1;
    for (int64_t i = 0; i < q->held.len; i++) {
        int64_t have = q->held.items[i].bytes;
        if (have >= want && have <= want * 2 && (best < 0 || have < q->held.items[best].bytes)) best = i;
    }
    if (best >= 0) {
        *out = q->held.items[best];
        q->held.items[best] = q->held.items[--q->held.len];
        return ST_OK;
    }
    Err err;
    err_clear(&err);
    if (dev_mem_get(q->r, bytes, out, &err) == ST_OK) return ST_OK;
    /* What the query itself holds is of no use in these sizes: wait for it, give it back, try once more. */
    if (!device_is_short(&err) || q->held.len == 0) {
        err_copy(e, &err);
        return ST_ERROR;
    }
    TRY(query_sync(q, e));
    for (int64_t i = 0; i < q->held.len; i++) dev_mem_put(q->r, &q->held.items[i]);
    q->held.len = 0;
    (void)dev_mem_trim(q->r);
    return dev_mem_get(q->r, bytes, out, e);
}

void query_mem_put(DevQuery *q, DevMem *m) {
    if (!m->bytes) return;
    if (!vec_push(q->arena, &q->held, *m)) {
        /* No memory to remember it: the device's free waits for what still uses it only if nothing does. */
        Err quiet = {0};
        (void)query_sync(q, &quiet);
        dev_mem_put(q->r, m);
    }
    *m = (DevMem){0};
}

/* ---- lanes -------------------------------------------------------------------------------------- */
void lane_free(DevRuntime *r, Lane *l) {
    if (!l) return;
    Device *d = r->d;
    device_queue_drop(d, &l->queue);
    device_queue_drop(d, &l->side);
    device_queue_drop(d, &l->stop);
    for (int i = 0; i < RING; i++) {
        device_event_drop(d, &l->copied[i]);
        device_event_drop(d, &l->used[i]);
    }
    for (int i = 0; i < PIPELINE_STAGES; i++) {
        device_event_drop(d, &l->pipe_done[i]);
        device_queue_drop(d, &l->pipe[i]);
    }
    device_event_drop(d, &l->pipe_go);
    for (int i = 0; i < STAGES; i++) {
        device_event_drop(d, &l->staged[i]);
        device_pinned_free(d, &l->stage[i]);
    }
    device_pinned_free(d, &l->words);
    device_pinned_free(d, &l->down);
    mem_free(r->account, l, (int64_t)sizeof *l);
}

Status lane_take(DevRuntime *r, Lane **out, Err *e) {
    mutex_lock(&r->lock);
    Lane *l = r->lanes;
    if (l) r->lanes = l->next;
    mutex_unlock(&r->lock);
    if (!l) {
        Device *d = r->d;
        if (!(l = mem_calloc(r->account, (int64_t)sizeof *l, e))) return ST_ERROR;
        if (device_queue_need(d, &l->queue, e) != ST_OK || device_queue_need(d, &l->side, e) != ST_OK ||
            device_queue_need(d, &l->stop, e) != ST_OK || device_pinned_need(d, &l->words, WORDS_BYTES, e) != ST_OK) {
            lane_free(r, l);
            return ST_ERROR;
        }
    }
    l->next = NULL;
    *out = l;
    return ST_OK;
}

void lane_give(DevRuntime *r, Lane *l) {
    if (!l) return;
    if (l->broken || atomic_load(&r->d->info.lost)) {
        lane_free(r, l);
        return;
    }
    mutex_lock(&r->lock);
    l->next = r->lanes;
    r->lanes = l;
    mutex_unlock(&r->lock);
}

/* ---- waiting --------------------------------------------------------------------------------------- */
static QueryStop stop_of(const DevQuery *q) { return (QueryStop){q->opt.cancel, q->opt.deadline_ns}; }

/* Running kernels look at their stop flag between tiles. The last segment's is set first: a kernel that reads what
 * another, cut short, has not written finds its own flag set. */
void query_stop_kernels(DevQuery *q) {
    if (!q->control.bytes) return;
    Err quiet = {0};
    uint64_t *one = (uint64_t *)q->lane->words.p + WORDS - 1;
    *one = 1;
    for (int32_t i = q->n - 1; i >= 0; i--)
        (void)device_signal(q->d, &q->lane->stop, q->control.p + (uint64_t)i * 16 + 8, one, &quiet);
}
static bool poll_stop(void *ctx) {
    DevQuery *q = ctx;
    const QueryStop stop = stop_of(q);
    if (q->stopping || !query_stopped(&stop)) return true;
    q->stopping = true;
    query_stop_kernels(q);
    return true;
}

static Status cancel_error(const DevQuery *q, Err *e) {
    const QueryStop stop = stop_of(q);
    return query_stop_error(&stop, e);
}
Status query_check_cancel(DevQuery *q, Err *e) {
    const QueryStop stop = stop_of(q);
    return query_stop_check(&stop, e);
}

Status query_sync(DevQuery *q, Err *e) {
    Status st = q->d->ops->sync(q->lane->queue, poll_stop, q, e);
    if (st == ST_OK && q->stopping) {
        Err quiet = {0};
        if (q->d->ops->sync(q->lane->stop, NULL, NULL, &quiet) != ST_OK) q->lane->broken = true;
    }
    if (st != ST_OK) {
        q->lane->broken = true;
        if (!err_is_set(e)) err_set(e, ERR_SYSTEM, "device %s: waiting for a queue failed", q->d->info.id);
        return ST_ERROR;
    }
    q->busy = false;
    q->word_next = 0;
    return q->stopping ? cancel_error(q, e) : ST_OK;
}

/* query_sync for an event. */
static Status query_wait_event(DevQuery *q, DevEvent *ev, Err *e) {
    TRY(q->d->ops->event_sync(q->d, ev, poll_stop, q, e));
    return q->stopping ? cancel_error(q, e) : ST_OK;
}

Status query_settle(DevQuery *q) {
    Err quiet = {0};
    const DeviceOps *ops = q->d->ops;
    if (!q->lane || (!q->busy && !q->side_busy)) return ST_OK;
    (void)poll_stop(q);
    if (q->side_busy && ops->sync(q->lane->side, poll_stop, q, &quiet) != ST_OK) q->lane->broken = true;
    q->side_busy = false;
    bool waited = ops->sync(q->lane->queue, poll_stop, q, &quiet) == ST_OK;
    if (q->stopping && ops->sync(q->lane->stop, NULL, NULL, &quiet) != ST_OK) q->lane->broken = true;
    if (!waited) {
        q->lane->broken = true;
        return ST_ERROR;
    }
    q->busy = false;
    q->word_next = 0;
    return ST_OK;
}

Status query_set_words(DevQuery *q, DevPtr at, const uint64_t *v, int64_t n, Err *e) {
    if (q->word_next + n > WORDS - 1) TRY(query_sync(q, e));
    uint64_t *slot = (uint64_t *)q->lane->words.p + q->word_next;
    q->word_next += n;
    memcpy(slot, v, (size_t)n * 8);
    q->busy = true;
    return q->d->ops->copy_in(q->lane->queue, at, slot, n * 8, e);
}
Status query_set_word(DevQuery *q, DevPtr at, uint64_t v, Err *e) { return query_set_words(q, at, &v, 1, e); }

Status query_zero(DevQuery *q, DevPtr at, int64_t bytes, Err *e) {
    if (bytes == 0) return ST_OK;
    q->busy = true;
    return q->d->ops->fill(q->lane->queue, at, 0, bytes, e);
}

/* ---- uploads ------------------------------------------------------------------------------------------- */
/* Bytes that are not registered go through the lane's pinned slots in slices: the pool's threads fill slots, the
 * query's own thread sends full ones off in order (DevFill). Slices are numbered through all groups of a Stager, so
 * that the pool's threads work ahead of the group that is being sent: calling them together costs more than a group of
 * a few megabytes. Slice k lies in slot (first + k) % STAGES. */
enum { FILLERS_MAX = 12, AHEAD = STAGES / 2, TOGETHER = 64, BETWEEN = 8 << 10 };
typedef struct StageRun { /* jobs that go together, since none between them is registered */
    const Upload *jobs;
    int64_t n;
    int64_t from, to; /* on the device, relative; with what lies between the jobs, up to BETWEEN bytes each */
    int64_t slice;    /* its first */
} StageRun;
struct Stager {
    DevFill fill;
    DevQuery *q;
    Lane *lane;
    const Upload *jobs;
    const int64_t *groups; /* where they begin, and the last one ends */
    StageRun *runs;
    int64_t n_runs, run; /* run: to be sent next */
    int64_t sent;
    int first;
    _Atomic int64_t full[STAGES]; /* DevFill.full */
    Status (*body)(void *ctx, Stager *s, Err *e);
    void *ctx;
};

static int slot_of(const Stager *f, int64_t slice) { return (int)((f->first + slice) % STAGES); }

static const StageRun *run_of(const Stager *f, int64_t slice) {
    int64_t a = 0, b = f->n_runs; /* the last that begins at or before it */
    while (b - a > 1) {
        int64_t mid = a + (b - a) / 2;
        if (f->runs[mid].slice <= slice) a = mid;
        else b = mid;
    }
    return &f->runs[a];
}

static void fill_slot(void *ctx, int64_t slice) {
    const Stager *f = ctx;
    const StageRun *r = run_of(f, slice);
    int64_t lo = r->from + (slice - r->slice) * STAGE_BYTES, hi = MIN_OF(lo + STAGE_BYTES, r->to);
    char *stage = f->lane->stage[slot_of(f, slice)].p;
    int64_t a = 0, b = r->n; /* first job that ends after lo */
    while (a < b) {
        int64_t mid = a + (b - a) / 2;
        if (r->jobs[mid].at + r->jobs[mid].bytes <= lo) a = mid + 1;
        else b = mid;
    }
    for (; a < r->n && r->jobs[a].at < hi; a++) {
        const Upload *u = &r->jobs[a];
        int64_t x = MAX_OF(lo, u->at), y = MIN_OF(hi, u->at + u->bytes);
        if (x < y) memcpy(stage + (x - lo), (const char *)u->from + (x - u->at), (size_t)(y - x));
    }
}

static Status stage_ready(DevQuery *q, int i, Err *e) {
    Lane *l = q->lane;
    TRY(device_pinned_need(q->d, &l->stage[i], STAGE_BYTES, e));
    if (!l->staged[i]) TRY(q->d->ops->event_new(q->d, &l->staged[i], e)); /* before anything is sent */
    if (l->stage_busy[i]) TRY(query_wait_event(q, l->staged[i], e));
    l->stage_busy[i] = false;
    return ST_OK;
}

static Status send_slice(Stager *f, const StageRun *r, DevQueue *queue, DevPtr to, Err *e) {
    Device *d = f->q->d;
    Lane *l = f->lane;
    int slot = slot_of(f, f->sent);
    int64_t lo = r->from + (f->sent - r->slice) * STAGE_BYTES;
    TRY(d->ops->copy_in(queue, to + (uint64_t)lo, l->stage[slot].p, MIN_OF((int64_t)STAGE_BYTES, r->to - lo), e));
    f->sent++;
    l->stage_busy[slot] = true;
    if (device_mark(d, queue, &l->staged[slot], e) == ST_OK) return ST_OK;
    l->broken = true; /* it is unknown when the slot is free again */
    return ST_ERROR;
}

/* Slots are made free some way ahead of what is sent, oldest first: by then the device has usually passed them. */
static Status send_run(Stager *f, const StageRun *r, DevQueue *queue, DevPtr to, Err *e) {
    int64_t end = r->slice + (r->to - r->from + STAGE_BYTES - 1) / STAGE_BYTES;
    while (f->sent < end) {
        int64_t limit = atomic_load(&f->fill.limit);
        if (limit < f->fill.n && limit < f->sent + AHEAD) {
            TRY(stage_ready(f->q, slot_of(f, limit), e));
            atomic_store_explicit(&f->fill.limit, limit + 1, memory_order_release);
        } else if (device_is_full(&f->fill, f->sent)) {
            if (f->sent % 64 == 0) TRY(query_check_cancel(f->q, e));
            TRY(send_slice(f, r, queue, to, e));
        } else {
            device_fill_one(&f->fill);
        }
    }
    return ST_OK;
}

/* From where they are. */
static Status send_direct(DevQuery *q, const Upload *jobs, int64_t n, DevQueue *queue, DevPtr to, Err *e) {
    DevCopy copies[TOGETHER];
    for (int64_t i = 0; i < n;) {
        int64_t have = 0;
        TRY(query_check_cancel(q, e));
        for (; i < n && have < TOGETHER; i++)
            if (jobs[i].bytes) copies[have++] = (DevCopy){to + (uint64_t)jobs[i].at, jobs[i].from, jobs[i].bytes};
        if (have > 0) TRY(device_copy_in_many(q->d, queue, copies, have, e));
    }
    return ST_OK;
}

Status stager_send(Stager *f, int64_t group, DevQueue *queue, DevPtr to, Err *e) {
    DevQuery *q = f->q;
    bool all = q->d->info.shares_memory;
    for (int64_t i = f->groups[group], k, end = f->groups[group + 1]; i < end; i = k) {
        k = i + 1;
        if (f->jobs[i].registered || all) {
            while (k < end && (f->jobs[k].registered || all)) k++;
            TRY(send_direct(q, f->jobs + i, k - i, queue, to, e));
            continue;
        }
        const StageRun *r = &f->runs[f->run++];
        TRY(send_run(f, r, queue, to, e));
        k = i + r->n;
    }
    return ST_OK;
}

static Status stager_body(void *ctx, Err *e) {
    Stager *f = ctx;
    return f->body(f->ctx, f, e);
}

Status query_upload_groups(DevQuery *q, const Upload *jobs, const int64_t *groups, int64_t n_groups,
                           Status (*body)(void *ctx, Stager *s, Err *e), void *ctx, Err *e) {
    Lane *l = q->lane;
    Stager f = {.q = q, .lane = l, .jobs = jobs, .groups = groups, .first = l->stage_next, .body = body, .ctx = ctx};
    int64_t loose = 0, slices = 0;
    for (int64_t i = 0; i < groups[n_groups] && !q->d->info.shares_memory; i++) loose += !jobs[i].registered;
    if (loose > 0 && !(f.runs = arena_array(q->arena, StageRun, loose))) return err_oom(e);
    for (int64_t g = 0; g < n_groups && loose > 0; g++)
        for (int64_t i = groups[g], k; i < groups[g + 1]; i = k) {
            k = i + 1;
            if (jobs[i].registered) continue;
            while (k < groups[g + 1] && !jobs[k].registered &&
                   jobs[k].at - (jobs[k - 1].at + jobs[k - 1].bytes) <= BETWEEN)
                k++;
            StageRun *r = &f.runs[f.n_runs++];
            *r = (StageRun){.jobs = jobs + i,
                            .n = k - i,
                            .from = jobs[i].at,
                            .to = jobs[k - 1].at + jobs[k - 1].bytes,
                            .slice = slices};
            slices += (r->to - r->from + STAGE_BYTES - 1) / STAGE_BYTES;
        }
    if (slices > 0 && l->staging) return err_internal(e, "an upload to device %s inside another", q->d->info.id);
    l->stage_next = slot_of(&f, slices);
    l->staging |= slices > 0;
    int workers =
        q->opt.pool && slices > 2 ? MIN_OF(MIN_OF(q->opt.threads, pool_threads(q->opt.pool)), FILLERS_MAX) : 1;
    f.fill =
        (DevFill){.n = slices, .places = STAGES, .fill = fill_slot, .body = stager_body, .ctx = &f, .full = f.full};
    Status st = device_fill(&f.fill, q->opt.pool, workers, e);
    if (slices > 0) l->staging = false;
    return st;
}

typedef struct OneGroup {
    DevQueue *queue;
    DevPtr to;
} OneGroup;
static Status send_group(void *ctx, Stager *s, Err *e) {
    const OneGroup *x = ctx;
    return stager_send(s, 0, x->queue, x->to, e);
}

Status query_upload_on(DevQuery *q, DevQueue *queue, DevPtr to, const Upload *pieces, int64_t n, Err *e) {
    if (n == 0) return ST_OK;
    if (queue == q->lane->side) q->side_busy = true;
    else q->busy = true;
    OneGroup x = {queue, to};
    return query_upload_groups(q, pieces, (const int64_t[]){0, n}, 1, send_group, &x, e);
}

Status query_upload(DevQuery *q, DevPtr to, const Upload *pieces, int64_t n, Err *e) {
    TRY(query_upload_on(q, q->lane->queue, to, pieces, n, e));
    return query_sync(q, e);
}
