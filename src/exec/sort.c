/* sort.c - sorting and top-N: see sort.h.
 *
 * A row's keys are packed from the top of 128 bits, each with as many bits as its range needs and a bit for NULL;
 * descending keys are inverted. Comparing that number decides as long as every key fits. From the first key that does
 * not (strings, wide numerics) on, the key columns are kept with the row and compared in full when the numbers are
 * equal; the last word has the order of arrival.
 *
 * Rows live in a row store per worker whose 32 bytes of header hold the packed keys and the order of arrival, so that a
 * row is complete in itself: sorted runs can go to disk as they are. Sorting works on entries (key, row), or, where the
 * upper 64 bits decide and all rows are wanted, on rows that are moved bucket by bucket (sort_short.c).
 *
 * Top-N: a worker keeps at most a few times limit + offset entries; when there are more it drops all but the best, and
 * from then on rejects rows worse than the worst kept before storing them. The workers share the first 64 bits of that
 * bound.
 *
 * Memory. When the headroom is short, a worker sorts what it has and writes it as a run; the runs of all workers
 * are merged at the end, reading one page of each at a time.
 */
#include "exec/sort_int.h"
#include "storage/table.h"

#include <math.h>
#include <stdlib.h>

enum { TOP_MAX = 100000, RADIX_MIN = 256, MERGE_SMALL = 12 };

/* ---- making ------------------------------------------------------------------------------- */

static int value_bits(SortKey *k) {
    KeySpec *s = &k->spec;
    bool ranged = s->has_range && s->max >= s->min;
    switch ((Phys)s->phys) {
    case PH_BOOL: return 1;
    case PH_I16:
        if (!ranged) s->min = INT16_MIN, s->max = INT16_MAX;
        break;
    case PH_I32:
        if (!ranged) s->min = INT32_MIN, s->max = INT32_MAX;
        break;
    case PH_I64:
        if (!ranged) s->min = INT64_MIN, s->max = INT64_MAX;
        break;
    case PH_F32: return 32;
    case PH_F64: return 64;
    default: return 128;
    }
    uint64_t range = (uint64_t)s->max - (uint64_t)s->min;
    return range ? 64 - __builtin_clzll(range) : 0;
}

static void plan_keys(Sorter *s) {
    int room = 128;
    bool open = true; /* all keys so far fit */
    s->exact = true;
    for (int32_t i = 0; i < s->n_keys; i++) {
        SortKey *k = &s->keys[i];
        k->col = k->null_shift = -1;
        if (k->spec.dict && k->spec.phys == PH_I32 && k->spec.dict->n_sorted < k->spec.dict->n) k->by_text = true;
        k->full_bits = k->by_text ? 128 : value_bits(k);
        k->exact = true;
        if (open && k->spec.nullable) {
            if (room == 0) open = false;
            else k->null_shift = --room;
        }
        if (!open) {
            k->exact = false;
        } else {
            k->packed = true;
            k->bits = MIN_OF(k->full_bits, room);
            room -= k->bits;
            k->shift = room;
            if (k->by_text || k->spec.phys == PH_STR || k->bits < k->full_bits) k->exact = open = false;
        }
        s->exact &= k->exact;
    }
    s->used_bits = 128 - room;
    s->is_short = s->exact && s->used_bits <= 64 && s->limit < 0 && s->offset == 0 && s->n_cols > 0;
}

Status sort_new(const SortSpec *spec, int workers, Pool *pool, int threads, MemAccount *acct, Vfs *vfs,
                const char *temp_dir, Sorter **out, Err *e) {
    *out = NULL;
    Arena *a = arena_new(acct, e);
    if (!a) return ST_ERROR;
    Sorter *s = arena_new_of(a, Sorter);
    if (!s) goto fail;
    s->arena = a;
    s->n_keys = spec->n_keys;
    s->n_cols = spec->n_cols;
    s->limit = spec->limit;
    s->offset = MAX_OF(spec->offset, 0);
    s->top = -1;
    if (spec->limit >= 0 && spec->limit <= TOP_MAX && s->offset <= TOP_MAX && spec->limit + s->offset <= TOP_MAX)
        s->top = spec->limit + s->offset;
    s->workers = MAX_OF(workers, 1);
    s->threads = pool ? MAX_OF(threads, 1) : 1;
    s->pool = pool;
    s->acct = acct;
    s->vfs = vfs;
    s->temp_dir = temp_dir ? arena_strdup(a, temp_dir) : NULL;
    s->keys = arena_array(a, SortKey, MAX_OF(s->n_keys, 1));
    s->w = arena_array(a, SortWorker, s->workers);
    CellSpec *cells = arena_array(a, CellSpec, s->n_cols + s->n_keys + 1);
    if (!s->keys || !s->w || !cells || (temp_dir && !s->temp_dir)) goto fail;
    for (int32_t i = 0; i < s->n_keys; i++) {
        s->keys[i].spec = spec->keys[i].key;
        s->keys[i].desc = spec->keys[i].desc;
        s->keys[i].nulls_first = spec->keys[i].nulls_first;
        if (spec->keys[i].key.phys >= PH_COUNT_) {
            err_internal(e, "sort key of physical type %d", spec->keys[i].key.phys);
            goto fail;
        }
    }
    plan_keys(s);
    for (int32_t i = 0; i < s->n_cols; i++) cells[i] = spec->cols[i];
    s->n_inner = s->n_cols;
    for (int32_t i = 0; i < s->n_keys; i++) {
        SortKey *k = &s->keys[i];
        if (k->exact) continue;
        k->col = s->n_inner;
        cells[s->n_inner++] =
            (CellSpec){.phys = k->spec.phys, .type = k->spec.type, .nullable = k->spec.nullable, .dict = k->spec.dict};
    }
    if (row_layout_init(&s->outer, a, s->n_cols, spec->cols, 0) != ST_OK ||
        row_layout_init(&s->inner, a, s->n_inner, cells, HEADER) != ST_OK)
        goto fail;
    if (row_layout_init(&s->brief, a, s->n_cols, spec->cols, (int32_t)sizeof(uint64_t)) != ST_OK) goto fail;
    s->cells = s->n_cols ? s->brief.offset[0] - s->outer.offset[0] : 0;
    /* Headers are read as 128-bit words. */
    s->inner.width = (int32_t)align_up(s->inner.width, 16);
    int64_t room = mem_headroom(acct);
    s->reserve = room == INT64_MAX ? 0 : room / 8;
    s->share = room == INT64_MAX ? INT64_MAX : room / 4 * 3 / s->workers;
    atomic_init(&s->bound_hi, UINT64_MAX);
    arena_set_err(a, NULL);
    *out = s;
    return ST_OK;
fail:
    arena_free(a);
    return ST_ERROR;
}

