/* image_layout.h - how a table lies in memory while bulks run on it: the form that hosts, emitted kernels and devices
 * share.
 *
 * Plain data and no code of its own: txn/store/image.h makes it and says what the fields mean and who may change them
 * when; codegen/emit_proc.h writes kernels whose texts have its strides in them.
 */
#ifndef STELE_PROGRAM_IMAGE_LAYOUT_H
#define STELE_PROGRAM_IMAGE_LAYOUT_H

#include "codegen/prelude/txn/kp_codes.h"
#include "storage/table.h"

typedef struct ImageColumn {
    bool used;    /* present: some procedure reads or writes it, or it is part of a key, or the table gets inserts (then
                     all are) */
    uint8_t phys; /* of the cells */
    int32_t piece;  /* of a row: Image.pieces */
    int64_t stride; /* from row to row, of cells and valid */
    uint8_t *cells;
    uint8_t *valid; /* bytes, 1 = not NULL; NULL when the column is NOT NULL. The cell of a NULL is zero */
} ImageColumn;
/* The columns of a row that are used lie in two pieces: those that no procedure updates, and those that some do. So a
 * search by key that reads some columns has few cache misses, and cells that are written share no cache line with cells
 * that are only read. */
enum { ROW_PIECES = 2 };
typedef struct RowPiece {
    uint8_t *rows;  /* cap pieces; NULL: no column is here */
    int64_t stride; /* bytes of a piece */
    bool texts;     /* has strings: those of rows that never were are zero */
} RowPiece;

typedef struct ImageIndex {
    bool unique; /* else a group index */
    int32_t key; /* number of the table's key constraint, -1 for a group index */
    int32_t n_cols;
    int32_t *cols;
    uint64_t *slots;
    int64_t mask;  /* slots - 1 */
    int64_t *next; /* group index: per row; image_next_cells(x) of them */
    int64_t used;  /* slots taken at most, when image_reserve looked last */
    int32_t order; /* group index: 1 + column (NOT NULL, PH_I16 .. PH_I64) its groups are in order of, the greatest
                      first with `desc`; 0: none */
    bool desc;
} ImageIndex;
static inline int64_t image_next_cells(const ImageIndex *x) { return x->order ? 4 : 1; }

typedef struct Image {
    Table *table;
    int64_t version; /* Table.content when made, last synchronised or brought up to date */
    MemAccount *account;
    int64_t cap;          /* rows that fit */
    _Atomic int64_t rows; /* rows in use, dead ones included: the next insert's number */
    uint8_t *live;        /* cap bytes, ROW_*: only ROW_LIVE is there */
    uint8_t *dirty;       /* cap bytes: DIRTY_* since the last sync */
    int64_t *rowids; /* the table's row, -1: not there. Not to be read of rows with DIRTY_INSERTED, which are not there
                        yet: image_is_stored */
    int32_t n_cols;
    ImageColumn *cols; /* by table column */
    RowPiece pieces[ROW_PIECES];
    int32_t n_indexes;
    ImageIndex *indexes; /* unique ones in the order of table->keys, then group indexes */
    int64_t generation;  /* grows when image_reserve moved or renumbered anything: addresses and row numbers from before
                            are void */
    struct ImageImpl *impl;
    struct DeviceCopy *device_copy;     /* device_copy.h; NULL: none */
    struct DeviceRowsView *device_rows; /* device_rows.h; NULL: none */
} Image;
typedef struct DeviceCopy DeviceCopy;
static inline uint8_t *image_cell(const ImageColumn *c, int64_t row) { return c->cells + row * c->stride; }
static inline bool image_is_valid(const ImageColumn *c, int64_t row) { return !c->valid || c->valid[row * c->stride]; }
static inline void image_set_valid(const ImageColumn *c, int64_t row, bool valid) {
    if (c->valid) c->valid[row * c->stride] = valid;
}
/* The table has the row. */
static inline bool image_is_stored(const Image *im, int64_t row) {
    return !(im->dirty[row] & DIRTY_INSERTED) && im->rowids[row] >= 0;
}

#endif
