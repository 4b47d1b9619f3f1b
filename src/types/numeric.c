/* numeric.c - decimal numbers as scaled integers.
 *
 * A numeric is an int128_t and a scale known from its type, so that sums and comparisons are
 * integer instructions. This file has what needs more: change of scale, division (256-bit
 * intermediates, so that no quotient that fits 38 digits is refused), text and doubles.
 *
 * Rounding is half away from zero everywhere, as in PostgreSQL. Doubles become numerics by way of
 * their first 15 significant digits, also as in PostgreSQL: 0.1::float8::numeric is 0.1.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "types/type.h"
#include "types/type_int.h"
#include "types/range_errors.h"

#define E19 ((int128_t)10000000000000000000ULL)
const int128_t pow10_i128[39] = {
    1LL,
    10LL,
    100LL,
    1000LL,
    10000LL,
    100000LL,
    1000000LL,
    10000000LL,
    100000000LL,
    1000000000LL,
    10000000000LL,
    100000000000LL,
    1000000000000LL,
    10000000000000LL,
    100000000000000LL,
    1000000000000000LL,
    10000000000000000LL,
    100000000000000000LL,
    1000000000000000000LL,
    E19,
    E19 * 10LL,
    E19 * 100LL,
    E19 * 1000LL,
    E19 * 10000LL,
    E19 * 100000LL,
    E19 * 1000000LL,
    E19 * 10000000LL,
    E19 * 100000000LL,
    E19 * 1000000000LL,
    E19 * 10000000000LL,
    E19 * 100000000000LL,
    E19 * 1000000000000LL,
    E19 * 10000000000000LL,
    E19 * 100000000000000LL,
    E19 * 1000000000000000LL,
    E19 * 10000000000000000LL,
    E19 * 100000000000000000LL,
    E19 * 1000000000000000000LL,
    E19 *E19,
};

static const double pow10_f64[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static inline uint128_t magnitude(int128_t v) { return v < 0 ? -(uint128_t)v : (uint128_t)v; }

int i128_digits(int128_t v) {
    uint128_t u = magnitude(v);
    int lo = 1, hi = 39; /* u < 10^hi, as 10^39 exceeds 2^128 */
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (u < (uint128_t)pow10_i128[mid]) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

bool i128_mul_overflow(int128_t a, int128_t b, int128_t *out) { return __builtin_mul_overflow(a, b, out); }

bool numeric_rescale(int128_t v, int from_scale, int to_scale, int128_t *out) {
    int diff = to_scale - from_scale;
    if (diff >= 0) {
        if (diff > 38) {
            *out = 0;
            return v != 0;
        }
        int128_t r;
        if (__builtin_mul_overflow(v, pow10_i128[diff], &r)) return true;
        *out = r;
        return numeric_exceeds(r, 38);
    }
    diff = -diff;
    if (diff > 38) {
        *out = 0;
        return false;
    }
    if (diff <= 18 && v >= INT64_MIN + 1 && v <= INT64_MAX) {
        int64_t w = (int64_t)v, p = (int64_t)pow10_i128[diff];
        int64_t q = w / p, r = w % p;
        if (r < 0) r = -r;
        if (r >= p - r) q += w < 0 ? -1 : 1;
        *out = q;
        return false;
    }
    int128_t p = pow10_i128[diff], q = v / p, r = v % p;
    if (r < 0) r = -r;
    if (r >= p - r) q += v < 0 ? -1 : 1;
    *out = q;
    return numeric_exceeds(q, 38);
}

/* ---- 256 bits ---------------------------------------------------------------- */

typedef struct U256 {
    uint128_t hi, lo;
} U256;

static U256 mul_128(uint128_t a, uint128_t b) {
    uint64_t a0 = (uint64_t)a, a1 = (uint64_t)(a >> 64), b0 = (uint64_t)b, b1 = (uint64_t)(b >> 64);
    uint128_t p00 = (uint128_t)a0 * b0, p01 = (uint128_t)a0 * b1, p10 = (uint128_t)a1 * b0, p11 = (uint128_t)a1 * b1;
    uint128_t mid = (p00 >> 64) + (uint64_t)p01 + (uint64_t)p10;
    return (U256){p11 + (p01 >> 64) + (p10 >> 64) + (mid >> 64), (mid << 64) | (uint64_t)p00};
}

/* One digit (64 bits) of a quotient: (n2 * 2^64 + n0) / d with n2 < d and d's top bit set.
 * Knuth's algorithm D, step D3 and D4. */
