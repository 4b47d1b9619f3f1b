/* table.c - tables: creation, changes in the delta.
 *
 * A change first does everything that can fail (checks, memory, undo records: undo.c), then becomes visible; key
 * checks come last, when all rows are in place, and a violation rolls the whole call back through the same
 * undo records. Statistics and min/max only ever widen here: rolling back leaves them conservative.
 * See keyindex.h on why undo does not touch the key indexes.
 */
#include "storage/exprindex.h"
#include "storage/row_errors.h"
#include "storage/storage_int.h"

/* ---- creation ---- */
static Status copy_columns(Table *t, int n, const ColumnDef *cols) {
    Arena *a = t->impl->names;
    t->cols = arena_array(a, Column, n > 0 ? n : 1);
    if (!t->cols) return ST_ERROR;
    t->n_cols = n;
    for (int i = 0; i < n; i++) {
        Column *c = &t->cols[i];
        c->type = cols[i].type;
        c->not_null = cols[i].not_null;
        c->name = arena_strdup(a, cols[i].name);
        if (!c->name) return ST_ERROR;
        c->domain = cols[i].domain;
        if (cols[i].default_sql && !(c->default_sql = arena_strdup(a, cols[i].default_sql))) return ST_ERROR;
    }
    return ST_OK;
}
static Status copy_constraints(Table *t, int n_keys, const KeyDef *keys, int n_checks, const CheckDef *checks, Err *e) {
    Arena *a = t->impl->names;
    t->keys = arena_array(a, KeyConstraint, n_keys > 0 ? n_keys : 1);
    t->checks = arena_array(a, CheckConstraint, n_checks > 0 ? n_checks : 1);
    if (!t->keys || !t->checks) return ST_ERROR;
    for (int i = 0; i < n_keys; i++) {
        KeyConstraint *k = &t->keys[i];
        if (keys[i].n_cols > KEYINDEX_MAX_COLS)
            return err_set(e, ERR_TOO_MANY_COLUMNS, "cannot use more than %d columns in an index", KEYINDEX_MAX_COLS);
        k->primary = keys[i].primary;
        k->is_index = keys[i].is_index;
        k->n_cols = keys[i].n_cols;
        k->name = arena_strdup(a, keys[i].name);
        k->cols = arena_array(a, int, k->n_cols > 0 ? k->n_cols : 1);
        if (!k->name || !k->cols) return ST_ERROR;
        for (int j = 0; j < k->n_cols; j++) {
            k->cols[j] = keys[i].cols[j];
            if (k->primary) t->cols[k->cols[j]].not_null = true;
        }
        k->index = keyindex_new(table_part(t, TABLE_INDEX), e);
        if (!k->index) return ST_ERROR;
        t->n_keys++;
    }
    for (int i = 0; i < n_checks; i++) {
        t->checks[i].name = arena_strdup(a, checks[i].name);
        t->checks[i].sql = arena_strdup(a, checks[i].sql);
        if (!t->checks[i].name || !t->checks[i].sql) return ST_ERROR;
        t->n_checks++;
    }
    return ST_OK;
}

Status table_new(MemAccount *parent, const char *name, int n_cols, const ColumnDef *cols, int n_keys,
                 const KeyDef *keys, int n_checks, const CheckDef *checks, Table **out, Err *e) {
    Table *t = mem_calloc(parent, (int64_t)(sizeof(Table) + sizeof(struct TableImpl)), e);
    if (!t) return ST_ERROR;
    t->impl = (struct TableImpl *)(void *)(t + 1);
    t->impl->parent = parent;
    mem_account_init(&t->account, parent, "table", 0, NULL);
    for (int p = 0; p < N_TABLE_PARTS; p++) mem_account_init(&t->impl->parts[p], &t->account, "table", 0, NULL);
    t->impl->names = arena_new(&t->account, e);
    t->impl->stats_arena = arena_new(&t->account, e);
    if (!t->impl->names || !t->impl->stats_arena) goto fail;
    arena_set_err(t->impl->stats_arena, NULL);
    t->name = arena_strdup(t->impl->names, name);
    if (!t->name || copy_columns(t, n_cols, cols) != ST_OK) goto fail;
    if (copy_constraints(t, n_keys, keys, n_checks, checks, e) != ST_OK) goto fail;
    arena_set_err(t->impl->names, NULL);
    stats_reset(t);
    t->version = 1;
    *out = t;
    return ST_OK;
fail:
    table_free(t);
    return ST_ERROR;
}

static Status copy_expr(Table *t, ExprIndex *x, const ExprIndexDef *d, Err *e) {
    Arena *a = t->impl->names;
    if (d->n_parts > KEYINDEX_MAX_COLS)
        return err_set(e, ERR_TOO_MANY_COLUMNS, "cannot use more than %d columns in an index", KEYINDEX_MAX_COLS);
    x->name = arena_strdup(a, d->name);
    x->parts = arena_array(a, char *, d->n_parts);
    x->cols = arena_array(a, int, t->n_cols + 1);
    x->where = d->where ? arena_strdup(a, d->where) : NULL;
    if (!x->name || !x->parts || !x->cols || (d->where && !x->where)) return err_oom(e);
    for (int i = 0; i < d->n_parts; i++)
        if (!(x->parts[i] = arena_strdup(a, d->parts[i]))) return err_oom(e);
    x->n_parts = d->n_parts;
    x->nulls_not_distinct = d->nulls_not_distinct;
    return ST_OK;
}
Status table_add_exprs(Table *t, int n, const ExprIndexDef *defs, Err *e) {
    if (n == 0) return ST_OK;
    t->exprs = arena_array(t->impl->names, ExprIndex, n);
    if (!t->exprs) return err_oom(e);
    for (int i = 0; i < n; i++) {
        TRY(copy_expr(t, &t->exprs[i], &defs[i], e));
        if (!(t->exprs[i].index = keyindex_new(table_part(t, TABLE_INDEX), e))) return ST_ERROR;
        t->n_exprs++;
    }
    return ST_OK;
}
bool table_index_reads(const Table *t, int k, int col) {
    const int *cols = k < t->n_keys ? t->keys[k].cols : t->exprs[k - t->n_keys].cols;
    const int n = k < t->n_keys ? t->keys[k].n_cols : t->exprs[k - t->n_keys].n_cols;
    for (int i = 0; i < n; i++)
        if (cols[i] == col) return true;
    return false;
}

