/* home.c - rows of an image as the home of the table's cells (storage/row_home.h).
 *
 * A settled image and its table have one copy of the cells that bulks write: the columns among these
 * without a dictionary in the tablets that lie in the image row by row, and all columns without a dictionary of rows
 * that bulks have inserted. Then bringing the table up to date moves no such cell.
 *
 * The pieces of rows belong to the home, which tablets count: they stay when the image goes, and the next image, made
 * from the tablets, takes the columns over, or gives the tablets cells of their own; then the pieces go, too. Strings
 * that calls have written stay for longer, as long as there are tablets whose cells may refer to them: all tablets of
 * a table hold the same heap of these, which the next image goes on to fill.
 */
#include "txn/store/store_int.h"
#include "txn/store/device_copy.h"

static void home_gone(RowHome *h) {
    ImageHome *x = (ImageHome *)(void *)h;
    MemAccount *a = x->account;
    for (int32_t k = 0; k < ROW_PIECES; k++) mem_free(a, x->rows[k], x->bytes[k]);
    home_texts_drop(h->texts);
    mem_free(a, x, (int64_t)sizeof *x);
}
Status home_new(Image *im, Err *e) {
    MemAccount *a = table_home_account(im->table);
    ImageHome *x = mem_calloc(a, (int64_t)sizeof *x, e);
    if (!x) return ST_ERROR;
    x->base.gone = home_gone;
    x->account = a;
    atomic_init(&x->base.refs, 1);
    im->impl->home = x;
    TextHeap *texts = text_heap_new(a, e);
    if (!texts) return ST_ERROR;
    x->base.texts = &texts->base;
    return ST_OK;
}

/* ---- which tablets lie in the image row by row ---- */
/* A tablet that rows were added to since by other means is none of these any more. */
struct HomeTablet {
    int64_t row; /* the image's of its first one; -1 */
    int64_t n;
};
Status home_note_tablet(Image *im, int64_t tablet, int64_t row, int64_t n, Err *e) {
    const int64_t size = (int64_t)sizeof(struct HomeTablet);
    struct ImageImpl *x = im->impl;
    if (tablet >= x->tablets_cap) {
        int64_t cap = MAX_OF(2 * x->tablets_cap, tablet + 8);
        struct HomeTablet *p = mem_realloc(im->account, x->tablets, x->tablets_cap * size, cap * size, e);
        if (!p) return ST_ERROR;
        for (int64_t k = x->tablets_cap; k < cap; k++) p[k].row = -1;
        x->tablets = p;
        x->tablets_cap = cap;
    }
    x->tablets[tablet] = (struct HomeTablet){row, n};
    return ST_OK;
}
int64_t home_first_row(const Image *im, int64_t tablet) {
    const struct ImageImpl *x = im->impl;
    bool known = tablet >= 0 && tablet < x->tablets_cap && tablet < im->table->n_tablets;
    return known && x->tablets[tablet].n == im->table->tablets[tablet]->rows ? x->tablets[tablet].row : -1;
}
int64_t home_row_of(const Image *im, int64_t tablet) { return im->impl->tablets[tablet].row; }
void home_forget_tablets(Image *im) {
    for (int64_t k = 0; k < im->impl->tablets_cap; k++) im->impl->tablets[k].row = -1;
}
void home_free(Image *im) {
    struct ImageImpl *x = im->impl;
    mem_free(im->account, x->tablets, x->tablets_cap * (int64_t)sizeof(struct HomeTablet));
    row_home_drop(x->home ? &x->home->base : NULL);
}

/* ---- settling ---- */
bool home_takes(const Image *im, int32_t col) { return im->cols[col].used && !im->table->cols[col].dict; }
HomeCells home_cells(const Image *im, int32_t col, int64_t row) {
    const ImageColumn *c = &im->cols[col];
    return (HomeCells){.cells = (char *)c->cells + row * c->stride,
                       .valid = c->valid ? c->valid + row * c->stride : NULL,
                       .stride = c->stride};
}
static bool is_home_of(const Image *im, int64_t tablet, int32_t col) {
    return tablet_home(im->table->tablets[tablet], col) == &im->impl->home->base;
}
/* ... of an image before, whose rows are kept for this alone. */
static bool is_elsewhere(const Image *im, int64_t tablet, int32_t col) {
    const RowHome *h = tablet_home(im->table->tablets[tablet], col);
    return h && h != &im->impl->home->base;
}
/* Bounds and validity of the tablet follow cells at home that it does not know: of rows that calls have changed since
 * it was brought up to date; or of deleted rows, which calls may have changed before they deleted them. */
