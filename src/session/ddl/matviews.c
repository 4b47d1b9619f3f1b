/* matviews.c - CREATE and REFRESH MATERIALIZED VIEW.
 *
 * A materialized view is a table and a view of one name (View.materialized): the table has the rows, and is what
 * queries, indexes and everything below the binder know; the view has the query, and is what dependences, names of its
 * relations and definitions know. Nothing but these statements changes the rows.
 */
#include <stdio.h>

#include "catalog/similar_names.h"
#include "session/core/ahead.h"
#include "session/core/transaction.h"
#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "types/composite.h"

/* The definition, of which sources are found in the text that is kept. */
static Status make_view(Session *s, Arena *a, const AstCreateTableAs *x, View *v) {
    *v = (View){.name = (char *)(uintptr_t)x->name.name,
                .n_cols = (int)x->n_columns,
                .cols = (char **)(uintptr_t)x->columns,
                .materialized = true,
                .populated = !x->with_no_data};
    if (!(v->sql = arena_strndup(a, x->query_source.ptr, x->query_source.len))) return ST_ERROR;
    TRY(stored_view(s, a, v));
    return view_find_sources(s, a, v, &s->err);
}
static Status add_view(Session *s, const View *like) {
    View *v = view_new(like, &s->err);
    if (!v) return ST_ERROR;
    if (session_add_view(s, v) == ST_OK) return ST_OK;
    view_free(v);
    return ST_ERROR;
}

Status matview_create(Session *s, Statement *st, const AstCreateTableAs *x) {
    Arena *a = st->run_arena;
    bool skip;
    View like;
    PlanCtx c;
    BoundStmt *b;
    Table *t;
    tag(st, "CREATE MATERIALIZED VIEW");
    TRY(name_is_free(s, &x->name, x->if_not_exists, &skip));
    if (skip) return ST_OK;
    if (sql_changes_data(x->query))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "materialized views must not use data-modifying statements in WITH");
    plan_ctx_init(s, a, &c);
    c.views.definition = x->with_no_data;
    TRY(sql_bind(&c, x->query, 0, NULL, &b));
    if (reads_temporary(&c))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "materialized views must not use temporary tables or views");
    if (c.n_bulks > 0)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "bulk_call in a view is not supported");
    if (b->n_params > 0) return err_at(&s->err, x->location, ERR_UNDEFINED_PARAMETER, "there is no parameter $1");
    TRY(table_of_query(s, a, x, &c, b, &t));
    TRY(add_new_table(s, t));
    TRY(make_view(s, a, x, &like));
    TRY(add_view(s, &like));
    if (x->with_no_data) return ST_OK;
    RunOutput r;
    TRY(session_begin_pieces(s, &c, b, b->n_result, b->result, &st->account, &r));
    int64_t n = 0;
    const Status out = fill_table(s, t, &r, a, &n);
    query_free(r.query);
    st->affected = n;
    snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)n);
    return out;
}

static Status find(Session *s, Arena *a, const AstName *named, Table **t, View **v) {
    const Catalog *k = &s->db->catalog;
    AstName of, *n = &of;
    TRY(session_relation_name(s, a, named, false, &of));
    *t = catalog_table(k, slice_of(n->name));
    *v = catalog_matview(k, slice_of(n->name));
    if (*v) return ST_OK;
    if (!catalog_relation_exists(k, slice_of(n->name))) return catalog_no_relation(k, n->name, n->location, &s->err);
    if (*t) return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "\"%s\" is not a materialized view", n->name);
    return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a table or materialized view", n->name);
}

/* Rows are compared by a unique index in PostgreSQL; here the statement needs it all the same, and does what it does
 * without CONCURRENTLY: readers have versions of the table in either case. */
static Status check_concurrently(Session *s, const Table *t, const View *v) {
    bool unique = false;
    const Slice schema = schema_of_key(t->name);
    if (!v->populated)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "CONCURRENTLY cannot be used when the materialized view is not populated");
    for (int i = 0; i < t->n_keys; i++) unique = true;
    if (unique) return ST_OK;
    err_set(&s->err, ERR_NOT_IN_STATE, "cannot refresh materialized view \"%.*s.%s\" concurrently", (int)schema.len,
            schema.ptr, t->name);
    err_hint(&s->err, "Create a unique index with no WHERE clause on one or more columns of the materialized view.");
    return ST_ERROR;
}

