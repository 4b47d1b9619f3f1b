/* bind_array.c - arrays: ARRAY[...], subscripts, the polymorphic functions and operators, ANY and ALL over arrays,
 * array_agg.
 *
 * The function table has arrays only as T_ARRAY: it is here that the element types of a call's arguments get one common
 * type, so that kernels compare and copy cells of one form. Whatever depends on the order of arrays (ORDER BY, min,
 * max) works on array_sort_key.
 */
#include <stdio.h>

#include "sql/bind/bind_int.h"
#include "types/array.h"

/* ---- ARRAY[...] ----------------------------------------------------------------------------- */

/* The items, all of type t, as one value where all of them are constants; an array of arrays has one dimension more.
 * NULL without an error when their dimensions do not fit: that is said when they are computed. */
static Expr *constant_array(Binder *b, Type t, int64_t n, Expr **items, int64_t location) {
    Phys ph = type_phys(t);
    int64_t w = phys_size(ph);
    char *cells = arena_calloc(b->a, (n + 1) * w);
    uint8_t *valid = arena_alloc(b->a, n + 1);
    if (!cells || !valid) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const Value *v = &items[i]->u.value;
        valid[i] = !v->is_null;
        if (!v->is_null) memcpy(cells + i * w, value_cell_const(v), (size_t)w);
    }
    Value a = {.type = t.id == T_ARRAY ? t : type_array_of(t)};
    if (t.id == T_ARRAY) {
        Err unfit = {0};
        Phys element = type_phys(type_element(t));
        if (array_nest(b->a, element, n, (Str *)(void *)cells, valid, &a.u.str, &unfit) != ST_OK) return NULL;
    } else if (array_build(b->a, ph, n, cells, valid, &a.u.str, b->err) != ST_OK) {
        if (!b->err->position) b->err->position = bind_pos(b, location);
        return NULL;
    }
    Expr *e = expr_const(b->c, &a);
    if (e) e->location = location;
    return e;
}

enum { MAKE_MAX = 500 }; /* elements of one call */

/* t: of the items. */
static Expr *make_array(Binder *b, Type t, int64_t n, Expr **items, int64_t location) {
    if (stack_check(b->err) != ST_OK) return NULL;
    const bool nested = t.id == T_ARRAY;
    bool constant = true;
    for (int64_t i = 0; i < n; i++) constant = constant && items[i]->kind == EX_CONST && type_eq(items[i]->type, t);
    Expr *e = constant ? constant_array(b, t, n, items, location) : NULL;
    if (e || err_is_set(b->err)) return e;
    if (n <= MAKE_MAX) {
        e = bind_call(b, nested ? "array_make_nested" : "array_make", false, (int)n, items, location);
        if (e) e->type = nested ? t : type_array_of(t); /* items may have been relabelled only */
        return e;
    }
    Expr *halves[2] = {make_array(b, t, n / 2, items, location), make_array(b, t, n - n / 2, items + n / 2, location)};
    if (!halves[0] || !halves[1]) return NULL;
    return bind_call(b, nested ? "array_join_nested" : "array_cat", false, 2, halves, location);
}

/* Numbers of several scales, or arrays of them, become numerics without (p,s), which keep theirs. form: those with a
 * '.' there do not count; NULL: all do. */
static Status keep_scales(Binder *b, int64_t n, Expr **items, const char *form, int64_t location) {
    bool numeric = false, differ = false;
    int scale = -1;
    for (int64_t i = 0; i < n && (!form || form[i]); i++) {
        const Expr *e = items[i];
        const Type x = e->type.id == T_ARRAY ? type_element(e->type) : e->type;
        const int own = x.id == T_NUMERIC ? x.scale : 0;
        if ((form && form[i] == '.') || (x.id == T_UNKNOWN && e->kind == EX_CONST && e->u.value.is_null)) continue;
        if (x.id != T_UNKNOWN && x.id != T_NUMERIC && !type_is_integer(x)) return ST_OK;
        if (x.id == T_NUMERIC && (x.flags & TF_UNCONSTRAINED)) return ST_OK;
        numeric |= x.id == T_NUMERIC;
        differ |= x.id == T_UNKNOWN || (scale >= 0 && own != scale);
        scale = own;
    }
    for (int64_t i = 0; numeric && differ && i < n && (!form || form[i]); i++) {
        const Type x = items[i]->type, dec = type_make(T_DECIMAL);
        if ((form && form[i] == '.') || x.id == T_UNKNOWN) continue;
        if (!(items[i] = bind_coerce(b, items[i], x.id == T_ARRAY ? type_array_of(dec) : dec, CAST_IMPLICIT,
                                     items[i]->location ? items[i]->location : location)))
            return ST_ERROR;
    }
    return ST_OK;
}

