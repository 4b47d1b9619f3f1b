/* transaction_rows.c - transactions that wait for rows, at READ COMMITTED.
 *
 * PostgreSQL's rule there is: who changes a row that another transaction has changed waits for its end, and then looks
 * at the row's newest version. Here a statement runs first, alone, on what is committed. When it is done its rows are
 * compared with those that open transactions hold (storage/undo_rows.h); if there are common ones its changes are
 * undone, it waits without the database lock, and runs again from the start with a new snapshot: so it finds the newest
 * version of every row, and not just of those that it waited for.
 *
 * Holders are transactions at READ COMMITTED; who waits are their statements, those of other levels (which then may get
 * 40001, as in PostgreSQL), and statements outside of transaction blocks. Who adds to a row and does not read it waits
 * for its holder at COMMIT only. Bulks, definitions and loads do not wait: a transaction whose rows they change gets
 * 40001.
 *
 * A statement that computes beside the tables and has come too late twice holds all rows of the tables that it reads
 * (ahead.h).
 *
 * Waits are by the number of a transaction, under the hub's mutex. A circle is found by who would close it.
 */
#include "base/cond.h"
#include "base/hash.h"
#include "session/core/advisory.h"
#include "session/core/idle.h"
#include "session/core/transaction_int.h"
#include "storage/undo_edits.h"
#include "storage/undo_rows.h"

enum { POLL_NS = 50000000 /* for cancellation, and for transactions that are idle for too long */ };

void transaction_set_holds(TxnHub *h, Txn *x, bool holds) {
    if (x->holds == holds) return;
    x->holds = holds;
    atomic_fetch_add(&h->row_holders, holds ? 1 : -1);
}

void transaction_hold_tables(TxnHub *h, Txn *x, int n, const int64_t *tables) {
    x->n_tables = n;
    x->tables = tables;
    x->holds_many = true;
    atomic_fetch_add(&h->held.many, 1);
    transaction_set_holds(h, x, true);
}

/* ---- rows that are held, counted ---- */
enum { COUNTED_MAX = 1024 /* rows of a transaction */ };

static uint16_t slot_of(const Table *t, int64_t rowid) {
    return (uint16_t)(hash_u64((uint64_t)rowid ^ (uint64_t)t->id << 44) % HELD_SLOTS);
}
typedef struct Counting {
    TxnHub *h;
    Txn *x; /* NULL: a statement outside of transactions */
} Counting;
static bool count_row(void *ctx, const Table *t, int64_t rowid) {
    const Counting *c = ctx;
    const uint16_t slot = slot_of(t, rowid);
    if (c->x->counted.len < COUNTED_MAX && vec_push(c->x->arena, &c->x->counted, slot)) {
        atomic_fetch_add(&c->h->held.at[slot], 1);
        return true;
    }
    c->x->holds_many = true;
    atomic_fetch_add(&c->h->held.many, 1);
    return false;
}
static void count_rows(TxnHub *h, Txn *x, const UndoLog *u, bool read_now) {
    if (!x->sees_latest || x->holds_many) return; /* above READ COMMITTED it holds nothing */
    (void)undo_each_held(u, x->counted_to, read_now, count_row, &(Counting){h, x});
}
void transaction_count_held(Session *s) {
    Txn *x = s->txn;
    if (!x || !s->undo) return;
    count_rows(transaction_hub(s), x, s->undo, false);
    x->counted_to = undo_mark(s->undo);
}
void transaction_uncount_held(TxnHub *h, Txn *x) {
    for (int64_t i = 0; i < x->counted.len; i++) atomic_fetch_sub(&h->held.at[x->counted.items[i]], 1);
    if (x->holds_many) atomic_fetch_sub(&h->held.many, 1);
    x->counted.len = 0;
    x->holds_many = false;
}
/* Some other transaction may hold it. */
static bool is_held(void *ctx, const Table *t, int64_t rowid) {
    const Counting *c = ctx;
    const uint16_t slot = slot_of(t, rowid);
    int32_t n = atomic_load(&c->h->held.at[slot]);
    for (int64_t i = 0; n > 0 && c->x && i < c->x->counted.len; i++) n -= c->x->counted.items[i] == slot;
    return n > 0;
}

/* What of its log a session compares with those of others. */
typedef struct Compared {
    UndoWaits what;
    int64_t mark;
} Compared;
static Compared compared(const Session *s, bool ends) {
    /* What a transaction of a higher level has changed before may be held by others now. */
    const bool all = ends && !(s->state == 'T' && s->block.level <= LEVEL_READ_COMMITTED);
    return (Compared){!ends ? UNDO_WAITS_STATEMENT
                      : all ? UNDO_WAITS_ALL
                            : UNDO_WAITS_COMMIT,
                      ends ? 0 : s->block.mark};
}
static bool may_meet(const Session *s, bool ends) {
    TxnHub *h = transaction_hub(s);
    const Compared c = compared(s, ends);
    if (atomic_load(&h->held.many) > (s->txn && s->txn->holds_many)) return true;
    return undo_may_wait(s->undo, c.mark, c.what, is_held, &(Counting){h, s->txn});
}

