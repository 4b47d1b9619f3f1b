/* agg.c - aggregation: finding groups, merging workers, spilling, reading; see agg.h for the forms and agg_int.h for
 * rows.
 *
 * Packed keys. Keys of known range get as many bits as they need (NULL is 0, values follow from 1); if all fit 64 bits
 * the packed number is the key, and if it has few bits it is the group number (direct form: slots are rounded up to
 * powers of two).
 *
 * Hash tables. A slot is 16 bits of the hash over 48 bits of row address; 0 is empty. Rows never move, so that a vector
 * first finds all its rows (prefetching slots, then rows) and then updates aggregate by aggregate. Runs of equal packed
 * keys are looked up once.
 *
 * Memory. When a worker's table has to grow and the headroom is short, its groups are written to a temporary file by
 * partition of the hash and it starts again empty. At the end the rest follows, and every partition is read back and
 * merged alone when its morsel is opened; one that would not fit is read several times, each time for the rows of other
 * hashes. What is needed to get on at all (a few groups per worker, a buffer to write them out, a partition of a
 * partition) may go beyond the limit (base/mem.h, reserve): others may have taken all up to it.
 *
 * Thread rules: agg_add by one thread per worker number. agg_finish by one thread. Morsels may be opened by many at
 * once.
 */
#include "base/hash.h"
#include "base/mutex.h"
#include "base/vfs.h"
#include "exec/agg_int.h"

#include <math.h>
#include <stdlib.h>

#define FAST __attribute__((optimize("O3")))

typedef enum Form { FORM_SINGLE, FORM_DIRECT, FORM_PACKED, FORM_GENERIC } Form;

enum {
    DIRECT_BITS = 16,     /* always direct up to here */
    DIRECT_BITS_MAX = 22, /* when about as many groups are expected */
    MIN_SLOTS = 64,
    PAGE_MIN = 4 << 10,
    PAGE_MAX = 4 << 20,
    MORSEL_GROUPS = 16384,
    SPILL_PARTITIONS = 64,
    SPILL_BLOCK = 64 << 10,
    SUB_BITS_MAX = 10,
    WORKING_MIN = 512 << 10, /* what a worker may hold, and a partition take, whatever others hold: else they could keep
                                it from working */
    WORKING_RESERVE = 64 << 20
};
#define ADDRESS_BITS 48
#define ADDRESS_MASK ((UINT64_C(1) << ADDRESS_BITS) - 1)
#define NULL_HASH UINT64_C(0x6a09e667f3bcc908)

typedef struct KeyCol {
    uint8_t phys, bits, shift;
    bool nullable;
    int64_t min;
    int32_t off, valid; /* generic rows; valid -1 */
} KeyCol;

typedef struct Page {
    char *rows;
    int64_t n, cap;
} Page;

/* A hash table over rows. */
typedef struct Slots {
    uint64_t *slots;
    int64_t n_slots, n;
} Slots;

typedef struct Worker {
    bool ready;
    AggHeap heap;
    Page *pages;
    int64_t n_pages, cap_pages, page_bytes;
    Slots h;
    char *direct;
    int64_t rows_in;
    /* scratch of n rows */
    int64_t cap;
    char *scratch;
    uint64_t *key, *hash;
    char **rows, **found;
    int32_t *sel, *run;
    uint8_t *bad;
    int32_t n_flat;
    void **flat; /* per aggregate: a constant vector written out (cap * 17 bytes) */
    Vec *in;
    MemAccount acct; /* below the table's, for what it holds; with a reserve while that is little */
    char pad[64];
} Worker;

typedef struct Extent { /* a block of one partition in the temporary file */
    struct Extent *next;
    int64_t offset, bytes, rows;
} Extent;
typedef struct Partition {
    const char **rows; /* merged group rows */
    int64_t n, cap;
    Extent *extents;
} Partition;

struct AggTable {
    Form form;
    const QueryStop *stop;
    Arena *arena;
    AggSpec spec;
    KeyCol *keys;
    AggCol *cols;
    int32_t n_keys, n_cols;
    int32_t width, key_bits;
    bool has_bytes; /* rows own bytes elsewhere */
    char *template_row;
    bool template_zero;
    int workers, threads;
    Pool *pool;
    MemAccount *acct;
    Vfs *vfs;
    const char *temp_dir;
    int64_t vector_size;
    int64_t reserve, share; /* share: what one worker may hold, so that it cannot starve the others */
    Worker *w;
    /* finished */
    bool finished;
    int32_t dest; /* worker that holds everything, -1: partitions */
    int64_t groups, n_morsels;
    AggHeap *merge_heaps; /* per pool worker */
    Partition *partitions;
    int32_t n_partitions;
    int64_t n_partitions_cap;
    /* spilling */
    Mutex lock;
    bool lock_ready;
    _Atomic bool spilled;
    VfsFile *file;
    int64_t file_end;
    Extent *spill[SPILL_PARTITIONS];
    int64_t spill_rows[SPILL_PARTITIONS];
    int sub_bits; /* a partition is read in so many turns (2 to the power of), since all of it would not fit: each takes
                     the rows of some hashes */
};

/* ---- small things ---------------------------------------------------------------------- */

static uint64_t *header(char *row) { return (uint64_t *)(void *)row; }
static uint64_t header_of(const char *row) { return *(const uint64_t *)(const void *)row; }
static uint64_t packed_hash(uint64_t key) { return UNLIKELY(hash_constant) ? 0 : hash_u64(key); }
static uint64_t row_hash(const AggTable *t, const char *row) {
    return t->form == FORM_PACKED ? packed_hash(header_of(row)) : header_of(row);
}
static int bits_of(uint64_t v) { return v ? 64 - __builtin_clzll(v) : 0; }

/* ---- making --------------------------------------------------------------------------------- */

/* Bits of a key, 65 and more when it cannot be packed. */
static int key_bits(const KeySpec *k, int64_t *min) {
    uint64_t range;
    *min = 0;
    switch (k->phys) {
    case PH_BOOL: range = 1; break;
    case PH_I16:
        range = UINT16_MAX;
        *min = INT16_MIN;
        break;
    case PH_I32:
        range = UINT32_MAX;
        *min = INT32_MIN;
        break;
    case PH_I64:
        range = UINT64_MAX;
        *min = INT64_MIN;
        break;
    default: return 100;
    }
    if (k->has_range && k->phys != PH_BOOL && k->max >= k->min) {
        range = (uint64_t)k->max - (uint64_t)k->min;
        *min = k->min;
    }
    if (!k->nullable) return bits_of(range);
    return range == UINT64_MAX ? 65 : bits_of(range + 1);
}

static Status plan_rows(AggTable *t, Err *e) {
    int64_t at = 8;
    bool generic = t->form == FORM_GENERIC;
    for (int64_t size = 16; generic && size >= 1; size /= 2)
        for (int32_t i = 0; i < t->n_keys; i++)
            if (phys_size((Phys)t->keys[i].phys) == size) {
                t->keys[i].off = (int32_t)at;
                at += size;
            }
    at = align_up(at, 8);
    for (int64_t size = 8; size >= 1; size /= 2)
        for (int32_t i = 0; i < t->n_cols; i++) {
            AggCol *c = &t->cols[i];
            int32_t bytes = agg_cell_bytes(c);
            if ((bytes >= 8 ? 8 : bytes) != size) continue;
            c->off = (int32_t)at;
            at += bytes;
        }
    for (int32_t i = 0; i < t->n_keys; i++) t->keys[i].valid = generic && t->keys[i].nullable ? (int32_t)at++ : -1;
    for (int32_t i = 0; i < t->n_cols; i++)
        if (t->cols[i].seen >= 0) t->cols[i].seen = (int32_t)at++;
    at = align_up(at, 8);
    if (at > INT32_MAX / 2) return err_set(e, ERR_PROGRAM_LIMIT, "too many aggregates");
    t->width = (int32_t)at;
    t->template_row = arena_calloc(t->arena, at);
    if (!t->template_row) return ST_ERROR;
    t->template_zero = true;
    for (int32_t i = 0; i < t->n_cols; i++) agg_cell_template(&t->cols[i], t->template_row);
    for (int64_t i = 0; i < at; i++) t->template_zero &= t->template_row[i] == 0;
    t->has_bytes = false;
    for (int32_t i = 0; i < t->n_cols; i++) t->has_bytes |= agg_cell_has_bytes(&t->cols[i]);
    for (int32_t i = 0; generic && i < t->n_keys; i++) t->has_bytes |= t->keys[i].phys == PH_STR;
    return ST_OK;
}

static void choose_form(AggTable *t, int64_t room) {
    if (t->n_keys == 0) {
        t->form = FORM_SINGLE;
        return;
    }
    int total = 0;
    for (int32_t i = 0; i < t->n_keys; i++) {
        KeyCol *k = &t->keys[i];
        int bits = key_bits(&t->spec.keys[i], &k->min);
        k->bits = (uint8_t)MIN_OF(bits, 64);
        k->shift = (uint8_t)MIN_OF(total, 63);
        total += bits;
        if (total > 64) break;
    }
    if (total > 64) {
        t->form = FORM_GENERIC;
        return;
    }
    t->key_bits = total;
    t->form = FORM_PACKED;
    int64_t guess = 64 + 16 * (int64_t)t->n_cols; /* bytes of a row, about */
    bool direct =
        total <= DIRECT_BITS || (total <= DIRECT_BITS_MAX && t->spec.est_groups * 4 >= (double)(INT64_C(1) << total));
    if (direct && total > 6 && room != INT64_MAX && ((INT64_C(1) << total) * guess * t->workers) > room / 4)
        direct = false;
    if (!direct || t->spec.hashed) return;
    t->form = FORM_DIRECT;
    for (int32_t i = 0; i < t->n_keys; i++) t->keys[i].shift++; /* bit 0 of the header: the group exists */
}

