/* alter_routine.c - ALTER FUNCTION, PROCEDURE, ROUTINE, and AGGREGATE .. RENAME; settings in definitions of routines.
 *
 * The catalog has the CREATE statement's text, and an altered routine is a new one with another text, as OR REPLACE
 * makes it: so there is one place only where options are read (sql/pl), and dumps have what was altered.
 */
#include <stdio.h>

#include "catalog/catalog.h"
#include "catalog/sql_names.h"
#include "session/ddl/access.h"
#include "session/ddl/comments.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/setting_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "sql/pl/pl.h"

Status routine_replace(Session *s, Routine *old, const Routine *like, Routine **out) {
    Routine *own = routine_new(like, &s->err);
    if (!own) return ST_ERROR;
    if ((old && session_drop_routine(s, old) != ST_OK) || session_add_routine(s, own) != ST_OK) {
        routine_free(own);
        return ST_ERROR;
    }
    *out = own;
    if (!old) return ST_OK;
    TRY(comments_of_routine(s, old->id, own->id));
    return privileges_of_routine(s, old->id, own->id);
}

Status routine_key_free(Session *s, Arena *a, const Routine *r, const char *key) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_routines; i++) {
        if (strcmp(k->routines[i]->name, key) != 0 || !sql_same_inputs(k->routines[i], r)) continue;
        const char *signature = pl_signature_text(a, k->routines[i]);
        const Slice schema = schema_of_key(key);
        return signature ? err_set(&s->err, ERR_DUPLICATE_FUNCTION, "function %s already exists in schema \"%.*s\"",
                                   name_of_key(signature), (int)schema.len, schema.ptr)
                         : err_oom(&s->err);
    }
    return ST_OK;
}
Status routine_check_uncalled(Session *s, Statement *st, const Routine *r, const char *what) {
    Dependents d;
    dependents_init(&d, s, st);
    TRY(dependents_of_routine(&d, r));
    if (d.found.len == 0) return ST_OK;
    return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                   "function \"%s\" cannot be %s, because the definition of %s calls it", r->name, what,
                   d.found.items[0].what);
}
Status routine_move(Session *s, Arena *a, Routine *r, const char *key, const char *from, const char *to) {
    Routine like = *r, *own;
    SearchPath path, changed = {0};
    const char *name = definition_name(a, key);
    if (!name || !(like.sql = sql_create_named(a, slice_of(r->sql), name))) return err_oom(&s->err);
    like.name = (char *)(uintptr_t)key;
    like.id = 0;
    if (from && r->path && search_path_parse(r->path, NULL, &path)) {
        const char *text = "";
        for (int i = 0; text && i < path.n; i++) {
            const char *in = search_path_name(&path, i), *q = quote_name(a, strcmp(in, from) == 0 ? to : in);
            text = q ? arena_printf(a, "%s%s%s", text, i ? ", " : "", q) : NULL;
        }
        if (!text || !search_path_parse(text, NULL, &changed)) return err_oom(&s->err);
        like.path = (char *)(uintptr_t)search_path_text(&changed, a);
    }
    return routine_replace(s, r, &like, &own);
}
static Status rename_routine(Session *s, Statement *st, Routine *r, const char *name) {
    Arena *a = st->run_arena;
    const Slice schema = schema_of_key(r->name);
    const char *in = arena_strndup(a, schema.ptr, schema.len), *key = in ? key_make(a, in, name) : NULL;
    if (!key) return err_oom(&s->err);
    TRY(routine_key_free(s, a, r, key));
    TRY(routine_check_uncalled(s, st, r, "renamed"));
    return routine_move(s, a, r, key, NULL, NULL);
}

/* ---- settings ---- */

/* Empty names as strings: they are no identifiers. */
static char *path_clause(Arena *a, const char *value) {
    char *out = arena_strdup(a, *value ? value : "''");
    for (char *p = out; p && *p; p++) {
        if (*p != '"') continue;
        if (p[1] == '"') {
            p[0] = p[1] = '\'';
            p++;
            continue;
        }
        for (p++; *p && (*p != '"' || p[1] == '"'); p++) p += *p == '"';
        if (!*p) break;
    }
    return out;
}
/* SET name TO 'value'; NULL: the setting is not to be set (DEFAULT). */
static Status setting_clause(Session *s, Arena *a, const AstSet *x, const char **out) {
    const char *value = NULL;
    *out = NULL;
    if (x->set_kind == AST_SET_CURRENT && !(value = settings_show(s, a, x->name, &s->err))) return ST_ERROR;
    if (x->set_kind == AST_SET_VALUE) TRY(setting_value_text(s, a, x, &value));
    if (!value) return ST_OK;
    const char *name = arena_strdup(a, x->name);
    const bool is_path = strcmp(x->name, "search_path") == 0; /* names in quotes, which SHOW has, too */
    const char *quoted = is_path ? path_clause(a, value) : quote_string(a, value);
    if (!name || !quoted || !(*out = arena_printf(a, "SET %s TO %s", name, quoted))) return err_oom(&s->err);
    return ST_OK;
}
/* Each is set, and set back. */
Status routine_settings_check(Session *s, Arena *a, const AstFuncOptions *o) {
    for (int64_t i = 0; i < o->n_sets; i++) {
        const AstSet *x = o->sets[i];
        const char *value = NULL;
        Err none = {0};
        if (!x->name || x->set_kind == AST_RESET_ALL) continue;
        if (x->set_kind == AST_SET_VALUE) TRY(setting_value_text(s, a, x, &value));
        const char *before = settings_show(s, a, x->name, &none);
        if (!before && (x->set_kind == AST_SET_CURRENT || !strchr(x->name, '.')))
            return err_copy(&s->err, &none), ST_ERROR;
        if (!value || !before || strcmp(x->name, "search_path") == 0) continue;
        const Status st = settings_set(s, x->name, value, &s->err);
        none = (Err){0};
        if (st == ST_OK) (void)settings_set(s, x->name, before, &none);
        s->info.form = s->settings.client.form;
        TRY(st);
    }
    return ST_OK;
}
Status routine_settings_text(Session *s, Arena *a, const AstFuncOptions *o, const char *sql, const char **out) {
    *out = sql;
    for (int64_t i = 0; i < o->n_sets; i++) {
        const AstSet *x = o->sets[i];
        RoutineEdit e = {RC_SET, x->name, NULL};
        if (x->set_kind == AST_SET_VALUE) continue;
        TRY(setting_clause(s, a, x, &e.text));
        if (!(*out = sql_routine_edit(a, slice_of(*out), 1, &e))) return err_oom(&s->err);
    }
    return ST_OK;
}

