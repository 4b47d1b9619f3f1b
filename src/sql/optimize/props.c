/* props.c - what can be proven about a plan's output: columns without NULLs, unique keys, single rows.
 *
 * All answers are conservative: false means "not proven". */
#include "sql/optimize/optimize_int.h"

/* Expressions that yield NULL whenever one of the listed columns is NULL. */
static bool strict_in(const Expr *e, const ColSet *s) {
    if (stack_stop()) return false;
    switch ((ExprKind)e->kind) {
    case EX_COL: return colset_has(s, e->u.col);
    case EX_CONST: return e->u.value.is_null;
    case EX_FUNC:
        if (!(e->u.func->flags & FN_STRICT)) return false;
        for (int32_t i = 0; i < e->n_args; i++)
            if (strict_in(e->args[i], s)) return true;
        return false;
    case EX_CAST:
    case EX_NOT: return strict_in(e->args[0], s);
    case EX_IN: return strict_in(e->args[0], s);
    case EX_AND:
    case EX_OR: /* NULL only if all are (an AND may be FALSE otherwise, which is enough for opt_rejects_null) */
        for (int32_t i = 0; i < e->n_args; i++)
            if (!strict_in(e->args[i], s)) return false;
        return e->n_args > 0;
    default: return false;
    }
}
/* s: columns that are all NULL together (the null-extended side). */
bool opt_rejects_null(const Expr *e, const ColSet *s) {
    if (stack_stop()) return false;
    switch ((ExprKind)e->kind) {
    case EX_CONST: return e->u.value.is_null || (e->type.id == T_BOOL && !e->u.value.u.b);
    case EX_AND:
        for (int32_t i = 0; i < e->n_args; i++)
            if (opt_rejects_null(e->args[i], s)) return true;
        return false;
    case EX_OR:
        for (int32_t i = 0; i < e->n_args; i++)
            if (!opt_rejects_null(e->args[i], s)) return false;
        return e->n_args > 0;
    case EX_IS_NOT_NULL:
    case EX_IS_TRUE:
    case EX_IS_FALSE: return strict_in(e->args[0], s);
    default: return strict_in(e, s);
    }
}

bool opt_expr_nonnull(Opt *o, const Plan *p, const Expr *e) {
    if (stack_stop()) return false;
    switch ((ExprKind)e->kind) {
    case EX_CONST: return !e->u.value.is_null;
    case EX_COL: return opt_col_nonnull(o, p, e->u.col);
    case EX_FUNC: /* strict operators on non-NULL input; functions such as nullif-like ones may still answer NULL */
        if (!(e->u.func->flags & FN_STRICT) || !(e->u.func->flags & FN_OPERATOR)) return false;
        for (int32_t i = 0; i < e->n_args; i++)
            if (!opt_expr_nonnull(o, p, e->args[i])) return false;
        return true;
    case EX_CAST:
    case EX_NOT: return opt_expr_nonnull(o, p, e->args[0]);
    case EX_AND:
    case EX_OR:
    case EX_IN:
        for (int32_t i = 0; i < e->n_args; i++)
            if (!opt_expr_nonnull(o, p, e->args[i])) return false;
        return true;
    case EX_IS_NULL:
    case EX_IS_NOT_NULL:
    case EX_IS_TRUE:
    case EX_IS_NOT_TRUE:
    case EX_IS_FALSE:
    case EX_IS_NOT_FALSE:
    case EX_DISTINCT:
    case EX_NOT_DISTINCT: return true;
    case EX_COALESCE:
        for (int32_t i = 0; i < e->n_args; i++)
            if (opt_expr_nonnull(o, p, e->args[i])) return true;
        return false;
    case EX_CASE: {
        if (e->n_args % 2 == 0) return false;
        for (int32_t i = 1; i < e->n_args; i += 2)
            if (!opt_expr_nonnull(o, p, e->args[i])) return false;
        return opt_expr_nonnull(o, p, e->args[e->n_args - 1]);
    }
    default: return false;
    }
}
static bool conds_reject(Opt *o, const Plan *p, ColId id) {
    if (p->n_conds == 0) return false;
    if (id <= 0) return false;
    colset_add(o->c, &o->one, id);
    bool rejects = false;
    for (int32_t i = 0; i < p->n_conds && !rejects; i++) rejects = opt_rejects_null(p->conds[i], &o->one);
    if (id / 64 < o->one.n_words) o->one.bits[id / 64] = 0;
    return rejects;
}
/* What a plan says of a column: whether it is one of its outputs, and whether it is never NULL in its rows (a column of
 * an outer level may be NULL as far as is known here, unless a condition inside says otherwise). One walk for both:
 * joins need the side that it comes from, and a walk for that at every join would be quadratic. */
