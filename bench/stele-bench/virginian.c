/* virginian.c - ten filter queries over generated numbers [Virginian §7].
 *
 * The table: an integer key and, each as 32-bit integer and as 32-bit float, a column uniform in [-100, 100], one
 * normal with sigma 5 and one with sigma 20. Odd queries are integer arithmetic, the even one that follows is the same
 * with floats. Rows come from a hash of the row number, so that every run makes the same table (the same to the last
 * bit on machines with the same math library).
 *
 * Each query runs in two forms: `rows`, as in the paper, ends with its rows materialised on the host; `sums` wraps it
 * in an aggregation, so that reading and filtering is all the work and bandwidth shows; its sums are the check that all
 * variants see the same rows.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { N_QUERIES = 10, N_VARIANTS = 8, SLOW_MAX = 2 };

/* Order matters: what leaves columns on the device comes last, so that modes that move data do move it. The first is
 * what speed-up refers to. */
static const Variant variants[N_VARIANTS] = {
    {"vm, 1 core", "executor=vm device=cpu threads=1 ", "vm"},
    {"vm, all cores", "executor=vm device=cpu threads=$THREADS ", "vm"},
    {"compiled cpu", "executor=compiled device=cpu device_strict=on device_wait=on threads=$THREADS ", "compiled"},
    {"serial", "executor=compiled device=$DEVICE device_strict=on device_wait=on device_residence=serial", "compiled"},
    {"streamed", "executor=compiled device=$DEVICE device_strict=on device_wait=on device_residence=streamed",
     "compiled"},
    {"mapped", "executor=compiled device=$DEVICE device_strict=on device_wait=on device_residence=mapped", "compiled"},
    {"interpreted", "executor=interpreted device=$DEVICE device_strict=on device_wait=on device_residence=cached",
     "interpreted"},
    {"cached", "executor=compiled device=$DEVICE device_strict=on device_wait=on device_residence=cached", "compiled"},
};

/* Columns: what the query reads, 4 bytes each. The paper's NOT x is x = 0. */
static const struct {
    const char *out, *sums, *where;
    int columns;
} queries[N_QUERIES] = {
    {"id, uniformi, normali5", "sum(uniformi), sum(normali5)", "uniformi > 60 and normali5 < 0", 3},
    {"id, uniformf, normalf5", NULL, "uniformf > 60 and normalf5 < 0", 3},
    {"id, uniformi, normali5", "sum(uniformi), sum(normali5)", "uniformi > -60 and normali5 < 5", 3},
    {"id, uniformf, normalf5", NULL, "uniformf > -60 and normalf5 < 5", 3},
    {"id, normali5, normali20", "sum(normali5), sum(normali20)", "(normali20 + 40) > (uniformi - 10)", 4},
    {"id, normalf5, normalf20", NULL, "(normalf20 + 40) > (uniformf - 10)", 4},
    {"id, normali5, normali20", "sum(normali5), sum(normali20)", "normali5 * normali20 between -5 and 5", 3},
    {"id, normalf5, normalf20", NULL, "normalf5 * normalf20 between -5 and 5", 3},
    {"id, uniformi, normali5, normali20", "sum(uniformi), sum(normali5), sum(normali20)",
     "uniformi = 0 or normali5 = 0 or normali20 = 0", 4},
    {"id, uniformf, normalf5, normalf20", NULL, "uniformf = 0 or normalf5 = 0 or normalf20 = 0", 4},
};

/* Ten hash values per row (two per normal column), each 16 row + k through two rounds of xor, shift and multiplication
 * modulo 2^32. */
static void table_sql(char *sql, size_t size, int64_t rows) {
    enum { HASHES = 10 };
    *sql = 0;
    append(sql, size,
           "create table test as select i::integer as id, floor(u0 * 201)::integer - 100 as uniformi, (5 * "
           "n0)::integer as normali5, (20 * n1)::integer as normali20, "
           "(u1 * 200 - 100)::real as uniformf, (5 * n2)::real as normalf5, (20 * n3)::real as normalf20 from (select "
           "i, u0, u1");
    for (int k = 0; k < 4; k++)
        append(sql, size, ", sqrt(-2 * ln(u%d)) * cos(6.283185307179586 * u%d) as n%d", 2 + 2 * k, 3 + 2 * k, k);
    append(sql, size, " from (select i");
    for (int k = 0; k < HASHES; k++)
        append(sql, size, ", ((h%d # (h%d >> 16))::double precision + 0.5) / 4294967296 as u%d", k, k, k);
    for (int round = 0; round < 2; round++) {
        append(sql, size, " from (select i");
        for (int k = 0; k < HASHES; k++)
            append(sql, size, ", ((h%d # (h%d >> %d)) * %d) & 4294967295 as h%d", k, k, round ? 16 : 15,
                   round ? 73244475 : 668265261, k);
    }
    append(sql, size, " from (select i");
    for (int k = 0; k < HASHES; k++) append(sql, size, ", i * 16 + %d as h%d", k, k);
    append(sql, size, " from generate_series(1::bigint, %lld::bigint) as s(i)) a) b) c) d) e", (long long)rows);
}

static void query_sql(char *sql, size_t size, int q, bool sums) {
    if (!sums) snprintf(sql, size, "select %s from test where %s", queries[q].out, queries[q].where);
    else
        snprintf(sql, size, "select count(*), sum(id)%s%s from test where %s", queries[q].sums ? ", " : "",
                 queries[q].sums ? queries[q].sums : "", queries[q].where);
}

