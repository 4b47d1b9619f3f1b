/* read.c - what a statement that reads looks at: a published version (db/published.h), which needs no lock and never
 * waits, or the tables under the database lock, shared. See README.md, "Reading".
 */
#include "db/published.h"
#include "session/core/session.h"
#include "session/core/transaction.h"
#include "session/pool/bulk.h"

bool session_reads_version(const Session *s) { return s->read.version != NULL; }
const Catalog *session_catalog(const Session *s) {
    if (s->read.on_device) return s->read.on_device;
    const Catalog *own = s->read.of_txn && s->read.version ? transaction_catalog(s) : NULL;
    if (own) return own;
    return s->read.version ? &s->read.version->catalog : &s->db->catalog;
}

int64_t session_read_age_ns(const Session *s) {
    return s->settings.txn.snapshot_interval_ms > 0 ? s->read.since_ns - atomic_load(&s->read.version->fresh_ns) : 0;
}
uint64_t session_catalog_epoch(const Session *s) { return s->read.version->node.birth; }

/* A transaction reads a version as long as its own changes are not in the tables. */
static bool has_changes(const Session *s) {
    return (s->undo && !transaction_has_forks(s)) || s->catalog_undo || transaction_pinned(s);
}
bool session_may_read_images(const Session *s) {
    return s->state == 'I' || (s->state == 'T' && !has_changes(s) && transaction_sees_images(s));
}
/* A statement that was begun again needs the lock. */
static bool can_read_version(const Session *s) {
    return (s->state == 'I' || (s->state == 'T' && !has_changes(s))) && !s->bulk.under_way && !s->read.locked &&
           strcmp(s->settings.txn.snapshot, "lock") != 0;
}
static bool may_read_version(const Session *s) { return s->lock == LOCK_NONE && can_read_version(s); }
/* A session that is alone with the database waits for no other: publishing would only cost. */
bool session_always_publishes(const Session *s) { return strcmp(s->settings.txn.snapshot, "version") == 0; }
bool session_should_publish(const Session *s) {
    return atomic_load_explicit(&s->db->n_sessions, memory_order_relaxed) > 1 || session_always_publishes(s) ||
           s->read.streams;
}

/* A version that a boundary under way has just installed is protected by an open pin only. */
static void narrow(const Session *s) {
    if (epoch_now(s->db->epochs) >= s->read.version->node.birth) epoch_pin_narrow(s->read.slot);
}

/* The current version, pinned for the statement, or (block) for all that the transaction reads. */
static bool pin_current(Session *s, bool block) {
    const DatabaseVersion *v =
        database_read_begin(s->db, s->read.slot, block ? transaction_pin_label : "statement", s->read.since_ns);
    if (v && block && !transaction_read_version(s, v)) {
        database_read_end(s->db, s->read.slot);
        return false;
    }
    s->read.version = v;
    s->read.of_txn = v && block;
    if (s->read.of_txn) narrow(s);
    return v != NULL;
}

/* ---- versions that need not be current (snapshot_interval) ----
 * What the session has changed or seen under the lock is in them in any case (seen_ns), so that it never sees less than
 * before, and definitions are those of now. A transaction that begins with one reads nothing else; below REPEATABLE
 * READ each statement has its own. */
static bool may_be_older(const Session *s) {
    return s->settings.txn.snapshot_interval_ms > 0 && may_read_version(s) &&
           (s->state == 'I' || (s->read_only && (!s->txn || transaction_at_rest(s))));
}
static int64_t oldest_ns(const Session *s) {
    return MAX_OF(s->read.since_ns - s->settings.txn.snapshot_interval_ms * 1000000, s->read.seen_ns);
}
static bool pin_older(Session *s) {
    const bool block = s->state == 'T' && !session_sees_latest(s);
    const char *label = block ? transaction_older_label : "statement";
    const DatabaseVersion *v = database_read_older(s->db, s->read.slot, label, s->read.since_ns, oldest_ns(s));
    if (v && block && (s->txn || !transaction_read_older(s, v))) {
        database_read_end(s->db, s->read.slot);
        return false;
    }
    s->read.version = v;
    s->read.of_txn = v && block;
    if (s->read.of_txn) narrow(s);
    return v != NULL;
}

static bool pin_transaction(Session *s) {
    bool lost;
    s->read.version = transaction_version(s, &lost);
    s->read.of_txn = s->read.version != NULL;
    return s->read.version != NULL;
}
static bool pin(Session *s, bool definitions) {
    if (pin_transaction(s) || (!definitions && may_be_older(s) && pin_older(s))) return true;
    if (!definitions) return pin_current(s, s->state == 'T');
    s->read.version = database_definitions_begin(s->db, s->read.slot, "statement", s->read.since_ns);
    return s->read.version != NULL;
}

