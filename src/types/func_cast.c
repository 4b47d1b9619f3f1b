/* func_cast.c - casts: which exist in which context, and their kernels.
 *
 * The matrix is PostgreSQL's pg_cast plus its casts through text: every type goes to the text types
 * in assignments, and from them in explicit casts. Rounding: floats to integers halves to even, numerics halves away
 * from zero. Every kernel reads its source type from args[0].type and its target from ctx->ret.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stack.h"
#include "types/array.h"
#include "types/composite.h"
#include "types/dec.h"
#include "types/func_int.h"
#include "types/money.h"
#include "types/oid.h"
#include "types/range.h"
#include "types/type_int.h"

/* ---- the matrix -------------------------------------------------------------------- */

/* The weakest context in which from -> to is allowed; 0 = never, else 'i', 'a', 'e'. */
static char cast_context(uint8_t from, uint8_t to) {
    if (from == to) return 'i';
    if (from == T_UNKNOWN) return 'i';
    if (from == T_VOID || to == T_VOID || to == T_UNKNOWN) return 0;
    bool from_text = from == T_CHAR || from == T_VARCHAR || from == T_TEXT;
    bool to_text = to == T_CHAR || to == T_VARCHAR || to == T_TEXT;
    if (from_text && to_text) return 'i';
    if (to_text) return 'a';
    if (from_text) return 'e';
#define NUMS(t) (((t) >= T_INT2 && (t) <= T_FLOAT8) || (t) == T_DECIMAL)
    if (NUMS(from) && NUMS(to)) {
        static const uint8_t rank[] = {
            [T_INT2] = 1, [T_INT4] = 2, [T_INT8] = 3, [T_NUMERIC] = 4, [T_DECIMAL] = 5, [T_FLOAT4] = 6, [T_FLOAT8] = 7};
        return rank[from] < rank[to] ? 'i' : 'a';
    }
#undef NUMS
    const bool money_to = from == T_NUMERIC || from == T_DECIMAL || from == T_INT4 || from == T_INT8;
    if (to == T_MONEY) return money_to ? 'a' : 0;
    switch ((TypeId)from) {
    case T_MONEY: return to == T_NUMERIC || to == T_DECIMAL ? 'a' : 0;
    case T_BOOL: return to == T_INT4 ? 'e' : 0;
    case T_INT4: return to == T_BOOL || to == T_BIT ? 'e' : 0;
    case T_INT8: return to == T_BIT ? 'e' : 0;
    case T_BIT: return to == T_VARBIT ? 'i' : to == T_INT4 || to == T_INT8 ? 'e' : 0;
    case T_VARBIT: return to == T_BIT ? 'i' : 0;
    case T_DATE: return to == T_TIMESTAMP || to == T_TIMESTAMPTZ ? 'i' : 0;
    case T_TIME: return to == T_INTERVAL || to == T_TIMETZ ? 'i' : 0;
    case T_TIMETZ: return to == T_TIME ? 'a' : 0;
    case T_TIMESTAMP: return to == T_TIMESTAMPTZ ? 'i' : to == T_DATE || to == T_TIME ? 'a' : 0;
    case T_TIMESTAMPTZ: return to == T_TIMESTAMP || to == T_DATE || to == T_TIME || to == T_TIMETZ ? 'a' : 0;
    case T_INTERVAL: return to == T_TIME ? 'a' : 0;
    case T_JSON: return to == T_JSONB ? 'a' : 0;
    case T_JSONB: return to == T_JSON ? 'a' : to == T_BOOL || type_is_number(type_make((TypeId)to)) ? 'e' : 0;
    default: return 0;
    }
}

/* A record is assigned to a composite type, or becomes one by a cast, field by field; named types become records only,
 * which no statement asks for. */
static bool composite_cast_exists(Type from, Type to, CastCtx ctx) {
    const CompositeType *x = composite_of(from), *y = composite_of(to);
    if (from.length == to.length) return true;
    if (!x || !y || x->n != y->n || (x->kind != COMPOSITE_ANONYMOUS && y->kind != COMPOSITE_ANONYMOUS)) return false;
    for (int32_t i = 0; i < x->n; i++)
        if (!cast_exists(x->fields[i].type, y->fields[i].type, MAX_OF(ctx, CAST_ASSIGNMENT))) return false;
    return true;
}

