/* pool.h - worker threads.
 *
 * A Pool has a fixed number of threads that sleep when idle. pool_run() runs one
 * function on `workers` workers at once (the caller is worker 0) and returns when
 * all have; work is divided by the function itself, usually by an atomic morsel
 * counter, so that a slow worker never holds up the others' share.
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

#endif
