/* rank_device.h - from operations in a device's memory to an order of execution there: the sorted form of schedule.h
 * [GPUTx §4.2, §5, App. D].
 *
 * Two orders are made, both exact for calls that touch several items:
 *   rank_device_locks   TPL: counter locks per call
 *   rank_device_sets    K-SET: calls sorted by (depth, type, timestamp)
 * Kinds, conflicts, depths and the sharing of ranks are schedule.h's. One difference: an item is known by
 * RANK_NAME_BITS bits of its hash (rank_item_name). Items that share a name make calls wait that need not; schedule.h
 * finds the same order when it is given names for items.
 *
 * Memory. Everything that comes out lies in the RankDevice's scratch: good until the next order is made with it, or it
 * is freed. Addresses are the device's; kernels queued behind on the same queue may use them at once.
 *
 * The same calls and operations give the same order, in whatever order the operations lie; only the order of the lock
 * uses within a call may differ.
 *
 * Thread rules: a RankDevice is used by one thread at a time, with one queue until that has been waited for.
 */
#ifndef STELE_TXN_ORDER_RANK_DEVICE_H
#define STELE_TXN_ORDER_RANK_DEVICE_H

#include "codegen/cache.h"
#include "txn/order/schedule.h"

enum {
    RANK_NAME_BITS = 32,
    RANK_KIND_BITS = 3,
    RANK_DEQUEUE = 3, /* kind of operations that commute with each other and with nothing else, as additions do, but not
                     with those */
    RANK_AGAIN = 4, /* with an OpKind: the call may have more operations like this one than it says; `named_locks` then
                       has at least RANK_OPS_AGAIN of them */
    RANK_OPS_AGAIN = 0x4000000,
    RANK_NONE = 7 /* kind of a place without an operation */
};

/* Operation i, as kernels write it: items[i], a u64 as TxnOp.item; uses[i], a u32: */
static inline uint32_t rank_use(uint32_t call, uint32_t kind) {
    return call << RANK_KIND_BITS | kind;
} /* OpKind (and RANK_AGAIN), RANK_DEQUEUE or RANK_NONE */
/* What an item is known by. Items that differ in the lowest bit have different names. */
uint32_t rank_item_name(uint64_t item);

typedef struct RankInput {
    int64_t n_calls;    /* up to 2^29 - 2 */
    int64_t max_ops;    /* places in items and uses, below 2^30 */
    DevPtr n_ops;       /* u32: how many of them count, from the first on; what is beyond max_ops does not. 0: all */
    DevPtr items, uses; /* 8-byte and 4-byte aligned */
    bool in_order;   /* calls never fall along uses[] (RANK_NONE places included): saves a third of the sort. XX000 when
                        it is not so */
    DevPtr types;    /* u16 per call; 0: one type */
    int32_t n_types; /* types are below */
    int32_t group_bits;   /* rank_device_locks: `order`, by so many upper bits of the types' numbers [GPUTx App. D]; 0:
                             none */
    bool figures;         /* rank_device_locks: fill `figures` as well */
    bool names;           /* rank_device_locks: `named_locks` instead of `locks` */
    bool dequeues;        /* ... and `dequeues` and `rows`, */
    int32_t dequeue_type; /* the type of the calls that dequeue */
    int64_t depth_max;    /* rank_device_sets: more sets than that are not wanted; 0: any number is */
} RankInput;

/* Call c waits until counters[locks[k].lock] >= locks[k].from for all k in [lock_start[c], lock_start[c + 1]), runs,
 * and adds 1 to each of them. */
typedef struct RankLocks {
    int64_t n_locks;    /* numbers of locks are below; they have gaps */
    int64_t max_uses;   /* at most so many uses */
    DevPtr lock_start;  /* u32[n_calls + 1] */
    DevPtr locks;       /* LockUse[], or */
    DevPtr named_locks; /* with `names`: u32[4] each: rank_item_name, how many operations the call has on the item,
                      lock, from */
    DevPtr counters;    /* u32[n_locks], zero */
    DevPtr dequeues,
        rows; /* u32[n_locks]: how many calls of type `dequeue_type`, which writes there before all others, use a lock
                 with an odd name; u64[n_locks], zero: a place for each of them, at lock + from. 0 when not asked for */
    DevPtr order;     /* u32[n_calls]: calls that have locks first, by time, then the others, by type and time: no call
                         waits for a later one. 0 when not asked for */
    DevPtr n_first;   /* u32: how many have locks; 0 when not asked for */
    DevPtr figures;   /* u32[2]: w0, c; 0 when not asked for */
    int64_t ops_left; /* operations whose item may have a conflict: they were sorted */
} RankLocks;

/* Set k has the calls order[start[k * n_types] .. start[(k + 1) * n_types]), cut by type. */
typedef struct RankSets {
    int64_t depth, width0, crossing; /* as in Schedule */
    DevPtr order; /* u32[n_calls]; 0: there are more than depth_max sets, at least `depth`; then only the three figures
                     mean something */
    DevPtr start; /* u32[depth * n_types + 1] */
    const uint32_t *starts; /* the same on the host */
    int64_t ops_left;
    int32_t rounds; /* passes over the operations until depths were final */
} RankSets;

typedef struct RankDevice RankDevice;
/* Compiles (through the cache, waiting). All must outlive it. 58000, 53200 */
Status rank_device_new(Device *d, CodeCache *cache, MemAccount *account, RankDevice **out, Err *e);
void rank_device_free(RankDevice *r); /* NULL is fine; nothing on any queue uses its memory any more */

/* Reads one small block back in between; when it returns the rest is queued. 53200, 54000 (too many calls or
 * operations), 58000; XX000: an operation of a call that does not exist, or out of order. After an error the queue must
 * be waited for before the RankDevice is used or freed. */
Status rank_device_locks(RankDevice *r, DevQueue *q, const RankInput *in, RankLocks *out, Err *e);
/* Waits for everything. */
Status rank_device_sets(RankDevice *r, DevQueue *q, const RankInput *in, RankSets *out, Err *e);

#endif
