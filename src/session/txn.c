/* txn.c - see txn.h. One mutex, one condition variable; waiting writers hold back new readers so that they get a turn. */
#include <pthread.h>
#include <stdlib.h>

#include "base/cond.h"
#include "base/log.h"
#include "base/mem.h"
#include "session/txn.h"

struct TxnLock {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t readers;
    int64_t waiting_writers;
    bool writer;
    bool upgrading; /* a reader waits to become the writer */
    TxnHub hub;
};

enum { POLL_NS = 50000000 /* for cancellation */ };

TxnHub *txn_lock_hub(TxnLock *l) { return &l->hub; }

TxnLock *txn_lock_new(Err *e) {
    TxnLock *l = mem_calloc(NULL, (int64_t)sizeof *l, e);
    if (!l) return NULL;
    pthread_mutex_init(&l->mutex, NULL);
    pthread_mutex_init(&l->hub.mutex, NULL);
    cond_init(&l->changed);
    return l;
}

void txn_lock_free(TxnLock *l) {
    if (!l) return;
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->mutex);
    pthread_mutex_destroy(&l->hub.mutex);
    mem_free(NULL, l, (int64_t)sizeof *l);
}

static bool may_enter(const TxnLock *l, LockMode held, LockMode want) {
    if (want == LOCK_SHARED) return !l->writer && l->waiting_writers == 0;
    if (held == LOCK_SHARED) return l->readers == 1;
    return !l->writer && l->readers == 0;
}

Status txn_lock_acquire(TxnLock *l, LockMode held, LockMode want, int64_t timeout_ms, _Atomic bool *cancel, Err *e) {
    if (held >= want) return ST_OK;
    Status st = ST_OK;
    pthread_mutex_lock(&l->mutex);
    if (held == LOCK_SHARED && l->upgrading) {
        pthread_mutex_unlock(&l->mutex);
        err_set(e, ERR_SERIALIZATION_FAILURE, "could not serialize access due to a concurrent transaction");
        err_hint(e, "The transaction might succeed if retried.");
        return ST_ERROR;
    }
    if (want == LOCK_EXCLUSIVE) {
        l->waiting_writers++;
        if (held == LOCK_SHARED) l->upgrading = true;
    }
    int64_t deadline = timeout_ms > 0 && timeout_ms < INT64_MAX / 2000000 ? clock_ns() + timeout_ms * 1000000 : INT64_MAX;
    while (!may_enter(l, held, want)) {
        if (cancel && atomic_load(cancel)) {
            st = err_set(e, ERR_QUERY_CANCELED, "canceling statement due to user request");
            break;
        }
        int64_t now = clock_ns();
        if (now >= deadline) {
            st = err_set(e, ERR_LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
            err_hint(e, "Another transaction holds the database; raise lock_timeout or end that transaction.");
            break;
        }
        (void)cond_wait_until(&l->changed, &l->mutex, MIN_OF(deadline, now + POLL_NS));
    }
    if (want == LOCK_EXCLUSIVE) {
        l->waiting_writers--;
        if (held == LOCK_SHARED) l->upgrading = false;
    }
    if (st == ST_OK) {
        if (want == LOCK_SHARED) {
            l->readers++;
        } else {
            if (held == LOCK_SHARED) l->readers--;
            l->writer = true;
        }
    } else {
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->mutex);
    return st;
}

void txn_lock_downgrade(TxnLock *l) {
    pthread_mutex_lock(&l->mutex);
    l->writer = false;
    l->readers++;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}

void txn_lock_release(TxnLock *l, LockMode held) {
    if (held == LOCK_NONE) return;
    pthread_mutex_lock(&l->mutex);
    if (held == LOCK_SHARED) l->readers--;
    else l->writer = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->mutex);
}