typedef struct Figures {
    const Bench *b;
    int64_t rows;
} Figures;

static double gbps(const Grid *g, int r, int c, void *ctx) {
    const Figures *f = ctx;
    return (double)f->rows * 4 * queries[r].columns / g->cell[r][c].median_ms / 1e6;
}

static double speedup(const Grid *g, int r, int c, void *ctx) {
    (void)ctx;
    return g->cell[r][0].ok ? g->cell[r][0].median_ms / g->cell[r][c].median_ms : NAN;
}

/* Bytes that were read as stored (narrower than the types), as EXPLAIN ANALYZE counts them, as a share of the variant's
 * limit. */
static double share(const Grid *g, int r, int c, void *ctx) {
    const Figures *f = ctx;
    const Measure *m = &g->cell[r][c];
    double limit = variant_limit(f->b, &variants[c]).gbps;
    return limit > 0 && m->where.has_read ? m->where.read_bytes / m->median_ms / 1e6 / limit * 100 : NAN;
}

static void means(const Grid *g) {
    printf("  mean, ms; geometric mean of the speed-up over one core:\n");
    for (int c = 0; c < g->n_cols; c++) {
        double sum = 0, logs = 0;
        int n = 0;
        for (int r = 0; r < g->n_rows; r++) {
            if (!g->cell[r][c].ok || g->cell[r][c].wrong || !g->cell[r][0].ok) continue;
            sum += g->cell[r][c].median_ms;
            logs += log(speedup(g, r, c, NULL));
            n++;
        }
        if (n)
            printf("    %-14s %10.3f ms  %8.2f x  (%d of %d queries)\n", g->col[c], sum / n, exp(logs / n), n,
                   g->n_rows);
    }
}

static void record(Bench *b, const Grid *g, int r, int c, int64_t rows, const char *form) {
    Figures f = {b, rows};
    const Measure *m = &g->cell[r][c];
    json_begin(b);
    json_int(b, "rows", rows);
    json_int(b, "query", r + 1);
    json_text(b, "form", form);
    json_measure(b, &variants[c], m);
    if (m->ok) {
        json_num(b, "data_gbps", gbps(g, r, c, &f));
        json_num(b, "speedup_over_one_core", speedup(g, r, c, &f));
        json_num(b, "share_of_limit_percent", share(g, r, c, &f));
        json_text(b, "limit", variant_limit(b, &variants[c]).what);
    }
    json_end(b);
}

static void print(const Bench *b, const Grid *g, int64_t rows, const char *form) {
    char title[160];
    Figures f = {b, rows};
    snprintf(title, sizeof title, "virginian, %lld rows, %s: time, ms (median)", (long long)rows, form);
    grid_print(g, title, 3, cell_ms, NULL);
    grid_print(g, "  data read at 4 bytes per value, GB/s", 2, gbps, &f);
    grid_print(g,
               "  bytes read as stored, % of the limit that binds (memory of the device or CPU; bus when data comes "
               "from the host)",
               1, share, &f);
    grid_print(g, "  speed-up over one core", 2, speedup, &f);
    means(g);
    grid_notes(g);
}

static bool run_size(Bench *b, int64_t rows) {
    static const char *const forms[2] = {"rows materialised on the host", "sums"};
    char sql[8192], why[WHY_MAX];
    Grid *g[2] = {grid_new("query", N_VARIANTS, variants), grid_new("query", N_VARIANTS, variants)};
    if (!g[0] || !g[1]) return false;
    double t0 = now_s();
    if (over_budget(b)) {
        out_of_time(b, why);
        printf("\nvirginian, %lld rows: %s\n", (long long)rows, why);
        grid_free(g[0]);
        grid_free(g[1]);
        return true;
    }
    table_sql(sql, sizeof sql, rows);
    if (!run_sql(b, "reset all; drop table if exists test", why) || !run_sql(b, sql, why)) {
        printf("\nvirginian, %lld rows: left out: %s\n", (long long)rows, why);
        grid_free(g[0]);
        grid_free(g[1]);
        return false;
    }
    printf("\n%lld rows made in %.1f s\n", (long long)rows, now_s() - t0);
    fflush(stdout);
    for (int q = 0; q < N_QUERIES; q++)
        for (int k = 0; k < 2; k++) grid_row(g[k], "Q%d", q + 1);
    for (int k = 1; k >= 0; k--) { /* results of tens of millions of rows take their time: last */
        for (int c = 0; c < N_VARIANTS; c++) {
            bool ready = apply_variant(b, &variants[c], why);
            int slow = 0;
            for (int q = 0; q < N_QUERIES; q++) {
                Measure *m = &g[k]->cell[q][c];
                query_sql(sql, sizeof sql, q, k);
                measure(b, &variants[c], sql,
                        !ready             ? why
                        : slow >= SLOW_MAX ? "left out: as slow as others of this variant"
                                           : NULL,
                        m);
                slow += m->timed_out;
                grid_check(b, g[k], q, c);
                record(b, g[k], q, c, rows, k ? "sums" : "rows");
            }
        }
        print(b, g[k], rows, forms[k]);
        grid_free(g[k]);
    }
    return run_sql(b, "reset all; drop table test", why);
}

int bench_virginian(Bench *b, const int64_t *rows, int n) {
    bool ok = true;
    b->left = n * N_VARIANTS * N_QUERIES * 2;
    for (int i = 0; i < n; i++) ok &= run_size(b, rows[i]);
    return ok && !b->failed ? 0 : 1;
}
