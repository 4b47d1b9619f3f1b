/* window_order.c - sorts of rows that a window has sorted already.
 *
 * A window's rows come in the order of its sort (sql/plan/plan_window.c), and filters and projections keep it. A sort
 * by a prefix of those keys is left out; one with a limit becomes the limit. */
#include "sql/optimize/optimize_int.h"

/* The column below the projection, 0 when it is computed there. */
static ColId below(const Plan *project, ColId id) {
    for (int32_t i = 0; i < project->n_out; i++)
        if (project->out_cols[i] == id) return project->exprs[i]->kind == EX_COL ? project->exprs[i]->u.col : 0;
    return 0;
}

static bool ordered_by(const Plan *window, int32_t n, const SortKey *keys, const ColId *ids) {
    int32_t shared, k = 0;
    const Plan *sort = plan_window_sort(window, &shared);
    for (int32_t i = 0; i < plan_window_keys(sort) && k < n; i++) {
        SortKey have = plan_window_key(sort, i);
        bool twice = false; /* orders nothing */
        for (int32_t j = 0; j < i; j++) twice |= plan_window_key(sort, j).expr->u.col == have.expr->u.col;
        if (twice) continue;
        if (have.expr->u.col != ids[k] || have.desc != keys[k].desc || have.nulls_first != keys[k].nulls_first)
            return false;
        k++;
    }
    return k == n;
}

static bool is_sorted(Opt *o, const Plan *p) {
    const Plan *c = p->children[0];
    ColId *ids = arena_array(o->a, ColId, p->sort.n + 1);
    if (!ids) return false;
    for (int32_t i = 0; i < p->sort.n; i++) ids[i] = p->sort.keys[i].expr->u.col;
    for (; c->kind == LP_PROJECT || c->kind == LP_FILTER; c = c->children[0])
        for (int32_t i = 0; i < p->sort.n && c->kind == LP_PROJECT; i++)
            if (!(ids[i] = below(c, ids[i]))) return false;
    return c->kind == LP_WINDOW && ordered_by(c, p->sort.n, p->sort.keys, ids);
}

Plan *opt_window_order(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = opt_window_order(o, p->children[i]))) return NULL;
    if (p->kind != LP_SORT || !is_sorted(o, p)) return p;
    if (p->limit.rows < 0 && p->limit.offset <= 0) return p->children[0];
    p->kind = LP_LIMIT;
    p->sort.n = 0;
    return p;
}
