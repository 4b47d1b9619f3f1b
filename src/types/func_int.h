/* func_int.h - what the files of the function table share. Only src/types/func*.c may include it.
 *
 * Each func_<area>.c has one table (func_defs_<area>) and its kernels. Kernels are built from the
 * macros below: K1/K2 for total functions of one or two arguments, K1F/K2F for those that may fail
 * or allocate and therefore skip NULL rows.
 */
#ifndef STELE_TYPES_FUNC_INT_H
#define STELE_TYPES_FUNC_INT_H

#include "types/array.h"
#include "types/func.h"
#include "types/zone.h"

/* "any type" in FuncDef.args. */
#define T_ANY T_VOID
/* Arrays of text, of integer: kernels read the elements without asking for their form. */
#define T_TEXTS (FUNC_ARRAY_OF | T_TEXT)
#define T_INT4S (FUNC_ARRAY_OF | T_INT4)

typedef struct FuncDefs {
    const FuncDef *defs;
    int64_t count;
} FuncDefs;
extern const FuncDefs func_defs_numeric, func_defs_text, func_defs_regex, func_defs_datetime, func_defs_format,
    func_defs_format_num, func_defs_misc, func_defs_sorted, func_defs_array, func_defs_array_parts,
    func_defs_percentile, func_defs_rows, func_defs_record, func_defs_composite, func_defs_dec, func_defs_json,
    func_defs_json_set, func_defs_json_make, func_defs_json_populate, func_defs_jsonpath, func_defs_bits,
    func_defs_sequence, func_defs_catalog, func_defs_range, func_defs_encode, func_defs_lsn, func_defs_money,
    func_defs_names;

/* Longest string a function may build. */
#define STR_MAX_BYTES INT64_C(1073741823)

/* ---- rows ---------------------------------------------------------------- */
#define KERNEL(fn) static Status fn(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out)
#define KERNEL_UNUSED() ((void)ctx, (void)n, (void)args, (void)nargs, (void)out)
#define AT(T, k, i) (((const T *)args[k].data)[args[k].is_const ? 0 : (i)])
#define FAIL(i, ...)                           \
    do {                                       \
        ctx->error_row = (i);                  \
        return err_set(ctx->err, __VA_ARGS__); \
    } while (0)
#define FAIL_IF(cond, i, ...)                     \
    do {                                          \
        if (UNLIKELY(cond)) FAIL(i, __VA_ARGS__); \
    } while (0)
/* A callee has set ctx->err. */
#define FAILED(i) (ctx->error_row = (i), ST_ERROR)

static inline bool row_valid(const Vec *out, int64_t i) { return !out->valid || out->valid[i]; }
static inline bool arg_null(const Vec *v, int64_t i) { return v->valid && !v->valid[v->is_const ? 0 : i]; }
static inline const void *arg_cell(const Vec *v, int64_t i) {
    return (const char *)v->data + (v->is_const ? 0 : i * phys_size((Phys)v->phys));
}
static inline const Zone *ctx_zone(const FuncCtx *ctx) {
    zone_reads++;
    return ctx->session ? ctx->session->form.zone : NULL;
}
/* A finite timestamptz on the clocks of the session's zone, and the instant at which they show a timestamp. */
static inline int64_t ctx_local(const FuncCtx *ctx, int64_t ts) {
    return ts + zone_offset_at(ctx_zone(ctx), ts) * USECS_PER_SEC;
}
static inline int64_t ctx_instant(const FuncCtx *ctx, int64_t local) {
    return local - zone_offset_of_local(ctx_zone(ctx), local) * USECS_PER_SEC;
}
static inline TextForm ctx_form(const FuncCtx *ctx) {
    zone_reads++;
    return ctx->session ? ctx->session->form : (TextForm){0};
}
static inline int64_t ctx_now(const FuncCtx *ctx) {
    time_reads++;
    return ctx->session ? ctx->session->now_micros : 0;
}

/* Memory for a result string; sets ctx->err when there is none. */
static inline char *ctx_alloc(FuncCtx *ctx, int64_t bytes) {
    if (UNLIKELY(bytes > STR_MAX_BYTES)) {
        err_set(ctx->err, ERR_PROGRAM_LIMIT, "requested length too large");
        return NULL;
    }
    char *p = arena_alloc(ctx->arena, bytes > 0 ? bytes : 1);
    if (UNLIKELY(!p) && !err_is_set(ctx->err)) err_oom(ctx->err);
    return p;
}
static inline bool ctx_str(FuncCtx *ctx, const char *p, int64_t len, Str *out) {
    char *m = ctx_alloc(ctx, len);
    if (!m) return false;
    if (len) memcpy(m, p, (size_t)len);
    *out = str_make(m, len);
    return true;
}
static inline Slice slice_of_str(Str s) { return (Slice){s.ptr, s.len}; }
/* Any cell by its type's output function (bool "t"/"f", char(n) padded); borrowed or in ctx->arena. */
Status func_cell_output(FuncCtx *ctx, Type t, const void *cell, Str *out);

