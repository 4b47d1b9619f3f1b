/* decorrelate.c - subqueries become joins, and joins stop being dependent.
 *
 * Step 1, lifting: every EX_SUBQUERY is replaced by a column of a join placed below the operator that uses it:
 *   (NOT) EXISTS as a conjunct   semi / anti join
 *   IN as a conjunct             semi join; NOT IN: anti join on "(x = y) IS NOT FALSE", or a mark join (hashed)
 *   < ANY, < ALL and the like    comparison with the subquery's least or greatest value
 *   elsewhere                    mark join; scalar: single join, or a cross join with an aggregate of one row
 * Step 2, unnesting, as soon as such a join is made, innermost first (dep_join):
 *   a) pull(): correlated predicates are pulled up out of the right side into the join's condition; through an
 *      aggregation they must be equalities, whose inner sides become group keys. An ungrouped aggregate then has a
 *      default row (count 0, the rest NULL) for outer rows without a group: the join becomes an outer one and
 *      the defaults are patched in.
 *   b) otherwise unnest(), after Neumann and Kemper, "Unnesting Arbitrary Queries": the left side becomes a CTE, D is
 * the set of its distinct correlated values, D is crossed into the right side's leaves and carried up, and the result
 * is joined back on D, null-safely.
 *
 * Columns of outer levels that a right side uses stay free in it until the outer level's own join is made.
 *
 * So made, subqueries are computed whether a row needs their values or not. That is fast, and right as long as nothing
 * fails: CASE, COALESCE, AND or a FROM without rows may stand in front of a subquery whose values cannot be computed,
 * or that has too many rows. When a statement fails and one of its subqueries could have been the reason, it is planned
 * once more with PlanCtx.guarded: then whatever of a subquery can fail is computed for D alone, and D is made of those
 * rows of the left side that need a value (`need`, the conditions on the way to the subquery in its expression).
 * Subqueries without correlation have a D too, of one row or none. */
#include "sql/optimize/optimize_int.h"

static Plan *lift_plan(Opt *o, Plan *p);
static Expr *lift_expr(Opt *o, Expr *e, Plan **child, const Expr *need);

static bool depends(Opt *o, const Plan *p, const ColSet *corr) {
    ColSet f = opt_free(o, p);
    return colset_intersects(&f, corr);
}
static Status unsupported(Opt *o, const char *what) {
    return err_set(o->err, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported in a correlated subquery", what);
}

/* ---- a) pulling predicates up ---------------------------------------------------------------- */
typedef struct Pull {
    ColSet corr;
    ExprVec conds;
    bool has_default; /* exactly one row per group; where no group: def_cols = def_vals (constants) */
    IdVec def_cols;
    ExprVec def_vals;
} Pull;

static Expr *with_defaults(Opt *o, const Pull *st, const Expr *e) {
    Expr *x = expr_copy(o->c, e);
    return x ? opt_fold(o, opt_subst(o, x, st->def_cols.len, st->def_cols.items, st->def_vals.items)) : NULL;
}
static Status take_conds(Opt *o, Plan *p, Pull *st) {
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_conds; i++) {
        if (opt_uses(o, p->conds[i], &st->corr)) TRY(opt_push(o, &st->conds, p->conds[i]));
        else p->conds[n++] = p->conds[i];
    }
    p->n_conds = n;
    return ST_OK;
}
/* A projection or aggregation yields (has as keys) n columns more. */
static Status append_outs(Opt *o, Plan *p, int64_t n, const ColId *more, Expr *const *values) {
    ColId *ids = arena_array(o->a, ColId, p->n_out + n);
    Expr **ex = arena_array(o->a, Expr *, p->n_out + n);
    if (!ids || !ex) return ST_ERROR;
    for (int32_t i = 0; i < p->n_exprs; i++) {
        ids[i] = p->out_cols[i];
        ex[i] = p->exprs[i];
    }
    for (int64_t i = 0; i < n; i++) {
        ids[p->n_exprs + i] = more[i];
        ex[p->n_exprs + i] = values[i];
        if (!values[i] || more[i] <= 0) return ST_ERROR;
    }
    p->out_cols = ids;
    p->exprs = ex;
    p->n_exprs += (int32_t)n;
    p->n_out = p->n_exprs;
    if (p->kind == LP_AGG) p->agg.n_keys = p->n_exprs;
    return ST_OK;
}
static Status append_out(Opt *o, Plan *p, ColId id, Expr *e) { return append_outs(o, p, 1, &id, &e); }
static Status pull(Opt *o, Plan **pp, Pull *st, bool *ok);

/* Whether p may be computed for rows of other outer rows too: nothing in it is volatile, or raises an error that its
 * own outer row does not raise. */
static bool may_widen(Opt *o, const Plan *p, const Pull *st) {
    for (int32_t i = 0; i < p->n_conds; i++)
        if (expr_is_volatile(p->conds[i]) ||
            (opt_is_domain_fallible(p->conds[i]) && !opt_uses(o, p->conds[i], &st->corr)))
            return false;
    for (int32_t i = 0; i < p->n_exprs; i++)
        if (opt_is_domain_fallible(p->exprs[i]) || expr_is_volatile(p->exprs[i])) return false;
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        if (p->agg.calls[i].arg &&
            (opt_is_domain_fallible(p->agg.calls[i].arg) || expr_is_volatile(p->agg.calls[i].arg)))
            return false;
    return true;
}
static Status pull_filter(Opt *o, Plan **pp, Pull *st, bool *ok) {
    Plan *p = *pp;
    TRY(pull(o, &p->children[0], st, ok));
    if (!*ok) return ST_OK;
    if (st->has_default) { /* the default row must not pass */
        bool passes = true;
        for (int32_t i = 0; i < p->n_conds && passes; i++) {
            if (opt_uses(o, p->conds[i], &st->corr)) continue;
            Expr *d = with_defaults(o, st, p->conds[i]);
            if (!d) return ST_ERROR;
            if (opt_const_false(d) || opt_const_null(d)) passes = false;
        }
        if (passes) {
            *ok = false;
            return ST_OK;
        }
        st->has_default = false;
    }
    TRY(take_conds(o, p, st));
    if (p->n_conds == 0) *pp = p->children[0];
    return ST_OK;
}
/* A scan's conditions stand in a filter above it before they are pulled. */
static Status pull_scan(Opt *o, Plan **pp, Pull *st, bool *ok) {
    Plan *p = *pp;
    Plan *f = plan_new(o->c, LP_FILTER, 1);
    if (!f) return ST_ERROR;
    f->children[0] = p;
    f->conds = p->conds;
    f->n_conds = p->n_conds;
    p->conds = NULL;
    p->n_conds = 0;
    *pp = f;
    return pull(o, pp, st, ok);
}
static Status pull_project(Opt *o, Plan *p, Pull *st, bool *ok) {
    for (int32_t i = 0; i < p->n_exprs; i++)
        if (opt_uses(o, p->exprs[i], &st->corr)) return ST_OK;
    TRY(pull(o, &p->children[0], st, ok));
    if (!*ok) return ST_OK;
    if (st->has_default) {
        IdVec cols = {0};
        ExprVec vals = {0};
        for (int32_t i = 0; i < p->n_out; i++) {
            Expr *d = with_defaults(o, st, p->exprs[i]);
            if (!d) return ST_ERROR;
            if (!opt_is_const(d)) {
                *ok = false;
                return ST_OK;
            }
            if (!vec_push(o->a, &cols, p->out_cols[i]) || opt_push(o, &vals, d) != ST_OK) return ST_ERROR;
        }
        st->def_cols = cols;
        st->def_vals = vals;
    }
    ColSet used = colset_new(o->c), below = opt_outputs(o, p->children[0]), have = opt_outputs(o, p);
    for (int64_t i = 0; i < st->conds.len; i++) expr_cols(o->c, st->conds.items[i], &used);
    ColSet need = opt_set_and(o, &used, &below);
    for (int64_t w = 0; w < need.n_words; w++)
        for (uint64_t b = need.bits[w]; b; b &= b - 1) {
            ColId id = (ColId)(w * 64 + __builtin_ctzll(b));
            if (!colset_has(&have, id)) TRY(append_out(o, p, id, opt_col(o, id)));
        }
    return ST_OK;
}
static Status pull_join(Opt *o, Plan *p, Pull *st, bool *ok) {
    if (p->join.dependent) return ST_OK;
    if (p->join.kind == JN_INNER) {
        for (int k = 0; k < 2; k++) {
            TRY(pull(o, &p->children[k], st, ok));
            if (*ok && st->has_default) *ok = false;
            if (!*ok) return ST_OK;
        }
        return take_conds(o, p, st);
    }
    if (p->join.kind == JN_RIGHT || p->join.kind == JN_FULL || p->join.kind == JN_SINGLE ||
        depends(o, p->children[1], &st->corr))
        return ST_OK;
    for (int32_t i = 0; i < p->n_conds; i++)
        if (opt_uses(o, p->conds[i], &st->corr)) return ST_OK;
    TRY(pull(o, &p->children[0], st, ok));
    if (*ok && st->has_default) *ok = false;
    return ST_OK;
}
/* Two inner columns equal to one outer value are equal to each other: that becomes a condition below the aggregation
 * (out: same), and one key less. */
static Status pull_same(Opt *o, Pull *st, const ColSet *below, ExprVec *same) {
    for (int64_t i = 0; i < st->conds.len; i++)
        for (int64_t j = i + 1; j < st->conds.len; j++) {
            Expr *in1, *out1, *in2, *out2;
            bool n1, n2;
            if (!opt_equi(o, st->conds.items[i], below, &st->corr, &in1, &out1, &n1) || n1) continue;
            if (!opt_equi(o, st->conds.items[j], below, &st->corr, &in2, &out2, &n2) || n2) continue;
            if (!expr_equal(out1, out2) || !type_eq(in1->type, in2->type)) continue;
            TRY(opt_push(o, same, opt_op(o, "=", expr_copy(o->c, in1), in2)));
            st->conds.items[j--] = st->conds.items[--st->conds.len];
        }
    return ST_OK;
}
/* The conditions' inner sides become group keys, which they name from here on. *ok false: one is no equality. */
static Status pull_keys(Opt *o, Plan *p, Pull *st, const ColSet *below, bool *ok) {
    for (int64_t i = 0; i < st->conds.len; i++) {
        Expr *c = st->conds.items[i], *in, *out;
        bool ns;
        if (!opt_equi(o, c, below, &st->corr, &in, &out, &ns)) {
            *ok = false;
            return ST_OK;
        }
        ColId key = 0;
        for (int32_t k = 0; k < p->agg.n_keys && !key; k++)
            if (expr_equal(p->exprs[k], in)) key = p->out_cols[k];
        if (!key) {
            if (in->kind == EX_COL) key = opt_new_like(o, in->u.col);
            else key = plan_new_col(o->c, "key", in->type, true);
            Expr *copy = expr_copy(o->c, in);
            TRY(append_out(o, p, key, copy));
        }
        Expr *kc = opt_col(o, key);
        if (!kc) return ST_ERROR;
        c->args[c->args[0] == in ? 0 : 1] = kc;
        c->folded = false;
    }
    return ST_OK;
}
/* Where an ungrouped aggregation has no row, its counts are 0 and the rest is NULL. */
static Status agg_defaults(Opt *o, const Plan *p, Pull *st) {
    st->has_default = true;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        bool count = agg_is_count(p->agg.calls[i].kind);
        if (!vec_push(o->a, &st->def_cols, p->agg.calls[i].out)) return ST_ERROR;
        TRY(opt_push(o, &st->def_vals,
                     count ? opt_int8(o, 0) : opt_null(o, o->c->cols.items[p->agg.calls[i].out].type)));
    }
    return ST_OK;
}
static Status pull_agg(Opt *o, Plan *p, Pull *st, bool *ok) {
    for (int32_t i = 0; i < p->agg.n_keys; i++)
        if (opt_uses(o, p->exprs[i], &st->corr)) return ST_OK;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        const AggCall *g = &p->agg.calls[i];
        if ((g->arg && opt_uses(o, g->arg, &st->corr)) || (g->arg2 && opt_uses(o, g->arg2, &st->corr)) ||
            (g->filter && opt_uses(o, g->filter, &st->corr)))
            return ST_OK;
    }
    TRY(pull(o, &p->children[0], st, ok));
    if (!*ok) return ST_OK;
    bool grouped = p->agg.n_keys > 0;
    ColSet below = opt_outputs(o, p->children[0]);
    if (st->has_default || (!grouped && st->conds.len == 0)) {
        *ok = false;
        return ST_OK;
    }
    /* a scalar aggregate that stops being one row per outer row by AGG_SINGLE must see only its own rows: the key
     * does that, but groups that are not asked for would raise 21000 */
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        if (p->agg.calls[i].kind == AGG_SINGLE) {
            *ok = false;
            return ST_OK;
        }
    ExprVec same = {0};
    TRY(pull_same(o, st, &below, &same));
    if (!(p->children[0] = opt_filter(o, p->children[0], &same))) return ST_ERROR;
    TRY(pull_keys(o, p, st, &below, ok));
    return *ok && !grouped ? agg_defaults(o, p, st) : ST_OK;
}

