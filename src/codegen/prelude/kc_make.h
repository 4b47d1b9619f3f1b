/* kc_make.h - strings and arrays that kernels of procedures make. Not part of the prelude: codegen/emit_make.c puts it
 * behind it where a procedure needs it.
 *
 * An item makes strings in memory of its own (`scratch`), which is bounded: a function that returns bool returns false
 * when there is no room, or when the value is one that only the host words (letters beyond ASCII, years that need more
 * than four digits, errors); then the virtual machine makes the call. Values are those of types/func_text.c,
 * func_cast.c, func_array.c. Strings never change once made, so that one may be part of another; but a string that ends
 * where the scratch does grows in place, and both share their bytes.
 *
 * Arrays are blobs as in types/array.h, at any address; new ones lie at multiples of 16 and are canonical. They have
 * one dimension whose first subscript is 1; of others (array_shaped) only all elements are looked at here.
 */
#ifndef KC_MAKE_H
#define KC_MAKE_H
#include "codegen/prelude/kc_gen.h"

typedef struct scratch {
    u64 from, at, end;
} scratch;

FN scratch scratch_make(u64 from, u64 bytes) {
    scratch s;
    s.from = s.at = from;
    s.end = from + bytes;
    return s;
}
/* n bytes; 0: no room. */
FN u64 scratch_room(PRIV scratch *s, i64 n) {
    const u64 p = s->at;
    if (n < 0 || n > (i64)(s->end - p)) return 0;
    s->at = p + (u64)n;
    return p;
}
FN u64 scratch_aligned(PRIV scratch *s, i64 n) {
    const u64 p = (s->at + 15) & ~U64C(15);
    if (p > s->end) return 0;
    s->at = p;
    return scratch_room(s, n);
}

FN void zero_bytes(u64 to, i64 n) { ROLLED for (i64 i = 0; i < n; i++) G(u8, to)[i] = 0; }

/* A string of the old scratch moves to the other one; what lies elsewhere stays there. False: no room, since strings
 * that shared bytes come apart. */
FN_BIG bool scratch_keep(PRIV scratch *to, scratch old, PRIV str *s) {
    if (s->len == 0 || s->ptr < old.from || s->ptr >= old.end) return true;
    const u64 p = scratch_aligned(to, s->len);
    if (p == 0) return false;
    copy_bytes(p, s->ptr, s->len);
    s->ptr = p;
    return true;
}

