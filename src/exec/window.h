/* window.h - window functions over sorted rows.
 *
 * The rows come from a finished row store, sorted by the keys of the window (program/query_plan.h, WindowSpec). Workers
 * take batches of whole partitions, load the columns that calls read, evaluate window after window and partition after
 * partition, and append the batch's rows, with a column more per call, to the result, which keeps the order.
 *
 * A large partition comes in several batches when all calls allow it: row_number, rank, dense_rank; lag and lead by the
 * same few rows; aggregates, first_value and last_value over frames from the partition's start to the current row; and
 * functions over ROWS frames between a few rows before and behind. Others get the whole partition as one batch.
 *
 * Memory: a batch has its columns in memory, as far as the account allows, and the rest of them in a mapped temporary
 * file. The row stores before and after spill. States of aggregates with bytes of their own (texts, numerics without
 * (p,s)) are in memory.
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
    Vfs *vfs; /* for temporary files; NULL: what does not fit is an error */
    const char *temp_dir;
    const struct Zone *zone; /* of the session: RANGE over timestamptz */
} WindowEnv;

/* All rows of `in` through the window into `out`, a new store of spec's columns, which is finished. *workers: how many
 * worked. */
Status window_run(const WindowSpec *spec, const WindowEnv *env, RowStore *in, RowStore *out, int *workers, Err *e);

#endif
