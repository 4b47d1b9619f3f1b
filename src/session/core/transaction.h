/* transaction.h - BEGIN ... COMMIT of several connections at once: snapshots, optimistic, serialisable.
 *
 * A transaction holds the database lock only while a statement of it runs. What it sees is what was committed when its
 * first statement began, and its own changes, as long as it lives; what it has read and written is validated when it
 * commits. That is REPEATABLE READ and SERIALIZABLE; what is different at READ COMMITTED is below.
 *
 * The tables have one state, and rows one place. What stands in them is a view: all commits up to one of them
 * (TxnHub.view), and the changes of one open transaction or none (the resident). A statement that takes the lock
 * compares that with what it has to see; if they differ it takes the lock alone and changes the view by hiding and
 * showing undo logs (storage/undo.c): first the resident's, then those of commits, then its own. The logs of commits
 * (Version) are kept as long as there is an older snapshot, and merged where no snapshot lies between. Without open
 * transactions a commit forgets its log as ever, and every view is that of now.
 *
 * A transaction that has changed nothing yet reads a published version (db/published.h) instead, without the lock,
 * where there is one of its snapshot: it then begins with that version, and has a timestamp like all others for what it
 * may do later under the lock (transaction_read_version; README.md, "Reading").
 *
 * One that has read such a version by a query, above READ COMMITTED, goes on with it when it changes rows: in forks of
 * tables (transaction_forks.c), which are applied at COMMIT, or when a statement comes that cannot use them.
 *
 * Validation. A transaction that has changed something and commits goes to the view of now and looks through the
 * commits after its snapshot: a row that one of them changed, as it was or as it is now, and that the transaction has
 * read (TxnRead: tables, or the rows that conditions select) or changed itself makes it fail with 40001. So does, when
 * its changes are shown there, a key that another row has. It also fails when it changes a row that has been changed
 * since its snapshot, right then.
 *
 * Why that is serialisable: what a transaction with changes has read is, when it commits, still as it read it, under
 * the lock held alone: all of it could have happened at this moment. One without changes could have happened when its
 * snapshot was taken, and is never refused. The first to commit wins; transactions wait for the lock only, so there are
 * no deadlocks.
 *
 * Additions (storage/undo_rows.h): `c = c + e` of one row by its key, c not read, conflicts with a delete of the row
 * only. Shown on top of what others have committed it is added to that, which is what it would have come to at this
 * moment. Once the transaction reads the row, by then or later, that is a read like others.
 *
 * READ COMMITTED. Each statement sees what is committed when it takes the lock, and reads are not validated, but those
 * by which foreign keys were found, and of FOR UPDATE. Rows that it has changed are its own until it ends: other
 * statements that change them wait and run again (transaction_rows.c), so that COMMIT finds nothing to refuse, unless
 * what does not wait (bulks, definitions, loads) has changed them.
 *
 * Definitions are those of the present, for every transaction. A transaction that makes some (CREATE, ALTER, DROP,
 * TRUNCATE, COPY FROM, bulk loads, and what else is not SELECT, INSERT, UPDATE, DELETE, CALL, DO or EXECUTE) is
 * validated then and sees what is committed from there on, and keeps the lock to its end (pinned). One that reads a
 * table that came to be after its snapshot gets 40001; of one that is gone, 42P01.
 *
 * Bounds. Kept logs, with what waits for the pins of transactions, take no more memory than snapshot_memory_limit:
 * beyond it the oldest snapshots are given up, and their transactions fail with 72000 at their next statement; their
 * pins end at once or, of those that are in a statement, with it. Commits that are kept look at that. Transactions
 * whose session has been idle for longer than idle_in_transaction_session_timeout are rolled back by other threads
 * (idle.h).
 *
 * Thread rules: versions, the view and Txn.ts are read under the database lock and changed under it held alone, and so
 * are `lost` and `broken`, which its own session also reads without the lock; the list of open transactions and the
 * resident have a mutex of their own, a leaf. ROLLBACK needs no lock: its changes are undone by the next statement that
 * holds it alone.
 */
#ifndef STELE_SESSION_CORE_TRANSACTION_H
#define STELE_SESSION_CORE_TRANSACTION_H

#include "session/core/session.h"

typedef struct Txn Txn;

/* Session.c's way through a lock. With the lock just taken in s->lock: what stands in the tables becomes what this
 * session is to see. definitions: it will look at nothing but the catalog. *again: the lock must be taken anew, as
 * transaction_lock_mode says then. With s->latest a transaction goes to what is committed now: 40001 when it cannot.
 * 72000: its snapshot is lost. */
