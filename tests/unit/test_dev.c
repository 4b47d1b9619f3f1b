/* test_dev.c - queries on a device: the answers of the virtual machine in every mode, restarts, faults at every call,
 * cancellation.
 *
 * The device is the host's own compiler behind the fault wrapper; told not to share memory, it goes through all the
 * copies that a GPU would. The rule for faults: an error with the right SQLSTATE or the right answer, and nothing leaks
 * (the accounts and ASan tell).
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "unit_device.h"

static const char *const queries[] = {
    "select count(*), sum(b), min(a), max(d), max(f) from t",
    "select a, b, s, d, n from t where a < 40",
    "select s, count(*), sum(b), count(n), min(d) from t group by s order by s",
    "select a % 1000, count(*), sum(b) from t group by 1 order by 2 desc, 1 limit 20",
    "select t.a, u.n, u.s from t join u on t.a = u.k where t.b > 100 order by t.a, u.n",
    "select t.a, u.n from t left join u on t.a = u.k and u.n > 'n3' where t.a < 60 order by 1, 2",
    "select t.a from t where not exists (select 1 from u where u.k = t.a) and a < 500 order by 1",
    "select u.k, x.c from u full join (select a, count(*) c from t where a between 90 and 110 group by a) x on x.a = "
    "u.k order by 1, 2",
    "select n from t where n like '%7%' and a < 300 union all select n from u where k < 5",
    "select a, n from t order by n desc, a limit 7 offset 3",
    "select distinct n from u order by n",
    "select x.a from t x, t y where x.a = y.a + 1 and y.b < 50 order by 1",
};
enum { N_QUERIES = (int)(sizeof queries / sizeof *queries) };
static Answer expected[N_QUERIES];

static int setup(void **state) {
    (void)state;
    device_database_open();
    run("create table t(a int, b numeric(10,2), s text, d date, n text, f double precision)");
    run("insert into t select g, (g % 500) * 1.5, 'name' || (g % 7), date '2020-01-01' + (g % 100)::int, case when g "
        "% 11 = 0 then null else 'n' || (g * 7919 % 100003) end, g / 7.0 "
        "from generate_series(1, 3000) g");
    run("create table u(k int, n text, s text)");
    run("insert into u select g % 120, 'n' || g, case when g % 3 = 0 then null else 's' || (g % 4) end from "
        "generate_series(1, 400) g");
    run("insert into u values (null, 'none', null)");
    run("delete from t where a % 50 = 49");
    run("vacuum t");
    run("delete from t where a % 100 = 13");
    run("insert into t values (5001, 1.5, 'name1', '2020-03-03', 'late', 0.5), (5002, null, null, null, '', null)");
    for (int i = 0; i < N_QUERIES; i++) {
        if (answer(queries[i], &expected[i]) != ST_OK) fail_msg("%s: %s", queries[i], session->err.message);
        assert_true(expected[i].rows > 0);
    }
    device_open(NULL, -1);
    set("executor", "compiled");
    set("device_wait", "on");
    set("device_strict", "on");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

static void all_queries(const char *how) {
    for (int i = 0; i < N_QUERIES; i++) {
        Answer a;
        if (answer(queries[i], &a) != ST_OK)
            fail_msg("%s, %s: %s %s %s", how, queries[i], session->err.sqlstate, session->err.message,
                     session->err.detail);
        if (a.rows != expected[i].rows || a.hash != expected[i].hash)
            fail_msg("%s, %s: %lld rows, expected %lld; hashes %s", how, queries[i], (long long)a.rows,
                     (long long)expected[i].rows, a.hash == expected[i].hash ? "agree" : "differ");
    }
}

static void test_answers(void **state) {
    (void)state;
    for (int shares = 0; shares < 2; shares++) {
        device_use(shares);
        all_queries("cold");
        all_queries("hot");
        device_done();
    }
}

static void test_residence(void **state) {
    (void)state;
    static const char *const modes[] = {"cached", "serial", "streamed", "mapped"};
    for (int i = 0; i < 4; i++) {
        if (i == 3 && !device->info.can_map) continue;
        device_use(false);
        set("device_residence", modes[i]);
        all_queries(modes[i]);
        device_done();
    }
    set("device_residence", "auto");
}

/* More pieces than the ring has slots, twice in a join; strings stay whole. */
static void test_streamed(void **state) {
    (void)state;
    static const char *const sql[] = {
        "select count(*), sum(a), sum(b), min(d) from big where a % 3 = 0",
        "select x.s, count(*), sum(y.b) from big x join big y on x.a = y.a where y.b < 700 and x.s <> 's5' group by "
        "x.s order by x.s",
        "select a, s from big where b = 77 order by a limit 50",
    };
    set("executor", "vm");
    run("create table big(a int, b int, d date, s text)");
    run("insert into big select g, g * 31 % 1000, date '2000-01-01' + (g % 3000)::int, 's' || (g * 7 % 250007) from "
        "generate_series(1, 800000) g");
    run("vacuum big");
    Answer want[3], got;
    for (int i = 0; i < 3; i++) assert_int_equal(answer(sql[i], &want[i]), ST_OK);
    set("executor", "compiled");
    set("device_residence", "streamed");
    set("device_memory_limit", "64MB"); /* pieces of at most 4 MB: a tablet or two */
    for (int i = 0; i < 3; i++) {
        device_use(false);
        for (int again = 0; again < 2; again++) {
            if (answer(sql[i], &got) != ST_OK) fail_msg("%s: %s %s", sql[i], session->err.message, session->err.detail);
            if (got.rows != want[i].rows || got.hash != want[i].hash) fail_msg("%s: wrong", sql[i]);
        }
        device_done();
    }
    set("device_residence", "auto");
    set("device_memory_limit", "0");
    run("drop table big");
}

