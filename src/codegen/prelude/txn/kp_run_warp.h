/* kp_run_warp.h - CUDA, under statement locks: a warp is a scheduler of calls.
 *
 * The lanes of a warp have a call each, which go on together as far as they can: of those that need not wait, the
 * lanes that are behind go first, and in the same state at a time. A lane that is done takes the next call, so that
 * lanes are always behind others. Lanes that went ahead wait for the others where functions say so
 * (LANES_DIVERGED), and only for such as need not wait themselves: a call that holds a lock goes on whatever others do.
 * No lane waits inside a function while another lane of its warp has a call.
 *
 * A change of this has to keep two things: decisions on the way round the loop are the warp's (votes), never a lane's;
 * nothing that waits reads variables from memory or changes a word that all warps share, which takes longer than the
 * calls do.
 *
 * A function is longer than the cache of instructions, and what a warp fetches is gone when another one comes there.
 * So a group has all threads of a multiprocessor, and its warps take their next calls, a batch for each, at the same
 * time: those that follow find what the first one has fetched, and so catch up. Calls that are done hold no locks, so
 * no call waits for a warp that waits here. The warps reconverge once more where a call's loop runs in parallel
 * (warps_gather), but for a limited time, since here calls hold locks. More warps do not help: instructions do not come
 * faster. Measurements: docs/notes/statement-locks.md.
 *
 * Stretches. The order of calls is cut into stretches (PP_STRETCHES), of which PP_TOGETHER has three words each: the
 * number of its first batch, its first place in the order, and how many calls make a batch, with PROC_PARALLEL_LOOPS
 * where a batch is one call whose loops the whole warp runs.
 */
#ifndef KP_RUN_WARP_H
#define KP_RUN_WARP_H
#include "codegen/prelude/txn/kp_run_statement.h"

#if defined(KC_CUDA)
/* a lane's state: that of its call, or */
#define LANE_ENDS 0x10000u /* the call has ended, and has yet to release its locks */
#define LANE_FREE 0x20000u
#define PATIENCE 100000u /* clocks that lanes ahead wait for others */
#define LOOKS 16u        /* at counters, between two of which a warp sleeps for NAP ns */
#define NAP 500u
#define BARRIERS 4u /* of a group's warps at parallel loops, while they have one batch */
#define BARRIER_CLOCKS 90000u
/* of shared memory: frames that do not fit lie in the lanes' own, and such calls run no loops in parallel */
#define FRAMES_BYTES (40 << 10)

/* Until what a lane waits for is due, or for a while; whether a call that they wait for went on. In registers
 * alone: variables of the kernel lie in memory, and thousands of warps that wait would keep it busy. */
FN_BIG bool lanes_wait(PRIV bool *due, const u64 at, const u32 from) {
    const bool waits = !*due;
    u32 first = 0;
    bool has = false, moved = false;
    ROLLED for (u32 k = 0; k < LOOKS; k++) {
        const u32 c = waits ? GVOL(u32, at)[0] : 0;
        if (k == 0) first = c;
        has = waits && c >= from;
        moved = c != first;
        if (__any_sync(~0u, has)) break;
        __nanosleep(NAP);
    }
    if (has) *due = true;
    return __any_sync(~0u, has || moved);
}
/* A call's loop begins where all but one of the group's warps are at theirs, or after a while: some may wait for a
 * lock, or have no such loop. */
FN_BIG void warps_gather(volatile u32 *arrived) {
    const u64 since = CLOCK();
    if ((LID & 31u) == 0) atomicAdd((u32 *)arrived, 1u);
    while (*arrived + 1 < GROUP_SIZE / 32 && CLOCK() - since < BARRIER_CLOCKS) __nanosleep(200u);
    __syncwarp();
}

