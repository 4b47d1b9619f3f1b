/* row_change.c - see row_change.h.
 *
 * A change first does everything that can fail (checks, memory, undo records: undo.c), then becomes visible; keys come
 * last, when all rows are in place, and a violation rolls the whole call back through the same undo records. So does a
 * row that NOT NULL or CHECK refuses, behind the keys of the rows before it. Statistics and min/max only ever widen
 * here: rolling back leaves them conservative. See keyindex.h on why undo does not touch the key indexes.
 */
#include "storage/row_change.h"

#include "storage/exprindex.h"
#include "storage/pieces_int.h"
#include "storage/row_errors.h"

/* ---- checks ---- */
static bool is_null(const Vec *v, int64_t r) { return v->valid && !v->valid[v->is_const ? 0 : r]; }
static bool refuses(const Vec *check, int64_t r) { return !((const uint8_t *)check->data)[r] && !is_null(check, r); }
static int32_t column_of(const NewRows *x, int32_t i) { return x->cols ? x->cols[i] : i; }

/* The first of rows first .. first + n - 1 that the check refuses, counted from `first`; n: none. */
static int64_t first_refused(const Vec *check, int64_t first, int64_t n) {
    const uint8_t *yes = (const uint8_t *)check->data + first, *no = n > 0 ? memchr(yes, 0, (size_t)n) : NULL;
    while (no && !refuses(check, first + (no - yes))) no = memchr(no + 1, 0, (size_t)(yes + n - no - 1));
    return no ? no - yes : n;
}
int64_t rows_passing(const Table *t, const NewRows *x) {
    int64_t n = x->n;
    for (int32_t i = 0; i < x->n_cols; i++) {
        const Vec *v = &x->vals[i];
        if (!v->valid || !t->cols[column_of(x, i)].not_null) continue;
        const uint8_t *valid = v->valid + (v->is_const ? 0 : x->first);
        if (n == 1 || (v->is_const && n > 0)) { /* a call costs as much as the rest */
            n = *valid ? n : 0;
            continue;
        }
        const uint8_t *bad = n > 0 ? memchr(valid, 0, (size_t)n) : NULL;
        if (bad) n = bad - valid;
    }
    for (int32_t k = 0; k < x->checks.n; k++) n = first_refused(&x->checks.vals[k], x->first, n);
    return n;
}

/* Row r of the vectors, as it would be stored, one pointer to a cell for each column. NULL: no memory. */
static const void *const *failing_row(Arena *a, const Table *t, const NewRows *x, const int64_t *rowids, int64_t r) {
    const void **cells = arena_array(a, const void *, t->n_cols + 1);
    Value *old = rowids ? arena_array(a, Value, t->n_cols + 1) : NULL;
    if (!cells || (rowids && !old)) return NULL;
    for (int c = 0; rowids && c < t->n_cols; c++) {
        table_value(t, rowids[r], c, &old[c]);
        cells[c] = old[c].is_null ? NULL : value_cell_const(&old[c]);
    }
    for (int32_t i = 0; i < x->n_cols; i++) {
        const Vec *v = &x->vals[i];
        const int64_t at = v->is_const ? 0 : r;
        cells[column_of(x, i)] = is_null(v, r) ? NULL : (const char *)v->data + at * phys_size((Phys)v->phys);
    }
    return cells;
}
/* The error of row r, which is refused. *stored: NULL, or whether it is by a view alone, whose condition is looked at
 * behind the keys of the row. */
static Status refuse(const Table *t, const NewRows *x, const int64_t *rowids, int64_t r, bool *stored, Err *e) {
    Arena *a = arena_new(NULL, NULL);
    const void *const *row = a ? failing_row(a, t, x, rowids, r) : NULL;
    int32_t i = 0, k = 0;
    while (i < x->n_cols && !(t->cols[column_of(x, i)].not_null && is_null(&x->vals[i], r))) i++;
    while (i == x->n_cols && !refuses(&x->checks.vals[k], r)) k++;
    const bool by_view = i == x->n_cols && k >= x->checks.n - x->checks.n_views;
    if (i < x->n_cols) (void)row_null_error(t, column_of(x, i), row, e);
    else if (by_view) (void)row_view_error(t, x->checks.names[k], row, e);
    else (void)row_check_error(t, x->checks.names[k], row, e);
    if (stored) *stored = by_view;
    arena_free(a);
    return ST_ERROR;
}

