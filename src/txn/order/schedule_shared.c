/* schedule_shared.c - depths and locks by several workers, where calls have several items; see schedule_int.h.
 *
 * Of most items a bulk's calls make no use that conflicts: one call works on them, or all only read, or all only add.
 * Operations on those order nothing, and are dropped first. What is left are the contended items.
 *
 *   1. deal: the operations of each piece (some thousands of them, whole calls) by partition of their items
 *   2. drop: of each partition what is not contended; contended items get numbers, in the order of their first use
 *   3. mark: which calls span partitions, that is, have contended items in several
 *   4. depths: each partition goes through its operations in the order of calls. The depth of a call within one
 *      partition is known then. That of a call that spans partitions is at least what each of them asks for: they
 *      raise it, and as long as one was raised all go through their operations again. Depths only rise and never
 *      exceed the true ones, and when nothing rises they fulfil the definition for every call: so they are exact,
 *      whatever order the workers had. Where many calls span partitions, or after ROUNDS_MAX rounds (long chains from
 *      partition to partition), one worker goes through all contended operations in the order of calls instead.
 *
 * Steps 1 and 3 are done by piece, 2 and 4 by partition; a piece's calls belong to one worker at a time. How the work
 * is cut depends on the bulk only, so that locks have the same numbers for any number of workers.
 */
#include "txn/order/schedule_int.h"

enum {
    SHARED_OPS_MIN = 1 << 14, /* with fewer operations waking workers takes longer */
    SHARED_WORKERS_MIN = 4,   /* a pass over one table costs half as much in all, so with fewer it is as quick */
    PIECE_OPS = 4096,         /* operations of a piece, at least: they are dealt out within the first-level cache */
    PARTITION_OPS = 8192,     /* ... of a partition, on average: its table of items fits the second-level cache */
    PARTITIONS_MIN = 16,
    PARTITIONS_MAX = 256,
    ROUNDS_MAX = 3,
    SPANNING_SHARE = 16, /* rounds only where fewer than one call in so many spans partitions: else chains are long */
    NO_OWNER = 0xffff,
    SPANS_ALL = 0xfffe /* owner of calls that span partitions */
};
/* Bits of TxnOp.kind here: the code of a kind, and what has been found out. */
enum { OP_CODE = CODES, OP_WAITS = 0x10 /* for the item */, OP_SPANS = 0x20 /* its call does */, OP_USES = 0x40 };

struct OpPiece {
    int64_t first_run, end_run;
    int64_t first_op, n_ops; /* in `dealt` */
    int64_t first_call;      /* up to that of the next piece; that of the first is 0 */
    int64_t n_left;          /* operations on contended items */
    int64_t first_left;      /* in `by_call` */
    int64_t n_uses;          /* of locks, before those of this piece */
};

/* An item in the table that finds the contended ones. */
typedef struct ItemUse {
    uint64_t item;
    uint32_t call; /* the first; later the item's number */
    uint16_t tag;  /* 1 + partition: other entries are free */
    uint8_t codes; /* of all kinds */
    bool several;  /* calls */
} ItemUse;

ALWAYS_INLINE uint64_t item_mix(uint64_t item) { return item ^ item >> 32; }

static void run_workers(SharedItems *s, PoolFn fn) {
    atomic_store(&s->next, 0);
    if (s->pool && s->workers > 1) pool_run(s->pool, s->workers, fn, s);
    else fn(s, 0);
}
static int64_t next_call(const SharedItems *s, int64_t piece) {
    return piece + 1 < s->n_pieces ? s->pieces[piece + 1].first_call : s->in->n_calls;
}
/* The operations of a piece on items of a partition; *n: those that are left of them. */
ALWAYS_INLINE TxnOp *ops_of(const SharedItems *s, int64_t piece, int64_t partition, int64_t *n) {
    const int64_t at = piece * s->n_partitions + partition;
    *n = s->left[at];
    return s->dealt + s->pieces[piece].first_op + s->start[at];
}
/* The same, where a partition's are read piece after piece. */
ALWAYS_INLINE TxnOp *ops_in_turn(const SharedItems *s, int64_t piece, int64_t partition, int64_t *n) {
    enum { PIECES_AHEAD = 2, LINE_OPS = 64 / (int)sizeof(TxnOp) };
    if (piece + PIECES_AHEAD < s->n_pieces) {
        const TxnOp *op = ops_of(s, piece + PIECES_AHEAD, partition, n);
        for (int64_t k = 0; k < *n; k += LINE_OPS) __builtin_prefetch(op + k, 1);
    }
    return ops_of(s, piece, partition, n);
}

