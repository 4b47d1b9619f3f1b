/* test_pipe.c - pipelines: the answers of the virtual machine whatever their set-up, errors and cancellation in the
 * middle, faults at every call.
 *
 * The device is the host's own compiler behind the fault wrapper, so that ASan sees the kernels' groups at work where
 * it checks the library. Channels are made so small that every kernel waits for its neighbours; a call that fails
 * leaves kernels behind that wait for others which never come, and they must end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "unit_device.h"

/* Filters, probes and expressions in a row; many matches; rows as a sink; groups; a join as a sink. */
static const char *const queries[] = {
    "select sum(u.v * t.c), count(*) from big t join u on t.b = u.k where t.a % 3 <> 0",
    "select t.s, count(*), sum(x.v), min(y.v) from t join u x on t.b = x.k join u y on t.c = y.k where t.a > 40 and "
    "x.v > 5 group by t.s order by t.s",
    "select count(*), sum(o.a) from t join t o on t.c = o.c where t.a < 900 and o.a > 7",
    "select t.a, u.n from t left join u on t.b = u.k and u.v > 10 where t.c < 9 order by 1, 2",
    "select count(*) from t where not exists (select 1 from u where u.k = t.b and u.v + t.c > 30)",
};
enum { N_QUERIES = (int)(sizeof queries / sizeof *queries) };
static Answer expected[N_QUERIES];

typedef struct Setup {
    const char *in_turn, *tile, *channels, *packet, *ring, *groups;
} Setup;
static const Setup setups[] = {
    {"off", "0", "0", "0", "0", "0"},    /* by the model */
    {"off", "0", "1", "1", "1", "1"},    /* everybody waits for everybody */
    {"off", "8192", "2", "3", "2", "2"}, /* rounds, and more sub-channels than groups might like */
    {"off", "0", "16", "100", "1", "1"}, /* more sub-channels than groups */
    {"on", "0", "0", "0", "0", "0"},     {"on", "8192", "4", "7", "1", "2"},
};

static void set_up(const Setup *s) {
    set("pipelined_concurrency", strcmp(s->in_turn, "on") == 0 ? "off" : "on");
    set("pipelined_tile_rows", s->tile);
    set("pipelined_channels", s->channels);
    set("pipelined_packet_rows", s->packet);
    set("pipelined_ring", s->ring);
    set("pipelined_groups", s->groups);
}

static int setup(void **state) {
    (void)state;
    device_database_open();
    run("create table t(a int, b int, c int, s text)");
    run("insert into t select g, g % 37, g * 7 % 101, 'name' || (g % 5) from generate_series(1, 5000) g");
    run("create table big(a int, b int, c int)");
    run("insert into big select g, g % 37, g * 7 % 101 from generate_series(1, 10000) g");
    run("create table u(k int, v int, n text)");
    run("insert into u select g % 60, g % 23, 'n' || (g % 11) from generate_series(1, 150) g");
    run("vacuum t");
    run("delete from t where a % 100 = 13");
    for (int i = 0; i < N_QUERIES; i++) {
        if (answer(queries[i], &expected[i]) != ST_OK) fail_msg("%s: %s", queries[i], session->err.message);
        assert_true(expected[i].rows > 0);
    }
    device_open(NULL, -1);
    set("executor", "pipelined");
    set("device_wait", "on");
    set("device_strict", "on");
    set("statement_timeout", "10min"); /* a pipeline that hangs is a failure, not a test that never ends */
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

static void test_answers(void **state) {
    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(setups); i++) {
        device_use(i % 2 == 0);
        set_up(&setups[i]);
        for (int k = 0; k < N_QUERIES; k++)
            for (int again = 0; again < 2; again++) {
                Answer a;
                if (answer(queries[k], &a) != ST_OK)
                    fail_msg("set-up %d, %s: %s %s %s", i, queries[k], session->err.sqlstate, session->err.message,
                             session->err.detail);
                if (a.rows != expected[k].rows || a.hash != expected[k].hash)
                    fail_msg("set-up %d, %s: wrong, %lld rows", i, queries[k], (long long)a.rows);
            }
        device_done();
    }
}

/* EXPLAIN ANALYZE tells what ran, and the model's error. */
static void test_told(void **state) {
    (void)state;
    device_use(true);
    set_up(&setups[2]);
    Statement *st;
    int64_t used;
    char text[8192] = "", sql[512];
    snprintf(sql, sizeof sql, "explain analyze %s", queries[0]);
    assert_int_equal(statement_prepare(session, slice_of(sql), &st, &used), ST_OK);
    assert_int_equal(statement_run(st), ST_OK);
    for (int64_t i = 0; i < st->n_rows; i++) {
        strncat(text, st->text_rows[i][0], sizeof text - strlen(text) - 2);
        strcat(text, "\n");
    }
    statement_free(st);
    if (!strstr(text, "pipeline of ") || !strstr(text, "2 channels") || !strstr(text, "packets of 3 rows"))
        fail_msg("%s", text);
    device_done();
}

