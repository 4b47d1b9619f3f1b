/* undo_net.c - what a transaction's log comes to, row by row: see "net changes" in table.h.
 *
 * Everything is found from the log alone, whether its changes stand in the tables or not, and whatever has changed them
 * since. Rows that the log's owner appended are known by the places that its records name; everything else that the log
 * names was there before.
 */
#include "storage/pieces_int.h"
#include "storage/undo_rows.h"

#include <stdlib.h>

/* Rows of a tablet that the log's owner appended. */
typedef struct Range {
    const Table *t;
    int64_t tablet, first, end;
} Range;
typedef struct Net {
    const UndoLog *u;
    Arena *a;
    VEC(Range) own; /* by table, tablet, row */
} Net;

static int by_place(const void *x, const void *y) {
    const Range *a = x, *b = y;
    if (a->t != b->t) return (uintptr_t)a->t < (uintptr_t)b->t ? -1 : 1;
    if (a->tablet != b->tablet) return a->tablet < b->tablet ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}
static bool find_own(Net *n) {
    bool ok = true;
    for (int64_t i = 0; ok && i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        Range *last = n->own.len ? &n->own.items[n->own.len - 1] : NULL;
        if (!r->t) continue;
        if (r->kind == UNDO_APPEND && last && last->t == r->t && last->tablet == r->tablet && last->end == r->rows)
            last->end += r->n;
        else if (r->kind == UNDO_APPEND)
            ok = vec_push(n->a, &n->own, ((Range){r->t, r->tablet, r->rows, r->rows + r->n}));
        for (int64_t k = r->rows; ok && r->kind == UNDO_TABLETS && k < r->tablet; k++)
            ok = vec_push(n->a, &n->own, ((Range){r->t, k, 0, INT64_MAX}));
    }
    if (ok && n->own.len > 1) qsort(n->own.items, (size_t)n->own.len, sizeof *n->own.items, by_place);
    return ok;
}
static bool own_row(const Net *n, const Table *t, int64_t rowid) {
    Range at = {t, rowid >> 32, rowid & 0xffffffff, 0};
    int64_t lo = 0, hi = n->own.len; /* the first that begins behind the row */
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (by_place(&n->own.items[mid], &at) <= 0) lo = mid + 1;
        else hi = mid;
    }
    const Range *r = lo > 0 ? &n->own.items[lo - 1] : NULL;
    return r && r->t == t && r->tablet == at.tablet && at.first < r->end;
}

int64_t sort_distinct(int64_t *v, int64_t n) {
    int64_t k = 1;
    while (k < n && v[k - 1] < v[k]) k++;
    if (k >= n) return n;
    k = 0;
    qsort(v, (size_t)n, sizeof *v, rowid_cmp);
    for (int64_t i = 0; i < n; i++)
        if (k == 0 || v[k - 1] != v[i]) v[k++] = v[i];
    return k;
}
static bool listed(const int64_t *v, int64_t n, int64_t rowid) {
    return n > 0 && bsearch(&rowid, v, (size_t)n, sizeof *v, rowid_cmp);
}

static bool names_cells(const UndoRecord *r) { return r->kind == UNDO_UPDATE || r->kind == UNDO_ADD; }

