/* definitions.c - constraints, indexes, views and routines as PostgreSQL's pg_get_*def functions write them. */
#include "session/system/definitions.h"

#include <stdlib.h>

#include "session/ddl/definition.h"
#include "catalog/sql_names.h"
#include "session/ddl/index_names.h"
#include "session/ddl/setting_text.h"
#include "sql/bind/bind.h"
#include "sql/parse/ast.h"
#include "sql/parse/parse.h"
#include "types/composite.h"

static Status made(const SysObjects *o, const char *text, const char **out) {
    return (*out = text) ? ST_OK : err_oom(&o->s->err);
}
const char *definition_class_name(const SysObjects *o, Arena *a, const SysClass *c) {
    return object_class_visible(o, c) ? definition_name(a, c->name) : definition_qualified_name(o, a, c);
}
const char *definition_qualified_name(const SysObjects *o, Arena *a, const SysClass *c) {
    const char *name = definition_name(a, c->name), *in = definition_name(a, object_schema_name(o, c->space));
    return name && in ? arena_printf(a, "%s.%s", in, name) : NULL;
}

static const char *names(Arena *a, int n, char *const *list) {
    const char *out = "";
    for (int i = 0; out && i < n; i++) {
        const char *name = definition_name(a, list[i]);
        out = name ? arena_printf(a, "%s%s%s", out, i ? ", " : "", name) : NULL;
    }
    return out;
}
static const char *key_columns(Arena *a, const Table *t, const KeyConstraint *k) {
    const char *out = "";
    for (int i = 0; out && i < k->n_cols; i++) {
        const char *name = definition_name(a, t->cols[k->cols[i]].name);
        out = name ? arena_printf(a, "%s%s%s", out, i ? ", " : "", name) : NULL;
    }
    return out;
}
static const char *reference(const SysObjects *o, Arena *a, const SysConstraint *k) {
    const ForeignKey *f = k->reference;
    const char *cols = names(a, f->n_cols, f->cols), *ref = names(a, f->n_cols, f->ref_cols),
               *table = definition_class_name(o, a, k->foreign), *update = definition_action(f->on_update),
               *gone = definition_action(f->on_delete), *set = names(a, f->n_set_cols, f->set_cols);
    if (!cols || !ref || !table || !set) return NULL;
    set = f->n_set_cols ? arena_printf(a, " (%s)", set) : "";
    if (!set) return NULL;
    return arena_printf(a, "FOREIGN KEY (%s) REFERENCES %s(%s)%s%s%s%s%s%s%s%s", cols, table, ref,
                        f->match_full ? " MATCH FULL" : "", update ? " ON UPDATE " : "", update ? update : "",
                        gone ? " ON DELETE " : "", gone ? gone : "", set,
                        definition_deferral(f->deferrable, f->deferred), f->not_valid ? " NOT VALID" : "");
}
Status definition_constraint(const SysObjects *o, Arena *a, const SysConstraint *k, bool pretty, const char **out) {
    if (k->reference) return made(o, reference(o, a, k), out);
    if (k->key) {
        const char *cols = key_columns(a, k->of->table, k->key);
        const IndexDef *x = k->index->def;
        const char *include = x->n_include ? names(a, x->n_include, x->include) : NULL;
        if (!cols || (x->n_include && !include)) return err_oom(&o->s->err);
        return made(o,
                    arena_printf(a, "%s (%s)%s%s%s%s", k->key->primary ? "PRIMARY KEY" : "UNIQUE", cols,
                                 include ? " INCLUDE (" : "", include ? include : "", include ? ")" : "",
                                 definition_deferral(k->key->deferrable, k->key->deferred)),
                    out);
    }
    const char *cond;
    if (k->domain) TRY(definition_domain_check(o, a, k->domain, pretty, k->check, &cond));
    else TRY(definition_expr(o, a, k->of->table, pretty, k->check, &cond));
    return made(o, arena_printf(a, "CHECK (%s)", cond), out);
}

