/* ahead.h - statements that read much compute beside the tables.
 *
 * INSERT, UPDATE, DELETE and MERGE outside of transaction blocks need the database lock to change tables, not to find
 * out what to change. One that reads much pins a published version, gives the lock up, runs its plan on the version,
 * and takes the lock again to apply the rows that came of it. So other writers wait for the second part only.
 *
 * Meanwhile it is a transaction that reads: what its plan reads is recorded, later commits keep their logs for it, and
 * with the lock it is validated like a COMMIT (transaction.h). When something that it has read has changed, tables have
 * given their rows other numbers, or there are other definitions, it is computed anew. The third time it holds back who
 * changes rows of the tables that it has read: they wait as for a transaction that has changed these rows, while
 * readers and writers of other tables go on. What does not wait (bulks, definitions, loads) may still come in between;
 * then the fourth time is under the lock. So it never fails for what others do, and sees one state of the database, the
 * present one.
 *
 * COPY FROM parses and encodes without the lock; there its target alone matters.
 */
#ifndef STELE_SESSION_CORE_AHEAD_H
#define STELE_SESSION_CORE_AHEAD_H

#include "catalog/names.h"
#include "session/core/session.h"

enum {
    AHEAD_ROWS = 50000, /* of tables in the plan: what takes less runs under the lock */
    AHEAD_TRIES = 4,    /* the last one is under the lock, and the one before it holds writers back */
    AHEAD_TABLES = 32   /* whose */
};

/* How often a statement has been tried so, and what the last try has read. Starts as zeros. */
typedef struct AheadTries {
    int n;
    int n_tables;
    int64_t tables[AHEAD_TABLES]; /* ids */
} AheadTries;
static inline bool ahead_again(const AheadTries *t) { return t->n < AHEAD_TRIES - 1; }

/* A statement that is computed so: what must be the same when it has the lock again. */
typedef struct Ahead {
    int64_t table, numbers; /* of the table that it changes: id, and what its row numbers mean (table_generation) */
    AheadTries *tries;
    const Table *target; /* not to be looked at without the lock: it may be gone */
    NameReads reads;     /* while it is bound */
    NameDeps names;      /* what it was bound by, in the arena */
} Ahead;

/* Whether the bound statement reads so much that computing beside the tables pays; with snapshot = version, always. */
bool ahead_pays(const Session *s, const PlanCtx *c, const BoundStmt *b);
/* With the lock held alone, and nothing changed yet: the session reads a version from now on (session_catalog), without
 * the lock, and names that are looked up are recorded. false: it cannot; the lock is still held. */
bool ahead_begin(Session *s, const Table *target, AheadTries *tries, Ahead *a); /* target NULL: it is yet to come */
/* Behind binding: names are not recorded any more. */
Status ahead_bound(Session *s, Ahead *a, Arena *arena);
/* The lock alone again, and the tables as they are now, where nothing that was read has changed. *again: that is not
 * so, and the statement has to be computed anew; the lock is held alone then. 57014, 55P03, 53200: ahead_fail follows.
 */
Status ahead_end(Session *s, Ahead *a, bool *again);
/* The lock is given up: what is read comes from elsewhere, and names are not recorded. false: it stays; the session is
 * alone with the database, or in a transaction block. */
bool ahead_part(Session *s, const Table *target, Ahead *a);
/* The lock alone again. *same: the table is the one that it was, with the same rows or others. */
Status ahead_rejoin(Session *s, const Ahead *a, bool *same);
/* What was begun has failed, before ahead_end or in it: the session reads nothing any more, and has no lock. */
void ahead_fail(Session *s);

#endif
