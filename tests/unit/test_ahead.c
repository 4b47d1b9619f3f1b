/* test_ahead.c - statements that compute beside the tables (session/core/ahead.h): what others do meanwhile.
 *
 * `meddle` is a function of the client, which statements call for each row. As often as it is told, at the first rows
 * of a run, it has another connection run a statement: one that changes something, and would wait for lock_timeout and
 * fail if the first statement had the database lock.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "unit_api.h"

enum { ROWS = 60000 };
static stele_db *db;
static stele_conn *conn, *other;

static const char *meddling; /* the other connection's statement */
static const char *last;     /* ... the last time; NULL: the same */
static char refused[6];      /* SQLSTATE of its failure */
static _Atomic int left;     /* how often it still is to run */
static _Atomic int ran;
static _Atomic int64_t seen; /* rows */

static void meddle_once(void) {
    int n = atomic_load(&left);
    while (n > 0 && !atomic_compare_exchange_weak(&left, &n, n - 1)) {}
    if (n <= 0) return;
    if (stele_exec(other, n == 1 && last ? last : meddling, NULL, NULL) != STELE_OK) {
        stele_error_info e;
        stele_error(other, &e);
        snprintf(refused, sizeof refused, "%s", e.sqlstate);
    }
    atomic_fetch_add(&ran, 1);
}
static stele_status meddle(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    (void)call;
    if (n > 0 && ((const int64_t *)args[0].data)[0] == 0) meddle_once(); /* the first row: once a run */
    atomic_fetch_add(&seen, n);
    memcpy(result->data, args[0].data, (size_t)n * sizeof(int64_t));
    return STELE_OK;
}
static void arm(int times, const char *sql) {
    meddling = sql;
    last = NULL;
    *refused = 0;
    atomic_store(&ran, 0);
    atomic_store(&seen, 0);
    atomic_store(&left, times);
}
static void has_run(int times) {
    if (*refused) fail_msg("%s: %s", meddling, refused);
    assert_int_equal(atomic_load(&ran), times);
}

static int set_up(void **state) {
    (void)state;
    static const char *const bigint[] = {"bigint"};
    if (stele_open(":memory:", &(stele_options){.threads = 2}, &db, NULL) != STELE_OK) return -1;
    if (stele_connect(db, &conn) != STELE_OK || stele_connect(db, &other) != STELE_OK) return -1;
    api_ok(conn,
           stele_create_scalar(conn, &(stele_scalar){.name = "meddle",
                                                     .n_params = 1,
                                                     .param_types = bigint,
                                                     .result_type = "bigint",
                                                     .flags = STELE_FUNCTION_VOLATILE,
                                                     .call = meddle}),
           "meddle");
    api_run(conn, "set lock_timeout = 300");
    api_run(other, "set lock_timeout = 300");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    stele_disconnect(other);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}
static void tables(void) {
    api_run(conn, "drop materialized view if exists m");
    api_run(conn, "drop table if exists t, o, u");
    api_run(conn, "create table t (k bigint primary key, v bigint)");
    api_run(conn, "insert into t select i, 1 from generate_series(0, 59999) i");
    api_run(conn, "create table o (k bigint primary key, v bigint)");
    api_run(conn, "create table u (n bigint)");
}

/* Others write while it computes; what they write elsewhere does not concern it. */
static void test_beside(void **state) {
    (void)state;
    tables();
    arm(1, "insert into u values (1)");
    api_run(conn, "update t set v = v + meddle(k) * 0 + 1");
    has_run(1);
    assert_int_equal(atomic_load(&seen), ROWS);
    api_gives(conn, "select sum(v), (select count(*) from u) from t", "120000,1");
    arm(1, "insert into u values (2)");
    api_run(conn, "insert into o select k, v from t where meddle(k) >= 0");
    has_run(1);
    assert_int_equal(atomic_load(&seen), ROWS);
    api_gives(conn, "select count(*), sum(k) from o", "60000,1799970000");
    arm(1, "insert into u values (3)");
    api_run(conn, "delete from t where meddle(k) % 2 = 1");
    has_run(1);
    api_gives(conn, "select count(*), sum(k) from t", "30000,899970000");
    arm(1, "insert into u values (4)");
    api_run(conn, "merge into o using (select meddle(k) k from t) s on o.k = s.k when matched then update set v = 7");
    has_run(1);
    api_gives(conn, "select count(*) from o where v = 7", "30000");
}

