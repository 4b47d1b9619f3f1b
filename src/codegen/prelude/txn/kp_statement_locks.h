/* kp_statement_locks.h - locks that a call holds by statement: it waits for the lock of an item at the statement that
 * comes to the item, and releases it behind the last statement that touches it [piecewise execution, as in Callas and
 * Epic]. codegen/emit_proc.h, Statement locks, says which statements these are and what becomes of failures.
 *
 * A lock is a counter, as in kp_call_locks.h, and a call's uses of locks have ranks: a lock is due for a call
 * once the counter has come to the use's `from`. Each use is four words at PP_USED,
 *     name    of the item (item_name)
 *     state   how many operations of the call on the item are to come (USE_OPS), and the bits USE_*; USE_RELEASED
 *     lock    the number of its counter
 *     from    its rank A call's uses are neighbours, [use_at, use_end), and belong to the call: only the item that
 *     runs it changes their states, or, in a parallel loop (kp_parallel.h), the lanes of its warp, by atomics
 *     (`shared`). Counters are shared by all calls: each use raises its lock's counter by one exactly once, when it is
 *     released.
 *
 * Holding. A use is held from the moment it was found due (lock_acquire; no other call changes the item then)
 * to its release (lock_finish_op says that the last operation is done; the caller passes FENCE_GIVE and raises the
 * counter). Release is final: the bits of what was changed before are seen by others and cannot be taken back, so a
 * call that fails after it released what it changed (`spilled`) has the whole bulk undone, kp_undo.h. Ranks are in
 * the order of timestamps: a call waits for earlier calls only.
 *
 * Memory order. The counters are read volatile and raised by relaxed atomics; FENCE_TAKE behind the look that found
 * it due, FENCE_GIVE before the counter is raised.
 *
 * A call may have more uses than an item of a launch has registers: `mask`, 64 bits, tells most items that have no
 * lock (locks_filter), as a Bloom filter does.
 *
 * For functions of procedures (run_K, round_K), with `kp`, for their own call.
 */
#ifndef KP_STATEMENT_LOCKS_H
#define KP_STATEMENT_LOCKS_H
#include "codegen/prelude/txn/kp_rows.h"
#include "codegen/prelude/txn/kp_params.h"

#define USE(i, word) G(u32, PP_USED + (u64)(i)*16)[word]
#define USE_STATE_AT(i) (PP_USED + (u64)(i)*16 + 4)
#define USE_NAME(i) USE(i, 0)
#define USE_STATE(i) USE(i, 1)
#define USE_LOCK(i) USE(i, 2)
#define USE_FROM(i) USE(i, 3)
/* a use's state */
#define USE_HELD 0x80000000u      /* it is due */
#define USE_WROTE 0x40000000u     /* the call changed the item */
#define USE_DEQUEUED 0x20000000u  /* kp_dequeue.h: it took its row, or found that there is none */
#define USE_UNDELETED 0x10000000u /* ... and has yet to delete it */
#define USE_DEQUEUES 0x08000000u  /* ... it came to the queue */
#define USE_OPS 0x07ffffffu
#define USE_RELEASED 0xffffffffu
/* a use's number, or */
#define LOCK_NONE (~U64C(0))        /* the item has no lock */
#define LOCK_STOP (~U64C(0) - 1)    /* the launch stops */
#define LOCK_WAITS (~U64C(0) - 2)   /* it is not due: the call suspends */
#define LOCK_UNKNOWN (~U64C(0) - 3) /* not looked for yet */

/* Masks of the stop flag. */
#define STOP_OVERUSED (1 << STOP_UNDO_BIT | 1 << STOP_OVER_BIT)
#define STOP_QUEUE (1 << STOP_UNDO_BIT | 1 << STOP_QUEUE_BIT)

/* ---- calls that suspend -------------------------------------------------------------------------------- */
/* A call that has to wait may leave its function, with its variables in a frame (frame_K), and go on later at the
 * same place: its status is SUSPENDED | state then. */
