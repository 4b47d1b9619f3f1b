/* estimate.c - how many rows, from column statistics.
 *
 * A column's `distinct` is the size of the domain it comes from, before any filter: a join on a = b keeps
 * 1 / max(domain a, domain b) of all pairs, which is right for foreign keys however much either side was filtered. Base
 * columns are known by ColInfo; derived ones are recorded in Opt.stats while plans are estimated bottom-up.
 * A predicate over one dictionary column is evaluated on a sample of the dictionary. */
#include <math.h>

#include "sql/optimize/optimize_int.h"

enum { DICT_SAMPLE = 128 };

/* ---- columns --------------------------------------------------------------------------------- */
ColStat opt_col_stat(Opt *o, ColId id) {
    ColStat st = {0};
    if (id < o->stats.len && o->stats.items[id].known) return o->stats.items[id];
    const ColInfo *ci = &o->c->cols.items[id];
    if (ci->table && ci->col >= 0) {
        st.known = true;
        st.table = ci->table;
        st.col = ci->col;
        const Column *c = &ci->table->cols[ci->col];
        st.distinct = c->stats.distinct >= 1 ? c->stats.distinct : 0;
        if (c->stats.unique) st.distinct = (double)ci->table->live_rows;
    }
    return st;
}
static void set_stat(Opt *o, ColId id, ColStat st) {
    ColStat none = {0};
    if (id <= 0) return;
    while (o->stats.len <= id)
        if (!vec_push(o->a, &o->stats, none)) return;
    st.known = true;
    o->stats.items[id] = st;
}
double opt_col_distinct(Opt *o, ColId id) { return opt_col_stat(o, id).distinct; }
static const Column *base_column(Opt *o, ColId id) {
    ColStat st = opt_col_stat(o, id);
    return st.table && st.col >= 0 ? &st.table->cols[st.col] : NULL;
}
double opt_draws(double domain, double n) {
    if (domain <= 1) return n < 1 ? n : 1;
    if (n <= 0) return 0;
    double r = domain * (1 - exp(-n / domain));
    return r < 1 ? 1 : r > n ? n : r;
}

/* Numbers, dates and timestamps on one scale; dates count in microseconds like timestamps. */
static bool value_f64(Type t, const Value *v, double *out) {
    if (v->is_null) return false;
    switch ((TypeId)t.id) {
    case T_INT2: *out = v->u.i16; return true;
    case T_INT4: *out = v->u.i32; return true;
    case T_INT8: *out = (double)v->u.i64; return true;
    case T_FLOAT4: *out = v->u.f32; return true;
    case T_FLOAT8: *out = v->u.f64; return true;
    case T_NUMERIC: *out = numeric_to_f64(type_phys(t) == PH_I64 ? v->u.i64 : v->u.i128, t.scale); return true;
    case T_DATE: *out = (double)v->u.i32 * (double)USECS_PER_DAY; return true;
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
    case T_LSN:
    case T_MONEY: *out = (double)v->u.i64; return true;
    default: return false;
    }
}
static bool column_range(const Column *c, double *lo, double *hi) {
    if (!c->stats.has_range || c->dict) return false;
    double f = 1;
    switch ((TypeId)c->type.id) {
    case T_INT2:
    case T_INT4:
    case T_INT8:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
    case T_LSN:
    case T_MONEY: break;
    case T_NUMERIC: f = pow(10, -c->type.scale); break;
    case T_DATE: f = (double)USECS_PER_DAY; break;
    default: return false;
    }
    *lo = (double)c->stats.min * f;
    *hi = (double)c->stats.max * f;
    return true;
}
/* The column under casts between numbers or dates. */
static const Expr *strip(const Expr *e) {
    while (e->kind == EX_CAST && !type_is_text(e->type) == !type_is_text(e->args[0]->type)) e = e->args[0];
    return e;
}
double opt_expr_distinct(Opt *o, const Expr *e) {
    if (stack_stop()) return 0;
    e = strip(e);
    if (e->kind == EX_CONST) return 1;
    if (e->kind == EX_COL) return opt_col_distinct(o, e->u.col);
    if (e->kind == EX_CASE) {
        double n = 0;
        for (int32_t i = 1; i < e->n_args; i += 2) {
            double d = opt_expr_distinct(o, e->args[i]);
            n += d > 0 ? d : 10;
        }
        return n + 1;
    }
    if (e->type.id == T_BOOL) return 2;
    double n = 1;
    bool known = false;
    for (int32_t i = 0; i < e->n_args; i++) {
        double d = opt_expr_distinct(o, e->args[i]);
        if (d > 0) known = true;
        if (d > 1) n *= d;
    }
    if (!known) return 0;
    if (e->kind == EX_FUNC) {
        const char *f = e->u.func->name;
        if (strcmp(f, "date_part") == 0 || strcmp(f, "extract") == 0 || strcmp(f, "year") == 0) return n < 12 ? n : 12;
        if (strcmp(f, "date_trunc") == 0) return n / 30 + 1;
        if (strcmp(f, "substring") == 0 || strcmp(f, "left") == 0 || strcmp(f, "substr") == 0) return n < 200 ? n : 200;
    }
    return n;
}

