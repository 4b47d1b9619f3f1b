/* window.c - batches of partitions: found, loaded, evaluated, appended.
 *
 * 1. One pass over the partition keys of the clause that has the fewest finds where partitions begin; as many whole
 *    partitions as make up some ten thousand rows are a batch. (Every clause's keys are a prefix of the sort's, so that
 *    partitions of the others lie within these.)
 * 2. Workers take batches from a counter. Runs of the input stay open while their batch is evaluated: strings are
 *    theirs.
 */
#include <math.h>

#include "exec/window_int.h"

typedef struct Piece {
    int64_t first, n; /* rows of the input */
} Piece;

typedef struct WindowRun {
    const WindowSpec *spec;
    const WindowEnv *env;
    RowStore *in, *out;
    const RowLayout *layout;
    Arena *a;
    VEC(Piece) pieces;
    int32_t n_calls;
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *err;
} WindowRun;

/* ---- equality of keys ---------------------------------------------------------------------------------- */

static bool equal_floats(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static bool equal_cells(const WinCol *c, int64_t x, const WinCol *d, int64_t y) {
    if (win_null(c, x) || win_null(d, y)) return win_null(c, x) && win_null(d, y);
    const void *p = win_cell(c, x), *q = win_cell(d, y);
    switch ((Phys)c->phys) {
    case PH_F32: return equal_floats((double)*(const float *)p, (double)*(const float *)q);
    case PH_F64: return equal_floats(*(const double *)p, *(const double *)q);
    case PH_STR: return str_eq(*(const Str *)p, *(const Str *)q);
    case PH_INTERVAL: return interval_cmp_value(p) == interval_cmp_value(q);
    default: return memcmp(p, q, (size_t)c->size) == 0;
    }
}

static bool equal_keys(const WinCol *cols, int32_t n, const int32_t *keys, int64_t x, int64_t y) {
    for (int32_t i = 0; i < n; i++)
        if (!equal_cells(&cols[keys[i]], x, &cols[keys[i]], y)) return false;
    return true;
}

/* ---- 1. partitions ---------------------------------------------------------------------------------------- */

/* Room for n cells of the input's column. */
static Status col_new(const WindowRun *g, Arena *a, int32_t column, int64_t n, WinCol *c) {
    const CellSpec *s = &g->layout->cols[column];
    *c = (WinCol){.size = phys_size((Phys)s->phys), .phys = s->phys, .type = s->type};
    c->data = arena_alloc(a, n * c->size + 1);
    if (s->nullable) c->valid = arena_alloc(a, n + 1);
    return c->data && (!s->nullable || c->valid) ? ST_OK : ST_ERROR;
}

/* Rows [first, first + n) of a run to rows [at, at + n) of the column. */
static void col_load(const WindowRun *g, int32_t column, const RowRun *run, int64_t first, int64_t n, WinCol *c,
                     int64_t at) {
    Vec v = {
        .data = c->data + at * c->size, .valid = c->valid ? c->valid + at : NULL, .phys = c->phys, .type = c->type};
    rows_load(g->layout, column, run, first, NULL, n, &v);
    if (c->valid && !v.valid) memset(c->valid + at, 1, (size_t)n);
}

static int64_t batch_rows(const WindowRun *g) {
    int64_t share = rows_count(g->in) / ((int64_t)g->env->threads * 4) + 1;
    return MIN_OF(MAX_OF(share, INT64_C(1024)), MAX_OF(g->env->batch_rows, INT64_C(1)));
}

static Status add_piece(WindowRun *g, int64_t first, int64_t end) {
    return first == end || vec_push(g->a, &g->pieces, ((Piece){first, end - first})) ? ST_OK : ST_ERROR;
}

typedef struct Finder {
    WindowRun *g;
    const WinClause *c; /* the clause with the fewest partition keys */
    Arena *a;
    WinCol *cols;    /* row 0: the last one of the run before; then those of the run */
    int64_t room;    /* rows */
    int64_t n, from; /* rows of the run before; first row of the batch */
} Finder;

static Status make_finder_room(Finder *f, int64_t n) {
    if (n <= f->room) return ST_OK;
    f->room = n * 2;
    for (int32_t i = 0; i < f->c->n_partition; i++) {
        WinCol *c = &f->cols[f->c->keys[i]], old = *c;
        TRY(col_new(f->g, f->a, f->c->keys[i], f->room, c));
        if (!old.data) continue;
        memcpy(c->data, old.data + f->n * old.size, (size_t)old.size);
        if (old.valid) c->valid[0] = old.valid[f->n];
    }
    f->n = 0;
    return ST_OK;
}

static Status find_in_run(Finder *f, int64_t r, const RowRun *run) {
    WindowRun *g = f->g;
    int64_t start = rows_run_start(g->in, r);
    TRY(make_finder_room(f, run->n + 1));
    for (int32_t i = 0; i < f->c->n_partition; i++) {
        WinCol *c = &f->cols[f->c->keys[i]];
        memmove(c->data, c->data + f->n * c->size, (size_t)c->size);
        if (c->valid) c->valid[0] = c->valid[f->n];
        col_load(g, f->c->keys[i], run, 0, run->n, c, 1);
    }
    f->n = run->n;
    for (int64_t i = r > 0 ? 0 : 1; i < run->n; i++) {
        if (start + i - f->from < batch_rows(g)) continue;
        if (equal_keys(f->cols, f->c->n_partition, f->c->keys, i, i + 1)) continue;
        TRY(add_piece(g, f->from, start + i));
        f->from = start + i;
    }
    return ST_OK;
}

static Status find_in_runs(Finder *f) {
    RowStore *in = f->g->in;
    RowRun run = {0}, before = {0};
    Status st = ST_OK;
    for (int64_t r = 0; r < rows_n_runs(in) && st == ST_OK; r++) {
        if ((st = query_stop_check(f->g->env->stop, f->g->err)) != ST_OK) break;
        if ((st = rows_run_open(in, r, &run, f->g->err)) != ST_OK) break;
        st = find_in_run(f, r, &run);
        rows_run_close(in, &before); /* its last row's strings were compared */
        before = run;
    }
    rows_run_close(in, &before);
    return st;
}

static Status find_pieces(WindowRun *g) {
    Finder f = {.g = g, .c = &g->spec->clauses[0]};
    for (int32_t i = 1; i < g->spec->n_clauses; i++)
        if (g->spec->clauses[i].n_partition < f.c->n_partition) f.c = &g->spec->clauses[i];
    if (f.c->n_partition == 0 || rows_count(g->in) <= batch_rows(g)) return add_piece(g, 0, rows_count(g->in));
    if (!(f.a = arena_new(g->env->account, g->err))) return ST_ERROR;
    f.cols = arena_array(f.a, WinCol, g->spec->n_in + 1);
    Status st = f.cols ? find_in_runs(&f) : ST_ERROR;
    arena_free(f.a);
    return st == ST_OK ? add_piece(g, f.from, rows_count(g->in)) : ST_ERROR;
}

/* ---- 2. a batch --------------------------------------------------------------------------------------------- */

typedef struct Worker {
    WindowRun *g;
    int number;
    Batch b;
    AggHeap heap;
    RowRun *runs;
    int64_t n_runs;
    Err err;
} Worker;

/* The last run that begins at or before the row. */
static int64_t run_of(const RowStore *r, int64_t row) {
    int64_t lo = 0, hi = rows_n_runs(r);
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (rows_run_start(r, mid) <= row) lo = mid;
        else hi = mid;
    }
    return lo;
}

