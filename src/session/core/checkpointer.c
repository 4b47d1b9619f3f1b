/* checkpointer.c - see checkpointer.h. */
#include "session/core/checkpointer.h"

#include <signal.h>

#include "base/cond.h"
#include "base/log.h"
#include "db/checkpoint.h"
#include "db/redo.h"
#include "session/core/idle.h"

struct Checkpointer {
    Database *db;
    Mutex mutex; /* of `wanted`, `stop` and `session` */
    pthread_cond_t wake;
    pthread_t thread;
    bool stop;
    Session *session;            /* that makes a checkpoint; NULL: none does */
    _Atomic bool wanted, making; /* making: one is begun, and has not failed */
    /* Settings of the session that has committed last. */
    _Atomic int64_t max_log_size, timeout_ms, target_s;
};

/* *again: another holder of the lock has saved the database meanwhile. */
static Status make(Session *s, bool *again) {
    Checkpoint *c;
    bool keep = false;
    *again = false;
    TRY(checkpoint_start(s->db, &s->cancel, &c, &s->err));
    if (!c) return ST_OK;
    checkpoint_wait_begins(c, &s->cancel);
    Status st = session_lock(s, LOCK_EXCLUSIVE);
    if (checkpoint_wait_ends(c)) { /* that one waits with the lock: this session has not got it */
        *again = st != ST_OK;
        if (*again) err_clear(&s->err);
        atomic_store(&s->cancel, false);
    }
    if (st == ST_OK) st = checkpoint_pin(c, false, &keep, &s->err);
    if (st != ST_OK) {
        checkpoint_give_up(c);
        return *again ? ST_OK : st;
    }
    if (!keep) session_unlock_unchanged(s);
    return checkpoint_finish(c, &s->err);
}
Status session_checkpoint(Session *s) {
    bool again = true;
    if (s->lock != LOCK_NONE) session_unlock(s);
    while (again) TRY(make(s, &again));
    return ST_OK;
}

/* ---- the thread ---- */
/* Of what recovery may take of the target for the log, the part that it would take now; 0: there is no target. Where
 * tables alone take most of the time, the log gets a part of it anyway. */
static double used_by_log(const Checkpointer *k) {
    enum { LEAST_PART = 5, LEAST_BYTES = 1 << 20 };
    const double target = (double)atomic_load(&k->target_s);
    if (target <= 0 || redo_bytes(k->db) < LEAST_BYTES) return 0;
    double log;
    const double all = checkpoint_recovery_time(k->db, &log);
    return log / MAX_OF(target - (all - log), target / LEAST_PART);
}
static bool is_slow_to_recover(const Checkpointer *k) { return used_by_log(k) >= 0.5; }
static bool is_due(const Checkpointer *k) {
    return redo_bytes(k->db) >= atomic_load(&k->max_log_size) || is_slow_to_recover(k);
}
static int64_t timeout_ns(const Checkpointer *k) { return atomic_load(&k->timeout_ms) * 1000000; }
/* What ends when the thread is to end; false: it is to. */
static bool use_session(Checkpointer *k, Session *s) {
    mutex_lock(&k->mutex);
    const bool goes_on = !k->stop;
    k->session = s;
    mutex_unlock(&k->mutex);
    return goes_on;
}
static Status checkpoint_with(Checkpointer *k, Session *s) {
    s->settings.txn.lock_timeout_ms = 0;
    TRY(session_enter(s));
    const Status st = use_session(k, s) ? session_checkpoint(s) : ST_OK;
    const bool goes_on = use_session(k, NULL);
    if (s->lock != LOCK_NONE) session_unlock(s);
    session_leave(s);
    return goes_on ? st : ST_OK;
}
/* False: it has failed. */
static bool make_checkpoint(Checkpointer *k) {
    Err e = {0};
    Session *s = NULL;
    bool made = false;
    if (session_new(k->db, &s, &e) == ST_OK) {
        made = checkpoint_with(k, s) == ST_OK;
        if (!made) err_copy(&e, &s->err);
        session_free(s);
    }
    if (!made) log_write(LOG_WARNING, "a checkpoint of \"%s\" was not made: %s", k->db->path, e.message);
    return made;
}
static void *make_checkpoints(void *arg) {
    enum { FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 60000 };
    Checkpointer *k = arg;
    int64_t pause_ms = 0, not_before = 0;
    mutex_lock(&k->mutex);
    while (!k->stop) {
        const int64_t now = clock_ns(), timed = checkpoint_began(k->db) + timeout_ns(k);
        const bool due = (atomic_load(&k->wanted) && is_due(k)) || (now >= timed && k->db->dirty);
        if (!due) atomic_store(&k->wanted, false);
        if (!due || now < not_before) {
            const int64_t until = due ? not_before : now >= timed ? now + timeout_ns(k) : timed;
            (void)cond_wait_until(&k->wake, &k->mutex, until);
            continue;
        }
        mutex_unlock(&k->mutex);
        atomic_store(&k->making, true);
        const bool made = make_checkpoint(k);
        atomic_store(&k->making, false);
        mutex_lock(&k->mutex);
        pause_ms = made ? 0 : MIN_OF(MAX_OF(pause_ms * 2, (int64_t)FIRST_PAUSE_MS), (int64_t)LONGEST_PAUSE_MS);
        not_before = clock_ns() + pause_ms * 1000000;
    }
    mutex_unlock(&k->mutex);
    return NULL;
}
static void checkpointer_free(Checkpointer *k) {
    mutex_lock(&k->mutex);
    k->stop = true;
    if (k->session) atomic_store(&k->session->cancel, true);
    pthread_cond_signal(&k->wake);
    mutex_unlock(&k->mutex);
    pthread_join(k->thread, NULL);
    pthread_cond_destroy(&k->wake);
    mutex_destroy(&k->mutex);
    mem_free(NULL, k, (int64_t)sizeof *k);
}
static const CheckpointerOps checkpointer_ops = {checkpointer_free};

