/* bulk.h - running a bulk: footprints, schedule, execution, results.
 *
 *   1. parameters are columns, one set per procedure of the bulk
 *   2. footprints of all calls, on the virtual machine or a device, give operations
 *   3. schedule_make orders them
 *   4. images get room for inserts
 *   5. the calls run: set by set, or partition by partition, or all at once under counter locks
 *   6. results: per call its status and OUT values, in submission order
 *
 * The result is that of running the calls one by one in timestamp order [GPUTx Definition 1]. A call that fails leaves
 * no change; all others are as if it had never been submitted.
 *
 * Executors: BULK_VM runs programs on vectors of calls of one procedure; BULK_COMPILED runs kernel C made from them
 * (codegen/emit_proc.h) on a device, the host included. BULK_VM defines what is correct, and is itself tested against
 * calls run one at a time by session/pl/pl_run.h.
 *
 * Thread rules: one bulk at a time per registry; bulk_run uses the pool.
 */
#ifndef STELE_TXN_RUN_BULK_H
#define STELE_TXN_RUN_BULK_H

#include "exec/exec.h"
#include "catalog/catalog.h"
#include "program/proc.h"
#include "txn/store/image.h"
#include "txn/order/schedule.h"

typedef struct CallError {
    char sqlstate[6];
    char *message, *detail, *hint;
    const ErrNames *names; /* NULL: none */
    int32_t line;
    const char *place, *context; /* of routines inside the procedure, NULL: none */
} CallError;
/* All but the place, in the arena. False: no memory for the message. */
bool call_error_make(Arena *a, const char *sqlstate, Slice message, const char *detail, const char *hint,
                     const ErrNames *names, CallError *out);
bool call_error_of(Arena *a, const Err *e, CallError *out);
void call_error_tell(const CallError *x, Err *e); /* the reverse */

/* A notice of a call; call: number in the group. */
typedef struct CallNotice {
    int32_t group;
    int64_t call;
    int64_t seq;
    const char *severity, *context, *detail, *hint;
    char sqlstate[6];
    char *message;
} CallNotice;

/* Calls of one procedure: column i of `params` has n cells of the parameter's phys. */
typedef struct CallGroup {
    const Proc *proc;
    int64_t n;
    const Vec *params;
    const uint32_t *calls; /* number of each call in the bulk, ascending; NULL: 0 .. n-1 */
    int64_t guess;         /* rows that a call may insert into a table, where the number is not known before it runs
                              (ProcTable.guessed) */
} CallGroup;

/* Bulks one after the other on a device with memory of its own: while a bulk's calls run there, the arguments of the
 * next one are sent (bulk_args.c). */
typedef struct BulkPipeline {
    /* Called at most once, by the thread that called bulk_run. False: there is none. The groups are copied; columns
     * stay where they are until that bulk has run, or `ticket` is not used. */
    bool (*next)(void *ctx, int32_t *n_groups, const CallGroup **groups);
    void (*sent)(void *ctx); /* NULL, or called after each `next` that gave calls: their strings are not read any more,
                                whether they were sent or not */
    void *ctx;
    uint64_t ticket;      /* of this bulk's arguments, as the bulk before gave it; 0: they were not prefetched */
    uint64_t next_ticket; /* of the next one's, afterwards; 0: likewise */
} BulkPipeline;

/* Calls to be cancelled while the bulk runs: each fails alone with 57014 at the next iteration of a loop. Called from
 * any of the bulk's threads. A bulk that has been on a device for a second is continued on the virtual machine then. */
typedef struct BulkStop {
    bool (*any)(void *ctx);                               /* cheap; once true it stays so */
    bool (*call)(void *ctx, int32_t group, int64_t call); /* call: of the group's */
    void *ctx;
} BulkStop;

