/* classes.c - stele-classes: every class of work beside all others on the same tables; does each go on?
 *
 * Point reads, single-row updates, transactions of three statements, bulks, an analytical query, changes of all rows,
 * loads, and definitions, each on a connection and a thread of its own, without a pause, on one table of accounts.
 * First each alone, then all together. The time together is cut into windows: a class is starved in a window in which
 * none of its operations ended and none was under way that had begun in it. At the end the sum of all balances is what
 * the committed operations added.
 *
 * Exit status 1: a class was starved in two windows one after the other, or the sum is wrong.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRAM "stele-classes"
#include "common.h"

enum { WINDOWS_MAX = 1000 };
typedef struct Options {
    long long rows, calls;
    double seconds, window, alone;
    int threads;
    const char *settings;
} Options;
static Options opt = {
    .rows = 1000000, .calls = 16000, .seconds = 60, .window = 5, .alone = 3, .threads = 0, .settings = ""};

typedef struct Worker Worker;
typedef struct Class {
    const char *name;
    bool (*once)(Worker *w); /* false: refused, to be tried again (40001, 55P03, 40P01) */
} Class;
struct Worker {
    const Class *class;
    stele_conn *conn;
    stele_stmt *statement;
    uint64_t random;
    int64_t turn, added; /* operations so far; what the committed ones added to all balances together */
    int64_t refused;
    int64_t done[WINDOWS_MAX]; /* by window */
    double longest;
};

static double began;
static _Atomic bool stop;
static stele_db *db;

static uint64_t next_random(Worker *w) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    return w->random ^= w->random << 17;
}
static long long any_row(Worker *w) { return (long long)(next_random(w) % (uint64_t)opt.rows); }

/* False: another transaction was in the way. Ends the program at other errors. */
static bool passed(stele_conn *c, stele_status s, const char *what) {
    stele_error_info e;
    if (s != STELE_ERROR) return true;
    stele_error(c, &e);
    if (strcmp(e.sqlstate, "40001") != 0 && strcmp(e.sqlstate, "55P03") != 0 && strcmp(e.sqlstate, "40P01") != 0)
        check(c, s, what);
    return false;
}
static bool run(stele_conn *c, const char *fmt, ...) {
    char sql[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sql, sizeof sql, fmt, args);
    va_end(args);
    return passed(c, stele_exec(c, sql, NULL, NULL), sql);
}
/* In a transaction: what failed is rolled back. */
static bool run_all(stele_conn *c, bool ok) {
    if (ok && run(c, "COMMIT")) return true;
    (void)run(c, "ROLLBACK");
    return false;
}
static int64_t number(stele_conn *c, const char *sql) {
    stele_stmt *st;
    check(c, stele_prepare(c, sql, -1, &st, NULL), sql);
    check(c, stele_step(st), sql);
    const int64_t n = stele_column_int64(st, 0);
    stele_finalize(st);
    return n;
}