Status checkpointer_start(Database *db, Err *e) {
    enum { TIMEOUT_MS = 300000 };
    Checkpointer *k = mem_calloc(NULL, (int64_t)sizeof *k, e);
    if (!k) return ST_ERROR;
    k->db = db;
    atomic_init(&k->max_log_size, INT64_MAX);
    atomic_init(&k->timeout_ms, TIMEOUT_MS);
    mutex_init(&k->mutex, RANK_UPKEEP);
    cond_init(&k->wake);
    sigset_t all, old; /* signals are the embedding program's business */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(&k->thread, NULL, make_checkpoints, k);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!failed) {
        db->checkpointer_ops = &checkpointer_ops;
        db->checkpointer = k;
        return ST_OK;
    }
    pthread_cond_destroy(&k->wake);
    mutex_destroy(&k->mutex);
    mem_free(NULL, k, (int64_t)sizeof *k);
    return err_set(e, ERR_SYSTEM, "no thread could be started that makes checkpoints");
}

static void keep_setting(_Atomic int64_t *kept, int64_t value) {
    if (atomic_load_explicit(kept, memory_order_relaxed) != value) atomic_store(kept, value);
}
void checkpointer_note(Session *s) {
    Checkpointer *k = s->db->checkpointer;
    if (!k) return;
    const int64_t before = atomic_load_explicit(&k->timeout_ms, memory_order_relaxed);
    keep_setting(&k->max_log_size, s->settings.txn.max_log_size);
    keep_setting(&k->timeout_ms, s->settings.txn.checkpoint_timeout_ms);
    keep_setting(&k->target_s, s->settings.txn.recovery_target_s);
    const bool due = !atomic_load(&k->wanted) && is_due(k);
    if (!due && before == s->settings.txn.checkpoint_timeout_ms) return;
    mutex_lock(&k->mutex);
    if (due) atomic_store(&k->wanted, true);
    pthread_cond_signal(&k->wake);
    mutex_unlock(&k->mutex);
}
void checkpointer_hold(Session *s) {
    enum { POLL_NS = 10000000 };
    const Checkpointer *k = s->db->checkpointer;
    while (k && atomic_load(&k->making) && !atomic_load(&s->cancel) && used_by_log(k) >= 1)
        checkpoint_wait(s->db, POLL_NS);
}
