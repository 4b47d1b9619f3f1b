/* bind_key.c - keys in place of values whose equality is not that of their bytes.
 *
 * A numeric without (p,s) is stored with its scale, so that 1.0 and 1.00 differ in their bytes; so are the numbers in
 * jsonb; arrays are not in the order of their bytes. Comparisons, sorts, groups and joins of them work on keys, whose
 * bytes compare as the values do (numeric_key, jsonb_key, array_sort_key): executors then see nothing but bytea. What a
 * group shows of its key is the one of the equal values with the least scale; of jsonb the one whose text comes first,
 * of arrays the one whose bytes do.
 */
#include "sql/bind/bind_int.h"
#include "types/composite.h"
#include "types/range.h"

bool bind_groupable(Type t) { return !type_needs_key(t); }

bool bind_is_incomparable(Type t) {
    return type_is_unordered(t) || (t.id == T_ARRAY && type_is_unordered(type_element(t))) ||
           composite_any(t, bind_is_incomparable);
}

Status bind_check_groupable(Binder *b, Type t, int64_t location) {
    if (!bind_is_incomparable(t)) return ST_OK;
    return err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION,
                  "could not identify an equality operator for type %s", type_plain_name(t));
}

/* Fields whose equal values row_trim_scale() cannot give equal bytes. */
static bool is_inexact(Type t) {
    return t.id == T_INTERVAL || ((t.id == T_ARRAY || type_is_range(t)) && type_needs_key(t));
}

Status bind_check_least(Binder *b, Type t, int64_t location) {
    TRY(bind_check_groupable(b, t, location));
    if (t.id == T_COMPOSITE && composite_any(t, is_inexact))
        return bind_unsupported(b, location,
                                "rows with intervals, or arrays or ranges of values that have keys in such sets");
    if (t.id == T_ARRAY && type_is_range(type_element(t)) && type_needs_key(t)) {
        const char *what =
            arena_printf(b->a, "arrays of %s in sets of distinct values", type_plain_name(type_element(t)));
        return what ? bind_unsupported(b, location, what) : ST_ERROR;
    }
    if (t.id == T_ARRAY && type_element(t).id == T_COMPOSITE)
        return bind_unsupported(b, location, "arrays of rows in sets of distinct values");
    if (t.id != T_ARRAY || type_element(t).id != T_INTERVAL) return ST_OK;
    return bind_unsupported(b, location, "arrays of intervals in sets of distinct values");
}

Status bind_check_ordered_type(Binder *b, Type t, int64_t location) {
    if (!bind_is_incomparable(t)) return ST_OK;
    return err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION,
                  "could not identify a comparison function for type %s", type_plain_name(t));
}

Status bind_check_sortable(Binder *b, Type t, int64_t location) {
    if (!bind_is_incomparable(t)) return ST_OK;
    err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "could not identify an ordering operator for type %s",
           type_plain_name(t));
    err_hint(b->err, "Use an explicit ordering operator or modify the query.");
    return ST_ERROR;
}

bool bind_has_key(Type t) { return type_needs_key(t); }
bool bind_sorts_by_key(Type t) { return t.id == T_ARRAY || bind_has_key(t); }

Expr *bind_key(Binder *b, Expr *e, int64_t location) {
    if (!e || !bind_sorts_by_key(e->type)) return e;
    const char *name = e->type.id == T_ARRAY       ? "array_sort_key"
                       : e->type.id == T_JSONB     ? "jsonb_key"
                       : e->type.id == T_COMPOSITE ? "composite_key"
                       : type_is_range(e->type)    ? "range_key"
                                                   : "numeric_key";
    return bind_call(b, name, false, 1, &e, location);
}

bool bind_is_comparison(const char *name) {
    static const char *const ops[] = {"=", "<>", "!=", "<", "<=", ">", ">="};
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++)
        if (strcmp(name, ops[i]) == 0) return true;
    return false;
}

