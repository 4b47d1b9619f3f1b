/* row_fill.h - rows of results into a load, by several threads; all keep their place.
 *
 * A row is a row of a store, or of vectors where they are made (RowSink). Each thread takes some runs of a store at a
 * time. The first columns of a row are the table's, in their order.
 *
 * Thread rules: one thread calls; the pool's threads help.
 */
#ifndef STELE_SESSION_CORE_ROW_FILL_H
#define STELE_SESSION_CORE_ROW_FILL_H

#include "session/core/session.h"

typedef struct RowFill {
    Session *s;
    Arena *a;
    TableLoad *load; /* the caller's to finish, and to free by load_cancel */
    int workers;
    RowStore *rows;
    int64_t before;   /* places of what has come before */
    int64_t *after;   /* per worker: behind the place of vectors that came last */
    Vec *cells, *now; /* per worker and column: room for some rows; as filled last. NULL: there was no store yet */
    _Atomic int64_t next;
    _Atomic bool failed;
} RowFill;
/* How many threads to have. A query, which makes vectors, has no more than the setting says. Of a store some may take
 * all rows: below memory_limit there may be no room for more. */
int row_fill_workers(const Session *s, bool vectors);
/* A load of the table; its memory beside that is the arena's. vectors: row_fill_vectors will be called. */
Status row_fill_begin(Session *s, Table *t, Arena *a, bool vectors, RowFill *f);
/* All rows of a store, behind those that came before. An error may be any of several. */
Status row_fill_store(RowFill *f, RowStore *rows);
/* For query_set_sink; between two pieces of a query: row_fill_next. */
Status row_fill_vectors(void *fill, int worker, int64_t order, int64_t n, const Vec *cols, Err *e);
void row_fill_next(RowFill *f);

#endif
