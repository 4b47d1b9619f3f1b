/* test_window.c - plans of window functions, and the operator when it is stopped or has no memory. */
#include "exec/window.h"
#include "unit_device.h"

/* ---- plans: EXPLAIN --------------------------------------------------------------------------- */

static void has(const char *sql, const char *want) {
    explain(sql);
    if (!strstr(lines, want)) fail_msg("%.200s: no \"%s\" in\n%.4000s", sql, want, lines);
}
static void has_not(const char *sql, const char *text) {
    explain(sql);
    if (strstr(lines, text)) fail_msg("%.200s: \"%s\" in\n%.4000s", sql, text, lines);
}

static int setup(void **state) {
    (void)state;
    device_session_open();
    set("executor", "vm");
    session->device.override = NULL;
    run("create table t(a int, b int, c int, d int)");
    run("insert into t select g % 7, g % 11, g, g * 3 from generate_series(1, 1000) g");
    run("create table u(k int)");
    run("insert into u values (3)");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

/* Conditions on partition keys go below, others stay above; one of two windows keeps what is not its key. */
static void test_pushdown(void **state) {
    (void)state;
    has("select * from (select a, rank() over (partition by a order by b) r from t) q where a = 1", "where a = 1");
    has("select * from (select a, b, rank() over (partition by a order by b) r from t) q where b = 1", "filter b = 1");
    has("select * from (select a, rank() over (partition by a order by b) r from t) q where r = 1", "filter rank = 1");
    has("select * from (select a, rank() over (order by a) r from t) q where a = 1", "filter a = 1");
    const char *both =
        "select * from (select a, b, count(*) over (partition by a) x, sum(c) over (partition by a, b) y "
        "from t) q where ";
    char sql[512];
    snprintf(sql, sizeof sql, "%s a = 1", both);
    has(sql, "where a = 1");
    snprintf(sql, sizeof sql, "%s b = 1", both);
    has(sql, "filter b = 1");
}

/* What nothing reads is not computed. */
static void test_prune(void **state) {
    (void)state;
    const char *sql = "select a from (select a, c, rank() over (order by b) x, sum(d) over (order by b) y from t) q";
    has_not(sql, "window");
    has_not("select x from (select a, rank() over (order by b) x, sum(d) over (order by b) y from t) q", "sum");
    has_not("select x from (select a, rank() over (order by b) x, sum(d) over (order by b) y from t) q", "d#");
    has("select count(*) from (select row_number() over (order by a) from t) q", "aggregate: count");
    has_not("select count(*) from (select row_number() over (order by a) from t) q", "window");
}

/* Keys that are a prefix of other keys share their sort, whatever order the query names them in. */
static void test_shared_sorts(void **state) {
    (void)state;
    const char *prefix = "select rank() over (partition by a), rank() over (partition by a, b order by c), "
                         "rank() over (partition by a order by b), count(*) over () from t";
    has(prefix, "sort #0");
    has_not(prefix, "sort #1");
    has(prefix, "window #0");
    has_not(prefix, "window #1");
    has("select rank() over (order by a), rank() over (order by b) from t", "sort #1");
    has("select rank() over (order by a), rank() over (order by a desc) from t", "sort #1");
    has("select rank() over (order by a), rank() over (order by a nulls first) from t", "sort #1");
    has_not("select rank() over (order by a), sum(b) over (partition by a) from t", "sort #1");
    has("select count(*) over (), row_number() over () from t",
        "window: row_number#6 := row_number(), count#5 := count(*)");
    has_not("select count(*) over () from t", "sort #0");
    has("select sum(a) over (partition by b order by c rows between 1 preceding and current row exclude ties) from t",
        "window partition by b order by c rows between 1 preceding and current row exclude ties: sum#5 := sum(a)");
}

/* Rows come in the order of the window's sort: no sort by a prefix of its keys is needed. */
static void test_order(void **state) {
    (void)state;
    has_not("select a, rank() over (partition by a order by b desc) from t order by a", "sort by");
    has_not("select a, b + 1, rank() over (partition by a order by b desc) from t order by a, b desc", "sort by");
    has_not("select c, rank() over (order by c, c) from t where c > 7 order by c", "sort by");
    has("select c, rank() over (order by c) from t order by c limit 3", "limit 3");
    has_not("select c, rank() over (order by c) from t order by c limit 3", "top-n");
    has_not("select c, x from (select c, rank() over (order by c) x from t) q where x % 2 = 0 order by c", "sort by");
    has_not("select rank() over (order by b), rank() over (order by b, c) from t order by b, c", "sort by");
    has("select a, rank() over (partition by a order by b desc) from t order by a, b", "sort by a, b");
    has("select a, rank() over (partition by a order by b) from t order by b", "sort by b");
    has("select b, rank() over (order by b) from t order by b desc", "sort by b desc");
    has("select b, rank() over (order by b) from t order by b nulls first", "sort by b nulls first");
    has("select b, rank() over (order by b), rank() over (order by c) from t order by c", "sort by c");
    has("select rank() over (order by b) r from t order by r", "sort by rank");
    has("select -b n, rank() over (order by b) from t order by n", "sort by n");
}

/* ---- the operator -------------------------------------------------------------------------------- */

enum { ROWS = 20000, PER_PARTITION = 500 };

static RowStore *input(MemAccount *acct, const CellSpec *cols, Err *e) {
    RowLayout l;
    RowStore *r = NULL;
    Arena *a = arena_new(NULL, NULL);
    static int64_t key[ROWS], value[ROWS];
    bool ok = a && row_layout_init(&l, a, 2, cols, 0) == ST_OK;
    if (ok && rows_new(&l, 1, acct, vfs_posix(), NULL, &r, e) != ST_OK) r = NULL;
    for (int64_t i = 0; i < ROWS; i++) {
        key[i] = i / PER_PARTITION;
        value[i] = i % 997;
    }
    Vec v[2] = {{.data = key, .phys = PH_I64}, {.data = value, .phys = PH_I64}};
    if (r && (rows_append(r, 0, 0, ROWS, v, e) != ST_OK || rows_finish(r, true, e) != ST_OK)) {
        rows_free(r);
        r = NULL;
    }
    arena_free(a);
    return r;
}

/* row_number, and the sum of a moving frame that needs a tree; `cancel` from the start. `whole`: one partition. */
static Status run_window_of(MemAccount *acct, Pool *pool, int64_t batch_rows, bool cancel, bool whole, Vfs *vfs,
                            int64_t *sum, Err *e) {
    static const CellSpec in[2] = {{.phys = PH_I64}, {.phys = PH_I64}};
    static CellSpec out[4] = {{.phys = PH_I64}, {.phys = PH_I64}, {.phys = PH_I64}, {.phys = PH_I64, .nullable = true}};
    int32_t keys[] = {0}, pass[] = {0, 1};
    WinCell calls[2] = {{.func = WF_ROW_NUMBER, .arg = {-1, -1, -1}, .out = out[2]},
                        {.func = WF_AGG, .arg = {1, -1, -1}, .out = out[3]}};
    calls[1].agg = (AggCell){.op = AO_SUM_I64, .in_phys = PH_I64, .out_phys = PH_I64};
    WinClause c = {.n_partition = !whole,
                   .keys = keys,
                   .frame = {WM_ROWS, WB_CURRENT_ROW, WB_UNBOUNDED_FOLLOWING, WX_NONE},
                   .start_offset = -1,
                   .end_offset = -1,
                   .n_calls = 2,
                   .calls = calls};
    WindowSpec spec = {
        .n_in = 2, .in = (CellSpec *)(uintptr_t)in, .n_pass = 2, .pass = pass, .n_clauses = 1, .clauses = &c};
    _Atomic bool stopped = cancel;
    QueryStop stop = {.cancel = &stopped};
    WindowEnv env = {
        .pool = pool, .threads = pool ? 2 : 1, .batch_rows = batch_rows, .account = acct, .stop = &stop, .vfs = vfs};
    RowStore *from = input(acct, in, e), *to = NULL;
    RowLayout l;
    int workers;
    Arena *a = arena_new(NULL, NULL);
    Status st = from && a && row_layout_init(&l, a, 4, out, 0) == ST_OK ? ST_OK : ST_ERROR;
    if (st == ST_OK) st = rows_new(&l, env.threads, acct, vfs_posix(), NULL, &to, e);
    if (st == ST_OK) st = window_run(&spec, &env, from, to, &workers, e);
    *sum = 0;
    for (int64_t i = 0; st == ST_OK && i < ROWS; i++) {
        const void *cell[2];
        bool null;
        st = rows_cell(to, i, 2, &cell[0], &null, e);
        if (st == ST_OK) st = rows_cell(to, i, 3, &cell[1], &null, e);
        if (st == ST_OK) *sum += *(const int64_t *)cell[0] * *(const int64_t *)cell[1];
    }
    rows_free(from);
    rows_free(to);
    arena_free(a);
    return st;
}

static Status run_window(MemAccount *acct, Pool *pool, int64_t batch_rows, bool cancel, int64_t *sum, Err *e) {
    return run_window_of(acct, pool, batch_rows, cancel, false, NULL, sum, e);
}

static int64_t expected(void) {
    int64_t total = 0;
    for (int64_t p = 0; p < ROWS; p += PER_PARTITION) {
        int64_t sum = 0;
        for (int64_t i = PER_PARTITION; i-- > 0;) {
            sum += (p + i) % 997;
            total += (i + 1) * sum;
        }
    }
    return total;
}

static void test_run(void **state) {
    (void)state;
    Err e = {0};
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", 0, NULL);
    Pool *pool = pool_new(2, &e);
    assert_non_null(pool);
    static const int64_t batches[] = {1, 7, 499, 500, 501, 5000, ROWS, 100000};
    for (int i = 0; i < (int)ARRAY_LEN(batches); i++)
        for (int k = 0; k < 2; k++) {
            int64_t sum;
            if (run_window(&acct, k ? pool : NULL, batches[i], false, &sum, &e) != ST_OK) fail_msg("%s", e.message);
            assert_int_equal(sum, expected());
            assert_int_equal(atomic_load(&acct.used), 0);
        }
    pool_free(pool);
}

static void test_stop(void **state) {
    (void)state;
    MemAccount acct;
    mem_account_init(&acct, NULL, "query", 0, NULL);
    for (int64_t rows = 100; rows <= ROWS; rows += ROWS - 100) {
        Err e = {0};
        int64_t sum;
        assert_int_equal(run_window(&acct, NULL, rows, true, &sum, &e), ST_ERROR);
        assert_string_equal(e.sqlstate, ERR_QUERY_CANCELED);
        assert_int_equal(atomic_load(&acct.used), 0);
    }
}

/* A limit that the rows fit under, but not a partition with all its columns, which go to a file; and each allocation
 * that may fail. */
static void test_memory(void **state) {
    (void)state;
    MemAccount acct;
    Err e = {0};
    int64_t sum, want;
    mem_account_init(&acct, NULL, "query", 0, NULL);
    assert_int_equal(run_window_of(&acct, NULL, ROWS, false, true, NULL, &want, &e), ST_OK);
    mem_account_init(&acct, NULL, "query", 1200 << 10, "memory_limit");
    assert_int_equal(run_window_of(&acct, NULL, ROWS, false, true, NULL, &sum, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_LIMIT_EXCEEDED);
    assert_int_equal(atomic_load(&acct.used), 0);
    err_clear(&e);
    assert_int_equal(run_window_of(&acct, NULL, ROWS, false, true, vfs_posix(), &sum, &e), ST_OK);
    assert_int_equal(sum, want);
    assert_int_equal(atomic_load(&acct.used), 0);
    mem_account_init(&acct, NULL, "query", 0, NULL);
    for (int64_t n = 1;; n++) {
        err_clear(&e);
        mem_fail_at(n);
        Status st = run_window(&acct, NULL, 3000, false, &sum, &e);
        bool over = mem_fail_at(0) > 0;
        assert_int_equal(atomic_load(&acct.used), 0);
        if (st == ST_OK) assert_int_equal(sum, expected());
        if (over) {
            assert_int_equal(st, ST_OK);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pushdown), cmocka_unit_test(test_prune), cmocka_unit_test(test_shared_sorts),
        cmocka_unit_test(test_order),    cmocka_unit_test(test_run),   cmocka_unit_test(test_stop),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
