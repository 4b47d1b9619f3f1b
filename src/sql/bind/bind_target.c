/* bind_target.c - what INSERT, UPDATE and DELETE change: a table, or a view that stands for one.
 *
 * A view over one table or view, without anything that makes other rows of its rows, can be changed as in PostgreSQL:
 * what is changed is the table below, where the conditions of the views hold. Here the statement becomes one of that
 * table: names mean the view's columns, values go to the table's columns behind them, and the conditions of views WITH
 * CHECK OPTION stand beside its CHECK constraints. Whatever runs the plan knows nothing of views.
 *
 * A view's text is bound once to find out which of its columns are the table's, and then over each row that its columns
 * are wanted of: the one that is there, the one as it will be, the one that ON CONFLICT excluded. A column that the
 * view computes is no column of a plan: it stands for its expression (Binder.computed).
 */
#include "base/similar.h"
#include "catalog/system_relation.h"
#include "sql/bind/bind_int.h"

/* One view between the statement and the table. */
struct ViewLevel {
    const View *view;
    int64_t location;
    const AstSelect *query;
    const AstFromTable *from; /* what it reads */
    ViewLevel *below;         /* the view that this is; NULL: the table */
    int n;
    const char **names;
    int *below_col;       /* of column i: which of what it reads; -1: none, ... */
    const char **reasons; /* ... because of that */
};

/* ---- whether a view can be changed ---------------------------------------------------------------------- */

static const char *query_reason(const AstSelect *x) {
    if (x->set_op != AST_SETOP_NONE)
        return "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.";
    if (x->distinct) return "Views containing DISTINCT are not automatically updatable.";
    if (x->n_group_by) return "Views containing GROUP BY are not automatically updatable.";
    if (x->having) return "Views containing HAVING are not automatically updatable.";
    if (x->with) return "Views containing WITH are not automatically updatable.";
    if (x->limit || x->offset) return "Views containing LIMIT or OFFSET are not automatically updatable.";
    return NULL;
}
static const char *result_reason(const Query *q) {
    if (bind_calls_window(q)) return "Views that return window functions are not automatically updatable.";
    if (q->aggs.len || q->groupings.len)
        return "Views that return aggregate functions are not automatically updatable.";
    if (q->srfs.len) return "Views that return set-returning functions are not automatically updatable.";
    return NULL;
}
static const char no_relation[] =
    "Views that do not select from a single table or view are not automatically updatable.";

/* The table or view that is all of FROM. Both NULL: there is no such one, and *reason says so. */
static Status only_relation(Binder *b, ViewLevel *l, Table **t, View **v, const char **reason) {
    const AstSelect *x = l->query;
    *t = NULL;
    *v = NULL;
    *reason = no_relation;
    if (x->n_values || x->n_from != 1 || x->from[0]->kind != AST_FROM_TABLE) return ST_OK;
    l->from = AST_AS_CONST(AstFromTable, x->from[0]);
    if (l->from->file) return ST_OK;
    AstName name = l->from->name;
    const ViewSource *source = bind_view_source(b, l->from->location);
    int system = -1;
    if (source) {
        name.name = source->relation;
        system = system_relation_find(name.schema, name.name);
    } else {
        TRY(bind_relation_name(b, &name, &system));
    }
    if (system >= 0 || bind_find_sequence(b, &name)) return ST_OK;
    TRY(bind_find_table(b, &name, t, v));
    if (*t && catalog_matview(b->c->catalog, slice_of((*t)->name))) *t = NULL;
    if (l->from->sample) {
        *reason = "Views containing TABLESAMPLE are not automatically updatable.";
        *t = NULL;
        *v = NULL;
    }
    return ST_OK;
}

/* ---- a view's columns over a row ----------------------------------------------------------------------------- */

/* The level of the view's text, over what it reads. */
static Query *level_query(Binder *b, const ViewLevel *l, const NsItem *in) {
    Query *q = arena_new_of(b->a, Query);
    NsItem item = *in;
    if (!q) return NULL;
    item.name = l->from->alias.name ? l->from->alias.name : l->from->name.name;
    if (bind_table_columns(b, l->from, &item) != ST_OK || bind_add_item(b, q, &item) != ST_OK) return NULL;
    return q;
}
static Status level_targets(Binder *b, const ViewLevel *l, Query *q, TargetVec *out) {
    q->clause = NULL;
    q->srf_ok = q->window_ok = true;
    TRY(bind_targets(b, q, l->query->targets, l->query->n_targets, out));
    for (int64_t i = 0; i < out->len; i++) {
        Target *x = &out->items[i];
        if (x->expr->type.id == T_UNKNOWN) x->expr = bind_coerce(b, x->expr, type_make(T_TEXT), CAST_IMPLICIT, 0);
        if (!x->expr) return ST_ERROR;
        if (i < l->view->n_cols && l->view->cols[i]) x->name = l->view->cols[i];
    }
    return ST_OK;
}
static int column_of(const NsItem *in, const Expr *e) {
    for (int32_t i = 0; e->kind == EX_COL && i < in->n_cols; i++)
        if (in->cols[i].id == e->u.col) return i;
    return -1;
}

