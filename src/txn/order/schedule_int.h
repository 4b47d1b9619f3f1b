/* schedule_int.h - the table of items and what depths make of it: schedule.c, schedule_lone.c and
 * schedule_shared.c only. */
#ifndef STELE_TXN_ORDER_SCHEDULE_INT_H
#define STELE_TXN_ORDER_SCHEDULE_INT_H

#include "txn/order/schedule.h"

enum { PREFETCH_DISTANCE = 24, HELD = 64 };

typedef struct Slot {
    uint64_t item;
    uint64_t state; /* 0 = free */
} Slot;
typedef enum FetchAddsHow { FETCH_ADDS_NONE /* there are none */, FETCH_ADDS_WRITE, FETCH_ADDS_SHARE } FetchAddsHow;
typedef struct ItemTable {
    Slot *slots;         /* undefined before table_empty */
    int bits, cap_bits;  /* slots in use, slots allocated */
    int64_t used, limit; /* grows beyond `limit` */
    FetchAddsHow fetch_adds;
    MemAccount *acct;
} ItemTable;
struct ScheduleScratch {
    MemAccount *acct;
    ItemTable kept, uses; /* slots NULL: nothing; used: items of the last bulk. For depths, for uses of locks */
    bool locked;          /* the last bulk took locks */
    void *room;           /* for SharedItems; NULL: none */
    int64_t room_bytes;
};
/* The home slot of an item is its hash's upper bits: growing then keeps the order of the slots, so it reads and writes
 * memory in sequence. */
ALWAYS_INLINE Slot *slot_home(const ItemTable *t, uint64_t item) {
    return t->slots + ((item ^ item >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - t->bits));
}
/* The item's slot, or the free one it may take. */
ALWAYS_INLINE Slot *slot_find(const ItemTable *t, uint64_t item) {
    Slot *s = slot_home(t, item), *end = t->slots + (INT64_C(1) << t->bits);
    while (s->state && s->item != item)
        if (++s == end) s = t->slots;
    return s;
}
/* The function once for each of them: `how` is a constant in it. */
#define BY_FETCH_ADDS(t, call, ...)                                              \
    ((t)->fetch_adds == FETCH_ADDS_NONE    ? call(__VA_ARGS__, FETCH_ADDS_NONE)  \
     : (t)->fetch_adds == FETCH_ADDS_WRITE ? call(__VA_ARGS__, FETCH_ADDS_WRITE) \
                                           : call(__VA_ARGS__, FETCH_ADDS_SHARE))
typedef struct Figures {
    int64_t depth, width0, crossing;
} Figures; /* as in Schedule */

/* Codes of kinds: OpKind + 1. What a call has of several kinds writes: read | add is the code of a write, with a
 * fetch-add more than that of a fetch-add. */
enum { CODE_WRITE = OPK_WRITE + 1, CODE_FETCH_ADD = OPK_FETCH_ADD + 1, CODE_BITS = 3, CODES = 7, STATE_BITS = 29 };
#define STATE_MAX ((UINT32_C(1) << STATE_BITS) - 1)
ALWAYS_INLINE uint64_t kind_code(uint8_t kind, FetchAddsHow how) {
    return (uint64_t)(how == FETCH_ADDS_WRITE ? MIN_OF(kind, (uint8_t)OPK_WRITE) : kind) + 1;
}
/* The code of an item's last group; 0 when no operation can join it. */
ALWAYS_INLINE uint64_t group_code(uint64_t code, FetchAddsHow how) {
    return how == FETCH_ADDS_SHARE ? code & (0 - (0x16u >> code & 1)) : code == CODE_WRITE ? 0 : code;
}
ALWAYS_INLINE uint32_t state_before(uint64_t s) { return (uint32_t)(s >> 2 * CODE_BITS) & STATE_MAX; }
ALWAYS_INLINE uint32_t state_last(uint64_t s) { return (uint32_t)(s >> (2 * CODE_BITS + STATE_BITS)); }
ALWAYS_INLINE uint64_t state_make(uint64_t group, uint32_t before, uint32_t last) {
    return group | (uint64_t)before << 2 * CODE_BITS | (uint64_t)last << (2 * CODE_BITS + STATE_BITS);
}
/* The least depth of a call that joins the last group or begins a new one. Without a branch: kinds are as good as
 * random. */
ALWAYS_INLINE uint32_t state_wanted(uint64_t s, bool join) {
    return (uint32_t)(s >> (2 * CODE_BITS + STATE_BITS - STATE_BITS * join)) & STATE_MAX;
}
/* The same for depths: a fetch-add does not run before those that it joins. */
ALWAYS_INLINE uint32_t state_depth(uint64_t s, uint64_t code, bool join, FetchAddsHow how) {
    const bool behind = how == FETCH_ADDS_SHARE && join & (code == CODE_FETCH_ADD);
    return state_wanted(s, join & !behind) - behind;
}

/* Enters the call's kinds; the least depth that its operations ask for. `held[i]` = slot of ops[i] for the first HELD.
 */
