/* test_emit.c - emitted kernels against the virtual machine: the same plans, run by both, must give the same rows and
 * errors.
 *
 * Statements over small tables with NULLs, deletions, delta tablets, dictionaries and plain strings are planned as
 * usual; emit_run.h runs their kernels on the host, in the host's form and in that of devices with many items (four
 * rows at a time), the latter with everything forced into hash tables and all hashes equal. Without a C compiler the
 * test is skipped. */
#include "unit.h"

#include "base/hash.h"
#include "catalog/catalog.h"
#include "emit_run.h"
#include "sql/bind/bind.h"
#include "sql/lower/lower.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"

static Catalog cat;
static MemAccount account;
static SessionInfo info = {.user = "test", .database = "test"};
static bool have_compiler;
static Table *tables[4];
enum { ROWS = 3000, MORE = 200 };

/* t(a int, b int NULL, s text of few values, n numeric(12,2), f float8, d date, u text, big int8, w numeric(30,4) NULL)
 */
static Str text_of(Arena *a, const char *fmt, int i) {
    char *p = arena_printf(a, fmt, i);
    return str_make(p, (int64_t)strlen(p));
}
static void fill(Table *t, Arena *a, int from, int n, Err *e) {
    int32_t *ia = arena_array(a, int32_t, n), *ib = arena_array(a, int32_t, n), *id = arena_array(a, int32_t, n);
    int64_t *in = arena_array(a, int64_t, n), *big = arena_array(a, int64_t, n);
    double *f = arena_array(a, double, n);
    int128_t *wide = arena_array(a, int128_t, n);
    Str *s = arena_array(a, Str, n), *u = arena_array(a, Str, n);
    uint8_t *vb = arena_array(a, uint8_t, n), *vw = arena_array(a, uint8_t, n);
    for (int k = 0; k < n; k++) {
        int i = from + k;
        ia[k] = i;
        vb[k] = i % 7 != 0;
        ib[k] = vb[k] ? i * 13 % 50 : 0;
        s[k] = text_of(a, "name %d", i % 5);
        in[k] = (int64_t)(i % 1000) * 125 - 30000;
        f[k] = (double)(i % 321) * 0.25 - 20;
        id[k] = 7000 + i % 900;
        u[k] = text_of(a, i % 3 ? "row %d of many" : "special %d requests", i);
        big[k] = INT64_C(9000000000000000) * (i % 3 - 1) + i;
        vw[k] = i % 11 != 0;
        wide[k] = vw[k] ? (int128_t)i * INT64_C(1000000000000) * 1000 - 5 : 0;
    }
    Vec v[] = {{.data = ia, .phys = PH_I32, .type = type_make(T_INT4)},
               {.data = ib, .valid = vb, .phys = PH_I32, .type = type_make(T_INT4)},
               {.data = s, .phys = PH_STR, .type = type_make(T_TEXT)},
               {.data = in, .phys = PH_I64, .type = type_numeric(12, 2)},
               {.data = f, .phys = PH_F64, .type = type_make(T_FLOAT8)},
               {.data = id, .phys = PH_I32, .type = type_make(T_DATE)},
               {.data = u, .phys = PH_STR, .type = type_make(T_TEXT)},
               {.data = big, .phys = PH_I64, .type = type_make(T_INT8)},
               {.data = wide, .valid = vw, .phys = PH_I128, .type = type_numeric(30, 4)}};
    if (table_append(t, n, v, NULL, NULL, e) != ST_OK) fail_msg("%s", e->message);
}
static Table *make(const char *name, Err *e) {
    ColumnDef defs[] = {{.name = "a", .type = type_make(T_INT4), .not_null = true},
                        {.name = "b", .type = type_make(T_INT4)},
                        {.name = "s", .type = type_make(T_TEXT)},
                        {.name = "n", .type = type_numeric(12, 2)},
                        {.name = "f", .type = type_make(T_FLOAT8)},
                        {.name = "d", .type = type_make(T_DATE)},
                        {.name = "u", .type = type_make(T_TEXT)},
                        {.name = "big", .type = type_make(T_INT8)},
                        {.name = "w", .type = type_numeric(30, 4)}};
    Table *t;
    if (table_new(&account, name, (int)ARRAY_LEN(defs), defs, 0, NULL, 0, NULL, &t, e) != ST_OK ||
        catalog_add_table(&cat, t, e) != ST_OK)
        fail_msg("%s", e->message);
    return t;
}
/* c(x1 .. x64 int8): codes of 1, 2, 4, 8, 16, 24, 32 and 64 bits, the first and third from 0, others above a base. */
static Table *make_widths(Arena *a, Err *e) {
    static const int width[] = {1, 2, 4, 8, 16, 24, 32, 60};
    enum { COLS = 8, N = 2999 };
    ColumnDef defs[COLS];
    Vec v[COLS];
    Table *t;
    for (int c = 0; c < COLS; c++) {
        defs[c] = (ColumnDef){
            .name = arena_printf(a, "x%d", c == 7 ? 64 : width[c]), .type = type_make(T_INT8), .not_null = true};
        int64_t *cells = arena_array(a, int64_t, N), base = c == 0 || c == 2 ? 0 : -3,
                most = (INT64_C(1) << width[c]) - 1;
        for (int i = 0; i < N; i++)
            cells[i] =
                base + (i == 7   ? most
                        : i == 8 ? 0
                                 : (int64_t)((uint64_t)(i + 1) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - width[c])));
        v[c] = (Vec){.data = cells, .phys = PH_I64, .type = type_make(T_INT8)};
    }
    if (table_new(&account, "c", COLS, defs, 0, NULL, 0, NULL, &t, e) != ST_OK ||
        catalog_add_table(&cat, t, e) != ST_OK || table_append(t, N, v, NULL, NULL, e) != ST_OK ||
        table_merge(t, NULL, e) != ST_OK)
        fail_msg("%s", e->message);
    return t;
}
static int setup(void **state) {
    (void)state;
    have_compiler = run_status("${STELE_CC:-cc} --version >/dev/null 2>&1") == 0;
    mem_account_init(&account, NULL, "test", 0, NULL);
    if (!(cat.arena = arena_new(&account, NULL))) return -1;
    Err e;
    err_clear(&e);
    Arena *a = arena_new(NULL, &e);
    Table *main_only = make("r", &e), *mixed = make("t", &e);
    tables[2] = make("empty", &e);
    tables[3] = make_widths(a, &e);
    tables[0] = main_only, tables[1] = mixed;
    fill(main_only, a, 0, 400, &e);
    fill(mixed, a, 0, ROWS, &e);
    if (table_merge(main_only, NULL, &e) != ST_OK || table_merge(mixed, NULL, &e) != ST_OK) return -1;
    fill(mixed, a, ROWS, MORE, &e); /* a delta tablet behind the encoded one */
    int64_t gone[100], done;
    for (int i = 0; i < 100; i++) gone[i] = i * 17;
    if (table_delete(mixed, 100, gone, NULL, &done, &e) != ST_OK) return -1;
    arena_free(a);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) table_free(tables[i]);
    arena_free(cat.arena);
    return account.used != 0;
}