/* What is made of a row of the table on the way up through the views. */
typedef struct Climb {
    Binder *b;
    Plan **plan;        /* not NULL: their conditions become filters of it */
    bool names_only;    /* columns that are computed stand for nothing: no text names them */
    ViewChecks *checks; /* not NULL: the conditions of views WITH CHECK OPTION go there */
} Climb;

static Status level_where(Climb *k, const ViewLevel *l, Query *q, bool checked) {
    Binder *b = k->b;
    const AstExpr *where = l->query->where;
    if (!where || (!k->plan && !checked)) return ST_OK;
    q->clause = "WHERE";
    Expr *e = bind_bool(b, bind_expr(b, q, where), "WHERE", where->location);
    if (k->plan) return (*k->plan = bind_filter(b, *k->plan, e)) ? ST_OK : ST_ERROR;
    e = bind_unary(b, EX_IS_TRUE, e, 0); /* a row that a view does not show, it refuses */
    return e && vec_push(b->a, k->checks, ((ViewCheck){l->view->name, e})) ? ST_OK : ST_ERROR;
}
/* A column that is not one of `in` stands for its expression, as in PostgreSQL: no plan computes it for rows in which
 * nothing wants it, and what is said of the columns behind it is said of the table's. */
static Status level_item(Climb *k, const TargetVec *targets, const NsItem *in, NsItem *out) {
    Binder *b = k->b;
    *out = (NsItem){.n_cols = (int32_t)targets->len, .rel_visible = true, .cols_visible = true};
    if (!(out->cols = arena_array(b->a, NsCol, targets->len + 1))) return ST_ERROR;
    for (int64_t i = 0; i < targets->len; i++) {
        const Target *x = &targets->items[i];
        const int at = column_of(in, x->expr);
        const ColId id = at >= 0 ? in->cols[at].id : plan_new_col(b->c, x->name, x->expr->type, true);
        if (id <= 0) return ST_ERROR;
        if (at < 0 && !k->names_only && !vec_push(b->a, &b->computed, ((ComputedCol){id, x->expr}))) return ST_ERROR;
        out->cols[i] = (NsCol){x->name, id};
    }
    return ST_OK;
}
/* The view's columns over a row of the table, which is `row`. cascaded: a view above it is WITH CASCADED CHECK OPTION.
 */
static Status climb(Climb *k, const ViewLevel *l, const NsItem *row, bool cascaded, NsItem *out) {
    Binder *b = k->b;
    NsItem in = *row;
    const char option = view_check_option(l->view);
    cascaded |= option == 'c';
    TRY(stack_check(b->err));
    if (l->below) TRY(climb(k, l->below, row, cascaded, &in));
    ViewScope scope;
    TRY(bind_view_enter(b, l->view, l->location, &scope));
    TargetVec targets = {0};
    Query *q = level_query(b, l, &in);
    Status st = q ? level_where(k, l, q, k->checks && (cascaded || option)) : ST_ERROR;
    if (st == ST_OK) st = level_targets(b, l, q, &targets);
    if (st == ST_OK) st = level_item(k, &targets, &in, out);
    bind_view_leave(b, &scope, st == ST_OK);
    return st;
}

/* ---- finding it -------------------------------------------------------------------------------------------- */

static const char *const verbs[] = {
    [STMT_INSERT] = "insert into", [STMT_UPDATE] = "update", [STMT_DELETE] = "delete from"};

static Status not_updatable(Binder *b, const View *v, StmtKind change, const char *reason) {
    static const char *const doing[] = {
        [STMT_INSERT] = "inserting into", [STMT_UPDATE] = "updating", [STMT_DELETE] = "deleting from"};
    static const char *const event[] = {[STMT_INSERT] = "INSERT", [STMT_UPDATE] = "UPDATE", [STMT_DELETE] = "DELETE"};
    err_set(b->err, ERR_NOT_IN_STATE, "cannot %s view \"%s\"", verbs[change], v->name);
    err_detail(b->err, "%s", reason);
    err_hint(b->err,
             "To enable %s the view, provide an INSTEAD OF %s trigger or an unconditional ON %s DO INSTEAD rule.",
             doing[change], event[change], event[change]);
    return ST_ERROR;
}

