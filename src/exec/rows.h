/* rows.h - the row store: how rows are kept between segments.
 *
 * Rows have a fixed width: cells at aligned offsets, one validity byte per nullable column, Str cells
 * whose bytes live in the heap of the row's page (or elsewhere when stable). Pages grow from 2 to 256 KiB and are
 * filled by one worker each. A row is known by its address while its page is in memory, and by its number in the
 * sequence after rows_finish.
 *
 * Spilling writes whole pages to a temporary file (strings relocated) and reads them back one by one.
 */
#ifndef STELE_EXEC_ROWS_H
#define STELE_EXEC_ROWS_H

#include "exec/exec.h"

typedef struct RowLayout {
    int32_t n_cols;
    const CellSpec *cols;
    int32_t *offset;       /* of the cell */
    int32_t *valid_offset; /* of the validity byte, -1 when not nullable */
    int32_t width;         /* multiple of 8, of 16 when there is an I128 cell */
} RowLayout;
/* `header` bytes are left free at the start of each row (hash, next pointer). */
Status row_layout_init(RowLayout *l, Arena *a, int32_t n_cols, const CellSpec *cols, int32_t header);

typedef struct RowStore RowStore;
Status rows_new(const RowLayout *layout, int workers, MemAccount *acct, Vfs *vfs, const char *temp_dir, RowStore **out,
                Err *e);
void rows_free(RowStore *r);
/* Pages go to disk, too, when the store has more than so many bytes; 0: only when memory runs out. */
void rows_set_most(RowStore *r, int64_t bytes);
const RowLayout *rows_layout(const RowStore *r);
/* Appends n rows from vectors, cols[i] of layout column i. `order` (morsel number) is remembered per page run when rows
 * are to be read in order. Spills to disk by itself when the account's headroom runs out and spilling is allowed.
 */
Status rows_append(RowStore *r, int worker, int64_t order, int64_t n, const Vec *cols, Err *e);
/* Ends appending: pages of all workers become one sequence (in `order` order when ordered). */
Status rows_finish(RowStore *r, bool ordered, Err *e);
int64_t rows_count(const RowStore *r); /* after rows_finish */

/* Rows in one store after the other: `next` gives the store behind, which is good until it is called again; *rows NULL:
 * there is none. */
typedef struct RowPieces {
    Status (*next)(void *ctx, RowStore **rows, Err *e);
    void *ctx;
} RowPieces;

/* Reading in runs, in sequence: run i in [0, rows_n_runs) is a piece of one page; loaded from disk if spilled. */
typedef struct RowRun {
    const char *rows;
    int64_t n;
    int64_t width;
    void *pin;
} RowRun;
int64_t rows_n_runs(const RowStore *r);
int64_t rows_run_start(const RowStore *r, int64_t run);              /* number of its first row in the sequence */
Status rows_run_open(RowStore *r, int64_t run, RowRun *out, Err *e); /* thread-safe */
void rows_run_close(RowStore *r, RowRun *run);
/* Gathers column `col` of rows at row pointers into vector `out` of out->phys = the column's phys; fills out->valid
 * (must have room) or sets it to NULL when there are no NULLs. */
void rows_gather(const RowLayout *l, int32_t col, const char *const *rows, int64_t n, Vec *out);
/* The same for n consecutive rows of a run starting at slot `first` (pos NULL) or at pos[]. */
void rows_load(const RowLayout *l, int32_t col, const RowRun *run, int64_t first, const int32_t *pos, int64_t n,
               Vec *out);
/* One cell of the result by global row number (random access; spilled pages are cached one at a time). NULL data
 * pointer in *is_null. */
Status rows_cell(RowStore *r, int64_t row, int32_t col, const void **cell, bool *is_null, Err *e);

#endif
