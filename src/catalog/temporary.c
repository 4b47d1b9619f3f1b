/* temporary.c - a catalog without the temporary objects of others: what is kept of it, and what a session lists. */
#include "catalog/catalog.h"

typedef struct Seen {
    const Catalog *c;
    Arena *a;
    const char *temp; /* the schema that is seen; NULL: none */
} Seen;
typedef bool (*IsHidden)(const Seen *x, const void *object);

static bool is_hidden(const Seen *x, const char *key) {
    return key_is_temporary(key) && (!x->temp || !key_is_in(key, x->temp));
}
static bool table_is(const Seen *x, const void *t) { return is_hidden(x, ((const Table *)t)->name); }
static bool view_is(const Seen *x, const void *v) { return is_hidden(x, ((const View *)v)->name); }
static bool foreign_is(const Seen *x, const void *f) { return is_hidden(x, ((const ForeignKey *)f)->table); }
static bool routine_is(const Seen *x, const void *r) { return is_hidden(x, ((const Routine *)r)->name); }
static bool sequence_is(const Seen *x, const void *q) { return is_hidden(x, ((const Sequence *)q)->name); }
static bool index_is(const Seen *x, const void *i) { return is_hidden(x, ((const IndexDef *)i)->name); }
static bool schema_is(const Seen *x, const void *n) {
    (void)x;
    return schema_is_temporary(((const Schema *)n)->name);
}
/* What is said of an object: by its name, or a routine's number. */
static bool object_is(const Seen *x, const char *name, int64_t routine) {
    for (int64_t i = 0; routine && i < x->c->n_routines; i++)
        if (x->c->routines[i]->id == routine) return is_hidden(x, x->c->routines[i]->name);
    return is_hidden(x, name) || schema_is_temporary(name);
}
static bool comment_is(const Seen *x, const void *k) {
    const Comment *of = k;
    return object_is(x, of->name, of->routine);
}
static bool privileges_is(const Seen *x, const void *p) {
    const Privileges *of = p;
    return object_is(x, of->name, of->routine);
}

static bool security_is(const Seen *x, const void *r) { return is_hidden(x, ((const RowSecurity *)r)->table); }

/* items: the address of an array of n pointers, which becomes one of the others. */
static bool leave_out(const Seen *x, void *items, int64_t *n, IsHidden hidden) {
    void **from, **to = arena_array(x->a, void *, *n + 1);
    int64_t kept = 0;
    if (!to) return false;
    memcpy(&from, items, sizeof from);
    for (int64_t i = 0; i < *n; i++)
        if (!hidden(x, from[i])) to[kept++] = from[i];
    memcpy(items, &to, sizeof to);
    *n = kept;
    return true;
}

static bool has_temporary(const Catalog *c) {
    bool has = false;
    for (int64_t i = 0; i < c->n_schemas; i++) has = has || schema_is_temporary(c->schemas[i]->name);
    return has;
}
const Catalog *catalog_seen(const Catalog *c, Arena *a, const char *temp, Catalog *room) {
    const Seen x = {c, a, temp};
    if (!has_temporary(c)) return c;
    *room = (Catalog){.version = c->version,
                      .arena = c->arena,
                      .enums = c->enums,
                      .rows = c->rows,
                      .ranges = c->ranges,
                      .functions = c->functions,
                      .names = c->names,
                      .instances = c->instances,
                      .next_id = c->next_id,
                      .n_tables = c->n_tables,
                      .tables = c->tables,
                      .n_views = c->n_views,
                      .views = c->views,
                      .n_foreign = c->n_foreign,
                      .foreign = c->foreign,
                      .n_routines = c->n_routines,
                      .routines = c->routines,
                      .n_domains = c->n_domains,
                      .domains = c->domains,
                      .n_sequences = c->n_sequences,
                      .sequences = c->sequences,
                      .n_index_defs = c->n_index_defs,
                      .index_defs = c->index_defs,
                      .n_comments = c->n_comments,
                      .comments = c->comments,
                      .n_roles = c->n_roles,
                      .roles = c->roles,
                      .n_privileges = c->n_privileges,
                      .privileges = c->privileges,
                      .n_schemas = c->n_schemas,
                      .schemas = c->schemas,
                      .row_security = c->row_security};
    const bool done = leave_out(&x, &room->tables, &room->n_tables, table_is) &&
                      leave_out(&x, &room->views, &room->n_views, view_is) &&
                      leave_out(&x, &room->foreign, &room->n_foreign, foreign_is) &&
                      leave_out(&x, &room->routines, &room->n_routines, routine_is) &&
                      leave_out(&x, &room->sequences, &room->n_sequences, sequence_is) &&
                      leave_out(&x, &room->index_defs, &room->n_index_defs, index_is) &&
                      leave_out(&x, &room->comments, &room->n_comments, comment_is) &&
                      leave_out(&x, &room->privileges, &room->n_privileges, privileges_is) &&
                      leave_out(&x, &room->row_security.items, &room->row_security.n, security_is) &&
                      leave_out(&x, &room->schemas, &room->n_schemas, schema_is);
    return done ? room : NULL;
}
