/* compile_group.c - aggregates in the queries of procedures, over all rows and by groups.
 *
 * Accumulators are variables of the call. A call has no table to group in, so groups come one after the other, in the
 * order of their keys: all rows are read for the least key that was not there yet, and once more for the aggregates of
 * that group. That is quadratic in the number of groups, for the few rows that a call looks at. avg() and DISTINCT have
 * been split by the optimiser's own rule (sql_split_aggregates). */
#include "sql/pl/compile_rows.h"

/* Aggregates over all rows: accumulators are variables. */
static Status agg_init(Cp *c, const AggCall *g, int32_t var) {
    return g->kind == AGG_COUNT || g->kind == AGG_COUNT_STAR ? cp_store_int(c, var, 0) : cp_store_null(c, var);
}

static Status agg_row(Cp *c, void *ctx) {
    Above *a = ctx;
    for (int32_t i = 0; i < a->plan->agg.n_calls; i++) {
        const AggCall *g = &a->plan->agg.calls[i];
        int32_t var = a->vars[i], open = 0;
        if (g->filter) {
            TRY(cp_control(c, OP_P_IF, cp_condition(c, g->filter), 0));
            open++;
        }
        Type t = c->vars.items[var].type;
        Phys ph = type_phys(t);
        if (g->kind == AGG_COUNT_STAR) {
            TRY(cp_store(c, var, cp_emit(c, OP_ADD, PH_I64, t, true, cp_load(c, var), cp_int(c, PH_I64, 1), 0)));
        } else {
            Reg v = cp_lower_as(c, g->arg, g->arg->type);
            Reg there = cp_test(c, OP_IS_NOT_NULL, v);
            if (!there) return ST_ERROR;
            TRY(cp_control(c, OP_P_IF, there, 0));
            open++;
            v = cp_lower_as(c, g->arg, g->arg->type);
            Reg old = cp_load(c, var);
            if (!v || !old) return ST_ERROR;
            Reg r = 0;
            if (g->kind == AGG_COUNT) {
                r = cp_emit(c, OP_ADD, PH_I64, t, true, old, cp_int(c, PH_I64, 1), 0);
            } else if (g->kind == AGG_SUM) {
                v = lower_as(&c->low, &c->pipe, v, ph);
                Reg sum = cp_emit(c, OP_ADD, ph, t, true, old, v, 0);
                r = cp_emit(c, OP_COALESCE, ph, t, true, sum, v, 0);
            } else { /* MIN, MAX: old when it is there and not worse */
                Reg better = cp_cmp(c, g->kind == AGG_MIN ? OP_LE : OP_GE, ph, old, v);
                r = cp_emit(c, OP_SELECT, ph, t, true, better, old, v);
            }
            TRY(cp_store(c, var, r));
        }
        cp_flag(c, CP_WHOLE);
        while (open-- > 0) TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    }
    return ST_OK;
}

/* Their accumulators. */
static int32_t *agg_vars(Cp *c, const Plan *p) {
    int32_t *vars = arena_array(c->arena, int32_t, p->agg.n_calls + 1);
    if (!vars) return c->oom = true, NULL;
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        const AggCall *g = &p->agg.calls[i];
        bool ok = g->kind == AGG_COUNT || g->kind == AGG_COUNT_STAR || g->kind == AGG_SUM || g->kind == AGG_MIN ||
                  g->kind == AGG_MAX;
        if (!ok || g->distinct)
            return (void)cp_refuse(c, "%s%s", g->func->name, g->distinct ? " with DISTINCT" : ""), NULL;
        if (g->kind == AGG_SUM && (g->arg->type.id == T_FLOAT4 || g->arg->type.id == T_FLOAT8))
            return (void)cp_refuse(c, "sum of floating-point numbers"), NULL; /* its order counts */
        if ((vars[i] = cp_var_new(c, NULL, c->ctx.cols.items[g->out].type)) < 0) return NULL;
    }
    return vars;
}
static Status define_var(Cp *c, ColId id, int32_t var) {
    Expr *v = expr_col(&c->ctx, c->vars.items[var].col);
    return v ? cp_define(c, id, v) : cp_oom(c);
}

Status cp_agg_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    int32_t *vars = agg_vars(c, p);
    Conds *inner = arena_new_of(c->arena, Conds);
    Above *x = arena_new_of(c->arena, Above);
    if (!vars) return ST_ERROR;
    if (!inner || !x) return cp_oom(c);
    bool single = true;
    *x = (Above){.plan = p, .vars = vars};
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(agg_init(c, &p->agg.calls[i], vars[i]));
    TRY(cp_rows_of(c, p->children[0], inner, needed, agg_row, x, &single));
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(define_var(c, p->agg.calls[i].out, vars[i]));
    return cp_test_rest(c, conds, row, ctx);
}

/* ---- groups ---- */
typedef struct Groups {
    Above aggs;
    int32_t n_keys;
    SortKey *keys;        /* as if they were sorted by */
    int32_t *best, *last; /* by key: of the group that comes next, so far; of the one in hand */
    int32_t have, any;    /* there is one */
} Groups;