Status agg_new(const AggSpec *spec, int workers, Pool *pool, int threads, int64_t vector_size, MemAccount *acct,
               Vfs *vfs, const char *temp_dir, AggTable **out, Err *e) {
    *out = NULL;
    Arena *a = arena_new(acct, e);
    if (!a) return ST_ERROR;
    AggTable *t = arena_new_of(a, AggTable);
    if (!t) goto fail_arena;
    t->arena = a;
    t->spec = *spec;
    t->workers = MAX_OF(workers, 1);
    t->threads = pool ? MAX_OF(threads, 1) : 1;
    t->pool = pool;
    t->acct = acct;
    t->vfs = vfs;
    t->vector_size = MAX_OF(vector_size, 1);
    t->n_keys = spec->n_keys;
    t->n_cols = spec->n_aggs;
    t->keys = arena_array(a, KeyCol, MAX_OF(t->n_keys, 1));
    t->cols = arena_array(a, AggCol, MAX_OF(t->n_cols, 1));
    t->spec.keys = arena_array(a, KeySpec, MAX_OF(t->n_keys, 1));
    t->w = arena_array(a, Worker, t->workers);
    t->merge_heaps = arena_array(a, AggHeap, t->threads);
    t->temp_dir = temp_dir ? arena_strdup(a, temp_dir) : NULL;
    if (!t->keys || !t->cols || !t->spec.keys || !t->w || !t->merge_heaps || (temp_dir && !t->temp_dir))
        goto fail_arena;
    for (int32_t i = 0; i < t->n_keys; i++) {
        t->spec.keys[i] = spec->keys[i];
        t->keys[i] = (KeyCol){.phys = spec->keys[i].phys, .nullable = spec->keys[i].nullable, .valid = -1};
        if (spec->keys[i].phys >= PH_COUNT_) {
            err_internal(e, "group key of physical type %d", spec->keys[i].phys);
            goto fail_arena;
        }
    }
    for (int32_t i = 0; i < t->n_cols; i++)
        if (agg_col_init(&t->cols[i], &spec->aggs[i], t->n_keys == 0, e) != ST_OK) goto fail_arena;
    int64_t room = mem_headroom(acct);
    t->reserve = room == INT64_MAX ? 0 : room / 8;
    t->share = room == INT64_MAX ? INT64_MAX : room / 4 * 3 / t->workers;
    choose_form(t, room);
    if (plan_rows(t, e) != ST_OK) goto fail_arena;
    for (int i = 0; i < t->threads; i++) t->merge_heaps[i].acct = acct;
    if (!mutex_init(&t->lock, RANK_AGG)) {
        err_oom(e);
        goto fail_arena;
    }
    arena_set_err(a, NULL);
    *out = t;
    return ST_OK;
fail_arena:
    arena_free(a);
    return ST_ERROR;
}

static int64_t direct_slots(const AggTable *t) { return t->form == FORM_SINGLE ? 1 : INT64_C(1) << t->key_bits; }

static int64_t scratch_bytes(const AggTable *t, int64_t cap) {
    (void)t;
    return cap * (8 * 4 + 4 * 2 + 1) + 64;
}

static void free_slots(AggTable *t, Slots *h) {
    mem_free(t->acct, h->slots, h->n_slots * 8);
    *h = (Slots){0};
}

static void free_pages(AggTable *t, Worker *w) {
    for (int64_t i = 0; i < w->n_pages; i++) mem_free(t->acct, w->pages[i].rows, w->pages[i].cap * t->width);
    w->n_pages = 0;
    w->page_bytes = 0;
}

static void free_scratch(AggTable *t, Worker *w) {
    mem_free(t->acct, w->scratch, w->scratch ? scratch_bytes(t, w->cap) : 0);
    for (int32_t i = 0; w->flat && i < t->n_cols; i++) mem_free(t->acct, w->flat[i], w->flat[i] ? w->cap * 17 : 0);
    mem_free(t->acct, w->flat, w->flat ? t->n_cols * (int64_t)sizeof *w->flat : 0);
    mem_free(t->acct, w->in, w->in ? t->n_cols * (int64_t)sizeof *w->in : 0);
    w->scratch = NULL;
    w->flat = NULL;
    w->in = NULL;
    w->cap = 0;
}

void agg_set_stop(AggTable *t, const QueryStop *stop) { t->stop = stop; }
void agg_free(AggTable *t) {
    if (!t) return;
    for (int i = 0; i < t->workers; i++) {
        Worker *w = &t->w[i];
        agg_heap_free(&w->heap);
        free_pages(t, w);
        mem_free(t->acct, w->pages, w->cap_pages * (int64_t)sizeof *w->pages);
        free_slots(t, &w->h);
        mem_free(t->acct, w->direct, w->direct ? direct_slots(t) * t->width : 0);
        free_scratch(t, w);
    }
    for (int i = 0; i < t->threads; i++) agg_heap_free(&t->merge_heaps[i]);
    for (int32_t i = 0; i < t->n_partitions; i++) mem_free(t->acct, t->partitions[i].rows, t->partitions[i].cap * 8);
    mem_free(t->acct, t->partitions, t->n_partitions_cap * (int64_t)sizeof *t->partitions);
    for (int p = 0; p < SPILL_PARTITIONS; p++)
        for (Extent *x = t->spill[p]; x;) {
            Extent *next = x->next;
            mem_free(t->acct, x, (int64_t)sizeof *x);
            x = next;
        }
    if (t->file) t->vfs->close(t->file, NULL);
    mutex_destroy(&t->lock);
    arena_free(t->arena);
}

static Status make_scratch(AggTable *t, Worker *w, int64_t cap, Err *e) {
    free_scratch(t, w);
    w->scratch = mem_alloc(&w->acct, scratch_bytes(t, cap), e);
    if (!w->scratch) return ST_ERROR;
    w->cap = cap;
    char *p = w->scratch;
    w->key = (uint64_t *)(void *)p;
    p += cap * 8;
    w->hash = (uint64_t *)(void *)p;
    p += cap * 8;
    w->rows = (char **)(void *)p;
    p += cap * 8;
    w->found = (char **)(void *)p;
    p += cap * 8;
    w->sel = (int32_t *)(void *)p;
    p += cap * 4;
    w->run = (int32_t *)(void *)p;
    p += cap * 4;
    w->bad = (uint8_t *)p;
    if (t->n_cols) {
        w->flat = mem_calloc(&w->acct, t->n_cols * (int64_t)sizeof *w->flat, e);
        w->in = mem_calloc(&w->acct, t->n_cols * (int64_t)sizeof *w->in, e);
        if (!w->flat || !w->in) return ST_ERROR;
    }
    return ST_OK;
}

static Status make_direct(AggTable *t, Worker *w, Err *e) {
    int64_t slots = direct_slots(t);
    w->direct = mem_calloc(t->acct, slots * t->width, e);
    if (!w->direct) return ST_ERROR;
    if (!t->template_zero)
        for (int64_t g = 0; g < slots; g++) memcpy(w->direct + g * t->width, t->template_row, (size_t)t->width);
    return ST_OK;
}

static Status make_slots(MemAccount *acct, Slots *h, int64_t n, Err *e) {
    h->slots = mem_calloc(acct, n * 8, e);
    if (!h->slots) return ST_ERROR;
    h->n_slots = n;
    return ST_OK;
}

/* Estimates of group counts are often far too high (filters further up are not in them), and fresh memory is dear:
 * tables start small and grow fast. */
enum { FIRST_SLOTS_MAX = 1 << 15, FAST_GROWTH_MAX = 1 << 20 };
static int64_t next_slots(int64_t n) { return n < FAST_GROWTH_MAX ? n * 4 : n * 2; }

static int64_t first_slots(const AggTable *t) {
    double want = t->spec.est_groups * 1.5;
    int64_t n = MIN_SLOTS, top = FIRST_SLOTS_MAX, room = mem_headroom(t->acct);
    while ((double)n < want && n < top) n *= 2;
    while (room != INT64_MAX && n > MIN_SLOTS && n * 8 * t->workers > room / 16) n /= 2;
    return n;
}

static Status make_ready(AggTable *t, Worker *w, int64_t n, Err *e) {
    if (!w->heap.acct) {
        mem_account_init(&w->acct, t->acct, "aggregation", 0, NULL);
        if (t->vfs) atomic_store(&w->acct.reserve, WORKING_RESERVE);
        w->heap.acct = &w->acct;
    }
    if (n > w->cap) TRY(make_scratch(t, w, MAX_OF(n, MIN_OF(t->vector_size, 65536)), e));
    if (w->ready) return ST_OK;
    if (t->form <= FORM_DIRECT) {
        if (!w->direct) TRY(make_direct(t, w, e));
    } else if (!w->h.slots) {
        TRY(make_slots(&w->acct, &w->h, first_slots(t), e));
    }
    w->ready = true;
    return ST_OK;
}

/* ---- packing and hashing keys ------------------------------------------------------------- */

/* Adds the key's bits to out[]; returns something nonzero when a value is outside its range. */
#define PACK(NAME, T)                                                                                              \
    FAST static uint64_t NAME(const KeyCol *k, int shift, const T *x, const uint8_t *valid, int64_t n, bool first, \
                              uint64_t *out) {                                                                     \
        uint64_t bad = 0, one = k->nullable, min = (uint64_t)k->min;                                               \
        int check = k->bits >= 64 ? 0 : k->bits;                                                                   \
        if (valid) {                                                                                               \
            for (int64_t i = 0; i < n; i++) {                                                                      \
                uint64_t on = (uint64_t) - (int64_t)valid[i], d = (uint64_t)(int64_t)x[i] - min;                   \
                bad |= (d | (d + one)) & on;                                                                       \
                out[i] = (first ? 0 : out[i]) | ((d + one) & on) << shift;                                         \
            }                                                                                                      \
        } else if (first) {                                                                                        \
            for (int64_t i = 0; i < n; i++) {                                                                      \
                uint64_t d = (uint64_t)(int64_t)x[i] - min;                                                        \
                bad |= d | (d + one);                                                                              \
                out[i] = (d + one) << shift;                                                                       \
            }                                                                                                      \
        } else {                                                                                                   \
            for (int64_t i = 0; i < n; i++) {                                                                      \
                uint64_t d = (uint64_t)(int64_t)x[i] - min;                                                        \
                bad |= d | (d + one);                                                                              \
                out[i] |= (d + one) << shift;                                                                      \
            }                                                                                                      \
        }                                                                                                          \
        return k->bits >= 64 ? 0 : bad >> check;                                                                   \
    }
