/* dec_math.c - roots, exponentials, logarithms and powers of numbers of any length.
 *
 * Everything is computed in fixed or floating point of whole limbs with at least 16 digits beyond those returned, then
 * rounded once. How many digits are returned is PostgreSQL's rule in each case: 16 significant ones by an estimate of
 * the result's size, and no fewer after the point than the arguments have.
 */
#include <float.h>
#include <math.h>

#include "base/stack.h"
#include "types/dec.h"
#include "types/dec_int.h"

enum { GUARD = 3 }; /* limbs beyond those of the result */

static const double ln10 = 2.302585092994045684;

static int32_t result_scale(int32_t scale, const Dec *x, const Dec *y) {
    scale = MAX_OF(MAX_OF(scale, x->scale), y ? y->scale : 0);
    return MIN_OF(MAX_OF(scale, 0), DEC_RESULT_SCALE);
}
static int32_t limbs_of(int32_t digits) { return MAX_OF(digits, 0) / DEC_LIMB_DIGITS + 1; }

/* x as m * 10^*power with m's first 16 digits or more. */
static double leading(const Dec *x, int32_t *power) {
    double m = 0;
    int32_t i = x->n - 1, stop = MAX_OF(x->n - 3, 0);
    for (; i >= stop; i--) m = m * DEC_BASE + x->w[i];
    *power = (x->exp + stop) * DEC_LIMB_DIGITS;
    return m;
}
/* Too large and too small become infinite and 0. */
static double to_double(const Dec *x) {
    if (x->n == 0) return 0;
    int32_t power;
    double m = leading(x, &power);
    double d = power > 320 ? HUGE_VAL : power < -360 ? 0 : m * pow(10, power / 2) * pow(10, power - power / 2);
    return x->neg ? -d : d;
}

static Dec whole(uint32_t v, uint32_t *limb) {
    *limb = v;
    return (Dec){.kind = DEC_FINITE, .n = v != 0, .w = limb};
}

/* x * y without what is below DEC_BASE^-frac. */
static Status mul_fixed(Arena *a, const Dec *x, const Dec *y, int32_t frac, Dec *out, Err *e) {
    Dec p = *x, q = *y;
    p.scale = q.scale = 0;
    TRY(dec_mul(a, &p, &q, out, e));
    dec_cut(out, -frac);
    return ST_OK;
}
/* x / v likewise. */
static Status div_fixed(Arena *a, const Dec *x, uint32_t v, int32_t frac, Dec *out, Err *e) {
    uint32_t limb;
    Dec d = whole(v, &limb);
    return dec_div_to(a, x, &d, frac * DEC_LIMB_DIGITS, false, out, e);
}

/* ---- roots ------------------------------------------------------------------------------------ */

/* A number of up to three limbs that is no less than the root of u[n], n <= 4, and nearly it. */
static Status first_root(Arena *a, const uint32_t *u, int32_t n, Dec *out, Err *e) {
    double d = 0;
    for (int32_t i = n - 1; i >= 0; i--) d = d * DEC_BASE + u[i];
    int128_t up = (int128_t)(sqrt(d) * (1 + 1e-14)) + 2;
    return dec_from_i128(a, up, 0, out, e);
}

/* The root of the whole number u[n], cut: Newton's method from above, from the root of the first half of the limbs. */
static Status root_limbs(Arena *a, const uint32_t *u, int32_t n, Dec *out, Err *e) {
    Dec num = {.kind = DEC_FINITE, .n = n, .w = (uint32_t *)(uintptr_t)u}; /* only read */
    Dec x, one;
    TRY(stack_check(e));
    dec_trim(&num);
    TRY(dec_from_i128(a, 1, 0, &one, e));
    if (n <= 4) {
        TRY(first_root(a, u, n, &x, e));
    } else {
        int32_t low = n / 4;
        TRY(root_limbs(a, u + 2 * low, n - 2 * low, &x, e));
        TRY(dec_add(a, &x, &one, &x, e));
        x.exp += low;
    }
    for (;;) {
        Dec q, s;
        TRY(dec_div_to(a, &num, &x, 0, false, &q, e));
        TRY(dec_add(a, &x, &q, &s, e));
        TRY(div_fixed(a, &s, 2, 1, &s, e));
        TRY(dec_round(a, &s, 0, false, &s, e));
        if (dec_cmp(&s, &x) >= 0) break;
        x = s;
    }
    *out = x;
    return ST_OK;
}

