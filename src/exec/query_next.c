/* query_next.c - a query whose result is computed in pieces, each when it is asked for.
 *
 * Segments run in their order as ever, each as a whole, but those that fill the result: these run in pieces
 * (segment.c), and each piece is a row store of its own, which the caller has until it asks for the next one. So the
 * first rows are there when the states that they are made from are, and a branch of UNION ALL that comes later has not
 * begun. Order is that of the whole result: pieces have consecutive morsels, and a piece's rows are put in order.
 *
 * LIMIT and OFFSET over anything but a sort are two segments, one that leaves rows in a store and ends when it has
 * enough, and one that reads them. When nothing else reads that store, a piece of the first is followed by the second
 * over it (`reader`), which skips and counts across pieces.
 *
 * Who takes rows as vectors (RowSink) gets those of a segment that can give them where they are made, all of the
 * segment at once: they are in no piece.
 *
 * All at once, in one piece: what runs on a device, since a failure of the device starts the query again, and sorted
 * rows that are the result as they are.
 *
 * Between two calls no thread is in the query and it holds no lock. It reads tables in the next call again: their rows
 * must be what they were (a pinned version, db/published.h).
 */
#include "exec/query_int.h"

static bool fills_result(const Query *q, int32_t segment) {
    const Sink *s = &q->plan->segments[segment].program->sink;
    return s->kind == SINK_ROWS && s->id == q->plan->result;
}

static bool in_loop(const QueryPlan *plan, int32_t segment) {
    for (int32_t i = 0; i < plan->n_loops; i++)
        if (segment >= plan->loops[i].first && segment < plan->loops[i].end) return true;
    return false;
}

/* Segments that read or fill a row store. */
static int32_t uses(const QueryPlan *plan, int32_t rows) {
    int32_t n = 0;
    for (int32_t i = 0; i < plan->n_segments; i++) {
        const Source *src = &plan->segments[i].program->source;
        const Sink *s = &plan->segments[i].program->sink;
        n += src->kind == SRC_ROWS && src->id == rows;
        n += (s->kind == SINK_ROWS || s->kind == SINK_SORT || s->kind == SINK_WINDOW) && s->id == rows;
    }
    for (int32_t i = 0; i < plan->n_loops; i++) {
        const LoopSpec *l = &plan->loops[i];
        n += l->work == rows || l->next == rows || l->result == rows;
    }
    return n;
}

/* What waits for partitions of a join on disk waits for the end of its segment. */
static bool probes(const Program *p) {
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_PROBE || p->instrs[i].op == OP_PROBE_BEGIN) return true;
    return false;
}

/* The segment leaves rows for a LIMIT that the next one reads, which fills the result, and no other. */
static bool feeds_limit(const Query *q, int32_t segment) {
    const QueryPlan *plan = q->plan;
    const Sink *s = &plan->segments[segment].program->sink;
    if (s->kind != SINK_ROWS || segment + 1 >= plan->n_segments || !fills_result(q, segment + 1)) return false;
    const RowsSpec *r = &plan->rows[s->id];
    const Source *src = &plan->segments[segment + 1].program->source;
    return src->kind == SRC_ROWS && src->id == s->id && r->sort < 0 && (r->limit >= 0 || r->offset > 0) &&
           uses(plan, s->id) == 2 && !probes(plan->segments[segment + 1].program) && !in_loop(plan, segment) &&
           !in_loop(plan, segment + 1);
}

/* ---- the segment under way ------------------------------------------------------------------------------------ */
static Status begin_run(Query *q, int64_t bytes, Err *e) {
    QueryPieces *p = &q->pieces;
    bool limit = feeds_limit(q, p->at);
    if (!(p->run = segment_begin(q, p->at++, bytes, e))) return ST_ERROR;
    if (!limit) return ST_OK;
    p->reader = segment_begin(q, p->at++, 0, e);
    return p->reader ? ST_OK : ST_ERROR;
}

