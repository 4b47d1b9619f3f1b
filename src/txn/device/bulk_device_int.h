/* bulk_device_int.h - a bulk on a device: bulk_device.c (launches), bulk_code.c (kernels), bulk_values.c (their
 * parameters), bulk_failures.c (failed calls), bulk_args.c (arguments), bulk_memory.c (other memory and copies),
 * bulk_foot.c (footprints), bulk_prefetch.c (the next bulk's), bulk_statement_locks.c (locks by statement) and
 * bulk_texts.c (strings) only. */
#ifndef STELE_TXN_DEVICE_BULK_DEVICE_INT_H
#define STELE_TXN_DEVICE_BULK_DEVICE_INT_H

#include "codegen/emit_proc.h"
#include "exec/device/dev.h"
#include "txn/device/bulk_texts.h"
#include "txn/order/rank_device.h"

enum { BATCH_MAX = 64 };

/* What earlier bulks of a module were like, for sizes and choices of the next one. 0: not known. */
typedef struct BulkHistory {
    double run_ns;                                         /* a call's share of the last bulk's time on the device */
    double ops_per_call;                                   /* of the bulk that had the most; */
    double failed_per_call, keys_per_call, texts_per_call; /* likewise: calls that failed, that failed for a duplicate
                                                              key; bytes of OUT strings; */
    double log_per_call;  /* ... bytes of the log with statement locks, unused ones included */
    int32_t foots_missed; /* prefetched footprints in a row that could not be used */
    /* bulks with statement locks */
    const char *undone_why;                  /* BulkStats.why of the last one that was undone; NULL: none was */
    int64_t in_a_row;                        /* since the last one that was undone */
    int64_t undone;                          /* undone ones that came soon after one another */
    int64_t locks_after;                     /* ImageSet.bulks from which on statement locks are tried again */
    int64_t dequeues_undone, dequeues_after; /* the same two of bulks that were undone because of a dequeue */
} BulkHistory;

/* A module of kernels, kept from bulk to bulk in ImageSet.codes, for all bulks whose procedures it has. */
typedef struct BulkCode {
    Arena *arena;
    EmitTarget target;
    bool copies, statement_locks;
    int32_t n;
    const Proc **procs;
    int32_t n_tables;
    int64_t *tables; /* ids */
    uint64_t *forms; /* by table: of the image that the text was made for */
    ProcModule module;
    CodeRef ref; /* its compiled text on `device`, since looking that up takes 0.1 ms. Held until the device changes or
                    the code is freed; without an entry: not there yet */
    CodeCache *cache; /* that `ref` is of */
    Device *device;
    int64_t used; /* ImageSet.bulks when it was last used */
    BulkHistory past;
} BulkCode;

/* Memory of this bulk that a device has a copy of. */
typedef struct Buffer {
    void *host;
    int64_t bytes;
    DevPtr at;
    bool in, out;
} Buffer;

/* Device memory that bulks leave for the next one, and the host's. */
typedef enum BulkDevMem {
    BM_BEFORE,
    BM_UNDO,
    BM_AFTER,
    BM_OPS,
    BM_LOG,
    BM_FOOT /* by buffer slot */,
    BM_ARGS = BM_FOOT + 2 /* likewise */,
    BM_COUNT_ = BM_ARGS + 2
} BulkDevMem;
typedef enum BulkHostMem {
    BH_STAGE,
    BH_OPS,
    BH_NUMBERS /* by buffer slot */,
    BH_FOOT = BH_NUMBERS + 2 /* likewise */,
    BH_ARGS = BH_FOOT + 2,
    BH_COUNT_ = BH_ARGS + 2
} BulkHostMem;
_Static_assert((int)BM_COUNT_ == (int)BULK_DEV_MEMORY && (int)BH_COUNT_ == (int)BULK_HOST_MEMORY,
               "as ImageSet has them");
/* Events on the way of a bulk, in order; BulkPhase has the times between. */
typedef enum BulkMark { MARK_BEGIN, MARK_SENT, MARK_FOOT, MARK_RANKED, MARK_LAUNCH, MARK_RUN, MARK_FETCHED } BulkMark;

