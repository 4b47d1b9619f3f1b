/* undo.c - undo logs: what was changed, in order, with what was there before.
 *
 * A log can be rolled back, forgotten (committed), or taken out of the tables and put back any number of times (hide,
 * show): then the table is as it was before the log's changes, but for what cannot be seen. Appended rows stay where
 * they are with their delete bits set, deleted rows lose theirs, cells of updated rows change places with the log's,
 * whole states (truncated, rebuilt) likewise. So rowids stay what they are, and hiding and showing cost what was
 * changed and cannot fail.
 *
 * Logs nest: what was changed on top of a log's changes is hidden before it and shown after it. Logs of which neither
 * names a row of the other (transactions side by side) may be shown and hidden in any order. What has appended behind a
 * log's rows meanwhile keeps them where they are: when that log is rolled back they stay as deleted rows, until the
 * next merge.
 */
#include "storage/pieces_int.h"
#include "storage/undo_rows.h"

UndoLog *undo_new(MemAccount *acct, Err *e) {
    UndoLog *u = mem_calloc(acct, (int64_t)sizeof *u, e);
    if (!u) return NULL;
    u->acct = acct;
    u->arena = arena_new(acct, e);
    if (!u->arena) {
        mem_free(acct, u, (int64_t)sizeof *u);
        return NULL;
    }
    arena_set_err(u->arena, NULL);
    return u;
}
static void undo_clear(UndoLog *u) {
    if (u->seen) mem_free(u->acct, u->seen, INT64_C(8) << u->seen_bits);
    u->seen = NULL;
    u->n_seen = u->seen_to = 0;
    u->hidden = u->committed = u->overflowed = u->has_unread = false;
    memset(&u->recs, 0, sizeof u->recs);
    arena_reset(u->arena);
}
void undo_free(UndoLog *u) {
    if (!u) return;
    undo_forget(u);
    arena_free(u->arena);
    mem_free(u->acct, u, (int64_t)sizeof *u);
}
int64_t undo_mark(const UndoLog *u) { return u->recs.len; }

/* The log makes its tables differ from what is committed. */
static bool is_pending(const UndoLog *u) { return u->hidden == u->committed; }
static void set_state(UndoLog *u, bool hidden, bool committed) {
    bool was = is_pending(u);
    u->hidden = hidden;
    u->committed = committed;
    for (int64_t i = 0; is_pending(u) != was && i < u->recs.len; i++)
        if (u->recs.items[i].t) u->recs.items[i].t->impl->undo_pending += was ? -1 : 1;
}
bool undo_is_hidden(const UndoLog *u) { return u->hidden; }
void undo_set_committed(UndoLog *u, bool committed) { set_state(u, u->hidden, committed); }
bool table_is_committed(const Table *t) { return t->impl->undo_pending == 0; }
/* The table has one record of the log less. */
static void count_gone(const UndoLog *u, Table *t) {
    t->impl->undo_open--;
    t->impl->undo_pending -= is_pending(u);
}

UndoRecord *undo_push(UndoLog *u, UndoKind kind, Table *t, Err *e) {
    arena_set_err(u->arena, e);
    bool ok = vec_push(u->arena, &u->recs,
                       ((UndoRecord){.kind = kind, .t = t, .content = t->content, .generation = t->impl->generation}));
    arena_set_err(u->arena, NULL);
    if (!ok) return NULL;
    t->impl->undo_open++;
    t->impl->undo_pending += is_pending(u);
    return &u->recs.items[u->recs.len - 1];
}
void *undo_alloc(UndoLog *u, int64_t bytes, Err *e) {
    arena_set_err(u->arena, e);
    void *p = arena_alloc(u->arena, bytes);
    arena_set_err(u->arena, NULL);
    return p;
}
Status undo_add_state(UndoLog *u, Table *t, TableState *s, Err *e) {
    UndoRecord *r = undo_push(u, UNDO_STATE, t, e);
    if (!r) return ST_ERROR;
    r->state = s;
    return ST_OK;
}
Status undo_add_tablets(UndoLog *u, Table *t, int64_t old_n, int64_t new_n, int64_t rows, Err *e) {
    UndoRecord *r = undo_push(u, UNDO_TABLETS, t, e);
    if (!r) return ST_ERROR;
    r->rows = old_n;
    r->tablet = new_n;
    r->n = rows;
    return ST_OK;
}
bool table_has_undo(const Table *t) { return t->impl->undo_open > 0 || atomic_load(&t->impl->forks) > 0; }

