/* test_idle.c - idle_in_transaction_session_timeout: transactions that are ended by their own next call, by those that
 * wait for their lock, by commits that would be kept for their snapshots; and all of that at once. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "base/log.h"

static stele_db *db;
static stele_conn *a, *b;

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static void fails(stele_conn *c, const char *sql, const char *sqlstate) {
    stele_error_info e;
    assert_int_equal(stele_exec(c, sql, NULL, NULL), STELE_ERROR);
    stele_error(c, &e);
    assert_string_equal(e.sqlstate, sqlstate);
}
static bool first_cell(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n;
    (void)names;
    snprintf(ctx, 64, "%s", v[0] ? v[0] : "NULL");
    return true;
}
static void gives(stele_conn *c, const char *sql, const char *expected) {
    char got[64] = "";
    assert_int_equal(stele_exec(c, sql, first_cell, got), STELE_OK);
    assert_string_equal(got, expected);
}
/* Until the session has been idle for too long. */
static void wait_idle(const stele_conn *c) {
    const int64_t due = atomic_load(&c->s->idle.due);
    assert_true(due < INT64_MAX);
    while (clock_ns() < due) {}
}
static TxnHub *hub(void) { return txn_lock_hub(a->s->db->txn_lock); }
static int64_t pins(void) {
    EpochStats x;
    epoch_stats(a->s->db->epochs, &x);
    return x.pins;
}
static bool open_transactions(void) {
    mutex_lock(&hub()->mutex);
    bool some = hub()->open != NULL;
    mutex_unlock(&hub()->mutex);
    return some;
}

static int begin(void **state) {
    (void)state;
    stele_error_info e;
    if (stele_open(":memory:", NULL, &db, &e) != STELE_OK || stele_connect(db, &a) != STELE_OK ||
        stele_connect(db, &b) != STELE_OK)
        return 1;
    run(a, "create table t(k int, v int); insert into t values (1, 1); set idle_in_transaction_session_timeout = 1");
    run(b, "set lock_timeout = 0");
    return 0;
}
static int end(void **state) {
    (void)state;
    stele_disconnect(a);
    stele_disconnect(b);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}

/* ---- the session's own next call ---- */
static void own_call(void **state) {
    (void)state;
    static const char *const next[] = {"select 1",     "insert into t values (3, 3)", "commit", "rollback", "begin",
                                       "rollback to s"};
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        run(a, "begin; set local lock_timeout = 77; insert into t values (2, 2); savepoint s; update t set v = 9");
        assert_int_equal(stele_transaction_state(a), 'T');
        wait_idle(a);
        fails(a, next[i], "25P03");
        assert_int_equal(stele_transaction_state(a), 'I');
        gives(a, "select string_agg(k || ' ' || v, ',') from t", "1 1");
        gives(a, "show lock_timeout", "10s");
    }
    stele_error_info e;
    run(a, "begin");
    wait_idle(a);
    fails(a, "select 1", "25P03");
    stele_error(a, &e);
    assert_string_equal(e.message, "terminating transaction due to idle-in-transaction timeout");
}
static void failed_block(void **state) {
    (void)state;
    fails(a, "begin; insert into t values (2, 2); select 1 / 0", "22012");
    assert_int_equal(stele_transaction_state(a), 'E');
    wait_idle(a);
    fails(a, "rollback", "25P03");
    assert_int_equal(stele_transaction_state(a), 'I');
    run(a, "begin; rollback");
}
static void other_calls(void **state) {
    (void)state;
    stele_stmt *s;
    stele_bulk *k;
    assert_int_equal(stele_prepare(a, "select count(*) from t", -1, &s, NULL), STELE_OK);
    run(a, "begin; insert into t values (2, 2)");
    wait_idle(a);
    assert_int_equal(stele_step(s), STELE_ERROR);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_column_int64(s, 0), 1);
    stele_finalize(s);
    run(a, "create procedure p(x int) as 'begin insert into t values (x, x); end' language plpgsql");
    run(a, "begin; insert into t values (2, 2)");
    wait_idle(a);
    assert_int_equal(stele_bulk_new(a, "p", &k), STELE_ERROR);
    assert_int_equal(stele_transaction_state(a), 'I');
    run(a, "begin; insert into t values (2, 2)");
    wait_idle(a);
    assert_int_equal(stele_list_columns(a, "t", NULL, NULL), STELE_ERROR);
    assert_int_equal(stele_transaction_state(a), 'I');
    gives(a, "select count(*) from t", "1");
}

