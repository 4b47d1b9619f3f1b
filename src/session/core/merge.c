/* merge.c - MERGE: what is done with the rows of its plan (sql/bind/bind_merge.c).
 *
 * The statement is one set of changes: the order of its rows, which is that of a join, makes no difference. First all
 * rows are looked at, one after the other: NOT NULL and CHECK of what is to be stored, and that no row of the table is
 * changed twice. Then rows are deleted, then the others updated, as if all changed at once, then the new ones inserted,
 * so that a key that one of them gives up is free for another. Foreign keys follow (constraints.h).
 */
#include "session/core/changes_int.h"

typedef struct MergeRun {
    Session *s;
    Arena *a;
    Change *x;
    const BoundStmt *b;
    const RowLayout *l;
    Chunk in;            /* rows of the plan: rowid, clause, values, checks */
    bool copies_strings; /* they go with the chunk */
    Chunk set;           /* rows to be updated: */
    ChunkCols set_cols;  /* rowid, set values */
    RowSet changed;      /* rows that are updated or deleted */
    int64_t *deleted;
    int64_t *updated;                         /* rows of the plan */
    Table *target;                            /* b's, where that is not a version's */
    TablePieces *set_pieces, *deleted_pieces; /* made beside it */
    TableLoad *load;
    int64_t n_chunks; /* that it has got */
} MergeRun;

enum { FIRST_VALUE = 2 };

static StmtKind kind_of(const MergeRun *m, int64_t r) {
    return m->b->merge->kinds[((const int64_t *)m->in.cols[1].data)[r]];
}

/* The rows of the chunk as they will be: whole, or (set) the columns that UPDATEs set. sets: room for these. */
static NewRows rows_to_be(const MergeRun *m, const Chunk *c, int64_t first, int64_t n, Vec *sets) {
    const BoundStmt *b = m->b;
    NewRows x = {.first = first, .n = n, .n_cols = b->table->n_cols, .vals = c->cols + FIRST_VALUE};
    if (!sets) return x;
    for (int32_t i = 0; i < b->n_set; i++) sets[i] = x.vals[b->set_cols[i]];
    x.n_cols = b->n_set;
    x.cols = b->set_cols;
    x.vals = sets;
    return x;
}
static RowChecks checks_of(const MergeRun *m) {
    const BoundStmt *b = m->b;
    return (RowChecks){b->n_checks, m->in.cols + FIRST_VALUE + b->table->n_cols, b->check_names, 0};
}

static Status once_only(MergeRun *m, int64_t rowid) {
    Session *s = m->s;
    if (row_set_has(&m->changed, rowid) || (m->x->changed && row_set_has(m->x->changed, rowid))) {
        err_set(&s->err, ERR_CARDINALITY, "MERGE command cannot affect row a second time");
        err_hint(&s->err, "Ensure that not more than one source row matches any one target row.");
        return ST_ERROR;
    }
    return row_set_add(&m->changed, rowid) == ST_OK ? ST_OK : err_oom(&s->err);
}

/* All rows of the plan, chunk by chunk. */
static Status each_chunk(MergeRun *m, Status (*fn)(MergeRun *m, int64_t k, int64_t seen)) {
    Session *s = m->s;
    RowStore *rows = m->x->rows;
    Status st = ST_OK;
    int64_t seen = 0;
    for (int64_t i = 0; st == ST_OK && i < rows_n_runs(rows); i++) {
        RowRun run;
        TRY(rows_run_open(rows, i, &run, &s->err));
        m->copies_strings = run.pin;
        for (int64_t first = 0; st == ST_OK && first < run.n; first += CHANGE_CHUNK_ROWS) {
            const int64_t k = MIN_OF((int64_t)CHANGE_CHUNK_ROWS, run.n - first);
            chunk_load(m->l, &run, first, k, &m->in);
            st = fn(m, k, seen + first);
            if (st == ST_OK && atomic_load(&s->cancel))
                st = err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        }
        seen += run.n;
        rows_run_close(rows, &run);
    }
    return st;
}

/* ---- 1. every row is looked at ------------------------------------------------------------------- */

