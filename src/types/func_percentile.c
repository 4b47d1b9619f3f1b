/* func_percentile.c - the outer functions of percentile_cont, percentile_disc and mode.
 *
 * The binder (sql/bind/bind_ordered.c) makes percentile_disc(f) WITHIN GROUP (ORDER BY x) of array_agg(x), in whatever
 * order, over the x that are not NULL: these functions sort the array and take of it what is wanted. NULL arrays are
 * groups without such an x. desc: the order of the sort.
 *
 *   percentile_at(array, fraction or fractions, desc)       percentile_disc: an element
 *   percentile_between(array, fraction or fractions, desc)  percentile_cont of doubles or intervals
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
    char *cells;    /* ascending */
    const Str *key; /* of each cell, where cells do not compare as the values do; or NULL */
} Sorted;

static bool no_memory(FuncCtx *ctx) {
    if (!err_is_set(ctx->err)) err_oom(ctx->err);
    return false;
}

typedef struct Keyed {
    Str key, cell;
} Keyed;
/* Of equal values the one whose bytes come first stands first. */
static int cmp_keyed(const void *a, const void *b) {
    const Keyed *x = a, *y = b;
    int c = str_cmp(x->key, y->key);
    return c ? c : str_cmp(x->cell, y->cell);
}
static bool sort_by_keys(FuncCtx *ctx, Type array, Sorted *s) {
    Keyed *all = arena_array(ctx->arena, Keyed, s->n + 1);
    Str *cells = (Str *)(void *)s->cells, *keys = arena_array(ctx->arena, Str, s->n + 1);
    if (!all || !keys) return no_memory(ctx);
    for (int64_t i = 0; i < s->n; i++) {
        Value key;
        if (func_ordered_cell(ctx, type_element(array), PH_STR, &cells[i], &key) != ST_OK) return false;
        all[i] = (Keyed){key.u.str, cells[i]};
    }
    qsort(all, (size_t)s->n, sizeof *all, cmp_keyed);
    for (int64_t i = 0; i < s->n; i++) {
        keys[i] = all[i].key;
        cells[i] = all[i].cell;
    }
    s->key = keys;
    return true;
}

static bool sort_array(FuncCtx *ctx, Type array, Str blob, bool desc, Sorted *s) {
    ArrayView v = array_view(blob);
    size_t w = (size_t)phys_size(v.phys);
    *s = (Sorted){.phys = v.phys, .desc = desc};
    if (!(s->cells = arena_alloc(ctx->arena, (int64_t)w * (v.n + 1)))) return no_memory(ctx);
    for (int64_t i = 0; i < v.n; i++)
        if (!array_is_null(&v, i)) array_get(&v, i, s->cells + w * (size_t)s->n++);
    if (v.phys == PH_STR && type_needs_key(array)) return sort_by_keys(ctx, array, s);
    qsort(s->cells, (size_t)s->n, w, cmp_of(v.phys));
    return true;
}
static int64_t sorted_place(const Sorted *s, int64_t i) { return s->desc ? s->n - 1 - i : i; }
static const void *sorted_at(const Sorted *s, int64_t i) { return s->cells + phys_size(s->phys) * sorted_place(s, i); }
static bool sorted_same(const Sorted *s, int64_t i, int64_t k) {
    if (s->key) return str_eq(s->key[sorted_place(s, i)], s->key[sorted_place(s, k)]);
    return cell_cmp(s->phys, sorted_at(s, i), sorted_at(s, k)) == 0;
}

/* ---- fractions ---------------------------------------------------------------------------- */

