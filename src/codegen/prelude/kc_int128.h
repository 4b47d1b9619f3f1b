/* kc_int128.h - 128-bit integers, and what needs 256 bits on the way.
 *
 * i128 and u128 are __int128 where the compiler has it (host, NVRTC with --device-int128) and two limbs elsewhere
 * (OpenCL); KC_TWO_LIMBS forces limbs, which is how their code is tested on the host. Code above this file uses the
 * functions only. Plain functions wrap; ovf_ functions return true when the result leaves 128 bits. Division truncates.
 */
#ifndef KC_INT128_H
#define KC_INT128_H
#include "codegen/prelude/kc_base.h"

#if defined(__SIZEOF_INT128__) && !defined(KC_OPENCL) && !defined(KC_TWO_LIMBS)
#define KC_INT128 1
__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;
#else
typedef struct i128 {
    u64 lo;
    i64 hi;
} i128;
typedef struct u128 {
    u64 lo, hi;
} u128;
#endif

/* Powers of ten. The table is for variable exponents; with a constant one compilers fold it. */
CONSTANT u64 kc_pow10_lo[39] = {U64C(1),
                                U64C(10),
                                U64C(100),
                                U64C(1000),
                                U64C(10000),
                                U64C(100000),
                                U64C(1000000),
                                U64C(10000000),
                                U64C(100000000),
                                U64C(1000000000),
                                U64C(10000000000),
                                U64C(100000000000),
                                U64C(1000000000000),
                                U64C(10000000000000),
                                U64C(100000000000000),
                                U64C(1000000000000000),
                                U64C(10000000000000000),
                                U64C(100000000000000000),
                                U64C(1000000000000000000),
                                U64C(0x8ac7230489e80000),
                                U64C(0x6bc75e2d63100000),
                                U64C(0x35c9adc5dea00000),
                                U64C(0x19e0c9bab2400000),
                                U64C(0x02c7e14af6800000),
                                U64C(0x1bcecceda1000000),
                                U64C(0x161401484a000000),
                                U64C(0xdcc80cd2e4000000),
                                U64C(0x9fd0803ce8000000),
                                U64C(0x3e25026110000000),
                                U64C(0x6d7217caa0000000),
                                U64C(0x4674edea40000000),
                                U64C(0xc0914b2680000000),
                                U64C(0x85acef8100000000),
                                U64C(0x38c15b0a00000000),
                                U64C(0x378d8e6400000000),
                                U64C(0x2b878fe800000000),
                                U64C(0xb34b9f1000000000),
                                U64C(0x00f436a000000000),
                                U64C(0x098a224000000000)};
CONSTANT u64 kc_pow10_hi[39] = {0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                U64C(0x5),
                                U64C(0x36),
                                U64C(0x21e),
                                U64C(0x152d),
                                U64C(0xd3c2),
                                U64C(0x84595),
                                U64C(0x52b7d2),
                                U64C(0x33b2e3c),
                                U64C(0x204fce5e),
                                U64C(0x1431e0fae),
                                U64C(0xc9f2c9cd0),
                                U64C(0x7e37be2022),
                                U64C(0x4ee2d6d415b),
                                U64C(0x314dc6448d93),
                                U64C(0x1ed09bead87c0),
                                U64C(0x13426172c74d82),
                                U64C(0xc097ce7bc90715),
                                U64C(0x785ee10d5da46d9),
                                U64C(0x4b3b4ca85a86c47a)};