PACK(pack_u8, uint8_t)
PACK(pack_i16, int16_t)
PACK(pack_i32, int32_t)
PACK(pack_i64, int64_t)

static uint64_t pack_one(const KeyCol *k, int shift, const Vec *v, int64_t n, bool first, uint64_t *out) {
    switch (k->phys) {
    case PH_BOOL: return pack_u8(k, shift, v->data, v->valid, n, first, out);
    case PH_I16: return pack_i16(k, shift, v->data, v->valid, n, first, out);
    case PH_I32: return pack_i32(k, shift, v->data, v->valid, n, first, out);
    default: return pack_i64(k, shift, v->data, v->valid, n, first, out);
    }
}

/* A column of which no row has a NULL may still come with bytes of validity: its tablets know of rows that are gone. */
static Status check_nulls(const AggTable *t, int32_t c, int64_t n, const Vec *v, Err *e) {
    if (!v->valid || t->keys[c].nullable || !memchr(v->valid, 0, (size_t)(v->is_const && n > 0 ? 1 : n))) return ST_OK;
    return err_internal(e, "group key %d is NULL", c);
}

/* w->key[i] = packed keys. In the direct form without the used bit. */
static Status pack_keys(AggTable *t, Worker *w, int64_t n, const Vec *keys, Err *e) {
    uint64_t bad = 0;
    int less = t->form == FORM_DIRECT;
    for (int32_t c = 0; c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        const Vec *v = &keys[c];
        int shift = k->shift - less;
        if (v->phys != k->phys) return err_internal(e, "group key %d arrives as %s", c, phys_name((Phys)v->phys));
        TRY(check_nulls(t, c, n, v, e));
        if (!v->is_const) {
            bad |= pack_one(k, shift, v, n, c == 0, w->key);
            continue;
        }
        uint64_t x = 0;
        bad |= pack_one(k, shift, v, 1, true, &x);
        if (c == 0)
            for (int64_t i = 0; i < n; i++) w->key[i] = x;
        else
            for (int64_t i = 0; i < n; i++) w->key[i] |= x;
    }
    return bad ? err_internal(e, "group key outside of its range") : ST_OK;
}

ALWAYS_INLINE uint64_t hash_wide(int128_t v) { return hash_combine(hash_u64((uint64_t)v), (uint64_t)(v >> 64)); }
ALWAYS_INLINE uint64_t hash_double(double d) {
    uint64_t b;
    d = d == 0 ? 0 : isnan(d) ? (double)NAN : d;
    memcpy(&b, &d, sizeof b);
    return hash_u64(b);
}
static uint64_t hash_str(Str s) { return hash_bytes(s.ptr, s.len); }

#define HASH_COLUMN(T, EXPR)                          \
    do {                                              \
        const T *x = v->data;                         \
        for (int64_t i = 0; i < n; i++) {             \
            int64_t j = v->is_const ? 0 : i;          \
            uint64_t b = NULL_HASH;                   \
            if (!v->valid || v->valid[j]) b = EXPR;   \
            h[i] = first ? b : hash_combine(h[i], b); \
        }                                             \
    } while (0)

static void hash_column(const Vec *v, int64_t n, bool first, uint64_t *h) {
    switch ((Phys)v->phys) {
    case PH_BOOL: HASH_COLUMN(uint8_t, hash_u64(x[j])); break;
    case PH_I16: HASH_COLUMN(int16_t, hash_u64((uint64_t)x[j])); break;
    case PH_I32: HASH_COLUMN(int32_t, hash_u64((uint64_t)x[j])); break;
    case PH_I64: HASH_COLUMN(int64_t, hash_u64((uint64_t)x[j])); break;
    case PH_I128: HASH_COLUMN(int128_t, hash_wide(x[j])); break;
    case PH_F32: HASH_COLUMN(float, hash_double((double)x[j])); break;
    case PH_F64: HASH_COLUMN(double, hash_double(x[j])); break;
    case PH_STR: HASH_COLUMN(Str, hash_str(x[j])); break;
    case PH_INTERVAL: HASH_COLUMN(Interval, hash_wide(interval_cmp_value(&x[j]))); break;
    case PH_UUID: HASH_COLUMN(Uuid, hash_bytes(&x[j], 16)); break;
    case PH_COUNT_: break;
    }
}

static Status hash_keys(AggTable *t, Worker *w, int64_t n, const Vec *keys, Err *e) {
    for (int32_t c = 0; c < t->n_keys; c++) {
        if (keys[c].phys != t->keys[c].phys)
            return err_internal(e, "group key %d arrives as %s", c, phys_name((Phys)keys[c].phys));
        TRY(check_nulls(t, c, n, &keys[c], e));
        hash_column(&keys[c], n, c == 0, w->hash);
    }
    if (UNLIKELY(hash_constant)) memset(w->hash, 0, (size_t)n * 8);
    return ST_OK;
}

/* ---- comparing generic keys -------------------------------------------------------------------- */

ALWAYS_INLINE bool same_double(double a, double b) { return a == b || (isnan(a) && isnan(b)); }
ALWAYS_INLINE bool same_interval(const Interval *a, const Interval *b) {
    return interval_cmp_value(a) == interval_cmp_value(b);
}

static bool same_cell(uint8_t phys, const void *a, const void *b) {
    switch ((Phys)phys) {
    case PH_BOOL: return *(const uint8_t *)a == *(const uint8_t *)b;
    case PH_I16: return *(const int16_t *)a == *(const int16_t *)b;
    case PH_I32: return *(const int32_t *)a == *(const int32_t *)b;
    case PH_I64: return *(const int64_t *)a == *(const int64_t *)b;
    case PH_I128:
    case PH_UUID: return memcmp(a, b, 16) == 0;
    case PH_F32: return same_double((double)*(const float *)a, (double)*(const float *)b);
    case PH_F64: return same_double(*(const double *)a, *(const double *)b);
    case PH_STR: return str_eq(*(const Str *)a, *(const Str *)b);
    case PH_INTERVAL: return same_interval(a, b);
    case PH_COUNT_: break;
    }
    return false;
}
static bool row_matches(const AggTable *t, const char *row, const Vec *keys, int64_t i) {
    for (int32_t c = 0; c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        const Vec *v = &keys[c];
        int64_t j = v->is_const ? 0 : i;
        bool null = v->valid && !v->valid[j], row_null = k->valid >= 0 && !row[k->valid];
        if (null != row_null) return false;
        if (!null && !same_cell(k->phys, row + k->off, (const char *)v->data + j * phys_size((Phys)k->phys)))
            return false;
    }
    return true;
}
static bool rows_match(const AggTable *t, const char *a, const char *b) {
    if (header_of(a) != header_of(b)) return false;
    if (t->form == FORM_PACKED) return true;
    for (int32_t c = 0; c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        bool an = k->valid >= 0 && !a[k->valid], bn = k->valid >= 0 && !b[k->valid];
        if (an != bn) return false;
        if (!an && !same_cell(k->phys, a + k->off, b + k->off)) return false;
    }
    return true;
}

/* bad[i] |= key differs from the row's, column by column. Rows not NULL. */
#define DIFF_COLUMN(T, SAME)                                      \
    do {                                                          \
        const T *x = v->data;                                     \
        for (int64_t i = 0; i < n; i++) {                         \
            int64_t j = v->is_const ? 0 : i;                      \
            const char *row = rows[i];                            \
            if (!row || bad[i]) continue;                         \
            if (k->valid >= 0) {                                  \
                bool is = !v->valid || v->valid[j];               \
                if (is != (bool)row[k->valid]) bad[i] = 1;        \
                if (!is) continue;                                \
            }                                                     \
            const T *y = (const T *)(const void *)(row + k->off); \
            bad[i] |= !(SAME);                                    \
        }                                                         \
    } while (0)
static void diff_column(const KeyCol *k, const Vec *v, int64_t n, char *const *rows, uint8_t *bad) {
    switch ((Phys)k->phys) {
    case PH_BOOL: DIFF_COLUMN(uint8_t, x[j] == *y); break;
    case PH_I16: DIFF_COLUMN(int16_t, x[j] == *y); break;
    case PH_I32: DIFF_COLUMN(int32_t, x[j] == *y); break;
    case PH_I64: DIFF_COLUMN(int64_t, x[j] == *y); break;
    case PH_F32: DIFF_COLUMN(float, same_double((double)x[j], (double)*y)); break;
    case PH_F64: DIFF_COLUMN(double, same_double(x[j], *y)); break;
    case PH_STR: DIFF_COLUMN(Str, str_eq(x[j], *y)); break;
    case PH_INTERVAL: DIFF_COLUMN(Interval, same_interval(&x[j], y)); break;
    case PH_I128:
    case PH_UUID: DIFF_COLUMN(Uuid, memcmp(&x[j], y, 16) == 0); break;
    case PH_COUNT_: break;
    }
}

/* ---- hash table --------------------------------------------------------------------------------- */

static uint64_t slot_of(const char *row, uint64_t hash) {
    return (uint64_t)(uintptr_t)row | (hash >> ADDRESS_BITS << ADDRESS_BITS);
}
ALWAYS_INLINE char *slot_row(uint64_t s) { return (char *)(uintptr_t)(s & ADDRESS_MASK); }
static void slots_put(Slots *h, char *row, uint64_t hash) {
    uint64_t mask = (uint64_t)h->n_slots - 1, at = hash & mask;
    while (h->slots[at]) at = (at + 1) & mask;
    h->slots[at] = slot_of(row, hash);
}

static Status grow_slots(AggTable *t, Worker *w, Err *e) {
    Slots to = {0};
    TRY(make_slots(&w->acct, &to, next_slots(w->h.n_slots), e));
    to.n = w->h.n;
    for (int64_t p = 0; p < w->n_pages; p++) {
        Page *g = &w->pages[p];
        enum { AHEAD = 8 };
        uint64_t mask = (uint64_t)to.n_slots - 1;
        for (int64_t i = 0; i < g->n; i++) {
            if (i + AHEAD < g->n)
                __builtin_prefetch(&to.slots[row_hash(t, g->rows + (i + AHEAD) * t->width) & mask], 1);
            char *row = g->rows + i * t->width;
            slots_put(&to, row, row_hash(t, row));
        }
    }
    free_slots(t, &w->h);
    w->h = to;
    return ST_OK;
}

