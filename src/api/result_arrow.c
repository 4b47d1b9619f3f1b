/* result_arrow.c - results of statements as Arrow batches: rows of the store by runs, vector by vector. */
#include <errno.h>
#include <stdio.h>

#include "api/api_int.h"
#include "io/arrow.h"
#include "session/core/result_stream.h"

enum { CHUNK = 2048 };

/* A vector's room. */
typedef struct Chunk {
    uint64_t cells[CHUNK * 2]; /* of 16 bytes at most */
    uint8_t valid[CHUNK];
} Chunk;

static Vec chunk_vec(Chunk *c, Type t) {
    return (Vec){.data = c->cells, .valid = c->valid, .phys = (uint8_t)type_phys(t), .type = t};
}

/* The run that has a row. */
static int64_t find_run(const RowStore *rows, int64_t row) {
    int64_t lo = 0, hi = rows_n_runs(rows) - 1;
    while (lo < hi) {
        int64_t mid = (lo + hi + 1) / 2;
        if (rows_run_start(rows, mid) <= row) lo = mid;
        else hi = mid - 1;
    }
    return lo;
}

/* Rows of the store in its own order. */
static Status put_runs(const Statement *st, ArrowOut *o, Chunk *c, Err *e) {
    const RowLayout *l = rows_layout(st->rows);
    int64_t row = st->next_row, end = row + o->n;
    for (int64_t run = find_run(st->rows, row); row < end; run++) {
        RowRun r;
        TRY(rows_run_open(st->rows, run, &r, e));
        int64_t first = row - rows_run_start(st->rows, run), n = MIN_OF(r.n - first, end - row);
        Status ok = ST_OK;
        for (int k = 0; k < o->n_cols && ok == ST_OK; k++)
            for (int64_t at = 0; at < n && ok == ST_OK; at += CHUNK) {
                Vec v = chunk_vec(c, st->types[k]);
                int64_t m = MIN_OF(n - at, (int64_t)CHUNK);
                rows_load(l, st->first_col + k, &r, first + at, NULL, m, &v);
                ok = arrow_out_put(o, k, m, &v, e);
            }
        rows_run_close(st->rows, &r);
        if (ok != ST_OK) return ok;
        row += n;
    }
    return ST_OK;
}

/* One cell into a chunk. Strings point to what must not move until they are put. */
static Status get_cell(const Statement *st, int64_t row, int32_t col, Vec *v, int64_t at, Err *e) {
    char *to = (char *)v->data + at * phys_size((Phys)v->phys);
    const void *cell = NULL;
    bool is_null = true;
    Value value = {.type = st->types[col]};
    int32_t store_col;
    if (st->values) {
        value = st->values[row * st->n_cols + col];
        is_null = value.is_null;
        cell = value_cell_const(&value);
    } else if (st->is_text) {
        const char *t = st->text_rows[row][col];
        is_null = t == NULL;
        value.u.str = str_make(t ? t : "", t ? (int64_t)strlen(t) : 0);
        cell = value_cell_const(&value);
    } else {
        int64_t store_row = statement_cell(st, row, col, &store_col);
        TRY(rows_cell(st->rows, store_row, store_col, &cell, &is_null, e));
    }
    v->valid[at] = !is_null;
    if (!is_null) memcpy(to, cell, (size_t)phys_size((Phys)v->phys));
    return ST_OK;
}

/* Rows of values and texts, and of a store in another order, whose pages may be read one at a time: cell by cell. */
static Status put_cells(const Statement *st, ArrowOut *o, Chunk *c, Err *e) {
    int64_t step = st->values || st->is_text ? CHUNK : 1;
    for (int k = 0; k < o->n_cols; k++)
        for (int64_t at = 0; at < o->n; at += step) {
            Vec v = chunk_vec(c, st->types[k]);
            int64_t n = MIN_OF(o->n - at, step);
            for (int64_t i = 0; i < n; i++) TRY(get_cell(st, st->next_row + at + i, k, &v, i, e));
            TRY(arrow_out_put(o, k, n, &v, e));
        }
    return ST_OK;
}

/* Cells [row, row + n) of a column that lies in memory. */
static Status put_column(ArrowOut *o, int k, const Vec *from, int64_t row, Chunk *c, Type type, Err *e) {
    const int64_t size = phys_size((Phys)from->phys);
    Vec v = *from;
    v.data = (char *)from->data + row * size;
    v.valid = from->valid ? from->valid + row : NULL;
    if (!from->is_const) return arrow_out_put(o, k, o->n, &v, e);
    v = chunk_vec(c, type);
    for (int64_t i = 0; i < MIN_OF(o->n, (int64_t)CHUNK); i++) {
        v.valid[i] = !from->valid || from->valid[0];
        memcpy((char *)v.data + i * size, from->data, (size_t)size);
    }
    for (int64_t at = 0; at < o->n; at += CHUNK) TRY(arrow_out_put(o, k, MIN_OF(o->n - at, (int64_t)CHUNK), &v, e));
    return ST_OK;
}
static Status put_columns(const Statement *st, ArrowOut *o, Chunk *c, Err *e) {
    for (int k = 0; k < o->n_cols; k++) TRY(put_column(o, k, &st->columns[k], st->next_row, c, st->types[k], e));
    return ST_OK;
}