static Status load_batch(Worker *w, const Piece *p) {
    WindowRun *g = w->g;
    Batch *b = &w->b;
    int64_t r = run_of(g->in, p->first), last = run_of(g->in, p->first + p->n - 1);
    b->n = p->n;
    b->in = arena_array(b->a, WinCol, g->spec->n_in + 1);
    w->runs = arena_array(b->a, RowRun, last - r + 1);
    if (!b->in || !w->runs) return ST_ERROR;
    for (int32_t c = 0; c < g->spec->n_in; c++) TRY(col_new(g, b->a, c, p->n, &b->in[c]));
    for (; r <= last; r++) {
        RowRun *run = &w->runs[w->n_runs];
        TRY(query_stop_check(g->env->stop, &w->err));
        TRY(rows_run_open(g->in, r, run, &w->err));
        w->n_runs++;
        int64_t start = rows_run_start(g->in, r);
        int64_t first = MAX_OF(p->first, start), end = MIN_OF(p->first + p->n, start + run->n);
        for (int32_t c = 0; c < g->spec->n_in; c++)
            col_load(g, c, run, first - start, end - first, &b->in[c], first - p->first);
    }
    return ST_OK;
}

static bool reads_frames(const WinClause *c) {
    for (int32_t i = 0; i < c->n_calls; i++)
        if (c->calls[i].func >= WF_FIRST_VALUE) return true;
    return false;
}
static bool reads_peers(const WinClause *c) {
    bool frame = c->frame.mode != WM_ROWS || c->frame.exclude == WX_GROUP || c->frame.exclude == WX_TIES;
    if (frame && reads_frames(c)) return true;
    for (int32_t i = 0; i < c->n_calls; i++)
        if (c->calls[i].func >= WF_RANK && c->calls[i].func <= WF_CUME_DIST) return true;
    return false;
}

