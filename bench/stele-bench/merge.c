/* merge.c - merges [Merge §4]: a table's delta into its main part, by 1 to all threads.
 *
 * Two tables of figures:
 *
 * - table: 8 columns (a running number, two integers, a numeric, a date, texts of few, of many and of only different
 *   values) of which a share has come as delta, with every tenth value new; against the rate at which as many threads
 *   copy memory in the same run, both by processor time, since other programs may be running. A copy of N bytes reads
 *   and writes N; a merge counts the mean of what it reads and writes, packed and open. The target of a copy has been
 *   written before; that of a merge is new memory.
 * - steps: one column of texts, the paper's Figure 2: nanoseconds per row of each step over the delta's size, the share
 *   of different values, and their length. Values that are all different have no dictionary.
 *
 * Works on tables of src/storage: how long a merge takes is asked, and neither SQL nor other sessions are to be in it.
 * One thread, and the pool's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "bench.h"
#include "storage/merge.h"

enum { BATCH = 2048, TEXT_MAX = 64, COLS_MAX = 8, COPY_BYTES = 256 << 20, COPY_RUNS = 5 };

/* Of a column: what its values are made of. */
typedef struct Kind {
    const char *name;
    TypeId type;
    int64_t distinct; /* different values of main's rows; 0: of every row another one */
    int len;          /* of texts */
} Kind;
typedef struct Spec {
    int n_cols;
    Kind col[COLS_MAX];
    int64_t main, delta;
} Spec;

/* ---- rows ---- */
/* Row number -> number of its value. New values of the delta lie between those of main. */
static uint64_t value_number(const Kind *k, uint64_t row, int col, bool delta) {
    const uint64_t h = hash_u64(row * 31 + (uint64_t)col);
    if (k->distinct == 0) return row;
    return 2 * (h % (uint64_t)k->distinct) + (uint64_t)(delta && (h >> 32) % 10 == 0);
}
/* Texts in another order than their numbers. */
static void put_text(uint64_t number, int len, char *out) {
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    uint64_t x = hash_u64(number), y = hash_u64(number + 77);
    for (int i = 0; i < len; i++) {
        out[i] = digits[x & 63];
        x = x >> 6 | (y & 63) << 58;
        y = y >> 6;
        if (i % 16 == 15) y = hash_u64(number + (uint64_t)i);
    }
}
typedef struct Rows {
    Vec vec[COLS_MAX];
    char *cells[COLS_MAX], *texts[COLS_MAX];
} Rows;
static bool rows_new(Rows *r, const Spec *s) {
    *r = (Rows){0};
    for (int c = 0; c < s->n_cols; c++) {
        r->cells[c] = malloc(BATCH * 16);
        r->texts[c] = malloc(BATCH * TEXT_MAX);
        if (!r->cells[c] || !r->texts[c]) return false;
    }
    return true;
}
static void rows_free(Rows *r) {
    for (int c = 0; c < COLS_MAX; c++) {
        free(r->cells[c]);
        free(r->texts[c]);
    }
}
static void rows_make(Rows *r, const Spec *s, const Table *t, int64_t first, int64_t n, bool delta) {
    for (int c = 0; c < s->n_cols; c++) {
        const Kind *k = &s->col[c];
        const Phys phys = type_phys(t->cols[c].type);
        r->vec[c] = (Vec){.data = r->cells[c], .phys = (uint8_t)phys, .type = t->cols[c].type};
        for (int64_t i = 0; i < n; i++) {
            const uint64_t v = value_number(k, (uint64_t)(first + i), c, delta);
            if (phys == PH_STR) {
                char *text = r->texts[c] + i * TEXT_MAX;
                put_text(v, k->len, text);
                ((Str *)(void *)r->cells[c])[i] = str_make(text, k->len);
            } else if (phys == PH_I32) {
                ((int32_t *)(void *)r->cells[c])[i] = (int32_t)v;
            } else {
                ((int64_t *)(void *)r->cells[c])[i] = (int64_t)v;
            }
        }
    }
}

