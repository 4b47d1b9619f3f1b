/* query_int.h - inside of the scheduler, for query.c, segment.c and query_next.c only: one execution of a plan, and one
 * of a segment. */
#ifndef STELE_EXEC_QUERY_INT_H
#define STELE_EXEC_QUERY_INT_H

#include "exec/device/dev.h"
#include "exec/sort.h"
#include "exec/vm_frame.h"
#include "program/stream.h"

typedef struct Morsel {
    int32_t tablet, first, rows;
} Morsel;
typedef struct SegmentRun SegmentRun;

/* What is computed in pieces (query_next.c). */
typedef struct QueryPieces {
    bool begun;
    int32_t at;          /* the next segment */
    SegmentRun *run;     /* that fills the result; NULL: none has begun */
    const RowSink *to;   /* takes rows of the result; NULL: a row store has them */
    int64_t first_order; /* of the first segment that gives it some; -1: none has yet */
    SegmentRun *reader;  /* of rows that `run` leaves for a LIMIT; NULL: `run` fills the result itself */
} QueryPieces;

struct Query {
    const QueryPlan *plan;
    const QueryPlan *whole; /* as it was given: what the virtual machine runs when the device runs nothing */
    QueryOptions opt;
    QueryStop stop; /* from opt */
    MemAccount account;
    Arena *arena;
    int threads;
    JoinTable **joins;
    AggTable **aggs;
    Sorter **sorts;
    RowStore **rows;
    SegmentStats *stats;
    int32_t segment;                /* running */
    int64_t round;                  /* of the innermost loop that runs */
    const LoopSpec *loop;           /* it */
    int64_t loop_rows;              /* in its result, if it has a limit */
    RowLayout **layouts;            /* of row stores */
    DevQuery *dev;                  /* while segments run on a device */
    char **join_texts, **agg_texts; /* of states that were on the device */
    bool needs_host;                /* query_needs_host */
    QueryPieces pieces;
};

/* One run of a segment. */
struct SegmentRun {
    Query *q;
    Arena *arena; /* everything of it */
    int32_t index;
    const Program *p;
    Vm *vm;
    Frame **frames; /* by worker, kept over replays */
    int threads, workers;
    _Atomic int64_t next;
    int64_t n_morsels;
    Morsel *morsels; /* SRC_TABLE */
    int64_t stretch; /* SRC_SERIES: rows per morsel */
    int64_t series_rows;
    int64_t skip, take; /* SRC_ROWS: of OFFSET and LIMIT, what is left of them; take < 0: there is no LIMIT */
    StreamRun *stream;  /* SRC_STREAM */
    _Atomic bool stop;
    _Atomic bool failed;
    _Atomic int64_t out_rows;
    Err *err;
    /* replay of partitions: of the step's, this one */
    RowStore *replay;
    const Step *replay_step;
    int32_t step, part;
    int64_t reserved;
    /* in pieces */
    int64_t most;      /* bytes in the sink's row store that end a piece; 0: all in one */
    _Atomic bool full; /* it has them: workers begin no other morsel */
    const RowSink *to; /* takes the rows instead, all in one; NULL: the row store */
};

/* The run of a segment from its beginning: states, program, morsels. NULL with an error. piece_bytes: it will be run in
 * pieces of about so many bytes in its row store; 0: all in one. */
SegmentRun *segment_begin(Query *q, int32_t index, int64_t piece_bytes, Err *e);
/* Runs morsels until none is left, or until the piece has `most` bytes. *done: none is left. */
Status segment_run(SegmentRun *g, bool *done, Err *e);
/* After `st` of the above. Its sink's state is finished when it was the last to feed it. */
Status segment_end(SegmentRun *g, Status st, Err *e);
Status query_run_segment(Query *q, int32_t index, Err *e); /* all of it */

/* ---- query.c ---- */
Status query_make_state(Query *q, const Sink *s, Err *e);
Status query_finish_state(Query *q, const Sink *s, Err *e);
bool query_feeds_again(const Query *q, int32_t after, const Sink *s); /* a segment behind this one */
void query_free_rows(Query *q, int32_t id);
/* Segment *at, or the loop that begins there; *at is behind it then. */
Status query_run_next(Query *q, int32_t *at, const LoopSpec *within, Err *e);
/* All of the query on its device. *done false: nothing has happened, the virtual machine is to run everything; reason
 * and detail (NULL: there are none) say why. */
Status query_run_on_device(Query *q, bool *done, const char **reason, const char **detail, Err *e);

/* ---- query_next.c ---- */
void query_stop_pieces(Query *q); /* ends what is under way */

#endif
