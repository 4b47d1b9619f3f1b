/* emit_proc.h - from procedures' bodies to kernel C: the calls of a bulk, one item each.
 *
 * A module has one kernel, "bulk_main", for the calls of several procedures. A body is a function: variables of the
 * procedure are C variables; a straight run of instructions is a pair of braces with its registers; statements become
 * if, else, for and forward gotos. Rows of images are read and changed where they lie (txn/store/image.h): an image's
 * addresses are parameters, so that the text stays the same from bulk to bulk. Procedures share the parameters of
 * tables.
 *
 *   for (;;) {
 *       the next TILE calls of order[], by a counter while (some of them have not run; on the host it takes the next
 *       ones when all that are left wait, and they are not many)
 *           for (each of these)
 *               if (its locks have come to its ranks) {
 *                   status = run_K(call): { run } if (cond) { { run } } ...
 *                   done:   OUT values to the result's columns
 *                   failed: the call's log of changes backwards; the call is appended to the list of failures
 *                   one more for each of its locks
 *               }
 *   }
 *
 * Locks [GPUTx §5.1, TPL]. A call waits for calls of smaller timestamp only, and these have been taken before, by items
 * that go on with them whatever others do. Without locks a launch is for calls that do not conflict (K-SET), or for
 * partitions.
 *
 * Partitions [GPUTx §5.2, PART]. Items take partitions instead of calls, and run a partition's calls one after the
 * other as the order has them; calls of different partitions do not conflict. Where each partition stands is in memory
 * (PP_PART_AT): a launch begins there, and goes PROC_PART_CALLS calls further at most, so that it comes to an end soon.
 * One partition is SERIAL.
 *
 * Failures. A kernel does not word errors. A call that fails takes its changes back and is put on a list. The executor
 * has the virtual machine run it again before any call that conflicts with it: it meets the same state, so it fails in
 * the same way, and says how. For the same reason a call may give up for want of room (a string, the log): the machine
 * then does it. A RAISE with a constant message needs no machine, nor do plain data errors on devices with memory of
 * their own (PROC_ERROR_KNOWN in the code): no call has to wait for these. Under locks, a call that needs the machine
 * poisons its counters, and a call that finds a counter poisoned does not run and poisons its own: `done` has the calls
 * that ran. In partitions it ends its partition for this launch: that is where the partition stands then. Without
 * locks, launches go through a queue several at a time. A launch that has failures which have to be seen to first
 * writes its number to the word `blocked`; later launches find it there and do nothing, so that the executor can see to
 * the failures and go on from there.
 *
 * Statement locks. A call that takes long need not hold all its locks as long: with bodies that have statement locks
 * (Proc.locking_body), a call waits for the lock of an item where it comes to the item, and gives it up after the last
 * statement that touches it [piecewise execution, as in Callas and Epic]. It still waits for earlier calls only. What
 * others have seen cannot be taken back by itself: a call that fails after it gave up what it changed stops the launch,
 * and so does whatever the machine would have to see to; then "bulk_undo" takes back all changes of all calls, which
 * are all logged, the last call's first, and the bulk is run again without statement locks. Inserts whose keys are not
 * known beforehand (ItemSite.insert) do not wait for each other: that two have one key is such a failure. A procedure
 * that changes nothing and would wait in loops has all its locks from its beginning to its end instead.
 *
 * Queues (program/proc.h). Where such a procedure's calls are the first ones of a bulk that touch the queue's rows, the
 * n-th use of a queue's item takes its n-th row without waiting for the others (PP_DEQUEUES): the first one goes
 * through the group and leaves row numbers at places that the locks have for it (PP_QUEUE_ROWS). Operations on what
 * calls have to themselves, or only add to, are of a kind that commutes with nothing but itself (PP_DEQUEUE_KIND).
 * Items of the queue have odd names, all others even ones, so that a lock of the queue's counts nothing else. What the
 * calls do is checked, and where it is not as expected the launch stops and the bulk is undone.
 *
 * Bounds of columns that procedures add to (txn/run/calls_int.h, tracked) are kept per call and merged at its end.
 */