/* ---- tables ---- */
static bool put_main(Table *t, const Spec *s, Rows *r, Pool *pool, Err *e) {
    TableLoad *l = NULL;
    int64_t rows = 0;
    if (load_begin(t, 1, &l, e) != ST_OK) return false;
    Status st = ST_OK;
    for (int64_t at = 0; at < s->main && st == ST_OK; at += BATCH) {
        const int64_t n = MIN_OF((int64_t)BATCH, s->main - at);
        rows_make(r, s, t, at, n, false);
        st = load_add(l, 0, at / BATCH, n, r->vec, e);
    }
    if (st == ST_OK) st = load_finish(l, pool, NULL, &rows, e);
    load_cancel(l);
    return st == ST_OK;
}
static bool put_delta(Table *t, const Spec *s, Rows *r, Err *e) {
    Status st = ST_OK;
    for (int64_t at = 0; at < s->delta && st == ST_OK; at += BATCH) {
        const int64_t n = MIN_OF((int64_t)BATCH, s->delta - at);
        rows_make(r, s, t, s->main + at, n, true);
        st = table_append(t, n, r->vec, NULL, NULL, e);
    }
    return st == ST_OK;
}
static Table *table_make(const Spec *s, MemAccount *root, Pool *pool, Err *e) {
    ColumnDef defs[COLS_MAX] = {{0}};
    Table *t = NULL;
    Rows r;
    for (int c = 0; c < s->n_cols; c++)
        defs[c] = (ColumnDef){.name = s->col[c].name,
                              .type = {.id = (uint8_t)s->col[c].type, .precision = 15, .scale = 2},
                              .not_null = true};
    if (table_new(root, "t", s->n_cols, defs, 0, NULL, 0, NULL, &t, e) != ST_OK) return NULL;
    const bool ok = rows_new(&r, s) && put_main(t, s, &r, pool, e) && put_delta(t, s, &r, e);
    rows_free(&r);
    if (ok) return t;
    table_free(t);
    return NULL;
}

/* ---- the rate of copying memory ---- */
typedef struct Copy {
    char *from, *to;
    int threads;
} Copy;
static void copy_part(void *ctx, int worker) {
    const Copy *c = ctx;
    const int64_t part = COPY_BYTES / c->threads;
    memcpy(c->to + worker * part, c->from + worker * part, (size_t)part);
}
static double process_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
/* Bytes in a second of processor time, of all threads; 0: no memory. */
static double copy_rate(Pool *pool, int threads) {
    Copy c = {malloc(COPY_BYTES), malloc(COPY_BYTES), threads};
    double best = 0;
    if (c.from && c.to) {
        memset(c.from, 1, COPY_BYTES);
        memset(c.to, 2, COPY_BYTES);
        for (int i = 0; i < COPY_RUNS; i++) {
            const double began = process_s();
            pool_run(pool, threads, copy_part, &c);
            best = fmax(best, COPY_BYTES / (process_s() - began));
        }
    }
    free(c.from);
    free(c.to);
    return best;
}

/* ---- one merge ---- */
typedef struct Run {
    MergeFigures f;
    double cpu_s; /* processor time of all threads */
    double copy;  /* bytes in a second of processor time */
} Run;
static double run_s(const Run *r) { return (double)r->f.ns * 1e-9; }
/* The mean of what is read and written, in a second of processor time. */
static double run_rate(const Run *r) { return (double)(r->f.bytes_in + r->f.bytes_out) / 2 / r->cpu_s; }

static bool say_error(const Err *e) {
    fprintf(stderr, "stele-bench: %s: %s\n", e->sqlstate, e->message);
    return false;
}
/* The best of b->runs merges, each of a table of its own. */
static bool run_merge(const Bench *b, const Spec *s, int threads, Run *best) {
    MemAccount root;
    Err e = {0};
    mem_account_init(&root, NULL, "stele-bench", 0, NULL);
    Pool *pool = pool_new(threads, &e), *all = pool_new(b->threads, &e);
    bool ok = pool && all;
    *best = (Run){0};
    for (int i = 0; i < b->runs && ok && (i == 0 || !over_budget(b)); i++) {
        Run r = {.copy = copy_rate(pool, threads)};
        Table *t = table_make(s, &root, all, &e);
        const MergeOptions o = {.pool = pool, .figures = &r.f};
        const double began = process_s();
        ok = t && table_merge_with(t, &o, &e) == ST_OK;
        r.cpu_s = process_s() - began;
        if (ok && (i == 0 || r.cpu_s < best->cpu_s)) *best = r;
        if (t) table_free(t);
    }
    pool_free(pool);
    pool_free(all);
    return ok || say_error(&e);
}
static void record(Bench *b, const char *part, const Spec *s, int threads, const Run *r) {
    json_begin(b);
    json_text(b, "part", part);
    json_int(b, "threads", threads);
    json_int(b, "columns", s->n_cols);
    json_int(b, "main_rows", s->main);
    json_int(b, "delta_rows", s->delta);
    json_int(b, "distinct", s->col[0].distinct);
    json_int(b, "length", s->col[0].len);
    json_num(b, "s", run_s(r));
    json_num(b, "cpu_s", r->cpu_s);
    json_num(b, "step_1a_s", (double)r->f.delta_ns * 1e-9);
    json_num(b, "step_1b_s", (double)r->f.dict_ns * 1e-9);
    json_num(b, "step_2_s", (double)r->f.codes_ns * 1e-9);
    json_num(b, "indexes_s", (double)r->f.index_ns * 1e-9);
    json_num(b, "statistics_s", (double)r->f.stats_ns * 1e-9);
    json_int(b, "tablets_kept", r->f.kept);
    json_int(b, "tablets_made", r->f.made);
    json_int(b, "bytes_in", r->f.bytes_in);
    json_int(b, "bytes_out", r->f.bytes_out);
    json_int(b, "entries_in", r->f.entries_in);
    json_int(b, "entries_out", r->f.entries_out);
    json_num(b, "gbps", run_rate(r) * 1e-9);
    json_num(b, "copy_gbps", r->copy * 1e-9);
    json_end(b);
}

