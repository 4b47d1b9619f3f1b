/* bind_func.c - function calls, aggregates.
 *
 * Aggregates are collected in the level they belong to: the innermost level whose columns the arguments use. The
 * call itself becomes a column; equal aggregates share one. Some aggregates are made of others: sums of intervals,
 * string_agg with an order.
 */
#include "catalog/similar_names.h"
#include "catalog/user_function.h"
#include "sql/bind/bind_int.h"
#include "types/oid.h"
#include "types/range.h"

static const char *const int_fields[] = {"year", "month",  "day", "hour",    "minute", "quarter", "week",
                                         "dow",  "isodow", "doy", "isoyear", "decade", "century", "millennium"};
static const char *const whole_fields[] = {"microseconds", "timezone", "timezone_hour",
                                           "timezone_minute"}; /* others without a fraction */

/* extract('field', x) */
static Expr *bind_extract(Binder *b, Query *q, const AstFunc *f) {
    const AstExpr *a0 = f->args[0];
    if (a0->kind != AST_STRING_LIT) {
        bind_unsupported(b, f->location, "EXTRACT with a computed field");
        return NULL;
    }
    Slice field = AST_AS_CONST(AstLiteral, a0)->text;
    char *lower = arena_strndup(b->a, field.ptr, field.len);
    if (!lower) return NULL;
    for (char *p = lower; *p; p++)
        if (*p >= 'A' && *p <= 'Z') *p = (char)(*p + 32);
    Expr *args[2] = {bind_text_const(b, slice_of(lower), a0->location), bind_expr(b, q, f->args[1])};
    if (!args[0] || !args[1]) return NULL;
    /* Names that PostgreSQL shortens: years, mons, hrs ... are left to the kernel's reading of the field. */
    bool whole = false;
    for (int64_t i = 0; i < ARRAY_LEN(int_fields); i++) whole |= strcmp(lower, int_fields[i]) == 0;
    whole &= args[1]->type.id != T_INTERVAL || strcmp(lower, "hour") != 0; /* 2562047788 at most */
    if (date_field_from_name(slice_of(lower)) == DF_INVALID) {
        err_at(b->err, bind_pos(b, a0->location), ERR_INVALID_PARAMETER, "unit \"%s\" not recognized for type %s",
               lower, type_plain_name(args[1]->type));
        return NULL;
    }
    static const char *const time_fields[] = {"hour",         "minute",   "second",        "milliseconds",
                                              "microseconds", "timezone", "timezone_hour", "timezone_minute"};
    for (int64_t i = 0; args[1]->type.id == T_DATE && i < ARRAY_LEN(time_fields); i++)
        if (strcmp(lower, time_fields[i]) == 0) {
            err_at(b->err, bind_pos(b, f->location), ERR_FEATURE_NOT_SUPPORTED,
                   "unit \"%s\" not supported for type date", lower);
            return NULL;
        }
    Expr *e = bind_call(b, whole ? "extract_int" : "extract_num", false, 2, args, f->location);
    if (!e) return NULL;
    if (whole)
        return bind_coerce(b, e, type_as_numeric(e->type), CAST_IMPLICIT,
                           f->location); /* extract(year from x) / 100 has a fraction */
    int scale = strcmp(lower, "milliseconds") == 0 ? 3 : args[1]->type.id == T_DATE ? 0 : 6;
    for (int64_t i = 0; i < ARRAY_LEN(whole_fields); i++)
        if (strcmp(lower, whole_fields[i]) == 0) scale = 0;
    return scale == e->type.scale ? e : bind_coerce(b, e, type_numeric(20, scale), CAST_EXPLICIT, f->location);
}

/* (a, b) OVERLAPS (c, d), where b and d may be lengths. */
static Expr *bind_overlaps(Binder *b, Query *q, const AstFunc *f) {
    Expr **args = bind_list(b, q, f->args, f->n_args);
    if (!args) return NULL;
    Type t = type_make(T_TIMESTAMPTZ);
    bool decided = false, length = false;
    for (int i = 0; i < 4; i++) {
        length |= i % 2 == 1 && args[i]->type.id == T_INTERVAL;
        if (args[i]->type.id == T_UNKNOWN || (i % 2 == 1 && args[i]->type.id == T_INTERVAL) || decided) continue;
        t = args[i]->type;
        decided = true;
    }
    for (int i = 0; length && i < 4; i += 2) {
        if (args[i]->type.id == T_UNKNOWN && !(args[i] = bind_coerce(b, args[i], t, CAST_IMPLICIT, f->location)))
            return NULL;
        if (args[i + 1]->type.id == T_INTERVAL &&
            !(args[i + 1] = bind_op(b, "+", bind_copy(b, args[i]), args[i + 1], f->location)))
            return NULL;
    }
    return bind_call(b, "overlaps", false, 4, args, f->location);
}

