/* transaction.c - the view, snapshots and commits. See transaction.h. */
#include "base/mutex.h"
#include "db/published.h"
#include "session/core/idle.h"
#include "session/core/result_stream.h"
#include "session/core/transaction_int.h"
#include "session/pool/bulk.h"
#include "storage/pieces.h"
#include "storage/undo_rows.h"

enum {
    MERGE_BYTES = 16 << 20 /* versions up to here are copied behind an older one */,
    COMPACT_RECORDS = 64 /* logs that are longer may change the same cells often */,
    WRITES_LOOKED_AT = 256 /* changes up to here are compared with commits at once */,
    PRUNE_BYTES = 1 << 20 /* beyond that, not left to the next statement that writes */,
    SNAPSHOTS_MAX = 64 /* with more of them at once versions are not merged */
};

const char transaction_pin_label[] = "transaction", transaction_older_label[] = "transaction, older version";

TxnHub *transaction_hub(const Session *s) { return txn_lock_hub(s->db->txn_lock); }

Status serialization_failure(Session *s, const char *why) {
    err_clear(&s->err);
    err_set(&s->err, ERR_SERIALIZATION_FAILURE,
            "could not serialize access due to read/write dependencies among transactions");
    err_detail(&s->err, "%s", why);
    err_hint(&s->err, "The transaction might succeed if retried.");
    return ST_ERROR;
}
static Status concurrent_update(Session *s) {
    err_clear(&s->err);
    err_set(&s->err, ERR_SERIALIZATION_FAILURE, "could not serialize access due to concurrent update");
    err_hint(&s->err, "The transaction might succeed if retried.");
    return ST_ERROR;
}

/* ---- the list ------------------------------------------------------------------------------------ */
static void free_txn(Txn *x) {
    arena_free(x->arena);
    undo_free(x->undo);
    mem_free(NULL, x, (int64_t)sizeof *x);
}
static void unlink_txn(Txn *x) {
    *x->link = x->next;
    if (x->next) x->next->link = x->link;
}

/* Not in the list yet. */
static Txn *new_txn(Session *s, Err *e) {
    Txn *x = mem_calloc(NULL, (int64_t)sizeof *x, e);
    if (!x) return NULL;
    if (!(x->arena = arena_new(&s->db->parts[DB_UNDO], e))) {
        mem_free(NULL, x, (int64_t)sizeof *x);
        return NULL;
    }
    arena_set_err(x->arena, NULL);
    x->session = s;
    x->sees_latest = session_sees_latest(s);
    return x;
}
/* With the mutex. What it sees is all commits up to now. */
static void link_txn(TxnHub *h, Txn *x) {
    x->ts = atomic_load(&h->now);
    x->since_ns = clock_ns();
    x->id = ++h->last_txn;
    x->next = h->open;
    x->link = &h->open;
    if (x->next) x->next->link = &x->next;
    h->open = x;
}

static Status begin(Session *s) {
    TxnHub *h = transaction_hub(s);
    Txn *x = new_txn(s, &s->err);
    if (!x) return ST_ERROR;
    atomic_init(&x->images, session_bulk_unapplied(s));
    mutex_lock(&h->mutex);
    link_txn(h, x);
    mutex_unlock(&h->mutex);
    s->txn = x;
    return ST_OK;
}

/* It takes a snapshot again: of now, which does not change meanwhile. With the mutex. */
static void wake(const TxnHub *h, Txn *x) {
    x->ts = atomic_load(&h->now);
    atomic_store(&x->images, session_bulk_unapplied(x->session));
    x->at_rest = false;
}
/* At READ COMMITTED a transaction that has changed nothing needs no snapshot between its statements. */
static void rest(Session *s) {
    TxnHub *h = transaction_hub(s);
    Txn *x = s->txn;
    if (!x || !x->sees_latest || x->changed || transaction_pinned(s)) return;
    transaction_leave_version(s);
    if (x->reads.len > 0) return; /* those that are kept */
    mutex_lock(&h->mutex);
    x->at_rest = true;
    x->lost = false;
    atomic_store(&x->images, false);
    mutex_unlock(&h->mutex);
    if (atomic_load(&h->kept_bytes) > 0) atomic_store(&h->unsettled, true);
}
bool transaction_at_rest(const Session *s) { return s->txn && s->txn->at_rest; }