static uint64_t div_step(uint128_t n2, uint64_t n0, uint128_t d, uint128_t *rem) {
    uint64_t d1 = (uint64_t)(d >> 64), d0 = (uint64_t)d;
    uint64_t n_hi = (uint64_t)(n2 >> 64);
    uint64_t q = n_hi >= d1 ? UINT64_MAX : (uint64_t)(n2 / d1);
    uint128_t r = n2 - (uint128_t)q * d1;
    while (r >> 64 == 0 && (uint128_t)q * d0 > ((r << 64) | n0)) {
        q--;
        r += d1;
    }
    *rem = ((n2 << 64) | n0) - (uint128_t)q * d0 - (((uint128_t)q * d1) << 64);
    return q;
}

/* n / d, where n.hi < d, so that the quotient has 128 bits. */
static uint128_t div_256(U256 n, uint128_t d, uint128_t *rem) {
    if (n.hi == 0) {
        *rem = n.lo % d;
        return n.lo / d;
    }
    if (d >> 64 == 0) {
        uint64_t d0 = (uint64_t)d;
        uint128_t top = (n.hi << 64) | (uint64_t)(n.lo >> 64);
        uint64_t q1 = (uint64_t)(top / d0);
        uint128_t low = ((top % d0) << 64) | (uint64_t)n.lo;
        *rem = low % d0;
        return ((uint128_t)q1 << 64) | (uint64_t)(low / d0);
    }
    int shift = __builtin_clzll((uint64_t)(d >> 64));
    if (shift) {
        d <<= shift;
        n.hi = (n.hi << shift) | (n.lo >> (128 - shift));
        n.lo <<= shift;
    }
    uint128_t r;
    uint64_t q1 = div_step(n.hi, (uint64_t)(n.lo >> 64), d, &r);
    uint64_t q0 = div_step(r, (uint64_t)n.lo, d, &r);
    *rem = r >> shift;
    return ((uint128_t)q1 << 64) | q0;
}

bool numeric_div(int128_t a, int sa, int128_t b, int sb, int sr, int128_t *out) {
    bool negative = (a < 0) != (b < 0);
    uint128_t num = magnitude(a), den = magnitude(b);
    int exp = sr + sb - sa; /* result = a * 10^exp / b */
    *out = 0;
    if (num == 0) return false;
    U256 n = {0, num};
    if (exp >= 0) {
        if (exp > 76) return true;
        n = mul_128(num, (uint128_t)pow10_i128[MIN_OF(exp, 38)]);
        if (exp > 38) {
            /* A numerator of more than 256 bits means a quotient of more than 38 digits. */
            U256 low = mul_128(n.lo, (uint128_t)pow10_i128[exp - 38]);
            U256 high = mul_128(n.hi, (uint128_t)pow10_i128[exp - 38]);
            if (high.hi) return true;
            n.lo = low.lo;
            if (__builtin_add_overflow(high.lo, low.hi, &n.hi)) return true;
        }
    } else {
        if (exp < -38) return false; /* less than a half of the last digit */
        U256 wide = mul_128(den, (uint128_t)pow10_i128[-exp]);
        if (wide.hi) return false; /* den >= 2^128 > 2 * num */
        den = wide.lo;
    }
    if (n.hi >= den) return true;
    uint128_t rem, q = div_256(n, den, &rem);
    if (rem >= den - rem) q++;
    if (q >= (uint128_t)pow10_i128[38]) return true;
    *out = negative ? -(int128_t)q : (int128_t)q;
    return false;
}

/* ---- doubles ------------------------------------------------------------------- */

enum { DIGITS_MAX = 800 }; /* more never change a double (at most 767 matter) */

/* "digits e exp" has no decimal point, hence is the same in every locale. */
static int64_t decimal_text(const char *digits, int64_t n, int64_t exp10, char *out) {
    if (n > DIGITS_MAX) {
        exp10 += n - DIGITS_MAX;
        n = DIGITS_MAX;
    }
    memcpy(out, digits, (size_t)n);
    if (exp10 > 99999) exp10 = 99999;
    if (exp10 < -99999) exp10 = -99999;
    return n + snprintf(out + n, 16, "e%lld", (long long)exp10);
}

double decimal_to_f64(const char *digits, int64_t n, int64_t exp10) {
    while (n > 0 && *digits == '0') {
        digits++;
        n--;
    }
    if (n == 0) return 0;
    if (n <= 15 && exp10 >= -22 && exp10 <= 22) {
        /* Both factors are exact, so the one operation rounds correctly. */
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++) m = m * 10 + (digits[i] - '0');
        return exp10 < 0 ? (double)m / pow10_f64[-exp10] : (double)m * pow10_f64[exp10];
    }
    char text[DIGITS_MAX + 24];
    decimal_text(digits, n, exp10, text);
    return strtod(text, NULL);
}

