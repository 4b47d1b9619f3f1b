/* float.c - the shortest text of a float that reads back the same.
 *
 * Ulf Adams, "Ryu: fast float-to-string conversion", PLDI 2018, in the variant of PostgreSQL: the ends of
 * the rounding interval do not count (so that readers with any tie rule agree), and the digits closest to the
 * value win. One core serves both widths, as a float's mantissa and exponent fit a double's tables.
 * The layout is that of extra_float_digits = 1: exponents below -4 and from 15 (real: 6) on are written.
 */
#include <math.h>
#include <stdio.h>

#include "types/float_tables.h"
#include "types/type_int.h"

static inline int pow5_bits(int e) { return (int)(((uint32_t)e * 1217359) >> 19) + 1; }
static inline int log10_pow2(int e) { return (int)(((uint32_t)e * 78913) >> 18); }
static inline int log10_pow5(int e) { return (int)(((uint32_t)e * 732923) >> 20); }

static inline uint64_t mul_shift(uint64_t m, const uint64_t *mul, int shift) {
    uint128_t low = (uint128_t)m * mul[0], high = (uint128_t)m * mul[1];
    return (uint64_t)(((low >> 64) + high) >> (shift - 64));
}

static bool divisible_by_pow5(uint64_t v, int p) {
    for (; p > 0; p--, v /= 5) {
        if (v % 5) return false;
    }
    return true;
}

/* The shortest decimal strictly inside the rounding interval of m2 * 2^(e2 + 2). `lower_half` is false
 * where the next smaller float is only half as far away. */
static uint64_t shortest(uint64_t m2, int e2, bool lower_half, int *exp10) {
    /* 1. The value and the ends of its interval, times 4. */
    uint64_t mv = 4 * m2, mp = mv + 2, mm = mv - 1 - lower_half;
    uint64_t vr, vp, vm;
    bool exact = false; /* the digits below vr are all zero */
    int e10;

    /* 2. To a decimal scale. */
    if (e2 >= 0) {
        int q = log10_pow2(e2) - (e2 > 3);
        int shift = -e2 + q + 125 + pow5_bits(q) - 1;
        e10 = q;
        vr = mul_shift(mv, pow5_inv[q], shift);
        vp = mul_shift(mp, pow5_inv[q], shift);
        vm = mul_shift(mm, pow5_inv[q], shift);
        if (q <= 21) { /* beyond, 5^q cannot divide a 55-bit number */
            if (mv % 5 == 0) exact = divisible_by_pow5(mv, q);
            else vp -= divisible_by_pow5(mp, q);
        }
    } else {
        int q = log10_pow5(-e2) - (-e2 > 1);
        int i = -e2 - q;
        int shift = q - (pow5_bits(i) - 125);
        e10 = q + e2;
        vr = mul_shift(mv, pow5[i], shift);
        vp = mul_shift(mp, pow5[i], shift);
        vm = mul_shift(mm, pow5[i], shift);
        if (q <= 1) {
            exact = true; /* mv is a multiple of 4 */
            vp--;
        } else if (q < 63) {
            exact = (mv & ((UINT64_C(1) << q) - 1)) == 0;
        }
    }

    /* 3. Drop digits while more than one decimal is left inside. */
    int removed = 0;
    unsigned last = 0;
    while (vp / 10 > vm / 10) {
        exact &= last == 0;
        last = (unsigned)(vr % 10);
        vr /= 10;
        vp /= 10;
        vm /= 10;
        removed++;
    }
    if (exact && last == 5 && vr % 2 == 0) last = 4; /* a tie goes to the even digit */
    *exp10 = e10 + removed;
    return vr + (vr == vm || last >= 5);
}

static int64_t layout(bool negative, uint64_t value, int exp, int limit, char *out) {
    char d[24];
    int n = (int)u64_format(value, d);
    int exp10 = exp + n - 1; /* of the first digit */
    while (n > 1 && d[n - 1] == '0') n--;
    char *p = out;
    if (negative) *p++ = '-';
    if (exp10 < -4 || exp10 >= limit) {
        *p++ = d[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, d + 1, (size_t)(n - 1));
            p += n - 1;
        }
        *p++ = 'e';
        *p++ = exp10 < 0 ? '-' : '+';
        unsigned x = (unsigned)(exp10 < 0 ? -exp10 : exp10);
        if (x < 10) *p++ = '0';
        p += u64_format(x, p);
    } else if (exp10 < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > exp10; i--) *p++ = '0';
        memcpy(p, d, (size_t)n);
        p += n;
    } else {
        for (int i = 0; i < n || i <= exp10; i++) {
            if (i == exp10 + 1) *p++ = '.';
            *p++ = i < n ? d[i] : '0';
        }
    }
    return p - out;
}

/* NaN, infinities and zeros; 0 when v is none of them. */
static int64_t special(double v, char *out) {
    const char *text = isnan(v)   ? "NaN"
                       : isinf(v) ? (v < 0 ? "-Infinity" : "Infinity")
                       : v == 0   ? (signbit(v) ? "-0" : "0")
                                  : "";
    int64_t n = (int64_t)strlen(text);
    memcpy(out, text, (size_t)n);
    return n;
}

/* As C's %g, with a point whatever the locale is. */
static int64_t rounded(double v, int digits, char *out) {
    char text[40];
    int64_t n = snprintf(text, sizeof text, "%.*g", digits, v);
    for (int64_t i = 0; i < n; i++) out[i] = text[i] == ',' ? '.' : text[i];
    return n;
}

int64_t f64_format(double v, int cut, char *out) {
    int64_t n = special(v, out);
    if (n) return n;
    if (cut) return rounded(v, MAX_OF(16 - cut, 1), out);
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7FF), exp10 = 0;
    double u = fabs(v);
    uint64_t digits;
    if (u < 9007199254740992.0 && u == (double)(uint64_t)u) {
        digits = (uint64_t)u; /* an integer is its own shortest text */
    } else {
        int e2 = (exponent ? exponent : 1) - 1023 - 52 - 2;
        digits =
            shortest(exponent ? mantissa | UINT64_C(1) << 52 : mantissa, e2, mantissa != 0 || exponent <= 1, &exp10);
    }
    return layout(bits >> 63, digits, exp10, 15, out);
}

int64_t f32_format(float v, int cut, char *out) {
    int64_t n = special((double)v, out);
    if (n) return n;
    if (cut) return rounded((double)v, MAX_OF(7 - cut, 1), out);
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    uint32_t mantissa = bits & ((1u << 23) - 1);
    int exponent = (int)(bits >> 23 & 0xFF), exp10 = 0;
    float u = fabsf(v);
    uint64_t digits;
    if (u < 16777216.0f && u == (float)(uint32_t)u) {
        digits = (uint64_t)u;
    } else {
        int e2 = (exponent ? exponent : 1) - 127 - 23 - 2;
        digits = shortest(exponent ? mantissa | 1u << 23 : mantissa, e2, mantissa != 0 || exponent <= 1, &exp10);
    }
    return layout(bits >> 31, digits, exp10, 6, out);
}