/* A commit whose lock is not given up yet may not be in the version, although this is still current: then `commits`
 * differs. If it is the same, all commits to come will find the transaction in the list and keep their logs. */
bool transaction_read_version(Session *s, const DatabaseVersion *v) {
    TxnHub *h = transaction_hub(s);
    Err e = {0};
    Txn *x = s->txn ? s->txn : new_txn(s, &e);
    if (!x) return false;
    mutex_lock(&h->mutex);
    bool same = atomic_load(&h->commits) == atomic_load(&v->commits) &&
                (!s->txn || x->at_rest || x->ts == atomic_load(&h->now));
    if (same && !s->txn) link_txn(h, x);
    if (same && x->at_rest) wake(h, x);
    if (same) x->version = v;
    mutex_unlock(&h->mutex);
    if (same) s->txn = x;
    else if (!s->txn) free_txn(x);
    return same;
}
bool transaction_read_older(Session *s, const DatabaseVersion *v) {
    TxnHub *h = transaction_hub(s);
    Err e = {0};
    Txn *x = new_txn(s, &e);
    if (!x) return false;
    x->at_rest = x->older = true;
    x->version = v;
    mutex_lock(&h->mutex);
    link_txn(h, x);
    mutex_unlock(&h->mutex);
    s->txn = x;
    return true;
}
bool transaction_reads_older(const Session *s) { return s->txn && s->txn->older; }
static Status refuse_lock(Session *s) {
    err_set(&s->err, ERR_NOT_IN_STATE,
            "the transaction reads an older version of the tables, which the statement cannot read");
    err_hint(&s->err, "Set snapshot_interval to 0 before the transaction begins.");
    return ST_ERROR;
}
const DatabaseVersion *transaction_version(const Session *s, bool *lost) {
    *lost = s->txn && atomic_load(&s->txn->lost);
    return s->txn ? s->txn->version : NULL;
}
void transaction_leave_version(Session *s) {
    if (!s->txn || !s->txn->version || s->txn->forks) return;
    s->txn->version = NULL;
    database_read_end(s->db, s->read.slot);
}
Status transaction_lost(Session *s) {
    err_set(&s->err, ERR_SNAPSHOT_TOO_OLD, "snapshot too old");
    err_detail(&s->err,
               "Others have changed so much since the transaction's first statement that it is not kept any more.");
    err_hint(&s->err, "Raise snapshot_memory_limit, or make the transaction shorter.");
    return ST_ERROR;
}

int64_t transactions_list(const Session *s, TxnInfo *out, int64_t most) {
    TxnHub *h = transaction_hub(s);
    int64_t n = 0, oldest = INT64_MAX;
    mutex_lock(&h->mutex);
    for (const Txn *x = h->open; x; x = x->next)
        if (x->session && !x->lost && !x->at_rest) oldest = MIN_OF(oldest, x->ts);
    for (const Txn *x = h->open; x; x = x->next) {
        if (!x->session) continue;
        int64_t held = !x->lost && !x->at_rest && x->ts == oldest ? atomic_load(&h->kept_bytes) : -1;
        if (n < most) out[n] = (TxnInfo){x->session->read.slot->session, x->ts, x->since_ns, held, x->lost};
        n++;
    }
    mutex_unlock(&h->mutex);
    return n;
}

/* ---- versions -------------------------------------------------------------------------------------- */
static void unlook(Version *v) {
    arena_free(v->look);
    v->look = NULL;
    v->n_net = 0;
}
static void free_version(TxnHub *h, Version *v) {
    if (v->before) v->before->next = v->next;
    else h->oldest = v->next;
    if (v->next) v->next->before = v->before;
    else h->newest = v->before;
    atomic_fetch_sub(&h->kept_bytes, v->bytes);
    unlook(v);
    undo_free(v->log);
    arena_free(v->arena);
    mem_free(NULL, v, (int64_t)sizeof *v);
}
/* The next version goes into this one, when there is memory for it. */
static bool merge_next(TxnHub *h, Version *v) {
    Version *n = v->next;
    int64_t had = v->events.len;
    for (int64_t i = 0; i < n->events.len; i++)
        if (!vec_push(v->arena, &v->events, n->events.items[i])) {
            v->events.len = had;
            return false;
        }
    Err e = {0};
    int64_t bytes = 0;
    if (undo_move(n->log, v->log, n->ts <= atomic_load(&h->view), &bytes, &e) != ST_OK) {
        v->events.len = had;
        return false;
    }
    unlook(v);
    v->ts = n->ts;
    v->bytes += bytes;
    atomic_fetch_add(&h->kept_bytes, bytes);
    free_version(h, n);
    return true;
}

