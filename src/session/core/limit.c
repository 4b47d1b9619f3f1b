/* limit.c - LIMIT and OFFSET that only a query can tell: their subqueries run before the statement is planned.
 *
 * A plan has numbers for limits (sort and top-N are chosen by them), so `limit (select ...)` is evaluated first, as
 * PostgreSQL does when the executor starts. EXPLAIN evaluates them too: its plan depends on the value.
 */
#include "session/pool/bulk.h"
#include "session/pl/pl_run.h"

/* The WITH definitions around a place in the plan, innermost first. */
typedef struct Scope {
    const struct Scope *up;
    const Plan *cte;
} Scope;

typedef struct Resolve {
    Session *s;
    PlanCtx *c;
    MemAccount *acct;
    const Scope *scope;
} Resolve;

static Status resolve_plan(const Resolve *r, Plan *p);

static bool no_run_needed(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_SUBQUERY && !(e->kind == EX_FUNC && (e->u.func->flags & FN_VOLATILE));
}

typedef struct Mention {
    int64_t cte_id;
    bool found;
} Mention;
static void mention(void *ctx, Plan *p) {
    Mention *m = ctx;
    m->found |= p->kind == LP_CTE_SCAN && p->cte.id == m->cte_id;
}
static void mentions(Plan *p, Mention *m) { plan_visit(&(PlanVisitor){.ctx = m, .plan = mention}, p); }

/* SELECT e, under the definitions that it names; a copy, because planning changes plans. */
static Expr *as_query(const Resolve *r, Expr *e) {
    PlanCtx *c = r->c;
    Plan *one = plan_new(c, LP_VALUES, 0), *p = plan_new(c, LP_PROJECT, 1);
    Expr *sub = expr_new(c, EX_SUBQUERY, e->type, 0);
    ColId *id = arena_array(c->arena, ColId, 1);
    if (!one || !p || !sub || !id || !(one->values.rows = arena_array(c->arena, Expr **, 1)) ||
        !(one->values.rows[0] = arena_array(c->arena, Expr *, 1)) || !(p->exprs = arena_array(c->arena, Expr *, 1)) ||
        !(id[0] = plan_new_col(c, "limit", e->type, true)))
        return NULL;
    one->values.n_rows = 1;
    p->children[0] = one;
    p->exprs[0] = e;
    p->out_cols = id;
    p->n_exprs = p->n_out = 1;
    for (const Scope *s = r->scope; s; s = s->up) {
        Mention m = {.cte_id = s->cte->cte.id};
        mentions(p, &m);
        if (!m.found) continue;
        Plan *cte = plan_new(c, LP_CTE, 2);
        if (!cte) return NULL;
        cte->cte.id = s->cte->cte.id;
        cte->alias = s->cte->alias;
        cte->children[0] = s->cte->children[0];
        cte->children[1] = p;
        p = cte;
    }
    ColSet free_cols = colset_new(c);
    plan_free_cols(c, p, &free_cols);
    for (int64_t w = 0; w < free_cols.n_words; w++)
        if (free_cols.bits[w]) {
            err_at(&r->s->err, e->location, ERR_FEATURE_NOT_SUPPORTED,
                   "LIMIT or OFFSET that depends on an outer query is not supported");
            return NULL;
        }
    sub->u.sub.plan = p;
    sub->u.sub.cols = id;
    sub->u.sub.n_cols = 1;
    return expr_copy(c, sub);
}

static Status resolve_limit(const Resolve *r, Expr **slot) {
    Expr *e = *slot;
    if (!e || expr_walk(e, no_run_needed, NULL)) return ST_OK;
    Expr *q = as_query(r, e);
    if (!q) return stack_failed(&r->s->err);
    BoundStmt b = {.kind = STMT_SELECT, .plan = q->u.sub.plan, .n_result = 1, .result = q->u.sub.cols};
    RunOutput out;
    r->s->read.inner++;
    Status ran = session_run_plan(r->s, r->c, &b, 1, b.result, r->acct, &out);
    r->s->read.inner--;
    TRY(ran);
    const void *cell;
    Value v = {.type = e->type};
    Status st = rows_cell(out.rows, 0, 0, &cell, &v.is_null, &r->s->err);
    if (st == ST_OK && !v.is_null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
    query_free(out.query);
    if (st != ST_OK) return st;
    Expr *k = expr_const(r->c, &v);
    if (!k) return err_oom(&r->s->err);
    k->location = e->location;
    *slot = k;
    return ST_OK;
}

static bool resolve_fn(void *ctx, Expr *e) {
    return e->kind != EX_SUBQUERY || resolve_plan(ctx, e->u.sub.plan) == ST_OK;
}
static Status resolve_slot(void *ctx, Expr **slot) { return expr_walk(*slot, resolve_fn, ctx) ? ST_OK : ST_ERROR; }

static Status resolve_plan(const Resolve *r, Plan *p) {
    TRY(stack_check(&r->s->err));
    Resolve here = *r;
    if (p->values.routine_id < 0) TRY(session_system_rows(r->s, r->c, p));
    if (p->values.routine_id)
        TRY(p->values.bulk ? session_bulk_fill(r->s, r->c, p, r->acct) : pl_fill_rows(r->s, r->c, p));
    TRY(resolve_limit(r, &p->limit.rows_expr));
    TRY(resolve_limit(r, &p->limit.offset_expr));
    TRY(plan_each_expr(p, resolve_slot, &here));
    for (int32_t i = 0; i < p->n_children; i++) {
        Scope inner = {r->scope, p};
        Resolve body = *r;
        if (p->kind == LP_CTE && i == 1) body.scope = &inner;
        TRY(resolve_plan(&body, p->children[i]));
    }
    return ST_OK;
}

Status session_resolve_limits(Session *s, PlanCtx *c, Plan *p, MemAccount *acct) {
    return p ? resolve_plan(&(Resolve){.s = s, .c = c, .acct = acct}, p) : ST_OK;
}