enum { COL_PRODUCED = 1, COL_NONNULL = 2 };
static int col_state(Opt *o, const Plan *p, ColId id);

static int join_col_state(Opt *o, const Plan *p, ColId id) {
    if (p->join.kind == JN_MARK && id == p->join.mark_col) return COL_PRODUCED;
    int s = col_state(o, p->children[0], id);
    bool left = s & COL_PRODUCED;
    if (!left) s = col_state(o, p->children[1], id);
    if (!left && (p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_MARK)) s &= ~COL_PRODUCED;
    bool extended = p->join.kind == JN_FULL || (p->join.kind == JN_RIGHT && left) ||
                    ((p->join.kind == JN_LEFT || p->join.kind == JN_SINGLE) && !left);
    if (extended) s &= ~COL_NONNULL;
    if (!(s & COL_NONNULL) && (p->join.kind == JN_INNER || (p->join.kind == JN_SEMI && left)) && conds_reject(o, p, id))
        s |= COL_NONNULL;
    return s;
}
/* Counts and ranks are never NULL; the others are where a frame is empty or has no such row. */
static int window_col_state(Opt *o, const Plan *p, ColId id) {
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        uint8_t k = p->agg.calls[i].kind;
        bool counts = k == AGG_COUNT || k == AGG_COUNT_STAR;
        if (p->agg.calls[i].out == id) return COL_PRODUCED | (counts ? COL_NONNULL : 0);
    }
    for (int32_t i = 0; i < p->win.n_calls; i++)
        if (p->win.calls[i].out == id) return COL_PRODUCED | (p->win.calls[i].func <= WF_CUME_DIST ? COL_NONNULL : 0);
    return col_state(o, p->children[0], id);
}
static int col_state(Opt *o, const Plan *p, ColId id) {
    if (stack_stop()) return 0;
    switch ((PlanKind)p->kind) {
    case LP_SCAN: {
        int s = conds_reject(o, p, id) ? COL_NONNULL : 0;
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id) {
                if (p->scan.cols[i] < 0) return COL_PRODUCED | COL_NONNULL;
                const Column *c = &p->scan.table->cols[p->scan.cols[i]];
                return COL_PRODUCED | (c->not_null || !o->c->cols.items[id].nullable ? COL_NONNULL : s);
            }
        return s;
    }
    case LP_FILTER: {
        int s = col_state(o, p->children[0], id);
        return !(s & COL_NONNULL) && conds_reject(o, p, id) ? s | COL_NONNULL : s;
    }
    case LP_REPEAT:
        if (p->n_out && p->out_cols[0] == id) return COL_PRODUCED | COL_NONNULL;
        return col_state(o, p->children[0], id);
    case LP_SORT:
    case LP_LIMIT: return col_state(o, p->children[0], id);
    case LP_WINDOW: return window_col_state(o, p, id);
    case LP_PROJECT:
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id)
                return COL_PRODUCED | (opt_expr_nonnull(o, p->children[0], p->exprs[i]) ? COL_NONNULL : 0);
        return 0;
    case LP_AGG:
        for (int32_t i = 0; i < p->agg.n_keys; i++)
            if (p->out_cols[i] == id)
                return COL_PRODUCED | (opt_expr_nonnull(o, p->children[0], p->exprs[i]) ? COL_NONNULL : 0);
        for (int32_t i = 0; i < p->agg.n_calls; i++) {
            if (p->agg.calls[i].out != id) continue;
            uint8_t k = p->agg.calls[i].kind;
            bool nonnull =
                agg_is_count(k) || (p->agg.n_keys > 0 && !p->agg.calls[i].filter && p->agg.calls[i].arg &&
                                    k <= AGG_ANY && opt_expr_nonnull(o, p->children[0], p->agg.calls[i].arg));
            return COL_PRODUCED | (nonnull ? COL_NONNULL : 0);
        }
        return 0;
    case LP_JOIN: return join_col_state(o, p, id);
    case LP_VALUES:
        for (int32_t i = 0; i < p->n_out; i++) {
            if (p->out_cols[i] != id) continue;
            bool nonnull = !p->values.cells || !p->values.cells[i].valid;
            for (int64_t r = 0; r < p->values.n_rows && !p->values.cells && nonnull; r++)
                nonnull = opt_expr_nonnull(o, p, p->values.rows[r][i]);
            return COL_PRODUCED | (nonnull ? COL_NONNULL : 0);
        }
        return 0;
    case LP_STREAM:
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id) return COL_PRODUCED;
        return 0;
    case LP_SERIES: return p->out_cols[0] == id ? COL_PRODUCED | COL_NONNULL : 0;
    case LP_SETOP:
        for (int32_t i = 0; i < p->n_out; i++) {
            if (p->out_cols[i] != id) continue;
            bool nonnull = true;
            for (int32_t k = 0; k < p->n_children && nonnull; k++)
                nonnull = opt_col_nonnull(o, p->children[k], p->set.cols[k][i]);
            return COL_PRODUCED | (nonnull ? COL_NONNULL : 0);
        }
        return 0;
    case LP_CTE: return col_state(o, p->children[1], id);
    case LP_CTE_SCAN: /* the definition may have added NULLs to the column it comes from */
        for (int32_t i = 0; i < p->n_out; i++)
            if (p->out_cols[i] == id) return COL_PRODUCED;
        return 0;
    }
    return 0;
}
bool opt_col_nonnull(Opt *o, const Plan *p, ColId id) { return col_state(o, p, id) & COL_NONNULL; }