/* ---- options ---- */

typedef struct Edits {
    Arena *a;
    VEC(RoutineEdit) list;
} Edits;
static bool add(Edits *e, RoutineClause kind, const char *text) {
    return vec_push(e->a, &e->list, ((RoutineEdit){kind, NULL, text}));
}
static bool add_options(Edits *e, const AstFuncOptions *o) {
    static const char *const volatilities[] = {"IMMUTABLE", "STABLE", "VOLATILE"};
    static const char *const parallels[] = {"PARALLEL SAFE", "PARALLEL RESTRICTED", "PARALLEL UNSAFE"};
    bool ok = true;
    if (o->volatility)
        ok = add(e, RC_VOLATILITY, volatilities[o->volatility == 'i' ? 0 : o->volatility == 's' ? 1 : 2]);
    if (o->strict >= 0) ok = ok && add(e, RC_STRICT, o->strict ? "STRICT" : NULL);
    if (o->definer >= 0) ok = ok && add(e, RC_SECURITY, o->definer ? "SECURITY DEFINER" : NULL);
    if (o->leakproof >= 0) ok = ok && add(e, RC_LEAKPROOF, o->leakproof ? "LEAKPROOF" : NULL);
    if (o->parallel) ok = ok && add(e, RC_PARALLEL, parallels[o->parallel == 's' ? 0 : o->parallel == 'r' ? 1 : 2]);
    if (o->cost > 0) ok = ok && add(e, RC_COST, arena_printf(e->a, "COST %g", o->cost));
    if (o->rows > 0) ok = ok && add(e, RC_ROWS, arena_printf(e->a, "ROWS %g", o->rows));
    return ok;
}
static Status change_path(Session *s, Arena *a, const AstSet *x, Routine *like) {
    SearchPath path = *search_path_now();
    if (x->set_kind == AST_SET_VALUE || x->set_kind == AST_SET_CURRENT) TRY(routine_path_of(s, a, x, &path));
    else search_path_keep_existing(&s->db->catalog, &path);
    like->path = (char *)(uintptr_t)search_path_text(&path, a);
    return ST_OK;
}
static Status change_settings(Session *s, Arena *a, const AstFuncOptions *o, Routine *like) {
    TRY(routine_settings_check(s, a, o));
    for (int64_t i = 0; i < o->n_sets; i++) {
        const AstSet *x = o->sets[i];
        RoutineEdit e = {RC_SET, x->set_kind == AST_RESET_ALL ? NULL : x->name, NULL};
        if (e.setting) TRY(setting_clause(s, a, x, &e.text));
        if (!e.setting || strcmp(e.setting, "search_path") == 0) TRY(change_path(s, a, x, like));
        if (!(like->sql = sql_routine_edit(a, slice_of(like->sql), 1, &e))) return err_oom(&s->err);
    }
    return ST_OK;
}
static Status change_options(Session *s, Arena *a, Routine *r, const AstFuncOptions *o) {
    Routine like = *r, *own;
    Edits e = {.a = a};
    if (r->is_procedure && o->of_functions >= 0)
        return err_at(&s->err, o->of_functions, ERR_INVALID_FUNCTION_DEFINITION,
                      "invalid attribute in procedure definition");
    if (o->rows > 0 && !r->returns_set)
        return err_set(&s->err, ERR_INVALID_PARAMETER, "ROWS is not applicable when function does not return a set");
    if (o->volatility) like.volatility = o->volatility;
    if (o->strict >= 0) like.strict = o->strict;
    like.id = 0;
    if (!add_options(&e, o)) return err_oom(&s->err);
    if (!(like.sql = sql_routine_edit(a, slice_of(r->sql), e.list.len, e.list.items))) return err_oom(&s->err);
    TRY(change_settings(s, a, o, &like));
    return routine_replace(s, r, &like, &own);
}

Status routine_alter(Session *s, Statement *st, const AstAlterRoutine *x) {
    const Routine *found;
    snprintf(st->tag, sizeof st->tag, "%s", ast_stmt_tag((const AstStmt *)x));
    TRY(session_begin_write(s));
    TRY(routine_find(s, st->run_arena, x->what, x->of, &found));
    Routine *r = (Routine *)(uintptr_t)found;
    if (x->new_name) return rename_routine(s, st, r, x->new_name);
    return change_options(s, st->run_arena, r, &x->options);
}
