/* test_reasons.c - EXPLAIN ANALYZE says why a segment did not run on the device: every reason that there is.
 *
 * The device is the host's own compiler behind the fault wrapper. Reasons that follow from another segment's
 * (exec/device/dev.c, share) need a segment that has a device form but no code: the interpreter, which refuses more
 * than the emitter does, makes them. Not reached by any statement: "a pattern without case" (codegen/emit_expr.c: ILIKE
 * is a call), "a load from a source without columns", "a call that the interpreter does not have" and "opcode .."
 * (codegen/interp.c): the lowering makes no such program.
 */
#include "unit_device.h"

static void has(const char *sql, const char *want) {
    if (!strstr(lines, want)) fail_msg("%.200s: no \"%s\" in\n%.4000s", sql, want, strstr(lines, "Segments:"));
}
/* The statement's segments have these reasons, up to three. */
static void reasons(const char *sql, const char *a, const char *b, const char *c) {
    const char *const all[] = {a, b, c};
    explain(sql);
    for (int i = 0; i < 3 && all[i]; i++) {
        char want[512];
        snprintf(want, sizeof want, "       not on the device: %s", all[i]);
        has(sql, want);
    }
}

static int setup(void **state) {
    (void)state;
    device_session_open();
    set("executor", "vm");
    run("create table t(a int, b numeric(30,4), s text, f double precision, i interval, u uuid, y bytea)");
    run("insert into t select g, g * 1.5, 'name' || g, g / 7.0, make_interval(0, 0, 0, g), "
        "'00000000-0000-0000-0000-000000000001', 'x' from generate_series(1, 200) g");
    set("device_wait", "on");
    return 0;
}
static int begin(void **state) {
    (void)state;
    plan = (FaultPlan){0};
    session->device.override = runtime;
    set("executor", "compiled");
    set("device", "auto");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

/* ---- no device form (codegen/emit.c, emit_expr.c) ---- */
static void test_forms(void **state) {
    (void)state;
    reasons("select upper(s) from t", "call upper(text)", NULL, NULL);
    reasons("select a::text from t", "cast from integer to text", NULL, NULL);
    reasons("select a from t where s ilike '%1%'", "call ~~*(text, text)", NULL, NULL);
    reasons("select variance(f) from t", "aggregation #0: variance",
            "aggregation #0: filled on the cpu (aggregation #0: variance)", NULL);
    reasons("select string_agg(s, ',') from t", "aggregation #0: string_agg", NULL, NULL);
    reasons("select min(b * 10000000000000000) from t", "aggregation #0: min over numeric", NULL, NULL);
    reasons("select max(i) from t", "aggregation #0: max over interval", NULL, NULL);
    reasons("select min(u) from t", "aggregation #0: min over uuid", NULL, NULL);
    reasons("select max(s || 'x') from t", "call ||(text, text)", NULL, NULL);
    reasons("select sum(r) from (select row_number() over (order by a) as r from t) q",
            "window functions have no device form", "reads rows that segment 1 made on the cpu", NULL);
    reasons("select x.a from t x join (select s from t where a < 5) y on x.s = lower(y.s)", "call lower(text)",
            "join #0: filled on the cpu (call lower(text))", NULL);
    reasons("select sum(a) from (select a from t union all select length(upper(s)) from t) q", "call upper(text)",
            "filled on the cpu (call upper(text))", NULL);
}
/* A plan that is kept keeps them, and VERBOSE says no less. */
static void test_again(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++)
        reasons(i == 2 ? "verbose select upper(s), a from t" : "select upper(s), a from t", "call upper(text)", NULL,
                NULL);
    explain("select a from t");
    assert_null(strstr(lines, "not on the device"));
}
static void test_parameters(void **state) {
    (void)state;
    char sql[16384];
    int at = snprintf(sql, sizeof sql, "select a from t where a > 0");
    for (int i = 0; i < 500; i++) at += snprintf(sql + at, sizeof sql - (size_t)at, " and a * %d <> 1", i + 2);
    reasons(sql, "its kernel would have ", NULL, NULL);
    has(sql, " parameters, more than 480");
    set("executor", "interpreted");
    reasons(sql, "too many parameters for the interpreter", NULL, NULL);
}