bool opt_max_one_row(const Plan *p) {
    if (stack_stop()) return false;
    switch ((PlanKind)p->kind) {
    case LP_AGG: return p->agg.n_keys == 0 || opt_max_one_row(p->children[0]);
    case LP_PROJECT:
    case LP_WINDOW:
    case LP_FILTER: return opt_max_one_row(p->children[0]);
    case LP_SORT: return (p->limit.rows >= 0 && p->limit.rows <= 1) || opt_max_one_row(p->children[0]);
    case LP_LIMIT:
        return (p->limit.rows >= 0 && p->limit.rows <= 1 && !p->limit.rows_expr) || opt_max_one_row(p->children[0]);
    case LP_VALUES: return p->values.n_rows <= 1;
    case LP_CTE: return opt_max_one_row(p->children[1]);
    case LP_JOIN:
        if (p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_MARK || p->join.kind == JN_SINGLE)
            return opt_max_one_row(p->children[0]);
        if (p->join.kind != JN_INNER && p->join.kind != JN_LEFT) return false;
        /* a leaf first: chains of joins need not be gone down from every join */
        return opt_max_one_row(p->children[p->children[1]->n_children == 0]) &&
               opt_max_one_row(p->children[p->children[1]->n_children != 0]);
    default: return false;
    }
}
bool opt_one_row(const Plan *p) {
    if (stack_stop()) return false;
    switch ((PlanKind)p->kind) {
    case LP_AGG: return p->agg.n_keys == 0;
    case LP_WINDOW:
    case LP_PROJECT: return opt_one_row(p->children[0]);
    case LP_SORT:
        return p->limit.rows != 0 && !p->limit.rows_expr && p->limit.offset <= 0 && !p->limit.offset_expr &&
               opt_one_row(p->children[0]);
    case LP_VALUES: return p->values.n_rows == 1;
    case LP_CTE: return opt_one_row(p->children[1]);
    case LP_JOIN:
        if (p->join.kind == JN_MARK || p->join.kind == JN_SINGLE) return opt_one_row(p->children[0]);
        return p->join.kind == JN_INNER && p->n_conds == 0 && opt_one_row(p->children[0]) &&
               opt_one_row(p->children[1]);
    default: return false;
    }
}