#ifndef STELE_CODEGEN_EMIT_PROC_H
#define STELE_CODEGEN_EMIT_PROC_H

#include "codegen/emit.h"
#include "codegen/prelude/txn/kp_codes.h"
#include "program/image_layout.h"
#include "program/proc.h"

/* A procedure's table as this text is made for: which of the image's indexes are meant, and what inserts have to enter.
 */
typedef struct ProcTableForm {
    const Image *image;
    const int32_t *index; /* the program's index number -> the image's */
} ProcTableForm;
typedef struct ProcForm {
    const Proc *proc;
    const ProcTableForm *tables;
    const int32_t *table_no; /* the procedure's tables among those of the module, which are numbered from 0 on: one
                                number for each image */
} ProcForm;

/* Beside KP_ERR, KP_CONST, KP_SET, KP_SET_N, KP_LIKE of emit.h; address: of the device's memory. Three classes, each in
 * one piece here: the bulk's, the tables' (id = table of the module), the procedures' (EmitParam.proc - 1 = procedure
 * of the module; KP_* are of this class). */
typedef enum ProcParamKind {
    PP_CALLS = 1000, /* value: calls of this launch, or partitions */
    PP_ORDER,        /* address: u32 numbers of the calls in the bulk, 0: 0, 1, .. */
    PP_POS,          /* address: u32 place of a call in its group, 0: the same as its number */
    PP_TYPES,        /* address: u16 group of a call, 0: group 0 */
    PP_KINDS,        /* address: u16 procedure of the module, by group */
    PP_LAUNCH,       /* value: number of the launch since `blocked` was zeroed, from 1 on */
    PP_BLOCKED,      /* address: u64, 0 or the number of the first launch with failures */
    PP_TICKET, /* address: u64[2], 0 at first: tiles that were taken; of the first calls with PP_LOCKED, and of the
                  others, or partitions */
    PP_TABLE,  /* address: u64 values of all parameters, when they are too many (ProcModule.param_table) */
    PP_FAILED, /* address: u64 counter, then u64 (code << 32 | call) for each failure */
    PP_KEYS, /* address: u64 counter, u64 room, then KEY_WORDS words for each taken key: index << 32 | call, code, cells
                of the key's columns. Without room the machine words it */
    PP_COUNTERS, /* address: u32 counters of locks, 0: calls have none */
    PP_LOCK_START,
    PP_LOCK_STEP,
    PP_LOCKS,           /* address: u32, of a call at call * step; value; address: LockUse[] (txn/order/schedule.h) */
    PP_DONE,            /* address: u8 by call, 1: it ran (with locks) */
    PP_STATEMENT_LOCKS, /* value: 1: locks are held by statement, see Statement locks */
    PP_USED, /* statement locks. Address: RankLocks.named_locks (txn/order/rank_device.h), instead of PP_LOCKS; how many
                operations are left is the kernel's from there on */
    PP_QUEUED, /* statement locks. Value: 1: some procedure of the bulk has PP_DEQUEUES */
    PP_DEQUEUE_COUNTS,
    PP_QUEUE_ROWS, /* ... Addresses: RankLocks.dequeues, .rows (txn/order/rank_device.h) */
    PP_LOG, /* statement locks. Address: u64[2]: where the next changes are logged, and the end of the room for them */
    PP_LOG_AT,
    PP_LOG_N, /* statement locks. Addresses: u64, u32 by call: where its changes are, and how many */
    PP_OPS,  /* footprints. Shared memory, address: u64[2] for each group: where its TxnOp's go, and how many fit. Else:
                address of u64 items (txn/order/rank_device.h) */
    PP_USES, /* shared memory, address: three u64 for each FOOT_TILE calls: group, first operation, their number. Else:
                address of u32 uses */
    PP_OPS_MAX,     /* value: places in items and uses */
    PP_FOOT_WORDS,  /* address: u64[3]: FOOT_* of kp_codes.h; operations of the group that has the most, or places that
                       were taken; tiles that were taken */
    PP_FOOT_FAILED, /* address: u8 by call, 1: its footprint failed */
    PP_STRETCHES,   /* value: how many stretches of calls there are, under statement locks */
    PP_TOGETHER,    /* address: u32[3] for each, and the end: number of its first batch, its first place in the order,
                       calls to a batch, which the lanes of a warp take together */
    PP_LANES,       /* value: one item of so many neighbours takes calls, the others none */
    PP_LOCKED, /* address: u32, so many first calls of the order may wait, and no others: one item of a warp takes them,
                  before all take the others. 0: not known */
    PP_PART_AT,    /* address: u32 by partition: where in the order its next call is; 0: calls are not in partitions */
    PP_PART_START, /* address: u64 where in the order partition k ends, at k + 1 */
    PP_PART_EACH,  /* value: partitions that an item takes at a time */
    PP_STEP_LIMIT, /* value: of loop iterations, 0 none */
    PP_UNDO_AREA,  /* address: UNDO_ENTRY * ProcModule.undo_max bytes for each item of the launch */
    PP_SCRATCH_AREA, /* address: ProcModule.scratch bytes for each item of the launch */
    PP_FETCHES,      /* host. Value: 1: tables are larger than caches, so that it pays to prefetch */
    PP_PIECES,       /* host. Address: PROC_PIECES_AT(tables of the module) bytes for each item, zero at first: of each
                        table's room for strings, the piece that the item took last */
    PP_OUT_HEAP,     /* address of u64[3]: where the next OUT string goes, the end, and from the host's address to the
                        device's */
    PP_CELLS,
    PP_VALID, /* of tables from here on; col */
    PP_ROWS,  /* col = piece of a row: address of the first row's */
    PP_LIVE,
    PP_DIRTY,
    PP_SLOTS,
    PP_MASK,
    PP_NEXT,
    PP_FIRST_KEY,
    PP_DENSE, /* col = index of the image */
    PP_SHARED,
    PP_LO,
    PP_HI,       /* col: ROW_ADD is atomic; the column's range (values; 128 bits: col + 4096 is the high half) */
    PP_BOUND,    /* col: address of u64, the greatest |value| put there; 0: not wanted */
    PP_HEAP,     /* address of u64[2]: where the next string goes, and the end of the room for strings */
    PP_TEXTS,    /* value: from the host's address of a string of the image to the device's */
    PP_IS_QUEUE, /* value: 1: the bulk's queue, 0 */
    PP_UNDO,     /* of procedures from here on. value: changes are logged */
    PP_ARG_CELLS,
    PP_ARG_VALID,
    PP_ARG_STEP, /* id = parameter; validity 0: no NULLs; step 0: a constant, 1 */
    PP_OUT_CELLS,
    PP_OUT_VALID, /* id = OUT value */
    PP_BASE,
    PP_STRIDE,
    PP_STARTS,
    PP_COUNTS,    /* id = table of the procedure: row numbers of inserts, as in txn/run/calls_int.h (TableUse) */
    PP_LOCK_BASE, /* id = lock. value: as PP_ITEM_BASE */
    PP_DEQUEUES,  /* value: 1: calls dequeue without waiting for each other, see Queues */
    PP_ITEM_BASE, /* of footprints from here on, whose EmitParam.proc is n_procs more; id = instruction. value: hash of
                     the item's table and group */
    PP_ITEM_KIND, /* value: OPK_READ; OPK_ADD, or OPK_WRITE where adds do not commute; ITEM_LEFT_OUT */
    PP_ITEM_SUM,  /* address: u64[2]: sum of |amount|, and 1 when it is too large for that; 0: not wanted */
    PP_DEQUEUE_KIND /* value: the kind of an operation on a table that a dequeuing procedure has to itself, or
                     * DEQUEUE_KIND_NONE
                     */
} ProcParamKind;
#define PROC_PIECES_AT(tables) (((tables) + 4) / 4 * 64) /* no two items share a cache line */
enum { SCRATCH_HOST = 64 << 10, SCRATCH_DEVICE = 4 << 10 /* bytes for the strings that a call makes */ };
enum {
    PROC_HIGH = 4096,
    PROC_TILE = 64,
    PROC_TILE_EACH = 16,     /* calls that a group takes at a time, on the host */
    PROC_UNIT_THREADS = 1024 /* CUDA, modules with statement locks: of a group, and of a multiprocessor */
};

