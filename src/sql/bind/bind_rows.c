/* bind_rows.c - set-returning functions: calls in FROM (ROWS FROM, WITH ORDINALITY, column definition lists) and in
 * select lists.
 *
 * A call by itself is a series (LP_SERIES), the rows of a routine with fixed arguments (LP_VALUES), or, like several
 * calls side by side, a series of numbers over which each call's column is computed: of a series' start and step, or as
 * an element of an array that has all values (types/func_rows.c). Whatever costs something is computed once, in
 * projections below. What a call has no row for is NULL.
 *
 * In a select list a call becomes a column of the level (Query.srfs). Calls that are arguments of none are one
 * lockstep, those whose arguments have calls are another one above it (Srf.depth), as PostgreSQL's ProjectSet nodes
 * are. Calls in keys of GROUP BY stand below the grouping, those in keys of windows below the windows, others above
 * both (Srf.stage).
 */
#include "sql/bind/bind_int.h"

static bool is_call(const AstFunc *f, const char *name) { return !f->name.schema && strcmp(f->name.name, name) == 0; }
bool bind_is_rows(const AstFunc *f) {
    return is_call(f, "generate_series") || (is_call(f, "unnest") && f->n_args == 1) || bind_is_parts(f) ||
           bind_is_json_each(f);
}

/* ---- generate_series --------------------------------------------------------------- */

static Status no_series(Binder *b, int64_t n, Expr **args, int64_t location) {
    const FuncDef *f;
    Type co[16], ret, in[16];
    int k = (int)MIN_OF(n, 16);
    for (int i = 0; i < k; i++) in[i] = args[i]->type;
    (void)func_resolve(slice_of("generate_series"), false, k, in, bind_pos(b, location), &f, co, &ret, b->err);
    return err_is_set(b->err) ? ST_ERROR
                              : err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION,
                                       "function generate_series does not exist");
}

/* Start, end and step of the call, cast; *out: the type of its values. */
static Status series_args(Binder *b, int64_t n, Expr **args, int64_t location, Expr **all, Type *out) {
    bool datetime = false, timestamp = false, with_tz = false, all_unknown = true;
    if (n < 2 || n > 3) return no_series(b, n, args, location);
    for (int64_t i = 0; i < n; i++) {
        uint8_t id = args[i]->type.id;
        all_unknown &= id == T_UNKNOWN;
        if (i == 2) break;
        datetime |= id == T_DATE || id == T_TIMESTAMP || id == T_TIMESTAMPTZ;
        timestamp |= id == T_TIMESTAMP;
        with_tz |= id == T_TIMESTAMPTZ;
    }
    bool interval = n == 3 && args[2]->type.id == T_INTERVAL;
    Type t = type_make(T_INT4), step = t;
    Value v = {.type = t};
    v.u.i32 = 1;
    if (datetime || interval) {
        /* date, date: PostgreSQL prefers timestamptz; a timestamp on either side decides otherwise */
        t = type_make(with_tz || !timestamp ? T_TIMESTAMPTZ : T_TIMESTAMP);
        step = type_make(T_INTERVAL);
        if (n != 3) return no_series(b, n, args, location);
    } else if (all_unknown) {
        err_at(b->err, bind_pos(b, location), ERR_AMBIGUOUS_FUNCTION, "function generate_series(%s) is not unique",
               n == 2 ? "unknown, unknown" : "unknown, unknown, unknown");
        err_hint(b->err, "Could not choose a best candidate function. You might need to add explicit type casts.");
        return ST_ERROR;
    } else {
        TRY(bind_common(b, n, args, "generate_series", &t));
        if (t.id == T_INT2) t = type_make(T_INT4);
        if (t.id != T_INT4 && t.id != T_INT8 && t.id != T_NUMERIC && t.id != T_DECIMAL)
            return no_series(b, n, args, location);
        if (t.id == T_NUMERIC && t.precision < NUMERIC_MAX_PRECISION) t.precision = NUMERIC_MAX_PRECISION;
        step = t;
    }
    for (int64_t i = 0; i < 3; i++) {
        Expr *e = i < n ? args[i] : expr_const(b->c, &v);
        if (!e || !(all[i] = bind_coerce(b, e, i < 2 ? t : step, CAST_IMPLICIT, location))) return ST_ERROR;
    }
    *out = t;
    return ST_OK;
}

static Plan *series_plan(Binder *b, Expr *const *args, ColId out) {
    Plan *p = plan_new(b->c, LP_SERIES, 0);
    if (!p || !(p->exprs = arena_array(b->a, Expr *, 3)) || !(p->out_cols = arena_array(b->a, ColId, 2))) return NULL;
    for (int i = 0; i < 3; i++) p->exprs[i] = args[i];
    p->n_exprs = 3;
    p->n_out = 1;
    p->out_cols[0] = out;
    p->alias = b->c->cols.items[out].name;
    b->c->cols.items[out].nullable = false;
    return p;
}

