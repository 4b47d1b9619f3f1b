/* test_explain.c - EXPLAIN ANALYZE says how many rows of packed and of open tablets a segment has read. */
#include "unit_device.h"

static void has(const char *sql, const char *want) {
    explain(sql);
    if (!strstr(lines, want)) fail_msg("%.200s: no \"%s\" in\n%.4000s", sql, want, strstr(lines, "Segments:"));
}

static int setup(void **state) {
    (void)state;
    device_session_open();
    set("executor", "vm");
    set("auto_merge", "off");
    run("create table packed(a int)");
    run("insert into packed select g from generate_series(1, 100) g");
    run("vacuum packed");
    run("create table open(a int)");
    run("insert into open values (1), (2)");
    run("create table both_forms(a int, b int)");
    run("insert into both_forms select g, g % 7 from generate_series(1, 100) g");
    run("vacuum both_forms");
    run("insert into both_forms values (101, 1), (102, 2), (103, 3), (104, 4)");
    run("create table empty(a int)");
    set("device_wait", "on");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

static void counts(void) {
    has("select sum(a) from packed", "rows in 100 (100 packed, 0 patched, 0 open), out ");
    has("select sum(a) from open", "rows in 2 (0 packed, 0 patched, 2 open), out ");
    has("select sum(a) from both_forms", "rows in 104 (100 packed, 0 patched, 4 open), out ");
    /* the packed tablet is skipped */
    has("select sum(b) from both_forms where a > 100", "rows in 4 (0 packed, 0 patched, 4 open), out ");
    has("select sum(b) from both_forms where a > 100", "1 tablets skipped");
    has("select sum(a) from empty", "rows in 0 (0 packed, 0 patched, 0 open), out ");
    /* each segment has its own, and what is no table has none */
    has("select x.a, sum(y.b) from packed x join both_forms y on x.a = y.a group by x.a",
        "rows in 100 (100 packed, 0 patched, 0");
    has("select x.a, sum(y.b) from packed x join both_forms y on x.a = y.a group by x.a",
        "rows in 104 (100 packed, 0 patched, 4");
    has("select count(*), sum(g) from generate_series(1, 50) g", "rows in 50, out ");
}

static void test_vm(void **state) {
    (void)state;
    session->device.override = NULL;
    set("executor", "vm");
    counts();
    set("vector_size", "3");
    set("morsel_rows", "7");
    counts();
}

static void test_device(void **state) {
    (void)state;
    static const char *const executors[] = {"compiled", "pipelined"};
    set("device", "auto");
    for (int i = 0; i < (int)ARRAY_LEN(executors); i++) {
        set("executor", executors[i]);
        for (int k = 0; k < 2; k++) {
            device_use(k > 0); /* with the host's memory */
            counts();
            has("select sum(b) from both_forms where a > 100", i ? "[pipelined, " : "[compiled, ");
            device_done();
        }
    }
}

/* Deleted rows are read until the table is merged. */
static void test_changes(void **state) {
    (void)state;
    session->device.override = NULL;
    set("executor", "vm");
    run("create table t(a int)");
    run("insert into t select g from generate_series(1, 10) g");
    run("vacuum t");
    run("delete from t where a <= 2");
    run("update t set a = a + 100 where a = 3");
    has("select sum(a) from t", "rows in 10 (0 packed, 10 patched, 0 open), out ");
    run("vacuum t");
    has("select sum(a) from t", "rows in 8 (8 packed, 0 patched, 0 open), out ");
    run("drop table t");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vm),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_changes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
