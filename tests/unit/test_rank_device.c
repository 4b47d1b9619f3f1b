/* test_rank_device.c - orders made on a device against schedule_make: on the host device, on OpenCL where there is a
 * platform; the text also through NVRTC.
 *
 *   test_rank_device                    the tests
 *   test_rank_device check DEVICE [N]   random bulks on another device; oclgrind: two of them, or one of N calls
 *   test_rank_device bench DEVICE [N]   times of both orders for some shapes of bulks of up to N operations, compared
 * with the host's; wants a quiet machine oclgrind --data-races --uniform-writes --check-api tests/test_rank_device
 * check oclgrind */
#include "unit.h"
#include "unit_random.h"
#include "unit_nvrtc.h"

#include <stdlib.h>

#include "base/errcodes.h"
#include "base/hash.h"
#include "base/log.h"
#include "codegen/prelude/txn/kr_codes.h"
#include "oclgrind_device.h"
#include "txn/order/rank_device.h"
#include "txn/order/rank_int.h"

static MemAccount root;
static Err err;
#define OK(x)                                                                                    \
    do {                                                                                         \
        err = (Err){0};                                                                          \
        if ((x) != ST_OK) fail_msg("%s: %s %s (%s)", #x, err.sqlstate, err.message, err.detail); \
    } while (0)

/* ---- bulks ----------------------------------------------------------------------------------------------- */
enum { KINDS = (1 << RANK_KIND_BITS) - 1 };
typedef struct Bulk {
    int64_t n_calls, n, n_types; /* n: places of operations */
    uint64_t *items;
    uint32_t *uses;
    uint16_t *types;
    bool in_order;
} Bulk;
static Bulk bulk_new(int64_t n_calls, int64_t max_ops, int64_t n_types) {
    Bulk b = {.n_calls = n_calls, .n_types = n_types, .in_order = true};
    b.items = malloc((size_t)(max_ops + 1) * 8);
    b.uses = malloc((size_t)(max_ops + 1) * 4);
    b.types = malloc((size_t)(n_calls + 1) * 2);
    for (int64_t c = 0; c < n_calls; c++) b.types[c] = (uint16_t)rnd_below(n_types);
    return b;
}
static void bulk_free(Bulk *b) {
    free(b->items);
    free(b->uses);
    free(b->types);
}
static void add_op(Bulk *b, uint64_t item, int64_t call, uint32_t kind) {
    b->items[b->n] = item;
    b->uses[b->n++] = rank_use((uint32_t)call, kind < 3 ? kind : RANK_NONE);
}
static void shuffle(Bulk *b) {
    b->in_order = false;
    for (int64_t i = b->n - 1; i > 0; i--) {
        int64_t j = rnd_below(i + 1);
        uint64_t item = b->items[i];
        uint32_t use = b->uses[i];
        b->items[i] = b->items[j], b->uses[i] = b->uses[j];
        b->items[j] = item, b->uses[j] = use;
    }
}
/* hot: of 10 operations so many go to the first 4 items. kinds: bits of those that occur. */
static Bulk bulk_random(int64_t n_calls, int64_t max_ops, int64_t n_items, int hot, int kinds, int64_t n_types) {
    Bulk b = bulk_new(n_calls, n_calls * max_ops, n_types);
    for (int64_t c = 0; c < n_calls; c++)
        for (int64_t k = rnd_below(max_ops + 1); k > 0; k--) {
            int64_t item = rnd_below(10) < hot ? rnd_below(MIN_OF(4, n_items)) : rnd_below(n_items);
            uint32_t kind;
            do kind = (uint32_t)rnd_below(4);
            while (!(kinds >> kind & 1));
            add_op(&b, n_items % 2 ? (uint64_t)item : hash_u64((uint64_t)item), c, kind);
        }
    return b;
}

/* Calls with many operations on an item, mostly of one kind: some go over several rows of a warp. */
static Bulk bulk_long(int64_t n_calls) {
    Bulk b = bulk_new(n_calls, n_calls * 200, 2);
    for (int64_t c = 0; c < n_calls; c++)
        for (int64_t uses = 1 + rnd_below(2); uses > 0; uses--) {
            uint64_t item = (uint64_t)rnd_below(6);
            uint32_t kind = (uint32_t)rnd_below(3);
            for (int64_t k = rnd_below(4) ? rnd_below(12) : rnd_below(100); k >= 0; k--)
                add_op(&b, item, c, rnd_below(300) ? kind : (uint32_t)rnd_below(3));
        }
    return b;
}

/* ---- a device -------------------------------------------------------------------------------------------- */
typedef struct Rig {
    Devices *devices;
    Pool *pool;
    Device *d;
    CodeCache *cache;
    RankDevice *r;
    DevQueue *q;
    DevPtr mem;
    int64_t bytes;
} Rig;
static bool rig_open(Rig *g, const char *id) {
    *g = (Rig){.pool = pool_new(3, &err)};
    OK(devices_open(g->pool, &root, &g->devices, &err));
    Err why = {0};
    if (devices_get(g->devices, strcmp(id, "oclgrind") == 0 ? "host" : id, &g->d, &why) != ST_OK ||
        (strcmp(id, "oclgrind") == 0 && !(g->d = oclgrind_open(g->d, &why)))) {
        print_message("skipped: %s\n", why.message);
        devices_close(g->devices);
        pool_free(g->pool);
        return false;
    }
    OK(code_cache_new("", 0, &g->cache, &err));
    OK(rank_device_new(g->d, g->cache, &root, &g->r, &err));
    OK(g->d->ops->queue_new(g->d, &g->q, &err));
    return true;
}
static void rig_close(Rig *g) {
    rank_device_free(g->r);
    if (g->mem) g->d->ops->free(g->d, g->mem, g->bytes);
    g->d->ops->queue_free(g->d, g->q);
    code_cache_drop_device(g->cache, g->d);
    code_cache_free(g->cache);
    devices_close(g->devices);
    pool_free(g->pool);
    assert_int_equal(atomic_load(&root.used), 0);
}
/* Operations that stand for more like them. */
static bool again(const Bulk *b, int64_t i) {
    return (b->uses[i] & KINDS) < RANK_DEQUEUE && hash_combine(b->items[i], b->uses[i] + (uint64_t)i % 3) % 7 == 0;
}
/* What schedule.h has no kind for does what additions do where nobody adds, and what reads do where nobody reads. */
static uint32_t *with_own(const Bulk *b) {
    uint32_t *uses = malloc((size_t)(b->n + 1) * 4);
    for (int64_t i = 0; i < b->n; i++) {
        uint32_t kind = b->uses[i] & KINDS, instead = rank_item_name(b->items[i]) % 3;
        bool own = (kind == OPK_ADD && instead == 1) || (kind == OPK_READ && instead == 2);
        uses[i] = own           ? rank_use(b->uses[i] >> RANK_KIND_BITS, RANK_DEQUEUE)
                  : again(b, i) ? b->uses[i] | RANK_AGAIN
                                : b->uses[i];
    }
    return uses;
}
/* The bulk in the device's memory. counted: more places than operations, a word says how many. */
static RankInput upload(Rig *g, const Bulk *b, bool counted) {
    int64_t extra = counted ? 1000 : 0, bytes = (b->n + extra) * 12 + b->n_calls * 2 + 1024;
    if (g->bytes < bytes) {
        if (g->mem) g->d->ops->free(g->d, g->mem, g->bytes);
        g->bytes = bytes * 2;
        OK(g->d->ops->alloc(g->d, g->bytes, &g->mem, &err));
    }
    RankInput in = {.n_calls = b->n_calls,
                    .max_ops = b->n + extra,
                    .items = g->mem + 256,
                    .in_order = b->in_order,
                    .n_types = (int32_t)b->n_types,
                    .figures = true};
    in.uses = in.items + (uint64_t)align_up((b->n + extra) * 8, 8);
    in.types = in.uses + (uint64_t)align_up((b->n + extra) * 4, 8);
    if (counted) in.n_ops = g->mem;
    uint32_t n = (uint32_t)b->n;
    OK(g->d->ops->fill(g->q, in.uses, 0x55, (b->n + extra) * 4, &err));
    OK(g->d->ops->copy_in(g->q, g->mem, &n, 4, &err));
    OK(g->d->ops->copy_in(g->q, in.items, b->items, b->n * 8, &err));
    uint32_t *uses = with_own(b);
    OK(g->d->ops->copy_in(g->q, in.uses, uses, b->n * 4, &err));
    OK(g->d->ops->copy_in(g->q, in.types, b->types, b->n_calls * 2, &err));
    OK(g->d->ops->sync(g->q, NULL, NULL, &err));
    free(uses);
    return in;
}
static void *fetch(Rig *g, Arena *a, DevPtr p, int64_t bytes) {
    void *to = arena_alloc(a, MAX_OF(bytes, INT64_C(8)));
    assert_non_null(to);
    if (bytes) OK(g->d->ops->copy_out(g->q, to, p, bytes, &err));
    OK(g->d->ops->sync(g->q, NULL, NULL, &err));
    return to;
}

/* ---- what schedule.h says -------------------------------------------------------------------------------- */
static ScheduleInput named(const Bulk *b, Arena *a, Strategy s) {
    TxnOp *ops = arena_alloc(a, (b->n + 1) * (int64_t)sizeof *ops);
    int64_t n = 0;
    for (int64_t i = 0; i < b->n; i++)
        if ((b->uses[i] & KINDS) != RANK_NONE)
            ops[n++] =
                (TxnOp){rank_item_name(b->items[i]), b->uses[i] >> RANK_KIND_BITS, (uint8_t)(b->uses[i] & KINDS)};
    return (ScheduleInput){
        .n_calls = b->n_calls, .types = b->types, .n_ops = n, .ops = ops, .strategy = s, .workers = 1};
}
static void check_sets(Rig *g, const Bulk *b, const RankSets *got, Arena *a) {
    ScheduleInput in = named(b, a, STRATEGY_KSET);
    Schedule want;
    OK(schedule_make(&in, NULL, a, &want, &err));
    assert_int_equal(got->depth, want.depth);
    assert_int_equal(got->width0, want.width0);
    assert_int_equal(got->crossing, want.crossing);
    int64_t keys = got->depth * b->n_types;
    const uint32_t *order = fetch(g, a, got->order, b->n_calls * 4), *start = fetch(g, a, got->start, (keys + 1) * 4);
    assert_memory_equal(order, want.order, (size_t)b->n_calls * 4);
    assert_memory_equal(start, got->starts, (size_t)(keys + 1) * 4);
    assert_int_equal(start[0], 0);
    assert_int_equal(start[keys], b->n_calls);
    for (int64_t k = 0; k < got->depth; k++) {
        assert_int_equal(start[k * b->n_types], want.set_start[k]);
        for (int64_t t = 0; t < b->n_types; t++) {
            assert_true(start[k * b->n_types + t] <= start[k * b->n_types + t + 1]);
            for (int64_t i = start[k * b->n_types + t]; i < start[k * b->n_types + t + 1]; i++)
                assert_int_equal(b->types[order[i]], t);
        }
    }
}

/* Locks are equal up to their numbers when each call has the same uses, a lock being known by who uses it, and how. */
typedef struct Use {
    uint64_t lock;
    uint32_t from;
} Use;
static int by_use(const void *x, const void *y) {
    const Use *a = x, *b = y;
    if (a->lock != b->lock) return a->lock < b->lock ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}
static Use *uses_of(int64_t n_calls, const uint32_t *start, const LockUse *locks, int64_t n_locks, Arena *a) {
    uint64_t *who = arena_array(a, uint64_t, n_locks + 1);
    Use *u = arena_array(a, Use, start[n_calls] + 1);
    for (int64_t c = 0; c < n_calls; c++)
        for (int64_t k = start[c]; k < start[c + 1]; k++) {
            assert_true(locks[k].lock < n_locks);
            who[locks[k].lock] = hash_combine(hash_combine(who[locks[k].lock], (uint64_t)c), locks[k].from);
        }
    for (int64_t c = 0; c < n_calls; c++) {
        for (int64_t k = start[c]; k < start[c + 1]; k++) u[k] = (Use){who[locks[k].lock], locks[k].from};
        qsort(u + start[c], start[c + 1] - start[c], sizeof(Use), by_use);
    }
    return u;
}
static void check_locks(Rig *g, const Bulk *b, const RankLocks *got, Arena *a) {
    ScheduleInput in = named(b, a, STRATEGY_TPL);
    Schedule want;
    OK(schedule_make(&in, NULL, a, &want, &err));
    int64_t n = b->n_calls;
    const uint32_t *start = fetch(g, a, got->lock_start, (n + 1) * 4);
    uint32_t *want_start = arena_array(a, uint32_t, n + 1);
    for (int64_t c = 0; c <= n; c++) want_start[c] = (uint32_t)want.lock_start[c];
    assert_memory_equal(start, want_start, (size_t)(n + 1) * 4);
    assert_true(start[n] <= got->max_uses);
    const LockUse *locks = fetch(g, a, got->locks, start[n] * (int64_t)sizeof(LockUse));
    const uint32_t *counters = fetch(g, a, got->counters, got->n_locks * 4);
    for (int64_t i = 0; i < got->n_locks; i++) assert_int_equal(counters[i], 0);
    const Use *x = uses_of(n, start, locks, got->n_locks, a), *y = uses_of(n, want_start, want.locks, want.n_locks, a);
    for (int64_t k = 0; k < start[n]; k++)
        if (x[k].lock != y[k].lock || x[k].from != y[k].from)
            fail_msg("use %lld of %u differs", (long long)k, start[n]);
    const uint32_t *figures = fetch(g, a, got->figures, 8);
    assert_int_equal(figures[0], want.width0);
    assert_int_equal(figures[1], want.crossing);
}
/* With names: the same locks, each with the name of an item that the call has, and the number of the call's operations
 * on items of that name. */
static int by_four(const void *x, const void *y) { return memcmp(x, y, 16); }
static void check_named_locks(Rig *g, const Bulk *b, const RankInput *in, const RankLocks *l, Arena *a) {
    RankInput named = *in;
    RankLocks got;
    int64_t n = b->n_calls;
    const uint32_t *start = fetch(g, a, l->lock_start, (n + 1) * 4);
    const LockUse *locks = fetch(g, a, l->locks, start[n] * (int64_t)sizeof(LockUse));
    named.names = true;
    OK(rank_device_locks(g->r, g->q, &named, &got, &err));
    assert_memory_equal(fetch(g, a, got.lock_start, (n + 1) * 4), start, (size_t)(n + 1) * 4);
    uint32_t *mine = with_own(b);
    uint32_t(*have)[4] = fetch(g, a, start[n] ? got.named_locks : 0, start[n] * INT64_C(16)),
    (*want)[4] = arena_alloc(a, start[n] * INT64_C(16) + 16);
    for (int64_t c = 0; c < n; c++)
        for (int64_t k = start[c]; k < start[c + 1];
             k++) { /* numbers of locks are those of places, which are the same ones */
            uint32_t ops = 0, more = 0;
            for (int64_t i = 0; i < b->n && n < 400; i++)
                if ((b->uses[i] & KINDS) != RANK_NONE && b->uses[i] >> RANK_KIND_BITS == c &&
                    rank_item_name(b->items[i]) == have[k][0])
                    ops++, more += (mine[i] & KINDS) != RANK_DEQUEUE && again(b, i);
            if (n < 400 && more == 0) assert_int_equal(have[k][1], ops);
            if (n < 400 && more > 0) assert_in_range(have[k][1], RANK_OPS_AGAIN, RANK_OPS_AGAIN + ops);
            want[k][0] = have[k][2];
            want[k][1] = have[k][3];
            want[k][2] = want[k][3] = 0;
        }
    free(mine);
    uint32_t(*plain)[4] = arena_alloc(a, start[n] * INT64_C(16) + 16);
    for (int64_t k = 0; k < start[n]; k++) memcpy(plain[k], (uint32_t[4]){locks[k].lock, locks[k].from}, 16);
    for (int64_t c = 0; c < n; c++) {
        qsort(want + start[c], start[c + 1] - start[c], 16, by_four);
        qsort(plain + start[c], start[c + 1] - start[c], 16, by_four);
    }
    if (start[n]) assert_memory_equal(want, plain, start[n] * (size_t)16);
}
/* Calls with locks by time, and then the others by the upper bits of their types. */
static void check_order(Rig *g, const Bulk *b, const RankInput *in, const RankLocks *l, Arena *a) {
    int64_t n = b->n_calls, types = MAX_OF(in->n_types, 1), at = 0, first = 0;
    int drop = 0;
    if (in->group_bits == 0 || n == 0) {
        assert_int_equal(l->order, 0);
        return;
    }
    while ((types - 1) >> drop >> in->group_bits > 0) drop++;
    const uint32_t *start = fetch(g, a, l->lock_start, (n + 1) * 4), *order = fetch(g, a, l->order, n * 4),
                   *n_first = fetch(g, a, l->n_first, 4);
    for (int64_t c = 0; c < n; c++)
        if (start[c] != start[c + 1]) assert_int_equal(order[at++], c);
    first = at;
    for (int64_t key = 0; key <= (types - 1) >> drop; key++)
        for (int64_t c = 0; c < n; c++)
            if (start[c] == start[c + 1] && (in->types ? b->types[c] >> drop : 0) == key)
                assert_int_equal(order[at++], c);
    assert_int_equal(at, n);
    assert_int_equal(n_first[0], first);
}
static void check(Rig *g, const Bulk *b, bool counted) {
    Arena *a = arena_new(&root, &err);
    RankInput in = upload(g, b, counted);
    RankLocks l;
    in.group_bits = in.n_types > 1000 ? 2 : (int32_t)rnd_below(4);
    OK(rank_device_locks(g->r, g->q, &in, &l, &err));
    check_locks(g, b, &l, a);
    check_order(g, b, &in, &l, a);
    check_named_locks(g, b, &in, &l, a);
    RankSets s;
    OK(rank_device_sets(g->r, g->q, &in, &s, &err));
    assert_int_equal(s.ops_left, l.ops_left);
    check_sets(g, b, &s, a);
    int64_t depth = s.depth, w0 = s.width0, c = s.crossing;
    for (int less = 0; less < 2 && depth > 1 && b->n_calls < 1000 && g->d != &oclgrind.device;
         less++) { /* as many as are allowed, and one more */
        in.depth_max = depth - less;
        OK(rank_device_sets(g->r, g->q, &in, &s, &err));
        assert_true(less ? s.depth == depth && s.order == 0 : s.depth <= depth);
        if (!less) check_sets(g, b, &s, a);
        assert_int_equal(s.width0, w0);
        assert_int_equal(s.crossing, c);
    }
    arena_free(a);
}

/* ---- tests ----------------------------------------------------------------------------------------------- */
static void shapes(Rig *g, int rounds, int64_t large) {
    for (int round = 0; round < rounds; round++) {
        Bulk b = bulk_random(rnd_below(round % 10 ? 40 : 900), 1 + rnd_below(8), 1 + rnd_below(30), (int)rnd_below(11),
                             1 + (int)rnd_below(7) + 8 * (round % 4 == 0), 1 + rnd_below(4));
        if (rnd_below(2)) shuffle(&b);
        check(g, &b, rnd_below(2));
        bulk_free(&b);
    }
    const struct {
        int64_t calls, ops, items;
        int hot, kinds;
        int64_t types;
    } cases[] = {{0, 1, 1, 0, 7, 1},                  /* nothing */
                 {1, 1, 1, 0, 7, 1},                  /* one call */
                 {1, large / 4, 40, 2, 7, 3},         /* with the same items again and again */
                 {large, 4, large, 0, 7, 5},          /* few conflicts */
                 {large, 3, 50, 10, 1 << OPK_ADD, 2}, /* additions only */
                 {large, 3, 50, 0, 1 << OPK_READ, 1}, /* reads only */
                 {large / 4, 12, 64, 1, 3, 4},        /* hot: reads and additions */
                 {large / 50, 2, 3, 0, 4, 200},       /* hot: writes, a long chain that changes items all the time */
                 {large / 2, 1, 1, 0, 7, 1},          /* one item */
                 {large / 100, 300, large, 1, 15, 3}, /* calls with many items, and empty places */
                 {large, 3, 3 * large, 0, 4, 40000}};
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++)
        for (int order = 0; order < 2; order++) {
            Bulk b =
                bulk_random(cases[i].calls, cases[i].ops, cases[i].items, cases[i].hot, cases[i].kinds, cases[i].types);
            if (order) shuffle(&b);
            check(g, &b, order);
            bulk_free(&b);
        }
}
static void long_uses(Rig *g, int64_t n_calls) {
    for (int order = 0; order < 2; order++) {
        Bulk b = bulk_long(n_calls);
        if (order) shuffle(&b);
        check(g, &b, order);
        bulk_free(&b);
    }
}
static void on_host(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "host")) skip();
    shapes(&g, 120, 40000);
    long_uses(&g, 5000);
    Bulk b = bulk_random(250000, 8, 1 << 19, 0, 7, 3); /* a million operations */
    shuffle(&b);
    check(&g, &b, true);
    bulk_free(&b);
    rig_close(&g);
}
static void on_opencl(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "opencl:0")) skip();
    shapes(&g, 40, 10000);
    rig_close(&g);
}

