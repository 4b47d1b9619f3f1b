/* kr_codes.h - numbers that the kernels of kr_rank.h share with txn/order/rank_device.c. */
#ifndef KR_CODES_H
#define KR_CODES_H

/* parameters: every kernel gets all of them */
#define RK_ERR 0   /* u64[2]: error word */
#define RK_ITEMS 1 /* u64[]: items of the operations */
#define RK_USES 2  /* u32[]: call << RK_KIND_BITS | kind */
#define RK_N_OPS 3 /* u32, or 0 */
#define RK_MAX_OPS 4
#define RK_N_CALLS 5
#define RK_IN_ORDER 6
#define RK_TABLE 7 /* u32[]: filter */
#define RK_SHIFT 8 /* name >> shift is a place of the filter; of a digit */
#define RK_BITS 9  /* of a digit */
#define RK_FROM 10 /* records, */
#define RK_TO 11
#define RK_N 12         /* how many; places */
#define RK_CHUNK 13     /* records of a group, a multiple of a tile */
#define RK_COUNTS 14    /* u32 per group: records at the start of its chunk; 0: all */
#define RK_HIST 15      /* u32[digit][group]: records, then places */
#define RK_TOTALS 16    /* u32[digit] */
#define RK_SUMS 17      /* per group: summary of its chunk */
#define RK_PLACES 18    /* per record: what rank_uses found */
#define RK_SLOTS 19     /* u32 per record: which of its call's uses */
#define RK_FLAGS 20     /* u8 per item: it has a lock */
#define RK_CALL_USES 21 /* u32 per call */
#define RK_WAITS 22     /* u32 per call: items that it waits on; 0 = not asked for */
#define RK_STARTS 23    /* u32[] */
#define RK_LOCKS 24     /* LockUse[], or */
#define RK_FIGURES 25   /* u32[4]: w0, c, greatest depth, calls with locks */
#define RK_DEPTH 26     /* u32 per call */
#define RK_CHANGED 27   /* u32 per round */
#define RK_ROUND 28     /* RK_FIRST_ROUND: summaries only */
#define RK_TYPES 29     /* u16 per call, or 0 */
#define RK_N_TYPES 30
#define RK_ORDER 31 /* u32 per call */
#define RK_NAMED_LOCKS \
    32 /* u32[4] per lock use: name of the item, operations that the call has on it, and the LockUse; 0 = RK_LOCKS */
#define RK_DROP 33 /* so many lower bits of a type do not count */
#define RK_DEQUEUE_COUNTS                                                                                             \
    34 /* u32 per lock: its uses by calls of RK_DEQUEUE_TYPE, the first type that uses it, of locks with odd names; 0 \
          = not asked for */
#define RK_DEQUEUE_TYPE 35
#define RK_PARAMS 36

/* kinds of operations: 0 reads, 1 adds, 2 writes; those of a kind that is the caller's own commute with each other and
 * with nothing else */
#define RK_KIND_BITS 3
#define RK_DEQUEUE 3
#define RK_NONE 7              /* a place without an operation */
#define RK_AGAIN 4             /* with a kind below RK_DEQUEUE: there may be more of them than this one */
#define RK_OPS_AGAIN 0x4000000 /* so many they are taken to be: what is counted down never comes to the end of them */

#define RK_FIRST_ROUND 0xffffffff
#define RK_DIGITS 512

/* errors */
#define RK_NO_CALL 1   /* an operation of a call that does not exist */
#define RK_UNORDERED 2 /* not in the order that was promised */
#define RK_NO_TYPE 3   /* a type beyond n_types */

#endif
