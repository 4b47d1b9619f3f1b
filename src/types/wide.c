/* wide.c - see wide.h. Division is Knuth's algorithm D with digits of 64 bits.
 */
#include "types/wide.h"

#include <math.h>

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

/* At least floor(sqrt(a)), and more by less than a 2^-48th and 2: of the root of the first 62 or 63 bits as a double,
 * whose last bits may be wrong. */
static Wide root_above(const Wide *a) {
    enum { FRACTION = 21, WRONG = 8 };
    const int bits = wide_bits(a), cut = bits > 63 ? (bits - 62) & ~1 : 0, up = cut / 2 - FRACTION;
    const Wide top = wide_shift(a, -cut), one = wide_of(1);
    Wide x = wide_of((uint64_t)(sqrt((double)top.w[0]) * (1 << FRACTION)) + WRONG);
    x = wide_shift(&x, up);
    if (up < 0) wide_add(&x, &one, &x);
    return x;
}
/* floor(sqrt(a)) by Newton's steps from above, each of which doubles the number of right bits. */
static Wide floor_root(const Wide *a) {
    if (!wide_bits(a)) return *a;
    Wide x = root_above(a);
    for (;;) {
        Wide y;
        wide_div(a, &x, &y, NULL);
        wide_add(&x, &y, &y);
        y = wide_shift(&y, -1);
        if (wide_cmp(&y, &x) >= 0) return x;
        x = y;
    }
}
bool wide_short_root(uint128_t a, int exp, uint64_t b, int128_t *out) {
    if (a >> 120) return false;
    const uint128_t p = (uint128_t)pow10_i128[exp], a4 = 4 * a;
    const uint64_t x[2] = {(uint64_t)a4, (uint64_t)(a4 >> 64)}, y[2] = {(uint64_t)p, (uint64_t)(p >> 64)};
    uint64_t q[4], rest = 0;
    mul_words(x, 2, y, 2, q);
    for (int i = 3; i >= 0; i--) {
        const uint128_t t = (uint128_t)rest << 64 | q[i];
        q[i] = (uint64_t)(t / b);
        rest = (uint64_t)(t % b);
    }
    if (q[3] || q[2] >> 32) return false;
    /* The root of a double is wrong by less than a 2^-51th: a step of Newton's leaves an error of 1. Squares differ by
     * less than 2^112, so that their lower 128 bits tell the difference. */
    const uint128_t low = (uint128_t)q[1] << 64 | q[0];
    uint128_t root = (uint128_t)sqrt((double)q[2] * 0x1p128 + (double)low);
    if (root > 0) root += (uint128_t)(int128_t)((double)(int128_t)(low - root * root) / (2 * (double)root));
    int128_t over = (int128_t)(low - root * root);
    for (; over < 0; root--) over += 2 * (int128_t)root - 1;
    for (; over > 2 * (int128_t)root; root++) over -= 2 * (int128_t)root + 1;
    *out = (int128_t)((root + 1) >> 1);
    return true;
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