static bool fraction_ok(FuncCtx *ctx, double p) {
    if (p >= 0 && p <= 1) return true; /* not NaN */
    err_set(ctx->err, ERR_NUMERIC_RANGE, "percentile value %g is not between 0 and 1", p);
    return false;
}
/* percentile_disc: the first row at or behind which the fraction of the rows stands. */
static const void *element_at(const Sorted *s, double p) {
    double row = ceil(p * (double)s->n);
    return sorted_at(s, row < 1 ? 0 : (int64_t)row - 1);
}
/* percentile_cont: between the two rows around the fraction. */
static Status value_between(FuncCtx *ctx, int64_t i, const Sorted *s, double p, void *to) {
    double at = p * (double)(s->n - 1), part = at - floor(at);
    const void *lo = sorted_at(s, (int64_t)floor(at)), *hi = sorted_at(s, (int64_t)ceil(at));
    if (s->phys == PH_INTERVAL) {
        Interval a, b, z = {0};
        memcpy(&a, lo, sizeof a);
        memcpy(&b, hi, sizeof b);
        FAIL_IF(lo != hi && interval_between(a, b, part, &z), i, ERR_DATETIME_OVERFLOW, "interval out of range");
        memcpy(to, lo == hi ? &a : &z, sizeof a);
        return ST_OK;
    }
    double a, b;
    memcpy(&a, lo, sizeof a);
    memcpy(&b, hi, sizeof b);
    double z = lo == hi ? a : a + part * (b - a);
    memcpy(to, &z, sizeof z);
    return ST_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static Status take(FuncCtx *ctx, int64_t i, const Sorted *s, double p, bool between, void *to) {
    if (between) return value_between(ctx, i, s, p, to);
    memcpy(to, element_at(s, p), (size_t)phys_size(s->phys));
    return ST_OK;
}

/* What is taken for each of several fractions, as an array. */
static Status take_all(FuncCtx *ctx, int64_t i, const Sorted *s, Str fractions, bool between, Str *z) {
    ArrayView f = array_view(fractions);
    size_t w = (size_t)phys_size(s->phys);
    char *cells = arena_calloc(ctx->arena, (int64_t)w * (f.n + 1));
    uint8_t *valid = arena_calloc(ctx->arena, f.n + 1);
    if (!cells || !valid) {
        (void)no_memory(ctx);
        return FAILED(i);
    }
    for (int64_t k = 0; k < f.n; k++) {
        Value x; /* room for any cell */
        if (array_is_null(&f, k)) continue;
        array_get(&f, k, &x.u);
        if (!fraction_ok(ctx, x.u.f64)) return FAILED(i);
        valid[k] = 1;
        TRY(take(ctx, i, s, x.u.f64, between, cells + w * (size_t)k));
    }
    const ArrayShape shape = array_shape(&f);
    return array_build_shaped(ctx->arena, s->phys, &shape, cells, valid, z, ctx->err) == ST_OK ? ST_OK : FAILED(i);
}

static char *put_null(Vec *out, int64_t i) {
    size_t w = (size_t)phys_size((Phys)out->phys);
    char *cell = (char *)out->data + w * (size_t)i;
    out->valid[i] = 0;
    if (out->phys == PH_STR) *(Str *)(void *)cell = STR0;
    else memset(cell, 0, w);
    return cell;
}

static Status percentiles(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool between) {
    bool is_many = args[1].type.id == T_ARRAY;
    for (int64_t i = 0; i < n; i++) {
        char *cell = put_null(out, i);
        double p = 0;
        Sorted s;
        if (arg_null(&args[1], i)) continue;
        if (!is_many && !fraction_ok(ctx, p = AT(double, 1, i))) return FAILED(i);
        if (arg_null(&args[0], i)) continue;
        if (!sort_array(ctx, args[0].type, AT(Str, 0, i), AT(uint8_t, 2, i), &s)) return FAILED(i);
        if (s.n == 0) continue;
        out->valid[i] = 1;
        if (is_many) TRY(take_all(ctx, i, &s, AT(Str, 1, i), between, (Str *)(void *)cell));
        else TRY(take(ctx, i, &s, p, between, cell));
    }
    return ST_OK;
}
KERNEL(percentile_at) { return (void)nargs, percentiles(ctx, n, args, out, false); }
KERNEL(percentile_between) { return (void)nargs, percentiles(ctx, n, args, out, true); }

/* The value that comes most often; of several the first in the order. */
KERNEL(mode_of) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        char *cell = put_null(out, i);
        Sorted s;
        if (arg_null(&args[0], i)) continue;
        if (!sort_array(ctx, args[0].type, AT(Str, 0, i), AT(uint8_t, 1, i), &s)) return FAILED(i);
        const void *best = NULL;
        int64_t most = 0;
        for (int64_t k = 0, run; k < s.n; k += run) {
            for (run = 1; k + run < s.n && sorted_same(&s, k, k + run);) run++;
            if (run <= most) continue;
            most = run;
            best = sorted_at(&s, k);
        }
        if (!best) continue;
        out->valid[i] = 1;
        memcpy(cell, best, (size_t)phys_size(s.phys));
    }
    return ST_OK;
}

static const FuncDef defs[] = {
    DEF("percentile_at", FN_CAN_FAIL, T_VOID, 3, ARGS(T_ARRAY, T_FLOAT8, T_BOOL), OP_NONE, percentile_at, tf_element,
        "internal: the element of an array at a fraction of its sorted elements"),
    DEF("percentiles_at", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ARRAY, T_ARRAY, T_BOOL), OP_NONE, percentile_at, tf_first,
        "internal: percentile_at of several fractions"),
    DEF("percentile_between", FN_CAN_FAIL, T_VOID, 3, ARGS(T_ARRAY, T_FLOAT8, T_BOOL), OP_NONE, percentile_between,
        tf_element, "internal: the value at a fraction of an array's sorted elements"),
    DEF("percentiles_between", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ARRAY, T_ARRAY, T_BOOL), OP_NONE, percentile_between,
        tf_first, "internal: percentile_between of several fractions"),
    DEF("mode_of", FN_CAN_FAIL, T_VOID, 2, ARGS(T_ARRAY, T_BOOL), OP_NONE, mode_of, tf_element,
        "internal: the element that an array has most often"),
};
const FuncDefs func_defs_percentile = {defs, ARRAY_LEN(defs)};
