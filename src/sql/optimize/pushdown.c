/* pushdown.c - predicates sink as low as they may, and make joins better on the way.
 *
 * One top-down walk carries a list of conjuncts. Inner joins are flattened into a region of leaves and a pool of
 * conjuncts, where equalities carry predicates from one leaf to another, ORs over several leaves leave an implied OR on
 * each, and outer joins below predicates that reject NULLs become inner ones.
 *
 * What never moves: volatile predicates; predicates that may fail for other reasons than overflow do not go below joins
 * (the join may be what guards them). At one place, lower predicates come before upper ones and those that
 * can fail come last. */
#include "sql/optimize/optimize_int.h"

static Plan *push(Opt *o, Plan *p, ExprVec *preds);
static Plan *push_none(Opt *o, Plan *p) {
    ExprVec none = {0};
    return push(o, p, &none);
}
static bool join_movable(const Expr *e) { return !expr_is_volatile(e) && !opt_is_domain_fallible(e); }
static bool any_false(const ExprVec *v) { return v->len == 1 && opt_const_false(v->items[0]); }

/* Those that may fail go behind the others: the others may guard them. */
static Plan *filter_ordered(Opt *o, Plan *child, const ExprVec *preds) {
    ExprVec v = {0};
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < preds->len; i++)
            if ((expr_is_volatile(preds->items[i]) || opt_is_domain_fallible(preds->items[i])) == (pass == 1))
                if (opt_push(o, &v, preds->items[i]) != ST_OK) return NULL;
    return opt_filter(o, child, &v);
}

/* ---- outer joins ------------------------------------------------------------------------------ */
static void swap_children(Plan *p) {
    Plan *x = p->children[0];
    p->children[0] = p->children[1];
    p->children[1] = x;
}
/* Applies the NULL-rejecting predicates to an outer join's kind. */
static void simplify_outer(Opt *o, Plan *p, const ExprVec *preds) {
    if (p->kind != LP_JOIN) return;
    if (p->join.kind == JN_RIGHT) {
        swap_children(p);
        p->join.kind = JN_LEFT;
    }
    if (!rule_on(o->c, RULE_OUTER_JOIN) || (p->join.kind != JN_LEFT && p->join.kind != JN_FULL)) return;
    ColSet l = opt_outputs(o, p->children[0]), r = opt_outputs(o, p->children[1]);
    bool rl = false, rr = false;
    for (int64_t i = 0; i < preds->len; i++) {
        if (expr_is_volatile(preds->items[i])) continue;
        rl |= opt_rejects_null(preds->items[i], &l);
        rr |= opt_rejects_null(preds->items[i], &r);
    }
    if (p->join.kind == JN_LEFT) {
        if (rr) p->join.kind = JN_INNER;
        return;
    }
    if (rl && rr) p->join.kind = JN_INNER;
    else if (rl) p->join.kind = JN_LEFT;
    else if (rr) {
        swap_children(p);
        p->join.kind = JN_LEFT;
    }
}

/* ---- equivalences --------------------------------------------------------------------------------- */
/* The single column a predicate is about, 0 if there are none or several. */
static bool one_col(const Expr *e, ColId *id) {
    if (stack_stop()) return false;
    if (e->kind == EX_SUBQUERY) return false;
    if (e->kind == EX_COL) {
        if (*id && *id != e->u.col) return false;
        *id = e->u.col;
        return true;
    }
    for (int32_t i = 0; i < e->n_args; i++)
        if (!one_col(e->args[i], id)) return false;
    return true;
}
static bool col_eq(const Expr *e, ColId *a, ColId *b) {
    if (!opt_is_op(e, "=") || e->args[0]->kind != EX_COL || e->args[1]->kind != EX_COL) return false;
    if (!type_eq(e->args[0]->type, e->args[1]->type)) return false;
    *a = e->args[0]->u.col;
    *b = e->args[1]->u.col;
    return *a != *b;
}
/* A predicate that compares: it is true of a value where it is of an equal one, though equal values may differ in other
 * ways. */