/* ---- predicates ------------------------------------------------------------------------------------ */
static double cond_sel(Opt *o, Expr *e);
static double clamp(double s) { return s < 0 ? 0 : s > 1 ? 1 : s; }
static double null_fraction(Opt *o, ColId id) {
    ColStat st = opt_col_stat(o, id);
    if (!st.table || st.table->live_rows <= 0) return 0;
    return clamp((double)st.table->cols[st.col].stats.null_count / (double)st.table->live_rows);
}
static bool single_dict_col(Opt *o, const Expr *e, ColId *id) {
    if (stack_stop()) return false;
    if (e->kind == EX_COL) {
        if (*id && *id != e->u.col) return false;
        const Column *c = base_column(o, e->u.col);
        if (!c || !c->dict || !type_is_text(c->type)) return false;
        *id = e->u.col;
        return true;
    }
    if (e->kind == EX_SUBQUERY) return false;
    for (int32_t i = 0; i < e->n_args; i++)
        if (!single_dict_col(o, e->args[i], id)) return false;
    return true;
}
/* Evaluates the predicate on entries of the dictionary; -1 when it cannot. */
static double dict_sample(Opt *o, const Expr *e) {
    ColId id = 0;
    if (!rule_on(o->c, RULE_FOLD) || expr_is_volatile(e) || !single_dict_col(o, e, &id) || !id) return -1;
    const Dict *d = base_column(o, id)->dict;
    if (d->n == 0) return 0;
    Err err;
    err_clear(&err);
    Arena *tmp = arena_new(arena_account(o->a), &err);
    if (!tmp) return -1;
    PlanCtx c = *o->c;
    c.arena = tmp;
    c.err = &err;
    Opt sub = *o;
    sub.c = &c;
    sub.a = tmp;
    sub.err = &err;
    int64_t n = d->n < DICT_SAMPLE ? d->n : DICT_SAMPLE, hits = 0, seen = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = d->n <= DICT_SAMPLE ? i : (int64_t)((double)i * (double)d->n / (double)n);
        Value v;
        memset(&v, 0, sizeof v);
        v.type = o->c->cols.items[id].type;
        v.u.str = d->entries[k];
        Expr *x = expr_copy(&c, e), *val = expr_const(&c, &v);
        if (!x || !val || !(x = opt_subst(&sub, x, 1, &id, &val)) || !(x = opt_fold(&sub, x))) break;
        if (x->kind != EX_CONST) break;
        seen++;
        hits += opt_const_true(x);
    }
    arena_free(tmp);
    if (seen < n) return -1;
    if (hits == 0) return d->n <= DICT_SAMPLE ? 0 : 0.5 / (double)n;
    return (double)hits / (double)n;
}
static double eq_const(Opt *o, const Expr *col, const Expr *val) {
    const Column *c = base_column(o, col->u.col);
    double nd = opt_col_distinct(o, col->u.col);
    if (!c) return nd > 0 ? 1 / nd : 0.05;
    const Value *v = &val->u.value;
    double mass = 0;
    if (type_phys(c->type) == type_phys(val->type) && c->type.scale == val->type.scale)
        for (int i = 0; i < c->stats.n_mcv; i++) {
            if (!c->stats.mcv[i].value.is_null && value_cmp(&c->stats.mcv[i].value, v) == 0)
                return clamp(c->stats.mcv[i].fraction);
            mass += c->stats.mcv[i].fraction;
        }
    if (c->dict && type_is_text(val->type) && dict_find(c->dict, v->u.str) < 0) return 0;
    double x, lo, hi;
    if (value_f64(val->type, v, &x) && column_range(c, &lo, &hi) && (x < lo || x > hi)) return 0;
    double rest = nd - c->stats.n_mcv;
    if (nd <= 0) return 0.05;
    return clamp((1 - clamp(mass)) / (rest < 1 ? 1 : rest));
}
/* Fraction of the column's values below (or equal to) the constant; -1 unknown. */
static double below(Opt *o, ColId id, const Expr *val) {
    const Column *c = base_column(o, id);
    if (!c) {
        double mean = opt_col_stat(o, id).mean, x;
        if (mean > 0 && value_f64(val->type, &val->u.value, &x)) { /* a sum or count: few are far above the mean */
            if (x <= 0) return 0;
            double up = x <= mean ? 1 - 0.5 * x / mean : 0.5 * exp(-2.0 * (x / mean - 1));
            return clamp(1 - (up < 0.0005 ? 0.0005 : up));
        }
        return -1;
    }
    if (c->dict && type_is_text(val->type) && c->dict->n_sorted > 0)
        return (double)dict_lower_bound(c->dict, val->u.value.u.str, false) / (double)c->dict->n_sorted;
    double x, lo, hi;
    if (!value_f64(val->type, &val->u.value, &x) || !column_range(c, &lo, &hi)) return -1;
    if (hi <= lo) return x > lo ? 1 : 0;
    return clamp((x - lo) / (hi - lo));
}
static int cmp_op(const Expr *e) {
    if (e->kind != EX_FUNC || e->n_args != 2 || !(e->u.func->flags & FN_OPERATOR)) return 0;
    const char *n = e->u.func->name;
    return !strcmp(n, "=")    ? 1
           : !strcmp(n, "<>") ? 2
           : !strcmp(n, "<")  ? 3
           : !strcmp(n, "<=") ? 4
           : !strcmp(n, ">")  ? 5
           : !strcmp(n, ">=") ? 6
                              : 0;
}
static double step_of(Opt *o, ColId id) { /* weight of one value, for closed bounds */
    double nd = opt_col_distinct(o, id);
    return nd > 1 ? 1 / nd : 0;
}
static double cmp_sel(Opt *o, Expr *e, int op) {
    const Expr *a = strip(e->args[0]), *b = e->args[1];
    if (b->kind == EX_CONST) {
        if (b->u.value.is_null) return 0;
        if (op == 1 || op == 2) {
            double s;
            if (a->kind == EX_COL) s = eq_const(o, a, b);
            else {
                s = dict_sample(o, e);
                if (s >= 0) return s;
                double nd = opt_expr_distinct(o, a);
                s = nd > 0 ? 1 / nd : 0.05;
            }
            return op == 1 ? s : clamp(1 - s - (a->kind == EX_COL ? null_fraction(o, a->u.col) : 0));
        }
        if (a->kind == EX_COL) {
            double f = below(o, a->u.col, b), st = step_of(o, a->u.col);
            if (f >= 0) {
                double nn = 1 - null_fraction(o, a->u.col);
                if (op == 3) return f * nn;
                if (op == 4) return clamp(f + st) * nn;
                if (op == 5) return clamp(1 - f - st) * nn;
                return clamp(1 - f) * nn;
            }
        }
        double s = dict_sample(o, e);
        return s >= 0 ? s : 0.3;
    }
    double na = opt_expr_distinct(o, e->args[0]), nb = opt_expr_distinct(o, e->args[1]);
    if (op == 1 || op == 2) {
        double m = na > nb ? na : nb, s = m > 0 ? 1 / m : 0.05;
        return op == 1 ? s : 1 - s;
    }
    return a->kind == EX_COL && strip(b)->kind == EX_COL ? 0.5 : 0.3;
}
static double cond_sel(Opt *o, Expr *e) {
    if (stack_stop()) return 1;
    switch ((ExprKind)e->kind) {
    case EX_CONST: return opt_const_true(e) ? 1 : 0;
    case EX_AND: return opt_selectivity(o, e->n_args, e->args);
    case EX_OR: {
        double s = dict_sample(o, e), none = 1;
        if (s >= 0) return s;
        for (int32_t i = 0; i < e->n_args; i++) none *= 1 - cond_sel(o, e->args[i]);
        return 1 - none;
    }
    case EX_NOT: return clamp(1 - cond_sel(o, e->args[0]));
    case EX_COL: return 0.5;
    case EX_IS_NULL:
    case EX_IS_NOT_NULL: {
        double s = e->args[0]->kind == EX_COL ? null_fraction(o, e->args[0]->u.col) : 0.05;
        return e->kind == EX_IS_NULL ? s : 1 - s;
    }
    case EX_IS_TRUE:
    case EX_IS_NOT_FALSE: return cond_sel(o, e->args[0]);
    case EX_IS_FALSE:
    case EX_IS_NOT_TRUE: return clamp(1 - cond_sel(o, e->args[0]));
    case EX_NOT_DISTINCT:
    case EX_DISTINCT: {
        double s = cmp_sel(o, e, 1);
        return e->kind == EX_DISTINCT ? 1 - s : s;
    }
    case EX_IN: {
        double s = 0;
        const Expr *a = strip(e->args[0]);
        if (a->kind != EX_COL) {
            s = dict_sample(o, e);
            if (s >= 0) return s;
            double nd = opt_expr_distinct(o, a);
            return clamp((double)(e->n_args - 1) * (nd > 0 ? 1 / nd : 0.05));
        }
        for (int32_t i = 1; i < e->n_args; i++) {
            if (opt_const_null(e->args[i])) continue;
            s += e->args[i]->kind == EX_CONST        ? eq_const(o, a, e->args[i])
                 : opt_col_distinct(o, a->u.col) > 0 ? 1 / opt_col_distinct(o, a->u.col)
                                                     : 0.05;
        }
        return clamp(s);
    }
    case EX_FUNC: {
        int op = cmp_op(e);
        if (op) return cmp_sel(o, e, op);
        double s = dict_sample(o, e);
        if (s >= 0) return s;
        const char *n = e->u.func->name;
        if (!strcmp(n, "~~") || !strcmp(n, "~~*") || !strcmp(n, "~")) {
            if (e->n_args == 2 && e->args[1]->kind == EX_CONST &&
                !e->args[1]->u.value.is_null) { /* longer patterns select less */
                Str p = e->args[1]->u.value.u.str;
                int64_t lit = 0;
                for (uint32_t i = 0; i < p.len; i++) lit += p.ptr[i] != '%' && p.ptr[i] != '_';
                double x = lit <= 2 ? 0.2 : lit <= 5 ? 0.06 : 0.02;
                return x;
            }
            return 0.05;
        }
        if (!strcmp(n, "!~~") || !strcmp(n, "!~~*") || !strcmp(n, "!~")) return 0.95;
        return 0.3;
    }
    default: return 0.3;
    }
}
/* Conjuncts; two bounds of one column make one interval. */
double opt_selectivity(Opt *o, int64_t n, Expr *const *conds) {
    double s = 1;
    for (int64_t i = 0; i < n; i++) {
        Expr *e = conds[i];
        int op = cmp_op(e);
        if (op >= 3 && e->args[1]->kind == EX_CONST && strip(e->args[0])->kind == EX_COL) {
            ColId id = strip(e->args[0])->u.col;
            bool upper = op <= 4, paired = false;
            for (int64_t j = 0; j < n && !paired; j++) {
                if (j == i) continue;
                int oj = cmp_op(conds[j]);
                if (oj < 3 || conds[j]->args[1]->kind != EX_CONST || strip(conds[j]->args[0])->kind != EX_COL) continue;
                if (strip(conds[j]->args[0])->u.col != id || (oj <= 4) == upper) continue;
                if (below(o, id, e->args[1]) < 0 || below(o, id, conds[j]->args[1]) < 0) continue;
                paired = true;
                if (i < j) {
                    double both = cond_sel(o, e) + cond_sel(o, conds[j]) - 1, least = step_of(o, id);
                    s *= clamp(both > least ? both : least);
                }
            }
            if (paired) continue;
        }
        s *= clamp(cond_sel(o, e));
    }
    return s;
}

