/* bind_limit.c - LIMIT, OFFSET, FETCH FIRST ... WITH TIES.
 *
 * WITH TIES keeps the rows that sort like the last one. The rows are made once and joined with that row:
 *
 *   CTE d = rows;  LIMIT (SORT (FILTER not after the edge (d LEFT JOIN (LIMIT 1 OFFSET offset + n - 1 (SORT d)))))
 *
 * No edge: there are fewer rows than the limit, all stay.
 */
#include "sql/bind/bind_int.h"

/* As bigint; NULL on error. */
static Expr *limit_expr(Binder *b, const SelectEnv *env, const Query *level, const AstExpr *ast, const char *clause) {
    Query *q = arena_new_of(b->a, Query);
    if (!q) return NULL;
    q->outer = env->outer;
    q->sibling = env->sibling;
    if (level) q->ns = level->ns;
    q->ctes = env->ctes;
    q->clause = clause;
    q->no_columns = true;
    Expr *e = bind_expr(b, q, ast);
    if (!e) return NULL;
    if (e->type.id != T_UNKNOWN && !type_is_number(e->type)) {
        err_at(b->err, bind_pos(b, ast->location), ERR_DATATYPE_MISMATCH,
               "argument of %s must be type bigint, not type %s", clause, type_plain_name(e->type));
        return NULL;
    }
    return bind_coerce(b, e, type_make(T_INT8), CAST_ASSIGNMENT, ast->location);
}

static Status limit_value(Binder *b, const AstExpr *ast, Expr *e, bool offset, int64_t *value, Expr **expr) {
    if (!ast) return ST_OK;
    const char *clause = offset ? "OFFSET" : "LIMIT";
    if (e->kind != EX_CONST) {
        *expr = e;
        return ST_OK;
    }
    if (e->u.value.is_null) return ST_OK;
    if (e->u.value.u.i64 < 0)
        return err_at(b->err, bind_pos(b, ast->location), offset ? ERR_INVALID_OFFSET : ERR_INVALID_LIMIT,
                      "%s must not be negative", clause);
    *value = e->u.value.u.i64;
    return ST_OK;
}

static Plan *limit_plan(Binder *b, Plan *child, Expr *limit, Expr *offset) {
    Plan *p = child ? plan_new(b->c, LP_LIMIT, 1) : NULL;
    if (!p) return NULL;
    p->children[0] = child;
    p->limit.rows = p->limit.offset = -1;
    p->limit.rows_expr = limit;
    p->limit.offset_expr = offset;
    return p;
}

static Expr *positive(Binder *b, const Expr *n) {
    return bind_op(b, ">", bind_copy(b, n), bind_int8_const(b, 0), n->location);
}

/* ---- by columns of an outer query ---------------------------------------------------------- */

static bool uses_columns(Binder *b, const Expr *e) {
    ColSet used = colset_new(b->c);
    bool any = false;
    if (e) expr_cols(b->c, e, &used);
    for (int64_t w = 0; w < used.n_words; w++) any |= used.bits[w] != 0;
    return any;
}

static Expr *checked(Binder *b, Expr *e, int32_t what) {
    Value v = {.type = type_make(T_INT4)};
    v.u.i32 = what;
    Expr *args[2] = {e, expr_const(b->c, &v)};
    return e && args[1] ? bind_call(b, "check_limit", false, 2, args, e->location) : NULL;
}

/* The rows of a sort (or in any order) numbered; with ties, their ranks too. */
static Plan *number_rows(Binder *b, Plan *p, ColId *number, ColId *rank) {
    Plan *w = plan_new(b->c, LP_WINDOW, 1), *sort = p->kind == LP_SORT ? p : NULL;
    if (!w || !(w->win.calls = arena_array(b->a, WinCall, 2))) return NULL;
    w->children[0] = sort ? sort->children[0] : p;
    w->sort.n = sort ? sort->sort.n : 0;
    if (!(w->sort.keys = arena_array(b->a, SortKey, w->sort.n + 1))) return NULL;
    for (int32_t i = 0; i < w->sort.n; i++) {
        w->sort.keys[i] = sort->sort.keys[i];
        if (!(w->sort.keys[i].expr = bind_copy(b, sort->sort.keys[i].expr))) return NULL;
    }
    w->win.frame = (WinFrame){AST_FRAME_RANGE, AST_BOUND_UNBOUNDED_PRECEDING, AST_BOUND_CURRENT_ROW, AST_EXCLUDE_NONE};
    w->win.n_calls = rank ? 2 : 1;
    if ((*number = plan_new_col(b->c, "row_number", type_make(T_INT8), false)) <= 0) return NULL;
    w->win.calls[0] = (WinCall){.func = WF_ROW_NUMBER, .out = *number};
    if (!rank) return w;
    if ((*rank = plan_new_col(b->c, "rank", type_make(T_INT8), false)) <= 0) return NULL;
    w->win.calls[1] = (WinCall){.func = WF_RANK, .out = *rank};
    return w;
}

