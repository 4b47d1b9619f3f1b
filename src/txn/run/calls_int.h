/* calls_int.h - programs of procedures on the virtual machine. Only src/txn/run/bulk.c, vm_calls.c and vm_rows.c, and
 * their unit tests, include it.
 *
 *   ProgRun     a program of a procedure, prepared: shared by the workers, kept from bulk to bulk
 *   CallFrame   one worker's state for it: a chunk of up to vector_size calls
 *   CallSink    what comes out of chunks besides variables: operations, errors, counts; one per worker and bulk
 *
 * Variables are columns over the chunk: cells and valid bytes by position in the chunk (0 .. n-1). Parameters may be
 * the caller's own cells; a variable gets a home of its own when it is first written. Strings lie in the frame's arena
 * for the whole chunk; what no variable has any more is freed between iterations of loops.
 *
 * Control. A straight run of instructions executes on the calls of a position list (NULL: all of the chunk); statements
 * split lists and join them again. Nothing is merged: goes[] has for each call whether it runs, or where it continues,
 * and at a joining point the list of calls that entered is filtered by it. So a body is executed by recursion over the
 * structure, and each opening bracket owns the buffers of its lists.
 *
 * EXCEPTION. Where a call is in the program is where all of the list are, so the P_TRY that catches its failures is the
 * frame's (try_at): a call that fails continues at its P_CATCH, and what it has changed since is undone from the log.
 *
 * Failures. An expression that fails for a vector is tried again row by row; those that fail leave the chunk with their
 * errors, the registers alive are compacted, and the instruction runs again. Instructions with effects mark the rows
 * that fail themselves, and go on with the others.
 */
#ifndef STELE_TXN_RUN_CALLS_INT_H
#define STELE_TXN_RUN_CALLS_INT_H

#include "base/log.h"
#include "device/work.h"
#include "exec/sort.h"
#include "exec/vm_frame.h"
#include "txn/run/bulk.h"

enum { GO_ON = 0, GO_DONE = -1, GO_FAILED = -2 }; /* goes[]: or 1 + the instruction that the call goes to */

/* How a program's tables, columns and indexes are reached in this bulk. */
typedef struct ColumnUse {
    bool shared;     /* ROW_ADD is atomic here, and cannot overflow */
    bool tracked;    /* the greatest |value| is kept, because procedures add to it */
    int32_t slot;    /* tracked: number in CallSink.sums and bounds */
    int128_t lo, hi; /* the type's range */
} ColumnUse;
typedef struct TableUse {
    Image *image;
    int32_t *index;      /* the program's index number -> the image's */
    ColumnUse *cols;     /* by column; of the image set's entry */
    bool tracks_inserts; /* some column is tracked */
    /* Row numbers of inserts do not depend on the order of execution: call k of the group has counts[k] from base +
     * starts[k] on, or, where `counts` is NULL, `stride` from base + (starts ? starts[k] : k * stride) on. */
    int64_t base, stride;
    uint32_t *counts, *starts;
} TableUse;
/* One fetch-add of a call. */
typedef struct FetchAddCell {
    uint64_t item;
    int64_t amount; /* by the footprint */
    int64_t before; /* what earlier calls of the set add to the item, and the call itself before */
    int64_t row;    /* that it was done on, -1: none yet */
    bool known;     /* `amount` is known from the footprint */
    bool shared; /* other calls of the set have fetch-adds of the item: the table's cell stays as it is until the set's
                    end */
    uint8_t fetched; /* TOOK_ */
} FetchAddCell;
enum { FETCHED_NOTHING, FETCHED_AS_PLANNED, FETCHED_OTHERWISE /* than in the footprint, or twice */ };
typedef struct FetchAddUse {
    FetchAddCell *cells;
} FetchAddUse; /* by position in the group; NULL: planned as a write */

enum { ADD_EXCLUSIVE = -2 /* ProgRun.add_slot: these adds are planned as writes */ };