/* ---- 1. deal ---- */
static void deal_piece(const SharedItems *s, int64_t piece) {
    const struct OpPiece *p = &s->pieces[piece];
    const uint64_t mask = (uint64_t)s->n_partitions - 1;
    uint32_t *const start = s->start + piece * s->n_partitions, *const left = s->left + piece * s->n_partitions;
    uint32_t at[PARTITIONS_MAX], sum = 0;
    memset(left, 0, (size_t)s->n_partitions * 4);
    for (int64_t r = p->first_run; r < p->end_run; r++)
        for (int64_t k = 0; k < s->runs[r].n; k++) left[item_mix(s->runs[r].ops[k].item) & mask]++;
    for (int64_t k = 0; k < s->n_partitions; k++) {
        start[k] = at[k] = sum;
        sum += left[k];
    }
    TxnOp *const to = s->dealt + p->first_op;
    for (int64_t r = p->first_run; r < p->end_run; r++)
        for (int64_t k = 0; k < s->runs[r].n; k++) {
            const TxnOp *op = &s->runs[r].ops[k];
            to[at[item_mix(op->item) & mask]++] = *op;
        }
}
static void deal_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces;) deal_piece(s, i);
}

/* ---- 2. drop ---- */
static bool is_contended(const ItemUse *u) {
    enum { CODE_READ = OPK_READ + 1, CODE_ADD = OPK_ADD + 1 };
    return u->several && u->codes != CODE_READ && u->codes != CODE_ADD;
}
static int64_t partition_ops(const SharedItems *s, int64_t partition) {
    int64_t sum = 0;
    for (int64_t i = 0; i < s->n_pieces; i++) sum += s->left[i * s->n_partitions + partition];
    return sum;
}
/* Enters all operations; each then has its item's place in the table instead of the item. */
static void enter_items(const SharedItems *s, int64_t partition, ItemUse *table, int bits) {
    const uint64_t mask = (UINT64_C(1) << bits) - 1;
    const uint16_t tag = (uint16_t)(partition + 1);
    for (int64_t i = 0, n; i < s->n_pieces; i++) {
        TxnOp *op = ops_in_turn(s, i, partition, &n);
        for (int64_t k = 0; k < n; k++) {
            const uint64_t item = op[k].item;
            uint64_t at = item_mix(item) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits);
            while (table[at].tag == tag && table[at].item != item) at = (at + 1) & mask;
            ItemUse *u = &table[at];
            if (u->tag != tag) *u = (ItemUse){.item = item, .call = op[k].call, .tag = tag};
            op[k].kind = (uint8_t)kind_code(op[k].kind, s->fetch_adds);
            u->codes |= op[k].kind;
            u->several |= u->call != op[k].call;
            op[k].item = at;
        }
    }
}
/* Operations on contended items stay, with the item's number; returns how many items there are. */
static int64_t keep_contended(const SharedItems *s, int64_t partition, ItemUse *table) {
    enum { NUMBERED = 1 << 7 }; /* in codes */
    int64_t items = 0;
    for (int64_t i = 0, n; i < s->n_pieces; i++) {
        TxnOp *op = ops_in_turn(s, i, partition, &n);
        int64_t kept = 0;
        for (int64_t k = 0; k < n; k++) {
            ItemUse *u = &table[op[k].item];
            if (!(u->codes & NUMBERED)) {
                if (!is_contended(u)) continue;
                u->call = (uint32_t)items++;
                u->codes |= NUMBERED;
            }
            op[kept++] = (TxnOp){.item = u->call, .call = op[k].call, .kind = op[k].kind};
        }
        s->left[i * s->n_partitions + partition] = (uint32_t)kept;
    }
    return items;
}
static void drop_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    int bits = 0;
    ItemUse *table = NULL;
    for (int64_t p; (p = atomic_fetch_add(&s->next, 1)) < s->n_partitions && !atomic_load(&s->failed);) {
        const int64_t n = partition_ops(s, p);
        if (!table || n > INT64_C(1) << bits >> 1) {
            Err quiet = {0};
            if (table) mem_free(s->acct, table, (int64_t)sizeof *table << bits);
            for (bits = 10; INT64_C(1) << bits < 2 * n; bits++) continue;
            table = mem_calloc(s->acct, (int64_t)sizeof *table << bits, &quiet);
            if (!table) {
                atomic_store(&s->failed, true);
                return;
            }
        }
        enter_items(s, p, table, bits);
        s->item_base[p + 1] = keep_contended(s, p, table);
    }
    if (table) mem_free(s->acct, table, (int64_t)sizeof *table << bits);
}

