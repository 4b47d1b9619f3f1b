/* func_numeric.c - arithmetic and mathematics on integers, numerics and floats.
 *
 * Numerics have a static precision and scale (type.h), so every operation has a rule for
 * its result type, where PostgreSQL decides per value:
 *
 *   + -      scale max(s1, s2), one more digit before the point than the larger operand
 *   *        scale s1 + s2 if that is at most 18, else max(s1, s2, 18); precision p1 + p2
 *   /        scale max(s1, 16), precision 38
 *   %        scale max(s1, s2)
 *   sum      numeric(38, s); of bigint numeric(38, 0); of smaller integers bigint
 *   avg      numeric(38, max(s, 16))
 *   var_pop, stddev and the like   numeric(38, max(s, 16)), of bigint and wide numerics 12 (func_misc.c)
 *   round, trunc, ceil, floor with one argument: scale 0; round and trunc to n digits keep the scale
 *            (func_refine_type gives fewer when n is a constant)
 *   sqrt exp ln log power   numeric(38, max(s, 16)), rounded from many more digits (wide.h)
 *
 * Precisions stop at 38 digits; a value that does not fit raises 22003. Unconstrained operands keep
 * results of + - * % unconstrained (printed without trailing zeros).
 */
#include <math.h>
#include <stdio.h>

#include "types/func_int.h"
#include "types/wide.h"
#include "types/range_errors.h"

#define OUT_OF_RANGE(i, what) FAIL(i, ERR_NUMERIC_RANGE, what " out of range")
#define DIV_ZERO(cond, i) FAIL_IF(cond, i, ERR_DIVISION_BY_ZERO, "division by zero")
#define FLOAT_OVER(i) FAIL(i, ERR_NUMERIC_RANGE, "value out of range: overflow")
#define FLOAT_UNDER(i) FAIL(i, ERR_NUMERIC_RANGE, "value out of range: underflow")

bool num_put(const FuncCtx *ctx, Vec *out, int64_t i, int128_t v, int scale) {
    if (scale != ctx->ret.scale && numeric_rescale(v, scale, ctx->ret.scale, &v)) return false;
    if (numeric_exceeds(v, ctx->ret.precision)) return false;
    if (out->phys == PH_I64) ((int64_t *)out->data)[i] = (int64_t)v;
    else ((int128_t *)out->data)[i] = v;
    return true;
}

Status numeric_range_error(Err *e, int precision, int scale) {
    err_set(e, ERR_NUMERIC_RANGE, "numeric field overflow");
    if (precision > 0)
        err_detail(e, "A field with precision %d, scale %d must round to an absolute value less than %s%d.", precision,
                   scale, precision > scale ? "10^" : "", precision > scale ? precision - scale : 1);
    return ST_ERROR;
}
Status numeric_infinite_error(Err *e, int precision, int scale) {
    (void)numeric_range_error(e, 0, 0);
    err_detail(e, "A field with precision %d, scale %d cannot hold an infinite value.", precision, scale);
    return ST_ERROR;
}
static const char no_nan[] = " cannot hold NaN";
Status numeric_nan_error(Err *e, int precision, int scale) {
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "numeric(%d,%d)%s", precision, scale, no_nan);
}
bool numeric_is_nan_error(const Err *e) {
    const size_t n = strlen(e->message), end = sizeof no_nan - 1;
    return strcmp(e->sqlstate, ERR_FEATURE_NOT_SUPPORTED) == 0 && strncmp(e->message, "numeric(", 8) == 0 && n > end &&
           strcmp(e->message + n - end, no_nan) == 0;
}
Status num_overflow(FuncCtx *ctx, int64_t i) {
    ctx->error_row = i;
    return numeric_range_error(ctx->err, ctx->ret.precision, ctx->ret.scale);
}

/* ---- integers ---------------------------------------------------------------- */

