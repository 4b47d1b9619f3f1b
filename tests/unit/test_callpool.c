/* test_callpool.c - the pool of calls: many connections at once, through CALL and through submitted bulks; what becomes of calls that are cancelled, time out, fail,
 * lose their routine or their connection. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stele/stele.h"
#include "unit.h"

enum { CLIENTS = 8, ACCOUNTS = 1000 };
static stele_db *db;
static stele_conn *conn;

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static stele_conn *connect_with(const char *settings) {
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    if (settings) run(c, settings);
    return c;
}
static bool first_cell(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)names;
    snprintf(ctx, 64, "%s", v[0] ? v[0] : "NULL");
    return true;
}
static void gives(stele_conn *c, const char *sql, const char *expected) {
    char cell[64] = "nothing";
    (void)stele_exec(c, sql, first_cell, cell);
    if (strcmp(cell, expected) != 0) fail_msg("%s: %s, not %s", sql, cell, expected);
}
static const char *state_of(stele_conn *c) {
    static _Thread_local char state[6];
    stele_error_info e;
    stele_error(c, &e);
    memcpy(state, e.sqlstate, 6);
    return state;
}
static void nap_ms(int64_t ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static int set_up(void **state) {
    (void)state;
    stele_options o = {.threads = 2};
    if (stele_open(":memory:", &o, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return -1;
    run(conn, "create table branches(bid int primary key, bal bigint not null); insert into branches select i, 0 from generate_series(1, 4) g(i);"
              "create table accounts(aid int primary key, bal bigint not null); insert into accounts select i, 0 from generate_series(1, 1000) g(i);"
              "create table history(aid int, bid int, delta bigint); create table held(a int);"
              "create procedure pay(a int, b int, d bigint, out balance bigint) language plpgsql as $$ begin"
              "  update accounts set bal = bal + d where aid = a returning bal into balance;"
              "  if not found then raise exception 'no account %', a; end if;"
              "  update branches set bal = bal + d where bid = b; insert into history values (a, b, d); end $$;"
              "create procedure odd(a int) language plpgsql as $$ begin execute 'update accounts set bal = bal + 1000000 where aid = ' || a; end $$;");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

/* ---- many at once --------------------------------------------------------------------------------- */
typedef struct Client {
    int id, calls;
    const char *settings;
    bool submits; /* through stele_bulk_submit, several bulks under way */
    int64_t sum, failed;
    const char *wrong;
} Client;

static void call_through_sql(Client *k, stele_conn *c) {
    stele_stmt *s;
    if (stele_prepare(c, "call pay($1, $2, $3, null)", -1, &s, NULL) != STELE_OK) {
        k->wrong = "prepare";
        return;
    }
    unsigned seed = (unsigned)k->id + 1;
    for (int i = 0; i < k->calls && !k->wrong; i++) {
        int a = 1 + rand_r(&seed) % ACCOUNTS, d = rand_r(&seed) % 1000 - 500;
        bool missing = i % 50 == 49;
        stele_bind_int64(s, 1, missing ? ACCOUNTS + 1 : a);
        stele_bind_int64(s, 2, 1 + a % 4);
        stele_bind_int64(s, 3, d);
        stele_status r = stele_step(s);
        if (missing) {
            if (r != STELE_ERROR || strcmp(state_of(c), "P0001") != 0) k->wrong = "a call that must fail";
            k->failed++;
        } else if (r != STELE_ROW || stele_column_is_null(s, 0)) {
            k->wrong = "a call failed";
        } else {
            k->sum += d;
        }
        stele_reset(s);
    }
    stele_finalize(s);
}
enum { UNDER_WAY = 4, PER_BULK = 5 };
static void call_through_bulks(Client *k, stele_conn *c) {
    stele_bulk *b[UNDER_WAY];
    unsigned seed = (unsigned)k->id + 1;
    for (int i = 0; i < UNDER_WAY; i++)
        if (stele_bulk_new(c, "pay", &b[i]) != STELE_OK) k->wrong = "new";
    for (int i = 0; i < k->calls / PER_BULK && !k->wrong; i++) {
        stele_bulk *x = b[i % UNDER_WAY];
        bool done = false;
        if (i >= UNDER_WAY) {
            if (stele_bulk_wait(x, -1, &done) != STELE_OK || !done) k->wrong = "wait";
            for (int j = 0; j < PER_BULK; j++)
                if (stele_bulk_status(x, j, NULL) != STELE_OK || !stele_bulk_value(x, j, 0, NULL)) k->wrong = "status";
            stele_bulk_info info;
            stele_bulk_get_info(x, &info);
            if (info.latency_ns <= 0 || info.waited_ns > info.latency_ns) k->wrong = "info";
            stele_bulk_reset(x);
        }
        int32_t a[PER_BULK], branch[PER_BULK];
        int64_t d[PER_BULK];
        for (int j = 0; j < PER_BULK; j++) {
            a[j] = 1 + rand_r(&seed) % ACCOUNTS, branch[j] = 1 + a[j] % 4, d[j] = rand_r(&seed) % 1000;
            k->sum += d[j];
        }
        if (stele_bulk_add_columns(x, PER_BULK, (const void *const[]){a, branch, d}, NULL) != STELE_OK || stele_bulk_submit(x) != STELE_OK) k->wrong = "submit";
    }
    for (int i = 0; i < UNDER_WAY; i++) {
        if (stele_bulk_wait(b[i], -1, NULL) != STELE_OK) k->wrong = "last wait";
        stele_bulk_free(b[i]);
    }
}
static void *client(void *arg) {
    Client *k = arg;
    stele_conn *c;
    if (stele_connect(db, &c) != STELE_OK || stele_exec(c, k->settings, NULL, NULL) != STELE_OK) {
        k->wrong = "connect";
        return NULL;
    }
    if (k->submits) call_through_bulks(k, c);
    else call_through_sql(k, c);
    stele_disconnect(c);
    return NULL;
}