/* The tables become what they were at ts. No transaction's own changes are in them; the lock is held alone. */
static void move_view(TxnHub *h, int64_t ts) {
    int64_t view = atomic_load(&h->view);
    for (Version *v = h->newest; v && v->ts > ts; v = v->before)
        if (v->ts <= view) undo_hide(v->log);
    for (Version *v = h->oldest; v && v->ts <= ts; v = v->next)
        if (v->ts > view) undo_show(v->log, false);
    atomic_store(&h->view, ts);
}

/* Frees what is not needed any more: changes that were rolled back while they were hidden, versions behind all
 * snapshots. The lock is held alone. */
static void prune(TxnHub *h) {
    if (!atomic_exchange(&h->unsettled, false)) return;
    int64_t view = atomic_load(&h->view), oldest = view, ts[SNAPSHOTS_MAX], n = 0;
    Txn *gone = NULL;
    mutex_lock(&h->mutex);
    for (Txn *x = h->open, *next; x; x = next) {
        next = x->next;
        if (!x->session && x != atomic_load(&h->resident)) {
            unlink_txn(x);
            x->next = gone;
            gone = x;
        } else if (x->session && !x->lost && !x->at_rest) {
            oldest = MIN_OF(oldest, x->ts);
            if (n < SNAPSHOTS_MAX) ts[n] = x->ts;
            n++;
        }
    }
    mutex_unlock(&h->mutex);
    for (Txn *next; gone; gone = next) {
        next = gone->next;
        undo_abandon(gone->undo);
        free_txn(gone);
    }
    while (h->oldest && h->oldest->ts <= oldest) free_version(h, h->oldest);
    for (Version *v = h->oldest; v && n <= SNAPSHOTS_MAX;) {
        bool seen = v->ts == view;
        for (int64_t i = 0; i < n && !seen; i++) seen = ts[i] == v->ts;
        if (seen || !v->next || v->next->bytes > MERGE_BYTES || !merge_next(h, v)) v = v->next;
    }
}

static void lose(Txn *x) {
    x->lost = true;
    epoch_pin_label(x->session->read.slot, "given up");
}
/* What a snapshot needs of kept commits is nothing. */
static bool may_give_up(const Txn *x, const Txn *but) {
    return x->session && x != but && !x->lost && !x->at_rest && !atomic_load(&x->images);
}
/* All that it has changed is deferred, and it has read nothing that a commit may change: not before COMMIT, and then on
 * what is committed by then, are its changes made. Others add to the rows to which it adds. Those that it has read it
 * holds, so that only a commit that did not look for holders changes them. The commit, which changes no definitions,
 * holds the lock alone. */
