/* test_schedule.c - orders of execution against the graph built edge by edge, and against the definition of a conflict.
 */
#include "unit.h"
#include "unit_random.h"

#include <stdlib.h>

#include "base/hash.h"
#include "txn/order/schedule.h"

static MemAccount root;
static Err err;

typedef struct Bulk {
    ScheduleInput in;
    TxnOp *ops;
    uint16_t *types;
    bool sorted;
} Bulk;
static void bulk_free(Bulk *b) {
    free(b->ops);
    free(b->types);
}
/* hot: of 10 operations so many go to the first 4 items. kinds: bits of those that occur. */
static Bulk bulk_random(int64_t n_calls, int64_t max_ops, int64_t n_items, int hot, int kinds, bool sorted,
                        int64_t n_types) {
    Bulk b = {.ops = malloc((size_t)(n_calls * max_ops + 1) * sizeof(TxnOp)),
              .types = malloc((size_t)(n_calls + 1) * 2),
              .sorted = sorted};
    int64_t n = 0;
    for (int64_t c = 0; c < n_calls; c++) {
        b.types[c] = (uint16_t)rnd_below(n_types);
        for (int64_t k = rnd_below(max_ops + 1); k > 0; k--) {
            int64_t item = rnd_below(10) < hot ? rnd_below(MIN_OF(4, n_items)) : rnd_below(n_items);
            int kind;
            do kind = (int)rnd_below(4);
            while (!(kinds >> kind & 1));
            b.ops[n++] = (TxnOp){n_items % 2 ? (uint64_t)item : hash_u64((uint64_t)item), (uint32_t)c, (uint8_t)kind};
        }
    }
    if (!sorted)
        for (int64_t i = n - 1; i > 0; i--) {
            int64_t j = rnd_below(i + 1);
            TxnOp t = b.ops[i];
            b.ops[i] = b.ops[j];
            b.ops[j] = t;
        }
    b.in = (ScheduleInput){.n_calls = n_calls,
                           .types = b.types,
                           .n_ops = n,
                           .ops = b.ops,
                           .strategy = STRATEGY_KSET,
                           .type_drop = (int)(n_calls % 3),
                           .group_free = n_calls % 2 != 0,
                           .workers = 4,
                           .n_types = n_calls % 5 < 2 ? (int32_t)n_types : 0,
                           .in_order = sorted && n_calls % 4 < 3};
    return b;
}

/* Kinds (bits) of call c on the item. */
static int kinds_of(const Bulk *b, int64_t c, uint64_t item) {
    int k = 0;
    for (int64_t i = 0; i < b->in.n_ops; i++)
        if (b->ops[i].call == c && b->ops[i].item == item) k |= 1 << b->ops[i].kind;
    return k;
}
static bool conflict(const Bulk *b, int64_t x, int64_t y) {
    for (int64_t i = 0; i < b->in.n_ops; i++) {
        if (b->ops[i].call != x) continue;
        int both = kinds_of(b, x, b->ops[i].item) | kinds_of(b, y, b->ops[i].item);
        if (kinds_of(b, y, b->ops[i].item) && both != 1 << OPK_READ && both != 1 << OPK_ADD) return true;
    }
    return false;
}
/* They do so only because both fetch and add: sets may have both. */
static bool only_fetch_adds(const Bulk *b, int64_t x, int64_t y) {
    for (int64_t i = 0; i < b->in.n_ops; i++) {
        if (b->ops[i].call != x) continue;
        int both = kinds_of(b, x, b->ops[i].item) | kinds_of(b, y, b->ops[i].item);
        if (kinds_of(b, y, b->ops[i].item) && both != 1 << OPK_READ && both != 1 << OPK_ADD &&
            both != 1 << OPK_FETCH_ADD)
            return false;
    }
    return true;
}

