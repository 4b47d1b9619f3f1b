/* keyindex.c - see keyindex.h for the design, keyslots.h for the slots. */
#include "storage/exprindex.h"
#include "storage/keyslots.h"
#include "storage/row_errors.h"

HashIndex *keyindex_new(MemAccount *acct, Err *e) {
    HashIndex *x = mem_calloc(acct, (int64_t)sizeof *x, e);
    if (x) x->acct = acct;
    return x;
}
void keyindex_free(HashIndex *x) {
    if (!x) return;
    keyslots_drop(x);
    mem_free(x->acct, x, (int64_t)sizeof *x);
}

static Status share_slots(HashIndex *x, KeySlots *k, Err *e) {
    if (!k->slots || k->share) return ST_OK;
    k->share = shared_new(x->acct, k->slots, INT64_C(8) << k->bits, e);
    return k->share ? ST_OK : ST_ERROR;
}
Status keyindex_freeze(HashIndex *x, HashIndex *frozen, Err *e) {
    TRY(share_slots(x, &x->now, e));
    TRY(share_slots(x, &x->old, e));
    *frozen = *x;
    if (x->now.share) atomic_fetch_add_explicit(&x->now.share->refs, 1, memory_order_relaxed);
    if (x->old.share) atomic_fetch_add_explicit(&x->old.share->refs, 1, memory_order_relaxed);
    return ST_OK;
}
void keyindex_thaw(HashIndex *frozen) {
    shared_drop(frozen->now.share);
    shared_drop(frozen->old.share);
}

/* ---- keys: from a stored row or from values, one form for hashing and comparing ---- */
typedef struct KeyCell {
    bool is_int; /* v, for integers of any size that fit 64 bits, and dictionary codes */
    int64_t v;
    union {
        int128_t i128;
        double f64;
        float f32;
        Str str;
        Interval interval;
        Uuid uuid;
    } u;
} KeyCell;

/* False when the row has NULL there. */
static bool stored_key_cell(const TabletColumn *c, int64_t row, KeyCell *k) {
    if (!column_row_valid(c, row)) return false;
    if (c->encoding == ENC_STR) {
        k->is_int = false;
        k->u.str = column_str(c, row);
    } else if (c->encoding == ENC_PLAIN && c->phys == PH_I128) {
        k->u.i128 = column_i128(c, row);
        k->v = (int64_t)k->u.i128;
        k->is_int = k->u.i128 == k->v;
    } else if (phys_is_int(c->phys)) {
        k->is_int = true;
        k->v = column_i64(c, row);
    } else {
        int64_t size = phys_size((Phys)c->phys);
        k->is_int = false;
        memcpy(&k->u, column_cell(c, row, size), (size_t)size);
    }
    return true;
}
static uint64_t key_cell_hash(const Column *col, const KeyCell *k) {
    if (k->is_int) return hash_u64((uint64_t)k->v);
    return cell_hash((Phys)column_phys(col), &k->u);
}
static bool key_cell_eq(const Column *col, const KeyCell *a, const KeyCell *b) {
    if (a->is_int != b->is_int) return false;
    if (a->is_int) return a->v == b->v;
    return cell_cmp((Phys)column_phys(col), &a->u, &b->u) == 0;
}

/* PostgreSQL's limit of columns in a key (INDEX_MAX_KEYS); table_new refuses more. */
enum { KEY_MAX = KEYINDEX_MAX_COLS };

static bool stored_key(const Table *t, const KeyConstraint *kc, int64_t rowid, KeyCell *cells, uint64_t *hash) {
    const Tablet *tab = t->tablets[rowid >> 32];
    uint64_t h = 0;
    for (int i = 0; i < kc->n_cols; i++) {
        if (!stored_key_cell(&tab->cols[kc->cols[i]], rowid & 0xffffffff, &cells[i])) return false;
        h = hash_combine(h, key_cell_hash(&t->cols[kc->cols[i]], &cells[i]));
    }
    *hash = h;
    return true;
}

static bool row_has_key(const Table *t, const KeyConstraint *kc, int64_t rowid, const KeyCell *cells, int from) {
    const Tablet *tab = t->tablets[rowid >> 32];
    for (int i = from; i < kc->n_cols; i++) {
        KeyCell k;
        if (!stored_key_cell(&tab->cols[kc->cols[i]], rowid & 0xffffffff, &k)) return false;
        if (!key_cell_eq(&t->cols[kc->cols[i]], &k, &cells[i])) return false;
    }
    return true;
}

