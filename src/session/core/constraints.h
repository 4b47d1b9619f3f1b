/* constraints.h - what is looked at behind a change of rows: foreign keys with their actions, and deferrable keys.
 *
 * 1. A change of a table's rows is followed by constraints_note, which reads from the undo log what happened to keys:
 *    which rows have come or have another reference, and which keys have gone or changed. These are events.
 * 2. constraints_settle runs them, first in first out: an action (CASCADE, SET NULL, SET DEFAULT) is a statement on the
 *    referencing rows, whose own events come behind those that are there; RESTRICT and NO ACTION look for referencing
 *    rows at that moment, NO ACTION unless another row has the key by now. That is PostgreSQL's order, of its queue of
 *    triggers; but an event is of all rows of a statement, and its constraints come one after the other.
 * 3. Events of constraints that are deferred by then wait in the transaction: for its end (constraints_at_commit), or
 *    for SET CONSTRAINTS .. IMMEDIATE. So do deferrable keys, of which the undo log tells what to look at.
 *
 * What waits, and what SET CONSTRAINTS has said, are lists that only grow in a transaction: a savepoint is a place in
 * them (ConstraintMark).
 *
 * Thread rules: the session's. constraints_note and what runs events need the lock held alone, with the transaction's
 * changes shown.
 */
#ifndef STELE_SESSION_CORE_CONSTRAINTS_H
#define STELE_SESSION_CORE_CONSTRAINTS_H

#include "session/core/session.h"

struct KeyEvent;
typedef struct KeyEvents {
    VEC(struct KeyEvent) list;
} KeyEvents;

/* What was logged in s->undo after the mark, by a statement that changes each row of t once. Deferrable keys that are
 * not deferred are looked at (23505). Events go to *out, in the arena; while an action runs, to its statement's. */
Status constraints_note(Session *s, Arena *a, const Table *t, int64_t mark, KeyEvents *out);
/* Runs events of constraints_note, or leaves them to the transaction. 23503, and what actions fail by; the caller rolls
 * back. st: for accounts and memory. */
Status constraints_settle(Session *s, Statement *st, KeyEvents *events);
/* Both, of a change that is a statement's only one. */
Status constraints_after(Session *s, Statement *st, const Table *t, int64_t mark);

/* All that waits, before the transaction, or a statement outside of one, commits: 23503, 23505. The lock is held alone
 * if anything has changed. */
Status constraints_at_commit(Session *s);
void constraints_end(Session *s); /* the transaction is over: forgets what waits, and SET CONSTRAINTS */
void constraints_free(Session *s);

typedef struct ConstraintMark ConstraintMark; /* session.h */
ConstraintMark constraints_mark(const Session *s);
void constraints_back(Session *s, ConstraintMark m); /* what came after the mark has not happened */

/* For definitions (foreign_check.c): every row of the referencing table has its parent, as f has it: 23503. */
Status foreign_check_all(Session *s, Statement *st, const ForeignKey *f);

/* SET CONSTRAINTS. 42704, 42809, and what checks fail by. */
Status constraints_set(Session *s, Statement *st, const AstSetConstraints *x);
/* The transaction has said when constraints are looked at, or some wait: what is compiled for bulks reckons with
 * neither. */
bool constraints_deferred(const Session *s);
/* 55006: events of the table's rows wait. what: the statement that would change it, "DROP TABLE". */
Status constraints_none_wait(Session *s, const Table *t, const char *what);

#endif