Status dec_sqrt_to(Arena *a, const Dec *x, int32_t scale, Dec *out, Err *e) {
    if (x->n == 0) return *out = dec_zero(scale), ST_OK;
    int32_t frac = limbs_of(scale), shift = x->exp + 2 * frac, n = x->n + shift;
    if (n <= 0) return *out = dec_zero(scale), ST_OK;
    uint32_t *u = dec_limbs(a, n, e);
    if (!u) return ST_ERROR;
    if (shift > 0) memset(u, 0, (size_t)shift * sizeof *u);
    if (shift >= 0) memcpy(u + shift, x->w, (size_t)x->n * sizeof *u);
    else memcpy(u, x->w - shift, (size_t)n * sizeof *u);
    Dec r;
    TRY(root_limbs(a, u, n, &r, e));
    r.exp -= r.n ? frac : 0;
    return dec_round(a, &r, scale, true, out, e);
}

Status dec_sqrt(Arena *a, const Dec *x, Dec *out, Err *e) {
    if (x->kind == DEC_NAN) return *out = *x, ST_OK;
    if (x->kind == DEC_NEG_INF || x->neg)
        return err_set(e, ERR_INVALID_POWER, "cannot take square root of a negative number");
    if (x->kind == DEC_INF) return *out = *x, ST_OK;
    int32_t weight = (dec_weight(x) + 1) * 4 / 2 - 1;
    return dec_sqrt_to(a, x, result_scale(DEC_RESULT_DIGITS - weight, x, NULL), out, e);
}

/* ---- exponentials ------------------------------------------------------------------------------- */

/* e^x of 0 <= x <= 6200, to `frac` limbs behind the point (the last one or two may be wrong). */
static Status exp_fixed(Arena *a, const Dec *x, int32_t frac, Dec *out, Err *e) {
    uint32_t limb;
    Dec one = whole(1, &limb), r, sum, term;
    int halvings = 8;
    for (double d = to_double(x); d > 1; d /= 2) halvings++;
    TRY(div_fixed(a, x, (uint32_t)1 << halvings, frac, &r, e));
    TRY(dec_add(a, &one, &r, &sum, e));
    term = r;
    for (uint32_t k = 2; term.n; k++) {
        TRY(mul_fixed(a, &term, &r, frac, &term, e));
        TRY(div_fixed(a, &term, k, frac, &term, e));
        TRY(dec_add(a, &sum, &term, &sum, e));
    }
    for (int i = 0; i < halvings; i++) TRY(mul_fixed(a, &sum, &sum, frac, &sum, e));
    *out = sum;
    return ST_OK;
}

/* e^x of a finite x rounded to `scale` digits. */
static Status exp_to(Arena *a, const Dec *x, int32_t scale, Dec *out, Err *e) {
    double d = to_double(x);
    if (fabs(d) >= 6000) {
        if (d > 0) return dec_overflow(e);
        return *out = dec_zero(scale), ST_OK;
    }
    int32_t digits = (int32_t)(fabs(d) / ln10) + 1;
    Dec p = *x, r;
    p.neg = false;
    p.scale = 0;
    /* Squaring keeps relative errors, up to the doublings of them: the limbs before the point count too. */
    TRY(exp_fixed(a, &p, limbs_of(scale) + limbs_of(digits) + GUARD, &r, e));
    r.scale = 0;
    if (!x->neg) return dec_round(a, &r, scale, true, out, e);
    uint32_t limb;
    Dec one = whole(1, &limb);
    return dec_div_to(a, &one, &r, scale, true, out, e);
}

Status dec_exp(Arena *a, const Dec *x, Dec *out, Err *e) {
    if (x->kind == DEC_NEG_INF) return *out = dec_zero(0), ST_OK;
    if (x->kind != DEC_FINITE) return *out = *x, ST_OK;
    double weight = MAX_OF(MIN_OF(to_double(x) / ln10, 2000.0), -2000.0);
    return exp_to(a, x, result_scale(DEC_RESULT_DIGITS - (int32_t)weight, x, NULL), out, e);
}

/* ---- logarithms ------------------------------------------------------------------------------------ */

