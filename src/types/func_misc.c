/* func_misc.c - comparisons, greatest and least, session functions, random values, and aggregates.
 *
 * Comparisons exist for pairs of one type; the resolver brings both sides there. Floats compare totally
 * (NaN equals NaN and is greatest), intervals by length with months of 30 days. Aggregates have no
 * kernels here: a FuncDef names the AggKind, executors do the rest.
 */
#include <math.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#include "base/hash.h"
#include "types/array.h"
#include "types/dec.h"
#include "types/enums.h"
#include "types/func_int.h"
#include "types/json.h"
#include "types/oid.h"

/* ---- comparisons ---------------------------------------------------------------------- */

static inline int f64_cmp(double a, double b) {
    if (LIKELY(!isnan(a) && !isnan(b))) return (a > b) - (a < b);
    return isnan(a) ? !isnan(b) : -1;
}
static inline int iv_cmp(const Interval *a, const Interval *b) {
    int128_t x = interval_cmp_value(a), y = interval_cmp_value(b);
    return (x > y) - (x < y);
}
#define CMP_CASE(T, EXPR)                               \
    {                                                   \
        const T *pa = args[0].data, *pb = args[1].data; \
        for (int64_t i = 0; i < n; i++) {               \
            const T *a = pa + i * sa, *b = pb + i * sb; \
            r[i] = (EXPR);                              \
        }                                               \
        return ST_OK;                                   \
    }
#define CMP_KERNEL(fn, OP)                                                                      \
    KERNEL(fn) {                                                                                \
        KERNEL_UNUSED();                                                                        \
        const int64_t sa = args[0].is_const ? 0 : 1, sb = args[1].is_const ? 0 : 1;             \
        uint8_t *r = out->data;                                                                 \
        if (args[0].phys != args[1].phys) { /* numerics of different width */                   \
            for (int64_t i = 0; i < n; i++) r[i] = num_at(&args[0], i) OP num_at(&args[1], i);  \
            return ST_OK;                                                                       \
        }                                                                                       \
        switch ((Phys)args[0].phys) {                                                           \
        case PH_BOOL: CMP_CASE(uint8_t, *a OP *b)                                               \
        case PH_I16: CMP_CASE(int16_t, *a OP *b)                                                \
        case PH_I32: CMP_CASE(int32_t, *a OP *b)                                                \
        case PH_I64: CMP_CASE(int64_t, *a OP *b)                                                \
        case PH_I128: CMP_CASE(int128_t, *a OP *b)                                              \
        case PH_F32: CMP_CASE(float, f64_cmp((double)*a, (double)*b) OP 0)                      \
        case PH_F64: CMP_CASE(double, f64_cmp(*a, *b) OP 0)                                     \
        case PH_STR: CMP_CASE(Str, str_cmp(*a, *b) OP 0)                                        \
        case PH_INTERVAL: CMP_CASE(Interval, iv_cmp(a, b) OP 0)                                 \
        case PH_UUID: CMP_CASE(Uuid, memcmp(a->bytes, b->bytes, 16) OP 0)                       \
        default: return err_internal(ctx->err, "comparison of cells of kind %d", args[0].phys); \
        }                                                                                       \
    }
CMP_KERNEL(cmp_eq, ==)
CMP_KERNEL(cmp_ne, !=)
CMP_KERNEL(cmp_lt, <)
CMP_KERNEL(cmp_le, <=)
CMP_KERNEL(cmp_gt, >)
CMP_KERNEL(cmp_ge, >=)

/* sign: 1 for the greatest, -1 for the least; of equal ones the first. */
static Status extreme(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out, int sign) {
    Phys p = (Phys)out->phys;
    size_t w = (size_t)phys_size(p);
    for (int64_t i = 0; i < n; i++) {
        const void *best = NULL;
        Value most, x; /* the best one's and this one's */
        for (int k = 0; k < nargs; k++) {
            if (arg_null(&args[k], i)) continue;
            const void *c = arg_cell(&args[k], i);
            if (func_ordered_cell(ctx, args[k].type, p, c, &x) != ST_OK) return FAILED(i);
            if (best && cell_cmp(p, &x.u, &most.u) * sign <= 0) continue;
            best = c;
            most = x;
        }
        char *z = (char *)out->data + w * (size_t)i;
        out->valid[i] = best != NULL;
        if (best) memcpy(z, best, w);
        else if (p == PH_STR) *(Str *)(void *)z = STR0;
        else memset(z, 0, w);
    }
    return ST_OK;
}
KERNEL(greatest_any) { return extreme(ctx, n, args, nargs, out, 1); }
KERNEL(least_any) { return extreme(ctx, n, args, nargs, out, -1); }