static void run(const Bulk *b, Pool *pool, Arena *a, Strategy s, Schedule *out) {
    ScheduleInput in = b->in;
    in.strategy = s;
    if (schedule_make(&in, pool, a, out, &err) != ST_OK) fail_msg("%s", err.message);
    assert_int_equal(out->strategy, s);
    assert_int_equal(out->n_calls, in.n_calls);
}
static void check_permutation(const Schedule *s, uint8_t *seen) {
    memset(seen, 0, (size_t)s->n_calls);
    for (int64_t i = 0; i < s->n_calls; i++) {
        assert_true(s->order[i] < s->n_calls && !seen[s->order[i]]);
        seen[s->order[i]] = 1;
    }
}
static void check_kset(const Bulk *b, const Schedule *s, const int32_t *depth) {
    int64_t d = 0, w0 = 0;
    for (int64_t c = 0; c < b->in.n_calls; c++) {
        d = MAX_OF(d, depth[c] + 1);
        w0 += depth[c] == 0;
    }
    assert_int_equal(s->depth, d);
    assert_int_equal(s->n_sets, d);
    assert_int_equal(s->width0, w0);
    assert_int_equal(s->set_start[0], 0);
    assert_int_equal(s->set_start[d], b->in.n_calls);
    for (int64_t k = 0; k < d; k++)
        for (int64_t i = s->set_start[k]; i < s->set_start[k + 1]; i++) {
            uint32_t c = s->order[i], p = i > s->set_start[k] ? s->order[i - 1] : c;
            assert_int_equal(depth[c], k);
            int before = b->types[p] >> b->in.type_drop, mine = b->types[c] >> b->in.type_drop;
            if (p != c) assert_true(before < mine || (before == mine && p < c));
        }
}
/* By time, or calls with locks by time, and then the others by type. */
static void check_tpl(const Bulk *b, const Schedule *s) {
    int64_t last = -1;
    for (int64_t i = 0; i < s->n_calls; i++) {
        uint32_t c = s->order[i];
        int64_t group = !b->in.group_free || s->lock_start[c] != s->lock_start[c + 1]
                            ? 0
                            : 1 + (b->types[c] >> b->in.type_drop),
                key = group << 32 | c;
        assert_true(key > last);
        last = key;
    }
}
/* Who conflicts is in one partition, in order. */
static void check_parts(const Bulk *b, const Schedule *s, bool all_pairs) {
    int64_t *part = malloc((size_t)(s->n_calls + 1) * 8);
    assert_int_equal(s->partition_start[0], 0);
    assert_int_equal(s->partition_start[s->n_partitions], s->n_calls);
    for (int64_t p = 0; p < s->n_partitions; p++) {
        assert_true(s->partition_start[p] < s->partition_start[p + 1]);
        if (p) assert_true(s->order[s->partition_start[p - 1]] < s->order[s->partition_start[p]]);
        for (int64_t i = s->partition_start[p]; i < s->partition_start[p + 1]; i++) {
            if (i > s->partition_start[p]) assert_true(s->order[i - 1] < s->order[i]);
            part[s->order[i]] = p;
        }
    }
    for (int64_t x = 0; all_pairs && x < s->n_calls; x++)
        for (int64_t y = 0; y < x; y++)
            if (conflict(b, x, y)) assert_int_equal(part[x], part[y]);
    free(part);
}
/* Runs the calls in a random order that the locks allow. done[c] = when. */
static void run_locks(const Schedule *s, int64_t *done) {
    uint32_t *counter = calloc((size_t)s->n_locks + 1, 4), *waiting = malloc((size_t)(s->n_calls + 1) * 4);
    int64_t n = s->n_calls, clock = 0;
    for (int64_t c = 0; c < n; c++) waiting[c] = (uint32_t)c;
    while (n > 0) {
        /* In full parallelism: whoever may start now is not stopped by who has started and not finished. */
        int64_t started = 0;
        for (int64_t i = 0; i < n; i++) {
            int64_t c = waiting[i];
            bool may = true;
            for (int64_t k = s->lock_start[c]; k < s->lock_start[c + 1]; k++)
                may = may && counter[s->locks[k].lock] >= s->locks[k].from;
            if (!may) continue;
            waiting[i] = waiting[started];
            waiting[started++] = (uint32_t)c;
        }
        assert_true(started > 0); /* else a deadlock */
        int64_t finish = 1 + rnd_below(started);
        for (int64_t f = 0; f < finish; f++) { /* a random one of the started ones */
            int64_t j = f + rnd_below(started - f);
            uint32_t c = waiting[j];
            waiting[j] = waiting[f];
            waiting[f] = c;
            for (int64_t k = s->lock_start[c]; k < s->lock_start[c + 1]; k++) counter[s->locks[k].lock]++;
            done[c] = clock;
        }
        clock++;
        memmove(waiting, waiting + finish, (size_t)(n - finish) * 4);
        n -= finish;
    }
    free(counter);
    free(waiting);
}

