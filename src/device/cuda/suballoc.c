/* suballoc.c - blocks out of big chunks: see suballoc.h.
 *
 *     chunk  |used 256 K|free 1 M     |used 64 K|free 30.7 M                  |
 *     Block  o<-------->o<----------->o<------->o    by address (prev, next)
 *
 * Every block, used or free, is a Block in the list of its chunk; free ones are also in the list of their bin, used
 * ones in a hash table by address. A chunk is its first block's list: a free block without neighbours is a whole free
 * chunk.
 */
#include "base/mutex.h"
#include "device/cuda/suballoc.h"

enum {
    SMALL_CHUNK = 32 << 20,
    LARGE_CHUNK = 64 << 20,
    CHUNK_ALIGN = 2 << 20, /* the driver's own granularity */
    BINS = 64 * 4,
    LOOK = 32, /* blocks of the request's own bin that are looked at */
    HASH_FIRST = 256,
};

typedef struct Block {
    uint64_t addr;
    int64_t size;
    struct Block *prev, *next;   /* neighbours in the chunk */
    struct Block *bprev, *bnext; /* free: same bin. used: bnext is the hash chain */
    bool used, large;
} Block;

struct SubAlloc {
    Mutex lock;
    MemAccount *account;
    SubSource source;
    Block *bins[2][BINS];          /* small, large */
    uint64_t filled[2][BINS / 64]; /* a bit per bin that has blocks */
    Block **hash;
    int64_t hash_size, n_used; /* size: a power of two */
    int64_t held;              /* bytes of all chunks */
};

/* ---- bins and hash ------------------------------------------------------------ */

/* Four bins per power of two. Sizes are at least SUB_ALIGN, so the two bits below the top one exist. */
static int bin_of(int64_t size) {
    int top = 63 - __builtin_clzll((uint64_t)size);
    return top * 4 + (int)((uint64_t)size >> (top - 2) & 3);
}

static void bin_add(SubAlloc *s, Block *b) {
    int i = bin_of(b->size);
    Block **head = &s->bins[b->large][i];
    b->used = false;
    b->bprev = NULL;
    b->bnext = *head;
    if (*head) (*head)->bprev = b;
    *head = b;
    s->filled[b->large][i / 64] |= UINT64_C(1) << i % 64;
}

static void bin_remove(SubAlloc *s, Block *b) {
    int i = bin_of(b->size);
    if (b->bprev) b->bprev->bnext = b->bnext;
    else s->bins[b->large][i] = b->bnext;
    if (b->bnext) b->bnext->bprev = b->bprev;
    if (!s->bins[b->large][i]) s->filled[b->large][i / 64] &= ~(UINT64_C(1) << i % 64);
    b->bprev = b->bnext = NULL;
}

static int64_t slot_of(const SubAlloc *s, uint64_t addr) {
    return (int64_t)((addr / SUB_ALIGN * UINT64_C(0x9E3779B97F4A7C15)) >> 20 & (uint64_t)(s->hash_size - 1));
}

/* Twice the slots; when there is no memory for them, chains get longer and that is all. */
static void hash_grow(SubAlloc *s) {
    int64_t old_size = s->hash_size;
    Block **old = s->hash, **fresh = mem_calloc(s->account, old_size * 2 * (int64_t)sizeof(Block *), NULL);
    if (!fresh) return;
    s->hash = fresh;
    s->hash_size = old_size * 2;
    for (int64_t i = 0; i < old_size; i++) {
        for (Block *b = old[i], *next; b; b = next) {
            next = b->bnext;
            Block **slot = &s->hash[slot_of(s, b->addr)];
            b->bnext = *slot;
            *slot = b;
        }
    }
    mem_free(s->account, old, old_size * (int64_t)sizeof(Block *));
}

static void hash_add(SubAlloc *s, Block *b) {
    if (s->n_used >= s->hash_size) hash_grow(s);
    Block **slot = &s->hash[slot_of(s, b->addr)];
    b->used = true;
    b->bnext = *slot;
    *slot = b;
    s->n_used++;
}

static Block *hash_take(SubAlloc *s, uint64_t addr) {
    for (Block **at = &s->hash[slot_of(s, addr)]; *at; at = &(*at)->bnext) {
        Block *b = *at;
        if (b->addr != addr) continue;
        *at = b->bnext;
        b->bnext = NULL;
        s->n_used--;
        return b;
    }
    return NULL;
}

