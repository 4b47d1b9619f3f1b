/* row_home.c - see row_home.h. */
#include "storage/row_home.h"

#include "storage/storage_int.h"

void row_home_drop(RowHome *h) {
    if (h && atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1) h->gone(h);
}
void home_texts_drop(HomeTexts *x) {
    if (x && atomic_fetch_sub_explicit(&x->refs, 1, memory_order_acq_rel) == 1) x->gone(x);
}

MemAccount *table_home_account(const Table *t) { return t->impl->homes ? t->impl->homes : t->impl->parent; }
void table_set_home_account(Table *t, MemAccount *a) { t->impl->homes = a; }

int64_t table_dead_texts(const Table *t) { return t->impl->dead_text; }
int64_t table_packed_texts(const Table *t) {
    double bytes = 0;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const Tablet *tab = t->tablets[k];
        for (int c = 0; tab->block->bytes && c < t->n_cols; c++) {
            if (!tablet_home(tab, c) || tab->cols[c].phys != PH_STR) continue;
            const double live = (double)(tab->rows - tab->n_deleted) / (double)MAX_OF(tab->rows, 1);
            bytes += live * (double)tablet_packed_column(tab, c).var_bytes;
        }
    }
    return MAX_OF((int64_t)bytes - t->impl->dead_text, 0);
}

/* ---- cells that come to a home, move with it, and leave it ---- */
/* Memory of cells that are not wanted any more. */
static void drop_cells(struct TabletBlock *b, DeltaCol *d) {
    if (d->home) row_home_drop(d->home);
    else if (d->share) shared_drop(d->share);
    else if (d->cells) mem_free(b->open, d->cells, b->cap * d->cell_size);
    if (d->spare) mem_free(b->open, d->spare, b->cap * d->cell_size);
    if (d->changed) mem_free(b->versions, d->changed, (int64_t)sizeof(RowBits));
    d->cells = d->spare = NULL;
    d->share = NULL;
    d->home = NULL;
    d->changed = NULL;
}
static void place_cells(Tablet *tab, int col, const HomeCells *at) {
    DeltaCol *d = &tab->block->delta[col];
    d->cells = at->cells;
    d->stride = at->stride;
    d->valid_bytes = at->valid;
    tab->cols[col].data = at->cells;
    tab->cols[col].stride = (int32_t)at->stride;
}
void tablet_home_moved(Tablet *tab, int col, const HomeCells *at) { place_cells(tab, col, at); }

/* Cells may refer to these strings from here on, also when they have left the home. */
static Status hold_texts(struct TabletBlock *b, HomeTexts *x, Err *e) {
    if (b->texts == x) return ST_OK;
    if (b->texts) return err_internal(e, "a tablet has strings in two homes");
    atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
    b->texts = x;
    return ST_OK;
}
Status tablet_settle(Tablet *tab, int col, RowHome *h, const HomeCells *at, Err *e) {
    struct TabletBlock *b = tab->block;
    TabletColumn *c = &tab->cols[col];
    TRY(tablet_ensure_open_columns(tab, e));
    if (c->phys == PH_STR) TRY(hold_texts(b, h->texts, e));
    DeltaCol *d = &b->delta[col];
    d->cell_size = phys_size((Phys)c->phys);
    if (!c->is_delta) {
        if (c->validity) TRY(tablet_ensure_validity(tab, col, e));
        tablet_mark_open(tab, col);
    }
    patches_drop(d->patches);
    d->patches = c->patches = NULL;
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    drop_cells(b, d);
    d->home = h;
    b->has_home = true;
    place_cells(tab, col, at);
    return ST_OK;
}
Status tablet_leave_home(Tablet *tab, int col, Err *e) {
    struct TabletBlock *b = tab->block;
    DeltaCol *d = &b->delta[col];
    int64_t size = d->cell_size;
    if (!d->home) return ST_OK;
    char *cells = mem_alloc_raw(b->open, b->cap * size, e);
    if (!cells) return ST_ERROR;
    column_copy_cells(&tab->cols[col], 0, tab->rows, cells, NULL);
    memset(cells + tab->rows * size, 0, (size_t)((b->cap - tab->rows) * size));
    drop_cells(b, d);
    place_cells(tab, col, &(HomeCells){.cells = cells, .stride = size});
    tab->cols[col].stride = 0;
    b->has_home = false;
    for (int c = 0; c < b->n_cols; c++) b->has_home |= b->delta[c].home != NULL;
    return ST_OK;
}