/* 1 .. total */
static Plan *numbers(Binder *b, Expr *total, int64_t location) {
    Expr *given[2] = {bind_int8_const(b, 1), bind_coerce(b, total, type_make(T_INT8), CAST_IMPLICIT, location)},
         *args[3];
    Type t;
    if (!given[0] || !given[1] || series_args(b, 2, given, location, args, &t) != ST_OK) return NULL;
    ColId out = plan_new_col(b->c, "ordinality", t, false);
    return out > 0 ? series_plan(b, args, out) : NULL;
}

/* ---- several calls side by side ------------------------------------------------------ */

static Status proj_push(Binder *b, Proj *p, ColId id, Expr *e) {
    return e && id > 0 && vec_push(b->a, &p->ids, id) && vec_push(b->a, &p->exprs, e) ? ST_OK : ST_ERROR;
}

static Status proj_all(Binder *b, Proj *p, const Plan *below) {
    ColSet out = colset_new(b->c);
    plan_outputs(b->c, below, &out);
    for (int64_t w = 0; w < out.n_words; w++)
        for (uint64_t bits = out.bits[w]; bits; bits &= bits - 1) {
            ColId id = (ColId)(w * 64 + __builtin_ctzll(bits));
            TRY(proj_push(b, p, id, expr_col(b->c, id)));
        }
    return ST_OK;
}

/* The rows of `below` (NULL: one row) with these columns more. */
static Plan *layer(Binder *b, Proj *more, Plan *below) {
    if (more->ids.len == 0) return below;
    if (below && proj_all(b, more, below) != ST_OK) return NULL;
    return bind_proj_plan(b, more, below ? below : bind_one_row(b));
}

static bool is_simple(const Expr *e) { return e->kind == EX_COL || e->kind == EX_CONST || e->kind == EX_PARAM; }

static Expr *once(Binder *b, Proj *p, Expr *e, const char *name) {
    if (!e || is_simple(e)) return e;
    ColId id = bind_proj_add(b, p, NULL, e, name);
    return id ? expr_col(b->c, id) : NULL;
}

/* A call as a column over numbers: its arguments, computed once, and how many rows it has. */
typedef struct Numbered {
    const RowsFunc *f;
    Expr *array;        /* the values, or rows; NULL: */
    Expr *start, *step; /* a series; or start alone: one value */
    Expr *count;
} Numbered;

static Status number_args(Binder *b, const RowsFunc *f, Proj *args, Numbered *x) {
    *x = (Numbered){.f = f};
    Type t = f->types[0];
    switch ((RowsKind)f->kind) {
    case ROWS_VALUE: return (x->start = once(b, args, f->args[0], "value")) ? ST_OK : ST_ERROR;
    case ROWS_ARRAY: return (x->array = once(b, args, f->args[0], "array")) ? ST_OK : ST_ERROR;
    case ROWS_ROUTINE: return (x->array = once(b, args, bind_rows_call(b, f), "rows")) ? ST_OK : ST_ERROR;
    case ROWS_SERIES: break;
    }
    if (!type_is_integer(t) && t.id != T_NUMERIC && t.id != T_DECIMAL)
        return (x->array = once(b, args, bind_call(b, "series_array", false, 3, f->args, f->location), "series"))
                   ? ST_OK
                   : ST_ERROR;
    Expr *a[3];
    for (int i = 0; i < 3; i++) {
        a[i] =
            type_is_integer(t) ? bind_coerce(b, f->args[i], type_make(T_INT8), CAST_IMPLICIT, f->location) : f->args[i];
        if (!(a[i] = once(b, args, a[i], "argument"))) return ST_ERROR;
    }
    x->start = bind_copy(b, a[0]);
    x->step = bind_copy(b, a[2]);
    x->count = bind_call(b, "series_count", false, 3, a, f->location);
    return x->start && x->step && x->count ? ST_OK : ST_ERROR;
}

static Status number_rows(Binder *b, Numbered *x, Proj *counts) {
    if (x->array) {
        Expr *copy = bind_copy(b, x->array);
        x->count = copy ? bind_call(b, "cardinality", false, 1, &copy, x->f->location) : NULL;
        x->count = bind_coerce(b, x->count, type_make(T_INT8), CAST_IMPLICIT, x->f->location);
    } else if (!x->count) {
        x->count = bind_int8_const(b, 1);
    }
    return (x->count = once(b, counts, x->count, "count")) ? ST_OK : ST_ERROR;
}