Status rows_check(const Table *t, const NewRows *x, const int64_t *rowids, Err *e) {
    const int64_t n = rows_passing(t, x);
    return n == x->n ? ST_OK : refuse(t, x, rowids, x->first + n, NULL, e);
}
/* How many rows go to the table; *fails: with the error `refused` when they are there (else it is not written). */
static int64_t rows_stored(const Table *t, const NewRows *x, const int64_t *rowids, bool *fails, Err *refused) {
    const int64_t n = rows_passing(t, x);
    bool more = false;
    *fails = n < x->n;
    if (!*fails) return n;
    err_clear(refused);
    (void)refuse(t, x, rowids, x->first + n, &more, refused);
    return n + more;
}

Status rows_conflict(Table *t, int index, const NewRows *x, int64_t *rowid, Err *e) {
    *rowid = -1;
    for (int k = 0; k < t->n_keys && *rowid < 0; k++) {
        const KeyConstraint *c = &t->keys[k];
        Value key[KEYINDEX_MAX_COLS];
        bool null_key = index >= 0 && k != index;
        for (int j = 0; j < c->n_cols && !null_key; j++) {
            key[j] = vec_value(&x->vals[c->cols[j]], x->first, t->cols[c->cols[j]].type);
            null_key = key[j].is_null;
        }
        if (!null_key) *rowid = table_lookup(t, k, key);
    }
    for (int i = 0; i < t->n_exprs && *rowid < 0; i++)
        if (index < 0 || index == t->n_keys + i) TRY(exprindex_find(t, i, x->vals, x->first, rowid, e));
    return ST_OK;
}

/* ---- writing cells into a delta tablet ---- */
int128_t vec_int(const Vec *v, int64_t i) {
    switch (v->phys) {
    case PH_BOOL: return ((const uint8_t *)v->data)[i];
    case PH_I16: return ((const int16_t *)v->data)[i];
    case PH_I32: return ((const int32_t *)v->data)[i];
    case PH_I64: return ((const int64_t *)v->data)[i];
    default: return ((const int128_t *)v->data)[i];
    }
}
Status tablet_ensure_validity(Tablet *tab, int col, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    TabletColumn *c = &tab->cols[col];
    if (d->validity) return ST_OK;
    d->validity = mem_alloc(tab->block->open, tab->block->cap / 8, e);
    if (!d->validity) return ST_ERROR;
    memset(d->validity, 0xff, (size_t)(tab->block->cap / 8));
    if (c->validity) memcpy(d->validity, c->validity, (size_t)((tab->rows + 63) / 64 * 8)); /* the block's */
    c->validity = d->validity;
    return ST_OK;
}
Status tablet_write_string(Table *t, Tablet *tab, int col, void *cell, Str text, CellSummary *s, Err *e) {
    Dict *dict = t->cols[col].dict;
    if (dict) {
        int32_t code = dict_add(dict, text, e);
        if (code < 0) return ST_ERROR;
        memcpy(cell, &code, sizeof code);
        cell_summary_add(s, code);
    } else {
        Str copy;
        if (!strheap_add(&tab->block->heap, text, &copy, e)) return ST_ERROR;
        memcpy(cell, &copy, sizeof copy);
    }
    s->bytes += text.len;
    return ST_OK;
}
/* The cell of a row of an open or patched column. `code`: v holds dictionary codes. Counts NULLs only in `s`: appended
 * rows are not yet the tablet's. */
