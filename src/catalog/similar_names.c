#include "catalog/similar_names.h"

void catalog_hint_relation(const Catalog *c, const char *name, Err *e) {
    Similar s;
    similar_init(&s, name_of_key(name));
    const char *kind = "table";
    for (int64_t i = 0; i < c->n_tables; i++) similar_offer(&s, name_of_key(c->tables[i]->name));
    const char *table = s.best;
    for (int64_t i = 0; i < c->n_views; i++) similar_offer(&s, name_of_key(c->views[i]->name));
    if (s.best != table) kind = "view";
    if (s.best) err_hint(e, "Perhaps you meant the %s \"%s\".", kind, s.best);
}

Status catalog_no_relation(const Catalog *c, const char *name, int64_t position, Err *e) {
    const Slice in = key_has_schema(name) ? schema_of_key(name) : (Slice){0};
    err_at(e, position, ERR_UNDEFINED_TABLE, "relation \"%.*s%s%s\" does not exist", (int)in.len, in.ptr,
           in.len ? "." : "", name_of_key(name));
    catalog_hint_relation(c, name, e);
    return ST_ERROR;
}

void catalog_offer_routines(const Catalog *c, Similar *s) {
    for (int64_t i = 0; i < c->n_routines; i++) similar_offer(s, name_of_key(c->routines[i]->name));
}
