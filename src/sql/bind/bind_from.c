/* bind_from.c - FROM: tables, views, subqueries, functions, joins.
 *
 * While FROM is bound, the level's name space holds the items to the left: that is what LATERAL sees. A
 * subquery without LATERAL is bound with the level around as its outer level instead.
 */
#include "catalog/similar_names.h"
#include "catalog/system_relation.h"
#include "sql/bind/bind_int.h"
#include "types/composite.h"
#include "sql/plan/client_rows.h"

Plan *bind_one_row(Binder *b) {
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    if (!p || !(p->values.rows = arena_array(b->a, Expr **, 1))) return NULL;
    p->values.n_rows = 1;
    return (p->values.rows[0] = arena_array(b->a, Expr *, 1)) ? p : NULL;
}

Plan *bind_filter(Binder *b, Plan *child, Expr *cond) {
    if (!child || !cond) return NULL;
    Plan *p = plan_new(b->c, LP_FILTER, 1);
    if (!p) return NULL;
    p->children[0] = child;
    bool and_ = cond->kind == EX_AND;
    p->n_conds = and_ ? cond->n_args : 1;
    p->conds = arena_array(b->a, Expr *, p->n_conds);
    if (!p->conds) return NULL;
    for (int32_t i = 0; i < p->n_conds; i++) p->conds[i] = and_ ? cond->args[i] : cond;
    return p;
}

Plan *bind_join(Binder *b, JoinKind kind, Plan *l, Plan *r) {
    if (!l || !r) return NULL;
    Plan *p = plan_new(b->c, LP_JOIN, 2);
    if (!p) return NULL;
    p->join.kind = (uint8_t)kind;
    p->children[0] = l;
    p->children[1] = r;
    return p;
}

static Status join_conds(Binder *b, Plan *join, Expr *cond) {
    if (!cond) return ST_ERROR;
    bool and_ = cond->kind == EX_AND;
    join->n_conds = and_ ? cond->n_args : 1;
    if (!(join->conds = arena_array(b->a, Expr *, join->n_conds))) return ST_ERROR;
    for (int32_t i = 0; i < join->n_conds; i++) join->conds[i] = and_ ? cond->args[i] : cond;
    return ST_OK;
}

bool bind_depends(Binder *b, Plan *right, Plan *left) {
    if (right->kind == LP_SCAN || right->kind == LP_CTE_SCAN) return false;
    ColSet f = colset_new(b->c), o = colset_new(b->c);
    plan_free_cols(b->c, right, &f);
    plan_outputs(b->c, left, &o);
    return colset_intersects(&f, &o);
}

/* ---- tables ------------------------------------------------------------------------ */

Status bind_relation_name(Binder *b, AstName *name, int *system) {
    RelationName r;
    TRY(catalog_search(b->c->catalog, b->a, name->schema, name->name, &r));
    *system = r.system;
    if (r.system >= 0) return ST_OK;
    name->schema = NULL;
    name->name = r.key;
    return ST_OK;
}
Status bind_find_table(Binder *b, const AstName *key, Table **t, View **v) {
    *v = NULL;
    if (!vec_push(b->a, &b->c->relations, key->name)) return ST_ERROR;
    if ((*t = catalog_table(b->c->catalog, slice_of(key->name)))) return ST_OK;
    if ((*v = catalog_view(b->c->catalog, slice_of(key->name)))) return ST_OK;
    return catalog_no_relation(b->c->catalog, key->name, bind_pos(b, key->location), b->err);
}
void bind_item_schema(NsItem *item, const char *key) {
    if (item->name && strcmp(item->name, name_of_key(key)) == 0) item->schema = schema_of_key(key);
}

/* What the client calls so, where there is no table or view of the name. NULL: nothing, or an error is set. */
static ClientRows *find_client_rows(Binder *b, const AstName *name, const char *key) {
    PlanCtx *c = b->c;
    if (!c->client_rows || b->views || name->schema) return NULL;
    if (catalog_relation_exists(c->catalog, slice_of(key))) return NULL;
    ClientRows *r = client_rows_find(*c->client_rows, name->name);
    if (r || !c->resolve.fn || !c->resolve.fn(c->resolve.ctx, name->name)) return r;
    return client_rows_find(*c->client_rows, name->name);
}
static Plan *bind_client_rows(Binder *b, ClientRows *r) {
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    if (!p || !(p->out_cols = arena_array(b->a, ColId, r->n_cols + 1)) ||
        !(p->values.cells = arena_array(b->a, Vec, r->n_cols + 1)) ||
        arena_on_release(b->a, client_rows_unref, r) != ST_OK)
        return NULL;
    r->refs++;
    for (int32_t i = 0; i < r->n_cols; i++) {
        const ClientColumn *c = &r->cols[i];
        if (!(p->out_cols[i] = plan_new_col(b->c, c->name, c->type, true))) return NULL;
        p->values.cells[i] = (Vec){.data = c->cells,
                                   .valid = c->nulls ? c->valid : NULL,
                                   .phys = (uint8_t)type_phys(c->type),
                                   .type = c->type};
    }
    p->n_out = r->n_cols;
    p->values.n_rows = r->n;
    p->alias = r->name;
    b->c->reads_client_rows = true;
    return p;
}