#define K1_(fn, CAST, TA, TR, ...)                   \
    KERNEL(fn) {                                     \
        KERNEL_UNUSED();                             \
        const TA *pa = args[0].data;                 \
        const int64_t sa = args[0].is_const ? 0 : 1; \
        TR *r = out->data;                           \
        for (int64_t i = 0; i < n; i++) {            \
            const TA x = pa[i * sa];                 \
            r[i] = CAST(__VA_ARGS__);                \
        }                                            \
        return ST_OK;                                \
    }
#define K2_(fn, CAST, TA, TB, TR, ...)                                              \
    KERNEL(fn) {                                                                    \
        KERNEL_UNUSED();                                                            \
        const TA *pa = args[0].data;                                                \
        const TB *pb = args[1].data;                                                \
        const int64_t sa = args[0].is_const ? 0 : 1, sb = args[1].is_const ? 0 : 1; \
        TR *r = out->data;                                                          \
        for (int64_t i = 0; i < n; i++) {                                           \
            const TA x = pa[i * sa];                                                \
            const TB y = pb[i * sb];                                                \
            r[i] = CAST(__VA_ARGS__);                                               \
        }                                                                           \
        return ST_OK;                                                               \
    }
#define K1(fn, TA, TR, ...) K1_(fn, (TR), TA, TR, __VA_ARGS__)
#define K2(fn, TA, TB, TR, ...) K2_(fn, (TR), TA, TB, TR, __VA_ARGS__)
/* For results that are structs. */
#define K1S(fn, TA, TR, ...) K1_(fn, , TA, TR, __VA_ARGS__)
#define K2S(fn, TA, TB, TR, ...) K2_(fn, , TA, TB, TR, __VA_ARGS__)
/* The body assigns z; NULL rows get `zero`. */
#define KNF(fn, TR, zero, ...)               \
    KERNEL(fn) {                             \
        KERNEL_UNUSED();                     \
        TR *r = out->data;                   \
        for (int64_t i = 0; i < n; i++) {    \
            TR z = zero;                     \
            if (LIKELY(row_valid(out, i))) { \
                __VA_ARGS__                  \
            }                                \
            r[i] = z;                        \
        }                                    \
        return ST_OK;                        \
    }
#define K1F(fn, TA, TR, zero, ...) KNF(fn, TR, zero, const TA x = AT(TA, 0, i); __VA_ARGS__)
#define K2F(fn, TA, TB, TR, zero, ...) \
    KNF(fn, TR, zero, const TA x = AT(TA, 0, i); const TB y = AT(TB, 1, i); __VA_ARGS__)
#define STR0 str_make("", 0)

/* ---- numerics ------------------------------------------------------------ */
static inline int128_t num_at(const Vec *v, int64_t i) {
    int64_t k = v->is_const ? 0 : i;
    return v->phys == PH_I64 ? ((const int64_t *)v->data)[k] : ((const int128_t *)v->data)[k];
}
/* Stores a numeric of scale `scale` at the result's scale; false on overflow of its precision. */
bool num_put(const FuncCtx *ctx, Vec *out, int64_t i, int128_t v, int scale);
Status num_overflow(FuncCtx *ctx, int64_t i); /* 22003 with the field's limits */
static inline void num_zero(Vec *out, int64_t i) {
    if (out->phys == PH_I64) ((int64_t *)out->data)[i] = 0;
    else ((int128_t *)out->data)[i] = 0;
}

