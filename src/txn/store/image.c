/* image.c - making images, room and rows; see image.h.
 *
 * An image is made in two steps over the pool: tablets are decoded into the rows (a task is one tablet), then the live
 * rows are entered into the indexes (a task is a run of rows of one unique index or one with ordered groups, or one
 * whole other group index, whose lists are newest first). Between them it is known which rows need entries
 * (index_dense_rows), and with that how many slots there have to be.
 *
 * With the table's expected_rows there is a step between, too: all memory of the image is touched (a task is a piece of
 * it), so that no bulk waits for pages.
 *
 * Room comes before visibility: arrays may be larger than `cap` says after a growth that failed half way; that is why
 * each has its own capacity in ImageImpl.
 */
#include "base/mutex.h"
#include "txn/store/store_int.h"
#include "txn/store/device_copy.h"

enum {
    DECODE_ROWS = 2048,
    ENTER_ROWS = 65536,
    MIN_SPARE = 64,
    SPARE_BULKS = 8,
    INDEX_SPARE_BULKS =
        32 /* bulks like this one that an image on a device gets room for: rows, entries of indexes, which are small */
};
enum {
    MAPPED_MIN = 1 << 20 /* from so many bytes on memory grows without a copy, and new memory is zero (base/mem.h) */
};
#define MAX_ROWS ((INT64_C(1) << ENTRY_ROW_BITS) - 2)
static_assert(MAX_ROWS == EXPECTED_ROWS_MAX, "a table expects no more rows than its image can have");

/* ---- room ---- */
/* Room for `want` rows of `size` bytes each. New bytes are zero: no large array is touched. */
static Status grow(MemAccount *a, void **p, int64_t *cap, int64_t want, int64_t size, Err *e) {
    if (*cap >= want && *p) return ST_OK;
    void *q = mem_realloc(a, *p, *cap * size, want * size, e);
    if (!q) return ST_ERROR;
    if (want * size < MAPPED_MIN) memset((char *)q + *cap * size, 0, (size_t)((want - *cap) * size));
    *p = q;
    *cap = want;
    return ST_OK;
}
/* Room for no more than `want` rows, where memory for what stays is to be had. */
static void shrink(MemAccount *a, void **p, int64_t *cap, int64_t want, int64_t size) {
    if (*cap <= want || !*p) return;
    void *q = mem_realloc(a, *p, *cap * size, want * size, NULL);
    if (!q) return;
    *p = q;
    *cap = want;
}
/* The piece is where p->rows says, and has room for pieces_cap rows. */
static void note_piece(Image *im, int32_t k) {
    struct ImageImpl *x = im->impl;
    const RowPiece *p = &im->pieces[k];
    x->home->rows[k] = p->rows;
    x->home->bytes[k] = x->pieces_cap[k] * p->stride;
    for (int32_t c = 0; c < im->n_cols; c++) {
        ImageColumn *col = &im->cols[c];
        if (!col->used || col->piece != k) continue;
        col->stride = p->stride;
        col->cells = p->rows + x->at[c];
        if (!im->table->cols[c].not_null) col->valid = p->rows + x->valid_at[c];
    }
}
static Status grow_piece(Image *im, int32_t k, int64_t want, Err *e) {
    struct ImageImpl *x = im->impl;
    RowPiece *p = &im->pieces[k];
    if (p->stride == 0) return ST_OK;
    TRY(grow(x->home->account, (void **)&p->rows, &x->pieces_cap[k], want, p->stride, e));
    note_piece(im, k);
    return ST_OK;
}
/* All arrays by row, slots excepted. */
static Status grow_rows(Image *im, int64_t want, Err *e) {
    struct ImageImpl *x = im->impl;
    if (want > MAX_ROWS) return err_set(e, ERR_PROGRAM_LIMIT, "table \"%s\" is too large for bulks", im->table->name);
    static_assert(ROW_DEAD == 0, "new rows are dead");
    TRY(grow(im->account, (void **)&im->live, &x->live_cap, want, 1, e));
    TRY(grow(im->account, (void **)&im->dirty, &x->dirty_cap, want, 1, e));
    TRY(grow(im->account, (void **)&im->rowids, &x->rowids_cap, (want + ROWID_RUN - 1) / ROWID_RUN, sizeof(RowidRun),
             e));
    Status st = ST_OK;
    for (int32_t k = 0; st == ST_OK && k < ROW_PIECES; k++) st = grow_piece(im, k, want, e);
    home_moved(im); /* also when only one of them has */
    TRY(st);
    for (int32_t i = 0; i < im->n_indexes; i++)
        if (!im->indexes[i].unique)
            TRY(grow(im->account, (void **)&im->indexes[i].next, &x->next_cap[i], want,
                     8 * image_next_cells(&im->indexes[i]), e));
    return ST_OK;
}
/* Back to `want` rows, all that there are or more; what is behind them is as new rows are. Row numbers of the table
 * take little, and stay. */