/* ---- text ------------------------------------------------------------------------------------- */
FN_BIG bool text_cat(PRIV scratch *s, str a, str b, PRIV str *out) {
    *out = b.len == 0 ? a : b;
    if (a.len == 0 || b.len == 0) return true;
    if (a.ptr >= s->from && a.ptr + (u64)a.len == s->at) {
        const u64 p = scratch_room(s, b.len);
        if (p == 0) return false;
        copy_bytes(p, b.ptr, b.len);
        *out = str_make(a.ptr, a.len + b.len);
        return true;
    }
    const u64 p = scratch_room(s, a.len + b.len);
    if (p == 0) return false;
    copy_bytes(p, a.ptr, a.len);
    copy_bytes(p + (u64)a.len, b.ptr, b.len);
    *out = str_make(p, a.len + b.len);
    return true;
}
FN u32 digits_of(u64 v) {
    u32 n = 1;
    ROLLED for (; v >= 10; v /= 10) n++;
    return n;
}
/* The last n digits of v. */
FN void put_digits(u64 at, u32 n, u64 v) { ROLLED for (; n > 0; v /= 10) G(u8, at)[--n] = (u8)(48 + v % 10); }
FN_BIG bool text_of_bool(PRIV scratch *s, bool v, PRIV str *out) {
    const u64 word = v ? U64C(0x65757274) : U64C(0x65736c6166); /* "true", "false" */
    const i64 n = v ? 4 : 5;
    const u64 p = scratch_room(s, n);
    if (p == 0) return false;
    ROLLED for (i64 i = 0; i < n; i++) G(u8, p)[i] = (u8)(word >> (8 * i));
    *out = str_make(p, n);
    return true;
}
FN_BIG bool text_of_i64(PRIV scratch *s, i64 v, PRIV str *out) {
    const u64 u = v < 0 ? 0 - (u64)v : (u64)v;
    const u32 n = digits_of(u), sign = (u32)(v < 0);
    const u64 p = scratch_room(s, (i64)(n + sign));
    if (p == 0) return false;
    if (sign != 0) G(u8, p)[0] = 45;
    put_digits(p + sign, n, u);
    *out = str_make(p, (i64)(n + sign));
    return true;
}
/* A numeric: digits in parts of 18, the lowest first. trim: without zeros at the end of the fraction. */
FN_BIG bool text_of_parts(PRIV scratch *s, bool negative, u64 low, u64 mid, u64 high, u32 scale, bool trim,
                          PRIV str *out) {
    u32 n = high != 0 ? 36 + digits_of(high) : mid != 0 ? 18 + digits_of(mid) : digits_of(low), o = 0;
    if (n < scale + 1) n = scale + 1;
    const u64 p = scratch_room(s, (i64)n + 2);
    if (p == 0) return false;
    if (negative) G(u8, p)[o++] = 45;
    ROLLED for (u32 k = n; k > 0; k--) { /* digit k - 1, counted from the right */
        u64 part = k <= 18 ? low : k <= 36 ? mid : high;
        ROLLED for (u32 d = (k - 1) % 18; d > 0; d--) part /= 10;
        if (k == scale) G(u8, p)[o++] = 46;
        G(u8, p)[o++] = (u8)(48 + part % 10);
    }
    if (trim && scale > 0) {
        ROLLED while (G(u8, p)[o - 1] == 48) o--;
        if (G(u8, p)[o - 1] == 46) o--;
    }
    s->at = p + o;
    *out = str_make(p, (i64)o);
    return true;
}
FN_BIG bool text_of_num_i64(PRIV scratch *s, i64 v, u32 scale, bool trim, PRIV str *out) {
    const u64 u = v < 0 ? 0 - (u64)v : (u64)v;
    return text_of_parts(s, v < 0, u % U64C(1000000000000000000), u / U64C(1000000000000000000), 0, scale, trim, out);
}
FN_BIG bool text_of_num_i128(PRIV scratch *s, i128 v, u32 scale, bool trim, PRIV str *out) {
    const bool negative = i128_is_neg(v);
    const i128 part = i128_from_i64(I64C(1000000000000000000));
    i128 u = negative ? i128_neg(v) : v;
    const i128 q = i128_div(u, part), r = i128_div(q, part);
    const u64 low = i128_lo(i128_sub(u, i128_mul(q, part))), mid = i128_lo(i128_sub(q, i128_mul(r, part)));
    return text_of_parts(s, negative, low, mid, i128_lo(r), scale, trim, out);
}
/* Years 1 to 9999. */
FN u64 put_date(u64 p, ymd d) {
    put_digits(p, 4, (u64)d.year);
    G(u8, p)[4] = 45;
    put_digits(p + 5, 2, (u64)d.month);
    G(u8, p)[7] = 45;
    put_digits(p + 8, 2, (u64)d.day);
    return p + 10;
}
FN_BIG bool text_of_date(PRIV scratch *s, i32 days, PRIV str *out) {
    const ymd d = date_to_civil(days);
    if (days == I32_MIN || days == I32_MAX || d.year < 1 || d.year > 9999) return false;
    const u64 p = scratch_room(s, 10);
    if (p == 0) return false;
    put_date(p, d);
    *out = str_make(p, 10);
    return true;
}
FN u64 put_time(u64 p, i64 us) {
    const u64 second = (u64)(us / 1000000);
    u64 fraction = (u64)(us % 1000000);
    put_digits(p, 2, second / 3600);
    G(u8, p)[2] = 58;
    put_digits(p + 3, 2, second / 60 % 60);
    G(u8, p)[5] = 58;
    put_digits(p + 6, 2, second % 60);
    if (fraction == 0) return p + 8;
    u32 n = 6;
    ROLLED for (; fraction % 10 == 0; fraction /= 10) n--;
    G(u8, p)[8] = 46;
    put_digits(p + 9, n, fraction);
    return p + 9 + n;
}
FN_BIG bool text_of_time(PRIV scratch *s, i64 us, PRIV str *out) {
    const u64 p = scratch_room(s, 16);
    if (p == 0) return false;
    s->at = put_time(p, us);
    *out = str_make(p, (i64)(s->at - p));
    return true;
}
FN_BIG bool text_of_timestamp(PRIV scratch *s, i64 ts, PRIV str *out) {
    const i64 day = I64C(86400000000);
    i64 days = ts / day, us = ts % day;
    if (us < 0) {
        us += day;
        days--;
    }
    if (days < -2147483647 || days > 2147483646) return false;
    const ymd d = date_to_civil((i32)days);
    if (d.year < 1 || d.year > 9999) return false;
    const u64 p = scratch_room(s, 27);
    if (p == 0) return false;
    put_date(p, d);
    G(u8, p)[10] = 32;
    s->at = put_time(p + 11, us);
    *out = str_make(p, (i64)(s->at - p));
    return true;
}
/* As varchar(max) or char(max), 0: any length. cut: longer ones lose their end; else only blanks may go. blanks: those
 * at the end go. */
