/* texts.c - the bytes of an image's strings.
 *
 * Strings that an image was made with are borrowed from the table; those that calls write are copied to chunks, side by
 * side, by any thread, and stay where they are: cells have their addresses. A chunk is twice as long as the one before,
 * within bounds. What is overwritten or deleted stays until the chunks go.
 *
 * The chunks belong to the home of the image's rows (home.c). Tablets that have cells there hold them until they go
 * themselves: their cells refer to these strings also when they have left the home, and so do undo logs and versions.
 */
#include "txn/store/store_int.h"

enum { CHUNK_MIN = 64 << 10, CHUNK_MAX = 16 << 20 };

static void heap_gone(HomeTexts *x) {
    TextHeap *h = (TextHeap *)(void *)x;
    text_chunks_free(h, h->chunks);
    mem_free(h->account, h, (int64_t)sizeof *h);
}
TextHeap *text_heap_new(MemAccount *a, Err *e) {
    TextHeap *h = mem_calloc(a, (int64_t)sizeof *h, e);
    if (!h) return NULL;
    h->base.gone = heap_gone;
    h->account = a;
    atomic_init(&h->base.refs, 1);
    return h;
}
void text_chunks_free(TextHeap *h, TextChunk *c) {
    for (TextChunk *next; c; c = next) {
        next = c->next;
        if (c->most > 0) mem_span_free(h->account, c, c->held, c->most);
        else mem_free(h->account, c, (int64_t)sizeof *c + c->size);
    }
}
int64_t text_heap_used(const TextHeap *h) {
    int64_t bytes = 0;
    for (const TextChunk *c = h->chunks; c; c = c->next) bytes += MIN_OF(c->used, c->size);
    return bytes;
}

bool text_heap_has(const TextHeap *h, const char *p) {
    const TextChunk *c = h->chunks;
    while (c && !(p >= (const char *)(c + 1) && p < (const char *)(c + 1) + c->size)) c = c->next;
    return c != NULL;
}
void text_heap_join(TextHeap *h, TextHeap *from) {
    TextChunk **end = &from->chunks;
    dbg_assert(!text_heap_is_shared(from) && h->account == from->account);
    while (*end) end = &(*end)->next;
    *end = h->chunks;
    h->chunks = from->chunks;
    from->chunks = NULL;
}

/* A fresh chunk in the place of `full`, unless another thread has made one. */
static Status new_chunk(Image *im, const TextChunk *full, int64_t len, Err *e) {
    TextHeap *h = text_heap(im);
    Status st = ST_OK;
    mutex_lock(&im->impl->heap_lock);
    if (h->chunks == full) {
        int64_t size =
            MAX_OF(len, (full ? MIN_OF(2 * full->size, (int64_t)CHUNK_MAX) : CHUNK_MIN) - (int64_t)sizeof(TextChunk));
        TextChunk *c = mem_alloc_raw(h->account, (int64_t)sizeof *c + size, e);
        if (c) {
            *c = (TextChunk){.next = h->chunks, .size = size};
            __atomic_store_n(&h->chunks, c, __ATOMIC_RELEASE);
        } else {
            st = ST_ERROR;
        }
    }
    mutex_unlock(&im->impl->heap_lock);
    return st;
}
char *row_text_room(Image *im, int64_t n, Err *e) {
    for (;;) {
        TextChunk *c = __atomic_load_n(&text_heap(im)->chunks, __ATOMIC_ACQUIRE);
        if (c && n <= c->size) {
            int64_t at = __atomic_fetch_add(&c->used, n, __ATOMIC_RELAXED);
            if (at + n <= c->size) return (char *)(c + 1) + at;
        }
        if (new_chunk(im, c, n, e) != ST_OK) return NULL;
    }
}
void row_text_leave(Image *im, const char *from, const char *end) {
    TextChunk *c = text_heap(im)->chunks;
    if (c && (char *)(c + 1) + c->used == end) c->used -= end - from; /* no further bytes were taken since */
}
const char *row_text_put(Image *im, const char *ptr, int64_t len, Err *e) {
    if (len == 0) return "";
    char *room = row_text_room(im, len, e);
    return room ? memcpy(room, ptr, (size_t)len) : NULL;
}
