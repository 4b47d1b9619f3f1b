/* test_slices.c - bulks in slices (session/pool/bulk_slices.c): the same results as in one piece, for whichever number
 * of calls; what others see and do in between, and what becomes of the calls that are left; bulks that must not be cut.
 * bulk_slice_calls cuts by number, so that nothing depends on time. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "base/log.h"
#include "db/lock.h"
#include "session/pool/bulk_slices.h"
#include "stele/stele.h"
#include "unit.h"

enum { CALLS = 60, ROOM = 1 << 16 };
static stele_db *db;
static stele_conn *conn, *other;

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
typedef struct Text {
    int64_t n;
    char at[ROOM];
} Text;
static void add(Text *t, const char *s) {
    const size_t n = strlen(s);
    assert_true(t->n + (int64_t)n < ROOM);
    memcpy(t->at + t->n, s, n + 1);
    t->n += (int64_t)n;
}
static bool add_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    for (int64_t i = 0; i < n; i++) {
        add(ctx, v[i] ? v[i] : "NULL");
        add(ctx, i + 1 < n ? "|" : "\n");
    }
    return false;
}
static void rows(stele_conn *c, const char *sql, Text *t) {
    if (stele_exec(c, sql, add_row, t) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    add(t, e.sqlstate);
}
static void gives(stele_conn *c, const char *sql, const char *expected) {
    static Text t;
    t.n = 0;
    t.at[0] = 0;
    rows(c, sql, &t);
    if (strcmp(t.at, expected) != 0) fail_msg("%s: %s, not %s", sql, t.at, expected);
}

/* From where they differ. */
static void same(const Text *whole, const Text *sliced) {
    int64_t at = 0, line = 0;
    for (; whole->at[at] && whole->at[at] == sliced->at[at]; at++)
        if (whole->at[at] == '\n') line = at + 1;
    if (whole->at[at] || sliced->at[at])
        fail_msg("%.300s\n---- as a whole:\n%.300s", sliced->at + line, whole->at + line);
}

/* Call i, of account 1 + i % 4: every 7th fails, every 5th says something, and all give a text and a balance. */
static const char *const routine =
    "create or replace procedure pay(n int, inout a int, d bigint, out bal bigint, out said text) language plpgsql as "
    "$$ begin update accounts set balance = balance + d where id = a returning balance into bal;"
    " if n % 5 = 2 then raise notice 'call % of %', n, a; end if; insert into log values (n, bal);"
    " if n % 7 = 3 then raise exception 'call % fails', n using hint = 'so it is'; end if;"
    " said := 'the balance of account ' || a || ' after call ' || n || ' is ' || bal; end $$";
static const char *const twice = "create or replace procedure twice(n int, out bal bigint) language plpgsql as $$ "
                                 "begin update accounts set balance = "
                                 "balance * 2 % 1000003 where id = 1 + n % 4 returning balance into bal; insert into "
                                 "log values (1000 + n, bal); end $$";
static const char *const looks = "create or replace procedure twice(n int, out bal bigint) language plpgsql as $$ "
                                 "begin select balance into bal from "
                                 "accounts where id = 1 + n % 4; end $$";
static const char *second;
static void fresh(void) {
    run(conn, "drop table if exists accounts; drop table if exists log; create table accounts(id int primary key, "
              "balance bigint not null); create table log(n int primary key, bal bigint); insert into accounts select "
              "i, 0 from generate_series(1, 4) g(i)");
    run(conn, routine);
    run(conn, second ? second : twice);
}

/* ---- between two slices ---- */
typedef struct Between {
    int n;
    int at; /* which time something is done: */
    const char *sql;
    stele_conn *interrupts;
    Text seen; /* on each, if asked for */
    const char *query;
} Between;
static Between between;
static void in_between(void *ctx) {
    Between *x = ctx;
    if (x->query) rows(other, x->query, &x->seen);
    if (x->n++ != x->at) return;
    if (x->sql) run(other, x->sql);
    if (x->interrupts) stele_interrupt(x->interrupts);
}
static void watch(const Between *x) {
    between = *x;
    bulk_slices_watch(in_between, &between);
}