typedef struct BulkOptions {
    QueryOptions *query; /* pool, threads, account, cancel, vector_size, device */
    Strategy strategy;
    bool any_order;     /* bulk_order = any: timestamps need not be kept [GPUTx App. G] */
    bool compiled;      /* kernel C on `query->device.runtime`'s device */
    bool copies;        /* tests: as if the device did not share the host's memory */
    int64_t step_limit; /* loop iterations per call; 0 = none */
    int64_t partitions; /* PART: items are spread over so many; 0: calls that conflict are connected instead */
    enum BulkRelease {
        RELEASE_AUTO,
        RELEASE_STATEMENT,
        RELEASE_CALL
    } release;     /* TPL on a device with memory of its own: when calls give up locks (codegen/emit_proc.h, Guards) */
    int32_t lanes; /* TPL, PART on CUDA: one work-item of so many neighbours runs calls; 0: as measured */
    int64_t set_min; /* strategy auto: KSET when sets have so many calls on average; 0: as measured, */
    int64_t set_min_device, set_min_vm; /* by kernels and on the virtual machine, 0: not on this machine */
    bool figures; /* BulkStats.depth also where a device ranks the calls, which need not find depths: twice the time for
                     that, or more */
    BulkPipeline *pipeline; /* NULL: the next bulk is not known */
    const BulkStop *stop;   /* NULL: none */
    /* NULL, or called by the thread that called bulk_run when the calls have been launched on a device with memory of
     * its own, and that thread would only wait: once, or not at all where calls run otherwise, or twice where the bulk
     * is run twice. */
    void (*launched)(void *ctx);
    void *launched_ctx;
    bool logged; /* on the virtual machine: all changes stay in logs, so that the bulk can be undone behind its end
                    (images_take_back), until images_forget_logs */
    bool apart; /* no two of the calls conflict, additions taken for writes (bulk_footprints): they are one set, without
                   footprints */
    int32_t group_bits; /* kernels: calls are brought together by so many upper bits of their procedures' numbers in the
                           bulk; 0: not at all */
} BulkOptions;

/* Where the time of a bulk goes, on the host's clock one after the other; behind them on a device's, beside what the
 * host does. */
typedef enum BulkPhase {
    BP_NUMBER,  /* of calls by group */
    BP_PREPARE, /* programs, code, the device */
    BP_PLACE,   /* images on a device, room for strings; behind BP_GATHER */
    BP_GATHER,  /* arguments on their way to a device, lengths of strings */
    BP_FOOT,
    BP_RANK,
    BP_RESULT /* memory for it */,
    BP_RESERVE,
    BP_START, /* what a device has to know besides */
    BP_RUN,
    BP_FAILURES,
    BP_FETCH /* results that did not come with the calls' end */,
    BP_FINISH,
    BP_DEV_UPLOAD,
    BP_DEV_FOOT,
    BP_DEV_RANK,
    BP_DEV_WAIT /* for the host, and what it sends */,
    BP_DEV_RUN,
    BP_DEV_DOWNLOAD,
    BULK_PHASES
} BulkPhase;
const char *bulk_phase_name(BulkPhase p);

typedef struct BulkStats {
    int64_t n_calls, n_failed, n_ops;
    int64_t rows_read; /* that lookups and loops of calls found, on the virtual machine; not those of footprints */
    int64_t depth, width0, crossing; /* depth 0: a device ranked the calls, see BulkOptions.figures */
    Strategy strategy;
    bool prefetched;      /* its arguments had been sent to the device when it began (BulkPipeline), */
    bool foot_prefetched; /* and its footprints */
    bool short_of_rows;   /* a call needed more rows than CallGroup.guess: the result is void, and the images have to be
                             dropped */
    const char *executor, *device, *reason,
        *why; /* reason: why another executor than asked for; why: this strategy (a constant) */
    int64_t footprint_ns, schedule_ns, reserve_ns, run_ns, total_ns, images_ns;
    int64_t send_ns;     /* sending arguments to a device with memory of its own; not in footprint_ns */
    int64_t transfer_ns; /* all waiting for copies to and from the device */
    int64_t phase_ns[BULK_PHASES];
    /* Set by sessions (session/pool/bulk.c): */
    int64_t n_retries;         /* runs that were void, since a forecast of what calls insert was too low */
    bool any_order;            /* bulk_order was any, and the bulk did not run one call at a time */
    const char *log, *log_why; /* "inputs" or "cells", and why cells: these live as long as the procedures; NULL */
} BulkStats;

