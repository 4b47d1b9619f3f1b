/* stats.c - statistics of columns.
 *
 * stats_compute reads every live row once per column, columns in parallel, but no more of a column that has had every
 * value of its range and is in no order. Distinct counts are exact where a
 * bitmap over the domain is affordable (dictionary codes, most integers) and HyperLogLog estimates
 * otherwise. `unique` is never guessed: it comes from a bitmap, a strict order, a set of all hashes
 * (two equal hashes count as two equal values, which only loses the property), or a key constraint.
 * Between computations changes widen the ranges and clear what no longer holds.
 *
 * Loads into a table with rows read the new tablets only (stats_extend) and put both parts together: ranges and counts
 * of NULLs add up, registers of the HyperLogLog estimator are maximal of both, `unique` and `sorted` hold where the
 * parts' ranges do not overlap, and common values come from a sample of the whole table, which costs the same whatever
 * its size. All rows are read again when there are twice as many as the last time, so that many loads of any size cost
 * about as much as one; between these times a column may lose `unique` that ANALYZE finds again.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "storage/storage_int.h"

enum {
    HLL_BITS = 12,
    HLL_SIZE = 1 << HLL_BITS,
    BATCH = 2048,
    SAMPLE = 16384,
    HASH_SET_ROWS = 4 << 20, /* up to so many rows uniqueness is decided by a set of hashes */
};
#define BITMAP_MAX (INT64_C(1) << 28)

typedef struct Hll {
    uint8_t reg[HLL_SIZE];
} Hll;
static inline void hll_add(Hll *h, uint64_t hash) {
    uint8_t rank = (uint8_t)(__builtin_clzll(hash << HLL_BITS | 1) + 1);
    uint8_t *r = &h->reg[hash >> (64 - HLL_BITS)];
    if (rank > *r) *r = rank;
}
static double hll_estimate(const Hll *h) {
    double sum = 0;
    int zero = 0;
    for (int i = 0; i < HLL_SIZE; i++) {
        sum += ldexp(1.0, -h->reg[i]);
        zero += h->reg[i] == 0;
    }
    double m = HLL_SIZE, est = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (est <= 2.5 * m && zero) est = m * log(m / zero);
    return est;
}

bool stats_key_column(const Table *t, int col) {
    for (int k = 0; k < t->n_keys; k++)
        if (t->keys[k].n_cols == 1 && t->keys[k].cols[0] == col && !t->keys[k].deferrable) return true;
    return false;
}

void stats_reset(Table *t) {
    for (int c = 0; c < t->n_cols; c++) {
        memset(&t->cols[c].stats, 0, sizeof t->cols[c].stats);
        t->cols[c].stats.unique = stats_key_column(t, c);
    }
}

void stats_widen(Table *t, int col, const CellSummary *s, int64_t rows_before) {
    ColumnStats *st = &t->cols[col].stats;
    const Dict *dict = t->cols[col].dict;
    double rows = (double)t->live_rows, n = (double)s->n;
    bool int_like = dict || phys_is_int((uint8_t)type_phys(t->cols[col].type));
    if (s->n <= 0) return;
    if (int_like) {
        if (s->wide) {
            st->has_range = false;
        } else if (rows_before == 0) {
            st->has_range = true;
            st->min = s->has_range ? s->min : 0;
            st->max = s->has_range ? s->max : 0;
        } else if (st->has_range && s->has_range) {
            st->min = MIN_OF(st->min, s->min);
            st->max = MAX_OF(st->max, s->max);
        }
        if (dict) {
            st->has_range = true;
            st->min = 0;
            st->max = dict->n > 0 ? dict->n - 1 : 0;
        }
    }
    st->null_count += s->nulls;
    /* New rows are taken to bring as many new values as the old ones did. */
    double fresh = rows < 1000 || st->unique ? n - (double)s->nulls : n * st->distinct / (rows + 1);
    st->distinct += fresh;
    if (dict) st->distinct = MIN_OF(st->distinct, (double)dict->n);
    else if (int_like && st->has_range) st->distinct = MIN_OF(st->distinct, (double)st->max - (double)st->min + 1);
    st->distinct = MAX_OF(st->distinct, 1);
    double width = int_like && !dict ? (double)phys_size(type_phys(t->cols[col].type))
                   : s->n > s->nulls ? s->bytes / (n - (double)s->nulls)
                                     : st->avg_width;
    if (!int_like && type_phys(t->cols[col].type) != PH_STR) width = (double)phys_size(type_phys(t->cols[col].type));
    st->avg_width = rows_before == 0 ? width : (st->avg_width * rows + width * n) / (rows + n);
    st->unique = stats_key_column(t, col);
    st->sorted = false;
}

