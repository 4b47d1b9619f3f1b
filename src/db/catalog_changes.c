/* catalog_changes.c - see catalog_changes.h. */
#include "db/catalog_changes.h"

#include <stdlib.h>

#include "base/hash.h"
#include "db/catalog_file.h"

typedef enum Change { CREATED, ALTERED, DROPPED } Change;
static const char *const words[CATALOG_KINDS][3] = {
    [CATALOG_TABLE] = {"create table", "alter table", "drop table"},
    [CATALOG_VIEW] = {"create view", "alter view", "drop view"},
    [CATALOG_FOREIGN_KEY] = {"add foreign key", "alter foreign key", "drop foreign key"},
    [CATALOG_ROUTINE] = {"create routine", "alter routine", "drop routine"},
    [CATALOG_DOMAIN] = {"create domain", "alter domain", "drop domain"},
    [CATALOG_SEQUENCE] = {"create sequence", "alter sequence", "drop sequence"},
    [CATALOG_INDEX] = {"create index", "alter index", "drop index"},
    [CATALOG_SCHEMA] = {"create schema", "alter schema", "drop schema"},
    [CATALOG_ROLE] = {"create role", "alter role", "drop role"},
};

typedef struct Object {
    const char *key;
    uint64_t hash; /* of what the file has of it */
} Object;
typedef struct Objects {
    int64_t n;
    Object *items;
} Objects;

/* Routines of one name come in some order, which the hash gives. */
static int by_key(const void *a, const void *b) {
    const Object *x = a, *y = b;
    const int c = strcmp(x->key, y->key);
    return c ? c : (x->hash > y->hash) - (x->hash < y->hash);
}
static Status list(const Catalog *c, CatalogKind kind, Arena *a, Objects *out, Err *e) {
    BytesOut o = {.e = e};
    out->n = catalog_object_count(c, kind);
    out->items = arena_array(a, Object, out->n + 1);
    if (!out->items) return ST_ERROR;
    for (int64_t i = 0; i < out->n; i++) {
        o.len = 0;
        out->items[i].key = catalog_put_object(c, kind, i, &o);
        out->items[i].hash = hash_bytes(o.p, o.len);
    }
    if (out->n > 1) qsort(out->items, (size_t)out->n, sizeof *out->items, by_key);
    const bool failed = o.failed;
    bytes_out_release(&o);
    return failed ? ST_ERROR : ST_OK;
}
Status catalog_changes(const Catalog *before, const Catalog *after, Arena *a, CatalogChanges *out, Err *e) {
    for (int kind = 0; kind < CATALOG_KINDS; kind++) {
        Objects was, is;
        TRY(list(before, (CatalogKind)kind, a, &was, e));
        TRY(list(after, (CatalogKind)kind, a, &is, e));
        for (int64_t i = 0, k = 0; i < was.n || k < is.n;) {
            const int c = i == was.n ? 1 : k == is.n ? -1 : strcmp(was.items[i].key, is.items[k].key);
            const bool same = c == 0 && was.items[i].hash == is.items[k].hash;
            const CatalogChange x = {words[kind][c > 0   ? CREATED
                                                 : c < 0 ? DROPPED
                                                         : ALTERED],
                                     c < 0 ? was.items[i].key : is.items[k].key,
                                     kind != CATALOG_SCHEMA && kind != CATALOG_ROLE};
            if (!same && !vec_push(a, out, x)) return err_is_set(e) ? ST_ERROR : err_oom(e);
            i += c <= 0;
            k += c >= 0;
        }
    }
    return ST_OK;
}