/* Every sink overflows: the segment starts again with enough room. */
static void test_restarts(void **state) {
    (void)state;
    static const char *const rows[] = {"1", "7", "64"};
    for (int i = 0; i < 3; i++) {
        device_use(i % 2 == 0);
        set("device_initial_rows", rows[i]);
        all_queries(rows[i]);
        device_done();
    }
    set("device_initial_rows", "0");
}

/* Data changes between runs: cached columns follow. */
static void test_changes(void **state) {
    (void)state;
    device_use(false);
    for (int i = 0; i < 7; i++) {
        static const char *const changes[] = {"insert into w values (7, 'seven')",
                                              "update w set n = 'changed' where k = 7",
                                              "delete from w where k = 3",
                                              "vacuum w",
                                              "insert into w select g, 'x' || g from generate_series(10, 300) g",
                                              "truncate w"};
        set("executor", "vm");
        if (i == 0) {
            run("create table w(k int, n text)");
            run("insert into w select g, 'w' || g from generate_series(1, 5) g");
        } else {
            run(changes[i - 1]);
        }
        Answer on, off;
        assert_int_equal(answer("select k, n from w order by k, n", &off), ST_OK);
        set("executor", "compiled");
        for (int again = 0; again < 2; again++) {
            if (answer("select k, n from w order by k, n", &on) != ST_OK) fail_msg("%s", session->err.message);
            assert_int_equal(on.rows, off.rows);
            assert_true(on.hash == off.hash);
        }
    }
    run("drop table w");
    device_done();
}

/* The n-th call of the device fails, once: with device_strict an error of the device or the answer, without it always
 * the answer. */
static void faults(bool strict, bool shares, int first, int step, const char *rows) {
    set("device_strict", strict ? "on" : "off");
    set("device_initial_rows", rows);
    for (int i = first; i < N_QUERIES; i += step) {
        int64_t n = 1, failed = 0;
        for (;; n++) {
            device_use(shares);
            atomic_store(&plan.calls, 0);
            plan.fail_at = n;
            Answer a;
            Status st = answer(queries[i], &a);
            bool over = atomic_load(&plan.calls) < n;
            if (st == ST_OK) {
                if (a.rows != expected[i].rows || a.hash != expected[i].hash)
                    fail_msg("%s: wrong after a fault at call %lld", queries[i], (long long)n);
            } else {
                failed++;
                if (!strict || (strcmp(session->err.sqlstate, ERR_SYSTEM) != 0 &&
                                strcmp(session->err.sqlstate, ERR_OUT_OF_MEMORY) != 0))
                    fail_msg("%s: call %lld: %s %s", queries[i], (long long)n, session->err.sqlstate,
                             session->err.message);
            }
            device_done();
            if (over) break;
        }
        assert_true(n > 5);
        assert_true(strict == (failed > 0));
    }
    set("device_strict", "on");
    set("device_initial_rows", "0");
}
static void test_faults_strict(void **state) {
    (void)state;
    faults(true, false, 0, 1, "0");
}
static void test_faults_restarts(void **state) {
    (void)state;
    faults(true, true, 1, 3, "5");
}
static void test_faults_fall_back(void **state) {
    (void)state;
    faults(false, false, 0, 3, "0");
}

