/* func_array_parts.c - arrays by their subscripts: ARRAY[...], elements, slices, sizes, what puts arrays together, and
 * assignments to elements and slices. The rules of subscripts are array_parts.c's.
 */
#include "types/func_array_int.h"

/* ---- ARRAY[...] ------------------------------------------------------------------------- */

KERNEL(array_make) {
    Phys ph = element_phys(ctx->ret);
    Cells c;
    if (!cells_init(ctx, &c, ph, nargs)) return no_memory(ctx, 0);
    for (int64_t i = 0; i < n; i++) {
        c.n = 0;
        for (int k = 0; k < nargs; k++) {
            bool null = arg_null(&args[k], i);
            void *cell = cells_add(&c, !null);
            if (null) memset(cell, 0, (size_t)phys_size(ph));
            else cell_as(&args[k], i, ph, cell);
        }
        out->valid[i] = 1;
        if (cells_done(ctx, &c, (Str *)out->data + i) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
/* Of arrays: one with a dimension more. */
KERNEL(array_make_nested) {
    Str *items = arena_array(ctx->arena, Str, nargs + 1);
    uint8_t *valid = arena_alloc(ctx->arena, nargs + 1);
    if (!items || !valid) return no_memory(ctx, 0);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < nargs; k++) {
            valid[k] = !arg_null(&args[k], i);
            items[k] = valid[k] ? AT(Str, k, i) : STR0;
        }
        out->valid[i] = 1;
        if (array_nest(ctx->arena, element_phys(ctx->ret), nargs, items, valid, (Str *)out->data + i, ctx->err) !=
            ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}
/* Two such arrays of the halves of a long list, as if it had been made at once. */
KNF(array_join_nested, Str, STR0, {
    const ArrayView a = array_view(AT(Str, 0, i));
    const ArrayView b = array_view(AT(Str, 1, i));
    const ArrayShape s = array_shape(&a);
    const ArrayShape t = array_shape(&b);
    FAIL_IF(s.n != t.n || (s.n > 1 && memcmp(s.dims + 1, t.dims + 1, sizeof s.dims[0] * (size_t)(s.n - 1)) != 0), i,
            ERR_ARRAY_SUBSCRIPT, "multidimensional arrays must have array expressions with matching dimensions");
    if (array_join(ctx->arena, element_phys(ctx->ret), AT(Str, 0, i), AT(Str, 1, i), &z, ctx->err) != ST_OK)
        return FAILED(i);
})

/* ---- elements and slices ------------------------------------------------------------------ */

/* The subscripts in args[first..nargs-1]; false when one is NULL. */
static bool subscripts(const Vec *args, int first, int nargs, int64_t i, int32_t *at) {
    for (int k = first; k < nargs; k++) {
        if (arg_null(&args[k], i)) return false;
        at[k - first] = AT(int32_t, k, i);
    }
    return true;
}

KERNEL(array_subscript) {
    KERNEL_UNUSED();
    size_t w = (size_t)phys_size((Phys)out->phys);
    int32_t at[ARRAY_MAX_DIMS];
    for (int64_t i = 0; i < n; i++) {
        char *cell = (char *)out->data + w * (size_t)i;
        out->valid[i] = 0;
        if (!arg_null(&args[0], i) && nargs - 1 <= ARRAY_MAX_DIMS && subscripts(args, 1, nargs, i, at)) {
            ArrayView a = array_view(AT(Str, 0, i));
            int64_t k = array_place(&a, nargs - 1, at);
            if (k >= 0 && !array_is_null(&a, k)) {
                array_get(&a, k, cell);
                out->valid[i] = 1;
                continue;
            }
        }
        if (out->phys == PH_STR) *(Str *)(void *)cell = STR0;
        else memset(cell, 0, w);
    }
    return ST_OK;
}
/* The element at a place among all, from 1 on, whatever the dimensions are. */
KERNEL(array_element) {
    KERNEL_UNUSED();
    size_t w = (size_t)phys_size((Phys)out->phys);
    for (int64_t i = 0; i < n; i++) {
        char *cell = (char *)out->data + w * (size_t)i;
        ArrayView a = array_view(arg_null(&args[0], i) ? STR0 : AT(Str, 0, i));
        int64_t k = arg_null(&args[1], i) ? -1 : AT(int32_t, 1, i) - INT64_C(1);
        out->valid[i] = k >= 0 && k < a.n && !array_is_null(&a, k);
        if (out->valid[i]) array_get(&a, k, cell);
        else if (out->phys == PH_STR) *(Str *)(void *)cell = STR0;
        else memset(cell, 0, w);
    }
    return ST_OK;
}
KNF(array_part, Str, STR0, {
    int32_t lower[ARRAY_MAX_DIMS];
    int32_t upper[ARRAY_MAX_DIMS];
    const int dims = (nargs - 1) / 2;
    for (int k = 0; k < dims && k < ARRAY_MAX_DIMS; k++) {
        lower[k] = AT(int32_t, 1 + 2 * k, i);
        upper[k] = AT(int32_t, 2 + 2 * k, i);
    }
    if (array_slice(ctx->arena, AT(Str, 0, i), dims, lower, upper, &z, ctx->err) != ST_OK) return FAILED(i);
})
KNF(array_trim, Str, STR0, {
    const Str x = AT(Str, 0, i);
    const ArrayView v = array_view(x);
    const ArrayDim d = v.n_dims ? array_dim(&v, 0) : (ArrayDim){0, 1};
    const int32_t k = AT(int32_t, 1, i);
    FAIL_IF(k < 0 || k > d.len, i, ERR_ARRAY_SUBSCRIPT, "number of elements to trim must be between 0 and %d", d.len);
    const int32_t lower = d.low;
    const int32_t upper = (int32_t)((int64_t)d.low + d.len - 1 - k);
    if ((k == d.len ? array_build(ctx->arena, v.phys, 0, NULL, NULL, &z, ctx->err)
                    : array_slice(ctx->arena, x, 1, &lower, &upper, &z, ctx->err)) != ST_OK)
        return FAILED(i);
})

/* ---- assignment ----------------------------------------------------------------------------- */

static Status set_element(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out, int value, int first) {
    Phys ph = element_phys(ctx->ret);
    int32_t at[ARRAY_MAX_DIMS];
    int dims = nargs - first;
    for (int64_t i = 0; i < n; i++) {
        FAIL_IF(dims > ARRAY_MAX_DIMS, i, ERR_PROGRAM_LIMIT,
                "number of array dimensions (%d) exceeds the maximum allowed (%d)", dims, ARRAY_MAX_DIMS);
        FAIL_IF(!subscripts(args, first, nargs, i, at), i, ERR_NULL_NOT_ALLOWED,
                "array subscript in assignment must not be null");
        Value x;
        bool null = arg_null(&args[value], i);
        if (!null) cell_as(&args[value], i, ph, &x.u);
        out->valid[i] = 1;
        if (array_with_element(ctx->arena, ph, arg_null(&args[0], i) ? STR0 : AT(Str, 0, i), dims, at,
                               null ? NULL : &x.u, (Str *)out->data + i, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}
/* a[i] = x, which kernels have too, and a[i][j].. = x. */
KERNEL(array_set) { return (void)nargs, set_element(ctx, n, args, 2, out, 2, 1); }
KERNEL(array_set_at) { return set_element(ctx, n, args, nargs, out, 1, 2); }

/* a[i:j].. = x. args[2]: per dimension two letters, 'b' for a bound that is there, '-' for one that is not. */
KERNEL(array_set_part) {
    for (int64_t i = 0; i < n; i++) {
        Str given = AT(Str, 2, i), old = arg_null(&args[0], i) ? STR0 : AT(Str, 0, i);
        ArraySlice s = {.n = (nargs - 3) / 2};
        FAIL_IF(s.n > ARRAY_MAX_DIMS, i, ERR_PROGRAM_LIMIT,
                "number of array dimensions (%d) exceeds the maximum allowed (%d)", s.n, ARRAY_MAX_DIMS);
        FAIL_IF(arg_null(&args[2], i) || given.len != 2 * (uint32_t)s.n, i, ERR_INVALID_PARAMETER,
                "array_set_part: invalid flags");
        for (int32_t k = 0; k < s.n; k++) {
            s.has_lower[k] = given.ptr[2 * k] == 'b';
            s.has_upper[k] = given.ptr[2 * k + 1] == 'b';
            FAIL_IF((s.has_lower[k] && arg_null(&args[3 + 2 * k], i)) ||
                        (s.has_upper[k] && arg_null(&args[4 + 2 * k], i)),
                    i, ERR_NULL_NOT_ALLOWED, "array subscript in assignment must not be null");
            s.lower[k] = s.has_lower[k] ? AT(int32_t, 3 + 2 * k, i) : 0;
            s.upper[k] = s.has_upper[k] ? AT(int32_t, 4 + 2 * k, i) : 0;
        }
        Str *z = (Str *)out->data + i;
        out->valid[i] = 1;
        Status st = arg_null(&args[1], i) /* changes nothing */
                        ? array_join(ctx->arena, element_phys(ctx->ret), old, STR0, z, ctx->err)
                        : array_with_part(ctx->arena, element_phys(ctx->ret), old, &s, AT(Str, 1, i), z, ctx->err);
        if (st != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- sizes -------------------------------------------------------------------------------------- */

typedef enum Bound { B_LENGTH, B_LOWER, B_UPPER } Bound;
static Status bounds(int64_t n, const Vec *args, Vec *out, Bound what) {
    for (int64_t i = 0; i < n; i++) {
        int32_t *z = (int32_t *)out->data + i;
        *z = out->valid[i] = 0;
        if (arg_null(&args[0], i) || arg_null(&args[1], i)) continue;
        ArrayView v = array_view(AT(Str, 0, i));
        int32_t k = AT(int32_t, 1, i);
        if (k < 1 || k > v.n_dims) continue;
        ArrayDim d = array_dim(&v, k - 1);
        out->valid[i] = 1;
        *z = what == B_LENGTH ? d.len : what == B_LOWER ? d.low : d.low + d.len - 1;
    }
    return ST_OK;
}
KERNEL(array_length) { return (void)ctx, (void)nargs, bounds(n, args, out, B_LENGTH); }
KERNEL(array_lower) { return (void)ctx, (void)nargs, bounds(n, args, out, B_LOWER); }
KERNEL(array_upper) { return (void)ctx, (void)nargs, bounds(n, args, out, B_UPPER); }
/* Of generate_subscripts: the subscripts of a dimension, from its end where args[2] is true. */
KNF(subscripts_array, Str, STR0, {
    const ArrayView v = array_view(AT(Str, 0, i));
    const int32_t k = AT(int32_t, 1, i);
    const bool reverse = nargs > 2 && AT(uint8_t, 2, i);
    const ArrayDim d = k >= 1 && k <= v.n_dims ? array_dim(&v, k - 1) : (ArrayDim){0, 1};
    Cells c;
    if (!cells_init(ctx, &c, PH_I32, d.len)) return no_memory(ctx, i);
    for (int32_t j = 0; j < d.len; j++) *(int32_t *)cells_add(&c, true) = d.low + (reverse ? d.len - 1 - j : j);
    if (cells_done(ctx, &c, &z) != ST_OK) return FAILED(i);
})
K1(array_cardinality, Str, int32_t, array_view(x).n)
KERNEL(array_ndims) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        int32_t dims = arg_null(&args[0], i) ? 0 : array_view(AT(Str, 0, i)).n_dims;
        ((int32_t *)out->data)[i] = dims;
        out->valid[i] = dims > 0;
    }
    return ST_OK;
}
KERNEL(array_dims) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        const ArrayView v = array_view(arg_null(&args[0], i) ? STR0 : AT(Str, 0, i));
        const char *text = "";
        for (int32_t k = 0; k < v.n_dims; k++) {
            ArrayDim d = array_dim(&v, k);
            if (!(text = arena_printf(ctx->arena, "%s[%d:%d]", text, d.low, d.low + d.len - 1)))
                return no_memory(ctx, i);
        }
        out->valid[i] = v.n_dims > 0;
        ((Str *)out->data)[i] = str_make(text, (int64_t)strlen(text));
    }
    return ST_OK;
}

/* ---- putting together ------------------------------------------------------------------------ */

/* One element more in front of an array or behind it; NULL stands for an array without elements. */
static Status extend(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, int array, int element, bool front) {
    Phys ph = element_phys(ctx->ret);
    for (int64_t i = 0; i < n; i++) {
        ArrayView a = array_view(arg_null(&args[array], i) ? STR0 : AT(Str, array, i));
        ArrayShape s = array_shape(&a);
        FAIL_IF(s.n > 1, i, ERR_DATA_EXCEPTION, "argument must be empty or one-dimensional array");
        if (s.n == 0) s = (ArrayShape){1, {{0, 1}}};
        FAIL_IF(front && s.dims[0].low == INT32_MIN, i, ERR_NUMERIC_RANGE, "integer out of range");
        s.dims[0].len++;
        Cells c;
        if (!cells_init(ctx, &c, ph, a.n + 1)) return no_memory(ctx, i);
        if (!front) cells_add_all(&c, &a);
        bool null = arg_null(&args[element], i);
        void *cell = cells_add(&c, !null);
        if (!null) cell_as(&args[element], i, ph, cell);
        if (front) cells_add_all(&c, &a);
        out->valid[i] = 1;
        if (cells_done_as(ctx, &c, &s, (Str *)out->data + i) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(array_append) { return (void)nargs, extend(ctx, n, args, out, 0, 1, false); }
KERNEL(array_prepend) { return (void)nargs, extend(ctx, n, args, out, 1, 0, true); }
KERNEL(array_cat) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        bool xn = arg_null(&args[0], i), yn = arg_null(&args[1], i);
        *z = xn && yn ? STR0 : xn ? AT(Str, 1, i) : AT(Str, 0, i);
        out->valid[i] = !xn || !yn;
        if (xn || yn) continue;
        if (array_join(ctx->arena, element_phys(ctx->ret), AT(Str, 0, i), AT(Str, 1, i), z, ctx->err) != ST_OK)
            return FAILED(i);
    }
    return ST_OK;
}

/* The numbers of an array argument of array_fill. */
static Status fill_numbers(FuncCtx *ctx, const Vec *args, int k, int64_t i, int32_t *n, int32_t *out) {
    ArrayView d;
    if (array_view_of(AT(Str, k, i), PH_I32, &d, ctx->err) != ST_OK) return FAILED(i);
    if (d.n_dims > 1) {
        err_set(ctx->err, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
        err_detail(ctx->err, "Dimension array must be one dimensional.");
        return FAILED(i);
    }
    *n = (int32_t)MIN_OF(d.n, INT32_MAX);
    for (int64_t j = 0; j < d.n; j++) {
        FAIL_IF(array_is_null(&d, j), i, ERR_NULL_NOT_ALLOWED, "dimension values cannot be null");
        if (j < ARRAY_MAX_DIMS) array_get(&d, j, &out[j]);
    }
    return ST_OK;
}
static Status fill_shape(FuncCtx *ctx, const Vec *args, int nargs, int64_t i, ArrayShape *s) {
    int32_t len[ARRAY_MAX_DIMS], low[ARRAY_MAX_DIMS], n_low;
    FAIL_IF(arg_null(&args[1], i) || (nargs > 2 && arg_null(&args[2], i)), i, ERR_NULL_NOT_ALLOWED,
            "dimension array or low bound array cannot be null");
    TRY(fill_numbers(ctx, args, 1, i, &s->n, len));
    FAIL_IF(s->n > ARRAY_MAX_DIMS, i, ERR_PROGRAM_LIMIT,
            "number of array dimensions (%d) exceeds the maximum allowed (%d)", s->n, ARRAY_MAX_DIMS);
    if (nargs > 2) {
        TRY(fill_numbers(ctx, args, 2, i, &n_low, low));
        if (n_low != s->n) {
            err_set(ctx->err, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
            err_detail(ctx->err, "Low bound array has different size than dimensions array.");
            return FAILED(i);
        }
    }
    for (int32_t k = 0; k < s->n; k++) s->dims[k] = (ArrayDim){len[k], nargs > 2 ? low[k] : 1};
    return ST_OK;
}
KERNEL(array_fill) {
    Phys ph = element_phys(ctx->ret);
    for (int64_t i = 0; i < n; i++) {
        ArrayShape s;
        int64_t count;
        TRY(fill_shape(ctx, args, nargs, i, &s));
        if (array_shape_count(&s, &count, ctx->err) != ST_OK) return FAILED(i);
        Cells c;
        if (!cells_init(ctx, &c, ph, count)) return no_memory(ctx, i);
        bool null = arg_null(&args[0], i);
        for (int64_t k = 0; k < count; k++) {
            void *cell = cells_add(&c, !null);
            if (!null) cell_as(&args[0], i, ph, cell);
        }
        out->valid[i] = 1;
        if (cells_done_as(ctx, &c, &s, (Str *)out->data + i) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- table --------------------------------------------------------------------------------------- */

#define AA ARGS(T_ARRAY, T_ARRAY)
#define AE ARGS(T_ARRAY, T_ANY)
#define AI ARGS(T_ARRAY, T_INT4)
static Type tf_int4s(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, (void)a, type_array_of(type_make(T_INT4));
}
static const FuncDef defs[] = {
    DEF("array_make", FN_VARIADIC | FN_CAN_FAIL, T_ARRAY, 1, ARGS(T_ANY), OP_NONE, array_make, tf_array_of,
        "internal: ARRAY[...]"),
    DEF("array_make_nested", FN_VARIADIC | FN_CAN_FAIL, T_ARRAY, 1, ARGS(T_ARRAY), OP_NONE, array_make_nested, tf_first,
        "internal: ARRAY[...] of arrays"),
    DEF("array_join_nested", SF, T_ARRAY, 2, AA, OP_NONE, array_join_nested, tf_first,
        "internal: two arrays of array_make_nested"),
    DEF("array_subscript", FN_VARIADIC, T_VOID, 2, AI, OP_NONE, array_subscript, tf_element,
        "internal: element of an array"),
    DEF("array_element", 0, T_VOID, 2, AI, OP_NONE, array_element, tf_element,
        "internal: element of an array by its place among all"),
    DEF("array_set", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ARRAY, T_INT4, T_ANY), OP_NONE, array_set, tf_first,
        "internal: array with another element"),
    DEF("array_set_at", FN_VARIADIC | FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ARRAY, T_ANY, T_INT4), OP_NONE, array_set_at,
        tf_first, "internal: array with another element, by several subscripts"),
    DEF("array_set_part", FN_VARIADIC | FN_CAN_FAIL, T_ARRAY, 5, ARGS(T_ARRAY, T_ARRAY, T_TEXT, T_INT4, T_INT4),
        OP_NONE, array_set_part, tf_first, "internal: array with another slice"),
    DEF("array_part", FN_VARIADIC | SF, T_ARRAY, 3, ARGS(T_ARRAY, T_INT4, T_INT4), OP_NONE, array_part, tf_first,
        "internal: slice of an array"),
    DEF("trim_array", SF, T_ARRAY, 2, AI, OP_NONE, array_trim, tf_first, "array without its last n elements"),
    DEF("cardinality", S_, T_INT4, 1, ARGS(T_ARRAY), OP_NONE, array_cardinality, NULL, "number of elements"),
    DEF("array_length", FN_NULL_ARGS, T_INT4, 2, AI, OP_NONE, array_length, NULL,
        "number of elements of a dimension, NULL when there is none"),
    DEF("array_upper", FN_NULL_ARGS, T_INT4, 2, AI, OP_NONE, array_upper, NULL, "last subscript of a dimension"),
    DEF("array_lower", FN_NULL_ARGS, T_INT4, 2, AI, OP_NONE, array_lower, NULL, "first subscript of a dimension"),
    DEF("subscripts_array", SF, T_ARRAY, 2, AI, OP_NONE, subscripts_array, tf_int4s,
        "internal: subscripts of a dimension"),
    DEF("subscripts_array", SF, T_ARRAY, 3, ARGS(T_ARRAY, T_INT4, T_BOOL), OP_NONE, subscripts_array, tf_int4s,
        "internal: subscripts of a dimension, in either direction"),
    DEF("array_ndims", FN_NULL_ARGS, T_INT4, 1, ARGS(T_ARRAY), OP_NONE, array_ndims, NULL, "number of dimensions"),
    DEF("array_dims", FN_NULL_ARGS, T_TEXT, 1, ARGS(T_ARRAY), OP_NONE, array_dims, NULL, "subscripts as text"),
    DEF("array_append", FN_CAN_FAIL, T_ARRAY, 2, AE, OP_NONE, array_append, tf_first,
        "array with one more element at its end"),
    DEF("array_prepend", FN_CAN_FAIL, T_ARRAY, 2, ARGS(T_ANY, T_ARRAY), OP_NONE, array_prepend, tf_second,
        "array with one more element in front"),
    DEF("array_cat", FN_CAN_FAIL, T_ARRAY, 2, AA, OP_NONE, array_cat, tf_first, "one array behind the other"),
    DEF("array_fill", FN_CAN_FAIL, T_ARRAY, 2, ARGS(T_ANY, T_INT4S), OP_NONE, array_fill, tf_array_of,
        "array of one value, of dimensions of these lengths"),
    DEF("array_fill", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ANY, T_INT4S, T_INT4S), OP_NONE, array_fill, tf_array_of,
        "array of one value, of dimensions of these lengths and first subscripts"),
};
const FuncDefs func_defs_array_parts = {defs, ARRAY_LEN(defs)};