/* ---- rolling back ---- */
static void drop_tablets(Table *t, int64_t keep) {
    for (int64_t i = keep; i < t->n_tablets; i++) tablet_free(t->tablets[i]);
    if (keep < t->n_tablets) t->n_tablets = keep;
    for (int k = 0; k < t->n_keys; k++)
        if (t->keys[k].index->sorted_tablets > keep) t->keys[k].index->sorted_tablets = keep;
}
static void set_valid_bit(DeltaCol *d, TabletColumn *c, int64_t row, bool valid) {
    if (column_row_valid(c, row) == valid) return;
    delta_set_valid(d, row, valid);
    c->null_count += valid ? -1 : 1;
}

/* Rows [first, first + n) of a tablet, all of them there or all of them deleted, change sides. */
static void flip_rows(Table *t, Tablet *tab, int64_t first, int64_t n, bool deleted) {
    for (int64_t row = first; row < first + n; row++) tab->block->deleted[row >> 6] ^= UINT64_C(1) << (row & 63);
    tab->n_deleted += deleted ? n : -n;
    tab->block->changes++;
    t->live_rows += deleted ? -n : n;
}
static void flip_listed(UndoRecord *r, bool deleted) {
    for (int64_t i = 0; i < r->n; i++) {
        Tablet *tab = r->t->tablets[r->rowids[i] >> 32];
        int64_t row = r->rowids[i] & 0xffffffff;
        tab->block->deleted[row >> 6] ^= UINT64_C(1) << (row & 63);
        tab->n_deleted += deleted ? 1 : -1;
        tab->block->changes++;
    }
    r->t->live_rows += deleted ? -r->n : r->n;
}
static void flip_tablets(UndoRecord *r, bool deleted) {
    for (int64_t i = r->rows; i < r->tablet; i++) flip_rows(r->t, r->t->tablets[i], 0, r->t->tablets[i]->rows, deleted);
}

/* Appended rows go, as though they had never come when they are the last ones and no version has them. hidden: they are
 * deleted already. */
static void drop_rows(UndoRecord *r, bool hidden) {
    Table *t = r->t;
    Tablet *tab = t->tablets[r->tablet];
    if (tab->rows != r->rows + r->n || tab->block->published > r->rows) {
        if (!hidden) flip_rows(t, tab, r->rows, r->n, true);
        return;
    }
    if (hidden) flip_rows(t, tab, r->rows, r->n, false);
    for (int c = 0; c < t->n_cols; c++)
        for (int64_t row = r->rows; row < tab->rows; row++)
            tab->cols[c].null_count -= !column_row_valid(&tab->cols[c], row);
    tab->rows = r->rows;
    tab->block->changes++;
    t->live_rows -= r->n;
    if (r->rows == 0 && r->tablet == t->n_tablets - 1) drop_tablets(t, r->tablet);
}

/* A cell that is about to change: the row's patch, or where there is none the cell of an open column. It was made the
 * tablet's own when the log's change was made; for one of an open column that was published since, memory was reserved
 * then. */
