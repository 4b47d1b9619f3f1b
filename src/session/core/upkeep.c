/* upkeep.c - see upkeep.h. */
#include "base/cond.h"
#include "base/log.h"
#include "session/core/idle.h"
#include "session/core/upkeep.h"
#include "types/func.h"

#include <signal.h>

struct Upkeep {
    Database *db;
    Mutex mutex;
    pthread_cond_t wake;
    pthread_t thread;
    _Atomic bool stop, pending; /* change under the mutex */
    int64_t delay_ns;           /* likewise; of the session that has changed something last */
};

/* Less is not worth reading the rest of the table. */
static bool is_loose(const Table *t) {
    enum { LEAST = 4096, PART = 32 };
    const int64_t loose = table_loose_rows(t);
    return loose >= LEAST && loose >= t->live_rows / PART && !table_has_undo(t);
}
typedef VEC(char *) NameList;
static Status loose_tables(Session *s, Arena *a, NameList *names) {
    TRY(session_lock(s, LOCK_SHARED));
    Status st = ST_OK;
    for (int64_t i = 0; i < s->db->catalog.n_tables && st == ST_OK; i++) {
        const Table *t = s->db->catalog.tables[i];
        if (!is_loose(t)) continue;
        char *name = arena_alloc(a, 2 * (int64_t)strlen(t->name) + 3);
        if (name) (void)name_put_quoted(t->name, name);
        st = name && vec_push(a, names, name) ? ST_OK : ST_ERROR;
    }
    session_unlock(s);
    return st;
}
static Status pack_table(Session *s, Arena *a, const char *name) {
    const char *sql = arena_printf(a, "VACUUM %s", name);
    Statement *st = NULL;
    int64_t used;
    if (!sql || statement_prepare(s, slice_of(sql), &st, &used) != ST_OK) return ST_ERROR;
    Status done = statement_run(st);
    statement_free(st);
    return done;
}
/* What is only kept in case it is wanted again. */
static Status give_back(Session *s) {
    err_clear(&s->err);
    TRY(session_enter(s));
    Status st = session_lock(s, LOCK_EXCLUSIVE);
    if (st == ST_OK) {
        st = session_give_back_spare(s);
        session_unlock_unchanged(s);
    }
    session_leave(s);
    return st;
}
/* False: others had the lock, or wanted it. A table that cannot be packed is left as it is. */
static bool pack_tables(Upkeep *u) {
    enum { LOCK_MS = 10 };
    Err e = {0};
    Session *s = NULL;
    if (session_new(u->db, &s, &e) != ST_OK) return false;
    s->settings.txn.merge_delay_ms = 0; /* its own changes are none */
    s->settings.txn.lock_timeout_ms = LOCK_MS;
    Arena *a = arena_new(&s->account, &e);
    NameList names = {0};
    bool done = a && session_enter(s) == ST_OK;
    if (done) {
        done = loose_tables(s, a, &names) == ST_OK;
        session_leave(s);
    }
    for (int64_t i = 0; i < names.len && done; i++) {
        done = !atomic_load(&u->stop) && txn_lock_waiters(u->db->txn_lock) == 0;
        if (!done || pack_table(s, a, names.items[i]) == ST_OK) continue;
        done = strcmp(s->err.sqlstate, ERR_LOCK_NOT_AVAILABLE) != 0;
        if (done) log_write(LOG_INFO, "table %s was not packed: %s", names.items[i], s->err.message);
    }
    if (done && txn_lock_waiters(u->db->txn_lock) == 0) (void)give_back(s);
    arena_free(a);
    session_free(s);
    return done;
}

static void *upkeep(void *arg) {
    Upkeep *u = arg;
    uint64_t changes = 0;
    int64_t since = 0;
    mutex_lock(&u->mutex);
    while (!atomic_load(&u->stop)) {
        if (!atomic_load(&u->pending)) {
            cond_wait(&u->wake, &u->mutex);
            continue;
        }
        const uint64_t n = txn_lock_changes(u->db->txn_lock);
        const int64_t now = clock_ns();
        if (n != changes) since = now;
        changes = n;
        if (now - since < u->delay_ns) {
            (void)cond_wait_until(&u->wake, &u->mutex, since + u->delay_ns);
            continue;
        }
        atomic_store(&u->pending, false);
        mutex_unlock(&u->mutex);
        const bool done = pack_tables(u);
        mutex_lock(&u->mutex);
        if (!done) atomic_store(&u->pending, true);
        since = clock_ns();
        changes = txn_lock_changes(u->db->txn_lock);
    }
    mutex_unlock(&u->mutex);
    return NULL;
}

static void upkeep_free(Upkeep *u) {
    mutex_lock(&u->mutex);
    atomic_store(&u->stop, true);
    pthread_cond_signal(&u->wake);
    mutex_unlock(&u->mutex);
    pthread_join(u->thread, NULL);
    pthread_cond_destroy(&u->wake);
    mutex_destroy(&u->mutex);
    mem_free(NULL, u, (int64_t)sizeof *u);
}
static const UpkeepOps upkeep_ops = {upkeep_free};

Status upkeep_start(Database *db, Err *e) {
    Upkeep *u = mem_calloc(NULL, (int64_t)sizeof *u, e);
    if (!u) return ST_ERROR;
    u->db = db;
    mutex_init(&u->mutex, RANK_UPKEEP);
    cond_init(&u->wake);
    sigset_t all, old; /* signals are the embedding program's business */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    const int failed = pthread_create(&u->thread, NULL, upkeep, u);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!failed) {
        db->upkeep_ops = &upkeep_ops;
        db->upkeep = u;
        return ST_OK;
    }
    log_write(LOG_WARNING, "no thread could be started that packs tables");
    pthread_cond_destroy(&u->wake);
    mutex_destroy(&u->mutex);
    mem_free(NULL, u, (int64_t)sizeof *u);
    return ST_OK;
}

void upkeep_note(Session *s) {
    Upkeep *u = s->db->upkeep;
    const int64_t delay_ms = s->settings.txn.merge_delay_ms;
    if (!u || delay_ms == 0 || !s->settings.txn.merge_auto) return;
    if (atomic_load_explicit(&u->pending, memory_order_relaxed)) return;
    mutex_lock(&u->mutex);
    u->delay_ns = delay_ms * 1000000;
    atomic_store(&u->pending, true);
    pthread_cond_signal(&u->wake);
    mutex_unlock(&u->mutex);
}