FN_BIG bool text_fit(str s, i64 max, bool cut, bool blanks, PRIV str *out) {
    if (max > 0 && s.len > max) {
        const str kept = text_cut(s, 0, max);
        ROLLED for (i64 k = kept.len; !cut && k < s.len; k++) if (kc_byte(s.ptr + (u64)k) != 32) return false;
        s = kept;
    }
    ROLLED while (blanks && s.len > 0 && kc_byte(s.ptr + (u64)s.len - 1) == 32) s.len--;
    *out = s;
    return true;
}
FN_BIG bool text_case(PRIV scratch *s, str a, u32 first, PRIV str *out) { /* letters from `first` on change */
    const u64 p = scratch_room(s, a.len);
    if (p == 0) return false;
    ROLLED for (i64 i = 0; i < a.len; i++) {
        const u32 c = kc_byte(a.ptr + (u64)i);
        if (c >= 128) return false;
        G(u8, p)[i] = (u8)(c - first < 26u ? c ^ 32u : c);
    }
    *out = str_make(p, a.len);
    return true;
}
FN bool text_upper(PRIV scratch *s, str a, PRIV str *out) { return text_case(s, a, 97, out); }
FN bool text_lower(PRIV scratch *s, str a, PRIV str *out) { return text_case(s, a, 65, out); }
FN str text_ltrim(str s) {
    ROLLED while (s.len > 0 && kc_byte(s.ptr) == 32) s = str_make(s.ptr + 1, s.len - 1);
    return s;
}
FN str text_rtrim(str s) {
    ROLLED while (s.len > 0 && kc_byte(s.ptr + (u64)s.len - 1) == 32) s.len--;
    return s;
}
FN str text_btrim(str s) { return text_ltrim(text_rtrim(s)); }
FN_BIG i32 text_position(str s, str part) {
    if (part.len == 0) return 1;
    const u64 p = kc_find_bytes(s.ptr, s.ptr + (u64)s.len, part.ptr, part.len);
    return p == 0 ? 0 : text_chars(str_make(s.ptr, (i64)(p - s.ptr))) + 1;
}
FN_BIG bool text_repeat(PRIV scratch *s, str a, i32 times, PRIV str *out) {
    *out = str_none();
    if (times <= 0 || a.len == 0) return true;
    if ((i64)times > (i64)(s->end - s->at)) return false;
    const u64 p = scratch_room(s, a.len * times);
    if (p == 0) return false;
    ROLLED for (i32 k = 0; k < times; k++) copy_bytes(p + (u64)(a.len * k), a.ptr, a.len);
    *out = str_make(p, a.len * times);
    return true;
}
FN_BIG bool text_replace(PRIV scratch *s, str a, str from, str to, PRIV str *out) {
    const u64 end = a.ptr + (u64)a.len;
    u64 p = a.ptr, hit = from.len > 0 && a.len > 0 ? kc_find_bytes(p, end, from.ptr, from.len) : 0;
    *out = a;
    if (hit == 0) return true;
    const u64 made = s->at;
    ROLLED for (;;) {
        const i64 n = (i64)((hit != 0 ? hit : end) - p);
        u64 q = scratch_room(s, n);
        if (q == 0) return false;
        copy_bytes(q, p, n);
        if (hit == 0) break;
        q = scratch_room(s, to.len);
        if (q == 0) return false;
        copy_bytes(q, to.ptr, to.len);
        p = hit + (u64)from.len;
        hit = p < end ? kc_find_bytes(p, end, from.ptr, from.len) : 0;
    }
    *out = str_make(made, (i64)(s->at - made));
    return true;
}
FN_BIG bool text_pad(PRIV scratch *s, str a, i32 want, str fill, bool left, PRIV str *out) {
    const i64 have = text_chars(a);
    *out = str_none();
    if (want <= 0) return true;
    *out = text_cut(a, 0, want);
    if (have >= want || fill.len == 0) return true;
    const i64 need = want - have, per = text_chars(fill), whole = need / per;
    const str rest = text_cut(fill, 0, need % per);
    if (whole > (i64)(s->end - s->at)) return false;
    const i64 filled = whole * fill.len + rest.len;
    const u64 p = scratch_room(s, a.len + filled), from = left ? p : p + (u64)a.len;
    if (p == 0) return false;
    copy_bytes(left ? p + (u64)filled : p, a.ptr, a.len);
    ROLLED for (i64 k = 0; k < whole; k++) copy_bytes(from + (u64)(k * fill.len), fill.ptr, fill.len);
    copy_bytes(from + (u64)(whole * fill.len), rest.ptr, rest.len);
    *out = str_make(p, a.len + filled);
    return true;
}
FN bool text_lpad(PRIV scratch *s, str a, i32 want, str fill, PRIV str *out) {
    return text_pad(s, a, want, fill, true, out);
}
FN bool text_rpad(PRIV scratch *s, str a, i32 want, str fill, PRIV str *out) {
    return text_pad(s, a, want, fill, false, out);
}