typedef struct ProgRun {
    const Proc *proc;
    const Program *p;
    bool is_body;
    int32_t n_vars;
    const ProcVar *vars;
    Vm *vm;
    SessionInfo session; /* copied for each bulk: steps keep its address */
    Arena *arena;
    int32_t *run_end;   /* per instruction: the next statement, or the end */
    uint8_t *copy_load; /* LOAD: a STORE to its variable follows in the run */
    int32_t n_tries;    /* P_TRY */
    int32_t n_buffers;
    SortSpec *buffers;          /* by number: by call, then by the buffer's keys */
    bool must_undo;             /* whatever the bulk */
    bool undo;                  /* in this bulk: changes are logged */
    TableUse *tables;           /* by number in the procedure; made anew for each bulk */
    FetchAddUse *fetch_adds;    /* by number in the procedure; NULL: no fetch-adds beside each other in this bulk */
    int32_t *add_slot;          /* ITEM of an add: its column's slot, ADD_EXCLUSIVE, or -1: no sum */
    bool *left_out;             /* ITEM: its operations conflict with none in this bulk, and are not made */
    int64_t asked, vector_size; /* at most `asked` calls at a time; the same for both programs of a procedure */
} ProgRun;

/* A row that a call did not insert, because another one had its key (number of the constraint), or that it has undone
 * (key -1): to be checked at the set's end against the order of calls. */
typedef struct KeyDoubt {
    struct Image *image;
    int64_t row;
    int32_t key;
} KeyDoubt;

/* Errors and counts of one worker. */
typedef struct CallSink {
    Arena *arena; /* this worker's share of the result */
    MemAccount *account;
    int32_t group;               /* of the chunk in hand */
    CallError ***errors;         /* the result's */
    int64_t n_failed, rows_read; /* BulkStats */
    bool short_of_rows;
    VEC(CallNotice) notices;
    int64_t step_limit;
    _Atomic bool *cancel;
    int64_t deadline_ns;
    const BulkStop *stop;
    bool keeps;       /* the bulk may be undone (bulk_fetch_adds.c, call_logs.c): its changes stay in the logs, */
    uint32_t set;     /* with the number of the set in hand, or of the chunk */
    bool doubts_keys; /* inserts of the set commute: what was not inserted, or is no more, goes to ... */
    bool doubtful;    /* ... or there was no memory for it */
    VEC(KeyDoubt) doubts;
    uint128_t *sums;  /* per column with adds: sum of |amount| */
    int128_t *bounds; /* likewise: greatest |value| put there */
    bool null_amount; /* of an addition whose operation was left out: it is a write */
    /* footprints: operations of the chunk in hand; `call` is a position */
    TxnOp *ops;
    int64_t n_ops, cap_ops;
} CallSink;

extern const char call_canceled[];
/* NULL: the bulk goes on; else what its calls fail with (57014). */
static inline const char *sink_canceled(const CallSink *k) {
    if (k->cancel && atomic_load_explicit(k->cancel, memory_order_relaxed)) return call_canceled;
    return k->deadline_ns && clock_ns() > k->deadline_ns ? "canceling statement due to statement timeout" : NULL;
}
static inline bool sink_stops_some(const CallSink *k) { return k->stop && k->stop->any(k->stop->ctx); }

typedef struct CallVar {
    const void *cells;
    const uint8_t *valid; /* NULL: no NULLs */
    void *home;
    uint8_t *home_valid;
    uint8_t size, phys;
} CallVar;

/* The rows of a query, of all calls of the chunk (vm_buffers.c). */
typedef struct CallBuffer {
    Sorter *sorter;         /* they come to it; NULL: none has */
    RowStore *rows;         /* they are in order here; NULL: not yet */
    const char **at;        /* by number, first of all by call */
    RowRun *runs;           /* that hold them */
    int64_t *start, *count; /* by position */
} CallBuffer;

typedef enum CallUndoKind { CALL_UNDO_PUT, CALL_UNDO_ADD, CALL_UNDO_INSERT, CALL_UNDO_DELETE } CallUndoKind;
typedef struct CallUndo {
    alignas(16) uint8_t cell[16];
    Image *image;
    int64_t row;
    int32_t pos;
    int32_t col;
    uint8_t kind; /* CallUndoKind */
    uint8_t phys, valid;
    uint32_t seq; /* the number of the change in the chunk */
    uint32_t set; /* CallSink.set */
} CallUndo;