/* ---- joins ---------------------------------------------------------------------------------------------- */
/* Rows of the plan before its filters: the number of keys a unique side stands for. */
double opt_domain_rows(Opt *o, const Plan *p) {
    if (stack_stop()) return 1;
    switch ((PlanKind)p->kind) {
    case LP_SCAN: return (double)p->scan.table->live_rows;
    case LP_AGG: {
        double d = 1;
        for (int32_t i = 0; i < p->agg.n_keys; i++) {
            double k = opt_expr_distinct(o, p->exprs[i]);
            d *= k > 1 ? k : 1;
        }
        return opt_draws(d, opt_domain_rows(o, p->children[0]));
    }
    case LP_JOIN:
        if (p->join.kind == JN_INNER) {
            double a = opt_domain_rows(o, p->children[0]), b = opt_domain_rows(o, p->children[1]);
            return a > b ? a : b;
        }
        return opt_domain_rows(o, p->children[0]);
    case LP_FILTER:
    case LP_PROJECT:
    case LP_SORT:
    case LP_LIMIT:
    case LP_WINDOW:
    case LP_REPEAT: return opt_domain_rows(o, p->children[0]);
    case LP_CTE: return opt_domain_rows(o, p->children[1]);
    default: return p->est_rows;
    }
}
typedef struct EquiStats {
    double sel;      /* of the equalities, over pairs */
    double residual; /* of the other conditions */
    double match;    /* fraction of left rows with a match, equalities only */
    int n;
} EquiStats;
static EquiStats equi_stats(Opt *o, const Plan *l, const Plan *r, int64_t n, Expr *const *conds) {
    EquiStats s = {1, 1, 1, 0};
    ColSet lo = opt_outputs(o, l), ro = opt_outputs(o, r), lk = colset_new(o->c), rk = colset_new(o->c);
    double nds[16];
    bool all_cols = true;
    double r_keys = 1, l_domain = 1;
    for (int64_t i = 0; i < n; i++) {
        Expr *a, *b;
        bool ns;
        if (!opt_equi(o, conds[i], &lo, &ro, &a, &b, &ns)) {
            double x = cond_sel(o, conds[i]);
            s.residual *= x;
            continue;
        }
        double na = opt_expr_distinct(o, a), nb = opt_expr_distinct(o, b), m = na > nb ? na : nb;
        if (m <= 0) m = l->est_rows < r->est_rows ? l->est_rows : r->est_rows;
        if (m < 1) m = 1;
        if (s.n < 16) nds[s.n++] = m;
        r_keys *= nb > 0 ? nb : m;
        l_domain *= m;
        if (strip(a)->kind == EX_COL) colset_add(o->c, &lk, strip(a)->u.col);
        else all_cols = false;
        if (strip(b)->kind == EX_COL) colset_add(o->c, &rk, strip(b)->u.col);
        else all_cols = false;
    }
    if (s.n == 0) {
        s.match = r->est_rows >= 1 ? 1 : r->est_rows;
        return s;
    }
    for (int i = 1; i < s.n; i++)
        for (int j = i; j > 0 && nds[j] > nds[j - 1]; j--) {
            double x = nds[j];
            nds[j] = nds[j - 1];
            nds[j - 1] = x;
        }
    double domain = nds[0];
    if (s.n > 1) {
        double e = 0.5;
        for (int i = 1; i < s.n; i++, e /= 2) domain *= pow(nds[i], e);
        double dl = opt_domain_rows(o, l), dr = opt_domain_rows(o, r), least = dl < dr ? dl : dr;
        if (domain > least) domain = least > nds[0] ? least : nds[0];
        if (all_cols && opt_unique(o, r, &rk)) domain = opt_domain_rows(o, r);
        else if (all_cols && opt_unique(o, l, &lk)) domain = opt_domain_rows(o, l);
    }
    if (domain < 1) domain = 1;
    s.sel = 1 / domain;
    double cap = r_keys < l_domain ? r_keys : l_domain;
    if (s.n > 1 && cap > domain) cap = domain;
    s.match = clamp(opt_draws(cap, r->est_rows) / domain);
    return s;
}
static double join_rows(Opt *o, const Plan *p) {
    const Plan *l = p->children[0], *r = p->children[1];
    EquiStats s = equi_stats(o, l, r, p->n_conds, p->conds);
    double inner = l->est_rows * r->est_rows * s.sel * s.residual;
    switch ((JoinKind)p->join.kind) {
    case JN_INNER: return inner;
    case JN_LEFT: return inner > l->est_rows ? inner : l->est_rows;
    case JN_RIGHT: return inner > r->est_rows ? inner : r->est_rows;
    case JN_FULL: return inner > l->est_rows + r->est_rows ? inner : l->est_rows + r->est_rows * (1 - s.match * 0.9);
    case JN_SEMI:
    case JN_ANTI: {
        /* several partners: some of them passes the residual */
        double partners = s.match > 0 ? r->est_rows * s.sel / s.match : 0;
        double pass = s.residual >= 1 ? 1 : 1 - pow(1 - clamp(s.residual), partners < 1 ? 1 : partners);
        double f = clamp(s.match * pass);
        if (p->join.kind == JN_SEMI) return l->est_rows * f;
        return l->est_rows * (1 - f < 0.05 ? 0.05 : 1 - f);
    }
    case JN_MARK:
    case JN_SINGLE: return l->est_rows;
    }
    return inner;
}