/* ---- unsigned 128 bits -------------------------------------------------------------------------- */
#if defined(KC_INT128)
FN u128 u128_make(u64 lo, u64 hi) { return (u128)hi << 64 | lo; }
FN u64 u128_lo(u128 a) { return (u64)a; }
FN u64 u128_hi(u128 a) { return (u64)(a >> 64); }
FN u128 u128_add(u128 a, u128 b) { return a + b; }
FN u128 u128_sub(u128 a, u128 b) { return a - b; }
FN u128 u128_mul(u128 a, u128 b) { return a * b; }
FN u128 u128_mul64(u64 a, u64 b) { return (u128)a * b; }
FN u128 u128_shl(u128 a, u32 n) { return a << n; } /* n < 128 */
FN u128 u128_shr(u128 a, u32 n) { return a >> n; }
FN bool u128_lt(u128 a, u128 b) { return a < b; }
FN bool u128_eq(u128 a, u128 b) { return a == b; }
/* (hi * 2^64 + lo) / d, where hi < d */
FN u64 udiv_2by1(u64 hi, u64 lo, u64 d, PRIV u64 *rem) {
    u128 n = (u128)hi << 64 | lo;
    u64 q = (u64)(n / d);
    *rem = lo - q * d;
    return q;
}
FN u128 u128_divmod(u128 n, u128 d, PRIV u128 *rem) {
    u128 q = n / d;
    *rem = n - q * d;
    return q;
}
#else
FN u128 u128_make(u64 lo, u64 hi) {
    u128 r;
    r.lo = lo;
    r.hi = hi;
    return r;
}
FN u64 u128_lo(u128 a) { return a.lo; }
FN u64 u128_hi(u128 a) { return a.hi; }
FN u128 u128_add(u128 a, u128 b) {
    u64 lo = a.lo + b.lo;
    return u128_make(lo, a.hi + b.hi + (u64)(lo < a.lo));
}
FN u128 u128_sub(u128 a, u128 b) { return u128_make(a.lo - b.lo, a.hi - b.hi - (u64)(a.lo < b.lo)); }
FN u128 u128_mul64(u64 a, u64 b) { return u128_make(a * b, mulhi_u64(a, b)); }
FN u128 u128_mul(u128 a, u128 b) { return u128_make(a.lo * b.lo, mulhi_u64(a.lo, b.lo) + a.lo * b.hi + a.hi * b.lo); }
FN u128 u128_shl(u128 a, u32 n) {
    if (n >= 64) return u128_make(0, a.lo << (n - 64));
    return u128_make(a.lo << n, (a.hi << n) | ((a.lo >> 1) >> (63 - n)));
}
FN u128 u128_shr(u128 a, u32 n) {
    if (n >= 64) return u128_make(a.hi >> (n - 64), 0);
    return u128_make((a.lo >> n) | ((a.hi << 1) << (63 - n)), a.hi >> n);
}
FN bool u128_lt(u128 a, u128 b) { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }
FN bool u128_eq(u128 a, u128 b) { return a.hi == b.hi && a.lo == b.lo; }
/* Two digits of 32 bits (Knuth D; Hacker's Delight divlu). */
FN u64 udiv_2by1(u64 hi, u64 lo, u64 d, PRIV u64 *rem) {
    if (hi == 0) {
        u64 q = lo / d;
        *rem = lo - q * d;
        return q;
    }
    u32 s = clz_u64(d);
    d <<= s;
    u64 d1 = d >> 32, d0 = d & U64C(0xffffffff);
    u64 n32 = (hi << s) | ((lo >> 1) >> (63 - s)), n10 = lo << s;
    u64 n1 = n10 >> 32, n0 = n10 & U64C(0xffffffff);
    u64 q1 = n32 / d1, r = n32 - q1 * d1;
    ROLLED while (q1 >> 32 || q1 * d0 > (r << 32 | n1)) {
        q1--;
        r += d1;
        if (r >> 32) break;
    }
    u64 n21 = (n32 << 32) + n1 - q1 * d;
    u64 q0 = n21 / d1;
    r = n21 - q0 * d1;
    ROLLED while (q0 >> 32 || q0 * d0 > (r << 32 | n0)) {
        q0--;
        r += d1;
        if (r >> 32) break;
    }
    *rem = ((n21 << 32) + n0 - q0 * d) >> s;
    return (q1 << 32) + q0;
}
#endif

FN u128 u128_from_u64(u64 v) { return u128_make(v, 0); }
FN bool u128_is_zero(u128 a) { return (u128_lo(a) | u128_hi(a)) == 0; }
FN bool u128_le(u128 a, u128 b) { return !u128_lt(b, a); }
FN u32 u128_clz(u128 a) { return u128_hi(a) ? clz_u64(u128_hi(a)) : 64 + clz_u64(u128_lo(a)); }
/* 10^n, 0 <= n <= 38 */
FN u128 u128_pow10(u32 n) { return u128_make(kc_pow10_lo[n], kc_pow10_hi[n]); }