static Status end_run(Query *q, Status st, Err *e) {
    QueryPieces *p = &q->pieces;
    SegmentRun *run = p->run, *reader = p->reader;
    p->run = p->reader = NULL;
    if (!reader) return segment_end(run, st, e);
    int32_t from = reader->p->source.id;
    st = segment_end(reader, st, e);
    st = segment_end(run, st, e);
    query_free_rows(q, from);
    return st;
}

/* The reader, over the rows that a piece of `run` has left; *done: it has all that it may read. */
static Status read_piece(Query *q, bool *done, Err *e) {
    SegmentRun *run = q->pieces.run, *reader = q->pieces.reader;
    int32_t from = reader->p->source.id;
    bool read;
    TRY(rows_finish(q->rows[from], q->plan->rows[from].ordered, e));
    atomic_store(&reader->next, 0);
    TRY(segment_run(reader, &read, e));
    *done |= reader->take == 0;
    if (*done) return ST_OK;
    query_free_rows(q, from);
    return query_make_state(q, &run->p->sink, e);
}

static Status run_piece(Query *q, int64_t bytes, bool *done, Err *e) {
    QueryPieces *p = &q->pieces;
    int32_t result = q->plan->result;
    Sink sink = {.kind = SINK_ROWS, .id = result};
    TRY(query_make_state(q, &sink, e));
    q->segment = p->run->index;
    p->run->most = p->run->to ? 0 : bytes;
    TRY(segment_run(p->run, done, e));
    if (p->reader) TRY(read_piece(q, done, e));
    return rows_finish(q->rows[result], q->plan->rows[result].ordered, e);
}

/* ---- the query ------------------------------------------------------------------------------------------------ */
static bool has_rows(const Query *q) {
    const RowStore *r = q->rows[q->plan->result];
    return r && rows_count(r) > 0;
}

/* A segment that the result needs, or a piece of one that fills it. */
static Status next_step(Query *q, int64_t bytes, Err *e) {
    QueryPieces *p = &q->pieces;
    if (!p->run && !feeds_limit(q, p->at) && (!fills_result(q, p->at) || in_loop(q->plan, p->at)))
        return query_run_next(q, &p->at, NULL, e);
    if (!p->run) TRY(begin_run(q, bytes, e));
    bool done;
    Status st = run_piece(q, bytes, &done, e);
    return st == ST_OK && !done ? ST_OK : end_run(q, st, e);
}

Status query_next(Query *q, int64_t bytes, bool *more, Err *e) {
    QueryPieces *p = &q->pieces;
    if (!p->begun) {
        const char *reason, *detail;
        bool done;
        p->begun = true;
        *more = false;
        TRY(query_run_on_device(q, &done, &reason, &detail, e));
        if (done) return ST_OK;
    } else {
        query_free_rows(q, q->plan->result);
    }
    do {
        Status st = p->at < q->plan->n_segments || p->run ? next_step(q, bytes, e) : ST_OK;
        if (st != ST_OK) return ST_ERROR;
        *more = p->run || p->at < q->plan->n_segments;
    } while (*more && !has_rows(q));
    if (q->rows[q->plan->result]) return ST_OK;
    /* there is nothing left: no rows, but as a row store */
    Sink none = {.kind = SINK_ROWS, .id = q->plan->result};
    TRY(query_make_state(q, &none, e));
    return query_finish_state(q, &none, e);
}

void query_set_sink(Query *q, const RowSink *to) {
    q->pieces.to = to;
    q->pieces.first_order = -1;
}

void query_set_deadline(Query *q, int64_t deadline_ns) {
    q->opt.deadline_ns = q->stop.deadline_ns = deadline_ns;
    if (q->pieces.run) q->pieces.run->vm->env.deadline_ns = deadline_ns;
    if (q->pieces.reader) q->pieces.reader->vm->env.deadline_ns = deadline_ns;
}

void query_stop_pieces(Query *q) {
    Err ignored;
    err_clear(&ignored);
    if (q->pieces.reader) (void)segment_end(q->pieces.reader, ST_ERROR, &ignored);
    q->pieces.reader = NULL;
    if (q->pieces.run) (void)segment_end(q->pieces.run, ST_ERROR, &ignored);
    q->pieces.run = NULL;
}
