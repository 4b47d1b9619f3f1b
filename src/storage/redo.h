/* redo.h - changes of a table's rows as bytes of the redo log, and back.
 *
 * What a transaction comes to (undo_net) is written with the rows' numbers and the cells that they have now: rows that
 * are gone; rows that stay, with the columns set; rows that have come, with all columns.
 *
 * Bulks that are logged by their inputs have no cells there. What the table says of their rows when it is brought up to
 * date is RowNumbers: with these, the numbers of later changes are found again when the bulks have run anew.
 *
 * Row numbers in the log are those that the table had when it was written. Applied to a table that was loaded from a
 * file, rows come to lie elsewhere: open tablets of that time are packed now, and nothing is appended to them.
 * RedoPlaces keeps where; rows without an entry have the number that the log names.
 *
 * Thread rules: as for changes of the table.
 */
#ifndef STELE_STORAGE_REDO_H
#define STELE_STORAGE_REDO_H

#include "base/bytes.h"
#include "storage/row_change.h"

/* Rows that the bytes of the change would have, deleted ones included. */
int64_t redo_rows(const NetChange *c);
/* c: by undo_net, not `replaced`, of changes that are shown. What is needed meanwhile is in the arena. */
Status redo_put(const NetChange *c, Arena *a, BytesOut *out, Err *e);

/* The same for rows of one statement, before they change: they get these cells (x as of rows_update), or (x NULL) are
 * deleted. Each is named once, and will stay where it is. */
Status redo_put_change(const Table *t, int64_t n, const int64_t *rowids, const NewRows *x, BytesOut *out, Err *e);

/* Rows that have changed alike, with their numbers in the log. All of it is good until the next. */
typedef enum RedoChangeKind { REDO_DELETED, REDO_UPDATED, REDO_INSERTED } RedoChangeKind;
typedef struct RedoChange {
    RedoChangeKind kind;
    int64_t n, *rows;
    int n_set, *cols; /* of deleted ones none, of inserted ones all */
    Vec *vals;        /* of each of these n cells */
} RedoChange;
/* *valid, true at first: false where a table cannot have changed so. */
typedef Status (*RedoEach)(void *ctx, const RedoChange *c, bool *valid, Err *e);
/* What redo_put has written of a table with t's columns, piece by piece. Not more than `most` rows were deleted, or
 * updated. What is needed meanwhile is charged to acct. *valid false: the bytes are none that redo_put writes, or a
 * piece was not taken. */
Status redo_read(const Table *t, int64_t most, MemAccount *acct, BytesIn *in, RedoEach each, void *ctx, bool *valid,
                 Err *e);

/* Rows first .. first + n - 1 of the log are at, at + 1, ... */
typedef struct RedoPlace {
    int64_t first, n, at;
} RedoPlace;
typedef struct RedoPlaces {
    MemAccount *acct;
    int64_t n, cap;
    RedoPlace *items; /* by `first`, none meets another */
    int64_t applied;  /* rows that have changed, so far */
} RedoPlaces;
void redo_places_free(RedoPlaces *p);
/* Applies what redo_put has written. *valid false: the bytes are none that it writes, or
 * name rows that are not there; the table is only good to be freed then. */
Status redo_apply(Table *t, RedoPlaces *places, BytesIn *in, bool *valid, Err *e);

/* What a table learns of its rows when it is brought up to date behind bulks (txn/store/image.h): rows that lie
 * elsewhere now, and rows that have come, in the order of their calls. */
typedef struct RowMove {
    int64_t was, is;
} RowMove;
typedef struct RowsCome {
    int64_t first, n;
} RowsCome;
typedef struct RowNumbers {
    Arena *arena;
    VEC(RowMove) moved;
    VEC(RowsCome) come;
} RowNumbers;
/* False: no memory. */
bool row_numbers_moved(RowNumbers *x, int64_t was, int64_t is);
bool row_numbers_come(RowNumbers *x, int64_t first, int64_t n); /* rows first .. first + n - 1, in this order */
void redo_put_numbers(const RowNumbers *x, BytesOut *out);
/* The bulks have run again, and the table is up to date: `here` are the numbers that its rows have got, the bytes have
 * those that they had. As redo_apply. */
Status redo_renumber(RedoPlaces *places, const RowNumbers *here, BytesIn *in, bool *valid, Err *e);

#endif
