/* pieces_int.h - what the record of pieces (pieces.h) has; for undo logs and what reads them (undo*.c). */
#ifndef STELE_STORAGE_PIECES_INT_H
#define STELE_STORAGE_PIECES_INT_H

#include "storage/pieces.h"
#include "storage/storage_int.h"

/* Of one tablet. */
typedef struct Piece {
    int64_t number;     /* the tablet's */
    const Tablet *was;  /* as the version has it; while they are made */
    Tablet *origin;     /* the table's, counted, until they are applied; */
    int64_t changes;    /* so often it had been changed in place */
    int64_t first, end; /* of its rows, in the order of TablePieces.places */
    int64_t n;          /* rows that change */
    uint64_t *rows;     /* a bit for each row of a full tablet, set: it changes */
    Tablet *tablet;     /* not the table's: before they are applied the new one, from then on the old one */
    uint64_t *deleted;  /* of deleted rows, likewise, DELETED_BYTES */
    CellSummary *cells; /* by column set: of new cells */
} Piece;
struct TablePieces {
    Table *table;
    MemAccount *acct;
    bool held;    /* the table is, until they are applied (TableImpl.held) */
    bool shown;   /* the table has them */
    bool deletes; /* rows; else columns are set: */
    int n_set;
    int *set;
    Dict **dicts;    /* by column set: new strings, in the order of the codes that they get */
    int32_t *coded;  /* entries that the column's dictionary had */
    int64_t n_rows;  /* of the input */
    int64_t *places; /* these by tablet; NULL: in their order */
    int64_t n, cap;
    Piece *items; /* by number */
    void *made;   /* pieces_keep_made; NULL: none */
    void (*drop_made)(void *made);
    int64_t made_of; /* records of the log */
    int64_t n_rest;  /* rows of other tablets, */
    int64_t *rest;   /* by place in the input */
};
enum { PIECE_ROWS_BYTES = TABLET_ROWS / 8 };

/* rows_update of those rows of x whose numbers in it are in places[0 .. n - 1], without checks but for keys. */
Status rows_update_some(Table *t, const NewRows *x, const int64_t *rowids, int64_t n, const int64_t *places,
                        UndoLog *undo, Err *e);
/* The table and the pieces exchange what they have. */
void pieces_swap(TablePieces *p);
int64_t pieces_rows(const TablePieces *p);
bool pieces_set_column(const TablePieces *p, int col);
bool pieces_have_row(const TablePieces *p, int64_t rowid);
/* Rowids in ascending order; room for pieces_rows of them. */
void pieces_list_rows(const TablePieces *p, int64_t *rowids);
/* Applied: the cell as it was before, of a row and a column that they have. Its bytes are the old tablet's. */
void pieces_old_value(const TablePieces *p, int64_t rowid, int col, Value *out);
/* Bytes that they keep: of tablets, bitmaps and lists. */
int64_t pieces_bytes(const TablePieces *p);

#endif