static void filtered(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "host")) skip();
    Bulk b = bulk_random(5000, 3, 20, 10, 1 << OPK_ADD, 1);
    add_op(&b, 77, 4998, OPK_READ); /* an item of one call only, all kinds */
    add_op(&b, 77, 4998, OPK_WRITE);
    shuffle(&b);
    RankInput in = upload(&g, &b, false);
    RankLocks l;
    OK(rank_device_locks(g.r, g.q, &in, &l, &err));
    assert_int_equal(l.ops_left, 0);
    OK(g.d->ops->sync(g.q, NULL, NULL, &err));
    bulk_free(&b);
    rig_close(&g);
}

/* The same operations in another order. */
static void deterministic(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "host")) skip();
    Bulk b = bulk_random(3000, 6, 900, 1, 7, 3);
    Arena *a = arena_new(&root, &err);
    uint32_t *start[2], *order[2];
    LockUse *locks[2];
    for (int k = 0; k < 2; k++) {
        if (k) shuffle(&b);
        RankInput in = upload(&g, &b, k);
        RankLocks l;
        RankSets s;
        OK(rank_device_locks(g.r, g.q, &in, &l, &err));
        start[k] = fetch(&g, a, l.lock_start, (b.n_calls + 1) * 4);
        locks[k] = fetch(&g, a, l.locks, start[k][b.n_calls] * (int64_t)sizeof(LockUse));
        for (int64_t c = 0; c < b.n_calls; c++) /* within a call the order is nobody's business */
            for (int64_t i = start[k][c]; i < start[k][c + 1]; i++)
                for (int64_t j = i; j > start[k][c] && locks[k][j].lock < locks[k][j - 1].lock; j--) {
                    LockUse t = locks[k][j];
                    locks[k][j] = locks[k][j - 1];
                    locks[k][j - 1] = t;
                }
        OK(rank_device_sets(g.r, g.q, &in, &s, &err));
        order[k] = fetch(&g, a, s.order, b.n_calls * 4);
    }
    assert_memory_equal(start[0], start[1], (size_t)(b.n_calls + 1) * 4);
    assert_memory_equal(locks[0], locks[1], start[0][b.n_calls] * sizeof(LockUse));
    assert_memory_equal(order[0], order[1], (size_t)b.n_calls * 4);
    arena_free(a);
    bulk_free(&b);
    rig_close(&g);
}

