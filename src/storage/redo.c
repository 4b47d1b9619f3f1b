/* redo.c - see redo.h.
 *
 * Numbers are short (base/bytes.h):
 *
 *     columns of the table
 *     rows that are gone
 *     rows that stay; where there are some: columns set, each: column, cells
 *     batches of rows that have come, the last one empty: rows, cells of each column
 *
 * Rows: how many, then runs of consecutive ones, each: how far from the end of the run before, how many.
 * Cells of a column: u8 form; where some are NULL (CELLS_NULLS) a bit for each, set: not NULL; then cells side by side,
 * of the column's type_phys, or integers of as many bytes as they all need (the form's lower bits); or of strings the
 * length of each, then their bytes.
 *
 * Numbers of rows behind bulks: rows that have moved, each: where from, where to; runs of rows that have come, each:
 * how far from the end of the run before, how many.
 *
 * An update that is applied may move a row that had stayed when it was made, since its tablet is packed now; so it is
 * made with an undo log, which says where to.
 */
#include "storage/redo.h"

#include <stdlib.h>

#include "storage/storage_int.h"
#include "storage/undo_edits.h"

enum { BATCH_ROWS = 16384 };

enum { CELLS_NULLS = 0x80, CELLS_PLAIN = 0 }; /* else bytes of an integer: 1, 2, 4, 8 */

