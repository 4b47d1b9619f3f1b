/* insert_cells.c - INSERT .. SELECT of many rows that are there as cells (sql/plan/client_rows.h), with constants
 * beside them: they go into the bulk load from where they are, by several workers, and no plan runs.
 *
 * The form is what appenders and `insert into t select * from name` of registered rows have. What else a statement may
 * want, CHECKs, ON CONFLICT, RETURNING, another type than the column's, leaves it to the plan.
 */
#include <stdio.h>

#include "session/core/changes.h"
#include "session/core/session.h"
#include "session/core/transaction.h"

enum { CHUNK_ROWS = 65536, PIECE_ROWS = 2048 };

typedef struct CellLoad {
    Session *s;
    Vec *cols; /* by column of the table: of all rows */
    int64_t n, n_chunks;
    _Atomic int64_t next, failed; /* the next chunk; the first that has failed, INT64_MAX: none has */
    Mutex lock;                   /* of err, which is that chunk's, and of changes of `failed` */
    Err err;
    int n_cols;
    TableLoad *load;
} CellLoad;

/* What a column of the plan is: cells of rows, or a constant. */
static bool cells_of(const Plan *p, ColId id, const Plan **values, Vec *out) {
    int32_t i = 0;
    while (i < p->n_out && p->out_cols[i] != id) i++;
    if (i == p->n_out || stack_stop()) return false;
    if (p->kind == LP_VALUES) {
        if (!p->values.cells) return false;
        *values = p;
        *out = p->values.cells[i];
        return true;
    }
    if (p->kind != LP_PROJECT) return false;
    Expr *e = p->exprs[i];
    if (e->kind == EX_COL) return cells_of(p->children[0], e->u.col, values, out);
    if (e->kind != EX_CONST) return false;
    static const uint8_t no = 0;
    *out = (Vec){.data = value_cell(&e->u.value),
                 .valid = e->u.value.is_null ? (uint8_t *)(uintptr_t)&no : NULL, /* read only */
                 .phys = (uint8_t)type_phys(e->type),
                 .is_const = true,
                 .type = e->type};
    return true;
}

static bool is_plain(const BoundStmt *b) {
    return b->kind == STMT_INSERT && b->n_members == 0 && !b->on_conflict_nothing && !b->hit && b->n_checks == 0 &&
           b->n_result == 0 && b->plan;
}

static void note_failure(CellLoad *x, int64_t chunk, const Err *e) {
    mutex_lock(&x->lock);
    if (chunk < atomic_load(&x->failed)) {
        err_copy(&x->err, e);
        atomic_store(&x->failed, chunk);
    }
    mutex_unlock(&x->lock);
}

static Status load_piece(CellLoad *x, int worker, int64_t chunk, int64_t first, int64_t n, Vec *piece, Err *e) {
    for (int i = 0; i < x->n_cols; i++) {
        piece[i] = x->cols[i];
        if (piece[i].is_const) continue;
        piece[i].data = (char *)piece[i].data + first * phys_size((Phys)piece[i].phys);
        if (piece[i].valid) piece[i].valid += first;
    }
    return load_add(x->load, worker, chunk, n, piece, e);
}

static void load_worker(void *ctx, int worker) {
    CellLoad *x = ctx;
    Err e = {0};
    Arena *a = arena_new(&x->s->account, &e);
    Vec *piece = a ? arena_array(a, Vec, x->n_cols + 1) : NULL;
    for (int64_t chunk; (chunk = atomic_fetch_add(&x->next, 1)) < x->n_chunks;) {
        if (chunk > atomic_load(&x->failed)) break;
        int64_t at = chunk * CHUNK_ROWS, end = MIN_OF(at + CHUNK_ROWS, x->n);
        if (!piece && !err_is_set(&e)) err_oom(&e);
        for (; !err_is_set(&e) && at < end; at += PIECE_ROWS) {
            if (atomic_load(&x->s->cancel)) err_set(&e, ERR_QUERY_CANCELED, "canceling statement due to user request");
            else (void)load_piece(x, worker, chunk, at, MIN_OF(end - at, (int64_t)PIECE_ROWS), piece, &e);
        }
        if (!err_is_set(&e)) continue;
        note_failure(x, chunk, &e);
        break;
    }
    arena_free(a);
}

static Status load_cells(Session *s, Table *t, CellLoad *x, int64_t *rows) {
    int workers = s->db->pool ? MIN_OF((int)s->settings.exec.threads, pool_threads(s->db->pool)) : 1;
    workers = (int)MAX_OF(MIN_OF((int64_t)workers, x->n_chunks), INT64_C(1));
    TRY(load_begin(t, workers, &x->load, &s->err));
    if (workers > 1) pool_run(s->db->pool, workers, load_worker, x);
    else load_worker(x, 0);
    Status st = ST_OK;
    if (atomic_load(&x->failed) < INT64_MAX) {
        err_copy(&s->err, &x->err);
        st = ST_ERROR;
    }
    if (st == ST_OK) st = load_finish(x->load, s->db->pool, s->undo, rows, &s->err);
    load_cancel(x->load);
    return st;
}

Status session_insert_cells(Session *s, Statement *st, const BoundStmt *b, int64_t least, bool *done) {
    Table *t = b->table;
    const Plan *values = NULL;
    *done = false;
    if (!is_plain(b)) return ST_OK;
    CellLoad x = {.s = s, .n_cols = t->n_cols};
    if (!(x.cols = arena_array(st->run_arena, Vec, t->n_cols + 1))) return ST_ERROR;
    for (int i = 0; i < t->n_cols; i++)
        if (!cells_of(b->plan, b->values[i], &values, &x.cols[i]) || !type_eq(x.cols[i].type, t->cols[i].type) ||
            (Phys)x.cols[i].phys != type_phys(t->cols[i].type))
            return ST_OK;
    if (!values || values->values.n_rows < least) return ST_OK;
    *done = true;
    x.n = values->values.n_rows;
    x.n_chunks = (x.n + CHUNK_ROWS - 1) / CHUNK_ROWS;
    atomic_init(&x.failed, INT64_MAX);
    if (!mutex_init(&x.lock, RANK_COPY_FAIL)) return err_oom(&s->err);
    int64_t rows = 0, mark = undo_mark(s->undo);
    Status r = load_cells(s, t, &x, &rows);
    mutex_destroy(&x.lock);
    if (r == ST_OK) r = constraints_after(s, st, t, mark);
    if (r != ST_OK) {
        undo_rollback(s->undo, mark);
        (void)transaction_reads_table(s, t); /* as session_dml */
        return ST_ERROR;
    }
    st->affected = rows;
    snprintf(st->tag, sizeof st->tag, "INSERT 0 %lld", (long long)rows);
    return ST_OK;
}