bool session_may_read_version(const Session *s) { return may_read_version(s); }
bool session_read_own(Session *s) {
    bool lost;
    return may_read_version(s) && transaction_version(s, &lost) && !lost && pin(s, false);
}

/* The tables show what is committed, and nothing else. */
static bool shows_committed(const Session *s) {
    return !session_bulk_unapplied(s) && transaction_shows_committed(s) && !s->catalog_undo;
}
static bool publish(Session *s, PublishCost *cost) {
    bool done = false;
    Err e = {0}; /* without memory the statement goes on under the lock */
    return shows_committed(s) && database_publish(s->db, &done, cost, &e) == ST_OK && done;
}

/* Waiting for the lock ends when a version is current: not when this one may be of no use to the transaction, since its
 * snapshot is older or there is no memory. */
static bool waits_for_version(const Session *s, int tries) {
    enum { TRIES = 4 };
    return s->state == 'I' || ((!s->txn || transaction_at_rest(s)) && tries < TRIES);
}
/* A version is read. */
static Status read_version(Session *s, bool brief) {
    session_note_seen(s);
    if (!brief || session_always_publishes(s)) transaction_queries(s);
    return ST_OK;
}
Status session_read(Session *s, bool brief) {
    if (s->read.version || s->read.on_device) return ST_OK;
    const bool older =
        transaction_reads_older(s) ? !s->read.locked && pin_transaction(s) : may_be_older(s) && pin_older(s);
    if (older) return session_note_seen(s), ST_OK;
    if (!brief) TRY(session_read_device(s));
    if (s->read.on_device) return ST_OK;
    bool version = may_read_version(s), lost;
    PublishCost cost;
    int tries = 0;
    (void)transaction_version(s, &lost);
    if (lost) return transaction_lost(s);
    do {
        if (version && pin(s, false)) return read_version(s, brief);
        s->read.waits = version && waits_for_version(s, tries++);
        Status st = session_lock(s, LOCK_SHARED);
        s->read.waits = false;
        if (st != ST_OK) return st;
    } while (s->lock == LOCK_NONE);
    if (brief && s->state == 'T' && session_always_publishes(s))
        brief = false; /* it is the transaction that may be long */
    if (!version || brief || !(session_should_publish(s) || session_device_keeps_copies(s)) || !publish(s, &cost))
        return ST_OK;
    bool pinned = pin(s, false); /* under the lock: it is current */
    if (pinned) session_unlock_keep_version(s);
    if (pinned) transaction_queries(s);
    s->read.published = pinned;
    s->read.cost = cost;
    return ST_OK;
}
bool session_read_beside(Session *s, int n, const int64_t *tables) {
    PublishCost ignored;
    const bool can = s->state == 'I' && !s->txn && can_read_version(s) && session_should_publish(s);
    if (!can || !publish(s, &ignored) || !pin_current(s, true)) return false;
    transaction_read_beside(s, n, tables);
    session_unlock_unchanged(s);
    return true;
}
bool session_read_enough(void *ctx) {
    const Session *s = ctx;
    return database_is_published(s->db, s->state == 'T') ||
           (may_be_older(s) && database_is_published_since(s->db, oldest_ns(s)));
}
Status session_read_definitions(Session *s, bool *held) {
    *held = s->lock != LOCK_NONE || s->read.version;
    if (s->read.version || (may_read_version(s) && pin(s, true))) return ST_OK;
    bool in_bulk = s->bulk.under_way;
    s->bulk.under_way = true;
    Status st = session_lock(s, LOCK_SHARED);
    s->bulk.under_way = in_bulk;
    return st;
}
void session_read_planned(const Session *s) {
    if (s->read.version) narrow(s);
}
void session_read_end(Session *s) {
    session_read_device_end(s);
    s->read.published = false;
    if (s->read.version && !s->read.of_txn) database_read_end(s->db, s->read.slot);
    s->read.version = NULL;
}
void session_read_anew(Session *s) {
    if (s->state == 'I') session_unlock(s);
    else if (s->lock == LOCK_SHARED && can_read_version(s)) session_unlock_unchanged(s);
}
bool session_read_outdated(const Session *s) {
    const DatabaseVersion *v = s->read.version;
    return v && s->read.of_txn && strncmp(s->err.sqlstate, "42", 2) == 0 &&
           v->catalog.version != atomic_load(&s->db->committed_definitions);
}
Status session_read_locked(Session *s) {
    if (!s->read.version && !s->read.on_device) return ST_OK;
    s->read.again = true;
    return err_internal(&s->err, "the statement needs the database lock");
}

/* Before the session, which has just taken the lock alone, changes anything: others will not have to wait for it. */
void session_publish_before_write(Session *s) {
    PublishCost ignored;
    if (!s->bulk.under_way && !s->read.brief && session_should_publish(s)) (void)publish(s, &ignored);
}
bool session_publish(Session *s) {
    PublishCost ignored;
    return session_should_publish(s) && publish(s, &ignored);
}