typedef struct FailedCall {
    int32_t group;
    uint32_t call; /* of the group's */
} FailedCall;
typedef struct BulkResult {
    int64_t n_calls;
    /* per group: OUT values as columns of group.n cells (strings live as long as the result), and per call its error or
     * NULL */
    Vec **outs;
    CallError ***errors;
    int64_t n_listed; /* calls that failed, in no order; NULL: not listed */
    const FailedCall *failed;
    int64_t n_notices;
    const CallNotice *notices;  /* by group, call and time */
    const int32_t *group_order; /* bulk_order = any: the result is that of the groups in this order, each in the order
                                  of its calls; NULL: of all calls in order */
    CallError *gone, *rest;     /* errors of calls that were not begun: their routine was dropped or replaced before
                                         their slice; a slice before them failed as a whole. NULL: no call has it */
    BulkStats stats;
    Arena *arena;
} BulkResult;

/* Images of the tables that bulks use, by table; made when needed. */
typedef struct ImageSet ImageSet;
/* homes: the account of rows (NULL: of their tables). */
ImageSet *images_new(MemAccount *acct, MemAccount *homes, Err *e);
void images_free(ImageSet *s);
/* Images that fit `needs` of all procs of the groups; fresh ones replace those that are stale or too narrow. */
Status images_get(ImageSet *s, const Catalog *c, int32_t n, const Proc *const *procs, Pool *pool, Err *e);
Image *images_find(ImageSet *s, int64_t table_id);
int64_t images_made(const ImageSet *s); /* how many images have been made so far */
/* Whether images_get uses the images with unapplied changes as they are; else it applies all changes to the tables
 * first. */
bool images_fit(ImageSet *s, const Catalog *c, int32_t n, const Proc *const *procs);
bool images_current(ImageSet *s, const Table *t); /* bulks have an image of the table as it is */
bool images_only_there(const Image *im);          /* a device has newer rows of it */
bool images_on_device(const ImageSet *s);         /* a device has changes that the host does not */
bool images_ahead(const ImageSet *s);             /* some table has to be brought up to date */
/* device_rows_view of the table's image; NULL: the table has everything. *there false: its newer rows are on the host,
 * and not in the table. */
Status images_view(ImageSet *s, const Table *t, const Table **out, bool *there, Err *e);
/* Brings all changes of devices to the host. 58000: a device was lost with its changes; 53200: nothing is lost, but
 * some changes are still there. */
Status images_home(ImageSet *s, Err *e);
/* Applies the changes of images to their tables, before the tables are used otherwise. 58000, as images_home: no table
 * has changed then; after other errors, changes that were not applied are still in the images. */
Status images_sync(ImageSet *s, UndoLog *undo, Err *e);
/* The same of one table; nothing, when there is no image of it or it is not ahead. */
Status images_sync_table(ImageSet *s, int64_t table_id, UndoLog *undo, Err *e);
/* Called for each table that is brought up to date from here on, with what it has learned of its rows
 * (sync_numbered). Returns the watch that there was. */
struct RowNumbers;
typedef struct ImagesWatch {
    void (*synced)(void *ctx, const Table *t, const struct RowNumbers *x); /* NULL: none is */
    void *ctx;
} ImagesWatch;
ImagesWatch images_watch(ImageSet *s, ImagesWatch w);
/* Before a bulk of these procedures: whether tables have the cells that it writes in their images (home_settle, of
 * images that are not ahead), or cells of their own (home_leave). */
Status images_settle(ImageSet *s, int32_t n, const Proc *const *procs, Err *e);
Status images_leave(ImageSet *s, int32_t n, const Proc *const *procs, Err *e);
bool images_settled(const ImageSet *s); /* some are */
/* Of a bulk of these procedures that may have to be undone: bytes of the tables' cells in their images, and these,
 * copied to `a` (txn/store/home_save.h). images_undo puts them back (NULL: there are none), and drops all images, which
 * were not ahead before the bulk. 53200. */
