/* kc_scalar.h - what the virtual machine computes on fixed-size values, row by row: checked arithmetic, conversions,
 * comparisons, numeric, dates, intervals, uuids, hashing.
 *
 * The virtual machine (exec/vm_kernels.inc, exec/vm_expr.c) and src/types define every result;
 * tests/unit/test_prelude.c compares. Functions that can fail return 0 or a KE_ kind (kc_codes.h), usable as a
 * condition; *out is then unspecified but defined.
 */
#ifndef KC_SCALAR_H
#define KC_SCALAR_H
#include "codegen/prelude/kc_int128.h"

/* ---- integers: checked, KE_RANGE on overflow ------------------------------------------------------- */
FN u32 ovf_add_i16(i16 x, i16 y, PRIV i16 *out) {
    i32 w = (i32)x + (i32)y;
    *out = (i16)w;
    return (u32)(w != (i32)(i16)w);
}
FN u32 ovf_sub_i16(i16 x, i16 y, PRIV i16 *out) {
    i32 w = (i32)x - (i32)y;
    *out = (i16)w;
    return (u32)(w != (i32)(i16)w);
}
FN u32 ovf_mul_i16(i16 x, i16 y, PRIV i16 *out) {
    i32 w = (i32)x * (i32)y;
    *out = (i16)w;
    return (u32)(w != (i32)(i16)w);
}
#if defined(KC_HOST)
FN u32 ovf_add_i32(i32 x, i32 y, PRIV i32 *out) { return (u32)__builtin_add_overflow(x, y, out); }
FN u32 ovf_sub_i32(i32 x, i32 y, PRIV i32 *out) { return (u32)__builtin_sub_overflow(x, y, out); }
FN u32 ovf_mul_i32(i32 x, i32 y, PRIV i32 *out) { return (u32)__builtin_mul_overflow(x, y, out); }
FN u32 ovf_add_i64(i64 x, i64 y, PRIV i64 *out) { return (u32)__builtin_add_overflow(x, y, out); }
FN u32 ovf_sub_i64(i64 x, i64 y, PRIV i64 *out) { return (u32)__builtin_sub_overflow(x, y, out); }
FN u32 ovf_mul_i64(i64 x, i64 y, PRIV i64 *out) { return (u32)__builtin_mul_overflow(x, y, out); }
#else
FN u32 ovf_add_i32(i32 x, i32 y, PRIV i32 *out) {
    u32 a = (u32)x, b = (u32)y, r = a + b;
    *out = (i32)r;
    return ((a ^ r) & (b ^ r)) >> 31;
}
FN u32 ovf_sub_i32(i32 x, i32 y, PRIV i32 *out) {
    u32 a = (u32)x, b = (u32)y, r = a - b;
    *out = (i32)r;
    return ((a ^ b) & (a ^ r)) >> 31;
}
FN u32 ovf_mul_i32(i32 x, i32 y, PRIV i32 *out) {
    i64 w = (i64)x * (i64)y;
    *out = (i32)w;
    return (u32)(w != (i64)(i32)w);
}
FN u32 ovf_add_i64(i64 x, i64 y, PRIV i64 *out) {
    u64 a = (u64)x, b = (u64)y, r = a + b;
    *out = (i64)r;
    return (u32)(((a ^ r) & (b ^ r)) >> 63);
}
FN u32 ovf_sub_i64(i64 x, i64 y, PRIV i64 *out) {
    u64 a = (u64)x, b = (u64)y, r = a - b;
    *out = (i64)r;
    return (u32)(((a ^ b) & (a ^ r)) >> 63);
}
FN u32 ovf_mul_i64(i64 x, i64 y, PRIV i64 *out) {
    i128 w = i128_mul64(x, y);
    *out = (i64)i128_lo(w);
    return (u32)!i128_fits_i64(w);
}
#endif
/* numeric: at most 38 digits */
FN u32 kc_over38(i128 v) { return (u32)i128_ge(v, i128_pow10(38)) | (u32)i128_le(v, i128_neg(i128_pow10(38))); }
FN u32 ovf_add_i128(i128 x, i128 y, PRIV i128 *out) {
    u32 f = (u32)i128_add_ovf(x, y, out);
    return f | kc_over38(*out);
}
FN u32 ovf_sub_i128(i128 x, i128 y, PRIV i128 *out) {
    u32 f = (u32)i128_sub_ovf(x, y, out);
    return f | kc_over38(*out);
}
FN u32 ovf_mul_i128(i128 x, i128 y, PRIV i128 *out) {
    if (i128_fits_i64(x) && i128_fits_i64(y)) {
        *out = i128_mul64((i64)i128_lo(x), (i64)i128_lo(y));
        return kc_over38(*out);
    }
    u32 f = (u32)i128_mul_ovf(x, y, out);
    return f | kc_over38(*out);
}

/* Unchecked (_N opcodes): wraps. i128: i128_add, i128_sub, i128_mul. */
#define KC_WRAP(T, U)                                        \
    FN T wrap_add_##T(T x, T y) { return (T)((U)x + (U)y); } \
    FN T wrap_sub_##T(T x, T y) { return (T)((U)x - (U)y); } \
    FN T wrap_mul_##T(T x, T y) { return (T)((U)x * (U)y); }
