/* compile_group.c - aggregates in the queries of procedures, over all rows and by groups.
 *
 * Accumulators are variables of the call. Groups are runs of rows with equal keys in a buffer that is sorted by them
 * (compile_buffer.c): they come in the order of their keys, and of their rows one after the other goes to the
 * accumulators. avg() and DISTINCT have been split by the optimiser's own rule (sql_split_aggregates). */
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
        if (g->kind == AGG_SUM && !(P_NUM >> type_phys(c->ctx.cols.items[g->out].type) & 1))
            return (void)cp_refuse(c, "sum of %s", type_base_name((TypeId)g->arg->type.id)), NULL;
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
    c->any_order++;
    TRY(cp_rows_of(c, p->children[0], inner, needed, agg_row, x, &single));
    c->any_order--;
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(define_var(c, p->agg.calls[i].out, vars[i]));
    return cp_test_rest(c, conds, row, ctx);
}

/* ---- groups ---- */
typedef struct Groups {
    Above aggs; /* vars: accumulators */
    Plan *plan;
    int32_t n_keys;
    int32_t *keys;  /* variables: of the group in hand */
    int32_t n_cols; /* columns of rows that aggregates use, behind the keys: */
    int32_t *cols;  /* pairs: column, its variable */
    CpBuffer *buffer;
    int64_t rows_from; /* rows around the query */
} Groups;

/* A row comes to the buffer. */
static Status keyed_row(Cp *c, void *ctx) {
    Groups *g = ctx;
    const Plan *p = g->plan;
    TRY(cp_buffer_row(c, g->buffer));
    for (int32_t i = 0; i < g->n_keys; i++) {
        SortKey k = {.expr = p->exprs[i]};
        TRY(cp_buffer_key(c, g->buffer, cp_lower_as(c, k.expr, k.expr->type), &k));
    }
    TRY(cp_buffer_ties(c, g->buffer, g->rows_from));
    for (int32_t i = 0; i < g->n_keys; i++)
        TRY(cp_buffer_column(c, g->buffer, cp_lower_as(c, p->exprs[i], p->exprs[i]->type)));
    TRY(cp_buffer_columns(c, g->buffer, g->n_cols, g->cols));
    return cp_buffer_add(c, g->buffer);
}

/* Variables for the columns that arguments and filters of aggregates have of the rows below. */
static Status group_columns(Cp *c, Plan *p, Groups *g) {
    ColSet used = colset_new(&c->ctx), out = colset_new(&c->ctx);
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (p->agg.calls[i].arg) expr_cols(&c->ctx, p->agg.calls[i].arg, &used);
        if (p->agg.calls[i].filter) expr_cols(&c->ctx, p->agg.calls[i].filter, &used);
    }
    plan_outputs(&c->ctx, p->children[0], &out);
    const ColId n_ids = (ColId)c->ctx.cols.len;
    if (!(g->cols = arena_array(c->arena, int32_t, 2 * (n_ids + 1)))) return cp_oom(c);
    for (ColId id = 1; id < n_ids; id++) {
        if (!colset_has(&used, id) || !colset_has(&out, id)) continue;
        g->cols[2 * g->n_cols] = id;
        if ((g->cols[2 * g->n_cols++ + 1] = cp_var_new(c, NULL, c->ctx.cols.items[id].type)) < 0) return ST_ERROR;
    }
    return ST_OK;
}
static Status make_groups(Cp *c, Plan *p, Groups *g) {
    *g = (Groups){.plan = p,
                  .n_keys = p->agg.n_keys,
                  .keys = arena_array(c->arena, int32_t, p->agg.n_keys),
                  .buffer = cp_buffer_new(c, p->agg.n_keys),
                  .rows_from = c->query.rows.len};
    if (!g->keys || !g->buffer) return cp_oom(c);
    if (!(g->aggs = (Above){.plan = p, .vars = agg_vars(c, p)}).vars) return ST_ERROR;
    for (int32_t i = 0; i < p->agg.n_keys; i++) {
        Expr *e = p->exprs[i];
        Phys ph = type_phys(e->type);
        if (cp_unsettled(c, e)) return cp_refuse(c, "GROUP BY a call or subquery");
        if (ph == PH_F32 || ph == PH_F64 || e->type.id == T_INTERVAL || e->type.id == T_CHAR || e->type.id == T_ARRAY)
            return cp_refuse(c, "GROUP BY %s", type_base_name((TypeId)e->type.id)); /* equal ones may differ */
        if ((g->keys[i] = cp_var_new(c, NULL, e->type)) < 0) return ST_ERROR;
    }
    return group_columns(c, p, g);
}
static Status define_group(Cp *c, const Plan *p, const Groups *g) {
    for (int32_t i = 0; i < p->agg.n_keys; i++) TRY(define_var(c, p->out_cols[i], g->keys[i]));
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(define_var(c, p->agg.calls[i].out, g->aggs.vars[i]));
    return ST_OK;
}
/* The rows of a group, from row `at` on, which is left at the first one of the next group, or at the end. */
static Status member_rows(Cp *c, Groups *g, int32_t at) {
    const int32_t loop = c->flow.next_block++;
    for (int32_t i = 0; i < g->n_keys; i++) TRY(cp_store(c, g->keys[i], cp_buffer_get(c, g->buffer, at, i)));
    for (int32_t i = 0; i < g->plan->agg.n_calls; i++) TRY(agg_init(c, &g->plan->agg.calls[i], g->aggs.vars[i]));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_buffer_read(c, g->buffer, at, g->n_keys, g->n_cols, g->cols));
    TRY(agg_row(c, &g->aggs));
    TRY(cp_add_one(c, at));
    TRY(cp_leave_if(c, cp_cmp(c, OP_GE, PH_I64, cp_load(c, at), cp_load(c, g->buffer->count)), loop));
    for (int32_t i = 0; i < g->n_keys; i++) {
        Reg next = cp_buffer_get(c, g->buffer, at, i), key = cp_load(c, g->keys[i]);
        if (!next || !key) return ST_ERROR;
        TRY(cp_leave_if(c, cp_cmp(c, OP_DISTINCT, type_phys(g->plan->exprs[i]->type), next, key), loop));
    }
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}

Status cp_group_rows(Cp *c, Plan *p, Conds *conds, ColSet *needed, CpRow row, void *ctx) {
    Groups *g = arena_new_of(c->arena, Groups);
    Conds *none = arena_new_of(c->arena, Conds);
    if (!g || !none) return cp_oom(c);
    TRY(make_groups(c, p, g));
    bool single = true;
    const int32_t loop = c->flow.next_block++, at = cp_var_new(c, NULL, type_make(T_INT8));
    if (at < 0) return ST_ERROR;
    TRY(cp_buffer_clear(c, g->buffer));
    c->any_order++;
    TRY(cp_rows_of(c, p->children[0], none, needed, keyed_row, g, &single));
    c->any_order--;
    TRY(cp_buffer_sort(c, g->buffer));
    TRY(cp_store_int(c, at, 0));
    TRY(cp_control(c, OP_P_LOOP, 0, loop));
    TRY(cp_leave_if(c, cp_cmp(c, OP_GE, PH_I64, cp_load(c, at), cp_load(c, g->buffer->count)), loop));
    TRY(member_rows(c, g, at));
    TRY(define_group(c, p, g));
    /* Its number orders those that are equal in an order above. */
    if (!vec_push(c->arena, &c->query.rows, at)) return cp_oom(c);
    TRY(cp_test_rest(c, conds, row, ctx));
    c->query.rows.len--;
    return cp_control(c, OP_P_ENDLOOP, 0, loop);
}
