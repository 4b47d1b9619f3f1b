/* kp_slots.h - the first slots of a key in an index, for kp_find.h and kp_enter.h on devices with many items.
 *
 * One function for all indexes: calls of a multiprocessor share its instructions. SLOTS_AT_ONCE, 0: not wanted;
 * FN_SLOTS: FN, or FN_BIG in modules with statement locks, whose functions are long.
 */
#ifndef KP_SLOTS_H
#define KP_SLOTS_H
#include "codegen/prelude/txn/kp_rows.h"

#if !defined(SLOTS_AT_ONCE)
#define SLOTS_AT_ONCE 4
#define FN_SLOTS FN
#endif
#if SLOTS_AT_ONCE > 0
typedef struct {
    u64 slot;
    u32 ahead;
} slot_seen;
/* Reads the first slots of hash h together. `slot` is the first one that is free or has an entry of this hash,
 * `ahead` how many are before it; SLOTS_AT_ONCE: there is none among them. */
FN_SLOTS slot_seen slots_look(const u64 slots, const u64 mask, const u64 h) {
    u64 at[SLOTS_AT_ONCE];
    slot_seen seen = {0, SLOTS_AT_ONCE};
    UNROLL for (u32 k = 0; k < SLOTS_AT_ONCE; k++) at[k] = GFRESH(u64, slots)[SLOT_AT(h, (u64)k, mask)];
    UNROLL for (u32 k = SLOTS_AT_ONCE; k-- > 0;) {
        if (at[k] == 0 || ((at[k] ^ h) & ~ENTRY_ROWS) == 0) {
            seen.slot = at[k];
            seen.ahead = k;
        }
    }
    return seen;
}
#endif

#endif
