/* prune.c - removes unneeded columns, aggregates and joins; merges projections, and LIMIT with SORT. */
#include "sql/optimize/optimize_int.h"

typedef struct CteNeed {
    struct CteNeed *next;
    int64_t id;
    ColSet need;
} CteNeed;
typedef struct Prune {
    Opt *o;
    CteNeed *ctes;
} Prune;

static void need_expr(Opt *o, const Expr *e, ColSet *s) { expr_cols(o->c, e, s); }
static ColSet set_copy(Opt *o, const ColSet *s) {
    ColSet r = colset_new(o->c);
    colset_add_all(o->c, &r, s);
    return r;
}
static int64_t count_col(const Expr *e, ColId id) {
    if (stack_stop()) return 0;
    int64_t n = e->kind == EX_COL && e->u.col == id;
    for (int32_t i = 0; i < e->n_args; i++) n += count_col(e->args[i], id);
    return n;
}
static bool trivial(const Expr *e) {
    return e->kind == EX_COL || e->kind == EX_CONST ||
           (e->kind == EX_CAST && e->args[0]->kind == EX_COL && cast_is_noop(e->args[0]->type, e->type));
}

/* Projection over projection. An inner expression that is used twice stays, so that it is computed once. */
static Plan *merge_projects(Opt *o, Plan *p) {
    Plan *q = p->children[0];
    while (q->kind == LP_PROJECT) {
        for (int32_t i = 0; i < q->n_out; i++) {
            if (trivial(q->exprs[i])) continue;
            int64_t uses = 0;
            for (int32_t k = 0; k < p->n_exprs; k++) uses += count_col(p->exprs[k], q->out_cols[i]);
            if (uses > 1 || expr_is_volatile(q->exprs[i])) return p;
            /* inside CASE or COALESCE it would be evaluated conditionally: harmless */
        }
        for (int32_t k = 0; k < p->n_exprs; k++)
            if (!(p->exprs[k] = opt_subst(o, p->exprs[k], q->n_out, q->out_cols, q->exprs)) ||
                !(p->exprs[k] = opt_fold(o, p->exprs[k])))
                return NULL;
        p->children[0] = q = q->children[0];
    }
    return p;
}
static bool is_identity(Opt *o, const Plan *p) {
    ColSet out = opt_outputs(o, p->children[0]);
    for (int32_t i = 0; i < p->n_out; i++)
        if (p->exprs[i]->kind != EX_COL || p->exprs[i]->u.col != p->out_cols[i] || !colset_has(&out, p->out_cols[i]))
            return false;
    return p->n_out > 0;
}
static Plan *drop_sort(Plan *p) {
    while (p->kind == LP_SORT && p->limit.rows < 0 && p->limit.offset <= 0) p = p->children[0];
    return p;
}
static Plan *prune(Prune *pr, Plan *p, const ColSet *need);

/* Outer joins whose right side adds neither columns nor rows; marks and scalars that are not read. */
static bool removable(Opt *o, const Plan *p, const ColSet *need) {
    const Plan *r = p->children[1];
    if (p->join.kind == JN_MARK) return !colset_has(need, p->join.mark_col);
    if (p->join.kind != JN_LEFT && p->join.kind != JN_SINGLE) return false;
    ColSet ro = opt_outputs(o, r), lo = opt_outputs(o, p->children[0]);
    if (colset_intersects(&ro, need) || opt_plan_volatile(r)) return false;
    if (p->join.kind == JN_SINGLE) return true;
    ColSet keys = colset_new(o->c);
    for (int32_t i = 0; i < p->n_conds; i++) {
        Expr *a, *b;
        bool ns;
        if (opt_equi(o, p->conds[i], &lo, &ro, &a, &b, &ns) && !ns && b->kind == EX_COL)
            colset_add(o->c, &keys, b->u.col);
    }
    return opt_unique(o, r, &keys);
}

typedef struct ColAdd {
    PlanCtx *c;
    ColSet *to;
} ColAdd;
static Status add_cols(void *ctx, Expr **slot) {
    const ColAdd *a = ctx;
    expr_cols(a->c, *slot, a->to);
    return ST_OK;
}