static bool slow_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n;
    (void)v;
    (void)names;
    *(int *)ctx += 1;
    for (int64_t until = clock_ns() + 3000000; clock_ns() < until;) {}
    return false;
}
/* In a call it is not idle, however long that takes; and 0 is no limit. */
static void not_idle(void **state) {
    (void)state;
    int rows = 0;
    assert_int_equal(stele_exec(a, "begin; select 1; select 2; insert into t values (2, 2); commit", slow_row, &rows),
                     STELE_OK);
    assert_int_equal(rows, 2);
    gives(a, "select count(*) from t", "2");
    assert_true(atomic_load(&a->s->idle.due) == INT64_MAX); /* outside transactions */
    run(a, "set idle_in_transaction_session_timeout = 0; begin; insert into t values (3, 3)");
    assert_true(atomic_load(&a->s->idle.due) == INT64_MAX);
    run(a, "commit");
    fails(a, "set idle_in_transaction_session_timeout = -1", "22023");
    run(a, "set idle_in_transaction_session_timeout = '10min'; begin");
    gives(a, "show idle_in_transaction_session_timeout", "10min");
    run(a, "insert into t values (4, 4)");
    run(a, "commit");
    gives(a, "select count(*) from t", "4");
}

/* ---- other sessions ---- */
static void pinned(void **state) {
    (void)state;
    run(a, "begin; create table u(x int); insert into u values (1); insert into t values (2, 2)");
    assert_true(a->s->lock == LOCK_EXCLUSIVE);
    run(b, "insert into t values (3, 3)"); /* waits until a has been idle for too long */
    assert_int_equal(stele_transaction_state(a), 'T');
    fails(b, "select * from u", "42P01");
    fails(a, "insert into u values (2)", "25P03");
    assert_int_equal(stele_transaction_state(a), 'I');
    gives(a, "select count(*) from t", "2");
    run(a, "begin; drop table t");
    gives(b, "select count(*) from t", "2"); /* waits for nothing */
    run(b, "update t set v = v");
    fails(a, "commit", "25P03");
    run(a, "insert into t values (4, 4)");
    run(a, "begin; truncate t"); /* ended, and then the session goes away without another statement */
    run(b, "update t set v = v");
    stele_disconnect(a);
    assert_int_equal(stele_connect(db, &a), STELE_OK);
    gives(a, "select count(*) from t", "3");
}
/* A waiter whose own time is shorter than the interval in which waiters look. */
static void short_wait(void **state) {
    (void)state;
    run(a, "begin; create table u(x int)");
    wait_idle(a);
    run(b, "set lock_timeout = 2; insert into t values (3, 3)");
    fails(a, "select 1", "25P03");
}
/* Results stay what they are, although the tables that they came from are gone. */
static void result(void **state) {
    (void)state;
    stele_stmt *s;
    run(a, "set idle_in_transaction_session_timeout = 0; begin");
    run(a, "create table u as select x, 'a text that is not short ' || x as y from generate_series(1, 3000) x;"
           "create view w as select * from u");
    assert_int_equal(stele_prepare(a, "select y from w order by x", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    run(a, "set idle_in_transaction_session_timeout = 1");
    run(b, "insert into t values (3, 3)");
    fails(b, "select * from u", "42P01");
    for (int i = 1; i <= 3000; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "a text that is not short %d", i);
        assert_string_equal(stele_column_text(s, 0, NULL), expected);
        assert_int_equal(stele_step(s), i < 3000 ? STELE_ROW : STELE_DONE);
    }
    stele_reset(s);
    assert_int_equal(stele_step(s), STELE_ERROR); /* 25P03 */
    assert_int_equal(stele_step(s), STELE_ERROR); /* 42P01 */
    stele_finalize(s);
    gives(a, "select count(*) from t", "2");
}
static void snapshot(void **state) {
    (void)state;
    run(a, "set idle_in_transaction_session_timeout = 0; begin; select * from t");
    assert_int_equal(pins(), 1); /* it reads a version */
    run(b, "update t set v = 2");
    assert_true(atomic_load(&hub()->kept_bytes) > 0);
    run(a, "set idle_in_transaction_session_timeout = 1");
    wait_idle(a);
    run(b, "update t set v = 3");
    assert_false(open_transactions());
    assert_int_equal(pins(), 0);
    run(b, "update t set v = 4"); /* what was kept for it is freed by then */
    assert_int_equal(atomic_load(&hub()->kept_bytes), 0);
    fails(a, "select * from t", "25P03");
    run(a, "set idle_in_transaction_session_timeout = 1"); /* the other SET was rolled back */
    run(a, "begin; insert into t values (2, 2)");
    wait_idle(a);
    run(b, "insert into t values (3, 3)");
    run(b, "update t set v = 5"); /* its changes are undone by then */
    assert_false(open_transactions());
    gives(b, "select count(*) from t", "2");
    fails(a, "insert into t values (4, 4)", "25P03");
    gives(a, "select count(*) from t", "2");
}

/* ---- all at once ---- */
enum { THREADS = 4, ROUNDS = 60 };
typedef struct Client {
    pthread_t id;
    int number, committed, ended, failed;
} Client;
/* 1: done; 0: a conflict or the timeout, and the transaction is over; -1: anything else. */
static int try(Client *c, stele_conn *conn, const char *sql) {
    stele_error_info e;
    if (stele_exec(conn, sql, NULL, NULL) == STELE_OK) return 1;
    stele_error(conn, &e);
    const bool ended = strcmp(e.sqlstate, "25P03") == 0, conflict = strcmp(e.sqlstate, "40001") == 0;
    c->ended += ended;
    if (ended && stele_transaction_state(conn) != 'I') return -1;
    if (conflict && stele_transaction_state(conn) == 'E' && stele_exec(conn, "rollback", NULL, NULL) != STELE_OK) {
        stele_error(conn, &e);
        if (strcmp(e.sqlstate, "25P03") != 0) return -1;
    }
    if (!ended && !conflict) print_error("%s: %s %s\n", sql, e.sqlstate, e.message);
    return ended || conflict ? 0 : -1;
}
static void *client(void *arg) {
    Client *c = arg;
    stele_conn *conn = NULL;
    if (stele_connect(db, &conn) != STELE_OK ||
        stele_exec(conn, "set idle_in_transaction_session_timeout = 1; set lock_timeout = 0", NULL, NULL) != STELE_OK)
        c->failed = 1;
    for (int i = 0; i < ROUNDS && !c->failed; i++) {
        char sql[4][160];
        const int k = 1000 * (c->number + 1) + i;
        snprintf(sql[0], sizeof sql[0], "begin; insert into t values (%d, 1)%s", k,
                 i % 3 == 0 ? "; create table " : "");
        if (i % 3 == 0) snprintf(sql[0] + strlen(sql[0]), 40, "c%d(x int)", k); /* pinned */
        snprintf(sql[1], sizeof sql[1], "update t set v = v + 1 where k = 1");
        snprintf(sql[2], sizeof sql[2], "insert into t values (%d, 2)", k);
        snprintf(sql[3], sizeof sql[3], "commit");
        int ok = 1;
        for (int j = 0; j < 4 && ok == 1; j++) {
            if (j != 1 || i % 2 == 0) ok = try(c, conn, sql[j]);
            for (int64_t until = clock_ns() + (i * 7 + j * 3) % 10 * 150000; clock_ns() < until;) {}
        }
        c->committed += ok == 1;
        c->failed = ok < 0;
    }
    stele_disconnect(conn);
    return NULL;
}
static void at_once(void **state) {
    (void)state;
    Client c[THREADS] = {{0}};
    char committed[64];
    int n = 0, ended = 0;
    for (int i = 0; i < THREADS; i++) {
        c[i].number = i;
        assert_int_equal(pthread_create(&c[i].id, NULL, client, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(c[i].id, NULL), 0);
        assert_false(c[i].failed);
        n += c[i].committed;
        ended += c[i].ended;
    }
    print_message("%d committed, %d ended\n", n, ended);
    run(b, "update t set v = v"); /* undoes what is left of those that were ended */
    assert_false(open_transactions());
    snprintf(committed, sizeof committed, "%d", n);
    gives(b, "select count(*) from (select k from t where k >= 1000 group by k having count(*) = 2) x", committed);
    gives(b, "select count(*) from (select k from t where k >= 1000 group by k having count(*) <> 2) x", "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_call, begin, end),
        cmocka_unit_test_setup_teardown(failed_block, begin, end),
        cmocka_unit_test_setup_teardown(other_calls, begin, end),
        cmocka_unit_test_setup_teardown(not_idle, begin, end),
        cmocka_unit_test_setup_teardown(pinned, begin, end),
        cmocka_unit_test_setup_teardown(short_wait, begin, end),
        cmocka_unit_test_setup_teardown(result, begin, end),
        cmocka_unit_test_setup_teardown(snapshot, begin, end),
        cmocka_unit_test_setup_teardown(at_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