/* ln of m, 1 <= m < DEC_BASE: y + ln(m / e^y) with y's first 16 digits right, then 2 artanh((z - 1) / (z + 1)). */
static Status ln_mantissa(Arena *a, const Dec *m, int32_t frac, Dec *out, Err *e) {
    uint32_t limb;
    Dec one = whole(1, &limb), y, ey, z, up, down, s, square, sum, term;
    double d = log(MAX_OF(to_double(m), 1.0));
    y = (Dec){.kind = DEC_FINITE, .n = 2, .exp = -1, .w = dec_limbs(a, 2, e)};
    if (!y.w) return ST_ERROR;
    y.w[1] = (uint32_t)d;
    y.w[0] = (uint32_t)((d - floor(d)) * DEC_BASE);
    dec_trim(&y);
    TRY(exp_fixed(a, &y, frac, &ey, e));
    TRY(dec_div_to(a, m, &ey, frac * DEC_LIMB_DIGITS, false, &z, e));
    TRY(dec_sub(a, &z, &one, &up, e));
    TRY(dec_add(a, &z, &one, &down, e));
    TRY(dec_div_to(a, &up, &down, frac * DEC_LIMB_DIGITS, false, &s, e));
    TRY(mul_fixed(a, &s, &s, frac, &square, e));
    sum = term = s;
    for (uint32_t k = 3; term.n; k += 2) {
        Dec part;
        TRY(mul_fixed(a, &term, &square, frac, &term, e));
        TRY(div_fixed(a, &term, k, frac, &part, e));
        TRY(dec_add(a, &sum, &part, &sum, e));
    }
    TRY(dec_add(a, &sum, &sum, &sum, e));
    return dec_add(a, &y, &sum, out, e);
}

/* ln of a finite x > 0 to `frac` limbs. */
static Status ln_fixed(Arena *a, const Dec *x, int32_t frac, Dec *out, Err *e) {
    Dec m = *x;
    int32_t power = dec_top(x) - 1;
    m.exp -= power;
    m.scale = 0;
    TRY(ln_mantissa(a, &m, frac, out, e));
    if (power == 0) return ST_OK;
    /* ln(DEC_BASE) = 8 ln(10) */
    uint32_t l1, l2;
    Dec ten = whole(10, &l1), times = whole((uint32_t)(power < 0 ? -power : power) * DEC_LIMB_DIGITS, &l2), r;
    times.neg = power < 0;
    TRY(ln_mantissa(a, &ten, frac, &r, e));
    TRY(mul_fixed(a, &r, &times, frac, &r, e));
    return dec_add(a, out, &r, out, e);
}

/* The power of 10 of ln x, about: from x's first digits, or x - 1 where x is within a tenth of 1. */
static Status ln_weight(Arena *a, const Dec *x, int32_t *out, Err *e) {
    uint32_t limb;
    Dec one = whole(1, &limb), d;
    *out = 0;
    double v = to_double(x);
    if (v >= 0.9 && v <= 1.1) {
        TRY(dec_sub(a, x, &one, &d, e));
        if (d.n) *out = dec_weight(&d) * 4 + (int32_t)log10((double)dec_first(&d));
        return ST_OK;
    }
    int32_t power;
    double m = leading(x, &power), ln = log(m) + power * ln10;
    *out = (int32_t)log10(fabs(ln));
    return ST_OK;
}

static Status log_argument(const Dec *x, Err *e) {
    if (x->kind == DEC_NAN) return ST_OK;
    if (x->kind == DEC_NEG_INF || x->neg)
        return err_set(e, ERR_INVALID_LOGARITHM, "cannot take logarithm of a negative number");
    if (dec_is_zero(x)) return err_set(e, ERR_INVALID_LOGARITHM, "cannot take logarithm of zero");
    return ST_OK;
}

Status dec_ln(Arena *a, const Dec *x, Dec *out, Err *e) {
    TRY(log_argument(x, e));
    if (x->kind != DEC_FINITE) return *out = *x, ST_OK;
    int32_t weight;
    TRY(ln_weight(a, x, &weight, e));
    int32_t scale = result_scale(DEC_RESULT_DIGITS - weight, x, NULL);
    Dec r;
    TRY(ln_fixed(a, x, limbs_of(scale) + GUARD, &r, e));
    return dec_round(a, &r, scale, true, out, e);
}

