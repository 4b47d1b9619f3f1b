/* parquet_memory.c - see parquet_memory.h. Each block has its size and account in front. */
#include "io/parquet_memory.h"

#include <carquet/carquet.h>
#include <pthread.h>

typedef struct Block {
    int64_t bytes; /* with this */
    MemAccount *account;
} Block;
static_assert(sizeof(Block) == 16, "what follows is aligned for everything");

static _Thread_local MemAccount *charged; /* NULL: to none */
static _Thread_local Err *refused;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *take(size_t size, void *ctx) {
    (void)ctx;
    if (size > (size_t)INT64_MAX - sizeof(Block)) return NULL;
    int64_t bytes = (int64_t)(size + sizeof(Block));
    Err ignored;
    err_clear(&ignored);
    Block *b = mem_alloc_raw(charged, bytes, refused ? refused : &ignored);
    if (!b) return NULL;
    *b = (Block){bytes, charged};
    return b + 1;
}

static void give(void *p, void *ctx) {
    (void)ctx;
    Block *b = (Block *)p - 1;
    if (p) mem_free(b->account, b, b->bytes);
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

void parquet_memory_begin(MemAccount *account, Err *e) {
    (void)pthread_once(&once, install);
    charged = account;
    refused = e;
}

void parquet_memory_end(void) {
    charged = NULL;
    refused = NULL;
}