static bool is_indifferent(const Txn *x, bool looked) {
    return x->sees_latest && x->defers && x->reads.len == 0 && (looked || !x->has_read);
}
/* The oldest snapshots are given up, all of them when `all`; not the one of `but`. false: there are none. */
static bool give_up(TxnHub *h, bool all, const Txn *but) {
    int64_t ts = INT64_MAX;
    mutex_lock(&h->mutex);
    for (const Txn *x = h->open; x; x = x->next)
        if (may_give_up(x, but)) ts = MIN_OF(ts, x->ts);
    for (Txn *x = h->open; x; x = x->next)
        if (may_give_up(x, but) && (all || x->ts == ts)) lose(x);
    mutex_unlock(&h->mutex);
    return ts != INT64_MAX;
}
/* The pins of those end whose sessions are outside of calls; the others' with their statements. */
static void unpin_lost(const Session *s) {
    TxnHub *h = transaction_hub(s);
    bool some = false;
    mutex_lock(&h->mutex);
    for (Txn *x = h->open; x; x = x->next) {
        SessionIdle *i = x->session ? &x->session->idle : NULL;
        if (!i || !x->lost || !atomic_load(&i->outside) || !mutex_try(&i->call)) continue;
        if (atomic_load(&i->outside) && x->version && !x->forks) {
            x->version = NULL;
            (void)epoch_unpin(x->session->read.slot);
            some = true;
        }
        mutex_unlock(&i->call);
    }
    mutex_unlock(&h->mutex);
    while (some && epoch_reclaim(s->db->epochs, EPOCH_BATCH)) {}
}
/* What old snapshots cost: kept logs, and what waits for pins. */
static int64_t snapshot_bytes(const Session *s) {
    return atomic_load(&transaction_hub(s)->kept_bytes) + epoch_held_bytes(s->db->epochs, transaction_pin_label);
}
static int64_t limit_of(const Session *s) {
    int64_t limit = s->settings.txn.snapshot_memory_limit, all = atomic_load(&s->db->account.limit);
    return limit > 0 ? limit : all > 0 ? all / 4 : INT64_MAX;
}

/* The log without what its later records say again. */
static UndoLog *compact(Session *s, UndoLog *u) {
    Err e = {0};
    int64_t bytes;
    UndoLog *c = undo_mark(u) > COMPACT_RECORDS ? undo_new(&s->db->parts[DB_UNDO], &e) : NULL;
    if (!c || undo_move(u, c, true, &bytes, &e) != ST_OK) {
        undo_free(c);
        return u;
    }
    undo_free(u);
    return c;
}

/* Keeps a commit for those whose snapshots are older: all open transactions but one. The view is that of now. false:
 * there are none, or there is no memory and they have lost theirs. */
static bool keep(Session *s, UndoLog *u, int64_t n, const TableEvent *events, const Txn *but) {
    TxnHub *h = transaction_hub(s);
    bool needed = false, goes_back = false;
    sessions_end_idle(h);
    result_streams_give_up(s, limit_of(s));
    mutex_lock(&h->mutex);
    atomic_fetch_add(&h->commits, 1);
    for (const Txn *x = h->open; x; x = x->next) {
        const bool may = may_give_up(x, but);
        needed |= may && (n != 0 || !is_indifferent(x, s->block.looked));
        goes_back |= may && !x->sees_latest && !x->beside; /* to the tables as they were */
    }
    mutex_unlock(&h->mutex);
    if (!needed) return false;
    Version *v = mem_calloc(NULL, (int64_t)sizeof *v, NULL);
    bool ok = v && n >= 0 && (v->arena = arena_new(&s->db->parts[DB_UNDO], NULL)) && undo_reserve(u, 0, NULL) == ST_OK;
    ok = ok && (!goes_back || undo_unpack_pieces(u, NULL) == ST_OK);
    for (int64_t i = 0; ok && i < n; i++) ok = vec_push(v->arena, &v->events, events[i]);
    if (!ok) {
        if (v) arena_free(v->arena);
        if (v) mem_free(NULL, v, (int64_t)sizeof *v);
        (void)give_up(h, true, but);
        unpin_lost(s);
        return false;
    }
    undo_settle_adds(u);
    v->log = u = compact(s, u);
    undo_set_committed(u, true);
    v->bytes = (int64_t)sizeof *v + undo_bytes(u);
    v->ts = atomic_fetch_add(&h->now, 1) + 1;
    atomic_store(&h->view, v->ts);
    v->before = h->newest;
    if (v->before) v->before->next = v;
    else h->oldest = v;
    h->newest = v;
    atomic_fetch_add(&h->kept_bytes, v->bytes);
    atomic_store(&h->unsettled, true);
    while (snapshot_bytes(s) > limit_of(s) && give_up(h, false, but)) {
        atomic_store(&h->unsettled, true);
        prune(h);
        unpin_lost(s);
    }
    return true;
}