/* Which of the level's columns are those of what it reads. Aggregates and the like show only now. */
static Status read_columns(Binder *b, ViewLevel *l, const NsItem *in, NsItem *out, const char **reason) {
    TargetVec targets = {0};
    Climb k = {.b = b, .names_only = true};
    Query *q = level_query(b, l, in);
    if (!q) return ST_ERROR;
    TRY(level_targets(b, l, q, &targets));
    if ((*reason = result_reason(q))) return ST_OK;
    l->n = (int)targets.len;
    l->names = arena_array(b->a, const char *, l->n + 1);
    l->below_col = arena_array(b->a, int, l->n + 1);
    l->reasons = arena_array(b->a, const char *, l->n + 1);
    if (!l->names || !l->below_col || !l->reasons) return ST_ERROR;
    for (int i = 0; i < l->n; i++) {
        const Target *x = &targets.items[i];
        l->names[i] = x->name;
        l->below_col[i] = column_of(in, x->expr);
        l->reasons[i] = x->row ? "View columns that return whole-row references are not updatable."
                               : "View columns that are not columns of their base relation are not updatable.";
    }
    return level_item(&k, &targets, in, out);
}
static bool has_updatable(const ViewLevel *l) {
    for (int i = 0; i < l->n; i++)
        if (l->below_col[i] >= 0) return true;
    return false;
}

/* Reads the text of the view and what it is over. *reason: it cannot be changed. */
static Status read_level(Binder *b, ViewLevel *l, Table **t, View **below, const char **reason) {
    AstStmt **stmts;
    int64_t n;
    TRY(sql_parse(b->a, slice_of(l->view->sql), &stmts, &n, b->err));
    if (n != 1 || stmts[0]->kind != AST_SELECT) return err_internal(b->err, "view %s is not a query", l->view->name);
    l->query = AST_AS_CONST(AstSelect, stmts[0]);
    *t = NULL;
    *below = NULL;
    if ((*reason = query_reason(l->query))) return ST_OK;
    TRY(only_relation(b, l, t, below, reason));
    if (*t || *below) return *reason = NULL, ST_OK;
    if (l->query->n_values || *reason != no_relation) return ST_OK;
    Query *q = arena_new_of(b->a, Query); /* PostgreSQL looks for calls of aggregates and the like first */
    TargetVec targets = {0};
    if (!q) return ST_ERROR;
    q->clause = "FROM";
    if (l->query->n_from && !bind_from(b, q, l->query->from, l->query->n_from, NULL)) return ST_ERROR;
    TRY(bind_windows(b, q, l->query));
    TRY(level_targets(b, l, q, &targets));
    if (result_reason(q)) *reason = result_reason(q);
    return ST_OK;
}

/* The levels from the view down to the table, and which of its columns are whose. */
static Status open_levels(Binder *b, const View *v, int64_t location, ViewLevel **out, Table **t, const View **culprit,
                          const char **reason) {
    ViewLevel **slot = out;
    *reason = NULL;
    for (int64_t depth = 0; v && !*reason; depth++) {
        View *below = NULL;
        ViewScope scope;
        ViewLevel *l = *slot = arena_new_of(b->a, ViewLevel);
        if (!l) return ST_ERROR;
        *l = (ViewLevel){.view = v, .location = location};
        if (depth > b->c->catalog->n_views)
            return err_set(b->err, ERR_INVALID_OBJECT_DEFINITION, "infinite recursion detected in view \"%s\"",
                           v->name);
        TRY(bind_view_enter(b, v, location, &scope));
        const Status st = read_level(b, l, t, &below, reason);
        bind_view_leave(b, &scope, st == ST_OK);
        TRY(st);
        *culprit = v;
        v = below;
        slot = &l->below;
    }
    return ST_OK;
}
static Status read_levels(Binder *b, ViewLevel *l, const NsItem *row, bool some, NsItem *out, const View **culprit,
                          const char **reason) {
    NsItem in = *row;
    TRY(stack_check(b->err));
    if (l->below) TRY(read_levels(b, l->below, row, some, &in, culprit, reason));
    if (*reason) return ST_OK;
    ViewScope scope;
    TRY(bind_view_enter(b, l->view, l->location, &scope));
    const Status st = read_columns(b, l, &in, out, reason);
    bind_view_leave(b, &scope, st == ST_OK);
    TRY(st);
    if (!*reason && some && !has_updatable(l))
        *reason = "Views that have no updatable columns are not automatically updatable.";
    if (*reason) *culprit = l->view;
    return ST_OK;
}

