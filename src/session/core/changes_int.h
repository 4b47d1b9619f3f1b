/* changes_int.h - rows of a plan's store as vectors, chunk by chunk, as changes of tables take them. For session/core.
 */
#ifndef STELE_SESSION_CORE_CHANGES_INT_H
#define STELE_SESSION_CORE_CHANGES_INT_H

#include "session/core/changes.h"
#include "storage/pieces.h"

enum {
    CHANGE_LOAD_ROWS = 50000, /* inserts of at least that many rows are encoded straight into main */
    CHANGE_CHUNK_ROWS = 2048
};

typedef struct Chunk {
    Vec *cols;
    void **data;
    uint8_t **valid;
} Chunk;

/* Some of a layout's columns. */
typedef struct ChunkCols {
    int32_t n;
    const int32_t *cols; /* NULL: the first n */
} ChunkCols;
/* Room for cap rows of these columns. */
Status chunk_init(Session *s, Arena *a, const RowLayout *l, ChunkCols which, int64_t cap, Chunk *c);
/* Rows first .. first + n - 1 of the run. */
void chunk_load(const RowLayout *l, const RowRun *run, int64_t first, int64_t n, Chunk *c);
/* Leaves those of the first n rows whose numbers are in keep[0 .. n_kept - 1], in rising order. */
void chunk_keep(const RowLayout *l, Chunk *c, int64_t n_kept, const int64_t *keep);
/* Rows first .. first + n - 1 of `in` go behind the n_all rows of `all`. copies_strings: texts do not last as long as
 * `a`. */
Status chunk_gather(Session *s, Arena *a, const Chunk *in, int64_t first, int64_t n, bool copies_strings,
                    ChunkCols which, Chunk *all, int64_t n_all);
/* What was gathered, as vectors. */
void chunk_gathered(const RowLayout *l, ChunkCols which, Chunk *all);
static inline int32_t chunk_col(ChunkCols which, int32_t i) { return which.cols ? which.cols[i] : i; }
static inline bool cell_null(const Vec *v, int64_t i) { return v->valid && !v->valid[i]; }

/* Pieces of rows that were read from the version, if they are many, and the redo log's record of them if there is one;
 * set NULL: they are deleted. */
Status change_pieces(Session *s, const PieceInput *rows, TablePieces **out);

/* merge.c: change_prepare(), change_apply() and change_forget() of MERGE. */
Status change_prepare_merge(Session *s, Arena *a, Change *x, Table *target);
Status change_apply_merge(Session *s, Arena *a, Change *x);
void change_forget_merge(Change *x);

#endif