static bool has_deferred(const Txn *x, const Table *t) {
    bool some = false;
    for (int64_t i = 0; i < x->rows.len; i++) some |= x->rows.items[i].table == t;
    return some;
}
void transactions_outdate_changes(Session *s, const Table *t) {
    TxnHub *h = transaction_hub(s);
    mutex_lock(&h->mutex);
    for (Txn *x = h->open; x; x = x->next) {
        const UndoLog *u = x->session ? x->session->undo : NULL; /* a fork's is there behind `forked` */
        if (atomic_load(&x->forked)) u = NULL;
        if (x != s->txn && (has_deferred(x, t) || (u && undo_names_table(u, t)))) x->broken = true;
    }
    mutex_unlock(&h->mutex);
}
void transactions_forget_table(Session *s, const Table *t) {
    TxnHub *h = transaction_hub(s);
    for (Version *v = h->oldest; v; v = v->next) {
        unlook(v);
        undo_drop_table(v->log, t);
    }
    mutex_lock(&h->mutex);
    for (Txn *x = h->open; x; x = x->next) {
        if (has_deferred(x, t)) x->broken = true;
        UndoLog *u = x->session ? x->session->undo : x->undo;
        if (atomic_load(&x->forked) || !u || !undo_names_table(u, t)) continue;
        undo_drop_table(u, t);
        x->broken = true;
    }
    mutex_unlock(&h->mutex);
}

/* ---- the view ---------------------------------------------------------------------------------------- */
static bool is_in_place(const Session *s) {
    return s->txn && s->undo && undo_mark(s->undo) > 0 && !atomic_load(&s->txn->out);
}

/* The commit up to which the session is to see all of them. */
static int64_t target_of(const Session *s) {
    const Txn *x = s->txn;
    return x && !s->block.latest && !x->sees_latest ? x->ts : atomic_load(&transaction_hub(s)->now);
}
/* The statement looks at what is committed, and at its transaction's deferred changes beside the tables. */
static bool looks_beside(const Session *s) { return s->block.defers && s->txn && s->txn->defers && !s->txn->broken; }
/* The view is the one that the session is to see. Without the lock: it may be another one soon. */
static bool fits(const Session *s) {
    TxnHub *h = transaction_hub(s);
    const Txn *x = s->txn, *r = atomic_load(&h->resident);
    const int64_t target = target_of(s);
    if (r && r != x) return false;
    if (x && x->broken && s->block.latest) return false; /* COMMIT says so, also where nothing was committed since */
    if (x && !looks_beside(s) && (atomic_load(&x->out) || (!x->at_rest && x->ts != target))) return false;
    return atomic_load(&h->view) == target;
}

bool transaction_shows_committed(const Session *s) {
    TxnHub *h = transaction_hub(s);
    if (s->undo && undo_mark(s->undo) > 0 && !transaction_hidden(s)) return false;
    return !atomic_load(&h->resident) && atomic_load(&h->view) == atomic_load(&h->now);
}

/* The resident's changes leave the tables. */
static void evict(TxnHub *h) {
    mutex_lock(&h->mutex); /* its session may be rolling it back */
    Txn *x = atomic_load(&h->resident);
    atomic_store(&h->resident, NULL);
    if (x && !x->session) {
        undo_rollback(x->undo, 0);
        unlink_txn(x);
        free_txn(x);
    } else if (x) {
        undo_hide(x->session->undo);
        atomic_store(&x->out, true);
    }
    mutex_unlock(&h->mutex);
}

static Status reserve(Session *s, Err *e) {
    Txn *x = s->txn;
    TRY(undo_reserve(s->undo, x->reserved, e));
    x->reserved = undo_mark(s->undo);
    return ST_OK;
}

/* Its own changes are hidden and all commits shown. */
static Status validate(Session *s) {
    if (s->txn->reads.len == 0 && !s->txn->broken && (!s->undo || undo_mark(s->undo) == 0)) return ST_OK;
    Arena *a = arena_new(&s->db->account, &s->err);
    int64_t n = 0;
    NetChange *own = NULL;
    if (!a) return ST_ERROR;
    Status st = s->undo ? undo_net(s->undo, a, &n, &own) : ST_OK;
    const char *why = st == ST_OK ? transaction_conflict(s, n, own) : NULL;
    if (why) st = serialization_failure(s, why);
    arena_free(a);
    return st;
}

