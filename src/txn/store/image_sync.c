/* image_sync.c - a table is brought up to date with its image.
 *
 * 1. One pass over the marks, by all threads of the pool: rows are cut into spans, which are the tablets at home
 *    (home.c) and the rows between them. Cells that are the table's own have nothing to be copied for: what the table
 *    keeps beside them is brought up to date at once. Other changes are listed.
 * 2. Deletes come first, so that the keys of rows that went are free for rows that came; then updates, then inserts.
 *    Rows that have come lie side by side and become tablets where they are; of other rows table_update and
 *    table_append get copies. An update may move a row of main to the delta (table.h): in the order given, so that the
 *    new rowids follow from where the delta ended before; the old rows' delete bits say which ones moved.
 * 3. Marks go only after all has gone well. The changes of step 2 are in one undo log, and what fails is rolled back as
 *    a whole; those of the first step may be made again. Rowids of the image follow last, or before where they do not
 *    count as long as rows have marks.
 */
#include "storage/redo.h"
#include "txn/store/device_copy.h"
#include "txn/store/store_int.h"

enum { SYNC_ROWS = 16384, SPAN_ROWS = TABLET_ROWS, SPAN_BATCH = 1024 };

/* A row that has a mark. An insert that was undone, or a row that came and went between two calls, is no change. */
typedef enum Change {
    CHANGE_GONE,   /* of rows that are not there: the table has it no more */
    CHANGE_DELETE, /* ... and has to delete it */
    CHANGE_UPDATE, /* all columns that bulks write are copied */
    CHANGE_TEXTS,  /* at home: copies of strings with a dictionary are */
    CHANGE_INSERT,
    CHANGE_NONE,
} Change;
typedef VEC(int64_t) RowList;
/* Rows [from, to). */
typedef struct Span {
    int64_t from, to;
    Tablet *home;               /* has these rows, in this order, with all columns that can be at home; NULL */
    bool marked;                /* some row is */
    bool counted;               /* bytes of its strings were */
    int64_t fresh;              /* inserted rows that may become tablets where they are */
    CellSummary *sums;          /* by column of Sync.set: cells at home that have changed */
    Arena *arena;               /* of the lists; NULL: they are empty */
    RowList lists[CHANGE_NONE]; /* by Change */
} Span;
typedef struct Sync {
    Image *im;
    UndoLog *undo;
    RowNumbers *numbers; /* NULL: not wanted */
    Err *e;
    Arena *tmp; /* for the whole of it */
    Arena *batch;
    int n_set, *set;     /* columns that bulks write and that can be at home */
    int n_texts, *texts; /* that they write and that cannot: strings with a dictionary */
    bool has_texts;      /* among the former are strings */
    int64_t n_spans;
    Span *spans;
    _Atomic int64_t next; /* span */
    _Atomic bool failed;
    int64_t n[CHANGE_NONE];
    int64_t *rows[CHANGE_NONE], *ids[CHANGE_NONE]; /* rows, and their rowids: those of updates afterwards */
} Sync;

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
/* Rows with a mark from *at on, ascending, of about `n` rows that are looked at; *at: where to go on. */
static int64_t marked_rows(const Image *im, int64_t *at, int64_t to, int64_t n, int64_t *rows) {
    int64_t r = next_dirty(im, *at, to), k = 0;
    for (const int64_t end = MIN_OF(to, r + n); r < end; r++) {
        rows[k] = r;
        k += im->dirty[r] != 0;
    }
    *at = r;
    return k;
}
bool image_is_dirty(const Image *im) {
    if (device_copy_newer(im)) return true;
    int64_t rows = atomic_load(&im->rows);
    return next_dirty(im, 0, rows) < rows;
}