/* Pulls the correlated conditions up out of *pp into st, and changes it so that what they need is among its columns.
 * *ok false: that cannot be done (the plan may have been changed below). */
static Status pull(Opt *o, Plan **pp, Pull *st, bool *ok) {
    TRY(stack_check(o->err));
    Plan *p = *pp;
    *ok = true;
    if (!depends(o, p, &st->corr)) return ST_OK;
    *ok = false;
    if (!may_widen(o, p, st)) return ST_OK;
    switch ((PlanKind)p->kind) {
    case LP_FILTER: return pull_filter(o, pp, st, ok);
    case LP_SCAN: return pull_scan(o, pp, st, ok);
    case LP_PROJECT: return pull_project(o, p, st, ok);
    case LP_JOIN: return pull_join(o, p, st, ok);
    case LP_AGG: return pull_agg(o, p, st, ok);
    case LP_SORT:
        if (p->limit.rows >= 0 || p->limit.offset > 0) return ST_OK;
        *pp = p->children[0]; /* order inside a subquery without LIMIT means nothing */
        return pull(o, pp, st, ok);
    case LP_CTE:
        if (depends(o, p->children[0], &st->corr)) return ST_OK;
        return pull(o, &p->children[1], st, ok);
    default: return ST_OK;
    }
}

/* L left join R on the pulled conditions, with the default row's values where nothing matched. */
static Plan *join_with_defaults(Opt *o, Plan *l, Plan *r, Pull *st) {
    ColSet ro = opt_outputs(o, r), lo = opt_outputs(o, l);
    ColId marker = 0;
    for (int64_t i = 0; i < st->conds.len && !marker; i++) {
        Expr *a, *b;
        bool ns;
        if (opt_equi(o, st->conds.items[i], &lo, &ro, &a, &b, &ns) && !ns && b->kind == EX_COL) marker = b->u.col;
    }
    MapVec map = {0};
    for (int64_t i = 0; i < st->def_cols.len; i++) {
        if (opt_const_null(st->def_vals.items[i]) || !colset_has(&ro, st->def_cols.items[i])) continue;
        ColMap m = {st->def_cols.items[i], opt_new_like(o, st->def_cols.items[i])};
        if (m.to <= 0 || !vec_push(o->a, &map, m)) return NULL;
    }
    if (map.len == 0) return opt_join(o, JN_LEFT, l, r, &st->conds);
    opt_plan_remap(r, map.len, map.items);
    for (int64_t i = 0; i < st->conds.len; i++) expr_remap(st->conds.items[i], map.len, map.items);
    marker = opt_mapped(&map, marker);
    IdVec ids = {0};
    ExprVec ex = {0};
    if (!marker) {
        if (opt_out_ids(o, r, &ids) != ST_OK) return NULL;
        for (int64_t i = 0; i < ids.len; i++)
            if (opt_push(o, &ex, opt_col(o, ids.items[i])) != ST_OK) return NULL;
        marker = plan_new_col(o->c, "found", type_make(T_BOOL), false);
        if (!vec_push(o->a, &ids, marker) || opt_push(o, &ex, expr_bool(o->c, true)) != ST_OK) return NULL;
        if (!(r = opt_project(o, r, ids.len, ids.items, ex.items))) return NULL;
    }
    Plan *j = opt_join(o, JN_LEFT, l, r, &st->conds);
    ids.len = ex.len = 0;
    if (!j || opt_out_ids(o, j, &ids) != ST_OK) return NULL;
    for (int64_t i = 0; i < ids.len; i++) {
        ColId orig = ids.items[i];
        for (int64_t k = 0; k < map.len; k++)
            if (map.items[k].to == ids.items[i]) orig = map.items[k].from;
        Expr *e = opt_col(o, ids.items[i]);
        if (orig != ids.items[i])
            for (int64_t k = 0; k < st->def_cols.len; k++)
                if (st->def_cols.items[k] == orig)
                    e = opt_case(o, opt_unary(o, EX_IS_NULL, opt_col(o, marker)),
                                 opt_cast(o, st->def_vals.items[k], o->c->cols.items[orig].type), e);
        ids.items[i] = orig;
        if (opt_push(o, &ex, e) != ST_OK) return NULL;
    }
    return opt_project(o, j, ids.len, ids.items, ex.items);
}

/* ---- b) unnesting with the domain ---------------------------------------------------------- */
typedef struct Unnest {
    Opt *o;
    ColSet corr;
    int64_t n;
    const ColId *outer;
    bool guard; /* also what can fail is to be computed for D alone */
    int64_t dom_cte;
    const ColId *dom_cols; /* n, or one that says nothing when n is 0 */
    struct CorrCte {
        struct CorrCte *next;
        int64_t id;
        ColId *cols;
    } * ctes; /* CTEs whose definition was extended by D's columns */
} Unnest;

static bool scans_corr_cte(const Unnest *u, const Plan *p) {
    if (stack_stop()) return false;
    if (p->kind == LP_CTE_SCAN)
        for (const struct CorrCte *c = u->ctes; c; c = c->next)
            if (c->id == p->cte.id) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (scans_corr_cte(u, p->children[i])) return true;
    return false;
}
static bool un_uses(const Unnest *u, const Plan *p) {
    return depends(u->o, p, &u->corr) || (u->ctes && scans_corr_cte(u, p));
}
static bool un_depends(const Unnest *u, const Plan *p) { return un_uses(u, p) || (u->guard && opt_plan_can_fail(p)); }
static ColId *fresh_locals(Unnest *u) {
    ColId *l = arena_array(u->o->a, ColId, u->n + 1);
    for (int64_t i = 0; l && i < u->n; i++)
        if ((l[i] = opt_new_like(u->o, u->outer[i])) <= 0) return NULL;
    return l;
}
static Plan *dom_scan(Unnest *u, ColId **local) {
    *local = fresh_locals(u);
    if (!*local || u->n > 0) return *local ? opt_cte_scan(u->o, u->dom_cte, u->n, *local, u->dom_cols) : NULL;
    ColId id = opt_new_like(u->o, u->dom_cols[0]);
    return id > 0 ? opt_cte_scan(u->o, u->dom_cte, 1, &id, u->dom_cols) : NULL;
}
/* p for every row of D. */
static Plan *dom_times(Unnest *u, Plan *p, ColId **local) {
    return opt_join(u->o, JN_INNER, dom_scan(u, local), p, NULL);
}
static void localise(Unnest *u, Expr *e, const ColId *local) {
    for (int64_t i = 0; i < u->n; i++) {
        ColMap m = {u->outer[i], local[i]};
        expr_remap(e, 1, &m);
    }
}
static void localise_conds(Unnest *u, Plan *p, const ColId *local) {
    for (int32_t i = 0; i < p->n_conds; i++) localise(u, p->conds[i], local);
}
static Status add_same(Unnest *u, ExprVec *conds, const ColId *a, const ColId *b, const Plan *pa, const Plan *pb) {
    Opt *o = u->o;
    for (int64_t i = 0; i < u->n; i++) {
        Expr *x = opt_col(o, a[i]), *y = opt_col(o, b[i]);
        bool nonnull = pa && pb && (opt_col_nonnull(o, pa, a[i]) || opt_col_nonnull(o, pb, b[i]));
        Expr *c = NULL;
        if (nonnull) c = opt_op(o, "=", x, y);
        else c = opt_pair(o, EX_NOT_DISTINCT, x, y);
        TRY(opt_push(o, conds, c));
    }
    return ST_OK;
}
static Plan *unnest(Unnest *u, Plan *p, ColId **local);

/* One row per value of D out of p (which carries *local): the first by sort keys k.. */
static Plan *limit_one(Unnest *u, Plan *p, const Plan *sort, int32_t k, const ColId *local) {
    if (stack_check(u->o->err) != ST_OK) return NULL;
    Opt *o = u->o;
    if (k == sort->sort.n || sort->kind != LP_SORT) {
        IdVec ids = {0};
        MapVec map = {0};
        if (opt_out_ids(o, p, &ids) != ST_OK || opt_plan_rename(o, p, &map) != ST_OK) return NULL;
        Expr **keys = arena_array(o->a, Expr *, u->n + 1);
        AggCall *aggs = arena_array(o->a, AggCall, ids.len + 1);
        if (!keys || !aggs) return NULL;
        for (int64_t i = 0; i < u->n; i++) keys[i] = opt_col(o, opt_mapped(&map, local[i]));
        int64_t n = 0;
        for (int64_t i = 0; i < ids.len; i++) {
            bool key = false;
            for (int64_t j = 0; j < u->n; j++) key |= local[j] == ids.items[i];
            if (key) continue;
            Expr *arg = opt_col(o, opt_mapped(&map, ids.items[i]));
            if (!arg) return NULL;
            aggs[n++] =
                (AggCall){.kind = AGG_ANY, .func = opt_agg_func(AGG_ANY, arg->type), .arg = arg, .out = ids.items[i]};
        }
        return opt_agg(o, p, u->n, local, keys, n, aggs);
    }
    const SortKey *s = &sort->sort.keys[k];
    int64_t cte = ++o->c->n_ctes;
    IdVec ids = {0};
    MapVec map = {0};
    if (opt_out_ids(o, p, &ids) != ST_OK || opt_plan_rename(o, p, &map) != ST_OK) return NULL;
    ColId *def = arena_array(o->a, ColId, ids.len + 1);
    if (!def) return NULL;
    for (int64_t i = 0; i < ids.len; i++) def[i] = opt_mapped(&map, ids.items[i]);
    Plan *all = opt_cte_scan(o, cte, ids.len, ids.items, def);
    /* best value of the key per D */
    ColId *l2 = fresh_locals(u), *l3 = fresh_locals(u), *dl = arena_array(o->a, ColId, u->n + 1);
    if (!l2 || !l3 || !dl) return NULL;
    for (int64_t i = 0; i < u->n; i++) dl[i] = opt_mapped(&map, local[i]);
    ColId key_def = opt_mapped(&map, s->expr->u.col), key2 = opt_new_like(o, s->expr->u.col);
    if (key2 <= 0) return NULL;
    ColId *so = arena_array(o->a, ColId, u->n + 1), *sd = arena_array(o->a, ColId, u->n + 1);
    Expr **keys = arena_array(o->a, Expr *, u->n + 1);
    if (!so || !sd || !keys) return NULL;
    for (int64_t i = 0; i < u->n; i++) {
        so[i] = l2[i];
        sd[i] = dl[i];
        keys[i] = opt_col(o, l2[i]);
    }
    so[u->n] = key2;
    sd[u->n] = key_def;
    Plan *scan2 = opt_cte_scan(o, cte, u->n + 1, so, sd);
    AggCall ag[3];
    Type rt;
    if (opt_agg_call(o, s->desc ? "max" : "min", opt_col(o, key2), &ag[0], &rt) != ST_OK) return NULL;
    if (opt_agg_call(o, "count", opt_col(o, key2), &ag[1], &rt) != ST_OK) return NULL;
    ag[2] = (AggCall){.kind = AGG_COUNT_STAR, .func = opt_agg_func(AGG_COUNT_STAR, rt)};
    Type kt = o->c->cols.items[s->expr->u.col].type;
    ag[0].out = plan_new_col(o->c, "best", kt, true);
    ag[1].out = plan_new_col(o->c, "n_values", type_make(T_INT8), false);
    ag[2].out = plan_new_col(o->c, "n_rows", type_make(T_INT8), false);
    Plan *best = opt_agg(o, scan2, u->n, l3, keys, s->nulls_first ? 3 : 1, ag);
    Expr *value = opt_col(o, ag[0].out);
    if (s->nulls_first)
        value = opt_case(o, opt_op(o, "<", opt_col(o, ag[1].out), opt_col(o, ag[2].out)), opt_null(o, kt), value);
    ExprVec conds = {0};
    if (add_same(u, &conds, local, l3, NULL, NULL) != ST_OK) return NULL;
    if (opt_push(o, &conds, opt_pair(o, EX_NOT_DISTINCT, opt_col(o, s->expr->u.col), value)) != ST_OK) return NULL;
    Plan *j = opt_join(o, JN_SEMI, all, best, &conds);
    Plan *c = plan_new(o->c, LP_CTE, 2);
    if (!j || !c) return NULL;
    c->cte.id = cte;
    c->children[0] = p;
    c->children[1] = limit_one(u, j, sort, k + 1, local);
    return c->children[1] ? c : NULL;
}

