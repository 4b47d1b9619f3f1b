/* dec.c - numbers of any length: forms, text, exact arithmetic, quotients.
 *
 * Limbs are aligned to the point, so that sums need no multiplication. Products are schoolbook's, quotients Knuth's
 * algorithm D: with at most 18,432 limbs the worst of either takes some tenths of a second.
 */
#include "types/dec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "types/dec_int.h"
#include "types/type_int.h"
#include "types/range_errors.h"

enum {
    CLASS_NEG_INF = 1,
    CLASS_NEG,
    CLASS_ZERO,
    CLASS_POS,
    CLASS_INF,
    CLASS_NAN,
    WEIGHT_BIAS = 16384,
    DIGIT_BIAS = 256,
    STORED_FIXED = 6, /* bytes beside the digits */
    SQUARE = 10000,   /* the stored form's base; two of its digits are a limb */
};

static const uint32_t pow10_u32[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

Status dec_overflow(Err *e) { return err_set(e, ERR_NUMERIC_RANGE, "value overflows numeric format"); }
static Status div_zero(Err *e) { return err_set(e, ERR_DIVISION_BY_ZERO, "division by zero"); }
static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

uint32_t *dec_limbs(Arena *a, int64_t n, Err *e) {
    uint32_t *w = arena_alloc(a, MAX_OF(n, 1) * (int64_t)sizeof *w);
    if (!w) (void)no_memory(e);
    return w;
}

int32_t dec_top(const Dec *x) { return x->exp + x->n; }

void dec_trim(Dec *x) {
    while (x->n > 0 && x->w[x->n - 1] == 0) x->n--;
    while (x->n > 0 && x->w[0] == 0) {
        x->w++;
        x->exp++;
        x->n--;
    }
    if (x->n == 0) {
        x->neg = false;
        x->exp = 0;
    }
}

void dec_cut(Dec *x, int32_t exp) {
    if (x->exp >= exp) return;
    int32_t drop = MIN_OF(exp - x->exp, x->n);
    x->w += drop;
    x->n -= drop;
    x->exp += drop;
    dec_trim(x);
}

/* ---- sizes --------------------------------------------------------------------------------- */

static int32_t limb_digits(uint32_t v) {
    int32_t d = 1;
    while (d < DEC_LIMB_DIGITS && v >= pow10_u32[d]) d++;
    return d;
}

int32_t dec_exponent(const Dec *x) { return (dec_top(x) - 1) * DEC_LIMB_DIGITS + limb_digits(x->w[x->n - 1]) - 1; }
int32_t dec_weight(const Dec *x) { return x->n ? dec_floor_div(dec_exponent(x), 4) : 0; }
int32_t dec_first(const Dec *x) {
    if (!x->n) return 0;
    uint32_t top = x->w[x->n - 1];
    return (int32_t)(top >= SQUARE ? top / SQUARE : top);
}

int32_t dec_min_scale(const Dec *x) {
    if (x->n == 0 || x->exp >= 0) return 0;
    uint32_t low = x->w[0];
    int32_t s = -x->exp * DEC_LIMB_DIGITS;
    for (; low % 10 == 0; low /= 10) s--;
    return MAX_OF(s, 0);
}

bool dec_is_whole(const Dec *x) { return x->n == 0 || x->exp >= 0; }

/* ---- the stored form -------------------------------------------------------------------------- */

static void put_u16(char *p, uint32_t v, bool complement) {
    if (complement) v = ~v;
    p[0] = (char)(v >> 8 & 255);
    p[1] = (char)(v & 255);
}
static uint32_t get_u16(const char *p, bool complement) {
    uint32_t v = (uint32_t)(uint8_t)p[0] << 8 | (uint8_t)p[1];
    return complement ? ~v & 0xffff : v;
}

static Status encode_fixed(Arena *a, char class, int32_t scale, Str *out, Err *e) {
    char *p = arena_alloc(a, 3);
    if (!p) return no_memory(e);
    p[0] = class;
    put_u16(p + 1, (uint32_t)scale, false);
    *out = str_make(p, 3);
    return ST_OK;
}

Status dec_encode(Arena *a, const Dec *x, Str *out, Err *e) {
    if (x->kind != DEC_FINITE) {
        char class = x->kind == DEC_NAN ? CLASS_NAN : x->kind == DEC_INF ? CLASS_INF : CLASS_NEG_INF;
        return encode_fixed(a, class, 0, out, e);
    }
    if (x->scale > DEC_SCALE_MAX) return dec_overflow(e);
    if (x->n == 0) return encode_fixed(a, CLASS_ZERO, x->scale, out, e);
    if (dec_top(x) * DEC_LIMB_DIGITS > DEC_WHOLE_MAX) return dec_overflow(e);
    char *p = arena_alloc(a, STORED_FIXED + 4 * (int64_t)x->n);
    if (!p) return no_memory(e);
    char *at = p;
    *at++ = x->neg ? CLASS_NEG : CLASS_POS;
    put_u16(at, (uint32_t)(dec_weight(x) + WEIGHT_BIAS), x->neg);
    at += 2;
    for (int32_t i = x->n - 1; i >= 0; i--) {
        uint32_t hi = x->w[i] / SQUARE, lo = x->w[i] % SQUARE;
        if (hi || i < x->n - 1) {
            put_u16(at, hi + DIGIT_BIAS, x->neg);
            at += 2;
        }
        if (lo || i > 0) {
            put_u16(at, lo + DIGIT_BIAS, x->neg);
            at += 2;
        }
    }
    *at++ = x->neg ? (char)0xff : 0;
    put_u16(at, (uint32_t)x->scale, false);
    *out = str_make(p, at + 2 - p);
    return ST_OK;
}

Status dec_decode(Arena *a, Str s, Dec *out, Err *e) {
    if (s.len < 3) return err_internal(e, "a numeric of %u bytes", s.len);
    int32_t scale = (int32_t)get_u16(s.ptr + s.len - 2, false);
    switch (s.ptr[0]) {
    case CLASS_NEG_INF: *out = dec_special(DEC_NEG_INF); return ST_OK;
    case CLASS_INF: *out = dec_special(DEC_INF); return ST_OK;
    case CLASS_NAN: *out = dec_special(DEC_NAN); return ST_OK;
    case CLASS_ZERO: *out = dec_zero(scale); return ST_OK;
    case CLASS_NEG:
    case CLASS_POS: break;
    default: return err_internal(e, "a numeric of class %d", s.ptr[0]);
    }
    bool neg = s.ptr[0] == CLASS_NEG;
    int32_t n = ((int32_t)s.len - STORED_FIXED) / 2; /* digits of base 10,000 */
    if (s.len < STORED_FIXED + 2 || s.len % 2) return err_internal(e, "a numeric of %u bytes", s.len);
    int32_t weight = (int32_t)get_u16(s.ptr + 1, neg) - WEIGHT_BIAS;
    int32_t top = dec_floor_div(weight, 2), low = dec_floor_div(weight - n + 1, 2);
    *out = (Dec){.kind = DEC_FINITE, .neg = neg, .n = top - low + 1, .exp = low, .scale = scale};
    if (!(out->w = dec_limbs(a, out->n, e))) return ST_ERROR;
    memset(out->w, 0, (size_t)out->n * sizeof *out->w);
    for (int32_t i = 0; i < n; i++) {
        uint32_t digit = get_u16(s.ptr + 3 + 2 * i, neg) - DIGIT_BIAS;
        if (digit >= SQUARE) return err_internal(e, "a numeric with a digit of %u", digit);
        int32_t power = weight - i, limb = dec_floor_div(power, 2);
        out->w[limb - low] += power & 1 ? digit * SQUARE : digit;
    }
    dec_trim(out);
    return ST_OK;
}

Status dec_from_key(Arena *a, Str key, Str *out, Err *e) {
    char *p = arena_alloc(a, (int64_t)key.len + 2);
    if (!p) return no_memory(e);
    if (key.len) memcpy(p, key.ptr, key.len);
    put_u16(p + key.len, 0, false);
    Dec d;
    TRY(dec_decode(a, str_make(p, (int64_t)key.len + 2), &d, e));
    put_u16(p + key.len, (uint32_t)dec_min_scale(&d), false);
    *out = str_make(p, (int64_t)key.len + 2);
    return ST_OK;
}

/* ---- text -------------------------------------------------------------------------------------- */

static bool word_is(Slice s, const char *lower) {
    for (int64_t i = 0; i < s.len; i++)
        if (to_lower(s.ptr[i]) != lower[i]) return false;
    return lower[s.len] == 0;
}

static bool parse_special(Slice t, Dec *out) {
    bool sign = t.len > 0 && (*t.ptr == '+' || *t.ptr == '-');
    Slice word = {t.ptr + sign, t.len - sign};
    if (!sign && word_is(word, "nan")) return *out = dec_special(DEC_NAN), true;
    if (!word_is(word, "inf") && !word_is(word, "infinity")) return false;
    return *out = dec_special(sign && *t.ptr == '-' ? DEC_NEG_INF : DEC_INF), true;
}

/* The parts of [+-]digits[.digits][e[+-]n]; false when it is not of that form. */
typedef struct NumberText {
    const char *digits; /* perhaps with a point among them */
    int64_t whole, fraction, exp;
    bool neg;
} NumberText;
static bool split_number(Slice t, NumberText *x) {
    const char *s = t.ptr, *end = s + t.len;
    *x = (NumberText){0};
    if (s < end && (*s == '+' || *s == '-')) x->neg = *s++ == '-';
    x->digits = s;
    while (s < end && is_digit(*s)) s++;
    x->whole = s - x->digits;
    if (s < end && *s == '.') {
        s++;
        const char *from = s;
        while (s < end && is_digit(*s)) s++;
        x->fraction = s - from;
    }
    if (x->whole + x->fraction == 0) return false;
    if (s == end) return true;
    if (*s != 'e' && *s != 'E') return false;
    s++;
    bool neg = false;
    if (s < end && (*s == '+' || *s == '-')) neg = *s++ == '-';
    if (s == end) return false;
    for (; s < end && is_digit(*s); s++) {
        x->exp = x->exp * 10 + (*s - '0');
        if (x->exp >= INT32_MAX / 2) return false; /* as PostgreSQL, which calls it a wrong syntax */
    }
    if (neg) x->exp = -x->exp;
    return s == end;
}

Status dec_parse(Arena *a, Slice text, Dec *out, Err *e) {
    Slice t = text_trim(text);
    NumberText x;
    if (parse_special(t, out)) return ST_OK;
    if (!split_number(t, &x)) return text_syntax_error(ERR_INVALID_TEXT, "numeric", text, e);
    int64_t total = x.whole + x.fraction, lead = 0, scale = MAX_OF(x.fraction - x.exp, 0);
#define DIGIT(i) x.digits[(i) < x.whole ? (i) : (i) + 1]
    while (lead < total && DIGIT(lead) == '0') lead++;
    if (scale > DEC_SCALE_MAX) return dec_overflow(e);
    *out = dec_zero((int32_t)scale);
    if (lead == total) return ST_OK;
    int64_t first = x.whole + x.exp - 1 - lead; /* the first digit's power of 10 */
    if (first >= DEC_WHOLE_MAX) return dec_overflow(e);
    int64_t last = x.whole + x.exp - total;
    while (DIGIT(total - 1) == '0') {
        total--;
        last++;
    }
    int32_t low = dec_floor_div((int32_t)last, DEC_LIMB_DIGITS);
    out->exp = low;
    out->neg = x.neg;
    out->n = dec_floor_div((int32_t)first, DEC_LIMB_DIGITS) - low + 1;
    if (!(out->w = dec_limbs(a, out->n, e))) return ST_ERROR;
    memset(out->w, 0, (size_t)out->n * sizeof *out->w);
    for (int64_t i = lead, power = first; i < total; i++, power--) {
        int32_t limb = dec_floor_div((int32_t)power, DEC_LIMB_DIGITS);
        uint32_t *w = &out->w[limb - low];
        *w += (uint32_t)(DIGIT(i) - '0') * pow10_u32[power - (int64_t)limb * DEC_LIMB_DIGITS];
    }
#undef DIGIT
    dec_trim(out);
    return ST_OK;
}

static uint32_t limb_at(const Dec *x, int32_t power) {
    int32_t i = power - x->exp;
    return i >= 0 && i < x->n ? x->w[i] : 0;
}

/* The digit at a power of 10. */
static uint32_t digit_at(const Dec *x, int32_t power) {
    int32_t limb = dec_floor_div(power, DEC_LIMB_DIGITS);
    return limb_at(x, limb) / pow10_u32[power - limb * DEC_LIMB_DIGITS] % 10;
}

static void put_limb(char *p, uint32_t v, int32_t digits) {
    for (int32_t i = digits - 1; i >= 0; i--) {
        p[i] = (char)('0' + v % 10);
        v /= 10;
    }
}

Status dec_format(Arena *a, const Dec *x, Str *out, Err *e) {
    if (x->kind != DEC_FINITE) {
        const char *s = x->kind == DEC_NAN ? "NaN" : x->kind == DEC_INF ? "Infinity" : "-Infinity";
        char *copy = arena_strdup(a, s);
        if (!copy) return no_memory(e);
        *out = str_make(copy, (int64_t)strlen(copy));
        return ST_OK;
    }
    int32_t top = MAX_OF(x->n ? dec_top(x) : 0, 0), low = -(x->scale + DEC_LIMB_DIGITS - 1) / DEC_LIMB_DIGITS;
    char *p = arena_alloc(a, (int64_t)(top - low) * DEC_LIMB_DIGITS + 16), *at = p;
    if (!p) return no_memory(e);
    if (x->neg) *at++ = '-';
    if (top == 0) *at++ = '0';
    for (int32_t i = top - 1; i >= 0; i--) {
        uint32_t v = limb_at(x, i);
        int32_t digits = i == top - 1 ? limb_digits(v) : DEC_LIMB_DIGITS;
        put_limb(at, v, digits);
        at += digits;
    }
    if (x->scale > 0) {
        *at++ = '.';
        char *point = at;
        for (int32_t i = -1; i >= low; i--) {
            put_limb(at, limb_at(x, i), DEC_LIMB_DIGITS);
            at += DEC_LIMB_DIGITS;
        }
        at = point + x->scale;
    }
    *at = 0;
    *out = str_make(p, at - p);
    return ST_OK;
}

/* ---- other numbers ----------------------------------------------------------------------------- */

Status dec_from_i128(Arena *a, int128_t v, int32_t scale, Dec *out, Err *e) {
    enum { LIMBS = 7 };
    *out = dec_zero(scale);
    if (v == 0) return ST_OK;
    uint128_t u = v < 0 ? -(uint128_t)v : (uint128_t)v;
    int32_t low = -(scale + DEC_LIMB_DIGITS - 1) / DEC_LIMB_DIGITS;
    uint32_t shift = pow10_u32[-low * DEC_LIMB_DIGITS - scale];
    if (!(out->w = dec_limbs(a, LIMBS, e))) return ST_ERROR;
    uint64_t carry = 0;
    while (u || carry) {
        uint64_t part = u >> 64 ? (uint64_t)(u % DEC_BASE) : (uint64_t)u % DEC_BASE;
        u = u >> 64 ? u / DEC_BASE : (uint64_t)u / DEC_BASE;
        carry += part * shift;
        out->w[out->n++] = (uint32_t)(carry % DEC_BASE);
        carry /= DEC_BASE;
    }
    out->neg = v < 0;
    out->exp = low;
    dec_trim(out);
    return ST_OK;
}

bool dec_to_i128(const Dec *x, int32_t scale, int128_t *out) {
    *out = 0;
    if (x->kind != DEC_FINITE) return true;
    if (x->n == 0) return false;
    if (dec_exponent(x) + scale >= NUMERIC_MAX_PRECISION) return true;
    if (dec_exponent(x) + scale < -1) return false;
    int128_t v = 0;
    int32_t last = -scale; /* the power of 10 of the last digit */
    for (int32_t i = dec_top(x) - 1; (i + 1) * DEC_LIMB_DIGITS > last; i--) {
        int32_t cut = MAX_OF(last - i * DEC_LIMB_DIGITS, 0);
        v = v * pow10_u32[DEC_LIMB_DIGITS - cut] + limb_at(x, i) / pow10_u32[cut];
    }
    v += digit_at(x, last - 1) >= 5;
    *out = x->neg ? -v : v;
    return numeric_exceeds(v, NUMERIC_MAX_PRECISION);
}

static Status from_double(Arena *a, double d, int digits, Dec *out, Err *e) {
    if (isnan(d)) return *out = dec_special(DEC_NAN), ST_OK;
    if (isinf(d)) return *out = dec_special(d < 0 ? DEC_NEG_INF : DEC_INF), ST_OK;
    char text[40];
    int n = snprintf(text, sizeof text, "%.*e", digits - 1, d);
    /* Without the zeros at the end, as %g has it, and with no locale's point. */
    char *exp = strchr(text, 'e'), *end = exp;
    if (digits > 1) {
        while (end[-1] == '0') end--;
        if (!is_digit(end[-1])) end--;
        else text[d < 0 || text[0] == '-' ? 2 : 1] = '.';
    }
    memmove(end, exp, (size_t)(text + n + 1 - exp));
    return dec_parse(a, slice_of(text), out, e);
}
Status dec_from_f64(Arena *a, double d, Dec *out, Err *e) { return from_double(a, d, 15, out, e); }
Status dec_from_f32(Arena *a, float f, Dec *out, Err *e) { return from_double(a, (double)f, 6, out, e); }

Status dec_to_f64(Arena *a, const Dec *x, double *out, Err *e) {
    if (x->kind != DEC_FINITE) {
        *out = x->kind == DEC_NAN ? (double)NAN : x->kind == DEC_INF ? HUGE_VAL : -HUGE_VAL;
        return ST_OK;
    }
    Str s;
    double d = 0;
    TRY(dec_format(a, x, &s, e));
    TRY(cell_from_text(type_make(T_FLOAT8), (Slice){s.ptr, s.len}, NULL, a, &d, e));
    *out = d;
    return ST_OK;
}

/* ---- order, sums ---------------------------------------------------------------------------------- */

static int cmp_abs(const Dec *x, const Dec *y) {
    if (x->n == 0 || y->n == 0) return (x->n > 0) - (y->n > 0);
    if (dec_top(x) != dec_top(y)) return dec_top(x) < dec_top(y) ? -1 : 1;
    int32_t low = MIN_OF(x->exp, y->exp);
    for (int32_t i = dec_top(x) - 1; i >= low; i--) {
        uint32_t p = limb_at(x, i), q = limb_at(y, i);
        if (p != q) return p < q ? -1 : 1;
    }
    return 0;
}

int dec_cmp(const Dec *x, const Dec *y) {
    if (x->kind != y->kind || x->kind != DEC_FINITE) return (x->kind > y->kind) - (x->kind < y->kind);
    if (x->neg != y->neg) return x->neg ? -1 : 1;
    return x->neg ? -cmp_abs(x, y) : cmp_abs(x, y);
}

/* |x| + |y|, or |x| - |y| where |x| >= |y|. */
static Status combine_abs(Arena *a, const Dec *x, const Dec *y, bool subtract, Dec *out, Err *e) {
    int32_t low = MIN_OF(x->exp, y->exp), top = MAX_OF(dec_top(x), dec_top(y)) + 1;
    Dec r = {.kind = DEC_FINITE, .n = top - low, .exp = low};
    if (!(r.w = dec_limbs(a, r.n, e))) return ST_ERROR;
    int64_t carry = 0;
    for (int32_t i = 0; i < r.n; i++) {
        int64_t p = limb_at(x, low + i), q = limb_at(y, low + i);
        int64_t s = subtract ? p - q + carry : p + q + carry;
        carry = s < 0 ? -1 : s >= DEC_BASE;
        r.w[i] = (uint32_t)(s - carry * DEC_BASE);
    }
    dec_trim(&r);
    *out = r;
    return ST_OK;
}

static Status add_signed(Arena *a, const Dec *x, const Dec *y, bool minus, Dec *out, Err *e) {
    int y_kind = minus && y->kind != DEC_NAN && y->kind != DEC_FINITE ? DEC_INF - y->kind : y->kind;
    if (x->kind != DEC_FINITE || y_kind != DEC_FINITE) {
        DecKind k = x->kind == DEC_NAN || y_kind == DEC_NAN ? DEC_NAN
                    : x->kind == DEC_FINITE                 ? (DecKind)y_kind
                    : y_kind == DEC_FINITE                  ? (DecKind)x->kind
                    : x->kind == y_kind                     ? (DecKind)y_kind
                                                            : DEC_NAN;
        *out = dec_special(k);
        return ST_OK;
    }
    int32_t scale = MAX_OF(x->scale, y->scale);
    bool x_neg = x->neg, y_neg = y->n && y->neg != minus;
    if (x->n == 0 || y->n == 0) {
        bool neg = x->n == 0 ? y_neg : x_neg;
        *out = x->n == 0 ? *y : *x;
        out->neg = neg;
    } else if (x_neg == y_neg) {
        TRY(combine_abs(a, x, y, false, out, e));
        out->neg = x_neg;
    } else {
        bool less = cmp_abs(x, y) < 0;
        TRY(combine_abs(a, less ? y : x, less ? x : y, true, out, e));
        out->neg = out->n && (less ? y_neg : x_neg);
    }
    out->scale = scale;
    return ST_OK;
}
Status dec_add(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) { return add_signed(a, x, y, false, out, e); }
Status dec_sub(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) { return add_signed(a, x, y, true, out, e); }

/* ---- products ---------------------------------------------------------------------------------------- */

/* Column by column; 1024 products of limbs fit 64 bits. */
static void mul_limbs(const uint32_t *x, int32_t nx, const uint32_t *y, int32_t ny, uint32_t *out) {
    uint64_t carry = 0;
    for (int32_t k = 0; k < nx + ny; k++) {
        uint64_t sum = carry % DEC_BASE;
        carry /= DEC_BASE;
        int32_t i = MAX_OF(k - ny + 1, 0), end = MIN_OF(k + 1, nx);
        while (i < end) {
            int32_t stop = MIN_OF(end, i + 1024);
            for (; i < stop; i++) sum += (uint64_t)x[i] * y[k - i];
            carry += sum / DEC_BASE;
            sum %= DEC_BASE;
        }
        out[k] = (uint32_t)sum;
    }
}

static Status mul_special(const Dec *x, const Dec *y, Dec *out) {
    bool nan = x->kind == DEC_NAN || y->kind == DEC_NAN || dec_is_zero(x) || dec_is_zero(y);
    bool x_neg = x->kind == DEC_NEG_INF || x->neg, y_neg = y->kind == DEC_NEG_INF || y->neg;
    *out = dec_special(nan ? DEC_NAN : x_neg == y_neg ? DEC_INF : DEC_NEG_INF);
    return ST_OK;
}

Status dec_mul(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind != DEC_FINITE || y->kind != DEC_FINITE) return mul_special(x, y, out);
    Dec r = dec_zero(x->scale + y->scale);
    if (x->n && y->n) {
        /* A result that is too long is refused before it is computed. */
        if ((dec_top(x) + dec_top(y) - 2) * DEC_LIMB_DIGITS >= DEC_WHOLE_MAX) return dec_overflow(e);
        r.neg = x->neg != y->neg;
        r.n = x->n + y->n;
        r.exp = x->exp + y->exp;
        if (!(r.w = dec_limbs(a, r.n, e))) return ST_ERROR;
        mul_limbs(x->w, x->n, y->w, y->n, r.w);
        dec_trim(&r);
    }
    if (r.scale > DEC_SCALE_MAX) return dec_round(a, &r, DEC_SCALE_MAX, true, out, e);
    *out = r;
    return ST_OK;
}

