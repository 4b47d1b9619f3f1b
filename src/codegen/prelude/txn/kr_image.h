/* kr_image.h - a table of an image's index is made larger, and a column looked at, where a device has it
 * (txn/store/device_kernels.c launches these).
 *
 *   image_count    how many entries a table has, and how many of them are of rows that live
 *   image_rehash   puts the entries into another table, which is zero
 *   image_bound    the greatest |value| of a column of whole numbers, of rows that live
 *   image_sizes    how many bytes the strings of rows have
 *   image_texts    puts them into another piece of memory
 *
 * An entry's place depends on more bits of the hash than it has, so the key's columns are read again. Of a unique index
 * only rows that live come along (LIVE is not 0), found by going through the rows, less those that need no entries
 * (DENSE); of a group index every entry, because lists begin there.
 */
#ifndef KR_IMAGE_H
#define KR_IMAGE_H
#include "codegen/prelude/kc_gen.h"
#include "codegen/prelude/kc_text.h"
#include "codegen/prelude/txn/kp_codes.h"
#include "codegen/prelude/txn/kr_image_codes.h"

#define ENTRY_ROWS U64C(0xffffffffff) /* of a slot; above them are bits of the hash */

FN u64 image_cell_hash(u32 phys, u64 at, u64 texts) {
    switch (phys) {
    case CELL_BOOL: return hash_i64((i64)G(u8, at)[0]);
    case CELL_I16: return hash_i64((i64)G(i16, at)[0]);
    case CELL_I32: return hash_i64((i64)G(i32, at)[0]);
    case CELL_I64: return hash_i64(G(i64, at)[0]);
    case CELL_I128: return hash_i128(ld_i128(at));
    case CELL_F32: return hash_f64((f64)G(f32, at)[0]);
    case CELL_F64: return hash_f64(G(f64, at)[0]);
    case CELL_STR: return hash_str(str_make(G(u64, at)[0] + texts, (i64)G(u32, at)[2]));
    case CELL_INTERVAL: return hash_iv(G(iv, at)[0]);
    default: return hash_uuid(G(uuid, at)[0]);
    }
}
/* What hash_key takes of a column's value. */
FN u64 image_cell_part(u32 phys, u64 at, u64 texts) {
    switch (phys) {
    case CELL_BOOL: return G(u8, at)[0];
    case CELL_I16: return (u64)(i64)G(i16, at)[0];
    case CELL_I32: return (u64)(i64)G(i32, at)[0];
    case CELL_I64: return G(u64, at)[0];
    default: return image_cell_hash(phys, at, texts);
    }
}
FN u64 image_row_hash(u64 cols, u64 n_cols, u64 texts, u64 row) {
    u64 h = 0;
    for (u64 c = 0; c < n_cols; c++) {
        const u64 col = cols + c * CELL_COL_WORDS * 8;
        const u32 phys = (u32)GRO(u64, col)[0];
        const u64 at = GRO(u64, col)[1] + row * GRO(u64, col)[2];
        h = c ? hash_key(h, image_cell_part(phys, at, texts)) : image_cell_hash(phys, at, texts);
    }
    return h;
}
FN u64 least_end(u64 from, u64 per, u64 n) { return n - from < per ? n : from + per; }

KERNEL(image_count) {
    const u64 n = P(IK_N), slots = P(IK_SLOTS), live = P(IK_LIVE), rows = live != 0 ? P(IK_ROWS) : 0,
              items = NGROUPS * LSIZE;
    u64 taken = 0, there = 0;
    for (u64 i = GID * LSIZE + LID; i < n; i += items) taken += GRO(u64, slots)[i] != 0;
    for (u64 row = P(IK_DENSE) + GID * LSIZE + LID; row < rows; row += items)
        there += (u32)GRO(u8, live)[row] == CELL_ROW_LIVE;
    if (live == 0) there = taken;
    if (taken) ga_add_u64(P(IK_RESULT), taken);
    if (there) ga_add_u64(P(IK_RESULT) + 8, there);
}

FN bool image_has_key(u64 cols, u64 n_cols, u64 row) {
    for (u64 c = 0; c < n_cols; c++) {
        const u64 col = cols + c * CELL_COL_WORDS * 8, valid = GRO(u64, col)[3];
        if (valid != 0 && G(u8, valid + row * GRO(u64, col)[2])[0] == 0) return false;
    }
    return true;
}
FN void image_put_slot(u64 to, u64 mask, u64 hash, u64 s) {
    u64 n = 0;
    while (ga_cas_u64(to + SLOT_AT(hash, n, mask) * 8, 0, s) != 0) n++;
}
/* A unique index by rows, which lie side by side; the entries of groups are wherever their hashes are. */
KERNEL(image_rehash) {
    const u64 slots = P(IK_SLOTS), live = P(IK_LIVE), n = live != 0 ? P(IK_ROWS) : P(IK_N), to = P(IK_TO),
              mask = P(IK_MASK), cols = P(IK_COLS), n_cols = P(IK_N_COLS), texts = P(IK_TEXTS);
    for (u64 i = P(IK_DENSE) + GID * LSIZE + LID; i < n; i += NGROUPS * LSIZE) {
        const u64 s = live != 0 ? i + 1 : GRO(u64, slots)[i], row = (s & ENTRY_ROWS) - 1;
        if (live != 0 ? (u32)GRO(u8, live)[row] != CELL_ROW_LIVE || !image_has_key(cols, n_cols, row) : s == 0)
            continue;
        const u64 hash = P(IK_HASHES) != 0 ? image_row_hash(cols, n_cols, texts, row) : 0;
        image_put_slot(to, mask, hash, live != 0 ? (hash & ~ENTRY_ROWS) | s : s);
    }
}