Expr *bind_array_of(Binder *b, int64_t n, Expr **items, int64_t location) {
    Type t;
    if (keep_scales(b, n, items, NULL, location) != ST_OK) return NULL;
    if (bind_common(b, n, items, "ARRAY", &t) != ST_OK) return NULL;
    return make_array(b, t, n, items, location);
}

/* `want`: the array type it is cast to at once, or NULL. */
Expr *bind_array(Binder *b, Query *q, const AstList *l, const Type *want) {
    Expr **items = arena_array(b->a, Expr *, l->n_items + 1);
    bool nested = false;
    if (!items || stack_check_at(b->err, bind_pos(b, l->location)) != ST_OK) return NULL;
    for (int64_t i = 0; i < l->n_items; i++) {
        const AstExpr *x = l->items[i];
        items[i] = x->kind == AST_ARRAY ? bind_array(b, q, AST_AS_CONST(AstList, x), want) : bind_expr(b, q, x);
        if (!items[i]) return NULL;
        nested = nested || items[i]->type.id == T_ARRAY;
    }
    if (want) {
        Type t = nested ? *want : type_element(*want);
        for (int64_t i = 0; i < l->n_items; i++) {
            if (!(items[i] = bind_coerce(b, items[i], t, CAST_EXPLICIT, l->items[i]->location))) return NULL;
            if (!type_eq(items[i]->type, t)) want = NULL; /* unconstrained numerics keep their own scale */
        }
        if (want || l->n_items == 0) return make_array(b, t, l->n_items, items, l->location);
    } else if (l->n_items == 0) {
        err_at(b->err, bind_pos(b, l->location), ERR_INDETERMINATE_DATATYPE, "cannot determine type of empty array");
        err_hint(b->err, "Explicitly cast to the desired type, for example ARRAY[]::integer[].");
        return NULL;
    }
    return bind_array_of(b, l->n_items, items, l->location);
}

/* ---- a[i], a[i:j] --------------------------------------------------------------------------------- */

static Expr *int_const(Binder *b, int32_t i) {
    Value v = {.type = type_make(T_INT4)};
    v.u.i32 = i;
    return expr_const(b->c, &v);
}

static Expr *as_subscript(Binder *b, Expr *e, int64_t location) {
    if (!e) return NULL;
    if (e->type.id != T_UNKNOWN && !cast_exists(e->type, type_make(T_INT4), CAST_ASSIGNMENT)) {
        err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH, "array subscript must have type integer");
        return NULL;
    }
    return bind_coerce(b, e, type_make(T_INT4), CAST_ASSIGNMENT, location);
}
static Expr *subscript(Binder *b, Query *q, const AstExpr *ast, int32_t missing) {
    return ast ? as_subscript(b, bind_expr(b, q, ast), ast->location) : int_const(b, missing);
}

static Expr *not_an_array(Binder *b, Type t, int64_t location) {
    err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
           "cannot subscript type %s because it does not support subscripting", type_plain_name(t));
    return NULL;
}

/* The subscripts of an array, bound: one of each, or two (lower, upper) when one of them is a slice. */
typedef struct Bounds {
    bool slice;
    int n;       /* of exprs */
    Expr **expr; /* a bound that is not given: INT32_MIN, INT32_MAX */
    char *given; /* slice: per bound 'b', or '-' when it is not given */
} Bounds;