static Expr *text_const(Opt *o, const char *s, int64_t len) {
    Value v = {.type = type_make(T_TEXT)};
    v.u.str = str_make(s, len);
    return expr_const(o->c, &v);
}
static Expr *call(Opt *o, const char *name, int n, Expr **args) {
    Type types[32], coerced[32], ret;
    const FuncDef *f;
    for (int i = 0; i < n; i++) {
        if (!args[i]) return NULL;
        types[i] = args[i]->type;
    }
    if (func_resolve(slice_of(name), false, n, types, 0, &f, coerced, &ret, o->err) != ST_OK) return NULL;
    Expr *e = expr_new(o->c, EX_FUNC, ret, n);
    if (!e) return NULL;
    e->u.func = f;
    for (int i = 0; i < n; i++) e->args[i] = args[i];
    return e;
}

/* Rows offset .. offset + limit - 1 (limit < 0: all after offset) per value of D out of p: every row gets a sort key
 * that no other has (types/func_sorted.c), the keys of a value of D are collected to find the first and the last one of
 * the limit. */
static Plan *limit_some(Unnest *u, Plan *p, const Plan *sort, int64_t limit, int64_t offset, const ColId *local) {
    Opt *o = u->o;
    int32_t k = sort->kind == LP_SORT ? sort->sort.n : 0;
    if (k > 24) {
        unsupported(o, "LIMIT after more than 24 sort keys");
        return NULL;
    }
    IdVec ids = {0};
    MapVec map = {0};
    if (opt_out_ids(o, p, &ids) != ST_OK || opt_plan_rename(o, p, &map) != ST_OK) return NULL;
    char *flags = arena_alloc(o->a, 2 * k + 3);
    Expr *args[28] = {0};
    if (!flags) return NULL;
    for (int32_t i = 0; i < k; i++) {
        flags[2 * i] = sort->sort.keys[i].desc ? 'd' : 'a';
        flags[2 * i + 1] = sort->sort.keys[i].nulls_first ? 'f' : 'l';
        if (!(args[3 + i] = expr_copy(o->c, sort->sort.keys[i].expr))) return NULL;
        localise(u, args[3 + i], local);
        expr_remap(args[3 + i], map.len, map.items);
    }
    memcpy(flags + 2 * k, "al", 2);
    args[0] = text_const(o, flags, 2 * k + 2);
    args[1] = text_const(o, "", 0);
    args[2] = text_const(o, "", 0);
    args[3 + k] = call(o, "row_unique", 0, NULL);
    Expr *entry = call(o, "string_agg_entry", 4 + k, args);
    int64_t n = ids.len, cte = ++o->c->n_ctes;
    ColId *def = arena_array(o->a, ColId, n + 1), *out = arena_array(o->a, ColId, n + 1), *l2 = fresh_locals(u),
          *l3 = fresh_locals(u);
    ColId *so = arena_array(o->a, ColId, u->n + 1), *sd = arena_array(o->a, ColId, u->n + 1),
          *go = arena_array(o->a, ColId, u->n + 1);
    Expr **ex = arena_array(o->a, Expr *, n + 1), **keys = arena_array(o->a, Expr *, u->n + 1),
         **picks = arena_array(o->a, Expr *, u->n + 1);
    if (!entry || !def || !out || !l2 || !l3 || !so || !sd || !go || !ex || !keys || !picks) return NULL;
    for (int64_t i = 0; i < n; i++) {
        out[i] = ids.items[i];
        def[i] = opt_mapped(&map, ids.items[i]);
        if (!(ex[i] = opt_col(o, def[i]))) return NULL;
    }
    Type text = type_make(T_TEXT);
    ex[n] = entry;
    if ((def[n] = plan_new_col(o->c, "entry", text, false)) <= 0 || (out[n] = opt_new_like(o, def[n])) <= 0)
        return NULL;
    for (int64_t i = 0; i < u->n; i++) {
        so[i] = l2[i];
        sd[i] = opt_mapped(&map, local[i]);
        keys[i] = opt_col(o, l2[i]);
        go[i] = l3[i];
        picks[i] = opt_col(o, l3[i]);
    }
    sd[u->n] = def[n];
    if ((so[u->n] = opt_new_like(o, def[n])) <= 0) return NULL;
    AggCall all = {.kind = AGG_STRING_AGG,
                   .arg = opt_col(o, so[u->n]),
                   .arg2 = text_const(o, "", 0),
                   .out = plan_new_col(o->c, "entries", text, true)};
    Type two[2] = {text, text}, co[2], ret;
    if (func_resolve(slice_of("string_agg"), false, 2, two, 0, &all.func, co, &ret, o->err) != ST_OK) return NULL;
    Expr *pick[3] = {opt_col(o, all.out), opt_int8(o, offset), opt_int8(o, limit)}, *between[2];
    ColId ends = plan_new_col(o->c, "ends", text, true);
    picks[u->n] = call(o, "string_agg_pick", 3, pick);
    go[u->n] = ends;
    Plan *groups = opt_agg(o, opt_cte_scan(o, cte, u->n + 1, so, sd), u->n, l3, keys, 1, &all);
    groups = groups && picks[u->n] ? opt_project(o, groups, u->n + 1, go, picks) : NULL;
    ExprVec conds = {0};
    between[0] = opt_col(o, out[n]);
    between[1] = opt_col(o, ends);
    if (!groups || add_same(u, &conds, local, l3, NULL, NULL) != ST_OK ||
        opt_push(o, &conds, call(o, "string_agg_between", 2, between)) != ST_OK)
        return NULL;
    Plan *j = opt_join(o, JN_SEMI, opt_cte_scan(o, cte, n + 1, out, def), groups, &conds),
         *c = plan_new(o->c, LP_CTE, 2);
    if (!j || !c || !(c->children[0] = opt_project(o, p, n + 1, def, ex))) return NULL;
    c->cte.id = cte;
    c->children[1] = j;
    return c;
}

static Plan *unnest_join(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    if (p->join.kind == JN_RIGHT) {
        Plan *x = p->children[0];
        p->children[0] = p->children[1];
        p->children[1] = x;
        p->join.kind = JN_LEFT;
    }
    bool dl = un_depends(u, p->children[0]), dr = un_depends(u, p->children[1]), dc = false;
    for (int32_t i = 0; i < p->n_conds; i++) dc |= opt_uses(o, p->conds[i], &u->corr);
    if (p->join.kind == JN_MARK && !p->join.mark_exists && u->n > 0 && dr)
        dr = un_uses(u, p->children[1]); /* no more conditions then */
    if (p->join.kind == JN_MARK && (u->n > 0 || dc) && (dr || dc)) {
        if (!p->join.mark_exists) {
            unsupported(o, "this form of IN");
            return NULL;
        }
    }
    if (p->join.kind == JN_INNER && dl != dr) {
        int k = dl ? 0 : 1;
        if (!(p->children[k] = unnest(u, p->children[k], local))) return NULL;
        localise_conds(u, p, *local);
        return p;
    }
    ColId *ll, *lr = NULL;
    if (!(p->children[0] = unnest(u, p->children[0], &ll))) return NULL;
    if (dr || p->join.kind == JN_FULL) {
        if (!(p->children[1] = unnest(u, p->children[1], &lr))) return NULL;
    }
    localise_conds(u, p, ll);
    *local = ll;
    if (!lr) return p;
    ExprVec conds = {0};
    for (int32_t i = 0; i < p->n_conds; i++)
        if (opt_push(o, &conds, p->conds[i]) != ST_OK) return NULL;
    if (add_same(u, &conds, ll, lr, p->children[0], p->children[1]) != ST_OK) return NULL;
    p->conds = conds.items;
    p->n_conds = (int32_t)conds.len;
    if (p->join.kind != JN_FULL) return p;
    IdVec ids = {0};
    ExprVec ex = {0};
    if (opt_out_ids(o, p, &ids) != ST_OK) return NULL;
    for (int64_t i = 0; i < ids.len; i++)
        if (opt_push(o, &ex, opt_col(o, ids.items[i])) != ST_OK) return NULL;
    if (!(*local = fresh_locals(u))) return NULL;
    for (int64_t i = 0; i < u->n; i++) {
        if (!vec_push(o->a, &ids, (*local)[i])) return NULL;
        if (opt_push(o, &ex, opt_coalesce(o, opt_col(o, ll[i]), opt_col(o, lr[i]))) != ST_OK) return NULL;
    }
    return opt_project(o, p, ids.len, ids.items, ex.items);
}

static Plan *unnest_agg(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    ColId *below;
    bool grouped = p->agg.n_keys > 0;
    if (!(p->children[0] = unnest(u, p->children[0], &below))) return NULL;
    for (int32_t i = 0; i < p->n_exprs; i++) localise(u, p->exprs[i], below);
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (p->agg.calls[i].arg) localise(u, p->agg.calls[i].arg, below);
        if (p->agg.calls[i].arg2) localise(u, p->agg.calls[i].arg2, below);
        if (p->agg.calls[i].filter) localise(u, p->agg.calls[i].filter, below);
    }
    ColId *keys = fresh_locals(u);
    if (!keys) return NULL;
    for (int64_t i = 0; i < u->n; i++)
        if (append_out(o, p, keys[i], opt_col(o, below[i])) != ST_OK) return NULL;
    *local = keys;
    if (grouped) return p;
    /* one row for every value of D, also where nothing was aggregated */
    ColId *dl;
    Plan *d = dom_scan(u, &dl);
    if (!d) return NULL;
    IdVec ids = {0};
    ExprVec ex = {0}, conds = {0};
    for (int64_t i = 0; i < u->n; i++)
        if (!vec_push(o->a, &ids, dl[i]) || opt_push(o, &ex, opt_col(o, dl[i])) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        AggCall *g = &p->agg.calls[i];
        ColId id = g->out;
        Expr *e = NULL;
        if (agg_is_count(g->kind)) {
            g->out = opt_new_like(o, id);
            e = opt_coalesce(o, opt_col(o, g->out), opt_int8(o, 0));
        } else e = opt_col(o, id);
        if (!vec_push(o->a, &ids, id) || opt_push(o, &ex, e) != ST_OK) return NULL;
    }
    if (add_same(u, &conds, dl, keys, d, NULL) != ST_OK) return NULL;
    *local = dl;
    return opt_project(o, opt_join(o, u->n == 0 ? JN_INNER : JN_LEFT, d, p, &conds), ids.len, ids.items, ex.items);
}

typedef struct Localise {
    Unnest *u;
    const ColId *local;
} Localise;
static Status localise_slot(void *ctx, Expr **e) {
    const Localise *l = ctx;
    localise(l->u, *e, l->local);
    return ST_OK;
}
/* Every value of D has partitions of its own. */
static Plan *unnest_window(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    if (!(p->children[0] = unnest(u, p->children[0], local))) return NULL;
    Localise l = {u, *local};
    if (plan_each_expr(p, localise_slot, &l) != ST_OK) return NULL;
    Expr **keys = arena_array(o->a, Expr *, p->n_exprs + u->n + 1);
    if (!keys) return NULL;
    for (int32_t i = 0; i < p->n_exprs; i++) keys[i] = p->exprs[i];
    for (int64_t i = 0; i < u->n; i++)
        if (!(keys[p->n_exprs + i] = opt_col(o, (*local)[i]))) return NULL;
    p->exprs = keys;
    p->n_exprs += (int32_t)u->n;
    return p;
}

