/* image_texts.c - all strings of an image in one piece of memory, for devices that have a copy of it (image_mirror.h).
 *
 * The piece is the heap's only chunk then: strings that come later go behind, as long as there is room. When it is full, a new one is made from the rows that
 * there are, so that strings nobody has any more go. Cells of rows that never were are zero; rows that died keep the strings that indexes find them by.
 */
#include "txn/image_int.h"
#include "txn/image_mirror.h"

enum { SPARE_MIN = 64 << 10, AHEAD_MAX = 1 << 30, AHEAD_BULKS = 16 /* room for so many like this one, when there is memory */ };

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

static Str *text_at(const Image *im, int32_t col, int64_t row) { return (Str *)(void *)image_cell(&im->cols[col], row); }
/* Strings of the rows that there are: how many bytes, and to a chunk. */
static int64_t count_bytes(const Image *im) {
    int64_t rows = atomic_load(&im->rows), bytes = 0;
    for (int32_t c = 0; c < im->n_cols; c++) {
        if (!im->cols[c].used || im->cols[c].phys != PH_STR) continue;
        bool dead_too = in_index(im, c);
        for (int64_t r = 0; r < rows; r++)
            if (dead_too || im->live[r] == ROW_LIVE) bytes += text_at(im, c, r)->len;
    }
    return bytes;
}
static void move(Image *im, ImageChunk *to) {
    int64_t rows = atomic_load(&im->rows);
    for (int32_t c = 0; c < im->n_cols; c++) {
        if (!im->cols[c].used || im->cols[c].phys != PH_STR) continue;
        bool dead_too = in_index(im, c);
        for (int64_t r = 0; r < rows; r++) {
            Str *cell = text_at(im, c, r);
            int64_t len = dead_too || im->live[r] == ROW_LIVE ? cell->len : 0;
            char *at = (char *)(to + 1) + to->used;
            if (len) memcpy(at, cell->ptr, (size_t)len);
            *cell = len ? str_make(at, len) : (Str){.ptr = (char *)(to + 1)};
            to->used += len;
        }
    }
}

Status image_gather_texts(Image *im, int64_t room, Err *e) {
    struct ImageImpl *x = im->impl;
    if (!has_texts(im) || fit(im, room)) return ST_OK;
    TRY(image_mirror_to_host(im, e));
    int64_t bytes = count_bytes(im), size = bytes + room + MAX_OF(bytes / 4, (int64_t)SPARE_MIN), ample = size + MAX_OF(bytes, MIN_OF(room * AHEAD_BULKS, (int64_t)AHEAD_MAX));
    ImageChunk *to = mem_alloc(im->account, (int64_t)sizeof *to + ample, NULL); /* all of it goes to the device each time */
    if (to) size = ample;
    else if (!(to = mem_alloc(im->account, (int64_t)sizeof *to + size, e))) return ST_ERROR;
    *to = (ImageChunk){.size = size};
    move(im, to);
    for (ImageChunk *c = x->chunks, *next; c; c = next) {
        next = c->next;
        mem_free(im->account, c, (int64_t)sizeof *c + c->size);
    }
    x->chunks = x->gathered = to;
    image_mirror_stale(im);
    return ST_OK;
}