KC_WRAP(i16, u32)
KC_WRAP(i32, u32)
KC_WRAP(i64, u64)

/* Bits. Counts as the virtual machine takes them. */
#define KC_BITS(T, U, MASK)                                           \
    FN T bitand_##T(T x, T y) { return (T)(x & y); }                  \
    FN T bitor_##T(T x, T y) { return (T)(x | y); }                   \
    FN T bitxor_##T(T x, T y) { return (T)(x ^ y); }                  \
    FN T bitnot_##T(T x) { return (T)~x; }                            \
    FN T shl_##T(T x, T y) { return (T)((U)x << ((u32)y & (MASK))); } \
    FN T shr_##T(T x, T y) { return (T)(x >> ((u32)y & (MASK))); }
KC_BITS(i16, u32, 31u)
KC_BITS(i32, u32, 31u)
KC_BITS(i64, u64, 63u)
FN i64 mul_wide_i32(i32 x, i32 y) { return (i64)x * (i64)y; }
FN i128 mul_wide_i64(i64 x, i64 y) { return i128_mul64(x, y); }

/* Truncating; KE_ZERO_DIV, KE_RANGE for MIN / -1. MIN % -1 is 0. */
#define KC_DIV(T, MIN)                                                       \
    FN u32 ovf_div_##T(T x, T y, PRIV T *out) {                              \
        u32 zero = (u32)(y == 0), over = (u32)(x == (MIN)) & (u32)(y == -1); \
        *out = (T)(x / (zero | over ? (T)1 : y));                            \
        return zero * KE_ZERO_DIV | over * KE_RANGE;                         \
    }                                                                        \
    FN u32 ovf_mod_##T(T x, T y, PRIV T *out) {                              \
        u32 zero = (u32)(y == 0);                                            \
        *out = (T)(x % (zero | (u32)(y == -1) ? (T)1 : y));                  \
        return zero * KE_ZERO_DIV;                                           \
    }                                                                        \
    FN u32 ovf_neg_##T(T x, PRIV T *out) {                                   \
        *out = (T)(0 - (u64)x);                                              \
        return (u32)(x == (MIN));                                            \
    }                                                                        \
    FN u32 ovf_abs_##T(T x, PRIV T *out) {                                   \
        *out = (T)(x < 0 ? 0 - (u64)x : (u64)x);                             \
        return (u32)(x == (MIN));                                            \
    }
KC_DIV(i16, -32768)
KC_DIV(i32, I32_MIN)
KC_DIV(i64, I64_MIN)
FN u32 ovf_div_i128(i128 x, i128 y, PRIV i128 *out) {
    u32 zero = (u32)i128_is_zero(y), over = (u32)i128_eq(x, I128_MIN) & (u32)i128_eq(y, i128_from_i64(-1));
    *out = i128_div(x, zero | over ? i128_from_i64(1) : y);
    return zero * KE_ZERO_DIV | over * KE_RANGE;
}
FN u32 ovf_mod_i128(i128 x, i128 y, PRIV i128 *out) {
    u32 zero = (u32)i128_is_zero(y);
    *out = i128_mod(x, zero | (u32)i128_eq(y, i128_from_i64(-1)) ? i128_from_i64(1) : y);
    return zero * KE_ZERO_DIV;
}
FN u32 ovf_neg_i128(i128 x, PRIV i128 *out) {
    *out = i128_neg(x);
    return (u32)i128_eq(x, I128_MIN);
}
FN u32 ovf_abs_i128(i128 x, PRIV i128 *out) {
    *out = i128_is_neg(x) ? i128_neg(x) : x;
    return (u32)i128_eq(x, I128_MIN);
}