#define INT_OPS(T, sfx, what)                                                \
    K2F(add_##sfx, T, T, T, 0, {                                             \
        if (__builtin_add_overflow(x, y, &z)) OUT_OF_RANGE(i, what);         \
    })                                                                       \
    K2F(sub_##sfx, T, T, T, 0, {                                             \
        if (__builtin_sub_overflow(x, y, &z)) OUT_OF_RANGE(i, what);         \
    })                                                                       \
    K2F(mul_##sfx, T, T, T, 0, {                                             \
        if (__builtin_mul_overflow(x, y, &z)) OUT_OF_RANGE(i, what);         \
    })                                                                       \
    K2F(div_##sfx, T, T, T, 0, {                                             \
        DIV_ZERO(y == 0, i);                                                 \
        if (y == -1) {                                                       \
            if (__builtin_sub_overflow((T)0, x, &z)) OUT_OF_RANGE(i, what);  \
        } else {                                                             \
            z = (T)(x / y);                                                  \
        }                                                                    \
    })                                                                       \
    K2F(mod_##sfx, T, T, T, 0, {                                             \
        DIV_ZERO(y == 0, i);                                                 \
        z = (T)(y == -1 ? 0 : x % y);                                        \
    })                                                                       \
    K1F(neg_##sfx, T, T, 0, {                                                \
        if (__builtin_sub_overflow((T)0, x, &z)) OUT_OF_RANGE(i, what);      \
    })                                                                       \
    K1F(abs_##sfx, T, T, 0, {                                                \
        if (x >= 0) z = x;                                                   \
        else if (__builtin_sub_overflow((T)0, x, &z)) OUT_OF_RANGE(i, what); \
    })                                                                       \
    K1(plus_##sfx, T, T, x)                                                  \
    K2(and_##sfx, T, T, T, x &y)                                             \
    K2(or_##sfx, T, T, T, x | y)                                             \
    K2(xor_##sfx, T, T, T, x ^ y)                                            \
    K1(not_##sfx, T, T, ~x)

INT_OPS(int16_t, i16, "smallint")
INT_OPS(int32_t, i32, "integer")
INT_OPS(int64_t, i64, "bigint")

/* Shift counts wrap as the machine's do, in 32 bits for smaller types. */
K2(shl_i16, int16_t, int32_t, int16_t, (uint32_t)x << (y & 31))
K2(shr_i16, int16_t, int32_t, int16_t, (int32_t)x >> (y & 31))
K2(shl_i32, int32_t, int32_t, int32_t, (uint32_t)x << (y & 31))
K2(shr_i32, int32_t, int32_t, int32_t, x >> (y & 31))
K2(shl_i64, int64_t, int32_t, int64_t, (uint64_t)x << (y & 63))
K2(shr_i64, int64_t, int32_t, int64_t, x >> (y & 63))

static uint64_t magnitude(int64_t v) { return v < 0 ? 0 - (uint64_t)v : (uint64_t)v; }
static uint64_t gcd_u64(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}
K2F(gcd_i32, int32_t, int32_t, int32_t, 0, {
    uint64_t g = gcd_u64(magnitude(x), magnitude(y));
    if (g > INT32_MAX) OUT_OF_RANGE(i, "integer");
    z = (int32_t)g;
})
K2F(gcd_i64, int64_t, int64_t, int64_t, 0, {
    uint64_t g = gcd_u64(magnitude(x), magnitude(y));
    if (g > INT64_MAX) OUT_OF_RANGE(i, "bigint");
    z = (int64_t)g;
})
static bool lcm_u64(int64_t x, int64_t y, uint64_t *out) {
    uint64_t a = magnitude(x), b = magnitude(y), g = gcd_u64(a, b);
    *out = 0;
    return g != 0 && __builtin_mul_overflow(a / g, b, out);
}
K2F(lcm_i32, int32_t, int32_t, int32_t, 0, {
    uint64_t g;
    if (lcm_u64(x, y, &g) || g > INT32_MAX) OUT_OF_RANGE(i, "integer");
    z = (int32_t)g;
})
K2F(lcm_i64, int64_t, int64_t, int64_t, 0, {
    uint64_t g;
    if (lcm_u64(x, y, &g) || g > INT64_MAX) OUT_OF_RANGE(i, "bigint");
    z = (int64_t)g;
})

/* ---- floats ------------------------------------------------------------------ */

#define FLOAT_OPS(T, sfx, FABS, FFLOOR)                        \
    K2F(add_##sfx, T, T, T, 0, {                               \
        z = x + y;                                             \
        if (isinf(z) && !isinf(x) && !isinf(y)) FLOAT_OVER(i); \
    })                                                         \
    K2F(sub_##sfx, T, T, T, 0, {                               \
        z = x - y;                                             \
        if (isinf(z) && !isinf(x) && !isinf(y)) FLOAT_OVER(i); \
    })                                                         \
    K2F(mul_##sfx, T, T, T, 0, {                               \
        z = x * y;                                             \
        if (isinf(z) && !isinf(x) && !isinf(y)) FLOAT_OVER(i); \
        if (z == 0 && x != 0 && y != 0) FLOAT_UNDER(i);        \
    })                                                         \
    K2F(div_##sfx, T, T, T, 0, {                               \
        DIV_ZERO(y == 0 && !isnan(x), i);                      \
        z = x / y;                                             \
        if (isinf(z) && !isinf(x)) FLOAT_OVER(i);              \
        if (z == 0 && x != 0 && !isinf(y)) FLOAT_UNDER(i);     \
    })                                                         \
    K1(neg_##sfx, T, T, -x)                                    \
    K1(plus_##sfx, T, T, x)                                    \
    K1(abs_##sfx, T, T, FABS(x))

FLOAT_OPS(float, f32, fabsf, floorf)
FLOAT_OPS(double, f64, fabs, floor)

K1(ceil_f64, double, double, ceil(x))
K1(floor_f64, double, double, floor(x))
K1(round_f64, double, double, rint(x))
K1(trunc_f64, double, double, trunc(x))
K1(sign_f64, double, double, x > 0 ? 1 : x < 0 ? -1 : 0)

#define FLOAT_CHECK(z, x) \
    if (isinf(z) && !isinf(x)) FLOAT_OVER(i)
K1F(sqrt_f64, double, double, 0, {
    FAIL_IF(x < 0, i, ERR_INVALID_POWER, "cannot take square root of a negative number");
    z = sqrt(x);
})
K1(cbrt_f64, double, double, cbrtl((long double)x))
K1F(exp_f64, double, double, 0, {
    z = exp(x);
    FLOAT_CHECK(z, x);
    if (z == 0 && !isinf(x)) FLOAT_UNDER(i);
})
#define LOG_CHECK(x, i)                                                         \
    FAIL_IF(x == 0, i, ERR_INVALID_LOGARITHM, "cannot take logarithm of zero"); \
    FAIL_IF(x < 0, i, ERR_INVALID_LOGARITHM, "cannot take logarithm of a negative number")
K1F(ln_f64, double, double, 0, {
    LOG_CHECK(x, i);
    z = log(x);
})
K1F(log10_f64, double, double, 0, {
    LOG_CHECK(x, i);
    z = log10(x);
})
K2F(pow_f64, double, double, double, 0, {
    FAIL_IF(x == 0 && y < 0, i, ERR_INVALID_POWER, "zero raised to a negative power is undefined");
    FAIL_IF(x < 0 && !isinf(x) && floor(y) != y && !isnan(y), i, ERR_INVALID_POWER,
            "a negative number raised to a non-integer power yields a complex result");
    z = pow(x, y);
    if (isinf(z) && !isinf(x) && !isinf(y)) FLOAT_OVER(i);
    if (z == 0 && x != 0 && !isinf(x) && !isinf(y)) FLOAT_UNDER(i);
})
#define INPUT_CHECK(bad) FAIL_IF(bad, i, ERR_NUMERIC_RANGE, "input is out of range")
K1(degrees_f64, double, double, x *(180.0 / M_PI))
K1(radians_f64, double, double, x *(M_PI / 180.0))
K1F(sin_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    z = sin(x);
})
K1F(cos_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    z = cos(x);
})
K1F(tan_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    z = tan(x);
})
K1F(cot_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    z = 1.0 / tan(x);
})
K1F(asin_f64, double, double, 0, {
    INPUT_CHECK(x < -1 || x > 1);
    z = asin(x);
})
K1F(acos_f64, double, double, 0, {
    INPUT_CHECK(x < -1 || x > 1);
    z = acos(x);
})
K1(atan_f64, double, double, atan(x))
K2(atan2_f64, double, double, double, atan2(x, y))

