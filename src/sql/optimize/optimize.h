/* optimize.h - the optimiser: rewrites a bound plan into a faster one with the same answer.
 *
 * Rules run in a fixed order; each can be switched off (SET disabled_rules = 'a,b') for tests. Only
 * decorrelation is always on: nothing below it runs dependent joins. */
#ifndef STELE_SQL_OPTIMIZE_OPTIMIZE_H
#define STELE_SQL_OPTIMIZE_OPTIMIZE_H

#include "sql/plan/plan.h"

#define OPTIMIZER_RULES(X)                     \
    X(FOLD, "constant_folding")                \
    X(PUSHDOWN, "predicate_pushdown")          \
    X(PROJECTION, "projection_pushdown")       \
    X(OUTER_JOIN, "outer_join_simplification") \
    X(JOIN_ORDER, "join_order")                \
    X(BUILD_SIDE, "build_side")                \
    X(GROUP_KEYS, "functional_dependencies")   \
    X(GROUPING_SETS, "grouping_sets")          \
    X(RUNTIME_FILTER, "runtime_filters")       \
    X(CSE, "common_subexpressions")            \
    X(ZONE_MAPS, "zone_maps")                  \
    X(TOP_N, "top_n")                          \
    X(OR_FACTOR, "or_factoring")               \
    X(CODES, "dictionary_codes")               \
    X(RANGES, "value_ranges")

typedef enum OptRule {
#define X(name, text) RULE_##name,
    OPTIMIZER_RULES(X)
#undef X
        RULE_COUNT_
} OptRule;
static inline bool rule_on(const PlanCtx *c, OptRule r) { return !(c->disabled_rules >> r & 1); }
/* "join_order, top_n" -> bit set; 22023 names the unknown rule and lists the known ones. */
Status optimizer_rules_parse(Slice text, uint32_t *out, Err *e);

/* Rewrites stmt->plan. Afterwards: no EX_SUBQUERY, no dependent joins, no JN_RIGHT unless chosen for build side,
 * LP_SORT+LP_LIMIT fused, limits constant, est_rows and est_cost filled, join.build_left chosen,
 * runtime filters annotated, unused columns pruned. */
Status sql_optimize(PlanCtx *c, BoundStmt *stmt);
/* Constant folding alone, for expressions of routines, which are not optimised. NULL: c->err. */
Expr *sql_fold(PlanCtx *c, Expr *e);
/* Before sql_optimize: whether a subquery can fail for a value that no row needs, so that a statement that fails is
 * worth planning again with PlanCtx.guarded; and a copy of its plan for that. */
bool sql_subqueries_can_fail(const BoundStmt *stmt);
Plan *sql_copy_plan(PlanCtx *c, const Plan *p);
/* avg() becomes sum() and count(), an aggregate over DISTINCT values two levels of aggregation; the plan's own
 * subqueries are left. NULL: c->err. */
Plan *sql_split_aggregates(PlanCtx *c, Plan *p);
/* The error that every execution of the optimised plan would meet in a constant (1/0), if there is one: for EXPLAIN,
 * which executes nothing. */
Status sql_raise_constants(PlanCtx *c, Plan *p);

#endif