/* ---- arrays ------------------------------------------------------------------------------------ */
FN u16 ld_u16_any(u64 a) { return (u16)(kc_byte(a) | kc_byte(a + 1) << 8); }

FN i32 array_n(str a) { return a.len < 16 ? 0 : (i32)ld_u32_any(a.ptr); }
FN bool array_has_nulls(str a) { return a.len >= 16 && kc_byte(a.ptr + 5) != 0; }
/* Whether it has several dimensions, or a first subscript other than 1: the virtual machine does what has to know. */
FN bool array_shaped(str a) { return a.len >= 16 && ld_u16_any(a.ptr + 6) != 0; }
FN u64 array_cells(str a) { return a.ptr + ld_u32_any(a.ptr + 8); }
/* Element k from 0 is there and not NULL. */
FN bool array_has(str a, i64 k) {
    return k >= 0 && k < (i64)array_n(a) && (!array_has_nulls(a) || kc_byte(a.ptr + 16 + (u64)k) != 0);
}
FN i32 array_cardinality(str a) { return array_n(a); }

FN bool cell_bool(u64 cells, i64 k) { return kc_byte(cells + (u64)k) != 0; }
FN i16 cell_i16(u64 cells, i64 k) { return (i16)ld_u16_any(cells + (u64)k * 2); }
FN i32 cell_i32(u64 cells, i64 k) { return (i32)ld_u32_any(cells + (u64)k * 4); }
FN i64 cell_i64(u64 cells, i64 k) { return (i64)ld_u64_any(cells + (u64)k * 8); }
FN i128 cell_i128(u64 cells, i64 k) {
    return i128_from_limbs(ld_u64_any(cells + (u64)k * 16), ld_u64_any(cells + (u64)k * 16 + 8));
}
FN f32 cell_f32(u64 cells, i64 k) { return bits_f32(ld_u32_any(cells + (u64)k * 4)); }
FN f64 cell_f64(u64 cells, i64 k) { return bits_f64(ld_u64_any(cells + (u64)k * 8)); }