/* ---- writing ---- */
static void put_rowids(BytesOut *out, int64_t n, const int64_t *rowids) {
    int64_t end = 0;
    bytes_put_short(out, n);
    for (int64_t i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n && rowids[i + k] == rowids[i] + k;) k++;
        bytes_put_short(out, rowids[i] - end);
        bytes_put_short(out, k);
        end = rowids[i] + k;
    }
}
/* The first n of the rows that are in one tablet. */
static int64_t same_tablet(int64_t n, const int64_t *rowids) {
    int64_t k = 1;
    while (k < n && rowids[k] >> 32 == rowids[0] >> 32) k++;
    return k;
}
static Status read_cells(const Table *t, int col, int64_t n, const int64_t *rowids, Arena *a, char *cells,
                         uint8_t *valid, bool *has_nulls) {
    const uint8_t phys = (uint8_t)type_phys(t->cols[col].type);
    int32_t *pos = arena_array(a, int32_t, n + 1);
    if (!pos) return ST_ERROR;
    memset(valid, 1, (size_t)n);
    for (int64_t i = 0, k; i < n; i += k) {
        bool nulls = false;
        k = same_tablet(n - i, rowids + i);
        for (int64_t j = 0; j < k; j++) pos[j] = (int32_t)(rowids[i + j] & 0xffffffff);
        tablet_decode(t, t->tablets[rowids[i] >> 32], col, 0, pos, k, phys, cells + i * phys_size((Phys)phys),
                      valid + i, &nulls);
        *has_nulls |= nulls;
    }
    return ST_OK;
}
static void put_strings(BytesOut *out, int64_t n, const Str *cells, const uint8_t *valid) {
    for (int64_t i = 0; i < n; i++) bytes_put_short(out, !valid || valid[i] ? (int64_t)cells[i].len : 0);
    for (int64_t i = 0; i < n; i++)
        if (!valid || valid[i]) bytes_put(out, cells[i].ptr, (int64_t)cells[i].len);
}
static int64_t int_at(const void *cells, int32_t size, int64_t i) {
    int64_t x = 0;
    memcpy(&x, (const char *)cells + i * size, (size_t)size);
    const int unused = 64 - 8 * size;
    return (int64_t)((uint64_t)x << unused) >> unused;
}
/* Bytes that all of the integers fit in; NULLs are 0. */
static int32_t bytes_needed(const void *cells, int32_t size, int64_t n) {
    int64_t min = 0, max = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = int_at(cells, size, i);
        min = MIN_OF(min, x);
        max = MAX_OF(max, x);
    }
    if (min >= INT8_MIN && max <= INT8_MAX) return 1;
    if (min >= INT16_MIN && max <= INT16_MAX) return 2;
    return min >= INT32_MIN && max <= INT32_MAX ? 4 : 8;
}
static void put_ints(BytesOut *out, int64_t n, const char *cells, int32_t size, int32_t to) {
    char some[8 * 512];
    for (int64_t i = 0, k; i < n; i += k) {
        k = MIN_OF(n - i, (int64_t)sizeof some / 8);
        for (int64_t j = 0; j < k; j++) memcpy(some + j * to, cells + (i + j) * size, (size_t)to); /* little-endian */
        bytes_put(out, some, k * to);
    }
}
static void put_valid(BytesOut *out, int64_t n, const uint8_t *valid) {
    for (int64_t i = 0; i < n; i += 8) {
        uint8_t bits = 0;
        for (int64_t k = i; k < MIN_OF(n, i + 8); k++) bits |= (uint8_t)((valid[k] != 0) << (k - i));
        bytes_put(out, &bits, 1);
    }
}
static bool is_narrow(Phys p) { return p == PH_I16 || p == PH_I32 || p == PH_I64; }
/* Cells side by side; those of NULLs are zero. valid NULL: none is. */
static void put_column(Phys phys, int64_t n, const char *cells, const uint8_t *valid, BytesOut *out) {
    const int32_t size = (int32_t)phys_size(phys);
    const int32_t to = is_narrow(phys) ? bytes_needed(cells, size, n) : CELLS_PLAIN;
    bytes_put(out, &(uint8_t){(uint8_t)(to | (valid ? CELLS_NULLS : 0))}, 1);
    if (valid) put_valid(out, n, valid);
    if (phys == PH_STR) put_strings(out, n, (const Str *)(const void *)cells, valid);
    else if (to) put_ints(out, n, cells, size, to);
    else bytes_put(out, cells, n * size);
}
static Status put_cells(const Table *t, int col, int64_t n, const int64_t *rowids, Arena *a, BytesOut *out) {
    const Phys phys = type_phys(t->cols[col].type);
    const int32_t size = (int32_t)phys_size(phys);
    char *cells = arena_calloc(a, (n + 1) * size);
    uint8_t *valid = arena_alloc(a, n + 1);
    bool has_nulls = false;
    if (!cells || !valid) return ST_ERROR;
    TRY(read_cells(t, col, n, rowids, a, cells, valid, &has_nulls));
    for (int64_t i = 0; has_nulls && i < n; i++)
        if (!valid[i]) memset(cells + i * size, 0, (size_t)size);
    put_column(phys, n, cells, has_nulls ? valid : NULL, out);
    return ST_OK;
}

/* Rows of new tablets that are live. */
static Status loaded_rows(const NetChange *c, Arena *a, int64_t *n, int64_t **out) {
    const Table *t = c->table;
    int64_t most = 0;
    for (int64_t i = 0; i < c->n_tablets; i++) most += t->tablets[c->tablets[i]]->rows;
    int64_t *rows = arena_array(a, int64_t, most + 1);
    if (!rows) return ST_ERROR;
    *n = 0;
    for (int64_t i = 0; i < c->n_tablets; i++) {
        const Tablet *tab = t->tablets[c->tablets[i]];
        for (int64_t r = 0; r < tab->rows; r++)
            if (!tablet_row_deleted(tab, r)) rows[(*n)++] = rowid_make(c->tablets[i], r);
    }
    *out = rows;
    return ST_OK;
}
static Status put_inserted(const Table *t, int64_t n, const int64_t *rowids, BytesOut *out, Err *e) {
    Arena *a = arena_new(out->acct, e);
    if (!a) return ST_ERROR;
    arena_set_err(a, e);
    Status st = ST_OK;
    for (int64_t i = 0, k; i < n && st == ST_OK; i += k) {
        k = MIN_OF(n - i, (int64_t)BATCH_ROWS);
        put_rowids(out, k, rowids + i);
        for (int c = 0; c < t->n_cols && st == ST_OK; c++) st = put_cells(t, c, k, rowids + i, a, out);
        arena_reset(a);
    }
    arena_free(a);
    return st;
}