static Status make_room(Worker *w) {
    Batch *b = &w->b;
    b->out = arena_array(b->a, WinCol, w->g->n_calls + 1);
    b->peer_start = b->peer_end = b->group = b->group_start = b->frame_start = b->frame_end = NULL;
    bool peers = false, frames = false, ok = b->out;
    for (int32_t i = 0; i < b->spec->n_clauses; i++) {
        peers |= reads_peers(&b->spec->clauses[i]);
        frames |= reads_frames(&b->spec->clauses[i]);
    }
    if (peers)
        ok = ok && (b->peer_start = arena_alloc(b->a, b->n * 8)) && (b->peer_end = arena_alloc(b->a, b->n * 8)) &&
             (b->group = arena_alloc(b->a, b->n * 8)) && (b->group_start = arena_alloc(b->a, (b->n + 1) * 8));
    if (frames)
        ok = ok && (b->frame_start = arena_alloc(b->a, b->n * 8)) && (b->frame_end = arena_alloc(b->a, b->n * 8));
    if (!ok) return ST_ERROR;
    int32_t at = 0;
    for (int32_t i = 0; i < b->spec->n_clauses; i++)
        for (int32_t k = 0; k < b->spec->clauses[i].n_calls; k++) {
            const CellSpec *s = &b->spec->clauses[i].calls[k].out;
            WinCol *c = &b->out[at++];
            *c = (WinCol){.size = phys_size((Phys)s->phys), .phys = s->phys, .type = s->type};
            c->data = arena_calloc(b->a, b->n * c->size + 1);
            c->valid = arena_alloc(b->a, b->n + 1);
            if (!c->data || !c->valid) return ST_ERROR;
        }
    return ST_OK;
}

/* Where the partition that begins at p->from ends, and, if that is read, its groups of peers. */
static void find_groups(Batch *b, Part *p) {
    const WinClause *c = p->c;
    const int32_t *order = c->keys + c->n_partition;
    int64_t i = p->from, first = i;
    b->n_groups = 0;
    if (!reads_peers(c)) {
        for (i++; i < b->n && equal_keys(b->in, c->n_partition, c->keys, i - 1, i);) i++;
        p->to = i;
        return;
    }
    do {
        bool new_group = i == p->from || !equal_keys(b->in, c->n_order, order, i - 1, i);
        if (new_group && i > p->from)
            for (int64_t k = first; k < i; k++) b->peer_end[k] = i;
        if (new_group) b->group_start[b->n_groups++] = first = i;
        b->peer_start[i] = first;
        b->group[i] = b->n_groups - 1;
        i++;
    } while (i < b->n && equal_keys(b->in, c->n_partition, c->keys, i - 1, i));
    for (int64_t k = first; k < i; k++) b->peer_end[k] = i;
    b->group_start[b->n_groups] = p->to = i;
}