/* ---- series over columns ----------------------------------------------------------------------- */

/* What a series over columns is computed of: columns of each row. */
typedef struct Along {
    Type t;
    bool fixed_step; /* of integers: no function is called */
    int64_t k;       /* the step then */
    Expr *start, *step, *count;
    Expr *array; /* of timestamps: the values, instead */
} Along;

static Status along_of(Opt *o, const Plan *s, Along *x) {
    Type int8 = type_make(T_INT8);
    const Expr *step = s->exprs[2];
    *x = (Along){.t = o->c->cols.items[s->out_cols[0]].type};
    bool integer = type_is_integer(x->t);
    x->fixed_step = integer && step->kind == EX_CONST && !step->u.value.is_null &&
                    cell_as_i64(type_phys(step->type), value_cell_const(&step->u.value), &x->k) && x->k != 0;
    Expr *args[3];
    for (int i = 0; i < 3; i++)
        if (!(args[i] = integer ? opt_cast(o, s->exprs[i], int8) : s->exprs[i])) return ST_ERROR;
    if (x->t.id != T_NUMERIC && !integer) {
        x->array = opt_call(o, "series_array", 3, args);
        return x->array ? ST_OK : ST_ERROR;
    }
    x->start = expr_copy(o->c, args[0]);
    if (!x->fixed_step) {
        x->step = expr_copy(o->c, args[2]);
        x->count = opt_call(o, "series_count", 3, args);
        x->count = opt_coalesce(o, x->count, opt_int8(o, 0));
        return x->start && x->step && x->count ? ST_OK : ST_ERROR;
    }
    Expr *some = opt_op(o, x->k > 0 ? ">=" : "<=", args[1], args[0]);
    Expr *many = opt_op(o, "-", expr_copy(o->c, args[1]), expr_copy(o->c, args[0]));
    if (many && x->k != 1) many = opt_op(o, "/", many, opt_int8(o, x->k));
    if (many) many = opt_op(o, "+", many, opt_int8(o, 1));
    x->count = many ? opt_case(o, some, many, opt_int8(o, 0)) : NULL;
    return x->start && x->count ? ST_OK : ST_ERROR;
}

/* The value of the row of that number (from 0). */
static Expr *along_value(Opt *o, const Along *x, ColId number) {
    Expr *n = opt_col(o, number);
    if (x->fixed_step) {
        if (n && x->k != 1) n = opt_op(o, "*", n, opt_int8(o, x->k));
        return n && (n = opt_op(o, "+", n, x->start)) ? opt_cast(o, n, x->t) : NULL;
    }
    n = opt_op(o, "+", n, opt_int8(o, 1));
    if (x->array) {
        Expr *args[2] = {x->array, n ? opt_cast(o, n, type_make(T_INT4)) : NULL};
        return args[1] ? opt_call(o, "array_element", 2, args) : NULL;
    }
    Expr *args[3] = {x->start, x->step, n}, *v = n ? opt_call(o, "series_value", 3, args) : NULL;
    return v ? opt_cast(o, v, x->t) : NULL;
}

/* *e, computed in a projection below, becomes its column there. */
static Status along_below(Opt *o, IdVec *ids, ExprVec *ex, Expr **e, const char *name) {
    if (!*e) return ST_OK;
    ColId id = plan_new_col(o->c, name, (*e)->type, true);
    if (id <= 0 || !vec_push(o->a, ids, id)) return ST_ERROR;
    TRY(opt_push(o, ex, *e));
    return (*e = opt_col(o, id)) ? ST_OK : ST_ERROR;
}

/* For every row of `child` those of a series whose arguments are computed from it: the rows repeated and numbered. */
static Plan *series_along(Opt *o, Plan *child, Plan *s) {
    IdVec ids = {0}, result = {0};
    ExprVec ex = {0}, out = {0};
    Along x;
    if (along_of(o, s, &x) != ST_OK || opt_out_ids(o, child, &ids) != ST_OK) return NULL;
    for (int64_t i = 0; i < ids.len; i++) {
        ColId id = ids.items[i];
        if (opt_push(o, &ex, opt_col(o, id)) != ST_OK || opt_push(o, &out, opt_col(o, id)) != ST_OK ||
            !vec_push(o->a, &result, id))
            return NULL;
    }
    if (along_below(o, &ids, &ex, &x.start, "first") != ST_OK || along_below(o, &ids, &ex, &x.step, "step") != ST_OK ||
        along_below(o, &ids, &ex, &x.count, "count") != ST_OK || along_below(o, &ids, &ex, &x.array, "values") != ST_OK)
        return NULL;
    Plan *rows = opt_project(o, child, ids.len, ids.items, ex.items), *rep = plan_new(o->c, LP_REPEAT, 1);
    if (rows && x.array) { /* another projection, that counts them */
        ex.len = 0;
        for (int64_t i = 0; i < ids.len; i++)
            if (opt_push(o, &ex, opt_col(o, ids.items[i])) != ST_OK) return NULL;
        Expr *copy = expr_copy(o->c, x.array);
        x.count = copy ? opt_call(o, "cardinality", 1, &copy) : NULL;
        x.count = opt_coalesce(o, x.count ? opt_cast(o, x.count, type_make(T_INT8)) : NULL, opt_int8(o, 0));
        if (!x.count || along_below(o, &ids, &ex, &x.count, "count") != ST_OK) return NULL;
        rows = opt_project(o, rows, ids.len, ids.items, ex.items);
    }
    ColId number = plan_new_col(o->c, "number", type_make(T_INT8), false);
    if (!rows || !rep || number <= 0 || !(rep->out_cols = arena_array(o->a, ColId, 1))) return NULL;
    rep->children[0] = rows;
    rep->count_col = x.count->u.col;
    rep->out_cols[0] = number;
    rep->n_out = 1;
    if (opt_push(o, &out, along_value(o, &x, number)) != ST_OK || !vec_push(o->a, &result, s->out_cols[0])) return NULL;
    if (s->ordinality && (opt_push(o, &out, opt_op(o, "+", opt_col(o, number), opt_int8(o, 1))) != ST_OK ||
                          !vec_push(o->a, &result, s->out_cols[1])))
        return NULL;
    return opt_project(o, rep, result.len, result.items, out.items);
}

/* Whether a right side is a chain of rows made from each left row alone: computed along with it, no join is needed. */
static bool is_chain(const Plan *p) {
    while (p->kind == LP_PROJECT || p->kind == LP_FILTER || p->kind == LP_REPEAT) p = p->children[0];
    if (p->kind == LP_SERIES) return true;
    return p->kind == LP_VALUES && p->n_out == 0 && p->values.n_rows == 1;
}
static Plan *chain_along(Opt *o, Plan *l, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    if (p->kind == LP_SERIES) return series_along(o, l, p);
    if (p->kind == LP_VALUES) return l;
    IdVec ids = {0};
    if (opt_out_ids(o, l, &ids) != ST_OK || !(p->children[0] = chain_along(o, l, p->children[0]))) return NULL;
    if (p->kind != LP_PROJECT) return p;
    Expr **ex = arena_array(o->a, Expr *, ids.len + 1);
    for (int64_t i = 0; ex && i < ids.len; i++) ex[i] = opt_col(o, ids.items[i]);
    return ex && append_outs(o, p, ids.len, ids.items, ex) == ST_OK ? p : NULL;
}

/* A scan's conditions, correlated ones and those that can fail, stand in a filter above it. */
static Plan *unnest_scan(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    ExprVec conds = {0};
    for (int32_t i = 0; i < p->n_conds; i++)
        if (opt_push(o, &conds, p->conds[i]) != ST_OK) return NULL;
    p->n_conds = 0;
    p = opt_filter(o, p, &conds);
    return p ? unnest(u, p, local) : NULL;
}
/* LP_SORT, LP_LIMIT: the rows that are left of each value of D. */
static Plan *unnest_limit(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    if (u->n == 0) { /* D has one row at most */
        p->children[0] = unnest(u, p->children[0], local);
        return p->children[0] ? p : NULL;
    }
    Plan *sort = p;
    int64_t limit = p->limit.rows, offset = p->limit.offset > 0 ? p->limit.offset : 0;
    if (p->kind == LP_LIMIT && p->children[0]->kind == LP_SORT && p->children[0]->limit.rows < 0) sort = p->children[0];
    Plan *child = unnest(u, sort->children[0], local);
    if (!child) return NULL;
    if (limit < 0 && offset == 0) return child;
    if (limit == 0) {
        Plan *e = opt_empty(o, child);
        return e;
    }
    return limit == 1 && offset == 0 ? limit_one(u, child, sort, 0, *local)
                                     : limit_some(u, child, sort, limit, offset, *local);
}
static Plan *unnest_setop(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    ColId **locals = arena_array(o->a, ColId *, p->n_children + 1);
    ColId *out = fresh_locals(u);
    if (!un_uses(u, p) && u->n > 0 && p->set.op != SO_UNION_ALL) return dom_times(u, p, local);
    struct CorrCte *save = u->ctes, work = {.next = u->ctes, .id = p->cte.id, .cols = out};
    if (!locals || !out || (u->n > 0 && p->set.op != SO_UNION_ALL && !p->cte.id)) return NULL;
    for (int32_t k = 0; k < p->n_children; k++) {
        if (p->cte.id && k == 1) u->ctes = &work; /* a recursive step goes on from rows that have them */
        p->children[k] = unnest(u, p->children[k], &locals[k]);
        u->ctes = save;
        if (!p->children[k]) return NULL;
        ColId *sc = arena_array(o->a, ColId, p->n_out + u->n + 1);
        if (!sc) return NULL;
        for (int32_t i = 0; i < p->n_out; i++) sc[i] = p->set.cols[k][i];
        for (int64_t i = 0; i < u->n; i++) sc[p->n_out + i] = locals[k][i];
        p->set.cols[k] = sc;
    }
    ColId *oc = arena_array(o->a, ColId, p->n_out + u->n + 1);
    if (!oc) return NULL;
    for (int32_t i = 0; i < p->n_out; i++) oc[i] = p->out_cols[i];
    for (int64_t i = 0; i < u->n; i++) oc[p->n_out + i] = out[i];
    p->out_cols = oc;
    p->n_out += (int32_t)u->n;
    *local = out;
    return p;
}
static Plan *unnest_cte(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    struct CorrCte *save = u->ctes;
    if (un_depends(u, p->children[0])) {
        struct CorrCte *c = arena_new_of(o->a, struct CorrCte);
        if (!c || !(p->children[0] = unnest(u, p->children[0], &c->cols))) return NULL;
        c->id = p->cte.id;
        c->next = u->ctes;
        u->ctes = c;
    }
    p->children[1] = unnest(u, p->children[1], local);
    u->ctes = save;
    return p->children[1] ? p : NULL;
}
static Plan *unnest_cte_scan(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    struct CorrCte *c = u->ctes;
    while (c && c->id != p->cte.id) c = c->next;
    if (!c) return dom_times(u, p, local);
    ColId *l = fresh_locals(u), *oc = arena_array(o->a, ColId, p->n_out + u->n + 1),
          *cc = arena_array(o->a, ColId, p->n_out + u->n + 1);
    if (!l || !oc || !cc) return NULL;
    for (int32_t i = 0; i < p->n_out; i++) {
        oc[i] = p->out_cols[i];
        cc[i] = p->cte.cols[i];
    }
    for (int64_t i = 0; i < u->n; i++) {
        oc[p->n_out + i] = l[i];
        cc[p->n_out + i] = c->cols[i];
    }
    p->out_cols = oc;
    p->cte.cols = cc;
    p->n_out += (int32_t)u->n;
    *local = l;
    return p;
}
/* Each row is a projection over D. */
static Plan *unnest_values(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    if (p->values.cells || p->n_out + u->n == 0)
        return p->values.n_rows == 1 && p->n_out + u->n == 0 ? dom_scan(u, local) : dom_times(u, p, local);
    Plan *un = NULL;
    ColId **sets = arena_array(o->a, ColId *, p->values.n_rows + 1);
    Plan **ch = arena_array(o->a, Plan *, p->values.n_rows + 1);
    ColId *out = arena_array(o->a, ColId, p->n_out + u->n + 1), *lo = fresh_locals(u);
    if (!sets || !ch || !out || !lo) return NULL;
    for (int32_t i = 0; i < p->n_out; i++) out[i] = p->out_cols[i];
    for (int64_t i = 0; i < u->n; i++) out[p->n_out + i] = lo[i];
    for (int64_t r = 0; r < p->values.n_rows; r++) {
        ColId *dl;
        Plan *d = dom_scan(u, &dl);
        if (!d) return NULL;
        Expr **ex = arena_array(o->a, Expr *, p->n_out + u->n + 1);
        sets[r] = arena_array(o->a, ColId, p->n_out + u->n + 1);
        if (!ex || !sets[r]) return NULL;
        for (int32_t i = 0; i < p->n_out; i++) {
            ex[i] = p->values.rows[r][i];
            localise(u, ex[i], dl);
            sets[r][i] = p->values.n_rows == 1 ? out[i] : opt_new_like(o, out[i]);
        }
        for (int64_t i = 0; i < u->n; i++) {
            ex[p->n_out + i] = opt_col(o, dl[i]);
            sets[r][p->n_out + i] = p->values.n_rows == 1 ? lo[i] : opt_new_like(o, lo[i]);
        }
        ch[r] = opt_project(o, d, p->n_out + u->n, sets[r], ex);
        if (!ch[r]) return NULL;
    }
    *local = lo;
    if (p->values.n_rows == 1) return ch[0];
    un = plan_new(o->c, LP_SETOP, (int32_t)p->values.n_rows);
    if (!un) return NULL;
    un->set.op = SO_UNION_ALL;
    un->children = ch;
    un->n_children = (int32_t)p->values.n_rows;
    un->set.cols = sets;
    un->out_cols = out;
    un->n_out = p->n_out + (int32_t)u->n;
    return un;
}
static Plan *unnest_series(Unnest *u, Plan *p, ColId **local) {
    Opt *o = u->o;
    if (!un_uses(u, p)) return dom_times(u, p, local);
    Plan *d = dom_scan(u, local);
    if (!d) return NULL;
    for (int32_t i = 0; i < p->n_exprs; i++) localise(u, p->exprs[i], *local);
    return series_along(o, d, p);
}

