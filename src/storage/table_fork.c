/* table_fork.c - see table_fork.h. */
#include "storage/table_fork.h"

#include <stdlib.h>

#include "storage/row_change.h"
#include "storage/storage_int.h"
#include "storage/table_version.h"
#include "storage/undo_edits.h"
#include "storage/undo_rows.h"

const Table *table_fork_of(const Table *t) { return t->impl->fork ? t->impl->fork->of : NULL; }

static bool has_own(const Table *f, int64_t i) {
    const struct TableFork *k = f->impl->fork;
    return i >= k->n_of || f->tablets[i] != k->of->tablets[i];
}
Status fork_own_tablet(Table *t, int64_t i, Err *e) {
    return has_own(t, i) ? ST_OK : tablet_fork(t, t->tablets[i], &t->tablets[i], e);
}

/* ---- the beginning and the end ---- */
static Status fork_columns(Table *f, const Table *of, Err *e) {
    f->cols = arena_array(f->impl->names, Column, of->n_cols + 1);
    if (!f->cols) return err_oom(e);
    for (int c = 0; c < of->n_cols; c++) {
        f->cols[c] = of->cols[c];
        f->cols[c].dict = NULL;
    }
    f->n_cols = of->n_cols;
    for (int c = 0; c < of->n_cols; c++)
        if (of->cols[c].dict && !(f->cols[c].dict = dict_fork(of->cols[c].dict, table_part(f, TABLE_TEXTS), e)))
            return ST_ERROR;
    return ST_OK;
}
static Status fork_keys(Table *f, const Table *of, Err *e) {
    f->keys = arena_array(f->impl->names, KeyConstraint, of->n_keys + 1);
    if (!f->keys) return err_oom(e);
    for (int k = 0; k < of->n_keys; k++) {
        f->keys[k] = of->keys[k];
        if (!(f->keys[k].index = keyindex_new(table_part(f, TABLE_INDEX), e))) return ST_ERROR;
        f->keys[k].index->sorted_tablets = of->keys[k].index->sorted_tablets;
        f->keys[k].index->below = of->keys[k].index;
        f->n_keys++;
    }
    return ST_OK;
}
static Status fork_tablets(Table *f, const Table *of, Err *e) {
    const int64_t cap = of->n_tablets + 4;
    f->tablets = mem_alloc(&f->account, cap * (int64_t)sizeof(Tablet *), e);
    if (!f->tablets) return ST_ERROR;
    f->impl->cap_tablets = cap;
    if (of->n_tablets) memcpy(f->tablets, of->tablets, sizeof(Tablet *) * (size_t)of->n_tablets);
    f->n_tablets = of->n_tablets;
    return ST_OK;
}
Status table_fork_new(const Table *of, MemAccount *parent, Table **out, Err *e) {
    const int64_t bytes = (int64_t)(sizeof(Table) + sizeof(struct TableImpl) + sizeof(struct TableFork));
    dbg_assert(table_can_fork(of));
    Table *f = mem_calloc(parent, bytes, e);
    if (!f) return ST_ERROR;
    struct TableImpl *impl = f->impl = (struct TableImpl *)(void *)(f + 1);
    impl->parent = parent;
    impl->fork = (struct TableFork *)(void *)(impl + 1);
    *impl->fork = (struct TableFork){.of = of, .n_of = of->n_tablets};
    mem_account_init(&f->account, parent, "table", 0, NULL);
    for (int p = 0; p < N_TABLE_PARTS; p++) mem_account_init(&impl->parts[p], &f->account, "table", 0, NULL);
    atomic_fetch_add(&table_version_owner(of)->impl->forks, 1);
    f->name = of->name;
    f->id = of->id;
    f->version = of->version;
    f->content = impl->contents = of->content;
    f->live_rows = of->live_rows;
    f->expected_rows = of->expected_rows;
    f->unlogged = of->unlogged;
    f->on_commit = of->on_commit;
    f->checks = of->checks;
    f->n_checks = of->n_checks;
    impl->changed_rows = of->impl->changed_rows;
    impl->generation = of->impl->generation;
    impl->names = arena_new(&f->account, e);
    if (!impl->names || fork_columns(f, of, e) != ST_OK || fork_keys(f, of, e) != ST_OK ||
        fork_tablets(f, of, e) != ST_OK) {
        table_fork_free(f);
        return ST_ERROR;
    }
    *out = f;
    return ST_OK;
}
void table_fork_free(Table *f) {
    if (!f) return;
    struct TableImpl *impl = f->impl;
    for (int64_t i = 0; i < f->n_tablets; i++)
        if (has_own(f, i)) tablet_free(f->tablets[i]);
    if (f->tablets) mem_free(&f->account, f->tablets, impl->cap_tablets * (int64_t)sizeof(Tablet *));
    for (int c = 0; c < f->n_cols; c++) dict_free(f->cols[c].dict);
    for (int k = 0; k < f->n_keys; k++) keyindex_free(f->keys[k].index);
    arena_free(impl->names);
    atomic_fetch_sub(&table_version_owner(impl->fork->of)->impl->forks, 1);
    mem_free(impl->parent, f, (int64_t)(sizeof(Table) + sizeof(struct TableImpl) + sizeof(struct TableFork)));
}

