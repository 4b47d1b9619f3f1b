/* test_callpool.c - the pool of calls: many connections at once, through CALL and through submitted bulks; what becomes
 * of calls that are cancelled, time out, fail, lose their routine or their connection. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
/* What holds at any time is asked for once, and waited for as long as a busy machine may need. What depends on who
 * meets whom is to be seen in one of some tries. */
enum { HANG_MS = 600000, TRIES = 30 };
static void nap_ms(int64_t ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static int set_up(void **state) {
    (void)state;
    stele_options o = {.threads = 2};
    if (stele_open(":memory:", &o, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return -1;
    run(conn, "create table branches(bid int primary key, bal bigint not null); insert into branches select i, 0 from "
              "generate_series(1, 4) g(i);"
              "create table accounts(aid int primary key, bal bigint not null, seen bigint); insert into accounts "
              "select i, 0 from "
              "generate_series(1, 1000) g(i);"
              "create table history(aid int, bid int, delta bigint); create table held(a int);"
              "create procedure pay(a int, b int, d bigint, out balance bigint) language plpgsql as $$ begin"
              "  update accounts set bal = bal + d where aid = a returning bal into balance;"
              "  if not found then raise exception 'no account %', a; end if;"
              "  update branches set bal = bal + d where bid = b; insert into history values (a, b, d); end $$;"
              "create procedure odd(a int) language plpgsql as $$ begin execute 'update accounts set bal = bal + "
              "1000000 where aid = ' || a; end $$;");
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
        if (stele_bulk_add_columns(x, PER_BULK, (const void *const[]){a, branch, d}, NULL) != STELE_OK ||
            stele_bulk_submit(x) != STELE_OK)
            k->wrong = "submit";
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
    gives(conn,
          "select count(*) from accounts a where bal <> coalesce((select sum(delta) from history h where h.aid = "
          "a.aid), 0)",
          "0");
}

static void statements_of_many(void **state) {
    (void)state;
    stele_pool_info info;
    bool met = false;
    for (int again = 0; again < TRIES && !met; again++) {
        clients(CLIENTS, n_calls(), "set bulk_interval = '20ms'", 0, &info);
        met = info.calls >= 2 * info.bulks && info.largest > 2; /* bulks really form */
    }
    print_message("%lld calls in %lld bulks (%lld by size, %lld by time, %lld all), p50 %lld us, p99 %lld us\n",
                  (long long)info.calls, (long long)info.bulks, (long long)info.by_size, (long long)info.by_time,
                  (long long)info.by_all, (long long)info.p50_ns / 1000, (long long)info.p99_ns / 1000);
    assert_true(met);
    assert_true(info.largest <= CLIENTS);
    assert_true(info.p50_ns > 0 && info.p50_ns <= info.p99_ns && info.p99_ns <= info.max_ns);
}
static void submissions_of_many(void **state) {
    (void)state;
    stele_pool_info info;
    bool met = false;
    for (int again = 0; again < TRIES && !met; again++) {
        clients(CLIENTS, n_calls(), "set bulk_size = 64", CLIENTS, &info);
        met = info.calls >= 2 * PER_BULK * info.bulks || info.bulks < 100;
    }
    assert_true(met);
    assert_true(info.largest <= 64);
}
/* A device with memory of its own, and always a full bulk waiting: its arguments are sent while the one before runs. */
static void submissions_ahead(void **state) {
    (void)state;
    stele_pool_info info;
    bool ahead = false;
    for (int again = 0; again < TRIES && !ahead; again++) {
        clients(CLIENTS, n_calls(),
                "set bulk_size = 40; set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set "
                "bulk_copies = on",
                CLIENTS, &info);
        ahead = info.sent_ahead > info.bulks / 10;
    }
    print_message("%lld bulks, %lld sent ahead, %lld with footprints\n", (long long)info.bulks,
                  (long long)info.sent_ahead, (long long)info.footprints_ahead);
    assert_true(ahead);
    assert_in_range(info.footprints_ahead, 0,
                    info.sent_ahead); /* where the device is not done before the host: test_bulk */
    clients(CLIENTS, n_calls(),
            "set bulk_size = 40; set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies "
            "= off",
            CLIENTS, &info);
    assert_int_equal(info.sent_ahead + info.footprints_ahead, 0);
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
           "create function draw(a int, d bigint) returns bigint language plpgsql as $$ declare b bigint; begin update "
           "accounts set bal = bal - d where aid = a returning bal into b;"
           "  if b < -100 then raise exception 'no more from %', a; end if; return b; end $$;"
           "create function seen(a int) returns bigint stable language plpgsql as $$ declare b bigint; begin select "
           "bal into b from accounts where aid = a; return b; end $$;"
           "create function careful(a int) returns bigint strict language plpgsql as $$ begin update accounts set bal "
           "= 0 where aid = a; return 1; end $$");
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
    run(c, "create or replace function draw(a int, d bigint) returns bigint language plpgsql as $$ declare b bigint; "
           "begin update accounts set bal = bal - d where aid = a returning bal into b;"
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
static void wait_until_over(One *o) {
    for (int i = 0; i < HANG_MS && !atomic_load(&o->over); i++) nap_ms(1);
    assert_true(atomic_load(&o->over));
}
static void wait_until_queued(int64_t n) {
    stele_pool_info info;
    for (int i = 0; i < HANG_MS; i++) {
        stele_pool_get_info(conn, false, &info);
        if (info.waiting >= n) return;
        nap_ms(1);
    }
    fail_msg("%lld calls in the queue, not %lld", (long long)info.waiting, (long long)n);
}

/* While a transaction that holds the database is open, calls gather; one of them is cancelled, one runs into its time
 * limit, the others run. */
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
    for (int i = 0; i < N; i++)
        if (i != 1) assert_int_equal(pthread_create(&threads[i], NULL, one_call, &o[i]), 0);
    wait_until_queued(N);
    assert_int_equal(pthread_create(&threads[1], NULL, one_call, &o[1]), 0);
    wait_until_over(&o[1]);
    stele_interrupt(o[0].c);
    wait_until_over(&o[0]);
    bool done = true;
    assert_int_equal(stele_bulk_wait(b, 0, &done), STELE_OK);
    assert_false(done);
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

/* Calls that never end are ended alone: by the statement_timeout of who runs the bulk and of somebody else in it, by
 * stele_interrupt, by closing the handle. What they changed is gone, and the calls of others are as if they had never
 * been there. */
enum { ENDLESS = 3, PAYING = 3 };
/* All calls wait for the database; false: some ran out of their time before. */
static bool all_queued(One *o) {
    stele_pool_info info;
    for (int i = 0; i < HANG_MS; i++) {
        stele_pool_get_info(conn, false, &info);
        if (info.waiting == ENDLESS + PAYING + 1) return true;
        if (atomic_load(&o[0].over) || atomic_load(&o[2].over)) return false;
        nap_ms(1);
    }
    fail_msg("%lld calls in the queue", (long long)info.waiting);
    return false;
}
/* 1: they were one bulk; 0: they were not; -1: the machine is too slow for such a statement_timeout. */
static int in_one_bulk(const char *settings, int timeout_ms) {
    One o[ENDLESS + PAYING] = {0};
    pthread_t threads[ENDLESS + PAYING];
    stele_conn *ddl = connect_with(NULL), *c = connect_with(settings);
    stele_bulk *b;
    run(conn, "update accounts set bal = 0");
    for (int i = 0; i < ENDLESS + PAYING; i++) {
        o[i].c = connect_with(settings);
        run(o[i].c, "set bulk_interval = '100ms'");
        assert_int_equal(stele_prepare(o[i].c, "call endless($1, $2)", -1, &o[i].call, NULL), STELE_OK);
        stele_bind_int64(o[i].call, 1, 3);
        stele_bind_bool(o[i].call, 2, false);
        assert_int_equal(stele_run(o[i].call), STELE_DONE); /* the pool knows it now */
        stele_reset(o[i].call);
        stele_bind_int64(o[i].call, 1, 2);
        stele_bind_bool(o[i].call, 2, i < ENDLESS);
        char limit[64];
        snprintf(limit, sizeof limit, "set statement_timeout = %d", timeout_ms);
        if (i == 0 || i == 2) run(o[i].c, limit);
    }
    assert_int_equal(stele_bulk_new(c, "endless", &b), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"3", "false"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    stele_bulk_reset(b);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"2", "true"}), STELE_OK);
    run(conn, "update accounts set bal = 0");
    stele_pool_info before, after;
    stele_pool_get_info(conn, true, &before);
    run(ddl, "begin; truncate held");
    for (int i = 0; i < ENDLESS + PAYING; i++) assert_int_equal(pthread_create(&threads[i], NULL, one_call, &o[i]), 0);
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    bool queued = all_queued(o);
    run(ddl, "commit");
    nap_ms(300);
    stele_interrupt(o[1].c);
    stele_bulk_reset(b);
    while (!queued && !atomic_load(&o[1].over)) { /* it may not have been there */
        stele_interrupt(o[1].c);
        nap_ms(1);
    }
    for (int i = 0; i < ENDLESS + PAYING; i++) pthread_join(threads[i], NULL);
    stele_pool_get_info(conn, true, &after);
    for (int i = 0; i < ENDLESS + PAYING; i++) {
        if (i < ENDLESS) {
            assert_int_equal(o[i].status, STELE_ERROR);
            assert_string_equal(o[i].sqlstate, "57014");
        } else {
            assert_int_equal(o[i].status, STELE_DONE);
        }
        stele_finalize(o[i].call);
        stele_disconnect(o[i].c);
    }
    gives(conn, "select bal from accounts where aid = 2", "3");
    stele_disconnect(ddl);
    stele_bulk_free(b);
    stele_disconnect(c);
    return queued ? after.bulks == 1 : -1;
}
static void endless(void **state) {
    (void)state;
    static const char *const how[] = {
        "set bulk_strategy = tpl",
        "set bulk_strategy = kset",
        "set bulk_strategy = part",
        "set bulk_strategy = serial",
        "set executor = compiled; set device = 'cpu'; set device_wait = on; set bulk_strategy = kset",
        "set executor = compiled; set device = 'cpu'; set device_wait = on; set bulk_strategy = tpl"};
    run(conn, "create procedure endless(a int, loops bool) language plpgsql as $$ begin update accounts set bal = bal "
              "+ 1 where aid = a; while loops loop null; end loop; end $$");
    int together = 0;
    for (int i = 0; i < (int)(sizeof how / sizeof how[0]); i++) {
        int one = -1;
        for (int timeout_ms = 700; one < 0 && timeout_ms < HANG_MS; timeout_ms *= 4)
            one = in_one_bulk(how[i], timeout_ms);
        assert_true(one >= 0);
        together += one;
    }
    assert_true(together >= 4); /* else nothing was shown of others */
    run(conn, "drop procedure endless");
    /* one at a time */
    run(conn, "create procedure endless(a int, loops bool) language plpgsql as $$ begin execute 'update accounts set "
              "bal = bal + 1 where aid = 2'; while loops loop null; end loop; end $$");
    stele_conn *c = connect_with(NULL), *d = connect_with(NULL);
    stele_bulk *stuck, *fine;
    bool done = false;
    assert_int_equal(stele_bulk_new(c, "endless", &stuck), STELE_OK);
    assert_int_equal(stele_bulk_new(d, "endless", &fine), STELE_OK);
    for (int i = 0; i < 2; i++) { /* that it cannot be compiled is known afterwards */
        stele_bulk *b = i ? stuck : fine;
        assert_int_equal(stele_bulk_add(b, (const char *const[]){"3", "false"}), STELE_OK);
        assert_int_equal(stele_bulk_submit(b), STELE_OK);
        assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
        stele_bulk_reset(b);
    }
    run(conn, "update accounts set bal = 0");
    run(c, "set statement_timeout = '300ms'");
    assert_int_equal(stele_bulk_add(stuck, (const char *const[]){"2", "true"}), STELE_OK);
    assert_int_equal(stele_bulk_add(fine, (const char *const[]){"2", "false"}), STELE_OK);
    assert_int_equal(stele_bulk_submit(stuck), STELE_OK);
    assert_int_equal(stele_bulk_submit(fine), STELE_OK);
    assert_int_equal(stele_bulk_wait(stuck, -1, &done), STELE_ERROR);
    assert_string_equal(state_of(c), "57014");
    assert_int_equal(stele_bulk_wait(fine, -1, &done), STELE_OK);
    assert_int_equal(stele_bulk_status(fine, 0, NULL), STELE_OK);
    gives(conn, "select bal from accounts where aid = 2", "1");
    stele_bulk_free(stuck);
    stele_bulk_free(fine);
    stele_disconnect(c);
    stele_disconnect(d);
    run(conn, "drop procedure endless");
}

/* ---- statements on one row --------------------------------------------------------------------------- */
/* What a statement gives, as text. */
static void outcome(stele_conn *c, stele_stmt *st, char *out, size_t size) {
    size_t n = 0;
    stele_status r;
    out[0] = 0;
    while ((r = stele_step(st)) == STELE_ROW)
        for (int64_t k = 0; k < stele_column_count(st) && n < size; k++) {
            const char *v = stele_column_text(st, k, NULL);
            n += (size_t)snprintf(out + n, size - n, "%s=%s;", stele_column_name(st, k), v ? v : "NULL");
        }
    if (r == STELE_ERROR) {
        stele_error_info e;
        stele_error(c, &e);
        snprintf(out + n, size - n, "%s %s", e.sqlstate,
                 e.message); /* details that bulks do not give: other columns of the row */
    } else if (n < size) {
        snprintf(out + n, size - n, "%s", stele_command_tag(st));
    }
    stele_reset(st);
}
#define ROWS(t)       \
    "create table " t \
    "(id int primary key, bal numeric(8,2) not null, note text, k bigint unique, at timestamp, check (bal > -900000))"
static const struct {
    const char *text, *params; /* i: id, b: bal, n: note, k */
} row_texts[] = {
    {"insert into %s values ($1, $2, $3, $4)", "ibnk"},
    {"insert into %s (id, bal, note, k) values ($1, $2 * 2, $3 || '!', $4) returning id, bal, note as said, k", "ibnk"},
    {"insert into %s (id, bal) values ($1, $2) on conflict (id) do update set bal = excluded.bal returning bal", "ib"},
    {"update %s set bal = bal + $2 where id = $1 returning bal, note", "ib"},
    {"update %s set note = $3, bal = $2 where id = $1", "ibn"},
    {"update %s set note = note || $1 where k = $2 and bal > $3 returning id", "nkb"},
    {"delete from %s where id = $1 returning note, k", "i"},
    {"delete from %s where k = $1", "k"},
    {"select bal, note, k, at from %s where id = $1", "i"},
    {"select id, bal / $1 as part from %s where k = $2", "bk"},
};
enum { ROW_TEXTS = sizeof row_texts / sizeof row_texts[0] };
/* The same statements with the pool and without it, on two tables: what they give, and what is left. */
static void rows_alike(const char *settings, int seed_of) {
    stele_conn *c[2] = {connect_with(settings), connect_with(NULL)};
    stele_stmt *st[2][ROW_TEXTS];
    run(conn, ROWS("pooled") ";" ROWS("plain"));
    run(c[0], "set bulk_interval = '20s'");
    for (int i = 0; i < 2 * ROW_TEXTS; i++) {
        char text[200];
        snprintf(text, sizeof text, row_texts[i / 2].text, i % 2 ? "plain" : "pooled");
        assert_int_equal(stele_prepare(c[i % 2], text, -1, &st[i % 2][i / 2], NULL), STELE_OK);
    }
    stele_pool_info info;
    stele_pool_get_info(conn, true, &info);
    unsigned seed = (unsigned)seed_of;
    int failed = 0, n = n_calls() / 4;
    for (int i = 0; i < n; i++) {
        int which = rand_r(&seed) % ROW_TEXTS;
        char got[2][400], id[24], bal[24], note[24], k[24];
        snprintf(id, sizeof id, "%d", rand_r(&seed) % 20);
        snprintf(bal, sizeof bal, "%d.%02d", rand_r(&seed) % 3 ? rand_r(&seed) % 100 : 450000, rand_r(&seed) % 100);
        if (rand_r(&seed) % 20 == 0) snprintf(bal, sizeof bal, "%s", rand_r(&seed) % 2 ? "0" : "-950000");
        snprintf(note, sizeof note, "n%d", rand_r(&seed) % 1000);
        snprintf(k, sizeof k, "%d", rand_r(&seed) % 20);
        const char *params = row_texts[which].params;
        unsigned null = rand_r(&seed) % 30;
        for (int t = 0; t < 2; t++) {
            for (int64_t p = 0; params[p]; p++) {
                const char *value = params[p] == 'i' ? id : params[p] == 'b' ? bal : params[p] == 'n' ? note : k;
                assert_int_equal(null == p ? stele_bind_null(st[t][which], p + 1)
                                           : stele_bind_text(st[t][which], p + 1, value, -1),
                                 STELE_OK);
            }
            outcome(c[t], st[t][which], got[t], sizeof got[t]);
        }
        char *table; /* errors name it */
        while ((table = strstr(got[1], "plain")))
            memmove(table + 6, table + 5, strlen(table + 5) + 1), memcpy(table, "pooled", 6);
        if (strcmp(got[0], got[1]) != 0)
            fail_msg("%d: %s\nwith the pool: %s\nwithout it:    %s", i, row_texts[which].text, got[0], got[1]);
        failed += strlen(got[0]) > 5 && got[0][5] == ' ';
    }
    stele_pool_get_info(conn, false, &info);
    print_message("%d statements, %d failed, %lld in the pool\n", n, failed, (long long)info.calls);
    assert_true(failed > 10 && info.calls > n / 2); /* reads of tables that are up to date are not the pool's */
    gives(conn,
          "select count(*) from ((table pooled except table plain) union all (table plain except table pooled)) x",
          "0");
    for (int i = 0; i < 2 * ROW_TEXTS; i++) stele_finalize(st[i % 2][i / 2]);
    stele_disconnect(c[0]);
    stele_disconnect(c[1]);
    run(conn, "drop table pooled; drop table plain");
}
static void rows(void **state) {
    (void)state;
    rows_alike("", 1);
    rows_alike("set executor = compiled; set device = 'cpu'; set device_wait = on", 2);
    rows_alike("set executor = compiled; set device = 'cpu'; set device_wait = on; set bulk_copies = on", 3);
}

/* Statements and calls of many connections in one order: counters that all of them move, and reads that never go back.
 * One of the statements writes a column that no procedure writes, and has bulks of its own. */
typedef struct Mover {
    int id;
    stele_conn *c;
    int64_t sum;
    const char *wrong;
} Mover;
static void *mover(void *arg) {
    Mover *m = arg;
    stele_stmt *up, *see, *call, *mark;
    unsigned seed = (unsigned)m->id + 77;
    if (stele_prepare(m->c, "update accounts set bal = bal + $2 where aid = $1 returning bal", -1, &up, NULL) !=
            STELE_OK ||
        stele_prepare(m->c, "select bal from accounts where aid = $1", -1, &see, NULL) != STELE_OK ||
        stele_prepare(m->c, "call pay($1, 1, $2, null)", -1, &call, NULL) != STELE_OK ||
        stele_prepare(m->c, "update accounts set seen = bal where aid = $1 returning seen", -1, &mark, NULL) !=
            STELE_OK) {
        m->wrong = "prepare";
        return NULL;
    }
    int64_t last = -1;
    for (int i = 0; i < n_calls() / 4 && !m->wrong; i++) {
        int64_t d = 1 + rand_r(&seed) % 5;
        const bool changes = i % 3 != 2;
        stele_stmt *st = changes ? (i % 3 ? up : call) : i % 2 ? see : mark;
        stele_bind_int64(st, 1, 5);
        if (changes) stele_bind_int64(st, 2, d), m->sum += d;
        int64_t now = stele_step(st) == STELE_ROW ? stele_column_int64(st, 0) : -2;
        if (now < last + (changes ? d : 0)) m->wrong = "it went back";
        last = now;
        stele_reset(st);
    }
    stele_finalize(up);
    stele_finalize(see);
    stele_finalize(call);
    stele_finalize(mark);
    return NULL;
}
static void rows_of_many(void **state) {
    (void)state;
    pthread_t threads[CLIENTS];
    Mover m[CLIENTS] = {0};
    stele_pool_info info;
    int64_t sum = 0;
    run(conn, "update accounts set bal = 0; update branches set bal = 0");
    stele_pool_get_info(conn, true, &info);
    for (int i = 0; i < CLIENTS; i++) {
        m[i] = (Mover){.id = i, .c = connect_with("set bulk_interval = '1ms'")};
        assert_int_equal(pthread_create(&threads[i], NULL, mover, &m[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        if (m[i].wrong) fail_msg("client %d: %s", i, m[i].wrong);
        sum += m[i].sum;
        stele_disconnect(m[i].c);
    }
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)sum);
    gives(conn, "select bal from accounts where aid = 5", text);
    stele_pool_get_info(conn, false, &info);
    print_message("%lld statements and calls in %lld bulks\n", (long long)info.calls, (long long)info.bulks);
    assert_true(info.calls > CLIENTS * (n_calls() / 4) * 9 / 10 && info.bulks < info.calls);
}

/* A statement that would have procedures name whole tables stays outside, and so does one of no key; both have their
 * place in the order. */
static void rows_apart(void **state) {
    (void)state;
    stele_pool_info info;
    stele_conn *c = connect_with("set bulk_interval = '20s'");
    stele_stmt *st;
    run(conn, "create table named(id int primary key, name text not null, v int not null, w int); create unique index "
              "named_name on named(name); insert into named values (1, 'a', 0, 0), (2, 'b', 0, 0);"
              "create procedure by_name(n text) language plpgsql as $$ declare i int; begin select id into i from "
              "named where name = n; update named set v = v + 1 where id = i; end $$");
    run(c, "call by_name('a')");
    stele_pool_get_info(conn, true, &info);
    const char *const texts[] = {"update named set name = $1 where id = 2",
                                 "update named set v = v + 1 where w = $1::int",
                                 "update named set w = $1::int where id = 2"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stele_prepare(c, texts[i], -1, &st, NULL), STELE_OK);
        stele_bind_text(st, 1, i == 0 ? "c" : "0", -1);
        assert_int_equal(stele_run(st), STELE_DONE);
        stele_finalize(st);
        stele_pool_get_info(conn, false, &info);
        assert_int_equal(info.calls, i != 1);
        run(c, i == 0 ? "call by_name('c')" : "call by_name('a')");
        stele_pool_get_info(conn, true, &info);
        assert_int_equal(info.calls, 1 + (i != 1));
    }
    gives(conn, "select string_agg(name || v, ' ' order by id) from named", "a4 c2");
    stele_disconnect(c);
    run(conn, "drop procedure by_name; drop table named");
}

/* A table that there is no memory for as an image: its statements run in the ordinary way. */
static void rows_large(void **state) {
    (void)state;
    stele_conn *c = connect_with("set bulk_interval = '20s'");
    stele_stmt *st;
    stele_pool_info info;
    run(conn, "create table large(id int primary key, a bigint, b bigint) with (expected_rows = 2000000000); set "
              "memory_limit = '1GB'");
    assert_int_equal(stele_prepare(c, "insert into large values ($1, $2, 0)", -1, &st, NULL), STELE_OK);
    stele_pool_get_info(conn, true, &info);
    for (int i = 1; i <= 3; i++) {
        stele_bind_int64(st, 1, i);
        stele_bind_int64(st, 2, i * 10);
        assert_int_equal(stele_run(st), STELE_DONE);
        assert_string_equal(stele_command_tag(st), "INSERT 0 1");
        stele_reset(st);
    }
    stele_pool_get_info(conn, false, &info);
    assert_int_equal(info.calls, 1); /* tried once */
    run(conn, "set memory_limit = '8GB'");
    gives(conn, "select sum(a) from large", "60");
    stele_finalize(st);
    stele_disconnect(c);
    run(conn, "drop table large");
}

/* Submitted calls whose handle or routine goes away before they begin; lock_timeout. */
static void withdrawn(void **state) {
    (void)state;
    stele_conn *ddl = connect_with(NULL), *c = connect_with("set lock_timeout = '10min'");
    stele_bulk *b, *gone, *late;
    bool done;
    run(conn, "update accounts set bal = 0; create procedure passing(a int) language plpgsql as $$ begin update "
              "accounts set bal = bal + 7 where aid = a; end $$");
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
    stele_pool_info info = {.waiting = 1};
    for (int i = 0; i < HANG_MS && info.waiting > 0; i++) {
        nap_ms(1);
        stele_pool_get_info(conn, false, &info);
    }
    assert_int_equal(stele_bulk_wait(late, 0, &done), STELE_ERROR);
    assert_true(done);
    assert_string_equal(state_of(c), "55P03");
    stele_bulk_free(late);
    run(ddl, "rollback");
    gives(conn, "select bal from accounts where aid = 2", "62");
    stele_disconnect(ddl);
    stele_disconnect(c);
}

/* A definition changes between bulks: one that runs is waited for. And a thread that waits for the lock to run a bulk
 * may run out of its own time. */
static void definitions(void **state) {
    (void)state;
    stele_conn *ddl = connect_with(NULL), *c = connect_with("set bulk_step_limit = 0"),
               *hasty = connect_with("set bulk_interval = '1ms'");
    stele_bulk *b;
    stele_stmt *call;
    stele_pool_info info;
    bool done;
    run(conn, "update accounts set bal = 0; create procedure slow(a int, n int) language plpgsql as $$ declare i int "
              ":= 0; begin "
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
        run(hasty, "set statement_timeout = '10min'; set lock_timeout = '80ms'");
        assert_int_equal(stele_run(call), STELE_ERROR);
        assert_string_equal(state_of(hasty), "55P03");
        stele_reset(call);
        run(hasty, "set statement_timeout = '80ms'; set lock_timeout = '10min'");
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
    assert_int_equal(stele_bulk_new(c, "odd", &b),
                     STELE_OK); /* cannot be compiled: one at a time, in the pool all the same */
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
    run(c, "create procedure tell(a int, out b int) language plpgsql as $$ begin raise notice 'a = %', a; if a = 2 "
           "then raise warning 'two'; raise exception 'too much'; end if; b := a; end $$");
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

/* ---- what was sent ahead does not fit ------------------------------------------------------------------- */
/* A device with memory of its own, and full bulks waiting at all times, so that the next one's arguments are always
 * sent ahead. Every call has a number, which is its delta: history says which have run, and with which arguments. A
 * call that is known to have run is there once; one that is known not to have run is not; any other at most once. */
#define AHEAD \
    "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set bulk_size = 40; "
#define PAY_LESS                                                                                                       \
    "create procedure pay_less(d bigint, a int) language plpgsql as $$ begin update accounts set bal = bal + d where " \
    "aid = a;"                                                                                                         \
    "  update branches set bal = bal + d where bid = 1 + a % 4; insert into history values (a, 1 + a % 4, d); end $$"
enum { QUEUED = 8, HANG_S = 900 /* SIGALRM ends a test that hangs */ };
typedef enum Fate { UNKNOWN, RAN, RAN_NOT } Fate;
typedef struct Payer {
    int id, calls;           /* its calls' numbers are id * calls + 1 ... */
    const char *settings[4]; /* used in turn, NULL: no more */
    bool withdraws;          /* at random, and may be timed out */
    bool redefined;          /* routines may be gone */
    uint8_t *fates;          /* Fate of all clients' calls, by number */
    unsigned seed;
    stele_conn *c;
    stele_bulk *b[QUEUED];
    int first[QUEUED]; /* number of its first call, 0: not submitted */
    const char *wrong;
    char state[6];
} Payer;
static int account_of(int64_t number) { return 1 + (int)(number * 7919 % ACCOUNTS); }

static void payer_open(Payer *k, int x) {
    for (int i = 0; i < HANG_MS; i++) {
        if (stele_bulk_new(k->c, x % 3 == 2 ? "pay_less" : "pay", &k->b[x]) == STELE_OK) return;
        if (!k->redefined || strcmp(state_of(k->c), "42883") != 0) break;
        nap_ms(1); /* it is being replaced */
    }
    k->b[x] = NULL;
    k->wrong = "new";
    memcpy(k->state, state_of(k->c), 6);
}
static void payer_submit(Payer *k, int x, int first) {
    int32_t a[PER_BULK], branch[PER_BULK];
    int64_t d[PER_BULK];
    for (int j = 0; j < PER_BULK; j++) d[j] = first + j, a[j] = account_of(d[j]), branch[j] = 1 + a[j] % 4;
    const void *const pay[] = {a, branch, d}, *const less[] = {d, a};
    k->first[x] = first;
    if (stele_bulk_add_columns(k->b[x], PER_BULK, x % 3 == 2 ? less : pay, NULL) == STELE_OK &&
        stele_bulk_submit(k->b[x]) == STELE_OK)
        return;
    k->wrong = "submit";
    memcpy(k->state, state_of(k->c), 6);
}
/* Of the calls of one handle, in one way or another; it is empty then. */
static void payer_end(Payer *k, int x, int how) {
    bool done = false;
    Fate fate = UNKNOWN;
    int64_t limit = how == 4 ? rand_r(&k->seed) % 500 : how == 5 ? 0 : -1;
    for (int again = 0; how < 6; again++) {
        if (stele_bulk_wait(k->b[x], limit, &done) == STELE_OK) {
            fate = done ? RAN : UNKNOWN;
            if (!done && limit < 0) k->wrong = "a wait without limit ended";
        } else {
            fate = RAN_NOT;
            memcpy(k->state, state_of(k->c), 6);
            bool gone = done && k->redefined && strcmp(k->state, "42883") == 0;
            bool stopped = k->withdraws && strcmp(k->state, "57014") == 0; /* before it ran, or (done) on the way */
            if (!gone && !stopped) k->wrong = "wait";
            if (!done && again < 3 && !k->wrong && stele_bulk_submit(k->b[x]) == STELE_OK)
                continue; /* withdrawn; may be submitted again */
        }
        break;
    }
    for (int j = 0; fate == RAN && j < PER_BULK; j++)
        if (stele_bulk_status(k->b[x], j, NULL) != STELE_OK || (x % 3 != 2 && !stele_bulk_value(k->b[x], j, 0, NULL)))
            k->wrong = "status";
    for (int j = 0; j < PER_BULK; j++) k->fates[k->first[x] + j] = (uint8_t)fate;
    k->first[x] = 0;
    if (how == 7 || (done && fate == RAN_NOT)) { /* its memory goes too */
        stele_bulk_free(k->b[x]);
        payer_open(k, x);
    } else {
        stele_bulk_reset(k->b[x]);
    }
}
static void *payer(void *arg) {
    Payer *k = arg;
    int n_settings = 0;
    k->seed = (unsigned)k->id + 1;
    while (n_settings < 4 && k->settings[n_settings]) n_settings++;
    if (stele_connect(db, &k->c) != STELE_OK || stele_exec(k->c, k->settings[0], NULL, NULL) != STELE_OK) {
        k->wrong = "connect";
        return NULL;
    }
    for (int x = 0; x < QUEUED && !k->wrong; x++) payer_open(k, x);
    for (int i = 0; i < k->calls / PER_BULK && !k->wrong; i++) {
        int x = i % QUEUED;
        if (k->first[x]) payer_end(k, x, k->withdraws ? rand_r(&k->seed) % 8 : 0);
        if (n_settings > 1 && rand_r(&k->seed) % 10 == 0 &&
            stele_exec(k->c, k->settings[rand_r(&k->seed) % (unsigned)n_settings], NULL, NULL) != STELE_OK)
            k->wrong = "set";
        if (!k->wrong) payer_submit(k, x, k->id * k->calls + i * PER_BULK + 1);
    }
    for (int x = 0; x < QUEUED; x++) {
        if (k->first[x] && !k->wrong) payer_end(k, x, 0);
        stele_bulk_free(k->b[x]);
    }
    stele_disconnect(k->c);
    return NULL;
}

typedef struct Seen {
    const uint8_t *fates;
    uint8_t *times;
    int64_t n, ran;
    const char *wrong;
    int64_t number;
} Seen;
static bool see_call(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Seen *s = ctx;
    (void)n, (void)names;
    s->number = atoll(v[2]);
    s->ran++;
    if (s->number < 1 || s->number > s->n) s->wrong = "no such call";
    else if (s->times[s->number]++) s->wrong = "ran twice";
    else if (s->fates[s->number] == RAN_NOT) s->wrong = "ran after all";
    else if (atoi(v[0]) != account_of(s->number) || atoi(v[1]) != 1 + account_of(s->number) % 4)
        s->wrong = "has arguments of another";
    return s->wrong != NULL; /* true: no more */
}
/* Runs clients with these settings, each its own; meanwhile `disturb` may do something. Returns how many calls ran. */
static int64_t payers(Payer like, const char *(*settings)[4], int n_settings, const char *(*disturb)(void),
                      stele_pool_info *info) {
    pthread_t threads[CLIENTS];
    Payer k[CLIENTS];
    int per = n_calls() / PER_BULK * PER_BULK, n = CLIENTS * per;
    Seen s = {.fates = calloc((size_t)n + 1, 1), .times = calloc((size_t)n + 1, 1), .n = n};
    run(conn, "delete from history; update accounts set bal = 0; update branches set bal = 0");
    stele_pool_get_info(conn, true, info);
    alarm(HANG_S);
    for (int i = 0; i < CLIENTS; i++) {
        k[i] = like;
        k[i].id = i, k[i].calls = per, k[i].fates = (uint8_t *)(uintptr_t)s.fates;
        memcpy(k[i].settings, settings[i % n_settings], sizeof k[i].settings);
        assert_int_equal(pthread_create(&threads[i], NULL, payer, &k[i]), 0);
    }
    const char *wrong = disturb ? disturb() : NULL;
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    alarm(0);
    if (wrong) fail_msg("%s failed", wrong);
    for (int i = 0; i < CLIENTS; i++)
        if (k[i].wrong) fail_msg("client %d: %s %s", i, k[i].wrong, k[i].state);
    stele_pool_get_info(conn, false, info);
    assert_int_equal(info->waiting, 0);
    (void)stele_exec(conn, "select aid, bid, delta from history", see_call, &s);
    if (s.wrong) fail_msg("call %lld %s", (long long)s.number, s.wrong);
    int64_t known = 0;
    for (int64_t i = 1; i <= n; i++) {
        known += s.fates[i] == RAN;
        if (s.fates[i] == RAN && !s.times[i]) fail_msg("call %lld left nothing", (long long)i);
    }
    gives(conn,
          "select (select sum(bal) from accounts) = sum(delta) and (select sum(bal) from branches) = sum(delta) from "
          "history",
          "t");
    gives(conn,
          "select count(*) from accounts a where bal <> coalesce((select sum(delta) from history h where h.aid = "
          "a.aid), 0)",
          "0");
    print_message("%d calls, %lld ran, %lld of them for sure; %lld bulks, %lld sent ahead\n", n, (long long)s.ran,
                  (long long)known, (long long)info->bulks, (long long)info->sent_ahead);
    free((void *)(uintptr_t)s.fates);
    free(s.times);
    return s.ran;
}

/* Until arguments have been sent ahead. */
static void payers_ahead(Payer like, const char *(*settings)[4], int n_settings, const char *(*disturb)(void)) {
    stele_pool_info info = {0};
    int64_t ran = 0;
    for (int again = 0; again < TRIES && (ran == 0 || info.sent_ahead == 0); again++)
        ran = payers(like, settings, n_settings, disturb, &info);
    assert_true(ran > 0 && info.sent_ahead > 0);
}

/* Calls are withdrawn by reset and free, at once or after a short wait, and by statement_timeout, whether they pend,
 * are gathered, or run. Where bulk_size is 5 an entry is a bulk alone, and lends its columns. */
static void withdrawn_ahead(void **state) {
    (void)state;
    const char *settings[][4] = {{AHEAD}, {AHEAD "set statement_timeout = '1ms'"}, {AHEAD "set bulk_size = 5"}};
    run(conn, PAY_LESS);
    payers_ahead((Payer){.withdraws = true}, settings, 3, NULL);
    run(conn, "drop procedure pay_less");
}

/* Definitions change while full bulks wait: calls of what is gone fail alone, and all others run once. */
static const char *redefine(void) {
    static const char pay[] =
        "create or replace procedure pay(a int, b int, d bigint, out balance bigint) language plpgsql as $$ begin %s"
        "  update accounts set bal = bal + d where aid = a returning bal into balance;"
        "  if not found then raise exception 'no account %%', a; end if;"
        "  update branches set bal = bal + d where bid = b; insert into history values (a, b, d); end $$";
    static char replace[600];
    const char *const texts[] = {
        replace,
        "create table passing(a int primary key, b text); create unique index passing_b on passing(b)",
        "drop procedure pay_less",
        PAY_LESS,
        "begin; drop procedure pay_less; rollback",
        "drop table passing"};
    const char *wrong = NULL;
    stele_conn *c;
    if (stele_connect(db, &c) != STELE_OK) return "connect";
    for (int i = 0; i < 36 && !wrong; i++) {
        snprintf(replace, sizeof replace, pay, i / 6 % 2 ? "" : "  balance := 0;");
        if (stele_exec(c, texts[i % 6], NULL, NULL) != STELE_OK) wrong = texts[i % 6];
        nap_ms(i % 4);
    }
    stele_disconnect(c);
    return wrong;
}
static void definitions_ahead(void **state) {
    (void)state;
    const char *settings[][4] = {{AHEAD}};
    run(conn, PAY_LESS);
    payers_ahead((Payer){.redefined = true}, settings, 1, redefine);
    run(conn, "drop procedure pay_less");
}

/* Clients whose settings differ, and change: a bulk that was sent ahead may grow or not, and the one after it may need
 * nothing of the device. */
static void settings_ahead(void **state) {
    (void)state;
    stele_pool_info info;
    const char *settings[][4] = {
        {AHEAD, AHEAD "set bulk_order = 'any'"},
        {AHEAD "set bulk_copies = off", AHEAD "set bulk_order = 'timestamp'", "set bulk_size = 7"},
        {AHEAD, "set executor = 'vm'"},
        {AHEAD, "set bulk_strategy = 'serial'", "set bulk_strategy = 'auto'", "set threads = 1"}};
    run(conn, PAY_LESS);
    int64_t ran = payers((Payer){0}, settings, 4, NULL, &info);
    assert_int_equal(ran, CLIENTS * (n_calls() / PER_BULK * PER_BULK));
    payers_ahead((Payer){.withdraws = true}, settings, 4, NULL);
    run(conn, "drop procedure pay_less");
}

/* Texts and arrays of all lengths. The client's memory for them is used again as soon as the results are there, or the
 * calls withdrawn. */
enum { TEXT_MAX = 400, ELEMENTS_MAX = 40 };
static void text_of(int64_t number, char *to) {
    int n = (int)(number * 37 % 300);
    if (number % 5 == 0) n = (int)(number % 14); /* around the longest that needs no memory of its own */
    for (int i = 0; i < n; i++) to[i] = (char)('a' + (number + i) % 26);
    to[n] = 0;
}
static int64_t array_of(int64_t number, char *to) {
    int64_t sum = 0;
    int n = (int)(number % ELEMENTS_MAX), at = snprintf(to, 2, "{");
    for (int i = 0; i < n; i++)
        at += snprintf(to + at, 16, "%s%lld", i ? "," : "", (long long)(number % 1000 + i)), sum += number % 1000 + i;
    snprintf(to + at, 2, "}");
    return sum;
}
static void *writer(void *arg) {
    Payer *k = arg;
    stele_bulk **b = k->b;
    k->seed = (unsigned)k->id + 1;
    if (stele_connect(db, &k->c) != STELE_OK || stele_exec(k->c, k->settings[0], NULL, NULL) != STELE_OK)
        k->wrong = "connect";
    for (int x = 0; x < QUEUED && !k->wrong; x++)
        if (stele_bulk_new(k->c, "note", &b[x]) != STELE_OK) k->wrong = "new";
    for (int i = 0; i < k->calls / PER_BULK + QUEUED && !k->wrong; i++) {
        int x = i % QUEUED;
        char number[24], t[TEXT_MAX], a[ELEMENTS_MAX * 16], sum[24];
        if (k->first[x]) {
            bool done = false, waits = rand_r(&k->seed) % 6 > 0;
            if (waits && (stele_bulk_wait(b[x], -1, &done) != STELE_OK || !done)) k->wrong = "wait";
            for (int j = 0; done && j < PER_BULK && !k->wrong; j++) {
                int64_t c = k->first[x] + j;
                text_of(c, t);
                snprintf(sum, sizeof sum, "%lld", (long long)array_of(c, a));
                const char *v = stele_bulk_value(b[x], j, 0, NULL);
                if (c % 11 == 0 ? v != NULL : !v || strcmp(v, t) != 0) k->wrong = "text";
                if (!(v = stele_bulk_value(b[x], j, 1, NULL)) || strcmp(v, sum) != 0) k->wrong = "sum";
            }
            for (int j = 0; j < PER_BULK; j++) k->fates[k->first[x] + j] = done ? RAN : UNKNOWN;
            k->first[x] = 0;
            if (rand_r(&k->seed) % 4) {
                stele_bulk_reset(b[x]);
            } else {
                stele_bulk_free(b[x]);
                if (stele_bulk_new(k->c, "note", &b[x]) != STELE_OK) k->wrong = "new";
            }
        }
        if (i >= k->calls / PER_BULK || k->wrong) continue;
        k->first[x] = k->id * k->calls + i * PER_BULK + 1;
        for (int j = 0; j < PER_BULK; j++) {
            int64_t c = k->first[x] + j;
            snprintf(number, sizeof number, "%lld", (long long)c);
            text_of(c, t);
            (void)array_of(c, a);
            if (stele_bulk_add(b[x], (const char *const[]){number, c % 11 == 0 ? NULL : t, a}) != STELE_OK)
                k->wrong = "add";
        }
        if (stele_bulk_submit(b[x]) != STELE_OK) k->wrong = "submit";
    }
    for (int x = 0; x < QUEUED; x++) stele_bulk_free(b[x]);
    stele_disconnect(k->c);
    return NULL;
}
static bool see_note(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Seen *s = ctx;
    char t[TEXT_MAX], a[ELEMENTS_MAX * 16];
    (void)n, (void)names;
    s->number = atoll(v[0]);
    s->ran++;
    if (s->number < 1 || s->number > s->n) return s->wrong = "no such call", true;
    text_of(s->number, t);
    if (s->times[s->number]++) s->wrong = "ran twice";
    else if (s->number % 11 == 0 ? v[1] != NULL : !v[1] || strcmp(v[1], t) != 0) s->wrong = "has another text";
    else if (atoll(v[2]) != array_of(s->number, a)) s->wrong = "has another array";
    return s->wrong != NULL; /* true: no more */
}
/* False: nothing was sent ahead. */
static bool sends_texts(void) {
    stele_pool_info info;
    pthread_t threads[CLIENTS];
    Payer k[CLIENTS];
    int per = n_calls() / PER_BULK * PER_BULK, n = CLIENTS * per;
    uint8_t *fates = calloc((size_t)n + 1, 1);
    Seen s = {.fates = fates, .times = calloc((size_t)n + 1, 1), .n = n};
    run(conn, "create table notes(k bigint, t text, s bigint);"
              "create procedure note(k bigint, t text, a int[], out o text, out s bigint) language plpgsql as $$ "
              "declare e int; begin s := 0;"
              "  foreach e in array a loop s := s + e; end loop; o := t; insert into notes values (k, t, s); end $$");
    stele_pool_get_info(conn, true, &info);
    alarm(HANG_S);
    for (int i = 0; i < CLIENTS; i++) {
        k[i] = (Payer){.id = i, .calls = per, .fates = fates, .settings = {i % 4 ? AHEAD : AHEAD "set bulk_size = 5"}};
        assert_int_equal(pthread_create(&threads[i], NULL, writer, &k[i]), 0);
    }
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    alarm(0);
    for (int i = 0; i < CLIENTS; i++)
        if (k[i].wrong) fail_msg("client %d: %s", i, k[i].wrong);
    (void)stele_exec(conn, "select k, t, s from notes", see_note, &s);
    if (s.wrong) fail_msg("call %lld %s", (long long)s.number, s.wrong);
    for (int64_t i = 1; i <= n; i++)
        if (fates[i] == RAN && !s.times[i]) fail_msg("call %lld left nothing", (long long)i);
    stele_pool_get_info(conn, false, &info);
    print_message("%d calls, %lld ran; %lld bulks, %lld sent ahead\n", n, (long long)s.ran, (long long)info.bulks,
                  (long long)info.sent_ahead);
    free(fates);
    free(s.times);
    run(conn, "drop procedure note; drop table notes");
    return info.sent_ahead > 0;
}
static void texts_ahead(void **state) {
    (void)state;
    bool sent = false;
    for (int again = 0; again < TRIES && !sent; again++) sent = sends_texts();
    assert_true(sent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone),
        cmocka_unit_test(functions),
        cmocka_unit_test(notices),
        cmocka_unit_test(statements_of_many),
        cmocka_unit_test(submissions_of_many),
        cmocka_unit_test(submissions_ahead),
        cmocka_unit_test(mixed),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(endless),
        cmocka_unit_test(rows),
        cmocka_unit_test(rows_of_many),
        cmocka_unit_test(rows_apart),
        cmocka_unit_test(rows_large),
        cmocka_unit_test(withdrawn),
        cmocka_unit_test(definitions),
        cmocka_unit_test(refused),
        cmocka_unit_test(withdrawn_ahead),
        cmocka_unit_test(definitions_ahead),
        cmocka_unit_test(settings_ahead),
        cmocka_unit_test(texts_ahead),
    };
    return cmocka_run_group_tests_name("callpool", tests, set_up, tear_down);
}