static int set_up(void **state) {
    (void)state;
    stele_options o = {.threads = 2};
    if (stele_open(":memory:", &o, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK ||
        stele_connect(db, &other) != STELE_OK)
        return -1;
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    bulk_slices_watch(NULL, NULL);
    stele_disconnect(other);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}
static void cut(int calls) {
    char sql[64];
    snprintf(sql, sizeof sql, "set bulk_slice_calls = %d", calls);
    run(conn, sql);
}

/* ---- bulks ---- */
static Text notices;
static void note(void *ctx, const stele_notice *x) {
    (void)ctx;
    add(&notices, x->message);
    add(&notices, "\n");
}
static stele_bulk *make_pays(stele_conn *c, int n) {
    stele_bulk *b;
    assert_int_equal(stele_bulk_new(c, "pay", &b), STELE_OK);
    for (int i = 0; i < n; i++) {
        char number[16], account[16], d[16];
        snprintf(number, sizeof number, "%d", i);
        snprintf(account, sizeof account, "%d", 1 + i % 4);
        snprintf(d, sizeof d, "%d", 1 + i * i % 17);
        assert_int_equal(stele_bulk_add(b, (const char *const[]){number, account, d}), STELE_OK);
    }
    return b;
}
static void add_results(stele_bulk *b, Text *t) {
    for (int64_t i = 0; i < stele_bulk_count(b); i++) {
        stele_error_info e;
        (void)stele_bulk_status(b, i, &e);
        add(t, e.sqlstate);
        add(t, e.message);
        add(t, e.hint);
        add(t, e.context);
        for (int64_t k = 0; k < stele_bulk_out_count(b); k++) {
            const char *v = stele_bulk_value(b, i, k, NULL);
            add(t, "|");
            add(t, v ? v : "NULL");
        }
        add(t, "\n");
    }
}
static const char *const call_pay =
    "call bulk_call('pay', 'select i, 1 + i % 4, 1 + i * i % 17 from generate_series(0, 59) g(i) order by i')";
static const char *const all_rows = "select * from accounts order by id; select * from log order by n";

typedef enum Way { BY_RUN, BY_CALL, BY_POOL, WAYS } Way;
static void do_bulk(Way way, Text *t) {
    fresh();
    notices.n = 0;
    notices.at[0] = 0;
    if (way == BY_CALL) {
        rows(conn, call_pay, t);
    } else {
        stele_bulk *b = make_pays(conn, CALLS);
        if (way == BY_RUN) {
            assert_int_equal(stele_bulk_run(b), STELE_OK);
        } else {
            assert_int_equal(stele_bulk_submit(b), STELE_OK);
            assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
        }
        add_results(b, t);
        stele_bulk_info info;
        stele_bulk_get_info(b, &info);
        assert_int_equal(info.calls, CALLS);
        assert_int_equal(info.failed, 9);
        stele_bulk_free(b);
    }
    rows(conn, all_rows, t);
    add(t, notices.at);
}
/* Statuses, OUT values, messages, notices and tables are those of the bulk in one piece. */
static void equal(void **state) {
    (void)state;
    static Text whole, sliced;
    const int sizes[] = {1, 7, 16, 59, 60};
    stele_set_notice(conn, note, NULL);
    for (Way way = 0; way < WAYS; way++) {
        watch(&(Between){.at = -1});
        cut(0);
        whole.n = 0;
        do_bulk(way, &whole);
        assert_int_equal(between.n, 0);
        assert_true(strstr(whole.at, "call 3 fails") != NULL && strstr(notices.at, "call 2 of 3") != NULL);
        for (int i = 0; i < (int)ARRAY_LEN(sizes); i++) {
            cut(sizes[i]);
            watch(&(Between){.at = -1});
            sliced.n = 0;
            do_bulk(way, &sliced);
            same(&whole, &sliced);
            assert_int_equal(between.n, (CALLS + sizes[i] - 1) / sizes[i] - 1);
        }
    }
    stele_set_notice(conn, NULL, NULL);
}

/* A procedure that cannot be compiled, one call at a time. */
static void one_at_a_time(void **state) {
    (void)state;
    fresh();
    run(conn,
        "create or replace procedure odd(n int) language plpgsql as $$ begin if n = 5 then raise exception 'five'; "
        "end if; execute 'insert into log values (' || n || ', 0)'; end $$");
    cut(4);
    watch(&(Between){.at = -1, .query = "select count(*) from log"});
    static Text t;
    t.n = 0;
    rows(conn, "call bulk_call('odd', 'select i from generate_series(0, 9) g(i) order by i')", &t);
    if (!strstr(t.at, "6|P0001|five")) fail_msg("%s", t.at);
    assert_string_equal(between.seen.at, "4\n7\n");
    gives(conn, "select count(*) from log", "9\n");
}

/* Others see what the first calls did, and stele_bulks says why the bulk was cut. */
static void prefixes(void **state) {
    (void)state;
    fresh();
    cut(20);
    watch(&(Between){.at = -1, .query = "select count(*), max(n) from log"});
    stele_bulk *b = make_pays(conn, CALLS);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_free(b);
    assert_string_equal(between.seen.at, "17|19\n34|39\n");
    gives(conn, "select why_cut, calls, failed from stele_bulks order by bulk desc limit 3",
          "statement|20|3\nreaders wait|20|3\nreaders wait|20|3\n");
}

static void after(const char *sql, const char *sqlstate, int ok_after) {
    fresh();
    cut(20);
    watch(&(Between){.at = 1, .sql = sql});
    stele_bulk *b = make_pays(conn, CALLS);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    int done = 0;
    for (int i = 0; i < CALLS; i++) {
        stele_error_info e;
        if (stele_bulk_status(b, i, &e) == STELE_OK) done += i >= 40;
        else if (i % 7 != 3 || (i >= 40 && ok_after == 0)) assert_string_equal(e.sqlstate, i < 40 ? "" : sqlstate);
    }
    assert_int_equal(done, ok_after);
    stele_bulk_free(b);
    bulk_slices_watch(NULL, NULL);
}
/* Definitions that change in between: the calls that are left are as those of a new bulk. */
static void definitions(void **state) {
    (void)state;
    after("create table more(a int); drop table more", "", 17);
    after("drop table log", "42P01", 0);
    gives(conn, "select sum(balance) from accounts", "280\n");
    after("drop procedure pay", "42883", 0);
    gives(conn, "select count(*) from log", "34\n");
    after(routine, "42883", 0);
    gives(conn, "select count(*) from log", "34\n");
    after("update accounts set balance = 0; insert into log select -i, 0 from generate_series(1, 100) g(i)", "", 17);
    gives(conn, "select count(*) from log", "151\n");
    after("alter table accounts add column more int default 3", "", 17);
}

/* Cancelled in between: calls that have not begun fail, the others have been executed. */
static void canceled(void **state) {
    (void)state;
    fresh();
    cut(10);
    watch(&(Between){.at = 2, .interrupts = conn});
    stele_bulk *b = make_pays(conn, CALLS);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    for (int i = 0; i < CALLS; i++) {
        stele_error_info e;
        (void)stele_bulk_status(b, i, &e);
        assert_string_equal(e.sqlstate, i >= 30 ? "57014" : i % 7 == 3 ? "P0001" : "00000");
    }
    stele_bulk_info info;
    stele_bulk_get_info(b, &info);
    assert_int_equal(info.failed, 34);
    stele_bulk_free(b);
    gives(conn, "select count(*), max(n) from log", "26|29\n");
    assert_int_equal(between.n, 3);
    static Text t;
    t.n = 0;
    fresh();
    watch(&(Between){.at = 2, .interrupts = conn});
    rows(conn, call_pay, &t); /* the same in rows: the first calls have happened, and so the statement does not fail */
    const char *line = t.at;
    for (int i = 0; i < CALLS; i++) {
        char start[64];
        snprintf(start, sizeof start, "%d|%s|", i + 1, i >= 30 ? "57014" : i % 7 == 3 ? "P0001" : "NULL");
        if (strncmp(line, start, strlen(start)) != 0) fail_msg("call %d: %.100s", i, line);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(*line, 0);
    gives(conn, "select count(*), max(n) from log", "26|29\n");
}

/* Cancelled when all calls have been executed: what cannot be undone any more says so, the rest is undone. */
static void interrupt_on_notice(void *ctx, const stele_notice *x) {
    (void)x;
    stele_interrupt(ctx);
}
static void canceled_late(void **state) {
    (void)state;
    static const struct {
        const char *before, *sql;
        bool stands;
    } how[] = {
        {"set bulk_slice = 0", "call bulk_call('pay', 'select 2, 3, 10')", true},
        {"set bulk_slice = 0", "select * from bulk_call('pay', 'select 2, 3, 10')", false},
        {"begin", "call bulk_call('pay', 'select 2, 3, 10')", false},
        {"set bulk_interval = '10us'", "call pay(2, 3, 10, null, null)", true},
        {"set bulk_interval = 0", "call pay(2, 3, 10, null, null)", false},
    };
    cut(0);
    for (int i = 0; i < (int)ARRAY_LEN(how); i++) {
        static Text t;
        fresh();
        run(conn, how[i].before);
        t.n = 0;
        stele_set_notice(conn, interrupt_on_notice, conn);
        rows(conn, how[i].sql, &t);
        stele_set_notice(conn, NULL, NULL);
        if ((strcmp(t.at, "57014") != 0) != how[i].stands) fail_msg("%s: %s", how[i].sql, t.at);
        if (how[i].stands && !strstr(t.at, "|the balance of account 3 after call 2 is 10\n")) fail_msg("%s", t.at);
        if (stele_transaction_state(conn) != 'I') run(conn, "rollback");
        run(conn, "reset bulk_interval; reset bulk_slice");
        gives(conn, "select count(*), sum(bal) from log", how[i].stands ? "1|10\n" : "0|NULL\n");
    }
}

/* Readers beside a bulk are cancelled time and again, those that wait for the lock too: the bulk is as without them. */
typedef struct Canceled {
    stele_conn *c;
    atomic_bool stop, over; /* of the reader, of who cancels it */
    atomic_int canceled;
    char sqlstate[6];
} Canceled;
static void *read_for_long(void *arg) {
    Canceled *r = arg;
    while (!atomic_load(&r->stop)) {
        stele_error_info e;
        if (stele_exec(r->c,
                       "select count(*) from accounts a, log l, generate_series(1, 300) g(i), generate_series(1, 1000) "
                       "h(j) where (a.balance + l.n + i) % 7 = j % 5",
                       NULL, NULL) == STELE_OK)
            continue;
        stele_error(r->c, &e);
        if (strcmp(e.sqlstate, "57014") == 0) atomic_fetch_add(&r->canceled, 1);
        else if (strcmp(e.sqlstate, "42P01") != 0) memcpy(r->sqlstate, e.sqlstate, sizeof r->sqlstate); /* fresh() */
    }
    return NULL;
}
static void *cancel_reader(void *arg) {
    Canceled *r = arg;
    while (!atomic_load(&r->over)) {
        for (int i = 0; i < 100; i++) sched_yield();
        stele_interrupt(r->c);
    }
    return NULL;
}
static void readers_canceled(void **state) {
    (void)state;
    static Text whole, beside;
    cut(0);
    whole.n = 0;
    do_bulk(BY_RUN, &whole);
    for (int i = 0; i < 2; i++) {
        Canceled r = {.c = other};
        pthread_t reader, canceler;
        run(other, i == 0 ? "set snapshot = 'version'" : "set snapshot = 'lock'");
        cut(2);
        fresh();
        assert_int_equal(pthread_create(&reader, NULL, read_for_long, &r), 0);
        assert_int_equal(pthread_create(&canceler, NULL, cancel_reader, &r), 0);
        for (int round = 0; round < 3 || atomic_load(&r.canceled) == 0; round++) {
            beside.n = 0;
            do_bulk(BY_RUN, &beside);
            same(&whole, &beside);
        }
        atomic_store(&r.stop, true);
        pthread_join(reader, NULL);
        atomic_store(&r.over, true);
        pthread_join(canceler, NULL);
        assert_string_equal(r.sqlstate, "");
        run(other, "reset snapshot");
    }
    cut(0);
}

/* The lock is not to be had again in time: an error of the calls that are left. */
static void locked_out(void **state) {
    (void)state;
    fresh();
    cut(10);
    run(conn, "set lock_timeout = '20ms'; create table if not exists held(a int)");
    watch(&(Between){.at = 1, .sql = "begin; truncate held"});
    stele_bulk *b = make_pays(conn, CALLS);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    for (int i = 0; i < CALLS; i++) {
        stele_error_info e;
        (void)stele_bulk_status(b, i, &e);
        assert_string_equal(e.sqlstate, i >= 20 ? "55P03" : i % 7 == 3 ? "P0001" : "00000");
    }
    stele_bulk_reset(b);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"100", "1", "1"}), STELE_OK);
    run(other, "rollback");
    assert_int_equal(stele_bulk_submit(b), STELE_OK);
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    stele_bulk_free(b);
    gives(conn, "select count(*), max(n) from log", "18|100\n");
    run(conn, "reset lock_timeout");
}

