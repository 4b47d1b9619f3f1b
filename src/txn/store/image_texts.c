/* image_texts.c - all strings of an image in one piece of memory, for devices that have a copy of it (device_copy.h).
 *
 * The piece is the heap's newest chunk then, and those before it are the table's, if they are there: strings that come
 * later go behind, as long as there is room. Tablets have cells of their own then (home.c). When it is full it grows
 * where it is, on both sides, since cells have addresses. When there are no more addresses or no memory, or when much
 * of it may be strings that no cell refers to any more, a new one is made from the rows that there are. Cells of rows
 * that never were are zero; rows that died keep the strings that indexes find them by.
 */
#include "base/log.h"
#include "txn/store/store_int.h"
#include "txn/store/device_copy.h"

enum {
    SPARE_MIN = 64 << 10,
    SPARE_MAX = 1 << 30,
    SPARE_BULKS = 16,           /* room for so many like this one, when there is memory */
    ADDRESSES = 64,             /* times the bytes */
    TEXT_COLS = IMAGE_KEY_COLS, /* as many as kernels take (device_kernels.h) */
    GARBAGE_MIN = 64 << 20,
    GARBAGE_TIMES = 4, /* the piece may have so many times what rows had on average when it was made */
};
#define ADDRESSES_MIN (INT64_C(1) << 32)

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
    const TextChunk *c = im->impl->gathered;
    return c && text_heap(im)->chunks == c && c->used <= c->size && room <= c->size - c->used;
}

bool image_texts_fit(const Image *im, int64_t room) { return !has_texts(im) || fit(im, room); }

char *image_texts(const Image *im, int64_t *size, int64_t *used) {
    TextChunk *c = im->impl->gathered;
    if (!c || text_heap(im)->chunks != c) return NULL;
    *size = c->size;
    *used = MIN_OF(c->used, c->size);
    return (char *)(c + 1);
}

