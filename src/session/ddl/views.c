/* views.c - CREATE VIEW, ALTER VIEW.
 *
 * A view is kept as its query's text, and beside it what each name of a table or view in that text means and which
 * columns it had when the view was made (View.sources): `*`, NATURAL and USING go by those, so that columns which come
 * later are not in the view, and renaming a table or column changes the sources and leaves the text alone. PostgreSQL
 * keeps the bound query, with the same effect.
 */
#include <stdio.h>
#include <strings.h>

#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* ---- options --------------------------------------------------------------------------------------- */

/* They are kept and shown. security_barrier and security_invoker change nothing here: there are no roles, and no
 * function is called for a row that a view does not have. */
static bool is_bool(const char *v) {
    static const char *const words[] = {"true", "false", "on", "off", "yes", "no", "1", "0"};
    const int64_t n = (int64_t)strlen(v);
    for (int64_t i = 0; i < ARRAY_LEN(words) && n > 0; i++)
        if (strncasecmp(v, words[i], (size_t)n) == 0 && (n > 1 || (*v != 'o' && *v != 'O'))) return true;
    return false;
}
static Status check_option(Session *s, const AstOption *o, const char *value) {
    if (strcmp(o->name, "check_option") == 0) {
        if (strcmp(value, "local") == 0 || strcmp(value, "cascaded") == 0) return ST_OK;
        err_set(&s->err, ERR_INVALID_PARAMETER, "invalid value for enum option \"check_option\": %s", value);
        err_detail(&s->err, "Valid values are \"local\" and \"cascaded\".");
        return ST_ERROR;
    }
    if (strcmp(o->name, "security_barrier") != 0 && strcmp(o->name, "security_invoker") != 0)
        return err_set(&s->err, ERR_INVALID_PARAMETER, "unrecognized parameter \"%s\"", o->name);
    if (is_bool(value)) return ST_OK;
    return err_set(&s->err, ERR_INVALID_PARAMETER, "invalid value for boolean option \"%s\": %s", o->name, value);
}
/* Whether the option, "name=value", has the name. */
static bool has_name(const char *option, const char *name) {
    const size_t n = strlen(name);
    return strncmp(option, name, n) == 0 && option[n] == '=';
}
static void drop_option(View *v, const char *name) {
    int k = 0;
    for (int i = 0; i < v->n_options; i++)
        if (!has_name(v->options[i], name)) v->options[k++] = v->options[i];
    v->n_options = k;
}
static Status room_for_options(Arena *a, View *v, int64_t more) {
    char **all = arena_array(a, char *, v->n_options + more + 1);
    if (!all) return ST_ERROR;
    for (int i = 0; i < v->n_options; i++) all[i] = v->options[i];
    v->options = all;
    return ST_OK;
}
static Status put_option(Arena *a, View *v, const char *name, const char *value) {
    char *text = arena_printf(a, "%s=%s", name, value);
    if (!text) return ST_ERROR;
    v->options[v->n_options++] = text;
    return ST_OK;
}
/* Adds n options to those of v, which are in the arena; those of the same names go. */
static Status set_options(Session *s, Arena *a, View *v, int64_t n, const AstOption *options) {
    TRY(room_for_options(a, v, n + 1));
    for (int64_t i = 0; i < n; i++) {
        const AstOption *o = &options[i];
        const char *value = o->value ? o->value : "true";
        if (o->space)
            return err_set(&s->err, ERR_INVALID_PARAMETER, "unrecognized parameter namespace \"%s\"", o->space);
        for (int64_t k = 0; k < i; k++)
            if (strcmp(options[k].name, o->name) == 0)
                return err_set(&s->err, ERR_INVALID_PARAMETER, "parameter \"%s\" specified more than once", o->name);
        TRY(check_option(s, o, value));
        drop_option(v, o->name);
        TRY(put_option(a, v, o->name, value));
    }
    return ST_OK;
}
static Status new_options(Session *s, Arena *a, const AstCreateView *x, View *v) {
    v->n_options = 0;
    TRY(set_options(s, a, v, x->n_options, x->options));
    if (!x->check_option) return ST_OK;
    for (int64_t i = 0; i < x->n_options; i++)
        if (strcmp(x->options[i].name, "check_option") == 0)
            return err_set(&s->err, ERR_INVALID_PARAMETER, "parameter \"check_option\" specified more than once");
    return put_option(a, v, "check_option", x->check_option == 'l' ? "local" : "cascaded");
}
/* A condition that new rows meet needs rows that can be new. */
static Status check_check_option(Session *s, Arena *a, const View *v) {
    PlanCtx c;
    ViewChanges can;
    if (!view_check_option(v)) return ST_OK;
    plan_ctx_init(s, a, &c);
    c.views.definition = true;
    TRY(sql_view_changes(&c, v, &can));
    if (!can.reason && !can.some)
        can = (ViewChanges){.reason = "Views that have no updatable columns are not automatically updatable.",
                            .is_own = true};
    if (!can.reason || !can.is_own) return ST_OK;
    err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "WITH CHECK OPTION is supported only on automatically updatable views");
    err_hint(&s->err, "%s", can.reason);
    return ST_ERROR;
}