static void shrink_rows(Image *im, int64_t want) {
    struct ImageImpl *x = im->impl;
    shrink(im->account, (void **)&im->live, &x->live_cap, want, 1);
    shrink(im->account, (void **)&im->dirty, &x->dirty_cap, want, 1);
    for (int32_t k = 0; k < ROW_PIECES; k++) {
        if (im->pieces[k].stride == 0) continue;
        shrink(x->home->account, (void **)&im->pieces[k].rows, &x->pieces_cap[k], want, im->pieces[k].stride);
        note_piece(im, k);
    }
    home_moved(im);
    for (int32_t i = 0; i < im->n_indexes; i++)
        if (!im->indexes[i].unique)
            shrink(im->account, (void **)&im->indexes[i].next, &x->next_cap[i], want,
                   8 * image_next_cells(&im->indexes[i]));
}
/* Where the columns are in their pieces: those of 8 bytes first, then smaller ones, which columns have a value, and
 * what takes 16 bytes. */
static void place_columns(Image *im) {
    enum { LINE = 64 };
    for (int32_t k = 0; k < ROW_PIECES; k++) {
        int64_t at = 0, align = 1;
        for (int64_t size = 8; size > 0; size = size == 1 ? 16 : size == 16 ? 0 : size / 2) {
            for (int32_t c = 0; c < im->n_cols; c++) {
                ImageColumn *col = &im->cols[c];
                if (!col->used || col->piece != k || phys_size((Phys)col->phys) != size) continue;
                im->impl->at[c] = align_up(at, size);
                at = im->impl->at[c] + size;
                align = MAX_OF(align, size);
                im->pieces[k].texts |= col->phys == PH_STR;
            }
            for (int32_t c = 0; size == 1 && c < im->n_cols; c++)
                if (im->cols[c].used && im->cols[c].piece == k && !im->table->cols[c].not_null)
                    im->impl->valid_at[c] = at++;
        }
        int64_t lines = align_up(at, LINE);
        im->pieces[k].stride = at > LINE && lines - at <= at / 8 ? lines : align_up(at, align);
    }
}
/* An error for want of memory, whatever its source: 53200 with the table; bytes and setting are its detail and hint. */
static Status no_room(const Table *t, const char *what, Err *e) {
    Err why = {0};
    if (!e || strncmp(e->sqlstate, "53", 2) != 0) return ST_ERROR;
    err_copy(&why, e);
    err_clear(e);
    err_set(e, ERR_OUT_OF_MEMORY, "no room to %s table \"%s\" for a bulk: %s", what, t->name, why.message);
    if (why.detail[0]) err_detail(e, "%s", why.detail);
    if (why.hint[0]) err_hint(e, "%s", why.hint);
    return ST_ERROR;
}
static int64_t slots_bytes(const ImageIndex *x) { return (x->mask + 1) * 8; }
static int64_t slots_for(const Image *im, int64_t entries) { return image_slots_for(entries, im->device_copy != NULL); }

/* ---- making ---- */
enum { TOUCH_BYTES = 16 << 20 };
typedef struct TouchedArray {
    char *p;
    int64_t bytes;
} TouchedArray;
typedef struct MakeJob {
    Image *im;
    const TouchedArray *touched; /* tasks are pieces of TOUCH_BYTES of these, one array after the other */
    const int64_t *base;         /* first row of each tablet */
    int64_t n_tablets;
    int32_t n_cols; /* used ones */
    const int32_t *cols;
    int32_t first_index, n_indexes; /* that rows are entered into */
    int64_t n_tasks;
    _Atomic int64_t next;
    bool shared;
} MakeJob;

#define SPREAD(T)                                                                                      \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * stride, from + i * (int64_t)sizeof(T), sizeof(T)); \
    break