static bool only_compares(const Expr *e) {
    if (stack_stop()) return false;
    switch ((ExprKind)e->kind) {
    case EX_FUNC:
        if (!(e->u.func->flags & FN_OPERATOR) || e->n_args != 2 || e->type.id != T_BOOL) return false;
        break;
    case EX_IN:
    case EX_IS_NULL:
    case EX_IS_NOT_NULL: break;
    case EX_AND:
    case EX_OR:
    case EX_NOT:
        for (int32_t i = 0; i < e->n_args; i++)
            if (!only_compares(e->args[i])) return false;
        return true;
    default: return false;
    }
    for (int32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->kind != EX_COL && e->args[i]->kind != EX_CONST) return false;
    return true;
}
/* Copies of `pred` for the columns that `eqs` make equal to its column. */
static Status spread(Opt *o, const ExprVec *eqs, const Expr *pred, ExprVec *out) {
    ColId id = 0;
    if (!one_col(pred, &id) || !id || !join_movable(pred) || expr_can_fail(pred)) return ST_OK;
    if (!opt_equal_is_same(o->c->cols.items[id].type) && !only_compares(pred)) return ST_OK;
    ColSet seen = colset_new(o->c);
    IdVec reached = {0};
    colset_add(o->c, &seen, id);
    if (!vec_push(o->a, &reached, id)) return ST_ERROR;
    for (int64_t i = 0; i < reached.len; i++)
        for (int64_t k = 0; k < eqs->len; k++) {
            ColId a, b;
            if (!col_eq(eqs->items[k], &a, &b)) continue;
            ColId other = a == reached.items[i] ? b : b == reached.items[i] ? a : 0;
            if (!other || colset_has(&seen, other)) continue;
            colset_add(o->c, &seen, other);
            if (!vec_push(o->a, &reached, other)) return ST_ERROR;
            Expr *c = expr_copy(o->c, pred);
            if (!c) return ST_ERROR;
            ColMap m = {id, other};
            expr_remap(c, 1, &m);
            TRY(opt_push(o, out, c));
        }
    return ST_OK;
}
static bool fixes_value(const Expr *e) {
    return opt_is_op(e, "=") && e->args[0]->kind == EX_COL && opt_is_const(e->args[1]);
}

