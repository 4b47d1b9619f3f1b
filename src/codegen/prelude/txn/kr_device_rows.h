/* kr_device_rows.h - the rows that bulks have left on a device, as a query there reads tablets
 * (txn/store/device_rows.c launches these).
 *
 *   rd_deleted  bits of rows that do not live, and their number, by tablet
 *   rd_zones    bounds and NULLs of columns, by tablet
 *   rd_find     one row by a unique key: all that the image has of it
 *   rd_column   a column's cells side by side, and bits of those that have a value
 *   rd_texts    strings side by side, from a list of address, length and place
 *
 * Rows lie in memory at a stride, each column at its place in the row, with a byte that says whether the row lives and
 * a byte per column that says whether it has a value. Tablets are runs of these rows. Each has its places in the arrays
 * that are made here from a multiple of 64 on, so that bits of two tablets share no word.
 */
#ifndef KR_DEVICE_ROWS_H
#define KR_DEVICE_ROWS_H
#include "codegen/prelude/kc_state.h"
#include "codegen/prelude/txn/kr_image.h"
#include "codegen/prelude/txn/kr_device_rows_codes.h"

#define TABLET(t, word) GRO(u64, P(RD_TABLETS))[(t)*RD_TABLET_WORDS + (word)]
/* The tablet of a place (word 0) or of a piece of work (word 3): the last one that does not begin behind it. */
FN u64 rd_tablet_of(u64 tablets, u64 n, u64 word, u64 at) {
    u64 lo = 0, hi = n;
    while (hi - lo > 1) {
        const u64 mid = (lo + hi) / 2;
        if (GRO(u64, tablets)[mid * RD_TABLET_WORDS + word] <= at) lo = mid;
        else hi = mid;
    }
    return lo;
}

KERNEL(rd_deleted) {
    const u64 words = P(RD_PLACES) / 64, live = P(RD_LIVE), bits = P(RD_BITS), counts = P(RD_COUNTS);
    for (u64 w = GID * LSIZE + LID; w < words; w += NGROUPS * LSIZE) {
        const u64 t = rd_tablet_of(P(RD_TABLETS), P(RD_N_TABLETS), 0, w * 64), first = w * 64 - TABLET(t, 0),
                  rows = TABLET(t, 2), row = TABLET(t, 1) + first, n = first < rows ? rows - first : 0;
        u64 word = 0, dead = 0;
        for (u64 i = 0; i < 64 && i < n; i++) {
            if ((u32)GRO(u8, live)[row + i] == CELL_ROW_LIVE) continue;
            word |= U64C(1) << i;
            dead++;
        }
        if (bits != 0) G(u64, bits)[w] = word;
        if (counts != 0 && dead > 0) ga_add_u64(counts + t * 8, dead);
    }
}

FN bool rd_is_whole(u32 phys) { return phys <= CELL_I64; }
FN u64 rd_whole_bits(u32 phys, u64 at) {
    const i64 v = phys == CELL_BOOL  ? (i64)G(u8, at)[0]
                  : phys == CELL_I16 ? (i64)G(i16, at)[0]
                  : phys == CELL_I32 ? (i64)G(i32, at)[0]
                                     : G(i64, at)[0];
    return (u64)v ^ (U64C(1) << 63);
}
KERNEL(rd_zones) {
    const u64 live = P(RD_LIVE), n_cols = P(RD_N_COLS), work = P(RD_WORK);
    for (u64 k = GID; k < work; k += NGROUPS) {
        const u64 t = rd_tablet_of(P(RD_TABLETS), P(RD_N_TABLETS), 3, k), from = (k - TABLET(t, 3)) * RD_ZONE_ROWS,
                  row = TABLET(t, 1), rows = TABLET(t, 2),
                  end = rows - from < RD_ZONE_ROWS ? rows : from + RD_ZONE_ROWS;
        for (u64 c = 0; c < n_cols; c++) {
            const u64 col = P(RD_COLS) + c * CELL_COL_WORDS * 8, cells = GRO(u64, col)[1], stride = GRO(u64, col)[2],
                      valid = GRO(u64, col)[3], to = P(RD_TO) + (t * n_cols + c) * RD_ZONE_WORDS * 8;
            const u32 phys = (u32)GRO(u64, col)[0];
            if (cells == 0) continue;
            u64 most = 0, least = 0, nulls = 0;
            for (u64 i = row + from + LID; i < row + end; i += LSIZE) {
                if ((u32)GRO(u8, live)[i] != CELL_ROW_LIVE) continue;
                if (valid != 0 && G(u8, valid + i * stride)[0] == 0) {
                    nulls++;
                } else if (rd_is_whole(phys)) {
                    const u64 v = rd_whole_bits(phys, cells + i * stride);
                    most = v > most ? v : most;
                    least = ~v > least ? ~v : least;
                }
            }
            most = group_max_u64(most, LM(u64, 0));
            least = group_max_u64(least, LM(u64, 0));
            nulls = group_sum_u64(nulls, LM(u64, 0));
            if (LID != 0) continue;
            if (most > 0) ga_max_u64(to, most);
            if (least > 0) ga_max_u64(to + 8, least);
            if (nulls > 0) ga_add_u64(to + 16, nulls);
        }
    }
}

