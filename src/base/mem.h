/* mem.h - memory accounts and arenas.
 *
 * Every byte is charged to an account; accounts form a tree (database > connection > statement > operator) and a charge
 * goes up to the root. An account has an optional limit; the error of a refused charge names the account, the limit and
 * the setting behind it (53200 for the machine, 53400 for memory_limit).
 *
 * A reserve. Statements that free memory need some first, a few kilobytes for text and tree at least: without a reserve
 * nothing could be dropped, reset or saved at the limit. And operators fill memory up to the limit before they spill,
 * which leaves nothing for small requests of others. An account may therefore have a reserve: charges to it and to
 * accounts below it may go so far beyond the limits of the accounts above it. mem_headroom does not count it, so that
 * operators that can spill do so at the limit.
 *
 * An Arena allocates freely and is freed as a whole; callbacks registered with it (files, pins, locks) run in reverse
 * order. On failure an arena sets the Err it was made with and returns NULL, so callers only write `if (!p) return
 * ...`.
 *
 * Thread rules: accounts are atomic and shared; an Arena belongs to one thread at a time.
 */
#ifndef STELE_BASE_MEM_H
#define STELE_BASE_MEM_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/err.h"

typedef struct MemAccount {
    struct MemAccount *parent;
    _Atomic int64_t used;
    _Atomic int64_t peak;
    _Atomic int64_t limit;   /* 0 = none */
    _Atomic int64_t reserve; /* beyond limits, its own included */
    const char *name;        /* "query", "database": named in messages */
    const char *setting;     /* "memory_limit" or NULL */
    _Atomic int64_t refused; /* charges that its limit refused, with an error */
    int n_parts;             /* accounts below it that messages name; 0: none */
    const struct MemAccount *parts;
} MemAccount;

void mem_account_init(MemAccount *a, MemAccount *parent, const char *name, int64_t limit, const char *setting);
/* Charges or gives back; a failed charge changes nothing. */
Status mem_charge(MemAccount *a, int64_t bytes, Err *e);
bool mem_try_charge(MemAccount *a, int64_t bytes);
void mem_discharge(MemAccount *a, int64_t bytes);
/* Bytes that can still be charged before some limit on the way to the root
 * refuses; INT64_MAX when unlimited. Operators ask before they grow and spill instead. */
int64_t mem_headroom(const MemAccount *a);

/* Blocks charged to an account. 64-byte aligned. Blocks of 1 MiB and more are
 * mapped (2 MiB huge pages advised) and come zeroed; when freed they go back to the system, but for 128 MiB that serve
 * later allocations. */
void *mem_alloc(MemAccount *a, int64_t bytes, Err *e);
/* The same, uninitialised whatever its size: for what is written before it is read. */
void *mem_alloc_raw(MemAccount *a, int64_t bytes, Err *e);
void *mem_calloc(MemAccount *a, int64_t bytes, Err *e);
/* Grows keeping contents; on failure the old block stays valid. */
void *mem_realloc(MemAccount *a, void *p, int64_t old_bytes, int64_t new_bytes, Err *e);
void mem_free(MemAccount *a, void *p, int64_t bytes);
/* Has the system back these bytes now, so that later writes do not wait for pages. Their contents stay; no other thread
 * may use them meanwhile, but any number of threads may touch pieces of one block. Advice: nothing else changes when
 * there are no pages to be had. */
void mem_touch(void *p, int64_t bytes);

/* Unmaps freed blocks that are kept for later allocations, those unused for longest first, until at most `most` bytes
 * of them are left; what it has unmapped. They are charged to no account. Any thread. */
int64_t mem_trim_kept(int64_t most);
int64_t mem_kept(void); /* their bytes */

/* A block that grows and shrinks where it is. Addresses are kept for *most bytes (made less, down to `bytes`, where the
 * system does not give so many); memory is charged for, and can be touched in, the first `bytes`. Page-aligned, zeroed,
 * huge pages advised. */
void *mem_span_new(MemAccount *a, int64_t bytes, int64_t *most, Err *e);
/* From `had` to `bytes`, between that and `most`; on failure it is as it was. */
Status mem_span_grow(MemAccount *a, void *p, int64_t had, int64_t bytes, Err *e);
/* From `had` to `bytes`, between 0 and that: whole pages behind them go back to the system, and the account has the
 * difference back. No thread may use these bytes meanwhile. What comes there when it grows again is zero. */
void mem_span_shrink(MemAccount *a, void *p, int64_t had, int64_t bytes);
void mem_span_free(MemAccount *a, void *p, int64_t bytes, int64_t most);

/* The process-wide allocator behind small blocks (stele_set_allocator). */
typedef struct MemHooks {
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p, size_t bytes);
    void *ctx;
} MemHooks;
void mem_set_hooks(const MemHooks *hooks); /* NULL = malloc; before first use */
/* Tests: the n-th allocation from now fails (n >= 1); 0 switches off. Returns what was left of the last countdown: > 0
 * when the failure has not happened yet. */
int64_t mem_fail_at(int64_t n);

typedef struct Arena Arena;
/* `err` may be NULL when the caller checks for NULL itself; it must outlive the arena or be replaced. */
Arena *arena_new(MemAccount *acct, Err *err);
void arena_free(Arena *a);  /* NULL is fine */
void arena_reset(Arena *a); /* runs callbacks, frees all but the first block and one more of up to 256 KiB */
void arena_set_err(Arena *a, Err *err);
Err *arena_err(Arena *a);
MemAccount *arena_account(Arena *a);
int64_t arena_bytes(const Arena *a);        /* that it has from its account */
void *arena_alloc(Arena *a, int64_t bytes); /* 16-byte aligned, uninitialised */
void *arena_calloc(Arena *a, int64_t bytes);
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, int64_t len); /* NUL-terminated copy */
char *arena_printf(Arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
Status arena_on_release(Arena *a, void (*fn)(void *), void *arg);
#define arena_new_of(arena, T) ((T *)arena_calloc((arena), (int64_t)sizeof(T)))
#define arena_array(arena, T, n) ((T *)arena_calloc((arena), (int64_t)sizeof(T) * (int64_t)(n)))

/* A growable array in an arena: VEC(T) v; vec_push(arena, &v, item) is false on OOM. */
#define VEC(T)       \
    struct {         \
        T *items;    \
        int64_t len; \
        int64_t cap; \
    }
bool vec_grow_(Arena *a, void **items, int64_t len, int64_t *cap, int64_t item_size);
#define vec_push(arena, v, item)                                                                     \
    (((v)->len < (v)->cap ||                                                                         \
      vec_grow_((arena), (void **)&(v)->items, (v)->len, &(v)->cap, (int64_t)sizeof((v)->items[0]))) \
         ? ((v)->items[(v)->len++] = (item), true)                                                   \
         : false)

#endif