/* ---- copies for versions ---- */
enum { PATCHED_SHARE = 32 }; /* of the rows: more patches would cost scans more than a copy now and then */

/* The patches of `before`, and those of the rows; none of these: the same. */
static Status patch_more(const Tablet *tab, int col, Patches *before, int64_t n, const PatchRows *r, Patches **out,
                         Err *e) {
    const TabletColumn *c = &tab->cols[col];
    Patches *none = NULL;
    *out = before;
    if (n == 0) {
        if (before) atomic_fetch_add_explicit(&before->refs, 1, memory_order_relaxed);
        return ST_OK;
    }
    if (!before) {
        if (!(none = patches_new(tab->block->versions, tab->block->delta[col].cell_size, e))) return ST_ERROR;
        none->has_minmax = c->has_minmax; /* they take in all cells that there were */
        none->min = c->min;
        none->max = c->max;
    }
    Status st = patches_with_rows(before ? before : none, r, out, e);
    patches_drop(none);
    return st;
}
/* The cells that `before` has are good for patches of n rows, and have room for the rows behind them. */
static Status copy_more(const Tablet *tab, int col, const HomeCopy *before, int64_t n, const PatchRows *changed,
                        HomeCopy *out, int64_t *bytes, Err *e) {
    const int64_t more = tab->rows - before->rows, size = tab->block->delta[col].cell_size;
    HomeCopy x = {.cells = before->cells};
    TRY(patch_more(tab, col, before->patches, n, changed, &x.patches, e));
    char *behind = (char *)x.cells->bytes + before->rows * size;
    if (more > 0) column_copy_cells(&tab->cols[col], before->rows, more, behind, NULL);
    atomic_fetch_add_explicit(&x.cells->refs, 1, memory_order_relaxed);
    *bytes += (more + n) * size;
    *out = x;
    return ST_OK;
}
static Status copy_all(const Tablet *tab, int col, HomeCopy *out, int64_t *bytes, Err *e) {
    const struct TabletBlock *b = tab->block;
    const int64_t size = b->delta[col].cell_size, room = MAX_OF(MAX_OF(b->cap, tab->rows), 1) * size;
    char *cells = mem_alloc_raw(b->versions, room, e);
    SharedBytes *share = cells ? shared_new(b->versions, cells, room, e) : NULL;
    if (!share) {
        mem_free(b->versions, cells, room);
        return ST_ERROR;
    }
    column_copy_cells(&tab->cols[col], 0, tab->rows, cells, NULL);
    *bytes += tab->rows * size;
    *out = (HomeCopy){.cells = share};
    return ST_OK;
}
Status home_copy_make(Tablet *tab, int col, const HomeCopy *before, HomeCopy *out, int64_t *bytes, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    PatchRows changed = {.set = d->changed, .cells = d->cells, .stride = d->stride};
    int64_t n = 0, fresh = 0;
    bool shares = before && d->changed && tab->rows * d->cell_size <= before->cells->size;
    if (shares) {
        changed.rows = before->rows;
        n = patches_count_rows(before->patches, &changed, &fresh);
        shares = (fresh + (before->patches ? before->patches->n : 0)) * PATCHED_SHARE <= tab->rows;
    }
    if (!d->changed && !(d->changed = mem_calloc(tab->block->versions, (int64_t)sizeof(RowBits), e))) return ST_ERROR;
    TRY(shares ? copy_more(tab, col, before, n, &changed, out, bytes, e) : copy_all(tab, col, out, bytes, e));
    row_bits_clear(d->changed);
    return ST_OK;
}

/* ---- what changes in homes ---- */
/* Bounds of cells of a home: of all, and of rows that are there. */
typedef struct HomeSums {
    CellSummary all, live;
} HomeSums;
/* Rows of a tablet: rows[0..n), or `first` and those after it. */
typedef struct HomeRange {
    int64_t first, n;
    const int32_t *rows;
    const uint8_t *dead; /* by row; NULL: none is */
} HomeRange;
static void widen(CellSummary *s, int64_t min, int64_t max) {
    if (min > max) return;
    s->min = s->has_range ? MIN_OF(s->min, min) : min;
    s->max = s->has_range ? MAX_OF(s->max, max) : max;
    s->has_range = true;
}
static void merge(CellSummary *s, const CellSummary *more) {
    s->n += more->n;
    s->nulls += more->nulls;
    s->bytes += more->bytes;
    s->wide |= more->wide;
    if (more->has_range) widen(s, more->min, more->max);
}