static Status any_row(Binder *b, const Table *t, ColId *ids) {
    for (int i = 0; i < t->n_cols; i++)
        if (!(ids[i] = plan_new_col(b->c, t->cols[i].name, t->cols[i].type, !t->cols[i].not_null))) return ST_ERROR;
    return ST_OK;
}
/* The levels of a view, its table, and its columns over one of the table's rows. some: it is to have columns of the
 * table. */
static Status open_view(Binder *b, const View *v, int64_t location, bool some, ViewLevel **l, Table **t, NsItem *item,
                        const View **culprit, const char **reason) {
    NsItem row;
    TRY(open_levels(b, v, location, l, t, culprit, reason));
    if (*reason) return ST_OK;
    ColId *ids = arena_array(b->a, ColId, (*t)->n_cols + 1);
    if (!ids) return ST_ERROR;
    TRY(any_row(b, *t, ids));
    TRY(bind_row_item(b, *t, (*t)->name, ids, &row));
    return read_levels(b, *l, &row, some, item, culprit, reason);
}

static int table_column(const ViewLevel *l, int col) {
    for (; l && col >= 0; l = l->below) col = l->below_col[col];
    return col;
}
/* Of a column of a view, which is one of a table: its own or, as in PostgreSQL, its domain's, not the table's. */
static const char *view_default(const Binder *b, const View *v, int col, const Column *base) {
    const Domain *d = catalog_domain_by_id(b->c->catalog, base->domain);
    if (col < v->n_defaults && v->defaults[col]) return v->defaults[col];
    return d && base->kind == COLUMN_PLAIN ? d->default_sql : NULL;
}

/* The columns of the table as INSERT fills them: with the default of the outermost view that has one. */
static Status take_defaults(Binder *b, DmlTarget *g) {
    for (int c = 0; c < g->t->n_cols; c++) g->defaults[c] = &g->t->cols[c];
    for (const ViewLevel *l = g->view; l; l = l->below)
        for (int i = 0; i < l->n; i++) {
            const int c = table_column(l, i);
            const char *sql = c < 0 ? NULL : view_default(b, l->view, i, &g->t->cols[c]);
            if (!sql || g->defaults[c] != &g->t->cols[c]) continue;
            Column *x = arena_new_of(b->a, Column);
            if (!x) return ST_ERROR;
            *x = g->t->cols[c];
            x->default_sql = (char *)(uintptr_t)sql;
            x->kind = COLUMN_PLAIN;
            g->defaults[c] = x;
        }
    return ST_OK;
}
static Status take_columns(Binder *b, DmlTarget *g, int n) {
    const Table *t = g->t;
    g->n = n;
    g->names = arena_array(b->a, const char *, n + 1);
    g->base = arena_array(b->a, int, n + 1);
    g->cols = arena_array(b->a, const Column *, n + 1);
    g->defaults = arena_array(b->a, const Column *, t->n_cols + 1);
    if (!g->names || !g->base || !g->cols || !g->defaults) return ST_ERROR;
    for (int i = 0; i < n; i++) {
        g->base[i] = table_column(g->view, i);
        if (g->base[i] >= 0) g->cols[i] = &t->cols[g->base[i]];
        g->names[i] = g->view ? g->view->names[i] : t->cols[i].name;
        if (!g->view || g->base[i] < 0) continue;
        Column *x = arena_new_of(b->a, Column);
        if (!x) return ST_ERROR;
        *x = t->cols[g->base[i]];
        x->name = (char *)(uintptr_t)g->names[i];
        x->default_sql = (char *)(uintptr_t)view_default(b, g->view->view, i, &t->cols[g->base[i]]);
        g->cols[i] = x;
    }
    return take_defaults(b, g);
}

