/* garbage.c - what an image holds that nothing needs: rows that are gone, and strings that no row has any more or
 * that the table has, too. Both go when the table is brought up to date and packed and the image is made anew.
 *
 * Looking at all rows for each bulk would take longer than small bulks do. So garbage_growth says how much more there
 * may be at most than garbage_bytes has found, and the caller looks when that is enough to matter. Rows are counted, by
 * their marks, a byte each; the strings of rows by some of them.
 */
#include "txn/store/device_copy.h"
#include "txn/store/store_int.h"

/* Of a row, in all arrays. Indexes are at most 0.7 full, here; row numbers follow from tablets. */
static int64_t row_bytes(const Image *im) {
    int64_t bytes = 2;
    for (int32_t k = 0; k < ROW_PIECES; k++) bytes += im->pieces[k].stride;
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *x = &im->indexes[i];
        bytes += x->unique ? (int64_t)sizeof *x->slots * 10 / 7 : x->order ? 32 : 8; /* a row of x->next */
    }
    return bytes;
}

int64_t garbage_growth(const Image *im) {
    const struct ImageImpl *x = im->impl;
    int64_t rows = MAX_OF(atomic_load(&im->rows) - x->rows_looked, INT64_C(0)),
            text = MAX_OF(text_heap_used(text_heap(im)) - x->text_looked, INT64_C(0));
    return rows * row_bytes(im) + text;
}

/* Bytes of the strings of rows from `first` on, about: by some of them. */
static int64_t sample_texts(const Image *im, int64_t first, int64_t rows) {
    enum { LOOKED_AT = 4096 };
    const int64_t step = MAX_OF((rows - first) / LOOKED_AT, INT64_C(1));
    int64_t seen = 0, bytes = 0;
    for (int64_t r = first; r < rows; r += step) {
        seen++;
        for (int32_t c = 0; im->live[r] == ROW_LIVE && c < im->n_cols; c++) {
            const ImageColumn *col = &im->cols[c];
            Str cell;
            if (!col->used || col->phys != PH_STR) continue;
            memcpy(&cell, col->cells + r * col->stride, sizeof cell);
            bytes += cell.len;
        }
    }
    return seen ? (int64_t)((double)bytes / (double)seen * (double)(rows - first)) : 0;
}
/* Of the host's strings. Those of rows that the table does not have yet are needed; others are the table's as well,
 * unless the image has copied all of them (all strings in one piece). */
static int64_t host_texts(const Image *im, int64_t rows) {
    const struct ImageImpl *x = im->impl;
    bool all = x->gathered && text_heap(im)->chunks == x->gathered;
    return sample_texts(im, all ? 0 : MIN_OF(x->synced_rows, rows), rows);
}

Status garbage_bytes(Image *im, int64_t *bytes, Err *e) {
    struct ImageImpl *x = im->impl;
    const int64_t rows = atomic_load(&im->rows), used = text_heap_used(text_heap(im));
    int64_t live, texts;
    *bytes = 0;
    if (device_copy_newer(im)) {
        TRY(device_copy_live(im, &live, e));
        if (!texts_there(im, &texts)) texts = used;
    } else {
        live = count_live(im->live, rows);
        texts = host_texts(im, rows);
    }
    *bytes = (rows - live) * row_bytes(im) + MAX_OF(used - texts, INT64_C(0));
    x->rows_looked = rows;
    x->text_looked = used;
    return ST_OK;
}
