/* gpl.c - TPC-H Q5, Q7, Q8, Q9, Q14 on the executors that GPL compares [GPL §5]: kernel at a time, pipelined with its
 * kernels one after the other, pipelined, and fused (`compiled`). Times, bytes materialised between operators, time
 * over tile size and over work-groups with the choice of the model marked, and how far the model's estimate is off, of
 * queries and of single pipelines.
 *
 * Columns are (label, settings): more with --variant. What the model chose and what it expected is read from EXPLAIN
 * ANALYZE.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { N_QUERIES = 5, N_VARIANTS = 5 };
static const int query_number[N_QUERIES] = {5, 7, 8, 9, 14};

#define DEVICE " device=$DEVICE device_strict=on device_wait=on device_residence=cached statement_timeout=20s "
static const Variant variants[N_VARIANTS] = {
    {"vm", "executor=vm device=cpu threads=$THREADS ", "vm"},
    {"kernel", "executor=kernel" DEVICE, "kernel"},
    {"pipelined, in turn", "executor=pipelined pipelined_concurrency=off" DEVICE, "pipelined"},
    {"pipelined", "executor=pipelined" DEVICE, "pipelined"},
    {"compiled", "executor=compiled" DEVICE, "compiled"},
};

/* The last column of a sweep is the model's choice. */
static const Variant tiles[] = {
#define TILE(label, rows) \
    { label, "executor=pipelined pipelined_tile_rows=" rows DEVICE, "pipelined" }
    TILE("256k rows", "262144"), TILE("1M", "1048576"),   TILE("4M", "4194304"),
    TILE("16M", "16777216"),     TILE("64M", "67108864"), {"model", "executor=pipelined" DEVICE, "pipelined"},
};
static const double tile_rows[] = {262144, 1048576, 4194304, 16777216, 67108864};
static const Variant groups[] = {
#define GROUPS(n) \
    { n, "executor=pipelined pipelined_groups=" n DEVICE, "pipelined" }
    GROUPS("8"),
    GROUPS("16"),
    GROUPS("32"),
    GROUPS("64"),
    GROUPS("128"),
    GROUPS("256"),
    {"model", "executor=pipelined" DEVICE, "pipelined"},
};
static const double group_counts[] = {8, 16, 32, 64, 128, 256};

enum { N_TILES = sizeof tiles / sizeof *tiles, N_GROUPS = sizeof groups / sizeof *groups };
typedef struct Sweep {
    const char *part, *title;
    const Variant *variants;
    int n; /* with the model's column */
    const double *values;
    double (*chosen)(const char *choice); /* what the model took, from the line of EXPLAIN ANALYZE; 0: not told */
} Sweep;

