/* bind_search.c - SEARCH and CYCLE of recursive queries: columns that the terms compute beside the query's own.
 *
 *                          base                       step, from the row r that it goes on from
 *   DEPTH FIRST            ARRAY[ROW(cols)]           r.sequence || ROW(cols)
 *   BREADTH FIRST          ROW(0, cols)               ROW(depth of r.sequence + 1, cols)
 *   CYCLE: path            ARRAY[ROW(cols)]           r.path || ROW(cols)
 *   CYCLE: mark            DEFAULT                    TO if ROW(cols) is in r.path; rows of a marked r are left out
 *
 * The step's SELECT hands on the columns of r behind its own. In it they have names, and * does not show them. Rows and
 * arrays of rows: types/func_record.c.
 */
#include "sql/bind/bind_int.h"

typedef struct Search {
    int32_t n;               /* of the query's own columns */
    int32_t seq, mark, path; /* positions behind them; -1: none */
    bool breadth;
    int64_t n_by, n_cycle;
    int32_t *by, *cycle; /* which columns */
    Expr *value, *other; /* of the mark */
    int64_t location;
} Search;

/* ---- the clauses' columns ------------------------------------------------------------ */

static Status find_columns(Binder *b, const Cte *c, const char *what, int64_t n, const char *const *names,
                           int64_t location, int32_t **out) {
    if (!(*out = arena_array(b->a, int32_t, n + 1))) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        int32_t at = 0;
        while (at < c->n && strcmp(c->names[at], names[i]) != 0) at++;
        if (at == c->n)
            return err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "%s column \"%s\" not in WITH query column list",
                          what, names[i]);
        for (int64_t k = 0; k < i; k++)
            if ((*out)[k] == at)
                return err_at(b->err, bind_pos(b, location), ERR_DUPLICATE_COLUMN,
                              "%s column \"%s\" specified more than once", what, names[i]);
        (*out)[i] = at;
    }
    return ST_OK;
}

static Status check_new(Binder *b, const Cte *c, const char *what, const char *name, int64_t location) {
    for (int32_t i = 0; i < c->n; i++)
        if (strcmp(c->names[i], name) == 0)
            return err_at(b->err, bind_pos(b, location), ERR_SYNTAX,
                          "%s column name \"%s\" already used in WITH query column list", what, name);
    return ST_OK;
}
static Status check_apart(Binder *b, const char *what, const char *x, const char *other, const char *y,
                          int64_t location) {
    if (strcmp(x, y) != 0) return ST_OK;
    return err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "%s column name and %s column name are the same", what,
                  other);
}

static Status add_column(Binder *b, Cte *c, const char *name, Type t, Type *types, int32_t *at) {
    *at = c->n_extra++;
    types[c->n] = t;
    c->names[c->n] = name;
    return (c->cols[c->n++] = plan_new_col(b->c, name, t, true)) ? ST_OK : ST_ERROR;
}

static Type record_type(uint8_t flag) {
    Type t = type_make(T_BYTEA);
    t.flags = flag;
    return t;
}

static Status mark_values(Binder *b, const AstCycle *a, Search *x, Type *t) {
    Query *q = arena_new_of(b->a, Query);
    if (!q) return ST_ERROR;
    q->clause = "CYCLE";
    Expr *pair[2] = {bind_expr(b, q, a->value), NULL};
    if (!pair[0] || !(pair[1] = bind_expr(b, q, a->other))) return ST_ERROR;
    TRY(bind_common(b, 2, pair, "CYCLE", t));
    x->value = pair[0];
    x->other = pair[1];
    return ST_OK;
}

Status bind_search_columns(Binder *b, const AstCte *a, Cte *c, Type *types) {
    const AstSearch *s = a->search;
    const AstCycle *y = a->cycle;
    Search *x = arena_new_of(b->a, Search);
    Type mark;
    if (!x) return ST_ERROR;
    *x = (Search){.n = c->n, .seq = -1, .mark = -1, .path = -1, .location = a->location};
    if (a->n_columns > c->n)
        return err_at(b->err, bind_pos(b, a->location), ERR_INVALID_COLUMN_REFERENCE,
                      "WITH query \"%s\" has %d columns available but %lld columns specified", a->name, c->n,
                      (long long)a->n_columns);
    if (s) {
        TRY(find_columns(b, c, "search", s->n_columns, s->columns, s->location, &x->by));
        TRY(check_new(b, c, "search sequence", s->sequence, s->location));
        x->n_by = s->n_columns;
        x->breadth = s->breadth;
    }
    if (y) {
        TRY(find_columns(b, c, "cycle", y->n_columns, y->columns, y->location, &x->cycle));
        for (int64_t i = 0; i < y->n_columns; i++) TRY(bind_check_groupable(b, types[x->cycle[i]], y->location));
        TRY(mark_values(b, y, x, &mark));
        TRY(check_new(b, c, "cycle mark", y->mark, y->location));
        TRY(check_new(b, c, "cycle path", y->path, y->location));
        TRY(check_apart(b, "cycle mark", y->mark, "cycle path", y->path, y->location));
        x->n_cycle = y->n_columns;
    }
    if (s && y) {
        TRY(check_apart(b, "search sequence", s->sequence, "cycle mark", y->mark, s->location));
        TRY(check_apart(b, "search sequence", s->sequence, "cycle path", y->path, s->location));
    }
    if (s) TRY(add_column(b, c, s->sequence, record_type(s->breadth ? TF_RECORD : TF_RECORDS), types, &x->seq));
    if (y) {
        TRY(add_column(b, c, y->mark, mark, types, &x->mark));
        TRY(add_column(b, c, y->path, record_type(TF_RECORDS), types, &x->path));
    }
    c->search = x;
    return ST_OK;
}

