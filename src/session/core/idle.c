/* idle.c - see idle.h.
 *
 * While a session is in a call, `due` is INT64_MAX. It is set when the outermost call ends inside a transaction, so
 * a thread that finds a time there found a session outside of calls; with `call` locked and `due` looked at again, the
 * session's own next call waits in session_enter. The other thread does as little as frees what others need: the
 * undo log, the snapshot, definitions, the lock. Savepoints, settings and the state are left to that next call. The
 * same holds of `outside`, whatever the time, for those who take its pin away (give_up of transaction.c). */
#include "base/log.h"
#include "session/core/idle.h"
#include "session/core/transaction_int.h"

Status session_idle_init(Session *s) {
    atomic_store(&s->idle.due, INT64_MAX);
    if (!mutex_init(&s->idle.call, RANK_SESSION)) return err_oom(&s->err);
    atomic_store(&transaction_hub(s)->end_idle, sessions_end_idle);
    return ST_OK;
}

Status session_enter(Session *s) {
    SessionIdle *x = &s->idle;
    if (x->depth == 0) s->path.before = search_path_use(s->path.now);
    if (x->depth == 0) s->path.temp_before = temp_schema_use(&s->path.temp);
    if (x->depth++ > 0 || s->state == 'I') return ST_OK; /* there is nothing to end */
    if (!mutex_try(&x->call)) mutex_lock(&x->call);
    x->locked = true;
    atomic_store(&x->outside, false);
    int64_t due = atomic_exchange(&x->due, INT64_MAX);
    if (!x->ended && (due == INT64_MAX || clock_ns() < due)) return ST_OK;
    x->ended = false;
    session_abandon(s);
    err_set(&s->err, ERR_IDLE_IN_TRANSACTION, "terminating transaction due to idle-in-transaction timeout");
    err_detail(&s->err, "The session was idle in the transaction for longer than idle_in_transaction_session_timeout; "
                        "the transaction's changes have been undone.");
    err_hint(&s->err, "Begin the transaction again.");
    return ST_ERROR;
}

void session_leave(Session *s) {
    SessionIdle *x = &s->idle;
    int64_t limit = s->settings.txn.idle_timeout_ms;
    if (--x->depth > 0) return;
    (void)search_path_use(s->path.before);
    (void)temp_schema_use(s->path.temp_before);
    atomic_store(&x->outside, s->state != 'I');
    if (s->state != 'I' && limit > 0) atomic_store(&x->due, clock_ns() + limit * 1000000);
    if (!x->locked) return;
    x->locked = false;
    mutex_unlock(&x->call);
}

/* A session whose time is up, with its `call` locked; NULL: there is none. */
static Session *take_idle(TxnHub *h) {
    Session *s = NULL;
    int64_t now = 0;
    mutex_lock(&h->mutex);
    for (Txn *x = h->open; x && !s; x = x->next) { /* sessions leave the list before they are freed */
        if (!x->session || atomic_load(&x->session->idle.due) == INT64_MAX) continue;
        if (now == 0) now = clock_ns();
        SessionIdle *i = &x->session->idle;
        if (atomic_load(&i->due) > now || !mutex_try(&i->call)) continue;
        if (atomic_load(&i->due) <= now) s = x->session;
        else mutex_unlock(&i->call);
    }
    mutex_unlock(&h->mutex);
    return s;
}

void sessions_end_idle(TxnHub *h) {
    for (Session *s; (s = take_idle(h));) {
        s->idle.ended = true;
        atomic_store(&s->idle.due, INT64_MAX);
        transaction_rollback(s);
        catalog_undo_all(s);
        session_unlock(s);
        mutex_unlock(&s->idle.call);
    }
}
