/* exprindex.c - see exprindex.h. */
#include "storage/exprindex.h"

#include "storage/keyslots.h"
#include "storage/row_errors.h"

/* The key of a row, computed. */
typedef struct ExprKey {
    Value parts[KEYINDEX_MAX_COLS];
    uint64_t hash;
    bool in; /* it is in the index: the predicate holds, and no part is NULL where NULLs differ */
} ExprKey;

/* What an operation computes keys with: those of its own rows, and of rows that it compares them with. An arena is
 * made when it is used first: most operations need one of them or none. */
typedef struct ExprRun {
    Table *t;
    ExprIndex *x;
    Arena *own, *other;
    Err *e;
} ExprRun;

static Status run_begin(ExprRun *r, const Table *t, int k, Err *e) {
    Table *own = (Table *)(uintptr_t)t; /* looking a key up changes nothing */
    *r = (ExprRun){.t = own, .x = &own->exprs[k - t->n_keys], .e = e};
    return r->x->program ? ST_OK : err_internal(e, "index \"%s\" has no program", r->x->name);
}
static Arena *arena_of(const ExprRun *r, Arena **a) {
    if (!*a) *a = arena_new(table_part(r->t, TABLE_INDEX), r->e);
    return *a;
}
static Status run_end(ExprRun *r, Status st) {
    arena_free(r->own);
    arena_free(r->other);
    return st;
}

static uint64_t part_hash(const Value *v) {
    if (v->is_null) return 1;
    Phys p = type_phys(v->type);
    int64_t n;
    if (phys_is_int((uint8_t)p) && cell_as_i64(p, value_cell_const(v), &n)) return hash_u64((uint64_t)n);
    return cell_hash(p, value_cell_const(v));
}
/* Of the row; its values are in *a, which is the run's. */
static Status key_of(const ExprRun *r, const KeyRow *row, Arena **a, ExprKey *out) {
    if (!arena_of(r, a)) return ST_ERROR;
    arena_reset(*a);
    TRY(r->x->program->key(r->x->program, row, *a, out->parts, &out->in, r->e));
    if (!out->in) return ST_OK;
    out->hash = 0;
    for (int i = 0; i < r->x->n_parts; i++) {
        if (out->parts[i].is_null && !r->x->nulls_not_distinct) out->in = false;
        out->hash = hash_combine(out->hash, part_hash(&out->parts[i]));
    }
    return ST_OK;
}
static Status stored_key_of(const ExprRun *r, int64_t rowid, Arena **a, ExprKey *out) {
    return key_of(r, &(KeyRow){.table = r->t, .rowid = rowid}, a, out);
}
static bool same_key(const ExprRun *r, const ExprKey *a, const ExprKey *b) {
    if (a->in != b->in || a->hash != b->hash) return false;
    for (int i = 0; i < r->x->n_parts; i++)
        if (value_cmp(&a->parts[i], &b->parts[i]) != 0) return false;
    return true;
}

/* A live row other than `self` with the key; -1. */
static Status find(ExprRun *r, const ExprKey *key, int64_t self, int64_t *rowid) {
    SlotSearch s = keyslots_search(r->x->index, key->hash);
    *rowid = -1;
    for (uint64_t entry; (entry = keyslots_next(&s)) != 0;) {
        int64_t id = entry_rowid(entry);
        ExprKey other;
        if (id == self || !row_live(r->t, id)) continue;
        TRY(stored_key_of(r, id, &r->other, &other));
        if (!same_key(r, key, &other)) continue;
        *rowid = id;
        return ST_OK;
    }
    return ST_OK;
}

/* ---- 23505 ---- */
static Status duplicate(ExprRun *r, const ExprKey *key) {
    const ExprIndex *x = r->x;
    Arena *a = arena_of(r, &r->other);
    if (!a) return ST_ERROR;
    char *names = arena_strdup(a, ""), *vals = names;
    for (int i = 0; names && vals && i < x->n_parts; i++) {
        const char *sep = i ? ", " : "";
        int64_t n = 4;
        const char *text = key->parts[i].is_null ? "null" : value_to_text(a, &key->parts[i], &n);
        names = arena_printf(a, "%s%s%s", names, sep, x->parts[i]);
        vals = text ? arena_printf(a, "%s%s%.*s", vals, sep, (int)MIN_OF(n, INT64_C(500)), text) : NULL;
    }
    return row_duplicate_error(r->t, x->name, names, vals, r->e);
}