/* The next bulk's footprints on their way, behind the calls of this one (bulk_prefetch.c). */
typedef struct BulkFoot {
    uint64_t *values;           /* of parameters that they are made with; pinned */
    uint64_t uploads;           /* images_uploaded then */
    int64_t n_images, n_sums;   /* what the layout of the host's memory depends on, */
    const uint64_t *foot_words; /* and where kernels' words come there */
} BulkFoot;

/* A bulk's arguments on a device with memory of its own, or on their way there: plain ones and cells of strings, then
 * strings and constants (texts.staged). bulk_args.c. */
typedef struct BulkArgs {
    uint64_t ticket; /* BulkPipeline; 0: sent with the bulk */
    Arena *arena;    /* its own; NULL: the bulk's */
    /* for whom */
    Device *d;
    BulkCode *code;
    bool any_order;
    int32_t n_groups;
    CallGroup *groups;
    Vec **params; /* by group: copies of the columns' headers, which their owner may free once the strings are sent */
    int64_t n_calls;
    /* numbers of calls, as in Bulk */
    int slot;
    uint16_t *type_of;
    uint32_t *pos_of;
    int32_t *group_order;
    int64_t *bases;
    /* what is there */
    int32_t n_buffers;
    Buffer *buffers;     /* plain ones, by address */
    int64_t plain_bytes; /* of these; texts.staged is behind them */
    char *sent;          /* pinned: all of it */
    DevPtr at;           /* ... and where it goes */
    BulkTexts texts;     /* what texts_take_args takes */
    BulkFoot *foot;      /* NULL: arguments only */
} BulkArgs;

/* Values of the kernels' parameters (EmitParam), and where they are on the device; bulk_prefetch.c has the rules of the
 * module's constant memory, which bulks share. */
typedef struct BulkParams {
    uint64_t *values;
    DevPtr table;              /* where kernels have them in constant memory; 0: they come as arguments */
    bool has_table;            /* it is this bulk's until its end: bulk_constants_begin */
    uint64_t *prefetch_values; /* pinned, room for values; on a device with memory of its own */
} BulkParams;

/* Words that the host and kernels exchange around each launch: one piece of memory, made by bulk_device_control. */
typedef struct BulkControl {
    uint64_t *words;      /* W_*; behind them what texts have of control words, and `figures` */
    int64_t n_words;      /* all of these */
    uint64_t *foot_words; /* FW_*; written by kernels of footprints only */
    uint8_t *foot_failed; /* by call: its footprint failed; on a device with memory of its own only a name for what is
                             there */
    uint64_t *lock_words; /* GS_*, as the launch left them; pinned, on such a device */
    uint32_t *figures;    /* w0 and c of the schedule in BulkPlan.ranks, once the results are there */
} BulkControl;

/* Calls that failed, as kernels list them, and how their errors are worded. */
typedef struct BulkFailures {
    uint64_t *list; /* counter and list */
    uint32_t *rest; /* room for as many calls */
    int64_t bytes;  /* of both; 0: they are in memory that stays */
    uint64_t *keys; /* PP_KEYS */
    int64_t keys_bytes;
    const void **key_cells; /* by worker key_cols pointers: cells of a taken key, by column of its table */
    int64_t key_cols;
    CallError ***raised; /* per group and instruction: the error of a RAISE whose message is constant */
    /* calls of one group that the virtual machine runs now (on_machine) */
    uint32_t *again;
    int64_t n_again;
    int32_t again_group;
} BulkFailures;

/* Memory that a work-item has for its call: the log of its changes, and strings that it makes. */
typedef struct BulkWork {
    uint8_t *undo, *scratch; /* the host's, where the device shares it; else NULL */
    int64_t undo_bytes, scratch_bytes;
    DevPtr undo_at, scratch_at; /* on a device with memory of its own */
} BulkWork;

/* What of the host's memory the device has a copy of; bulk_memory.c. */
typedef struct BulkBuffers {
    int32_t n_buffers;
    Buffer *buffers;
    int32_t *by_host; /* their numbers, by host address */
    int64_t room;     /* bytes of the buffers that have no address yet */
    char *head;       /* buffers [first_head, first_head + n_head), as the device has them */
    int32_t first_head, n_head;
    int64_t head_bytes;
} BulkBuffers;

