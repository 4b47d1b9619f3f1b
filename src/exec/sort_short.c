/* sort_short.c - a sort of all rows by keys that fit 64 bits: rows are moved, not addresses of rows.
 *
 * Rows lie in the workers' stores in the order of arrival, with their keys before them; they get the headers of other
 * sorts when they go to disk (sort.c). To put them in order:
 *
 * 1. A sample of the keys says where most of them lie; that range is cut into buckets of equal width, some thousand
 *    rows each. Keys on either side of it fall into the first and the last bucket.
 * 2. Stretches of rows, in the order of arrival, are tasks. For each, workers count the rows of every bucket; sums of
 *    the counts say where each task's rows of each bucket go.
 * 3. Workers copy the rows there, key first: rows of a bucket are together, still in the order of arrival.
 * 4. Workers take buckets, which fit the cache, sort (key, place) by counting passes over the highest bits that differ
 *    and short pieces by insertion, both of which leave equal keys as they are, and append the rows to the result.
 *
 * Every row is written once at random in step 3, to few places at a time; sorting addresses would read every row at
 * random instead, at the end. When keys are so uneven that a bucket is large, it is still sorted in the same way.
 */
#include <stdlib.h>

#include "exec/sort_int.h"

enum {
    SAMPLE = 1024,
    BUCKET_ROWS = 4096,
    MAX_BUCKETS = 1024,
    TASKS_PER_WORKER = 4,
    INSERTION = 24,
    MIN_DIGIT = 3, /* bits of a counting pass */
    MAX_DIGIT = 8
};

typedef struct Place {
    uint64_t key;
    int64_t at; /* row of the bucket */
} Place;

typedef struct Task {
    int64_t first, n; /* stretches */
} Task;

typedef struct ShortSort {
    Sorter *s;
    RowStore *out;
    Err *err;
    Mutex lock;
    _Atomic int64_t next;
    _Atomic bool failed;
    int64_t total, width; /* rows, and bytes of a row with its key */
    SortStretch *stretches;
    int64_t n_stretches;
    Task *tasks;
    int64_t n_tasks;
    uint64_t low;
    int shift;
    int64_t n_buckets;
    int64_t *count; /* by task and bucket: rows, then where they go; behind them, by bucket, its first row */
    char *rows;
} ShortSort;

Status short_note(Sorter *s, SortWorker *w, uint64_t order, RowPage *page, int64_t n, Err *e) {
    SortStretch *last = w->n_stretches ? &w->stretches[w->n_stretches - 1] : NULL;
    if (last && last->order == order && last->page == page) {
        last->n += n;
        return ST_OK;
    }
    if (w->n_stretches == w->cap_stretches) {
        int64_t cap = MAX_OF(w->cap_stretches * 2, (int64_t)64), size = (int64_t)sizeof *last;
        SortStretch *p = mem_realloc(s->acct, w->stretches, w->cap_stretches * size, cap * size, e);
        if (!p) return ST_ERROR;
        w->stretches = p;
        w->cap_stretches = cap;
    }
    w->stretches[w->n_stretches++] = (SortStretch){order, page->n - n, w->n_stretches, page, n};
    return ST_OK;
}

