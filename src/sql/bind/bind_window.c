/* bind_window.c - window functions: calls with OVER, definitions of windows, and their operators.
 *
 * A call becomes a column of its level, which the level's expressions use (as an aggregate's column is used). Calls are
 * collected by window; equal windows, and equal calls of one, are one. Behind the grouping windows that have become
 * equal are merged, and become operators one above the other: windows whose keys are a prefix of another's stand
 * directly above that one, so that they share its sort (sql/lower/lower_window.c).
 */
#include "sql/bind/bind_int.h"

static Status windowing_error(Binder *b, int64_t location, const char *fmt, const char *name) {
    return err_at(b->err, bind_pos(b, location), ERR_WINDOWING, fmt, name);
}

/* ---- names ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    uint8_t func, min_args, max_args;
    bool value; /* the first argument is a value; the next one, or the only one of ntile, is an integer */
} win_funcs[] = {
    {"row_number", WF_ROW_NUMBER, 0, 0, false},
    {"rank", WF_RANK, 0, 0, false},
    {"dense_rank", WF_DENSE_RANK, 0, 0, false},
    {"percent_rank", WF_PERCENT_RANK, 0, 0, false},
    {"cume_dist", WF_CUME_DIST, 0, 0, false},
    {"ntile", WF_NTILE, 1, 1, false},
    {"lag", WF_LAG, 1, 3, true},
    {"lead", WF_LEAD, 1, 3, true},
    {"first_value", WF_FIRST_VALUE, 1, 1, true},
    {"last_value", WF_LAST_VALUE, 1, 1, true},
    {"nth_value", WF_NTH_VALUE, 2, 2, true},
};

static int find_func(const char *name) {
    for (int i = 0; i < (int)ARRAY_LEN(win_funcs); i++)
        if (strcmp(win_funcs[i].name, name) == 0) return i;
    return -1;
}
bool bind_is_window_func(const char *name) { return find_func(name) >= 0; }

static Expr *no_such_function(Binder *b, const AstFunc *f, Expr *const *args) {
    const char *list = "";
    for (int64_t i = 0; i < f->n_args && list; i++)
        list = arena_printf(b->a, "%s%s%s", list, i ? ", " : "", type_plain_name(args[i]->type));
    if (!list) return NULL;
    err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_FUNCTION, "function %s(%s) does not exist", f->name.name,
           list);
    err_hint(b->err,
             "No function matches the given name and argument types. You might need to add explicit type casts.");
    return NULL;
}

/* ---- windows ------------------------------------------------------------------------------ */

static WinDef *named_window(Binder *b, const Query *q, int64_t n, const char *name, int64_t location) {
    for (int64_t i = 0; i < n; i++)
        if (q->windows.items[i]->name && strcmp(q->windows.items[i]->name, name) == 0) return q->windows.items[i];
    err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_OBJECT, "window \"%s\" does not exist", name);
    return NULL;
}

static WinDef *add_window(Binder *b, Query *q, const AstWindow *ast) {
    WinDef *d = arena_new_of(b->a, WinDef);
    if (!d) return NULL;
    d->ast = ast;
    return vec_push(b->a, &q->windows, d) ? d : NULL;
}

/* steps: RANGE counts distances of the key. Those of a numeric without (p,s) are what 38 digits hold. */
static Status add_key(Binder *b, Query *q, const AstExpr *ast, bool steps, Expr **out) {
    Expr *e = bind_expr(b, q, ast);
    if (e && e->type.id == T_UNKNOWN) e = bind_coerce(b, e, type_make(T_TEXT), CAST_IMPLICIT, ast->location);
    if (e) TRY(bind_check_groupable(b, e->type, ast->location));
    if (e && steps && e->type.id == T_DECIMAL) e = bind_coerce(b, e, type_make(T_NUMERIC), CAST_ASSIGNMENT, 0);
    e = bind_key(b, e, ast->location);
    return (*out = e) ? ST_OK : ST_ERROR;
}

