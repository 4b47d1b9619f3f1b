/* pool.h - worker threads.
 *
 * A Pool has a fixed number of threads that sleep when idle. pool_run() runs one
 * function on `workers` workers at once (the caller is worker 0) and returns when
 * all have; work is divided by the function itself, usually by an atomic morsel
 * counter, so that a slow worker never holds up the others' share.
 *
 * Urgent work: what a thread runs between pool_urgent_begin and pool_urgent_end (a bulk) is not to wait for long jobs
 * of others. Its jobs are first in the queue, and threads in the midst of other jobs join them where they call
 * pool_help, which costs a load when there is none: between vectors of rows, so that a job waits for some 50 us.
 *
 * Thread rules: pool_run may be called from several threads at once; each call gets
 * the workers that are free, at least the caller itself: `fn` must do all the work
 * whatever number of workers turns up.
 */
#ifndef STELE_BASE_POOL_H
#define STELE_BASE_POOL_H

#include "base/base.h"
#include "base/err.h"

typedef struct Pool Pool;
Pool *pool_new(int threads, Err *e); /* threads >= 1, caller included: threads-1 are started */
void pool_free(Pool *p);             /* waits for running work */
int pool_threads(const Pool *p);
int pool_at_once(const Pool *p);               /* of its threads, those that processors run at the same time */
typedef void (*PoolFn)(void *ctx, int worker); /* worker in 0..workers-1 */
void pool_run(Pool *p, int workers, PoolFn fn, void *ctx);
/* By the thread whose jobs are urgent; they may be nested. */
void pool_urgent_begin(void);
void pool_urgent_end(void);
/* By a thread that holds no lock, in the midst of a job or beside the pool; NULL: no pool. Runs a worker's share of an
 * urgent job that still takes workers, and returns when that is done. Nothing within urgent work, while threads of
 * the pool sleep, nor for as long again as the thread helped last: urgent work gets at most half of a busy thread. */
void pool_help(Pool *p);

#endif
