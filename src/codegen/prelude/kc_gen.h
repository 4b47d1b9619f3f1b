/* kc_gen.h - what generated kernels share beyond values: device structs, strings of columns and dictionaries, hashes of
 * keys.
 *
 * The structs are those of codegen/emit.h; every field is read on its own, so that a kernel loads what it needs.
 */
#ifndef KC_GEN_H
#define KC_GEN_H
#include "codegen/prelude/kc_state.h"

typedef struct DTablet {
    u64 deleted;
    i64 rows, number, pad;
} DTablet;
typedef struct DColumn {
    u64 data, validity, var;
    i64 base;
    u32 form, stride;
    u64 patches;
} DColumn;

/* A field of column `tno`'s description: u64 0 data, 1 validity, 2 var, 3 base, 4 form | stride << 32, 5 patches. */
#define COL_data 0
#define COL_validity 1
#define COL_var 2
#define COL_base 3
#define COL_form 4
#define COL_patches 5
#define GRO_COL(columns, tno, field) (GRO(u64, columns)[(u64)(tno)*6 + COL_##field])
#define COL_STRIDE(columns, tno) (GRO_COL(columns, tno, form) >> 32)

/* Patch maps (exec/device/patch_map.h). Whether one of rows [first, end) has a new cell, or shares an entry with one;
 * 0: there is no map. */
FN bool patched_between(u64 map, u64 first, u64 end) {
    if (map == 0) return false;
    bool some = false;
    for (u64 i = first >> PATCH_MAP_SPAN_BITS; i << PATCH_MAP_SPAN_BITS < end; i++)
        some = some || GRO(u32, map)[i] != 0;
    return some;
}
/* The address of the row's new cell; 0: it has none. */
FN u64 patch_cell(u64 map, u64 row, u32 size) {
    const u64 at = GRO(u32, map)[row >> PATCH_MAP_SPAN_BITS];
    if (at == 0) return 0;
    const u32 word = (u32)(row >> 6) & 31u, bit = (u32)row & 63u;
    const u64 bits = GRO(u64, map + at)[word];
    if ((bits >> bit & 1) == 0) return 0;
    const u32 nth = (u32)GRO(u16, map + at + 256)[word] + popc_u64(bits & ((U64C(1) << bit) - 1));
    return map + at + PATCH_MAP_CELLS + (u64)nth * size;
}
FN u64 tablet_deleted(u64 tablets, u32 tno) { return GRO(u64, tablets)[(u64)tno * 4]; }
/* Runs of live rows, for the host: the first live row from `row` on, and the first deleted one; `end` when there is
 * none before it. */
FN u32 live_first(u64 deleted, u32 row, u32 end) {
    if (deleted == 0) return row;
    for (; row < end; row = (row | 63u) + 1) {
        const u64 live = ~GRO(u64, deleted)[row >> 6] >> (row & 63);
        if (live == 0) continue;
        row += ctz_u64(live);
        break;
    }
    return row < end ? row : end;
}
FN u32 live_end(u64 deleted, u32 row, u32 end) {
    if (deleted == 0) return end;
    for (; row < end; row = (row | 63u) + 1) {
        const u64 dead = GRO(u64, deleted)[row >> 6] >> (row & 63);
        if (dead == 0) continue;
        row += ctz_u64(dead);
        break;
    }
    return row < end ? row : end;
}
FN i64 tablet_rows(u64 tablets, u32 tno) { return GRO(i64, tablets)[(u64)tno * 4 + 1]; }
FN u64 tablet_number(u64 tablets, u32 tno) { return GRO(u64, tablets)[(u64)tno * 4 + 2]; }

