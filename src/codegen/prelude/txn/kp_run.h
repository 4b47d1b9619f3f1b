/* kp_run.h - the kernel that runs calls.
 *
 * Items take TILE calls at a time and go round those that have to wait for locks. A call that is taken later may not be
 * waited for, so calls are taken from a counter (PP_TICKET), and an item goes round all that it has taken: whichever
 * is ready runs. On the host without statement locks (RUN_CARRIES) it takes the next ones when all that are left
 * wait, and they are not many.
 *
 * First come the PP_LOCKED calls that may wait, taken by one item of a warp; then all others, by all. Partitions
 * (PP_PART_AT): an item takes PP_PART_EACH partitions at a time, one after the other, and runs a partition's calls
 * one after the other; where it stands is in memory, and a launch goes PART_CALLS calls further at most.
 *
 * Failures. A call that fails is put on a list (PP_FAILED). If the virtual machine has to see to it, then: under
 * locks it poisons its counters, in partitions it ends its partition for this launch, and without either the launch
 * writes its number to the word PP_BLOCKED, so that the launches queued behind it do nothing. PP_DONE says which
 * calls ran.
 *
 * Memory order: FENCE_TAKE behind the look at the locks, FENCE_GIVE before they are raised (kp_call_locks.h). Calls
 * without locks conflict with none of the launch.
 *
 * Of the module: TILE, UNDO_MAX, PREFETCH_KEYS (keys of a call that are fetched before it runs; 0: none),
 * PREFETCH_TEXTS, RUN_CARRIES, STATEMENT_LOCKS, EACH_PROC.
 */
#include "codegen/prelude/txn/kp_alone.h"
#if STATEMENT_LOCKS
#include "codegen/prelude/txn/kp_run_statement.h"
#include "codegen/prelude/txn/kp_run_warp.h"
#endif

/* Where calls that were just taken are put: behind those that wait. */
#if RUN_CARRIES
#define WAITING waiting
#else
#define WAITING 0
#endif
#if PREFETCH_KEYS > 0
/* What a tile's calls will touch is fetched before they run: slots of keys, then rows, then strings in these. */
FN void fetch_tile(KP_ARG, const u32 *waits, const u32 left) {
    u64 hashes[TILE * PREFETCH_KEYS];
    for (u32 i = 0; i < left; i++) {
        const u64 call = call_at(kp, waits[i]), pos = pos_of(kp, call);
        const u32 kind = kind_of(kp, call);
        (void)kind;
#define LOOK(label, k)                                 \
    label:                                             \
    prefetch_##k(kp, pos, hashes + i * PREFETCH_KEYS); \
    break;
        switch (kind) { EACH_PROC(LOOK) }
#undef LOOK
    }
    for (u32 i = 0; i < left; i++) {
        const u32 kind = kind_of(kp, call_at(kp, waits[i]));
        (void)kind;
#define LOOK(label, k)                         \
    label:                                     \
    fetch_##k(kp, hashes + i * PREFETCH_KEYS); \
    break;
        switch (kind) { EACH_PROC(LOOK) }
#undef LOOK
    }
#if PREFETCH_TEXTS
    for (u32 i = 0; i < left; i++) {
        const u64 call = call_at(kp, waits[i]), pos = pos_of(kp, call);
        const u32 kind = kind_of(kp, call);
        (void)kind;
#define LOOK(label, k)                              \
    label:                                          \
    texts_##k(kp, pos, hashes + i * PREFETCH_KEYS); \
    break;
        switch (kind) { EACH_PROC(LOOK) }
#undef LOOK
    }
#endif
}
#endif

/* Where an item is in its partitions. */
typedef struct InPartitions {
    u64 partition, taken; /* the partition in hand, and the end of those that were taken */
    u64 place, last;      /* the next call's place in the order, and where the partition in hand stops */
} InPartitions;
/* Partitions: takes up to TILE of their next calls, and returns how many; 0: there are none left. waits[]: places in
 * the order; parts[]: the partition of each. */
