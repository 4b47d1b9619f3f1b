/* kp_rows.h - rows of images in kernels of procedures: their strings, rows that are dead, sums, and what lookups
 * fetch beforehand. Rows are changed in place, by the rules of txn/store/image.h.
 *
 * A row's columns are changed by the call that has the lock of the row (or of the column) alone, so plain loads and
 * stores will do, and the fences of that lock order them (kp_base.h). What calls do to a table at the same time goes
 * by atomics: room for strings, links and slots of indexes (kp_find.h, kp_enter.h), and additions to columns that
 * calls only add to. Whether a row is there is its byte in `live`, which a call that looks it up reads fresh (GFRESH,
 * GVOL), since another call may just have entered it.
 *
 * Strings. A cell has the address, the length and the first four bytes. On a device with memory of its own, cells of
 * images keep the host's addresses: `by` and `back` lead from these to the device's. Strings are never changed, only
 * replaced; the room of those that are replaced is not used again before the image is stored.
 */
#ifndef KP_ROWS_H
#define KP_ROWS_H
#include "codegen/prelude/txn/kp_base.h"

/* A slot of an index: 0, or the upper bits of the key's hash and, in these, the row + 1. */
#define ENTRY_ROWS U64C(0xffffffffff)
/* To the second-level cache: what a tile's calls want is more than a first-level cache has. On the host only. */
#define FETCH(address) __builtin_prefetch((const void *)(address), 0, 2)

/* ---- slots of a line ----------------------------------------------------------------------------------- */
/* Where the processor compares four slots at once, those of a hash's cache line are compared without a branch for each:
 * which of them has the entry is not to be foretold, and a wrong guess costs more than they do. */
#if defined(KC_HOST) && defined(__AVX2__)
#define SLOTS_BY_LINE 1
typedef u64 four_slots __attribute__((vector_size(32), aligned(8)));
typedef double four_doubles __attribute__((vector_size(32)));
FN u32 four_like(u64 at, u64 h) {
    const four_slots upper = (*(const volatile four_slots *)at ^ h) >> 40;
    return (u32)__builtin_ia32_movmskpd256((four_doubles)(upper == 0));
}
/* The first entry of this hash in its line; 0: there is none, or it is not seen behind a free slot. */
FN u64 slot_in_line(u64 slots, u64 mask, u64 h) {
    const u64 line = slots + (h & mask & ~U64C(7)) * 8;
    const u32 like = four_like(line, h) | four_like(line + 32, h) << 4;
    return like != 0 ? GFRESH(u64, line)[ctz_u64(like)] : 0;
}
#else
#define SLOTS_BY_LINE 0
#endif

/* ---- dense rows: their number follows from a key of one integer, and they have no entries ---------------- */
/* The row that has the key; -1: it may be in the slots. */
FN i64 dense_row(u64 first, u64 dense, u64 live, u64 key) {
    const u64 row = key - first;
    return row < dense && GFRESH(u8, live)[row] == ROW_LIVE ? (i64)row : -1;
}
/* What stands for a key that is looked for soon: the row's number + 1, where it follows from the key, or the hash. A
 * hash that is as small names the wrong row, which is only fetched. */
FN u64 dense_place(u64 first, u64 dense, u64 key, u64 h) { return key - first < dense ? key - first + 1 : h; }
/* Where the search for it looks first. */
FN u64 dense_first_look(u64 dense, u64 live, u64 slots, u64 mask, u64 place) {
    return place - 1 < dense ? live + (place - 1) : slots + (place & mask) * 8;
}

/* ---- strings ------------------------------------------------------------------------------------------- */
FN str ld_text(u64 a) { return str_make(G(u64, a)[0], (i64)G(u32, a)[2]); }
FN str str_moved(str s, u64 by) { return str_make(s.ptr + by, s.len); }
FN void st_text(u64 a, str s, u64 back) {
    const u32 prefix = s.len > 0 ? (u32)ld_part(s.ptr, s.len < 4 ? s.len : 4) : 0;
    G(u64, a)[0] = s.ptr != 0 ? s.ptr - back : 0;
    G(u32, a)[2] = (u32)s.len;
    G(u32, a)[3] = prefix;
}
/* Copies a string to the room for them: `heap` is the address of u64[2], where the next one goes, and the end.
 * Strings begin at multiples of 8. 0: there is no room. */
