/* window.c - pieces of whole partitions: found, evaluated batch by batch, appended.
 *
 * 1. One pass over the partition keys of the clause that has the fewest finds where partitions begin; as many whole
 *    partitions as make up a batch, some ten thousand rows, are a piece. (Every clause's keys are a prefix of the
 *    sort's, so that partitions of the others lie within these.) Runs that are wholly within a piece are not read.
 * 2. Workers take pieces from a counter. A piece is a batch, unless it is a large partition and every call gets by with
 *    what it kept of the rows before and a few rows around: then it is a batch after the other (plan_stream). Where the
 *    last of several peers says what all of them get, such a batch ends with a group of peers.
 */
#include "exec/window_int.h"

enum {
    BATCH_ROWS = 16384,
    STREAM_PIECES = 2, /* batches, from which on a piece is taken in several */
    CONTEXT_ROWS = 4096
};

typedef struct Piece {
    int64_t first, n; /* rows of the input */
} Piece;

typedef struct WindowRun {
    const WindowSpec *spec;
    const WindowEnv *env;
    RowStore *in, *out;
    Arena *a;
    VEC(Piece) pieces;
    int32_t n_calls;
    bool streams;          /* large pieces are taken in several batches; then: */
    int64_t before, after; /* rows that batches read around their own */
    const WinClause *cut;  /* batches end with a group of its peers */
    bool copies;           /* CallState.copies */
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *err;
} WindowRun;

static int64_t batch_rows(const WindowRun *g) {
    int64_t share = rows_count(g->in) / ((int64_t)g->env->threads * 4) + 1;
    int64_t most = MIN_OF(MAX_OF(g->env->batch_rows, INT64_C(1)), (int64_t)BATCH_ROWS);
    return MIN_OF(MAX_OF(share, INT64_C(1024)), most);
}

/* ---- 1. partitions ---------------------------------------------------------------------------------------- */

static Status add_piece(WindowRun *g, int64_t first, int64_t end) {
    if (first == end) return ST_OK;
    g->copies |= end - first > batch_rows(g) * STREAM_PIECES;
    return vec_push(g->a, &g->pieces, ((Piece){first, end - first})) ? ST_OK : ST_ERROR;
}

/* Rows [first, first + n), of which the first one precedes those that are looked at. */
static Status find_in_rows(WindowRun *g, Batch *b, const WinClause *c, int64_t first, int64_t n, int64_t *from) {
    win_space_reset(b->space);
    TRY(win_load(b, g->in, first, n));
    for (int64_t i = 1; i < n; i++) {
        if (first + i - *from < batch_rows(g) || win_equal_keys(b->in, c->n_partition, c->keys, i - 1, i)) continue;
        TRY(add_piece(g, *from, first + i));
        *from = first + i;
    }
    return ST_OK;
}

/* Where partitions begin, in batches that are as long as a run. */
static Status find_in_runs(WindowRun *g, Batch *b, const WinClause *c) {
    int64_t from = 0, n = rows_count(g->in);
    for (int64_t at = batch_rows(g) - 1; at + 1 < n;) {
        int64_t end = MIN_OF(at + 1 + MIN_OF(batch_rows(g), INT64_C(1024)), n);
        TRY(query_stop_check(g->env->stop, g->err));
        TRY(find_in_rows(g, b, c, at, end - at, &from));
        at = MAX_OF(end - 1, from + batch_rows(g) - 1);
    }
    return add_piece(g, from, n);
}

static Status find_pieces(WindowRun *g) {
    const WinClause *c = &g->spec->clauses[0];
    for (int32_t i = 1; i < g->spec->n_clauses; i++)
        if (g->spec->clauses[i].n_partition < c->n_partition) c = &g->spec->clauses[i];
    if (c->n_partition == 0 || rows_count(g->in) <= batch_rows(g)) return add_piece(g, 0, rows_count(g->in));
    WinSpace space;
    TRY(win_space_init(&space, g->env, g->err));
    Batch b = {.spec = g->spec, .env = g->env, .space = &space, .e = g->err};
    Status st = find_in_runs(g, &b, c);
    win_space_free(&space);
    return st;
}

/* ---- 2. may large partitions come in several batches? --------------------------------------------------- */

/* The first row's value in a column that has the same one in all rows. False: NULL, or out of all bounds. */
static Status constant_of(WindowRun *g, int32_t column, bool *ok, int64_t *out) {
    const void *cell;
    bool null;
    TRY(rows_cell(g->in, 0, column, &cell, &null, g->err));
    *ok = !null && cell_as_i64((Phys)g->spec->in[column].phys, cell, out) && *out >= -CONTEXT_ROWS &&
          *out <= CONTEXT_ROWS;
    return ST_OK;
}