/* ---- inner joins --------------------------------------------------------------------------------------- */
typedef struct Region {
    PlanVec leaves;
    ExprVec pool;
} Region;
static Status collect(Opt *o, Plan *p, Region *g) {
    TRY(stack_check(o->err));
    if (p->kind == LP_JOIN && p->join.kind == JN_INNER) {
        TRY(collect(o, p->children[0], g));
        TRY(collect(o, p->children[1], g));
        for (int32_t i = 0; i < p->n_conds; i++) TRY(opt_push(o, &g->pool, p->conds[i]));
        return ST_OK;
    }
    if (p->kind == LP_FILTER && p->children[0]->kind == LP_JOIN) {
        bool all = true;
        for (int32_t i = 0; i < p->n_conds; i++) all &= join_movable(p->conds[i]);
        ExprVec conds = {.items = p->conds, .len = p->n_conds};
        if (all) simplify_outer(o, p->children[0], &conds);
        if (all && p->children[0]->join.kind == JN_INNER) {
            TRY(collect(o, p->children[0], g));
            for (int32_t i = 0; i < p->n_conds; i++) TRY(opt_push(o, &g->pool, p->conds[i]));
            return ST_OK;
        }
    }
    return vec_push(o->a, &g->leaves, p) ? ST_OK : ST_ERROR;
}
static int64_t leaves_used(Opt *o, const Expr *e, int64_t n, const ColSet *outs, int64_t *first) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        if (opt_uses(o, e, &outs[i])) {
            if (k++ == 0) *first = i;
        }
    return k;
}
static Plan *push_region(Opt *o, Plan *p, ExprVec *preds) {
    Region g = {0};
    ExprVec top = {0};
    if (collect(o, p, &g) != ST_OK) return NULL;
    for (int64_t i = 0; i < preds->len; i++)
        if (opt_push(o, expr_is_volatile(preds->items[i]) ? &top : &g.pool, preds->items[i]) != ST_OK) return NULL;
    /* outer joins among the leaves that the pool turns into inner ones join the region */
    for (bool again = true; again;) {
        again = false;
        for (int64_t i = 0; i < g.leaves.len; i++) {
            Plan *l = g.leaves.items[i];
            simplify_outer(o, l, &g.pool);
            if (l->kind != LP_JOIN || l->join.kind != JN_INNER) continue;
            Region sub = {.pool = g.pool};
            if (collect(o, l, &sub) != ST_OK) return NULL;
            g.pool = sub.pool;
            g.leaves.items[i] = sub.leaves.items[0];
            for (int64_t k = 1; k < sub.leaves.len; k++)
                if (!vec_push(o->a, &g.leaves, sub.leaves.items[k])) return NULL;
            again = true;
        }
    }
    if (opt_fold_conds(o, &g.pool) != ST_OK) return NULL;
    if (any_false(&g.pool)) return opt_empty(o, p);
    int64_t n = g.leaves.len;
    ColSet *outs = arena_array(o->a, ColSet, n + 1);
    ExprVec *mine = arena_array(o->a, ExprVec, n + 1);
    if (!outs || !mine) return NULL;
    for (int64_t i = 0; i < n; i++) outs[i] = opt_outputs(o, g.leaves.items[i]);

    /* 1. equalities carry single-column predicates over, also those already inside a leaf */
    ExprVec derived = {0};
    for (int64_t i = 0; i < g.pool.len; i++)
        if (spread(o, &g.pool, g.pool.items[i], &derived) != ST_OK) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const Plan *l = g.leaves.items[i];
        while (l->kind == LP_FILTER) {
            for (int32_t k = 0; k < l->n_conds; k++)
                if (spread(o, &g.pool, l->conds[k], &derived) != ST_OK) return NULL;
            l = l->children[0];
        }
        if (l->kind == LP_SCAN)
            for (int32_t k = 0; k < l->n_conds; k++)
                if (spread(o, &g.pool, l->conds[k], &derived) != ST_OK) return NULL;
    }
    for (int64_t i = 0; i < derived.len; i++)
        if (opt_push(o, &g.pool, derived.items[i]) != ST_OK) return NULL;
    if (opt_fold_conds(o, &g.pool) != ST_OK) return NULL;
    if (any_false(&g.pool)) return opt_empty(o, p);
    /* an equality both of whose sides are now constants says nothing more */
    ExprVec pool = {0};
    ColSet fixed = colset_new(o->c);
    for (int64_t i = 0; i < g.pool.len; i++)
        if (fixes_value(g.pool.items[i])) colset_add(o->c, &fixed, g.pool.items[i]->args[0]->u.col);
    for (int64_t i = 0; i < g.pool.len; i++) {
        ColId a, b;
        bool says_nothing = col_eq(g.pool.items[i], &a, &b) && colset_has(&fixed, a) && colset_has(&fixed, b);
        if (!says_nothing && opt_push(o, &pool, g.pool.items[i]) != ST_OK) return NULL;
    }
    /* 2. implied ORs, 3. everything to its leaf */
    ExprVec multi = {0};
    for (int64_t i = 0; i < pool.len; i++) {
        Expr *e = pool.items[i];
        int64_t first = -1, used = leaves_used(o, e, n, outs, &first);
        if (used == 1 && !opt_is_domain_fallible(e)) {
            if (opt_push(o, &mine[first], e) != ST_OK) return NULL;
            continue;
        }
        if (used <= 1 && n > 1) {
            if (opt_push(o, &top, e) != ST_OK) return NULL;
            continue;
        }
        if (opt_push(o, &multi, e) != ST_OK) return NULL;
        for (int64_t k = 0; k < n; k++) {
            Expr *d = NULL;
            if (opt_derive_or(o, e, &outs[k], &d) != ST_OK) return NULL;
            if (d && opt_push(o, &mine[k], d) != ST_OK) return NULL;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(g.leaves.items[i] = push(o, g.leaves.items[i], &mine[i]))) return NULL;
        if (opt_is_empty(g.leaves.items[i])) return opt_empty(o, p);
    }
    /* 4. a left-deep tree in the written order, leaves that share a condition first */
    bool *done = arena_array(o->a, bool, n + 1), *placed = arena_array(o->a, bool, multi.len + 1);
    if (!done || !placed) return NULL;
    Plan *cur = g.leaves.items[0];
    ColSet have = outs[0];
    done[0] = true;
    for (int64_t step = 1; step < n; step++) {
        int64_t next = -1;
        for (int64_t i = 1; i < n && next < 0; i++) {
            for (int64_t k = 0; k < multi.len && next < 0 && !done[i]; k++)
                if (!placed[k] && opt_uses(o, multi.items[k], &outs[i]) &&
                    opt_within_both(o, multi.items[k], &have, &outs[i]))
                    next = i;
        }
        for (int64_t i = 1; i < n && next < 0; i++)
            if (!done[i]) next = i;
        done[next] = true;
        colset_add_all(o->c, &have, &outs[next]);
        ExprVec conds = {0};
        for (int64_t k = 0; k < multi.len; k++)
            if (!placed[k] && opt_within(o, multi.items[k], &have)) {
                placed[k] = true;
                if (opt_push(o, &conds, multi.items[k]) != ST_OK) return NULL;
            }
        if (!(cur = opt_join(o, JN_INNER, cur, g.leaves.items[next], &conds))) return NULL;
    }
    for (int64_t k = 0; k < multi.len; k++)
        if (!placed[k] && opt_push(o, &top, multi.items[k]) != ST_OK) return NULL;
    return filter_ordered(o, cur, &top);
}