static void free_data(Table *t) {
    for (int64_t i = 0; i < t->n_tablets; i++) tablet_free(t->tablets[i]);
    if (t->tablets) mem_free(&t->account, t->tablets, t->impl->cap_tablets * (int64_t)sizeof(Tablet *));
    for (int i = 0; i < t->n_cols; i++) dict_free(t->cols[i].dict);
    for (int i = 0; i < table_indexes(t); i++) keyindex_free(*table_index(t, i));
    arena_free(t->impl->stats_arena);
}
void table_free(Table *t) {
    if (!t) return;
    free_data(t);
    if (t->impl->versions) table_versions_end(t);
    else table_free_end(t);
}
void table_free_end(Table *t) {
    MemAccount *parent = t->impl->parent;
    for (int i = 0; i < t->n_exprs; i++)
        if (t->exprs[i].program) t->exprs[i].program->free(t->exprs[i].program);
    arena_free(t->impl->names);
    mem_free(parent, t, (int64_t)(sizeof(Table) + sizeof(struct TableImpl)));
}
int64_t table_charged(const Table *t) {
    return atomic_load(&t->account.used) + (int64_t)(sizeof(Table) + sizeof(struct TableImpl));
}
int64_t table_part_bytes(const Table *t, TablePart p) { return atomic_load(&t->impl->parts[p].used); }
int table_find_column(const Table *t, Slice name) {
    for (int i = 0; i < t->n_cols; i++)
        if (slice_eq(slice_of(t->cols[i].name), name)) return i;
    return -1;
}

/* ---- states ---- */
static int64_t state_bytes(const Table *t) {
    return (int64_t)(sizeof(TableState) + ((size_t)t->n_cols * (sizeof(ColumnStats) + sizeof(Dict *))) +
                     (size_t)table_indexes(t) * sizeof(HashIndex *));
}
static void load_whole(Table *t, const TableState *s) { /* what is not by column or key */
    t->n_tablets = s->n_tablets;
    t->impl->cap_tablets = s->cap_tablets;
    t->tablets = s->tablets;
    t->live_rows = s->live_rows;
    t->impl->changed_rows = s->changed_rows;
    t->impl->dead_text = s->dead_text;
    t->impl->generation = s->generation;
    t->impl->stats_arena = s->stats_arena;
}
static void state_load(Table *t, const TableState *s) {
    load_whole(t, s);
    for (int i = 0; i < t->n_cols; i++) {
        t->cols[i].dict = s->dicts[i];
        t->cols[i].stats = s->stats[i];
    }
    for (int i = 0; i < table_indexes(t); i++) *table_index(t, i) = s->indexes[i];
}
Status table_state_take(Table *t, TableState **out, Err *e) {
    TableState *s = mem_calloc(&t->account, state_bytes(t), e);
    if (!s) return ST_ERROR;
    s->stats = (ColumnStats *)(void *)(s + 1);
    s->dicts = (Dict **)(void *)(s->stats + t->n_cols);
    s->indexes = (HashIndex **)(void *)(s->dicts + t->n_cols);
    /* First hold what the empty table needs, then swap. */
    Arena *arena = arena_new(&t->account, e);
    bool ok = arena != NULL;
    for (int i = 0; ok && i < table_indexes(t); i++)
        ok = (s->indexes[i] = keyindex_new(table_part(t, TABLE_INDEX), e)) != NULL;
    if (!ok) {
        for (int i = 0; i < table_indexes(t); i++) keyindex_free(s->indexes[i]);
        arena_free(arena);
        mem_free(&t->account, s, state_bytes(t));
        return ST_ERROR;
    }
    arena_set_err(arena, NULL);
    for (int i = 0; i < table_indexes(t); i++) {
        HashIndex *fresh = s->indexes[i];
        s->indexes[i] = *table_index(t, i);
        *table_index(t, i) = fresh;
    }
    s->n_tablets = t->n_tablets;
    s->cap_tablets = t->impl->cap_tablets;
    s->tablets = t->tablets;
    s->live_rows = t->live_rows;
    s->changed_rows = t->impl->changed_rows;
    s->dead_text = t->impl->dead_text;
    s->generation = t->impl->generation;
    t->impl->generation = ++t->impl->generations;
    s->stats_arena = t->impl->stats_arena;
    for (int i = 0; i < t->n_cols; i++) {
        s->dicts[i] = t->cols[i].dict;
        s->stats[i] = t->cols[i].stats;
        t->cols[i].dict = NULL;
    }
    t->n_tablets = t->impl->cap_tablets = 0;
    t->tablets = NULL;
    t->live_rows = t->impl->changed_rows = t->impl->dead_text = 0;
    t->impl->stats_arena = arena;
    stats_reset(t);
    table_changed(t);
    *out = s;
    return ST_OK;
}
void table_state_put(Table *t, TableState *s) {
    free_data(t);
    state_load(t, s);
    mem_free(&t->account, s, state_bytes(t));
    table_changed(t);
}
void table_state_exchange(Table *t, TableState *s) {
    TableState now = *s;
    now.n_tablets = t->n_tablets;
    now.cap_tablets = t->impl->cap_tablets;
    now.tablets = t->tablets;
    now.live_rows = t->live_rows;
    now.changed_rows = t->impl->changed_rows;
    now.dead_text = t->impl->dead_text;
    now.generation = t->impl->generation;
    now.stats_arena = t->impl->stats_arena;
    load_whole(t, s);
    for (int i = 0; i < t->n_cols; i++) {
        Dict *dict = t->cols[i].dict;
        ColumnStats stats = t->cols[i].stats;
        t->cols[i].dict = s->dicts[i];
        t->cols[i].stats = s->stats[i];
        s->dicts[i] = dict;
        s->stats[i] = stats;
    }
    for (int i = 0; i < table_indexes(t); i++) {
        HashIndex *index = *table_index(t, i);
        *table_index(t, i) = s->indexes[i];
        s->indexes[i] = index;
    }
    *s = now;
}
void table_state_free(Table *t, TableState *s) {
    for (int64_t i = 0; i < s->n_tablets; i++) tablet_free(s->tablets[i]);
    if (s->tablets) mem_free(&t->account, s->tablets, s->cap_tablets * (int64_t)sizeof(Tablet *));
    for (int i = 0; i < t->n_cols; i++) dict_free(s->dicts[i]);
    for (int i = 0; i < table_indexes(t); i++) keyindex_free(s->indexes[i]);
    arena_free(s->stats_arena);
    mem_free(&t->account, s, state_bytes(t));
}