void short_free(Sorter *s, SortWorker *w) {
    mem_free(s->acct, w->stretches, w->cap_stretches * (int64_t)sizeof *w->stretches);
    w->earlier += (uint64_t)w->n_stretches;
    w->stretches = NULL;
    w->n_stretches = w->cap_stretches = 0;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

ALWAYS_INLINE uint64_t key_of(const char *row) {
    uint64_t key;
    memcpy(&key, row, sizeof key);
    return key;
}
static const char *row_of(const ShortSort *g, const SortStretch *t, int64_t i) {
    return t->page->rows + (t->first + i) * g->width;
}
ALWAYS_INLINE int64_t bucket_of(const ShortSort *g, uint64_t key) {
    if (key < g->low) return 0;
    uint64_t b = (key - g->low) >> g->shift;
    return (int64_t)MIN_OF(b, (uint64_t)g->n_buckets - 1);
}

static int compare_stretches(const void *a, const void *b) {
    const SortStretch *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void short_order(SortWorker *w) {
    qsort(w->stretches, (size_t)w->n_stretches, sizeof *w->stretches, compare_stretches);
}

static Status collect_stretches(ShortSort *g) {
    Sorter *s = g->s;
    for (int k = 0; k < s->workers; k++) g->n_stretches += s->w[k].n_stretches;
    g->stretches = mem_alloc(s->acct, MAX_OF(g->n_stretches, 1) * (int64_t)sizeof *g->stretches, g->err);
    if (!g->stretches) return ST_ERROR;
    int64_t n = 0;
    for (int k = 0; k < s->workers; k++)
        for (int64_t i = 0; i < s->w[k].n_stretches; i++) g->stretches[n++] = s->w[k].stretches[i];
    qsort(g->stretches, (size_t)n, sizeof *g->stretches, compare_stretches);
    return ST_OK;
}

static Status make_tasks(ShortSort *g) {
    int64_t most = (int64_t)g->s->threads * TASKS_PER_WORKER, share = g->total / most + 1, rows = 0;
    g->tasks = mem_calloc(g->s->acct, (most + 1) * (int64_t)sizeof *g->tasks, g->err);
    if (!g->tasks) return ST_ERROR;
    for (int64_t i = 0; i < g->n_stretches; i++) {
        if (g->n_tasks == 0 || rows >= share) {
            g->tasks[g->n_tasks++] = (Task){i, 0};
            rows = 0;
        }
        g->tasks[g->n_tasks - 1].n++;
        rows += g->stretches[i].n;
    }
    return ST_OK;
}

/* ---- 1. buckets -------------------------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void choose_buckets(ShortSort *g) {
    uint64_t sample[SAMPLE];
    int64_t n = 0, row = 0, step = g->total / SAMPLE + 1;
    for (int64_t i = 0, first = 0; i < g->n_stretches; first += g->stretches[i++].n)
        for (; row < first + g->stretches[i].n && n < SAMPLE; row += step)
            sample[n++] = key_of(row_of(g, &g->stretches[i], row - first));
    qsort(sample, (size_t)n, sizeof *sample, compare_keys);
    g->low = sample[n / 100];
    uint64_t range = sample[n - 1 - n / 100] - g->low;
    g->n_buckets = 1;
    while (g->n_buckets < MAX_BUCKETS && g->n_buckets * BUCKET_ROWS < g->total) g->n_buckets *= 2;
    int bits = range ? 64 - __builtin_clzll(range) : 0;
    g->shift = MIN_OF(MAX_OF(bits - (63 - __builtin_clzll((uint64_t)g->n_buckets)), 0), 63);
}

/* ---- 2., 3. distribution ------------------------------------------------------------------------------ */

static void fail(ShortSort *g, const Err *e) {
    mutex_lock(&g->lock);
    if (!atomic_exchange(&g->failed, true)) err_copy(g->err, e);
    mutex_unlock(&g->lock);
}

static void count_rows(void *ctx, int worker) {
    (void)worker;
    ShortSort *g = ctx;
    Err e;
    err_clear(&e);
    for (int64_t t; (t = atomic_fetch_add(&g->next, 1)) < g->n_tasks && !atomic_load(&g->failed);) {
        int64_t *count = g->count + t * g->n_buckets;
        for (int64_t i = 0; i < g->tasks[t].n; i++) {
            const SortStretch *r = &g->stretches[g->tasks[t].first + i];
            const char *row = row_of(g, r, 0);
            for (int64_t k = 0; k < r->n; k++, row += g->width) count[bucket_of(g, key_of(row))]++;
        }
        if (query_stop_check(g->s->stop, &e) != ST_OK) fail(g, &e);
    }
}

/* Counts to places. */
static void add_counts(ShortSort *g) {
    int64_t at = 0, *first = g->count + g->n_tasks * g->n_buckets;
    for (int64_t b = 0; b < g->n_buckets; b++) {
        first[b] = at;
        for (int64_t t = 0; t < g->n_tasks; t++) {
            int64_t n = g->count[t * g->n_buckets + b];
            g->count[t * g->n_buckets + b] = at;
            at += n;
        }
    }
    first[g->n_buckets] = at;
}

/* width: a constant where it matters */
ALWAYS_INLINE void move_stretch(const ShortSort *g, const SortStretch *r, int64_t *place, size_t width) {
    const char *row = row_of(g, r, 0);
    for (int64_t k = 0; k < r->n; k++, row += width)
        memcpy(g->rows + (size_t)place[bucket_of(g, key_of(row))]++ * width, row, width);
}

static void move_rows(void *ctx, int worker) {
    (void)worker;
    ShortSort *g = ctx;
    Err e;
    err_clear(&e);
    for (int64_t t; (t = atomic_fetch_add(&g->next, 1)) < g->n_tasks && !atomic_load(&g->failed);) {
        int64_t *place = g->count + t * g->n_buckets;
        for (int64_t i = 0; i < g->tasks[t].n; i++) {
            const SortStretch *r = &g->stretches[g->tasks[t].first + i];
            switch (g->width) {
            case 16: move_stretch(g, r, place, 16); break;
            case 24: move_stretch(g, r, place, 24); break;
            case 32: move_stretch(g, r, place, 32); break;
            case 40: move_stretch(g, r, place, 40); break;
            default: move_stretch(g, r, place, (size_t)g->width);
            }
        }
        if (query_stop_check(g->s->stop, &e) != ST_OK) fail(g, &e);
    }
}

/* ---- 4. buckets in order ------------------------------------------------------------------------------- */

static void insert_places(Place *p, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        Place x = p[i];
        int64_t j = i;
        for (; j > 0 && x.key < p[j - 1].key; j--) p[j] = p[j - 1];
        p[j] = x;
    }
}

/* Stable; tmp has room for n. False: the query is stopped. Calls itself for the bits below, MIN_DIGIT less at least. */
static bool sort_places(const Sorter *s, Place *p, Place *tmp, int64_t n) {
    if (n <= INSERTION) {
        insert_places(p, n);
        return true;
    }
    uint64_t any = 0, all = ~UINT64_C(0);
    for (int64_t i = 0; i < n; i++) {
        any |= p[i].key;
        all &= p[i].key;
    }
    if (any == all) return true;
    if (n > POLL_ROWS && query_stopped(s->stop)) return false;
    int top = 64 - __builtin_clzll(any ^ all), digit = 63 - __builtin_clzll((uint64_t)n) - 2;
    digit = MIN_OF(MAX_OF(MIN_OF(digit, (int)MAX_DIGIT), (int)MIN_DIGIT), top);
    int shift = top - digit;
    uint64_t mask = (UINT64_C(1) << digit) - 1;
    int64_t end[1 << MAX_DIGIT] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) end[p[i].key >> shift & mask]++;
    for (int64_t b = 0; b <= (int64_t)mask; b++) {
        int64_t c = end[b];
        end[b] = sum;
        sum += c;
    }
    for (int64_t i = 0; i < n; i++) tmp[end[p[i].key >> shift & mask]++] = p[i];
    memcpy(p, tmp, (size_t)n * sizeof *p);
    if (shift == 0) return true;
    for (int64_t b = 0, first = 0; b <= (int64_t)mask; first = end[b++])
        if (end[b] - first > 1 && !sort_places(s, p + first, tmp, end[b] - first)) return false;
    return true;
}

