/* dml.c - INSERT, UPDATE, DELETE: the plan's rows are materialised first, then applied.
 *
 * Materialising first keeps a statement from seeing its own changes. Several in one statement: with_changes.c. The
 * store's columns are: [rowid] values checks returning; dml_columns() says it exactly. Everything is undone by the
 * statement's undo mark when a row fails.
 */
#include <stdio.h>

#include "base/hash.h"
#include "db/redo.h"
#include "session/core/changes_int.h"
#include "session/core/row_fill.h"
#include "session/core/transaction.h"
#include "storage/table_fork.h"

Status chunk_init(Session *s, Arena *a, const RowLayout *l, ChunkCols which, int64_t cap, Chunk *c) {
    c->cols = arena_array(a, Vec, l->n_cols + 1);
    c->data = arena_array(a, void *, l->n_cols + 1);
    c->valid = arena_array(a, uint8_t *, l->n_cols + 1);
    if (!c->cols || !c->data || !c->valid) return err_oom(&s->err);
    for (int32_t k = 0; k < which.n; k++) {
        const int32_t i = chunk_col(which, k);
        c->data[i] = arena_alloc(a, phys_size((Phys)l->cols[i].phys) * cap);
        c->valid[i] = arena_alloc(a, cap);
        if (!c->data[i] || !c->valid[i]) return err_oom(&s->err);
    }
    return ST_OK;
}

void chunk_load(const RowLayout *l, const RowRun *run, int64_t first, int64_t n, Chunk *c) {
    for (int32_t i = 0; i < l->n_cols; i++) {
        c->cols[i] = (Vec){.data = c->data[i], .valid = c->valid[i], .phys = l->cols[i].phys, .type = l->cols[i].type};
        rows_load(l, i, run, first, NULL, n, &c->cols[i]);
    }
}

/* Texts of a spilled run go with it: they are copied to `a`. */
static Status keep_strings(Session *s, Arena *a, Str *v, const uint8_t *valid, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (!valid[i]) continue;
        char *copy = arena_strndup(a, v[i].ptr, v[i].len);
        if (!copy) return err_oom(&s->err);
        v[i] = str_make(copy, v[i].len);
    }
    return ST_OK;
}

Status chunk_gather(Session *s, Arena *a, const Chunk *in, int64_t first, int64_t n, bool copies_strings,
                    ChunkCols which, Chunk *all, int64_t n_all) {
    for (int32_t k = 0; k < which.n; k++) {
        const int32_t i = chunk_col(which, k);
        const Vec *v = &in->cols[i];
        const int64_t size = phys_size((Phys)v->phys);
        uint8_t *valid = all->valid[i] + n_all;
        char *cells = (char *)all->data[i] + n_all * size;
        memcpy(cells, (const char *)v->data + first * size, (size_t)(n * size));
        if (v->valid) memcpy(valid, v->valid + first, (size_t)n);
        else memset(valid, 1, (size_t)n);
        if (copies_strings && v->phys == PH_STR) TRY(keep_strings(s, a, (Str *)(void *)cells, valid, n));
    }
    return ST_OK;
}
void chunk_gathered(const RowLayout *l, ChunkCols which, Chunk *all) {
    for (int32_t k = 0; k < which.n; k++) {
        const int32_t i = chunk_col(which, k);
        all->cols[i] =
            (Vec){.data = all->data[i], .valid = all->valid[i], .phys = l->cols[i].phys, .type = l->cols[i].type};
    }
}

void chunk_keep(const RowLayout *l, Chunk *c, int64_t n_kept, const int64_t *keep) {
    for (int32_t i = 0; i < l->n_cols; i++) {
        const int64_t size = phys_size((Phys)c->cols[i].phys);
        for (int64_t n = 0; n < n_kept; n++) {
            memmove((char *)c->data[i] + n * size, (const char *)c->cols[i].data + keep[n] * size, (size_t)size);
            c->valid[i][n] = !cell_null(&c->cols[i], keep[n]);
        }
        c->cols[i].data = c->data[i];
        c->cols[i].valid = c->valid[i];
    }
}

