/* named_type.c - see named_type.h. */
#include "catalog/named_type.h"

#include "catalog/names.h"
#include "catalog/system_relation.h"
#include "types/numbers.h"

NamedType catalog_type_of_key(const Catalog *c, Slice key) {
    NamedType x = {0};
    name_read(key);
    if ((x.enumerated = enum_find(c->enums, key))) return x;
    if ((x.range = range_find(c->ranges, key, &x.multi))) return x;
    if ((x.composite = composite_find(c->rows, key))) return x;
    if ((x.domain = catalog_domain(c, key))) return x;
    if (!(x.table = catalog_table(c, key))) x.view = catalog_view(c, key);
    return x;
}

/* The name's key in a schema. False: it is longer than those of objects. */
enum { KEY_BYTES = 512 };
static bool key_in(const char *schema, const char *name, char key[KEY_BYTES]) {
    const size_t n = strlen(name), s = strcmp(schema, KEY_PUBLIC) == 0 ? 0 : strlen(schema);
    if (s + n + 3 > KEY_BYTES || system_schema(schema)) return false;
    if (s) {
        key[0] = key[s + 1] = KEY_MARK;
        memcpy(key + 1, schema, s);
    }
    memcpy(key + (s ? s + 2 : 0), name, n + 1);
    return true;
}
static NamedType in_schema(const Catalog *c, const char *schema, const char *name) {
    char key[KEY_BYTES];
    return key_in(schema, name, key) ? catalog_type_of_key(c, slice_of(key)) : (NamedType){0};
}

NamedType catalog_type(const Catalog *c, const char *schema, const char *name) {
    const SearchPath *p = search_path_now();
    NamedType x = {0};
    Type builtin;
    Err none = {0};
    if (key_has_schema(name)) return catalog_type_of_key(c, slice_of(name));
    if (schema) return in_schema(c, schema, name);
    const bool is_builtin = type_from_name(slice_of(name), 0, NULL, &builtin, &none) == ST_OK;
    if (is_builtin && !p->has_catalog) return x;
    if (!p->pinned) name_read_path(p->hash);
    for (int i = 0; i < p->n; i++) {
        const char *in = search_path_name(p, i);
        if (is_builtin && strcmp(in, "pg_catalog") == 0) return x;
        x = in_schema(c, in, name);
        if (named_type_found(&x)) return x;
    }
    return x;
}

const RangeType *catalog_range_constructor(const Catalog *c, const char *schema, const char *name, bool *multi) {
    const SearchPath *p = search_path_now();
    const RangeType *x = NULL;
    char key[KEY_BYTES];
    if (range_count(c->ranges) == 0) return NULL;
    if (!schema && !key_has_schema(name) && !p->pinned) name_read_path(p->hash);
    for (int i = 0; !x && i < (schema || key_has_schema(name) ? 1 : p->n); i++) {
        const bool is_key = key_has_schema(name);
        if (!is_key && !key_in(schema ? schema : search_path_name(p, i), name, key)) continue;
        const Slice of = slice_of(is_key ? name : key);
        name_read(of);
        x = range_constructor(c->ranges, of, multi);
    }
    return x;
}

const char *named_type_shown(Arena *a, const NamedType *x) {
    if (x->enumerated) return type_plain_name(enum_type(x->enumerated));
    if (x->composite) return type_plain_name(composite_type(x->composite));
    if (x->range) return type_plain_name(x->multi ? multirange_type(x->range) : range_type(x->range));
    return named_text(a, named_type_key(x));
}
