/* objects.c - the objects of a statement's catalog, numbered. See objects.h. */
#include "session/system/objects.h"

#include <stdlib.h>

#include "base/stack.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/index_names.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "types/composite.h"
#include "types/dec.h"
#include "types/enums.h"
#include "types/numbers.h"
#include "types/oid.h"

static const BuiltinType builtins[] = {
#include "session/system/builtin_types.inc"
};
const BuiltinType *builtin_types(int64_t *n) {
    *n = ARRAY_LEN(builtins);
    return builtins;
}

/* ---- numbers --------------------------------------------------------------------------------------- */

/* FNV-1a: base/hash.h can be told to hash all to one. */
static uint64_t mix(uint64_t h, const void *p, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ ((const unsigned char *)p)[i]) * UINT64_C(0x100000001b3);
    return h;
}
static int64_t derived(char kind, int64_t owner, const char *name) {
    uint64_t h = mix(UINT64_C(0xcbf29ce484222325), &kind, 1);
    h = mix(mix(h, &owner, sizeof owner), name, strlen(name));
    return OID_DERIVED + (int64_t)((h ^ h >> 32) & (OID_DERIVED - 1));
}
int64_t object_derived(const SysObjects *o, char kind, int64_t owner, const char *name) {
    return (void)o, derived(kind, owner, name);
}
/* One that no other object of the list has; 0 without memory. */
static int64_t number(SysObjects *o, char kind, int64_t owner, const char *name) {
    if (2 * o->n_derived >= o->cap_derived) {
        const int64_t cap = o->cap_derived ? 2 * o->cap_derived : 256, had = o->cap_derived;
        int64_t *old = o->derived, *now = arena_calloc(o->a, cap * (int64_t)sizeof *now);
        if (!now) return 0;
        for (int64_t i = 0; i < had; i++) {
            int64_t k = old[i] % cap;
            while (old[i] && now[k]) k = (k + 1) % cap;
            if (old[i]) now[k] = old[i];
        }
        o->derived = now;
        o->cap_derived = cap;
    }
    for (int64_t oid = derived(kind, owner, name);; oid = oid + 1 < 2 * (int64_t)OID_DERIVED ? oid + 1 : OID_DERIVED) {
        int64_t k = oid % o->cap_derived;
        while (o->derived[k] && o->derived[k] != oid) k = (k + 1) % o->cap_derived;
        if (o->derived[k]) continue;
        o->derived[k] = oid;
        o->n_derived++;
        return oid;
    }
}

/* ---- schemas ---------------------------------------------------------------------------------------- */

static Status add_spaces(SysObjects *o) {
    static const SysSpace always[] = {{OID_SCHEMA_CATALOG, "pg_catalog"},
                                      {OID_SCHEMA_TOAST, "pg_toast"},
                                      {OID_SCHEMA_PUBLIC, KEY_PUBLIC},
                                      {OID_SCHEMA_INFORMATION, "information_schema"}};
    for (int64_t i = 0; i < ARRAY_LEN(always); i++)
        if (!vec_push(o->a, &o->spaces, always[i])) return ST_ERROR;
    for (int64_t i = 0; i < o->c->n_schemas; i++) {
        const SysSpace x = {number(o, 'n', 0, o->c->schemas[i]->name), o->c->schemas[i]->name};
        if (!x.oid || !vec_push(o->a, &o->spaces, x)) return ST_ERROR;
    }
    return ST_OK;
}
const char *object_schema_name(const SysObjects *o, int64_t oid) {
    for (int64_t i = 0; i < o->spaces.len; i++)
        if (o->spaces.items[i].oid == oid) return o->spaces.items[i].name;
    return NULL;
}
static int64_t space_named(const SysObjects *o, Slice name) {
    for (int64_t i = 0; i < o->spaces.len; i++)
        if (slice_eq(slice_of(o->spaces.items[i].name), name)) return o->spaces.items[i].oid;
    return 0;
}
int64_t object_schema(const SysObjects *o, const char *name) { return space_named(o, slice_of(name)); }
int64_t object_schema_of(const SysObjects *o, const char *key) {
    return key_has_schema(key) ? space_named(o, schema_of_key(key)) : OID_SCHEMA_PUBLIC;
}

/* ---- types ------------------------------------------------------------------------------------------ */