static Status note_cells(const Image *im, int64_t tablet, bool deleted, Err *e) {
    enum { BATCH = 1024 };
    Tablet *tab = im->table->tablets[tablet];
    int32_t rows[BATCH];
    bool here = false;
    for (int32_t c = 0; c < im->n_cols; c++) here |= is_home_of(im, tablet, c);
    if (!here || (deleted && tab->n_deleted == 0)) return ST_OK;
    const uint8_t *dirty = im->dirty + home_row_of(im, tablet);
    for (int64_t at = 0, n; at < tab->rows;) {
        for (n = 0; n < BATCH && at < tab->rows; at++)
            if (deleted ? tablet_row_deleted(tab, at) : dirty[at] & DIRTY_UPDATED) rows[n++] = (int32_t)at;
        for (int32_t c = 0; n > 0 && c < im->n_cols; c++) {
            CellSummary sums = {0};
            if (is_home_of(im, tablet, c)) TRY(tablet_home_changed(tab, c, n, rows, &sums, e));
        }
    }
    return ST_OK;
}
bool home_is_settled(const Image *im) { return im->impl->settled; }
/* Tablets that have had cells in rows of an image before have strings there: these and the image's become one heap. */
static void join_texts(Image *im) {
    const Table *t = im->table;
    TextHeap *own = text_heap(im);
    HomeTexts *theirs = NULL;
    for (int64_t k = 0; k < t->n_tablets && !theirs; k++) theirs = t->tablets[k]->block->texts;
    if (!theirs || theirs == &own->base) return;
    text_heap_join((TextHeap *)(void *)theirs, own);
    atomic_fetch_add_explicit(&theirs->refs, 1, memory_order_relaxed);
    im->impl->home->base.texts = theirs;
    home_texts_drop(&own->base);
}
Status home_settle(Image *im, Err *e) {
    struct ImageImpl *x = im->impl;
    Table *t = im->table;
    if (x->settled || x->calm-- > 0) return ST_OK;
    x->calm = 0;
    join_texts(im);
    dbg_assert(!x->moved);
    x->gathered = NULL; /* other changes put strings elsewhere from here on */
    x->settled = true;  /* some of it may be, if the rest fails */
    t->version++;       /* columns have other forms for those who have looked at them */
    for (int64_t k = 0; k < t->n_tablets; k++) {
        int64_t row = home_first_row(im, k);
        for (int32_t c = 0; c < im->n_cols; c++) {
            const bool elsewhere = is_elsewhere(im, k, c);
            if (row >= 0 && home_takes(im, c) && (x->writes[c] || elsewhere)) {
                HomeCells at = home_cells(im, c, row);
                TRY(tablet_settle(t->tablets[k], c, &x->home->base, &at, e));
            } else if (elsewhere) {
                TRY(tablet_leave_home(t->tablets[k], c, e));
            }
        }
        TRY(note_cells(im, k, true, e));
    }
    x->alone = true;
    return ST_OK;
}
Status home_leave(Image *im, Err *e) {
    enum { CALM = 8 };
    struct ImageImpl *x = im->impl;
    Table *t = im->table;
    x->calm = CALM;
    if (!x->settled && x->alone) return ST_OK;
    t->version++;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        TRY(note_cells(im, k, false, e));
        for (int32_t c = 0; c < im->n_cols; c++)
            if (tablet_home(t->tablets[k], c)) TRY(tablet_leave_home(t->tablets[k], c, e));
    }
    x->settled = false;
    x->alone = true;
    return ST_OK;
}
bool home_has_cell(const Image *im, int32_t col, int64_t row) {
    const int64_t id = stored_rowid(im, row), tablet = id >> 32, at = id & 0xffffffff;
    return id >= 0 && is_home_of(im, tablet, col) && home_row_of(im, tablet) + at == row &&
           !tablet_row_deleted(im->table->tablets[tablet], at); /* else it has left, and others changed it there */
}
void home_moved(Image *im) {
    Table *t = im->table;
    bool moved = false;
    if (!im->impl->settled) return;
    for (int64_t k = 0; k < t->n_tablets; k++)
        for (int32_t c = 0; c < im->n_cols; c++) {
            if (!is_home_of(im, k, c)) continue;
            HomeCells at = home_cells(im, c, home_row_of(im, k));
            moved |= t->tablets[k]->cols[c].data != at.cells;
            tablet_home_moved(t->tablets[k], c, &at);
        }
    if (moved) t->version++; /* for devices that read the cells where they were */
}
bool home_ends_at(const Image *im, int64_t tablet, int64_t row) {
    int64_t first = home_first_row(im, tablet);
    bool ends = first >= 0 && first + im->table->tablets[tablet]->rows == row;
    for (int32_t c = 0; ends && c < im->n_cols; c++)
        if (home_takes(im, c)) ends = is_home_of(im, tablet, c);
    return ends;
}
bool home_has_tablet(const Image *im, int64_t tablet) {
    const struct ImageImpl *x = im->impl;
    bool home = x->settled && home_first_row(im, tablet) >= 0;
    for (int32_t c = 0; home && c < im->n_cols; c++)
        if (x->writes[c] && home_takes(im, c)) home = is_home_of(im, tablet, c);
    return home;
}
