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
 * With a device: the paper's Figure 4, two dictionaries of 64-bit values merged by one core and in three ways by the
 * device, with and without the copies to it and back; duplicates removed by sorting.
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
#include "exec/device/dict_device.h"
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
                      {"city", T_TEXT, 5000, 16},
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

/* ---- dictionaries on a processor and on a device, the paper's Figure 4 ---- */
typedef struct Dicts {
    DictInput in;
    uint64_t *main, *delta, *mixed; /* mixed: the delta's, each about twice, in no order */
    DictOutput out;
} Dicts;
static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
/* In order and different; a tenth of the delta's are main's too. */
static bool dicts_make(Dicts *d, int64_t n_main, int64_t n_delta) {
    const int64_t n = n_main + n_delta, step = MAX_OF(n_main / n_delta, (int64_t)1);
    *d = (Dicts){.in = {.n_main = n_main, .n_delta = n_delta}};
    d->main = malloc((size_t)n_main * 8);
    d->delta = malloc((size_t)n_delta * 8);
    d->mixed = malloc((size_t)n_delta * 16);
    d->out = (DictOutput){.values = malloc((size_t)n * 8),
                          .of_main = malloc((size_t)n_main * 4),
                          .of_delta = malloc((size_t)n_delta * 4)};
    if (!d->main || !d->delta || !d->mixed || !d->out.values || !d->out.of_main || !d->out.of_delta) return false;
    for (int64_t i = 0; i < n_main; i++) d->main[i] = (uint64_t)i << 20 | (hash_u64((uint64_t)i) & 0xffff);
    for (int64_t i = 0; i < n_delta; i++) {
        const uint64_t at = (uint64_t)(i * step);
        d->delta[i] = i % 10 == 0 && at < (uint64_t)n_main ? d->main[at] : at << 20 | 0x10000 | (hash_u64(at) & 0xffff);
    }
    for (int64_t i = 0; i < 2 * n_delta; i++) d->mixed[i] = d->delta[hash_u64((uint64_t)i) % (uint64_t)n_delta];
    d->in.main = d->main;
    d->in.delta = d->delta;
    return true;
}
static void dicts_free(Dicts *d) {
    free(d->main);
    free(d->delta);
    free(d->mixed);
    free(d->out.values);
    free(d->out.of_main);
    free(d->out.of_delta);
}
/* One thread: both walked along. */
static int64_t merge_here(Dicts *d) {
    const int64_t n_main = d->in.n_main, n_delta = d->in.n_delta;
    int64_t i = 0, k = 0;
    uint32_t n = 0;
    for (; i < n_main || k < n_delta; n++) {
        const bool take_main = k >= n_delta || (i < n_main && d->main[i] <= d->delta[k]);
        const bool take_delta = i >= n_main || (k < n_delta && d->delta[k] <= d->main[i]);
        d->out.values[n] = take_main ? d->main[i] : d->delta[k];
        if (take_main) d->out.of_main[i++] = n;
        if (take_delta) d->out.of_delta[k++] = n;
    }
    return n;
}
static int64_t unique_here(Dicts *d) {
    const int64_t n = 2 * d->in.n_delta;
    int64_t m = 0;
    qsort(d->mixed, (size_t)n, sizeof *d->mixed, by_value);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || d->mixed[i] != d->mixed[i - 1]) d->out.values[m++] = d->mixed[i];
    return m;
}
static void put_dicts(Bench *b, const Dicts *d, const char *what, const char *way, double all_s, double run_s) {
    const bool merges = strcmp(what, "merge") == 0;
    const double n = (double)(merges ? d->in.n_main + d->in.n_delta : 2 * d->in.n_delta);
    printf("  %10lld %10lld %-7s %-7s %10.2f %10.2f %12.1f %12.1f\n", (long long)(merges ? d->in.n_main : 0),
           (long long)(merges ? d->in.n_delta : 2 * d->in.n_delta), what, way, all_s * 1e3, run_s * 1e3,
           n / all_s * 1e-6, n / run_s * 1e-6);
    fflush(stdout);
    json_begin(b);
    json_text(b, "part", "dictionaries");
    json_text(b, "step", what);
    json_text(b, "way", way);
    json_int(b, "main_values", d->in.n_main);
    json_int(b, "delta_values", d->in.n_delta);
    json_num(b, "s", all_s);
    json_num(b, "kernels_s", run_s);
    json_end(b);
}
/* Way N_DICT_WAYS: duplicates. The best of b->runs. */
static bool dicts_on_device(Bench *b, DictDevice *x, Dicts *d, int way, int64_t want) {
    const DictInput mixed = {.n_delta = 2 * d->in.n_delta, .delta = d->mixed};
    const bool merges = way < N_DICT_WAYS;
    double all_s = INFINITY, kernels_s = INFINITY;
    for (int i = 0; i < b->runs; i++) {
        Err e = {0};
        DictOutput out = d->out;
        const Status st =
            merges ? dict_device_merge(x, (DictWay)way, &d->in, &out, &e) : dict_device_unique(x, &mixed, &out, &e);
        if (st != ST_OK) return say_error(&e);
        if (out.n != want) return b->failed = true, fprintf(stderr, "stele-bench: WRONG number of values\n"), false;
        all_s = fmin(all_s, (double)(out.in_ns + out.run_ns + out.out_ns) * 1e-9);
        kernels_s = fmin(kernels_s, (double)out.run_ns * 1e-9);
    }
    put_dicts(b, d, merges ? "merge" : "unique", merges ? dict_way_names[way] : "sort", all_s, kernels_s);
    return true;
}
static bool dicts_of_size(Bench *b, DictDevice *x, int64_t n_main, int64_t n_delta) {
    Dicts d;
    bool ok = dicts_make(&d, n_main, n_delta);
    int64_t merged = 0, different = 0;
    double here_s = INFINITY;
    for (int i = 0; i < b->runs && ok; i++) {
        const double began = process_s();
        merged = merge_here(&d);
        here_s = fmin(here_s, process_s() - began);
    }
    if (ok) put_dicts(b, &d, "merge", "1 core", here_s, here_s);
    for (int way = 0; way < N_DICT_WAYS && ok; way++) ok = dicts_on_device(b, x, &d, way, merged);
    uint64_t *mixed = ok ? malloc((size_t)n_delta * 16) : NULL;
    if (mixed) memcpy(mixed, d.mixed, (size_t)n_delta * 16);
    const double began = process_s();
    if (mixed) different = unique_here(&d);
    here_s = process_s() - began;
    if (mixed) put_dicts(b, &d, "unique", "1 core", here_s, here_s);
    if (mixed) memcpy(d.mixed, mixed, (size_t)n_delta * 16);
    ok = mixed && dicts_on_device(b, x, &d, N_DICT_WAYS, different);
    free(mixed);
    dicts_free(&d);
    return ok;
}
static bool dicts(Bench *b, const MergeBench *o) {
    MemAccount root;
    Err e = {0};
    Devices *devices = NULL;
    Device *d = NULL;
    CodeCache *cache = NULL;
    DictDevice *x = NULL;
    mem_account_init(&root, NULL, "stele-bench", 0, NULL);
    Pool *pool = pool_new(b->threads, &e);
    bool ok = pool && devices_open(pool, &root, &devices, &e) == ST_OK;
    ok = ok && devices_get(devices, strcmp(b->device, "cpu") == 0 ? "host" : b->device, &d, &e) == ST_OK;
    ok = ok && code_cache_new("", 0, &cache, &e) == ST_OK && dict_device_new(d, cache, &root, &x, &e) == ST_OK;
    if (!ok) (void)say_error(&e);
    if (ok) {
        printf("\ndictionaries of 64-bit values, %s against one core by processor time, best of %d\n", d->info.name,
               b->runs);
        printf("  %10s %10s %-7s %-7s %10s %10s %12s %12s\n", "main", "delta", "step", "way", "all ms", "kernels ms",
               "M/s, all", "M/s, kernels");
    }
    for (int64_t n = o->rows / 10; n <= o->rows && ok && !over_budget(b); n *= 10)
        ok = dicts_of_size(b, x, n, n / 10) && dicts_of_size(b, x, n, n);
    dict_device_free(x);
    if (d && cache) code_cache_drop_device(cache, d);
    if (cache) code_cache_free(cache);
    if (devices) devices_close(devices);
    pool_free(pool);
    return ok;
}

int bench_merge(Bench *b, const MergeBench *o) {
    if (b->device) return dicts(b, o) ? 0 : 1;
    return wide(b, o) && steps(b, o) ? 0 : 1;
}