/* ---- 3. mark ---- */
static int64_t mark_piece(const SharedItems *s, int64_t piece) {
    const int64_t first = s->pieces[piece].first_call, calls = next_call(s, piece) - first;
    int64_t spanning = 0, left = 0, n;
    memset(s->depth + first, 0, (size_t)calls * sizeof *s->depth);
    memset(s->owner + first, 0xff, (size_t)calls * sizeof *s->owner);
    for (int64_t p = 0; p < s->n_partitions; p++) {
        const TxnOp *op = ops_of(s, piece, p, &n);
        left += n;
        for (int64_t k = 0; k < n; k++) {
            uint16_t *owner = &s->owner[op[k].call];
            if (*owner == NO_OWNER) *owner = (uint16_t)p;
            if (*owner == p || *owner == SPANS_ALL) continue;
            *owner = SPANS_ALL;
            spanning++;
        }
    }
    s->pieces[piece].n_left = left;
    for (int64_t p = 0; p < s->n_partitions && spanning > 0; p++) {
        TxnOp *op = ops_of(s, piece, p, &n);
        for (int64_t k = 0; k < n; k++)
            if (s->owner[op[k].call] == SPANS_ALL) op[k].kind |= OP_SPANS;
    }
    return spanning;
}
static void mark_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces;)
        atomic_fetch_add(&s->spanning, mark_piece(s, i));
}

/* ---- 4. depths ---- */
/* enter_ops() and leave_ops() for numbered items: states[item]. */
ALWAYS_INLINE uint32_t enter_numbered(uint64_t *states, int64_t n, const TxnOp *ops, FetchAddsHow how) {
    uint32_t depth = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t st = states[ops[i].item] | (uint64_t)(ops[i].kind & OP_CODE) << CODE_BITS;
        states[ops[i].item] = st;
        const uint64_t code = st >> CODE_BITS & CODES;
        const uint32_t want = state_depth(st, code, code == (st & CODES), how);
        depth = MAX_OF(depth, want);
    }
    return depth;
}
ALWAYS_INLINE int64_t leave_numbered(uint64_t *states, int64_t n, TxnOp *ops, uint32_t depth, FetchAddsHow how) {
    int64_t waits = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t st = states[ops[i].item], code = st >> CODE_BITS & CODES;
        ops[i].kind &= (uint8_t)~OP_WAITS;
        if (UNLIKELY(!code)) continue; /* a second operation of the call on the item */
        const uint32_t before = state_wanted(st, code == (st & CODES)), last = state_last(st);
        if (before > 0) {
            ops[i].kind |= OP_WAITS;
            waits++;
        }
        states[ops[i].item] = state_make(group_code(code, how), before, MAX_OF(last, depth + 1));
    }
    return waits;
}
/* A depth that other partitions may raise too. */
static uint32_t raise_depth(SharedItems *s, uint32_t call, uint32_t depth) {
    int32_t *const cell = &s->depth[call];
    int32_t now = __atomic_load_n(cell, __ATOMIC_RELAXED);
    while (now < (int32_t)depth) {
        if (!__atomic_compare_exchange_n(cell, &now, (int32_t)depth, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        if (!atomic_load_explicit(&s->raised, memory_order_relaxed)) atomic_store(&s->raised, true);
        return depth;
    }
    return (uint32_t)now;
}
ALWAYS_INLINE void partition_depths(SharedItems *s, int64_t partition, FetchAddsHow how) {
    uint64_t *const states = s->states + s->item_base[partition];
    memset(states, 0, (size_t)(s->item_base[partition + 1] - s->item_base[partition]) * sizeof *states);
    for (int64_t i = 0, n; i < s->n_pieces; i++) {
        TxnOp *op = ops_in_turn(s, i, partition, &n);
        for (int64_t k = 0, m; k < n; k += m) {
            const uint32_t call = op[k].call;
            for (m = 1; k + m < n && op[k + m].call == call; m++) continue;
            uint32_t depth = enter_numbered(states, m, op + k, how);
            if (op[k].kind & OP_SPANS) depth = raise_depth(s, call, depth);
            else s->depth[call] = (int32_t)depth;
            (void)leave_numbered(states, m, op + k, depth, how);
        }
    }
}
static void depths_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t p; (p = atomic_fetch_add(&s->next, 1)) < s->n_partitions;)
        if (s->item_base[p + 1] > s->item_base[p]) {
            if (s->fetch_adds == FETCH_ADDS_SHARE) partition_depths(s, p, FETCH_ADDS_SHARE);
            else partition_depths(s, p, FETCH_ADDS_WRITE); /* none, or writes already */
        }
}
/* Rounds until no depth rises. False: too many. */
static bool find_by_partition(SharedItems *s) {
    const int64_t spanning = atomic_load(&s->spanning);
    const int64_t rounds = spanning == 0                                ? 1
                           : spanning > s->in->n_calls / SPANNING_SHARE ? 0
                                                                        : MIN_OF((int64_t)ROUNDS_MAX, s->workers / 2);
    for (int64_t k = 0; k < rounds; k++) {
        atomic_store(&s->raised, false);
        run_workers(s, depths_worker);
        if (!atomic_load(&s->raised)) return true;
    }
    return false;
}