/* ---- one column ---- */
typedef struct ColumnJob {
    const Table *t;
    int col;
    int64_t first, rows; /* tablets from here on are read; live rows in them */
    ColumnStats out;
    struct {
        int64_t rowid;
        double fraction;
    } mcv[8];
    int n_mcv;
    Err err;
    /* state while reading */
    uint8_t phys;
    Hll hll;
    uint64_t *bitmap;
    int64_t domain_min, domain; /* of the bitmap */
    int64_t marked, non_null;
    bool sorted, strict, wide, have;
    int64_t prev, min, max;
    Str prev_str;
    double bytes;
} ColumnJob;

static void check_order(ColumnJob *j, const int64_t *v, int64_t n) {
    bool sorted = !j->have || v[0] >= j->prev, strict = !j->have || v[0] > j->prev;
    for (int64_t i = 1; i < n; i++) {
        sorted &= v[i] >= v[i - 1];
        strict &= v[i] > v[i - 1];
    }
    j->sorted = sorted;
    j->strict = j->strict && strict;
    j->prev = v[n - 1];
}
/* Only a value that is new can be the least or greatest so far. */
static void mark_ints(ColumnJob *j, const int64_t *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t b = (uint64_t)v[i] - (uint64_t)j->domain_min;
        uint64_t bit = UINT64_C(1) << (b & 63), *w = &j->bitmap[b >> 6];
        if (*w & bit) continue;
        *w |= bit;
        j->marked++;
        j->min = MIN_OF(j->min, v[i]);
        j->max = MAX_OF(j->max, v[i]);
    }
}
static void hash_ints(ColumnJob *j, const int64_t *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        j->min = MIN_OF(j->min, v[i]);
        j->max = MAX_OF(j->max, v[i]);
        hll_add(&j->hll, hash_u64((uint64_t)v[i]));
    }
}
static void read_ints(ColumnJob *j, const int64_t *v, const uint8_t *valid, int64_t n) {
    int64_t dense[BATCH], m = 0;
    for (int64_t i = 0; valid && i < n; i++) {
        dense[m] = v[i];
        m += valid[i] != 0;
    }
    if (valid) v = dense;
    else m = n;
    if (m == 0) return;
    if (j->sorted) check_order(j, v, m);
    if (!j->have) j->min = j->max = v[0];
    j->have = true;
    j->non_null += m;
    if (j->bitmap) mark_ints(j, v, m);
    else hash_ints(j, v, m);
}
static void read_strings(ColumnJob *j, const Str *v, const uint8_t *valid, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (valid && !valid[i]) continue;
        if (j->have && (j->sorted || j->strict)) {
            int c = str_cmp(j->prev_str, v[i]);
            j->sorted = j->sorted && c <= 0;
            j->strict = j->strict && c < 0;
        }
        j->prev_str = v[i];
        j->have = true;
        j->bytes += v[i].len;
        j->non_null++;
        hll_add(&j->hll, hash_u64(hash_bytes(v[i].ptr, v[i].len)));
    }
}
static void read_cells(ColumnJob *j, const char *v, int64_t size, const uint8_t *valid, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (valid && !valid[i]) continue;
        const char *cell = v + i * size;
        if (j->phys == PH_I128 && j->sorted) {
            int128_t x;
            memcpy(&x, cell, sizeof x);
            j->wide = j->wide || x != (int64_t)x;
        }
        if (j->have && j->sorted) {
            /* the previous cell is the one before in this batch, or prev_str.ptr's copy of the last batch's end */
            int c = i ? cell_cmp((Phys)j->phys, cell - size, cell) : 1;
            if (i && valid && !valid[i - 1]) c = 1;
            j->sorted = c <= 0;
            j->strict = j->strict && c < 0;
        }
        j->have = true;
        j->non_null++;
        hll_add(&j->hll, hash_u64(cell_hash((Phys)j->phys, cell)));
    }
}