/* ---- entries of the pool ---- */
enum { ENTRIES = 4 };
static const char *const full = "set bulk_interval = '60s'; set bulk_size = 5; set bulk_slice_calls = 2";
static stele_stmt *prepare_call(stele_conn *c) {
    stele_stmt *call;
    assert_int_equal(stele_prepare(c, "call pay($1, 1, 1, null, null)", -1, &call, NULL), STELE_OK);
    stele_bind_int64(call, 1, 70);
    run(c, "set bulk_interval = '1ms'");
    assert_int_equal(stele_run(call), STELE_DONE); /* the pool knows it now */
    stele_reset(call);
    run(c, full);
    stele_bind_int64(call, 1, 51);
    return call;
}
static void make_one(stele_bulk **b, int n) {
    char number[8];
    snprintf(number, sizeof number, "%d", n);
    assert_int_equal(stele_bulk_new(conn, "pay", b), STELE_OK);
    assert_int_equal(stele_bulk_add(*b, (const char *const[]){number, "1", "1"}), STELE_OK);
}
/* Entries of one call each, and a plain CALL behind them, are one bulk, which is cut when it is full. `sql` is run when
 * two calls have run. The errors of the entries; whether the CALL succeeds; rows of the log. */
static void run_entries(stele_conn *calls, const char *sql, const char *errors, bool ok, const char *log) {
    stele_bulk *b[ENTRIES];
    static Text t;
    t.n = 0;
    fresh();
    stele_stmt *call = prepare_call(calls);
    for (int i = 0; i < ENTRIES; i++) make_one(&b[i], 14 + 7 * i);
    watch(&(Between){.at = 0, .sql = sql, .query = "select count(*) from log"});
    for (int i = 0; i < ENTRIES; i++) assert_int_equal(stele_bulk_submit(b[i]), STELE_OK);
    assert_int_equal(stele_run(call) == STELE_DONE, ok);
    stele_finalize(call);
    for (int i = 0; i < ENTRIES; i++) {
        stele_error_info e;
        assert_int_equal(stele_bulk_wait(b[i], -1, NULL), STELE_OK);
        (void)stele_bulk_status(b[i], 0, &e);
        add(&t, e.sqlstate);
        add(&t, " ");
        stele_bulk_free(b[i]);
    }
    assert_string_equal(t.at, errors);
    bulk_slices_watch(NULL, NULL);
    gives(conn, "select n from log order by n", log);
}
/* A bulk of the pool is cut between entries; a plain CALL whose routine has changed by then runs as it is now. */
static void entries(void **state) {
    (void)state;
    stele_conn *calls;
    assert_int_equal(stele_connect(db, &calls), STELE_OK);
    run(conn, full);
    run_entries(calls, NULL, "00000 00000 00000 00000 ", true, "14\n21\n28\n35\n51\n70\n");
    assert_string_equal(between.seen.at, "3\n5\n");
    run_entries(calls, routine, "00000 00000 42883 42883 ", true, "14\n21\n51\n70\n");
    run_entries(calls, "drop procedure pay", "00000 00000 42883 42883 ", false, "14\n21\n70\n");
    run(conn, "reset bulk_interval; reset bulk_size");
    stele_disconnect(calls);
}