/* Kernels on the host: whether they fetch rows into the cache before they use them. */
typedef struct BulkPrefetch {
    char *pieces; /* PP_PIECES */
    bool on;      /* PP_FETCHES: the images are larger than caches */
} BulkPrefetch;

/* OUT values and lists on their way back from a device with memory of its own. */
typedef struct BulkReturns {
    char *outs; /* OUT values, in one piece */
    DevPtr outs_at;
    int64_t outs_bytes;
    int64_t got_failed, got_keys, got_texts; /* bytes or entries asked for before it was known how many there are */
    bool queued;                             /* results are queued behind the next batch's last launch */
    bool here;                               /* ... and have come */
    bool fetched;                            /* OUT values are something, at least zeros */
} BulkReturns;

/* Launches so far. */
typedef struct BulkLaunches {
    int32_t batches;
    int64_t last_ns; /* when the last batch was launched */
    int64_t left;    /* calls that have not run: the first ones of schedule.order */
    bool trip;       /* the machine ran calls that had failed */
    bool asked;      /* what comes next (BulkPipeline) */
    bool no_marks;   /* events cannot be had: there are no times of the device's */
    uint32_t marks;  /* bits by BulkMark: recorded */
} BulkLaunches;

/* Footprints by kernel, and the schedule that is made of them on the device. */
typedef struct BulkPlan {
    uint64_t *ops_of; /* by group: where its operations go, and how many fit */
    DevPtr ops_at, uses_at;
    int64_t ops_max;
    bool counted;         /* kernels have counted inserts, and their counts stand */
    bool foot_prefetched; /* footprints were there, or on their way, when the bulk began */
    bool ranked;          /* the schedule is in `ranks`, */
    bool in_sets;         /* or K-SET, in `sets`; schedule.order is NULL until the host has to know it */
    RankLocks ranks;
    RankSets sets;
} BulkPlan;

/* Which calls share a warp, with statement locks; plan_together. */
typedef struct BulkWarps {
    uint8_t *per_warp;        /* by group: calls to a warp */
    uint32_t *together;       /* PP_TOGETHER */
    int64_t stretches, units; /* of it; batches */
} BulkWarps;

/* Strategies PART and SERIAL. */
typedef struct BulkPartitions {
    uint32_t *at;    /* PP_PART_AT, as the host's images have it; NULL: calls are not in partitions */
    uint32_t *stage; /* device with copies: fetched */
} BulkPartitions;

/* Strategy TPL: counter locks that calls hold to their ends, or by statement. */
typedef struct BulkLocks {
    bool on;
    bool relaunched; /* the host has the order of calls */
    uint32_t *counters;
    uint8_t *done;       /* by call: the host's images have what it did */
    uint8_t *stage;      /* device with copies: counters and `done`, fetched */
    int64_t state_bytes; /* of counters, `done` and stage */
} BulkLocks;

/* Locks that calls hold by statement: bulk_statement_locks.c. */
typedef struct BulkStatementLocks {
    bool on;
    int32_t dequeue_group;  /* the group whose calls take from a queue without waiting for each other; -1: none */
    uint8_t *dequeue_kinds; /* ... by instruction of its footprint: the kind of the operation */
    DevPtr log, log_at, log_n, log_first; /* all changes of all calls: next place and end; places and numbers by call;
                                             the first change */
    uint64_t log_room[2];
} BulkStatementLocks;

/* A bulk that kernels run. It belongs to its Bulk and to the thread that runs that; made by bulk_device_prepare, freed
 * by bulk_device_end. */