static QueryPlan *plan_of(Arena *a, const char *sql, Err *e) {
    PlanCtx *c = arena_new_of(a, PlanCtx);
    *c = (PlanCtx){.arena = a, .err = e, .catalog = &cat, .session = &info};
    assert_true(vec_push(a, &c->cols, ((ColInfo){.name = "", .col = -1})));
    AstStmt **stmts;
    int64_t n;
    BoundStmt *b = NULL;
    if (sql_parse(a, slice_of(sql), &stmts, &n, e) != ST_OK || sql_bind(c, stmts[0], 0, NULL, &b) != ST_OK ||
        sql_optimize(c, b) != ST_OK)
        fail_msg("%s: %s", sql, e->message);
    QueryPlan *p = sql_lower(c, b->plan, b->n_result, b->result);
    if (!p) fail_msg("%s: %s", sql, e->message);
    return p;
}

static void vm_cell(RowStore *rs, const CellSpec *spec, int64_t row, int32_t col, char *out, int64_t n) {
    const void *cell;
    bool null;
    Err e;
    assert_int_equal(rows_cell(rs, row, col, &cell, &null, &e), ST_OK);
    double d;
    Str s;
    char buf[VALUE_TEXT_MAX + 1];
    if (null) {
        snprintf(out, (size_t)n, "NULL");
    } else if (spec->phys == PH_STR) {
        memcpy(&s, cell, sizeof s);
        snprintf(out, (size_t)n, "%.*s", (int)s.len, s.ptr);
    } else if (spec->phys == PH_F64) {
        memcpy(&d, cell, 8);
        snprintf(out, (size_t)n, "%.9g", d == 0 ? 0.0 : d);
    } else {
        int64_t len = cell_to_text(spec->type, cell, (TextForm){0}, buf);
        snprintf(out, (size_t)n, "%.*s", (int)len, buf);
    }
}
static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

