/* bind_select.c - one SELECT level: targets, grouping, DISTINCT, ORDER BY, LIMIT; VALUES.
 *
 * Order of work: FROM, WHERE, then every expression above (targets, GROUP BY, HAVING, ORDER BY) is bound over FROM's
 * columns while its aggregates are collected. If the level is grouped, the expressions are then rewritten: whole
 * group keys become key columns, what is left of FROM's columns must depend on the keys (42803). The tree is
 *
 *   FROM > FILTER where > AGG > FILTER having > [WINDOW] > PROJECT > [AGG distinct] > [SORT] > [LIMIT]
 *
 * with the rows of set-returning functions (bind_rows.c) below AGG, WINDOW or PROJECT.
 */
#include "sql/bind/bind_int.h"

ColId *bind_ids(Binder *b, int64_t n, const ColId *ids) {
    ColId *copy = arena_array(b->a, ColId, n + 1);
    for (int64_t i = 0; copy && i < n; i++) copy[i] = ids[i];
    return copy;
}

/* ---- projections ---------------------------------------------------------------- */

ColId bind_proj_add(Binder *b, Proj *p, const Query *q, Expr *e, const char *name) {
    if (!e) return 0;
    ColId id = 0;
    if (e->kind == EX_COL && q && bind_owner(b, e->u.col).query == q) {
        /* the level's own column keeps its id; an outer one must not appear as produced here */
        for (int64_t i = 0; i < p->ids.len; i++)
            if (p->ids.items[i] == e->u.col) return e->u.col;
        id = e->u.col;
    } else {
        bool never_null = e->kind == EX_CONST && !e->u.value.is_null;
        if (!(id = plan_new_col(b->c, name, e->type, !never_null))) return 0;
        b->c->cols.items[id].domain = e->domain;
    }
    return vec_push(b->a, &p->ids, id) && vec_push(b->a, &p->exprs, e) ? id : 0;
}

Status bind_pass(Binder *b, Proj *p, ColId id) {
    Expr *e = expr_col(b->c, id);
    return e && vec_push(b->a, &p->ids, id) && vec_push(b->a, &p->exprs, e) ? ST_OK : ST_ERROR;
}

Plan *bind_proj_plan(Binder *b, const Proj *proj, Plan *child) {
    Plan *p = child ? plan_new(b->c, LP_PROJECT, 1) : NULL;
    if (!p) return NULL;
    p->children[0] = child;
    p->n_out = p->n_exprs = (int32_t)proj->ids.len;
    p->out_cols = proj->ids.items;
    p->exprs = proj->exprs.items;
    return p;
}

static Status add_fields(Binder *b, Query *q, const AstField *f, TargetVec *out) {
    ExprVec fields = {0};
    const char **names;
    TRY(bind_all_fields(b, q, f, &fields, &names));
    for (int64_t k = 0; k < fields.len; k++)
        if (!vec_push(b->a, out, ((Target){.expr = fields.items[k], .name = names[k]}))) return ST_ERROR;
    return ST_OK;
}

Status bind_targets(Binder *b, Query *q, const AstTarget *t, int64_t n, TargetVec *out) {
    for (int64_t i = 0; i < n; i++) {
        if (t[i].expr->kind == AST_STAR) {
            StarCol *cols;
            int64_t k;
            TRY(bind_star(b, q, AST_AS_CONST(AstColumn, t[i].expr), &cols, &k));
            for (int64_t j = 0; j < k; j++) {
                Target x = {.expr = bind_item_column(b, cols[j].id), .name = cols[j].name};
                if (!x.expr || !vec_push(b->a, out, x)) return ST_ERROR;
                x.expr->location = t[i].expr->location;
            }
            continue;
        }
        RowValue row;
        bool is_row = false;
        if (t[i].expr->kind == AST_FIELD && !AST_AS_CONST(AstField, t[i].expr)->name) {
            TRY(add_fields(b, q, AST_AS_CONST(AstField, t[i].expr), out));
            continue;
        }
        TRY(bind_row_value(b, q, t[i].expr, &row, &is_row));
        Target x = {.expr = is_row ? bind_row_cell(b, &row, t[i].expr->location) : bind_expr(b, q, t[i].expr),
                    .name = t[i].alias ? t[i].alias : bind_target_name(t[i].expr),
                    .ast = t[i].expr};
        if (is_row && !(x.row = arena_new_of(b->a, RowValue))) return ST_ERROR;
        if (is_row) *x.row = row;
        if (!x.expr || !vec_push(b->a, out, x)) return ST_ERROR;
    }
    return ST_OK;
}

/* ---- grouping ------------------------------------------------------------------------ */

typedef struct Group {
    Binder *b;
    Query *q;
    ExprVec keys;
    IdVec ids;
    KeySets sets; /* one: plain grouping */
    bool in_sub;
} Group;

static Status regroup(Group *g, Expr **slot);
static Status regroup_slot(void *ctx, Expr **slot) { return regroup(ctx, slot); }
static Status regroup_plan(Group *g, Plan *p) {
    TRY(stack_check(g->b->err));
    TRY(plan_each_expr(p, regroup_slot, g));
    for (int32_t i = 0; i < p->n_children; i++) TRY(regroup_plan(g, p->children[i]));
    return ST_OK;
}

/* Whether one of the grouped keys is that column of the table, as the item has it. */
static bool grouped_by_column(const Group *g, const NsItem *it, int col) {
    for (int64_t j = 0; j < g->keys.len; j++) {
        if (g->keys.items[j]->kind != EX_COL || !bind_in_all_sets(&g->sets, j)) continue;
        ColId key = g->keys.items[j]->u.col;
        const ColInfo *info = &g->b->c->cols.items[key];
        if (info->table != it->table || info->col != col) continue;
        for (int32_t k = 0; k < it->n_cols; k++)
            if (it->cols[k].id == key) return true;
    }
    return false;
}

/* The grouped key columns include a primary key of the column's table: the column has one value per group. */
static bool depends_on_key(const Group *g, ColId id) {
    for (int64_t i = 0; i < g->q->ns.len; i++) {
        const NsItem *it = &g->q->ns.items[i];
        bool mine = false;
        for (int32_t k = 0; k < it->n_cols; k++) mine |= it->cols[k].id == id;
        if (!mine || !it->table) continue;
        for (int k = 0; k < it->table->n_keys; k++) {
            const KeyConstraint *pk = &it->table->keys[k];
            bool all = pk->primary && !pk->deferrable;
            for (int c = 0; c < pk->n_cols && all; c++) all = grouped_by_column(g, it, pk->cols[c]);
            GroupedKey used = {it->table, k};
            if (all && !vec_push(g->b->a, &g->b->c->grouped_keys, used)) return false;
            if (all) return true;
        }
    }
    return false;
}

static Expr *dependent_value(Group *g, ColId id) {
    Binder *b = g->b;
    const ColInfo info = b->c->cols.items[id];
    const FuncDef *f;
    Type coerced, ret;
    for (int64_t i = 0; i < g->q->aggs.len; i++) {
        const AggCall *a = &g->q->aggs.items[i];
        if (a->kind == AGG_ANY && a->arg && a->arg->kind == EX_COL && a->arg->u.col == id && !a->filter)
            return expr_col(b->c, a->out);
    }
    if (func_resolve(slice_of("any_value"), false, 1, &info.type, 0, &f, &coerced, &ret, b->err) != ST_OK) return NULL;
    AggCall call = {
        .func = f, .kind = AGG_ANY, .arg = expr_col(b->c, id), .out = plan_new_col(b->c, info.name, info.type, true)};
    if (!call.arg || !call.out || bind_own(b, g->q, call.out, true) != ST_OK || !vec_push(b->a, &g->q->aggs, call))
        return NULL;
    return expr_col(b->c, call.out);
}

