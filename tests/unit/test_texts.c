/* test_texts.c - changes of a table and the kernels of queries on it: a text that exists serves on. Compilations are
 * counted. */
#include "unit_device.h"

static int setup(void **state) {
    (void)state;
    device_session_open();
    set("executor", "vm");
    run("create table t(id int primary key, a int, b int, s text)");
    run("insert into t select g, g % 1000, g * 7 % 1003, 'n' || g % 50 from generate_series(1, 300000) g");
    run("vacuum t");
    run("create table u(k int, v int)");
    run("insert into u select g, g from generate_series(1, 20000) g");
    set("device_wait", "on");
    set("device_strict", "on");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

static const char *const queries[] = {
    "select (sum(a) + sum(b))::bigint from t",
    "select sum(c)::bigint from (select s, count(*) * min(id) as c from t group by s) q",
    "select sum(b)::bigint from t where a < 30 and b > 500",
    "select sum(b)::bigint from t where a + b < 300",
    "select sum(t.b + u.v)::bigint from t join u on t.id = u.k",
    "select sum(id)::bigint from (select id from t order by b, id limit 100) q",
};
static void all_right(const char *executor) {
    for (int i = 0; i < (int)ARRAY_LEN(queries); i++) {
        set("executor", "vm");
        int64_t want = number(queries[i]);
        set("executor", executor);
        if (number(queries[i]) != want) fail_msg("%s: wrong", queries[i]);
    }
}
static int64_t compilations(void) { return atomic_load(&plan.calls); }

/* A deleted row, one run of deleted rows, and a tablet of which hardly anything is left. */
static void test_delete(void **state) {
    (void)state;
    static const char *const deletes[] = {"delete from t where id = 150000",
                                          "delete from t where id between 40000 and 40200",
                                          "delete from t where id < 60000 and id % 97 <> 0"};
    static const char *const executors[] = {"compiled", "kernel", "pipelined"};
    plan = (FaultPlan){.only = "compile"};
    for (int k = 0; k < (int)ARRAY_LEN(executors); k++) {
        run("begin");
        all_right(executors[k]);
        int64_t before = compilations();
        for (int i = 0; i < (int)ARRAY_LEN(deletes); i++) {
            set("executor", "vm");
            run(deletes[i]);
            all_right(executors[k]);
            if (compilations() != before)
                fail_msg("%s, %s: %lld kernels were compiled anew", executors[k], deletes[i],
                         (long long)(compilations() - before));
        }
        run("rollback");
    }
}

/* Known: the first row in the delta brings a form of columns (plain, with validity) that the texts do not have. See
 * src/codegen/README.md, Changes of tables. */
static void test_insert(void **state) {
    (void)state;
    plan = (FaultPlan){.only = "compile"};
    run("begin");
    all_right("compiled");
    int64_t before = compilations();
    set("executor", "vm");
    run("insert into t values (900001, 5, 5, 'n5')");
    all_right("compiled");
    int64_t anew = compilations() - before;
    run("rollback");
    if (anew > 0) {
        print_message("known: the first INSERT has %lld kernels compiled anew\n", (long long)anew);
        skip();
    }
}

/* The range of a grouped key grows with each INSERT, its text only at some of them: eight times while it doubles. */
static void test_growing_groups(void **state) {
    (void)state;
    enum { INSERTS = 30, MOST = 9 };
    static const char *const query = "select sum(n)::bigint from (select k, count(*) as n from growing group by k) q";
    char sql[160];
    run("create table growing(k int)");
    run("insert into growing select g % 3000 from generate_series(1, 30000) g");
    plan = (FaultPlan){.only = "compile"};
    int64_t before = 0;
    for (int i = 0; i <= INSERTS; i++) {
        set("executor", "vm");
        snprintf(sql, sizeof sql, "insert into growing select g from generate_series(%d, %d) g", 3000 + 100 * i,
                 3099 + 100 * i);
        run(sql);
        set("executor", "compiled");
        if (number(query) != 30000 + 100 * (i + 1)) fail_msg("wrong behind %d inserts", i + 1);
        if (i == 0) before = compilations();
    }
    if (compilations() - before > MOST)
        fail_msg("%lld kernels were compiled for %d inserts", (long long)(compilations() - before), INSERTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_delete), cmocka_unit_test(test_insert),
                                       cmocka_unit_test(test_growing_groups)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
