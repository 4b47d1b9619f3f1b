/* window.h - window functions over sorted rows.
 *
 * The rows come from a finished row store, sorted by the keys of the window (program/query_plan.h, WindowSpec). Workers
 * take batches of whole partitions, load the columns that calls read, evaluate window after window and partition after
 * partition, and append the batch's rows, with a column more per call, to the result, which keeps the order.
 *
 * Memory: a batch has its columns in memory, and so has a partition, however large: when that does not fit, the
 * statement fails as the account says. The row stores before and after spill.
 */
#ifndef STELE_EXEC_WINDOW_H
#define STELE_EXEC_WINDOW_H

#include "exec/rows.h"

typedef struct WindowEnv {
    Pool *pool;
    int threads;
    int64_t batch_rows; /* at most, but for partitions that are larger */
    MemAccount *account;
    const QueryStop *stop;
    const struct Zone *zone; /* of the session: RANGE over timestamptz */
} WindowEnv;

/* All rows of `in` through the window into `out`, a new store of spec's columns, which is finished. *workers: how many
 * worked. */
Status window_run(const WindowSpec *spec, const WindowEnv *env, RowStore *in, RowStore *out, int *workers, Err *e);

#endif