static Status part_text(const SysObjects *o, Arena *a, const Table *t, const IndexDef *x, int i, bool pretty,
                        const char **out) {
    const char *text = x->parts[i].text;
    if (index_part_column(t, text) >= 0) return *out = text, ST_OK;
    AstExpr *ast;
    Err why = {0};
    const bool call = sql_parse_expr(a, slice_of(text), &ast, &why) == ST_OK && ast->kind == AST_FUNC;
    TRY(definition_expr(o, a, t, pretty, text, out));
    return call ? ST_OK : made(o, arena_printf(a, "(%s)", *out), out);
}
Status definition_index(const SysObjects *o, Arena *a, SysClass *c, int64_t part, bool pretty, const char **out) {
    const Table *t = c->table;
    const IndexDef *x = c->def;
    const char *where = NULL, **parts = arena_array(a, const char *, x->n_parts + 1);
    *out = NULL;
    if (!parts) return err_oom(&o->s->err);
    if (part > x->n_parts + x->n_include || part < 0) return ST_OK;
    if (part > x->n_parts) return made(o, definition_name(a, x->include[part - 1 - x->n_parts]), out);
    if (part) return part_text(o, a, t, x, (int)part - 1, pretty, out);
    for (int i = 0; i < x->n_parts; i++) TRY(part_text(o, a, t, x, i, pretty, &parts[i]));
    if (x->where) TRY(definition_expr(o, a, t, pretty, x->where, &where));
    const char *table = (pretty ? definition_class_name : definition_qualified_name)(o, a, object_class_of(o, t));
    return made(o, index_text(a, x, table, parts, where), out);
}

Status definition_view(const SysObjects *o, Arena *a, const SysClass *c, const char **out) {
    const char *sql;
    if (c->system) sql = c->system->sql ? c->system->sql : "";
    else TRY(view_query_text(o->s, a, c->view, &sql));
    return made(o, *sql ? arena_printf(a, " %s;", sql) : "", out);
}

/* ---- routines ------------------------------------------------------------------------------------------- */

static const AstCreateFunction *statement_of(Arena *a, const Routine *f) {
    AstStmt **list;
    int64_t n;
    Err why = {0};
    if (sql_parse(a, slice_of(f->sql), &list, &n, &why) != ST_OK || n != 1 || list[0]->kind != AST_CREATE_FUNCTION)
        return NULL;
    return AST_AS_CONST(AstCreateFunction, list[0]);
}
static const char *body_of(Arena *a, const AstCreateFunction *x) {
    return x->body.ptr && !x->sql_body ? arena_strndup(a, x->body.ptr, x->body.len) : "";
}
const AstFuncOptions *definition_routine_options(Arena *a, const Routine *f, const char **body) {
    static const AstFuncOptions none = {.strict = -1, .definer = -1, .leakproof = -1, .of_functions = -1};
    *body = "aggregate_dummy";
    if (routine_is_aggregate(f)) return &none;
    const AstCreateFunction *x = statement_of(a, f);
    return x && (*body = body_of(a, x)) ? &x->options : NULL;
}
/* a, b as 'a', 'b'. */
static const char *quoted_list(Arena *a, const char *text) {
    SearchPath path;
    const char *out = "";
    if (!search_path_parse(text, NULL, &path)) return quote_string(a, text);
    for (int i = 0; out && i < path.n; i++) {
        const char *q = quote_string(a, search_path_name(&path, i));
        out = q ? arena_printf(a, "%s%s%s", out, i ? ", " : "", q) : NULL;
    }
    return out && *out ? out : quote_string(a, "");
}
/* As PostgreSQL spells it. */
static const char *setting_spelled(const char *name, bool quoted) {
    static const char *const spelled[][3] = {{"datestyle", "DateStyle", "\"DateStyle\""},
                                             {"intervalstyle", "IntervalStyle", "\"IntervalStyle\""},
                                             {"timezone", "TimeZone", "\"TimeZone\""}};
    for (int64_t i = 0; i < ARRAY_LEN(spelled); i++)
        if (strcmp(spelled[i][0], name) == 0) return spelled[i][quoted ? 2 : 1];
    return name;
}
Status definition_routine_config(const SysObjects *o, Arena *a, const AstFuncOptions *x, bool quoted,
                                 RoutineConfig *out) {
    *out = (RoutineConfig){.items = arena_array(a, const char *, x->n_sets + 1)};
    if (!out->items) return err_oom(&o->s->err);
    for (int64_t i = 0; i < x->n_sets; i++) {
        const AstSet *set = x->sets[i];
        const char *value;
        if (set->set_kind != AST_SET_VALUE) continue;
        TRY(setting_value_text(o->s, a, set, &value));
        const bool is_path = strcmp(set->name, "search_path") == 0;
        if (quoted && !(value = is_path ? quoted_list(a, value) : quote_string(a, value))) return err_oom(&o->s->err);
        const char *item =
            arena_printf(a, quoted ? " SET %s TO %s\n" : "%s=%s", setting_spelled(set->name, quoted), value);
        if (!item) return err_oom(&o->s->err);
        out->items[out->n++] = item;
    }
    return ST_OK;
}
Status definition_result_oid(const SysObjects *o, Arena *a, const Routine *f, int64_t *out) {
    const CompositeType *row = composite_of(f->ret);
    (void)a;
    *out = object_type_oid(o, f->ret, f->ret_domain);
    int outs = 0;
    for (int i = 0; i < f->n_params; i++) outs += f->param_modes[i] != 'i' && f->param_modes[i] != 'c';
    if (f->is_procedure) *out = outs ? 2249 : 2278;
    else if (f->returns_record && !row && outs != 1) *out = 2249;
    return ST_OK;
}