/* ---- the sorted form ---- */
static int64_t lower_bound(const TabletColumn *c, int64_t rows, int64_t v) {
    int64_t lo = 0, hi = rows;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (column_i64(c, mid) < v) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
/* A live row other than `self`. A run of equal values may go on in the next tablet. */
static int64_t sorted_find(const Table *t, const KeyConstraint *kc, const KeyCell *cells, int64_t self) {
    const HashIndex *x = kc->index;
    if (x->sorted_tablets == 0 || !cells[0].is_int) return -1;
    int64_t v = cells[0].v, lo = 0, hi = x->sorted_tablets;
    while (lo < hi) { /* first tablet whose max is not below v */
        int64_t mid = lo + (hi - lo) / 2;
        if (t->tablets[mid]->cols[kc->cols[0]].max < v) lo = mid + 1;
        else hi = mid;
    }
    for (; lo < x->sorted_tablets; lo++) {
        const Tablet *tab = t->tablets[lo];
        const TabletColumn *c = &tab->cols[kc->cols[0]];
        if (c->min > v) return -1;
        for (int64_t row = lower_bound(c, tab->rows, v); row < tab->rows && column_i64(c, row) == v; row++) {
            int64_t id = rowid_make(lo, row);
            if (id != self && !tablet_row_deleted(tab, row) && row_has_key(t, kc, id, cells, 1)) return id;
        }
    }
    return -1;
}

/* ---- the hash form ---- */
static int64_t hash_find(const Table *t, const KeyConstraint *kc, const KeyCell *cells, uint64_t hash, int64_t self) {
    for (const HashIndex *x = kc->index; x; x = x->below) {
        SlotSearch s = keyslots_search(x, hash);
        for (uint64_t entry; (entry = keyslots_next(&s)) != 0;) {
            int64_t id = entry_rowid(entry);
            if (id != self && row_live(t, id) && row_has_key(t, kc, id, cells, 0)) return id;
        }
    }
    return -1;
}

/* A key of the table, for a sweep. */
typedef struct TableKey {
    const Table *t;
    const KeyConstraint *kc;
} TableKey;
/* Whether an entry still names a row with that key; only called without open undo. */
static bool entry_alive(void *ctx, uint64_t entry) {
    const TableKey *key = ctx;
    KeyCell cells[KEY_MAX];
    uint64_t hash;
    int64_t id = entry_rowid(entry);
    return row_live(key->t, id) && stored_key(key->t, key->kc, id, cells, &hash) && tag_of(hash) == entry_tag(entry);
}
static Status reserve(const Table *t, int k, int64_t more, Err *e) {
    TableKey key = {t, &t->keys[k]};
    return keyslots_reserve(t, t->keys[k].index, &(KeySweep){entry_alive, &key}, more, e);
}

void keyindex_settled(Table *t) {
    if (t->impl->undo_open > 0) return;
    for (int k = 0; k < t->n_keys; k++) {
        TableKey key = {t, &t->keys[k]};
        if (key.kc->index) keyslots_sweep(t, key.kc->index, &(KeySweep){entry_alive, &key});
    }
    for (int k = t->n_keys; k < table_indexes(t); k++)
        if (*table_index(t, k)) exprindex_sweep(t, k);
}

/* ---- entering rows ---- */
/* 54000: an entry has no bits for rows of the tablet. */
static Status check_tablet(const Table *t, int64_t tablet, Err *e) {
    if (tablet < INT64_C(1) << (ROW_BITS - OFFSET_BITS)) return ST_OK;
    return err_set(e, ERR_PROGRAM_LIMIT, "table \"%s\" is too large for a key", t->name);
}
/* Rows are looked up some at a time: their keys first, whose slots are on their way to the cache while the next keys
 * are made, then the slots. */
enum { AT_A_TIME = 16 };
static Status enter(Table *t, int k, int64_t n, const int64_t *rowids, Err *e) {
    KeyConstraint *kc = &t->keys[k];
    HashIndex *x = kc->index;
    KeyCell cells[AT_A_TIME][KEY_MAX];
    uint64_t hash[AT_A_TIME];
    bool has[AT_A_TIME];
    for (int64_t i = 0; i < n; i++) {
        has[i] = stored_key(t, kc, rowids[i], cells[i], &hash[i]);
        if (has[i]) __builtin_prefetch(&x->now.slots[slot_of(&x->now, tag_of(hash[i]))], 1);
    }
    for (int64_t i = 0; i < n; i++) {
        if (!has[i]) continue;
        if (!kc->deferrable &&
            (sorted_find(t, kc, cells[i], rowids[i]) >= 0 || hash_find(t, kc, cells[i], hash[i], rowids[i]) >= 0))
            return row_key_error_stored(t, k, rowids[i], e);
        keyslots_put(x, entry_make(hash[i], rowids[i]));
    }
    return ST_OK;
}

Status keyindex_add_rows(Table *t, int k, int64_t n, const int64_t *rowids, Err *e) {
    if (n == 0) return ST_OK;
    for (int64_t i = 0; i < n; i++) TRY(check_tablet(t, rowids[i] >> 32, e));
    if (k >= t->n_keys) return exprindex_add_rows(t, k, n, rowids, e);
    TRY(reserve(t, k, n, e));
    for (int64_t i = 0; i < n; i += AT_A_TIME) TRY(enter(t, k, MIN_OF((int64_t)AT_A_TIME, n - i), rowids + i, e));
    return ST_OK;
}

Status keyindex_check_row(Table *t, int k, int64_t rowid, Err *e) {
    if (k >= t->n_keys) return exprindex_check_row(t, k, rowid, e);
    const KeyConstraint *kc = &t->keys[k];
    KeyCell cells[KEY_MAX];
    uint64_t hash;
    if (!row_live(t, rowid) || !stored_key(t, kc, rowid, cells, &hash)) return ST_OK;
    return sorted_find(t, kc, cells, rowid) >= 0 || hash_find(t, kc, cells, hash, rowid) >= 0
               ? row_key_error_stored(t, k, rowid, e)
               : ST_OK;
}

Status table_check_deferrable(Table *t, Err *e) {
    for (int k = 0; k < t->n_keys; k++)
        for (int64_t n = 0; t->keys[k].deferrable && n < t->n_tablets; n++)
            for (int64_t row = 0; row < t->tablets[n]->rows; row++)
                TRY(keyindex_check_row(t, k, rowid_make(n, row), e));
    return ST_OK;
}

/* Rows of main tablet `n` continue the sorted run. `last` is the last row of the tablet before. On equal runs the
 * rest of the key is compared with every row of the run: 23505 when one is equal. */
static Status continues_sorted(Table *t, int k, int64_t n, bool *yes, Err *e) {
    KeyConstraint *kc = &t->keys[k];
    const Tablet *tab = t->tablets[n];
    const TabletColumn *c = &tab->cols[kc->cols[0]];
    *yes = false;
    if (tab->is_delta || c->encoding != ENC_FOR || c->patches || c->validity || !c->has_minmax || tab->rows == 0)
        return ST_OK;
    for (int i = 1; i < kc->n_cols; i++)
        if (tab->cols[kc->cols[i]].validity) return ST_OK;
    int64_t run[KEYINDEX_MAX_RUN], n_run = 0, prev = 0;
    bool have = false;
    if (n > 0) { /* the run at the end of the tablet before */
        const Tablet *before = t->tablets[n - 1];
        const TabletColumn *b = &before->cols[kc->cols[0]];
        prev = b->max;
        have = true;
        if (prev == c->min) {
            for (int64_t r = before->rows - 1; r >= 0 && column_i64(b, r) == prev; r--) {
                if (n_run == KEYINDEX_MAX_RUN) return ST_OK;
                run[n_run++] = rowid_make(n - 1, r);
            }
            if (n_run == before->rows && n > 1) return ST_OK; /* could go on further back */
        }
    }
    int64_t vals[1024];
    int64_t dup_row = -1;
    for (int64_t i = 0; i < tab->rows; i += 1024) {
        int64_t m = MIN_OF(1024, tab->rows - i);
        bool nulls;
        tablet_decode(t, tab, kc->cols[0], i, NULL, m, PH_I64, vals, NULL, &nulls);
        for (int64_t j = 0; j < m; j++) {
            int64_t id = rowid_make(n, i + j);
            if (have && vals[j] < prev) return ST_OK;
            if (!have || vals[j] > prev) n_run = 0;
            if (n_run == KEYINDEX_MAX_RUN) return ST_OK;
            if (n_run > 0 && !tablet_row_deleted(tab, i + j)) {
                KeyCell cells[KEY_MAX];
                uint64_t hash;
                stored_key(t, kc, id, cells, &hash);
                for (int64_t r = 0; r < n_run; r++)
                    if (row_live(t, run[r]) && row_has_key(t, kc, run[r], cells, 1)) dup_row = id;
            }
            run[n_run++] = id;
            have = true;
            prev = vals[j];
        }
        if (dup_row >= 0 && kc->deferrable) return ST_OK;
        if (dup_row >= 0) return row_key_error_stored(t, k, dup_row, e);
    }
    *yes = true;
    return ST_OK;
}

Status keyindex_add_tablets(Table *t, int k, int64_t first, Err *e) {
    TRY(check_tablet(t, t->n_tablets - 1, e));
    if (k >= t->n_keys) return exprindex_add_tablets(t, k, first, e);
    HashIndex *x = t->keys[k].index;
    int64_t n = first, rows = 0;
    while (n < t->n_tablets && n == x->sorted_tablets && x->used == 0) {
        bool yes;
        TRY(continues_sorted(t, k, n, &yes, e));
        if (!yes) break;
        x->sorted_tablets = ++n;
    }
    for (int64_t i = n; i < t->n_tablets; i++) rows += t->tablets[i]->rows - t->tablets[i]->n_deleted;
    if (rows == 0) return ST_OK;
    TRY(reserve(t, k, rows, e));
    for (; n < t->n_tablets; n++) {
        const Tablet *tab = t->tablets[n];
        int64_t some[AT_A_TIME], n_some = 0;
        for (int64_t r = 0; r < tab->rows; r++) {
            if (tablet_row_deleted(tab, r)) continue;
            some[n_some++] = rowid_make(n, r);
            if (n_some < AT_A_TIME) continue;
            TRY(enter(t, k, n_some, some, e));
            n_some = 0;
        }
        TRY(enter(t, k, n_some, some, e));
    }
    return ST_OK;
}

/* ---- lookup ---- */
int64_t keyindex_lookup(const Table *t, int k, const Value *vals) {
    const KeyConstraint *kc = &t->keys[k];
    KeyCell cells[KEY_MAX];
    uint64_t hash = 0;
    for (int i = 0; i < kc->n_cols; i++) {
        const Column *col = &t->cols[kc->cols[i]];
        const Value *v = &vals[i];
        KeyCell *c = &cells[i];
        if (v->is_null) return -1;
        Phys p = type_phys(v->type);
        c->is_int = false;
        if (col->dict) {
            c->is_int = true;
            c->v = dict_find(col->dict, v->u.str);
            if (c->v < 0) return -1;
        } else if (phys_is_int((uint8_t)p)) {
            c->is_int = cell_as_i64(p, value_cell_const(v), &c->v);
            if (!c->is_int) c->u.i128 = v->u.i128;
        } else {
            memcpy(&c->u, value_cell_const(v), (size_t)phys_size(p));
        }
        hash = hash_combine(hash, key_cell_hash(col, c));
    }
    int64_t id = sorted_find(t, kc, cells, -1);
    return id >= 0 ? id : hash_find(t, kc, cells, hash, -1);
}

Status keyindex_verify(const Table *t, int k, Err *e) {
    if (k >= t->n_keys) return exprindex_verify(t, k, e);
    const KeyConstraint *kc = &t->keys[k];
    for (int64_t n = 0; n < t->n_tablets; n++) {
        const Tablet *tab = t->tablets[n];
        for (int64_t r = 0; r < tab->rows; r++) {
            KeyCell cells[KEY_MAX];
            uint64_t hash;
            int64_t id = rowid_make(n, r);
            if (tablet_row_deleted(tab, r) || !stored_key(t, kc, id, cells, &hash)) continue;
            int64_t found = sorted_find(t, kc, cells, -1);
            if (found < 0) found = hash_find(t, kc, cells, hash, -1);
            if (found != id && !(kc->deferrable && found >= 0))
                return err_internal(e, "key \"%s\" finds row %lld instead of %lld", kc->name, (long long)found,
                                    (long long)id);
        }
    }
    return ST_OK;
}