FN void run_by_warp(KP_ARG, const u64 slot) {
    enum { FRAMES_FIT = sizeof(frame_any) * (GROUP_SIZE / 32) <= FRAMES_BYTES };
    __shared__ __align__(16) char frames[FRAMES_FIT ? sizeof(frame_any) * (GROUP_SIZE / 32) : 16];
    __shared__ u32 arrived[BARRIERS];
    __shared__ u64 batch;
    bool here = false; /* the call's frame is in shared memory: run_K */
    frame_any frame, *mine = &frame;
    u64 call = 0, pos = 0, wait = LOCK_NONE, use_at = 0, use_end = 0, since = CLOCK(), at = 0;
    u32 kind = 0, state = LANE_FREE, from = 0, barrier = 0;
    bool due = true, begun = true; /* it need not wait; it has the locks that it holds all the time */
    u64 log_at = 0, log_end = 0;
    const bool begin_together = (G(u32, PP_TOGETHER)[2] & PROC_BEGIN_TOGETHER) != 0;
    (void)here;
    for (bool more = true;;) {
        if (more && !__any_sync(~0u, state != LANE_FREE)) { /* all lanes take their next calls */
            const u32 lane = LID & 31u;
            u64 unit = 0, k = 0;
            if (begin_together) {
                __syncthreads();
                if (LID < BARRIERS) arrived[LID] = 0;
                if (LID == 0) batch = ga_add_u64(PP_TICKET + 8, GROUP_SIZE / 32);
                __syncthreads();
                unit = batch + LID / 32;
            } else {
                if (lane == 0) unit = ga_add_u64(PP_TICKET + 8, 1);
                unit = __shfl_sync(~0u, unit, 0);
            }
            barrier = 0;
            while (k + 1 < PP_STRETCHES && unit >= G(u32, PP_TOGETHER)[3 * k + 3]) k++;
            const u32 how = G(u32, PP_TOGETHER)[3 * k + 2];
            const u64 per = how & 0xffffu,
                      nth = (u64)G(u32, PP_TOGETHER)[3 * k + 1] + (unit - G(u32, PP_TOGETHER)[3 * k]) * per + lane,
                      end = G(u32, PP_TOGETHER)[3 * k + 4];
            more = nth - lane < end;
            here = FRAMES_FIT && (how & PROC_PARALLEL_LOOPS) != 0;
            mine = here ? (frame_any *)(void *)frames + LID / 32 : &frame;
            if (lane < per && nth < end) {
                call = call_at(kp, nth);
                pos = pos_of(kp, call);
                kind = kind_of(kp, call);
                use_at = G(u32, PP_LOCK_START)[call * PP_LOCK_STEP];
                use_end = G(u32, PP_LOCK_START)[(call + 1) * PP_LOCK_STEP];
                due = true;
                begun = !HOLDS_ALL(kind);
                state = 0;
                log_reserve(kp, &log_at, &log_end);
            }
        }
        if (__any_sync(~0u, KC_PEEK(STOP_FLAG) != 0)) {
            if (state != 0 && state < LANE_ENDS) log_stopped(kp, log_at, call, mine->any.n_undo);
            return;
        }
        if (!begun && due) {
            wait = locks_begin(kp, use_at, use_end);
            begun = due = wait == LOCK_NONE;
            if (!due) lock_counter(kp, wait, &at, &from);
        }
        if (state == LANE_ENDS && due) {
            wait = locks_finish(kp, use_at, use_end, DEQUEUES(kind));
            due = wait == LOCK_NONE;
            if (due) state = LANE_FREE;
            else lock_counter(kp, wait, &at, &from);
        }
        /* which lanes go on: of those that are ready, those in the least state of the least procedure */
        const u32 busy = __ballot_sync(~0u, state != LANE_FREE);
        if (busy == 0 && !more) break;
        const bool ready = state < LANE_ENDS && due;
        const u32 key = ready ? kind << 16 | state : ~0u, least = least_of(~0u, key),
                  all = __ballot_sync(~0u, state < LANE_ENDS && kind == least >> 16);
        const bool goes = ready && key == least;
        const u32 group = __ballot_sync(~0u, goes),
                  behind = __ballot_sync(~0u, state < (least & 0xffffu) || !begun) & all;
        /* those that are behind may come soon, as long as those they wait for go on */
        if (group == 0 || (behind != 0 && __any_sync(~0u, CLOCK() - since < PATIENCE))) {
            if (__any_sync(~0u, !due) && lanes_wait(&due, at, from)) since = CLOCK();
            continue;
        }
        if (goes) {
            const u32 together = (busy & (busy - 1)) == 0 ? 0 : all;
            u64 ran = 0;
#define RUN(label, k)                                                                \
    label:                                                                           \
    ran = run_##k(kp, call, pos, log_at, slot, &mine->f##k, state, together, &wait); \
    break;
            switch (kind) { EACH_PROC(RUN) }
#undef RUN
            const u32 status = (u32)ran;
            if ((status & SUSPENDED) == SUSPENDED) {
                state = status & 0xffffu;
                due = wait == LOCK_NONE;
                if (!due) lock_counter(kp, wait, &at, &from);
            } else {
                log_call(kp, &log_at, call, ran);
                state = use_at == use_end ? LANE_FREE : LANE_ENDS;
            }
        }
        __syncwarp();
        /* a call that has its warp to itself has all lanes run its loop */
        const u32 at_top = from_lane(state, 0);
        if (at_top < LANE_ENDS && (at_top & PARALLEL) != 0) {
            if (begin_together && barrier < BARRIERS) warps_gather(&arrived[barrier++]);
            const u64 its_call = from_lane(call, 0), its_pos = from_lane(pos, 0), its_log = from_lane(log_at, 0);
            u32 next = at_top & 0x3fffu;
            {
                const u32 its_kind = from_lane(kind, 0), kind = its_kind;
#define RUN(label, k)                                                               \
    label:                                                                          \
    next = parallel_##k(kp, its_call, its_pos, its_log, slot, &mine->f##k, at_top); \
    break;
                switch (kind) { EACH_PARALLEL(RUN) default : break; }
#undef RUN
            }
            if ((LID & 31u) == 0) state = next;
        }
        since = CLOCK();
    }
}
#endif

#endif