static Expr *element(Binder *b, const Numbered *x, ColId number) {
    Expr *args[2] = {bind_copy(b, x->array),
                     bind_coerce(b, expr_col(b->c, number), type_make(T_INT4), CAST_EXPLICIT, x->f->location)};
    Expr *e = bind_call(b, "array_element", false, 2, args, x->f->location);
    return e && x->f->each ? bind_call(b, x->f->each, false, 1, &e, x->f->location) : e;
}

/* Column k of the call's row of that number. alone: there is no row that it does not have. */
static Expr *number_value(Binder *b, const Numbered *x, int32_t k, ColId number, bool alone) {
    const RowsFunc *f = x->f;
    Expr *e;
    if (x->array) {
        if (!(e = element(b, x, number))) return NULL;
        if (f->pairs) return bind_json_pair_part(b, e, k, f->types[k], f->location);
        if (f->members) return bind_json_member(b, e, b->c->cols.items[f->cols[k]].name, f->types[k], f->location);
        if (!bind_rows_packed(f)) return e;
        Value at = {.type = type_make(T_INT4)};
        at.u.i32 = k;
        Expr *args[2] = {e, expr_const(b->c, &at)};
        e = args[1] ? bind_call(b, "row_column", false, 2, args, f->location) : NULL;
        if (e) e->type = f->types[k];
        return e;
    }
    e = bind_copy(b, x->start);
    if (x->step) {
        Expr *args[3] = {e, bind_copy(b, x->step), expr_col(b->c, number)};
        e = bind_call(b, "series_value", false, 3, args, f->location);
        e = e ? bind_coerce(b, e, f->types[0], CAST_EXPLICIT, f->location) : NULL;
    }
    if (alone || !e) return e;
    Expr *c = expr_new(b->c, EX_CASE, f->types[k], 2),
         *in = bind_op(b, "<=", expr_col(b->c, number), bind_copy(b, x->count), f->location);
    if (!c || !in) return NULL;
    c->args[0] = in;
    c->args[1] = e;
    return c;
}

/* The calls' rows side by side: for each row of `below`, with its columns, or (NULL) by themselves. */
static Plan *side_by_side(Binder *b, int64_t n, const RowsFunc *f, ColId ordinality, Plan *below) {
    Proj args = {0}, counts = {0}, values = {0};
    Numbered *x = arena_array(b->a, Numbered, n + 1);
    Expr **totals = arena_array(b->a, Expr *, n + 1);
    if (!x || !totals || (below && proj_all(b, &values, below) != ST_OK)) return NULL;
    for (int64_t i = 0; i < n; i++)
        if (number_args(b, &f[i], &args, &x[i]) != ST_OK) return NULL;
    Plan *row = layer(b, &args, below);
    if (err_is_set(b->err)) return NULL;
    for (int64_t i = 0; i < n; i++)
        if (number_rows(b, &x[i], &counts) != ST_OK || !(totals[i] = bind_copy(b, x[i].count))) return NULL;
    row = layer(b, &counts, row);
    if (err_is_set(b->err)) return NULL;
    Expr *total = n == 1 ? totals[0] : bind_call(b, "greatest", false, (int)n, totals, f->location);
    Plan *series = total ? numbers(b, total, f->location) : NULL, *p = series;
    if (!series) return NULL;
    if (row) {
        bool dep = bind_depends(b, series, row);
        if (!(p = bind_join(b, JN_INNER, row, series))) return NULL;
        p->join.dependent = dep;
    }
    ColId number = series->out_cols[0];
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = 0; k < f[i].n_cols; k++)
            if (proj_push(b, &values, f[i].cols[k], number_value(b, &x[i], k, number, n == 1)) != ST_OK) return NULL;
    for (int64_t i = 0; i < n; i++)
        if (f[i].found && proj_push(b, &values, f[i].found,
                                    bind_unary(b, EX_IS_NOT_NULL, element(b, &x[i], number), f[i].location)) != ST_OK)
            return NULL;
    if (ordinality && proj_push(b, &values, ordinality, expr_col(b->c, number)) != ST_OK) return NULL;
    return bind_proj_plan(b, &values, p);
}

/* ---- one call --------------------------------------------------------------------------- */

/* Integers: a row's number follows from its value. What costs something to compute is computed once, in a row of its
 * own. */
