/* images_follow.c - images keep up with small changes that were made in their tables by others: single statements and
 * transactions between bulks. Without it each such change would have the next bulk make the image anew, from all rows.
 *
 * Only what is simple is followed: rows that are found by a unique key, and changes that leave the columns of keys and
 * groups alone. A row that moved from main to the delta is a gone and a new row with one key: it stays where it is in
 * the image. In all other cases the image becomes stale, as before.
 */
#include "storage/undo_rows.h"
#include "txn/run/calls_int.h"
#include "txn/store/device_copy.h"

#include <stdlib.h>

enum { FOLLOW_ROWS = 4096, KEY_COLS = 32 };

typedef struct Follow {
    Image *im;
    const NetChange *net;
    int32_t index;   /* a unique one */
    uint8_t *kept;   /* by net->deleted: it moved */
    int128_t *bound; /* ImageEntry.bound */
} Follow;

static bool in_index(const Image *im, int32_t col) {
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *x = &im->indexes[i];
        if (x->order && x->order - 1 == col) return true;
        for (int32_t k = 0; k < x->n_cols; k++)
            if (x->cols[k] == col) return true;
    }
    return false;
}

/* The image's row with the key that the table's row has; -1: none, or the key has a NULL. */
static int64_t find(const Follow *f, int64_t rowid) {
    const ImageIndex *x = &f->im->indexes[f->index];
    Value v[KEY_COLS];
    const void *cells[KEY_COLS];
    for (int32_t k = 0; k < x->n_cols; k++) {
        table_value(f->im->table, rowid, x->cols[k], &v[k]);
        if (v[k].is_null) return -1;
        cells[k] = value_cell_const(&v[k]);
    }
    return image_find(f->im, f->index, cells);
}

static bool same_cell(const Image *im, int32_t col, int64_t row, const Value *v) {
    const ImageColumn *c = &im->cols[col];
    int64_t size = phys_size((Phys)c->phys);
    bool valid = image_is_valid(c, row);
    if (valid == v->is_null) return false;
    if (!valid) return true;
    if (c->phys != PH_STR) return memcmp(image_cell(c, row), value_cell_const(v), (size_t)size) == 0;
    Str s;
    memcpy(&s, image_cell(c, row), sizeof s);
    return str_eq(s, v->u.str);
}
/* No |value| of the column is greater than its bound, where that is known. */
static void widen_bound(Follow *f, int32_t col, const Value *v) {
    int64_t n;
    if (f->bound[col] < 0 || v->is_null || type_phys(v->type) > PH_I128) return;
    if (!cell_as_i64(type_phys(v->type), value_cell_const(v), &n)) f->bound[col] = -1;
    else f->bound[col] = MAX_OF(f->bound[col], n < 0 ? -(int128_t)n : (int128_t)n);
}
static bool put_cell(Follow *f, int32_t col, int64_t row, const Value *v) {
    Image *im = f->im;
    ImageColumn *c = &im->cols[col];
    int64_t size = phys_size((Phys)c->phys);
    if (c->phys != type_phys(v->type) || (v->is_null && !c->valid)) return false;
    widen_bound(f, col, v);
    if (home_has_cell(im, col, row)) return true;
    image_set_valid(c, row, !v->is_null);
    if (v->is_null) {
        memset(image_cell(c, row), 0, (size_t)size);
    } else if (c->phys == PH_STR) {
        Str s = v->u.str;
        if (!(s.ptr = row_text_put(im, s.ptr, s.len, NULL))) return false;
        memcpy(image_cell(c, row), &s, sizeof s);
    } else {
        memcpy(image_cell(c, row), value_cell_const(v), (size_t)size);
    }
    return true;
}

/* A new row that is a gone one in another place; *found false: it is not. */
static bool move(Follow *f, int64_t rowid, bool *found) {
    Image *im = f->im;
    const NetChange *n = f->net;
    int64_t row = find(f, rowid);
    *found = row >= 0;
    if (!*found) return true;
    const int64_t was = stored_rowid(im, row);
    const int64_t *at =
        n->n_deleted ? bsearch(&was, n->deleted, (size_t)n->n_deleted, sizeof *n->deleted, rowid_cmp) : NULL;
    if (!at) return false;
    for (int32_t c = 0; c < im->n_cols; c++) {
        Value v;
        if (!im->cols[c].used) continue;
        table_value(im->table, rowid, c, &v);
        if (same_cell(im, c, row, &v)) continue;
        if (in_index(im, c) || !put_cell(f, c, row, &v)) return false;
    }
    if (rowid_set(im, row, rowid, NULL) != ST_OK) return false;
    f->kept[at - n->deleted] = 1;
    return true;
}