/* An array under construction: header, validity, zeroed cells. 0: no room. */
FN_BIG u64 array_begin(PRIV scratch *s, i64 n, u32 phys, i64 width, bool nulls, i64 text) {
    const i64 data = 16 + (nulls ? (n + 15) / 16 * 16 : 0), bytes = data + n * width + text;
    const u64 p = scratch_aligned(s, bytes);
    if (p == 0) return 0;
    G(u32, p)[0] = (u32)n;
    G(u32, p)[1] = phys | (nulls ? 256u : 0u);
    G(u32, p)[2] = (u32)data;
    G(u32, p)[3] = (u32)bytes;
    zero_bytes(p + 16, data - 16);
    return p;
}
FN str array_done(u64 p) { return str_make(p, (i64)G(u32, p)[3]); }
FN void array_mark(u64 p, i64 k, bool valid) {
    if (G(u8, p)[5] != 0) G(u8, p)[16 + k] = (u8)valid;
}
FN u64 array_at(u64 p) { return p + G(u32, p)[2]; }
FN void put_cell_bool(u64 cells, i64 k, bool v) { G(u8, cells)[k] = (u8)v; }
FN void put_cell_i16(u64 cells, i64 k, i16 v) { G(i16, cells)[k] = v; }
FN void put_cell_i32(u64 cells, i64 k, i32 v) { G(i32, cells)[k] = v; }
FN void put_cell_i64(u64 cells, i64 k, i64 v) { G(i64, cells)[k] = v; }
FN void put_cell_i128(u64 cells, i64 k, i128 v) { st_i128(cells + (u64)k * 16, v); }
FN void put_cell_f32(u64 cells, i64 k, f32 v) {
    G(u32, cells)[k] = v == 0 ? 0 : v != v ? 0x7fc00000u : f32_bits(v);
} /* equal floats get equal bytes */
FN void put_cell_f64(u64 cells, i64 k, f64 v) {
    G(u64, cells)[k] = v == 0 ? 0 : v != v ? U64C(0x7ff8000000000000) : f64_bits(v);
}

/* An array that stays: its header is read once. */
typedef struct arr {
    u64 cells, valid;
    i32 n;
    u32 shaped; /* array_shaped() */
} arr;
FN arr arr_of(str a, bool there) {
    arr v = {0, 0, 0, 0};
    if (!there || a.len < 16) return v;
    const u64 head = ld_u64_any(a.ptr);
    v.n = (i32)(u32)head;
    v.shaped = (u32)(head >> 48);
    v.valid = (head >> 40 & 255) != 0 ? a.ptr + 16 : 0;
    v.cells = array_cells(a);
    return v;
}
FN bool arr_has(arr a, i32 k) { return k >= 1 && k <= a.n && (a.valid == 0 || kc_byte(a.valid + (u64)k - 1) != 0); }