/* What it has read changes: it is computed anew, and the third time under the lock. */
static void test_anew(void **state) {
    (void)state;
    tables();
    arm(1, "update t set v = v + 100 where k = 5");
    api_run(conn, "update t set v = v * 2 where meddle(k) >= 0");
    has_run(1);
    assert_int_equal(atomic_load(&seen), 2 * ROWS);
    api_gives(conn, "select v, (select sum(v) from t) from t where k = 5", "202,120200");
    arm(2, "update t set v = 0 where k = 6");
    api_run(conn, "insert into o select k, v from t where meddle(k) >= 0");
    has_run(2);
    assert_int_equal(atomic_load(&seen), 3 * ROWS);
    api_gives(conn, "select v from o where k = 6", "0");
    arm(3, "update t set v = 0 where k = 6"); /* the third time others read, and write elsewhere */
    last = "insert into u select v from t where k = 6";
    api_run(conn, "update t set v = v + 1 where meddle(k) >= 0");
    has_run(3);
    assert_int_equal(atomic_load(&seen), 3 * ROWS);
    api_gives(conn, "select v, (select sum(n) from u) from t where k = 6", "1,0");
    arm(3, "update t set v = 0 where k = 6");
    last = "begin; insert into u values (1); select sum(v) from t; commit; vacuum t"; /* does not wait */
    api_run(conn, "delete from t where meddle(k) < 0");
    has_run(3);
    assert_int_equal(atomic_load(&seen), 4 * ROWS);
    arm(3, "update t set v = 0 where k = 6");
    last = "begin; insert into u values (1); insert into t values (-1, 1); commit"; /* COMMIT waits, or its INSERT */
    api_run(conn, "create table n as select k, v from t where meddle(k) >= 0");
    assert_string_equal(refused, "55P03");
    api_run(other, "rollback");
    api_run(conn, "drop table n");
    arm(3, "update t set v = 1 where k = 6"); /* the third one waits for the statement */
    api_run(conn, "update t set v = v + 1 where meddle(k) >= 0");
    assert_int_equal(atomic_load(&ran), 3);
    assert_string_equal(refused, "55P03");
    api_gives(conn, "select v from t where k = 6", "2");
}

/* Keys, row numbers, definitions. */
static void test_other_rows(void **state) {
    (void)state;
    tables();
    arm(1, "insert into o values (7, 7)");
    api_fails(conn, "insert into o select k, v from t where meddle(k) >= 0", "23505");
    has_run(1);
    api_gives(conn, "select count(*) from o", "1");
    arm(1, "delete from t where k >= 30000; vacuum t");
    api_run(conn, "update t set v = 3 where meddle(k) >= 0");
    has_run(1);
    api_gives(conn, "select count(*), sum(v) from t", "30000,90000");
    api_run(conn, "insert into t select i, 1 from generate_series(30000, 59999) i");
    arm(1, "drop table o; create table o (v numeric, k bigint)");
    api_run(conn, "insert into o (k, v) select k, v from t where meddle(k) >= 0");
    has_run(1);
    api_gives(conn, "select sum(v), sum(k) from o", "120000,1799970000");
    arm(1, "drop table o");
    api_fails(conn, "insert into o (k, v) select k, v from t where meddle(k) >= 0", "42P01");
    has_run(1);
    arm(1, "create table w (a int)"); /* of no concern */
    api_run(conn, "update t set v = 4 where meddle(k) >= 0");
    has_run(1);
    assert_int_equal(atomic_load(&seen), ROWS);
    api_run(conn, "drop table w");
}