typedef struct CallFrame {
    const ProgRun *pr;
    Frame *f;
    CallSink *sink;
    CallVar *vars;
    int64_t n;             /* calls of the chunk */
    const uint32_t *calls; /* their positions in the group, NULL: first_call + i */
    int64_t first_call;
    int32_t *goes;
    int64_t tidy_at;    /* bytes of strings from which on those that no variable has any more are freed */
    int64_t *steps;     /* loop iterations; made when there are loops */
    int64_t departures; /* grows when a call leaves the list in hand */
    int32_t **lists;    /* per opening bracket: three lists of vector_size */
    int32_t run_start;  /* of the straight run in hand */
    Vec *saved;         /* registers while rows are tried one by one; made when first needed */
    CallUndo *undo;
    int64_t n_undo, cap_undo;
    int64_t undo_from;   /* those before are of other chunks of the set */
    uint32_t n_changes;  /* in the chunk */
    int32_t try_at;      /* the innermost P_TRY that is being run, -1 none, */
    uint32_t try_from;   /* and the number of changes before it */
    CallError ***caught; /* by number of P_TRY and position: made when first needed */
    const void **cells;  /* of a row to insert */
    int32_t **inserted;  /* per table of the procedure with inserts: rows so far, by position */
    CallBuffer *buffers; /* by number */
    int32_t *positions;  /* 0, 1, ..: of calls in rows of buffers; NULL: there are none */
} CallFrame;

/* ---- what stays from bulk to bulk (images.c) ---- */
typedef struct ImageEntry {
    int64_t table_id;
    Image *image;   /* NULL: to be made */
    ImageNeed need; /* of all procedures so far, in `arena` */
    ColumnUse *cols;
    int128_t *bound; /* per column: no |value| is greater; < 0: not known */
    Arena *arena;
    int idle;        /* times that images_in_use has counted since a bulk used it */
    int64_t garbage; /* when images_garbage looked */
} ImageEntry;
typedef struct ProcEntry {
    const Proc *proc;
    ProgRun *body, *foot; /* made when first needed */
    int workers;
    int64_t uses;
    CallFrame **body_frames, **foot_frames;       /* per worker, NULL: not yet */
    double call_ns;                               /* what a call fetched in sets so far; 0: unknown */
    int64_t fetch_adds_wait, fetch_adds_in_a_row; /* bulks until its fetch-adds may share sets again, and bulks in a row
                                                     in which they did as planned; strategy auto (bulk_fetch_adds.c) */
    int32_t fetch_adds_undone;
} ProcEntry;
enum { PROC_USES_MAX = 20000 /* then its frames are made anew: functions may have left something in them each time */ };
enum { KEPT_OPS_MAX = 8 << 20 /* operations in all: 128 MiB */ };
typedef struct KeptOps {
    TxnOp *ops;
    int64_t cap;
} KeptOps;
enum { BULK_CODES_MAX = 16, BULK_DEV_MEMORY = 9, BULK_HOST_MEMORY = 8, BULK_MARKS = 7 };
/* Memory that copies from a device go to at full speed, where there is enough of it, else ordinary. It may outlive
 * everything but the device. bulk_memory.c. */