bool opt_equi(Opt *o, Expr *e, const ColSet *a, const ColSet *b, Expr **ea, Expr **eb, bool *null_safe) {
    bool eq = opt_is_op(e, "=");
    if (!eq && e->kind != EX_NOT_DISTINCT) return false;
    *null_safe = !eq;
    for (int k = 0; k < 2; k++) {
        Expr *x = e->args[k], *y = e->args[1 - k];
        if (!opt_uses(o, x, a) || !opt_uses(o, y, b)) continue;
        if (opt_uses(o, x, b) || opt_uses(o, y, a)) continue;
        *ea = x;
        *eb = y;
        return true;
    }
    return false;
}

/* No two rows of p have equal, non-NULL values in all of `keys`. */
bool opt_unique(Opt *o, const Plan *p, const ColSet *keys) {
    if (stack_stop()) return false;
    if (opt_max_one_row(p)) return true;
    if (opt_set_empty(keys)) return false;
    switch ((PlanKind)p->kind) {
    case LP_SCAN: {
        for (int32_t i = 0; i < p->n_out; i++) {
            if (!colset_has(keys, p->out_cols[i])) continue;
            if (p->scan.cols[i] < 0 || p->scan.table->cols[p->scan.cols[i]].stats.unique) return true;
        }
        for (int k = 0; k < p->scan.table->n_keys; k++) {
            const KeyConstraint *kc = &p->scan.table->keys[k];
            int found = 0;
            for (int i = 0; i < kc->n_cols; i++)
                for (int32_t j = 0; j < p->n_out; j++)
                    if (p->scan.cols[j] == kc->cols[i] && colset_has(keys, p->out_cols[j])) {
                        found++;
                        break;
                    }
            if (kc->n_cols > 0 && found == kc->n_cols && !kc->deferrable) return true;
        }
        /* a column fixed by an equality counts as a key column: left to the constraint check above by equality classes
         */
        return false;
    }
    case LP_FILTER:
    case LP_SORT:
    case LP_WINDOW:
    case LP_LIMIT: return opt_unique(o, p->children[0], keys);
    case LP_PROJECT: {
        ColSet k = colset_new(o->c);
        for (int32_t i = 0; i < p->n_out; i++)
            if (colset_has(keys, p->out_cols[i]) && p->exprs[i]->kind == EX_COL)
                colset_add(o->c, &k, p->exprs[i]->u.col);
        return opt_unique(o, p->children[0], &k);
    }
    case LP_AGG: {
        bool all = true;
        for (int32_t i = 0; i < p->agg.n_keys; i++)
            if (!colset_has(keys, p->out_cols[i])) all = false;
        if (all) return true;
        return false;
    }
    case LP_CTE: return opt_unique(o, p->children[1], keys);
    case LP_JOIN: {
        const Plan *l = p->children[0], *r = p->children[1];
        if (p->join.kind == JN_SEMI || p->join.kind == JN_ANTI || p->join.kind == JN_MARK || p->join.kind == JN_SINGLE)
            return opt_unique(o, l, keys);
        if (p->join.kind != JN_INNER && p->join.kind != JN_LEFT) return false;
        ColSet lo = opt_outputs(o, l), ro = opt_outputs(o, r);
        ColSet lk = colset_new(o->c), rk = colset_new(o->c);
        for (int32_t i = 0; i < p->n_conds; i++) {
            Expr *a, *b;
            bool ns;
            if (!opt_equi(o, p->conds[i], &lo, &ro, &a, &b, &ns) || ns) continue;
            if (a->kind == EX_COL) colset_add(o->c, &lk, a->u.col);
            if (b->kind == EX_COL) colset_add(o->c, &rk, b->u.col);
        }
        if (opt_unique(o, r, &rk) && opt_unique(o, l, keys)) return true;
        if (p->join.kind == JN_INNER && opt_unique(o, l, &lk) && opt_unique(o, r, keys)) return true;
        return false;
    }
    default: return false;
    }
}