/* ---- sweeping ---- */
/* An entry whose key cannot be computed, for want of memory, stays. ctx: an ExprRun, whose error is dropped. */
static bool entry_alive(void *ctx, uint64_t entry) {
    ExprRun *r = ctx;
    ExprKey key;
    int64_t id = entry_rowid(entry);
    if (!row_live(r->t, id)) return false;
    if (stored_key_of(r, id, &r->own, &key) == ST_OK) return key.in && tag_of(key.hash) == entry_tag(entry);
    err_clear(r->e);
    return true;
}
void exprindex_sweep(Table *t, int k) {
    ExprRun r;
    Err quiet = {0};
    if (run_begin(&r, t, k, &quiet) == ST_OK) keyslots_sweep(t, r.x->index, &(KeySweep){entry_alive, &r});
    (void)run_end(&r, ST_OK);
}
static Status reserve(const ExprRun *r, int64_t more) {
    Err quiet = {0};
    ExprRun sweep = {.t = r->t, .x = r->x, .e = &quiet};
    return run_end(&sweep, keyslots_reserve(r->t, r->x->index, &(KeySweep){entry_alive, &sweep}, more, r->e));
}

/* ---- entering ---- */
static Status enter(ExprRun *r, int64_t rowid) {
    ExprKey key;
    int64_t there;
    TRY(stored_key_of(r, rowid, &r->own, &key));
    if (!key.in) return ST_OK;
    TRY(find(r, &key, rowid, &there));
    if (there >= 0) return duplicate(r, &key);
    keyslots_put(r->x->index, entry_make(key.hash, rowid));
    return ST_OK;
}

Status exprindex_add_rows(Table *t, int k, int64_t n, const int64_t *rowids, Err *e) {
    ExprRun r;
    Status st = run_begin(&r, t, k, e);
    if (st == ST_OK) st = reserve(&r, n);
    for (int64_t i = 0; st == ST_OK && i < n; i++) st = enter(&r, rowids[i]);
    return run_end(&r, st);
}

Status exprindex_add_tablets(Table *t, int k, int64_t first, Err *e) {
    int64_t rows = 0;
    for (int64_t i = first; i < t->n_tablets; i++) rows += t->tablets[i]->rows - t->tablets[i]->n_deleted;
    if (rows == 0) return ST_OK;
    ExprRun r;
    Status st = run_begin(&r, t, k, e);
    /* A predicate may leave most rows out: room comes by tablets. */
    for (int64_t i = first; st == ST_OK && i < t->n_tablets; i++) {
        const Tablet *tab = t->tablets[i];
        st = reserve(&r, tab->rows);
        for (int64_t row = 0; st == ST_OK && row < tab->rows; row++)
            if (!tablet_row_deleted(tab, row)) st = enter(&r, rowid_make(i, row));
    }
    return run_end(&r, st);
}

Status exprindex_set_program(Table *t, int i, KeyProgram *p, Err *e) {
    ExprIndex *x = &t->exprs[i];
    if (x->program) x->program->free(x->program);
    x->program = p;
    x->n_cols = p->n_cols;
    if (p->n_cols > 0) memcpy(x->cols, p->cols, sizeof(int) * (size_t)p->n_cols);
    return keyindex_add_tablets(t, t->n_keys + i, 0, e);
}

/* ---- looking ---- */
Status exprindex_check_row(Table *t, int k, int64_t rowid, Err *e) {
    ExprRun r;
    ExprKey key;
    int64_t there = -1;
    if (!row_live(t, rowid)) return ST_OK;
    Status st = run_begin(&r, t, k, e);
    if (st == ST_OK) st = stored_key_of(&r, rowid, &r.own, &key);
    if (st == ST_OK && key.in) st = find(&r, &key, rowid, &there);
    if (there >= 0) st = duplicate(&r, &key);
    return run_end(&r, st);
}

Status exprindex_find(Table *t, int i, const Vec *vals, int64_t at, int64_t *rowid, Err *e) {
    ExprRun r;
    ExprKey key;
    *rowid = -1;
    Status st = run_begin(&r, t, t->n_keys + i, e);
    if (st == ST_OK) st = key_of(&r, &(KeyRow){.table = t, .rowid = -1, .vals = vals, .at = at}, &r.own, &key);
    if (st == ST_OK && key.in) st = find(&r, &key, -1, rowid);
    return run_end(&r, st);
}

Status exprindex_verify(const Table *t, int k, Err *e) {
    if (t->impl->version) return ST_OK; /* has no index */
    ExprRun r;
    Status st = run_begin(&r, t, k, e);
    for (int64_t n = 0; n < t->n_tablets; n++) {
        const Tablet *tab = t->tablets[n];
        for (int64_t row = 0; st == ST_OK && row < tab->rows; row++) {
            ExprKey key;
            int64_t found = -1, id = rowid_make(n, row);
            if (tablet_row_deleted(tab, row)) continue;
            st = stored_key_of(&r, id, &r.own, &key);
            if (st == ST_OK && key.in) st = find(&r, &key, -1, &found);
            if (st == ST_OK && key.in && found != id)
                st = err_internal(e, "index \"%s\" finds row %lld instead of %lld", r.x->name, (long long)found,
                                  (long long)id);
        }
    }
    return run_end(&r, st);
}
