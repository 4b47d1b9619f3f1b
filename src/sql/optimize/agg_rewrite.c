/* agg_rewrite.c - aggregates, set operations and CTEs in terms of what the executor has.
 *
 * Set operations (before decorrelation, also inside subqueries): only UNION ALL and recursive ones stay. Rows are
 * compared null-safely.
 *
 * Aggregates (after decorrelation):
 *   FILTER (WHERE f)     moves into the argument: CASE WHEN f THEN x END
 *   avg(x)               sum(x) / count(x), shared with sums and counts that are there anyway
 *   one DISTINCT set     two levels: group by keys and argument, then aggregate; the others re-aggregate
 *   several              one aggregation per set over a shared CTE, joined on the keys
 *
 * Group keys that another key determines become AGG_ANY (opt_group_keys, after join ordering does not matter: before
 * it). */
#include "sql/optimize/optimize_int.h"

/* ---- set operations -------------------------------------------------------------------------- */
static Plan *distinct_of(Opt *o, Plan *child, int64_t n, const ColId *in, const ColId *out, ColId count) {
    Expr **keys = arena_array(o->a, Expr *, n + 1);
    if (!keys) return NULL;
    for (int64_t i = 0; i < n; i++) keys[i] = opt_col(o, in[i]);
    AggCall g = {.kind = AGG_COUNT_STAR, .func = opt_agg_func(AGG_COUNT_STAR, type_make(T_INT8)), .out = count};
    return opt_agg(o, child, n, out, keys, count > 0 ? 1 : 0, &g);
}
static ColId *fresh_like(Opt *o, int64_t n, const ColId *ids) {
    ColId *r = arena_array(o->a, ColId, n + 1);
    for (int64_t i = 0; r && i < n; i++)
        if ((r[i] = opt_new_like(o, ids[i])) <= 0) return NULL;
    return r;
}
static Status same_conds(Opt *o, int64_t n, const ColId *a, const ColId *b, const Plan *pa, const Plan *pb,
                         ExprVec *out) {
    for (int64_t i = 0; i < n; i++) {
        Expr *x = opt_col(o, a[i]), *y = opt_col(o, b[i]);
        bool nn = (pa && opt_col_nonnull(o, pa, a[i])) || (pb && opt_col_nonnull(o, pb, b[i]));
        TRY(opt_push(o, out, nn ? opt_op(o, "=", x, y) : opt_pair(o, EX_NOT_DISTINCT, x, y)));
    }
    return ST_OK;
}
static Plan *setop(Opt *o, Plan *p) {
    int64_t n = p->n_out;
    Plan *l = p->children[0], *r = p->n_children > 1 ? p->children[1] : NULL;
    if (p->set.op == SO_UNION_ALL || p->set.op == SO_RECURSIVE_ALL || p->set.op == SO_RECURSIVE) return p;
    if (p->set.op == SO_UNION) {
        ColId *ids = fresh_like(o, n, p->out_cols), *out = p->out_cols;
        if (!ids) return NULL;
        p->set.op = SO_UNION_ALL;
        p->out_cols = ids;
        return distinct_of(o, p, n, ids, out, 0);
    }
    ExprVec conds = {0};
    if (p->set.op == SO_INTERSECT || p->set.op == SO_EXCEPT) {
        Plan *d = distinct_of(o, l, n, p->set.cols[0], p->out_cols, 0);
        if (!d || same_conds(o, n, p->out_cols, p->set.cols[1], d, r, &conds) != ST_OK) return NULL;
        return opt_join(o, p->set.op == SO_INTERSECT ? JN_SEMI : JN_ANTI, d, r, &conds);
    }
    /* ALL: count equal rows per side */
    Type i8 = type_make(T_INT8);
    ColId ca = plan_new_col(o->c, "n_left", i8, false), cb = plan_new_col(o->c, "n_right", i8, true),
          cr = plan_new_col(o->c, "n", i8, false);
    ColId *rk = fresh_like(o, n, p->out_cols);
    if (!rk || ca <= 0 || cb <= 0 || cr <= 0) return NULL;
    Plan *a = distinct_of(o, l, n, p->set.cols[0], p->out_cols, ca), *b = distinct_of(o, r, n, p->set.cols[1], rk, cb);
    if (!a || !b || same_conds(o, n, p->out_cols, rk, a, b, &conds) != ST_OK) return NULL;
    bool inter = p->set.op == SO_INTERSECT_ALL;
    Plan *j = opt_join(o, inter ? JN_INNER : JN_LEFT, a, b, &conds);
    Expr *count = inter ? opt_case(o, opt_op(o, "<", opt_col(o, ca), opt_col(o, cb)), opt_col(o, ca), opt_col(o, cb))
                        : opt_op(o, "-", opt_col(o, ca), opt_coalesce(o, opt_col(o, cb), opt_int8(o, 0)));
    ColId *ids = arena_array(o->a, ColId, n + 1);
    Expr **ex = arena_array(o->a, Expr *, n + 1);
    if (!ids || !ex) return NULL;
    for (int64_t i = 0; i < n; i++) {
        ids[i] = p->out_cols[i];
        ex[i] = opt_col(o, ids[i]);
    }
    ids[n] = cr;
    ex[n] = count;
    Plan *pr = opt_project(o, j, n + 1, ids, ex);
    if (!inter) {
        ExprVec pos = {0};
        if (opt_push(o, &pos, opt_op(o, ">", opt_col(o, cr), opt_int8(o, 0))) != ST_OK) return NULL;
        pr = opt_filter(o, pr, &pos);
    }
    Plan *rep = plan_new(o->c, LP_REPEAT, 1);
    if (!rep || !pr) return NULL;
    rep->children[0] = pr;
    rep->count_col = cr;
    return rep;
}
static Status setops_expr(Opt *o, Expr **e, void *ctx) {
    TRY(stack_check(o->err));
    TRY(opt_each_arg(o, *e, setops_expr, ctx));
    if ((*e)->kind == EX_SUBQUERY && !((*e)->u.sub.plan = opt_setops(o, (*e)->u.sub.plan))) return ST_ERROR;
    return ST_OK;
}
Plan *opt_setops(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = opt_setops(o, p->children[i]))) return NULL;
    if (opt_each_expr(o, p, setops_expr, NULL) != ST_OK) return NULL;
    return p->kind == LP_SETOP ? setop(o, p) : p;
}