static Plan *number_integers(Binder *b, const RowsFunc *f, ColId ordinality) {
    Proj row = {0}, proj = {0};
    Expr *args[3];
    int64_t location = f->location;
    ColId value = plan_new_col(b->c, b->c->cols.items[f->cols[0]].name, f->types[0], false);
    for (int i = 0; i < 3; i++)
        if (!(args[i] = once(b, &row, f->args[i], "argument"))) return NULL;
    Plan *p = value > 0 ? series_plan(b, args, value) : NULL;
    if (!p) return NULL;
    if (row.ids.len) {
        Plan *l = bind_proj_plan(b, &row, bind_one_row(b));
        if (!l || !(p = bind_join(b, JN_INNER, l, p))) return NULL;
        p->join.dependent = true;
    }
    const Type wide = type_numeric(19, 0);
    Expr *v = expr_col(b->c, value), *start = bind_copy(b, args[0]), *step = bind_copy(b, args[2]);
    const Type in = f->types[0].id == T_INT8 ? wide : type_make(T_INT8); /* two bigints' difference may be none */
    v = bind_coerce(b, v, in, CAST_EXPLICIT, location);
    start = bind_coerce(b, start, in, CAST_EXPLICIT, location);
    step = bind_coerce(b, step, in, CAST_EXPLICIT, location);
    Expr *n = bind_op(b, "/", bind_op(b, "-", v, start, location), step, location);
    n = bind_op(b, "+", bind_coerce(b, n, type_make(T_INT8), CAST_EXPLICIT, location), bind_int8_const(b, 1), location);
    if (proj_push(b, &proj, f->cols[0], expr_col(b->c, value)) != ST_OK || proj_push(b, &proj, ordinality, n) != ST_OK)
        return NULL;
    return bind_proj_plan(b, &proj, p);
}

static bool no_subquery(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_SUBQUERY;
}
static bool has_subquery(const RowsFunc *f) {
    for (int64_t i = 0; i < f->n_args; i++)
        if (!expr_walk(f->args[i], no_subquery, NULL)) return true;
    return false;
}
static bool no_column(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_COL && e->kind != EX_SUBQUERY;
}
static bool fixed_args(const RowsFunc *f) {
    for (int64_t i = 0; i < f->n_args; i++)
        if (!expr_walk(f->args[i], no_column, NULL)) return false;
    return true;
}

static Plan *routine_plan(Binder *b, const RowsFunc *f, ColId ordinality) {
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    if (!p || !(p->out_cols = arena_array(b->a, ColId, f->n_cols + 2))) return NULL;
    for (int32_t i = 0; i < f->n_cols; i++) p->out_cols[i] = f->cols[i];
    p->n_out = f->n_cols;
    if (ordinality) p->out_cols[p->n_out++] = ordinality;
    p->ordinality = ordinality != 0;
    p->values.routine_id = f->routine->id;
    p->exprs = f->args;
    p->n_exprs = (int32_t)f->n_args;
    p->alias = name_of_key(f->routine->name);
    return p;
}

/* ordinality: the column of the rows' numbers, or 0. */
static Plan *rows_plan(Binder *b, int64_t n, const RowsFunc *f, ColId ordinality) {
    bool steps = f->types[0].id == T_DECIMAL; /* LP_SERIES has no such values */
    if (n == 1 && f->kind == ROWS_SERIES && (steps || has_subquery(f))) return side_by_side(b, n, f, ordinality, NULL);
    if (n == 1 && f->kind == ROWS_SERIES && ordinality && type_is_integer(f->types[0]))
        return number_integers(b, f, ordinality);
    if (n == 1 && f->kind == ROWS_SERIES) {
        Plan *p = series_plan(b, f->args, f->cols[0]);
        if (!p || !ordinality) return p;
        p->out_cols[p->n_out++] = ordinality;
        p->ordinality = true;
        return p;
    }
    if (n == 1 && f->kind == ROWS_ROUTINE && fixed_args(f)) return routine_plan(b, f, ordinality);
    if (n == 1 && f->kind == ROWS_VALUE) {
        Proj proj = {0};
        if (proj_push(b, &proj, f->cols[0], f->args[0]) != ST_OK ||
            (ordinality && proj_push(b, &proj, ordinality, bind_int8_const(b, 1)) != ST_OK))
            return NULL;
        return bind_proj_plan(b, &proj, bind_one_row(b));
    }
    return side_by_side(b, n, f, ordinality, NULL);
}

Plan *bind_rows_plan(Binder *b, const RowsFunc *f, bool ordinality) {
    ColId number = ordinality ? plan_new_col(b->c, "ordinality", type_make(T_INT8), false) : 0;
    return number < 0 ? NULL : rows_plan(b, 1, f, number);
}

static Status rows_column(Binder *b, RowsFunc *f, const char *name, Type t) {
    f->n_cols = 1;
    if (!(f->types = arena_array(b->a, Type, 1)) || !(f->cols = arena_array(b->a, ColId, 1))) return ST_ERROR;
    f->types[0] = t;
    return (f->cols[0] = plan_new_col(b->c, name, t, true)) > 0 ? ST_OK : ST_ERROR;
}

