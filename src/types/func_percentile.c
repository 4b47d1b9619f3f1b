/* func_percentile.c - the outer functions of percentile_cont, percentile_disc and mode.
 *
 * The binder (sql/bind/bind_ordered.c) makes percentile_disc(f) WITHIN GROUP (ORDER BY x) of array_agg(x), in whatever
 * order, over the x that are not NULL: these functions sort the array and take of it what is wanted. NULL arrays are
 * groups without such an x. desc: the order of the sort.
 *
 *   percentile_at(array, fraction or fractions, desc, end)   end -1: percentile_disc's element; 0 and 1: the elements
 *                                                            between which percentile_cont's value lies
 *   percentile_part(array, fraction)                         where between them: 0 to 1
 *   percentile_between(float8[], fraction or fractions, desc)  percentile_cont
 *   mode_of(array, desc)
 */
#include <math.h>
#include <stdlib.h>

#include "types/array.h"
#include "types/func_int.h"

/* ---- sorted cells --------------------------------------------------------------------- */

#define SORT(NAME, PHYS) \
    static int NAME(const void *a, const void *b) { return cell_cmp(PHYS, a, b); }
SORT(cmp_bool, PH_BOOL)
SORT(cmp_i16, PH_I16)
SORT(cmp_i32, PH_I32)
SORT(cmp_i64, PH_I64)
SORT(cmp_i128, PH_I128)
SORT(cmp_f32, PH_F32)
SORT(cmp_f64, PH_F64)
SORT(cmp_str, PH_STR)
SORT(cmp_interval, PH_INTERVAL)
SORT(cmp_uuid, PH_UUID)
typedef int (*CellCmp)(const void *, const void *);
static CellCmp cmp_of(Phys p) {
    switch (p) {
    case PH_BOOL: return cmp_bool;
    case PH_I16: return cmp_i16;
    case PH_I32: return cmp_i32;
    case PH_I64: return cmp_i64;
    case PH_I128: return cmp_i128;
    case PH_F32: return cmp_f32;
    case PH_F64: return cmp_f64;
    case PH_INTERVAL: return cmp_interval;
    case PH_UUID: return cmp_uuid;
    default: return cmp_str;
    }
}

typedef struct Sorted {
    Phys phys;
    bool desc;
    int64_t n;
    char *cells; /* ascending */
} Sorted;

static bool sort_array(FuncCtx *ctx, Str blob, bool desc, Sorted *s) {
    ArrayView v = array_view(blob);
    size_t w = (size_t)phys_size(v.phys);
    *s = (Sorted){.phys = v.phys, .desc = desc};
    if (!(s->cells = arena_alloc(ctx->arena, (int64_t)w * (v.n + 1)))) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        return false;
    }
    for (int64_t i = 0; i < v.n; i++)
        if (!array_is_null(&v, i)) array_get(&v, i, s->cells + w * (size_t)s->n++);
    qsort(s->cells, (size_t)s->n, w, cmp_of(v.phys));
    return true;
}
static const void *sorted_at(const Sorted *s, int64_t i) {
    if (s->desc) i = s->n - 1 - i;
    return s->cells + phys_size(s->phys) * i;
}

/* ---- fractions ---------------------------------------------------------------------------- */

static bool fraction_ok(FuncCtx *ctx, double p) {
    if (p >= 0 && p <= 1) return true; /* not NaN */
    err_set(ctx->err, ERR_NUMERIC_RANGE, "percentile value %g is not between 0 and 1", p);
    return false;
}
/* The row of percentile_disc, or the one before or behind percentile_cont's value. */
static int64_t row_of(double p, int64_t n, int32_t end) {
    if (end < 0) {
        double row = ceil(p * (double)n);
        return row < 1 ? 0 : (int64_t)row - 1;
    }
    double at = p * (double)(n - 1);
    return (int64_t)(end == 0 ? floor(at) : ceil(at));
}
static double part_of(double p, int64_t n) {
    double at = p * (double)(n - 1);
    return at - floor(at);
}
static double value_between(const Sorted *s, double p) {
    double lo, hi;
    int64_t first = row_of(p, s->n, 0), second = row_of(p, s->n, 1);
    memcpy(&lo, sorted_at(s, first), sizeof lo);
    if (second == first) return lo;
    memcpy(&hi, sorted_at(s, second), sizeof hi);
    return lo + part_of(p, s->n) * (hi - lo);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* What is taken for each of several fractions. */
typedef struct Many {
    Phys phys;
    bool between; /* percentile_cont of doubles */
    int32_t end;
} Many;
static Status many(FuncCtx *ctx, int64_t i, const Many *m, const Sorted *s, Str fractions, Str *z) {
    ArrayView f = array_view(fractions);
    size_t w = (size_t)phys_size(m->phys);
    char *cells = arena_calloc(ctx->arena, (int64_t)w * (f.n + 1));
    uint8_t *valid = arena_calloc(ctx->arena, f.n + 1);
    if (!cells || !valid) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        return FAILED(i);
    }
    for (int64_t k = 0; k < f.n; k++) {
        Value x; /* room for any cell */
        if (array_is_null(&f, k)) continue;
        array_get(&f, k, &x.u);
        double p = x.u.f64;
        if (!fraction_ok(ctx, p)) return FAILED(i);
        valid[k] = 1;
        char *to = cells + w * (size_t)k;
        if (m->between) {
            double v = value_between(s, p);
            memcpy(to, &v, sizeof v);
        } else {
            memcpy(to, sorted_at(s, row_of(p, s->n, m->end)), w);
        }
    }
    return array_build(ctx->arena, m->phys, f.n, cells, valid, z, ctx->err) == ST_OK ? ST_OK : FAILED(i);
}