static void test_new_tables(void **state) {
    (void)state;
    tables();
    arm(1, "insert into u values (1)");
    api_run(conn, "create table n as select k, v from t where meddle(k) >= 0");
    has_run(1);
    assert_int_equal(atomic_load(&seen), ROWS);
    api_gives(conn, "select count(*), sum(k) from n", "60000,1799970000");
    api_run(conn, "drop table n");
    arm(1, "update t set v = 9 where k = 3");
    api_run(conn, "create table n as select k, v from t where meddle(k) >= 0");
    has_run(1);
    api_gives(conn, "select v from n where k = 3", "9");
    api_run(conn, "drop table n");
    arm(1, "create table n (a int)");
    api_fails(conn, "create table n as select k, v from t where meddle(k) >= 0", "42P07");
    has_run(1);
    api_run(conn, "drop table n");
    arm(1, "create table n (a int)");
    api_run(conn, "create table if not exists n as select k, v from t where meddle(k) >= 0");
    has_run(1);
    api_gives(conn, "select count(*) from n", "0");
    api_run(conn, "drop table n");
    api_run(conn, "create materialized view m as select k, v + 1 as w from t where k >= 0 with no data");
    api_run(conn, "refresh materialized view m");
    api_run(conn, "update t set v = 20 where k = 4");
    api_run(conn, "refresh materialized view m");
    api_gives(conn, "select count(*), max(w) from m", "60000,21");
}

/* Failing, and being cancelled, beside the tables leaves nothing. */
static void test_failing(void **state) {
    (void)state;
    tables();
    arm(1, "insert into u values (1)");
    api_fails(conn, "update t set v = 1 / (meddle(k) - 59999)", "22012");
    has_run(1);
    api_gives(conn, "select sum(v) from t", "60000");
    arm(1, "update t set v = 5 where k = 0");
    api_fails(conn, "update t set k = 1 where meddle(k) >= 0", "23505");
    api_gives(conn, "select count(distinct k), sum(v) from t", "60000,60004");
    api_run(conn, "begin");
    arm(1, "insert into u values (2)"); /* a transaction block computes under the lock */
    api_run(conn, "update t set v = v + 1 where meddle(k) >= 0");
    assert_string_equal(refused, "55P03");
    api_run(conn, "rollback");
    api_gives(conn, "select sum(v) from t", "60004");
}

/* What columns are computed anew beside the table for (storage/pieces.h): rows that others change in the same tablet,
 * snapshots that go back behind them, rows that foreign keys refuse, new strings. */