static Status bind_bounds(Binder *b, Query *q, const AstSubscripts *s, int64_t location, Bounds *out) {
    *out = (Bounds){.expr = arena_array(b->a, Expr *, 2 * s->n + 1), .given = arena_alloc(b->a, 2 * s->n + 1)};
    if (!out->expr || !out->given) return ST_ERROR;
    if (s->n > ARRAY_MAX_DIMS)
        return err_at(b->err, bind_pos(b, location), ERR_PROGRAM_LIMIT,
                      "number of array dimensions (%lld) exceeds the maximum allowed (%d)", (long long)s->n,
                      ARRAY_MAX_DIMS);
    for (int64_t i = 0; i < s->n; i++) out->slice |= s->items[i]->is_slice;
    for (int64_t i = 0; i < s->n; i++) {
        const AstSubscript *x = s->items[i];
        if (out->slice) {
            out->given[out->n] = x->lower || !x->is_slice ? 'b' : '-';
            if (!(out->expr[out->n++] = subscript(b, q, x->lower, x->is_slice ? INT32_MIN : 1))) return ST_ERROR;
            out->given[out->n] = x->upper ? 'b' : '-';
        }
        if (!(out->expr[out->n++] = subscript(b, q, x->upper, INT32_MAX))) return ST_ERROR;
    }
    return ST_OK;
}

/* The subscripts that belong to the last one of a chain, the first in front; *of: what they are of. */
static Status chain(Binder *b, const AstSubscript *last, AstSubscripts *out, const AstExpr **of) {
    out->n = 1;
    for (const AstSubscript *x = last; x->chained; x = AST_AS_CONST(AstSubscript, x->arg)) out->n++;
    if (!(out->items = arena_array(b->a, AstSubscript *, out->n))) return ST_ERROR;
    int64_t i = out->n;
    for (const AstExpr *e = (const AstExpr *)last; i > 0; e = *of) {
        const AstSubscript *x = AST_AS_CONST(AstSubscript, e);
        out->items[--i] = (AstSubscript *)(uintptr_t)x;
        *of = x->arg;
    }
    return ST_OK;
}

Expr *bind_part(Binder *b, Query *q, Expr *base, const AstSubscripts *s, int64_t location) {
    Bounds at;
    if (!base) return NULL;
    if (base->type.id == T_JSONB) return bind_json_subscripts(b, q, s, base, location);
    if (base->type.id != T_ARRAY) return not_an_array(b, base->type, location);
    if (bind_bounds(b, q, s, location, &at) != ST_OK) return NULL;
    Expr **args = arena_array(b->a, Expr *, at.n + 1);
    if (!args) return NULL;
    args[0] = base;
    memcpy(args + 1, at.expr, sizeof *args * (size_t)at.n);
    return bind_call(b, at.slice ? "array_part" : "array_subscript", false, at.n + 1, args, location);
}

Expr *bind_subscript(Binder *b, Query *q, const AstSubscript *s) {
    AstSubscripts subs;
    const AstExpr *of = NULL;
    if (stack_check_at(b->err, bind_pos(b, s->location)) != ST_OK || chain(b, s, &subs, &of) != ST_OK) return NULL;
    return bind_part(b, q, bind_expr(b, q, of), &subs, s->location);
}

/* The value as what is assigned to a part of type `want` of the column `name`. */
static Expr *as_part(Binder *b, Expr *value, Type want, const char *name, int64_t location) {
    if (value->type.id != T_UNKNOWN && !cast_exists(value->type, want, CAST_ASSIGNMENT)) {
        err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
               "subscripted assignment to \"%s\" requires type %s but expression is of type %s", name,
               type_plain_name(want), type_plain_name(value->type));
        err_hint(b->err, "You will need to rewrite or cast the expression.");
        return NULL;
    }
    return bind_coerce(b, value, want, CAST_ASSIGNMENT, location);
}

Expr *bind_part_set(Binder *b, Query *q, Expr *base, const AstSubscripts *s, Expr *value, const char *name,
                    int64_t location) {
    Bounds at;
    if (!base || !value) return NULL;
    const Type t = base->type;
    if (t.id == T_JSONB) return bind_json_set(b, q, base, s, as_part(b, value, t, name, location), location);
    if (t.id != T_ARRAY) return not_an_array(b, t, location);
    if (bind_bounds(b, q, s, location, &at) != ST_OK ||
        !(value = as_part(b, value, at.slice ? t : type_element(t), name, location)))
        return NULL;
    Expr **args = arena_array(b->a, Expr *, at.n + 3);
    if (!args) return NULL;
    int n = 0;
    args[n++] = base;
    if (at.n == 1) { /* kernels have this one */
        args[n++] = at.expr[0];
        args[n++] = value;
        return bind_call(b, "array_set", false, n, args, location);
    }
    args[n++] = value;
    if (at.slice && !(args[n++] = bind_text_const(b, (Slice){at.given, at.n}, location))) return NULL;
    memcpy(args + n, at.expr, sizeof *args * (size_t)at.n);
    return bind_call(b, at.slice ? "array_set_part" : "array_set_at", false, n + at.n, args, location);
}