Plan *bind_scan(Binder *b, Query *q, Table *t, const char *alias, ColId *rowid, NsItem *item) {
    (void)q;
    Plan *p = plan_new(b->c, LP_SCAN, 0);
    int32_t n = t->n_cols + (rowid ? 1 : 0);
    if (!p || !(p->out_cols = arena_array(b->a, ColId, n + 1)) || !(p->scan.cols = arena_array(b->a, int32_t, n + 1)))
        return NULL;
    p->scan.table = t;
    p->alias = alias;
    p->n_out = n;
    *item = (NsItem){.name = alias, .n_cols = t->n_cols, .rel_visible = true, .cols_visible = true, .table = t};
    bind_item_schema(item, t->name);
    if (!(item->cols = arena_array(b->a, NsCol, t->n_cols + 1))) return NULL;
    for (int32_t i = 0; i < t->n_cols; i++) {
        ColId id = plan_new_col(b->c, t->cols[i].name, t->cols[i].type, !t->cols[i].not_null);
        if (!id) return NULL;
        b->c->cols.items[id].table = t;
        b->c->cols.items[id].col = i;
        b->c->cols.items[id].domain = t->cols[i].domain;
        p->out_cols[i] = id;
        p->scan.cols[i] = i;
        item->cols[i] = (NsCol){t->cols[i].name, id};
    }
    if (rowid) {
        if (!(*rowid = plan_new_col(b->c, "rowid", type_make(T_INT8), false))) return NULL;
        item->rowid = *rowid;
        p->out_cols[t->n_cols] = *rowid;
        p->scan.cols[t->n_cols] = -1;
    }
    return p;
}

static Status rename_columns(Binder *b, const AstAlias *a, NsItem *item, int64_t location) {
    if (a->n_columns > item->n_cols)
        return err_at(b->err, bind_pos(b, location), ERR_INVALID_COLUMN_REFERENCE,
                      "table \"%s\" has %d columns available but %lld columns specified", item->name ? item->name : "",
                      item->n_cols, (long long)a->n_columns);
    for (int64_t i = 0; i < a->n_columns; i++) item->cols[i].name = a->columns[i];
    return ST_OK;
}

static Status rel_item(Binder *b, const Rel *r, const char *name, NsItem *item) {
    *item = (NsItem){.name = name, .n_cols = r->n, .rel_visible = name != NULL, .cols_visible = true};
    if (!(item->cols = arena_array(b->a, NsCol, r->n + 1))) return ST_ERROR;
    for (int32_t i = 0; i < r->n; i++) item->cols[i] = (NsCol){r->names[i], r->cols[i]};
    return ST_OK;
}

/* The plan's columns under the names that they have. */
static Status plan_item(Binder *b, const Plan *p, const char *name, NsItem *item) {
    *item = (NsItem){.name = name, .n_cols = p->n_out, .rel_visible = true, .cols_visible = true};
    if (!(item->cols = arena_array(b->a, NsCol, p->n_out + 1))) return ST_ERROR;
    for (int32_t i = 0; i < p->n_out; i++)
        item->cols[i] = (NsCol){b->c->cols.items[p->out_cols[i]].name, p->out_cols[i]};
    return ST_OK;
}

static Status add_item(Binder *b, Query *q, const NsItem *item, int64_t location) {
    if (bind_add_item(b, q, item) == ST_OK) return ST_OK;
    if (err_is_set(b->err) && !b->err->position) b->err->position = bind_pos(b, location);
    return ST_ERROR;
}

Status bind_view_enter(Binder *b, const View *v, int64_t location, ViewScope *s) {
    for (const ViewGuard *g = b->views; g; g = g->up)
        if (g->view == v)
            return err_at(b->err, bind_pos(b, location), ERR_INVALID_OBJECT_DEFINITION,
                          "infinite recursion detected in view \"%s\"", v->name);
    const bool is_defined = !b->views && (b->c->views.keep_sources || b->literals); /* its names are as it is written */
    *s = (ViewScope){{b->views, v}, b->fixed_pos, b->params_ok, b->pos, b->literals, search_path_now()};
    if (!is_defined) (void)search_path_use(NULL);
    b->pos = bind_pos(b, location);
    if (b->fixed_pos || location) b->literals = NULL;
    b->fixed_pos = true;
    b->params_ok = false;
    b->views = &s->guard;
    return ST_OK;
}
void bind_view_leave(Binder *b, const ViewScope *s, bool ok) {
    if (!ok) {
        b->err->position = b->pos;
        err_context(b->err, "view \"%s\"", s->guard.view->name);
    }
    (void)search_path_use(s->path);
    b->views = s->guard.up;
    b->pos = s->pos;
    b->fixed_pos = s->fixed_pos;
    b->literals = s->literals;
    b->params_ok = s->params_ok;
}