/* ---- CREATE VIEW ------------------------------------------------------------------------------------- */

/* OR REPLACE leaves the columns that there are; others may depend on them. */
static Status check_replaced(Session *s, Arena *a, const View *old, const AstCreateView *x, const PlanCtx *c,
                             const BoundStmt *b) {
    PlanCtx oc;
    BoundStmt *ob;
    char t1[TYPE_NAME_MAX], t2[TYPE_NAME_MAX];
    if (!try_view(s, a, old, &oc, &ob)) return err_is_set(&s->err) ? ST_ERROR : ST_OK;
    if (b->n_result < ob->n_result)
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "cannot drop columns from view");
    for (int32_t i = 0; i < ob->n_result; i++) {
        const char *name = i < x->n_columns ? x->columns[i] : b->names[i];
        Type was = oc.cols.items[ob->result[i]].type, is = c->cols.items[b->result[i]].type;
        if (strcmp(name, ob->names[i]) != 0) {
            err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "cannot change name of view column \"%s\" to \"%s\"",
                    ob->names[i], name);
            err_hint(&s->err, "Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.");
            return ST_ERROR;
        }
        if (!type_eq(was, is))
            return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION,
                           "cannot change data type of view column \"%s\" from %s to %s", name, type_name(was, &t1),
                           type_name(is, &t2));
    }
    return ST_OK;
}

/* Names and types must be right now. */
static Status check_query(Session *s, const AstCreateView *x, const PlanCtx *c, const BoundStmt *b) {
    if (c->n_bulks > 0)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "bulk_call in a view is not supported");
    if (b->n_params > 0) return err_at(&s->err, x->location, ERR_UNDEFINED_PARAMETER, "there is no parameter $1");
    if (x->n_columns > b->n_result)
        return err_set(&s->err, ERR_SYNTAX, "CREATE VIEW specifies more column names than columns");
    for (int32_t i = 0; i < b->n_result; i++) {
        Type t = c->cols.items[b->result[i]].type;
        if (type_is_record(t) || composite_is_record(t))
            return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "column \"%s\" has pseudo-type %s",
                           i < x->n_columns ? x->columns[i] : b->names[i], type_plain_name(t));
    }
    for (int32_t i = 0; i < b->n_result; i++)
        for (int32_t j = 0; j < i; j++) {
            const char *n1 = i < x->n_columns ? x->columns[i] : b->names[i],
                       *n2 = j < x->n_columns ? x->columns[j] : b->names[j];
            if (strcmp(n1, n2) == 0)
                return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", n1);
        }
    return ST_OK;
}

