/* bulk_running.h - a bulk on its way: bulk.c (phases, results), bulk_adds.c and bulk_run.c (strategies) only. */
#ifndef STELE_TXN_RUN_BULK_INT_H
#define STELE_TXN_RUN_BULK_INT_H

#include "txn/run/calls_int.h"
#include "txn/store/device_copy.h"

typedef struct CallGroupRun {
    const CallGroup *group;
    ProcEntry *proc;
    const uint32_t *calls; /* numbers of its calls in this run; NULL: base, base + 1, ... */
    int64_t base;
} CallGroupRun;
static inline int64_t group_call(const CallGroupRun *p, int64_t i) { return p->calls ? p->calls[i] : p->base + i; }

typedef struct CallTime {
    int64_t ns, n;
} CallTime; /* of n calls */
typedef struct BulkWorker {
    alignas(64) CallSink sink;
    uint32_t *calls;  /* scratch: vector_size positions */
    uint32_t *counts; /* footprints: operations per call of a block */
    TxnOp *ops;       /* of this worker's blocks, each in the order of its calls */
    int64_t n_ops, cap_ops;
    CallTime *times; /* K-SET: by group, of some chunks */
    bool has_memory; /* `ops` and the sink's are to go back to the image set */
    bool failed;
    Err err;
} BulkWorker;

/* A piece of work: calls order[start .. start + n), all of one group. */
typedef struct BulkChunk {
    int64_t start, set;
    int32_t n;
    uint16_t group;
} BulkChunk; /* n = 0: the set's end */
typedef struct BulkBlock {
    int64_t worker, first, n;
} BulkBlock; /* operations: where the worker has them; as kernels write it */

/* What footprints come to: filled by bulk.c (virtual machine) or bulk_foot.c (kernels), read by the scheduler. */
typedef struct BulkFootprints {
    int64_t block_size, n_blocks; /* calls of a block */
    BulkBlock *blocks;
    int64_t n_ops;
    int64_t n_runs;
    OpRun *runs;       /* operations, in the order of calls unless `Bulk.alone` or */
    bool unordered;    /* ... this is set: then in any order */
    uint32_t *numbers; /* room for `numbers_left` numbers of calls, handed out by take_numbers; from make_numbers */
    int64_t numbers_left;
    uint8_t *failed; /* by call: its footprint failed; of the query's account */
    int32_t n_sums;  /* columns with additions: CallSink.sums and bounds */
} BulkFootprints;

/* Execution of the schedule by the virtual machine's workers; bulk_run.c. */
typedef struct BulkExecution {
    int64_t n_chunks;
    BulkChunk *chunks;
    int64_t *set_chunk; /* first chunk of each set */
    int64_t n_pieces;
    int64_t *pieces; /* first chunk of what one worker takes at a time */
    _Atomic int64_t done;
    const uint32_t *partition_at; /* PART: where each partition begins in the order; NULL: at its start */
    _Atomic uint32_t *locks;
    int64_t n_locked; /* calls that run under them */
} BulkExecution;

/* Where the bulk's time went, for BulkStats; kept by the calling thread. */
typedef struct BulkTimes {
    int64_t transfer_ns; /* waiting for copies to and from the device */
    int64_t last_mark;   /* when the last phase ended */
    int64_t began;       /* when everything was prepared */
    int64_t phase_ns[BULK_PHASES];
} BulkTimes;

/* A bulk from its first phase to its last. It belongs to the thread that called bulk_run; while workers run
 * (bulk_parallel) each writes its own BulkWorker and the cells of its own calls, and shares only the atomics. */
typedef struct Bulk {
    ImageSet *images;
    const BulkOptions *opt;
    Arena *arena; /* of this run */
    BulkResult *result;
    Err *err;
    int64_t vector_size;
    int workers;
    BulkWorker *w;
    /* calls */
    int32_t n_groups;
    CallGroupRun *groups;
    int64_t n_calls;
    uint16_t *type_of;    /* per call: its group; NULL: one group */
    int32_t *group_order; /* bulk_order = any: the groups as their calls come; NULL: by timestamp */
    uint32_t *pos_of;     /* per call: position in its group; NULL: the same */
    /* arguments */
    int slot;                 /* ImageSet.slot, or the other one */
    struct BulkArgs *adopted; /* what was sent ahead for it; NULL: nothing */
    struct BulkArgs *args;    /* its arguments are on the device, or on their way; NULL: not yet */
    /* plan */
    bool writes_only; /* operations are all that is wanted (bulk_footprints): additions are planned as writes, and there
                         is no result */
    bool cautious;    /* no guards, no takes */
    bool again;       /* it was undone: to be run again, cautiously */
    _Atomic bool alone;   /* some footprint failed */
    _Atomic int64_t next; /* the next piece of whatever workers share out among themselves */
    BulkFootprints foot;
    Schedule schedule;
    struct BulkFetchAdds *fetch_adds; /* NULL: nobody takes from what others of the set take from */
    struct BulkDevice *device;        /* kernels run the calls; NULL: the virtual machine does */
    BulkExecution run;
    BulkTimes times;
} Bulk;

