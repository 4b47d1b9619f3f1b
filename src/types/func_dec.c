/* func_dec.c - functions, operators and casts of numeric without (p,s).
 *
 * Overloads with T_DECIMAL are candidates only where an argument is one (func.c), so that 1.5 and columns of
 * numeric(p,s) stay in registers of 64 and 128 bits. Roots, exponentials, logarithms and powers of those have no static
 * scale that serves: their results are always of this type. Comparisons are rewritten by the binder to those of
 * numeric_key (sql/bind/bind_key.c); their kernels are for calls that the binder does not see.
 */
#include <math.h>

#include "types/dec.h"
#include "types/func_int.h"
#include "types/range_errors.h"

/* ---- rows -------------------------------------------------------------------------------- */

static Status dec_arg_in(Arena *a, FuncCtx *ctx, const Vec *v, int64_t i, Dec *out) {
    if (v->type.id == T_NUMERIC) return dec_from_i128(a, num_at(v, i), v->type.scale, out, ctx->err);
    return dec_decode(a, ((const Str *)v->data)[v->is_const ? 0 : i], out, ctx->err);
}
Status func_dec_arg(FuncCtx *ctx, const Vec *v, int64_t i, Dec *out) { return dec_arg_in(ctx->arena, ctx, v, i, out); }

enum { SCRATCH_MAX = 512 << 10 }; /* more than a reset leaves */

/* x and y are the arguments, z the result; CALL makes it. Numbers on the way are in an arena of the call's own. */
#define DEC_KERNEL(fn, ARGUMENTS, CALL)                                                                       \
    KERNEL(fn) {                                                                                              \
        KERNEL_UNUSED();                                                                                      \
        Err *e = ctx->err;                                                                                    \
        Arena *a = arena_new(arena_account(ctx->arena), e);                                                   \
        Status st = a ? ST_OK : ST_ERROR;                                                                     \
        for (int64_t i = 0; i < n && st == ST_OK; i++) {                                                      \
            Str *r = (Str *)out->data + i;                                                                    \
            *r = STR0;                                                                                        \
            if (!row_valid(out, i)) continue;                                                                 \
            Dec x, y, z;                                                                                      \
            (void)x, (void)y;                                                                                 \
            if ((st = (ARGUMENTS)) == ST_OK && (st = (CALL)) == ST_OK) st = dec_encode(ctx->arena, &z, r, e); \
            if (st != ST_OK) ctx->error_row = i;                                                              \
            if (arena_bytes(a) > SCRATCH_MAX) arena_reset(a);                                                 \
        }                                                                                                     \
        arena_free(a);                                                                                        \
        return st == ST_OK || err_is_set(e) ? st : err_oom(e);                                                \
    }
#define ONE dec_arg_in(a, ctx, &args[0], i, &x)
#define TWO (dec_arg_in(a, ctx, &args[0], i, &x) != ST_OK ? ST_ERROR : dec_arg_in(a, ctx, &args[1], i, &y))
#define DEC1(fn, CALL) DEC_KERNEL(fn, ONE, CALL)
#define DEC2(fn, CALL) DEC_KERNEL(fn, TWO, CALL)

DEC2(add_dec, dec_add(a, &x, &y, &z, e))
DEC2(sub_dec, dec_sub(a, &x, &y, &z, e))
DEC2(mul_dec, dec_mul(a, &x, &y, &z, e))
DEC2(div_dec, dec_div(a, &x, &y, &z, e))
DEC2(mod_dec, dec_mod(a, &x, &y, &z, e))
DEC2(quotient_dec, dec_quotient(a, &x, &y, &z, e))
DEC2(gcd_dec, dec_gcd(a, &x, &y, &z, e))
DEC2(lcm_dec, dec_lcm(a, &x, &y, &z, e))
DEC2(log_dec, dec_log(a, &x, &y, &z, e))
DEC2(power_dec, dec_power(a, &x, &y, &z, e))
DEC1(sqrt_dec, dec_sqrt(a, &x, &z, e))
DEC1(exp_dec, dec_exp(a, &x, &z, e))
DEC1(ln_dec, dec_ln(a, &x, &z, e))
DEC1(round_dec, dec_round(a, &x, 0, true, &z, e))
DEC1(trunc_dec, dec_round(a, &x, 0, false, &z, e))
DEC1(ceil_dec, dec_floor(a, &x, true, &z, e))
DEC1(floor_dec, dec_floor(a, &x, false, &z, e))