static void *own_cell(Tablet *tab, int col, int64_t row) {
    DeltaCol *d = &tab->block->delta[col];
    tab->block->changes++;
    delta_note_change(d, row);
    if (column_patch(&tab->cols[col], row)) return patches_own_cell(d->patches, row);
    Status st = row < tab->block->published ? delta_unshare(tab, col, NULL) : ST_OK;
    dbg_assert(st == ST_OK);
    (void)st;
    return delta_cell(d, row);
}
/* ---- additions (undo_rows.h) ---- */
static int128_t load_int(const void *p, int32_t size) {
    int64_t x = 0;
    int128_t wide;
    if (size == 16) {
        memcpy(&wide, p, 16);
        return wide;
    }
    memcpy(&x, p, (size_t)size);
    const int unused = 64 - 8 * size;
    return (int64_t)((uint64_t)x << unused) >> unused;
}
static void store_int(void *p, int32_t size, int128_t x) { memcpy(p, &x, (size_t)size); }
/* Modulo 2^bits, so that subtracting gives back what was there. */
static int128_t sum_of(int128_t a, int128_t b, bool minus) {
    uint128_t x = (uint128_t)a, y = (uint128_t)b;
    return (int128_t)(minus ? x - y : x + y);
}
static bool fits_type(Type t, int32_t size, int128_t x) {
    const int unused = 64 - 8 * size;
    if (t.id != T_NUMERIC) return x == (int64_t)((uint64_t)x << unused) >> unused;
    return !numeric_exceeds(x, t.precision);
}
/* A sum of two numerics of 38 digits may be beyond 128 bits. It is then off by 2^128, and still has more than 38
 * digits: 2 * 10^38 < 2^128 - 10^38. */
