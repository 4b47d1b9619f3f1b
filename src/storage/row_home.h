/* row_home.h - tablets whose cells lie in rows that bulks read and write in place (txn/store/image.h).
 *
 * A column of a tablet may have its cells in a home: memory with the table's rows one after the other, `stride` bytes
 * apart, that is not the tablet's. There is no second copy of such a cell: scans, point reads, updates, undo logs and
 * merges use it where it lies, and so do bulks. Of what the tablet keeps beside the cells (validity bits, bounds,
 * statistics, delete bits, row counts) bulks know nothing; tablet_home_changed and table_append_home say which rows
 * have changed and which have come.
 *
 * Only columns without a dictionary have a home; codes stay the tablet's. A cell of a string has the address of its
 * bytes, which never move: they are in the tablet's block, in its heap, where statements put them, or in the home's
 * strings (RowHome.texts), where bulks do. So a tablet holds the latter as long as it is there: its own cells refer to
 * them when it has left the home, and so do undo logs and versions.
 *
 * Versions (table_version.h) do not share cells of a home, which change in place; they share copies of them (HomeCopy).
 * Each version's is made at a boundary, of what has changed since the one before: bits say which rows that are, for as
 * long as versions have copies. So a boundary costs the rows that bulks have changed and not the table's size, readers
 * look at memory that is not written, and bulks, on all executors, write without looking at readers.
 *
 * Thread rules: as table.h, by the table's writer; the memory of a home may move only while nothing reads the table.
 */
#ifndef STELE_STORAGE_ROW_HOME_H
#define STELE_STORAGE_ROW_HOME_H

#include "storage/table.h"
#include "storage/tablet_block.h"

void row_home_drop(RowHome *h);
void home_texts_drop(HomeTexts *x);

/* A column's cells in a home, from a tablet's first row on. */
typedef struct HomeCells {
    char *cells;
    uint8_t *valid; /* a byte per row, 1 = not NULL; NULL: the column has no NULLs */
    int64_t stride;
} HomeCells;

/* To which the memory of a home is charged: it may live longer than the table. By default what the table was made
 * below. */
MemAccount *table_home_account(const Table *t);
void table_set_home_account(Table *t, MemAccount *a);
/* Bytes of strings in the blocks of tablets, in columns that have a home; about: those that statements have overwritten
 * (table_garbage) and of deleted rows are not counted. Cells refer to some of them. */
int64_t table_packed_texts(const Table *t);
/* Bytes of strings in open cells that were overwritten, which table_garbage has among others. Quick. */
int64_t table_dead_texts(const Table *t);
/* The home of the column's cells; NULL: the tablet's own. */
static inline RowHome *tablet_home(const Tablet *tab, int col) {
    return tab->block->delta ? tab->block->delta[col].home : NULL;
}
/* The column's cells are those from here on, which are equal to what it has. Tablets of one table never get strings of
 * two homes. 53200: it is as it was. */
Status tablet_settle(Tablet *tab, int col, RowHome *h, const HomeCells *at, Err *e);
/* The home has moved. */
void tablet_home_moved(Tablet *tab, int col, const HomeCells *at);
/* The tablet gets its own cells again. 53200: it is as it was. */
Status tablet_leave_home(Tablet *tab, int col, Err *e);

/* Cells of a column with a home as of a boundary, side by side; behind them is room for rows that are not there yet.
 * Versions share them by count, and add patches (patches.h) of the rows that have changed since the copy was made. When
 * more than one row in 32 has, or there is no room, the next version gets a copy of its own. */
typedef struct HomeCopy {
    SharedBytes *cells;
    Patches *patches; /* NULL: none */
    int64_t rows;     /* of `before`: that it has */
} HomeCopy;
/* The copy for a version, as the tablet is now; both counted. before: what the version has that was made of the tablet
 * last, borrowed; NULL: there is none, and bits tell nothing. *bytes grows by what is copied. The bits are cleared.
 * 53200: they are lost, so that the next copy must be made without `before`. By the table's writer. */
Status home_copy_make(Tablet *tab, int col, const HomeCopy *before, HomeCopy *out, int64_t *bytes, Err *e);

/* What a run of new cells of one column looks like. */
typedef struct CellSummary {
    int64_t n, nulls;
    bool has_range, wide;
    int64_t min, max;
    double bytes;
} CellSummary;

/* Cells of a column that has a home were changed there, in rows[0..n) of the tablet: validity and bounds follow, and
 * *s takes the new cells in. Different tablets by several threads at once. Cannot be undone, and need not be: what an
 * error leaves is right for the table as it was, and as it is. */
Status tablet_home_changed(Tablet *tab, int col, int64_t n, const int32_t *rows, CellSummary *s, Err *e);
/* Counts the bytes of strings in columns that have a home, for tablet_text_bytes: where their bound seems to be
 * reached. Threads as above. */
void tablet_count_texts(Tablet *tab);
/* Afterwards, by the table's writer: columns cols[] have the cells of sums[] now. */
void table_home_changed(Table *t, int n_cols, const int *cols, const CellSummary *sums);

/* Rows that have come in a home and become the table's last rows. */
typedef struct HomeRows {
    RowHome *home;
    int64_t n;              /* at most TABLET_ROWS */
    const HomeCells *cells; /* by column, of the first row; those with a dictionary are copied */
    const uint8_t *dead;    /* by row: it is there for its number only; NULL: none is */
    bool continues;         /* the rows before them in the home are the table's last ones */
} HomeRows;
/* *first: the first one's rowid, the others follow it. Keys are entered: 23505. On an error nothing has changed.
 * `pool` (NULL: none) takes columns at the same time. */
Status table_append_home(Table *t, const HomeRows *r, Pool *pool, UndoLog *undo, int64_t *first, Err *e);

#endif