ALWAYS_INLINE int128_t int_at(uint8_t phys, const char *cell) {
    int16_t i16;
    int32_t i32;
    int64_t i64;
    int128_t i128;
    switch (phys) {
    case PH_BOOL: return *(const uint8_t *)cell;
    case PH_I16: return memcpy(&i16, cell, sizeof i16), i16;
    case PH_I32: return memcpy(&i32, cell, sizeof i32), i32;
    case PH_I64: return memcpy(&i64, cell, sizeof i64), i64;
    default: return memcpy(&i128, cell, sizeof i128), i128;
    }
}
/* What is a constant where this is called gives a loop of its own. A row that is not there counts as not NULL. */
ALWAYS_INLINE void sum_loop(uint8_t phys, const DeltaCol *d, const HomeRange *r, const uint8_t *valid,
                            const uint8_t *dead, HomeSums *s) {
    int64_t min = INT64_MAX, max = INT64_MIN, live_min = min, live_max = max, nulls = 0, gone = 0;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t at = (r->rows ? r->rows[i] : r->first + i) * d->stride;
        bool is_dead = dead && dead[i];
        gone += is_dead;
        if (valid && !valid[at] && !is_dead) {
            nulls++;
            continue;
        }
        if (!phys_is_int(phys)) continue;
        int128_t wide = int_at(phys, (const char *)d->cells + at);
        int64_t v = (int64_t)wide;
        if (phys == PH_I128 && v != wide) {
            s->all.wide = true;
            s->live.wide |= !is_dead;
            continue;
        }
        min = MIN_OF(min, v);
        max = MAX_OF(max, v);
        if (is_dead) continue;
        live_min = MIN_OF(live_min, v);
        live_max = MAX_OF(live_max, v);
    }
    s->live.n += r->n - gone;
    s->live.nulls += nulls;
    widen(&s->all, min, max);
    widen(&s->live, live_min, live_max);
}
ALWAYS_INLINE void sum_cells_of(uint8_t phys, const DeltaCol *d, const HomeRange *r, HomeSums *s) {
    if (r->dead) sum_loop(phys, d, r, d->valid_bytes, r->dead, s);
    else if (d->valid_bytes) sum_loop(phys, d, r, d->valid_bytes, NULL, s);
    else sum_loop(phys, d, r, NULL, NULL, s);
}
/* Strings have no bounds. */
static void sum_texts(const DeltaCol *d, const HomeRange *r, HomeSums *s) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < r->n; i++) {
        const int64_t at = (r->rows ? r->rows[i] : r->first + i) * d->stride;
        if (r->dead && r->dead[i]) continue;
        s->live.n++;
        if (d->valid_bytes && !d->valid_bytes[at]) s->live.nulls++;
        else bytes += ((const Str *)(const void *)((const char *)d->cells + at))->len;
    }
    s->live.bytes += (double)bytes;
}
static void sum_cells(uint8_t phys, const DeltaCol *d, const HomeRange *r, HomeSums *s) {
    switch (phys) {
    case PH_BOOL: sum_cells_of(PH_BOOL, d, r, s); break;
    case PH_I16: sum_cells_of(PH_I16, d, r, s); break;
    case PH_I32: sum_cells_of(PH_I32, d, r, s); break;
    case PH_I64: sum_cells_of(PH_I64, d, r, s); break;
    case PH_I128: sum_cells_of(PH_I128, d, r, s); break;
    case PH_STR: sum_texts(d, r, s); break;
    default: sum_cells_of(PH_F64, d, r, s);
    }
}