/* ---- 256 bits -------------------------------------------------------------------------------------- */
typedef struct u256 {
    u128 lo, hi;
} u256;

FN u256 u256_mul(u128 a, u128 b) {
    u64 a0 = u128_lo(a), a1 = u128_hi(a), b0 = u128_lo(b), b1 = u128_hi(b);
    u128 p00 = u128_mul64(a0, b0), p01 = u128_mul64(a0, b1), p10 = u128_mul64(a1, b0), p11 = u128_mul64(a1, b1);
    u128 mid =
        u128_add(u128_add(u128_from_u64(u128_hi(p00)), u128_from_u64(u128_lo(p01))), u128_from_u64(u128_lo(p10)));
    u256 r;
    r.lo = u128_make(u128_lo(p00), u128_lo(mid));
    r.hi = u128_add(u128_add(p11, u128_from_u64(u128_hi(p01))),
                    u128_add(u128_from_u64(u128_hi(p10)), u128_from_u64(u128_hi(mid))));
    return r;
}
FN u256 u256_shl(u256 a, u32 n) { /* n < 256 */
    u256 r;
    if (n >= 128) {
        r.hi = u128_shl(a.lo, n - 128);
        r.lo = u128_from_u64(0);
    } else if (n > 0) {
        u128 up = u128_shr(a.lo, 128 - n), hi = u128_shl(a.hi, n);
        r.hi = u128_make(u128_lo(hi) | u128_lo(up), u128_hi(hi) | u128_hi(up));
        r.lo = u128_shl(a.lo, n);
    } else {
        r = a;
    }
    return r;
}
/* One digit (64 bits) of a quotient: (n2 * 2^64 + n0) / d with n2 < d and d's top bit set (Knuth D, steps D3 and D4).
 */
FN_BIG u64 u256_div_step(u128 n2, u64 n0, u128 d, PRIV u128 *rem) {
    u64 d1 = u128_hi(d), d0 = u128_lo(d), q, part;
    u128 r;
    if (u128_hi(n2) >= d1) {
        q = ~U64C(0);
        r = u128_sub(n2, u128_mul64(q, d1));
    } else {
        q = udiv_2by1(u128_hi(n2), u128_lo(n2), d1, &part);
        r = u128_from_u64(part);
    }
    ROLLED while (u128_hi(r) == 0 && u128_lt(u128_make(n0, u128_lo(r)), u128_mul64(q, d0))) {
        q--;
        r = u128_add(r, u128_from_u64(d1));
    }
    u128 low = u128_sub(u128_make(n0, u128_lo(n2)), u128_mul64(q, d0));
    *rem = u128_make(u128_lo(low), u128_hi(low) - q * d1);
    return q;
}
#if !defined(KC_INT128)
FN_BIG u128 u128_divmod(u128 n, u128 d, PRIV u128 *rem) {
    u64 r = 0, q1, q0;
    u128 left;
    if (d.hi == 0) {
        q1 = n.hi / d.lo;
        q0 = udiv_2by1(n.hi - q1 * d.lo, n.lo, d.lo, &r);
        *rem = u128_from_u64(r);
        return u128_make(q0, q1);
    }
    /* one digit: n * 2^s has 192 bits, the top 128 of them are below d * 2^s */
    u32 s = clz_u64(d.hi);
    q0 = u256_div_step(s ? u128_shr(n, 64 - s) : u128_from_u64(n.hi), n.lo << s, u128_shl(d, s), &left);
    *rem = u128_shr(left, s);
    return u128_from_u64(q0);
}
#endif
/* n / d, where n.hi < d, so that the quotient has 128 bits. */
FN_BIG u128 u256_divmod(u256 n, u128 d, PRIV u128 *rem) {
    u64 q1, q0, r;
    u128 left;
    if (u128_is_zero(n.hi)) return u128_divmod(n.lo, d, rem);
    if (u128_hi(d) == 0) { /* then n.hi has one limb, too */
        q1 = udiv_2by1(u128_lo(n.hi), u128_hi(n.lo), u128_lo(d), &r);
        q0 = udiv_2by1(r, u128_lo(n.lo), u128_lo(d), &r);
        *rem = u128_from_u64(r);
        return u128_make(q0, q1);
    }
    u32 s = clz_u64(u128_hi(d));
    d = u128_shl(d, s);
    n = u256_shl(n, s);
    q1 = u256_div_step(n.hi, u128_hi(n.lo), d, &left);
    q0 = u256_div_step(left, u128_lo(n.lo), d, &left);
    *rem = u128_shr(left, s);
    return u128_make(q0, q1);
}