/* ---- 1. marks ---- */
/* A row that has left its tablet is one of the deleted rows there. */
static Change row_change(const Span *p, const Image *im, int64_t r) {
    uint8_t mark = im->dirty[r];
    bool live = im->live[r] == ROW_LIVE;
    if (live && p->home && !(mark & DIRTY_INSERTED) && !tablet_row_deleted(p->home, r - p->from))
        return mark & DIRTY_UPDATED ? CHANGE_TEXTS : CHANGE_NONE;
    bool stored = image_is_stored(im, r);
    if (!live) return stored && mark & DIRTY_DELETED ? CHANGE_DELETE : CHANGE_GONE;
    if (!stored) return CHANGE_INSERT;
    return mark & DIRTY_UPDATED ? CHANGE_UPDATE : CHANGE_NONE;
}
/* The row, at home, has another string in the column than the table. A mark says only that some cell has changed. */
static bool text_differs(const Image *im, int32_t col, int64_t r) {
    const HomeCells at = home_cells(im, col, r);
    const bool valid = !at.valid || *at.valid;
    Value old;
    table_value(im->table, stored_rowid(im, r), col, &old);
    return valid == old.is_null || (valid && !str_eq(*(const Str *)at.cells, old.u.str));
}
static bool texts_differ(const Sync *s, int64_t r) {
    int i = 0;
    while (i < s->n_texts && !text_differs(s->im, s->texts[i], r)) i++;
    return i < s->n_texts;
}
static Status list_row(Span *p, const Image *im, Change c, int64_t r, Err *e) {
    if (!p->arena) p->arena = arena_new(im->account, e);
    if (!p->arena) return ST_ERROR;
    arena_set_err(p->arena, e);
    return vec_push(p->arena, &p->lists[c], r) ? ST_OK : ST_ERROR;
}
/* The tablet takes no more strings. What it has is a bound, which is made exact once. */
static bool is_full(const Sync *s, Span *p) {
    if (!p->home || !s->has_texts || tablet_text_bytes(p->home) < TABLET_TEXT_BYTES) return false;
    if (!p->counted) tablet_count_texts(p->home);
    p->counted = true;
    return tablet_text_bytes(p->home) >= TABLET_TEXT_BYTES;
}
/* Cells at home have changed there also of rows that are gone or have left the tablet: its bounds take these in, too.
 */
static Status span_rows(const Sync *s, Span *p, int64_t n, const int64_t *rows, Err *e) {
    const Image *im = s->im;
    int32_t at_home[SPAN_BATCH];
    int64_t k = 0, fresh_from = im->impl->settled ? im->impl->synced_rows : INT64_MAX;
    const bool full = is_full(s, p);
    for (int64_t i = 0; i < n; i++) {
        Change c = row_change(p, im, rows[i]);
        if (p->home && im->dirty[rows[i]] & DIRTY_UPDATED) at_home[k++] = (int32_t)(rows[i] - p->from);
        if (c == CHANGE_TEXTS && full) c = CHANGE_UPDATE; /* the row leaves the tablet */
        if (c == CHANGE_INSERT && rows[i] >= fresh_from) p->fresh++;
        else if (c != CHANGE_NONE && (c != CHANGE_TEXTS || texts_differ(s, rows[i])))
            TRY(list_row(p, im, c, rows[i], e));
    }
    for (int i = 0; k > 0 && i < s->n_set; i++)
        TRY(tablet_home_changed(p->home, s->set[i], k, at_home, &p->sums[i], e));
    return ST_OK;
}
static void span_tasks(void *ctx, int worker) {
    Sync *s = ctx;
    int64_t rows[SPAN_BATCH];
    Err e = {0};
    (void)worker;
    for (int64_t i; !atomic_load(&s->failed) && (i = atomic_fetch_add(&s->next, 1)) < s->n_spans;) {
        Span *p = &s->spans[i];
        Status st = ST_OK;
        for (int64_t at = p->from, n; st == ST_OK && at < p->to;) {
            n = marked_rows(s->im, &at, p->to, SPAN_BATCH, rows);
            p->marked |= n > 0;
            st = span_rows(s, p, n, rows, &e);
        }
        if (p->marked) (void)is_full(s, p); /* what comes behind asks for the bound */
        if (st != ST_OK && !atomic_exchange(&s->failed, true)) err_copy(s->e, &e); /* read when all are done */
    }
}
static void add_spans(Sync *s, int64_t from, int64_t to) {
    for (; from < to; from = MIN_OF(to, from + SPAN_ROWS))
        s->spans[s->n_spans++] = (Span){.from = from, .to = MIN_OF(to, from + SPAN_ROWS)};
}
/* Tablets at home, and what is between them. */
static Status cut_spans(Sync *s) {
    Image *im = s->im;
    const Table *t = im->table;
    int64_t rows = atomic_load(&im->rows), at = 0;
    s->spans = arena_array(s->tmp, Span, rows / SPAN_ROWS + 2 * t->n_tablets + 1);
    if (!s->spans) return ST_ERROR;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        int64_t first = home_first_row(im, k);
        if (first < at || !home_has_tablet(im, k)) continue;
        add_spans(s, at, first);
        at = first + t->tablets[k]->rows;
        s->spans[s->n_spans++] = (Span){.from = first, .to = at, .home = t->tablets[k]};
    }
    add_spans(s, at, rows);
    for (int64_t i = 0; i < s->n_spans; i++)
        if (s->spans[i].home && !(s->spans[i].sums = arena_array(s->tmp, CellSummary, s->n_set))) return ST_ERROR;
    return ST_OK;
}
/* The spans' lists one after the other. */
static Status join_lists(Sync *s, Change c) {
    for (int64_t i = 0; i < s->n_spans; i++) s->n[c] += s->spans[i].lists[c].len;
    int64_t *to = s->rows[c] = arena_alloc(s->tmp, s->n[c] * 8);
    s->ids[c] = arena_alloc(s->tmp, s->n[c] * 8);
    if (!to || !s->ids[c]) return ST_ERROR;
    for (int64_t i = 0; i < s->n_spans; i++) {
        const RowList *l = &s->spans[i].lists[c];
        if (l->len > 0) memcpy(to, l->items, (size_t)l->len * 8);
        to += l->len;
    }
    for (int64_t i = 0; c != CHANGE_INSERT && i < s->n[c]; i++) s->ids[c][i] = stored_rowid(s->im, s->rows[c][i]);
    return ST_OK;
}
static void free_lists(Sync *s) {
    for (int64_t i = 0; i < s->n_spans; i++) {
        arena_free(s->spans[i].arena);
        s->spans[i].arena = NULL;
    }
}
static Status list_changes(Sync *s) {
    const Image *im = s->im;
    s->set = arena_array(s->tmp, int, im->n_cols);
    s->texts = arena_array(s->tmp, int, im->n_cols);
    if (!s->set || !s->texts) return ST_ERROR;
    for (int32_t c = 0; c < im->n_cols; c++) {
        if (!im->impl->writes[c]) continue;
        s->has_texts |= home_takes(im, c) && im->cols[c].phys == PH_STR;
        if (home_takes(im, c)) s->set[s->n_set++] = c;
        else s->texts[s->n_texts++] = c;
    }
    TRY(cut_spans(s));
    int workers = im->impl->pool ? (int)MIN_OF((int64_t)pool_threads(im->impl->pool), s->n_spans / 2) : 1;
    if (workers > 1) pool_run(im->impl->pool, workers, span_tasks, s);
    else span_tasks(s, 0);
    for (int64_t i = 0; i < s->n_spans; i++)
        if (s->spans[i].home) table_home_changed(im->table, s->n_set, s->set, s->spans[i].sums);
    if (atomic_load(&s->failed)) return ST_ERROR;
    for (int c = 0; c < CHANGE_NONE; c++) TRY(join_lists(s, (Change)c));
    free_lists(s);
    return ST_OK;
}