static int n_calls(void) {
    const char *n = getenv("STELE_TEST_CALLS");
    return n ? atoi(n) : 3000;
}

/* Runs `n` clients and checks sums and counts. */
static void clients(int n, int calls, const char *settings, int submitting, stele_pool_info *info) {
    pthread_t threads[CLIENTS];
    Client k[CLIENTS];
    int64_t sum = 0, made = 0, failed = 0;
    char text[64];
    run(conn, "delete from history; update accounts set bal = 0; update branches set bal = 0");
    stele_pool_get_info(conn, true, info);
    for (int i = 0; i < n; i++) {
        k[i] = (Client){.id = i, .calls = calls, .settings = settings, .submits = i < submitting};
        assert_int_equal(pthread_create(&threads[i], NULL, client, &k[i]), 0);
    }
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++) {
        if (k[i].wrong) fail_msg("client %d: %s", i, k[i].wrong);
        sum += k[i].sum;
        made += calls;
        failed += k[i].failed;
    }
    stele_pool_get_info(conn, false, info);
    assert_int_equal(info->calls, made);
    assert_int_equal(info->waiting, 0);
    snprintf(text, sizeof text, "%lld", (long long)sum);
    gives(conn, "select sum(bal) from accounts", text);
    gives(conn, "select sum(bal) from branches", text);
    gives(conn, "select sum(delta) from history", text);
    snprintf(text, sizeof text, "%lld", (long long)(made - failed));
    gives(conn, "select count(*) from history", text);
    gives(conn, "select count(*) from accounts a where bal <> coalesce((select sum(delta) from history h where h.aid = a.aid), 0)", "0");
}

static void statements_of_many(void **state) {
    (void)state;
    stele_pool_info info;
    clients(CLIENTS, n_calls(), "set bulk_interval = '20ms'", 0, &info);
    print_message("%lld calls in %lld bulks (%lld by size, %lld by time, %lld all), p50 %lld us, p99 %lld us\n", (long long)info.calls, (long long)info.bulks, (long long)info.by_size,
                  (long long)info.by_time, (long long)info.by_all, (long long)info.p50_ns / 1000, (long long)info.p99_ns / 1000);
    assert_true(info.calls >= 2 * info.bulks); /* bulks really form */
    assert_true(info.largest > 2 && info.largest <= CLIENTS);
    assert_true(info.p50_ns > 0 && info.p50_ns <= info.p99_ns && info.p99_ns <= info.max_ns);
}
static void submissions_of_many(void **state) {
    (void)state;
    stele_pool_info info;
    clients(CLIENTS, n_calls(), "set bulk_size = 64", CLIENTS, &info);
    assert_true(info.calls >= 2 * PER_BULK * info.bulks || info.bulks < 100);
    assert_true(info.largest <= 64);
}
static void mixed(void **state) {
    (void)state;
    stele_pool_info info;
    clients(CLIENTS, n_calls() / 2, "set bulk_interval = '300us'", CLIENTS / 2, &info);
}

