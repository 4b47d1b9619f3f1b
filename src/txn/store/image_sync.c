/* image_sync.c - what changed in an image goes to its table.
 *
 * Deletes come first, so that the keys of rows that went are free for rows that came; then updates, then inserts.
 * Everything runs in one undo log: what fails is rolled back as a whole, and the image learns the rows' new places only
 * after all has gone well.
 *
 * An update moves a row of main to the delta: table_update appends the rows that move in the order given. Their new
 * rowids follow from where the delta ended before, and the old rows' delete bits say which ones moved.
 */
#include "txn/store/image_int.h"
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

static Status sync_updates(Sync *s, Err *e) {
    Image *im = s->im;
    Table *t = im->table;
    int *set = arena_array(s->tmp, int, im->n_cols), n_set = 0;
    Vec *vals = arena_array(s->tmp, Vec, im->n_cols);
    int64_t *ids = arena_alloc(s->tmp, SYNC_ROWS * 8);
    if (!set || !vals || !ids) return ST_ERROR;
    for (int32_t c = 0; c < im->n_cols; c++)
        if (im->impl->writes[c]) set[n_set++] = c;
    for (int64_t first = 0; first < s->n_updates; first += SYNC_ROWS) {
        int64_t n = MIN_OF(SYNC_ROWS, s->n_updates - first);
        arena_reset(s->batch);
        for (int64_t i = 0; i < n; i++) ids[i] = im->rowids[s->updates[first + i]];
        for (int k = 0; k < n_set; k++)
            if (!gather(s, set[k], n, s->updates + first, &vals[k])) return ST_ERROR;
        /* Where moved rows will go. */
        int64_t tablet = t->n_tablets, at = 0;
        if (tablet > 0 && t->tablets[tablet - 1]->is_delta) at = t->tablets[--tablet]->rows;
        TRY(table_update(t, n, ids, n_set, set, vals, s->undo, e));
        for (int64_t i = 0; i < n; i++) {
            const uint64_t *deleted = t->tablets[ids[i] >> 32]->deleted;
            int64_t pos = ids[i] & 0xffffffff;
            if (deleted && (deleted[pos >> 6] >> (pos & 63) & 1)) {
                while (tablet < t->n_tablets && at >= t->tablets[tablet]->rows) tablet++, at = 0;
                if (tablet >= t->n_tablets)
                    return err_internal(e, "rows of table \"%s\" were lost in an update", t->name);
                ids[i] = tablet << 32 | at++;
            }
            s->updated[first + i] = ids[i];
        }
        while (tablet < t->n_tablets && at >= t->tablets[tablet]->rows) tablet++, at = 0;
        if (tablet < t->n_tablets)
            return err_internal(e, "rows of table \"%s\" came from nowhere in an update", t->name);
    }
    return ST_OK;
}
static Status sync_inserts(Sync *s, Err *e) {
    Image *im = s->im;
    Vec *cols = arena_array(s->tmp, Vec, im->n_cols);
    if (!cols) return ST_ERROR;
    for (int64_t first = 0; first < s->n_inserts; first += SYNC_ROWS) {
        int64_t n = MIN_OF(SYNC_ROWS, s->n_inserts - first);
        arena_reset(s->batch);
        for (int32_t c = 0; c < im->n_cols; c++)
            if (!gather(s, c, n, s->inserts + first, &cols[c])) return ST_ERROR;
        TRY(table_append(im->table, n, cols, s->undo, s->inserted + first, e));
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