static void spread(uint8_t *to, int64_t stride, const uint8_t *from, int64_t size, int64_t n) {
    switch (size) {
    case 1: SPREAD(uint8_t);
    case 2: SPREAD(uint16_t);
    case 4: SPREAD(uint32_t);
    case 8: SPREAD(uint64_t);
    default: SPREAD(Interval);
    }
}
#undef SPREAD
/* Rows from..from + n - 1 of the image, which the tablet has at `pos` (NULL: from `first` on). */
static void decode_rows(const MakeJob *j, const Tablet *tab, int64_t first, const int32_t *pos, int64_t n,
                        int64_t row) {
    Image *im = j->im;
    alignas(64) uint8_t cells[DECODE_ROWS * 16];
    uint8_t valid[DECODE_ROWS];
    for (int32_t i = 0; i < j->n_cols; i++) {
        const ImageColumn *col = &im->cols[j->cols[i]];
        bool nulls;
        tablet_decode(im->table, tab, j->cols[i], first, pos, n, col->phys, cells, valid, &nulls);
        spread(image_cell(col, row), col->stride, cells, phys_size((Phys)col->phys), n);
        if (!col->valid) continue;
        if (!nulls) memset(valid, 1, (size_t)n);
        spread(col->valid + row * col->stride, col->stride, valid, 1, n);
    }
}
/* Dead rows of a tablet come along when they are few: then its rows lie in the image in their order. */
static bool keeps_dead(const Tablet *tab) { return tab->n_deleted * 4 <= tab->rows; }
static void decode_whole(const MakeJob *j, int64_t k) {
    Image *im = j->im;
    const Tablet *tab = im->table->tablets[k];
    int64_t row = j->base[k];
    for (int64_t first = 0; first < tab->rows; first += DECODE_ROWS)
        decode_rows(j, tab, first, NULL, MIN_OF(DECODE_ROWS, tab->rows - first), row + first);
    for (int64_t i = 0; i < tab->rows; i++) {
        bool dead = tablet_row_deleted(tab, i);
        im->live[row + i] = (uint8_t)(dead ? ROW_DEAD : ROW_LIVE);
        rowids_put(im, row + i, dead ? -1 : k << 32 | i);
    }
}
static void decode_tablet(const MakeJob *j, int64_t k) {
    Image *im = j->im;
    const Tablet *tab = im->table->tablets[k];
    int64_t row = j->base[k];
    int32_t pos[DECODE_ROWS];
    if (keeps_dead(tab)) {
        decode_whole(j, k);
        return;
    }
    memset(im->live + row, ROW_LIVE, (size_t)(j->base[k + 1] - row));
    for (int64_t first = 0; first < tab->rows; first += DECODE_ROWS) {
        bool all;
        int64_t n = tablet_live_rows(tab, first, MIN_OF(DECODE_ROWS, tab->rows - first), pos, &all);
        decode_rows(j, tab, first, all ? NULL : pos, n, row);
        for (int64_t i = 0; i < n; i++) rowids_put(im, row + i, k << 32 | (all ? first + i : pos[i]));
        row += n;
    }
}
static void decode_tasks(void *ctx, int worker) {
    MakeJob *j = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n_tasks;) decode_tablet(j, i);
}
static void enter_tasks(void *ctx, int worker) {
    MakeJob *j = ctx;
    Image *im = j->im;
    int64_t rows = atomic_load(&im->rows);
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n_tasks;) {
        ImageIndex *x = &im->indexes[j->first_index + i % j->n_indexes];
        int64_t run = i / j->n_indexes;
        if (x->unique || x->order)
            image_enter_rows(im, x, run * ENTER_ROWS, MIN_OF(rows, (run + 1) * ENTER_ROWS), j->shared);
        else if (run == 0) image_enter_rows(im, x, 0, rows, false);
    }
}
static void touch_tasks(void *ctx, int worker) {
    MakeJob *j = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&j->next, 1)) < j->n_tasks;) {
        const TouchedArray *t = j->touched;
        int64_t piece = i;
        for (int64_t n; piece >= (n = (t->bytes + TOUCH_BYTES - 1) / TOUCH_BYTES); t++) piece -= n;
        mem_touch(t->p + piece * TOUCH_BYTES, MIN_OF((int64_t)TOUCH_BYTES, t->bytes - piece * TOUCH_BYTES));
    }
}
static void run_tasks(MakeJob *j, Pool *pool, int64_t n, PoolFn fn) {
    int workers = pool ? (int)MIN_OF((int64_t)pool_threads(pool), n) : 1;
    j->n_tasks = n;
    j->shared = workers > 1;
    atomic_store(&j->next, 0);
    if (workers > 1) pool_run(pool, workers, fn, j);
    else if (n > 0) fn(j, 0);
}