static Status add_type(SysObjects *o, SysType t) {
    SysType array = {.oid = t.array, .element = t.oid, .name = arena_printf(o->a, "_%s", t.name), .space = t.space};
    if (array.name && t.key && !(array.key = key_beside(o->a, t.key, array.name))) return ST_ERROR;
    if (!array.name || !vec_push(o->a, &o->types, t)) return ST_ERROR;
    return !t.array || vec_push(o->a, &o->types, array) ? ST_OK : ST_ERROR;
}
static Status add_user_type(SysObjects *o, SysType t, char kind) {
    t.name = name_of_key(t.key);
    t.space = object_schema_of(o, t.key);
    if (!t.oid) t.oid = number(o, kind, 0, t.key);
    t.array = number(o, 'a', t.oid, t.key);
    return t.oid && t.array ? add_type(o, t) : ST_ERROR;
}
/* information_schema's domains: of none of the catalog's. Columns of the schema's views are of their base types. */
#define SCHEMA_KEY(nm)   \
    "\xff"               \
    "information_schema" \
    "\xff" nm
static char schema_names[][48] = {SCHEMA_KEY("cardinal_number"), SCHEMA_KEY("character_data"),
                                  SCHEMA_KEY("sql_identifier"), SCHEMA_KEY("time_stamp"), SCHEMA_KEY("yes_or_no")};
static char of_numbers[] = "cardinal_number_domain_check", of_words[] = "yes_or_no_check",
            now[] = "CURRENT_TIMESTAMP(2)", not_negative[] = "VALUE >= 0",
            yes_or_no[] = "(VALUE)::text = ANY (ARRAY['YES', 'NO'])";
static DomainCheck schema_checks[] = {{.name = of_numbers, .sql = not_negative}, {.name = of_words, .sql = yes_or_no}};
static const struct {
    int64_t oid;
    Domain domain;
} schema_domains[] = {
    {13221, {.id = -1, .name = schema_names[0], .type = {.id = T_INT4}, .n_checks = 1, .checks = &schema_checks[0]}},
    {13224, {.id = -2, .name = schema_names[1], .type = {.id = T_VARCHAR}}},
    {13226, {.id = -3, .name = schema_names[2], .type = {.id = T_TEXT, .flags = TF_NAME}}},
    {13232, {.id = -4, .name = schema_names[3], .type = {.id = T_TIMESTAMPTZ, .precision = 2}, .default_sql = now}},
    {13234,
     {.id = -5,
      .name = schema_names[4],
      .type = {.id = T_VARCHAR, .length = 3},
      .n_checks = 1,
      .checks = &schema_checks[1]}},
};

static Status add_types(SysObjects *o) {
    for (int64_t i = 0; i < ARRAY_LEN(schema_domains); i++)
        TRY(add_user_type(o,
                          (SysType){.oid = schema_domains[i].oid,
                                    .key = schema_domains[i].domain.name,
                                    .domain = &schema_domains[i].domain},
                          'd'));
    for (int64_t i = 0; i < ARRAY_LEN(builtins); i++) {
        SysType t = {.oid = builtins[i].oid,
                     .name = builtins[i].name,
                     .space = OID_SCHEMA_CATALOG,
                     .element = builtins[i].element,
                     .array = builtins[i].array,
                     .builtin = &builtins[i]};
        if (!vec_push(o->a, &o->types, t)) return ST_ERROR;
    }
    for (int64_t i = 0; i < enum_count(o->c->enums); i++) {
        const EnumType *x = enum_nth(o->c->enums, i);
        if (x) TRY(add_user_type(o, (SysType){.key = x->name, .enumerated = x}, 'e'));
    }
    for (int64_t i = 0; i < range_count(o->c->ranges); i++) {
        const RangeType *x = range_nth(o->c->ranges, i);
        if (!x) break;
        TRY(add_user_type(o, (SysType){.key = x->name, .range = x}, 'e'));
        TRY(add_user_type(o, (SysType){.key = x->multi, .range = x, .multi = true}, 'e'));
    }
    for (int64_t i = 0; i < o->c->n_domains; i++) {
        const Domain *d = o->c->domains[i];
        TRY(add_user_type(o, (SysType){.key = d->name, .domain = d}, 'd'));
    }
    return ST_OK;
}

/* ---- relations -------------------------------------------------------------------------------------- */