/* The lock is held alone. */
static Status change_view(Session *s) {
    TxnHub *h = transaction_hub(s);
    Txn *x = s->txn, *r = atomic_load(&h->resident);
    int64_t target = target_of(s);
    const bool beside = looks_beside(s);
    const bool broken = x && x->broken && s->block.latest;
    const bool moved = x && !beside && (target != x->ts || broken);
    if (r && r != x) evict(h);
    if (is_in_place(s) && (target != atomic_load(&h->view) || broken)) {
        TRY(reserve(s, &s->err));
        undo_hide(s->undo);
        atomic_store(&x->out, true);
        atomic_store(&h->resident, NULL);
    }
    move_view(h, target);
    if (moved) {
        TRY(validate(s));
        x->ts = target;
        atomic_store(&h->unsettled, true);
    }
    if (!x || !atomic_load(&x->out) || beside) return ST_OK;
    if (x->forks) {
        TRY(transaction_apply_forks(s));
        atomic_store(&x->out, false);
        atomic_store(&h->resident, x);
        return ST_OK;
    }
    const bool deferred = x->defers; /* it has never been shown */
    bool gone = false;
    if (deferred) TRY(undo_reserve_deferred(s->undo, &gone, &s->err));
    if (gone) return serialization_failure(s, "A row to which it adds was deleted meanwhile.");
    undo_show(s->undo, moved || deferred);
    if (moved && undo_check_keys(s->undo, &s->err) != ST_OK) {
        undo_hide(s->undo);
        return serialization_failure(
            s, "A row that a concurrent transaction committed has a key of this transaction's rows.");
    }
    if ((moved || deferred) && undo_check_adds(s->undo, &s->err) != ST_OK) {
        undo_hide(s->undo);
        return ST_ERROR;
    }
    atomic_store(&x->out, false);
    atomic_store(&h->resident, x);
    x->defers = false;
    return transaction_apply_rows(s);
}

LockMode transaction_lock_mode(const Session *s, LockMode mode, bool definitions) {
    TxnHub *h = transaction_hub(s);
    if (mode == LOCK_SHARED && definitions) return mode;
    return fits(s) && !(atomic_load(&h->unsettled) && atomic_load(&h->kept_bytes) > PRUNE_BYTES) ? mode
                                                                                                 : LOCK_EXCLUSIVE;
}

/* What it has seen of bulks was on a device, and could not be made again when that was lost. */
static Status lost_with_device(Session *s) {
    err_set(&s->err, ERR_SYSTEM, "what bulks had left on a device was lost, which the transaction has seen");
    err_hint(&s->err, "Begin the transaction again.");
    return ST_ERROR;
}
Status transaction_enter(Session *s, bool definitions, bool *again) {
    *again = false;
    if (definitions && s->lock == LOCK_SHARED) return ST_OK;
    if (transaction_reads_older(s)) return refuse_lock(s);
    if (transaction_at_rest(s)) {
        TxnHub *h = transaction_hub(s);
        mutex_lock(&h->mutex);
        wake(h, s->txn);
        mutex_unlock(&h->mutex);
    }
    if (s->txn && s->txn->lost) return transaction_lost(s);
    if (s->txn && atomic_load(&s->txn->images) && !session_bulk_unapplied(s)) return lost_with_device(s);
    if (s->block.defers) transaction_follow(s);
    if (!fits(s)) {
        *again = s->lock == LOCK_SHARED;
        if (*again) return ST_OK;
        TRY(change_view(s));
    }
    if (s->lock == LOCK_EXCLUSIVE) prune(transaction_hub(s));
    return s->state == 'T' && !s->txn ? begin(s) : ST_OK;
}

void transaction_pin(Session *s, bool yes) {
    if (s->txn) s->txn->pinned = yes;
}
bool transaction_hidden(const Session *s) { return s->txn && atomic_load(&s->txn->out); }
bool transaction_pinned(const Session *s) { return s->txn && (s->txn->pinned || s->catalog_undo); }

bool transaction_changed(const Session *s) { return s->txn && s->txn->changed; }