/* A change while its rows go to the table, by the operations of storage/row_change.h. */
typedef struct ChangeApply {
    Session *s;
    Arena *a;
    Change *x;
    const BoundStmt *b;
    Table *target; /* b's, where that is not a version's */
    const RowLayout *l;
    Chunk in;            /* rows of the plan */
    bool copies_strings; /* they go with the chunk */
    Chunk all;           /* rows to be updated when all are there: rowid, set values, checks */
    int64_t n_all;
    ChunkCols set;       /* columns of `all`: the rowid, set values, checks */
    bool beside;         /* the target is to be changed later: until then rows are gathered */
    TablePieces *pieces; /* of what is gathered, when that is much */
    TableLoad *load;
    int64_t n_chunks; /* that it has got */
    int64_t
        *updated; /* ON CONFLICT: a hash set of rows that this command updated, plus 1: 2^bits of them, 0 for none */
    int bits;
} Apply;

/* The rows in hand: what is inserted or proposed, or (set) what rows get. */
static NewRows new_rows(const Apply *y, int64_t first, int64_t n, bool set) {
    const BoundStmt *b = y->b;
    const int32_t half = b->hit ? b->n_checks / 2 : 0; /* what is proposed comes first */
    const Vec *vals = y->in.cols + (b->hit && set ? b->table->n_cols + 2 : b->hit || set ? 1 : 0);
    const Vec *checks = y->in.cols + y->x->first_result - b->n_checks;
    NewRows x = {.first = first, .n = n, .n_cols = b->table->n_cols, .vals = vals};
    x.checks = (RowChecks){b->hit ? half : b->n_checks, checks, b->check_names, b->n_view_checks};
    if (!set) return x;
    x.n_cols = b->n_set;
    x.cols = b->set_cols;
    x.checks = (RowChecks){b->n_checks - half, checks + half, b->check_names + half, b->n_view_checks};
    return x;
}

/* Rows first .. first + n - 1 in hand are updated later. */
static Status gather(Apply *y, int64_t first, int64_t n) {
    TRY(chunk_gather(y->s, y->a, &y->in, first, n, y->copies_strings, y->set, &y->all, y->n_all));
    y->n_all += n;
    return ST_OK;
}
static NewRows gathered_rows(Apply *y) {
    y->in = y->all;
    chunk_gathered(y->l, y->set, &y->in);
    NewRows x = new_rows(y, 0, y->n_all, true);
    if (y->b->hit) x.checks = (RowChecks){0}; /* they have passed */
    return x;
}
static Status change_gathered(Apply *y) {
    if (y->n_all == 0) return ST_OK;
    Session *s = y->s;
    Table *t = y->b->table;
    const bool deletes = y->b->kind == STMT_DELETE;
    TablePieces *pieces = y->pieces;
    int64_t n = 0;
    const NewRows x = deletes ? (NewRows){0} : gathered_rows(y);
    y->pieces = NULL;
    if (pieces) TRY(pieces_apply(pieces, y->all.data[0], deletes ? NULL : &x, s->undo, &n, &s->err));
    else if (!deletes) return rows_update(t, &x, y->all.data[0], s->undo, &s->err);
    else TRY(table_delete(t, y->n_all, y->all.data[0], s->undo, &n, &s->err));
    if (deletes) y->x->done += n;
    return ST_OK;
}
/* With snapshot = version whatever there is of them is used: so that tests do. */
Status change_pieces(Session *s, const PieceInput *rows, TablePieces **out) {
    PieceInput in = *rows;
    *out = NULL;
    if (in.n < CHANGE_LOAD_ROWS && strcmp(s->settings.txn.snapshot, "version") != 0) return ST_OK;
    in.pool = s->db->pool;
    in.workers = row_fill_workers(s, false);
    in.cancel = &s->cancel;
    TRY(pieces_make(&in, out, &s->err));
    return *out ? redo_make(s->db, &in, *out, &s->err) : ST_OK;
}
static Status make_pieces(Apply *y) {
    const bool deletes = y->b->kind == STMT_DELETE;
    const NewRows x = deletes ? (NewRows){0} : gathered_rows(y);
    const PieceInput in = {.version = y->b->table,
                           .table = y->target,
                           .n = y->n_all,
                           .rowids = y->all.data[0],
                           .set = deletes ? NULL : &x};
    return change_pieces(y->s, &in, &y->pieces);
}