static Status compare(Session *s, bool ends) {
    const TxnHub *h = transaction_hub(s);
    const Compared c = compared(s, ends);
    for (const Txn *x = h->open; x; x = x->next) {
        bool yes;
        if (!x->session || !x->holds || x == s->txn) continue;
        if (x->n_tables > 0) yes = undo_changes_tables(s->undo, c.mark, x->n_tables, x->tables);
        else TRY(undo_waits(s->undo, c.mark, c.what, x->session->undo, &yes, &s->err));
        if (!yes) continue;
        s->block.holder = x->id;
        break;
    }
    return ST_OK;
}
Status transaction_find_holder(Session *s, bool ends) {
    TxnHub *h = transaction_hub(s);
    Status st = ST_OK;
    s->block.holder = 0;
    if (!s->undo || undo_mark(s->undo) == 0) return ST_OK;
    /* One that keeps the lock to its end would wait for those who need it to end. */
    const bool looks = !transaction_pinned(s) && !s->catalog_undo && !undo_is_whole(s->undo, s->block.mark);
    bool others = looks && atomic_load(&h->row_holders) > (s->txn && s->txn->holds);
    s->block.looked = ends && looks && !s->block.skipped;
    if (others && !s->block.read_adds) others = may_meet(s, ends);
    if (!others && !s->block.read_adds) return ST_OK;
    mutex_lock(&h->mutex); /* logs do not go while it is held, nor do two readers come to hold one row */
    if (others && may_meet(s, ends)) st = compare(s, ends);
    const bool keeps = st == ST_OK && s->block.holder == 0;
    if (s->block.read_adds && keeps && s->txn) count_rows(h, s->txn, s->undo, true);
    if (s->block.read_adds) undo_keep_reads(s->undo, keeps);
    mutex_unlock(&h->mutex);
    s->block.read_adds = false;
    if (st != ST_OK || s->block.holder) s->block.looked = false;
    return st;
}

bool transaction_may_wait(const Session *s) {
    if (!s->block.can_wait || !s->undo || s->lock == LOCK_NONE || transaction_pinned(s)) return false;
    if (s->lock == LOCK_SHARED) return s->block.defers || s->block.read_adds; /* others may hold such rows */
    return atomic_load(&transaction_hub(s)->row_holders) > (s->txn && s->txn->holds);
}

void transaction_lets_go(Session *s) {
    TxnHub *h = transaction_hub(s);
    if (!s->txn) return;
    mutex_lock(&h->mutex);
    s->txn->id = ++h->last_txn;
    pthread_cond_broadcast(&h->ended);
    mutex_unlock(&h->mutex);
}

/* ---- deferred changes ---- */
bool transaction_defers(const Session *s) { return s->txn && s->txn->defers; }
bool transaction_may_read_deferred(const Session *s) { return transaction_defers(s) && !s->txn->has_read; }
bool transaction_may_defer(const Session *s) {
    const Txn *x = s->txn;
    if (s->state != 'T' || s->lock != LOCK_NONE || !session_sees_latest(s) || s->savepoints || s->catalog_undo)
        return false;
    if (session_read_only(s)) return false;
    return !x || x->defers || (!x->pinned && !x->changed && x != atomic_load(&transaction_hub(s)->resident));
}
void transaction_follow(Session *s) {
    TxnHub *h = transaction_hub(s);
    Txn *x = s->txn;
    if (!x || !x->defers || x->has_read || x->broken || x->ts == atomic_load(&h->now)) return;
    if (x->reads.len > 0) return; /* which is validated against the commits from then on */
    mutex_lock(&h->mutex);
    x->ts = atomic_load(&h->now);
    mutex_unlock(&h->mutex);
}
static Status begin_deferring(Session *s) {
    if (!s->undo && !(s->undo = undo_new(&s->db->parts[DB_UNDO], &s->err))) return ST_ERROR;
    if (!s->txn->defers) s->txn->has_read = false;
    s->txn->defers = true;
    atomic_store(&s->txn->out, true);
    return ST_OK;
}
Status transaction_defer_add(Session *s, Table *t, int64_t rowid, int col, int128_t n) {
    TxnHub *h = transaction_hub(s);
    TRY(begin_deferring(s));
    mutex_lock(&h->mutex); /* others compare rows with the log's */
    Status st = undo_defer_add(s->undo, t, rowid, col, n, &s->err);
    mutex_unlock(&h->mutex);
    return st;
}
void transaction_drop_deferred(Session *s, int64_t mark) {
    TxnHub *h = transaction_hub(s);
    mutex_lock(&h->mutex);
    undo_drop_deferred(s->undo, mark);
    mutex_unlock(&h->mutex);
}
static bool copy_cell(Arena *a, const Vec *v, Vec *out) {
    const int64_t size = phys_size((Phys)v->phys);
    void *cell = arena_alloc(a, size);
    uint8_t *valid = arena_alloc(a, 1);
    if (!cell || !valid) return false;
    memcpy(cell, v->data, (size_t)size);
    *valid = !v->valid || v->valid[0];
    if (v->phys == PH_STR) {
        Str text;
        memcpy(&text, cell, sizeof text);
        const char *copy = arena_strndup(a, text.ptr, text.len);
        if (!copy) return false;
        text = str_make(copy, text.len);
        memcpy(cell, &text, sizeof text);
    }
    *out = (Vec){.data = cell, .valid = valid, .phys = v->phys, .type = v->type};
    return true;
}
Status transaction_defer_row(Session *s, Table *t, const Vec *cells) {
    TRY(begin_deferring(s));
    Txn *x = s->txn;
    Vec *copy = arena_array(x->arena, Vec, t->n_cols + 1);
    bool ok = copy != NULL;
    for (int c = 0; ok && c < t->n_cols; c++) ok = copy_cell(x->arena, &cells[c], &copy[c]);
    return ok && vec_push(x->arena, &x->rows, ((DeferredRow){t, copy})) ? ST_OK : err_oom(&s->err);
}
Status transaction_apply_rows(Session *s) {
    Txn *x = s->txn;
    for (int64_t i = 0; i < x->rows.len; i++)
        TRY(table_append(x->rows.items[i].table, 1, x->rows.items[i].cells, s->undo, NULL, &s->err));
    x->rows.len = 0;
    s->block.mark = undo_mark(s->undo); /* they are of earlier statements, whatever becomes of this one */
    return ST_OK;
}

