/* emit_proc.h - from a procedure's body to kernel C: the calls of a k-set, one item each.
 *
 * A kernel runs calls of one procedure that do not conflict. Variables of the procedure are C variables; a straight run of instructions is a pair of braces
 * with its registers; statements become if, else, for and forward gotos. Rows of images are read and changed where they lie (txn/image.h): an
 * image's addresses are parameters, so that the text stays the same from bulk to bulk.
 *
 *   for (tile = GID; tile * TILE < n; tile += NGROUPS)
 *       for (i = tile * TILE + LID; i < end; i += LSIZE) {
 *           call = order[i]; variables
 *           { run } if (cond) { { run } } ...
 *           done:   OUT values to the result's columns
 *           failed: the call's log of changes backwards; the call is appended to the list of failures
 *       }
 *
 * Failures. A kernel does not word errors. A call that fails takes its changes back and is put on a list, and the executor has the virtual machine run
 * it again before the next set begins: it meets the same state, so it fails in the same way, and says how. For the same reason a call may give up for want
 * of room (a string, the log): the machine then does it. A RAISE with a constant message needs no machine (PF_SAID).
 *
 * Launches go through a queue several at a time. A launch that has failures which have to be seen to first writes its number to the word `blocked`; later launches find it there and do
 * nothing, so that the executor can see to the failures and go on from there.
 *
 * Bounds of columns that procedures add to (txn/calls_int.h, tracked) are kept per item and merged at the end.
 */
#ifndef STELE_CODEGEN_EMIT_PROC_H
#define STELE_CODEGEN_EMIT_PROC_H

#include "codegen/emit.h"
#include "txn/proc.h"

/* A procedure's table as this text is made for: which of the image's indexes are meant, and what inserts have to enter. */
typedef struct ProcTableForm {
    const Image *image;
    const int32_t *index; /* the program's index number -> the image's */
} ProcTableForm;

typedef enum ProcParamKind { /* beside KP_ERR, KP_CONST, KP_SET, KP_SET_N, KP_LIKE of emit.h; address: of the device's memory */
    PP_CALLS = 1000,  /* value: calls of this launch */
    PP_ORDER,         /* address: u32 numbers of the calls in the bulk */
    PP_POS,           /* address: u32 place of a call in its part, 0: the same as its number */
    PP_LAUNCH,        /* value: number of the launch since `blocked` was zeroed, from 1 on */
    PP_BLOCKED,       /* address: u64, 0 or the number of the first launch with failures */
    PP_FAILED,        /* address: u64 counter, then u64 (code << 32 | call) for each failure */
    PP_STEP_LIMIT,    /* value: of loop iterations, 0 none */
    PP_UNDO,          /* value: changes are logged */
    PP_UNDO_AREA,     /* address: UNDO_ENTRY * ProcSource.undo_max bytes for each item of the launch */
    PP_ARG_CELLS, PP_ARG_VALID, PP_ARG_STEP, /* id = parameter; validity 0: no NULLs; step 0: a constant, 1 */
    PP_OUT_CELLS, PP_OUT_VALID,              /* id = OUT value */
    PP_CELLS, PP_VALID,                      /* id = table, col: of its image */
    PP_LIVE, PP_DIRTY, PP_ROWIDS,            /* id = table */
    PP_SLOTS, PP_MASK, PP_NEXT,              /* id = table, col = index of the image */
    PP_BASE, PP_STRIDE, PP_STARTS, PP_COUNTS, /* id = table: row numbers of inserts, as in txn/calls_int.h (TableUse) */
    PP_SHARED, PP_LO, PP_HI,                 /* id = table, col: ROW_ADD is atomic; the column's range (values; 128 bits: col + 4096 is the high half) */
    PP_BOUND,         /* id = table, col: address of u64, the greatest |value| put there; 0: not wanted */
    PP_HEAP           /* id = table: address of u64[2]: where the next string goes, and the end of the room for strings */
} ProcParamKind;
enum { PROC_HIGH = 4096, UNDO_ENTRY = 32, PROC_TILE = 64 /* calls that a group takes at a time, on the host */ };

typedef struct ProcSource {
    const char *reason;   /* why there is no kernel: "line 4: call upper(text)"; NULL: there is */
    char *source;         /* arena */
    int32_t n_params;
    EmitParam *params;
    int32_t undo_max;     /* changes that are logged, per item */
    bool text_outs;       /* OUT strings point into images, parameters and constants */
    uint32_t *text_puts;  /* per table: instructions that put strings there */
} ProcSource;

/* Why a call failed: the low byte of its code, above it the instruction + 1. Others are the kinds of kc_codes.h. */
enum ProcFailure { PF_SAID = 64 /* RAISE without arguments: nobody is blocked */, PF_RAISED, PF_ROWS /* more inserts than were told */, PF_STEPS, PF_STOPPED, PF_ROOM /* gave up */, PF_NULL, PF_KEY };

/* The kernel "proc_main" of a body. The text depends on the tables' definitions, the images' indexes and the target (kind, group_size) alone. `strings`: the device can
 * look at strings where the host has them. 53200. */
Status emit_proc(const Proc *proc, const ProcTableForm *tables, const EmitTarget *target, bool strings, Arena *a, ProcSource *out, Err *e);
/* Values of constants, sets and patterns: false for all others. Addresses are the host's; `a` holds what is made for it. *out 0: no memory. */
bool emit_proc_value(const Proc *proc, const EmitParam *p, Arena *a, uint64_t *out);

#endif