int64_t redo_rows(const NetChange *c) {
    int64_t n = c->n_deleted + c->n_updated + c->n_inserted;
    for (int64_t i = 0; i < c->n_tablets; i++) n += c->table->tablets[c->tablets[i]]->rows;
    return n;
}
Status redo_put(const NetChange *c, Arena *a, BytesOut *out, Err *e) {
    const Table *t = c->table;
    int64_t n_loaded, n_set = 0, *loaded;
    bytes_put_short(out, t->n_cols);
    put_rowids(out, c->n_deleted, c->deleted);
    put_rowids(out, c->n_updated, c->updated);
    for (int i = 0; i < t->n_cols; i++) n_set += c->set[i];
    if (c->n_updated > 0) bytes_put_short(out, n_set);
    for (int i = 0; i < t->n_cols && c->n_updated > 0; i++) {
        if (!c->set[i]) continue;
        bytes_put_short(out, i);
        TRY(put_cells(t, i, c->n_updated, c->updated, a, out));
    }
    TRY(put_inserted(t, c->n_inserted, c->inserted, out, e));
    TRY(loaded_rows(c, a, &n_loaded, &loaded));
    TRY(put_inserted(t, n_loaded, loaded, out, e));
    bytes_put_short(out, 0);
    return out->failed ? ST_ERROR : ST_OK;
}

/* Value i as the column's cell; zero where it is NULL. */
static void given_cell(const Vec *v, int64_t i, Phys phys, char *cell) {
    const int64_t size = phys_size(phys);
    if (v->is_const) i = 0;
    memset(cell, 0, (size_t)size);
    if (v->valid && !v->valid[i]) return;
    if (v->phys == (uint8_t)phys) {
        memcpy(cell, (const char *)v->data + i * size, (size_t)size);
        return;
    }
    int128_t x =
        v->phys == PH_I128 ? ((const int128_t *)v->data)[i] : int_at(v->data, (int32_t)phys_size((Phys)v->phys), i);
    memcpy(cell, &x, (size_t)size);
}
static Status put_given(const Column *c, int64_t n, const Vec *v, BytesOut *out, Err *e) {
    const Phys phys = type_phys(c->type);
    const int64_t size = phys_size(phys);
    if (!v->is_const && !v->valid && v->phys == (uint8_t)phys) {
        put_column(phys, n, v->data, NULL, out);
        return ST_OK;
    }
    char *cells = mem_alloc(out->acct, n * size, e);
    uint8_t *valid = v->valid ? mem_alloc(out->acct, n, e) : NULL;
    const bool ok = cells && (!v->valid || valid);
    for (int64_t i = 0; ok && i < n; i++) {
        given_cell(v, i, phys, cells + i * size);
        if (valid) valid[i] = v->valid[v->is_const ? 0 : i];
    }
    if (ok) put_column(phys, n, cells, valid, out);
    mem_free(out->acct, cells, n * size);
    mem_free(out->acct, valid, n);
    return ok ? ST_OK : ST_ERROR;
}
Status redo_put_change(const Table *t, int64_t n, const int64_t *rowids, const NewRows *x, BytesOut *out, Err *e) {
    bytes_put_short(out, t->n_cols);
    put_rowids(out, x ? 0 : n, rowids);
    put_rowids(out, x ? n : 0, rowids);
    if (x) bytes_put_short(out, x->n_cols);
    for (int32_t i = 0; x && i < x->n_cols; i++) {
        bytes_put_short(out, x->cols[i]);
        TRY(put_given(&t->cols[x->cols[i]], n, &x->vals[i], out, e));
    }
    bytes_put_short(out, 0);
    return out->failed ? ST_ERROR : ST_OK;
}