/* ---- floats: a finite result from finite operands, no underflow to zero ------------------------------------ */
#define KC_LARGEST_f64 1.7976931348623157e308
#define KC_LARGEST_f32 3.402823466e+38f
#define KC_FINITE(T, x) ((u32)(abs_##T(x) <= KC_LARGEST_##T))
#define KC_FLOAT(T, QUOTIENT)                                                                      \
    FN u32 ovf_add_##T(T x, T y, PRIV T *out) {                                                    \
        T r = x + y;                                                                               \
        *out = r;                                                                                  \
        return (KC_FINITE(T, r) ^ 1u) & KC_FINITE(T, x) & KC_FINITE(T, y);                         \
    }                                                                                              \
    FN u32 ovf_sub_##T(T x, T y, PRIV T *out) {                                                    \
        T r = x - y;                                                                               \
        *out = r;                                                                                  \
        return (KC_FINITE(T, r) ^ 1u) & KC_FINITE(T, x) & KC_FINITE(T, y);                         \
    }                                                                                              \
    FN u32 ovf_mul_##T(T x, T y, PRIV T *out) {                                                    \
        T r = x * y;                                                                               \
        *out = r;                                                                                  \
        u32 over = (KC_FINITE(T, r) ^ 1u) & KC_FINITE(T, x) & KC_FINITE(T, y);                     \
        return over * KE_RANGE | ((u32)(r == 0) & (u32)(x != 0) & (u32)(y != 0)) * KE_UNDERFLOW;   \
    }                                                                                              \
    FN u32 ovf_div_##T(T x, T y, PRIV T *out) {                                                    \
        T r = QUOTIENT;                                                                            \
        *out = r;                                                                                  \
        if ((y == 0) & (x == x)) return KE_ZERO_DIV;                                               \
        u32 over = (KC_FINITE(T, r) ^ 1u) & KC_FINITE(T, x) & KC_FINITE(T, y);                     \
        return over * KE_RANGE | ((u32)(r == 0) & (u32)(x != 0) & KC_FINITE(T, y)) * KE_UNDERFLOW; \
    }                                                                                              \
    FN T neg_##T(T x) { return -x; }                                                               \
    FN bool eq_##T(T x, T y) {                                                                     \
        return (x == y) | ((x != x) & (y != y));                                                   \
    } /* NaN equals NaN, is the greatest; -0 = 0 */                                                \
    FN bool lt_##T(T x, T y) { return (x < y) | ((x == x) & (y != y)); }                           \
    FN bool ne_##T(T x, T y) { return !eq_##T(x, y); }                                             \
    FN bool gt_##T(T x, T y) { return lt_##T(y, x); }                                              \
    FN bool le_##T(T x, T y) { return !lt_##T(y, x); }                                             \
    FN bool ge_##T(T x, T y) { return !lt_##T(x, y); }                                             \
    FN i32 cmp_##T(T x, T y) { return (i32)lt_##T(y, x) - (i32)lt_##T(x, y); }
/* OpenCL's single division need not be exact; a double quotient, rounded, is. */
#if defined(KC_OPENCL)
KC_FLOAT(f32, (f32)((f64)x / (f64)y))
#else
KC_FLOAT(f32, x / y)
#endif
KC_FLOAT(f64, x / y)

/* ---- conversions: cvt_FROM_TO(x, out), KE_RANGE or KE_UNDERFLOW ----------------------------------------------- */
#define KC_WIDEN(A, B)                       \
    FN u32 cvt_##A##_##B(A x, PRIV B *out) { \
        *out = (B)x;                         \
        return 0;                            \
    }
#define KC_NARROW(A, B)                      \
    FN u32 cvt_##A##_##B(A x, PRIV B *out) { \
        *out = (B)x;                         \
        return (u32)((A)(B)x != x);          \
    }
#define KC_TO_BOOL(A)                            \
    FN u32 cvt_##A##_bool(A x, PRIV bool *out) { \
        *out = x != 0;                           \
        return 0;                                \
    }
#define KC_TO_I128(A)                            \
    FN u32 cvt_##A##_i128(A x, PRIV i128 *out) { \
        *out = i128_from_i64((i64)x);            \
        return 0;                                \
    }
KC_WIDEN(bool, bool)
KC_WIDEN(bool, i16)
KC_WIDEN(bool, i32)
KC_WIDEN(bool, i64)
KC_TO_I128(bool)
KC_WIDEN(bool, f32)
KC_WIDEN(bool, f64)
KC_TO_BOOL(i16)
KC_WIDEN(i16, i16)
KC_WIDEN(i16, i32)
KC_WIDEN(i16, i64)
KC_TO_I128(i16)
KC_WIDEN(i16, f32)
KC_WIDEN(i16, f64)
KC_TO_BOOL(i32)
KC_NARROW(i32, i16)
KC_WIDEN(i32, i32)
KC_WIDEN(i32, i64)
KC_TO_I128(i32)
KC_WIDEN(i32, f32)
KC_WIDEN(i32, f64)
KC_TO_BOOL(i64)
KC_NARROW(i64, i16)
KC_NARROW(i64, i32)
KC_WIDEN(i64, i64)
KC_TO_I128(i64)
KC_WIDEN(i64, f32)
KC_WIDEN(i64, f64)
FN u32 cvt_i128_bool(i128 x, PRIV bool *out) {
    *out = !i128_is_zero(x);
    return 0;
}
FN u32 cvt_i128_i16(i128 x, PRIV i16 *out) {
    i64 v;
    u32 f = (u32)i128_to_i64_ovf(x, &v);
    *out = (i16)v;
    return f | (u32)(v != (i64)(i16)v);
}
FN u32 cvt_i128_i32(i128 x, PRIV i32 *out) {
    i64 v;
    u32 f = (u32)i128_to_i64_ovf(x, &v);
    *out = (i32)v;
    return f | (u32)(v != (i64)(i32)v);
}
FN u32 cvt_i128_i64(i128 x, PRIV i64 *out) { return (u32)i128_to_i64_ovf(x, out); }
FN u32 cvt_i128_i128(i128 x, PRIV i128 *out) {
    *out = x;
    return 0;
}
FN u32 cvt_i128_f32(i128 x, PRIV f32 *out) {
    *out = i128_to_f32(x);
    return 0;
}
FN u32 cvt_i128_f64(i128 x, PRIV f64 *out) {
    *out = i128_to_f64(x);
    return 0;
}
/* Rounded half to even, within [-LIMIT, LIMIT); NaN is out of range. */
#define KC_FROM_FLOAT(A, B, LIMIT)                                \
    FN u32 cvt_##A##_##B(A x, PRIV B *out) {                      \
        A v = rint_##A(x);                                        \
        u32 ok = (u32)(v >= -(A)(LIMIT)) & (u32)(v < (A)(LIMIT)); \
        *out = (B)(ok ? v : (A)0);                                \
        return ok ^ 1u;                                           \
    }