/* ---- 2. the table ---- */
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
/* Columns of rows at home in which one of the rows has another string. */
static int changed_texts(const Sync *s, int64_t n, const int64_t *rows, int *set) {
    int n_set = 0;
    for (int k = 0; k < s->n_texts; k++) {
        int64_t i = 0;
        while (i < n && !text_differs(s->im, s->texts[k], rows[i])) i++;
        if (i < n) set[n_set++] = s->texts[k];
    }
    return n_set;
}
/* Columns that bulks write; home: of rows whose cells are the table's, only strings with a dictionary. */
static Status sync_updates(Sync *s, bool home, Err *e) {
    const Image *im = s->im;
    const Change c = home ? CHANGE_TEXTS : CHANGE_UPDATE;
    int *set = arena_array(s->tmp, int, im->n_cols), n_set = 0;
    Vec *vals = arena_array(s->tmp, Vec, im->n_cols);
    if (!set || !vals) return ST_ERROR;
    for (int32_t k = 0; k < im->n_cols; k++)
        if (im->impl->writes[k]) set[n_set++] = k;
    for (int64_t first = 0, n; first < s->n[c]; first += n) {
        const int64_t *rows = s->rows[c] + first;
        n = MIN_OF(SYNC_ROWS, s->n[c] - first);
        if (home) n_set = changed_texts(s, n, rows, set);
        if (n_set > 0) TRY(update_batch(s, n, rows, s->ids[c] + first, n_set, set, vals, e));
    }
    return ST_OK;
}