/* ---- what has changed there ---- */
static void note_texts(Tablet *tab, const CellSummary *s) {
    if (s->bytes > 0) atomic_fetch_add_explicit(&tab->block->home_text, (int64_t)s->bytes, memory_order_relaxed);
}
Status tablet_home_changed(Tablet *tab, int col, int64_t n, const int32_t *rows, CellSummary *s, Err *e) {
    DeltaCol *d = &tab->block->delta[col];
    TabletColumn *c = &tab->cols[col];
    HomeSums sums = {0};
    dbg_assert(d->home);
    for (int64_t i = 0; d->valid_bytes && i < n; i++) {
        bool was = column_row_valid(c, rows[i]), is = d->valid_bytes[rows[i] * d->stride];
        if (was == is) continue;
        TRY(tablet_ensure_validity(tab, col, e));
        delta_set_valid(d, rows[i], is);
        c->null_count += is ? -1 : 1;
    }
    for (int64_t i = 0; d->changed && i < n; i++) delta_note_change(d, rows[i]);
    sum_cells(c->phys, d, &(HomeRange){.n = n, .rows = rows}, &sums);
    tablet_widen(tab, col, &sums.all);
    note_texts(tab, &sums.live);
    merge(s, &sums.live);
    tab->block->changes++;
    return ST_OK;
}
void tablet_count_texts(Tablet *tab) {
    HomeSums sums = {0};
    for (int c = 0; c < tab->block->n_cols; c++)
        if (tablet_home(tab, c) && tab->cols[c].phys == PH_STR)
            sum_texts(&tab->block->delta[c], &(HomeRange){.n = tab->rows}, &sums);
    atomic_store_explicit(&tab->block->home_text, (int64_t)sums.live.bytes, memory_order_relaxed);
}
void table_home_changed(Table *t, int n_cols, const int *cols, const CellSummary *sums) {
    bool some = false;
    for (int i = 0; i < n_cols; i++) {
        stats_widen(t, cols[i], &sums[i], t->live_rows + 1);
        some |= sums[i].n > 0;
    }
    if (some) table_changed(t);
}

/* ---- rows that have come ---- */
static bool has_home(const Table *t, int col) { return !t->cols[col].dict; }
static Status home_tablet(Table *t, const HomeRows *r, Tablet **out, Err *e) {
    Tablet *tab = t->n_tablets ? t->tablets[t->n_tablets - 1] : NULL;
    *out = tab;
    if (r->continues && tab && tab->is_delta && tab->rows + r->n <= TABLET_ROWS &&
        tablet_text_bytes(tab) < TABLET_TEXT_BYTES)
        return ST_OK;
    TRY(tablet_new_delta(t, &tab, e));
    Status st = ST_OK;
    for (int c = 0; st == ST_OK && c < t->n_cols; c++)
        if (has_home(t, c)) st = tablet_settle(tab, c, r->home, &r->cells[c], e);
    if (st == ST_OK) st = table_add_tablet(t, tab, e);
    if (st != ST_OK) tablet_free(tab);
    else *out = tab;
    return st;
}
/* Bits of rows [at, at + n), of which some may be NULL. */
static Status set_validity(Tablet *tab, int col, int64_t at, const HomeRows *r, Err *e) {
    TRY(tablet_ensure_validity(tab, col, e));
    const HomeCells *h = &r->cells[col];
    uint64_t *bits = tab->block->delta[col].validity;
    for (int64_t i = 0; i < r->n; i++) {
        bool valid = !h->valid || h->valid[i * h->stride] || (r->dead && r->dead[i]);
        uint64_t bit = UINT64_C(1) << ((at + i) & 63), *word = &bits[(at + i) >> 6];
        *word = valid ? *word | bit : *word & ~bit;
    }
    return ST_OK;
}
/* Codes of the strings of rows [at, at + n), in a column with a dictionary. Of a row that is not there it is any. */
static Status write_codes(Table *t, Tablet *tab, int col, int64_t at, const HomeRows *r, CellSummary *s, Err *e) {
    const DeltaCol *d = &tab->block->delta[col];
    const HomeCells *h = &r->cells[col];
    Dict *dict = t->cols[col].dict;
    memset(delta_cell(d, at), 0, (size_t)(r->n * d->cell_size));
    for (int64_t i = 0; i < r->n; i++) {
        if (r->dead && r->dead[i]) {
            if (dict->n == 0 && dict_add(dict, (Str){"", 0, 0}, e) < 0) return ST_ERROR;
            cell_summary_add(s, 0);
            continue;
        }
        s->n++;
        if (h->valid && !h->valid[i * h->stride]) {
            s->nulls++;
            continue;
        }
        Str text;
        memcpy(&text, h->cells + i * h->stride, sizeof text);
        TRY(tablet_write_string(t, tab, col, delta_cell(d, at + i), text, s, e));
    }
    return ST_OK;
}
typedef struct AppendJob {
    Table *t;
    Tablet *tab;
    const HomeRows *r;
    int64_t at, before; /* rows of the tablet; of the table, 0 only when nothing is stored */
    _Atomic int next;   /* task */
    _Atomic bool failed;
    Err *e;
} AppendJob;
/* A column of rows [at, at + n) of the tablet. Rows that are not there count as not NULL, so that only NULLs of others
 * give the tablet bits; they count for the tablet's bounds, but not for the table's. */