/* Calls the reader for all live rows. `buf` has room for BATCH cells of 16 bytes. */
typedef void (*BatchFn)(ColumnJob *j, const void *cells, const uint8_t *valid, int64_t n, void *ctx);
static void tablet_batches(ColumnJob *j, const Tablet *tab, uint8_t phys, char *buf, BatchFn fn, void *ctx) {
    int32_t pos[BATCH];
    uint8_t valid[BATCH];
    for (int64_t first = 0; first < tab->rows; first += BATCH) {
        bool identity, nulls;
        int64_t m = tablet_live_rows(tab, first, MIN_OF(BATCH, tab->rows - first), pos, &identity);
        tablet_decode(j->t, tab, j->col, first, identity ? NULL : pos, m, phys, buf, valid, &nulls);
        fn(j, buf, nulls ? valid : NULL, m, ctx);
    }
}
static void each_batch(ColumnJob *j, uint8_t phys, char *buf, BatchFn fn, void *ctx) {
    for (int64_t n = j->first; n < j->t->n_tablets; n++) tablet_batches(j, j->t->tablets[n], phys, buf, fn, ctx);
}
static void batch_read(ColumnJob *j, const void *cells, const uint8_t *valid, int64_t n, void *ctx) {
    (void)ctx;
    if (j->phys == PH_I64) read_ints(j, cells, valid, n);
    else if (j->phys == PH_STR) read_strings(j, cells, valid, n);
    else read_cells(j, cells, phys_size((Phys)j->phys), valid, n);
}

/* The rows of a tablet can say no more than how many are not NULL, and the tablet knows that. */
static bool says_nothing_new(const ColumnJob *j, const Tablet *tab) {
    return j->bitmap && !j->sorted && j->marked == j->domain && tab->n_deleted == 0 && !tablet_has_open(tab) &&
           !tablet_has_patches(tab);
}
static void read_rows(ColumnJob *j, char *buf) {
    for (int64_t n = j->first; n < j->t->n_tablets; n++) {
        const Tablet *tab = j->t->tablets[n];
        if (says_nothing_new(j, tab)) j->non_null += tab->rows - tab->cols[j->col].null_count;
        else tablet_batches(j, tab, j->phys, buf, batch_read, NULL);
    }
}

/* A set of 64-bit hashes: `repeated` when one came twice. */
typedef struct HashSet {
    uint64_t *slots;
    uint64_t mask;
    bool repeated, zero;
} HashSet;
static void batch_set(ColumnJob *j, const void *cells, const uint8_t *valid, int64_t n, void *ctx) {
    HashSet *s = ctx;
    int64_t size = phys_size((Phys)j->phys);
    for (int64_t i = 0; i < n && !s->repeated; i++) {
        if (valid && !valid[i]) continue;
        uint64_t h;
        if (j->phys == PH_STR) h = hash_bytes(((const Str *)cells)[i].ptr, ((const Str *)cells)[i].len);
        else if (j->phys == PH_I64) h = hash_u64((uint64_t)((const int64_t *)cells)[i]);
        else h = cell_hash((Phys)j->phys, (const char *)cells + i * size);
        if (h == 0) {
            s->repeated = s->zero;
            s->zero = true;
            continue;
        }
        uint64_t k = hash_u64(h) & s->mask;
        while (s->slots[k] && s->slots[k] != h) k = (k + 1) & s->mask;
        s->repeated = s->slots[k] == h;
        s->slots[k] = h;
    }
}
static bool unique_by_set(ColumnJob *j, char *buf) {
    int64_t slots = 64;
    while (slots < j->non_null * 2) slots *= 2;
    MemAccount *a = (MemAccount *)&j->t->account;
    Err ignored = {0};
    HashSet s = {.slots = mem_calloc(a, slots * 8, &ignored), .mask = (uint64_t)slots - 1};
    if (!s.slots) return false;
    each_batch(j, j->phys, buf, batch_set, &s);
    mem_free(a, s.slots, slots * 8);
    return !s.repeated;
}