/* LIMIT and OFFSET (NULL: none) that are not the same for all rows of an outer query: a filter of numbered rows. */
static Status limit_numbers(Binder *b, Expr *limit, Expr *offset, bool ties, Rel *r) {
    ColId number, rank = 0;
    Plan *sort = r->plan, *p = number_rows(b, sort, &number, ties ? &rank : NULL);
    ExprVec conds = {0};
    if (!p) return ST_ERROR;
    Expr *start = offset ? expr_new(b->c, EX_COALESCE, type_make(T_INT8), 2) : bind_int8_const(b, 0);
    if (start && offset) {
        if (!(start->args[0] = checked(b, offset, 1)) || !(start->args[1] = bind_int8_const(b, 0))) return ST_ERROR;
        Expr *after = bind_op(b, ">", expr_col(b->c, number), bind_copy(b, start), 0);
        if (!after || !vec_push(b->a, &conds, after)) return ST_ERROR;
    }
    if (start && limit) {
        Expr *n = checked(b, limit, 0);
        Expr *end = n ? bind_op(b, "+", start, n, 0) : NULL;
        Expr *before = end ? bind_op(b, "<=", expr_col(b->c, ties ? rank : number), end, 0) : NULL;
        Expr *some[2] = {before, before ? positive(b, n) : NULL}; /* ties of none are none */
        if (ties && some[1]) before = bind_nary(b, EX_AND, 2, some, 0);
        Expr *any[2] = {before, before ? bind_unary(b, EX_IS_NULL, bind_copy(b, n), 0) : NULL};
        Expr *cond = any[1] ? bind_nary(b, EX_OR, 2, any, 0) : NULL;
        if (!cond || !vec_push(b->a, &conds, cond)) return ST_ERROR;
    }
    if (!start || !(p = bind_filter(b, p, bind_nary(b, EX_AND, conds.len, conds.items, 0)))) return ST_ERROR;
    if (sort->kind == LP_SORT) {
        sort->children[0] = p;
        p = sort;
    }
    r->plan = p;
    return ST_OK;
}

/* ---- WITH TIES ------------------------------------------------------------------------------- */

static Expr *int8_case(Binder *b, Expr *cond, Expr *then, Expr *other) {
    Expr *e = expr_new(b->c, EX_CASE, type_make(T_INT8), 3);
    if (!e || !cond || !then || !other) return NULL;
    e->args[0] = cond;
    e->args[1] = then;
    e->args[2] = other;
    return e;
}
/* Row r sorts after edge e by keys i and on: never NULL. */
static Expr *after_edge(Binder *b, const SortKey *keys, int32_t n, int32_t i, const ColId *r, const ColId *e) {
    if (stack_check(b->err) != ST_OK) return NULL;
    const SortKey *k = &keys[i];
    Expr *nulls[2] = {bind_unary(b, EX_IS_NULL, expr_col(b->c, k->nulls_first ? e[i] : r[i]), 0),
                      bind_unary(b, EX_IS_NOT_NULL, expr_col(b->c, k->nulls_first ? r[i] : e[i]), 0)};
    Expr *more =
        bind_unary(b, EX_IS_TRUE, bind_op(b, k->desc ? "<" : ">", expr_col(b->c, r[i]), expr_col(b->c, e[i]), 0), 0);
    Expr *any[3] = {bind_nary(b, EX_AND, 2, nulls, 0), more, NULL};
    if (i + 1 == n) return bind_nary(b, EX_OR, 2, any, 0);
    Expr *same = expr_new(b->c, EX_NOT_DISTINCT, type_make(T_BOOL), 2);
    if (!same || !(same->args[0] = expr_col(b->c, r[i])) || !(same->args[1] = expr_col(b->c, e[i]))) return NULL;
    Expr *next[2] = {same, after_edge(b, keys, n, i + 1, r, e)};
    any[2] = bind_nary(b, EX_AND, 2, next, 0);
    return bind_nary(b, EX_OR, 3, any, 0);
}

static Plan *sort_by(Binder *b, Plan *child, const Plan *like, const ColId *ids) {
    Plan *p = child ? plan_new(b->c, LP_SORT, 1) : NULL;
    if (!p || !(p->sort.keys = arena_array(b->a, SortKey, like->sort.n))) return NULL;
    p->children[0] = child;
    p->sort.n = like->sort.n;
    for (int32_t i = 0; i < p->sort.n; i++) {
        p->sort.keys[i] = like->sort.keys[i];
        if (!(p->sort.keys[i].expr = expr_col(b->c, ids[i]))) return NULL;
    }
    return p;
}

