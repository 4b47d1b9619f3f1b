/* test_bulk_beside.c - what runs beside bulks on the tables that they use: merges, and readers of all kinds when memory
 * gives out at any step, and when they are cancelled. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "session/pool/bulk_slices.h"
#include "stele/stele.h"
#include "unit.h"

static stele_db *db;
static stele_conn *conn, *reader;

typedef bool RowFn(void *ctx, int64_t n, const char *const *v, const char *const *names);
static void run_for(stele_conn *c, const char *sql, RowFn *row, void *ctx) {
    if (stele_exec(c, sql, row, ctx) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static void run(stele_conn *c, const char *sql) { run_for(c, sql, NULL, NULL); }
static bool number_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)names;
    *(int64_t *)ctx = v[0] ? strtoll(v[0], NULL, 10) : INT64_MIN;
    return false;
}
static int64_t number(stele_conn *c, const char *sql) {
    int64_t x = -1;
    run_for(c, sql, number_row, &x);
    return x;
}
/* Nothing here depends on time. */
#define RESET "reset all; set lock_timeout = 0"
static int open_db(void **state) {
    (void)state;
    stele_options o = {.threads = 1};
    if (stele_open(NULL, &o, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK ||
        stele_connect(db, &reader) != STELE_OK)
        return -1;
    run(conn, RESET);
    run(reader, RESET);
    return 0;
}
static int close_db(void **state) {
    (void)state;
    stele_disconnect(conn);
    stele_disconnect(reader);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

/* ---- merges ---- */
/* Rows outside of packed tablets. */
#define LOOSE "select coalesce(sum(rows), 0) from stele_tablets where table_name = 'line' and form <> 'packed'"
enum { ROWS = 120000, IDLE = 16 /* IMAGES_IDLE */ };
static void insert_rows(int64_t from) {
    char sql[200];
    snprintf(sql, sizeof sql, "call bulk_call('put', 'select i from generate_series(%lld, %lld) g(i)')",
             (long long)from, (long long)(from + ROWS - 1));
    run(conn, sql);
}
/* The table is not merged as long as bulks use it, however much they insert and others read; when they do not any more,
 * it is, and so it is when most rows of it are gone. */
static void merges(void **state) {
    (void)state;
    run(conn, "create table line(n int, at int); create table other(a int); create procedure put(i int) language "
              "plpgsql as $$ begin insert into line values (i, i % 7); end $$");
    for (int64_t k = 0; k < 3; k++) {
        insert_rows(1 + k * ROWS);
        assert_int_equal(number(conn, "select count(*) from line"), (k + 1) * ROWS); /* the table has them */
        run(conn, "insert into other values (1)"); /* ends with a merge where one is due */
        assert_int_equal(number(conn, LOOSE), (k + 1) * ROWS);
    }
    for (int i = 0; i < IDLE; i++) run(conn, "insert into other values (1)");
    assert_int_equal(number(conn, LOOSE), 0);
    insert_rows(1 + 3 * ROWS);
    assert_int_equal(number(conn, "select count(*) from line"), 4 * ROWS);
    run(conn, "insert into other values (1)");
    assert_int_equal(number(conn, LOOSE), ROWS);
    run(conn, "delete from line where n % 10 <> 0");
    assert_int_equal(number(conn, LOOSE), 0);
    assert_int_equal(number(conn, "select count(*) from line"), 4 * ROWS / 10);
}

/* ---- every allocation of readers fails once ---- */
/* Every call adds 1 to one of four purses, by turns, and writes a line. T calls have been made. */
static const char *const purses =
    "create table purse(k int primary key, bal bigint not null, word text); create table line(n int primary key, k "
    "int, word text); insert into purse select i, 0, 'none' from generate_series(0, 3) g(i); create procedure pay(i "
    "int, w text, out now bigint) language plpgsql as $$ begin update purse set bal = bal + 1, word = w where k = i % "
    "4 returning bal into now; insert into line values (i, i % 4, w); end $$";
enum { CALLS = 20 };
static int64_t calls; /* T */
static void pay(stele_conn *c) {
    char sql[200];
    snprintf(sql, sizeof sql,
             "call bulk_call('pay', 'select i, ''word '' || i %% 5 from generate_series(%lld, %lld) g(i)')",
             (long long)calls, (long long)(calls + CALLS - 1));
    run(c, sql);
    calls += CALLS;
}
/* What comes to T, and statements that leave it. */
static const char *const looks[] = {
    "select sum(bal) from purse",
    "select count(*) from line",
    "select 4 * bal from purse where k = 1",
    "select 4 * bal from purse where k = 2 and word like 'word%'",
    "select sum(c) from (select word, count(*) as c from line group by word) q",
    "select count(*) from line join purse using (k) where line.word like 'word%'",
    "select count(*) from line a left join line b on b.n = a.n + 1 where a.word <> b.word or b.n is null",
    "select count(*) from (select n, word from line order by word desc, n) q",
    "begin; select sum(bal) from purse; select count(*) from line; commit",
    "prepare p as select sum(bal) from purse where word like 'word%'; execute p; deallocate p",
    "create temp table kept as select * from line where n % 2 = 0; select 2 * count(*) from kept; drop table kept",
};
static const char *const leave[] = {
    "vacuum",
    "analyze line",
    "update purse set word = 'none' where k = 3",
    "update line set word = word || '.' where n % 3 = 1",
    "begin; update purse set bal = bal + 1; rollback",
    "begin; delete from line where n < 5; select count(*) from line; rollback",
    "explain analyze select sum(bal) from purse",
    "alter table purse add column more int; alter table purse drop column more",
    "copy line to '/tmp/stele_test_bulk_beside.csv' with (format csv)",
};
static void tables_are_right(const char *sql, int64_t n) {
    const int64_t sum = number(conn, "select sum(bal) from purse"), lines = number(conn, "select count(*) from line");
    if (sum != calls || lines != calls)
        fail_msg("allocation %lld of %s: %lld calls, sum %lld, %lld lines", (long long)n, sql, (long long)calls,
                 (long long)sum, (long long)lines);
}
static void back_to_idle(stele_conn *c) {
    if (stele_transaction_state(c) != 'I') run(c, "rollback");
    (void)stele_exec(c, "deallocate p", NULL, NULL);
    run(c, "drop table if exists kept");
    if (number(c, "select count(*) from stele_tablet_columns where table_name = 'purse' and column_name = 'more'") > 0)
        run(c, "alter table purse drop column more");
}
/* Right, or out of memory; whether the allocation was reached. */
static bool look_without_memory(stele_conn *c, const char *sql, bool counts, int64_t n) {
    int64_t got = calls;
    mem_fail_at(n);
    const stele_status r = stele_exec(c, sql, counts ? number_row : NULL, &got);
    const bool reached = mem_fail_at(0) <= 0;
    if (r == STELE_OK && got != calls)
        fail_msg("allocation %lld of %s: %lld, not %lld", (long long)n, sql, (long long)got, (long long)calls);
    if (r == STELE_OK) return reached;
    stele_error_info e;
    stele_error(c, &e);
    if (!reached || (strcmp(e.sqlstate, "53200") != 0 && strcmp(e.sqlstate, "53400") != 0))
        fail_msg("allocation %lld of %s: %s %s", (long long)n, sql, e.sqlstate, e.message);
    back_to_idle(c);
    return reached;
}
static int64_t next(int64_t n) { return n < 40 ? n + 1 : n + 1 + n / 10; }
static void without_memory(const char *settings) {
    calls = 0;
    run(conn, purses);
    run(conn, settings);
    run(reader, settings);
    const size_t n_looks = sizeof looks / sizeof looks[0], n_leave = sizeof leave / sizeof leave[0];
    for (size_t i = 0; i < n_looks + n_leave; i++) {
        const char *sql = i < n_looks ? looks[i] : leave[i - n_looks];
        bool reached = true;
        for (int64_t n = 1; reached; n = next(n)) {
            pay(conn);
            reached = look_without_memory(reader, sql, i < n_looks, n);
            tables_are_right(sql, n);
        }
        run(conn, "delete from line where n >= 100; update purse set bal = 25"); /* it stays small */
        calls = 100;
    }
    run(conn, "drop procedure pay; drop table purse; drop table line");
    run(conn, RESET);
    run(reader, RESET);
}
#define KERNELS "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; "
static void readers_without_memory(void **state) {
    (void)state;
    without_memory("set executor = 'vm'");
    without_memory("set snapshot = 'version'");
    without_memory(KERNELS);
    without_memory(KERNELS "set bulk_copies = on");
}

/* ---- every allocation of writers fails once, beside a snapshot ---- */
/* %d: numbers of new lines. Each leaves as many lines as the purses have. */
static const char *const writers[] = {
    "call bulk_call('pay', 'select i, ''word '' || i from generate_series(%d, %d) g(i)')",
    "select count(*) from bulk_call('pay', 'select i, ''word '' || i from generate_series(%d, %d) g(i)') x",
    "begin; call bulk_call('pay', 'select i, ''word '' || i from generate_series(%d, %d) g(i)'); commit",
    "update line set word = word || '.' where n <> %d", /* of so many rows that columns are opened */
    "update purse set word = 'rich' where k <> %d",
    "begin; insert into line values (%d, 0, 'alone'); update purse set bal = bal + 1 where k = 0; commit",
    "vacuum",
};
/* Or it is too old, where there was no memory to keep what it needs: what others have committed stays. */
static bool snapshot_is_kept(const char *sql, int64_t n, int64_t was) {
    int64_t sum = -1, lines = -1;
    if (stele_exec(reader, "select sum(bal) from purse", number_row, &sum) != STELE_OK ||
        stele_exec(reader, "select count(*) from line", number_row, &lines) != STELE_OK) {
        stele_error_info e;
        stele_error(reader, &e);
        if (strcmp(e.sqlstate, "72000") != 0)
            fail_msg("allocation %lld of %s: the snapshot: %s %s", (long long)n, sql, e.sqlstate, e.message);
        return false;
    }
    if (sum != was || lines != was)
        fail_msg("allocation %lld of %s: the snapshot of %lld has sum %lld, %lld lines", (long long)n, sql,
                 (long long)was, (long long)sum, (long long)lines);
    return true;
}
static void write_without_memory(const char *format, int64_t *first) {
    bool reached = true;
    int64_t kept = 0;
    for (int64_t n = 1; reached; n = next(n)) {
        char sql[200];
        snprintf(sql, sizeof sql, format, (int)*first, (int)*first + CALLS - 1);
        *first += CALLS;
        pay(conn); /* images are ahead */
        run(reader, "begin");
        assert_true(snapshot_is_kept(sql, n, calls));
        mem_fail_at(n);
        const stele_status r = stele_exec(conn, sql, NULL, NULL);
        reached = mem_fail_at(0) <= 0;
        if (r != STELE_OK) {
            stele_error_info e;
            stele_error(conn, &e);
            if (strcmp(e.sqlstate, "53200") != 0 && strcmp(e.sqlstate, "53400") != 0)
                fail_msg("allocation %lld of %s: %s %s", (long long)n, sql, e.sqlstate, e.message);
            if (stele_transaction_state(conn) != 'I') run(conn, "rollback");
        }
        kept += snapshot_is_kept(sql, n, calls);
        run(reader, "rollback");
        calls = number(conn, "select sum(bal) from purse");
        tables_are_right(sql, n);
    }
    assert_true(kept > 0);
}
static void writers_beside_a_snapshot(const char *settings) {
    int64_t first = 1000000;
    calls = 0;
    run(conn, purses);
    run(conn, settings);
    run(reader, settings);
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        write_without_memory(writers[i], &first);
        run(conn, "truncate line; update purse set bal = 0; vacuum"); /* it stays small, and is packed */
        calls = 0;
    }
    run(conn, "drop procedure pay; drop table purse; drop table line");
    run(conn, RESET);
    run(reader, RESET);
}
static void writers_without_memory(void **state) {
    (void)state;
    writers_beside_a_snapshot("set executor = 'vm'");
    writers_beside_a_snapshot("set bulk_slice_calls = 7");
    writers_beside_a_snapshot(KERNELS);
    writers_beside_a_snapshot(KERNELS "set bulk_copies = on");
}

/* ---- readers between slices ---- */
/* A reader that finds no memory between two slices of a bulk does not disturb it. */
typedef struct Gap {
    int at, n; /* which one; how many there were */
    const char *sql;
    int64_t fail_at;
    bool reached;
} Gap;
static void read_in_gap(void *ctx) {
    Gap *g = ctx;
    if (g->n++ != g->at) return;
    mem_fail_at(g->fail_at);
    const stele_status r = stele_exec(reader, g->sql, NULL, NULL);
    g->reached = mem_fail_at(0) <= 0;
    if (r != STELE_OK) {
        stele_error_info e;
        stele_error(reader, &e);
        if (!g->reached || (strcmp(e.sqlstate, "53200") != 0 && strcmp(e.sqlstate, "53400") != 0))
            fail_msg("allocation %lld of %s: %s %s", (long long)g->fail_at, g->sql, e.sqlstate, e.message);
    }
    back_to_idle(reader);
}
static void without_memory_in_gaps(const char *settings) {
    calls = 0;
    run(conn, purses);
    run(conn, settings);
    run(reader, settings);
    run(conn, "set bulk_slice_calls = 7");
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        Gap g = {.at = (int)i % 2, .sql = looks[i], .reached = true};
        bulk_slices_watch(read_in_gap, &g);
        while (g.reached) {
            g.n = 0;
            g.fail_at = next(g.fail_at);
            g.reached = false;
            pay(conn);
            assert_int_equal(g.n, 2);
            tables_are_right(looks[i], g.fail_at);
        }
        bulk_slices_watch(NULL, NULL);
        run(conn, "truncate line; update purse set bal = 0");
        calls = 0;
    }
    run(conn, "drop procedure pay; drop table purse; drop table line");
    run(conn, RESET);
    run(reader, RESET);
}
static void readers_in_gaps(void **state) {
    (void)state;
    without_memory_in_gaps("set executor = 'vm'");
    without_memory_in_gaps("set snapshot = 'version'");
    without_memory_in_gaps(KERNELS "set bulk_copies = on");
}