/* ---- CTEs ---------------------------------------------------------------------------------------- */
typedef struct CteUse {
    int64_t id, n;
    Plan *scan; /* replaced by `with` when set */
    Plan *def;
    bool replace;
    bool last_takes_def;
} CteUse;
static Status cte_uses(Opt *o, Plan **pp, CteUse *u);
static Status cte_uses_expr(Opt *o, Expr **e, void *ctx) {
    TRY(stack_check(o->err));
    TRY(opt_each_arg(o, *e, cte_uses_expr, ctx));
    return (*e)->kind == EX_SUBQUERY ? cte_uses(o, &(*e)->u.sub.plan, ctx) : ST_OK;
}
static Status cte_uses(Opt *o, Plan **pp, CteUse *u) {
    TRY(stack_check(o->err));
    Plan *p = *pp;
    if (p->kind == LP_CTE_SCAN && p->cte.id == u->id) {
        u->n++;
        if (u->replace) {
            MapVec map = {0};
            Plan *def = u->last_takes_def ? u->def : opt_plan_copy_fresh(o, u->def, &map);
            Expr **ex = arena_array(o->a, Expr *, p->n_out + 1);
            if (!def || !ex) return ST_ERROR;
            for (int32_t i = 0; i < p->n_out; i++) ex[i] = opt_col(o, opt_mapped(&map, p->cte.cols[i]));
            *pp = opt_project(o, def, p->n_out, p->out_cols, ex);
            return *pp ? ST_OK : ST_ERROR;
        }
        return ST_OK;
    }
    for (int32_t i = 0; i < p->n_children; i++) TRY(cte_uses(o, &p->children[i], u));
    return opt_each_expr(o, p, cte_uses_expr, u);
}
/* Scans with filters and projections only: cheaper to repeat, with other predicates each time. */
static bool cheap_definition(const Plan *p) {
    if (p->kind == LP_SCAN) return true;
    return (p->kind == LP_FILTER || p->kind == LP_PROJECT) && cheap_definition(p->children[0]);
}
static Status inline_expr(Opt *o, Expr **e, void *ctx) {
    TRY(stack_check(o->err));
    TRY(opt_each_arg(o, *e, inline_expr, ctx));
    if ((*e)->kind == EX_SUBQUERY && !((*e)->u.sub.plan = opt_inline_ctes(o, (*e)->u.sub.plan))) return ST_ERROR;
    return ST_OK;
}
Plan *opt_inline_ctes(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = opt_inline_ctes(o, p->children[i]))) return NULL;
    if (opt_each_expr(o, p, inline_expr, NULL) != ST_OK) return NULL;
    if (p->kind != LP_CTE) return p;
    CteUse u = {.id = p->cte.id};
    if (cte_uses(o, &p->children[1], &u) != ST_OK) return NULL;
    if (opt_plan_volatile(p->children[0])) return p;
    if (u.n == 0) return p->children[1];
    if (p->cte.materialized) return p;
    if (u.n > 1 && !p->cte.inlined && !(u.n <= 4 && cheap_definition(p->children[0]))) return p;
    u.replace = true;
    u.def = p->children[0];
    u.last_takes_def = u.n == 1;
    return cte_uses(o, &p->children[1], &u) == ST_OK ? p->children[1] : NULL;
}

