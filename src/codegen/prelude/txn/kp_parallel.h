/* kp_parallel.h - loops of a call whose rounds the lanes of its warp run in parallel; codegen/emit_parallel_loops.c
 * says which loops these are.
 *
 * A call that runs alone in its warp suspends at the loop's top (state | PARALLEL). Each lane then runs the function
 * of a round, round_K_S, with the call's frame, which is in shared memory, and its own value of the loop's counter;
 * the frame is not written meanwhile. Behind the loop, parallel_K puts together what the rounds have left, and the
 * call goes on.
 *
 * Lanes stay in step: they reconverge before and behind what a round does under locks (RECONVERGE), all lanes at all
 * of these places, those that leave a round early at its end. A lane that waits for other lanes has no lock, and
 * between entering a key and making the row live none waits for others.
 *
 * If two rounds have one item in common other than to read it or to add to it, the loop runs serially (RUN_SERIALLY):
 * lanes compare the hashes of their items before anything is done.
 *
 * The host and OpenCL run the rounds one by one, the last first: that is for tests.
 */
#ifndef KP_PARALLEL_H
#define KP_PARALLEL_H
#include "codegen/prelude/txn/kp_base.h"

#define PARALLEL 0x8000u         /* in a call's state: at the top of such a loop */
#define RUN_SERIALLY 0x40000000u /* a round's status: its items are another round's as well */

#if defined(KC_CUDA)
/* In run_K, `together` and HERE (the call's frame is in shared memory, run_form_K): the loop may run in parallel. */
#define RUNS_PARALLEL(together) ((together) == 0 && HERE)
#define PARALLEL_MIN 2u /* rounds - 1 */
#define FRAME_IS_HERE(f)                           \
    do {                                           \
        if (HERE) __builtin_assume(__isShared(f)); \
    } while (0)
#define FRAME_IS_SHARED(f) __builtin_assume(__isShared(f))
/* Lane k has the call's own scratch, others have their own. */
#define LEAD_SCRATCH(k) ((k) == 0)
/* All lanes that have a round; one that has left it early comes past the places where it is waited for. */
#define RECONVERGE(n)                                                         \
    do {                                                                      \
        ROLLED for (; reconverged < (n); reconverged++) __syncwarp(together); \
    } while (0)

template <typename T> __device__ __forceinline__ T from_lane(T v, u32 lane) { return __shfl_sync(~0u, v, (i32)lane); }
FN i64 lanes_sum(i64 v) {
    ROLLED for (i32 d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}
FN u64 size_of(i64 v) { return v < 0 ? 0 - (u64)v : (u64)v; }
/* Whether another lane of the mask has the same name. */
FN bool lanes_share(const u32 mask, const u32 name) { return __popc(__match_any_sync(mask, name)) > 1; }
/* Whether another lane's a is this lane's b. */
FN bool lanes_cross(const u32 mask, const u32 a, const u32 b) {
    bool alike = false;
    if (!__any_sync(mask, a != b)) return lanes_share(mask, a);
    ROLLED for (u32 left = mask; left != 0; left &= left - 1) {
        const u32 lane = (u32)__ffs((i32)left) - 1, other = __shfl_sync(mask, a, (i32)lane);
        alike |= other == b && lane != (LID & 31u);
    }
    return alike;
}
#else
#define RUNS_PARALLEL(together) ((void)(together), true)
#define PARALLEL_MIN 1u
#define FRAME_IS_HERE(f) ((void)(f))
#define FRAME_IS_SHARED(f) ((void)(f))
#define LEAD_SCRATCH(k) ((void)(k), true)
#define RECONVERGE(n) ((void)0)
#endif

#endif