/* ---- operators --------------------------------------------------------------------------------------------- */
static double column_mean(Opt *o, const Expr *e) {
    if (stack_stop()) return 0;
    double lo, hi;
    e = strip(e);
    if (e->kind == EX_CONST) {
        double x;
        return value_f64(e->type, &e->u.value, &x) ? x : 0;
    }
    if (e->kind == EX_COL) {
        const Column *c = base_column(o, e->u.col);
        if (c && column_range(c, &lo, &hi)) return (lo + hi) / 2;
        return opt_col_stat(o, e->u.col).mean;
    }
    if (e->kind == EX_FUNC && e->n_args == 2) {
        double a = column_mean(o, e->args[0]), b = column_mean(o, e->args[1]);
        switch (e->u.func->name[0]) {
        case '+': return a + b;
        case '-': return a - b;
        case '*': return a * b;
        case '/': return b != 0 ? a / b : 0;
        default: return 0;
        }
    }
    return 0;
}
static void agg_stats(Opt *o, Plan *p, double in) {
    double domain = 1, per_table = 0;
    const Table *table = NULL;
    for (int32_t i = 0; i < p->agg.n_keys; i++) {
        double d = opt_expr_distinct(o, p->exprs[i]);
        if (d <= 0) d = in > 100 ? pow(in, 0.66) : in;
        if (d < 1) d = 1;
        domain *= d;
        const Expr *e = strip(p->exprs[i]);
        ColStat st = {0};
        if (e->kind == EX_COL) st = opt_col_stat(o, e->u.col);
        if (i == 0) table = st.table;
        else if (table != st.table) table = NULL;
        if (!st.known || st.distinct <= 0) st.distinct = d;
        set_stat(o, p->out_cols[i], st);
    }
    if (table && p->agg.n_keys > 1) per_table = (double)table->live_rows;
    if (per_table > 0 && domain > per_table) domain = per_table;
    p->est_rows = p->agg.n_keys == 0 ? 1 : opt_draws(domain, in);
    if (p->agg.n_keys > 0 && in > 0 && p->est_rows < 1) p->est_rows = 1;
    double size = p->est_rows > 0 ? in / p->est_rows : 0;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        const AggCall *g = &p->agg.calls[i];
        ColStat st = {.distinct = p->est_rows};
        const Expr *arg = g->arg ? strip(g->arg) : NULL;
        switch ((AggKind)g->kind) {
        case AGG_COUNT:
        case AGG_COUNT_STAR:
            st.mean = size;
            if (st.distinct > size * 4 + 10) st.distinct = size * 4 + 10;
            break;
        case AGG_SUM: st.mean = arg ? column_mean(o, arg) * size : 0; break;
        case AGG_AVG: st.mean = arg ? column_mean(o, arg) : 0; break;
        case AGG_MIN:
        case AGG_MAX:
        case AGG_ANY:
        case AGG_SINGLE:
            if (arg && arg->kind == EX_COL) {
                double d = st.distinct;
                st = opt_col_stat(o, arg->u.col);
                if (st.distinct <= 0) st.distinct = d;
            }
            break;
        default: break;
        }
        set_stat(o, g->out, st);
    }
}
Status opt_estimate_node(Opt *o, Plan *p) {
    double in = p->n_children > 0 ? p->children[0]->est_rows : 0, cost = 0;
    for (int32_t i = 0; i < p->n_children; i++) cost += p->children[i]->est_cost;
    switch ((PlanKind)p->kind) {
    case LP_SCAN: {
        double rows = (double)p->scan.table->live_rows;
        p->est_rows = rows * opt_selectivity(o, p->n_conds, p->conds);
        if (rows > 0 && p->est_rows < 1) p->est_rows = 1;
        cost = rows * (p->n_conds ? 0.3 : 0.1) + p->est_rows * 0.2;
        break;
    }
    case LP_VALUES:
        p->est_rows = (double)p->values.n_rows;
        for (int32_t i = 0; i < p->n_out; i++)
            set_stat(o, p->out_cols[i], (ColStat){.distinct = p->values.n_rows > 0 ? (double)p->values.n_rows : 1});
        break;
    case LP_STREAM:
        p->est_rows = MAX_OF(p->stream->est_rows, 1);
        for (int32_t i = 0; i < p->n_out; i++) set_stat(o, p->out_cols[i], (ColStat){.distinct = p->est_rows});
        cost = p->est_rows;
        break;
    case LP_SERIES: {
        double a, b, s = 1;
        p->est_rows = 1000;
        if (p->n_exprs >= 2 && p->exprs[0]->kind == EX_CONST && p->exprs[1]->kind == EX_CONST &&
            value_f64(p->exprs[0]->type, &p->exprs[0]->u.value, &a) &&
            value_f64(p->exprs[1]->type, &p->exprs[1]->u.value, &b)) {
            if (p->n_exprs > 2 && p->exprs[2]->kind == EX_CONST)
                value_f64(p->exprs[2]->type, &p->exprs[2]->u.value, &s);
            if (s != 0 && p->exprs[0]->type.id != T_TIMESTAMP && p->exprs[0]->type.id != T_TIMESTAMPTZ)
                p->est_rows = (b - a) / s + 1;
            if (p->est_rows < 0) p->est_rows = 0;
        }
        set_stat(o, p->out_cols[0], (ColStat){.distinct = p->est_rows});
        cost = p->est_rows;
        break;
    }
    case LP_FILTER:
        p->est_rows = in * opt_selectivity(o, p->n_conds, p->conds);
        if (in >= 1 && p->est_rows < 1) p->est_rows = 1;
        cost += in * 0.3;
        break;
    case LP_PROJECT:
        p->est_rows = in;
        for (int32_t i = 0; i < p->n_out; i++) {
            const Expr *e = strip(p->exprs[i]);
            if (e->kind == EX_COL) {
                if (e->u.col != p->out_cols[i]) set_stat(o, p->out_cols[i], opt_col_stat(o, e->u.col));
            } else {
                double d = opt_expr_distinct(o, e);
                set_stat(o, p->out_cols[i], (ColStat){.distinct = d, .mean = column_mean(o, e)});
            }
        }
        cost += in * 0.1;
        break;
    case LP_JOIN: {
        p->est_rows = join_rows(o, p);
        if (p->est_rows < 1) p->est_rows = 1;
        double b = p->children[p->join.build_left ? 0 : 1]->est_rows,
               pr = p->children[p->join.build_left ? 1 : 0]->est_rows;
        cost += b * 3 + pr + p->est_rows * 0.5;
        break;
    }
    case LP_AGG:
        agg_stats(o, p, in);
        cost += in * (p->agg.n_keys ? 2 : 0.5) + p->est_rows * 2;
        break;
    case LP_SORT:
    case LP_LIMIT: {
        p->est_rows = in;
        double off = p->limit.offset > 0 ? (double)p->limit.offset : 0;
        if (off > 0) p->est_rows = p->est_rows > off ? p->est_rows - off : 0;
        if (p->limit.rows >= 0 && p->est_rows > (double)p->limit.rows) p->est_rows = (double)p->limit.rows;
        cost += p->kind == LP_SORT ? in * (p->limit.rows >= 0 ? 1 : 5) : 0;
        break;
    }
    case LP_WINDOW:
        p->est_rows = in;
        cost += in * (6 + p->agg.n_calls + p->win.n_calls);
        break;
    case LP_SETOP:
        p->est_rows = 0;
        for (int32_t k = 0; k < p->n_children; k++) p->est_rows += p->children[k]->est_rows;
        for (int32_t i = 0; i < p->n_out; i++) {
            double d = 0;
            for (int32_t k = 0; k < p->n_children; k++) {
                double x = opt_col_distinct(o, p->set.cols[k][i]);
                d += x > 0 ? x : p->children[k]->est_rows;
            }
            set_stat(o, p->out_cols[i], (ColStat){.distinct = d});
        }
        break;
    case LP_CTE: p->est_rows = p->children[1]->est_rows; break;
    case LP_CTE_SCAN: {
        p->est_rows = 1000;
        for (const CteInfo *i = o->ctes; i; i = i->next)
            if (i->id == p->cte.id) {
                p->est_rows = i->rows;
                break;
            }
        for (int32_t i = 0; i < p->n_out; i++) set_stat(o, p->out_cols[i], opt_col_stat(o, p->cte.cols[i]));
        cost = p->est_rows * 0.3;
        break;
    }
    case LP_REPEAT: /* a series of unknown length, or as many copies of each row */
        p->est_rows = p->repeats ? in * (double)p->repeats : p->n_out ? in * 10 : in;
        if (p->repeats && p->n_out) set_stat(o, p->out_cols[0], (ColStat){.distinct = (double)p->repeats});
        break;
    }
    p->est_cost = cost;
    return ST_OK;
}
Status opt_note_cte(Opt *o, const Plan *p) {
    CteInfo *c = arena_new_of(o->a, CteInfo);
    if (!c) return ST_ERROR;
    *c = (CteInfo){o->ctes, p->cte.id, p->children[0]->est_rows};
    o->ctes = c;
    return ST_OK;
}
Status opt_estimate(Opt *o, Plan *p) {
    TRY(stack_check(o->err));
    for (int32_t i = 0; i < p->n_children; i++) {
        TRY(opt_estimate(o, p->children[i]));
        if (p->kind == LP_CTE && i == 0) TRY(opt_note_cte(o, p));
    }
    return opt_estimate_node(o, p);
}
