/* bulk_run.c - executing a schedule [GPUTx §5]: K-SET, PART, TPL, and one by one.
 *
 * K-SET. The order is cut into chunks of one set and procedure. Workers take chunks from one counter and begin one only
 * when all chunks of the sets before have finished: a count of finished chunks says so, because chunks of later sets
 * cannot have finished before. There is no barrier, and any number of workers may take part. Sets with too little work
 * to be worth sharing are not cut: a run of such sets is one worker's. How long calls take is known from bulks before.
 *
 * PART. A worker takes some partitions at a time and goes through them in rounds: the next call of each, by procedure,
 * on vectors.
 *
 * TPL. Workers take calls in the order of time and wait until the counter of each of their locks has reached their
 * rank. A call waits for earlier ones only, which workers have taken before, so some call can always run.
 */
#include <sched.h>

#include "base/log.h"
#include "txn/run/bulk_running.h"

enum {
    SPINS = 200,
    CHUNK_MIN = 64,
    PARTITIONS_MAX = 1024,
    SHARED_NS = 20000 /* work of a set that several workers share */,
    CALL_NS = 1000 /* unknown */,
    SAMPLE = 16
};

static inline void relax(int *spins) {
    if (++*spins < SPINS) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    } else {
        sched_yield();
    }
}

/* ---- K-SET ---------------------------------------------------------------------------------- */
/* A worker does it alone. */
static bool is_narrow(const Bulk *b, int64_t set) {
    const Schedule *s = &b->schedule;
    double ns = 0;
    if (b->workers == 1) return true;
    for (int64_t i = s->set_start[set]; i < s->set_start[set + 1] && ns < SHARED_NS; i++) {
        double call_ns = b->groups[bulk_type(b, s->order[i])].proc->call_ns;
        ns += call_ns > 0 ? call_ns : CALL_NS;
    }
    return ns < SHARED_NS;
}
static Status cut_sets(Bulk *b, Err *e) {
    const Schedule *s = &b->schedule;
    b->run.n_pieces = 0;
    if (!(b->run.set_chunk = arena_array(b->arena, int64_t, s->n_sets + 2))) return err_oom(e);
    for (int pass = 0; pass < 2; pass++) {
        int64_t n = 0;
        bool was_narrow = false;
        for (int64_t k = 0; k < s->n_sets; k++) {
            int64_t i = s->set_start[k], end = s->set_start[k + 1];
            bool narrow = pass && is_narrow(b, k), joins = narrow && was_narrow;
            b->run.set_chunk[k] = n;
            was_narrow = narrow;
            while (i < end) {
                int32_t type = bulk_type(b, s->order[i]);
                int64_t j = end;
                if (b->type_of)
                    for (j = i + 1; j < end && b->type_of[s->order[j]] == type;) j++;
                int64_t size = MIN_OF(MAX_OF((j - i + b->workers - 1) / b->workers, (int64_t)CHUNK_MIN),
                                      b->groups[type].proc->body->vector_size);
                for (; i < j; i += size, n++) {
                    if (!pass) continue;
                    b->run.chunks[n] = (BulkChunk){i, k, (int32_t)MIN_OF(size, j - i), (uint16_t)type};
                    if (!joins) b->run.pieces[b->run.n_pieces++] = n;
                    joins = narrow;
                }
                i = j;
            }
            if (!bulk_set_fetch_adds(b, k)) continue;
            if (pass) {
                b->run.chunks[n] = (BulkChunk){end, k, 0, 0};
                if (!narrow) b->run.pieces[b->run.n_pieces++] = n;
            }
            n++;
        }
        if (!pass && (!(b->run.chunks = arena_alloc(b->arena, (n + 1) * (int64_t)sizeof(BulkChunk))) ||
                      !(b->run.pieces = arena_alloc(b->arena, (n + 1) * 8))))
            return err_oom(e);
        b->run.n_chunks = n;
    }
    b->run.pieces[b->run.n_pieces] = b->run.n_chunks;
    return ST_OK;
}

static void kset_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    CallTime *times = b->w[worker].times;
    for (int64_t i; (i = atomic_fetch_add(&b->next, 1)) < b->run.n_pieces;)
        for (const BulkChunk *c = &b->run.chunks[b->run.pieces[i]]; c < &b->run.chunks[b->run.pieces[i + 1]]; c++) {
            int64_t before = c->n > 0 ? b->run.set_chunk[c->set] : c - b->run.chunks, began = 0;
            for (int spins = 0; atomic_load_explicit(&b->run.done, memory_order_acquire) < before;) relax(&spins);
            bool sampled = (c - b->run.chunks) % SAMPLE == 0;
            if (c->n == 0) {
                bulk_end_set(b, worker, c->set);
                atomic_fetch_add_explicit(&b->run.done, 1, memory_order_release);
                continue;
            }
            if (b->fetch_adds) {
                CallSink *sink = &b->w[worker].sink;
                sink->keeps = true;
                sink->set = (uint32_t)c->set;
                sink->doubts_keys = bulk_set_fetch_adds(b, c->set);
                if (bulk_fetch_adds_failed(b)) {
                    atomic_fetch_add_explicit(&b->run.done, 1, memory_order_release);
                    continue;
                }
            }
            if (sampled) began = clock_ns();
            bulk_chunk(b, worker, c->group, c->n, b->schedule.order + c->start);
            if (sampled) {
                times[c->group].ns += clock_ns() - began;
                times[c->group].n += c->n;
            }
            atomic_fetch_add_explicit(&b->run.done, 1, memory_order_release);
        }
}
/* Time per call, for the next bulk's is_narrow. */
static void learn_times(Bulk *b) {
    for (int32_t p = 0; p < b->n_groups; p++) {
        CallTime t = {0};
        for (int i = 0; i < b->workers; i++) {
            t.ns += b->w[i].times[p].ns;
            t.n += b->w[i].times[p].n;
        }
        if (t.n == 0) continue;
        double now = (double)t.ns / (double)t.n, *ns = &b->groups[p].proc->call_ns;
        *ns = *ns > 0 ? (3 * *ns + now) / 4 : now;
    }
}

