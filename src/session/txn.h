/* txn.h - the database lock and transactions of this stage.
 *
 * Strict two-phase locking on the whole database: a statement that reads takes the lock shared, one that changes
 * anything takes it exclusively; inside BEGIN ... COMMIT locks are kept to the end. That is serialisable. Two
 * transactions that both hold it shared and both want to write cannot both go on: the second to ask gets 40001. Waiting is bounded by
 * lock_timeout (55P03).
 */
#ifndef STELE_SESSION_TXN_H
#define STELE_SESSION_TXN_H

#include "base/base.h"
#include "base/err.h"
#include <stdatomic.h>

typedef struct TxnLock TxnLock;
typedef enum LockMode { LOCK_NONE, LOCK_SHARED, LOCK_EXCLUSIVE } LockMode;

TxnLock *txn_lock_new(Err *e);
void txn_lock_free(TxnLock *l);
/* Goes from `held` to `want` (never downwards). timeout_ms <= 0: no limit. `cancel` is polled. On error `held` is still held. */
Status txn_lock_acquire(TxnLock *l, LockMode held, LockMode want, int64_t timeout_ms, _Atomic bool *cancel, Err *e);
void txn_lock_release(TxnLock *l, LockMode held);

#endif