/* ---- aggregates ------------------------------------------------------------------------------------ */
static bool same_call(const AggCall *a, const AggCall *b) {
    if (a->kind != b->kind || a->distinct != b->distinct || a->filter || b->filter) return false;
    if (!a->arg != !b->arg || !a->arg2 != !b->arg2) return false;
    if (a->arg && (expr_is_volatile(a->arg) || !expr_equal(a->arg, b->arg))) return false;
    return !a->arg2 || expr_equal(a->arg2, b->arg2);
}
typedef struct Calls {
    VEC(AggCall) v;
} Calls;
/* Adds a call or finds an equal one; answers its column. */
static ColId add_call(Opt *o, Calls *cs, AggCall g, Type type) {
    for (int64_t i = 0; i < cs->v.len; i++)
        if (same_call(&cs->v.items[i], &g) && type_eq(o->c->cols.items[cs->v.items[i].out].type, type))
            return cs->v.items[i].out;
    if (g.out <= 0)
        g.out =
            plan_new_col(o->c, g.func ? g.func->name : "agg", type, g.kind != AGG_COUNT && g.kind != AGG_COUNT_STAR);
    return g.out > 0 && vec_push(o->a, &cs->v, g) ? g.out : 0;
}
static bool ignores_nulls(uint8_t k) { return k != AGG_ANY && k != AGG_SINGLE && k != AGG_COUNT_STAR; }
static bool distinct_matters(uint8_t k) {
    return !(k == AGG_MIN || k == AGG_MAX || k == AGG_BOOL_AND || k == AGG_BOOL_OR || k == AGG_BIT_AND ||
             k == AGG_BIT_OR || k == AGG_ANY);
}

/* Expression for avg over the sum's and count's columns, of exactly type t. */
static Expr *avg_value(Opt *o, Expr *sum, Expr *count, Type t) {
    Expr *e;
    if (t.id == T_NUMERIC) {
        e = opt_op(o, "/", opt_cast(o, sum, type_as_numeric(sum->type)),
                   opt_cast(o, count, type_as_numeric(count->type)));
        if (e && e->type.id == T_NUMERIC) e->type = t;
    } else if (t.id == T_DECIMAL) {
        e = opt_op(o, "/", sum, opt_cast(o, count, t));
    } else {
        e = opt_op(o, "/", sum, opt_cast(o, count, type_make(T_FLOAT8)));
    }
    return opt_cast(o, e, t);
}

static bool is_spread(uint8_t kind) {
    return kind == AGG_VAR_POP || kind == AGG_VAR_SAMP || kind == AGG_STDDEV_POP || kind == AGG_STDDEV_SAMP;
}

/* A variance or deviation of numerics without (p,s), exactly: from sum(x), sum(x * x) and count(x). Not with DISTINCT:
 * values that differ may have equal squares. */
static Expr *decimal_spread(Opt *o, Calls *cs, const AggCall *g) {
    static const char *const names[] = {"sum", "sum", "count"};
    bool sample = g->kind == AGG_VAR_SAMP || g->kind == AGG_STDDEV_SAMP;
    bool root = g->kind == AGG_STDDEV_POP || g->kind == AGG_STDDEV_SAMP;
    Expr *args[4];
    for (int k = 0; k < 3; k++) {
        AggCall c;
        Type t;
        Expr *arg = expr_copy(o->c, g->arg);
        if (k == 1) arg = arg ? opt_op(o, "*", arg, expr_copy(o->c, g->arg)) : NULL;
        if (!arg || opt_agg_call(o, names[k], arg, &c, &t) != ST_OK) return NULL;
        if (!(args[k] = opt_col(o, add_call(o, cs, c, t)))) return NULL;
    }
    Value kind = {.type = type_make(T_INT4)};
    kind.u.i32 = sample + 2 * root;
    if (!(args[3] = expr_const(o->c, &kind))) return NULL;
    return opt_call(o, "numeric_variance", 4, args);
}

