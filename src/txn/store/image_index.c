/* image_index.c - the indexes of an image: finding rows by key, one or many, and entering them.
 *
 * Dense rows. A unique index of one integer has no entries for its first ImageIndex.dense rows, where the key tells the
 * row's number. Such a row that does not live counts for nothing: its key may have come again in a later row, whose
 * entry is in the slots. So a search that does not find a live row by its number goes on there.
 *
 * Many keys at once go in three rounds over a batch: hash and prefetch the slots; look at the slots and prefetch the
 * rows they name; compare. So the cache misses of a batch overlap instead of following one another.
 *
 * Two threads that enter the same unique key. An entry goes to the first free slot of its search, and slots are never
 * freed: of two entries with one key, the later one passes the earlier one. It sees the earlier row's cells (written
 * before the slot was taken), and when that row is still pending it waits until it is live or dead. Rows enter their
 * keys in the order of the indexes, so a row that waits at index j has entered all before j, and waits for a row that
 * has entered j and waits, if at all, at an index after j: there is no cycle of waits.
 */
#include <sched.h>

#include "base/hash.h"
#include "txn/store/store_int.h"
#include "txn/store/device_copy.h"

/* ---- hashing ---- */
static uint64_t hash_str(Str s) { /* = the kernels' hash_str */
    uint64_t h = hash_u64((uint64_t)s.len + UINT64_C(0x9e3779b97f4a7c15)), v;
    int64_t i = 0, n = s.len;
    for (; i + 8 <= n; i += 8) {
        memcpy(&v, s.ptr + i, 8);
        h = hash_combine(h, v);
    }
    if (i == n) return h;
    v = 0;
    memcpy(&v, s.ptr + i, (size_t)(n - i)); /* little-endian */
    return hash_combine(h, v);
}
ALWAYS_INLINE uint64_t whole_cell(uint8_t phys, const char *cell) {
    switch (phys) {
    case PH_BOOL: return *(const uint8_t *)cell;
    case PH_I16: {
        int16_t v;
        memcpy(&v, cell, sizeof v);
        return (uint64_t)v;
    }
    case PH_I32: {
        int32_t v;
        memcpy(&v, cell, sizeof v);
        return (uint64_t)v;
    }
    default: {
        uint64_t v;
        memcpy(&v, cell, sizeof v);
        return v;
    }
    }
}
ALWAYS_INLINE uint64_t hash_cell(uint8_t phys, const char *cell) {
    switch (phys) {
    case PH_BOOL:
    case PH_I16:
    case PH_I32:
    case PH_I64: return hash_u64(whole_cell(phys, cell));
    case PH_STR: {
        Str s;
        memcpy(&s, cell, sizeof s);
        return hash_str(s);
    }
    case PH_UUID: {
        uint64_t v[2];
        memcpy(v, cell, sizeof v);
        return hash_combine(hash_u64(v[0]), v[1]);
    }
    default: return cell_hash((Phys)phys, cell);
    }
}
/* What hash_key takes of a column's value. */
ALWAYS_INLINE uint64_t key_word(uint8_t phys, const char *cell) {
    return phys <= PH_I64 ? whole_cell(phys, cell) : hash_cell(phys, cell);
}
uint64_t key_hash(int32_t n, const uint8_t *phys, const void *const *keys) {
    if (UNLIKELY(hash_constant)) return 0;
    uint64_t h = 0;
    for (int32_t i = 0; i < n; i++) {
        h = i ? hash_key(h, key_word(phys[i], keys[i])) : hash_cell(phys[i], keys[i]);
    }
    return h;
}

#define HASH_COLUMN(PHYS)                                         \
    case PHYS:                                                    \
        for (int64_t i = 0; i < n; i++) {                         \
            const uint64_t v = key_word(PHYS, data + i * stride); \
            hash[i] = c ? hash_key(hash[i], v) : hash_u64(v);     \
        }                                                         \
        break