static Status write_cell(Table *t, Tablet *tab, int col, int64_t row, void *cell, const Vec *v, int64_t i, bool code,
                         CellSummary *s, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    if (v->is_const) i = 0;
    bool valid = !v->valid || v->valid[i];
    s->n++;
    if (!valid) {
        TRY(tablet_ensure_validity(tab, col, e));
        delta_set_valid(d, row, false);
        memset(cell, 0, (size_t)d->cell_size);
        s->nulls++;
        return ST_OK;
    }
    TabletColumn *c = &tab->cols[col];
    if (code) {
        int32_t k = ((const int32_t *)v->data)[i];
        memcpy(cell, &k, sizeof k);
        s->bytes += t->cols[col].dict->entries[k].len;
        cell_summary_add(s, k);
    } else if (t->cols[col].dict || c->phys == PH_STR) {
        TRY(tablet_write_string(t, tab, col, cell, ((const Str *)v->data)[i], s, e));
    } else if (phys_is_int(c->phys)) {
        int128_t x = vec_int(v, i);
        memcpy(cell, &x, (size_t)d->cell_size); /* little-endian */
        cell_summary_add(s, x);
    } else {
        memcpy(cell, (const char *)v->data + i * d->cell_size, (size_t)d->cell_size);
    }
    delta_set_valid(d, row, true);
    return ST_OK;
}
void tablet_widen(Tablet *tab, int col, const CellSummary *s) {
    TabletColumn *c = &tab->cols[col];
    DeltaCol *d = &tab->block->delta[col];
    d->wide = d->wide || s->wide;
    if (s->has_range) {
        c->min = c->has_minmax ? MIN_OF(c->min, s->min) : s->min;
        c->max = c->has_minmax ? MAX_OF(c->max, s->max) : s->max;
        c->has_minmax = true;
    }
    /* A range seen before a wide value came would be wrong; once wide, there is none. */
    if (d->wide) c->has_minmax = false;
}

/* ---- append ---- */
/* How many of rows [first, n) the tablet takes, by their strings; a tablet with no rows takes at least one. */
static int64_t rows_that_fit(const Table *t, const Tablet *tab, int64_t first, int64_t n, const Vec *cols) {
    int64_t fit = MIN_OF(n - first, TABLET_ROWS - tab->rows), total = tablet_text_bytes(tab);
    bool strings = false;
    for (int c = 0; c < t->n_cols; c++) strings = strings || tab->cols[c].phys == PH_STR;
    if (!strings) return fit;
    for (int64_t i = 0; i < fit; i++) {
        for (int c = 0; c < t->n_cols; c++)
            if (tab->cols[c].phys == PH_STR) total += ((const Str *)cols[c].data)[cols[c].is_const ? 0 : first + i].len;
        if (total > TABLET_TEXT_BYTES) return i == 0 && tab->rows == 0 ? 1 : i;
    }
    return fit;
}

/* Stores rows [from, n) of vectors without looking at keys. `codes[c]`: column c comes as dictionary codes. */
static Status append_rows(Table *t, int64_t from, int64_t n, const Vec *cols, const bool *codes, UndoLog *undo,
                          int64_t *rowids, Err *e) {
    for (int64_t first = from; first < n;) {
        Tablet *tab = t->n_tablets ? t->tablets[t->n_tablets - 1] : NULL;
        int64_t k = table_last_takes_rows(t) ? rows_that_fit(t, tab, first, n, cols) : 0;
        if (k == 0) {
            TRY(tablet_new_delta(t, &tab, e));
            if (table_add_tablet(t, tab, e) != ST_OK) {
                tablet_free(tab);
                return ST_ERROR;
            }
            k = rows_that_fit(t, tab, first, n, cols);
        }
        int64_t at = tab->rows;
        TRY(delta_reserve(tab, at + k, e));
        UndoRecord *r = undo_push(undo, UNDO_APPEND, t, e);
        if (!r) return ST_ERROR;
        r->tablet = t->n_tablets - 1;
        r->rows = at;
        r->n = 0;
        int64_t before = MAX_OF(t->live_rows, at) + (t->n_tablets > 1); /* 0 only when nothing is stored */
        for (int c = 0; c < t->n_cols; c++) {
            const DeltaCol *d = &tab->block->delta[c];
            CellSummary s = {0};
            for (int64_t i = 0; i < k; i++)
                TRY(write_cell(t, tab, c, at + i, delta_cell(d, at + i), &cols[c], first + i, codes && codes[c], &s,
                               e));
            tablet_widen(tab, c, &s);
            stats_widen(t, c, &s, before);
        }
        /* Visible from here on. */
        for (int c = 0; c < t->n_cols; c++)
            for (int64_t i = 0; i < k; i++) tab->cols[c].null_count += !column_row_valid(&tab->cols[c], at + i);
        tab->rows += k;
        tab->block->changes++;
        t->live_rows += k;
        r->n = k;
        if (rowids)
            for (int64_t i = 0; i < k; i++) rowids[first - from + i] = rowid_make(t->n_tablets - 1, at + i);
        first += k;
    }
    return ST_OK;
}

