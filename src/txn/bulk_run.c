/* bulk_run.c - executing a schedule [GPUTx §5]: K-SET, PART, TPL, and one by one.
 *
 * K-SET. The order is cut into chunks of one set and procedure. Workers take chunks from one counter and begin one only when all chunks of the sets before have
 * finished: a count of finished chunks says so, because chunks of later sets cannot have finished before. There is no barrier, and it does not matter how many
 * workers turn up.
 *
 * PART. A worker takes some partitions at a time and goes through them in rounds: the next call of each, by procedure, on vectors.
 *
 * TPL. Workers take calls in the order of time and wait until the counter of each of their locks stands at their rank. A call waits for earlier
 * ones only, and these have been taken: somebody is on the way with them.
 */
#include <sched.h>

#include "txn/bulk_int.h"

enum { SPINS = 200, CHUNK_MIN = 64, PARTITIONS_MAX = 1024 };

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
static Status cut_sets(Bulk *b, Err *e) {
    const Schedule *s = &b->schedule;
    if (!(b->set_chunk = arena_array(b->arena, int64_t, s->n_sets + 2))) return err_oom(e);
    for (int pass = 0; pass < 2; pass++) {
        int64_t n = 0;
        for (int64_t k = 0; k < s->n_sets; k++) {
            int64_t i = s->set_start[k], end = s->set_start[k + 1];
            b->set_chunk[k] = n;
            while (i < end) {
                int32_t type = bulk_type(b, s->order[i]);
                int64_t j = end;
                if (b->type_of)
                    for (j = i + 1; j < end && b->type_of[s->order[j]] == type;) j++;
                int64_t size = MIN_OF(MAX_OF((j - i + b->workers - 1) / b->workers, (int64_t)CHUNK_MIN), b->parts[type].proc->body->vector_size);
                for (; i < j; i += size, n++)
                    if (pass) b->chunks[n] = (BulkChunk){i, k, (int32_t)MIN_OF(size, j - i), (uint16_t)type};
                i = j;
            }
        }
        if (!pass && !(b->chunks = arena_alloc(b->arena, (n + 1) * (int64_t)sizeof(BulkChunk)))) return err_oom(e);
        b->n_chunks = n;
    }
    return ST_OK;
}

static void kset_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    for (int64_t i; (i = atomic_fetch_add(&b->next, 1)) < b->n_chunks;) {
        const BulkChunk *c = &b->chunks[i];
        int64_t before = b->set_chunk[c->set];
        for (int spins = 0; atomic_load_explicit(&b->done, memory_order_acquire) < before;) relax(&spins);
        bulk_chunk(b, worker, c->part, c->n, b->schedule.order + c->start);
        atomic_fetch_add_explicit(&b->done, 1, memory_order_release);
    }
}

/* ---- PART ---------------------------------------------------------------------------------------- */
typedef struct Cursor { int64_t at, end; } Cursor;

static void run_partitions(Bulk *b, int worker, int64_t first, int64_t n, Cursor *cur, uint32_t *calls) {
    const Schedule *s = &b->schedule;
    for (int64_t i = 0; i < n; i++) cur[i] = (Cursor){s->part_start[first + i], s->part_start[first + i + 1]};
    while (n > 0) {
        /* a round: a call of each, procedure by procedure. Calls of different partitions do not conflict */
        for (int32_t t = 0; t < b->n_parts; t++) {
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

static void part_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    const Schedule *s = &b->schedule;
    int64_t step = MIN_OF(s->n_parts / (b->workers * 4), (int64_t)PARTITIONS_MAX);
    for (int32_t p = 0; p < b->n_parts; p++) step = MIN_OF(step, b->parts[p].proc->body->vector_size);
    step = MAX_OF(step, INT64_C(1));
    Cursor cur[PARTITIONS_MAX];
    uint32_t calls[PARTITIONS_MAX];
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < s->n_parts;) run_partitions(b, worker, i, MIN_OF(step, s->n_parts - i), cur, calls);
}

/* ---- TPL ------------------------------------------------------------------------------------------- */
static void tpl_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    const Schedule *s = &b->schedule;
    for (int64_t i; (i = atomic_fetch_add(&b->next, 1)) < b->n_calls;) {
        uint32_t call = s->order ? s->order[i] : (uint32_t)i;
        const LockUse *l = s->locks + s->lock_start[call], *end = s->locks + s->lock_start[call + 1];
        for (const LockUse *u = l; u < end; u++)
            for (int spins = 0; atomic_load_explicit(&b->locks[u->lock], memory_order_acquire) < u->from;) relax(&spins);
        bulk_chunk(b, worker, bulk_type(b, call), 1, &call);
        for (const LockUse *u = l; u < end; u++) atomic_fetch_add_explicit(&b->locks[u->lock], 1, memory_order_release);
    }
}

static void run_serial(Bulk *b) {
    for (uint32_t i = 0; i < (uint32_t)b->n_calls; i++) bulk_chunk(b, 0, bulk_type(b, i), 1, &i);
}

Status bulk_execute(Bulk *b, Err *e) {
    atomic_store(&b->next, 0);
    atomic_store(&b->done, 0);
    switch (b->schedule.strategy) {
    case STRATEGY_KSET:
        TRY(cut_sets(b, e));
        bulk_parallel(b, kset_worker);
        return ST_OK;
    case STRATEGY_PART: bulk_parallel(b, part_worker); return ST_OK;
    case STRATEGY_TPL:
        if (!(b->locks = arena_calloc(b->arena, (b->schedule.n_locks + 1) * 4))) return err_oom(e);
        bulk_parallel(b, tpl_worker);
        return ST_OK;
    default: run_serial(b); return ST_OK;
    }
}