#define SUSPENDED 0x60000000u
#define SUSPEND(at)                \
    do {                           \
        status = SUSPENDED | (at); \
        goto FAIL_TO;              \
    } while (0)
/* `together`: the lanes of the warp that have calls; 0: one only, which may as well wait where it is. Whether others
 * are not here: they may catch up with those that suspend. On the host, for tests, a call suspends wherever it may. */
#if defined(KC_CUDA)
#define LANE_ALONE(together) ((together) == 0)
#define LANES_DIVERGED(together) ((together) != 0 && __activemask() != (together))
#else
#define LANE_ALONE(together) ((void)(together), false)
#if defined(KC_OPENCL)
#define LANES_DIVERGED(together) ((void)(together), false)
#else
#define LANES_DIVERGED(together) ((void)(together), true)
#endif
#endif
#define WAITS_IN_LOOP 30000u /* clocks that a call waits in a loop before it suspends */
#if defined(KC_CUDA)
#define CLOCK() ((u64)clock64())
#endif
/* On the host, for tests: others get on meanwhile, so that what was read too early has become old. */
#if defined(KC_HOST)
#define TEST_DELAY(h)                               \
    do {                                            \
        for (u64 k = (h)&1023; k > 0; k--) PAUSE(); \
    } while (0)
#else
#define TEST_DELAY(h) ((void)0)
#endif

/* ---- failures ------------------------------------------------------------------------------------------ */
/* The failure's error is known on the device: the bulk need not be undone for it. */
FN bool failure_known(u32 status) { return (status & PROC_ERROR_KNOWN) != 0 || (status & 255u) == PF_RAISED_PLAIN; }
/* Stops the launch and has the bulk undone, for a call of procedure `proc` that failed; the first one's code is
 * kept. */
FN_BIG void stop_undo(KP_ARG, const u32 status, const u32 spilled, const u32 proc) {
    const u64 why = (u64)1 << ((spilled & 2) != 0 ? STOP_QUEUE_BIT
                               : spilled != 0     ? STOP_SPILT_BIT
                                                  : STOP_UNKNOWN_BIT) |
                    1 << STOP_UNDO_BIT;
    (void)ga_cas_u64(
        STOP_FLAG, 0,
        (u64)((status & ((1u << STOP_PROC_SHIFT) - 1)) | (proc < STOP_PROCS ? proc : STOP_PROCS) << STOP_PROC_SHIFT)
                << 32 |
            why);
    ga_or_u64(STOP_FLAG, why);
}

/* ---- one use ------------------------------------------------------------------------------------------- */
/* Where its counter is, and from which value on it is due. */
FN void lock_counter(KP_ARG, const u64 use, PRIV u64 *at, PRIV u32 *from) {
    *at = PP_COUNTERS + (u64)USE_LOCK(use) * 4;
    *from = USE_FROM(use);
}
FN bool lock_due(KP_ARG, const u64 use) {
    u64 at;
    u32 from;
    lock_counter(kp, use, &at, &from);
    return GVOL(u32, at)[0] >= from;
}
/* Waits for so many clocks at most. */
FN bool lock_due_soon(KP_ARG, const u64 use, const u64 time) {
#if defined(KC_CUDA)
    for (const u64 since = CLOCK(); CLOCK() - since < time;) {
        __nanosleep(100u);
        if (lock_due(kp, use)) return true;
    }
#endif
    (void)time;
    (void)use;
    return false;
}
/* Waits until it is due. False: the launch stops. */
FN_BIG bool lock_wait(KP_ARG, const u64 use) {
    const u32 from = USE_FROM(use);
    const u64 at = PP_COUNTERS + (u64)USE_LOCK(use) * 4;
    u32 spins = 0;
    (void)spins;
    for (;;) {
        const u32 c = GVOL(u32, at)[0];
        if (c >= from) break;
        if (KC_PEEK(STOP_FLAG) != 0) return false;
        RELAX(++spins, from - c);
    }
    FENCE_TAKE();
    return true;
}