/* All rows into n indexes. */
static void enter(Image *im, int32_t first, int32_t n) {
    int64_t rows = atomic_load(&im->rows);
    MakeJob j = {.im = im, .first_index = first, .n_indexes = n};
    run_tasks(&j, im->impl->pool, (rows + ENTER_ROWS - 1) / ENTER_ROWS * n, enter_tasks);
}
static void enter_all(Image *im) {
    int64_t rows = atomic_load(&im->rows);
    enter(im, 0, im->n_indexes);
    for (int32_t i = 0; i < im->n_indexes; i++) im->indexes[i].used = rows - im->indexes[i].dense;
}

/* Columns, indexes and what they are made of; no rows yet. */
static Status lay_out(Image *im, const ImageNeed *need, Err *e) {
    const Table *t = need->table;
    Arena *a = im->impl->arena;
    struct ImageImpl *x = im->impl;
    im->n_cols = t->n_cols;
    im->n_indexes = t->n_keys + need->n_groups;
    im->cols = arena_array(a, ImageColumn, im->n_cols);
    im->indexes = arena_array(a, ImageIndex, im->n_indexes);
    x->writes = arena_array(a, bool, im->n_cols);
    x->at = arena_array(a, int64_t, im->n_cols);
    x->valid_at = arena_array(a, int64_t, im->n_cols);
    x->next_cap = arena_array(a, int64_t, im->n_indexes);
    if (!im->cols || !im->indexes || !x->writes || !x->at || !x->valid_at || !x->next_cap) return ST_ERROR;
    for (int32_t c = 0; c < im->n_cols; c++) {
        im->cols[c].phys = (uint8_t)type_phys(t->cols[c].type);
        im->cols[c].used = need->inserts || (need->cols && need->cols[c]);
        x->writes[c] = need->writes ? need->writes[c] : need->cols && need->cols[c];
    }
    for (int32_t i = 0; i < im->n_indexes; i++) {
        ImageIndex *ix = &im->indexes[i];
        bool unique = i < t->n_keys;
        const int *cols = unique ? t->keys[i].cols : need->groups[i - t->n_keys].cols;
        *ix = (ImageIndex){.unique = unique,
                           .key = unique ? i : -1,
                           .n_cols = unique ? t->keys[i].n_cols : need->groups[i - t->n_keys].n_cols};
        if (!unique) {
            ix->order = need->groups[i - t->n_keys].order;
            ix->desc = need->groups[i - t->n_keys].desc;
        }
        if (ix->n_cols < unique || ix->n_cols > IMAGE_KEY_COLS)
            return err_internal(e, "an index of %d columns", ix->n_cols);
        ix->cols = arena_array(a, int32_t, ix->n_cols);
        if (!ix->cols) return ST_ERROR;
        for (int32_t c = 0; c < ix->n_cols + (ix->order > 0); c++) {
            int32_t col = c < ix->n_cols ? cols[c] : ix->order - 1;
            if (c < ix->n_cols) ix->cols[c] = col;
            im->cols[col].used = true;
            x->writes[col] = false;
            if (need->writes && need->writes[col])
                return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                               "column \"%s\" of table \"%s\" leads to rows and cannot be updated in bulk",
                               t->cols[col].name, t->name);
        }
    }
    for (int32_t c = 0; c < im->n_cols; c++) im->cols[c].piece = x->writes[c];
    place_columns(im);
    return ST_OK;
}
/* All memory of rows and indexes up to the image's capacity. What the rows that there are fill needs no touching, but
 * touching it is as quick as a first write. */