/* ---- the interpreter, and what follows from a segment without code (dev.c, share) ---- */
static void test_interpreter(void **state) {
    (void)state;
    set("executor", "interpreted");
    reasons("select a, generate_series(1, a % 3) from t", "rows repeated with a number", NULL, NULL);
    char sql[4096];
    int at = snprintf(sql, sizeof sql, "select a %% 7 from t group by 1 having 0");
    for (int i = 0; i < 80; i++) at += snprintf(sql + at, sizeof sql - (size_t)at, " + sum(a %% %d)", i + 2);
    snprintf(sql + at, sizeof sql - (size_t)at, " > 0");
    reasons(sql, "too many registers for the interpreter", "reads groups that segment 0 made on the cpu", NULL);
    reasons("select generate_series(1, a % 3) from t union all select a from t", "rows repeated with a number",
            "fills the same state as segment 0 on the cpu", NULL);
    reasons("select g + 1 from (select generate_series(1, a % 3) as g from t limit 5) q", "rows repeated with a number",
            "reads rows that segment 0 made on the cpu", NULL);
    reasons("select g, generate_series(1, c) from (select a % 3 as g, count(*)::int as c from t group by 1) q",
            "makes groups that segment 1 reads on the cpu", "rows repeated with a number", NULL);
    reasons("select x.a from t x join (select generate_series(1, a % 3) g from t) y on x.a = y.g",
            "rows repeated with a number", "shares a join with segment 1 on the cpu", NULL);
}

/* ---- compilation ---- */
static void test_compilation(void **state) {
    (void)state;
    plan = (FaultPlan){.only = "compile", .fail_at = 1, .sticky = true};
    const char *sql = "select a + 17 from t";
    reasons(sql, "its kernel cannot be compiled: device \"host\": compile: injected fault", NULL, NULL);
    plan = (FaultPlan){0};
    set("device_wait", "off");
    reasons("select a % 18 from t", "its kernels are being compiled", NULL, NULL);
    set("device_wait", "on");
    explain("select a % 18 from t");
    assert_null(strstr(lines, "not on the device"));
}

/* ---- faults ---- */
static void test_faults(void **state) {
    (void)state;
    plan = (FaultPlan){.only = "launch", .fail_at = 1};
    reasons("select sum(a) from t", "the device failed: device \"host\": launch: injected fault", NULL, NULL);
}

/* ---- pipelines: why a segment is none (dev_pipe.c) ---- */
static void test_pipelines(void **state) {
    (void)state;
    static const char *const sql[][2] = {
        {"select x.a from t x join t y on x.a = y.a where x.f > 3 order by x.a, y.a",
         "       not pipelined: what is sorted keeps the order of its source"},
        {"select x.a from t x join t y on x.a = y.a where x.f > 3 limit 5",
         "       not pipelined: LIMIT ends it early"},
        {"select x.a from t x join t y on x.a = y.a where x.f > 3 offset 5",
         "       not pipelined: its rows keep the order of their source"},
        {"select x.a from t x join t y on x.a = y.a where x.s || y.s <> ''",
         "       not on the device: call ||(text, text)"},
    };
    set("executor", "pipelined");
    for (int i = 0; i < (int)ARRAY_LEN(sql); i++) {
        explain(sql[i][0]);
        has(sql[i][0], sql[i][1]);
    }
}

/* ---- the model of costs ---- */
static void test_costs(void **state) {
    (void)state;
    session->device.override = NULL;
    set("executor", "auto");
    set("device", "null");
    reasons("select 1", "the cpu is estimated at ", NULL, NULL);
    has("select 1", " ms, the device at ");
    set("device", "cpu");
    explain("select 1");
    assert_null(strstr(lines, "not on the device"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_forms, begin),       cmocka_unit_test_setup(test_again, begin),
        cmocka_unit_test_setup(test_parameters, begin),  cmocka_unit_test_setup(test_interpreter, begin),
        cmocka_unit_test_setup(test_compilation, begin), cmocka_unit_test_setup(test_faults, begin),
        cmocka_unit_test_setup(test_pipelines, begin),   cmocka_unit_test_setup(test_costs, begin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