/* ---- cancelling ---- */
/* Connections that do something until they are told to stop, while some of them are interrupted time and again. */
enum { OTHERS = 4, INTERRUPTED = 2 /* of them */ };
typedef struct Other {
    stele_conn *c;
    pthread_t thread;
    atomic_bool *stop;
    atomic_int done, canceled;
    char wrong[200];
} Other;
static void note_error(Other *o) {
    stele_error_info e;
    stele_error(o->c, &e);
    if (strcmp(e.sqlstate, "57014") == 0) atomic_fetch_add(&o->canceled, 1);
    else snprintf(o->wrong, sizeof o->wrong, "%s %s", e.sqlstate, e.message);
}
static void *read_on(void *arg) {
    Other *o = arg;
    while (!atomic_load(o->stop)) {
        int64_t difference = 0;
        if (stele_exec(o->c,
                       "select max(p.bal) - min(p.bal) from purse p, generate_series(1, 100) g(i), generate_series(1, "
                       "200) h(j) where (p.bal + i) % 7 <> j % 5 + 10",
                       number_row, &difference) != STELE_OK)
            note_error(o);
        else if (difference < 0 || difference > 1) /* 1: between two slices */
            snprintf(o->wrong, sizeof o->wrong, "purses differ by %lld", (long long)difference);
        else atomic_fetch_add(&o->done, 1);
    }
    return NULL;
}
/* Single calls, through the pool. */
static void *call_on(void *arg) {
    Other *o = arg;
    stele_stmt *st = NULL;
    if (stele_prepare(o->c, "call add(1, null)", -1, &st, NULL) != STELE_OK) note_error(o);
    while (st && !atomic_load(o->stop)) {
        const stele_status r = stele_run(st);
        if (r == STELE_ERROR) note_error(o);
        else atomic_fetch_add(&o->done, 1);
        stele_reset(st);
    }
    stele_finalize(st);
    return NULL;
}
static void *interrupt(void *arg) {
    Other *o = arg;
    while (!atomic_load(o->stop)) {
        for (int i = 0; i < 100; i++) sched_yield();
        for (int i = 0; i < INTERRUPTED; i++) stele_interrupt(o[i].c);
    }
    return NULL;
}
/* Runs 20 rounds at least, and until others have done something and those that are interrupted have noticed. */
static void beside_interrupted(const char *settings, const char *more, void *(*what)(void *), Other o[OTHERS],
                               void (*round)(void)) {
    atomic_bool stop = false, over = false;
    pthread_t interrupter;
    run(conn, settings);
    for (int i = 0; i < OTHERS; i++) {
        o[i] = (Other){.stop = &stop};
        assert_int_equal(stele_connect(db, &o[i].c), STELE_OK);
        run(o[i].c, RESET);
        run(o[i].c, settings);
        run(o[i].c, more);
    }
    Other list[INTERRUPTED]; /* until the others have ended */
    for (int i = 0; i < INTERRUPTED; i++) list[i] = (Other){.c = o[i].c, .stop = &over};
    for (int i = 0; i < OTHERS; i++) assert_int_equal(pthread_create(&o[i].thread, NULL, what, &o[i]), 0);
    assert_int_equal(pthread_create(&interrupter, NULL, interrupt, list), 0);
    bool all = false;
    for (int k = 0; k < 20 || !all; k++) {
        round();
        all = true;
        for (int i = 0; i < OTHERS; i++)
            all &= o[i].wrong[0] || atomic_load(i < INTERRUPTED ? &o[i].canceled : &o[i].done) > 0;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < OTHERS; i++) pthread_join(o[i].thread, NULL);
    atomic_store(&over, true);
    pthread_join(interrupter, NULL);
    for (int i = 0; i < OTHERS; i++) {
        if (o[i].wrong[0]) fail_msg("connection %d: %s", i, o[i].wrong);
        if (i >= INTERRUPTED) assert_int_equal(atomic_load(&o[i].canceled), 0);
        stele_disconnect(o[i].c);
    }
    run(conn, RESET);
}
static void pay_round(void) {
    pay(conn);
    if (calls >= 2000) {
        run(conn, "begin; truncate line; update purse set bal = 0; commit");
        calls = 0;
    }
    tables_are_right("cancelling", 0);
}
/* Readers that are interrupted, and others, beside bulks: these are as without them. */
static void readers_canceled(void **state) {
    (void)state;
    static const char *const how[] = {"set executor = 'vm'", "set bulk_slice_calls = 3", KERNELS,
                                      KERNELS "set bulk_copies = on"};
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        Other o[OTHERS];
        calls = 0;
        run(conn, purses);
        beside_interrupted(how[i], "", read_on, o, pay_round);
        run(conn, "drop procedure pay; drop table purse; drop table line");
    }
}
static void add_round(void) { run(conn, "call bulk_call('add', 'select 0 from generate_series(1, 20) g(i)')"); }
/* Calls of connections that are interrupted, and of others, in the same bulks of the pool: a call counts if it says so,
 * and nothing else. */