/* ---- the table of 8 columns ---- */
static Spec wide_table(int64_t rows, double share) {
    Spec s = {.n_cols = 8,
              .col = {{"id", T_INT8, 0, 0},
                      {"small", T_INT4, 1000, 0},
                      {"large", T_INT4, 1000000, 0},
                      {"price", T_NUMERIC, 100000, 0},
                      {"day", T_DATE, 2500, 0},
                      {"kind", T_TEXT, 25, 10},
                      {"city", T_TEXT, 50000, 16},
                      {"note", T_TEXT, 0, 24}}};
    s.delta = (int64_t)((double)rows * share);
    s.main = rows - s.delta;
    return s;
}
static bool wide(Bench *b, const MergeBench *o) {
    printf("\nmerge of %lld rows by 8 columns, best of %d by processor time; a copy counts its bytes once\n",
           (long long)o->rows, b->runs);
    printf("  %6s %7s %8s %8s %9s %8s %8s %8s %8s %8s %8s %12s %8s\n", "delta", "threads", "s", "CPU s", "ns/row",
           "1a s", "1b s", "2 s", "stats s", "GB in", "GB out", "GB/s, copy", "of copy");
    for (int d = 0; d < o->n_shares; d++)
        for (int threads = 1;; threads = MIN_OF(2 * threads, b->threads)) {
            const Spec s = wide_table(o->rows, o->shares[d]);
            Run r;
            if (!run_merge(b, &s, threads, &r)) return false;
            printf("  %5.0f%% %7d %8.3f %8.3f %9.2f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %6.2f, %4.1f %7.0f%%\n",
                   o->shares[d] * 100, threads, run_s(&r), r.cpu_s, r.cpu_s / (double)o->rows * 1e9,
                   (double)r.f.delta_ns * 1e-9, (double)r.f.dict_ns * 1e-9, (double)r.f.codes_ns * 1e-9,
                   (double)r.f.stats_ns * 1e-9, (double)r.f.bytes_in * 1e-9, (double)r.f.bytes_out * 1e-9,
                   run_rate(&r) * 1e-9, r.copy * 1e-9, run_rate(&r) / r.copy * 100);
            fflush(stdout);
            record(b, "table", &s, threads, &r);
            if (threads == b->threads) break;
        }
    return true;
}

/* ---- the paper's Figure 2 ---- */
static bool steps(Bench *b, const MergeBench *o) {
    static const double deltas[] = {0.01, 0.03, 0.1}, different[] = {0.001, 0.01, 0.1, 1};
    static const int lengths[] = {4, 8, 16};
    const int64_t rows = o->rows / 4;
    printf("\none column of texts, main of %lld rows, one thread: ns of processor time per row of all\n",
           (long long)rows);
    printf("  %6s %10s %7s %8s %8s %8s %8s %8s\n", "delta", "different", "length", "1a", "1b", "2", "stats", "all");
    for (size_t d = 0; d < sizeof deltas / sizeof *deltas; d++)
        for (size_t u = 0; u < sizeof different / sizeof *different; u++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                Spec s = {.n_cols = 1, .main = rows, .delta = (int64_t)((double)rows * deltas[d])};
                const int64_t distinct = (int64_t)((double)rows * different[u]);
                s.col[0] = (Kind){"v", T_TEXT, different[u] < 1 ? distinct : 0, lengths[l]};
                Run r;
                if (over_budget(b)) return true;
                if (!run_merge(b, &s, 1, &r)) return false;
                const double n = (double)(s.main + s.delta);
                printf("  %5.0f%% %9.1f%% %7d %8.2f %8.2f %8.2f %8.2f %8.2f\n", deltas[d] * 100, different[u] * 100,
                       lengths[l], (double)r.f.delta_ns / n, (double)r.f.dict_ns / n, (double)r.f.codes_ns / n,
                       (double)r.f.stats_ns / n, r.cpu_s * 1e9 / n);
                fflush(stdout);
                record(b, "steps", &s, 1, &r);
            }
    return true;
}

int bench_merge(Bench *b, const MergeBench *o) { return wide(b, o) && steps(b, o) ? 0 : 1; }