static Status regroup(Group *g, Expr **slot) {
    TRY(stack_check(g->b->err));
    Expr *e = *slot;
    Binder *b = g->b;
    if (e->kind == EX_CONST || e->kind == EX_PARAM) return ST_OK;
    for (int64_t i = 0; i < g->keys.len; i++) {
        if (!expr_equal(e, g->keys.items[i])) continue;
        if (!(*slot = expr_col(b->c, g->ids.items[i]))) return ST_ERROR;
        (*slot)->location = e->location;
        return ST_OK;
    }
    if (e->kind == EX_COL) {
        ColOwner o = bind_owner(b, e->u.col);
        if (o.query == g->q && o.srf && bind_srf_is_below(g->q, e->u.col))
            return (*slot = bind_srf_above(b, g->q, e->u.col, regroup_slot, g)) ? ST_OK : ST_ERROR;
        if (o.query != g->q || o.agg) return ST_OK;
        if (depends_on_key(g, e->u.col)) {
            Expr *v = dependent_value(g, e->u.col);
            if (!v) return ST_ERROR;
            v->location = e->location;
            *slot = v;
            return ST_OK;
        }
        const char *label = bind_column_label(b, g->q, e->u.col);
        if (g->in_sub)
            return err_at(b->err, bind_pos(b, e->location), ERR_GROUPING,
                          "subquery uses ungrouped column \"%s\" from outer query", label);
        return err_at(b->err, bind_pos(b, e->location), ERR_GROUPING,
                      "column \"%s\" must appear in the GROUP BY clause or be used in an aggregate function", label);
    }
    for (int32_t i = 0; i < e->n_args; i++) TRY(regroup(g, &e->args[i]));
    if (e->kind == EX_SUBQUERY) {
        for (int32_t i = 0; e->u.sub.compare && i < e->u.sub.n_cols; i++) TRY(regroup(g, &e->u.sub.compare[i]));
        bool in = g->in_sub;
        g->in_sub = true;
        TRY(regroup_plan(g, e->u.sub.plan));
        g->in_sub = in;
    }
    return ST_OK;
}

static bool no_agg_col(void *ctx, Expr *e) {
    void **k = ctx;
    if (e->kind != EX_COL) return true;
    ColOwner o = bind_owner(k[0], e->u.col);
    if (o.srf && o.query == k[1]) return bind_srf_args(k[1], e->u.col, no_agg_col, ctx);
    return !(o.agg && o.query == k[1]);
}

/* Whether it uses a set-returning function that stands above everything else. */
static bool uses_srf(const Binder *b, const Query *q, const Expr *e) {
    ColSet used = colset_new(b->c);
    if (e) expr_cols(b->c, e, &used);
    for (int64_t i = 0; i < q->srfs.len; i++) {
        const RowsFunc *f = &q->srfs.items[i].f;
        if (q->srfs.items[i].stage != SRF_ABOVE) continue;
        if (f->found && colset_has(&used, f->found)) return true;
        for (int32_t k = 0; k < f->n_cols; k++)
            if (colset_has(&used, f->cols[k])) return true;
    }
    return false;
}

/* A key that repeats a target is the target's own tree, not a copy: regrouping replaces it there (also when it holds a
 * subquery, which compares equal only to itself). */
static Status add_group_key(Binder *b, Query *q, Expr *e, int64_t location, ExprVec *keys, KeySet *set);

/* A row: its fields are the keys, which are found in the row's text too. */
static Status group_row(Binder *b, Query *q, const RowValue *r, ExprVec *keys, KeySet *set) {
    for (int64_t i = 0; i < r->fields.len; i++)
        TRY(add_group_key(b, q, bind_copy(b, r->fields.items[i]), r->location, keys, set));
    return r->found ? add_group_key(b, q, bind_copy(b, r->found), r->location, keys, set) : ST_OK;
}

Status bind_group_key(Binder *b, Query *q, const AstExpr *ast, const TargetVec *targets, ExprVec *keys, KeySet *set) {
    TRY(stack_check(b->err));
    Expr *e = NULL;
    RowValue row;
    bool is_row = false;
    const RowValue *target_row = NULL;
    if (ast->kind == AST_ROW) {
        const AstList *l = AST_AS_CONST(AstList, ast);
        for (int64_t i = 0; i < l->n_items; i++) TRY(bind_group_key(b, q, l->items[i], targets, keys, set));
        return ST_OK;
    }
    if (ast->kind == AST_INT_LIT) {
        int64_t k = AST_AS_CONST(AstLiteral, ast)->i;
        if (k < 1 || k > targets->len)
            return err_at(b->err, bind_pos(b, ast->location), ERR_INVALID_COLUMN_REFERENCE,
                          "GROUP BY position %lld is not in select list", (long long)k);
        e = targets->items[k - 1].expr;
        target_row = targets->items[k - 1].row;
    } else if (ast->kind == AST_STRING_LIT || ast->kind == AST_NUMBER_LIT || ast->kind == AST_BOOL_LIT ||
               ast->kind == AST_NULL_LIT) {
        return err_at(b->err, bind_pos(b, ast->location), ERR_SYNTAX, "non-integer constant in GROUP BY");
    } else if (ast->kind == AST_COLUMN && !AST_AS_CONST(AstColumn, ast)->table) {
        /* a column of FROM first, then an output name */
        const char *name = AST_AS_CONST(AstColumn, ast)->name;
        ColId id = bind_local_column(b, q, name, ast->location);
        if (id < 0) return ST_ERROR;
        Expr *same = NULL;
        for (int64_t i = 0; !id && i < targets->len; i++) {
            if (strcmp(targets->items[i].name, name) != 0) continue;
            if (same && !expr_equal(same, targets->items[i].expr))
                return err_at(b->err, bind_pos(b, ast->location), ERR_AMBIGUOUS_COLUMN, "GROUP BY \"%s\" is ambiguous",
                              name);
            same = targets->items[i].expr;
            target_row = targets->items[i].row;
        }
        if (!same) TRY(bind_row_value(b, q, ast, &row, &is_row));
        e = same ? same : is_row ? NULL : bind_expr(b, q, ast);
    } else {
        e = bind_expr(b, q, ast);
    }
    if (is_row || target_row) return group_row(b, q, is_row ? &row : target_row, keys, set);
    return add_group_key(b, q, e, ast->location, keys, set);
}

static Status add_group_key(Binder *b, Query *q, Expr *e, int64_t location, ExprVec *keys, KeySet *set) {
    if (e && e->type.id == T_UNKNOWN) e = bind_coerce(b, e, type_make(T_TEXT), CAST_IMPLICIT, location);
    if (!e || bind_check_groupable(b, e->type, location) != ST_OK) return ST_ERROR;
    void *k[2] = {b, q};
    if (bind_uses_window(b, e))
        return err_at(b->err, bind_pos(b, location), ERR_WINDOWING, "window functions are not allowed in GROUP BY");
    if (!expr_walk(e, no_agg_col, k))
        return err_at(b->err, bind_pos(b, location), ERR_GROUPING, "aggregate functions are not allowed in GROUP BY");
    int64_t key = 0;
    while (key < keys->len && !expr_equal(keys->items[key], e)) key++;
    if (key == keys->len && !vec_push(b->a, keys, e)) return ST_ERROR;
    for (int64_t i = 0; i < set->len; i++)
        if (set->items[i] == key) return ST_OK;
    return vec_push(b->a, set, (ColId)key) ? ST_OK : ST_ERROR;
}

/* ---- ORDER BY ---------------------------------------------------------------------------- */

