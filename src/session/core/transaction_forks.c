/* transaction_forks.c - transactions that change tables of their own (storage/table_fork.h), without the database lock.
 *
 * A transaction at REPEATABLE READ or SERIALIZABLE that reads a pinned version goes on reading it when it changes rows:
 * each table that it changes is forked, and from then on the statement's catalog has the fork in place of the version's
 * table. INSERT, UPDATE, DELETE and MERGE run on forks like on tables, with the session's undo log, so that an error
 * and ROLLBACK undo them; no other session sees anything of it. Other tables are those of the version.
 *
 * What needs the tables (transaction_enter with the lock alone) has what the forks have become applied to them first:
 * at COMMIT on top of what is committed by then, behind the validation; else, for a statement that is not for forks, at
 * the transaction's snapshot. From there on it is a transaction whose changes are in the tables. Not for forks are all
 * other kinds of statements, routines, devices, changes of 50,000 rows and more, and constraints that wait for COMMIT.
 *
 * Thread rules: forks and the catalog are the session's own. While there are some (Txn.forked), other sessions do not
 * look at its log.
 */
#include "db/published.h"
#include "session/core/transaction_int.h"
#include "storage/table_fork.h"
#include "storage/undo_rows.h"

/* ---- the catalog ---- */
struct TxnForks {
    int64_t bytes;   /* of this allocation */
    uint64_t serial; /* of all forks of the process: addresses come again, this does not */
    Catalog catalog; /* the version's, with forks among its tables */
    int64_t n;
    Table **forks; /* as many as there are tables, at most */
};

bool transaction_has_forks(const Session *s) { return s->txn && s->txn->forks; }
const Catalog *transaction_catalog(const Session *s) {
    return transaction_has_forks(s) ? &s->txn->forks->catalog : NULL;
}

uint64_t transaction_forks_serial(const Session *s) {
    return transaction_has_forks(s) && session_reads_version(s) ? s->txn->forks->serial : 0;
}

/* The catalog's objects are the version's, but for the list of tables. */
static struct TxnForks *forks_new(Session *s, const Catalog *of) {
    const int64_t lists = 2 * of->n_tables * (int64_t)sizeof(Table *);
    const int64_t bytes = (int64_t)sizeof(struct TxnForks) + lists;
    struct TxnForks *f = mem_calloc(&s->db->parts[DB_UNDO], bytes, &s->err);
    if (!f) return NULL;
    static _Atomic uint64_t last;
    f->bytes = bytes;
    f->serial = atomic_fetch_add(&last, 1) + 1;
    memcpy(&f->catalog, of, sizeof f->catalog);
    f->catalog.tables = (Table **)(void *)(f + 1);
    f->forks = f->catalog.tables + of->n_tables;
    if (of->n_tables) memcpy(f->catalog.tables, of->tables, (size_t)lists / 2);
    return f;
}

/* ---- statements ---- */
void transaction_queries(Session *s) {
    if (s->txn) s->txn->queries = true;
}
static bool may_fork(const Session *s) {
    const Txn *x = s->txn;
    if (s->state != 'T' || !x || !x->version || !x->queries || x->lost || session_sees_latest(s) ||
        session_read_only(s))
        return false;
    if (s->savepoints || s->catalog_undo || x->pinned || (s->undo && !x->forks)) return false;
    return atomic_load(&transaction_hub(s)->row_holders) == 0; /* else it may have to wait for one */
}
bool transaction_may_fork(const Session *s) { return may_fork(s) && session_may_read_version(s); }
Status transaction_read_to_fork(Session *s) {
    if (s->state != 'T' || s->txn || session_sees_latest(s) || session_read_only(s) || s->savepoints || s->catalog_undo)
        return ST_OK;
    if (!session_always_publishes(s) || !session_may_read_version(s)) return ST_OK;
    TRY(session_read(s, false));
    session_read_end(s); /* the transaction has it */
    if (s->lock != LOCK_NONE) session_unlock_unchanged(s);
    return ST_OK;
}
Status transaction_begin_forks(Session *s) {
    Txn *x = s->txn;
    if (!session_read_own(s)) return err_internal(&s->err, "the transaction's version cannot be read");
    if (x->forks) return ST_OK;
    atomic_store(&x->forked, true); /* before others can see the log */
    if (!s->undo && !(s->undo = undo_new(&s->db->parts[DB_UNDO], &s->err))) return ST_ERROR;
    if (!(x->forks = forks_new(s, &x->version->catalog))) return ST_ERROR;
    atomic_store(&x->out, true);
    return ST_OK;
}
Status transaction_fork(Session *s, const Table *t, bool *made) {
    struct TxnForks *f = s->txn->forks;
    int64_t i = 0;
    *made = !table_fork_of(t);
    if (!*made) return ST_OK;
    while (f->catalog.tables[i] != t) i++;
    TRY(table_fork_new(t, &s->db->parts[DB_UNDO], &f->forks[f->n], &s->err));
    f->catalog.tables[i] = f->forks[f->n++];
    return ST_OK;
}
bool transaction_can_fork(const Session *s, const Table *t) {
    const Catalog *c = &s->txn->forks->catalog;
    if (table_fork_of(t)) return true;
    for (int64_t i = 0; i < c->n_tables; i++)
        if (c->tables[i] == t) return table_can_fork(t);
    return false;
}