Status bind_rows_array(Binder *b, Expr *array, const char *each, const char *name, int64_t location, RowsFunc *out) {
    Type t;
    if (array && array->type.id == T_MULTIRANGE) array = bind_call(b, "multirange_ranges", false, 1, &array, location);
    if (!array || bind_check_array(b, array, location) != ST_OK) return ST_ERROR;
    *out = (RowsFunc){.kind = ROWS_ARRAY, .location = location, .n_args = 1, .each = each};
    if (!(out->args = arena_array(b->a, Expr *, 1))) return ST_ERROR;
    out->args[0] = array;
    t = each ? type_array_of(type_make(T_TEXT)) : type_element(array->type);
    return rows_column(b, out, name, t);
}

/* A call of a builtin that bind_is_rows() knows. */
static Status rows_builtin(Binder *b, const AstFunc *f, Expr **args, const char *name, RowsFunc *out) {
    if (bind_is_parts(f)) return bind_parts(b, f, args, name, out);
    if (is_call(f, "unnest")) return bind_rows_array(b, args[0], NULL, name, f->location, out);
    Type t;
    *out = (RowsFunc){.kind = ROWS_SERIES, .location = f->location, .n_args = 3};
    if (!(out->args = arena_array(b->a, Expr *, 3))) return ST_ERROR;
    TRY(series_args(b, f->n_args, args, f->location, out->args, &t));
    return rows_column(b, out, name, t);
}

/* ---- FROM ------------------------------------------------------------------------------------ */

typedef VEC(RowsFunc) RowsVec;

static Status definition_error(Binder *b, int64_t location, const char *message, const char *hint) {
    err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "%s", message);
    if (hint) err_hint(b->err, "%s", hint);
    return ST_ERROR;
}

static Status defined_columns(Binder *b, AstColumnDef *const *defs, int64_t n, RowsFunc *f) {
    f->n_cols = (int32_t)n;
    if (!(f->types = arena_array(b->a, Type, n)) || !(f->cols = arena_array(b->a, ColId, n))) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            if (strcmp(defs[k]->name, defs[i]->name) == 0)
                return err_at(b->err, bind_pos(b, defs[i]->location), ERR_DUPLICATE_COLUMN,
                              "column name \"%s\" specified more than once", defs[i]->name);
        TRY(bind_type(b, defs[i]->type, &f->types[i], NULL));
        if ((f->cols[i] = plan_new_col(b->c, defs[i]->name, f->types[i], true)) <= 0) return ST_ERROR;
    }
    return ST_OK;
}

/* One function of FROM. name: of its column, if it has just one without a name of its own. */
static Status from_call(Binder *b, Query *q, const AstExpr *e, AstColumnDef *const *defs, int64_t n_defs,
                        const char *name, RowsVec *out) {
    const AstFunc *f = e->kind == AST_FUNC ? AST_AS_CONST(AstFunc, e) : NULL;
    RowsFunc x = {0};
    bool record = false;
    if (f && bind_is_named(b, f) && !bind_has_routines(b, f->name.name) && !(f = bind_by_position(b, q, f)))
        return ST_ERROR;
    if (f && sql_is_bulk_call(f))
        return bind_unsupported(b, e->location, "bulk_call in ROWS FROM or with column definitions");
    const bool user = f && bind_is_user_table(b, e);
    if (user && !n_defs) return bind_user_rows(b, q, f, &x) == ST_OK && vec_push(b->a, out, x) ? ST_OK : ST_ERROR;
    if (f && bind_has_routines(b, f->name.name) && !user) {
        TRY(bind_rows_routine(b, q, f, name, &x));
        record = x.routine && x.routine->returns_record;
    }
    bool members = f && !x.routine && bind_is_json_record(f);
    record |= members;
    if (n_defs && !record)
        return definition_error(b, defs[0]->location,
                                "a column definition list is only allowed for functions returning \"record\"", NULL);
    if (n_defs && x.n_cols)
        return definition_error(b, defs[0]->location,
                                "a column definition list is redundant for a function with OUT parameters", NULL);
    if (n_defs) TRY(defined_columns(b, defs, n_defs, &x));
    if (record && x.n_cols == 0)
        return definition_error(b, e->location,
                                "a column definition list is required for functions returning \"record\"", NULL);
    if (members) {
        Expr **args = bind_list(b, q, f->args, f->n_args);
        if (!args) return ST_ERROR;
        TRY(bind_json_record(b, f, args, &x));
    }
    if (x.routine || members) return vec_push(b->a, out, x) ? ST_OK : ST_ERROR;
    if (f && (bind_is_rows(f) || (is_call(f, "unnest") && f->n_args > 1))) {
        Expr **args = bind_list(b, q, f->args, f->n_args);
        if (!args) return ST_ERROR;
        if (bind_is_json_each(f)) {
            TRY(bind_json_each(b, f, args, &x));
            return vec_push(b->a, out, x) ? ST_OK : ST_ERROR;
        }
        for (int64_t i = 0; i < (f->n_args > 1 && is_call(f, "unnest") ? f->n_args : 1); i++) {
            TRY(rows_builtin(b, f, args + i, name, &x));
            if (!vec_push(b->a, out, x)) return ST_ERROR;
        }
        return ST_OK;
    }
    Expr *v = bind_expr(b, q, e);
    if (v && v->type.id == T_UNKNOWN) v = bind_coerce(b, v, type_make(T_TEXT), CAST_IMPLICIT, e->location);
    x = (RowsFunc){.kind = ROWS_VALUE, .location = e->location, .n_args = 1};
    if (!v || !(x.args = arena_array(b->a, Expr *, 1))) return ST_ERROR;
    x.args[0] = v;
    return rows_column(b, &x, name, v->type) == ST_OK && vec_push(b->a, out, x) ? ST_OK : ST_ERROR;
}