typedef struct BucketSort {
    ShortSort *g;
    int worker;
    Place *places; /* 2 * room */
    int64_t room;
} BucketSort;

static Status sort_bucket(BucketSort *b, int64_t bucket, int64_t first, int64_t n, Err *e) {
    ShortSort *g = b->g;
    Sorter *s = g->s;
    if (n > b->room) {
        int64_t size = 2 * (int64_t)sizeof *b->places;
        mem_free(s->acct, b->places, b->room * size);
        b->room = 0;
        if (!(b->places = mem_alloc_raw(s->acct, n * size, e))) return ST_ERROR;
        b->room = n;
    }
    const char *rows = g->rows + first * g->width;
    for (int64_t i = 0; i < n; i++) {
        b->places[i] = (Place){key_of(rows + i * g->width), i};
    }
    if (!sort_places(s, b->places, b->places + b->room, n)) return query_stop_error(s->stop, e);
    for (int64_t i = 0; i < n; i += BATCH) {
        const char *row[BATCH];
        int64_t m = MIN_OF(n - i, (int64_t)BATCH);
        for (int64_t k = 0; k < m; k++) row[k] = rows + b->places[i + k].at * g->width + s->cells;
        TRY(query_stop_check(s->stop, e));
        TRY(rows_append_addresses(g->out, b->worker, bucket, m, row, e));
    }
    return ST_OK;
}

