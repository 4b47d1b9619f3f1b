/* changes.h - a data change in three steps (dml.c), and the statements that make several (with_changes.c). */
#ifndef STELE_SESSION_CORE_CHANGES_H
#define STELE_SESSION_CORE_CHANGES_H

#include "session/core/constraints.h"

/* Rows of a table by number, in an arena. */
typedef struct RowSet {
    Arena *a;
    int64_t *slots; /* 2^bits of them: a number plus 1, 0 for none */
    int64_t n;
    int bits;
} RowSet;
bool row_set_has(const RowSet *r, int64_t rowid);
Status row_set_add(RowSet *r, int64_t rowid);

/* An INSERT, UPDATE, DELETE or MERGE. */
typedef struct Change {
    BoundStmt *b;
    struct ChangeApply *ready; /* its rows as the table takes them (change_prepare); NULL: they are not yet */
    struct MergeRun *merge;    /* likewise, of MERGE */
    Query *query;              /* owns rows; freed by the caller */
    RowStore *rows;
    int32_t first_result;
    const RowSet *changed; /* rows of the table that the same statement has changed before: they stay as they are. NULL:
                              none */
    int64_t *map; /* applied: rows of the store that took effect (Statement.row_map); NULL: all. MERGE: those that
                     were inserted, then those that were updated */
    int64_t n_kept, n_shown, done;
    int64_t n_inserted, n_updated, n_deleted; /* of MERGE */
    int64_t plan_ns, run_ns;                  /* what making the plan, and its rows, took */
    int64_t mark;                             /* of the log: changes behind it are not among the events */
    KeyEvents *events;                        /* applied: what its constraints have to look at; the statement's */
} Change;
/* 0. Nothing under way reads the table: 55006. */
Status change_allowed(Session *s, const BoundStmt *b);
/* 1. Its rows, as the tables are now. */
Status change_plan(Session *s, Arena *a, PlanCtx *c, BoundStmt *b, MemAccount *acct, Change *x);
/* What of 2. needs no lock, if there is some, for the table that will be changed. change_forget, unless it is applied.
 */
Status change_prepare(Session *s, Arena *a, Change *x, Table *target);
void change_forget(Change *x);
/* 2. The table, logged in s->undo, and the events of its keys. An error leaves no change. */
Status change_apply(Session *s, Arena *a, Change *x);
/* 3. constraints_settle of its events. An error leaves changes: the caller rolls back. */
void change_result(Statement *st, const Change *x);

/* A statement with one change: 1., and then 2. and 3.; fills the statement's result. An error leaves no change. */
Status session_dml_plan(Session *s, Statement *st, PlanCtx *c, BoundStmt *b, Change *x);
Status session_dml_apply(Session *s, Statement *st, Change *x);

/* A statement with members of WITH that change data: fills the statement's result. */
Status session_with_changes(Session *s, Statement *st, PlanCtx *c, BoundStmt *b);
/* ... a SELECT; columns ids of its plan. */
Status session_run_with_changes(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct,
                                RunOutput *out);

/* insert_cells.c. Loads rows that are there as cells, `least` of them or more. *done false: the statement is not of
 * that form, and nothing has happened. */
Status session_insert_cells(Session *s, Statement *st, const BoundStmt *b, int64_t least, bool *done);

#endif
