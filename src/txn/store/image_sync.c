/* image_sync.c - a table is brought up to date with its image.
 *
 * Deletes come first, so that the keys of rows that went are free for rows that came; then updates, then inserts.
 * Everything runs in one undo log: what fails is rolled back as a whole, and the image learns the rows' new places only
 * after all has gone well.
 *
 * Cells that are the table's own (home.c) have nothing to be copied for: updates are noted, and inserted rows become
 * tablets where they are. Of other rows table_update and table_append get copies. An update may move a row of main to
 * the delta: in the order given, so that the new rowids follow from where the delta ended before; the old rows' delete
 * bits say which ones moved.
 */
#include "txn/store/store_int.h"
#include "txn/store/device_copy.h"

enum { SYNC_ROWS = 16384 };

typedef struct Sync {
    Image *im;
    UndoLog *undo;
    Arena *tmp; /* for the whole of it */
    Arena *batch;
    int64_t n_deletes, n_updates, n_inserts;
    int64_t *deletes;           /* rowids */
    int64_t *updates, *updated; /* rows, and their rowids afterwards */
    int64_t *inserts, *inserted;
} Sync;

typedef enum Change { CHANGE_NONE, CHANGE_DELETE, CHANGE_UPDATE, CHANGE_INSERT } Change;
/* An insert that was undone, or a row that came and went between two calls, is no change. */
static Change row_change(const Image *im, int64_t r) {
    bool stored = image_is_stored(im, r);
    if (im->live[r] != ROW_LIVE) return stored && im->dirty[r] & DIRTY_DELETED ? CHANGE_DELETE : CHANGE_NONE;
    if (!stored) return CHANGE_INSERT;
    return im->dirty[r] & DIRTY_UPDATED ? CHANGE_UPDATE : CHANGE_NONE;
}
/* The next row with a mark, from r on. */
static int64_t next_dirty(const Image *im, int64_t r, int64_t rows) {
    for (; r < rows && (r & 7) != 0; r++)
        if (im->dirty[r]) return r;
    for (uint64_t eight; r + 8 <= rows; r += 8) {
        memcpy(&eight, im->dirty + r, 8);
        if (eight) break;
    }
    while (r < rows && !im->dirty[r]) r++;
    return r;
}
bool image_is_dirty(const Image *im) {
    if (device_copy_newer(im)) return true;
    int64_t rows = atomic_load(&im->rows);
    return next_dirty(im, 0, rows) < rows;
}

static Status list_changes(Sync *s) {
    const Image *im = s->im;
    int64_t rows = atomic_load(&im->rows);
    for (int64_t r = -1; (r = next_dirty(im, r + 1, rows)) < rows;) {
        Change c = row_change(im, r);
        s->n_deletes += c == CHANGE_DELETE;
        s->n_updates += c == CHANGE_UPDATE;
        s->n_inserts += c == CHANGE_INSERT;
    }
    s->deletes = arena_alloc(s->tmp, s->n_deletes * 8);
    s->updates = arena_alloc(s->tmp, s->n_updates * 8);
    s->updated = arena_alloc(s->tmp, s->n_updates * 8);
    s->inserts = arena_alloc(s->tmp, s->n_inserts * 8);
    s->inserted = arena_alloc(s->tmp, s->n_inserts * 8);
    if (!s->deletes || !s->updates || !s->updated || !s->inserts || !s->inserted) return ST_ERROR;
    int64_t d = 0, u = 0, i = 0;
    for (int64_t r = -1; (r = next_dirty(im, r + 1, rows)) < rows;) {
        switch (row_change(im, r)) {
        case CHANGE_DELETE: s->deletes[d++] = im->rowids[r]; break;
        case CHANGE_UPDATE: s->updates[u++] = r; break;
        case CHANGE_INSERT: s->inserts[i++] = r; break;
        case CHANGE_NONE: break;
        }
    }
    return ST_OK;
}

