/* kp_base.h - kernels of procedures (codegen/emit_proc.h): what all of the files kp_*.h and all generated functions
 * begin with.
 *
 * A call of a procedure is run by one work-item (a lane of a warp on CUDA). A function that reads parameters of the
 * kernel has KP_ARG, named kp, as its first parameter: P(i) refers to it. Failures are jumps: FAIL sets `status` and
 * goes to the label that the macro FAIL_TO names at that place.
 *
 * Waiting. An item waits only for what is done by items that go on whatever others do (numbered rule 1 of
 * codegen/README.md), and looks at the stop flag meanwhile. Locks are counters that only grow: an item waits until a
 * counter has come to its number. What was changed under a lock is published by FENCE_GIVE before the counter is
 * raised, and is seen by a call that reads the counter and passes FENCE_TAKE then (release and acquire); the counters
 * themselves are relaxed.
 */
#ifndef KP_BASE_H
#define KP_BASE_H
#include "codegen/prelude/kc_gen.h"
#include "codegen/prelude/txn/kr_codes.h"
#include "codegen/prelude/txn/kp_codes.h"

#undef RAISE
#define FAIL(code)            \
    do {                      \
        status = (u32)(code); \
        goto FAIL_TO;         \
    } while (0)
/* Data errors that a function of the prelude reports. Where strings of the host can be seen, the virtual machine
 * words them. */
#if !defined(ERROR_KNOWN_HERE)
#define ERROR_KNOWN_HERE PROC_ERROR_KNOWN
#endif
#define RAISE(code) FAIL(((code)&255) <= KE_NUMERIC ? (u32)(code) | ERROR_KNOWN_HERE : (u32)(code))

/* The address of the stop flag: 0, or bits of kp_codes.h. */
#define STOP_FLAG (P(ERR_PARAM) + 8)

#if defined(KC_CUDA)
#define KP_ARG const KernelParams &kp
#define WARP_ITEMS 32u
#define WARP_RECONVERGES() __syncwarp()

/* The least n of the lanes of the mask, all of which call it. */
FN u32 least_of(u32 mask, u32 n) {
#if __CUDA_ARCH__ >= 800
    return __reduce_min_sync(mask, n);
#else
    u32 least = n;
    for (u32 left = mask; left != 0; left &= left - 1) {
        const u32 other = __shfl_sync(mask, n, __ffs((i32)left) - 1);
        least = other < least ? other : least;
    }
    return least;
#endif
}
/* Sleeps while n others have to be done before: until the last but one of them may be. A warp goes by the lane that
 * is the nearest to its turn. */
FN void wait_for(u32 n) {
    n = least_of(__activemask(), n);
    __nanosleep(n <= 1 ? 32u : n < 32 ? n * 500u : 16000u);
}
/* In a loop that waits, which has gone round `spins` times: n others have to be done before. */
#define RELAX(spins, n) wait_for(n)

#elif defined(KC_OPENCL)
#define KP_ARG __global const ulong *restrict kp
#define WARP_ITEMS 32u
#define WARP_RECONVERGES() ((void)0)
#define RELAX(spins, n) ((void)(spins))

#else
#define KP_ARG const u64 *restrict kp
#if !defined(HOST_SINGLE)
#undef FENCE
#define FENCE() __atomic_thread_fence(__ATOMIC_ACQ_REL)
#endif
#define WARP_ITEMS 1u
#define WARP_RECONVERGES() ((void)0)
int sched_yield(void);
#if defined(__x86_64__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() ((void)0)
#endif
#define RELAX(spins, n)                    \
    do {                                   \
        if ((spins) > 100u) sched_yield(); \
        else PAUSE();                      \
    } while (0)
#endif

#endif