static Status add_class(SysObjects *o, SysClass c) { return vec_push(o->a, &o->classes, c) ? ST_OK : ST_ERROR; }

static Status add_system(SysObjects *o) {
    const SystemRelation *all;
    const int n = system_relations(&all);
    for (int i = 0; i < n; i++) {
        SysClass c = {.oid = all[i].oid,
                      .name = all[i].name,
                      .space = object_schema(o, all[i].schema),
                      .kind = all[i].kind,
                      .system = &all[i],
                      .n_cols = -1};
        if (!(c.type = number(o, 'r', c.oid, "")) || !(c.array = number(o, 'a', c.type, ""))) return ST_ERROR;
        TRY(add_class(o, c));
    }
    return ST_OK;
}
static Status table_columns(SysObjects *o, const Table *t, SysClass *c) {
    c->n_cols = t->n_cols;
    if (!(c->cols = arena_array(o->a, SysColumn, t->n_cols + 1))) return ST_ERROR;
    for (int i = 0; i < t->n_cols; i++) {
        const Column *x = &t->cols[i];
        c->cols[i] = (SysColumn){
            x->name, x->type, x->domain, x->not_null, column_is_identity(x->kind) ? NULL : x->default_sql, x->kind};
    }
    return ST_OK;
}
static Status add_index(SysObjects *o, const Table *t, int64_t table, int k, const IndexDef *def) {
    SysClass i = {.oid = number(o, 'i', table, def->name),
                  .name = name_of_key(def->name),
                  .key = def->name,
                  .space = object_schema_of(o, def->name),
                  .kind = 'i',
                  .table = t,
                  .index = k,
                  .def = def,
                  .n_cols = -1};
    return i.oid ? add_class(o, i) : ST_ERROR;
}
/* Those of the table in the order of their numbers (index_class), then those that are not built. */
static Status add_indexes(SysObjects *o, const Table *t, int64_t table) {
    for (int k = 0; k < table_indexes(t); k++) {
        const IndexDef *def = catalog_index_def(o->c, t->name, table_index_name(t, k));
        IndexDef *own = def ? NULL : arena_new_of(o->a, IndexDef);
        if (!def && (!own || index_def_of_table(o->a, t, k, own) != ST_OK)) return ST_ERROR;
        TRY(add_index(o, t, table, k, def ? def : own));
    }
    for (int64_t i = 0; i < o->c->n_index_defs; i++) {
        const IndexDef *def = o->c->index_defs[i];
        if (!def->unique && strcmp(def->table, t->name) == 0) TRY(add_index(o, t, table, -1, def));
    }
    return ST_OK;
}
static Status add_table(SysObjects *o, const Table *t) {
    SysClass c = {
        .name = name_of_key(t->name), .key = t->name, .space = object_schema_of(o, t->name), .kind = 'r', .table = t};
    if ((c.view = catalog_matview(o->c, slice_of(t->name)))) c.kind = 'm';
    c.oid = number(o, 'v', 0, t->name);
    TRY(table_columns(o, t, &c));
    if (!c.oid || !(c.type = number(o, 'r', c.oid, "")) || !(c.array = number(o, 'a', c.type, ""))) return ST_ERROR;
    TRY(add_class(o, c));
    return add_indexes(o, t, c.oid);
}
static Status add_sequences(SysObjects *o) {
    for (int64_t i = 0; i < o->c->n_sequences; i++) {
        const Sequence *q = o->c->sequences[i];
        SysClass c = {.name = name_of_key(q->name),
                      .key = q->name,
                      .space = object_schema_of(o, q->name),
                      .kind = 'S',
                      .sequence = q,
                      .n_cols = 3};
        if (!(c.oid = number(o, 'v', 0, q->name)) || !(c.cols = arena_array(o->a, SysColumn, 3))) return ST_ERROR;
        c.cols[0] = (SysColumn){.name = "last_value", .type = type_make(T_INT8), .not_null = true};
        c.cols[1] = (SysColumn){.name = "log_cnt", .type = type_make(T_INT8), .not_null = true};
        c.cols[2] = (SysColumn){.name = "is_called", .type = type_make(T_BOOL), .not_null = true};
        TRY(add_class(o, c));
    }
    return ST_OK;
}
static Status add_classes(SysObjects *o) {
    TRY(add_system(o));
    TRY(add_sequences(o));
    for (int64_t i = 0; i < o->c->n_tables; i++) TRY(add_table(o, o->c->tables[i]));
    for (int64_t i = 0; i < o->c->n_views; i++) {
        View *v = o->c->views[i];
        if (v->materialized) continue; /* a table */
        SysClass c = {.name = name_of_key(v->name),
                      .key = v->name,
                      .space = object_schema_of(o, v->name),
                      .kind = 'v',
                      .view = v,
                      .n_cols = -1};
        c.oid = number(o, 'v', 0, v->name);
        if (!c.oid || !(c.type = number(o, 'r', c.oid, "")) || !(c.array = number(o, 'a', c.type, ""))) return ST_ERROR;
        TRY(add_class(o, c));
    }
    for (int64_t i = 0; i < composite_count(o->c->rows); i++) {
        const CompositeType *x = composite_nth(o->c->rows, i);
        if (!x) continue;
        SysClass c = {.name = name_of_key(x->name),
                      .key = x->name,
                      .space = object_schema_of(o, x->name),
                      .kind = 'c',
                      .row = x,
                      .n_cols = x->n};
        c.oid = number(o, 'v', 0, x->name);
        if (!c.oid || !(c.type = number(o, 'r', c.oid, "")) || !(c.array = number(o, 'a', c.type, ""))) return ST_ERROR;
        if (!(c.cols = arena_array(o->a, SysColumn, x->n + 1))) return ST_ERROR;
        for (int32_t k = 0; k < x->n; k++)
            c.cols[k] =
                (SysColumn){.name = x->fields[k].name, .type = x->fields[k].type, .domain = x->fields[k].domain};
        TRY(add_class(o, c));
    }
    for (int64_t i = 0; i < o->classes.len; i++) {
        const SysClass *c = &o->classes.items[i];
        if (c->type)
            TRY(add_type(
                o,
                (SysType){
                    .oid = c->type, .array = c->array, .name = c->name, .key = c->key, .space = c->space, .row = c}));
    }
    return ST_OK;
}