/* ---- a call's uses, by name of the item ---------------------------------------------------------------- */
/* The bits of all names: most items have no lock. */
FN_BIG u64 locks_filter(KP_ARG, const u64 use_at, const u64 use_end) {
    u64 mask = 0;
    ROLLED for (u64 i = use_at; i < use_end; i++) mask |= U64C(1) << (USE_NAME(i) >> 1 & 63);
    return mask;
}
/* The use of that name, use_end: none. On CUDA several at a time, since each is a load from memory. */
FN u64 lock_find(KP_ARG, const u64 use_at, const u64 use_end, const u32 name) {
#if defined(KC_CUDA)
    u64 found = use_end;
    for (u64 i = use_at; i < use_end; i += 8) {
        u32 hits = 0;
        UNROLL for (u32 k = 0; k < 8; k++) hits |= (u32)(USE_NAME(i + k < use_end ? i + k : use_end - 1) == name) << k;
        if (hits != 0) {
            found = i + (u32)__ffs((i32)hits) - 1;
            if (found >= use_end) found = use_end - 1;
            i = use_end;
        }
    }
    return found;
#else
    for (u64 i = use_at; i < use_end; i++)
        if (USE_NAME(i) == name) return i;
    return use_end;
#endif
}
/* An item's name, of its hash, as ranks have it (kr_rank.h). Its lowest bit tells items of queues. */
FN u32 item_name(const u64 h) { return ((u32)(hash_u64(h) >> 32) & ~1u) | ((u32)h & 1u); }

/* ---- acquire ------------------------------------------------------------------------------------------- */
/* The lock of the item with hash h, acquired; wrote: USE_WROTE, 0. Where it is not due: `wait` 0: waits here,
 * unless it only `looks`; else, after `time` clocks, LOCK_WAITS, and the use goes to *wait. */
FN_BIG u64 lock_acquire(KP_ARG, const u64 use_at, const u64 use_end, const u64 mask, const u64 h, const u32 wrote,
                        const bool shared, PRIV u64 *wait, const u64 time, const bool looks) {
    const u32 name = item_name(h);
    const u64 i = (mask >> (name >> 1 & 63) & 1) != 0 ? lock_find(kp, use_at, use_end, name) : use_end;
    u64 use = i;
    if (i == use_end) {
        use = LOCK_NONE;
    } else {
        TEST_DELAY(h);
        const u32 s = USE_STATE(i);
        if (s == USE_RELEASED) { /* more often than in its footprint: not to be */
            ga_or_u64(STOP_FLAG, STOP_OVERUSED);
            use = LOCK_STOP;
        } else if ((s & USE_HELD) == 0) {
            if (lock_due(kp, i)) {
                FENCE_TAKE();
            } else if (wait == 0) {
                if (!looks && !lock_wait(kp, i)) use = LOCK_STOP;
            } else if (lock_due_soon(kp, i, time)) {
                FENCE_TAKE();
            } else {
                *wait = i;
                use = LOCK_WAITS;
            }
        }
        if (use == i) {
            if (shared) ga_or_u32(USE_STATE_AT(i), USE_HELD | wrote);
            else USE_STATE(i) = s | USE_HELD | wrote;
        }
    }
    return use;
}
/* The same for a use that is held already. */
FN_BIG u64 lock_reacquire(KP_ARG, const u64 use, const u32 wrote) {
    if (use != LOCK_NONE) {
        const u32 s = USE_STATE(use);
        if (s == USE_RELEASED) {
            ga_or_u64(STOP_FLAG, STOP_OVERUSED);
            return LOCK_STOP;
        }
        if ((s & wrote) != wrote) USE_STATE(use) = s | wrote;
    }
    return use;
}
#if defined(KC_CUDA)
/* Parallel loops, in two steps: the use of an item's lock, LOCK_NONE: it has none; and, once it is due,
 * holding it. */