static void refused(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "host")) skip();
    Bulk b = bulk_random(500, 6, 90, 1, 7, 3);
    RankInput good = upload(&g, &b, false), in;
    RankLocks l;
    RankSets s;
#define REFUSED(code, text)                                                   \
    do {                                                                      \
        Err e = {0};                                                          \
        assert_int_equal(rank_device_locks(g.r, g.q, &in, &l, &e), ST_ERROR); \
        assert_string_equal(e.sqlstate, code);                                \
        if (!strstr(e.message, text)) fail_msg("%s", e.message);              \
        OK(g.d->ops->sync(g.q, NULL, NULL, &err));                            \
        e = (Err){0};                                                         \
        assert_int_equal(rank_device_sets(g.r, g.q, &in, &s, &e), ST_ERROR);  \
        assert_string_equal(e.sqlstate, code);                                \
        OK(g.d->ops->sync(g.q, NULL, NULL, &err));                            \
    } while (0)
    in = good, in.n_calls = 499; /* the last call's operations */
    b.uses[b.n - 1] = rank_use(499, OPK_READ);
    (void)upload(&g, &b, false);
    REFUSED(ERR_INTERNAL, "beyond 499");
    in = good, in.n_calls = MAX_OF(INT64_C(1) << 30, INT64_C(0));
    REFUSED(ERR_PROGRAM_LIMIT, "calls");
    in = good, in.max_ops = INT64_C(1) << 31;
    REFUSED(ERR_PROGRAM_LIMIT, "operations");
    shuffle(&b);
    in = upload(&g, &b, false);
    in.in_order = true;
    REFUSED(ERR_INTERNAL, "order");
    in.in_order = false;
    in.n_types = 2;
    Err e = {0};
    assert_int_equal(rank_device_sets(g.r, g.q, &in, &s, &e), ST_ERROR);
    assert_non_null(strstr(e.message, "type beyond 2"));
    check(&g, &b, true); /* and all is well again */
    bulk_free(&b);
    rig_close(&g);
}