static void small_bulks(void **state) {
    (void)state;
    Pool *pool = pool_new(3, &err);
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    for (int round = 0; round < 1500; round++) {
        int64_t n = rnd_below(round % 10 ? 24 : 90); /* with takes, half of them */
        Bulk b = bulk_random(n, 1 + rnd_below(8), 1 + rnd_below(20), (int)rnd_below(11), 1 + (int)rnd_below(15),
                             rnd_below(2), 1 + rnd_below(4));
        if (round % 3) b.in.scratch = scratch;
        if (round % 2) b.in.shared_min = 1;
        Arena *a = arena_new(&root, &err);
        int32_t *depth = arena_array(a, int32_t, n), *ref = arena_array(a, int32_t, n),
                *naive = arena_array(a, int32_t, n);
        int64_t *done = arena_array(a, int64_t, n);
        uint8_t *seen = arena_array(a, uint8_t, n);
        for (int64_t c = 0; c < n; c++)
            for (int64_t p = 0; p < c; p++)
                if (naive[p] >= naive[c] && conflict(&b, p, c)) naive[c] = naive[p] + !only_fetch_adds(&b, p, c);
        assert_int_equal(schedule_reference(&b.in, a, ref, &err), ST_OK);
        assert_int_equal(schedule_depths(&b.in, pool, a, depth, &err), ST_OK);
        assert_memory_equal(ref, naive, (size_t)n * 4);
        assert_memory_equal(depth, naive, (size_t)n * 4);
        Schedule s;
        run(&b, pool, a, STRATEGY_KSET, &s);
        check_permutation(&s, seen);
        check_kset(&b, &s, naive);
        run(&b, pool, a, STRATEGY_PART, &s);
        check_permutation(&s, seen);
        check_parts(&b, &s, true);
        run(&b, pool, a, STRATEGY_SERIAL, &s);
        assert_int_equal(s.n_partitions, n > 0);
        check_parts(&b, &s, true);
        for (int64_t i = 0; i < n; i++) assert_int_equal(s.order[i], i);
        run(&b, pool, a, STRATEGY_TPL, &s);
        check_permutation(&s, seen);
        check_tpl(&b, &s);
        run_locks(&s, done);
        for (int64_t x = 0; x < n; x++)
            for (int64_t y = 0; y < x; y++)
                if (conflict(&b, x, y)) assert_true(done[y] < done[x]);
        arena_free(a);
        bulk_free(&b);
    }
    schedule_scratch_free(scratch);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* Locks that nobody waits for do not exist, and those that commute start together. */
static void locks_share(void **state) {
    (void)state;
    /* item 1: add add add read read write read; item 2: reads only; call 3 has read and add on 1 = write */
    TxnOp ops[] = {{1, 0, OPK_ADD},  {2, 0, OPK_READ},  {1, 1, OPK_ADD}, {1, 2, OPK_ADD},
                   {2, 2, OPK_READ}, {1, 3, OPK_READ},  {1, 3, OPK_ADD}, {1, 4, OPK_READ},
                   {1, 5, OPK_READ}, {1, 6, OPK_WRITE}, {1, 7, OPK_READ}};
    ScheduleInput in = {.n_calls = 8, .n_ops = ARRAY_LEN(ops), .ops = ops, .strategy = STRATEGY_TPL};
    Arena *a = arena_new(&root, &err);
    Schedule s;
    assert_int_equal(schedule_make(&in, NULL, a, &s, &err), ST_OK);
    static const uint32_t from[] = {0, 0, 0, 3, 4, 4, 6, 7};
    assert_int_equal(s.n_locks, 1);
    for (int64_t c = 0; c < 8; c++) {
        assert_int_equal(s.lock_start[c], c);
        assert_int_equal(s.locks[c].from, from[c]);
    }
    assert_int_equal(s.lock_start[8], 8);
    assert_int_equal(s.depth, 5);
    assert_int_equal(s.width0, 3);
    assert_int_equal(s.crossing, 0);
    arena_free(a);
}

/* Who takes comes no earlier than those who took before: item 1 is taken from by all; item 2 keeps call 1 back, and so
 * the calls behind it. Locks and partitions know nothing of takes. */
static void fetch_adds_keep_order(void **state) {
    (void)state;
    TxnOp ops[] = {{1, 0, OPK_FETCH_ADD}, {2, 0, OPK_WRITE},     {1, 1, OPK_FETCH_ADD}, {2, 1, OPK_WRITE},
                   {1, 2, OPK_FETCH_ADD}, {1, 3, OPK_FETCH_ADD}, {1, 3, OPK_READ},      {1, 4, OPK_ADD},
                   {1, 5, OPK_FETCH_ADD}, {1, 6, OPK_FETCH_ADD}};
    static const int32_t want[] = {0, 1, 1, 2, 3, 4, 4};
    ScheduleInput in = {.n_calls = 7, .n_ops = ARRAY_LEN(ops), .ops = ops, .strategy = STRATEGY_KSET};
    Arena *a = arena_new(&root, &err);
    int32_t depth[7];
    Schedule s;
    assert_int_equal(schedule_depths(&in, NULL, a, depth, &err), ST_OK);
    assert_memory_equal(depth, want, sizeof want);
    assert_int_equal(schedule_reference(&in, a, depth, &err), ST_OK);
    assert_memory_equal(depth, want, sizeof want);
    in.strategy = STRATEGY_TPL;
    assert_int_equal(schedule_make(&in, NULL, a, &s, &err), ST_OK);
    for (int64_t c = 1; c < 7; c++) assert_true(s.lock_start[c] < s.lock_start[c + 1]);
    in.strategy = STRATEGY_PART;
    assert_int_equal(schedule_make(&in, NULL, a, &s, &err), ST_OK);
    assert_int_equal(s.n_partitions, 1);
    arena_free(a);
}

static void partitions_given(void **state) {
    (void)state;
    enum { N = 5000 };
    uint64_t *part = malloc(N * 8);
    TxnOp *ops = malloc(N * 2 * sizeof(TxnOp));
    for (int64_t c = 0; c < N; c++) {
        uint64_t p = rnd() % 37;
        part[c] = hash_u64(p);
        for (int64_t k = 0; k < 2; k++)
            ops[2 * c + k] = (TxnOp){hash_u64(1000 * (p + 1) + rnd() % 10), (uint32_t)c, OPK_WRITE};
    }
    Bulk b = {.ops = ops, .in = {.n_calls = N, .n_ops = N * 2, .ops = ops, .partition = part}};
    Arena *a = arena_new(&root, &err);
    Schedule s;
    run(&b, NULL, a, STRATEGY_PART, &s);
    assert_int_equal(s.n_partitions, 37);
    assert_int_equal(s.crossing, 0);
    check_parts(&b, &s, false);
    for (int64_t p = 0; p < 37; p++)
        for (int64_t i = s.partition_start[p]; i < s.partition_start[p + 1]; i++)
            assert_int_equal(part[s.order[i]], part[s.order[s.partition_start[p]]]);
    /* Two that cross: partitions 1 and 2 become one, 3 and 4 as well. */
    for (int64_t k = 0; k < 2; k++) {
        int64_t c = 100 + 1000 * k;
        part[c] = UINT64_MAX;
        ops[2 * c] = (TxnOp){hash_u64((uint64_t)(2000 + 2000 * k)), (uint32_t)c, OPK_WRITE};
        ops[2 * c + 1] = (TxnOp){hash_u64((uint64_t)(3000 + 2000 * k)), (uint32_t)c, OPK_WRITE};
    }
    run(&b, NULL, a, STRATEGY_PART, &s);
    assert_int_equal(s.crossing, 2);
    assert_true(s.n_partitions >= 35); /* connected calls may be finer than what was given */
    check_parts(&b, &s, false);
    arena_free(a);
    free(part);
    free(ops);
}

static void algorithm_1(void **state) {
    (void)state;
    Bulk b = bulk_random(300, 3, 9, 5, 7, true, 2);
    Arena *a = arena_new(&root, &err);
    Schedule s;
    run(&b, NULL, a, STRATEGY_KSET, &s);
    assert_true(s.crossing > 10 && s.depth > 10 && s.width0 > 1);
    static const struct {
        int w0, c, d;
        Strategy want;
    } cases[] = {{0, 0, 0, STRATEGY_KSET},
                 {1, 1, 1, STRATEGY_PART},
                 {1, 1, -1, STRATEGY_PART},
                 {1, -1, 1, STRATEGY_PART},
                 {1, -1, -1, STRATEGY_TPL}};
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        ScheduleInput in = b.in;
        in.strategy = STRATEGY_AUTO;
        in.w0_min = s.width0 + cases[i].w0;
        in.c_max = cases[i].c > 0 ? s.crossing + 1 : s.crossing;
        in.d_max = cases[i].d > 0 ? s.depth - 1 : s.depth;
        Schedule got;
        assert_int_equal(schedule_make(&in, NULL, a, &got, &err), ST_OK);
        assert_int_equal(got.strategy, cases[i].want);
        assert_non_null(got.why);
    }
    /* by the average width of sets */
    static const struct {
        bool narrow, locks, crossing, chains;
        Strategy want;
    } widths[] = {{false, false, false, false, STRATEGY_KSET}, {false, true, true, false, STRATEGY_KSET},
                  {false, true, false, true, STRATEGY_KSET},   {true, true, false, false, STRATEGY_TPL},
                  {true, true, false, true, STRATEGY_PART},    {true, true, true, true, STRATEGY_TPL},
                  {true, false, false, false, STRATEGY_PART},  {true, false, true, true, STRATEGY_KSET}};
    for (int64_t i = 0; i < ARRAY_LEN(widths); i++) {
        ScheduleInput in = b.in;
        in.strategy = STRATEGY_AUTO;
        in.set_min = 300 / s.depth + widths[i].narrow;
        in.locks_pay = widths[i].locks;
        in.chain_min = 300 / s.width0 + !widths[i].chains;
        in.c_max = widths[i].crossing ? s.crossing : s.crossing + 1;
        Schedule got;
        assert_int_equal(schedule_make(&in, NULL, a, &got, &err), ST_OK);
        assert_int_equal(got.strategy, widths[i].want);
    }
    bulk_free(&b);
    /* A few chains whose calls wait for two things each: no locks; many of them, or a chain behind a wide set: locks */
    static const struct {
        int64_t chains, lone;
        Strategy want;
    } chained[] = {{1, 0, STRATEGY_PART}, {10, 0, STRATEGY_PART}, {40, 0, STRATEGY_TPL}, {1, 30, STRATEGY_TPL}};
    for (int64_t i = 0; i < ARRAY_LEN(chained); i++) {
        enum { CALLS = 1000 };
        TxnOp *ops = arena_array(a, TxnOp, 2 * CALLS);
        for (int64_t c = 0; c < CALLS; c++)
            for (int64_t k = 0; k < 2; k++)
                ops[2 * c + k] = (TxnOp){c < chained[i].lone ? hash_u64((uint64_t)(1000 + 2 * c + k))
                                                             : (uint64_t)(2 * (c % chained[i].chains) + k + 1),
                                         (uint32_t)c, OPK_WRITE};
        ScheduleInput in = {.n_calls = CALLS,
                            .n_ops = 2 * CALLS,
                            .ops = ops,
                            .strategy = STRATEGY_AUTO,
                            .set_min = 64,
                            .locks_pay = true,
                            .chain_min = 8,
                            .c_max = 1};
        Schedule got;
        assert_int_equal(schedule_make(&in, NULL, a, &got, &err), ST_OK);
        assert_int_equal(got.strategy, chained[i].want);
        if (got.strategy == STRATEGY_PART) assert_int_equal(got.n_partitions, chained[i].chains);
    }
    arena_free(a);
}