/* ---- other joins ------------------------------------------------------------------------------------------- */
static Plan *push_join(Opt *o, Plan *p, ExprVec *preds) {
    simplify_outer(o, p, preds);
    if (p->join.kind == JN_INNER) return push_region(o, p, preds);
    Plan *l = p->children[0], *r = p->children[1];
    ColSet lo = opt_outputs(o, l), ro = opt_outputs(o, r);
    ExprVec above = {0}, left = {0}, right = {0}, on = {0}, conds = {.items = p->conds, .len = p->n_conds};
    bool exists_mark = p->join.kind == JN_MARK && p->join.mark_exists;
    if (p->join.kind != JN_MARK || exists_mark) {
        ExprVec work = {0};
        for (int64_t i = 0; i < conds.len; i++)
            if (opt_push(o, &work, conds.items[i]) != ST_OK) return NULL;
        if (opt_fold_conds(o, &work) != ST_OK) return NULL;
        conds = work;
    }
    if (any_false(&conds) && p->join.kind == JN_SEMI) return opt_empty(o, p);
    if (any_false(&conds) && p->join.kind == JN_ANTI) return push(o, l, preds);
    for (int64_t i = 0; i < preds->len; i++) {
        Expr *e = preds->items[i];
        bool to_left = p->join.kind != JN_FULL && join_movable(e) && opt_within(o, e, &lo) && opt_uses(o, e, &lo);
        if (opt_push(o, to_left ? &left : &above, e) != ST_OK) return NULL;
    }
    for (int64_t i = 0; i < conds.len; i++) {
        Expr *e = conds.items[i];
        bool ul = opt_uses(o, e, &lo), ur = opt_uses(o, e, &ro);
        ExprVec *to = &on;
        if (join_movable(e) && ul != ur && p->join.kind != JN_FULL && (p->join.kind != JN_MARK || exists_mark)) {
            if (ur) to = &right;
            else if (p->join.kind == JN_SEMI) to = &left;
        }
        if (opt_const_false(e) && p->join.kind == JN_LEFT) to = &right; /* it matches no row */
        if (opt_push(o, to, e) != ST_OK) return NULL;
    }
    if (p->join.kind != JN_FULL && (p->join.kind != JN_MARK || exists_mark)) {
        ExprVec extra = {0};
        for (int64_t i = 0; i < left.len; i++)
            if (spread(o, &on, left.items[i], &extra) != ST_OK) return NULL;
        for (const Plan *q = l; q->kind == LP_FILTER || q->kind == LP_SCAN; q = q->children[0]) {
            for (int32_t k = 0; k < q->n_conds; k++)
                if (spread(o, &on, q->conds[k], &extra) != ST_OK) return NULL;
            if (q->kind == LP_SCAN) break;
        }
        for (int64_t i = 0; i < extra.len; i++)
            if (opt_within(o, extra.items[i], &ro) && opt_push(o, &right, extra.items[i]) != ST_OK) return NULL;
        if (p->join.kind == JN_SEMI) {
            extra.len = 0;
            for (int64_t i = 0; i < right.len; i++)
                if (spread(o, &on, right.items[i], &extra) != ST_OK) return NULL;
            for (int64_t i = 0; i < extra.len; i++)
                if (opt_within(o, extra.items[i], &lo) && opt_push(o, &left, extra.items[i]) != ST_OK) return NULL;
        }
    }
    p->conds = on.items;
    p->n_conds = (int32_t)on.len;
    if (!(p->children[0] = push(o, l, &left)) || !(p->children[1] = push(o, r, &right))) return NULL;
    bool el = opt_is_empty(p->children[0]), er = opt_is_empty(p->children[1]);
    if (el && p->join.kind != JN_FULL) return opt_empty(o, p);
    if (er && p->join.kind == JN_SEMI) return opt_empty(o, p);
    if (er && p->join.kind == JN_ANTI) return filter_ordered(o, p->children[0], &above);
    return filter_ordered(o, p, &above);
}