void sort_set_stop(Sorter *s, const QueryStop *stop) { s->stop = stop; }

static void free_scratch(Sorter *s, SortWorker *w) {
    mem_free(s->acct, w->key, w->key ? w->scratch * 16 : 0);
    mem_free(s->acct, w->sel, w->sel ? w->scratch * 4 : 0);
    mem_free(s->acct, w->vecs, w->vecs ? MAX_OF(s->n_inner, 1) * (int64_t)sizeof(Vec) : 0);
    w->key = NULL;
    w->sel = NULL;
    w->vecs = NULL;
    w->scratch = 0;
}
static void free_entries(Sorter *s, SortWorker *w) {
    mem_free(s->acct, w->e, w->cap * (int64_t)sizeof(Entry));
    w->e = NULL;
    w->n = w->cap = 0;
}

void sort_free(Sorter *s) {
    if (!s) return;
    for (int i = 0; i < s->workers; i++) {
        SortWorker *w = &s->w[i];
        free_scratch(s, w);
        free_entries(s, w);
        short_free(s, w);
        rows_free(w->rows);
        for (int64_t r = 0; r < w->n_runs; r++) rows_free(w->runs[r]);
        mem_free(s->acct, w->runs, w->cap_runs * (int64_t)sizeof *w->runs);
    }
    arena_free(s->arena);
}

/* ---- packing keys ---------------------------------------------------------------------------- */

ALWAYS_INLINE uint64_t order_f64(double d) {
    uint64_t b;
    d = d == 0 ? 0 : isnan(d) ? (double)NAN : d;
    memcpy(&b, &d, sizeof b);
    b = isnan(d) ? UINT64_C(0x7ff8000000000000) : b;
    return b >> 63 ? ~b : b | UINT64_C(1) << 63;
}
ALWAYS_INLINE uint32_t order_f32(float d) {
    uint32_t b;
    d = d == 0 ? 0 : d;
    memcpy(&b, &d, sizeof b);
    b = isnan(d) ? UINT32_C(0x7fc00000) : b;
    return b >> 31 ? ~b : b | UINT32_C(1) << 31;
}
static uint128_t order_bytes(const char *p, int64_t len) {
    uint64_t w[2] = {0, 0};
    memcpy(w, p, (size_t)MIN_OF(len, 16));
    return (uint128_t)__builtin_bswap64(w[0]) << 64 | __builtin_bswap64(w[1]);
}
#define SIGN128 ((uint128_t)1 << 127)
static uint128_t order_str(Str s) { return s.len ? order_bytes(s.ptr, s.len) : 0; }
static Str dict_str(const Dict *d, int32_t code) {
    return code >= 0 && code < d->n ? d->entries[code] : str_make("", 0);
}

#define PACK(T, EXPR)                                                             \
    do {                                                                          \
        const T *x = v->data;                                                     \
        for (int64_t i = 0; i < n; i++) {                                         \
            int64_t j = v->is_const ? 0 : i;                                      \
            if (v->valid && !v->valid[j]) {                                       \
                out[i] |= (uint128_t)null_bit << null_shift;                      \
                continue;                                                         \
            }                                                                     \
            uint128_t b = (uint128_t)(EXPR) >> drop;                              \
            out[i] |= ((b ^ flip) << shift) | (uint128_t)value_bit << null_shift; \
        }                                                                         \
    } while (0)
/* Integers in 64 bits. */
#define PACK_INT(T)                                                                                    \
    do {                                                                                               \
        const T *x = v->data;                                                                          \
        uint64_t min = (uint64_t)k->spec.min, range = (uint64_t)k->spec.max - min, f = (uint64_t)flip; \
        uint128_t one = (uint128_t)value_bit << null_shift;                                            \
        for (int64_t i = 0; i < n; i++) {                                                              \
            int64_t j = v->is_const ? 0 : i;                                                           \
            if (v->valid && !v->valid[j]) {                                                            \
                out[i] |= (uint128_t)null_bit << null_shift;                                           \
                continue;                                                                              \
            }                                                                                          \
            uint64_t b = (uint64_t)(int64_t)x[j] - min;                                                \
            bad |= b > range;                                                                          \
            out[i] |= (uint128_t)((b >> drop) ^ f) << shift | one;                                     \
        }                                                                                              \
    } while (0)

static Status pack_key(const SortKey *k, const Vec *v, int64_t n, uint128_t *out, Err *e) {
    if (v->phys != k->spec.phys) return err_internal(e, "sort key arrives as %s", phys_name((Phys)v->phys));
    if (v->valid && !k->spec.nullable) {
        bool null = false;
        for (int64_t i = 0; i < (v->is_const ? 1 : n); i++) null |= !v->valid[i];
        if (null) return err_internal(e, "sort key is NULL");
    }
    int shift = k->shift, null_shift = MAX_OF(k->null_shift, 0), drop = k->full_bits - k->bits;
    unsigned null_bit = k->null_shift >= 0 && !k->nulls_first, value_bit = k->null_shift >= 0 && k->nulls_first;
    if (k->bits == 0) { /* nothing but NULL or not */
        for (int64_t i = 0; i < n; i++) {
            int64_t j = v->is_const ? 0 : i;
            out[i] |= (uint128_t)(v->valid && !v->valid[j] ? null_bit : value_bit) << null_shift;
        }
        return ST_OK;
    }
    uint128_t flip = !k->desc ? 0 : k->bits == 128 ? ~(uint128_t)0 : ((uint128_t)1 << k->bits) - 1;
    bool bad = false;
    if (k->by_text) {
        const Dict *d = k->spec.dict;
        PACK(int32_t, order_str(dict_str(d, x[j])));
        return ST_OK;
    }
    switch ((Phys)k->spec.phys) {
    case PH_BOOL: PACK(uint8_t, x[j]); break;
    case PH_I16: PACK_INT(int16_t); break;
    case PH_I32: PACK_INT(int32_t); break;
    case PH_I64: PACK_INT(int64_t); break;
    case PH_F32: PACK(float, order_f32(x[j])); break;
    case PH_F64: PACK(double, order_f64(x[j])); break;
    case PH_I128: PACK(int128_t, (uint128_t)x[j] ^ SIGN128); break;
    case PH_STR: PACK(Str, order_str(x[j])); break;
    case PH_INTERVAL: PACK(Interval, (uint128_t)interval_cmp_value(&x[j]) ^ SIGN128); break;
    case PH_UUID: PACK(Uuid, order_bytes((const char *)x[j].bytes, 16)); break;
    case PH_COUNT_: break;
    }
    return bad ? err_internal(e, "sort key outside of its range") : ST_OK;
}