Plan *bind_view(Binder *b, const View *v, int64_t location, Rel *r) {
    ViewScope scope;
    AstStmt **stmts = NULL;
    int64_t n = 0;
    Plan *p = NULL;
    SelectEnv env = {0};
    if (bind_view_enter(b, v, location, &scope) != ST_OK) return NULL;
    if (sql_parse(b->a, slice_of(v->sql), &stmts, &n, b->err) == ST_OK) {
        if (n != 1 || stmts[0]->kind != AST_SELECT) err_internal(b->err, "view %s is not a query", v->name);
        else if (bind_select(b, &env, AST_AS(AstSelect, stmts[0]), r) == ST_OK) p = r->plan;
    }
    bind_view_leave(b, &scope, p != NULL);
    if (!p) return NULL;
    const char **names = arena_array(b->a, const char *, r->n + 1);
    if (!names) return NULL;
    for (int32_t i = 0; i < r->n; i++) names[i] = i < v->n_cols && v->cols && v->cols[i] ? v->cols[i] : r->names[i];
    r->names = names;
    return p;
}

static Plan *cte_scan(Binder *b, Cte *c, const char *alias, int64_t location, Rel *r) {
    if (c->member && c->n == 0) {
        err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED,
               "WITH query \"%s\" does not have a RETURNING clause", c->name);
        return NULL;
    }
    if (c->member) {
        Plan *rows = bind_member_rows(b, c, alias);
        if (rows) *r = (Rel){rows, c->n, bind_ids(b, c->n, rows->out_cols), c->names};
        return rows && r->cols ? rows : NULL;
    }
    Plan *p = plan_new(b->c, LP_CTE_SCAN, 0);
    if (!p || !(p->out_cols = arena_array(b->a, ColId, c->n + 1)) ||
        !(p->cte.cols = arena_array(b->a, ColId, c->n + 1)))
        return NULL;
    p->cte.id = c->id;
    p->n_out = c->n;
    p->alias = alias;
    for (int32_t i = 0; i < c->n; i++) {
        ColInfo info = b->c->cols.items[c->cols[i]];
        p->cte.cols[i] = c->cols[i];
        if (!(p->out_cols[i] = plan_new_col(b->c, c->names[i], info.type, true))) return NULL;
    }
    c->refs++;
    c->scan = p;
    *r = (Rel){p, c->n, p->out_cols, c->names};
    return p;
}

const ViewSource *bind_view_source(const Binder *b, int64_t location) {
    const View *v = b->views ? b->views->view : NULL;
    for (int i = 0; v && i < v->n_sources; i++)
        if (v->sources[i].location == location) return &v->sources[i];
    return NULL;
}

/* Leaves an item the columns that it has in a view, under their names there. */
static Status as_in_view(Binder *b, const ViewSource *s, NsItem *item) {
    NsCol *cols = arena_array(b->a, NsCol, s->n_cols + 1);
    if (!cols) return ST_ERROR;
    for (int k = 0; k < s->n_cols; k++) {
        int32_t at = 0;
        while (at < item->n_cols && strcmp(item->cols[at].name, s->cols[k]) != 0) at++;
        if (at == item->n_cols)
            return err_set(b->err, ERR_UNDEFINED_COLUMN, "column %s.%s does not exist", s->relation, s->cols[k]);
        cols[k] = (NsCol){s->names[k], item->cols[at].id};
    }
    item->cols = cols;
    item->n_cols = s->n_cols;
    return ST_OK;
}

static Status keep_view_table(Binder *b, const AstFromTable *f, const NsItem *item) {
    ViewTable t = {f, item->n_cols, arena_array(b->a, const char *, item->n_cols + 1)};
    if (!t.cols) return ST_ERROR;
    for (int32_t k = 0; k < t.n_cols; k++) t.cols[k] = item->cols[k].name;
    return vec_push(b->a, &b->c->views.tables, t) ? ST_OK : ST_ERROR;
}

/* The columns of a table or view in FROM: a view's source has them with their aliases. */
static Status from_table_columns(Binder *b, const AstFromTable *f, const ViewSource *source, const char *relation,
                                 NsItem *item) {
    if (b->c->views.keep_tables && b->views && !b->views->up) TRY(keep_view_table(b, f, item));
    if (source) return as_in_view(b, source, item);
    if (!b->c->views.keep_sources || !b->views || b->views->up) return rename_columns(b, &f->alias, item, f->location);
    ViewSource s = {f->location, (char *)(uintptr_t)relation, item->n_cols, arena_array(b->a, char *, item->n_cols + 1),
                    arena_array(b->a, char *, item->n_cols + 1)};
    if (!s.cols || !s.names) return ST_ERROR;
    for (int k = 0; k < s.n_cols; k++) s.cols[k] = (char *)(uintptr_t)item->cols[k].name;
    TRY(rename_columns(b, &f->alias, item, f->location));
    for (int k = 0; k < s.n_cols; k++) s.names[k] = (char *)(uintptr_t)item->cols[k].name;
    return vec_push(b->a, &b->c->views.sources, s) ? ST_OK : ST_ERROR;
}

Status bind_table_columns(Binder *b, const AstFromTable *f, NsItem *item) {
    const ViewSource *source = bind_view_source(b, f->location);
    return source ? as_in_view(b, source, item) : rename_columns(b, &f->alias, item, f->location);
}

