/* test_commit.c - commits in two phases: taking effect, and being on the disk; by the library and by SQL. */
#include <pthread.h>

#include "api/api_int.h"
#include "types/lsn.h"
#include "unit.h"
#include "unit_api.h"
#include "unit_disk.h"

static stele_db *open_on(Disk *d, bool durable) {
    const stele_options o = {.threads = 1, .durable = durable};
    stele_error_info e;
    stele_db *db;
    if (api_open("/db", &o, &d->vfs, &db, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
    return db;
}
static stele_conn *connect_to(stele_db *db) {
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    return c;
}
static void wait_fails(stele_db *db, int64_t lsn, const char *sqlstate) {
    stele_error_info e;
    assert_int_equal(stele_wait_stable(db, lsn, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, sqlstate);
}
static void close_all(stele_conn *c, stele_db *db) {
    stele_disconnect(c);
    assert_int_equal(stele_discard(db), STELE_OK);
}

/* While the disk is full nothing is written, so that what is stable does not depend on when it is asked. */
static void two_phases(void **state) {
    (void)state;
    Disk *d = disk_new(1);
    stele_db *db = open_on(d, true);
    stele_conn *c = connect_to(db);
    assert_int_equal(stele_commit_lsn(c), 0);
    assert_true(stele_is_stable(db, 0));
    api_run(c, "create table t (a int)");
    const int64_t made = stele_commit_lsn(c);
    assert_true(made > 0 && stele_is_stable(db, made));
    assert_int_equal(stele_log_lsn(db), made);

    d->full = true;
    stele_set_commit_wait(c, false);
    api_run(c, "insert into t values (1)");
    const int64_t lsn = stele_commit_lsn(c);
    assert_true(lsn > made && !stele_is_stable(db, lsn) && stele_is_stable(db, made));
    api_gives(c, "select a from t", "1");
    assert_int_equal(stele_commit_lsn(c), lsn);
    wait_fails(db, lsn, "53100");
    d->full = false;
    assert_int_equal(stele_wait_stable(db, lsn, NULL), STELE_OK);
    assert_true(stele_is_stable(db, lsn));
    wait_fails(db, lsn + 1, "22023");
    api_gives(c, "select count(*) from stele_log where failure is null and last_error like '53100%'", "1");

    Disk *left = disk_after_cut(d);
    close_all(c, db);
    db = open_on(left, true);
    c = connect_to(db);
    api_gives(c, "select a from t", "1");
    close_all(c, db);
    disk_free(left);
    disk_free(d);
}

static void by_sql(void **state) {
    (void)state;
    char sql[200], text[LSN_TEXT_MAX + 1] = {0};
    Disk *d = disk_new(2);
    stele_db *db = open_on(d, true);
    stele_conn *c = connect_to(db);
    api_run(c, "create table t (a int); set synchronous_commit = off; insert into t values (1)");
    (void)lsn_format(lsn_cell((uint64_t)stele_commit_lsn(c)), text);
    snprintf(sql, sizeof sql,
             "select pg_current_wal_insert_lsn() = '%s', stele_is_stable('%s', true), pg_current_wal_lsn() >= '%s', "
             "pg_current_wal_flush_lsn() >= '%s'",
             text, text, text, text);
    api_gives(c, sql, "t,t,t,t");
    api_gives(c, "select stele_is_stable(pg_current_wal_insert_lsn() + 1, false)", "f");
    api_fails(c, "select stele_is_stable(pg_current_wal_insert_lsn() + 1, true)", "22023");
    api_gives(c,
              "select lsn = durable_lsn, lsn > '0/0', records > 0, record_bytes > records, writes > 0 from stele_log",
              "t,t,t,t,t");
    close_all(c, db);
    disk_free(d);
}

static void failed_write(void **state) {
    (void)state;
    Disk *d = disk_new(3);
    stele_db *db = open_on(d, true);
    stele_conn *c = connect_to(db);
    api_run(c, "create table t (a int)");
    stele_set_commit_wait(c, false);
    d->full = true; /* the thread that writes late waits */
    api_run(c, "insert into t values (1)");
    const int64_t lsn = stele_commit_lsn(c);
    d->fail_at = d->ops + 1;
    d->full = false;
    wait_fails(db, lsn, "58030");
    assert_false(stele_is_stable(db, lsn));
    close_all(c, db);
    disk_free(d);
}

static void without_log(void **state) {
    (void)state;
    Disk *d = disk_new(4);
    stele_db *db = open_on(d, false);
    stele_conn *c = connect_to(db);
    stele_set_commit_wait(c, false);
    api_run(c, "create table t (a int); insert into t values (1)");
    assert_int_equal(stele_commit_lsn(c), 0);
    assert_int_equal(stele_log_lsn(db), 0);
    assert_int_equal(stele_log_wait_ns(c), 0);
    assert_true(stele_is_stable(db, 0));
    assert_false(stele_is_stable(db, 1));
    assert_int_equal(stele_wait_stable(db, 0, NULL), STELE_OK);
    wait_fails(db, 1, "55000");
    api_fails(c, "select pg_current_wal_lsn()", "55000");
    close_all(c, db);
    disk_free(d);
}

/* Threads that commit without waiting, and others that wait for what they have committed. */
enum { WRITERS = 4, COMMITS = 50 };
typedef struct Shared {
    stele_db *db;
    _Atomic int64_t last[WRITERS]; /* LSN; -1: there are no more */
} Shared;
typedef struct Worker {
    Shared *s;
    int number;
} Worker;
static void *writes(void *arg) {
    const Worker *w = arg;
    stele_conn *c;
    char sql[100];
    if (stele_connect(w->s->db, &c) != STELE_OK) abort();
    stele_set_commit_wait(c, false);
    for (int i = 0; i < COMMITS; i++) {
        snprintf(sql, sizeof sql, "insert into t values (%d)", w->number * COMMITS + i);
        if (stele_exec(c, sql, NULL, NULL) != STELE_OK) abort();
        atomic_store(&w->s->last[w->number], stele_commit_lsn(c));
    }
    atomic_store(&w->s->last[w->number], -1);
    stele_disconnect(c);
    return NULL;
}
static void *waits(void *arg) {
    const Worker *w = arg;
    for (int64_t lsn; (lsn = atomic_load(&w->s->last[w->number])) >= 0;)
        if (stele_wait_stable(w->s->db, lsn, NULL) != STELE_OK || !stele_is_stable(w->s->db, lsn)) abort();
    return NULL;
}
static void threads(void **state) {
    (void)state;
    pthread_t ids[2 * WRITERS];
    Worker workers[WRITERS];
    Disk *d = disk_new(5);
    Shared s = {.db = open_on(d, true)};
    stele_conn *c = connect_to(s.db);
    api_run(c, "create table t (a int)");
    for (int i = 0; i < WRITERS; i++) {
        workers[i] = (Worker){&s, i};
        assert_int_equal(pthread_create(&ids[2 * i], NULL, writes, &workers[i]), 0);
        assert_int_equal(pthread_create(&ids[2 * i + 1], NULL, waits, &workers[i]), 0);
    }
    for (int i = 0; i < 2 * WRITERS; i++) pthread_join(ids[i], NULL);
    assert_int_equal(stele_wait_stable(s.db, stele_log_lsn(s.db), NULL), STELE_OK);
    Disk *left = disk_after_cut(d);
    close_all(c, s.db);
    s.db = open_on(left, true);
    c = connect_to(s.db);
    api_gives(c, "select count(*), count(distinct a), sum(a) from t", "200,200,19900");
    close_all(c, s.db);
    disk_free(left);
    disk_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_phases), cmocka_unit_test(by_sql),
                                       cmocka_unit_test(failed_write), cmocka_unit_test(without_log),
                                       cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
