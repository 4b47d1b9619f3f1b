/* pgbench.c - stele-pgbench: pgbench's five statements in BEGIN .. COMMIT, by several threads of one process, over the
 * public interface: prepared statements, one connection a thread.
 *
 *     stele-pgbench [--scale N] [--threads N] [--seconds S] [--level LEVEL] [--runs N] [--durable DIR] [--commit
 * on|off] [--checkpoints on|off]
 *
 * With --durable the database is a new directory with a redo log; --commit is synchronous_commit of all connections.
 *
 * With --checkpoints on, accounts have texts (some 80 MB a million), and runs with and without another thread that runs
 * CHECKPOINT in a loop alternate; each has a thread more that reads accounts by their keys. Prints rates and 99th
 * percentiles of both, and what a checkpoint took.
 *
 * Else prints transactions a second with one thread and with N, their ratio, and how many were refused; runs of the two
 * alternate, and medians count. At the end the sums of accounts, tellers, branches and history must be the same: exit
 * status 1 when they are not.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../numbers.h"
#include "stele/stele.h"

enum { THREADS_MAX = 64, RUNS_MAX = 32, STATEMENTS = 7 };

typedef struct Client {
    stele_db *db;
    const char *level, *commit;
    int scale;
    unsigned seed;
    _Atomic bool *stop;
    bool reads; /* accounts by their keys, instead of transactions */
    int64_t done, refused, deadlocks;
    double *times; /* of each transaction, in ms, where they are wanted */
    int64_t n_times;
    char why[512];
} Client;
enum { TIMES_MAX = 4 << 20 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
static int below(Client *c, int n) {
    c->seed = c->seed * 1103515245u + 12345u;
    return (int)((c->seed >> 8) % (unsigned)n);
}
static bool fail(Client *c, stele_conn *conn, const char *what) {
    stele_error_info e;
    stele_error(conn, &e);
    if (strcmp(e.sqlstate, "40001") == 0) c->refused++;
    else if (strcmp(e.sqlstate, "40P01") == 0) c->deadlocks++;
    else snprintf(c->why, sizeof c->why, "%s: %s %.300s", what, e.sqlstate, e.message);
    return false;
}

static const char *const texts[STATEMENTS] = {
    NULL, /* BEGIN */
    "update accounts set abalance = abalance + $1 where aid = $2",
    "select abalance from accounts where aid = $1",
    "update tellers set tbalance = tbalance + $1 where tid = $2",
    "update branches set bbalance = bbalance + $1 where bid = $2",
    "insert into history (tid, bid, aid, delta, mtime) values ($1, $2, $3, $4, current_timestamp)",
    "commit"};

/* Statement i with n integers. */
static bool run(Client *c, stele_conn *conn, stele_stmt *st, int i, int n, const int *args) {
    for (int k = 0; k < n; k++)
        if (stele_bind_int64(st, k + 1, args[k]) != STELE_OK) return fail(c, conn, "bind");
    bool ok = stele_run(st) != STELE_ERROR;
    while (ok && i == 2 && stele_step(st) == STELE_ROW) {}
    return ok || fail(c, conn, texts[i] ? texts[i] : "begin");
}
static bool transaction(Client *c, stele_conn *conn, stele_stmt *const *st) {
    const int aid = 1 + below(c, 100000 * c->scale), bid = 1 + below(c, c->scale), tid = 1 + below(c, 10 * c->scale),
              delta = below(c, 10001) - 5000;
    return run(c, conn, st[0], 0, 0, NULL) && run(c, conn, st[1], 1, 2, (int[]){delta, aid}) &&
           run(c, conn, st[2], 2, 1, (int[]){aid}) && run(c, conn, st[3], 3, 2, (int[]){delta, tid}) &&
           run(c, conn, st[4], 4, 2, (int[]){delta, bid}) && run(c, conn, st[5], 5, 4, (int[]){tid, bid, aid, delta}) &&
           run(c, conn, st[6], 6, 0, NULL);
}
static bool point_read(Client *c, stele_conn *conn, stele_stmt *const *st) {
    nanosleep(&(struct timespec){0, 500000}, NULL); /* it is not to compete with the others */
    return run(c, conn, st[2], 2, 1, (int[]){1 + below(c, 100000 * c->scale)});
}
static void *work(void *arg) {
    Client *c = arg;
    stele_conn *conn;
    stele_stmt *st[STATEMENTS] = {NULL};
    char begin[64], set[64];
    if (stele_connect(c->db, &conn) != STELE_OK) { /* there is no connection to ask why */
        snprintf(c->why, sizeof c->why, "cannot connect");
        return NULL;
    }
    snprintf(begin, sizeof begin, "begin isolation level %s", c->level);
    snprintf(set, sizeof set, "set synchronous_commit = %s", c->commit);
    bool ok = stele_exec(conn, set, NULL, NULL) == STELE_OK || fail(c, conn, set);
    for (int i = 0; i < STATEMENTS && ok; i++)
        ok = stele_prepare(conn, texts[i] ? texts[i] : begin, -1, &st[i], NULL) == STELE_OK || fail(c, conn, "prepare");
    while (ok && !atomic_load(c->stop) && !c->why[0]) {
        const double began = now_s();
        const bool good = c->reads ? point_read(c, conn, st) : transaction(c, conn, st);
        if (good) c->done++;
        if (good && c->times && c->n_times < TIMES_MAX) c->times[c->n_times++] = (now_s() - began) * 1e3;
        if (!good && stele_transaction_state(conn) != 'I') (void)stele_exec(conn, "rollback", NULL, NULL);
    }
    for (int i = 0; i < STATEMENTS; i++) stele_finalize(st[i]);
    stele_disconnect(conn);
    return NULL;
}

typedef struct Options {
    int scale, threads, runs;
    double seconds;
    const char *level, *durable, *commit;
    bool checkpoints;
} Options;

/* ---- beside checkpoints ---- */
typedef struct Saver {
    stele_db *db;
    _Atomic bool *stop;
    int64_t made;
    double took;
    char why[512];
} Saver;
static void *save_in_a_loop(void *arg) {
    Saver *s = arg;
    stele_conn *conn;
    if (stele_connect(s->db, &conn) != STELE_OK) return NULL;
    while (!atomic_load(s->stop) && !s->why[0]) {
        const double began = now_s();
        if (stele_exec(conn, "checkpoint", NULL, NULL) != STELE_OK) {
            stele_error_info e;
            stele_error(conn, &e);
            snprintf(s->why, sizeof s->why, "checkpoint: %s %.300s", e.sqlstate, e.message);
        }
        s->made++;
        s->took += now_s() - began;
    }
    stele_disconnect(conn);
    return NULL;
}
typedef struct Beside {
    double rate, p50, p99, read_p99, longest, checkpoint_s;
    int64_t checkpoints;
} Beside;
static double at_share(double *v, int64_t n, double share) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n > 0 ? v[(int64_t)((double)(n - 1) * share)] : 0;
}
/* False: it has failed. */
static bool measure_beside(stele_db *db, const Options *o, bool saves, Beside *out) {
    pthread_t threads[THREADS_MAX + 1], saver;
    Client *c = calloc(THREADS_MAX + 1, sizeof *c);
    double *all = malloc(sizeof *all * TIMES_MAX);
    _Atomic bool stop = false;
    Saver s = {.db = db, .stop = &stop};
    int64_t n_all = 0, done = 0;
    if (!c || !all) return false;
    const double began = now_s();
    for (int i = 0; i <= o->threads; i++) { /* the last one reads */
        c[i] = (Client){.db = db,
                        .level = o->level,
                        .commit = o->commit,
                        .scale = o->scale,
                        .seed = (unsigned)(i + 1) * 7919u,
                        .stop = &stop,
                        .reads = i == o->threads,
                        .times = malloc(sizeof(double) * TIMES_MAX)};
        if (!c[i].times || pthread_create(&threads[i], NULL, work, &c[i]) != 0) exit(1);
    }
    if (saves && pthread_create(&saver, NULL, save_in_a_loop, &s) != 0) exit(1);
    nanosleep(&(struct timespec){(time_t)o->seconds, (long)((o->seconds - (double)(time_t)o->seconds) * 1e9)}, NULL);
    atomic_store(&stop, true);
    for (int i = 0; i <= o->threads; i++) pthread_join(threads[i], NULL);
    const double seconds = now_s() - began;
    if (saves) pthread_join(saver, NULL);
    bool good = !s.why[0];
    for (int i = 0; i < o->threads; i++) {
        done += c[i].done;
        for (int64_t k = 0; k < c[i].n_times && n_all < TIMES_MAX; k++) all[n_all++] = c[i].times[k];
    }
    for (int i = 0; i <= o->threads; i++)
        if (c[i].why[0]) good = fprintf(stderr, "stele-pgbench: %s\n", c[i].why) < 0;
    if (s.why[0]) fprintf(stderr, "stele-pgbench: %s\n", s.why);
    *out = (Beside){.rate = (double)done / seconds,
                    .p50 = at_share(all, n_all, 0.5),
                    .p99 = at_share(all, n_all, 0.99),
                    .longest = at_share(all, n_all, 1),
                    .read_p99 = at_share(c[o->threads].times, c[o->threads].n_times, 0.99),
                    .checkpoint_s = s.made ? s.took / (double)s.made : 0,
                    .checkpoints = s.made};
    for (int i = 0; i <= o->threads; i++) free(c[i].times);
    free(c);
    free(all);
    return good;
}
static bool beside_checkpoints(stele_db *db, const Options *o) {
    for (int i = 0; i < o->runs; i++) {
        Beside x[2];
        for (int saves = 0; saves < 2; saves++) {
            if (!measure_beside(db, o, saves, &x[saves])) return false;
            printf("%s %6.0f/s, p50 %.2f ms, p99 %.2f ms, longest %.0f ms; reads p99 %.2f ms; %lld checkpoints of %.2f "
                   "s\n",
                   saves ? "beside checkpoints:" : "without:           ", x[saves].rate, x[saves].p50, x[saves].p99,
                   x[saves].longest, x[saves].read_p99, (long long)x[saves].checkpoints, x[saves].checkpoint_s);
        }
        printf("rate %.2f, p99 %.2f, p99 of reads %.2f\n", x[1].rate / x[0].rate, x[1].p99 / x[0].p99,
               x[1].read_p99 / x[0].read_p99);
    }
    return true;
}
/* Transactions a second of n threads. Negative: it has failed. */
static double measure(stele_db *db, const Options *o, int n, int64_t *refused, int64_t *deadlocks) {
    pthread_t threads[THREADS_MAX];
    Client *c = calloc(THREADS_MAX, sizeof *c);
    _Atomic bool stop = false;
    if (!c) return -1;
    double began = now_s();
    for (int i = 0; i < n; i++) {
        c[i] = (Client){.db = db,
                        .level = o->level,
                        .commit = o->commit,
                        .scale = o->scale,
                        .seed = (unsigned)(i + 1) * 7919u,
                        .stop = &stop};
        if (pthread_create(&threads[i], NULL, work, &c[i]) != 0) exit(1);
    }
    nanosleep(&(struct timespec){(time_t)o->seconds, (long)((o->seconds - (double)(time_t)o->seconds) * 1e9)}, NULL);
    atomic_store(&stop, true);
    int64_t done = 0;
    bool failed = false;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        done += c[i].done;
        *refused += c[i].refused;
        *deadlocks += c[i].deadlocks;
        if (c[i].why[0]) fprintf(stderr, "stele-pgbench: %s\n", c[i].why);
        failed = failed || c[i].why[0];
    }
    double rate = (double)done / (now_s() - began);
    free(c);
    return failed ? -1 : rate;
}