/* Tablets that were loaded and are still there. */
static Status tablets_of(Net *n, const Table *t, NetChange *c) {
    VEC(int64_t) list = {0};
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        for (int64_t k = r->rows; r->t == t && r->kind == UNDO_TABLETS && k < r->tablet; k++)
            if (!vec_push(n->a, &list, k)) return ST_ERROR;
    }
    c->n_tablets = list.len;
    c->tablets = list.items;
    return ST_OK;
}
/* Rows of pieces, which were there before the log began. */
static void add_pieces(Net *n, const Table *t, bool deletes, int64_t *rows, int64_t *n_rows) {
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        if (r->t != t || r->kind != UNDO_PIECES || r->pieces->deletes != deletes) continue;
        pieces_list_rows(r->pieces, rows + *n_rows);
        *n_rows += r->n;
    }
}
static Status rows_of(Net *n, const Table *t, NetChange *c) {
    int64_t max_deleted = 0, max_updated = 0, max_inserted = 0, n_gone = 0;
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        if (r->t != t) continue;
        if (r->kind == UNDO_DELETE || (r->kind == UNDO_PIECES && r->pieces->deletes)) max_deleted += r->n;
        else if (names_cells(r) || r->kind == UNDO_PIECES) max_updated += r->n;
        else if (r->kind == UNDO_APPEND) max_inserted += r->n;
    }
    int64_t *gone = arena_alloc(n->a, max_deleted * 8 + 8); /* its own ones too */
    c->deleted = arena_alloc(n->a, max_deleted * 8 + 8);
    c->updated = arena_alloc(n->a, max_updated * 8 + 8);
    c->inserted = arena_alloc(n->a, max_inserted * 8 + 8);
    c->set = arena_calloc(n->a, t->n_cols + 1);
    if (!gone || !c->deleted || !c->updated || !c->inserted || !c->set) return ST_ERROR;
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        for (int64_t k = 0; r->t == t && r->kind == UNDO_DELETE && k < r->n; k++) gone[n_gone++] = r->rowids[k];
    }
    add_pieces(n, t, true, gone, &n_gone);
    n_gone = sort_distinct(gone, n_gone);
    for (int64_t k = 0; k < n_gone; k++)
        if (!own_row(n, t, gone[k])) c->deleted[c->n_deleted++] = gone[k];
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        if (r->t != t) continue;
        for (int k = 0; r->kind == UNDO_PIECES && k < r->pieces->n_set; k++) c->set[r->pieces->set[k]] = 1;
        for (int64_t k = 0; r->kind == UNDO_APPEND && k < r->n; k++) {
            int64_t rowid = rowid_make(r->tablet, r->rows + k);
            if (!listed(gone, n_gone, rowid)) c->inserted[c->n_inserted++] = rowid;
        }
        for (int64_t k = 0; names_cells(r) && k < r->n; k++)
            if (!listed(gone, n_gone, r->rowids[k]) && !own_row(n, t, r->rowids[k]))
                c->updated[c->n_updated++] = r->rowids[k], c->set[r->col] = 1;
    }
    const int64_t singly = c->n_updated;
    add_pieces(n, t, false, c->updated, &c->n_updated);
    const int64_t all = c->n_updated;
    if (n_gone > 0) c->n_updated = singly;
    for (int64_t k = c->n_updated; k < all; k++)
        if (!listed(gone, n_gone, c->updated[k])) c->updated[c->n_updated++] = c->updated[k];
    c->n_updated = sort_distinct(c->updated, c->n_updated);
    return ST_OK;
}

Status undo_net(const UndoLog *u, Arena *a, int64_t *n_out, NetChange **out) {
    Net n = {.u = u, .a = a};
    VEC(NetChange) list = {0};
    if (!find_own(&n)) return ST_ERROR;
    for (int64_t i = 0; i < u->recs.len; i++) {
        const UndoRecord *r = &u->recs.items[i];
        int64_t k = 0;
        if (!r->t) continue;
        while (k < list.len && list.items[k].table != r->t) k++;
        if (k == list.len &&
            !vec_push(a, &list, ((NetChange){.table = r->t, .id = r->t->id, .content_before = r->content})))
            return ST_ERROR;
        if (r->kind == UNDO_STATE) list.items[k].whole = list.items[k].replaced = true;
        if (r->kind == UNDO_TABLETS) list.items[k].whole = true;
    }
    for (int64_t k = 0; k < list.len; k++)
        if (!list.items[k].replaced) {
            TRY(tablets_of(&n, list.items[k].table, &list.items[k]));
            TRY(rows_of(&n, list.items[k].table, &list.items[k]));
        }
    *n_out = list.len;
    *out = list.items;
    return ST_OK;
}

int64_t undo_rows(const UndoLog *u) {
    int64_t n = 0;
    for (int64_t i = 0; i < u->recs.len; i++) n += u->recs.items[i].n;
    return n;
}
bool undo_is_whole(const UndoLog *u, int64_t mark) {
    for (int64_t i = mark; i < u->recs.len; i++)
        if (u->recs.items[i].kind == UNDO_STATE || u->recs.items[i].kind == UNDO_TABLETS) return true;
    return false;
}

