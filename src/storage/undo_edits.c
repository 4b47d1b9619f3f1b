/* undo_edits.c - see undo_edits.h.
 *
 * Records of updates in place come one for each column, with one array of row numbers for all of them; a row that moves
 * is appended first and deleted then (update_by_moving in row_change.c), in the same order. A load into a table with
 * few rows makes it anew (install_fresh in load_end.c, merge.c).
 */
#include "storage/undo_edits.h"

#include "base/key.h"
#include "storage/keyslots.h"
#include "storage/pieces_int.h"

bool table_has_row(const Table *t, int64_t rowid) { return row_live(t, rowid); }

RowRange undo_edits_tablet(const Table *t, int64_t tablet) {
    return (RowRange){rowid_make(tablet, 0), t->tablets[tablet]->rows};
}
bool undo_names_on_commit(const UndoLog *u) {
    for (int64_t i = 0; i < u->recs.len; i++)
        if (u->recs.items[i].t && u->recs.items[i].t->on_commit) return true;
    return false;
}

bool undo_changes_tables(const UndoLog *u, int64_t mark, int n, const int64_t *ids) {
    for (int64_t i = mark; i < u->recs.len; i++) {
        const UndoRecord *r = &u->recs.items[i];
        for (int k = 0; r->t && r->kind != UNDO_LOCK && k < n; k++)
            if (r->t->id == ids[k]) return true;
    }
    return false;
}
bool undo_names_permanent(const UndoLog *u) {
    for (int64_t i = 0; i < u->recs.len; i++)
        if (u->recs.items[i].t && !key_is_temporary(u->recs.items[i].t->name)) return true;
    return false;
}

static bool add_range(Arena *a, TableEdits *x, int64_t first, int64_t n) {
    RowRange *last = x->inserted.len ? &x->inserted.items[x->inserted.len - 1] : NULL;
    if (n == 0) return true;
    if (last && last->first + last->n == first) return last->n += n, true;
    return vec_push(a, &x->inserted, ((RowRange){first, n}));
}
/* Takes the last n appended rows out again: into ids, in their order. */
static void take_last(TableEdits *x, int64_t n, int64_t *ids) {
    while (n > 0) {
        RowRange *last = &x->inserted.items[x->inserted.len - 1];
        ids[--n] = last->first + --last->n;
        if (last->n == 0) x->inserted.len--;
    }
}
static bool add_moved(Arena *a, TableEdits *x, const UndoRecord *r) {
    int64_t *ids = arena_array(a, int64_t, r->n + 1);
    if (!ids) return false;
    take_last(x, r->n, ids);
    for (int64_t i = 0; i < r->n; i++)
        if (!vec_push(a, &x->updated, ((RowEdit){r->rowids[i], ids[i], -1, -1}))) return false;
    return true;
}
static bool same_rows(const UndoLog *u, int64_t i, int64_t k) {
    const UndoRecord *x = &u->recs.items[i], *y = &u->recs.items[k];
    return y->kind == UNDO_UPDATE && y->t == x->t && y->rowids == x->rowids;
}
/* Record k is the first of its rows that sets one of the columns. */
static bool add_placed(Arena *a, TableEdits *x, int64_t mark, int64_t k) {
    const UndoRecord *r = &x->log->recs.items[k];
    int64_t first = k;
    while (first > mark && same_rows(x->log, k, first - 1)) first--;
    for (int64_t i = 0; i < r->n; i++)
        if (!vec_push(a, &x->updated, ((RowEdit){r->rowids[i], r->rowids[i], first, i}))) return false;
    return true;
}

/* ... of pieces, which set one of the columns or delete rows. */
static bool add_pieces(Arena *a, TableEdits *x, const bool *cols, int64_t k) {
    const UndoRecord *r = &x->log->recs.items[k];
    const TablePieces *p = r->pieces;
    bool of_interest = p->deletes;
    for (int i = 0; i < p->n_set; i++) of_interest |= cols[p->set[i]];
    if (!of_interest) return true;
    int64_t *ids = arena_array(a, int64_t, r->n + 1);
    if (!ids) return false;
    pieces_list_rows(p, ids);
    bool ok = true;
    for (int64_t i = 0; ok && i < r->n; i++)
        ok =
            p->deletes ? vec_push(a, &x->deleted, ids[i]) : vec_push(a, &x->updated, ((RowEdit){ids[i], ids[i], k, i}));
    return ok;
}

/* A load has rebuilt the table: the rows that were there come first. */
static bool add_behind(Arena *a, TableEdits *x, int64_t before) {
    const Table *t = x->table;
    x->renumbered = true;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const int64_t rows = t->tablets[i]->rows, skip = MIN_OF(before, rows);
        before -= skip;
        if (!add_range(a, x, rowid_make(i, skip), rows - skip)) return false;
    }
    return true;
}

Status undo_edits(const UndoLog *u, int64_t mark, const Table *t, const bool *cols, Arena *a, TableEdits *out) {
    bool ok = true;
    const int64_t *last = NULL; /* rows that have been added */
    *out = (TableEdits){.log = u, .table = t};
    for (int64_t k = mark; ok && k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (r->t != t) continue;
        if (r->kind == UNDO_APPEND) ok = add_range(a, out, rowid_make(r->tablet, r->rows), r->n);
        for (int64_t i = r->rows; ok && r->kind == UNDO_TABLETS && i < r->tablet; i++)
            ok = add_range(a, out, rowid_make(i, 0), t->tablets[i]->rows);
        if (r->kind == UNDO_STATE) ok = add_behind(a, out, r->state->live_rows);
        if (r->kind == UNDO_DELETE && r->moved) ok = add_moved(a, out, r);
        if (r->kind == UNDO_PIECES) ok = add_pieces(a, out, cols, k);
        for (int64_t i = 0; ok && r->kind == UNDO_DELETE && !r->moved && i < r->n; i++)
            ok = vec_push(a, &out->deleted, r->rowids[i]);
        if (r->kind != UNDO_UPDATE || r->rowids == last || !cols[r->col]) continue;
        last = r->rowids;
        ok = add_placed(a, out, mark, k);
    }
    return ok ? ST_OK : ST_ERROR;
}

void undo_edit_value(const TableEdits *x, const RowEdit *e, int col, Value *out) {
    const UndoLog *u = x->log;
    const UndoRecord *first = e->record >= 0 ? &u->recs.items[e->record] : NULL;
    if (first && first->kind == UNDO_PIECES && pieces_set_column(first->pieces, col)) {
        pieces_old_value(first->pieces, e->was, col, out);
        return;
    }
    for (int64_t k = e->record; k >= 0 && k < u->recs.len && same_rows(u, e->record, k); k++)
        if (u->recs.items[k].col == col) {
            undo_cell_value(&u->recs.items[k], e->place, out);
            return;
        }
    table_value(x->table, e->was, col, out);
}