/* p for every row of D: it has columns *local, D's. */
static Plan *unnest(Unnest *u, Plan *p, ColId **local) {
    if (stack_check(u->o->err) != ST_OK) return NULL;
    Opt *o = u->o;
    if (!un_depends(u, p)) return dom_times(u, p, local);
    switch ((PlanKind)p->kind) {
    case LP_SCAN: return unnest_scan(u, p, local);
    case LP_FILTER:
    case LP_REPEAT:
        if (!(p->children[0] = unnest(u, p->children[0], local))) return NULL;
        localise_conds(u, p, *local);
        return p;
    case LP_PROJECT:
        if (!(p->children[0] = unnest(u, p->children[0], local))) return NULL;
        for (int32_t i = 0; i < p->n_exprs; i++) localise(u, p->exprs[i], *local);
        for (int64_t i = 0; i < u->n; i++)
            if (append_out(o, p, (*local)[i], opt_col(o, (*local)[i])) != ST_OK) return NULL;
        return p;
    case LP_JOIN: return unnest_join(u, p, local);
    case LP_AGG: return unnest_agg(u, p, local);
    case LP_WINDOW: return unnest_window(u, p, local);
    case LP_SORT:
    case LP_LIMIT: return unnest_limit(u, p, local);
    case LP_SETOP: return unnest_setop(u, p, local);
    case LP_CTE: return unnest_cte(u, p, local);
    case LP_CTE_SCAN: return unnest_cte_scan(u, p, local);
    case LP_VALUES: return unnest_values(u, p, local);
    case LP_SERIES: return unnest_series(u, p, local);
    case LP_STREAM: return dom_times(u, p, local);
    }
    return NULL;
}

/* ---- dependent join to plain joins ---------------------------------------------------------- */
static Plan *plain_join(Opt *o, JoinKind kind, Plan *l, Plan *r, const ExprVec *conds, ColId mark) {
    Plan *j = opt_join(o, kind, l, r, conds);
    if (j && kind == JN_MARK) {
        j->join.mark_col = mark;
        j->join.mark_exists = true;
    }
    return j;
}
/* Equal values of some types are different in other ways (an interval of 30 days and of one month, -0 and 0): D, whose
 * rows stand for equal values, distinguishes them by their text, which becomes one more column of the left side and of
 * `outer`. */
static Plan *tell_apart(Opt *o, Plan *l, IdVec *outer) {
    IdVec ids = {0};
    ExprVec ex = {0};
    int64_t n = outer->len;
    for (int64_t i = 0; i < n; i++) {
        ColId id = outer->items[i];
        if (opt_equal_is_same(o->c->cols.items[id].type)) continue;
        Expr *text = opt_cast(o, opt_col(o, id), type_make(T_TEXT));
        ColId made = plan_new_col(o->c, "text", type_make(T_TEXT), true);
        if (made <= 0 || opt_push(o, &ex, text) != ST_OK || !vec_push(o->a, &ids, made) || !vec_push(o->a, outer, made))
            return NULL;
    }
    if (ids.len == 0) return l;
    IdVec all = {0};
    ExprVec exprs = {0};
    if (opt_out_ids(o, l, &all) != ST_OK) return NULL;
    for (int64_t i = 0; i < all.len; i++)
        if (opt_push(o, &exprs, opt_col(o, all.items[i])) != ST_OK) return NULL;
    for (int64_t i = 0; i < ids.len; i++)
        if (!vec_push(o->a, &all, ids.items[i]) || opt_push(o, &exprs, ex.items[i]) != ST_OK) return NULL;
    return opt_project(o, l, all.len, all.items, exprs.items);
}
static Plan *limit_1(Opt *o, Plan *p) {
    Plan *l = plan_new(o->c, LP_LIMIT, 1);
    if (!l) return NULL;
    l->children[0] = p;
    l->limit.rows = 1;
    l->limit.offset = 0;
    return l;
}
/* The general way. need: D is made of the rows of l for which it is true, and what can fail in r is computed for D
 * alone; NULL: of all rows. */
static Plan *domain_join(Opt *o, JoinKind kind, Plan *l, Plan *r, const ExprVec *conds, ColId mark, const ColSet *corr,
                         const Expr *need) {
    Unnest u = {.o = o, .corr = *corr, .guard = need != NULL};
    IdVec outer = {0}, lids = {0};
    for (int64_t w = 0; w < corr->n_words; w++)
        for (uint64_t b = corr->bits[w]; b; b &= b - 1)
            if (!vec_push(o->a, &outer, (ColId)(w * 64 + __builtin_ctzll(b)))) return NULL;
    MapVec map = {0};
    if (!(l = tell_apart(o, l, &outer)) || opt_out_ids(o, l, &lids) != ST_OK) return NULL;
    if (lids.len == 0) { /* a CTE has columns */
        ColId one = plan_new_col(o->c, "row", type_make(T_BOOL), false);
        Expr *yes = expr_bool(o->c, true);
        if (one <= 0 || !yes || !vec_push(o->a, &lids, one) || !(l = opt_project(o, l, 1, &one, &yes))) return NULL;
    }
    if (opt_plan_rename(o, l, &map) != ST_OK) return NULL;
    u.n = outer.len;
    u.outer = outer.items;
    ColId *def = arena_array(o->a, ColId, lids.len + 1), *seen = arena_array(o->a, ColId, lids.len + 1),
          *dout = arena_array(o->a, ColId, u.n + 1);
    Expr **keys = arena_array(o->a, Expr *, u.n + 1);
    MapVec here = {0};
    if (!def || !seen || !dout || !keys) return NULL;
    for (int64_t i = 0; i < lids.len; i++) {
        def[i] = opt_mapped(&map, lids.items[i]);
        ColMap m = {lids.items[i], seen[i] = opt_new_like(o, lids.items[i])};
        if (m.to <= 0 || !vec_push(o->a, &here, m)) return NULL;
    }
    int64_t cte_l = ++o->c->n_ctes;
    u.dom_cte = ++o->c->n_ctes;
    u.dom_cols = dout;
    Plan *scan = opt_cte_scan(o, cte_l, lids.len, lids.items, def), *dom = opt_cte_scan(o, cte_l, lids.len, seen, def);
    if (need && dom) {
        ExprVec want = {0};
        Expr *copy = expr_copy(o->c, need);
        if (!copy) return NULL;
        expr_remap(copy, here.len, here.items);
        if (opt_split(o, copy, &want) != ST_OK) return NULL;
        dom = opt_filter(o, dom, &want);
    }
    for (int64_t i = 0; i < u.n; i++) {
        keys[i] = opt_col(o, opt_mapped(&here, u.outer[i]));
        if (!keys[i] || (dout[i] = opt_new_like(o, u.outer[i])) <= 0) return NULL;
    }
    if (u.n > 0) {
        dom = opt_agg(o, dom, u.n, dout, keys, 0, NULL);
    } else {
        dout[0] = plan_new_col(o->c, "wanted", type_make(T_BOOL), false);
        keys[0] = expr_bool(o->c, true);
        dom = dom && dout[0] > 0 && keys[0] ? limit_1(o, opt_project(o, dom, 1, dout, keys)) : NULL;
    }
    ColId *local;
    Plan *right = unnest(&u, r, &local);
    if (!scan || !dom || !right) {
        if (!err_is_set(o->err)) err_internal(o->err, "a dependent join could not be unnested");
        return NULL;
    }
    ExprVec all = {0};
    for (int64_t i = 0; i < conds->len; i++)
        if (opt_push(o, &all, conds->items[i]) != ST_OK) return NULL;
    if (add_same(&u, &all, u.outer, local, NULL, NULL) != ST_OK) return NULL;
    Plan *cl = plan_new(o->c, LP_CTE, 2), *cd = plan_new(o->c, LP_CTE, 2),
         *j = plain_join(o, kind, scan, right, &all, mark);
    if (!cl || !cd || !j) return NULL;
    cl->cte.id = cte_l;
    cl->children[0] = l;
    cl->children[1] = cd;
    cd->cte.id = u.dom_cte;
    cd->children[0] = dom;
    cd->children[1] = j;
    return cl;
}

/* need: of a subquery's values (see above), NULL where there is no guard. */
static Plan *dep_join(Opt *o, JoinKind kind, Plan *l, Plan *r, const ExprVec *conds, ColId mark, const Expr *need) {
    ColSet lo = opt_outputs(o, l), fr = opt_free(o, r), corr = opt_set_and(o, &lo, &fr);
    if (kind == JN_SINGLE && opt_max_one_row(r)) kind = JN_LEFT;
    if (need && (kind == JN_SINGLE || opt_plan_can_fail(r)))
        return domain_join(o, kind, l, r, conds, mark, &corr, need);
    if (opt_set_empty(&corr)) {
        if (kind == JN_LEFT && conds->len == 0 && opt_one_row(r)) kind = JN_INNER;
        return plain_join(o, kind, l, r, conds, mark);
    }
    if (kind == JN_INNER && is_chain(r)) {
        Plan *along = chain_along(o, l, r);
        return along ? opt_filter(o, along, conds) : NULL;
    }
    Plan *copy = opt_plan_copy(o, r);
    Pull st = {.corr = corr};
    bool ok;
    if (!copy || pull(o, &copy, &st, &ok) != ST_OK) return NULL;
    if (ok && depends(o, copy, &corr)) ok = false;
    if (ok && st.has_default &&
        (kind == JN_SEMI || kind == JN_ANTI || kind == JN_MARK || (kind == JN_LEFT && conds->len > 0)))
        ok = false;
    /* the inner columns of pulled conditions must be visible */
    if (ok) {
        ColSet all = opt_outputs(o, copy);
        colset_add_all(o->c, &all, &lo);
        ColSet outer_free = opt_free(o, copy);
        colset_add_all(o->c, &all, &outer_free);
        for (int64_t i = 0; i < st.conds.len && ok; i++) {
            ColSet used = colset_new(o->c), made = colset_new(o->c);
            expr_cols(o->c, st.conds.items[i], &used);
            (void)made;
            if (!colset_subset(&used, &all)) {
                /* other free columns belong to outer levels: fine, unless r itself makes them */
                ColSet fr_all = fr;
                colset_add_all(o->c, &fr_all, &all);
                if (!colset_subset(&used, &fr_all)) ok = false;
            }
        }
    }
    if (ok) {
        if (st.has_default) {
            Plan *j = join_with_defaults(o, l, copy, &st);
            return kind == JN_INNER ? opt_filter(o, j, conds) : j;
        }
        for (int64_t i = 0; i < conds->len; i++)
            if (opt_push(o, &st.conds, conds->items[i]) != ST_OK) return NULL;
        if (kind == JN_SINGLE) { /* at most one match per row: an ordinary outer join */
            ColSet ro = opt_outputs(o, copy), keys = colset_new(o->c);
            for (int64_t i = 0; i < st.conds.len; i++) {
                Expr *a, *b;
                bool ns;
                if (opt_equi(o, st.conds.items[i], &lo, &ro, &a, &b, &ns) && !ns && b->kind == EX_COL)
                    colset_add(o->c, &keys, b->u.col);
            }
            if (opt_unique(o, copy, &keys)) kind = JN_LEFT;
        }
        return plain_join(o, kind, l, copy, &st.conds, mark);
    }
    return domain_join(o, kind, l, r, conds, mark, &corr, NULL);
}