void image_hash_keys(const KeyCols *k, const uint8_t *live, int64_t first, int64_t n, uint64_t *hash, bool *skip) {
    for (int64_t i = 0; i < n; i++) skip[i] = live && live[first + i] != ROW_LIVE;
    if (k->n == 0) memset(hash, 0, (size_t)n * 8); /* one group of all rows */
    for (int32_t c = 0; c < k->n; c++) {
        int64_t stride = k->col[c].stride;
        const char *data = k->col[c].data + first * stride;
        const uint8_t *valid = k->col[c].valid;
        for (int64_t i = 0; valid && i < n; i++) skip[i] |= !valid[(first + i) * k->col[c].valid_stride];
        if (UNLIKELY(hash_constant)) {
            memset(hash, 0, (size_t)n * 8);
            continue;
        }
        switch (k->col[c].phys) {
            HASH_COLUMN(PH_BOOL);
            HASH_COLUMN(PH_I16);
            HASH_COLUMN(PH_I32);
            HASH_COLUMN(PH_I64);
        default: /* NULL strings have no bytes to look at */
            for (int64_t i = 0; i < n; i++) {
                uint64_t v = skip[i] ? 0 : hash_cell(k->col[c].phys, data + i * stride);
                hash[i] = c ? hash_key(hash[i], v) : v;
            }
        }
    }
}

/* ---- keys ---- */
static void set_key_col(const Image *im, const ImageIndex *x, int32_t c, KeyCols *k) {
    const ImageColumn *col = &im->cols[x->cols[c]];
    k->col[c].phys = col->phys;
    k->col[c].cells = (const char *)col->cells;
    k->col[c].row_stride = col->stride;
    k->col[c].valid = NULL;
    k->col[c].stride = k->col[c].valid_stride = 0;
}
void image_key_cols(const Image *im, const ImageIndex *x, const void *const *keys, KeyCols *k) {
    k->n = x->n_cols;
    for (int32_t c = 0; c < k->n; c++) {
        set_key_col(im, x, c, k);
        k->col[c].data = keys[c];
    }
}
/* The image's own rows as keys: number i is row i. */
static void own_key_cols(const Image *im, const ImageIndex *x, KeyCols *k) {
    k->n = x->n_cols;
    for (int32_t c = 0; c < k->n; c++) {
        set_key_col(im, x, c, k);
        k->col[c].data = k->col[c].cells;
        k->col[c].stride = k->col[c].valid_stride = k->col[c].row_stride;
        k->col[c].valid = im->cols[x->cols[c]].valid;
    }
}
/* Row `row` has key number i. */
ALWAYS_INLINE bool key_is(const KeyCols *k, int64_t i, int64_t row) {
    for (int32_t c = 0; c < k->n; c++) {
        const char *a = k->col[c].data + i * k->col[c].stride, *b = k->col[c].cells + row * k->col[c].row_stride;
        switch (k->col[c].phys) {
        case PH_BOOL:
            if (*a != *b) return false;
            break;
        case PH_I16:
            if (memcmp(a, b, 2) != 0) return false;
            break;
        case PH_I32:
            if (memcmp(a, b, 4) != 0) return false;
            break;
        case PH_I64:
            if (memcmp(a, b, 8) != 0) return false;
            break;
        default:
            if (cell_cmp((Phys)k->col[c].phys, a, b) != 0) return false;
        }
    }
    return true;
}

