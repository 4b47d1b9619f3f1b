/* pieces.h - columns of many rows computed anew beside the table, and delete bitmaps: UPDATE and DELETE that change
 * much.
 *
 *     a pinned version --- pieces_make ---> for each tablet with many of the rows a piece: the tablet with its columns
 *     and the rows' new     (threads,       packed anew (or a bitmap), the same rows at the same places
 *     cells                 no lock)
 *     the table  --------- pieces_apply --> tablets change places with those of the pieces, under the lock: a pointer
 *                                           each. The log has one record (UNDO_PIECES), with what was there before
 *
 * A piece takes its tablet's place only when that is still as the version has it (TabletBlock.changes), no other undo
 * log names the table (logs write to cells where they are), and its dictionaries have no entries that the version lacks
 * and that the piece reckoned without. Rows of other tablets, and of tablets with few of the rows, change one by one as
 * by rows_update and table_delete. Row numbers stay, zone maps and statistics follow. Columns of keys are not set so:
 * an index may be their order.
 *
 * The record is for the log's own table as it left it: rolled back, hidden and shown by exchanging the pointers again.
 * Once others may change rows of the tablets beside it, in a state before the log or in one behind it, which the
 * pointers would take back, it must become records of cells first (undo_unpack_pieces).
 *
 * Thread rules: pieces_make needs no lock, but the version pinned; the table may go meanwhile. The rest as table.h.
 */
#ifndef STELE_STORAGE_PIECES_H
#define STELE_STORAGE_PIECES_H

#include "base/bytes.h"
#include "storage/row_change.h"

typedef struct TablePieces TablePieces;
typedef struct PieceInput {
    const Table *version; /* that the rows were read from */
    Table *table;
    int64_t n;
    const int64_t *rowids;
    const NewRows *set; /* as of rows_update, all of n rows; NULL: the rows are deleted */
    Pool *pool;         /* NULL: one thread */
    int workers;
    const _Atomic bool *cancel;
} PieceInput;
/* *out NULL: rows_update or table_delete does it as well, or has an error to tell. 57014, 53200. */
Status pieces_make(const PieceInput *in, TablePieces **out, Err *e);
/* The same rows and cells, when the table is as it is now; the version may have gone. Consumes the pieces. *done: rows
 * of pieces, and deleted ones. Errors as of rows_update and table_delete: nothing of it remains. */
Status pieces_apply(TablePieces *p, const int64_t *rowids, const NewRows *set, UndoLog *undo, int64_t *done, Err *e);
void pieces_free(TablePieces *p); /* NULL is fine */

/* What the caller has made of the same input beforehand, for the commit: given back when all that the log has is the
 * rows of one pieces_apply, which are where they were. NULL: it has more, or there is none. `drop` is called in the
 * end. */
void pieces_keep_made(TablePieces *p, void *made, void (*drop)(void *made));
void *undo_made(const UndoLog *u, const Table **t);

/* The log is shown: its records of pieces become records of cells and rows. 53200: some may have. */
Status undo_unpack_pieces(UndoLog *u, Err *e);

#endif