/* ---- polymorphic calls -------------------------------------------------------------------------------- */

/* What a function's arguments are: a array, e element, c one that is compared with the array's, . something else.
 * Operators compare arrays of one type only. */
static const struct {
    const char *name, *args;
} forms[] = {
    {"array_append", "ae"},    {"array_prepend", "ea"}, {"array_cat", "aa"},        {"array_position", "ac."},
    {"array_positions", "ac"}, {"array_remove", "ac"},  {"array_replace", "ace"},   {"array_length", "a."},
    {"array_upper", "a."},     {"array_lower", "a."},   {"cardinality", "a"},       {"array_ndims", "a"},
    {"array_dims", "a"},       {"trim_array", "a."},    {"array_to_string", "a.."}, {"array_fill", "e.."},
    {"array_to_json", "a."},
};
static const char *const array_ops[] = {"=", "<>", "!=", "<", "<=", ">", ">=", "@>", "<@", "&&"};

Status bind_no_such_call(Binder *b, const char *name, bool is_operator, int n, Expr *const *args, int64_t location) {
    char call[400];
    size_t len = 0;
    for (int i = 0; i < n && len < sizeof call; i++) {
        const char *sep = i == 0 ? "" : is_operator ? " " : ", ";
        int w = snprintf(call + len, sizeof call - len, "%s%s%s%s", sep, is_operator && i ? name : "",
                         is_operator && i ? " " : "", type_plain_name(args[i]->type));
        if (w > 0) len += (size_t)w;
    }
    if (is_operator) err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "operator does not exist: %s", call);
    else err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "function %s(%s) does not exist", name, call);
    err_hint(b->err, "No %s matches the given name and argument types. You might need to add explicit type casts.",
             is_operator ? "operator" : "function");
    return ST_ERROR;
}

/* Gives arrays and elements of a call one element type. same: the arrays must have it already, as operators need it. */
static Status unify(Binder *b, const char *name, bool is_operator, bool same, const char *form, int n, Expr **args,
                    int64_t location) {
    Type t = type_make(T_UNKNOWN);
    if (!same) TRY(keep_scales(b, n, args, form, location));
    for (int i = 0; i < n && form[i]; i++) {
        Type x = args[i]->type;
        if (form[i] == '.' || x.id == T_UNKNOWN) continue;
        bool fits = (form[i] == 'a') == (x.id == T_ARRAY);
        if (x.id == T_ARRAY) x = type_element(x);
        bool alike = t.id == x.id || (type_is_text(t) && type_is_text(x)) || (bind_is_numeric(t) && bind_is_numeric(x));
        if (same && t.id != T_UNKNOWN && !alike) fits = false;
        if (fits && t.id == T_UNKNOWN) t = x;
        else if (!fits || !bind_common_type(b, t, x, &t))
            return bind_no_such_call(b, name, is_operator, n, args, location);
    }
    if (t.id == T_UNKNOWN)
        return err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
                      "could not determine polymorphic type because input has type unknown");
    for (int i = 0; i < n && form[i]; i++) { /* literals have no part in the type, but their digits and lengths count */
        if (form[i] == '.' || args[i]->kind != EX_CONST || args[i]->type.id != T_UNKNOWN) continue;
        Type x = form[i] == 'a' ? type_array_of(t) : t;
        if (!(args[i] = bind_beside(b, args[i], x, location))) return ST_ERROR;
        x = args[i]->type;
        if (!bind_common_type(b, t, x.id == T_ARRAY ? type_element(x) : x, &t))
            return bind_no_such_call(b, name, is_operator, n, args, location);
    }
    for (int i = 0; i < n && form[i]; i++) {
        if (form[i] == '.') continue;
        Type want = form[i] == 'a' ? type_array_of(t) : t;
        if (!(args[i] = bind_coerce(b, args[i], want, CAST_IMPLICIT, args[i]->location ? args[i]->location : location)))
            return ST_ERROR;
    }
    return ST_OK;
}

