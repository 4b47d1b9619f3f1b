/* functions.c - functions on the catalog (types/func_catalog.c), and names of objects (regclass and the like). */
#include <limits.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/names.h"
#include "db/redo.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/system/definitions.h"
#include "session/system/builtin_objects.h"
#include "session/system/descriptions.h"
#include "session/system/functions.h"
#include "session/system/object_identity.h"
#include "session/system/roles.h"
#include "sql/bind/bind.h"
#include "sql/parse/ast.h"
#include "sql/parse/parse.h"
#include "types/array.h"
#include "types/json.h"
#include "types/lsn.h"
#include "types/oid.h"

typedef struct Call {
    Session *s;
    const SysObjects *o;
    const char *name; /* of the function */
    int n;
    const Value *args;
    Arena *a;
    Value *out; /* NULL unless it is set */
    Err *e;
} Call;

static Status put_text(const Call *c, const char *text) {
    if (!text) return ST_OK;
    const char *copy = arena_strdup(c->a, text);
    if (!copy) return err_is_set(c->e) ? ST_ERROR : err_oom(c->e);
    c->out->is_null = false;
    c->out->u.str = str_make(copy, (int64_t)strlen(copy));
    return ST_OK;
}
static Status put_bool(const Call *c, bool b) { return c->out->is_null = false, c->out->u.b = b, ST_OK; }
static Status put_int(const Call *c, int64_t i) { return c->out->is_null = false, c->out->u.i64 = i, ST_OK; }
static Status put_int4(const Call *c, int64_t i) { return c->out->is_null = false, c->out->u.i32 = (int32_t)i, ST_OK; }
static const char *text_arg(const Call *c, int k) {
    return arena_strndup(c->a, c->args[k].u.str.ptr, c->args[k].u.str.len);
}

/* ---- names ------------------------------------------------------------------------------------------ */