Status table_add_tablet(Table *t, Tablet *tab, Err *e) {
    if (t->n_tablets == t->impl->cap_tablets) {
        int64_t cap = t->impl->cap_tablets ? t->impl->cap_tablets * 2 : 4;
        Tablet **p = mem_realloc(&t->account, t->tablets, t->impl->cap_tablets * (int64_t)sizeof *p,
                                 cap * (int64_t)sizeof *p, e);
        if (!p) return ST_ERROR;
        t->tablets = p;
        t->impl->cap_tablets = cap;
    }
    t->tablets[t->n_tablets++] = tab;
    return ST_OK;
}

/* ---- writing cells into a delta tablet ---- */
static int128_t vec_int(const Vec *v, int64_t i) {
    switch (v->phys) {
    case PH_BOOL: return ((const uint8_t *)v->data)[i];
    case PH_I16: return ((const int16_t *)v->data)[i];
    case PH_I32: return ((const int32_t *)v->data)[i];
    case PH_I64: return ((const int64_t *)v->data)[i];
    default: return ((const int128_t *)v->data)[i];
    }
}
Status tablet_ensure_validity(Tablet *tab, int col, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    TabletColumn *c = &tab->cols[col];
    if (d->validity) return ST_OK;
    d->validity = mem_alloc(tab->block->open, tab->block->cap / 8, e);
    if (!d->validity) return ST_ERROR;
    memset(d->validity, 0xff, (size_t)(tab->block->cap / 8));
    if (c->validity) memcpy(d->validity, c->validity, (size_t)((tab->rows + 63) / 64 * 8)); /* the block's */
    c->validity = d->validity;
    return ST_OK;
}
Status tablet_write_string(Table *t, Tablet *tab, int col, void *cell, Str text, CellSummary *s, Err *e) {
    Dict *dict = t->cols[col].dict;
    if (dict) {
        int32_t code = dict_add(dict, text, e);
        if (code < 0) return ST_ERROR;
        memcpy(cell, &code, sizeof code);
        cell_summary_add(s, code);
    } else {
        Str copy;
        if (!strheap_add(&tab->block->heap, text, &copy, e)) return ST_ERROR;
        memcpy(cell, &copy, sizeof copy);
    }
    s->bytes += text.len;
    return ST_OK;
}
/* The cell of a row of an open or patched column. `code`: v holds dictionary codes. Counts NULLs only in `s`: appended
 * rows are not yet the tablet's. */
static Status write_cell(Table *t, Tablet *tab, int col, int64_t row, void *cell, const Vec *v, int64_t i, bool code,
                         CellSummary *s, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    if (v->is_const) i = 0;
    bool valid = !v->valid || v->valid[i];
    s->n++;
    if (!valid) {
        TRY(tablet_ensure_validity(tab, col, e));
        delta_set_valid(d, row, false);
        memset(cell, 0, (size_t)d->cell_size);
        s->nulls++;
        return ST_OK;
    }
    TabletColumn *c = &tab->cols[col];
    if (code) {
        int32_t k = ((const int32_t *)v->data)[i];
        memcpy(cell, &k, sizeof k);
        s->bytes += t->cols[col].dict->entries[k].len;
        cell_summary_add(s, k);
    } else if (t->cols[col].dict || c->phys == PH_STR) {
        TRY(tablet_write_string(t, tab, col, cell, ((const Str *)v->data)[i], s, e));
    } else if (phys_is_int(c->phys)) {
        int128_t x = vec_int(v, i);
        memcpy(cell, &x, (size_t)d->cell_size); /* little-endian */
        cell_summary_add(s, x);
    } else {
        memcpy(cell, (const char *)v->data + i * d->cell_size, (size_t)d->cell_size);
    }
    delta_set_valid(d, row, true);
    return ST_OK;
}
void tablet_widen(Tablet *tab, int col, const CellSummary *s) {
    TabletColumn *c = &tab->cols[col];
    DeltaCol *d = &tab->block->delta[col];
    d->wide = d->wide || s->wide;
    if (s->has_range) {
        c->min = c->has_minmax ? MIN_OF(c->min, s->min) : s->min;
        c->max = c->has_minmax ? MAX_OF(c->max, s->max) : s->max;
        c->has_minmax = true;
    }
    /* A range seen before a wide value came would be wrong; once wide, there is none. */
    if (d->wide) c->has_minmax = false;
}

