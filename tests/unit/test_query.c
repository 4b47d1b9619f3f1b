/* test_query.c - query.c end to end without SQL: series joined with series, workers, limits, cancel, errors,
 * and joins that do not fit into memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "exec/rows.h"

#ifndef PARTITION_LIMIT
enum { PARTITION_LIMIT = 14 << 20 };
#endif

typedef struct Fix {
    Err e;
    MemAccount acct;
    Arena *a;
    SegmentPlan seg[4];
    JoinSpec join;
    KeySpec key;
    CellSpec pay, cols[2];
    RowsSpec rows;
    QueryPlan plan;
    QueryOptions opt;
} Fix;

static void start(Fix *x) {
    memset(x, 0, sizeof *x);
    mem_account_init(&x->acct, NULL, "test", 0, NULL);
    x->a = arena_new(&x->acct, &x->e);
    x->key = (KeySpec){.phys = PH_I64, .type = type_make(T_INT8)};
    x->pay = (CellSpec){.phys = PH_I64, .type = type_make(T_INT8)};
    x->join = (JoinSpec){.n_keys = 1, .keys = &x->key, .n_payload = 1, .payload = &x->pay, .est_rows = 1000};
    x->cols[0] = x->cols[1] = (CellSpec){.phys = PH_I64, .type = type_make(T_INT8), .nullable = true};
    x->rows = (RowsSpec){.n_cols = 2, .cols = x->cols, .ordered = true, .limit = -1, .sort = -1};
    x->plan = (QueryPlan){.segments = x->seg, .n_joins = 1, .joins = &x->join, .n_rows = 1, .rows = &x->rows};
    x->opt = (QueryOptions){.threads = 1, .account = &x->acct};
}
static void stop(Fix *x) {
    arena_free(x->a);
    assert_int_equal(x->acct.used, 0);
}
static Reg reg(ProgramBuilder *b) { return builder_reg(b, PH_I64, type_make(T_INT8), true); }
static Reg constant(ProgramBuilder *b, int64_t v) {
    Value c = {.type = type_make(T_INT8), .u.i64 = v};
    return builder_const(b, PH_I64, &c);
}
static Reg op(ProgramBuilder *b, Opcode o, Reg x, Reg y) {
    Reg d = reg(b);
    builder_emit(b, o, PH_I64, d, x, y, 0);
    return d;
}
static void add(Fix *x, ProgramBuilder *b, Source src, Sink sink) {
    Program *p = program_finish(b, &src, &sink, &x->e);
    if (!p) fail_msg("%s", x->e.message);
    x->seg[x->plan.n_segments++] = (SegmentPlan){p, "test"};
}
static Reg *two(Fix *x, Reg r, Reg s) {
    Reg *p = arena_array(x->a, Reg, 2);
    p[0] = r, p[1] = s;
    return p;
}

/* build: keys i % n_keys with payload i; probe: i, i % mod -> (i, payload); LOAD after the probe */
static void join_plan(Fix *x, int64_t build, int64_t n_keys, int64_t probe, int64_t mod, ProbeKind kind,
                      bool residual) {
    ProgramBuilder b;
    builder_init(&b, x->a);
    Reg i = reg(&b);
    builder_emit(&b, OP_LOAD, PH_I64, i, 0, 0, 0);
    Reg k = op(&b, OP_MOD, i, constant(&b, n_keys));
    add(x, &b, (Source){.kind = SRC_SERIES, .start = 0, .stop = build - 1, .step = 1},
        (Sink){.kind = SINK_JOIN, .n_keys = 1, .keys = two(x, k, 0), .n_regs = 1, .regs = two(x, i, 0), .limit = -1});

    builder_init(&b, x->a);
    i = reg(&b);
    builder_emit(&b, OP_LOAD, PH_I64, i, 0, 0, 0);
    k = op(&b, OP_MOD, i, constant(&b, mod));
    ProbeSite *site = arena_new_of(x->a, ProbeSite);
    *site = (ProbeSite){.kind = (uint8_t)kind, .n_keys = 1, .keys = two(x, k, 0)};
    Reg row = kind == PK_SEMI ? 0 : builder_reg(&b, PH_I64, type_make(T_INT8), false);
    builder_emit(&b, residual ? OP_PROBE_BEGIN : OP_PROBE, PH_I64, row, 0, 0, 0)->aux = site;
    if (residual) {
        Reg v = reg(&b), ok = builder_reg(&b, PH_BOOL, type_make(T_BOOL), true);
        builder_emit(&b, OP_LOAD_BUILD, PH_I64, v, row, 0, 0)->aux = site;
        builder_emit(&b, OP_GE, PH_I64, ok, v, constant(&b, n_keys), 0);
        builder_emit(&b, OP_PROBE_END, PH_BOOL, 0, ok, 0, 0)->aux = site;
    }
    Reg late = reg(&b), v = 0;
    builder_emit(&b, OP_LOAD, PH_I64, late, 0, 0, 0);
    if (row) {
        v = reg(&b);
        builder_emit(&b, OP_LOAD_BUILD, PH_I64, v, row, 0, 0)->aux = site;
    }
    add(x, &b, (Source){.kind = SRC_SERIES, .start = 0, .stop = probe - 1, .step = 1},
        (Sink){.kind = SINK_ROWS, .n_regs = 2, .regs = two(x, late, v ? v : late), .limit = -1});
}