static Status bind_keys(Binder *b, Query *q, WinDef *d) {
    const AstWindow *w = d->ast;
    bool steps = w->has_frame && w->mode == AST_FRAME_RANGE && (w->start_offset || w->end_offset);
    for (int64_t i = 0; i < w->n_order_by; i++) {
        const AstOrderItem *o = &w->order_by[i];
        WinKey k = {.desc = o->desc,
                    .nulls_first = o->nulls == AST_NULLS_DEFAULT ? o->desc : o->nulls == AST_NULLS_FIRST};
        TRY(add_key(b, q, o->expr, steps, &k.expr));
        if (!vec_push(b->a, &d->order, k)) return ST_ERROR;
    }
    for (int64_t i = 0; i < w->n_partition_by; i++) {
        Expr *e;
        TRY(add_key(b, q, w->partition_by[i], false, &e));
        if (!vec_push(b->a, &d->partition, e)) return ST_ERROR;
    }
    return ST_OK;
}

/* (base ...) takes over what the base has; it must have no frame, and what it has cannot be given again. */
static Status refine(Binder *b, WinDef *d, const WinDef *base) {
    const AstWindow *w = d->ast;
    if (d->partition.len)
        return windowing_error(b, w->location, "cannot override PARTITION BY clause of window \"%s\"", w->base);
    for (int64_t i = 0; i < base->partition.len; i++)
        if (!vec_push(b->a, &d->partition, bind_copy(b, base->partition.items[i]))) return ST_ERROR;
    if (d->order.len && base->order.len)
        return windowing_error(b, w->location, "cannot override ORDER BY clause of window \"%s\"", w->base);
    for (int64_t i = 0; i < base->order.len; i++) {
        WinKey k = base->order.items[i];
        if (!(k.expr = bind_copy(b, k.expr)) || !vec_push(b->a, &d->order, k)) return ST_ERROR;
    }
    if (!base->ast->has_frame) return ST_OK;
    windowing_error(b, w->location, "cannot copy window \"%s\" because it has a frame clause", w->base);
    if (!d->name && !w->n_order_by && !w->has_frame) err_hint(b->err, "Omit the parentheses in this OVER clause.");
    return ST_ERROR;
}

/* ---- frames --------------------------------------------------------------------------------- */

/* The type that offsets of RANGE have beside an order key, T_VOID: there is none. */
static TypeId range_offset_type(TypeId key) {
    switch (key) {
    case T_INT2:
    case T_INT4:
    case T_INT8: return T_INT8;
    case T_FLOAT4:
    case T_FLOAT8: return T_FLOAT8;
    case T_NUMERIC: return T_NUMERIC;
    case T_DATE:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
    case T_INTERVAL: return T_INTERVAL;
    default: return T_VOID;
    }
}

static Expr *range_offset(Binder *b, const WinDef *d, Expr *e, int64_t location) {
    static const char *const what = "RANGE with offset PRECEDING/FOLLOWING is not supported for column type";
    Type key = d->order.items[0].expr->type;
    TypeId want = range_offset_type((TypeId)key.id);
    if (want == T_VOID) {
        err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED, "%s %s", what, type_plain_name(key));
        return NULL;
    }
    if (want == T_NUMERIC && e->type.id == T_DECIMAL)
        return bind_coerce(b, e, type_make(T_NUMERIC), CAST_ASSIGNMENT, location);
    if (e->type.id != T_UNKNOWN && !cast_exists(e->type, type_make(want), CAST_IMPLICIT)) {
        err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED, "%s %s and offset type %s", what,
               type_plain_name(key), type_plain_name(e->type));
        err_hint(b->err, "Cast the offset value to an appropriate type.");
        return NULL;
    }
    if (want == T_NUMERIC && e->type.id != T_UNKNOWN)
        return bind_coerce(b, e, type_as_numeric(e->type), CAST_IMPLICIT, location);
    return bind_coerce(b, e, type_make(want), CAST_IMPLICIT, location);
}