/* What is left of a piece by call; depths of its calls serve as counters on the way, and are 0 again. */
static void sort_piece(const SharedItems *s, int64_t piece) {
    const int64_t first = s->pieces[piece].first_call, end = next_call(s, piece);
    int64_t n, sum = 0;
    memset(s->depth + first, 0, (size_t)(end - first) * sizeof *s->depth);
    for (int64_t p = 0; p < s->n_partitions; p++) {
        const TxnOp *op = ops_of(s, piece, p, &n);
        for (int64_t k = 0; k < n; k++) s->depth[op[k].call]++;
    }
    for (int64_t c = first; c < end; c++) {
        const int32_t count = s->depth[c];
        s->depth[c] = (int32_t)sum;
        sum += count;
    }
    TxnOp *const to = s->by_call + s->pieces[piece].first_left;
    for (int64_t p = 0; p < s->n_partitions; p++) {
        const TxnOp *op = ops_of(s, piece, p, &n);
        for (int64_t k = 0; k < n; k++) {
            TxnOp *at = &to[s->depth[op[k].call]++];
            *at = op[k];
            at->item += (uint64_t)s->item_base[p];
        }
    }
    memset(s->depth + first, 0, (size_t)(end - first) * sizeof *s->depth);
}
static void sort_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces;) sort_piece(s, i);
}
ALWAYS_INLINE void depths_in_order(SharedItems *s, Figures *f, FetchAddsHow how) {
    memset(s->states, 0, (size_t)s->item_base[s->n_partitions] * sizeof *s->states);
    for (int64_t i = 0; i < s->n_pieces; i++) {
        TxnOp *const op = s->by_call + s->pieces[i].first_left;
        const int64_t n = s->pieces[i].n_left;
        for (int64_t k = 0, m; k < n; k += m) {
            const uint32_t call = op[k].call;
            for (m = 1; k + m < n && op[k + m].call == call; m++) continue;
            for (int64_t j = k + PREFETCH_DISTANCE; j < MIN_OF(n, k + m + PREFETCH_DISTANCE); j++)
                __builtin_prefetch(&s->states[op[j].item], 1);
            const uint32_t depth = enter_numbered(s->states, m, op + k, how);
            s->depth[call] = (int32_t)depth;
            f->crossing += leave_numbered(s->states, m, op + k, depth, how) > 1;
            f->width0 -= depth > 0;
            f->depth = MAX_OF(f->depth, (int64_t)depth + 1);
        }
    }
}
/* One worker, in the order of calls. False: no memory. */
static bool find_in_order(SharedItems *s, Figures *f) {
    Err quiet = {0};
    int64_t left = 0;
    *f = (Figures){.depth = s->in->n_calls > 0, .width0 = s->in->n_calls};
    for (int64_t i = 0; i < s->n_pieces; i++) {
        s->pieces[i].first_left = left;
        left += s->pieces[i].n_left;
    }
    const int64_t bytes = (left + 1) * (int64_t)sizeof(TxnOp);
    s->by_call = mem_alloc_raw(s->acct, bytes, &quiet);
    if (!s->by_call) return false;
    run_workers(s, sort_worker);
    if (s->fetch_adds == FETCH_ADDS_SHARE) depths_in_order(s, f, FETCH_ADDS_SHARE);
    else depths_in_order(s, f, FETCH_ADDS_WRITE);
    mem_free(s->acct, s->by_call, bytes);
    s->by_call = NULL;
    return true;
}

