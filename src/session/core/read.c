/* read.c - what a statement that reads looks at: a published version (db/published.h), which needs no lock and never
 * waits, or the tables under the database lock, shared. See README.md, "Reading".
 */
#include "db/published.h"
#include "session/core/session.h"
#include "session/core/transaction.h"
#include "session/pool/bulk.h"

bool session_reads_version(const Session *s) { return s->read.version != NULL; }
const Catalog *session_catalog(const Session *s) {
    return s->read.version ? &s->read.version->catalog : &s->db->catalog;
}

uint64_t session_catalog_epoch(const Session *s) { return s->read.version->node.birth; }

/* Inside a transaction statements see its own snapshot and changes, which are shown in the tables; a statement that was
 * begun again needs the lock; and what devices keep of columns is of the tables (exec/device/residency.c). */
static bool may_read_version(const Session *s) {
    return s->state == 'I' && s->lock == LOCK_NONE && !s->in_bulk && !s->read.locked && !session_may_use_device(s) &&
           strcmp(s->settings.txn.snapshot, "lock") != 0;
}
/* A session that is alone with the database waits for no other: publishing would only cost. */
static bool should_publish(const Session *s) {
    return atomic_load_explicit(&s->db->n_sessions, memory_order_relaxed) > 1 ||
           strcmp(s->settings.txn.snapshot, "version") == 0;
}

static bool pin(Session *s, bool definitions) {
    s->read.version = definitions ? database_definitions_begin(s->db, s->read.slot, "statement", s->read.since_ns)
                                  : database_read_begin(s->db, s->read.slot, "statement", s->read.since_ns);
    return s->read.version != NULL;
}

/* The tables show what is committed, and nothing else. */
static bool shows_committed(const Session *s) {
    return !session_bulk_unapplied(s) && transaction_shows_committed(s) && !s->catalog_undo;
}
static bool publish(Session *s) {
    bool done = false;
    Err e = {0}; /* without memory the statement goes on under the lock */
    return shows_committed(s) && database_publish(s->db, &done, &e) == ST_OK && done;
}

Status session_read(Session *s, bool brief) {
    if (s->read.version) return ST_OK;
    bool version = may_read_version(s);
    do {
        if (version && pin(s, false)) return ST_OK;
        s->read.waits = version;
        Status st = session_lock(s, LOCK_SHARED);
        s->read.waits = false;
        if (st != ST_OK) return st;
    } while (s->lock == LOCK_NONE);
    if (!version || brief || !should_publish(s) || !publish(s)) return ST_OK;
    bool pinned = pin(s, false); /* under the lock: it is current */
    if (pinned) session_unlock_keep_version(s);
    return ST_OK;
}
bool session_read_enough(void *s) { return database_is_published(((Session *)s)->db); }
Status session_read_definitions(Session *s, bool *held) {
    *held = s->lock != LOCK_NONE || s->read.version;
    if (s->read.version || (may_read_version(s) && pin(s, true))) return ST_OK;
    bool in_bulk = s->in_bulk;
    s->in_bulk = true;
    Status st = session_lock(s, LOCK_SHARED);
    s->in_bulk = in_bulk;
    return st;
}
void session_read_planned(const Session *s) {
    if (s->read.version) epoch_pin_narrow(s->read.slot);
}
void session_read_end(Session *s) {
    if (!s->read.version) return;
    s->read.version = NULL;
    database_read_end(s->db, s->read.slot);
}
Status session_read_locked(Session *s) {
    if (!s->read.version) return ST_OK;
    s->read.again = true;
    return err_internal(&s->err, "the statement needs the database lock");
}

/* Before the session, which has just taken the lock alone, changes anything: others will not have to wait for it. */
void session_publish_before_write(Session *s) {
    if (!s->in_bulk && !s->read.brief && should_publish(s)) (void)publish(s);
}
bool session_publish(Session *s) { return should_publish(s) && publish(s); }