typedef struct OwnColumn {
    const Binder *b;
    const Query *q;
} OwnColumn;
static bool not_own_column(void *ctx, Expr *e) {
    const OwnColumn *o = ctx;
    return e->kind != EX_COL || bind_owner(o->b, e->u.col).query != o->q;
}

static Status frame_offset(Binder *b, Query *q, const WinDef *d, const AstExpr *ast, Expr **out) {
    static const char *const modes[] = {"RANGE", "ROWS", "GROUPS"};
    static const char *const clauses[] = {"window RANGE", "window ROWS", "window GROUPS"};
    if (!ast) return ST_OK;
    q->clause = clauses[d->ast->mode];
    Expr *e = bind_expr(b, q, ast);
    q->clause = NULL;
    if (!e) return ST_ERROR;
    if (d->ast->mode == AST_FRAME_RANGE) {
        e = range_offset(b, d, e, ast->location);
    } else {
        if (e->type.id != T_UNKNOWN && !cast_exists(e->type, type_make(T_INT8), CAST_ASSIGNMENT))
            return err_at(b->err, bind_pos(b, ast->location), ERR_DATATYPE_MISMATCH,
                          "argument of %s must be type bigint, not type %s", modes[d->ast->mode],
                          type_plain_name(e->type));
        e = bind_coerce(b, e, type_make(T_INT8), CAST_ASSIGNMENT, ast->location);
    }
    if (!e) return ST_ERROR;
    OwnColumn own = {b, q};
    if (!expr_walk(e, not_own_column, &own))
        return err_at(b->err, bind_pos(b, ast->location), ERR_INVALID_COLUMN_REFERENCE,
                      "argument of %s must not contain variables", modes[d->ast->mode]);
    *out = e;
    return ST_OK;
}

static Status bind_frame(Binder *b, Query *q, WinDef *d) {
    const AstWindow *w = d->ast;
    if (w->mode == AST_FRAME_RANGE && (w->start_offset || w->end_offset) && d->order.len != 1)
        return windowing_error(b, w->location, "%s",
                               "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column");
    if (w->mode == AST_FRAME_GROUPS && d->order.len == 0)
        return windowing_error(b, w->location, "%s", "GROUPS mode requires an ORDER BY clause");
    TRY(frame_offset(b, q, d, w->start_offset, &d->start_offset));
    return frame_offset(b, q, d, w->end_offset, &d->end_offset);
}

/* n: of the windows before it, those that it may be based on. */
static Status bind_window(Binder *b, Query *q, WinDef *d, int64_t n) {
    const char *clause = q->clause, *error = q->window_error;
    const WinDef *base = NULL;
    bool srf = q->srf_ok;
    if (d->ast->base && !(base = named_window(b, q, n, d->ast->base, d->ast->location))) return ST_ERROR;
    q->clause = NULL;
    q->srf_ok = true;
    q->window_error = "window functions are not allowed in window definitions";
    TRY(bind_keys(b, q, d));
    q->srf_ok = false;
    q->srf_clause = "window definitions";
    if (base) TRY(refine(b, d, base));
    TRY(bind_frame(b, q, d));
    q->clause = clause;
    q->srf_ok = srf;
    q->window_error = error;
    return ST_OK;
}

Status bind_windows(Binder *b, Query *q, const AstSelect *s) {
    for (int64_t i = 0; i < s->n_windows; i++) {
        for (int64_t k = 0; k < i; k++)
            if (strcmp(s->windows[k].name, s->windows[i].name) == 0)
                return windowing_error(b, s->windows[i].location, "window \"%s\" is already defined",
                                       s->windows[i].name);
        WinDef *d = add_window(b, q, &s->windows[i]);
        if (!d) return ST_ERROR;
        d->name = s->windows[i].name;
        TRY(bind_window(b, q, d, i));
    }
    return ST_OK;
}

static bool same_expr(const Expr *x, const Expr *y) { return expr_equal(x, y) && !expr_is_volatile(x); }