/* ---- constraints ------------------------------------------------------------------------------------ */

static Status add_constraint(SysObjects *o, SysConstraint k, int64_t owner) {
    k.oid = number(o, 'k', owner, k.name);
    return k.oid && vec_push(o->a, &o->constraints, k) ? ST_OK : ST_ERROR;
}
static const SysClass *index_class(const SysClass *table, int k) { return table + 1 + k; /* add_table */ }

/* The key that a foreign key refers to. */
static const SysClass *referred_index(const SysClass *table, const ForeignKey *f) {
    const Table *t = table->table;
    for (int k = 0; k < t->n_keys; k++) {
        int same = 0;
        for (int i = 0; i < f->n_cols; i++)
            for (int x = 0; x < t->keys[k].n_cols; x++)
                same += strcmp(t->cols[t->keys[k].cols[x]].name, f->ref_cols[i]) == 0;
        if (same == f->n_cols && same == t->keys[k].n_cols) return index_class(table, k);
    }
    return NULL;
}
static Status add_domain_checks(SysObjects *o, const Domain *d) {
    const int64_t type = object_domain_oid(o, d->id);
    for (int k = 0; k < d->n_checks; k++)
        TRY(add_constraint(
            o,
            (SysConstraint){
                .name = d->checks[k].name, .kind = 'c', .check = d->checks[k].sql, .domain = d, .domain_type = type},
            type));
    return ST_OK;
}
static Status add_constraints(SysObjects *o) {
    for (int64_t i = 0; i < o->classes.len; i++) {
        const SysClass *c = &o->classes.items[i];
        if (c->kind != 'r' || !c->table) continue;
        const Table *t = c->table;
        for (int k = 0; k < t->n_checks; k++)
            TRY(add_constraint(
                o, (SysConstraint){.name = t->checks[k].name, .kind = 'c', .of = c, .check = t->checks[k].sql},
                c->oid));
        for (int k = 0; k < t->n_keys; k++) {
            const KeyConstraint *key = &t->keys[k];
            SysConstraint x = {.name = name_of_key(key->name),
                               .kind = key->primary ? 'p' : 'u',
                               .of = c,
                               .index = index_class(c, k),
                               .key = key};
            if (!key->is_index) TRY(add_constraint(o, x, c->oid));
        }
    }
    for (int64_t i = 0; i < o->c->n_foreign; i++) {
        const ForeignKey *f = o->c->foreign[i];
        SysConstraint x = {.name = f->name,
                           .kind = 'f',
                           .of = object_class_of_key(o, f->table),
                           .foreign = object_class_of_key(o, f->ref_table),
                           .reference = f};
        if (!x.of || !x.foreign) continue;
        x.index = referred_index(x.foreign, f);
        TRY(add_constraint(o, x, x.of->oid));
    }
    for (int64_t i = 0; i < ARRAY_LEN(schema_domains); i++) TRY(add_domain_checks(o, &schema_domains[i].domain));
    for (int64_t i = 0; i < o->c->n_domains; i++) TRY(add_domain_checks(o, o->c->domains[i]));
    return ST_OK;
}