bool reads_temporary(const PlanCtx *c) {
    for (int64_t i = 0; i < c->relations.len; i++)
        if (key_is_temporary(c->relations.items[i])) return true;
    return false;
}
/* The view's key: in the session's temporary schema, too, when its query reads something there. */
static Status new_view_name(Session *s, Arena *a, const AstCreateView *x, const PlanCtx *c, AstName *out) {
    const bool becomes = !x->temporary && reads_temporary(c);
    TRY(session_new_relation(s, a, &x->name, persistence_of(x->temporary, false), out));
    if (!becomes || key_is_temporary(out->name)) return ST_OK;
    session_notice_text(s, "NOTICE", "00000", "view \"%s\" will be a temporary view", x->name.name);
    return session_new_relation(s, a, &x->name, PERSISTENCE_TEMPORARY, out);
}
Status view_create(Session *s, Statement *st, const AstCreateView *x) {
    TRY(session_begin_write(s));
    snprintf(st->tag, sizeof st->tag, "CREATE VIEW");
    AstCreateView named = *x;
    if (sql_changes_data((const AstStmt *)x->query))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "views must not contain data-modifying statements in WITH");
    Arena *a = st->run_arena;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    c.views.definition = true;
    BoundStmt *b;
    TRY(sql_bind(&c, (const AstStmt *)x->query, 0, NULL, &b));
    TRY(new_view_name(s, a, x, &c, &named.name));
    x = &named;
    Slice name = slice_of(x->name.name);
    View like = {
        .name = (char *)(uintptr_t)x->name.name, .n_cols = (int)x->n_columns, .cols = (char **)(uintptr_t)x->columns};
    TRY(new_options(s, a, x, &like));
    TRY(check_query(s, x, &c, b));
    View *old = catalog_view(&s->db->catalog, name);
    const bool is_other = !old && catalog_relation_exists(&s->db->catalog, name);
    if ((is_other || old) && !x->or_replace)
        return err_at(&s->err, x->name.location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->name.name);
    if (is_other) return err_at(&s->err, x->name.location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a view", x->name.name);
    TRY(old ? check_replaced(s, a, old, x, &c, b) : row_type_free(s, x->name.name, 0));
    if (!(like.sql = arena_strndup(a, x->query_source.ptr, x->query_source.len))) return ST_ERROR;
    TRY(stored_view(s, a, &like));
    TRY(view_find_sources(s, a, &like, &s->err));
    TRY(check_check_option(s, a, &like));
    if (old) {
        like.n_defaults = old->n_defaults;
        like.defaults = old->defaults;
        return view_replace(s, old, &like);
    }
    View *v = view_new(&like, &s->err);
    if (!v) return ST_ERROR;
    if (session_add_view(s, v) == ST_OK) return ST_OK;
    view_free(v);
    return ST_ERROR;
}

/* ---- ALTER VIEW -------------------------------------------------------------------------------------- */

/* The names and types of its columns. */
static Status view_columns(Session *s, Arena *a, const View *v, PlanCtx *c, BoundStmt **b) {
    plan_ctx_init(s, a, c);
    return sql_bind_view(c, v, b);
}

static Status set_default(Session *s, Arena *a, View *v, const AstAlterCmd *k) {
    PlanCtx c;
    BoundStmt *b;
    int at = -1;
    TRY(view_columns(s, a, v, &c, &b));
    for (int i = 0; i < b->n_result; i++)
        if (strcmp(b->names[i], k->name) == 0) at = i;
    if (at < 0)
        return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", k->name,
                       v->name);
    char **defaults = arena_array(a, char *, b->n_result + 1);
    if (!defaults) return ST_ERROR;
    for (int i = 0; i < v->n_defaults && i < b->n_result; i++) defaults[i] = v->defaults[i];
    defaults[at] = NULL;
    if (k->kind == AST_ALTER_SET_DEFAULT) {
        const Type type = c.cols.items[b->result[at]].type;
        const char *text;
        AstExpr *x;
        Expr *e;
        TRY(stored_default(s, a, k->expr_source, type, &text));
        plan_ctx_init(s, a, &c);
        c.of_catalog = true;
        TRY(sql_parse_expr(a, slice_of(text), &x, &s->err));
        TRY(sql_bind_scalar(&c, x, type, &e));
        defaults[at] = (char *)(uintptr_t)text;
    }
    v->defaults = defaults;
    v->n_defaults = b->n_result;
    while (v->n_defaults > 0 && !defaults[v->n_defaults - 1]) v->n_defaults--;
    return ST_OK;
}

static Status alter_options(Session *s, Arena *a, View *v, const AstAlterCmd *k) {
    if (k->kind == AST_ALTER_SET_OPTIONS) {
        TRY(set_options(s, a, v, k->n_options, k->options));
        return check_check_option(s, a, v);
    }
    TRY(room_for_options(a, v, 0));
    for (int64_t i = 0; i < k->n_options; i++) {
        if (k->options[i].value) return err_set(&s->err, ERR_SYNTAX, "RESET must not include values for parameters");
        drop_option(v, k->options[i].name);
    }
    return ST_OK;
}

