/* table_parts.c - see table_parts.h. */
#include "storage/table_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "storage/storage_int.h"
#include "storage/table_version.h"

TableParts *table_parts_new(Err *e) {
    TableParts *p = mem_calloc(NULL, (int64_t)sizeof *p, e);
    if (p) atomic_init(&p->refs, 1);
    return p;
}
TableParts *table_parts_share(TableParts *p) {
    if (p) atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}
void table_parts_drop(TableParts *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1) return;
    if (p->tablets) mem_free(NULL, p->tablets, p->cap_tablets * (int64_t)sizeof *p->tablets);
    if (p->dicts) mem_free(NULL, p->dicts, p->n_cols * (int64_t)sizeof *p->dicts);
    mem_free(NULL, p, (int64_t)sizeof *p);
}
static Status reserve(TableParts *p, int64_t n_tablets, int n_cols, Err *e) {
    p->cap_tablets = MAX_OF(n_tablets, INT64_C(1));
    p->n_cols = MAX_OF(n_cols, 1);
    p->tablets = mem_calloc(NULL, p->cap_tablets * (int64_t)sizeof *p->tablets, e);
    p->dicts = mem_calloc(NULL, p->n_cols * (int64_t)sizeof *p->dicts, e);
    return p->tablets && p->dicts ? ST_OK : ST_ERROR;
}
Status table_parts_reserve(TableParts *p, const Table *t, Err *e) { return reserve(p, t->n_tablets, t->n_cols, e); }
Status table_parts_copy(TableParts *p, const TableParts *from, Err *e) {
    TRY(reserve(p, from->n_tablets, from->n_cols, e));
    p->n_tablets = from->n_tablets;
    p->n_bases = from->n_bases;
    memcpy(p->bases, from->bases, sizeof p->bases);
    memcpy(p->tablets, from->tablets, (size_t)from->n_tablets * sizeof *p->tablets);
    memcpy(p->dicts, from->dicts, (size_t)from->n_cols * sizeof *p->dicts);
    p->own = from->own;
    return ST_OK;
}
int64_t table_parts_bytes(const TableParts *p) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < p->n_tablets; i++) bytes += p->tablets[i].block.bytes + p->tablets[i].deleted.bytes;
    for (int c = 0; c < p->n_cols; c++) bytes += p->dicts[c].entries.bytes;
    return bytes;
}
void table_part_name(char out[PART_NAME_ROOM], int64_t id, uint64_t seal) {
    snprintf(out, PART_NAME_ROOM, "%" PRId64 "-%016" PRIx64 ".part", id, seal);
}

/* ---- what is as it was ---- */
/* Codes mean what they meant. */
static bool has_same_dict(const TableParts *p, const Table *t, int col) {
    const Dict *d = t->cols[col].dict;
    return p->dicts[col].id == (d ? dict_id(d) : 0);
}
const DictPart *table_parts_dict(const TableParts *p, const Table *t, int col) {
    const Dict *d = t->cols[col].dict;
    if (t->n_cols > p->n_cols || !d || !has_same_dict(p, t, col)) return NULL;
    const DictPart *x = &p->dicts[col];
    return x->n == d->n && x->n_sorted == d->n_sorted ? x : NULL;
}
const TabletPart *table_parts_tablet(const TableParts *p, const Table *t, int64_t i, bool *deleted) {
    const Tablet *tab = t->tablets[i];
    *deleted = false;
    if (i >= p->n_tablets || p->tablets[i].id != tab->block->id || p->n_cols < t->n_cols) return NULL;
    for (int c = 0; c < t->n_cols; c++)
        if (!has_same_dict(p, t, c)) return NULL;
    const TabletPart *x = &p->tablets[i];
    *deleted = x->changes == table_version_changes(t, i);
    if (*deleted) return x;
    if (tablet_has_open(tab) || tablet_has_patches(tab)) return NULL;
    const TabletHeader *h = tab->block->bytes;
    return h->checksum == x->block.checksum && tab->block->size == x->block.bytes ? x : NULL;
}

/* ---- bases ---- */
uint32_t table_parts_base(const TableParts *p, uint64_t seal) {
    for (int i = 0; i < p->n_bases; i++)
        if (p->bases[i].seal == seal) return (uint32_t)i + 1;
    return 0;
}
typedef struct Base {
    PartFile file;
    int64_t live; /* bytes that are the table's as it is */
} Base;
static int by_live(const void *a, const void *b) {
    const Base *x = a, *y = b;
    return (x->live > y->live) - (x->live < y->live);
}
/* What the files have of the table, and how much none of them has. */
static int64_t count_live(const Table *t, const TableParts *before, Base *of) {
    int64_t rest = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        bool deleted;
        const TabletPart *x = table_parts_tablet(before, t, i, &deleted);
        if (x) of[x->block.file].live += x->block.bytes;
        else rest += tablet_bytes(t->tablets[i]);
        if (x && deleted) of[x->deleted.file].live += x->deleted.bytes;
    }
    for (int c = 0; c < t->n_cols; c++) {
        const DictPart *x = table_parts_dict(before, t, c);
        if (x) of[x->entries.file].live += x->entries.bytes;
        else if (t->cols[c].dict) rest += t->cols[c].dict->n * (int64_t)sizeof(Str);
    }
    return rest;
}
void table_parts_choose(const Table *t, const TableParts *before, TableParts *out) {
    enum { LEAST = 4096 };
    Base bases[BASES_MAX + 1] = {{.file = before->own}};
    const int n = before->n_bases + 1;
    out->n_bases = 0;
    for (int i = 1; i < n; i++) bases[i].file = before->bases[i - 1];
    int64_t written = count_live(t, before, bases);
    qsort(bases, (size_t)n, sizeof *bases, by_live);
    for (int i = 0; i < n; i++) {
        const Base *x = &bases[i];
        const bool kept = x->live >= LEAST && x->live > written && x->live * 2 >= x->file.bytes;
        if (kept && out->n_bases < BASES_MAX) out->bases[out->n_bases++] = x->file;
        else written += x->live;
    }
}
