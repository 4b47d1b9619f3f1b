/* index_def.c - definitions of indexes. See index_def.h. */
#include "catalog/index_def.h"

#include "catalog/catalog_int.h"
#include "catalog/names.h"
#include "types/type.h"

/* ---- one block ---- */
static int64_t text_bytes(const char *s) { return s ? (int64_t)strlen(s) + 1 : 0; }
static int64_t def_bytes(const IndexDef *x) {
    int64_t n = (int64_t)sizeof *x + x->n_parts * (int64_t)sizeof(IndexPart) +
                (x->n_include + x->n_options) * (int64_t)sizeof(char *);
    n += text_bytes(x->name) + text_bytes(x->table) + text_bytes(x->method) + text_bytes(x->where);
    for (int i = 0; i < x->n_parts; i++)
        n += text_bytes(x->parts[i].text) + text_bytes(x->parts[i].opclass) + text_bytes(x->parts[i].collation);
    for (int i = 0; i < x->n_include; i++) n += text_bytes(x->include[i]);
    for (int i = 0; i < x->n_options; i++) n += text_bytes(x->options[i]);
    return n;
}
IndexDef *index_def_new(const IndexDef *like, Err *e) {
    IndexDef *x = mem_calloc(NULL, def_bytes(like), e);
    if (!x) return NULL;
    *x = *like;
    x->node = (EpochNode){0};
    x->parts = (IndexPart *)(void *)(x + 1);
    x->include = (char **)(void *)(x->parts + x->n_parts);
    x->options = x->include + x->n_include;
    char *at = (char *)(x->options + x->n_options);
    x->name = catalog_put_text(&at, like->name);
    x->table = catalog_put_text(&at, like->table);
    x->method = catalog_put_text(&at, like->method);
    x->where = catalog_put_text(&at, like->where);
    for (int i = 0; i < x->n_parts; i++) {
        x->parts[i] = like->parts[i];
        x->parts[i].text = catalog_put_text(&at, like->parts[i].text);
        x->parts[i].opclass = catalog_put_text(&at, like->parts[i].opclass);
        x->parts[i].collation = catalog_put_text(&at, like->parts[i].collation);
    }
    for (int i = 0; i < x->n_include; i++) x->include[i] = catalog_put_text(&at, like->include[i]);
    for (int i = 0; i < x->n_options; i++) x->options[i] = catalog_put_text(&at, like->options[i]);
    return x;
}
void index_def_free(IndexDef *x) {
    if (x) mem_free(NULL, x, def_bytes(x));
}
static void reclaim(EpochNode *n) { index_def_free((IndexDef *)(void *)n); }
void index_def_retire(EpochDomain *d, IndexDef *x) { epoch_retire(d, &x->node, def_bytes(x), reclaim); }

/* ---- of a table's own indexes ---- */
const char *table_index_name(const Table *t, int k) {
    return k < t->n_keys ? t->keys[k].name : t->exprs[k - t->n_keys].name;
}
int table_index_named(const Table *t, const char *name) {
    for (int k = 0; k < table_indexes(t); k++)
        if (strcmp(table_index_name(t, k), name) == 0) return k;
    return -1;
}
char *index_part_of_column(Arena *a, const char *column) {
    const Str name = str_make(column, (int64_t)strlen(column));
    if (name_is_plain(name)) return arena_strdup(a, column);
    char *out = arena_alloc(a, 2 * (int64_t)name.len + 3);
    if (out) out[name_quote(name, out)] = 0;
    return out;
}
Status index_def_of_table(Arena *a, const Table *t, int k, IndexDef *out) {
    static char btree[] = "btree";
    const ExprIndex *x = k < t->n_keys ? NULL : &t->exprs[k - t->n_keys];
    *out = (IndexDef){.name = (char *)(uintptr_t)table_index_name(t, k),
                      .table = t->name,
                      .method = btree,
                      .unique = true,
                      .nulls_not_distinct = x && x->nulls_not_distinct,
                      .n_parts = x ? x->n_parts : t->keys[k].n_cols,
                      .where = x ? x->where : NULL};
    if (!(out->parts = arena_array(a, IndexPart, out->n_parts + 1))) return ST_ERROR;
    for (int i = 0; i < out->n_parts; i++) {
        char *text = x ? x->parts[i] : index_part_of_column(a, t->cols[t->keys[k].cols[i]].name);
        if (!text) return ST_ERROR;
        out->parts[i] = (IndexPart){.text = text, .statistics = -1};
    }
    return ST_OK;
}
bool index_def_is_plain(const IndexDef *x) {
    bool plain = x->unique && strcmp(x->method, "btree") == 0 && !x->clustered && !x->n_include && !x->n_options;
    for (int i = 0; i < x->n_parts; i++) {
        const IndexPart *p = &x->parts[i];
        plain = plain && !p->opclass && !p->collation && !p->desc && !p->nulls_first && p->statistics < 0;
    }
    return plain;
}

/* ---- in the catalog ---- */
Status catalog_add_index_def(Catalog *c, IndexDef *x, Err *e) {
    TRY(catalog_room(c, &c->index_defs, c->n_index_defs, &c->room.index_defs, e));
    c->index_defs[c->n_index_defs++] = x;
    catalog_changed(c, x->name, NULL, 0);
    return ST_OK;
}
void catalog_remove_index_def(Catalog *c, const IndexDef *x) {
    for (int64_t i = 0; i < c->n_index_defs; i++) {
        if (c->index_defs[i] != x) continue;
        memmove(&c->index_defs[i], &c->index_defs[i + 1], (size_t)(--c->n_index_defs - i) * sizeof *c->index_defs);
        catalog_changed(c, x->name, NULL, 0);
        return;
    }
}
IndexDef *catalog_index_def(const Catalog *c, const char *table, const char *name) {
    name_read(slice_of(name));
    for (int64_t i = 0; i < c->n_index_defs; i++)
        if (strcmp(c->index_defs[i]->name, name) == 0 && strcmp(c->index_defs[i]->table, table) == 0)
            return c->index_defs[i];
    return NULL;
}
bool catalog_index_exists(const Catalog *c, Slice name, Table **table) {
    name_read(name);
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < table_indexes(c->tables[i]); k++) {
            if (!slice_eq(slice_of(table_index_name(c->tables[i], k)), name)) continue;
            if (table) *table = c->tables[i];
            return true;
        }
    for (int64_t i = 0; i < c->n_index_defs; i++) {
        if (!slice_eq(slice_of(c->index_defs[i]->name), name)) continue;
        Table *t = catalog_table(c, slice_of(c->index_defs[i]->table));
        if (!t || c->index_defs[i]->unique) continue; /* it is gone */
        if (table) *table = t;
        return true;
    }
    return false;
}
