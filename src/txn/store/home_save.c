/* home_save.c - see home_save.h. */
#include "txn/store/home_save.h"

#include "txn/store/store_int.h"

/* Cells of one column of one tablet. */
typedef struct SavedCells {
    int32_t col;
    int64_t row, n; /* of the image, when they were saved */
    int64_t tablet;
    char *cells;
    uint8_t *valid; /* NULL: the column has no NULLs */
} SavedCells;
struct HomeSave {
    int64_t n;
    SavedCells *pieces;
};
typedef struct SaveTask {
    const Image *im;
    const HomeSave *save;
    _Atomic int64_t next;
} SaveTask;

static bool is_saved(const Image *im, int64_t tablet, int32_t col) {
    return im->impl->writes[col] && home_takes(im, col) &&
           tablet_home(im->table->tablets[tablet], col) == &im->impl->home->base;
}
static int64_t cell_bytes(const Image *im, int32_t col) {
    const ImageColumn *c = &im->cols[col];
    return phys_size((Phys)c->phys) + (c->valid != NULL);
}
int64_t home_save_bytes(const Image *im) {
    int64_t bytes = 0;
    if (!home_is_settled(im)) return 0;
    for (int64_t k = 0; k < im->table->n_tablets; k++)
        for (int32_t c = 0; c < im->n_cols; c++)
            if (is_saved(im, k, c)) bytes += im->table->tablets[k]->rows * cell_bytes(im, c);
    return bytes;
}

/* One of the two is `stride` bytes apart, the other side by side. */
static void copy_cells(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t size, int64_t n) {
    switch (size) {
    case 1:
        for (int64_t i = 0; i < n; i++) to[i * to_stride] = from[i * from_stride];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, 4);
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, 8);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(to + i * to_stride, from + i * from_stride, (size_t)size);
    }
}
static void save_worker(void *ctx, int worker) {
    SaveTask *t = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&t->next, 1)) < t->save->n;) {
        const SavedCells *p = &t->save->pieces[i];
        const HomeCells at = home_cells(t->im, p->col, p->row);
        const int64_t size = phys_size((Phys)t->im->cols[p->col].phys);
        copy_cells(p->cells, size, at.cells, at.stride, size, p->n);
        if (p->valid) copy_cells((char *)p->valid, 1, (const char *)at.valid, at.stride, 1, p->n);
    }
}
static Status add_piece(const Image *im, int64_t tablet, int32_t col, Arena *a, HomeSave *s) {
    SavedCells *p = &s->pieces[s->n++];
    *p = (SavedCells){
        .col = col, .tablet = tablet, .row = home_row_of(im, tablet), .n = im->table->tablets[tablet]->rows};
    p->cells = arena_alloc(a, p->n * phys_size((Phys)im->cols[col].phys) + 1);
    p->valid = im->cols[col].valid ? arena_alloc(a, p->n + 1) : NULL;
    return p->cells && (p->valid || !im->cols[col].valid) ? ST_OK : ST_ERROR;
}
Status home_save(const Image *im, Pool *pool, Arena *a, HomeSave **out, Err *e) {
    const Table *t = im->table;
    HomeSave *s = *out = arena_new_of(a, HomeSave);
    if (!s || !(s->pieces = arena_array(a, SavedCells, t->n_tablets * im->n_cols + 1))) return err_oom(e);
    s->n = 0;
    for (int64_t k = 0; home_is_settled(im) && k < t->n_tablets; k++)
        for (int32_t c = 0; c < im->n_cols; c++)
            if (is_saved(im, k, c) && add_piece(im, k, c, a, s) != ST_OK) return err_oom(e);
    SaveTask task = {.im = im, .save = s};
    const int workers = pool ? (int)MIN_OF((int64_t)pool_threads(pool), s->n) : 1;
    if (workers > 1) pool_run(pool, workers, save_worker, &task);
    else save_worker(&task, 0);
    return ST_OK;
}
void home_put_back(const Image *im, const HomeSave *s) {
    for (int64_t i = 0; i < s->n; i++) {
        const SavedCells *p = &s->pieces[i];
        const HomeCells at = home_cells(im, p->col, p->row);
        const int64_t size = phys_size((Phys)im->cols[p->col].phys);
        dbg_assert(home_row_of(im, p->tablet) == p->row);
        copy_cells(at.cells, at.stride, p->cells, size, size, p->n);
        if (p->valid) copy_cells((char *)at.valid, at.stride, (const char *)p->valid, 1, 1, p->n);
    }
}