typedef struct BulkLoan {
    struct Device *device; /* NULL: ordinary */
    MemAccount *account;
    void *p;
    int64_t bytes;
} BulkLoan;
void bulk_give_back(BulkLoan *l); /* nothing when there is none */
struct ImageSet {
    MemAccount account;
    MemAccount *homes; /* of rows; NULL: tables say */
    int n_kept;        /* memory for operations that bulks leave for the next one: two pieces per worker */
    KeptOps *kept;
    ScheduleScratch *scratch; /* NULL until the first bulk */
    int slot; /* buffer slot of the arguments of the bulk that runs: those of the next one use the other (bulk_args.c)
               */
    BulkLoan numbers[2];                    /* by buffer slot: Bulk.type_of and pos_of, likewise */
    struct BulkArgs *prefetched;            /* arguments of the next bulk, on their way to the device; NULL: none */
    struct DevQueue *prefetch_queue;        /* the queue for them; NULL: not yet */
    struct Device *device;                  /* that the last bulk with kernels ran on, NULL: none; outlives the set */
    struct DevQueue *queue;                 /* of that device, kept for the next bulk */
    struct BulkCode *codes[BULK_CODES_MAX]; /* bulk_device.c; NULL: none */
    int64_t bulks;                          /* that used one of these */
    struct RankDevice *rank;                /* of that device; NULL: not yet */
    DevMem memory[BULK_DEV_MEMORY];         /* of that device, for the next bulk */
    BulkLoan pinned[BULK_HOST_MEMORY];      /* likewise, the host's (BulkHostMem) */
    struct DevEvent *marks[BULK_MARKS];     /* likewise; NULL: not yet */
    struct DevEvent *foot_made;             /* the next bulk's footprints are there (bulk_prefetch.c); NULL: not yet */
    int64_t made;                           /* images */
    int64_t n, cap;
    ImageEntry *entries;
    int64_t n_procs, cap_procs;
    ProcEntry *procs;
    ImagesWatch watch;
};
ImageEntry *images_entry(ImageSet *s, int64_t table_id); /* NULL: none */
/* The procedure prepared for `workers` workers; foot: its footprint too. */
Status images_proc(ImageSet *s, const Proc *proc, bool foot, int64_t vector_size, int workers, ProcEntry **out, Err *e);

static inline int64_t call_number(const CallFrame *c, int64_t pos) {
    return c->calls ? c->calls[pos] : c->first_call + pos;
}
static inline int64_t row_pos(const Frame *f, int64_t i) { return f->pos ? f->pos[i] : f->first + i; }

/* vm_calls.c */
Status progrun_new(const Proc *proc, bool body, int64_t vector_size, MemAccount *acct, ProgRun **out, Err *e);
void progrun_free(ProgRun *pr);
Status callframe_new(const ProgRun *pr, int worker, CallFrame **out, Err *e);
void callframe_free(CallFrame *c);
/* Its log of changes is empty from here on, with room for at most so many. */
void callframe_forget_log(CallFrame *c, int64_t most);
/* Runs the program for n calls of the group: numbers calls[0..n), or first, first + 1, .. (NULL). goes[] says how each
 * ended; errors of calls go to the sink. */
void callframe_run(CallFrame *c, CallSink *sink, const CallGroup *group, int64_t n, const uint32_t *calls,
                   int64_t first);
/* Marks row i of the frame's current rows as failed with f->err, which is cleared. */
void call_fail(CallFrame *c, int64_t i, int32_t pc);
/* The same with an error made before; several calls may share one. */
void call_fail_with(CallFrame *c, int64_t i, CallError *x);
CallError *call_error_place(Arena *a, const Proc *p, int32_t pc, CallError *x); /* where in the body; x */
CallError *call_error_raised(CallFrame *c, int32_t pc, const struct RaiseSite *r, Slice message);
/* After call_fail: drops these calls from the run; registers that are used at or after `at` move along. */
RunResult calls_dropped(CallFrame *c, int32_t at);

/* vm_buffers.c */
Status progrun_buffers(ProgRun *pr, Err *e); /* finds those of the program */
bool callframe_buffers(CallFrame *c);        /* false sets the frame's error */
void callframe_drop_buffers(CallFrame *c);   /* their rows */
StepFn buffer_step_fn(int op);               /* NULL: no opcode on buffers */

/* bulk_device.c */
/* Forgets kernels' texts of the procedure, NULL: all. */
void images_drop_code(ImageSet *s, const Proc *proc);
void images_drop_queue(ImageSet *s);
void images_drop_prefetched(ImageSet *s); /* bulk_args.c */
/* Waits for prefetching, so that memory that it uses may be freed. False: the device failed meanwhile. */
bool images_wait_prefetch(ImageSet *s);

/* vm_rows.c */
StepFn call_step_fn(const Instr *in);
/* Takes back what the set changed, whose changes are the last in the log. */
void undo_set(CallFrame *c, uint32_t set);
/* Takes back what failed calls (goes == GO_FAILED) of the chunk have changed. */
void undo_failed(CallFrame *c);

#endif
