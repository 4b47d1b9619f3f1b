/* size.c - stele-size: memory of a workload of constant size, for as long as one likes, over the public interface.
 *
 * Orders that come and go, as in TPC-C with orders that are deleted when they are old: each call changes a row of
 * `stock` with a text that was never there, and inserts a row into `orders` and `queue` and deletes the oldest there.
 * So all tables keep their sizes. Each minute, a line: calls, resident memory of the process, and what is charged for
 * tables and bulks (stele_memory), and their ratios to those of the first minute.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PROGRAM "stele-size"
#include "common.h"

typedef struct Options {
    long long rows, calls, read_every;
    double seconds, every;
    int threads;
    const char *settings;
} Options;
static Options opt = {.rows = 1000000, .calls = 50000, .seconds = 3600, .every = 60, .settings = ""};

static void run(stele_conn *c, const char *fmt, ...) {
    char sql[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sql, sizeof sql, fmt, args);
    va_end(args);
    check(c, stele_exec(c, sql, NULL, NULL), sql);
}
static double charged_mb(stele_conn *c) {
    static const char sql[] = "SELECT sum(bytes)::bigint FROM stele_memory WHERE what NOT IN ('connections', 'calls')";
    stele_stmt *st;
    check(c, stele_prepare(c, sql, -1, &st, NULL), sql);
    stele_status s = stele_step(st);
    check(c, s, sql);
    double mb = (double)stele_column_int64(st, 0) / (1 << 20);
    stele_finalize(st);
    return mb;
}

static void load(stele_conn *c) {
    run(c,
        "CREATE TABLE stock(id int PRIMARY KEY, qty int NOT NULL, info text, tag text);"
        "CREATE TABLE orders(id bigint PRIMARY KEY, stock int NOT NULL, note text, at bigint);"
        "CREATE TABLE queue(id bigint PRIMARY KEY, n int NOT NULL);"
        "INSERT INTO stock SELECT i, 0, 'information on ' || i, 'tag ' || i %% 7 FROM generate_series(0, %lld) g(i);"
        "INSERT INTO orders SELECT i, i, 'note of order ' || i, i FROM generate_series(0, %lld) g(i);"
        "INSERT INTO queue SELECT i, i FROM generate_series(0, %lld) g(i)",
        opt.rows - 1, opt.rows - 1, opt.rows - 1);
    run(c, "CREATE PROCEDURE step(k int, fresh bigint, old bigint) LANGUAGE plpgsql AS $$ BEGIN"
           "  UPDATE stock SET qty = qty + 1, info = 'information ' || fresh WHERE id = k;"
           "  INSERT INTO orders VALUES (fresh, k, 'note of order ' || fresh, fresh);"
           "  INSERT INTO queue VALUES (fresh, k);"
           "  DELETE FROM orders WHERE id = old;"
           "  DELETE FROM queue WHERE id = old; END $$");
}
/* Calls from number `first` on. */
static void bulk(stele_conn *c, long long first) {
    run(c,
        "CALL bulk_call('step', 'SELECT ((i * 7919) %% %lld)::int, i, i - %lld FROM generate_series(%lld::bigint, "
        "%lld) g(i)')",
        opt.rows, opt.rows, opt.rows + first, opt.rows + first + opt.calls - 1);
}

static void usage(void) {
    fputs("usage: stele-size [--rows N (1000000)] [--calls N (50000)] [--seconds S (3600)] [--every S (60)]\n"
          "  [--read-every N (0): a query on all tables behind every Nth bulk] [--threads N] [--set SQL]\n",
          stderr);
    exit(2);
}
static void options(int argc, char **argv) {
    const Setting all[] = {
        {"--rows", .number = &opt.rows},
        {"--calls", .number = &opt.calls},
        {"--seconds", .real = &opt.seconds},
        {"--every", .real = &opt.every},
        {"--read-every", .number = &opt.read_every},
        {"--threads", .count = &opt.threads},
        {"--set", .text = &opt.settings},
    };
    if (!settings_read(argc, argv, 1, (int)(sizeof all / sizeof *all), all)) usage();
    if (opt.rows < 1 || opt.rows > 2000000000 || opt.calls < 1 || opt.calls > opt.rows || opt.every <= 0) usage();
}
int main(int argc, char **argv) {
    stele_db *db;
    stele_conn *c;
    stele_error_info e;
    options(argc, argv);
    if (stele_open(":memory:", &(stele_options){.threads = opt.threads}, &db, &e) != STELE_OK) fail("%s", e.message);
    if (stele_connect(db, &c) != STELE_OK) fail("no connection");
    run(c, "%s", opt.settings);
    load(c);
    printf("%lld rows a table, %lld calls a bulk; %.1f MiB charged, %.1f MiB resident when loaded\n", opt.rows,
           opt.calls, charged_mb(c), resident_mb());
    printf("%10s %12s %14s %14s %8s %8s\n", "seconds", "calls", "charged MiB", "resident MiB", "ratio", "ratio");
    const double began = now_s();
    double first[2] = {0}, most[2] = {0}, next = opt.every; /* charged and resident */
    long long calls = 0;
    for (long long b = 1; now_s() - began < opt.seconds; b++, calls += opt.calls) {
        bulk(c, calls);
        if (opt.read_every > 0 && b % opt.read_every == 0)
            run(c, "SELECT count(*), max(info) FROM stock; SELECT count(*), max(note) FROM orders; "
                   "SELECT count(*) FROM queue");
        const double now[2] = {charged_mb(c), resident_mb()};
        for (int i = 0; i < 2; i++) most[i] = now[i] > most[i] ? now[i] : most[i];
        if (now_s() - began < next) continue;
        next += opt.every;
        for (int i = 0; i < 2; i++) first[i] = first[i] > 0 ? first[i] : most[i];
        printf("%10.0f %12lld %14.1f %14.1f %8.2f %8.2f\n", now_s() - began, calls + opt.calls, most[0], most[1],
               most[0] / first[0], most[1] / first[1]); /* the most of each minute */
        fflush(stdout);
        most[0] = most[1] = 0;
    }
    stele_disconnect(c);
    stele_discard(db);
    return 0;
}
