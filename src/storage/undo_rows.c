/* undo_rows.c - comparing logs of open transactions by the rows that they hold: see undo_rows.h. */
#include "storage/undo_rows.h"
#include "storage/storage_int.h"

#include <stdlib.h>

enum {
    FEW_PAIRS = 1 << 12, /* of rows: up to here each is compared with each */
    KEY_PAIRS = 1 << 16  /* of new rows: beyond it keys are not compared before one of the transactions commits */
};

static bool names_rows(const UndoRecord *r) {
    return r->t && (r->kind == UNDO_UPDATE || r->kind == UNDO_DELETE || r->kind == UNDO_ADD || r->kind == UNDO_LOCK);
}
static bool names_row(const UndoRecord *r, int64_t rowid) {
    for (int64_t i = 0; i < r->n; i++)
        if (r->rowids[i] == rowid) return true;
    return false;
}

bool undo_only_adds(const UndoLog *u, const Table *t, int64_t rowid, int64_t ts) {
    bool added = false;
    for (int64_t k = 0; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (r->t != t || !names_rows(r) || !names_row(r, rowid)) continue;
        if (r->kind != UNDO_ADD || (r->read != ADD_UNREAD && r->read_ts < ts)) return false;
        added = true;
    }
    return added;
}
bool undo_has_unread(const UndoLog *u) { return u->has_unread; }
bool undo_read_adds(UndoLog *u, int64_t table, int64_t rowid, int64_t ts) {
    bool some = false, others = false;
    for (int64_t k = 0; u->has_unread && k < u->recs.len; k++) {
        UndoRecord *r = &u->recs.items[k];
        if (!r->t || r->kind != UNDO_ADD || r->read != ADD_UNREAD) continue;
        const bool read = r->t->id == table && (rowid < 0 || names_row(r, rowid));
        some |= read;
        others |= !read;
        if (!read) continue;
        r->read = ADD_READ_NOW;
        r->read_ts = ts;
    }
    u->has_unread = others;
    return some;
}
void undo_keep_reads(UndoLog *u, bool keep) {
    for (int64_t k = 0; k < u->recs.len; k++) {
        UndoRecord *r = &u->recs.items[k];
        if (r->kind != UNDO_ADD || r->read != ADD_READ_NOW) continue;
        r->read = keep ? ADD_READ : ADD_UNREAD;
        u->has_unread |= !keep;
    }
}
Status undo_lock_row(UndoLog *u, Table *t, int64_t rowid, Err *e) {
    int64_t *ids = undo_alloc(u, (int64_t)sizeof *ids, e);
    UndoRecord *r = ids ? undo_push(u, UNDO_LOCK, t, e) : NULL;
    if (!r) return ST_ERROR;
    *ids = rowid;
    r->rowids = ids;
    r->n = 1;
    return ST_OK;
}

/* ---- waiting ---- */
static bool is_free_add(const UndoRecord *r) { return r->kind == UNDO_ADD && r->read == ADD_UNREAD; }
/* A row of both, what the first has done to it, and what the other log has. */
static bool must_wait(const UndoRecord *r, UndoWaits what, const UndoRecord *other) {
    const bool holds = other->kind != UNDO_ADD || other->read == ADD_READ;
    if (what == UNDO_WAITS_COMMIT) return is_free_add(r) && holds;
    if (is_free_add(r) && what == UNDO_WAITS_STATEMENT) return other->kind == UNDO_DELETE;
    return holds || r->kind == UNDO_DELETE;
}
static Status have_common(const UndoRecord *a, const UndoRecord *b, MemAccount *acct, bool *yes, Err *e) {
    *yes = false;
    if (a->n <= FEW_PAIRS / MAX_OF(b->n, INT64_C(1))) {
        for (int64_t i = 0; i < a->n && !*yes; i++) *yes = names_row(b, a->rowids[i]);
        return ST_OK;
    }
    if (a->n < b->n) return have_common(b, a, acct, yes, e);
    int64_t bytes = b->n * 8, *sorted = mem_alloc(acct, bytes, e);
    if (!sorted) return ST_ERROR;
    memcpy(sorted, b->rowids, (size_t)bytes);
    qsort(sorted, (size_t)b->n, sizeof *sorted, rowid_cmp);
    for (int64_t i = 0; i < a->n && !*yes; i++)
        *yes = bsearch(&a->rowids[i], sorted, (size_t)b->n, sizeof *sorted, rowid_cmp) != NULL;
    mem_free(acct, sorted, bytes);
    return ST_OK;
}