/* ---- append ---- */
static Status check_not_null(const Table *t, int64_t n, const Vec *cols, Err *e) {
    for (int c = 0; c < t->n_cols; c++) {
        if (!t->cols[c].not_null || !cols[c].valid) continue;
        int64_t m = cols[c].is_const ? MIN_OF(n, 1) : n;
        for (int64_t i = 0; i < m; i++)
            if (!cols[c].valid[i]) return row_null_error_at(t, c, cols, i, e);
    }
    return ST_OK;
}

/* How many of rows [first, n) the tablet's string heap takes; a tablet with no rows takes at least one. */
static int64_t rows_that_fit(const Table *t, const Tablet *tab, int64_t first, int64_t n, const Vec *cols) {
    int64_t fit = MIN_OF(n - first, TABLET_ROWS - tab->rows), total = tab->block->heap.total;
    bool strings = false;
    for (int c = 0; c < t->n_cols; c++) strings = strings || tab->cols[c].phys == PH_STR;
    if (!strings) return fit;
    for (int64_t i = 0; i < fit; i++) {
        for (int c = 0; c < t->n_cols; c++)
            if (tab->cols[c].phys == PH_STR) total += ((const Str *)cols[c].data)[cols[c].is_const ? 0 : first + i].len;
        if (total > TABLET_STR_BYTES) return i == 0 && tab->rows == 0 ? 1 : i;
    }
    return fit;
}

/* Stores rows without looking at keys. `codes[c]`: column c comes as dictionary codes. */
static Status append_rows(Table *t, int64_t n, const Vec *cols, const bool *codes, UndoLog *undo, int64_t *rowids,
                          Err *e) {
    for (int64_t first = 0; first < n;) {
        Tablet *tab = t->n_tablets ? t->tablets[t->n_tablets - 1] : NULL;
        int64_t k = tab && tab->is_delta && !tab->block->has_home ? rows_that_fit(t, tab, first, n, cols) : 0;
        if (k == 0) {
            TRY(tablet_new_delta(t, &tab, e));
            if (table_add_tablet(t, tab, e) != ST_OK) {
                tablet_free(tab);
                return ST_ERROR;
            }
            k = rows_that_fit(t, tab, first, n, cols);
        }
        int64_t at = tab->rows;
        TRY(delta_reserve(tab, at + k, e));
        UndoRecord *r = undo_push(undo, UNDO_APPEND, t, e);
        if (!r) return ST_ERROR;
        r->tablet = t->n_tablets - 1;
        r->rows = at;
        r->n = 0;
        int64_t before = MAX_OF(t->live_rows, at) + (t->n_tablets > 1); /* 0 only when nothing is stored */
        for (int c = 0; c < t->n_cols; c++) {
            const DeltaCol *d = &tab->block->delta[c];
            CellSummary s = {0};
            for (int64_t i = 0; i < k; i++)
                TRY(write_cell(t, tab, c, at + i, delta_cell(d, at + i), &cols[c], first + i, codes && codes[c], &s,
                               e));
            tablet_widen(tab, c, &s);
            stats_widen(t, c, &s, before);
        }
        /* Visible from here on. */
        for (int c = 0; c < t->n_cols; c++)
            for (int64_t i = 0; i < k; i++) tab->cols[c].null_count += !column_row_valid(&tab->cols[c], at + i);
        tab->rows += k;
        tab->block->changes++;
        t->live_rows += k;
        r->n = k;
        if (rowids)
            for (int64_t i = 0; i < k; i++) rowids[first + i] = rowid_make(t->n_tablets - 1, at + i);
        first += k;
    }
    return ST_OK;
}

static Status enter_keys(Table *t, int64_t n, const int64_t *rowids, Err *e) {
    for (int k = 0; k < table_indexes(t); k++) TRY(keyindex_add_rows(t, k, n, rowids, e));
    return ST_OK;
}

/* Every change runs inside a log, the caller's or one of its own. */
typedef struct Change {
    Table *t;
    UndoLog *log;
    bool own;
    int64_t mark;
} Change;
static Status change_begin(Change *c, Table *t, UndoLog *undo, Err *e) {
    *c = (Change){t, undo, undo == NULL, 0};
    if (c->own && !(c->log = undo_new(&t->account, e))) return ST_ERROR;
    c->mark = undo_mark(c->log);
    return ST_OK;
}
static Status change_end(Change *c, Status st, int64_t rows) {
    if (st != ST_OK) undo_rollback(c->log, c->mark);
    else c->t->impl->changed_rows += rows;
    if (c->own) undo_free(c->log);
    if (st == ST_OK) table_changed(c->t);
    else c->t->version++;
    return st;
}

bool table_vecs_agree(const Table *t, int n_cols, const int *cols, int64_t n, const Vec *vecs) {
    for (int i = 0; i < n_cols; i++) {
        const Vec *v = &vecs[i];
        if (!cells_agree(t->cols[cols ? cols[i] : i].type, v->type, (Phys)v->phys, v->is_const ? 1 : n, v->data,
                         v->valid))
            return false;
    }
    return true;
}

Status table_append(Table *t, int64_t n, const Vec *cols, UndoLog *undo, int64_t *rowids, Err *e) {
    if (n <= 0) return ST_OK;
    dbg_assert(table_vecs_agree(t, t->n_cols, NULL, n, cols));
    TRY(check_not_null(t, n, cols, e));
    int64_t one, *ids = rowids, *mem = NULL;
    if (!ids && n == 1) ids = &one;
    if (!ids && table_indexes(t) > 0) {
        ids = mem = mem_alloc(&t->account, n * 8, e);
        if (!mem) return ST_ERROR;
    }
    Change ch;
    Status st = change_begin(&ch, t, undo, e);
    if (st == ST_OK) {
        st = append_rows(t, n, cols, NULL, ch.log, ids, e);
        if (st == ST_OK && table_indexes(t) > 0) st = enter_keys(t, n, ids, e);
        st = change_end(&ch, st, n);
    }
    if (mem) mem_free(&t->account, mem, n * 8);
    return st;
}