/* Where a column definition list may not stand. */
static Status check_definitions(Binder *b, const AstFromFunc *f) {
    if (!f->n_column_defs) return ST_OK;
    int64_t at = f->column_defs[0]->location;
    const AstExpr *e = f->funcs[0].call;
    if (f->n_funcs > 1)
        return definition_error(b, at, "ROWS FROM() with multiple functions cannot have a column definition list",
                                "Put a separate column definition list for each function inside ROWS FROM().");
    if (e->kind == AST_FUNC && is_call(AST_AS_CONST(AstFunc, e), "unnest") && AST_AS_CONST(AstFunc, e)->n_args > 1)
        return definition_error(b, at, "UNNEST() with multiple arguments cannot have a column definition list",
                                "Use separate UNNEST() calls inside ROWS FROM(), and attach a column definition list "
                                "to each one.");
    if (f->ordinality)
        return definition_error(b, at, "WITH ORDINALITY cannot be used with a column definition list",
                                "Put the column definition list inside ROWS FROM().");
    return ST_OK;
}

Plan *bind_from_rows(Binder *b, Query *q, const AstFromFunc *f) {
    RowsVec v = {0};
    if (check_definitions(b, f) != ST_OK) return NULL;
    for (int64_t i = 0; i < f->n_funcs; i++) {
        const AstRowsFunc *r = &f->funcs[i];
        bool outer = f->n_column_defs > 0, several = f->n_funcs > 1;
        const AstFunc *call = r->call->kind == AST_FUNC ? AST_AS_CONST(AstFunc, r->call) : NULL;
        several |= call && is_call(call, "unnest") && call->n_args > 1;
        const char *name = f->alias.name && !several ? f->alias.name : bind_target_name(r->call);
        if (from_call(b, q, r->call, outer ? f->column_defs : r->column_defs,
                      outer ? f->n_column_defs : r->n_column_defs, name, &v) != ST_OK)
            return NULL;
    }
    ColId number = f->ordinality ? plan_new_col(b->c, "ordinality", type_make(T_INT8), false) : 0;
    return number < 0 ? NULL : rows_plan(b, v.len, v.items, number);
}

/* ---- select lists ---------------------------------------------------------------------------- */

Status bind_rows_allowed(Binder *b, const Query *q, int64_t location) {
    if (q->srf_ok) return ST_OK;
    if (q->window_error && strstr(q->window_error, "function calls cannot"))
        return err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED,
                      "%s function calls cannot contain set-returning function calls",
                      strncmp(q->window_error, "window", 6) == 0 ? "window" : "aggregate");
    const char *clause = q->clause ? q->clause : q->srf_clause;
    if (clause && strcmp(clause, "functions in FROM") == 0)
        return err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED,
                      "set-returning functions must appear at top level of FROM");
    return err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED,
                  "set-returning functions are not allowed in %s", clause ? clause : "this context");
}

static bool same_call(const RowsFunc *x, const RowsFunc *y) {
    bool same = x->kind == y->kind && x->routine == y->routine && x->each == y->each && x->n_args == y->n_args;
    for (int64_t i = 0; same && i < x->n_args; i++) same = expr_equal(x->args[i], y->args[i]);
    return same;
}

/* The call whose column that is, or NULL. */
static Srf *srf_of(const Query *q, ColId id) {
    for (int64_t i = 0; i < q->srfs.len; i++) {
        const RowsFunc *f = &q->srfs.items[i].f;
        for (int32_t k = 0; k < f->n_cols; k++)
            if (f->cols[k] == id) return &q->srfs.items[i];
        if (f->found == id) return &q->srfs.items[i];
    }
    return NULL;
}

