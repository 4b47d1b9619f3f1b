/* transaction.h - BEGIN ... COMMIT of several connections at once: optimistic and serialisable.
 *
 * A transaction holds the database lock only while a statement of it runs. Its changes stand in the tables while nobody else looks (it is the resident); whoever
 * takes the lock next takes them out first (undo_net, net_save, rollback) and they are put back when the transaction's next statement, or its COMMIT, has the lock. So
 * every statement sees what was committed when it began and its own transaction's changes, nothing else.
 *
 * What it reads is remembered: tables, or in tables the rows that a conjunction of simple comparisons selects (TxnRead). Whoever commits, be it a transaction, a
 * single statement or a bulk, holds the lock alone then and dooms all open transactions that have read a row it changed (as it was or as it is now), or have
 * changed one themselves. A doomed transaction fails with 40001 at its next statement or at COMMIT; one that has only read may still COMMIT.
 *
 * Why that is serialisable: when a transaction commits it is not doomed, so everything it has read is still as it read it, and nobody else is about: all of it could
 * have happened at this moment. One that only reads could have happened when its last statement ran. And since being doomed is looked at before each statement, under
 * the lock, a transaction never sees two states: what it reads now is of the same moment as what it read before. The first to commit wins; nobody waits for
 * anybody but for the lock, and so there are no deadlocks.
 *
 * What keeps the lock to the end instead, as before, and then waits and is waited for (pinned): definitions (CREATE, ALTER, DROP), TRUNCATE, COPY, bulk loads, and what else is not
 * SELECT, INSERT, UPDATE, DELETE, CALL, DO or EXECUTE.
 *
 * Thread rules: Txn.doomed, reads and saved changes are looked at and changed under the database lock (its owner shared at least, others alone); the list of open
 * transactions and the resident have a mutex of their own, a leaf. ROLLBACK needs no lock: it leaves its changes to the next who takes it.
 */
#ifndef STELE_SESSION_TRANSACTION_H
#define STELE_SESSION_TRANSACTION_H

#include "session/session.h"

typedef struct Txn Txn;

/* Session.c's way through a lock. With the lock just taken in s->lock: what stands in the tables becomes what this session is to see. definitions: it will look at
 * nothing but the catalog. *again: the lock must be taken anew, as transaction_lock_mode says then. 40001 when the transaction is doomed. */
Status transaction_enter(Session *s, bool definitions, bool *again);
/* The lock that it takes, `mode` at least. */
LockMode transaction_lock_mode(const Session *s, LockMode mode, bool definitions);
/* A statement of a transaction has ended well: lets go of the lock, unless it is pinned. */
void transaction_pause(Session *s);
void transaction_pin(Session *s); /* keeps the lock to the end */
bool transaction_pinned(const Session *s);
bool transaction_changed(const Session *s); /* it has changed rows, wherever they are now; needs no lock */
/* The transaction, if there is one, is over. commit: its changes have been committed, under the lock. Else they have been undone, or the lock is not held: then, where
 * they stand in the tables, the undo log is taken from the session. */
void transaction_end(Session *s, bool commit);

/* Changes are about to be committed, under the lock held alone: open transactions that they concern are doomed, this session's own only when `own`. u NULL: none of rows. */
void transaction_dooms(Session *s, const UndoLog *u, bool own);
void transaction_dooms_table(Session *s, int64_t table_id); /* changed as a whole, or its rowids */
bool transaction_open(const Session *s);                     /* there are open transactions, this session's included */
/* An open transaction has changed rows of the table, whose rowids must not change then. */
bool transaction_holds_rows(const Session *s, const Table *t);

/* What statements read; nothing happens outside of transactions. Under the lock. */
typedef struct TxnRead TxnRead;
typedef struct TxnReads {
    VEC(TxnRead) list;
} TxnReads;
/* Of an optimised plan, in the arena. */
Status transaction_reads_of_plan(const PlanCtx *c, const BoundStmt *b, Arena *a, TxnReads *out);
Status transaction_reads(Session *s, const TxnReads *r);
Status transaction_reads_table(Session *s, const Table *t);
Status transaction_reads_key(Session *s, const Table *t, int key, const Value *vals); /* the row with this key, or that there is none */

/* Before a database is saved and closed, without sessions: nothing of transactions that were rolled back stays in its tables. */
void transactions_settle(Database *db);

#endif
