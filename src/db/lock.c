/* lock.c - see lock.h. One mutex; each waiter has a condition variable, so that only those are woken that may enter.
 *
 * Handing the lock over costs a switch of threads, many times what a short statement takes. So a thread that asks while
 * the lock is free takes it, although others wait; for QUANTUM_NS since the last of these was let in, or since the
 * waiter came. From then on the first waiter is not overtaken, and the threads take turns of that length. */
#include <pthread.h>
#include <stdlib.h>

#include "base/cond.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "db/lock.h"

/* Waiting threads, in the order of arrival; on their stacks. */
typedef struct Waiter {
    struct Waiter *next;
    pthread_cond_t wake;
    LockMode held, want;
    int64_t since;
    bool behind; /* LockWait.behind */
    bool polls;  /* it sleeps for IDLE_NS only */
} Waiter;
struct TxnLock {
    Mutex mutex;
    int64_t readers;
    Waiter *waiters, **last; /* where the next one goes */
    _Atomic int32_t n_waiters;
    bool writer;
    bool upgrading;  /* a reader waits to become the writer */
    int64_t left_ns; /* when it was given up last, if a thread waited then */
    int64_t turn_ns; /* when a waiter was let in last */
    _Atomic uint64_t changes;
    TxnHub hub;
};

/* GAP_NS, IDLE_NS: see may_enter; POLL_NS: how often cancellation is looked for. */
enum { POLL_NS = 50000000, QUANTUM_NS = 1000000, IDLE_NS = 100000, GAP_NS = 20000 };

TxnHub *txn_lock_hub(TxnLock *l) { return &l->hub; }

TxnLock *txn_lock_new(Err *e) {
    TxnLock *l = mem_calloc(NULL, (int64_t)sizeof *l, e);
    if (!l) return NULL;
    l->last = &l->waiters;
    mutex_init(&l->mutex, RANK_DATABASE_STATE);
    mutex_init(&l->hub.mutex, RANK_TXN_HUB);
    cond_init(&l->hub.ended);
    return l;
}

void txn_lock_free(TxnLock *l) {
    if (!l) return;
    pthread_cond_destroy(&l->hub.ended);
    mutex_destroy(&l->mutex);
    mutex_destroy(&l->hub.mutex);
    mem_free(NULL, l, (int64_t)sizeof *l);
}

/* The waiter may not be overtaken any more once it is the first. */
static bool overdue(const TxnLock *l, const Waiter *w, int64_t now) {
    return now - MAX_OF(w->since, l->turn_ns) > QUANTUM_NS;
}
/* A waiter before `me` (any waiter, when `me` is not among them) may not be overtaken any more, and the two cannot hold
 * the lock together. Behind one that may be, all may be: they have come later. */
static bool must_let_pass(const TxnLock *l, const Waiter *me, LockMode want, int64_t now) {
    for (const Waiter *w = l->waiters; w && w != me && overdue(l, w, now); w = w->next)
        if (want == LOCK_EXCLUSIVE || w->want == LOCK_EXCLUSIVE) return true;
    return false;
}
/* The lock is free for it; others may wait for it. */
static bool is_free(const TxnLock *l, LockMode held, LockMode want) {
    if (held == LOCK_SHARED) return l->readers == 1;
    return !l->writer && (want == LOCK_SHARED || l->readers == 0);
}
/* A waiter whose turn has not come enters when the lock has been free for a while: the thread that had it last has
 * often more short statements to run. One behind the others leaves them more time. */
static bool may_enter(const TxnLock *l, const Waiter *me, int64_t now) {
    if (!is_free(l, me->held, me->want)) return false;
    if (me->held == LOCK_SHARED) return true;
    if (me->behind && l->waiters != me) return false;
    if (overdue(l, me, now)) return !must_let_pass(l, me, me->want, now);
    return l->waiters == me && now - l->left_ns > (me->behind ? IDLE_NS : GAP_NS);
}
/* The lock has changed: the waiters that may enter now are woken, the first of them that wants it alone as the last:
 * the ones behind it may not enter before it, but for one that holds the lock shared. The first waiter of all looks by
 * itself until its turn has come; it is woken to begin with that. */
static void wake_waiters(TxnLock *l, int64_t now) {
    Waiter *first = l->waiters;
    if (first && !first->polls && is_free(l, first->held, first->want)) pthread_cond_signal(&first->wake);
    for (Waiter *w = l->waiters; w; w = w->next) {
        if (may_enter(l, w, now)) pthread_cond_signal(&w->wake);
        if (w->want == LOCK_EXCLUSIVE && !l->upgrading) return;
    }
}
/* Transactions that have been idle for too long are ended; the mutex is given up for that long. */
static bool end_idle(TxnLock *l) {
    void (*end)(TxnHub *) = atomic_load(&l->hub.end_idle);
    if (!end) return false;
    mutex_unlock(&l->mutex);
    end(&l->hub);
    mutex_lock(&l->mutex);
    return true;
}
static void enqueue(TxnLock *l, Waiter *me) {
    *l->last = me;
    l->last = &me->next;
    cond_init(&me->wake);
    atomic_fetch_add(&l->n_waiters, 1);
    if (me->held == LOCK_SHARED) l->upgrading = true;
}
static void dequeue(TxnLock *l, Waiter *me) {
    Waiter **at = &l->waiters;
    while (*at != me) at = &(*at)->next;
    *at = me->next;
    if (l->last == &me->next) l->last = at;
    pthread_cond_destroy(&me->wake);
    atomic_fetch_sub(&l->n_waiters, 1);
    if (me->held == LOCK_SHARED) l->upgrading = false;
}
/* Until the waiter is woken, for POLL_NS at most (false then); the first one for IDLE_NS while its turn has not come.
 */
