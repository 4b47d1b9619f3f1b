/* parquet_memory.c - see parquet_memory.h. Each block has its size and owner in front. */
#include "io/parquet_memory.h"

#include <carquet/carquet.h>
#include <pthread.h>

typedef struct ParquetBlock {
    int64_t bytes;        /* with this */
    ParquetMemory *owner; /* NULL: it has none, and is not in a list */
    struct ParquetBlock *next, **link;
} Block;
static_assert(sizeof(Block) % 16 == 0, "what follows is aligned for everything");

static _Thread_local ParquetMemory *current; /* NULL: charged to none */
static _Thread_local Err *refused;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *take(size_t size, void *ctx) {
    (void)ctx;
    if (size > (size_t)INT64_MAX - sizeof(Block)) return NULL;
    int64_t bytes = (int64_t)(size + sizeof(Block));
    Err ignored;
    err_clear(&ignored);
    Block *b = mem_alloc_raw(current ? current->account : NULL, bytes, refused ? refused : &ignored);
    if (!b) return NULL;
    *b = (Block){.bytes = bytes, .owner = current};
    if (!current) return b + 1;
    b->next = current->first;
    b->link = &current->first;
    if (b->next) b->next->link = &b->next;
    current->first = b;
    return b + 1;
}

static void give(void *p, void *ctx) {
    (void)ctx;
    if (!p) return;
    Block *b = (Block *)p - 1;
    if (b->link) *b->link = b->next;
    if (b->next) b->next->link = b->link;
    mem_free(b->owner ? b->owner->account : NULL, b, b->bytes);
}

static void *resize(void *p, size_t size, void *ctx) {
    void *q = take(size, ctx);
    if (!q || !p) return q;
    memcpy(q, p, MIN_OF(size, (size_t)((Block *)p - 1)->bytes - sizeof(Block)));
    give(p, ctx);
    return q;
}

static void install(void) {
    const carquet_allocator_t a = {.malloc = take, .realloc = resize, .free = give};
    carquet_set_allocator(&a);
}

void parquet_memory_begin(ParquetMemory *m, Err *e) {
    (void)pthread_once(&once, install);
    current = m;
    refused = e;
}

void parquet_memory_end(void) {
    current = NULL;
    refused = NULL;
}

void parquet_memory_release(ParquetMemory *m) {
    while (m->first) give(m->first + 1, NULL);
}