float decimal_to_f32(const char *digits, int64_t n, int64_t exp10) {
    while (n > 0 && *digits == '0') {
        digits++;
        n--;
    }
    if (n == 0) return 0;
    if (n <= 7 && exp10 >= -10 && exp10 <= 10) {
        int32_t m = 0;
        for (int64_t i = 0; i < n; i++) m = m * 10 + (digits[i] - '0');
        if (m < 1 << 24) {
            return exp10 < 0 ? (float)m / (float)pow10_f64[-exp10] : (float)m * (float)pow10_f64[exp10];
        }
    }
    char text[DIGITS_MAX + 24];
    decimal_text(digits, n, exp10, text);
    return strtof(text, NULL);
}

double numeric_to_f64(int128_t v, int scale) {
    const int64_t exact = INT64_C(1) << 53;
    if (v >= -exact && v <= exact && scale <= 22) return (double)(int64_t)v / pow10_f64[scale];
    char text[64];
    int64_t n = numeric_format(v < 0 ? -v : v, 0, false, text);
    double d = decimal_to_f64(text, n, -scale);
    return v < 0 ? -d : d;
}

bool numeric_from_f64(double d, int scale, int128_t *out) {
    if (!isfinite(d)) return true;
    if (scale <= 15) {
        /* Away from a rounding boundary the 15th digit does not matter. */
        double t = d * pow10_f64[scale];
        if (fabs(t) < 1e9) {
            double f = fabs(t) - floor(fabs(t));
            if (fabs(f - 0.5) > 1e-3) {
                *out = (int64_t)llround(t);
                return false;
            }
        }
    }
    char text[40];
    snprintf(text, sizeof text, "%.14e", fabs(d));
    int128_t m = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++) {
        if (is_digit(*p)) m = m * 10 + (*p - '0');
    }
    int exp = (int)strtol(p + 1, NULL, 10) - 14; /* value = m * 10^exp */
    if (d < 0) m = -m;
    return numeric_rescale(m, -exp, scale, out);
}
bool numeric_from_f32(float f, int scale, int128_t *out) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.6g", (double)f);
    return numeric_from_f64(strtod(digits, NULL), scale, out);
}

/* ---- text ------------------------------------------------------------------------ */

int64_t u64_format(uint64_t v, char *out) {
    static const char pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                   "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                   "8081828384858687888990919293949596979899";
    char buf[20];
    int at = 20;
    while (v >= 100) {
        at -= 2;
        memcpy(buf + at, pairs + v % 100 * 2, 2);
        v /= 100;
    }
    if (v >= 10) {
        at -= 2;
        memcpy(buf + at, pairs + v * 2, 2);
    } else {
        buf[--at] = (char)('0' + v);
    }
    memcpy(out, buf + at, (size_t)(20 - at));
    return 20 - at;
}

int64_t numeric_format(int128_t v, int scale, bool trim_zeros, char *out) {
    char digits[48];
    int64_t n = 0, len = 0;
    uint128_t u = magnitude(v);
    const uint64_t e18 = 1000000000000000000u;
    if (u >> 64 == 0) {
        n = u64_format((uint64_t)u, digits);
    } else {
        /* Up to 39 digits: parts of 18. */
        uint64_t part[3];
        int parts = 0;
        while (u) {
            part[parts++] = (uint64_t)(u % e18);
            u /= e18;
        }
        n = u64_format(part[parts - 1], digits);
        for (int i = parts - 2; i >= 0; i--) {
            char buf[20];
            int64_t k = u64_format(part[i], buf);
            memset(digits + n, '0', (size_t)(18 - k));
            memcpy(digits + n + 18 - k, buf, (size_t)k);
            n += 18;
        }
    }
    if (v < 0) out[len++] = '-';
    int64_t int_digits = n - scale;
    if (int_digits > 0) {
        memcpy(out + len, digits, (size_t)int_digits);
        len += int_digits;
    } else {
        out[len++] = '0';
    }
    if (scale == 0) return len;
    out[len++] = '.';
    if (int_digits < 0) {
        memset(out + len, '0', (size_t)-int_digits);
        len += -int_digits;
        int_digits = 0;
    }
    memcpy(out + len, digits + int_digits, (size_t)(n - int_digits));
    len += n - int_digits;
    if (trim_zeros) {
        while (out[len - 1] == '0') len--;
        if (out[len - 1] == '.') len--;
    }
    return len;
}

static Status out_of_range(Err *e) { return err_set(e, ERR_NUMERIC_RANGE, "value overflows numeric format"); }

/* A digit of the mantissa, counted over the point; `point` is its index in s. */
static inline char mantissa_digit(const char *s, int64_t i, int64_t point) { return s[i < point ? i : i + 1]; }