/* Most common values from an even sample: rows sorted by their values' hashes. */
typedef struct Sample {
    uint64_t hash;
    int64_t rowid;
} Sample;
static int sample_cmp(const void *a, const void *b) {
    const Sample *x = a, *y = b;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}
static void find_common(ColumnJob *j, Sample *s, char *buf) {
    const Table *t = j->t;
    int64_t rows = 0, n = 0, taken = 0, at = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) rows += t->tablets[i]->rows;
    double step = rows > SAMPLE ? (double)rows / SAMPLE : 1, next = 0;
    for (int64_t i = 0; i < t->n_tablets; at += t->tablets[i]->rows, i++) {
        const Tablet *tab = t->tablets[i];
        int32_t pos[BATCH];
        uint8_t valid[BATCH];
        while (next < (double)(at + tab->rows) && taken < SAMPLE) {
            int64_t m = 0;
            for (; m < BATCH && next < (double)(at + tab->rows) && taken + m < SAMPLE; next += step) {
                int64_t row = (int64_t)next - at;
                if (row >= 0 && row < tab->rows && !tablet_row_deleted(tab, row)) pos[m++] = (int32_t)row;
            }
            bool nulls;
            tablet_decode(t, tab, j->col, 0, pos, m, j->phys, buf, valid, &nulls);
            int64_t size = phys_size((Phys)j->phys);
            for (int64_t k = 0; k < m; k++) {
                if (nulls && !valid[k]) continue;
                s[n++] = (Sample){cell_hash((Phys)j->phys, buf + k * size), rowid_make(i, pos[k])};
            }
            taken += m;
            if (m == 0) break;
        }
    }
    if (n == 0) return;
    qsort(s, (size_t)n, sizeof *s, sample_cmp);
    struct {
        int64_t count, at;
    } best[8] = {{0, 0}};
    for (int64_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && s[k].hash == s[i].hash;) k++;
        int64_t count = k - i;
        int slot = 8;
        while (slot > 0 && best[slot - 1].count < count) slot--;
        if (slot == 8) continue;
        memmove(&best[slot + 1], &best[slot], sizeof best[0] * (size_t)(7 - slot));
        best[slot].count = count;
        best[slot].at = i;
    }
    for (int i = 0; i < 8 && best[i].count > 0; i++) {
        double f = (double)best[i].count / (double)taken;
        bool small = j->out.distinct <= 8;
        if (!small && (best[i].count < 5 || f < 1.25 / MAX_OF(j->out.distinct, 1))) break;
        j->mcv[j->n_mcv].rowid = s[best[i].at].rowid;
        j->mcv[j->n_mcv++].fraction = f;
    }
}

static bool all_for(const Table *t, int col) {
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const TabletColumn *c = &t->tablets[i]->cols[col];
        if (c->phys == PH_I128 && c->encoding == ENC_PLAIN && !c->has_minmax && c->null_count < t->tablets[i]->rows)
            return false;
    }
    return true;
}
/* Range of the stored values of tablets [first, end) by their min and max. */
static bool domain_of(const Table *t, int col, int64_t first, int64_t end, int64_t *min, int64_t *max) {
    bool any = false;
    for (int64_t i = first; i < end; i++) {
        const TabletColumn *c = &t->tablets[i]->cols[col];
        if (!c->has_minmax) {
            if (c->null_count < t->tablets[i]->rows) return false;
            continue;
        }
        *min = any ? MIN_OF(*min, c->min) : c->min;
        *max = any ? MAX_OF(*max, c->max) : c->max;
        any = true;
    }
    return any;
}

/* The estimator sees the values that a bitmap has. */
static void sketch_bitmap(ColumnJob *j, int64_t words) {
    for (int64_t i = 0; i < words; i++)
        for (uint64_t w = j->bitmap[i]; w; w &= w - 1)
            hll_add(&j->hll, hash_u64((uint64_t)j->domain_min + (uint64_t)i * 64 + (uint64_t)__builtin_ctzll(w)));
}