/* Bulks that a statement or transaction has to undo are not cut. */
static void whole(void **state) {
    (void)state;
    fresh();
    cut(5);
    watch(&(Between){.at = -1});
    gives(conn, "select count(*) from bulk_call('pay', 'select i, 1 + i % 4, 1 from generate_series(0, 59) g(i)')",
          "60\n");
    fresh();
    run(conn, "begin");
    static Text t;
    rows(conn, call_pay, &t);
    stele_bulk *b = make_pays(conn, CALLS);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_free(b);
    run(conn, "rollback");
    gives(conn, "select count(*) from log", "0\n");
    assert_int_equal(between.n, 0);
    run(conn, "set bulk_slice_calls = 0; set bulk_slice = 0");
    b = make_pays(conn, CALLS);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_free(b);
    assert_int_equal(between.n, 0);
    run(conn, "set bulk_slice = '5ms'");
}

/* Calls of two routines that came in turns. */
typedef struct Turns {
    BulkCalls groups[2];
    int32_t n[CALLS], account[CALLS], other[CALLS];
    int64_t d[CALLS];
    uint32_t numbers[2][CALLS];
    Vec params[2][3];
} Turns;
static Vec column(TypeId type, void *cells) {
    return (Vec){.data = cells, .phys = (uint8_t)type_phys(type_make(type)), .type = type_make(type)};
}
static void make_turns(Session *s, Turns *x) {
    memset(x, 0, sizeof *x);
    for (uint32_t i = 0; i < CALLS; i++) {
        const int k = i % 3 == 1;
        BulkCalls *g = &x->groups[k];
        if (k) x->other[g->n] = (int32_t)i;
        else x->n[g->n] = (int32_t)i, x->account[g->n] = 1 + (int32_t)i % 4, x->d[g->n] = 1 + i % 17;
        x->numbers[k][g->n++] = i;
    }
    x->params[0][0] = column(T_INT4, x->n);
    x->params[0][1] = column(T_INT4, x->account);
    x->params[0][2] = column(T_INT8, x->d);
    x->params[1][0] = column(T_INT4, x->other);
    assert_int_equal(session_begin_bulk(s), ST_OK);
    for (int k = 0; k < 2; k++) {
        x->groups[k].params = x->params[k];
        x->groups[k].calls = x->numbers[k];
        assert_int_equal(session_bulk_routine(s, slice_of(k ? "twice" : "pay"), &x->groups[k].routine), ST_OK);
    }
}
/* stops: of the group 1 the calls from that number on, once two slices have run; 0: none. */
typedef struct Stops {
    int from;
} Stops;
static bool some_stop(void *ctx) { return ((Stops *)ctx)->from > 0 && between.n > 1; }
static bool one_stops(void *ctx, int32_t group, int64_t call) {
    return some_stop(ctx) && group == 1 && call >= ((Stops *)ctx)->from;
}
static void run_turns(Session *s, int calls, Stops *stops, Text *t) {
    static Turns x;
    fresh();
    cut(calls);
    make_turns(s, &x);
    const BulkStop stop = {some_stop, one_stops, stops};
    CallPipeline pipeline = {.why_cut = "test", .stop = &stop};
    BulkResult *r = NULL;
    watch(&(Between){.at = -1});
    Status st = session_bulk_run_sliced(s, 2, x.groups, &pipeline, &r);
    assert_int_equal(session_end_statement(s, st), ST_OK);
    t->n = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < x.groups[k].n; i++) {
            char line[100];
            const CallError *e = r->errors[k][i];
            const Vec *bal = &r->outs[k][k ? 0 : 1];
            snprintf(line, sizeof line, "%d %lld %s %lld\n", k, (long long)i, e ? e->sqlstate : "00000",
                     bal->valid[i] ? (long long)((int64_t *)bal->data)[i] : -1);
            add(t, line);
        }
    for (int64_t i = 0; i < r->n_notices; i++) {
        char line[100];
        snprintf(line, sizeof line, "%d %lld %s\n", (int)r->notices[i].group, (long long)r->notices[i].call,
                 r->notices[i].message);
        add(t, line);
    }
    assert_int_equal(r->stats.n_calls, CALLS);
    for (int32_t k = 0; calls > 0 && r->group_order && k < 2; k++) assert_int_equal(r->group_order[k], k);
    bulk_result_free(r);
    rows(conn, all_rows, t);
}
static void two_routines(void **state) {
    (void)state;
    static Text as_whole, sliced;
    Session *s = conn->s;
    Stops none = {0}, some = {12};
    for (int i = 0; i < 4; i++) {
        run_turns(s, (const int[]){0, 1, 7, 31}[i], &none, i ? &sliced : &as_whole);
        if (i) same(&as_whole, &sliced);
    }
    /* In any order: those of one routine after those of the other, for all sizes of slices. */
    run(conn, "set bulk_order = 'any'");
    second = looks; /* a bulk runs those that only read first */
    run_turns(s, 1, &none, &as_whole);
    assert_true(strstr(as_whole.at, "1 0 00000") != NULL);
    for (int i = 0; i < 3; i++) {
        run_turns(s, (const int[]){7, 31, 50}[i], &none, &sliced);
        same(&as_whole, &sliced);
    }
    second = NULL;
    run(conn, "set bulk_order = 'timestamp'");
    /* 10 calls each: of group 1 calls 0 .. 6 are in the first two. */
    run_turns(s, 10, &some, &sliced);
    assert_true(strstr(sliced.at, "1 11 00000") && strstr(sliced.at, "1 12 57014") && strstr(sliced.at, "1 19 57014"));
    assert_true(strstr(sliced.at, "0 37 00000") != NULL);
    assert_true(strstr(sliced.at, "\n1034|") && !strstr(sliced.at, "\n1037|"));
    cut(0);
}