/* ---- lifting subqueries ------------------------------------------------------------------------ */
/* What EXISTS needs of a plan: rows, not columns. */
static Plan *strip_exists(Plan *p) {
    for (;;) {
        if (p->kind == LP_PROJECT) p = p->children[0];
        else if (p->kind == LP_SORT && p->limit.rows != 0 && p->limit.offset <= 0) p = p->children[0];
        else if (p->kind == LP_LIMIT && p->limit.rows != 0 && p->limit.offset <= 0) p = p->children[0];
        else if (p->kind == LP_AGG && p->agg.n_keys > 0) p = p->children[0];
        else if (p->kind == LP_WINDOW) p = p->children[0];
        else return p;
    }
}
static Plan *cross(Opt *o, Plan *l, Plan *r) {
    if (!l || !r) return NULL;
    if (l->kind == LP_VALUES && l->n_out == 0 && l->values.n_rows == 1) return r;
    return opt_join(o, JN_INNER, l, r, NULL);
}
static bool closed(Opt *o, const Plan *p) {
    ColSet f = opt_free(o, p);
    return opt_set_empty(&f);
}

static ColSet no_cols(Opt *o) { return colset_new(o->c); }

/* r, which has no columns of *child, beside it: one row. *sure false: its columns are NULL where it is not needed. */
static bool beside(Opt *o, Plan **child, Plan *r, const Expr *need, bool *sure) {
    ExprVec none = {0};
    ColSet corr = no_cols(o);
    *sure = !need || !opt_plan_can_fail(r);
    *child = *sure ? cross(o, *child, r) : domain_join(o, JN_LEFT, *child, r, &none, 0, &corr, need);
    return *child != NULL;
}

static Expr *exists_value(Opt *o, Plan **child, Plan *r, const ExprVec *conds, const Expr *need) {
    if (conds->len == 0) {
        r = strip_exists(r);
        if (opt_one_row(r)) return expr_bool(o->c, true);
        if (closed(o, r)) { /* count(*) over its first row */
            AggCall g = {.kind = AGG_COUNT_STAR, .func = opt_agg_func(AGG_COUNT_STAR, type_make(T_INT8))};
            g.out = plan_new_col(o->c, "n", type_make(T_INT8), false);
            Plan *a = opt_agg(o, limit_1(o, r), 0, NULL, NULL, 1, &g);
            bool sure;
            if (!a || !beside(o, child, a, need, &sure)) return NULL;
            return opt_op(o, ">", sure ? opt_col(o, g.out) : opt_coalesce(o, opt_col(o, g.out), opt_int8(o, 0)),
                          opt_int8(o, 0));
        }
    }
    ColId mark = plan_new_col(o->c, "exists", type_make(T_BOOL), true);
    if (mark <= 0) return NULL;
    if (!(*child = dep_join(o, JN_MARK, *child, r, conds, mark, need))) return NULL;
    return opt_unary(o, EX_IS_TRUE, opt_col(o, mark));
}

/* The comparison of x op ANY (subquery) as one condition; its own subqueries are lifted into the left side. */
static Expr *in_condition(Opt *o, Expr *e, Plan **child, const Plan *r, const Expr *need) {
    ExprVec parts = {0};
    ColSet ro = opt_outputs(o, r);
    for (int32_t i = 0; i < e->u.sub.n_cols; i++) {
        Expr *c = lift_expr(o, e->u.sub.compare[i], child, need);
        for (int32_t k = 0; c && need && !opt_const_true(need) && k < c->n_args;
             k++) { /* the left side is for those rows only, too */
            if (!expr_can_fail(c->args[k]) || opt_uses(o, c->args[k], &ro)) continue;
            c->args[k] = opt_case(o, expr_copy(o->c, need), c->args[k], opt_null(o, c->args[k]->type));
            if (!c->args[k]) return NULL;
        }
        if (opt_push(o, &parts, c) != ST_OK) return NULL;
    }
    return opt_fold(o, opt_nary(o, EX_AND, parts.len, parts.items));
}
static bool never_null(Opt *o, Plan *l, Plan *r, const Expr *cond) {
    Plan *tmp = opt_join(o, JN_INNER, l, r, NULL);
    return tmp && opt_expr_nonnull(o, tmp, cond);
}
/* One equality between the sides over an uncorrelated right side: a mark join hashes it and has the rules of NULLs. The
 * left key becomes a column. */
static bool hash_mark(Opt *o, Plan **child, Plan *r, Expr *cond) {
    ColSet ro = opt_outputs(o, r);
    if (!closed(o, r) || !opt_is_op(cond, "=")) return false;
    for (int k = 0; k < 2; k++) {
        Expr *x = cond->args[k], *y = cond->args[1 - k];
        if (!opt_within(o, y, &ro) || !opt_uses(o, y, &ro) || opt_uses(o, x, &ro)) continue;
        if (x->kind == EX_COL) {
            ColSet lo = opt_outputs(o, *child);
            return colset_has(&lo, x->u.col);
        }
        ColSet lo = opt_outputs(o, *child);
        if (!opt_within(o, x, &lo)) return false;
        IdVec ids = {0};
        ExprVec ex = {0};
        ColId id = plan_new_col(o->c, "key", x->type, true);
        if (id <= 0 || opt_out_ids(o, *child, &ids) != ST_OK) return false;
        for (int64_t i = 0; i < ids.len; i++)
            if (opt_push(o, &ex, opt_col(o, ids.items[i])) != ST_OK) return false;
        Expr *col = opt_col(o, id);
        if (!col || !vec_push(o->a, &ids, id) || opt_push(o, &ex, x) != ST_OK) return false;
        Plan *p = opt_project(o, *child, ids.len, ids.items, ex.items);
        if (!p) return false;
        *child = p;
        cond->args[k] = col;
        cond->folded = false;
        return true;
    }
    return false;
}
static Plan *mark_join(Opt *o, Plan *child, Plan *r, Expr *cond, ColId mark, const Expr *need) {
    ExprVec conds = {0};
    ColSet corr = no_cols(o);
    if (opt_push(o, &conds, cond) != ST_OK) return NULL;
    bool guard = need && opt_plan_can_fail(r);
    Plan *top = guard ? domain_join(o, JN_MARK, child, r, &conds, mark, &corr, need)
                      : plain_join(o, JN_MARK, child, r, &conds, mark);
    Plan *j = top && guard ? top->children[1]->children[1] : top; /* below the two CTEs */
    if (j) j->join.mark_exists = false;
    return top;
}
static Plan *drop_order(Plan *r) {
    while (r->kind == LP_SORT && r->limit.rows < 0 && r->limit.offset <= 0) r = r->children[0];
    return r;
}

/* x op ANY and x op ALL of a subquery's values y, for an order, = ALL and <> ANY: the least or greatest y decides,
 * which one aggregation finds. NULLs among y are counted; they make NULL of an answer that the others leave open, and
 * without rows ANY is false and ALL true. */
typedef struct Bounds {
    Expr *hit;   /* x op y for some or all y that are not NULL; NULL where there are none, or x is NULL */
    Expr *empty; /* there are no rows */
    Expr *known; /* no y is NULL; none when that is certain */
} Bounds;

static bool can_pull(Opt *o, const Plan *l, const Plan *r) {
    ColSet lo = opt_outputs(o, l), fr = opt_free(o, r);
    Pull st = {.corr = opt_set_and(o, &lo, &fr)};
    Plan *copy = opt_plan_copy(o, r);
    bool ok = false;
    return copy && pull(o, &copy, &st, &ok) == ST_OK && ok && !depends(o, copy, &st.corr);
}
/* Adds min or max of y; answers the comparison with it in y's place. */
static Expr *compare_bound(Opt *o, Expr *cond, int y, bool greatest, AggCall *call) {
    Err none = {0}, *err = o->err;
    Type type = cond->args[y]->type, ret;
    o->err = &none;
    Status st = opt_agg_call(o, greatest ? "max" : "min", expr_copy(o->c, cond->args[y]), call, &ret);
    o->err = err;
    if (st != ST_OK || !(type_eq(ret, type) || cast_is_noop(ret, type))) return NULL;
    call->out = plan_new_col(o->c, greatest ? "greatest" : "least", ret, true);
    Expr *e = expr_copy(o->c, cond);
    if (!e || !(e->args[y] = opt_cast(o, opt_col(o, call->out), type))) return NULL;
    return e;
}
/* Joins the aggregation to *child and fills *b. *ok: the comparison is of that form, and the aggregation does not
 * depend on *child in ways that would make it a loop again. */
static Status find_bounds(Opt *o, Plan **child, Plan *r, Expr *cond, bool all, const Expr *need, Bounds *b, bool *ok) {
    *ok = false;
    ColSet ro = opt_outputs(o, r);
    if (cond->kind != EX_FUNC || cond->n_args != 2 || !(cond->u.func->flags & FN_OPERATOR)) return ST_OK;
    const char *op = cond->u.func->name;
    int y = opt_uses(o, cond->args[1], &ro) ? 1 : 0;
    Expr *value = cond->args[y], *x = cond->args[1 - y];
    if (opt_uses(o, x, &ro) || !opt_within(o, value, &ro) || !opt_uses(o, value, &ro)) return ST_OK;
    if (opt_is_domain_fallible(value) || expr_is_volatile(value) || expr_is_volatile(x)) return ST_OK;
    bool less = op[0] == '<' && strcmp(op, "<>") != 0, greater = op[0] == '>', both = strcmp(op, all ? "=" : "<>") == 0;
    if (!both && (!(less || greater) || (op[1] && strcmp(op + 1, "=") != 0))) return ST_OK;
    bool greatest = (less == (y == 1)) != all; /* x < some y: the greatest; x < all y: the least */
    AggCall calls[4] = {0};
    int n = 0;
    Expr *hit = compare_bound(o, cond, y, greatest, &calls[n++]);
    if (hit && both) hit = opt_pair(o, all ? EX_AND : EX_OR, hit, compare_bound(o, cond, y, !greatest, &calls[n++]));
    if (!hit) return ST_OK;
    bool nulls = !opt_expr_nonnull(o, r, value);
    Type i8;
    calls[n] = (AggCall){.kind = AGG_COUNT_STAR, .func = opt_agg_func(AGG_COUNT_STAR, type_make(T_INT8))};
    ColId rows = calls[n++].out = plan_new_col(o->c, "n_rows", type_make(T_INT8), false), values = 0;
    if (nulls) {
        TRY(opt_agg_call(o, "count", expr_copy(o->c, value), &calls[n], &i8));
        values = calls[n++].out = plan_new_col(o->c, "n_values", i8, false);
    }
    Plan *agg = opt_agg(o, r, 0, NULL, NULL, n, calls);
    if (!agg) return ST_ERROR;
    if (closed(o, r)) {
        bool sure;
        if (!beside(o, child, agg, need, &sure)) return ST_ERROR;
    } else {
        ExprVec none = {0};
        if (!can_pull(o, *child, agg)) return err_is_set(o->err) ? ST_ERROR : ST_OK;
        *child = dep_join(o, JN_SINGLE, *child, agg, &none, 0, need);
    }
    *b = (Bounds){.hit = hit, .empty = opt_op(o, "=", opt_col(o, rows), opt_int8(o, 0))};
    if (nulls) b->known = opt_op(o, "=", opt_col(o, values), opt_col(o, rows));
    *ok = true;
    return *child && b->empty && (b->known || !nulls) ? ST_OK : ST_ERROR;
}
/* The three-valued answer. */
static Expr *bounds_value(Opt *o, const Bounds *b, bool all) {
    Expr *e = b->hit, *unknown = opt_null(o, type_make(T_BOOL));
    if (b->known) e = opt_pair(o, all ? EX_AND : EX_OR, e, opt_case(o, b->known, expr_bool(o->c, all), unknown));
    return all ? opt_pair(o, EX_OR, b->empty, e) : opt_pair(o, EX_AND, opt_unary(o, EX_NOT, b->empty), e);
}
/* What is true exactly where the answer, or its negation, is. */
static Expr *bounds_condition(Opt *o, const Bounds *b, bool all, bool negated) {
    Expr *e = negated ? opt_unary(o, EX_NOT, b->hit) : b->hit;
    if (all == negated) return e;
    if (b->known) e = opt_pair(o, EX_AND, e, b->known);
    return opt_pair(o, EX_OR, b->empty, e);
}