FN void rd_copy_cell(u32 phys, u64 to, u64 at, u64 texts) {
    switch (phys) {
    case CELL_BOOL: G(u8, to)[0] = G(u8, at)[0]; break;
    case CELL_I16: G(u16, to)[0] = G(u16, at)[0]; break;
    case CELL_I32:
    case CELL_F32: G(u32, to)[0] = G(u32, at)[0]; break;
    case CELL_I64:
    case CELL_F64: G(u64, to)[0] = G(u64, at)[0]; break;
    case CELL_STR: /* behind the length there may be anything */
        G(u64, to)[0] = G(u64, at)[0] + texts;
        G(u64, to)[1] = (u64)G(u32, at)[2];
        break;
    default: G(u64, to)[0] = G(u64, at)[0]; G(u64, to)[1] = G(u64, at)[1];
    }
}
FN void rd_dead_cell(u32 phys, u64 to, u64 v) {
    switch (phys) {
    case CELL_BOOL: G(u8, to)[0] = (u8)v; break;
    case CELL_I16: G(u16, to)[0] = (u16)v; break;
    case CELL_I32:
    case CELL_F32: G(u32, to)[0] = (u32)v; break;
    case CELL_I64:
    case CELL_F64: G(u64, to)[0] = v; break;
    default: G(u64, to)[0] = G(u64, to)[1] = 0;
    }
}
FN u64 rd_cell_bytes(u32 phys) {
    return phys == CELL_BOOL                      ? 1
           : phys == CELL_I16                     ? 2
           : phys == CELL_I32 || phys == CELL_F32 ? 4
           : phys == CELL_I64 || phys == CELL_F64 ? 8
                                                  : 16;
}
KERNEL(rd_column) {
    const u64 places = P(RD_PLACES), live = P(RD_LIVE), col = P(RD_COLS), cells = GRO(u64, col)[1],
              stride = GRO(u64, col)[2], valid = GRO(u64, col)[3], to = P(RD_TO), bits = P(RD_BITS);
    const u32 phys = (u32)GRO(u64, col)[0];
    for (u64 p = GID * LSIZE + LID; p < places; p += NGROUPS * LSIZE) {
        const u64 t = rd_tablet_of(P(RD_TABLETS), P(RD_N_TABLETS), 0, p), at = p - TABLET(t, 0),
                  row = TABLET(t, 1) + at, cell = to + p * rd_cell_bytes(phys);
        if (at < TABLET(t, 2) && (u32)GRO(u8, live)[row] == CELL_ROW_LIVE)
            rd_copy_cell(phys, cell, cells + row * stride, P(RD_TEXTS));
        else rd_dead_cell(phys, cell, P(RD_DEAD));
    }
    for (u64 w = GID * LSIZE + LID; bits != 0 && w < places / 64; w += NGROUPS * LSIZE) {
        const u64 t = rd_tablet_of(P(RD_TABLETS), P(RD_N_TABLETS), 0, w * 64), first = w * 64 - TABLET(t, 0),
                  rows = TABLET(t, 2), row = TABLET(t, 1) + first, n = first < rows ? rows - first : 0;
        u64 word = 0;
        for (u64 i = 0; i < 64 && i < n; i++) word |= (u64)(G(u8, valid + (row + i) * stride)[0] != 0) << i;
        G(u64, bits)[w] = word;
    }
}