/* ---- quotients ----------------------------------------------------------------------------------------- */

static uint32_t div_small(const uint32_t *u, int32_t n, uint32_t v, uint32_t *q) {
    uint64_t r = 0;
    for (int32_t i = n - 1; i >= 0; i--) {
        r = r * DEC_BASE + u[i];
        q[i] = (uint32_t)(r / v);
        r %= v;
    }
    return (uint32_t)r;
}

/* One digit of algorithm D: subtracts q * v from u[j ..], where q is at most 2 too large; returns the right one. */
static uint32_t div_step(uint32_t *u, const uint32_t *v, int32_t n) {
    uint64_t num = (uint64_t)u[n] * DEC_BASE + u[n - 1], q = num / v[n - 1], r = num % v[n - 1];
    while (q >= DEC_BASE || q * v[n - 2] > r * DEC_BASE + u[n - 2]) {
        q--;
        r += v[n - 1];
        if (r >= DEC_BASE) break;
    }
    uint64_t borrow = 0;
    for (int32_t i = 0; i < n; i++) {
        uint64_t p = q * v[i] + borrow;
        uint32_t low = (uint32_t)(p % DEC_BASE);
        borrow = p / DEC_BASE + (u[i] < low);
        u[i] = u[i] < low ? u[i] + DEC_BASE - low : u[i] - low;
    }
    if (u[n] >= borrow) {
        u[n] -= (uint32_t)borrow;
        return (uint32_t)q;
    }
    u[n] = 0;
    uint32_t carry = 0;
    for (int32_t i = 0; i < n; i++) {
        uint32_t s = u[i] + v[i] + carry;
        carry = s >= DEC_BASE;
        u[i] = carry ? s - DEC_BASE : s;
    }
    return (uint32_t)q - 1;
}