static Status look_at_row(MergeRun *m, int64_t r, int64_t row, Vec *sets) {
    Session *s = m->s;
    Change *x = m->x;
    const StmtKind kind = kind_of(m, r);
    const int64_t *rowids = m->in.cols[0].data;
    NewRows rows = rows_to_be(m, &m->in, r, 1, kind == STMT_UPDATE ? sets : NULL);
    rows.checks = checks_of(m);
    switch ((int)kind) {
    case STMT_INSERT:
        TRY(rows_check(m->b->table, &rows, NULL, &s->err));
        x->map[x->n_inserted++] = row;
        return ST_OK;
    case STMT_UPDATE:
        TRY(once_only(m, rowids[r]));
        TRY(rows_check(m->b->table, &rows, rowids, &s->err));
        TRY(chunk_gather(s, m->a, &m->in, r, 1, m->copies_strings, m->set_cols, &m->set, x->n_updated));
        m->updated[x->n_updated++] = row;
        return ST_OK;
    default:
        TRY(once_only(m, rowids[r]));
        m->deleted[x->n_deleted++] = rowids[r];
        return ST_OK;
    }
}
static Status look_at_rows(MergeRun *m, int64_t k, int64_t seen) {
    Vec *sets = arena_array(m->a, Vec, m->b->n_set + 1);
    if (!sets) return err_oom(&m->s->err);
    for (int64_t r = 0; r < k; r++) TRY(look_at_row(m, r, seen + r, sets));
    return ST_OK;
}

/* ---- 2. rows of the table ---------------------------------------------------------------------------- */

static Status rows_to_set(MergeRun *m, NewRows *out) {
    Vec *sets = arena_array(m->a, Vec, m->b->n_set + 1);
    if (!sets) return err_oom(&m->s->err);
    chunk_gathered(m->l, m->set_cols, &m->set);
    *out = rows_to_be(m, &m->set, 0, m->x->n_updated, sets);
    return ST_OK;
}
static Status delete_rows(MergeRun *m) {
    Session *s = m->s;
    Change *x = m->x;
    TablePieces *p = m->deleted_pieces;
    int64_t n;
    m->deleted_pieces = NULL;
    if (p) return pieces_apply(p, m->deleted, NULL, s->undo, &n, &s->err);
    return x->n_deleted > 0 ? table_delete(m->b->table, x->n_deleted, m->deleted, s->undo, &n, &s->err) : ST_OK;
}
/* Rows that pieces update set no keys, so that others may be deleted before or after. Before, their tablets would not
 * be as they were. */
static Status change_rows(MergeRun *m) {
    Session *s = m->s;
    Change *x = m->x;
    NewRows rows;
    int64_t n;
    TablePieces *p = m->set_pieces;
    m->set_pieces = NULL;
    if (x->n_updated > 0) TRY(rows_to_set(m, &rows));
    if (p) TRY(pieces_apply(p, m->set.data[0], &rows, s->undo, &n, &s->err));
    TRY(delete_rows(m));
    if (x->n_updated > 0 && !p) TRY(rows_update(m->b->table, &rows, m->set.data[0], s->undo, &s->err));
    memcpy(x->map + x->n_inserted, m->updated, (size_t)x->n_updated * sizeof *x->map);
    return ST_OK;
}

/* ---- 3. new rows ------------------------------------------------------------------------------------- */