/* Every call of the device fails once: an error, and nothing is lost. */
static void faults(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "host")) skip();
    Bulk b = bulk_random(700, 6, 90, 1, 7, 3);
    RankInput in = upload(&g, &b, false);
    FaultPlan plan = {0};
    Device *d;
    OK(device_fault_new(g.d, &plan, &d, &err));
    RankDevice *r;
    OK(rank_device_new(d, g.cache, &root, &r, &err)); /* compiles; a compilation that fails would be remembered */
    rank_device_free(r);
    for (int64_t n = 1, failed = 1; failed; n++) {
        DevQueue *q = NULL;
        RankLocks l;
        RankSets s;
        Err e = {0};
        r = NULL;
        plan = (FaultPlan){.fail_at = n};
        Status st = d->ops->queue_new(d, &q, &e);
        if (st == ST_OK) st = rank_device_new(d, g.cache, &root, &r, &e);
        if (st == ST_OK) st = rank_device_locks(r, q, &in, &l, &e);
        if (st == ST_OK) st = rank_device_sets(r, q, &in, &s, &e);
        failed = st != ST_OK;
        if (failed) assert_true(err_is_set(&e));
        else assert_true(n > 40);
        plan.fail_at = 0;
        d->ops->queue_free(d, q); /* waits */
        rank_device_free(r);
    }
    code_cache_drop_device(g.cache, d);
    d->ops->close(d);
    bulk_free(&b);
    rig_close(&g);
}