/* Figures of depths that partitions have found. `owner` counts the items that a call waits for: up to 2. */
static void figures_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    Figures f = {0};
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces;) {
        const int64_t first = s->pieces[i].first_call, end = next_call(s, i);
        memset(s->owner + first, 0, (size_t)(end - first) * sizeof *s->owner);
        for (int64_t p = 0, n; p < s->n_partitions; p++) {
            const TxnOp *op = ops_of(s, i, p, &n);
            for (int64_t k = 0; k < n; k++) {
                uint16_t *waits = &s->owner[op[k].call];
                if (!(op[k].kind & OP_WAITS) || *waits == 2) continue;
                f.crossing += ++*waits == 2;
            }
        }
        for (int64_t c = first; c < end; c++) {
            f.width0 += s->depth[c] == 0;
            f.depth = MAX_OF(f.depth, (int64_t)s->depth[c] + 1);
        }
    }
    atomic_fetch_add(&s->crossing, f.crossing);
    atomic_fetch_add(&s->width0, f.width0);
    int64_t most = atomic_load(&s->most);
    while (most < f.depth && !atomic_compare_exchange_weak(&s->most, &most, f.depth)) continue;
}

/* ---- locks ---- */
/* Uses of a partition's locks: `from` in the upper half of TxnOp.item, OP_USES at a call's first operation on an item.
 * States are as in find_uses (schedule.c). */
static void partition_uses(const SharedItems *s, int64_t partition) {
    const int64_t base = s->item_base[partition], items = s->item_base[partition + 1] - base;
    uint64_t *const states = s->states + base;
    for (int64_t k = 0; k < items; k++) states[k] = state_make(0, 1, 1);
    for (int64_t i = 0, n; i < s->n_pieces; i++) {
        TxnOp *op = ops_in_turn(s, i, partition, &n);
        for (int64_t k = 0, m; k < n; k += m) {
            for (m = 0; k + m < n && op[k + m].call == op[k].call; m++) {
                const uint64_t code = MIN_OF(op[k + m].kind & OP_CODE, (int)CODE_WRITE);
                uint64_t *st = &states[op[k + m].item];
                op[k + m].kind &= (uint8_t)~OP_USES;
                if ((*st >> CODE_BITS & CODES) == 0) op[k + m].kind |= OP_USES;
                *st |= code << CODE_BITS;
            }
            for (int64_t j = k; j < k + m; j++) {
                if (!(op[j].kind & OP_USES)) continue;
                const uint64_t st = states[op[j].item], code = st >> CODE_BITS & CODES;
                const uint32_t from = state_wanted(st, code == (st & CODES));
                states[op[j].item] = state_make(group_code(code, FETCH_ADDS_WRITE), from, state_last(st) + 1);
                op[j].item |= (uint64_t)(from - 1) << 32;
            }
        }
    }
}
static void uses_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t p; (p = atomic_fetch_add(&s->next, 1)) < s->n_partitions;)
        if (s->item_base[p + 1] > s->item_base[p]) partition_uses(s, p);
}
static void count_uses_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces;) {
        const int64_t first = s->pieces[i].first_call, end = next_call(s, i);
        int64_t uses = 0;
        memset(s->lock_start + first, 0, (size_t)(end - first) * sizeof *s->lock_start);
        for (int64_t p = 0, n; p < s->n_partitions; p++) {
            const TxnOp *op = ops_of(s, i, p, &n);
            for (int64_t k = 0; k < n; k++) {
                if (!(op[k].kind & OP_USES)) continue;
                s->lock_start[op[k].call]++;
                uses++;
            }
        }
        s->pieces[i].n_uses = uses;
    }
}
static void place_uses_worker(void *ctx, int worker) {
    SharedItems *s = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&s->next, 1)) < s->n_pieces;) {
        const int64_t first = s->pieces[i].first_call, end = next_call(s, i);
        int64_t sum = s->pieces[i].n_uses;
        for (int64_t c = first; c < end; c++) {
            const int64_t count = s->lock_start[c];
            s->lock_start[c] = sum;
            s->depth[c] = 0; /* uses of the call that are placed */
            sum += count;
        }
        for (int64_t p = 0, n; p < s->n_partitions; p++) {
            const TxnOp *op = ops_of(s, i, p, &n);
            for (int64_t k = 0; k < n; k++) {
                if (!(op[k].kind & OP_USES)) continue;
                s->locks[s->lock_start[op[k].call] + s->depth[op[k].call]++] = (LockUse){
                    (uint32_t)(s->item_base[p] + (int64_t)(op[k].item & UINT32_MAX)), (uint32_t)(op[k].item >> 32)};
            }
        }
    }
}
Status shared_locks(SharedItems *s, Arena *a, Schedule *out, Err *e) {
    int64_t uses = 0;
    s->lock_start = out->lock_start = arena_alloc(a, (s->in->n_calls + 1) * (int64_t)sizeof *out->lock_start);
    if (!s->lock_start) return err_is_set(e) ? ST_ERROR : err_oom(e);
    run_workers(s, uses_worker);
    run_workers(s, count_uses_worker);
    for (int64_t i = 0; i < s->n_pieces; i++) {
        const int64_t n = s->pieces[i].n_uses;
        s->pieces[i].n_uses = uses;
        uses += n;
    }
    s->locks = out->locks = arena_alloc(a, uses * (int64_t)sizeof *out->locks + 1);
    if (!s->locks) return err_is_set(e) ? ST_ERROR : err_oom(e);
    run_workers(s, place_uses_worker);
    s->lock_start[s->in->n_calls] = uses;
    out->n_locks = s->item_base[s->n_partitions];
    return ST_OK;
}