static void add_cell(UndoLog *u, UndoRecord *r, int64_t i) {
    Tablet *tab = r->t->tablets[r->rowids[i] >> 32];
    int64_t row = r->rowids[i] & 0xffffffff;
    r->valid[i] = column_row_valid(&tab->cols[r->col], row);
    if (!r->valid[i]) return; /* NULL + n is NULL */
    void *cell = own_cell(tab, r->col, row);
    int128_t x =
        sum_of(load_int(cell, r->cell_size), load_int((char *)r->cells + i * r->cell_size, r->cell_size), false);
    if (!fits_type(r->t->cols[r->col].type, r->cell_size, x)) u->overflowed = true;
    store_int(cell, r->cell_size, x);
    CellSummary s = {.n = 1};
    cell_summary_add(&s, load_int(cell, r->cell_size));
    tablet_widen(tab, r->col, &s);
    stats_widen(r->t, r->col, &s, r->t->live_rows + 1);
}
static void subtract_cell(UndoRecord *r, int64_t i) {
    Tablet *tab = r->t->tablets[r->rowids[i] >> 32];
    if (!r->valid[i]) return;
    void *cell = own_cell(tab, r->col, r->rowids[i] & 0xffffffff);
    store_int(cell, r->cell_size,
              sum_of(load_int(cell, r->cell_size), load_int((char *)r->cells + i * r->cell_size, r->cell_size), true));
}
/* Subtracted, it is an update that is hidden. */
static void settle_cell(UndoRecord *r, int64_t i) {
    Tablet *tab = r->t->tablets[r->rowids[i] >> 32];
    char sum[16] = {0}, *added = (char *)r->cells + i * r->cell_size;
    if (r->valid[i]) memcpy(sum, own_cell(tab, r->col, r->rowids[i] & 0xffffffff), (size_t)r->cell_size);
    subtract_cell(r, i);
    memcpy(added, sum, (size_t)r->cell_size);
}
int128_t undo_added(const UndoRecord *r, int64_t i) {
    return load_int((const char *)r->cells + i * r->cell_size, r->cell_size);
}
bool undo_make_adds(UndoLog *u, int64_t mark) {
    for (int64_t k = mark; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (r->kind != UNDO_UPDATE) return false;
        for (int64_t i = 0; i < r->n; i++) {
            const Tablet *tab = r->t->tablets[r->rowids[i] >> 32];
            if (r->cell_size == 16 && !tab->cols[r->col].is_delta) return false;
            if (!r->valid[i] || !column_row_valid(&tab->cols[r->col], r->rowids[i] & 0xffffffff)) return false;
        }
    }
    for (int64_t k = mark; k < u->recs.len; k++) {
        UndoRecord *r = &u->recs.items[k];
        for (int64_t i = 0; i < r->n; i++) {
            char *old = (char *)r->cells + i * r->cell_size;
            const void *now = own_cell(r->t->tablets[r->rowids[i] >> 32], r->col, r->rowids[i] & 0xffffffff);
            store_int(old, r->cell_size, sum_of(load_int(now, r->cell_size), load_int(old, r->cell_size), true));
        }
        r->kind = UNDO_ADD;
        r->read = ADD_UNREAD;
        u->has_unread = true;
    }
    return true;
}
Status undo_reserve_adds(Table *t, int64_t rowid, int n, const int *cols, Err *e) {
    for (int i = 0; i < n; i++)
        if (column_phys(&t->cols[cols[i]]) == PH_I128) TRY(table_reserve_cell(t, rowid, cols[i], e));
    return ST_OK;
}
Status undo_defer_add(UndoLog *u, Table *t, int64_t rowid, int col, int128_t n, Err *e) {
    const int32_t size = (int32_t)phys_size((Phys)column_phys(&t->cols[col]));
    int64_t *ids = undo_alloc(u, (int64_t)sizeof *ids, e);
    char *cells = undo_alloc(u, size, e);
    uint8_t *valid = undo_alloc(u, 1, e);
    if (!ids || !cells || !valid) return ST_ERROR;
    if (u->recs.len == 0) u->hidden = true;
    UndoRecord *r = undo_push(u, UNDO_ADD, t, e);
    if (!r) return ST_ERROR;
    *ids = rowid;
    *valid = true;
    store_int(cells, size, n);
    r->rowids = ids;
    r->n = 1;
    r->col = col;
    r->cell_size = size;
    r->cells = cells;
    r->valid = valid;
    r->deferred = true;
    u->has_unread = true;
    return ST_OK;
}
int128_t undo_deferred_sum(const UndoLog *u, const Table *t, int64_t rowid, int col) {
    int128_t sum = 0;
    for (int64_t k = 0; k < u->recs.len; k++) {
        const UndoRecord *r = &u->recs.items[k];
        if (r->t == t && r->generation == t->impl->generation && r->kind == UNDO_ADD && r->col == col &&
            r->rowids[0] == rowid)
            sum += load_int(r->cells, r->cell_size);
    }
    return sum;
}
void undo_drop_deferred(UndoLog *u, int64_t mark) {
    while (u->recs.len > mark) {
        const UndoRecord *r = &u->recs.items[--u->recs.len];
        if (r->t) count_gone(u, r->t);
    }
    if (mark == 0) undo_clear(u);
}
Status undo_reserve_deferred(UndoLog *u, bool *gone, Err *e) {
    *gone = false;
    for (int64_t k = 0; k < u->recs.len; k++) {
        UndoRecord *r = &u->recs.items[k];
        if (!r->t || !r->deferred) continue;
        *gone = r->generation != r->t->impl->generation ||
                tablet_row_deleted(r->t->tablets[r->rowids[0] >> 32], r->rowids[0] & 0xffffffff);
        if (*gone) break;
        TRY(table_reserve_cell(r->t, r->rowids[0], r->col, e));
        r->deferred = false;
    }
    return ST_OK;
}
static void hide(UndoLog *u, bool settle);
void undo_settle_adds(UndoLog *u) {
    bool some = false;
    for (int64_t k = 0; k < u->recs.len && !some; k++) some = u->recs.items[k].t && u->recs.items[k].kind == UNDO_ADD;
    if (!some) return;
    hide(u, true);
    undo_show(u, false);
}
Status undo_check_adds(const UndoLog *u, Err *e) {
    if (!u->overflowed) return ST_OK;
    err_set(e, ERR_NUMERIC_RANGE, "a sum is out of range");
    err_detail(e, "Others have added to a row to which this transaction adds; with both its column is out of range.");
    return ST_ERROR;
}

