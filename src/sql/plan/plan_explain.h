/* plan_explain.h - a logical plan as an indented tree, for EXPLAIN, tests and debugging. */
#ifndef STELE_SQL_PLAN_PLAN_EXPLAIN_H
#define STELE_SQL_PLAN_PLAN_EXPLAIN_H

#include "sql/plan/plan.h"

/* One line per operator with its conditions, estimated rows and cost (once the optimiser has filled them).
 * Joins are numbered so that runtime filters can name them. In the arena; NULL when memory runs out. */
char *plan_text(PlanCtx *c, const Plan *p);

#endif
