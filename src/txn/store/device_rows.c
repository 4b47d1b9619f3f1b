/* device_rows.c - see device_rows.h. Kernels: codegen/prelude/txn/kr_device_rows.h. */
#include "txn/store/device_rows.h"

#include "codegen/prelude/txn/kr_device_rows_codes.h"
#include "codegen/prelude/txn/kr_image_codes.h"
#include "exec/device/device_rows.h"
#include "storage/table_version.h"
#include "txn/store/device_copy.h"
#include "txn/store/device_kernels.h"
#include "txn/store/store_int.h"

static_assert(RD_PIECES == ROW_PIECES, "crosses into kernels");
typedef struct Zone {
    uint64_t most, least; /* RD_ZONE_WORDS */
    int64_t nulls;
} Zone;
static_assert(sizeof(Zone) == RD_ZONE_WORDS * 8, "crosses into kernels");

/* What the table held on the host when the device had newer rows for the first time: its packed columns are read
 * there, also when others change the table meanwhile. */
typedef struct Base {
    _Atomic int64_t refs;
    int64_t version; /* of the table */
    TableVersion *held;
    MemAccount *account;
} Base;
/* A view: rows as they were at a boundary. */
typedef struct Rows {
    DeviceRows rows; /* first */
    Table table;
    _Atomic int64_t refs; /* the image, as long as it is of its rows, and statements */
    Base *base;
    TextHold *texts;              /* NULL: no strings */
    struct DeviceRowsView *maker; /* as long as the image has not changed */
    CodeCache *cache;
    CodeRef code;
    DevKernel *gather;
    Device *d;
    Arena *arena;
    int64_t *first; /* the image's row of each tablet */
    int64_t n_work;
    DevMem tablets;
    int64_t *dead_value; /* by column */
} Rows;
struct DeviceRowsView {
    Image *im;
    Device *d;
    const ImageKernels *kernels; /* the copy's */
    DevQueue *queue;             /* of those who look for rows, beside bulks */
    DevMem lookup;               /* a key on its way there, and the row on its way back */
    uint64_t changes;            /* of the device's copy when `now` was made */
    Rows *now;
    Base *base;
};
typedef struct DeviceRowsView View;

/* ---- kernels ---- */
/* `items` work-items have something to do. */
static Status launch(const View *v, DevQueue *q, ImageKernel kernel, int64_t items, uint64_t *p, Err *e) {
    p[RD_LIVE] = device_copy_address(v->im, v->im->live);
    return device_launch_over(v->d, q, v->kernels->kernels[kernel], items, 8, p, IK_PARAMS, e);
}

/* The same over the rows of a view. */
static Status launch_rows(const Rows *x, DevQueue *q, ImageKernel kernel, int64_t items, uint64_t *p, Err *e) {
    p[RD_TABLETS] = x->tablets.p;
    p[RD_N_TABLETS] = (uint64_t)x->table.n_tablets;
    p[RD_PLACES] = (uint64_t)x->rows.n_places;
    return launch(x->maker, q, kernel, items, p, e);
}

static Status make_deleted(const DeviceRows *r, DevQueue *q, DevPtr bits, Err *e) {
    const Rows *x = (const Rows *)(const void *)r;
    uint64_t p[IK_PARAMS] = {[RD_BITS] = bits};
    return launch_rows(x, q, RD_DELETED, r->n_places / 64, p, e);
}
/* Where upload() has put the descriptions of columns. */
static DevPtr column_words(const Rows *x) {
    return x->tablets.p + (uint64_t)(x->table.n_tablets * RD_TABLET_WORDS * 8);
}
static Status make_column(const DeviceRows *r, DevQueue *q, int32_t col, DevPtr cells, DevPtr bits, Err *e) {
    const Rows *x = (const Rows *)(const void *)r;
    const Image *im = x->maker->im;
    uint64_t p[IK_PARAMS] = {[RD_COLS] = column_words(x) + (uint64_t)(col * CELL_COL_WORDS * 8),
                             [RD_TO] = cells,
                             [RD_BITS] = bits,
                             [RD_DEAD] = (uint64_t)x->dead_value[col],
                             [RD_TEXTS] = device_copy_texts(im)};
    return launch_rows(x, q, RD_COLUMN, r->n_places, p, e);
}