/* ---- aggregates ---------------------------------------------------------------------- */

static bool set_get(const ColSet *s, int64_t i) { return s->bits[i / 64] >> (i % 64) & 1; }

/* The level an aggregate over these columns belongs to. */
static Query *agg_level(Binder *b, Query *q, const ColSet *used) {
    for (Query *s = q; s; s = s->outer)
        for (int64_t i = 1; i < used->n_words * 64; i++)
            if (set_get(used, i) && bind_owner(b, (ColId)i).query == s) return s;
    return q;
}

/* ... which must not be one of the aggregates of that level itself. */
static Query *agg_home(Binder *b, Query *q, const ColSet *used, int64_t location) {
    Query *level = agg_level(b, q, used);
    for (int64_t i = 1; i < used->n_words * 64; i++) {
        if (!set_get(used, i)) continue;
        ColOwner o = bind_owner(b, (ColId)i);
        if (o.query != level || !o.agg) continue;
        err_at(b->err, bind_pos(b, location), ERR_GROUPING, "aggregate function calls cannot be nested");
        return NULL;
    }
    return level;
}

Query *bind_agg_level(Binder *b, Query *q, int64_t n, Expr *const *args, int64_t location) {
    ColSet used = colset_new(b->c);
    for (int64_t i = 0; i < n; i++) expr_cols(b->c, args[i], &used);
    return agg_home(b, q, &used, location);
}

/* The column of an aggregate of this level; equal ones share it. */
static Expr *agg_column(Binder *b, Query *level, const AstFunc *f, AggCall call, Type ret) {
    if (f->over) return bind_window_agg(b, level, f, call, ret);
    ColId id = 0;
    for (int64_t i = 0; i < level->aggs.len && !id; i++) {
        const AggCall *o = &level->aggs.items[i];
        if (o->func == call.func && o->distinct == call.distinct && expr_equal(o->arg, call.arg) &&
            expr_equal(o->arg2, call.arg2) && expr_equal(o->filter, call.filter) && !expr_is_volatile(call.arg))
            id = o->out;
    }
    if (!id) {
        bool counts = agg_is_count(call.kind);
        if (!(id = call.out = plan_new_col(b->c, f->name.name, ret, !counts)) ||
            bind_own(b, level, id, true) != ST_OK || !vec_push(b->a, &level->aggs, call))
            return NULL;
    }
    Expr *e = expr_col(b->c, id);
    if (e) e->location = f->location;
    return e;
}

/* ORDER BY of an aggregate. Numbers are values here, not positions. */
static Expr **order_keys(Binder *b, Query *q, const AstFunc *f) {
    Expr **e = arena_array(b->a, Expr *, f->n_order_by + 1);
    for (int64_t i = 0; e && i < f->n_order_by; i++) {
        if (!(e[i] = bind_expr(b, q, f->order_by[i].expr))) return NULL;
    }
    return e;
}

/* string_agg whose order is given (types/func_sorted.c). DISTINCT sorts by its arguments, as PostgreSQL does. */
static Expr *sorted_string_agg(Binder *b, Query *level, const AstFunc *f, Expr **order, const AggCall *call,
                               int n_given, Expr *const *given) {
    int64_t n = f->n_order_by, extra = f->distinct ? n_given : 0;
    Expr **args = arena_array(b->a, Expr *, 3 + n + extra);
    char *flags = arena_alloc(b->a, 2 * (n + extra) + 1);
    if (!args || !flags) return NULL;
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        const AstOrderItem *o = &f->order_by[i];
        if (order[i]->kind == EX_CONST) continue;
        if (bind_check_sortable(b, order[i]->type, o->expr->location) != ST_OK) return NULL;
        flags[2 * k] = o->desc ? 'd' : 'a';
        flags[2 * k + 1] = (o->nulls == AST_NULLS_DEFAULT ? o->desc : o->nulls == AST_NULLS_FIRST) ? 'f' : 'l';
        args[3 + k++] = order[i];
    }
    for (int64_t i = 0; i < extra; i++) {
        bool has = given[i]->kind == EX_CONST;
        for (int64_t j = 0; j < n; j++) has |= expr_equal(order[j], given[i]);
        if (has) continue;
        memcpy(flags + 2 * k, "al", 2);
        if (!(args[3 + k++] = bind_copy(b, given[i]))) return NULL;
    }
    if (k == 0) {
        memcpy(flags, "al", 2);
        args[3 + k++] = bind_int8_const(b, 0);
    }
    args[0] = bind_text_const(b, (Slice){flags, 2 * k}, f->location);
    args[1] = call->arg;
    args[2] = call->arg2;
    if (!args[0] || !args[3 + k - 1]) return NULL;
    AggCall c = *call;
    c.arg = bind_call(b, "string_agg_entry", false, (int)(3 + k), args, f->location);
    c.arg2 = bind_text_const(b, slice_of(""), f->location);
    if (!c.arg || !c.arg2) return NULL;
    Expr *all = agg_column(b, level, f, c, type_make(T_TEXT));
    all = all ? bind_call(b, "string_agg_sorted", false, 1, &all, f->location) : NULL;
    if (all && call->arg->type.id == T_BYTEA) all->type = call->arg->type;
    return all;
}