/* ---- dense rows ---- */
enum { DENSE_LEAST = 8 }; /* fewer are chance: most keys would be compared in vain */
int64_t index_dense_rows(const Image *im, const ImageIndex *x, bool packed, uint64_t *first_key) {
    const int64_t rows = atomic_load(&im->rows);
    int64_t n = 0, live = 0;
    *first_key = 0;
    if (!index_can_be_dense(im, x) || hash_constant) return 0; /* then entries are what is tested */
    KeyCols k;
    own_key_cols(im, x, &k);
    const int64_t stride = k.col[0].stride;
    for (int64_t r = 0; r < rows; r++) {
        if (packed && row_is_gap(im, r)) continue;
        if (im->live[r] == ROW_LIVE) {
            if (k.col[0].valid && !k.col[0].valid[r * stride]) break;
            const uint64_t first = whole_cell(k.col[0].phys, k.col[0].data + r * stride) - (uint64_t)n;
            if (live > 0 && first != *first_key) break;
            *first_key = first;
            live++;
        }
        n++;
    }
    return live >= DENSE_LEAST ? n : 0;
}
/* The row whose number follows from the key, whether it lives or not; -1: none. */
ALWAYS_INLINE int64_t dense_row(const ImageIndex *x, uint64_t key) {
    const uint64_t row = key - x->first_key;
    return row < (uint64_t)x->dense ? (int64_t)row : -1;
}
int64_t index_dense_row(const Image *im, const ImageIndex *x, const void *const *keys) {
    return x->dense > 0 ? dense_row(x, whole_cell(im->cols[x->cols[0]].phys, keys[0])) : -1;
}
/* ... of key number i, that lives. */
static int64_t dense_find(const Image *im, const ImageIndex *x, const KeyCols *k, int64_t i) {
    if (x->dense == 0) return -1;
    const int64_t row = dense_row(x, whole_cell(k->col[0].phys, k->col[0].data + i * k->col[0].stride));
    return row >= 0 && row_state(im, row) == ROW_LIVE ? row : -1;
}
#define DENSE_COLUMN(PHYS)                                                                           \
    case PHYS:                                                                                       \
        for (int64_t i = 0; i < n; i++) rows[i] = dense_row(x, whole_cell(PHYS, data + i * stride)); \
        break
/* The same of keys first .. first + n - 1, -1 for NULLs; returns how many are not there. */
static int64_t dense_find_many(const Image *im, const ImageIndex *x, const KeyCols *k, int64_t first, int64_t n,
                               int64_t *rows) {
    const int64_t stride = k->col[0].stride;
    const char *data = k->col[0].data + first * stride;
    const uint8_t *valid = k->col[0].valid;
    int64_t missing = 0;
    switch (k->col[0].phys) {
        DENSE_COLUMN(PH_I16);
        DENSE_COLUMN(PH_I32);
        DENSE_COLUMN(PH_I64);
    }
    for (int64_t i = 0; i < n; i++) {
        if (valid && !valid[(first + i) * k->col[0].valid_stride]) rows[i] = -1;
        if (rows[i] < 0) continue;
        __builtin_prefetch(&im->live[rows[i]]);
        __builtin_prefetch(k->col[0].cells + rows[i] * k->col[0].row_stride); /* the caller reads more of the row */
    }
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] >= 0 && row_state(im, rows[i]) != ROW_LIVE) rows[i] = -1;
        missing += rows[i] < 0;
    }
    return missing;
}
#undef DENSE_COLUMN

ALWAYS_INLINE uint64_t slot_load(const uint64_t *slot) { return __atomic_load_n(slot, __ATOMIC_ACQUIRE); }

/* ---- finding ---- */
/* From the search's n-th slot on. */
static int64_t find_from(const Image *im, const ImageIndex *x, const KeyCols *k, int64_t key, uint64_t hash,
                         uint64_t n) {
    for (uint64_t s; (s = slot_load(&x->slots[slot_at(x, hash, n)])) != 0; n++) {
        if (!entry_is(s, hash)) continue;
        int64_t row = entry_row(s);
        if (key_is(k, key, row) && (!x->unique || row_state(im, row) == ROW_LIVE)) return row;
    }
    return -1;
}
static int64_t skip_dead(const Image *im, const ImageIndex *x, int64_t row) {
    while (row >= 0 && row_state(im, row) != ROW_LIVE) row = __atomic_load_n(&x->next[row], __ATOMIC_RELAXED) - 1;
    return row;
}
static int64_t first_of(const Image *im, const ImageIndex *x, int64_t row) {
    if (!x->order || row < 0) return skip_dead(im, x, row);
    return order_first(im, x, row);
}
static int64_t find_one(const Image *im, const ImageIndex *x, const void *const *keys) {
    KeyCols k;
    uint64_t hash;
    bool skip;
    image_key_cols(im, x, keys, &k);
    const int64_t row = dense_find(im, x, &k, 0);
    if (row >= 0) return row;
    image_hash_keys(&k, NULL, 0, 1, &hash, &skip);
    return find_from(im, x, &k, 0, hash, 0);
}
int64_t image_find(const Image *im, int32_t index, const void *const *keys) {
    return find_one(im, &im->indexes[index], keys);
}