static void undo_one(UndoRecord *r) {
    Table *t = r->t;
    switch (r->kind) {
    case UNDO_APPEND: drop_rows(r, false); break;
    case UNDO_DELETE: flip_listed(r, false); break;
    case UNDO_UPDATE:
        for (int64_t i = r->n - 1; i >= 0; i--) {
            Tablet *tab = t->tablets[r->rowids[i] >> 32];
            int64_t row = r->rowids[i] & 0xffffffff;
            void *cell = own_cell(tab, r->col, row);
            memcpy(cell, (char *)r->cells + i * r->cell_size, (size_t)r->cell_size);
            set_valid_bit(&tab->block->delta[r->col], &tab->cols[r->col], row, r->valid[i]);
        }
        break;
    case UNDO_ADD:
        for (int64_t i = r->n - 1; i >= 0; i--) subtract_cell(r, i);
        break;
    case UNDO_LOCK: break;
    case UNDO_PIECES:
        pieces_swap(r->pieces);
        pieces_free(r->pieces);
        break;
    case UNDO_STATE: table_state_put(t, r->state); break;
    case UNDO_TABLETS:
        drop_tablets(t, r->rows);
        t->live_rows -= r->n;
        break;
    }
    table_changed(t);
    if (r->kind != UNDO_STATE && r->kind != UNDO_TABLETS)
        t->content = r->content; /* of those, the record came in the middle of the change */
}

void undo_rollback(UndoLog *u, int64_t mark) {
    while (u->recs.len > mark) {
        UndoRecord r = u->recs.items[--u->recs.len];
        if (!r.t) continue;
        undo_one(&r);
        count_gone(u, r.t);
        keyindex_settled(r.t);
    }
    if (mark == 0) undo_clear(u);
}
void undo_forget(UndoLog *u) {
    for (int64_t i = 0; i < u->recs.len; i++) {
        UndoRecord *r = &u->recs.items[i];
        if (!r->t) continue;
        if (r->kind == UNDO_STATE) table_state_free(r->t, r->state);
        if (r->kind == UNDO_PIECES) pieces_free(r->pieces);
        count_gone(u, r->t);
        keyindex_settled(r->t);
    }
    undo_clear(u);
}

/* ---- out of the tables and back ---- */
static bool has_state(const UndoLog *u) {
    for (int64_t i = 0; i < u->recs.len; i++)
        if (u->recs.items[i].t && u->recs.items[i].kind == UNDO_STATE) return true;
    return false;
}
/* The next record behind i that put another state in place of the table's; NULL: none. */
static const UndoRecord *state_after(const UndoLog *u, int64_t i) {
    const UndoRecord *r = &u->recs.items[i];
    for (i++; i < u->recs.len; i++)
        if (u->recs.items[i].t == r->t && u->recs.items[i].kind == UNDO_STATE) return &u->recs.items[i];
    return NULL;
}

Status undo_reserve(UndoLog *u, int64_t from, Err *e) {
    bool states = has_state(u);
    for (int64_t i = from; i < u->recs.len; i++) {
        const UndoRecord *r = &u->recs.items[i];
        if (!r->t || (r->kind != UNDO_APPEND && r->kind != UNDO_TABLETS)) continue;
        const UndoRecord *later = states ? state_after(u, i) : NULL; /* holds what the record is about */
        Tablet *const *tablets = later ? later->state->tablets : r->t->tablets;
        int64_t first = r->kind == UNDO_TABLETS ? r->rows : r->tablet,
                end = r->kind == UNDO_TABLETS ? r->tablet : r->tablet + 1;
        for (; first < end; first++) TRY(tablet_ensure_deleted(tablets[first], e));
    }
    return ST_OK;
}

static void swap_cell(UndoRecord *r, int64_t i) {
    Tablet *tab = r->t->tablets[r->rowids[i] >> 32];
    int64_t row = r->rowids[i] & 0xffffffff;
    const size_t size = (size_t)r->cell_size;
    char kept[16], *cell = own_cell(tab, r->col, row), *other = (char *)r->cells + i * r->cell_size;
    bool valid = column_row_valid(&tab->cols[r->col], row);
    memcpy(kept, cell, size);
    memcpy(cell, other, size);
    memcpy(other, kept, size);
    set_valid_bit(&tab->block->delta[r->col], &tab->cols[r->col], row, r->valid[i]);
    r->valid[i] = valid;
}

