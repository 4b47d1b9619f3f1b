/* schedule.h - from the operations of a bulk's calls to an order of execution [GPUTx §4, §5, App. B, D, G].
 *
 * Operation: call `call` does `kind` to `item`. An item is a 64-bit name (table, column group, key hashed together):
 * two things with the same name only make calls wait that need not. Calls are numbered 0 .. n-1 in timestamp order.
 *
 * Kinds. Two operations on one item by different calls commute when both are reads, both are adds, or both are
 * fetch-adds. Everything else conflicts. Inserts of different keys are different items. A fetch-add may run beside
 * earlier fetch-adds of its item, but not before them: it gets what they leave (bulk_fetch_adds.c). Only sets can do
 * that: for locks and partitions a fetch-add is a write.
 *
 * Depth. depth(c) = 0 when no earlier call conflicts with c, else 1 + the largest depth of an earlier call that
 * conflicts with it [exact for calls with several items, unlike the maximum of independent ranks]; and not less than
 * that of an earlier call with a fetch-add of the same item. The k-set is the set of calls of depth k.
 *
 * schedule_reference builds the graph edge by edge (App. B) and walks it: slow, obviously right, the tests' measure for
 * the others.
 */
#ifndef STELE_TXN_ORDER_SCHEDULE_H
#define STELE_TXN_ORDER_SCHEDULE_H

#include "base/pool.h"
#include "program/program.h"

typedef struct TxnOp {
    uint64_t item;
    uint32_t call;
    uint8_t kind;
} TxnOp;

typedef enum Strategy { STRATEGY_AUTO, STRATEGY_KSET, STRATEGY_TPL, STRATEGY_PART, STRATEGY_SERIAL } Strategy;
const char *strategy_name(Strategy s);              /* "auto", "kset", ... */
bool strategy_from_name(Slice name, Strategy *out); /* false: there is none of that name */

/* A call waits for `lock` (a place in the array of counters) until its counter reaches `from`; when done it adds 1.
 * Operations that share a rank have the same `from`. */
typedef struct LockUse {
    uint32_t lock;
    uint32_t from;
} LockUse;

typedef struct Schedule {
    Strategy strategy;
    int64_t n_calls;
    /* structural figures */
    int64_t depth;    /* d: number of k-sets */
    int64_t width0;   /* w0: calls in the 0-set */
    int64_t crossing; /* c: calls that wait on more than one item; with ScheduleInput.partition: calls that cross
                         partitions */
    /* K-SET: calls sorted by (depth, type >> type_drop, timestamp); set k is [set_start[k], set_start[k+1]) */
    uint32_t *order;
    int64_t n_sets;
    int64_t *set_start;
    /* PART: order sorted by (partition, timestamp); n_partitions of them, in the order of their first calls. SERIAL:
     * order by timestamp, one partition */
    int64_t n_partitions;
    int64_t *partition_start;
    /* TPL: order is by timestamp, or as with group_free: no call waits for a later one in any case; lock uses of call c
     * are [lock_start[c], lock_start[c+1]) */
    int64_t n_locks;
    int64_t *lock_start;
    LockUse *locks;
    int64_t plan_ns;
    const char *why; /* this strategy: a constant */
} Schedule;

/* A piece of a bulk's operations: all of some calls, in the order of calls. */
typedef struct OpRun {
    const TxnOp *ops;
    int64_t n;
} OpRun;

/* Memory that schedules of one bulk after another use again: saves fresh pages. One schedule_make at a time. */
typedef struct ScheduleScratch ScheduleScratch;
ScheduleScratch *schedule_scratch_new(MemAccount *acct, Err *e);
void schedule_scratch_free(ScheduleScratch *s);

typedef struct ScheduleInput {
    int64_t n_calls;
    const uint16_t *types; /* per call: procedure, for grouping; NULL: one type */
    int32_t n_types;       /* greater than any of them; 0: not known */
    bool in_order;         /* ops come in the order of calls, which are in [0, n_calls): not looked at */
    int64_t n_ops;
    const TxnOp
        *ops; /* any order; several of one call on one item are allowed (the strongest counts: read + add = write) */
    int64_t n_runs;
    const OpRun *runs; /* instead of `ops`: these, one behind the other, are the n_ops; whole calls each where in_order;
                          NULL: none */
    const uint64_t *partition; /* per call, UINT64_MAX: crosses partitions; NULL: none known. PART then, and when a call
                                * crosses, connects the calls that conflict instead: calls of different partitions never
                                * conflict in either case */
    bool no_fetch_adds;        /* there are none: a little faster */
    bool fetch_adds_write;     /* they are writes for sets as well */
    Strategy strategy;         /* AUTO: Algorithm 1 */
    int64_t set_min;           /* instead of it, unless 0: KSET when sets have so many calls on average, else ... */
    bool locks_pay; /* ... TPL, unless c < c_max and chains have chain_min calls on average (n / w0), or the sets are a
                       few such chains beside each other, whatever their calls wait for: then PART; or else PART when c
                       < c_max, and KSET after all otherwise: a chain of sets is as good as any way to go through a
                       chain */
    int64_t chain_min;
    int64_t w0_min, c_max,
        d_max;     /* its thresholds: KSET when w0 >= w0_min, else PART when c < c_max or d > d_max, else TPL */
    int type_drop; /* calls of a set are brought together by their types without so many lower bits [GPUTx App. D]; 16:
                      not at all */
    bool group_free; /* TPL: calls with locks come first, by time, then the others, by type as above */
    int workers;
    int64_t shared_min; /* operations from which workers share the work on calls with several items; 0: as measured */
    ScheduleScratch *scratch; /* NULL: none */
} ScheduleInput;

/* Everything in `a`; *out names the strategy that was chosen. 53200; 54000 beyond 2^29 - 2 calls. Thread-safe; uses the
 * pool (NULL: none) to sort operations that do not come in the order of their calls. */
Status schedule_make(const ScheduleInput *in, Pool *pool, Arena *a, Schedule *out, Err *e);
/* Depth of every call only. */
Status schedule_depths(const ScheduleInput *in, Pool *pool, Arena *a, int32_t *depth, Err *e);
Status schedule_reference(const ScheduleInput *in, Arena *a, int32_t *depth, Err *e);

/* Incremental: a pool of waiting calls whose 0-set is taken out again and again while new calls arrive [GPUTx §5.3]. */
typedef struct ZeroSets ZeroSets;
ZeroSets *zerosets_new(MemAccount *acct, Err *e);
void zerosets_free(ZeroSets *z);
/* In timestamp order: `call` grows from call to call. ops[i].call is not read. On failure (53200) nothing is added. */
Status zerosets_add(ZeroSets *z, uint64_t call, void *who, int64_t n, const TxnOp *ops, Err *e);
/* Takes out calls that now wait for no other, in timestamp order; up to max. They hold their items until zerosets_done.
 * who: as it was given to zerosets_add; may be NULL. */
int64_t zerosets_take(ZeroSets *z, int64_t max, uint64_t *calls, void **who);
void zerosets_done(ZeroSets *z, int64_t n, const uint64_t *calls);

#endif