void image_find_many(const Image *im, int32_t index, int64_t n, const Vec *keys, int64_t *rows) {
    const ImageIndex *x = &im->indexes[index];
    KeyCols k;
    k.n = x->n_cols;
    for (int32_t c = 0; c < k.n; c++) {
        set_key_col(im, x, c, &k);
        k.col[c].data = keys[c].data;
        k.col[c].valid = keys[c].valid;
        k.col[c].stride = keys[c].is_const ? 0 : phys_size((Phys)k.col[c].phys);
        k.col[c].valid_stride = !keys[c].is_const;
    }
    uint64_t hash[IMAGE_BATCH], entry[IMAGE_BATCH], seen[IMAGE_BATCH];
    bool skip[IMAGE_BATCH];
    for (int64_t first = 0; first < n; first += IMAGE_BATCH) {
        int64_t m = MIN_OF(IMAGE_BATCH, n - first);
        const bool dense = x->dense > 0;
        if (dense && dense_find_many(im, x, &k, first, m, rows + first) == 0) continue;
        image_hash_keys(&k, NULL, first, m, hash, skip);
        for (int64_t i = 0; dense && i < m; i++) skip[i] |= rows[first + i] >= 0;
        for (int64_t i = 0; i < m; i++) __builtin_prefetch(&x->slots[hash[i] & (uint64_t)x->mask]);
        for (int64_t i = 0; i < m; i++) {
            uint64_t s, at = 0;
            while ((s = slot_load(&x->slots[slot_at(x, hash[i], at)])) != 0 && !entry_is(s, hash[i])) at++;
            entry[i] = skip[i] ? 0 : s;
            seen[i] = at + 1;
            if (!s) continue;
            int64_t row = entry_row(s);
            for (int32_t c = 0; c < k.n; c++) __builtin_prefetch(k.col[c].cells + row * k.col[c].row_stride);
            __builtin_prefetch(&im->live[row]);
        }
        for (int64_t i = 0; i < m; i++) {
            int64_t row = entry_row(entry[i]); /* -1 for none */
            if (dense && rows[first + i] >= 0) continue;
            if (row >= 0 && !(key_is(&k, first + i, row) && (!x->unique || row_state(im, row) == ROW_LIVE)))
                row = find_from(im, x, &k, first + i, hash[i], seen[i]);
            rows[first + i] = x->unique ? row : first_of(im, x, row);
        }
    }
}

void image_prefetch_keys(const Image *im, int64_t first, int64_t n, const Vec *vecs, int32_t n_cols,
                         const int32_t *vec_of_col) {
    uint64_t hash[IMAGE_BATCH];
    bool skip[IMAGE_BATCH];
    n = MIN_OF(n, IMAGE_BATCH); /* more would drive out the first ones */
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *x = &im->indexes[i];
        KeyCols k;
        k.n = x->n_cols;
        bool known = true;
        for (int32_t c = 0; c < k.n; c++) {
            int32_t col = x->cols[c];
            const Vec *v = &vecs[col < n_cols ? vec_of_col[col] : 0];
            set_key_col(im, x, c, &k);
            if (!(known = v != vecs)) break;
            k.col[c].data = v->data;
            k.col[c].valid = v->valid;
            k.col[c].stride = v->is_const ? 0 : phys_size((Phys)k.col[c].phys);
            k.col[c].valid_stride = !v->is_const;
        }
        if (!known) continue;
        image_hash_keys(&k, NULL, first, n, hash, skip);
        /* Loads, not prefetches: processors drop those when many are under way, and the inserts' atomic writes would
         * wait for each. */
        for (int64_t j = 0; j < n; j++)
            __atomic_load_n((volatile const uint64_t *)&x->slots[hash[j] & (uint64_t)x->mask], __ATOMIC_RELAXED);
    }
}

