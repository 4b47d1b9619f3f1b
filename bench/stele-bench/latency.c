/* latency.c - what a repeated query costs beside its kernels: the 22 TPC-H queries on a device, columns cached, kernels
 * compiled.
 *
 * Per query, medians in microseconds: prepare (text to statement), run (to the result on the host), both together, the
 * device's time between the first and the last kernel of each segment (EXPLAIN ANALYZE), what remains, and reading all
 * rows as text, which is the client's. Device `null` runs nothing: everything that is left is the host's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../numbers.h"
#include "bench.h"

enum { QUERIES = 22, RUNS_MAX = 64, EXPLAINS = 3 };
#define DEVICE " device=$DEVICE device_strict=on device_wait=on device_residence=cached"

typedef struct Latency {
    double prepare, run, wall, kernels, read, first;
    int64_t rows;
} Latency;

static bool failed(Bench *b, char why[WHY_MAX]) {
    stele_error_info e;
    stele_error(b->conn, &e);
    snprintf(why, WHY_MAX, "%s: %s", e.sqlstate, e.message);
    return false;
}

static bool once(Bench *b, const char *sql, double *prepare, double *run, double *read, int64_t *rows,
                 char why[WHY_MAX]) {
    stele_stmt *st = NULL;
    double t0 = now_s();
    bool ok = stele_prepare(b->conn, sql, -1, &st, NULL) == STELE_OK;
    double t1 = now_s();
    ok = ok && stele_run(st) != STELE_ERROR;
    double t2 = now_s();
    stele_status s = STELE_DONE;
    for (*rows = 0; ok && (s = stele_step(st)) == STELE_ROW; ++*rows)
        for (int64_t c = 0; c < stele_column_count(st); c++) (void)stele_column_text(st, c, NULL);
    ok = ok && s == STELE_DONE;
    *prepare = (t1 - t0) * 1e6;
    *run = (t2 - t1) * 1e6;
    *read = (now_s() - t2) * 1e6;
    if (!ok) (void)failed(b, why);
    stele_finalize(st);
    return ok;
}

static bool measure_query(Bench *b, const Variant *v, const char *sql, Latency *l, char why[WHY_MAX]) {
    double prepare[RUNS_MAX], run[RUNS_MAX], wall[RUNS_MAX], read[RUNS_MAX], kernels[EXPLAINS];
    int n = b->runs < RUNS_MAX ? b->runs : RUNS_MAX;
    if (!once(b, sql, &prepare[0], &run[0], &read[0], &l->rows, why)) return false;
    l->first = prepare[0] + run[0];
    for (int i = 0; i < n + 2; i++) { /* two to warm up */
        int k = i < 2 ? 0 : i - 2;
        if (!once(b, sql, &prepare[k], &run[k], &read[k], &l->rows, why)) return false;
        wall[k] = prepare[k] + run[k];
    }
    for (int i = 0; i < EXPLAINS; i++) {
        Explain x = {0};
        if (!explain_analyze(b, v, sql, &x, why)) return false;
        free(x.text);
        if (!x.segments || x.matched < x.segments) return snprintf(why, WHY_MAX, "ran on %s", x.ran), false;
        kernels[i] = x.kernel_ms * 1e3;
    }
    *l = (Latency){median(prepare, n), median(run, n), median(wall, n), median(kernels, EXPLAINS),
                   median(read, n),    l->first,       l->rows};
    return true;
}

int bench_latency(Bench *b) {
    const Variant v = {"compiled", "executor=compiled" DEVICE, "compiled"};
    char why[WHY_MAX];
    if ((b->data && !load_tpch(b, why)) || !apply_variant(b, &v, why))
        return fprintf(stderr, "stele-bench latency: %s\n", why), 1;
    printf("microseconds, median of %d; host = prepare + run - kernels\n%-5s %9s %9s %9s %9s %9s %9s %9s\n", b->runs,
           "query", "wall", "kernels", "host", "prepare", "read", "rows", "first ms");
    double worst = 0, sum = 0, all = 0;
    int done = 0;
    for (int q = 1; q <= QUERIES; q++) {
        char path[4096];
        Latency l = {0};
        snprintf(path, sizeof path, "%s/queries/q%02d.sql", b->tpch, q);
        char *sql = read_text(path, why);
        bool ok = sql && measure_query(b, &v, sql, &l, why);
        free(sql);
        json_begin(b);
        json_int(b, "query", q);
        if (ok) {
            double host = l.wall - l.kernels;
            printf("Q%-4d %9.1f %9.1f %9.1f %9.1f %9.1f %9lld %9.2f\n", q, l.wall, l.kernels, host, l.prepare, l.read,
                   (long long)l.rows, l.first / 1e3);
            if (host > worst) worst = host;
            sum += host;
            all += l.wall;
            done++;
            json_num(b, "wall_us", l.wall);
            json_num(b, "kernels_us", l.kernels);
            json_num(b, "host_us", host);
            json_num(b, "prepare_us", l.prepare);
            json_num(b, "read_us", l.read);
            json_int(b, "rows", l.rows);
        } else {
            printf("Q%-4d not available: %s\n", q, why);
            json_text(b, "error", why);
            b->failed = true;
        }
        json_end(b);
        fflush(stdout);
    }
    if (done) printf("host: worst %.1f, mean %.1f; wall: total %.1f\n", worst, sum / done, all);
    return 0;
}
