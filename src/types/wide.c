/* wide.c - see wide.h. Division is Knuth's algorithm D with digits of 64 bits.
 *
 * Fixed point: a Fixed is a sign and a Wide of 256 bits behind the point, or 384. ln takes its argument apart into m *
 * 2^k with m within [2/3, 4/3] and sums 2 atanh((m - 1) / (m + 1)); exp takes off multiples of ln 2, halves what is
 * left eight times, sums Taylor's series and squares eight times. Either loses less than 16 bits. A result has at most
 * 127 bits in all.
 */
#include "types/wide.h"

#include "types/type.h"

/* ---- integers ---------------------------------------------------------------------- */

Wide wide_of(uint128_t v) { return (Wide){{(uint64_t)v, (uint64_t)(v >> 64)}}; }

static int used(const Wide *a) {
    int n = WIDE_WORDS;
    while (n > 0 && !a->w[n - 1]) n--;
    return n;
}
int wide_bits(const Wide *a) {
    int n = used(a);
    return n ? 64 * n - __builtin_clzll(a->w[n - 1]) : 0;
}
int wide_cmp(const Wide *a, const Wide *b) {
    for (int i = WIDE_WORDS - 1; i >= 0; i--)
        if (a->w[i] != b->w[i]) return a->w[i] < b->w[i] ? -1 : 1;
    return 0;
}
bool wide_add(const Wide *a, const Wide *b, Wide *out) {
    uint64_t carry = 0;
    for (int i = 0; i < WIDE_WORDS; i++) {
        uint128_t s = (uint128_t)a->w[i] + b->w[i] + carry;
        out->w[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
    return carry;
}
bool wide_sub(const Wide *a, const Wide *b, Wide *out) {
    uint64_t borrow = 0;
    for (int i = 0; i < WIDE_WORDS; i++) {
        uint128_t d = (uint128_t)a->w[i] - b->w[i] - borrow;
        out->w[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    return borrow;
}
/* All words of the product of a's and b's first na and nb. */
static void mul_words(const uint64_t *a, int na, const uint64_t *b, int nb, uint64_t *out) {
    memset(out, 0, sizeof *out * (size_t)(na + nb));
    for (int i = 0; i < na; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < nb; j++) {
            uint128_t t = (uint128_t)a[i] * b[j] + out[i + j] + carry;
            out[i + j] = (uint64_t)t;
            carry = (uint64_t)(t >> 64);
        }
        out[i + nb] = carry;
    }
}
bool wide_mul(const Wide *a, const Wide *b, Wide *out) {
    uint64_t p[2 * WIDE_WORDS];
    int na = used(a), nb = used(b);
    mul_words(a->w, na, b->w, nb, p);
    bool over = false;
    Wide r = {{0}};
    for (int i = 0; i < na + nb; i++) {
        if (i < WIDE_WORDS) r.w[i] = p[i];
        else over |= p[i] != 0;
    }
    *out = r;
    return over;
}
bool wide_mul_pow10(Wide *a, int exp) {
    bool over = false;
    for (; exp > 0; exp -= 38) {
        Wide p = wide_of((uint128_t)pow10_i128[MIN_OF(exp, 38)]);
        over |= wide_mul(a, &p, a);
    }
    return over;
}
Wide wide_shift(const Wide *a, int left) {
    Wide r = {{0}};
    int by = left < 0 ? -left : left, words = by / 64, bits = by % 64;
    for (int i = 0; i + words < WIDE_WORDS; i++) {
        if (left >= 0) {
            r.w[i + words] |= a->w[i] << bits;
            if (bits && i + words + 1 < WIDE_WORDS) r.w[i + words + 1] = a->w[i] >> (64 - bits);
        } else {
            r.w[i] = a->w[i + words] >> bits;
            if (bits && i + words + 1 < WIDE_WORDS) r.w[i] |= a->w[i + words + 1] << (64 - bits);
        }
    }
    return r;
}

static uint64_t div_word(Wide *a, uint64_t d) {
    uint64_t rem = 0;
    for (int i = used(a) - 1; i >= 0; i--) {
        uint128_t t = (uint128_t)rem << 64 | a->w[i];
        a->w[i] = (uint64_t)(t / d);
        rem = (uint64_t)(t % d);
    }
    return rem;
}

/* Algorithm D, step D3: a digit of the quotient of u (n + 1 words) by v (n >= 2 words, top bit set), at most one too
 * great. */
static uint64_t guess_digit(const uint64_t *u, const uint64_t *v, int n) {
    uint128_t top = (uint128_t)u[n] << 64 | u[n - 1];
    uint64_t q = u[n] >= v[n - 1] ? UINT64_MAX : (uint64_t)(top / v[n - 1]);
    uint128_t r = top - (uint128_t)q * v[n - 1];
    while (r >> 64 == 0 && (uint128_t)q * v[n - 2] > (r << 64 | u[n - 2])) {
        q--;
        r += v[n - 1];
    }
    return q;
}
/* Steps D4 to D6: u -= q * v; true when that was too much, once more is added back then. */
static bool take_off(uint64_t *u, const uint64_t *v, int n, uint64_t q) {
    uint64_t carry = 0, borrow = 0;
    for (int i = 0; i <= n; i++) {
        uint128_t p = (uint128_t)q * (i < n ? v[i] : 0) + carry;
        carry = (uint64_t)(p >> 64);
        uint128_t d = (uint128_t)u[i] - (uint64_t)p - borrow;
        u[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
    if (!borrow) return false;
    carry = 0;
    for (int i = 0; i <= n; i++) {
        uint128_t s = (uint128_t)u[i] + (i < n ? v[i] : 0) + carry;
        u[i] = (uint64_t)s;
        carry = (uint64_t)(s >> 64);
    }
    return true;
}
void wide_div(const Wide *a, const Wide *b, Wide *out, Wide *rem) {
    int n = used(b), m = used(a);
    if (n == 1) {
        Wide q = *a;
        uint64_t r = div_word(&q, b->w[0]);
        *out = q;
        if (rem) *rem = wide_of(r);
        return;
    }
    if (m < n) {
        if (rem) *rem = *a;
        *out = (Wide){{0}};
        return;
    }
    int shift = __builtin_clzll(b->w[n - 1]);
    Wide v = wide_shift(b, shift), q = {{0}}, low = wide_shift(a, shift);
    uint64_t u[WIDE_WORDS + 1];
    memcpy(u, low.w, sizeof low.w);
    u[m] = shift ? a->w[m - 1] >> (64 - shift) : 0;
    for (int j = m - n; j >= 0; j--) {
        uint64_t digit = guess_digit(u + j, v.w, n);
        q.w[j] = take_off(u + j, v.w, n, digit) ? digit - 1 : digit;
    }
    Wide r = {{0}};
    memcpy(r.w, u, sizeof *u * (size_t)n);
    *out = q;
    if (rem) *rem = wide_shift(&r, -shift);
}

static bool to_i128(const Wide *a, int128_t *out) {
    if (wide_bits(a) > 127) return true;
    *out = (int128_t)((uint128_t)a->w[1] << 64 | a->w[0]);
    return numeric_exceeds(*out, NUMERIC_MAX_PRECISION);
}
bool wide_quotient(const Wide *a, const Wide *b, int128_t *out) {
    Wide q, r, one = wide_of(1);
    wide_div(a, b, &q, &r);
    Wide rest;
    wide_sub(b, &r, &rest);
    if (wide_cmp(&r, &rest) >= 0 && wide_add(&q, &one, &q)) return true;
    return to_i128(&q, out);
}

/* floor(sqrt(a)) by Newton's steps from above. */
static Wide floor_root(const Wide *a) {
    int bits = wide_bits(a);
    if (!bits) return *a;
    Wide one = wide_of(1), x = wide_shift(&one, (bits + 1) / 2);
    for (;;) {
        Wide y;
        wide_div(a, &x, &y, NULL);
        wide_add(&x, &y, &y);
        y = wide_shift(&y, -1);
        if (wide_cmp(&y, &x) >= 0) return x;
        x = y;
    }
}
bool wide_root(const Wide *a, const Wide *b, int128_t *out) {
    /* Twice the root, cut, says how the root is rounded. */
    if (wide_bits(a) > 64 * WIDE_WORDS - 2) return true;
    Wide q = wide_shift(a, 2), one = wide_of(1);
    wide_div(&q, b, &q, NULL);
    if (wide_bits(&q) > 256) return true;
    q = floor_root(&q);
    wide_add(&q, &one, &q);
    q = wide_shift(&q, -1);
    return to_i128(&q, out);
}

/* ---- fixed point ---------------------------------------------------------------------- */

/* Words behind the point: FEW are enough but for logarithms that are multiplied with, or divided by, something extreme.
 */
enum { FEW = 4, MANY = 6 };
typedef struct Fixed {
    bool negative;
    Wide m;
} Fixed;
/* With MANY words behind the point. */
static const Wide ln_2 = {{0x559552fb4afa1b11u, 0xe7b876206debac98u, 0x8a0d175b8baafa2bu, 0x40f343267298b62du,
                           0xc9e3b39803f2f6afu, 0xb17217f7d1cf79abu}};
static const Wide ln_10 = {{0x31c32f00b17c35a1u, 0x58bc0b5ec6a04173u, 0x0f187a0807c0b5cau, 0x8a3fb3e76977e43au,
                            0xa95b58ae0b4c28a3u, 0x4d763776aaa2b05bu, 0x0000000000000002u}};

static Wide constant(const Wide *c, int words) { return wide_shift(c, 64 * (words - MANY)); }
static Wide fixed_mul(const Wide *a, const Wide *b, int words) {
    uint64_t p[2 * WIDE_WORDS] = {0};
    int na = used(a), nb = used(b);
    if (na && nb) mul_words(a->w, na, b->w, nb, p);
    Wide r;
    memcpy(r.w, p + words, sizeof r.w);
    return r;
}
static Fixed fixed_add(Fixed a, Fixed b) {
    Fixed r = {.negative = a.negative};
    if (a.negative == b.negative) {
        wide_add(&a.m, &b.m, &r.m);
    } else if (wide_cmp(&a.m, &b.m) >= 0) {
        wide_sub(&a.m, &b.m, &r.m);
    } else {
        wide_sub(&b.m, &a.m, &r.m);
        r.negative = b.negative;
    }
    return r;
}
static Fixed times_constant(const Wide *c, int words, int k) {
    Fixed r = {.negative = k < 0};
    Wide n = wide_of((uint128_t)(k < 0 ? -k : k)), a = constant(c, words);
    wide_mul(&a, &n, &r.m);
    return r;
}
/* a / 2^bits, rounded. */
static Wide round_off(const Wide *a, int bits) {
    Wide half = wide_of(1), r;
    if (bits > 64 * WIDE_WORDS - 1) return (Wide){{0}};
    half = wide_shift(&half, bits - 1);
    wide_add(a, &half, &r);
    return wide_shift(&r, -bits);
}

static uint128_t magnitude(int128_t v) { return v < 0 ? 0 - (uint128_t)v : (uint128_t)v; }
static bool signed_result(const Wide *m, bool negative, int128_t *out) {
    if (to_i128(m, out)) return true;
    if (negative) *out = -*out;
    return false;
}

/* ln(v / 10^scale) = 2 atanh(z) + k ln 2 - scale ln 10 with z = (v - 2^k) / (v + 2^k), |z| <= 1/5. */
static Fixed fixed_ln(uint128_t v, int scale, int words) {
    Wide x = wide_of(v), one = wide_of(1), up, z, z2, term;
    int k = wide_bits(&x) - 1;
    up = wide_shift(&one, k + 2); /* 2^(k + 2) < 3 v: nearer to 2^(k + 1) */
    Wide three = wide_of(3), v3;
    wide_mul(&x, &three, &v3);
    if (wide_cmp(&up, &v3) < 0) k++;
    Wide power = wide_shift(&one, k), sum;
    Fixed r = {.negative = wide_cmp(&x, &power) < 0};
    if (r.negative) wide_sub(&power, &x, &z);
    else wide_sub(&x, &power, &z);
    wide_add(&x, &power, &sum);
    z = wide_shift(&z, 64 * words);
    wide_div(&z, &sum, &z, NULL);
    z2 = fixed_mul(&z, &z, words);
    term = r.m = z;
    for (uint64_t i = 3; wide_bits(&term) > 0; i += 2) {
        term = fixed_mul(&term, &z2, words);
        Wide part = term;
        div_word(&part, i);
        wide_add(&r.m, &part, &r.m);
    }
    r.m = wide_shift(&r.m, 1);
    return fixed_add(fixed_add(r, times_constant(&ln_2, words, k)), times_constant(&ln_10, words, -scale));
}

/* e^x * 10^to, rounded; x has FEW words behind the point. */
static bool fixed_exp(Fixed x, int to, int128_t *out) {
    /* 1. x = n ln 2 + r, 0 <= r <= ln 2 */
    Wide q, r, ln2 = constant(&ln_2, FEW);
    wide_div(&x.m, &ln2, &q, &r);
    int n = (int)q.w[0];
    if (wide_bits(&q) > 8) return *out = 0, !x.negative;
    if (x.negative) {
        n = -n - 1;
        wide_sub(&ln2, &r, &r);
    }
    /* 2. Taylor's series of r / 2^8, squared eight times */
    enum { HALVED = 8 };
    r = wide_shift(&r, -HALVED);
    Wide one = wide_of(1), term = wide_shift(&one, 64 * FEW), sum = term;
    for (uint64_t i = 1; wide_bits(&term) > 0; i++) {
        term = fixed_mul(&term, &r, FEW);
        div_word(&term, i);
        wide_add(&sum, &term, &sum);
    }
    for (int i = 0; i < HALVED; i++) sum = fixed_mul(&sum, &sum, FEW);
    /* 3. times 10^to */
    if (n > 127) return true;
    wide_mul_pow10(&sum, to);
    sum = round_off(&sum, 64 * FEW - n);
    return to_i128(&sum, out);
}

/* ---- decimals ----------------------------------------------------------------------------- */

bool decimal_sqrt(int128_t v, int scale, int to, int128_t *out) {
    Wide a = wide_of((uint128_t)v), b = wide_of(1);
    int up = 2 * to - scale;
    wide_mul_pow10(up > 0 ? &a : &b, up > 0 ? up : -up);
    return wide_root(&a, &b, out);
}

bool decimal_exp(int128_t v, int scale, int to, int128_t *out) {
    uint128_t m = magnitude(v);
    *out = 0;
    if (m / (uint128_t)pow10_i128[scale] >= 256) return v > 0;
    Wide x = wide_of(m), d = wide_of((uint128_t)pow10_i128[scale]);
    x = wide_shift(&x, 64 * FEW);
    wide_div(&x, &d, &x, NULL);
    return fixed_exp((Fixed){v < 0, x}, to, out);
}

bool decimal_ln(int128_t v, int scale, int to, int128_t *out) {
    Fixed x = fixed_ln((uint128_t)v, scale, FEW);
    wide_mul_pow10(&x.m, to);
    x.m = round_off(&x.m, 64 * FEW);
    return signed_result(&x.m, x.negative, out);
}

bool decimal_log(int128_t base, int base_scale, int128_t v, int scale, int to, int128_t *out) {
    int words = FEW;
    Fixed y = fixed_ln((uint128_t)base, base_scale, words);
    if (wide_bits(&y.m) < 64 * FEW - 32)
        y = fixed_ln((uint128_t)base, base_scale, words = MANY); /* near 1: few digits are left of it */
    Fixed x = fixed_ln((uint128_t)v, scale, words);
    /* 32 bits less make room for 10^to. */
    Wide a = wide_shift(&x.m, -32), b = wide_shift(&y.m, -32), one = wide_of(1), q, rem;
    wide_mul_pow10(&a, to);
    wide_div(&a, &b, &q, &rem);
    rem = wide_shift(&rem, 1);
    if (wide_cmp(&rem, &b) >= 0) wide_add(&q, &one, &q);
    return signed_result(&q, x.negative != y.negative, out);
}

/* m^n / 10^(scale * n), or what divides 1, exactly; false: too many bits on the way. */
static bool whole_power(uint128_t m, int scale, uint64_t n, bool divides, int to, int128_t *out, bool *over) {
    while (scale > 0 && m % 10 == 0) m /= 10, scale--;
    Wide base = wide_of(m), p = wide_of(1), ten = wide_of(1);
    if (n > 512 || (uint64_t)wide_bits(&base) * n > 384 || (uint64_t)scale * n + (uint64_t)to > 150) return false;
    for (uint64_t i = 0; i < n; i++) wide_mul(&p, &base, &p);
    int exp = scale * (int)n;
    if (divides) {
        wide_mul_pow10(&ten, exp + to);
        *over = wide_quotient(&ten, &p, out);
        return true;
    }
    if (exp > to) wide_mul_pow10(&ten, exp - to);
    else if (wide_mul_pow10(&p, to - exp)) return *over = true;
    *over = wide_quotient(&p, &ten, out);
    return true;
}

bool decimal_power(int128_t v, int scale, int128_t exp, int exp_scale, int to, int128_t *out) {
    uint128_t m = magnitude(v), e = magnitude(exp), unit = (uint128_t)pow10_i128[exp_scale];
    bool whole = e % unit == 0, negative = v < 0 && (e / unit & 1), over;
    if (v == 0) { /* 0^0 is 1 */
        *out = exp == 0 ? pow10_i128[to] : 0;
        return numeric_exceeds(*out, NUMERIC_MAX_PRECISION);
    }
    if (whole && e / unit <= 512 && whole_power(m, scale, (uint64_t)(e / unit), exp < 0, to, out, &over)) {
        if (negative) *out = -*out;
        return over;
    }
    /* The exponent multiplies the error of the logarithm: by 2^64 that is nothing, by 2^127 it would be too much. */
    int words = e / unit >> 64 ? MANY : FEW, drop = words == MANY ? 64 : 0;
    Fixed x = fixed_ln(m, scale, words);
    Wide y = wide_of(e), d = wide_of(unit);
    x.m = wide_shift(&x.m, -drop);
    wide_mul(&x.m, &y, &x.m);
    wide_div(&x.m, &d, &x.m, NULL);
    x.m = wide_shift(&x.m, drop + 64 * (FEW - words));
    x.negative = x.negative != (exp < 0);
    *out = 0;
    if (wide_bits(&x.m) > 64 * FEW + 8) return !x.negative;
    if (fixed_exp(x, to, out)) return true;
    if (negative) *out = -*out;
    return false;
}