#define KC_FLOAT_TO_I128(A)                                                  \
    FN u32 cvt_##A##_i128(A x, PRIV i128 *out) {                             \
        A v = rint_##A(x);                                                   \
        u32 ok = (u32)(v >= -(A)170141183460469231731687303715884105728.0) & \
                 (u32)(v < (A)170141183460469231731687303715884105728.0);    \
        *out = i128_from_f64((f64)(ok ? v : (A)0));                          \
        return ok ^ 1u;                                                      \
    }
KC_TO_BOOL(f32)
KC_FROM_FLOAT(f32, i16, 32768.0f)
KC_FROM_FLOAT(f32, i32, 2147483648.0f)
KC_FROM_FLOAT(f32, i64, 9223372036854775808.0f)
KC_FLOAT_TO_I128(f32)
KC_WIDEN(f32, f32)
KC_WIDEN(f32, f64)
KC_TO_BOOL(f64)
KC_FROM_FLOAT(f64, i16, 32768.0)
KC_FROM_FLOAT(f64, i32, 2147483648.0)
KC_FROM_FLOAT(f64, i64, 9223372036854775808.0)
KC_FLOAT_TO_I128(f64)
FN u32 cvt_f64_f32(f64 x, PRIV f32 *out) {
    f32 r = (f32)x;
    *out = r;
    return ((KC_FINITE(f32, r) ^ 1u) & KC_FINITE(f64, x)) * KE_RANGE | ((u32)(r == 0) & (u32)(x != 0)) * KE_UNDERFLOW;
}
KC_WIDEN(f64, f64)

/* ---- numeric: integer * 10^-scale, rounding half away from zero -------------------------------------------------- */
/* v * 10^(to - from); true beyond 38 digits. */
FN bool numeric_rescale_ovf(i128 v, i32 from, i32 to, PRIV i128 *out) {
    i32 diff = to - from;
    if (diff >= 0) {
        if (diff > 38) {
            *out = i128_from_i64(0);
            return !i128_is_zero(v);
        }
        bool over = i128_mul_ovf(v, i128_pow10((u32)diff), out);
        return over || kc_over38(*out);
    }
    diff = -diff;
    if (diff > 38) {
        *out = i128_from_i64(0);
        return false;
    }
    if (diff <= 18 && i128_fits_i64(v) && (i64)i128_lo(v) != I64_MIN) {
        i64 w = (i64)i128_lo(v), p = (i64)kc_pow10_lo[diff], q = w / p, r = w - q * p;
        r = r < 0 ? -r : r;
        *out = i128_from_i64(q + (r >= p - r ? (w < 0 ? -1 : 1) : 0));
        return false;
    }
    u128 rem, p = u128_pow10((u32)diff), q = u128_divmod(i128_magnitude(v), p, &rem);
    if (u128_le(u128_sub(p, rem), rem)) q = u128_add(q, u128_from_u64(1));
    *out = i128_signed(q, i128_is_neg(v));
    return kc_over38(*out) != 0;
}
/* |v| < 10^digits? */
FN bool numeric_exceeds_i128(i128 v, i32 digits) {
    return i128_ge(v, i128_pow10((u32)digits)) || i128_le(v, i128_neg(i128_pow10((u32)digits)));
}
FN bool numeric_exceeds_i64(i64 v, i32 digits) {
    i64 p = (i64)kc_pow10_lo[digits > 18 ? 18 : digits];
    return (digits <= 18) & ((v >= p) | (v <= -p));
}
/* CHECK_DIGITS */
FN u32 check_digits_i64(i64 v, i32 digits) { return (u32)numeric_exceeds_i64(v, digits) * KE_NUMERIC; }
FN u32 check_digits_i128(i128 v, i32 digits) { return (u32)numeric_exceeds_i128(v, digits) * KE_NUMERIC; }

/* RESCALE: scales from, to, precision as in NUM_IMM; KE_NUMERIC. Give constants, so that it folds to one
 * multiplication. */