/* "a"."b" or a.b, folded; at most two parts. false: it is no name. */
static bool split_name(Arena *a, Slice text, const char **schema, const char **name) {
    char *out = arena_alloc(a, text.len + 2), *part = out, *at = out;
    int n = 0;
    const char *parts[3];
    if (!out) return false;
    for (int64_t i = 0; i <= text.len; i++) {
        if (i == text.len || text.ptr[i] == '.') {
            *at++ = 0;
            if (n == 2 || !*part) return false;
            parts[n++] = part;
            part = at;
        } else if (text.ptr[i] == ' ' || text.ptr[i] == '\t' || text.ptr[i] == '\n') {
            int64_t k = i; /* around a part, and not within it */
            while (k < text.len && (text.ptr[k] == ' ' || text.ptr[k] == '\t' || text.ptr[k] == '\n')) k++;
            if (at > part && k < text.len && text.ptr[k] != '.') return false;
            i = k - 1;
        } else if (text.ptr[i] == '"') {
            for (i++; i < text.len; i++) {
                if (text.ptr[i] == '"' && (i + 1 == text.len || text.ptr[i + 1] != '"')) break;
                if (text.ptr[i] == '"') i++;
                *at++ = text.ptr[i];
            }
            if (i == text.len) return false;
        } else {
            const char c = text.ptr[i];
            *at++ = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
    }
    *schema = n == 2 ? parts[0] : NULL;
    *name = parts[n - 1];
    name_read(slice_of(*name)); /* a constant that is kept depends on it */
    return true;
}

static Status no_object(Err *e, const char *state, const char *what, Slice name) {
    return err_set(e, state, "%s \"%.*s\" does not exist", what, (int)MIN_OF(name.len, 512), name.ptr);
}
/* A type as SQL spells it. */
static Status find_type(const SysObjects *o, Slice name, int64_t *out, Err *e) {
    char *sql = arena_printf(o->a, "NULL::%.*s", (int)name.len, name.ptr);
    AstExpr *ast;
    Type t;
    const Domain *d;
    const char *schema, *plain;
    Err why = {0};
    if (!sql) return err_oom(e);
    const bool word = name.len == 4 && strncasecmp(name.ptr, "char", 4) == 0; /* character, and not "char" */
    if (slice_eq(name, slice_of("record[]"))) return *out = OID_RECORD_ARRAY, ST_OK;
    if (!word && split_name(o->a, name, &schema, &plain)) { /* also those that SQL has no word for */
        const SysType *x = object_type_named(o, schema, plain);
        if (x) return *out = x->oid, ST_OK;
    }
    if (sql_parse_expr(o->a, slice_of(sql), &ast, &why) != ST_OK || ast->kind != AST_CAST ||
        AST_AS_CONST(AstCast, ast)->arg->kind != AST_NULL_LIT)
        return err_set(e, ERR_SYNTAX, "syntax error at or near \"%.*s\"", (int)MIN_OF(name.len, 128), name.ptr);
    if (sql_bind_type(o->c, AST_AS_CONST(AstCast, ast)->type, &t, &d, &why) != ST_OK)
        return no_object(e, ERR_UNDEFINED_OBJECT, "type", name);
    return *out = object_type_oid(o, t, d ? d->id : 0), ST_OK;
}
static Status find_proc(const SysObjects *o, Slice name, int64_t *out, Err *e) {
    const char *schema, *plain;
    int64_t n = 0;
    if (!split_name(o->a, name, &schema, &plain)) return err_set(e, ERR_INVALID_NAME, "invalid name syntax");
    name_read(slice_of(plain));
    int64_t n_builtin;
    const BuiltinProc *all = builtin_procs(&n_builtin);
    for (int64_t i = 0; (!schema || strcmp(schema, "pg_catalog") == 0) && i < n_builtin; i++)
        if (strcmp(all[i].name, plain) == 0 && !n++) *out = all[i].oid;
    for (int64_t i = 0; i < o->routines.len; i++)
        if (sql_routine_place(o->routines.items[i].routine, schema, plain) >= 0 && !n++)
            *out = o->routines.items[i].oid;
    if (n > 1)
        return err_set(e, ERR_AMBIGUOUS_FUNCTION, "more than one function named \"%.*s\"", (int)name.len, name.ptr);
    return n ? ST_OK : no_object(e, ERR_UNDEFINED_FUNCTION, "function", name);
}
static Status find_procedure(const SysObjects *o, Slice name, int64_t *out, Err *e) {
    const char *paren = memchr(name.ptr, '(', (size_t)name.len), *schema, *plain;
    if (!paren || name.ptr[name.len - 1] != ')') return err_set(e, ERR_INVALID_TEXT, "expected a left parenthesis");
    if (!split_name(o->a, (Slice){name.ptr, paren - name.ptr}, &schema, &plain))
        return err_set(e, ERR_INVALID_NAME, "invalid name syntax");
    name_read(slice_of(plain));
    int64_t types[100];
    int n = 0;
    for (const char *p = paren + 1, *end = name.ptr + name.len - 1; p < end && n < 100;) {
        const char *comma = memchr(p, ',', (size_t)(end - p)), *to = comma ? comma : end;
        while (p < to && *p == ' ') p++;
        TRY(find_type(o, (Slice){p, to - p}, &types[n++], e));
        p = to + 1;
    }
    int best = INT_MAX;
    for (int64_t i = 0; i < o->routines.len; i++) {
        const Routine *f = o->routines.items[i].routine;
        const int place = sql_routine_place(f, schema, plain);
        int k = 0;
        bool same = place >= 0 && place < best;
        for (int x = 0; same && x < f->n_params; x++)
            if (routine_is_arg(f, x))
                same = k < n &&
                       object_type_oid(o, f->param_types[x], f->param_domains ? f->param_domains[x] : 0) == types[k++];
        if (!same || k != n) continue;
        *out = o->routines.items[i].oid;
        best = place;
    }
    if (best < INT_MAX) return ST_OK;
    int64_t n_builtin;
    const BuiltinProc *all = builtin_procs(&n_builtin);
    char *vector = arena_strdup(o->a, "");
    for (int k = 0; vector && k < n; k++)
        vector = arena_printf(o->a, "%s%s%lld", vector, k ? " " : "", (long long)types[k]);
    if (!vector) return err_oom(e);
    for (int64_t i = 0; i < n_builtin && (!schema || strcmp(schema, "pg_catalog") == 0); i++)
        if (strcmp(all[i].name, plain) == 0 && strcmp(all[i].args, vector) == 0) return *out = all[i].oid, ST_OK;
    return no_object(e, ERR_UNDEFINED_FUNCTION, "function", name);
}
/* Without pg_catalog in front. */
static Slice operator_name(Slice name) {
    static const char in[] = "pg_catalog.";
    const int64_t n = (int64_t)sizeof in - 1;
    return name.len > n && memcmp(name.ptr, in, (size_t)n) == 0 ? (Slice){name.ptr + n, name.len - n} : name;
}
static Status no_operator(Slice name, Err *e) {
    return err_set(e, ERR_UNDEFINED_FUNCTION, "operator does not exist: %.*s", (int)MIN_OF(name.len, 512), name.ptr);
}
static Status find_oper(Slice name, int64_t *out, Err *e) {
    int64_t n, found = 0;
    const BuiltinOperator *all = builtin_operators(&n);
    const Slice plain = operator_name(name);
    for (int64_t i = 0; i < n; i++)
        if (slice_eq(plain, slice_of(all[i].name)) && !found++) *out = all[i].oid;
    if (found > 1)
        return err_set(e, ERR_AMBIGUOUS_FUNCTION, "more than one operator named %.*s", (int)MIN_OF(name.len, 512),
                       name.ptr);
    return found ? ST_OK : no_operator(name, e);
}
/* +(integer,integer), -(none,integer) */
static Status find_operator(const SysObjects *o, Slice name, int64_t *out, Err *e) {
    const char *paren = memchr(name.ptr, '(', (size_t)name.len), *end = name.ptr + name.len - 1;
    if (!paren || *end != ')') return err_set(e, ERR_INVALID_TEXT, "expected a left parenthesis");
    const Slice plain = operator_name((Slice){name.ptr, paren - name.ptr});
    const char *comma = memchr(paren, ',', (size_t)(end - paren));
    if (!comma) {
        err_set(e, ERR_UNDEFINED_PARAMETER, "missing argument");
        return err_hint(e, "Use NONE to denote the missing argument of a unary operator."), ST_ERROR;
    }
    Slice args[2] = {{paren + 1, comma - paren - 1}, {comma + 1, end - comma - 1}};
    int64_t types[2] = {0, 0}, n;
    for (int i = 0; i < 2; i++) {
        while (args[i].len && *args[i].ptr == ' ') args[i] = (Slice){args[i].ptr + 1, args[i].len - 1};
        if (args[i].len == 4 && strncasecmp(args[i].ptr, "none", 4) == 0) continue;
        TRY(find_type(o, args[i], &types[i], e));
    }
    const BuiltinOperator *all = builtin_operators(&n);
    for (int64_t i = 0; i < n; i++)
        if (slice_eq(plain, slice_of(all[i].name)) && all[i].left == types[0] && all[i].right == types[1])
            return *out = all[i].oid, ST_OK;
    return no_operator(name, e);
}
static const char *operator_text(const SysObjects *o, Arena *a, int64_t oid, bool with_types) {
    int64_t n, same = 0;
    const BuiltinOperator *all = builtin_operators(&n), *x = NULL;
    for (int64_t i = 0; i < n; i++)
        if (all[i].oid == oid) x = &all[i];
    if (!x) return NULL;
    if (with_types)
        return arena_printf(a, "%s(%s,%s)", x->name, x->left ? object_type_shown(o, x->left, -1, false) : "NONE",
                            object_type_shown(o, x->right, -1, false));
    for (int64_t i = 0; i < n; i++) same += strcmp(all[i].name, x->name) == 0;
    return same > 1 ? arena_printf(a, "pg_catalog.%s", x->name) : x->name;
}
static const char *builtin_text(Arena *a, int64_t in, int64_t oid) {
    const BuiltinObject *x;
    for (int64_t i = 0; (x = builtin_object_nth(i)) != NULL; i++)
        if (x->in == in && x->oid == oid) return definition_name(a, x->name);
    return NULL;
}
Status session_oid_find(void *ctx, int kind, Slice name, int64_t *out, Err *e) {
    Session *s = ctx;
    const SysObjects *o = session_objects(s);
    const char *schema, *plain;
    const SysClass *c;
    const Role *role;
    const BuiltinObject *own;
    if (!o) return e == &s->err ? ST_ERROR : (err_copy(e, &s->err), ST_ERROR);
    if (kind == OID_TYPE) return find_type(o, name, out, e);
    if (kind == OID_PROC) return find_proc(o, name, out, e);
    if (kind == OID_PROCEDURE) return find_procedure(o, name, out, e);
    if (kind == OID_OPER) return find_oper(name, out, e);
    if (kind == OID_OPERATOR) return find_operator(o, name, out, e);
    if (!split_name(o->a, name, &schema, &plain)) return err_set(e, ERR_INVALID_NAME, "invalid name syntax");
    name_read(slice_of(plain));
    switch (kind) {
    case OID_CLASS:
        if ((c = object_class_named(o, schema, plain))) return *out = c->oid, ST_OK;
        if (schema && !object_schema(o, schema))
            return err_set(e, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", schema);
        return no_object(e, ERR_UNDEFINED_TABLE, "relation", name);
    case OID_NAMESPACE:
        if ((*out = object_schema(o, plain))) return ST_OK;
        return no_object(e, ERR_UNDEFINED_SCHEMA, "schema", name);
    case OID_ROLE:
        if ((role = catalog_role(o->c, plain))) return *out = role->id, ST_OK;
        return no_object(e, ERR_UNDEFINED_OBJECT, "role", name);
    case OID_COLLATION:
        if ((own = builtin_object(IN_COLLATION, plain))) return *out = own->oid, ST_OK;
        return err_set(e, ERR_UNDEFINED_OBJECT, "collation \"%s\" for encoding \"UTF8\" does not exist", plain);
    default:
        own = builtin_object(kind == OID_CONFIG ? IN_TS_CONFIG : IN_TS_DICT, plain);
        if (own) return *out = own->oid, ST_OK;
        return no_object(e, ERR_UNDEFINED_OBJECT,
                         kind == OID_CONFIG ? "text search configuration" : "text search dictionary", name);
    }
}

static const char *builtin_name(const SysObjects *o, Arena *a, int64_t oid, bool with_types) {
    const BuiltinProc *f = builtin_proc(oid), *all;
    int64_t n, same = 0;
    if (!f) return NULL;
    const char *args = with_types ? builtin_proc_arguments(o, a, f, ",") : NULL, *name = definition_name(a, f->name);
    if (with_types) return args && name ? arena_printf(a, "%s(%s)", name, args) : NULL;
    all = builtin_procs(&n);
    for (int64_t i = 0; i < n; i++) same += strcmp(all[i].name, f->name) == 0;
    return same > 1 && name ? arena_printf(a, "pg_catalog.%s", name) : name;
}
static const char *proc_name(const SysObjects *o, Arena *a, int64_t oid, bool with_types) {
    const Routine *f = object_routine(o, oid);
    int64_t n = 0;
    if (!f) return builtin_name(o, a, oid, with_types);
    if (with_types) return definition_signature(o, a, f);
    for (int64_t i = 0; i < o->routines.len; i++)
        n += sql_routine_place(o->routines.items[i].routine, NULL, name_of_key(f->name)) >= 0;
    return definition_routine_name(a, f, n == 1 && search_path_has(schema_of_key(f->name)));
}
Status session_oid_name(void *ctx, int kind, int64_t oid, Arena *a, Str *out, Err *e) {
    Session *s = ctx;
    const SysObjects *o = session_objects(s);
    const char *text = NULL;
    const SysClass *c;
    const Role *role;
    if (!o) return e == &s->err ? ST_ERROR : (err_copy(e, &s->err), ST_ERROR);
    time_reads++; /* what is made of it is good for once: no name says which object it is */
    switch (oid ? kind : -1) {
    case -1: text = "-"; break;
    case OID_CLASS: text = (c = object_class(o, oid)) ? definition_class_name(o, a, c) : NULL; break;
    case OID_TYPE: text = object_type(o, oid) ? object_type_shown(o, oid, -1, false) : NULL; break;
    case OID_PROC: text = proc_name(o, a, oid, false); break;
    case OID_PROCEDURE: text = proc_name(o, a, oid, true); break;
    case OID_NAMESPACE: text = object_schema_name(o, oid); break;
    case OID_ROLE: text = (role = catalog_role_by_id(o->c, oid)) ? definition_name(a, role->name) : NULL; break;
    case OID_COLLATION: text = builtin_text(a, IN_COLLATION, oid); break;
    case OID_CONFIG: text = builtin_text(a, IN_TS_CONFIG, oid); break;
    case OID_DICTIONARY: text = builtin_text(a, IN_TS_DICT, oid); break;
    case OID_OPER: text = operator_text(o, a, oid, false); break;
    case OID_OPERATOR: text = operator_text(o, a, oid, true); break;
    default: break;
    }
    if (!text) text = arena_printf(a, "%lld", (long long)oid);
    char *copy = text ? arena_strdup(a, text) : NULL;
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *out = str_make(copy, (int64_t)strlen(copy));
    return ST_OK;
}

/* ---- definitions ------------------------------------------------------------------------------------ */

static Status format_type(const Call *c) {
    if (c->args[0].is_null) return ST_OK;
    const bool given = !c->args[1].is_null;
    return put_text(c, object_type_shown(c->o, c->args[0].u.i64, given ? c->args[1].u.i32 : -1, given));
}
/* The last argument, where it is boolean. */
static bool is_pretty(const Call *c) { return c->args[c->n - 1].type.id == T_BOOL && c->args[c->n - 1].u.b; }
/* What pg_attrdef has of a column's DEFAULT is the text behind the column's number, as its type decides what constants
 * are: {2}'2020-01-01'. Then *col is it, from 0; else -1. */
static const char *column_text(const char *sql, int32_t *col) {
    *col = -1;
    const char *at = *sql == '{' ? sql + 1 : sql;
    int32_t n = 0;
    while (at > sql && at < sql + 6 && *at >= '0' && *at <= '9') n = n * 10 + (*at++ - '0');
    if (at <= sql + 1 || *at != '}') return sql;
    *col = n - 1;
    return at + 1;
}
static Status get_expr(const Call *c) {
    const SysClass *of = object_class(c->o, c->args[1].u.i64);
    const char *sql = text_arg(c, 0), *out;
    const SysClass *of_default = of && (of->kind == 'r' || of->kind == 'v') ? of : NULL;
    if (!sql) return err_oom(c->e);
    if (!of && c->args[1].u.i64) return ST_OK;
    int32_t col;
    sql = column_text(sql, &col);
    if (of_default && col >= 0 && col < of->n_cols && of->cols[col].kind != COLUMN_GENERATED) {
        TRY(definition_default_text(c->o, c->a, sql, of->cols[col].type, &out));
        return put_text(c, out);
    }
    TRY(definition_expr(c->o, c->a, of ? of->table : NULL, is_pretty(c), sql, &out));
    return put_text(c, out);
}
static Status get_constraintdef(const Call *c) {
    const SysConstraint *k = object_constraint(c->o, c->args[0].u.i64);
    const char *out;
    if (!k) return ST_OK;
    TRY(definition_constraint(c->o, c->a, k, is_pretty(c), &out));
    return put_text(c, out);
}
static Status get_indexdef(const Call *c) {
    SysClass *i = object_class(c->o, c->args[0].u.i64);
    const char *out;
    if (!i || i->kind != 'i') return ST_OK;
    TRY(definition_index(c->o, c->a, i, c->n > 1 ? c->args[1].u.i32 : 0, is_pretty(c), &out));
    return put_text(c, out);
}
static Status get_viewdef(const Call *c) {
    const SysClass *v = NULL;
    const char *out;
    int64_t oid = c->args[0].type.id == T_OID ? c->args[0].u.i64 : 0;
    if (c->args[0].type.id != T_OID)
        TRY(session_oid_find(c->s, OID_CLASS, (Slice){c->args[0].u.str.ptr, c->args[0].u.str.len}, &oid, c->e));
    v = object_class(c->o, oid);
    if (!v || (v->kind != 'v' && v->kind != 'm'))
        return v && c->args[0].type.id != T_OID ? put_text(c, "Not a view") : ST_OK;
    TRY(definition_view(c->o, c->a, v, &out));
    return put_text(c, out);
}
static Status routine_text(const Call *c, RoutineText what) {
    const Routine *f = object_routine(c->o, c->args[0].u.i64);
    const BuiltinProc *own = f ? NULL : builtin_proc(c->args[0].u.i64);
    const char *out;
    if (own && what == ROUTINE_RESULT) {
        out = object_type_shown(c->o, own->result, -1, false);
        return put_text(c, own->returns_set && out ? arena_printf(c->a, "SETOF %s", out) : out);
    }
    if (own && what != ROUTINE_DEFINITION) return put_text(c, builtin_proc_arguments(c->o, c->a, own, ", "));
    if (!f) return ST_OK;
    TRY(definition_routine(c->o, c->a, f, what, &out));
    return put_text(c, out);
}
static Status get_sqlbody(const Call *c) {
    const Routine *f = object_routine(c->o, c->args[0].u.i64);
    return put_text(c, f ? definition_routine_sql_body(c->a, f) : NULL);
}
static Status get_functiondef(const Call *c) {
    const Routine *f = object_routine(c->o, c->args[0].u.i64);
    if (f && routine_is_aggregate(f))
        return err_set(c->e, ERR_WRONG_OBJECT_TYPE, "\"%s\" is an aggregate function", name_of_key(f->name));
    return routine_text(c, ROUTINE_DEFINITION);
}
static Status get_arguments(const Call *c) { return routine_text(c, ROUTINE_ARGUMENTS); }
static Status get_identity(const Call *c) { return routine_text(c, ROUTINE_IDENTITY); }
static Status get_result(const Call *c) { return routine_text(c, ROUTINE_RESULT); }
static Status get_argument_default(const Call *c) {
    const Routine *f = object_routine(c->o, c->args[0].u.i64);
    const char *out;
    if (!f) return ST_OK;
    TRY(definition_argument_default(c->o, c->a, f, c->args[1].u.i32, &out));
    return put_text(c, out);
}
static Status sequence_last(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    if (!x || !x->sequence) return ST_OK;
    const SequenceValues now = sequence_values(x->sequence);
    return now.is_called ? put_int(c, now.last) : ST_OK;
}
static Status get_userbyid(const Call *c) {
    const Role *x = catalog_role_by_id(c->o->c, c->args[0].u.i64);
    if (x) return put_text(c, x->name);
    return put_text(c, arena_printf(c->a, "unknown (OID=%lld)", (long long)c->args[0].u.i64));
}
static Status nothing(const Call *c) { return (void)c, ST_OK; }
static Status empty(const Call *c) { return put_text(c, ""); }
static Status no_rows(const Call *c) {
    c->out->is_null = false;
    return array_build(c->a, PH_I64, 0, NULL, NULL, &c->out->u.str, c->e);
}

/* ---- what is visible, what is allowed ----------------------------------------------------------------- */

static Status table_visible(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    return x ? put_bool(c, object_class_visible(c->o, x)) : ST_OK;
}
static Status type_visible(const Call *c) {
    const SysType *t = object_type(c->o, c->args[0].u.i64);
    return t ? put_bool(c, object_type_visible(c->o, t)) : ST_OK;
}
static Status visible(const Call *c) { return put_bool(c, true); }
static Status function_visible(const Call *c) {
    const Routine *f = object_routine(c->o, c->args[0].u.i64);
    if (!f) return builtin_proc(c->args[0].u.i64) ? put_bool(c, true) : ST_OK;
    const int place = search_path_place(schema_of_key(f->name));
    bool hidden = place < 0;
    for (int64_t i = 0; i < c->o->routines.len && !hidden; i++) {
        const Routine *other = c->o->routines.items[i].routine;
        const int at = sql_routine_place(other, NULL, name_of_key(f->name));
        hidden = at >= 0 && at < place && sql_same_inputs(other, f);
    }
    return put_bool(c, !hidden);
}

/* ---- names to objects, or NULL ------------------------------------------------------------------------ */

static Status to_reg(const Call *c) {
    Type t;
    Err why = {0};
    int64_t oid;
    if (!oid_type_named(slice_of(c->name + 3), &t)) return ST_OK;
    const Slice name = {c->args[0].u.str.ptr, c->args[0].u.str.len};
    if (session_oid_find(c->s, t.precision, name, &oid, &why) == ST_OK) return put_int(c, oid);
    return strcmp(why.sqlstate, ERR_OUT_OF_MEMORY) == 0 ? (err_copy(c->e, &why), ST_ERROR) : ST_OK;
}

/* ---- sizes -------------------------------------------------------------------------------------------- */

static Status relation_size(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    if (!x) return ST_OK;
    return put_int(c, system_has_rows(x) ? system_table_bytes(x->table) : 0);
}
static Status total_size(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    if (!x) return ST_OK;
    return put_int(c, system_has_rows(x) ? table_charged(x->table) : 0);
}
static Status indexes_size(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    if (!x) return ST_OK;
    return put_int(c, system_has_rows(x) ? table_part_bytes(x->table, TABLE_INDEX) : 0);
}
static Status database_size(const Call *c) { return put_int(c, atomic_load(&c->s->db->account.used)); }
static Status filenode(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    return x && (x->kind == 'r' || x->kind == 'm' || x->kind == 'i') ? put_int(c, x->oid) : ST_OK;
}
static Status publishable(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    return x ? put_bool(c, x->kind == 'r' && !x->system) : ST_OK;
}
/* What can be changed through a view. */
static Status view_changes(const Call *c, const View *v, ViewChanges *out) {
    PlanCtx p;
    Err why = {0};
    plan_ctx_init(c->s, c->a, &p);
    p.err = &why;
    if (sql_view_changes(&p, v, out) == ST_OK) return ST_OK;
    *out = (ViewChanges){.reason = "it does not bind"};
    return gave_up(&why) ? (err_copy(c->e, &why), ST_ERROR) : ST_OK;
}
static Status updatable(const Call *c) {
    enum { MAY_DELETE = 16, MAY_ALL = 28 /* INSERT, UPDATE, DELETE */ };
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    ViewChanges can;
    if (!x || x->kind != 'v' || !x->view) return put_int4(c, x && x->kind == 'r' ? MAY_ALL : 0);
    TRY(view_changes(c, x->view, &can));
    return put_int4(c, can.reason ? 0 : can.some ? MAY_ALL : MAY_DELETE);
}
static Status column_updatable(const Call *c) {
    const SysClass *x = object_class(c->o, c->args[0].u.i64);
    const int64_t k = c->args[1].u.i16;
    ViewChanges can;
    if (!x || x->kind != 'v' || !x->view) return put_bool(c, x && x->kind == 'r');
    TRY(view_changes(c, x->view, &can));
    return put_bool(c, !can.reason && k > 0 && k <= can.n && can.cols[k - 1] >= 0);
}

/* ---- the database ------------------------------------------------------------------------------------- */

static const struct {
    int number;
    const char *name;
} encodings[] = {{0, "SQL_ASCII"}, {6, "UTF8"}, {8, "LATIN1"}, {16, "LATIN9"}};
static Status encoding_name(const Call *c) {
    for (int64_t i = 0; i < ARRAY_LEN(encodings); i++)
        if (encodings[i].number == c->args[0].u.i32) return put_text(c, encodings[i].name);
    return put_text(c, "");
}
static Status encoding_number(const Call *c) {
    const char *name = text_arg(c, 0);
    for (int64_t i = 0; name && i < ARRAY_LEN(encodings); i++)
        if (strcasecmp(encodings[i].name, name) == 0) return put_int4(c, encodings[i].number);
    return put_int4(c, -1);
}
static Status database_encoding(const Call *c) { return put_text(c, "UTF8"); }
static Status schemas(const Call *c) {
    const SearchPath *p = search_path_now();
    Str cells[SEARCH_PATH_NAMES + 2];
    int n = 0;
    const char *temp = temp_schema_now();
    if (c->args[0].u.b && !p->has_temp && temp) cells[n++] = str_make(temp, (int64_t)strlen(temp));
    if (c->args[0].u.b && !p->has_catalog) cells[n++] = str_make("pg_catalog", 10);
    for (int i = 0; i < p->n; i++) {
        const char *name = schema_meant(search_path_name(p, i));
        if (name && catalog_has_schema(c->o->c, name)) cells[n++] = str_make(name, (int64_t)strlen(name));
    }
    c->out->is_null = false;
    return array_build(c->a, PH_STR, n, cells, NULL, &c->out->u.str, c->e);
}
static Status schema(const Call *c) {
    const SearchPath *p = search_path_now();
    for (int i = 0; i < p->n; i++) {
        const char *name = schema_meant(search_path_name(p, i));
        if (name && catalog_has_schema(c->o->c, name)) return put_text(c, name);
    }
    return ST_OK;
}
static Status temp_schema(const Call *c) {
    const char *temp = temp_schema_now();
    return put_int(c, temp ? object_schema(c->o, temp) : 0);
}
static Status other_temp_schema(const Call *c) {
    const char *name = object_schema_name(c->o, c->args[0].u.i64);
    return put_bool(c, name && schema_is_others(name));
}
static Status no(const Call *c) { return put_bool(c, false); }
static Status row_security(const Call *c) {
    int64_t oid = c->args[0].u.i64;
    const Str name = c->args[0].u.str;
    if (type_is_text(c->args[0].type)) TRY(session_oid_find(c->s, OID_CLASS, (Slice){name.ptr, name.len}, &oid, c->e));
    return object_class(c->o, oid) ? put_bool(c, false) : ST_OK;
}
static Status process(const Call *c) { return put_int4(c, getpid()); }

/* ---- the redo log ---- */

static Status log_info(const Call *c, RedoLogInfo *out) {
    TRY(redo_check_lsn(c->s->db, 0, c->e));
    (void)redo_info(c->s->db, out);
    return ST_OK;
}
static Status put_lsn(const Call *c, int64_t lsn) { return put_int(c, lsn_cell((uint64_t)lsn)); }
static Status log_end(const Call *c) {
    RedoLogInfo x;
    TRY(log_info(c, &x));
    return put_lsn(c, x.lsn);
}
static Status log_durable(const Call *c) {
    RedoLogInfo x;
    TRY(log_info(c, &x));
    return put_lsn(c, x.durable);
}
static Status is_stable(const Call *c) {
    const uint64_t lsn = lsn_number(c->args[0].u.i64);
    RedoLogInfo x;
    TRY(log_info(c, &x));
    const bool is = lsn <= (uint64_t)x.durable;
    if (is || !c->args[1].u.b) return put_bool(c, is);
    TRY(redo_check_lsn(c->s->db, lsn, c->e));
    TRY(redo_wait(c->s->db, (int64_t)lsn, c->e));
    return put_bool(c, true);
}

/* ---- information_schema -------------------------------------------------------------------------------- */

static Status char_max_length(const Call *c) {
    const int64_t oid = c->args[0].u.i64, m = c->args[1].u.i32;
    if (m == -1) return ST_OK;
    if (oid == 1042 || oid == 1043) return put_int4(c, m - 4);
    return oid == 1560 || oid == 1562 ? put_int4(c, m) : ST_OK;
}
static Status char_octet_length(const Call *c) {
    const int64_t oid = c->args[0].u.i64, m = c->args[1].u.i32;
    if (oid != 25 && oid != 1042 && oid != 1043) return ST_OK;
    return put_int4(c, m == -1 ? 1 << 30 : 4 * (m - 4));
}
static Status numeric_precision(const Call *c) {
    const int64_t m = c->args[1].u.i32;
    switch (c->args[0].u.i64) {
    case 21: return put_int4(c, 16);
    case 23: return put_int4(c, 32);
    case 20: return put_int4(c, 64);
    case 1700: return m == -1 ? ST_OK : put_int4(c, (m - 4) >> 16 & 0xFFFF);
    case 700: return put_int4(c, 24);
    case 701: return put_int4(c, 53);
    default: return ST_OK;
    }
}
static Status numeric_radix(const Call *c) {
    const int64_t oid = c->args[0].u.i64;
    if (oid == 1700) return put_int4(c, 10);
    return oid == 20 || oid == 21 || oid == 23 || oid == 700 || oid == 701 ? put_int4(c, 2) : ST_OK;
}
static Status numeric_scale(const Call *c) {
    const int64_t oid = c->args[0].u.i64, m = c->args[1].u.i32;
    if (oid == 20 || oid == 21 || oid == 23) return put_int4(c, 0);
    return oid == 1700 && m != -1 ? put_int4(c, (m - 4) & 0xFFFF) : ST_OK;
}
static Status datetime_precision(const Call *c) {
    const int64_t oid = c->args[0].u.i64, m = c->args[1].u.i32;
    if (oid == 1082) return put_int4(c, 0);
    if (oid == 1083 || oid == 1114 || oid == 1184 || oid == 1266) return put_int4(c, m < 0 ? 6 : m);
    if (oid == 1186) return put_int4(c, m < 0 || (m & 0xFFFF) == 0xFFFF ? 6 : m & 0xFFFF);
    return ST_OK;
}
/* The fields behind "interval", in capitals. */
static Status interval_type(const Call *c) {
    if (c->args[0].u.i64 != 1186) return ST_OK;
    const char *shown = object_type_shown(c->o, 1186, c->args[1].u.i32, true);
    if (!shown || strlen(shown) <= 9) return shown ? ST_OK : err_oom(c->e);
    char *fields = arena_strdup(c->a, shown + 9);
    for (char *p = fields; p && *p; p++) *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
    return put_text(c, fields);
}
static Status index_position(const Call *c) {
    SysClass *x = object_class(c->o, c->args[0].u.i64);
    if (!x || x->kind != 'i') return ST_OK;
    TRY(object_columns(c->o, x));
    for (int32_t i = 0; i < x->n_cols; i++)
        if (table_find_column(x->table, slice_of(x->cols[i].name)) + 1 == c->args[1].u.i16) return put_int4(c, i + 1);
    return ST_OK;
}

/* ---- comments ---- */

static Status obj_description(const Call *c) {
    const char *catalog = c->n > 1 ? text_arg(c, 1) : NULL;
    if (c->n > 1 && !catalog) return err_oom(c->e);
    return put_text(c, object_comment(c->o, catalog, c->args[0].u.i64, 0));
}
static Status col_description(const Call *c) {
    const int32_t column = c->args[1].u.i32;
    return put_text(c, column > 0 ? object_comment(c->o, "pg_class", c->args[0].u.i64, column) : NULL);
}

/* ---- objects in words ---- */

static Status describe_object(const Call *c) {
    ObjectIdentity x;
    if (c->args[0].u.i64 == 0 && c->args[1].u.i64 == 0) return ST_OK;
    TRY(object_identity(c->o, c->a, c->args[0].u.i64, c->args[1].u.i64, c->args[2].u.i32, &x, c->e));
    return put_text(c, x.description);
}
static void json_text(JsonOut *o, const char *text, bool last) {
    if (text) json_put_string(o, slice_of(text));
    else json_put_text(o, "null");
    json_put(o, last ? "]" : ",", 1);
}
static Status put_rows(const Call *c, int64_t n, const Str *rows) {
    c->out->is_null = false;
    return array_build(c->a, PH_STR, n, rows, NULL, &c->out->u.str, c->e);
}
static Status identify_object(const Call *c) {
    ObjectIdentity x;
    JsonOut o = {.a = c->a};
    Str row;
    TRY(object_identity(c->o, c->a, c->args[0].u.i64, c->args[1].u.i64, c->args[2].u.i32, &x, c->e));
    json_put_text(&o, "[");
    json_text(&o, x.type, false);
    json_text(&o, x.schema, false);
    json_text(&o, x.name, false);
    json_text(&o, x.identity, true);
    TRY(json_done(&o, &row, c->e));
    return put_rows(c, 1, &row);
}
static const struct {
    const char *word;
    char code;
    bool bare;
} keywords[] = {
#include "session/system/builtin_keywords.inc"
};
static Status keyword_rows(const Call *c) {
    Str *rows = arena_array(c->a, Str, ARRAY_LEN(keywords));
    if (!rows) return err_oom(c->e);
    for (int64_t i = 0; i < ARRAY_LEN(keywords); i++) {
        const char code = keywords[i].code;
        const char *what = code == 'U'   ? "unreserved"
                           : code == 'C' ? "unreserved (cannot be function or type name)"
                           : code == 'T' ? "reserved (can be function or type name)"
                                         : "reserved";
        const char *row = arena_printf(c->a, "[\"%s\",\"%c\",%s,\"%s\",\"%s\"]", keywords[i].word, code,
                                       keywords[i].bare ? "true" : "false", what,
                                       keywords[i].bare ? "can be bare label" : "requires AS");
        if (!row) return err_oom(c->e);
        rows[i] = str_make(row, (int64_t)strlen(row));
    }
    return put_rows(c, ARRAY_LEN(keywords), rows);
}

/* The process began then, as its files say. */
static Status started(const Call *c) {
    struct stat x;
    if (stat("/proc/self", &x) != 0) return ST_OK;
    return put_int(c, ((int64_t)x.st_ctim.tv_sec - INT64_C(946684800)) * 1000000 + x.st_ctim.tv_nsec / 1000);
}

static const struct {
    const char *name;
    Status (*call)(const Call *c);
} functions[] = {
    {"pg_postmaster_start_time", started},
    {"pg_conf_load_time", started},
    {"pg_describe_object", describe_object},
    {"pg_identify_object_array", identify_object},
    {"pg_get_keywords_array", keyword_rows},
    {"inet_server_addr", nothing},
    {"inet_client_addr", nothing},
    {"inet_server_port", nothing},
    {"inet_client_port", nothing},
    {"format_type", format_type},
    {"pg_get_expr", get_expr},
    {"pg_get_constraintdef", get_constraintdef},
    {"pg_get_indexdef", get_indexdef},
    {"pg_get_viewdef", get_viewdef},
    {"pg_get_ruledef", nothing},
    {"pg_get_triggerdef", nothing},
    {"pg_get_functiondef", get_functiondef},
    {"pg_get_function_arguments", get_arguments},
    {"pg_get_function_identity_arguments", get_identity},
    {"pg_get_function_result", get_result},
    {"pg_get_function_sqlbody", get_sqlbody},
    {"pg_get_function_arg_default", get_argument_default},
    {"pg_get_partkeydef", nothing},
    {"pg_sequence_last_value", sequence_last},
    {"pg_get_statisticsobjdef_columns", nothing},
    {"pg_tablespace_location", empty},
    {"pg_get_userbyid", get_userbyid},
    {"pg_table_is_visible", table_visible},
    {"pg_type_is_visible", type_visible},
    {"pg_function_is_visible", function_visible},
    {"obj_description", obj_description},
    {"shobj_description", obj_description},
    {"col_description", col_description},
    {"pg_relation_size", relation_size},
    {"pg_table_size", relation_size},
    {"pg_indexes_size", indexes_size},
    {"pg_total_relation_size", total_size},
    {"pg_database_size", database_size},
    {"pg_tablespace_size", database_size},
    {"pg_relation_filenode", filenode},
    {"pg_relation_is_publishable", publishable},
    {"pg_relation_is_updatable", updatable},
    {"pg_column_is_updatable", column_updatable},
    {"partition_ancestors_array", no_rows},
    {"pg_encoding_to_char", encoding_name},
    {"pg_char_to_encoding", encoding_number},
    {"getdatabaseencoding", database_encoding},
    {"pg_client_encoding", database_encoding},
    {"current_schemas", schemas},
    {"current_schema", schema},
    {"pg_my_temp_schema", temp_schema},
    {"pg_is_other_temp_schema", other_temp_schema},
    {"pg_backend_pid", process},
    {"pg_is_in_recovery", no},
    {"pg_current_wal_lsn", log_durable},
    {"pg_current_wal_flush_lsn", log_durable},
    {"pg_current_wal_insert_lsn", log_end},
    {"pg_last_wal_replay_lsn", nothing},
    {"pg_last_wal_receive_lsn", nothing},
    {"stele_is_stable", is_stable},
    {"row_security_active", row_security},
    {"pg_jit_available", no},
    {"_pg_char_max_length", char_max_length},
    {"_pg_char_octet_length", char_octet_length},
    {"_pg_numeric_precision", numeric_precision},
    {"_pg_numeric_precision_radix", numeric_radix},
    {"_pg_numeric_scale", numeric_scale},
    {"_pg_datetime_precision", datetime_precision},
    {"_pg_interval_type", interval_type},
    {"_pg_index_position", index_position},
};

Status session_catalog_call(void *ctx, const char *name, int n, const Value *args, Arena *a, Value *out, Err *e) {
    Session *s = ctx;
    bool known;
    out->is_null = true;
    const Status of_number = system_number_call(s, name, n, args, out, &known, e);
    if (known) return of_number;
    Call c = {.s = s, .o = session_objects(s), .name = name, .n = n, .args = args, .a = a, .out = out, .e = e};
    const size_t len = strlen(name);
    if (!c.o) return e == &s->err ? ST_ERROR : (err_copy(e, &s->err), ST_ERROR);
    for (int64_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].call(&c);
    const Status st = system_privilege_call(s, c.o, name, n, args, a, out, &known, e);
    if (known) return st;
    if (strncmp(name, "to_reg", 6) == 0) return to_reg(&c);
    if (len > 11 && strcmp(name + len - 11, "_is_visible") == 0) return visible(&c);
    return err_internal(e, "function %s on the catalog is not known", name);
}
