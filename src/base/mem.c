/* mem.c - memory accounts, blocks and arenas: see mem.h for the contract.
 *
 * Blocks. Below MAP_MIN bytes come from malloc (or the embedding program's hooks), 64-byte aligned. From MAP_MIN on
 * they are private mappings with huge pages advised; from HUGE_ALIGN_MIN on they start on a huge page, because a
 * transparent huge page needs an aligned range. The caller passes the size back on free, which both picks the way to
 * release a block and keeps blocks free of headers.
 *
 * Freed mappings. Touching a fresh page costs several times what clearing a used one does (0.1 to 0.2 us against 0.05
 * for 4 KiB; 8 us in a virtual machine that gives free pages back to its host), so mappings of up to KEPT_EACH bytes
 * stay, KEPT_ALL in all, and serve allocations of their size, of which there are few: an eighth of a power of two
 * apart. The mapping that was freed last is used first; the one unused for longest is unmapped first. Kept mappings are
 * charged to no account, and are unmapped when the system has no more memory, and by mem_trim_kept. With
 * AddressSanitizer nothing is kept, so that uses of freed memory are found.
 *
 * Arenas. A chain of blocks that double from 4 KiB to just under 1 MiB (the larger ones are such mappings, and kept).
 * Requests that would waste much of a block get one of their own. The Arena itself lives in its first block.
 */
#include "base/mem.h"
#include "base/mutex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BLOCK_ALIGN = 64,
    MAP_MIN = 128 << 10,
    HUGE_PAGE = 2 << 20,
    HUGE_ALIGN_MIN = 4 << 20,
    ARENA_FIRST = 4096,
    ARENA_MAX = (1 << 20) - 64,
    ARENA_KEEP_MAX = 256 << 10, /* largest block that arena_reset keeps beside the first */
    KEPT_BLOCKS = 1024,         /* a result's pages of 256 KiB (exec/rows.c) are many */
    KEPT_EACH = 32 << 20,
#if defined(__SANITIZE_ADDRESS__)
    KEPT_ALL = 0,
#else
    KEPT_ALL = 128 << 20,
#endif
};

/* ---- accounts ------------------------------------------------------------ */

void mem_account_init(MemAccount *a, MemAccount *parent, const char *name, int64_t limit, const char *setting) {
    a->parent = parent;
    a->name = name;
    a->setting = setting;
    atomic_init(&a->refused, 0);
    a->n_parts = 0;
    a->parts = NULL;
    atomic_init(&a->used, 0);
    atomic_init(&a->peak, 0);
    atomic_init(&a->limit, limit);
    atomic_init(&a->reserve, 0);
}

/* Charges up to the root; NULL when done, else the account that refused (nothing is charged then). */
static MemAccount *charge_chain(MemAccount *a, int64_t bytes) {
    int64_t reserve = 0;
    for (MemAccount *m = a; m; m = m->parent) {
        int64_t used = atomic_fetch_add_explicit(&m->used, bytes, memory_order_relaxed) + bytes;
        int64_t limit = atomic_load_explicit(&m->limit, memory_order_relaxed);
        reserve = MAX_OF(reserve, atomic_load_explicit(&m->reserve, memory_order_relaxed));
        if (UNLIKELY(limit > 0 && used - limit > reserve)) {
            for (MemAccount *u = a;; u = u->parent) {
                atomic_fetch_sub_explicit(&u->used, bytes, memory_order_relaxed);
                if (u == m) break;
            }
            return m;
        }
        int64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
        while (used > peak && !atomic_compare_exchange_weak_explicit(&m->peak, &peak, used, memory_order_relaxed,
                                                                     memory_order_relaxed)) {}
    }
    return NULL;
}