static int64_t cell(RowStore *r, int64_t row, int32_t col, Fix *x) {
    const void *c;
    bool null;
    assert_int_equal(rows_cell(r, row, col, &c, &null, &x->e), ST_OK);
    return null ? -1 : *(const int64_t *)c;
}

static void run_join(ProbeKind kind, bool residual, int threads, int64_t limit_bytes) {
    const int64_t scale = limit_bytes ? 10 : 1, BUILD = 40000 * scale, KEYS = 20000 * scale, PROBE = 50000 * scale,
                  MOD = 30000 * scale;
    Fix x;
    start(&x);
    join_plan(&x, BUILD, KEYS, PROBE, MOD, kind, residual);
    Pool *pool = threads > 1 ? pool_new(threads, &x.e) : NULL;
    x.opt.pool = pool;
    x.opt.threads = threads;
    MemAccount limited;
    mem_account_init(&limited, NULL, "limited", limit_bytes, "memory_limit");
    if (limit_bytes) x.opt.account = &limited;
    Query *q;
    assert_int_equal(query_new(&x.plan, &x.opt, &q, &x.e), ST_OK);
    if (query_run(q, &x.e) != ST_OK) fail_msg("%s", x.e.message);
    /* expected, as a count and an order-free checksum */
    uint64_t want = 0, got = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < PROBE; i++) {
        int64_t k = i % MOD, hits = 0;
        for (int64_t j = k; j < BUILD && k < KEYS; j += KEYS) {
            if (residual && j < KEYS) continue;
            hits++;
            if (kind == PK_SEMI) break;
            n++;
            want += hash_combine(hash_u64((uint64_t)i), (uint64_t)j);
        }
        if (kind == PK_SEMI && hits) n++, want += hash_combine(hash_u64((uint64_t)i), (uint64_t)i);
        if (kind == PK_LEFT && !hits) n++, want += hash_combine(hash_u64((uint64_t)i), (uint64_t)-1);
    }
    RowStore *r = query_result(q);
    assert_int_equal(rows_count(r), n);
    for (int64_t i = 0; i < n; i++)
        got += hash_combine(hash_u64((uint64_t)cell(r, i, 0, &x)), (uint64_t)cell(r, i, 1, &x));
    assert_true(want == got);
    assert_int_equal(query_stats(q, 1)->rows_in, PROBE);
    if (limit_bytes) {
        assert_non_null(query_stats(q, 1)->note); /* it really was partitioned */
    }
    query_free(q);
    pool_free(pool);
    stop(&x);
}

static void test_joins(void **state) {
    (void)state;
    for (int threads = 1; threads < 4; threads++) {
        run_join(PK_INNER, false, threads, 0);
        run_join(PK_LEFT, false, threads, 0);
        run_join(PK_SEMI, false, threads, 0);
        run_join(PK_INNER, true, threads, 0);
        run_join(PK_LEFT, true, threads, 0);
    }
}

static void test_partitioned_joins(void **state) {
    (void)state;
    for (int threads = 1; threads < 3; threads++) {
        run_join(PK_INNER, false, threads, PARTITION_LIMIT);
        run_join(PK_LEFT, false, threads, PARTITION_LIMIT);
        run_join(PK_INNER, true, threads, PARTITION_LIMIT);
        run_join(PK_LEFT, true, threads, PARTITION_LIMIT);
    }
}