/* ---- delete ---- */
static bool row_exists(const Table *t, int64_t rowid) {
    int64_t tablet = rowid >> 32, row = rowid & 0xffffffff;
    return rowid >= 0 && tablet < t->n_tablets && row < t->tablets[tablet]->rows &&
           !tablet_row_deleted(t->tablets[tablet], row);
}

static Status delete_rows(Table *t, int64_t n, const int64_t *rowids, UndoLog *undo, int64_t *n_done, Err *e) {
    *n_done = 0;
    if (n <= 0) return ST_OK;
    for (int64_t i = 0; i < n; i++)
        if (row_exists(t, rowids[i])) TRY(tablet_ensure_deleted(t->tablets[rowids[i] >> 32], e));
    int64_t *copy = undo_alloc(undo, n * 8, e);
    if (!copy) return ST_ERROR;
    UndoRecord *r = undo_push(undo, UNDO_DELETE, t, e);
    if (!r) return ST_ERROR;
    int64_t done = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!row_exists(t, rowids[i])) continue;
        Tablet *tab = t->tablets[rowids[i] >> 32];
        int64_t row = rowids[i] & 0xffffffff;
        tab->block->deleted[row >> 6] |= UINT64_C(1) << (row & 63);
        tab->n_deleted++;
        tab->block->changes++;
        copy[done++] = rowids[i];
    }
    r->rowids = copy;
    r->n = done;
    t->live_rows -= done;
    *n_done = done;
    return ST_OK;
}

Status table_delete(Table *t, int64_t n, const int64_t *rowids, UndoLog *undo, int64_t *n_done, Err *e) {
    Change ch;
    int64_t done = 0;
    if (change_begin(&ch, t, undo, e) != ST_OK) return ST_ERROR;
    Status st = delete_rows(t, n, rowids, ch.log, &done, e);
    st = change_end(&ch, st, done);
    if (n_done) *n_done = st == ST_OK ? done : 0;
    return st;
}

/* ---- update ---- */
/* Rows ids[0..n), some of the first in this tablet, change next: how many would get a patch that they have not. More
 * than `most` are not counted. */
static int64_t new_patches(const Tablet *tab, int col, int64_t n, const int64_t *ids, int64_t most) {
    const TabletColumn *c = &tab->cols[col];
    const int64_t end = c->is_delta ? tab->block->published : tab->rows;
    int64_t fresh = 0;
    for (int64_t i = 0; i < n && fresh <= most && ids[i] >> 32 == ids[0] >> 32; i++) {
        int64_t row = ids[i] & 0xffffffff;
        fresh += row < end && !column_patch(c, row);
    }
    return fresh;
}
/* What comes before these rows change in a tablet: no column gets more patches than a scan should meet. */
static Status begin_update(const Table *t, Tablet *tab, int col, int64_t n, const int64_t *ids, Err *e) {
    int64_t room = tablet_patch_limit(tab, col) - tablet_patched_rows(tab, col);
    int64_t fresh = new_patches(tab, col, n, ids, room);
    if (tab->cols[col].is_delta) return delta_begin_update(tab, col, fresh, fresh > room, e);
    return fresh > room ? tablet_open_column(t, tab, col, e) : ST_OK;
}
/* The row's cell beside the packed or shared ones; a value that a column's codes cannot have opens it. */
static Status place_patch(const Table *t, Tablet *tab, int col, int64_t row, const Vec *v, int64_t i, void **cell,
                          Err *e) {
    const TabletColumn *c = &tab->cols[col];
    if (v->is_const) i = 0;
    if (c->encoding == ENC_FOR && c->phys == PH_I128 && (!v->valid || v->valid[i])) {
        int128_t x = vec_int(v, i);
        if (x != (int64_t)x) {
            TRY(tablet_open_column(t, tab, col, e));
            *cell = delta_cell(&tab->block->delta[col], row);
            return ST_OK;
        }
    }
    return tablet_patch_cell(t, tab, col, row, cell, e);
}
static bool is_in_place(const Tablet *tab, int col, int64_t row) {
    const TabletColumn *c = &tab->cols[col];
    return c->is_delta && (!c->patches || row >= tab->block->published);
}
/* The cell where value i of v goes, behind begin_update; v NULL: any value that the column's cells can have. An undo
 * log may have it from now on. */
