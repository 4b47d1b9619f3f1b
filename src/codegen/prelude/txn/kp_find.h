/* kp_find.h - looking for a row by a key: a template, taken in once for each index that kernels look in.
 *
 * An index is a hash table of 64-bit slots (kp_rows.h, ENTRY_ROWS), searched in the order of SLOT_AT; entries are never
 * moved or removed while kernels run, so a search needs no lock. It may run beside kp_enter.h: an entry names its row
 * only after the cells of the row's key were written (release there; the reader's loads depend on the entry, and are
 * fresh). A unique index may have entries of rows that are not there (ROW_DEAD, ROW_PENDING): these are passed over.
 * In other indexes the entry names the first row of a group, and a call that follows the group looks at `live`.
 *
 * Defined by the emitter, and undefined here:
 *   INDEX(f)           the name of function f of this index
 *   KEY_PARAMS         ", type name" for the addresses of the key's columns (c0 ..) and the values of the key (k0 ..)
 *   KEY_ARGS           the same as arguments
 *   INDEX_HASH           declares h, the hash of the key
 *   INDEX_DENSE        0, 1: the first rows may have no entries (ImageIndex.dense); `first` and `dense` are parameters
 *   KEY_FOUND          whether `row` has the key and, if the index is unique, is there
 * and for the module: SLOTS_AT_ONCE (kp_slots.h).
 *
 * A GPU looks at the first slots together. A loop that reads what others write meanwhile is one that waits, to
 * compilers, and lanes that have left it do not reconverge behind it; so what goes on from there is a function of its
 * own, find_on, which few keys need.
 */
#include "codegen/prelude/txn/kp_alone.h"

#if INDEX_DENSE
#define DENSE_PARAMS , u64 first, u64 dense
#else
#define DENSE_PARAMS
#endif
/* The row that has the key, or the first one of its group; -1 none. */
#if SLOTS_AT_ONCE > 0
FN_BIG i64 INDEX(find_on)(u64 slots, u64 mask, u64 live KEY_PARAMS, const u64 h, const u64 from) {
#else
FN i64 INDEX(find)(u64 slots, u64 mask, u64 live DENSE_PARAMS KEY_PARAMS) {
#if INDEX_DENSE
    const i64 numbered = dense_row(first, dense, live, (u64)(i64)k0);
    if (numbered >= 0) return numbered;
#endif
    INDEX_HASH
    const u64 from = 0;
#if SLOTS_BY_LINE
    const u64 near = slot_in_line(slots, mask, h);
    if (near != 0) {
        const i64 row = (i64)(near & ENTRY_ROWS) - 1;
        if (KEY_FOUND) return row;
    }
#endif
#endif
    for (u64 n = from;; n++) {
        const u64 s = GFRESH(u64, slots)[SLOT_AT(h, n, mask)];
        if (s == 0) return -1;
        if (((s ^ h) & ~ENTRY_ROWS) != 0) continue;
        const i64 row = (i64)(s & ENTRY_ROWS) - 1;
        if (KEY_FOUND) return row;
    }
}
#if SLOTS_AT_ONCE > 0
FN i64 INDEX(find)(u64 slots, u64 mask, u64 live DENSE_PARAMS KEY_PARAMS) {
#if INDEX_DENSE
    const i64 numbered = dense_row(first, dense, live, (u64)(i64)k0);
    if (numbered >= 0) return numbered;
#endif
    INDEX_HASH
    const slot_seen seen = slots_look(slots, mask, h);
    bool here = seen.ahead < SLOTS_AT_ONCE;
    const u64 n = here ? seen.ahead + 1 : SLOTS_AT_ONCE, s = seen.slot;
    i64 row = -1;
    if (here && s != 0) {
        row = (i64)(s & ENTRY_ROWS) - 1;
        here = KEY_FOUND;
    }
    if (!here) row = INDEX(find_on)(slots, mask, live KEY_ARGS, h, n);
    return row;
}
#endif
#undef INDEX
#undef KEY_PARAMS
#undef KEY_ARGS
#undef INDEX_HASH
#undef INDEX_DENSE
#undef DENSE_PARAMS
#undef KEY_FOUND