/* j->out, of the new tablets, becomes that of the whole table. */
static void add_to_old(ColumnJob *j) {
    const Table *t = j->t;
    const ColumnStats *old = &t->cols[j->col].stats;
    ColumnStats *o = &j->out;
    int64_t old_min = 0, old_max = 0, old_rows = MAX_OF(t->live_rows - j->rows, INT64_C(0)),
            old_cells = MAX_OF(old_rows - old->null_count, INT64_C(0));
    bool ints = j->phys == PH_I64, key = stats_key_column(t, j->col), values = ints && j->have;
    bool apart = values && old->has_range && !t->cols[j->col].dict && (old->max < j->min || old->min > j->max);
    o->unique = key || (old->unique && o->unique && (apart || j->non_null == 0));
    /* By tablets, since the range of a dictionary column is that of its codes. */
    bool behind = values && domain_of(t, j->col, 0, j->first, &old_min, &old_max) && old_max <= j->min;
    o->sorted = old->sorted && o->sorted && behind;
    if (!t->cols[j->col].dict) {
        if (ints && j->have) {
            o->min = MIN_OF(o->min, old->min);
            o->max = MAX_OF(o->max, old->max);
        } else {
            o->min = old->min;
            o->max = old->max;
        }
        o->has_range = old->has_range && ints;
        if (!phys_is_int((uint8_t)type_phys(t->cols[j->col].type))) o->has_range = false;
        if (j->phys == PH_STR && old_cells + j->non_null > 0)
            o->avg_width = (old->avg_width * (double)old_cells + j->bytes) / (double)(old_cells + j->non_null);
    }
    o->null_count += old->null_count;
    for (int i = 0; old->sketch && i < HLL_SIZE; i++) j->hll.reg[i] = MAX_OF(j->hll.reg[i], old->sketch[i]);
    double cells = (double)MAX_OF(t->live_rows - o->null_count, INT64_C(1));
    o->distinct = o->unique ? cells : MAX_OF(MIN_OF(MAX_OF(hll_estimate(&j->hll), old->distinct), cells), 1.0);
    if (t->cols[j->col].dict) o->distinct = MAX_OF(MIN_OF(o->distinct, (double)t->cols[j->col].dict->n), 1.0);
}

static void column_job(ColumnJob *j) {
    const Table *t = j->t;
    const Column *col = &t->cols[j->col];
    MemAccount *a = (MemAccount *)&t->account;
    int64_t buf_bytes = BATCH * 16, sample_bytes = SAMPLE * (int64_t)sizeof(Sample), bitmap_bytes = 0;
    char *buf = mem_alloc(a, buf_bytes, &j->err);
    Sample *sample = mem_alloc(a, sample_bytes, &j->err);
    if (!buf || !sample) goto done;
    uint8_t phys = (uint8_t)type_phys(col->type);
    bool ints = col->dict || (phys_is_int(phys) && all_for(t, j->col));
    j->phys = ints ? (uint8_t)PH_I64 : phys;
    j->sorted = j->strict = true;
    int64_t min = 0, max = 0;
    if (ints && domain_of(t, j->col, j->first, t->n_tablets, &min, &max)) {
        uint64_t span = (uint64_t)max - (uint64_t)min;
        int64_t limit = MAX_OF(INT64_C(1) << 16, MIN_OF(j->rows * 64, BITMAP_MAX));
        if (span < (uint64_t)limit) {
            Err ignored = {0};
            bitmap_bytes = ((int64_t)span / 64 + 1) * 8;
            j->bitmap = mem_calloc(a, bitmap_bytes, &ignored); /* without it: estimates */
            j->domain_min = min;
            j->domain = (int64_t)span + 1;
        }
    }
    read_rows(j, buf);

    ColumnStats *o = &j->out;
    int64_t rows = j->rows;
    if (j->bitmap && !stats_key_column(t, j->col)) sketch_bitmap(j, bitmap_bytes / 8);
    o->null_count = rows - j->non_null;
    o->distinct = j->bitmap ? (double)j->marked : hll_estimate(&j->hll);
    o->distinct = MIN_OF(o->distinct, (double)j->non_null);
    if (rows > 0) o->distinct = MAX_OF(o->distinct, 1);
    o->sorted = j->sorted && j->non_null == rows;
    o->unique = stats_key_column(t, j->col) || (j->bitmap ? j->marked == j->non_null : j->strict);
    const bool may_be_unique = j->first == 0 || (ints && !col->dict && col->stats.unique); /* see add_to_old */
    if (!o->unique && !j->bitmap && may_be_unique && j->non_null <= HASH_SET_ROWS &&
        hll_estimate(&j->hll) > 0.9 * (double)j->non_null)
        o->unique = unique_by_set(j, buf);
    if (o->unique) o->distinct = MAX_OF((double)j->non_null, rows > 0 ? 1.0 : 0.0);
    o->avg_width = j->phys == PH_STR && j->non_null ? j->bytes / (double)j->non_null : (double)phys_size((Phys)phys);
    if (ints && rows > 0) {
        o->has_range = true;
        o->min = j->min;
        o->max = j->max;
        if (!j->have) o->min = o->max = 0; /* only NULLs */
    }
    if (col->dict) {
        const Dict *d = col->dict;
        double bytes = 0;
        for (int32_t i = 0; i < d->n; i++) bytes += d->entries[i].len;
        o->avg_width = d->n ? bytes / d->n : 0;
        o->sorted = o->sorted && (!j->have || j->max < d->n_sorted);
        o->has_range = true;
        o->min = 0;
        o->max = d->n > 0 ? d->n - 1 : 0;
    }
    if (j->first > 0) add_to_old(j);
    find_common(j, sample, buf);
done:
    if (j->bitmap) mem_free(a, j->bitmap, bitmap_bytes);
    if (buf) mem_free(a, buf, buf_bytes);
    if (sample) mem_free(a, sample, sample_bytes);
}