/* ---- inserts ---- */
static Status note_come(Sync *s, int64_t first, int64_t n) {
    return !s->numbers || row_numbers_come(s->numbers, first, n) ? ST_OK : err_oom(s->e);
}
/* The table gets copies of n inserts. */
static Status copy_inserts(Sync *s, int64_t n, const int64_t *rows, int64_t *ids, Err *e) {
    Image *im = s->im;
    Vec *cols = arena_array(s->tmp, Vec, im->n_cols);
    if (!cols) return ST_ERROR;
    for (int64_t first = 0; first < n; first += SYNC_ROWS) {
        int64_t k = MIN_OF(SYNC_ROWS, n - first);
        arena_reset(s->batch);
        for (int32_t c = 0; c < im->n_cols; c++)
            if (!gather(s, c, k, rows + first, &cols[c])) return ST_ERROR;
        TRY(table_append(im->table, k, cols, s->undo, ids + first, e));
    }
    for (int64_t i = 0; i < n; i++) TRY(note_come(s, ids[i], 1));
    return ST_OK;
}
/* A row that came since the table was last up to date, or a number that no row has got. */
static bool is_fresh(const Image *im, int64_t r) {
    return im->dirty[r] & DIRTY_INSERTED || (im->dirty[r] == 0 && im->live[r] == ROW_DEAD);
}
static int64_t text_bytes(const Image *im, int64_t r) {
    int64_t bytes = 0;
    for (int32_t c = 0; c < im->n_cols; c++)
        if (im->cols[c].used && im->cols[c].phys == PH_STR && im->live[r] == ROW_LIVE)
            bytes += ((const Str *)(const void *)home_cells(im, c, r).cells)->len;
    return bytes;
}
/* How many rows from r on, before `end`, are fresh and go to one tablet by their strings; at least one of those. */
static int64_t fresh_run(const Image *im, int64_t r, int64_t end) {
    const bool texts = (im->pieces[0].texts || im->pieces[1].texts) &&
                       text_heap_used(text_heap(im)) >= TABLET_TEXT_BYTES; /* else no run has so many */
    int64_t n = 0;
    for (int64_t bytes = 0; r + n < end && is_fresh(im, r + n) && bytes < TABLET_TEXT_BYTES; n++)
        if (texts) bytes += text_bytes(im, r + n);
    return n;
}
/* Rows [row, row + n) become the table's last ones where they are. */
static Status adopt_run(Sync *s, int64_t row, int64_t n, Err *e) {
    Image *im = s->im;
    const Table *t = im->table;
    HomeCells *cells = arena_array(s->batch, HomeCells, im->n_cols);
    uint8_t *dead = arena_alloc(s->batch, n);
    if (!cells || !dead) return ST_ERROR;
    bool all = true;
    for (int64_t i = 0; i < n; i++) {
        dead[i] = im->live[row + i] != ROW_LIVE;
        all &= !dead[i];
    }
    for (int32_t c = 0; c < im->n_cols; c++) cells[c] = home_cells(im, c, row);
    int64_t last = t->n_tablets - 1, first;
    HomeRows r = {.home = &im->impl->home->base,
                  .n = n,
                  .cells = cells,
                  .dead = all ? NULL : dead,
                  .continues = last >= 0 && home_ends_at(im, last, row)};
    TRY(table_append_home(im->table, &r, im->impl->pool, s->undo, &first, e));
    TRY(rowids_room(im, row, n, first, e));
    for (int64_t i = 0; i < n; i++) rowids_put(im, row + i, dead[i] ? -1 : first + i);
    for (int64_t i = 0; i < n; i++)
        if (!dead[i]) TRY(note_come(s, first + i, 1));
    return home_note_tablet(im, first >> 32, row - (first & 0xffffffff), (first & 0xffffffff) + n, e);
}
/* The table gets copies of those of rows [row, row + n) that are there. */
static Status copy_run(Sync *s, int64_t row, int64_t n, Err *e) {
    Image *im = s->im;
    int64_t *rows = arena_alloc(s->tmp, n * 8), *ids = arena_alloc(s->tmp, n * 8), k = 0;
    if (!rows || !ids) return ST_ERROR;
    for (int64_t r = row; r < row + n; r++)
        if (im->live[r] == ROW_LIVE) rows[k++] = r;
    TRY(copy_inserts(s, k, rows, ids, e));
    for (int64_t i = 0; i < k; i++) TRY(rowid_set(im, rows[i], ids[i], e));
    return ST_OK;
}
/* Rows that have come lie side by side: they are tablets as they are, unless most of their numbers were not used. */
static Status sync_inserts(Sync *s, Err *e) {
    enum { ADOPT_ROWS = 64 }; /* fewer are not worth a tablet */
    Image *im = s->im;
    Table *t = im->table;
    int64_t rows = atomic_load(&im->rows), from = im->impl->synced_rows, fresh = 0;
    TRY(copy_inserts(s, s->n[CHANGE_INSERT], s->rows[CHANGE_INSERT], s->ids[CHANGE_INSERT], e));
    for (int64_t i = 0; i < s->n_spans; i++) fresh += s->spans[i].fresh;
    bool adopt = fresh * 2 >= rows - from;
    for (int64_t r = from, n; fresh > 0 && r < rows; r += MAX_OF(n, 1)) {
        int64_t last = t->n_tablets - 1,
                used = last >= 0 && home_ends_at(im, last, r) ? t->tablets[last]->rows % TABLET_ROWS : 0;
        n = fresh_run(im, r, MIN_OF(rows, r + TABLET_ROWS - used));
        arena_reset(s->batch);
        if (adopt && (n >= ADOPT_ROWS || used > 0)) TRY(adopt_run(s, r, n, e));
        else if (n > 0) TRY(copy_run(s, r, n, e));
    }
    return ST_OK;
}