static void test_order_and_limit(void **state) {
    (void)state;
    for (int threads = 1; threads < 4; threads += 2) {
        Fix x;
        start(&x);
        ProgramBuilder b;
        builder_init(&b, x.a);
        Reg i = reg(&b);
        builder_emit(&b, OP_LOAD, PH_I64, i, 0, 0, 0);
        add(&x, &b, (Source){.kind = SRC_SERIES, .start = 100, .stop = -200000, .step = -1},
            (Sink){.kind = SINK_ROWS, .n_regs = 2, .regs = two(&x, i, i), .limit = -1});
        Pool *pool = pool_new(threads, &x.e);
        x.opt.pool = pool;
        x.opt.threads = threads;
        Query *q;
        assert_int_equal(query_new(&x.plan, &x.opt, &q, &x.e), ST_OK);
        assert_int_equal(query_run(q, &x.e), ST_OK);
        assert_int_equal(rows_count(query_result(q)), 200101);
        for (int64_t k = 0; k < 200101; k += 977) assert_int_equal(cell(query_result(q), k, 0, &x), 100 - k);
        query_free(q);

        x.seg[0].program->sink.limit = 10; /* ends early */
        assert_int_equal(query_new(&x.plan, &x.opt, &q, &x.e), ST_OK);
        assert_int_equal(query_run(q, &x.e), ST_OK);
        assert_in_range(rows_count(query_result(q)), 10, 1024 * threads + 10);
        query_free(q);
        pool_free(pool);
        stop(&x);
    }
}

/* One segment stores rows, the next reads a window of them. */
static void test_offset(void **state) {
    (void)state;
    Fix x;
    start(&x);
    RowsSpec specs[2] = {x.rows, x.rows};
    specs[0].offset = 70000;
    specs[0].limit = 25000;
    x.plan.rows = specs;
    x.plan.n_rows = 2;
    x.plan.result = 1;
    ProgramBuilder b;
    builder_init(&b, x.a);
    Reg i = reg(&b);
    builder_emit(&b, OP_LOAD, PH_I64, i, 0, 0, 0);
    add(&x, &b, (Source){.kind = SRC_SERIES, .start = 0, .stop = 99999, .step = 1},
        (Sink){.kind = SINK_ROWS, .n_regs = 2, .regs = two(&x, i, i), .limit = -1});
    builder_init(&b, x.a);
    i = reg(&b);
    builder_emit(&b, OP_LOAD, PH_I64, i, 0, 0, 0)->imm = 1;
    add(&x, &b, (Source){.kind = SRC_ROWS},
        (Sink){.kind = SINK_ROWS, .id = 1, .n_regs = 2, .regs = two(&x, i, constant(&b, 4)), .limit = -1});
    Query *q;
    assert_int_equal(query_new(&x.plan, &x.opt, &q, &x.e), ST_OK);
    assert_int_equal(query_run(q, &x.e), ST_OK);
    assert_int_equal(rows_count(query_result(q)), 25000);
    assert_int_equal(cell(query_result(q), 0, 0, &x), 70000);
    assert_int_equal(cell(query_result(q), 24999, 0, &x), 94999);
    assert_int_equal(cell(query_result(q), 24999, 1, &x), 4);
    query_free(q);
    stop(&x);
}

static void test_errors(void **state) {
    (void)state;
    for (int cancel = 0; cancel < 2; cancel++) {
        Fix x;
        start(&x);
        ProgramBuilder b;
        builder_init(&b, x.a);
        Reg i = reg(&b);
        builder_emit(&b, OP_LOAD, PH_I64, i, 0, 0, 0);
        Reg d = op(&b, OP_DIV, i, op(&b, OP_SUB, i, constant(&b, 123456)));
        add(&x, &b, (Source){.kind = SRC_SERIES, .start = 0, .stop = 999999, .step = 1},
            (Sink){.kind = SINK_ROWS, .n_regs = 2, .regs = two(&x, d, d), .limit = -1});
        Pool *pool = pool_new(3, &x.e);
        x.opt.pool = pool;
        x.opt.threads = 3;
        _Atomic bool flag = cancel;
        x.opt.cancel = &flag;
        Query *q;
        assert_int_equal(query_new(&x.plan, &x.opt, &q, &x.e), ST_OK);
        assert_int_equal(query_run(q, &x.e), ST_ERROR);
        assert_string_equal(x.e.sqlstate, cancel ? "57014" : "22012");
        query_free(q);
        pool_free(pool);
        stop(&x);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_joins), cmocka_unit_test(test_partitioned_joins),
                                       cmocka_unit_test(test_order_and_limit), cmocka_unit_test(test_offset),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