/* Of degrees: exact where the result is rational, as PostgreSQL's float.c, by scaling each quarter so that sin(30),
 * cos(60), tan(45) and their inverses come out exactly. */
static double sin_to_30(double x) { return sin(x * (M_PI / 180.0)) / sin(30.0 * (M_PI / 180.0)) / 2.0; }
static double cos_to_60(double x) {
    return 1.0 - (1.0 - cos(x * (M_PI / 180.0))) / (1.0 - cos(60.0 * (M_PI / 180.0))) / 2.0;
}
static double sin_to_90(double x) { return x <= 30.0 ? sin_to_30(x) : cos_to_60(90.0 - x); }
static double cos_to_90(double x) { return x <= 60.0 ? cos_to_60(x) : sin_to_30(90.0 - x); }
static double asin_from_0(double x) {
    return x <= 0.5 ? asin(x) / asin(0.5) * 30.0 : 90.0 - acos(x) / acos(0.5) * 60.0;
}
static double acos_from_0(double x) {
    return x <= 0.5 ? 90.0 - asin(x) / asin(0.5) * 30.0 : acos(x) / acos(0.5) * 60.0;
}
/* The angle in 0 .. 90 that has the same sine, cosine and tangent but for their signs. */
typedef struct Quarter {
    double x, sin_sign, cos_sign;
} Quarter;
static Quarter quarter_of(double degrees) {
    Quarter q = {fmod(degrees, 360.0), 1, 1};
    if (q.x < 0) q = (Quarter){-q.x, -q.sin_sign, q.cos_sign};
    if (q.x > 180.0) q = (Quarter){360.0 - q.x, -q.sin_sign, q.cos_sign};
    if (q.x > 90.0) q = (Quarter){180.0 - q.x, q.sin_sign, -q.cos_sign};
    return q;
}
K1F(sind_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    const Quarter q = quarter_of(x);
    z = q.sin_sign * sin_to_90(q.x);
})
K1F(cosd_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    const Quarter q = quarter_of(x);
    z = q.cos_sign * cos_to_90(q.x);
})
K1F(tand_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    const Quarter q = quarter_of(x);
    z = q.sin_sign * q.cos_sign * (sin_to_90(q.x) / cos_to_90(q.x) / (sin_to_90(45.0) / cos_to_90(45.0)));
    if (z == 0) z = 0; /* never -0 */
})
K1F(cotd_f64, double, double, 0, {
    INPUT_CHECK(isinf(x));
    const Quarter q = quarter_of(x);
    z = q.sin_sign * q.cos_sign * (cos_to_90(q.x) / sin_to_90(q.x) / (cos_to_90(45.0) / sin_to_90(45.0)));
    if (z == 0) z = 0;
})
K1F(asind_f64, double, double, 0, {
    INPUT_CHECK(x < -1 || x > 1);
    z = x >= 0 ? asin_from_0(x) : -asin_from_0(-x);
})
K1F(acosd_f64, double, double, 0, {
    INPUT_CHECK(x < -1 || x > 1);
    z = x >= 0 ? acos_from_0(x) : 90.0 + asin_from_0(-x);
})
K1(atand_f64, double, double, atan(x) / atan(1.0) * 45.0)
K2(atan2d_f64, double, double, double, atan2(x, y) / atan(1.0) * 45.0)
K1F(sinh_f64, double, double, 0, { z = sinh(x); })
K1F(cosh_f64, double, double, 0, { z = cosh(x); })
K1(tanh_f64, double, double, tanh(x))
K1(asinh_f64, double, double, asinh(x))
K1F(acosh_f64, double, double, 0, {
    INPUT_CHECK(x < 1);
    z = acosh(x);
})
K1F(atanh_f64, double, double, 0, {
    INPUT_CHECK(x < -1 || x > 1);
    z = atanh(x);
})
KERNEL(pi_f64) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) ((double *)out->data)[i] = M_PI;
    return ST_OK;
}