static_assert(sizeof(DeviceText) == RD_TEXT_WORDS * 8, "crosses into kernels");
static Status make_texts(const DeviceRows *r, DevQueue *q, int64_t n, DevPtr list, DevPtr to, Err *e) {
    const Rows *x = (const Rows *)(const void *)r;
    uint64_t p[IK_PARAMS] = {[RD_COLS] = list, [RD_WORK] = (uint64_t)n, [RD_TO] = to};
    return device_launch_over(x->d, q, x->gather, n, 8, p, IK_PARAMS, e);
}

/* ---- tablets ---- */
/* The table's tablets lie in the image one after the other, and nothing lies between them. */
static bool in_order(const Image *im) {
    int64_t row = 0;
    for (int64_t k = 0; k < im->table->n_tablets; k++) {
        if (home_first_row(im, k) != row) return false;
        row += im->table->tablets[k]->rows;
    }
    return true;
}
static int64_t rows_of_tablets(const Table *t) {
    int64_t rows = 0;
    for (int64_t k = 0; k < t->n_tablets; k++) rows += t->tablets[k]->rows;
    return rows;
}
/* The view's tablets without columns: the table's own, then runs of TABLET_ROWS rows. */
static Status cut_tablets(Rows *v, bool own, Err *e) {
    const Image *im = v->maker->im;
    const Table *t = table_version_view(v->base->held);
    int64_t rows = atomic_load(&im->rows), row = 0, place = 0, kept = own ? t->n_tablets : 0,
            more = rows - (own ? rows_of_tablets(t) : 0), n = kept + (more + TABLET_ROWS - 1) / TABLET_ROWS;
    int64_t *places = arena_array(v->arena, int64_t, n + 1);
    v->first = arena_array(v->arena, int64_t, n + 1);
    v->table.tablets = arena_array(v->arena, Tablet *, n + 1);
    Tablet *tablets = arena_array(v->arena, Tablet, n + 1);
    if (!places || !v->first || !v->table.tablets || !tablets) return err_oom(e);
    for (int64_t k = 0; k < n; k++) {
        Tablet *x = &tablets[k];
        *x = (Tablet){.is_delta = true, .rows = MIN_OF(rows - row, (int64_t)TABLET_ROWS)};
        if (k < kept) *x = (Tablet){.block = t->tablets[k]->block, .rows = t->tablets[k]->rows};
        if (!(x->cols = arena_array(v->arena, TabletColumn, t->n_cols))) return err_oom(e);
        if (k < kept) memcpy(x->cols, t->tablets[k]->cols, sizeof *x->cols * (size_t)t->n_cols);
        v->table.tablets[k] = x;
        v->first[k] = row;
        places[k] = place;
        row += x->rows;
        place += align_up(x->rows, 64);
        v->n_work += (x->rows + RD_ZONE_ROWS - 1) / RD_ZONE_ROWS;
    }
    v->table.n_tablets = n;
    v->rows.places = places;
    v->rows.n_places = place;
    return ST_OK;
}
static Status choose_columns(Rows *v, bool own, Err *e) {
    const Image *im = v->maker->im;
    bool grown = !own || atomic_load(&im->rows) > rows_of_tablets(im->table);
    DeviceColumn *cols = arena_array(v->arena, DeviceColumn, im->n_cols + 1);
    if (!cols) return err_oom(e);
    for (int32_t c = 0; c < im->n_cols; c++) {
        const ImageColumn *x = &im->cols[c];
        bool changed = grown || (x->used && im->impl->writes[c]);
        cols[c] = !changed ? COLUMN_OF_HOST : x->used ? COLUMN_OF_DEVICE : COLUMN_ABSENT;
    }
    v->rows.cols = cols;
    return ST_OK;
}