Status dec_div_limbs(Arena *a, const uint32_t *u, int32_t nu, const uint32_t *v, int32_t nv, uint32_t *q, uint32_t *r,
                     Err *e) {
    if (nv == 1) {
        uint32_t rest = div_small(u, nu, v[0], q);
        if (r) r[0] = rest;
        return ST_OK;
    }
    /* Both times the same factor, so that v's first limb is at least half the base. */
    uint32_t factor = (uint32_t)(DEC_BASE / (v[nv - 1] + 1));
    uint32_t *x = dec_limbs(a, (int64_t)nu + 1 + nv, e), *y = x + nu + 1;
    if (!x) return ST_ERROR;
    uint64_t carry = 0;
    for (int32_t i = 0; i < nu; i++) {
        carry += (uint64_t)u[i] * factor;
        x[i] = (uint32_t)(carry % DEC_BASE);
        carry /= DEC_BASE;
    }
    x[nu] = (uint32_t)carry;
    carry = 0;
    for (int32_t i = 0; i < nv; i++) {
        carry += (uint64_t)v[i] * factor;
        y[i] = (uint32_t)(carry % DEC_BASE);
        carry /= DEC_BASE;
    }
    for (int32_t j = nu - nv; j >= 0; j--) q[j] = div_step(x + j, y, nv);
    if (r) (void)div_small(x, nv, factor, r);
    return ST_OK;
}