/* Elements of json are not compared. ordered: <, <=, >, >=. */
static Status check_compared(Binder *b, const Expr *array, bool ordered, int64_t location) {
    if (!bind_is_incomparable(array->type)) return ST_OK;
    Type t = type_element(array->type);
    return ordered ? bind_check_ordered_type(b, t, location) : bind_check_groupable(b, t, location);
}

Status bind_array_args(Binder *b, const char **name, bool *is_operator, int n, Expr **args, int64_t location) {
    if (n == 0) return ST_OK;
    if (!*is_operator) {
        for (int64_t i = 0; i < ARRAY_LEN(forms); i++)
            if (strcmp(*name, forms[i].name) == 0 && n <= (int)strlen(forms[i].args)) {
                TRY(unify(b, *name, false, false, forms[i].args, n, args, location));
                return strchr(forms[i].args, 'c') ? check_compared(b, args[0], false, location) : ST_OK;
            }
        return ST_OK;
    }
    if (n != 2) return ST_OK;
    bool l = args[0]->type.id == T_ARRAY, r = args[1]->type.id == T_ARRAY;
    if (!l && !r) return ST_OK;
    if (strcmp(*name, "||") == 0) {
        bool lu = args[0]->type.id == T_UNKNOWN, ru = args[1]->type.id == T_UNKNOWN;
        const char *form = (l || lu) && (r || ru) ? "aa" : l ? "ae" : "ea";
        TRY(unify(b, "||", true, false, form, 2, args, location));
        *name = form[0] == form[1] ? "array_cat" : form[0] == 'a' ? "array_append" : "array_prepend";
        *is_operator = false;
        return ST_OK;
    }
    for (int64_t i = 0; i < ARRAY_LEN(array_ops); i++) {
        if (strcmp(*name, array_ops[i]) != 0) continue;
        TRY(unify(b, *name, true, true, "aa", 2, args, location));
        TRY(check_compared(b, args[0], i > 2 && i < 7, location));
        if (!type_needs_key(args[0]->type) || i > 6) return ST_OK;
        for (int k = 0; k < 2; k++)
            if (!(args[k] = bind_key(b, args[k], location))) return ST_ERROR;
        return ST_OK;
    }
    return ST_OK;
}

/* ---- ANY and ALL --------------------------------------------------------------------------------------------- */

Expr *bind_any_array(Binder *b, const char *op, bool all, Expr *l, Expr *array, int64_t location) {
    if (!array) return NULL;
    if (array->type.id == T_UNKNOWN) {
        Type t = l->type.id == T_UNKNOWN ? type_make(T_TEXT) : l->type;
        if (!(array = bind_beside(b, array, type_array_of(t), location))) return NULL;
    }
    if (array->type.id != T_ARRAY) {
        err_at(b->err, bind_pos(b, location), ERR_WRONG_OBJECT_TYPE, "op ANY/ALL (array) requires array on right side");
        return NULL;
    }
    Expr *args[2] = {l, bind_null(b, type_element(array->type))};
    Expr *plain = args[1] ? bind_op(b, op, bind_copy(b, l), args[1], location) : NULL; /* whether the operator exists */
    if (!plain) return NULL;
    if (plain->type.id != T_BOOL) {
        err_at(b->err, bind_pos(b, location), ERR_WRONG_OBJECT_TYPE,
               "op ANY/ALL (array) requires operator to yield boolean");
        return NULL;
    }
    char name[16];
    static const char *const ops[] = {"=", "<>", "<", "<=", ">", ">="};
    bool known = false;
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++) known |= strcmp(op, ops[i]) == 0;
    Type t;
    if (!known || plain->kind != EX_FUNC) {
        bind_unsupported(b, location, "this operator with ANY or ALL of an array that is not spelled out");
        return NULL;
    }
    if (bind_comparable(b, 2, args, "ANY/ALL", &t) != ST_OK) return NULL;
    if (!(args[1] = bind_coerce(b, array, type_array_of(t), CAST_IMPLICIT, location))) return NULL;
    memcpy(name, all ? "array_all" : "array_any", 9);
    memcpy(name + 9, op, strlen(op) + 1);
    return bind_call(b, name, false, 2, args, location);
}

/* ---- ARRAY(subquery) ------------------------------------------------------------------------------------------- */