typedef struct OrderKey {
    Expr *expr;     /* an expression of its own, or NULL and */
    int64_t target; /* the target's position */
    bool desc, nulls_first;
    int64_t location;
} OrderKey;
typedef VEC(OrderKey) OrderVec;

static Status order_key(Binder *b, Query *q, const AstOrderItem *o, const TargetVec *targets, OrderKey *key) {
    const AstExpr *ast = o->expr;
    *key = (OrderKey){.target = -1,
                      .desc = o->desc,
                      .location = ast->location,
                      .nulls_first = o->nulls == AST_NULLS_DEFAULT ? o->desc : o->nulls == AST_NULLS_FIRST};
    if (ast->kind == AST_INT_LIT) {
        int64_t k = AST_AS_CONST(AstLiteral, ast)->i;
        if (k < 1 || k > targets->len)
            return err_at(b->err, bind_pos(b, ast->location), ERR_INVALID_COLUMN_REFERENCE,
                          "ORDER BY position %lld is not in select list", (long long)k);
        key->target = k - 1;
        return ST_OK;
    }
    if (ast->kind == AST_STRING_LIT || ast->kind == AST_NUMBER_LIT || ast->kind == AST_BOOL_LIT ||
        ast->kind == AST_NULL_LIT)
        return err_at(b->err, bind_pos(b, ast->location), ERR_SYNTAX, "non-integer constant in ORDER BY");
    if (ast->kind == AST_COLUMN && !AST_AS_CONST(AstColumn, ast)->table) { /* an output name wins */
        const char *name = AST_AS_CONST(AstColumn, ast)->name;
        for (int64_t i = 0; i < targets->len; i++) {
            if (strcmp(targets->items[i].name, name) != 0) continue;
            if (key->target >= 0 && !expr_equal(targets->items[key->target].expr, targets->items[i].expr))
                return err_at(b->err, bind_pos(b, ast->location), ERR_AMBIGUOUS_COLUMN, "ORDER BY \"%s\" is ambiguous",
                              name);
            if (key->target < 0) key->target = i;
        }
        if (key->target >= 0) return ST_OK;
    }
    Expr *e = bind_expr(b, q, ast);
    if (e && e->type.id == T_UNKNOWN) e = bind_coerce(b, e, type_make(T_TEXT), CAST_IMPLICIT, ast->location);
    if (!e) return ST_ERROR;
    for (int64_t i = 0; i < targets->len && key->target < 0; i++)
        if (expr_equal(targets->items[i].expr, e) && !expr_is_volatile(e)) key->target = i;
    if (key->target < 0) key->expr = e;
    return ST_OK;
}

/* Keys that stand for values in the order are columns computed below the sort. */
static Plan *key_columns(Binder *b, Plan *child, int64_t n, ColId *ids) {
    bool some = false;
    for (int64_t i = 0; i < n; i++) {
        some |= bind_sorts_by_key(b->c->cols.items[ids[i]].type);
        if (bind_check_sortable(b, b->c->cols.items[ids[i]].type, 0) != ST_OK) return NULL;
    }
    if (!some) return child;
    Plan *p = plan_new(b->c, LP_PROJECT, 1);
    ColSet out = colset_new(b->c);
    plan_outputs(b->c, child, &out);
    ColId n_cols = (ColId)b->c->cols.len;
    if (!p || !(p->out_cols = arena_array(b->a, ColId, n_cols + n)) ||
        !(p->exprs = arena_array(b->a, Expr *, n_cols + n)))
        return NULL;
    p->children[0] = child;
    for (ColId id = 1; id < n_cols; id++) {
        if (!colset_has(&out, id)) continue;
        if (!(p->exprs[p->n_out] = expr_col(b->c, id))) return NULL;
        p->out_cols[p->n_out++] = id;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!bind_sorts_by_key(b->c->cols.items[ids[i]].type)) continue;
        Expr *e = expr_col(b->c, ids[i]);
        if (!(e = bind_key(b, e, 0))) return NULL;
        ColId key = 0;
        for (int32_t k = 0; k < p->n_out && !key; k++)
            if (expr_equal(p->exprs[k], e)) key = p->out_cols[k];
        if (!key) {
            if (!(key = plan_new_col(b->c, "sort key", e->type, true))) return NULL;
            p->exprs[p->n_out] = e;
            p->out_cols[p->n_out++] = key;
        }
        ids[i] = key;
    }
    p->n_exprs = p->n_out;
    return p;
}

static Plan *sort_plan(Binder *b, Plan *child, const OrderVec *keys, const ColId *key_ids) {
    if (!child || keys->len == 0) return child;
    ColId *ids = arena_array(b->a, ColId, keys->len);
    if (!ids) return NULL;
    memcpy(ids, key_ids, sizeof *ids * (size_t)keys->len);
    if (!(child = key_columns(b, child, keys->len, ids))) return NULL;
    Plan *p = plan_new(b->c, LP_SORT, 1);
    if (!p || !(p->sort.keys = arena_array(b->a, SortKey, keys->len))) return NULL;
    p->children[0] = child;
    for (int64_t i = 0; i < keys->len; i++) {
        bool twice = false; /* a later key equal to an earlier one decides nothing */
        for (int32_t k = 0; k < p->sort.n; k++) twice |= p->sort.keys[k].expr->u.col == ids[i];
        if (twice) continue;
        SortKey *s = &p->sort.keys[p->sort.n++];
        *s = (SortKey){expr_col(b->c, ids[i]), keys->items[i].desc, keys->items[i].nulls_first};
        if (!s->expr) return NULL;
        s->expr->location = keys->items[i].location;
    }
    return p;
}

/* ---- DISTINCT ----------------------------------------------------------------------------------- */

/* Groups by the target columns; ids[i] becomes the new id of target i. */
Plan *bind_distinct_plan(Binder *b, Plan *child, int32_t n, ColId *ids, const char *const *names) {
    Plan *p = child ? plan_new(b->c, LP_AGG, 1) : NULL;
    ColId *old = arena_array(b->a, ColId, n + 1);
    if (!p || !old || !(p->out_cols = arena_array(b->a, ColId, n + 1)) ||
        !(p->exprs = arena_array(b->a, Expr *, n + 1)))
        return NULL;
    p->children[0] = child;
    for (int32_t i = 0; i < n; i++) {
        int32_t same = 0;
        while (same < p->agg.n_keys && old[same] != ids[i]) same++;
        if (same == p->agg.n_keys) {
            ColInfo info = b->c->cols.items[ids[i]];
            if (bind_check_groupable(b, info.type, 0) != ST_OK) return NULL;
            old[same] = ids[i];
            if (!(p->exprs[same] = expr_col(b->c, ids[i])) ||
                !(p->out_cols[same] = plan_new_col(b->c, names[i], info.type, true)))
                return NULL;
            p->agg.n_keys++;
        }
        ids[i] = p->out_cols[same];
    }
    p->n_out = p->n_exprs = p->agg.n_keys;
    return bind_group_keys(b, p) == ST_OK ? p : NULL;
}

Plan *bind_cte_ref(Binder *b, int64_t id, int64_t n, const ColId *def, ColId *out) {
    Plan *p = plan_new(b->c, LP_CTE_SCAN, 0);
    if (!p || !(p->cte.cols = arena_array(b->a, ColId, n + 1))) return NULL;
    p->cte.id = id;
    p->n_out = (int32_t)n;
    p->out_cols = out;
    for (int64_t i = 0; i < n; i++) {
        ColInfo info = b->c->cols.items[def[i]];
        p->cte.cols[i] = def[i];
        if (!(out[i] = plan_new_col(b->c, info.name, info.type, true))) return NULL;
    }
    return p;
}