FN u32 rescale_i128_i128(i128 v, i32 from, i32 to, i32 prec, PRIV i128 *out) {
    if (prec < 1 || prec > 38) prec = 38;
    bool bad = numeric_rescale_ovf(v, from, to, out);
    return (u32)(bad | numeric_exceeds_i128(*out, prec)) * KE_NUMERIC;
}
FN u32 rescale_i128_i64(i128 v, i32 from, i32 to, i32 prec, PRIV i64 *out) {
    i128 r;
    u32 bad = rescale_i128_i128(v, from, to, prec, &r);
    return i128_to_i64_ovf(r, out) ? KE_NUMERIC : bad;
}
FN u32 rescale_i64_i128(i64 v, i32 from, i32 to, i32 prec, PRIV i128 *out) {
    i32 shift = to - from;
    if (prec < 1 || prec > 38) prec = 38;
    if (shift >= 0 && shift <= 18) {
        *out = i128_mul64(v, (i64)kc_pow10_lo[shift]); /* below 2^63 * 10^18 < 10^38 */
        return (u32)numeric_exceeds_i128(*out, prec) * KE_NUMERIC;
    }
    return rescale_i128_i128(i128_from_i64(v), from, to, prec, out);
}
FN u32 rescale_i64_i64(i64 v, i32 from, i32 to, i32 prec, PRIV i64 *out) {
    i32 shift = to - from;
    if (prec < 1 || prec > 38) prec = 38;
    if (shift >= 0 && shift <= 18) {
        if (prec <= 18) { /* then |v| * 10^shift < 10^prec is a bound on v */
            i64 p = (i64)kc_pow10_lo[shift], limit = ((i64)kc_pow10_lo[prec] - 1) / p;
            *out = (i64)((u64)v * (u64)p);
            return ((u32)(v > limit) | (u32)(v < -limit)) * KE_NUMERIC;
        }
        return ovf_mul_i64(v, (i64)kc_pow10_lo[shift], out) * KE_NUMERIC;
    }
    if (shift < 0 && shift >= -18) {
        i64 p = (i64)kc_pow10_lo[-shift], q = v / p, r = v - q * p;
        q += (i64)(r >= p / 2) - (i64)(r <= -(p / 2));
        *out = q;
        return (u32)numeric_exceeds_i64(q, prec) * KE_NUMERIC;
    }
    i128 r;
    u32 bad = rescale_i128_i128(i128_from_i64(v), from, to, prec, &r);
    return i128_to_i64_ovf(r, out) ? KE_NUMERIC : bad;
}

/* (a / 10^sa) / (b / 10^sb) at scale sr, with 256-bit intermediates; b not 0. True beyond 38 digits. */
FN_BIG bool numeric_div_ovf(i128 a, i32 sa, i128 b, i32 sb, i32 sr, PRIV i128 *out) {
    bool negative = i128_is_neg(a) != i128_is_neg(b);
    u128 num = i128_magnitude(a), den = i128_magnitude(b), rem;
    i32 exp = sr + sb - sa; /* result = a * 10^exp / b */
    u256 n;
    *out = i128_from_i64(0);
    if (u128_is_zero(num)) return false;
    n.hi = u128_from_u64(0);
    n.lo = num;
    if (exp >= 0) {
        if (exp > 76) return true;
        n = u256_mul(num, u128_pow10((u32)(exp < 38 ? exp : 38)));
        if (exp > 38) { /* a numerator of more than 256 bits means a quotient of more than 38 digits */
            u128 p = u128_pow10((u32)(exp - 38));
            u256 low = u256_mul(n.lo, p), high = u256_mul(n.hi, p);
            if (!u128_is_zero(high.hi)) return true;
            n.lo = low.lo;
            n.hi = u128_add(high.lo, low.hi);
            if (u128_lt(n.hi, low.hi)) return true;
        }
    } else {
        if (exp < -38) return false; /* less than a half of the last digit */
        u256 wide = u256_mul(den, u128_pow10((u32)-exp));
        if (!u128_is_zero(wide.hi)) return false; /* den >= 2^128 > 2 * num */
        den = wide.lo;
    }
    if (!u128_lt(n.hi, den)) return true;
    u128 q = u256_divmod(n, den, &rem);
    if (u128_le(u128_sub(den, rem), rem)) q = u128_add(q, u128_from_u64(1));
    if (!u128_lt(q, u128_pow10(38))) return true;
    *out = i128_signed(q, negative);
    return false;
}
/* NUM_DIV */
FN u32 num_div(i128 a, i128 b, i32 sa, i32 sb, i32 sr, PRIV i128 *out) {
    i32 up = sr + sb - sa;
    if (i128_is_zero(b)) {
        *out = b;
        return KE_ZERO_DIV;
    }
    if (up >= 0 && up <= 18 && i128_fits_i64(a) && i128_fits_i64(b)) { /* the shifted dividend often fits 64 bits */
        i64 x, y = (i64)i128_lo(b);
        if (!ovf_mul_i64((i64)i128_lo(a), (i64)kc_pow10_lo[up], &x) && x != I64_MIN) {
            i64 q = x / y, r = x - q * y;
            u64 ur = r < 0 ? 0 - (u64)r : (u64)r, uy = y < 0 ? 0 - (u64)y : (u64)y;
            if (ur >= uy - ur) q += (x < 0) != (y < 0) ? -1 : 1;
            *out = i128_from_i64(q);
            return 0;
        }
    }
    return (u32)numeric_div_ovf(a, sa, b, sb, sr, out) * KE_NUMERIC;
}
/* a * b in 256 bits / 10^down, 0 <= down <= 76. True beyond 38 digits. */
FN_BIG bool numeric_mul_rescale_ovf(i128 a, i128 b, i32 down, PRIV i128 *out) {
    i128 p;
    bool wide = i128_mul_ovf(a, b, &p);
    if (!wide && !kc_over38(p)) return numeric_rescale_ovf(p, down, 0, out);
    bool negative = i128_is_neg(a) != i128_is_neg(b);
    u256 w = u256_mul(i128_magnitude(a), i128_magnitude(b));
    u128 q, rem;
    *out = i128_from_i64(0);
    /* All but the last digit to drop go by truncation; the last one decides the rounding. */
    ROLLED for (i32 left = down - 1; left > 0;) {
        i32 step = left > 18 ? 18 : left;
        u64 d = kc_pow10_lo[step], r = 0, w3, w2, w1, w0;
        w3 = udiv_2by1(r, u128_hi(w.hi), d, &r);
        w2 = udiv_2by1(r, u128_lo(w.hi), d, &r);
        w1 = udiv_2by1(r, u128_hi(w.lo), d, &r);
        w0 = udiv_2by1(r, u128_lo(w.lo), d, &r);
        w.hi = u128_make(w2, w3);
        w.lo = u128_make(w0, w1);
        left -= step;
    }
    if (!u128_is_zero(w.hi)) return true;
    q = w.lo;
    if (down > 0) {
        q = u128_divmod(q, u128_from_u64(10), &rem);
        q = u128_add(q, u128_from_u64((u64)(u128_lo(rem) >= 5)));
    }
    if (!u128_lt(q, u128_pow10(38))) return true;
    *out = i128_signed(q, negative);
    return false;
}
/* NUM_MUL */
FN u32 num_mul(i128 a, i128 b, i32 sa, i32 sb, i32 sr, PRIV i128 *out) {
    if (sr > sa + sb) {
        i128 p;
        bool over = i128_mul_ovf(a, b, &p);
        bool bad = numeric_rescale_ovf(p, sa + sb, sr, out);
        return (u32)(over | bad) * KE_NUMERIC;
    }
    return (u32)numeric_mul_rescale_ovf(a, b, sa + sb - sr, out) * KE_NUMERIC;
}

