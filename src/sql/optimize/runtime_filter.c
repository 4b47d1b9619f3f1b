/* runtime_filter.c - scans that may skip rows because a later join would drop them anyway.
 *
 * A join's hash table is complete before its probe side starts. Where the probe side's key comes from a base table's
 * scan that runs in an earlier pipeline (below an aggregation or on the build side of another join), the scan keeps
 * only rows whose column is among the build keys. A scan in the join's own probe pipeline needs no filter: the probe
 * comes right after. Worth it only if the build side holds a small part of the key's domain. */
#include "sql/optimize/optimize_int.h"

static Status annotate(Opt *o, Plan *scan, Plan *join, ColId build, ColId local) {
    for (int32_t i = 0; i < scan->scan.n_runtime; i++)
        if (scan->scan.runtime[i].join == join && scan->scan.runtime[i].local_col == local) return ST_OK;
    if (scan->scan.n_runtime >= 4) return ST_OK;
    struct RuntimeFilter *r = arena_array(o->a, struct RuntimeFilter, scan->scan.n_runtime + 1);
    if (!r) return ST_ERROR;
    for (int32_t i = 0; i < scan->scan.n_runtime; i++) r[i] = scan->scan.runtime[i];
    r[scan->scan.n_runtime++] = (struct RuntimeFilter){join, build, local};
    scan->scan.runtime = r;
    return ST_OK;
}
/* Which of a join's sides yields the column. The smaller tree is looked through: chains of joins have a leaf on one
 * side. */
static int side_of(const Plan *p, ColId id) {
    int leaf = p->children[1]->n_children == 0 ? 1 : 0;
    if (leaf == 1 && (p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_MARK)) return 0;
    return plan_yields(p->children[leaf], id) ? leaf : 1 - leaf;
}
/* Follows `id` down from p; `direct`: still in the probe pipeline of the join. */
static Status trace(Opt *o, Plan *p, ColId id, Plan *join, ColId build, bool direct) {
    TRY(stack_check(o->err));
    switch ((PlanKind)p->kind) {
    case LP_SCAN:
        if (direct) return ST_OK;
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id && p->scan.cols[i] >= 0) return annotate(o, p, join, build, id);
        return ST_OK;
    case LP_FILTER: return trace(o, p->children[0], id, join, build, direct);
    case LP_SORT:
        if (p->limit.rows >= 0 || p->limit.offset > 0) return ST_OK;
        return trace(o, p->children[0], id, join, build, false);
    case LP_WINDOW: /* whole partitions may go */
        for (int32_t i = 0; i < p->n_exprs; i++)
            if (p->exprs[i]->u.col == id) return trace(o, p->children[0], id, join, build, false);
        return ST_OK;
    case LP_PROJECT:
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id && p->exprs[i]->kind == EX_COL)
                return trace(o, p->children[0], p->exprs[i]->u.col, join, build, direct);
        return ST_OK;
    case LP_AGG:
        for (int32_t i = 0; i < p->agg.n_keys; i++)
            if (p->out_cols[i] == id && p->exprs[i]->kind == EX_COL)
                return trace(o, p->children[0], p->exprs[i]->u.col, join, build, false);
        return ST_OK;
    case LP_SETOP:
        if (p->set.op != SO_UNION_ALL) return ST_OK;
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id)
                for (int32_t k = 0; k < p->n_children; k++)
                    TRY(trace(o, p->children[k], p->set.cols[k][i], join, build, false)); /* rows are kept in between */
        return ST_OK;
    case LP_CTE: return trace(o, p->children[1], id, join, build, direct);
    case LP_JOIN: {
        int side = side_of(p, id);
        /* rows of a side may be dropped only if the join neither preserves the other side's partnerless rows on their
         * account ... */
        bool ok = false;
        switch ((JoinKind)p->join.kind) {
        case JN_INNER: ok = true; break;
        case JN_LEFT:
        case JN_SEMI:
        case JN_ANTI:
        case JN_MARK:
        case JN_SINGLE: ok = side == 0; break;
        case JN_RIGHT: ok = side == 1; break;
        case JN_FULL: ok = false; break;
        }
        if (!ok) return ST_OK;
        int build_side = p->join.build_left ? 0 : 1;
        TRY(trace(o, p->children[side], id, join, build, direct && side != build_side));
        if (p->join.kind != JN_INNER) return ST_OK;
        /* the same value through an equality: the other side may be filtered as well */
        ColSet other = opt_outputs(o, p->children[1 - side]);
        for (int32_t i = 0; i < p->n_conds; i++) {
            const Expr *e = p->conds[i];
            if (!opt_is_op(e, "=") || e->args[0]->kind != EX_COL || e->args[1]->kind != EX_COL) continue;
            ColId eq = e->args[0]->u.col == id ? e->args[1]->u.col : e->args[1]->u.col == id ? e->args[0]->u.col : 0;
            if (!eq || !colset_has(&other, eq) || !type_eq(e->args[0]->type, e->args[1]->type)) continue;
            TRY(trace(o, p->children[1 - side], eq, join, build, direct && 1 - side != build_side));
        }
        return ST_OK;
    }
    default: return ST_OK;
    }
}
/* The join's only hash key: build and probe column. Others cannot be probed with one column. */
static bool single_key(Opt *o, const Plan *p, ColId *build, ColId *probe) {
    int b = p->join.build_left ? 0 : 1, n = 0;
    ColSet bo = opt_outputs(o, p->children[b]), po = opt_outputs(o, p->children[1 - b]);
    for (int32_t i = 0; i < p->n_conds; i++) {
        Expr *eb, *ep;
        bool ns;
        if (!opt_equi(o, p->conds[i], &bo, &po, &eb, &ep, &ns)) continue;
        if (ns || ++n > 1 || eb->kind != EX_COL || ep->kind != EX_COL || !type_eq(eb->type, ep->type)) return false;
        *build = eb->u.col;
        *probe = ep->u.col;
    }
    return n == 1;
}
/* A join inside p (which is complete before its consumer starts) whose table holds every value that p yields in `id`.
 */