static const char *type_text(const SysObjects *o, Type t, int64_t domain) {
    return object_type_shown(o, object_type_oid(o, t, domain), -1, false);
}
Status definition_argument_default(const SysObjects *o, Arena *a, const Routine *f, int64_t n, const char **out) {
    const AstCreateFunction *x = f->n_defaults ? statement_of(a, f) : NULL;
    *out = NULL;
    if (!x || n < 1 || n > f->n_params || n > x->n_params || !x->params[n - 1].def) return ST_OK;
    return definition_default(o, a, x->params[n - 1].def, f->param_types[n - 1], out);
}
/* Parameters of the modes in `modes`, with names and defaults where they are wanted. */
static const char *parameters(const SysObjects *o, Arena *a, const Routine *f, const char *modes, bool named,
                              bool defaults) {
    const char *out = "";
    bool any = false;
    for (int i = 0; out && i < f->n_params; i++) {
        const char m = f->param_modes[i];
        const char *name = f->param_names ? f->param_names[i] : NULL, *word = "", *def = NULL;
        if (!strchr(modes, m)) continue;
        if (f->variadic && i == routine_variadic_param(f)) word = "VARIADIC ";
        else if (m == 'o' && strchr(modes, 'i')) word = "OUT ";
        else if (m == 'b') word = "INOUT ";
        else if (f->is_procedure && m == 'i') word = "IN ";
        if (name && *name && named) {
            const char *q = definition_name(a, name);
            word = q ? arena_printf(a, "%s%s ", word, q) : NULL;
        }
        if (defaults && definition_argument_default(o, a, f, i + 1, &def) != ST_OK) return NULL;
        const char *type = type_text(o, f->param_types[i], f->param_domains ? f->param_domains[i] : 0);
        if (!word || !type) return NULL;
        out = arena_printf(a, "%s%s%s%s%s%s", out, any ? ", " : "", word, type, def ? " DEFAULT " : "", def ? def : "");
        any = true;
    }
    return out;
}
const char *definition_routine_name(Arena *a, const Routine *f, bool visible) {
    const char *name = definition_name(a, visible ? name_of_key(f->name) : f->name);
    return !name || visible || key_has_schema(f->name) ? name : arena_printf(a, "public.%s", name);
}
static const char *result(const SysObjects *o, Arena *a, const Routine *f) {
    const char *columns;
    bool table = false;
    for (int i = 0; i < f->n_params; i++) table = table || f->param_modes[i] == 't';
    if (table) return (columns = parameters(o, a, f, "t", true, false)) ? arena_printf(a, "TABLE(%s)", columns) : NULL;
    int64_t oid;
    if (definition_result_oid(o, a, f, &oid) != ST_OK) return NULL;
    const char *type = object_type_shown(o, oid, -1, false);
    return type ? arena_printf(a, "%s%s", f->returns_set ? "SETOF " : "", type) : NULL;
}
/* The line of options behind LANGUAGE. */
static const char *options_line(Arena *a, const Routine *f, const AstFuncOptions *o) {
    const char *t = arena_printf(a, "%s%s%s%s%s",
                                 f->volatility == 'i'   ? " IMMUTABLE"
                                 : f->volatility == 's' ? " STABLE"
                                                        : "",
                                 o->parallel == 's'   ? " PARALLEL SAFE"
                                 : o->parallel == 'r' ? " PARALLEL RESTRICTED"
                                                      : "",
                                 f->strict ? " STRICT" : "", o->definer == 1 ? " SECURITY DEFINER" : "",
                                 o->leakproof == 1 ? " LEAKPROOF" : "");
    if (t && o->cost > 0 && o->cost != 100) t = arena_printf(a, "%s COST %g", t, o->cost);
    if (t && o->rows > 0 && o->rows != 1000) t = arena_printf(a, "%s ROWS %g", t, o->rows);
    return t && *t ? arena_printf(a, "%s\n", t) : t;
}
static const char *whole(const SysObjects *o, Arena *a, const Routine *f) {
    const char *args = parameters(o, a, f, "iob", true, true), *ret = f->is_procedure ? "" : result(o, a, f), *body,
               *name = definition_routine_name(a, f, false);
    const char *what = f->is_procedure ? "PROCEDURE" : "FUNCTION";
    const AstCreateFunction *x = statement_of(a, f);
    RoutineConfig config;
    if (!x || !args || !ret || !name || !(body = body_of(a, x))) return NULL;
    if (definition_routine_config(o, a, &x->options, true, &config) != ST_OK) return NULL;
    const char *t = options_line(a, f, &x->options);
    for (int64_t i = 0; t && i < config.n; i++) t = arena_printf(a, "%s%s", t, config.items[i]);
    if (!t) return NULL;
    t = arena_printf(a, "CREATE OR REPLACE %s %s(%s)\n%s%s%s LANGUAGE %s\n%s", what, name, args,
                     *ret ? " RETURNS " : "", ret, *ret ? "\n" : "", f->language, t);
    if (t && x->sql_body) return arena_printf(a, "%s%s\n", t, x->sql_body);
    const char *tag = f->is_procedure ? "$procedure$" : "$function$";
    return t ? arena_printf(a, "%sAS %s%s%s\n", t, tag, body, tag) : NULL;
}
const char *definition_routine_sql_body(Arena *a, const Routine *f) {
    const AstCreateFunction *x = routine_is_aggregate(f) ? NULL : statement_of(a, f);
    return x ? x->sql_body : NULL;
}
Status definition_routine(const SysObjects *o, Arena *a, const Routine *f, RoutineText what, const char **out) {
    switch (what) {
    case ROUTINE_ARGUMENTS: return made(o, parameters(o, a, f, "iob", true, true), out);
    case ROUTINE_IDENTITY: return made(o, parameters(o, a, f, "iob", true, false), out);
    case ROUTINE_RESULT: return f->is_procedure ? (*out = NULL, ST_OK) : made(o, result(o, a, f), out);
    default: return made(o, whole(o, a, f), out);
    }
}
const char *definition_signature(const SysObjects *o, Arena *a, const Routine *f) {
    const char *name = definition_routine_name(a, f, search_path_has(schema_of_key(f->name))), *args = "";
    bool any = false;
    for (int i = 0; name && args && i < f->n_params; i++) {
        if (!routine_is_arg(f, i)) continue;
        const char *type = type_text(o, f->param_types[i], f->param_domains ? f->param_domains[i] : 0);
        args = type ? arena_printf(a, "%s%s%s", args, any ? "," : "", type) : NULL;
        any = true;
    }
    return name && args ? arena_printf(a, "%s(%s)", name, args) : NULL;
}

const BuiltinProc *builtin_proc(int64_t oid) {
    int64_t n;
    const BuiltinProc *all = builtin_procs(&n);
    for (int64_t i = 0; i < n; i++)
        if (all[i].oid == oid) return &all[i];
    return NULL;
}
const char *builtin_proc_arguments(const SysObjects *o, Arena *a, const BuiltinProc *f, const char *between) {
    const char *out = "";
    for (const char *p = f->args; out && *p;) {
        char *end;
        const char *type = object_type_shown(o, strtoll(p, &end, 10), -1, false);
        out = type ? arena_printf(a, "%s%s%s", out, p > f->args ? between : "", type) : NULL;
        p = *end ? end + 1 : end;
    }
    return out;
}