/* Data errors end all kernels of the pipeline. */
static void test_errors(void **state) {
    (void)state;
    device_use(false);
    Answer a;
    for (int i = 0; i < (int)ARRAY_LEN(setups); i++) {
        set_up(&setups[i]);
        assert_int_equal(answer("select sum(1000 / (u.v + t.a - 3000)) from t join u on t.b = u.k where t.a > 5", &a),
                         ST_ERROR);
        assert_string_equal(session->err.sqlstate, "22012");
        assert_int_equal(answer("select sum(u.v) from t join u on t.b / (t.a - 300) = u.k", &a),
                         ST_ERROR); /* the first kernel of all */
        assert_string_equal(session->err.sqlstate, "22012");
    }
    device_done();
}

static void test_cancel(void **state) {
    (void)state;
    device_use(true);
    static const char sql[] = "select count(*), sum(x.a * y.a % 7 + z.a) from big x join big y on x.c = y.c join big z "
                              "on y.b = z.b where x.a > 1";
    set("statement_timeout", "300ms");
    for (int i = 0; i < (int)ARRAY_LEN(setups); i++) {
        set_up(&setups[i]);
        Answer a;
        int64_t start = clock_ns();
        if (i == 0)
            (void)answer("select count(*) from t join u on t.b = u.k", &a); /* compiles something, may take longer */
        start = clock_ns();
        assert_int_equal(answer(sql, &a), ST_ERROR);
        assert_string_equal(session->err.sqlstate, ERR_QUERY_CANCELED);
        if (clock_ns() - start > INT64_C(300000000000))
            fail_msg("set-up %d took %lld ms to cancel", i, (long long)((clock_ns() - start) / 1000000));
    }
    set("statement_timeout", "10min");
    device_done();
}

/* The n-th call of the device fails, once or for good: an error of the device or the answer, without device_strict the
 * answer. */
static void faults(const char *sql, const Answer *want, const Setup *s, bool strict, bool sticky) {
    set("device_strict", strict ? "on" : "off");
    set_up(s);
    int64_t failed = 0;
    for (int64_t n = 1;; n++) {
        device_use(n % 2 == 0);
        atomic_store(&plan.calls, 0);
        plan.sticky = sticky;
        plan.fail_at = n;
        Answer a;
        Status st = answer(sql, &a);
        bool over = atomic_load(&plan.calls) < n;
        plan.fail_at = 0;
        plan.sticky = false;
        if (st == ST_OK) {
            if (a.rows != want->rows || a.hash != want->hash)
                fail_msg("%s: wrong after a fault at call %lld", sql, (long long)n);
        } else {
            failed++;
            if (!strict || (strcmp(session->err.sqlstate, ERR_SYSTEM) != 0 &&
                            strcmp(session->err.sqlstate, ERR_OUT_OF_MEMORY) != 0 &&
                            strcmp(session->err.sqlstate, ERR_FEATURE_NOT_SUPPORTED) != 0))
                fail_msg("%s: call %lld: %s %s", sql, (long long)n, session->err.sqlstate, session->err.message);
        }
        device_done();
        if (over) break;
        assert_true(n < 2000);
    }
    assert_true(strict == (failed > 0));
    set("device_strict", "on");
}
static void test_faults(void **state) {
    (void)state;
    faults(queries[0], &expected[0], &setups[1], true, false);
    faults(queries[1], &expected[1], &setups[2], true, false);
    faults(queries[2], &expected[2], &setups[5], true, false);
}
static void test_faults_sticky(void **state) {
    (void)state;
    faults(queries[1], &expected[1], &setups[1], true, true);
}
static void test_faults_fall_back(void **state) {
    (void)state;
    faults(queries[0], &expected[0], &setups[2], false, false);
}

static void test_host_memory(void **state) {
    (void)state;
    set_up(&setups[2]);
    for (int64_t n = 1;; n += 3) {
        device_use(n % 2 == 0);
        Answer a;
        mem_fail_at(n);
        Status st = answer(queries[1], &a);
        bool over = fail_left > 0;
        if (st != ST_OK) assert_string_equal(session->err.sqlstate, ERR_OUT_OF_MEMORY);
        else if (a.rows != expected[1].rows || a.hash != expected[1].hash)
            fail_msg("wrong after allocation %lld failed", (long long)n);
        device_done();
        if (over) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),          cmocka_unit_test(test_told),
        cmocka_unit_test(test_errors),           cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_faults),           cmocka_unit_test(test_faults_sticky),
        cmocka_unit_test(test_faults_fall_back), cmocka_unit_test(test_host_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
