/* plan_explain.h - a logical plan as an indented tree, for EXPLAIN, tests and debugging. */
#ifndef STELE_SQL_PLAN_PLAN_EXPLAIN_H
#define STELE_SQL_PLAN_PLAN_EXPLAIN_H

#include "sql/plan/plan.h"
#include "types/json.h"

/* One line per operator with its conditions, estimated rows and cost (once the optimiser has filled them).
 * Joins are numbered so that runtime filters can name them. In the arena; NULL when memory runs out. */
char *plan_text(PlanCtx *c, const Plan *p);
/* The same as an object of JSON on several lines, of which all but the first are indented by `depth`. */
Status plan_json(PlanCtx *c, const Plan *p, int depth, JsonOut *o);

#endif