/* ---- numeric arithmetic -------------------------------------------------------- */

#define NUM_LOOP(...)                                                            \
    for (int64_t i = 0; i < n; i++) {                                            \
        if (!row_valid(out, i)) {                                                \
            num_zero(out, i);                                                    \
            continue;                                                            \
        }                                                                        \
        const int128_t x = num_at(&args[0], i);                                  \
        int128_t z = 0;                                                          \
        int zs = sx;                                                             \
        (void)zs;                                                                \
        __VA_ARGS__                                                              \
        if (UNLIKELY(!num_put(ctx, out, i, z, zs))) return num_overflow(ctx, i); \
    }
#define NUM1(fn, ...)                      \
    KERNEL(fn) {                           \
        KERNEL_UNUSED();                   \
        const int sx = args[0].type.scale; \
        NUM_LOOP(__VA_ARGS__)              \
        return ST_OK;                      \
    }
#define NUM2(fn, ...)                                                 \
    KERNEL(fn) {                                                      \
        KERNEL_UNUSED();                                              \
        const int sx = args[0].type.scale, sy = args[1].type.scale;   \
        (void)sy;                                                     \
        NUM_LOOP(const int128_t y = num_at(&args[1], i); __VA_ARGS__) \
        return ST_OK;                                                 \
    }
#define NUM_FORMAT(i) FAIL(i, ERR_NUMERIC_RANGE, "value overflows numeric format")

/* Brings x and y to one scale. */
static bool align(int128_t *x, int sx, int128_t *y, int sy) {
    if (sx < sy) return numeric_rescale(*x, sx, sy, x);
    if (sy < sx) return numeric_rescale(*y, sy, sx, y);
    return false;
}

NUM2(add_num, {
    int128_t a = x;
    int128_t b = y;
    if (align(&a, sx, &b, sy) || __builtin_add_overflow(a, b, &z)) NUM_FORMAT(i);
    zs = MAX_OF(sx, sy);
})
NUM2(sub_num, {
    int128_t a = x;
    int128_t b = y;
    if (align(&a, sx, &b, sy) || __builtin_sub_overflow(a, b, &z)) NUM_FORMAT(i);
    zs = MAX_OF(sx, sy);
})

/* x * y at scale sr, rounded half away from zero; true on overflow beyond 38 digits. When the exact product does
 * not fit 128 bits, the factors' trailing zeros go first and then a 256-bit product is divided. */