/* ---- what is true of them ---- */
/* Descriptions of tablets and columns go to the device; numbers come back. */
static Status upload(Rows *v, DevQueue *q, Err *e) {
    const Image *im = v->maker->im;
    int64_t n = v->table.n_tablets, words = n * RD_TABLET_WORDS + im->n_cols * CELL_COL_WORDS, work = 0;
    uint64_t *w = arena_array(v->arena, uint64_t, words + 1);
    if (!w) return err_oom(e);
    for (int64_t k = 0; k < n; k++) {
        uint64_t *x = w + k * RD_TABLET_WORDS;
        x[0] = (uint64_t)v->rows.places[k];
        x[1] = (uint64_t)v->first[k];
        x[2] = (uint64_t)v->table.tablets[k]->rows;
        x[3] = (uint64_t)work;
        work += (v->table.tablets[k]->rows + RD_ZONE_ROWS - 1) / RD_ZONE_ROWS;
    }
    DeviceImageColumn *cols = (DeviceImageColumn *)(void *)(w + n * RD_TABLET_WORDS);
    for (int32_t c = 0; c < im->n_cols; c++)
        cols[c] = v->rows.cols[c] == COLUMN_OF_DEVICE ? device_copy_column(im, c) : (DeviceImageColumn){0};
    TRY(device_mem_need(v->d, NULL, &v->tablets, words * 8, e));
    return v->d->ops->copy_in(q, v->tablets.p, w, words * 8, e);
}
static Status look(Rows *v, DevQueue *q, Zone **zones, int64_t **dead, Err *e) {
    const Image *im = v->maker->im;
    const DeviceOps *ops = v->d->ops;
    int64_t n = v->table.n_tablets, zone_bytes = n * im->n_cols * (int64_t)sizeof(Zone), bytes = zone_bytes + n * 8;
    char *found = arena_alloc(v->arena, bytes + 8);
    DevPtr at = 0;
    if (!found) return err_oom(e);
    TRY(device_alloc(v->d, bytes + 8, &at, e));
    uint64_t p[IK_PARAMS] = {[RD_COUNTS] = at + (uint64_t)zone_bytes,
                             [RD_COLS] = column_words(v),
                             [RD_N_COLS] = (uint64_t)im->n_cols,
                             [RD_WORK] = (uint64_t)v->n_work,
                             [RD_TO] = at};
    Status st = ops->fill(q, at, 0, bytes, e);
    if (st == ST_OK) st = launch_rows(v, q, RD_DELETED, v->rows.n_places / 64, p, e);
    if (st == ST_OK) st = launch_rows(v, q, RD_ZONES, v->n_work * v->d->info.group_rows, p, e);
    if (st == ST_OK) st = ops->copy_out(q, found, at, bytes, e);
    st = device_settle(v->d, q, st, e);
    ops->free(v->d, at, bytes + 8);
    *zones = (Zone *)(void *)found;
    *dead = (int64_t *)(void *)(found + zone_bytes);
    return st;
}

static int64_t value_of(uint64_t turned) { return (int64_t)(turned ^ (UINT64_C(1) << 63)); }
static bool is_whole(uint8_t phys) { return phys <= PH_I64; }
static const uint64_t there[1]; /* stands for bits that only the device has: they are asked for, never read */
static void describe_cells(TabletColumn *tc, uint8_t phys, const Zone *z) {
    *tc = (TabletColumn){.encoding = ENC_PLAIN, .phys = phys, .is_delta = true, .null_count = z->nulls};
    if (!is_whole(phys) || (z->most == 0 && z->least == 0)) return;
    tc->has_minmax = true;
    tc->max = value_of(z->most);
    tc->min = value_of(~z->least);
}
static void merge_zone(Zone *all, const Zone *z) {
    all->most = MAX_OF(all->most, z->most);
    all->least = MAX_OF(all->least, z->least);
    all->nulls += z->nulls;
}
static bool is_key(const Table *t, int32_t c) {
    for (int k = 0; k < t->n_keys; k++)
        if (t->keys[k].n_cols == 1 && t->keys[k].cols[0] == c) return true;
    return false;
}
/* Only what holds for rows that the statistics have not seen. */
static void describe_stats(const Table *t, int32_t c, const Zone *all, int64_t rows, ColumnStats *s) {
    s->sketch = NULL;
    s->has_range = is_whole((uint8_t)type_phys(t->cols[c].type)) && (all->most != 0 || all->least != 0);
    s->max = value_of(all->most);
    s->min = value_of(~all->least);
    s->null_count = all->nulls;
    s->unique &= is_key(t, c);
    s->sorted = false;
    if (s->distinct > (double)rows) s->distinct = (double)MAX_OF(rows, INT64_C(1));
}
static Status describe_all(Rows *v, const Zone *zones, const int64_t *dead, Err *e) {
    const Image *im = v->maker->im;
    const Table *from = table_version_view(v->base->held);
    Table *t = &v->table;
    bool *nulls = arena_array(v->arena, bool, im->n_cols + 1);
    t->cols = arena_array(v->arena, Column, im->n_cols + 1);
    v->dead_value = arena_array(v->arena, int64_t, im->n_cols + 1);
    if (!nulls || !t->cols || !v->dead_value) return err_oom(e);
    t->live_rows = 0;
    for (int64_t k = 0; k < t->n_tablets; k++) {
        int64_t holes = dead[k];
        t->tablets[k]->n_deleted = holes;
        t->tablets[k]->deleted = holes ? there : NULL;
        t->live_rows += t->tablets[k]->rows - holes;
    }
    for (int32_t c = 0; c < im->n_cols; c++) {
        Zone all = {0};
        t->cols[c] = from->cols[c];
        if (v->rows.cols[c] == COLUMN_OF_HOST) continue;
        t->cols[c].dict = NULL;
        for (int64_t k = 0; k < t->n_tablets; k++) merge_zone(&all, &zones[k * im->n_cols + c]);
        nulls[c] = all.nulls > 0;
        for (int64_t k = 0; k < t->n_tablets; k++) {
            TabletColumn *tc = &t->tablets[k]->cols[c];
            describe_cells(tc, (uint8_t)type_phys(t->cols[c].type), &zones[k * im->n_cols + c]);
            tc->validity = nulls[c] ? there : NULL;
        }
        describe_stats(from, c, &all, t->live_rows, &t->cols[c].stats);
        v->dead_value[c] = t->cols[c].stats.has_range ? t->cols[c].stats.min : 0;
    }
    v->rows.may_have_null = nulls;
    return ST_OK;
}