/* The columns of a file, or of rows that the client has registered. */
static Plan *from_outside(Binder *b, Query *q, Plan *p, const AstAlias *a, int64_t location) {
    NsItem item;
    if (!p || plan_item(b, p, a->name ? a->name : p->alias, &item) != ST_OK ||
        rename_columns(b, a, &item, location) != ST_OK)
        return NULL;
    return add_item(b, q, &item, location) == ST_OK ? p : NULL;
}

/* An argument of TABLESAMPLE, which sees the outer levels. */
static Expr *sample_arg(Binder *b, const Query *q, const AstExpr *ast, const char *what, Type t) {
    Query *level = arena_new_of(b->a, Query);
    if (!level) return NULL;
    *level = (Query){.outer = q->outer, .sibling = (Query *)(uintptr_t)q, .ctes = q->ctes, .srf_ok = true};
    level->clause = "functions in FROM";
    Expr *e = bind_expr(b, level, ast);
    if (!e) return NULL;
    const char *type = type_plain_name(t);
    if (level->srfs.len) {
        err_at(b->err, bind_pos(b, ast->location), ERR_DATATYPE_MISMATCH, "argument of %s must not return a set", what);
        return NULL;
    }
    if (e->type.id != T_UNKNOWN && !cast_exists(e->type, t, CAST_ASSIGNMENT)) {
        err_at(b->err, bind_pos(b, ast->location), ERR_DATATYPE_MISMATCH, "argument of %s must be type %s, not type %s",
               what, type, type_plain_name(e->type));
        return NULL;
    }
    return bind_coerce(b, e, t, CAST_ASSIGNMENT, ast->location);
}

/* Those of the scan's rows that TABLESAMPLE takes. Without a seed of its own the statement makes one. */
static Plan *sample_rows(Binder *b, const Query *q, const AstSample *s, Plan *scan, ColId rowid) {
    bool system = strcmp(s->method.name, "system") == 0, bernoulli = strcmp(s->method.name, "bernoulli") == 0;
    const char *schema = s->method.schema;
    int64_t pos = bind_pos(b, s->location);
    if ((!system && !bernoulli) || (schema && strcmp(schema, "pg_catalog") != 0)) {
        err_at(b->err, pos, ERR_UNDEFINED_OBJECT, "tablesample method %s%s%s does not exist", schema ? schema : "",
               schema ? "." : "", s->method.name);
        return NULL;
    }
    if (s->n_args != 1) {
        err_at(b->err, pos, ERR_INVALID_SAMPLE_ARGUMENT, "tablesample method %s requires 1 argument, not %lld",
               s->method.name, (long long)s->n_args);
        return NULL;
    }
    Value seed = {.type = type_make(T_FLOAT8)};
    if (!s->repeatable) seed.u.f64 = func_sample_seed(b->c->session);
    Expr *args[4] = {expr_col(b->c, rowid), expr_bool(b->c, system),
                     sample_arg(b, q, s->args[0], "TABLESAMPLE", type_make(T_FLOAT4))};
    if (!args[2]) return NULL;
    args[3] = s->repeatable ? sample_arg(b, q, s->repeatable, "REPEATABLE", seed.type) : expr_const(b->c, &seed);
    return args[3] ? bind_filter(b, scan, bind_call(b, "sample_row", false, 4, args, s->location)) : NULL;
}

static Plan *no_sample(Binder *b, const AstFromTable *f) {
    err_at(b->err, bind_pos(b, f->sample->location), ERR_FEATURE_NOT_SUPPORTED,
           "TABLESAMPLE clause can only be applied to tables and materialized views");
    return NULL;
}

/* A materialized view has rows once its query has been run. */
static Status check_populated(Binder *b, const Table *t) {
    const View *v = catalog_matview(b->c->catalog, slice_of(t->name));
    if (!v || v->populated) return ST_OK;
    b->c->views.unpopulated = v->name;
    if (b->c->views.definition) return ST_OK;
    err_set(b->err, ERR_NOT_IN_STATE, "materialized view \"%s\" has not been populated", v->name);
    err_hint(b->err, "Use the REFRESH MATERIALIZED VIEW command.");
    return ST_ERROR;
}