/* ---- ON CONFLICT ---- */
/* What is proposed must be possible even when it conflicts; a view must have it when it is inserted. */
static Status check_proposed(Apply *y, NewRows x) {
    x.checks = checks_of_table(x.checks);
    return rows_check(y->b->table, &x, NULL, &y->s->err);
}
/* Row after row in the order of the plan's rows: one without a conflict is inserted at once. */
static Status insert_or_skip(Apply *y, int64_t r, int64_t row) {
    Session *s = y->s;
    Table *t = y->b->table;
    const NewRows x = new_rows(y, r, 1, false);
    int64_t there;
    TRY(check_proposed(y, x));
    TRY(rows_conflict(t, y->b->conflict_key, &x, &there, &s->err));
    if (there >= 0) return ST_OK;
    TRY(rows_insert(t, &x, s->undo, NULL, &s->err));
    y->x->map[y->x->done++] = row;
    return ST_OK;
}

static Status second_hit(Session *s) {
    err_set(&s->err, ERR_CARDINALITY, "ON CONFLICT DO UPDATE command cannot affect row a second time");
    err_hint(&s->err,
             "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.");
    return ST_ERROR;
}
static int64_t *updated_at(const Apply *y, int64_t rowid) {
    uint64_t mask = (UINT64_C(1) << y->bits) - 1, h = hash_u64((uint64_t)rowid) & mask;
    while (y->updated[h] && y->updated[h] != rowid + 1) h = (h + 1) & mask;
    return &y->updated[h];
}
/* Updates are gathered and made at the end; unless they set columns of keys (BoundStmt.sets_keys), which frees keys for
 * rows that come later and takes others: then at once. */
static Status insert_or_update(Apply *y, int64_t r, int64_t row) {
    Session *s = y->s;
    const BoundStmt *b = y->b;
    Change *x = y->x;
    const Vec *cols = y->in.cols, *hit = &cols[b->table->n_cols + 1];
    const NewRows proposed = new_rows(y, r, 1, false), set = new_rows(y, r, 1, true);
    const int64_t planned = cell_null(&cols[0], r) ? -1 : ((const int64_t *)cols[0].data)[r];
    int64_t there = planned;
    TRY(check_proposed(y, proposed));
    if (planned < 0 || b->sets_keys) TRY(rows_conflict(b->table, b->conflict_key, &proposed, &there, &s->err));
    if (there < 0) {
        TRY(rows_insert(b->table, &proposed, s->undo, NULL, &s->err));
        x->map[x->done++] = planned < 0 ? row : -1 - row; /* the plan thought that the key was taken */
        return ST_OK;
    }
    int64_t *mark = updated_at(y, there);
    if (there != planned || *mark || (x->changed && row_set_has(x->changed, there)))
        return second_hit(s); /* a row of this command */
    if (cell_null(hit, r) || !((const uint8_t *)hit->data)[r]) return ST_OK;
    TRY(rows_check(b->table, &set, cols[0].data, &s->err));
    TRY(b->sets_keys ? rows_update(b->table, &set, cols[0].data, s->undo, &s->err) : gather(y, r, 1));
    *mark = there + 1;
    x->map[x->done++] = row;
    return ST_OK;
}

ColId *dml_columns(const BoundStmt *b, Arena *a, int32_t *n_out) {
    const bool whole = b->kind == STMT_INSERT || b->kind == STMT_MERGE;
    int32_t n_values = whole ? b->table->n_cols : b->kind == STMT_UPDATE ? b->n_set : 0, n = 0;
    ColId *ids = arena_array(a, ColId, 2 + b->n_set + n_values + b->n_checks + 2 * b->n_result + 1);
    if (!ids) return NULL;
    if (b->kind != STMT_INSERT || b->hit) ids[n++] = b->rowid;
    if (b->merge) ids[n++] = b->merge->clause;
    for (int32_t i = 0; i < n_values; i++) ids[n++] = b->values[i];
    if (b->hit) { /* computed after what is proposed */
        ids[n++] = b->hit;
        for (int32_t i = 0; i < b->n_set; i++) ids[n++] = b->set_values[i];
    }
    for (int32_t i = 0; i < b->n_checks; i++) ids[n++] = b->checks[i];
    for (int32_t i = 0; i < b->n_result; i++) ids[n++] = b->result[i];
    for (int32_t i = 0; b->inserted_result && i < b->n_result; i++) ids[n++] = b->inserted_result[i];
    *n_out = n;
    return ids;
}