Status transaction_enter(Session *s, bool definitions, bool *again);
/* The lock that it takes, `mode` at least. */
LockMode transaction_lock_mode(const Session *s, LockMode mode, bool definitions);
/* A statement of a transaction has ended well: lets go of the lock, unless it is pinned. 40001 when it has changed what
 * others have, 53200; nothing was done then. */
Status transaction_pause(Session *s);
/* After an error, when ROLLBACK TO may come, or before it waits: the same, but nothing is refused. 53200: it keeps the
 * lock, pinned. */
Status transaction_suspend(Session *s, Err *e);
/* No change of a transaction is shown in the tables, and all commits are; under the lock. */
bool transaction_shows_committed(const Session *s);
/* The session's transaction reads the version from now on, which is current and pinned in its slot: as what it sees, if
 * this is its first look at the database, and else if it is the same. False: that is not so, or there is no memory.
 * Needs no lock. */
bool transaction_read_version(Session *s, const struct DatabaseVersion *v);
/* A transaction begins that will read the version, which is pinned in its slot and may be older than what is committed
 * (snapshot_interval), and nothing else: no commit is kept for it, and what needs the lock fails with 55000. False:
 * there is no memory. */
bool transaction_read_older(Session *s, const struct DatabaseVersion *v);
bool transaction_reads_older(const Session *s);
extern const char transaction_older_label[];
/* The version that it reads; NULL: none. *lost: its snapshot has been given up. */
const struct DatabaseVersion *transaction_version(const Session *s, bool *lost);
extern const char transaction_pin_label[];
void transaction_leave_version(Session *s); /* the pin ends; from here on it reads under the lock */
/* It only reads that version, and what it does then, it does to the latest. Until it is over, who changes one of the
 * tables (ids) waits for it, as for who holds their rows; under the lock held alone. */
void transaction_read_beside(Session *s, int n, const int64_t *tables);
/* Ids of tables that it has read, `most` of them at most; returns how many. */
int transaction_tables_read(const Session *s, int most, int64_t *ids);
void transaction_read_over(Session *s);     /* one that has changed nothing is over; the session's log stays */
Status transaction_lost(Session *s);        /* 72000 */
void transaction_pin(Session *s, bool yes); /* keeps the lock to the end */
bool transaction_hidden(const Session *s);  /* its changes are not in the tables; under the lock held alone */
bool transaction_pinned(const Session *s);
bool transaction_changed(const Session *s); /* it has changed rows, wherever they are now; needs no lock */
/* Open transactions that have a snapshot, `most` of them at most; returns how many there are. From any thread. */
typedef struct TxnInfo {
    int64_t session, ts, since_ns;
    int64_t held_bytes; /* of the oldest snapshot: all that is kept of changes, which would go with it; others: -1 */
    bool lost;          /* given up: its next statement fails */
} TxnInfo;
int64_t transactions_list(const Session *s, TxnInfo *out, int64_t most);
/* The session's changes, of a transaction or not, become what everybody sees: under the lock held alone, shown on top
 * of all commits. n, events: tables that come or go. */
typedef struct TableEvent {
    int64_t id;
    bool made;
} TableEvent;
void transaction_commit(Session *s, int64_t n, const TableEvent *events); /* n < 0: they could not be listed */
/* Undoes the changes now or, without the lock, leaves that to its next holder. Either way the transaction is over. */
void transaction_rollback(Session *s);

/* A transaction that begins while bulks are ahead of the tables sees what they have left in images: until the next bulk
 * that writes, or whatever else changes something, which bring the tables up to date before they do. From then on it
 * sees the tables as they are then. True of this session's transaction, or of one that it may begin; needs no lock, and
 * stays true as long as a lock is held. */
bool transaction_sees_images(const Session *s);
/* ... of some transaction; under the lock held alone. */
bool transactions_see_images(const Session *s);
/* Changes that bulks made before go into the tables now. Under the lock held alone, before transaction_enter. True:
 * there are open transactions, this session's included, that do not see these changes, so that a log must be kept. */
bool transaction_bulk_begin(Session *s);
/* They are in the tables (all: every one of them); the log is taken over or forgotten. */
void transaction_bulk_done(Session *s, UndoLog *u, bool all);
/* Before a table is freed, under the lock held alone: no log names it any more. */
void transactions_forget_table(Session *s, const Table *t);
/* The table's rows must satisfy a new definition that only rows which are shown were checked against: other
 * transactions that have changed it get 40001 at COMMIT. They do so even when the definition is rolled back, since
 * which definitions a transaction is outdated by is not kept: one more of them has to be retried, and nothing false
 * stays. Under the lock held alone. */