static Status insert_rows(MergeRun *m, int64_t k, int64_t seen) {
    (void)seen;
    int64_t n = 0, keep[CHANGE_CHUNK_ROWS];
    for (int64_t r = 0; r < k; r++)
        if (kind_of(m, r) == STMT_INSERT) keep[n++] = r;
    if (n == 0) return ST_OK;
    chunk_keep(m->l, &m->in, n, keep);
    const NewRows rows = rows_to_be(m, &m->in, 0, n, NULL); /* their checks have passed */
    if (m->load) return load_add(m->load, 0, m->n_chunks++, n, rows.vals, &m->s->err);
    return rows_insert(m->b->table, &rows, m->s->undo, NULL, &m->s->err);
}
static bool loads(const MergeRun *m) { return m->x->n_inserted >= CHANGE_LOAD_ROWS; }
static Status load_rows(MergeRun *m) {
    TRY(load_begin(m->target, 1, &m->load, &m->s->err));
    return each_chunk(m, insert_rows);
}
static Status insert_all(MergeRun *m) {
    Session *s = m->s;
    Change *x = m->x;
    if (x->n_inserted == 0) return ST_OK;
    if (!loads(m)) return each_chunk(m, insert_rows);
    TRY(constraints_note(s, m->a, m->b->table, x->mark, x->events)); /* the load may give all rows other numbers */
    x->mark = undo_mark(s->undo);
    if (!m->load) TRY(load_rows(m));
    return load_finish(m->load, s->db->pool, s->undo, NULL, &s->err);
}

/* ---- the statement ------------------------------------------------------------------------------------- */

static Status merge_begin(MergeRun *m, int64_t total) {
    const BoundStmt *b = m->b;
    int32_t *cols = arena_array(m->a, int32_t, b->n_set + 1);
    m->x->map = arena_array(m->a, int64_t, total + 1);
    m->deleted = arena_array(m->a, int64_t, total + 1);
    m->updated = arena_array(m->a, int64_t, total + 1);
    if (!cols || !m->x->map || !m->deleted || !m->updated) return err_oom(&m->s->err);
    for (int32_t i = 0; i < b->n_set; i++) cols[i + 1] = FIRST_VALUE + b->set_cols[i];
    m->set_cols = (ChunkCols){b->n_set + 1, cols};
    TRY(chunk_init(m->s, m->a, m->l, (ChunkCols){m->l->n_cols, NULL}, CHANGE_CHUNK_ROWS, &m->in));
    return b->n_set > 0 ? chunk_init(m->s, m->a, m->l, m->set_cols, total + 1, &m->set) : ST_OK;
}

static Status look_at_all(Session *s, Arena *a, Change *x, Table *target) {
    MergeRun *m = x->merge = arena_new_of(a, MergeRun);
    if (!m) return err_oom(&s->err);
    *m =
        (MergeRun){.s = s, .a = a, .x = x, .b = x->b, .target = target, .l = rows_layout(x->rows), .changed = {.a = a}};
    TRY(merge_begin(m, rows_count(x->rows)));
    return each_chunk(m, look_at_rows);
}
static Status make_pieces(MergeRun *m) {
    const Change *x = m->x;
    PieceInput in = {.version = m->b->table, .table = m->target, .n = x->n_deleted, .rowids = m->deleted};
    NewRows rows;
    TRY(change_pieces(m->s, &in, &m->deleted_pieces));
    if (x->n_updated == 0) return ST_OK;
    TRY(rows_to_set(m, &rows));
    in.n = x->n_updated;
    in.rowids = m->set.data[0];
    in.set = &rows;
    return change_pieces(m->s, &in, &m->set_pieces);
}
Status change_prepare_merge(Session *s, Arena *a, Change *x, Table *target) {
    Status st = look_at_all(s, a, x, target);
    if (st == ST_OK) st = make_pieces(x->merge);
    if (st == ST_OK && loads(x->merge)) st = load_rows(x->merge);
    if (st != ST_OK) change_forget_merge(x);
    return st;
}
void change_forget_merge(Change *x) {
    MergeRun *m = x->merge;
    x->merge = NULL;
    if (!m) return;
    pieces_free(m->set_pieces);
    pieces_free(m->deleted_pieces);
    load_cancel(m->load);
}

Status change_apply_merge(Session *s, Arena *a, Change *x) {
    const int64_t total = rows_count(x->rows), mark = undo_mark(s->undo);
    Status st = x->merge ? ST_OK : look_at_all(s, a, x, x->b->table);
    if (st == ST_OK) st = change_rows(x->merge);
    if (st == ST_OK) st = insert_all(x->merge);
    change_forget_merge(x);
    x->done = total;
    x->n_shown = total;
    if (st != ST_OK) undo_rollback(s->undo, mark);
    return st;
}
