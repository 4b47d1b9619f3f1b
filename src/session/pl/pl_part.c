/* pl_part.c - assignments to parts of variables: v[i] := x, v[i:j] := x, j['a']['b'] := x.
 *
 * The whole array or jsonb is made anew, by the functions that the binder calls for UPDATE .. SET c[i] = x
 * (sql/bind/bind_array.c, bind_json.c). Subscripts are computed before the value, as in PostgreSQL.
 */
#include "session/pl/pl_run_int.h"
#include "types/array.h"

static const Type any_type = {.id = T_UNKNOWN};

static Value int_value(int32_t i) {
    Value v = {.type = type_make(T_INT4)};
    v.u.i32 = i;
    return v;
}

/* One bound of an array's subscripts; x NULL: it is not given. */
static Status bound(PlFrame *fr, const PlExpr *x, Value *out) {
    *out = int_value(0);
    if (!x) return ST_OK;
    TRY(pl_eval(fr, x, out->type, out));
    if (out->is_null)
        return err_set(&fr->s->err, ERR_NULL_NOT_ALLOWED, "array subscript in assignment must not be null");
    return value_copy(fr->scratch, out, out) == ST_OK ? ST_OK : err_oom(&fr->s->err);
}

/* The bounds of all subscripts: one of each, or two when one of them is a slice. given: per bound 'b' or '-'. */
static Status bounds(PlFrame *fr, const PlStmt *s, bool slice, Value *out, char *given) {
    int32_t n = 0;
    for (int32_t k = 0; k < s->n_subscripts; k++) {
        const PlSubscript *x = &s->subscripts[k];
        if (slice) {
            given[n] = x->lower || !x->is_slice ? 'b' : '-';
            TRY(bound(fr, x->lower, &out[n]));
            if (!x->is_slice) out[n] = int_value(1);
            n++;
            given[n] = x->upper ? 'b' : '-';
        }
        TRY(bound(fr, x->upper, &out[n++]));
    }
    return ST_OK;
}

/* The value of the statement as one of type `want`. */
static Status assigned(PlFrame *fr, const PlStmt *s, Type want, Value *out) {
    Value v;
    EvalCtx x;
    pl_eval_ctx(fr, &x);
    TRY(pl_eval(fr, s->expr, any_type, &v));
    return eval_assign(&x, &v, want, out);
}

static Status call(PlFrame *fr, const PlStmt *s, const char *name, Type t, int32_t n, const Value *args) {
    Value out = {.type = t};
    TRY(func_eval(func_named(slice_of(name)), NULL, &fr->s->info, fr->scratch, t, n, args, &out, &fr->s->err));
    return pl_assign(fr, s->targets[0], &out);
}

static Status assign_array(PlFrame *fr, const PlStmt *s, const Value *old) {
    const int32_t dims = s->n_subscripts;
    bool slice = false;
    if (dims > ARRAY_MAX_DIMS)
        return err_set(&fr->s->err, ERR_PROGRAM_LIMIT,
                       "number of array dimensions (%d) exceeds the maximum allowed (%d)", dims, ARRAY_MAX_DIMS);
    for (int32_t k = 0; k < dims; k++) slice |= s->subscripts[k].is_slice;
    Value args[3 + 2 * ARRAY_MAX_DIMS] = {*old};
    char given[2 * ARRAY_MAX_DIMS];
    const int32_t n = slice ? 2 * dims : dims, first = slice ? 3 : 2;
    TRY(bounds(fr, s, slice, args + first, given));
    TRY(assigned(fr, s, slice ? old->type : type_element(old->type), &args[1]));
    args[2] = slice ? (Value){.type = type_make(T_TEXT), .u.str = str_make(given, n)} : args[2];
    return call(fr, s, slice ? "array_set_part" : "array_set_at", old->type, first + n, args);
}

/* A key or an index as a text. index: gets which one it is. */
static Status path_part(PlFrame *fr, const PlSubscript *x, bool *index, Value *out) {
    Err *e = &fr->s->err;
    const Type text = type_make(T_TEXT);
    Value v = {0};
    EvalCtx ctx;
    pl_eval_ctx(fr, &ctx);
    if (x->is_slice) return err_set(e, ERR_DATATYPE_MISMATCH, "jsonb subscript does not support slices");
    TRY(pl_eval(fr, x->upper, any_type, &v));
    *index = !type_is_text(v.type) && !cast_exists(v.type, text, CAST_IMPLICIT);
    if (*index && !cast_exists(v.type, type_make(T_INT4), CAST_IMPLICIT)) {
        err_set(e, ERR_DATATYPE_MISMATCH, "subscript type %s is not supported", type_plain_name(v.type));
        err_hint(e, "jsonb subscript must be coercible to either integer or text.");
        return ST_ERROR;
    }
    if (v.is_null) return err_set(e, ERR_NULL_NOT_ALLOWED, "jsonb subscript in assignment must not be null");
    TRY(eval_assign(&ctx, &v, text, out));
    return value_copy(fr->scratch, out, out) == ST_OK ? ST_OK : err_oom(e);
}
static Status assign_json(PlFrame *fr, const PlStmt *s, const Value *old) {
    Value *args = arena_array(fr->scratch, Value, s->n_subscripts + 3);
    if (!args) return err_oom(&fr->s->err);
    bool index = false, first = false;
    for (int32_t k = 0; k < s->n_subscripts; k++) {
        TRY(path_part(fr, &s->subscripts[k], &index, &args[3 + k]));
        if (k == 0) first = index;
    }
    args[0] = *old;
    TRY(assigned(fr, s, old->type, &args[1]));
    args[2] = (Value){.type = type_make(T_BOOL), .u.b = first};
    return call(fr, s, "jsonb_assign", old->type, 3 + s->n_subscripts, args);
}

Status pl_assign_part(PlFrame *fr, const PlStmt *s) {
    const Value *old = pl_ref_value(fr, s->targets[0]);
    if (!old) return pl_assign(fr, s->targets[0], &(Value){.is_null = true});
    Value copy = *old;
    if (value_copy(fr->scratch, old, &copy) != ST_OK) return err_oom(&fr->s->err);
    if (copy.type.id == T_ARRAY) return assign_array(fr, s, &copy);
    if (copy.type.id == T_JSONB) return assign_json(fr, s, &copy);
    return err_set(&fr->s->err, ERR_DATATYPE_MISMATCH,
                   "cannot subscript type %s because it does not support subscripting", type_plain_name(copy.type));
}