/* ---- what becomes of it ---- */
static bool undo_has_adds(const UndoLog *u) {
    bool some = false;
    for (int64_t k = 0; k < u->recs.len && !some; k++) some = u->recs.items[k].kind == UNDO_ADD;
    return some;
}
typedef struct Applying {
    const Table *f;
    const UndoLog *log;
    Table *t;
    UndoLog *undo;
    Arena *a;
    Err *e;
    VEC(RowEdit) moved; /* rows of the table that did not stay where they were, by `was` */
} Applying;
/* Of the fork, and of the kind that is asked for: deletes (cols NULL), or updates of one of these columns, among them
 * additions that were read. */
static bool is_of(const Applying *x, const UndoRecord *r, const bool *cols) {
    if (r->t != x->f || !cols) return r->t == x->f && r->kind == UNDO_DELETE;
    return (r->kind == UNDO_UPDATE || (r->kind == UNDO_ADD && r->read != ADD_UNREAD)) && cols[r->col];
}
/* Rows of the version that these records name, in order: deleted ones, or those that are there still. */
static Status rows_named(const Applying *x, const bool *cols, int64_t *n, int64_t **out) {
    const int64_t n_of = x->f->impl->fork->n_of;
    int64_t most = 0;
    *n = 0;
    for (int64_t k = 0; k < x->log->recs.len; k++)
        if (is_of(x, &x->log->recs.items[k], cols)) most += x->log->recs.items[k].n;
    if (most == 0) return ST_OK;
    int64_t *rows = *out = arena_array(x->a, int64_t, most);
    if (!rows) return err_oom(x->e);
    for (int64_t k = 0; k < x->log->recs.len; k++) {
        const UndoRecord *r = &x->log->recs.items[k];
        if (!is_of(x, r, cols)) continue;
        for (int64_t i = 0; i < r->n; i++) {
            const int64_t tablet = r->rowids[i] >> 32;
            if (tablet >= n_of) continue;
            const bool gone = tablet_row_deleted(x->f->tablets[tablet], r->rowids[i] & 0xffffffff);
            if (gone == !cols) rows[(*n)++] = r->rowids[i];
        }
    }
    *n = sort_distinct(rows, *n);
    return ST_OK;
}
/* Cells of a column of the fork, of n rows: their numbers, or (rows NULL) those at pos[] of a tablet. */
static Status read_cells(const Applying *x, int col, int64_t n, const int64_t *rows, int64_t tablet, const int32_t *pos,
                         Vec *out) {
    const Column *c = &x->f->cols[col];
    const uint8_t phys = (uint8_t)type_phys(c->type);
    const int64_t size = phys_size((Phys)phys);
    char *cells = arena_alloc(x->a, n * size);
    uint8_t *valid = arena_alloc(x->a, n);
    int32_t *at = rows ? arena_array(x->a, int32_t, n) : NULL;
    if (!cells || !valid || (rows && !at)) return err_oom(x->e);
    memset(valid, 1, (size_t)n);
    for (int64_t i = 0, k; i < n; i += k) {
        bool nulls = false;
        k = n - i;
        if (rows) {
            tablet = rows[i] >> 32;
            for (k = 0; i + k < n && rows[i + k] >> 32 == tablet; k++) at[i + k] = (int32_t)(rows[i + k] & 0xffffffff);
        }
        tablet_decode(x->f, x->f->tablets[tablet], col, 0, rows ? at + i : pos, k, phys, cells + i * size, valid + i,
                      &nulls);
        if (!nulls) memset(valid + i, 1, (size_t)k);
    }
    *out = (Vec){.data = cells, .valid = valid, .phys = phys, .type = c->type};
    return ST_OK;
}

