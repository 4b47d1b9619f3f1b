/* window_int.h - inside of the window operator: what window.c (batches), window_frame.c (frames) and window_call.c
 * (functions) share.
 *
 * Rows of a batch are numbered from 0. Everything of a batch lives in its arena, and heaps of aggregates until the
 * batch's rows are appended.
 */
#ifndef STELE_EXEC_WINDOW_INT_H
#define STELE_EXEC_WINDOW_INT_H

#include "exec/agg_int.h"
#include "exec/window.h"

enum { STOP_ROWS = 4096 }; /* between two looks at the stop */

typedef struct WinCol {
    char *data;
    uint8_t *valid; /* NULL: no NULLs */
    int64_t size;   /* of a cell */
    uint8_t phys;
    Type type;
} WinCol;

typedef struct Batch {
    const WindowSpec *spec;
    const WindowEnv *env;
    Arena *a;
    Err *e;
    int64_t n;
    WinCol *in;  /* spec->n_in */
    WinCol *out; /* all calls, clause by clause */
    /* of the clause that is evaluated, per row; NULL where no clause reads it: */
    int64_t *peer_start, *peer_end; /* rows with equal order keys */
    int64_t *group;                 /* of peers, numbered within the partition */
    int64_t *group_start;           /* of the partition at hand, and its end: first rows by group */
    int64_t n_groups;
    int64_t *frame_start, *frame_end;
} Batch;

/* A partition: rows [from, to). */
typedef struct Part {
    const WinClause *c;
    int64_t from, to;
} Part;

static inline bool win_null(const WinCol *c, int64_t row) { return c->valid && !c->valid[row]; }
static inline const char *win_cell(const WinCol *c, int64_t row) { return c->data + row * c->size; }
static inline int64_t win_int(const WinCol *c, int64_t row) {
    int64_t v = 0;
    (void)cell_as_i64((Phys)c->phys, win_cell(c, row), &v);
    return v;
}

/* The rows of a frame: at most three stretches, in order, since EXCLUDE may cut one or two out. */
typedef struct Stretch {
    int64_t from, to;
} Stretch;
int win_frame(const Batch *b, const Part *p, int64_t row, Stretch out[3]);

/* Fills frame_start and frame_end of the partition's rows. */
Status win_frames(Batch *b, const Part *p);
/* One call over the partition, into `out`. */
Status win_call(Batch *b, const Part *p, const WinCell *call, AggHeap *heap, WinCol *out);

#endif
