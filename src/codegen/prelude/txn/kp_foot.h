/* kp_foot.h - the kernel of footprints: issues the operations of all calls of a bulk (kp_ops.h).
 *
 * Items take FOOT_TILE calls at a time from a counter. They neither wait for each other nor read what another one
 * writes. A footprint that fails marks its call (PP_FOOT_FAILED) and sets the bulk's word for that.
 *
 * With OPS_SHARED each tile leaves where its operations are (PP_USES: group, first, number), since groups take tiles
 * in any order. PREFETCH_FOOT_KEYS > 0 (host): what the footprints of TILE calls look for is fetched first,
 * PREFETCH_FOOT_KEYS keys of each call.
 *
 * Of the module: EACH_PROC (kp_calls.h); EACH_SUM(M): M(address, k) for each sum of amounts.
 */
#include "codegen/prelude/txn/kp_alone.h"

#if PREFETCH_FOOT_KEYS > 0
/* The calls [first, stop) of the order: their keys' slots first, then the rows. */
FN void foot_fetch(KP_ARG, const u64 first, const u64 stop) {
    u64 hashes[TILE * PREFETCH_FOOT_KEYS];
    for (u64 nth = first; nth < stop; nth++) {
        u64 *a = hashes + (nth - first) * PREFETCH_FOOT_KEYS;
        const u64 call = call_at(kp, nth), pos = pos_of(kp, call);
        const u32 kind = kind_of(kp, call);
        (void)kind;
#define LOOK(label, k)             \
    label:                         \
    foot_prefetch_##k(kp, pos, a); \
    break;
        switch (kind) { EACH_PROC(LOOK) }
#undef LOOK
    }
    for (u64 nth = first; nth < stop; nth++) {
        u64 *a = hashes + (nth - first) * PREFETCH_FOOT_KEYS;
        const u32 kind = kind_of(kp, call_at(kp, nth));
        (void)kind;
#define LOOK(label, k)     \
    label:                 \
    foot_fetch_##k(kp, a); \
    break;
        switch (kind) { EACH_PROC(LOOK) }
#undef LOOK
    }
}
#endif
/* The operations of the nth call. */
FN void foot_call(KP_ARG, const u64 nth, const u64 slot, PRIV ops_sink *ops) {
    const u64 call = call_at(kp, nth), pos = pos_of(kp, call);
    const u32 kind = kind_of(kp, call);
    u32 status = 0;
    (void)kind;
#if !OPS_SHARED
    ops->at = 0;
    ops->left = ops->known = 0;
#endif
#define ISSUE(label, k)                          \
    label:                                       \
    status = foot_##k(kp, call, pos, slot, ops); \
    break;
    switch (kind) { EACH_PROC(ISSUE) }
#undef ISSUE
#if !OPS_SHARED
    for (; ops->left > 0; ops->left--, ops->at++)
        if (ops->at < ops->room) G(u32, ops->uses)[ops->at] = RK_NONE;
#endif
    if (status != 0) {
        G(u8, PP_FOOT_FAILED)[call] = 1;
        ga_or_u64(PP_FOOT_WORDS, FOOT_FAILED);
    }
}
KERNEL(bulk_foot) {
    const u64 n_calls = PP_CALLS, slot = GID * LSIZE + LID;
    ops_sink ops;
    for (u32 k = 0; k < N_SUMS; k++) ops.sums[k] = 0;
#if OPS_SHARED
    ops.items = G(u64, PP_OPS + GID * 16)[0];
    ops.room = G(u64, PP_OPS + GID * 16)[1];
    ops.n = 0;
#else
    ops.items = PP_OPS;
    ops.uses = PP_USES;
    ops.room = PP_OPS_MAX;
    ops.counter = PP_FOOT_WORDS + 8;
#endif
    for (;;) {
        const u64 tile = append(PP_FOOT_WORDS + 16), from = tile * FOOT_TILE;
        if (from >= n_calls || KC_PEEK(STOP_FLAG) != 0) break;
        const u64 end = n_calls - from < FOOT_TILE ? n_calls : from + FOOT_TILE;
#if OPS_SHARED
        const u64 had = ops.n;
#endif
#if PREFETCH_FOOT_KEYS > 0
        for (u64 first = from; first < end; first += TILE) {
            const u64 stop = end - first < TILE ? end : first + TILE;
            if (PP_FETCHES != 0) foot_fetch(kp, first, stop);
            for (u64 nth = first; nth < stop; nth++) foot_call(kp, nth, slot, &ops);
        }
#else
        for (u64 nth = from; nth < end; nth++) foot_call(kp, nth, slot, &ops);
#endif
#if OPS_SHARED
        G(u64, PP_USES + tile * 24)[0] = GID;
        G(u64, PP_USES + tile * 24)[1] = had;
        G(u64, PP_USES + tile * 24)[2] = ops.n - had;
#endif
    }
#if OPS_SHARED
    ga_max_u64(PP_FOOT_WORDS + 8, ops.n);
#endif
#define MERGE(to, k) \
    if (to != 0) sum_merge(to, ops.sums[k]);
    EACH_SUM(MERGE)
#undef MERGE
}