/* A number for what happens to a lock: who uses it, and from when; by lock. */
static uint64_t *lock_histories(Arena *a, const Schedule *s) {
    uint64_t *of = arena_array(a, uint64_t, s->n_locks + 1);
    for (int64_t c = 0; c < s->n_calls; c++)
        for (int64_t i = s->lock_start[c]; i < s->lock_start[c + 1]; i++) {
            assert_true(s->locks[i].lock < s->n_locks);
            uint64_t *h = &of[s->locks[i].lock];
            *h = hash_u64(*h + hash_u64((uint64_t)c << 32 | s->locks[i].from));
        }
    return of;
}
/* The same but for the names of locks and the order of a call's uses. */
static void assert_same_locks(Arena *a, const Schedule *x, const Schedule *y) {
    assert_int_equal(x->n_locks, y->n_locks);
    assert_memory_equal(x->lock_start, y->lock_start, (size_t)(x->n_calls + 1) * 8);
    const uint64_t *of_x = lock_histories(a, x), *of_y = lock_histories(a, y);
    for (int64_t c = 0; c < x->n_calls; c++) {
        uint64_t sum = 0;
        for (int64_t i = x->lock_start[c]; i < x->lock_start[c + 1]; i++)
            sum += hash_u64(of_x[x->locks[i].lock]) - hash_u64(of_y[y->locks[i].lock]);
        assert_true(sum == 0);
    }
}
/* The operations as footprints leave them: in pieces of whole calls, here and there an empty one, not one behind the
 * other unless `together`. */