/* NUM_TO_F64: the double nearest to v / 10^scale. */
CONSTANT f64 kc_pow10_f64[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
FN_BIG f64 kc_num_to_f64_slow(i128 v, i32 scale) {
    u128 n = i128_magnitude(v), d = u128_pow10((u32)scale), rem, q;
    f64 r;
    if (u128_is_zero(n)) return 0;
    i32 more = (i32)u128_clz(d) - (i32)u128_clz(n); /* bits of the quotient, or one less */
    if (more >= 60) {
        q = u128_divmod(n, d, &rem);
        r = u128_to_f64(u128_make(u128_lo(q) | (u64)!u128_is_zero(rem), u128_hi(q)));
    } else { /* a quotient of 63 or 64 bits, the remainder in the lowest */
        u256 wide;
        wide.hi = u128_from_u64(0);
        wide.lo = n;
        q = u256_divmod(u256_shl(wide, (u32)(63 - more)), d, &rem);
        r = (f64)(u128_lo(q) | (u64)!u128_is_zero(rem)) * kc_pow2(more - 63);
    }
    return i128_is_neg(v) ? -r : r;
}
FN f64 num_to_f64_i64(i64 v, i32 scale) {
    if (scale <= 22 && v >= -(I64C(1) << 53) && v <= (I64C(1) << 53))
        return (f64)v / kc_pow10_f64[scale]; /* both exact: rounds once */
    return kc_num_to_f64_slow(i128_from_i64(v), scale);
}
FN f64 num_to_f64_i128(i128 v, i32 scale) {
    if (i128_fits_i64(v)) return num_to_f64_i64((i64)i128_lo(v), scale);
    return kc_num_to_f64_slow(v, scale);
}

/* |d| as 15 decimal digits, half to even: d is about m * 10^*exp. d finite, not 0, 1e-45 < |d| < 2^127. */
FN u64 kc_f64_digits15(f64 d, PRIV i32 *exp) {
    u64 bits = f64_bits(d) & U64C(0x7fffffffffffffff), m = (bits & U64C(0xfffffffffffff)) | U64C(0x10000000000000);
    i32 e2 = (i32)(bits >> 52) - 1075;
    /* k = floor(log10 |d|), or one less: the power of two below |d| decides */
    i32 e = e2 + 52, k = e >= 0 ? (e * 78913) >> 18 : -((-e * 78914 + 262143) >> 18);
    ROLLED for (;; k++) {
        i32 up = 14 - k;
        u128 q, twice, whole; /* |d| * 10^up = q + rest; `twice` the rest over `whole` */
        if (e2 >= 0 || up < 0) {
            /* numerator m * 2^e2 * 10^up and denominator 10^-up, each at most 2^128 */
            u128 num = e2 >= 0 ? u128_shl(u128_from_u64(m), (u32)e2) : u128_from_u64(m), rem;
            u128 den = e2 >= 0 ? u128_from_u64(1) : u128_shl(u128_from_u64(1), (u32)-e2);
            if (up >= 0) num = u128_mul(num, u128_pow10((u32)up));
            else den = u128_mul(den, u128_pow10((u32)-up));
            q = u128_divmod(num, den, &rem);
            twice = u128_shl(rem, 1);
            whole = den;
        } else {
            /* m * 10^up / 2^s: up to 233 bits, shifted; of the rest, only its order against a half counts */
            u32 s = (u32)-e2, low = up < 22 ? (u32)up : 22u;
            u256 n = u256_mul(u128_mul(u128_from_u64(m), u128_pow10(low)), u128_pow10((u32)up - low));
            u256 t = u256_shl(n, 256 - s); /* the s bits shifted out, at the top */
            q = s < 128 ? u128_add(u128_shr(n.lo, s), u128_shl(n.hi, 128 - s)) : u128_shr(n.hi, s - 128);
            /* as a fraction of 4: 0, 1 (below a half), 2 (a half), 3 (above) */
            bool rest = !u128_is_zero(t.lo) || !u128_is_zero(u128_shl(t.hi, 1));
            twice = u128_from_u64((u64)(u128_hi(t.hi) >> 63) * 2 + (u64)rest);
            whole = u128_from_u64(2);
        }
        u64 r = u128_lo(q);
        if (r >= U64C(1000000000000000)) continue;
        if (u128_lt(whole, twice) || (u128_eq(whole, twice) && (r & 1))) r++;
        *exp = k - 14;
        return r;
    }
}
/* F64_TO_NUM: by way of the first 15 significant digits, as PostgreSQL. */
FN_BIG bool numeric_from_f64_ovf(f64 d, i32 scale, PRIV i128 *out) {
    f64 a = abs_f64(d);
    i32 exp;
    *out = i128_from_i64(0);
    if (scale <= 15) {
        /* Away from a rounding boundary the 15th digit does not matter. */
        f64 t = a * kc_pow10_f64[scale];
        if (t < 1e9) {
            f64 whole = floor_f64(t), f = t - whole;
            if (abs_f64(f - 0.5) > 1e-3) {
                i64 n = (i64)whole + (i64)(f > 0.5);
                *out = i128_from_i64(d < 0 ? -n : n);
                return false;
            }
        }
    }
    if (!(a < 170141183460469231731687303715884105728.0))
        return true;             /* NaN, infinity, more than 38 digits at any scale */
    if (a < 1e-44) return false; /* below a half of 10^-38 */
    u64 m = kc_f64_digits15(a, &exp);
    return numeric_rescale_ovf(i128_from_i64(d < 0 ? -(i64)m : (i64)m), -exp, scale, out);
}
FN u32 f64_to_num_i128(f64 d, i32 to, i32 prec, PRIV i128 *out) {
    if (prec < 1 || prec > 38) prec = 38;
    if (d != d) return KE_NAN;
    if (!KC_FINITE(f64, d)) return KE_INFINITY;
    bool bad = numeric_from_f64_ovf(d, to, out);
    return (u32)(bad | numeric_exceeds_i128(*out, prec)) * KE_NUMERIC;
}
FN u32 f64_to_num_i64(f64 d, i32 to, i32 prec, PRIV i64 *out) {
    i128 r = i128_from_i64(0);
    u32 bad = f64_to_num_i128(d, to, prec, &r);
    bool wide = i128_to_i64_ovf(r, out);
    return bad ? bad : (u32)wide * KE_NUMERIC;
}

/* ---- dates: days since 2000-01-01 (i32), microseconds since then (i64)
 * ----------------------------------------------- */
#define USECS_DAY I64C(86400000000)
/* DateField numbers of types/type.h */
#define KC_YEAR 0
#define KC_MONTH 1
#define KC_DAY 2
#define KC_HOUR 3
#define KC_MINUTE 4
#define KC_SECOND 5
#define KC_QUARTER 8
#define KC_WEEK 9
#define KC_DOW 10
#define KC_ISODOW 11
#define KC_DOY 12
#define KC_ISOYEAR 13
#define KC_DECADE 14
#define KC_CENTURY 15
#define KC_MILLENNIUM 16
#define KC_JULIAN 18

typedef struct ymd {
    i32 year, month, day, doy;
} ymd; /* year 0 = 1 BC; doy from 0 = March 1 */
/* Eras of 400 years beginning in March (Hinnant), all in 32 bits: day -2^31 is day 3905 - 146097 of era -14694. */
FN ymd date_to_civil(i32 days) {
    u32 w = (u32)days ^ 0x80000000u, era = w / 146097u, doe = w - era * 146097u;
    u32 below = (u32)(doe < 3905u);
    doe += below * 146097u - 3905u;
    u32 yoe = (doe - doe / 1460u + doe / 36524u - doe / 146096u) / 365u;
    u32 doy = doe - (365u * yoe + yoe / 4u - yoe / 100u);
    u32 mp = (5u * doy + 2u) / 153u;
    ymd r;
    r.doy = (i32)doy;
    r.day = (i32)(doy - (153u * mp + 2u) / 5u + 1u);
    r.month = (i32)(mp < 10u ? mp + 3u : mp - 9u);
    r.year = (i32)yoe + ((i32)era - (i32)below - 14694) * 400 + (i32)(mp >= 10u);
    return r;
}
FN i64 date_from_civil(i64 y, i32 m, i32 d) {
    y -= m <= 2;
    i64 era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    i64 doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 730425;
}
FN i32 kc_iso_week(i32 days, PRIV i32 *iso_year) {
    /* the Thursday of the week decides the year; 2000-01-01 was a Saturday */
    i64 dow = ((i64)days + 5) % 7;
    dow += dow < 0 ? 7 : 0;
    i64 thursday = (i64)days - dow + 3;
    ymd c = date_to_civil((i32)thursday);
    *iso_year = c.year;
    return (i32)((thursday - (i64)(i32)date_from_civil(c.year, 1, 1)) / 7 + 1);
}
FN i32 kc_floor_div_i32(i32 a, i32 b) { return a / b - (i32)(a % b < 0); }
/* DATE_PART; `field` should be a constant. */
FN i32 date_part(i32 field, i32 days) {
    ymd c = date_to_civil(days);
    i32 y = c.year, iso = 0;
    i32 dow = (i32)(((i64)days + 6) % 7);
    dow += dow < 0 ? 7 : 0;
    switch (field) {
    case KC_YEAR: return y > 0 ? y : y - 1; /* there is no year 0 */
    case KC_MONTH: return c.month;
    case KC_DAY: return c.day;
    case KC_QUARTER: return (c.month + 2) / 3;
    case KC_DOY: return (i32)((u32)days - (u32)date_from_civil(y, 1, 1) + 1u);
    case KC_DOW: return dow;
    case KC_ISODOW: return dow == 0 ? 7 : dow;
    case KC_WEEK: return kc_iso_week(days, &iso);
    case KC_ISOYEAR: kc_iso_week(days, &iso); return iso > 0 ? iso : iso - 1;
    case KC_DECADE: return kc_floor_div_i32(y, 10);
    case KC_CENTURY: return y > 0 ? (y + 99) / 100 : -((99 - (y - 1)) / 100);
    case KC_MILLENNIUM: return y > 0 ? (y + 999) / 1000 : -((999 - (y - 1)) / 1000);
    case KC_JULIAN: return (i32)((i64)days + 2451545);
    default: return 0; /* a date has no time of day */
    }
}
FN i32 ts_to_date(i64 ts) { return (i32)(ts / USECS_DAY - (i64)(ts % USECS_DAY < 0)); }
FN i32 date_part_ts(i32 field, i64 ts) {
    if (field == KC_HOUR || field == KC_MINUTE || field == KC_SECOND) {
        i64 t = ts % USECS_DAY, unit = field == KC_HOUR     ? I64C(3600000000)
                                       : field == KC_MINUTE ? I64C(60000000)
                                                            : I64C(1000000);
        u32 n = (u32)((t + (t < 0 ? USECS_DAY : 0)) / unit);
        return (i32)(n % (field == KC_HOUR ? 24u : 60u));
    }
    return date_part(field, ts_to_date(ts));
}

/* ---- intervals, uuids -----------------------------------------------------------------------------------------------
 */
/* Microseconds with months of 30 days: the order of intervals, and what they hash by. */
FN i128 iv_value(iv x) { return i128_add(i128_mul64((i64)x.months * 30 + x.days, USECS_DAY), i128_from_i64(x.micros)); }
FN bool iv_eq(iv x, iv y) { return i128_eq(iv_value(x), iv_value(y)); }
FN bool iv_lt(iv x, iv y) { return i128_lt(iv_value(x), iv_value(y)); }
FN i32 iv_cmp(iv x, iv y) { return i128_cmp(iv_value(x), iv_value(y)); }
FN iv iv_make(i64 micros, i32 days, i32 months) {
    iv r;
    r.micros = micros;
    r.days = days;
    r.months = months;
    return r;
}
FN bool uuid_eq(uuid x, uuid y) { return ((x.a ^ y.a) | (x.b ^ y.b)) == 0; }
FN bool uuid_lt(uuid x, uuid y) {
    u64 p = bswap_u64(x.a), q = bswap_u64(y.a);
    return p < q || (p == q && bswap_u64(x.b) < bswap_u64(y.b));
}
FN i32 uuid_cmp(uuid x, uuid y) { return (i32)uuid_lt(y, x) - (i32)uuid_lt(x, y); }

/* ---- hashing: equal to base/hash.h and, for fixed-size values but uuid, to cell_hash
 * ------------------------------------- */
FN u64 hash_u64(u64 x) {
    x ^= x >> 32;
    x *= U64C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= U64C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}
FN u64 hash_combine(u64 h, u64 k) { return hash_u64(h ^ (k + U64C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2))); }
FN u64 hash_key(u64 h, u64 k) { /* the next column of a key; h is a mix */
    h = (h ^ k ^ k >> 32) * U64C(0xd6e8feb86659fd93);
    return h ^ h >> 32;
}
FN u64 hash_i64(i64 v) {
    return hash_u64((u64)v);
} /* bool, i16, i32 widen to it: a value hashes alike at every width */
FN u64 hash_i128(i128 v) {
    u64 h = hash_u64(i128_lo(v));
    return i128_fits_i64(v) ? h : hash_combine(h, i128_hi(v));
}
FN u64 hash_f64(f64 d) { /* f32 widens to it */
    u64 bits = d == 0 ? 0 : d != d ? U64C(0x7ff8000000000000) : f64_bits(d);
    return hash_u64(bits);
}
FN u64 hash_iv(iv v) { return hash_i128(iv_value(v)); }
FN u64 hash_uuid(uuid v) { return hash_combine(hash_u64(v.a), v.b); }

#endif
