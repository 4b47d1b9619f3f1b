/* lower.h - the lowering: optimised logical plan -> segments and programs.
 *
 * Blocking operators (hash build, aggregation, sort) end a segment; everything else becomes
 * opcodes of the segment that feeds them. Columns are loaded, decoded and computed where they are first needed,
 * so a filter shrinks the work of all that follows (late materialisation).
 *
 * Physical decisions are made here: the width of each register from value ranges, checked or unchecked
 * arithmetic, dictionary codes instead of strings, predicates turned into code ranges and masks, join keys packed.
 * The ranges come from table statistics: a QueryPlan is valid for the tables' versions it was made from and
 * must be run under the same lock.
 */
#ifndef STELE_SQL_LOWER_LOWER_H
#define STELE_SQL_LOWER_LOWER_H

#include "program/query_plan.h"
#include "sql/optimize/optimize.h"
#include "sql/plan/plan.h"

/* result[i]: columns of the result row store, in canonical phys (type_phys). Allocated in c->arena. NULL on error. */
QueryPlan *sql_lower(PlanCtx *c, Plan *plan, int32_t n_result, const ColId *result);

#endif
