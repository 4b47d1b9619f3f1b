/* test_bulk_beside.c - what runs beside bulks on the tables that they use: merges, and readers of all kinds when memory
 * gives out at any step. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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
static int open_db(void **state) {
    (void)state;
    stele_options o = {.threads = 1};
    return stele_open(NULL, &o, &db, NULL) == STELE_OK && stele_connect(db, &conn) == STELE_OK &&
                   stele_connect(db, &reader) == STELE_OK
               ? 0
               : -1;
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
    run(conn, "reset all");
    run(reader, "reset all");
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
    run(conn, "reset all");
    run(reader, "reset all");
}
static void writers_without_memory(void **state) {
    (void)state;
    writers_beside_a_snapshot("set executor = 'vm'");
    writers_beside_a_snapshot("set bulk_slice_calls = 7");
    writers_beside_a_snapshot(KERNELS);
    writers_beside_a_snapshot(KERNELS "set bulk_copies = on");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(merges, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(readers_without_memory, open_db, close_db),
                                       cmocka_unit_test_setup_teardown(writers_without_memory, open_db, close_db)};
    return cmocka_run_group_tests_name("bulks beside others", tests, NULL, NULL);
}