typedef struct Form {
    const char *name;
    DeviceKind kind;
    int64_t local, direct;
    bool constant;
} Form;
static const Form forms[] = {{"host", DEVICE_HOST, 1 << 16, 1 << 20, false},
                             {"blocks, hash tables of equal hashes", DEVICE_OPENCL, 0, 0, true},
                             {"blocks, local tables", DEVICE_OPENCL, 1 << 16, 1 << 20, false}};

static void check(const char *sql, const Form *form) {
    Err e, e2;
    err_clear(&e);
    err_clear(&e2);
    Arena *a = arena_new(NULL, &e);
    QueryPlan *p = plan_of(a, sql, &e);
    Query *q;
    QueryOptions o = {.threads = 1, .account = &account, .session = &info};
    assert_int_equal(query_new(p, &o, &q, &e), ST_OK);
    Status want = query_run(q, &e);
    EmitTarget t = {.native_threads = form->kind == DEVICE_HOST,
                    .group_size = 1,
                    .tile_rows = 1024,
                    .local_bytes = form->local,
                    .units = 2,
                    .direct_bytes = form->direct};
    Run r;
    hash_constant = form->constant;
    Status got = run_plan(&r, p, &t, 1 << 17, &e2);
    hash_constant = false;
    if (got != want) fail_msg("%s (%s): %s%s", sql, form->name, e.message, e2.message);
    if (want != ST_OK) {
        assert_string_equal(e2.sqlstate, e.sqlstate);
        assert_string_equal(e2.message, e.message);
        assert_string_equal(e2.detail, e.detail);
    } else {
        RowStore *rs = query_result(q);
        const RowsSpec *spec = &p->rows[p->result];
        int64_t n = rows_count(rs);
        if (n != (int64_t)r.rows[p->result].count)
            fail_msg("%s (%s): %lld rows instead of %lld", sql, form->name, (long long)r.rows[p->result].count,
                     (long long)n);
        char **x = arena_array(a, char *, n + 1), **y = arena_array(a, char *, n + 1), cell[512];
        for (int64_t i = 0; i < n; i++) {
            x[i] = y[i] = "";
            for (int32_t c = 0; c < spec->n_cols; c++) {
                vm_cell(rs, &spec->cols[c], i, c, cell, sizeof cell);
                x[i] = arena_printf(a, "%s%s|", x[i], cell);
                run_cell(&r, i, c, cell, sizeof cell);
                y[i] = arena_printf(a, "%s%s|", y[i], cell);
            }
        }
        if (!strstr(sql, "order by")) {
            qsort(x, (size_t)n, sizeof *x, by_text);
            qsort(y, (size_t)n, sizeof *y, by_text);
        }
        for (int64_t i = 0; i < n; i++)
            if (strcmp(x[i], y[i]) != 0)
                fail_msg("%s (%s), row %lld: %s instead of %s", sql, form->name, (long long)i, y[i], x[i]);
    }
    run_free(&r);
    query_free(q);
    arena_free(a);
}
static void check_all(const char *const *sql, int64_t n) {
    if (!have_compiler) skip();
    for (int64_t i = 0; i < n; i++)
        for (int64_t f = 0; f < ARRAY_LEN(forms); f++) check(sql[i], &forms[f]);
}
#define CHECK(...)                                       \
    do {                                                 \
        static const char *const sql_[] = {__VA_ARGS__}; \
        check_all(sql_, ARRAY_LEN(sql_));                \
    } while (0)

