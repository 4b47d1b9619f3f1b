/* garbage.c - what an image holds that nothing needs: rows that are gone, and strings that no row has any more or
 * that the table has copies of. Both go when the table is brought up to date and packed and the image is made anew.
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

/* Bytes of strings of rows from `first` on, about: of those in the image's heap, and of others in columns that bulks
 * write and that can be at home. */
typedef struct TextBytes {
    int64_t here, elsewhere;
} TextBytes;
/* By some of the rows. */
static TextBytes sample_texts(const Image *im, int64_t first, int64_t rows) {
    enum { LOOKED_AT = 4096 };
    const int64_t step = MAX_OF((rows - first) / LOOKED_AT, INT64_C(1));
    const TextHeap *heap = text_heap(im);
    int64_t seen = 0, here = 0, elsewhere = 0;
    for (int64_t r = first; r < rows; r += step) {
        seen++;
        for (int32_t c = 0; im->live[r] == ROW_LIVE && c < im->n_cols; c++) {
            const ImageColumn *col = &im->cols[c];
            Str cell;
            if (!col->used || col->phys != PH_STR) continue;
            memcpy(&cell, col->cells + r * col->stride, sizeof cell);
            if (text_heap_has(heap, cell.ptr)) here += cell.len;
            else if (im->impl->writes[c] && home_takes(im, c)) elsewhere += cell.len;
        }
    }
    const double each = seen ? (double)(rows - first) / (double)seen : 0;
    return (TextBytes){(int64_t)((double)here * each), (int64_t)((double)elsewhere * each)};
}
/* Bytes of strings that nothing needs, on the host. `used`: of the heap. Where tablets have the heap, too, its strings
 * are needed as long as a row has them; and so are those in the tablets' blocks, in columns that are at home. Else the
 * table has copies of all but those of rows that it does not have yet; unless the image has copied all strings to one
 * piece. */
static int64_t host_texts(const Image *im, int64_t rows, int64_t used) {
    const struct ImageImpl *x = im->impl;
    const TextHeap *heap = text_heap(im);
    const bool shared = text_heap_is_shared(heap), all = shared || (x->gathered && heap->chunks == x->gathered);
    const TextBytes needed = sample_texts(im, all ? 0 : MIN_OF(x->synced_rows, rows), rows);
    int64_t bytes = MAX_OF(used - needed.here, INT64_C(0));
    if (shared) bytes += MAX_OF(table_packed_texts(im->table) - needed.elsewhere, INT64_C(0));
    return bytes;
}

Status garbage_bytes(Image *im, int64_t *bytes, Err *e) {
    struct ImageImpl *x = im->impl;
    const int64_t rows = atomic_load(&im->rows), used = text_heap_used(text_heap(im));
    int64_t live, texts;
    *bytes = 0;
    if (device_copy_newer(im)) {
        TRY(device_copy_live(im, &live, e));
        texts = texts_there(im, &texts) ? MAX_OF(used - texts, INT64_C(0)) : 0;
    } else {
        live = count_live(im->live, rows);
        texts = host_texts(im, rows, used);
    }
    *bytes = (rows - live) * row_bytes(im) + texts;
    x->rows_looked = rows;
    x->text_looked = used;
    return ST_OK;
}