static OpRun *cut_runs(Arena *a, ScheduleInput *in, bool together) {
    OpRun *runs = arena_array(a, OpRun, 2 * in->n_ops + 2);
    in->n_runs = 0;
    in->in_order = true;
    for (int64_t i = 0, n; i < in->n_ops; i += n) {
        const int64_t want = 1 + rnd_below(600);
        n = MIN_OF(in->n_ops - i, want);
        while (i + n < in->n_ops && in->ops[i + n].call == in->ops[i + n - 1].call) n++;
        TxnOp *copy = arena_array(a, TxnOp, n + 1);
        memcpy(copy, in->ops + i, (size_t)n * sizeof *copy);
        if (rnd_below(5) == 0) runs[in->n_runs++] = (OpRun){copy, 0};
        runs[in->n_runs++] = (OpRun){together ? in->ops + i : copy, n};
    }
    return runs;
}
/* Many operations and several workers: depths and uses of locks are found at the same time. */
static void locks_beside_depths(void **state) {
    (void)state;
    Pool *pool = pool_new(3, &err);
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    for (int round = 0; round < 40; round++) {
        Bulk b = bulk_random(6000 + rnd_below(9000), 8, round % 3 ? 20000 : 60, round % 4, round % 2 ? 7 : 15, true, 3);
        b.in.workers = 1 + round % 3;
        b.in.scratch = scratch;
        Arena *a = arena_new(&root, &err);
        int64_t n = b.in.n_calls;
        int32_t *depth = arena_array(a, int32_t, n);
        Schedule s, alone;
        b.in.shared_min = INT64_MAX;
        run(&b, NULL, a, STRATEGY_KSET, &alone);
        if (round % 4 == 1) b.in.runs = cut_runs(a, &b.in, false);
        if (round % 8 > 1) b.in.shared_min = 1;
        assert_int_equal(schedule_depths(&b.in, pool, a, depth, &err), ST_OK);
        run(&b, pool, a, round % 5 ? STRATEGY_TPL : STRATEGY_KSET, &s);
        assert_int_equal(s.depth, alone.depth);
        assert_int_equal(s.width0, alone.width0);
        assert_int_equal(s.crossing, alone.crossing);
        if (s.strategy == STRATEGY_KSET) {
            assert_memory_equal(s.order, alone.order, (size_t)n * 4);
            assert_memory_equal(s.set_start, alone.set_start, (size_t)(s.n_sets + 1) * 8);
        } else {
            b.in.scratch = NULL;
            b.in.shared_min = INT64_MAX;
            run(&b, NULL, a, STRATEGY_TPL, &alone);
            assert_memory_equal(s.order, alone.order, (size_t)n * 4);
            assert_same_locks(a, &s, &alone);
        }
        arena_free(a);
        bulk_free(&b);
    }
    schedule_scratch_free(scratch);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}
/* Calls with several items, in several pieces and partitions: as by one worker's pass over a table of items, however
 * many workers there are. Without memory for it that pass takes its place. */
static void shared_work(void **state) {
    (void)state;
    Pool *pool = pool_new(3, &err);
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    for (int round = 0; round < 48; round++) {
        static const int64_t items[] = {60, 2000, 100000, 1 << 22};
        static const int workers[] = {1, 2, 5, 16};
        Bulk b = bulk_random(20000 + rnd_below(40000), 1 + round % 6, items[round % 4], round % 3, round % 5 ? 7 : 15,
                             round % 7 != 0, 1 + round % 3);
        Arena *a = arena_new(&root, &err);
        const int64_t n = b.in.n_calls;
        static const Strategy strategies[] = {STRATEGY_KSET, STRATEGY_TPL, STRATEGY_PART};
        const Strategy strategy = strategies[round / 4 % 3];
        Schedule alone, s;
        b.in.fetch_adds_write = round % 10 == 5;
        b.in.shared_min = INT64_MAX;
        run(&b, NULL, a, strategy, &alone);
        b.in.shared_min = 1;
        if (round % 3) b.in.scratch = scratch;
        b.in.workers = workers[round / 2 % 4];
        if (b.sorted && round % 2) b.in.runs = cut_runs(a, &b.in, round % 4 == 1);
        if (round % 8 == 7) mem_fail_at(1 + round / 8 * 2);
        ScheduleInput in = b.in;
        in.strategy = strategy;
        const Status got = schedule_make(&in, round % 3 ? pool : NULL, a, &s, &err);
        const bool failed = round % 8 == 7 && mem_fail_at(0) <= 0;
        if (got != ST_OK) {
            assert_true(failed);
            assert_string_equal(err.sqlstate, ERR_OUT_OF_MEMORY);
            err_clear(&err);
        } else {
            assert_int_equal(s.depth, alone.depth);
            assert_int_equal(s.width0, alone.width0);
            assert_int_equal(s.crossing, alone.crossing);
            assert_memory_equal(s.order, alone.order, (size_t)n * 4);
            if (strategy == STRATEGY_KSET)
                assert_memory_equal(s.set_start, alone.set_start, (size_t)(s.n_sets + 1) * 8);
            if (strategy == STRATEGY_TPL) assert_same_locks(a, &s, &alone);
            if (strategy == STRATEGY_PART)
                assert_memory_equal(s.partition_start, alone.partition_start, (size_t)(s.n_partitions + 1) * 8);
        }
        arena_free(a);
        bulk_free(&b);
    }
    schedule_scratch_free(scratch);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}
/* Most calls have one contended item, a few span partitions: workers raise the depths of those at the same time, in
 * several rounds. The same as one worker's pass. */
