/* dec.h - numbers of any length, each with a scale of its own: SQL's numeric without (p,s) (T_DECIMAL).
 *
 * A value has up to 131,072 digits before the point and 16,383 after it, or is NaN, Infinity or -Infinity. Its scale is
 * the number of digits that are shown after the point: 1.0 and 1.00 are equal and shown as they are. Results have the
 * scales that PostgreSQL gives them; its rules speak of digits of base 10,000, hence dec_weight.
 *
 * Two forms. A Dec has limbs of base 10^8 in memory that its maker owns. The *stored form* is a string (PH_STR):
 *
 *     class  weight  digits  end  scale
 *
 * class 1 byte: 1 -Infinity, 2 negative, 3 zero, 4 positive, 5 Infinity, 6 NaN. Of others than zero and the infinite
 * ones: weight 2 bytes, the power of 10,000 of the first digit, + 16,384; digits of base 10,000 as 2 bytes, + 256,
 * first and last not 0; end 1 byte, 0. These three are complemented where the value is negative. Scale 2 bytes. All are
 * big-endian. So stored forms compare with memcmp as their values do, then by scale, and without the scale (dec_key)
 * equal values have equal bytes.
 *
 * Arithmetic is exact, or rounded half away from zero at the digit that is asked for; roots, logarithms and powers are
 * computed with 16 digits more than they return. Results of more than 131,072 digits before the point or a larger scale
 * than 16,383 are 22003. Thread-safe; everything lives in the arena that is passed.
 */
#ifndef STELE_TYPES_DEC_H
#define STELE_TYPES_DEC_H

#include "types/type.h"

enum {
    DEC_LIMB_DIGITS = 8,
    DEC_BASE = 100000000,
    DEC_WHOLE_MAX = 131072,  /* digits before the point */
    DEC_SCALE_MAX = 16383,   /* digits after it */
    DEC_RESULT_SCALE = 1000, /* ... that a quotient, a root, a logarithm or a power has at most */
    DEC_RESULT_DIGITS = 16,  /* ... and its significant digits at least */
    DEC_ROUND_MAX = 2000,    /* digits that round() and trunc() heed */
};

/* Type.flags of T_DECIMAL and T_JSONB: numbers are kept without zeros at the end, so that equal values have equal
 * bytes. Columns of keys and foreign keys have it. */
enum { TF_LEAST_SCALE = 8 };
/* Type.length of numeric(p,s) that 38 digits cannot hold; 0: without (p,s). */
enum { DEC_TYPMOD_MAX = 1000, DEC_TYPMOD_BIAS = 1024, DEC_TYPMOD_SHIFT = 12 };
static inline int32_t dec_typmod(int precision, int scale) {
    return precision << DEC_TYPMOD_SHIFT | (scale + DEC_TYPMOD_BIAS);
}
static inline int dec_typmod_precision(int32_t m) { return m >> DEC_TYPMOD_SHIFT; }
static inline int dec_typmod_scale(int32_t m) { return (m & ((1 << DEC_TYPMOD_SHIFT) - 1)) - DEC_TYPMOD_BIAS; }

typedef enum DecKind { DEC_NEG_INF, DEC_FINITE, DEC_INF, DEC_NAN } DecKind;
typedef struct Dec {
    uint8_t kind; /* DecKind */
    bool neg;     /* below zero; finite ones only */
    int32_t n;    /* limbs, 0 of zero; w[0] and w[n - 1] are not 0 */
    int32_t exp;  /* the value is the sum of w[i] * DEC_BASE^(i + exp) */
    int32_t scale;
    uint32_t *w;
} Dec;

static inline bool dec_is_finite(const Dec *x) { return x->kind == DEC_FINITE; }
static inline bool dec_is_zero(const Dec *x) { return x->kind == DEC_FINITE && x->n == 0; }
static inline Dec dec_special(DecKind kind) { return (Dec){.kind = (uint8_t)kind}; }
static inline Dec dec_zero(int32_t scale) { return (Dec){.kind = DEC_FINITE, .scale = scale}; }