static Status append_column(const AppendJob *j, int col, Err *e) {
    const DeltaCol *d = &j->tab->block->delta[col];
    HomeSums s = {0};
    if (has_home(j->t, col)) {
        sum_cells(j->tab->cols[col].phys, d, &(HomeRange){.first = j->at, .n = j->r->n, .dead = j->r->dead}, &s);
        note_texts(j->tab, &s.live);
    } else {
        TRY(write_codes(j->t, j->tab, col, j->at, j->r, &s.live, e));
        s.all = s.live;
    }
    if (s.live.nulls > 0 || d->validity) TRY(set_validity(j->tab, col, j->at, j->r, e));
    tablet_widen(j->tab, col, &s.all);
    stats_widen(j->t, col, &s.live, j->before);
    return ST_OK;
}
/* Tasks are columns. */
static void append_tasks(void *ctx, int worker) {
    AppendJob *j = ctx;
    Err e = {0};
    (void)worker;
    for (int c; !atomic_load(&j->failed) && (c = atomic_fetch_add(&j->next, 1)) < j->t->n_cols;)
        if (append_column(j, c, &e) != ST_OK && !atomic_exchange(&j->failed, true))
            err_copy(j->e, &e); /* read when all are done */
}
static Status append_rows(Table *t, const HomeRows *r, Pool *pool, UndoLog *undo, int64_t *first, Err *e) {
    enum { PARALLEL_ROWS = 8192 }; /* waking threads costs some microseconds */
    AppendJob j = {.t = t, .r = r, .e = e};
    TRY(home_tablet(t, r, &j.tab, e));
    Tablet *tab = j.tab;
    j.at = tab->rows;
    j.before = MAX_OF(t->live_rows, j.at) + (t->n_tablets > 1);
    TRY(delta_reserve(tab, j.at + r->n, e));
    UndoRecord *u = undo_push(undo, UNDO_APPEND, t, e);
    if (!u) return ST_ERROR;
    u->tablet = t->n_tablets - 1;
    u->rows = j.at;
    u->n = 0;
    int workers = pool && r->n >= PARALLEL_ROWS ? MIN_OF(pool_threads(pool), t->n_cols) : 1;
    pool_run_or_here(pool, workers, append_tasks, &j);
    if (atomic_load(&j.failed)) return ST_ERROR;
    for (int c = 0; c < t->n_cols; c++)
        for (int64_t i = 0; tab->cols[c].validity && i < r->n; i++)
            tab->cols[c].null_count += !column_row_valid(&tab->cols[c], j.at + i);
    tab->rows += r->n;
    tab->block->changes++;
    t->live_rows += r->n;
    undo->recs.items[undo->recs.len - 1].n = r->n;
    *first = rowid_make(t->n_tablets - 1, j.at);
    return ST_OK;
}
/* Keys of rows that are there; the others are deleted. */
static Status settle_rows(Table *t, const HomeRows *r, int64_t first, UndoLog *undo, Err *e) {
    if (!r->dead && table_indexes(t) == 0) return ST_OK;
    int64_t *ids = undo_alloc(undo, r->n * 8, e), n = 0, done;
    if (!ids) return ST_ERROR;
    for (int64_t i = 0; r->dead && i < r->n; i++)
        if (r->dead[i]) ids[n++] = first + i;
    if (n > 0) TRY(table_delete(t, n, ids, undo, &done, e));
    n = 0;
    for (int64_t i = 0; i < r->n; i++)
        if (!r->dead || !r->dead[i]) ids[n++] = first + i;
    for (int k = 0; k < table_indexes(t); k++) TRY(keyindex_add_rows(t, k, n, ids, e));
    return ST_OK;
}
Status table_append_home(Table *t, const HomeRows *r, Pool *pool, UndoLog *undo, int64_t *first, Err *e) {
    if (r->n <= 0) return ST_OK;
    UndoLog *log = undo ? undo : undo_new(&t->account, e);
    if (!log) return ST_ERROR;
    int64_t mark = undo_mark(log);
    Status st = append_rows(t, r, pool, log, first, e);
    if (st == ST_OK) st = settle_rows(t, r, *first, log, e);
    if (st != ST_OK) undo_rollback(log, mark);
    else t->impl->changed_rows += r->n;
    if (!undo) undo_free(log);
    if (st == ST_OK) table_changed(t);
    else t->version++;
    return st;
}