Status dec_div_to(Arena *a, const Dec *x, const Dec *y, int32_t scale, bool round, Dec *out, Err *e) {
    if (x->n == 0) return *out = dec_zero(scale), ST_OK;
    /* The quotient's last limb has the digit behind the last that is wanted. */
    int32_t low = -(scale / DEC_LIMB_DIGITS + 1), shift = x->exp - y->exp - low;
    int32_t nu = x->n + shift;
    Dec r = {.kind = DEC_FINITE, .neg = x->neg != y->neg, .exp = low, .n = nu - y->n + 1};
    if (r.n <= 0) return *out = dec_zero(scale), ST_OK;
    uint32_t *u = dec_limbs(a, nu, e);
    r.w = dec_limbs(a, r.n, e);
    if (!u || !r.w) return ST_ERROR;
    if (shift > 0) memset(u, 0, (size_t)shift * sizeof *u);
    if (shift >= 0) memcpy(u + shift, x->w, (size_t)x->n * sizeof *u);
    else memcpy(u, x->w - shift, (size_t)nu * sizeof *u);
    TRY(dec_div_limbs(a, u, nu, y->w, y->n, r.w, NULL, e));
    dec_trim(&r);
    return dec_round(a, &r, scale, round, out, e);
}

/* PostgreSQL's select_div_scale: at least 16 significant digits, and no fewer after the point than either argument. */
static int32_t div_scale(const Dec *x, const Dec *y) {
    int32_t weight = dec_weight(x) - dec_weight(y);
    if (dec_first(x) <= dec_first(y)) weight--;
    int32_t s = DEC_RESULT_DIGITS - weight * 4;
    return MIN_OF(MAX_OF(MAX_OF(s, x->scale), MAX_OF(y->scale, 0)), DEC_RESULT_SCALE);
}