/* bulk_order.c: gives all calls of a group neighbouring numbers, groups in an order of few conflicts. 53200. */
Status bulk_order_groups(Bulk *b, Err *e);

/* bulk.c: numbers of calls by group. 53200; XX000: not each number once. */
Status bulk_check_groups(Bulk *b, int32_t n, const CallGroup *groups, Err *e);
Status bulk_number_calls(Bulk *b, Err *e);
/* Memory for the result (b->result), once the device is known that fills it; without errors so far. 53200. */
Status bulk_make_result(Bulk *b, Err *e);
/* The time since the last phase ended was this one's. */
void bulk_mark(Bulk *b, BulkPhase p);

/* Runs fn on all workers of the bulk. */
void bulk_parallel(Bulk *b, PoolFn fn);
/* One chunk: calls of the bulk, all of one group, in the order given. */
void bulk_chunk(Bulk *b, int worker, int32_t group, int64_t n, const uint32_t *calls);
static inline int32_t bulk_type(const Bulk *b, uint32_t call) { return b->type_of ? b->type_of[call] : 0; }

/* bulk_adds.c, in the order of use. Columns with adds get slots, and what is known not to commute is planned as writes
 * from the beginning. */
bool bulk_may_share(const Bulk *b, const ImageEntry *x,
                    int32_t col); /* additions to the column may commute, for all that is known before footprints */
void bulk_forget_adds(Bulk *b);
Status bulk_plan_adds(Bulk *b, Err *e);
/* After footprints: columns whose adds may leave the range are planned as writes. True: some were not before,
 * footprints have to run again. */
bool bulk_demote_adds(Bulk *b);
/* Instead of both: without footprints every addition is checked. */
Status bulk_plan_alone(Bulk *b, Err *e);
void bulk_track_inserts(Bulk *b);
/* Additions that are checked may fail, and then what the call did before is to be taken back. */
void bulk_plan_undo(Bulk *b);
/* After execution. */
void bulk_note_bounds(Bulk *b);

/* bulk_fetch_adds.c, in the order of use. Before footprints: takes of procedures that have some are planned; before
 * each run of them; a schedule is there: who takes beside whom, and whether it is any use. */
void bulk_plan_fetch_adds(Bulk *b); /* out of memory: as if there were none */
void bulk_clear_fetch_adds(Bulk *b);
bool bulk_fetch_adds_planned(const Bulk *b);
Status bulk_share_fetch_adds(Bulk *b, Err *e);
void bulk_forget_fetch_adds(Bulk *b);
/* Whether calls of the set take from one item: then the set has an end. Everybody is done with it, and nobody has begun
 * the next one: what was taken goes to the cells; or calls have done otherwise, and no more run. */
bool bulk_set_fetch_adds(const Bulk *b, int64_t set);
void bulk_end_set(Bulk *b, int worker, int64_t set);
bool bulk_fetch_adds_failed(const Bulk *b);
/* All have run, or stopped: then the bulk is undone, and b->again. */
void bulk_end_fetch_adds(Bulk *b);
/* Of a chunk that has run: calls that failed take nothing. */
void bulk_drop_fetch_adds(const CallFrame *c);

/* bulk.c: room for the numbers of rows that calls insert. 53200. */
Status bulk_make_counts(Bulk *b, Err *e);
/* bulk.c: the worker has room for so many operations; what is there stays. 53200. */
Status bulk_ops_room(BulkWorker *w, int64_t want, Err *e);

/* bulk_run.c: executes the schedule. */
Status bulk_execute(Bulk *b, Err *e);
/* The calls of the partitions that are left, from partition_at[p] on in the order. */
void bulk_run_partitions(Bulk *b, const uint32_t *partition_at);
/* The first n calls of schedule.order under counter locks, which stand at `counters`. */
void bulk_run_locked(Bulk *b, int64_t n, _Atomic uint32_t *counters);

/* bulk_device.c. Before footprints: b->device when kernels can run this bulk, else *reason when they were asked for
 * (arena of the run); the host has what it is going to read of the images. Then, when there is a device: before calls
 * run (addresses are known, nothing has changed on an error; it may turn out that the machine has to run them after
 * all); the calls, and what made the machine go on; at the end in any case. */
typedef struct BulkDevice BulkDevice;
/* Strategy auto, in calls of a set on average, where `stele calibrate` has not measured it
 * (session/pool/calibrate_bulk.h). Kernels: under locks they beat one launch for each set when sets have fewer. The
 * machine with several workers: below, chains of calls beside each other (PART) beat sets one after the other by 1.2
 * to 1.6 (2, 4 calls, two processors), above they are slower (8: 0.6 to 1). */