char *read_text(const char *path, char why[WHY_MAX]) {
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    long size = -1;
    if (f && fseek(f, 0, SEEK_END) == 0 && (size = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0)
        text = malloc((size_t)size + 1);
    if (text && fread(text, 1, (size_t)size, f) == (size_t)size) text[size] = 0;
    else {
        snprintf(why, WHY_MAX, "%s: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (f) fclose(f);
    return text;
}

bool load_tpch(Bench *b, char why[WHY_MAX]) {
    static const char *const tables[] = {"region",   "nation",   "part",   "supplier",
                                         "partsupp", "customer", "orders", "lineitem"};
    char path[4096], sql[4352];
    snprintf(path, sizeof path, "%s/schema.sql", b->tpch);
    char *schema = read_text(path, why);
    bool ok = schema && run_sql(b, schema, why);
    free(schema);
    double t0 = now_s();
    for (size_t i = 0; ok && i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql, "copy %s from '%s/%s.tbl'", tables[i], b->data, tables[i]);
        ok = run_sql(b, sql, why);
    }
    if (ok) printf("%s loaded in %.1f s\n", b->data, now_s() - t0);
    return ok;
}

static bool load_queries(Bench *b, char *sql[N_QUERIES], char why[WHY_MAX]) {
    for (int q = 0; q < N_QUERIES; q++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/queries/q%02d.sql", b->tpch, query_number[q]);
        if (!(sql[q] = read_text(path, why))) return false;
    }
    return true;
}

/* None told by an executor that tells its kernels' times: none. */
static double materialized(const Grid *g, int r, int c, void *ctx) {
    (void)ctx;
    const Explain *x = &g->cell[r][c].where;
    return x->has_materialized || x->has_kernel ? x->materialized_bytes / 1e6 : NAN;
}

static double model_error(const Grid *g, int r, int c, void *ctx) {
    (void)ctx;
    const Explain *x = &g->cell[r][c].where;
    return x->has_model ? (x->model_ms / x->measured_ms - 1) * 100 : NAN;
}

/* Single pipelines: errors of the model, as EXPLAIN ANALYZE tells them. */
static int pipeline_errors(const Measure *m, double *out, int max) {
    int n = 0;
    for (const char *p = m->ok && m->where.text ? m->where.text : NULL; p && (p = strstr(p, ", error ")) && n < max;
         p++)
        out[n++] = strtod(p + 8, NULL);
    return n;
}

static int by_size(const void *a, const void *b) {
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static void print_pipelines(const Grid *g, int col) {
    double e[256];
    int n = 0, within = 0;
    for (int r = 0; r < g->n_rows; r++) n += pipeline_errors(&g->cell[r][col], e + n, 256 - n);
    if (n == 0) return;
    qsort(e, (size_t)n, sizeof *e, by_size);
    for (int i = 0; i < n; i++) within += fabs(e[i]) <= 30;
    printf("  %s: %d of %d pipelines within 30 %%; median error %+.0f %%, largest %+.0f %%\n", g->col[col], within, n,
           e[n / 2], e[n - 1]);
}

/* Every query on every variant: measured, checked, recorded. */
static Grid *run_grid(Bench *b, const char *part, const Variant *v, int n, char *const sql[N_QUERIES]) {
    char why[WHY_MAX];
    Grid *g = grid_new("query", n, v);
    if (!g) return NULL;
    for (int q = 0; q < N_QUERIES; q++) grid_row(g, "Q%d", query_number[q]);
    for (int c = 0; c < n; c++) {
        bool ready = apply_variant(b, &v[c], why);
        for (int q = 0; q < N_QUERIES; q++) {
            Measure *m = &g->cell[q][c];
            measure(b, &v[c], sql[q], ready ? NULL : why, m);
            grid_check(b, g, q, c);
            json_begin(b);
            json_text(b, "part", part);
            json_int(b, "query", query_number[q]);
            json_measure(b, &v[c], m);
            if (m->ok) json_num(b, "model_error_percent", model_error(g, q, c, NULL));
            json_end(b);
        }
    }
    return g;
}

static bool run_executors(Bench *b, char *const sql[N_QUERIES]) {
    Variant all[GRID_COLS_MAX];
    int n = 0;
    for (; n < N_VARIANTS; n++) all[n] = variants[n];
    for (int i = 0; i < b->n_extra && n < GRID_COLS_MAX; i++) all[n++] = b->extra[i];
    Grid *g = run_grid(b, "executors", all, n, sql);
    if (!g) return false;
    grid_print(g, "gpl: time, ms (median)", 3, cell_ms, NULL);
    if (grid_any(g, -1, materialized, NULL))
        grid_print(g, "  materialised between segments, MB", 3, materialized, NULL);
    else printf("  bytes materialised: not told by EXPLAIN ANALYZE\n");
    if (grid_any(g, -1, model_error, NULL)) grid_print(g, "  the model's relative error, %", 1, model_error, NULL);
    else printf("  the model's relative error: not told by EXPLAIN ANALYZE\n");
    for (int c = 0; c < g->n_cols; c++) print_pipelines(g, c);
    grid_notes(g);
    grid_free(g);
    return true;
}

/* ---- sweeps ----------------------------------------------------------------------------------------- */
static double chosen_tile(const char *choice) {
    const char *p = strstr(choice, " of "), *q = p ? strstr(p, " round") : NULL;
    q = q ? strstr(q, " of ") : NULL;
    return q ? strtod(q + 4, NULL) : 0;
}

/* Work-groups of a kernel, on average. */
static double chosen_groups(const char *choice) {
    const char *p = strstr(choice, "groups ");
    double sum = 0;
    int n = 0;
    for (char *end = NULL; p && (n == 0 || *p == '+'); p = end, n++) sum += strtod(n == 0 ? p + 7 : p + 1, &end);
    return n ? sum / n : 0;
}

/* The column nearest to what the model chose. */
static int marked(const Sweep *w, const Measure *model) {
    double x = model->ok ? w->chosen(model->where.choice) : 0;
    int best = -1;
    for (int c = 0; x > 0 && c < w->n - 1; c++)
        if (best < 0 || fabs(log(x / w->values[c])) < fabs(log(x / w->values[best]))) best = c;
    return best;
}

static void print_sweep(const Grid *g, const Sweep *w) {
    printf("\n%s (* next to what the model chooses for the query's longest pipeline)\n  %-5s", w->title, g->row_title);
    for (int c = 0; c < g->n_cols; c++) printf("  %10s ", g->col[c]);
    printf("\n");
    for (int r = 0; r < g->n_rows; r++) {
        printf("  %-5s", g->row[r]);
        int mark = marked(w, &g->cell[r][w->n - 1]);
        for (int c = 0; c < g->n_cols; c++) {
            const Measure *m = &g->cell[r][c];
            if (m->ok && !m->wrong) printf("  %10.3f%c", m->median_ms, c == mark ? '*' : ' ');
            else printf("  %10s ", m->wrong ? "WRONG" : "-");
        }
        printf("\n");
    }
    fflush(stdout);
}

/* The model's choice against the best of the sweep. */
static void verdict(const Grid *g) {
    int last = g->n_cols - 1;
    for (int r = 0; r < g->n_rows; r++) {
        int best = -1;
        for (int c = 0; c < last; c++)
            if (g->cell[r][c].ok && (best < 0 || g->cell[r][c].median_ms < g->cell[r][best].median_ms)) best = c;
        const Measure *model = &g->cell[r][last];
        if (best >= 0 && model->ok)
            printf("    %-4s fastest: %s; the model's choice (%s) takes %.2f of its time\n", g->row[r], g->col[best],
                   *model->where.choice ? model->where.choice : "not told",
                   model->median_ms / g->cell[r][best].median_ms);
    }
}

static bool run_sweep(Bench *b, const Sweep *w, char *const sql[N_QUERIES]) {
    Grid *g = run_grid(b, w->part, w->variants, w->n, sql);
    if (!g) return false;
    print_sweep(g, w);
    verdict(g);
    grid_notes(g);
    grid_free(g);
    return true;
}

int bench_gpl(Bench *b) {
    static const Sweep over_tiles = {"tile", "gpl: time over tile size, ms", tiles, N_TILES, tile_rows, chosen_tile};
    static const Sweep over_groups = {
        "groups", "gpl: time over work-groups of each kernel, ms", groups, N_GROUPS, group_counts, chosen_groups};
    char why[WHY_MAX] = "", *sql[N_QUERIES] = {0};
    if (!b->device) b->device = "cpu";
    b->left = (N_VARIANTS + b->n_extra + N_TILES + N_GROUPS) * N_QUERIES;
    bool ok = load_queries(b, sql, why) && (b->database || load_tpch(b, why));
    if (!ok) fprintf(stderr, "stele-bench gpl: %s\n", why);
    ok = ok && run_executors(b, sql) && run_sweep(b, &over_tiles, sql) && run_sweep(b, &over_groups, sql);
    for (int q = 0; q < N_QUERIES; q++) free(sql[q]);
    return ok && !b->failed ? 0 : 1;
}
