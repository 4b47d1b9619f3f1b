/* kp_alone.h - stand-ins for what the emitter (codegen/emit_run.c) defines in front of the files here, so that each
 * of them compiles alone, in editors and in tools/lint.sh. No part of any kernel: includes are left out where files
 * become text.
 *
 * PP_NAME is parameter PP_NAME of codegen/emit_proc.h, as a kernel or a function that has KP_ARG reads it.
 */
#ifndef KP_ALONE_H
#define KP_ALONE_H
#include "codegen/prelude/kc_gen.h"
#include "codegen/prelude/kc_order.h"
#include "codegen/prelude/txn/kp_base.h"

/* ---- the module ---------------------------------------------------------------------------------------- */
#define TILE 64     /* calls that an item takes at a time */
#define UNDO_MAX 16 /* entries of the log that a call may need */

#include "codegen/prelude/txn/kp_slots.h"
/* ---- one index, kp_find.h and kp_enter.h: a key of one integer ----------------------------------------- */
#define INDEX(f) f##_0_0
#define INDEX_UNIQUE 0
#define INDEX_ORDER 0
#define INDEX_BY_WARP 1
#define KEY_PARAMS , u64 c0, i64 k0
#define KEY_ARGS , c0, k0
#define INDEX_HASH u64 h = hash_u64((u64)k0);
#define KEY_FOUND (GFRESH(i64, c0 + (u64)row * 8)[0] == k0 && GFRESH(u8, live)[row] == ROW_LIVE)
#define KEY_EQUAL (GFRESH(i64, c0 + (u64)row * 8)[0] == k0)
#define KEY_MATCH &__match_any_sync(here, k0)

/* What functions have that are written for a procedure or for a table, and the files here do not have. */
#define FAIL_TO failed

#endif