/* ---- routines --------------------------------------------------------------------------------------- */

static Status add_routines(SysObjects *o) {
    for (int64_t i = 0; i < o->c->n_routines; i++) {
        const Routine *f = o->c->routines[i];
        const char *key = f->name;
        for (int k = 0; key && k < f->n_params; k++)
            if (routine_is_arg(f, k)) key = arena_printf(o->a, "%s,%s", key, type_plain_name(f->param_types[k]));
        if (f->generic) continue;
        SysRoutine r = {key ? number(o, 'f', 0, key) : 0, f};
        if (!r.oid || !vec_push(o->a, &o->routines, r)) return ST_ERROR;
    }
    return ST_OK;
}

/* ---- the list --------------------------------------------------------------------------------------- */

static int by_oid(const void *x, const void *y) {
    const int64_t a = ((const SysNumber *)x)->oid, b = ((const SysNumber *)y)->oid;
    return a < b ? -1 : a > b;
}
static int64_t find(const SysNumber *n, int64_t len, int64_t oid) {
    int64_t lo = 0, hi = len;
    while (lo < hi) {
        const int64_t mid = (lo + hi) / 2;
        if (n[mid].oid < oid) lo = mid + 1;
        else hi = mid;
    }
    return lo < len && n[lo].oid == oid ? n[lo].at : -1;
}
static Status sort_oids(SysObjects *o) {
    o->classes_by_oid = arena_array(o->a, SysNumber, o->classes.len + 1);
    o->types_by_oid = arena_array(o->a, SysNumber, o->types.len + 1);
    if (!o->classes_by_oid || !o->types_by_oid) return ST_ERROR;
    for (int64_t i = 0; i < o->classes.len; i++) o->classes_by_oid[i] = (SysNumber){o->classes.items[i].oid, i};
    for (int64_t i = 0; i < o->types.len; i++) o->types_by_oid[i] = (SysNumber){o->types.items[i].oid, i};
    qsort(o->classes_by_oid, (size_t)o->classes.len, sizeof *o->classes_by_oid, by_oid);
    qsort(o->types_by_oid, (size_t)o->types.len, sizeof *o->types_by_oid, by_oid);
    return ST_OK;
}

void session_objects_end(Session *s) {
    if (s->read.objects) arena_free(s->read.objects->a);
    s->read.objects = NULL;
}
SysObjects *session_objects(Session *s) {
    const Catalog *c = session_catalog(s);
    if (s->read.objects && s->read.objects->c == c && s->read.objects->version == catalog_definitions(c))
        return s->read.objects;
    session_objects_end(s);
    Arena *a = arena_new(&s->account, &s->err);
    SysObjects *o = a ? arena_new_of(a, SysObjects) : NULL;
    if (o) *o = (SysObjects){.a = a, .s = s, .c = c, .version = catalog_definitions(c)};
    if (!o || add_spaces(o) != ST_OK || add_types(o) != ST_OK || add_classes(o) != ST_OK ||
        add_constraints(o) != ST_OK || add_routines(o) != ST_OK || sort_oids(o) != ST_OK) {
        if (!err_is_set(&s->err)) err_oom(&s->err);
        if (a) arena_free(a);
        return NULL;
    }
    return s->read.objects = o;
}

/* ---- look-ups ---------------------------------------------------------------------------------------- */