Status dec_log(Arena *a, const Dec *base, const Dec *x, Dec *out, Err *e) {
    if (base->kind == DEC_NAN || x->kind == DEC_NAN) return *out = dec_special(DEC_NAN), ST_OK;
    TRY(log_argument(base, e));
    TRY(log_argument(x, e));
    if (base->kind != DEC_FINITE) {
        *out = x->kind != DEC_FINITE ? dec_special(DEC_NAN) : dec_zero(0);
        return ST_OK;
    }
    if (x->kind != DEC_FINITE) {
        *out = *x;
        return ST_OK;
    }
    int32_t w1, w2;
    TRY(ln_weight(a, base, &w1, e));
    TRY(ln_weight(a, x, &w2, e));
    int32_t scale = result_scale(DEC_RESULT_DIGITS - (w2 - w1), base, x);
    int32_t frac = limbs_of(scale) + limbs_of(MAX_OF(w2, 0) - 2 * MIN_OF(w1, 0)) + GUARD;
    Dec p, q;
    TRY(ln_fixed(a, base, frac, &p, e));
    TRY(ln_fixed(a, x, frac, &q, e));
    if (p.n == 0) return err_set(e, ERR_DIVISION_BY_ZERO, "division by zero");
    return dec_div_to(a, &q, &p, scale, true, out, e);
}

/* ---- powers ---------------------------------------------------------------------------------------- */

/* x^n rounded to `scale` digits, by squaring with as many significant limbs as the result needs. */
static Status power_int(Arena *a, const Dec *x, int64_t n, int32_t scale, Dec *out, Err *e) {
    Dec one;
    TRY(dec_from_i128(a, 1, 0, &one, e));
    if (n == 0) return dec_round(a, &one, scale, true, out, e);
    if (x->n == 0) {
        if (n < 0) return err_set(e, ERR_DIVISION_BY_ZERO, "division by zero");
        return *out = dec_zero(scale), ST_OK;
    }
    int32_t power;
    double m = leading(x, &power), digits = (double)n * (log10(m) + power);
    if (digits > 3.0 * INT16_MAX * 4) return dec_overflow(e);
    if (digits + 1 < -scale || digits + 1 < -DEC_RESULT_SCALE) return *out = dec_zero(scale), ST_OK;
    int32_t keep = limbs_of(scale + (int32_t)digits + 1) + limbs_of(i128_digits(n)) + GUARD;
    Dec r = one, base = *x;
    base.scale = 0;
    for (uint64_t k = n < 0 ? -(uint64_t)n : (uint64_t)n;;) {
        if (k & 1) TRY(dec_mul(a, &r, &base, &r, e));
        if (r.n > keep) dec_cut(&r, dec_top(&r) - keep);
        if (!(k >>= 1)) break;
        TRY(dec_mul(a, &base, &base, &base, e));
        if (base.n > keep) dec_cut(&base, dec_top(&base) - keep);
    }
    if (n < 0) return dec_div_to(a, &one, &r, scale, true, out, e);
    return dec_round(a, &r, scale, true, out, e);
}

/* The exponent is not a whole number of 32 bits: e^(y ln x). */
static Status power_real(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    Dec base = *x, ln, product;
    bool odd = x->neg && y->n && y->exp == 0 && (y->w[0] & 1); /* y is whole then */
    if (x->n == 0) return *out = dec_zero(DEC_RESULT_DIGITS), ST_OK;
    base.neg = false;
    int32_t weight;
    TRY(ln_weight(a, &base, &weight, e));
    TRY(ln_fixed(a, &base, limbs_of(DEC_RESULT_DIGITS - weight) + GUARD, &ln, e));
    double power_ln = to_double(&ln) * to_double(y);
    if (fabs(power_ln) > 2000 * 3.01) {
        if (power_ln > 0) return dec_overflow(e);
        return *out = dec_zero(DEC_RESULT_SCALE), ST_OK;
    }
    double digits = power_ln / ln10;
    int32_t scale = result_scale(DEC_RESULT_DIGITS - (int32_t)digits, x, y);
    int32_t need = scale + (int32_t)fabs(digits) + (y->n ? MAX_OF(dec_exponent(y), 0) : 0) + 2;
    TRY(ln_fixed(a, &base, limbs_of(need) + GUARD, &ln, e));
    TRY(mul_fixed(a, &ln, y, limbs_of(need) + GUARD, &product, e));
    TRY(exp_to(a, &product, scale, out, e));
    out->neg = odd && out->n;
    return ST_OK;
}

