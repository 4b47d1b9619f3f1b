/* catalogs_more.c - rows of PostgreSQL's catalogs of routines, roles and the database, and of views on its state. */
#include <stdio.h>
#include <unistd.h>

#include "session/core/pg_settings.h"
#include "session/ddl/access.h"
#include "session/ddl/depend.h"
#include "session/system/access_methods.h"
#include "session/system/builtin_objects.h"
#include "session/system/definitions.h"
#include "session/system/roles.h"
#include "sql/bind/bind.h"

/* ---- routines --------------------------------------------------------------------------------------- */

static Status routine_row(SystemRows *r, const SysRoutine *x) {
    const Routine *f = x->routine;
    const int n = f->n_params;
    int64_t *in = arena_array(r->c->arena, int64_t, n + 1), *all = arena_array(r->c->arena, int64_t, n + 1), n_in = 0,
            n_all = 0;
    const char **modes = arena_array(r->c->arena, const char *, n + 1),
               **names = arena_array(r->c->arena, const char *, n + 1);
    bool outs = false, named = false;
    const char *body;
    if (!in || !all || !modes || !names) return err_oom(r->err);
    for (int i = 0; i < n; i++) {
        if (f->param_modes[i] == 'c') continue;
        static const char *const texts[] = {"i", "o", "b", "t", "v"};
        const char mode = f->variadic && i == routine_variadic_param(f) ? 'v' : f->param_modes[i];
        const int64_t oid = object_type_oid(r->o, f->param_types[i], f->param_domains ? f->param_domains[i] : 0);
        for (int64_t k = 0; k < ARRAY_LEN(texts); k++)
            if (texts[k][0] == mode) modes[n_all] = texts[k];
        names[n_all] = f->param_names && f->param_names[i] ? f->param_names[i] : "";
        named = named || *names[n_all];
        outs = outs || mode != 'i';
        all[n_all++] = oid;
        if (mode == 'i' || mode == 'b' || mode == 'v') in[n_in++] = oid;
    }
    int64_t variadic = 0, ret;
    TRY(definition_result_oid(r->o, r->c->arena, f, &ret));
    if (f->variadic) {
        const SysType *t = object_type(r->o, in[n_in - 1]);
        variadic = t ? t->element : 0;
    }
    const Privileges of = privileges_of_routine_id(f->id);
    RoutineConfig config;
    const AstFuncOptions *o = definition_routine_options(r->c->arena, f, &body);
    if (!o) return err_oom(r->err);
    TRY(definition_routine_config(r->o, r->c->arena, o, false, &config));
    const double cost = o->cost > 0 ? o->cost : routine_is_aggregate(f) ? 1.0 : 100.0;
    const double rows = o->rows > 0 ? o->rows : f->returns_set ? 1000.0 : 0.0;
    return system_row(r, "isiiiffi0cbbbbcciiivvvv--s--vv", x->oid, name_of_key(f->name),
                      object_schema_of(r->o, f->name), system_owner(r->o, &of),
                      (int64_t)(strcmp(f->language, "sql") == 0 ? OID_SQL
                                : routine_is_aggregate(f)       ? OID_INTERNAL
                                                                : OID_PLPGSQL),
                      cost, rows, variadic,
                      f->is_procedure           ? 'p'
                      : routine_is_aggregate(f) ? 'a'
                                                : 'f',
                      o->definer == 1, o->leakproof == 1, f->strict, f->returns_set, f->volatility,
                      o->parallel ? o->parallel : 'u', n_in, (int64_t)f->n_defaults, ret,
                      system_vector(r, 19, n_in, in), outs ? system_vector(r, 20, n_all, all) : NULL,
                      outs ? system_texts(r, 21, n_all, modes) : NULL, named ? system_texts(r, 22, n_all, names) : NULL,
                      body, config.n ? system_texts(r, 28, config.n, config.items) : NULL, system_acl(r, 29, &of));
}
static const BuiltinProc procs[] = {
#include "session/system/builtin_procs.inc"
};
const BuiltinProc *builtin_procs(int64_t *n) {
    *n = ARRAY_LEN(procs);
    return procs;
}
static Status builtin_row(SystemRows *r, const BuiltinProc *f) {
    Str args;
    int64_t n = *f->args != 0;
    for (const char *p = f->args; *p; p++) n += *p == ' ';
    TRY(cell_from_text(r->p->values.cells[19].type, slice_of(f->args), NULL, r->c->arena, &args, r->err));
    return system_row(r, "isiiiff00c00bbcci0iv-----s----", f->oid, f->name, (int64_t)OID_SCHEMA_CATALOG,
                      (int64_t)OID_OWNER, (int64_t)12, 1.0, f->returns_set ? 100.0 : 0.0, f->kind, f->strict,
                      f->returns_set, f->volatility, 's', n, f->result, &args, f->name);
}
Status system_fill_proc(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < ARRAY_LEN(procs); i++) TRY(builtin_row(r, &procs[i]));
    for (int64_t i = 0; i < r->o->routines.len; i++) TRY(routine_row(r, &r->o->routines.items[i]));
    return ST_OK;
}
/* ---- aggregates ------------------------------------------------------------------------------------------- */