static bool load(stele_conn *c, int scale, bool texts_too) {
    char sql[1200];
    snprintf(sql, sizeof sql,
             "create table branches(bid int primary key, bbalance int, filler char(88)); "
             "create table tellers(tid int primary key, bid int, tbalance int, filler char(84)); "
             "create table accounts(aid int primary key, bid int, abalance int, filler %s); "
             "create table history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)); "
             "insert into branches select i, 0, '' from generate_series(1, %d) g(i); "
             "insert into tellers select i, (i - 1) / 10 + 1, 0, '' from generate_series(1, %d) g(i); "
             "insert into accounts select i, (i - 1) / 100000 + 1, 0, %s from generate_series(1, %d) g(i)",
             texts_too ? "text" : "char(84)", scale, 10 * scale, texts_too ? "md5(i::text) || md5((-i)::text)" : "''",
             100000 * scale);
    return stele_exec(c, sql, NULL, NULL) == STELE_OK;
}
static bool all_same(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    *(bool *)ctx = n == 1 && v[0] && strcmp(v[0], "t") == 0;
    return false;
}
static bool check(stele_conn *c) {
    bool same = false;
    return stele_exec(c,
                      "select h = (select sum(abalance) from accounts) and h = (select sum(tbalance) from tellers) and "
                      "h = (select sum(bbalance) from branches) from (select coalesce(sum(delta), 0) h from history) x",
                      all_same, &same) == STELE_OK &&
           same;
}