static Str *text_at(const Image *im, int32_t col, int64_t row) {
    return (Str *)(void *)image_cell(&im->cols[col], row);
}
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
static void move(Image *im, TextChunk *to) {
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

/* More room behind what there is. */
static bool stretch(Image *im, int64_t room) {
    const struct ImageImpl *x = im->impl;
    TextChunk *c = x->gathered;
    if (!c || text_heap(im)->chunks != c || c->used > c->size) return false;
    int64_t least = c->used + room,
            size = MIN_OF(least + MAX_OF(c->used / 2, MIN_OF(room * SPARE_BULKS, (int64_t)SPARE_MAX)),
                          c->most - (int64_t)sizeof *c);
    double per_row = (double)x->text_bytes / (double)MAX_OF(x->text_rows, INT64_C(1));
    if (size < least || (double)least > GARBAGE_MIN + GARBAGE_TIMES * per_row * (double)atomic_load(&im->rows))
        return false;
    int64_t held = (int64_t)sizeof *c + size;
    if (held > c->held) {
        if (mem_span_grow(text_heap(im)->account, c, c->held, held, NULL) != ST_OK) return false;
        c->held = held;
    }
    if (!device_copy_grow_texts(im, size)) return false;
    c->size = size;
    return true;
}
void texts_trim(Image *im) {
    TextChunk *c = im->impl->gathered;
    if (!c || text_heap(im)->chunks != c || c->used > c->size || c->size - c->used <= 2 * SPARE_MIN) return;
    const int64_t size = c->used + SPARE_MIN, held = (int64_t)sizeof *c + size;
    if (!device_copy_shrink_texts(im, size)) return;
    c->size = size;
    if (held >= c->held) return;
    mem_span_shrink(text_heap(im)->account, c, c->held, held);
    c->held = held;
}
static TextChunk *new_piece(Image *im, int64_t size, Err *e) {
    int64_t held = (int64_t)sizeof(TextChunk) + size, most = MAX_OF(held * ADDRESSES, ADDRESSES_MIN);
    TextChunk *c = mem_span_new(text_heap(im)->account, held, &most, e);
    if (c) *c = (TextChunk){.size = size, .held = held, .most = most};
    return c;
}

/* No cell of the image refers to chunks before this one. */
static void drop_before(Image *im, TextChunk *c) {
    if (text_heap_is_shared(text_heap(im))) return;
    text_chunks_free(text_heap(im), c->next);
    c->next = NULL;
}
void image_drop_texts(Image *im) {
    struct ImageImpl *x = im->impl;
    if (!x->moved) return;
    drop_before(im, x->gathered);
    x->moved = false;
}
/* So many bytes of strings, and room for more: a piece with as much of it as there is memory for; NULL: none. */
static TextChunk *make_piece(Image *im, int64_t bytes, int64_t room, Err *e) {
    int64_t size = bytes + room + MAX_OF(bytes / 4, (int64_t)SPARE_MIN),
            ample = size + MIN_OF(room * SPARE_BULKS, (int64_t)SPARE_MAX);
    TextChunk *to = new_piece(im, ample, NULL); /* all of it goes to the device each time */
    return to ? to : new_piece(im, size, e);
}
static void take_piece(Image *im, TextChunk *to, int64_t bytes) {
    struct ImageImpl *x = im->impl;
    to->next = text_heap(im)->chunks;
    text_heap(im)->chunks = x->gathered = to;
    x->text_bytes = bytes;
    x->text_rows = atomic_load(&im->rows);
}
/* Columns of strings; false: more than kernels take. */
static bool text_columns(const Image *im, int32_t *n, int32_t *cols, bool *dead_too) {
    *n = 0;
    for (int32_t c = 0; c < im->n_cols; c++) {
        if (!im->cols[c].used || im->cols[c].phys != PH_STR) continue;
        if (*n == TEXT_COLS) return false;
        cols[*n] = c;
        dead_too[(*n)++] = in_index(im, c);
    }
    return true;
}
bool texts_there(const Image *im, int64_t *bytes) {
    int32_t cols[TEXT_COLS], n;
    bool dead_too[TEXT_COLS];
    *bytes = 0;
    if (!text_columns(im, &n, cols, dead_too) || !device_copy_current(im)) return false;
    return n == 0 || device_copy_text_bytes(im, n, cols, dead_too, bytes);
}
/* On the device, which has the newer image: the host has the piece's memory, what is in it comes home with the rest.
 * Its older cells have the strings that they had. */
static Status gather_there(Image *im, int64_t room, bool *done, Err *e) {
    struct ImageImpl *x = im->impl;
    int32_t cols[TEXT_COLS], n;
    bool dead_too[TEXT_COLS];
    int64_t bytes;
    *done = false;
    if (!x->gathered || text_heap(im)->chunks != x->gathered || !device_copy_current(im) || !device_copy_newer(im))
        return ST_OK;
    if (!text_columns(im, &n, cols, dead_too)) return ST_OK;
    if (!device_copy_text_bytes(im, n, cols, dead_too, &bytes)) return ST_OK;
    TextChunk *to = make_piece(im, bytes, room, NULL);
    if (!to) return ST_OK;
    Status st = device_copy_move_texts(im, n, cols, dead_too, (char *)(to + 1), to->size, done, e);
    if (!*done) {
        text_chunks_free(text_heap(im), to);
        return st;
    }
    log_write(
        LOG_INFO, "strings of table \"%s\" were gathered on the device that has them: %lld of %lld bytes are left",
        im->table->name, (long long)bytes, (long long)MIN_OF(text_heap(im)->chunks->used, text_heap(im)->chunks->size));
    to->used = bytes;
    take_piece(im, to, bytes);
    x->moved = true;
    return ST_OK;
}

Status image_gather_texts(Image *im, int64_t room, Err *e) {
    struct ImageImpl *x = im->impl;
    bool done;
    if (image_texts_fit(im, room) || stretch(im, room)) return ST_OK;
    TRY(gather_there(im, room, &done, e));
    if (done) return ST_OK;
    TRY(device_copy_to_host(im, e));
    if (home_is_settled(im)) TRY(home_leave(im, e)); /* the table's cells do not move */
    int64_t bytes = count_bytes(im);
    TextChunk *to = make_piece(im, bytes, room, e);
    if (!to) return ST_ERROR;
    move(im, to);
    take_piece(im, to, bytes);
    drop_before(im, to);
    x->moved = false;
    device_copy_stale(im);
    return ST_OK;
}