static Status update_cell(const Table *t, Tablet *tab, int col, int64_t row, const Vec *v, int64_t i, void **cell,
                          Err *e) {
    if (is_in_place(tab, col, row)) *cell = delta_cell(&tab->block->delta[col], row);
    else TRY(v ? place_patch(t, tab, col, row, v, i, cell, e) : tablet_patch_cell(t, tab, col, row, cell, e));
    DeltaCol *d = &tab->block->delta[col];
    d->updated = true;
    d->updated_cells |= is_in_place(tab, col, row);
    tab->block->changes++;
    return ST_OK;
}
Status table_reserve_cell(Table *t, int64_t rowid, int col, Err *e) {
    Tablet *tab = t->tablets[rowid >> 32];
    void *cell;
    if (tab->cols[col].phys == PH_I128) TRY(tablet_open_column(t, tab, col, e));
    TRY(begin_update(t, tab, col, 1, &rowid, e));
    return update_cell(t, tab, col, rowid & 0xffffffff, NULL, 0, &cell, e);
}
static inline void add_summary(CellSummary *all, const CellSummary *one) {
    all->n++;
    all->nulls += one->nulls;
    all->wide = all->wide || one->wide;
    all->bytes += one->bytes;
    if (!one->has_range) return;
    cell_summary_add(all, one->min);
    cell_summary_add(all, one->max);
}
/* A record of the column's old cells, of no rows yet. */
static UndoRecord *push_update(Table *t, int64_t n, int64_t *ids, int col, UndoLog *undo, Err *e) {
    int64_t size = phys_size((Phys)column_phys(&t->cols[col]));
    char *cells = undo_alloc(undo, n * size, e);
    uint8_t *valid = undo_alloc(undo, n, e);
    UndoRecord *r = cells && valid ? undo_push(undo, UNDO_UPDATE, t, e) : NULL;
    if (!r) return NULL;
    r->rowids = ids;
    r->col = col;
    r->cell_size = (int32_t)size;
    r->cells = cells;
    r->valid = valid;
    return r;
}
/* Rows that stay where they are: idx[] are positions in rowids and vals. */
static Status update_in_place(Table *t, int64_t n, const int64_t *idx, const int64_t *rowids, int n_set,
                              const int *set_cols, const Vec *vals, UndoLog *undo, Err *e) {
    if (n == 0) return ST_OK;
    int64_t *ids = undo_alloc(undo, n * 8, e);
    if (!ids) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) ids[i] = rowids[idx[i]];
    for (int s = 0; s < n_set; s++) {
        int col = set_cols[s];
        UndoRecord *r = push_update(t, n, ids, col, undo, e);
        if (!r) return ST_ERROR;
        CellSummary all = {0};
        for (int64_t i = 0; i < n; i++) {
            Tablet *tab = t->tablets[ids[i] >> 32];
            TabletColumn *c = &tab->cols[col];
            int64_t row = ids[i] & 0xffffffff;
            void *cell;
            if (i == 0 || ids[i] >> 32 != ids[i - 1] >> 32) TRY(begin_update(t, tab, col, n - i, ids + i, e));
            TRY(update_cell(t, tab, col, row, &vals[s], idx[i], &cell, e));
            bool was = column_row_valid(c, row);
            if (!was) TRY(tablet_ensure_validity(tab, col, e));
            memcpy((char *)r->cells + i * r->cell_size, cell, (size_t)r->cell_size);
            if (was && c->phys == PH_STR) t->impl->dead_text += ((const Str *)cell)->len;
            r->valid[i] = was;
            r->n = i + 1;
            CellSummary one = {0};
            TRY(write_cell(t, tab, col, row, cell, &vals[s], idx[i], false, &one, e));
            c->null_count += (was ? 0 : -1) + (one.nulls ? 1 : 0);
            tablet_widen(tab, col, &one);
            add_summary(&all, &one);
        }
        stats_widen(t, col, &all, t->live_rows + 1);
    }
    return ST_OK;
}

/* Rows of main, all of one tablet: their new versions go to the delta, the old ones are deleted. */
static Status update_by_moving(Table *t, int64_t n, const int64_t *idx, const int64_t *rowids, int n_set,
                               const int *set_cols, const Vec *vals, UndoLog *undo, int64_t *new_ids, Arena *tmp,
                               Err *e) {
    const Tablet *tab = t->tablets[rowids[idx[0]] >> 32];
    Vec *cols = arena_array(tmp, Vec, t->n_cols);
    bool *codes = arena_array(tmp, bool, t->n_cols);
    int32_t *pos = arena_alloc(tmp, n * 4);
    int64_t *old = arena_alloc(tmp, n * 8);
    if (!cols || !codes || !pos || !old) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        old[i] = rowids[idx[i]];
        pos[i] = (int32_t)(old[i] & 0xffffffff);
    }
    for (int c = 0; c < t->n_cols; c++) {
        uint8_t phys = column_phys(&t->cols[c]);
        int from = -1;
        for (int s = 0; s < n_set; s++)
            if (set_cols[s] == c) from = s;
        const Vec *v = from >= 0 ? &vals[from] : NULL;
        int64_t size = v ? phys_size((Phys)v->phys) : phys_size((Phys)phys);
        uint8_t *valid = arena_alloc(tmp, n);
        char *data = arena_alloc(tmp, n * size);
        if (!valid || !data) return ST_ERROR;
        bool nulls;
        if (v) {
            nulls = v->valid != NULL;
            for (int64_t i = 0; i < n; i++) {
                int64_t k = v->is_const ? 0 : idx[i];
                memcpy(data + i * size, (const char *)v->data + k * size, (size_t)size);
                valid[i] = !v->valid || v->valid[k];
            }
        } else {
            tablet_decode(t, tab, c, 0, pos, n, phys, data, valid, &nulls);
            codes[c] = t->cols[c].dict != NULL;
        }
        cols[c] =
            (Vec){.data = data, .valid = nulls ? valid : NULL, .phys = v ? v->phys : phys, .type = t->cols[c].type};
    }
    TRY(append_rows(t, n, cols, codes, undo, new_ids, e));
    int64_t done;
    return delete_rows(t, n, old, undo, &done, e);
}

static bool index_is_set(const Table *t, int k, int n_set, const int *set_cols) {
    for (int s = 0; s < n_set; s++)
        if (table_index_reads(t, k, set_cols[s])) return true;
    return false;
}
static bool any_key_is_set(const Table *t, int n_set, const int *set_cols) {
    for (int k = 0; k < t->n_keys; k++)
        if (index_is_set(t, k, n_set, set_cols)) return true;
    return false;
}
/* Rows of the tablet stay where they are. Keys of main tablets are not changed there: an index may be their order. */
static bool changes_in_place(const Table *t, const Tablet *tab, int n_set, const int *set_cols) {
    if (tab->block->heap.total >= TABLET_STR_BYTES) return false;
    return tab->is_delta || !any_key_is_set(t, n_set, set_cols);
}
/* Sorts positions of rows that are there into those that change in place and those that move. */
static void choose_places(const Table *t, int64_t n, const int64_t *rowids, int n_set, const int *set_cols,
                          int64_t *placed, int64_t *n_placed, int64_t *moved, int64_t *n_moved) {
    int64_t last = -1;
    bool stay = false;
    *n_placed = *n_moved = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!row_exists(t, rowids[i])) continue;
        int64_t tablet = rowids[i] >> 32;
        if (tablet != last) stay = changes_in_place(t, t->tablets[tablet], n_set, set_cols);
        last = tablet;
        if (stay) placed[(*n_placed)++] = i;
        else moved[(*n_moved)++] = i;
    }
}

