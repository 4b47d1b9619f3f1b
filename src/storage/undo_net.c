/* undo_net.c - what a transaction's log comes to, row by row: see "net changes" in table.h.
 *
 * A log says how to go back; here it is read together with the table as it is now. A row that the log's owner appended is known by where it is: behind the rows that
 * an UNDO_APPEND record found. Everything else that the log names was there before.
 */
#include "storage/storage_int.h"

#include <stdlib.h>

/* Rows of a tablet that were there before the log's first append to it. */
typedef struct Base { const Table *t; int64_t tablet, rows; } Base;
typedef struct Net {
    const UndoLog *u;
    Arena *a;
    VEC(Base) bases;
} Net;

static bool own_row(const Net *n, const Table *t, int64_t rowid) {
    for (int64_t i = 0; i < n->bases.len; i++)
        if (n->bases.items[i].t == t && n->bases.items[i].tablet == rowid >> 32) return (rowid & 0xffffffff) >= n->bases.items[i].rows;
    return false;
}
static bool find_bases(Net *n) {
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        bool known = r->kind != UNDO_APPEND;
        for (int64_t k = 0; !known && k < n->bases.len; k++) known = n->bases.items[k].t == r->t && n->bases.items[k].tablet == r->tablet;
        if (!known && !vec_push(n->a, &n->bases, ((Base){r->t, r->tablet, r->rows}))) return false;
    }
    return true;
}

static int by_rowid(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}
static int64_t sort_distinct(int64_t *v, int64_t n) {
    int64_t k = 0;
    qsort(v, (size_t)n, sizeof *v, by_rowid);
    for (int64_t i = 0; i < n; i++)
        if (k == 0 || v[k - 1] != v[i]) v[k++] = v[i];
    return k;
}
static bool is_deleted(const Table *t, int64_t rowid) { return tablet_row_deleted(t->tablets[rowid >> 32], rowid & 0xffffffff); }

static Status rows_of(Net *n, const Table *t, NetChange *c) {
    int64_t max_deleted = 0, max_updated = 0, max_inserted = 0, first;
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        if (r->t != t) continue;
        if (r->kind == UNDO_DELETE) max_deleted += r->n;
        else if (r->kind == UNDO_UPDATE) max_updated += r->n;
        else if (r->kind == UNDO_APPEND) max_inserted += r->n;
    }
    c->deleted = arena_alloc(n->a, max_deleted * 8 + 8);
    c->updated = arena_alloc(n->a, max_updated * 8 + 8);
    c->inserted = arena_alloc(n->a, max_inserted * 8 + 8);
    c->set = arena_calloc(n->a, t->n_cols + 1);
    if (!c->deleted || !c->updated || !c->inserted || !c->set) return ST_ERROR;
    for (int64_t i = 0; i < n->u->recs.len; i++) {
        const UndoRecord *r = &n->u->recs.items[i];
        if (r->t != t) continue;
        if (r->kind == UNDO_APPEND) {
            for (int64_t k = 0; k < r->n; k++)
                if (!is_deleted(t, first = rowid_make(r->tablet, r->rows + k))) c->inserted[c->n_inserted++] = first;
            continue;
        }
        for (int64_t k = 0; k < r->n; k++) {
            if (own_row(n, t, r->rowids[k])) continue;
            if (r->kind == UNDO_DELETE) c->deleted[c->n_deleted++] = r->rowids[k];
            else if (!is_deleted(t, r->rowids[k])) c->updated[c->n_updated++] = r->rowids[k], c->set[r->col] = 1;
        }
    }
    c->n_deleted = sort_distinct(c->deleted, c->n_deleted);
    c->n_updated = sort_distinct(c->updated, c->n_updated);
    return ST_OK;
}

Status undo_net(const UndoLog *u, Arena *a, int64_t *n_out, NetChange **out) {
    Net n = {.u = u, .a = a};
    VEC(NetChange) list = {0};
    if (!find_bases(&n)) return ST_ERROR;
    for (int64_t i = 0; i < u->recs.len; i++) {
        const UndoRecord *r = &u->recs.items[i];
        int64_t k = 0;
        while (k < list.len && list.items[k].table != r->t) k++;
        if (k == list.len && !vec_push(a, &list, ((NetChange){.table = r->t, .id = r->t->id, .content_before = r->content}))) return ST_ERROR;
        if (r->kind == UNDO_STATE || r->kind == UNDO_TABLETS) list.items[k].whole = true;
    }
    for (int64_t k = 0; k < list.len; k++)
        if (!list.items[k].whole) TRY(rows_of(&n, list.items[k].table, &list.items[k]));
    *n_out = list.len;
    *out = list.items;
    return ST_OK;
}

