/* recompile.c - what a definition, or a statement that is new, costs calls and statements that do not depend on it.
 *
 *     ninja -C build/release stele-recompile && build/release/stele-recompile [PROCEDURES [ROWS]]
 *
 * A database with procedures (100) over tables with so many rows (100,000) runs bulks and statements of the pool of
 * calls. In each line the first run after something has happened stands beside the next one, which is what it takes
 * when nothing has: milliseconds, the least, the median and the most of several times.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stele/stele.h"

enum { TABLES = 10, TIMES = 21 };
static stele_conn *conn;

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
static void run(const char *sql) {
    if (stele_exec(conn, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(conn, &e);
    fprintf(stderr, "%s: %s\n", sql, e.message);
    exit(1);
}
static void run_with(const char *format, int a, int b, int c) {
    char sql[1024];
    snprintf(sql, sizeof sql, format, a, b, c);
    run(sql);
}
static void set_up(int procedures, int rows) {
    for (int t = 0; t < TABLES; t++) {
        run_with("create table account%d(id int primary key, branch int not null, balance bigint not null, note int)",
                 t, 0, 0);
        run_with("insert into account%d select g, g %% 100, 0, 0 from generate_series(1, %d) g", t, rows, 0);
        run_with("create table history%d(id int, amount bigint)", t, 0, 0);
    }
    for (int p = 0; p < procedures; p++)
        run_with(p % 2 ? "create procedure look_%d(a int, d int, out x bigint) language plpgsql as $$ begin"
                         " select balance into x from account%d where id = a; if x is null then"
                         " raise exception 'no account %%', a; end if; end $$"
                       : "create procedure pay_%d(a int, d int) language plpgsql as $$ begin"
                         " update account%d set balance = balance + d where id = a;"
                         " if not found then raise exception 'no account %%', a; end if;"
                         " insert into history%d values (a, d); end $$",
                 p, p / 2 % TABLES, p / 2 % TABLES);
}

/* ---- what is measured ---- */
static stele_stmt *prepared;
static void prepare(const char *format, int a, int b) {
    char sql[256];
    stele_finalize(prepared);
    snprintf(sql, sizeof sql, format, a, b);
    if (stele_prepare(conn, sql, -1, &prepared, NULL) != STELE_OK) exit(1);
}
static void run_prepared(void) {
    stele_bind_int64(prepared, 1, 1);
    stele_bind_int64(prepared, 2, 7);
    if (stele_run(prepared) != STELE_DONE) {
        stele_error_info e;
        stele_error(conn, &e);
        fprintf(stderr, "%s\n", e.message);
        exit(1);
    }
    stele_reset(prepared);
}
static void run_bulk(void) {
    run("select count(sqlstate) from bulk_call('pay_0', 'select g, 1 from generate_series(1, 100) g')");
}
static void run_select(void) {
    run("select count(*), sum(a.balance) from account1 a join account2 b on a.id = b.id where a.id < 10");
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void line(const char *what, double *first, double *next) {
    qsort(first, TIMES, sizeof *first, by_value);
    qsort(next, TIMES, sizeof *next, by_value);
    printf("  \"%s\": {\"first_ms\": [%.3f, %.3f, %.3f], \"next_ms\": [%.3f, %.3f, %.3f]}", what, first[0],
           first[TIMES / 2], first[TIMES - 1], next[0], next[TIMES / 2], next[TIMES - 1]);
}
/* before: what happens before each first run, not measured; NULL: preparing the text is part of it. */
static void measure(const char *what, void (*before)(int i), void (*work)(void), void (*part)(int i), bool last) {
    double first[TIMES], next[TIMES];
    for (int i = 0; i < TIMES; i++) {
        if (before) before(i);
        double t0 = now_ms();
        if (part) part(i);
        work();
        double t1 = now_ms();
        work();
        first[i] = t1 - t0;
        next[i] = now_ms() - t1;
    }
    line(what, first, next);
    printf(last ? "\n" : ",\n");
    fflush(stdout);
}
static void create_drop(int i) {
    static int there;
    (void)i;
    run(there++ % 2 ? "drop table other" : "create table other(a int primary key, b text)");
}
static void new_procedure(int i) {
    run_with("create procedure later_%d(a int, d int, out x bigint) language plpgsql as $$ begin"
             " select balance + %d into x from account3 where id = a; end $$",
             i, i, 0);
}
static void new_writer(int i) {
    run_with("create procedure note_%d(a int, d int) language plpgsql as $$ begin"
             " update account%d set note = d where id = a; end $$",
             i, i % TABLES, 0);
}
static void new_text(int i) { prepare("update account1 set balance = balance + $2 + %d where id = $1", i, 0); }
static void new_column(int i) { prepare("update account1 set note = $2 + %d where id = $1", i, 0); }
static void new_table_text(int i) { prepare("insert into history%d values ($1, $2 + %d)", 1 + i % (TABLES - 1), i); }

int main(int argc, char **argv) {
    const int procedures = argc > 1 ? atoi(argv[1]) : 100, rows = argc > 2 ? atoi(argv[2]) : 100000;
    stele_db *db;
    stele_options o = {.threads = 2};
    if (stele_open(":memory:", &o, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;
    set_up(procedures, rows);
    for (int t = 0; t < TABLES; t++)
        run_with("call bulk_call('pay_%d', 'select 1, 1')", 2 * t < procedures ? 2 * t : 0, 0, 0);
    printf("{\"procedures\": %d, \"rows\": %d, \"least, median, most of\": %d,\n", procedures, rows, TIMES);
    measure("bulk of 100 calls after CREATE or DROP of another table", create_drop, run_bulk, NULL, false);
    measure("SELECT after CREATE or DROP of another table", create_drop, run_select, NULL, false);
    measure("bulk after CREATE PROCEDURE that reads", new_procedure, run_bulk, NULL, false);
    run("set bulk_interval = '1us'");
    measure("new text in the pool, prepared and run", NULL, run_prepared, new_text, false);
    measure("new INSERT in the pool, prepared and run", NULL, run_prepared, new_table_text, false);
    measure("new text that writes another column, prepared and run", NULL, run_prepared, new_column, false);
    measure("prepared statement after CREATE or DROP of another table", create_drop, run_prepared, NULL, false);
    run("set bulk_interval = 0");
    measure("bulk after CREATE PROCEDURE that writes another column", new_writer, run_bulk, NULL, true);
    printf("}\n");
    stele_finalize(prepared);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
