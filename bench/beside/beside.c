/* beside.c - stele-beside: bulks of TPC-B and SQL on the same tables, over the public interface only.
 *
 * What it measures, each `--runs` times, medians:
 *   1. the same calls through CALL bulk_call(..), through SELECT count(*) FROM bulk_call(..), and as stele_bulk_run
 * with columns of arguments, which is how stele-bench makes its rate;
 *   2. a prepared point SELECT right after such a bulk, and the one after that;
 *   3. prepared point SELECTs while another connection runs bulks of 16k, and of 1M, without a pause: p50, p99,
 * longest, reads done, and the rate of those bulks. Reads are due at --read-rate a second, and a read's latency is from
 * when it was due: else one that waits for a bulk would stand for all that would have come meanwhile;
 *   4. resident memory of the process: after loading, after a bulk that touches every account, after the first read;
 *   5. a table: prepared point SELECTs beside what other connections do at the same time (`lines`), from bulks to a
 * transaction that holds the database lock.
 *
 * Bulks of (1) and (2) alternate, so that noise of the machine hits all. Tables are bench/oltp/tpcb.sql's.
 */
#include <ftw.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define PROGRAM "stele-beside"
#include "../numbers.h"
#include "common.h"

enum { RUNS_MAX = 64, PER_BRANCH = 100000, SAMPLES_MAX = 1 << 22 };
typedef struct Options {
    long long scale, calls;
    int runs, threads;
    double seconds, read_rate; /* of each part of (3) and (5) */
    long long load_mb, lock_timeout_ms;
    const char *settings, *json, *folder, *work, *only;
} Options;
static Options opt = {.scale = 50,
                      .calls = 1000000,
                      .runs = 5,
                      .seconds = 3,
                      .read_rate = 1000,
                      .load_mb = 200,
                      .lock_timeout_ms = 200,
                      .settings = "",
                      .folder = "bench/oltp",
                      .work = "/tmp",
                      .only = ""};

/* CPU time of the process in user mode: what the kernel does for fresh pages is not in it. */
static double user_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec * 1e-6;
}
static double quantile(double *v, int64_t n, double q) {
    if (n == 0) return 0;
    qsort(v, (size_t)n, sizeof *v, by_value);
    const int64_t rank = (int64_t)ceil(q * (double)n);
    return v[rank > 0 ? rank - 1 : 0];
}

/* Bulks and reads wait for each other however long that takes: it is what is measured. */
#define UNHURRIED "SET lock_timeout = 0"
static void exec_sql(stele_conn *c, const char *sql) { check(c, stele_exec(c, sql, NULL, NULL), sql); }

/* bench/oltp/tpcb.sql with its scale filled in. */
static char *setup_text(void) {
    char path[1024], scale[24], *text = NULL, *out = NULL;
    size_t len = 0, n = 0;
    snprintf(path, sizeof path, "%s/tpcb.sql", opt.folder);
    snprintf(scale, sizeof scale, "%lld", (long long)opt.scale);
    FILE *f = fopen(path, "r"), *o = open_memstream(&out, &n);
    if (!f || !o) fail("cannot read %s", path);
    if (getdelim(&text, &len, '\0', f) <= 0) fail("%s is empty", path);
    fclose(f);
    for (const char *at = text; *at;) {
        const char *mark = strstr(at, ":scale");
        if (!mark) mark = at + strlen(at);
        fwrite(at, 1, (size_t)(mark - at), o);
        if (*mark) fputs(scale, o), mark += 6;
        at = mark;
    }
    fclose(o);
    free(text);
    return out;
}

