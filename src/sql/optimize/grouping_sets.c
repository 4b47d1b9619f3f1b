/* grouping_sets.c - grouping sets from the groups by all keys.
 *
 * An aggregation by grouping sets repeats each row once per set (sql/bind/bind_groups.c). Where the rows form far
 * fewer groups by all keys, and the aggregates can be computed of their own partial results, the rows are grouped by
 * all keys first, and the groups are what is repeated:
 *
 *   AGG f(k), number: a(x)  >  REPEAT n  >  rows
 *   AGG f(k), number: a'(p)  >  REPEAT n  >  PROJECT k, p, n  >  AGG k: p := a(x)  >  rows
 *
 * FILTERs between AGG and REPEAT (of HAVING, pushed down) stay where they are: they test keys alone. */
#include "sql/optimize/optimize_int.h"

typedef struct Sets {
    Plan *agg, *filter, *repeat; /* filter: or NULL */
    IdVec keys;                  /* the rows' columns that the keys are made of */
} Sets;

/* Whether all of it has the form. */
static bool find_sets(Opt *o, Plan *p, Sets *s) {
    *s = (Sets){.agg = p};
    if (p->kind != LP_AGG || p->agg.n_keys == 0) return false;
    Plan *c = p->children[0];
    if (c->kind == LP_FILTER) {
        s->filter = c;
        c = c->children[0];
    }
    if (c->kind != LP_REPEAT || c->repeats < 2 || c->n_out != 1) return false;
    s->repeat = c;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        const AggCall *g = &p->agg.calls[i];
        if (g->distinct || g->filter || g->arg2 || !opt_can_reaggregate(g->kind)) return false;
        if (g->arg && (expr_is_volatile(g->arg) || opt_uses_col(o, g->arg, c->out_cols[0]))) return false;
    }
    ColSet used = colset_new(o->c), rows = opt_outputs(o, c->children[0]);
    for (int32_t i = 0; i < p->agg.n_keys; i++) {
        if (expr_is_volatile(p->exprs[i])) return false;
        expr_cols(o->c, p->exprs[i], &used);
    }
    for (int32_t i = 0; s->filter && i < s->filter->n_conds; i++) {
        if (expr_is_volatile(s->filter->conds[i])) return false;
        expr_cols(o->c, s->filter->conds[i], &used);
    }
    for (ColId id = 1; id < o->c->cols.len; id++) {
        if (!colset_has(&used, id) || id == c->out_cols[0]) continue;
        if (!colset_has(&rows, id) || !vec_push(o->a, &s->keys, id)) return false;
    }
    return s->keys.len > 0;
}

/* The groups by all keys. keys and parts: the columns of the keys and of the partial results. */
static Plan *all_groups(Opt *o, const Sets *s, ColId *keys, AggCall *parts) {
    Expr **exprs = arena_array(o->a, Expr *, s->keys.len + 1);
    if (!exprs) return NULL;
    for (int64_t i = 0; i < s->keys.len; i++) {
        keys[i] = opt_new_like(o, s->keys.items[i]);
        if (keys[i] <= 0 || !(exprs[i] = opt_col(o, s->keys.items[i]))) return NULL;
    }
    for (int32_t i = 0; i < s->agg->agg.n_calls; i++) {
        parts[i] = s->agg->agg.calls[i];
        if ((parts[i].out = opt_new_like(o, parts[i].out)) <= 0) return NULL;
        if (parts[i].arg && !(parts[i].arg = expr_copy(o->c, parts[i].arg))) return NULL;
    }
    return opt_agg(o, s->repeat->children[0], s->keys.len, keys, exprs, s->agg->agg.n_calls, parts);
}

/* Grouping first must leave so much less to repeat that it is worth a second aggregation. */
static bool is_worth_it(const Plan *groups, int64_t n_sets) {
    double rows = groups->children[0]->est_rows, n = (double)n_sets;
    return rows > 0 && rows + n * groups->est_rows * 1.5 < n * rows;
}

/* The aggregation above the groups instead of the rows. */
static Plan *aggregate_groups(Opt *o, const Sets *s, Plan *groups, const ColId *keys, const AggCall *parts) {
    Plan *agg = s->agg;
    int64_t n = s->keys.len + agg->agg.n_calls, nk = agg->agg.n_keys;
    ColId *ids = arena_array(o->a, ColId, n + 2), *outs = arena_array(o->a, ColId, nk + n + 1);
    Expr **exprs = arena_array(o->a, Expr *, n + 2), **top = arena_array(o->a, Expr *, nk + n + 1);
    ColMap *map = arena_array(o->a, ColMap, s->keys.len + 1);
    if (!ids || !outs || !exprs || !top || !map) return NULL;
    for (int64_t i = 0; i < s->keys.len; i++) {
        ids[i] = keys[i];
        map[i] = (ColMap){s->keys.items[i], keys[i]};
    }
    for (int32_t i = 0; i < agg->agg.n_calls; i++) ids[s->keys.len + i] = parts[i].out;
    for (int64_t i = 0; i < n; i++)
        if (!(exprs[i] = opt_col(o, ids[i]))) return NULL;
    ids[n] = opt_new_like(o, s->repeat->count_col);
    if (ids[n] <= 0 || !(exprs[n] = opt_int8(o, s->repeat->repeats))) return NULL;
    if (!(s->repeat->children[0] = opt_project(o, groups, n + 1, ids, exprs))) return NULL;
    s->repeat->count_col = ids[n];
    for (int32_t i = 0; s->filter && i < s->filter->n_conds; i++) expr_remap(s->filter->conds[i], s->keys.len, map);
    for (int64_t i = 0; i < nk; i++) {
        expr_remap(agg->exprs[i], s->keys.len, map);
        outs[i] = agg->out_cols[i];
        if (!(top[i] = opt_col(o, outs[i]))) return NULL;
    }
    bool project = false;
    for (int32_t i = 0; i < agg->agg.n_calls; i++) {
        AggCall g = agg->agg.calls[i];
        outs[nk + i] = g.out;
        if (opt_reaggregate(o, &g, parts[i].out, &agg->agg.calls[i], &top[nk + i]) != ST_OK) return NULL;
        project |= agg->agg.calls[i].out != g.out;
    }
    return project ? opt_project(o, agg, nk + agg->agg.n_calls, outs, top) : agg;
}

Plan *opt_grouping_sets(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = opt_grouping_sets(o, p->children[i]))) return NULL;
    Sets s;
    if (!find_sets(o, p, &s)) return p;
    ColId *keys = arena_array(o->a, ColId, s.keys.len + 1);
    AggCall *parts = arena_array(o->a, AggCall, p->agg.n_calls + 1);
    Plan *groups = keys && parts ? all_groups(o, &s, keys, parts) : NULL;
    if (!groups || opt_estimate(o, groups) != ST_OK) return NULL;
    return is_worth_it(groups, s.repeat->repeats) ? aggregate_groups(o, &s, groups, keys, parts) : p;
}