Status dec_div(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind == DEC_NAN || y->kind == DEC_NAN) return *out = dec_special(DEC_NAN), ST_OK;
    if (dec_is_zero(y)) return div_zero(e);
    if (x->kind != DEC_FINITE) {
        if (y->kind != DEC_FINITE) return *out = dec_special(DEC_NAN), ST_OK;
        *out = dec_special((x->kind == DEC_NEG_INF) == y->neg ? DEC_INF : DEC_NEG_INF);
        return ST_OK;
    }
    if (y->kind != DEC_FINITE) return *out = dec_zero(0), ST_OK;
    return dec_div_to(a, x, y, div_scale(x, y), true, out, e);
}

Status dec_quotient(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind != DEC_FINITE || y->kind != DEC_FINITE || dec_is_zero(y)) return dec_div(a, x, y, out, e);
    return dec_div_to(a, x, y, 0, false, out, e);
}

Status dec_mod(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind == DEC_NAN || y->kind == DEC_NAN) return *out = dec_special(DEC_NAN), ST_OK;
    if (dec_is_zero(y)) return div_zero(e);
    if (x->kind != DEC_FINITE) return *out = dec_special(DEC_NAN), ST_OK;
    if (y->kind != DEC_FINITE) return *out = *x, ST_OK;
    int32_t scale = MAX_OF(x->scale, y->scale);
    /* As whole numbers of the smaller last limb. */
    int32_t low = MIN_OF(x->n ? x->exp : y->exp, y->exp);
    int32_t nu = x->n ? dec_top(x) - low : 0, nv = dec_top(y) - low;
    if (nu < nv) {
        Dec r = *x;
        r.scale = scale;
        return *out = r, ST_OK;
    }
    uint32_t *u = dec_limbs(a, nu, e), *v = dec_limbs(a, nv, e), *q = dec_limbs(a, nu - nv + 1, e);
    Dec r = {.kind = DEC_FINITE, .neg = x->neg, .n = nv, .exp = low, .w = dec_limbs(a, nv, e)};
    if (!u || !v || !q || !r.w) return ST_ERROR;
    for (int32_t i = 0; i < nu; i++) u[i] = limb_at(x, low + i);
    for (int32_t i = 0; i < nv; i++) v[i] = limb_at(y, low + i);
    TRY(dec_div_limbs(a, u, nu, v, nv, q, r.w, e));
    dec_trim(&r);
    r.scale = scale;
    *out = r;
    return ST_OK;
}

