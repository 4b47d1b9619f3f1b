/* comments_builtin.c - see comments_builtin.h. */
#include "session/ddl/comments_builtin.h"

#include <stdlib.h>

#include "catalog/similar_names.h"
#include "session/ddl/definition.h"
#include "session/ddl/utility_int.h"
#include "session/system/access_methods.h"
#include "session/system/builtin_objects.h"
#include "session/system/definitions.h"
#include "sql/bind/bind.h"

/* Kinds whose objects are known by a name alone. */
static const struct {
    const char *words, *catalog, *missing;
    int64_t in;
} named[] = {
    {"LANGUAGE", "pg_language", "language \"%s\" does not exist", IN_LANGUAGE},
    {"EXTENSION", "pg_extension", "extension \"%s\" does not exist", IN_EXTENSION},
    {"TABLESPACE", "pg_tablespace", "tablespace \"%s\" does not exist", IN_TABLESPACE},
    {"ACCESS METHOD", "pg_am", "access method \"%s\" does not exist", IN_AM},
    {"COLLATION", "pg_collation", "collation \"%s\" for encoding \"UTF8\" does not exist", IN_COLLATION},
    {"TEXT SEARCH CONFIGURATION", "pg_ts_config", "text search configuration \"%s\" does not exist", IN_TS_CONFIG},
    {"TEXT SEARCH DICTIONARY", "pg_ts_dict", "text search dictionary \"%s\" does not exist", IN_TS_DICT},
    {"CONVERSION", "pg_conversion", "conversion \"%s\" does not exist", 0},
    {"LARGE OBJECT", "pg_largeobject", "large object %s does not exist", 0}};

static Status put(Arena *a, const char *catalog, int64_t oid, Comment *out) {
    char *part = arena_printf(a, "%lld", (long long)oid);
    *out = (Comment){.kind = COMMENT_BUILTIN, .name = (char *)(uintptr_t)catalog, .part = part};
    return part ? ST_OK : ST_ERROR;
}

static int64_t number_named(int64_t in, const char *name) {
    const AccessMethod *m = in == IN_AM ? access_method(name) : NULL;
    if (in == IN_AM) return strcmp(name, "heap") == 0 ? OID_HEAP : m ? m->oid : 0;
    const BuiltinObject *x = builtin_object(in, name);
    return x ? x->oid : 0;
}
static Status on_named(Session *s, Arena *a, const AstComment *x, Comment *out, bool *done) {
    for (int64_t i = 0; i < ARRAY_LEN(named); i++) {
        if (strcmp(named[i].words, x->object_name) != 0) continue;
        const int64_t oid = number_named(named[i].in, x->name.name);
        *done = true;
        return oid ? put(a, named[i].catalog, oid, out)
                   : err_set(&s->err, ERR_UNDEFINED_OBJECT, named[i].missing, x->name.name);
    }
    return ST_OK;
}

/* ---- what is known by types ---- */

/* Also of types that there are no values of here. */
static Status type_oid(Session *s, const SysObjects *o, const AstTypeName *t, int64_t *out) {
    Type type;
    const Domain *d;
    Err none = {0};
    *out = 0;
    if (!t) return ST_OK; /* NONE, of an operator with one operand */
    if (sql_bind_type(o->c, t, &type, &d, &none) == ST_OK) return *out = object_type_oid(o, type, d ? d->id : 0), ST_OK;
    const SysType *x = t->array_dims ? NULL : object_type_named(o, t->schema, t->name);
    if (!x) return err_copy(&s->err, &none), ST_ERROR;
    *out = x->oid;
    return ST_OK;
}
static const char *shown(const SysObjects *o, int64_t type) { return object_type_shown(o, type, -1, false); }