/* Plain strings take longest and come first, so that workers end together. */
typedef struct StatsRun {
    ColumnJob *jobs;
    int n;
    _Atomic int next; /* twice n: plain strings, then the others */
} StatsRun;
static void stats_worker(void *ctx, int worker) {
    (void)worker;
    StatsRun *r = ctx;
    for (int i; (i = atomic_fetch_add(&r->next, 1)) < 2 * r->n;) {
        ColumnJob *j = &r->jobs[i % r->n];
        const Column *c = &j->t->cols[j->col];
        bool plain_strings = type_phys(c->type) == PH_STR && !c->dict;
        if (plain_strings == (i < r->n)) column_job(j);
    }
}

static void allow_return(const Table *t, int col, ColumnStats *s) {
    const ColumnStats *old = &t->cols[col].stats;
    s->has_range = s->has_range && old->has_range;
    s->min = MIN_OF(s->min, old->min);
    s->max = MAX_OF(s->max, old->max);
    s->null_count += old->null_count;
    s->unique = stats_key_column(t, col);
    s->sorted = false;
}

static Status keep_sketch(const Table *t, ColumnJob *j, Arena *a) {
    ColumnStats *o = &j->out;
    o->sketch_phys = j->phys;
    o->full_rows = j->first > 0 ? t->cols[j->col].stats.full_rows : t->live_rows;
    if (stats_key_column(t, j->col)) return ST_OK; /* as many values as cells */
    uint8_t *sketch = arena_alloc(a, HLL_SIZE);
    if (!sketch) return ST_ERROR;
    memcpy(sketch, j->hll.reg, HLL_SIZE);
    o->sketch = sketch;
    return ST_OK;
}