/* ---- rounding ---------------------------------------------------------------------------------------------- */

Status dec_round(Arena *a, const Dec *x, int32_t scale, bool round, Dec *out, Err *e) {
    if (x->kind != DEC_FINITE) return *out = *x, ST_OK;
    int32_t shown = MAX_OF(scale, 0);
    if (x->n == 0 || x->exp * DEC_LIMB_DIGITS >= -scale) {
        *out = *x;
        out->scale = shown;
        return ST_OK;
    }
    int32_t low = dec_floor_div(-scale, DEC_LIMB_DIGITS);
    uint32_t unit = pow10_u32[-scale - low * DEC_LIMB_DIGITS];
    Dec r = {.kind = DEC_FINITE, .neg = x->neg, .exp = low, .n = MAX_OF(dec_top(x) - low, 0) + 1};
    if (!(r.w = dec_limbs(a, r.n, e))) return ST_ERROR;
    for (int32_t i = 0; i < r.n; i++) r.w[i] = limb_at(x, low + i);
    r.w[0] -= r.w[0] % unit;
    if (round && digit_at(x, -scale - 1) >= 5) {
        uint64_t carry = unit;
        for (int32_t i = 0; carry; i++) {
            carry += r.w[i];
            r.w[i] = (uint32_t)(carry % DEC_BASE);
            carry /= DEC_BASE;
        }
    }
    dec_trim(&r);
    r.scale = shown;
    *out = r;
    return ST_OK;
}