/* ---- comparing -------------------------------------------------------------------------------------- */

static const Header *head_of(const char *row) { return (const Header *)(const void *)row; }

/* Equal packed keys: the keys that were not packed whole. */
static int compare_cells(const Sorter *s, const char *a, const char *b) {
    for (int32_t i = 0; i < s->n_keys; i++) {
        const SortKey *k = &s->keys[i];
        if (k->col < 0) continue;
        int32_t off = s->inner.offset[k->col], valid = s->inner.valid_offset[k->col];
        if (valid >= 0) {
            bool av = a[valid], bv = b[valid];
            if (av != bv) return av == k->nulls_first ? 1 : -1;
            if (!av) continue;
        }
        int c;
        if (k->by_text)
            c = str_cmp(dict_str(k->spec.dict, *(const int32_t *)(const void *)(a + off)),
                        dict_str(k->spec.dict, *(const int32_t *)(const void *)(b + off)));
        else c = cell_cmp((Phys)k->spec.phys, a + off, b + off);
        if (c) return k->desc ? -c : c;
    }
    return 0;
}
static int compare_arrival(const char *a, const char *b) {
    const Header *x = head_of(a), *y = head_of(b);
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}
ALWAYS_INLINE bool entry_less(const Sorter *s, const Entry *a, const Entry *b) {
    if (a->hi != b->hi) return a->hi < b->hi;
    if (a->lo != b->lo) return a->lo < b->lo;
    if (!s->exact) {
        int c = compare_cells(s, a->row, b->row);
        if (c) return c < 0;
    }
    return compare_arrival(a->row, b->row) < 0;
}

/* ---- sorting entries ------------------------------------------------------------------------------------ */

static void insertion_sort(const Sorter *s, Entry *e, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        Entry x = e[i];
        int64_t j = i;
        for (; j > 0 && entry_less(s, &x, &e[j - 1]); j--) e[j] = e[j - 1];
        e[j] = x;
    }
}
/* Sorts e with tmp's help; the result is in e. Depth is log2 n. False: the query is stopped, and e no longer has what
 * it had. */
static bool merge_sort(const Sorter *s, Entry *e, Entry *tmp, int64_t n) {
    if (n <= MERGE_SMALL) {
        insertion_sort(s, e, n);
        return true;
    }
    int64_t half = n / 2;
    if (!merge_sort(s, e, tmp, half) || !merge_sort(s, e + half, tmp + half, n - half)) return false;
    if (!entry_less(s, &e[half], &e[half - 1])) return true;
    memcpy(tmp, e, (size_t)half * sizeof *e);
    int64_t i = 0, j = half, k = 0;
    while (i < half && j < n) {
        if (UNLIKELY((k & (POLL_ROWS - 1)) == POLL_ROWS - 1) && query_stopped(s->stop)) return false;
        bool right = entry_less(s, &e[j], &tmp[i]);
        e[k++] = right ? e[j] : tmp[i];
        j += right;
        i += !right;
    }
    if (i < half) memcpy(e + k, tmp + i, (size_t)(half - i) * sizeof *e);
    return true;
}

/* One counting pass over 11 bits of the upper word. */
static bool radix_pass(const Sorter *s, const Entry *from, Entry *to, int64_t n, int at) {
    int64_t count[2048] = {0};
    for (int64_t i = 0; i < n; i++) count[from[i].hi >> at & 2047]++;
    int64_t sum = 0;
    for (int b = 0; b < 2048; b++) {
        int64_t c = count[b];
        count[b] = sum;
        sum += c;
    }
    for (int64_t first = 0; first < n; first += POLL_ROWS) {
        if (query_stopped(s->stop)) return false;
        int64_t end = MIN_OF(first + POLL_ROWS, n);
        for (int64_t i = first; i < end; i++) to[count[from[i].hi >> at & 2047]++] = from[i];
    }
    return true;
}

/* By the upper word with counting passes over the bytes that differ, then runs of equal words by comparison. False as
 * with merge_sort. */
static bool radix_sort(const Sorter *s, Entry *e, Entry *tmp, int64_t n, bool arrived_in_order) {
    uint64_t any = 0, all = ~UINT64_C(0);
    for (int64_t i = 0; i < n; i++) {
        any |= e[i].hi;
        all &= e[i].hi;
    }
    uint64_t differs = any ^ all;
    Entry *from = e, *to = tmp;
    for (int at = 0; at < 64;) {
        uint64_t rest = differs >> at;
        if (!rest) break;
        at += __builtin_ctzll(rest);
        if (!radix_pass(s, from, to, n, at)) return false;
        Entry *x = from;
        from = to;
        to = x;
        at += 11;
    }
    if (from != e) memcpy(e, from, (size_t)n * sizeof *e);
    if (arrived_in_order && s->exact && s->used_bits <= 64) return true; /* stable passes: ties are in order */
    for (int64_t i = 0, polled = 0; i < n;) {
        int64_t j = i + 1;
        while (j < n && e[j].hi == e[i].hi) j++;
        if (j - i > 1 && !merge_sort(s, e + i, tmp, j - i)) return false;
        if (j - polled >= POLL_ROWS) {
            if (query_stopped(s->stop)) return false;
            polled = j;
        }
        i = j;
    }
    return true;
}