/* string_agg over the values' entries, with the subquery's sort keys if it has an order (types/func_sorted.c), then one
 * array. */
static Expr *entries_in_order(Binder *b, const Plan *sort, Expr *entry, int64_t location) {
    Expr **args = arena_array(b->a, Expr *, 3 + sort->sort.n);
    char *flags = arena_alloc(b->a, 2 * sort->sort.n + 1);
    if (!args || !flags) return NULL;
    for (int32_t i = 0; i < sort->sort.n; i++) {
        flags[2 * i] = sort->sort.keys[i].desc ? 'd' : 'a';
        flags[2 * i + 1] = sort->sort.keys[i].nulls_first ? 'f' : 'l';
        if (!(args[3 + i] = bind_copy(b, sort->sort.keys[i].expr))) return NULL;
    }
    args[0] = bind_text_const(b, (Slice){flags, 2 * sort->sort.n}, location);
    args[1] = entry;
    args[2] = bind_text_const(b, slice_of(""), location);
    return bind_call(b, "string_agg_entry", false, 3 + sort->sort.n, args, location);
}

Status bind_array_rel(Binder *b, Rel *r, int64_t location) {
    TRY(bind_settle(b, r));
    if (r->n != 1) return err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "subquery must return only one column");
    Type t = b->c->cols.items[r->cols[0]].type, text[2] = {type_make(T_TEXT), type_make(T_TEXT)}, coerced[2], ret;
    const bool nested = t.id == T_ARRAY;
    const Type array_type = nested ? t : type_array_of(t);
    const Plan *sort = r->plan->kind == LP_LIMIT ? r->plan->children[0] : r->plan;
    bool ordered = sort->kind == LP_SORT && sort->sort.n > 0;
    AggCall call = {.kind = AGG_STRING_AGG};
    Expr *value = expr_col(b->c, r->cols[0]);
    call.arg = value ? bind_call(b, "array_entry", false, 1, &value, location) : NULL;
    if (call.arg && ordered) call.arg = entries_in_order(b, sort, call.arg, location);
    call.arg2 = bind_text_const(b, slice_of(""), location);
    TRY(func_resolve(slice_of("string_agg"), false, 2, text, bind_pos(b, location), &call.func, coerced, &ret, b->err));
    Plan *p = plan_new(b->c, LP_AGG, 1);
    if (!call.arg || !call.arg2 || !p || !(p->agg.calls = arena_array(b->a, AggCall, 1)) ||
        !(call.out = plan_new_col(b->c, "array", ret, true)))
        return ST_ERROR;
    p->children[0] = r->plan;
    p->agg.calls[0] = call;
    p->agg.n_calls = 1;
    Expr *all = expr_col(b->c, call.out);
    if (ordered && all) all = bind_call(b, "string_agg_sorted", false, 1, &all, location);
    const char *made = nested ? "array_nest_entries" : "array_from_entries";
    Expr *array = all ? bind_call(b, made, false, 1, &all, location) : NULL,
         *e = expr_new(b->c, EX_COALESCE, array_type, 2);
    if (!array || !e || !(e->args[1] = constant_array(b, t, 0, NULL, location))) return ST_ERROR;
    array->type = e->type;
    e->args[0] = array;
    Proj proj = {0};
    ColId *cols = arena_array(b->a, ColId, 1);
    if (!cols || !(cols[0] = bind_proj_add(b, &proj, NULL, e, "array"))) return ST_ERROR;
    r->cols = cols;
    return (r->plan = bind_proj_plan(b, &proj, p)) ? ST_OK : ST_ERROR;
}

/* ---- unnest --------------------------------------------------------------------------------------------------- */

Status bind_check_array(Binder *b, const Expr *e, int64_t location) {
    if (e->type.id == T_ARRAY) return ST_OK;
    if (e->type.id == T_UNKNOWN) { /* PostgreSQL has another one over tsvector */
        err_at(b->err, bind_pos(b, location), ERR_AMBIGUOUS_FUNCTION, "function unnest(unknown) is not unique");
        err_hint(b->err, "Could not choose a best candidate function. You might need to add explicit type casts.");
        return ST_ERROR;
    }
    err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "function unnest(%s) does not exist",
           type_plain_name(e->type));
    err_hint(b->err,
             "No function matches the given name and argument types. You might need to add explicit type casts.");
    return ST_ERROR;
}