typedef struct ProcSource {
    const char *reason; /* why there is no kernel: "line 4: call upper(text)"; NULL: there is */
    int32_t undo_max;   /* changes that are logged, per item */
    int32_t scratch;    /* bytes for strings that are made, per item; 0: none are */
    bool text_outs;     /* OUT strings point into images, parameters, constants and the heap of OUT strings */
    bool out_heap;      /* ... into that */
    bool makes;         /* it makes values of variable size, or looks into them (kc_make.h) */
    bool divergent;
    bool waits_inside;   /* it waits at a lock without leaving its function */
    bool waits_in_loops; /* locks are in loops */
    bool holds_all;      /* under statement locks it waits for all its locks before it begins, and has none inside */
    int32_t dequeues;    /* queues: 1 + the number of PP_DEQUEUES; 0 it has none */
    uint32_t *text_puts; /* per table: instructions that put strings there */
    int64_t *text_bytes; /* ... and how many bytes a call may put there, as far as is known */
} ProcSource;
typedef struct ProcModule {
    const char *reason; /* why there is none: "transfer(integer): line 4: call upper(text)" */
    char *source;       /* arena */
    int32_t n_params;
    EmitParam *params;
    bool param_table;  /* more than a kernel takes: it takes the first PROC_DIRECT, and PP_TABLE tells where all of them
                          are */
    bool constants;    /* ... but for the __constant__ array "kc_table", which has all of them */
    bool by_statement; /* bodies have statement locks, and there is a kernel "bulk_undo" */
    int32_t undo_max, scratch; /* the most of any procedure */
    bool makes;
    bool divergent;    /* some procedure looks for rows in loops: calls take long, and not equally long */
    bool waits_inside; /* a procedure does: while it waits, no other lane of its warp may have a call that it waits for
                        */
    int32_t n_procs, n_tables;
    ProcSource *procs;
    const char *foot_reason; /* why there is no kernel "bulk_foot" */
} ProcModule;
enum { PROC_CONSTANTS_MAX = 8000 /* parameters that fit into constant memory */ };
enum {
    PROC_DIRECT = 6,
    PROC_LAUNCH_AT = 1 /* parameters: PP_CALLS, PP_ORDER, PP_LAUNCH, PP_TICKET from here on, and PP_TABLE */
};

enum { DEQUEUE_KIND_NONE = 255 /* PP_DEQUEUE_KIND: the kind that it would have anyhow */ };
enum { FOOT_TILE = 256 /* calls that a group's footprints are made of at a time, with group_size 1 */ };
/* Why calls fail, the bits of the stop flag and what else kernels have to know: codegen/prelude/txn/kp_codes.h. */

/* The text depends on the tables' definitions, the images' indexes and the target alone. `strings`:
 * the device can look at strings where the host has them; else cells of images have the host's addresses and all others
 * the device's. With group_size 1 an item takes PROC_TILE calls at a time. 53200. */
Status emit_procs(int32_t n, const ProcForm *forms, const EmitTarget *target, bool strings, bool by_statement, Arena *a,
                  ProcModule *out, Err *e);
/* Footprints. The kernel "bulk_foot" issues the operations of all calls' footprints: with shared memory each group into
 * memory of its own, in the order of calls within FOOT_TILE calls, most of a call's operations on one item as one; else
 * in any order, with places left empty (RANK_NONE). It is launched with PP_ORDER 0. */

#endif