static Status count_nulls(int64_t n, const Vec *args, int nargs, Vec *out, bool nulls) {
    for (int64_t i = 0; i < n; i++) {
        int32_t c = 0;
        for (int k = 0; k < nargs; k++) c += arg_null(&args[k], i) == nulls;
        ((int32_t *)out->data)[i] = c;
        out->valid[i] = 1;
    }
    return ST_OK;
}
KERNEL(num_nulls_any) { return (void)ctx, count_nulls(n, args, nargs, out, true); }
KERNEL(num_nonnulls_any) { return (void)ctx, count_nulls(n, args, nargs, out, false); }

/* ---- random values -------------------------------------------------------------------------- */

uint64_t random_stream(const SessionInfo *session) {
    RandomSource *r = session ? session->random : NULL;
    return r ? hash_combine(atomic_load(&r->seed), atomic_fetch_add(&r->uses, 1) * 0x9e3779b97f4a7c15ULL) : 0;
}
/* Every call site of every worker has its own stream (splitmix64). */
static uint64_t *random_state(FuncCtx *ctx) {
    if (ctx->state) return ctx->state;
    uint64_t *s = arena_alloc(ctx->state_arena, (int64_t)sizeof *s);
    if (!s) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        return NULL;
    }
    *s = random_stream(ctx->session);
    return ctx->state = s;
}
static uint64_t random_next(uint64_t *s) {
    uint64_t z = (*s += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}
KERNEL(random_f64) {
    KERNEL_UNUSED();
    uint64_t *s = random_state(ctx);
    if (!s) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) ((double *)out->data)[i] = (double)(random_next(s) >> 11) * 0x1p-53;
    return ST_OK;
}
K1F(setseed_f64, double, uint8_t, 0, {
    char text[VALUE_TEXT_MAX];
    if (!(x >= -1 && x <= 1)) text[cell_to_text(type_make(T_FLOAT8), &x, (TextForm){0}, text)] = 0;
    FAIL_IF(!(x >= -1 && x <= 1), i, ERR_INVALID_PARAMETER, "setseed parameter %s is out of allowed range [-1,1]",
            text);
    RandomSource *s = ctx->session ? ctx->session->random : NULL;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (s) {
        atomic_store(&s->seed, hash_u64(bits));
        atomic_store(&s->uses, 0);
    }
    z = 0;
})
KERNEL(random_uuid) {
    KERNEL_UNUSED();
    Uuid *r = out->data;
    for (int64_t i = 0; i < n; i++) {
        if (getrandom(r[i].bytes, 16, 0) != 16) FAIL(i, ERR_SYSTEM, "could not generate random values");
        r[i].bytes[6] = (uint8_t)((r[i].bytes[6] & 0x0f) | 0x40);
        r[i].bytes[8] = (uint8_t)((r[i].bytes[8] & 0x3f) | 0x80);
    }
    return ST_OK;
}
K1F(pg_sleep_f64, double, uint8_t, 0, {
    double left = x > 0 ? MIN_OF(x, 3600.0) : 0;
    struct timespec t = {(time_t)left, (long)((left - floor(left)) * 1e9)};
    (void)nanosleep(&t, NULL);
})

/* ---- session ------------------------------------------------------------------------------------ */

#define TEXT_CONST(fn, EXPR)                                                                         \
    KERNEL(fn) {                                                                                     \
        KERNEL_UNUSED();                                                                             \
        Slice v = slice_of(EXPR);                                                                    \
        for (int64_t i = 0; i < n; i++) ((Str *)out->data)[i] = str_make(v.ptr ? v.ptr : "", v.len); \
        return ST_OK;                                                                                \
    }