ALWAYS_INLINE uint32_t enter_ops(ItemTable *t, int64_t n, const TxnOp *ops, Slot **held, FetchAddsHow how) {
    uint32_t depth = 0;
    for (int64_t i = 0; i < n; i++) {
        Slot *s = slot_find(t, ops[i].item);
        uint64_t st = s->state;
        t->used += st == 0;
        s->item = ops[i].item;
        st |= kind_code(ops[i].kind, how) << CODE_BITS;
        s->state = st;
        /* What a call's kinds so far ask for never exceeds what all of them do. */
        const uint64_t code = st >> CODE_BITS & CODES;
        uint32_t want = state_depth(st, code, code == (st & CODES), how);
        depth = MAX_OF(depth, want);
        if (i < HELD) held[i] = s;
    }
    return depth;
}
/* The call has its depth; returns on how many items it waits. */
ALWAYS_INLINE int64_t leave_ops(const ItemTable *t, int64_t n, const TxnOp *ops, Slot *const *held, uint32_t depth,
                                FetchAddsHow how) {
    int64_t waits = 0;
    for (int64_t i = 0; i < n; i++) {
        Slot *s = i < HELD ? held[i] : slot_find(t, ops[i].item);
        uint64_t st = s->state, code = st >> CODE_BITS & CODES;
        if (UNLIKELY(!code)) continue; /* a second operation of the call on the item */
        uint32_t before = state_wanted(st, code == (st & CODES)), last = state_last(st);
        waits += before > 0;
        s->state = state_make(group_code(code, how), before,
                              MAX_OF(last, depth + 1)); /* a new group is deeper than the last one in any case */
    }
    return waits;
}

/* ---- depths by several workers: schedule_lone.c ----
 * Items are dealt out to partitions. Where each call has all its operations in one partition, as calls have that work
 * on one row, partitions know nothing of each other. */
enum { LONE_PARTITIONS_MAX = 16 };
typedef struct LonePartition {
    alignas(64) ItemTable t;
    Figures f;
    int64_t calls;
} LonePartition;
typedef struct Lone {
    int64_t n_ops, n_calls;
    int64_t n_pieces;
    const OpRun *pieces;  /* whole calls each, in order */
    int64_t n_partitions; /* a power of two */
    LonePartition partitions[LONE_PARTITIONS_MAX];
    TxnOp *dealt;   /* the operations by piece, partition and call; afterwards `item` is the depth of the call */
    int64_t *start; /* (n_pieces * n_partitions + 1) in `dealt` */
    int64_t dealt_bytes, start_bytes, pieces_bytes; /* pieces_bytes 0: borrowed */
    MemAccount *acct;
    _Atomic int64_t next;
    _Atomic bool several; /* some call has more than one operation */
    _Atomic bool full;    /* not to be done so after all */
} Lone;
/* The depths of `in`, whose operations come in order (in->runs, or `ops`): false when they are not to be had so. The
 * table is good for its memory only afterwards. */
bool lone_find(Lone *l, const ScheduleInput *in, const TxnOp *ops, Pool *pool, ItemTable *t, MemAccount *acct,
               Figures *f);
void lone_free(Lone *l); /* in any case */
/* The first call of a piece; of n_pieces: n_calls. Calls without operations are of the piece before. */
int64_t lone_first(const Lone *l, int64_t piece);

/* ---- depths and locks by several workers, for any calls: schedule_shared.c ---- */
typedef struct SharedItems {
    const ScheduleInput *in;
    FetchAddsHow fetch_adds;
    Pool *pool; /* NULL: one worker */
    int workers;
    MemAccount *acct;
    int64_t n_runs, n_pieces, n_partitions;
    const OpRun *runs;
    struct OpPiece *pieces;
    TxnOp *dealt, *by_call; /* operations by piece, partition and call; by piece and call */
    uint32_t *start, *left; /* by piece and partition: where its operations are, and how many are on contended items */
    int64_t *item_base;     /* by partition: contended items before its own */
    uint64_t *states;       /* of contended items */
    uint16_t *owner;        /* by call: the partition of its contended items */
    int32_t *depth;         /* by call */
    int64_t *lock_start;
    LockUse *locks;
    void *room;                                                 /* dealt, item_base, start, left, owner; NULL: none */
    int64_t runs_bytes, pieces_bytes, room_bytes, states_bytes; /* 0: not this struct's to free */
    _Atomic int64_t next, spanning, crossing, width0, most;
    _Atomic bool raised, failed;
} SharedItems;
/* Whether there are enough operations and workers for it. */
bool shared_pays(const ScheduleInput *in);
/* Depths of the calls of `in`, whose operations come in order (ops, or NULL: in->runs). False: no memory, or a call has
 * more operations than this can count; another way has to find them. */
bool shared_find(SharedItems *s, const ScheduleInput *in, const TxnOp *ops, FetchAddsHow fetch_adds, Pool *pool,
                 MemAccount *acct, int32_t *depth, Figures *f);
/* Locks and their uses, as make_locks() has them but for the locks' numbers and the order of a call's uses; once, after
 * shared_find(), whose depths are gone then. */
Status shared_locks(SharedItems *s, Arena *a, Schedule *out, Err *e);
/* In any case. The room stays in in->scratch for the next bulk if `keep`. */
void shared_free(SharedItems *s, bool keep);
/* Gives back room that is far more than a bulk of so many operations needs. */
void shared_trim(ScheduleScratch *scratch, int64_t n_ops);

#endif