static bool insert(Follow *f, int64_t rowid) {
    Image *im = f->im;
    Value *v = mem_calloc(im->account, im->n_cols * (int64_t)sizeof *v + 16, NULL);
    const void **cells = mem_calloc(im->account, im->n_cols * (int64_t)sizeof *cells + 16, NULL);
    int64_t row = -1;
    int32_t conflict;
    Err e = {0};
    for (int32_t c = 0; v && cells && c < im->n_cols; c++) {
        table_value(im->table, rowid, c, &v[c]);
        cells[c] = v[c].is_null ? NULL : value_cell_const(&v[c]);
        widen_bound(f, c, &v[c]);
    }
    if (v && cells) row = image_insert(im, cells, &conflict, &e);
    mem_free(im->account, v, im->n_cols * (int64_t)sizeof *v + 16);
    mem_free(im->account, cells, im->n_cols * (int64_t)sizeof *cells + 16);
    if (row < 0) return false;
    if (rowid_set(im, row, rowid, NULL) != ST_OK) return false;
    im->dirty[row] = 0;
    return true;
}

static bool follow(Follow *f) {
    Image *im = f->im;
    const NetChange *n = f->net;
    int64_t fresh = 0;
    Err e = {0};
    if (n->whole || n->n_deleted + n->n_updated + n->n_inserted > FOLLOW_ROWS || device_copy_to_host(im, &e) != ST_OK)
        return false;
    f->index = -1;
    for (int32_t i = 0; i < im->n_indexes && f->index < 0; i++)
        if (im->indexes[i].unique && im->indexes[i].n_cols <= KEY_COLS) f->index = i;
    if (f->index < 0) return false;
    for (int32_t c = 0; c < im->n_cols; c++)
        if ((n->set[c] && in_index(im, c)) ||
            (im->cols[c].used && im->cols[c].phys != type_phys(im->table->cols[c].type)))
            return false;
    device_copy_stale(im);
    for (int64_t i = 0; i < n->n_inserted; i++) {
        bool found;
        if (!move(f, n->inserted[i], &found)) return false;
        if (!found) n->inserted[fresh++] = n->inserted[i];
    }
    for (int64_t i = 0; i < n->n_deleted; i++) {
        if (f->kept[i]) continue;
        int64_t row = find(f, n->deleted[i]);
        if (row < 0 || stored_rowid(im, row) != n->deleted[i]) return false;
        image_delete(im, row);
        im->dirty[row] = 0;
        (void)rowid_set(im, row, -1, NULL);
    }
    for (int64_t i = 0; i < n->n_updated; i++) {
        int64_t row = find(f, n->updated[i]);
        if (row < 0 || stored_rowid(im, row) != n->updated[i]) return false;
        for (int32_t c = 0; c < im->n_cols; c++) {
            Value v;
            if (!n->set[c] || !im->cols[c].used) continue;
            table_value(im->table, n->updated[i], c, &v);
            if (!put_cell(f, c, row, &v)) return false;
        }
    }
    if (fresh == 0) return true;
    for (int32_t c = 0; c < im->n_cols; c++)
        if (!im->cols[c].used) return false; /* not an image for inserts */
    if (image_reserve(im, fresh, &e) != ST_OK) return false;
    for (int64_t i = 0; i < fresh; i++)
        if (!insert(f, n->inserted[i])) return false;
    return true;
}

void images_follow(ImageSet *s, int64_t n, NetChange *net) {
    for (int64_t i = 0; i < n; i++) {
        ImageEntry *x = images_entry(s, net[i].id);
        if (!x || !x->image || x->need.table != net[i].table || x->image->version != net[i].content_before) continue;
        Follow f = {.im = x->image,
                    .net = &net[i],
                    .bound = x->bound,
                    .kept = mem_calloc(&s->account, net[i].n_deleted + 1, NULL)};
        bool ok = f.kept && follow(&f);
        mem_free(&s->account, f.kept, net[i].n_deleted + 1);
        x->image->version = ok ? net[i].table->content : -1; /* stale: it may be half way */
    }
}