/* ---- chunks --------------------------------------------------------------------- */

static void block_free(SubAlloc *s, Block *b) { mem_free(s->account, b, (int64_t)sizeof *b); }

static int64_t trim_locked(SubAlloc *s) {
    int64_t bytes = 0;
    for (int large = 0; large < 2; large++) {
        for (int i = 0; i < BINS; i++) {
            for (Block *b = s->bins[large][i], *next; b; b = next) {
                next = b->bnext;
                if (b->prev || b->next) continue;
                bin_remove(s, b);
                s->source.drop(s->source.ctx, b->addr, b->size);
                s->held -= b->size;
                bytes += b->size;
                block_free(s, b);
            }
        }
    }
    return bytes;
}

/* A new chunk of at least `need` bytes as one free block. 1. the usual size; 2. without the chunks that are free; 3.
 * just what is needed. */
static SubResult grow(SubAlloc *s, int64_t need, int64_t limit, bool large, Err *e) {
    int64_t least = align_up(need, CHUNK_ALIGN), usual = MAX_OF(least, large ? LARGE_CHUNK : SMALL_CHUNK);
    if (limit > 0 && usual > limit / 4) usual = least;
    if (limit > 0 && s->held + usual > limit) {
        trim_locked(s);
        if (s->held + usual > limit) usual = least;
    }
    Block *b = mem_calloc(s->account, (int64_t)sizeof *b, e);
    if (!b) return SUB_FAILED;
    SubResult r = s->source.grow(s->source.ctx, usual, &b->addr, e);
    if (r == SUB_FULL && trim_locked(s) > 0) r = s->source.grow(s->source.ctx, usual, &b->addr, e);
    if (r == SUB_FULL && usual > least) {
        usual = least;
        r = s->source.grow(s->source.ctx, usual, &b->addr, e);
    }
    if (r != SUB_OK) {
        block_free(s, b);
        return r;
    }
    b->size = usual;
    b->large = large;
    s->held += usual;
    bin_add(s, b);
    return SUB_OK;
}

/* ---- blocks --------------------------------------------------------------------- */

/* The best of the request's own bin, else the first of the next bin that has blocks (all of them fit). */
static Block *find(const SubAlloc *s, int64_t need, bool large) {
    int bin = bin_of(need), looked = 0;
    Block *best = NULL;
    for (Block *b = s->bins[large][bin]; b && looked < LOOK; b = b->bnext, looked++) {
        if (b->size < need || (best && b->size >= best->size)) continue;
        best = b;
        if (b->size == need) break;
    }
    if (best) return best;
    for (int i = bin + 1; i < BINS;) {
        uint64_t word = s->filled[large][i / 64] >> i % 64;
        if (word) return s->bins[large][i + __builtin_ctzll(word)];
        i = (i / 64 + 1) * 64;
    }
    return NULL;
}

/* Cuts `b` (in no bin) to `need` bytes; the rest becomes a free block behind it. */
static Status split(SubAlloc *s, Block *b, int64_t need, Err *e) {
    if (b->size == need) return ST_OK;
    Block *rest = mem_calloc(s->account, (int64_t)sizeof *rest, e);
    if (!rest) return ST_ERROR;
    *rest = (Block){
        .addr = b->addr + (uint64_t)need, .size = b->size - need, .prev = b, .next = b->next, .large = b->large};
    if (b->next) b->next->prev = rest;
    b->next = rest;
    b->size = need;
    bin_add(s, rest);
    return ST_OK;
}

/* Adds the block behind `a` to `a`; both are in no bin. */
static void merge_next(SubAlloc *s, Block *a) {
    Block *b = a->next;
    a->size += b->size;
    a->next = b->next;
    if (b->next) b->next->prev = a;
    block_free(s, b);
}

int64_t suballoc_rounded(int64_t bytes) {
    if (bytes <= SUB_SMALL_MAX) return align_up(MAX_OF(bytes, 1), SUB_ALIGN);
    return align_up(bytes, SUB_LARGE_ALIGN);
}