/* Two rows, or one and an untyped literal, become their keys. */
static Status bind_composite_args(Binder *b, Expr **args, int64_t location) {
    for (int k = 0; k < 2; k++) {
        if (args[k]->type.id != T_UNKNOWN) continue;
        if (args[k]->kind == EX_CONST && !args[k]->u.value.is_null) /* to an operator of records it is one */
            return err_at(b->err, bind_pos(b, args[k]->location), ERR_FEATURE_NOT_SUPPORTED,
                          "input of anonymous composite types is not implemented");
        if (!(args[k] = bind_coerce(b, args[k], args[1 - k]->type, CAST_IMPLICIT, location))) return ST_ERROR;
    }
    TRY(bind_row_pair(b, args, location));
    for (int k = 0; k < 2; k++) {
        TRY(bind_check_groupable(b, args[k]->type, location));
        if (!(args[k] = bind_key(b, args[k], location))) return ST_ERROR;
    }
    return ST_OK;
}

Status bind_compare_keys(Binder *b, const char *name, const FuncDef *f, Expr **args, int64_t location, bool *changed) {
    *changed = false;
    if (!(f->flags & FN_OPERATOR) || f->nargs != 2 || !bind_has_key((Type){.id = f->args[0]}) ||
        !bind_is_comparison(name))
        return ST_OK;
    *changed = true;
    if (f->args[0] == T_COMPOSITE) TRY(bind_composite_args(b, args, location));
    for (int k = 0; k < 2 && f->args[0] != T_COMPOSITE; k++) {
        Expr *e = bind_coerce(b, args[k], type_make((TypeId)f->args[0]), CAST_IMPLICIT, location);
        if (!(args[k] = bind_key(b, e, location))) return ST_ERROR;
    }
    return ST_OK;
}

Status bind_group_keys(Binder *b, Plan *agg) {
    int32_t n = 0;
    for (int32_t i = 0; i < agg->agg.n_keys; i++) n += bind_has_key(agg->exprs[i]->type);
    if (!n) return ST_OK;
    AggCall *calls = arena_array(b->a, AggCall, agg->agg.n_calls + n);
    if (!calls || !(agg->out_cols = bind_ids(b, agg->n_out, agg->out_cols))) return ST_ERROR;
    if (agg->agg.n_calls) memcpy(calls, agg->agg.calls, sizeof *calls * (size_t)agg->agg.n_calls);
    for (int32_t i = 0; i < agg->agg.n_keys; i++) {
        Type t = type_make(agg->exprs[i]->type.id == T_DECIMAL ? T_DECIMAL : T_TEXT), coerced, ret;
        if (!bind_has_key(agg->exprs[i]->type)) continue;
        AggCall c = {.kind = AGG_MIN, .out = agg->out_cols[i]};
        TRY(func_resolve(slice_of("min"), false, 1, &t, 0, &c.func, &coerced, &ret, b->err));
        if (!(c.arg = bind_copy(b, agg->exprs[i])) || !(agg->exprs[i] = bind_key(b, agg->exprs[i], 0)) ||
            !(agg->out_cols[i] = plan_new_col(b->c, "group key", agg->exprs[i]->type, true)))
            return ST_ERROR;
        calls[agg->agg.n_calls++] = c;
    }
    agg->agg.calls = calls;
    return ST_OK;
}

Expr *bind_least(Binder *b, Expr *e, int64_t location) {
    const char *name = e->type.id == T_ARRAY       ? "array_trim_scale"
                       : e->type.id == T_JSONB     ? "jsonb_trim_scale"
                       : e->type.id == T_COMPOSITE ? "row_trim_scale"
                       : type_is_range(e->type)    ? "range_trim_scale"
                                                   : "trim_scale";
    return bind_call(b, name, false, 1, &e, location);
}

Status bind_least_scale(Binder *b, Rel *r) {
    bool some = false;
    for (int32_t i = 0; i < r->n; i++) some |= bind_has_key(b->c->cols.items[r->cols[i]].type);
    if (!some) return ST_OK;
    Proj proj = {0};
    ColId *ids = arena_array(b->a, ColId, r->n + 1);
    if (!ids) return ST_ERROR;
    for (int32_t i = 0; i < r->n; i++) {
        Expr *e = expr_col(b->c, r->cols[i]);
        if (e && bind_has_key(e->type)) e = bind_least(b, e, 0);
        if (!e || !(ids[i] = plan_new_col(b->c, r->names[i], e->type, true)) || !vec_push(b->a, &proj.ids, ids[i]) ||
            !vec_push(b->a, &proj.exprs, e))
            return ST_ERROR;
    }
    r->cols = ids;
    return (r->plan = bind_proj_plan(b, &proj, r->plan)) ? ST_OK : ST_ERROR;
}