/* What a window yields besides its aggregates. */
static Status window_passes(Opt *o, const Plan *p, IdVec *ids, ExprVec *ex) {
    TRY(opt_out_ids(o, p->children[0], ids));
    for (int32_t i = 0; i < p->win.n_calls; i++)
        if (!vec_push(o->a, ids, p->win.calls[i].out)) return ST_ERROR;
    for (int64_t i = 0; i < ids->len; i++) TRY(opt_push(o, ex, opt_col(o, ids->items[i])));
    return ST_OK;
}

/* FILTER, avg and duplicates: *top gets the expression for every original output that changed. */
static Plan *simplify_calls(Opt *o, Plan *p) {
    Calls cs = {0};
    bool project = false;
    Expr **top = arena_array(o->a, Expr *, p->agg.n_calls + 1);
    ColId *outs = arena_array(o->a, ColId, p->agg.n_calls + 1);
    if (!top || !outs) return NULL;
    Plan *child = p->children[0];
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        AggCall g = p->agg.calls[i];
        ColId out = outs[i] = g.out;
        Type type = o->c->cols.items[out].type;
        if (g.filter) {
            if (opt_const_true(g.filter)) g.filter = NULL;
            else if (g.kind == AGG_COUNT_STAR) {
                g.arg = opt_case(o, g.filter, expr_bool(o->c, true), opt_null(o, type_make(T_BOOL)));
                g.kind = AGG_COUNT;
                g.func = opt_agg_func(AGG_COUNT, type_make(T_BOOL));
            } else if (ignores_nulls(g.kind) && g.arg) {
                g.arg = opt_case(o, g.filter, g.arg, opt_null(o, g.arg->type));
            } else {
                err_set(o->err, ERR_FEATURE_NOT_SUPPORTED, "FILTER is not supported for this aggregate");
                return NULL;
            }
            g.filter = NULL;
            if (g.kind != AGG_COUNT_STAR && !g.arg) return NULL;
            if (g.arg && !(g.arg = opt_fold(o, g.arg))) return NULL;
        }
        if (g.distinct && !distinct_matters(g.kind)) g.distinct = false;
        if (g.kind == AGG_COUNT && !g.distinct && g.arg && opt_expr_nonnull(o, child, g.arg) && !expr_can_fail(g.arg)) {
            g.kind = AGG_COUNT_STAR;
            g.func = opt_agg_func(AGG_COUNT_STAR, type);
            g.arg = NULL;
        }
        ColId id;
        if (g.kind == AGG_AVG) {
            Expr *arg = g.arg;
            if (arg->type.id == T_FLOAT4) arg = opt_cast(o, arg, type_make(T_FLOAT8));
            AggCall s, n;
            Type st, nt;
            Expr *arg2 = expr_copy(o->c, arg);
            if (opt_agg_call(o, "sum", arg, &s, &st) != ST_OK || opt_agg_call(o, "count", arg2, &n, &nt) != ST_OK)
                return NULL;
            s.distinct = n.distinct = g.distinct;
            if (!n.distinct && opt_expr_nonnull(o, child, n.arg) && !expr_can_fail(n.arg)) {
                n.kind = AGG_COUNT_STAR;
                n.func = opt_agg_func(AGG_COUNT_STAR, nt);
                n.arg = NULL;
            }
            ColId sid = add_call(o, &cs, s, st), nid = add_call(o, &cs, n, nt);
            top[i] = avg_value(o, opt_col(o, sid), opt_col(o, nid), type);
            if (!top[i]) return NULL;
            project = true;
            continue;
        }
        if (is_spread(g.kind) && type.id == T_DECIMAL && !g.distinct) { /* else when two_levels() made them distinct */
            if (!(top[i] = decimal_spread(o, &cs, &g))) return NULL;
            project = true;
            continue;
        }
        id = add_call(o, &cs, g, type);
        if (!(top[i] = opt_col(o, id))) return NULL;
        if (id != out) project = true;
    }
    p->agg.calls = cs.v.items;
    p->agg.n_calls = (int32_t)cs.v.len;
    if (!project) return p;
    int64_t n = p->agg.n_keys + (int64_t)0;
    IdVec ids = {0};
    ExprVec ex = {0};
    for (int64_t i = 0; i < n; i++)
        if (!vec_push(o->a, &ids, p->out_cols[i]) || opt_push(o, &ex, opt_col(o, p->out_cols[i])) != ST_OK) return NULL;
    if (p->kind == LP_WINDOW && window_passes(o, p, &ids, &ex) != ST_OK) return NULL;
    /* a later duplicate of a call that keeps its own id is fine: ids are distinct */
    for (int32_t i = 0; top[i]; i++)
        if (!vec_push(o->a, &ids, outs[i]) || opt_push(o, &ex, top[i]) != ST_OK) return NULL;
    return opt_project(o, p, ids.len, ids.items, ex.items);
}