static Expr *in_value(Opt *o, Expr *e, Plan **child, Plan *r, const Expr *need) {
    Expr *cond = in_condition(o, e, child, r, need);
    Bounds bounds;
    bool ok;
    if (!cond || find_bounds(o, child, r, cond, e->all, need, &bounds, &ok) != ST_OK) return NULL;
    if (ok) return opt_fold(o, bounds_value(o, &bounds, e->all));
    if (e->all && !(cond = opt_fold(o, opt_unary(o, EX_NOT, cond)))) return NULL;
    Expr *result;
    if (never_null(o, *child, r, cond)) {
        ExprVec conds = {0};
        if (opt_push(o, &conds, cond) != ST_OK) return NULL;
        result = exists_value(o, child, r, &conds, need);
    } else if (hash_mark(o, child, r, cond)) {
        ColId mark = plan_new_col(o->c, "in", type_make(T_BOOL), true);
        if (mark <= 0 || !(*child = mark_join(o, *child, r, cond, mark, need))) return NULL;
        result = opt_col(o, mark);
    } else {
        MapVec map = {0};
        Plan *r2 = opt_plan_copy_fresh(o, r, &map);
        Expr *c2 = expr_copy(o->c, cond);
        if (!r2 || !c2) return NULL;
        expr_remap(c2, map.len, map.items);
        ExprVec k1 = {0}, k2 = {0};
        if (opt_push(o, &k1, cond) != ST_OK || opt_push(o, &k2, opt_unary(o, EX_IS_NULL, c2)) != ST_OK) return NULL;
        Expr *yes = exists_value(o, child, r, &k1, need), *null = exists_value(o, child, r2, &k2, need);
        result = opt_case(o, yes, expr_bool(o->c, true),
                          opt_case(o, null, opt_null(o, type_make(T_BOOL)), expr_bool(o->c, false)));
    }
    return e->all ? opt_unary(o, EX_NOT, result) : result;
}

static Expr *scalar_value(Opt *o, Expr *e, Plan **child, Plan *r, const Expr *need) {
    ColId col = e->u.sub.cols[0];
    r = drop_order(r);
    if (r->kind == LP_PROJECT && r->children[0]->kind == LP_VALUES && r->children[0]->n_out == 0 &&
        r->children[0]->values.n_rows == 1) {
        for (int32_t i = 0; i < r->n_out; i++)
            if (r->out_cols[i] == col &&
                !(expr_is_volatile(r->exprs[i]) &&
                  closed(o, r))) /* (select x + 1); (select random()) is one value for all rows */
                return opt_cast(o, r->exprs[i], e->type);
    }
    ExprVec none = {0};
    if (closed(o, r)) {
        if (!opt_one_row(r)) {
            AggCall g = {.kind = AGG_SINGLE, .arg = opt_col(o, col)};
            if (!g.arg) return NULL;
            g.func = opt_agg_func(AGG_SINGLE, g.arg->type);
            g.out = opt_new_like(o, col);
            if (g.out <= 0) return NULL;
            o->c->cols.items[g.out].nullable = true;
            r = opt_agg(o, r, 0, NULL, NULL, 1, &g);
            col = g.out;
        }
        bool sure;
        if (!beside(o, child, r, need, &sure)) return NULL;
    } else if (!(*child = dep_join(o, JN_SINGLE, *child, r, &none, 0, need))) return NULL;
    return opt_cast(o, opt_col(o, col), e->type);
}

/* Whether argument i of e is needed, as far as the arguments in front of it, lifted already, decide that: c1 and c2 and
 * ..., each looked at only when those before it are true. */
static Expr *path_need(Opt *o, const Expr *e, int32_t i, const Expr *need) {
    ExprVec conds = {0};
    bool is_case = e->kind == EX_CASE, then = is_case && i % 2 == 1;
    if (opt_push(o, &conds, expr_copy(o->c, need)) != ST_OK) return NULL;
    for (int32_t k = 0; k < i; k++) {
        if (expr_is_volatile(e->args[k]) || opt_has_subquery(e->args[k])) continue;
        ExprKind test = EX_IS_NOT_TRUE;
        if (is_case && k % 2 == 1) continue;
        if (then && k == i - 1) test = EX_IS_TRUE;
        if (e->kind == EX_AND) test = EX_IS_NOT_FALSE;
        else if (e->kind == EX_COALESCE) test = EX_IS_NULL;
        else if (e->kind != EX_OR && !is_case) continue;
        if (opt_push(o, &conds, opt_unary(o, test, expr_copy(o->c, e->args[k]))) != ST_OK) return NULL;
    }
    Expr *all = conds.items[conds.len - 1];
    for (int64_t k = conds.len - 1; all && k-- > 0;)
        if (!opt_const_true(conds.items[k])) all = opt_case(o, conds.items[k], all, expr_bool(o->c, false));
    return all ? opt_fold(o, all) : NULL;
}

static Expr *lift_expr(Opt *o, Expr *e, Plan **child, const Expr *need) {
    if (stack_check(o->err) != ST_OK) return NULL;
    if (!e || !opt_has_subquery(e)) return e;
    if (e->kind != EX_SUBQUERY) {
        for (int32_t i = 0; i < e->n_args; i++) {
            if (!opt_has_subquery(e->args[i])) continue;
            const Expr *here = need ? path_need(o, e, i, need) : NULL;
            if (need && !here) return NULL;
            if (!(e->args[i] = lift_expr(o, e->args[i], child, here))) return NULL;
        }
        e->folded = false;
        return opt_fold(o, e);
    }
    Plan *r = lift_plan(o, e->u.sub.plan);
    if (!r) return NULL;
    ExprVec none = {0};
    switch ((SubqueryKind)e->subquery) {
    case SQ_EXISTS: return exists_value(o, child, r, &none, need);
    case SQ_IN: return in_value(o, e, child, drop_order(r), need);
    case SQ_SCALAR: return scalar_value(o, e, child, r, need);
    }
    return NULL;
}
/* An expression of p that is computed for every row of its child. */
static Expr *lift_all(Opt *o, Expr *e, Plan **child) {
    if (!opt_has_subquery(e)) return e;
    Expr *need = o->c->guarded ? expr_bool(o->c, true) : NULL;
    return o->c->guarded && !need ? NULL : lift_expr(o, e, child, need);
}

static Status lift_conjunct(Opt *o, Plan **child, Expr *e, ExprVec *keep) {
    TRY(stack_check(o->err));
    if (!opt_has_subquery(e)) return opt_push(o, keep, e);
    if (e->kind == EX_AND) {
        for (int32_t i = 0; i < e->n_args; i++) TRY(lift_conjunct(o, child, e->args[i], keep));
        return ST_OK;
    }
    const Expr *need = NULL;
    if (o->c->guarded && !(need = expr_bool(o->c, true))) return ST_ERROR;
    bool neg = false;
    Expr *x = e;
    while (x->kind == EX_NOT) {
        neg = !neg;
        x = x->args[0];
    }
    ExprVec conds = {0};
    if (x->kind == EX_SUBQUERY && x->subquery == SQ_EXISTS) {
        Plan *r = lift_plan(o, x->u.sub.plan);
        if (!r) return ST_ERROR;
        r = strip_exists(r);
        if (opt_one_row(r)) return neg ? opt_push(o, keep, expr_bool(o->c, false)) : ST_OK;
        if (closed(o, r)) {
            if (!neg && need && opt_plan_can_fail(r)) {
                ColSet corr = no_cols(o);
                *child = domain_join(o, JN_INNER, *child, limit_1(o, r), &conds, 0, &corr, need);
                return *child ? ST_OK : ST_ERROR;
            }
            if (!neg) {
                *child = cross(o, *child, opt_project(o, limit_1(o, r), 0, NULL, NULL));
                return *child ? ST_OK : ST_ERROR;
            }
            Expr *v = exists_value(o, child, r, &conds, need);
            return opt_push(o, keep, opt_fold(o, opt_unary(o, EX_NOT, v)));
        }
        *child = dep_join(o, neg ? JN_ANTI : JN_SEMI, *child, r, &conds, 0, need);
        return *child ? ST_OK : ST_ERROR;
    }
    if (x->kind == EX_SUBQUERY && x->subquery == SQ_IN) {
        Plan *r = lift_plan(o, x->u.sub.plan);
        if (!r) return ST_ERROR;
        r = drop_order(r);
        Expr *cond = in_condition(o, x, child, r, need);
        Bounds bounds;
        bool ok;
        if (!cond) return ST_ERROR;
        TRY(find_bounds(o, child, r, cond, x->all, need, &bounds, &ok));
        if (ok) return opt_push(o, keep, opt_fold(o, bounds_condition(o, &bounds, x->all, neg)));
        /* ALL (c) = NOT ANY (NOT c) */
        if (x->all && !(cond = opt_fold(o, opt_unary(o, EX_NOT, cond)))) return ST_ERROR;
        bool want = neg == x->all; /* some row makes cond true */
        if (!want && !never_null(o, *child, r, cond)) {
            if (hash_mark(o, child, r, cond)) {
                ColId mark = plan_new_col(o->c, "in", type_make(T_BOOL), true);
                if (mark <= 0 || !(*child = mark_join(o, *child, r, cond, mark, need))) return ST_ERROR;
                return opt_push(o, keep, opt_unary(o, EX_NOT, opt_col(o, mark)));
            }
            cond = opt_unary(o, EX_IS_NOT_FALSE, cond);
        }
        TRY(opt_split(o, cond, &conds));
        *child = dep_join(o, want ? JN_SEMI : JN_ANTI, *child, r, &conds, 0, need);
        return *child ? ST_OK : ST_ERROR;
    }
    return opt_push(o, keep, lift_all(o, e, child));
}

typedef struct Lift {
    Plan **child;
} Lift;
static Status lift_fn(Opt *o, Expr **e, void *ctx) {
    *e = lift_all(o, *e, ((Lift *)ctx)->child);
    return *e ? ST_OK : ST_ERROR;
}

static Plan *lift_filter(Opt *o, Plan *child, int64_t n, Expr *const *conds) {
    ExprVec keep = {0};
    /* plain conditions first: below the joins that the subqueries become */
    for (int64_t i = 0; i < n; i++)
        if (!opt_has_subquery(conds[i]) && opt_push(o, &keep, conds[i]) != ST_OK) return NULL;
    child = opt_filter(o, child, &keep);
    keep.len = 0;
    for (int64_t i = 0; child && i < n; i++) {
        if (opt_has_subquery(conds[i]) && lift_conjunct(o, &child, conds[i], &keep) != ST_OK) return NULL;
        if (!o->c->guarded) continue;
        child = opt_filter(o, child, &keep); /* the next one is for rows that pass */
        keep.len = 0;
    }
    return opt_filter(o, child, &keep);
}