/* ---- where rows are ---- */
void redo_places_free(RedoPlaces *p) {
    mem_free(p->acct, p->items, p->cap * (int64_t)sizeof *p->items);
    *p = (RedoPlaces){.acct = p->acct};
}
/* The first that ends behind the row. */
static int64_t first_behind(const RedoPlaces *p, int64_t row) {
    int64_t lo = 0, hi = p->n;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (p->items[mid].first + p->items[mid].n <= row) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
static int64_t place_of(const RedoPlaces *p, int64_t row) {
    const int64_t i = first_behind(p, row);
    if (i == p->n || p->items[i].first > row) return row;
    return p->items[i].at + (row - p->items[i].first);
}
static Status insert_place(RedoPlaces *p, int64_t i, RedoPlace x, Err *e) {
    if (p->n == p->cap) {
        const int64_t cap = MAX_OF(p->cap * 2, INT64_C(64)), size = (int64_t)sizeof *p->items;
        RedoPlace *more = mem_realloc(p->acct, p->items, p->cap * size, cap * size, e);
        if (!more) return ST_ERROR;
        p->items = more;
        p->cap = cap;
    }
    memmove(p->items + i + 1, p->items + i, (size_t)(p->n - i) * sizeof *p->items);
    p->items[i] = x;
    p->n++;
    return ST_OK;
}
/* Takes [first, end) out. */
static Status cut_places(RedoPlaces *p, int64_t first, int64_t end, Err *e) {
    for (int64_t i = first_behind(p, first); i < p->n && p->items[i].first < end;) {
        RedoPlace *x = &p->items[i];
        const int64_t before = MAX_OF(first - x->first, INT64_C(0)), behind = MAX_OF(x->first + x->n - end, INT64_C(0));
        const RedoPlace rest = {end, behind, x->at + (end - x->first)};
        if (before > 0) {
            x->n = before;
            i++;
            if (behind > 0) TRY(insert_place(p, i, rest, e));
        } else if (behind > 0) {
            *x = rest;
        } else {
            memmove(x, x + 1, (size_t)(p->n - i - 1) * sizeof *x);
            p->n--;
        }
    }
    return ST_OK;
}
/* Rows first .. first + n - 1 of the log are at, at + 1, ... from here on. */
static Status put_place(RedoPlaces *p, int64_t first, int64_t n, int64_t at, Err *e) {
    TRY(cut_places(p, first, first + n, e));
    if (first == at) return ST_OK;
    const int64_t i = first_behind(p, first);
    RedoPlace *last = i > 0 ? &p->items[i - 1] : NULL;
    if (last && last->first + last->n == first && last->at + last->n == at) {
        last->n += n;
        return ST_OK;
    }
    return insert_place(p, i, (RedoPlace){first, n, at}, e);
}

/* ---- reading ---- */
typedef struct Reading {
    const Table *t;
    int64_t most; /* rows that may be deleted or updated */
    BytesIn *in;
    Arena *a;
    RedoEach each;
    void *ctx;
    Err *e;
} Reading;

/* False: in->failed, or no memory. More than `most` are none. */
static bool get_rowids(Reading *x, int64_t most, int64_t *n, int64_t **out) {
    int64_t end = 0, got = 0;
    *n = bytes_get_short_count(x->in, most);
    *out = arena_array(x->a, int64_t, *n + 1);
    if (!*out) return false;
    while (got < *n && !x->in->failed) {
        const int64_t first = end + bytes_get_short(x->in), k = bytes_get_short_count(x->in, *n - got);
        if (first < 0 || k == 0) x->in->failed = true;
        for (int64_t i = 0; i < k && !x->in->failed; i++) (*out)[got++] = first + i;
        end = first + k;
    }
    return !x->in->failed;
}
static Status get_strings(Reading *x, int64_t n, Str *cells) {
    BytesIn *in = x->in;
    int64_t *lens = arena_array(x->a, int64_t, n + 1), total = 0;
    if (!lens) return ST_ERROR;
    for (int64_t i = 0; i < n && !in->failed; i++) {
        lens[i] = bytes_get_short_count(in, in->len - in->at - total);
        total += lens[i];
    }
    if (total > in->len - in->at) in->failed = true;
    for (int64_t i = 0; i < n && !in->failed; i++) {
        cells[i] = str_make(in->p + in->at, lens[i]);
        in->at += lens[i];
    }
    return ST_OK;
}
static Status get_valid(Reading *x, int64_t n, uint8_t **out) {
    const int64_t bytes = (n + 7) / 8;
    *out = arena_alloc(x->a, n + 1);
    if (!*out) return ST_ERROR;
    if (bytes > x->in->len - x->in->at) x->in->failed = true;
    if (x->in->failed) return ST_OK;
    for (int64_t i = 0; i < n; i++) (*out)[i] = (uint8_t)x->in->p[x->in->at + i / 8] >> (i & 7) & 1;
    x->in->at += bytes;
    return ST_OK;
}
static void get_ints(BytesIn *in, int64_t n, char *cells, int32_t size, int32_t from) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = int_at(in->p + in->at, from, i);
        memcpy(cells + i * size, &v, (size_t)size);
    }
    in->at += n * from;
}
static Status get_cells(Reading *x, int col, int64_t n, Vec *out) {
    const Type type = x->t->cols[col].type;
    const Phys phys = type_phys(type);
    const int32_t size = (int32_t)phys_size(phys);
    uint8_t form;
    BytesIn *in = x->in;
    *out = (Vec){.phys = (uint8_t)phys, .type = type};
    bytes_get(in, &form, 1);
    if (form & CELLS_NULLS) TRY(get_valid(x, n, &out->valid));
    const int32_t from = form & ~CELLS_NULLS;
    const bool ok = is_narrow(phys) ? from == 1 || from == 2 || from == 4 || from == 8 : from == CELLS_PLAIN;
    const int32_t least = phys == PH_STR ? 1 : from ? from : size;
    if (!ok || from > size || n > (in->len - in->at) / least) in->failed = true;
    if (in->failed) return ST_OK;
    if (!(out->data = arena_calloc(x->a, (n + 1) * size))) return ST_ERROR;
    if (phys == PH_STR) return get_strings(x, n, out->data);
    if (from) get_ints(in, n, out->data, size, from);
    else bytes_get(in, out->data, n * size);
    return ST_OK;
}