static bool same_args(const AggCall *a, const AggCall *b) {
    if (!a->arg2 != !b->arg2) return false;
    return expr_equal(a->arg, b->arg) && (!a->arg2 || expr_equal(a->arg2, b->arg2));
}
bool opt_can_reaggregate(uint8_t k) {
    return k == AGG_COUNT || k == AGG_COUNT_STAR || k == AGG_SUM || k == AGG_BIT_XOR || !distinct_matters(k);
}

Status opt_reaggregate(Opt *o, const AggCall *g, ColId part, AggCall *upper, Expr **value) {
    const Type type = o->c->cols.items[g->out].type;
    Expr *arg = opt_col(o, part);
    if (!arg) return ST_ERROR;
    *upper = *g;
    if (g->kind == AGG_COUNT || g->kind == AGG_COUNT_STAR || g->kind == AGG_SUM) {
        Type rt;
        bool count = g->kind != AGG_SUM;
        TRY(opt_agg_call(o, "sum", arg, upper, &rt));
        upper->out = g->out;
        if (count || !type_eq(rt, type)) {
            upper->out = plan_new_col(o->c, "sum", rt, true);
            *value = opt_cast(o, opt_col(o, upper->out), type);
            if (count) *value = opt_coalesce(o, *value, opt_int8(o, 0));
            return *value ? ST_OK : ST_ERROR;
        }
    } else {
        upper->arg = arg;
    }
    return (*value = opt_col(o, g->out)) ? ST_OK : ST_ERROR;
}

static Plan *two_levels(Opt *o, Plan *p) {
    const AggCall *d = NULL;
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        if (p->agg.calls[i].distinct) d = &p->agg.calls[i];
    bool arg2_key = d->arg2 && !opt_is_const(d->arg2);
    int64_t nk = p->agg.n_keys, lower_keys = nk + 1 + (arg2_key ? 1 : 0);
    ColId *lo = arena_array(o->a, ColId, lower_keys + 1);
    Expr **lk = arena_array(o->a, Expr *, lower_keys + 1), **uk = arena_array(o->a, Expr *, nk + 1);
    AggCall *la = arena_array(o->a, AggCall, p->agg.n_calls + 1), *ua = arena_array(o->a, AggCall, p->agg.n_calls + 1);
    Expr **top = arena_array(o->a, Expr *, nk + p->agg.n_calls + 1);
    ColId *outs = arena_array(o->a, ColId, nk + p->agg.n_calls + 1);
    if (!lo || !lk || !uk || !la || !ua || !top || !outs) return NULL;
    for (int64_t i = 0; i < nk; i++) {
        lo[i] = opt_new_like(o, p->out_cols[i]);
        lk[i] = p->exprs[i];
        uk[i] = opt_col(o, lo[i]);
        outs[i] = p->out_cols[i];
        top[i] = opt_col(o, p->out_cols[i]);
        if (!uk[i] || !top[i]) return NULL;
    }
    ColId x = d->arg->kind == EX_COL ? opt_new_like(o, d->arg->u.col)
                                     : plan_new_col(o->c, "distinct", d->arg->type, true),
          x2 = 0;
    lo[nk] = x;
    lk[nk] = expr_copy(o->c, d->arg);
    if (arg2_key) {
        x2 = plan_new_col(o->c, "distinct", d->arg2->type, true);
        lo[nk + 1] = x2;
        lk[nk + 1] = expr_copy(o->c, d->arg2);
    }
    int64_t nl = 0;
    bool project = false;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        AggCall g = p->agg.calls[i];
        ColId out = g.out;
        outs[nk + i] = out;
        ua[i] = g;
        top[nk + i] = opt_col(o, out);
        if (g.distinct) {
            ua[i].distinct = false;
            ua[i].arg = opt_col(o, x);
            if (arg2_key) ua[i].arg2 = opt_col(o, x2);
            if (!ua[i].arg) return NULL;
            continue;
        }
        la[nl] = g;
        la[nl].out = opt_new_like(o, out);
        if (opt_reaggregate(o, &g, la[nl].out, &ua[i], &top[nk + i]) != ST_OK) return NULL;
        nl++;
        project |= ua[i].out != out;
    }
    Plan *lower = opt_agg(o, p->children[0], lower_keys, lo, lk, nl, la);
    Plan *upper = opt_agg(o, lower, nk, p->out_cols, uk, p->agg.n_calls, ua);
    if (!upper || !(upper = simplify_calls(o, upper))) return NULL;
    return project ? opt_project(o, upper, nk + p->agg.n_calls, outs, top) : upper;
}