static Plan *from_table(Binder *b, Query *q, const AstFromTable *f) {
    NsItem item;
    const char *alias = f->alias.name ? f->alias.name : f->name.name;
    Plan *p = NULL;
    Rel r;
    ColId rowid = 0;
    if (!f->name.schema && !f->file)
        for (Cte *c = q->ctes; c && !p; c = c->next) {
            if (strcmp(c->name, f->name.name) != 0) continue;
            if (f->sample) return no_sample(b, f);
            if (bind_member_of_with(b, c) != ST_OK) return NULL;
            if (c->binding && bind_recursive_ref(b, q, c, f->location) != ST_OK) return NULL;
            int64_t refs = c->refs;
            if (!(p = cte_scan(b, c, alias, f->location, &r)) || rel_item(b, &r, alias, &item) != ST_OK) return NULL;
            if (!c->binding) continue;
            c->refs = refs;
            c->ref_level = q;
            item.n_hidden = c->n_extra;
        }
    if (!p && f->file && f->sample) return no_sample(b, f);
    if (!p && f->file) return from_outside(b, q, bind_stream_file(b, f), &f->alias, f->location);
    if (!p) {
        Table *t;
        View *v;
        AstName name = f->name;
        if (!name.location) name.location = f->location;
        const ViewSource *source = bind_view_source(b, f->location);
        int system = -1;
        if (source) {
            name.name = source->relation;
            system = system_relation_find(name.schema, name.name);
        } else if (bind_relation_name(b, &name, &system) != ST_OK) {
            return NULL;
        }
        if (system >= 0 && f->sample) return no_sample(b, f);
        if (system >= 0) {
            if (!(p = bind_system_rows(b, system, f->location, &r)) || rel_item(b, &r, alias, &item) != ST_OK)
                return NULL;
            const SystemRelation *all;
            (void)system_relations(&all);
            if (strcmp(alias, all[system].name) == 0) item.schema = slice_of(all[system].schema);
            item.n_hidden = p->kind == LP_PROJECT && strcmp(r.names[r.n - 1], "tableoid") == 0;
            if (from_table_columns(b, f, source, name.name, &item) != ST_OK) return NULL;
            return add_item(b, q, &item, f->location) == ST_OK ? p : NULL;
        }
        ClientRows *rows = find_client_rows(b, &f->name, name.name);
        if (rows) return from_outside(b, q, bind_client_rows(b, rows), &f->alias, f->location);
        if (err_is_set(b->err)) return NULL;
        const Sequence *sequence = bind_find_sequence(b, &name);
        if (sequence && f->sample) return no_sample(b, f);
        if (sequence) {
            if (!(p = bind_sequence_row(b, sequence)) || plan_item(b, p, alias, &item) != ST_OK ||
                from_table_columns(b, f, source, name.name, &item) != ST_OK)
                return NULL;
            return add_item(b, q, &item, f->location) == ST_OK ? p : NULL;
        }
        if (bind_find_table(b, &name, &t, &v) != ST_OK || (t && check_populated(b, t) != ST_OK)) return NULL;
        if (t) p = bind_scan(b, q, t, alias, f->sample || q->numbered ? &rowid : NULL, &item);
        else if ((p = bind_view(b, v, f->location, &r)) && rel_item(b, &r, alias, &item) != ST_OK) return NULL;
        if (p && v) bind_item_schema(&item, v->name);
        if (f->alias.name) item.schema = (Slice){0};
        if (p && f->sample && !(p = rowid ? sample_rows(b, q, f->sample, p, rowid) : no_sample(b, f))) return NULL;
        if (p && from_table_columns(b, f, source, name.name, &item) != ST_OK) return NULL;
        return p && add_item(b, q, &item, f->location) == ST_OK ? p : NULL;
    }
    if (!p || rename_columns(b, &f->alias, &item, f->location) != ST_OK || add_item(b, q, &item, f->location) != ST_OK)
        return NULL;
    return p;
}

static Plan *from_subquery(Binder *b, Query *q, const AstFromSubquery *f) {
    SelectEnv env = {.outer = f->lateral ? q : q->outer, .sibling = f->lateral ? NULL : q, .ctes = q->ctes};
    Rel r;
    NsItem item;
    if (bind_select(b, &env, f->query, &r) != ST_OK || rel_item(b, &r, f->alias.name, &item) != ST_OK ||
        rename_columns(b, &f->alias, &item, f->location) != ST_OK || add_item(b, q, &item, f->location) != ST_OK)
        return NULL;
    return r.plan;
}

/* unnest(ARRAY[...]) as rows. */
static Plan *from_unnest(Binder *b, const AstFunc *f, Expr **items, int64_t n, const char *name) {
    Type t;
    if (bind_common(b, n, items, "ARRAY", &t) != ST_OK) return NULL;
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    if (!p || !(p->values.rows = arena_array(b->a, Expr **, n + 1)) || !(p->out_cols = arena_array(b->a, ColId, 1)))
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        if (items[i]->kind != EX_CONST && items[i]->kind != EX_PARAM) {
            bind_unsupported(b, f->location, "unnest of computed values");
            return NULL;
        }
        if (!(p->values.rows[i] = arena_array(b->a, Expr *, 1))) return NULL;
        p->values.rows[i][0] = items[i];
    }
    p->values.n_rows = n;
    p->n_out = 1;
    return (p->out_cols[0] = plan_new_col(b->c, name, t, true)) ? p : NULL;
}

/* unnest(ARRAY[...]) of literals: rows known beforehand. */
static bool constant_unnest(const AstFunc *call) {
    if (call->n_args != 1 || call->args[0]->kind != AST_ARRAY) return false;
    const AstList *l = AST_AS_CONST(AstList, call->args[0]);
    for (int64_t i = 0; i < l->n_items; i++) {
        int k = l->items[i]->kind;
        if (k != AST_STRING_LIT && k != AST_INT_LIT && k != AST_NUMBER_LIT && k != AST_BOOL_LIT && k != AST_NULL_LIT &&
            k != AST_PARAM)
            return false;
    }
    return l->n_items > 0;
}

