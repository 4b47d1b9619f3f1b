/* func_array.c - functions and operators of arrays.
 *
 * The binder (sql/bind/bind_array.c) makes the element types of all arguments agree beforehand: kernels compare cells
 * of one form, or (func_ordered_array) keys in place of values whose cells do not compare as they do. array_agg is
 * string_agg over array_entry, put together by array_from_entries; ORDER BY, min and max of arrays go through
 * array_sort_key, whose bytes compare as the arrays do.
 */
#include "types/array.h"
#include "types/dec.h"
#include "types/func_array_int.h"
#include "types/func_int.h"
#include "types/json.h"

/* ---- looking for elements ------------------------------------------------------------------------ */

/* Whether element j is the value (NULL is NULL's equal, as in IS NOT DISTINCT FROM). */
static bool same(const ArrayView *a, int64_t j, bool null, const Value *x) {
    if (null || array_is_null(a, j)) return null && array_is_null(a, j);
    Value y;
    array_get(a, j, &y.u);
    return cell_cmp(a->phys, &y.u, &x->u) == 0;
}
/* The value of args[k] as the elements of func_ordered_array() are. */
static Status value_arg(FuncCtx *ctx, const Vec *args, int k, int64_t i, Type array, bool *null, Value *x) {
    Value v;
    *null = arg_null(&args[k], i);
    if (*null) return ST_OK;
    cell_as(&args[k], i, element_phys(array), &v.u);
    return func_ordered_cell(ctx, type_element(array), element_phys(array), &v.u, x) == ST_OK ? ST_OK : FAILED(i);
}
/* The array of args[k] for comparisons of its elements. */
static Status array_arg(FuncCtx *ctx, const Vec *args, int k, int64_t i, ArrayView *out) {
    return func_ordered_array(ctx, args[k].type, AT(Str, k, i), out) == ST_OK ? ST_OK : FAILED(i);
}