FN u32 next_in_partitions(KP_ARG, const u32 ticket, const u64 end, PRIV InPartitions *at, PRIV u32 *parts,
                          PRIV u32 *waits) {
    u32 n = 0;
    while (n < TILE) {
        if (at->place < at->last) {
            parts[n] = (u32)at->partition;
            waits[n++] = (u32)at->place++;
            continue;
        }
        if (at->partition + 1 >= at->taken) {
            if (n > 0) break;
            at->partition = append(PP_TICKET + ticket * 8) * PP_PART_EACH;
            if (at->partition >= end) break;
            at->taken = end - at->partition < PP_PART_EACH ? end : at->partition + PP_PART_EACH;
        } else {
            at->partition++;
        }
        at->place = G(u32, PP_PART_AT)[at->partition];
        at->last = G(u64, PP_PART_START)[at->partition + 1];
        if (at->last - at->place > PROC_PART_CALLS) at->last = at->place + PROC_PART_CALLS;
    }
    return n;
}
/* Runs a call whose locks are held, if it has some: 0, or why it failed. */
FN u32 run_call(KP_ARG, const u32 kind, const u64 call, const u64 pos, const u64 undo, const u64 slot HOT_ARG) {
    u32 status = 0;
    (void)kind;
#if STATEMENT_LOCKS
    frame_any frame;
    u64 wait = LOCK_NONE;
    const bool here = false; /* the call's frame is in shared memory */
    (void)frame;
    (void)here;
#define RUN(label, k)                                                           \
    label:                                                                      \
    status = (u32)run_##k(kp, call, pos, undo, slot, &frame.f##k, 0, 0, &wait); \
    break;
#else
#define RUN(label, k)                                           \
    label:                                                      \
    status = (u32)run_##k(kp, call, pos, undo, slot HOT_GIVEN); \
    break;
#endif
    switch (kind) { EACH_PROC(RUN) }
#undef RUN
    return status;
}