static int32_t digits_arg(int32_t n) { return MIN_OF(MAX_OF(n, -DEC_ROUND_MAX), DEC_ROUND_MAX); }
DEC1(roundn_dec, dec_round(a, &x, digits_arg(AT(int32_t, 1, i)), true, &z, e))
DEC1(truncn_dec, dec_round(a, &x, digits_arg(AT(int32_t, 1, i)), false, &z, e))

static Status negate(const Dec *x, Dec *out) {
    *out = *x;
    if (x->kind == DEC_FINITE) out->neg = x->n && !x->neg;
    else if (x->kind != DEC_NAN) out->kind = x->kind == DEC_INF ? DEC_NEG_INF : DEC_INF;
    return ST_OK;
}
static Status magnitude(const Dec *x, Dec *out) {
    if (x->neg || x->kind == DEC_NEG_INF) return negate(x, out);
    *out = *x;
    return ST_OK;
}
static Status same(const Dec *x, Dec *out) {
    *out = *x;
    return ST_OK;
}
static Status sign_of(Arena *a, const Dec *x, Dec *out, Err *e) {
    if (x->kind == DEC_NAN) return same(x, out);
    int s = x->kind == DEC_FINITE ? (x->n == 0 ? 0 : x->neg ? -1 : 1) : x->kind == DEC_INF ? 1 : -1;
    return dec_from_i128(a, s, 0, out, e);
}
static Status trim_scale(const Dec *x, Dec *out) {
    *out = *x;
    if (x->kind == DEC_FINITE) out->scale = dec_min_scale(x);
    return ST_OK;
}
DEC1(neg_dec, negate(&x, &z))
DEC1(plus_dec, same(&x, &z))
DEC1(abs_dec, magnitude(&x, &z))
DEC1(sign_dec, sign_of(a, &x, &z, e))
DEC1(trim_scale_dec, trim_scale(&x, &z))

static Status log10_of(Arena *a, const Dec *x, Dec *out, Err *e) {
    Dec ten;
    TRY(dec_from_i128(a, 10, 0, &ten, e));
    return dec_log(a, &ten, x, out, e);
}
DEC1(log10_dec, log10_of(a, &x, &z, e))
DEC_KERNEL(factorial_dec, (x = dec_zero(0), ST_OK), dec_factorial(a, AT(int64_t, 0, i), &z, e))

/* NULL of NaN and infinite ones. */
static Status scale_rows(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool least) {
    int32_t *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        Dec x = dec_special(DEC_NAN);
        if (!arg_null(&args[0], i) && func_dec_arg(ctx, &args[0], i, &x) != ST_OK) return FAILED(i);
        out->valid[i] = dec_is_finite(&x);
        r[i] = !dec_is_finite(&x) ? 0 : least ? dec_min_scale(&x) : x.scale;
    }
    return ST_OK;
}
KERNEL(scale_dec) {
    KERNEL_UNUSED();
    return scale_rows(ctx, n, args, out, false);
}
KERNEL(min_scale_dec) {
    KERNEL_UNUSED();
    return scale_rows(ctx, n, args, out, true);
}