static void wants_rows(WindowRun *g, int64_t by) {
    g->before = MAX_OF(g->before, -by);
    g->after = MAX_OF(g->after, by);
}

/* A bound of a frame that is so many rows away from the current one. */
static Status plan_bound(WindowRun *g, uint8_t bound, int32_t offset, bool *ok) {
    int64_t by = 0;
    if (bound == WB_CURRENT_ROW) return ST_OK;
    if (bound != WB_PRECEDING && bound != WB_FOLLOWING) *ok = false;
    else TRY(constant_of(g, offset, ok, &by));
    if (by < 0) *ok = false; /* an error, later */
    if (*ok) wants_rows(g, bound == WB_PRECEDING ? -by : by);
    return ST_OK;
}

static Status plan_frames(WindowRun *g, const WinClause *c, bool *ok) {
    if (c->frame.mode != WM_ROWS || c->frame.exclude == WX_GROUP || c->frame.exclude == WX_TIES) *ok = false;
    if (*ok) TRY(plan_bound(g, c->frame.start, c->start_offset, ok));
    if (*ok) TRY(plan_bound(g, c->frame.end, c->end_offset, ok));
    return ST_OK;
}

static Status plan_lag(WindowRun *g, const WinCell *call, bool *ok) {
    int64_t by = 1;
    if (call->arg[1] >= 0 && !call->same_offset) *ok = false;
    else if (call->arg[1] >= 0) TRY(constant_of(g, call->arg[1], ok, &by));
    if (*ok) wants_rows(g, call->func == WF_LAG ? -by : by);
    return ST_OK;
}

/* Of clauses whose peers matter the one with the fewest keys: its groups end where groups of the others do, too. */
static void plan_cut(WindowRun *g, const WinClause *c, bool *ok) {
    if (c->n_order == 0) *ok = false; /* all rows are peers */
    if (!g->cut || c->n_partition + c->n_order < g->cut->n_partition + g->cut->n_order) g->cut = c;
}

static Status plan_call(WindowRun *g, const WinClause *c, const WinCell *call, bool *ok) {
    switch ((WinFunc)call->func) {
    case WF_ROW_NUMBER:
    case WF_RANK:
    case WF_DENSE_RANK: return ST_OK;
    case WF_LAG:
    case WF_LEAD: return plan_lag(g, call, ok);
    case WF_FIRST_VALUE:
    case WF_LAST_VALUE:
    case WF_NTH_VALUE:
    case WF_AGG:
        if (win_reads_frame(c, call)) return plan_frames(g, c, ok);
        if (c->frame.mode != WM_ROWS && call->func != WF_FIRST_VALUE) plan_cut(g, c, ok);
        return ST_OK;
    default: *ok = false; return ST_OK; /* the partition's length counts */
    }
}

static Status plan_stream(WindowRun *g) {
    bool ok = true;
    g->before = 1; /* tells whether a partition or a group goes on */
    for (int32_t i = 0; i < g->spec->n_clauses; i++) {
        const WinClause *c = &g->spec->clauses[i];
        for (int32_t k = 0; k < c->n_calls && ok; k++) TRY(plan_call(g, c, &c->calls[k], &ok));
    }
    g->streams = ok;
    return ST_OK;
}

/* ---- a batch --------------------------------------------------------------------------------------------- */

typedef struct Worker {
    WindowRun *g;
    int number;
    Arena *a;
    Batch b;
    WinSpace space;
    CallState *calls; /* of all clauses, one after the other */
    Err err;
} Worker;

static bool reads_frames(const WinClause *c) {
    for (int32_t i = 0; i < c->n_calls; i++)
        if (win_reads_frame(c, &c->calls[i])) return true;
    return false;
}
static bool reads_peers(const WinClause *c) { /* as rows */
    return (c->frame.mode != WM_ROWS || c->frame.exclude == WX_GROUP || c->frame.exclude == WX_TIES) && reads_frames(c);
}

static Status room_for_frames(Worker *w, bool peers, bool frames) {
    Batch *b = &w->b;
    int64_t bytes = (b->n + 1) * 8;
    int64_t **rows[] = {&b->peer_start, &b->peer_end, &b->group, &b->group_start, &b->frame_start, &b->frame_end};
    for (int i = 0; i < 6; i++) {
        *rows[i] = NULL;
        if ((i < 4 ? peers : frames) && !(*rows[i] = win_alloc(b->space, bytes, b->e))) return ST_ERROR;
    }
    return ST_OK;
}

static Status make_room(Worker *w) {
    Batch *b = &w->b;
    bool peers = false, frames = false;
    for (int32_t i = 0; i < b->spec->n_clauses; i++) {
        peers |= reads_peers(&b->spec->clauses[i]);
        frames |= reads_frames(&b->spec->clauses[i]);
    }
    TRY(room_for_frames(w, peers, frames));
    if (!(b->out = arena_array(b->space->a, WinCol, w->g->n_calls + 1))) return ST_ERROR;
    for (int32_t i = 0; i < w->g->n_calls; i++) {
        CellSpec s = w->calls[i].call->out;
        s.nullable = true; /* functions say of each row whether it is one */
        TRY(win_col_new(b, &s, b->n, &b->out[i]));
    }
    return ST_OK;
}