static void sort_buckets(void *ctx, int worker) {
    ShortSort *g = ctx;
    BucketSort b = {.g = g, .worker = worker};
    const int64_t *first = g->count + g->n_tasks * g->n_buckets;
    Err e;
    err_clear(&e);
    for (int64_t k; (k = atomic_fetch_add(&g->next, 1)) < g->n_buckets && !atomic_load(&g->failed);)
        if (sort_bucket(&b, k, first[k], first[k + 1] - first[k], &e) != ST_OK) fail(g, &e);
    mem_free(g->s->acct, b.places, b.room * 2 * (int64_t)sizeof *b.places);
}

/* ---- all of it ---------------------------------------------------------------------------------------- */

static Status run(ShortSort *g, PoolFn fn) {
    atomic_store(&g->next, 0);
    if (g->s->pool && g->s->threads > 1 && g->total > BUCKET_ROWS) pool_run(g->s->pool, g->s->threads, fn, g);
    else fn(g, 0);
    return atomic_load(&g->failed) ? ST_ERROR : ST_OK;
}

static Status sort_rows(ShortSort *g) {
    MemAccount *acct = g->s->acct;
    TRY(collect_stretches(g));
    TRY(make_tasks(g));
    choose_buckets(g);
    g->count = mem_calloc(acct, ((g->n_tasks + 1) * g->n_buckets + 1) * 8, g->err);
    if (!g->count || !(g->rows = mem_alloc_raw(acct, g->total * g->width, g->err))) return ST_ERROR;
    TRY(run(g, count_rows));
    add_counts(g);
    TRY(run(g, move_rows));
    return run(g, sort_buckets);
}

Status short_finish(Sorter *s, RowStore *out, Err *e) {
    ShortSort g = {.s = s, .out = out, .err = e, .width = s->brief.width};
    for (int k = 0; k < s->workers; k++) g.total += s->w[k].stored;
    if (!mutex_init(&g.lock, RANK_SORT)) return err_oom(e);
    Status st = sort_rows(&g);
    mem_free(s->acct, g.rows, g.rows ? g.total * g.width : 0);
    mem_free(s->acct, g.count, g.count ? ((g.n_tasks + 1) * g.n_buckets + 1) * 8 : 0);
    mem_free(s->acct, g.tasks, g.tasks ? ((int64_t)s->threads * TASKS_PER_WORKER + 1) * (int64_t)sizeof *g.tasks : 0);
    mem_free(s->acct, g.stretches, g.stretches ? MAX_OF(g.n_stretches, 1) * (int64_t)sizeof *g.stretches : 0);
    mutex_destroy(&g.lock);
    return st;
}
