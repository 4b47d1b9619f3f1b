/* image_texts.c - all strings of an image in one piece of memory, for devices that have a copy of it (image_mirror.h).
 *
 * The piece is the heap's only chunk then: strings that come later go behind, as long as there is room. When it is full, a new one is made from the rows that
 * there are, so that strings nobody has any more go. Cells of rows that never were are zero; rows that died keep the strings that indexes find them by.
 */
#include "txn/image_int.h"
#include "txn/image_mirror.h"

enum { SPARE_MIN = 64 << 10 };

static bool in_index(const Image *im, int32_t col) {
    for (int32_t i = 0; i < im->n_indexes; i++)
        for (int32_t c = 0; c < im->indexes[i].n_cols; c++)
            if (im->indexes[i].cols[c] == col) return true;
    return false;
}
static bool has_texts(const Image *im) {
    for (int32_t c = 0; c < im->n_cols; c++)
        if (im->cols[c].used && im->cols[c].phys == PH_STR) return true;
    return false;
}
static bool fit(const Image *im, int64_t room) {
    const ImageChunk *c = im->impl->gathered;
    return c && im->impl->chunks == c && c->used <= c->size && room <= c->size - c->used;
}

char *image_texts(const Image *im, int64_t *size, int64_t *used) {
    ImageChunk *c = im->impl->gathered;
    if (!c || im->impl->chunks != c) return NULL;
    *size = c->size;
    *used = MIN_OF(c->used, c->size);
    return (char *)(c + 1);
}

Status image_gather_texts(Image *im, int64_t room, Err *e) {
    struct ImageImpl *x = im->impl;
    int64_t rows = atomic_load(&im->rows), bytes = 0;
    if (!has_texts(im) || fit(im, room)) return ST_OK;
    TRY(image_mirror_to_host(im, e));
    for (int pass = 0; pass < 2; pass++) {
        ImageChunk *to = NULL;
        if (pass == 1) {
            int64_t size = bytes + room + MAX_OF(bytes / 4, (int64_t)SPARE_MIN);
            if (!(to = mem_alloc(im->account, (int64_t)sizeof *to + size, e))) return ST_ERROR;
            *to = (ImageChunk){.size = size};
        }
        for (int32_t c = 0; c < im->n_cols; c++) {
            if (!im->cols[c].used || im->cols[c].phys != PH_STR) continue;
            bool dead_too = in_index(im, c);
            Str *cells = (Str *)(void *)im->cols[c].cells;
            for (int64_t r = 0; r < rows; r++) {
                bool stays = dead_too || im->live[r] == ROW_LIVE;
                int64_t len = stays ? cells[r].len : 0;
                bytes += pass == 0 ? len : 0;
                if (pass == 0) continue;
                char *at = (char *)(to + 1) + to->used;
                if (len) memcpy(at, cells[r].ptr, (size_t)len);
                cells[r] = len ? str_make(at, len) : (Str){.ptr = (char *)(to + 1)};
                to->used += len;
            }
        }
        if (pass == 0) continue;
        for (ImageChunk *c = x->chunks, *next; c; c = next) {
            next = c->next;
            mem_free(im->account, c, (int64_t)sizeof *c + c->size);
        }
        x->chunks = x->gathered = to;
        image_mirror_stale(im);
    }
    return ST_OK;
}