/* ---- the end ---- */
static void drop_log(Session *s) {
    const struct TxnForks *f = s->txn->forks;
    for (int64_t i = 0; f && s->undo && i < f->n; i++) undo_drop_table(s->undo, f->forks[i]);
    undo_free(s->undo);
    s->undo = NULL;
}
static void free_forks(Session *s) {
    struct TxnForks *f = s->txn->forks;
    for (int64_t i = 0; f && i < f->n; i++) table_fork_free(f->forks[i]);
    if (f) mem_free(&s->db->parts[DB_UNDO], f, f->bytes);
    s->txn->forks = NULL;
    atomic_store(&s->txn->forked, false);
}
void transaction_drop_forks(Session *s) {
    if (!s->txn || !atomic_load(&s->txn->forked)) return;
    drop_log(s);
    free_forks(s);
}

/* ---- into the tables ---- */
static bool same_foreign(const Catalog *a, const Catalog *b, const char *table) {
    int64_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->n_foreign && strcmp(a->foreign[i]->table, table) != 0 &&
               strcmp(a->foreign[i]->ref_table, table) != 0)
            i++;
        while (k < b->n_foreign && strcmp(b->foreign[k]->table, table) != 0 &&
               strcmp(b->foreign[k]->ref_table, table) != 0)
            k++;
        if (i == a->n_foreign || k == b->n_foreign) return i == a->n_foreign && k == b->n_foreign;
        if (a->foreign[i] != b->foreign[k]) return false;
    }
}
static bool same_domain(const Catalog *a, const Catalog *b, int64_t id) {
    bool same = true;
    while (same && id != 0) {
        const Domain *d = catalog_domain_by_id(a, id);
        same = d == catalog_domain_by_id(b, id);
        id = !d ? 0 : d->parent != 0 ? d->parent : d->element;
    }
    return same;
}
/* What was written to columns of domains was looked at by their conditions of then. */
static bool same_domains(const Catalog *a, const Catalog *b, const Table *t) {
    int c = 0;
    while (c < t->n_cols && same_domain(a, b, t->cols[c].domain)) c++;
    return c == t->n_cols;
}
/* The table of which the fork is, as it is now; NULL: it is gone, or another one. */
static Table *table_now(const Session *s, const Table *fork) {
    const Catalog *c = &s->db->catalog;
    Table *t = table_version_owner(table_fork_of(fork));
    int64_t i = 0;
    while (i < c->n_tables && c->tables[i] != t) i++;
    if (i == c->n_tables || t->id != fork->id || table_generation(t) != table_generation(fork)) return NULL;
    const Catalog *then = &s->txn->forks->catalog;
    return same_foreign(c, then, t->name) && same_domains(c, then, fork) ? t : NULL;
}
/* Additions go first. */
static Status apply_adds(Session *s, UndoLog *to) {
    const struct TxnForks *f = s->txn->forks;
    bool gone;
    for (int64_t i = 0; i < f->n; i++) {
        Table *t = table_now(s, f->forks[i]);
        if (!t) return serialization_failure(s, "A table that it changed was dropped or defined anew.");
        TRY(table_fork_defer_adds(f->forks[i], s->undo, t, to, &s->err));
    }
    if (undo_mark(to) == 0) return ST_OK;
    TRY(undo_reserve_deferred(to, &gone, &s->err));
    if (gone) return serialization_failure(s, "A row to which it adds was deleted meanwhile.");
    undo_show(to, true);
    return undo_check_adds(to, &s->err);
}
static Status apply(Session *s, UndoLog *to) {
    const struct TxnForks *f = s->txn->forks;
    TRY(apply_adds(s, to));
    for (int64_t i = 0; i < f->n; i++) {
        Table *t = table_now(s, f->forks[i]);
        if (table_fork_apply(f->forks[i], s->undo, t, to, &s->err) == ST_OK) continue;
        if (strcmp(s->err.sqlstate, ERR_UNIQUE_VIOLATION) != 0) return ST_ERROR;
        return serialization_failure(
            s, "A row that a concurrent transaction committed has a key of this transaction's rows.");
    }
    return ST_OK;
}
Status transaction_apply_forks(Session *s) {
    UndoLog *to = undo_new(&s->db->parts[DB_UNDO], &s->err);
    if (!to) return ST_ERROR;
    if (apply(s, to) != ST_OK) {
        if (undo_is_hidden(to)) undo_abandon(to);
        else undo_rollback(to, 0);
        undo_free(to);
        return ST_ERROR;
    }
    drop_log(s);
    free_forks(s);
    transaction_leave_version(s);
    s->undo = to;
    s->block.mark = undo_mark(to); /* of earlier statements, whatever becomes of this one */
    return ST_OK;
}