static void compiles_for_cuda(void **state) {
    (void)state;
    char defines[128];
    snprintf(defines, sizeof defines, "#define N_PARAMS %d\n#define RANK_ITEMS 8\n#define GROUP_SIZE 512\n", RK_PARAMS);
    compiles_with_nvrtc(defines, kernel_rank_text);
}

/* ---- the benchmark --------------------------------------------------------------------------------------- */
enum { SHAPE_ADDS, SHAPE_UNIFORM, SHAPE_TPCC, SHAPE_ONE, N_SHAPES };
static const char *const shape_names[N_SHAPES] = {"adds on 11 items", "writes over 10M", "64 warehouses",
                                                  "one hot item"};
static Bulk bulk_shape(int shape, int64_t n) {
    int64_t per = shape == SHAPE_ADDS || shape == SHAPE_UNIFORM ? 4 : shape == SHAPE_TPCC ? 12 : 1, calls = n / per;
    Bulk b = bulk_new(calls, n, 5);
    for (int64_t c = 0; c < calls; c++) {
        int64_t w = rnd_below(64), kind = rnd_below(2);
        for (int64_t k = 0; k < per; k++) {
            if (shape == SHAPE_ADDS) add_op(&b, hash_u64((uint64_t)rnd_below(11)), c, OPK_ADD);
            else if (shape == SHAPE_UNIFORM)
                add_op(&b, hash_u64((uint64_t)rnd_below(10000000)), c, rnd_below(2) ? OPK_READ : OPK_WRITE);
            else if (shape == SHAPE_ONE) add_op(&b, 1, c, OPK_WRITE);
            else if (k == 0) add_op(&b, hash_u64((uint64_t)w), c, kind ? OPK_READ : OPK_ADD); /* its warehouse */
            else if (k == 1)
                add_op(&b, hash_u64((uint64_t)(100 + w * 10 + rnd_below(10))), c, OPK_WRITE); /* a district */
            else
                add_op(&b,
                       hash_u64((uint64_t)(100000 + (rnd_below(100) ? w : rnd_below(64)) * 100000 + rnd_below(100000))),
                       c, k == 2 ? OPK_WRITE : OPK_ADD);
        }
    }
    return b;
}
static int64_t median(int64_t *v, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && v[j] < v[j - 1]; j--) {
            int64_t t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    return v[n / 2];
}
static void bench_one(Rig *g, int shape, int64_t n) {
    enum { TIMES = 9 };
    Bulk b = bulk_shape(shape, n);
    Arena *a = arena_new(&root, &err);
    int64_t locks_ns[2][TIMES], sets_ns[TIMES], host_ns[2];
    RankLocks l;
    RankSets s;
    for (int order = 0; order < 2; order++) { /* as they come, then shuffled */
        if (order) shuffle(&b);
        RankInput in = upload(g, &b, false);
        for (int i = -2; i < TIMES; i++) {
            int64_t begin = clock_ns();
            OK(rank_device_locks(g->r, g->q, &in, &l, &err));
            OK(g->d->ops->sync(g->q, NULL, NULL, &err));
            if (i >= 0) locks_ns[order][i] = clock_ns() - begin;
        }
        check_locks(g, &b, &l, a);
        if (order) continue;
        for (int i = -1; i < TIMES; i++) {
            int64_t begin = clock_ns();
            OK(rank_device_sets(g->r, g->q, &in, &s, &err));
            if (i >= 0) sets_ns[i] = clock_ns() - begin;
        }
        check_sets(g, &b, &s, a);
    }
    ScheduleScratch *scratch = schedule_scratch_new(&root, &err);
    for (int k = 0; k < 3; k++) { /* the host, warm */
        ScheduleInput in = named(&b, a, k == 2 ? STRATEGY_KSET : STRATEGY_TPL);
        in.scratch = scratch;
        Schedule want;
        OK(schedule_make(&in, NULL, a, &want, &err));
        host_ns[k / 2] = want.plan_ns;
    }
    schedule_scratch_free(scratch);
    printf("%-18s %9lld %9lld %10.1f %10.1f %10.1f %7d %8lld %10.1f %10.1f\n", shape_names[shape], (long long)n,
           (long long)l.ops_left, (double)median(locks_ns[0], TIMES) / 1e3, (double)median(locks_ns[1], TIMES) / 1e3,
           (double)median(sets_ns, TIMES) / 1e3, s.rounds, (long long)s.depth, (double)host_ns[0] / 1e3,
           (double)host_ns[1] / 1e3);
    fflush(stdout);
    arena_free(a);
    bulk_free(&b);
}
static const char *chosen;
static int64_t bench_max = 8 << 20, check_calls;
static void bench(void **state) {
    Rig g;
    int shape = (int)(intptr_t)*state;
    if (!rig_open(&g, chosen)) fail();
    if (shape == 0) {
        printf("%s; times in us; host: schedule_make on one core, operations shuffled\n", g.d->info.name);
        printf("%-18s %9s %9s %10s %10s %10s %7s %8s %10s %10s\n", "shape", "ops", "left", "locks", "shuffled", "sets",
               "rounds", "depth", "host locks", "host sets");
    }
    for (int64_t n = 1 << 16; n <= bench_max; n *= n == 1 << 16 ? 16 : 8) bench_one(&g, shape, n);
    rig_close(&g);
}
static void on_chosen(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, chosen)) fail();
    bool few = strcmp(chosen, "oclgrind") == 0 || check_calls > 0; /* lane by lane, on a CPU */
    if (!few) shapes(&g, 100, 100000);
    if (!few || check_calls >= 1000) long_uses(&g, few ? 1500 : 20000);
    for (int i = 0; few && i < (check_calls > 0 && check_calls < 1000 ? 1 : 2); i++) {
        int64_t calls = check_calls ? check_calls : 250;
        Bulk b = bulk_random(i ? 20 : calls, 6, i ? 9 : calls + 50, 1, 15, 2); /* of several groups, and of one */
        if (i) shuffle(&b);
        check(&g, &b, i);
        bulk_free(&b);
    }
    rig_close(&g);
}

int main(int argc, char **argv) {
    mem_account_init(&root, NULL, "test", 0, "memory_limit");
    chosen = argc > 2 ? argv[2] : "host";
    if (argc > 2 && strcmp(argv[1], "bench") == 0) {
        if (argc > 3) bench_max = atoll(argv[3]);
        struct CMUnitTest tests[N_SHAPES];
        for (intptr_t i = 0; i < N_SHAPES; i++)
            tests[i] = (struct CMUnitTest){shape_names[i], bench, NULL, NULL, (void *)i};
        return cmocka_run_group_tests(tests, NULL, NULL);
    }
    if (argc > 2 && strcmp(argv[1], "check") == 0) {
        if (argc > 3) check_calls = atoll(argv[3]);
        const struct CMUnitTest tests[] = {cmocka_unit_test(on_chosen)};
        int failed = cmocka_run_group_tests(tests, NULL, NULL);
        printf("%d passed, %d failed\n", !failed, failed); /* for run_all.py */
        return failed;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_host),          cmocka_unit_test(filtered),
                                       cmocka_unit_test(deterministic),    cmocka_unit_test(refused),
                                       cmocka_unit_test(faults),           cmocka_unit_test(on_opencl),
                                       cmocka_unit_test(compiles_for_cuda)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