/* Rows that it has just changed, by records from number `from` on, were changed by others after its snapshot. */
static bool lost_update(Session *s, int64_t from) {
    const TxnHub *h = transaction_hub(s);
    if (s->txn->sees_latest) return false; /* its rows are held */
    int64_t n, rows = undo_mark(s->undo) > from && s->txn->ts < atomic_load(&h->now) ? undo_rows(s->undo) : 0;
    NetChange *own;
    if (rows == 0 || rows > WRITES_LOOKED_AT) return false; /* COMMIT will tell */
    Arena *a = arena_new(&s->db->account, NULL);
    bool yes = a && undo_net(s->undo, a, &n, &own) == ST_OK && transaction_writes_conflict(h, s->txn, n, own);
    arena_free(a);
    return yes;
}

/* What it has changed by now. */
static void take_stock(Session *s) {
    Txn *x = s->txn;
    if (!x) return;
    TxnHub *h = transaction_hub(s);
    x->changed = (s->undo && undo_mark(s->undo) > 0) || x->rows.len > 0;
    transaction_count_held(s);
    if (x->holds != (x->changed && x->sees_latest)) {
        mutex_lock(&h->mutex);
        transaction_set_holds(h, x, !x->holds);
        mutex_unlock(&h->mutex);
    }
    x->reserved = x->changed ? MIN_OF(x->reserved, undo_mark(s->undo)) : 0; /* ROLLBACK TO */
}
static bool enough(void *ignored) {
    (void)ignored;
    return true;
}
/* With forks there is no lock. It is taken to look at commits where it is free; else COMMIT will tell. */
static Status pause_forks(Session *s) {
    Txn *x = s->txn;
    const LockWait w = {.enough = enough};
    const int64_t from = x->forks_looked;
    bool got;
    x->changed = undo_mark(s->undo) > 0;
    x->forks_looked = undo_mark(s->undo);
    if (x->forks_looked <= from || x->ts >= atomic_load(&transaction_hub(s)->now)) return ST_OK;
    TRY(txn_lock_acquire_or(s->db->txn_lock, LOCK_EXCLUSIVE, &w, &got, &s->err));
    if (!got) return ST_OK;
    const bool lost = lost_update(s, from);
    txn_lock_release_unchanged(s->db->txn_lock, LOCK_EXCLUSIVE);
    return lost ? concurrent_update(s) : ST_OK;
}
Status transaction_pause(Session *s) {
    Txn *x = s->txn;
    session_read_end(s);
    if (x && x->forks) return pause_forks(s);
    if (x && x->lost) transaction_leave_version(s);
    if (s->lock != LOCK_NONE) take_stock(s);
    rest(s);
    if (s->lock == LOCK_NONE || transaction_pinned(s)) return ST_OK;
    if (x && x->changed) {
        if (undo_is_whole(s->undo, x->reserved)) { /* others would have to look at much */
            x->pinned = true;
            return ST_OK;
        }
        if (lost_update(s, x->reserved)) return concurrent_update(s);
        TRY(reserve(s, &s->err));
        if (!atomic_load(&x->out)) atomic_store(&transaction_hub(s)->resident, x);
    }
    session_unlock_unchanged(s);
    return ST_OK;
}

Status transaction_suspend(Session *s, Err *e) {
    Txn *x = s->txn;
    session_read_end(s);
    if (x && x->lost) transaction_leave_version(s);
    if (s->lock != LOCK_NONE) take_stock(s);
    rest(s);
    if (s->lock == LOCK_NONE || transaction_pinned(s)) return ST_OK;
    if (is_in_place(s)) {
        if (s->lock != LOCK_EXCLUSIVE) { /* it has changed nothing since it was reserved */
        } else if (undo_is_whole(s->undo, x->reserved)) {
            x->pinned = true;
            return ST_OK;
        } else if (reserve(s, e) != ST_OK) {
            x->pinned = true;
            return ST_ERROR;
        }
        atomic_store(&transaction_hub(s)->resident, x);
    }
    session_unlock_unchanged(s);
    return ST_OK;
}