static Status enter_keys(Table *t, int64_t n, const int64_t *rowids, Err *e) {
    for (int k = 0; k < table_indexes(t); k++) TRY(keyindex_add_rows(t, k, n, rowids, e));
    return ST_OK;
}

/* Every change runs inside a log, the caller's or one of its own. */
typedef struct RowLog {
    Table *t;
    UndoLog *log;
    bool own;
    int64_t mark;
} RowLog;
static Status log_begin(RowLog *c, Table *t, UndoLog *undo, Err *e) {
    *c = (RowLog){t, undo, undo == NULL, 0};
    if (c->own && !(c->log = undo_new(&t->account, e))) return ST_ERROR;
    c->mark = undo_mark(c->log);
    return ST_OK;
}
static Status log_end(RowLog *c, Status st, int64_t rows) {
    if (st != ST_OK) undo_rollback(c->log, c->mark);
    else c->t->impl->changed_rows += rows;
    if (c->own) undo_free(c->log);
    if (st == ST_OK) table_changed(c->t);
    else c->t->version++;
    return st;
}

bool table_vecs_agree(const Table *t, int n_cols, const int *cols, int64_t first, int64_t n, const Vec *vecs) {
    for (int i = 0; i < n_cols; i++) {
        const Vec *v = &vecs[i];
        const int64_t from = v->is_const ? 0 : first;
        if (!cells_agree(t->cols[cols ? cols[i] : i].type, v->type, (Phys)v->phys, v->is_const ? 1 : n,
                         (const char *)v->data + from * phys_size((Phys)v->phys), v->valid ? v->valid + from : NULL))
            return false;
    }
    return true;
}

Status rows_insert(Table *t, const NewRows *x, UndoLog *undo, int64_t *rowids, Err *e) {
    if (x->n <= 0) return ST_OK;
    dbg_assert(x->n_cols == t->n_cols && table_vecs_agree(t, t->n_cols, NULL, x->first, x->n, x->vals));
    Err refused;
    bool fails;
    const int64_t n = rows_stored(t, x, NULL, &fails, &refused);
    int64_t one, *ids = rowids, *mem = NULL;
    if (!ids && n == 1) ids = &one;
    if (!ids && table_indexes(t) > 0 && n > 0) {
        ids = mem = mem_alloc(&t->account, n * 8, e);
        if (!mem) return ST_ERROR;
    }
    RowLog log;
    Status st = log_begin(&log, t, undo, e);
    if (st == ST_OK) {
        st = append_rows(t, x->first, x->first + n, x->vals, NULL, log.log, ids, e);
        if (st == ST_OK && n > 0) st = enter_keys(t, n, ids, e);
        if (st == ST_OK && fails) st = (err_copy(e, &refused), ST_ERROR);
        st = log_end(&log, st, n);
    }
    if (mem) mem_free(&t->account, mem, n * 8);
    return st;
}
Status table_append(Table *t, int64_t n, const Vec *cols, UndoLog *undo, int64_t *rowids, Err *e) {
    return rows_insert(t, &(NewRows){.n = n, .n_cols = t->n_cols, .vals = cols}, undo, rowids, e);
}

