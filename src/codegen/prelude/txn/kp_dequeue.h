/* kp_dequeue.h - queues: the first row of an ordered group is taken and deleted by many calls of a bulk
 * (codegen/emit_proc.h, Queues).
 *
 * With statement locks alone each of them would wait for the one before. But where nothing else touches the queue,
 * which row is whose is known beforehand: the n-th use of a queue's item takes its n-th row. So calls do not wait for
 * the queue's lock. The first use of each (rank 0) walks the group and leaves row numbers at PP_QUEUE_ROWS, one place
 * for each use of the lock, PP_DEQUEUE_COUNTS[lock] of them; the others wait for their own place only, which is never
 * written twice.
 *
 *     place     0: not written yet; row + 1; or none = ~(anchor + 1), with the highest bit set: there is no row left
 *     in that group
 *
 * Names of items are hashes: one lock may be two groups'. A call that finds another group's row, or another anchor's
 * `none`, stops the launch (STOP_QUEUE), and the bulk is undone and run again without this. What a call does with its
 * row is checked as well: USE_DEQUEUES, it came to the queue; USE_DEQUEUED, it took its row; USE_UNDELETED, until it
 * deleted it (kp_statement_locks.h).
 *
 * Memory order. Places are written and read volatile, without a fence: what they name are rows that were there before
 * the launch. `front`, the group's front as it was before the first use moved it, is logged by the caller for undo.
 *
 * Ordered groups: kc_order.h, whose arguments next, cells, kind, live these are.
 */
#ifndef KP_DEQUEUE_H
#define KP_DEQUEUE_H
#include "codegen/prelude/kc_order.h"
#include "codegen/prelude/txn/kp_statement_locks.h"

#define DEQUEUE_STOPS ((i64)-2)

/* The use of a queue's item, which no call waits for; LOCK_NONE: it has no lock. */
FN_BIG u64 dequeue_use(KP_ARG, const u64 use_at, const u64 use_end, const u64 mask, const u64 h, const bool shared) {
    const u32 name = item_name(h);
    const u64 i = (mask >> (name >> 1 & 63) & 1) != 0 ? lock_find(kp, use_at, use_end, name) : use_end;
    if (i == use_end) return LOCK_NONE;
    TEST_DELAY(h);
    const u32 s = USE_STATE(i);
    if (s == USE_RELEASED) {
        ga_or_u64(STOP_FLAG, STOP_OVERUSED);
        return LOCK_STOP;
    }
    if (shared) ga_or_u32(USE_STATE_AT(i), USE_HELD | USE_WROTE | USE_DEQUEUES);
    else USE_STATE(i) = s | USE_HELD | USE_WROTE | USE_DEQUEUES;
    return i;
}
/* The row that is this use's, -1: none is left, DEQUEUE_STOPS: the launch stops. *front: see above, unchanged where
 * it was not moved. */
FN_BIG i64 dequeue(KP_ARG, const u64 use, const bool shared, const u64 next, const u64 cells, const u32 kind,
                   const u64 live, const i64 anchor, PRIV i64 *front) {
    if (use == LOCK_NONE) return ord_first(next, cells, kind, live, anchor);
    const u64 none = ~(u64)(anchor + 1), lock = USE_LOCK(use), nth = USE_FROM(use),
              at = PP_QUEUE_ROWS + (lock + nth) * 8;
    if (nth == 0) {
        const u64 n = G(u32, PP_DEQUEUE_COUNTS)[lock];
        const i64 first = anchor < 0 ? -1 : GVOL(i64, next)[4 * anchor + 3] - 1;
        i64 c = first, last = -1, behind = -1, cv = 0;
        bool there = false;
        if (c >= 0) {
            behind = ord_follow(next, c, 0);
            there = GVOL(u8, live)[c] == ROW_LIVE;
            cv = ord_value(cells, kind, c);
        }
        /* one loop, so that lanes which go through groups of their own do it in step; what is known of a row comes
         * all at once, while the one before it is dealt with */
        ROLLED for (u64 k = 0; k < n;) {
            if (c < 0) {
                GVOL(u64, PP_QUEUE_ROWS)[lock + k++] = none;
                continue;
            }
            const i64 beyond = ord_follow(next, behind, 0);
            const bool alive = GVOL(u8, live)[behind] == ROW_LIVE;
            const i64 bv = ord_value(cells, kind, behind);
            if (there) {
                GVOL(u64, PP_QUEUE_ROWS)[lock + k++] = (u64)c + 1;
                last = c;
            }
            c = ord_before(kind, cv, c, bv, behind) ? behind : -1;
            cv = bv;
            there = alive;
            behind = beyond;
        }
        if (last >= 0 && last != first) { /* rows that others have deleted meanwhile are before it */
            *front = first;
            GVOL(i64, next)[4 * anchor + 3] = last + 1;
        }
    }
    u64 row = GVOL(u64, at)[0];
    ROLLED for (u32 spins = 0; row == 0; row = GVOL(u64, at)[0]) {
        if (KC_PEEK(STOP_FLAG) != 0) return DEQUEUE_STOPS;
        RELAX(++spins, 4);
    }
    const bool found = row >> 63 == 0;
    const u32 s = USE_STATE(use), took = found ? USE_DEQUEUED | USE_UNDELETED : USE_DEQUEUED;
    if ((s & USE_DEQUEUED) != 0 || (!found && row != none)) {
        ga_or_u64(STOP_FLAG, STOP_QUEUE);
        return DEQUEUE_STOPS;
    }
    if (shared) ga_or_u32(USE_STATE_AT(use), took);
    else USE_STATE(use) = s | took;
    return found ? (i64)row - 1 : -1;
}
/* The call has deleted its row. */
FN_BIG void dequeue_done(KP_ARG, const u64 use, const bool shared) {
    const u32 s = USE_STATE(use);
    if ((s & USE_UNDELETED) == 0) return;
    if (shared) ga_add_u32(USE_STATE_AT(use), 0u - USE_UNDELETED);
    else USE_STATE(use) = s & ~USE_UNDELETED;
}

#endif