static bool same_key(const WinKey *x, const WinKey *y) {
    return same_expr(x->expr, y->expr) && x->desc == y->desc && x->nulls_first == y->nulls_first;
}

static bool same_window(const WinDef *x, const WinDef *y) {
    const AstWindow *u = x->ast, *v = y->ast;
    if (x->partition.len != y->partition.len || x->order.len != y->order.len || u->mode != v->mode ||
        u->start != v->start || u->end != v->end || u->exclude != v->exclude ||
        !same_expr(x->start_offset, y->start_offset) || !same_expr(x->end_offset, y->end_offset))
        return false;
    for (int64_t i = 0; i < x->partition.len; i++)
        if (!same_expr(x->partition.items[i], y->partition.items[i])) return false;
    for (int64_t i = 0; i < x->order.len; i++)
        if (!same_key(&x->order.items[i], &y->order.items[i])) return false;
    return true;
}

/* The window of a call: equal ones are one, so that equal calls are. */
static WinDef *window_of(Binder *b, Query *q, const AstWindow *over) {
    if (over->name) return named_window(b, q, q->windows.len, over->name, over->location);
    for (int64_t i = 0; i < q->windows.len; i++)
        if (q->windows.items[i]->ast == over) return q->windows.items[i];
    int64_t n = q->windows.len;
    WinDef *d = add_window(b, q, over);
    if (!d || bind_window(b, q, d, n) != ST_OK) return NULL;
    for (int64_t i = 0; i < n; i++) {
        if (!same_window(q->windows.items[i], d)) continue;
        q->windows.len = n;
        return q->windows.items[i];
    }
    return d;
}

Status bind_windows_each(Query *q, Status (*fn)(void *ctx, Expr **slot), void *ctx) {
    for (int64_t i = 0; i < q->windows.len; i++) {
        WinDef *d = q->windows.items[i];
        for (int64_t k = 0; k < d->partition.len; k++) TRY(fn(ctx, &d->partition.items[k]));
        for (int64_t k = 0; k < d->order.len; k++) TRY(fn(ctx, &d->order.items[k].expr));
        for (int64_t k = 0; k < d->calls.len; k++)
            for (int j = 0; j < 3 && d->calls.items[k].args[j]; j++) TRY(fn(ctx, &d->calls.items[k].args[j]));
        for (int64_t k = 0; k < d->aggs.len; k++) {
            AggCall *a = &d->aggs.items[k];
            if (a->arg) TRY(fn(ctx, &a->arg));
            if (a->arg2) TRY(fn(ctx, &a->arg2));
            if (a->filter) TRY(fn(ctx, &a->filter));
        }
    }
    return ST_OK;
}

/* ---- calls ------------------------------------------------------------------------------------ */

static Expr *call_column(Binder *b, Query *q, const AstFunc *f, ColId id) {
    if (!id || (!bind_owner(b, id).window && bind_own(b, q, id, true) != ST_OK)) return NULL;
    b->owner.items[id - b->owner_first].window = true;
    Expr *e = expr_col(b->c, id);
    if (e) e->location = f->location;
    return e;
}

Expr *bind_window_agg(Binder *b, Query *q, const AstFunc *f, AggCall call, Type ret) {
    WinDef *d = window_of(b, q, f->over);
    bool counts = call.kind == AGG_COUNT || call.kind == AGG_COUNT_STAR;
    if (!d) return NULL;
    for (int64_t i = 0; i < d->aggs.len; i++) {
        const AggCall *o = &d->aggs.items[i];
        if (o->func == call.func && same_expr(o->arg, call.arg) && same_expr(o->arg2, call.arg2) &&
            same_expr(o->filter, call.filter))
            return call_column(b, q, f, o->out);
    }
    call.out = plan_new_col(b->c, f->name.name, ret, !counts);
    return call.out && vec_push(b->a, &d->aggs, call) ? call_column(b, q, f, call.out) : NULL;
}

