/* kp_call_locks.h - locks that a call holds from its beginning to its end [GPUTx 5.1, TPL].
 *
 * A lock is a counter: how many operations on its item are done. The schedule (txn/order/rank_device.h) gives each use
 * of a lock by a call a rank: the value of the counter from which on it is due. A call runs when all its locks
 * have come to its ranks, and raises each by one at its end; readers that follow each other have one rank. Since ranks
 * grow with timestamps, a call waits for earlier calls only, so there is no deadlock.
 *
 * A call that only the virtual machine can run (or word the error of) poisons its locks instead: LOCK_POISON is set
 * in the counters, and a call that finds it does not run, and poisons its own. The counters are read and raised with
 * relaxed atomics; the caller passes FENCE_TAKE behind locks_state, when it is LOCKS_READY, and FENCE_GIVE before
 * locks_leave.
 *
 * `starts`: call k has the uses [starts[k * step], starts[(k + 1) * step]). `uses`: pairs of u32, the lock and the
 * rank (LockUse of txn/order/schedule.h).
 */
#ifndef KP_CALL_LOCKS_H
#define KP_CALL_LOCKS_H
#include "codegen/prelude/txn/kp_base.h"

#define LOCK_POISON (1u << LOCK_POISON_BIT)
#define LOCKS_READY 0u
#define LOCKS_LEAVE 0xffffffffu /* a call before it needs the virtual machine: it is not to run here */

/* LOCKS_READY, LOCKS_LEAVE, or how many operations are to be done before the first lock that is not due. */
FN u32 locks_state(u64 counters, u64 starts, u64 step, u64 uses, u64 call) {
    const u64 end = G(u32, starts)[(call + 1) * step];
    for (u64 i = G(u32, starts)[call * step]; i < end; i++) {
        const u32 c = GVOL(u32, counters)[G(u32, uses)[2 * i]];
        if ((c & LOCK_POISON) != 0) return LOCKS_LEAVE;
        if (c < G(u32, uses)[2 * i + 1]) return G(u32, uses)[2 * i + 1] - c;
    }
    return LOCKS_READY;
}
/* Releases all locks of the call, or poisons them. */
FN void locks_leave(u64 counters, u64 starts, u64 step, u64 uses, u64 call, bool release) {
    const u64 end = G(u32, starts)[(call + 1) * step];
    for (u64 i = G(u32, starts)[call * step]; i < end; i++) {
        const u64 at = counters + (u64)G(u32, uses)[2 * i] * 4;
        if (release) ga_add_u32(at, 1);
        else ga_or_u32(at, LOCK_POISON);
    }
}

#endif
