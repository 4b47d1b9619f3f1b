/* fill.c - the rows of a query into a table without rows: CREATE TABLE AS, REFRESH, ALTER TABLE.
 *
 * A table that is new, or whose rows go, needs the database lock when it has the new rows, not while these are computed
 * and encoded: where others are connected, that is done beside the tables (core/ahead.h).
 */
#include "session/ddl/utility_int.h"
#include "session/core/ahead.h"

/* A result's rows on their way into an empty table: as vectors where they are made, or a piece of the result after the
 * other, of which each worker takes some runs at a time. All keep their place. */
enum { FILL_ROWS = 2048, FILL_RUNS = 8, FILL_BYTES = 8 << 20 };
typedef struct Fill {
    RowStore *rows;
    TableLoad *load;
    int64_t before;   /* places of what has come before */
    int64_t *after;   /* per worker: behind the place of vectors that came last */
    Vec *cells, *now; /* per worker and column: room for FILL_ROWS; as filled last. NULL: there were no pieces yet */
    const _Atomic bool *cancel;
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *e;
} Fill;

static Status fill_vectors(void *ctx, int worker, int64_t order, int64_t n, const Vec *cols, Err *e) {
    Fill *f = ctx;
    f->after[worker] = f->before + order + 1;
    return load_add(f->load, worker, f->before + order, n, cols, e);
}

static Status fill_run(Fill *f, int worker, int64_t i, int64_t order, Err *e) {
    const RowLayout *l = rows_layout(f->rows);
    const Vec *cells = f->cells + (int64_t)worker * l->n_cols;
    Vec *now = f->now + (int64_t)worker * l->n_cols;
    RowRun run;
    TRY(rows_run_open(f->rows, i, &run, e));
    Status r = ST_OK;
    for (int64_t first = 0; r == ST_OK && first < run.n; first += FILL_ROWS) {
        int64_t n = MIN_OF((int64_t)FILL_ROWS, run.n - first);
        for (int32_t k = 0; k < l->n_cols; k++) {
            now[k] = cells[k]; /* rows_load leaves out `valid` where nothing is NULL */
            rows_load(l, k, &run, first, NULL, n, &now[k]);
        }
        r = load_add(f->load, worker, order, n, now, e);
    }
    rows_run_close(f->rows, &run);
    return r;
}
static void fill_worker(void *ctx, int worker) {
    Fill *f = ctx;
    Err err;
    err_clear(&err);
    for (int64_t order, runs = rows_n_runs(f->rows); (order = atomic_fetch_add(&f->next, 1)) * FILL_RUNS < runs;) {
        Status r = ST_OK;
        if (atomic_load(f->cancel)) r = err_set(&err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        for (int64_t i = order * FILL_RUNS;
             r == ST_OK && i < MIN_OF((order + 1) * FILL_RUNS, runs) && !atomic_load(&f->failed); i++)
            r = fill_run(f, worker, i, f->before + order, &err);
        if (atomic_load(&f->failed)) return;
        if (r == ST_OK) continue;
        if (!atomic_exchange(&f->failed, true)) err_copy(f->e, &err); /* read when all are done */
        return;
    }
}

/* Room for the cells of each worker. */
static Status fill_begin(Fill *f, int workers, Arena *a) {
    const RowLayout *l = rows_layout(f->rows);
    f->cells = arena_array(a, Vec, (int64_t)workers * l->n_cols + 1);
    f->now = arena_array(a, Vec, (int64_t)workers * l->n_cols + 1);
    if (!f->cells || !f->now) return ST_ERROR;
    for (int64_t i = 0; i < (int64_t)workers * l->n_cols; i++) {
        const CellSpec *c = &l->cols[i % l->n_cols];
        f->cells[i] = (Vec){.data = arena_alloc(a, phys_size((Phys)c->phys) * FILL_ROWS),
                            .valid = arena_alloc(a, FILL_ROWS),
                            .phys = c->phys,
                            .type = c->type};
        if (!f->cells[i].data || !f->cells[i].valid) return ST_ERROR;
    }
    return ST_OK;
}

static Status fill_piece(Session *s, Fill *f, RowStore *rows, int workers, Arena *a) {
    int64_t takes = (rows_n_runs(rows) + FILL_RUNS - 1) / FILL_RUNS;
    f->rows = rows;
    if (takes == 0) return ST_OK;
    if (!f->cells) TRY(fill_begin(f, workers, a));
    atomic_store(&f->next, 0);
    const int n = (int)MIN_OF((int64_t)workers, takes);
    if (n > 1) pool_run(s->db->pool, n, fill_worker, f);
    else fill_worker(f, 0);
    f->before += takes;
    return atomic_load(&f->failed) ? ST_ERROR : ST_OK;
}

/* The load is the caller's to finish and to free. */
static Status fill_load(Session *s, Table *t, RunOutput *r, Arena *a, TableLoad **load) {
    int workers = s->db->pool ? pool_threads(s->db->pool) : 1; /* a query has no more */
    Fill f = {.after = arena_array(a, int64_t, workers), .cancel = &s->cancel, .e = &s->err};
    if (!f.after) return ST_ERROR;
    TRY(load_begin(t, workers, &f.load, &s->err));
    *load = f.load;
    const RowSink sink = {fill_vectors, &f};
    if (!r->rows) query_set_sink(r->query, &sink);
    Status st = r->rows ? fill_piece(s, &f, r->rows, workers, a) : ST_OK;
    while (st == ST_OK && r->more) {
        st = session_next_piece(s, FILL_BYTES, r);
        for (int w = 0; w < workers; w++) f.before = MAX_OF(f.before, f.after[w]);
        if (st == ST_OK) st = fill_piece(s, &f, r->rows, workers, a);
    }
    return st;
}
Status fill_table(Session *s, Table *t, RunOutput *r, Arena *a, int64_t *count) {
    TableLoad *load = NULL;
    Status st = fill_load(s, t, r, a, &load);
    if (st == ST_OK) st = load_finish(load, s->db->pool, s->undo, count, &s->err);
    load_cancel(load);
    return st;
}

static Status bind_and_load(Session *s, Statement *st, const FillQuery *q, Ahead *a, RunOutput *r, TableLoad **load) {
    Arena *arena = st->run_arena;
    PlanCtx c;
    BoundStmt *b;
    Table *t;
    const Status bound = q->bind(q->ctx, &c, &b, &t);
    TRY(ahead_bound(s, a, arena));
    TRY(bound);
    TRY(session_begin_pieces(s, &c, b, b->n_result, b->result, &st->account, r));
    return fill_load(s, t, r, arena, load);
}
Status fill_ahead(Session *s, Statement *st, const FillQuery *q, const Table *target, TableLoad **load, bool *again) {
    Ahead a;
    RunOutput r = {0};
    *load = NULL;
    *again = false;
    if (!ahead_begin(s, target, &a)) return ST_OK;
    Status out = bind_and_load(s, st, q, &a, &r, load);
    if (out == ST_OK) out = ahead_end(s, &a, again);
    query_free(r.query);
    if (out == ST_OK && !*again) return ST_OK;
    load_cancel(*load);
    *load = NULL;
    if (out != ST_OK) ahead_fail(s);
    return out;
}