/* WITH ORDINALITY of bulk_call: its first column is the call's number. */
static Plan *number_bulk(Binder *b, Plan *p) {
    Proj proj = {0};
    for (int32_t i = 0; p && i < p->n_out; i++)
        if (!bind_proj_add(b, &proj, NULL, expr_col(b->c, p->out_cols[i]), b->c->cols.items[p->out_cols[i]].name))
            return NULL;
    Expr *n = p ? bind_coerce(b, expr_col(b->c, p->out_cols[0]), type_make(T_INT8), CAST_IMPLICIT, 0) : NULL;
    return bind_proj_add(b, &proj, NULL, n, "ordinality") ? bind_proj_plan(b, &proj, p) : NULL;
}

/* A table function of a client. */
static Plan *from_user_table(Binder *b, Query *q, const AstFromFunc *f) {
    const char *clause = q->clause;
    const AstFunc *call = AST_AS_CONST(AstFunc, f->funcs[0].call);
    q->clause = "functions in FROM";
    Plan *p = bind_user_table(b, q, call, f->ordinality);
    q->clause = clause;
    if (p && !p->alias) p->alias = call->name.name;
    return from_outside(b, q, p, &f->alias, f->location);
}

/* Values of a composite type that one function makes: a column per field. */
static Plan *field_columns(Binder *b, const AstFromFunc *f, Plan *p) {
    if (!p || f->n_funcs != 1 || p->n_out != 1 + f->ordinality) return p;
    const ColId of = p->out_cols[0], number = f->ordinality ? p->out_cols[1] : 0;
    const CompositeType *x = composite_of(b->c->cols.items[of].type);
    if (!x || x->kind == COMPOSITE_ANONYMOUS) return p;
    Proj proj = {0};
    for (int32_t i = 0; i < x->n; i++) {
        Expr *row = expr_col(b->c, of), *e = row ? bind_field_at(b, row, i, f->funcs[0].call->location) : NULL;
        if (!bind_proj_add(b, &proj, NULL, e, x->fields[i].name)) return NULL;
    }
    if (number && (!vec_push(b->a, &proj.ids, number) || !vec_push(b->a, &proj.exprs, expr_col(b->c, number))))
        return NULL;
    return bind_proj_plan(b, &proj, p);
}

static Plan *from_func(Binder *b, Query *q, const AstFromFunc *f) {
    if (f->n_funcs == 1 && !f->n_column_defs && bind_is_user_table(b, f->funcs[0].call))
        return from_user_table(b, q, f);
    if (f->n_funcs == 1 && bind_is_stream(b, f->funcs[0].call))
        return from_outside(b, q, bind_stream_call(b, f), &f->alias, f->location);
    const char *clause = q->clause;
    const AstExpr *only = f->n_funcs == 1 && !f->n_column_defs ? f->funcs[0].call : NULL;
    const AstFunc *call = only && only->kind == AST_FUNC ? AST_AS_CONST(AstFunc, only) : NULL;
    const char *alias = f->alias.name ? f->alias.name : bind_target_name(f->funcs[0].call);
    Plan *p = NULL;
    q->clause = "functions in FROM";
    if (call && sql_is_bulk_call(call)) {
        p = bind_bulk_rows(b, q, call);
        if (f->ordinality) p = number_bulk(b, p);
    } else if (call && !f->ordinality && !call->name.schema && strcmp(call->name.name, "unnest") == 0 &&
               constant_unnest(call)) {
        const AstList *l = AST_AS_CONST(AstList, call->args[0]);
        Expr **items = bind_list(b, q, l->items, l->n_items);
        if (items) p = from_unnest(b, call, items, l->n_items, alias);
    } else {
        p = bind_from_rows(b, q, f);
    }
    q->clause = clause;
    const Plan *values = p;
    p = field_columns(b, f, p);
    NsItem item;
    bool scalar = p == values && f->n_funcs == 1 && !f->ordinality && !f->n_column_defs && !f->funcs[0].n_column_defs;
    if (!p || plan_item(b, p, alias, &item) != ST_OK || rename_columns(b, &f->alias, &item, f->location) != ST_OK ||
        add_item(b, q, &item, f->location) != ST_OK)
        return NULL;
    q->ns.items[q->ns.len - 1].scalar = scalar && p->n_out == 1;
    return p;
}

/* ---- joins ---------------------------------------------------------------------------- */

static Plan *from_item(Binder *b, Query *q, const AstFrom *f);

/* A column by name among the visible ones of items [from, to). 0 none, -1 error. */
static ColId side_column(Binder *b, const Query *q, int64_t from, int64_t to, const char *name, const char *side,
                         int64_t location) {
    ColId id = 0;
    for (int64_t i = from; i < to; i++) {
        const NsItem *it = &q->ns.items[i];
        for (int32_t k = 0; it->cols_visible && k < it->n_cols; k++) {
            if (strcmp(it->cols[k].name, name) != 0) continue;
            if (id) {
                err_at(b->err, bind_pos(b, location), ERR_AMBIGUOUS_COLUMN,
                       "common column name \"%s\" appears more than once in %s table", name, side);
                return -1;
            }
            id = it->cols[k].id;
        }
    }
    return id;
}