/* What is read is handed over, unless it was none. */
static Status hand_over(Reading *x, const RedoChange *c) {
    bool valid = true;
    if (x->in->failed || c->n == 0) return ST_OK;
    TRY(x->each(x->ctx, c, &valid, x->e));
    x->in->failed |= !valid;
    return ST_OK;
}
static Status read_deletes(Reading *x) {
    RedoChange c = {.kind = REDO_DELETED};
    if (!get_rowids(x, x->most, &c.n, &c.rows)) return err_is_set(x->e) ? ST_ERROR : ST_OK;
    return hand_over(x, &c);
}
static Status read_updates(Reading *x) {
    RedoChange c = {.kind = REDO_UPDATED};
    if (!get_rowids(x, x->most, &c.n, &c.rows)) return err_is_set(x->e) ? ST_ERROR : ST_OK;
    if (c.n == 0) return ST_OK;
    c.n_set = (int)bytes_get_short_count(x->in, x->t->n_cols);
    c.cols = arena_array(x->a, int, c.n_set + 1);
    c.vals = arena_array(x->a, Vec, c.n_set + 1);
    if (!c.cols || !c.vals) return ST_ERROR;
    for (int i = 0; i < c.n_set && !x->in->failed; i++) {
        c.cols[i] = (int)bytes_get_short_count(x->in, x->t->n_cols - 1);
        if (!x->in->failed) TRY(get_cells(x, c.cols[i], c.n, &c.vals[i]));
    }
    return hand_over(x, &c);
}
static Status read_batch(Reading *x, RedoChange *c) {
    c->n_set = x->t->n_cols;
    c->cols = arena_array(x->a, int, c->n_set + 1);
    c->vals = arena_array(x->a, Vec, c->n_set + 1);
    if (!c->cols || !c->vals) return ST_ERROR;
    for (int i = 0; i < c->n_set && !x->in->failed; i++) {
        c->cols[i] = i;
        TRY(get_cells(x, i, c->n, &c->vals[i]));
    }
    return hand_over(x, c);
}
static Status read_inserts(Reading *x) {
    RedoChange c;
    do {
        c = (RedoChange){.kind = REDO_INSERTED};
        arena_reset(x->a);
        if (!get_rowids(x, BATCH_ROWS, &c.n, &c.rows)) return err_is_set(x->e) ? ST_ERROR : ST_OK;
        if (c.n > 0) TRY(read_batch(x, &c));
    } while (c.n > 0 && !x->in->failed);
    return ST_OK;
}
static Status read_changes(Reading *x) {
    if (bytes_get_short(x->in) != x->t->n_cols) x->in->failed = true;
    if (!x->in->failed) TRY(read_deletes(x));
    if (!x->in->failed) TRY(read_updates(x));
    return x->in->failed ? ST_OK : read_inserts(x);
}
Status redo_read(const Table *t, int64_t most, MemAccount *acct, BytesIn *in, RedoEach each, void *ctx, bool *valid,
                 Err *e) {
    Reading x = {.t = t, .most = most, .in = in, .a = arena_new(acct, e), .each = each, .ctx = ctx, .e = e};
    if (!x.a) return ST_ERROR;
    arena_set_err(x.a, e);
    const Status st = read_changes(&x);
    arena_free(x.a);
    *valid = !in->failed && in->at == in->len;
    return st;
}