/* The column's cells of n rows. */
static bool gather(const Sync *s, int32_t c, int64_t n, const int64_t *rows, Vec *out) {
    const ImageColumn *col = &s->im->cols[c];
    int64_t size = phys_size((Phys)col->phys);
    char *cells = arena_alloc(s->batch, n * size);
    uint8_t *valid = col->valid ? arena_alloc(s->batch, n) : NULL;
    if (!cells || (col->valid && !valid)) return false;
    for (int64_t i = 0; i < n; i++) memcpy(cells + i * size, image_cell(col, rows[i]), (size_t)size);
    for (int64_t i = 0; valid && i < n; i++) valid[i] = image_is_valid(col, rows[i]);
    *out = (Vec){.data = cells, .valid = valid, .phys = col->phys, .type = s->im->table->cols[c].type};
    return true;
}

/* Where rows that leave their tablet in an update go. */
typedef struct DeltaEnd {
    int64_t tablet, at;
} DeltaEnd;
static DeltaEnd delta_end(const Table *t) {
    DeltaEnd d = {.tablet = t->n_tablets};
    const Tablet *last = d.tablet > 0 ? t->tablets[d.tablet - 1] : NULL;
    if (last && last->is_delta && !last->block->has_home) d = (DeltaEnd){d.tablet - 1, last->rows};
    return d;
}
static void skip_full(const Table *t, DeltaEnd *d) {
    while (d->tablet < t->n_tablets && d->at >= t->tablets[d->tablet]->rows) *d = (DeltaEnd){d->tablet + 1, 0};
}
/* Columns set[0..n_set) of image rows rows[0..n), n at most SYNC_ROWS; ids: their rowids, and those afterwards. */
static Status update_batch(Sync *s, int64_t n, const int64_t *rows, int64_t *ids, int n_set, const int *set, Vec *vals,
                           Err *e) {
    Table *t = s->im->table;
    arena_reset(s->batch);
    for (int k = 0; k < n_set; k++)
        if (!gather(s, set[k], n, rows, &vals[k])) return ST_ERROR;
    DeltaEnd end = delta_end(t);
    TRY(table_update(t, n, ids, n_set, set, vals, s->undo, e));
    for (int64_t i = 0; i < n; i++) {
        if (!tablet_row_deleted(t->tablets[ids[i] >> 32], ids[i] & 0xffffffff)) continue;
        skip_full(t, &end);
        if (end.tablet >= t->n_tablets) return err_internal(e, "rows of table \"%s\" were lost in an update", t->name);
        ids[i] = end.tablet << 32 | end.at++;
    }
    skip_full(t, &end);
    if (end.tablet < t->n_tablets)
        return err_internal(e, "rows of table \"%s\" came from nowhere in an update", t->name);
    return ST_OK;
}
/* Rows whose cells the table has to get: all columns that bulks write. Rows whose cells are the table's: strings. */
static Status sync_rows(Sync *s, bool home, int64_t n, const int64_t *rows, int64_t *ids, Err *e) {
    const Image *im = s->im;
    int *set = arena_array(s->tmp, int, im->n_cols), n_set = 0;
    Vec *vals = arena_array(s->tmp, Vec, im->n_cols);
    if (!set || !vals) return ST_ERROR;
    for (int32_t c = 0; c < im->n_cols; c++)
        if (im->impl->writes[c] && !(home && home_takes(im, c))) set[n_set++] = c;
    for (int64_t first = 0; n_set > 0 && first < n; first += SYNC_ROWS)
        TRY(update_batch(s, MIN_OF(SYNC_ROWS, n - first), rows + first, ids + first, n_set, set, vals, e));
    return ST_OK;
}
/* What the table keeps beside cells that are its own already. */
static Status note_changes(Sync *s, int64_t n, const int64_t *ids, Err *e) {
    const Image *im = s->im;
    int *set = arena_array(s->tmp, int, im->n_cols), n_set = 0;
    if (!set) return ST_ERROR;
    for (int32_t c = 0; c < im->n_cols; c++)
        if (im->impl->writes[c] && home_takes(im, c)) set[n_set++] = c;
    return n_set > 0 ? table_home_changed(im->table, n, ids, n_set, set, e) : ST_OK;
}
/* Rows that a string makes leave their tablet take along what it has beside their cells: that comes first. */
static Status sync_updates(Sync *s, Err *e) {
    Image *im = s->im;
    int64_t *rows = arena_alloc(s->tmp, s->n_updates * 8), n = 0, h = 0;
    if (!rows) return ST_ERROR;
    for (int64_t i = 0; i < s->n_updates; i++) /* those at home first */
        if (home_has_row(im, s->updates[i])) rows[h++] = s->updates[i];
    n = h;
    for (int64_t i = 0; h < s->n_updates && i < s->n_updates; i++)
        if (!home_has_row(im, s->updates[i])) rows[n++] = s->updates[i];
    memcpy(s->updates, rows, (size_t)n * 8);
    for (int64_t i = 0; i < n; i++) s->updated[i] = im->rowids[rows[i]];
    TRY(note_changes(s, h, s->updated, e));
    TRY(sync_rows(s, false, n - h, rows + h, s->updated + h, e));
    return sync_rows(s, true, h, rows, s->updated, e);
}