static Plan *split_distinct(Opt *o, Plan *p) {
    int64_t n_sets = 0;
    bool plain = false, re = true;
    int32_t *set = arena_array(o->a, int32_t, p->agg.n_calls + 1);
    if (!set) return NULL;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (!p->agg.calls[i].distinct) {
            plain = true;
            re &= opt_can_reaggregate(p->agg.calls[i].kind);
            set[i] = 0;
            continue;
        }
        for (int32_t j = 0; j < i && !set[i]; j++)
            if (p->agg.calls[j].distinct && same_args(&p->agg.calls[i], &p->agg.calls[j])) set[i] = set[j];
        if (!set[i]) set[i] = (int32_t)++n_sets;
    }
    if (n_sets == 0) return p;
    if (n_sets == 1 && re) return two_levels(o, p);
    /* one aggregation per set over a CTE of the input */
    int64_t cte = ++o->c->n_ctes;
    Plan *child = p->children[0], *result = NULL;
    IdVec ids = {0};
    if (opt_out_ids(o, child, &ids) != ST_OK) return NULL;
    ColId *first_keys = p->agg.n_keys ? p->out_cols : arena_array(o->a, ColId, 1);
    for (int32_t s = plain ? 0 : 1; s <= n_sets; s++) {
        ColId *scan_ids = fresh_like(o, ids.len, ids.items);
        ColMap *map = arena_array(o->a, ColMap, ids.len + 1);
        if (!scan_ids || !map) return NULL;
        for (int64_t i = 0; i < ids.len; i++) map[i] = (ColMap){ids.items[i], scan_ids[i]};
        Plan *scan = opt_cte_scan(o, cte, ids.len, scan_ids, ids.items);
        Expr **keys = arena_array(o->a, Expr *, p->agg.n_keys + 1);
        AggCall *aggs = arena_array(o->a, AggCall, p->agg.n_calls + 1);
        ColId *outs = result ? fresh_like(o, p->agg.n_keys, p->out_cols) : first_keys;
        if (!scan || !keys || !aggs || !outs) return NULL;
        for (int32_t i = 0; i < p->agg.n_keys; i++) {
            if (!(keys[i] = expr_copy(o->c, p->exprs[i]))) return NULL;
            expr_remap(keys[i], ids.len, map);
        }
        int64_t n = 0;
        for (int32_t i = 0; i < p->agg.n_calls; i++) {
            if (set[i] != s) continue;
            aggs[n] = p->agg.calls[i];
            if (aggs[n].arg) expr_remap(aggs[n].arg, ids.len, map);
            if (aggs[n].arg2) expr_remap(aggs[n].arg2, ids.len, map);
            n++;
        }
        Plan *a = opt_agg(o, scan, p->agg.n_keys, outs, keys, n, aggs);
        if (a && s > 0) a = two_levels(o, a);
        if (!a) return NULL;
        if (!result) {
            result = a;
            continue;
        }
        ExprVec conds = {0};
        if (same_conds(o, p->agg.n_keys, first_keys, outs, NULL, NULL, &conds) != ST_OK) return NULL;
        if (!(result = opt_join(o, JN_INNER, result, a, &conds))) return NULL;
    }
    Plan *c = plan_new(o->c, LP_CTE, 2);
    if (!c) return NULL;
    c->cte.id = cte;
    c->children[0] = child;
    c->children[1] = result;
    return c;
}

Plan *opt_agg_rewrite(Opt *o, Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!(p->children[i] = opt_agg_rewrite(o, p->children[i]))) return NULL;
    if (p->kind == LP_WINDOW) return simplify_calls(o, p);
    if (p->kind != LP_AGG) return p;
    Plan *s = simplify_calls(o, p);
    if (!s) return NULL;
    if (s == p) return split_distinct(o, p);
    return (s->children[0] = split_distinct(o, p)) ? s : NULL;
}

Plan *sql_split_aggregates(PlanCtx *c, Plan *p) {
    Opt o = {.c = c, .a = c->arena, .err = c->err};
    return opt_agg_rewrite(&o, p);
}