struct BulkDevice {
    Device *d;
    CodeCache *cache;
    DevQueue *queue, *side; /* side: the stop flag; NULL: not yet */
    bool broken;            /* an operation of the queue failed */
    EmitTarget target;
    bool copies;  /* the device does not share the host's memory */
    bool begun;   /* what comes before the schedule is there */
    bool on_host; /* ... and the host has everything now */
    int64_t safe; /* ... and the host's images are as after so many launches; -1: the device has changes of earlier
                     bulks */
    BulkCode *code;
    DevKernel *kernel, *foot; /* foot NULL: the machine makes footprints */
    DevKernel *undo_kernel;   /* of modules with statement locks: undoes all calls */
    uint16_t *kinds;          /* by group: procedure of the module */
    BulkParams params;
    BulkControl control;
    BulkFailures failures;
    BulkTexts texts;
    BulkWork work;
    BulkBuffers memory;
    BulkPrefetch prefetch;
    BulkReturns results;
    BulkLaunches launches;
    BulkPlan plan;
    BulkWarps warps;
    BulkPartitions partitions;
    BulkLocks locks;
    BulkStatementLocks statement;
};
/* Error word and stop flag, the launch that is blocked, tickets of launches, bounds of columns. */
enum { W_ERR, W_STOP, W_BLOCKED, W_TICKETS, W_BOUNDS = W_TICKETS + BATCH_MAX + 1 };
static inline int64_t bulk_words(const Bulk *b) { return W_BOUNDS + (int64_t)b->foot.n_sums + 1; }
/* Of a launch with statement locks: the stop flag; the next place in the log. */
enum { GS_STOP, GS_LOG, GS_WORDS };
/* PP_FOOT_WORDS; two words for each sum. */
enum { FW_FLAGS /* FOOT_* */, FW_OPS, FW_TILES, FW_SUMS = 4 };
static inline int64_t foot_words(const Bulk *b) { return FW_SUMS + 2 * (int64_t)b->foot.n_sums; }

static inline int64_t keys_room(const BulkDevice *v) { return (v->failures.keys_bytes / 8 - 2) / KEY_WORDS; }
static inline int64_t keys_listed(const BulkDevice *v) { return MIN_OF((int64_t)v->failures.keys[0], keys_room(v)); }

/* bulk_code.c: the bulk's module, its kernels, and what of it depends on the bulk; *reason: why there is none. Numbers
 * in the module of a procedure and of a table; -1: it is not there. */
Status bulk_code_get(Bulk *b, const char **reason, Err *e);
int32_t bulk_code_proc(const BulkCode *c, const Proc *proc);
int32_t bulk_code_table(const BulkCode *c, int64_t id);
/* bulk_args.c. b->args, Sends b->args unless they were prefetched; 53200, 58000. bulk_args_next prefetches the next
 * bulk's, once this one's calls are launched. */
Status bulk_args_send(Bulk *b, Err *e);
void bulk_args_next(Bulk *b);
/* bulk_prefetch.c. bulk_foot_next queues the next bulk's footprints behind this one's last launch, where its arguments
 * have been sent and prefetching may work. bulk_foot_take, of that bulk, is true when they are the ones that it would
 * make: they come with its queue. bulk_foot_drop gives them up: it is called before anything else is launched for the
 * bulk that queued them. 58000. */
Status bulk_foot_next(Bulk *b, Err *e); /* 58000: the bulk that runs cannot launch anything more */
bool bulk_foot_take(Bulk *b);
Status bulk_foot_drop(Bulk *b, Err *e);
/* From _begin to _end the module's constants are the bulk's; waits for prefetched footprints that use them. */
void bulk_constants_begin(Bulk *b);
void bulk_constants_end(Bulk *b);
void bulk_constants_forget(ImageSet *s);
/* bulk_memory.c: of the image set's, for this bulk. 53200. */
Status bulk_host_memory(Bulk *b, BulkHostMem which, int64_t bytes, void **out, Err *e);

/* bulk_memory.c, in the order of use; 53200, 58000. Control words, zero; then whatever is there before the schedule:
 * memory for all, arguments on their way. */
Status bulk_device_control(Bulk *b, Err *e);
Status bulk_device_send(Bulk *b, Err *e);
/* Sets undo_at and scratch_at for memory at `at`; returns how many bytes it needs. */
int64_t bulk_undo_room(BulkDevice *v, DevPtr at);
/* Of that what footprints need, of a bulk whose arguments have their places, by another queue. */
Status bulk_device_send_foot(Bulk *b, DevQueue *q, Err *e);
/* With a device that has memory of its own only, from here on. What comes with the schedule, and OUT values' zeros. */
Status bulk_device_send_more(Bulk *b, Err *e);
/* Control words and OUT values, as the host has changed them. */
Status bulk_device_send_back(Bulk *b, Err *e);
/* Queues copies of control words and failures, and once they are there fetches those beyond what was expected; likewise
 * OUT values, with strings and figures. */