typedef struct ImagesSave ImagesSave;
int64_t images_save_bytes(const ImageSet *s, int32_t n, const Proc *const *procs);
Status images_save(const ImageSet *s, int32_t n, const Proc *const *procs, Pool *pool, Arena *a, ImagesSave **out,
                   Err *e);
void images_undo(ImageSet *s, const ImagesSave *x);
/* The way back of a bulk with BulkOptions.logged, until the next bulk: its changes are taken back, or stand. What it
 * was ahead of the tables by before, images are afterwards; a failed bulk_run is taken back as well. Cannot fail. */
void images_take_back(ImageSet *s);
void images_forget_logs(ImageSet *s);
/* The table has an image that bulks use: since the last one that did this was asked fewer than IMAGES_IDLE times. */
enum { IMAGES_IDLE = 16 };
bool images_in_use(ImageSet *s, int64_t table_id);
/* Applies changes of tables to images, under the lock held alone, while no image had unapplied changes: images that
 * were up to date stay so, or are stale (images_follow.c). The lists of new rows are used up. */
void images_follow(ImageSet *s, int64_t n, NetChange *net);
/* What images hold that nothing needs (txn/store/image.h): the most that it may be, and how much of
 * that may have come since it was looked at; looked at, of all. */
int64_t images_garbage_at_most(const ImageSet *s, int64_t *grown);
Status images_garbage(ImageSet *s, int64_t *bytes, Err *e);
int64_t images_garbage_of(ImageSet *s, int64_t table_id); /* of one table, when images_garbage looked */
void images_drop_all(ImageSet *s); /* those that are not ahead, and memory kept for the next bulk */
/* Memory that bulks leave for the next one: lists of operations, the table of items, numbers of calls. It is as large
 * as the largest bulk wanted, up to some bound, and is made again by the next one. No bulk running. */
void images_drop_kept(ImageSet *s);
/* That, and what images have room for beyond what they need (room_trim). 58000, 53200 */
Status images_trim(ImageSet *s, Err *e);
void images_drop(ImageSet *s, int64_t table_id);   /* the image, which is not ahead; the next bulk makes it anew */
void images_forget(ImageSet *s, int64_t table_id); /* the table is gone or was changed by other means */
/* Images with an index that `need` of their table (NULL: there is none) has not go; no image is ahead. */
void images_forget_unneeded(ImageSet *s, const ImageNeed *(*need)(const void *ctx, int64_t table_id), const void *ctx);
void images_forget_proc(ImageSet *s, const Proc *proc); /* before the procedure is freed: programs are kept prepared */

/* `calls` of all groups together number 0 .. n_calls-1 in timestamp order. images_get comes first. On an error nothing
 * has changed (errors of calls are in the result, not here). Procedures with a `reason` are 0A000. Cancelled before the
 * calls run: 57014 here; later: calls that have not begun, and those in loops, fail with it, each alone; the others
 * have been executed. */
Status bulk_run(ImageSet *images, int32_t n_groups, const CallGroup *groups, const BulkOptions *opt, BulkResult **out,
                Err *e);
void bulk_result_free(BulkResult *r);
/* The operations of calls, for a caller that keeps conflicting calls apart itself (ZeroSets): those of call c are
 * ops[start[c]] .. ops[start[c + 1] - 1]; failed[c]: its footprint failed, and they are not known. They are right until
 * something else than bulks, or a procedure without a footprint, changes tables, or definitions change. Additions are
 * writes here: whether they commute depends on the others of their bulk, which is not known yet. Everything in `a`.
 * images_get comes first; nothing changes. */
typedef struct BulkOps {
    int64_t *start;
    TxnOp *ops;
    uint8_t *failed;
} BulkOps;
Status bulk_footprints(ImageSet *images, int32_t n_groups, const CallGroup *groups, const BulkOptions *opt, Arena *a,
                       BulkOps *out, Err *e);
void bulk_sort_notices(int64_t n, CallNotice *x); /* as in BulkResult */

#endif