static Status add_page(AggTable *t, Worker *w, Err *e) {
    if (w->n_pages == w->cap_pages) {
        int64_t cap = MAX_OF(w->cap_pages * 2, 8);
        Page *p = mem_realloc(&w->acct, w->pages, w->cap_pages * (int64_t)sizeof *p, cap * (int64_t)sizeof *p, e);
        if (!p) return ST_ERROR;
        w->pages = p;
        w->cap_pages = cap;
    }
    int64_t bytes = MIN_OF(MAX_OF(w->page_bytes, (int64_t)PAGE_MIN), (int64_t)PAGE_MAX), room = mem_headroom(t->acct);
    if (room != INT64_MAX && bytes > room / 16) bytes = MAX_OF(room / 16, (int64_t)PAGE_MIN);
    int64_t cap = MAX_OF(bytes / t->width, 1);
    char *rows = mem_alloc(&w->acct, cap * t->width, e);
    if (!rows) return ST_ERROR;
    w->pages[w->n_pages++] = (Page){rows, 0, cap};
    w->page_bytes += cap * t->width;
    return ST_OK;
}

/* A new group's row, from the template, in the table. */
static char *new_group(AggTable *t, Worker *w, uint64_t hash, uint64_t head, Err *e) {
    if ((w->h.n + 1) * 4 > w->h.n_slots * 3 && grow_slots(t, w, e) != ST_OK) return NULL;
    Page *p = w->n_pages ? &w->pages[w->n_pages - 1] : NULL;
    if (!p || p->n == p->cap) {
        if (add_page(t, w, e) != ST_OK) return NULL;
        p = &w->pages[w->n_pages - 1];
    }
    char *row = p->rows + p->n * t->width;
    memcpy(row, t->template_row, (size_t)t->width);
    *header(row) = head;
    p->n++;
    w->h.n++;
    slots_put(&w->h, row, hash);
    return row;
}

static char *find_packed(AggTable *t, Worker *w, uint64_t key, uint64_t hash, Err *e) {
    uint64_t mask = (uint64_t)w->h.n_slots - 1, at = hash & mask, s;
    for (; (s = w->h.slots[at]) != 0; at = (at + 1) & mask)
        if (s >> ADDRESS_BITS == hash >> ADDRESS_BITS && header_of(slot_row(s)) == key) return slot_row(s);
    return new_group(t, w, hash, key, e);
}

static char *find_generic(AggTable *t, Worker *w, uint64_t hash, const Vec *keys, int64_t i, Err *e) {
    uint64_t mask = (uint64_t)w->h.n_slots - 1, at = hash & mask, s;
    for (; (s = w->h.slots[at]) != 0; at = (at + 1) & mask) {
        char *row = slot_row(s);
        if (s >> ADDRESS_BITS == hash >> ADDRESS_BITS && header_of(row) == hash && row_matches(t, row, keys, i))
            return row;
    }
    /* Strings first: a row in the table is complete. */
    char *bytes = NULL;
    int64_t need = 0;
    for (int32_t c = 0; c < t->n_keys; c++) {
        const Vec *v = &keys[c];
        int64_t j = v->is_const ? 0 : i;
        if (t->keys[c].phys == PH_STR && (!v->valid || v->valid[j])) need += ((const Str *)v->data)[j].len;
    }
    if (need && !(bytes = agg_heap_alloc(&w->heap, need, e))) return NULL;
    char *row = new_group(t, w, hash, hash, e);
    if (!row) return NULL;
    for (int32_t c = 0; c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        const Vec *v = &keys[c];
        int64_t j = v->is_const ? 0 : i;
        bool is = !v->valid || v->valid[j];
        if (k->valid >= 0) row[k->valid] = is;
        if (!is) continue;
        if (k->phys == PH_STR) {
            Str str = ((const Str *)v->data)[j];
            if (str.len) memcpy(bytes, str.ptr, str.len);
            str.ptr = str.len ? bytes : "";
            bytes += str.len;
            memcpy(row + k->off, &str, sizeof str);
        } else {
            size_t size = (size_t)phys_size((Phys)k->phys);
            memcpy(row + k->off, (const char *)v->data + (size_t)j * size, size);
        }
    }
    return row;
}

/* Rows of the m keys in w->key, into w->found. */
static Status lookup_packed(AggTable *t, Worker *w, int64_t m, const uint64_t *key, char **found, Err *e) {
    uint64_t *hash = w->hash, mask = (uint64_t)w->h.n_slots - 1;
    const uint64_t *slots = w->h.slots;
    bool far = w->h.n_slots > 16384 || w->h.n * t->width > 128 << 10;
    if (UNLIKELY(hash_constant)) memset(hash, 0, (size_t)m * 8);
    else if (far)
        for (int64_t i = 0; i < m; i++) {
            uint64_t h = hash_u64(key[i]);
            hash[i] = h;
            __builtin_prefetch(&slots[h & mask]);
        }
    else
        for (int64_t i = 0; i < m; i++) hash[i] = hash_u64(key[i]);
    if (far) {
        for (int64_t i = 0; i < m; i++) {
            uint64_t s = slots[hash[i] & mask];
            char *row = slot_row(s);
            found[i] = row;
            __builtin_prefetch(row, 1);
        }
    } else {
        for (int64_t i = 0; i < m; i++) found[i] = slot_row(slots[hash[i] & mask]);
    }
    for (int64_t i = 0; i < m; i++) {
        if (LIKELY(found[i] && header_of(found[i]) == key[i])) continue;
        if (!(found[i] = find_packed(t, w, key[i], hash[i], e))) return ST_ERROR;
    }
    return ST_OK;
}

static Status lookup_generic(AggTable *t, Worker *w, int64_t n, const Vec *keys, char **found, Err *e) {
    uint64_t *hash = w->hash, mask = (uint64_t)w->h.n_slots - 1;
    const uint64_t *slots = w->h.slots;
    if (w->h.n_slots > 4096)
        for (int64_t i = 0; i < n; i++) __builtin_prefetch(&slots[hash[i] & mask]);
    for (int64_t i = 0; i < n; i++) {
        uint64_t s = slots[hash[i] & mask];
        char *row = slot_row(s);
        found[i] = s >> ADDRESS_BITS == hash[i] >> ADDRESS_BITS ? row : NULL;
        __builtin_prefetch(row, 1);
    }
    memset(w->bad, 0, (size_t)n);
    for (int32_t c = 0; c < t->n_keys; c++) diff_column(&t->keys[c], &keys[c], n, found, w->bad);
    for (int64_t i = 0; i < n; i++) {
        if (LIKELY(found[i] && !w->bad[i])) continue;
        if (i && hash[i] == hash[i - 1] && row_matches(t, found[i - 1], keys, i)) found[i] = found[i - 1];
        else if (!(found[i] = find_generic(t, w, hash[i], keys, i, e))) return ST_ERROR;
    }
    return ST_OK;
}

/* Packed keys with runs looked up once: w->rows for all n. */
static Status find_rows_packed(AggTable *t, Worker *w, int64_t n, Err *e) {
    const uint64_t *key = w->key;
    int64_t changes = 1, probe = MIN_OF(n, 128);
    for (int64_t i = 1; i < probe; i++) changes += key[i] != key[i - 1];
    if (changes * 4 > probe * 3) return lookup_packed(t, w, n, key, w->rows, e);
    uint64_t *first = (uint64_t *)(void *)w->found; /* keys of runs; the rows found replace them, i <= m */
    int32_t *run = w->run;
    int64_t m = 0;
    uint64_t last = ~key[0];
    for (int64_t i = 0; i < n; i++) {
        uint64_t k = key[i];
        first[m] = k;
        m += k != last;
        last = k;
        run[i] = (int32_t)(m - 1);
        first[m - 1] = k;
    }
    memcpy(w->key, first, (size_t)m * 8);
    TRY(lookup_packed(t, w, m, w->key, w->found, e));
    for (int64_t i = 0; i < n; i++) w->rows[i] = w->found[run[i]];
    return ST_OK;
}

/* ---- adding ------------------------------------------------------------------------------------------ */

static Status spill_worker(AggTable *t, Worker *w, Err *e);

/* Constant inputs written out, so that updates have one form of them. */
static Status flatten(AggTable *t, Worker *w, int64_t n, const Vec *inputs, const Vec **out, Err *e) {
    *out = inputs;
    bool any = false;
    for (int32_t i = 0; i < t->n_cols; i++) any |= inputs[i].is_const && inputs[i].data;
    if (!any) return ST_OK;
    memcpy(w->in, inputs, sizeof *inputs * (size_t)t->n_cols);
    for (int32_t i = 0; i < t->n_cols; i++) {
        Vec *v = &w->in[i];
        if (!v->is_const || !v->data) continue;
        if (!w->flat[i] && !(w->flat[i] = mem_alloc(&w->acct, w->cap * 17, e))) return ST_ERROR;
        int64_t size = phys_size((Phys)v->phys);
        char *d = w->flat[i];
        for (int64_t k = 0; k < n; k++) memcpy(d + k * size, v->data, (size_t)size);
        v->data = d;
        if (v->valid) {
            memset(d + w->cap * 16, v->valid[0], (size_t)n);
            v->valid = (uint8_t *)d + w->cap * 16;
        }
        v->is_const = false;
    }
    *out = w->in;
    return ST_OK;
}

static Status update_all(AggTable *t, Worker *w, int64_t n, const Vec *in, const Vec *in2, Err *e) {
    for (int32_t c = 0; c < t->n_cols; c++)
        TRY(t->cols[c].update(&t->cols[c], &w->heap, n, w->rows, &in[c], in2 ? &in2[c] : NULL, e));
    return ST_OK;
}

static Status add_single(AggTable *t, Worker *w, int64_t n, const Vec *in, const Vec *in2, Err *e) {
    char *row = w->direct;
    *header(row) = 1;
    bool filled = false;
    for (int32_t c = 0; c < t->n_cols; c++) {
        AggCol *col = &t->cols[c];
        if (col->reduce) {
            TRY(col->reduce(col, n, row, &in[c], e));
            continue;
        }
        if (!filled)
            for (int64_t i = 0; i < n; i++) w->rows[i] = row;
        filled = true;
        TRY(col->update(col, &w->heap, n, w->rows, &in[c], in2 ? &in2[c] : NULL, e));
    }
    return ST_OK;
}