/* Of oids: integers become ones by themselves, ones become other kinds and back; texts become regclass by themselves.
 */
static char oid_cast_context(Type from, Type to) {
    if (from.id == T_OID && to.id == T_OID)
        return from.precision == to.precision                             ? 'i'
               : oid_is_number(from) || oid_is_number(to)                 ? 0
               : from.precision == OID_PLAIN || to.precision == OID_PLAIN ? 'i'
               : (from.precision == OID_PROC && to.precision == OID_PROCEDURE) ||
                       (from.precision == OID_PROCEDURE && to.precision == OID_PROC) ||
                       (from.precision == OID_OPER && to.precision == OID_OPERATOR) ||
                       (from.precision == OID_OPERATOR && to.precision == OID_OPER)
                   ? 'i'
                   : 0;
    if (to.id == T_OID && type_is_integer(from)) return oid_is_number(to) ? 0 : 'i';
    if (to.id == T_OID && type_is_text(from)) return to.precision == OID_CLASS ? 'i' : 'e';
    if (from.id == T_OID && (to.id == T_INT4 || to.id == T_INT8)) return oid_is_number(from) ? 0 : 'a';
    return cast_context(from.id, to.id);
}

bool cast_exists(Type from, Type to, CastCtx ctx) {
    if (from.id == T_ARRAY && to.id == T_ARRAY) { /* as the elements, but through text only when asked for */
        Type x = type_element(from), y = type_element(to);
        if (x.id == T_UNKNOWN || y.id == T_UNKNOWN) return x.id == y.id;
        return cast_exists(x, y, ctx);
    }
    if (from.id == T_ENUM && to.id == T_ENUM) return from.length == to.length;
    if (type_is_range(from) && type_is_range(to))
        return from.length == to.length && (from.id == to.id || (from.id == T_RANGE && ctx == CAST_EXPLICIT));
    if (from.id == T_COMPOSITE && to.id == T_COMPOSITE) return composite_cast_exists(from, to, ctx);
    if (to.id == T_TEXT && to.flags & TF_QCHAR && !type_is_text(from) && from.id != T_INT4) return false;
    char c = from.id == T_OID || to.id == T_OID ? oid_cast_context(from, to) : cast_context(from.id, to.id);
    return c == 'i' || (c == 'a' && ctx >= CAST_ASSIGNMENT) || (c == 'e' && ctx == CAST_EXPLICIT);
}

bool cast_is_noop(Type from, Type to) {
    switch ((TypeId)to.id) {
    case T_TEXT:
        return type_is_text(from) &&
               (!(to.flags & (TF_NAME | TF_QCHAR)) || (from.id == T_TEXT && from.flags == to.flags));
    case T_OID: return from.id == T_OID && (from.flags & TF_SHOWN) == (to.flags & TF_SHOWN);
    case T_VARCHAR:
        return type_is_text(from) && (to.length == 0 || ((from.id == T_VARCHAR || from.id == T_CHAR) &&
                                                         from.length > 0 && from.length <= to.length));
    case T_CHAR: return from.id == T_CHAR && (to.length == 0 || (from.length > 0 && from.length <= to.length));
    case T_NUMERIC:
        return from.id == T_NUMERIC && from.scale == to.scale && from.precision <= to.precision &&
               type_phys(from) == type_phys(to);
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ: return from.id == to.id && from.precision <= to.precision;
    case T_INTERVAL:
        return from.id == T_INTERVAL && (to.length == 0 || to.length == from.length) &&
               (to.precision == 0 || (from.precision > 0 && from.precision <= to.precision));
    case T_DECIMAL:
        return from.id == T_DECIMAL && !(to.flags & ~from.flags & TF_LEAST_SCALE) &&
               (to.length == 0 || to.length == from.length);
    case T_BIT: return type_is_bits(from) && (to.length == 0 || (from.id == T_BIT && from.length == to.length));
    case T_VARBIT: return type_is_bits(from) && (to.length == 0 || (from.length > 0 && from.length <= to.length));
    case T_JSONB: return from.id == T_JSONB && !(to.flags & ~from.flags & TF_LEAST_SCALE);
    case T_ARRAY:
        return from.id == T_ARRAY && type_phys(type_element(from)) == type_phys(type_element(to)) &&
               cast_is_noop(type_element(from), type_element(to));
    default: return from.id == to.id && (!type_is_defined(to) || from.length == to.length);
    }
}