static void test_scans(void **state) {
    (void)state;
    CHECK("select a & 12, a | b, b # 5, ~a, a << b, (a - 700) >> 2, big & 255, big << 3, ~big >> b, big # -1, "
          "a::smallint << 14, a::smallint >> b, ~a::smallint, a::smallint & 7::smallint from t where a & 1 = 1");
    CHECK("select a, b, s, n, f, d, u, big, w from t where a between 100 and 180 or b is null and a < 60",
          "select a, b + a, a * 2 - b, a % 7, -a, n * n, f / (f * f + 1), extract(month from d)::int, coalesce(b, -1), "
          "nullif(b, 3), b is distinct from a "
          "from t where b > 40 and s <> 'name 3' and n < 20000.00",
          "select case when b < 10 then s when b is null then u else 'other' end, b in (1, 5, 9, 44), s like '%4', u "
          "like 'spec%ques__' from t where a < 200",
          "select substring(u from 3 for 4), length(u), left(s, -2) from t where a % 10 = 1 and a < 500",
          "select count(*) from empty", "select a from empty");
}
static void test_aggregates(void **state) {
    (void)state;
    CHECK("select count(*), count(b), sum(a), sum(b), sum(n), sum(f), min(b), max(d), min(f), max(n), sum(w), "
          "sum(big), avg(n), bool_and(a >= 0), bool_or(a < 0) from t",
          "select s, count(*), sum(b), min(b), max(f), sum(w), min(s), avg(big) from t group by s",
          "select b, s, count(*), sum(n), bool_or(f > 50) from t where a < 2000 group by b, s",
          "select d, w, max(a), any_value(u) is null from t group by d, w",
          "select u, count(*) from t where a < 300 group by u", "select sum(b), max(a), count(b) from t where a < 0",
          "select count(*) from t where a < 0 group by b");
}
/* Sums in fields of shared words (LOCAL): offsets, NULLs, fields that are as full as can be when they are emptied, few
 * and many groups. */
static void test_packed(void **state) {
    (void)state;
    CHECK("select s, sum(a), sum(n), sum(big), count(*), count(b), sum(b), avg(n), min(a), max(d), sum(f) from t group "
          "by s",
          "select b, count(b), sum(b - 60), sum(a - 5000), avg(b), count(*) from t group by b",
          "select a, sum(a), count(*), sum(n) from r group by a",
          "select a % 1000 >= 500, sum(case when a < 2000 then 1048575 else 1048574 end), sum(1), count(*), sum(a) "
          "from t group by a % 1000 >= 500",
          "select a >= 0, sum(case when a < 2000 then 1048575 else 1048574 end), sum(1), count(*), sum(b - 49), "
          "count(b) from t group by a >= 0",
          "select s, sum(case when b > 20 then b end), sum(case when b > 20 then -7 else a end), sum(0), count(case "
          "when b < 9 then 1 end) from t where a > 40 group by s",
          "select s, b, sum(a), sum(b), sum(n) from t where n > 0 group by s, b", "select s, sum(a) from t group by s",
          "select s, sum(b), sum(n) from t where a < 0 group by s", "select s, sum(a), count(*) from empty group by s",
          "select s, sum(n * a), sum(n * n * a), sum(w), count(*) from t group by s");
}
/* Blocks of rows: every width, filters on it, ranges without a value, a last block that is not full; in all forms of
 * the loops. */
