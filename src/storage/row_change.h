/* row_change.h - rows inserted, updated and deleted: the operations by which everybody changes a table's rows, what
 * each checks, in which order, and what an error leaves (README.md, Changes of rows).
 *
 * Values come as vectors, computed and cast by the caller, and beside them what CHECK constraints say of the rows.
 * All of these are for the table's one writer.
 */
#ifndef STELE_STORAGE_ROW_CHANGE_H
#define STELE_STORAGE_ROW_CHANGE_H

#include "storage/table.h"

/* CHECK constraints, in the order in which they are looked at, and behind them the conditions of views WITH CHECK
 * OPTION. */
typedef struct RowChecks {
    int32_t n;
    const Vec *vals;          /* booleans beside the values, not constant: false refuses a row, NULL does not */
    const char *const *names; /* of the constraints, and the views */
    int32_t n_views;          /* so many of the last are of views: where rows are stored these come behind keys */
} RowChecks;
/* The same without those of views: of rows that may not be stored. */
static inline RowChecks checks_of_table(RowChecks x) {
    x.n -= x.n_views;
    x.n_views = 0;
    return x;
}

/* New rows, or what rows get in some columns: rows first .. first + n - 1 of vectors of type_phys cells (integers may
 * be of another width; PH_STR bytes are copied when they are stored). */
typedef struct NewRows {
    int64_t first, n;
    int32_t n_cols;
    const int32_t *cols; /* of the table; NULL: all of them */
    const Vec *vals;     /* n_cols of them */
    RowChecks checks;
} NewRows;

/* Stores the rows: NOT NULL (23502), CHECK (23514), unique indexes (23505), views (44000). rowids: the rows' numbers;
 * may be NULL. An error leaves nothing of the call, in the table or in `undo`. undo NULL: it cannot be undone later. */
Status rows_insert(Table *t, const NewRows *x, UndoLog *undo, int64_t *rowids, Err *e);
/* Stores the cells into the rows of numbers rowids[first ..]; those that are deleted are checked and left out. Checks
 * and errors as of rows_insert, keys as if all rows changed at once. Rows stay where they are, but as table_update
 * says. */
Status rows_update(Table *t, const NewRows *x, const int64_t *rowids, UndoLog *undo, Err *e);
/* How many of the rows pass NOT NULL and CHECK before the first that does not. */
int64_t rows_passing(const Table *t, const NewRows *x);
/* NOT NULL and CHECK of the rows, and nothing else: the error is that of the first that is refused. rowids: as of
 * rows_update; NULL: the rows are new. */
Status rows_check(const Table *t, const NewRows *x, const int64_t *rowids, Err *e);
/* A stored row that has the key of row `first` of x, which has all columns, in unique index `index` (-1: in any), for
 * ON CONFLICT. *rowid -1: none. */
Status rows_conflict(Table *t, int index, const NewRows *x, int64_t *rowid, Err *e);

#endif