/* What a function of an aggregate is; 0: there is none. */
static int64_t function_oid(const SysObjects *o, const AstName *n) {
    int64_t count;
    const BuiltinProc *all = builtin_procs(&count);
    if (!n->name) return 0;
    for (int64_t i = 0; i < o->routines.len; i++)
        if (sql_routine_place(o->routines.items[i].routine, n->schema, n->name) >= 0) return o->routines.items[i].oid;
    for (int64_t i = 0; i < count; i++)
        if (strcmp(all[i].name, n->name) == 0) return all[i].oid;
    return 0;
}
static const char *value_text(Arena *a, Slice s) { return s.ptr ? arena_strndup(a, s.ptr, s.len) : NULL; }
static int64_t type_oid(const SystemRows *r, const AstTypeName *t) {
    Type type;
    int64_t domain;
    Err none = {0};
    if (!t || sql_routine_type(r->o->c, t, &type, &domain, &none) != ST_OK) return 0;
    return object_type_oid(r->o, type, domain);
}
static Status aggregate_row(SystemRows *r, const SysRoutine *x) {
    Err none = {0};
    PlanCtx c = *r->c;
    c.err = &none;
    const AstAggregate *g = sql_aggregate_statement(&c, x->routine);
    Arena *a = r->c->arena;
    if (!g) return ST_OK;
    return system_row(r,
                      "ici"
                      "iiiiiiii"
                      "bbcc"
                      "iiiii"
                      "ss",
                      x->oid, 'n', (int64_t)0, function_oid(r->o, &g->sfunc), function_oid(r->o, &g->finalfunc),
                      function_oid(r->o, &g->combinefunc), function_oid(r->o, &g->serialfunc),
                      function_oid(r->o, &g->deserialfunc), function_oid(r->o, &g->msfunc),
                      function_oid(r->o, &g->minvfunc), function_oid(r->o, &g->mfinalfunc), g->final_extra,
                      g->mfinal_extra, 'r', 'r', (int64_t)0, type_oid(r, g->stype), (int64_t)0, type_oid(r, g->mstype),
                      (int64_t)0, value_text(a, g->initcond), value_text(a, g->minitcond));
}
Status system_fill_aggregate(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->routines.len; i++)
        if (routine_is_aggregate(r->o->routines.items[i].routine)) TRY(aggregate_row(r, &r->o->routines.items[i]));
    return ST_OK;
}
/* ---- operators and casts ---------------------------------------------------------------------------------- */

