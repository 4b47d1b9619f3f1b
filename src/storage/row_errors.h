/* row_errors.h - errors of rows that a table's constraints refuse: one wording for statements, routines and bulks.
 *
 * SQLSTATE, message, detail and names are PostgreSQL's. A row is given as one pointer to a cell for each column of the
 * table, NULL for NULL: cells of a vector, of an image, or of values alike. All of these set *e and return ST_ERROR.
 * Memory that the text of a row takes and cannot have shortens the detail and nothing else. Any thread.
 */
#ifndef STELE_STORAGE_ROW_ERRORS_H
#define STELE_STORAGE_ROW_ERRORS_H

#include "storage/table.h"

/* Messages, for programs that raise them: of column and table; of table and constraint. */
#define ROW_NULL_TEXT "null value in column \"%s\" of relation \"%s\" violates not-null constraint"
#define ROW_CHECK_TEXT "new row for relation \"%s\" violates check constraint \"%s\""
#define ROW_KEY_TEXT "duplicate key value violates unique constraint \"%s\""
#define ROW_VIEW_TEXT "new row violates check option for view \"%s\""

/* 23502: column `col` of the row is NULL. `cells` NULL: without "Failing row contains", where the rest of the row is
 * not known, or may be changing under another call. */
Status row_null_error(const Table *t, int col, const void *const *cells, Err *e);
/* 23514: of CHECK constraint `name`. `cells` as above. */
Status row_check_error(const Table *t, const char *name, const void *const *cells, Err *e);
/* 44000: of a view WITH CHECK OPTION. */
Status row_view_error(const Table *t, const char *view, const void *const *cells, Err *e);
/* The detail of these, for an error that is set; `cells` NULL: none. */
void row_failing_detail(const Table *t, const void *const *cells, Err *e);
/* 23505: another row has the row's values of key number `key`. Only cells of its columns are read. */
Status row_key_error(const Table *t, int key, const void *const *cells, Err *e);
/* ... a row that the table has. */
Status row_key_error_stored(const Table *t, int key, int64_t rowid, Err *e);
/* The detail "Key (names)=(values) after." of an error that is set. */
void row_key_detail(int n, const char *names, const Type *types, const void *const *cells, const char *after, Err *e);
/* 23505 of a unique index: its columns and the values that two rows have there, as texts (NULL: without a detail). */
Status row_duplicate_error(const Table *t, const char *name, const char *columns, const char *values, Err *e);

#endif