static Status touch_all(Image *im, Pool *pool) {
    const struct ImageImpl *x = im->impl;
    TouchedArray *list = arena_array(im->impl->arena, TouchedArray, 2 + ROW_PIECES + 2 * im->n_indexes), *t = list;
    if (!list) return ST_ERROR;
    *t++ = (TouchedArray){(char *)im->live, x->live_cap};
    *t++ = (TouchedArray){(char *)im->dirty, x->dirty_cap};
    for (int32_t k = 0; k < ROW_PIECES; k++)
        if (im->pieces[k].rows)
            *t++ = (TouchedArray){(char *)im->pieces[k].rows, x->pieces_cap[k] * im->pieces[k].stride};
    for (int32_t i = 0; i < im->n_indexes; i++) {
        const ImageIndex *ix = &im->indexes[i];
        *t++ = (TouchedArray){(char *)ix->slots, slots_bytes(ix)};
        if (ix->next) *t++ = (TouchedArray){(char *)ix->next, x->next_cap[i] * 8 * image_next_cells(ix)};
    }
    int64_t tasks = 0;
    for (const TouchedArray *a = list; a < t; a++) tasks += (a->bytes + TOUCH_BYTES - 1) / TOUCH_BYTES;
    MakeJob j = {.im = im, .touched = list};
    run_tasks(&j, pool, tasks, touch_tasks);
    return ST_OK;
}
static Status fill(Image *im, const ImageNeed *need, Pool *pool, Err *e) {
    const Table *t = need->table;
    Arena *a = im->impl->arena;
    int64_t *base = arena_array(a, int64_t, t->n_tablets + 1);
    int32_t *used = arena_array(a, int32_t, im->n_cols);
    if (!base || !used) return ST_ERROR;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        const Tablet *tab = t->tablets[k];
        base[k + 1] = base[k] + tab->rows - (keeps_dead(tab) ? 0 : tab->n_deleted);
        TRY(home_note_tablet(im, k, keeps_dead(tab) ? base[k] : -1, tab->rows, e));
    }
    int64_t rows = base[t->n_tablets], cap = rows + (need->inserts ? rows / 4 : 0) + MIN_SPARE;
    bool expects = need->inserts && t->expected_rows > 0;
    if (expects) cap = MAX_OF(cap, t->expected_rows);
    TRY(grow_rows(im, cap, e));
    im->cap = cap;
    for (int64_t k = 0; k < t->n_tablets; k++)
        TRY(keeps_dead(t->tablets[k]) ? rowids_room(im, base[k], t->tablets[k]->rows, k << 32, e)
                                      : rowids_room_any(im, base[k], base[k + 1] - base[k], e));
    MakeJob j = {.im = im, .base = base, .n_tablets = t->n_tablets, .cols = used};
    for (int32_t c = 0; c < im->n_cols; c++)
        if (im->cols[c].used) used[j.n_cols++] = c;
    run_tasks(&j, pool, t->n_tablets, decode_tasks);
    atomic_store(&im->rows, rows);
    im->impl->rows_seen = im->impl->synced_rows = im->impl->rows_looked = rows;
    for (int32_t i = 0; i < im->n_indexes; i++) {
        ImageIndex *x = &im->indexes[i];
        x->dense = index_dense_rows(im, x, false, &x->first_key);
        x->mask = slots_for(im, cap - x->dense) - 1;
        x->slots = mem_calloc(im->account, slots_bytes(x), e);
        if (!x->slots) return ST_ERROR;
    }
    if (expects) TRY(touch_all(im, pool));
    enter_all(im);
    im->version = t->content;
    return ST_OK;
}

Status image_make(const ImageNeed *need, MemAccount *parent, Pool *pool, Image **out, Err *e) {
    Image *im = mem_calloc(parent, (int64_t)(sizeof(Image) + sizeof(struct ImageImpl)), e);
    if (!im) return ST_ERROR;
    im->impl = (struct ImageImpl *)(void *)(im + 1);
    im->table = need->table;
    im->account = parent;
    im->impl->pool = pool;
    mutex_init(&im->impl->heap_lock, RANK_HEAP_OF_IMAGE);
    im->impl->arena = arena_new(parent, e);
    Status st = im->impl->arena ? home_new(im, e) : ST_ERROR;
    if (st == ST_OK) st = lay_out(im, need, e);
    if (st == ST_OK) st = fill(im, need, pool, e);
    if (im->impl->arena) arena_set_err(im->impl->arena, NULL);
    if (st != ST_OK) no_room(need->table, "open", e);
    if (st != ST_OK && need->inserts && need->table->expected_rows > 0)
        err_context(e, "making an image of table \"%s\" with room for the %lld rows that it expects", need->table->name,
                    (long long)need->table->expected_rows);
    if (st != ST_OK) image_free(im);
    else *out = im;
    return st;
}

void image_free(Image *im) {
    if (!im) return;
    MemAccount *acct = im->account;
    struct ImageImpl *x = im->impl;
    device_copy_free(im);
    home_free(im);
    for (int32_t i = 0; im->indexes && x->next_cap && i < im->n_indexes; i++) {
        mem_free(acct, im->indexes[i].slots, slots_bytes(&im->indexes[i]));
        mem_free(acct, im->indexes[i].next, x->next_cap[i] * 8 * image_next_cells(&im->indexes[i]));
    }
    mem_free(acct, im->live, x->live_cap);
    mem_free(acct, im->dirty, x->dirty_cap);
    rowids_free(acct, im->rowids, x->rowids_cap);
    arena_free(x->arena);
    mutex_destroy(&x->heap_lock);
    mem_free(acct, im, (int64_t)(sizeof(Image) + sizeof(struct ImageImpl)));
}