KERNEL(bulk_main) {
    const u64 stopped_at = KC_PEEK(PP_BLOCKED);
    if (stopped_at != 0 && stopped_at < PP_LAUNCH) return;
    if ((LID & (u32)(PP_LANES - 1)) != 0) return;
    const u64 n_calls = PP_CALLS, slot = (GID * LSIZE + LID) / PP_LANES,
              undo = PP_UNDO_AREA + slot * (u64)(UNDO_MAX * UNDO_ENTRY);
#if STATEMENT_LOCKS
#if !defined(KC_CUDA)
    u64 log_at = 0, log_end = 0;
#endif
#endif
#if STATEMENT_LOCKS && defined(KC_CUDA)
    if (PP_STATEMENT_LOCKS != 0) {
        run_by_warp(kp, slot);
        return;
    }
#endif
    HOT_BEGIN();
    const u64 n_locked = PP_LOCKED != 0 ? (u64)G(u32, PP_LOCKED)[0] : 0;
    for (u32 ticket = n_locked != 0 ? 0 : 1; ticket < 2; ticket++) {
        const bool feeds = ticket == 1 || (LID & (WARP_ITEMS - 1)) == 0;
        const u64 first = ticket == 1 ? n_locked : 0, end = ticket == 1 ? n_calls : n_locked;
        InPartitions in_hand = {0, 0, 0, 0};
        u32 parts[TILE];
        (void)parts;
#if RUN_CARRIES
        u32 waiting = 0, spins = 0, waits[TILE + PROC_CARRIED];
        bool more = feeds;
        while (more || waiting > 0) {
            u64 tile = 0;
            u32 left = 0;
            if (more) {
#else
        while (feeds) {
            u64 tile = 0;
            u32 left = 0, spins = 0, waits[TILE];
            (void)spins;
            {
#endif
                /* 1. the next calls: `left` of them, at waits[]; none: there are no more, or the launch stops */
                if ((PP_COUNTERS != 0 || PP_PART_AT != 0) && KC_PEEK(STOP_FLAG) != 0) {
                } else if (PP_PART_AT != 0) {
                    left = next_in_partitions(kp, ticket, end, &in_hand, parts, waits);
                } else {
                    tile = first + append(PP_TICKET + ticket * 8) * TILE;
                    if (tile < end) left = end - tile < TILE ? (u32)(end - tile) : TILE;
                    for (u32 k = 0; k < left; k++) waits[WAITING + k] = (u32)(tile + k);
                }
#if RUN_CARRIES
                more = left > 0;
            }
#else
            }
            if (left == 0) break;
#endif
#if STATEMENT_LOCKS && !defined(KC_CUDA)
            if (PP_STATEMENT_LOCKS != 0) {
                if (!run_tile_by_statement(kp, tile, left, slot, &log_at, &log_end)) return;
                continue;
            }
#endif
#if PREFETCH_KEYS > 0
            if (PP_FETCHES != 0) fetch_tile(kp, waits + WAITING, left);
#endif
#if RUN_CARRIES
            left += waiting;
#endif
            /* 2. round those that have not run */
            while (left > 0) {
                u32 kept = 0, ahead_of = LOCKS_LEAVE, ended = ~0u; /* the partition whose calls do not run */
                (void)ahead_of;
                for (u32 k = 0; k < left; k++) {
                    if (PP_PART_AT != 0 && parts[k] == ended) continue;
                    const u64 nth = waits[k];
                    const u64 call = call_at(kp, nth), pos = pos_of(kp, call);
                    const u32 kind = kind_of(kp, call);
                    (void)kind;
                    (void)pos;
                    /* a call without locks need not wait for memory either */
                    const bool held = PP_COUNTERS != 0 && G(u32, PP_LOCK_START)[call * PP_LOCK_STEP] !=
                                                              G(u32, PP_LOCK_START)[(call + 1) * PP_LOCK_STEP];
                    const u32 state =
                        !held ? LOCKS_READY : locks_state(PP_COUNTERS, PP_LOCK_START, PP_LOCK_STEP, PP_LOCKS, call);
                    if (state != LOCKS_READY && state != LOCKS_LEAVE) {
                        waits[kept++] = waits[k];
                        if (state < ahead_of) ahead_of = state;
                    } else {
                        bool release = false;
                        if (state == LOCKS_READY) {
                            if (held) FENCE_TAKE();
                            const u32 status = run_call(kp, kind, call, pos, undo, slot HOT_PASS);
                            release =
                                status == 0 || (status & PROC_ERROR_KNOWN) != 0 || (status & 255u) == PF_RAISED_PLAIN;
                            if (status != 0) {
                                const u64 at = ga_add_u64(PP_FAILED, 1);
                                G(u64, PP_FAILED + 8)
                                [at] = (u64)(release ? status | PROC_ERROR_KNOWN : status & ~PROC_ERROR_KNOWN) << 32 |
                                       call;
                                if (!release) ga_cas_u64(PP_BLOCKED, 0, PP_LAUNCH);
                            }
                        }
                        if (PP_COUNTERS != 0 && release) G(u8, PP_DONE)[call] = 1;
                        if (held) {
                            FENCE_GIVE();
                            locks_leave(PP_COUNTERS, PP_LOCK_START, PP_LOCK_STEP, PP_LOCKS, call, release);
                        }
                        if (PP_PART_AT != 0) {
                            if (release) {
                                G(u32, PP_PART_AT)[parts[k]] = (u32)nth + 1;
                                /* later calls of the partition wait for one that the virtual machine must see */
                            } else {
                                ended = parts[k];
                                if (ended == in_hand.partition) in_hand.last = in_hand.place;
                            }
                        }
                    }
                }
                if (kept == left) {
                    if (KC_PEEK(STOP_FLAG) != 0) return;
#if RUN_CARRIES
                    if (more && left <= PROC_CARRIED) break;
                    RELAX(++spins, ahead_of);
                } else {
                    spins = 0;
                }
#else
                    RELAX(++spins, ahead_of);
                }
#endif
                left = kept;
            }
#if RUN_CARRIES
            waiting = left;
#endif
        }
        WARP_RECONVERGES();
    }
    HOT_END();
}