/* ---- kernels ----------------------------------------------------------------------------- */

KERNEL(copy_cells) {
    KERNEL_UNUSED();
    size_t w = (size_t)phys_size((Phys)out->phys);
    if (!args[0].is_const) {
        memcpy(out->data, args[0].data, w * (size_t)n);
    } else {
        for (int64_t i = 0; i < n; i++) memcpy((char *)out->data + w * (size_t)i, args[0].data, w);
    }
    return ST_OK;
}

/* Numbers. The source is read as one of: int64, numeric, double. */
#define INT_SOURCE(i, v)                                        \
    int64_t v = args[0].type.id == T_INT2   ? AT(int16_t, 0, i) \
                : args[0].type.id == T_INT4 ? AT(int32_t, 0, i) \
                                            : AT(int64_t, 0, i)
static const char *int_range_name(uint8_t id) {
    return id == T_INT2 ? "smallint" : id == T_INT4 ? "integer" : "bigint";
}
static inline bool int_fits(uint8_t id, int64_t v) {
    return id == T_INT8 || (id == T_INT4 ? v == (int32_t)v : v == (int16_t)v);
}
static inline void int_store(Vec *out, int64_t i, int64_t v) {
    if (out->phys == PH_I64) ((int64_t *)out->data)[i] = v;
    else if (out->phys == PH_I32) ((int32_t *)out->data)[i] = (int32_t)v;
    else ((int16_t *)out->data)[i] = (int16_t)v;
}
#define INT_LOOP(...)                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                           \
        int64_t z = 0;                                                                          \
        if (row_valid(out, i)) {                                                                \
            bool over = false;                                                                  \
            __VA_ARGS__                                                                         \
            FAIL_IF(over || !int_fits(ctx->ret.id, z), i, ERR_NUMERIC_RANGE, "%s out of range", \
                    int_range_name(ctx->ret.id));                                               \
        }                                                                                       \
        int_store(out, i, z);                                                                   \
    }                                                                                           \
    return ST_OK
KERNEL(int_to_int) {
    KERNEL_UNUSED();
    INT_LOOP(INT_SOURCE(i, v); z = v;);
}
KERNEL(num_to_int) {
    KERNEL_UNUSED();
    int s = args[0].type.scale;
    INT_LOOP(int128_t v = num_at(&args[0], i); over = numeric_rescale(v, s, 0, &v) || v > INT64_MAX || v < INT64_MIN;
             z = over ? 0 : (int64_t)v;);
}
KERNEL(float_to_int) {
    KERNEL_UNUSED();
    bool f32 = args[0].type.id == T_FLOAT4;
    INT_LOOP(double d = rint(f32 ? (double)AT(float, 0, i) : AT(double, 0, i));
             over = !(d >= -9223372036854775808.0 && d < 9223372036854775808.0); z = over ? 0 : (int64_t)d;);
}
KERNEL(bool_to_int) {
    KERNEL_UNUSED();
    INT_LOOP(z = AT(uint8_t, 0, i); (void)over;);
}
KERNEL(int_to_oid) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int64_t v = 0;
        if (row_valid(out, i)) {
            INT_SOURCE(i, x);
            FAIL_IF(x > UINT32_MAX || (args[0].type.id == T_INT8 && x < 0), i, ERR_NUMERIC_RANGE, "OID out of range");
            v = x & UINT32_MAX;
        }
        ((int64_t *)out->data)[i] = v;
    }
    return ST_OK;
}
K1(oid_to_int4, int64_t, int32_t, (int32_t)(uint32_t)x)
K1(int_to_bool, int32_t, uint8_t, x != 0)

#define FLOAT_LOOP(EXPR)                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                             \
        double z = 0;                                                                             \
        if (row_valid(out, i)) z = (EXPR);                                                        \
        if (out->phys == PH_F64) {                                                                \
            ((double *)out->data)[i] = z;                                                         \
        } else {                                                                                  \
            float f = (float)z;                                                                   \
            FAIL_IF(isinf(f) && !isinf(z), i, ERR_NUMERIC_RANGE, "value out of range: overflow"); \
            FAIL_IF(f == 0 && z != 0, i, ERR_NUMERIC_RANGE, "value out of range: underflow");     \
            ((float *)out->data)[i] = f;                                                          \
        }                                                                                         \
    }                                                                                             \
    return ST_OK