#pragma GCC push_options
#pragma GCC optimize("O3") /* a byte per row: worth vectorising */
int64_t count_live(const uint8_t *live, int64_t rows) {
    int64_t sum = 0;
    for (int64_t r = 0; r < rows;) {
        uint8_t some = 0; /* of at most 255 rows */
        for (const int64_t end = MIN_OF(rows, r + UINT8_MAX); r < end; r++)
            some = (uint8_t)(some + (live[r] == ROW_LIVE));
        sum += some;
    }
    return sum;
}
#pragma GCC pop_options
/* A quarter of the rows or more. */
static bool many_dead(const Image *im) {
    const int64_t rows = atomic_load(&im->rows);
    return (rows - count_live(im->live, rows)) * 4 >= rows;
}
/* Entries that an index has in other slots: unique keys of live rows, and all groups, which may be far fewer. */
static int64_t entries_kept(const Image *im, const ImageIndex *x) {
    if (!x->unique) return image_count_entries(x);
    return count_live(im->live + x->dense, atomic_load(&im->rows) - x->dense);
}
/* To n slots, which have room for the entries that are kept. Anew: with entries of live rows, which are `kept`, in the
 * memory that is there and more behind it: fresh pages cost more than all else here. */
static Status resize_index(Image *im, ImageIndex *x, int64_t n, bool anew, int64_t kept, Err *e) {
    const int64_t had = x->mask + 1;
    uint64_t *old = x->slots,
             *slots = anew ? mem_realloc(im->account, old, had * 8, n * 8, e) : mem_calloc(im->account, n * 8, e);
    if (!slots) return ST_ERROR;
    x->slots = slots;
    x->mask = n - 1;
    if (anew) {
        memset(slots, 0, (size_t)(n < had || n * 8 < MAPPED_MIN ? n : had) * 8);
        enter(im, (int32_t)(x - im->indexes), 1);
    } else {
        image_move_entries(im, x, old, had);
        mem_free(im->account, old, had * 8);
    }
    x->used = kept;
    im->generation++;
    return ST_OK;
}
/* A larger table for the index: no call runs, so no dead row comes back. Lists of groups stay unless many of their rows
 * are dead. */
static Status grow_index(Image *im, ImageIndex *x, int64_t inserts, Err *e) {
    const bool device = im->device_copy != NULL;
    if (slots_suffice(x->mask + 1, x->used + inserts, device)) return ST_OK;
    const int64_t had = x->mask + 1, ahead = inserts * (device ? SPARE_BULKS : 1), kept = entries_kept(im, x);
    const bool anew = x->unique || many_dead(im);
    if (!anew && slots_suffice(had, kept + inserts, device)) {
        x->used = kept;
        return ST_OK;
    }
    const int64_t n = MAX_OF(slots_for(im, kept + ahead), kept * 2 > x->mask ? 2 * had : had);
    return resize_index(im, x, n, anew, kept, e);
}
bool row_is_gap(const Image *im, int64_t r) {
    return im->live[r] != ROW_LIVE && !((im->dirty[r] & DIRTY_DELETED) && image_is_stored(im, r));
}
/* Slots for all entries of an index when no gaps are left: more rows may need one then. */
static Status packed_room(Image *im, ImageIndex *x, int64_t rows, Err *e) {
    uint64_t first_key;
    const int64_t entries = x->dense > 0 ? rows - index_dense_rows(im, x, true, &first_key) : 0;
    if (slots_suffice(x->mask + 1, entries, im->device_copy != NULL)) return ST_OK;
    return resize_index(im, x, slots_for(im, entries), true, entries_kept(im, x), e);
}
/* Rows move down over the gaps, then the indexes are made anew. */
static Status close_gaps(Image *im, int64_t rows, int64_t gaps, Err *e) {
    int64_t to = 0, synced = 0;
    RowidRun *rowids;
    dbg_assert(!home_is_settled(im));
    for (int32_t i = 0; i < im->n_indexes; i++) TRY(packed_room(im, &im->indexes[i], rows - gaps, e));
    TRY(rowids_without_gaps(im, rows, &rowids, e));
    for (int64_t r = 0; r < im->impl->synced_rows; r++) synced += !row_is_gap(im, r);
    im->impl->synced_rows = synced;
    home_forget_tablets(im);
    for (int64_t from = 0, n; from < rows; from += n) {
        bool gap = row_is_gap(im, from);
        for (n = 1; from + n < rows && row_is_gap(im, from + n) == gap;) n++;
        if (gap) continue;
        for (const RowPiece *p = im->pieces; to != from && p < im->pieces + ROW_PIECES; p++)
            if (p->rows) memmove(p->rows + to * p->stride, p->rows + from * p->stride, (size_t)(n * p->stride));
        memmove(im->dirty + to, im->dirty + from, (size_t)n);
        memmove(im->live + to, im->live + from, (size_t)n);
        to += n;
    }
    rowids_free(im->account, im->rowids, im->impl->rowids_cap);
    im->rowids = rowids;
    memset(im->live + to, ROW_DEAD, (size_t)(rows - to));
    memset(im->dirty + to, 0, (size_t)(rows - to));
    for (const RowPiece *p = im->pieces; p < im->pieces + ROW_PIECES; p++) /* cells of rows that never were are zero */
        if (p->texts) memset(p->rows + to * p->stride, 0, (size_t)((rows - to) * p->stride));
    atomic_store(&im->rows, to);
    im->impl->rows_seen = to;
    for (int32_t i = 0; i < im->n_indexes; i++) {
        ImageIndex *x = &im->indexes[i];
        x->dense = index_dense_rows(im, x, false, &x->first_key);
        memset(x->slots, 0, (size_t)slots_bytes(x));
    }
    enter_all(im);
    im->generation++;
    return ST_OK;
}