Status dec_fit(Arena *a, Type t, Dec *x, Err *e) {
    if (t.length && x->kind != DEC_NAN) {
        int precision = dec_typmod_precision(t.length), scale = dec_typmod_scale(t.length), whole = precision - scale;
        TRY(dec_round(a, x, scale, true, x, e));
        bool over = x->kind != DEC_FINITE || (x->n && dec_exponent(x) >= whole);
        if (over && x->kind == DEC_FINITE) return numeric_range_error(e, precision, scale);
        if (over) return numeric_infinite_error(e, precision, scale);
    }
    if ((t.flags & TF_LEAST_SCALE) && x->kind == DEC_FINITE) x->scale = dec_min_scale(x);
    return ST_OK;
}

Status dec_floor(Arena *a, const Dec *x, bool up, Dec *out, Err *e) {
    bool away = x->kind == DEC_FINITE && !dec_is_whole(x) && x->neg != up;
    static uint32_t unit[1] = {1};
    Dec one = {.kind = DEC_FINITE, .neg = !up, .n = 1, .w = unit};
    Dec r;
    TRY(dec_round(a, x, 0, false, &r, e));
    if (away) TRY(dec_add(a, &r, &one, &r, e));
    *out = r;
    return ST_OK;
}

Status dec_gcd(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind != DEC_FINITE || y->kind != DEC_FINITE) return *out = dec_special(DEC_NAN), ST_OK;
    int32_t scale = MAX_OF(x->scale, y->scale);
    Dec p = *x, q = *y;
    while (q.n) {
        Dec r;
        TRY(dec_mod(a, &p, &q, &r, e));
        p = q;
        q = r;
    }
    p.neg = false;
    p.scale = scale;
    *out = p;
    return ST_OK;
}

Status dec_lcm(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e) {
    if (x->kind != DEC_FINITE || y->kind != DEC_FINITE) return *out = dec_special(DEC_NAN), ST_OK;
    int32_t scale = MAX_OF(x->scale, y->scale);
    Dec g, r = dec_zero(0);
    if (x->n && y->n) {
        TRY(dec_gcd(a, x, y, &g, e));
        TRY(dec_div_to(a, x, &g, 0, false, &r, e));
        TRY(dec_mul(a, &r, y, &r, e));
        r.neg = false;
    }
    r.scale = scale;
    *out = r;
    return ST_OK;
}