/* Tablets from `first` on are read; what came before is in the statistics that there are. */
static Status compute(Table *t, int64_t first, Pool *pool, bool rows_may_return, Err *e) {
    Status st = ST_ERROR;
    int64_t bytes = (int64_t)sizeof(ColumnJob) * MAX_OF(t->n_cols, 1);
    ColumnJob *jobs = mem_calloc(&t->account, bytes, e);
    Arena *arena = arena_new(&t->account, e);
    if (!jobs || !arena) goto done;
    int64_t rows = 0;
    for (int64_t i = first; i < t->n_tablets; i++) rows += t->tablets[i]->rows - t->tablets[i]->n_deleted;
    for (int c = 0; c < t->n_cols; c++) {
        jobs[c].t = t;
        jobs[c].col = c;
        jobs[c].first = first;
        jobs[c].rows = rows;
    }
    t->impl->analysed += t->n_tablets - first;
    StatsRun run = {.jobs = jobs, .n = t->n_cols};
    pool_run_or_here(pool, pool ? pool_threads(pool) : 1, stats_worker, &run);
    for (int c = 0; c < t->n_cols; c++) {
        ColumnJob *j = &jobs[c];
        if (err_is_set(&j->err)) {
            err_copy(e, &j->err);
            goto done;
        }
        for (int i = 0; i < j->n_mcv; i++) {
            Value v;
            memset(&v, 0, sizeof v);
            v.type = t->cols[c].type;
            uint8_t valid;
            bool nulls;
            int32_t pos = (int32_t)(j->mcv[i].rowid & 0xffffffff);
            tablet_decode(t, t->tablets[j->mcv[i].rowid >> 32], c, 0, &pos, 1, (uint8_t)type_phys(v.type),
                          value_cell(&v), &valid, &nulls);
            if (value_copy(arena, &v, &j->out.mcv[i].value) != ST_OK) goto done;
            j->out.mcv[i].fraction = j->mcv[i].fraction;
            j->out.n_mcv = i + 1;
        }
        if (keep_sketch(t, j, arena) != ST_OK) goto done;
    }
    for (int c = 0; c < t->n_cols; c++) {
        if (rows_may_return && first == 0) allow_return(t, c, &jobs[c].out);
        if (rows_may_return) jobs[c].out.sorted = false;
        jobs[c].out.full_unique = jobs[c].out.unique;
        jobs[c].out.full_sorted = jobs[c].out.sorted;
        t->cols[c].stats = jobs[c].out;
    }
    arena_set_err(arena, NULL);
    arena_free(t->impl->stats_arena);
    t->impl->stats_arena = arena;
    arena = NULL;
    st = ST_OK;
done:
    arena_free(arena);
    if (jobs) mem_free(&t->account, jobs, bytes);
    return st;
}

Status stats_compute(Table *t, Pool *pool, bool rows_may_return, Err *e) {
    return compute(t, 0, pool, rows_may_return, e);
}

/* Whether statistics of the first tablets, as they are, can be added to. */
static bool extends(const Table *t, int64_t first) {
    if (first == 0) return false;
    for (int c = 0; c < t->n_cols; c++) {
        const ColumnStats *s = &t->cols[c].stats;
        uint8_t phys = (uint8_t)type_phys(t->cols[c].type),
                now = t->cols[c].dict || (phys_is_int(phys) && all_for(t, c)) ? (uint8_t)PH_I64 : phys;
        if (t->live_rows > 2 * s->full_rows) return false;
        if (!stats_key_column(t, c) && (!s->sketch || s->sketch_phys != now)) return false;
    }
    return true;
}

Status stats_extend(Table *t, int64_t first, Pool *pool, bool rows_may_return, Err *e) {
    return compute(t, extends(t, first) ? first : 0, pool, rows_may_return, e);
}

/* A merged dictionary has each of its values in some row, or nearly so. */
static const uint8_t *sketch_codes(Arena *a, int32_t n) {
    Hll *h = arena_alloc(a, (int64_t)sizeof *h);
    if (!h) return NULL;
    memset(h, 0, sizeof *h);
    for (int32_t i = 0; i < n; i++) hll_add(h, hash_u64((uint64_t)i));
    return h->reg;
}
Status stats_merged(Table *t, const ColumnStats *old, int64_t settled, Pool *pool, Err *e) {
    for (int c = 0; c < t->n_cols; c++) {
        ColumnStats *s = &t->cols[c].stats;
        const Dict *d = t->cols[c].dict;
        *s = old[c];
        s->n_mcv = 0; /* theirs is memory that goes */
        s->unique = s->full_unique || stats_key_column(t, c);
        s->sorted = s->full_sorted;
        s->has_range = domain_of(t, c, 0, settled, &s->min, &s->max);
        s->null_count = 0;
        for (int64_t i = 0; i < settled; i++) s->null_count += t->tablets[i]->cols[c].null_count;
        if (d) s->distinct = MAX_OF((double)d->n, 1.0);
        if (d && s->sketch && !(s->sketch = sketch_codes(t->impl->stats_arena, d->n))) return err_oom(e);
    }
    return stats_extend(t, settled, pool, false, e);
}
