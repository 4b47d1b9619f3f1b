/* split.h - a plan cut into one segment per operator.
 *
 * The executors `kernel` (kernel-at-a-time with materialised results [GPL §2]) and `pipelined` (the pieces run at the same time and pass
 * tiles through channels [GPL §3]) do not fuse a segment's operators. Both start from this plan: every segment becomes a chain of segments
 * that hand over their rows through row stores. It is an ordinary plan with the same result on every executor, the virtual machine included.
 */
#ifndef STELE_EXEC_SPLIT_H
#define STELE_EXEC_SPLIT_H

#include "exec/exec.h"

/* *out and everything new lives in the arena; `plan` must outlive it. stage_of (may be NULL): for every new segment, the number of the segment it
 * came from; arena. */
Status plan_split(const QueryPlan *plan, Arena *a, QueryPlan **out, int32_t **stage_of, Err *e);

#endif