/* ---- the classes ---- */
static bool point_read(Worker *w) {
    static const char sql[] = "SELECT balance FROM account WHERE id = $1";
    if (!w->statement) check(w->conn, stele_prepare(w->conn, sql, -1, &w->statement, NULL), sql);
    stele_reset(w->statement);
    stele_bind_int64(w->statement, 1, any_row(w));
    return passed(w->conn, stele_step(w->statement), sql);
}
static bool row_update(Worker *w) {
    static const char sql[] = "UPDATE account SET balance = balance + 1 WHERE id = $1";
    if (!w->statement) check(w->conn, stele_prepare(w->conn, sql, -1, &w->statement, NULL), sql);
    stele_reset(w->statement);
    stele_bind_int64(w->statement, 1, any_row(w));
    if (!passed(w->conn, stele_step(w->statement), sql)) return false;
    w->added++;
    return true;
}
static bool transaction(Worker *w) {
    const long long from = any_row(w), to = any_row(w);
    bool ok = run(w->conn, "BEGIN ISOLATION LEVEL READ COMMITTED");
    ok = ok && run(w->conn, "UPDATE account SET balance = balance - 5 WHERE id = %lld", from < to ? from : to);
    ok = ok && run(w->conn, "UPDATE account SET balance = balance + 5 WHERE id = %lld", from < to ? to : from);
    ok = ok && run(w->conn, "SELECT sum(balance) FROM account WHERE id IN (%lld, %lld)", from, to);
    return run_all(w->conn, ok);
}
static bool bulk(Worker *w) {
    const long long first = any_row(w);
    if (!run(w->conn,
             "CALL bulk_call('pay', 'SELECT ((%lld + i * 7919) %% %lld)::int, 1 FROM generate_series(1::bigint, %lld) "
             "g(i)')",
             first, opt.rows, opt.calls))
        return false;
    w->added += opt.calls;
    return true;
}
static bool analysis(Worker *w) {
    return run(w->conn, "SELECT kind, count(*), sum(balance), max(balance) FROM account GROUP BY kind ORDER BY kind");
}
static bool all_rows(Worker *w) {
    if (!run(w->conn, "UPDATE account SET balance = balance + %d", w->turn % 2 ? -1 : 1)) return false;
    w->added += w->turn % 2 ? -opt.rows : opt.rows;
    return true;
}
static bool load(Worker *w) {
    bool ok = run(w->conn, "BEGIN ISOLATION LEVEL READ COMMITTED");
    ok = ok && run(w->conn, "DELETE FROM loaded");
    ok = ok && run(w->conn, "INSERT INTO loaded SELECT i, 'text ' || i %% 1000 FROM generate_series(1, 200000) g(i)");
    return run_all(w->conn, ok);
}
static bool definitions(Worker *w) {
    bool ok = run(w->conn, "BEGIN");
    ok = ok && run(w->conn, "CREATE TABLE made(a int PRIMARY KEY, b text)");
    ok = ok && run(w->conn, "INSERT INTO made VALUES (1, 'x')");
    ok = ok && run(w->conn, "ALTER TABLE made ADD COLUMN c int DEFAULT 4");
    ok = ok && run(w->conn, "DROP TABLE made");
    return run_all(w->conn, ok);
}
static const Class classes[] = {{"point reads", point_read},      {"single-row updates", row_update},
                                {"transactions", transaction},    {"bulks", bulk},
                                {"analytical queries", analysis}, {"updates of all rows", all_rows},
                                {"loads of 200,000 rows", load},  {"definitions", definitions}};
enum { CLASSES = sizeof classes / sizeof *classes };

static void *work(void *ctx) {
    Worker *w = ctx;
    while (!atomic_load(&stop)) {
        const double from = now_s();
        const bool ok = w->class->once(w);
        const double to = now_s(), at = (to - began) / opt.window;
        w->longest = to - from > w->longest ? to - from : w->longest;
        if (!ok) {
            w->refused++;
            continue;
        }
        w->turn++;
        if (at < WINDOWS_MAX) w->done[(int)at]++;
    }
    return NULL;
}
static void worker_open(Worker *w, int k) {
    *w = (Worker){.class = &classes[k], .random = 0x9e3779b97f4a7c15u + (uint64_t)k * 7919};
    if (stele_connect(db, &w->conn) != STELE_OK) fail("no connection");
    if (!run(w->conn, "SET lock_timeout = 0; %s", opt.settings)) fail("settings");
}
static void worker_close(Worker *w) {
    stele_finalize(w->statement);
    stele_disconnect(w->conn);
}
/* The workers of classes [first, first + n) for so many seconds. */
static void together(Worker *w, int n, double seconds) {
    pthread_t threads[CLASSES];
    atomic_store(&stop, false);
    began = now_s();
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, &w[i]) != 0) fail("no thread");
    const struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
}