static void hide(UndoLog *u, bool settle) {
    dbg_assert(!u->hidden || u->recs.len == 0);
    set_state(u, u->recs.len > 0, u->committed);
    for (int64_t k = u->recs.len - 1; k >= 0; k--) {
        UndoRecord *r = &u->recs.items[k];
        if (!r->t) continue;
        switch (r->kind) {
        case UNDO_APPEND: flip_rows(r->t, r->t->tablets[r->tablet], r->rows, r->n, true); break;
        case UNDO_DELETE: flip_listed(r, false); break;
        case UNDO_UPDATE:
            for (int64_t i = r->n - 1; i >= 0; i--) swap_cell(r, i);
            break;
        case UNDO_ADD:
            for (int64_t i = r->n - 1; i >= 0; i--) settle ? settle_cell(r, i) : subtract_cell(r, i);
            if (settle) r->kind = UNDO_UPDATE;
            break;
        case UNDO_LOCK: break;
        case UNDO_PIECES: pieces_swap(r->pieces); break;
        case UNDO_STATE: table_state_exchange(r->t, r->state); break;
        case UNDO_TABLETS: flip_tablets(r, true); break;
        }
        int64_t content = r->t->content;
        r->t->content = r->content;
        r->content = content;
        r->t->version++;
    }
}

void undo_hide(UndoLog *u) { hide(u, false); }

void undo_show(UndoLog *u, bool elsewhere) {
    dbg_assert(u->hidden || u->recs.len == 0);
    set_state(u, false, u->committed);
    u->overflowed = false;
    for (int64_t k = 0; k < u->recs.len; k++) {
        UndoRecord *r = &u->recs.items[k];
        if (!r->t) continue;
        switch (r->kind) {
        case UNDO_APPEND: flip_rows(r->t, r->t->tablets[r->tablet], r->rows, r->n, false); break;
        case UNDO_DELETE: flip_listed(r, true); break;
        case UNDO_UPDATE:
            for (int64_t i = 0; i < r->n; i++) swap_cell(r, i);
            break;
        case UNDO_ADD:
            for (int64_t i = 0; i < r->n; i++) add_cell(u, r, i);
            break;
        case UNDO_LOCK: break;
        case UNDO_PIECES: pieces_swap(r->pieces); break;
        case UNDO_STATE: table_state_exchange(r->t, r->state); break;
        case UNDO_TABLETS: flip_tablets(r, false); break;
        }
        int64_t before = r->t->content, after = r->content;
        r->content = before;
        if (elsewhere) table_changed(r->t);
        else r->t->content = after, r->t->version++;
    }
}

void undo_abandon(UndoLog *u) {
    for (int64_t k = u->recs.len - 1; k >= 0; k--) {
        UndoRecord *r = &u->recs.items[k];
        if (!r->t) continue;
        bool here = r->generation == r->t->impl->generation; /* else it is about another state, which goes as a whole */
        if (r->kind == UNDO_APPEND && here) drop_rows(r, true);
        else if (r->kind == UNDO_TABLETS && here && r->tablet == r->t->n_tablets) drop_tablets(r->t, r->rows);
        r->t->version++;
    }
    undo_forget(u);
}

