/* func_composite.c - rows as values (composite.h): made, taken apart, changed and compared.
 *
 * The binder calls these (sql/bind/bind_row.c). It says what type the result has: FuncDef.ret has no number.
 */
#include "base/stack.h"
#include "types/array.h"
#include "types/composite.h"
#include "types/dec.h"
#include "types/func_int.h"
#include "types/json.h"

/* An argument as a value of type t, which it has but for its width: integers and numerics may be held wider. */
static void put_arg(const Vec *v, int64_t i, Type t, Value *out) {
    const Phys want = type_phys(t), have = (Phys)v->phys;
    *out = (Value){.type = t, .is_null = arg_null(v, i)};
    if (out->is_null) return;
    if (want == have) {
        memcpy(&out->u, arg_cell(v, i), (size_t)phys_size(want));
        return;
    }
    int128_t n = 0;
    int64_t narrow = 0;
    if (have == PH_I128) memcpy(&n, arg_cell(v, i), sizeof n);
    else if (cell_as_i64(have, arg_cell(v, i), &narrow)) n = narrow;
    switch (want) {
    case PH_I16: out->u.i16 = (int16_t)n; break;
    case PH_I32: out->u.i32 = (int32_t)n; break;
    case PH_I64: out->u.i64 = (int64_t)n; break;
    default: out->u.i128 = n; break;
    }
}

static Status no_memory(FuncCtx *ctx) { return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err); }

/* A row of the arguments, which are of the types of the result's fields. */
KERNEL(row_make) {
    const CompositeType *x = composite_of(ctx->ret);
    Value *fields = arena_array(ctx->arena, Value, nargs + 1);
    if (!fields) return no_memory(ctx);
    if (!x || x->n != nargs) return err_internal(ctx->err, "row_make: not of %d fields", nargs);
    for (int64_t i = 0; i < n; i++) {
        out->valid[i] = 1;
        for (int k = 0; k < nargs; k++) put_arg(&args[k], i, x->fields[k].type, &fields[k]);
        if (composite_build(ctx->arena, nargs, fields, &((Str *)out->data)[i], ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* The row with args[2] as field args[1], from 0; of NULL, a row of NULLs and it. */
KERNEL(row_set) {
    const CompositeType *x = composite_of(ctx->ret);
    Value *fields = arena_array(ctx->arena, Value, x ? x->n + 1 : 1);
    KERNEL_UNUSED();
    if (!fields) return no_memory(ctx);
    for (int64_t i = 0; i < n; i++) {
        const int32_t k = arg_null(&args[1], i) ? -1 : AT(int32_t, 1, i);
        if (!x || k < 0 || k >= x->n) return err_internal(ctx->err, "row_set: no such field");
        for (int32_t f = 0; f < x->n; f++) fields[f] = (Value){.type = x->fields[f].type, .is_null = true};
        out->valid[i] = 1;
        if (!arg_null(&args[0], i) && composite_read(x, AT(Str, 0, i), fields, ctx->err) != ST_OK) return FAILED(i);
        put_arg(&args[2], i, x->fields[k].type, &fields[k]);
        if (composite_build(ctx->arena, x->n, fields, &((Str *)out->data)[i], ctx->err) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* IS NULL (all fields are) and IS NOT NULL (none is), which both may be false. */
static void all_fields(int64_t n, const Vec *args, Vec *out, bool null) {
    for (int64_t i = 0; i < n; i++) {
        bool z = !arg_null(&args[0], i) || null;
        if (!arg_null(&args[0], i)) {
            const ArrayView v = array_view(AT(Str, 0, i));
            for (int64_t k = 0; k < v.n && z; k++) z = array_is_null(&v, k) == null;
        }
        out->valid[i] = 1;
        ((uint8_t *)out->data)[i] = z;
    }
}
KERNEL(row_is_null) {
    KERNEL_UNUSED();
    all_fields(n, args, out, true);
    return ST_OK;
}
KERNEL(row_is_not_null) {
    KERNEL_UNUSED();
    all_fields(n, args, out, false);
    return ST_OK;
}

KNF(composite_key, Str, STR0,
    if (func_value_key(ctx, args[0].type, PH_STR, arg_cell(&args[0], i), &z) != ST_OK) return FAILED(i);)

/* Equal rows get equal bytes: numbers with the least scale that shows them. */
static Status least(FuncCtx *ctx, Type t, Str blob, Str *out) {
    const CompositeType *x = composite_of(t);
    Value *fields = arena_array(ctx->arena, Value, x ? x->n + 1 : 1);
    if (!fields) return no_memory(ctx);
    TRY(stack_check_depth(ctx->err));
    TRY(composite_read(x, blob, fields, ctx->err));
    for (int32_t i = 0; i < x->n; i++) {
        Value *v = &fields[i];
        if (v->is_null) continue;
        if (v->type.id == T_COMPOSITE) TRY(least(ctx, v->type, v->u.str, &v->u.str));
        if (v->type.id == T_JSONB) TRY(jsonb_least_scale(ctx->arena, v->u.str, &v->u.str, ctx->err));
        if (v->type.id == T_DECIMAL) {
            Type trimmed = v->type;
            Dec d;
            trimmed.flags |= TF_LEAST_SCALE;
            TRY(dec_decode(ctx->arena, v->u.str, &d, ctx->err));
            TRY(dec_fit(ctx->arena, trimmed, &d, ctx->err));
            TRY(dec_encode(ctx->arena, &d, &v->u.str, ctx->err));
        }
    }
    return composite_build(ctx->arena, x->n, fields, out, ctx->err);
}
KNF(row_trim_scale, Str, STR0, if (least(ctx, args[0].type, AT(Str, 0, i), &z) != ST_OK) return FAILED(i);)

#define V_ (FN_VARIADIC | FN_ANY_NUMERIC_SCALE | FN_CAN_FAIL)
static const FuncDef defs[] = {
    DEF("row_make", V_, T_COMPOSITE, 0, ARGS(T_ANY), OP_NONE, row_make, NULL, "internal: a row"),
    DEF("row_set", FN_CAN_FAIL, T_COMPOSITE, 3, ARGS(T_COMPOSITE, T_INT4, T_ANY), OP_NONE, row_set, tf_first,
        "internal: a row with another field"),
    DEF("row_is_null", 0, T_BOOL, 1, ARGS(T_COMPOSITE), OP_NONE, row_is_null, NULL,
        "internal: whether all fields of a row are NULL"),
    DEF("row_is_not_null", 0, T_BOOL, 1, ARGS(T_COMPOSITE), OP_NONE, row_is_not_null, NULL,
        "internal: whether no field of a row is NULL"),
    DEF("composite_key", SF, T_BYTEA, 1, ARGS(T_COMPOSITE), OP_NONE, composite_key, NULL,
        "internal: bytes that compare as the row does"),
    DEF("row_trim_scale", SF, T_COMPOSITE, 1, ARGS(T_COMPOSITE), OP_NONE, row_trim_scale, tf_first,
        "internal: equal bytes for equal rows"),
};
const FuncDefs func_defs_composite = {defs, ARRAY_LEN(defs)};