Status bulk_device_queue_state(Bulk *b, Err *e);
Status bulk_device_take_state(Bulk *b, Err *e);
Status bulk_device_queue_results(Bulk *b, Err *e);
/* Results, unless they are here; waits. */
Status bulk_device_fetch(Bulk *b, Err *e);
/* Nothing was fetched: the machine takes calls from the first on. */
void bulk_device_clear_outs(Bulk *b);
/* The device has come to this; figures only. After the queue was waited for: times between. */
void bulk_mark_device(Bulk *b, BulkMark m);
void bulk_read_marks(Bulk *b);

/* Memory and addresses for what comes before the schedule. 53200, 58000. */
Status bulk_device_begin(Bulk *b, Err *e);
/* The address under which kernels find what the host has at p. */
uint64_t bulk_device_at(const Bulk *b, const void *p);
/* `bytes` of the device's memory, which the bulk before may have used. */
Status bulk_device_memory(Bulk *b, BulkDevMem which, int64_t bytes, DevPtr *out, Err *e);
/* The value of a parameter that follows from the program alone, its data being on the device or here. */
Status bulk_program_value(Bulk *b, const Program *prog, const EmitParam *p, uint64_t *to, Err *e);
Status bulk_device_values(Bulk *b, Err *e);                  /* anew, after what they depend on has changed */
Status bulk_compute_values(Bulk *b, Err *e);                 /* only here, */
Status bulk_send_values(const Bulk *b, DevQueue *q, Err *e); /* and there */
/* A kernel of the module, with these values. */
Status bulk_launch(const Bulk *b, DevQueue *q, DevKernel *k, int64_t groups, Err *e);
int64_t bulk_plan_items(Bulk *b); /* computes undo_bytes and scratch_bytes and, with statement locks, which calls share
                                     a warp; returns how many work-items a launch has at most */
/* The images of the bulk's procedures, one after the other, from *at = 0 on; NULL: no more. Entry *at - 1. */
Image *bulk_next_image(const Bulk *b, int64_t *at);
int64_t bulk_device_groups(const Bulk *b, int64_t calls);
bool bulk_device_poll(void *ctx);
/* bulk_values.c: with statement locks, which calls share a warp; work-items of a launch of n calls; where counters of
 * locks are on the device, 0: there are none. */
void bulk_plan_together(Bulk *b);
int64_t bulk_launch_items(const Bulk *b, int64_t n);
uint64_t bulk_counters_at(const Bulk *b);
bool bulk_in_partitions(const Bulk *b);
/* bulk_failures.c: words failures of a launch or batch; how many calls the virtual machine has to run, in their order,
 * and runs calls there that do not conflict. */
int64_t bulk_word_failures(Bulk *b, uint32_t **calls);
Status bulk_run_failures(Bulk *b, int64_t n, const uint32_t *calls, Err *e);
int bulk_by_number(const void *a, const void *b); /* of calls, for qsort */
/* bulk_statement_locks.c: whether this bulk uses statement locks; values; room for the log; after the calls: b->again
 * when they were undone. 53200, 58000. */
bool bulk_statement_locks_use(const Bulk *b);
/* Fills dequeue_group and dequeue_kinds; the queue's table. */
Status bulk_statement_locks_plan(Bulk *b, Err *e);
int64_t bulk_dequeue_table(const Bulk *b);
uint64_t bulk_statement_lock_base(const ProgRun *pr, int32_t number);
Status bulk_statement_locks_start(Bulk *b, Err *e);
Status bulk_statement_locks_finish(Bulk *b, Err *e);
/* bulk_foot.c: queues the kernel for so many groups, and copies of what the host has to know. `ops_at`, `uses_at` for
 * so many operations, as the module's bulks before had. */
Status bulk_foot_queue(Bulk *b, DevQueue *q, int64_t groups, Err *e);
int64_t bulk_foot_guess(const Bulk *b);
int64_t bulk_foot_room(BulkDevice *v, int64_t want, DevPtr at); /* bytes; at 0: only how many */
/* Values of a footprint's own parameters. */
Status bulk_foot_value(Bulk *b, int32_t group, const EmitParam *p, uint64_t *to, Err *e);

#endif