/* ---- kept logs ---- */
/* Memory that is charged for the tablet, with the room of its open columns (tablet_bytes: what its rows take). */
static int64_t held_bytes(const Tablet *tab) {
    int64_t bytes = tab->block->size + tab->block->heap.total;
    for (int c = 0; tab->block->delta && c < tab->block->n_cols; c++) {
        const DeltaCol *d = &tab->block->delta[c];
        if (d->cells && !d->home) bytes += tab->block->cap * d->cell_size;
        if (d->patches) bytes += patches_bytes(d->patches);
    }
    return bytes;
}
static int64_t record_bytes(const UndoRecord *r) {
    int64_t bytes = (int64_t)sizeof *r;
    if (r->kind == UNDO_DELETE) bytes += r->n * 8;
    else if (r->kind == UNDO_PIECES) bytes += pieces_bytes(r->pieces);
    else if (r->kind == UNDO_UPDATE || r->kind == UNDO_ADD)
        bytes += r->n * (25 + r->cell_size); /* with what undo_move needs to find it */
    for (int64_t k = 0; r->t && r->kind == UNDO_STATE && k < r->state->n_tablets; k++)
        bytes += held_bytes(r->state->tablets[k]);
    return bytes;
}
static uint64_t cell_place(const UndoRecord *r, int64_t i) {
    return hash_u64(hash_u64((uint64_t)(uintptr_t)r->t ^ (uint64_t)r->generation << 40 ^ (uint64_t)r->col << 52) ^
                    (uint64_t)r->rowids[i]);
}
/* The slot of a cell in `seen`, or the free one where it belongs. */
static uint64_t *seen_slot(const UndoLog *u, const UndoRecord *r, int64_t i) {
    uint64_t mask = (UINT64_C(1) << u->seen_bits) - 1;
    for (uint64_t k = cell_place(r, i) & mask;; k = (k + 1) & mask) {
        uint64_t at = u->seen[k];
        const UndoRecord *o = at ? &u->recs.items[at >> 32] : NULL;
        if (!o || (o->t == r->t && o->generation == r->generation && o->col == r->col &&
                   o->rowids[(uint32_t)at - 1] == r->rowids[i]))
            return &u->seen[k];
    }
}
/* All of its records are in `seen`. false: there is no memory, and no `seen`. */
static bool see_all(UndoLog *u) {
    int64_t want = u->n_seen;
    if (u->seen && u->seen_to == u->recs.len) return true;
    for (int64_t k = u->seen_to; k < u->recs.len; k++)
        if (u->recs.items[k].kind == UNDO_UPDATE) want += u->recs.items[k].n;
    int bits = u->seen ? u->seen_bits : 8;
    while (INT64_C(1) << bits < 2 * want) bits++;
    if (!u->seen || bits > u->seen_bits) {
        uint64_t *slots = mem_calloc(u->acct, INT64_C(8) << bits, NULL);
        if (u->seen) mem_free(u->acct, u->seen, INT64_C(8) << u->seen_bits);
        u->seen = slots;
        u->seen_bits = bits;
        u->n_seen = u->seen_to = 0;
        if (!slots) return false;
    }
    for (; u->seen_to < u->recs.len; u->seen_to++) {
        const UndoRecord *r = &u->recs.items[u->seen_to];
        for (int64_t i = 0; r->t && r->kind == UNDO_UPDATE && i < r->n; i++) {
            uint64_t *slot = seen_slot(u, r, i);
            if (*slot) continue;
            *slot = (uint64_t)u->seen_to << 32 | (uint64_t)(i + 1);
            u->n_seen++;
        }
    }
    return true;
}
static void *copy_of(UndoLog *u, const void *p, int64_t bytes, bool *ok) {
    void *q = arena_alloc(u->arena, bytes);
    *ok = *ok && q;
    if (q && bytes > 0) memcpy(q, p, (size_t)bytes);
    return q;
}
/* An UPDATE record's copy, without cells that are known; n are not. */
static bool copy_cells(UndoLog *u, const UndoRecord *r, int64_t n, UndoRecord *out) {
    bool ok = true;
    *out = *r;
    out->n = n;
    out->rowids = copy_of(u, r->rowids, n * 8, &ok);
    out->cells = copy_of(u, r->cells, n * r->cell_size, &ok);
    out->valid = copy_of(u, r->valid, n, &ok);
    n = 0;
    for (int64_t i = 0; ok && out->n < r->n && i < r->n; i++) {
        if (*seen_slot(u, r, i)) continue;
        out->rowids[n] = r->rowids[i];
        out->valid[n] = r->valid[i];
        memcpy((char *)out->cells + n * r->cell_size, (const char *)r->cells + i * r->cell_size, (size_t)r->cell_size);
        n++;
    }
    return ok;
}
Status undo_move(UndoLog *from, UndoLog *to, bool shown, int64_t *bytes, Err *e) {
    int64_t before = to->recs.len;
    bool ok = true;
    *bytes = 0;
    for (int64_t i = 0; ok && i < from->recs.len; i++) {
        UndoRecord r = from->recs.items[i], kept = r;
        if (!r.t || r.kind == UNDO_LOCK) continue;
        if (r.kind == UNDO_DELETE) kept.rowids = copy_of(to, r.rowids, r.n * 8, &ok);
        if (r.kind == UNDO_UPDATE) {
            int64_t fresh = r.n;
            if (shown && see_all(to))
                for (int64_t k = 0; k < r.n; k++) fresh -= *seen_slot(to, &r, k) != 0;
            if (fresh == 0) continue;
            ok = copy_cells(to, &r, fresh, &kept);
        }
        ok = ok && vec_push(to->arena, &to->recs, kept);
        *bytes += record_bytes(&kept);
    }
    if (!ok) {
        to->recs.len = before;
        if (to->seen) mem_free(to->acct, to->seen, INT64_C(8) << to->seen_bits); /* it names some that are gone */
        to->seen = NULL;
        to->n_seen = to->seen_to = 0;
        return err_oom(e);
    }
    if (before == 0) {
        to->hidden = from->hidden;
        to->committed = from->committed;
    }
    for (int64_t i = 0; i < from->recs.len; i++)
        if (from->recs.items[i].t) count_gone(from, from->recs.items[i].t);
    for (int64_t i = before; i < to->recs.len; i++) {
        to->recs.items[i].t->impl->undo_open++;
        to->recs.items[i].t->impl->undo_pending += is_pending(to);
    }
    undo_clear(from);
    return ST_OK;
}