FN_BIG u64 lock_lookup(KP_ARG, const u64 use_at, const u64 use_end, const u64 mask, const u64 h) {
    const u32 name = item_name(h);
    if ((mask >> (name >> 1 & 63) & 1) == 0) return LOCK_NONE;
    const u64 i = lock_find(kp, use_at, use_end, name);
    return i == use_end ? LOCK_NONE : i;
}
FN_BIG u64 lock_hold(KP_ARG, const u64 use, const u32 wrote) {
    if (use == LOCK_NONE) return use;
    if (USE_STATE(use) == USE_RELEASED) {
        ga_or_u64(STOP_FLAG, STOP_OVERUSED);
        return LOCK_STOP;
    }
    ga_or_u32(USE_STATE_AT(use), USE_HELD | wrote);
    return use;
}
#endif

/* ---- release ------------------------------------------------------------------------------------------- */
/* One operation less. Behind the last one the use is released: the address of the counter, which the caller raises by
 * one behind FENCE_GIVE; else 0. */
FN_BIG u64 lock_finish_op(KP_ARG, const u64 use, const bool shared, PRIV u32 *spilled) {
    u64 at = 0;
    if (use != LOCK_NONE && USE_STATE(use) != USE_RELEASED) {
        const u32 s = shared ? ga_add_u32(USE_STATE_AT(use), ~0u) : USE_STATE(use);
        if ((s & USE_OPS) > 1) {
            if (!shared) USE_STATE(use) = s - 1;
        } else {
            USE_STATE(use) = USE_RELEASED;
            if ((s & USE_WROTE) != 0) *spilled |= 1;
            if ((s & USE_DEQUEUES) != 0 && (s & (USE_DEQUEUED | USE_UNDELETED)) != USE_DEQUEUED)
                ga_or_u64(STOP_FLAG, STOP_QUEUE);
            at = PP_COUNTERS + (u64)USE_LOCK(use) * 4;
        }
    }
    return at;
}

/* ---- all uses of a call -------------------------------------------------------------------------------- */
/* For calls that hold all their locks from their beginning to their end: the first use that is not due;
 * LOCK_NONE: there is none, it may begin. */
FN_BIG u64 locks_begin(KP_ARG, const u64 use_at, const u64 use_end) {
    ROLLED for (u64 i = use_at; i < use_end; i++) if (!lock_due(kp, i)) return i;
    FENCE_TAKE();
    return LOCK_NONE;
}
/* A call that is done releases all that is left, once each was due: LOCK_NONE; else a use where it was
 * not. `dequeues`: it dequeues (kp_dequeue.h). */
FN_BIG u64 locks_finish(KP_ARG, const u64 use_at, const u64 use_end, const bool dequeues) {
    ROLLED for (u64 i = use_at; i < use_end; i++) {
        const u32 s = USE_STATE(i);
        if (dequeues && s != USE_RELEASED && (USE_NAME(i) & 1u) != 0 &&
            (s & (USE_DEQUEUED | USE_UNDELETED)) != USE_DEQUEUED) {
            ga_or_u64(STOP_FLAG, STOP_QUEUE);
            return i;
        }
        if (s == USE_RELEASED || (s & USE_HELD) != 0) continue;
        if (!lock_due(kp, i)) return i;
        USE_STATE(i) = s | USE_HELD;
    }
    FENCE_TAKE();
    FENCE_GIVE();
    ROLLED for (u64 i = use_at; i < use_end; i++) if (USE_STATE(i) != USE_RELEASED)
        ga_add_u32(PP_COUNTERS + (u64)USE_LOCK(i) * 4, 1);
    return LOCK_NONE;
}
/* Functions of a GPU that runs calls under statement locks are longer than the cache of instructions: what does not
 * fit costs more than a call. */
#if defined(KC_CUDA)
FN_BIG u64 hash_none(u64 h) { return hash_u64(h); }
#define hash_null(h) hash_none(h)
#endif

#endif