static Bulk bulk_spanning(int kinds) {
    const int64_t n = 20000 + rnd_below(20000), items = 300 + rnd_below(6000), every = 20 + rnd_below(2000);
    Bulk b = {.ops = malloc((size_t)n * 4 * sizeof(TxnOp)), .types = calloc((size_t)n, 2), .sorted = true};
    int64_t k = 0;
    for (int64_t c = 0; c < n; c++) {
        const int64_t m = rnd_below(every) == 0 ? 2 + rnd_below(3) : rnd_below(30) ? 1 : 0;
        const uint64_t item = hash_u64((uint64_t)rnd_below(items));
        for (int64_t j = 0; j < m; j++) {
            int kind;
            do kind = (int)rnd_below(4);
            while (!(kinds >> kind & 1));
            const uint64_t other = rnd_below(5) == 0 ? item : hash_u64((uint64_t)rnd_below(items));
            b.ops[k++] = (TxnOp){other, (uint32_t)c, (uint8_t)kind};
        }
    }
    b.in = (ScheduleInput){
        .n_calls = n, .n_ops = k, .ops = b.ops, .types = b.types, .workers = 16, .in_order = true, .n_types = 1};
    return b;
}
static void shared_rounds(void **state) {
    (void)state;
    static const Strategy strategies[] = {STRATEGY_KSET, STRATEGY_TPL, STRATEGY_PART};
    Pool *pool = pool_new(3, &err);
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    for (int round = 0; round < 24; round++) {
        Bulk b = bulk_spanning(round % 2 ? 15 : 7);
        const Strategy strategy = strategies[round % 3];
        Arena *a = arena_new(&root, &err);
        Schedule alone, s;
        b.in.fetch_adds_write = round % 5 == 0;
        b.in.shared_min = INT64_MAX;
        run(&b, NULL, a, strategy, &alone);
        b.in.shared_min = 1;
        b.in.scratch = scratch;
        run(&b, pool, a, strategy, &s);
        assert_int_equal(s.depth, alone.depth);
        assert_int_equal(s.width0, alone.width0);
        assert_int_equal(s.crossing, alone.crossing);
        assert_memory_equal(s.order, alone.order, (size_t)b.in.n_calls * 4);
        if (strategy == STRATEGY_TPL) assert_same_locks(a, &s, &alone);
        arena_free(a);
        bulk_free(&b);
    }
    schedule_scratch_free(scratch);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}
/* Where memory is short the work is one worker's again, which must have all that there is. */
static void shared_little_memory(void **state) {
    (void)state;
    Bulk b = bulk_random(20000, 4, 12000, 0, 4, true, 1);
    int64_t both = 0, refused = 0;
    for (int64_t limit = 256 << 10; limit < 4 << 20; limit += 128 << 10) {
        bool ok[2];
        for (int shared = 0; shared < 2; shared++) {
            MemAccount little;
            Err e = {0};
            mem_account_init(&little, &root, "scratch", limit, NULL);
            ScheduleScratch *scratch = schedule_scratch_new(&little, &e);
            ok[shared] = true;
            for (int again = 0; again < 2; again++) {
                Arena *a = arena_new(&root, NULL);
                Schedule s;
                ScheduleInput in = b.in;
                in.scratch = scratch;
                in.strategy = STRATEGY_KSET;
                in.workers = 16;
                in.shared_min = shared ? 1 : INT64_MAX;
                err_clear(&e);
                ok[shared] &= schedule_make(&in, NULL, a, &s, &e) == ST_OK;
                arena_free(a);
            }
            schedule_scratch_free(scratch);
            assert_int_equal(atomic_load(&little.used), 0);
        }
        assert_true(ok[1] || !ok[0]);
        both += ok[0];
        refused += !ok[0];
    }
    assert_true(both > 0 && refused > 0);
    bulk_free(&b);
}
/* Room of a large bulk does not stay while only small ones come. */
static void shared_room_returns(void **state) {
    (void)state;
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    Bulk large = bulk_random(60000, 6, 100000, 0, 7, true, 1), little = bulk_random(100, 2, 50, 0, 7, true, 1);
    int64_t used[2];
    for (int k = 0; k < 2; k++) {
        Bulk *b = k ? &little : &large;
        Arena *a = arena_new(&root, &err);
        Schedule s;
        b->in.scratch = scratch;
        b->in.workers = 16;
        run(b, NULL, a, STRATEGY_KSET, &s);
        arena_free(a);
        used[k] = atomic_load(&root.used);
        if (k == 0) assert_true(used[0] > large.in.n_ops * (int64_t)sizeof(TxnOp));
    }
    assert_true(used[1] < used[0] - large.in.n_ops * (int64_t)sizeof(TxnOp));
    schedule_scratch_free(scratch);
    bulk_free(&large);
    bulk_free(&little);
    assert_int_equal(atomic_load(&root.used), 0);
}
/* Calls that work on one item each, some of them twice: several workers find the depths, unless some call has a second
 * item. */
