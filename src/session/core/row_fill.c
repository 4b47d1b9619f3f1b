/* row_fill.c - see row_fill.h. */
#include "session/core/row_fill.h"

enum {
    FILL_ROWS = 2048,
    FILL_RUNS = 8,
    WORKER_BYTES = 4 << 20, /* what a load has in hand for each, about */
    ROOM_PART = 4           /* of what memory_limit leaves, for all of them */
};

Status row_fill_vectors(void *fill, int worker, int64_t order, int64_t n, const Vec *cols, Err *e) {
    RowFill *f = fill;
    f->after[worker] = f->before + order + 1;
    return load_add(f->load, worker, f->before + order, n, cols, e);
}
void row_fill_next(RowFill *f) {
    for (int w = 0; w < f->workers; w++) f->before = MAX_OF(f->before, f->after[w]);
}

static int32_t table_columns(const RowFill *f) { return load_columns(f->load); }
static Status fill_run(RowFill *f, int worker, int64_t i, int64_t order, Err *e) {
    const int32_t n_cols = table_columns(f);
    const Vec *cells = f->cells + (int64_t)worker * n_cols;
    Vec *now = f->now + (int64_t)worker * n_cols;
    RowRun run;
    TRY(rows_run_open(f->rows, i, &run, e));
    Status r = ST_OK;
    for (int64_t first = 0; r == ST_OK && first < run.n; first += FILL_ROWS) {
        int64_t n = MIN_OF((int64_t)FILL_ROWS, run.n - first);
        for (int32_t k = 0; k < n_cols; k++) {
            now[k] = cells[k]; /* rows_load leaves out `valid` where nothing is NULL */
            rows_load(rows_layout(f->rows), k, &run, first, NULL, n, &now[k]);
        }
        r = load_add(f->load, worker, order, n, now, e);
    }
    rows_run_close(f->rows, &run);
    return r;
}
static void fill_worker(void *ctx, int worker) {
    RowFill *f = ctx;
    Err err;
    err_clear(&err);
    for (int64_t order, runs = rows_n_runs(f->rows); (order = atomic_fetch_add(&f->next, 1)) * FILL_RUNS < runs;) {
        Status r = ST_OK;
        if (atomic_load(&f->s->cancel))
            r = err_set(&err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        for (int64_t i = order * FILL_RUNS;
             r == ST_OK && i < MIN_OF((order + 1) * FILL_RUNS, runs) && !atomic_load(&f->failed); i++)
            r = fill_run(f, worker, i, f->before + order, &err);
        if (atomic_load(&f->failed)) return;
        if (r == ST_OK) continue;
        if (!atomic_exchange(&f->failed, true)) err_copy(&f->s->err, &err); /* read when all are done */
        return;
    }
}

/* Room for the cells of each worker. */
static Status make_room(RowFill *f) {
    const RowLayout *l = rows_layout(f->rows);
    const int64_t n_cols = table_columns(f), n = f->workers * n_cols;
    f->cells = arena_array(f->a, Vec, n + 1);
    f->now = arena_array(f->a, Vec, n + 1);
    if (!f->cells || !f->now) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        const CellSpec *c = &l->cols[i % n_cols];
        f->cells[i] = (Vec){.data = arena_alloc(f->a, phys_size((Phys)c->phys) * FILL_ROWS),
                            .valid = arena_alloc(f->a, FILL_ROWS),
                            .phys = c->phys,
                            .type = c->type};
        if (!f->cells[i].data || !f->cells[i].valid) return ST_ERROR;
    }
    return ST_OK;
}

int row_fill_workers(const Session *s, bool vectors) {
    const int64_t limit = atomic_load(&s->db->account.limit);
    const int64_t room = limit > 0 ? limit - atomic_load(&s->db->account.used) : INT64_MAX;
    const int64_t pool = s->db->pool ? pool_threads(s->db->pool) : 1;
    const int64_t most = MIN_OF(pool, s->settings.exec.threads);
    return (int)MAX_OF(vectors ? most : MIN_OF(most, room / WORKER_BYTES / ROOM_PART), INT64_C(1));
}
Status row_fill_begin(Session *s, Table *t, Arena *a, bool vectors, RowFill *f) {
    *f = (RowFill){.s = s, .a = a, .workers = row_fill_workers(s, vectors)};
    if (!(f->after = arena_array(a, int64_t, f->workers))) return ST_ERROR;
    return load_begin(t, f->workers, &f->load, &s->err);
}
Status row_fill_store(RowFill *f, RowStore *rows) {
    int64_t takes = (rows_n_runs(rows) + FILL_RUNS - 1) / FILL_RUNS;
    f->rows = rows;
    if (takes == 0) return ST_OK;
    if (!f->cells) TRY(make_room(f));
    atomic_store(&f->next, 0);
    const int n = (int)MIN_OF((int64_t)f->workers, takes);
    if (n > 1) pool_run(f->s->db->pool, n, fill_worker, f);
    else fill_worker(f, 0);
    f->before += takes;
    return atomic_load(&f->failed) ? ST_ERROR : ST_OK;
}
