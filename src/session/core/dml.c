/* dml.c - INSERT, UPDATE, DELETE: the plan's rows are materialised first, then applied.
 *
 * Materialising first keeps a statement from seeing its own changes. Several in one statement: with_changes.c. The
 * store's columns are: [rowid] values checks returning; dml_columns() says it exactly. Everything is undone by the
 * statement's undo mark when a row fails.
 */
#include <stdio.h>

#include "base/hash.h"
#include "session/core/changes.h"
#include "session/core/transaction.h"
#include "storage/exprindex.h"
#include "storage/row_errors.h"

enum { LOAD_ROWS = 50000 }; /* inserts of at least that many rows are encoded straight into main */

typedef struct Chunk {
    Vec *cols;
    void **data;
    uint8_t **valid;
    int64_t cap;
} Chunk;

static Status chunk_init(Session *s, Arena *a, const RowLayout *l, int64_t cap, Chunk *c) {
    c->cap = cap;
    c->cols = arena_array(a, Vec, l->n_cols + 1);
    c->data = arena_array(a, void *, l->n_cols + 1);
    c->valid = arena_array(a, uint8_t *, l->n_cols + 1);
    if (!c->cols || !c->data || !c->valid) return err_oom(&s->err);
    for (int32_t i = 0; i < l->n_cols; i++) {
        c->data[i] = arena_alloc(a, phys_size((Phys)l->cols[i].phys) * cap);
        c->valid[i] = arena_alloc(a, cap);
        if (!c->data[i] || !c->valid[i]) return err_oom(&s->err);
    }
    return ST_OK;
}