static Status evaluate(Worker *w) {
    Batch *b = &w->b;
    int32_t at = 0;
    for (int32_t i = 0; i < b->spec->n_clauses; i++) {
        const WinClause *c = &b->spec->clauses[i];
        for (int64_t from = 0; from < b->n;) {
            Part p = {.c = c, .from = from};
            TRY(query_stop_check(w->g->env->stop, &w->err));
            find_groups(b, &p);
            if (reads_frames(c)) TRY(win_frames(b, &p));
            for (int32_t k = 0; k < c->n_calls; k++) TRY(win_call(b, &p, &c->calls[k], &w->heap, &b->out[at + k]));
            from = p.to;
        }
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
    Vec *cols = arena_array(b->a, Vec, n + g->n_calls + 1);
    if (!cols) return ST_ERROR;
    for (int64_t row = 0; row < b->n; row += AT_ONCE) {
        for (int32_t i = 0; i < n; i++) cols[i] = vec_at(&b->in[g->spec->pass[i]], row);
        for (int32_t i = 0; i < g->n_calls; i++) cols[n + i] = vec_at(&b->out[i], row);
        TRY(query_stop_check(g->env->stop, &w->err));
        TRY(rows_append(g->out, w->number, order, MIN_OF((int64_t)AT_ONCE, b->n - row), cols, &w->err));
    }
    return ST_OK;
}

static Status run_piece(Worker *w, int64_t i) {
    WindowRun *g = w->g;
    arena_reset(w->b.a);
    w->n_runs = 0;
    Status st = load_batch(w, &g->pieces.items[i]);
    if (st == ST_OK) st = make_room(w);
    if (st == ST_OK) st = evaluate(w);
    if (st == ST_OK) st = append_batch(w, i);
    for (int64_t k = 0; k < w->n_runs; k++) rows_run_close(g->in, &w->runs[k]);
    agg_heap_free(&w->heap);
    return st;
}

static void window_worker(void *ctx, int number) {
    WindowRun *g = ctx;
    Worker w = {.g = g, .number = number, .heap = {.acct = g->env->account}};
    if (atomic_load(&g->next) >= g->pieces.len) return;
    err_clear(&w.err);
    w.b = (Batch){.spec = g->spec, .env = g->env, .a = arena_new(g->env->account, &w.err), .e = &w.err};
    Status st = w.b.a ? ST_OK : ST_ERROR;
    while (st == ST_OK && !atomic_load(&g->failed)) {
        int64_t i = atomic_fetch_add(&g->next, 1);
        if (i >= g->pieces.len) break;
        st = run_piece(&w, i);
    }
    arena_free(w.b.a);
    if (st == ST_OK) return;
    if (!err_is_set(&w.err)) err_oom(&w.err);
    if (!atomic_exchange(&g->failed, true)) err_copy(g->err, &w.err);
}

Status window_run(const WindowSpec *spec, const WindowEnv *env, RowStore *in, RowStore *out, int *workers, Err *e) {
    WindowRun run = {.spec = spec, .env = env, .in = in, .out = out, .layout = rows_layout(in), .err = e}, *g = &run;
    for (int32_t i = 0; i < spec->n_clauses; i++) g->n_calls += spec->clauses[i].n_calls;
    if (!(g->a = arena_new(env->account, e))) return ST_ERROR;
    Status st = find_pieces(g);
    *workers = (int)MAX_OF(INT64_C(1), MIN_OF((int64_t)env->threads, g->pieces.len));
    if (st == ST_OK) {
        if (*workers > 1 && env->pool) pool_run(env->pool, *workers, window_worker, g);
        else window_worker(g, 0);
        if (atomic_load(&g->failed)) st = ST_ERROR;
    }
    arena_free(g->a);
    return st == ST_OK ? rows_finish(out, true, e) : ST_ERROR;
}