static void put_null(Vec *out, int64_t i) {
    size_t w = (size_t)phys_size((Phys)out->phys);
    out->valid[i] = 0;
    if (out->phys == PH_STR) ((Str *)out->data)[i] = STR0;
    else memset((char *)out->data + w * (size_t)i, 0, w);
}

static Status percentiles(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool between) {
    bool is_many = args[1].type.id == T_ARRAY;
    for (int64_t i = 0; i < n; i++) {
        int32_t end = between ? 0 : AT(int32_t, 3, i);
        double p = 0;
        Sorted s;
        put_null(out, i);
        if (arg_null(&args[1], i)) continue;
        if (!is_many && !fraction_ok(ctx, p = AT(double, 1, i))) return FAILED(i);
        if (arg_null(&args[0], i)) continue;
        if (!sort_array(ctx, AT(Str, 0, i), AT(uint8_t, 2, i), &s)) return FAILED(i);
        if (s.n == 0) continue;
        out->valid[i] = 1;
        if (is_many) {
            Many m = {s.phys, between, end};
            TRY(many(ctx, i, &m, &s, AT(Str, 1, i), (Str *)out->data + i));
        } else if (between) {
            ((double *)out->data)[i] = value_between(&s, p);
        } else {
            size_t w = (size_t)phys_size(s.phys);
            memcpy((char *)out->data + w * (size_t)i, sorted_at(&s, row_of(p, s.n, end)), w);
        }
    }
    return ST_OK;
}
KERNEL(percentile_at) { return (void)nargs, percentiles(ctx, n, args, out, false); }
KERNEL(percentile_between) { return (void)nargs, percentiles(ctx, n, args, out, true); }

KERNEL(percentile_part) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        put_null(out, i);
        if (arg_null(&args[0], i) || arg_null(&args[1], i)) continue;
        out->valid[i] = 1;
        ((double *)out->data)[i] = part_of(AT(double, 1, i), array_view(AT(Str, 0, i)).n);
    }
    return ST_OK;
}

/* The value that comes most often; of several the first in the order. */
KERNEL(mode_of) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Sorted s;
        put_null(out, i);
        if (arg_null(&args[0], i)) continue;
        if (!sort_array(ctx, AT(Str, 0, i), AT(uint8_t, 1, i), &s)) return FAILED(i);
        const void *best = NULL;
        int64_t most = 0;
        for (int64_t k = 0, run; k < s.n; k += run) {
            const void *first = sorted_at(&s, k);
            for (run = 1; k + run < s.n && cell_cmp(s.phys, first, sorted_at(&s, k + run)) == 0;) run++;
            if (run <= most) continue;
            most = run;
            best = first;
        }
        if (!best) continue;
        size_t w = (size_t)phys_size(s.phys);
        out->valid[i] = 1;
        memcpy((char *)out->data + w * (size_t)i, best, w);
    }
    return ST_OK;
}

static Type tf_element(const FuncDef *f, int nargs, const Type *a) { return (void)f, (void)nargs, type_element(a[0]); }
static Type tf_first(const FuncDef *f, int nargs, const Type *a) { return (void)f, (void)nargs, a[0]; }

static const FuncDef defs[] = {
    DEF("percentile_at", FN_CAN_FAIL, T_VOID, 4, ARGS(T_ARRAY, T_FLOAT8, T_BOOL, T_INT4), OP_NONE, percentile_at,
        tf_element, "internal: the element of an array at a fraction of its sorted elements"),
    DEF("percentiles_at", FN_CAN_FAIL, T_ARRAY, 4, ARGS(T_ARRAY, T_ARRAY, T_BOOL, T_INT4), OP_NONE, percentile_at,
        tf_first, "internal: percentile_at of several fractions"),
    DEF("percentile_part", FN_CAN_FAIL, T_FLOAT8, 2, ARGS(T_ARRAY, T_FLOAT8), OP_NONE, percentile_part, NULL,
        "internal: where a fraction lies between two elements"),
    DEF("percentile_between", FN_CAN_FAIL, T_FLOAT8, 3, ARGS(T_ARRAY, T_FLOAT8, T_BOOL), OP_NONE, percentile_between,
        NULL, "internal: the value at a fraction of an array's sorted elements"),
    DEF("percentiles_between", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ARRAY, T_ARRAY, T_BOOL), OP_NONE, percentile_between,
        tf_first, "internal: percentile_between of several fractions"),
    DEF("mode_of", FN_CAN_FAIL, T_VOID, 2, ARGS(T_ARRAY, T_BOOL), OP_NONE, mode_of, tf_element,
        "internal: the element that an array has most often"),
};
const FuncDefs func_defs_percentile = {defs, ARRAY_LEN(defs)};