/* ---- the wait ---- */
const Txn *transaction_find_open(const TxnHub *h, int64_t id) {
    const Txn *x = h->open;
    while (x && !(x->session && x->id == id)) x = x->next;
    return x;
}
static bool closes_circle(const TxnHub *h, const Session *own, int64_t id) {
    const Txn *x = transaction_find_open(h, id);
    return x && advisory_reaches(h, x->session, own);
}
static Status deadlock(Session *s) {
    err_set(&s->err, ERR_DEADLOCK_DETECTED, "deadlock detected");
    err_detail(&s->err, "The statement would wait for a transaction that waits for this one.");
    err_hint(&s->err, "The transaction might succeed if retried.");
    return ST_ERROR;
}
static bool is_open(const TxnHub *h, void *ctx) {
    const int64_t *id = ctx;
    return transaction_find_open(h, *id) != NULL;
}
Status transaction_wait_while(Session *s, TxnHub *h, bool (*lasts)(const TxnHub *h, void *ctx), void *ctx,
                              const char *hint) {
    const int64_t began = clock_ns(), limit_ms = s->settings.txn.lock_timeout_ms;
    const int64_t until = limit_ms > 0 ? began + limit_ms * 1000000 : INT64_MAX;
    while (lasts(h, ctx)) {
        const int64_t now = clock_ns();
        if (atomic_load(&s->cancel))
            return err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        if (s->deadline_ns && now > s->deadline_ns)
            return err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
        if (now >= until) {
            err_set(&s->err, ERR_LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
            if (hint) err_hint(&s->err, "%s", hint);
            return ST_ERROR;
        }
        if (cond_wait_until(&h->ended, &h->mutex, MIN_OF(until, now + POLL_NS))) continue;
        mutex_unlock(&h->mutex);
        sessions_end_idle(h);
        mutex_lock(&h->mutex);
    }
    return ST_OK;
}
Status transaction_wait(Session *s) {
    TxnHub *h = transaction_hub(s);
    Txn *own = s->txn;
    int64_t id = s->block.holder;
    s->block.holder = 0;
    if (id == ADVISORY_HOLDER) return advisory_wait(s);
    mutex_lock(&h->mutex);
    Status st = closes_circle(h, s, id) ? deadlock(s) : ST_OK;
    if (own) own->waits_for = id;
    advisory_note_row_wait(s, id);
    atomic_store(&s->block.waits, true);
    if (st == ST_OK)
        st = transaction_wait_while(
            s, h, is_open, &id, "Another transaction has changed the row; raise lock_timeout or end that transaction.");
    atomic_store(&s->block.waits, false);
    if (own) own->waits_for = 0;
    advisory_note_row_wait(s, 0);
    mutex_unlock(&h->mutex);
    return st;
}

/* ---- rows that are read ---- */
void transaction_reads_row(Session *s, int64_t table, int64_t rowid) {
    TxnHub *h = transaction_hub(s);
    if (!s->txn || !s->undo || !undo_has_unread(s->undo)) return;
    mutex_lock(&h->mutex);
    s->block.read_adds |=
        undo_read_adds(s->undo, table, rowid, s->txn->sees_latest ? atomic_load(&h->now) : s->txn->ts);
    s->txn->has_read |= s->block.read_adds;
    mutex_unlock(&h->mutex);
}
Status transaction_lock_row(Session *s, const Table *t, int64_t rowid) {
    if (!session_sees_latest(s)) return ST_OK; /* it is validated */
    return undo_lock_row(s->undo, (Table *)(uintptr_t)t, rowid, &s->err);
}
