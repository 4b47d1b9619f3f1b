/* kp_codes.h - numbers that the kernels of procedures (kp_*.h) share with host code (codegen/emit_proc.h,
 * txn/store/image.h). */
#ifndef KP_CODES_H
#define KP_CODES_H

/* ---- rows of images ------------------------------------------------------------------------------------ */
/* Image.live */
#define ROW_DEAD 0u
#define ROW_LIVE 1u
#define ROW_PENDING 2u /* its keys are being entered */
/* Image.dirty, bits */
#define DIRTY_UPDATED 1u
#define DIRTY_INSERTED 2u
#define DIRTY_DELETED 4u
/* The slot of an index where the search of a hash looks as its n-th, counted from 0: all 8 of a cache line before the
 * next line, and of these the 4 first that one memory transaction of a GPU brings. Of 64 bits all. */
#define SLOT_AT(h, n, mask) ((((h) + ((n) - ((n)&7))) ^ ((n)&7)) & (mask))
#define TEXT_PIECE 2048 /* bytes for strings that an item takes at a time, on the host */

/* ---- footprints ---------------------------------------------------------------------------------------- */
#define ITEM_LEFT_OUT 16u /* instead of OPK_*: no operation, since none of the bulk conflicts with it */
/* Bits of the first word of PP_FOOT_WORDS. */
#define FOOT_FAILED 1u      /* some call's footprint */
#define FOOT_NULL_AMOUNT 2u /* an addition of NULL is a write, and was left out */

/* ---- failures of calls --------------------------------------------------------------------------------- */
/* A failure's code: PROC_ERROR_KNOWN, the instruction + 1 from bit 8 on, and why in the low byte: a kind of kc_codes.h,
 * or */
#define PF_RAISED_PLAIN 64 /* RAISE without arguments: no later call is blocked */
#define PF_RAISED 65
#define PF_ROWS 66 /* more inserts than were counted */
#define PF_STEPS 67
#define PF_STOPPED 68
#define PF_ROOM 69 /* gave up */
#define PF_NULL 70
#define PF_KEY 71
/* the error is known on the device: the virtual machine need not run the call to word it */
#define PROC_ERROR_KNOWN 0x80000000u
/* Taken keys (PP_KEYS): words of a record, and cells of the key in it at most. */
#define KEY_WORDS 8
#define KEY_COLS_MAX 6

/* ---- the log of changes -------------------------------------------------------------------------------- */
#define UNDO_ENTRY 32 /* bytes */
#define LOG_CALLS 2   /* statement locks: a chunk of the log has room for so many calls */

/* ---- the stop flag ------------------------------------------------------------------------------------- */
/* Bit 0: the host wants the kernel to stop; the others are what the kernel found under statement locks. In the upper
 * half, of the first call that failed: its code, and STOP_PROC_SHIFT bits up the procedure's number. */
#define STOP_UNDO_BIT 1    /* the bulk has to be undone, since */
#define STOP_ROOM_BIT 2    /* there is no more room in the log */
#define STOP_OVER_BIT 3    /* a call asked for an item more often than in its footprint */
#define STOP_SPILT_BIT 4   /* a call failed after it had released locks of what it changed */
#define STOP_UNKNOWN_BIT 5 /* a call failed, and only the virtual machine can say why */
/* a call that dequeues did something else with its queue, or with what it has to itself, than was expected; or it
 * failed */
#define STOP_QUEUE_BIT 6
#define STOP_PROC_SHIFT 24
#define STOP_PROCS 128 /* procedures that have a number there */

/* ---- how calls are run --------------------------------------------------------------------------------- */
#define LOCK_POISON_BIT 31    /* of a lock's counter: a call before it needs the virtual machine */
#define PROC_PART_CALLS 16384 /* calls of a partition in one launch */
#define PROC_CARRIED 64       /* calls that may wait while an item takes others, on the host */
/* PP_TOGETHER, with the calls of a warp: the warp runs loops of a call that it has to itself in parallel */
#define PROC_PARALLEL_LOOPS 0x10000
#define PROC_BEGIN_TOGETHER                                                                  \
    0x20000 /* the first one of PP_TOGETHER: the warps of a group begin their calls together \
             */
/* parallel loops: words that a round leaves (kp_parallel_loop.h) */
#define W_SPILLED 0
#define W_STEPS 1
#define W_VARS 2
#define OPS_CHUNK 8u /* footprints without shared memory: places that a call takes at a time */

#endif