/* max_rows <= 0: all, or of a stream all that are at hand. */
static Status fetch(Statement *st, int64_t max_rows, ArrowOut *o, struct ArrowSchema *schema,
                    struct ArrowArray *batch) {
    Err *e = &st->session->err;
    int64_t left = st->show_rows ? st->n_rows - st->next_row : 0, n = max_rows > 0 ? MIN_OF(left, max_rows) : left;
    TRY(arrow_out_begin(o, NULL, st->show_rows ? st->n_cols : 0, st->types, st->names, n, e));
    o->form = st->session->settings.client.form;
    Chunk *c = n ? mem_alloc(&st->account, (int64_t)sizeof *c, e) : NULL;
    if (n && !c) return ST_ERROR;
    Status ok = n == 0                                     ? ST_OK
                : st->columns                              ? put_columns(st, o, c, e)
                : st->values || st->is_text || st->row_map ? put_cells(st, o, c, e)
                                                           : put_runs(st, o, c, e);
    if (c) mem_free(&st->account, c, (int64_t)sizeof *c);
    TRY(ok);
    TRY(arrow_out_finish(o, schema, batch, e));
    st->next_row += n;
    return ST_OK;
}

stele_status stele_fetch_arrow(stele_stmt *s, int64_t max_rows, struct ArrowSchema *schema, struct ArrowArray *batch) {
    Statement *st = (Statement *)(void *)s;
    ArrowOut o = {0};
    memset(schema, 0, sizeof *schema);
    memset(batch, 0, sizeof *batch);
    if (!st->ran && stele_run(s) != STELE_DONE) return STELE_ERROR;
    err_clear(&st->session->err);
    bool some;
    if (st->show_rows && st->next_row >= st->n_rows && statement_next_piece(st, &some) != ST_OK) return STELE_ERROR;
    if (fetch(st, max_rows, &o, schema, batch) == ST_OK) return batch->length > 0 ? STELE_ROW : STELE_DONE;
    arrow_out_cancel(&o);
    if (!err_is_set(&st->session->err)) (void)err_oom(&st->session->err);
    return STELE_ERROR;
}

/* ---- streams --------------------------------------------------------------------------------------------------- */
/* The statement is this one's; NULL: the connection is gone, and it with it. */
typedef struct ArrowResult {
    Statement *st;
    bool over;
    char error[1100];
} ArrowResult;

static stele_stmt *stmt_of(const ArrowResult *x) { return (stele_stmt *)(void *)x->st; }

static int fail(ArrowResult *x) {
    const Err *e = x->st ? &x->st->session->err : NULL;
    if (e) snprintf(x->error, sizeof x->error, "%s: %s", e->sqlstate, e->message);
    else snprintf(x->error, sizeof x->error, "the connection of the result is closed");
    if (!e) return ENOTCONN;
    return strcmp(e->sqlstate, ERR_QUERY_CANCELED) == 0 ? ECANCELED : strncmp(e->sqlstate, "53", 2) == 0 ? ENOMEM : EIO;
}

static int result_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
    ArrowResult *x = s->private_data;
    memset(out, 0, sizeof *out);
    if (!x->st) return fail(x);
    Statement *st = x->st;
    Err *e = &st->session->err;
    if (!st->ran && stele_run(stmt_of(x)) != STELE_DONE) return fail(x);
    err_clear(e);
    return arrow_out_schema(st->show_rows ? st->n_cols : 0, st->types, st->names, out, e) == ST_OK ? 0 : fail(x);
}

static int result_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
    ArrowResult *x = s->private_data;
    struct ArrowSchema schema = {0};
    memset(out, 0, sizeof *out);
    if (!x->st) return x->over ? 0 : fail(x);
    stele_status r = stele_fetch_arrow(stmt_of(x), 0, &schema, out);
    if (r == STELE_ERROR) return fail(x);
    if (schema.release) schema.release(&schema);
    if (r == STELE_ROW) return 0;
    if (out->release) out->release(out);
    x->over = true;
    return 0;
}
static const char *result_error(struct ArrowArrayStream *s) {
    const ArrowResult *x = s->private_data;
    return *x->error ? x->error : NULL;
}
static void result_release(struct ArrowArrayStream *s) {
    ArrowResult *x = s->private_data;
    s->release = NULL;
    if (x->st) statement_free(x->st);
    mem_free(NULL, x, (int64_t)sizeof *x);
}

stele_status stele_result_arrow_stream(stele_stmt *s, struct ArrowArrayStream *stream) {
    Statement *st = (Statement *)(void *)s;
    memset(stream, 0, sizeof *stream);
    err_clear(&st->session->err);
    ArrowResult *x = mem_calloc(NULL, (int64_t)sizeof *x, &st->session->err);
    if (!x) return STELE_ERROR;
    if (!st->ran) {
        st->streams = true;
        if (stele_run(s) != STELE_DONE) {
            mem_free(NULL, x, (int64_t)sizeof *x);
            return STELE_ERROR;
        }
    }
    x->st = st;
    st->holder = &x->st;
    *stream = (struct ArrowArrayStream){result_schema, result_next, result_error, result_release, x};
    return STELE_OK;
}