static bool same_key(const Table *t, int key, int64_t a, int64_t b) {
    const KeyConstraint *k = &t->keys[key];
    for (int j = 0; j < k->n_cols; j++) {
        Value x, y;
        table_value(t, a, k->cols[j], &x);
        table_value(t, b, k->cols[j], &y);
        if (x.is_null || y.is_null || value_cmp(&x, &y) != 0) return false;
    }
    return true;
}
/* Both records are of appended rows. */
static bool have_common_key(const UndoRecord *a, const UndoRecord *b) {
    const Table *t = a->t;
    if (t->n_keys == 0 || a->n > KEY_PAIRS / MAX_OF(b->n, INT64_C(1))) return false;
    for (int64_t i = 0; i < a->n; i++)
        for (int64_t j = 0; j < b->n; j++)
            for (int k = 0; k < t->n_keys; k++)
                if (same_key(t, k, rowid_make(a->tablet, a->rows + i), rowid_make(b->tablet, b->rows + j))) return true;
    return false;
}

bool undo_each_held(const UndoLog *u, int64_t first, bool read_now, UndoRowFn fn, void *ctx) {
    for (int64_t k = read_now ? 0 : first; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        const bool holds = r->kind != UNDO_ADD || r->read == ADD_READ;
        if (!read_now && r->t && r->kind == UNDO_APPEND && r->t->n_keys > 0 && !fn(ctx, r->t, -1)) return false;
        if (!names_rows(r) || (read_now ? r->kind != UNDO_ADD || r->read != ADD_READ_NOW : !holds)) continue;
        for (int64_t i = 0; i < r->n; i++)
            if (!fn(ctx, r->t, r->rowids[i])) return false;
    }
    return true;
}
static bool is_compared(const UndoRecord *r, bool before_mark, UndoWaits what) {
    const bool read_now = r->kind == UNDO_ADD && r->read == ADD_READ_NOW;
    return r->t && (what == UNDO_WAITS_COMMIT ? is_free_add(r) : !before_mark || read_now);
}
bool undo_may_wait(const UndoLog *u, int64_t mark, UndoWaits what, UndoRowFn held, void *ctx) {
    for (int64_t k = 0; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (!is_compared(r, k < mark, what)) continue;
        if (r->kind == UNDO_DELETE) return true; /* others' additions, which they do not hold, count too */
        if (r->kind == UNDO_APPEND && r->t->n_keys > 0 && held(ctx, r->t, -1)) return true;
        for (int64_t i = 0; names_rows(r) && i < r->n; i++)
            if (held(ctx, r->t, r->rowids[i])) return true;
    }
    return false;
}
Status undo_waits(const UndoLog *u, int64_t mark, UndoWaits what, const UndoLog *other, bool *yes, Err *e) {
    *yes = false;
    for (int64_t k = 0; k < u->recs.len && !*yes; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (!is_compared(r, k < mark, what)) continue;
        for (int64_t i = 0; i < other->recs.len && !*yes; i++) {
            const UndoRecord *o = &other->recs.items[i];
            if (o->t != r->t || o->generation != r->generation) continue;
            if (r->kind == UNDO_APPEND && o->kind == UNDO_APPEND) *yes = have_common_key(r, o);
            if (names_rows(r) && names_rows(o) && must_wait(r, what, o)) TRY(have_common(r, o, u->acct, yes, e));
        }
    }
    return ST_OK;
}