static void one_item_each(void **state) {
    (void)state;
    Pool *pool = pool_new(3, &err);
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    for (int round = 0; round < 60; round++) {
        static const int64_t items[] = {2, 40, 5000, 1 << 20};
        Bulk one = bulk_random(9000 + rnd_below(20000), 1, items[round % 4], round % 3,
                               round % 5   ? round % 2 ? 7 : 15
                               : round % 2 ? 4
                                           : 8,
                               true, 3),
             b = one;
        b.ops = malloc((size_t)(2 * one.in.n_ops) * sizeof(TxnOp));
        b.in.n_ops = 0;
        for (int64_t i = 0; i < one.in.n_ops; i++) {
            b.ops[b.in.n_ops++] = one.ops[i];
            if (round % 2 == 0 || rnd_below(3)) continue;
            b.ops[b.in.n_ops] = b.ops[b.in.n_ops - 1];
            b.ops[b.in.n_ops].item += round % 10 == 9 && rnd_below(1000) == 0;
            b.ops[b.in.n_ops++].kind = (uint8_t)rnd_below(3);
        }
        b.in.ops = b.ops;
        b.in.workers = 1 + round % 4;
        if (round % 7) b.in.scratch = scratch;
        Arena *a = arena_new(&root, &err);
        int64_t n = b.in.n_calls;
        if (round % 3 == 0) b.in.runs = cut_runs(a, &b.in, round % 2);
        int32_t *depth = arena_array(a, int32_t, n);
        uint8_t *seen = arena_array(a, uint8_t, n);
        assert_int_equal(schedule_depths(&b.in, pool, a, depth, &err), ST_OK);
        Schedule s, alone;
        run(&b, pool, a, STRATEGY_KSET, &s);
        check_permutation(&s, seen);
        check_kset(&b, &s, depth);
        ScheduleInput in = b.in; /* narrow sets want something else after all */
        in.set_min = round % 2 ? 1 : n;
        in.locks_pay = round % 4 < 2;
        in.chain_min = 8;
        in.c_max = 1;
        in.strategy = STRATEGY_AUTO;
        assert_int_equal(schedule_make(&in, pool, a, &s, &err), ST_OK);
        assert_int_equal(schedule_make(&in, NULL, a, &alone, &err), ST_OK);
        assert_int_equal(s.strategy, alone.strategy);
        assert_int_equal(s.depth, alone.depth);
        assert_int_equal(s.width0, alone.width0);
        assert_int_equal(s.crossing, alone.crossing);
        assert_memory_equal(s.order, alone.order, (size_t)n * 4);
        if (s.strategy == STRATEGY_TPL) assert_same_locks(a, &s, &alone);
        arena_free(a);
        free(b.ops);
        bulk_free(&one);
    }
    schedule_scratch_free(scratch);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

static void sizes(void **state) {
    (void)state;
    Pool *pool = pool_new(4, &err);
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    static const struct {
        int64_t calls, ops, items;
        int hot, kinds, types;
    } cases[] = {{0, 1, 1, 0, 7, 1},
                 {1, 1, 1, 0, 7, 1},
                 {1, 200, 40, 2, 7, 1},
                 {1 << 17, 4, 1 << 18, 0, 7, 5},
                 {1 << 17, 4, 1 << 17, 1, 1 | 2, 9},
                 {1 << 15, 2, 3, 0, 4, 2000},
                 {(1 << 17) + 1, 3, 1 << 20, 0, 4, 40000},
                 {3000, 300, 100000, 0, 7, 3}};
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int sorted = 0; sorted < 2; sorted++) {
            Bulk b = bulk_random(cases[i].calls, cases[i].ops, cases[i].items, cases[i].hot, cases[i].kinds, sorted,
                                 cases[i].types);
            if (sorted) b.in.scratch = scratch;
            Arena *a = arena_new(&root, &err);
            int64_t n = b.in.n_calls;
            int32_t *depth = arena_array(a, int32_t, n), *ref = arena_array(a, int32_t, n);
            uint8_t *seen = arena_array(a, uint8_t, n);
            assert_int_equal(schedule_depths(&b.in, pool, a, depth, &err), ST_OK);
            if (cases[i].hot == 0) { /* else edges by the million */
                assert_int_equal(schedule_reference(&b.in, a, ref, &err), ST_OK);
                assert_memory_equal(ref, depth, (size_t)n * 4);
            }
            Schedule s;
            run(&b, pool, a, STRATEGY_KSET, &s);
            check_permutation(&s, seen);
            check_kset(&b, &s, depth);
            run(&b, pool, a, STRATEGY_PART, &s);
            check_permutation(&s, seen);
            check_parts(&b, &s, false);
            run(&b, pool, a, STRATEGY_TPL, &s);
            check_permutation(&s, seen);
            check_tpl(&b, &s);
            for (int64_t c = 0; c < n; c++)
                for (int64_t k = s.lock_start[c]; k < s.lock_start[c + 1]; k++)
                    assert_true(s.locks[k].lock < s.n_locks && s.locks[k].from <= c);
            arena_free(a);
            bulk_free(&b);
        }
    schedule_scratch_free(scratch);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

static void out_of_memory(void **state) {
    (void)state;
    Bulk b = bulk_random(2000, 4, 3000, 1, 7, false, 3);
    for (Strategy st = STRATEGY_AUTO; st <= STRATEGY_SERIAL; st++) {
        int64_t n = 1;
        ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
        for (bool failed = true; failed; n++) {
            Err e = {0};
            Arena *a = arena_new(&root, NULL);
            ScheduleInput in = b.in;
            in.strategy = st;
            in.scratch = n % 2 ? scratch : NULL;
            Schedule s;
            mem_fail_at(n);
            Status got = schedule_make(&in, NULL, a, &s, &e);
            failed = mem_fail_at(0) <= 0;
            assert_int_equal(got, failed ? ST_ERROR : ST_OK);
            if (failed) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
            arena_free(a);
        }
        schedule_scratch_free(scratch);
        assert_int_equal(atomic_load(&root.used), 0);
        assert_true(n > 4);
    }
    bulk_free(&b);
    Arena *a = arena_new(&root, NULL);
    Err e = {0};
    Schedule s;
    ScheduleInput in = {.n_calls = INT64_C(1) << 30};
    assert_int_equal(schedule_make(&in, NULL, a, &s, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_PROGRAM_LIMIT);
    arena_free(a);
}

/* ---- 0-sets ---- */
static int64_t first_op(const Bulk *b, int64_t call) {
    int64_t i = 0;
    while (i < b->in.n_ops && b->ops[i].call < call) i++;
    return i;
}
static void add_call(ZeroSets *z, const Bulk *b, int64_t c) {
    int64_t i = first_op(b, c), end = first_op(b, c + 1);
    assert_int_equal(zerosets_add(z, (uint64_t)c * 3 + 7, (void *)(b->ops + i), end - i, b->ops + i, &err), ST_OK);
}

static void zero_sets_are_k_sets(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        int64_t n = 1 + rnd_below(150);
        Bulk b = bulk_random(n, 5, 1 + rnd_below(60), (int)rnd_below(6), 1 + (int)rnd_below(7), true, 1);
        Arena *a = arena_new(&root, &err);
        int32_t *depth = arena_array(a, int32_t, n);
        uint64_t *got = arena_array(a, uint64_t, n);
        void **who = arena_array(a, void *, n);
        assert_int_equal(schedule_reference(&b.in, a, depth, &err), ST_OK);
        ZeroSets *z = zerosets_new(&root, &err);
        for (int64_t c = 0; c < n; c++) add_call(z, &b, c);
        int64_t taken = 0;
        for (int32_t k = 0; taken < n; k++) {
            int64_t m = zerosets_take(z, n, got, who), want = 0;
            for (int64_t c = 0; c < n; c++)
                if (depth[c] == k) {
                    assert_ptr_equal(who[want], b.ops + first_op(&b, c));
                    assert_int_equal(got[want++], c * 3 + 7);
                }
            assert_int_equal(m, want);
            assert_int_equal(zerosets_take(z, n, got + m, NULL), 0);
            zerosets_done(z, m, got);
            taken += m;
        }
        zerosets_free(z);
        arena_free(a);
        bulk_free(&b);
    }
    assert_int_equal(atomic_load(&root.used), 0);
}

/* Calls come while others run: who is taken conflicts with no earlier one that has not finished, and nobody waits
 * without need. */
static void zero_sets_with_arrivals(void **state) {
    (void)state;
    enum { WAITING, TAKEN, DONE };
    for (int round = 0; round < 60; round++) {
        int64_t n = 120, arrived = 0, done = 0, n_running = 0;
        Bulk b = bulk_random(n, 4, 1 + rnd_below(30), (int)rnd_below(6), 7, true, 1);
        int *phase = calloc((size_t)n, sizeof *phase);
        uint64_t running[128], got[128];
        ZeroSets *z = zerosets_new(&root, &err);
        while (done < n) {
            for (int64_t k = rnd_below(10); k > 0 && arrived < n; k--) add_call(z, &b, arrived++);
            int64_t max = rnd_below(6), m = zerosets_take(z, max, got, NULL);
            for (int64_t i = 0; i < m; i++) {
                int64_t c = (int64_t)(got[i] - 7) / 3;
                assert_true(c < arrived && phase[c] == WAITING);
                phase[c] = TAKEN;
                running[n_running++] = got[i];
                for (int64_t p = 0; p < c; p++)
                    if (phase[p] != DONE) assert_false(conflict(&b, p, c));
            }
            for (int64_t c = 0; m < max && c < arrived; c++) { /* all were taken that could be */
                bool blocked = phase[c] != WAITING;
                for (int64_t p = 0; p < c && !blocked; p++) blocked = phase[p] != DONE && conflict(&b, p, c);
                assert_true(blocked);
            }
            for (int64_t k = rnd_below(5); k > 0 && n_running > 0; k--) {
                int64_t j = rnd_below(n_running);
                zerosets_done(z, 1, &running[j]);
                phase[(running[j] - 7) / 3] = DONE;
                running[j] = running[--n_running];
                done++;
            }
        }
        free(phase);
        zerosets_free(z);
        bulk_free(&b);
    }
    assert_int_equal(atomic_load(&root.used), 0);
}

static void zero_sets_out_of_memory(void **state) {
    (void)state;
    Bulk b = bulk_random(400, 4, 50, 2, 7, true, 1);
    ZeroSets *z = zerosets_new(&root, &err);
    int64_t failures = 0, taken = 0;
    for (int64_t c = 0; c < 400; c++) {
        int64_t i = first_op(&b, c), n = first_op(&b, c + 1) - i;
        for (int64_t k = 1;; k++) {
            Err e = {0};
            mem_fail_at(k);
            Status st = zerosets_add(z, (uint64_t)c, NULL, n, b.ops + i, &e);
            mem_fail_at(0);
            if (st == ST_OK) break;
            assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
            failures++;
        }
    }
    assert_true(failures > 10);
    Err e = {0};
    assert_int_equal(zerosets_add(z, 399, NULL, 0, NULL, &e), ST_ERROR); /* timestamps grow */
    uint64_t got[400];
    for (int64_t m; (m = zerosets_take(z, 400, got, NULL)) > 0; taken += m) zerosets_done(z, m, got);
    assert_int_equal(taken, 400);
    zerosets_free(z);
    bulk_free(&b);
    assert_int_equal(atomic_load(&root.used), 0);
}

int main(void) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_bulks),
        cmocka_unit_test(locks_share),
        cmocka_unit_test(fetch_adds_keep_order),
        cmocka_unit_test(partitions_given),
        cmocka_unit_test(algorithm_1),
        cmocka_unit_test(sizes),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(one_item_each),
        cmocka_unit_test(locks_beside_depths),
        cmocka_unit_test(shared_work),
        cmocka_unit_test(shared_rounds),
        cmocka_unit_test(shared_little_memory),
        cmocka_unit_test(shared_room_returns),
        cmocka_unit_test(zero_sets_are_k_sets),
        cmocka_unit_test(zero_sets_with_arrivals),
        cmocka_unit_test(zero_sets_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