static void chunk_load(const RowLayout *l, const RowRun *run, int64_t first, int64_t n, Chunk *c) {
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

static bool cell_null(const Vec *v, int64_t i) { return v->valid && !v->valid[i]; }

/* ---- constraints of rows ---- */
static int64_t first_null(const Table *t, int32_t n_cols, const int32_t *cols, const Vec *vals, const uint8_t *only,
                          int64_t n) {
    for (int32_t i = 0; i < n_cols; i++) {
        if (!t->cols[cols ? cols[i] : i].not_null || !vals[i].valid) continue;
        for (int64_t r = 0; r < n; r++)
            if (!vals[i].valid[r] && (!only || only[r])) n = r;
    }
    return n;
}
static int64_t first_refused(const Vec *checks, int32_t n_checks, const uint8_t *only, int64_t n, int32_t *which) {
    for (int32_t k = 0; k < n_checks; k++) {
        const uint8_t *yes = checks[k].data, *valid = checks[k].valid;
        for (int64_t r = 0; r < n; r++)
            if (!yes[r] && (!valid || valid[r]) && (!only || only[r])) n = r, *which = k;
    }
    return n;
}

/* The first row that its table's constraints refuse, keys apart: NOT NULL is looked at before CHECK, and what ON
 * CONFLICT proposes before what comes of it. */
/* CHECKs of what is inserted or proposed come before those of what an update makes. */
static int32_t checks_of_inserts(const BoundStmt *b) {
    return b->hit ? b->n_checks / 2 : b->kind == STMT_INSERT ? b->n_checks : 0;
}
typedef enum FaultKind { FAULT_NONE, FAULT_NULL, FAULT_SET_NULL, FAULT_CHECK } FaultKind;
typedef struct Fault {
    int64_t row; /* FAULT_NONE: the number of rows */
    FaultKind kind;
    int32_t check; /* of the statement */
} Fault;
static Status find_fault(Session *s, Arena *a, const BoundStmt *b, const Chunk *c, int32_t first_check, int64_t n,
                         Fault *out) {
    const Vec *checks = &c->cols[first_check];
    bool insert = b->kind == STMT_INSERT;
    int32_t half = checks_of_inserts(b), which = 0;
    *out = (Fault){.row = n};
    if (b->n_checks == 0) return ST_OK;
    int64_t r = insert ? first_null(b->table, b->table->n_cols, NULL, &c->cols[b->hit ? 1 : 0], NULL, n) : n;
    if (r < out->row) *out = (Fault){r, FAULT_NULL, 0};
    r = first_refused(checks, half, NULL, out->row, &which);
    if (r < out->row) *out = (Fault){r, FAULT_CHECK, which};
    if (half == b->n_checks) return ST_OK;
    uint8_t *only = NULL;
    int32_t first_set = b->hit ? b->table->n_cols + 2 : 1;
    if (b->hit) {
        const Vec *hit = &c->cols[first_set - 1];
        if (!(only = arena_alloc(a, n + 1))) return err_oom(&s->err);
        for (int64_t i = 0; i < n; i++) only[i] = !cell_null(hit, i) && ((const uint8_t *)hit->data)[i];
    }
    r = first_null(b->table, b->n_set, b->set_cols, &c->cols[first_set], only, out->row);
    if (r < out->row) *out = (Fault){r, FAULT_SET_NULL, 0};
    r = first_refused(checks + half, b->n_checks - half, only, out->row, &which);
    if (r < out->row) *out = (Fault){r, FAULT_CHECK, half + which};
    return ST_OK;
}
static void one_row(const Vec *vals, int32_t n, int64_t r, Vec *one) {
    for (int32_t i = 0; i < n; i++) {
        one[i] = vals[i];
        one[i].data = (char *)vals[i].data + r * phys_size((Phys)vals[i].phys);
        if (one[i].valid) one[i].valid += r;
    }
}
static Status append_one(Session *s, Table *t, const Vec *vals, int64_t r) {
    int64_t size = t->n_cols * (int64_t)sizeof(Vec);
    Vec *one = mem_alloc(&s->account, size, &s->err); /* much for the stack: tables may have many columns */
    if (!one) return ST_ERROR;
    one_row(vals, t->n_cols, r, one);
    Status st = table_append(t, 1, one, s->undo, NULL, &s->err);
    mem_free(&s->account, one, size);
    return st;
}
static Status raise_fault(Session *s, Arena *a, const BoundStmt *b, const Chunk *c, const Fault *f) {
    const Table *t = b->table;
    const bool set = f->kind == FAULT_SET_NULL || (f->kind == FAULT_CHECK && f->check >= checks_of_inserts(b));
    const Vec *vals = &c->cols[b->hit && set ? t->n_cols + 2 : b->hit || set ? 1 : 0];
    const void *const *row = set ? row_cells_updated(a, t, ((const int64_t *)c->cols[0].data)[f->row], b->n_set,
                                                     b->set_cols, vals, f->row, &s->err)
                                 : row_cells_of(a, t, vals, f->row, &s->err);
    if (!row) return ST_ERROR;
    if (f->kind == FAULT_CHECK) return row_check_error(t, b->check_names[f->check], row, &s->err);
    const int32_t *cols = set ? b->set_cols : NULL;
    int32_t i = 0;
    while (!t->cols[cols ? cols[i] : i].not_null || row[cols ? cols[i] : i]) i++;
    return row_null_error(t, cols ? cols[i] : i, row, &s->err);
}

/* ---- ON CONFLICT ---- */
/* *row: the table's that has row r's key, of the index whose conflicts count, or -1. vals: the table's columns. */
static Status conflicting_row(Session *s, const BoundStmt *b, const Vec *vals, int64_t r, int64_t *row) {
    Table *t = b->table;
    *row = -1;
    for (int k = 0; k < t->n_keys; k++) {
        if (b->conflict_key >= 0 && k != b->conflict_key) continue;
        Value key[32];
        bool null_key = false;
        for (int j = 0; j < t->keys[k].n_cols && j < 32; j++) {
            int col = t->keys[k].cols[j];
            key[j] = vec_value(&vals[col], r, t->cols[col].type);
            null_key |= key[j].is_null;
        }
        if (!null_key && (*row = table_lookup(t, k, key)) >= 0) return ST_OK;
    }
    for (int i = 0; i < t->n_exprs && *row < 0; i++)
        if (b->conflict_key < 0 || b->conflict_key == t->n_keys + i) TRY(exprindex_find(t, i, vals, r, row, &s->err));
    return ST_OK;
}

/* A proposed row must be possible even when it conflicts. */
static Status check_not_null(Session *s, Table *t, const Vec *vals, int64_t r) {
    for (int i = 0; i < t->n_cols; i++)
        if (t->cols[i].not_null && cell_null(&vals[i], r)) {
            TRY(append_one(s, t, vals, r)); /* the storage tells */
            return err_internal(&s->err, "a row with a NULL was stored");
        }
    return ST_OK;
}

/* ON CONFLICT DO NOTHING: row by row, skipping rows whose key is taken. inserted: the numbers of the others (from
 * `first`). */
static Status insert_skipping(Session *s, const BoundStmt *b, const Vec *vals, int64_t n, int64_t first,
                              int64_t *inserted, int64_t *done) {
    for (int64_t r = 0; r < n; r++) {
        int64_t there;
        TRY(check_not_null(s, b->table, vals, r));
        TRY(conflicting_row(s, b, vals, r, &there));
        if (there >= 0) continue;
        TRY(append_one(s, b->table, vals, r));
        inserted[(*done)++] = first + r;
    }
    return ST_OK;
}

static Status second_hit(Session *s) {
    err_set(&s->err, ERR_CARDINALITY, "ON CONFLICT DO UPDATE command cannot affect row a second time");
    err_hint(&s->err,
             "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.");
    return ST_ERROR;
}

/* ON CONFLICT DO UPDATE, row after row in the order of the plan's rows. Rows without a conflict are inserted at once.
 * What updates those with one is gathered in `all` (rowid, set values) and applied at the end; unless it sets columns
 * of keys (BoundStmt.sets_keys), which frees keys for rows that come later and takes others: then at once. */
typedef struct Upsert {
    Session *s;
    Arena *a;
    const BoundStmt *b;
    int32_t first_check;
    Chunk all;
    int64_t at;            /* rows in it */
    int64_t *shown, *done; /* RowMap of the result */
    Vec *one;              /* the set values of a row */
    const RowSet *others;  /* rows that other members of WITH have changed; NULL: none */
    int64_t *updated;      /* a hash set of rows that this command updated, plus 1: 2^bits of them, 0 for none */
    int bits;
} Upsert;

static Status upsert_init(Upsert *u, const RowLayout *l, int64_t total) {
    while (INT64_C(1) << u->bits < 2 * total) u->bits++;
    u->updated = arena_calloc(u->a, (int64_t)sizeof(int64_t) << u->bits);
    u->one = arena_array(u->a, Vec, u->b->n_set + 1);
    return u->updated && u->one ? chunk_init(u->s, u->a, l, u->b->sets_keys ? 1 : MAX_OF(total, 1), &u->all)
                                : err_oom(&u->s->err);
}
static int64_t *updated_at(const Upsert *u, int64_t rowid) {
    uint64_t mask = (UINT64_C(1) << u->bits) - 1, h = hash_u64((uint64_t)rowid) & mask;
    while (u->updated[h] && u->updated[h] != rowid + 1) h = (h + 1) & mask;
    return &u->updated[h];
}

/* What find_fault has found for row r, if it applies to what becomes of the row: set, an update; else what is proposed.
 */
static Status raise_own_fault(Upsert *u, const Chunk *c, int64_t r, bool set) {
    const BoundStmt *b = u->b;
    const Vec *vals = &c->cols[set ? b->table->n_cols + 2 : 1], *checks = &c->cols[u->first_check];
    int32_t half = b->n_checks / 2, n = set ? b->n_set : b->table->n_cols;
    Fault f = {.row = r};
    for (int32_t i = 0; i < n && f.kind == FAULT_NONE; i++)
        if (b->table->cols[set ? b->set_cols[i] : i].not_null && cell_null(&vals[i], r))
            f.kind = set ? FAULT_SET_NULL : FAULT_NULL;
    for (int32_t k = set ? half : 0; k < (set ? b->n_checks : half) && f.kind == FAULT_NONE; k++)
        if (!((const uint8_t *)checks[k].data)[r] && !cell_null(&checks[k], r)) f.kind = FAULT_CHECK, f.check = k;
    return f.kind == FAULT_NONE ? ST_OK : raise_fault(u->s, u->a, b, c, &f);
}

static Status gather_update(Upsert *u, const Chunk *c, int64_t r, bool copy_strings) {
    const BoundStmt *b = u->b;
    Chunk *all = &u->all;
    int32_t first_set = b->table->n_cols + 2;
    if (b->sets_keys) {
        one_row(&c->cols[first_set], b->n_set, r, u->one);
        return table_update(b->table, 1, (int64_t *)c->cols[0].data + r, b->n_set, b->set_cols, u->one, u->s->undo,
                            &u->s->err);
    }
    for (int32_t j = 0; j < first_set + b->n_set; j++) {
        if (j > 0 && j < first_set) continue;
        int64_t size = phys_size((Phys)c->cols[j].phys);
        memcpy((char *)all->data[j] + u->at * size, (const char *)c->cols[j].data + r * size, (size_t)size);
        all->valid[j][u->at] = !cell_null(&c->cols[j], r);
        if (copy_strings && c->cols[j].phys == PH_STR)
            TRY(keep_strings(u->s, u->a, (Str *)all->data[j] + u->at, all->valid[j] + u->at, 1));
    }
    u->at++;
    return ST_OK;
}

/* Row r, number `row` of the statement's. faulty: it may have a fault. */
static Status upsert_row(Upsert *u, const Chunk *c, int64_t r, int64_t row, bool faulty, bool copy_strings) {
    const BoundStmt *b = u->b;
    const Vec *vals = c->cols + 1, *hit = vals + b->table->n_cols;
    int64_t planned = cell_null(&c->cols[0], r) ? -1 : ((const int64_t *)c->cols[0].data)[r];
    if (faulty) TRY(raise_own_fault(u, c, r, false));
    TRY(check_not_null(u->s, b->table, vals, r));
    int64_t there = planned;
    if (planned < 0 || b->sets_keys) TRY(conflicting_row(u->s, b, vals, r, &there));
    if (there < 0) {
        TRY(append_one(u->s, b->table, vals, r));
        u->shown[(*u->done)++] = planned < 0 ? row : -1 - row; /* the plan thought that the key was taken */
        return ST_OK;
    }
    int64_t *mark = updated_at(u, there);
    if (there != planned || *mark || (u->others && row_set_has(u->others, there)))
        return second_hit(u->s); /* a row of this command */
    if (cell_null(hit, r) || !((const uint8_t *)hit->data)[r]) return ST_OK;
    if (faulty) TRY(raise_own_fault(u, c, r, true));
    *mark = there + 1;
    TRY(gather_update(u, c, r, copy_strings));
    u->shown[(*u->done)++] = row;
    return ST_OK;
}

ColId *dml_columns(const BoundStmt *b, Arena *a, int32_t *n_out) {
    int32_t n_values = b->kind == STMT_INSERT ? b->table->n_cols : b->kind == STMT_UPDATE ? b->n_set : 0, n = 0;
    ColId *ids = arena_array(a, ColId, 2 + b->n_set + n_values + b->n_checks + 2 * b->n_result + 1);
    if (!ids) return NULL;
    if (b->kind != STMT_INSERT || b->hit) ids[n++] = b->rowid;
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
    return session_table_idle(s, b->table,
                              b->kind == STMT_INSERT   ? "INSERT into"
                              : b->kind == STMT_UPDATE ? "UPDATE"
                                                       : "DELETE from");
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
    x->first_result = n - b->n_result * (b->inserted_result ? 2 : 1);
    x->n_shown = rows_count(r.rows);
    return ST_OK;
}

/* Leaves rows of the chunk out that the statement has changed already. *seen: those before it. Returns how many stay;
 * their numbers go to the map. */
static int64_t leave_out(Change *x, Chunk *c, const RowLayout *l, int64_t k, int64_t seen) {
    int64_t n = 0;
    for (int64_t r = 0; r < k; r++) {
        if (row_set_has(x->changed, ((const int64_t *)c->cols[0].data)[r])) continue;
        for (int32_t i = 0; i < l->n_cols; i++) {
            int64_t size = phys_size((Phys)l->cols[i].phys);
            memmove((char *)c->data[i] + n * size, (const char *)c->cols[i].data + r * size, (size_t)size);
            c->valid[i][n] = !cell_null(&c->cols[i], r);
        }
        x->map[x->n_kept++] = seen + r;
        n++;
    }
    for (int32_t i = 0; i < l->n_cols; i++) {
        c->cols[i].data = c->data[i];
        c->cols[i].valid = c->valid[i];
    }
    return n;
}

Status change_apply(Session *s, Arena *a, Change *x) {
    BoundStmt *b = x->b;
    Table *t = b->table;
    RowStore *rows = x->rows;
    int32_t first_check = x->first_result - b->n_checks;
    int32_t first_set = b->hit ? t->n_cols + 2 : 1, n_gather = b->kind == STMT_UPDATE ? first_set + b->n_set : 0;
    bool on_conflict = b->on_conflict_nothing || b->hit;
    bool apart = x->changed && x->changed->n > 0 && b->kind != STMT_INSERT;
    const RowLayout *l = rows_layout(rows);
    int64_t total = rows_count(rows), done = 0;
    Chunk ch;
    TRY(chunk_init(s, a, l, 2048, &ch));
    int64_t mark = undo_mark(s->undo);
    TableLoad *load = NULL;
    Status out = ST_OK;
    if (b->kind == STMT_INSERT && total >= LOAD_ROWS && !on_conflict) out = load_begin(t, 1, &load, &s->err);
    /* UPDATE checks keys as if all rows changed at once, so its rows go down in one call. */
    Chunk all = {0};
    int64_t *inserted = on_conflict ? arena_array(a, int64_t, total + 1) : NULL;
    if (on_conflict && !inserted) out = ST_ERROR;
    if (apart && !(x->map = arena_array(a, int64_t, total + 1))) out = ST_ERROR;
    if (n_gather && out == ST_OK) out = chunk_init(s, a, l, MAX_OF(total, 1), &all);
    Upsert up = {
        .s = s, .a = a, .b = b, .first_check = first_check, .shown = inserted, .done = &done, .others = x->changed};
    if (b->hit && out == ST_OK) out = upsert_init(&up, l, total);
    int64_t n_runs = rows_n_runs(rows), at = 0, chunk = 0, seen = 0;
    for (int64_t i = 0; out == ST_OK && i < n_runs; i++) {
        RowRun run;
        out = rows_run_open(rows, i, &run, &s->err);
        if (out != ST_OK) break;
        for (int64_t first = 0; out == ST_OK && first < run.n; first += ch.cap) {
            int64_t k = MIN_OF(ch.cap, run.n - first);
            chunk_load(l, &run, first, k, &ch);
            Fault fault;
            int64_t loaded = k;
            if (apart) k = leave_out(x, &ch, l, k, seen);
            out = find_fault(s, a, b, &ch, first_check, k, &fault);
            if (out != ST_OK) break;
            int64_t d = 0;
            for (int64_t j = 0; b->hit && j < k && out == ST_OK; j++)
                out = upsert_row(&up, &ch, j, seen + j, j >= fault.row, run.pin);
            if (b->hit) fault.kind = FAULT_NONE; /* raised, or of an update that was none */
            else k = fault.row;                  /* those before it may have other faults */
            switch (b->kind) {
            case STMT_INSERT:
                if (b->hit) break;
                if (b->on_conflict_nothing) out = insert_skipping(s, b, ch.cols, k, seen, inserted, &done);
                else if (load) out = load_add(load, 0, chunk++, k, ch.cols, &s->err), done += k;
                else out = table_append(t, k, ch.cols, s->undo, NULL, &s->err), done += k;
                break;
            case STMT_DELETE:
                out = table_delete(t, k, ch.cols[0].data, s->undo, &d, &s->err);
                done += d;
                break;
            default: /* UPDATE: gather */
                for (int32_t j = 0; j < n_gather; j++) {
                    int64_t size = phys_size((Phys)l->cols[j].phys);
                    memcpy((char *)all.data[j] + at * size, ch.cols[j].data, (size_t)(k * size));
                    if (ch.cols[j].valid) memcpy(all.valid[j] + at, ch.cols[j].valid, (size_t)k);
                    else memset(all.valid[j] + at, 1, (size_t)k);
                    if (run.pin && l->cols[j].phys == PH_STR && out == ST_OK)
                        out = keep_strings(s, a, (Str *)all.data[j] + at, all.valid[j] + at, k);
                }
                at += k;
            }
            seen += loaded;
            if (out == ST_OK && fault.kind != FAULT_NONE) out = raise_fault(s, a, b, &ch, &fault);
            if (atomic_load(&s->cancel))
                out = err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        }
        rows_run_close(rows, &run);
    }
    if (b->hit) {
        all = up.all;
        at = up.at;
    }
    if (out == ST_OK && at > 0) {
        Vec *vals = arena_array(a, Vec, b->n_set + 1);
        if (!vals) out = ST_ERROR;
        for (int32_t j = 0; out == ST_OK && j < b->n_set; j++) {
            int32_t col = first_set + j;
            vals[j] = (Vec){
                .data = all.data[col], .valid = all.valid[col], .phys = l->cols[col].phys, .type = l->cols[col].type};
        }
        if (out == ST_OK) out = table_update(t, at, all.data[0], b->n_set, b->set_cols, vals, s->undo, &s->err);
        if (b->kind == STMT_UPDATE) done = at;
    }
    if (load) {
        int64_t loaded = 0;
        if (out == ST_OK) out = load_finish(load, s->db->pool, s->undo, &loaded, &s->err);
        load_cancel(load);
    }
    if (out != ST_OK) {
        undo_rollback(s->undo, mark);
        return ST_ERROR;
    }
    if (inserted) x->map = inserted;
    x->n_shown = inserted ? done : apart ? x->n_kept : total;
    x->done = done;
    return ST_OK;
}

Status change_foreign(Session *s, Statement *st, const Change *x) {
    return foreign_after_change(s, st, x->b, x->rows, x->map, x->n_shown, x->done);
}

void change_result(Statement *st, const Change *x) {
    const BoundStmt *b = x->b;
    st->rows = x->rows;
    st->first_col = x->first_result;
    st->show_rows = b->n_result > 0;
    st->n_rows = b->n_result == 0 ? 0 : x->n_shown;
    st->row_map = x->map;
    st->affected = x->done;
    snprintf(st->tag, sizeof st->tag,
             b->kind == STMT_INSERT   ? "INSERT 0 %lld"
             : b->kind == STMT_UPDATE ? "UPDATE %lld"
                                      : "DELETE %lld",
             (long long)x->done);
}

Status session_dml(Session *s, Statement *st, PlanCtx *c, BoundStmt *b) {
    Change x;
    if (b->n_members > 0) return session_with_changes(s, st, c, b);
    TRY(change_allowed(s, b));
    if (c->reads_client_rows) {
        bool done;
        Status loaded = session_insert_cells(s, st, b, LOAD_ROWS, &done);
        if (done || loaded != ST_OK) return loaded;
    }
    TRY(change_plan(s, st->run_arena, c, b, &st->account, &x));
    st->query = x.query;
    int64_t mark = undo_mark(s->undo);
    Status out = change_apply(s, st->run_arena, &x);
    if (out == ST_OK) out = change_foreign(s, st, &x);
    if (out != ST_OK) {
        undo_rollback(s->undo, mark);
        (void)transaction_reads_table(s, b->table); /* a routine may go on, knowing of a row that has the key */
        return ST_ERROR;
    }
    change_result(st, &x);
    return ST_OK;
}