/* DISTINCT ON: for every distinct key the first row, as a LATERAL ... ORDER BY ... LIMIT 1 over the materialised input:
 *   CTE d = input;  JOIN (AGG keys of d, LIMIT 1 (SORT (FILTER key IS NOT DISTINCT FROM (d)))). `all` are the input's
 * columns; they are replaced by the result's. */
static Plan *distinct_on_plan(Binder *b, Plan *child, int64_t n_on, const ColId *on, const OrderVec *keys,
                              ColId *key_ids, int64_t n_all, ColId *all) {
    int64_t cte = ++b->c->n_ctes;
    ColId *k1 = arena_array(b->a, ColId, n_on + 1), *k2 = arena_array(b->a, ColId, n_on + 1),
          *out = arena_array(b->a, ColId, n_all + 1);
    const char **names = arena_array(b->a, const char *, n_on + 1);
    if (!k1 || !k2 || !out || !names) return NULL;
    Plan *scan = bind_cte_ref(b, cte, n_on, on, k1), *rows = bind_cte_ref(b, cte, n_all, all, out);
    if (!scan || !rows) return NULL;
    for (int64_t i = 0; i < n_on; i++) {
        k2[i] = k1[i];
        names[i] = b->c->cols.items[k1[i]].name;
    }
    Plan *groups = bind_distinct_plan(b, scan, (int32_t)n_on, k2, names);
    ExprVec conds = {0};
    for (int64_t i = 0; i < n_on && groups; i++) {
        ColId local = 0;
        for (int64_t j = 0; j < n_all; j++)
            if (all[j] == on[i]) local = out[j];
        Expr *e = expr_new(b->c, EX_NOT_DISTINCT, type_make(T_BOOL), 2);
        if (!e || !local || !(e->args[0] = bind_key(b, expr_col(b->c, local), 0)) ||
            !(e->args[1] = bind_key(b, expr_col(b->c, k2[i]), 0)) || !vec_push(b->a, &conds, e))
            return NULL;
    }
    if (!groups) return NULL;
    for (int64_t i = 0; i < keys->len; i++)
        for (int64_t j = 0; j < n_all; j++)
            if (all[j] == key_ids[i]) {
                key_ids[i] = out[j];
                break;
            }
    Plan *first = plan_new(b->c, LP_LIMIT, 1);
    Plan *right = bind_filter(b, rows, bind_nary(b, EX_AND, conds.len, conds.items, 0));
    if (!first || !right || !(first->children[0] = sort_plan(b, right, keys, key_ids))) return NULL;
    first->limit.rows = 1;
    first->limit.offset = -1;
    Plan *join = bind_join(b, JN_INNER, groups, first), *p = plan_new(b->c, LP_CTE, 2);
    if (!join || !p) return NULL;
    join->join.dependent = true;
    p->cte.id = cte;
    p->alias = "distinct on";
    p->children[0] = child;
    p->children[1] = join;
    memcpy(all, out, sizeof *all * (size_t)n_all);
    return p;
}

/* ---- SELECT ------------------------------------------------------------------------------------------ */

static Plan *group_plan(Binder *b, Query *q, Plan *child, const ExprVec *keys, const IdVec *ids) {
    Plan *p = plan_new(b->c, LP_AGG, 1);
    if (!p) return NULL;
    p->children[0] = child;
    p->agg.n_keys = p->n_exprs = p->n_out = (int32_t)keys->len;
    p->exprs = keys->items;
    p->out_cols = ids->items;
    p->agg.n_calls = (int32_t)q->aggs.len;
    p->agg.calls = q->aggs.items;
    return p;
}

/* ---- FOR UPDATE ------------------------------------------------------------------------- */

/* What the item of that name in FROM is: a table (or subquery), or what has no rows to lock. NULL: there is none. */
static const char *locked_item(const SelectEnv *env, const AstFrom *f, const char *name) {
    if (stack_stop()) return NULL;
    const AstAlias *alias = NULL;
    const char *what = "table", *own = NULL;
    switch ((int)f->kind) {
    case AST_FROM_TABLE: {
        const AstFromTable *t = AST_AS_CONST(AstFromTable, f);
        alias = &t->alias;
        own = t->name.name;
        for (const Cte *c = t->name.schema ? NULL : env->ctes; c; c = c->next)
            if (strcmp(c->name, own) == 0) what = "WITH query";
        break;
    }
    case AST_FROM_SUBQUERY:
        alias = &AST_AS_CONST(AstFromSubquery, f)->alias;
        if (AST_AS_CONST(AstFromSubquery, f)->query->n_values) what = "VALUES";
        break;
    case AST_FROM_FUNC:
        alias = &AST_AS_CONST(AstFromFunc, f)->alias;
        own = bind_target_name(AST_AS_CONST(AstFromFunc, f)->funcs[0].call);
        what = "function";
        break;
    case AST_FROM_JOIN: {
        const AstFromJoin *j = AST_AS_CONST(AstFromJoin, f);
        const char *inside = j->alias.name ? NULL : locked_item(env, j->left, name);
        if (!inside && !j->alias.name) inside = locked_item(env, j->right, name);
        if (inside) return inside;
        alias = &j->alias;
        what = "join";
        if (j->using_alias && strcmp(j->using_alias, name) == 0) return what;
        break;
    }
    default: return NULL;
    }
    if (alias->name) own = alias->name;
    return own && strcmp(own, name) == 0 ? what : NULL;
}

static bool is_locked_by_name(const AstSelect *s, const char *name) {
    for (int64_t i = 0; i < s->n_lock_of; i++)
        if (strcmp(s->lock_of[i], name) == 0) return true;
    return s->n_lock_of == 0;
}
/* 42809 for a materialized view whose rows are to be locked. */
static Status refuse_matviews(Binder *b, const SelectEnv *env, const AstSelect *s, const AstFrom *f) {
    TRY(stack_check(b->err));
    if (f->kind == AST_FROM_JOIN) {
        const AstFromJoin *j = AST_AS_CONST(AstFromJoin, f);
        TRY(refuse_matviews(b, env, s, j->left));
        return refuse_matviews(b, env, s, j->right);
    }
    if (f->kind != AST_FROM_TABLE) return ST_OK;
    const AstFromTable *t = AST_AS_CONST(AstFromTable, f);
    for (const Cte *c = t->name.schema ? NULL : env->ctes; c; c = c->next)
        if (strcmp(c->name, t->name.name) == 0) return ST_OK;
    if (!is_locked_by_name(s, t->alias.name ? t->alias.name : t->name.name)) return ST_OK;
    if (!catalog_matview(b->c->catalog, slice_of(t->name.name))) return ST_OK;
    return err_set(b->err, ERR_WRONG_OBJECT_TYPE, "cannot lock rows in materialized view \"%s\"", t->name.name);
}
/* No row is locked (session/core/transaction.h), but FOR UPDATE must be one that could lock rows. */
static Status check_locking(Binder *b, const SelectEnv *env, const AstSelect *s, const Query *q) {
    const char *with = s->set_op != AST_SETOP_NONE ? "UNION/INTERSECT/EXCEPT"
                       : s->distinct               ? "DISTINCT clause"
                       : s->n_group_by             ? "GROUP BY clause"
                       : s->having                 ? "HAVING clause"
                       : q && q->aggs.len          ? "aggregate functions"
                       : q && bind_calls_window(q) ? "window functions"
                       : q && q->srfs.len          ? "set-returning functions in the target list"
                                                   : NULL;
    b->c->rows.locks = true;
    if (s->n_values) return err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to VALUES", s->lock);
    if (with) return err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, "%s is not allowed with %s", s->lock, with);
    for (int64_t i = 0; i < s->n_lock_of; i++) {
        const char *what = NULL;
        for (int64_t k = 0; k < s->n_from && !what; k++) what = locked_item(env, s->from[k], s->lock_of[i]);
        if (!what)
            return err_set(b->err, ERR_UNDEFINED_TABLE, "relation \"%s\" in %s clause not found in FROM clause",
                           s->lock_of[i], s->lock);
        if (strcmp(what, "VALUES") == 0)
            return err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to VALUES", s->lock);
        if (strcmp(what, "table") != 0)
            return err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, "%s cannot be applied to a %s", s->lock, what);
    }
    for (int64_t k = 0; k < s->n_from; k++) TRY(refuse_matviews(b, env, s, s->from[k]));
    return ST_OK;
}

