/* lock.c - see lock.h. One mutex, one condition variable; waiting writers hold back new readers, so that they are not
 * starved.
 *
 * A thread that asks while the lock is free takes it, although others have been woken for it and do not run yet:
 * handing it over costs a switch of threads each time, many times what a short statement takes. A waiter is no longer
 * overtaken once it has waited for PATIENCE_NS, since bulks that follow each other closely would keep it out for
 * ever. */
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
    LockMode want;
    int64_t since;
    bool behind; /* LockWait.behind */
} Waiter;
struct TxnLock {
    Mutex mutex;
    pthread_cond_t changed;
    int64_t readers;
    int64_t waiting_writers;
    Waiter *waiters;
    _Atomic int32_t n_waiters;
    bool writer;
    bool upgrading;  /* a reader waits to become the writer */
    int64_t left_ns; /* when it was given up last, if a thread waited then */
    _Atomic uint64_t changes;
    TxnHub hub;
};

enum { POLL_NS = 50000000 /* for cancellation */, PATIENCE_NS = 5000000 };
/* LockWait.behind: a thread that was let in has often more short statements to run, which would else wait for a slice
 * each. So others may overtake for LINGER_NS, as long as the lock is not free for IDLE_NS. */
enum { LINGER_NS = 1000000, IDLE_NS = 100000 };

TxnHub *txn_lock_hub(TxnLock *l) { return &l->hub; }

TxnLock *txn_lock_new(Err *e) {
    TxnLock *l = mem_calloc(NULL, (int64_t)sizeof *l, e);
    if (!l) return NULL;
    mutex_init(&l->mutex, RANK_DATABASE_STATE);
    mutex_init(&l->hub.mutex, RANK_TXN_HUB);
    cond_init(&l->hub.ended);
    cond_init(&l->changed);
    return l;
}

void txn_lock_free(TxnLock *l) {
    if (!l) return;
    pthread_cond_destroy(&l->changed);
    pthread_cond_destroy(&l->hub.ended);
    mutex_destroy(&l->mutex);
    mutex_destroy(&l->hub.mutex);
    mem_free(NULL, l, (int64_t)sizeof *l);
}

/* A waiter before `me` (any waiter, when `me` is not among them) may not be overtaken any more, and the two cannot hold
 * the lock together. */
static bool must_let_pass(const TxnLock *l, const Waiter *me, LockMode want, int64_t now) {
    for (const Waiter *w = l->waiters; w && w != me; w = w->next)
        if ((want == LOCK_EXCLUSIVE || w->want == LOCK_EXCLUSIVE) &&
            now - w->since > (w->behind ? LINGER_NS : PATIENCE_NS))
            return true;
    return false;
}
static bool may_enter(const TxnLock *l, LockMode held, LockMode want, const Waiter *me) {
    if (held == LOCK_SHARED) return l->readers == 1;
    if (l->writer || (want == LOCK_EXCLUSIVE && l->readers > 0)) return false;
    if (!l->waiters) return true;
    const int64_t now = clock_ns();
    if (me && me->behind) return l->waiters == me && (now - l->left_ns > IDLE_NS || now - me->since > LINGER_NS);
    if (want == LOCK_SHARED && l->waiting_writers > 0 && !(me && now - me->since > PATIENCE_NS)) return false;
    return !must_let_pass(l, me, want, now);
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
/* Until it may enter, or has waited enough: *got false. */
static Status wait_for(TxnLock *l, LockMode held, LockMode want, const LockWait *w, bool *got, Err *e) {
    Status st = ST_OK;
    const int64_t timeout_ms = w->timeout_ms;
    Waiter me = {.want = want, .since = clock_ns(), .behind = w->behind}, **at = &l->waiters;
    const int64_t deadline =
        timeout_ms > 0 && timeout_ms < INT64_MAX / 2000000 ? me.since + timeout_ms * 1000000 : INT64_MAX;
    while (*at) at = &(*at)->next;
    *at = &me;
    atomic_fetch_add(&l->n_waiters, 1);
    const bool holds_back = want == LOCK_EXCLUSIVE && !w->behind; /* readers, those before it too */
    if (holds_back) l->waiting_writers++;
    if (held == LOCK_SHARED) l->upgrading = true;
    for (bool long_since = false; !may_enter(l, held, want, &me);) {
        if (long_since && end_idle(l) && may_enter(l, held, want, &me)) break;
        if (w->enough && w->enough(w->ctx)) {
            *got = false;
            break;
        }
        if (w->cancel && atomic_load(w->cancel)) {
            st = err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
            break;
        }
        int64_t now = clock_ns();
        if (now >= deadline) {
            st = err_set(e, ERR_LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
            err_hint(e, "Another transaction holds the database; raise lock_timeout or end that transaction.");
            break;
        }
        const int64_t poll_ns = w->behind && l->waiters == &me ? IDLE_NS : POLL_NS;
        long_since = !cond_wait_until(&l->changed, &l->mutex, MIN_OF(deadline, now + poll_ns)) && poll_ns == POLL_NS;
    }
    for (at = &l->waiters; *at != &me;) at = &(*at)->next;
    *at = me.next;
    atomic_fetch_sub(&l->n_waiters, 1);
    if (holds_back) l->waiting_writers--;
    if (held == LOCK_SHARED) l->upgrading = false;
    pthread_cond_broadcast(&l->changed); /* for the waiters behind it */
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
    const bool enters = (!w->behind || !l->waiters) && may_enter(l, held, want, NULL);
    Status st = enters ? ST_OK : wait_for(l, held, want, w, got, e);
    if (st == ST_OK && *got && want == LOCK_SHARED) {
        l->readers++;
    } else if (st == ST_OK && *got) {
        l->readers -= held == LOCK_SHARED;
        l->writer = true;
    }
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
    if (l->waiters) pthread_cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
}

void txn_lock_downgrade(TxnLock *l) {
    mutex_lock(&l->mutex);
    l->writer = false;
    l->readers++;
    atomic_fetch_add(&l->changes, 1);
    pthread_cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
}

static void release(TxnLock *l, LockMode held, bool changed) {
    if (held == LOCK_NONE) return;
    mutex_lock(&l->mutex);
    if (held == LOCK_SHARED) l->readers--;
    else l->writer = false;
    if (l->waiters) l->left_ns = clock_ns();
    if (held == LOCK_EXCLUSIVE && changed) atomic_fetch_add(&l->changes, 1);
    pthread_cond_broadcast(&l->changed);
    mutex_unlock(&l->mutex);
}

void txn_lock_release(TxnLock *l, LockMode held) { release(l, held, true); }
void txn_lock_release_unchanged(TxnLock *l, LockMode held) { release(l, held, false); }
uint64_t txn_lock_changes(const TxnLock *l) { return atomic_load(&l->changes); }