/* ---- cells ---- */
void table_value(const Table *t, int64_t rowid, int col, Value *out) {
    const Column *c = &t->cols[col];
    *out = (Value){.type = c->type};
    int32_t pos = (int32_t)(rowid & 0xffffffff);
    uint8_t valid = 1;
    bool nulls = false;
    tablet_decode(t, t->tablets[rowid >> 32], col, 0, &pos, 1, (uint8_t)type_phys(c->type), value_cell(out), &valid,
                  &nulls);
    out->is_null = nulls && !valid;
}

typedef struct OldCell {
    const Table *t;
    int64_t rowid, record, i;
    int col;
} OldCell;
struct UndoCells {
    const UndoLog *u;
    VEC(OldCell) cells;  /* by table, column, row; of a cell's records the oldest first */
    VEC(int64_t) pieces; /* records of pieces, the oldest first */
};
static int by_cell(const void *x, const void *y) {
    const OldCell *a = x, *b = y;
    if (a->t != b->t) return (uintptr_t)a->t < (uintptr_t)b->t ? -1 : 1;
    if (a->col != b->col) return a->col < b->col ? -1 : 1;
    if (a->rowid != b->rowid) return a->rowid < b->rowid ? -1 : 1;
    if (a->record != b->record) return a->record < b->record ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}
Status undo_cells(const UndoLog *u, Arena *a, UndoCells **out) {
    UndoCells *x = *out = arena_new_of(a, UndoCells);
    if (!x) return ST_ERROR;
    x->u = u;
    for (int64_t k = 0; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (r->t && r->kind == UNDO_PIECES && !vec_push(a, &x->pieces, k)) return ST_ERROR;
        for (int64_t i = 0; r->t && r->kind == UNDO_UPDATE && i < r->n; i++)
            if (!vec_push(a, &x->cells, ((OldCell){r->t, r->rowids[i], k, i, r->col}))) return ST_ERROR;
    }
    if (x->cells.len > 1) qsort(x->cells.items, (size_t)x->cells.len, sizeof *x->cells.items, by_cell);
    return ST_OK;
}
/* The first record of pieces that have the cell; -1: none. */
static int64_t pieces_with(const UndoCells *x, const Table *t, int64_t rowid, int col) {
    for (int64_t k = 0; k < x->pieces.len; k++) {
        const UndoRecord *r = &x->u->recs.items[x->pieces.items[k]];
        if (r->t == t && r->kind == UNDO_PIECES && pieces_set_column(r->pieces, col) &&
            pieces_have_row(r->pieces, rowid))
            return x->pieces.items[k];
    }
    return -1;
}
bool undo_cells_find(const UndoCells *x, const Table *t, int64_t rowid, int col, Value *out) {
    const int64_t pieces = pieces_with(x, t, rowid, col);
    OldCell at = {t, rowid, -1, -1, col};
    int64_t lo = 0, hi = x->cells.len;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (by_cell(&x->cells.items[mid], &at) < 0) lo = mid + 1;
        else hi = mid;
    }
    const OldCell *c = lo < x->cells.len ? &x->cells.items[lo] : NULL;
    const bool singly = c && c->t == t && c->rowid == rowid && c->col == col;
    if (pieces >= 0 && !(singly && c->record < pieces)) {
        pieces_old_value(x->u->recs.items[pieces].pieces, rowid, col, out);
        return true;
    }
    if (!singly) return false;
    undo_cell_value(&x->u->recs.items[c->record], c->i, out);
    return true;
}
void undo_cell_value(const UndoRecord *r, int64_t i, Value *out) {
    const Column *column = &r->t->cols[r->col];
    *out = (Value){.type = column->type, .is_null = !r->valid[i]};
    if (out->is_null) return;
    const char *cell = (const char *)r->cells + i * r->cell_size;
    if (column->dict) {
        int32_t code;
        memcpy(&code, cell, sizeof code);
        out->u.str = column->dict->entries[code];
    } else {
        memcpy(value_cell(out), cell, (size_t)r->cell_size);
    }
}