FN_LONG u64 put_text(u64 heap, str s) {
    if (s.len == 0) return G(u64, heap)[1];
    const u64 bytes = ((u64)s.len + 7) & ~U64C(7), at = ga_add_u64(heap, bytes);
    if (at + bytes > G(u64, heap)[1]) return 0;
    copy_words(at, s.ptr, s.len);
    return at;
}
/* The same from a piece of the room that the item has to itself, `piece` being the address of its u64[2]: the counter
 * of the room is shared by all, and so is dear. */
FN u64 put_near(u64 heap, u64 piece, str s) {
    const u64 bytes = (u64)s.len;
    if (s.len == 0 || bytes > TEXT_PIECE / 4) return put_text(heap, s);
    u64 at = G(u64, piece)[0];
    if (G(u64, piece)[1] - at < bytes) {
        at = ga_add_u64(heap, TEXT_PIECE);
        if (at + TEXT_PIECE > G(u64, heap)[1]) return 0;
        G(u64, piece)[1] = at + TEXT_PIECE;
    }
    G(u64, piece)[0] = at + bytes;
    copy_words(at, s.ptr, s.len);
    return at;
}

/* ---- groups of an index that are in no order: lists ---------------------------------------------------- */
/* The first row of the list from `row` on that is there; -1 none. next[row]: the row that follows, + 1. */
FN i64 skip_dead(u64 next, u64 live, i64 row) {
    while (row >= 0 && GFRESH(u8, live)[row] != ROW_LIVE) row = GFRESH(i64, next)[row] - 1;
    return row;
}

/* ---- sums ---------------------------------------------------------------------------------------------- */
/* The greatest magnitude that was put in a column. */
FN u64 max_abs(u64 most, i64 v) {
    const u64 a = v < 0 ? 0 - (u64)v : (u64)v;
    return a > most ? a : most;
}
/* Adds to 16 bits, modulo 2^16: to the half of a word, by compare-and-swap. */
FN void ga_add_i16(u64 addr, u32 v) {
    const u64 word = addr & ~U64C(3);
    const u32 shift = ((u32)addr & 2u) * 8u, mask = 0xffffu << shift;
    u32 old = GVOL(u32, word)[0];
    for (;;) {
        const u32 seen = ga_cas_u32(word, old, (old & ~mask) | ((((old >> shift) + v) << shift) & mask));
        if (seen == old) return;
        old = seen;
    }
}

/* ---- hashes of items and keys -------------------------------------------------------------------------- */
FN u64 hash_null(u64 h) { return hash_u64(h); }
/* 128 bits as vm_rows.c has them. */
FN u64 hash_wide(u64 h, i128 v) {
    h = hash_key(h, i128_lo(v));
    return i128_fits_i64(v) ? h : hash_key(h, i128_hi(v));
}

/* ---- prefetching --------------------------------------------------------------------------------------- */
/* The row that the entry of a key names, by its hash, most likely; -1 none. A hint: for what is fetched only. */
FN i64 row_prefetched(u64 slots, u64 mask, u64 h) {
#if SLOTS_BY_LINE
    return (i64)(slot_in_line(slots, mask, h) & ENTRY_ROWS) - 1;
#else
    for (u64 n = 0; n < 8; n++) {
        const u64 s = GFRESH(u64, slots)[SLOT_AT(h, n, mask)];
        if (s == 0) return -1;
        if (((s ^ h) & ~ENTRY_ROWS) == 0) return (i64)(s & ENTRY_ROWS) - 1;
    }
    return -1;
#endif
}
FN i64 dense_prefetched(u64 dense, u64 slots, u64 mask, u64 place) {
    return place - 1 < dense ? (i64)place - 1 : row_prefetched(slots, mask, place);
}

#endif