/* ---- functional dependencies among group keys --------------------------------------------------------
 * Attributes are column ids below the aggregation. Rows agree on a column when its values are equal or both NULL.
 * Facts: a base row's unique columns determine all its columns; the keys of an aggregation determine its aggregates;
 * inner joins' and filters' equalities make columns equal; projections pass columns on under new ids. A key in the
 * closure of the other keys becomes AGG_ANY.
 *
 * An outer join above where a fact holds adds rows in which all columns of one side are NULL. Equalities hold in them.
 * What determines other columns goes on doing so only if it is never NULL before: else the added rows agree with one
 * that is NULL there and has values elsewhere. Keys of base rows must be free of NULLs anyway, since NULLs do not
 * conflict. */
typedef struct Facts {
    VEC(const Plan *) scans;
    VEC(ColMap) equal;
    VEC(const Plan *) aggs;
} Facts;
static bool some_key_nonnull(Opt *o, const Plan *agg) {
    for (int32_t i = 0; i < agg->agg.n_keys; i++)
        if (opt_expr_nonnull(o, agg->children[0], agg->exprs[i])) return true;
    return false;
}
/* extended: an outer join above adds rows in which all columns of p are NULL. */
static Status gather_facts(Opt *o, const Plan *p, Facts *f, bool extended) {
    TRY(stack_check(o->err));
    if (p->kind == LP_SCAN && !vec_push(o->a, &f->scans, p)) return ST_ERROR;
    if (p->kind == LP_AGG && (!extended || some_key_nonnull(o, p)) && !vec_push(o->a, &f->aggs, p)) return ST_ERROR;
    if (p->kind == LP_FILTER || p->kind == LP_SCAN || (p->kind == LP_JOIN && p->join.kind == JN_INNER))
        for (int32_t i = 0; i < p->n_conds; i++) {
            Expr *e = p->conds[i];
            if ((opt_is_op(e, "=") || e->kind == EX_NOT_DISTINCT) && e->args[0]->kind == EX_COL &&
                e->args[1]->kind == EX_COL && type_eq(e->args[0]->type, e->args[1]->type) &&
                e->args[0]->type.id != T_NUMERIC && e->args[0]->type.id != T_FLOAT4 &&
                e->args[0]->type.id != T_FLOAT8 && e->args[0]->type.id != T_INTERVAL) {
                ColMap m = {e->args[0]->u.col, e->args[1]->u.col};
                if (!vec_push(o->a, &f->equal, m)) return ST_ERROR;
            }
        }
    if (p->kind == LP_PROJECT || p->kind == LP_AGG)
        for (int32_t i = 0; i < p->n_exprs; i++)
            if (p->exprs[i]->kind == EX_COL) {
                ColMap m = {p->exprs[i]->u.col, p->out_cols[i]};
                if (!vec_push(o->a, &f->equal, m)) return ST_ERROR;
            }
    switch ((PlanKind)p->kind) {
    case LP_JOIN: {
        bool one = p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_MARK;
        TRY(gather_facts(o, p->children[0], f, extended || p->join.kind == JN_RIGHT || p->join.kind == JN_FULL));
        return one ? ST_OK : gather_facts(o, p->children[1], f, extended || p->join.kind != JN_INNER);
    }
    case LP_FILTER:
    case LP_PROJECT:
    case LP_SORT:
    case LP_LIMIT:
    case LP_WINDOW:
    case LP_REPEAT: return gather_facts(o, p->children[0], f, extended);
    case LP_AGG: return p->agg.n_keys > 0 ? gather_facts(o, p->children[0], f, extended) : ST_OK;
    case LP_CTE: return gather_facts(o, p->children[1], f, extended);
    default: return ST_OK;
    }
}
static void closure(Opt *o, const Facts *f, ColSet *s) {
    for (bool more = true; more;) {
        more = false;
        for (int64_t i = 0; i < f->equal.len; i++) {
            ColMap m = f->equal.items[i];
            bool a = colset_has(s, m.from), b = colset_has(s, m.to);
            if (a == b) continue;
            colset_add(o->c, s, a ? m.to : m.from);
            more = true;
        }
        for (int64_t i = 0; i < f->scans.len; i++) {
            const Plan *p = f->scans.items[i];
            bool all = true, key = false;
            for (int32_t k = 0; k < p->n_out; k++) all &= colset_has(s, p->out_cols[k]);
            if (all) continue;
            for (int32_t k = 0; k < p->n_out && !key; k++) {
                if (!colset_has(s, p->out_cols[k])) continue;
                if (p->scan.cols[k] < 0) key = true;
                else {
                    const Column *c = &p->scan.table->cols[p->scan.cols[k]];
                    key = c->stats.unique && (c->not_null || c->stats.null_count == 0);
                }
            }
            for (int k = 0; k < p->scan.table->n_keys && !key; k++) {
                const KeyConstraint *kc = &p->scan.table->keys[k];
                int n = 0;
                for (int q = 0; q < kc->n_cols; q++)
                    for (int32_t j = 0; j < p->n_out; j++)
                        if (p->scan.cols[j] == kc->cols[q] && colset_has(s, p->out_cols[j]) &&
                            p->scan.table->cols[kc->cols[q]].not_null) {
                            n++;
                            break;
                        }
                key = n == kc->n_cols && n > 0 && !kc->deferrable;
            }
            if (!key) continue;
            for (int32_t k = 0; k < p->n_out; k++) colset_add(o->c, s, p->out_cols[k]);
            more = true;
        }
        for (int64_t i = 0; i < f->aggs.len; i++) {
            const Plan *p = f->aggs.items[i];
            bool keys = p->agg.n_keys > 0;
            for (int32_t k = 0; k < p->agg.n_keys; k++) keys &= colset_has(s, p->out_cols[k]);
            if (!keys) continue;
            for (int32_t k = 0; k < p->agg.n_calls; k++)
                if (!colset_has(s, p->agg.calls[k].out)) {
                    colset_add(o->c, s, p->agg.calls[k].out);
                    more = true;
                }
        }
    }
}
static int key_rank(const Opt *o, const Expr *e) { /* narrow integer keys stay, strings go */
    (void)o;
    Phys ph = type_phys(e->type);
    return ph == PH_STR                                          ? 3
           : ph == PH_I128 || ph == PH_INTERVAL || ph == PH_UUID ? 2
           : ph == PH_F32 || ph == PH_F64                        ? 1
                                                                 : 0;
}
static Status reduce_keys(Opt *o, Plan *p) {
    Facts f = {0};
    TRY(gather_facts(o, p->children[0], &f, false));
    bool *gone = arena_array(o->a, bool, p->agg.n_keys + 1);
    if (!gone) return ST_ERROR;
    int64_t removed = 0;
    /* the most expensive keys are tried first */
    for (int rank = 3; rank >= 0; rank--)
        for (int32_t i = p->agg.n_keys - 1; i >= 0; i--) {
            if (gone[i] || p->exprs[i]->kind != EX_COL || key_rank(o, p->exprs[i]) != rank) continue;
            ColSet s = colset_new(o->c);
            int64_t left = 0;
            for (int32_t k = 0; k < p->agg.n_keys; k++)
                if (k != i && !gone[k] && p->exprs[k]->kind == EX_COL) {
                    colset_add(o->c, &s, p->exprs[k]->u.col);
                    left++;
                }
            if (left == 0) continue;
            closure(o, &f, &s);
            if (colset_has(&s, p->exprs[i]->u.col)) {
                gone[i] = true;
                removed++;
            }
        }
    /* constant keys never split a group (one key must stay: no keys would mean a row for no input) */
    for (int32_t i = 0; i < p->agg.n_keys; i++)
        if (!gone[i] && p->exprs[i]->kind == EX_CONST && p->agg.n_keys - removed > 1) {
            gone[i] = true;
            removed++;
        }
    if (removed == 0) return ST_OK;
    AggCall *aggs = arena_array(o->a, AggCall, p->agg.n_calls + removed + 1);
    ColId *out = arena_array(o->a, ColId, p->agg.n_keys + 1);
    Expr **keys = arena_array(o->a, Expr *, p->agg.n_keys + 1);
    if (!aggs || !out || !keys) return ST_ERROR;
    int32_t na = p->agg.n_calls, nk = 0;
    for (int32_t i = 0; i < na; i++) aggs[i] = p->agg.calls[i];
    for (int32_t i = 0; i < p->agg.n_keys; i++) {
        if (!gone[i]) {
            out[nk] = p->out_cols[i];
            keys[nk++] = p->exprs[i];
            continue;
        }
        ColId id = p->out_cols[i];
        aggs[na++] =
            (AggCall){.kind = AGG_ANY, .func = opt_agg_func(AGG_ANY, p->exprs[i]->type), .arg = p->exprs[i], .out = id};
    }
    p->agg.calls = aggs;
    p->agg.n_calls = na;
    p->out_cols = out;
    p->exprs = keys;
    p->agg.n_keys = p->n_exprs = p->n_out = nk;
    return ST_OK;
}
Status opt_group_keys(Opt *o, Plan *p) {
    TRY(stack_check(o->err));
    for (int32_t i = 0; i < p->n_children; i++) TRY(opt_group_keys(o, p->children[i]));
    return p->kind == LP_AGG && p->agg.n_keys > 1 ? reduce_keys(o, p) : ST_OK;
}