/* ---- inserts ---- */
/* The table gets copies of inserts [from, to). */
static Status copy_inserts(Sync *s, int64_t from, int64_t to, Err *e) {
    Image *im = s->im;
    Vec *cols = arena_array(s->tmp, Vec, im->n_cols);
    if (!cols) return ST_ERROR;
    for (int64_t first = from; first < to; first += SYNC_ROWS) {
        int64_t n = MIN_OF(SYNC_ROWS, to - first);
        arena_reset(s->batch);
        for (int32_t c = 0; c < im->n_cols; c++)
            if (!gather(s, c, n, s->inserts + first, &cols[c])) return ST_ERROR;
        TRY(table_append(im->table, n, cols, s->undo, s->inserted + first, e));
    }
    return ST_OK;
}
/* A row that came since the table was last up to date, or a number that no row has got. */
static bool is_fresh(const Image *im, int64_t r) {
    return im->dirty[r] & DIRTY_INSERTED || (im->dirty[r] == 0 && im->live[r] == ROW_DEAD);
}
/* Rows [row, row + n) become the table's last ones where they are; *at: how many of the inserts are done. */
static Status adopt_run(Sync *s, int64_t row, int64_t n, int64_t *at, Err *e) {
    Image *im = s->im;
    Table *t = im->table;
    HomeCells *cells = arena_array(s->batch, HomeCells, im->n_cols);
    Vec *vecs = arena_array(s->batch, Vec, im->n_cols);
    uint8_t *dead = arena_alloc(s->batch, n);
    int64_t *rows = arena_alloc(s->batch, n * 8), first = 0, last = t->n_tablets - 1;
    if (!cells || !vecs || !dead || !rows) return ST_ERROR;
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        rows[i] = row + i;
        dead[i] = im->live[row + i] != ROW_LIVE;
        all &= !dead[i];
    }
    for (int32_t c = 0; c < im->n_cols; c++) {
        if (home_takes(im, c)) {
            cells[c] = home_cells(im, c, row);
        } else {
            if (!gather(s, c, n, rows, &vecs[c])) return ST_ERROR;
        }
    }
    HomeRows r = {.home = &im->impl->home->base,
                  .n = n,
                  .cells = cells,
                  .vecs = vecs,
                  .dead = all ? NULL : dead,
                  .continues = last >= 0 && home_ends_at(im, last, row)};
    TRY(table_append_home(t, &r, s->undo, &first, e));
    TRY(home_note_tablet(im, first >> 32, row - (first & 0xffffffff), (first & 0xffffffff) + n, e));
    for (int64_t i = 0; i < n; i++)
        if (!dead[i]) s->inserted[(*at)++] = first + i;
    return ST_OK;
}
static Status add_run(Sync *s, int64_t row, int64_t n, int64_t *at, Err *e) {
    enum { ADOPT_ROWS = 64 }; /* fewer are not worth a tablet */
    const Image *im = s->im;
    int64_t live = 0;
    if (n >= ADOPT_ROWS || home_ends_at(im, im->table->n_tablets - 1, row)) return adopt_run(s, row, n, at, e);
    for (int64_t i = 0; i < n; i++) live += im->live[row + i] == ROW_LIVE;
    TRY(copy_inserts(s, *at, *at + live, e));
    *at += live;
    return ST_OK;
}
/* Rows that have come lie side by side: they are tablets as they are, unless most of their numbers were not used. */
static Status sync_inserts(Sync *s, Err *e) {
    Image *im = s->im;
    int64_t rows = atomic_load(&im->rows), from = im->impl->synced_rows, done = 0;
    bool adopt = im->impl->settled && s->n_inserts * 2 >= rows - from;
    while (done < s->n_inserts && (!adopt || s->inserts[done] < from)) done++;
    TRY(copy_inserts(s, 0, done, e));
    for (int64_t r = from, n; adopt && r < rows; r += n) {
        Tablet *tab = im->table->n_tablets ? im->table->tablets[im->table->n_tablets - 1] : NULL;
        int64_t used = tab && tab->block->has_home ? tab->rows % TABLET_ROWS : 0;
        for (n = 0; r + n < rows && n < SYNC_ROWS && used + n < TABLET_ROWS && is_fresh(im, r + n);) n++;
        arena_reset(s->batch);
        if (n == 0) n = 1;
        else TRY(add_run(s, r, n, &done, e));
    }
    return ST_OK;
}