Status change_allowed(Session *s, const BoundStmt *b) {
    static const char *const what[] = {[STMT_INSERT] = "INSERT into",
                                       [STMT_UPDATE] = "UPDATE",
                                       [STMT_DELETE] = "DELETE from",
                                       [STMT_MERGE] = "MERGE into"};
    return session_table_idle(s, b->table, what[b->kind]);
}

Status change_plan(Session *s, Arena *a, PlanCtx *c, BoundStmt *b, MemAccount *acct, Change *x) {
    int32_t n;
    RunOutput r;
    ColId *ids = dml_columns(b, a, &n);
    *x = (Change){.b = b};
    if (!ids) return ST_ERROR;
    TRY(session_run_member(s, c, b, n, ids, acct, &r));
    x->query = r.query;
    x->rows = r.rows;
    x->plan_ns = r.plan_ns;
    x->run_ns = r.run_ns;
    x->first_result = n - b->n_result * (b->inserted_result ? 2 : 1);
    x->n_shown = rows_count(r.rows);
    return ST_OK;
}

/* Leaves rows in hand out that the statement has changed already. seen: rows before them. Returns how many stay; their
 * numbers go to the map. */
static int64_t leave_out(Apply *y, int64_t k, int64_t seen) {
    Chunk *c = &y->in;
    Change *x = y->x;
    int64_t n = 0, keep[CHANGE_CHUNK_ROWS];
    for (int64_t r = 0; r < k; r++) {
        if (row_set_has(x->changed, ((const int64_t *)c->cols[0].data)[r])) continue;
        x->map[x->n_kept++] = seen + r;
        keep[n++] = r;
    }
    chunk_keep(y->l, c, n, keep);
    return n;
}

static bool is_on_conflict(const BoundStmt *b) { return b->on_conflict_nothing || b->hit; }
static bool leaves_out(const Change *x) { return x->changed && x->changed->n > 0 && x->b->kind != STMT_INSERT; }