/* ---- the lock ---- */
typedef struct Reader {
    TxnLock *lock;
    atomic_int done;
} Reader;
static void *read_once(void *arg) {
    Reader *r = arg;
    Err e = {0};
    if (txn_lock_acquire(r->lock, LOCK_NONE, LOCK_SHARED, 0, NULL, &e) != ST_OK) return NULL;
    atomic_fetch_add(&r->done, 1);
    txn_lock_release(r->lock, LOCK_SHARED);
    return NULL;
}
static void *change_once(void *arg) {
    Reader *r = arg;
    Err e = {0};
    if (txn_lock_acquire(r->lock, LOCK_NONE, LOCK_EXCLUSIVE, 0, NULL, &e) == ST_OK)
        txn_lock_release(r->lock, LOCK_EXCLUSIVE);
    return NULL;
}
typedef struct Waits {
    Reader *reader;
    LockWait wait;
    bool got;
} Waits;
static void *wait_once(void *arg) {
    Waits *x = arg;
    Err e = {0};
    const Status st = txn_lock_acquire_or(x->reader->lock, LOCK_EXCLUSIVE, &x->wait, &x->got, &e);
    x->got = x->got && st == ST_OK;
    if (x->got) txn_lock_release(x->reader->lock, LOCK_EXCLUSIVE);
    return NULL;
}
/* A holder that takes the lock again behind the threads that wait finds that they have had it. */
static void behind(void **state) {
    (void)state;
    enum { READERS = 3 };
    Err e = {0};
    Reader r = {.lock = txn_lock_new(&e)};
    pthread_t threads[READERS];
    const LockWait w = {.behind = true};
    bool got = false;
    assert_non_null(r.lock);
    assert_int_equal(txn_lock_acquire(r.lock, LOCK_NONE, LOCK_EXCLUSIVE, 0, NULL, &e), ST_OK);
    assert_int_equal(txn_lock_waiters(r.lock), 0);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, read_once, &r), 0);
        while (txn_lock_waiters(r.lock) != i + 1) sched_yield();
    }
    txn_lock_release(r.lock, LOCK_EXCLUSIVE);
    assert_int_equal(txn_lock_acquire_or(r.lock, LOCK_EXCLUSIVE, &w, &got, &e), ST_OK);
    assert_true(got);
    assert_int_equal(atomic_load(&r.done), READERS);
    txn_lock_release(r.lock, LOCK_EXCLUSIVE);
    for (int i = 0; i < READERS; i++) pthread_join(threads[i], NULL);
    txn_lock_free(r.lock);
}

