/* kp_run_statement.h - how calls under statement locks are run: frames, their log, and on the host and OpenCL one
 * call after the other. On CUDA a warp runs them together: kp_run_warp.h.
 *
 * Log of changes. All changes are logged, since the bulk may have to be undone; calls take their room in chunks from
 * one counter (PP_LOG: u64[2], where the next one is, and the end), and the kernel leaves per call where its entries
 * are and how many (PP_LOG_AT, PP_LOG_N), which kp_undo.h reads after the launch.
 *
 * Of the module: UNDO_MAX, EACH_PROC, frame_K and run_K; EACH_PARALLEL(M): M(label, k) for each procedure that has
 * parallel loops (kp_parallel.h); HOLDS_ALL(kind): its calls hold all locks from their beginning; DEQUEUES(kind): its
 * calls dequeue, in this bulk.
 */
#ifndef KP_RUN_STATEMENT_H
#define KP_RUN_STATEMENT_H
#include "codegen/prelude/txn/kp_alone.h"

/* The variables of a call that is suspended. All begin with n_undo. */
typedef union {
    struct {
        u32 n_undo;
    } any;
#define FRAME(label, k) frame_##k f##k;
    EACH_PROC(FRAME)
#undef FRAME
} frame_any;

/* An item has log_at, where its next call's entries go, and log_end, where its chunk ends. Room for one more call: */
FN void log_reserve(KP_ARG, PRIV u64 *log_at, PRIV u64 *log_end) {
    if (*log_end - *log_at < UNDO_MAX * UNDO_ENTRY) {
        *log_at = ga_add_u64(PP_LOG, UNDO_MAX * (UNDO_ENTRY * LOG_CALLS));
        *log_end = *log_at + UNDO_MAX * (UNDO_ENTRY * LOG_CALLS);
        if (*log_end > G(u64, PP_LOG)[1]) ga_or_u64(STOP_FLAG, 1 << STOP_ROOM_BIT);
    }
}
/* A call has ended: its log, and its failure. ran: entries of the log << 32 | status. */
FN void log_call(KP_ARG, PRIV u64 *log_at, const u64 call, const u64 ran) {
    const u32 n_undo = (u32)(ran >> 32), status = (u32)ran;
    if (n_undo > 0) {
        G(u64, PP_LOG_AT)[call] = *log_at;
        G(u32, PP_LOG_N)[call] = n_undo;
        *log_at += (u64)n_undo * UNDO_ENTRY;
    }
    if (status != 0) G(u64, PP_FAILED + 8)[ga_add_u64(PP_FAILED, 1)] = (u64)(status | PROC_ERROR_KNOWN) << 32 | call;
}
/* The launch stops: a call on its way leaves what it has logged to kp_undo.h. */
FN void log_stopped(KP_ARG, const u64 log_at, const u64 call, const u32 n) {
    if (n > 0) {
        G(u64, PP_LOG_AT)[call] = log_at;
        G(u32, PP_LOG_N)[call] = n;
    }
}

#if !defined(KC_CUDA)
/* Runs `left` calls of the order, the first of which is number `tile`, one after the other; each waits on its way.
 * False: the launch stops. */
FN bool run_tile_by_statement(KP_ARG, const u64 tile, const u32 left, const u64 slot, PRIV u64 *log_at,
                              PRIV u64 *log_end) {
    const bool here = false;
    frame_any frame;
    PRIV frame_any *const mine = &frame;
    (void)here;
    for (u32 i = 0; i < left; i++) {
        if (KC_PEEK(STOP_FLAG) != 0) return false;
        const u64 call = call_at(kp, tile + i), pos = pos_of(kp, call);
        const u32 kind = kind_of(kp, call);
        (void)kind;
        (void)pos;
        const u64 use_at = G(u32, PP_LOCK_START)[call * PP_LOCK_STEP],
                  use_end = G(u32, PP_LOCK_START)[(call + 1) * PP_LOCK_STEP];
        if (HOLDS_ALL(kind))
            for (u64 use; (use = locks_begin(kp, use_at, use_end)) != LOCK_NONE;)
                if (!lock_wait(kp, use)) return false;
        log_reserve(kp, log_at, log_end);
        u32 state = 0, status = 0;
        u64 ran = 0, wait = LOCK_NONE;
        const u32 together = 0;
        for (;;) {
            if (KC_PEEK(STOP_FLAG) != 0) {
                if (state != 0) log_stopped(kp, *log_at, call, mine->any.n_undo);
                return false;
            }
#define RUN(label, k)                                                                 \
    label:                                                                            \
    ran = run_##k(kp, call, pos, *log_at, slot, &mine->f##k, state, together, &wait); \
    break;
            switch (kind) { EACH_PROC(RUN) }
#undef RUN
            status = (u32)ran;
            if ((status & SUSPENDED) != SUSPENDED) break;
            state = status & 0xffffu;
            if ((state & PARALLEL) != 0) {
#define RUN(label, k)                                                       \
    label:                                                                  \
    state = parallel_##k(kp, call, pos, *log_at, slot, &mine->f##k, state); \
    break;
                switch (kind) { EACH_PARALLEL(RUN) default : break; }
#undef RUN
            }
            if (wait != LOCK_NONE) (void)lock_wait(kp, wait);
        }
        log_call(kp, log_at, call, ran);
        for (u64 use; (use = locks_finish(kp, use_at, use_end, DEQUEUES(kind))) != LOCK_NONE;)
            if (!lock_wait(kp, use) || KC_PEEK(STOP_FLAG) != 0) return false;
    }
    return true;
}
#endif

#endif