static Status searchable(FuncCtx *ctx, int64_t i, const ArrayView *a) {
    FAIL_IF(a->n_dims > 1, i, ERR_FEATURE_NOT_SUPPORTED,
            "searching for elements in multidimensional arrays is not supported");
    return ST_OK;
}
KERNEL(array_position) {
    for (int64_t i = 0; i < n; i++) {
        Value x;
        ArrayView a;
        bool null;
        out->valid[i] = 0;
        ((int32_t *)out->data)[i] = 0;
        if (arg_null(&args[0], i)) continue;
        FAIL_IF(nargs > 2 && arg_null(&args[2], i), i, ERR_NULL_NOT_ALLOWED, "initial position must not be null");
        const ArrayView whole = array_view(AT(Str, 0, i));
        TRY(searchable(ctx, i, &whole));
        TRY(value_arg(ctx, args, 1, i, args[0].type, &null, &x));
        TRY(array_arg(ctx, args, 0, i, &a));
        const int64_t low = array_dim(&whole, 0).low;
        int64_t j = nargs > 2 ? MAX_OF(AT(int32_t, 2, i) - low, 0) : 0;
        while (j < a.n && !same(&a, j, null, &x)) j++;
        if (j >= a.n) continue;
        out->valid[i] = 1;
        ((int32_t *)out->data)[i] = (int32_t)(low + j);
    }
    return ST_OK;
}
KERNEL(array_positions) {
    KERNEL_UNUSED();
    for (int64_t i = 0; i < n; i++) {
        Value x;
        Cells c;
        ArrayView a;
        bool null;
        out->valid[i] = !arg_null(&args[0], i);
        ((Str *)out->data)[i] = STR0;
        if (!out->valid[i]) continue;
        const ArrayView whole = array_view(AT(Str, 0, i));
        TRY(searchable(ctx, i, &whole));
        TRY(value_arg(ctx, args, 1, i, args[0].type, &null, &x));
        TRY(array_arg(ctx, args, 0, i, &a));
        if (!cells_init(ctx, &c, PH_I32, a.n)) return no_memory(ctx, i);
        for (int64_t j = 0; j < a.n; j++)
            if (same(&a, j, null, &x)) *(int32_t *)cells_add(&c, true) = (int32_t)(array_dim(&whole, 0).low + j);
        if (cells_done(ctx, &c, (Str *)out->data + i) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
/* Removes what equals args[1], or puts args[2] in its place. */
static Status replace(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, bool by) {
    Phys ph = element_phys(ctx->ret);
    for (int64_t i = 0; i < n; i++) {
        Value x;
        Cells c;
        ArrayView ordered;
        bool null;
        out->valid[i] = !arg_null(&args[0], i);
        ((Str *)out->data)[i] = STR0;
        if (!out->valid[i]) continue;
        TRY(value_arg(ctx, args, 1, i, args[0].type, &null, &x));
        TRY(array_arg(ctx, args, 0, i, &ordered));
        ArrayView a = array_view(AT(Str, 0, i));
        FAIL_IF(!by && a.n_dims > 1, i, ERR_FEATURE_NOT_SUPPORTED,
                "removing elements from multidimensional arrays is not supported");
        if (!cells_init(ctx, &c, ph, a.n)) return no_memory(ctx, i);
        for (int64_t j = 0; j < a.n; j++) {
            if (!same(&ordered, j, null, &x)) {
                array_get(&a, j, cells_add(&c, !array_is_null(&a, j)));
            } else if (by) {
                bool to_null = arg_null(&args[2], i);
                void *cell = cells_add(&c, !to_null);
                if (!to_null) cell_as(&args[2], i, ph, cell);
            }
        }
        ArrayShape s = array_shape(&a);
        if (s.n == 1) s.dims[0].len = (int32_t)c.n;
        if (cells_done_as(ctx, &c, &s, (Str *)out->data + i) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(array_remove) { return (void)nargs, replace(ctx, n, args, out, false); }
KERNEL(array_replace) { return (void)nargs, replace(ctx, n, args, out, true); }

typedef enum CmpOp { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE } CmpOp;
static bool holds(CmpOp op, int c) {
    switch (op) {
    case C_EQ: return c == 0;
    case C_NE: return c != 0;
    case C_LT: return c < 0;
    case C_LE: return c <= 0;
    case C_GT: return c > 0;
    case C_GE: return c >= 0;
    }
    return false;
}
/* x op ANY (array), x op ALL (array), three-valued. */
static Status quantified(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, CmpOp op, bool all) {
    for (int64_t i = 0; i < n; i++) {
        Value x, y;
        ArrayView a;
        bool null, unknown = false, decided = false;
        uint8_t *r = (uint8_t *)out->data + i;
        *r = all;
        out->valid[i] = !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        TRY(value_arg(ctx, args, 0, i, args[1].type, &null, &x));
        TRY(array_arg(ctx, args, 1, i, &a));
        for (int64_t j = 0; j < a.n && !decided; j++) {
            if (null || array_is_null(&a, j)) {
                unknown = true;
                continue;
            }
            array_get(&a, j, &y.u);
            decided = holds(op, cell_cmp(a.phys, &x.u, &y.u)) != all;
        }
        if (decided) *r = !all;
        else out->valid[i] = !unknown;
    }
    return ST_OK;
}
#define QUANTIFIED(nm, op)                                                             \
    KERNEL(any_##nm) { return (void)nargs, quantified(ctx, n, args, out, op, false); } \
    KERNEL(all_##nm) { return (void)nargs, quantified(ctx, n, args, out, op, true); }
QUANTIFIED(eq, C_EQ)
QUANTIFIED(ne, C_NE)
QUANTIFIED(lt, C_LT)
QUANTIFIED(le, C_LE)
QUANTIFIED(gt, C_GT)
QUANTIFIED(ge, C_GE)

/* ---- comparisons, sets ----------------------------------------------------------------------------- */

K2(array_eq, Str, Str, uint8_t, str_eq(x, y))
K2(array_ne, Str, Str, uint8_t, !str_eq(x, y))
K2(array_lt, Str, Str, uint8_t, array_cmp(x, y) < 0)
K2(array_le, Str, Str, uint8_t, array_cmp(x, y) <= 0)
K2(array_gt, Str, Str, uint8_t, array_cmp(x, y) > 0)
K2(array_ge, Str, Str, uint8_t, array_cmp(x, y) >= 0)

static bool has(const ArrayView *a, const ArrayView *in, int64_t j) {
    Value x;
    if (array_is_null(in, j)) return false;
    array_get(in, j, &x.u);
    for (int64_t k = 0; k < a->n; k++)
        if (!array_is_null(a, k) && same(a, k, false, &x)) return true;
    return false;
}
/* Whether the array of args[k] has every element of that of args[1 - k]. */
static Status contains(FuncCtx *ctx, const Vec *args, int k, int64_t i, uint8_t *z) {
    ArrayView a, b;
    TRY(array_arg(ctx, args, k, i, &a));
    TRY(array_arg(ctx, args, 1 - k, i, &b));
    *z = 1;
    for (int64_t j = 0; j < b.n && *z; j++) *z = has(&a, &b, j);
    return ST_OK;
}
static Status overlaps(FuncCtx *ctx, const Vec *args, int64_t i, uint8_t *z) {
    ArrayView a, b;
    TRY(array_arg(ctx, args, 0, i, &a));
    TRY(array_arg(ctx, args, 1, i, &b));
    for (int64_t j = 0; j < b.n && !*z; j++) *z = has(&a, &b, j);
    return ST_OK;
}
KNF(array_contains, uint8_t, 0, TRY(contains(ctx, args, 0, i, &z));)
KNF(array_contained, uint8_t, 0, TRY(contains(ctx, args, 1, i, &z));)
KNF(array_overlap, uint8_t, 0, TRY(overlaps(ctx, args, i, &z));)

/* ---- strings -------------------------------------------------------------------------------------------- */

typedef struct Parts {
    char *p; /* NULL: only counts */
    int64_t len;
} Parts;
static void part(Parts *o, Str s) {
    if (o->p && s.len) memcpy(o->p + o->len, s.ptr, s.len);
    o->len += s.len;
}
KERNEL(array_to_string) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i);
        if (!out->valid[i]) continue;
        ArrayView a = array_view(AT(Str, 0, i));
        Type t = type_element(args[0].type);
        bool show_null = nargs > 2 && !arg_null(&args[2], i);
        Str *texts = arena_array(ctx->arena, Str, a.n + 1), delim = AT(Str, 1, i);
        if (!texts) return no_memory(ctx, i);
        int64_t k = 0;
        for (int64_t j = 0; j < a.n; j++) {
            Value x;
            if (array_is_null(&a, j)) {
                if (show_null) texts[k++] = AT(Str, 2, i);
                continue;
            }
            array_get(&a, j, &x.u);
            if (func_cell_output(ctx, t, &x.u, &texts[k]) != ST_OK) return FAILED(i);
            k++;
        }
        Parts o = {0};
        for (int pass = 0; pass < 2; pass++) {
            if (pass && !(o.p = ctx_alloc(ctx, o.len))) return FAILED(i);
            o.len = 0;
            for (int64_t j = 0; j < k; j++) {
                if (j) part(&o, delim);
                part(&o, texts[j]);
            }
        }
        *z = str_make(o.p, o.len);
    }
    return ST_OK;
}

static void add_text(Cells *c, const char *p, int64_t len, const Str *null) {
    Str s = str_make(p, len);
    bool is_null = null && str_eq(s, *null);
    Str *cell = cells_add(c, !is_null);
    *cell = is_null ? STR0 : s;
}
KERNEL(string_to_array) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i, s = AT(Str, 0, i);
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i);
        if (!out->valid[i]) continue;
        Str null, *null_text = NULL;
        if (nargs > 2 && !arg_null(&args[2], i)) {
            null = AT(Str, 2, i);
            null_text = &null;
        }
        bool chars = arg_null(&args[1], i);
        Str delim = chars ? STR0 : AT(Str, 1, i);
        Cells c;
        int64_t cap = chars ? s.len : delim.len ? s.len / delim.len + 1 : 1;
        if (!cells_init(ctx, &c, PH_STR, cap)) return no_memory(ctx, i);
        const char *p = s.ptr, *end = s.ptr + s.len;
        if (s.len && chars) {
            for (int64_t w; p < end; p += w) {
                w = utf8_prefix_bytes(p, end - p, 1);
                add_text(&c, p, w, null_text);
            }
        } else if (s.len) {
            for (const char *q; delim.len && (q = memmem(p, (size_t)(end - p), delim.ptr, delim.len));
                 p = q + delim.len)
                add_text(&c, p, q - p, null_text);
            add_text(&c, p, end - p, null_text);
        }
        if (cells_done(ctx, &c, z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- array_agg --------------------------------------------------------------------------------------------- */

/* An entry: u8 0 for NULL, or 1 and the cell (strings: u32 length and bytes). */
KERNEL(array_entry) {
    KERNEL_UNUSED();
    Phys ph = type_phys(args[0].type);
    for (int64_t i = 0; i < n; i++) {
        bool null = arg_null(&args[0], i);
        int64_t len = null ? 1 : ph == PH_STR ? 5 + (int64_t)AT(Str, 0, i).len : 1 + phys_size(ph);
        char *p = ctx_alloc(ctx, len);
        if (!p) return FAILED(i);
        p[0] = !null;
        if (!null && ph == PH_STR) {
            Str s = AT(Str, 0, i);
            memcpy(p + 1, &s.len, 4);
            if (s.len) memcpy(p + 5, s.ptr, s.len);
        } else if (!null) {
            Value x;
            cell_as(&args[0], i, ph, &x.u);
            if (ph == PH_F64 && x.u.f64 == 0) x.u.f64 = 0; /* DISTINCT looks at the bytes */
            if (ph == PH_F32 && x.u.f32 == 0) x.u.f32 = 0;
            memcpy(p + 1, &x.u, (size_t)phys_size(ph));
        }
        ((Str *)out->data)[i] = str_make(p, len);
        out->valid[i] = 1;
    }
    return ST_OK;
}
/* Bytes of the entry at p, -1 when there is none. */
static int64_t entry_size(const char *p, const char *end, Phys ph) {
    int64_t len = 1;
    uint32_t bytes;
    if (p[0] && ph == PH_STR) {
        if (end - p < 5) return -1;
        memcpy(&bytes, p + 1, 4);
        len = 5 + (int64_t)bytes;
    } else if (p[0]) {
        len = 1 + phys_size(ph);
    }
    return len <= end - p ? len : -1;
}
KNF(array_from_entries, Str, STR0, {
    Str s = AT(Str, 0, i);
    Phys ph = element_phys(ctx->ret);
    const char *end = s.ptr + s.len;
    int64_t count = 0;
    for (const char *p = s.ptr; p < end; count++) {
        int64_t w = entry_size(p, end, ph);
        FAIL_IF(w < 0, i, ERR_INVALID_PARAMETER, "array_from_entries: the argument does not consist of entries");
        p += w;
    }
    Cells c;
    if (!cells_init(ctx, &c, ph, count)) return no_memory(ctx, i);
    for (const char *p = s.ptr; p < end; p += entry_size(p, end, ph)) {
        void *cell = cells_add(&c, p[0] != 0);
        if (p[0] && ph == PH_STR) *(Str *)cell = str_make(p + 5, entry_size(p, end, ph) - 5);
        else if (p[0]) memcpy(cell, p + 1, (size_t)phys_size(ph));
    }
    if (cells_done(ctx, &c, &z) != ST_OK) return FAILED(i);
})
/* The same of values that are arrays: one with a dimension more. */
KNF(array_nest_entries, Str, STR0, {
    Str s = AT(Str, 0, i);
    const char *end = s.ptr + s.len;
    int64_t count = 0;
    for (const char *p = s.ptr; p < end; count++) {
        int64_t w = entry_size(p, end, PH_STR);
        FAIL_IF(w < 0, i, ERR_INVALID_PARAMETER, "array_nest_entries: the argument does not consist of entries");
        p += w;
    }
    Str *items = arena_array(ctx->arena, Str, count + 1);
    if (!items) return no_memory(ctx, i);
    int64_t k = 0;
    for (const char *p = s.ptr; p < end; p += entry_size(p, end, PH_STR)) {
        FAIL_IF(!p[0], i, ERR_NULL_NOT_ALLOWED, "cannot accumulate null arrays");
        items[k++] = str_make(p + 5, entry_size(p, end, PH_STR) - 5);
        const ArrayView v = array_view(items[k - 1]);
        const ArrayView first = array_view(items[0]);
        FAIL_IF(v.n == 0, i, ERR_ARRAY_SUBSCRIPT, "cannot accumulate empty arrays");
        FAIL_IF(!array_same_dims(&v, &first), i, ERR_ARRAY_SUBSCRIPT,
                "cannot accumulate arrays of different dimensionality");
    }
    if (array_nest(ctx->arena, element_phys(ctx->ret), count, items, NULL, &z, ctx->err) != ST_OK) return FAILED(i);
})

/* ---- order ---------------------------------------------------------------------------------------------------- */

KNF(array_sort_key, Str, STR0, {
    if (func_value_key(ctx, args[0].type, PH_STR, arg_cell(&args[0], i), &z) != ST_OK) return FAILED(i);
})
KNF(array_from_sort_key, Str, STR0, {
    Str s = AT(Str, 0, i);
    Phys ph = element_phys(ctx->ret);
    Cells c;
    char *text = ctx_alloc(ctx, s.len);
    if (!text || !cells_init(ctx, &c, ph, s.len)) return no_memory(ctx, i);
    const char *p = s.ptr;
    const char *end = p + s.len;
    while (p < end && *p) {
        bool valid = *p++ == 1;
        void *cell = cells_add(&c, valid);
        if (valid)
            FAIL_IF(!func_get_key(&p, end, ph, cell, &text), i, ERR_INVALID_PARAMETER,
                    "array_from_sort_key: the argument is not a key");
        if (valid && type_element(ctx->ret).id == T_DECIMAL &&
            dec_from_key(ctx->arena, *(Str *)cell, cell, ctx->err) != ST_OK)
            return FAILED(i);
    }
    ArrayShape shape;
    FAIL_IF(!func_get_shape_key(p, end, c.n, &shape), i, ERR_INVALID_PARAMETER,
            "array_from_sort_key: the argument is not a key");
    if (cells_done_as(ctx, &c, &shape, &z) != ST_OK) return FAILED(i);
})

static Status dec_least_scale(Arena *a, Str stored, Str *out, Err *e) {
    return dec_from_key(a, dec_key(stored), out, e);
}
/* Its numbers, or those in its jsonb, without zeros at their end: equal arrays have equal bytes then. */
KNF(array_trim_scale, Str, STR0, {
    const ArrayView v = array_view(AT(Str, 0, i));
    const bool json = type_element(args[0].type).id == T_JSONB;
    Cells c;
    if (!cells_init(ctx, &c, v.phys, v.n)) return no_memory(ctx, i);
    cells_add_all(&c, &v);
    Str *cells = (Str *)(void *)c.cells;
    for (int64_t j = 0; j < v.n; j++) {
        if (array_is_null(&v, j)) continue;
        if ((json ? jsonb_least_scale : dec_least_scale)(ctx->arena, cells[j], &cells[j], ctx->err) != ST_OK)
            return FAILED(i);
    }
    const ArrayShape shape = array_shape(&v);
    if (cells_done_as(ctx, &c, &shape, &z) != ST_OK) return FAILED(i);
})

/* ---- table ------------------------------------------------------------------------------------------------------- */

static Type tf_int4s(const FuncDef *f, int nargs, const Type *a) {
    return (void)f, (void)nargs, (void)a, type_array_of(type_make(T_INT4));
}
/* Of arrays: one with a dimension more. */
static Type tf_array_agg(const FuncDef *f, int nargs, const Type *a) {
    return a[0].id == T_ARRAY ? a[0] : tf_array_of(f, nargs, a);
}
#define AA ARGS(T_ARRAY, T_ARRAY)
#define AE ARGS(T_ARRAY, T_ANY)
#define CMP(nm, op, fn, dc) DEF(nm, FN_OPERATOR | S_, T_BOOL, 2, AA, op, fn, NULL, dc)
#define ANY_ALL(nm, fn)                                                                  \
    DEF("array_any" nm, 0, T_BOOL, 2, ARGS(T_ANY, T_ARRAY), OP_NONE, any_##fn, NULL,     \
        "internal: comparison with some element is true"),                               \
        DEF("array_all" nm, 0, T_BOOL, 2, ARGS(T_ANY, T_ARRAY), OP_NONE, all_##fn, NULL, \
            "internal: comparison with every element is true")
static const FuncDef defs[] = {
    CMP("=", OP_EQ, array_eq, "equal"),
    CMP("<>", OP_NE, array_ne, "not equal"),
    CMP("!=", OP_NE, array_ne, "not equal"),
    CMP("<", OP_NONE, array_lt, "less"),
    CMP("<=", OP_NONE, array_le, "less or equal"),
    CMP(">", OP_NONE, array_gt, "greater"),
    CMP(">=", OP_NONE, array_ge, "greater or equal"),
    CMP("@>", OP_NONE, array_contains, "the first array has every element of the second"),
    CMP("<@", OP_NONE, array_contained, "the second array has every element of the first"),
    CMP("&&", OP_NONE, array_overlap, "the arrays have an element in common"),
    ANY_ALL("=", eq),
    ANY_ALL("<>", ne),
    ANY_ALL("<", lt),
    ANY_ALL("<=", le),
    ANY_ALL(">", gt),
    ANY_ALL(">=", ge),
    DEF("array_position", FN_CAN_FAIL, T_INT4, 2, AE, OP_NONE, array_position, NULL,
        "subscript of the first equal element"),
    DEF("array_position", FN_CAN_FAIL, T_INT4, 3, ARGS(T_ARRAY, T_ANY, T_INT4), OP_NONE, array_position, NULL,
        "subscript of the first equal element from a position on"),
    DEF("array_positions", FN_CAN_FAIL, T_ARRAY, 2, AE, OP_NONE, array_positions, tf_int4s,
        "subscripts of all equal elements"),
    DEF("array_remove", FN_CAN_FAIL, T_ARRAY, 2, AE, OP_NONE, array_remove, tf_first,
        "array without the elements that are equal"),
    DEF("array_replace", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_ARRAY, T_ANY, T_ANY), OP_NONE, array_replace, tf_first,
        "array with another value in place of one"),
    DEF("array_to_string", NF, T_TEXT, 2, ARGS(T_ARRAY, T_TEXT), OP_NONE, array_to_string, NULL,
        "elements joined by a delimiter"),
    DEF("array_to_string", FN_CAN_FAIL, T_TEXT, 3, ARGS(T_ARRAY, T_TEXT, T_TEXT), OP_NONE, array_to_string, NULL,
        "elements joined by a delimiter, NULLs shown"),
    DEF("string_to_array", FN_CAN_FAIL, T_ARRAY, 2, ARGS(T_TEXT, T_TEXT), OP_NONE, string_to_array, tf_texts,
        "parts of a text"),
    DEF("string_to_array", FN_CAN_FAIL, T_ARRAY, 3, ARGS(T_TEXT, T_TEXT, T_TEXT), OP_NONE, string_to_array, tf_texts,
        "parts of a text, some of them NULL"),
    DEF("array_entry", FN_CAN_FAIL, T_TEXT, 1, ARGS(T_ANY), OP_NONE, array_entry, NULL,
        "internal: a value of array_agg"),
    DEF("array_from_entries", SF, T_ARRAY, 1, ARGS(T_TEXT), OP_NONE, array_from_entries, NULL,
        "internal: the array of some values of array_agg"),
    DEF("array_nest_entries", SF, T_ARRAY, 1, ARGS(T_TEXT), OP_NONE, array_nest_entries, NULL,
        "internal: the array of some arrays of array_agg"),
    DEF("array_sort_key", SF, T_BYTEA, 1, ARGS(T_ARRAY), OP_NONE, array_sort_key, NULL,
        "internal: bytes that compare as the array does"),
    DEF("array_trim_scale", SF, T_ARRAY, 1, ARGS(T_ARRAY), OP_NONE, array_trim_scale, tf_first,
        "internal: array of numeric without (p,s) or of jsonb, without zeros at the end of numbers"),
    DEF("array_from_sort_key", SF, T_ARRAY, 1, ARGS(T_BYTEA), OP_NONE, array_from_sort_key, NULL,
        "internal: the array of a sort key"),
    {.name = "array_agg",
     .flags = FN_AGGREGATE,
     .ret = T_ARRAY,
     .nargs = 1,
     .args = ARGS(T_ANY),
     .agg = AGG_STRING_AGG,
     .type_fn = tf_array_agg,
     .doc = "values as an array"},
    {.name = "min",
     .flags = FN_AGGREGATE,
     .ret = T_ARRAY,
     .nargs = 1,
     .args = ARGS(T_ARRAY),
     .agg = AGG_MIN,
     .type_fn = tf_first,
     .doc = "least value"},
    {.name = "max",
     .flags = FN_AGGREGATE,
     .ret = T_ARRAY,
     .nargs = 1,
     .args = ARGS(T_ARRAY),
     .agg = AGG_MAX,
     .type_fn = tf_first,
     .doc = "greatest value"},
};
const FuncDefs func_defs_array = {defs, ARRAY_LEN(defs)};