/* The partition's groups of peers as rows. */
static void find_groups(Batch *b, const Part *p) {
    b->n_groups = 0;
    for (int64_t i = p->lo, first = i; i < p->hi; i++) {
        if (b->new_peer[i]) {
            for (int64_t k = first; k < i; k++) b->peer_end[k] = i;
            b->group_start[b->n_groups++] = first = i;
        }
        b->peer_start[i] = first;
        b->peer_end[i] = p->hi;
        b->group[i] = b->n_groups - 1;
    }
    b->group_start[b->n_groups] = p->hi;
}

static void find_partition(const Batch *b, Part *p, int64_t from) {
    const uint8_t *next = from + 1 < b->n ? memchr(b->new_part + from + 1, 1, (size_t)(b->n - from - 1)) : NULL;
    p->hi = next ? next - b->new_part : b->n;
    p->from = p->lo = from;
    p->to = MIN_OF(p->hi, b->end);
    p->continues = !b->new_part[from];
    while (!b->new_part[p->lo]) p->lo--;
}

static Status evaluate_clause(Worker *w, const WinClause *c, int32_t at) {
    Batch *b = &w->b;
    Part p = {.c = c};
    bool frames = reads_frames(c), peers = reads_peers(c);
    int64_t looked = 0;
    win_mark(b, c);
    for (int64_t from = b->first; from < b->end; from = p.to) {
        find_partition(b, &p, from);
        if (p.to - looked > STOP_ROWS) {
            TRY(query_stop_check(w->g->env->stop, &w->err));
            looked = p.to;
        }
        if (peers) find_groups(b, &p);
        if (frames) TRY(win_frames(b, &p));
        for (int32_t k = 0; k < c->n_calls; k++) TRY(win_call(b, &p, &w->calls[at + k], &b->out[at + k]));
    }
    return ST_OK;
}

static Status evaluate(Worker *w) {
    int32_t at = 0;
    for (int32_t i = 0; i < w->b.spec->n_clauses; i++) {
        const WinClause *c = &w->b.spec->clauses[i];
        TRY(evaluate_clause(w, c, at));
        at += c->n_calls;
    }
    return ST_OK;
}

static Vec vec_at(const WinCol *c, int64_t row) {
    return (Vec){
        .data = c->data + row * c->size, .valid = c->valid ? c->valid + row : NULL, .phys = c->phys, .type = c->type};
}

static Status append_batch(Worker *w, int64_t order) {
    enum { AT_ONCE = 1024 };
    WindowRun *g = w->g;
    const Batch *b = &w->b;
    int32_t n = g->spec->n_pass;
    Vec *cols = arena_array(b->space->a, Vec, n + g->n_calls + 1);
    if (!cols) return ST_ERROR;
    for (int64_t row = b->first; row < b->end; row += AT_ONCE) {
        for (int32_t i = 0; i < n; i++) cols[i] = vec_at(&b->in[g->spec->pass[i]], row);
        for (int32_t i = 0; i < g->n_calls; i++) cols[n + i] = vec_at(&b->out[i], row);
        TRY(query_stop_check(g->env->stop, &w->err));
        TRY(rows_append(g->out, w->number, order, MIN_OF((int64_t)AT_ONCE, b->end - row), cols, &w->err));
    }
    return ST_OK;
}

static Status room_for_marks(Batch *b) {
    b->new_part = win_alloc(b->space, b->n + 1, b->e);
    b->new_peer = win_alloc(b->space, b->n + 1, b->e);
    return b->new_part && b->new_peer ? ST_OK : ST_ERROR;
}

/* Rows [at, at + most) of the piece, fewer where peers have to stay together; 0: all of these are peers. */
static Status load_batch(Worker *w, const Piece *p, int64_t at, int64_t most) {
    WindowRun *g = w->g;
    Batch *b = &w->b;
    int64_t end = p->first + p->n, before = at > p->first ? MIN_OF(g->before, at - p->first) : 0;
    most = MIN_OF(most, end - at);
    int64_t after = MIN_OF(MAX_OF(g->after, INT64_C(1)), end - at - most);
    win_space_reset(b->space);
    TRY(win_load(b, g->in, at - before, before + most + after));
    TRY(room_for_marks(b));
    b->first = before;
    b->end = before + most;
    if (!g->cut || after == 0) return ST_OK;
    win_mark(b, g->cut);
    while (b->end > b->first && !b->new_peer[b->end]) b->end--;
    return ST_OK;
}

