/* kp_parallel_loop.h - runs the rounds of one parallel loop and puts together what they have left: a template, taken
 * in once for each such loop. kp_parallel.h says what these are.
 *
 * On CUDA all lanes of the warp call it, the first of which has the call; on others one item does. Up to 32 rounds
 * are run at a time. Numbers of inserted rows, and places in the log of changes, are counted off per round
 * beforehand, so that tables come out as if the rounds had run one after the other. The first round that fails fails
 * the call.
 *
 * A round leaves words: W_SPILLED, W_STEPS, and from W_VARS on two for each variable that is wanted behind the loop:
 * its value and, in the second, bit 0: it is not NULL; bit 1: the round has assigned it.
 *
 * Defined by the emitter for the procedure (N_SITES: entries of the log outside of the loop; LOOP_FRAME, its frame;
 * WORDS, SITES: the most words of a round, and locks of a loop, + 1) and for the loop, and undefined here:
 *   LOOP(f)            the name of function f of this loop
 *   LOOP_STATE         the state at its top
 *   LOOP_CUR, LOOP_HI, LOOP_BY   the counter, its end and its step, in the frame f
 *   LOOP_LOGS          entries of the log that a round makes at most; -1: it has loops itself, and gets its share
 *   LOOP_LOCKS        locks of the loop
 *   LOOP_ALIKE(i, k)   host: rounds i and k have an item in common
 *   LOOP_STEP_LIMIT    parameter PP_STEP_LIMIT
 *   LOOP_NO_ROOM, LOOP_STEPS     failures' codes
 *   LOOP_FAILS(ended)  what the call fails with where a round has ended so
 *   EACH_SUM_VAR(M)    M(v, word, most, less): variable v only sums up; -most - less .. most is its range
 *   EACH_VAR(SUM, LAST, SET)     SUM(v, type), LAST(v, type, word): the last round's value; SET(v, type, word): that
 *   of the last round that has assigned it
 *   EACH_INSERT(M)     M(t, n): a round inserts n rows into table t
 */
#include "codegen/prelude/txn/kp_alone.h"

/* PART(k, word), STATUS(k): what round k has left; LEADS: where the frame may be written. */
#if defined(KC_CUDA)
#define LEADS (lane == 0)
#define PART(k, word) from_lane(left[word], k)
#define STATUS(k) from_lane(status, k)
#define TOGETHER() __syncwarp()
#else
#define LEADS true
#define PART(k, word) left[k][word]
#define STATUS(k) statuses[k]
#define TOGETHER() ((void)0)
#endif

/* Whether n rounds that log `each` entries have room, and may take as many steps. */
FN bool LOOP(room)(KP_ARG, PRIV const LOOP_FRAME *f, const u32 n, const u32 each) {
    (void)kp;
    return f->n_undo + n * each + N_SITES <= UNDO_MAX && (LOOP_LOGS >= 0 || each > 0) &&
           (LOOP_STEP_LIMIT == 0 || f->steps + n <= LOOP_STEP_LIMIT);
}
#if !defined(KC_CUDA)
/* Whether two of n rounds have an item in common: each is run as far as its section, where it leaves its locks' items.
 */
FN bool LOOP(alike)(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, PRIV LOOP_FRAME *f,
                    const u32 n) {
    u64 look[SITES];
    u32 names[32][SITES];
    (void)names;
    bool alike = false;
    for (u32 k = 0; k < n; k++) {
        if (LOOP(round)(kp, call, pos, undo, slot, f, k, 0, look) != RUN_SERIALLY) alike = true;
        for (u32 i = 0; i < LOOP_LOCKS; i++) names[k][i] = (u32)look[i];
    }
    for (u32 i = 0; i < n; i++) {
        for (u32 k = 0; k < n; k++) {
            if (i == k) continue;
            LOOP_ALIKE(i, k)
        }
    }
    return alike;
}
#endif
/* EACH_VAR: the variable gets the value of the last round, or of the last one that has assigned it. */
#define LAST(v, type, w)                                      \
    {                                                         \
        const u64 y = PART(n - 1, w), z = PART(n - 1, w + 1); \
        if (LEADS) {                                          \
            f->y##v = (type)y;                                \
            f->z##v = (z & 1) != 0;                           \
        }                                                     \
    }
#if defined(KC_CUDA)
#define LAST_SET(w) const i32 k = 31 - __clz((i32)__ballot_sync(~0u, lane < n && (left[w + 1] & 2) != 0));
#else
#define LAST_SET(w)     \
    i32 k = (i32)n - 1; \
    while (k >= 0 && (left[k][w + 1] & 2) == 0) k--;
#endif
#define SET(v, type, w)                                             \
    {                                                               \
        LAST_SET(w)                                                 \
        if (k >= 0) {                                               \
            const u64 y = PART((u32)k, w), z = PART((u32)k, w + 1); \
            if (LEADS) {                                            \
                f->y##v = (type)y;                                  \
                f->z##v = (z & 1) != 0;                             \
            }                                                       \
        }                                                           \
    }
