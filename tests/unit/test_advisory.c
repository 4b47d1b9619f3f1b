/* test_advisory.c - advisory locks of several sessions: waiting in and outside of transactions, circles, time limits.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stele/stele.h"
#include "unit.h"

#define CHECK(cond, ...)                    \
    do {                                    \
        if (!(cond)) fail_msg(__VA_ARGS__); \
    } while (0)

static bool one_text(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    snprintf(ctx, 100, "%s", n > 0 && v[0] ? v[0] : "NULL");
    return false;
}
/* The first cell, or the SQLSTATE. */
static const char *ask(stele_conn *c, const char *sql, char *out) {
    stele_error_info e;
    out[0] = 0;
    if (stele_exec(c, sql, one_text, out) == STELE_OK) return out;
    stele_error(c, &e);
    snprintf(out, 100, "%s", e.sqlstate);
    return out;
}
static void expect(stele_conn *c, const char *sql, const char *want) {
    char got[100];
    CHECK(strcmp(ask(c, sql, got), want) == 0, "%s: %s, wanted %s", sql, got, want);
}

/* A statement of another session, on a thread of its own. */
typedef struct Other {
    stele_conn *c;
    const char *sql;
    char got[100];
    pthread_t thread;
} Other;
static void *run_other(void *arg) {
    Other *o = arg;
    (void)ask(o->c, o->sql, o->got);
    return NULL;
}
static void begin(Other *o, const char *sql) {
    o->sql = sql;
    CHECK(pthread_create(&o->thread, NULL, run_other, o) == 0, "thread");
}
static void end(Other *o, const char *want) {
    (void)pthread_join(o->thread, NULL);
    CHECK(strcmp(o->got, want) == 0, "%s: %s, wanted %s", o->sql, o->got, want);
}
/* Until so many sessions wait for advisory locks. */
static void until_waiting(stele_conn *c, const char *n) {
    char got[100];
    for (int i = 0; i < 1000; i++) {
        if (strcmp(ask(c, "select count(*) from pg_locks where not granted", got), n) == 0) return;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    CHECK(false, "%s sessions do not come to wait", n);
}

static void check_waits(stele_conn *a, Other *b, const char *before, const char *sql, const char *want) {
    if (before) expect(b->c, before, "");
    expect(a, "select pg_advisory_lock(1)", "");
    begin(b, sql);
    until_waiting(a, "1");
    expect(a, "update t set v = v + 1 where id = 1", ""); /* the other has not the database's lock */
    expect(a, "select pg_advisory_unlock(1)", "t");
    end(b, want);
    if (before) expect(b->c, "commit", "");
    expect(b->c, "select pg_advisory_unlock_all()", "");
    expect(a, "select count(*) from pg_locks", "0");
}

static void check_replay(stele_conn *a, Other *b) {
    expect(b->c, "select pg_advisory_lock(5)", "");
    /* 5 is given back once, 7 is taken once, although the statement runs twice. */
    check_waits(a, b, "begin; update t set v = 0 where id = 2",
                "select concat(pg_advisory_unlock(5), pg_try_advisory_lock(7), pg_advisory_lock(1), "
                "(select count(*) from pg_locks))",
                "tt2");
}

static void check_routine(stele_conn *a, Other *b) {
    expect(a,
           "create function f() returns text language plpgsql as $$ begin "
           "begin insert into t values (nextval('s'), 0); perform pg_advisory_lock(1); "
           "exception when others then return sqlerrm; end; return (select count(*) from t); end $$",
           "");
    check_waits(a, b, NULL, "select f()", "4");
}

static void check_circle(stele_conn *a, Other *b) {
    expect(a, "select pg_advisory_lock(1)", "");
    expect(b->c, "select pg_advisory_lock(2)", "");
    begin(b, "select pg_advisory_lock(1)");
    until_waiting(a, "1");
    expect(a, "select pg_advisory_lock(2)", "40P01");
    expect(a, "select pg_advisory_unlock(1)", "t");
    end(b, "");
    expect(b->c, "select pg_advisory_unlock_all()", "");
}
/* One waits for the other's row, which waits for its lock. */
static void check_circle_of_rows(stele_conn *a, Other *b) {
    expect(b->c, "begin isolation level read committed; update t set v = 7 where id = 1", "");
    expect(a, "begin isolation level read committed; select pg_advisory_xact_lock(3)", "");
    begin(b, "select pg_advisory_xact_lock(3)");
    until_waiting(a, "1");
    expect(a, "update t set v = 8 where id = 1", "40P01");
    expect(a, "rollback", "");
    end(b, "");
    expect(b->c, "rollback", "");
    expect(a, "select count(*) from pg_locks", "0");
}

static void check_limits(stele_conn *a, Other *b) {
    expect(a, "select pg_advisory_lock(1)", "");
    expect(b->c, "select pg_try_advisory_lock(1)", "f");
    expect(b->c, "select pg_try_advisory_lock_shared(1)", "f");
    expect(b->c, "set lock_timeout = 50", "");
    expect(b->c, "select pg_advisory_lock(1)", "55P03");
    expect(b->c, "begin; update t set v = 0 where id = 2", "");
    expect(b->c, "select pg_advisory_lock(1)", "55P03");
    expect(b->c, "rollback; reset lock_timeout; set statement_timeout = 50", "");
    expect(b->c, "select pg_advisory_lock(1)", "57014");
    expect(b->c, "reset statement_timeout", "");
    begin(b, "select pg_advisory_lock(1)");
    until_waiting(a, "1");
    stele_interrupt(b->c);
    end(b, "57014");
    expect(a, "select pg_advisory_unlock(1)", "t");
}

/* Those who wait come in their order; shared ones beside each other; a session's end frees its locks. */
static void check_order(stele_conn *a, Other *b, Other *c) {
    expect(a, "select pg_advisory_lock_shared(1)", "");
    begin(b, "select pg_advisory_lock(1)");
    until_waiting(a, "1");
    expect(c->c, "select pg_try_advisory_lock_shared(1)", "f");
    expect(a, "select pg_try_advisory_lock_shared(1)", "t");
    begin(c, "select pg_advisory_lock_shared(1)");
    until_waiting(a, "2");
    expect(a, "select pg_advisory_unlock_shared(1)", "t");
    expect(a, "select pg_advisory_unlock_shared(1)", "t");
    end(b, "");
    expect(a, "select count(*) from pg_locks where granted and mode = 'ExclusiveLock'", "1");
    stele_disconnect(b->c);
    end(c, "");
    expect(a, "select mode from pg_locks", "ShareLock");
    expect(c->c, "select pg_advisory_unlock_all()", "");
}

static void sessions(void **state) {
    (void)state;
    stele_db *db;
    stele_conn *a;
    Other b = {0}, c = {0};
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &a), STELE_OK);
    assert_int_equal(stele_connect(db, &b.c), STELE_OK);
    assert_int_equal(stele_connect(db, &c.c), STELE_OK);
    expect(a,
           "create table t (id int primary key, v int); insert into t values (1, 1), (2, 2), (3, 3); "
           "create sequence s start 100",
           "");
    check_waits(a, &b, NULL, "select pg_advisory_lock(1)", "");
    check_waits(a, &b, "begin", "select pg_advisory_lock(1)", "");
    check_waits(a, &b, "begin; update t set v = 0 where id = 2", "select pg_advisory_xact_lock(1)", "");
    check_waits(a, &b, NULL, "update t set v = 3 where id = 3 and pg_advisory_xact_lock(1) is not null", "");
    check_replay(a, &b);
    check_routine(a, &b);
    check_circle(a, &b);
    check_circle_of_rows(a, &b);
    check_limits(a, &b);
    check_order(a, &b, &c);
    stele_disconnect(a);
    stele_disconnect(c.c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sessions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