/* The host's allocations fail one by one. */
static void test_host_memory(void **state) {
    (void)state;
    for (int i = 1; i < N_QUERIES; i += 4) {
        for (int64_t n = 1;; n += 3) {
            device_use(n % 2 == 0);
            Answer a;
            mem_fail_at(n);
            Status st = answer(queries[i], &a);
            bool over = fail_left > 0;
            if (st != ST_OK) {
                if (strcmp(session->err.sqlstate, ERR_OUT_OF_MEMORY) != 0)
                    fail_msg("%s: allocation %lld: %s %s", queries[i], (long long)n, session->err.sqlstate,
                             session->err.message);
            } else if (a.rows != expected[i].rows || a.hash != expected[i].hash) {
                fail_msg("%s: wrong after allocation %lld failed", queries[i], (long long)n);
            }
            device_done();
            if (over) break;
        }
    }
}

/* Device memory that is too small: clean, and right where it fits. */
static void test_limit(void **state) {
    (void)state;
    for (int64_t limit = 64 << 10; limit <= 64 << 20; limit *= 4) {
        device_use(false);
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        set("device_memory_limit", text);
        for (int i = 0; i < N_QUERIES; i++) {
            Answer a;
            if (answer(queries[i], &a) != ST_OK) {
                assert_string_equal(session->err.sqlstate, ERR_OUT_OF_MEMORY);
                continue;
            }
            assert_int_equal(a.rows, expected[i].rows);
            assert_true(a.hash == expected[i].hash);
        }
        device_done();
    }
    set("device_memory_limit", "0");
}

/* Data errors are the virtual machine's. */
static void test_errors(void **state) {
    (void)state;
    device_use(false);
    Answer a;
    assert_int_equal(answer("select sum(1 / (a - 20)) from t", &a), ST_ERROR);
    assert_string_equal(session->err.sqlstate, "22012");
    assert_int_equal(answer("select a from t where (select n from u where k = t.a % 2 + 1) is null", &a), ST_ERROR);
    assert_string_equal(session->err.sqlstate, "21000");
    assert_int_equal(answer("select upper(n) from t order by 1", &a), ST_ERROR);
    assert_string_equal(session->err.sqlstate, ERR_FEATURE_NOT_SUPPORTED);
    assert_non_null(strstr(session->err.message, "cannot run on device"));
    device_done();
}

/* Segments on both sides. */
static void test_mixed(void **state) {
    (void)state;
    static const char *const sql[] = {
        "select upper(n), count(*) from t group by 1 order by 2 desc, 1 limit 10",
        "select lower(x.n) from (select n, a from t where a < 50 order by a limit 20) x order by 1",
        "select u.k, upper(t.s) from t join u on t.a = u.k where t.a < 30 order by 1, 2",
        "select upper(s), sum(c) from (select s, a % 3 m, count(*) c from t group by 1, 2) x group by 1 order by 1",
    };
    set("device_strict", "off");
    for (int i = 0; i < 4; i++) {
        Answer on, off;
        set("executor", "vm");
        if (answer(sql[i], &off) != ST_OK) fail_msg("%s: %s", sql[i], session->err.message);
        set("executor", "compiled");
        device_use(false);
        if (answer(sql[i], &on) != ST_OK) fail_msg("%s: %s", sql[i], session->err.message);
        if (on.rows != off.rows || on.hash != off.hash)
            fail_msg("%s: %lld rows, expected %lld", sql[i], (long long)on.rows, (long long)off.rows);
        device_done();
    }
    set("device_strict", "on");
}

static void test_cancel(void **state) {
    (void)state;
    device_use(true);
    run("select count(*) from generate_series(1, 10) x, generate_series(1, 10) y where x.x + y.y > 100");
    set("statement_timeout", "300ms");
    Answer a;
    int64_t start = clock_ns();
    assert_int_equal(
        answer(
            "select count(*) from generate_series(1, 10000000) x, generate_series(1, 10000000) y where x.x + y.y > 100",
            &a),
        ST_ERROR);
    assert_string_equal(session->err.sqlstate, ERR_QUERY_CANCELED);
    assert_true(clock_ns() - start < INT64_C(300000000000)); /* all of it takes hours */
    set("statement_timeout", "0");
    device_done();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),         cmocka_unit_test(test_residence),
        cmocka_unit_test(test_streamed),        cmocka_unit_test(test_restarts),
        cmocka_unit_test(test_changes),         cmocka_unit_test(test_errors),
        cmocka_unit_test(test_mixed),           cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cancel),          cmocka_unit_test(test_faults_strict),
        cmocka_unit_test(test_faults_restarts), cmocka_unit_test(test_faults_fall_back),
        cmocka_unit_test(test_host_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