Status bind_dml_target(Binder *b, const AstName *name, int64_t location, StmtKind change, DmlTarget *g) {
    View *v;
    AstName n = *name;
    NsItem item;
    const View *culprit = NULL;
    const char *reason = NULL;
    ViewLevel *l = NULL;
    if (!n.location) n.location = location;
    *g = (DmlTarget){.change = change};
    int system;
    TRY(bind_relation_name(b, &n, &system));
    if (system >= 0) return sql_refuse_system_relation(n.name, b->err);
    if (bind_find_sequence(b, &n))
        return err_set(b->err, ERR_WRONG_OBJECT_TYPE, "cannot change sequence \"%s\"", n.name);
    TRY(bind_find_table(b, &n, &g->t, &v));
    if (g->t && catalog_matview(b->c->catalog, slice_of(n.name)))
        return err_set(b->err, ERR_WRONG_OBJECT_TYPE, "cannot change materialized view \"%s\"", n.name);
    if (v) TRY(open_view(b, v, n.location, change != STMT_DELETE, &l, &g->t, &item, &culprit, &reason));
    if (reason) return not_updatable(b, culprit, change, reason);
    g->view = l;
    g->name = name_of_key(v ? v->name : g->t->name);
    return take_columns(b, g, v ? item.n_cols : g->t->n_cols);
}

/* ---- its columns ------------------------------------------------------------------------------------------ */

int bind_dml_column(const DmlTarget *g, const char *name) {
    for (int i = 0; i < g->n; i++)
        if (strcmp(g->names[i], name) == 0) return i;
    return -1;
}
Status bind_no_dml_column(Binder *b, const DmlTarget *g, const char *name, int64_t location) {
    Similar s;
    similar_init(&s, name);
    for (int i = 0; i < g->n; i++) similar_offer(&s, g->names[i]);
    err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", name,
           g->name);
    if (s.best) err_hint(b->err, "Perhaps you meant the column \"%s\".", s.best);
    return ST_ERROR;
}
Status bind_changes_column(Binder *b, const DmlTarget *g, int col) {
    for (const ViewLevel *l = g->view; l; l = l->below) {
        if (l->below_col[col] >= 0) {
            col = l->below_col[col];
            continue;
        }
        err_set(b->err, ERR_FEATURE_NOT_SUPPORTED,
                g->change == STMT_INSERT ? "cannot insert into column \"%s\" of view \"%s\""
                                         : "cannot update column \"%s\" of view \"%s\"",
                l->names[col], l->view->name);
        err_detail(b->err, "%s", l->reasons[col]);
        return ST_ERROR;
    }
    return ST_OK;
}

static void name_item(const DmlTarget *g, NsItem *item, const char *name) {
    item->name = name;
    item->schema = (Slice){0};
    bind_item_schema(item, g->view ? g->view->view->name : g->t->name);
}
Status bind_dml_row(Binder *b, const DmlTarget *g, const char *name, const ColId *ids, ViewChecks *checks,
                    NsItem *item) {
    NsItem row;
    Climb k = {.b = b, .checks = checks};
    TRY(bind_row_item(b, g->t, name, ids, g->view ? &row : item));
    if (g->view) TRY(climb(&k, g->view, &row, false, item));
    name_item(g, item, name);
    return ST_OK;
}

Plan *bind_dml_scan(Binder *b, DmlTarget *g, const char *alias, ColId *rowid, NsItem *item) {
    NsItem base;
    Query *none = arena_new_of(b->a, Query);
    Plan *p = none ? bind_scan(b, none, g->t, alias, rowid, &base) : NULL;
    ColId *row = p ? arena_array(b->a, ColId, g->t->n_cols + 1) : NULL;
    if (!row) return NULL;
    for (int c = 0; c < g->t->n_cols; c++) row[c] = base.cols[c].id;
    g->row = row;
    *item = base;
    Climb k = {.b = b, .plan = &p};
    if (g->view && climb(&k, g->view, &base, false, item) != ST_OK) return NULL;
    name_item(g, item, alias);
    return p;
}

Status bind_own_row(Binder *b, Query *q, const DmlTarget *g, const ColId *ids) {
    for (int c = 0; c < g->t->n_cols && g->view; c++) TRY(bind_own(b, q, ids[c], false));
    return ST_OK;
}

/* ---- what others ask --------------------------------------------------------------------------------------- */

Status sql_view_changes(PlanCtx *c, const View *v, ViewChanges *out) {
    Binder b;
    NsItem item;
    Table *t = NULL;
    ViewLevel *l = NULL;
    const View *culprit = NULL;
    binder_init(&b, c);
    *out = (ViewChanges){0};
    TRY(open_view(&b, v, 0, false, &l, &t, &item, &culprit, &out->reason));
    out->is_own = culprit == v;
    if (out->reason) return ST_OK;
    out->n = item.n_cols;
    if (!(out->cols = arena_array(c->arena, int, item.n_cols + 1))) return ST_ERROR;
    for (int i = 0; i < item.n_cols; i++) {
        out->cols[i] = table_column(l, i);
        out->some |= out->cols[i] >= 0;
    }
    out->table = t;
    return ST_OK;
}