static const MemAccount *largest_part(const MemAccount *a) {
    const MemAccount *most = NULL;
    for (int i = 0; i < a->n_parts; i++)
        if (!most || atomic_load(&a->parts[i].used) > atomic_load(&most->used)) most = &a->parts[i];
    return most;
}
Status mem_charge(MemAccount *a, int64_t bytes, Err *e) {
    MemAccount *refused = charge_chain(a, bytes);
    if (LIKELY(!refused)) return ST_OK;
    atomic_fetch_add_explicit(&refused->refused, 1, memory_order_relaxed);
    const char *name = refused->name ? refused->name : "unnamed";
    int64_t limit = atomic_load(&refused->limit), used = atomic_load(&refused->used);
    bool fresh = e && !err_is_set(e);
    if (refused->setting) {
        err_set(e, ERR_LIMIT_EXCEEDED, "memory limit of %s exceeded", name);
    } else {
        err_set(e, ERR_OUT_OF_MEMORY, "out of memory in %s", name);
    }
    if (fresh) {
        const MemAccount *most = largest_part(refused);
        if (most)
            err_detail(e, "Failed on a request of %lld bytes: %lld of %lld bytes are in use, %lld of them by %s.",
                       (long long)bytes, (long long)used, (long long)limit, (long long)atomic_load(&most->used),
                       most->name);
        else
            err_detail(e, "Failed on a request of %lld bytes: %lld of %lld bytes are in use.", (long long)bytes,
                       (long long)used, (long long)limit);
        if (refused->setting) err_hint(e, "Consider increasing the setting \"%s\".", refused->setting);
    }
    return ST_ERROR;
}

bool mem_try_charge(MemAccount *a, int64_t bytes) { return charge_chain(a, bytes) == NULL; }

void mem_discharge(MemAccount *a, int64_t bytes) {
    for (; a; a = a->parent) {
        int64_t before = atomic_fetch_sub_explicit(&a->used, bytes, memory_order_relaxed);
        dbg_assert(before >= bytes);
        (void)before;
    }
}

int64_t mem_headroom(const MemAccount *a) {
    int64_t room = INT64_MAX;
    for (; a; a = a->parent) {
        int64_t limit = atomic_load_explicit(&a->limit, memory_order_relaxed);
        if (limit <= 0) continue;
        int64_t left = limit - atomic_load_explicit(&a->used, memory_order_relaxed);
        if (left < room) room = left;
    }
    return room < 0 ? 0 : room;
}

/* ---- raw blocks ----------------------------------------------------------- */

static MemHooks hooks;
static _Atomic int64_t fail_countdown;

void mem_set_hooks(const MemHooks *h) { hooks = h ? *h : (MemHooks){0}; }
int64_t mem_fail_at(int64_t n) { return atomic_exchange(&fail_countdown, n); }