#define KC_NONE_i128 i128_from_i64(0)
/* PHYS: number of the elements' form; EQ, LESS: of two values. */
#define KC_ARRAY(NAME, T, WIDTH, PHYS, ZERO, EQ, LESS)                                                           \
    FN bool array_get_##NAME(str a, i32 k, PRIV T *out) {                                                        \
        *out = ZERO;                                                                                             \
        if (a.len < 16) return false;                                                                            \
        const u64 head = ld_u64_any(a.ptr), cells = array_cells(a);                                              \
        if (k < 1 || k > (i32)(u32)head || ((head >> 40 & 255) != 0 && kc_byte(a.ptr + 15 + (u64)k) == 0))       \
            return false;                                                                                        \
        *out = cell_##NAME(cells, (i64)k - 1);                                                                   \
        return true;                                                                                             \
    }                                                                                                            \
    FN bool arr_get_##NAME(arr a, i32 k, PRIV T *out) {                                                          \
        const bool has = arr_has(a, k);                                                                          \
        *out = ZERO;                                                                                             \
        if (has) *out = cell_##NAME(a.cells, (i64)k - 1);                                                        \
        return has;                                                                                              \
    }                                                                                                            \
    FN_BIG i32 array_find_##NAME(str a, T x, bool valid, i32 from) { /* from 1 on; 0: it is not there */         \
        const i64 n = array_n(a);                                                                                \
        const bool nulls = array_has_nulls(a);                                                                   \
        const u64 cells = n > 0 ? array_cells(a) : 0;                                                            \
        ROLLED for (i64 k = from > 1 ? (i64)from - 1 : 0; k < n; k++) {                                          \
            if ((!nulls || kc_byte(a.ptr + 16 + (u64)k) != 0) != valid) continue;                                \
            if (!valid || EQ(cell_##NAME(cells, k), x)) return (i32)k + 1;                                       \
        }                                                                                                        \
        return 0;                                                                                                \
    }                                                                                                            \
    /* x OP ANY (a), ALL (a); op: bit 0 less, 1 equal, 2 greater. Returns whether it is known. */                \
    FN_BIG bool array_quantified_##NAME(u32 op, bool all, T x, bool valid, str a, PRIV bool *out) {              \
        bool unknown = false;                                                                                    \
        const i64 n = array_n(a);                                                                                \
        const bool nulls = array_has_nulls(a);                                                                   \
        const u64 cells = n > 0 ? array_cells(a) : 0;                                                            \
        *out = all;                                                                                              \
        ROLLED for (i64 k = 0; k < n; k++) {                                                                     \
            if (!valid || (nulls && kc_byte(a.ptr + 16 + (u64)k) == 0)) {                                        \
                unknown = true;                                                                                  \
                continue;                                                                                        \
            }                                                                                                    \
            const T y = cell_##NAME(cells, k);                                                                   \
            if (((op >> (EQ(x, y) ? 1 : LESS(x, y) ? 0 : 2) & 1u) != 0) == all) continue;                        \
            *out = !all;                                                                                         \
            return true;                                                                                         \
        }                                                                                                        \
        return !unknown;                                                                                         \
    }                                                                                                            \
    /* As a, with element k set: room for at least n elements, those in between NULL. */                         \
    FN_BIG bool array_set_##NAME(PRIV scratch *s, str a, i64 k, T x, bool valid, PRIV str *out) {                \
        const i64 had = array_n(a), n = k < had ? had : k + 1;                                                   \
        if (n > (i64)(s->end - s->at)) return false;                                                             \
        bool nulls = !valid || k > had;                                                                          \
        ROLLED for (i64 i = 0; i < had && !nulls && array_has_nulls(a); i++) nulls = i != k && !array_has(a, i); \
        const u64 p = array_begin(s, n, PHYS, WIDTH, nulls, 0);                                                  \
        if (p == 0) return false;                                                                                \
        const u64 cells = array_at(p);                                                                           \
        if (!nulls) {                                                                                            \
            if (had > 0) copy_bytes(cells, array_cells(a), had *WIDTH);                                          \
            put_cell_##NAME(cells, k, x);                                                                        \
        }                                                                                                        \
        ROLLED for (i64 i = 0; i < n && nulls; i++) {                                                            \
            const bool has = i == k ? valid : array_has(a, i);                                                   \
            array_mark(p, i, has);                                                                               \
            put_cell_##NAME(cells, i, !has ? ZERO : i == k ? x : cell_##NAME(array_cells(a), i));                \
        }                                                                                                        \
        *out = array_done(p);                                                                                    \
        return true;                                                                                             \
    }                                                                                                            \
    FN_BIG bool array_append_##NAME(PRIV scratch *s, str a, T x, bool valid, PRIV str *out) {                    \
        return array_set_##NAME(s, a, array_n(a), x, valid, out);                                                \
    }                                                                                                            \
    FN_BIG bool array_prepend_##NAME(PRIV scratch *s, T x, bool valid, str a, PRIV str *out) {                   \
        const i64 n = array_n(a);                                                                                \
        const u64 p = array_begin(s, n + 1, PHYS, WIDTH, !valid || array_has_nulls(a), 0);                       \
        if (p == 0) return false;                                                                                \
        const u64 cells = array_at(p);                                                                           \
        array_mark(p, 0, valid);                                                                                 \
        put_cell_##NAME(cells, 0, valid ? x : ZERO);                                                             \
        ROLLED for (i64 i = 0; i < n; i++) {                                                                     \
            array_mark(p, i + 1, array_has(a, i));                                                               \
            put_cell_##NAME(cells, i + 1, array_has(a, i) ? cell_##NAME(array_cells(a), i) : ZERO);              \
        }                                                                                                        \
        *out = array_done(p);                                                                                    \
        return true;                                                                                             \
    }                                                                                                            \
    FN_BIG bool array_cat_##NAME(PRIV scratch *s, str a, str b, PRIV str *out) {                                 \
        const i64 na = array_n(a), nb = array_n(b);                                                              \
        *out = a;                                                                                                \
        if (nb == 0) return true;                                                                                \
        const u64 p = array_begin(s, na + nb, PHYS, WIDTH, array_has_nulls(a) || array_has_nulls(b), 0);         \
        if (p == 0) return false;                                                                                \
        const u64 cells = array_at(p);                                                                           \
        ROLLED for (i64 i = 0; i < na + nb; i++) {                                                               \
            const bool first = i < na, has = first ? array_has(a, i) : array_has(b, i - na);                     \
            array_mark(p, i, has);                                                                               \
            put_cell_##NAME(cells, i,                                                                            \
                            !has    ? ZERO                                                                       \
                            : first ? cell_##NAME(array_cells(a), i)                                             \
                                    : cell_##NAME(array_cells(b), i - na));                                      \
        }                                                                                                        \
        *out = array_done(p);                                                                                    \
        return true;                                                                                             \
    }