/* What PostgreSQL calls the command where a relation cannot have it. NULL: it has no name of its own here. */
static const char *action_name(const AstAlterCmd *k) {
    static const char *const names[] = {[AST_ALTER_ADD_COLUMN] = "ADD COLUMN",
                                        [AST_ALTER_DROP_COLUMN] = "DROP COLUMN",
                                        [AST_ALTER_SET_NOT_NULL] = "ALTER COLUMN ... SET NOT NULL",
                                        [AST_ALTER_DROP_NOT_NULL] = "ALTER COLUMN ... DROP NOT NULL",
                                        [AST_ALTER_SET_DEFAULT] = "ALTER COLUMN ... SET DEFAULT",
                                        [AST_ALTER_DROP_DEFAULT] = "ALTER COLUMN ... DROP DEFAULT",
                                        [AST_ALTER_SET_TYPE] = "ALTER COLUMN ... SET DATA TYPE",
                                        [AST_ALTER_SET_LOGGED] = "SET LOGGED",
                                        [AST_ALTER_SET_UNLOGGED] = "SET UNLOGGED",
                                        [AST_ALTER_ADD_CONSTRAINT] = "ADD CONSTRAINT",
                                        [AST_ALTER_DROP_CONSTRAINT] = "DROP CONSTRAINT",
                                        [AST_ALTER_VALIDATE_CONSTRAINT] = "VALIDATE CONSTRAINT",
                                        [AST_ALTER_ADD_IDENTITY] = "ALTER COLUMN ... ADD IDENTITY",
                                        [AST_ALTER_SET_IDENTITY] = "ALTER COLUMN ... SET",
                                        [AST_ALTER_DROP_IDENTITY] = "ALTER COLUMN ... DROP IDENTITY",
                                        [AST_ALTER_DROP_EXPRESSION] = "ALTER COLUMN ... DROP EXPRESSION"};
    return (int)k->kind < (int)ARRAY_LEN(names) ? names[k->kind] : NULL;
}
Status alter_refused(Session *s, const char *relation, const char *kind, const AstAlterCmd *k) {
    const char *action = k->kind == AST_ALTER_DROP_DEFAULT ? "ALTER COLUMN ... SET DEFAULT" : action_name(k);
    if (!action)
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "ALTER TABLE %s is not supported",
                      k->what ? k->what : "of this kind");
    err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "ALTER action %s cannot be performed on relation \"%s\"", action, relation);
    err_detail(&s->err, "This operation is not supported for %s.", kind);
    return ST_ERROR;
}

Status view_alter(Session *s, Statement *st, View *v, const AstAlterTable *x) {
    Arena *a = st->run_arena;
    View like = *v;
    for (int64_t i = 0; i < x->n_cmds; i++) {
        const AstAlterCmd *k = &x->cmds[i];
        switch ((int)k->kind) {
        case AST_ALTER_SET_DEFAULT:
        case AST_ALTER_DROP_DEFAULT: TRY(set_default(s, a, &like, k)); break;
        case AST_ALTER_SET_OPTIONS:
        case AST_ALTER_RESET_OPTIONS: TRY(alter_options(s, a, &like, k)); break;
        default: return alter_refused(s, v->name, "views", k);
        }
    }
    return view_replace(s, v, &like);
}

static Status rename_column(Session *s, Arena *a, View *v, const AstRename *x) {
    PlanCtx c;
    BoundStmt *b;
    plan_ctx_init(s, a, &c);
    TRY(sql_bind_view(&c, v, &b));
    View like = *v;
    like.n_cols = b->n_result;
    if (!(like.cols = arena_array(a, char *, b->n_result + 1))) return ST_ERROR;
    int at = -1;
    for (int i = 0; i < b->n_result; i++) {
        like.cols[i] = (char *)(uintptr_t)b->names[i];
        if (strcmp(like.cols[i], x->new_name) == 0)
            return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists",
                           x->new_name, v->name);
        if (strcmp(like.cols[i], x->old_name) == 0) at = i;
    }
    if (at < 0) return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", x->old_name);
    like.cols[at] = (char *)(uintptr_t)x->new_name;
    TRY(view_replace(s, v, &like));
    return views_rename(s, a, like.name, x->old_name, x->new_name);
}

Status view_rename(Session *s, Statement *st, View *v, const AstRename *x) {
    Arena *a = st->run_arena;
    if (x->object == AST_OBJ_COLUMN) return rename_column(s, a, v, x);
    if (x->object == AST_OBJ_CONSTRAINT)
        return err_set(&s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" for table \"%s\" does not exist", x->old_name,
                       v->name);
    View like = *v;
    like.name = (char *)(uintptr_t)x->new_name;
    TRY(views_rename(s, a, v->name, NULL, x->new_name));
    return view_replace(s, catalog_view(&s->db->catalog, slice_of(v->name)), &like);
}