/* ---- set-returning functions behind DISTINCT ON -------------------------------------------- */

static bool keys_use_srf(const Binder *b, const Query *q, const OrderVec *keys, const TargetVec *targets) {
    for (int64_t i = 0; i < keys->len; i++) {
        const OrderKey *k = &keys->items[i];
        if (uses_srf(b, q, k->target >= 0 ? targets->items[k->target].expr : k->expr)) return true;
    }
    return false;
}
/* With ORDER BY, a set-returning function that no key uses makes its rows of those that DISTINCT ON leaves. */
static bool is_late_srf(const Binder *b, const Query *q, const AstSelect *s, const OrderVec *order, const OrderVec *on,
                        const TargetVec *targets) {
    return q->srfs.len && s->n_distinct_on && s->n_order_by && !keys_use_srf(b, q, order, targets) &&
           !keys_use_srf(b, q, on, targets);
}

/* The projection below has what these columns of the level are computed of. */
static Status add_needed(Binder *b, const Query *q, Proj *proj, const ColSet *used) {
    for (ColId id = 1; id < b->c->cols.len; id++) {
        if (!colset_has(used, id) || bind_owner(b, id).query != q) continue;
        bool made = bind_owner(b, id).srf && uses_srf(b, q, expr_col(b->c, id));
        if (!made && !bind_proj_add(b, proj, q, expr_col(b->c, id), NULL)) return ST_ERROR;
    }
    return ST_OK;
}

typedef struct Renamed {
    int64_t n;
    const ColId *from, *to;
} Renamed;
static void rename_plan(const Renamed *r, Plan *p);
static bool rename_node(void *ctx, Expr *e) {
    const Renamed *r = ctx;
    for (int64_t i = 0; i < r->n && e->kind == EX_COL; i++)
        if (e->u.col == r->from[i]) {
            e->u.col = r->to[i];
            break;
        }
    if (e->kind == EX_SUBQUERY) rename_plan(r, e->u.sub.plan);
    return true;
}
static Status rename_slot(void *ctx, Expr **slot) {
    (void)expr_walk(*slot, rename_node, ctx);
    return ST_OK;
}
static void rename_plan(const Renamed *r, Plan *p) {
    if (stack_stop()) return;
    (void)plan_each_expr(p, rename_slot, (void *)(uintptr_t)r);
    for (int32_t i = 0; i < p->n_children; i++) rename_plan(r, p->children[i]);
}

/* The functions' rows for each row of p; ids of targets that use them are 0 and found here. r: columns' names in p,
 * which DISTINCT ON gave others. */
static Plan *add_late_srf(Binder *b, Query *q, Plan *p, const Renamed *r, const TargetVec *targets, ColId *ids,
                          int64_t n_sort, ColId *sort_ids) {
    Proj proj = {0};
    for (int64_t i = 0; i < q->srfs.len; i++)
        for (int64_t k = 0; k < q->srfs.items[i].f.n_args; k++)
            (void)expr_walk(q->srfs.items[i].f.args[k], rename_node, (void *)(uintptr_t)r);
    if (!(p = bind_srf_plan(b, q, p, SRF_ABOVE))) return NULL;
    for (int64_t i = 0; i < targets->len; i++) {
        Expr *e = ids[i] ? expr_col(b->c, ids[i]) : targets->items[i].expr;
        if (e && !ids[i]) (void)expr_walk(e, rename_node, (void *)(uintptr_t)r);
        if (!e || !(ids[i] = bind_proj_add(b, &proj, NULL, e, targets->items[i].name))) return NULL;
    }
    for (int64_t i = 0; i < n_sort; i++)
        if (!(sort_ids[i] = bind_proj_add(b, &proj, NULL, expr_col(b->c, sort_ids[i]), "sort key"))) return NULL;
    return bind_proj_plan(b, &proj, p);
}

/* A SELECT level while it is bound. */
typedef struct Level {
    Binder *b;
    Query *q;
    const AstSelect *s;
    /* 1. what stands in it, bound over FROM's columns */
    TargetVec targets;
    Group group; /* GROUP BY */
    Expr *having;
    OrderVec order, on; /* ORDER BY, DISTINCT ON */
    bool late;          /* its set-returning functions stand behind DISTINCT ON */
    /* 2. the projection, and where in it are: */
    Proj proj;
    int32_t n;
    ColId *ids, *sort_ids, *on_ids; /* targets, keys of ORDER BY and of DISTINCT ON */
    const char **names;
    Plan *plan; /* so far */
} Level;

static Status level_from(Level *l) {
    Binder *b = l->b;
    Query *q = l->q;
    const AstSelect *s = l->s;
    if (!(l->plan = bind_from(b, q, s->from, s->n_from, NULL))) return ST_ERROR;
    if (!s->where) return ST_OK;
    q->clause = "WHERE";
    Expr *w = bind_bool(b, bind_expr(b, q, s->where), "WHERE", s->where->location);
    return (l->plan = bind_filter(b, l->plan, w)) ? ST_OK : ST_ERROR;
}

/* A literal whose type nothing has told is text. */
static Status known_target(Binder *b, Target *t) {
    if (t->expr->type.id == T_UNKNOWN)
        t->expr = bind_coerce(b, t->expr, type_make(T_TEXT), CAST_IMPLICIT, t->expr->location);
    return t->expr ? ST_OK : ST_ERROR;
}

static Status level_targets(Level *l, const SelectEnv *env) {
    Binder *b = l->b;
    Query *q = l->q;
    const AstSelect *s = l->s;
    q->clause = NULL;
    q->srf_ok = q->window_ok = true;
    TRY(bind_targets(b, q, s->targets, s->n_targets, &l->targets));
    if (b->step == s) TRY(bind_search_targets(b, q, &l->targets));
    q->srf_ok = q->window_ok = false;
    bool keep = env->keep_unknown && !s->distinct;
    for (int64_t i = 0; i < l->targets.len && !keep; i++) TRY(known_target(b, &l->targets.items[i]));
    return ST_OK;
}

/* GROUP BY, HAVING, FOR UPDATE, ORDER BY and DISTINCT ON, in the order in which their errors come. */
static Status level_clauses(Level *l, const SelectEnv *env) {
    Binder *b = l->b;
    Query *q = l->q;
    const AstSelect *s = l->s;
    q->clause = "GROUP BY";
    q->srf_ok = q->srf_again = true;
    TRY(bind_group_sets(b, q, s, &l->targets, &l->group.keys, &l->group.sets));
    q->clause = NULL;
    q->srf_ok = false;
    q->srf_clause = "HAVING";
    if (s->having && !(l->having = bind_bool(b, bind_expr(b, q, s->having), "HAVING", s->having->location)))
        return ST_ERROR;
    q->srf_ok = true;
    if (s->lock) TRY(check_locking(b, env, s, q));
    q->window_ok = true;
    for (int64_t i = 0; i < s->n_order_by; i++) {
        OrderKey k;
        TRY(order_key(b, q, &s->order_by[i], &l->targets, &k));
        if (k.target >= 0) TRY(known_target(b, &l->targets.items[k.target]));
        if (!vec_push(b->a, &l->order, k)) return ST_ERROR;
    }
    for (int64_t i = 0; i < s->n_distinct_on; i++) {
        OrderKey k;
        AstOrderItem item = {.expr = s->distinct_on[i], .location = s->distinct_on[i]->location};
        TRY(order_key(b, q, &item, &l->targets, &k));
        if (!vec_push(b->a, &l->on, k)) return ST_ERROR;
    }
    q->window_ok = q->srf_ok = q->srf_again = false;
    return ST_OK;
}