int64_t undo_bytes(const UndoLog *u) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < u->recs.len; i++) bytes += record_bytes(&u->recs.items[i]);
    return bytes;
}
bool undo_names_table(const UndoLog *u, const Table *t) {
    for (int64_t i = 0; i < u->recs.len; i++)
        if (u->recs.items[i].t == t) return true;
    return false;
}
void undo_drop_table(UndoLog *u, const Table *t) {
    for (int64_t i = 0; i < u->recs.len; i++) {
        UndoRecord *r = &u->recs.items[i];
        if (r->t != t) continue;
        if (r->kind == UNDO_STATE) table_state_free(r->t, r->state);
        if (r->kind == UNDO_PIECES) pieces_free(r->pieces);
        count_gone(u, r->t);
        r->t = NULL;
    }
}

/* ---- keys ---- */
static bool is_deferrable(const Table *t, int k) { return k < t->n_keys && t->keys[k].deferrable; }
/* No other row has key k of the record's rows. */
static Status check_record(const UndoRecord *r, int k, Err *e) {
    if (r->kind == UNDO_APPEND)
        for (int64_t row = 0; row < r->n; row++)
            TRY(keyindex_check_row(r->t, k, rowid_make(r->tablet, r->rows + row), e));
    if (r->kind == UNDO_UPDATE && table_index_reads(r->t, k, r->col))
        for (int64_t row = 0; row < r->n; row++) TRY(keyindex_check_row(r->t, k, r->rowids[row], e));
    const bool all = r->kind == UNDO_STATE && is_deferrable(r->t, k); /* other keys were looked at */
    const int64_t first = all ? 0 : r->rows, end = all ? r->t->n_tablets : r->kind == UNDO_TABLETS ? r->tablet : 0;
    for (int64_t n = first; n < end; n++)
        for (int64_t row = 0; row < r->t->tablets[n]->rows; row++)
            TRY(keyindex_check_row(r->t, k, rowid_make(n, row), e));
    return ST_OK;
}

Status undo_check_keys(const UndoLog *u, Err *e) {
    for (int64_t i = 0; i < u->recs.len; i++) {
        const UndoRecord *r = &u->recs.items[i];
        for (int k = 0; r->t && k < table_indexes(r->t); k++)
            if (!is_deferrable(r->t, k)) TRY(check_record(r, k, e));
    }
    return ST_OK;
}
Status undo_check_deferrable(const UndoLog *u, int64_t mark, const Table *t, int key, Err *e) {
    for (int64_t i = mark; i < u->recs.len; i++) {
        const UndoRecord *r = &u->recs.items[i];
        for (int k = 0; r->t && (!t || r->t == t) && k < r->t->n_keys; k++)
            if (is_deferrable(r->t, k) && (key < 0 || k == key)) TRY(check_record(r, k, e));
    }
    return ST_OK;
}