/* Threads that come again and again: none is alone while another holds a share, and all come to their end. */
typedef struct Rounds {
    TxnLock *lock;
    atomic_int readers, writers, wrong;
    int64_t n; /* changes with the lock held alone */
} Rounds;
enum { ROUNDS = 4000 };
static void *take_rounds(void *arg) {
    Rounds *t = arg;
    Err e = {0};
    for (int i = 0; i < ROUNDS; i++) {
        const LockMode want = i % 3 == 0 ? LOCK_EXCLUSIVE : LOCK_SHARED;
        const LockWait w = {.behind = i % 9 == 0};
        bool got = false;
        if (txn_lock_acquire_or(t->lock, want, &w, &got, &e) != ST_OK || !got) return "no lock";
        const bool alone = want == LOCK_EXCLUSIVE;
        atomic_fetch_add(alone ? &t->writers : &t->readers, 1);
        if (atomic_load(&t->writers) > (alone ? 1 : 0)) atomic_fetch_add(&t->wrong, 1);
        if (alone && atomic_load(&t->readers) > 0) atomic_fetch_add(&t->wrong, 1);
        t->n += alone;
        atomic_fetch_sub(alone ? &t->writers : &t->readers, 1);
        txn_lock_release(t->lock, want);
    }
    return NULL;
}
static void rounds(void **state) {
    (void)state;
    enum { THREADS = 6 };
    Err e = {0};
    Rounds t = {.lock = txn_lock_new(&e)};
    pthread_t threads[THREADS];
    assert_non_null(t.lock);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, take_rounds, &t), 0);
    for (int i = 0; i < THREADS; i++) {
        void *why = NULL;
        pthread_join(threads[i], &why);
        assert_null(why);
    }
    assert_int_equal(atomic_load(&t.wrong), 0);
    assert_int_equal(t.n, THREADS * ((ROUNDS + 2) / 3));
    assert_int_equal(txn_lock_waiters(t.lock), 0);
    txn_lock_free(t.lock);
}