static void test_blocks(void **state) {
    (void)state;
    CHECK(
        "select sum(x1), sum(x2), sum(x4), sum(x8), sum(x16), sum(x24), sum(x32), min(x64), max(x64), count(*) from c",
        "select x1, x2, sum(x4), sum(x8), sum(x16), sum(x24), sum(x32), count(*) from c group by x1, x2",
        "select x4, sum(x24), count(*) from c where x8 between 20 and 90 and x16 > 400 group by x4",
        "select count(*), sum(x32) from c where x1 = 1 and x2 = 0 and x4 between 3 and 9",
        "select x1, x2, x4, x8, x16, x24, x32, x64 from c where x16 between 100 and 900 or x64 < 0",
        "select x1, x2, x4, x8, x16, x24, x32, x64 from c where x16 between 100 and 9000",
        "select x64, x4 from c where x32 between 1000000 and 900000000 and x24 > 5000000",
        "select count(*), sum(x8) from c where x16 between 9000 and 100",
        "select x8, x24 from c where x16 between 9000 and 100",
        "select sum(x8), count(*) from c where x64 > 1000000000000 and x1 = 0",
        "select sum(x4) from c where x16 not between 100 and 60000",
        "select t.a, x4 from t join c on t.a = x16 where x24 between 0 and 9000000",
        "select x4, count(*) from c join t on x16 = t.a where x8 between 5 and 100 group by x4",
        "select sum(a), sum(n), count(b) from t where b between 4 and 30 and d > date '1990-01-01'",
        "select s, sum(a), count(b) from t where b between 30 and 4 group by s",
        "select sum(case when x1 = 1 and x8 > 50 then x24 else 0 end), count(*) from c where x4 > 3",
        "select x1, sum(x8 + x16), count(*) from c where x24 > x16 * 3 group by x1",
        "select t.u, r.u from t join r on t.a = r.a where r.b = 3",
        "select count(*), sum(t.n) from t where t.b in (select x8 from c where x4 = 5 and x2 = 1) and t.a > 100",
        "select count(*) from t where not exists (select 1 from r where r.a = t.a + 5 and r.b < 9) and t.n > 0",
        "select t.a, r.s from t join r on t.b = r.a where r.b < 7 and t.a / (t.a + 1) >= 0 and t.d <> date "
        "'2000-01-01'");
}
static void test_joins(void **state) {
    (void)state;
    CHECK("select t.a, r.a, r.s from t join r on t.a = r.a and t.b = r.b where r.n < 0",
          "select t.a, r.b, r.u from t left join r on t.b = r.a and r.f > t.f where t.a < 300",
          "select count(*), sum(r.a) from t join r on t.b = r.b",
          "select a from t where exists (select 1 from r where r.a = t.b and r.n > t.n)",
          "select a from t where a < 400 and b not in (select b from r where a > 390 and b is not null)",
          "select a, b in (select b from r where a < 20) from t where a < 100",
          "select r.a, t.a from t right join r on t.a = r.a + 2900",
          "select t.a, r.a from t full join r on t.a = r.a and t.b > 20 where coalesce(t.a, r.a) < 500",
          "select a, (select max(f) from r where r.b = t.b) from t where a < 50",
          "select t.a from t join r on t.b is not distinct from r.b where r.a < 8 and t.a < 90",
          "select x.a from t x, r y where x.a < 5 and y.a < 4 and x.a <> y.a",
          "select t.u, r.u from t join r on t.u = r.u where t.a > 100",
          "select a from r where not exists (select 1 from t where t.a = r.a)");
}
static void test_sorts(void **state) {
    (void)state;
    CHECK("select a, b, f from t order by f desc, b nulls first, a limit 300 offset 7",
          "select s, u, a from t order by s desc, u, a", "select w, a from t order by w desc nulls last, a desc",
          "select b, count(*) from t group by b order by b desc nulls last",
          "select a from t order by big, d desc, a limit 10");
}
static void test_errors(void **state) {
    (void)state;
    CHECK("select a / (b - b) from t where a = 10", "select (a + 2147483000) * 2 from t where a > 2000",
          "select sum(big * 100) from t where big < 0 and a < -5", "select n / (a - 40) from t",
          "select (select a from t x where x.b = t.b) from t where a = 3",
          "select cast(n * 1000000 as numeric(9,2)) from t where a < 900",
          "select substring(s from 2 for a - 20) from t where a < 30", "select cast(big as int) from t where a = 2",
          "select 1e300 * (f * 1e300) from t where a = 100");
}