/* True when a test wants this allocation to fail. */
static bool must_fail(void) {
    if (LIKELY(atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0)) return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

static int64_t page_round(int64_t bytes) {
    static _Atomic int64_t page;
    int64_t p = atomic_load_explicit(&page, memory_order_relaxed);
    if (!p) {
        p = sysconf(_SC_PAGESIZE);
        if (p <= 0) p = 4096;
        atomic_store_explicit(&page, p, memory_order_relaxed);
    }
    return (bytes + p - 1) & ~(p - 1);
}

/* A mapping of page_round(bytes); on a huge page boundary when it is big enough. */
static void *map_pages(int64_t bytes, int access, int flags) {
    size_t size = (size_t)page_round(bytes);
    size_t slack = bytes >= HUGE_ALIGN_MIN ? (size_t)HUGE_PAGE : 0;
    char *p = mmap(NULL, size + slack, access, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (slack) {
        size_t head = (size_t)(-(uintptr_t)p & (uintptr_t)(HUGE_PAGE - 1));
        if (head) munmap(p, head);
        if (slack - head) munmap(p + head + size, slack - head);
        p += head;
    }
    madvise(p, size, MADV_HUGEPAGE); /* advice: its failure changes nothing */
    return p;
}

/* ---- freed mappings ---- */
static struct {
    Mutex lock;
    int n;
    int64_t bytes;
    struct KeptBlock {
        void *p;
        int64_t size;
    } block[KEPT_BLOCKS]; /* in the order in which they were freed */
} kept = {.lock = MUTEX_INITIALIZER(RANK_MEM_KEPT)};

/* What a block of so many bytes is mapped with. */
static int64_t map_size(int64_t bytes) {
    int64_t step = page_round(1);
    if (bytes > KEPT_EACH) return page_round(bytes);
    while (step * 16 < bytes) step *= 2;
    return (bytes + step - 1) & ~(step - 1);
}
static void *take_kept(int64_t size) {
    void *p = NULL;
    mutex_lock(&kept.lock);
    for (int i = kept.n - 1; i >= 0 && !p; i--) {
        if (kept.block[i].size != size) continue;
        p = kept.block[i].p;
        kept.bytes -= size;
        kept.n--;
        memmove(&kept.block[i], &kept.block[i + 1], sizeof *kept.block * (size_t)(kept.n - i));
    }
    mutex_unlock(&kept.lock);
    return p;
}
/* Room for a block of so many bytes: the oldest ones go to the system. False: there were none. */
static bool drop_kept(int64_t size) {
    bool some = false;
    for (;;) {
        struct KeptBlock old = {0};
        mutex_lock(&kept.lock);
        if (kept.n > 0 && (kept.n == KEPT_BLOCKS || kept.bytes + size > KEPT_ALL)) {
            old = kept.block[0];
            kept.bytes -= old.size;
            kept.n--;
            memmove(&kept.block[0], &kept.block[1], sizeof *kept.block * (size_t)kept.n);
        }
        mutex_unlock(&kept.lock);
        if (!old.p) return some;
        munmap(old.p, (size_t)old.size);
        some = true;
    }
}
int64_t mem_kept(void) {
    mutex_lock(&kept.lock);
    const int64_t bytes = kept.bytes;
    mutex_unlock(&kept.lock);
    return bytes;
}
int64_t mem_trim_kept(int64_t most) {
    const int64_t before = mem_kept();
    drop_kept(KEPT_ALL - MIN_OF(MAX_OF(most, INT64_C(0)), (int64_t)KEPT_ALL));
    return MAX_OF(before - mem_kept(), INT64_C(0));
}
static void unmap_block(void *p, int64_t bytes) {
    int64_t size = map_size(bytes);
    bool keeps = size <= MIN_OF(KEPT_EACH, KEPT_ALL) &&
                 (size < HUGE_ALIGN_MIN || ((uintptr_t)p & (HUGE_PAGE - 1)) == 0); /* it may have grown where it was */
    if (keeps) {
        drop_kept(size);
        mutex_lock(&kept.lock);
        if ((keeps = kept.n < KEPT_BLOCKS)) { /* another thread may have filled it */
            kept.block[kept.n++] = (struct KeptBlock){p, size};
            kept.bytes += size;
        }
        mutex_unlock(&kept.lock);
    }
    if (!keeps) munmap(p, (size_t)size);
}
/* `zeroed`: else what is in it may be anything. */
static void *map_block(int64_t bytes, bool zeroed) {
    int64_t size = map_size(bytes);
    void *p = take_kept(size);
    if (p && zeroed) memset(p, 0, (size_t)size); /* all of it: it may grow */
    if (!p) p = map_pages(size, PROT_READ | PROT_WRITE, 0);
    if (!p && drop_kept(KEPT_ALL)) p = map_pages(size, PROT_READ | PROT_WRITE, 0);
    return p;
}

/* The hooks promise no alignment: the block is moved up and its start kept just before it. */
static void *hook_alloc(int64_t bytes) {
    char *base = hooks.alloc(hooks.ctx, (size_t)bytes + BLOCK_ALIGN + sizeof(void *));
    if (!base) return NULL;
    uintptr_t at = ((uintptr_t)base + sizeof(void *) + BLOCK_ALIGN - 1) & ~(uintptr_t)(BLOCK_ALIGN - 1);
    char *p = base + (at - (uintptr_t)base);
    memcpy(p - sizeof(void *), &base, sizeof base);
    return p;
}

static void *raw_alloc(int64_t bytes, bool zeroed) {
    if (UNLIKELY(bytes < 0 || bytes > INT64_MAX / 2 || must_fail())) return NULL;
    if (bytes >= MAP_MIN) return map_block(bytes, zeroed);
    if (bytes == 0) bytes = 1;
    if (hooks.alloc) return hook_alloc(bytes);
    void *p = NULL;
    return posix_memalign(&p, BLOCK_ALIGN, (size_t)bytes) == 0 ? p : NULL;
}

static void raw_free(void *p, int64_t bytes) {
    if (bytes >= MAP_MIN) {
        unmap_block(p, bytes);
    } else if (hooks.alloc) {
        char *base;
        memcpy(&base, (char *)p - sizeof(void *), sizeof base);
        hooks.free(hooks.ctx, base, (size_t)MAX_OF(bytes, 1) + BLOCK_ALIGN + sizeof(void *));
    } else {
        free(p);
    }
}

#if defined(__SANITIZE_THREAD__)
/* ThreadSanitizer sees mmap and munmap, but not mremap: where a mapping moved away from, or grows into, it would go on
 * with the accesses of those who had these addresses before, and report races between owners one after the other. */
static void *remap_block(void *p, int64_t old_bytes, int64_t new_bytes) {
    if (map_size(old_bytes) == map_size(new_bytes)) return p;
    void *q = must_fail() ? NULL : map_block(new_bytes, true);
    if (!q) return NULL;
    memcpy(q, p, (size_t)MIN_OF(old_bytes, new_bytes));
    unmap_block(p, old_bytes);
    return q;
}
#else
/* Grows or shrinks a mapping without copying: in place if the addresses behind it are free,
 * else by moving its pages into a fresh, aligned mapping. */
static void *remap_block(void *p, int64_t old_bytes, int64_t new_bytes) {
    size_t old_size = (size_t)map_size(old_bytes), new_size = (size_t)map_size(new_bytes);
    if (old_size == new_size) return p;
    if (must_fail()) return NULL;
    void *q = mremap(p, old_size, new_size, 0);
    if (q == MAP_FAILED) {
        void *target = map_pages((int64_t)new_size, PROT_READ | PROT_WRITE, 0);
        if (!target) return NULL;
        q = mremap(p, old_size, new_size, MREMAP_MAYMOVE | MREMAP_FIXED, target);
        if (q == MAP_FAILED) {
            munmap(target, new_size);
            return NULL;
        }
    }
    madvise(q, new_size, MADV_HUGEPAGE);
    return q;
}
#endif

/* ---- charged blocks -------------------------------------------------------- */

static Status report_oom(int64_t bytes, Err *e) {
    bool fresh = e && !err_is_set(e);
    err_oom(e);
    if (fresh) err_detail(e, "Failed on a request of %lld bytes.", (long long)bytes);
    return ST_ERROR;
}

static void *charged_alloc(MemAccount *a, int64_t bytes, bool zeroed, Err *e) {
    if (UNLIKELY(bytes < 0)) {
        report_oom(bytes, e);
        return NULL;
    }
    if (mem_charge(a, bytes, e) != ST_OK) return NULL;
    void *p = raw_alloc(bytes, zeroed);
    if (UNLIKELY(!p)) {
        mem_discharge(a, bytes);
        report_oom(bytes, e);
    }
    return p;
}
void *mem_alloc(MemAccount *a, int64_t bytes, Err *e) { return charged_alloc(a, bytes, true, e); }
void *mem_alloc_raw(MemAccount *a, int64_t bytes, Err *e) { return charged_alloc(a, bytes, false, e); }

void *mem_calloc(MemAccount *a, int64_t bytes, Err *e) {
    void *p = mem_alloc(a, bytes, e);
    if (p && bytes < MAP_MIN) memset(p, 0, (size_t)bytes); /* mappings come zeroed */
    return p;
}

void *mem_realloc(MemAccount *a, void *p, int64_t old_bytes, int64_t new_bytes, Err *e) {
    if (!p) return mem_alloc(a, new_bytes, e);
    if (old_bytes >= MAP_MIN && new_bytes >= MAP_MIN) {
        int64_t more = new_bytes - old_bytes;
        if (more > 0 && mem_charge(a, more, e) != ST_OK) return NULL;
        void *q = remap_block(p, old_bytes, new_bytes);
        if (!q) {
            if (more > 0) mem_discharge(a, more);
            report_oom(new_bytes, e);
            return NULL;
        }
        if (more < 0) mem_discharge(a, -more);
        return q;
    }
    if (new_bytes < old_bytes) { /* no limit refuses what gives memory back */
        void *less = raw_alloc(new_bytes, true);
        if (!less) {
            report_oom(new_bytes, e);
            return NULL;
        }
        memcpy(less, p, (size_t)new_bytes);
        raw_free(p, old_bytes);
        mem_discharge(a, old_bytes - new_bytes);
        return less;
    }
    void *q = mem_alloc(a, new_bytes, e);
    if (!q) return NULL;
    memcpy(q, p, (size_t)old_bytes);
    mem_free(a, p, old_bytes);
    return q;
}

void mem_free(MemAccount *a, void *p, int64_t bytes) {
    if (!p) return;
    raw_free(p, bytes);
    mem_discharge(a, bytes);
}

/* ---- touching -------------------------------------------------------------- */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; headers may be older than the system */
#endif
void mem_touch(void *p, int64_t bytes) {
    if (bytes <= 0) return;
    int64_t page = page_round(1), before = (int64_t)((uintptr_t)p & (uintptr_t)(page - 1));
    char *first = (char *)p - before, *end = (char *)p + bytes;
    if (madvise(first, (size_t)page_round(end - first), MADV_POPULATE_WRITE) == 0 || errno != EINVAL) return;
    for (char *at = p; at < end; at = first += page)
        __atomic_fetch_or(at, 0, __ATOMIC_RELAXED); /* older systems: a write that changes nothing */
}

/* ---- spans: pages without access, made usable from the front ---------------- */

static bool open_pages(char *p, int64_t from, int64_t to) {
    from = page_round(from);
    to = page_round(to);
    return !must_fail() && (from >= to || mprotect(p + from, (size_t)(to - from), PROT_READ | PROT_WRITE) == 0);
}
static char *reserve_pages(int64_t most) { return map_pages(most, PROT_NONE, MAP_NORESERVE); }

void *mem_span_new(MemAccount *a, int64_t bytes, int64_t *most, Err *e) {
    if (UNLIKELY(bytes < 0 || bytes > INT64_MAX / 4)) {
        report_oom(bytes, e);
        return NULL;
    }
    if (mem_charge(a, bytes, e) != ST_OK) return NULL;
    int64_t least = MAX_OF(bytes, 1), want = MAX_OF(MIN_OF(*most, INT64_MAX / 4), least);
    char *p = reserve_pages(want);
    while (!p && want > least) p = reserve_pages(want = MAX_OF(want / 2, least));
    if (p && !open_pages(p, 0, bytes)) {
        munmap(p, (size_t)page_round(want));
        p = NULL;
    }
    if (!p) {
        mem_discharge(a, bytes);
        report_oom(bytes, e);
        return NULL;
    }
    *most = want;
    return p;
}

Status mem_span_grow(MemAccount *a, void *p, int64_t had, int64_t bytes, Err *e) {
    TRY(mem_charge(a, bytes - had, e));
    if (open_pages(p, had, bytes)) return ST_OK;
    mem_discharge(a, bytes - had);
    return report_oom(bytes - had, e);
}

/* The pages go first, and then the access to them: where the system has no memory for another mapping, they stay
 * accessible, which costs nothing, and are zero when they are touched. */
void mem_span_shrink(MemAccount *a, void *p, int64_t had, int64_t bytes) {
    const int64_t from = page_round(bytes), to = page_round(had);
    memset((char *)p + bytes, 0, (size_t)(MIN_OF(from, had) - bytes));
    if (from < to) {
        madvise((char *)p + from, (size_t)(to - from), MADV_DONTNEED);
        (void)mprotect((char *)p + from, (size_t)(to - from), PROT_NONE);
    }
    mem_discharge(a, had - bytes);
}

void mem_span_free(MemAccount *a, void *p, int64_t bytes, int64_t most) {
    if (!p) return;
    munmap(p, (size_t)page_round(most));
    mem_discharge(a, bytes);
}

/* ---- arenas ------------------------------------------------------------------ */

typedef struct Block {
    struct Block *next; /* older block */
    int64_t size;       /* with this header */
    int64_t pad[2];
} Block;
static_assert(sizeof(Block) % 16 == 0, "arena memory is 16-byte aligned");

typedef struct Release {
    struct Release *next;
    void (*fn)(void *);
    void *arg;
} Release;

struct Arena {
    char *cur, *end;  /* free part of `head` */
    Block *head;      /* block that is being filled; the oldest of the chain is `first` */
    Block *first;     /* holds the Arena itself */
    Block *big;       /* blocks of one allocation each */
    Release *release; /* newest first */
    MemAccount *acct;
    Err *err;
    int64_t next_size;
    int64_t bytes; /* of all blocks */
};

static const int64_t arena_header = (int64_t)((sizeof(Block) + sizeof(Arena) + 15) / 16 * 16);

Arena *arena_new(MemAccount *acct, Err *err) {
    Block *b = mem_alloc_raw(acct, ARENA_FIRST, err);
    if (!b) return NULL;
    *b = (Block){.size = ARENA_FIRST};
    Arena *a = (Arena *)(b + 1);
    *a = (Arena){.cur = (char *)b + arena_header,
                 .end = (char *)b + ARENA_FIRST,
                 .head = b,
                 .first = b,
                 .acct = acct,
                 .err = err,
                 .next_size = (int64_t)ARENA_FIRST * 2,
                 .bytes = ARENA_FIRST};
    return a;
}

static void run_releases(Arena *a) {
    /* A callback may register another one; the loop picks it up. */
    while (a->release) {
        Release *r = a->release;
        a->release = r->next;
        r->fn(r->arg);
    }
}

static void free_chain(MemAccount *acct, Block *b, const Block *stop) {
    while (b && b != stop) {
        Block *next = b->next;
        mem_free(acct, b, b->size);
        b = next;
    }
}

void arena_free(Arena *a) {
    if (!a) return;
    run_releases(a);
    MemAccount *acct = a->acct;
    Block *first = a->first;
    free_chain(acct, a->big, NULL);
    free_chain(acct, a->head, first);
    mem_free(acct, first, first->size);
}

void arena_reset(Arena *a) {
    run_releases(a);
    free_chain(a->acct, a->big, NULL);
    a->big = NULL;
    /* Keep one block beside the first, so that an arena that is reset for every batch does not
     * go to malloc for every batch; the rest of the first block is simply not used then. */
    Block *keep = NULL;
    for (Block *b = a->head; b != a->first;) {
        Block *next = b->next;
        if (!keep && b->size <= ARENA_KEEP_MAX) {
            keep = b;
        } else {
            mem_free(a->acct, b, b->size);
        }
        b = next;
    }
    a->bytes = a->first->size + (keep ? keep->size : 0);
    if (keep) {
        keep->next = a->first;
        a->head = keep;
        a->cur = (char *)(keep + 1);
        a->end = (char *)keep + keep->size;
        a->next_size = keep->size;
    } else {
        a->head = a->first;
        a->cur = (char *)a->first + arena_header;
        a->end = (char *)a->first + a->first->size;
        a->next_size = (int64_t)ARENA_FIRST * 2;
    }
}

void arena_set_err(Arena *a, Err *err) { a->err = err; }
Err *arena_err(Arena *a) { return a->err; }
MemAccount *arena_account(Arena *a) { return a->acct; }
int64_t arena_bytes(const Arena *a) { return a->bytes; }

static NOINLINE void *alloc_slow(Arena *a, int64_t bytes) {
    if (bytes < 0 || bytes > INT64_MAX / 4) {
        report_oom(bytes, a->err);
        return NULL;
    }
    int64_t need = bytes + (int64_t)sizeof(Block);
    if (need > a->next_size / 2) { /* would waste much of a block: a block of its own */
        Block *b = mem_alloc_raw(a->acct, need, a->err);
        if (!b) return NULL;
        *b = (Block){.next = a->big, .size = need};
        a->big = b;
        a->bytes += need;
        if (a->next_size < ARENA_MAX) a->next_size = MIN_OF(a->next_size * 2, (int64_t)ARENA_MAX);
        return b + 1;
    }
    Block *b = mem_alloc_raw(a->acct, a->next_size, a->err);
    if (!b) return NULL;
    *b = (Block){.next = a->head, .size = a->next_size};
    a->head = b;
    a->bytes += b->size;
    a->cur = (char *)(b + 1);
    a->end = (char *)b + b->size;
    if (a->next_size < ARENA_MAX) a->next_size = MIN_OF(a->next_size * 2, (int64_t)ARENA_MAX);
    void *p = a->cur;
    a->cur += bytes;
    return p;
}

void *arena_alloc(Arena *a, int64_t bytes) {
    if (UNLIKELY(bytes < 0 || bytes > INT64_MAX / 4)) return alloc_slow(a, bytes);
    int64_t n = bytes ? (bytes + 15) & ~INT64_C(15) : 16; /* distinct addresses for empty objects */
    if (LIKELY(n <= a->end - a->cur)) {
        void *p = a->cur;
        a->cur += n;
        return p;
    }
    return alloc_slow(a, n);
}

void *arena_calloc(Arena *a, int64_t bytes) {
    void *p = arena_alloc(a, bytes);
    if (p) memset(p, 0, (size_t)bytes);
    return p;
}

char *arena_strndup(Arena *a, const char *s, int64_t len) {
    char *p = arena_alloc(a, len + 1);
    if (!p) return NULL;
    if (len > 0) memcpy(p, s, (size_t)len);
    p[len] = 0;
    return p;
}

char *arena_strdup(Arena *a, const char *s) { return arena_strndup(a, s, (int64_t)strlen(s)); }

char *arena_printf(Arena *a, const char *fmt, ...) {
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char *p = NULL;
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0) {
        p = arena_alloc(a, (int64_t)n + 1);
        if (p) vsnprintf(p, (size_t)n + 1, fmt, again);
    } else {
        err_internal(a->err, "could not format \"%s\"", fmt);
    }
    va_end(again);
    va_end(ap);
    return p;
}

Status arena_on_release(Arena *a, void (*fn)(void *), void *arg) {
    Release *r = arena_alloc(a, (int64_t)sizeof *r);
    if (!r) return ST_ERROR;
    *r = (Release){a->release, fn, arg};
    a->release = r;
    return ST_OK;
}

bool vec_grow_(Arena *a, void **items, int64_t len, int64_t *cap, int64_t item_size) {
    if (*cap > INT64_MAX / 4 / item_size) {
        report_oom(INT64_MAX, a->err);
        return false;
    }
    int64_t new_cap = *cap ? *cap * 2 : 8;
    void *p = arena_alloc(a, new_cap * item_size);
    if (!p) return false;
    if (len > 0) memcpy(p, *items, (size_t)(len * item_size));
    *items = p;
    *cap = new_cap;
    return true;
}
