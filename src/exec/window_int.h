/* window_int.h - inside of the window operator: what window.c (pieces, workers), window_batch.c (batches),
 * window_space.c (their memory), window_frame.c (frames), window_agg.c (aggregates) and window_call.c (other functions)
 * share.
 *
 * A batch is whole partitions, or, where no call needs more (exec/window.h), the next rows of a large one. Its rows are
 * numbered from 0. Rows [first, end) are the batch's own, which get results; rows around them, of the batches before
 * and behind, are there to be read. Everything of a batch lives in its space; what a call keeps from one batch to the
 * next is in its CallState.
 */
#ifndef STELE_EXEC_WINDOW_INT_H
#define STELE_EXEC_WINDOW_INT_H

#include "exec/agg_int.h"
#include "exec/window.h"

enum { STOP_ROWS = 4096 }; /* between two looks at the stop */

/* ---- memory ---------------------------------------------------------------------------------------- */

typedef struct WinMap {
    void *p;
    int64_t size;
} WinMap;

/* Memory of one batch: an arena, and a mapped temporary file for what the account refuses or has little left for. */
typedef struct WinSpace {
    Arena *a;
    const WindowEnv *env;
    int64_t reserve; /* left to others */
    VfsFile *file;
    int64_t file_end;
    VEC(WinMap) maps;
    char *text; /* of copied strings: what is left of the block at hand */
    int64_t text_left;
} WinSpace;
Status win_space_init(WinSpace *s, const WindowEnv *env, Err *e);
void win_space_free(WinSpace *s);
void win_space_reset(WinSpace *s);                   /* everything in it is gone */
void *win_alloc(WinSpace *s, int64_t bytes, Err *e); /* not zeroed */
/* The string's bytes to the space. */
Status win_copy_str(WinSpace *s, Str *str, Err *e);

/* ---- batches ---------------------------------------------------------------------------------------- */

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
    WinSpace *space;
    Err *e;
    int64_t n, first, end;
    WinCol *in;  /* spec->n_in */
    WinCol *out; /* all calls, clause by clause */
    /* of the clause that is evaluated, per row; NULL where no clause reads it: */
    uint8_t *new_part, *new_peer;   /* the row begins a partition, a group of peers */
    int64_t *peer_start, *peer_end; /* rows with equal order keys */
    int64_t *group;                 /* of peers, numbered within the partition */
    int64_t *group_start;           /* of the partition at hand, and its end: first rows by group */
    int64_t n_groups;
    int64_t *frame_start, *frame_end;
} Batch;

/* A partition: its rows that are the batch's, and those that are loaded. */
typedef struct Part {
    const WinClause *c;
    int64_t from, to, lo, hi;
    bool continues; /* began in a batch before; what calls keep is of it */
} Part;

/* A call, and what it keeps of the partition at hand. */
typedef struct CallState {
    const WinCell *call;
    bool copies; /* strings of states and results are copies, since the rows that they come from do not stay */
    int64_t rows, rank;
    AggCol c;
    int64_t width;
    char *state;
    AggHeap heap, tree_heap;
    char *value; /* first_value's */
    bool is_null;
} CallState;

static inline bool win_null(const WinCol *c, int64_t row) { return c->valid && !c->valid[row]; }
static inline const char *win_cell(const WinCol *c, int64_t row) { return c->data + row * c->size; }
static inline int64_t win_int(const WinCol *c, int64_t row) {
    int64_t v = 0;
    (void)cell_as_i64((Phys)c->phys, win_cell(c, row), &v);
    return v;
}

/* The partition only grows up to the current row (or its last peer). */
static inline bool win_grows(const WinClause *c) {
    return c->frame.start == WB_UNBOUNDED_PRECEDING && c->frame.end == WB_CURRENT_ROW && c->frame.exclude == WX_NONE;
}
static inline bool win_reads_frame(const WinClause *c, const WinCell *call) {
    return call->func >= WF_FIRST_VALUE && (!win_grows(c) || call->func == WF_NTH_VALUE);
}

/* Room for n rows of a column that is like the cells. */
Status win_col_new(Batch *b, const CellSpec *s, int64_t n, WinCol *c);
/* Rows [first, first + n) of the store. */
Status win_load(Batch *b, RowStore *in, int64_t first, int64_t n);
/* new_part and new_peer, of all rows. */
void win_mark(Batch *b, const WinClause *c);
bool win_equal_keys(const WinCol *cols, int32_t n, const int32_t *keys, int64_t x, int64_t y);

/* ---- results --------------------------------------------------------------------------------------- */

/* The rows of a frame: at most three stretches, in order, since EXCLUDE may cut one or two out. */
typedef struct Stretch {
    int64_t from, to;
} Stretch;
int win_frame(const Batch *b, const Part *p, int64_t row, Stretch out[3]);

/* Fills frame_start and frame_end of the partition's own rows. */
Status win_frames(Batch *b, const Part *p);
/* One call over the partition, into `out`. */
Status win_call(Batch *b, const Part *p, CallState *s, WinCol *out);

/* An aggregate. */
Status win_agg_init(CallState *s, Arena *a, Err *e);
Status win_aggregate(Batch *b, const Part *p, CallState *s, WinCol *out);
/* Gives all peers what their last one has. */
void win_spread(const Batch *b, const Part *p, WinCol *out);

#endif