/* ---- the end ------------------------------------------------------------------------------------------ */
static void leave_list(Session *s) {
    TxnHub *h = transaction_hub(s);
    Txn *x = s->txn;
    transaction_drop_forks(s);
    session_read_end(s);
    transaction_leave_version(s);
    s->block.skipped = s->block.looked = false;
    s->txn = NULL;
    if (!x) return;
    mutex_lock(&h->mutex);
    if (atomic_load(&h->resident) == x) atomic_store(&h->resident, NULL);
    unlink_txn(x);
    transaction_set_holds(h, x, false);
    transaction_uncount_held(h, x);
    pthread_cond_broadcast(&h->ended);
    mutex_unlock(&h->mutex);
    if (atomic_load(&h->kept_bytes) > 0) atomic_store(&h->unsettled, true);
    free_txn(x);
}

void transaction_read_beside(Session *s, int n, const int64_t *tables) {
    TxnHub *h = transaction_hub(s);
    Txn *x = s->txn;
    int64_t *ids = n > 0 ? arena_array(x->arena, int64_t, n) : NULL;
    if (ids) memcpy(ids, tables, (size_t)n * sizeof *ids);
    mutex_lock(&h->mutex);
    x->beside = true;
    if (ids) transaction_hold_tables(h, x, n, ids); /* without memory it is one more try like those before */
    mutex_unlock(&h->mutex);
}
void transaction_read_over(Session *s) { leave_list(s); }

void transaction_commit(Session *s, int64_t n, const TableEvent *events) {
    UndoLog *u = s->undo;
    if (u && s->lock == LOCK_EXCLUSIVE && (undo_mark(u) > 0 || n != 0) && keep(s, u, n, events, s->txn)) s->undo = NULL;
    leave_list(s);
    if (!s->undo) return;
    undo_forget(s->undo);
    undo_free(s->undo);
    s->undo = NULL;
}

void transaction_rollback(Session *s) {
    TxnHub *h = transaction_hub(s);
    transaction_drop_forks(s);
    Txn *x = s->txn;
    UndoLog *u = s->undo;
    if (x && u && s->lock != LOCK_EXCLUSIVE) {
        mutex_lock(&h->mutex);
        bool changes = undo_mark(u) > 0;
        if (changes) { /* the next statement that holds the lock alone undoes them */
            x->undo = u;
            x->session = NULL;
            transaction_set_holds(h, x, false);
            transaction_uncount_held(h, x);
            pthread_cond_broadcast(&h->ended);
            s->undo = NULL;
            s->txn = NULL;
            s->block.skipped = s->block.looked = false;
        }
        mutex_unlock(&h->mutex);
        if (changes) atomic_store(&h->unsettled, true);
        if (changes) return;
    } else if (x && u && atomic_load(&x->out)) {
        undo_abandon(u);
    } else if (u) {
        undo_rollback(u, 0);
    }
    leave_list(s);
    undo_free(s->undo);
    s->undo = NULL;
}

bool transaction_bulk_begin(Session *s) {
    TxnHub *h = transaction_hub(s);
    bool open = false;
    mutex_lock(&h->mutex);
    atomic_fetch_add(&h->commits, 1);
    for (const Txn *x = h->open; x && !open; x = x->next) open = !x->at_rest && !atomic_load(&x->images);
    mutex_unlock(&h->mutex);
    return open;
}
void transaction_bulk_done(Session *s, UndoLog *u, bool all) {
    TxnHub *h = transaction_hub(s);
    if (u && (undo_mark(u) == 0 || !keep(s, u, 0, NULL, NULL))) undo_free(u);
    mutex_lock(&h->mutex);
    for (Txn *x = h->open; x; x = x->next) {
        if (!atomic_load(&x->images)) continue;
        x->ts = atomic_load(&h->now);
        if (all) atomic_store(&x->images, false);
    }
    mutex_unlock(&h->mutex);
}
bool transaction_sees_images(const Session *s) { return !s->txn || s->txn->at_rest || atomic_load(&s->txn->images); }
bool transactions_see_images(const Session *s) {
    TxnHub *h = transaction_hub(s);
    bool some = false;
    mutex_lock(&h->mutex);
    for (const Txn *x = h->open; x && !some; x = x->next) some = atomic_load(&x->images);
    mutex_unlock(&h->mutex);
    return some;
}

void transactions_settle(Database *db) {
    TxnHub *h = txn_lock_hub(db->txn_lock);
    if (atomic_load(&h->resident)) evict(h);
    move_view(h, atomic_load(&h->now));
    atomic_store(&h->unsettled, true);
    prune(h);
}