/* ---- signed 128 bits --------------------------------------------------------------------------------- */
#if defined(KC_INT128)
FN i128 i128_from_limbs(u64 lo, u64 hi) { return (i128)((u128)hi << 64 | lo); }
FN i128 i128_from_i64(i64 v) { return v; }
FN i128 i128_from_u64(u64 v) { return (i128)v; }
FN u64 i128_lo(i128 a) { return (u64)a; }
FN u64 i128_hi(i128 a) { return (u64)((u128)a >> 64); }
FN i128 i128_add(i128 a, i128 b) { return (i128)((u128)a + (u128)b); }
FN i128 i128_sub(i128 a, i128 b) { return (i128)((u128)a - (u128)b); }
FN i128 i128_mul(i128 a, i128 b) { return (i128)((u128)a * (u128)b); }
FN i128 i128_neg(i128 a) { return (i128) - (u128)a; }
FN i128 i128_mul64(i64 a, i64 b) { return (i128)a * b; } /* exact */
FN bool i128_eq(i128 a, i128 b) { return a == b; }
FN bool i128_lt(i128 a, i128 b) { return a < b; }
FN bool i128_is_neg(i128 a) { return a < 0; }
FN i128 i128_shl(i128 a, u32 n) { return (i128)((u128)a << n); } /* n < 128 */
FN i128 i128_shr(i128 a, u32 n) { return a >> n; }
FN u128 i128_to_u128(i128 a) { return (u128)a; }
FN i128 i128_from_u128(u128 a) { return (i128)a; }
FN bool i128_fits_i64(i128 a) { return a == (i64)a; }
#if defined(KC_HOST)
FN bool i128_add_ovf(i128 a, i128 b, PRIV i128 *out) { return __builtin_add_overflow(a, b, out); }
FN bool i128_sub_ovf(i128 a, i128 b, PRIV i128 *out) { return __builtin_sub_overflow(a, b, out); }
FN bool i128_mul_ovf(i128 a, i128 b, PRIV i128 *out) { return __builtin_mul_overflow(a, b, out); }
#endif
FN i128 i128_div(i128 a, i128 b) { return a / b; } /* b not 0; not MIN / -1 */
FN i128 i128_mod(i128 a, i128 b) { return a % b; }
#else
FN i128 i128_from_limbs(u64 lo, u64 hi) {
    i128 r;
    r.lo = lo;
    r.hi = (i64)hi;
    return r;
}
FN i128 i128_from_i64(i64 v) { return i128_from_limbs((u64)v, (u64)(v >> 63)); }
FN i128 i128_from_u64(u64 v) { return i128_from_limbs(v, 0); }
FN u64 i128_lo(i128 a) { return a.lo; }
FN u64 i128_hi(i128 a) { return (u64)a.hi; }
FN u128 i128_to_u128(i128 a) { return u128_make(a.lo, (u64)a.hi); }
FN i128 i128_from_u128(u128 a) { return i128_from_limbs(a.lo, a.hi); }
FN i128 i128_add(i128 a, i128 b) { return i128_from_u128(u128_add(i128_to_u128(a), i128_to_u128(b))); }
FN i128 i128_sub(i128 a, i128 b) { return i128_from_u128(u128_sub(i128_to_u128(a), i128_to_u128(b))); }
FN i128 i128_mul(i128 a, i128 b) { return i128_from_u128(u128_mul(i128_to_u128(a), i128_to_u128(b))); }
FN i128 i128_neg(i128 a) { return i128_from_limbs(0 - a.lo, 0 - (u64)a.hi - (u64)(a.lo != 0)); }
FN i128 i128_mul64(i64 a, i64 b) {
    u64 x = (u64)a, y = (u64)b;
    return i128_from_limbs(x * y, mulhi_u64(x, y) - ((u64)(a >> 63) & y) - ((u64)(b >> 63) & x));
}
FN bool i128_eq(i128 a, i128 b) { return a.lo == b.lo && a.hi == b.hi; }
FN bool i128_lt(i128 a, i128 b) { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }
FN bool i128_is_neg(i128 a) { return a.hi < 0; }
FN i128 i128_shl(i128 a, u32 n) { return i128_from_u128(u128_shl(i128_to_u128(a), n)); }
FN i128 i128_shr(i128 a, u32 n) {
    if (n >= 64) return i128_from_i64(a.hi >> (n - 64));
    return i128_from_limbs((a.lo >> n) | (((u64)a.hi << 1) << (63 - n)), (u64)(a.hi >> n));
}
FN bool i128_fits_i64(i128 a) { return a.hi == ((i64)a.lo >> 63); }
#endif