/* The sum of hundredths. */
static Expr *money_sum(Binder *b, Query *level, const AstFunc *f, const AggCall *call) {
    AggCall c = *call;
    Type ret, coerced;
    Expr *x = bind_call(b, "money_cents", false, 1, &c.arg, f->location);
    if (!x) return NULL;
    Type t = x->type;
    if (func_resolve(slice_of("sum"), false, 1, &t, bind_pos(b, f->location), &c.func, &coerced, &ret, b->err) != ST_OK)
        return NULL;
    c.kind = c.func->agg;
    c.arg = bind_coerce(b, x, coerced, CAST_IMPLICIT, f->location);
    Expr *sum = c.arg ? agg_column(b, level, f, c, ret) : NULL;
    return sum ? bind_call(b, "money_of_cents", false, 1, &sum, f->location) : NULL;
}
/* sum and avg of intervals: the sums of their fields, put together again. */
static Expr *interval_agg(Binder *b, Query *level, const AstFunc *f, const AggCall *call) {
    static const char *const fields[] = {"interval_months", "interval_days", "interval_micros"};
    if (call->distinct) {
        bind_unsupported(b, f->location, "DISTINCT in an aggregate of intervals");
        return NULL;
    }
    Expr *parts[4];
    for (int i = 0; i < (call->kind == AGG_AVG ? 4 : 3); i++) {
        AggCall c = *call;
        Type ret;
        Expr *x = bind_copy(b, call->arg);
        if (x && i < 3) x = bind_call(b, fields[i], false, 1, &x, f->location);
        if (!x) return NULL;
        Type t = x->type, coerced;
        if (func_resolve(slice_of(i < 3 ? "sum" : "count"), false, 1, &t, bind_pos(b, f->location), &c.func, &coerced,
                         &ret, b->err) != ST_OK)
            return NULL;
        c.kind = c.func->agg;
        c.arg = x;
        if (call->filter && !(c.filter = bind_copy(b, call->filter))) return NULL;
        if (!(parts[i] = agg_column(b, level, f, c, ret))) return NULL;
    }
    Expr *sum = bind_call(b, "interval_from_sums", false, 3, parts, f->location);
    return call->kind == AGG_SUM || !sum
               ? sum
               : bind_op(b, "/", sum, bind_coerce(b, parts[3], type_make(T_FLOAT8), CAST_IMPLICIT, f->location),
                         f->location);
}

/* array_agg: the values' entries one behind the other, made an array; min and max of arrays: of their sort keys
 * (types/func_array.c). */
static Expr *array_agg(Binder *b, Query *level, const AstFunc *f, Expr **order, const AggCall *call, Type ret) {
    AggCall c = *call;
    Expr *arg = call->arg, *all;
    Type types[2] = {type_make(T_TEXT), type_make(T_TEXT)}, coerced[2], t;
    bool agg = call->kind == AGG_STRING_AGG;
    uint8_t element = type_element(ret).id; /* intervals and jsonb cannot be read from their keys */
    if (!agg && (element == T_INTERVAL || element == T_JSONB)) {
        bind_unsupported(b, f->location,
                         element == T_JSONB ? "the least or greatest array of jsonb"
                                            : "the least or greatest array of intervals");
        return NULL;
    }
    if (!agg && type_is_range(type_element(ret)) && type_needs_key(ret)) {
        const char *what = arena_printf(b->a, "the least or greatest array of %s", type_plain_name(type_element(ret)));
        if (what) bind_unsupported(b, f->location, what);
        return NULL;
    }
    if (!agg && bind_check_ordered_type(b, type_element(ret), f->location) != ST_OK) return NULL;
    const bool nested = agg && arg->type.id == T_ARRAY;
    if (agg && f->distinct && bind_check_least(b, nested ? ret : type_array_of(arg->type), f->location) != ST_OK)
        return NULL;
    if (!(c.arg = bind_call(b, agg ? "array_entry" : "array_sort_key", false, 1, &arg, f->location))) return NULL;
    if (!agg) types[0] = c.arg->type;
    if (func_resolve(slice_of(agg ? "string_agg" : f->name.name), false, agg ? 2 : 1, types, bind_pos(b, f->location),
                     &c.func, coerced, &t, b->err) != ST_OK)
        return NULL;
    if (!agg) {
        all = agg_column(b, level, f, c, t);
    } else if (f->n_order_by || f->distinct) {
        Expr *value = bind_copy(b, arg);
        if (!value || !(c.arg2 = bind_text_const(b, slice_of(""), f->location))) return NULL;
        all = sorted_string_agg(b, level, f, order, &c, 1, &value);
    } else {
        if (!(c.arg2 = bind_text_const(b, slice_of(""), f->location))) return NULL;
        all = agg_column(b, level, f, c, t);
    }
    const char *made = nested ? "array_nest_entries" : agg ? "array_from_entries" : "array_from_sort_key";
    Expr *e = all ? bind_call(b, made, false, 1, &all, f->location) : NULL;
    if (e) e->type = ret;
    return e;
}