static bool mul_rescaled(int128_t x, int sx, int128_t y, int sy, int sr, int128_t *z) {
    int128_t p;
    if (!i128_mul_overflow(x, y, &p))
        return sx + sy == sr ? (*z = p, numeric_exceeds(p, 38)) : numeric_rescale(p, sx + sy, sr, z);
    while (sx > 0 && x % 10 == 0) x /= 10, sx--;
    while (sy > 0 && y % 10 == 0) y /= 10, sy--;
    if (!i128_mul_overflow(x, y, &p)) return numeric_rescale(p, sx + sy, sr, z);
    /* 256-bit product, then divided digit by digit of 2^32. */
    bool neg = (x < 0) != (y < 0);
    uint128_t a = x < 0 ? 0 - (uint128_t)x : (uint128_t)x, b = y < 0 ? 0 - (uint128_t)y : (uint128_t)y;
    uint32_t w[8] = {0};
    for (int i = 0; i < 4; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 4; j++) {
            uint64_t t = (uint64_t)(uint32_t)(a >> (32 * i)) * (uint32_t)(b >> (32 * j)) + w[i + j] + carry;
            w[i + j] = (uint32_t)t;
            carry = t >> 32;
        }
        w[i + 4] = (uint32_t)carry;
    }
    int drop = sx + sy - sr;
    if (drop <= 0) return true;
    uint32_t last = 0; /* the most significant dropped digit decides the rounding */
    while (drop-- > 0) {
        uint64_t rem = 0;
        for (int i = 7; i >= 0; i--) {
            uint64_t t = (rem << 32) | w[i];
            w[i] = (uint32_t)(t / 10);
            rem = t % 10;
        }
        last = (uint32_t)rem;
    }
    if (w[4] | w[5] | w[6] | w[7] | (w[3] >> 31)) return true;
    uint128_t r = ((uint128_t)(((uint64_t)w[3] << 32) | w[2]) << 64) | (((uint64_t)w[1] << 32) | w[0]);
    r += last >= 5;
    *z = neg ? -(int128_t)r : (int128_t)r;
    return numeric_exceeds(*z, 38);
}
NUM2(mul_num, {
    if (mul_rescaled(x, sx, y, sy, ctx->ret.scale, &z)) NUM_FORMAT(i);
    zs = ctx->ret.scale;
})
NUM2(div_num, {
    DIV_ZERO(y == 0, i);
    if (numeric_div(x, sx, y, sy, ctx->ret.scale, &z)) NUM_FORMAT(i);
    zs = ctx->ret.scale;
})
NUM2(mod_num, {
    DIV_ZERO(y == 0, i);
    int128_t a = x;
    int128_t b = y;
    if (align(&a, sx, &b, sy)) NUM_FORMAT(i);
    z = b == -1 ? 0 : a % b;
    zs = MAX_OF(sx, sy);
})
/* div(): the quotient truncated. */
NUM2(quot_num, {
    DIV_ZERO(y == 0, i);
    int128_t a = x;
    int128_t b = y;
    if (align(&a, sx, &b, sy)) NUM_FORMAT(i);
    z = b == -1 ? -a : a / b;
    zs = 0;
})
NUM1(neg_num, { z = -x; })
NUM1(plus_num, { z = x; })
NUM1(abs_num, { z = x < 0 ? -x : x; })
NUM1(sign_num, {
    z = (x > 0) - (x < 0);
    zs = 0;
})
NUM1(round_num, {
    if (numeric_rescale(x, sx, 0, &z)) NUM_FORMAT(i);
    zs = 0;
})
NUM1(trunc_num, {
    z = x / pow10_i128[sx];
    zs = 0;
})
NUM1(ceil_num, {
    z = x / pow10_i128[sx] + (x > 0 && x % pow10_i128[sx] != 0);
    zs = 0;
})
NUM1(floor_num, {
    z = x / pow10_i128[sx] - (x < 0 && x % pow10_i128[sx] != 0);
    zs = 0;
})

/* v of scale s with everything below 10^-d removed, rounded or cut; d may be negative. */
static bool num_digits(int128_t v, int s, int32_t d, bool round, int128_t *z) {
    *z = v;
    if (d >= s) return false;
    int64_t k = (int64_t)s - d;
    if (k > 38) return *z = 0, false;
    int128_t p = pow10_i128[k], q = v / p, r = v % p;
    if (round && (r < 0 ? -r : r) >= p - p / 2) q += v < 0 ? -1 : 1;
    return i128_mul_overflow(q, p, z) || numeric_exceeds(*z, 38);
}
NUM1(roundn_num, {
    if (num_digits(x, sx, AT(int32_t, 1, i), true, &z)) NUM_FORMAT(i);
})
NUM1(truncn_num, {
    if (num_digits(x, sx, AT(int32_t, 1, i), false, &z)) NUM_FORMAT(i);
})

