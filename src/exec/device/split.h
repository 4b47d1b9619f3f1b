/* split.h - a plan cut into one segment per operator.
 *
 * The executors `kernel` (kernel-at-a-time with materialised results [GPL §2]) and `pipelined` (the pieces run at the
 * same time and pass tiles through channels [GPL §3]) do not fuse a segment's operators. Both start from this plan:
 * every segment becomes a chain of segments that hand over their rows through row stores. It is an ordinary plan with
 * the same result on every executor, the virtual machine included.
 */
#ifndef STELE_EXEC_DEVICE_SPLIT_H
#define STELE_EXEC_DEVICE_SPLIT_H

#include "program/query_plan.h"

enum { PIPELINE_STAGES = 6 }; /* kernels that the executor `pipelined` has running at the same time */

/* *out and everything new lives in the arena; `plan` must outlive it. max_stages = 0: one segment per operator. Else at
 * most that many per segment, and what may multiply rows without bound (REPEAT, joins without keys) is in one piece
 * with everything behind it. stage_of (may be NULL): for every new segment, the number of the segment it came from;
 * arena. */
Status plan_split(const QueryPlan *plan, Arena *a, int32_t max_stages, QueryPlan **out, int32_t **stage_of, Err *e);

#endif