/* Below the projection the predicate would be nested more than PUSH_DEPTH levels deep, because of what is computed
 * there. Where subqueries that compute and filter are nested by the hundred, all predicates with all that they need, at
 * every level, would be cubic; and the value is there anyway. */
enum { PUSH_DEPTH = 64 };
static bool grows_too_deep(const Plan *p, const Expr *e, int depth) {
    if (stack_stop()) return true;
    if (e->kind == EX_COL && depth > PUSH_DEPTH)
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == e->u.col) return p->exprs[i]->n_args > 0;
    for (int32_t i = 0; i < e->n_args; i++)
        if (grows_too_deep(p, e->args[i], depth + 1)) return true;
    return false;
}

static Plan *push_filter(Opt *o, Plan *p, ExprVec *preds) {
    if (!rule_on(o->c, RULE_PUSHDOWN)) {
        p->children[0] = push_none(o, p->children[0]);
        return p->children[0] ? p : NULL;
    }
    ExprVec all = {0};
    for (int32_t i = 0; i < p->n_conds; i++)
        if (opt_split(o, p->conds[i], &all) != ST_OK) return NULL;
    for (int64_t i = 0; i < preds->len; i++)
        if (opt_push(o, &all, preds->items[i]) != ST_OK) return NULL;
    return push(o, p->children[0], &all);
}
/* Conditions that may fail stand behind the others. */
static Plan *push_scan(Opt *o, Plan *p, ExprVec *preds) {
    ExprVec all = {0};
    for (int32_t i = 0; i < p->n_conds; i++)
        if (opt_push(o, &all, p->conds[i]) != ST_OK) return NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < preds->len; i++)
            if ((expr_is_volatile(preds->items[i]) || opt_is_domain_fallible(preds->items[i])) == (pass == 1) &&
                opt_push(o, &all, preds->items[i]) != ST_OK)
                return NULL;
    if (opt_fold_conds(o, &all) != ST_OK) return NULL;
    if (any_false(&all)) return opt_empty(o, p);
    p->conds = all.items;
    p->n_conds = (int32_t)all.len;
    return p;
}
static Plan *push_project(Opt *o, Plan *p, ExprVec *preds) {
    ExprVec stay = {0}, go = {0};
    for (int64_t i = 0; i < preds->len; i++) {
        Expr *e = preds->items[i];
        bool ok = !expr_is_volatile(e);
        for (int32_t k = 0; k < p->n_out && ok; k++)
            if (expr_is_volatile(p->exprs[k]) && opt_uses_col(o, e, p->out_cols[k])) ok = false;
        ok = ok && !grows_too_deep(p, e, 0);
        if (ok && !(e = opt_subst(o, e, p->n_out, p->out_cols, p->exprs))) return NULL;
        if (opt_push(o, ok ? &go : &stay, e) != ST_OK) return NULL;
    }
    if (!(p->children[0] = push(o, p->children[0], &go))) return NULL;
    if (opt_is_empty(p->children[0])) return opt_empty(o, p);
    return filter_ordered(o, p, &stay);
}
/* Conditions on group keys alone are tested below the aggregation. */
static Plan *push_agg(Opt *o, Plan *p, ExprVec *preds) {
    ExprVec stay = {0}, go = {0};
    ColSet keys = colset_new(o->c);
    for (int32_t i = 0; i < p->agg.n_keys; i++)
        if (!expr_is_volatile(p->exprs[i])) colset_add(o->c, &keys, p->out_cols[i]);
    for (int64_t i = 0; i < preds->len; i++) {
        Expr *e = preds->items[i];
        bool ok = p->agg.n_keys > 0 && !expr_is_volatile(e) && opt_within(o, e, &keys);
        if (ok && !(e = opt_subst(o, e, p->agg.n_keys, p->out_cols, p->exprs))) return NULL;
        if (opt_push(o, ok ? &go : &stay, e) != ST_OK) return NULL;
    }
    if (!(p->children[0] = push(o, p->children[0], &go))) return NULL;
    if (p->agg.n_keys > 0 && opt_is_empty(p->children[0])) return opt_empty(o, p);
    return filter_ordered(o, p, &stay);
}
/* Conditions on partition keys alone take whole partitions: they are tested below the window. */
static Plan *push_window(Opt *o, Plan *p, ExprVec *preds) {
    ExprVec stay = {0}, go = {0};
    ColSet keys = colset_new(o->c);
    for (int32_t i = 0; i < p->n_exprs; i++) expr_cols(o->c, p->exprs[i], &keys);
    for (int64_t i = 0; i < preds->len; i++) {
        Expr *e = preds->items[i];
        bool ok = p->n_exprs > 0 && !expr_is_volatile(e) && opt_within(o, e, &keys);
        if (opt_push(o, ok ? &go : &stay, e) != ST_OK) return NULL;
    }
    if (!(p->children[0] = push(o, p->children[0], &go))) return NULL;
    if (opt_is_empty(p->children[0])) return opt_empty(o, p);
    return filter_ordered(o, p, &stay);
}
static Plan *push_sort(Opt *o, Plan *p, ExprVec *preds) {
    ExprVec stay = {0}, go = {0};
    bool through = p->limit.rows < 0 && p->limit.offset <= 0;
    for (int64_t i = 0; i < preds->len; i++)
        if (opt_push(o, through && !expr_is_volatile(preds->items[i]) ? &go : &stay, preds->items[i]) != ST_OK)
            return NULL;
    if (!(p->children[0] = push(o, p->children[0], &go))) return NULL;
    return filter_ordered(o, p, &stay);
}
static Plan *push_repeat(Opt *o, Plan *p, ExprVec *preds) {
    ExprVec stay = {0}, go = {0};
    for (int64_t i = 0; i < preds->len; i++) {
        bool ok = !expr_is_volatile(preds->items[i]) && !opt_uses_col(o, preds->items[i], p->count_col) &&
                  !(p->n_out && opt_uses_col(o, preds->items[i], p->out_cols[0]));
        if (opt_push(o, ok ? &go : &stay, preds->items[i]) != ST_OK) return NULL;
    }
    if (!(p->children[0] = push(o, p->children[0], &go))) return NULL;
    return filter_ordered(o, p, &stay);
}
/* Every input tests the conditions; inputs without rows are taken out of UNION ALL. */
static Plan *push_setop(Opt *o, Plan *p, ExprVec *preds) {
    if (p->cte.id) { /* rows that are not wanted outside may lead to others that are */
        for (int32_t k = 0; k < p->n_children; k++)
            if (!(p->children[k] = push_none(o, p->children[k]))) return NULL;
        return filter_ordered(o, p, preds);
    }
    ExprVec stay = {0}, go = {0};
    for (int64_t i = 0; i < preds->len; i++)
        if (opt_push(o, expr_is_volatile(preds->items[i]) ? &stay : &go, preds->items[i]) != ST_OK) return NULL;
    ColMap *map = arena_array(o->a, ColMap, p->n_out + 1);
    if (!map) return NULL;
    int32_t kept = 0;
    for (int32_t k = 0; k < p->n_children; k++) {
        for (int32_t i = 0; i < p->n_out; i++) map[i] = (ColMap){p->out_cols[i], p->set.cols[k][i]};
        ExprVec mine = {0};
        for (int64_t i = 0; i < go.len; i++) {
            Expr *e = expr_copy(o->c, go.items[i]);
            if (!e) return NULL;
            expr_remap(e, p->n_out, map);
            if (opt_push(o, &mine, e) != ST_OK) return NULL;
        }
        Plan *c = push(o, p->children[k], &mine);
        if (!c) return NULL;
        if (opt_is_empty(c) && p->set.op == SO_UNION_ALL) continue;
        p->children[kept] = c;
        p->set.cols[kept++] = p->set.cols[k];
    }
    if (kept == 0) return opt_empty(o, p);
    p->n_children = kept;
    if (kept == 1) { /* a projection is enough */
        Expr **ex = arena_array(o->a, Expr *, p->n_out + 1);
        if (!ex) return NULL;
        for (int32_t i = 0; i < p->n_out; i++) ex[i] = opt_col(o, p->set.cols[0][i]);
        p = opt_project(o, p->children[0], p->n_out, p->out_cols, ex);
    }
    return filter_ordered(o, p, &stay);
}
/* Conditions `preds` go down into p as far as they can; what cannot is tested by filters between its operators. */
static Plan *push(Opt *o, Plan *p, ExprVec *preds) {
    if (stack_check(o->err) != ST_OK) return NULL;
    if (opt_fold_conds(o, preds) != ST_OK) return NULL;
    if (any_false(preds)) return opt_empty(o, p);
    if (!rule_on(o->c, RULE_PUSHDOWN) && preds->len > 0) {
        if (!(p = push_none(o, p))) return NULL;
        return filter_ordered(o, p, preds);
    }
    switch ((PlanKind)p->kind) {
    case LP_FILTER: return push_filter(o, p, preds);
    case LP_SCAN: return push_scan(o, p, preds);
    case LP_PROJECT: return push_project(o, p, preds);
    case LP_AGG: return push_agg(o, p, preds);
    case LP_WINDOW: return push_window(o, p, preds);
    case LP_SORT: return push_sort(o, p, preds);
    case LP_REPEAT: return push_repeat(o, p, preds);
    case LP_SETOP: return push_setop(o, p, preds);
    case LP_LIMIT:
        if (p->limit.rows == 0) return opt_empty(o, p);
        if (!(p->children[0] = push_none(o, p->children[0]))) return NULL;
        return filter_ordered(o, p, preds);
    case LP_CTE:
        if (!(p->children[0] = push_none(o, p->children[0])) || !(p->children[1] = push(o, p->children[1], preds)))
            return NULL;
        return p;
    case LP_JOIN: return push_join(o, p, preds);
    case LP_VALUES:
    case LP_SERIES:
    case LP_STREAM:
    case LP_CTE_SCAN: return opt_is_empty(p) ? p : filter_ordered(o, p, preds);
    }
    return NULL;
}
Plan *opt_pushdown(Opt *o, Plan *p) { return push_none(o, p); }