Status system_fill_operator(Session *s, SystemRows *r) {
    int64_t n;
    const BuiltinOperator *operators = builtin_operators(&n);
    (void)s;
    for (int64_t i = 0; i < n; i++)
        TRY(system_row(r, "isiicbbiiiiiiii", operators[i].oid, operators[i].name, (int64_t)OID_SCHEMA_CATALOG,
                       (int64_t)OID_OWNER, operators[i].kind, operators[i].merges, operators[i].hashes,
                       operators[i].left, operators[i].right, operators[i].result, operators[i].commutator,
                       operators[i].negator, operators[i].code, operators[i].selectivity,
                       operators[i].join_selectivity));
    return ST_OK;
}
Status system_fill_cast(Session *s, SystemRows *r) {
    int64_t n;
    const BuiltinCast *casts = builtin_casts(&n);
    (void)s;
    for (int64_t i = 0; i < n; i++)
        TRY(system_row(r, "iiiicc", casts[i].oid, casts[i].from, casts[i].to, casts[i].function, casts[i].context,
                       casts[i].method));
    return ST_OK;
}
Status system_fill_language(Session *s, SystemRows *r) {
    const BuiltinObject *x;
    (void)s;
    for (int64_t i = 0; (x = builtin_object_nth(i)) != NULL; i++) {
        const Privileges of = {.kind = PRIVILEGE_LANGUAGE, .name = x->name, .part = ""};
        const bool pl = x->oid == OID_PLPGSQL;
        if (x->in == IN_LANGUAGE)
            TRY(system_row(r, "isibb000v", x->oid, x->name, system_owner(r->o, &of), pl, pl || x->oid == OID_SQL,
                           system_acl(r, 8, &of)));
    }
    return ST_OK;
}
Status system_fill_extension(Session *s, SystemRows *r) {
    (void)s;
    return system_row(r, "isiibs--", (int64_t)OID_PLPGSQL_EXTENSION, "plpgsql", (int64_t)OID_OWNER,
                      (int64_t)OID_SCHEMA_CATALOG, false, "1.0");
}
Status system_fill_ts_config(Session *s, SystemRows *r) {
    const BuiltinObject *x;
    (void)s;
    for (int64_t i = 0; (x = builtin_object_nth(i)) != NULL; i++)
        if (x->in == IN_TS_CONFIG)
            TRY(system_row(r, "isiii", x->oid, x->name, (int64_t)OID_SCHEMA_CATALOG, (int64_t)OID_OWNER,
                           (int64_t)3722));
    return ST_OK;
}
Status system_fill_ts_dict(Session *s, SystemRows *r) {
    const BuiltinObject *x;
    (void)s;
    for (int64_t i = 0; (x = builtin_object_nth(i)) != NULL; i++)
        if (x->in == IN_TS_DICT)
            TRY(system_row(r, "isiii-", x->oid, x->name, (int64_t)OID_SCHEMA_CATALOG, (int64_t)OID_OWNER,
                           (int64_t)(strcmp(x->name, "simple") == 0 ? 3727 : 13150)));
    return ST_OK;
}
Status system_fill_am(Session *s, SystemRows *r) {
    int64_t n;
    const AccessMethod *all = access_methods(&n);
    (void)s;
    TRY(system_row(r, "isic", (int64_t)OID_HEAP, "heap", (int64_t)3, 't'));
    for (int64_t i = 0; i < n; i++) TRY(system_row(r, "isic", all[i].oid, all[i].name, all[i].handler, 'i'));
    return ST_OK;
}

/* ---- what depends on what ------------------------------------------------------------------------------ */

enum { IN_ATTRDEF = 2604, IN_REWRITE = 2618 };

static Status depends(SystemRows *r, int64_t in, int64_t oid, int64_t on, int64_t on_oid, int64_t on_column, char how) {
    return system_row(r, "ii0iiic", in, oid, on, on_oid, on_column, how);
}
static Status constraint_depends(SystemRows *r, const SysConstraint *k) {
    if (!k->of) return ST_OK;
    const Table *t = k->of->table;
    int64_t *cols = arena_array(r->c->arena, int64_t, t->n_cols + 1), n = 0;
    if (!cols) return err_oom(r->err);
    if (k->check) TRY(definition_check_columns(r->o, t, k->check, &n, cols));
    for (int i = 0; k->key && i < k->key->n_cols; i++) cols[n++] = k->key->cols[i] + 1;
    for (int i = 0; k->reference && i < k->reference->n_cols; i++)
        cols[n++] = table_find_column(t, slice_of(k->reference->cols[i])) + 1;
    for (int64_t i = 0; i < n; i++) TRY(depends(r, IN_CONSTRAINT, k->oid, IN_CLASS, k->of->oid, cols[i], 'a'));
    if (k->key) return depends(r, IN_CLASS, k->index->oid, IN_CONSTRAINT, k->oid, 0, 'i');
    return k->index ? depends(r, IN_CONSTRAINT, k->oid, IN_CLASS, k->index->oid, 0, 'n') : ST_OK;
}
/* On a relation that it reads, and on the columns of a table that it uses. */
static Status view_depends(SystemRows *r, int64_t rule, const View *v, const SysClass *of) {
    TRY(depends(r, IN_REWRITE, rule, IN_CLASS, of->oid, 0, 'n'));
    const bool *uses = of->table ? view_used_columns(r->o->s, r->c->arena, v, of->table) : NULL;
    for (int i = 0; uses && i < of->table->n_cols; i++)
        if (uses[i]) TRY(depends(r, IN_REWRITE, rule, IN_CLASS, of->oid, i + 1, 'n'));
    return err_is_set(&r->o->s->err) ? ST_ERROR : ST_OK;
}
/* Of constraints, defaults, views and schemas. */
Status system_fill_depend(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->constraints.len; i++) TRY(constraint_depends(r, &r->o->constraints.items[i]));
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        const SysClass *c = &r->o->classes.items[i];
        for (int32_t k = 0; (c->kind == 'r' || c->kind == 'v') && !c->system && k < c->n_cols; k++)
            if (c->cols[k].default_sql)
                TRY(depends(r, IN_ATTRDEF, object_derived(r->o, 'D', c->oid, c->cols[k].name), IN_CLASS, c->oid, k + 1,
                            'a'));
        const Sequence *q = c->sequence;
        const SysClass *owner = q && q->owner_table ? object_class_of_key(r->o, q->owner_table) : NULL;
        if (owner && owner->table)
            TRY(depends(r, IN_CLASS, c->oid, IN_CLASS, owner->oid,
                        table_find_column(owner->table, slice_of(q->owner_column)) + 1, q->identity ? 'i' : 'a'));
        if (c->key && c->kind != 'i') TRY(depends(r, IN_CLASS, c->oid, IN_NAMESPACE, c->space, 0, 'n'));
        if (!c->view) continue;
        const int64_t rule = object_derived(r->o, 'R', c->oid, "_RETURN");
        TRY(depends(r, IN_REWRITE, rule, IN_CLASS, c->oid, 0, 'i'));
        for (int k = 0; k < c->view->n_sources; k++) {
            const SysClass *of = object_class_of_key(r->o, c->view->sources[k].relation);
            if (of) TRY(view_depends(r, rule, c->view, of));
        }
    }
    return ST_OK;
}

