/* table.c - tables: creation, states, what a merge would give back, verification. Their rows: row_change.c. */
#include "storage/exprindex.h"
#include "storage/merge.h"
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
        c->kind = cols[i].kind;
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
        k->deferrable = keys[i].deferrable;
        k->deferred = keys[i].deferred;
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
    if (atomic_fetch_sub(&t->impl->held, 1) > 0) return;
    MemAccount *parent = t->impl->parent;
    for (int i = 0; i < t->n_exprs; i++)
        if (t->exprs[i].program) t->exprs[i].program->free(t->exprs[i].program);
    arena_free(t->impl->names);
    table_file_set(&t->impl->files.last, (TableFile){0});
    table_file_set(&t->impl->files.next, (TableFile){0});
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

int64_t table_generation(const Table *t) { return t->impl->generation; }

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

Status table_merge(Table *t, Pool *pool, Err *e) { return table_merge_with(t, &(MergeOptions){.pool = pool}, e); }
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