static void callers_canceled(void **state) {
    (void)state;
    static const char *const how[] = {"set executor = 'vm'", "set bulk_slice_calls = 3", KERNELS,
                                      KERNELS "set bulk_copies = on"};
    for (size_t i = 0; i < sizeof how / sizeof how[0]; i++) {
        Other o[OTHERS];
        int64_t done = 0;
        run(conn, "create table total(k int primary key, n bigint not null); insert into total values (1, 0); create "
                  "procedure add(d int, out now bigint) language plpgsql as $$ begin for i in 1 .. 50 loop update "
                  "total set n = n + d where k = 1 returning n into now; end loop; end $$");
        beside_interrupted(how[i], "set bulk_interval = '200us'", call_on, o, add_round);
        for (int k = 0; k < OTHERS; k++) done += atomic_load(&o[k].done);
        assert_int_equal(number(conn, "select n from total"), 50 * done);
        run(conn, "drop procedure add; drop table total");
    }
}

/* ---- the query of bulk_call ---- */
#define TOTAL                                                                                                      \
    "create table total(k int primary key, n bigint not null); insert into total values (1, 0); create procedure " \
    "compare(seen bigint, out same bool) language plpgsql as $$ declare now bigint; begin select n into now from " \
    "total where k = 1; same := now = seen; end $$"