/* ---- arguments ------------------------------------------------------------------------------------------------- */
typedef struct Args {
    int64_t n;
    int32_t *a, *t, *b, *d;
    int64_t *at;
} Args;
static uint64_t hash_of(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
/* `every`: call i is for account i + 1, so that n calls touch n accounts. */
static Args args_new(int64_t n, bool every) {
    const int64_t accounts = opt.scale * PER_BRANCH;
    Args x = {n,
              malloc((size_t)n * 4),
              malloc((size_t)n * 4),
              malloc((size_t)n * 4),
              malloc((size_t)n * 4),
              malloc((size_t)n * 8)};
    if (!x.a || !x.t || !x.b || !x.d || !x.at) fail("out of memory");
    for (int64_t i = 0; i < n; i++) {
        const uint64_t h = hash_of((uint64_t)i);
        const int64_t account = every ? i % accounts : (int64_t)(h % (uint64_t)accounts);
        x.a[i] = (int32_t)(account + 1);
        x.b[i] = (int32_t)(account / PER_BRANCH + 1);
        x.t[i] = (int32_t)(account / PER_BRANCH * 10 + (int64_t)(h >> 40) % 10 + 1);
        x.d[i] = (int32_t)(h >> 32 & 0xffff) - 0x8000;
        x.at[i] = i;
    }
    return x;
}
static void args_free(Args *x) {
    free(x->a);
    free(x->t);
    free(x->b);
    free(x->d);
    free(x->at);
}
/* The table `calls` with the same arguments, for bulk_call's query. */
static void args_table(stele_conn *c, const Args *x) {
    exec_sql(c,
             "CREATE TABLE calls (a int NOT NULL, t int NOT NULL, b int NOT NULL, d int NOT NULL, at bigint NOT NULL);"
             "CREATE PROCEDURE keep(a int, t int, b int, d int, at bigint) LANGUAGE plpgsql AS $$"
             "BEGIN INSERT INTO calls VALUES (a, t, b, d, at); END $$");
    stele_bulk *bulk;
    check(c, stele_bulk_new(c, "keep", &bulk), "keep");
    const void *columns[] = {x->a, x->t, x->b, x->d, x->at};
    check(c, stele_bulk_add_columns(bulk, x->n, columns, (const unsigned char *const[5]){NULL}), "keep");
    check(c, stele_bulk_run(bulk), "keep");
    stele_bulk_free(bulk);
}

/* ---- ways to run the same calls ---------------------------------------------------------------------------------- */
static char executor[160]; /* of the last bulk through stele_bulk_run */
static void run_api(stele_conn *c, const Args *x, int64_t first, int64_t n) {
    stele_bulk *bulk;
    check(c, stele_bulk_new(c, "tpcb", &bulk), "tpcb");
    const void *columns[] = {x->a + first, x->t + first, x->b + first, x->d + first, x->at + first};
    check(c, stele_bulk_add_columns(bulk, n, columns, (const unsigned char *const[5]){NULL}), "tpcb");
    check(c, stele_bulk_run(bulk), "tpcb");
    stele_bulk_info info;
    stele_bulk_get_info(bulk, &info);
    if (info.failed > 0) fail("%lld calls failed", (long long)info.failed);
    snprintf(executor, sizeof executor, "%s, %s%s%s", info.executor, info.strategy, info.reason ? ", because " : "",
             info.reason ? info.reason : "");
    stele_bulk_free(bulk);
}
static void run_statement(stele_conn *c, const char *sql) {
    stele_stmt *st;
    check(c, stele_prepare(c, sql, -1, &st, NULL), sql);
    stele_status s;
    while ((s = stele_step(st)) == STELE_ROW) continue;
    check(c, s, sql);
    stele_finalize(st);
}
#define ARGUMENTS "'select a, t, b, d, at from calls order by at'"
static const char *const ways[] = {"CALL bulk_call, rows read", "SELECT count(*) FROM bulk_call", "stele_bulk_run"};
static const char *const statements[] = {"CALL bulk_call('tpcb', " ARGUMENTS ")",
                                         "SELECT count(*) FROM bulk_call('tpcb', " ARGUMENTS ") x"};
enum { WAYS = 3, API = 2 };
static void run_way(stele_conn *c, const Args *x, int way) {
    if (way == API) run_api(c, x, 0, x->n);
    else run_statement(c, statements[way]);
}

/* False: lock_timeout has ended it, which only a reader that set one allows. */
static bool read_account(stele_conn *c, stele_stmt *st, int64_t account, bool may_be_refused) {
    check(c, stele_bind_int64(st, 1, account), "point read");
    const stele_status s = stele_step(st);
    if (s == STELE_ERROR && may_be_refused) {
        stele_error_info e;
        stele_error(c, &e);
        if (strcmp(e.sqlstate, "55P03") == 0) {
            stele_reset(st);
            return false;
        }
    }
    check(c, s, "point read");
    if (s != STELE_ROW) fail("account %lld is not there", (long long)account);
    (void)stele_column_int64(st, 0);
    return true;
}
static double read_us(stele_conn *c, stele_stmt *st, int64_t account) {
    const double began = now_s();
    (void)read_account(c, st, account, false);
    const double took = now_s() - began;
    stele_reset(st);
    return took * 1e6;
}
static stele_stmt *reader(stele_conn *c) {
    stele_stmt *st;
    check(c, stele_prepare(c, "SELECT abalance FROM accounts WHERE aid = $1", -1, &st, NULL), "point read");
    return st;
}

/* ---- the table, and the JSON --------------------------------------------------------------------------------------
 */
static FILE *json;
static void figure(const char *what, const char *unit, double value) {
    printf("  %-64s %14.*f %s\n", what, value < 100 ? 2 : 0, value, unit);
    fflush(stdout);
    if (json) fprintf(json, ",\n {\"what\": \"%s\", \"unit\": \"%s\", \"value\": %.6g}", what, unit, value);
}

static void part_rates(stele_conn *c, const Args *x) {
    double took[WAYS][RUNS_MAX], user[WAYS][RUNS_MAX], first[WAYS][RUNS_MAX], second[WAYS][RUNS_MAX];
    stele_stmt *read = reader(c);
    for (int r = -1; r < opt.runs; r++) /* the first one makes programs, images and plans */
        for (int w = 0; w < WAYS; w++) {
            const int at = r < 0 ? 0 : r;
            const double began = now_s(), cpu = user_s();
            run_way(c, x, w);
            took[w][at] = now_s() - began;
            user[w][at] = user_s() - cpu;
            first[w][at] = read_us(c, read, 1 + (int64_t)(hash_of((uint64_t)at) % (uint64_t)opt.scale * PER_BRANCH));
            second[w][at] = read_us(c, read, 2);
        }
    stele_finalize(read);
    for (int w = 0; w < WAYS; w++) {
        char what[120];
        snprintf(what, sizeof what, "%s, %lld calls", ways[w], (long long)x->n);
        figure(what, "calls/s", (double)x->n / quantile(took[w], opt.runs, 0.5));
        snprintf(what, sizeof what, "%s, user time of a call", ways[w]);
        figure(what, "us", quantile(user[w], opt.runs, 0.5) * 1e6 / (double)x->n);
        snprintf(what, sizeof what, "%s: first point read after it", ways[w]);
        figure(what, "us", quantile(first[w], opt.runs, 0.5));
        snprintf(what, sizeof what, "%s: second point read after it", ways[w]);
        figure(what, "us", quantile(second[w], opt.runs, 0.5));
    }
}

/* A connection that runs bulks of `size` until it is to stop. */
typedef struct Runner {
    stele_db *db;
    const Args *x;
    int64_t size, calls; /* asked for, done */
    double seconds;
    atomic_bool stop, ready;
} Runner;
static void *run_bulks(void *ctx) {
    Runner *r = ctx;
    stele_conn *c;
    if (stele_connect(r->db, &c) != STELE_OK) fail("no connection");
    exec_sql(c, UNHURRIED);
    exec_sql(c, opt.settings);
    run_api(c, r->x, 0, r->size);
    atomic_store(&r->ready, true);
    const double began = now_s();
    int64_t at = 0;
    while (!atomic_load(&r->stop)) {
        if (at + r->size > r->x->n) at = 0;
        run_api(c, r->x, at, r->size);
        at += r->size;
        r->calls += r->size;
    }
    r->seconds = now_s() - began;
    stele_disconnect(c);
    return NULL;
}
/* Reads for --seconds, and their latencies. Those that were due by then but did not begin count with what they had
 * waited. */
static int64_t read_on_time(stele_conn *c, stele_stmt *st, double *sample, double *rate) {
    const int64_t n = (int64_t)(opt.seconds * opt.read_rate);
    const double began = now_s();
    double now = began;
    int64_t done = 0;
    for (; done < n && now - began < opt.seconds; done++) {
        double due = began + (double)done / opt.read_rate;
        if (now < due) {
            const double wait = due - now;
            nanosleep(&(struct timespec){(time_t)wait, (long)((wait - floor(wait)) * 1e9)}, NULL);
            due = now_s(); /* late because the system woke us late: no matter of the database */
        }
        (void)read_us(c, st, 1 + (int64_t)(hash_of((uint64_t)done) % (uint64_t)(opt.scale * PER_BRANCH)));
        now = now_s();
        sample[done] = (now - due) * 1e6;
    }
    *rate = (double)done / (now - began);
    for (int64_t k = done; k < n; k++) sample[k] = (now - (began + (double)k / opt.read_rate)) * 1e6;
    return n;
}
static void part_beside(stele_db *db, stele_conn *c, const Args *x, int64_t size) {
    double p50[RUNS_MAX], p99[RUNS_MAX], longest[RUNS_MAX], reads[RUNS_MAX], rate[RUNS_MAX];
    double *sample = malloc(SAMPLES_MAX * sizeof *sample);
    stele_stmt *read = reader(c);
    if (!sample) fail("out of memory");
    for (int k = 0; k < opt.runs; k++) {
        Runner r = {.db = db, .x = x, .size = size};
        pthread_t thread;
        exec_sql(c, "TRUNCATE history");
        if (size > 0) {
            if (pthread_create(&thread, NULL, run_bulks, &r) != 0) fail("no thread");
            while (!atomic_load(&r.ready)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        const int64_t n = read_on_time(c, read, sample, &reads[k]);
        if (size > 0) {
            atomic_store(&r.stop, true);
            pthread_join(thread, NULL);
            rate[k] = (double)r.calls / r.seconds;
        }
        p50[k] = quantile(sample, n, 0.5);
        p99[k] = quantile(sample, n, 0.99);
        longest[k] = quantile(sample, n, 1);
    }
    stele_finalize(read);
    free(sample);
    char what[120], beside[64] = "alone";
    if (size > 0) snprintf(beside, sizeof beside, "beside bulks of %lldk", (long long)size / 1000);
    const struct {
        const char *name, *unit;
        double *v;
    } rows[] = {{"p50", "us", p50}, {"p99", "us", p99}, {"longest", "us", longest}, {"done", "reads/s", reads}};
    for (int i = 0; i < 4; i++) {
        snprintf(what, sizeof what, "point reads %s: %s", beside, rows[i].name);
        figure(what, rows[i].unit, quantile(rows[i].v, opt.runs, 0.5));
    }
    snprintf(what, sizeof what, "point reads %s: the bulks' rate", beside);
    if (size > 0) figure(what, "calls/s", quantile(rate, opt.runs, 0.5));
}

/* ---- analytical queries beside bulks ----------------------------------------------------------------------------- */
static const struct {
    const char *name, *sql;
} queries[] = {
    {"groups of accounts", "SELECT bid, count(*), sum(abalance), avg(abalance) FROM accounts GROUP BY bid"},
    {"history joined with accounts",
     "SELECT a.bid, count(*), sum(h.delta), max(a.abalance) FROM history h JOIN accounts a USING (aid) GROUP BY 1"},
};
enum { QUERIES = sizeof queries / sizeof queries[0] };
/* Queries for --seconds, one after the other: how many a second, and the longest. */
static double query_rate(stele_conn *c, const char *sql, double *longest) {
    const double began = now_s();
    double now = began;
    int64_t n = 0;
    for (; now - began < opt.seconds; n++) {
        const double at = now;
        run_statement(c, sql);
        now = now_s();
        if (now - at > *longest) *longest = now - at;
    }
    return (double)n / (now - began);
}
static double bulk_rate(stele_db *db, const Args *x, int64_t size, stele_conn *c, const char *sql, double *queries_s,
                        double *longest) {
    Runner r = {.db = db, .x = x, .size = size};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_bulks, &r) != 0) fail("no thread");
    while (!atomic_load(&r.ready)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (sql) *queries_s = query_rate(c, sql, longest);
    else nanosleep(&(struct timespec){(time_t)opt.seconds, 0}, NULL);
    atomic_store(&r.stop, true);
    pthread_join(thread, NULL);
    return (double)r.calls / r.seconds;
}
/* Each side's rate beside the other, as a part of its rate alone. History has the rows of a bulk of all calls at the
 * beginning of each. */
static void part_analysis(stele_db *db, stele_conn *c, const Args *x, int64_t size) {
    double alone_bulks[RUNS_MAX], alone[RUNS_MAX], rate[RUNS_MAX], kept_bulks[RUNS_MAX], kept[RUNS_MAX], most[RUNS_MAX];
    for (int q = 0; q < QUERIES; q++) {
        for (int k = 0; k < opt.runs; k++) {
            double longest = 0, with = 0;
            exec_sql(c, "TRUNCATE history");
            alone_bulks[k] = bulk_rate(db, x, size, c, NULL, NULL, NULL);
            exec_sql(c, "TRUNCATE history");
            run_api(c, x, 0, x->n);
            run_statement(c, queries[q].sql);
            alone[k] = query_rate(c, queries[q].sql, &longest);
            most[k] = 0;
            rate[k] = bulk_rate(db, x, size, c, queries[q].sql, &with, &most[k]);
            kept_bulks[k] = rate[k] / alone_bulks[k];
            kept[k] = with / alone[k];
            most[k] *= 1e3;
        }
        char what[120];
        const struct {
            const char *name, *unit;
            double *v;
        } rows[] = {{"alone", "queries/s", alone},
                    {"beside: kept", "", kept},
                    {"beside: longest", "ms", most},
                    {"the bulks' rate", "calls/s", rate},
                    {"the bulks' rate: kept", "", kept_bulks}};
        for (int i = 0; i < 5; i++) {
            snprintf(what, sizeof what, "%s, bulks of %lldk: %s", queries[q].name, (long long)size / 1000,
                     rows[i].name);
            figure(what, rows[i].unit, quantile(rows[i].v, opt.runs, 0.5));
        }
    }
}

/* ---- the table: point reads beside what others do ----------------------------------------------------------------
 */
/* A connection that does something again and again until it is to stop. */
typedef struct Other {
    stele_db *db;
    void (*again)(struct Other *o, stele_conn *c);
    int64_t rounds;
    double seconds;
    atomic_bool stop, ready;
} Other;
static void *run_other(void *ctx) {
    Other *o = ctx;
    stele_conn *c;
    if (stele_connect(o->db, &c) != STELE_OK) fail("no connection");
    exec_sql(c, UNHURRIED);
    exec_sql(c, opt.settings);
    atomic_store(&o->ready, true);
    const double began = now_s();
    while (!atomic_load(&o->stop)) {
        o->again(o, c);
        o->rounds++;
    }
    o->seconds = now_s() - began;
    stele_disconnect(c);
    return NULL;
}
static char load_path[1024];
static void bulks_again(Other *o, stele_conn *c) {
    (void)o;
    run_statement(c,
                  "SELECT count(*) FROM bulk_call('tpcb', 'select a, t, b, d, at from calls where at < 16000 order by "
                  "at') x");
}
static void large_bulks_again(Other *o, stele_conn *c) {
    (void)o;
    run_statement(c, statements[0]);
}
static void analysis_again(Other *o, stele_conn *c) {
    (void)o;
    run_statement(c, "SELECT bid, count(*), sum(abalance), avg(abalance), max(filler) FROM accounts GROUP BY bid");
}
static void row_again(Other *o, stele_conn *c) {
    char sql[96];
    snprintf(sql, sizeof sql, "UPDATE accounts SET abalance = abalance + 1 WHERE aid = %lld",
             1 + (long long)(hash_of((uint64_t)o->rounds) % (uint64_t)(opt.scale * PER_BRANCH)));
    run_statement(c, sql);
}
static void all_again(Other *o, stele_conn *c) {
    (void)o;
    run_statement(c, "UPDATE accounts SET abalance = abalance + 1");
}
static void checkpoint_again(Other *o, stele_conn *c) {
    row_again(o, c);
    run_statement(c, "CHECKPOINT");
}
static void load_again(Other *o, stele_conn *c) {
    char sql[1200];
    (void)o;
    snprintf(sql, sizeof sql, "CREATE TABLE loaded (i int, j bigint, s text); COPY loaded FROM '%s'; DROP TABLE loaded",
             load_path);
    exec_sql(c, sql);
}
/* One transaction, open until the reads are over. */
static void definitions_again(Other *o, stele_conn *c) {
    exec_sql(c, "BEGIN; CREATE TABLE opened (a int); INSERT INTO opened VALUES (1)");
    while (!atomic_load(&o->stop)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    exec_sql(c, "ROLLBACK");
}
enum { OTHERS = 2 };
typedef struct Line {
    const char *name, *unit; /* of the first of `others`: a round of it */
    void (*others[OTHERS])(Other *o, stele_conn *c);
    bool saved, bounded; /* in a directory; reads have a lock_timeout and are counted from when they began */
    bool block;          /* reads are of one transaction, which begins with a query */
} Line;
static const Line lines[] = {
    {"alone", "", {NULL}, false, false, false},
    {"bulks of 16k by bulk_call", "bulks/s", {bulks_again}, false, false, false},
    {"all calls by CALL bulk_call", "bulks/s", {large_bulks_again}, false, false, false},
    {"an analytical query, a single-row writer", "queries/s", {analysis_again, row_again}, false, false, false},
    {"UPDATE of all accounts", "updates/s", {all_again}, false, false, false},
    {"CHECKPOINT with one changed row", "checkpoints/s", {checkpoint_again}, true, false, false},
    {"COPY FROM a file", "loads/s", {load_again}, false, false, false},
    {"an open transaction with DDL", "", {definitions_again}, false, true, false},
    {"in a transaction: bulks of 16k", "bulks/s", {bulks_again}, false, false, true},
    {"in a transaction: UPDATE of all accounts", "updates/s", {all_again}, false, false, true},
    {"in a transaction: another one with DDL", "", {definitions_again}, false, false, true},
};
/* Reads for --seconds, each bounded by lock_timeout; how many were refused. */
static int64_t read_bounded(stele_conn *c, stele_stmt *st, double *sample, double *rate, int64_t *refused) {
    const double began = now_s();
    int64_t n = 0;
    double now = began;
    while (now - began < opt.seconds && n < (int64_t)(opt.seconds * opt.read_rate)) {
        const bool ok =
            read_account(c, st, 1 + (int64_t)(hash_of((uint64_t)n) % (uint64_t)(opt.scale * PER_BRANCH)), true);
        const double end = now_s();
        if (ok) stele_reset(st);
        else ++*refused;
        sample[n++] = (end - now) * 1e6;
        now = end;
    }
    *rate = (double)n / (now - began);
    return n;
}
static void part_line(stele_db *db, stele_conn *c, const Line *l) {
    double p50[RUNS_MAX], p99[RUNS_MAX], longest[RUNS_MAX], reads[RUNS_MAX], rate[RUNS_MAX];
    int64_t refused = 0;
    double *sample = malloc(SAMPLES_MAX * sizeof *sample);
    if (!sample) fail("out of memory");
    char timeout[64];
    snprintf(timeout, sizeof timeout, "SET lock_timeout = %lld", l->bounded ? (long long)opt.lock_timeout_ms : 0LL);
    exec_sql(c, timeout);
    for (int k = 0; k < opt.runs; k++) {
        Other o[OTHERS];
        pthread_t threads[OTHERS];
        int n_others = 0;
        exec_sql(c, "TRUNCATE history");
        stele_stmt *read = reader(c);
        for (; n_others < OTHERS && l->others[n_others]; n_others++) {
            o[n_others] = (Other){.db = db, .again = l->others[n_others]};
            if (pthread_create(&threads[n_others], NULL, run_other, &o[n_others]) != 0) fail("no thread");
        }
        for (int i = 0; i < n_others; i++)
            while (!atomic_load(&o[i].ready)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* they are in the midst of it */
        if (l->block) exec_sql(c, "BEGIN; SELECT count(*) FROM branches");
        const int64_t n =
            l->bounded ? read_bounded(c, read, sample, &reads[k], &refused) : read_on_time(c, read, sample, &reads[k]);
        if (l->block) exec_sql(c, "ROLLBACK");
        for (int i = 0; i < n_others; i++) atomic_store(&o[i].stop, true);
        for (int i = 0; i < n_others; i++) pthread_join(threads[i], NULL);
        rate[k] = n_others ? (double)o[0].rounds / o[0].seconds : 0;
        p50[k] = quantile(sample, n, 0.5);
        p99[k] = quantile(sample, n, 0.99);
        longest[k] = quantile(sample, n, 1);
        stele_finalize(read);
    }
    free(sample);
    exec_sql(c, UNHURRIED);
    const double m50 = quantile(p50, opt.runs, 0.5), m99 = quantile(p99, opt.runs, 0.5),
                 most = quantile(longest, opt.runs, 0.5), done = quantile(reads, opt.runs, 0.5),
                 others = quantile(rate, opt.runs, 0.5);
    printf("  %-42s %10.3f %10.3f %10.3f %9.0f %8lld", l->name, m50 / 1e3, m99 / 1e3, most / 1e3, done,
           (long long)refused);
    if (*l->unit) printf("  %.3g %s", others, l->unit);
    putchar('\n');
    fflush(stdout);
    if (json)
        fprintf(json,
                ",\n {\"what\": \"point reads beside: %s\", \"unit\": \"us\", \"p50\": %.6g, \"p99\": %.6g, \"max\": "
                "%.6g, \"reads_per_s\": %.6g, \"refused\": %lld, \"others_per_s\": %.6g}",
                l->name, m50, m99, most, done, (long long)refused, others);
}
static stele_db *open_loaded(const char *path, stele_conn **c) {
    stele_db *db;
    stele_error_info e;
    if (stele_open(path, &(stele_options){.threads = opt.threads}, &db, &e) != STELE_OK) fail("%s", e.message);
    if (stele_connect(db, c) != STELE_OK) fail("no connection");
    char *setup = setup_text();
    exec_sql(*c, setup);
    free(setup);
    return db;
}
static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}
/* Files, and the database of the line that saves, lie in a new folder in --work, which is removed. */
static void part_lines(stele_db *db, stele_conn *c) {
    char folder[512], path[600], sql[1400];
    enum { ROW_BYTES = 100 };
    snprintf(folder, sizeof folder, "%s/stele-beside-XXXXXX", opt.work);
    if (!mkdtemp(folder)) fail("cannot make a folder in %s", opt.work);
    snprintf(load_path, sizeof load_path, "%s/load.txt", folder);
    snprintf(path, sizeof path, "%s/db", folder);
    snprintf(sql, sizeof sql,
             "COPY (SELECT i, i::bigint * 7919, 'a text of ninety-odd bytes that does not come again, with a number '"
             " || i || ' in its midst' FROM generate_series(1, %lld) g(i)) TO '%s'",
             (long long)(opt.load_mb * 1000000 / ROW_BYTES), load_path);
    exec_sql(c, sql);
    printf("point reads beside                               p50 ms     p99 ms     max ms   reads/s  refused  these\n");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!strstr(lines[i].name, opt.only)) continue;
        stele_db *on = db;
        stele_conn *reading = c;
        if (lines[i].saved) {
            on = open_loaded(path, &reading);
            exec_sql(reading, UNHURRIED);
            exec_sql(reading, opt.settings);
            exec_sql(reading, "CHECKPOINT");
        }
        part_line(on, reading, &lines[i]);
        if (lines[i].saved) {
            stele_disconnect(reading);
            stele_discard(on);
        }
    }
    if (nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0) fail("cannot remove %s", folder);
}

/* Once, in a process that has run nothing else: memory is not given back, so that a second time measures the first. */
static void part_memory(stele_conn *c) {
    Args every = args_new(opt.scale * PER_BRANCH, true);
    const double before = resident_mb();
    run_api(c, &every, 0, every.n);
    const double after = resident_mb();
    stele_stmt *read = reader(c);
    const double us = read_us(c, read, 1), end = resident_mb();
    stele_finalize(read);
    figure("memory of the process with tables and arguments", "MiB", before);
    figure("memory after a bulk that touches every account", "MiB", after);
    figure("memory after the first point read then", "MiB", end);
    figure("that read", "us", us);
    args_free(&every);
}

static void usage(void) {
    fputs("usage: stele-beside rates|reads|analysis|memory|lines|all [options]    bulks of TPC-B beside SQL, medians\n"
          "  --scale N (50)  --calls N (1000000)  --runs N (5)  --seconds S (3) of each part of reads  --read-rate R "
          "(1000)\n"
          "  --threads N  --set SQL  --oltp DIR (bench/oltp)  --json FILE\n"
          "  lines: --load-mb N (200) of the file that is loaded  --lock-timeout MS (200)  --work DIR (/tmp)\n"
          "         --only TEXT: lines whose names have it\n"
          "all: memory, rates, reads, analysis, lines, in one process; memory of one that has run nothing else is "
          "memory's "
          "alone.\n",
          stderr);
    exit(2);
}
static void options(int argc, char **argv) {
    const Setting all[] = {
        {"--scale", .number = &opt.scale},
        {"--calls", .number = &opt.calls},
        {"--runs", .count = &opt.runs},
        {"--seconds", .real = &opt.seconds},
        {"--read-rate", .real = &opt.read_rate},
        {"--threads", .count = &opt.threads},
        {"--set", .text = &opt.settings},
        {"--oltp", .text = &opt.folder},
        {"--json", .text = &opt.json},
        {"--load-mb", .number = &opt.load_mb},
        {"--lock-timeout", .number = &opt.lock_timeout_ms},
        {"--work", .text = &opt.work},
        {"--only", .text = &opt.only},
    };
    if (!settings_read(argc, argv, 2, (int)(sizeof all / sizeof *all), all)) usage();
    if (opt.scale < 1 || opt.scale > 20000 || opt.calls < 1000 || opt.runs < 1 || opt.runs > RUNS_MAX ||
        opt.read_rate <= 0 || opt.seconds <= 0 || opt.seconds * opt.read_rate > SAMPLES_MAX || opt.load_mb < 1 ||
        opt.load_mb > 100000 || opt.lock_timeout_ms < 1)
        usage();
}

int main(int argc, char **argv) {
    const char *part = argc > 1 ? argv[1] : "";
    const bool all = strcmp(part, "all") == 0;
    const bool rates = all || strcmp(part, "rates") == 0, reads = all || strcmp(part, "reads") == 0,
               memory = all || strcmp(part, "memory") == 0, table = all || strcmp(part, "lines") == 0;
    const bool analysis = all || strcmp(part, "analysis") == 0;
    if (!rates && !reads && !analysis && !memory && !table) usage();
    options(argc, argv);
    stele_db *db;
    stele_conn *c;
    const double began = now_s(), cpu = user_s();
    db = open_loaded(":memory:", &c);
    printf("TPC-B, %lld accounts, median of %d\n", (long long)(opt.scale * PER_BRANCH), opt.runs);
    if (opt.json && !(json = fopen(opt.json, "w"))) fail("cannot write %s", opt.json);
    if (json) fprintf(json, "[{\"scale\": %lld, \"runs\": %d, \"settings\": \"", (long long)opt.scale, opt.runs);
    for (const char *at = opt.settings; json && *at; at++)
        if (*at >= ' ') fprintf(json, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
    if (json) fprintf(json, "\"}");
    figure("loading", "s", now_s() - began);
    figure("loading, user time", "s", user_s() - cpu);
    figure("memory of the process after loading", "MiB", resident_mb());
    exec_sql(c, UNHURRIED);
    exec_sql(c, opt.settings);
    if (memory) part_memory(c);
    Args x = args_new(opt.calls, false);
    if (rates || table) args_table(c, &x);
    if (rates) part_rates(c, &x);
    if (reads) {
        part_beside(db, c, &x, 0);
        part_beside(db, c, &x, opt.calls < 16000 ? opt.calls : 16000);
        part_beside(db, c, &x, opt.calls);
    }
    if (analysis) {
        part_analysis(db, c, &x, opt.calls < 16000 ? opt.calls : 16000);
        part_analysis(db, c, &x, opt.calls);
    }
    if (table) part_lines(db, c);
    if (*executor) printf("  bulks ran: %s\n", executor);
    if (json) fprintf(json, ",\n {\"what\": \"executor\", \"value\": \"%s\"}]\n", executor);
    if (json && fclose(json) != 0) fail("cannot write %s", opt.json);
    args_free(&x);
    stele_disconnect(c);
    stele_discard(db);
    return 0;
}