typedef struct Merge {
    const char *name;
    ColId left, right, out;
} Merge;

static Status natural_columns(Binder *b, Query *q, int64_t start, int64_t mid, const char ***names, int64_t *n) {
    VEC(const char *) v = {0};
    for (int64_t i = start; i < mid; i++)
        for (int32_t k = 0; q->ns.items[i].cols_visible && k < q->ns.items[i].n_cols; k++) {
            const char *name = q->ns.items[i].cols[k].name;
            ColId r = side_column(b, q, mid, q->ns.len, name, "right", 0);
            if (r < 0) return ST_ERROR;
            if (r && !vec_push(b->a, &v, name)) return ST_ERROR;
        }
    *names = v.items;
    *n = v.len;
    return ST_OK;
}

/* Merged columns that are neither side's own column are computed above the join. */
static Plan *merge_columns(Binder *b, Query *q, Plan *join, AstJoinType type, int64_t start, int64_t n, Merge *m) {
    Proj proj = {0};
    bool compute = false;
    for (int64_t i = 0; i < n; i++) {
        Type lt = b->c->cols.items[m[i].left].type, rt = b->c->cols.items[m[i].right].type, t;
        bool same = type_eq(lt, rt);
        if (same && type != AST_JOIN_FULL) {
            m[i].out = type == AST_JOIN_RIGHT ? m[i].right : m[i].left;
            continue;
        }
        compute = true;
        Expr *args[2] = {expr_col(b->c, m[i].left), expr_col(b->c, m[i].right)}, *e;
        if (!args[0] || !args[1] || bind_common(b, 2, args, "JOIN/USING", &t) != ST_OK) return NULL;
        if (type == AST_JOIN_FULL) {
            if (!(e = expr_new(b->c, EX_COALESCE, t, 2))) return NULL;
            memcpy(e->args, args, sizeof args);
        } else {
            e = args[type == AST_JOIN_RIGHT];
        }
        if (!(m[i].out = bind_proj_add(b, &proj, NULL, e, m[i].name))) return NULL;
    }
    if (!compute) return join;
    for (int64_t i = start; i < q->ns.len; i++) q->ns.items[i].projected = true;
    for (int64_t i = start; i < q->ns.len; i++)
        for (int32_t k = 0; k < q->ns.items[i].n_cols; k++) {
            ColId id = q->ns.items[i].cols[k].id;
            Expr *e = expr_col(b->c, id);
            if (!e || !bind_proj_add(b, &proj, q, e, NULL)) return NULL;
        }
    return bind_proj_plan(b, &proj, join);
}

/* By name, which is unique on each side: another column of a side may be the same value under another name. */
static bool is_merged(const Merge *m, int64_t n, const char *name) {
    for (int64_t i = 0; i < n; i++)
        if (strcmp(m[i].name, name) == 0) return true;
    return false;
}

/* Hides the sides' columns behind one item: merged columns first. */
static Status merged_item(Binder *b, Query *q, const AstFromJoin *f, int64_t start, int64_t n, const Merge *m) {
    VEC(NsCol) cols = {0};
    for (int64_t i = 0; i < n; i++) {
        NsCol c = {m[i].name, m[i].out};
        if (!vec_push(b->a, &cols, c)) return ST_ERROR;
    }
    if (f->using_alias) {
        NsItem u = {.name = f->using_alias, .n_cols = (int32_t)cols.len, .rel_visible = true};
        if (!(u.cols = arena_array(b->a, NsCol, cols.len + 1))) return ST_ERROR;
        if (cols.len) memcpy(u.cols, cols.items, sizeof *u.cols * (size_t)cols.len);
        TRY(add_item(b, q, &u, f->location));
    }
    int64_t end = q->ns.len;
    for (int64_t i = start; i < end; i++) {
        NsItem *it = &q->ns.items[i];
        for (int32_t k = 0; it->cols_visible && k < it->n_cols - it->n_hidden; k++)
            if (!is_merged(m, n, it->cols[k].name) && !vec_push(b->a, &cols, it->cols[k])) return ST_ERROR;
        it->cols_visible = false;
        if (f->alias.name) it->rel_visible = false;
    }
    NsItem item = {.name = f->alias.name,
                   .cols = cols.items,
                   .n_cols = (int32_t)cols.len,
                   .rel_visible = f->alias.name != NULL,
                   .cols_visible = true};
    TRY(rename_columns(b, &f->alias, &item, f->location));
    return add_item(b, q, &item, f->location);
}

