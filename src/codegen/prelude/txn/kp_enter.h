/* kp_enter.h - entering a row by its key: a template, taken in once for each index of a table that kernels insert
 * into. kp_find.h says what an index is.
 *
 * The caller has written the row's cells, set its byte in `live` to ROW_PENDING and passed FENCE_GIVE; it sets the
 * byte to ROW_LIVE when the row is in all indexes, or to ROW_DEAD. A slot is taken by compare-and-swap, from 0 to
 * an entry; it is never given back. No locks: several calls may enter rows at the same time. Of two rows with one key
 * in a unique index, the one that comes second finds the first one's entry, and fails where that row is there. A row
 * that is pending does not count, so calls that may insert one key have a lock of it (txn/README.md).
 *
 * Groups. In an index that is not unique, the slot has the first row of the group: a list (next[row] is the row that
 * follows + 1), where a row is put in front by compare-and-swap of the slot, after its own link was written and
 * published (FENCE_GIVE); or, with INDEX_ORDER, a skip list that begins at the first row that came (kc_order.h).
 * Lists are in no fixed order where several calls insert into one group.
 *
 * On CUDA lanes of a warp that enter rows of one group at the same time link them among themselves first, so that one
 * compare-and-swap does for all: INDEX_BY_WARP, for keys of integers.
 *
 * Defined by the emitter, and undefined here: INDEX, KEY_PARAMS, KEY_ARGS, INDEX_HASH, INDEX_DENSE as for kp_find.h;
 *   INDEX_UNIQUE       0, 1
 *   INDEX_ORDER        the kind of values that groups are in order of (kc_order.h), or 0
 *   INDEX_BY_WARP      0, 1
 *   KEY_EQUAL          whether `row` has the key
 *   KEY_MATCH          "& __match_any_sync(here, k)" for each value k of the key
 */
#include "codegen/prelude/txn/kp_alone.h"

#if INDEX_ORDER != 0
#define ORDER_PARAM u64 order,
#define ORDER_ARG order,
#else
#define ORDER_PARAM
#define ORDER_ARG
#endif
#if INDEX_DENSE
#define DENSE_PARAMS , u64 first, u64 dense
#else
#define DENSE_PARAMS
#endif
/* False when a row that is there has the key (unique); `mine`: the row that is entered; `next`: the links of groups. */
#if SLOTS_AT_ONCE > 0
FN_BIG bool INDEX(enter_on)(u64 slots, u64 mask, u64 live, u64 next, ORDER_PARAM i64 mine KEY_PARAMS, const u64 h,
                            const u64 entry, const u64 from) {
#else
FN bool INDEX(enter)(u64 slots, u64 mask, u64 live, u64 next, ORDER_PARAM i64 mine DENSE_PARAMS KEY_PARAMS) {
#if INDEX_DENSE
    if (dense_row(first, dense, live, (u64)(i64)k0) >= 0) return false;
#endif
    INDEX_HASH
    const u64 entry = (h & ~ENTRY_ROWS) | ((u64)mine + 1);
    const u64 from = 0;
#endif
    for (u64 n = from;; n++) {
        const u64 i = SLOT_AT(h, n, mask);
        u64 s = GVOL(u64, slots)[i];
#if INDEX_UNIQUE
        if (s == 0) {
            s = ga_cas_u64(slots + i * 8, 0, entry);
            if (s == 0) return true;
        }
        if (((s ^ h) & ~ENTRY_ROWS) != 0) continue;
        const i64 row = (i64)(s & ENTRY_ROWS) - 1;
        if (KEY_EQUAL && GVOL(u8, live)[row] == ROW_LIVE) return false;
#elif INDEX_ORDER != 0
        if (s == 0) {
            ord_begin(next, mine);
            FENCE_GIVE();
            s = ga_cas_u64(slots + i * 8, 0, entry);
            if (s == 0) return true;
        }
        if (((s ^ h) & ~ENTRY_ROWS) != 0) continue;
        const i64 row = (i64)(s & ENTRY_ROWS) - 1;
        if (KEY_EQUAL) {
            ord_enter(next, order, INDEX_ORDER, row, mine);
            return true;
        }
#else
    for (;;) {
        if (s != 0) {
            if (((s ^ h) & ~ENTRY_ROWS) != 0) break;
            const i64 row = (i64)(s & ENTRY_ROWS) - 1;
            if (!(KEY_EQUAL)) break;
        }
#if INDEX_BY_WARP && defined(KC_CUDA)
        const u32 here = __activemask(), lane = LID & 31u, same = __match_any_sync(here, i) KEY_MATCH,
                  below = same & ((1u << lane) - 1);
        const i32 last = 31 - __clz((i32)same);
        const i64 before = __shfl_sync(same, mine, below != 0 ? 31 - __clz((i32)below) : (i32)lane) + 1;
        s = __shfl_sync(same, s, last);
        GVOL(i64, next)[mine] = below != 0 ? before : (i64)(s & ENTRY_ROWS);
        FENCE_GIVE();
        __syncwarp(same);
        u64 seen = 0;
        if ((i32)lane == last) seen = ga_cas_u64(slots + i * 8, s, entry);
        seen = __shfl_sync(same, seen, last);
#else
        GVOL(i64, next)[mine] = (i64)(s & ENTRY_ROWS);
        FENCE_GIVE();
        const u64 seen = ga_cas_u64(slots + i * 8, s, entry);
#endif
        if (seen == s) return true;
        s = seen;
    }
#endif
    }
}
#if SLOTS_AT_ONCE > 0
FN bool INDEX(enter)(u64 slots, u64 mask, u64 live, u64 next, ORDER_PARAM i64 mine DENSE_PARAMS KEY_PARAMS) {
#if INDEX_DENSE
    if (dense_row(first, dense, live, (u64)(i64)k0) >= 0) return false;
#endif
    INDEX_HASH
    const u64 entry = (h & ~ENTRY_ROWS) | ((u64)mine + 1);
    const slot_seen seen = slots_look(slots, mask, h);
    bool here = seen.ahead < SLOTS_AT_ONCE;
    const u64 n = seen.ahead, s = seen.slot;
    bool made = false;
    if (here && s == 0) {
#if INDEX_ORDER != 0
        ord_begin(next, mine);
#elif !INDEX_UNIQUE
        GVOL(i64, next)[mine] = 0;
#endif
#if !INDEX_UNIQUE
        FENCE_GIVE();
#endif
        made = ga_cas_u64(slots + SLOT_AT(h, n, mask) * 8, 0, entry) == 0;
    }
    if (!made) made = INDEX(enter_on)(slots, mask, live, next, ORDER_ARG mine KEY_ARGS, h, entry, n);
    return made;
}
#endif
#undef INDEX
#undef INDEX_UNIQUE
#undef INDEX_ORDER
#undef INDEX_BY_WARP
#undef KEY_PARAMS
#undef KEY_ARGS
#undef INDEX_HASH
#undef INDEX_DENSE
#undef DENSE_PARAMS
#undef KEY_EQUAL
#undef KEY_MATCH
#undef ORDER_PARAM
#undef ORDER_ARG