static void direct_rows(AggTable *t, Worker *w, int64_t n) {
    char *base = w->direct;
    int64_t width = t->width;
    if (direct_slots(t) * width > 1 << 20)
        for (int64_t i = 0; i < n; i++) __builtin_prefetch(base + (int64_t)w->key[i] * width, 1);
    for (int64_t i = 0; i < n; i++) {
        char *row = base + (int64_t)w->key[i] * width;
        *header(row) = w->key[i] << 1 | 1;
        w->rows[i] = row;
    }
}

static Status add_direct(AggTable *t, Worker *w, int64_t n, const Vec *keys, const Vec *in, const Vec *in2, Err *e) {
    TRY(pack_keys(t, w, n, keys, e));
    int64_t slots = direct_slots(t), width = t->width;
    if (slots > FEW_SLOTS || n < slots * 4) {
        direct_rows(t, w, n);
        return update_all(t, w, n, in, in2, e);
    }
    int64_t count[FEW_SLOTS];
    agg_few_count(n, w->key, NULL, slots, count);
    for (int64_t g = 0; g < slots; g++)
        if (count[g]) *header(w->direct + g * width) = (uint64_t)g << 1 | 1;
    bool filled = false;
    for (int32_t c = 0; c < t->n_cols; c++) {
        AggCol *col = &t->cols[c];
        if (col->few != FEW_NONE) {
            TRY(agg_few_update(col, n, w->key, slots, &in[c], count, w->direct, width, e));
            continue;
        }
        if (!filled) direct_rows(t, w, n);
        filled = true;
        TRY(col->update(col, &w->heap, n, w->rows, &in[c], in2 ? &in2[c] : NULL, e));
    }
    return ST_OK;
}

static int64_t str_bytes(const Vec *v, int64_t n) {
    int64_t total = 0;
    const Str *s = v->data;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = v->is_const ? 0 : i;
        if (!v->valid || v->valid[j]) total += s[j].len + 16;
    }
    return total;
}

/* Bytes that adding n rows may take at worst. */
static int64_t growth(AggTable *t, Worker *w, int64_t n, const Vec *keys, const Vec *in, const Vec *in2) {
    int64_t need = n * t->width + PAGE_MIN;
    int64_t slots = w->h.n_slots;
    while ((w->h.n + n) * 4 > slots * 3) slots = next_slots(slots);
    if (slots != w->h.n_slots) need += slots * 8;
    if (!t->has_bytes) return need;
    for (int32_t c = 0; c < t->n_keys; c++)
        if (t->form == FORM_GENERIC && t->keys[c].phys == PH_STR) need += str_bytes(&keys[c], n);
    for (int32_t c = 0; c < t->n_cols; c++) {
        if (!agg_cell_has_bytes(&t->cols[c])) continue;
        need += 2 * str_bytes(&in[c], n);
        if (t->cols[c].op == AO_STRING_AGG && in2 && in2[c].data) need += 2 * str_bytes(&in2[c], n);
    }
    return need;
}

static Vec vec_from(const Vec *v, int64_t first) {
    Vec p = *v;
    if (v->is_const || !v->data) return p;
    p.data = (char *)v->data + first * phys_size((Phys)v->phys);
    if (v->valid) p.valid = v->valid + first;
    return p;
}

/* Before n rows come: groups go to disk when there is no room for them, but not so few that blocks on disk would be
 * tiny. A worker that holds little goes beyond the limit instead: others, of this table and of others, may have taken
 * all there is, and it cannot make them give it back. */
static Status make_room(AggTable *t, Worker *w, int64_t n, const Vec *keys, const Vec *in, const Vec *in2, Err *e) {
    int64_t room = mem_headroom(t->acct);
    if (LIKELY(room == INT64_MAX) || !t->vfs) return ST_OK;
    int64_t held = w->page_bytes + w->heap.total + w->h.n_slots * 8;
    if (held >= WORKING_MIN && w->h.n > 0) {
        int64_t need = growth(t, w, n, keys, in, in2);
        if (room - t->reserve < need || held + need > t->share) {
            TRY(spill_worker(t, w, e));
            held = 0;
        }
    }
    atomic_store_explicit(&w->acct.reserve, held < WORKING_MIN ? WORKING_RESERVE : 0, memory_order_relaxed);
    return ST_OK;
}

static Status add_hash(AggTable *t, Worker *w, int64_t n, const Vec *keys, const Vec *in, const Vec *in2, Err *e) {
    TRY(make_room(t, w, n, keys, in, in2, e));
    bool emptied = false;
    Err quiet;
    for (;;) {
        err_clear(&quiet);
        Status s;
        if (t->form == FORM_PACKED) {
            s = pack_keys(t, w, n, keys, e);
            if (s != ST_OK) return s;
            s = find_rows_packed(t, w, n, &quiet);
        } else {
            TRY(hash_keys(t, w, n, keys, e));
            s = lookup_generic(t, w, n, keys, w->rows, &quiet);
        }
        if (s == ST_OK) return update_all(t, w, n, in, in2, e);
        if (!t->vfs ||
            (strcmp(quiet.sqlstate, ERR_LIMIT_EXCEEDED) != 0 && strcmp(quiet.sqlstate, ERR_OUT_OF_MEMORY) != 0))
            break;
        /* No memory: groups go to disk (new ones are neutral so far), and the vector is tried again, then in halves. */
        if (w->h.n > 0 && !emptied) {
            emptied = true;
            TRY(spill_worker(t, w, e));
            continue;
        }
        if (w->h.n > 0) TRY(spill_worker(t, w, e));
        if (n == 1) break;
        int64_t half = n / 2, total = t->n_keys + 2 * (int64_t)t->n_cols;
        Vec *v = mem_alloc(&w->acct, MAX_OF(total, 1) * (int64_t)sizeof *v, e);
        if (!v) return ST_ERROR;
        s = ST_OK;
        for (int k = 0; k < 2 && s == ST_OK; k++) {
            int64_t first = k ? half : 0;
            Vec *vi = v + t->n_keys, *v2 = vi + t->n_cols;
            for (int32_t c = 0; c < t->n_keys; c++) v[c] = vec_from(&keys[c], first);
            for (int32_t c = 0; c < t->n_cols; c++) vi[c] = vec_from(&in[c], first);
            for (int32_t c = 0; in2 && c < t->n_cols; c++) v2[c] = vec_from(&in2[c], first);
            s = add_hash(t, w, k ? n - half : half, v, vi, in2 ? v2 : NULL, e);
        }
        mem_free(t->acct, v, MAX_OF(total, 1) * (int64_t)sizeof *v);
        return s;
    }
    err_copy(e, &quiet);
    return ST_ERROR;
}

Status agg_add(AggTable *t, int worker, int64_t n, const Vec *keys, const Vec *inputs, const Vec *inputs2, Err *e) {
    if (n <= 0) return ST_OK;
    Worker *w = &t->w[worker];
    if (UNLIKELY(!w->ready || n > w->cap)) TRY(make_ready(t, w, n, e));
    const Vec *in;
    TRY(flatten(t, w, n, inputs, &in, e));
    for (int32_t c = 0; c < t->n_cols; c++)
        if (UNLIKELY(t->cols[c].op > AO_COUNT && in[c].phys != t->cols[c].in))
            return err_internal(e, "aggregate input %d arrives as %s", c, phys_name((Phys)in[c].phys));
    w->rows_in += n;
    if (t->form == FORM_SINGLE) return add_single(t, w, n, in, inputs2, e);
    if (t->form == FORM_DIRECT) return add_direct(t, w, n, keys, in, inputs2, e);
    return add_hash(t, w, n, keys, in, inputs2, e);
}

Status agg_add_fresh(AggTable *t, int64_t n, const Vec *keys, const char **fresh, int64_t *n_fresh, Err *e) {
    Worker *w = &t->w[0];
    *n_fresh = 0;
    if (t->form == FORM_SINGLE) { /* no keys: all rows are the same */
        if (n > 0 && w->rows_in == 0) fresh[(*n_fresh)++] = "";
        w->rows_in += n;
        return ST_OK;
    }
    dbg_assert(t->form > FORM_DIRECT && !t->vfs && t->n_cols == 0);
    int64_t page = MAX_OF(w->n_pages - 1, 0), row = w->n_pages ? w->pages[page].n : 0;
    TRY(agg_add(t, 0, n, keys, NULL, NULL, e));
    for (; page < w->n_pages; page++, row = 0)
        for (const Page *p = &w->pages[page]; row < p->n; row++) fresh[(*n_fresh)++] = p->rows + row * t->width;
    return ST_OK;
}

/* ---- merging rows into a table ------------------------------------------------------------------------- */

enum { MERGE_BATCH = 512 };
typedef struct Merger {
    AggTable *t;
    AggHeap *heap;
    Slots h;
    const char **out; /* distinct rows */
    int64_t n;
    char *dst[MERGE_BATCH];
    const char *src[MERGE_BATCH];
    int64_t pairs;
} Merger;

static Status merge_flush(Merger *m, Err *e) {
    for (int32_t c = 0; c < m->t->n_cols && m->pairs; c++)
        TRY(m->t->cols[c].merge(&m->t->cols[c], m->heap, m->pairs, m->dst, m->src, e));
    m->pairs = 0;
    return ST_OK;
}
/* Rows that are new are adopted as they are. The table has room. */
static Status merge_rows(Merger *m, int64_t n, char *const *rows, Err *e) {
    AggTable *t = m->t;
    uint64_t mask = (uint64_t)m->h.n_slots - 1;
    enum { AHEAD = 8 };
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n) __builtin_prefetch(rows[i + AHEAD]);
        uint64_t hash = row_hash(t, rows[i]), at = hash & mask, s;
        char *hit = NULL;
        for (; (s = m->h.slots[at]) != 0; at = (at + 1) & mask)
            if (s >> ADDRESS_BITS == hash >> ADDRESS_BITS && rows_match(t, slot_row(s), rows[i])) {
                hit = slot_row(s);
                break;
            }
        if (!hit) {
            m->h.slots[at] = slot_of(rows[i], hash);
            m->out[m->n++] = rows[i];
            continue;
        }
        m->dst[m->pairs] = hit;
        m->src[m->pairs] = rows[i];
        if (++m->pairs == MERGE_BATCH) TRY(merge_flush(m, e));
    }
    return ST_OK;
}