/* ---- all of it ---- */
/* Runs of one array end behind a call's last operation. */
static Status cut_runs(SharedItems *s, const TxnOp *ops, Err *e) {
    const int64_t n_ops = s->in->n_ops;
    s->runs_bytes = (n_ops / PIECE_OPS + 1) * (int64_t)sizeof(OpRun);
    OpRun *runs = mem_alloc_raw(s->acct, s->runs_bytes, e);
    if (!runs) return s->runs_bytes = 0, ST_ERROR;
    s->runs = runs;
    for (int64_t i = 0, n; i < n_ops; i += n) {
        n = MIN_OF((int64_t)PIECE_OPS, n_ops - i);
        while (i + n < n_ops && ops[i + n].call == ops[i + n - 1].call) n++;
        runs[s->n_runs++] = (OpRun){ops + i, n};
    }
    return ST_OK;
}
static Status cut_pieces(SharedItems *s, Err *e) {
    s->pieces_bytes = (s->in->n_ops / PIECE_OPS + 1) * (int64_t)sizeof *s->pieces;
    s->pieces = mem_alloc_raw(s->acct, s->pieces_bytes, e);
    if (!s->pieces) return s->pieces_bytes = 0, ST_ERROR;
    struct OpPiece piece = {0};
    int64_t first_op = 0;
    for (int64_t r = 0; r < s->n_runs; r++) {
        if (piece.n_ops == 0 && s->runs[r].n > 0) piece.first_call = s->n_pieces ? s->runs[r].ops[0].call : 0;
        piece.n_ops += s->runs[r].n;
        piece.end_run = r + 1;
        if (piece.n_ops < PIECE_OPS && r + 1 < s->n_runs) continue;
        if (piece.n_ops == 0) break;
        if (piece.n_ops > INT32_MAX) return ST_ERROR; /* places in a piece are counted in 32 bits */
        piece.first_op = first_op;
        first_op += piece.n_ops;
        s->pieces[s->n_pieces++] = piece;
        piece = (struct OpPiece){.first_run = r + 1};
    }
    return ST_OK;
}
static void drop_room(ScheduleScratch *kept) {
    if (kept->room) mem_free(kept->acct, kept->room, kept->room_bytes);
    kept->room = NULL;
}
void shared_trim(ScheduleScratch *scratch, int64_t n_ops) {
    enum { LARGER_MAX = 8 }; /* times what the operations need */
    if (scratch->room && scratch->room_bytes / LARGER_MAX > n_ops * (int64_t)sizeof(TxnOp)) drop_room(scratch);
}
/* Memory of the last bulk is cheaper than fresh pages. */
static void *take_room(SharedItems *s, Err *e) {
    ScheduleScratch *kept = s->in->scratch;
    if (kept && kept->room && kept->room_bytes >= s->room_bytes) {
        s->room = kept->room;
        s->room_bytes = kept->room_bytes;
        kept->room = NULL;
        return s->room;
    }
    if (kept) drop_room(kept);
    return s->room = mem_alloc_raw(s->acct, s->room_bytes, e);
}
static Status find_room(SharedItems *s, const TxnOp *ops, Err *e) {
    const ScheduleInput *in = s->in;
    if (in->runs && !ops) {
        s->runs = in->runs;
        s->n_runs = in->n_runs;
    } else {
        TRY(cut_runs(s, ops, e));
    }
    TRY(cut_pieces(s, e));
    s->n_partitions = PARTITIONS_MIN;
    while (s->n_partitions < PARTITIONS_MAX && s->n_partitions * PARTITION_OPS < in->n_ops) s->n_partitions *= 2;
    const int64_t cells = s->n_pieces * s->n_partitions;
    s->room_bytes = in->n_ops * (int64_t)sizeof(TxnOp) + (s->n_partitions + 1) * 8 + cells * 8 + in->n_calls * 2;
    char *p = take_room(s, e);
    if (!p) return ST_ERROR;
    s->dealt = (TxnOp *)p;
    s->item_base = (int64_t *)(s->dealt + in->n_ops);
    s->start = (uint32_t *)(s->item_base + s->n_partitions + 1);
    s->left = s->start + cells;
    s->owner = (uint16_t *)(s->left + cells);
    return ST_OK;
}
static bool find_states(SharedItems *s) {
    Err quiet = {0};
    s->item_base[0] = 0;
    for (int64_t p = 0; p < s->n_partitions; p++) s->item_base[p + 1] += s->item_base[p];
    s->states_bytes = MAX_OF(s->item_base[s->n_partitions], INT64_C(1)) * (int64_t)sizeof *s->states;
    s->states = mem_alloc_raw(s->acct, s->states_bytes, &quiet);
    if (!s->states) s->states_bytes = 0;
    return s->states;
}
void shared_free(SharedItems *s, bool keep) {
    if (s->runs_bytes) mem_free(s->acct, (OpRun *)(uintptr_t)s->runs, s->runs_bytes);
    if (s->pieces_bytes) mem_free(s->acct, s->pieces, s->pieces_bytes);
    ScheduleScratch *kept = s->in->scratch;
    if (s->room && kept && keep) {
        kept->room = s->room;
        kept->room_bytes = s->room_bytes;
    } else {
        if (s->room) mem_free(s->acct, s->room, s->room_bytes);
        if (kept && !keep) drop_room(kept);
    }
    s->room = NULL;
    if (s->states_bytes) mem_free(s->acct, s->states, s->states_bytes);
    s->runs_bytes = s->pieces_bytes = s->states_bytes = 0;
}
bool shared_pays(const ScheduleInput *in) {
    if (in->shared_min > 0) return in->n_ops >= in->shared_min;
    return in->n_ops >= SHARED_OPS_MIN && in->workers >= SHARED_WORKERS_MIN;
}
bool shared_find(SharedItems *s, const ScheduleInput *in, const TxnOp *ops, FetchAddsHow fetch_adds, Pool *pool,
                 MemAccount *acct, int32_t *depth, Figures *f) {
    Err quiet = {0};
    *s = (SharedItems){
        .in = in, .fetch_adds = fetch_adds, .pool = pool, .workers = in->workers, .acct = acct, .depth = depth};
    if (find_room(s, ops, &quiet) != ST_OK) return false;
    run_workers(s, deal_worker);
    run_workers(s, drop_worker);
    if (atomic_load(&s->failed) || !find_states(s)) return false;
    run_workers(s, mark_worker);
    if (!find_by_partition(s)) return find_in_order(s, f);
    run_workers(s, figures_worker);
    *f = (Figures){
        .depth = atomic_load(&s->most), .width0 = atomic_load(&s->width0), .crossing = atomic_load(&s->crossing)};
    return true;
}