/* The same text for other constants; reasons in words. */
static void test_texts(void **state) {
    (void)state;
    Err e;
    err_clear(&e);
    Arena *a = arena_new(NULL, &e);
    EmitTarget t = {
        .group_size = 256, .tile_rows = 4096, .local_bytes = 1 << 15, .units = 100, .direct_bytes = 1 << 28};
    const char *pairs[][2] = {
        {"select sum(n), max(f * 2.5) from t where a < 100 and d > date '2020-02-02' and b in (1, 2)",
         "select sum(n), max(f * 7.5) from t where a < 2000 and d > date '2020-03-09' and b in (4, 7)"},
        {"select s from t where u like '%x' and big = 5", "select s from t where u like 'abc' and big = 55555555555"}};
    for (int64_t i = 0; i < ARRAY_LEN(pairs); i++) {
        EmitSegment s[2];
        for (int k = 0; k < 2; k++) {
            EmitPlan *ep;
            assert_int_equal(emit_plan(plan_of(a, pairs[i][k], &e), &t, a, &ep, &e), ST_OK);
            assert_null(ep->reasons[0]);
            assert_int_equal(emit_segment(ep, 0, true, a, &s[k], &e), ST_OK);
        }
        assert_string_equal(s[0].source, s[1].source);
    }
    EmitPlan *ep;
    assert_int_equal(emit_plan(plan_of(a, "select upper(u) from t", &e), &t, a, &ep, &e), ST_OK);
    assert_string_equal(ep->reasons[0], "call upper(text)");
    EmitSegment s;
    assert_int_equal(emit_segment(ep, 0, true, a, &s, &e), ST_ERROR); /* asked all the same */
    assert_string_equal(e.sqlstate, "XX000");
    err_clear(&e);
    assert_int_equal(
        emit_plan(plan_of(a, "select r.a from r join t on r.a = t.a where upper(t.u) = 'X'", &e), &t, a, &ep, &e),
        ST_OK);
    bool build = false, probe = false; /* what reads a build side of the CPU stays there */
    for (int32_t i = 0; i < ep->plan->n_segments; i++) {
        build |= ep->reasons[i] && strcmp(ep->reasons[i], "call upper(text)") == 0;
        probe |= ep->reasons[i] && strstr(ep->reasons[i], "join #0: filled on the cpu (call upper(text))") != NULL;
    }
    assert_true(build);
    if (!probe) assert_null(ep->joins[0].reason); /* unless it was the probe that called */
    arena_free(a);
}

/* Which loops a program gets (emit_block.c). */
static void test_loops(void **state) {
    (void)state;
    Err e;
    err_clear(&e);
    Arena *a = arena_new(NULL, &e);
    EmitTarget t = {.group_size = 256, .tile_rows = 2048, .local_bytes = 49152, .units = 2, .direct_bytes = 1 << 28};
    static const struct {
        const char *sql, *has, *has_not;
    } cases[] = {
        {"select sum(x4 * x8), count(*) from c where x16 between 3 and 500", "UNROLL\nfor (u32 k = 0; k < 8;",
         "if (!ok_0) continue"},
        {"select x1, sum(x4), count(*) from c where x16 < 500 group by x1", "g = ok_0 ? g : 2;", "if (!ok_0) continue"},
        {"select sum(x4 / x64) from c", "if (!ok_0) continue;", "list[to++]"}, /* may fail */
        {"select sum(x4 / x64) from c where x16 < 500", "list[to++]", "k < 8"},
        {"select t.a from t join c on x16 = t.a where t.d between date '1990-01-01' and date '1999-01-01'",
         "list[to++]", "k < 8"},
        {"select count(*) from t join r on t.a = r.a where r.b = 3", "ok_7 &= pass;", "k < 8"},
        {"select x1 from c where x16 < 500 limit 5", "if (!ok_0) continue;", "BARRIER"},
        {"select sum(x4), sum(x8), sum(x64), count(*) from c where x1 = 1 and x2 = 2 and x4 = 3", "list[to++]",
         "k < 8"} /* the rest is hardly read */};
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        EmitPlan *ep;
        EmitSegment s;
        bool found = false;
        assert_int_equal(emit_plan(plan_of(a, cases[i].sql, &e), &t, a, &ep, &e), ST_OK);
        for (int32_t k = 0; k < ep->plan->n_segments; k++) {
            if (ep->plan->segments[k].program->source.kind != SRC_TABLE) continue;
            assert_null(ep->reasons[k]);
            assert_int_equal(emit_segment(ep, k, true, a, &s, &e), ST_OK);
            found |= strstr(s.source, cases[i].has) && !strstr(s.source, cases[i].has_not);
        }
        if (!found) fail_msg("%s: not \"%s\" without \"%s\"", cases[i].sql, cases[i].has, cases[i].has_not);
    }
    arena_free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scans),  cmocka_unit_test(test_aggregates), cmocka_unit_test(test_packed),
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_joins),      cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_texts),      cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
