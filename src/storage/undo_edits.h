/* undo_edits.h - which rows of a table a statement has changed, and what was in them: read from its part of the log.
 *
 * The log is shown, and what is asked about is the newest in it. Constraints that concern more than one row
 * (session/core/foreign.c) are checked by this, whatever kind of statement made the changes.
 */
#ifndef STELE_STORAGE_UNDO_EDITS_H
#define STELE_STORAGE_UNDO_EDITS_H

#include "storage/table.h"

/* Rows of consecutive numbers. */
typedef struct RowRange {
    int64_t first, n;
} RowRange;
/* An updated row. */
typedef struct RowEdit {
    int64_t was, is;       /* its number: the same when it has stayed where it was */
    int64_t record, place; /* it has stayed: the first of the log's records with its old cells, and where in them */
} RowEdit;
typedef struct TableEdits {
    const UndoLog *log;
    const Table *table;
    VEC(RowRange) inserted;
    VEC(int64_t) deleted;
    VEC(RowEdit) updated;
    bool renumbered; /* a load has given all rows other numbers; `inserted` has the new ones */
} TableEdits;

/* Changes of t that were logged after the mark, in the arena: by statements that change a row once. cols: of updates
 * only those count that set one of these columns (by column of the table). ST_ERROR: out of memory (the arena's Err).
 */
Status undo_edits(const UndoLog *u, int64_t mark, const Table *t, const bool *cols, Arena *a, TableEdits *out);
/* The cell as it was before; its bytes are the table's. */
void undo_edit_value(const TableEdits *x, const RowEdit *e, int col, Value *out);
RowRange undo_edits_tablet(const Table *t, int64_t tablet); /* its rows, deleted ones too */
bool undo_names_on_commit(const UndoLog *u);                /* some table that it names has Table.on_commit */
/* What was logged after the mark changes rows of one of the tables, by id. */
bool undo_changes_tables(const UndoLog *u, int64_t mark, int n, const int64_t *ids);
bool undo_names_permanent(const UndoLog *u); /* some table that it names is not temporary */
/* The row is there, and not deleted. */
bool table_has_row(const Table *t, int64_t rowid);

#endif