static Status on_operator(Session *s, const SysObjects *o, Arena *a, const AstFuncSignature *x, Comment *out) {
    int64_t n, types[2] = {0, 0};
    const BuiltinOperator *all = builtin_operators(&n);
    if (x->n_params != 2) return err_set(&s->err, ERR_SYNTAX, "missing argument");
    for (int i = 0; i < 2; i++) TRY(type_oid(s, o, x->params[i].type, &types[i]));
    for (int64_t i = 0; i < n; i++)
        if (strcmp(all[i].name, x->name.name) == 0 && all[i].left == types[0] && all[i].right == types[1])
            return put(a, "pg_operator", all[i].oid, out);
    return err_set(&s->err, ERR_UNDEFINED_FUNCTION, "operator does not exist: %s%s%s %s",
                   types[0] ? shown(o, types[0]) : "", types[0] ? " " : "", x->name.name, shown(o, types[1]));
}
/* Types of input parameters: their numbers, as BuiltinProc has them, and their names. */
static Status signature(Session *s, const SysObjects *o, Arena *a, const AstFuncSignature *x, const char **args,
                        const char **texts) {
    *args = *texts = "";
    for (int64_t i = 0; *args && *texts && i < x->n_params; i++) {
        int64_t oid;
        if (x->params[i].mode == AST_PARAM_OUT) continue;
        TRY(type_oid(s, o, x->params[i].type, &oid));
        *args = arena_printf(a, "%s%s%lld", *args, **args ? " " : "", (long long)oid);
        *texts = arena_printf(a, "%s%s%s", *texts, **texts ? ", " : "", shown(o, oid));
    }
    return *args && *texts ? ST_OK : err_oom(&s->err);
}
Status comment_on_builtin_function(Session *s, Arena *a, const AstFuncSignature *x, Comment *out, bool *found) {
    const SysObjects *o = session_objects(s);
    int64_t n, at = -1;
    const BuiltinProc *all = builtin_procs(&n);
    const char *args, *texts;
    *found = false;
    if (!o) return ST_ERROR;
    TRY(signature(s, o, a, x, &args, &texts));
    for (int64_t i = 0; i < n; i++) {
        if (all[i].kind == 'a' || strcmp(all[i].name, x->name.name) != 0) continue;
        if (x->has_args && strcmp(all[i].args, args) != 0) continue;
        if (at >= 0) {
            err_at(&s->err, x->name.location, ERR_AMBIGUOUS_FUNCTION, "function name \"%s\" is not unique",
                   x->name.name);
            err_hint(&s->err, "Specify the argument list to select the function unambiguously.");
            return ST_ERROR;
        }
        at = i;
    }
    *found = at >= 0;
    return *found ? put(a, "pg_proc", all[at].oid, out) : ST_OK;
}
static Status on_aggregate(Session *s, const SysObjects *o, Arena *a, const AstFuncSignature *x, Comment *out) {
    int64_t n;
    const BuiltinProc *all = builtin_procs(&n);
    const char *args, *texts;
    TRY(signature(s, o, a, x, &args, &texts));
    for (int64_t i = 0; i < n; i++)
        if (all[i].kind == 'a' && strcmp(all[i].name, x->name.name) == 0 && strcmp(all[i].args, args) == 0)
            return put(a, "pg_proc", all[i].oid, out);
    return x->n_params
               ? err_set(&s->err, ERR_UNDEFINED_FUNCTION, "aggregate %s(%s) does not exist", x->name.name, texts)
               : err_set(&s->err, ERR_UNDEFINED_FUNCTION, "aggregate %s(*) does not exist", x->name.name);
}
static Status on_cast(Session *s, const SysObjects *o, Arena *a, const AstFuncSignature *x, Comment *out) {
    int64_t n, types[2];
    const BuiltinCast *all = builtin_casts(&n);
    for (int i = 0; i < 2; i++) TRY(type_oid(s, o, x->params[i].type, &types[i]));
    for (int64_t i = 0; i < n; i++)
        if (all[i].from == types[0] && all[i].to == types[1]) return put(a, "pg_cast", all[i].oid, out);
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "cast from type %s to type %s does not exist", shown(o, types[0]),
                   shown(o, types[1]));
}
/* x->part: the access method. */
static Status on_operator_class(Session *s, Arena *a, const AstComment *x, bool family, Comment *out) {
    int64_t n;
    const OperatorClass *all = operator_classes(&n);
    const AccessMethod *m = access_method(x->part);
    if (!m) return err_set(&s->err, ERR_UNDEFINED_OBJECT, "access method \"%s\" does not exist", x->part);
    for (int64_t i = 0; i < n; i++)
        if (all[i].method == m->oid && strcmp(family ? all[i].family_name : all[i].name, x->name.name) == 0)
            return put(a, family ? "pg_opfamily" : "pg_opclass", family ? all[i].family : all[i].oid, out);
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "operator %s \"%s\" does not exist for access method \"%s\"",
                   family ? "family" : "class", x->name.name, x->part);
}

/* ---- parts of tables, of which there are none ---- */