Status bind_search_targets(Binder *b, Query *q, TargetVec *out) {
    const Cte *c = b->step_of;
    b->step = NULL;
    if (c->refs == 0) return ST_OK;
    if (c->ref_level != q)
        return err_set(b->err, ERR_FEATURE_NOT_SUPPORTED,
                       "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"%s\" must be at the top "
                       "level of its right-hand SELECT",
                       c->name);
    for (int32_t k = c->n - c->n_extra; k < c->n; k++) {
        Target t = {.expr = expr_col(b->c, c->scan->out_cols[k]), .name = c->names[k]};
        if (!t.expr || !vec_push(b->a, out, t)) return ST_ERROR;
    }
    return ST_OK;
}

/* ---- the terms -------------------------------------------------------------------------- */

/* ROW(columns), behind `first` if that is not NULL. */
static Expr *row_of(Binder *b, const char *func, Expr *first, const Rel *r, int64_t n, const int32_t *which) {
    int64_t k = 0;
    Expr **args = arena_array(b->a, Expr *, n + 2);
    if (!args) return NULL;
    if (first) args[k++] = first;
    for (int64_t i = 0; i < n; i++)
        if (!(args[k++] = expr_col(b->c, r->cols[which[i]]))) return NULL;
    Expr *e = bind_call(b, func, false, (int)k, args, 0);
    if (e) e->type = record_type(TF_RECORD);
    return e;
}
static Expr *rows_with(Binder *b, Expr *before, Expr *row) {
    if (!row) return NULL;
    Expr *args[2] = {before ? before : row, row};
    Expr *e = bind_call(b, before ? "records_add" : "records_of", false, before ? 2 : 1, args, 0);
    if (e) e->type = record_type(TF_RECORDS);
    return e;
}

/* The term with its own columns, then what the clauses add. */
static Status with_extra(Binder *b, const Cte *c, Rel *r, Expr **extra) {
    const Search *x = c->search;
    Proj proj = {0};
    ColId *ids = arena_array(b->a, ColId, c->n + 1);
    if (!ids) return ST_ERROR;
    for (int32_t i = 0; i < c->n; i++) {
        Expr *e = i < x->n ? expr_col(b->c, r->cols[i]) : extra[i - x->n];
        if (!e || !(ids[i] = bind_proj_add(b, &proj, NULL, e, c->names[i]))) return ST_ERROR;
    }
    if (!(r->plan = bind_proj_plan(b, &proj, r->plan))) return ST_ERROR;
    r->n = c->n;
    r->cols = ids;
    r->names = c->names;
    return ST_OK;
}

Status bind_search_base(Binder *b, const Cte *c, Rel *base) {
    const Search *x = c->search;
    Expr *extra[3];
    if (x->seq >= 0) {
        Expr *row = row_of(b, x->breadth ? "record_first" : "record_of", NULL, base, x->n_by, x->by);
        extra[x->seq] = x->breadth ? row : rows_with(b, NULL, row);
    }
    if (x->mark >= 0) {
        extra[x->mark] = bind_copy(b, x->other);
        extra[x->path] = rows_with(b, NULL, row_of(b, "record_of", NULL, base, x->n_cycle, x->cycle));
    }
    return with_extra(b, c, base, extra);
}

Status bind_search_step(Binder *b, const Cte *c, Rel *step) {
    const Search *x = c->search;
    const ColId *before = step->cols + x->n;
    Expr *extra[3];
    if (x->mark >= 0) {
        Expr *go_on = bind_op(b, "<>", expr_col(b->c, before[x->mark]), bind_copy(b, x->value), x->location);
        if (!(step->plan = bind_filter(b, step->plan, go_on))) return ST_ERROR;
    }
    if (x->seq >= 0 && x->breadth)
        extra[x->seq] = row_of(b, "record_deeper", expr_col(b->c, before[x->seq]), step, x->n_by, x->by);
    else if (x->seq >= 0)
        extra[x->seq] =
            rows_with(b, expr_col(b->c, before[x->seq]), row_of(b, "record_of", NULL, step, x->n_by, x->by));
    if (x->mark >= 0) {
        Expr *row = row_of(b, "record_of", NULL, step, x->n_cycle, x->cycle);
        Expr *args[2] = {expr_col(b->c, before[x->path]), row}, *mark = expr_new(b->c, EX_CASE, x->value->type, 3);
        if (!args[0] || !row || !mark || !(mark->args[0] = bind_call(b, "records_have", false, 2, args, x->location)) ||
            !(mark->args[1] = bind_copy(b, x->value)) || !(mark->args[2] = bind_copy(b, x->other)))
            return ST_ERROR;
        extra[x->mark] = mark;
        extra[x->path] = rows_with(b, expr_col(b->c, before[x->path]), bind_copy(b, row));
    }
    return with_extra(b, c, step, extra);
}
