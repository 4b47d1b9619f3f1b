/* sort.h - sort and top-N.
 *
 * Each worker turns rows into (normalised key, row pointer) pairs: keys encoded so that memcmp (or one
 * or two 64-bit compares when they fit) gives the order, DESC and NULLS FIRST/LAST included; strings contribute a
 * prefix and are compared in full on ties. Runs are sorted per worker and merged in parallel by splitting at pivots.
 * Top-N keeps a bounded heap per worker with an early reject against its current worst. Runs go to disk when memory is
 * short (external merge). Ties keep the order of arrival (morsel order): the sort is stable.
 */
#ifndef STELE_EXEC_SORT_H
#define STELE_EXEC_SORT_H

#include "exec/rows.h"

typedef struct Sorter Sorter;
Status sort_new(const SortSpec *spec, int workers, Pool *pool, int threads, MemAccount *acct, Vfs *vfs,
                const char *temp_dir, Sorter **out, Err *e);
void sort_free(Sorter *s);
void sort_set_stop(Sorter *s, const QueryStop *stop); /* 57014 from sort_add and sort_finish then; outlives s */
/* order: morsel number, for stability. keys[i], cols[i] as in the spec. */
Status sort_add(Sorter *s, int worker, int64_t order, int64_t n, const Vec *keys, const Vec *cols, Err *e);
/* Sorts, applies offset and limit, and hands over a finished row store in order (caller frees). */
Status sort_finish(Sorter *s, RowStore **out, Err *e);

#endif