/* The moved rows, in runs of one tablet with ascending rowids (a row named twice moves once). Returns how many moved in
 * *n_moved. */
static Status move_rows(Table *t, int64_t n, int64_t *moved, const int64_t *rowids, int n_set, const int *set_cols,
                        const Vec *vals, UndoLog *undo, int64_t *new_ids, int64_t *n_moved, Err *e) {
    Arena *run = arena_new(&t->account, e);
    Status st = run ? ST_OK : ST_ERROR;
    int64_t done = 0;
    for (int64_t i = 0; i < n && st == ST_OK;) {
        int64_t k = 1;
        if (!row_exists(t, rowids[moved[i]])) {
            i++;
            continue;
        }
        while (i + k < n && k < 4096 && rowids[moved[i + k]] >> 32 == rowids[moved[i]] >> 32 &&
               rowids[moved[i + k]] > rowids[moved[i + k - 1]] && row_exists(t, rowids[moved[i + k]]))
            k++;
        arena_reset(run);
        st = update_by_moving(t, k, moved + i, rowids, n_set, set_cols, vals, undo, new_ids + done, run, e);
        done += k;
        i += k;
    }
    arena_free(run);
    *n_moved = done;
    return st;
}

static Status update_rows(Table *t, int64_t n, const int64_t *rowids, int n_set, const int *set_cols, const Vec *vals,
                          UndoLog *undo, Arena *tmp, int64_t *n_done, Err *e) {
    int64_t *moved = arena_alloc(tmp, n * 8), *placed = arena_alloc(tmp, n * 8), *ids = arena_alloc(tmp, n * 8);
    int64_t n_moved = 0, n_placed = 0;
    if (!moved || !placed || !ids) return ST_ERROR;
    choose_places(t, n, rowids, n_set, set_cols, placed, &n_placed, moved, &n_moved);
    TRY(update_in_place(t, n_placed, placed, rowids, n_set, set_cols, vals, undo, e));
    TRY(move_rows(t, n_moved, moved, rowids, n_set, set_cols, vals, undo, ids, &n_moved, e));
    int64_t *stayed = ids + n_moved;
    for (int64_t i = 0; i < n_placed; i++) stayed[i] = rowids[placed[i]];
    for (int k = 0; k < table_indexes(t); k++) {
        TRY(keyindex_add_rows(t, k, n_moved, ids, e));
        if (index_is_set(t, k, n_set, set_cols)) TRY(keyindex_add_rows(t, k, n_placed, stayed, e));
    }
    *n_done = n_moved; /* a merge has nothing to gain from rows that stay */
    return ST_OK;
}

Status table_update(Table *t, int64_t n, const int64_t *rowids, int n_set, const int *set_cols, const Vec *vals,
                    UndoLog *undo, Err *e) {
    if (n <= 0 || n_set <= 0) return ST_OK;
    dbg_assert(table_vecs_agree(t, n_set, set_cols, n, vals));
    Arena *tmp = arena_new(&t->account, e);
    if (!tmp) return ST_ERROR;
    Change ch;
    int64_t done = 0;
    Status st = change_begin(&ch, t, undo, e);
    if (st != ST_OK) {
        arena_free(tmp);
        return st;
    }
    /* NOT NULL: the message shows the whole new row, so it is put together only when one fails. */
    for (int s = 0; s < n_set && st == ST_OK; s++) {
        if (!t->cols[set_cols[s]].not_null || !vals[s].valid) continue;
        for (int64_t i = 0; i < n && st == ST_OK; i++) {
            if (vals[s].valid[vals[s].is_const ? 0 : i] || !row_exists(t, rowids[i])) continue;
            const void *const *row = row_cells_updated(tmp, t, rowids[i], n_set, set_cols, vals, i, e);
            st = row ? row_null_error(t, set_cols[s], row, e) : ST_ERROR;
        }
    }
    if (st == ST_OK) st = update_rows(t, n, rowids, n_set, set_cols, vals, ch.log, tmp, &done, e);
    st = change_end(&ch, st, done);
    arena_free(tmp);
    return st;
}

Status table_truncate(Table *t, UndoLog *undo, Err *e) {
    TableState *s;
    TRY(table_state_take(t, &s, e));
    if (!undo) {
        table_state_free(t, s);
    } else if (undo_add_state(undo, t, s, e) != ST_OK) {
        table_state_put(t, s);
        return ST_ERROR;
    }
    return ST_OK;
}