static void *run_long(void *arg) {
    Other *o = arg;
    if (stele_exec(o->c,
                   "call bulk_call('compare', 'select 0::bigint from generate_series(1, 100000) g(i), "
                   "generate_series(1, 100000) h(j) where i + j < 0')",
                   NULL, NULL) != STELE_OK)
        note_error(o);
    return NULL;
}
/* Others read under the lock while the query runs; what is changed waits. */
static void reads_beside_a_query(void **state) {
    (void)state;
    Other o = {.c = conn};
    stele_error_info e;
    run(conn, TOTAL);
    assert_int_equal(pthread_create(&o.thread, NULL, run_long, &o), 0);
    run(reader, "set snapshot = 'lock'; set lock_timeout = '5ms'");
    while (stele_exec(reader, "update total set n = 0", NULL, NULL) == STELE_OK) sched_yield();
    stele_error(reader, &e);
    assert_string_equal(e.sqlstate, "55P03");
    run(reader, "set lock_timeout = '600s'");
    assert_int_equal(number(reader, "select count(*) from total"), 1);
    stele_interrupt(conn);
    pthread_join(o.thread, NULL);
    assert_string_equal(o.wrong, "");
    assert_int_equal(atomic_load(&o.canceled), 1);
    run(reader, RESET);
}
static void *change_on(void *arg) {
    Other *o = arg;
    while (!atomic_load(o->stop)) {
        if (stele_exec(o->c, "update total set n = n + 1", NULL, NULL) != STELE_OK) note_error(o);
        else atomic_fetch_add(&o->done, 1);
    }
    return NULL;
}
/* Calls see what their query has seen, although others change it as often as they can: of those that wait for long
 * enough, one comes behind the query. */
