/* undo_rows.h - rows that the logs of open transactions hold, and additions to rows.
 *
 * A log holds the rows that it has updated, deleted or locked: no other may change them before it ends. An addition
 * (UNDO_ADD: column = column + n, of an exact type, the column not read) is an update that does not: any number of logs
 * may add to one cell, in any order, and what is shown is the sum of those that are shown. Its record has n in place of
 * the old cell; hiding subtracts it, showing adds it to what the cell is by then. Once its transaction has read the
 * row, the addition is like any other update: what was read may not change any more, so that the log holds the row.
 *
 * Additions are of open logs only: kept ones (transaction.h) have plain updates, with the cells before and after
 * (undo_settle_adds).
 *
 * Thread rules: as table.h, under the database lock; the marks of what was read are changed and looked at by several
 * holders of the shared lock, under one mutex of the caller.
 */
#ifndef STELE_STORAGE_UNDO_ROWS_H
#define STELE_STORAGE_UNDO_ROWS_H

#include "storage/table.h"

/* Before an update of these columns of a row becomes additions: any sum can be shown in its cells. Under the lock held
 * alone. 53200. */
Status undo_reserve_adds(Table *t, int64_t rowid, int n, const int *cols, Err *e);
/* Of qsort and bsearch: rowids by their order. */
static inline int rowid_cmp(const void *x, const void *y) {
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}
/* undo_net.c: sorts n rowids, each once; how many these are. */
int64_t sort_distinct(int64_t *v, int64_t n);

/* The updates after the mark, of integers and numerics, are additions from now on: the difference of the new cells to
 * the old ones. false: some cell is or was NULL, a row has moved, or a sum may be beyond 64 bits in a packed column,
 * and nothing has changed. Shown, and the newest. */
bool undo_make_adds(UndoLog *u, int64_t mark);
/* Shown and the newest: additions become updates. Cannot fail. */
void undo_settle_adds(UndoLog *u);
/* 22003: shown elsewhere (undo_show), a sum is beyond its column's type. */
Status undo_check_adds(const UndoLog *u, Err *e);
/* All that the log has done to the row is additions, and it has not read it before the commit `ts`. */
bool undo_only_adds(const UndoLog *u, const Table *t, int64_t rowid, int64_t ts);

/* Deferred additions: the log is hidden, and all that it has is such ones; the table is not touched, and the database
 * lock held shared is enough. A log that is empty becomes hidden so. The row's cell is not NULL. */
Status undo_defer_add(UndoLog *u, Table *t, int64_t rowid, int col, int128_t n, Err *e);
int128_t undo_deferred_sum(const UndoLog *u, const Table *t, int64_t rowid, int col); /* of additions to the cell */
void undo_drop_deferred(UndoLog *u, int64_t mark);                                    /* those after the mark */
/* Before they are shown on top of what others have committed: under the lock held alone. *gone: one of their rows was
 * deleted, or the table has other data (TRUNCATE). 53200. */
Status undo_reserve_deferred(UndoLog *u, bool *gone, Err *e);

/* The log's owner, who sees all commits up to ts, reads the row, or all rows of the table with that id (rowid < 0).
 * True: it has added to some, which count as read until undo_keep_reads says for how long: to the end (keep), or not at
 * all. */
bool undo_read_adds(UndoLog *u, int64_t table, int64_t rowid, int64_t ts);
void undo_keep_reads(UndoLog *u, bool keep);
bool undo_has_unread(const UndoLog *u); /* false: undo_read_adds would find none; for the owner, without the mutex */
/* Holds the row without a change. */
Status undo_lock_row(UndoLog *u, Table *t, int64_t rowid, Err *e);

/* What of a log is compared. */
typedef enum UndoWaits {
    UNDO_WAITS_STATEMENT, /* what came after the mark, and additions that were read just now; additions only with rows
                             that the other log deletes */
    UNDO_WAITS_COMMIT,    /* additions that were not read */
    UNDO_WAITS_ALL        /* what came after the mark */
} UndoWaits;
/* Rows that others may have to wait for, of records from number `first` on: those that it holds, and rowid -1 for new
 * rows of a table with keys. read_now: those instead to which it has added and that undo_read_adds was called for since
 * undo_keep_reads. Ends with false as soon as fn does. */
typedef bool (*UndoRowFn)(void *ctx, const Table *t, int64_t rowid);
bool undo_each_held(const UndoLog *u, int64_t first, bool read_now, UndoRowFn fn, void *ctx);
/* undo_waits may find something with a log of which `held` is true for such a row. */
bool undo_may_wait(const UndoLog *u, int64_t mark, UndoWaits what, UndoRowFn held, void *ctx);
/* *yes: the log names rows that `other` holds, deletes rows to which it adds, or has a new row with a key of a new row
 * of its. 53200. */
Status undo_waits(const UndoLog *u, int64_t mark, UndoWaits what, const UndoLog *other, bool *yes, Err *e);

#endif