SysClass *object_class(const SysObjects *o, int64_t oid) {
    const int64_t i = find(o->classes_by_oid, o->classes.len, oid);
    return i < 0 ? NULL : &o->classes.items[i];
}
SysClass *object_class_of_key(const SysObjects *o, const char *key) {
    for (int64_t i = 0; i < o->classes.len; i++) {
        SysClass *c = &o->classes.items[i];
        if (c->key && strcmp(c->key, key) == 0) return c;
    }
    return NULL;
}
SysClass *object_class_named(const SysObjects *o, const char *schema, const char *name) {
    const SearchPath *p = search_path_now();
    RelationName r;
    if (catalog_search(o->c, o->a, schema, name, &r) != ST_OK) return NULL;
    if (r.system >= 0) return &o->classes.items[r.system]; /* add_system comes first */
    SysClass *c = object_class_of_key(o, r.key);
    for (int i = 0; !c && !schema && i < p->n; i++) { /* a composite type is no relation of the catalog's */
        const char *key = key_make(o->a, search_path_name(p, i), name);
        c = key ? object_class_of_key(o, key) : NULL;
    }
    return c;
}
bool object_class_visible(const SysObjects *o, const SysClass *c) { return object_class_named(o, NULL, c->name) == c; }
SysClass *object_class_of(const SysObjects *o, const Table *t) { return object_class_of_key(o, t->name); }
const SysType *object_type(const SysObjects *o, int64_t oid) {
    const int64_t i = find(o->types_by_oid, o->types.len, oid);
    return i < 0 ? NULL : &o->types.items[i];
}
const SysType *object_type_of_key(const SysObjects *o, const char *key) {
    for (int64_t i = 0; i < o->types.len; i++)
        if (o->types.items[i].key && strcmp(o->types.items[i].key, key) == 0) return &o->types.items[i];
    return NULL;
}
static const SysType *type_in(const SysObjects *o, const char *schema, const char *name) {
    const int64_t space = object_schema(o, schema);
    for (int64_t i = 0; space && i < o->types.len; i++)
        if (o->types.items[i].space == space && strcmp(o->types.items[i].name, name) == 0) return &o->types.items[i];
    return NULL;
}
const SysType *object_type_named(const SysObjects *o, const char *schema, const char *name) {
    const SearchPath *p = search_path_now();
    if (schema) return type_in(o, schema, name);
    const SysType *t = p->has_catalog ? NULL : type_in(o, "pg_catalog", name);
    for (int i = 0; !t && i < p->n; i++) t = type_in(o, search_path_name(p, i), name);
    return t;
}
bool object_type_visible(const SysObjects *o, const SysType *t) { return object_type_named(o, NULL, t->name) == t; }
const SysConstraint *object_constraint(const SysObjects *o, int64_t oid) {
    for (int64_t i = 0; i < o->constraints.len; i++)
        if (o->constraints.items[i].oid == oid) return &o->constraints.items[i];
    return NULL;
}
const Routine *object_routine(const SysObjects *o, int64_t oid) {
    for (int64_t i = 0; i < o->routines.len; i++)
        if (o->routines.items[i].oid == oid) return o->routines.items[i].routine;
    return NULL;
}