static Status regroup_keys(Group *g, OrderVec *keys) {
    for (int64_t i = 0; i < keys->len; i++)
        if (keys->items[i].expr) TRY(regroup(g, &keys->items[i].expr));
    return ST_OK;
}

/* A direct argument of an aggregate that is computed for each row, and so must not be a key that is NULL in a set. */
static Status regroup_direct(Group *g, Expr **slot) {
    int64_t location = (*slot)->location;
    TRY(regroup(g, slot));
    ColSet used = colset_new(g->b->c);
    expr_cols(g->b->c, *slot, &used);
    for (int64_t i = 0; i < g->ids.len; i++)
        if (colset_has(&used, g->ids.items[i]) && !bind_in_all_sets(&g->sets, i))
            return bind_unsupported(g->b, location, "a direct argument that is not in all grouping sets");
    return ST_OK;
}

/* Rewrites what is above the grouping, and makes the aggregation and HAVING's filter. */
static Status level_group(Level *l) {
    Binder *b = l->b;
    Query *q = l->q;
    Group *g = &l->group;
    if (q->recursive && q->aggs.len)
        return err_at(b->err, bind_pos(b, l->s->targets[0].location), ERR_INVALID_RECURSION,
                      "aggregate functions are not allowed in a recursive query's recursive term");
    if (!l->s->n_group_by && !q->aggs.len && !q->groupings.len && !l->having) return ST_OK;
    for (int64_t i = 0; i < g->keys.len; i++) bind_srf_stage(b, q, g->keys.items[i], SRF_BELOW_GROUPS);
    if (!(l->plan = bind_srf_plan(b, q, l->plan, SRF_BELOW_GROUPS))) return ST_ERROR;
    for (int64_t i = 0; i < g->keys.len; i++) {
        const Expr *k = g->keys.items[i];
        /* nullable: an outer join below may have added NULLs */
        ColId id = plan_new_col(b->c, k->kind == EX_COL ? b->c->cols.items[k->u.col].name : "key", k->type, true);
        if (!id || bind_own(b, q, id, true) != ST_OK || !vec_push(b->a, &g->ids, id)) return ST_ERROR;
    }
    TRY(bind_grouping_keys(b, q, &g->keys));
    for (int64_t i = 0; i < q->direct.len; i++) TRY(regroup_direct(g, &q->direct.items[i]));
    for (int64_t i = 0; i < l->targets.len; i++) {
        Expr *e = l->targets.items[i].expr; /* a constant target that is a key must not be in two places */
        for (int64_t k = 0; k < g->keys.len; k++) {
            if (e != g->keys.items[k] || (e->kind != EX_CONST && e->kind != EX_PARAM)) continue;
            if (!(g->keys.items[k] = bind_copy(b, e))) return ST_ERROR;
            /* nor is it a constant where the key is NULL in some set */
            if (g->sets.len > 1 && !(l->targets.items[i].expr = expr_col(b->c, g->ids.items[k]))) return ST_ERROR;
        }
        TRY(regroup(g, &l->targets.items[i].expr));
    }
    if (l->having) TRY(regroup(g, &l->having));
    TRY(regroup_keys(g, &l->order));
    TRY(regroup_keys(g, &l->on));
    TRY(bind_windows_each(q, regroup_slot, g));
    TRY(bind_srfs_each(q, regroup_slot, g));
    Plan *agg = group_plan(b, q, l->plan, &g->keys, &g->ids);
    if (!agg || !(l->plan = bind_grouping_plan(b, q, agg, &g->sets)) || bind_group_keys(b, agg) != ST_OK)
        return ST_ERROR;
    return !l->having || (l->plan = bind_filter(b, l->plan, l->having)) ? ST_OK : ST_ERROR;
}

/* The projection: targets, then sort keys and keys of DISTINCT ON that are no targets. */
static Status level_project(Level *l) {
    Binder *b = l->b;
    Query *q = l->q;
    const AstSelect *s = l->s;
    for (int32_t i = 0; i < l->n; i++) {
        l->names[i] = l->targets.items[i].name;
        if (l->late && uses_srf(b, q, l->targets.items[i].expr)) {
            ColSet used = colset_new(b->c);
            expr_cols(b->c, l->targets.items[i].expr, &used);
            for (int64_t k = 0; k < q->srfs.len; k++)
                for (int64_t a = 0; a < q->srfs.items[k].f.n_args; a++)
                    expr_cols(b->c, q->srfs.items[k].f.args[a], &used);
            TRY(add_needed(b, q, &l->proj, &used));
            continue;
        }
        if (!(l->ids[i] = bind_proj_add(b, &l->proj, q, l->targets.items[i].expr, l->names[i]))) return ST_ERROR;
    }
    for (int64_t i = 0; i < l->order.len; i++) {
        const OrderKey *k = &l->order.items[i];
        if (k->target < 0 && s->distinct && !s->n_distinct_on)
            return err_at(b->err, bind_pos(b, k->location), ERR_INVALID_COLUMN_REFERENCE,
                          "for SELECT DISTINCT, ORDER BY expressions must appear in select list");
        if (k->target < 0 && !(l->sort_ids[i] = bind_proj_add(b, &l->proj, q, k->expr, "sort key"))) return ST_ERROR;
    }
    for (int64_t i = 0; i < l->on.len; i++) {
        const OrderKey *k = &l->on.items[i];
        l->on_ids[i] = k->target >= 0 ? l->ids[k->target] : bind_proj_add(b, &l->proj, q, k->expr, "distinct key");
        if (!l->on_ids[i]) return ST_ERROR;
    }
    return (l->plan = bind_proj_plan(b, &l->proj, l->plan)) ? ST_OK : ST_ERROR;
}

/* The leading ORDER BY keys must be the DISTINCT ON keys, in any order. */
static Status check_distinct_on(const Level *l) {
    int64_t seen = 0;
    for (int64_t i = 0; i < l->order.len; i++) {
        const OrderKey *o = &l->order.items[i];
        bool is_on = false;
        for (int64_t k = 0; k < l->on.len && !is_on; k++) {
            const Expr *on = l->on.items[k].expr;
            is_on = l->on_ids[k] == l->sort_ids[i] || (o->expr && on && expr_equal(o->expr, on));
        }
        if (!is_on && seen < l->on.len)
            return err_at(l->b->err, bind_pos(l->b, l->on.items[0].location), ERR_INVALID_COLUMN_REFERENCE,
                          "SELECT DISTINCT ON expressions must match initial ORDER BY expressions");
        seen += is_on;
    }
    return ST_OK;
}

/* Ids become the new ones of the same columns. A renamed id is negative until all are done: it may be another's old
 * one. */
static void level_rename(Level *l, const Renamed *r) {
    for (int64_t i = 0; i < r->n; i++) {
        for (int32_t k = 0; k < l->n; k++)
            if (l->ids[k] == r->from[i]) l->ids[k] = -r->to[i];
        for (int64_t k = 0; k < l->order.len; k++)
            if (l->sort_ids[k] == r->from[i]) l->sort_ids[k] = -r->to[i];
    }
    for (int32_t k = 0; k < l->n; k++) l->ids[k] = -l->ids[k];
    for (int64_t k = 0; k < l->order.len; k++) l->sort_ids[k] = -l->sort_ids[k];
}