/* Whether a subquery in an outer join's condition uses columns of both sides. */
static bool spans_sides(Opt *o, const Plan *p, const Expr *e) {
    if (stack_stop()) return false;
    if (e->kind == EX_SUBQUERY) {
        ColSet used = colset_new(o->c), lo = opt_outputs(o, p->children[0]), ro = opt_outputs(o, p->children[1]);
        expr_cols(o->c, e, &used);
        return colset_intersects(&used, &lo) && colset_intersects(&used, &ro);
    }
    for (int32_t i = 0; i < e->n_args; i++)
        if (spans_sides(o, p, e->args[i])) return true;
    return false;
}

/* Others are computed on the side whose columns they use. */
static Status lift_join_cond(Opt *o, Plan *p, Expr **e) {
    TRY(stack_check(o->err));
    if (!opt_has_subquery(*e)) return ST_OK;
    if ((*e)->kind == EX_SUBQUERY) {
        ColSet used = colset_new(o->c), lo = opt_outputs(o, p->children[0]);
        expr_cols(o->c, *e, &used);
        *e = lift_all(o, *e, &p->children[colset_intersects(&used, &lo) ? 0 : 1]);
        return *e ? ST_OK : ST_ERROR;
    }
    (*e)->folded = false;
    for (int32_t i = 0; i < (*e)->n_args; i++) TRY(lift_join_cond(o, p, &(*e)->args[i]));
    return ST_OK;
}

/* What is kept of l with a condition on both sides: l LEFT JOIN LATERAL (r WHERE spanning) ON plain, which is the join
 * itself; or (ANTI) the rows of l without a match. */
static Plan *lateral_join(Opt *o, JoinKind kind, Plan *l, Plan *r, const ExprVec *plain, const ExprVec *spanning) {
    const Expr *need = o->c->guarded ? expr_bool(o->c, true) : NULL;
    r = lift_filter(o, r, spanning->len, spanning->items);
    return r && (need || !o->c->guarded) ? dep_join(o, kind, l, r, plain, 0, need) : NULL;
}

/* One of several uses of a plan that a CTE makes: a scan under new ids, and `conds` about those. */
typedef struct Side {
    int64_t cte, n;
    const ColId *ids, *def; /* as they are named in the join; as they are in the CTE */
} Side;
static Plan *use_side(Opt *o, const Side *side, ColId *out, ExprVec *plain, ExprVec *spanning) {
    Expr **to = arena_array(o->a, Expr *, side->n + 1);
    if (!to) return NULL;
    for (int64_t i = 0; i < side->n; i++)
        if ((out[i] = opt_new_like(o, side->ids[i])) <= 0 || !(to[i] = opt_col(o, out[i]))) return NULL;
    for (int64_t i = 0; i < plain->len; i++)
        if (!(plain->items[i] = opt_subst(o, plain->items[i], side->n, side->ids, to))) return NULL;
    for (int64_t i = 0; i < spanning->len; i++)
        if (!(spanning->items[i] = opt_subst(o, spanning->items[i], side->n, side->ids, to))) return NULL;
    return opt_cte_scan(o, side->cte, side->n, out, side->def);
}
static Status copy_conds(Opt *o, const ExprVec *from, ExprVec *to) {
    *to = (ExprVec){0};
    for (int64_t i = 0; i < from->len; i++) TRY(opt_push(o, to, expr_copy(o->c, from->items[i])));
    return ST_OK;
}

/* FULL: the LEFT join, and the rows of the right side without a match. Both sides are used twice. */
static Plan *full_join(Opt *o, Plan *p, const ExprVec *plain, const ExprVec *spanning) {
    Side side[2];
    IdVec ids[2] = {{0}, {0}};
    Plan *l[2], *r[2];
    ColId *lout[2], *rout[2];
    for (int i = 0; i < 2; i++) {
        MapVec map = {0};
        if (opt_out_ids(o, p->children[i], &ids[i]) != ST_OK || opt_plan_rename(o, p->children[i], &map) != ST_OK)
            return NULL;
        ColId *def = arena_array(o->a, ColId, ids[i].len + 1);
        if (!def) return NULL;
        for (int64_t k = 0; k < ids[i].len; k++) def[k] = opt_mapped(&map, ids[i].items[k]);
        side[i] = (Side){++o->c->n_ctes, ids[i].len, ids[i].items, def};
    }
    const int64_t nl = side[0].n, n = nl + side[1].n;
    Plan *j[2];
    Plan *both = plan_new(o->c, LP_SETOP, 2), *cl = plan_new(o->c, LP_CTE, 2), *cr = plan_new(o->c, LP_CTE, 2);
    if (!both || !cl || !cr || !(both->set.cols = arena_array(o->a, ColId *, 2)) ||
        !(both->out_cols = arena_array(o->a, ColId, n + 1)))
        return NULL;
    for (int i = 0; i < 2; i++) {
        ExprVec a, b;
        lout[i] = arena_array(o->a, ColId, nl + 1);
        rout[i] = arena_array(o->a, ColId, side[1].n + 1);
        if (!lout[i] || !rout[i] || copy_conds(o, plain, &a) != ST_OK || copy_conds(o, spanning, &b) != ST_OK)
            return NULL;
        l[i] = use_side(o, &side[0], lout[i], &a, &b);
        r[i] = l[i] ? use_side(o, &side[1], rout[i], &a, &b) : NULL;
        if (!r[i] || !(j[i] = i == 0 ? lateral_join(o, JN_LEFT, l[i], r[i], &a, &b)
                                     : lateral_join(o, JN_ANTI, r[i], l[i], &a, &b)))
            return NULL;
    }
    Expr **exprs = arena_array(o->a, Expr *, n + 1);
    ColId *out = arena_array(o->a, ColId, n + 1), *first = arena_array(o->a, ColId, n + 1);
    if (!exprs || !out || !first) return NULL;
    for (int64_t i = 0; i < n; i++) {
        both->out_cols[i] = i < nl ? side[0].ids[i] : side[1].ids[i - nl];
        first[i] = i < nl ? lout[0][i] : rout[0][i - nl];
        out[i] = i < nl ? opt_new_like(o, side[0].ids[i]) : rout[1][i - nl];
        exprs[i] = i < nl ? opt_null(o, o->c->cols.items[side[0].ids[i]].type) : opt_col(o, out[i]);
        if (!exprs[i] || out[i] <= 0) return NULL;
    }
    both->set.op = SO_UNION_ALL;
    both->n_out = (int32_t)n;
    both->set.cols[0] = first;
    both->set.cols[1] = out;
    both->children[0] = j[0];
    if (!(both->children[1] = opt_project(o, j[1], n, out, exprs))) return NULL;
    cl->cte.id = side[0].cte;
    cl->children[0] = p->children[0];
    cl->children[1] = cr;
    cr->cte.id = side[1].cte;
    cr->children[0] = p->children[1];
    cr->children[1] = both;
    return cl;
}

/* An outer join with subqueries in its condition. */
static Plan *lift_outer_join(Opt *o, Plan *p) {
    ExprVec plain = {0}, spanning = {0};
    for (int32_t i = 0; i < p->n_conds; i++) {
        bool spans = spans_sides(o, p, p->conds[i]);
        if (!spans && lift_join_cond(o, p, &p->conds[i]) != ST_OK) return NULL;
        if (opt_push(o, spans ? &spanning : &plain, p->conds[i]) != ST_OK) return NULL;
    }
    if (spanning.len == 0) {
        p->conds = plain.items;
        p->n_conds = (int32_t)plain.len;
        return p;
    }
    for (int64_t i = 0; i < spanning.len; i++)
        if (expr_is_volatile(spanning.items[i])) {
            err_at(o->err, spanning.items[i]->location, ERR_FEATURE_NOT_SUPPORTED,
                   "a volatile function beside a subquery over both sides of an outer join is not supported");
            return NULL;
        }
    switch ((JoinKind)p->join.kind) {
    case JN_LEFT: return lateral_join(o, JN_LEFT, p->children[0], p->children[1], &plain, &spanning);
    case JN_RIGHT: return lateral_join(o, JN_LEFT, p->children[1], p->children[0], &plain, &spanning);
    case JN_FULL: return full_join(o, p, &plain, &spanning);
    default: err_internal(o->err, "a subquery over both sides of join kind %d", (int)p->join.kind); return NULL;
    }
}

static Plan *lift_values(Opt *o, Plan *p) {
    if (p->values.cells) return p;
    ColId **sets = arena_array(o->a, ColId *, p->values.n_rows + 1);
    Plan **ch = arena_array(o->a, Plan *, p->values.n_rows + 1);
    if (!sets || !ch) return NULL;
    for (int64_t r = 0; r < p->values.n_rows; r++) {
        Plan *one = plan_new(o->c, LP_VALUES, 0);
        sets[r] = arena_array(o->a, ColId, p->n_out + 1);
        if (!one || !sets[r]) return NULL;
        one->values.n_rows = 1;
        if (!(one->values.rows = arena_array(o->a, Expr **, 1)) ||
            !(one->values.rows[0] = arena_array(o->a, Expr *, 1)))
            return NULL;
        for (int32_t i = 0; i < p->n_out; i++) {
            if (!(p->values.rows[r][i] = lift_all(o, p->values.rows[r][i], &one))) return NULL;
            sets[r][i] = p->values.n_rows == 1 ? p->out_cols[i] : opt_new_like(o, p->out_cols[i]);
        }
        if (!(ch[r] = opt_project(o, one, p->n_out, sets[r], p->values.rows[r]))) return NULL;
    }
    if (p->values.n_rows == 1) return ch[0];
    Plan *un = plan_new(o->c, LP_SETOP, (int32_t)p->values.n_rows);
    if (!un) return NULL;
    un->set.op = SO_UNION_ALL;
    un->children = ch;
    un->set.cols = sets;
    un->out_cols = p->out_cols;
    un->n_out = p->n_out;
    return un;
}
static Status has_sub_fn(Opt *o, Expr **e, void *ctx) {
    (void)o;
    if (opt_has_subquery(*e)) *(bool *)ctx = true;
    return ST_OK;
}

static Plan *lift_plan(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = lift_plan(o, p->children[i]))) return NULL;
    bool sub = false;
    if (opt_each_expr(o, p, has_sub_fn, &sub) != ST_OK) return NULL;
    if (p->kind == LP_JOIN) {
        ExprVec plain = {0}, with = {0};
        for (int32_t i = 0; i < p->n_conds; i++)
            if (opt_push(o, opt_has_subquery(p->conds[i]) ? &with : &plain, p->conds[i]) != ST_OK) return NULL;
        if (with.len > 0 && p->join.kind != JN_INNER) {
            Plan *lifted = lift_outer_join(o, p);
            if (lifted != p) return lifted;
            with.len = 0;
            plain.len = 0;
            for (int32_t i = 0; i < p->n_conds; i++)
                if (opt_push(o, &plain, p->conds[i]) != ST_OK) return NULL;
        }
        if (p->join.dependent) p = dep_join(o, (JoinKind)p->join.kind, p->children[0], p->children[1], &plain, 0, NULL);
        else {
            p->conds = plain.items;
            p->n_conds = (int32_t)plain.len;
        }
        if (!p) return NULL;
        p->join.dependent = false;
        return with.len ? lift_filter(o, p, with.len, with.items) : p;
    }
    if (!sub) return p;
    switch ((PlanKind)p->kind) {
    case LP_FILTER: return lift_filter(o, p->children[0], p->n_conds, p->conds);
    case LP_PROJECT:
    case LP_WINDOW:
    case LP_AGG: {
        Lift l = {&p->children[0]};
        return opt_each_expr(o, p, lift_fn, &l) == ST_OK ? p : NULL;
    }
    case LP_VALUES: return lift_values(o, p);
    case LP_SCAN: {
        int32_t n = p->n_conds;
        p->n_conds = 0;
        return lift_filter(o, p, n, p->conds);
    }
    default: err_set(o->err, ERR_FEATURE_NOT_SUPPORTED, "a subquery is not supported here"); return NULL;
    }
}

Plan *opt_decorrelate(Opt *o, Plan *p) { return lift_plan(o, p); }