#define KC_SAME(a, b) ((a) == (b))
#define KC_LESS(a, b) ((a) < (b))
KC_ARRAY(bool, bool, 1, 0, false, KC_SAME, KC_LESS)
KC_ARRAY(i16, i16, 2, 1, 0, KC_SAME, KC_LESS)
KC_ARRAY(i32, i32, 4, 2, 0, KC_SAME, KC_LESS)
KC_ARRAY(i64, i64, 8, 3, 0, KC_SAME, KC_LESS)
KC_ARRAY(i128, i128, 16, 4, KC_NONE_i128, i128_eq, i128_lt)
KC_ARRAY(f32, f32, 4, 5, 0, eq_f32, lt_f32)
KC_ARRAY(f64, f64, 8, 6, 0, eq_f64, lt_f64)

/* Elements that are strings: read only. */
FN str cell_str(u64 cells, i64 n, i64 k) {
    const u32 from = k > 0 ? ld_u32_any(cells + (u64)(k - 1) * 4) : 0, to = ld_u32_any(cells + (u64)k * 4);
    return str_make(cells + (u64)n * 4 + from, (i64)to - (i64)from);
}
FN bool arr_get_str(arr a, i32 k, PRIV str *out) {
    const bool has = arr_has(a, k);
    *out = str_none();
    if (has) *out = cell_str(a.cells, a.n, (i64)k - 1);
    return has;
}
FN bool array_get_str(str a, i32 k, PRIV str *out) {
    const bool has = array_has(a, (i64)k - 1);
    *out = str_none();
    if (has) *out = cell_str(array_cells(a), array_n(a), (i64)k - 1);
    return has;
}
FN_BIG i32 array_find_str(str a, str x, bool valid, i32 from) {
    const i64 n = array_n(a);
    ROLLED for (i64 k = from > 1 ? (i64)from - 1 : 0; k < n; k++) {
        if (array_has(a, k) != valid) continue;
        if (!valid || str_eq(cell_str(array_cells(a), n, k), x)) return (i32)k + 1;
    }
    return 0;
}
FN_BIG bool array_quantified_str(u32 op, bool all, str x, bool valid, str a, PRIV bool *out) {
    bool unknown = false;
    const i64 n = array_n(a);
    *out = all;
    ROLLED for (i64 k = 0; k < n; k++) {
        if (!valid || !array_has(a, k)) {
            unknown = true;
            continue;
        }
        if (((op >> (str_cmp(x, cell_str(array_cells(a), n, k)) + 1) & 1u) != 0) == all) continue;
        *out = !all;
        return true;
    }
    return !unknown;
}

#endif