/* The second of two waiters has the lock soon after the first has given it up, although no other thread asks for it: in
 * one try of many at least, before it looks by itself after 50 ms. */
static void second_waiter(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        Err e = {0};
        Reader r = {.lock = txn_lock_new(&e)};
        pthread_t threads[2];
        int64_t least_ns = INT64_MAX;
        assert_non_null(r.lock);
        for (int again = 0; again < 20 && least_ns > 30000000; again++) {
            Waits x = {.reader = &r, .wait = {.behind = kind == 1}};
            assert_int_equal(txn_lock_acquire(r.lock, LOCK_NONE, LOCK_EXCLUSIVE, 0, NULL, &e), ST_OK);
            assert_int_equal(pthread_create(&threads[0], NULL, change_once, &r), 0);
            while (txn_lock_waiters(r.lock) != 1) sched_yield();
            assert_int_equal(pthread_create(&threads[1], NULL, wait_once, &x), 0);
            while (txn_lock_waiters(r.lock) != 2) sched_yield();
            nanosleep(&(struct timespec){0, 3000000}, NULL);
            const int64_t began = clock_ns();
            txn_lock_release(r.lock, LOCK_EXCLUSIVE);
            for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
            assert_true(x.got);
            least_ns = MIN_OF(least_ns, clock_ns() - began);
        }
        assert_true(least_ns <= 30000000);
        txn_lock_free(r.lock);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(definitions),
        cmocka_unit_test(canceled),
        cmocka_unit_test(canceled_late),
        cmocka_unit_test(readers_canceled),
        cmocka_unit_test(locked_out),
        cmocka_unit_test(whole),
        cmocka_unit_test(entries),
        cmocka_unit_test(two_routines),
        cmocka_unit_test(behind),
        cmocka_unit_test(rounds),
        cmocka_unit_test(second_waiter),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