typedef struct Finding {
    Binder *b;
    Query *q;
    int32_t depth;
    uint8_t stage; /* to lower theirs to */
} Finding;
static bool find_srf(void *ctx, Expr *e) {
    Finding *x = ctx;
    Srf *s = e->kind == EX_COL && bind_owner(x->b, e->u.col).srf ? srf_of(x->q, e->u.col) : NULL;
    if (!s) return true;
    x->depth = MAX_OF(x->depth, s->depth);
    if (s->stage <= x->stage) return true;
    s->stage = x->stage;
    for (int64_t i = 0; i < s->f.n_args; i++) (void)expr_walk(s->f.args[i], find_srf, ctx);
    return true;
}

/* Calls equal to those of a window's keys are in lockstep with them, and so are they. */
void bind_srf_stage(Binder *b, Query *q, Expr *e, SrfStage stage) {
    Finding x = {.b = b, .q = q, .stage = (uint8_t)stage};
    if (q->srfs.len) (void)expr_walk(e, find_srf, &x);
    for (int64_t i = 0; stage == SRF_BELOW_WINDOWS && i < q->srfs.len; i++)
        for (int64_t k = 0; q->srfs.items[i].stage == SRF_BELOW_WINDOWS && k < q->srfs.len; k++)
            if (q->srfs.items[k].stage == SRF_ABOVE && same_call(&q->srfs.items[i].f, &q->srfs.items[k].f))
                q->srfs.items[k].stage = SRF_BELOW_WINDOWS;
}

bool bind_srf_is_below(const Query *q, ColId id) {
    const Srf *s = srf_of(q, id);
    return s && s->stage == SRF_BELOW_GROUPS;
}

bool bind_srf_args(const Query *q, ColId id, bool (*fn)(void *ctx, Expr *e), void *ctx) {
    const Srf *s = srf_of(q, id);
    for (int64_t i = 0; s && i < s->f.n_args; i++)
        if (!expr_walk(s->f.args[i], fn, ctx)) return false;
    return true;
}

static Status own_srf(Binder *b, Query *q, ColId id) {
    TRY(bind_own(b, q, id, true));
    b->owner.items[id - b->owner_first].srf = true;
    return ST_OK;
}

static Expr *add_srf(Binder *b, Query *q, Srf *s) {
    Finding x = {.b = b, .q = q, .stage = SRF_ABOVE};
    for (int64_t i = 0; i < s->f.n_args; i++) (void)expr_walk(s->f.args[i], find_srf, &x);
    s->depth = x.depth + 1;
    for (int32_t k = 0; k < s->f.n_cols; k++)
        if (own_srf(b, q, s->f.cols[k]) != ST_OK) return NULL;
    if ((s->f.found && own_srf(b, q, s->f.found) != ST_OK) || !vec_push(b->a, &q->srfs, *s)) return NULL;
    Expr *e = expr_col(b->c, s->f.cols[0]);
    if (e) e->location = s->f.location;
    return e;
}

Expr *bind_srf(Binder *b, Query *q, const RowsFunc *f) {
    if (f->routine && f->routine->returns_record) {
        RowsFunc rows = *f;
        RowValue row = {.location = f->location};
        if (f->n_cols) return bind_srf_row(b, q, &rows, &row) == ST_OK ? bind_row_cell(b, &row, f->location) : NULL;
        err_at(b->err, bind_pos(b, f->location), ERR_FEATURE_NOT_SUPPORTED,
               "set-valued function called in context that cannot accept a set");
        return NULL;
    }
    q->srf_calls++;
    q->srf_location = f->location;
    for (int64_t i = 0; q->srf_again && i < q->srfs.len; i++) {
        if (!same_call(&q->srfs.items[i].f, f)) continue;
        Expr *e = expr_col(b->c, q->srfs.items[i].f.cols[0]);
        if (e) e->location = f->location;
        return e;
    }
    Srf s = {.f = *f, .stage = SRF_ABOVE};
    return add_srf(b, q, &s);
}

Status bind_srf_row(Binder *b, Query *q, RowsFunc *f, RowValue *out) {
    q->srf_calls++;
    q->srf_location = f->location;
    if ((f->found = plan_new_col(b->c, "found", type_make(T_BOOL), false)) <= 0) return ST_ERROR;
    Srf s = {.f = *f, .stage = SRF_ABOVE};
    if (!add_srf(b, q, &s)) return ST_ERROR;
    for (int32_t k = 0; k < f->n_cols; k++) {
        Expr *e = expr_col(b->c, f->cols[k]);
        if (!e || !vec_push(b->a, &out->fields, e)) return ST_ERROR;
    }
    out->cols = f->cols;
    return (out->found = expr_col(b->c, f->found)) ? ST_OK : ST_ERROR;
}