/* floor((v - lo) * count / (hi - lo)) + 1 */
static Status bucket(FuncCtx *ctx, const Dec *v, const Dec *lo, const Dec *hi, int32_t count, int32_t *z) {
    Arena *a = ctx->arena;
    Err *e = ctx->err;
    if (v->kind == DEC_NAN || lo->kind == DEC_NAN || hi->kind == DEC_NAN)
        return err_set(e, ERR_WIDTH_BUCKET, "operand, lower bound, and upper bound cannot be NaN");
    if (!dec_is_finite(lo) || !dec_is_finite(hi))
        return err_set(e, ERR_WIDTH_BUCKET, "lower and upper bounds must be finite");
    int way = dec_cmp(lo, hi), below = dec_cmp(v, lo), above = dec_cmp(v, hi);
    if (way == 0) return err_set(e, ERR_WIDTH_BUCKET, "lower bound cannot equal upper bound");
    *z = 0;
    if (way < 0 ? below < 0 : below > 0) return ST_OK;
    if (way < 0 ? above >= 0 : above <= 0) {
        if (__builtin_add_overflow(count, 1, z)) return err_set(e, ERR_NUMERIC_RANGE, "integer out of range");
        return ST_OK;
    }
    Dec p, w, c;
    int128_t q;
    TRY(dec_from_i128(a, count, 0, &c, e));
    TRY(dec_sub(a, v, lo, &p, e));
    TRY(dec_sub(a, hi, lo, &w, e));
    TRY(dec_mul(a, &p, &c, &p, e));
    TRY(dec_div_to(a, &p, &w, 0, false, &p, e));
    (void)dec_to_i128(&p, 0, &q); /* below count */
    *z = (int32_t)q + 1;
    return ST_OK;
}
KERNEL(width_bucket_dec) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int32_t *z = (int32_t *)out->data + i;
        *z = 0;
        if (!row_valid(out, i)) continue;
        int32_t count = AT(int32_t, 3, i);
        Dec v, lo, hi;
        FAIL_IF(count <= 0, i, ERR_WIDTH_BUCKET, "count must be greater than zero");
        if (func_dec_arg(ctx, &args[0], i, &v) != ST_OK || func_dec_arg(ctx, &args[1], i, &lo) != ST_OK ||
            func_dec_arg(ctx, &args[2], i, &hi) != ST_OK || bucket(ctx, &v, &lo, &hi, count, z) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

/* ---- order ------------------------------------------------------------------------------------ */

K1S(key_dec, Str, Str, dec_key(x))
#define DEC_CMP(fn, op) K2(fn, Str, Str, uint8_t, str_cmp(dec_key(x), dec_key(y)) op 0)
DEC_CMP(eq_dec, ==)
DEC_CMP(ne_dec, !=)
DEC_CMP(lt_dec, <)
DEC_CMP(le_dec, <=)
DEC_CMP(gt_dec, >)
DEC_CMP(ge_dec, >=)

/* ---- what aggregates and series are made of ------------------------------------------------------ */

/* (sum, sum of squares, count, kind): kind + 1 of samples, + 2 of deviations. */
KERNEL(variance_dec) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str *r = (Str *)out->data + i;
        *r = STR0;
        int64_t count = arg_null(&args[2], i) ? 0 : AT(int64_t, 2, i);
        int32_t kind = AT(int32_t, 3, i);
        out->valid[i] = count > (kind & 1) && !arg_null(&args[0], i) && !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        Dec sum, squares, z;
        if (func_dec_arg(ctx, &args[0], i, &sum) != ST_OK || func_dec_arg(ctx, &args[1], i, &squares) != ST_OK ||
            dec_variance(ctx->arena, &sum, &squares, count, kind & 1, kind & 2, &z, ctx->err) != ST_OK ||
            dec_encode(ctx->arena, &z, r, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

static Status series_count(FuncCtx *ctx, const Dec *from, const Dec *to, const Dec *step, int64_t *z) {
    static const char *const names[] = {"start", "stop", "step size"};
    const Dec *all[] = {from, to, step};
    for (int k = 0; k < 3; k++)
        if (!dec_is_finite(all[k]))
            return err_set(ctx->err, ERR_INVALID_PARAMETER, "%s %s be %s", names[k], k < 2 ? "value cannot" : "cannot",
                           all[k]->kind == DEC_NAN ? "NaN" : "infinity");
    if (dec_is_zero(step)) return err_set(ctx->err, ERR_INVALID_PARAMETER, "step size cannot equal zero");
    Dec d;
    int128_t q;
    TRY(dec_sub(ctx->arena, to, from, &d, ctx->err));
    *z = 0;
    if (d.n && d.neg != step->neg) return ST_OK;
    TRY(dec_div_to(ctx->arena, &d, step, 0, false, &d, ctx->err));
    if (dec_to_i128(&d, 0, &q) || q >= INT64_MAX)
        return err_set(ctx->err, ERR_PROGRAM_LIMIT, "generate_series has too many rows");
    *z = (int64_t)q + 1;
    return ST_OK;
}
KERNEL(series_count_dec) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int64_t *r = (int64_t *)out->data + i;
        Dec x, y, z;
        *r = 0;
        if (!row_valid(out, i)) continue;
        if (func_dec_arg(ctx, &args[0], i, &x) != ST_OK || func_dec_arg(ctx, &args[1], i, &y) != ST_OK ||
            func_dec_arg(ctx, &args[2], i, &z) != ST_OK || series_count(ctx, &x, &y, &z, r) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}
/* start + step * (number - 1) */
static Status series_value(Arena *a, const Dec *x, const Dec *step, int64_t k, Dec *out, Err *e) {
    Dec times;
    TRY(dec_from_i128(a, (int128_t)k - 1, 0, &times, e));
    TRY(dec_mul(a, step, &times, &times, e));
    return dec_add(a, x, &times, out, e);
}
DEC2(series_value_dec, series_value(a, &x, &y, AT(int64_t, 2, i), &z, e))

/* ---- casts -------------------------------------------------------------------------------------- */

Status func_number_to_dec(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    KERNEL_UNUSED();
    Arena *a = ctx->arena;
    for (int64_t i = 0; i < n; i++) {
        Str *r = (Str *)out->data + i;
        *r = STR0;
        if (!row_valid(out, i)) continue;
        Dec z;
        Status st;
        switch ((TypeId)args[0].type.id) {
        case T_INT2: st = dec_from_i128(a, AT(int16_t, 0, i), 0, &z, ctx->err); break;
        case T_INT4: st = dec_from_i128(a, AT(int32_t, 0, i), 0, &z, ctx->err); break;
        case T_INT8: st = dec_from_i128(a, AT(int64_t, 0, i), 0, &z, ctx->err); break;
        case T_FLOAT4: st = dec_from_f32(a, AT(float, 0, i), &z, ctx->err); break;
        case T_FLOAT8: st = dec_from_f64(a, AT(double, 0, i), &z, ctx->err); break;
        default: st = func_dec_arg(ctx, &args[0], i, &z); break;
        }
        /* numeric(38,16) of older databases is shown without zeros at its end. */
        bool old = args[0].type.id == T_NUMERIC && (args[0].type.flags & TF_UNCONSTRAINED);
        if (st == ST_OK && old) z.scale = dec_min_scale(&z);
        if (st == ST_OK) st = dec_fit(a, ctx->ret, &z, ctx->err);
        if (st != ST_OK || dec_encode(a, &z, r, ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

static const char *integer_name(uint8_t id) { return id == T_INT2 ? "smallint" : id == T_INT4 ? "integer" : "bigint"; }
Status func_dec_to_int(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    KERNEL_UNUSED();
    uint8_t id = ctx->ret.id;
    const char *name = integer_name(id);
    for (int64_t i = 0; i < n; i++) {
        int128_t v = 0;
        Dec x;
        if (row_valid(out, i)) {
            if (func_dec_arg(ctx, &args[0], i, &x) != ST_OK) return FAILED(i);
            FAIL_IF(!dec_is_finite(&x), i, ERR_FEATURE_NOT_SUPPORTED, "cannot convert %s to %s",
                    x.kind == DEC_NAN ? "NaN" : "infinity", name);
            bool over = dec_to_i128(&x, 0, &v);
            over |= id == T_INT2 ? v != (int16_t)v : id == T_INT4 ? v != (int32_t)v : v != (int64_t)v;
            FAIL_IF(over, i, ERR_NUMERIC_RANGE, "%s out of range", name);
        }
        if (id == T_INT2) ((int16_t *)out->data)[i] = (int16_t)v;
        else if (id == T_INT4) ((int32_t *)out->data)[i] = (int32_t)v;
        else ((int64_t *)out->data)[i] = (int64_t)v;
    }
    return ST_OK;
}

Status func_dec_to_float(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        double d = 0;
        float f = 0;
        Dec x;
        if (row_valid(out, i)) {
            if (func_dec_arg(ctx, &args[0], i, &x) != ST_OK) return FAILED(i);
            if (out->phys == PH_F64 || !dec_is_finite(&x)) {
                if (dec_to_f64(ctx->arena, &x, &d, ctx->err) != ST_OK) return FAILED(i);
                f = (float)d;
            } else {
                Str s;
                if (dec_format(ctx->arena, &x, &s, ctx->err) != ST_OK ||
                    cell_from_text(ctx->ret, slice_of_str(s), NULL, ctx->arena, &f, ctx->err) != ST_OK)
                    return FAILED(i);
            }
        }
        if (out->phys == PH_F64) ((double *)out->data)[i] = d;
        else ((float *)out->data)[i] = f;
    }
    return ST_OK;
}

Status func_dec_to_numeric(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int128_t v;
        Dec x;
        num_zero(out, i);
        if (!row_valid(out, i)) continue;
        if (func_dec_arg(ctx, &args[0], i, &x) != ST_OK) return FAILED(i);
        if (x.kind == DEC_NAN) {
            (void)numeric_nan_error(ctx->err, ctx->ret.precision, ctx->ret.scale);
            return FAILED(i);
        }
        if (!dec_is_finite(&x)) {
            (void)numeric_infinite_error(ctx->err, ctx->ret.precision, ctx->ret.scale);
            return FAILED(i);
        }
        if (dec_to_i128(&x, ctx->ret.scale, &v) || !num_put(ctx, out, i, v, ctx->ret.scale))
            return num_overflow(ctx, i);
    }
    return ST_OK;
}

/* ---- table ------------------------------------------------------------------------------------------ */

#define OPF (FN_OPERATOR | SF)
#define OPS (FN_OPERATOR | S_)
#define D1(nm, fl, fn, dc) DEF(nm, fl, T_DECIMAL, 1, ARGS(T_DECIMAL), OP_NONE, fn, NULL, dc)
#define D2(nm, fl, fn, dc) DEF(nm, fl, T_DECIMAL, 2, ARGS(T_DECIMAL, T_DECIMAL), OP_NONE, fn, NULL, dc)
/* Of numeric(p,s) too. */
#define REAL1(nm, fn, dc) D1(nm, SF, fn, dc), DEF(nm, SF, T_DECIMAL, 1, ARGS(T_NUMERIC), OP_NONE, fn, NULL, dc)
#define REAL2(nm, fl, fn, dc) \
    D2(nm, fl, fn, dc),       \
        DEF(nm, (fl) | FN_ANY_NUMERIC_SCALE, T_DECIMAL, 2, ARGS(T_NUMERIC, T_NUMERIC), OP_NONE, fn, NULL, dc)
#define COMPARE(nm, fn, dc) DEF(nm, OPS, T_BOOL, 2, ARGS(T_DECIMAL, T_DECIMAL), OP_NONE, fn, NULL, dc)

static const FuncDef defs[] = {
    D2("+", OPF, add_dec, "sum"),
    D2("-", OPF, sub_dec, "difference"),
    D2("*", OPF, mul_dec, "product"),
    D2("/", OPF, div_dec, "quotient"),
    D2("%", OPF, mod_dec, "remainder"),
    D2("mod", SF, mod_dec, "remainder"),
    D2("div", SF, quotient_dec, "quotient, truncated to an integer"),
    D2("gcd", SF, gcd_dec, "greatest common divisor"),
    D2("lcm", SF, lcm_dec, "least common multiple"),
    D1("-", OPF, neg_dec, "negation"),
    D1("+", OPF, plus_dec, "unary plus"),
    D1("@", OPF, abs_dec, "absolute value"),
    D1("abs", SF, abs_dec, "absolute value"),
    D1("sign", SF, sign_dec, "-1, 0 or 1"),
    D1("round", SF, round_dec, "nearest integer, halves away from zero"),
    D1("trunc", SF, trunc_dec, "towards zero"),
    D1("ceil", SF, ceil_dec, "smallest integer not below"),
    D1("ceiling", SF, ceil_dec, "smallest integer not below"),
    D1("floor", SF, floor_dec, "greatest integer not above"),
    DEF("round", SF, T_DECIMAL, 2, ARGS(T_DECIMAL, T_INT4), OP_NONE, roundn_dec, NULL, "rounded to n digits"),
    DEF("trunc", SF, T_DECIMAL, 2, ARGS(T_DECIMAL, T_INT4), OP_NONE, truncn_dec, NULL, "cut to n digits"),
    REAL1("sqrt", sqrt_dec, "square root"),
    REAL1("exp", exp_dec, "e to the power"),
    REAL1("ln", ln_dec, "natural logarithm"),
    REAL1("log", log10_dec, "decimal logarithm"),
    REAL1("log10", log10_dec, "decimal logarithm"),
    REAL2("log", SF, log_dec, "logarithm of the second argument to the base of the first"),
    REAL2("power", SF, power_dec, "power"),
    REAL2("pow", SF, power_dec, "power"),
    REAL2("^", OPF, power_dec, "power"),
    DEF("factorial", SF, T_DECIMAL, 1, ARGS(T_INT8), OP_NONE, factorial_dec, NULL, "factorial"),
    DEF("scale", NF, T_INT4, 1, ARGS(T_DECIMAL), OP_NONE, scale_dec, NULL, "digits after the point"),
    DEF("min_scale", NF, T_INT4, 1, ARGS(T_DECIMAL), OP_NONE, min_scale_dec, NULL,
        "digits after the point without zeros at the end"),
    DEF("min_scale", NF, T_INT4, 1, ARGS(T_NUMERIC), OP_NONE, min_scale_dec, NULL,
        "digits after the point without zeros at the end"),
    D1("trim_scale", SF, trim_scale_dec, "without trailing zeros"),
    DEF("trim_scale", SF, T_DECIMAL, 1, ARGS(T_NUMERIC), OP_NONE, trim_scale_dec, NULL, "without trailing zeros"),
    DEF("width_bucket", SF, T_INT4, 4, ARGS(T_DECIMAL, T_DECIMAL, T_DECIMAL, T_INT4), OP_NONE, width_bucket_dec, NULL,
        "number of the equal-width bucket"),
    COMPARE("=", eq_dec, "equal"),
    COMPARE("<>", ne_dec, "not equal"),
    COMPARE("!=", ne_dec, "not equal"),
    COMPARE("<", lt_dec, "less"),
    COMPARE("<=", le_dec, "less or equal"),
    COMPARE(">", gt_dec, "greater"),
    COMPARE(">=", ge_dec, "greater or equal"),
    DEF("numeric_key", S_, T_BYTEA, 1, ARGS(T_DECIMAL), OP_NONE, key_dec, NULL,
        "internal: bytes that compare as the numbers do"),
    DEF("numeric_variance", NF, T_DECIMAL, 4, ARGS(T_DECIMAL, T_DECIMAL, T_INT8, T_INT4), OP_NONE, variance_dec, NULL,
        "internal: variance or deviation from sums"),
    DEF("series_count", SF, T_INT8, 3, ARGS(T_DECIMAL, T_DECIMAL, T_DECIMAL), OP_NONE, series_count_dec, NULL,
        "internal: how many numbers a series has"),
    DEF("series_value", SF, T_DECIMAL, 3, ARGS(T_DECIMAL, T_DECIMAL, T_INT8), OP_NONE, series_value_dec, NULL,
        "internal: a number of a series"),
};
const FuncDefs func_defs_dec = {defs, ARRAY_LEN(defs)};