/* ---- delete ---- */
static bool row_exists(const Table *t, int64_t rowid) {
    int64_t tablet = rowid >> 32, row = rowid & 0xffffffff;
    return rowid >= 0 && tablet < t->n_tablets && row < t->tablets[tablet]->rows &&
           !tablet_row_deleted(t->tablets[tablet], row);
}

static Status delete_rows(Table *t, int64_t n, const int64_t *rowids, UndoLog *undo, int64_t *n_done, Err *e) {
    *n_done = 0;
    if (n <= 0) return ST_OK;
    for (int64_t i = 0; i < n; i++) {
        if (!row_exists(t, rowids[i])) continue;
        TRY(table_own_tablet(t, rowids[i] >> 32, e));
        TRY(tablet_ensure_deleted(t->tablets[rowids[i] >> 32], e));
    }
    int64_t *copy = undo_alloc(undo, n * 8, e);
    if (!copy) return ST_ERROR;
    UndoRecord *r = undo_push(undo, UNDO_DELETE, t, e);
    if (!r) return ST_ERROR;
    int64_t done = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!row_exists(t, rowids[i])) continue;
        Tablet *tab = t->tablets[rowids[i] >> 32];
        int64_t row = rowids[i] & 0xffffffff;
        tab->block->deleted[row >> 6] |= UINT64_C(1) << (row & 63);
        tab->n_deleted++;
        tab->block->changes++;
        copy[done++] = rowids[i];
    }
    r->rowids = copy;
    r->n = done;
    t->live_rows -= done;
    *n_done = done;
    return ST_OK;
}

Status table_delete(Table *t, int64_t n, const int64_t *rowids, UndoLog *undo, int64_t *n_done, Err *e) {
    RowLog log;
    int64_t done = 0;
    if (log_begin(&log, t, undo, e) != ST_OK) return ST_ERROR;
    Status st = delete_rows(t, n, rowids, log.log, &done, e);
    st = log_end(&log, st, done);
    if (n_done) *n_done = st == ST_OK ? done : 0;
    return st;
}

/* ---- update ---- */
/* Rows ids[0..n), some of the first in this tablet, change next: how many would get a patch that they have not. More
 * than `most` are not counted. */
static int64_t new_patches(const Tablet *tab, int col, int64_t n, const int64_t *ids, int64_t most) {
    const TabletColumn *c = &tab->cols[col];
    const int64_t end = c->is_delta ? tab->block->published : tab->rows;
    int64_t fresh = 0;
    for (int64_t i = 0; i < n && fresh <= most && ids[i] >> 32 == ids[0] >> 32; i++) {
        int64_t row = ids[i] & 0xffffffff;
        fresh += row < end && !column_patch(c, row);
    }
    return fresh;
}
/* What comes before these rows change in a tablet: no column gets more patches than a scan should meet. */
static Status begin_update(const Table *t, Tablet *tab, int col, int64_t n, const int64_t *ids, Err *e) {
    int64_t room = tablet_patch_limit(tab, col) - tablet_patched_rows(tab, col);
    int64_t fresh = new_patches(tab, col, n, ids, room);
    if (tab->cols[col].is_delta) return delta_begin_update(tab, col, fresh, fresh > room, e);
    return fresh > room ? tablet_open_column(t, tab, col, e) : ST_OK;
}
/* The row's cell beside the packed or shared ones; a value that a column's codes cannot have opens it. */
static Status place_patch(const Table *t, Tablet *tab, int col, int64_t row, const Vec *v, int64_t i, void **cell,
                          Err *e) {
    const TabletColumn *c = &tab->cols[col];
    if (v->is_const) i = 0;
    if (c->encoding == ENC_FOR && c->phys == PH_I128 && (!v->valid || v->valid[i])) {
        int128_t x = vec_int(v, i);
        if (x != (int64_t)x) {
            TRY(tablet_open_column(t, tab, col, e));
            *cell = delta_cell(&tab->block->delta[col], row);
            return ST_OK;
        }
    }
    return tablet_patch_cell(t, tab, col, row, cell, e);
}
static bool is_in_place(const Tablet *tab, int col, int64_t row) {
    const TabletColumn *c = &tab->cols[col];
    return c->is_delta && (!c->patches || row >= tab->block->published);
}
/* The cell where value i of v goes, behind begin_update; v NULL: any value that the column's cells can have. An undo
 * log may have it from now on. */