static Status on_part(Session *s, Arena *a, const AstComment *x) {
    const char *of = strcmp(x->object_name, "RULE") == 0 ? "relation" : "table";
    const char *what = strcmp(x->object_name, "RULE") == 0 ? "rule" : "trigger";
    AstName n;
    TRY(session_relation_name(s, a, &x->name, false, &n));
    if (!catalog_relation_exists(&s->db->catalog, slice_of(n.name)))
        return catalog_no_relation(&s->db->catalog, n.name, n.location, &s->err);
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "%s \"%s\" for %s \"%s\" does not exist", what, x->part, of,
                   x->name.name);
}
static Status on_foreign_table(Session *s, Arena *a, const AstComment *x) {
    AstName n;
    TRY(session_relation_name(s, a, &x->name, false, &n));
    if (!catalog_relation_exists(&s->db->catalog, slice_of(n.name)))
        return catalog_no_relation(&s->db->catalog, n.name, n.location, &s->err);
    return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a foreign table", x->name.name);
}

Status comment_on_builtin(Session *s, Arena *a, const AstComment *x, Comment *out) {
    const SysObjects *o = session_objects(s);
    const char *words = x->object_name;
    bool done = false;
    if (!o) return ST_ERROR;
    TRY(on_named(s, a, x, out, &done));
    if (done) return ST_OK;
    if (strcmp(words, "OPERATOR") == 0) return on_operator(s, o, a, x->routine, out);
    if (strcmp(words, "AGGREGATE") == 0) return on_aggregate(s, o, a, x->routine, out);
    if (strcmp(words, "CAST") == 0) return on_cast(s, o, a, x->routine, out);
    if (strcmp(words, "OPERATOR CLASS") == 0) return on_operator_class(s, a, x, false, out);
    if (strcmp(words, "OPERATOR FAMILY") == 0) return on_operator_class(s, a, x, true, out);
    if (strcmp(words, "TRIGGER") == 0 || strcmp(words, "RULE") == 0) return on_part(s, a, x);
    if (strcmp(words, "FOREIGN TABLE") == 0) return on_foreign_table(s, a, x);
    return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "COMMENT ON %s is not supported", words);
}

/* ---- as a dump has them ---- */

const char *builtin_comment_object(Session *s, Arena *a, const Comment *c) {
    const SysObjects *o = session_objects(s);
    const int64_t oid = strtoll(c->part, NULL, 10);
    int64_t n;
    if (!o) return NULL;
    const BuiltinObject *x;
    for (int64_t i = 0; (x = builtin_object_nth(i)) != NULL; i++)
        for (int64_t k = 0; k < ARRAY_LEN(named); k++)
            if (named[k].in == x->in && x->oid == oid && strcmp(named[k].catalog, c->name) == 0)
                return arena_printf(a, "%s %s", named[k].words, definition_name(a, x->name));
    const AccessMethod *m = access_methods(&n);
    for (int64_t i = 0; strcmp(c->name, "pg_am") == 0 && i < n; i++)
        if (m[i].oid == oid) return arena_printf(a, "ACCESS METHOD %s", m[i].name);
    const BuiltinOperator *op = builtin_operators(&n);
    for (int64_t i = 0; strcmp(c->name, "pg_operator") == 0 && i < n; i++)
        if (op[i].oid == oid)
            return arena_printf(a, "OPERATOR %s(%s, %s)", op[i].name, op[i].left ? shown(o, op[i].left) : "NONE",
                                shown(o, op[i].right));
    const BuiltinCast *cast = builtin_casts(&n);
    for (int64_t i = 0; strcmp(c->name, "pg_cast") == 0 && i < n; i++)
        if (cast[i].oid == oid) return arena_printf(a, "CAST (%s AS %s)", shown(o, cast[i].from), shown(o, cast[i].to));
    const OperatorClass *class = operator_classes(&n);
    for (int64_t i = 0; i < n; i++) {
        const bool family = strcmp(c->name, "pg_opfamily") == 0;
        if ((!family && strcmp(c->name, "pg_opclass") != 0) || (family ? class[i].family : class[i].oid) != oid)
            continue;
        int64_t n_methods;
        m = access_methods(&n_methods);
        while (m->oid != class[i].method) m++;
        return arena_printf(a, "OPERATOR %s %s USING %s", family ? "FAMILY" : "CLASS",
                            family ? class[i].family_name : class[i].name, m->name);
    }
    const BuiltinProc *f = strcmp(c->name, "pg_proc") == 0 ? builtin_proc(oid) : NULL;
    if (!f) return "";
    const bool aggregate = f->kind == 'a';
    const char *args = *f->args || !aggregate ? builtin_proc_arguments(o, a, f, ", ") : "*";
    return args ? arena_printf(a, aggregate ? "AGGREGATE %s(%s)" : "FUNCTION pg_catalog.%s(%s)",
                               definition_name(a, f->name), args)
                : NULL;
}