FN str str_none(void) { return str_make(0, 0); }
FN uuid uuid_make(u64 a, u64 b) {
    uuid u;
    u.a = a;
    u.b = b;
    return u;
}
FN str column_str(u64 offsets, u64 var, u64 row) {
    u32 from = GRO(u32, offsets)[row], to = GRO(u32, offsets)[row + 1];
    return str_make(var + from, (i64)(to - from));
}
/* Str (types/type.h): an address, 32 bits of length and the first bytes. */
FN str open_str(u64 cells, u64 row) { return str_make(GRO(u64, cells)[2 * row], (i64)GRO(u32, cells)[4 * row + 2]); }
FN str dict_str(u64 offsets, u64 bytes, i32 code) {
    u64 from = GRO(u64, offsets)[code], to = GRO(u64, offsets)[code + 1];
    return str_make(bytes + from, (i64)(to - from));
}

/* Tiles between two looks at the stop flag: all groups read the same word. */
#define POLL_TILES 8u

/* load4_: codes of rows row .. row + 3, row a multiple of 4; load8_: eight rows. What lies behind the last row is
 * readable (tablet.h). */
#if defined(KC_HOST)
#define UNROLL
#define NO_UNROLL
#else
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#endif
FN void load4_1(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = (u32)GRO(u8, addr)[row >> 3] >> (row & 7);
    x[0] = b & 1u;
    x[1] = b >> 1 & 1u;
    x[2] = b >> 2 & 1u;
    x[3] = b >> 3 & 1u;
}
FN void load4_2(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = (u32)GRO(u8, addr)[row >> 2];
    x[0] = b & 3u;
    x[1] = b >> 2 & 3u;
    x[2] = b >> 4 & 3u;
    x[3] = b >> 6;
}
FN void load4_4(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = (u32)GRO(u16, addr)[row >> 2];
    x[0] = b & 15u;
    x[1] = b >> 4 & 15u;
    x[2] = b >> 8 & 15u;
    x[3] = b >> 12;
}
FN void load4_8(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = GRO(u32, addr)[row >> 2];
    x[0] = b & 255u;
    x[1] = b >> 8 & 255u;
    x[2] = b >> 16 & 255u;
    x[3] = b >> 24;
}
FN void load4_16(u64 addr, u32 row, PRIV u32 *x) {
    u64 b = GRO(u64, addr)[row >> 2];
    u32 lo = (u32)b, hi = (u32)(b >> 32);
    x[0] = lo & 65535u;
    x[1] = lo >> 16;
    x[2] = hi & 65535u;
    x[3] = hi >> 16;
}
FN void load4_24(u64 addr, u32 row, PRIV u32 *x) {
    u32 at = (row >> 2) * 3, a = GRO(u32, addr)[at], b = GRO(u32, addr)[at + 1], c = GRO(u32, addr)[at + 2];
    x[0] = a & 0xffffffu;
    x[1] = (a >> 24 | b << 8) & 0xffffffu;
    x[2] = (b >> 16 | c << 16) & 0xffffffu;
    x[3] = c >> 8;
}
FN void load4_32(u64 addr, u32 row, PRIV u32 *x) {
    u64 a = GRO(u64, addr)[row >> 1], b = GRO(u64, addr)[(row >> 1) + 1];
    x[0] = (u32)a;
    x[1] = (u32)(a >> 32);
    x[2] = (u32)b;
    x[3] = (u32)(b >> 32);
}