static Status update_cell(const Table *t, Tablet *tab, int col, int64_t row, const Vec *v, int64_t i, void **cell,
                          Err *e) {
    if (is_in_place(tab, col, row)) *cell = delta_cell(&tab->block->delta[col], row);
    else TRY(v ? place_patch(t, tab, col, row, v, i, cell, e) : tablet_patch_cell(t, tab, col, row, cell, e));
    DeltaCol *d = &tab->block->delta[col];
    delta_note_change(d, row);
    d->updated = true;
    d->updated_cells |= is_in_place(tab, col, row);
    tab->block->changes++;
    return ST_OK;
}
Status table_reserve_cell(Table *t, int64_t rowid, int col, Err *e) {
    TRY(table_own_tablet(t, rowid >> 32, e));
    Tablet *tab = t->tablets[rowid >> 32];
    void *cell;
    if (tab->cols[col].phys == PH_I128) TRY(tablet_open_column(t, tab, col, e));
    TRY(begin_update(t, tab, col, 1, &rowid, e));
    return update_cell(t, tab, col, rowid & 0xffffffff, NULL, 0, &cell, e);
}
UndoRecord *push_update(Table *t, int64_t n, int64_t *ids, int col, UndoLog *undo, Err *e) {
    int64_t size = phys_size((Phys)column_phys(&t->cols[col]));
    char *cells = undo_alloc(undo, n * size, e);
    uint8_t *valid = undo_alloc(undo, n, e);
    UndoRecord *r = cells && valid ? undo_push(undo, UNDO_UPDATE, t, e) : NULL;
    if (!r) return NULL;
    r->rowids = ids;
    r->col = col;
    r->cell_size = (int32_t)size;
    r->cells = cells;
    r->valid = valid;
    return r;
}
/* Rows that stay where they are: idx[] are positions in rowids and in the vectors. */
static Status update_in_place(Table *t, int64_t n, const int64_t *idx, const NewRows *x, const int64_t *rowids,
                              UndoLog *undo, Err *e) {
    if (n == 0) return ST_OK;
    int64_t *ids = undo_alloc(undo, n * 8, e);
    if (!ids) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) ids[i] = rowids[idx[i]];
    for (int s = 0; s < x->n_cols; s++) {
        const Vec *v = &x->vals[s];
        int col = x->cols[s];
        UndoRecord *r = push_update(t, n, ids, col, undo, e);
        if (!r) return ST_ERROR;
        CellSummary all = {0};
        for (int64_t i = 0; i < n; i++) {
            const bool first = i == 0 || ids[i] >> 32 != ids[i - 1] >> 32;
            if (first) TRY(table_own_tablet(t, ids[i] >> 32, e));
            Tablet *tab = t->tablets[ids[i] >> 32];
            TabletColumn *c = &tab->cols[col];
            int64_t row = ids[i] & 0xffffffff;
            void *cell;
            if (first) TRY(begin_update(t, tab, col, n - i, ids + i, e));
            TRY(update_cell(t, tab, col, row, v, idx[i], &cell, e));
            bool was = column_row_valid(c, row);
            if (!was) TRY(tablet_ensure_validity(tab, col, e));
            memcpy((char *)r->cells + i * r->cell_size, cell, (size_t)r->cell_size);
            if (was && c->phys == PH_STR) t->impl->dead_text += ((const Str *)cell)->len;
            r->valid[i] = was;
            r->n = i + 1;
            CellSummary one = {0};
            TRY(write_cell(t, tab, col, row, cell, v, idx[i], false, &one, e));
            c->null_count += (was ? 0 : -1) + (one.nulls ? 1 : 0);
            tablet_widen(tab, col, &one);
            cell_summary_join(&all, &one);
        }
        stats_widen(t, col, &all, t->live_rows + 1);
    }
    return ST_OK;
}