static Status apply_deletes(const Applying *x) {
    int64_t n, *rows = NULL;
    TRY(rows_named(x, NULL, &n, &rows));
    return n > 0 ? table_delete(x->t, n, rows, x->undo, NULL, x->e) : ST_OK;
}
static int by_was(const void *a, const void *b) {
    const RowEdit *x = a, *y = b;
    return (x->was > y->was) - (x->was < y->was);
}
static int64_t row_now(const Applying *x, int64_t row) {
    const RowEdit *m;
    while (x->moved.len > 0 &&
           (m = bsearch(&(RowEdit){.was = row}, x->moved.items, (size_t)x->moved.len, sizeof *x->moved.items, by_was)))
        row = m->is;
    return row;
}
/* An update moves rows of a tablet whose strings have outgrown their bound. */
static Status note_moved(Applying *x, int64_t mark) {
    TableEdits edits;
    const int64_t before = x->moved.len;
    bool *none = arena_array(x->a, bool, x->f->n_cols + 1);
    if (!none) return err_oom(x->e);
    memset(none, 0, (size_t)x->f->n_cols);
    if (undo_edits(x->undo, mark, x->t, none, x->a, &edits) != ST_OK) return err_oom(x->e);
    for (int64_t i = 0; i < edits.updated.len; i++)
        if (!vec_push(x->a, &x->moved, edits.updated.items[i])) return err_oom(x->e);
    if (x->moved.len > before) qsort(x->moved.items, (size_t)x->moved.len, sizeof *x->moved.items, by_was);
    return ST_OK;
}
/* Rows of which some of the columns were set get what these have. */
static Status apply_columns(Applying *x, const bool *cols) {
    const int64_t mark = undo_mark(x->undo);
    int64_t n, *rows = NULL;
    TRY(rows_named(x, cols, &n, &rows));
    if (n == 0) return ST_OK;
    int32_t n_set = 0, *set = arena_array(x->a, int32_t, x->f->n_cols);
    Vec *vals = arena_array(x->a, Vec, x->f->n_cols);
    if (!set || !vals) return err_oom(x->e);
    for (int c = 0; c < x->f->n_cols; c++) {
        if (!cols[c]) continue;
        TRY(read_cells(x, c, n, rows, 0, NULL, &vals[n_set]));
        set[n_set++] = c;
    }
    for (int64_t i = 0; i < n; i++) rows[i] = row_now(x, rows[i]);
    TRY(table_update(x->t, n, rows, n_set, set, vals, x->undo, x->e));
    return note_moved(x, mark);
}
/* Columns of keys go together, since keys are compared when a call has set them. */
static Status apply_updates(Applying *x) {
    bool *keys = arena_array(x->a, bool, x->f->n_cols + 1), *one = arena_array(x->a, bool, x->f->n_cols + 1);
    if (!keys || !one) return err_oom(x->e);
    memset(keys, 0, (size_t)x->f->n_cols);
    for (int c = 0; c < x->f->n_cols; c++)
        for (int k = 0; k < table_indexes(x->f); k++) keys[c] |= table_index_reads(x->f, k, c);
    TRY(apply_columns(x, keys));
    for (int c = 0; c < x->f->n_cols; c++) {
        if (keys[c]) continue;
        memset(one, 0, (size_t)x->f->n_cols);
        one[c] = true;
        TRY(apply_columns(x, one));
    }
    return ST_OK;
}
static Status append_some(const Applying *x, int64_t tablet, int64_t n, const int32_t *pos) {
    Vec *cells = arena_array(x->a, Vec, x->f->n_cols + 1);
    if (!cells) return err_oom(x->e);
    for (int c = 0; c < x->f->n_cols; c++) TRY(read_cells(x, c, n, NULL, tablet, pos, &cells[c]));
    return table_append(x->t, n, cells, x->undo, NULL, x->e);
}
static Status apply_inserts(const Applying *x) {
    enum { AT_ONCE = 4096 };
    int32_t pos[AT_ONCE];
    for (int64_t i = x->f->impl->fork->n_of; i < x->f->n_tablets; i++) {
        const Tablet *tab = x->f->tablets[i];
        for (int64_t row = 0; row < tab->rows;) {
            int64_t n = 0;
            for (; row < tab->rows && n < AT_ONCE; row++)
                if (!tablet_row_deleted(tab, row)) pos[n++] = (int32_t)row;
            arena_reset(x->a);
            if (n > 0) TRY(append_some(x, i, n, pos));
        }
    }
    return ST_OK;
}
/* Of a column: what was added to cells that were not set or read besides. */
static Status defer_adds(const Applying *x, int col) {
    const int64_t n_of = x->f->impl->fork->n_of;
    int64_t n, *rows = NULL;
    bool *cols = arena_array(x->a, bool, x->f->n_cols + 1);
    if (!cols) return err_oom(x->e);
    memset(cols, 0, (size_t)x->f->n_cols);
    cols[col] = true;
    TRY(rows_named(x, cols, &n, &rows));
    for (int64_t k = 0; k < x->log->recs.len; k++) {
        const UndoRecord *r = &x->log->recs.items[k];
        if (r->t != x->f || r->kind != UNDO_ADD || r->read != ADD_UNREAD || r->col != col) continue;
        for (int64_t i = 0; i < r->n; i++) {
            const int64_t row = r->rowids[i], tablet = row >> 32;
            if (tablet >= n_of || tablet_row_deleted(x->f->tablets[tablet], row & 0xffffffff)) continue;
            if (n > 0 && bsearch(&row, rows, (size_t)n, sizeof *rows, rowid_cmp)) continue;
            TRY(undo_defer_add(x->undo, x->t, row, col, undo_added(r, i), x->e));
        }
    }
    return ST_OK;
}
Status table_fork_defer_adds(const Table *f, const UndoLog *log, Table *t, UndoLog *undo, Err *e) {
    if (!undo_has_adds(log)) return ST_OK;
    Applying x = {.f = f, .log = log, .t = t, .undo = undo, .a = arena_new(f->impl->parent, e), .e = e};
    Status st = x.a ? ST_OK : ST_ERROR;
    for (int c = 0; st == ST_OK && c < f->n_cols; c++) st = defer_adds(&x, c);
    arena_free(x.a);
    return st;
}
Status table_fork_apply(const Table *f, const UndoLog *log, Table *t, UndoLog *undo, Err *e) {
    Applying x = {.f = f, .log = log, .t = t, .undo = undo, .a = arena_new(f->impl->parent, e), .e = e};
    Status st = x.a ? ST_OK : ST_ERROR;
    if (st == ST_OK) st = apply_deletes(&x);
    if (st == ST_OK) st = apply_updates(&x);
    if (st == ST_OK) st = apply_inserts(&x);
    arena_free(x.a);
    return st;
}
