/* row_home.c - see row_home.h. */
#include "storage/row_home.h"

#include "storage/storage_int.h"

void row_home_drop(RowHome *h) {
    if (h && atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1) h->gone(h);
}

MemAccount *table_home_account(const Table *t) { return t->impl->parent; }

/* ---- cells that come to a home, move with it, and leave it ---- */
/* Memory of cells that are not wanted any more. */
static void drop_cells(struct TabletBlock *b, DeltaCol *d) {
    if (d->home) row_home_drop(d->home);
    else if (d->share) shared_drop(d->share);
    else if (d->cells) mem_free(b->acct, d->cells, b->cap * d->cell_size);
    if (d->spare) mem_free(b->acct, d->spare, b->cap * d->cell_size);
    d->cells = d->spare = NULL;
    d->share = NULL;
    d->home = NULL;
}
static void place_cells(Tablet *tab, int col, const HomeCells *at) {
    DeltaCol *d = &tab->block->delta[col];
    d->cells = at->cells;
    d->stride = at->stride;
    d->valid_bytes = at->valid;
    tab->cols[col].data = at->cells;
    tab->cols[col].stride = (int32_t)at->stride;
}
void tablet_home_moved(Tablet *tab, int col, const HomeCells *at) { place_cells(tab, col, at); }

/* A packed column's bits, which are its block's, as bits of its own. */
static Status own_validity(Tablet *tab, int col, Err *e) {
    struct TabletBlock *b = tab->block;
    const TabletColumn *c = &tab->cols[col];
    DeltaCol *d = &b->delta[col];
    if (!c->validity || d->validity) return ST_OK;
    d->validity = mem_alloc(b->acct, b->cap / 8, e);
    if (!d->validity) return ST_ERROR;
    memset(d->validity, 0xff, (size_t)(b->cap / 8));
    memcpy(d->validity, c->validity, (size_t)((tab->rows + 63) / 64 * 8));
    return ST_OK;
}
Status tablet_settle(Tablet *tab, int col, RowHome *h, const HomeCells *at, Err *e) {
    struct TabletBlock *b = tab->block;
    TabletColumn *c = &tab->cols[col];
    TRY(tablet_ensure_open_columns(tab, e));
    DeltaCol *d = &b->delta[col];
    d->cell_size = phys_size((Phys)c->phys);
    if (!c->is_delta) {
        TRY(own_validity(tab, col, e));
        tablet_mark_open(tab, col);
    }
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    drop_cells(b, d);
    d->home = h;
    b->has_home = true;
    place_cells(tab, col, at);
    return ST_OK;
}
Status tablet_leave_home(Tablet *tab, int col, Err *e) {
    struct TabletBlock *b = tab->block;
    DeltaCol *d = &b->delta[col];
    int64_t size = d->cell_size;
    if (!d->home) return ST_OK;
    char *cells = mem_alloc_raw(b->acct, b->cap * size, e);
    if (!cells) return ST_ERROR;
    column_copy_cells(&tab->cols[col], 0, tab->rows, cells, NULL);
    memset(cells + tab->rows * size, 0, (size_t)((b->cap - tab->rows) * size));
    drop_cells(b, d);
    place_cells(tab, col, &(HomeCells){.cells = cells, .stride = size});
    tab->cols[col].stride = 0;
    b->has_home = false;
    for (int c = 0; c < b->n_cols; c++) b->has_home |= b->delta[c].home != NULL;
    return ST_OK;
}

/* ---- what has changed there ---- */
/* The cell of a row as a home has it now. */
static void sum_cell(const TabletColumn *c, const DeltaCol *d, int64_t row, CellSummary *s) {
    s->n++;
    if (d->valid_bytes && !d->valid_bytes[row * d->stride]) {
        s->nulls++;
        return;
    }
    if (!phys_is_int(c->phys)) return;
    cell_summary_add(s, c->phys == PH_I128 ? column_i128(c, row) : column_i64(c, row));
}
/* Rows of one tablet. */
static Status column_changed(Table *t, Tablet *tab, int col, int64_t n, const int64_t *rowids, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    TabletColumn *c = &tab->cols[col];
    CellSummary s = {0};
    dbg_assert(d->home);
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rowids[i] & 0xffffffff;
        bool was = column_row_valid(c, row), is = !d->valid_bytes || d->valid_bytes[row * d->stride];
        if (was != is) {
            TRY(tablet_ensure_validity(tab, col, e));
            delta_set_valid(d, row, is);
            c->null_count += is ? -1 : 1;
        }
        sum_cell(c, d, row, &s);
    }
    tablet_widen(tab, col, &s);
    stats_widen(t, col, &s, t->live_rows + 1);
    return ST_OK;
}
Status table_home_changed(Table *t, int64_t n, const int64_t *rowids, int n_cols, const int *cols, Err *e) {
    Status st = ST_OK;
    for (int64_t i = 0, k; st == ST_OK && i < n; i += k) {
        Tablet *tab = t->tablets[rowids[i] >> 32];
        for (k = 1; i + k < n && rowids[i + k] >> 32 == rowids[i] >> 32;) k++;
        tab->block->changes++;
        for (int c = 0; st == ST_OK && c < n_cols; c++) st = column_changed(t, tab, cols[c], k, rowids + i, e);
    }
    if (n > 0) table_changed(t);
    return st;
}