static Status fill_view(Rows *v, Err *e) {
    static _Atomic int64_t views = 1;
    View *maker = v->maker;
    Image *im = maker->im;
    bool own = in_order(im);
    Zone *zones = NULL;
    int64_t *dead = NULL;
    v->table = *table_version_view(v->base->held);
    v->table.on_device = &v->rows;
    v->table.version = -atomic_fetch_add(&views, 1); /* as no table has it */
    v->rows = (DeviceRows){.device = v->d, .deleted = make_deleted, .column = make_column, .texts = make_texts};
    v->code = code_again(v->cache, &maker->kernels->code);
    v->gather = maker->kernels->kernels[RD_GATHER_TEXTS];
    if (device_copy_has_texts(im) && !(v->texts = device_copy_hold_texts(im, e))) return ST_ERROR;
    TRY(cut_tablets(v, own, e));
    TRY(choose_columns(v, own, e));
    Status st = upload(v, maker->queue, e);
    if (st == ST_OK) st = look(v, maker->queue, &zones, &dead, e);
    if (st != ST_OK) return device_settle(v->d, maker->queue, st, e); /* what is uploaded is in memory that goes now */
    return describe_all(v, zones, dead, e);
}

/* ---- how long they last ---- */
static void base_release(Base *b) {
    if (!b || atomic_fetch_sub(&b->refs, 1) > 1) return;
    table_version_discard(b->held);
    mem_free(b->account, b, (int64_t)sizeof *b);
}
static void rows_release(Rows *v) {
    if (!v || atomic_fetch_sub(&v->refs, 1) > 1) return;
    Arena *arena = v->arena; /* holds v itself */
    device_mem_free(v->d, &v->tablets);
    code_release(v->cache, &v->code);
    text_hold_release(v->texts);
    base_release(v->base);
    arena_free(arena);
}
void device_rows_keep(const Table *view) {
    Rows *v = (Rows *)(uintptr_t)view->on_device;
    atomic_fetch_add(&v->refs, 1);
}
void device_rows_release(const Table *view) { rows_release((Rows *)(uintptr_t)view->on_device); }