/* 16 bytes at a multiple of 16. */
FN void load_16(u64 addr, PRIV u32 *x) {
#if defined(KC_CUDA)
    uint4 v = __ldg((const uint4 *)addr);
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
#elif defined(KC_OPENCL)
    uint4 v = ((GLOBAL const uint4 *)addr)[0];
    x[0] = v.x;
    x[1] = v.y;
    x[2] = v.z;
    x[3] = v.w;
#else
    for (i32 i = 0; i < 4; i++) x[i] = GRO(u32, addr)[i];
#endif
}
FN void load8_1(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = GRO(u8, addr)[row >> 3];
    UNROLL
    for (i32 i = 0; i < 8; i++) x[i] = b >> i & 1u;
}
FN void load8_2(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = GRO(u16, addr)[row >> 3];
    UNROLL
    for (i32 i = 0; i < 8; i++) x[i] = b >> (2 * i) & 3u;
}
FN void load8_4(u64 addr, u32 row, PRIV u32 *x) {
    u32 b = GRO(u32, addr)[row >> 3];
    UNROLL
    for (i32 i = 0; i < 8; i++) x[i] = b >> (4 * i) & 15u;
}
FN void load8_8(u64 addr, u32 row, PRIV u32 *x) {
    u64 b = GRO(u64, addr)[row >> 3];
    u32 lo = (u32)b, hi = (u32)(b >> 32);
    UNROLL
    for (i32 i = 0; i < 4; i++) {
        x[i] = lo >> (8 * i) & 255u;
        x[i + 4] = hi >> (8 * i) & 255u;
    }
}
FN void load8_16(u64 addr, u32 row, PRIV u32 *x) {
    u32 b[4];
    load_16(addr + (u64)row * 2, b);
    UNROLL
    for (i32 i = 0; i < 4; i++) {
        x[2 * i] = b[i] & 65535u;
        x[2 * i + 1] = b[i] >> 16;
    }
}
FN void load8_24(u64 addr, u32 row, PRIV u32 *x) {
    u64 at = (row >> 3) * 3, v[3];
    v[0] = GRO(u64, addr)[at];
    v[1] = GRO(u64, addr)[at + 1];
    v[2] = GRO(u64, addr)[at + 2];
    u32 b[6];
    UNROLL
    for (i32 i = 0; i < 3; i++) {
        b[2 * i] = (u32)v[i];
        b[2 * i + 1] = (u32)(v[i] >> 32);
    }
    UNROLL
    for (i32 i = 0; i < 2; i++) {
        x[4 * i] = b[3 * i] & 0xffffffu;
        x[4 * i + 1] = (b[3 * i] >> 24 | b[3 * i + 1] << 8) & 0xffffffu;
        x[4 * i + 2] = (b[3 * i + 1] >> 16 | b[3 * i + 2] << 16) & 0xffffffu;
        x[4 * i + 3] = b[3 * i + 2] >> 8;
    }
}
FN void load8_32(u64 addr, u32 row, PRIV u32 *x) {
    load_16(addr + (u64)row * 4, x);
    load_16(addr + (u64)row * 4 + 16, x + 4);
}

/* Functions over text, by characters; results are views of their arguments. */
FN_BIG bool text_ascii(str s) { /* characters are bytes */
    u64 all = 0;
    i64 i = 0;
    ROLLED for (; i + 32 <= s.len; i += 32) {
        const u64 p = s.ptr + (u64)i;
        all |= ld_u64_any(p) | ld_u64_any(p + 8) | ld_u64_any(p + 16) | ld_u64_any(p + 24);
    }
    ROLLED for (; i < s.len; i += 8) all |= ld_word(s.ptr, i, s.len);
    return (all & U64C(0x8080808080808080)) == 0;
}
FN_LONG str text_cut(str s, i64 from, i64 to) {
    if (s.len > 8 && text_ascii(s)) {
        i64 a = from < s.len ? from : s.len, b = to < s.len ? to : s.len;
        return str_make(s.ptr + (u64)a, b > a ? b - a : 0);
    }
    u64 p = s.ptr, end = s.ptr + (u64)s.len, q;
    i64 i = 0;
    ROLLED for (; i < from && p < end; i++) p += (u64)kc_char_bytes(p, end);
    ROLLED for (q = p; i < to && q < end; i++) q += (u64)kc_char_bytes(q, end);
    return str_make(p, (i64)(q - p));
}
FN i32 text_chars(str s) {
    i32 n = 0;
    if (s.len > 8 && text_ascii(s)) return (i32)s.len;
    ROLLED for (u64 p = s.ptr, end = s.ptr + (u64)s.len; p < end; n++) p += (u64)kc_char_bytes(p, end);
    return n;
}
FN i32 text_bytes(str s) { return (i32)s.len; }
FN str text_from(str s, i32 from) { return text_cut(s, from > 1 ? (i64)from - 1 : 0, I64_MAX); }
FN u32 text_part(str s, i32 from, i32 len, PRIV str *out) {
    i64 a = (i64)from - 1, b = a + len;
    *out = text_cut(s, a > 0 ? a : 0, b > 0 ? b : 0);
    return (u32)(len < 0) * (KE_FIRST_FREE + 1); /* RK_SUBSTRING */
}
FN str text_left(str s, i32 n) { return text_cut(s, 0, n >= 0 ? (i64)n : (i64)text_chars(s) + n); }
FN str text_right(str s, i32 n) {
    i64 skip = n >= 0 ? (i64)text_chars(s) - n : -(i64)n;
    return text_cut(s, skip > 0 ? skip : 0, I64_MAX);
}
FN bool text_starts(str s, str with) { return s.len >= with.len && kc_bytes_eq(s.ptr, with.ptr, with.len); }

