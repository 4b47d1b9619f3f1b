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
    int64_t dense; /* unique, index_can_be_dense: so many first rows have no entries; of those that live, row r has the
                      key first_key + r, modulo 2^64 */
    uint64_t first_key;
    int32_t order; /* group index: 1 + column (NOT NULL, PH_I16 .. PH_I64) its groups are in order of, the greatest
                      first with `desc`; 0: none */
    bool desc;
} ImageIndex;
static inline int64_t image_next_cells(const ImageIndex *x) { return x->order ? 4 : 1; }

/* Which rows of the table those of a run of the image's rows are. Rows of a tablet mostly lie in the image in their
 * order: then one number tells them all. */
enum { ROWID_RUN_BITS = 10, ROWID_RUN = 1 << ROWID_RUN_BITS };
typedef struct RowidRun {
    int64_t *ids;  /* by row: the table's, -1: not there. NULL: they follow one another in the table */
    int64_t first; /* then: what the run's first row is there, or would be */
    bool known;    /* ... when some row is there */
} RowidRun;

typedef struct Image {
    Table *table;
    int64_t version; /* Table.content when made, last synchronised or brought up to date */
    MemAccount *account;
    int64_t cap;          /* rows that fit */
    _Atomic int64_t rows; /* rows in use, dead ones included: the next insert's number */
    uint8_t *live;        /* cap bytes, ROW_*: only ROW_LIVE is there */
    uint8_t *dirty;       /* cap bytes: DIRTY_* since the last sync */
    RowidRun *rowids;     /* by row / ROWID_RUN; stored_rowid */
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
/* A unique key of one integer, date or time of at most 64 bits. */
static inline bool index_can_be_dense(const Image *im, const ImageIndex *x) {
    if (!x->unique || x->n_cols != 1) return false;
    const uint8_t phys = im->cols[x->cols[0]].phys;
    return phys == PH_I16 || phys == PH_I32 || phys == PH_I64;
}
static inline uint8_t *image_cell(const ImageColumn *c, int64_t row) { return c->cells + row * c->stride; }
static inline bool image_is_valid(const ImageColumn *c, int64_t row) { return !c->valid || c->valid[row * c->stride]; }
static inline void image_set_valid(const ImageColumn *c, int64_t row, bool valid) {
    if (c->valid) c->valid[row * c->stride] = valid;
}
/* The table's row, -1: not there. Not to be read of rows with DIRTY_INSERTED, which are not there yet: image_is_stored.
 * In a run of rows that follow one another those that are not there are dead, and not by a bulk whose changes the table
 * does not have. */
static inline int64_t stored_rowid(const Image *im, int64_t row) {
    const RowidRun *r = &im->rowids[row >> ROWID_RUN_BITS];
    const int64_t at = row & (ROWID_RUN - 1);
    if (r->ids) return r->ids[at];
    return r->known && (im->live[row] == ROW_LIVE || im->dirty[row] & DIRTY_DELETED) ? r->first + at : -1;
}
/* The table has the row. */
static inline bool image_is_stored(const Image *im, int64_t row) {
    return !(im->dirty[row] & DIRTY_INSERTED) && stored_rowid(im, row) >= 0;
}

#endif