int64_t table_delta_rows(const Table *t) { return t->impl->changed_rows; }
/* What the tablet has for a deleted row, but for cells of a home. */
static int64_t deleted_bytes(const Tablet *tab) {
    const struct TabletBlock *b = tab->block;
    int64_t bytes = b->size + b->heap.total;
    for (int c = 0; b->delta && c < b->n_cols; c++)
        if (b->delta[c].cells && !b->delta[c].home) bytes += tab->rows * b->delta[c].cell_size;
    return tab->n_deleted > 0 ? (int64_t)((double)bytes * (double)tab->n_deleted / (double)tab->rows) : 0;
}
int64_t table_garbage(const Table *t) {
    int64_t bytes = t->impl->dead_text;
    for (int64_t i = 0; i < t->n_tablets; i++) bytes += deleted_bytes(t->tablets[i]);
    for (int c = 0; c < t->n_cols; c++) {
        const Dict *d = t->cols[c].dict;
        int64_t keeps = dict_keeps(t->live_rows);
        if (d && d->n > keeps) bytes += (int64_t)((double)d->impl->heap.total * (double)(d->n - keeps) / (double)d->n);
    }
    return bytes;
}
bool table_is_wasteful(Table *t) {
    enum { ROW_BYTES = 32, LEAST = 1 << 20, PART = 8, LOOKS = 4 };
    struct TableImpl *x = t->impl;
    const int64_t changed = x->dead_text + x->changed_rows * ROW_BYTES,
                  much = MAX_OF((int64_t)LEAST, atomic_load(&t->account.used) / PART);
    if (changed < x->looked) x->looked = 0; /* it was merged */
    if (changed - x->looked < much / LOOKS) return false;
    x->looked = changed;
    return table_garbage(t) >= much;
}
int64_t table_lookup(const Table *t, int key, const Value *vals) { return keyindex_lookup(t, key, vals); }

Status table_merge(Table *t, Pool *pool, Err *e) {
    if (t->impl->undo_open)
        return err_set(e, ERR_NOT_IN_STATE, "cannot merge table \"%s\" while a transaction has changed it", t->name);
    return table_rebuild(t, pool, NULL, e);
}
Status table_analyze(Table *t, Pool *pool, Err *e) {
    TRY(stats_compute(t, pool, t->impl->undo_open > 0, e));
    t->version++;
    return ST_OK;
}

/* ---- verification ---- */
static Status verify_column(const Table *t, int64_t tn, int col, Err *e) {
    const Tablet *tab = t->tablets[tn];
    const TabletColumn *c = &tab->cols[col];
    const Column *tc = &t->cols[col];
    const DeltaCol *d = tab->block->delta ? &tab->block->delta[col] : NULL;
    int64_t nulls = 0;
    if (c->patches && (c->stride || !patches_verify(c->patches, tab->rows)))
        return err_internal(e, "tablet %lld column %d: patches", (long long)tn, col);
    if (c->phys != column_phys(tc))
        return err_internal(e, "tablet %lld column %d has phys %d", (long long)tn, col, c->phys);
    if ((c->encoding == ENC_STR) != (c->phys == PH_STR))
        return err_internal(e, "tablet %lld column %d: encoding", (long long)tn, col);
    for (int64_t r = 0; r < tab->rows; r++) {
        bool live = !tablet_row_deleted(tab, r);
        if (live && d && d->home && d->valid_bytes && d->valid_bytes[r * d->stride] != column_row_valid(c, r))
            return err_internal(e, "tablet %lld column %d row %lld is NULL on one side", (long long)tn, col,
                                (long long)r);
        if (!column_row_valid(c, r)) {
            nulls++;
            continue;
        }
        if (!phys_is_int(c->phys)) continue;
        bool wide = c->encoding == ENC_PLAIN && c->phys == PH_I128 && column_i128(c, r) != column_i64(c, r);
        int64_t v = column_i64(c, r);
        if (c->has_minmax && (wide || v < c->min || v > c->max))
            return err_internal(e, "tablet %lld column %d row %lld is outside min and max", (long long)tn, col,
                                (long long)r);
        if (!tablet_row_deleted(tab, r) && tc->stats.has_range && (wide || v < tc->stats.min || v > tc->stats.max))
            return err_internal(e, "tablet %lld column %d row %lld is outside the table's range", (long long)tn, col,
                                (long long)r);
        if (tc->dict && (v < 0 || v >= tc->dict->n))
            return err_internal(e, "tablet %lld column %d row %lld: code", (long long)tn, col, (long long)r);
    }
    if (nulls != c->null_count)
        return err_internal(e, "tablet %lld column %d has %lld NULLs, not %lld", (long long)tn, col, (long long)nulls,
                            (long long)c->null_count);
    return ST_OK;
}
static Status verify_dict(const Table *t, int col, Err *e) {
    const Dict *d = t->cols[col].dict;
    if (d->n_sorted > d->n) return err_internal(e, "dictionary of column %d", col);
    for (int32_t i = 0; i < d->n; i++) {
        if (i && i < d->n_sorted && str_cmp(d->entries[i - 1], d->entries[i]) >= 0)
            return err_internal(e, "dictionary of column %d is not sorted at %d", col, i);
        if (dict_find(d, d->entries[i]) != i)
            return err_internal(e, "dictionary of column %d does not find entry %d", col, i);
    }
    return ST_OK;
}

Status table_verify(const Table *t, Err *e) {
    int64_t live = 0;
    for (int64_t n = 0; n < t->n_tablets; n++) {
        const Tablet *tab = t->tablets[n];
        int64_t deleted = 0;
        if (tab->rows < 0 || tab->rows > TABLET_ROWS)
            return err_internal(e, "tablet %lld has %lld rows", (long long)n, (long long)tab->rows);
        for (int64_t r = 0; r < tab->rows; r++) deleted += tablet_row_deleted(tab, r);
        if (deleted != tab->n_deleted)
            return err_internal(e, "tablet %lld counts %lld deleted rows, not %lld", (long long)n, (long long)deleted,
                                (long long)tab->n_deleted);
        live += tab->rows - deleted;
        for (int c = 0; c < t->n_cols; c++) TRY(verify_column(t, n, c, e));
    }
    if (live != t->live_rows)
        return err_internal(e, "table counts %lld rows, not %lld", (long long)live, (long long)t->live_rows);
    for (int c = 0; c < t->n_cols; c++)
        if (t->cols[c].dict) TRY(verify_dict(t, c, e));
    for (int k = 0; k < table_indexes(t); k++) TRY(keyindex_verify(t, k, e));
    return ST_OK;
}