int64_t image_first(const Image *im, int32_t index, const void *const *keys) {
    const ImageIndex *x = &im->indexes[index];
    return first_of(im, x, find_one(im, x, keys));
}
int64_t image_first_after(const Image *im, int32_t index, const void *const *keys, int64_t value, bool at) {
    const ImageIndex *x = &im->indexes[index];
    int64_t anchor = find_one(im, x, keys);
    return anchor < 0 ? -1 : order_after(im, x, anchor, value, at);
}
int64_t image_next(const Image *im, int32_t index, int64_t row) {
    const ImageIndex *x = &im->indexes[index];
    return x->order ? order_next(im, x, row) : skip_dead(im, x, __atomic_load_n(&x->next[row], __ATOMIC_RELAXED) - 1);
}

/* ---- entering ---- */
/* Takes the first free slot of the hash. */
ALWAYS_INLINE void put(ImageIndex *x, uint64_t entry, uint64_t hash, bool shared) {
    for (uint64_t n = 0;; n++) {
        uint64_t s = 0;
        const int64_t i = slot_at(x, hash, n);
        if (!shared) {
            if (x->slots[i]) continue;
            x->slots[i] = entry;
            return;
        }
        if (slot_load(&x->slots[i])) continue;
        if (__atomic_compare_exchange_n(&x->slots[i], &s, entry, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
    }
}
/* Puts the row in its place. */
static void enter_order(const Image *im, ImageIndex *x, const KeyCols *k, int64_t key, uint64_t hash, int64_t row) {
    for (uint64_t n = 0;; n++) {
        const int64_t i = slot_at(x, hash, n);
        uint64_t s = slot_load(&x->slots[i]);
        if (!s) {
            order_begin(x, row);
            if (__atomic_compare_exchange_n(&x->slots[i], &s, entry_make(hash, row), false, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                return;
        }
        if (entry_is(s, hash) && key_is(k, key, entry_row(s))) {
            order_enter(im, x, entry_row(s), row);
            return;
        }
    }
}
/* Puts the row before the group's first one. */
static void push(const Image *im, ImageIndex *x, const KeyCols *k, int64_t key, uint64_t hash, int64_t row) {
    if (x->order) {
        enter_order(im, x, k, key, hash, row);
        return;
    }
    for (uint64_t n = 0;; n++) {
        const int64_t i = slot_at(x, hash, n);
        uint64_t s = slot_load(&x->slots[i]);
        while (!s || (entry_is(s, hash) && key_is(k, key, entry_row(s)))) {
            __atomic_store_n(&x->next[row], s ? entry_row(s) + 1 : 0, __ATOMIC_RELAXED);
            if (__atomic_compare_exchange_n(&x->slots[i], &s, entry_make(hash, row), false, __ATOMIC_RELEASE,
                                            __ATOMIC_ACQUIRE))
                return;
        }
    }
}

void image_enter_rows(Image *im, ImageIndex *x, int64_t first, int64_t last, bool shared) {
    KeyCols k;
    own_key_cols(im, x, &k);
    uint64_t hash[IMAGE_BATCH];
    bool skip[IMAGE_BATCH];
    for (int64_t row = MAX_OF(first, x->dense); row < last; row += IMAGE_BATCH) {
        int64_t m = MIN_OF(IMAGE_BATCH, last - row);
        image_hash_keys(&k, im->live, row, m, hash, skip);
        for (int64_t i = 0; i < m; i++) __builtin_prefetch(&x->slots[hash[i] & (uint64_t)x->mask], 1);
        for (int64_t i = 0; !x->unique && i < m; i++) {
            uint64_t s = slot_load(&x->slots[hash[i] & (uint64_t)x->mask]);
            if (!entry_is(s, hash[i]) || !s) continue;
            for (int32_t c = 0; c < k.n; c++) __builtin_prefetch(k.col[c].cells + entry_row(s) * k.col[c].row_stride);
        }
        for (int64_t i = 0; i < m; i++) {
            if (skip[i]) continue;
            if (!x->unique) push(im, x, &k, row + i, hash[i], row + i);
            else put(x, entry_make(hash[i], row + i), hash[i], shared);
        }
    }
}

int64_t image_count_entries(const ImageIndex *x) {
    int64_t n = 0;
    for (int64_t i = 0; i <= x->mask; i++) n += x->slots[i] != 0;
    return n;
}
void image_move_entries(const Image *im, ImageIndex *x, const uint64_t *from, int64_t n) {
    enum { KEYS_AT_ONCE = 64 };
    KeyCols k;
    uint64_t entries[KEYS_AT_ONCE], hash;
    bool skip;
    own_key_cols(im, x, &k);
    for (int64_t i = 0; i < n;) {
        int32_t m = 0;
        for (; i < n && m < KEYS_AT_ONCE; i++) {
            if (!from[i]) continue;
            entries[m++] = from[i];
            for (int32_t c = 0; c < k.n; c++)
                __builtin_prefetch(k.col[c].cells + entry_row(from[i]) * k.col[c].row_stride);
        }
        for (int32_t j = 0; j < m; j++) {
            image_hash_keys(&k, NULL, entry_row(entries[j]), 1, &hash, &skip);
            put(x, entries[j], hash, false);
        }
    }
}

/* What becomes of a row that another thread is inserting. */
static uint8_t await(const Image *im, int64_t row) {
    uint8_t state;
    for (int spins = 0; (state = row_state(im, row)) == ROW_PENDING; spins++)
        if (spins > 64) sched_yield();
    return state;
}
bool image_enter_unique(Image *im, ImageIndex *x, int64_t row) {
    KeyCols k;
    uint64_t hash;
    bool skip;
    own_key_cols(im, x, &k);
    dbg_assert(row >= x->dense);
    image_hash_keys(&k, NULL, row, 1, &hash, &skip);
    if (skip) return true;
    if (dense_find(im, x, &k, row) >= 0) return false; /* never pending */
    for (uint64_t n = 0;; n++) {
        const int64_t i = slot_at(x, hash, n);
        uint64_t s = slot_load(&x->slots[i]);
        if (!s && __atomic_compare_exchange_n(&x->slots[i], &s, entry_make(hash, row), false, __ATOMIC_ACQ_REL,
                                              __ATOMIC_ACQUIRE))
            return true;
        if (!entry_is(s, hash)) continue;
        if (entry_row(s) == row) return true; /* it was there before (image_insert_at) */
        if (key_is(&k, row, entry_row(s)) && await(im, entry_row(s)) == ROW_LIVE) return false;
    }
}
void image_enter_group(Image *im, ImageIndex *x, int64_t row) {
    KeyCols k;
    uint64_t hash;
    bool skip;
    own_key_cols(im, x, &k);
    image_hash_keys(&k, NULL, row, 1, &hash, &skip);
    if (!skip) push(im, x, &k, row, hash, row);
}

void image_back_in_order(const Image *im, int64_t row) {
    for (int32_t i = im->table->n_keys; i < im->n_indexes; i++) {
        const ImageIndex *x = &im->indexes[i];
        KeyCols k;
        uint64_t hash;
        bool skip;
        if (!x->order) continue;
        own_key_cols(im, x, &k);
        image_hash_keys(&k, NULL, row, 1, &hash, &skip);
        if (!skip) order_again(im, x, find_from(im, x, &k, row, hash, 0), row);
    }
}

/* ---- verification ---- */
static Status verify_index(const Image *im, int32_t index, Err *e) {
    const ImageIndex *x = &im->indexes[index];
    const char *name = im->table->name;
    KeyCols k;
    own_key_cols(im, x, &k);
    int64_t rows = atomic_load(&im->rows), taken = 0, listed = 0, want = 0;
    for (int64_t i = 0; i <= x->mask; i++) {
        if (!x->slots[i]) continue;
        taken++;
        uint64_t hash;
        bool skip;
        int64_t row = entry_row(x->slots[i]);
        if (row >= rows)
            return err_internal(e, "index %d of table \"%s\" names row %lld of %lld", index, name, (long long)row,
                                (long long)rows);
        image_hash_keys(&k, NULL, row, 1, &hash, &skip);
        if (row < x->dense)
            return err_internal(e, "index %d of table \"%s\" has an entry for row %lld, which needs none", index, name,
                                (long long)row);
        if (skip || !entry_is(x->slots[i], hash))
            return err_internal(e, "index %d of table \"%s\" has a wrong hash for row %lld", index, name,
                                (long long)row);
        if (x->order) TRY(order_verify(im, x, row, &listed, e));
        for (int64_t steps = 0; !x->unique && !x->order && row >= 0; row = x->next[row] - 1) {
            listed += im->live[row] == ROW_LIVE;
            if (++steps > rows || !key_is(&k, row, entry_row(x->slots[i])))
                return err_internal(e, "index %d of table \"%s\" has a wrong list at row %lld", index, name,
                                    (long long)row);
        }
    }
    if (!slots_suffice(x->mask + 1, taken, false))
        return err_internal(e, "index %d of table \"%s\" is too full", index, name);
    for (int64_t row = 0; row < rows; row++) {
        uint64_t hash;
        bool skip;
        image_hash_keys(&k, im->live, row, 1, &hash, &skip);
        if (skip) continue;
        want++;
        int64_t got = dense_find(im, x, &k, row);
        if (got < 0) got = find_from(im, x, &k, row, hash, 0);
        if (x->unique ? got != row : got < 0)
            return err_internal(e, "index %d of table \"%s\" finds row %lld instead of %lld", index, name,
                                (long long)got, (long long)row);
    }
    if (!x->unique && listed != want)
        return err_internal(e, "index %d of table \"%s\" lists %lld rows of %lld", index, name, (long long)listed,
                            (long long)want);
    return ST_OK;
}
/* Row r of the image against the table. */
static Status verify_row(const Image *im, int64_t r, Err *e) {
    const Table *t = im->table;
    int64_t rowid = stored_rowid(im, r), tablet = rowid >> 32;
    int32_t pos = (int32_t)(rowid & 0xffffffff);
    const Tablet *tab = rowid >= 0 && tablet < t->n_tablets ? t->tablets[tablet] : NULL;
    if (!tab || pos >= tab->rows || (tab->deleted && (tab->deleted[pos >> 6] >> (pos & 63) & 1)))
        return err_internal(e, "row %lld of the image of table \"%s\" is not in the table", (long long)r, t->name);
    for (int c = 0; c < t->n_cols; c++) {
        const ImageColumn *col = &im->cols[c];
        if (!col->used) continue;
        alignas(16) char cell[16] = {0};
        uint8_t valid = 1;
        bool nulls;
        tablet_decode(t, tab, c, 0, &pos, 1, col->phys, cell, &valid, &nulls);
        valid = !nulls || valid;
        bool have = image_is_valid(col, r);
        if (have != (bool)valid || (have && cell_cmp((Phys)col->phys, cell, image_cell(col, r)) != 0))
            return err_internal(e, "column \"%s\" of row %lld of the image of table \"%s\" differs", t->cols[c].name,
                                (long long)r, t->name);
    }
    return ST_OK;
}
Status image_verify(const Image *im, bool against_table, Err *e) {
    TRY(device_copy_to_host((Image *)(uintptr_t)im, e));
    int64_t rows = atomic_load(&im->rows), live = 0;
    if (rows > im->cap)
        return err_internal(e, "the image of table \"%s\" has %lld rows of %lld", im->table->name, (long long)rows,
                            (long long)im->cap);
    for (int32_t i = 0; i < im->n_indexes; i++) TRY(verify_index(im, i, e));
    for (int64_t r = 0; r < rows; r++) {
        if (im->live[r] == ROW_PENDING)
            return err_internal(e, "row %lld of the image of table \"%s\" is pending", (long long)r, im->table->name);
        live += im->live[r];
        if (against_table && im->live[r]) TRY(verify_row(im, r, e));
    }
    if (against_table && live != im->table->live_rows)
        return err_internal(e, "the image of table \"%s\" has %lld rows, not %lld", im->table->name, (long long)live,
                            (long long)im->table->live_rows);
    return ST_OK;
}
