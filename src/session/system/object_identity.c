/* object_identity.c - see object_identity.h. */
#include "session/system/object_identity.h"

#include "session/ddl/definition.h"
#include "session/system/access_methods.h"
#include "session/system/builtin_objects.h"
#include "session/system/definitions.h"

static const char *quoted(Arena *a, const char *name) { return name ? definition_name(a, name) : NULL; }
static const char *in_schema(Arena *a, const char *schema, const char *name) {
    const char *in = quoted(a, schema);
    return in && name ? arena_printf(a, "%s.%s", in, name) : NULL;
}

static const char *class_word(const SysClass *c) {
    switch (c->kind) {
    case 'i': return "index";
    case 'S': return "sequence";
    case 'v': return "view";
    case 'm': return "materialized view";
    case 'c': return "composite type";
    default: return "table";
    }
}
static Status of_class(const SysObjects *o, Arena *a, int64_t oid, int64_t sub, ObjectIdentity *out) {
    SysClass *c = object_class(o, oid);
    if (!c) return ST_OK;
    const char *shown = definition_class_name(o, a, c), *full = definition_qualified_name(o, a, c);
    TRY(object_columns(o, c));
    if (sub > c->n_cols || sub < 0) return ST_OK;
    out->schema = object_schema_name(o, c->space);
    if (sub == 0) {
        out->type = class_word(c);
        out->name = quoted(a, c->name);
        out->identity = full;
        out->description = arena_printf(a, "%s %s", class_word(c), shown);
        return ST_OK;
    }
    const char *column = c->cols[sub - 1].name, *name = quoted(a, column);
    out->type = arena_printf(a, "%s column", class_word(c));
    out->name = quoted(a, c->name);
    out->identity = full && name ? arena_printf(a, "%s.%s", full, name) : NULL;
    out->description = arena_printf(a, "column %s of %s %s", column, class_word(c), shown);
    return ST_OK;
}
static Status of_type(const SysObjects *o, Arena *a, int64_t oid, ObjectIdentity *out) {
    const SysType *t = object_type(o, oid);
    if (!t) return ST_OK;
    out->type = "type";
    out->schema = object_schema_name(o, t->space);
    out->name = t->builtin ? object_type_shown(o, oid, -1, false) : quoted(a, t->name);
    out->identity = t->builtin ? out->name : in_schema(a, out->schema, out->name);
    out->description = arena_printf(a, "type %s", object_type_shown(o, oid, -1, false));
    return ST_OK;
}
static Status of_routine(const SysObjects *o, Arena *a, int64_t oid, ObjectIdentity *out) {
    const Routine *f = object_routine(o, oid);
    const BuiltinProc *own = f ? NULL : builtin_proc(oid);
    if (!f && !own) return ST_OK;
    out->type = f ? (f->is_procedure ? "procedure" : "function") : own->kind == 'a' ? "aggregate" : "function";
    out->schema = f ? object_schema_name(o, object_schema_of(o, f->name)) : "pg_catalog";
    if (f) {
        const char *signature = definition_signature(o, a, f);
        const bool full = signature && key_has_schema(f->name) && !search_path_has(schema_of_key(f->name));
        out->identity = full ? signature : in_schema(a, out->schema, signature);
        out->description = arena_printf(a, "%s %s", out->type, signature);
        return ST_OK;
    }
    const char *args = builtin_proc_arguments(o, a, own, ",");
    out->identity = args ? arena_printf(a, "pg_catalog.%s(%s)", quoted(a, own->name), args) : NULL;
    out->description = args ? arena_printf(a, "%s %s(%s)", out->type, quoted(a, own->name), args) : NULL;
    return ST_OK;
}
static Status of_constraint(const SysObjects *o, Arena *a, int64_t oid, ObjectIdentity *out) {
    const SysConstraint *k = object_constraint(o, oid);
    if (!k) return ST_OK;
    const char *on = k->of ? definition_class_name(o, a, k->of) : object_type_shown(o, k->domain_type, -1, false);
    const char *full = k->of ? definition_qualified_name(o, a, k->of) : on;
    out->type = k->of ? "table constraint" : "domain constraint";
    out->schema = k->of ? object_schema_name(o, k->of->space) : NULL;
    out->identity = arena_printf(a, "%s on %s", quoted(a, k->name), full);
    out->description = arena_printf(a, "constraint %s on %s %s", k->name, k->of ? class_word(k->of) : "type", on);
    return ST_OK;
}
static void of_name(Arena *a, const char *word, const char *name, ObjectIdentity *out) {
    if (!name) return;
    out->type = word;
    out->name = out->identity = quoted(a, name);
    out->description = arena_printf(a, "%s %s", word, name);
}
static void of_builtin(Arena *a, int64_t catalog, int64_t oid, const char *word, ObjectIdentity *out) {
    const BuiltinObject *x;
    for (int64_t i = 0; (x = builtin_object_nth(i)) != NULL; i++)
        if (x->in == catalog && x->oid == oid) of_name(a, word, x->name, out);
}
static void of_method(Arena *a, int64_t oid, ObjectIdentity *out) {
    int64_t n;
    const AccessMethod *all = access_methods(&n);
    if (oid == OID_HEAP) of_name(a, "access method", "heap", out);
    for (int64_t i = 0; i < n; i++)
        if (all[i].oid == oid) of_name(a, "access method", all[i].name, out);
}

Status object_identity(const SysObjects *o, Arena *a, int64_t catalog, int64_t oid, int64_t sub, ObjectIdentity *out,
                       Err *e) {
    const Role *role = catalog == IN_AUTHID ? catalog_role_by_id(o->c, oid) : NULL;
    *out = (ObjectIdentity){0};
    switch (catalog) {
    case IN_CLASS: return of_class(o, a, oid, sub, out);
    case IN_TYPE: return of_type(o, a, oid, out);
    case IN_PROC: return of_routine(o, a, oid, out);
    case IN_CONSTRAINT: return of_constraint(o, a, oid, out);
    case IN_NAMESPACE: of_name(a, "schema", object_schema_name(o, oid), out); break;
    case IN_AUTHID: of_name(a, "role", role ? role->name : NULL, out); break;
    case IN_DATABASE: of_name(a, "database", oid == OID_DATABASE ? o->s->info.database : NULL, out); break;
    case IN_AM: of_method(a, oid, out); break;
    case IN_LANGUAGE: of_builtin(a, catalog, oid, "language", out); break;
    case IN_EXTENSION: of_builtin(a, catalog, oid, "extension", out); break;
    case IN_TABLESPACE: of_builtin(a, catalog, oid, "tablespace", out); break;
    case IN_COLLATION: of_builtin(a, catalog, oid, "collation", out); break;
    default: return err_set(e, ERR_INVALID_PARAMETER, "unsupported object class: %lld", (long long)catalog);
    }
    return ST_OK;
}