static Status bind_ties(Binder *b, const SelectEnv *env, const Query *level, const AstSelect *s, Rel *r) {
    Plan *sort = r->plan, *p;
    if (sort->kind != LP_SORT)
        return err_at(b->err, bind_pos(b, s->location), ERR_SYNTAX,
                      "WITH TIES cannot be specified without ORDER BY clause");
    if (!s->limit) /* the parser leaves a NULL out */
        return err_at(b->err, bind_pos(b, s->location), ERR_INVALID_LIMIT,
                      "row count cannot be null in FETCH FIRST ... WITH TIES clause");
    Expr *n = limit_expr(b, env, level, s->limit, "LIMIT"),
         *offset = s->offset ? limit_expr(b, env, level, s->offset, "OFFSET") : NULL;
    if (!n || (s->offset && !offset)) return ST_ERROR;
    if (uses_columns(b, n) || uses_columns(b, offset)) return limit_numbers(b, n, offset, true, r);
    int32_t k = sort->sort.n;
    IdVec all = {0};
    ColSet produced = colset_new(b->c);
    plan_outputs(b->c, sort->children[0], &produced);
    for (ColId id = 1; id < b->c->cols.len; id++)
        if (colset_has(&produced, id) && !vec_push(b->a, &all, id)) return ST_ERROR;
    ColId *keys = arena_array(b->a, ColId, k), *edge = arena_array(b->a, ColId, k + 1),
          *rows = arena_array(b->a, ColId, all.len + 1), *row_keys = arena_array(b->a, ColId, k);
    if (!keys || !edge || !rows || !row_keys) return ST_ERROR;
    for (int32_t i = 0; i < k; i++) keys[i] = sort->sort.keys[i].expr->u.col;
    int64_t cte = ++b->c->n_ctes;
    Plan *left = bind_cte_ref(b, cte, all.len, all.items, rows), *right = bind_cte_ref(b, cte, k, keys, edge);
    if (!left || !right) return ST_ERROR;
    for (int32_t i = 0; i < k; i++)
        for (int64_t j = 0; j < all.len; j++)
            if (all.items[j] == keys[i]) row_keys[i] = rows[j];
    /* the edge: one row or none */
    Expr *start = bind_int8_const(b, 0);
    if (offset) {
        Expr *c = expr_new(b->c, EX_COALESCE, type_make(T_INT8), 2);
        if (!c || !(c->args[0] = bind_copy(b, offset))) return ST_ERROR;
        c->args[1] = start;
        start = c;
    }
    Expr *skip =
        bind_op(b, "-", bind_op(b, "+", start, bind_copy(b, n), n->location), bind_int8_const(b, 1), n->location);
    right = limit_plan(b, sort_by(b, right, sort, edge),
                       int8_case(b, positive(b, n), bind_int8_const(b, 1), bind_int8_const(b, 0)),
                       int8_case(b, positive(b, n), skip, bind_int8_const(b, 0)));
    Proj proj = {0};
    for (int32_t i = 0; i < k; i++) {
        Expr *e = expr_col(b->c, edge[i]);
        if (!e || !vec_push(b->a, &proj.ids, edge[i]) || !vec_push(b->a, &proj.exprs, e)) return ST_ERROR;
    }
    ColId found = bind_proj_add(b, &proj, NULL, expr_bool(b->c, true), "found");
    if (!right || !found || !(p = bind_join(b, JN_LEFT, left, bind_proj_plan(b, &proj, right)))) return ST_ERROR;
    Expr *keep[2] = {bind_unary(b, EX_IS_NULL, expr_col(b->c, found), 0),
                     bind_not(b, after_edge(b, sort->sort.keys, k, 0, row_keys, edge), 0)};
    p = bind_filter(b, p, bind_nary(b, EX_OR, 2, keep, 0));
    /* 0 keeps none, what is negative is an error */
    Expr *top = int8_case(b, positive(b, n), bind_null(b, type_make(T_INT8)), n);
    Plan *with = plan_new(b->c, LP_CTE, 2);
    if (!top || !with || !(p = limit_plan(b, sort_by(b, p, sort, row_keys), top, offset))) return ST_ERROR;
    with->cte.id = cte;
    with->alias = "with ties";
    with->children[0] = sort->children[0];
    with->children[1] = p;
    ColId *cols = arena_array(b->a, ColId, r->n + 1);
    if (!cols) return ST_ERROR;
    for (int32_t i = 0; i < r->n; i++)
        for (int64_t j = 0; j < all.len; j++)
            if (all.items[j] == r->cols[i]) cols[i] = rows[j];
    r->cols = cols;
    r->plan = with;
    return ST_OK;
}

Status bind_limit(Binder *b, const SelectEnv *env, const Query *level, const AstSelect *s, Rel *r) {
    if (s->limit_with_ties) return bind_ties(b, env, level, s, r);
    if (!s->limit && !s->offset) return ST_OK;
    Expr *limit = s->limit ? limit_expr(b, env, level, s->limit, "LIMIT") : NULL,
         *offset = s->offset ? limit_expr(b, env, level, s->offset, "OFFSET") : NULL;
    if ((s->limit && !limit) || (s->offset && !offset)) return ST_ERROR;
    if (uses_columns(b, limit) || uses_columns(b, offset)) return limit_numbers(b, limit, offset, false, r);
    Plan *p = limit_plan(b, r->plan, NULL, NULL);
    if (!p) return ST_ERROR;
    TRY(limit_value(b, s->limit, limit, false, &p->limit.rows, &p->limit.rows_expr));
    TRY(limit_value(b, s->offset, offset, true, &p->limit.offset, &p->limit.offset_expr));
    r->plan = p;
    return ST_OK;
}
