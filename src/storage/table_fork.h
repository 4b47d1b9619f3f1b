/* table_fork.h - a transaction's own table: a version of a table, and what the transaction has changed of it.
 *
 * A fork is a Table like any other: everything that reads tables works on it, and rows change by the operations of
 * row_change.h, with an undo log. No other session sees it, and no lock is needed.
 *
 *     version (immutable, pinned) -> tablets 0 .. n - 1      shared by the fork, until it changes one: then a tablet of
 *                                                            its own begins as that, with the same bytes and patches
 *     fork                        -> tablets n ..            its own: new rows
 *                                 -> indexes                 its own, of entries that it has made; below, the version's
 *                                 -> dictionaries            the version's, until it adds an entry
 *
 * Row numbers below tablet n are the table's; those behind are the fork's alone. So what has become of a fork can be
 * applied to the table, as it is then: table_fork_apply.
 *
 * The version must stay pinned as long as the fork is there, but for being freed. Not forked are tables with computed
 * keys (exprindex.h), which the table's writer alone computes.
 */
#ifndef STELE_STORAGE_TABLE_FORK_H
#define STELE_STORAGE_TABLE_FORK_H

#include "storage/table.h"

static inline bool table_can_fork(const Table *version) { return version->n_exprs == 0; }
/* Charged to `parent`, which outlives it. */
Status table_fork_new(const Table *version, MemAccount *parent, Table **out, Err *e);
void table_fork_free(Table *f);             /* no log names it; NULL is fine */
const Table *table_fork_of(const Table *t); /* the version; NULL: it is no fork */
/* What it has added to cells without reading them (undo_rows.h) becomes deferred additions in `undo`, which is empty or
 * has such ones alone; they are shown before the rest is applied: */
Status table_fork_defer_adds(const Table *f, const UndoLog *log, Table *t, UndoLog *undo, Err *e);
/* All else that the fork's log says goes to the table whose version it is of, as new operations that are logged in
 * `undo`: deletes, then updates, column by column but for those of keys, then new rows in their order. Rows of the
 * version have kept their numbers. 23505: another row has a key of its by now; 53200. The caller undoes what has been
 * done. */
Status table_fork_apply(const Table *f, const UndoLog *log, Table *t, UndoLog *undo, Err *e);

#endif