static Status level_distinct_on(Level *l) {
    Binder *b = l->b;
    TRY(check_distinct_on(l));
    int64_t n = l->proj.ids.len;
    ColId *all = arena_array(b->a, ColId, n + 1), *old = arena_array(b->a, ColId, n + 1),
          *keys = arena_array(b->a, ColId, l->order.len + 1);
    if (!all || !old || !keys) return ST_ERROR;
    memcpy(all, l->proj.ids.items, sizeof *all * (size_t)n);
    memcpy(old, all, sizeof *all * (size_t)n);
    memcpy(keys, l->sort_ids, sizeof *keys * (size_t)l->order.len);
    if (!(l->plan = distinct_on_plan(b, l->plan, l->on.len, l->on_ids, &l->order, keys, n, all))) return ST_ERROR;
    Renamed r = {n, old, all};
    level_rename(l, &r);
    if (l->late && !(l->plan = add_late_srf(b, l->q, l->plan, &r, &l->targets, l->ids, l->order.len, l->sort_ids)))
        return ST_ERROR;
    return ST_OK;
}

static Status window_srfs(void *ctx, Expr **slot) {
    const Level *l = ctx;
    bind_srf_stage(l->b, l->q, *slot, SRF_BELOW_WINDOWS);
    return ST_OK;
}

static bool is_locked(const AstSelect *s, const NsItem *it) {
    bool named = s->n_lock_of == 0;
    for (int64_t i = 0; i < s->n_lock_of && !named; i++) named = strcmp(s->lock_of[i], it->name) == 0;
    return s->lock && named;
}
/* The rows' numbers, as further columns (PlanRows.numbered), unless the level's rows are not those of FROM. */
static Status level_numbers(Level *l) {
    Binder *b = l->b;
    Query *q = l->q;
    if (q->aggs.len || q->groupings.len || q->srfs.len || bind_calls_window(q)) return ST_OK;
    for (int64_t i = 0; i < q->ns.len; i++) {
        const NsItem *it = &q->ns.items[i];
        if (!it->rowid || !it->table || !it->name) continue;
        const RowNumber number = {it->table, it->name, is_locked(l->s, it)};
        const Target t = {.expr = expr_col(b->c, it->rowid), .name = "rowid"};
        if (!t.expr || bind_own(b, q, it->rowid, false) != ST_OK || !vec_push(b->a, &l->targets, t) ||
            !vec_push(b->a, &b->c->rows.numbers, number))
            return ST_ERROR;
    }
    return ST_OK;
}

static Status bind_plain(Binder *b, const SelectEnv *env, const AstSelect *s, Query **level, Rel *out) {
    Query *q = arena_new_of(b->a, Query); /* not on the stack: owners are compared by address */
    if (!q) return ST_ERROR;
    *q = (Query){.outer = env->outer, .sibling = env->sibling, .ctes = env->ctes, .clause = "FROM"};
    Level l = {.b = b, .q = q, .s = s, .group = {.b = b, .q = q}};
    *level = q;
    q->numbered = b->c->rows.numbered == s && !s->distinct && !s->n_group_by && !s->having;
    TRY(level_from(&l));
    TRY(bind_windows(b, q, s));
    TRY(level_targets(&l, env));
    TRY(level_clauses(&l, env));
    TRY(level_group(&l));
    if (q->numbered) TRY(level_numbers(&l));
    TRY(bind_windows_each(q, window_srfs, &l));
    if (!(l.plan = bind_srf_plan(b, q, l.plan, SRF_BELOW_WINDOWS)) || !(l.plan = bind_window_plan(b, q, l.plan)))
        return ST_ERROR;
    l.late = is_late_srf(b, q, s, &l.order, &l.on, &l.targets);
    if (!l.late && !(l.plan = bind_srf_plan(b, q, l.plan, SRF_ABOVE))) return ST_ERROR;

    l.n = (int32_t)l.targets.len;
    l.ids = arena_array(b->a, ColId, l.n + 1);
    l.sort_ids = arena_array(b->a, ColId, l.order.len + 1);
    l.on_ids = arena_array(b->a, ColId, l.on.len + 1);
    l.names = arena_array(b->a, const char *, l.n + 1);
    if (!l.ids || !l.names || !l.sort_ids || !l.on_ids) return ST_ERROR;
    TRY(level_project(&l));
    if (s->distinct && !s->n_distinct_on && !(l.plan = bind_distinct_plan(b, l.plan, l.n, l.ids, l.names)))
        return ST_ERROR;
    for (int64_t i = 0; i < l.order.len; i++)
        if (l.order.items[i].target >= 0) l.sort_ids[i] = l.ids[l.order.items[i].target];
    if (s->n_distinct_on) TRY(level_distinct_on(&l));
    if (!(l.plan = sort_plan(b, l.plan, &l.order, l.sort_ids))) return ST_ERROR;
    bind_srfs_end(b, q);
    *out = (Rel){l.plan, l.n, l.ids, l.names};
    return ST_OK;
}

/* ---- VALUES -------------------------------------------------------------------------------------------- */

static bool row_constant(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_COL;
}

/* Rows that use outer columns: one projection per row. */
static Plan *values_union(Binder *b, int64_t n_rows, Expr ***rows, int32_t n, const ColId *out) {
    Plan *u = n_rows == 1 ? NULL : plan_new(b->c, LP_SETOP, (int32_t)n_rows);
    if (n_rows != 1 && (!u || !(u->set.cols = arena_array(b->a, ColId *, n_rows)))) return NULL;
    for (int64_t r = 0; r < n_rows; r++) {
        Plan *p = plan_new(b->c, LP_PROJECT, 1);
        ColId *ids = arena_array(b->a, ColId, n + 1);
        if (!p || !ids || !(p->children[0] = bind_one_row(b))) return NULL;
        for (int32_t i = 0; i < n; i++) {
            const ColInfo info = b->c->cols.items[out[i]];
            ids[i] = n_rows == 1 ? out[i] : plan_new_col(b->c, info.name, info.type, true);
            if (!ids[i]) return NULL;
        }
        p->n_out = p->n_exprs = n;
        p->out_cols = ids;
        p->exprs = rows[r];
        if (!u) return p;
        u->children[r] = p;
        if (!(u->set.cols[r] = bind_ids(b, n, ids))) return NULL;
    }
    if (!u || !(u->out_cols = arena_array(b->a, ColId, n + 1))) return NULL;
    memcpy(u->out_cols, out, sizeof *out * (size_t)n);
    u->n_out = n;
    u->set.op = SO_UNION_ALL;
    return u;
}