static Status raise_cap(Image *im, int64_t rows, Err *e) {
    TRY(grow_rows(im, rows, e));
    im->cap = rows;
    im->generation++;
    return ST_OK;
}
static Status lower_cap(Image *im, int64_t rows, Err *e) {
    (void)e;
    shrink_rows(im, rows);
    im->cap = rows;
    im->generation++;
    return ST_OK;
}
/* How many rows there should be room for: a device takes more than the host, because growing takes longer there. On the
 * host it is a change of mappings, and room that is not used counts against limits. */
static int64_t more_rows(const Image *im, int64_t rows, int64_t inserts) {
    return rows + (im->device_copy ? MAX_OF(rows / 2, inserts * SPARE_BULKS) : MAX_OF(rows / 4, inserts));
}
/* ... and for those that the table expects. */
static int64_t room_for(const Image *im, int64_t rows) { return MAX_OF(rows, im->table->expected_rows); }
/* A device has a newer image: what has no room gets it there, too, unless the device cannot; then the host has it. */
static Status reserve_spare(Image *im, int64_t rows, int64_t inserts, Err *e) {
    if (!device_copy_current(im)) return device_copy_to_host(im, e); /* growth failed half way */
    for (int32_t i = 0; i < im->n_indexes && device_copy_newer(im); i++) {
        ImageIndex *x = &im->indexes[i];
        if (!slots_suffice(x->mask + 1, x->used + inserts, true))
            TRY(device_copy_rehash(im, x, inserts, inserts * INDEX_SPARE_BULKS, e));
    }
    if (device_copy_newer(im) && rows + inserts > im->cap)
        TRY(device_copy_resize(im, raise_cap, more_rows(im, rows, inserts), e));
    return ST_OK;
}
static Status reserve(Image *im, int64_t inserts, Err *e) {
    int64_t rows = atomic_load(&im->rows), gaps = 0;
    for (int32_t i = 0; i < im->n_indexes; i++) im->indexes[i].used += rows - im->impl->rows_seen;
    im->impl->rows_seen = rows;
    if (device_copy_newer(im)) TRY(reserve_spare(im, rows, inserts, e));
    if (rows + inserts > im->cap) {
        const bool some = many_dead(im); /* gaps are among these */
        for (int64_t r = 0; some && r < rows; r++) gaps += row_is_gap(im, r);
        if (gaps > 0 && gaps * 4 >= rows) {
            TRY(home_leave(im, e));
            TRY(close_gaps(im, rows, gaps, e));
            rows = atomic_load(&im->rows);
            if (im->cap / 2 > room_for(im, more_rows(im, rows, inserts)))
                TRY(lower_cap(im, room_for(im, more_rows(im, rows, inserts)), e));
        }
    }
    if (rows + inserts > im->cap) {
        int64_t want = more_rows(im, rows, inserts);
        if (device_copy_current(im)) TRY(device_copy_resize(im, raise_cap, want, e));
        else TRY(raise_cap(im, want, e));
    }
    for (int32_t i = 0; i < im->n_indexes; i++) TRY(grow_index(im, &im->indexes[i], inserts, e));
    return ST_OK;
}
Status indexes_spread(Image *im, Err *e) {
    for (int32_t i = 0; i < im->n_indexes; i++) {
        ImageIndex *x = &im->indexes[i];
        const int64_t n = image_slots_for(im->cap - x->dense, true);
        if (n > x->mask + 1) TRY(resize_index(im, x, n, x->unique, entries_kept(im, x), e));
    }
    return ST_OK;
}
Status image_reserve(Image *im, int64_t inserts, Err *e) {
    return reserve(im, inserts, e) == ST_OK ? ST_OK : no_room(im->table, "add rows to", e);
}
/* An index that has four times the slots that its entries need, on the host. */
static Status trim_index(Image *im, ImageIndex *x, Err *e) {
    const bool anew = x->unique || many_dead(im);
    const int64_t kept = entries_kept(im, x), n = slots_for(im, MAX_OF(kept, im->table->expected_rows - x->dense));
    return n * 4 > x->mask + 1 ? ST_OK : resize_index(im, x, n, anew, kept, e);
}
Status room_trim(Image *im, Err *e) {
    const int64_t rows = room_for(im, atomic_load(&im->rows) + MIN_SPARE);
    if (im->cap - im->cap / 8 > rows) {
        if (device_copy_current(im)) TRY(device_copy_resize(im, lower_cap, rows, e));
        else TRY(lower_cap(im, rows, e));
    }
    for (int32_t i = 0; i < im->n_indexes && !device_copy_newer(im); i++) TRY(trim_index(im, &im->indexes[i], e));
    texts_trim(im);
    return ST_OK;
}