static bool sleep_until_woken(TxnLock *l, Waiter *me, int64_t deadline) {
    const int64_t now = clock_ns();
    me->polls = l->waiters == me && !overdue(l, me, now);
    bool woken = cond_wait_until(&me->wake, &l->mutex, MIN_OF(deadline, now + (me->polls ? IDLE_NS : POLL_NS)));
    woken = woken || me->polls;
    me->polls = false;
    return woken;
}
/* Until it may enter, or has waited enough: *got false. */
static Status wait_for(TxnLock *l, LockMode held, LockMode want, const LockWait *w, bool *got, Err *e) {
    Status st = ST_OK;
    const int64_t timeout_ms = w->timeout_ms;
    Waiter me = {.held = held, .want = want, .since = clock_ns(), .behind = w->behind};
    const int64_t deadline =
        timeout_ms > 0 && timeout_ms < INT64_MAX / 2000000 ? me.since + timeout_ms * 1000000 : INT64_MAX;
    enqueue(l, &me);
    wake_waiters(l, me.since); /* it may have to let others pass although the lock is free */
    for (bool long_since = false; !may_enter(l, &me, clock_ns());) {
        if (long_since && end_idle(l) && may_enter(l, &me, clock_ns())) break;
        if (w->enough && w->enough(w->ctx)) {
            *got = false;
            break;
        }
        if (w->cancel && atomic_load(w->cancel)) {
            st = err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
            break;
        }
        if (clock_ns() >= deadline && is_free(l, held, want) && !must_let_pass(l, &me, want, deadline)) break;
        if (clock_ns() >= deadline) {
            st = err_set(e, ERR_LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
            err_hint(e, "Another transaction holds the database; raise lock_timeout or end that transaction.");
            break;
        }
        long_since = !sleep_until_woken(l, &me, deadline) || clock_ns() >= deadline;
    }
    dequeue(l, &me);
    if (st == ST_OK && *got && held == LOCK_NONE) l->turn_ns = clock_ns();
    return st;
}

static Status acquire(TxnLock *l, LockMode held, LockMode want, const LockWait *w, bool *got, Err *e) {
    *got = true;
    lock_order_check(RANK_DATABASE);
    mutex_lock(&l->mutex);
    if (held == LOCK_SHARED && l->upgrading) {
        mutex_unlock(&l->mutex);
        err_set(e, ERR_SERIALIZATION_FAILURE, "could not serialize access due to a concurrent transaction");
        err_hint(e, "The transaction might succeed if retried.");
        return ST_ERROR;
    }
    const bool enters = is_free(l, held, want) && (!l->waiters || held == LOCK_SHARED ||
                                                   (!w->behind && !must_let_pass(l, NULL, want, clock_ns())));
    Status st = enters ? ST_OK : wait_for(l, held, want, w, got, e);
    if (st == ST_OK && *got && want == LOCK_SHARED) {
        l->readers++;
    } else if (st == ST_OK && *got) {
        l->readers -= held == LOCK_SHARED;
        l->writer = true;
    }
    if (!enters && l->waiters) wake_waiters(l, clock_ns()); /* those behind it */
    mutex_unlock(&l->mutex);
    return st;
}

Status txn_lock_acquire(TxnLock *l, LockMode held, LockMode want, int64_t timeout_ms, _Atomic bool *cancel, Err *e) {
    bool got;
    const LockWait w = {.timeout_ms = timeout_ms, .cancel = cancel};
    return held >= want ? ST_OK : acquire(l, held, want, &w, &got, e);
}
Status txn_lock_acquire_or(TxnLock *l, LockMode want, const LockWait *w, bool *got, Err *e) {
    return acquire(l, LOCK_NONE, want, w, got, e);
}
int32_t txn_lock_waiters(const TxnLock *l) { return atomic_load_explicit(&l->n_waiters, memory_order_relaxed); }
void txn_lock_wake(TxnLock *l) {
    mutex_lock(&l->mutex);
    for (Waiter *w = l->waiters; w; w = w->next) pthread_cond_signal(&w->wake);
    mutex_unlock(&l->mutex);
}

void txn_lock_downgrade(TxnLock *l) {
    mutex_lock(&l->mutex);
    l->writer = false;
    l->readers++;
    atomic_fetch_add(&l->changes, 1);
    if (l->waiters) wake_waiters(l, clock_ns());
    mutex_unlock(&l->mutex);
}

static void release(TxnLock *l, LockMode held, bool changed) {
    if (held == LOCK_NONE) return;
    mutex_lock(&l->mutex);
    if (held == LOCK_SHARED) l->readers--;
    else l->writer = false;
    if (held == LOCK_EXCLUSIVE && changed) atomic_fetch_add(&l->changes, 1);
    if (l->waiters) wake_waiters(l, l->left_ns = clock_ns());
    mutex_unlock(&l->mutex);
}

void txn_lock_release(TxnLock *l, LockMode held) { release(l, held, true); }
void txn_lock_release_unchanged(TxnLock *l, LockMode held) { release(l, held, false); }
uint64_t txn_lock_changes(const TxnLock *l) { return atomic_load(&l->changes); }