KERNEL(image_bound) {
    const u64 n = P(IK_N), live = P(IK_LIVE), col = P(IK_COLS), cells = GRO(u64, col)[1], stride = GRO(u64, col)[2],
              per = (n + NGROUPS - 1) / NGROUPS, from = GID * per;
    const u32 phys = (u32)GRO(u64, col)[0];
    const u64 end = from < n ? least_end(from, per, n) : 0;
    u64 most = 0;
    for (u64 i = from + LID; i < end; i += LSIZE) {
        if ((u32)GRO(u8, live)[i] != CELL_ROW_LIVE) continue;
        const u64 at = cells + i * stride;
        const i64 v = phys == CELL_I16 ? (i64)G(i16, at)[0] : phys == CELL_I32 ? (i64)G(i32, at)[0] : G(i64, at)[0];
        const u64 size = v < 0 ? 0 - (u64)v : (u64)v;
        if (size > most) most = size;
    }
    if (most > 0) ga_max_u64(P(IK_RESULT), most);
}

KERNEL(rows_live) {
    const u64 n = P(IK_N), live = P(IK_LIVE);
    u64 found = 0;
    for (u64 i = GID * LSIZE + LID; i < n; i += NGROUPS * LSIZE)
        if ((u32)GRO(u8, live)[i] == CELL_ROW_LIVE) found++;
    if (found > 0) ga_add_u64(P(IK_RESULT), found);
}

/* A string begins at a multiple of 8. */
FN u64 text_room(u32 len) { return ((u64)len + 7) & ~U64C(7); }
/* Of the row, all strings that are kept. */
FN u64 image_row_bytes(u64 cols, u64 n_cols, u64 live, u64 row) {
    const bool lives = (u32)GRO(u8, live)[row] == CELL_ROW_LIVE;
    u64 bytes = 0;
    for (u64 c = 0; c < n_cols; c++) {
        const u64 col = cols + c * CELL_COL_WORDS * 8;
        if (lives || GRO(u64, col)[0] != 0) bytes += text_room(G(u32, GRO(u64, col)[1] + row * GRO(u64, col)[2])[2]);
    }
    return bytes;
}
KERNEL(image_sizes) {
    const u64 n = P(IK_N), live = P(IK_LIVE), cols = P(IK_COLS), n_cols = P(IK_N_COLS),
              per = (n + NGROUPS - 1) / NGROUPS, from = GID * per;
    const u64 end = from < n ? least_end(from, per, n) : 0;
    u64 bytes = 0;
    for (u64 i = from + LID; i < end; i += LSIZE) bytes += image_row_bytes(cols, n_cols, live, i);
    if (bytes > 0) ga_add_u64(P(IK_RESULT), bytes);
}
KERNEL(image_texts) {
    const u64 n = P(IK_N), live = P(IK_LIVE), cols = P(IK_COLS), n_cols = P(IK_N_COLS), texts = P(IK_TEXTS),
              to = P(IK_TO), base = P(IK_BASE);
    const u64 per = (n + NGROUPS - 1) / NGROUPS, from = GID * per, end = from < n ? least_end(from, per, n) : 0;
    for (u64 i = from + LID; i < end; i += LSIZE) {
        const bool lives = (u32)GRO(u8, live)[i] == CELL_ROW_LIVE;
        const u64 bytes = image_row_bytes(cols, n_cols, live, i);
        u64 at = bytes > 0 ? ga_add_u64(P(IK_RESULT), bytes) : 0;
        for (u64 c = 0; c < n_cols; c++) {
            const u64 col = cols + c * CELL_COL_WORDS * 8, cell = GRO(u64, col)[1] + i * GRO(u64, col)[2];
            const u32 len = lives || GRO(u64, col)[0] != 0 ? G(u32, cell)[2] : 0;
            if (len > 0) {
                copy_words(to + at, G(u64, cell)[0] + texts, (i64)len);
                G(u64, cell)[0] = base + at;
                at += text_room(len);
            } else {
                G(u64, cell)[0] = base;
                G(u64, cell)[1] = 0;
            }
        }
    }
}

#endif
