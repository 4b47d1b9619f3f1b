/* bind_cast_call.c - casts in the form of calls: date('2020-01-01'), text(5), "char"(65).
 *
 * PostgreSQL's rule (func_get_detail): a call with one argument whose name is that of a type, and of no function that
 * takes the argument's type, is a cast when the argument is an untyped literal, or is cast by its text or without any
 * computation. Its other casts are functions of their types' names. Here there are none of these, so that all casts
 * are meant, but those of rows to texts, which PostgreSQL leaves out.
 */
#include "catalog/named_type.h"
#include "sql/bind/bind_int.h"
#include "types/oid.h"

/* Names of types in SQL that are not in pg_type, and so no functions. */
static const char *const sql_names[] = {"boolean", "smallint",  "int",     "integer",         "bigint", "decimal",
                                        "dec",     "real",      "float",   "double",          "nchar",  "string",
                                        "void",    "character", "unknown", "double precision"};

static bool is_type_name(Binder *b, const AstTypeName *t) {
    const NamedType x = catalog_type(b->c->catalog, t->schema, t->name);
    Type type;
    Err none = {0};
    if (x.table || x.composite) return false;
    if (named_type_defined(&x)) return true;
    for (int64_t i = 0; i < ARRAY_LEN(sql_names); i++)
        if (strcmp(sql_names[i], t->name) == 0) return false;
    if (t->schema || strchr(t->name, ' ')) return false;
    return type_from_name(slice_of(t->name), 0, NULL, &type, &none) == ST_OK && type.id != T_VOID;
}

Expr *bind_cast_call(Binder *b, const AstFunc *f, Expr **args) {
    const AstTypeName t = {.schema = f->name.schema, .name = f->name.name, .location = f->location};
    const Domain *domain = NULL;
    Type to;
    if (f->n_args != 1 || f->arg_names || f->variadic || !is_type_name(b, &t)) return NULL;
    Expr *e = args[0];
    const bool literal = bind_is_unknown(e);
    if (!literal && func_named(slice_of(t.name))) return NULL;
    if (bind_type(b, &t, &to, &domain) != ST_OK) return NULL;
    const bool row_to_text = e->type.id == T_COMPOSITE && type_is_text(to);
    if (!literal && (row_to_text || !cast_exists(e->type, to, CAST_EXPLICIT))) return NULL;
    if (!(e = bind_coerce(b, e, to, CAST_EXPLICIT, f->location))) return NULL;
    if (domain || !e->domain) return bind_domain(b, e, domain, f->location);
    if ((e = bind_copy(b, e))) e->domain = 0; /* of the base type */
    return e;
}