/* ---- finishing ------------------------------------------------------------------------------------------- */

typedef struct FinishJob {
    AggTable *t;
    _Atomic int64_t next;
    _Atomic bool failed;
    Mutex lock;
    Err *err;
    int32_t dest;
    /* hash */
    int partition_bits;
    int64_t **start; /* per worker: first list entry of each partition, n + 1 */
    char ***list;    /* per worker: rows by partition */
} FinishJob;

static void job_fail(FinishJob *j, const Err *e) {
    mutex_lock(&j->lock);
    if (!atomic_exchange(&j->failed, true)) err_copy(j->err, e);
    mutex_unlock(&j->lock);
}
/* Whether a worker is to end: another one failed, or the query is stopped. */
static bool job_over(FinishJob *j) {
    Err e;
    if (atomic_load(&j->failed)) return true;
    if (LIKELY(!query_stopped(j->t->stop))) return false;
    err_clear(&e);
    (void)query_stop_error(j->t->stop, &e);
    job_fail(j, &e);
    return true;
}
static void run_job(FinishJob *j, PoolFn fn) {
    atomic_store(&j->next, 0);
    if (j->t->pool && j->t->threads > 1) pool_run(j->t->pool, j->t->threads, fn, j);
    else fn(j, 0);
}

enum { DIRECT_CHUNK = 4096 };
static void merge_direct(void *ctx, int worker) {
    FinishJob *j = ctx;
    AggTable *t = j->t;
    Err e;
    err_clear(&e);
    int64_t slots = direct_slots(t), width = t->width;
    char *dst[MERGE_BATCH];
    const char *src[MERGE_BATCH];
    for (;;) {
        int64_t first = atomic_fetch_add(&j->next, DIRECT_CHUNK), end = MIN_OF(first + DIRECT_CHUNK, slots);
        if (first >= slots || job_over(j)) return;
        for (int k = 0; k < t->workers; k++) {
            Worker *w = &t->w[k];
            if (k == j->dest || !w->direct) continue;
            int64_t n = 0;
            for (int64_t g = first; g < end; g++) {
                char *s = w->direct + g * width;
                if (header_of(s)) {
                    dst[n] = t->w[j->dest].direct + g * width;
                    *header(dst[n]) = header_of(s);
                    src[n++] = s;
                }
                if (n == MERGE_BATCH || (g + 1 == end && n)) {
                    for (int32_t c = 0; c < t->n_cols; c++)
                        if (t->cols[c].merge(&t->cols[c], &t->merge_heaps[worker], n, dst, src, &e) != ST_OK) {
                            job_fail(j, &e);
                            return;
                        }
                    n = 0;
                }
            }
        }
    }
}

static int partition_number(uint64_t hash, int bits) { return (int)(hash >> 32 & ((UINT64_C(1) << bits) - 1)); }

/* Rows of each worker, by partition. */
static void split_workers(void *ctx, int unused) {
    (void)unused;
    FinishJob *j = ctx;
    AggTable *t = j->t;
    Err e;
    err_clear(&e);
    int64_t partitions = INT64_C(1) << j->partition_bits;
    for (;;) {
        int64_t k = atomic_fetch_add(&j->next, 1);
        if (k >= t->workers || job_over(j)) return;
        Worker *w = &t->w[k];
        if (!w->h.n) continue;
        int64_t *start = mem_calloc(t->acct, (partitions + 1) * 8, &e);
        char **list = start ? mem_alloc(t->acct, w->h.n * 8, &e) : NULL;
        j->start[k] = start;
        j->list[k] = list;
        if (!list) {
            job_fail(j, &e);
            return;
        }
        for (int64_t p = 0; p < w->n_pages; p++) {
            if (job_over(j)) return;
            for (int64_t i = 0; i < w->pages[p].n; i++)
                start[partition_number(row_hash(t, w->pages[p].rows + i * t->width), j->partition_bits)]++;
        }
        int64_t at = 0;
        for (int64_t p = 0; p <= partitions; p++) {
            int64_t n = start[p];
            start[p] = at;
            at += n;
        }
        for (int64_t p = 0; p < w->n_pages; p++) {
            if (job_over(j)) return;
            for (int64_t i = 0; i < w->pages[p].n; i++) {
                char *row = w->pages[p].rows + i * t->width;
                list[start[partition_number(row_hash(t, row), j->partition_bits)]++] = row;
            }
        }
        memmove(start + 1, start, (size_t)partitions * 8); /* ends became starts of the next */
        start[0] = 0;
    }
}

static void merge_partitions(void *ctx, int worker) {
    FinishJob *j = ctx;
    AggTable *t = j->t;
    Err e;
    err_clear(&e);
    int64_t partitions = INT64_C(1) << j->partition_bits, slots_cap = 0;
    Merger m = {.t = t, .heap = &t->merge_heaps[worker]};
    bool ok = true;
    while (ok) {
        int64_t p = atomic_fetch_add(&j->next, 1);
        if (p >= partitions || job_over(j)) break;
        int64_t total = 0;
        for (int k = 0; k < t->workers; k++)
            if (j->list[k]) total += j->start[k][p + 1] - j->start[k][p];
        if (!total) continue;
        int64_t slots = MIN_SLOTS;
        while (slots < total * 2) slots *= 2;
        Partition *partition = &t->partitions[p];
        if (slots > slots_cap) {
            mem_free(t->acct, m.h.slots, slots_cap * 8);
            slots_cap = 0;
            m.h.slots = mem_alloc(t->acct, slots * 8, &e);
            if (m.h.slots) slots_cap = slots;
        }
        partition->rows = m.h.slots ? mem_alloc(t->acct, total * 8, &e) : NULL;
        if (!partition->rows) {
            job_fail(j, &e);
            break;
        }
        partition->cap = total;
        m.h.n_slots = slots;
        memset(m.h.slots, 0, (size_t)slots * 8);
        m.out = partition->rows;
        m.n = 0;
        for (int k = 0; k < t->workers && ok; k++)
            if (j->list[k])
                ok = merge_rows(&m, j->start[k][p + 1] - j->start[k][p], j->list[k] + j->start[k][p], &e) == ST_OK;
        ok = ok && merge_flush(&m, &e) == ST_OK;
        partition->n = m.n;
        if (!ok) job_fail(j, &e);
    }
    mem_free(t->acct, m.h.slots, slots_cap * 8);
}

static Status make_partitions(AggTable *t, int64_t n, Err *e) {
    t->partitions = mem_calloc(t->acct, n * (int64_t)sizeof *t->partitions, e);
    if (!t->partitions) return ST_ERROR;
    t->n_partitions = (int32_t)n;
    t->n_partitions_cap = n;
    return ST_OK;
}

/* In-memory merge of several workers' hash tables. */
static Status finish_hash(AggTable *t, int64_t total, Err *e) {
    int bits = 4;
    while (bits < 12 && total >> bits > MORSEL_GROUPS) bits++;
    int64_t partitions = INT64_C(1) << bits;
    TRY(make_partitions(t, partitions, e));
    FinishJob j = {.t = t, .err = e, .partition_bits = bits};
    if (!mutex_init(&j.lock, RANK_AGG_JOB)) return err_oom(e);
    Status s = ST_ERROR;
    int64_t ptrs = t->workers * 8;
    j.start = mem_calloc(t->acct, ptrs, e);
    j.list = j.start ? mem_calloc(t->acct, ptrs, e) : NULL;
    if (!j.list) goto done;
    run_job(&j, split_workers);
    if (atomic_load(&j.failed)) goto done;
    run_job(&j, merge_partitions);
    if (atomic_load(&j.failed)) goto done;
    s = ST_OK;
    for (int32_t p = 0; p < t->n_partitions; p++) t->groups += t->partitions[p].n;
    t->n_morsels = t->n_partitions;
done:
    for (int k = 0; k < t->workers; k++) {
        if (j.start) mem_free(t->acct, j.start[k], j.start[k] ? (partitions + 1) * 8 : 0);
        if (j.list) mem_free(t->acct, j.list[k], j.list[k] ? t->w[k].h.n * 8 : 0);
    }
    mem_free(t->acct, j.start, j.start ? ptrs : 0);
    mem_free(t->acct, j.list, j.list ? ptrs : 0);
    mutex_destroy(&j.lock);
    return s;
}

static Status finish_direct(AggTable *t, Err *e) {
    int active = 0;
    t->dest = -1;
    for (int k = 0; k < t->workers; k++)
        if (t->w[k].direct) {
            active++;
            if (t->dest < 0) t->dest = k;
        }
    if (t->dest < 0) { /* no input */
        t->dest = 0;
        if (t->form == FORM_SINGLE && t->spec.one_group) TRY(make_direct(t, &t->w[0], e));
    }
    if (active > 1) {
        FinishJob j = {.t = t, .err = e, .dest = t->dest};
        if (!mutex_init(&j.lock, RANK_AGG_JOB)) return err_oom(e);
        run_job(&j, merge_direct);
        mutex_destroy(&j.lock);
        if (atomic_load(&j.failed)) return ST_ERROR;
    }
    Worker *w = &t->w[t->dest];
    if (!w->direct) return ST_OK;
    int64_t slots = direct_slots(t);
    if (t->form == FORM_SINGLE && t->spec.one_group) *header(w->direct) = 1;
    for (int64_t g = 0; g < slots; g++) t->groups += header_of(w->direct + g * t->width) != 0;
    t->n_morsels = (slots + MORSEL_GROUPS - 1) / MORSEL_GROUPS;
    for (int k = 0; k < t->workers; k++)
        if (k != t->dest) {
            mem_free(t->acct, t->w[k].direct, t->w[k].direct ? slots * t->width : 0);
            t->w[k].direct = NULL;
        }
    return ST_OK;
}

/* What reading a partition takes at most, when no two rows of it are of one group: record, row, pointer, slots. */
static int64_t loaded_bytes(const AggTable *t, int partition) {
    int64_t bytes = t->spill_rows[partition] * (t->width + 8 + 24);
    for (const Extent *x = t->spill[partition]; x; x = x->next) bytes += x->bytes;
    return bytes;
}