void transactions_outdate_changes(Session *s, const Table *t);

/* What statements read; nothing happens outside of transactions. Under the lock. 40001: a table that came after the
 * snapshot. */
typedef struct TxnRead TxnRead;
typedef struct TxnReads {
    VEC(TxnRead) list;
    bool locks; /* of a statement with FOR UPDATE or the like */
} TxnReads;
/* Of an optimised plan, in the arena. */
Status transaction_reads_of_plan(const PlanCtx *c, const BoundStmt *b, Arena *a, TxnReads *out);
Status transaction_reads(Session *s, const TxnReads *r);
Status transaction_reads_table(Session *s, const Table *t);
Status transaction_reads_key(Session *s, const Table *t, int key,
                             const Value *vals); /* the row with this key, or that there is none */

/* A row refers to the one with this key: it may change, but for the key, and must not go. At every level. */
Status transaction_refers_to(Session *s, const Table *t, int key, const Value *vals);
/* The row, or with rowid < 0 the table, is read: what the transaction has added to it counts as read
 * (storage/undo_rows.h). */
void transaction_reads_row(Session *s, int64_t table, int64_t rowid);
/* FOR UPDATE of a row found by key: the transaction holds it, under the lock held alone. */
Status transaction_lock_row(Session *s, const Table *t, int64_t rowid);

/* ---- deferred changes (transaction_rows.c) ----
 * At READ COMMITTED additions to a row by its key, and new rows of tables without keys, stay outside of the tables
 * until COMMIT or until a statement of another kind comes, which applies them first (transaction_enter). So such
 * statements share the lock. */
bool transaction_may_defer(const Session *s); /* the next statement may be such a one; needs no lock */
/* Under the lock, with s->block.defers. */
Status transaction_defer_add(Session *s, Table *t, int64_t rowid, int col, int128_t n);
Status transaction_defer_row(Session *s, Table *t, const Vec *cells);
bool transaction_defers(const Session *s);                /* it has such changes */
bool transaction_may_read_deferred(const Session *s);     /* rows with such changes, the first time */
void transaction_drop_deferred(Session *s, int64_t mark); /* additions after the mark of its log */

/* ---- tables of its own (transaction_forks.c) ---- */
bool transaction_has_forks(const Session *s);
uint64_t transaction_forks_serial(const Session *s); /* of the forks that the statement sees; 0: none */
void transaction_queries(Session *s); /* it reads a version, by more than a statement on one row: only such may fork,
                                         since for short transactions it does not pay */
/* A statement that changes rows may change forks, without the lock, if its table can be one. */
bool transaction_may_fork(const Session *s);
/* With snapshot = version a transaction that begins with a change gets a version to fork. */
Status transaction_read_to_fork(Session *s);
/* ... and reads the transaction's version now, with the forks that there are (session_catalog). */
Status transaction_begin_forks(Session *s);
const Catalog *transaction_catalog(const Session *s); /* NULL: without forks it is the version's */
bool transaction_can_fork(const Session *s, const Table *t);
/* The table, of that catalog, is a fork from now on; made: it is another one, and the statement is to be bound anew. */
Status transaction_fork(Session *s, const Table *t, bool *made);

/* ---- waiting for rows (transaction_rows.c) ---- */
/* Below REPEATABLE READ a transaction holds the rows that it has changed until it ends: who changes them too waits, and
 * its statement runs again. */
/* Whether the session's statement has changed rows that an open transaction holds, or, ends, what comes now would: the
 * statement stands outside of a transaction, or is COMMIT. s->block.holder: that transaction; 0: none, or the
 * transaction keeps the lock to its end and does not wait, and what the statement has read is held from now on.
 * Nothing else is done. Under the lock. */
Status transaction_find_holder(Session *s, bool ends);
/* The statement under way may come to wait, and run again then. */
bool transaction_may_wait(const Session *s);
/* Without the lock: until that transaction ends or lets go of rows. 40P01, 55P03, 57014. */
Status transaction_wait(Session *s);
void transaction_lets_go(Session *s);       /* of rows, by ROLLBACK TO: those that wait look again */
bool transaction_at_rest(const Session *s); /* it has no snapshot, and its next statement takes one */

/* Before a database is saved and closed, without sessions: nothing but what is committed is in its tables. */
void transactions_settle(Database *db);

#endif