static void test_pieces(void **state) {
    (void)state;
    tables();
    arm(1, "update t set v = 100 where k = 50000");
    api_run(conn, "update t set v = v + 1 where k < 30000 and meddle(k) >= 0");
    has_run(1);
    assert_int_equal(atomic_load(&seen), 30000);
    api_gives(conn, "select sum(v), max(v) from t", "90099,100");
    api_run(other, "begin isolation level repeatable read");
    api_gives(other, "select sum(v) from t", "90099");
    api_run(conn, "update t set v = v + 1");
    api_gives(conn, "select sum(v) from t", "150099");
    api_gives(other, "select sum(v) from t", "90099");
    api_run(other, "insert into u values (1)"); /* from here on it sees the tables as they were */
    api_gives(other, "select sum(v) from t", "90099");
    api_run(conn, "delete from t where k % 2 = 1");
    api_gives(conn, "select sum(v) from t", "75099");
    api_gives(other, "select sum(v), count(*) from t", "90099,60000");
    api_fails(other, "update t set v = 7 where k = 4", "40001");
    api_run(other, "rollback");
    api_run(other, "begin isolation level repeatable read");
    api_run(other, "insert into u values (2)");
    api_run(conn, "update t set v = v + 1 where k < 30000");
    api_run(other, "update t set v = 9 where k = 50000"); /* in a tablet that has been made anew, as it was before */
    api_gives(conn, "select sum(v) from t", "90099");
    api_gives(other, "select v from t where k = 50000", "9");
    api_run(conn, "update t set v = v + 1 where k < 29000");
    api_fails(other, "commit", "40001"); /* so many rows concern everybody who has read the table */
    api_gives(conn, "select sum(v), count(*) from t", "104599,30000");
    api_run(conn, "create table m (k bigint primary key, v bigint, s text)");
    api_run(conn, "insert into m select i, 1, 'new' from generate_series(1, 120000) i");
    api_run(conn, "set snapshot = version"); /* pieces of fewer rows, too */
    arm(1, "insert into u values (3)");
    api_run(conn,
            "merge into m using (select meddle(k) + 60001 as k, v from t union all select 110000 + 2 * i, i "
            "from generate_series(1, 20001) i) s on m.k = s.k when matched and m.k % 4 = 1 then delete when matched "
            "then update set v = 5, s = null when not matched then insert values (s.k, 0, 'x')");
    has_run(1);
    api_gives(conn, "select count(*), sum(v), count(s), min(k) from m", "120001,185000,100001,1");
    api_run(conn, "reset snapshot");
    api_run(conn, "drop table m");
    api_run(conn, "create table c (r bigint references t, s text)");
    api_run(conn, "insert into c select k, 'a' || k % 10 from t");
    api_fails(conn, "update c set r = r + 1", "23503");
    api_gives(conn, "select sum(r), count(*) from c", "899970000,30000");
    api_run(conn, "update c set r = 8, s = 'b' || s");
    api_gives(conn, "select sum(r), count(distinct s), min(s) from c", "240000,5,ba0");
    api_run(conn, "update c set r = null where s = 'ba4'");
    api_gives(conn, "select count(r), count(*) from c", "24000,30000");
    api_fails(conn, "delete from t where k < 20000", "23503");
    api_gives(conn, "select count(*) from t", "30000");
    api_run(conn, "delete from c");
    api_run(conn, "delete from t where k < 20000");
    api_gives(conn, "select count(*) from t", "20000");
    api_run(conn, "drop table c");
}

/* ---- COPY FROM ---- */
static int64_t lines; /* sent */
static int64_t send(void *ctx, char *buf, int64_t size) {
    (void)ctx;
    int64_t n = 0;
    if (lines == 1000) meddle_once();
    for (; lines < 2000 && n + 32 < size && (lines != 1000 || n == 0); lines++)
        n += snprintf(buf + n, 32, "%lld\t1\n", (long long)lines);
    return n;
}
static void copy(const char *sqlstate) {
    lines = 0;
    stele_set_copy_streams(conn, send, NULL, NULL);
    if (sqlstate) api_fails(conn, "copy o from stdin", sqlstate);
    else api_run(conn, "copy o from stdin");
}
static void test_copy(void **state) {
    (void)state;
    tables();
    arm(1, "insert into o values (5000, 2)");
    copy(NULL);
    has_run(1);
    api_gives(conn, "select count(*), sum(k) from o", "2001,2004000");
    api_run(conn, "delete from o");
    arm(1, "insert into o values (50, 2)");
    copy("23505");
    has_run(1);
    api_gives(conn, "select count(*) from o", "1");
    arm(1, "alter table o add column w int");
    copy("40001");
    has_run(1);
    api_run(conn, "alter table o drop column w");
    arm(1, "drop table o");
    copy("40001");
    has_run(1);
    api_run(conn, "create table o (k bigint primary key, v bigint)");
    arm(1, "drop table o; create table o (k bigint, v bigint); insert into o values (1, 1)");
    copy("40001");
    has_run(1);
    api_gives(conn, "select count(*) from o", "1");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside),     cmocka_unit_test(test_anew),
                                       cmocka_unit_test(test_other_rows), cmocka_unit_test(test_new_tables),
                                       cmocka_unit_test(test_failing),    cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_copy)};
    return cmocka_run_group_tests_name("ahead", tests, set_up, tear_down);
}