#define I128_MIN (i128_from_limbs(0, U64C(0x8000000000000000)))
#define I128_MAX (i128_from_limbs(~U64C(0), U64C(0x7fffffffffffffff)))
FN u128 i128_magnitude(i128 a) { return i128_to_u128(i128_is_neg(a) ? i128_neg(a) : a); }
FN i128 i128_signed(u128 magnitude, bool negative) {
    i128 v = i128_from_u128(magnitude);
    return negative ? i128_neg(v) : v;
}
FN bool i128_ne(i128 a, i128 b) { return !i128_eq(a, b); }
FN bool i128_gt(i128 a, i128 b) { return i128_lt(b, a); }
FN bool i128_le(i128 a, i128 b) { return !i128_lt(b, a); }
FN bool i128_ge(i128 a, i128 b) { return !i128_lt(a, b); }
FN i32 i128_cmp(i128 a, i128 b) { return (i32)i128_lt(b, a) - (i32)i128_lt(a, b); }
FN bool i128_is_zero(i128 a) { return (i128_lo(a) | i128_hi(a)) == 0; }
FN i128 i128_pow10(u32 n) { return i128_from_limbs(kc_pow10_lo[n], kc_pow10_hi[n]); }
FN i128 i128_select(bool c, i128 a, i128 b) { return c ? a : b; }
/* The low 64 bits; true when they are not the value. */
FN bool i128_to_i64_ovf(i128 a, PRIV i64 *out) {
    *out = (i64)i128_lo(a);
    return !i128_fits_i64(a);
}
/* Cells at an address: 8-byte alignment is enough. */
FN i128 ld_i128(u64 addr) { return i128_from_limbs(G(u64, addr)[0], G(u64, addr)[1]); }
FN i128 ldro_i128(u64 addr) { return i128_from_limbs(GRO(u64, addr)[0], GRO(u64, addr)[1]); }
FN void st_i128(u64 addr, i128 v) {
    G(u64, addr)[0] = i128_lo(v);
    G(u64, addr)[1] = i128_hi(v);
}