static void changes_beside_a_query(void **state) {
    (void)state;
    atomic_bool stop = false;
    Other o = {.c = reader, .stop = &stop};
    run(conn, TOTAL "; set bulk_slice = 0");
    assert_int_equal(pthread_create(&o.thread, NULL, change_on, &o), 0);
    while (atomic_load(&o.done) == 0) sched_yield();
    int64_t different = 0;
    for (int i = 0; i < 40; i++) {
        stele_stmt *st = NULL;
        assert_int_equal(stele_prepare(conn,
                                       "call bulk_call('compare', 'select n from total, generate_series(1, 1000000) "
                                       "g(i) where i % 100000 = 7')",
                                       -1, &st, NULL),
                         STELE_OK);
        while (stele_step(st) == STELE_ROW)
            different += strcmp(stele_column_text(st, stele_column_count(st) - 1, NULL), "t") != 0;
        stele_finalize(st);
    }
    atomic_store(&stop, true);
    pthread_join(o.thread, NULL);
    assert_string_equal(o.wrong, "");
    assert_int_equal(different, 0);
    run(conn, RESET);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(merges, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(readers_without_memory, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(writers_without_memory, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(readers_in_gaps, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(readers_canceled, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(callers_canceled, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(reads_beside_a_query, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(changes_beside_a_query, open_db, close_db)};
    return cmocka_run_group_tests_name("bulks beside others", tests, NULL, NULL);
}