/* Hashes of keys: combined one by one; HASH_CONSTANT (base/hash.h) makes all of them collide. */
#if defined(HASH_CONSTANT)
#define KEY_HASH(h) ((u64)0 & (h))
#else
#define KEY_HASH(h) (h)
#endif
/* Order-preserving 64 bits of a sort key's value. */
FN u64 key_i64(i64 v) { return (u64)v ^ U64C(0x8000000000000000); }
FN u64 key_i128(i128 v) { /* beyond 64 bits: all alike */
    return i128_fits_i64(v) ? key_i64((i64)i128_lo(v)) : i128_is_neg(v) ? 0 : ~(u64)0;
}
FN u64 key_iv(iv v) { return key_i64((i64)i128_lo(i128_shr(iv_value(v), 20))); }
FN u64 key_f64(f64 v) { return enc_max_f64(v == 0 ? 0 : v); }

/* x among n ascending cells. */
#define IN_SET(NAME, C, T, LOAD, LT)               \
    FN bool in_set_##NAME(u64 cells, i64 n, T x) { \
        i64 lo = 0, hi = n;                        \
        while (lo < hi) {                          \
            i64 mid = (lo + hi) >> 1;              \
            T y = LOAD(C, cells, mid);             \
            if (LT(y, x)) lo = mid + 1;            \
            else hi = mid;                         \
        }                                          \
        if (lo == n) return false;                 \
        T y = LOAD(C, cells, lo);                  \
        return !LT(x, y);                          \
    }
#define GEN_CELL(C, cells, i) G(C, cells)[i]
#define GEN_WIDE(C, cells, i) ld_i128((cells) + (u64)(i)*16)
#define GEN_LESS(a, b) ((a) < (b))
IN_SET(i16, i16, i16, GEN_CELL, GEN_LESS)
IN_SET(i32, i32, i32, GEN_CELL, GEN_LESS)
IN_SET(i64, i64, i64, GEN_CELL, GEN_LESS)
IN_SET(i128, i128, i128, GEN_WIDE, i128_lt)
IN_SET(str, str, str, GEN_CELL, str_lt)

/* Words of wide sums in local memory, `gap` words apart. alone: no other item adds to them. */
FN void local_add_i128(LOCAL u64 *p, u32 gap, bool alone, i128 v) {
    if (alone) {
        i128 s = i128_add(i128_from_limbs(p[0], p[gap]), v);
        p[0] = i128_lo(s);
        p[gap] = i128_hi(s);
    } else {
        u64 lo = i128_lo(v), old = la_add_u64(p, lo), hi = i128_hi(v) + (u64)(old + lo < lo);
        if (hi != 0) la_add_u64(p + gap, hi);
    }
}
FN sum192 sum192_of(u64 a, u64 b, u64 c) {
    sum192 s;
    s.low = i128_from_limbs(a, b);
    s.top = (i64)c;
    return s;
}
FN void local_add_sum192(LOCAL u64 *p, u32 gap, bool alone, sum192 v) {
    u64 w[3], carry = 0;
    w[0] = i128_lo(v.low);
    w[1] = i128_hi(v.low);
    w[2] = (u64)v.top;
    for (u32 i = 0; i < 3; i++) {
        u64 add = w[i] + carry, old = alone ? p[i * gap] : la_add_u64(p + i * gap, add);
        if (alone) p[i * gap] = old + add;
        carry = (u64)(add < carry) + (u64)(old + add < add);
    }
}

#endif