typedef struct Refill {
    Session *s;
    Arena *a;
    Table *table;
} Refill;
static Status bind_refill(void *ctx, PlanCtx *c, BoundStmt **b, Table **t) {
    const Refill *r = ctx;
    Session *s = r->s;
    const View *v = catalog_matview(session_catalog(s), slice_of(r->table->name));
    plan_ctx_init(s, r->a, c);
    TRY(sql_bind_view(c, v, b));
    *t = r->table;
    if (!c->views.unpopulated) return ST_OK;
    err_set(&s->err, ERR_NOT_IN_STATE, "materialized view \"%s\" has not been populated", c->views.unpopulated);
    err_hint(&s->err, "Use the REFRESH MATERIALIZED VIEW command.");
    return ST_ERROR;
}
static Status replace_rows(Session *s, Table *t, TableLoad *load) {
    TRY(table_truncate(t, s->undo, &s->err));
    return load_finish(load, s->db->pool, s->undo, NULL, &s->err);
}
/* The rows of the query in place of those of the table, computed without the lock where that pays. *again: it came to
 * nothing, and the table may be gone. */
static Status refill(Session *s, Statement *st, Table *t, AheadTries *tries, bool *again) {
    Arena *a = st->run_arena;
    Refill of = {s, a, t};
    PlanCtx c;
    BoundStmt *b;
    RunOutput r;
    *again = false;
    TRY(bind_refill(&of, &c, &b, &t));
    dbg_assert(b->n_result == t->n_cols);
    if (ahead_again(tries) && ahead_pays(s, &c, b)) {
        TableLoad *load;
        TRY(fill_ahead(s, st, &(FillQuery){bind_refill, &of}, t, tries, &load, again));
        const Status out = load ? replace_rows(s, t, load) : ST_OK;
        load_cancel(load);
        if (load || *again) return out;
        TRY(bind_refill(&of, &c, &b, &t));
    }
    TRY(session_begin_pieces(s, &c, b, b->n_result, b->result, &st->account, &r));
    int64_t n = 0;
    Status out = table_truncate(t, s->undo, &s->err);
    if (out == ST_OK) out = fill_table(s, t, &r, a, &n);
    query_free(r.query);
    return out;
}

Status matview_refresh(Session *s, Statement *st, const AstRefresh *x) {
    Table *t;
    View *v;
    TRY(session_begin_write(s));
    tag(st, "REFRESH MATERIALIZED VIEW");
    bool again = true;
    AheadTries tries = {0};
    while (again) {
        TRY(find(s, st->run_arena, &x->name, &t, &v));
        if (x->concurrently && x->with_no_data)
            return err_set(&s->err, ERR_SYNTAX, "CONCURRENTLY and WITH NO DATA options cannot be used together");
        if (x->concurrently) TRY(check_concurrently(s, t, v));
        TRY(session_table_idle(s, t, "REFRESH MATERIALIZED VIEW"));
        again = false;
        if (x->with_no_data) TRY(table_truncate(t, s->undo, &s->err));
        else TRY(refill(s, st, t, &tries, &again));
    }
    if (v->populated == !x->with_no_data) return ST_OK;
    View like = *v;
    like.populated = !x->with_no_data;
    return view_replace(s, v, &like);
}

Status matview_may_alter(Session *s, const AstAlterTable *x) {
    for (int64_t i = 0; i < x->n_cmds; i++) {
        const AstAlterKind k = x->cmds[i].kind;
        const bool may = k == AST_ALTER_SET_OPTIONS || k == AST_ALTER_RESET_OPTIONS || k == AST_ALTER_CLUSTER_ON ||
                         k == AST_ALTER_DROP_CLUSTER;
        if (!may) return alter_refused(s, x->table.name, "materialized views", &x->cmds[i]);
    }
    return ST_OK;
}

Status matview_renamed(Session *s, Arena *a, const Table *t, const char *name, int col, const char *col_name) {
    View *v = catalog_matview(&s->db->catalog, slice_of(t->name));
    View like = *v;
    if (name) like.name = (char *)(uintptr_t)name;
    if (col < 0) return view_replace(s, v, &like);
    like.n_cols = t->n_cols;
    if (!(like.cols = arena_array(a, char *, t->n_cols + 1))) return ST_ERROR;
    for (int i = 0; i < t->n_cols; i++) like.cols[i] = i == col ? (char *)(uintptr_t)col_name : t->cols[i].name;
    return view_replace(s, v, &like);
}

Status matview_drop(Session *s, View *v) {
    Table *t = catalog_table(&s->db->catalog, slice_of(v->name));
    TRY(session_drop_view(s, v));
    return session_drop_table(s, t);
}