/* ---- forms ------------------------------------------------------------------------------- */
Status dec_decode(Arena *a, Str stored, Dec *out, Err *e);
Status dec_encode(Arena *a, const Dec *x, Str *out, Err *e); /* 22003 when it has too many digits */
static inline Str dec_key(Str stored) { return str_make(stored.ptr, stored.len >= 2 ? stored.len - 2 : 0); }
/* The stored form of a key, with the least scale that shows all digits. */
Status dec_from_key(Arena *a, Str key, Str *out, Err *e);
static inline bool dec_stored_is_nan(Str s) { return s.len > 0 && s.ptr[0] == 6; }
/* PostgreSQL's input syntax. 22P02, 22003. */
Status dec_parse(Arena *a, Slice text, Dec *out, Err *e);
/* With a NUL behind it. */
Status dec_format(Arena *a, const Dec *x, Str *out, Err *e);
Status dec_from_i128(Arena *a, int128_t v, int32_t scale, Dec *out, Err *e); /* v / 10^scale */
/* Rounded to `scale` digits after the point; true when it does not fit 38 digits or is not finite. */
bool dec_to_i128(const Dec *x, int32_t scale, int128_t *out);
/* To what a T_DECIMAL asks for: its precision and scale (22003), TF_LEAST_SCALE. */
Status dec_fit(Arena *a, Type t, Dec *x, Err *e);
Status dec_from_f64(Arena *a, double d, Dec *out, Err *e);      /* its first 15 digits */
Status dec_from_f32(Arena *a, float f, Dec *out, Err *e);       /* its first 6 */
Status dec_to_f64(Arena *a, const Dec *x, double *out, Err *e); /* 22003 out of range */

/* ---- arithmetic; out may be an argument ------------------------------------------------------ */
int dec_cmp(const Dec *x, const Dec *y); /* NaN is the greatest and equals itself */
bool dec_is_whole(const Dec *x);
int32_t dec_exponent(const Dec *x); /* of 10 of the first digit; not of zero */
Status dec_add(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
Status dec_sub(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
Status dec_mul(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
Status dec_div(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e); /* 22012; the scale is select_div_scale's */
Status dec_mod(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
Status dec_quotient(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e); /* div(): cut to a whole number */
/* x / y of finite ones at `scale` digits, rounded, or cut. y is not 0. */
Status dec_div_to(Arena *a, const Dec *x, const Dec *y, int32_t scale, bool round, Dec *out, Err *e);
/* To `scale` digits after the point (before it, where negative), rounded or cut; shown with that many. */
Status dec_round(Arena *a, const Dec *x, int32_t scale, bool round, Dec *out, Err *e);
Status dec_floor(Arena *a, const Dec *x, bool up, Dec *out, Err *e); /* up: ceil() */
Status dec_gcd(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
Status dec_lcm(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
int32_t dec_min_scale(const Dec *x);

/* ---- dec_math.c: PostgreSQL's errors and scales ------------------------------------------------ */
Status dec_sqrt(Arena *a, const Dec *x, Dec *out, Err *e);
Status dec_sqrt_to(Arena *a, const Dec *x, int32_t scale, Dec *out, Err *e); /* of a finite one >= 0 */
Status dec_exp(Arena *a, const Dec *x, Dec *out, Err *e);
Status dec_ln(Arena *a, const Dec *x, Dec *out, Err *e);
Status dec_log(Arena *a, const Dec *base, const Dec *x, Dec *out, Err *e);
Status dec_power(Arena *a, const Dec *x, const Dec *y, Dec *out, Err *e);
Status dec_factorial(Arena *a, int64_t n, Dec *out, Err *e);
/* Variance of n values from their sum and the sum of their squares; root: the deviation. n (n > 1 of samples) > 0. */
Status dec_variance(Arena *a, const Dec *sum, const Dec *squares, int64_t n, bool sample, bool root, Dec *out, Err *e);

#endif