static Plan *from_join(Binder *b, Query *q, const AstFromJoin *f) {
    static const uint8_t kinds[] = {[AST_JOIN_INNER] = JN_INNER,
                                    [AST_JOIN_LEFT] = JN_LEFT,
                                    [AST_JOIN_RIGHT] = JN_RIGHT,
                                    [AST_JOIN_FULL] = JN_FULL,
                                    [AST_JOIN_CROSS] = JN_INNER};
    int64_t start = q->ns.len;
    uint8_t context = b->rec_context;
    if (f->type == AST_JOIN_RIGHT || f->type == AST_JOIN_FULL) b->rec_context = REC_IN_OUTER_JOIN;
    Plan *l = from_item(b, q, f->left);
    if (!l) return NULL;
    b->rec_context = f->type == AST_JOIN_LEFT || f->type == AST_JOIN_FULL ? REC_IN_OUTER_JOIN : context;
    int64_t mid = q->ns.len;
    bool bad = f->type == AST_JOIN_RIGHT || f->type == AST_JOIN_FULL;
    for (int64_t i = start; bad && i < mid; i++) q->ns.items[i].lateral_bad = true;
    Plan *r = from_item(b, q, f->right);
    if (!r) return NULL;
    b->rec_context = context;
    for (int64_t i = start; bad && i < mid; i++) q->ns.items[i].lateral_bad = false;
    Plan *p = bind_join(b, (JoinKind)kinds[f->type], l, r);
    if (!p) return NULL;
    for (int64_t i = start; i < q->ns.len; i++)
        q->ns.items[i].nullable |= i < mid ? bad : f->type == AST_JOIN_LEFT || f->type == AST_JOIN_FULL;
    p->join.dependent = bind_depends(b, r, l);
    const char **names = f->using_columns;
    int64_t n = f->n_using;
    if (f->natural && natural_columns(b, q, start, mid, &names, &n) != ST_OK) return NULL;
    Merge *m = arena_array(b->a, Merge, n + 1);
    ExprVec conds = {0};
    if (!m) return NULL;
    for (int64_t i = 0; i < n; i++) {
        ColId x = side_column(b, q, start, mid, names[i], "left", f->location);
        ColId y = x < 0 ? -1 : side_column(b, q, mid, q->ns.len, names[i], "right", f->location);
        if (x < 0 || y < 0) return NULL;
        if (!x || !y) {
            err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_COLUMN,
                   "column \"%s\" specified in USING clause does not exist in %s table", names[i],
                   x ? "right" : "left");
            return NULL;
        }
        m[i] = (Merge){names[i], x, y, x};
        Expr *eq = bind_op(b, "=", expr_col(b->c, x), expr_col(b->c, y), f->location);
        if (!eq || !vec_push(b->a, &conds, eq)) return NULL;
    }
    if (n && join_conds(b, p, bind_nary(b, EX_AND, n, conds.items, f->location)) != ST_OK) return NULL;
    if (f->on) {
        /* the condition sees the two sides, and outer levels */
        Ns save = q->ns;
        const char *clause = q->clause;
        Query *sibling = q->sibling, *hidden = arena_new_of(b->a, Query);
        if (!hidden) return NULL;
        hidden->ns = save;
        q->sibling = hidden;
        q->ns.items += start;
        q->ns.len -= start;
        q->clause = "JOIN conditions";
        Expr *on = bind_bool(b, bind_expr(b, q, f->on), "JOIN/ON", f->on->location);
        q->ns = save;
        q->sibling = sibling;
        q->clause = clause;
        if (join_conds(b, p, on) != ST_OK) return NULL;
    }
    if (n && !(p = merge_columns(b, q, p, f->type, start, n, m))) return NULL;
    if ((n || f->natural || f->alias.name) && merged_item(b, q, f, start, n, m) != ST_OK) return NULL;
    return p;
}

static Plan *from_item(Binder *b, Query *q, const AstFrom *f) {
    if (stack_check_at(b->err, bind_pos(b, f->location)) != ST_OK) return NULL;
    Plan *p = NULL;
    int64_t at = q->ns.len;
    switch ((int)f->kind) {
    case AST_FROM_TABLE: p = from_table(b, q, AST_AS_CONST(AstFromTable, f)); break;
    case AST_FROM_SUBQUERY: p = from_subquery(b, q, AST_AS_CONST(AstFromSubquery, f)); break;
    case AST_FROM_FUNC: p = from_func(b, q, AST_AS_CONST(AstFromFunc, f)); break;
    case AST_FROM_JOIN: p = from_join(b, q, AST_AS_CONST(AstFromJoin, f)); break;
    default: err_internal(b->err, "binder: unexpected FROM item %s", ast_kind_name(f->kind)); break;
    }
    if (p && f->kind != AST_FROM_JOIN && q->ns.len > at) q->ns.items[at].plan = p;
    return p;
}

Plan *bind_from(Binder *b, Query *q, AstFrom *const *items, int64_t n, Plan *start) {
    Plan *p = start;
    for (int64_t i = 0; i < n; i++) {
        Plan *r = from_item(b, q, items[i]);
        if (!r) return NULL;
        if (!p) {
            p = r;
            continue;
        }
        bool dep = bind_depends(b, r, p);
        if (!(p = bind_join(b, JN_INNER, p, r))) return NULL;
        p->join.dependent = dep;
    }
    return p ? p : bind_one_row(b);
}