/* A numeric of any form as an argument (func_dec.c); in ctx->arena. */
struct Dec;
Status func_dec_arg(FuncCtx *ctx, const Vec *v, int64_t i, struct Dec *out);
/* Casts of numeric without (p,s). */
Status func_number_to_dec(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
/* func_money.c */
Status func_number_to_money(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_dec_to_int(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_dec_to_float(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_dec_to_numeric(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);

/* Casts of bit strings (func_bits.c): to another length, as explicit casts do it, or else an error; of texts, to the
 * length too; of integers, integer and bigint. */
Status func_bits_to_bits_explicit(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_bits_to_bits(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_text_to_bits(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_int_to_bits(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_bits_to_int(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);

/* Casts of JSON (func_json.c). */
Status func_to_jsonb(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);
Status func_jsonb_to_scalar(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);

/* A range as a multirange of its type (func_range.c). */
Status func_range_to_multirange(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);

/* ---- dates (func_datetime.c) -------------------------------------------- */
static inline int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
static inline int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }
#define TS_MIN_VALID INT64_C(-211813488000000000) /* 4714-11-24 BC */
#define TS_MAX_END INT64_C(9223371331200000000)   /* 294277-01-01 */
static inline bool ts_in_range(int64_t t) { return t >= TS_MIN_VALID && t < TS_MAX_END; }
static inline bool ts_finite(int64_t t) { return t != TS_NEG_INF && t != TS_POS_INF; }
/* date -> timestamp; true when out of range. */
bool date_to_timestamp(int32_t d, int64_t *out);
typedef struct TsParts {
    int64_t year; /* 0 = 1 BC */
    int month, day, hour, minute, second, usec, dow, doy;
} TsParts;
void ts_to_parts(int64_t ts, TsParts *p);
int iso_week_of(int64_t y, int m, int d, int64_t *iso_year);
int32_t iso_week_start(int64_t iso_year, int week);
/* lo + (hi - lo) * part; true when out of range. */
bool interval_between(Interval lo, Interval hi, double part, Interval *z);

/* ---- regular expressions (func_regex.c) ---------------------------------- */
/* substring(text from pattern): non-strict kernel, NULL when nothing matches. */
Status func_substring_regex(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out);

/* An option's letter as PCRE2's options (regex_pattern.c); false: there is no such option. */
bool regex_flag(char c, uint32_t *options);
/* PostgreSQL's spelling to Perl's; out has room for 12 bytes per byte, options may gain those of the pattern's prefix.
 * 2201B. */
Status regex_translate(Str pattern, uint32_t *options, char *out, int64_t *len, Err *err);
const char *regex_error_text(int code); /* PostgreSQL's words for an error of PCRE2's compiler, or NULL */

/* ---- sort keys (func_sorted.c) ------------------------------------------- */
typedef struct KeyOut {
    char *p; /* NULL: only counts */
    int64_t len;
} KeyOut;
/* A non-NULL cell as bytes that compare with memcmp as the cells do; none is the beginning of another. */
void func_put_key(KeyOut *o, Phys phys, const void *cell);
/* The same of any type's cell: by the value's key (numeric_key, jsonb_key), and of arrays by those of their elements.
 * ctx->err when there is no memory. */
Status func_put_value_key(FuncCtx *ctx, KeyOut *o, Type t, Phys phys, const void *cell);
/* The bytes of func_put_value_key() in ctx->arena. */
Status func_value_key(FuncCtx *ctx, Type t, Phys phys, const void *cell, Str *out);
/* A cell whose order among others by cell_cmp() is that of the values: the key where the order of cells is another. */
Status func_ordered_cell(FuncCtx *ctx, Type t, Phys phys, const void *cell, Value *out);
/* Of arrays of one type, a view with such cells as elements. */
Status func_ordered_array(FuncCtx *ctx, Type array, Str blob, ArrayView *out);
/* The shape of an array of n elements at the end of its key [at, end). False when it is none. */
bool func_get_shape_key(const char *at, const char *end, int64_t n, ArrayShape *out);
/* The cell of a key at *at, which moves behind it. Strings go to *text, which moves on. False when there is none; not
 * for intervals. */
bool func_get_key(const char **at, const char *end, Phys phys, void *cell, char **text);

/* ---- types of results ---------------------------------------------------- */
static inline Type tf_first(const FuncDef *f, int nargs, const Type *a) { return (void)f, (void)nargs, a[0]; }
static inline Type tf_second(const FuncDef *f, int nargs, const Type *a) { return (void)f, (void)nargs, a[1]; }
static inline Type tf_element(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, type_element(a[0]);
}
static inline Type tf_array_of(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, type_array_of(a[0]);
}
static inline Type tf_texts(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, (void)a, type_array_of(type_make(T_TEXT));
}

/* ---- table rows ---------------------------------------------------------- */
#define ARGS(...) \
    { __VA_ARGS__ }
#define DEF(nm, fl, rt, na, as, op, kn, tf, dc)                                                                   \
    {                                                                                                             \
        .name = nm, .flags = (fl), .ret = rt, .nargs = na, .args = as, .opcode = op, .kernel = kn, .type_fn = tf, \
        .doc = dc                                                                                                 \
    }
#define SF (FN_STRICT | FN_CAN_FAIL)
#define NF (FN_NULL_ARGS | FN_CAN_FAIL)
#define S_ FN_STRICT

#endif
