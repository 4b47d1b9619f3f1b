/* rules.c - the optimiser's driver: which rules there are and in which order they run.
 *
 *  1 fold           constants, booleans, OR factoring; limits become numbers
 *  2 set operations to UNION ALL, aggregation, semi joins; CTEs used once (or trivial) are inlined
 *  3 decorrelate    subqueries and dependent joins become plain joins
 *  4 aggregates     FILTER, avg, DISTINCT in terms of plain aggregates
 *  5 push down      predicates, outer to inner joins
 *  6 group keys     functional dependencies
 *  7 prune          columns, projections; LIMIT into SORT
 *  8 grouping sets  of the groups by all keys
 *    join order     with estimates; build sides
 *  9 runtime filters; sorts that windows have done; where rows need no order
 *
 * Debug builds verify the plan after each; that nothing in it is shared is verified once in every build. */
#include "sql/optimize/optimize_int.h"

static const struct {
    const char *name;
    OptRule rule;
} rule_names[] = {
#define X(name, text) {text, RULE_##name},
    OPTIMIZER_RULES(X)
#undef X
};

Status optimizer_rules_parse(Slice text, uint32_t *out, Err *e) {
    uint32_t bits = 0;
    int64_t i = 0;
    while (i < text.len) {
        while (i < text.len && (text.ptr[i] == ' ' || text.ptr[i] == ',' || text.ptr[i] == '\t')) i++;
        int64_t start = i;
        while (i < text.len && text.ptr[i] != ',') i++;
        int64_t end = i;
        while (end > start && (text.ptr[end - 1] == ' ' || text.ptr[end - 1] == '\t')) end--;
        if (end == start) continue;
        Slice name = {text.ptr + start, end - start};
        bool found = false;
        for (int64_t k = 0; k < ARRAY_LEN(rule_names); k++)
            if (slice_eq(name, slice_of(rule_names[k].name))) {
                bits |= UINT32_C(1) << rule_names[k].rule;
                found = true;
            }
        if (!found) {
            err_set(e, ERR_INVALID_PARAMETER, "unrecognized optimizer rule \"%.*s\"",
                    (int)(name.len > 200 ? 200 : name.len), name.ptr);
            char list[480];
            int64_t n = 0;
            for (int64_t k = 0; k < ARRAY_LEN(rule_names); k++) {
                int64_t len = (int64_t)strlen(rule_names[k].name);
                if (n + len + 3 >= (int64_t)sizeof list) break;
                if (n) {
                    list[n++] = ',';
                    list[n++] = ' ';
                }
                memcpy(list + n, rule_names[k].name, (size_t)len);
                n += len;
            }
            list[n] = 0;
            err_hint(e, "Known rules: %s.", list);
            return ST_ERROR;
        }
    }
    *out = bits;
    return ST_OK;
}

static Status check(Opt *o, const Plan *p, const char *phase) {
    TRY(stack_check(o->err)); /* walks that return no Status may have been cut short */
    if (!p) return stack_failed(o->err);
    if (err_is_set(o->err)) return ST_ERROR;
#ifdef STELE_DEBUG
    if (plan_verify(o->c, p, o->err) != ST_OK) {
        err_context(o->err, "after optimizer phase \"%s\"", phase);
        return ST_ERROR;
    }
#else
    (void)phase;
#endif
    return ST_OK;
}

static void need_ids(Opt *o, ColSet *s, const ColId *ids, int64_t n) {
    for (int64_t i = 0; ids && i < n; i++)
        if (ids[i] > 0) colset_add(o->c, s, ids[i]);
}

static bool subquery_can_fail(Plan *p);
static bool no_failure(void *ctx, Expr *e) {
    (void)ctx;
    if (e->kind != EX_SUBQUERY) return true;
    Plan *p = e->u.sub.plan;
    return (e->subquery != SQ_SCALAR || opt_max_one_row(p)) && !opt_plan_can_fail(p) && !subquery_can_fail(p);
}
static Status failure_fn(void *ctx, Expr **e) {
    (void)ctx;
    return expr_walk(*e, no_failure, NULL) ? ST_OK : ST_ERROR;
}
static bool subquery_can_fail(Plan *p) {
    if (stack_stop()) return true;
    if (plan_each_expr(p, failure_fn, NULL) != ST_OK) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (subquery_can_fail(p->children[i])) return true;
    return false;
}
bool sql_subqueries_can_fail(const BoundStmt *stmt) { return stmt->plan && subquery_can_fail(stmt->plan); }
Plan *sql_copy_plan(PlanCtx *c, const Plan *p) {
    Opt o = {.c = c, .a = c->arena, .err = c->err};
    return opt_plan_copy(&o, p);
}

Status sql_optimize(PlanCtx *c, BoundStmt *stmt) {
    if (stmt->kind == STMT_UTILITY || !stmt->plan) return ST_OK;
    Opt opt = {.c = c, .a = c->arena, .err = c->err}, *o = &opt;
    Plan *p = stmt->plan;
#ifdef STELE_DEBUG
    TRY(stmt_verify(c, stmt, o->err));
#endif

    TRY(check(o, p, "binding"));
    TRY(plan_verify_unshared(c, p,
                             c->err)); /* in every build: rules would change one operator's columns by another's */
    TRY(opt_fold_plan(o, p));
    p = opt_setops(o, p);
    TRY(check(o, p, "set operations"));
    p = opt_inline_ctes(o, p);
    TRY(check(o, p, "inline"));
    p = opt_decorrelate(o, p);
    TRY(check(o, p, "decorrelate"));
    p = opt_agg_rewrite(o, p);
    TRY(check(o, p, "aggregates"));
    p = opt_pushdown(o, p);
    TRY(check(o, p, "push down"));
    if (rule_on(c, RULE_GROUP_KEYS)) TRY(opt_group_keys(o, p));
    TRY(check(o, p, "group keys"));

    ColSet need = colset_new(c);
    need_ids(o, &need, stmt->result, stmt->n_result);
    need_ids(o, &need, &stmt->rowid, 1);
    if (stmt->merge) need_ids(o, &need, &stmt->merge->clause, 1);
    if ((stmt->kind == STMT_INSERT || stmt->merge) && stmt->table)
        need_ids(o, &need, stmt->values, stmt->table->n_cols);
    if (stmt->kind == STMT_UPDATE) need_ids(o, &need, stmt->values, stmt->n_set);
    if (stmt->inserted_result) need_ids(o, &need, stmt->inserted_result, stmt->n_result);
    if (stmt->hit) {
        need_ids(o, &need, &stmt->hit, 1);
        need_ids(o, &need, stmt->set_values, stmt->n_set);
    }
    need_ids(o, &need, stmt->checks, stmt->n_checks);
    p = opt_limits(o, p);
    TRY(check(o, p, "limits"));
    p = opt_prune(o, p, &need);
    TRY(check(o, p, "prune"));
    /* pruning exposes joins and filters to each other */
    p = opt_pushdown(o, p);
    TRY(check(o, p, "push down again"));
    p = opt_prune(o, p, &need);
    TRY(check(o, p, "prune again"));
    if (rule_on(c, RULE_GROUPING_SETS)) p = opt_grouping_sets(o, p);
    TRY(check(o, p, "grouping sets"));
    p = opt_join_order(o, p);
    TRY(check(o, p, "join order"));
    if (rule_on(c, RULE_RUNTIME_FILTER)) TRY(opt_runtime_filters(o, p));
    TRY(check(o, p, "runtime filters"));
    p = opt_window_order(o, p);
    TRY(check(o, p, "window order"));
    opt_row_order(p);
    stmt->plan = p;
    return ST_OK;
}