static Plan *prune_agg(Prune *pr, Plan *p, const ColSet *need) {
    Opt *o = pr->o;
    int32_t n = 0;
    bool ordered = false, only_any = true;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (!colset_has(need, p->agg.calls[i].out)) continue;
        p->agg.calls[n++] = p->agg.calls[i];
        ordered |= p->agg.calls[i].kind == AGG_STRING_AGG;
        only_any &=
            (p->agg.calls[i].kind == AGG_ANY || p->agg.calls[i].kind == AGG_MIN || p->agg.calls[i].kind == AGG_MAX) &&
            p->agg.calls[i].arg && type_eq(p->agg.calls[i].arg->type, o->c->cols.items[p->agg.calls[i].out].type);
    }
    p->agg.n_calls = n;
    if (n == 0 && p->agg.n_keys == 0) {
        Plan *v = plan_new(o->c, LP_VALUES, 0);
        if (!v || !(v->values.rows = arena_array(o->a, Expr **, 1)) ||
            !(v->values.rows[0] = arena_array(o->a, Expr *, 1)))
            return NULL;
        v->values.n_rows = 1;
        return v;
    }
    if (!ordered) p->children[0] = drop_sort(p->children[0]);
    if (p->agg.n_keys > 0 && only_any) { /* every group is one row */
        ColSet keys = colset_new(o->c);
        for (int32_t i = 0; i < p->agg.n_keys; i++)
            if (p->exprs[i]->kind == EX_COL && opt_expr_nonnull(o, p->children[0], p->exprs[i]))
                colset_add(o->c, &keys, p->exprs[i]->u.col);
        if (opt_unique(o, p->children[0], &keys)) {
            ColId *ids = arena_array(o->a, ColId, p->agg.n_keys + n + 1);
            Expr **ex = arena_array(o->a, Expr *, p->agg.n_keys + n + 1);
            if (!ids || !ex) return NULL;
            for (int32_t i = 0; i < p->agg.n_keys; i++) {
                ids[i] = p->out_cols[i];
                ex[i] = p->exprs[i];
            }
            for (int32_t i = 0; i < n; i++) {
                ids[p->agg.n_keys + i] = p->agg.calls[i].out;
                ex[p->agg.n_keys + i] = p->agg.calls[i].arg;
            }
            Plan *q = opt_project(o, p->children[0], p->agg.n_keys + n, ids, ex);
            return q ? prune(pr, q, need) : NULL;
        }
    }
    ColSet below = colset_new(o->c);
    for (int32_t i = 0; i < p->agg.n_keys; i++) need_expr(o, p->exprs[i], &below);
    for (int32_t i = 0; i < n; i++) {
        if (p->agg.calls[i].arg) need_expr(o, p->agg.calls[i].arg, &below);
        if (p->agg.calls[i].arg2) need_expr(o, p->agg.calls[i].arg2, &below);
        if (p->agg.calls[i].filter) need_expr(o, p->agg.calls[i].filter, &below);
    }
    return (p->children[0] = prune(pr, p->children[0], &below)) ? p : NULL;
}

/* Calls whose values are not used go, and a window without calls. The order of its input shows where keys are equal. */
static Plan *prune_window(Prune *pr, Plan *p, const ColSet *need) {
    Opt *o = pr->o;
    int32_t n = 0, k = 0;
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        if (colset_has(need, p->agg.calls[i].out)) p->agg.calls[n++] = p->agg.calls[i];
    for (int32_t i = 0; i < p->win.n_calls; i++)
        if (colset_has(need, p->win.calls[i].out)) p->win.calls[k++] = p->win.calls[i];
    p->agg.n_calls = n;
    p->win.n_calls = k;
    if (n + k == 0) return prune(pr, p->children[0], need);
    ColSet below = set_copy(o, need);
    if (plan_each_expr(p, add_cols, &(ColAdd){o->c, &below}) != ST_OK) return NULL;
    return (p->children[0] = prune(pr, p->children[0], &below)) ? p : NULL;
}