static Status finish_spilled(AggTable *t, Err *e) {
    for (int k = 0; k < t->workers; k++)
        if (t->w[k].h.n) TRY(spill_worker(t, &t->w[k], e));
    for (int k = 0; k < t->workers; k++) {
        free_slots(t, &t->w[k].h);
        t->w[k].ready = false;
    }
    t->groups = 0;
    for (int p = 0; p < SPILL_PARTITIONS; p++) t->groups += t->spill_rows[p];
    /* What others need while partitions are read is left to them: three quarters. */
    int64_t room = mem_headroom(t->acct),
            per = room == INT64_MAX ? room : MAX_OF(room / 4 / t->workers, (int64_t)WORKING_MIN), largest = 0;
    for (int p = 0; p < SPILL_PARTITIONS; p++) largest = MAX_OF(largest, loaded_bytes(t, p));
    for (t->sub_bits = 0; t->sub_bits < SUB_BITS_MAX && largest >> t->sub_bits > per;) t->sub_bits++;
    t->n_morsels = (int64_t)SPILL_PARTITIONS << t->sub_bits;
    return ST_OK;
}

Status agg_finish(AggTable *t, Err *e) {
    if (t->finished) return ST_OK;
    t->finished = true;
    for (int k = 0; k < t->workers; k++) free_scratch(t, &t->w[k]);
    if (t->form <= FORM_DIRECT) return finish_direct(t, e);
    t->dest = -1;
    if (t->spilled) return finish_spilled(t, e);
    int active = 0;
    int64_t total = 0;
    for (int k = 0; k < t->workers; k++)
        if (t->w[k].h.n) {
            active++;
            t->dest = k;
            total += t->w[k].h.n;
        }
    if (active == 0) {
        t->dest = 0;
        return ST_OK;
    }
    if (active == 1) {
        Worker *w = &t->w[t->dest];
        free_slots(t, &w->h);
        t->groups = total;
        t->n_morsels = w->n_pages;
        return ST_OK;
    }
    t->dest = -1;
    /* Lists and tables of the merge: about 8 + 16 bytes per row at worst in flight. */
    int64_t room = mem_headroom(t->acct);
    if (t->vfs && room != INT64_MAX && room < total * 24 + (1 << 16)) return finish_spilled(t, e);
    return finish_hash(t, total, e);
}

int64_t agg_groups(const AggTable *t) { return t->groups; }
int64_t agg_n_morsels(const AggTable *t) { return t->n_morsels; }

char *agg_text(const AggTable *t, Arena *a) {
    static const char *const names[] = {"single group", "direct", "hash, packed keys", "hash"};
    int64_t rows = 0;
    for (int k = 0; k < t->workers; k++) rows += t->w[k].rows_in;
    if (t->spilled)
        return arena_printf(a, "%s, %lld rows, spilled %lld KiB in %d partitions", names[t->form], (long long)rows,
                            (long long)(t->file_end >> 10), SPILL_PARTITIONS << t->sub_bits);
    if (t->form == FORM_DIRECT)
        return arena_printf(a, "direct (%lld slots), %lld groups from %lld rows", (long long)direct_slots(t),
                            (long long)t->groups, (long long)rows);
    return arena_printf(a, "%s, %lld group%s from %lld rows", names[t->form], (long long)t->groups,
                        t->groups == 1 ? "" : "s", (long long)rows);
}

/* ---- spilling -------------------------------------------------------------------------------------------- */

/* On disk: row, then for every string in it (keys, then aggregates) its bytes. */

static int64_t row_bytes(const AggTable *t, char *row) {
    int64_t n = t->width;
    if (!t->has_bytes) return n;
    for (int32_t c = 0; t->form == FORM_GENERIC && c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        if (k->phys == PH_STR && (k->valid < 0 || row[k->valid])) n += ((Str *)(void *)(row + k->off))->len;
    }
    for (int32_t c = 0; c < t->n_cols; c++) {
        int64_t len;
        if (!agg_cell_has_bytes(&t->cols[c]) || row[t->cols[c].seen] != 1) continue;
        agg_cell_bytes_of(&t->cols[c], row, &len);
        n += len;
    }
    return n;
}
static char *write_row(const AggTable *t, char *row, char *p) {
    memcpy(p, row, (size_t)t->width);
    p += t->width;
    if (!t->has_bytes) return p;
    for (int32_t c = 0; t->form == FORM_GENERIC && c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        if (k->phys != PH_STR || (k->valid >= 0 && !row[k->valid])) continue;
        const Str *s = (const Str *)(const void *)(row + k->off);
        if (s->len) memcpy(p, s->ptr, s->len);
        p += s->len;
    }
    for (int32_t c = 0; c < t->n_cols; c++) {
        int64_t len;
        if (!agg_cell_has_bytes(&t->cols[c]) || row[t->cols[c].seen] != 1) continue;
        char **b = agg_cell_bytes_of(&t->cols[c], row, &len);
        if (len) memcpy(p, *b, (size_t)len);
        p += len;
    }
    return p;
}
/* The row at p (read back, 8-byte aligned copy made by the caller in `row`), its bytes stay where they are. */
static char *read_row(const AggTable *t, char *row, char *p) {
    memcpy(row, p, (size_t)t->width);
    p += t->width;
    if (!t->has_bytes) return p;
    for (int32_t c = 0; t->form == FORM_GENERIC && c < t->n_keys; c++) {
        const KeyCol *k = &t->keys[c];
        if (k->phys != PH_STR || (k->valid >= 0 && !row[k->valid])) continue;
        Str *s = (Str *)(void *)(row + k->off);
        s->ptr = p;
        p += s->len;
    }
    for (int32_t c = 0; c < t->n_cols; c++) {
        int64_t len;
        if (!agg_cell_has_bytes(&t->cols[c]) || row[t->cols[c].seen] != 1) continue;
        char **b = agg_cell_bytes_of(&t->cols[c], row, &len);
        *b = p;
        p += len;
    }
    return p;
}

static Status write_block(AggTable *t, MemAccount *acct, int partition, const char *buf, int64_t bytes, int64_t rows,
                          Err *e) {
    Extent *x = mem_alloc(acct, (int64_t)sizeof *x, e);
    if (!x) return ST_ERROR;
    mutex_lock(&t->lock);
    Status s = t->file ? ST_OK : vfs_open_temp(t->vfs, t->temp_dir, &t->file, e);
    if (s == ST_OK) {
        *x = (Extent){t->spill[partition], t->file_end, bytes, rows};
        t->spill[partition] = x;
        t->spill_rows[partition] += rows;
        t->file_end += bytes;
    }
    mutex_unlock(&t->lock);
    if (s != ST_OK) {
        mem_free(acct, x, (int64_t)sizeof *x);
        return s;
    }
    return t->vfs->write_at(t->file, buf, bytes, x->offset, e);
}

/* Writes all groups of a worker, partition by partition: the row pages are gone through once per partition, which costs
 * less than memory would that is not there. */
static Status spill_worker(AggTable *t, Worker *w, Err *e) {
    if (!t->vfs) return err_internal(e, "no files to spill to");
    atomic_store(&t->spilled, true);
    atomic_store_explicit(&w->acct.reserve, WORKING_RESERVE,
                          memory_order_relaxed); /* it gives back more than it takes */
    free_slots(t, &w->h);
    int64_t cap = SPILL_BLOCK;
    char *buf = mem_alloc(&w->acct, cap, e);
    if (!buf) return ST_ERROR;
    Status s = ST_OK;
    for (int p = 0; p < SPILL_PARTITIONS && s == ST_OK; p++) {
        int64_t used = 0, rows = 0;
        for (int64_t g = 0; g < w->n_pages && s == ST_OK; g++) {
            s = query_stop_check(t->stop, e);
            for (int64_t i = 0; i < w->pages[g].n && s == ST_OK; i++) {
                char *row = w->pages[g].rows + i * t->width;
                if (partition_number(row_hash(t, row), 6) != p) continue;
                int64_t need = row_bytes(t, row);
                if (used + need > cap) {
                    if (used) s = write_block(t, &w->acct, p, buf, used, rows, e);
                    used = rows = 0;
                    if (s == ST_OK && need > cap) {
                        mem_free(&w->acct, buf, cap);
                        cap = need;
                        if (!(buf = mem_alloc(&w->acct, cap, e))) {
                            s = ST_ERROR;
                            cap = 0;
                        }
                    }
                    if (s != ST_OK) break;
                }
                write_row(t, row, buf + used);
                used += need;
                rows++;
            }
        }
        if (s == ST_OK && used) s = write_block(t, &w->acct, p, buf, used, rows, e);
    }
    mem_free(&w->acct, buf, cap);
    free_pages(t, w);
    agg_heap_free(&w->heap);
    w->h.n = 0;
    if (s == ST_OK && !t->finished) s = make_slots(&w->acct, &w->h, MIN_SLOTS, e);
    return s;
}

typedef struct Loaded { /* a spilled partition, or some of it, in memory */
    MemAccount acct;    /* with a reserve: there is no other way than to have it in memory, and it is small */
    AggHeap heap;
    char *blocks; /* read blocks, chained */
    Slots h;
    const char **rows;
    int64_t n, cap;
} Loaded;
typedef struct Block {
    struct Block *next;
    int64_t bytes; /* with this header */
    char data[];
} Block;

static void free_loaded(AggTable *t, Loaded *l) {
    for (Block *b = (Block *)(void *)l->blocks; b;) {
        Block *next = b->next;
        mem_free(&l->acct, b, b->bytes);
        b = next;
    }
    agg_heap_free(&l->heap);
    free_slots(t, &l->h);
    mem_free(&l->acct, l->rows, l->cap * 8);
    mem_free(t->acct, l, (int64_t)sizeof *l);
}

