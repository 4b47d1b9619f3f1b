/* bulk_run.c - executing a schedule [GPUTx §5]: K-SET, PART, TPL, and one by one.
 *
 * K-SET. The order is cut into chunks of one set and procedure. Workers take chunks from one counter, each only when
 * all chunks of the sets before have finished: a count of finished chunks says so, because chunks of later sets cannot
 * have finished before. There is no barrier, and any number of workers may take part. A chunk is a worker's
 * share of its set by time, not by number: one call, if it takes so long. Sets with too little work to be worth sharing
 * are not cut: a run of such sets is one worker's. How long calls take is known from bulks before.
 *
 * PART. A worker takes some partitions at a time and goes through them in rounds: the next call of each, by procedure,
 * on vectors.
 *
 * TPL. Workers take calls in the order of time and wait until the counter of each of their locks has reached their
 * rank. A call waits for earlier ones only, which workers have taken before, so some call can always run.
 */
#include <sched.h>
#include <time.h>

#include "base/log.h"
#include "txn/run/bulk_running.h"

enum {
    SPINS = 200,
    PARTITIONS_MAX = 1024,
    SHARED_NS = 20000 /* work of a set that several workers share */,
    CHUNK_NS = 20000 /* work of a chunk, at least, where calls are shorter */,
    CHUNKS_OF_SHARE = 4 /* where each is this long: a chunk takes some 30 us more than its calls */,
    LONG_NS = 100000,
    SORTED_MAX = 64 /* runs of a set */,
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
/* The calls of a set that are of one procedure and beside each other in the order. */
typedef struct SetRun {
    int64_t start, n, size; /* size: calls of a chunk */
    double call_ns;
    int32_t group;
} SetRun;
typedef struct SetRuns {
    VEC(SetRun) list;
    double ns; /* of all calls */
} SetRuns;
static Status find_runs(const Bulk *b, int64_t set, SetRuns *runs, Err *e) {
    const Schedule *s = &b->schedule;
    const int64_t end = s->set_start[set + 1];
    runs->list.len = 0;
    runs->ns = 0;
    for (int64_t i = s->set_start[set], j; i < end; i = j) {
        const int32_t group = bulk_type(b, s->order[i]);
        j = end;
        if (b->type_of)
            for (j = i + 1; j < end && b->type_of[s->order[j]] == group;) j++;
        const double call_ns = b->groups[group].proc->call_ns > 0 ? b->groups[group].proc->call_ns : CALL_NS;
        if (!vec_push(b->arena, &runs->list, ((SetRun){i, j - i, 0, call_ns, group}))) return err_oom(e);
        runs->ns += call_ns * (double)(j - i);
    }
    return ST_OK;
}
/* Calls of a chunk by their time: each worker gets its share of the set, however few calls that are, and of a long set
 * several pieces of it, since workers are not equally fast. Workers without a processor would only be waited for. */
static void size_chunks(const Bulk *b, SetRuns *runs, bool narrow) {
    const Pool *pool = b->opt->query->pool;
    const int64_t workers = narrow ? 1 : pool ? MIN_OF(b->workers, pool_at_once(pool)) : b->workers;
    double share = MAX_OF(runs->ns / (double)workers, (double)CHUNK_NS);
    if (share >= CHUNKS_OF_SHARE * LONG_NS) share /= CHUNKS_OF_SHARE;
    for (int64_t i = 0; i < runs->list.len; i++) {
        SetRun *r = &runs->list.items[i];
        const int64_t most = b->groups[r->group].proc->body->vector_size;
        int64_t pieces = 1;
        if (workers > 1) pieces = (int64_t)MIN_OF((double)r->n, r->call_ns * (double)r->n / share + 0.5);
        pieces = MAX_OF(pieces, (r->n + most - 1) / most);
        if (pieces > workers) pieces = MIN_OF((pieces + workers - 1) / workers * workers, r->n); /* whole rounds */
        r->size = (r->n + pieces - 1) / pieces;
    }
}
/* Chunks that take long come first: one that comes last is waited for. */
static void longest_first(SetRuns *runs) {
    SetRun *r = runs->list.items;
    if (runs->list.len > SORTED_MAX) return;
    for (int64_t i = 1; i < runs->list.len; i++)
        for (int64_t k = i; k > 0; k--) {
            const SetRun a = r[k - 1], z = r[k];
            if (a.call_ns * (double)a.size >= z.call_ns * (double)z.size) break;
            r[k - 1] = z;
            r[k] = a;
        }
}
typedef VEC(BulkChunk) Chunks;
typedef VEC(int64_t) Pieces;
/* The set's chunks; `joins`: the first one belongs to the piece before. */
static Status cut_set(Bulk *b, int64_t set, SetRuns *runs, bool narrow, bool joins, Chunks *chunks, Pieces *pieces,
                      Err *e) {
    size_chunks(b, runs, narrow);
    if (!narrow) longest_first(runs);
    for (int64_t i = 0; i < runs->list.len; i++) {
        const SetRun *r = &runs->list.items[i];
        for (int64_t at = 0; at < r->n; at += r->size) {
            const BulkChunk c = {r->start + at, set, (int32_t)MIN_OF(r->size, r->n - at), (uint16_t)r->group};
            if (!joins && !vec_push(b->arena, pieces, chunks->len)) return err_oom(e);
            if (!vec_push(b->arena, chunks, c)) return err_oom(e);
            joins = narrow;
        }
    }
    if (!bulk_set_fetch_adds(b, set)) return ST_OK;
    if (!narrow && !vec_push(b->arena, pieces, chunks->len)) return err_oom(e);
    if (!vec_push(b->arena, chunks, ((BulkChunk){b->schedule.set_start[set + 1], set, 0, 0}))) return err_oom(e);
    return ST_OK;
}
static Status cut_sets(Bulk *b, Err *e) {
    const int64_t n_sets = b->schedule.n_sets;
    SetRuns runs = {0};
    Chunks chunks = {0};
    Pieces pieces = {0};
    bool was_narrow = false;
    if (!(b->run.set_chunk = arena_array(b->arena, int64_t, n_sets + 2))) return err_oom(e);
    for (int64_t k = 0; k < n_sets; k++) {
        b->run.set_chunk[k] = chunks.len;
        TRY(find_runs(b, k, &runs, e));
        const bool narrow = b->workers == 1 || runs.ns < SHARED_NS;
        TRY(cut_set(b, k, &runs, narrow, narrow && was_narrow, &chunks, &pieces, e));
        was_narrow = narrow;
    }
    b->run.n_pieces = pieces.len;
    if (!vec_push(b->arena, &pieces, chunks.len)) return err_oom(e);
    b->run.n_chunks = chunks.len;
    b->run.chunks = chunks.items;
    b->run.pieces = pieces.items;
    return ST_OK;
}

/* Chunks that have finished before this one begins: all of the sets before, and at a set's end its own. */
static int64_t chunks_before(const Bulk *b, const BulkChunk *c) {
    return c->n > 0 ? b->run.set_chunk[c->set] : c - b->run.chunks;
}
/* The next piece, once it can begin. Until then no worker has it: one that loses its processor while it waits is not
 * waited for. False: there are no more. */
static bool take_piece(Bulk *b, int64_t *piece) {
    for (int spins = 0;;) {
        int64_t i = atomic_load_explicit(&b->next, memory_order_relaxed);
        if (i >= b->run.n_pieces) return false;
        const int64_t before = chunks_before(b, &b->run.chunks[b->run.pieces[i]]);
        if (atomic_load_explicit(&b->run.done, memory_order_acquire) < before) {
            relax(&spins);
            continue;
        }
        *piece = i;
        if (atomic_compare_exchange_strong(&b->next, &i, i + 1)) return true;
    }
}
static void kset_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    CallTime *times = b->w[worker].times;
    for (int64_t i; take_piece(b, &i);)
        for (const BulkChunk *c = &b->run.chunks[b->run.pieces[i]]; c < &b->run.chunks[b->run.pieces[i + 1]]; c++) {
            const int64_t before = chunks_before(b, c);
            int64_t began = 0;
            for (int spins = 0; atomic_load_explicit(&b->run.done, memory_order_acquire) < before;) relax(&spins);
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
            const bool sampled = times[c->group].chunks++ % SAMPLE == 0;
            /* Processor time: where threads share processors the clock says of a call what others do as well, so
             * that sets would look worth sharing just where their workers are waited for longest. */
            if (sampled) began = clock_thread_ns();
            bulk_chunk(b, worker, c->group, c->n, b->schedule.order + c->start);
            if (sampled) {
                times[c->group].ns += clock_thread_ns() - began;
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