static Plan *prune(Prune *pr, Plan *p, const ColSet *need) {
    if (stack_check(pr->o->err) != ST_OK) return NULL;
    Opt *o = pr->o;
    switch ((PlanKind)p->kind) {
    case LP_SCAN: {
        ColSet all = set_copy(o, need);
        for (int32_t i = 0; i < p->n_conds; i++) need_expr(o, p->conds[i], &all);
        int32_t n = 0;
        for (int32_t i = 0; i < p->n_out; i++)
            if (colset_has(&all, p->out_cols[i])) {
                p->out_cols[n] = p->out_cols[i];
                p->scan.cols[n++] = p->scan.cols[i];
            }
        p->n_out = n;
        return p;
    }
    case LP_VALUES: {
        int32_t n = 0;
        for (int32_t i = 0; i < p->n_out; i++) {
            if (!colset_has(need, p->out_cols[i])) continue;
            if (p->values.cells) p->values.cells[n] = p->values.cells[i];
            for (int64_t r = 0; r < p->values.n_rows && !p->values.cells; r++)
                p->values.rows[r][n] = p->values.rows[r][i];
            p->out_cols[n++] = p->out_cols[i];
        }
        p->n_out = n;
        return p;
    }
    case LP_SERIES: return p;
    case LP_STREAM: {
        int32_t n = 0;
        for (int32_t i = 0; i < p->n_out; i++) {
            if (!colset_has(need, p->out_cols[i])) continue;
            p->stream_cols[n] = p->stream_cols[i];
            p->out_cols[n++] = p->out_cols[i];
        }
        p->n_out = n;
        return p;
    }
    case LP_CTE_SCAN: {
        int32_t n = 0;
        for (int32_t i = 0; i < p->n_out; i++)
            if (colset_has(need, p->out_cols[i]) || (n == 0 && i == p->n_out - 1)) {
                p->out_cols[n] = p->out_cols[i];
                p->cte.cols[n++] = p->cte.cols[i];
            }
        p->n_out = n;
        for (CteNeed *c = pr->ctes; c; c = c->next)
            if (c->id == p->cte.id) {
                for (int32_t i = 0; i < n; i++) colset_add(o->c, &c->need, p->cte.cols[i]);
                break;
            }
        return p;
    }
    case LP_CTE: {
        CteNeed c = {pr->ctes, p->cte.id, colset_new(o->c)};
        pr->ctes = &c;
        p->children[1] = prune(pr, p->children[1], need);
        pr->ctes = c.next;
        if (!p->children[1]) return NULL;
        p->children[0] = prune(pr, p->children[0], &c.need);
        return p->children[0] ? p : NULL;
    }
    case LP_FILTER: {
        ColSet all = set_copy(o, need);
        for (int32_t i = 0; i < p->n_conds; i++) need_expr(o, p->conds[i], &all);
        return (p->children[0] = prune(pr, p->children[0], &all)) ? p : NULL;
    }
    case LP_REPEAT: {
        ColSet all = set_copy(o, need);
        colset_add(o->c, &all, p->count_col);
        if (p->n_out && !colset_has(need, p->out_cols[0])) p->n_out = 0;
        return (p->children[0] = prune(pr, p->children[0], &all)) ? p : NULL;
    }
    case LP_LIMIT: return (p->children[0] = prune(pr, p->children[0], need)) ? p : NULL;
    case LP_SORT: {
        ColSet all = set_copy(o, need);
        /* a key that repeats, or a constant one, orders nothing */
        int32_t n = 0;
        for (int32_t i = 0; i < p->sort.n; i++) {
            bool dup = p->sort.keys[i].expr->kind == EX_CONST;
            for (int32_t k = 0; k < n && !dup; k++) dup = expr_equal(p->sort.keys[k].expr, p->sort.keys[i].expr);
            if (!dup) p->sort.keys[n++] = p->sort.keys[i];
        }
        if (n > 0) p->sort.n = n;
        for (int32_t i = 0; i < p->sort.n; i++) need_expr(o, p->sort.keys[i].expr, &all);
        p->children[0] = prune(pr, drop_sort(p->children[0]), &all);
        return p->children[0] ? p : NULL;
    }
    case LP_PROJECT: {
        int32_t n = 0;
        for (int32_t i = 0; i < p->n_out; i++)
            if (colset_has(need, p->out_cols[i])) {
                p->out_cols[n] = p->out_cols[i];
                p->exprs[n++] = p->exprs[i];
            }
        p->n_out = p->n_exprs = n;
        if (!merge_projects(o, p)) return NULL;
        ColSet below = colset_new(o->c);
        for (int32_t i = 0; i < n; i++) need_expr(o, p->exprs[i], &below);
        if (!(p->children[0] = prune(pr, p->children[0], &below))) return NULL;
        if (!merge_projects(o, p)) return NULL;
        return n == 0 || is_identity(o, p) ? p->children[0] : p;
    }
    case LP_JOIN: {
        if (rule_on(o->c, RULE_PROJECTION) && removable(o, p, need)) return prune(pr, p->children[0], need);
        ColSet all = set_copy(o, need);
        for (int32_t i = 0; i < p->n_conds; i++) need_expr(o, p->conds[i], &all);
        for (int k = 0; k < 2; k++)
            if (!(p->children[k] = prune(pr, drop_sort(p->children[k]), &all))) return NULL;
        return p;
    }
    case LP_AGG: return prune_agg(pr, p, need);
    case LP_WINDOW: return prune_window(pr, p, need);
    case LP_SETOP: {
        bool *keep = arena_array(o->a, bool, p->n_out + 1);
        if (!keep) return NULL;
        int32_t kept = 0;
        for (int32_t i = 0; i < p->n_out; i++) kept += keep[i] = colset_has(need, p->out_cols[i]);
        if (kept == 0 && p->n_out > 0) keep[0] = true;
        if (p->set.op != SO_UNION_ALL)
            for (int32_t i = 0; i < p->n_out; i++) keep[i] = true;
        int32_t n = 0;
        for (int32_t i = 0; i < p->n_out; i++) {
            if (!keep[i]) continue;
            p->out_cols[n] = p->out_cols[i];
            for (int32_t k = 0; k < p->n_children; k++) p->set.cols[k][n] = p->set.cols[k][i];
            n++;
        }
        p->n_out = n;
        for (int32_t k = 0; k < p->n_children; k++) {
            ColSet below = colset_new(o->c);
            for (int32_t i = 0; i < n; i++) colset_add(o->c, &below, p->set.cols[k][i]);
            if (!(p->children[k] = prune(pr, p->children[k], &below))) return NULL;
        }
        return p;
    }
    }
    return NULL;
}
Plan *opt_prune(Opt *o, Plan *p, const ColSet *need) {
    if (!rule_on(o->c, RULE_PROJECTION)) return p;
    Prune pr = {.o = o};
    return prune(&pr, p, need);
}

/* LIMIT goes below projections and into SORT. */
Plan *opt_limits(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    if (p->kind == LP_LIMIT) {
        Plan *c = p->children[0];
        if (p->limit.rows < 0 && p->limit.offset <= 0) return opt_limits(o, c);
        if (rule_on(o->c, RULE_TOP_N)) {
            if (c->kind == LP_PROJECT) {
                bool vol = false;
                for (int32_t i = 0; i < c->n_exprs; i++) vol |= expr_is_volatile(c->exprs[i]);
                if (!vol) {
                    p->children[0] = c->children[0];
                    c->children[0] = opt_limits(o, p);
                    return c->children[0] ? c : NULL;
                }
            }
            if (c->kind == LP_SORT && c->limit.rows < 0 && c->limit.offset <= 0) {
                c->limit.rows = p->limit.rows;
                c->limit.offset = p->limit.offset > 0 ? p->limit.offset : 0;
                return opt_limits(o, c);
            }
            if (c->kind == LP_CTE) {
                p->children[0] = c->children[1];
                if (!(c->children[1] = p)) return NULL;
                return opt_limits(o, c);
            }
        }
    }
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = opt_limits(o, p->children[i]))) return NULL;
    return p;
}