/* Casts the arguments of a window function and finds the type of its value. false: no such function. */
static bool func_args(Binder *b, const AstFunc *f, int k, Expr **args, Type *ret) {
    if (f->n_args < win_funcs[k].min_args || f->n_args > win_funcs[k].max_args) return false;
    uint8_t func = win_funcs[k].func;
    *ret = type_make(func == WF_NTILE ? T_INT4 : func == WF_PERCENT_RANK || func == WF_CUME_DIST ? T_FLOAT8 : T_INT8);
    int at = win_funcs[k].value ? 1 : 0;
    if (at < f->n_args) {
        TypeId t = (TypeId)args[at]->type.id;
        if (t != T_INT2 && t != T_INT4 && t != T_UNKNOWN) return false;
        args[at] = bind_coerce(b, args[at], type_make(T_INT4), CAST_IMPLICIT, f->location);
    }
    if (!win_funcs[k].value || !args[at < f->n_args ? at : 0]) return true;
    Type common = args[0]->type;
    if (common.id == T_UNKNOWN && f->n_args < 3) {
        err_at(b->err, bind_pos(b, f->location), ERR_DATATYPE_MISMATCH,
               "could not determine polymorphic type because input has type unknown");
        return false;
    }
    if (f->n_args == 3 && args[2]->type.id != T_UNKNOWN && !type_common(args[0]->type, args[2]->type, &common))
        return false;
    Expr *values[2] = {args[0], f->n_args == 3 ? args[2] : NULL};
    if (bind_common(b, f->n_args == 3 ? 2 : 1, values, f->name.name, &common) != ST_OK) values[0] = NULL;
    args[0] = values[0];
    if (f->n_args == 3) args[2] = values[1];
    *ret = common;
    return true;
}

static Expr *window_func(Binder *b, Query *q, const AstFunc *f, int k) {
    q->window_error = "window function calls cannot be nested";
    Expr **args = bind_list(b, q, f->args, f->n_args);
    q->window_error = NULL;
    if (!args) return NULL;
    if (f->distinct || f->n_order_by || f->within_group) {
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
               "%s specified, but %s is not an aggregate function",
               f->star           ? "(*)"
               : f->within_group ? "WITHIN GROUP"
               : f->distinct     ? "DISTINCT"
                                 : "ORDER BY",
               f->name.name);
        return NULL;
    }
    if (f->filter) {
        err_at(b->err, bind_pos(b, f->location), ERR_FEATURE_NOT_SUPPORTED,
               "FILTER is not implemented for non-aggregate window functions");
        return NULL;
    }
    Type ret;
    if (!func_args(b, f, k, args, &ret)) return err_is_set(b->err) ? NULL : no_such_function(b, f, args);
    WinCall call = {.func = win_funcs[k].func};
    for (int64_t i = 0; i < f->n_args; i++)
        if (!(call.args[i] = args[i])) return NULL;
    WinDef *d = window_of(b, q, f->over);
    if (!d) return NULL;
    for (int64_t i = 0; i < d->calls.len; i++) {
        const WinCall *o = &d->calls.items[i];
        bool same = o->func == call.func;
        for (int j = 0; j < 3 && same; j++) same = same_expr(o->args[j], call.args[j]);
        if (same) return call_column(b, q, f, o->out);
    }
    call.out = plan_new_col(b->c, f->name.name, ret, call.func > WF_CUME_DIST);
    return call.out && vec_push(b->a, &d->calls, call) ? call_column(b, q, f, call.out) : NULL;
}

static bool is_allowed(Binder *b, const Query *q, const AstFunc *f) {
    if (q->window_error) {
        bool in_agg = strncmp(q->window_error, "aggregate", 9) == 0;
        err_at(b->err, bind_pos(b, f->location), in_agg ? ERR_GROUPING : ERR_WINDOWING, "%s", q->window_error);
        return false;
    }
    if (!q->window_ok)
        windowing_error(b, f->location, "window functions are not allowed in %s", q->clause ? q->clause : "HAVING");
    return q->window_ok;
}