static Status sync_all(Sync *s, Err *e) {
    Table *t = s->im->table;
    TRY(list_changes(s));
    int64_t done = 0;
    if (s->n_deletes > 0) TRY(table_delete(t, s->n_deletes, s->deletes, s->undo, &done, e));
    if (done != s->n_deletes)
        return err_internal(e, "%lld rows of table \"%s\" were gone", (long long)(s->n_deletes - done), t->name);
    TRY(sync_updates(s, e));
    return sync_inserts(s, e);
}
/* Nothing can fail any more. */
static void learn(Sync *s) {
    Image *im = s->im;
    int64_t rows = atomic_load(&im->rows);
    for (int64_t i = 0; i < s->n_updates; i++) im->rowids[s->updates[i]] = s->updated[i];
    for (int64_t i = 0; i < s->n_inserts; i++) im->rowids[s->inserts[i]] = s->inserted[i];
    for (int64_t r = -1; (r = next_dirty(im, r + 1, rows)) < rows; im->dirty[r] = 0)
        if (im->live[r] != ROW_LIVE) im->rowids[r] = -1;
    im->impl->synced_rows = rows;
}

Status image_sync(Image *im, UndoLog *undo, Err *e) {
    TRY(device_copy_to_host(im, e));
    if (!image_is_dirty(im)) return ST_OK;
    device_copy_stale(im);
    if (im->version != im->table->content)
        return err_internal(e, "table \"%s\" was changed beside its image", im->table->name);
    Sync s = {.im = im, .undo = undo, .tmp = arena_new(im->account, e), .batch = arena_new(im->account, e)};
    if (!undo) s.undo = undo_new(im->account, e);
    Status st = ST_ERROR;
    if (s.tmp && s.batch && s.undo) {
        int64_t mark = undo_mark(s.undo);
        st = sync_all(&s, e);
        if (st == ST_OK) learn(&s);
        else undo_rollback(s.undo, mark);
        im->version = im->table->content;
    }
    if (!undo) undo_free(s.undo);
    arena_free(s.batch);
    arena_free(s.tmp);
    return st;
}