/* ---- applying ---- */
typedef struct Applying {
    Table *t;
    RedoPlaces *places;
    Arena *a; /* of one change */
    Err *e;
} Applying;

/* Rows that the table can have lost or changed. */
static int64_t most_rows(const Table *t) {
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) n += t->tablets[i]->rows;
    return n;
}
/* Numbers of rows of the table, all of them there. */
static bool find_rows(Applying *x, int64_t n, int64_t *rowids) {
    for (int64_t i = 0; i < n; i++) {
        rowids[i] = place_of(x->places, rowids[i]);
        const int64_t tablet = rowids[i] >> 32, row = rowids[i] & 0xffffffff;
        if (rowids[i] < 0 || tablet >= x->t->n_tablets || row >= x->t->tablets[tablet]->rows) return false;
        if (tablet_row_deleted(x->t->tablets[tablet], row)) return false;
    }
    return true;
}
/* The log's rows `named`, which were at `rowids`, have been updated: where they are now. */
static Status note_moved(Applying *x, const UndoLog *u, int64_t n, const int64_t *named, const int64_t *rowids) {
    TableEdits edits;
    bool *cols = arena_alloc(x->a, x->t->n_cols + 1);
    int64_t k = 0;
    if (!cols) return ST_ERROR;
    memset(cols, 1, (size_t)x->t->n_cols);
    TRY(undo_edits(u, 0, x->t, cols, x->a, &edits));
    for (int64_t i = 0; i < edits.updated.len; i++) {
        const RowEdit *r = &edits.updated.items[i];
        if (r->was == r->is) continue;
        while (k < n && rowids[k] != r->was) k++; /* they come in the order given */
        if (k == n) return err_internal(x->e, "a row that has moved is not among those that were updated");
        TRY(put_place(x->places, named[k], 1, r->is, x->e));
    }
    return ST_OK;
}
static Status update_rows(Applying *x, const RedoChange *c, const int64_t *rowids) {
    UndoLog *u = undo_new(x->places->acct, x->e);
    if (!u) return ST_ERROR;
    Status st = table_update(x->t, c->n, rowids, c->n_set, c->cols, c->vals, u, x->e);
    if (st == ST_OK) st = note_moved(x, u, c->n, c->rows, rowids);
    undo_free(u);
    return st;
}
static Status insert_rows(Applying *x, const RedoChange *c, int64_t *rowids) {
    const int64_t *named = c->rows;
    TRY(table_append(x->t, c->n, c->vals, NULL, rowids, x->e));
    for (int64_t i = 0, k; i < c->n; i += k) {
        for (k = 1; i + k < c->n && named[i + k] == named[i] + k && rowids[i + k] == rowids[i] + k;) k++;
        TRY(put_place(x->places, named[i], k, rowids[i], x->e));
    }
    return ST_OK;
}
static Status apply_change(void *ctx, const RedoChange *c, bool *valid, Err *e) {
    Applying *x = ctx;
    int64_t done;
    arena_reset(x->a);
    x->places->applied += c->n;
    int64_t *rowids = arena_array(x->a, int64_t, c->n);
    if (!rowids) return ST_ERROR;
    if (c->kind == REDO_INSERTED) return insert_rows(x, c, rowids);
    memcpy(rowids, c->rows, (size_t)c->n * sizeof *rowids);
    *valid = find_rows(x, c->n, rowids);
    if (!*valid) return ST_OK;
    return c->kind == REDO_DELETED ? table_delete(x->t, c->n, rowids, NULL, &done, e) : update_rows(x, c, rowids);
}
Status redo_apply(Table *t, RedoPlaces *places, BytesIn *in, bool *valid, Err *e) {
    Applying x = {.t = t, .places = places, .a = arena_new(places->acct, e), .e = e};
    if (!x.a) return ST_ERROR;
    arena_set_err(x.a, e);
    const Status st = redo_read(t, most_rows(t), places->acct, in, apply_change, &x, valid, e);
    arena_free(x.a);
    return st;
}

