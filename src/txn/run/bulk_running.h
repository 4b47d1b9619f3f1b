/* bulk_running.h - a bulk while it runs, shared by the files of src/txn/run and src/txn/device: bulk.c (phases,
 * results), bulk_adds.c, bulk_fetch_adds.c and bulk_order.c (planning), bulk_run.c (strategies), and the device's.
 * Callers of bulks include bulk.h only. */
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
    int64_t chunks; /* so far, of which some are measured */
} CallTime;         /* of n calls */
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
    bool all_ops;    /* no operations are left out because nothing conflicts with them (bulk_adds.c) */
} BulkFootprints;

/* Execution of the schedule by the virtual machine's workers; bulk_run.c. */
typedef struct BulkExecution {
    int64_t n_chunks;
    BulkChunk *chunks;
    int64_t *set_chunk; /* first chunk of each set */
    int64_t n_pieces;
    int64_t *pieces; /* first chunk of what one worker takes at a time */
    _Atomic int64_t done;
    _Atomic uint32_t chunks_begun; /* BulkOptions.logged */
    const uint32_t *partition_at;  /* PART: where each partition begins in the order; NULL: at its start */
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
    struct BulkArgs *adopted; /* its prefetched arguments; NULL: none */
    struct BulkArgs *args;    /* its arguments are on the device, or on their way; NULL: not yet */
    /* plan */
    bool writes_only;   /* only operations are made (bulk_footprints): additions are planned as writes, and there is no
                           result */
    bool cautious;      /* no statement locks, no fetch-adds beside each other */
    bool again;         /* it was undone: to be run again with `cautious` */
    _Atomic bool alone; /* some footprint failed */
    _Atomic int64_t next; /* the next piece of whatever workers share out among themselves */
    BulkFootprints foot;
    Schedule schedule;
    struct BulkFetchAdds *fetch_adds; /* NULL: no two calls of a set have a fetch-add of one item */
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

/* bulk_adds.c, in the order of use. Columns with adds get slots; adds that are known not to commute are planned as
 * writes from the beginning. */
bool bulk_may_share(const Bulk *b, const ImageEntry *x,
                    int32_t col); /* additions to the column may commute, as far as is known before footprints */
void bulk_forget_adds(Bulk *b);
Status bulk_plan_adds(Bulk *b, Err *e);
/* After footprints: columns whose adds may leave the range are planned as writes. True: some were not before,
 * footprints have to run again. */
bool bulk_demote_adds(Bulk *b);
/* Instead of both: without footprints every addition is checked. */
Status bulk_plan_alone(Bulk *b, Err *e);
void bulk_track_inserts(Bulk *b);
/* Decides which bodies log their changes: additions that are checked may fail, and then what the call did before has to
 * be undone. */
void bulk_plan_undo(Bulk *b);
/* After execution. */
void bulk_note_bounds(Bulk *b);

/* bulk_fetch_adds.c, in the order of use: before footprints, plans the fetch-adds of procedures that have some; before
 * each run of footprints; with the schedule, finds which calls of a set share an item, and whether there are any. */
void bulk_plan_fetch_adds(Bulk *b); /* without memory none are planned */
void bulk_clear_fetch_adds(Bulk *b);
bool bulk_fetch_adds_planned(const Bulk *b);
Status bulk_share_fetch_adds(Bulk *b, Err *e);
void bulk_forget_fetch_adds(Bulk *b);
/* Whether calls of the set have fetch-adds of one item: then the set has an end, which one worker runs after all calls
 * of the set and before the next set begins. It adds the sums to the cells; or, when a call did not do as planned, lets
 * no more calls run. */
bool bulk_set_fetch_adds(const Bulk *b, int64_t set);
void bulk_end_set(Bulk *b, int worker, int64_t set);
bool bulk_fetch_adds_failed(const Bulk *b);
/* After all calls have run, or stopped. In the second case the bulk is undone, and b->again is set. */
void bulk_end_fetch_adds(Bulk *b);
/* Of a chunk that has run: calls that failed add nothing. */
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

/* bulk_device.c, in the order of use. bulk_device_prepare, before footprints: makes b->device when kernels can run this
 * bulk, else sets *reason when they were asked for (arena of the run); brings to the host what it will read of the
 * images. With a device: bulk_device_start before calls run (addresses are known; an error has changed nothing; it may
 * give the bulk back to the virtual machine); bulk_device_execute runs the calls, *reason says why the virtual machine
 * ran some; bulk_device_end in any case. */
typedef struct BulkDevice BulkDevice;
/* Strategy auto, in calls of a set on average, where `stele calibrate` has not measured it
 * (session/pool/calibrate_bulk.h). Kernels: locks are faster than a launch for each set when sets have fewer. The
 * virtual machine with several workers: chains of calls beside each other (PART) are faster than sets one after the
 * other below that. Figures of these and the next ones: docs/notes/schedules.md. */
enum { BULK_SET_MIN = 64, BULK_SET_MIN_VM = 6 };
/* By how much sets have to be wider where kernels go through rows in loops: a set waits for its longest call. */
enum { BULK_SET_UNEQUAL = 8 };
/* Kernels use PART instead of locks where no call waits for more than one item and chains have so many calls on
 * average. */
enum { BULK_CHAIN_MIN = 8 };
/* Strategy auto on the virtual machine: bulks whose sets have so many calls on average without fetch-adds, or that have
 * few calls, run without them: they cost a little more than writes, and wide sets gain nothing. */
enum { BULK_FETCH_ADD_WIDTH = 8, BULK_FETCH_ADD_LEAST = 64 };
bool bulk_statement_locks_wanted(const Bulk *b); /* whether the kernels are to have them; bulk_statement_locks.c */
bool bulk_device_divergent(const Bulk *b);       /* the lanes of some call's warp may diverge */
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
/* Strategy SERIAL, procedures whose number of inserts depends on data: the kernel makes counts for reserve_rows, and
 * nothing else. *counted = false: the virtual machine has to count, and the host has the images. */
Status bulk_device_counts(Bulk *b, bool *counted, const char **reason, Err *e);
Status bulk_foot_count(Bulk *b, bool *counted, Err *e); /* bulk_foot.c */
/* bulk.c: footprints on the virtual machine and a schedule, for a bulk that the device planned and cannot run. */
Status bulk_plan_on_host(Bulk *b, Err *e);
Status bulk_device_start(Bulk *b, const char **reason, Err *e);
Status bulk_device_execute(Bulk *b, const char **reason, Err *e);
const char *bulk_device_why(const Bulk *b, const char *why); /* BulkStats.why, which is `why` so far */
void bulk_device_end(Bulk *b);
void bulk_device_list_failed(Bulk *b); /* BulkResult.failed, where it is known at once */
const char *bulk_device_name(const Bulk *b);

/* bulk_args.c. True when the bulk's arguments were prefetched: it has their numbers, b->args, and their buffer slot.
 * Else prefetched arguments are dropped. */
bool bulk_prefetch_adopt(Bulk *b);
void bulk_prefetch_end(
    Bulk *b); /* bulk_prefetch.c: waits for adopted footprints that were not used, so that their memory is free */
bool bulk_device_foot_prefetched(const Bulk *b);
void bulk_prefetch_free(struct BulkArgs *x); /* NULL: nothing */

/* On a device with memory of its own OUT values come in one piece, each array at the next multiple of RESULT_ALIGN, in
 * the order of groups and of OUT values, cells before validity. bulk_memory.c. */
bool bulk_device_copies(const Bulk *b);
/* Host memory for numbers of calls that are copied to the device and back; kept for the next bulk. */
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