/* json_agg and the like: string_agg of entries, put together. */
static Expr *json_agg(Binder *b, Query *level, const AstFunc *f, Expr **order, const AggCall *call, bool row) {
    AggCall c = *call;
    Type types[2] = {type_make(T_TEXT), type_make(T_TEXT)}, coerced[2], t;
    Expr *values[2] = {bind_copy(b, call->arg), call->arg2 ? bind_copy(b, call->arg2) : NULL};
    if (func_resolve(slice_of("string_agg"), false, 2, types, bind_pos(b, f->location), &c.func, coerced, &t, b->err) !=
            ST_OK ||
        !(c.arg = bind_json_entry(b, call, row, f->location)) || !(c.arg2 = bind_text_const(b, slice_of(""), 0)))
        return NULL;
    Expr *all = f->n_order_by || f->distinct ? sorted_string_agg(b, level, f, order, &c, call->arg2 ? 2 : 1, values)
                                             : agg_column(b, level, f, c, t);
    return bind_json_entries(b, call, all, f->location);
}

/* range_agg and range_intersect_agg: string_agg of the values, of which one is made (types/func_range.c). Their order
 * does not matter, nor do equal ones. */
static Expr *range_agg(Binder *b, Query *level, const AstFunc *f, const AggCall *call, Type ret) {
    const bool intersect = strcmp(f->name.name, "range_intersect_agg") == 0;
    AggCall c = *call;
    Expr *arg = call->arg, *args[2];
    Type types[2] = {type_make(T_TEXT), type_make(T_TEXT)}, coerced[2], t;
    args[1] = bind_null(b, arg->type); /* says of what the entries are */
    c.distinct = false;
    if (!args[1] || !(c.arg = bind_call(b, "range_entry", false, 1, &arg, f->location)) ||
        !(c.arg2 = bind_text_const(b, slice_of(""), f->location)) ||
        func_resolve(slice_of("string_agg"), false, 2, types, bind_pos(b, f->location), &c.func, coerced, &t, b->err) !=
            ST_OK ||
        !(args[0] = agg_column(b, level, f, c, t)))
        return NULL;
    Expr *e =
        bind_call(b, intersect ? "range_intersect_entries" : "multirange_from_entries", false, 2, args, f->location);
    if (e) e->type = ret;
    return e;
}

static Expr *call_of_client(Binder *b, const FuncDef *f, Type ret, int n, Expr *const *args, int64_t location) {
    Expr *e = expr_new(b->c, EX_FUNC, ret, n);
    if (!e) return NULL;
    e->u.func = f;
    e->location = location;
    for (int i = 0; i < n; i++) e->args[i] = args[i];
    return e;
}

/* An aggregate of the client over whole groups: string_agg of its rows' entries, put together (api/function_group.c).
 */
static Expr *client_agg(Binder *b, Query *level, const AstFunc *f, Expr **order, const AggCall *call, int n,
                        Expr **args, Type ret) {
    const AggOps *ops = call->func->agg_ops;
    AggCall c = *call;
    Type types[2] = {type_make(T_TEXT), type_make(T_TEXT)}, coerced[2], t;
    if (func_resolve(slice_of("string_agg"), false, 2, types, bind_pos(b, f->location), &c.func, coerced, &t, b->err) !=
            ST_OK ||
        !(c.arg = call_of_client(b, ops->entry, t, n, args, f->location)) ||
        !(c.arg2 = bind_text_const(b, slice_of(""), f->location)))
        return NULL;
    c.kind = c.func->agg;
    for (int i = 1; call->distinct && i < n; i++) /* the first one is already */
        if (bind_has_key(args[i]->type) && !(args[i] = bind_least(b, args[i], f->location))) return NULL;
    Expr *all = f->n_order_by || call->distinct ? sorted_string_agg(b, level, f, order, &c, n, args)
                                                : agg_column(b, level, f, c, t);
    return all ? call_of_client(b, ops->whole, ret, 1, &all, f->location) : NULL;
}