/* ---- rows ---- */
int64_t image_claim(Image *im, int64_t n, Err *e) {
    int64_t row = atomic_load_explicit(&im->rows, memory_order_relaxed);
    do {
        if (UNLIKELY(row + n > im->cap)) {
            err_internal(e, "more inserts into table \"%s\" than room was reserved for", im->table->name);
            return -1;
        }
    } while (
        !atomic_compare_exchange_weak_explicit(&im->rows, &row, row + n, memory_order_relaxed, memory_order_relaxed));
    return row;
}
static Status write_row(Image *im, int64_t row, const void *const *cells, Err *e) {
    for (int32_t c = 0; c < im->n_cols; c++) {
        ImageColumn *col = &im->cols[c];
        int64_t size = phys_size((Phys)col->phys);
        if (!col->used) return err_internal(e, "table \"%s\" has no image for inserts", im->table->name);
        image_set_valid(col, row, cells[c] != NULL);
        if (!cells[c]) {
            if (!col->valid)
                return err_internal(e, "column \"%s\" of table \"%s\" must not be null", im->table->cols[c].name,
                                    im->table->name);
            memset(image_cell(col, row), 0, (size_t)size);
        } else if (col->phys == PH_STR) {
            Str s;
            memcpy(&s, cells[c], sizeof s);
            if (!(s.ptr = row_text_put(im, s.ptr, s.len, e))) return ST_ERROR;
            memcpy(image_cell(col, row), &s, sizeof s);
        } else {
            memcpy(image_cell(col, row), cells[c], (size_t)size);
        }
    }
    return ST_OK;
}
int64_t image_insert_at(Image *im, int64_t row, const void *const *cells, int32_t *conflict, Err *e) {
    *conflict = -1;
    if (write_row(im, row, cells, e) != ST_OK) return -1;
    __atomic_store_n(&im->live[row], ROW_PENDING, __ATOMIC_RELEASE);
    int32_t i = 0;
    for (; i < im->n_indexes && im->indexes[i].unique; i++) {
        if (image_enter_unique(im, &im->indexes[i], row)) continue;
        *conflict = im->indexes[i].key;
        __atomic_store_n(&im->live[row], ROW_DEAD, __ATOMIC_RELEASE);
        return -1;
    }
    bool again = im->dirty[row] & DIRTY_INSERTED; /* then it is in the lists of its groups */
    for (; !again && i < im->n_indexes; i++) image_enter_group(im, &im->indexes[i], row);
    im->dirty[row] = DIRTY_INSERTED;
    __atomic_store_n(&im->live[row], ROW_LIVE, __ATOMIC_RELEASE);
    if (again) image_back_in_order(im, row);
    return row;
}
int64_t image_insert(Image *im, const void *const *cells, int32_t *conflict, Err *e) {
    *conflict = -1;
    int64_t row = image_claim(im, 1, e);
    return row < 0 ? -1 : image_insert_at(im, row, cells, conflict, e);
}
void image_delete(Image *im, int64_t row) {
    im->dirty[row] |= DIRTY_DELETED;
    __atomic_store_n(&im->live[row], ROW_DEAD, __ATOMIC_RELEASE);
}
void image_undelete(Image *im, int64_t row) {
    im->dirty[row] &= (uint8_t)~DIRTY_DELETED;
    __atomic_store_n(&im->live[row], ROW_LIVE, __ATOMIC_RELEASE);
    image_back_in_order(im, row);
}