/* ---- rows that have come ---- */
static Status home_tablet(Table *t, const HomeRows *r, Tablet **out, Err *e) {
    Tablet *tab = t->n_tablets ? t->tablets[t->n_tablets - 1] : NULL;
    *out = tab;
    if (r->continues && tab && tab->is_delta && tab->rows + r->n <= TABLET_ROWS &&
        tab->block->heap.total < TABLET_STR_BYTES)
        return ST_OK;
    TRY(tablet_new_delta(t, &tab, e));
    Status st = ST_OK;
    for (int c = 0; st == ST_OK && c < t->n_cols; c++)
        if (r->cells[c].cells) st = tablet_settle(tab, c, r->home, &r->cells[c], e);
    if (st == ST_OK) st = table_add_tablet(t, tab, e);
    if (st != ST_OK) tablet_free(tab);
    else *out = tab;
    return st;
}
/* The column of a row in a home. */
static Status note_cell(Tablet *tab, int col, int64_t row, bool dead, CellSummary *s, CellSummary *live, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    const TabletColumn *c = &tab->cols[col];
    bool valid = dead || !d->valid_bytes || d->valid_bytes[row * d->stride];
    uint64_t bit = UINT64_C(1) << (row & 63);
    if (!valid) TRY(tablet_ensure_validity(tab, col, e));
    if (d->validity) d->validity[row >> 6] = valid ? d->validity[row >> 6] | bit : d->validity[row >> 6] & ~bit;
    if (!dead) {
        sum_cell(c, d, row, s);
        sum_cell(c, d, row, live);
    } else if (phys_is_int(c->phys)) {
        cell_summary_add(s, c->phys == PH_I128 ? column_i128(c, row) : column_i64(c, row));
    }
    return ST_OK;
}
/* A string. Of a row that is not there it is empty, or any code. */
static Status write_string(Table *t, Tablet *tab, int col, int64_t row, const Vec *v, int64_t i, bool dead,
                           CellSummary *live, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    Dict *dict = t->cols[col].dict;
    if (!dead) return tablet_write_cell(t, tab, col, row, v, i, live, e);
    memset(delta_cell(d, row), 0, (size_t)d->cell_size);
    if (d->validity) d->validity[row >> 6] |= UINT64_C(1) << (row & 63);
    if (dict) cell_summary_add(live, 0);
    return dict && dict->n == 0 && dict_add(dict, (Str){"", 0, 0}, e) < 0 ? ST_ERROR : ST_OK;
}
/* A column of rows [at, at + n) of the tablet. Rows that are not there count as not NULL, so that only NULLs of others
 * give the tablet bits; they count for the tablet's bounds, but not for the table's. */
static Status append_column(Table *t, Tablet *tab, int col, int64_t at, const HomeRows *r, int64_t before, Err *e) {
    CellSummary s = {0}, live = {0};
    bool strings = !r->cells[col].cells;
    for (int64_t i = 0; i < r->n; i++) {
        bool dead = r->dead && r->dead[i];
        if (strings) TRY(write_string(t, tab, col, at + i, &r->vecs[col], i, dead, &live, e));
        else TRY(note_cell(tab, col, at + i, dead, &s, &live, e));
    }
    tablet_widen(tab, col, strings ? &live : &s);
    stats_widen(t, col, &live, before);
    return ST_OK;
}
static Status append_rows(Table *t, const HomeRows *r, UndoLog *undo, int64_t *first, Err *e) {
    Tablet *tab;
    TRY(home_tablet(t, r, &tab, e));
    int64_t at = tab->rows, before = MAX_OF(t->live_rows, at) + (t->n_tablets > 1);
    TRY(delta_reserve(tab, at + r->n, e));
    UndoRecord *u = undo_push(undo, UNDO_APPEND, t, e);
    if (!u) return ST_ERROR;
    u->tablet = t->n_tablets - 1;
    u->rows = at;
    u->n = 0;
    for (int c = 0; c < t->n_cols; c++) TRY(append_column(t, tab, c, at, r, before, e));
    for (int c = 0; c < t->n_cols; c++)
        for (int64_t i = 0; i < r->n; i++) tab->cols[c].null_count += !column_row_valid(&tab->cols[c], at + i);
    tab->rows += r->n;
    tab->block->changes++;
    t->live_rows += r->n;
    undo->recs.items[undo->recs.len - 1].n = r->n;
    *first = rowid_make(t->n_tablets - 1, at);
    return ST_OK;
}
/* Keys of rows that are there; the others are deleted. */
static Status settle_rows(Table *t, const HomeRows *r, int64_t first, UndoLog *undo, Err *e) {
    int64_t *ids = undo_alloc(undo, r->n * 8, e), n = 0, done;
    if (!ids) return ST_ERROR;
    for (int64_t i = 0; r->dead && i < r->n; i++)
        if (r->dead[i]) ids[n++] = first + i;
    if (n > 0) TRY(table_delete(t, n, ids, undo, &done, e));
    n = 0;
    for (int64_t i = 0; i < r->n; i++)
        if (!r->dead || !r->dead[i]) ids[n++] = first + i;
    for (int k = 0; k < t->n_keys; k++) TRY(keyindex_add_rows(t, k, n, ids, e));
    return ST_OK;
}
Status table_append_home(Table *t, const HomeRows *r, UndoLog *undo, int64_t *first, Err *e) {
    if (r->n <= 0) return ST_OK;
    UndoLog *log = undo ? undo : undo_new(&t->account, e);
    if (!log) return ST_ERROR;
    int64_t mark = undo_mark(log);
    Status st = append_rows(t, r, log, first, e);
    if (st == ST_OK) st = settle_rows(t, r, *first, log, e);
    if (st != ST_OK) undo_rollback(log, mark);
    else t->impl->changed_rows += r->n;
    if (!undo) undo_free(log);
    if (st == ST_OK) table_changed(t);
    else t->version++;
    return st;
}
