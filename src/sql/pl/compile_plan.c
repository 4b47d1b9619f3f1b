/* compile_plan.c - bound plans before rows are compiled of them: aggregates are split, IN with a query becomes a join.
 *
 * `x IN (query)` as a condition, x a column, is a join with the query's distinct values: a large table is then looked
 * into by x instead of being read row by row. The query must not look at the rows that it is a condition for, nor at a
 * table that the statement changes. */
#include "sql/optimize/optimize.h"
#include "sql/pl/compile_int.h"

static bool has_scan_column(const Plan *p, ColId id) {
    if (stack_stop()) return false;
    if (p->kind == LP_SCAN)
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id) return p->scan.cols[i] >= 0;
    if (p->kind != LP_SCAN && p->kind != LP_FILTER && (p->kind != LP_JOIN || p->join.kind != JN_INNER)) return false;
    for (int32_t i = 0; i < p->n_children; i++)
        if (has_scan_column(p->children[i], id)) return true;
    return false;
}
/* Columns of `below` that the query looks at. */
static bool looks_at(Cp *c, Expr *query, const Plan *below) {
    Expr only = {.kind = EX_SUBQUERY, .subquery = SQ_EXISTS, .type = type_make(T_BOOL)};
    only.u.sub.plan = query->u.sub.plan;
    ColSet used = colset_new(&c->ctx), there = colset_new(&c->ctx);
    expr_cols(&c->ctx, &only, &used);
    plan_outputs(&c->ctx, below, &there);
    for (ColId id = 1; id < c->ctx.cols.len; id++)
        if (colset_has(&used, id) && colset_has(&there, id)) return true;
    return false;
}
static bool can_join(Cp *c, Expr *e, const Plan *below) {
    if (e->kind != EX_SUBQUERY || e->subquery != SQ_IN || e->all) return false;
    for (int32_t i = 0; i < e->u.sub.n_cols; i++) {
        const Expr *cmp = e->u.sub.compare[i];
        if (cmp->kind != EX_FUNC || cmp->u.func->opcode != OP_EQ || cmp->n_args != 2) return false;
        if (cmp->args[0]->kind != EX_COL || cmp->args[1]->kind != EX_COL || cmp->args[1]->u.col != e->u.sub.cols[i] ||
            !has_scan_column(below, cmp->args[0]->u.col))
            return false;
        Phys ph = type_phys(cmp->args[1]->type);
        if (ph == PH_F32 || ph == PH_F64 || cmp->args[1]->type.id == T_INTERVAL || cmp->args[1]->type.id == T_CHAR ||
            cmp->args[1]->type.id == T_ARRAY)
            return false;
    }
    return !looks_at(c, e, below);
}

/* The query's rows without duplicates, under the same names. */
static Plan *distinct_rows(Cp *c, const Expr *e) {
    int32_t n = e->u.sub.n_cols;
    Plan *p = plan_new(&c->ctx, LP_AGG, 1);
    if (!p || !(p->exprs = arena_array(c->arena, Expr *, n)) || !(p->out_cols = arena_array(c->arena, ColId, n)))
        return c->oom = true, NULL;
    p->children[0] = e->u.sub.plan;
    p->agg.n_keys = p->n_exprs = p->n_out = n;
    for (int32_t i = 0; i < n; i++) {
        ColInfo info = c->ctx.cols.items[e->u.sub.cols[i]];
        p->exprs[i] = expr_col(&c->ctx, e->u.sub.cols[i]);
        p->out_cols[i] = plan_new_col(&c->ctx, info.name, info.type, true);
        if (!p->exprs[i] || !p->out_cols[i]) return c->oom = true, NULL;
    }
    return p;
}
static Status join_one(Cp *c, Plan *filter, int32_t at) {
    Expr *e = filter->conds[at], *cond = NULL;
    Plan *values = distinct_rows(c, e), *join = values ? plan_new(&c->ctx, LP_JOIN, 2) : NULL;
    int32_t n = e->u.sub.n_cols;
    if (!join || !(cond = expr_new(&c->ctx, EX_AND, type_make(T_BOOL), n))) return cp_oom(c);
    join->join.kind = JN_INNER;
    join->children[0] = filter->children[0];
    join->children[1] = values;
    for (int32_t i = 0; i < n; i++) {
        if (!(cond->args[i] = expr_copy(&c->ctx, e->u.sub.compare[i])) ||
            !(cond->args[i]->args[1] = expr_col(&c->ctx, values->out_cols[i])))
            return cp_oom(c);
    }
    filter->children[0] = join;
    filter->conds[at] = cond;
    return ST_OK;
}
static Status join_queries(Cp *c, Plan *p, const Table *changed) {
    TRY(cp_stack(c));
    for (int32_t i = 0; i < p->n_children; i++) TRY(join_queries(c, p->children[i], changed));
    for (int32_t i = 0; p->kind == LP_FILTER && i < p->n_conds; i++) {
        Expr *e = p->conds[i];
        if (e->kind == EX_AND) { /* its parts are conditions of their own */
            Expr **all = arena_array(c->arena, Expr *, p->n_conds + e->n_args);
            if (!all) return cp_oom(c);
            memcpy(all, p->conds, (size_t)p->n_conds * sizeof *all);
            memcpy(all + p->n_conds, e->args + 1, (size_t)(e->n_args - 1) * sizeof *all);
            all[i--] = e->args[0];
            p->conds = all;
            p->n_conds += e->n_args - 1;
            continue;
        }
        if (can_join(c, e, p->children[0]) && (!changed || !cp_reads_table(c, e->u.sub.plan, changed->id)))
            TRY(join_one(c, p, i));
    }
    return ST_OK;
}

Status cp_prepare_plan(Cp *c, Plan **slot, const Table *changed) {
    Plan *p = sql_split_aggregates(&c->ctx, *slot);
    if (!p) return err_is_set(&c->scratch) ? cp_refuse_error(c) : cp_oom(c);
    *slot = p;
    return join_queries(c, p, changed);
}