static Status view_columns(const SysObjects *o, SysClass *c) {
    PlanCtx x;
    BoundStmt *b;
    c->n_cols = 0;
    if (!try_view(o->s, o->a, c->view, &x, &b)) return err_is_set(&o->s->err) ? ST_ERROR : ST_OK;
    if (!(c->cols = arena_array(o->a, SysColumn, b->n_result + 1))) return ST_ERROR;
    c->n_cols = b->n_result;
    for (int32_t i = 0; i < b->n_result; i++) {
        const ColInfo *k = &x.cols.items[b->result[i]];
        c->cols[i] = (SysColumn){.name = b->names[i], .type = k->type, .domain = k->domain};
        if (i < c->view->n_defaults) c->cols[i].default_sql = c->view->defaults[i];
    }
    return ST_OK;
}
/* The type of a part: a column's, or an expression's. */
static SysColumn part_column(const SysObjects *o, const Table *t, const char *text) {
    const int col = index_part_column(t, text);
    Expr *e;
    PlanCtx p;
    Err why = {0};
    if (col >= 0) return (SysColumn){.type = t->cols[col].type, .domain = t->cols[col].domain};
    plan_ctx_init(o->s, o->a, &p);
    p.err = &why;
    p.of_catalog = true;
    ColId *ids = arena_array(o->a, ColId, t->n_cols + 1);
    if (!ids || sql_bind_index_text(&p, t, text, false, ids, &e) != ST_OK)
        return (SysColumn){.type = type_make(T_TEXT)};
    return (SysColumn){.type = e->type, .domain = e->domain};
}
static Status index_columns(const SysObjects *o, SysClass *c) {
    const IndexDef *x = c->def;
    const char **names;
    TRY(index_column_names(o->a, c->table, x, &names));
    if (!(c->cols = arena_array(o->a, SysColumn, x->n_parts + x->n_include + 1))) return ST_ERROR;
    c->n_cols = x->n_parts + x->n_include;
    for (int i = 0; i < c->n_cols; i++) {
        const int include = i - x->n_parts,
                  col = include < 0 ? -1 : table_find_column(c->table, slice_of(x->include[include]));
        if (include < 0) c->cols[i] = part_column(o, c->table, x->parts[i].text);
        else if (col >= 0)
            c->cols[i] = (SysColumn){.type = c->table->cols[col].type, .domain = c->table->cols[col].domain};
        c->cols[i].name = names[i];
    }
    return ST_OK;
}
Status object_columns(const SysObjects *o, SysClass *c) {
    if (c->n_cols >= 0) return ST_OK;
    if (c->kind == 'i') return index_columns(o, c);
    if (!c->system) return view_columns(o, c);
    int32_t n;
    const SystemColumn *cols = system_relation_columns(c->system, o->a, &n);
    if (!cols || !(c->cols = arena_array(o->a, SysColumn, n + 1))) return err_oom(&o->s->err);
    for (int32_t i = 0; i < n; i++)
        c->cols[i] = (SysColumn){.name = cols[i].name, .type = cols[i].type, .not_null = cols[i].not_null};
    c->n_cols = n;
    return ST_OK;
}

/* ---- types by their oids ------------------------------------------------------------------------------- */

int64_t object_domain_oid(const SysObjects *o, int64_t domain) {
    for (int64_t i = 0; domain && i < o->types.len; i++)
        if (o->types.items[i].domain && o->types.items[i].domain->id == domain) return o->types.items[i].oid;
    return 0;
}
static const char *const internal_names[T_COUNT_] = {
    [T_UNKNOWN] = "unknown",   [T_BOOL] = "bool",       [T_INT2] = "int2",           [T_INT4] = "int4",
    [T_INT8] = "int8",         [T_NUMERIC] = "numeric", [T_FLOAT4] = "float4",       [T_FLOAT8] = "float8",
    [T_CHAR] = "bpchar",       [T_VARCHAR] = "varchar", [T_TEXT] = "text",           [T_BYTEA] = "bytea",
    [T_DATE] = "date",         [T_TIME] = "time",       [T_TIMESTAMP] = "timestamp", [T_TIMESTAMPTZ] = "timestamptz",
    [T_INTERVAL] = "interval", [T_UUID] = "uuid",       [T_VOID] = "void",           [T_DECIMAL] = "numeric",
    [T_JSON] = "json",         [T_JSONB] = "jsonb",     [T_TIMETZ] = "timetz",       [T_BIT] = "bit",
    [T_VARBIT] = "varbit",     [T_OID] = "oid",         [T_JSONPATH] = "jsonpath",   [T_LSN] = "pg_lsn",
    [T_MONEY] = "money"};

static const BuiltinType *builtin_named(const char *name) {
    for (int64_t i = 0; i < ARRAY_LEN(builtins); i++)
        if (strcmp(builtins[i].name, name) == 0) return &builtins[i];
    return NULL;
}
static int64_t plain_oid(const SysObjects *o, Type t) {
    const EnumType *x = enum_of(t);
    const CompositeType *row = composite_of(t);
    const RangeType *range = range_of(t);
    const char *name = internal_names[t.id], *of_range = !range ? NULL : t.id == T_RANGE ? range->name : range->multi;
    if (range && range->number >= TYPE_NUMBER_FIRST) {
        const SysType *found = object_type_of_key(o, of_range);
        return found ? found->oid : 0;
    }
    if (x || (row && row->kind != COMPOSITE_ANONYMOUS)) {
        const SysType *found = object_type_of_key(o, x ? x->name : row->name);
        return found ? found->oid : 0;
    }
    if (range) name = of_range;
    else if (type_is_record(t) || row) name = "record";
    else if (type_is_poly(t)) name = type_plain_name(t);
    else if (t.id == T_TEXT && t.flags & TF_QCHAR) name = "char";
    else if (oid_type_name(t)) name = oid_type_name(t);
    const BuiltinType *b = name ? builtin_named(name) : NULL;
    return b ? b->oid : 0;
}
int64_t object_type_oid(const SysObjects *o, Type t, int64_t domain) {
    if (domain) return object_domain_oid(o, domain);
    if (t.id != T_ARRAY) return plain_oid(o, t);
    if (t.flags & TF_VECTOR) return builtin_named(oid_type_name(t))->oid;
    const SysType *e = object_type(o, plain_oid(o, type_element(t)));
    return e ? e->array : 0;
}