TEXT_CONST(version_text, "PostgreSQL 15.0 (Stele 0.1.0)")
TEXT_CONST(user_text, ctx->session ? ctx->session->user : "")
TEXT_CONST(session_user_text, ctx->session ? ctx->session->session_user : "")
TEXT_CONST(database_text, ctx->session ? ctx->session->database : "")
static Type tf_regtype(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, (void)a, oid_type(OID_TYPE);
}
KERNEL(typeof_any) {
    KERNEL_UNUSED();
    const SessionInfo *s = ctx->session;
    int64_t oid;
    if (!s || !s->oid_find) return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "there is no catalog here");
    TRY(s->oid_find(s->setting_ctx, OID_TYPE, slice_of(type_plain_name(args[0].type)), &oid, ctx->err));
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)out->data)[i] = oid;
        out->valid[i] = 1;
    }
    return ST_OK;
}
K2(bool_and2, uint8_t, uint8_t, uint8_t, x &y)
K2(bool_or2, uint8_t, uint8_t, uint8_t, x | y)

/* ---- result types of aggregates -------------------------------------------------------------------- */

static Type tf_sum(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    Type t = type_numeric(38, a[0].id == T_NUMERIC ? a[0].scale : 0);
    t.flags = a[0].id == T_NUMERIC ? a[0].flags & TF_UNCONSTRAINED : 0;
    return t;
}
static Type tf_avg(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return type_numeric(38, a[0].id == T_NUMERIC ? MAX_OF(a[0].scale, 16) : 16);
}
/* Variances and deviations of exact numbers: 16 digits after the point, or the argument's if that has more. Where
 * results may have more than the remaining digits before it, there are as many after it as leave room for those, but 12
 * at least: of bigint, and of numerics of more than 10 digits before the point. Numeric without (p,s) keeps its 16. */
static Type spread_type(Type a, int powers) {
    int s = a.id == T_NUMERIC ? a.scale : 0, want = MAX_OF(s, 16);
    int whole = a.id == T_INT2 ? 5 : a.id == T_INT4 ? 10 : a.id == T_INT8 ? 19 : a.precision - a.scale;
    int room = NUMERIC_MAX_PRECISION - powers * whole - 1;
    if (room < want && !(a.flags & TF_UNCONSTRAINED)) want = MAX_OF(room, 12);
    return type_numeric(NUMERIC_MAX_PRECISION, want);
}
static Type tf_var(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return spread_type(a[0], 2);
}
static Type tf_stddev(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return spread_type(a[0], 1);
}
/* ---- enumerated types: functions of the type of their arguments ------------------------------------- */