/* One connection waits for nobody. */
static void alone(void **state) {
    (void)state;
    stele_pool_info info;
    clients(1, 1000, "set bulk_interval = '20s'", 0, &info); /* would take hours if it waited */
    assert_int_equal(info.by_time, 0);
    assert_int_equal(info.bulks, 1000);
}

/* SELECT of a volatile function that gives a value. */
static void functions(void **state) {
    (void)state;
    stele_pool_info info;
    stele_conn *c = connect_with("set bulk_interval = '20s'");
    stele_stmt *st;
    run(c, "update accounts set bal = 0 where aid = 7;"
           "create function draw(a int, d bigint) returns bigint language plpgsql as $$ declare b bigint; begin update accounts set bal = bal - d where aid = a returning bal into b;"
           "  if b < -100 then raise exception 'no more from %', a; end if; return b; end $$;"
           "create function seen(a int) returns bigint stable language plpgsql as $$ declare b bigint; begin select bal into b from accounts where aid = a; return b; end $$;"
           "create function careful(a int) returns bigint strict language plpgsql as $$ begin update accounts set bal = 0 where aid = a; return 1; end $$");
    stele_pool_get_info(c, true, &info);
    gives(c, "select draw(7, 10)", "-10");
    gives(c, "select draw(7, 20) as left_over", "-30");
    assert_int_equal(stele_prepare(c, "select draw($1, $2) as x", -1, &st, NULL), STELE_OK);
    for (int i = 0; i < 3; i++) {
        stele_bind_int64(st, 1, 7);
        stele_bind_int64(st, 2, 20);
        assert_int_equal(stele_step(st), STELE_ROW);
        assert_string_equal(stele_column_name(st, 0), "x");
        assert_int_equal(stele_column_int64(st, 0), -50 - 20 * i);
        assert_int_equal(stele_step(st), STELE_DONE);
        stele_reset(st);
    }
    stele_finalize(st);
    stele_pool_get_info(c, false, &info);
    assert_int_equal(info.calls, 5);
    assert_int_equal(stele_exec(c, "select draw(7, 20)", NULL, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "P0001");
    gives(c, "select draw(12345, 1)", "NULL");
    stele_pool_get_info(c, false, &info);
    assert_int_equal(info.calls, 7);
    /* Prepared by SQL. */
    run(c, "prepare later(int, bigint) as select draw($1, $2) as x");
    gives(c, "execute later(7, 5)", "-95");
    gives(c, "execute later(7, -(2 + 3))", "-90");
    assert_int_equal(stele_exec(c, "execute later(7, 50)", NULL, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "P0001");
    stele_pool_get_info(c, false, &info);
    assert_int_equal(info.calls, 10);
    run(c, "create or replace function draw(a int, d bigint) returns bigint language plpgsql as $$ declare b bigint; begin update accounts set bal = bal - d where aid = a returning bal into b;"
           "  if b < -200 then raise exception 'no more from %', a; end if; return b; end $$");
    gives(c, "execute later(7, 50)", "-140");
    gives(c, "execute later(7, -50)", "-90");
    stele_pool_get_info(c, false, &info);
    assert_int_equal(info.calls, 12);
    run(c, "deallocate later");
    /* These do not. */
    gives(c, "select seen(7)", "-90");
    gives(c, "select careful(null)", "NULL");
    gives(c, "select abs(-3)", "3");
    run(c, "begin");
    gives(c, "select draw(7, 1)", "-91");
    run(c, "rollback");
    gives(c, "select draw(7, 1) + 0", "-91");
    stele_pool_get_info(c, false, &info);
    assert_int_equal(info.calls, 12);
    run(c, "drop function draw; drop function seen; drop function careful");
    assert_int_equal(stele_exec(c, "select draw(7, 20)", NULL, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "42883");
    stele_disconnect(c);
}

/* ---- one call among others ------------------------------------------------------------------------------ */
typedef struct One {
    stele_conn *c;
    stele_stmt *call;
    stele_status status;
    char sqlstate[6];
    _Atomic bool over;
} One;
static void *one_call(void *arg) {
    One *o = arg;
    o->status = stele_run(o->call);
    memcpy(o->sqlstate, state_of(o->c), 6);
    atomic_store(&o->over, true);
    return NULL;
}
static void wait_until_queued(int64_t n) {
    stele_pool_info info;
    for (int i = 0; i < 2000; i++) {
        stele_pool_get_info(conn, false, &info);
        if (info.waiting >= n) return;
        nap_ms(1);
    }
    fail_msg("%lld calls in the queue, not %lld", (long long)info.waiting, (long long)n);
}

/* While a transaction that holds the database is open, calls gather; one of them is cancelled, one runs into its time limit, the others run. */
static void cancelled(void **state) {
    (void)state;
    enum { N = 4 };
    One o[N] = {0};
    pthread_t threads[N];
    stele_conn *ddl = connect_with(NULL);
    stele_bulk *b;
    run(conn, "update accounts set bal = 0; delete from history");
    for (int i = 0; i < N; i++) {
        o[i].c = connect_with("set bulk_interval = '1ms'");
        assert_int_equal(stele_prepare(o[i].c, "call pay(1, 1, 1, null)", -1, &o[i].call, NULL), STELE_OK);
        assert_int_equal(stele_run(o[i].call), STELE_DONE); /* the pool knows it now */
        stele_reset(o[i].call);
    }
    run(o[1].c, "set statement_timeout = '150ms'");
    stele_conn *c = connect_with(NULL);
    assert_int_equal(stele_bulk_new(c, "pay", &b), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1", "1", "10"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    stele_bulk_reset(b);
    run(ddl, "begin; truncate held");
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1", "1", "100"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    wait_until_queued(1);
    for (int i = 0; i < N; i++) assert_int_equal(pthread_create(&threads[i], NULL, one_call, &o[i]), 0);
    wait_until_queued(N + 1);
    nap_ms(200);
    stele_interrupt(o[0].c);
    bool done = true;
    assert_int_equal(stele_bulk_wait(b, 0, &done), STELE_OK);
    assert_false(done);
    nap_ms(200);
    assert_true(atomic_load(&o[0].over));
    assert_true(atomic_load(&o[1].over));
    assert_false(atomic_load(&o[2].over));
    run(ddl, "commit");
    for (int i = 0; i < N; i++) pthread_join(threads[i], NULL);
    assert_int_equal(stele_bulk_wait(b, -1, &done), STELE_OK);
    assert_true(done);
    for (int i = 0; i < N; i++) {
        assert_int_equal(o[i].status, i < 2 ? STELE_ERROR : STELE_DONE);
        if (i < 2) assert_string_equal(o[i].sqlstate, "57014");
        stele_finalize(o[i].call);
        stele_disconnect(o[i].c);
    }
    gives(conn, "select bal from accounts where aid = 1", "116"); /* 4 + 10 + 100 + 2 */
    stele_disconnect(ddl);
    stele_bulk_free(b);
    stele_disconnect(c);
}

/* Submitted calls whose handle or routine goes away before they begin; lock_timeout. */
static void withdrawn(void **state) {
    (void)state;
    stele_conn *ddl = connect_with(NULL), *c = connect_with("set lock_timeout = '100ms'");
    stele_bulk *b, *gone, *late;
    bool done;
    run(conn, "update accounts set bal = 0; create procedure passing(a int) language plpgsql as $$ begin update accounts set bal = bal + 7 where aid = a; end $$");
    assert_int_equal(stele_bulk_new(c, "pay", &b), STELE_OK);
    assert_int_equal(stele_bulk_new(c, "passing", &gone), STELE_OK);
    assert_int_equal(stele_bulk_new(c, "pay", &late), STELE_OK);
    assert_int_equal(stele_bulk_submit(late), STELE_OK); /* no calls at all */
    assert_int_equal(stele_bulk_wait(late, -1, NULL), STELE_OK);
    stele_bulk_reset(late);
    assert_int_equal(stele_bulk_add(late, (const char *const[]){"2", "1", "100000"}), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"2", "1", "5"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_ERROR); /* once */
    assert_string_equal(state_of(c), "55000");
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"2", "1", "5"}), STELE_ERROR);
    assert_int_equal(stele_bulk_wait(b, -1, &done), STELE_OK);
    assert_int_equal(stele_bulk_wait(b, -1, &done), STELE_OK); /* still there */
    stele_bulk_reset(b);
    assert_int_equal(stele_bulk_count(b), 0);
    assert_int_equal(stele_bulk_wait(b, -1, &done), STELE_ERROR);
    assert_int_equal(stele_bulk_add(gone, (const char *const[]){"2"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(gone), STELE_OK);
    assert_int_equal(stele_bulk_wait(gone, -1, &done), STELE_OK);
    stele_bulk_reset(gone);
    run(c, "set lock_timeout = 0");
    run(ddl, "begin; drop procedure passing");
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"2", "1", "50"}), STELE_OK);
    assert_int_equal(stele_bulk_add(gone, (const char *const[]){"2"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(gone), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    wait_until_queued(2);
    run(ddl, "commit");
    assert_int_equal(stele_bulk_wait(gone, -1, &done), STELE_ERROR);
    assert_true(done);
    assert_string_equal(state_of(c), "42883");
    stele_error_info e;
    assert_int_equal(stele_bulk_status(gone, 0, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "42883");
    assert_int_equal(stele_bulk_wait(b, -1, &done), STELE_OK);
    gives(conn, "select bal from accounts where aid = 2", "62");
    stele_bulk_reset(b);
    /* freed while it pends */
    run(ddl, "begin; truncate held");
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"2", "1", "10000"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    stele_bulk_free(b);
    stele_bulk_free(gone);
    /* nobody waits for it, and the lock is not to be had */
    run(c, "set lock_timeout = '60ms'");
    assert_int_equal(stele_bulk_submit(late), STELE_OK);
    nap_ms(300);
    assert_int_equal(stele_bulk_wait(late, 0, &done), STELE_ERROR);
    assert_true(done);
    assert_string_equal(state_of(c), "55P03");
    stele_bulk_free(late);
    run(ddl, "rollback");
    gives(conn, "select bal from accounts where aid = 2", "62");
    stele_disconnect(ddl);
    stele_disconnect(c);
}

/* A definition changes between bulks: one that runs is waited for. And a thread that waits for the lock to run a bulk may run out of its own time. */
static void definitions(void **state) {
    (void)state;
    stele_conn *ddl = connect_with(NULL), *c = connect_with("set bulk_step_limit = 0"), *hasty = connect_with("set bulk_interval = '1ms'");
    stele_bulk *b;
    stele_stmt *call;
    stele_pool_info info;
    bool done;
    run(conn, "update accounts set bal = 0; create procedure slow(a int, n int) language plpgsql as $$ declare i int := 0; begin "
              "while i < n loop i := i + 1; update accounts set bal = bal + 1 where aid = a; end loop; end $$");
    assert_int_equal(stele_bulk_new(c, "slow", &b), STELE_OK);
    for (int64_t n = 20000;; n *= 4) { /* until it is caught running */
        char text[24];
        snprintf(text, sizeof text, "%lld", (long long)n);
        run(conn, "update accounts set bal = 0");
        assert_int_equal(stele_bulk_add(b, (const char *const[]){"2", text}), STELE_OK);
        assert_int_equal(stele_bulk_submit(b), STELE_OK);
        do stele_pool_get_info(conn, false, &info);
        while (info.waiting > 0);
        assert_int_equal(stele_bulk_wait(b, 0, &done), STELE_OK);
        if (done && n < 100000000) {
            stele_bulk_reset(b);
            continue;
        }
        assert_false(done);
        run(ddl, "drop procedure slow");
        assert_int_equal(stele_bulk_wait(b, -1, &done), STELE_OK);
        assert_int_equal(stele_bulk_status(b, 0, NULL), STELE_OK);
        gives(conn, "select bal from accounts where aid = 2", text);
        break;
    }
    stele_bulk_free(b);
    assert_int_equal(stele_prepare(hasty, "call pay(1, 1, 1, null)", -1, &call, NULL), STELE_OK);
    assert_int_equal(stele_run(call), STELE_DONE);
    stele_reset(call);
    run(hasty, "set statement_timeout = '80ms'");
    run(ddl, "begin; truncate held");
    for (int i = 0; i < 2; i++) { /* alone, it leads */
        assert_int_equal(stele_run(call), STELE_ERROR);
        assert_string_equal(state_of(hasty), "57014");
        stele_reset(call);
        run(hasty, "set statement_timeout = '10s'; set lock_timeout = '80ms'");
        assert_int_equal(stele_run(call), STELE_ERROR);
        assert_string_equal(state_of(hasty), "55P03");
        stele_reset(call);
        run(hasty, "set statement_timeout = '80ms'; set lock_timeout = '10s'");
    }
    run(ddl, "rollback");
    run(hasty, "set statement_timeout = 0");
    assert_int_equal(stele_run(call), STELE_DONE);
    stele_finalize(call);
    gives(conn, "select bal from accounts where aid = 1", "2");
    stele_disconnect(hasty);
    stele_disconnect(c);
    stele_disconnect(ddl);
}

static void refused(void **state) {
    (void)state;
    stele_conn *c = connect_with("set bulk_interval = '1ms'");
    stele_bulk *b;
    run(conn, "update accounts set bal = 0");
    assert_int_equal(stele_bulk_new(c, "odd", &b), STELE_OK); /* cannot be compiled: one at a time, in the pool all the same */
    run(c, "begin");
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"3"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_ERROR);
    assert_string_equal(state_of(c), "25001");
    run(c, "rollback");
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    run(c, "begin");
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "25001");
    run(c, "rollback");
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    stele_bulk_info info;
    stele_bulk_get_info(b, &info);
    assert_non_null(info.reason);
    gives(conn, "select bal from accounts where aid = 3", "1000000");
    stele_bulk_free(b);
    assert_int_equal(stele_exec(c, "set bulk_interval = '1 parsec'", NULL, NULL), STELE_ERROR);
    run(c, "set bulk_interval = 1500");
    gives(c, "show bulk_interval", "1500us");
    run(c, "set bulk_interval = '2 ms'");
    gives(c, "show bulk_interval", "2ms");
    /* arguments that only the ordinary way can compute, and errors of the routine, of its name, of its arguments */
    assert_int_equal(stele_exec(c, "call pay((select 1), 1, 1, null)", NULL, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "0A000");
    assert_int_equal(stele_exec(c, "call nothing(1)", NULL, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "42883");
    assert_int_equal(stele_exec(c, "call pay(1 / 0, 1, 1, null)", NULL, NULL), STELE_ERROR);
    assert_string_equal(state_of(c), "22012");
    run(c, "call odd(3)");
    gives(conn, "select bal from accounts where aid = 3", "2000000");
    stele_disconnect(c);
}

/* Notices reach who called, in the order of his calls, once. */
static void collect(void *ctx, const stele_notice *n) {
    char *to = ctx;
    size_t used = strlen(to);
    snprintf(to + used, 400 - used, "%s %s;", n->severity, n->message);
}
static void notices(void **state) {
    (void)state;
    char pooled[400] = "", plain[400] = "";
    stele_conn *c = connect_with("set bulk_interval = '1ms'"), *other = connect_with(NULL);
    stele_bulk *b;
    const char *args[1];
    run(c, "create procedure tell(a int, out b int) language plpgsql as $$ begin raise notice 'a = %', a; if a = 2 then raise warning 'two'; raise exception 'too much'; end if; b := a; end $$");
    stele_set_notice(c, collect, pooled);
    stele_set_notice(other, collect, plain);
    run(c, "call tell(1, null)");
    assert_int_equal(stele_exec(c, "call tell(2, null)", NULL, NULL), STELE_ERROR);
    assert_string_equal(pooled, "NOTICE a = 1;NOTICE a = 2;WARNING two;");
    assert_int_equal(stele_bulk_new(other, "tell", &b), STELE_OK);
    for (int i = 0; i < 3; i++) {
        args[0] = i == 0 ? "7" : i == 1 ? "2" : NULL;
        assert_int_equal(stele_bulk_add(b, args), STELE_OK);
    }
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    for (int i = 0; i < 2; i++) assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    assert_int_equal(stele_bulk_status(b, 1, NULL), STELE_ERROR);
    assert_string_equal(plain, "NOTICE a = 7;NOTICE a = 2;WARNING two;NOTICE a = <NULL>;");
    stele_bulk_free(b);
    assert_int_equal(stele_bulk_new(other, "tell", &b), STELE_OK);
    args[0] = "9";
    assert_int_equal(stele_bulk_add(b, args), STELE_OK);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_free(b);
    run(other, "call bulk_call('tell', 'select 4')");
    assert_string_equal(plain, "NOTICE a = 7;NOTICE a = 2;WARNING two;NOTICE a = <NULL>;NOTICE a = 9;NOTICE a = 4;");
    run(c, "drop procedure tell");
    stele_disconnect(c);
    stele_disconnect(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone), cmocka_unit_test(functions), cmocka_unit_test(notices), cmocka_unit_test(statements_of_many), cmocka_unit_test(submissions_of_many), cmocka_unit_test(mixed),
        cmocka_unit_test(cancelled), cmocka_unit_test(withdrawn), cmocka_unit_test(definitions), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("callpool", tests, set_up, tear_down);
}