Expr *bind_rows_target(Binder *b, Query *q, const AstFunc *f) {
    RowsFunc x;
    if (bind_rows_allowed(b, q, f->location) != ST_OK) return NULL;
    Expr **args = bind_list(b, q, f->args, f->n_args);
    RowValue row = {.location = f->location};
    if (!args) return NULL;
    if (bind_is_json_each(f))
        return bind_json_each(b, f, args, &x) == ST_OK && bind_srf_row(b, q, &x, &row) == ST_OK
                   ? bind_row_cell(b, &row, f->location)
                   : NULL;
    return rows_builtin(b, f, args, f->name.name, &x) == ST_OK ? bind_srf(b, q, &x) : NULL;
}

Expr *bind_srf_above(Binder *b, Query *q, ColId id, Status (*fn)(void *ctx, Expr **slot), void *ctx) {
    Srf *below = srf_of(q, id);
    if (below->f.found) return bind_unsupported(b, below->f.location, "a set of records as a key and otherwise"), NULL;
    if (below->above) return expr_col(b->c, below->above);
    Srf s = {.f = below->f, .stage = SRF_ABOVE, .ready = true};
    ColInfo info = b->c->cols.items[id];
    if (!(s.f.args = arena_array(b->a, Expr *, s.f.n_args + 1)) || !(s.f.cols = arena_array(b->a, ColId, 1)) ||
        (s.f.cols[0] = plan_new_col(b->c, info.name, info.type, true)) <= 0)
        return NULL;
    below->above = s.f.cols[0];
    for (int64_t i = 0; i < s.f.n_args; i++) {
        if (!(s.f.args[i] = bind_copy(b, below->f.args[i])) || fn(ctx, &s.f.args[i]) != ST_OK) return NULL;
        below = srf_of(q, id); /* more calls may have moved them */
    }
    return add_srf(b, q, &s);
}

Status bind_srfs_each(Query *q, Status (*fn)(void *ctx, Expr **slot), void *ctx) {
    for (int64_t i = 0; i < q->srfs.len; i++) {
        if (q->srfs.items[i].stage == SRF_BELOW_GROUPS || q->srfs.items[i].ready) continue;
        q->srfs.items[i].ready = true;
        for (int64_t k = 0; k < q->srfs.items[i].f.n_args; k++) TRY(fn(ctx, &q->srfs.items[i].f.args[k]));
    }
    return ST_OK;
}

void bind_srfs_end(Binder *b, const Query *q) {
    for (int64_t i = 0; i < q->srfs.len; i++) {
        const RowsFunc *f = &q->srfs.items[i].f;
        for (int32_t k = 0; k < f->n_cols; k++) b->owner.items[f->cols[k] - b->owner_first].srf = false;
        if (f->found) b->owner.items[f->found - b->owner_first].srf = false;
    }
}

static bool is_volatile(const RowsFunc *f) {
    bool v = f->kind == ROWS_ROUTINE && f->routine->volatility == 'v';
    for (int64_t i = 0; i < f->n_args; i++) v |= expr_is_volatile(f->args[i]);
    return v;
}

/* A call by itself whose rows may be made without the rows of p, or along with each by a join. */
static bool stands_alone(const RowsFunc *f, const Plan *p) {
    bool one = p->kind == LP_VALUES && p->n_out == 0 && p->values.n_rows == 1;
    if (f->found) return false;
    if (f->kind == ROWS_SERIES) return !is_volatile(f) && !has_subquery(f);
    return f->kind == ROWS_ROUTINE && fixed_args(f) && (one || !is_volatile(f));
}

static Plan *rows_over(Binder *b, Plan *p, int64_t n, const RowsFunc *f) {
    if (n > 1 || !stands_alone(f, p)) return side_by_side(b, n, f, 0, p);
    Plan *r = rows_plan(b, n, f, 0);
    if (!r) return NULL;
    bool dep = bind_depends(b, r, p);
    Plan *j = bind_join(b, JN_INNER, p, r);
    if (j) j->join.dependent = dep;
    return j;
}

Plan *bind_srf_plan(Binder *b, const Query *q, Plan *p, SrfStage stage) {
    int64_t left = 0;
    for (int64_t i = 0; i < q->srfs.len; i++) left += q->srfs.items[i].stage == (uint8_t)stage;
    for (int32_t depth = 1; p && left; depth++) {
        RowsVec v = {0};
        for (int64_t i = 0; i < q->srfs.len; i++) {
            const Srf *s = &q->srfs.items[i];
            if (s->stage == (uint8_t)stage && s->depth == depth && !vec_push(b->a, &v, s->f)) return NULL;
        }
        left -= v.len;
        if (v.len) p = rows_over(b, p, v.len, v.items);
    }
    return p;
}