static Status enum_end(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool last) {
    const EnumType *x = enum_of(args[0].type);
    if (x && x->n > 0) TRY(enum_check_use(x, &x->labels[last ? x->n - 1 : 0], ctx->err));
    for (int64_t i = 0; i < n; i++) {
        out->valid[i] = x && x->n > 0;
        ((int32_t *)out->data)[i] = out->valid[i] ? x->labels[last ? x->n - 1 : 0].code : 0;
    }
    return ST_OK;
}
KERNEL(enum_first) {
    KERNEL_UNUSED();
    return enum_end(ctx, n, args, out, false);
}
KERNEL(enum_last) {
    KERNEL_UNUSED();
    return enum_end(ctx, n, args, out, true);
}
KERNEL(enum_range) {
    const EnumType *x = enum_of(args[0].type);
    const int32_t count = x ? x->n : 0;
    int32_t *codes = arena_array(ctx->arena, int32_t, count + 1);
    uint8_t *valid = arena_alloc(ctx->arena, count + 1);
    if (!codes || !valid) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    memset(valid, 1, (size_t)count + 1);
    for (int64_t i = 0; i < n; i++) {
        int32_t used = 0;
        out->valid[i] = 1;
        for (int32_t k = 0; k < count; k++) {
            const int32_t code = x->labels[k].code;
            if (nargs > 1 && !arg_null(&args[0], i) && code < AT(int32_t, 0, i)) continue;
            if (nargs > 1 && !arg_null(&args[1], i) && code > AT(int32_t, 1, i)) continue;
            TRY(enum_check_use(x, &x->labels[k], ctx->err));
            codes[used++] = code;
        }
        if (array_build(ctx->arena, PH_I32, used, codes, valid, (Str *)out->data + i, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

/* ---- table ---------------------------------------------------------------------------------------------- */

#define CMP(nm, T, op, fn, dc) DEF(nm, FN_OPERATOR | S_, T_BOOL, 2, ARGS(T, T), op, fn, NULL, dc)
#define CMP_DEFS(T)                                                                          \
    CMP("=", T, OP_EQ, cmp_eq, "equal"), CMP("<>", T, OP_NE, cmp_ne, "not equal"),           \
        CMP("!=", T, OP_NE, cmp_ne, "not equal"), CMP("<", T, OP_LT, cmp_lt, "less"),        \
        CMP("<=", T, OP_LE, cmp_le, "less or equal"), CMP(">", T, OP_GT, cmp_gt, "greater"), \
        CMP(">=", T, OP_GE, cmp_ge, "greater or equal")
#define AGG(nm, kind, rt, na, as, tf, dc) \
    { .name = nm, .flags = FN_AGGREGATE, .ret = rt, .nargs = na, .args = as, .agg = kind, .type_fn = tf, .doc = dc }
#define AGG1(nm, kind, rt, T, tf, dc) AGG(nm, kind, rt, 1, ARGS(T), tf, dc)
#define MIN_MAX(T) \
    AGG1("min", AGG_MIN, T, T, tf_first, "least value"), AGG1("max", AGG_MAX, T, T, tf_first, "greatest value")
#define BITS(T)                                                      \
    AGG1("bit_and", AGG_BIT_AND, T, T, NULL, "bitwise and of all"),  \
        AGG1("bit_or", AGG_BIT_OR, T, T, NULL, "bitwise or of all"), \
        AGG1("bit_xor", AGG_BIT_XOR, T, T, NULL, "bitwise exclusive or of all")
#define VAR(nm, kind, tf, dc)                                                                         \
    AGG1(nm, kind, T_NUMERIC, T_INT2, tf, dc), AGG1(nm, kind, T_NUMERIC, T_INT4, tf, dc),             \
        AGG1(nm, kind, T_NUMERIC, T_INT8, tf, dc), AGG1(nm, kind, T_NUMERIC, T_NUMERIC, tf, dc),      \
        AGG1(nm, kind, T_DECIMAL, T_DECIMAL, NULL, dc), AGG1(nm, kind, T_FLOAT8, T_FLOAT4, NULL, dc), \
        AGG1(nm, kind, T_FLOAT8, T_FLOAT8, NULL, dc)
#define REGR(nm, kind, dc) AGG(nm, kind, T_FLOAT8, 2, ARGS(T_FLOAT8, T_FLOAT8), NULL, dc)
/* current_setting(name [, missing_ok]) */
KERNEL(current_setting) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i], name = AT(Str, 0, i);
        *z = STR0;
        bool null = arg_null(&args[0], i) || (nargs > 1 && arg_null(&args[1], i));
        out->valid[i] = !null;
        if (null) continue;
        bool missing_ok = nargs > 1 && AT(uint8_t, 1, i);
        char *key = arena_strndup(ctx->arena, name.ptr, name.len);
        if (!key) return FAILED(i);
        for (char *p = key; *p; p++)
            if (*p >= 'A' && *p <= 'Z') *p = (char)(*p + 32);
        Err e = {0};
        const char *v = ctx->session && ctx->session->setting
                            ? ctx->session->setting(ctx->session->setting_ctx, ctx->arena, key, &e)
                            : NULL;
        out->valid[i] = v != NULL;
        if (v) *z = str_make(v, (int64_t)strlen(v));
        else FAIL_IF(!missing_ok, i, ERR_UNDEFINED_OBJECT, "unrecognized configuration parameter \"%s\"", key);
    }
    return ST_OK;
}

/* set_config(name, value, is_local): NULL as value means the default, as is_local false. */
KERNEL(set_config) {
    (void)nargs;
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i], name = AT(Str, 0, i), value = AT(Str, 1, i);
        *z = STR0;
        out->valid[i] = true;
        FAIL_IF(arg_null(&args[0], i), i, ERR_NULL_NOT_ALLOWED, "SET requires parameter name");
        FAIL_IF(!ctx->session || !ctx->session->set_setting, i, ERR_FEATURE_NOT_SUPPORTED,
                "settings cannot be changed here");
        bool is_local = !arg_null(&args[2], i) && AT(uint8_t, 2, i);
        char *key = arena_strndup(ctx->arena, name.ptr, name.len), *text = NULL;
        if (!key) return FAILED(i);
        if (!arg_null(&args[1], i) && !(text = arena_strndup(ctx->arena, value.ptr, value.len))) return FAILED(i);
        const char *v = ctx->session->set_setting(ctx->session->setting_ctx, ctx->arena, key, text, is_local, ctx->err);
        if (!v) return FAILED(i);
        *z = str_make(v, (int64_t)strlen(v));
    }
    return ST_OK;
}