Expr *bind_agg_column(Binder *b, Query *level, const AstFunc *f, AggCall call, Type ret) {
    return agg_column(b, level, f, call, ret);
}

Expr *bind_array_agg(Binder *b, Query *level, const AstFunc *f, Expr *arg, Expr *filter) {
    AggCall call = {.arg = arg, .filter = filter};
    AstFunc plain = *f;
    plain.n_order_by = 0;
    Type t = arg->type, coerced, ret;
    if (func_resolve(slice_of("array_agg"), false, 1, &t, bind_pos(b, f->location), &call.func, &coerced, &ret,
                     b->err) != ST_OK)
        return NULL;
    call.kind = call.func->agg;
    return array_agg(b, level, &plain, NULL, &call, ret);
}

/* The keys of ORDER BY become text where they have no type. With DISTINCT each must be an argument as it is written:
 * given, before the implicit casts that make args of them. The key is then the argument, cast. A literal without a type
 * is no argument of a function of text, but one of count, which takes any. */
static Status match_order(Binder *b, const AstFunc *f, const FuncDef *def, int n, Expr *const *given, Expr *const *args,
                          Expr **order) {
    for (int64_t i = 0; i < f->n_order_by; i++) {
        bool literal = order[i]->kind == EX_CONST && order[i]->type.id == T_UNKNOWN, found = !f->distinct;
        if (order[i]->type.id == T_UNKNOWN &&
            !(order[i] = bind_coerce(b, order[i], type_make(T_TEXT), CAST_IMPLICIT, f->order_by[i].location)))
            return ST_ERROR;
        for (int k = 0; k < n && !found; k++) {
            if (literal && !agg_is_count(def->agg)) continue;
            if (!expr_equal(order[i], literal ? args[k] : given[k])) continue;
            found = true;
            if (given[k] != args[k] && !(order[i] = bind_copy(b, args[k]))) return ST_ERROR;
        }
        if (!found)
            return err_at(b->err, bind_pos(b, f->order_by[i].expr->location), ERR_INVALID_COLUMN_REFERENCE,
                          "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list");
    }
    return ST_OK;
}

/* When no function has the name, whatever its arguments: which one may have been meant. */
void bind_hint_function(Binder *b, const char *name, const char *what) {
    if (!err_is_set(b->err) || strcmp(b->err->sqlstate, ERR_UNDEFINED_FUNCTION) != 0) return;
    int64_t n;
    const FuncDef *f = func_table(&n);
    Similar s;
    similar_init(&s, name);
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(f[i].name, name) == 0) return;
        if (!f[i].doc || strncmp(f[i].doc, "internal", 8) != 0) similar_offer(&s, f[i].name);
    }
    const ListedFunction *listed = sql_listed_functions(&n);
    for (int64_t i = 0; i < n; i++) {
        if (strcmp(listed[i].name, name) == 0) return;
        similar_offer(&s, listed[i].name);
    }
    if (bind_is_routine(b, name)) return;
    catalog_offer_routines(b->c->catalog, &s);
    if (s.best)
        err_hint(b->err, "No %s matches the given name and argument types. Perhaps you meant \"%s\".", what, s.best);
}

