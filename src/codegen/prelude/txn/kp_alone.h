/* kp_alone.h - stand-ins for what the emitter (codegen/emit_run.c, emit_index.c) defines in front of the files
 * kp_*.h, so that each of them compiles alone, in editors and in tools/lint.py. No part of any kernel: includes are
 * left out where files become text. The module is of one procedure and one table.
 */
#ifndef KP_ALONE_H
#define KP_ALONE_H
#include "codegen/prelude/kc_gen.h"
#include "codegen/prelude/kc_order.h"
#include "codegen/prelude/txn/kp_base.h"
#include "codegen/prelude/txn/kp_call_locks.h"
#include "codegen/prelude/txn/kp_dequeue.h"
#include "codegen/prelude/txn/kp_hot.h"
#include "codegen/prelude/txn/kp_ops.h"
#include "codegen/prelude/txn/kp_parallel.h"
#include "codegen/prelude/txn/kp_params.h"
#include "codegen/prelude/txn/kp_rows.h"
#include "codegen/prelude/txn/kp_slots.h"
#include "codegen/prelude/txn/kp_statement_locks.h"
#include "codegen/prelude/txn/kp_calls.h"

/* ---- the module ---------------------------------------------------------------------------------------- */
#define TILE 64       /* calls that an item takes at a time */
#define FOOT_TILE 256 /* the same for footprints */
#define UNDO_MAX 16   /* entries of the log that a call may need */
#if !defined(STATEMENT_LOCKS)
#define STATEMENT_LOCKS 1
#endif
#define RUN_CARRIES (!STATEMENT_LOCKS)
#define PREFETCH_KEYS 2
#define PREFETCH_TEXTS 1
#define PREFETCH_FOOT_KEYS 2
#define EACH_PROC(M) M(default, 0)
#define EACH_PARALLEL(M) M(case 0, 0)
#define EACH_SUM(M) M(P(70), 0)
#define HOLDS_ALL(kind) ((kind) == 0)
#define DEQUEUES(kind) ((kind) == 0)

/* ---- the functions of procedure 0 ---------------------------------------------------------------------- */
typedef struct {
    u32 n_undo, spilled, failed, serial;
    u64 steps, rounds;
    i64 i0, y0, y1, y2, y3, y4, y5;
    bool z3, z4, z5;
} frame_0;
FN void undo_0(KP_ARG, const u64 undo, u32 n_undo) {
    (void)kp;
    (void)undo;
    (void)n_undo;
}
FN u32 foot_0(KP_ARG, const u64 call, const u64 pos, const u64 slot, PRIV ops_sink *ops) {
    put_op(ops, call, (u32)pos, 0);
    (void)kp;
    (void)slot;
    return 0;
}
FN void foot_prefetch_0(KP_ARG, const u64 pos, u64 *a) { a[0] = P(0) + pos; }
FN void foot_fetch_0(KP_ARG, const u64 *a) { FETCH(P(0) + a[0]); }
FN void prefetch_0(KP_ARG, const u64 pos, u64 *a) { a[0] = P(0) + pos; }
FN void fetch_0(KP_ARG, const u64 *a) { FETCH(P(0) + a[0]); }
FN void texts_0(KP_ARG, const u64 pos, const u64 *a) { FETCH(P(0) + pos + a[0]); }
#if STATEMENT_LOCKS
FN u64 run_0(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, PRIV frame_0 *f, const u32 state,
             const u32 together, PRIV u64 *wait) {
    *wait = lock_acquire(kp, call, pos, undo, slot, together, false, wait, 0, false);
    f->n_undo = state;
    return 0;
}
#else
FN u64 run_0(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot HOT_ARG) {
#if HOT_ADDS
    hot_add(hot, P(0) + call * 8, 8, pos);
#endif
    return P(0) + call + pos + undo + slot;
}
#endif
FN u32 parallel_0(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, PRIV frame_0 *f,
                  const u32 state) {
    f->n_undo = (u32)(P(0) + call + pos + undo + slot);
    return state;
}

/* ---- one parallel loop of it, kp_parallel_loop.h ---- */
/* v0 .. v1 by v2; v3 sums up, v4 is the last round's, v5 that of the last one that sets it. */
#define LOOP_FRAME frame_0
#define N_SITES 1
#define WORDS 8
#define SITES 3
#define LOOP(f) f##_0_1
#define LOOP_STATE 1
#define LOOP_CUR y0
#define LOOP_HI y1
#define LOOP_BY y2
#define LOOP_LOGS 2
#define LOOP_LOCKS 2
#define LOOP_ALIKE(i, k) alike |= names[i][0] == names[k][1];
#define LOOP_STEP_LIMIT P(71)
#define LOOP_NO_ROOM 1
#define LOOP_STEPS 2
#define LOOP_FAILS(ended) (ended)
#define EACH_SUM_VAR(M) M(3, 2, 0x7fff, 1)
#define EACH_VAR(SUM, LAST, SET) SUM(3, i16) LAST(4, i64, 4) SET(5, i64, 6)
#define EACH_INSERT(M) M(0, 1)
FN u32 round_0_1(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, PRIV frame_0 *f, const u32 k,
                 const u32 together, PRIV u64 *left) {
    left[W_STEPS] = P(0) + call + pos + undo + slot + k + together;
    return f->n_undo;
}

/* ---- one index, kp_find.h and kp_enter.h: a key of one integer ----------------------------------------- */
#define INDEX(f) f##_0_0
#define INDEX_UNIQUE 0
#define INDEX_ORDER 0
#define INDEX_BY_WARP 1
#define KEY_PARAMS , u64 c0, i64 k0
#define KEY_ARGS , c0, k0
#define INDEX_HASH u64 h = hash_u64((u64)k0);
#define INDEX_DENSE 1
#define KEY_FOUND (GFRESH(i64, c0 + (u64)row * 8)[0] == k0 && GFRESH(u8, live)[row] == ROW_LIVE)
#define KEY_EQUAL (GFRESH(i64, c0 + (u64)row * 8)[0] == k0)
#define KEY_MATCH &__match_any_sync(here, k0)

#endif