static int128_t gcd_i128(int128_t a, int128_t b) {
    while (b) {
        int128_t t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}
NUM2(gcd_num, { z = gcd_i128(x, y); })
NUM2(lcm_num, {
    int128_t g = gcd_i128(x, y);
    if (g != 0 && i128_mul_overflow(x / g, y, &z)) NUM_FORMAT(i);
    if (z < 0) z = -z;
})
KNF(scale_num, int32_t, 0, {
    int128_t v = num_at(&args[0], i);
    int s = args[0].type.scale;
    if (args[0].type.flags & TF_UNCONSTRAINED)
        while (s > 0 && v % 10 == 0) v /= 10, s--;
    z = s;
})

#define BUCKET_CHECK(count, same)                                                \
    FAIL_IF(count <= 0, i, ERR_WIDTH_BUCKET, "count must be greater than zero"); \
    FAIL_IF(same, i, ERR_WIDTH_BUCKET, "lower bound cannot equal upper bound")
KNF(width_bucket_f64, int32_t, 0, {
    double v = AT(double, 0, i);
    double lo = AT(double, 1, i);
    double hi = AT(double, 2, i);
    int32_t c = AT(int32_t, 3, i);
    FAIL_IF(isnan(v) || isnan(lo) || isnan(hi), i, ERR_WIDTH_BUCKET,
            "operand, lower bound, and upper bound cannot be NaN");
    FAIL_IF(isinf(lo) || isinf(hi), i, ERR_WIDTH_BUCKET, "lower and upper bounds must be finite");
    BUCKET_CHECK(c, lo == hi);
    bool up = lo < hi;
    if (up ? v < lo : v > lo) z = 0;
    else if (up ? v >= hi : v <= hi) {
        if (__builtin_add_overflow(c, 1, &z)) OUT_OF_RANGE(i, "integer");
    } else {
        z = (int32_t)((double)c * ((v - lo) / (hi - lo)));
        if (z >= c) z = c - 1;
        z++;
    }
})
KNF(width_bucket_num, int32_t, 0, {
    int128_t v = num_at(&args[0], i);
    int128_t lo = num_at(&args[1], i);
    int128_t hi = num_at(&args[2], i);
    int32_t c = AT(int32_t, 3, i);
    BUCKET_CHECK(c, lo == hi);
    bool up = lo < hi;
    if (up ? v < lo : v > lo) z = 0;
    else if (up ? v >= hi : v <= hi) {
        if (__builtin_add_overflow(c, 1, &z)) OUT_OF_RANGE(i, "integer");
    } else {
        /* floor((v - lo) * c / (hi - lo)) */
        int128_t d = up ? v - lo : lo - v;
        int128_t w = up ? hi - lo : lo - hi;
        int128_t p;
        if (i128_mul_overflow(d, c, &p)) {
            Wide a = wide_of((uint128_t)d), b = wide_of((uint128_t)c), den = wide_of((uint128_t)w);
            wide_mul(&a, &b, &a);
            wide_div(&a, &den, &a, NULL);
            z = (int32_t)a.w[0] + 1;
        } else {
            z = (int32_t)(p / w) + 1;
        }
    }
})

/* ---- result types ---------------------------------------------------------------- */

static Type num_type(int p, int s, uint8_t flags) {
    Type t = type_numeric(MAX_OF(MIN_OF(p, NUMERIC_MAX_PRECISION), 1), MIN_OF(s, NUMERIC_MAX_PRECISION));
    t.flags = flags & TF_UNCONSTRAINED;
    return t;
}
static Type tf_add(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs; /* arguments have a common scale */
    return num_type(a[0].precision + 1, a[0].scale, a[0].flags);
}
static Type tf_mul(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    int s = a[0].scale + a[1].scale;
    if (s > 18) s = MAX_OF(MAX_OF(a[0].scale, a[1].scale), 18);
    return num_type(a[0].precision + a[1].precision, s, a[0].flags | a[1].flags);
}
static Type tf_div(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return num_type(38, MAX_OF(a[0].scale, 16), 0);
}
static Type tf_round0(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return num_type(a[0].precision - a[0].scale + 1, 0, 0);
}
static Type tf_roundn(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return num_type(a[0].precision + 1, a[0].scale, a[0].flags);
}
static Type tf_whole(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs, (void)a;
    return num_type(38, 0, 0);
}
static Type tf_sign(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs, (void)a;
    return num_type(1, 0, 0);
}
static Type tf_lcm(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return num_type(38, a[0].scale, a[0].flags);
}
/* ---- table -------------------------------------------------------------------------- */

#define OPF (FN_OPERATOR | SF)
#define OPS (FN_OPERATOR | S_)
#define INT_DEFS(T, sfx)                                                                      \
    DEF("+", OPF, T, 2, ARGS(T, T), OP_ADD, add_##sfx, NULL, "sum"),                          \
        DEF("-", OPF, T, 2, ARGS(T, T), OP_SUB, sub_##sfx, NULL, "difference"),               \
        DEF("*", OPF, T, 2, ARGS(T, T), OP_MUL, mul_##sfx, NULL, "product"),                  \
        DEF("/", OPF, T, 2, ARGS(T, T), OP_DIV, div_##sfx, NULL, "quotient, truncated"),      \
        DEF("%", OPF, T, 2, ARGS(T, T), OP_MOD, mod_##sfx, NULL, "remainder"),                \
        DEF("mod", SF, T, 2, ARGS(T, T), OP_MOD, mod_##sfx, NULL, "remainder"),               \
        DEF("-", OPF, T, 1, ARGS(T), OP_NEG, neg_##sfx, NULL, "negation"),                    \
        DEF("+", OPS, T, 1, ARGS(T), OP_NONE, plus_##sfx, NULL, "unary plus"),                \
        DEF("@", OPF, T, 1, ARGS(T), OP_ABS, abs_##sfx, NULL, "absolute value"),              \
        DEF("abs", SF, T, 1, ARGS(T), OP_ABS, abs_##sfx, NULL, "absolute value"),             \
        DEF("&", OPS, T, 2, ARGS(T, T), OP_BIT_AND, and_##sfx, NULL, "bitwise and"),          \
        DEF("|", OPS, T, 2, ARGS(T, T), OP_BIT_OR, or_##sfx, NULL, "bitwise or"),             \
        DEF("#", OPS, T, 2, ARGS(T, T), OP_BIT_XOR, xor_##sfx, NULL, "bitwise exclusive or"), \
        DEF("~", OPS, T, 1, ARGS(T), OP_BIT_NOT, not_##sfx, NULL, "bitwise not"),             \
        DEF("<<", OPS, T, 2, ARGS(T, T_INT4), OP_SHL, shl_##sfx, NULL, "shift left"),         \
        DEF(">>", OPS, T, 2, ARGS(T, T_INT4), OP_SHR, shr_##sfx, NULL, "shift right")
#define FLOAT_DEFS(T, sfx)                                                       \
    DEF("+", OPF, T, 2, ARGS(T, T), OP_ADD, add_##sfx, NULL, "sum"),             \
        DEF("-", OPF, T, 2, ARGS(T, T), OP_SUB, sub_##sfx, NULL, "difference"),  \
        DEF("*", OPF, T, 2, ARGS(T, T), OP_MUL, mul_##sfx, NULL, "product"),     \
        DEF("/", OPF, T, 2, ARGS(T, T), OP_DIV, div_##sfx, NULL, "quotient"),    \
        DEF("-", OPS, T, 1, ARGS(T), OP_NEG, neg_##sfx, NULL, "negation"),       \
        DEF("+", OPS, T, 1, ARGS(T), OP_NONE, plus_##sfx, NULL, "unary plus"),   \
        DEF("@", OPS, T, 1, ARGS(T), OP_ABS, abs_##sfx, NULL, "absolute value"), \
        DEF("abs", S_, T, 1, ARGS(T), OP_ABS, abs_##sfx, NULL, "absolute value")
#define MATH_F(nm, fl, fn, dc) DEF(nm, fl, T_FLOAT8, 1, ARGS(T_FLOAT8), OP_NONE, fn, NULL, dc)
#define NUM_F1(nm, fl, op, fn, tf, dc) DEF(nm, fl, T_NUMERIC, 1, ARGS(T_NUMERIC), op, fn, tf, dc)
#define NUM_F2(nm, fl, op, fn, tf, dc) DEF(nm, fl, T_NUMERIC, 2, ARGS(T_NUMERIC, T_NUMERIC), op, fn, tf, dc)
#define ANYS FN_ANY_NUMERIC_SCALE

static const FuncDef defs[] = {
    INT_DEFS(T_INT2, i16),
    INT_DEFS(T_INT4, i32),
    INT_DEFS(T_INT8, i64),
    FLOAT_DEFS(T_FLOAT4, f32),
    FLOAT_DEFS(T_FLOAT8, f64),
    DEF("gcd", SF, T_INT4, 2, ARGS(T_INT4, T_INT4), OP_NONE, gcd_i32, NULL, "greatest common divisor"),
    DEF("gcd", SF, T_INT8, 2, ARGS(T_INT8, T_INT8), OP_NONE, gcd_i64, NULL, "greatest common divisor"),
    DEF("lcm", SF, T_INT4, 2, ARGS(T_INT4, T_INT4), OP_NONE, lcm_i32, NULL, "least common multiple"),
    DEF("lcm", SF, T_INT8, 2, ARGS(T_INT8, T_INT8), OP_NONE, lcm_i64, NULL, "least common multiple"),
    NUM_F2("+", OPF, OP_ADD, add_num, tf_add, "sum"),
    NUM_F2("-", OPF, OP_SUB, sub_num, tf_add, "difference"),
    NUM_F2("*", OPF | ANYS, OP_MUL, mul_num, tf_mul, "product"),
    NUM_F2("/", OPF | ANYS, OP_NUM_DIV, div_num, tf_div, "quotient"),
    NUM_F2("%", OPF, OP_MOD, mod_num, tf_first, "remainder"),
    NUM_F2("mod", SF, OP_MOD, mod_num, tf_first, "remainder"),
    NUM_F2("div", SF, OP_NONE, quot_num, tf_whole, "quotient, truncated to an integer"),
    NUM_F2("gcd", SF, OP_NONE, gcd_num, tf_first, "greatest common divisor"),
    NUM_F2("lcm", SF, OP_NONE, lcm_num, tf_lcm, "least common multiple"),
    NUM_F1("-", OPF, OP_NEG, neg_num, tf_first, "negation"),
    NUM_F1("+", OPS, OP_NONE, plus_num, tf_first, "unary plus"),
    NUM_F1("@", OPF, OP_ABS, abs_num, tf_first, "absolute value"),
    NUM_F1("abs", SF, OP_ABS, abs_num, tf_first, "absolute value"),
    NUM_F1("sign", S_, OP_NONE, sign_num, tf_sign, "-1, 0 or 1"),
    NUM_F1("round", SF, OP_NONE, round_num, tf_round0, "nearest integer, halves away from zero"),
    NUM_F1("trunc", SF, OP_NONE, trunc_num, tf_round0, "towards zero"),
    NUM_F1("ceil", SF, OP_NONE, ceil_num, tf_round0, "smallest integer not below"),
    NUM_F1("ceiling", SF, OP_NONE, ceil_num, tf_round0, "smallest integer not below"),
    NUM_F1("floor", SF, OP_NONE, floor_num, tf_round0, "greatest integer not above"),
    DEF("round", SF, T_NUMERIC, 2, ARGS(T_NUMERIC, T_INT4), OP_NONE, roundn_num, tf_roundn, "rounded to n digits"),
    DEF("trunc", SF, T_NUMERIC, 2, ARGS(T_NUMERIC, T_INT4), OP_NONE, truncn_num, tf_roundn, "cut to n digits"),
    DEF("scale", S_, T_INT4, 1, ARGS(T_NUMERIC), OP_NONE, scale_num, NULL, "digits after the point"),
    DEF("width_bucket", SF, T_INT4, 4, ARGS(T_NUMERIC, T_NUMERIC, T_NUMERIC, T_INT4), OP_NONE, width_bucket_num, NULL,
        "number of the equal-width bucket"),
    DEF("width_bucket", SF, T_INT4, 4, ARGS(T_FLOAT8, T_FLOAT8, T_FLOAT8, T_INT4), OP_NONE, width_bucket_f64, NULL,
        "number of the equal-width bucket"),
    MATH_F("sign", S_, sign_f64, "-1, 0 or 1"),
    MATH_F("round", S_, round_f64, "nearest integer, halves to even"),
    MATH_F("trunc", S_, trunc_f64, "towards zero"),
    MATH_F("ceil", S_, ceil_f64, "smallest integer not below"),
    MATH_F("ceiling", S_, ceil_f64, "smallest integer not below"),
    MATH_F("floor", S_, floor_f64, "greatest integer not above"),
    MATH_F("sqrt", SF, sqrt_f64, "square root"),
    MATH_F("cbrt", S_, cbrt_f64, "cube root"),
    DEF("|/", OPF, T_FLOAT8, 1, ARGS(T_FLOAT8), OP_NONE, sqrt_f64, NULL, "square root"),
    DEF("||/", OPS, T_FLOAT8, 1, ARGS(T_FLOAT8), OP_NONE, cbrt_f64, NULL, "cube root"),
    MATH_F("exp", SF, exp_f64, "e to the power"),
    MATH_F("ln", SF, ln_f64, "natural logarithm"),
    MATH_F("log", SF, log10_f64, "decimal logarithm"),
    MATH_F("log10", SF, log10_f64, "decimal logarithm"),
    DEF("power", SF, T_FLOAT8, 2, ARGS(T_FLOAT8, T_FLOAT8), OP_NONE, pow_f64, NULL, "power"),
    DEF("pow", SF, T_FLOAT8, 2, ARGS(T_FLOAT8, T_FLOAT8), OP_NONE, pow_f64, NULL, "power"),
    DEF("^", OPF, T_FLOAT8, 2, ARGS(T_FLOAT8, T_FLOAT8), OP_NONE, pow_f64, NULL, "power"),
    DEF("pi", S_, T_FLOAT8, 0, ARGS(0), OP_NONE, pi_f64, NULL, "3.14159..."),
    MATH_F("degrees", S_, degrees_f64, "radians to degrees"),
    MATH_F("radians", S_, radians_f64, "degrees to radians"),
    MATH_F("sin", SF, sin_f64, "sine"),
    MATH_F("cos", SF, cos_f64, "cosine"),
    MATH_F("tan", SF, tan_f64, "tangent"),
    MATH_F("cot", SF, cot_f64, "cotangent"),
    MATH_F("asin", SF, asin_f64, "inverse sine"),
    MATH_F("acos", SF, acos_f64, "inverse cosine"),
    MATH_F("atan", S_, atan_f64, "inverse tangent"),
    DEF("atan2", S_, T_FLOAT8, 2, ARGS(T_FLOAT8, T_FLOAT8), OP_NONE, atan2_f64, NULL, "inverse tangent of y/x"),
    MATH_F("sind", SF, sind_f64, "sine of degrees"),
    MATH_F("cosd", SF, cosd_f64, "cosine of degrees"),
    MATH_F("tand", SF, tand_f64, "tangent of degrees"),
    MATH_F("cotd", SF, cotd_f64, "cotangent of degrees"),
    MATH_F("asind", SF, asind_f64, "inverse sine in degrees"),
    MATH_F("acosd", SF, acosd_f64, "inverse cosine in degrees"),
    MATH_F("atand", S_, atand_f64, "inverse tangent in degrees"),
    DEF("atan2d", S_, T_FLOAT8, 2, ARGS(T_FLOAT8, T_FLOAT8), OP_NONE, atan2d_f64, NULL,
        "inverse tangent of y/x in degrees"),
    MATH_F("sinh", SF, sinh_f64, "hyperbolic sine"),
    MATH_F("cosh", SF, cosh_f64, "hyperbolic cosine"),
    MATH_F("tanh", S_, tanh_f64, "hyperbolic tangent"),
    MATH_F("asinh", S_, asinh_f64, "inverse hyperbolic sine"),
    MATH_F("acosh", SF, acosh_f64, "inverse hyperbolic cosine"),
    MATH_F("atanh", SF, atanh_f64, "inverse hyperbolic tangent"),
};
const FuncDefs func_defs_numeric = {defs, ARRAY_LEN(defs)};