/* ---- the database and its state --------------------------------------------------------------------- */

Status system_fill_database(Session *s, SystemRows *r) {
    const Privileges of = {.kind = PRIVILEGE_DATABASE, .name = "", .part = ""};
    return system_row(r, "isiic01i00iss--v", (int64_t)OID_DATABASE, s->info.database, system_owner(r->o, &of),
                      (int64_t)6, 'c', (int64_t)-1, (int64_t)1663, "C", "C", system_acl(r, 15, &of));
}
Status system_fill_tablespace(Session *s, SystemRows *r) {
    (void)s;
    TRY(system_row(r, "isi--", (int64_t)1663, "pg_default", (int64_t)OID_OWNER));
    return system_row(r, "isi--", (int64_t)1664, "pg_global", (int64_t)OID_OWNER);
}
static const Str *choices(SystemRows *r, const char *list) {
    const char *names[64];
    int64_t n = 0;
    char *copy = list ? arena_strdup(r->c->arena, list) : NULL;
    for (char *p = copy; p && n < (int64_t)ARRAY_LEN(names);) {
        char *bar = strchr(p, '|');
        if (bar) *bar = 0;
        names[n++] = p;
        p = bar ? bar + 1 : NULL;
    }
    return copy ? system_texts(r, 11, n, names) : NULL;
}
Status system_fill_settings(Session *s, SystemRows *r) {
    for (int64_t i = 0; i < settings_count(); i++) {
        SettingInfo x;
        char least[24], most[24];
        settings_info(s, r->c->arena, i, &x);
        const char *now = settings_show(s, r->c->arena, x.name, &s->err);
        if (!x.boot || !now) return err_oom(&s->err);
        snprintf(least, sizeof least, "%lld", (long long)x.min);
        snprintf(most, sizeof most, "%lld", (long long)x.max);
        TRY(system_row(r, "sssssssssssvss--0", x.name, now, x.unit, "Stele", x.doc, NULL, "user", x.type,
                       strcmp(now, x.boot) == 0 ? "default" : "session", x.ranged ? least : NULL,
                       x.ranged ? most : NULL, choices(r, x.choices), x.boot, x.boot));
    }
    PgSettingAbout p;
    for (int64_t i = 0; pg_setting_about(i, &p); i++) {
        char least[32], most[32];
        const char *now = settings_show(s, r->c->arena, p.name, &s->err);
        if (!now) return ST_ERROR;
        snprintf(least, sizeof least, p.whole ? "%.0f" : "%g", p.min);
        snprintf(most, sizeof most, p.whole ? "%.0f" : "%g", p.max);
        TRY(system_row(r, "sssssssssssvss--0", p.name, now, p.unit, "PostgreSQL", "", NULL, "user", p.type,
                       strcmp(now, p.boot) == 0 ? "default" : "session", p.ranged ? least : NULL,
                       p.ranged ? most : NULL, choices(r, p.choices), p.boot, p.boot));
    }
    return ST_OK;
}
/* Of the session itself: what others do is not kept. */
Status system_fill_stat_activity(Session *s, SystemRows *r) {
    const char *app = settings_show(s, r->c->arena, "application_name", &s->err);
    if (!app) return ST_ERROR;
    TRY(system_next_row(r));
    system_put_int(r, 0, OID_DATABASE);
    TRY(system_put_text(r, 1, s->info.database));
    system_put_int(r, 2, getpid());
    system_put_int(r, 4, session_login_role(s));
    TRY(system_put_text(r, 5, s->info.session_user));
    TRY(system_put_text(r, 6, app));
    system_put_int(r, 11, s->info.now_micros);
    TRY(system_put_text(r, 16, "active"));
    return system_put_text(r, 21, "client backend");
}