int32_t object_typmod(Type t) {
    if (t.id == T_ARRAY) t = type_element(t);
    switch ((TypeId)t.id) {
    case T_NUMERIC: return t.flags & TF_UNCONSTRAINED ? -1 : (t.precision << 16 | t.scale) + 4;
    case T_DECIMAL:
        return t.length ? (dec_typmod_precision(t.length) << 16 | (dec_typmod_scale(t.length) & 0x7ff)) + 4 : -1;
    case T_CHAR:
    case T_VARCHAR: return t.length > 0 ? t.length + 4 : -1;
    case T_BIT:
    case T_VARBIT: return t.length > 0 ? t.length : -1;
    case T_TIME:
    case T_TIMETZ:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: return t.precision < 6 ? t.precision : -1;
    case T_INTERVAL:
        if (!t.length && !t.precision) return -1;
        return (t.length ? t.length : IR_FULL) << 16 | (t.precision ? t.precision - 1 : 0xFFFF);
    default: return -1;
    }
}

/* The modifiers of a typmod, as type_from_name() takes them; how many. */
static int modifiers(const BuiltinType *b, int32_t typmod, int64_t mods[2]) {
    if (typmod < 0) return 0;
    if (strcmp(b->name, "numeric") == 0) {
        mods[0] = (typmod - 4) >> 16 & 0xFFFF;
        mods[1] = (((typmod - 4) & 0x7ff) ^ 1024) - 1024;
        return 2;
    }
    if (strcmp(b->name, "interval") == 0) {
        mods[0] = typmod >> 16 & IR_FULL;
        mods[1] = typmod & 0xFFFF;
        return mods[1] == 0xFFFF ? 1 : 2;
    }
    mods[0] = strcmp(b->name, "bpchar") == 0 || strcmp(b->name, "varchar") == 0 ? typmod - 4 : typmod;
    return 1;
}
static const char *builtin_shown(const SysObjects *o, const BuiltinType *b, int32_t typmod, bool given) {
    char room[TYPE_NAME_MAX];
    int64_t mods[2];
    Type t;
    Err none = {0};
    if (b->kind == 'p') return strcmp(b->name, "any") == 0 ? "\"any\"" : b->name;
    if (strcmp(b->name, "char") == 0) return "\"char\"";
    if (strcmp(b->name, "bpchar") == 0 && typmod < 0) return given ? "bpchar" : "character";
    if (strcmp(b->name, "bit") == 0 && typmod < 0) return given ? "\"bit\"" : "bit";
    if (type_from_name(slice_of(b->name), modifiers(b, typmod, mods), mods, &t, &none) != ST_OK) return b->name;
    return arena_strdup(o->a, type_name(t, &room));
}
const char *object_type_shown(const SysObjects *o, int64_t oid, int32_t typmod, bool typmod_given) {
    if (stack_stop()) return NULL;
    const SysType *t = object_type(o, oid);
    if (!oid) return "-";
    if (!t) return "???";
    const bool array = t->element && !(t->builtin && t->builtin->length > 0) && t->name[0] == '_';
    if (array) {
        const char *e = object_type_shown(o, t->element, typmod, typmod_given);
        return e ? arena_printf(o->a, "%s[]", e) : NULL;
    }
    if (t->builtin) return builtin_shown(o, t->builtin, typmod, typmod_given);
    const char *schema = object_type_visible(o, t) ? NULL : object_schema_name(o, t->space);
    const char *name = definition_name(o->a, t->name), *in = schema ? definition_name(o->a, schema) : "";
    return name && in ? arena_printf(o->a, "%s%s%s", in, schema ? "." : "", name) : NULL;
}