/* With a NaN or an infinite argument: POSIX's pow(). */
static Status power_special(const Dec *x, const Dec *y, Dec *out, Err *e) {
    static uint32_t limb = 1; /* nothing changes it */
    const Dec one = {.kind = DEC_FINITE, .n = 1, .w = &limb};
    bool x_is_one = x->kind == DEC_FINITE && dec_cmp(x, &one) == 0;
    if (x->kind == DEC_NAN || y->kind == DEC_NAN) {
        *out = x_is_one || dec_is_zero(y) ? one : dec_special(DEC_NAN);
        return ST_OK;
    }
    if (dec_is_zero(x) && (y->neg || y->kind == DEC_NEG_INF))
        return err_set(e, ERR_INVALID_POWER, "zero raised to a negative power is undefined");
    if ((x->neg || x->kind == DEC_NEG_INF) && y->kind == DEC_FINITE && !dec_is_whole(y))
        return err_set(e, ERR_INVALID_POWER, "a negative number raised to a non-integer power yields a complex result");
    if (x_is_one || dec_is_zero(y)) return *out = one, ST_OK;
    if (dec_is_zero(x)) return *out = dec_zero(0), ST_OK;
    if (y->kind != DEC_FINITE) { /* the base's magnitude decides; -1 counts as 1 */
        Dec magnitude = *x;
        magnitude.neg = false;
        int c = x->kind != DEC_FINITE ? 1 : dec_cmp(&magnitude, &one);
        if (c == 0) return *out = one, ST_OK;
        *out = (c > 0) == (y->kind == DEC_INF) ? dec_special(DEC_INF) : dec_zero(0);
        return ST_OK;
    }
    if (y->neg) return *out = dec_zero(0), ST_OK;
    bool odd = y->exp == 0 && (y->w[0] & 1);
    *out = dec_special(x->kind == DEC_NEG_INF && odd ? DEC_NEG_INF : DEC_INF);
    return ST_OK;
}

Status dec_power(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind != DEC_FINITE || y->kind != DEC_FINITE) return power_special(x, y, out, e);
    if (x->n == 0 && y->neg) return err_set(e, ERR_INVALID_POWER, "zero raised to a negative power is undefined");
    if (x->neg && !dec_is_whole(y))
        return err_set(e, ERR_INVALID_POWER, "a negative number raised to a non-integer power yields a complex result");
    int128_t n;
    if (dec_is_whole(y) && !dec_to_i128(y, 0, &n) && n >= INT32_MIN && n <= INT32_MAX)
        return power_int(a, x, (int64_t)n, result_scale(DEC_RESULT_DIGITS, x, NULL), out, e);
    return power_real(a, x, y, out, e);
}

Status dec_factorial(Arena *a, int64_t n, Dec *out, Err *e) {
    if (n < 0) return err_set(e, ERR_NUMERIC_RANGE, "factorial of a negative number is undefined");
    if (n > 32177) return dec_overflow(e); /* as PostgreSQL */
    enum { LIMBS = DEC_WHOLE_MAX / DEC_LIMB_DIGITS + 2 };
    Dec r = {.kind = DEC_FINITE, .n = 1, .w = dec_limbs(a, n < 20 ? 4 : LIMBS, e)};
    if (!r.w) return ST_ERROR;
    r.w[0] = 1;
    for (int64_t k = 2; k <= n;) {
        uint64_t part = 1, carry = 0;
        for (; k <= n && part * (uint64_t)k < DEC_BASE; k++) part *= (uint64_t)k;
        for (int32_t i = 0; i < r.n; i++) {
            carry += r.w[i] * part;
            r.w[i] = (uint32_t)(carry % DEC_BASE);
            carry /= DEC_BASE;
        }
        if (carry) r.w[r.n++] = (uint32_t)carry;
    }
    dec_trim(&r);
    *out = r;
    return ST_OK;
}

Status dec_variance(Arena *a, const Dec *sum, const Dec *squares, int64_t n, bool sample, bool root, Dec *out, Err *e) {
    if (sum->kind != DEC_FINITE || squares->kind != DEC_FINITE) return *out = dec_special(DEC_NAN), ST_OK;
    Dec count, p, q, d;
    TRY(dec_from_i128(a, n, 0, &count, e));
    TRY(dec_mul(a, sum, sum, &p, e));
    TRY(dec_mul(a, &count, squares, &q, e));
    TRY(dec_sub(a, &q, &p, &q, e));
    if (q.n == 0 || q.neg) return *out = dec_zero(0), ST_OK;
    TRY(dec_from_i128(a, (int128_t)n * (sample ? n - 1 : n), 0, &d, e));
    Dec r;
    TRY(dec_div(a, &q, &d, &r, e));
    if (root) TRY(dec_sqrt_to(a, &r, r.scale, &r, e));
    *out = r;
    return ST_OK;
}