/* Room for rows that are updated when all are there. */
static Status gather_begin(Apply *y, int64_t total) {
    const BoundStmt *b = y->b;
    const int32_t first = b->hit ? b->table->n_cols + 2 : 1;
    const int32_t n = b->kind == STMT_DELETE ? 0 : b->n_set + (b->hit ? 0 : b->n_checks);
    int32_t *cols = arena_array(y->a, int32_t, n + 1);
    if (!cols) return err_oom(&y->s->err);
    for (int32_t i = 0; i < n; i++) cols[i + 1] = first + i;
    y->set = (ChunkCols){n + 1, cols};
    return chunk_init(y->s, y->a, y->l, y->set, MAX_OF(total, 1), &y->all);
}
static Status apply_begin(Apply *y, int64_t total) {
    const BoundStmt *b = y->b;
    const bool gathers = b->kind == STMT_UPDATE || (b->kind == STMT_DELETE && y->beside) || (b->hit && !b->sets_keys);
    TRY(chunk_init(y->s, y->a, y->l, (ChunkCols){y->l->n_cols, NULL}, CHANGE_CHUNK_ROWS, &y->in));
    if (is_on_conflict(b) || leaves_out(y->x))
        if (!(y->x->map = arena_array(y->a, int64_t, total + 1))) return err_oom(&y->s->err);
    if (gathers) TRY(gather_begin(y, total));
    while (b->hit && INT64_C(1) << y->bits < 2 * total) y->bits++;
    if (b->hit && !(y->updated = arena_calloc(y->a, (int64_t)sizeof(int64_t) << y->bits))) return err_oom(&y->s->err);
    return ST_OK;
}
/* The k rows in hand, of which the first is the statement's number `seen`. */
static Status apply_rows(Apply *y, int64_t k, int64_t seen) {
    Session *s = y->s;
    const BoundStmt *b = y->b;
    Change *x = y->x;
    int64_t n = 0;
    if (leaves_out(x)) k = leave_out(y, k, seen);
    if (is_on_conflict(b)) {
        for (int64_t r = 0; r < k; r++) TRY(b->hit ? insert_or_update(y, r, seen + r) : insert_or_skip(y, r, seen + r));
        return ST_OK;
    }
    if (b->kind == STMT_DELETE && y->beside) return gather(y, 0, k);
    if (b->kind == STMT_DELETE) {
        TRY(table_delete(b->table, k, y->in.cols[0].data, s->undo, &n, &s->err));
        x->done += n;
        return ST_OK;
    }
    x->done += k;
    if (b->kind == STMT_UPDATE) return gather(y, 0, k); /* keys are compared as if all rows changed at once */
    const NewRows rows = new_rows(y, 0, k, false);
    if (!y->load) return rows_insert(b->table, &rows, s->undo, NULL, &s->err);
    if (rows.checks.n > 0) TRY(rows_check(b->table, &rows, NULL, &s->err)); /* the load looks for NULLs */
    return load_add(y->load, 0, y->n_chunks++, k, rows.vals, &s->err);
}
static Status apply_run(Apply *y, const RowRun *run, int64_t seen) {
    for (int64_t first = 0; first < run->n; first += CHANGE_CHUNK_ROWS) {
        const int64_t k = MIN_OF((int64_t)CHANGE_CHUNK_ROWS, run->n - first);
        chunk_load(y->l, run, first, k, &y->in);
        TRY(apply_rows(y, k, seen + first));
        if (atomic_load(&y->s->cancel))
            return err_set(&y->s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
    }
    return ST_OK;
}

/* A large INSERT is encoded straight into main. Threads share the work where no row can be refused but for a NULL; then
 * which one is refused is found out by going through them once more, one after the other. So are they where there is no
 * room for what each thread has in hand. */
static bool loads(const Change *x) {
    return x->b->kind == STMT_INSERT && rows_count(x->rows) >= CHANGE_LOAD_ROWS && !is_on_conflict(x->b);
}
static Status load_shared(Apply *y, bool *done) {
    RowFill f;
    *done = false;
    if (y->b->n_checks > 0) return ST_OK;
    Status st = row_fill_begin(y->s, y->target, y->a, false, &f);
    if (st == ST_OK) st = row_fill_store(&f, y->x->rows);
    y->load = f.load;
    *done = st == ST_OK;
    if (*done) y->x->done = rows_count(y->x->rows);
    const char *why = y->s->err.sqlstate;
    if (*done || (strcmp(why, ERR_NOT_NULL_VIOLATION) != 0 && strncmp(why, "53", 2) != 0)) return st;
    load_cancel(y->load);
    y->load = NULL;
    err_clear(&y->s->err);
    return ST_OK;
}

/* All rows of the plan. */
static Status apply_all(Apply *y) {
    int64_t seen = 0;
    if (loads(y->x)) {
        bool done;
        TRY(load_shared(y, &done));
        if (done) return ST_OK;
        TRY(load_begin(y->target, 1, &y->load, &y->s->err));
    }
    for (int64_t i = 0; i < rows_n_runs(y->x->rows); i++) {
        RowRun run;
        TRY(rows_run_open(y->x->rows, i, &run, &y->s->err));
        y->copies_strings = run.pin;
        const Status st = apply_run(y, &run, seen);
        seen += run.n;
        rows_run_close(y->x->rows, &run);
        TRY(st);
    }
    return ST_OK;
}
static Status apply_end(Apply *y) {
    TRY(change_gathered(y));
    return y->load ? load_finish(y->load, y->s->db->pool, y->s->undo, NULL, &y->s->err) : ST_OK;
}
static Apply *apply_new(Session *s, Arena *a, Change *x) {
    Apply *y = arena_new_of(a, Apply);
    if (!y) return (void)err_oom(&s->err), NULL;
    *y = (Apply){.s = s, .a = a, .x = x, .b = x->b, .l = rows_layout(x->rows)};
    return y;
}

/* The rows of an UPDATE or DELETE are gathered, and made pieces when they are many; those of a large INSERT are
 * encoded. */
Status change_prepare(Session *s, Arena *a, Change *x, Table *target) {
    const BoundStmt *b = x->b;
    const int64_t total = rows_count(x->rows);
    if (b->merge) return change_prepare_merge(s, a, x, target);
    if (!loads(x) && b->kind != STMT_UPDATE && b->kind != STMT_DELETE) return ST_OK;
    Apply *y = apply_new(s, a, x);
    if (!y) return ST_ERROR;
    y->target = target;
    y->beside = true;
    x->ready = y;
    Status st = apply_begin(y, total);
    if (st == ST_OK) st = apply_all(y);
    if (st == ST_OK && b->kind != STMT_INSERT) st = make_pieces(y);
    if (st != ST_OK) change_forget(x);
    return st;
}
void change_forget(Change *x) {
    change_forget_merge(x);
    if (x->ready) {
        load_cancel(x->ready->load);
        pieces_free(x->ready->pieces);
    }
    x->ready = NULL;
}

static Status apply(Session *s, Arena *a, Change *x) {
    if (x->b->merge) return change_apply_merge(s, a, x);
    const int64_t total = rows_count(x->rows), mark = undo_mark(s->undo);
    Status st = ST_OK;
    if (!x->ready) {
        if (!(x->ready = apply_new(s, a, x))) return ST_ERROR;
        x->ready->target = x->b->table;
        st = apply_begin(x->ready, total);
        if (st == ST_OK) st = apply_all(x->ready);
    }
    if (st == ST_OK) st = apply_end(x->ready);
    change_forget(x);
    x->n_shown = is_on_conflict(x->b) ? x->done : leaves_out(x) ? x->n_kept : total;
    if (st != ST_OK) undo_rollback(s->undo, mark);
    return st;
}
Status change_apply(Session *s, Arena *a, Change *x) {
    const int64_t mark = x->mark = undo_mark(s->undo);
    TRY(apply(s, a, x));
    if (constraints_note(s, a, x->b->table, x->mark, x->events) == ST_OK) return ST_OK;
    undo_rollback(s->undo, mark);
    return ST_ERROR;
}

void change_result(Statement *st, const Change *x) {
    const BoundStmt *b = x->b;
    st->rows = x->rows;
    st->first_col = x->first_result;
    st->show_rows = b->n_result > 0;
    st->n_rows = b->n_result == 0 ? 0 : x->n_shown;
    st->row_map = x->map;
    st->affected = x->done;
    static const char *const tags[] = {
        [STMT_INSERT] = "INSERT 0", [STMT_UPDATE] = "UPDATE", [STMT_DELETE] = "DELETE", [STMT_MERGE] = "MERGE"};
    snprintf(st->tag, sizeof st->tag, "%s %lld", tags[b->kind], (long long)x->done);
}

Status session_dml_plan(Session *s, Statement *st, PlanCtx *c, BoundStmt *b, Change *x) {
    TRY(change_plan(s, st->run_arena, c, b, &st->account, x));
    st->query = x->query;
    return ST_OK;
}
Status session_dml_apply(Session *s, Statement *st, Change *x) {
    KeyEvents events = {{0}};
    if (table_fork_of(x->b->table) && rows_count(x->rows) >= CHANGE_LOAD_ROWS) return session_read_locked(s);
    x->events = &events;
    int64_t mark = undo_mark(s->undo);
    Status out = change_apply(s, st->run_arena, x);
    if (out == ST_OK) out = constraints_settle(s, st, &events);
    if (out != ST_OK) {
        undo_rollback(s->undo, mark);
        (void)transaction_reads_table(s, x->b->table); /* a routine may go on, knowing of a row that has the key */
        return ST_ERROR;
    }
    change_result(st, x);
    return ST_OK;
}
Status session_dml(Session *s, Statement *st, PlanCtx *c, BoundStmt *b) {
    Change x;
    if (b->n_members > 0) return session_with_changes(s, st, c, b);
    if (session_reads_version(s) && !table_fork_of(b->table)) return session_read_locked(s);
    TRY(session_may_change(s, b->table));
    TRY(change_allowed(s, b));
    if (c->reads_client_rows) {
        bool done;
        Status loaded = session_insert_cells(s, st, b, CHANGE_LOAD_ROWS, &done);
        if (done || loaded != ST_OK) return loaded;
    }
    TRY(session_dml_plan(s, st, c, b, &x));
    return session_dml_apply(s, st, &x);
}