static Status run_batch(Worker *w, int64_t order) {
    TRY(make_room(w));
    TRY(evaluate(w));
    return append_batch(w, order);
}

static Status run_piece(Worker *w, int64_t i) {
    WindowRun *g = w->g;
    Batch *b = &w->b;
    const Piece *p = &g->pieces.items[i];
    bool streams = g->streams && p->n > batch_rows(g) * STREAM_PIECES;
    int64_t most = streams ? batch_rows(g) : p->n;
    Status st = ST_OK;
    for (int64_t at = p->first; at < p->first + p->n && st == ST_OK; at += b->end - b->first) {
        int64_t now = most;
        do st = load_batch(w, p, at, now);
        while (st == ST_OK && b->end == b->first && (now *= 2));
        if (st == ST_OK) st = run_batch(w, i);
    }
    if (g->copies) return st;
    for (int32_t k = 0; k < g->n_calls; k++) agg_heap_free(&w->calls[k].heap), agg_heap_free(&w->calls[k].tree_heap);
    return st;
}

/* ---- workers ------------------------------------------------------------------------------------------ */

static Status make_calls(Worker *w) {
    WindowRun *g = w->g;
    int32_t at = 0;
    if (!(w->calls = arena_array(w->a, CallState, g->n_calls + 1))) return ST_ERROR;
    for (int32_t i = 0; i < g->spec->n_clauses; i++)
        for (int32_t k = 0; k < g->spec->clauses[i].n_calls; k++) {
            CallState *s = &w->calls[at++];
            s->call = &g->spec->clauses[i].calls[k];
            s->copies = g->copies;
            s->heap.acct = s->tree_heap.acct = g->env->account;
            if (!(s->value = arena_calloc(w->a, 16))) return ST_ERROR;
            if (s->call->func == WF_AGG) TRY(win_agg_init(s, w->a, &w->err));
        }
    return ST_OK;
}

static Status run_pieces(Worker *w) {
    WindowRun *g = w->g;
    TRY(make_calls(w));
    while (!atomic_load(&g->failed)) {
        int64_t i = atomic_fetch_add(&g->next, 1);
        if (i >= g->pieces.len) break;
        TRY(run_piece(w, i));
    }
    return ST_OK;
}

static void window_worker(void *ctx, int number) {
    WindowRun *g = ctx;
    Worker w = {.g = g, .number = number};
    if (atomic_load(&g->next) >= g->pieces.len) return;
    err_clear(&w.err);
    Status st = win_space_init(&w.space, g->env, &w.err);
    if (st == ST_OK) {
        w.b = (Batch){.spec = g->spec, .env = g->env, .space = &w.space, .e = &w.err};
        if ((w.a = arena_new(g->env->account, &w.err))) st = run_pieces(&w);
        else st = ST_ERROR;
        for (int32_t k = 0; w.calls && k < g->n_calls; k++) {
            agg_heap_free(&w.calls[k].heap);
            agg_heap_free(&w.calls[k].tree_heap);
        }
        arena_free(w.a);
        win_space_free(&w.space);
    }
    if (st == ST_OK) return;
    if (!err_is_set(&w.err)) err_oom(&w.err);
    if (!atomic_exchange(&g->failed, true)) err_copy(g->err, &w.err);
}

/* What a worker holds at least: short columns of a batch, a page that is read, one that is filled, and their texts. */
enum { WORKER_BYTES = 1 << 20 };
static int workers_for(const WindowRun *g) {
    const int64_t room = mem_headroom(g->env->account);
    const int64_t most = room == INT64_MAX ? room : MAX_OF(room / WORKER_BYTES, INT64_C(1));
    return (int)MAX_OF(INT64_C(1), MIN_OF(MIN_OF((int64_t)g->env->threads, g->pieces.len), most));
}
Status window_run(const WindowSpec *spec, const WindowEnv *env, RowStore *in, RowStore *out, int *workers, Err *e) {
    WindowRun run = {.spec = spec, .env = env, .in = in, .out = out, .err = e}, *g = &run;
    for (int32_t i = 0; i < spec->n_clauses; i++) g->n_calls += spec->clauses[i].n_calls;
    if (!(g->a = arena_new(env->account, e))) return ST_ERROR;
    Status st = rows_count(in) ? find_pieces(g) : ST_OK;
    if (st == ST_OK && g->copies) st = plan_stream(g);
    *workers = workers_for(g);
    if (st == ST_OK) {
        if (*workers > 1 && env->pool) pool_run(env->pool, *workers, window_worker, g);
        else window_worker(g, 0);
        if (atomic_load(&g->failed)) st = ST_ERROR;
    }
    arena_free(g->a);
    return st == ST_OK ? rows_finish(out, true, e) : ST_ERROR;
}