/* The state to go on from: the loop's top, with the counter behind these rounds, or with `serial` set in the frame. */
FN u32 LOOP(loop)(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, PRIV LOOP_FRAME *f) {
#if defined(KC_CUDA)
    const u32 lane = LID & 31u;
    u64 left[WORDS];
#else
    u64 left[32][WORDS];
    u32 statuses[32];
#endif
    /* 1. how many rounds, and room for what each one logs */
    const u64 gap = (u64)(f->LOOP_HI - f->LOOP_CUR), by = (u64)f->LOOP_BY, in_all = by == 1 ? gap + 1 : gap / by + 1;
    const u32 n = in_all < 32 ? (u32)in_all : 32u;
#if LOOP_LOGS >= 0
    const u32 each = LOOP_LOGS;
#else
    const u32 each = f->n_undo + N_SITES < UNDO_MAX ? (UNDO_MAX - N_SITES - f->n_undo) / n : 0;
#endif
    const bool room = LOOP(room)(kp, f, n, each);
    TOGETHER();
    if (!room) {
        if (LEADS) f->serial = 1;
        return LOOP_STATE;
    }
    /* 2. the rounds */
#if defined(KC_CUDA)
    u32 status = 0;
    if (lane < n) status = LOOP(round)(kp, call, pos, undo, slot, f, lane, ~0u >> (32 - n), left);
    if (__any_sync(~0u, status == RUN_SERIALLY)) {
        if (LEADS) f->serial = 1;
        return LOOP_STATE;
    }
#else
    if (LOOP(alike)(kp, call, pos, undo, slot, f, n)) {
        f->serial = 1;
        return LOOP_STATE;
    }
    for (u32 k = n; k-- > 0;) statuses[k] = LOOP(round)(kp, call, pos, undo, slot, f, k, ~0u, left[k]);
#endif
    /* 3. what they have left */
    const u64 had_steps = f->steps;
    const u32 had_undo = f->n_undo;
    const i64 cur = f->LOOP_CUR;
    u32 failed = 0, spilled = f->spilled;
    u64 steps = had_steps;
#define SUM(v, w, most, less)        \
    const i64 had##v = (i64)f->y##v; \
    i64 sum##v = had##v;             \
    bool there##v = f->z##v;
    EACH_SUM_VAR(SUM)
#undef SUM
    TOGETHER();
#if defined(KC_CUDA)
    /* lanes' parts come together at once, where none failed and no sum can leave its range on the way */
    if (__any_sync(~0u, lane < n && (left[W_SPILLED] & 1) != 0)) spilled |= 1;
    if (__any_sync(~0u, lane < n && (left[W_SPILLED] & 2) != 0)) spilled |= 2;
    steps += (u64)lanes_sum(lane < n ? (i64)(left[W_STEPS] - had_steps) : 0);
    bool at_once = !__any_sync(~0u, lane < n && status != 0);
#define SUM(v, w, most, less)                                                                              \
    const i64 more##v = lane < n ? (i64)(left[w] - (u64)had##v) : 0;                                       \
    const u64 size##v = size_of(had##v), room##v = size##v < U64C(most) ? (U64C(most) - size##v) / 32 : 0; \
    at_once =                                                                                              \
        at_once && there##v && __all_sync(~0u, lane >= n || ((left[w + 1] & 1) != 0 && size_of(more##v) <= room##v));
    EACH_SUM_VAR(SUM)
#undef SUM
#define SUM(v, w, most, less) \
    if (at_once) sum##v += lanes_sum(more##v);
    EACH_SUM_VAR(SUM)
#undef SUM
#else
    for (u32 k = 0; k < n; k++) {
        spilled |= (u32)PART(k, W_SPILLED);
        steps += PART(k, W_STEPS) - had_steps;
    }
    const bool at_once = false;
#endif
    ROLLED for (u32 k = 0; k < n && !at_once; k++) {
        const u32 ended = STATUS(k);
        if (ended != 0) {
            failed = LOOP_FAILS(ended);
            break;
        }
#define SUM(v, w, most, less)                                                                       \
    {                                                                                               \
        const i64 more = (i64)(PART(k, w) - (u64)had##v);                                           \
        there##v = (PART(k, w + 1) & 1) != 0 && there##v;                                           \
        const u32 bad = there##v ? ovf_add_i64(sum##v, more, &sum##v) : 0;                          \
        if (there##v && (bad != 0 || sum##v > (i64)U64C(most) || sum##v < -(i64)U64C(most) - less)) \
            failed = LOOP_NO_ROOM;                                                                  \
    }
        EACH_SUM_VAR(SUM)
#undef SUM
        if (failed != 0) break;
    }
    if (LOOP_STEP_LIMIT != 0 && steps > LOOP_STEP_LIMIT) failed = LOOP_STEPS;
#define SUM(v, type)            \
    if (LEADS) {                \
        f->y##v = (type)sum##v; \
        f->z##v = there##v;     \
    }
    EACH_VAR(SUM, LAST, SET)
#undef SUM
#undef LAST
#undef LAST_SET
#undef SET
    if (LEADS) {
        f->LOOP_CUR = (i64)((u64)cur + n * by);
        f->n_undo = had_undo + n * each;
        f->steps = steps;
        f->rounds += n;
        f->spilled = spilled;
        f->failed = failed;
#define INSERT(t, count) f->i##t += (i64)n * count;
        EACH_INSERT(INSERT)
#undef INSERT
    }
    TOGETHER();
    return LOOP_STATE;
}
#undef LEADS
#undef PART
#undef STATUS
#undef TOGETHER
#undef LOOP
#undef LOOP_STATE
#undef LOOP_CUR
#undef LOOP_HI
#undef LOOP_BY
#undef LOOP_LOGS
#undef LOOP_LOCKS
#undef LOOP_ALIKE
#undef LOOP_STEP_LIMIT
#undef LOOP_FAILS
#undef LOOP_NO_ROOM
#undef LOOP_STEPS
#undef EACH_SUM_VAR
#undef EACH_VAR
#undef EACH_INSERT