SubResult suballoc_take(SubAlloc *s, int64_t bytes, int64_t limit, uint64_t *addr, Err *e) {
    bool large = bytes > SUB_SMALL_MAX;
    mutex_lock(&s->lock);
    SubResult r = SUB_OK;
    Block *b = find(s, bytes, large);
    if (!b) {
        r = grow(s, bytes, limit, large, e);
        if (r == SUB_OK) b = find(s, bytes, large);
    }
    if (b) {
        bin_remove(s, b);
        if (split(s, b, bytes, e) == ST_OK) {
            hash_add(s, b);
            *addr = b->addr;
        } else {
            bin_add(s, b);
            r = SUB_FAILED;
        }
    }
    mutex_unlock(&s->lock);
    return r;
}

int64_t suballoc_give(SubAlloc *s, uint64_t addr) {
    mutex_lock(&s->lock);
    Block *b = hash_take(s, addr);
    int64_t bytes = -1;
    if (b) {
        bytes = b->size;
        if (b->next && !b->next->used) {
            bin_remove(s, b->next);
            merge_next(s, b);
        }
        if (b->prev && !b->prev->used) {
            b = b->prev;
            bin_remove(s, b);
            merge_next(s, b);
        }
        bin_add(s, b);
    }
    mutex_unlock(&s->lock);
    return bytes;
}

int64_t suballoc_trim(SubAlloc *s) {
    mutex_lock(&s->lock);
    int64_t bytes = trim_locked(s);
    mutex_unlock(&s->lock);
    return bytes;
}

/* ---- life ------------------------------------------------------------------------- */

Status suballoc_new(MemAccount *account, const SubSource *source, SubAlloc **out, Err *e) {
    SubAlloc *s = mem_calloc(account, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    s->hash = mem_calloc(account, HASH_FIRST * (int64_t)sizeof(Block *), e);
    if (!s->hash) {
        mem_free(account, s, (int64_t)sizeof *s);
        return ST_ERROR;
    }
    s->hash_size = HASH_FIRST;
    s->account = account;
    s->source = *source;
    mutex_init(&s->lock, RANK_SUBALLOC);
    *out = s;
    return ST_OK;
}

void suballoc_free(SubAlloc *s) {
    if (!s) return;
    /* What is still used is freed like the rest, so that whole chunks are left. */
    for (int64_t i = 0; i < s->hash_size; i++) {
        while (s->hash[i]) suballoc_give(s, s->hash[i]->addr);
    }
    trim_locked(s);
    mutex_destroy(&s->lock);
    mem_free(s->account, s->hash, s->hash_size * (int64_t)sizeof(Block *));
    mem_free(s->account, s, (int64_t)sizeof *s);
}

/* ---- checks ------------------------------------------------------------------------- */

/* Walks the chunk that `b` is in, when `b` is its first block. */
static bool verify_chunk(const Block *b, SubStats *st) {
    if (b->prev) return true;
    st->chunks++;
    for (; b; b = b->next) {
        st->held += b->size;
        if (b->used) st->used += b->size;
        if (b->size < SUB_ALIGN || b->addr % SUB_ALIGN != 0) return false;
        if (!b->next) continue;
        if (b->next->prev != b || b->next->addr != b->addr + (uint64_t)b->size) return false;
        if (b->next->large != b->large || (!b->used && !b->next->used)) return false;
    }
    return true;
}

bool suballoc_verify(SubAlloc *s, SubStats *out) {
    SubStats st = {0};
    bool ok = true;
    mutex_lock(&s->lock);
    for (int large = 0; large < 2; large++) {
        for (int i = 0; i < BINS; i++) {
            bool bit = s->filled[large][i / 64] >> i % 64 & 1;
            ok = ok && bit == (s->bins[large][i] != NULL);
            for (const Block *b = s->bins[large][i]; b; b = b->bnext) {
                st.blocks_free++;
                ok = ok && !b->used && b->large == (large != 0) && bin_of(b->size) == i && verify_chunk(b, &st);
            }
        }
    }
    for (int64_t i = 0; i < s->hash_size; i++) {
        for (const Block *b = s->hash[i]; b; b = b->bnext) {
            st.blocks_used++;
            ok = ok && b->used && slot_of(s, b->addr) == i && verify_chunk(b, &st);
        }
    }
    ok = ok && st.blocks_used == s->n_used && st.held == s->held;
    mutex_unlock(&s->lock);
    if (out) *out = st;
    return ok;
}