static bool options(int argc, char **argv, Options *o) {
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc) return false;
        if (strcmp(argv[i], "--scale") == 0) o->scale = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--threads") == 0) o->threads = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--runs") == 0) o->runs = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seconds") == 0) o->seconds = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--level") == 0) o->level = argv[i + 1];
        else if (strcmp(argv[i], "--durable") == 0) o->durable = argv[i + 1];
        else if (strcmp(argv[i], "--commit") == 0) o->commit = argv[i + 1];
        else if (strcmp(argv[i], "--checkpoints") == 0) o->checkpoints = strcmp(argv[i + 1], "on") == 0;
        else return false;
    }
    return o->scale > 0 && o->threads > 0 && o->threads <= THREADS_MAX && o->runs > 0 && o->runs <= RUNS_MAX &&
           o->seconds > 0;
}

int main(int argc, char **argv) {
    Options o = {.scale = 1, .threads = 8, .runs = 3, .seconds = 2, .level = "read committed", .commit = "on"};
    stele_db *db;
    stele_conn *c;
    double one[RUNS_MAX], many[RUNS_MAX];
    int64_t refused = 0, deadlocks = 0;
    if (!options(argc, argv, &o)) {
        fprintf(stderr, "usage: stele-pgbench [--scale N] [--threads N] [--seconds S] [--level LEVEL] [--runs N] "
                        "[--durable DIR] [--commit on|off] [--checkpoints on|off]\n");
        return 2;
    }
    const stele_options how = {.threads = 1, .durable = o.durable != NULL};
    if (stele_open(o.durable, &how, &db, NULL) != STELE_OK || stele_connect(db, &c) != STELE_OK ||
        !load(c, o.scale, o.checkpoints))
        return 1;
    if (o.checkpoints) {
        const bool good = beside_checkpoints(db, &o) && check(c);
        printf("sums %s\n", good ? "agree" : "DIFFER");
        stele_disconnect(c);
        (void)stele_close(db, NULL);
        return good ? 0 : 1;
    }
    for (int i = 0; i < o.runs; i++) {
        one[i] = measure(db, &o, 1, &refused, &deadlocks);
        many[i] = measure(db, &o, o.threads, &refused, &deadlocks);
        if (one[i] < 0 || many[i] < 0) return 1;
    }
    double slow = median(one, o.runs), fast = median(many, o.runs);
    bool right = check(c);
    printf("scale %d, %s: 1 thread %.0f/s, %d threads %.0f/s, ratio %.2f; 40001: %lld, 40P01: %lld; sums %s\n", o.scale,
           o.level, slow, o.threads, fast, fast / slow, (long long)refused, (long long)deadlocks,
           right ? "agree" : "DIFFER");
    stele_disconnect(c);
    (void)stele_close(db, NULL);
    return right ? 0 : 1;
}
