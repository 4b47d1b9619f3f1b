/* lock.h - the database lock.
 *
 * A statement that reads takes it shared, one that changes anything takes it exclusively. Most transactions hold it for
 * the length of a statement (session/core/transaction.h); those that are pinned keep it to their end. Two that hold it
 * shared and both want to write cannot both go on: the second to ask gets 40001. Waiting is bounded by lock_timeout
 * (55P03). Threads with many short statements take turns of 1 ms: a waiter is not overtaken any more when it has waited
 * for so long, nor 1 ms after another waiter was let in. A holder with more to do may let those in that wait: it takes
 * the lock again behind them (LockWait.behind).
 */
#ifndef STELE_DB_LOCK_H
#define STELE_DB_LOCK_H

#include "base/base.h"
#include "base/err.h"
#include "base/mutex.h"
#include <pthread.h>
#include <stdatomic.h>

typedef struct TxnLock TxnLock;
typedef enum LockMode { LOCK_NONE, LOCK_SHARED, LOCK_EXCLUSIVE } LockMode;

TxnLock *txn_lock_new(Err *e);
void txn_lock_free(TxnLock *l);
/* Goes from `held` to `want` (never downwards). timeout_ms <= 0: no limit. `cancel` is polled. On error `held` is still
 * held. */
Status txn_lock_acquire(TxnLock *l, LockMode held, LockMode want, int64_t timeout_ms, _Atomic bool *cancel, Err *e);
/* The same from no lock, but a wait also ends when `enough` is true, which is asked for when the lock changes and at
 * txn_lock_wake: *got false then. NULL: never. */
typedef struct LockWait {
    int64_t timeout_ms;
    _Atomic bool *cancel;
    bool (*enough)(void *ctx);
    void *ctx;
    bool behind; /* not before those that wait already, nor those that come right after them */
} LockWait;
Status txn_lock_acquire_or(TxnLock *l, LockMode want, const LockWait *w, bool *got, Err *e);
void txn_lock_wake(TxnLock *l);
int32_t txn_lock_waiters(const TxnLock *l); /* threads that wait for it, at some moment; needs no lock */
void txn_lock_release(TxnLock *l, LockMode held);

/* How often the lock was held alone and given up: what was read under it or published of it is that of the tables as
 * long as the number stays the same, but for a statement that holds it alone now and has not ended. Needs no lock. */
uint64_t txn_lock_changes(const TxnLock *l);
/* The same, for a holder that has left the committed state as it found it: the number stays. */
void txn_lock_release_unchanged(TxnLock *l, LockMode held);

/* EXCLUSIVE becomes SHARED, without a moment in which the lock is free. */
void txn_lock_downgrade(TxnLock *l);

/* How many rows open transactions hold, by a hash of the row: where it is 0 the row is held by none, and logs need not
 * be compared. Counted up before its holder gives up the lock, or under the mutex of the hub; down when it ends. */
enum { HELD_SLOTS = 1 << 14 };
typedef struct HeldRows {
    _Atomic int32_t at[HELD_SLOTS];
    _Atomic int32_t many; /* transactions that hold more rows than they count */
} HeldRows;

enum { ADVISORY_SLOTS = 256 /* chains of advisory locks, by their keys (session/core/advisory.h) */ };
/* Numbers of transactions (session/core/xact.h). */
enum { XACTS_KEPT = 1 << 16 };
typedef struct XactNumbers {
    int64_t first, next; /* 0: none was asked for yet */
    uint8_t outcome[XACTS_KEPT];
} XactNumbers;

/* The open transactions of the database, and what it was for them (session/core/transaction.c). */
struct Txn;
struct Version;
typedef struct TxnHub {
    Mutex mutex; /* of the list; `resident` changes under it, or under the lock held alone */
    struct Txn *open;
    pthread_cond_t ended;                 /* one has left the list, or let go of rows: with the mutex */
    int64_t last_txn;                     /* number of the newest; under the mutex */
    _Atomic int32_t row_holders;          /* open ones below REPEATABLE READ that have changed rows */
    HeldRows held;                        /* by these */
    struct ResultStream *_Atomic streams; /* open ones that pin a version (session/core/result_stream.h); changes under
                                             the mutex */
    struct Txn *_Atomic resident; /* whose changes are in the tables although the lock is not held for it; NULL: none */
    _Atomic int64_t now, view;    /* the last commit that was kept; the last that is shown in the tables. These and the
                                     versions: changed under the lock held alone */
    _Atomic uint64_t commits;     /* how often it was decided, by who is in the list, whether a log of changes is kept;
                                     changes under the mutex, with the lock held alone */
    struct Version *oldest, *newest;
    _Atomic int64_t kept_bytes; /* by versions */
    _Atomic bool unsettled;     /* some of it may be of no use any more */
    XactNumbers xacts;          /* under the mutex, as what follows */
    struct {
        struct AdvisoryHold *holds[ADVISORY_SLOTS];
        struct AdvisoryWait *waits; /* the oldest first */
    } advisory;
    void (*_Atomic end_idle)(
        struct TxnHub *h); /* called in waits for the lock, without a mutex: may give back locks that
                              others hold (session/core/idle.h); NULL before the first session */
} TxnHub;
TxnHub *txn_lock_hub(TxnLock *l);

#endif