#if !(defined(KC_INT128) && defined(KC_HOST))
FN bool i128_add_ovf(i128 a, i128 b, PRIV i128 *out) {
    i128 r = i128_add(a, b);
    *out = r;
    return ((i128_hi(a) ^ i128_hi(r)) & (i128_hi(b) ^ i128_hi(r))) >> 63;
}
FN bool i128_sub_ovf(i128 a, i128 b, PRIV i128 *out) {
    i128 r = i128_sub(a, b);
    *out = r;
    return ((i128_hi(a) ^ i128_hi(b)) & (i128_hi(a) ^ i128_hi(r))) >> 63;
}
FN bool i128_mul_ovf(i128 a, i128 b, PRIV i128 *out) {
    if (i128_fits_i64(a) && i128_fits_i64(b)) {
        *out = i128_mul64((i64)i128_lo(a), (i64)i128_lo(b));
        return false;
    }
    bool negative = i128_is_neg(a) != i128_is_neg(b);
    u128 x = i128_magnitude(a), y = i128_magnitude(b);
    u64 x1 = u128_hi(x), y1 = u128_hi(y);
    /* at most one high limb may be set; its product with the other's low limb goes to the high limb */
    u64 one = x1 ? x1 : y1, other = x1 ? u128_lo(y) : u128_lo(x);
    u128 low = u128_mul64(u128_lo(x), u128_lo(y));
    u64 cross = one * other, top = u128_hi(low) + cross;
    bool over = (x1 && y1) || mulhi_u64(one, other) != 0 || top < cross;
    u128 r = u128_make(u128_lo(low), top);
    *out = i128_signed(r, negative);
    return over || (top >> 63 && !(negative && top == U64C(0x8000000000000000) && u128_lo(low) == 0));
}
#endif
#if !defined(KC_INT128)
FN i128 i128_div(i128 a, i128 b) {
    u128 rem;
    if (i128_fits_i64(a) && i128_fits_i64(b) && (i64)a.lo != I64_MIN) return i128_from_i64((i64)a.lo / (i64)b.lo);
    return i128_signed(u128_divmod(i128_magnitude(a), i128_magnitude(b), &rem), i128_is_neg(a) != i128_is_neg(b));
}
FN i128 i128_mod(i128 a, i128 b) {
    u128 rem;
    u128_divmod(i128_magnitude(a), i128_magnitude(b), &rem);
    return i128_signed(rem, i128_is_neg(a));
}
#endif

/* ---- floats ------------------------------------------------------------------------------------------------ */
FN f64 kc_pow2(i32 e) { return bits_f64((u64)(1023 + e) << 52); } /* -1022 <= e <= 1023 */
/* The top 64 bits, the lost ones gathered in the lowest: rounding that once to a shorter float is rounding the whole.
 */
FN u64 u128_sticky(u128 a, PRIV u32 *shift) {
    u32 s = 64 - u128_clz(a); /* a >= 2^64 */
    u128 top = u128_shr(a, s);
    *shift = s;
    return u128_lo(top) | (u64)!u128_eq(u128_shl(top, s), a);
}
FN f64 u128_to_f64(u128 a) {
    u32 s;
    if (u128_hi(a) == 0) return (f64)u128_lo(a);
    u64 top = u128_sticky(a, &s);
    return (f64)top * kc_pow2((i32)s);
}
FN f32 u128_to_f32(u128 a) {
    u32 s;
    if (u128_hi(a) == 0) return (f32)u128_lo(a);
    u64 top = u128_sticky(a, &s);
    return (f32)top * (f32)kc_pow2((i32)s);
}
/* Rounded to nearest, ties to even, as the C casts. */
FN f64 i128_to_f64(i128 a) {
    if (i128_fits_i64(a)) return (f64)(i64)i128_lo(a);
    f64 m = u128_to_f64(i128_magnitude(a));
    return i128_is_neg(a) ? -m : m;
}
FN f32 i128_to_f32(i128 a) {
    if (i128_fits_i64(a)) return (f32)(i64)i128_lo(a);
    f32 m = u128_to_f32(i128_magnitude(a));
    return i128_is_neg(a) ? -m : m;
}
/* Truncates; |d| < 2^127 and no NaN (the caller has checked). */
FN i128 i128_from_f64(f64 d) {
    u64 bits = f64_bits(d);
    i32 e = (i32)(bits >> 52 & 2047) - 1075;
    u64 m = (bits & U64C(0xfffffffffffff)) | U64C(0x10000000000000);
    if (e < -52) return i128_from_u64(0);
    u128 v = e < 0 ? u128_from_u64(m >> (u32)-e) : u128_shl(u128_from_u64(m), (u32)e);
    return i128_signed(v, bits >> 63);
}

#endif