static Status bind_values(Binder *b, const SelectEnv *env, const AstSelect *s, Rel *out) {
    Query q = {.outer = env->outer, .sibling = env->sibling, .ctes = env->ctes, .clause = "VALUES"};
    int32_t n = (int32_t)s->values[0].n_items;
    bool constant = true, keep = env->keep_unknown && !s->n_order_by;
    Expr ***rows = arena_array(b->a, Expr **, s->n_values);
    Expr **column = arena_array(b->a, Expr *, s->n_values);
    ColId *ids = arena_array(b->a, ColId, n + 1);
    const char **names = arena_array(b->a, const char *, n + 1);
    if (!rows || !column || !ids || !names) return ST_ERROR;
    for (int64_t r = 0; r < s->n_values; r++) {
        const AstValuesRow *v = &s->values[r];
        if (v->n_items != n)
            return err_at(b->err, bind_pos(b, v->n_items ? v->items[0]->location : s->location), ERR_SYNTAX,
                          "VALUES lists must all be the same length");
        if (!(rows[r] = bind_list(b, &q, v->items, n))) return ST_ERROR;
        for (int32_t i = 0; i < n && constant; i++) constant = expr_walk(rows[r][i], row_constant, NULL);
    }
    for (int32_t i = 0; i < n; i++) {
        bool known = !keep;
        for (int64_t r = 0; r < s->n_values; r++) {
            column[r] = rows[r][i];
            known |= column[r]->type.id != T_UNKNOWN;
        }
        Type t = type_make(T_UNKNOWN);
        if (known && bind_common(b, s->n_values, column, "VALUES", &t) != ST_OK) return ST_ERROR;
        for (int64_t r = 0; r < s->n_values; r++) rows[r][i] = column[r];
        if (!(names[i] = arena_printf(b->a, "column%d", i + 1)) || !(ids[i] = plan_new_col(b->c, names[i], t, true)))
            return ST_ERROR;
    }
    Plan *p;
    if (constant) {
        if (!(p = plan_new(b->c, LP_VALUES, 0))) return ST_ERROR;
        p->values.n_rows = s->n_values;
        p->values.rows = rows;
        p->n_out = n;
        p->out_cols = ids;
    } else if (!(p = values_union(b, s->n_values, rows, n, ids))) {
        return ST_ERROR;
    }
    *out = (Rel){p, n, bind_ids(b, n, ids), names};
    return out->cols ? ST_OK : ST_ERROR;
}

/* ---- all forms ---------------------------------------------------------------------------------------------- */

/* ORDER BY above a set operation or VALUES: result columns only. */
static Status order_result(Binder *b, const AstSelect *s, Rel *r) {
    if (!s->n_order_by) return ST_OK;
    OrderVec keys = {0};
    ColId *ids = arena_array(b->a, ColId, s->n_order_by);
    TargetVec targets = {0};
    if (!ids) return ST_ERROR;
    for (int32_t i = 0; i < r->n; i++) {
        Target t = {.expr = expr_col(b->c, r->cols[i]), .name = r->names[i]};
        if (!t.expr || !vec_push(b->a, &targets, t)) return ST_ERROR;
    }
    Query q = {.clause = "ORDER BY"};
    NsItem item = {.n_cols = r->n, .cols_visible = true};
    if (!(item.cols = arena_array(b->a, NsCol, r->n + 1))) return ST_ERROR;
    for (int32_t i = 0; i < r->n; i++) item.cols[i] = (NsCol){r->names[i], r->cols[i]};
    TRY(bind_add_item(b, &q, &item));
    for (int64_t i = 0; i < s->n_order_by; i++) {
        OrderKey k;
        TRY(order_key(b, &q, &s->order_by[i], &targets, &k));
        if (k.target < 0) {
            if (s->set_op == AST_SETOP_NONE)
                return bind_unsupported(b, k.location, "an expression in ORDER BY of VALUES");
            err_at(b->err, bind_pos(b, k.location), ERR_FEATURE_NOT_SUPPORTED,
                   "invalid UNION/INTERSECT/EXCEPT ORDER BY clause");
            err_detail(b->err, "Only result column names can be used, not expressions or functions.");
            err_hint(b->err, "Add the expression/function to every SELECT, or move the UNION into a FROM clause.");
            return ST_ERROR;
        }
        ids[i] = r->cols[k.target];
        if (!vec_push(b->a, &keys, k)) return ST_ERROR;
    }
    return (r->plan = sort_plan(b, r->plan, &keys, ids)) ? ST_OK : ST_ERROR;
}

/* ---- numbers of sequences, above ORDER BY and LIMIT ---------------------------------------------------- */

static bool is_sort_key(const Plan *sort, ColId id) {
    for (int32_t i = 0; sort && i < sort->sort.n; i++)
        if (sort->sort.keys[i].expr->u.col == id) return true;
    return false;
}
/* Leaves the projection what is computed below, with the columns that the rest needs, which goes to *late. */
static Status split_late(Binder *b, Plan *p, const Plan *sort, Proj *late) {
    Proj early = {0};
    ColSet there = colset_new(b->c), needed = colset_new(b->c);
    for (int32_t i = 0; i < p->n_exprs; i++) {
        const bool is_late = expr_is_volatile(p->exprs[i]) && !is_sort_key(sort, p->out_cols[i]);
        Proj *to = is_late ? late : &early;
        if (!vec_push(b->a, &to->ids, p->out_cols[i]) || !vec_push(b->a, &to->exprs, p->exprs[i])) return ST_ERROR;
        if (is_late) expr_cols(b->c, p->exprs[i], &needed);
        else colset_add(b->c, &there, p->out_cols[i]);
    }
    ColSet below = colset_new(b->c);
    plan_outputs(b->c, p->children[0], &below);
    for (ColId id = 1; late->ids.len > 0 && id < b->c->cols.len; id++) {
        if (!colset_has(&needed, id) || colset_has(&there, id) || !colset_has(&below, id)) continue;
        Expr *e = expr_col(b->c, id);
        if (!e || !vec_push(b->a, &early.ids, id) || !vec_push(b->a, &early.exprs, e)) return ST_ERROR;
    }
    p->n_out = p->n_exprs = (int32_t)early.ids.len;
    p->out_cols = early.ids.items;
    p->exprs = early.exprs.items;
    return ST_OK;
}
/* As in PostgreSQL volatile columns are computed in the order of the result, for its rows and those that OFFSET skips:
 * numbers of sequences show it. skips: there is an OFFSET. */
static Status number_last(Binder *b, bool skips, Rel *r) {
    Plan *p = r->plan, **above = &r->plan;
    if (p->kind == LP_LIMIT && skips) above = &p->children[0];
    if (p->kind == LP_LIMIT) p = p->children[0];
    const Plan *sort = p->kind == LP_SORT ? p : NULL;
    if (sort) p = p->children[0];
    if (p == r->plan || p->kind != LP_PROJECT) return ST_OK;
    Proj late = {0}, all = {0};
    TRY(split_late(b, p, sort, &late));
    if (late.ids.len == 0) return ST_OK;
    for (int32_t i = 0; i < r->n; i++) {
        int64_t k = 0;
        while (k < late.ids.len && late.ids.items[k] != r->cols[i]) k++;
        bool twice = false;
        for (int64_t j = 0; j < all.ids.len; j++) twice |= all.ids.items[j] == r->cols[i];
        Expr *e = k < late.ids.len ? late.exprs.items[k] : expr_col(b->c, r->cols[i]);
        if (!twice && (!e || !vec_push(b->a, &all.ids, r->cols[i]) || !vec_push(b->a, &all.exprs, e))) return ST_ERROR;
    }
    return (*above = bind_proj_plan(b, &all, *above)) ? ST_OK : ST_ERROR;
}

Status bind_select(Binder *b, const SelectEnv *env, const AstSelect *s, Rel *out) {
    TRY(stack_check_at(b->err, bind_pos(b, s->location)));
    SelectEnv in = *env;
    Query *level = NULL;
    TRY(bind_with(b, env->outer, s->with, &in.ctes, env->sibling));
    if (s->lock && (s->set_op != AST_SETOP_NONE || s->n_values)) TRY(check_locking(b, &in, s, NULL));
    if (s->set_op != AST_SETOP_NONE) {
        TRY(bind_setop(b, &in, s, out));
        TRY(order_result(b, s, out));
    } else if (s->n_values) {
        TRY(bind_values(b, &in, s, out));
        TRY(order_result(b, s, out));
    } else {
        TRY(bind_plain(b, &in, s, &level, out));
    }
    TRY(bind_limit(b, &in, level, s, out));
    if (level && b->c->sequences.called && !s->distinct && !s->limit_with_ties)
        TRY(number_last(b, s->offset != NULL, out));
    if (!(out->plan = bind_wrap_ctes(b, in.ctes, env->ctes, out->plan))) return ST_ERROR;
    return ST_OK;
}