/* Cells of the rows as they are now; strings copied to the arena, dictionary columns as strings. */
static Status save_column(const Table *t, Arena *a, int col, int64_t n, const int64_t *rowids, Vec *out) {
    Phys phys = type_phys(t->cols[col].type);
    int64_t size = phys_size(phys);
    char *cells = arena_alloc(a, n * size + 16);
    uint8_t *valid = arena_alloc(a, n + 1);
    if (!cells || !valid) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) {
        int32_t pos = (int32_t)(rowids[i] & 0xffffffff);
        bool nulls = false;
        valid[i] = 1;
        tablet_decode(t, t->tablets[rowids[i] >> 32], col, 0, &pos, 1, (uint8_t)phys, cells + i * size, &valid[i], &nulls);
        if (!nulls) valid[i] = 1;
        if (phys != PH_STR || !valid[i]) continue;
        Str *s = (Str *)(void *)(cells + i * size);
        char *copy = arena_strndup(a, s->ptr, s->len);
        if (!copy) return ST_ERROR;
        *s = str_make(copy, s->len);
    }
    *out = (Vec){.data = cells, .valid = valid, .phys = (uint8_t)phys, .type = t->cols[col].type};
    return ST_OK;
}

Status net_save(NetChange *c, Arena *a) {
    const Table *t = c->table;
    if (c->whole) return ST_ERROR; /* nothing is known of its rows */
    if (!(c->values = arena_array(a, Vec, t->n_cols + 1)) || !(c->rows = arena_array(a, Vec, t->n_cols + 1))) return ST_ERROR;
    for (int col = 0; col < t->n_cols; col++) {
        if (c->set[col]) TRY(save_column(t, a, col, c->n_updated, c->updated, &c->values[col]));
        TRY(save_column(t, a, col, c->n_inserted, c->inserted, &c->rows[col]));
    }
    return ST_OK;
}

Status net_apply(const NetChange *c, UndoLog *u, Arena *tmp, Err *e) {
    Table *t = c->table;
    int64_t done = 0, changed = t->impl->changed_rows; /* counted when they were made */
    if (c->n_deleted > 0) TRY(table_delete(t, c->n_deleted, c->deleted, u, &done, e));
    if (done != c->n_deleted) return err_internal(e, "rows of table \"%s\" were gone", t->name);
    if (c->n_updated > 0) {
        int *cols = arena_array(tmp, int, t->n_cols + 1), n = 0;
        Vec *vals = arena_array(tmp, Vec, t->n_cols + 1);
        if (!cols || !vals) return err_is_set(e) ? ST_ERROR : err_oom(e);
        for (int col = 0; col < t->n_cols; col++)
            if (c->set[col]) vals[n] = c->values[col], cols[n++] = col;
        TRY(table_update(t, c->n_updated, c->updated, n, cols, vals, u, e));
    }
    if (c->n_inserted > 0) TRY(table_append(t, c->n_inserted, c->rows, u, NULL, e));
    t->impl->changed_rows = changed;
    return ST_OK;
}

int64_t undo_rows(const UndoLog *u) {
    int64_t n = 0;
    for (int64_t i = 0; i < u->recs.len; i++) n += u->recs.items[i].n;
    return n;
}
bool undo_is_whole(const UndoLog *u) {
    for (int64_t i = 0; i < u->recs.len; i++)
        if (u->recs.items[i].kind == UNDO_STATE || u->recs.items[i].kind == UNDO_TABLETS) return true;
    return false;
}

void undo_value(const UndoLog *u, const Table *t, int64_t rowid, int col, Value *out) {
    const Column *c = &t->cols[col];
    *out = (Value){.type = c->type};
    for (int64_t i = 0; u && i < u->recs.len; i++) { /* the oldest that names the cell */
        const UndoRecord *r = &u->recs.items[i];
        if (r->kind != UNDO_UPDATE || r->t != t || r->col != col) continue;
        for (int64_t k = 0; k < r->n; k++) {
            if (r->rowids[k] != rowid) continue;
            out->is_null = !r->valid[k];
            if (out->is_null) return;
            int64_t size = phys_size((Phys)column_phys(c));
            const char *cell = (const char *)r->cells + k * size;
            if (c->dict) {
                int32_t code;
                memcpy(&code, cell, sizeof code);
                out->u.str = c->dict->entries[code];
            } else {
                memcpy(value_cell(out), cell, (size_t)size);
            }
            return;
        }
    }
    int32_t pos = (int32_t)(rowid & 0xffffffff);
    uint8_t valid = 1;
    bool nulls = false;
    tablet_decode(t, t->tablets[rowid >> 32], col, 0, &pos, 1, (uint8_t)type_phys(c->type), value_cell(out), &valid, &nulls);
    out->is_null = nulls && !valid;
}