static Plan *key_source(Opt *o, Plan *p, ColId id, ColId *build) {
    if (stack_stop()) return NULL;
    switch ((PlanKind)p->kind) {
    case LP_FILTER: return key_source(o, p->children[0], id, build);
    case LP_PROJECT:
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id && p->exprs[i]->kind == EX_COL)
                return key_source(o, p->children[0], p->exprs[i]->u.col, build);
        return NULL;
    case LP_JOIN: {
        ColId b, pr;
        if ((p->join.kind == JN_INNER || p->join.kind == JN_SEMI) && single_key(o, p, &b, &pr) &&
            (id == b || id == pr)) {
            double nd = opt_col_distinct(o, id);
            if (nd > 0 && opt_draws(nd, p->children[p->join.build_left ? 0 : 1]->est_rows) < 0.5 * nd) {
                *build = b;
                return p;
            }
        }
        if (p->join.kind == JN_FULL) return NULL;
        int side = side_of(p, id);
        if (side == 1 && p->join.kind != JN_INNER && p->join.kind != JN_RIGHT) return NULL;
        if (side == 0 && p->join.kind == JN_RIGHT) return NULL;
        return key_source(o, p->children[side], id, build);
    }
    default: return NULL;
    }
}
Status opt_runtime_filters(Opt *o, Plan *p) {
    TRY(stack_check(o->err));
    for (int32_t i = 0; i < p->n_children; i++) TRY(opt_runtime_filters(o, p->children[i]));
    if (p->kind != LP_JOIN) return ST_OK;
    int b = p->join.build_left ? 0 : 1;
    /* the probe side's rows without partner must not matter */
    bool ok = p->join.kind == JN_INNER || (b == 1 && (p->join.kind == JN_SEMI || p->join.kind == JN_RIGHT)) ||
              (b == 0 && (p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_LEFT));
    if (!ok) return ST_OK;
    Plan *build = p->children[b], *probe = p->children[1 - b];
    ColSet bo = opt_outputs(o, build), po = opt_outputs(o, probe);
    for (int32_t i = 0; i < p->n_conds; i++) {
        Expr *eb, *ep;
        bool ns;
        if (!opt_equi(o, p->conds[i], &bo, &po, &eb, &ep, &ns) || ns || eb->kind != EX_COL || ep->kind != EX_COL)
            continue;
        if (!type_eq(eb->type, ep->type)) continue;
        double nd = opt_col_distinct(o, ep->u.col), have = opt_draws(nd > 0 ? nd : build->est_rows, build->est_rows);
        if (nd <= 0 || have >= 0.5 * nd) continue;
        ColId key = 0, other = 0;
        Plan *source = p;
        if (!single_key(o, p, &key, &other)) source = key_source(o, build, eb->u.col, &key);
        if (source) TRY(trace(o, probe, ep->u.col, source, key, true));
    }
    return ST_OK;
}