/* Rows that are elsewhere in the table now, and those that have come there as copies. */
static const Change moved[] = {CHANGE_UPDATE, CHANGE_TEXTS, CHANGE_INSERT};
static Status rowids_to_learn(const Sync *s, Err *e) {
    for (int k = 0; k < ARRAY_LEN(moved); k++)
        for (int64_t i = 0; i < s->n[moved[k]]; i++)
            TRY(rowids_room(s->im, s->rows[moved[k]][i], 1, s->ids[moved[k]][i], e));
    return ST_OK;
}

/* Rows that updates have moved; where they were is still what the image says. */
static Status note_moved(const Sync *s) {
    const Change updates[] = {CHANGE_UPDATE, CHANGE_TEXTS};
    for (int k = 0; s->numbers && k < ARRAY_LEN(updates); k++) {
        const Change c = updates[k];
        for (int64_t i = 0; i < s->n[c]; i++)
            if (!row_numbers_moved(s->numbers, stored_rowid(s->im, s->rows[c][i]), s->ids[c][i])) return err_oom(s->e);
    }
    return ST_OK;
}

static Status sync_all(Sync *s, Err *e) {
    Table *t = s->im->table;
    TRY(list_changes(s));
    int64_t done = 0, n = s->n[CHANGE_DELETE];
    if (n > 0) TRY(table_delete(t, n, s->ids[CHANGE_DELETE], s->undo, &done, e));
    if (done != n) return err_internal(e, "%lld rows of table \"%s\" were gone", (long long)(n - done), t->name);
    TRY(sync_updates(s, false, e));
    TRY(sync_updates(s, true, e));
    TRY(sync_inserts(s, e));
    TRY(note_moved(s));
    return rowids_to_learn(s, e);
}

/* ---- 3. the image ---- */
/* Nothing can fail any more. */
static void learn(Sync *s) {
    Image *im = s->im;
    for (int k = 0; k < ARRAY_LEN(moved); k++)
        for (int64_t i = 0; i < s->n[moved[k]]; i++) rowids_put(im, s->rows[moved[k]][i], s->ids[moved[k]][i]);
    for (Change c = CHANGE_GONE; c <= CHANGE_DELETE; c++)
        for (int64_t i = 0; i < s->n[c]; i++) rowids_put(im, s->rows[c][i], -1);
    for (int64_t i = 0; i < s->n_spans; i++)
        if (s->spans[i].marked) memset(im->dirty + s->spans[i].from, 0, (size_t)(s->spans[i].to - s->spans[i].from));
    im->impl->synced_rows = atomic_load(&im->rows);
}

Status image_sync(Image *im, UndoLog *undo, Err *e) { return sync_numbered(im, undo, NULL, e); }
Status sync_numbered(Image *im, UndoLog *undo, RowNumbers *numbers, Err *e) {
    TRY(device_copy_to_host(im, e));
    if (!image_is_dirty(im)) return ST_OK;
    device_copy_stale(im);
    if (im->version != im->table->content)
        return err_internal(e, "table \"%s\" was changed beside its image", im->table->name);
    Sync s = {.im = im,
              .undo = undo,
              .numbers = numbers,
              .e = e,
              .tmp = arena_new(im->account, e),
              .batch = arena_new(im->account, e)};
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
    free_lists(&s);
    arena_free(s.batch);
    arena_free(s.tmp);
    return st;
}