/* A row whose key comes after the one in the variables leaves `later`; before it, or equal, `earlier`. */
static Status compare_key(Cp *c, const Groups *g, const int32_t *vars, int32_t later, int32_t earlier) {
    for (int32_t i = 0; i < g->n_keys; i++)
        for (int after = 1; after >= 0; after--)
            TRY(cp_leave_if(c, cp_key_differs(c, &g->keys[i], vars[i], after), after ? later : earlier));
    return cp_leave(c, earlier, false);
}
static Status key_row(Cp *c, void *ctx) {
    Groups *g = ctx;
    int32_t done = c->flow.next_block++, after = c->flow.next_block++, better = c->flow.next_block++;
    TRY(cp_control(c, OP_P_BLOCK, 0, done));
    TRY(cp_control(c, OP_P_BLOCK, 0, after));
    TRY(cp_control(c, OP_P_IF, cp_load(c, g->any), 0));
    TRY(compare_key(c, g, g->last, after, done));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, after));
    TRY(cp_control(c, OP_P_BLOCK, 0, better));
    TRY(cp_control(c, OP_P_IF, cp_load(c, g->have), 0));
    TRY(compare_key(c, g, g->best, done, better));
    TRY(cp_control(c, OP_P_ENDIF, 0, 0));
    TRY(cp_control(c, OP_P_ENDBLOCK, 0, better));
    for (int32_t i = 0; i < g->n_keys; i++) {
        TRY(cp_store(c, g->best[i], cp_lower_as(c, g->keys[i].expr, g->keys[i].expr->type)));
        cp_flag(c, CP_WHOLE);
    }
    TRY(cp_store_int(c, g->have, 1));
    return cp_control(c, OP_P_ENDBLOCK, 0, done);
}
static Status member_row(Cp *c, void *ctx) {
    Groups *g = ctx;
    int32_t other = c->flow.next_block++;
    TRY(cp_control(c, OP_P_BLOCK, 0, other));
    for (int32_t i = 0; i < g->n_keys; i++)
        for (int after = 1; after >= 0; after--)
            TRY(cp_leave_if(c, cp_key_differs(c, &g->keys[i], g->last[i], after), other));
    TRY(agg_row(c, &g->aggs));
    return cp_control(c, OP_P_ENDBLOCK, 0, other);
}

static Status make_groups(Cp *c, Plan *p, Groups *g) {
    *g = (Groups){.n_keys = p->agg.n_keys,
                  .keys = arena_array(c->arena, SortKey, p->agg.n_keys),
                  .best = arena_array(c->arena, int32_t, p->agg.n_keys),
                  .last = arena_array(c->arena, int32_t, p->agg.n_keys)};
    if (!g->keys || !g->best || !g->last) return cp_oom(c);
    if (!(g->aggs = (Above){.plan = p, .vars = agg_vars(c, p)}).vars) return ST_ERROR;
    for (int32_t i = 0; i < p->agg.n_keys; i++) {
        Expr *e = p->exprs[i];
        Phys ph = type_phys(e->type);
        if (cp_unsettled(c, e)) return cp_refuse(c, "GROUP BY a call or subquery");
        if (ph == PH_F32 || ph == PH_F64 || e->type.id == T_INTERVAL || e->type.id == T_CHAR || e->type.id == T_ARRAY)
            return cp_refuse(c, "GROUP BY %s", type_base_name((TypeId)e->type.id)); /* equal ones may differ */
        g->keys[i] = (SortKey){.expr = e};
        if ((g->best[i] = cp_var_new(c, NULL, e->type)) < 0 || (g->last[i] = cp_var_new(c, NULL, e->type)) < 0)
            return ST_ERROR;
    }
    Type b = type_make(T_BOOL);
    return (g->have = cp_var_new(c, NULL, b)) < 0 || (g->any = cp_var_new(c, NULL, b)) < 0 ? ST_ERROR : ST_OK;
}
static Status define_group(Cp *c, const Plan *p, const Groups *g) {
    for (int32_t i = 0; i < p->agg.n_keys; i++) TRY(define_var(c, p->out_cols[i], g->last[i]));
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(define_var(c, p->agg.calls[i].out, g->aggs.vars[i]));
    return ST_OK;
}
static Status child_rows(Cp *c, Plan *p, ColSet *needed, CpRow row, Groups *g) {
    Conds *none = arena_new_of(c->arena, Conds);
    bool single = true;
    if (!none) return cp_oom(c);
    return cp_rows_of(c, p->children[0], none, needed, row, g, &single);
}

Status cp_group_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    Groups *g = arena_new_of(c->arena, Groups);
    if (!g) return cp_oom(c);
    c->no_locks = true; /* rows are gone through again and again */
    TRY(make_groups(c, p, g));
    /* The number of the group orders those that are equal in an order above. */
    int32_t loop = c->flow.next_block++, number = cp_var_new(c, NULL, type_make(T_INT8));
    if (number < 0) return ST_ERROR;
    TRY(cp_store_int(c, number, 0));
    TRY(cp_store_int(c, g->any, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    cp_flag(c, CP_WHOLE);
    TRY(cp_store_int(c, g->have, 0));
    TRY(child_rows(c, p, needed, key_row, g));
    TRY(cp_leave_if(c, cp_test(c, OP_IS_FALSE, cp_load(c, g->have)), loop));
    for (int32_t i = 0; i < p->agg.n_keys; i++) TRY(cp_copy(c, g->last[i], g->best[i]));
    TRY(cp_store_int(c, g->any, 1));
    Type i8 = type_make(T_INT8);
    TRY(cp_store(c, number, cp_emit(c, OP_ADD, PH_I64, i8, true, cp_load(c, number), cp_int(c, PH_I64, 1), 0)));
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(agg_init(c, &p->agg.calls[i], g->aggs.vars[i]));
    TRY(child_rows(c, p, needed, member_row, g));
    TRY(define_group(c, p, g));
    if (!vec_push(c->arena, &c->query.rows, number)) return cp_oom(c);
    TRY(cp_test_rest(c, conds, row, ctx));
    c->query.rows.len--;
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}