Expr *bind_window_call(Binder *b, Query *q, const AstFunc *f) {
    int k = f->name.schema ? -1 : find_func(f->name.name);
    if (k >= 0) return is_allowed(b, q, f) ? window_func(b, q, f, k) : NULL;
    if (f->name.schema || (!func_is_aggregate(slice_of(f->name.name)) && !bind_is_user_aggregate(b, f))) {
        AstFunc plain = *f;
        plain.over = NULL;
        if (stack_check(b->err) != ST_OK || !bind_func(b, q, &plain)) return NULL;
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
               "OVER specified, but %s is not a window function nor an aggregate function", f->name.name);
        return NULL;
    }
    const char *missing = f->distinct     ? "DISTINCT is not implemented for window functions"
                          : f->n_order_by ? "aggregate ORDER BY is not implemented for window functions"
                                          : NULL;
    if (!is_allowed(b, q, f)) return NULL;
    if (!missing) return bind_agg(b, q, f);
    err_at(b->err, bind_pos(b, f->location), ERR_FEATURE_NOT_SUPPORTED, "%s", missing);
    return NULL;
}

bool bind_calls_window(const Query *q) {
    for (int64_t i = 0; i < q->windows.len; i++)
        if (q->windows.items[i]->calls.len + q->windows.items[i]->aggs.len > 0) return true;
    return false;
}

typedef struct FindWindow {
    const Binder *b;
} FindWindow;
static bool no_window_col(void *ctx, Expr *e) {
    const FindWindow *f = ctx;
    return e->kind != EX_COL || !bind_owner(f->b, e->u.col).window;
}
bool bind_uses_window(const Binder *b, Expr *e) {
    FindWindow f = {b};
    return !expr_walk(e, no_window_col, &f);
}

/* ---- operators ---------------------------------------------------------------------------------- */

/* Keys as columns: the child's own, or computed by a projection that passes its columns on. */
typedef struct KeyCols {
    Binder *b;
    const Query *q;
    Proj made;
} KeyCols;

static Status key_col(KeyCols *k, Expr **e) {
    Binder *b = k->b;
    if ((*e)->kind == EX_COL && bind_owner(b, (*e)->u.col).query == k->q) return ST_OK;
    ColId id = 0;
    for (int64_t i = 0; i < k->made.ids.len && !id; i++)
        if (expr_equal(k->made.exprs.items[i], *e) && !expr_is_volatile(*e)) id = k->made.ids.items[i];
    if (!id) {
        id = plan_new_col(b->c, "window key", (*e)->type, true);
        if (!id || !vec_push(b->a, &k->made.ids, id) || !vec_push(b->a, &k->made.exprs, *e)) return ST_ERROR;
    }
    return (*e = expr_col(b->c, id)) ? ST_OK : ST_ERROR;
}

static Plan *project_keys(KeyCols *k, Plan *child) {
    Binder *b = k->b;
    if (k->made.ids.len == 0) return child;
    Proj all = {0};
    ColSet out = colset_new(b->c);
    plan_outputs(b->c, child, &out);
    for (ColId id = 1; id < b->c->cols.len; id++) {
        if (!colset_has(&out, id)) continue;
        if (!vec_push(b->a, &all.ids, id) || !vec_push(b->a, &all.exprs, expr_col(b->c, id))) return NULL;
    }
    for (int64_t i = 0; i < k->made.ids.len; i++)
        if (!vec_push(b->a, &all.ids, k->made.ids.items[i]) || !vec_push(b->a, &all.exprs, k->made.exprs.items[i]))
            return NULL;
    return bind_proj_plan(b, &all, child);
}

/* Key i of the window's sort: partition keys, then order keys. */
static WinKey sort_key(const WinDef *d, int64_t i) {
    if (i < d->partition.len) return (WinKey){.expr = d->partition.items[i]};
    return d->order.items[i - d->partition.len];
}
static int64_t n_sort_keys(const WinDef *d) { return d->partition.len + d->order.len; }
static bool is_prefix(const WinDef *d, const WinDef *of) {
    if (n_sort_keys(d) > n_sort_keys(of)) return false;
    for (int64_t i = 0; i < n_sort_keys(d); i++) {
        WinKey x = sort_key(d, i), y = sort_key(of, i);
        if (!same_key(&x, &y)) return false;
    }
    return true;
}