Expr *bind_agg(Binder *b, Query *q, const AstFunc *f) {
    const char *name = f->name.name;
    const bool user = bind_is_user_aggregate(b, f);
    if (f->star && strcmp(name, "count") != 0 && !user) {
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s() does not exist", name);
        return NULL;
    }
    if (strcmp(name, "count") == 0 && !f->star && f->n_args == 0 && !user) {
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
               "count(*) must be used to call a parameterless aggregate function");
        return NULL;
    }
    bool srf = q->srf_ok;
    const char *window_error = q->window_error;
    q->srf_ok = false;
    const char *inside = f->over ? "window function calls cannot be nested"
                                 : "aggregate function calls cannot contain window function calls";
    q->window_error = inside;
    bool row = false;
    Expr **args = bind_takes_json_rows(f) ? bind_json_args(b, q, f, &row) : bind_list(b, q, f->args, f->n_args);
    if (args && f->distinct && strcmp(name, "count") == 0 && f->n_args == 1 && args[0]->type.id == T_COMPOSITE &&
        !(args[0] = bind_key(b, args[0], f->location))) /* rows are distinct as their keys are */
        return NULL;
    Expr *filter = NULL;
    q->window_error = "window functions are not allowed in FILTER";
    if (args && f->filter && !(filter = bind_bool(b, bind_expr(b, q, f->filter), "FILTER", f->filter->location)))
        return NULL;
    q->window_error = inside;
    Expr **order = args ? order_keys(b, q, f) : NULL;
    q->srf_ok = srf;
    q->window_error = window_error;
    if (!order) return NULL;
    int n = (int)f->n_args;
    if (f->n_args > 8) {
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s with %d arguments does not exist",
               name, (int)f->n_args);
        return NULL;
    }
    ColSet used = colset_new(b->c);
    for (int i = 0; i < n; i++) expr_cols(b->c, args[i], &used);
    for (int64_t i = 0; i < f->n_order_by; i++) expr_cols(b->c, order[i], &used);
    if (filter) expr_cols(b->c, filter, &used);
    Query *level = f->over ? q : agg_home(b, q, &used, f->location);
    if (!level) return NULL;
    if (level->clause && !f->over) {
        bool lateral = level != q && strcmp(level->clause, "FROM") == 0;
        err_at(b->err, bind_pos(b, f->location), ERR_GROUPING, "aggregate functions are not allowed in %s%s",
               level->clause, lateral ? " clause of their own query level" : "");
        return NULL;
    }
    Type types[8], coerced[8], ret;
    for (int i = 0; i < n; i++) types[i] = args[i]->type;
    const FuncDef *def = NULL;
    if ((user && bind_user_aggregate(b, f, n, args, &def, coerced, &ret) != ST_OK) ||
        (!def &&
         func_resolve(slice_of(name), false, n, types, bind_pos(b, f->location), &def, coerced, &ret, b->err) != ST_OK))
        return NULL;
    if (!(def->flags & FN_AGGREGATE)) {
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE, "%s is not an aggregate function", name);
        return NULL;
    }
    /* min(char(3)) is char(3): the length says how to pad */
    if (n > 0 && ret.id == T_CHAR && args[0]->type.id == T_CHAR) ret = args[0]->type;
    if (n > 0 && type_is_record(args[0]->type)) {
        bool one_of_them = def->agg == AGG_MIN || def->agg == AGG_MAX || def->agg == AGG_ANY;
        if (!one_of_them && !agg_is_count(def->agg)) {
            err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s(%s) does not exist", name,
                   type_plain_name(args[0]->type));
            return NULL;
        }
        if (one_of_them) ret = args[0]->type;
    }
    Expr *given[8];
    for (int i = 0; i < n; i++) {
        given[i] = args[i];
        if (type_eq(args[i]->type, coerced[i])) continue;
        if (args[i]->kind != EX_CONST && args[i]->type.id != T_UNKNOWN && cast_is_noop(args[i]->type, coerced[i]))
            continue;
        if (!(args[i] = bind_coerce(b, args[i], coerced[i], CAST_IMPLICIT, args[i]->location))) return NULL;
    }
    bool distinct = f->distinct && def->agg != AGG_MIN && def->agg != AGG_MAX && def->agg != AGG_BOOL_AND &&
                    def->agg != AGG_BOOL_OR && def->agg != AGG_BIT_AND && def->agg != AGG_BIT_OR && def->agg != AGG_ANY;
    if (match_order(b, f, def, n, given, args, order) != ST_OK) return NULL;
    for (int i = 0; distinct && i < n; i++)
        if (bind_check_least(b, args[i]->type, f->location) != ST_OK) return NULL;
    if (distinct && bind_has_key(args[0]->type)) { /* equal ones with equal bytes */
        bool count = def->agg == AGG_COUNT;
        if (!(args[0] = count ? bind_key(b, args[0], f->location) : bind_least(b, args[0], f->location))) return NULL;
    }
    AggCall call = {.func = def, .kind = def->agg, .distinct = distinct, .filter = filter};
    if (n > 0) call.arg = args[0];
    if (n > 1) call.arg2 = args[1];
    if (def->agg == AGG_CLIENT && (f->n_order_by || !def->agg_ops->update))
        return client_agg(b, level, f, order, &call, n, args, ret);
    if (ret.id == T_ARRAY && (def->agg == AGG_STRING_AGG || def->agg == AGG_MIN || def->agg == AGG_MAX))
        return array_agg(b, level, f, order, &call, ret);
    if (def->agg == AGG_STRING_AGG && type_is_range(ret)) return range_agg(b, level, f, &call, ret);
    if (def->agg == AGG_STRING_AGG && type_is_json(ret)) return json_agg(b, level, f, order, &call, row);
    if (def->agg == AGG_STRING_AGG && (f->n_order_by || distinct))
        return sorted_string_agg(b, level, f, order, &call, 2, args);
    if (ret.id == T_INTERVAL && (def->agg == AGG_SUM || def->agg == AGG_AVG)) return interval_agg(b, level, f, &call);
    if (ret.id == T_MONEY && def->agg == AGG_SUM) return money_sum(b, level, f, &call);
    return agg_column(b, level, f, call, ret);
}

/* ---- calls ------------------------------------------------------------------------------ */

