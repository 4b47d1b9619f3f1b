/* views.c - CREATE VIEW, ALTER VIEW ... RENAME.
 *
 * A view is kept as its query's text, and beside it what each name of a table or view in that text means and which
 * columns it had when the view was made (View.sources): `*`, NATURAL and USING go by those, so that columns which come
 * later are not in the view, and renaming a table or column changes the sources and leaves the text alone. PostgreSQL
 * keeps the bound query, with the same effect.
 */
#include <stdio.h>

#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* security_barrier and security_invoker change nothing here: there are no roles. */
static Status check_options(Session *s, const AstCreateView *x) {
    for (int64_t i = 0; i < x->n_options; i++) {
        const AstOption *o = &x->options[i];
        if (strcmp(o->name, "check_option") == 0)
            return err_at(&s->err, o->location, ERR_FEATURE_NOT_SUPPORTED, "WITH CHECK OPTION is not supported");
        if (strcmp(o->name, "security_barrier") != 0 && strcmp(o->name, "security_invoker") != 0)
            return err_at(&s->err, o->location, ERR_INVALID_PARAMETER, "unrecognized parameter \"%s\"", o->name);
    }
    return ST_OK;
}

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

Status view_create(Session *s, Statement *st, const AstCreateView *x) {
    TRY(session_begin_write(s));
    snprintf(st->tag, sizeof st->tag, "CREATE VIEW");
    TRY(check_options(s, x));
    TRY(session_check_schema(s, &x->name));
    if (sql_changes_data((const AstStmt *)x->query))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "views must not contain data-modifying statements in WITH");
    Slice name = slice_of(x->name.name);
    Arena *a = st->run_arena;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    BoundStmt *b;
    TRY(sql_bind(&c, (const AstStmt *)x->query, 0, NULL, &b));
    TRY(check_query(s, x, &c, b));
    View *old = catalog_view(&s->db->catalog, name);
    const bool is_table = !old && catalog_relation_exists(&s->db->catalog, name);
    if ((is_table || old) && !x->or_replace)
        return err_at(&s->err, x->name.location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->name.name);
    if (is_table) return err_at(&s->err, x->name.location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a view", x->name.name);
    TRY(old ? check_replaced(s, a, old, x, &c, b) : row_type_free(s, x->name.name, 0));
    View like = {
        .name = (char *)(uintptr_t)x->name.name, .n_cols = (int)x->n_columns, .cols = (char **)(uintptr_t)x->columns};
    if (!(like.sql = arena_strndup(a, x->query_source.ptr, x->query_source.len))) return ST_ERROR;
    TRY(stored_view(s, a, &like));
    TRY(view_find_sources(s, a, &like, &s->err));
    if (old) return view_replace(s, old, &like);
    View *v = view_new(&like, &s->err);
    if (!v) return ST_ERROR;
    if (session_add_view(s, v) == ST_OK) return ST_OK;
    view_free(v);
    return ST_ERROR;
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