/* ---- PART ---------------------------------------------------------------------------------------- */
typedef struct Cursor {
    int64_t at, end;
} Cursor;

static void run_partitions(Bulk *b, int worker, int64_t first, int64_t n, Cursor *cur, uint32_t *calls) {
    const Schedule *s = &b->schedule;
    int64_t had = n;
    n = 0;
    for (int64_t p = first; p < first + had; p++) {
        int64_t at = b->run.partition_at ? b->run.partition_at[p] : s->partition_start[p];
        if (at < s->partition_start[p + 1]) cur[n++] = (Cursor){at, s->partition_start[p + 1]};
    }
    while (n > 0) {
        /* a round: a call of each, procedure by procedure. Calls of different partitions do not conflict */
        for (int32_t t = 0; t < b->n_groups; t++) {
            int64_t m = 0;
            for (int64_t i = 0; i < n; i++) {
                uint32_t call = s->order[cur[i].at];
                if (bulk_type(b, call) != t) continue;
                calls[m++] = call;
            }
            if (m > 0) bulk_chunk(b, worker, t, m, calls);
        }
        int64_t left = 0;
        for (int64_t i = 0; i < n; i++)
            if (++cur[i].at < cur[i].end) cur[left++] = cur[i];
        n = left;
    }
}

static void partition_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    const Schedule *s = &b->schedule;
    int64_t step = MIN_OF(s->n_partitions / (b->workers * 4), (int64_t)PARTITIONS_MAX);
    for (int32_t p = 0; p < b->n_groups; p++) step = MIN_OF(step, b->groups[p].proc->body->vector_size);
    step = MAX_OF(step, INT64_C(1));
    Cursor cur[PARTITIONS_MAX];
    uint32_t calls[PARTITIONS_MAX];
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < s->n_partitions;)
        run_partitions(b, worker, i, MIN_OF(step, s->n_partitions - i), cur, calls);
}

void bulk_run_partitions(Bulk *b, const uint32_t *partition_at) {
    b->run.partition_at = partition_at;
    atomic_store(&b->next, 0);
    bulk_parallel(b, partition_worker);
}

/* ---- TPL ------------------------------------------------------------------------------------------- */
static void tpl_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    const Schedule *s = &b->schedule;
    for (int64_t i; (i = atomic_fetch_add(&b->next, 1)) < b->run.n_locked;) {
        uint32_t call = s->order ? s->order[i] : (uint32_t)i;
        const LockUse *l = s->locks + s->lock_start[call], *end = s->locks + s->lock_start[call + 1];
        for (const LockUse *u = l; u < end; u++)
            for (int spins = 0; atomic_load_explicit(&b->run.locks[u->lock], memory_order_acquire) < u->from;)
                relax(&spins);
        bulk_chunk(b, worker, bulk_type(b, call), 1, &call);
        for (const LockUse *u = l; u < end; u++)
            atomic_fetch_add_explicit(&b->run.locks[u->lock], 1, memory_order_release);
    }
}

void bulk_run_locked(Bulk *b, int64_t n, _Atomic uint32_t *counters) {
    b->run.locks = counters;
    b->run.n_locked = n;
    atomic_store(&b->next, 0);
    bulk_parallel(b, tpl_worker);
}

static void run_serial(Bulk *b) {
    for (uint32_t i = 0; i < (uint32_t)b->n_calls; i++) bulk_chunk(b, 0, bulk_type(b, i), 1, &i);
}

Status bulk_execute(Bulk *b, Err *e) {
    atomic_store(&b->next, 0);
    atomic_store(&b->run.done, 0);
    switch (b->schedule.strategy) {
    case STRATEGY_KSET:
        for (int i = 0; i < b->workers; i++)
            if (!(b->w[i].times = arena_calloc(b->arena, b->n_groups * (int64_t)sizeof(CallTime) + 8)))
                return err_oom(e);
        TRY(cut_sets(b, e));
        bulk_parallel(b, kset_worker);
        bulk_end_fetch_adds(b);
        learn_times(b);
        return ST_OK;
    case STRATEGY_PART: bulk_run_partitions(b, NULL); return ST_OK;
    case STRATEGY_TPL:
        if (!(b->run.locks = arena_calloc(b->arena, (b->schedule.n_locks + 1) * 4))) return err_oom(e);
        bulk_run_locked(b, b->n_calls, b->run.locks);
        return ST_OK;
    default: run_serial(b); return ST_OK;
    }
}