/* int4pl(1, 2) is 1 + 2: functions that PostgreSQL has for its operators, by the operators' types. NULL without an
 * error: it is none of these, or not of these arguments. */
static Expr *operator_function(Binder *b, const char *name, int n, Expr **args, int64_t location) {
    static const struct {
        const char *name, *op, *left, *right;
    } functions[] = {
#include "sql/bind/operator_functions.inc"
    };
    for (int64_t i = 0; i < ARRAY_LEN(functions); i++) {
        const char *const names[2] = {functions[i].left ? functions[i].left : functions[i].right, functions[i].right};
        if (strcmp(functions[i].name, name) != 0 || n != (functions[i].left ? 2 : 1)) continue;
        Type types[2];
        bool fits = true;
        for (int k = 0; k < n && fits; k++) {
            const Type t = args[k]->type;
            Err none = {0};
            fits = type_from_name(slice_of(names[k]), 0, NULL, &types[k], &none) == ST_OK &&
                   (t.id == T_UNKNOWN || t.id == types[k].id || cast_exists(t, types[k], CAST_IMPLICIT) ||
                    (bind_is_numeric(t) && bind_is_numeric(types[k])));
            if (fits && bind_is_numeric(t) && bind_is_numeric(types[k])) types[k] = t;
        }
        if (!fits) continue;
        for (int k = 0; k < n; k++)
            if (args[k]->type.id != types[k].id &&
                !(args[k] = bind_coerce(b, args[k], types[k], CAST_IMPLICIT, location)))
                return NULL;
        return n == 1 ? bind_call(b, functions[i].op, true, 1, args, location)
                      : bind_op(b, functions[i].op, args[0], args[1], location);
    }
    return NULL;
}

/* A type's name as regtype. */
static Expr *type_named(Binder *b, const char *name, int64_t location) {
    Expr *text = name ? bind_text_const(b, slice_of(name), location) : NULL;
    return bind_coerce(b, text, oid_type(OID_TYPE), CAST_EXPLICIT, location);
}
/* Some function has the name. */
static bool is_known(Binder *b, const AstFunc *f) {
    int64_t n;
    const ListedFunction *listed = sql_listed_functions(&n);
    bool known = func_named(slice_of(f->name.name)) || bind_is_routine(b, f->name.name);
    for (int64_t i = 0; i < n; i++) known |= strcmp(listed[i].name, f->name.name) == 0;
    return known;
}
static void no_such_function(Binder *b, Query *q, const AstFunc *f) {
    Expr **args = bind_list(b, q, f->args, f->n_args);
    if (!args) return;
    (void)bind_no_such_call(b, f->name.name, false, (int)f->n_args, args, f->location);
    bind_hint_function(b, f->name.name, "function");
}

/* COLLATION FOR (value): by how the value is written; an untyped literal has none. */
static Expr *bind_collation_for(Binder *b, Query *q, const AstFunc *f) {
    Expr *e = bind_expr(b, q, f->args[0]);
    const char *name = "default";
    if (!e) return NULL;
    const bool named = f->args[0]->kind == AST_COLLATE;
    if (bind_is_unknown(e) && !named) return bind_null(b, type_make(T_TEXT));
    if (!type_is_text(e->type)) {
        err_at(b->err, bind_pos(b, f->location), ERR_DATATYPE_MISMATCH, "collations are not supported by type %s",
               type_plain_name(e->type));
        return NULL;
    }
    if (named) name = AST_AS_CONST(AstCollate, f->args[0])->collation.name;
    char *quoted = arena_alloc(b->a, 2 * (int64_t)strlen(name) + 3);
    if (!quoted) return NULL;
    (void)name_put_quoted(name, quoted);
    return bind_text_const(b, slice_of(quoted), f->location);
}

/* pg_typeof(ARRAY[..]): of values of one domain it is an array of that, which is no type of the catalog. */
static Expr *typeof_items(Binder *b, Query *q, const AstList *l, int64_t location) {
    Expr **items = bind_list(b, q, l->items, l->n_items);
    if (!items) return NULL;
    int64_t domain = items[0]->domain;
    for (int64_t i = 0; i < l->n_items; i++) domain = items[i]->domain == domain ? domain : 0;
    const Domain *d = catalog_domain_by_id(b->c->catalog, domain);
    b->c->one_thread = true;
    if (d) {
        const char *name = domain_shown(b->a, d), *shown = name ? arena_printf(b->a, "%s[]", name) : NULL;
        return shown ? bind_text_const(b, slice_of(shown), location) : NULL;
    }
    Expr *e = bind_array_of(b, l->n_items, items, location);
    return e ? bind_call(b, "pg_typeof", false, 1, &e, location) : NULL;
}

