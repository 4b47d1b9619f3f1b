/* test_calibrate_bulk.c - Algorithm 1's thresholds: measured with small bulks, and used by bulks of sessions when the
 * profile has them. */
#include "session/pool/calibrate_bulk.h"
#include "session/pool/bulk.h"
#include "unit_session.h"

#include <stdlib.h>
#include <unistd.h>

static void measured(void **state) {
    (void)state;
    Database *db;
    Session *s;
    session_open(&db, &s);
    BulkMeasured m = {0};
    assert_int_equal(session_calibrate_bulks(s, NULL, true, &m), ST_OK);
    assert_true(m.set_min >= 2 && m.set_min <= 128);
    assert_true(m.groups == 0); /* the virtual machine needs all calls of a procedure together */
    assert_int_equal(session_calibrate_bulks(s, "cpu", true, &m), ST_OK);
    if (m.set_min != 0 || m.groups != 0) { /* there is a compiler */
        assert_true(m.set_min >= 2 && m.set_min <= 128);
        assert_true(m.groups == 1 || m.groups == 2 || m.groups == 4 || m.groups == 8 || m.groups == BULK_GROUPS_ALL);
    }
    assert_int_equal(session_calibrate_bulks(s, "opencl:99", true, &m), ST_ERROR);
    session_sql(s, "SET threads = 1");
    assert_int_equal(session_calibrate_bulks(s, NULL, true, &m), ST_OK);
    assert_true(m.set_min == 0); /* it never shares work */
    session_close(db, s);
}

/* 2048 calls in 8 sets: what strategy auto makes of them with such a profile. */
static Strategy chosen(const char *set_min) {
    enum { N = 2048, ROWS = 256 };
    const char *tmp = getenv("TMPDIR");
    char dir[200], path[220];
    snprintf(dir, sizeof dir, "%s/stele-calibrate-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/profile", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "version = 1\n[cpu]\nthreads = 2\nbulk_set_min = %s\n", set_min);
    fclose(f);
    setenv("STELE_PROFILE", path, 1);
    Database *db;
    Session *s;
    session_open(&db, &s);
    session_sql(s,
                "CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL); INSERT INTO t SELECT i, i FROM "
                "generate_series(0, 255) AS g(i);"
                "CREATE PROCEDURE p(k int) LANGUAGE plpgsql AS $$ BEGIN UPDATE t SET v = 1 - v WHERE id = k; END $$");
    const Routine *r;
    assert_int_equal(session_bulk_routine(s, slice_of("p"), &r), ST_OK);
    static int32_t keys[N];
    for (int i = 0; i < N; i++) keys[i] = i % ROWS;
    Vec key = {.data = keys, .phys = PH_I32, .type = type_make(T_INT4)};
    BulkCalls calls = {.routine = r, .n = N, .params = &key};
    BulkResult *result = NULL;
    Status st = session_bulk_run(s, 1, &calls, NULL, &result);
    assert_int_equal(session_end_statement(s, st), ST_OK);
    assert_int_equal(result->stats.depth, N / ROWS);
    Strategy strategy = result->stats.strategy;
    bulk_result_free(result);
    session_close(db, s);
    unsetenv("STELE_PROFILE");
    remove(path);
    rmdir(dir);
    return strategy;
}
static void used(void **state) {
    (void)state;
    assert_int_equal(chosen("200"), STRATEGY_KSET);
    assert_int_equal(chosen("300"), STRATEGY_PART);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured), cmocka_unit_test(used)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