KERNEL(float_to_float) {
    KERNEL_UNUSED();
    bool f32 = args[0].type.id == T_FLOAT4;
    FLOAT_LOOP(f32 ? (double)AT(float, 0, i) : AT(double, 0, i));
}
KERNEL(num_to_float) {
    KERNEL_UNUSED();
    int s = args[0].type.scale;
    FLOAT_LOOP(numeric_to_f64(num_at(&args[0], i), s));
}
KERNEL(int_to_float) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        INT_SOURCE(i, v);
        if (out->phys == PH_F64) ((double *)out->data)[i] = (double)v;
        else ((float *)out->data)[i] = (float)v;
    }
    return ST_OK;
}
KERNEL(to_numeric) {
    KERNEL_UNUSED();
    TypeId from = (TypeId)args[0].type.id;
    int s = from == T_NUMERIC ? args[0].type.scale : 0;
    for (int64_t i = 0; i < n; i++) {
        num_zero(out, i);
        if (!row_valid(out, i)) continue;
        int128_t v;
        if (from == T_NUMERIC) {
            v = num_at(&args[0], i);
        } else if (from == T_FLOAT4 || from == T_FLOAT8) {
            const double d = from == T_FLOAT8 ? AT(double, 0, i) : (double)AT(float, 0, i);
            FAIL_IF(isnan(d), i, ERR_NUMERIC_RANGE, "cannot convert NaN to numeric");
            FAIL_IF(isinf(d), i, ERR_NUMERIC_RANGE, "cannot convert infinity to numeric");
            const int scale = ctx->ret.scale;
            const bool over = from == T_FLOAT8 ? numeric_from_f64(d, scale, &v) : numeric_from_f32((float)d, scale, &v);
            if (over || !num_put(ctx, out, i, v, ctx->ret.scale)) return num_overflow(ctx, i);
            continue;
        } else {
            INT_SOURCE(i, k);
            v = k;
        }
        if (UNLIKELY(!num_put(ctx, out, i, v, s))) return num_overflow(ctx, i);
    }
    return ST_OK;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Fits `s` to ctx->ret's length; char(n) loses its trailing blanks. */
static Status fit(FuncCtx *ctx, int64_t i, Str s, bool explicit_cast, Str *z) {
    int32_t max = ctx->ret.id == T_TEXT ? 0 : ctx->ret.length;
    if (max > 0 && s.len > (uint32_t)max) {
        int64_t keep = utf8_prefix_bytes(s.ptr, s.len, max);
        for (int64_t k = keep; !explicit_cast && k < s.len; k++)
            if (s.ptr[k] != ' ') {
                FAIL(i, ERR_STRING_TRUNCATION, "value too long for type %s(%d)",
                     ctx->ret.id == T_CHAR ? "character" : "character varying", max);
            }
        s = str_make(s.ptr, keep);
    }
    if (ctx->ret.id == T_CHAR) {
        uint32_t len = s.len;
        while (len > 0 && s.ptr[len - 1] == ' ') len--;
        if (len != s.len) s = str_make(s.ptr, len);
    }
    *z = text_cut(ctx->ret, s);
    return ST_OK;
}
static Status to_text(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool explicit_cast) {
    Type from = args[0].type;
    bool text = type_is_text(from);
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        Str s;
        if (text) s = AT(Str, 0, i);
        else if (from.id == T_BOOL) s = AT(uint8_t, 0, i) ? str_make("true", 4) : str_make("false", 5);
        else if (func_cell_output(ctx, from, arg_cell(&args[0], i), &s) != ST_OK) return FAILED(i);
        TRY(fit(ctx, i, s, explicit_cast, z));
    }
    return ST_OK;
}
KERNEL(to_text_explicit) {
    KERNEL_UNUSED();
    return to_text(ctx, n, args, out, true);
}
KERNEL(to_text_assign) {
    KERNEL_UNUSED();
    return to_text(ctx, n, args, out, false);
}
KERNEL(from_text) {
    KERNEL_UNUSED();
    int64_t w = phys_size((Phys)out->phys);
    for (int64_t i = 0; i < n; i++) {
        char *cell = (char *)out->data + i * w;
        memset(cell, 0, (size_t)w);
        if (!row_valid(out, i)) {
            if (out->phys == PH_STR) *(Str *)(void *)cell = STR0;
            continue;
        }
        if (cell_from_text(ctx->ret, slice_of_str(AT(Str, 0, i)), ctx->session, ctx->arena, cell, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

/* ---- dates and times --------------------------------------------------------------------------- */

static int64_t ts_fit(const FuncCtx *ctx, int64_t t) { return ts_finite(t) ? micros_round(t, ctx->ret.precision) : t; }
#define TS_CHECK(z) FAIL_IF(ts_finite(z) && !ts_in_range(z), i, ERR_DATETIME_OVERFLOW, "timestamp out of range")
K1F(date_to_ts, int32_t, int64_t, 0,
    { FAIL_IF(date_to_timestamp(x, &z), i, ERR_DATETIME_OVERFLOW, "date out of range for timestamp"); })
K1F(date_to_tz, int32_t, int64_t, 0, {
    FAIL_IF(date_to_timestamp(x, &z), i, ERR_DATETIME_OVERFLOW, "date out of range for timestamp");
    if (ts_finite(z)) z = ctx_instant(ctx, z);
    TS_CHECK(z);
})
K1F(ts_to_ts, int64_t, int64_t, 0, {
    z = ts_fit(ctx, x);
    TS_CHECK(z);
})
K1F(ts_to_tz, int64_t, int64_t, 0, {
    z = ts_finite(x) ? ts_fit(ctx, ctx_instant(ctx, x)) : x;
    TS_CHECK(z);
})
K1F(tz_to_ts, int64_t, int64_t, 0, {
    z = ts_finite(x) ? ts_fit(ctx, ctx_local(ctx, x)) : x;
    TS_CHECK(z);
})
static int32_t date_of(int64_t t) {
    return t == TS_NEG_INF ? DATE_NEG_INF : t == TS_POS_INF ? DATE_POS_INF : (int32_t)floor_div(t, USECS_PER_DAY);
}
K1(ts_to_date, int64_t, int32_t, date_of(x))
K1F(tz_to_date, int64_t, int32_t, 0, { z = date_of(ts_finite(x) ? ctx_local(ctx, x) : x); })
/* An infinite timestamp has no time of day; PostgreSQL gives NULL, which a strict kernel cannot: midnight. */
K1F(ts_to_time, int64_t, int64_t, 0, {
    if (ts_finite(x)) z = micros_round(floor_mod(x, USECS_PER_DAY), ctx->ret.precision);
})
K1F(tz_to_time, int64_t, int64_t, 0, {
    if (ts_finite(x)) z = micros_round(floor_mod(ctx_local(ctx, x), USECS_PER_DAY), ctx->ret.precision);
})
/* In the zone of today. */
K1F(time_to_timetz, int64_t, int64_t, 0, {
    const int64_t today = ctx_local(ctx, ctx_now(ctx)), day = today - floor_mod(today, USECS_PER_DAY);
    z = timetz_make(micros_round(x, ctx->ret.precision), zone_offset_of_local(ctx_zone(ctx), day + x));
})
K1F(tz_to_timetz, int64_t, int64_t, 0, {
    const int32_t offset = ts_finite(x) ? zone_offset_at(ctx_zone(ctx), x) : 0;
    const int64_t local = ts_finite(x) ? floor_mod(x + offset * USECS_PER_SEC, USECS_PER_DAY) : 0;
    z = timetz_make(micros_round(local, ctx->ret.precision), offset);
})
K1F(timetz_to_timetz, int64_t, int64_t, 0,
    { z = timetz_make(micros_round(timetz_micros(x), ctx->ret.precision), timetz_offset(x)); })
K1F(timetz_to_time, int64_t, int64_t, 0, { z = micros_round(timetz_micros(x), ctx->ret.precision); })
K1F(time_to_time, int64_t, int64_t, 0, { z = micros_round(x, ctx->ret.precision); })
K1F(time_to_iv, int64_t, Interval, ((Interval){0, 0, 0}), {
    z.micros = x;
    interval_fit(ctx->ret, &z);
})
K1F(iv_to_iv, Interval, Interval, ((Interval){0, 0, 0}), {
    z = x;
    interval_fit(ctx->ret, &z);
})
K1F(iv_to_time, Interval, int64_t, 0, { z = micros_round(floor_mod(x.micros, USECS_PER_DAY), ctx->ret.precision); })

/* ---- arrays ------------------------------------------------------------------------------------- */

static Status array_cast(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, CastCtx how) {
    Type from = type_element(args[0].type), to = type_element(ctx->ret);
    FuncKernel k = cast_kernel(from, to, how);
    if (!k) return err_internal(ctx->err, "no cast of array elements");
    int64_t w = phys_size(type_phys(from)), w2 = phys_size(type_phys(to));
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        ArrayView a = array_view(AT(Str, 0, i));
        char *x = arena_alloc(ctx->arena, a.n * w + 1), *y = arena_alloc(ctx->arena, a.n * w2 + 1);
        if (!x || !y) return err_is_set(ctx->err) ? FAILED(i) : err_oom(ctx->err);
        for (int64_t j = 0; j < a.n; j++) array_get(&a, j, x + j * w);
        uint8_t *valid = (uint8_t *)(uintptr_t)a.valid; /* only read */
        Vec in = {.data = x, .valid = valid, .phys = (uint8_t)type_phys(from), .type = from},
            r = {.data = y, .valid = valid, .phys = (uint8_t)type_phys(to), .type = to};
        FuncCtx c = *ctx;
        c.ret = to;
        c.state = NULL;
        const ArrayShape shape = array_shape(&a);
        if (k(&c, a.n, &in, 1, &r) != ST_OK ||
            array_build_shaped(ctx->arena, type_phys(to), &shape, y, valid, z, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}
KERNEL(array_cast_explicit) {
    KERNEL_UNUSED();
    return array_cast(ctx, n, args, out, CAST_EXPLICIT);
}
KERNEL(array_cast_assign) {
    KERNEL_UNUSED();
    return array_cast(ctx, n, args, out, CAST_ASSIGNMENT);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static Status composite_cast(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, CastCtx how) {
    const CompositeType *from = composite_of(args[0].type), *to = composite_of(ctx->ret);
    Value *fields = from ? arena_array(ctx->arena, Value, from->n + 1) : NULL;
    if (!fields || !to || from->n != to->n)
        return err_is_set(ctx->err) ? ST_ERROR : err_internal(ctx->err, "no cast of a row");
    TRY(stack_check_depth(ctx->err));
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        if (!row_valid(out, i)) continue;
        if (composite_read(from, AT(Str, 0, i), fields, ctx->err) != ST_OK) return FAILED(i);
        for (int32_t k = 0; k < to->n; k++) {
            const Type t = to->fields[k].type;
            const Value x = fields[k];
            const FuncKernel f = x.is_null ? NULL : cast_kernel(x.type, t, how);
            if (!x.is_null && !f) return err_internal(ctx->err, "no cast of a field of a row");
            if (f && func_eval(NULL, f, ctx->session, ctx->arena, t, 1, &x, &fields[k], ctx->err) != ST_OK)
                return FAILED(i);
            fields[k].type = t;
            const int64_t domain = to->fields[k].domain;
            if (domain && type_check_domain(domain, &fields[k], ctx->session, ctx->err) != ST_OK) return FAILED(i);
        }
        if (composite_build(ctx->arena, to->n, fields, z, ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(composite_cast_explicit) {
    KERNEL_UNUSED();
    return composite_cast(ctx, n, args, out, CAST_EXPLICIT);
}
KERNEL(composite_cast_assign) {
    KERNEL_UNUSED();
    return composite_cast(ctx, n, args, out, CAST_ASSIGNMENT);
}

/* ---- "char" and integer: a byte ---------------------------------------------------------------- */

static bool is_qchar(Type t) { return t.id == T_TEXT && t.flags & TF_QCHAR; }
KERNEL(qchar_to_int4) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        const Str s = row_valid(out, i) ? AT(Str, 0, i) : STR0;
        ((int32_t *)out->data)[i] = s.len ? (signed char)s.ptr[0] : 0;
    }
    return ST_OK;
}
KERNEL(int4_to_qchar) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        ((Str *)out->data)[i] = STR0;
        if (!row_valid(out, i) || AT(int32_t, 0, i) == 0) continue;
        const char c = (char)AT(int32_t, 0, i);
        FAIL_IF(AT(int32_t, 0, i) < 0 || AT(int32_t, 0, i) > 127, i, ERR_NUMERIC_RANGE, "\"char\" out of range");
        if (!ctx_str(ctx, &c, 1, (Str *)out->data + i)) return FAILED(i);
    }
    return ST_OK;
}

/* As a numeric(19,2), whose cells are the same. */
static Vec of_hundredths(const Vec *money) {
    Vec v = *money;
    v.type = type_numeric(19, MONEY_SCALE);
    return v;
}
KERNEL(money_to_numeric) {
    const Vec v = of_hundredths(args);
    return to_numeric(ctx, n, &v, nargs, out);
}
KERNEL(money_to_dec) {
    const Vec v = of_hundredths(args);
    return func_number_to_dec(ctx, n, &v, nargs, out);
}

FuncKernel cast_kernel(Type from, Type to, CastCtx ctx_kind) {
    if (!cast_exists(from, to, ctx_kind)) return NULL;
    if (is_qchar(from) && to.id == T_INT4) return qchar_to_int4;
    if (is_qchar(to) && from.id == T_INT4) return int4_to_qchar;
    if (cast_is_noop(from, to)) return copy_cells;
    if (from.id == T_COMPOSITE && to.id == T_COMPOSITE)
        return ctx_kind == CAST_EXPLICIT ? composite_cast_explicit : composite_cast_assign;
    if (type_is_range(from) && type_is_range(to)) return func_range_to_multirange;
    if (from.id == T_ARRAY && to.id == T_ARRAY)
        return ctx_kind == CAST_EXPLICIT ? array_cast_explicit : array_cast_assign;
    if (to.id == T_CHAR || to.id == T_VARCHAR || to.id == T_TEXT || (to.flags & TF_SHOWN && to.id == T_OID))
        return ctx_kind == CAST_EXPLICIT ? to_text_explicit : to_text_assign;
    if (type_is_text(from)) return type_is_bits(to) ? func_text_to_bits : from_text;
    if (type_is_bits(to))
        return !type_is_bits(from)         ? func_int_to_bits
               : ctx_kind == CAST_EXPLICIT ? func_bits_to_bits_explicit
                                           : func_bits_to_bits;
    if (type_is_bits(from)) return func_bits_to_int;
    if (from.id == T_MONEY) return to.id == T_DECIMAL ? money_to_dec : money_to_numeric;
    if (to.id == T_MONEY) return func_number_to_money;
    if (to.id == T_JSONB) return func_to_jsonb;
    if (from.id == T_JSONB) return to.id == T_JSON ? copy_cells : func_jsonb_to_scalar;
    if (from.id == T_OID) return to.id == T_INT4 ? oid_to_int4 : copy_cells;
    if (to.id == T_OID) return int_to_oid;
    bool from_int = type_is_integer(from), from_float = from.id == T_FLOAT4 || from.id == T_FLOAT8;
    if (to.id == T_DECIMAL) return func_number_to_dec;
    if (from.id == T_DECIMAL)
        return type_is_integer(to) ? func_dec_to_int : to.id == T_NUMERIC ? func_dec_to_numeric : func_dec_to_float;
    switch ((TypeId)to.id) {
    case T_BOOL: return int_to_bool;
    case T_INT2:
    case T_INT4:
    case T_INT8:
        return from_int ? int_to_int : from_float ? float_to_int : from.id == T_NUMERIC ? num_to_int : bool_to_int;
    case T_NUMERIC: return to_numeric;
    case T_FLOAT4:
    case T_FLOAT8: return from_int ? int_to_float : from_float ? float_to_float : num_to_float;
    case T_DATE: return from.id == T_TIMESTAMP ? ts_to_date : tz_to_date;
    case T_TIME:
        return from.id == T_TIMESTAMP     ? ts_to_time
               : from.id == T_TIMESTAMPTZ ? tz_to_time
               : from.id == T_TIME        ? time_to_time
               : from.id == T_TIMETZ      ? timetz_to_time
                                          : iv_to_time;
    case T_TIMETZ: return from.id == T_TIME ? time_to_timetz : from.id == T_TIMETZ ? timetz_to_timetz : tz_to_timetz;
    case T_TIMESTAMP: return from.id == T_DATE ? date_to_ts : from.id == T_TIMESTAMP ? ts_to_ts : tz_to_ts;
    case T_TIMESTAMPTZ: return from.id == T_DATE ? date_to_tz : from.id == T_TIMESTAMPTZ ? ts_to_ts : ts_to_tz;
    case T_INTERVAL: return from.id == T_INTERVAL ? iv_to_iv : time_to_iv;
    default: return NULL;
    }
}