/* ---- rows of bulks ---- */
bool row_numbers_moved(RowNumbers *x, int64_t was, int64_t is) {
    return was == is || vec_push(x->arena, &x->moved, ((RowMove){was, is}));
}
bool row_numbers_come(RowNumbers *x, int64_t first, int64_t n) {
    RowsCome *last = x->come.len > 0 ? &x->come.items[x->come.len - 1] : NULL;
    if (last && last->first + last->n == first) last->n += n;
    else if (n > 0) return vec_push(x->arena, &x->come, ((RowsCome){first, n}));
    return true;
}
void redo_put_numbers(const RowNumbers *x, BytesOut *out) {
    int64_t end = 0;
    bytes_put_short(out, x->moved.len);
    for (int64_t i = 0; i < x->moved.len; i++) {
        bytes_put_short(out, x->moved.items[i].was);
        bytes_put_short(out, x->moved.items[i].is);
    }
    bytes_put_short(out, x->come.len);
    for (int64_t i = 0; i < x->come.len; i++) {
        bytes_put_short(out, x->come.items[i].first - end);
        bytes_put_short(out, x->come.items[i].n);
        end = x->come.items[i].first + x->come.items[i].n;
    }
}
/* False: in->failed, or no memory. */
static bool get_numbers(BytesIn *in, RowNumbers *out) {
    int64_t end = 0;
    const int64_t n_moved = bytes_get_short_count(in, in->len - in->at);
    for (int64_t i = 0; i < n_moved && !in->failed; i++) {
        const int64_t was = bytes_get_short(in), is = bytes_get_short(in);
        if (!vec_push(out->arena, &out->moved, ((RowMove){was, is}))) return false;
    }
    const int64_t n_come = bytes_get_short_count(in, in->len - in->at);
    for (int64_t i = 0; i < n_come && !in->failed; i++) {
        const int64_t first = end + bytes_get_short(in), n = bytes_get_short(in);
        if (first < 0 || n <= 0) in->failed = true;
        else if (!vec_push(out->arena, &out->come, ((RowsCome){first, n}))) return false;
        end = first + n;
    }
    return !in->failed;
}
static int by_was(const void *a, const void *b) {
    const RowMove *x = a, *y = b;
    return (x->was > y->was) - (x->was < y->was);
}
/* The first of those, sorted, that is not before the row. */
static int64_t first_moved(const RowNumbers *x, int64_t row) {
    int64_t lo = 0, hi = x->moved.len;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (x->moved.items[mid].was < row) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
/* The log's rows that are at the rows which have moved here: some of these may be gone, which does no harm. */
static bool find_moved(const RedoPlaces *p, const RowNumbers *here, RowNumbers *out) {
    for (int64_t i = 0; i < p->n; i++) {
        const RedoPlace *x = &p->items[i];
        for (int64_t k = first_moved(here, x->at); k < here->moved.len && here->moved.items[k].was < x->at + x->n; k++)
            if (!vec_push(out->arena, &out->moved,
                          ((RowMove){x->first + (here->moved.items[k].was - x->at), here->moved.items[k].is})))
                return false;
    }
    for (int64_t k = 0; k < here->moved.len; k++) {
        const RowMove *m = &here->moved.items[k];
        if (place_of(p, m->was) == m->was && !vec_push(out->arena, &out->moved, *m)) return false;
    }
    return true;
}
/* Of the log's rows that had moved: where they are now. */
static bool find_logged(const RedoPlaces *p, const RowNumbers *here, const RowNumbers *logged, RowNumbers *out) {
    for (int64_t i = 0; i < logged->moved.len; i++) {
        const RowMove *m = &logged->moved.items[i];
        const int64_t at = place_of(p, m->was), k = first_moved(here, at);
        const bool moved = k < here->moved.len && here->moved.items[k].was == at;
        if (!vec_push(out->arena, &out->moved, ((RowMove){m->is, moved ? here->moved.items[k].is : at}))) return false;
    }
    return true;
}
/* Both have as many rows that have come; they are the same ones, in the same order. */
static Status pair_come(RedoPlaces *p, const RowNumbers *here, const RowNumbers *logged, bool *valid, Err *e) {
    int64_t a = 0, b = 0, done_a = 0, done_b = 0;
    while (a < here->come.len && b < logged->come.len) {
        const RowsCome *x = &here->come.items[a], *y = &logged->come.items[b];
        const int64_t n = MIN_OF(x->n - done_a, y->n - done_b);
        TRY(put_place(p, y->first + done_b, n, x->first + done_a, e));
        done_a += n;
        done_b += n;
        if (done_a == x->n) a++, done_a = 0;
        if (done_b == y->n) b++, done_b = 0;
    }
    *valid = a == here->come.len && b == logged->come.len;
    return ST_OK;
}
Status redo_renumber(RedoPlaces *places, const RowNumbers *here, BytesIn *in, bool *valid, Err *e) {
    Arena *a = arena_new(places->acct, e);
    RowNumbers logged = {.arena = a}, now = {.arena = a};
    if (!a) return ST_ERROR;
    arena_set_err(a, e);
    Status st = ST_OK;
    *valid = false;
    if (here->moved.len > 0) qsort(here->moved.items, (size_t)here->moved.len, sizeof(RowMove), by_was);
    if (get_numbers(in, &logged)) {
        if (!find_moved(places, here, &now) || !find_logged(places, here, &logged, &now)) st = ST_ERROR;
        for (int64_t i = 0; i < now.moved.len && st == ST_OK; i++)
            st = put_place(places, now.moved.items[i].was, 1, now.moved.items[i].is, e);
        if (st == ST_OK) st = pair_come(places, here, &logged, valid, e);
    } else if (!in->failed) {
        st = ST_ERROR;
    }
    arena_free(a);
    return st;
}