/* The table as it is on the host, now or since it changed last. */
static Status need_base(View *v, Err *e) {
    Table *t = v->im->table;
    if (v->base && v->base->version == t->version) return ST_OK;
    base_release(v->base);
    MemAccount *account = v->im->account->parent; /* it may outlive the image */
    if (!(v->base = mem_calloc(account, (int64_t)sizeof *v->base, e))) return ST_ERROR;
    *v->base = (Base){.version = t->version, .account = account};
    atomic_init(&v->base->refs, 1);
    if (table_version_prepare(t, &v->base->held, e) == ST_OK) return ST_OK;
    base_release(v->base);
    v->base = NULL;
    return ST_ERROR;
}
static Status rows_new(View *v, Rows **out, Err *e) {
    TRY(need_base(v, e));
    Arena *a = arena_new(v->im->account->parent, e); /* as above */
    Rows *x = a ? arena_new_of(a, Rows) : NULL;
    if (!x) {
        arena_free(a);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *x = (Rows){.maker = v, .cache = v->kernels->cache, .d = v->d, .arena = a, .base = v->base};
    atomic_init(&x->refs, 1);
    atomic_fetch_add(&v->base->refs, 1);
    if (fill_view(x, e) == ST_OK) {
        arena_set_err(a, NULL);
        *out = x;
        return ST_OK;
    }
    rows_release(x);
    return err_is_set(e) ? ST_ERROR : err_oom(e);
}

/* ---- what stays from bulk to bulk: kernels and a queue ---- */
void device_rows_free(Image *im) {
    View *v = im->device_rows;
    if (!v) return;
    rows_release(v->now);
    base_release(v->base);
    device_mem_free(v->d, &v->lookup);
    device_queue_drop(v->d, &v->queue);
    mem_free(im->account, v, (int64_t)sizeof *v);
    im->device_rows = NULL;
}
static Status get(Image *im, View **out, Err *e) {
    *out = im->device_rows;
    if (*out) return ST_OK;
    View *v = im->device_rows = mem_calloc(im->account, (int64_t)sizeof *v, e);
    if (!v) return ST_ERROR;
    v->im = im;
    ImageKernels *k = device_copy_kernels(im);
    v->kernels = k;
    v->d = k->d;
    if (rehash_need(k, e) != ST_OK || device_queue_need(v->d, &v->queue, e) != ST_OK) {
        device_rows_free(im);
        return ST_ERROR;
    }
    *out = v;
    return ST_OK;
}
Status device_rows_view(Image *im, const Table **out, Err *e) {
    View *v;
    TRY(get(im, &v, e));
    if (!v->now || v->changes != device_copy_changes(im)) {
        rows_release(v->now);
        v->now = NULL;
        TRY(rows_new(v, &v->now, e));
        v->changes = device_copy_changes(im);
    }
    *out = &v->now->table;
    return ST_OK;
}

/* ---- one row ---- */
enum { FIND_KEY_WORDS = CELL_COL_WORDS + 2 };
/* Descriptions of the key's columns, its values, and the bytes of its strings, which will be at `at`. */
static Status describe_key(const Image *im, const ImageIndex *x, const void *const *keys, Arena *a, DevPtr at,
                           uint64_t **out, int64_t *bytes, Err *e) {
    int64_t size = x->n_cols * FIND_KEY_WORDS * 8, texts = 0;
    for (int32_t i = 0; i < x->n_cols; i++) {
        uint8_t phys = im->cols[x->cols[i]].phys;
        if (phys == PH_STR) texts += ((const Str *)keys[i])->len;
        if (phys == PH_INTERVAL || phys == PH_F32 || phys == PH_F64)
            return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "a key of this type is not looked up on a device");
    }
    uint64_t *w = *out = arena_calloc(a, size + texts + 8), *values = w ? w + x->n_cols * CELL_COL_WORDS : NULL;
    if (!w) return err_oom(e);
    char *text = (char *)w + size;
    for (int32_t i = 0; i < x->n_cols; i++, values += 2) {
        uint8_t phys = im->cols[x->cols[i]].phys;
        ((DeviceImageColumn *)(void *)w)[i] = device_copy_column(im, x->cols[i]);
        if (phys != PH_STR) {
            memcpy(values, keys[i], (size_t)phys_size((Phys)phys));
            continue;
        }
        Str s = *(const Str *)keys[i];
        if (s.len) memcpy(text, s.ptr, s.len);
        values[0] = at + (uint64_t)(text - (char *)w);
        values[1] = s.len;
        text += s.len;
    }
    *bytes = size + texts;
    return ST_OK;
}
static Status run_find(View *v, const ImageIndex *x, const void *const *keys, uint64_t hash, Arena *a, uint64_t *found,
                       int64_t found_bytes, Err *e) {
    enum { KEY_MOST = 1 << 16 };
    const DeviceOps *ops = v->d->ops;
    const Image *im = v->im;
    int64_t bytes = 0;
    uint64_t *key = NULL, p[IK_PARAMS] = {0};
    TRY(device_mem_need(v->d, NULL, &v->lookup, KEY_MOST + found_bytes, e));
    const DevPtr at = v->lookup.p;
    TRY(describe_key(im, x, keys, a, at, &key, &bytes, e));
    if (bytes > KEY_MOST)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "a key of %lld bytes is not looked up on a device",
                       (long long)bytes);
    Status st = ops->copy_in(v->queue, at, key, bytes, e);
    p[RD_COLS] = at;
    p[RD_N_COLS] = (uint64_t)x->n_cols;
    p[RD_TO] = at + KEY_MOST;
    p[RD_TEXTS] = device_copy_texts(im);
    p[RD_SLOTS] = device_copy_address(im, x->slots);
    p[RD_MASK] = (uint64_t)x->mask;
    p[RD_HASH] = hash;
    p[RD_DENSE] = (uint64_t)(index_dense_row(im, x, keys) + 1);
    p[RD_MARKS] = device_copy_address(im, im->dirty);
    for (int k = 0; k < ROW_PIECES; k++) {
        p[RD_PIECE + 2 * k] = device_copy_address(im, im->pieces[k].rows);
        p[RD_PIECE + 2 * k + 1] = (uint64_t)(im->pieces[k].rows ? im->pieces[k].stride : 0);
    }
    if (st == ST_OK) st = launch(v, v->queue, RD_FIND, 1, p, e);
    if (st == ST_OK) st = ops->copy_out(v->queue, found, at + KEY_MOST, found_bytes, e);
    return device_settle(v->d, v->queue, st, e);
}
Status device_rows_find(Image *im, int32_t index, const void *const *keys, Arena *a, DeviceRow *out, Err *e) {
    const ImageIndex *x = &im->indexes[index];
    uint8_t *phys = arena_alloc(a, x->n_cols);
    View *v;
    *out = (DeviceRow){.row = -1};
    if (!phys) return err_oom(e);
    TRY(get(im, &v, e));
    for (int32_t i = 0; i < x->n_cols; i++) phys[i] = im->cols[x->cols[i]].phys;
    int64_t bytes = 16;
    for (int k = 0; k < ROW_PIECES; k++) bytes += im->pieces[k].rows ? im->pieces[k].stride : 0;
    uint64_t *found = arena_calloc(a, bytes);
    if (!found) return err_oom(e);
    TRY(run_find(v, x, keys, key_hash(x->n_cols, phys, keys), a, found, bytes, e));
    if (found[0] == 0) return ST_OK;
    out->row = (int64_t)found[0] - 1;
    out->stored = !(found[1] & DIRTY_INSERTED) && stored_rowid(im, out->row) >= 0;
    const uint8_t *at = (const uint8_t *)(found + 2);
    for (int k = 0; k < ROW_PIECES; k++) {
        out->pieces[k] = at;
        at += im->pieces[k].rows ? im->pieces[k].stride : 0;
    }
    return ST_OK;
}
Status device_rows_cell(Image *im, const DeviceRow *r, int32_t col, Arena *a, const void **cell, bool *null, Err *e) {
    const ImageColumn *c = &im->cols[col];
    const uint8_t *row = r->pieces[c->piece], *at = row + (c->cells - im->pieces[c->piece].rows);
    *null = c->valid && !row[c->valid - im->pieces[c->piece].rows];
    *cell = at;
    if (c->phys != PH_STR || *null) return ST_OK;
    View *v;
    TRY(get(im, &v, e));
    uint64_t address;
    uint32_t len;
    memcpy(&address, at, sizeof address);
    memcpy(&len, at + sizeof address, sizeof len);
    char *bytes = arena_alloc(a, (int64_t)len + 1);
    Str *s = arena_new_of(a, Str);
    if (!bytes || !s) return err_oom(e);
    *s = str_make(bytes, len);
    *cell = s;
    if (len == 0) return ST_OK;
    return device_read(v->d, v->queue, bytes, address + device_copy_texts(im), len, e);
}
