/* exprindex.h - unique indexes whose keys are computed: CREATE UNIQUE INDEX ON t (lower(a), b) WHERE c > 0.
 *
 * Storage knows no expressions: a KeyProgram, from above, computes the key of a row. Keys are not stored. An entry has
 * a hash of its row's key (keyslots.h) and is a hint like all others: a lookup computes the key of the row that it
 * names again. So deletes, undo, hiding and showing do not touch the index.
 *
 * Only the table's writer computes keys and looks them up here: versions of a table have the definition, not the index.
 */
#ifndef STELE_STORAGE_EXPRINDEX_H
#define STELE_STORAGE_EXPRINDEX_H

#include "storage/keyindex.h"

/* A row whose key is wanted: one of the table by its number, or row `at` of vectors of all columns (rowid -1). */
typedef struct KeyRow {
    const Table *table;
    int64_t rowid;
    const Vec *vals;
    int64_t at;
} KeyRow;

typedef struct KeyProgram KeyProgram;
struct KeyProgram {
    /* parts[i]: the value of part i, in the arena or borrowed from the row. *in false: the predicate is not true, and
     * parts are not computed. Deterministic. Fails as the expressions do (22012, ..), 53200. One thread at a time. */
    Status (*key)(KeyProgram *p, const KeyRow *row, Arena *a, Value *parts, bool *in, Err *e);
    void (*free)(KeyProgram *p);
    int n_cols; /* columns of the table that it reads */
    const int *cols;
};

/* Takes the program over, also on an error, and enters the rows that the table has: 23505 when two have one key. */
Status exprindex_set_program(Table *t, int i, KeyProgram *p, Err *e);

/* ---- by an index's number k (keyindex.h); for keyindex.c ---- */
Status exprindex_add_tablets(Table *t, int k, int64_t first, Err *e);
Status exprindex_add_rows(Table *t, int k, int64_t n, const int64_t *rowids, Err *e);
Status exprindex_check_row(Table *t, int k, int64_t rowid, Err *e);
void exprindex_sweep(Table *t, int k); /* as keyslots_sweep */
Status exprindex_verify(const Table *t, int k, Err *e);

/* A live row that has the key of row r of vectors of all columns, in index i of the table's exprs; *rowid -1: none. */
Status exprindex_find(Table *t, int i, const Vec *vals, int64_t r, int64_t *rowid, Err *e);

#endif