static Status sort_entries(Sorter *s, SortWorker *w, Err *e) {
    if (w->n < 2) return ST_OK;
    if (w->n <= MERGE_SMALL) {
        insertion_sort(s, w->e, w->n);
        return ST_OK;
    }
    int64_t bytes = w->n * (int64_t)sizeof(Entry);
    Entry *tmp = mem_alloc(s->acct, bytes, e);
    if (!tmp) return ST_ERROR;
    bool sorted = w->n >= RADIX_MIN ? radix_sort(s, w->e, tmp, w->n, !w->unordered) : merge_sort(s, w->e, tmp, w->n);
    mem_free(s->acct, tmp, bytes);
    return sorted ? ST_OK : query_stop_error(s->stop, e);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static Status new_rows(Sorter *s, RowStore **out, bool spills, Err *e) {
    const RowLayout *l = s->is_short && !spills ? &s->brief : &s->inner;
    TRY(rows_new(l, 1, s->acct, s->vfs, s->temp_dir, out, e));
    if (!spills) rows_set_no_spill(*out);
    return ST_OK;
}

static Status reserve_entries(Sorter *s, SortWorker *w, int64_t n, Err *e) {
    if (w->n + n <= w->cap) return ST_OK;
    int64_t cap = MAX_OF(w->cap * 2, (int64_t)256);
    while (cap < w->n + n) cap *= 2;
    Entry *p = mem_realloc(s->acct, w->e, w->cap * (int64_t)sizeof *p, cap * (int64_t)sizeof *p, e);
    if (!p) return ST_ERROR;
    w->e = p;
    w->cap = cap;
    return ST_OK;
}

/* A row with a header from an entry of a brief row, whose lower word is its place (brief_entry). */
static void widen_row(const Sorter *s, const SortWorker *w, const Entry *e, char *to) {
    Header h = {(uint128_t)e->hi << 64, w->stretches[e->lo >> 32].order, e->lo + (w->earlier << 32)};
    memcpy(to, &h, sizeof h);
    memcpy(to + HEADER, e->row + s->cells, (size_t)s->outer.width);
}

/* Copies rows of the worker, given by address, into a store, in batches. */
static Status copy_rows(Sorter *s, const SortWorker *w, RowStore *to, const Entry *e, int64_t n, char *buf,
                        int64_t buf_rows, Err *err) {
    int64_t width = s->inner.width;
    for (int64_t i = 0; i < n; i += buf_rows) {
        int64_t m = MIN_OF(buf_rows, n - i);
        TRY(query_stop_check(s->stop, err));
        for (int64_t k = 0; k < m; k++)
            if (s->is_short) widen_row(s, w, &e[i + k], buf + k * width);
            else memcpy(buf + k * width, e[i + k].row, (size_t)width);
        TRY(rows_append_raw(to, 0, 0, m, buf, NULL, err));
    }
    return ST_OK;
}

static Entry entry_of(const char *row) {
    const Header *h = head_of(row);
    return (Entry){(uint64_t)(h->key >> 64), (uint64_t)h->key, row};
}

/* Entries of the rows appended since page `page` had `n` rows. */
static void note_rows(SortWorker *w, int64_t page, int64_t n, int64_t width) {
    int64_t pages = rows_worker_pages(w->rows, 0);
    for (; page < pages; page++, n = 0) {
        RowPage *p = rows_worker_page(w->rows, 0, page);
        for (int64_t i = n; i < p->n; i++) w->e[w->n++] = entry_of(p->rows + i * width);
    }
}

enum { COPY_ROWS = 64 };

/* Only the best `top` stay; their rows move into a fresh store when most of the old one is garbage. */
static Status prune(Sorter *s, SortWorker *w, Err *e) {
    TRY(sort_entries(s, w, e));
    w->unordered = true; /* from now on they are in key order */
    if (w->n > s->top) w->n = s->top;
    if (w->n == s->top && w->n > 0) {
        Entry *last = &w->e[w->n - 1];
        w->bounded = true;
        w->bound = (uint128_t)last->hi << 64 | last->lo;
        uint64_t old = atomic_load_explicit(&s->bound_hi, memory_order_relaxed);
        while (last->hi < old && !atomic_compare_exchange_weak_explicit(&s->bound_hi, &old, last->hi,
                                                                        memory_order_relaxed, memory_order_relaxed)) {}
    }
    if (w->stored < w->n * 4 + 4096) return ST_OK;
    RowStore *fresh = NULL;
    TRY(new_rows(s, &fresh, false, e));
    int64_t bytes = COPY_ROWS * s->inner.width;
    char *buf = mem_alloc(s->acct, bytes, e);
    Status st = buf ? copy_rows(s, w, fresh, w->e, w->n, buf, COPY_ROWS, e) : ST_ERROR;
    mem_free(s->acct, buf, buf ? bytes : 0);
    if (st != ST_OK) {
        rows_free(fresh);
        return st;
    }
    rows_free(w->rows);
    w->rows = fresh;
    w->stored = w->n;
    w->n = 0;
    note_rows(w, 0, 0, s->inner.width);
    return ST_OK;
}

/* Sorted entries to a run on disk. */
static Status write_run(Sorter *s, SortWorker *w, const Entry *entries, int64_t n, Err *e) {
    if (w->n_runs == w->cap_runs) {
        int64_t cap = MAX_OF(w->cap_runs * 2, 8);
        RowStore **p = mem_realloc(s->acct, w->runs, w->cap_runs * (int64_t)sizeof *p, cap * (int64_t)sizeof *p, e);
        if (!p) return ST_ERROR;
        w->runs = p;
        w->cap_runs = cap;
    }
    RowStore *run = NULL;
    TRY(new_rows(s, &run, true, e));
    w->runs[w->n_runs++] = run;
    /* Pages of a run are what a merge holds of it. */
    rows_set_page_bytes(run, 16 << 10, 64 << 10);
    int64_t bytes = COPY_ROWS * s->inner.width;
    char *buf = mem_alloc(s->acct, bytes, e);
    if (!buf) return ST_ERROR;
    Status st = copy_rows(s, w, run, entries, n, buf, COPY_ROWS, e);
    mem_free(s->acct, buf, bytes);
    TRY(st);
    TRY(rows_spill_worker(run, 0, e));
    return rows_finish(run, false, e);
}

/* Without memory for sorting: short runs, sorted with the help of the stack. */
enum { PIECE = 512 };
static Status write_pieces(Sorter *s, SortWorker *w, Err *e) {
    Entry tmp[PIECE];
    for (int64_t i = 0; i < w->n; i += PIECE) {
        int64_t n = MIN_OF((int64_t)PIECE, w->n - i);
        (void)merge_sort(s, w->e + i, tmp, n); /* too short to be stopped */
        TRY(write_run(s, w, w->e + i, n, e));
    }
    return ST_OK;
}
/* Row i of stretch k. Lower words are in the order of arrival. */
static Entry brief_entry(const Sorter *s, const SortWorker *w, int64_t k, int64_t i) {
    const SortStretch *t = &w->stretches[k];
    const char *row = t->page->rows + (t->first + i) * s->brief.width;
    Entry e = {.lo = (uint64_t)k << 32 | (uint64_t)i, .row = row};
    memcpy(&e.hi, row, sizeof e.hi);
    return e;
}
static Status write_stretches(Sorter *s, SortWorker *w, Err *e) {
    Entry entries[PIECE], tmp[PIECE];
    for (int64_t k = 0; k < w->n_stretches; k++) {
        const SortStretch *t = &w->stretches[k];
        for (int64_t i = 0; i < t->n; i += PIECE) {
            int64_t n = MIN_OF((int64_t)PIECE, t->n - i);
            for (int64_t j = 0; j < n; j++) entries[j] = brief_entry(s, w, k, i + j);
            (void)merge_sort(s, entries, tmp, n);
            TRY(write_run(s, w, entries, n, e));
        }
    }
    return ST_OK;
}

/* Entries of rows that have none yet. */
static Status make_entries(Sorter *s, SortWorker *w, Err *e) {
    TRY(reserve_entries(s, w, w->stored, e));
    for (int64_t k = 0; k < w->n_stretches; k++)
        for (int64_t i = 0; i < w->stretches[k].n; i++) w->e[w->n++] = brief_entry(s, w, k, i);
    return ST_OK;
}

/* Sorts what the worker has and writes it to disk. */
static Status spill_run(Sorter *s, SortWorker *w, Err *e) {
    if (!w->stored) return ST_OK;
    Err quiet;
    err_clear(&quiet);
    if (s->is_short && w->unordered) short_order(w);
    w->unordered &= !s->is_short;
    Status st = s->is_short ? make_entries(s, w, &quiet) : ST_OK;
    if (st == ST_OK) st = sort_entries(s, w, &quiet);
    if (st == ST_OK) {
        TRY(write_run(s, w, w->e, w->n, e));
    } else if (strcmp(quiet.sqlstate, ERR_QUERY_CANCELED) == 0) {
        err_copy(e, &quiet);
        return ST_ERROR;
    } else {
        TRY(w->n ? write_pieces(s, w, e) : write_stretches(s, w, e));
    }
    rows_free(w->rows);
    w->rows = NULL;
    free_entries(s, w);
    short_free(s, w);
    w->stored = 0;
    w->unordered = false;
    return ST_OK;
}

/* ---- adding -------------------------------------------------------------------------------------------------- */

static Status make_scratch(Sorter *s, SortWorker *w, int64_t n, Err *e) {
    free_scratch(s, w);
    w->scratch = MAX_OF(n, (int64_t)1024);
    w->key = mem_alloc(s->acct, w->scratch * 16, e);
    w->sel = mem_alloc(s->acct, w->scratch * 4, e);
    w->vecs = mem_alloc(s->acct, MAX_OF(s->n_inner, 1) * (int64_t)sizeof(Vec), e);
    return w->key && w->sel && w->vecs ? ST_OK : ST_ERROR;
}

static int64_t str_bytes(const RowLayout *l, const Vec *v, int64_t n) {
    int64_t total = 0;
    for (int32_t c = 0; c < l->n_cols; c++) {
        if (l->cols[c].phys != PH_STR || l->cols[c].stable_str) continue;
        const Str *x = v[c].data;
        for (int64_t i = 0; i < n; i++) {
            int64_t j = v[c].is_const ? 0 : i;
            if (!v[c].valid || v[c].valid[j]) total += x[j].len;
        }
    }
    return total;
}

/* m rows more, of vectors with n, are not to be had without eating into the reserve. */
static bool memory_is_short(const Sorter *s, const SortWorker *w, int64_t m, int64_t n) {
    int64_t room = mem_headroom(s->acct);
    if (LIKELY(room == INT64_MAX) || !s->vfs) return false;
    /* Sorting takes as much again as the entries, which rows with short keys get when they have to go to disk. */
    int64_t n_entries = s->is_short ? w->stored : w->n;
    int64_t grown = n_entries + m > w->cap ? MAX_OF(w->cap * 2, n_entries + m) : 0;
    int64_t need = 2 * m * s->inner.width + (int64_t)ROWS_PAGE_BYTES / 8 + 2 * str_bytes(&s->inner, w->vecs, n) +
                   (grown + n_entries + m) * (int64_t)sizeof(Entry);
    int64_t held = (w->rows ? rows_bytes(w->rows) : 0) + (w->cap + n_entries) * (int64_t)sizeof(Entry);
    return room - s->reserve < need || held + need > s->share;
}

/* All rows of the worker's vectors, with their keys; as add_rows. */
static Status add_brief_rows(Sorter *s, SortWorker *w, uint64_t order, int64_t n, Err *e) {
    if (!w->rows) TRY(new_rows(s, &w->rows, false, e));
    int64_t page = MAX_OF(rows_worker_pages(w->rows, 0) - 1, 0), at = 0, i = 0;
    if (rows_worker_pages(w->rows, 0)) at = rows_worker_page(w->rows, 0, page)->n;
    TRY(rows_append_sel(w->rows, 0, 0, n, w->vecs, NULL, e));
    for (; page < rows_worker_pages(w->rows, 0); page++, at = 0) {
        RowPage *g = rows_worker_page(w->rows, 0, page);
        if (g->n > at) TRY(short_note(s, w, order, g, g->n - at, e));
        char *row = g->rows + at * s->brief.width;
        for (int64_t k = at; k < g->n; k++, i++, row += s->brief.width) {
            uint64_t key = (uint64_t)(w->key[i] >> 64);
            memcpy(row, &key, sizeof key);
        }
    }
    w->stored += n;
    return ST_OK;
}

/* m rows of the worker's vectors, with headers; after a failure the store has rows that are counted nowhere. */
static Status add_rows(Sorter *s, SortWorker *w, uint64_t order, uint64_t seq, int64_t m, const int32_t *sel, Err *e) {
    if (!w->rows) TRY(new_rows(s, &w->rows, false, e));
    int64_t page = MAX_OF(rows_worker_pages(w->rows, 0) - 1, 0), at = 0, i = 0;
    if (rows_worker_pages(w->rows, 0)) at = rows_worker_page(w->rows, 0, page)->n;
    TRY(reserve_entries(s, w, m, e));
    TRY(rows_append_sel(w->rows, 0, 0, m, w->vecs, sel, e));
    for (; page < rows_worker_pages(w->rows, 0); page++, at = 0) {
        RowPage *g = rows_worker_page(w->rows, 0, page);
        for (int64_t k = at; k < g->n; k++, i++) {
            int64_t j = sel ? sel[i] : i;
            char *row = g->rows + k * s->inner.width;
            Header h = {w->key[j], order, seq + (uint64_t)j};
            memcpy(row, &h, sizeof h);
            w->e[w->n++] = entry_of(row);
        }
    }
    w->stored += m;
    return ST_OK;
}

Status sort_add(Sorter *s, int worker, int64_t order, int64_t n, const Vec *keys, const Vec *cols, Err *e) {
    SortWorker *w = &s->w[worker];
    if (n <= 0 || s->limit == 0) return ST_OK;
    if (n > w->scratch) TRY(make_scratch(s, w, n, e));
    memset(w->key, 0, (size_t)n * 16);
    for (int32_t i = 0; i < s->n_keys; i++)
        if (s->keys[i].packed) TRY(pack_key(&s->keys[i], &keys[i], n, w->key, e));
    if ((uint64_t)order != w->last_order) {
        w->unordered |= (uint64_t)order < w->last_order && w->stored > 0;
        w->last_order = (uint64_t)order;
        w->seq = 0;
    }
    uint64_t seq = w->seq;
    w->seq += (uint64_t)n;
    const int32_t *sel = NULL;
    int64_t m = n;
    uint64_t shared = atomic_load_explicit(&s->bound_hi, memory_order_relaxed);
    if (s->top >= 0 && (w->bounded || shared != UINT64_MAX)) {
        uint128_t bound = (uint128_t)shared << 64 | UINT64_MAX;
        if (w->bounded && w->bound < bound) bound = w->bound;
        m = 0;
        for (int64_t i = 0; i < n; i++) {
            w->sel[m] = (int32_t)i;
            m += w->key[i] <= bound;
        }
        if (m == 0) return ST_OK;
        sel = w->sel;
    }
    memcpy(w->vecs, cols, sizeof *cols * (size_t)s->n_cols);
    for (int32_t i = 0; i < s->n_keys; i++)
        if (s->keys[i].col >= 0) w->vecs[s->keys[i].col] = keys[i];
    if (memory_is_short(s, w, m, n)) TRY(spill_run(s, w, e));
    Err quiet;
    for (int tries = 0;; tries++) {
        err_clear(&quiet);
        Status st = s->is_short ? add_brief_rows(s, w, (uint64_t)order, n, &quiet)
                                : add_rows(s, w, (uint64_t)order, seq, m, sel, &quiet);
        if (st == ST_OK) break;
        /* Rows half appended belong to no entry and vanish with their store. */
        if (!s->vfs || w->stored == 0 || tries) {
            err_copy(e, &quiet);
            return ST_ERROR;
        }
        TRY(spill_run(s, w, e));
    }
    if (s->top >= 0 && w->n >= s->top * 2 + 1024) return prune(s, w, e);
    return ST_OK;
}

/* Row number behind the last one of the limit. */
static int64_t end_row(const Sorter *s) {
    return s->limit < 0 || s->limit > INT64_MAX - s->offset ? INT64_MAX : s->limit + s->offset;
}

/* ---- merging --------------------------------------------------------------------------------------------------- */

/* Appends rows in order to the result, column by column. */
typedef struct Emitter {
    Sorter *s;
    RowStore *out;
    int worker;
    int64_t order;
    int64_t n;
    const char *rows[BATCH];
    Vec *cols;
    char *cells; /* n_cols * BATCH * 17 */
} Emitter;

static int64_t emitter_bytes(const Sorter *s) {
    return MAX_OF(s->n_cols, 1) * ((int64_t)sizeof(Vec) + BATCH * 17) + 64;
}
static Status emitter_init(Emitter *m, Sorter *s, RowStore *out, int worker, int64_t order, Err *e) {
    *m = (Emitter){.s = s, .out = out, .worker = worker, .order = order};
    m->cells = mem_alloc(s->acct, emitter_bytes(s), e);
    if (!m->cells) return ST_ERROR;
    m->cols = (Vec *)(void *)(m->cells + (int64_t)MAX_OF(s->n_cols, 1) * BATCH * 17);
    return ST_OK;
}
static void emitter_free(Emitter *m) { mem_free(m->s->acct, m->cells, m->cells ? emitter_bytes(m->s) : 0); }
static Status emit_flush(Emitter *m, Err *e) {
    if (!m->n) return ST_OK;
    const Sorter *s = m->s;
    TRY(query_stop_check(s->stop, e));
    char *p = m->cells, *valid = m->cells + (int64_t)s->n_cols * BATCH * 16;
    for (int32_t c = 0; c < s->n_cols; c++) {
        m->cols[c] = (Vec){.data = p + (int64_t)c * BATCH * 16,
                           .valid = (uint8_t *)valid + (int64_t)c * BATCH,
                           .phys = s->outer.cols[c].phys,
                           .type = s->outer.cols[c].type};
        rows_gather(&s->inner, c, m->rows, m->n, &m->cols[c]);
    }
    int64_t n = m->n;
    m->n = 0;
    return rows_append(m->out, m->worker, m->order, n, m->cols, e);
}
static Status emit(Emitter *m, const char *row, Err *e) {
    m->rows[m->n++] = row;
    return m->n == BATCH ? emit_flush(m, e) : ST_OK;
}

/* k-way merge of entry arrays: a heap of cursors. */
typedef struct Cursor {
    Entry *at, *end;
} Cursor;

static void sift_down(const Sorter *s, Cursor *h, int n, int i) {
    for (;;) {
        int c = 2 * i + 1;
        if (c >= n) return;
        if (c + 1 < n && entry_less(s, h[c + 1].at, h[c].at)) c++;
        if (!entry_less(s, h[c].at, h[i].at)) return;
        Cursor x = h[c];
        h[c] = h[i];
        h[i] = x;
        i = c;
    }
}

/* Rows [from, to) of the merged sequence of the cursors. */
static Status merge_cursors(Sorter *s, Cursor *h, int n, int64_t from, int64_t to, Emitter *m, Err *e) {
    int live = 0;
    for (int i = 0; i < n; i++)
        if (h[i].at < h[i].end) h[live++] = h[i];
    for (int i = live / 2 - 1; i >= 0; i--) sift_down(s, h, live, i);
    int64_t at = 0;
    while (live && at < to) {
        if (at < from && (at & (POLL_ROWS - 1)) == 0) TRY(query_stop_check(s->stop, e)); /* else emit does */
        if (live == 1) {
            for (; h[0].at < h[0].end && at < to; h[0].at++, at++)
                if (at >= from) TRY(emit(m, h[0].at->row, e));
            break;
        }
        if (at++ >= from) TRY(emit(m, h[0].at->row, e));
        if (++h[0].at == h[0].end) h[0] = h[--live];
        sift_down(s, h, live, 0);
    }
    return emit_flush(m, e);
}

typedef struct MergeJob {
    Sorter *s;
    RowStore *out;
    _Atomic int64_t next;
    _Atomic bool failed;
    Mutex lock;
    Err *err;
    int64_t parts;
    Cursor *cursors; /* parts * workers */
    int64_t *first;  /* global row number at which a part starts, parts + 1 */
} MergeJob;

static void merge_part(void *ctx, int worker) {
    MergeJob *j = ctx;
    Sorter *s = j->s;
    Err e;
    err_clear(&e);
    for (;;) {
        int64_t p = atomic_fetch_add(&j->next, 1);
        if (p >= j->parts || atomic_load(&j->failed)) return;
        int64_t start = s->offset, end = end_row(s);
        start = MAX_OF(start - j->first[p], 0);
        end = MIN_OF(end - j->first[p], j->first[p + 1] - j->first[p]);
        if (start >= end) continue;
        Emitter m;
        Status st = emitter_init(&m, s, j->out, worker, p, &e);
        if (st == ST_OK) st = merge_cursors(s, j->cursors + p * s->workers, s->workers, start, end, &m, &e);
        emitter_free(&m);
        if (st != ST_OK) {
            mutex_lock(&j->lock);
            if (!atomic_exchange(&j->failed, true)) err_copy(j->err, &e);
            mutex_unlock(&j->lock);
            return;
        }
    }
}
static void sort_workers(void *ctx, int worker) {
    (void)worker;
    MergeJob *j = ctx;
    Err e;
    err_clear(&e);
    for (;;) {
        int64_t k = atomic_fetch_add(&j->next, 1);
        if (k >= j->s->workers || atomic_load(&j->failed)) return;
        if (sort_entries(j->s, &j->s->w[k], &e) != ST_OK) {
            mutex_lock(&j->lock);
            if (!atomic_exchange(&j->failed, true)) err_copy(j->err, &e);
            mutex_unlock(&j->lock);
            return;
        }
    }
}
static void run_job(MergeJob *j, PoolFn fn) {
    atomic_store(&j->next, 0);
    if (j->s->pool && j->s->threads > 1) pool_run(j->s->pool, j->s->threads, fn, j);
    else fn(j, 0);
}

static Entry *lower_bound(const Sorter *s, Entry *at, Entry *end, const Entry *pivot) {
    while (at < end) {
        Entry *mid = at + (end - at) / 2;
        if (entry_less(s, mid, pivot)) at = mid + 1;
        else end = mid;
    }
    return at;
}

/* Splits the sorted runs at pivots taken from the longest one. */
static void split_runs(MergeJob *j) {
    Sorter *s = j->s;
    SortWorker *longest = &s->w[0];
    for (int k = 1; k < s->workers; k++)
        if (s->w[k].n > longest->n) longest = &s->w[k];
    j->first[0] = 0;
    for (int64_t p = 0; p < j->parts; p++) {
        int64_t size = 0;
        for (int k = 0; k < s->workers; k++) {
            SortWorker *w = &s->w[k];
            Cursor *c = &j->cursors[p * s->workers + k];
            c->at = p ? j->cursors[(p - 1) * s->workers + k].end : w->e;
            c->end = w->e + w->n;
            if (p + 1 < j->parts) c->end = lower_bound(s, c->at, c->end, &longest->e[longest->n * (p + 1) / j->parts]);
            size += c->end - c->at;
        }
        j->first[p + 1] = j->first[p] + size;
    }
}

/* ---- external merge ------------------------------------------------------------------------------------------------
 */

typedef struct DiskCursor {
    RowStore *rows;
    int64_t run, at;
    RowRun page;
    bool open;
    Entry now;
} DiskCursor;

static Status disk_next(DiskCursor *c, bool *more, Err *e) {
    *more = false;
    for (;;) {
        if (c->open && c->at < c->page.n) {
            const char *row = c->page.rows + c->at * c->page.width;
            Header h;
            memcpy(&h, row, sizeof h);
            c->now = (Entry){(uint64_t)(h.key >> 64), (uint64_t)h.key, row};
            c->at++;
            *more = true;
            return ST_OK;
        }
        if (c->open) rows_run_close(c->rows, &c->page);
        c->open = false;
        if (c->run >= rows_n_runs(c->rows)) return ST_OK;
        TRY(rows_run_open(c->rows, c->run++, &c->page, e));
        c->open = true;
        c->at = 0;
    }
}
static void disk_sift(const Sorter *s, DiskCursor **h, int64_t n, int64_t i) {
    for (;;) {
        int64_t c = 2 * i + 1;
        if (c >= n) return;
        if (c + 1 < n && entry_less(s, &h[c + 1]->now, &h[c]->now)) c++;
        if (!entry_less(s, &h[c]->now, &h[i]->now)) return;
        DiskCursor *x = h[c];
        h[c] = h[i];
        h[i] = x;
        i = c;
    }
}

/* Merges runs into the result (emitter) or into a longer run on disk (`to`). Runs are freed as they end. */
static Status merge_disk(Sorter *s, RowStore **runs, int64_t n, int64_t from, int64_t to, Emitter *m, RowStore *target,
                         Err *e) {
    int64_t bytes = n * (int64_t)(sizeof(DiskCursor) + sizeof(DiskCursor *));
    DiskCursor *c = mem_calloc(s->acct, MAX_OF(bytes, 1), e);
    if (!c) return ST_ERROR;
    DiskCursor **h = (DiskCursor **)(void *)(c + n);
    Status st = ST_OK;
    int64_t live = 0, at = 0;
    for (int64_t i = 0; i < n && st == ST_OK; i++) {
        c[i].rows = runs[i];
        bool more = false;
        st = disk_next(&c[i], &more, e);
        if (more) h[live++] = &c[i];
    }
    for (int64_t i = live / 2 - 1; i >= 0; i--) disk_sift(s, h, live, i);
    while (st == ST_OK && live && at < to) {
        DiskCursor *top = h[0];
        if ((at & (BATCH - 1)) == 0 && (st = query_stop_check(s->stop, e)) != ST_OK) break;
        if (at++ >= from) {
            if (target) st = rows_append_raw(target, 0, 0, 1, top->now.row, NULL, e);
            else st = emit(m, top->now.row, e);
        }
        if (st != ST_OK) break;
        /* The emitter holds addresses into the page that is about to go. */
        if (!target && top->at >= top->page.n) st = emit_flush(m, e);
        bool more = false;
        if (st == ST_OK) st = disk_next(top, &more, e);
        if (st == ST_OK && !more) h[0] = h[--live];
        disk_sift(s, h, live, 0);
    }
    if (st == ST_OK && !target) st = emit_flush(m, e);
    for (int64_t i = 0; i < n; i++)
        if (c[i].open) rows_run_close(c[i].rows, &c[i].page);
    mem_free(s->acct, c, MAX_OF(bytes, 1));
    return st;
}

enum { FAN_IN = 32 };
static Status finish_external(Sorter *s, RowStore *out, Err *e) {
    int64_t total = 0;
    for (int k = 0; k < s->workers; k++) {
        TRY(spill_run(s, &s->w[k], e));
        total += s->w[k].n_runs;
        rows_free(s->w[k].rows);
        s->w[k].rows = NULL;
    }
    RowStore **runs = mem_calloc(s->acct, MAX_OF(total, 1) * 8, e);
    if (!runs) return ST_ERROR;
    int64_t n = 0;
    for (int k = 0; k < s->workers; k++) {
        for (int64_t r = 0; r < s->w[k].n_runs; r++) runs[n++] = s->w[k].runs[r];
        s->w[k].n_runs = 0;
    }
    Status st = ST_OK;
    /* A page of every run is held: few at a time when memory is short. */
    int64_t room = mem_headroom(s->acct), fan = MIN_OF(MAX_OF(room / 4 / (160 << 10), 2), (int64_t)FAN_IN);
    while (st == ST_OK && n > fan) {
        RowStore *big = NULL;
        st = new_rows(s, &big, true, e);
        if (st != ST_OK) break;
        rows_set_page_bytes(big, 16 << 10, 64 << 10);
        st = merge_disk(s, runs, fan, 0, s->top >= 0 ? s->top : INT64_MAX, NULL, big, e);
        if (st == ST_OK) st = rows_spill_worker(big, 0, e);
        if (st == ST_OK) st = rows_finish(big, false, e);
        for (int64_t i = 0; i < fan; i++) rows_free(runs[i]);
        memmove(runs, runs + fan, (size_t)(n - fan) * sizeof *runs);
        n -= fan;
        runs[n++] = big;
    }
    if (st == ST_OK) {
        Emitter m;
        int64_t end = end_row(s);
        st = emitter_init(&m, s, out, 0, 0, e);
        if (st == ST_OK) st = merge_disk(s, runs, n, s->offset, end, &m, NULL, e);
        emitter_free(&m);
    }
    for (int64_t i = 0; i < n; i++) rows_free(runs[i]);
    mem_free(s->acct, runs, MAX_OF(total, 1) * 8);
    return st;
}

/* ---- finishing -----------------------------------------------------------------------------------------------------
 */

static Status finish_memory(Sorter *s, RowStore *out, int64_t total, Err *e) {
    MergeJob j = {.s = s, .out = out, .err = e};
    if (!mutex_init(&j.lock, RANK_SORT)) return err_oom(e);
    Status st = ST_ERROR;
    run_job(&j, sort_workers);
    if (atomic_load(&j.failed)) goto done;
    j.parts = s->threads > 1 && total > 20000 ? s->threads * 2 : 1;
    j.cursors = mem_alloc(s->acct, j.parts * s->workers * (int64_t)sizeof(Cursor), e);
    j.first = j.cursors ? mem_alloc(s->acct, (j.parts + 1) * 8, e) : NULL;
    if (!j.first) goto done;
    split_runs(&j);
    run_job(&j, merge_part);
    if (!atomic_load(&j.failed)) st = ST_OK;
done:
    mem_free(s->acct, j.cursors, j.cursors ? j.parts * s->workers * (int64_t)sizeof(Cursor) : 0);
    mem_free(s->acct, j.first, j.first ? (j.parts + 1) * 8 : 0);
    mutex_destroy(&j.lock);
    return st;
}

Status sort_finish(Sorter *s, RowStore **out, Err *e) {
    *out = NULL;
    int64_t total = 0, runs = 0;
    for (int k = 0; k < s->workers; k++) {
        free_scratch(s, &s->w[k]);
        total += s->is_short ? s->w[k].stored : s->w[k].n;
        runs += s->w[k].n_runs;
    }
    RowStore *r = NULL;
    TRY(rows_new(&s->outer, MAX_OF(s->threads, 1), s->acct, s->vfs, s->temp_dir, &r, e));
    Status st = ST_OK;
    /* The result needs about as much memory as the rows, unless it is cut short. */
    int64_t room = mem_headroom(s->acct);
    int64_t own = s->is_short ? s->brief.width : (int64_t)sizeof(Entry);
    int64_t need = total * own + (s->top >= 0 ? s->top : total) * (int64_t)s->outer.width;
    bool short_of_memory = s->vfs && room != INT64_MAX && room - s->reserve / 2 < need;
    if (runs || short_of_memory) st = finish_external(s, r, e);
    else if (total) st = s->is_short ? short_finish(s, r, e) : finish_memory(s, r, total, e);
    if (st == ST_OK) st = rows_finish(r, true, e);
    if (st != ST_OK) {
        rows_free(r);
        return st;
    }
    *out = r;
    return ST_OK;
}