Expr *bind_func(Binder *b, Query *q, const AstFunc *f) {
    const char *name = f->name.name;
    int64_t pos = bind_pos(b, f->location);
    if (f->within_group && !f->name.schema) return bind_within_group(b, q, f);
    if (f->over) return bind_window_call(b, q, f);
    if (bind_is_user_aggregate(b, f)) return bind_agg(b, q, f);
    Expr *routine = bind_has_routines(b, f->name.name) ? bind_routine_call(b, q, f) : NULL;
    if (routine || err_is_set(b->err)) return routine;
    if (f->name.schema) {
        const AstFunc *x = bind_schema_constructor(b, f);
        if (x) return bind_func(b, q, x);
        Expr **args = err_is_set(b->err) ? NULL : bind_list(b, q, f->args, f->n_args);
        Expr *e = args ? bind_cast_call(b, f, args) : NULL;
        if (!e && !err_is_set(b->err)) bind_no_function_in(b, q, f);
        return e;
    }
    if (f->variadic) return bind_variadic(b, q, f);
    if (f->arg_names) {
        const AstFunc *x = bind_by_position(b, q, f);
        return x ? bind_func(b, q, x) : NULL;
    }
    if (bind_check_ordered(b, f) != ST_OK) return NULL;
    if (func_is_aggregate(slice_of(name))) return bind_agg(b, q, f);
    if (bind_is_window_func(name)) {
        err_at(b->err, pos, ERR_WRONG_OBJECT_TYPE, "window function %s requires an OVER clause", name);
        return NULL;
    }
    const char *wrong = f->star         ? "(*)"
                        : f->distinct   ? "DISTINCT"
                        : f->n_order_by ? "ORDER BY"
                        : f->filter     ? "FILTER"
                                        : NULL;
    if (wrong && !is_known(b, f)) {
        no_such_function(b, q, f);
        return NULL;
    }
    if (wrong) {
        err_at(b->err, pos, ERR_WRONG_OBJECT_TYPE, "%s specified, but %s is not an aggregate function", wrong, name);
        return NULL;
    }
    if (bind_is_rows(f)) return bind_rows_target(b, q, f);
    if (strcmp(name, "overlaps") == 0 && f->n_args == 4) return bind_overlaps(b, q, f);
    if (strcmp(name, "extract") == 0 && f->n_args == 2) return bind_extract(b, q, f);
    if (strcmp(name, "row_to_json") == 0) return bind_row_to_json(b, q, f);
    Expr *of_sequence = bind_sequence_call(b, q, f);
    if (of_sequence || err_is_set(b->err)) return of_sequence;
    if (strcmp(name, "pg_collation_for") == 0 && f->n_args == 1) return bind_collation_for(b, q, f);
    const bool of_items = f->n_args == 1 && f->args[0]->kind == AST_ARRAY && strcmp(name, "pg_typeof") == 0;
    if (of_items && AST_AS_CONST(AstList, f->args[0])->n_items > 0)
        return typeof_items(b, q, AST_AS_CONST(AstList, f->args[0]), f->location);
    bool row;
    Expr **args = bind_takes_json_rows(f) ? bind_json_args(b, q, f, &row) : bind_list(b, q, f->args, f->n_args);
    if (!args) return NULL;
    if (f->n_args > 1664) {
        err_at(b->err, pos, ERR_PROGRAM_LIMIT, "cannot pass more than 1664 arguments to a function");
        return NULL;
    }
    if (f->n_args == 1 && strcmp(name, "pg_typeof") == 0) {
        const Domain *d = catalog_domain_by_id(b->c->catalog, args[0]->domain);
        const char *shown = d ? domain_shown(b->a, d) : "unknown";
        b->c->one_thread = true;
        if (d || (args[0]->kind == EX_CONST && args[0]->type.id == T_UNKNOWN)) return type_named(b, shown, f->location);
    }
    Expr *e = func_named(slice_of(name)) ? NULL : operator_function(b, name, (int)f->n_args, args, f->location);
    if (!e && !err_is_set(b->err)) e = bind_range_cast(b, name, (int)f->n_args, args, f->location);
    if (!e && !err_is_set(b->err)) e = bind_cast_call(b, f, args);
    if (!e && !err_is_set(b->err)) e = bind_call(b, name, false, (int)f->n_args, args, f->location);
    if (!e) bind_hint_function(b, name, "function");
    b->c->sets_settings |= strcmp(name, "set_config") == 0;
    b->c->one_thread |= b->c->sets_settings;
    if (e && e->kind == EX_FUNC && e->u.func->doc && strncmp(e->u.func->doc, "internal:", 9) == 0 &&
        strcmp(e->u.func->name, name) == 0) {
        err_at(b->err, pos, ERR_UNDEFINED_FUNCTION, "function %s does not exist", name);
        return NULL;
    }
    return e;
}