/* Rows of main, all of one tablet: their new versions go to the delta, the old ones are deleted. */
static Status update_by_moving(Table *t, int64_t n, const int64_t *idx, const NewRows *x, const int64_t *rowids,
                               UndoLog *undo, int64_t *new_ids, Arena *tmp, Err *e) {
    const Tablet *tab = t->tablets[rowids[idx[0]] >> 32];
    Vec *cols = arena_array(tmp, Vec, t->n_cols);
    bool *codes = arena_array(tmp, bool, t->n_cols);
    int32_t *pos = arena_alloc(tmp, n * 4);
    int64_t *old = arena_alloc(tmp, n * 8);
    if (!cols || !codes || !pos || !old) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        old[i] = rowids[idx[i]];
        pos[i] = (int32_t)(old[i] & 0xffffffff);
    }
    for (int c = 0; c < t->n_cols; c++) {
        uint8_t phys = column_phys(&t->cols[c]);
        const Vec *v = NULL;
        for (int s = 0; s < x->n_cols; s++)
            if (x->cols[s] == c) v = &x->vals[s];
        int64_t size = v ? phys_size((Phys)v->phys) : phys_size((Phys)phys);
        uint8_t *valid = arena_alloc(tmp, n);
        char *data = arena_alloc(tmp, n * size);
        if (!valid || !data) return ST_ERROR;
        bool nulls;
        if (v) {
            nulls = v->valid != NULL;
            for (int64_t i = 0; i < n; i++) {
                int64_t k = v->is_const ? 0 : idx[i];
                memcpy(data + i * size, (const char *)v->data + k * size, (size_t)size);
                valid[i] = !v->valid || v->valid[k];
            }
        } else {
            tablet_decode(t, tab, c, 0, pos, n, phys, data, valid, &nulls);
            codes[c] = t->cols[c].dict != NULL;
        }
        cols[c] =
            (Vec){.data = data, .valid = nulls ? valid : NULL, .phys = v ? v->phys : phys, .type = t->cols[c].type};
    }
    TRY(append_rows(t, 0, n, cols, codes, undo, new_ids, e));
    int64_t done;
    TRY(delete_rows(t, n, old, undo, &done, e));
    undo->recs.items[undo->recs.len - 1].moved = true;
    return ST_OK;
}

static bool index_is_set(const Table *t, int k, const NewRows *x) {
    for (int s = 0; s < x->n_cols; s++)
        if (table_index_reads(t, k, x->cols[s])) return true;
    return false;
}
static bool any_key_is_set(const Table *t, const NewRows *x) {
    for (int k = 0; k < t->n_keys; k++)
        if (index_is_set(t, k, x)) return true;
    return false;
}
/* Rows of the tablet stay where they are. Keys of main tablets are not changed there: an index may be their order. */
static bool changes_in_place(const Table *t, const Tablet *tab, const NewRows *x) {
    if (tablet_text_bytes(tab) >= TABLET_TEXT_BYTES) return false;
    return tab->is_delta || !any_key_is_set(t, x);
}
/* Sorts positions of rows that are there, places[0 .. n - 1] (NULL: the first n), into those that change in place and
 * those that move. */
static void choose_places(const Table *t, int64_t n, const int64_t *places, const NewRows *x, const int64_t *rowids,
                          int64_t *placed, int64_t *n_placed, int64_t *moved, int64_t *n_moved) {
    int64_t last = -1;
    bool stay = false;
    *n_placed = *n_moved = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = places ? places[k] : x->first + k;
        if (!row_exists(t, rowids[i])) continue;
        int64_t tablet = rowids[i] >> 32;
        if (tablet != last) stay = changes_in_place(t, t->tablets[tablet], x);
        last = tablet;
        if (stay) placed[(*n_placed)++] = i;
        else moved[(*n_moved)++] = i;
    }
}

/* The moved rows, in runs of one tablet with ascending rowids (a row named twice moves once). Returns how many moved in
 * *n_moved. */
