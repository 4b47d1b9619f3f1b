/* exec.h - running a query: segments in order, workers over morsels.
 *
 * A Query is one execution of a QueryPlan (program/query_plan.h): the operator states, the workers, memory,
 * cancellation.
 *
 * Thread rules: one thread runs query_run; workers come from the pool. query_cancel from any thread.
 */
#ifndef STELE_EXEC_EXEC_H
#define STELE_EXEC_EXEC_H

#include "exec/device/run_options.h"

typedef struct Query Query;
struct RowStore;
Status query_new(const QueryPlan *plan, const QueryOptions *opt, Query **out, Err *e);
Status query_run(Query *q, Err *e);
/* In place of query_run: the next piece of the result, of about so many bytes, which query_result then is until the
 * next call. *more: there may be others; without, this is the last one, and may have no rows. Tables and dictionaries
 * that the plan reads must stay as they are as long as there is more. After an error only query_free. */
Status query_next(Query *q, int64_t bytes, bool *more, Err *e);
/* Takes rows as vectors where they are made: cols[i] of the result's column i, valid until it returns, integers perhaps
 * of another size than the column's. `order` is the rows' place in the result, with rows of equal order as they come;
 * a worker's never falls. Called by workers 0 .. QueryOptions.threads - 1 at the same time. */
typedef struct RowSink {
    Status (*add)(void *ctx, int worker, int64_t order, int64_t n, const Vec *cols, Err *e);
    void *ctx;
} RowSink;
/* Before the first query_next, which then gives it rows instead of keeping them for query_result where that can be:
 * not those that a device has made, that are sorted or limited, or that wait for partitions of a join. In the result,
 * rows that a call of query_next has given come before those of its piece. `to` outlives the query's run. */
void query_set_sink(Query *q, const RowSink *to);
void query_set_deadline(Query *q, int64_t deadline_ns); /* between two of those: QueryOptions.deadline_ns */
void query_free(Query *q);
/* query_run has failed because it came to rows that only a device has (exec/device/device_rows.h), where it could not
 * read them: it may run again once the host has them. */
bool query_needs_host(const Query *q);
/* What is run: the plan given, or that plan cut into pieces. query_stats counts its segments. */
const QueryPlan *query_plan(const Query *q);
/* The result, valid until query_free: exec/rows.h reads it. */
struct RowStore *query_result(Query *q);
const SegmentStats *query_stats(const Query *q, int32_t segment);
/* Text on how an operator state ended up ("dense index, 1,500,000 rows, 12 MiB"), for EXPLAIN ANALYZE. */
char *query_join_text(const Query *q, int32_t join, Arena *a);
char *query_agg_text(const Query *q, int32_t agg, Arena *a);

#endif