static Status grow_loaded(AggTable *t, Loaded *l, int64_t more, Err *e) {
    if (l->n + more > l->cap) {
        int64_t cap = MAX_OF(l->cap * 2, l->n + more);
        const char **r = mem_realloc(&l->acct, l->rows, l->cap * 8, cap * 8, e);
        if (!r) return ST_ERROR;
        l->rows = r;
        l->cap = cap;
    }
    int64_t slots = MAX_OF(l->h.n_slots, (int64_t)MIN_SLOTS);
    while ((l->n + more) * 4 > slots * 3) slots *= 2;
    if (slots == l->h.n_slots) return ST_OK;
    Slots to = {0};
    TRY(make_slots(&l->acct, &to, slots, e));
    for (int64_t i = 0; i < l->n; i++) slots_put(&to, (char *)(uintptr_t)l->rows[i], row_hash(t, l->rows[i]));
    free_slots(t, &l->h);
    l->h = to;
    return ST_OK;
}

/* Reads an extent; of its records those of this turn stay, moved to the front. */
static Block *read_block(AggTable *t, Loaded *l, const Extent *x, int turn, int64_t *n_rows, Err *e) {
    int64_t head = (int64_t)sizeof(Block), got = 0, rows = 0, bytes = 0;
    char *raw = mem_alloc(&l->acct, x->bytes, e), *row = mem_alloc(&l->acct, t->width, e);
    Block *b = NULL;
    if (!raw || !row || t->vfs->read_at(t->file, raw, x->bytes, x->offset, &got, e) != ST_OK) goto done;
    if (got != x->bytes) {
        err_set(e, ERR_IO, "temporary file is shorter than expected");
        goto done;
    }
    char *p = raw;
    for (int64_t i = 0; i < x->rows; i++) {
        char *next = read_row(t, row, p);
        if (partition_number(row_hash(t, row), 6 + t->sub_bits) >> 6 == turn) {
            memmove(raw + bytes, p, (size_t)(next - p));
            bytes += next - p;
            rows++;
        }
        p = next;
    }
    /* Rows are copied out to stand aligned; their bytes stay behind them. */
    b = mem_alloc(&l->acct, head + rows * t->width + bytes, e);
    if (!b) goto done;
    *b = (Block){NULL, head + rows * t->width + bytes};
    memcpy(b->data + rows * t->width, raw, (size_t)bytes);
    *n_rows = rows;
done:
    mem_free(&l->acct, raw, x->bytes);
    mem_free(&l->acct, row, t->width);
    return b;
}

/* The groups of a block join those there are. */
static Status merge_block(AggTable *t, Loaded *l, Merger *m, Block *b, int64_t rows, Err *e) {
    int64_t before = l->n;
    if (grow_loaded(t, l, rows, e) != ST_OK) {
        mem_free(&l->acct, b, b->bytes);
        return ST_ERROR;
    }
    b->next = (Block *)(void *)l->blocks;
    l->blocks = (char *)b;
    *m = (Merger){.t = t, .heap = &l->heap, .h = l->h, .out = l->rows, .n = l->n};
    char *p = b->data + rows * t->width;
    for (int64_t i = 0; i < rows; i++) {
        char *row = b->data + i * t->width;
        p = read_row(t, row, p);
        TRY(merge_rows(m, 1, &row, e));
    }
    TRY(merge_flush(m, e));
    l->n = m->n;
    if (l->n == before) { /* nothing of it is kept */
        l->blocks = (char *)b->next;
        mem_free(&l->acct, b, b->bytes);
    }
    return ST_OK;
}

static Status load_partition(AggTable *t, int64_t morsel, AggMorsel *out, Err *e) {
    int partition = (int)(morsel >> t->sub_bits), turn = (int)(morsel & ((INT64_C(1) << t->sub_bits) - 1));
    Loaded *l = mem_calloc(t->acct, (int64_t)sizeof *l, e);
    if (!l) return ST_ERROR;
    mem_account_init(&l->acct, t->acct, "aggregation", 0, NULL);
    atomic_store(&l->acct.reserve, WORKING_RESERVE);
    l->heap.acct = &l->acct;
    Status s = ST_ERROR;
    int64_t n_ext = 0;
    for (const Extent *x = t->spill[partition]; x; x = x->next) n_ext++;
    Merger *m = mem_calloc(&l->acct, (int64_t)sizeof *m, e);
    const Extent **extents = mem_alloc(&l->acct, n_ext * (int64_t)sizeof *extents, e);
    if (!m || !extents) goto done;
    /* Blocks were chained newest first: the order of arrival matters to string_agg and ANY. */
    int64_t k = n_ext;
    for (const Extent *x = t->spill[partition]; x; x = x->next) extents[--k] = x;
    for (; k < n_ext; k++) {
        int64_t rows;
        if (query_stop_check(t->stop, e) != ST_OK) goto done;
        Block *b = read_block(t, l, extents[k], turn, &rows, e);
        if (!b || merge_block(t, l, m, b, rows, e) != ST_OK) goto done;
    }
    free_slots(t, &l->h);
    *out = (AggMorsel){l->rows, l->n, l};
    s = ST_OK;
done:
    mem_free(&l->acct, m, m ? (int64_t)sizeof *m : 0);
    mem_free(&l->acct, extents, n_ext * (int64_t)sizeof *extents);
    if (s != ST_OK) free_loaded(t, l);
    return s;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

typedef struct RowList {
    int64_t cap;
    const char *rows[];
} RowList;

static RowList *list_new(AggTable *t, int64_t cap, Err *e) {
    RowList *l = mem_alloc(t->acct, (int64_t)sizeof *l + cap * 8, e);
    if (l) l->cap = cap;
    return l;
}

Status agg_morsel_open(AggTable *t, int64_t morsel, AggMorsel *out, Err *e) {
    *out = (AggMorsel){0};
    if (morsel < 0 || morsel >= t->n_morsels)
        return err_internal(e, "morsel %lld of %lld", (long long)morsel, (long long)t->n_morsels);
    if (t->form <= FORM_DIRECT) {
        Worker *w = &t->w[t->dest];
        int64_t first = morsel * MORSEL_GROUPS, end = MIN_OF(first + MORSEL_GROUPS, direct_slots(t));
        int64_t used = 0;
        for (int64_t g = first; g < end; g++) used += header_of(w->direct + g * t->width) != 0;
        if (!used) return ST_OK;
        RowList *l = list_new(t, used, e);
        if (!l) return ST_ERROR;
        int64_t n = 0;
        for (int64_t g = first; g < end; g++)
            if (header_of(w->direct + g * t->width)) l->rows[n++] = w->direct + g * t->width;
        *out = (AggMorsel){l->rows, n, l};
        return ST_OK;
    }
    if (t->spilled) return load_partition(t, morsel, out, e);
    if (t->dest < 0) {
        *out = (AggMorsel){t->partitions[morsel].rows, t->partitions[morsel].n, NULL};
        return ST_OK;
    }
    Page *p = &t->w[t->dest].pages[morsel];
    RowList *l = list_new(t, p->n, e);
    if (!l) return ST_ERROR;
    for (int64_t i = 0; i < p->n; i++) l->rows[i] = p->rows + i * t->width;
    *out = (AggMorsel){l->rows, p->n, l};
    return ST_OK;
}

void agg_morsel_close(AggTable *t, AggMorsel *m) {
    if (m->state) {
        if (t->form > FORM_DIRECT && t->spilled) {
            free_loaded(t, m->state);
        } else {
            RowList *l = m->state;
            mem_free(t->acct, l, (int64_t)sizeof *l + l->cap * 8);
        }
    }
    *m = (AggMorsel){0};
}

#define ROW(i) rows[pos ? (int64_t)pos[i] : first + (i)]

#define UNPACK(T)                                              \
    do {                                                       \
        T *d = out->data;                                      \
        for (int64_t i = 0; i < n; i++) {                      \
            uint64_t x = header_of(ROW(i)) >> k->shift & mask; \
            if (valid) valid[i] = x != 0;                      \
            nulls |= valid && x == 0;                          \
            d[i] = valid && x == 0 ? 0 : (T)(x - one + min);   \
        }                                                      \
    } while (0)

static void load_packed(const KeyCol *k, const char *const *rows, int64_t first, const int32_t *pos, int64_t n,
                        Vec *out) {
    uint64_t mask = k->bits >= 64 ? UINT64_MAX : (UINT64_C(1) << k->bits) - 1, one = k->nullable,
             min = (uint64_t)k->min;
    uint8_t *valid = k->nullable ? out->valid : NULL;
    bool nulls = false;
    switch (k->phys) {
    case PH_BOOL: UNPACK(uint8_t); break;
    case PH_I16: UNPACK(int16_t); break;
    case PH_I32: UNPACK(int32_t); break;
    default: UNPACK(int64_t); break;
    }
    if (!nulls) out->valid = NULL;
}

#define LOAD_CELLS(T)                                                              \
    do {                                                                           \
        T *d = out->data;                                                          \
        for (int64_t i = 0; i < n; i++) memcpy(&d[i], ROW(i) + k->off, sizeof(T)); \
    } while (0)

static void load_generic(const KeyCol *k, const char *const *rows, int64_t first, const int32_t *pos, int64_t n,
                         Vec *out) {
    if (k->valid < 0) {
        out->valid = NULL;
    } else {
        uint8_t all = 1;
        for (int64_t i = 0; i < n; i++) all &= out->valid[i] = (uint8_t)ROW(i)[k->valid];
        if (all) out->valid = NULL;
    }
    switch (phys_size((Phys)k->phys)) {
    case 1: LOAD_CELLS(uint8_t); break;
    case 2: LOAD_CELLS(uint16_t); break;
    case 4: LOAD_CELLS(uint32_t); break;
    case 8: LOAD_CELLS(uint64_t); break;
    default: LOAD_CELLS(Str); break;
    }
}

Status agg_load(const AggTable *t, int32_t imm, const AggMorsel *m, int64_t first, const int32_t *pos, int64_t n,
                Vec *out, Arena *a, Err *e) {
    out->is_const = false;
    if (imm >= t->n_keys) {
        if (imm - t->n_keys >= t->n_cols) return err_internal(e, "column %d of an aggregation", imm);
        return agg_cell_load(&t->cols[imm - t->n_keys], m->rows, first, pos, n, out, a, e);
    }
    const KeyCol *k = &t->keys[imm];
    if (t->form == FORM_GENERIC) load_generic(k, m->rows, first, pos, n, out);
    else load_packed(k, m->rows, first, pos, n, out);
    return ST_OK;
}