enum { BULK_SET_MIN = 64, BULK_SET_MIN_VM = 6 };
/* By how much sets have to be wider where kernels go through rows in loops: a set waits for its longest call. (TPC-C in
 * any order, two processors: 118 calls to a set, all five transactions: locks 1.7 times as fast as sets; without
 * delivery and stock_level, 165 to a set: 1.15; payments with a few order_status, 2460 to a set: 0.86.) */
enum { BULK_SET_UNEQUAL = 8 };
/* Kernels take PART instead of locks where no call waits for more than one thing and there are so many calls for each
 * that waits for nobody. (GPUTx's micro benchmark, two processors, calls/s of PART as multiples of TPL: 64k calls for
 * 30 rows 1.3, 16k calls for 300 rows 1.4; every tenth of 64k calls for one row and the others for a million, 0.85.) */
enum { BULK_CHAIN_MIN = 8 };
/* Strategy auto on the machine: sets that have so many calls on average without takes stay without them, and so do
 * bulks of few calls. (20k calls that take a number and insert, one processor, ms without and with takes: one
 * counter 3.8 and 1.7, with a key of the number 6.3 and 3.7; 4 counters 1.7 and 1.5, 3.1 and 2.4; 8 counters 1.3
 * and 1.5, 2.4 and 2.2; 64 counters 0.9 and 1.5.) */
enum { BULK_FETCH_ADD_WIDTH = 8, BULK_FETCH_ADD_LEAST = 64 };
bool bulk_device_divergent(const Bulk *b); /* some call may */
Status bulk_device_prepare(Bulk *b, const char **reason, Err *e);
/* Footprints by a kernel, when there is one: b->device may be gone afterwards. */
typedef enum BulkPlanned {
    PLANNED_NOTHING,
    PLANNED_OPS /* in the workers' memory, by block */,
    PLANNED_RUNS /* the same, in `runs` */,
    PLANNED_ALL /* the device has the schedule */
} BulkPlanned;
Status bulk_device_footprints(Bulk *b, BulkPlanned *how, const char **reason, Err *e);
Status bulk_foot_run(Bulk *b, BulkPlanned *how, Err *e); /* bulk_foot.c */
/* Strategy SERIAL, procedures that insert as many rows as they find out: counts for reserve_rows by the kernel, and
 * nothing else. *counted = false: the machine has to count, and the host has the images. */
Status bulk_device_counts(Bulk *b, bool *counted, const char **reason, Err *e);
Status bulk_foot_count(Bulk *b, bool *counted, Err *e); /* bulk_foot.c */
/* bulk.c: footprints on the machine and a schedule, for a bulk that the device planned and cannot run. */
Status bulk_plan_on_host(Bulk *b, Err *e);
Status bulk_device_start(Bulk *b, const char **reason, Err *e);
Status bulk_device_execute(Bulk *b, const char **reason, Err *e);
const char *bulk_device_why(const Bulk *b, const char *why); /* BulkStats.why, which is `why` so far */
void bulk_device_end(Bulk *b);
void bulk_device_list_failed(Bulk *b); /* BulkResult.failed, where it is known at once */
const char *bulk_device_name(const Bulk *b);

/* bulk_args.c. The bulk's arguments were sent ahead: it has their numbers now, b->args, and their buffer slot. Else
 * whatever was sent ahead is forgotten. */
bool bulk_prefetch_adopt(Bulk *b);
void bulk_prefetch_end(
    Bulk *b); /* bulk_prefetch.c: nothing uses the memory of footprints that it had adopted and not taken any more */
bool bulk_device_foot_prefetched(const Bulk *b);
void bulk_prefetch_free(struct BulkArgs *x); /* NULL: nothing */

/* On a device with memory of its own OUT values come in one piece, each array at the next multiple of RESULT_ALIGN, in
 * the order of groups and of OUT values, cells before validity. bulk_memory.c. */
bool bulk_device_copies(const Bulk *b);
/* The host's memory there for numbers of calls on their way to the device and back: it stays for the next bulk. */
Status bulk_device_numbers(Bulk *b, int64_t bytes, void **out, Err *e);
Status bulk_device_borrow(Bulk *b, int64_t bytes, BulkLoan *out, Err *e);
enum { RESULT_ALIGN = 256 };

/* What a result owns besides its arena. */
typedef struct BulkMemory {
    void *p;
    int64_t bytes;
} BulkMemory;
typedef struct BulkOwned {
    MemAccount *account;
    BulkLoan loan;
    int32_t n_blocks;
    BulkMemory *blocks;
    int n_arenas;
    Arena **arenas; /* of workers but the first */
} BulkOwned;

#endif