/* Prints a line of the class; true: it went on. Windows are `n` whole ones. */
static bool report(const Worker *w, double alone, int n) {
    int64_t sum = 0, least = INT64_MAX;
    int empty = 0, most_empty = 0;
    for (int i = 0; i < n; i++) {
        sum += w->done[i];
        least = w->done[i] < least ? w->done[i] : least;
        empty = w->done[i] ? 0 : empty + 1;
        most_empty = empty > most_empty ? empty : most_empty;
    }
    const double rate = (double)sum / (n * opt.window);
    printf("%-22s %12.1f %12.1f %8.3f %10lld %8d %10.2f %9lld\n", w->class->name, alone, rate, rate / alone,
           (long long)least, most_empty, w->longest, (long long)w->refused);
    return most_empty < 2;
}
static void usage(void) {
    fputs(
        "usage: stele-classes [--rows N (1000000)] [--calls N (16000) of a bulk] [--seconds S (60)] [--window S (5)]\n"
        "  [--alone S (3) of each class] [--threads N] [--set SQL of each connection]\n",
        stderr);
    exit(2);
}
static void options(int argc, char **argv) {
    const Setting all[] = {
        {"--rows", .number = &opt.rows},   {"--calls", .number = &opt.calls}, {"--seconds", .real = &opt.seconds},
        {"--window", .real = &opt.window}, {"--alone", .real = &opt.alone},   {"--threads", .count = &opt.threads},
        {"--set", .text = &opt.settings},
    };
    if (!settings_read(argc, argv, 1, (int)(sizeof all / sizeof *all), all)) usage();
    const bool ok = opt.rows >= 1000 && opt.rows <= 1000000000 && opt.calls > 0 && opt.window > 0 && opt.alone > 0 &&
                    opt.seconds >= opt.window && opt.seconds / opt.window < WINDOWS_MAX;
    if (!ok) usage();
}
static void make_tables(stele_conn *c) {
    if (!run(c,
             "CREATE TABLE account(id int PRIMARY KEY, kind int NOT NULL, balance bigint NOT NULL, note text);"
             "INSERT INTO account SELECT i, i %% 10, 0, 'note ' || i %% 100 FROM generate_series(0, %lld) g(i);"
             "CREATE TABLE loaded(id int, note text)",
             opt.rows - 1) ||
        !run(c,
             "CREATE PROCEDURE pay(a int, d int) LANGUAGE plpgsql AS $$ BEGIN UPDATE account SET balance = balance + "
             "d WHERE id = a; END $$"))
        fail("tables");
}
int main(int argc, char **argv) {
    static Worker w[CLASSES];
    static double alone[CLASSES];
    stele_conn *c;
    stele_error_info e;
    int64_t added = 0;
    bool ok = true;
    options(argc, argv);
    if (stele_open(":memory:", &(stele_options){.threads = opt.threads}, &db, &e) != STELE_OK) fail("%s", e.message);
    if (stele_connect(db, &c) != STELE_OK) fail("no connection");
    make_tables(c);
    for (int k = 0; k < CLASSES; k++) {
        worker_open(&w[k], k);
        together(&w[k], 1, opt.alone);
        alone[k] = (double)w[k].turn / (now_s() - began);
        added += w[k].added;
        worker_close(&w[k]);
        worker_open(&w[k], k);
    }
    together(w, CLASSES, opt.seconds);
    printf("%-22s %12s %12s %8s %10s %8s %10s %9s\n", "a second", "alone", "together", "kept", "least", "empty",
           "longest s", "refused");
    for (int k = 0; k < CLASSES; k++) {
        ok &= report(&w[k], alone[k], (int)(opt.seconds / opt.window));
        added += w[k].added;
    }
    const int64_t sum = number(c, "SELECT sum(balance)::bigint FROM account");
    printf("least: operations in a window of %.1f s; empty: most windows without one in a row\nsum of balances %lld, "
           "committed %lld: %s; %.0f MiB resident\n",
           opt.window, (long long)sum, (long long)added, sum == added ? "equal" : "WRONG", resident_mb());
    for (int k = 0; k < CLASSES; k++) worker_close(&w[k]);
    stele_disconnect(c);
    stele_discard(db);
    return ok && sum == added ? 0 : 1;
}