#define SESSION(nm, fn, dc) DEF(nm, S_ | FN_STABLE, T_TEXT, 0, ARGS(0), OP_NONE, fn, NULL, dc)

static const FuncDef defs[] = {
    CMP_DEFS(T_BOOL),
    CMP_DEFS(T_INT2),
    CMP_DEFS(T_INT4),
    CMP_DEFS(T_INT8),
    CMP_DEFS(T_NUMERIC),
    CMP_DEFS(T_FLOAT4),
    CMP_DEFS(T_FLOAT8),
    CMP_DEFS(T_CHAR),
    CMP_DEFS(T_TEXT),
    CMP_DEFS(T_BYTEA),
    CMP_DEFS(T_DATE),
    CMP_DEFS(T_TIME),
    CMP_DEFS(T_TIMESTAMP),
    CMP_DEFS(T_TIMESTAMPTZ),
    CMP_DEFS(T_TIMETZ),
    CMP_DEFS(T_INTERVAL),
    CMP_DEFS(T_UUID),
    CMP_DEFS(T_OID),
    CMP_DEFS(T_LSN),
    CMP_DEFS(T_MONEY),
    CMP_DEFS(T_BIT),
    CMP_DEFS(T_VARBIT),
    CMP_DEFS(T_JSONB), /* of which the binder makes comparisons of keys */
    CMP_DEFS(T_ENUM),
    CMP_DEFS(T_COMPOSITE), /* likewise */
    CMP_DEFS(T_RANGE),
    CMP_DEFS(T_MULTIRANGE),
    DEF("greatest", FN_VARIADIC | FN_COMMON_TYPE, T_VOID, 1, ARGS(T_ANY), OP_NONE, greatest_any, NULL,
        "greatest argument, NULLs ignored"),
    DEF("least", FN_VARIADIC | FN_COMMON_TYPE, T_VOID, 1, ARGS(T_ANY), OP_NONE, least_any, NULL,
        "least argument, NULLs ignored"),
    DEF("num_nulls", FN_VARIADIC, T_INT4, 1, ARGS(T_ANY), OP_NONE, num_nulls_any, NULL, "number of NULL arguments"),
    DEF("num_nonnulls", FN_VARIADIC, T_INT4, 1, ARGS(T_ANY), OP_NONE, num_nonnulls_any, NULL,
        "number of other arguments"),
    DEF("random", S_ | FN_VOLATILE, T_FLOAT8, 0, ARGS(0), OP_NONE, random_f64, NULL, "0 <= random number < 1"),
    DEF("setseed", SF | FN_VOLATILE, T_VOID, 1, ARGS(T_FLOAT8), OP_NONE, setseed_f64, NULL,
        "from now on random() has the numbers of this seed, -1 to 1"),
    DEF("gen_random_uuid", S_ | FN_VOLATILE | FN_CAN_FAIL, T_UUID, 0, ARGS(0), OP_NONE, random_uuid, NULL,
        "random UUID"),
    DEF("pg_sleep", S_ | FN_VOLATILE, T_VOID, 1, ARGS(T_FLOAT8), OP_NONE, pg_sleep_f64, NULL, "waits some seconds"),
    SESSION("version", version_text, "version of the system"),
    SESSION("current_user", user_text, "user name"),
    SESSION("session_user", session_user_text, "user name"),
    SESSION("user", user_text, "user name"),
    SESSION("current_role", user_text, "user name"),
    SESSION("current_database", database_text, "database name"),
    SESSION("current_catalog", database_text, "database name"),
    DEF("current_setting", FN_NULL_ARGS | FN_STABLE | FN_CAN_FAIL, T_TEXT, 1, ARGS(T_TEXT), OP_NONE, current_setting,
        NULL, "text of a setting"),
    DEF("current_setting", FN_NULL_ARGS | FN_STABLE | FN_CAN_FAIL, T_TEXT, 2, ARGS(T_TEXT, T_BOOL), OP_NONE,
        current_setting, NULL, "text of a setting, NULL when there is none of that name"),
    DEF("current_setting_now", FN_NULL_ARGS | FN_VOLATILE | FN_CAN_FAIL, T_TEXT, 1, ARGS(T_TEXT), OP_NONE,
        current_setting, NULL, "internal: current_setting beside set_config"),
    DEF("current_setting_now", FN_NULL_ARGS | FN_VOLATILE | FN_CAN_FAIL, T_TEXT, 2, ARGS(T_TEXT, T_BOOL), OP_NONE,
        current_setting, NULL, "internal: current_setting beside set_config"),
    DEF("set_config", FN_VOLATILE | FN_CAN_FAIL, T_TEXT, 3, ARGS(T_TEXT, T_TEXT, T_BOOL), OP_NONE, set_config, NULL,
        "changes a setting, and returns its text"),
    DEF("enum_first", FN_CAN_FAIL, T_ENUM, 1, ARGS(T_ENUM), OP_NONE, enum_first, tf_first,
        "first label of the argument's type"),
    DEF("enum_last", FN_CAN_FAIL, T_ENUM, 1, ARGS(T_ENUM), OP_NONE, enum_last, tf_first,
        "last label of the argument's type"),
    DEF("enum_range", FN_CAN_FAIL, T_ARRAY, 1, ARGS(T_ENUM), OP_NONE, enum_range, tf_array_of,
        "all labels of the argument's type"),
    DEF("enum_range", FN_CAN_FAIL, T_ARRAY, 2, ARGS(T_ENUM, T_ENUM), OP_NONE, enum_range, tf_array_of,
        "labels from the first argument to the second; NULL: from the first label, to the last"),
    DEF("pg_typeof", FN_STABLE | FN_CAN_FAIL, T_OID, 1, ARGS(T_ANY), OP_NONE, typeof_any, tf_regtype,
        "type of the argument"),
    DEF("booland_statefunc", S_, T_BOOL, 2, ARGS(T_BOOL, T_BOOL), OP_NONE, bool_and2, NULL, "and"),
    DEF("boolor_statefunc", S_, T_BOOL, 2, ARGS(T_BOOL, T_BOOL), OP_NONE, bool_or2, NULL, "or"),

    AGG("count", AGG_COUNT_STAR, T_INT8, 0, ARGS(0), NULL, "number of rows"),
    AGG1("count", AGG_COUNT, T_INT8, T_ANY, NULL, "number of values"),
    AGG1("sum", AGG_SUM, T_INT8, T_INT2, NULL, "sum"),
    AGG1("sum", AGG_SUM, T_INT8, T_INT4, NULL, "sum"),
    AGG1("sum", AGG_SUM, T_NUMERIC, T_INT8, tf_sum, "sum"),
    AGG1("sum", AGG_SUM, T_NUMERIC, T_NUMERIC, tf_sum, "sum"),
    AGG1("sum", AGG_SUM, T_DECIMAL, T_DECIMAL, NULL, "sum"),
    AGG1("sum", AGG_SUM, T_FLOAT4, T_FLOAT4, NULL, "sum"),
    AGG1("sum", AGG_SUM, T_FLOAT8, T_FLOAT8, NULL, "sum"),
    AGG1("sum", AGG_SUM, T_INTERVAL, T_INTERVAL, NULL, "sum"),
    AGG1("sum", AGG_SUM, T_MONEY, T_MONEY, NULL, "sum"), /* of which the binder makes one of hundredths */
    AGG1("avg", AGG_AVG, T_INTERVAL, T_INTERVAL, NULL, "average"),
    AGG1("avg", AGG_AVG, T_NUMERIC, T_INT2, tf_avg, "average"),
    AGG1("avg", AGG_AVG, T_NUMERIC, T_INT4, tf_avg, "average"),
    AGG1("avg", AGG_AVG, T_NUMERIC, T_INT8, tf_avg, "average"),
    AGG1("avg", AGG_AVG, T_NUMERIC, T_NUMERIC, tf_avg, "average"),
    AGG1("avg", AGG_AVG, T_DECIMAL, T_DECIMAL, NULL, "average"),
    AGG1("avg", AGG_AVG, T_FLOAT8, T_FLOAT8, NULL, "average"),
    MIN_MAX(T_BOOL),
    MIN_MAX(T_INT2),
    MIN_MAX(T_INT4),
    MIN_MAX(T_INT8),
    MIN_MAX(T_NUMERIC),
    MIN_MAX(T_DECIMAL),
    MIN_MAX(T_FLOAT4),
    MIN_MAX(T_FLOAT8),
    MIN_MAX(T_CHAR),
    MIN_MAX(T_TEXT),
    MIN_MAX(T_BYTEA),
    MIN_MAX(T_DATE),
    MIN_MAX(T_ENUM),
    MIN_MAX(T_TIME),
    MIN_MAX(T_TIMESTAMP),
    MIN_MAX(T_TIMESTAMPTZ),
    MIN_MAX(T_TIMETZ),
    MIN_MAX(T_INTERVAL),
    MIN_MAX(T_UUID),
    MIN_MAX(T_OID),
    MIN_MAX(T_LSN),
    MIN_MAX(T_MONEY),
    AGG1("min_bytes", AGG_MIN, T_BIT, T_BIT, tf_first, "internal: least of what compares by its bytes"),
    AGG1("min_bytes", AGG_MIN, T_VARBIT, T_VARBIT, tf_first, "internal: least of what compares by its bytes"),
    AGG1("max_bytes", AGG_MAX, T_BIT, T_BIT, tf_first, "internal: greatest of what compares by its bytes"),
    AGG1("max_bytes", AGG_MAX, T_VARBIT, T_VARBIT, tf_first, "internal: greatest of what compares by its bytes"),
    AGG1("min_bytes", AGG_MIN, T_RANGE, T_RANGE, tf_first, "internal: least of what compares by its bytes"),
    AGG1("min_bytes", AGG_MIN, T_MULTIRANGE, T_MULTIRANGE, tf_first, "internal: least of what compares by its bytes"),
    AGG1("max_bytes", AGG_MAX, T_RANGE, T_RANGE, tf_first, "internal: greatest of what compares by its bytes"),
    AGG1("max_bytes", AGG_MAX, T_MULTIRANGE, T_MULTIRANGE, tf_first,
         "internal: greatest of what compares by its bytes"),
    AGG1("bool_and", AGG_BOOL_AND, T_BOOL, T_BOOL, NULL, "whether all are true"),
    AGG1("every", AGG_BOOL_AND, T_BOOL, T_BOOL, NULL, "whether all are true"),
    AGG1("bool_or", AGG_BOOL_OR, T_BOOL, T_BOOL, NULL, "whether some is true"),
    BITS(T_INT2),
    BITS(T_INT4),
    BITS(T_INT8),
    BITS(T_BIT),
    AGG1("any_value", AGG_ANY, T_VOID, T_ANY, tf_first, "some value"),
    VAR("var_pop", AGG_VAR_POP, tf_var, "population variance"),
    VAR("var_samp", AGG_VAR_SAMP, tf_var, "sample variance"),
    VAR("variance", AGG_VAR_SAMP, tf_var, "sample variance"),
    VAR("stddev_pop", AGG_STDDEV_POP, tf_stddev, "population standard deviation"),
    VAR("stddev_samp", AGG_STDDEV_SAMP, tf_stddev, "sample standard deviation"),
    VAR("stddev", AGG_STDDEV_SAMP, tf_stddev, "sample standard deviation"),
    AGG("string_agg", AGG_STRING_AGG, T_TEXT, 2, ARGS(T_TEXT, T_TEXT), NULL, "values joined by a delimiter"),
    AGG("string_agg", AGG_STRING_AGG, T_BYTEA, 2, ARGS(T_BYTEA, T_BYTEA), NULL, "values joined by a delimiter"),
    REGR("corr", AGG_CORR, "correlation coefficient"),
    REGR("covar_pop", AGG_COVAR_POP, "population covariance"),
    REGR("covar_samp", AGG_COVAR_SAMP, "sample covariance"),
    REGR("regr_avgx", AGG_REGR_AVGX, "average of the second argument"),
    REGR("regr_avgy", AGG_REGR_AVGY, "average of the first argument"),
    REGR("regr_intercept", AGG_REGR_INTERCEPT, "where the line of least squares crosses the y axis"),
    REGR("regr_r2", AGG_REGR_R2, "square of the correlation coefficient"),
    REGR("regr_slope", AGG_REGR_SLOPE, "slope of the line of least squares"),
    REGR("regr_sxx", AGG_REGR_SXX, "sum of squares of the second argument's deviations"),
    REGR("regr_sxy", AGG_REGR_SXY, "sum of products of the deviations"),
    REGR("regr_syy", AGG_REGR_SYY, "sum of squares of the first argument's deviations"),
    AGG("regr_count", AGG_REGR_COUNT, T_INT8, 2, ARGS(T_FLOAT8, T_FLOAT8), NULL, "number of pairs without NULL"),
};
const FuncDefs func_defs_misc = {defs, ARRAY_LEN(defs)};