KERNEL(rd_texts) {
    const u64 list = P(RD_COLS), n = P(RD_WORK), to = P(RD_TO);
    for (u64 i = GID * LSIZE + LID; i < n; i += NGROUPS * LSIZE) {
        const u64 from = GRO(u64, list)[i * RD_TEXT_WORDS], bytes = GRO(u64, list)[i * RD_TEXT_WORDS + 1],
                  at = to + GRO(u64, list)[i * RD_TEXT_WORDS + 2];
        for (u64 b = 0; b < bytes; b++) G(u8, at)[b] = G(u8, from)[b];
    }
}

/* ---- one row by its key ---- */
FN bool rd_same_bytes(u64 a, u64 b, u64 n) {
    for (u64 i = 0; i < n; i++)
        if (G(u8, a)[i] != G(u8, b)[i]) return false;
    return true;
}
/* A cell and a value of the key: in the same form, but that bytes of a string are at the key's own address. */
FN bool rd_is_key(u32 phys, u64 cell, u64 key, u64 texts) {
    if (phys != CELL_STR) return rd_same_bytes(cell, key, rd_cell_bytes(phys));
    const u64 n = (u64)G(u32, cell)[2];
    return n == (u64)G(u32, key)[2] && rd_same_bytes(G(u64, cell)[0] + texts, G(u64, key)[0], n);
}
FN bool rd_has_key(u64 row, u64 live, u64 cols, u64 n_cols, u64 texts) {
    const u64 keys = cols + n_cols * CELL_COL_WORDS * 8;
    if ((u32)GRO(u8, live)[row] != CELL_ROW_LIVE) return false;
    for (u64 c = 0; c < n_cols; c++) {
        const u64 col = cols + c * CELL_COL_WORDS * 8, at = row * GRO(u64, col)[2], valid = GRO(u64, col)[3];
        if (valid != 0 && G(u8, valid + at)[0] == 0) return false;
        if (!rd_is_key((u32)GRO(u64, col)[0], GRO(u64, col)[1] + at, keys + c * 16, texts)) return false;
    }
    return true;
}
/* One work-item: the row's number + 1 (0: there is none), its mark, and the bytes of its pieces. */
KERNEL(rd_find) {
    const u64 slots = P(RD_SLOTS), mask = P(RD_MASK), hash = P(RD_HASH), to = P(RD_TO);
    if (GID != 0 || LID != 0) return;
    u64 found = P(RD_DENSE);
    if (found != 0 && !rd_has_key(found - 1, P(RD_LIVE), P(RD_COLS), P(RD_N_COLS), P(RD_TEXTS))) found = 0;
    for (u64 n = 0; found == 0; n++) {
        const u64 s = GRO(u64, slots)[SLOT_AT(hash, n, mask)];
        if (s == 0) break;
        if (((s ^ hash) & ~ENTRY_ROWS) != 0) continue;
        if (rd_has_key((s & ENTRY_ROWS) - 1, P(RD_LIVE), P(RD_COLS), P(RD_N_COLS), P(RD_TEXTS))) found = s & ENTRY_ROWS;
    }
    G(u64, to)[0] = found;
    if (found == 0) return;
    G(u64, to)[1] = (u64)GRO(u8, P(RD_MARKS))[found - 1];
    u64 at = to + 16;
    for (u64 p = 0; p < RD_PIECES; p++) {
        const u64 n = P(RD_PIECE + 2 * p + 1), from = P(RD_PIECE + 2 * p) + (found - 1) * n;
        for (u64 i = 0; i < n; i++) G(u8, at)[i] = G(u8, from)[i];
        at += n;
    }
}

#endif