static bool word_eq(Slice s, const char *word) {
    int64_t n = (int64_t)strlen(word);
    if (s.len != n) return false;
    for (int64_t i = 0; i < n; i++) {
        if (to_lower(s.ptr[i]) != word[i]) return false;
    }
    return true;
}

static Status malformed(Slice whole, Slice s, Err *e) {
    Slice t = s.len > 0 && (*s.ptr == '+' || *s.ptr == '-') ? (Slice){s.ptr + 1, s.len - 1} : s;
    if (word_eq(t, "nan") || word_eq(t, "inf") || word_eq(t, "infinity")) {
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "type numeric cannot hold \"%.*s\"", (int)t.len, t.ptr);
    }
    return text_syntax_error(ERR_INVALID_TEXT, "numeric", whole, e);
}

bool numeric_is_special(Slice text, bool *infinite) {
    const Slice s = text_trim(text);
    *infinite = false;
    if (s.len == 0 || (s.ptr[s.len - 1] | 32) < 'a') return false; /* a number, mostly */
    const Slice t = s.len > 0 && (*s.ptr == '+' || *s.ptr == '-') ? (Slice){s.ptr + 1, s.len - 1} : s;
    *infinite = word_eq(t, "inf") || word_eq(t, "infinity");
    return *infinite || word_eq(s, "nan");
}
Status numeric_parse(Slice text, int scale, int128_t *out, int *out_scale, Err *e) {
    Slice t = text_trim(text);
    const char *s = t.ptr, *end = t.ptr + t.len;
    bool negative = false;
    if (s < end && (*s == '+' || *s == '-')) negative = *s++ == '-';

    /* 1. The common case in one pass: at most 18 digits, no exponent. */
    const char *m = s;
    int64_t small = 0;
    int64_t int_len = 0, frac_len = 0;
    while (s < end && is_digit(*s) && int_len < 19) {
        small = int_len < 18 ? small * 10 + (*s - '0') : small;
        s++;
        int_len++;
    }
    while (s < end && is_digit(*s)) {
        s++;
        int_len++;
    }
    int64_t point = int_len;
    if (s < end && *s == '.') {
        s++;
        while (s < end && is_digit(*s)) {
            if (int_len + frac_len < 18) small = small * 10 + (*s - '0');
            s++;
            frac_len++;
        }
    }
    if (int_len + frac_len == 0) return malformed(text, t, e);
    if (s == end && int_len + frac_len <= 18) {
        int128_t v = negative ? -small : small;
        if (scale < 0) {
            *out = v;
            if (out_scale) *out_scale = (int)frac_len;
            return ST_OK;
        }
        if (out_scale) *out_scale = scale;
        if (frac_len == scale) {
            *out = v;
            return ST_OK;
        }
        return numeric_rescale(v, (int)frac_len, scale, out) ? out_of_range(e) : ST_OK;
    }

    /* 2. The exponent. */
    int64_t exp = 0;
    if (s < end) {
        if (*s != 'e' && *s != 'E') return malformed(text, t, e);
        s++;
        bool exp_negative = false;
        if (s < end && (*s == '+' || *s == '-')) exp_negative = *s++ == '-';
        if (s == end) return malformed(text, t, e);
        for (; s < end; s++) {
            if (!is_digit(*s)) return malformed(text, t, e);
            if (exp < 1000000) exp = exp * 10 + (*s - '0');
        }
        if (exp_negative) exp = -exp;
    }

    /* 3. Value = first `total` digits, of which `before` stand before the point. */
    int64_t total = int_len + frac_len, lead = 0;
    while (lead < total && mantissa_digit(m, lead, point) == '0') lead++;
    int64_t before = int_len + exp;
    if (scale < 0) {
        int64_t want = MAX_OF(frac_len - exp, 0);
        /* More digits than fit are rounded off behind the point. */
        int64_t room = 38 - MAX_OF(before - lead, 0);
        if (want > room) want = MAX_OF(room, 0);
        scale = (int)MIN_OF(want, NUMERIC_MAX_PRECISION);
    }
    if (out_scale) *out_scale = scale;
    *out = 0;
    if (lead == total) return ST_OK;
    int64_t keep = before + scale; /* digits of the result, leading zeros included */
    if (keep < lead) return ST_OK; /* below a half unit of the last place */
    if (keep - lead > 38) return out_of_range(e);
    int128_t v = 0;
    for (int64_t i = lead; i < keep; i++) v = v * 10 + (i < total ? mantissa_digit(m, i, point) - '0' : 0);
    if (keep < total && keep >= 0 && mantissa_digit(m, keep, point) >= '5') v++;
    if (numeric_exceeds(v, 38)) return out_of_range(e);
    *out = negative ? -v : v;
    return ST_OK;
}