static Status move_rows(Table *t, int64_t n, int64_t *moved, const NewRows *x, const int64_t *rowids, UndoLog *undo,
                        int64_t *new_ids, int64_t *n_moved, Err *e) {
    Arena *run = arena_new(&t->account, e);
    Status st = run ? ST_OK : ST_ERROR;
    int64_t done = 0;
    for (int64_t i = 0; i < n && st == ST_OK;) {
        int64_t k = 1;
        if (!row_exists(t, rowids[moved[i]])) {
            i++;
            continue;
        }
        while (i + k < n && k < 4096 && rowids[moved[i + k]] >> 32 == rowids[moved[i]] >> 32 &&
               rowids[moved[i + k]] > rowids[moved[i + k - 1]] && row_exists(t, rowids[moved[i + k]]))
            k++;
        arena_reset(run);
        st = update_by_moving(t, k, moved + i, x, rowids, undo, new_ids + done, run, e);
        done += k;
        i += k;
    }
    arena_free(run);
    *n_moved = done;
    return st;
}

/* The first n rows of x, or those at n places. */
static Status update_rows(Table *t, int64_t n, const int64_t *places, const NewRows *x, const int64_t *rowids,
                          UndoLog *undo, Arena *tmp, int64_t *n_done, Err *e) {
    int64_t *moved = arena_alloc(tmp, n * 8), *placed = arena_alloc(tmp, n * 8), *ids = arena_alloc(tmp, n * 8);
    int64_t n_moved = 0, n_placed = 0;
    if (!moved || !placed || !ids) return ST_ERROR;
    choose_places(t, n, places, x, rowids, placed, &n_placed, moved, &n_moved);
    TRY(update_in_place(t, n_placed, placed, x, rowids, undo, e));
    TRY(move_rows(t, n_moved, moved, x, rowids, undo, ids, &n_moved, e));
    int64_t *stayed = ids + n_moved;
    for (int64_t i = 0; i < n_placed; i++) stayed[i] = rowids[placed[i]];
    for (int k = 0; k < table_indexes(t); k++) {
        TRY(keyindex_add_rows(t, k, n_moved, ids, e));
        if (index_is_set(t, k, x)) TRY(keyindex_add_rows(t, k, n_placed, stayed, e));
    }
    *n_done = n_moved; /* a merge has nothing to gain from rows that stay */
    return ST_OK;
}

Status rows_update(Table *t, const NewRows *x, const int64_t *rowids, UndoLog *undo, Err *e) {
    if (x->n <= 0 || x->n_cols <= 0) return ST_OK;
    dbg_assert(table_vecs_agree(t, x->n_cols, x->cols, x->first, x->n, x->vals));
    Err refused;
    bool fails;
    const int64_t n = rows_stored(t, x, rowids, &fails, &refused);
    Arena *tmp = arena_new(&t->account, e);
    if (!tmp) return ST_ERROR;
    RowLog log;
    int64_t done = 0;
    Status st = log_begin(&log, t, undo, e);
    if (st == ST_OK) {
        if (n > 0) st = update_rows(t, n, NULL, x, rowids, log.log, tmp, &done, e);
        if (st == ST_OK && fails) st = (err_copy(e, &refused), ST_ERROR);
        st = log_end(&log, st, done);
    }
    arena_free(tmp);
    return st;
}
Status rows_update_some(Table *t, const NewRows *x, const int64_t *rowids, int64_t n, const int64_t *places,
                        UndoLog *undo, Err *e) {
    Arena *tmp = arena_new(&t->account, e);
    if (!tmp) return ST_ERROR;
    RowLog log;
    int64_t done = 0;
    Status st = log_begin(&log, t, undo, e);
    if (st == ST_OK) st = log_end(&log, update_rows(t, n, places, x, rowids, log.log, tmp, &done, e), done);
    arena_free(tmp);
    return st;
}
Status table_update(Table *t, int64_t n, const int64_t *rowids, int n_set, const int *set_cols, const Vec *vals,
                    UndoLog *undo, Err *e) {
    return rows_update(t, &(NewRows){.n = n, .n_cols = n_set, .cols = set_cols, .vals = vals}, rowids, undo, e);
}