static Plan *window_plan(Binder *b, const WinDef *d, Plan *child) {
    Plan *p = plan_new(b->c, LP_WINDOW, 1);
    if (!p || !(p->sort.keys = arena_array(b->a, SortKey, d->order.len + 1))) return NULL;
    p->children[0] = child;
    p->n_exprs = (int32_t)d->partition.len;
    p->exprs = d->partition.items;
    for (int64_t i = 0; i < d->order.len; i++)
        p->sort.keys[i] = (SortKey){d->order.items[i].expr, d->order.items[i].desc, d->order.items[i].nulls_first};
    p->sort.n = (int32_t)d->order.len;
    p->win = (PlanWindow){
        .frame = {(uint8_t)d->ast->mode, (uint8_t)d->ast->start, (uint8_t)d->ast->end, (uint8_t)d->ast->exclude},
        .start_offset = d->start_offset,
        .end_offset = d->end_offset,
        .n_calls = (int32_t)d->calls.len,
        .calls = d->calls.items};
    p->agg.n_calls = (int32_t)d->aggs.len;
    p->agg.calls = d->aggs.items;
    return p;
}

static Status merge_calls(Binder *b, WinDef *to, const WinDef *from) {
    for (int64_t i = 0; i < from->calls.len; i++)
        if (!vec_push(b->a, &to->calls, from->calls.items[i])) return ST_ERROR;
    for (int64_t i = 0; i < from->aggs.len; i++)
        if (!vec_push(b->a, &to->aggs, from->aggs.items[i])) return ST_ERROR;
    return ST_OK;
}

/* The windows with calls, equal ones as one, with columns as keys. */
static Status used_windows(KeyCols *k, WinDef **used, int64_t *n) {
    const Query *q = k->q;
    *n = 0;
    for (int64_t i = 0; i < q->windows.len; i++) {
        WinDef *d = q->windows.items[i];
        if (d->calls.len + d->aggs.len == 0) continue;
        for (int64_t j = 0; j < d->partition.len; j++) TRY(key_col(k, &d->partition.items[j]));
        for (int64_t j = 0; j < d->order.len; j++) TRY(key_col(k, &d->order.items[j].expr));
        int64_t same = 0;
        while (same < *n && !same_window(used[same], d)) same++;
        if (same < *n) TRY(merge_calls(k->b, used[same], d));
        else used[(*n)++] = d;
    }
    return ST_OK;
}

Plan *bind_window_plan(Binder *b, Query *q, Plan *child) {
    if (q->windows.len == 0) return child;
    KeyCols k = {.b = b, .q = q};
    WinDef **used = arena_array(b->a, WinDef *, q->windows.len), **order = arena_array(b->a, WinDef *, q->windows.len);
    int64_t n, m = 0;
    if (!used || !order || used_windows(&k, used, &n) != ST_OK || !(child = project_keys(&k, child))) return NULL;
    /* From the top down: each window, then the shorter ones that can share its sort above it. */
    for (int64_t i = 0; i < n; i++) {
        if (!used[i]) continue;
        const WinDef *longest = used[i];
        for (int64_t j = i; j < n; j++)
            if (used[j] && is_prefix(longest, used[j])) longest = used[j];
        int64_t most = n_sort_keys(longest);
        for (int64_t len = 0; len <= most; len++)
            for (int64_t j = i; j < n; j++) {
                if (!used[j] || n_sort_keys(used[j]) != len || !is_prefix(used[j], longest)) continue;
                order[m++] = used[j];
                if (used[j] != longest) used[j] = NULL;
            }
        for (int64_t j = i; j < n; j++)
            if (used[j] == longest) used[j] = NULL;
    }
    while (m-- > 0 && child) child = window_plan(b, order[m], child);
    return child;
}
