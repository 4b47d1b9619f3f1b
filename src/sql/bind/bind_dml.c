/* bind_dml.c - INSERT, UPDATE, DELETE, of a table or of one behind views (bind_target.c).
 *
 * The plan of each yields what BoundStmt promises (plan.h): values in table order, or the rowid and new values; then
 * a boolean per CHECK constraint, then RETURNING's columns. Both are bound over the row as it will be:
 * a name space whose columns are the new values.
 *
 * A target row that UPDATE ... FROM or DELETE ... USING joins several times appears once: grouped by rowid, any of
 * its new values (SQL leaves open which one).
 */
#include "sql/bind/bind_int.h"
#include "types/composite.h"

enum { CHECKED_ROWS = 8 }; /* rows of VALUES up to which each cell has its domain's conditions */

/* The column's default, or NULL. */
static Expr *default_value(Binder *b, const Column *col) {
    Expr *e;
    const Domain *d = catalog_domain_by_id(b->c->catalog, col->domain);
    const char *sql = sql_column_default(b->c->catalog, col);
    if (col->kind == COLUMN_GENERATED) return bind_null(b, col->type); /* bind_computed() replaces it */
    if (!sql) {
        e = bind_domain(b, bind_null(b, col->type), d, 0);
    } else {
        Query *q = arena_new_of(b->a, Query);
        if (!q) return NULL;
        q->clause = "DEFAULT expressions";
        q->is_default = true;
        e = bind_text_expr(b, q, sql, col);
    }
    return e;
}

/* ---- columns whose values come from elsewhere ------------------------------------------ */

static void column_detail(Binder *b, const Column *col) {
    err_detail(b->err,
               col->kind == COLUMN_GENERATED ? "Column \"%s\" is a generated column."
                                             : "Column \"%s\" is an identity column defined as GENERATED ALWAYS.",
               col->name);
}
/* Whether INSERT gives the column its default, whatever the statement has for it. 428C9: it may have nothing for it. */
static Status given_value(Binder *b, const AstInsert *s, const Column *col, bool *takes_default) {
    const bool always = col->kind == COLUMN_ALWAYS || col->kind == COLUMN_GENERATED;
    *takes_default = column_is_identity(col->kind) && s->overriding_user;
    if (!always || *takes_default || (col->kind == COLUMN_ALWAYS && s->overriding_system)) return ST_OK;
    err_set(b->err, ERR_GENERATED_ALWAYS, "cannot insert a non-DEFAULT value into column \"%s\"", col->name);
    column_detail(b, col);
    if (col->kind == COLUMN_ALWAYS) err_hint(b->err, "Use OVERRIDING SYSTEM VALUE to override.");
    return ST_ERROR;
}
/* The same of UPDATE. */
static Status updated_value(Binder *b, const Column *col) {
    if (col->kind != COLUMN_ALWAYS && col->kind != COLUMN_GENERATED) return ST_OK;
    err_set(b->err, ERR_GENERATED_ALWAYS, "column \"%s\" can only be updated to DEFAULT", col->name);
    column_detail(b, col);
    return ST_ERROR;
}

bool bind_has_generated(const Table *t) {
    bool any = false;
    for (int c = 0; c < t->n_cols; c++) any |= t->cols[c].kind == COLUMN_GENERATED;
    return any;
}
/* What a generated column is computed by, over a row of the table. */
static Expr *generated_value(Binder *b, const Table *t, const NsItem *row, int col) {
    Query *q = arena_new_of(b->a, Query);
    ColSet used = colset_new(b->c);
    if (!q || bind_add_item(b, q, row) != ST_OK) return NULL;
    q->clause = "column generation expressions";
    q->no_subqueries = "column generation expression";
    Expr *e = bind_text_expr(b, q, t->cols[col].default_sql, &t->cols[col]);
    if (!e) return NULL;
    expr_cols(b->c, e, &used);
    for (int c = 0; c < t->n_cols; c++) {
        if (t->cols[c].kind != COLUMN_GENERATED || !colset_has(&used, row->cols[c].id)) continue;
        err_set(b->err, ERR_INVALID_OBJECT_DEFINITION,
                "cannot use generated column \"%s\" in column generation expression", t->cols[c].name);
        err_detail(b->err, "A generated column cannot reference another generated column.");
        return NULL;
    }
    return e;
}
static Status pass(Binder *b, Proj *proj, ColId id);
Plan *bind_computed(Binder *b, const Table *t, ColId *ids, bool *set, Plan *p) {
    NsItem row;
    Proj proj = {0};
    ColSet produced = colset_new(b->c), changed = colset_new(b->c);
    ColId *made = arena_array(b->a, ColId, t->n_cols + 1);
    if (!p || !made || bind_row_item(b, t, t->name, ids, &row) != ST_OK) return NULL;
    for (int c = 0; set && c < t->n_cols; c++)
        if (set[c]) colset_add(b->c, &changed, ids[c]);
    plan_outputs(b->c, p, &produced);
    for (ColId id = 1, n = (ColId)b->c->cols.len; id < n; id++)
        if (colset_has(&produced, id) && pass(b, &proj, id) != ST_OK) return NULL;
    for (int c = 0; c < t->n_cols; c++) {
        made[c] = ids[c];
        if (t->cols[c].kind != COLUMN_GENERATED) continue;
        ColSet used = colset_new(b->c);
        Expr *e = generated_value(b, t, &row, c);
        if (!e) return NULL;
        expr_cols(b->c, e, &used);
        if (set && !colset_intersects(&used, &changed)) continue;
        if (set) set[c] = true;
        if (!(made[c] = bind_proj_add(b, &proj, NULL, e, t->cols[c].name))) return NULL;
    }
    memcpy(ids, made, sizeof *ids * (size_t)t->n_cols);
    return bind_proj_plan(b, &proj, p);
}
/* Which columns a statement sets, with the generated ones: n columns and their values, in the order of columns. */
static Status set_columns(Binder *b, const Table *t, const bool *set, const ColId *ids, int32_t *n, int32_t **cols,
                          ColId **values) {
    *n = 0;
    *cols = arena_array(b->a, int32_t, t->n_cols + 1);
    *values = arena_array(b->a, ColId, t->n_cols + 1);
    if (!*cols || !*values) return ST_ERROR;
    for (int c = 0; c < t->n_cols; c++) {
        if (!set[c]) continue;
        (*cols)[*n] = c;
        (*values)[(*n)++] = ids[c];
    }
    return ST_OK;
}

/* ---- checks and RETURNING ----------------------------------------------------------- */

/* The CHECK with the next name: a row that several refuse fails by the first of them, as in PostgreSQL. */
static int check_after(const Table *t, const char *name) {
    int best = -1;
    for (int i = 0; i < t->n_checks; i++)
        if ((!name || strcmp(t->checks[i].name, name) > 0) &&
            (best < 0 || strcmp(t->checks[i].name, t->checks[best].name) < 0))
            best = i;
    return best;
}
/* The boolean where the column is true, else NULL. */
static Expr *only_where(Binder *b, ColId where, Expr *e) {
    Expr *x = expr_new(b->c, EX_CASE, type_make(T_BOOL), 3);
    if (!x || !e) return NULL;
    x->args[0] = expr_col(b->c, where);
    x->args[1] = e;
    x->args[2] = bind_null(b, type_make(T_BOOL));
    return x->args[0] && x->args[2] ? x : NULL;
}
static Status add_check(Binder *b, const char *name, ColId stored, Expr *e, Proj *proj, BoundStmt *out) {
    if (stored) e = only_where(b, stored, e);
    if (!e || !(out->checks[out->n_checks] = bind_proj_add(b, proj, NULL, e, name))) return ST_ERROR;
    out->check_names[out->n_checks++] = name;
    return ST_OK;
}
/* Twice for ON CONFLICT DO UPDATE: for the proposed row and for what comes of it. */
Status bind_checks(Binder *b, const Table *t, const ColId *row, ColId stored, const ViewChecks *views, Proj *proj,
                   BoundStmt *out) {
    const int64_t n_views = views ? views->len : 0, most = 2 * (t->n_checks + n_views);
    NsItem item;
    if (most == 0) return ST_OK;
    if (!out->checks) {
        out->checks = arena_array(b->a, ColId, most);
        out->check_names = arena_array(b->a, const char *, most);
    }
    if (!out->checks || !out->check_names) return ST_ERROR;
    TRY(bind_row_item(b, t, t->name, row, &item));
    for (int i = check_after(t, NULL); i >= 0; i = check_after(t, t->checks[i].name)) {
        Query *q = arena_new_of(b->a, Query);
        if (!q) return ST_ERROR;
        q->clause = "check constraints";
        q->no_subqueries = "check constraint";
        TRY(bind_add_item(b, q, &item));
        Expr *e = bind_bool(b, bind_text_expr(b, q, t->checks[i].sql, NULL), "CHECK", 0);
        TRY(add_check(b, t->checks[i].name, stored, e, proj, out));
    }
    for (int64_t i = 0; i < n_views; i++) TRY(add_check(b, views->items[i].view, stored, views->items[i].e, proj, out));
    out->n_view_checks = (int32_t)n_views;
    return ST_OK;
}

static Status add_returning(Binder *b, Query *q, const AstTarget *list, int64_t n, Proj *proj, BoundStmt *out) {
    if (!n) return ST_OK;
    TargetVec targets = {0};
    q->clause = "RETURNING";
    TRY(bind_targets(b, q, list, n, &targets));
    out->result = arena_array(b->a, ColId, targets.len);
    out->names = arena_array(b->a, const char *, targets.len);
    if (!out->result || !out->names) return ST_ERROR;
    for (int64_t i = 0; i < targets.len; i++) {
        Expr *e = targets.items[i].expr;
        if (e->type.id == T_UNKNOWN) e = bind_coerce(b, e, type_make(T_TEXT), CAST_IMPLICIT, e->location);
        out->names[i] = targets.items[i].name;
        if (!(out->result[i] = bind_proj_add(b, proj, NULL, e, out->names[i]))) return ST_ERROR;
    }
    out->n_result = (int32_t)targets.len;
    return ST_OK;
}

static Status pass(Binder *b, Proj *proj, ColId id) { return bind_pass(b, proj, id); }

/* One row per rowid. Ids of the other columns change. */
static Plan *once_per_row(Binder *b, Plan *child, BoundStmt *out) {
    Plan *p = plan_new(b->c, LP_AGG, 1);
    ColId key = plan_new_col(b->c, "rowid", type_make(T_INT8), false);
    VEC(AggCall) aggs = {0};
    if (!p || !key || !(p->exprs = arena_array(b->a, Expr *, 1)) || !(p->out_cols = arena_array(b->a, ColId, 1)))
        return NULL;
    p->children[0] = child;
    if (!(p->exprs[0] = expr_col(b->c, out->rowid))) return NULL;
    p->out_cols[0] = key;
    p->agg.n_keys = p->n_exprs = p->n_out = 1;
    ColId *lists[] = {out->values, out->checks, out->result};
    int32_t lens[] = {out->n_set, out->n_checks, out->n_result};
    for (int l = 0; l < 3; l++)
        for (int32_t i = 0; i < lens[l]; i++) {
            ColId id = lists[l][i];
            for (int64_t k = 0; k < aggs.len; k++)
                if (aggs.items[k].arg->u.col == id) id = -aggs.items[k].out;
            if (id < 0) {
                lists[l][i] = -id;
                continue;
            }
            const ColInfo info = b->c->cols.items[id];
            const FuncDef *f;
            Type coerced, ret;
            if (func_resolve(slice_of("any_value"), false, 1, &info.type, 0, &f, &coerced, &ret, b->err) != ST_OK)
                return NULL;
            AggCall call = {.func = f,
                            .kind = AGG_ANY,
                            .arg = expr_col(b->c, id),
                            .out = plan_new_col(b->c, info.name, info.type, true)};
            if (!call.arg || !call.out || !vec_push(b->a, &aggs, call)) return NULL;
            lists[l][i] = call.out;
        }
    p->agg.calls = aggs.items;
    p->agg.n_calls = (int32_t)aggs.len;
    out->rowid = key;
    return p;
}

/* ---- SET ------------------------------------------------------------------------------------ */

/* In the order of columns: values are computed, and constraints reported, in it, as in PostgreSQL. */
static void sort_sets(SetVec *sets) {
    for (int64_t i = 1; i < sets->len; i++)
        for (int64_t k = i; k > 0 && sets->items[k - 1].col > sets->items[k].col; k--) {
            Set x = sets->items[k];
            sets->items[k] = sets->items[k - 1];
            sets->items[k - 1] = x;
        }
}
/* What DEFAULT means in UPDATE: a view's column without a default of its own becomes NULL, as in PostgreSQL. */
static Expr *set_default(Binder *b, const DmlTarget *g, int col) {
    const Column *x = g->cols[col];
    if (!g->view || x->default_sql) return default_value(b, x);
    return bind_domain(b, bind_null(b, x->type), catalog_domain_by_id(b->c->catalog, x->domain), 0);
}
/* A column is set once, by whatever name. */
static Status set_twice(Binder *b, const DmlTarget *g, const Set *before, int col, int64_t location) {
    return err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "multiple assignments to same column \"%s\"",
                  before->by == col ? g->names[col] : g->t->cols[before->col].name);
}
/* value NULL: DEFAULT */
static Status add_set(Binder *b, const DmlTarget *g, SetVec *sets, const char *name, Expr *value, int64_t location) {
    const int k = bind_dml_column(g, name);
    if (k < 0) return bind_no_dml_column(b, g, name, location);
    TRY(bind_changes_column(b, g, k));
    const Column *own = &g->t->cols[g->base[k]];
    for (int64_t i = 0; i < sets->len; i++)
        if (sets->items[i].col == g->base[k]) return set_twice(b, g, &sets->items[i], k, location);
    Set s = {.col = g->base[k], .by = k};
    if (value || g->view) TRY(updated_value(b, own));
    if (own->kind == COLUMN_GENERATED) return ST_OK; /* DEFAULT: it is computed anyway */
    s.value = value ? bind_assign(b, value, g->cols[k], value->location) : set_default(b, g, k);
    return s.value && vec_push(b->a, sets, s) ? ST_OK : ST_ERROR;
}

/* The value of a column with another part. base: the column's, or a part of it, that the steps lead on from. */
static Expr *set_part(Binder *b, Query *q, Expr *base, int64_t n, const AstStep *steps, Expr *value, const char *column,
                      int64_t location) {
    if (!base || !value || stack_check_at(b->err, bind_pos(b, location)) != ST_OK) return NULL;
    if (!steps->field) {
        const AstSubscripts *s = &steps->subscripts;
        Expr *item = n > 1 ? bind_part(b, q, bind_copy(b, base), s, location) : NULL;
        if (n > 1) value = set_part(b, q, item, n - 1, steps + 1, value, column, location);
        return bind_part_set(b, q, base, s, value, column, location);
    }
    const CompositeType *x = composite_of(base->type);
    const int32_t k = composite_field(x, slice_of(steps->field));
    if (!x) {
        err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
               "cannot assign to field \"%s\" of column \"%s\" because its type %s is not a composite type",
               steps->field, column, type_plain_name(base->type));
        return NULL;
    }
    if (k < 0) {
        err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_COLUMN,
               "cannot assign to field \"%s\" of column \"%s\" because there is no such column in data type %s",
               steps->field, column, type_plain_name(base->type));
        return NULL;
    }
    if (n == 1) return bind_field_set(b, base, k, value, location);
    Expr *copy = bind_copy(b, base), *part = copy ? bind_field_at(b, copy, k, location) : NULL;
    part = set_part(b, q, part, n - 1, steps + 1, value, x->fields[k].name, location);
    return part ? bind_field_set(b, base, k, part, location) : NULL;
}

static Status part_default(Binder *b, const AstPath *path, int64_t location) {
    return err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED,
                  path->steps[path->n - 1].field ? "cannot set a subfield to DEFAULT"
                                                 : "cannot set an array element to DEFAULT");
}

/* SET a[i] = x, a[i:j] = x, v.f = x: the column, or what earlier items have made of it, with another part. */
static Status set_element(Binder *b, Query *q, const DmlTarget *g, const AstAssign *a, SetVec *sets) {
    const int k = bind_dml_column(g, a->columns[0]);
    TRY(bind_changes_column(b, g, k));
    const int c = g->base[k];
    Set *before = NULL;
    for (int64_t i = 0; i < sets->len; i++)
        if (sets->items[i].col == c) before = &sets->items[i];
    if (before && !before->element) return set_twice(b, g, before, k, a->location);
    if (a->value->kind == AST_DEFAULT) return part_default(b, &a->path, a->location);
    TRY(updated_value(b, &g->t->cols[c]));
    Expr *array = before ? before->value : expr_col(b->c, g->row[c]);
    Set s = {.col = c, .by = k, .element = true};
    s.value = set_part(b, q, array, a->path.n, a->path.steps, bind_expr(b, q, a->value), a->columns[0], a->location);
    if (!s.value) return ST_ERROR;
    if (before) before->value = s.value;
    return before || vec_push(b->a, sets, s) ? ST_OK : ST_ERROR;
}

/* One SET item; (a, b) = (SELECT ...) is a single join below. */
static Status bind_set(Binder *b, Query *q, const DmlTarget *g, const AstAssign *a, SetVec *sets, Plan **plan) {
    int64_t loc = a->location;
    if (a->n_columns == 1) {
        if (bind_dml_column(g, a->columns[0]) < 0) return bind_no_dml_column(b, g, a->columns[0], loc);
        if (a->path.n) return set_element(b, q, g, a, sets);
        if (a->value->kind == AST_DEFAULT) return add_set(b, g, sets, a->columns[0], NULL, loc);
        Expr *e = bind_expr(b, q, a->value);
        return e ? add_set(b, g, sets, a->columns[0], e, loc) : ST_ERROR;
    }
    if (a->value->kind == AST_ROW) {
        const AstList *l = AST_AS_CONST(AstList, a->value);
        if (l->n_items != a->n_columns)
            return err_at(b->err, bind_pos(b, loc), ERR_SYNTAX, "number of columns does not match number of values");
        for (int64_t i = 0; i < l->n_items; i++) {
            Expr *e = l->items[i]->kind == AST_DEFAULT ? NULL : bind_expr(b, q, l->items[i]);
            if (!e && l->items[i]->kind != AST_DEFAULT) return ST_ERROR;
            TRY(add_set(b, g, sets, a->columns[i], e, loc));
        }
        return ST_OK;
    }
    const AstSubLink *s = AST_AS_CONST(AstSubLink, a->value);
    if (a->value->kind != AST_SUBLINK || s->sub_kind != AST_SUB_SCALAR)
        return err_at(b->err, bind_pos(b, a->value->location), ERR_FEATURE_NOT_SUPPORTED,
                      "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression");
    SelectEnv env = {.outer = q, .ctes = q->ctes};
    Rel r;
    TRY(bind_select(b, &env, s->query, &r));
    if (r.n != a->n_columns)
        return err_at(b->err, bind_pos(b, loc), ERR_SYNTAX, "number of columns does not match number of values");
    bool dep = bind_depends(b, r.plan, *plan);
    if (!(*plan = bind_join(b, JN_SINGLE, *plan, r.plan))) return ST_ERROR;
    (*plan)->join.dependent = dep;
    for (int32_t i = 0; i < r.n; i++) {
        Expr *e = expr_col(b->c, r.cols[i]);
        if (!e) return ST_ERROR;
        e->location = loc;
        TRY(add_set(b, g, sets, a->columns[i], e, loc));
    }
    return ST_OK;
}

/* All SET items. An array whose elements were set becomes one of its domain when all of them have been. */
Status bind_sets(Binder *b, Query *q, const DmlTarget *g, const AstAssign *set, int64_t n, SetVec *sets, Plan **plan) {
    for (int64_t i = 0; i < n; i++) TRY(bind_set(b, q, g, &set[i], sets, plan));
    for (int64_t i = 0; i < sets->len; i++) {
        Set *x = &sets->items[i];
        const Domain *d = x->element ? catalog_domain_by_id(b->c->catalog, g->t->cols[x->col].domain) : NULL;
        if (!(x->value = bind_domain(b, x->value, d, x->value->location))) return ST_ERROR;
    }
    sort_sets(sets);
    return ST_OK;
}

/* ---- INSERT ------------------------------------------------------------------------------- */

/* The columns that values are for, in their order: map[i] is one of the target. */
static Status insert_columns(Binder *b, const AstInsert *s, const DmlTarget *g, int64_t *n, int **map) {
    *n = s->n_columns ? s->n_columns : g->n;
    bool *seen = arena_array(b->a, bool, g->n + 1), *part = arena_array(b->a, bool, g->n + 1);
    if (!seen || !part || !(*map = arena_array(b->a, int, *n + 1))) return ST_ERROR;
    for (int64_t i = 0; i < *n; i++) {
        int c = (int)i;
        if (s->n_columns) {
            int64_t loc = s->column_locations ? s->column_locations[i] : s->location;
            c = bind_dml_column(g, s->columns[i]);
            if (c < 0) return bind_no_dml_column(b, g, s->columns[i], loc);
            if (seen[c] && !(part[c] && s->paths[i].n))
                return err_at(b->err, bind_pos(b, loc), ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once",
                              s->columns[i]);
        }
        seen[c] = true;
        part[c] = s->n_columns && s->paths[i].n;
        (*map)[i] = c;
    }
    return ST_OK;
}
/* The first `given` of them get values, if only DEFAULT: each column of a view is to be one of the table, and another
 * one. */
static Status given_columns(Binder *b, const DmlTarget *g, int64_t given, const int *map) {
    for (int64_t i = 0; i < given && g->view; i++) {
        TRY(bind_changes_column(b, g, map[i]));
        for (int64_t k = 0; k < i; k++)
            if (map[k] != map[i] && g->base[map[k]] == g->base[map[i]])
                return err_set(b->err, ERR_SYNTAX, "multiple assignments to same column \"%s\"",
                               g->t->cols[g->base[map[i]]].name);
    }
    return ST_OK;
}

/* The value of item i of the columns' list: of its column, or of a part of that one, which is NULL or `before`. */
static Expr *insert_value(Binder *b, Query *q, const AstInsert *s, int64_t i, const Column *col, bool base,
                          Expr *before, Expr *value, int64_t location) {
    const AstPath *path = s->n_columns ? &s->paths[i] : NULL;
    if (!path || path->n == 0)
        return base ? bind_assign_base(b, value, col, location) : bind_assign(b, value, col, location);
    if (!before) before = bind_null(b, col->type);
    return set_part(b, q, before, path->n, path->steps, value, col->name, s->column_locations[i]);
}
/* Columns of domains of which parts were set, when all of them have been. */
static Status check_parts(Binder *b, const AstInsert *s, const DmlTarget *g, int64_t n_cols, const int *map,
                          Expr **row) {
    for (int64_t i = 0; s->n_columns && i < n_cols; i++) {
        const int c = g->base[map[i]];
        if (c < 0 || s->paths[i].n == 0 || !row[c]) continue;
        const Domain *d = catalog_domain_by_id(b->c->catalog, g->t->cols[c].domain);
        bool last = true;
        for (int64_t k = i + 1; k < n_cols && last; k++) last = map[k] != map[i];
        if (last && !(row[c] = bind_domain(b, row[c], d, s->column_locations[i]))) return ST_ERROR;
    }
    return ST_OK;
}

static Status check_width(Binder *b, const AstInsert *s, int64_t n_cols, int64_t n, int64_t location) {
    if (n > n_cols)
        return err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "INSERT has more expressions than target columns");
    if (n < n_cols && s->n_columns) {
        int64_t loc = s->column_locations ? s->column_locations[n] : s->location;
        return err_at(b->err, bind_pos(b, loc), ERR_SYNTAX, "INSERT has more target columns than expressions");
    }
    return ST_OK;
}

/* The number of each row of VALUES beside it: what is done with a row may depend on those in front of it. */
static ColId number_rows(Binder *b, Plan *p) {
    ColId id = plan_new_col(b->c, "row", type_make(T_INT8), false);
    for (int64_t r = 0; r < p->values.n_rows; r++)
        if (!(p->values.rows[r][p->n_out] = bind_int8_const(b, r))) return 0;
    p->out_cols[p->n_out++] = id; /* there is room for one */
    return id;
}
/* Rows of VALUES whose columns are of the domains' base types, as the table has them: a condition is there once, and
 * not in each cell. number: 0, or a column that goes along. */
static Plan *check_columns(Binder *b, const Table *t, Plan *p, ColId *ids, ColId number) {
    Proj proj = {0};
    if (number && pass(b, &proj, number) != ST_OK) return NULL;
    for (int c = 0; c < t->n_cols; c++) {
        const Domain *d = catalog_domain_by_id(b->c->catalog, t->cols[c].domain);
        Expr *e = bind_domain(b, expr_col(b->c, ids[c]), d, 0);
        if (!(ids[c] = bind_proj_add(b, &proj, NULL, e, t->cols[c].name))) return NULL;
    }
    return bind_proj_plan(b, &proj, p);
}
static bool has_domains(const Table *t) {
    bool any = false;
    for (int c = 0; c < t->n_cols; c++) any |= t->cols[c].domain != 0;
    return any;
}

/* One row of VALUES into the table's columns; those that it leaves out, or has DEFAULT for, stay NULL. base: values are
 * of the domains' base types. */
static Status values_row(Binder *b, Query *q, const AstInsert *s, const DmlTarget *g, const AstValuesRow *v,
                         int64_t n_cols, const int *map, bool base, Expr **row) {
    for (int64_t i = 0; i < v->n_items; i++) {
        const AstExpr *ast = v->items[i];
        if (ast->kind == AST_DEFAULT && s->n_columns && s->paths[i].n)
            return part_default(b, &s->paths[i], s->column_locations[i]);
        if (ast->kind == AST_DEFAULT) continue;
        const int c = g->base[map[i]];
        Expr *e = bind_expr(b, q, ast);
        bool takes_default = false;
        if (!e || given_value(b, s, &g->t->cols[c], &takes_default) != ST_OK) return ST_ERROR;
        if (takes_default) continue;
        e = insert_value(b, q, s, i, g->cols[map[i]], base, row[c], e, ast->location);
        if (!(row[c] = e)) return ST_ERROR;
    }
    return base ? ST_OK : check_parts(b, s, g, n_cols, map, row);
}

Status bind_values_row(Binder *b, Query *q, const AstInsert *s, const DmlTarget *g, Expr **row) {
    const Table *t = g->t;
    int64_t n_cols;
    int *map;
    TRY(insert_columns(b, s, g, &n_cols, &map));
    if (s->query) {
        const AstValuesRow *v = &s->query->values[0];
        TRY(check_width(b, s, n_cols, v->n_items,
                        v->items[MIN_OF(v->n_items, n_cols) - (v->n_items <= n_cols)]->location));
        TRY(values_row(b, q, s, g, v, n_cols, map, false, row));
    }
    for (int c = 0; c < t->n_cols; c++)
        if (!row[c] && !(row[c] = default_value(b, g->defaults[c]))) return ST_ERROR;
    return ST_OK;
}

/* VALUES straight into the table's columns: one pass, no common types. number: NULL, or for the rows' numbers. */
static Plan *insert_values(Binder *b, const AstInsert *s, const DmlTarget *g, Cte *ctes, int64_t n_cols, const int *map,
                           ColId *ids, ColId *number) {
    const Table *t = g->t;
    int64_t n_rows = s->query ? s->query->n_values : 1;
    bool above = n_rows > CHECKED_ROWS && has_domains(t);
    Query *q = arena_new_of(b->a, Query);
    Plan *p = plan_new(b->c, LP_VALUES, 0);
    Expr **defaults = arena_array(b->a, Expr *, t->n_cols + 1);
    if (!q || !p || !defaults || !(p->values.rows = arena_array(b->a, Expr **, n_rows + 1))) return NULL;
    q->clause = "VALUES";
    q->srf_ok = n_rows == 1;
    q->ctes = ctes;
    int64_t width = s->query ? s->query->values[0].n_items : 0;
    if (s->query &&
        check_width(b, s, n_cols, width,
                    s->query->values[0].items[MIN_OF(width, n_cols) - (width > n_cols ? 0 : 1)]->location) != ST_OK)
        return NULL;
    if (given_columns(b, g, width, map) != ST_OK) return NULL;
    for (int64_t r = 0; r < n_rows; r++) {
        const AstValuesRow *v = s->query ? &s->query->values[r] : NULL;
        if (v && v->n_items != width) {
            err_at(b->err, bind_pos(b, v->n_items ? v->items[0]->location : s->location), ERR_SYNTAX,
                   "VALUES lists must all be the same length");
            return NULL;
        }
        Expr **row = arena_array(b->a, Expr *, t->n_cols + 1);
        if (!row || (v && values_row(b, q, s, g, v, n_cols, map, above, row) != ST_OK)) return NULL;
        for (int c = 0; c < t->n_cols; c++) {
            if (row[c]) continue;
            if (!defaults[c] && !(defaults[c] = default_value(b, g->defaults[c]))) return NULL;
            if (!(row[c] = bind_copy(b, defaults[c]))) return NULL;
        }
        p->values.rows[r] = row;
    }
    p->values.n_rows = n_rows;
    p->n_out = t->n_cols;
    if (!(p->out_cols = arena_array(b->a, ColId, t->n_cols + 1)))
        return NULL; /* the optimiser renames its own columns */
    for (int c = 0; c < t->n_cols; c++)
        if (!(p->out_cols[c] = ids[c] = plan_new_col(b->c, t->cols[c].name, t->cols[c].type, true))) return NULL;
    if (number && !(*number = number_rows(b, p))) return NULL;
    if (above) return check_columns(b, t, p, ids, number ? *number : 0);
    if (q->srfs.len == 0) return p;
    Proj proj = {0};
    for (int c = 0; c < p->n_out; c++)
        if (!vec_push(b->a, &proj.ids, p->out_cols[c]) || !vec_push(b->a, &proj.exprs, p->values.rows[0][c]))
            return NULL;
    return bind_proj_plan(b, &proj, bind_srf_plan(b, q, bind_one_row(b), SRF_ABOVE));
}

static Plan *insert_select(Binder *b, const AstInsert *s, const DmlTarget *g, Cte *ctes, int64_t n_cols, const int *map,
                           ColId *ids) {
    const Table *t = g->t;
    SelectEnv env = {.ctes = ctes, .keep_unknown = true};
    Rel r;
    Query *q = arena_new_of(b->a, Query); /* for subscripts of columns */
    if (!q) return NULL;
    q->clause = "INSERT";
    if (bind_select(b, &env, s->query, &r) != ST_OK) return NULL;
    const AstSelect *first = s->query;
    while (first->set_op != AST_SETOP_NONE) first = first->left;
    int64_t extra = first->n_targets > n_cols ? first->targets[n_cols].expr->location : s->query->location;
    if (check_width(b, s, n_cols, r.n, extra) != ST_OK) return NULL;
    Proj proj = {0};
    Expr **row = arena_array(b->a, Expr *, t->n_cols + 1);
    if (!row || given_columns(b, g, r.n, map) != ST_OK) return NULL;
    for (int32_t i = 0; i < r.n; i++) {
        const Column *col = g->cols[map[i]];
        const int c = g->base[map[i]];
        const bool part = s->n_columns && s->paths[i].n;
        bool takes_default;
        if (given_value(b, s, &t->cols[c], &takes_default) != ST_OK) return NULL;
        if (takes_default) continue;
        if (b->c->cols.items[r.cols[i]].type.id == T_UNKNOWN && !part &&
            bind_retype(b, r.plan, r.cols[i], col->type) != ST_OK)
            return NULL;
        int64_t loc = i < first->n_targets ? first->targets[i].expr->location : s->query->location;
        Expr *e = expr_col(b->c, r.cols[i]);
        if (!(row[c] = insert_value(b, q, s, i, col, false, row[c], e, loc))) return NULL;
    }
    if (check_parts(b, s, g, r.n, map, row) != ST_OK) return NULL;
    for (int c = 0; c < t->n_cols; c++) {
        if (!row[c] && !(row[c] = default_value(b, g->defaults[c]))) return NULL;
        if (!(ids[c] = bind_proj_add(b, &proj, NULL, row[c], t->cols[c].name))) return NULL;
    }
    return bind_proj_plan(b, &proj, r.plan);
}

/* A column that an index reads is set. */
static bool sets_keys(const AstOnConflict *oc, const DmlTarget *g) {
    const Table *t = g->t;
    for (int64_t i = 0; i < oc->n_set; i++)
        for (int64_t c = 0; c < oc->set[i].n_columns; c++) {
            int col = bind_dml_column(g, oc->set[i].columns[c]);
            if (col >= 0) col = g->base[col];
            for (int k = 0; col >= 0 && k < table_indexes(t); k++)
                if (table_index_reads(t, k, col)) return true;
        }
    return false;
}
static Plan *order_rows(Binder *b, Plan *p, ColId number) {
    Plan *sort = plan_new(b->c, LP_SORT, 1);
    if (!sort || !(sort->sort.keys = arena_array(b->a, SortKey, 1)) ||
        !(sort->sort.keys[0].expr = expr_col(b->c, number)))
        return NULL;
    sort->children[0] = p;
    sort->sort.n = 1;
    sort->limit.rows = sort->limit.offset = -1;
    return sort;
}

/* The rows that proposed ones may meet: all of the table's, whatever a view has of them. */
static Plan *conflict_scan(Binder *b, DmlTarget *g, const char *alias, ColId *rowid, NsItem *stored) {
    Query *none = arena_new_of(b->a, Query);
    Plan *p = none ? bind_scan(b, none, g->t, alias, rowid, stored) : NULL;
    ColId *row = p ? arena_array(b->a, ColId, g->t->n_cols + 1) : NULL;
    for (int c = 0; row && c < g->t->n_cols; c++) row[c] = stored->cols[c].id;
    g->row = row;
    return row ? p : NULL;
}
/* ON CONFLICT DO UPDATE over the proposed rows `ids`: joins them with the table by the key, and makes the rows as they
 * will be (`final`). number: 0, or of the rows. */
static Plan *bind_do_update(Binder *b, const AstInsert *s, DmlTarget *g, Cte *ctes, const ColId *ids, ColId number,
                            Plan *p, ColId *final, BoundStmt *out) {
    const AstOnConflict *oc = s->on_conflict;
    Table *t = g->t;
    NsItem item, proposed, stored, excluded;
    Query *q = arena_new_of(b->a, Query);
    Plan *scan = q ? conflict_scan(b, g, s->alias ? s->alias : g->name, &out->rowid, &stored) : NULL;
    if (!scan) return NULL;
    q->ctes = ctes;
    if (bind_row_item(b, t, "excluded", ids, &proposed) != ST_OK || !(p = bind_join(b, JN_LEFT, p, scan)) ||
        bind_conflict_conds(b, t, out->conflict_key, &proposed, &stored, oc->location, &p->n_conds, &p->conds) != ST_OK)
        return NULL;
    if (bind_dml_row(b, g, "excluded", ids, NULL, &excluded) != ST_OK ||
        bind_dml_row(b, g, stored.name, g->row, NULL, &item) != ST_OK)
        return NULL;
    if (!g->view) item = stored;
    if (bind_own(b, q, out->rowid, false) != ST_OK || bind_own_row(b, q, g, g->row) != ST_OK ||
        bind_own_row(b, q, g, ids) != ST_OK || bind_add_item(b, q, &item) != ST_OK ||
        bind_add_item(b, q, &excluded) != ST_OK)
        return NULL;
    q->clause = "UPDATE";
    SetVec sets = {0};
    if (bind_sets(b, q, g, oc->set, oc->n_set, &sets, &p) != ST_OK) return NULL;
    q->clause = "WHERE";
    Expr *hit[2] = {bind_unary(b, EX_IS_NOT_NULL, expr_col(b->c, out->rowid), oc->location), NULL};
    if (oc->where && !(hit[1] = bind_bool(b, bind_expr(b, q, oc->where), "WHERE", oc->where->location))) return NULL;
    Expr *both = oc->where ? bind_nary(b, EX_AND, 2, hit, oc->location) : hit[0];
    Proj all = {0}, news = {0};
    ColSet produced = colset_new(b->c);
    plan_outputs(b->c, p, &produced);
    for (ColId id = 1; id < b->c->cols.len; id++)
        if (colset_has(&produced, id) && pass(b, &all, id) != ST_OK) return NULL;
    if (!(out->hit = bind_proj_add(b, &all, NULL, both, "hit")) || !(p = bind_proj_plan(b, &all, p))) return NULL;
    out->n_set = (int32_t)sets.len;
    out->set_cols = arena_array(b->a, int32_t, sets.len + 1);
    out->set_values = arena_array(b->a, ColId, sets.len + 1);
    if (!out->set_cols || !out->set_values || pass(b, &news, out->rowid) != ST_OK || pass(b, &news, out->hit) != ST_OK)
        return NULL;
    if (number && pass(b, &news, number) != ST_OK) return NULL;
    for (int c = 0; c < t->n_cols; c++) {
        Expr *value = NULL, *e = expr_new(b->c, EX_CASE, t->cols[c].type, 3);
        int64_t set = -1;
        for (int64_t i = 0; i < sets.len; i++)
            if (sets.items[i].col == c) value = sets.items[i].value, set = i;
        if (!value) value = expr_col(b->c, g->row[c]);
        if (!e || !value || !(e->args[0] = expr_col(b->c, out->hit)) || !(e->args[2] = expr_col(b->c, ids[c])))
            return NULL;
        e->args[1] = value;
        if (pass(b, &news, ids[c]) != ST_OK || !(final[c] = bind_proj_add(b, &news, NULL, e, t->cols[c].name)))
            return NULL;
        if (set >= 0) out->set_cols[set] = c, out->set_values[set] = final[c];
    }
    p = bind_proj_plan(b, &news, p);
    if (!bind_has_generated(t)) return p;
    bool *set = arena_calloc(b->a, t->n_cols + 1);
    if (!set) return NULL;
    for (int32_t i = 0; i < out->n_set; i++) set[out->set_cols[i]] = true;
    p = bind_computed(b, t, final, set, p);
    return p && set_columns(b, t, set, final, &out->n_set, &out->set_cols, &out->set_values) == ST_OK ? p : NULL;
}

static Status returning_of(Binder *b, const AstInsert *s, const DmlTarget *g, Cte *ctes, const ColId *ids,
                           const NsItem *row, Proj *proj, BoundStmt *out) {
    Query *q = arena_new_of(b->a, Query);
    if (!q) return ST_ERROR;
    q->ctes = ctes;
    TRY(bind_own_row(b, q, g, ids));
    TRY(bind_add_item(b, q, row));
    return add_returning(b, q, s->returning, s->n_returning, proj, out);
}

Status bind_insert(Binder *b, const AstInsert *s, Cte *around, BoundStmt *out) {
    DmlTarget g;
    int64_t n_cols;
    int *map;
    TRY(bind_dml_target(b, &s->table, s->location, STMT_INSERT, &g));
    Table *t = g.t;
    Cte *ctes = around;
    TRY(bind_with(b, NULL, s->with, &ctes, NULL));
    TRY(insert_columns(b, s, &g, &n_cols, &map));
    if (s->on_conflict) {
        TRY(bind_conflict_index(b, s->on_conflict, &g, &out->conflict_key));
        out->on_conflict_nothing = !s->on_conflict->do_update;
    }
    ColId *ids = arena_array(b->a, ColId, t->n_cols + 1), *final = ids;
    if (!ids) return ST_ERROR;
    const AstSelect *query = s->query;
    bool direct = !query || (query->n_values && !query->with && !query->n_order_by && !query->limit && !query->offset);
    ColId number = 0;
    if (s->on_conflict && s->on_conflict->do_update) /* other members of WITH may have taken or freed keys, too */
        out->sets_keys = b->changes || ((!direct || (query && query->n_values > 1)) && sets_keys(s->on_conflict, &g));
    Plan *p = direct ? insert_values(b, s, &g, ctes, n_cols, map, ids, out->sets_keys ? &number : NULL)
                     : insert_select(b, s, &g, ctes, n_cols, map, ids);
    if (p && bind_has_generated(t)) p = bind_computed(b, t, ids, NULL, p);
    if (!p) return ST_ERROR;
    out->kind = STMT_INSERT;
    out->table = t;
    out->values = ids;
    NsItem row;
    ViewChecks views = {0};
    Proj proj = {0};
    const char *name = s->alias ? s->alias : g.name;
    if (s->on_conflict && s->on_conflict->do_update) {
        if (!(final = arena_array(b->a, ColId, t->n_cols + 1)) ||
            !(p = bind_do_update(b, s, &g, ctes, ids, number, p, final, out)))
            return ST_ERROR;
        if (number) TRY(pass(b, &proj, number));
        TRY(pass(b, &proj, out->rowid));
        TRY(pass(b, &proj, out->hit));
        for (int32_t i = 0; i < out->n_set; i++) TRY(pass(b, &proj, out->set_values[i]));
    }
    TRY(bind_dml_row(b, &g, name, ids, &views, &row));
    for (int c = 0; c < t->n_cols; c++) TRY(pass(b, &proj, ids[c]));
    TRY(bind_checks(b, t, ids, 0, &views, &proj, out));
    if (out->sets_keys) {
        BoundStmt other = {0};
        TRY(returning_of(b, s, &g, ctes, ids, &row, &proj, &other));
        out->inserted_result = other.result;
    }
    if (final != ids) {
        views.len = 0;
        TRY(bind_dml_row(b, &g, name, final, &views, &row));
        TRY(bind_checks(b, t, final, 0, &views, &proj, out));
    }
    TRY(returning_of(b, s, &g, ctes, final, &row, &proj, out));
    if (proj.ids.len > t->n_cols && !(p = bind_proj_plan(b, &proj, p))) return ST_ERROR;
    if (number && !(p = order_rows(b, p, number))) return ST_ERROR;
    out->plan = bind_wrap_ctes(b, ctes, around, p);
    return out->plan ? ST_OK : ST_ERROR;
}

/* ---- UPDATE ----------------------------------------------------------------------------------- */

Query *bind_target_query(Binder *b, const AstFromTable *f, DmlTarget *g, Cte *ctes, Plan **scan, ColId *rowid,
                         NsItem *item) {
    Query *q = arena_new_of(b->a, Query);
    if (!q) return NULL;
    q->ctes = ctes;
    q->clause = "FROM";
    *scan = bind_dml_scan(b, g, f->alias.name ? f->alias.name : g->name, rowid, item);
    if (f->alias.name) item->schema = (Slice){0};
    if (!*scan || bind_own(b, q, *rowid, false) != ST_OK || bind_own_row(b, q, g, g->row) != ST_OK) return NULL;
    return bind_add_item(b, q, item) == ST_OK ? q : NULL;
}

/* FROM of UPDATE, USING of DELETE: what is LATERAL there must not refer to the target. */
static Plan *target_from(Binder *b, Query *q, AstFrom *const *items, int64_t n, Plan *scan) {
    if (!q) return NULL;
    q->ns.items[0].lateral_bad = q->ns.items[0].target = true;
    Plan *p = bind_from(b, q, items, n, scan);
    q->ns.items[0].lateral_bad = q->ns.items[0].target = false;
    return p;
}

Status bind_update(Binder *b, const AstUpdate *s, Cte *around, BoundStmt *out) {
    DmlTarget g;
    Plan *p;
    NsItem item;
    TRY(bind_dml_target(b, &s->table->name, s->table->location, STMT_UPDATE, &g));
    Table *t = g.t;
    Cte *ctes = around;
    TRY(bind_with(b, NULL, s->with, &ctes, NULL));
    Query *q = bind_target_query(b, s->table, &g, ctes, &p, &out->rowid, &item);
    if (!(p = target_from(b, q, s->from, s->n_from, p))) return ST_ERROR;
    if (s->where) {
        q->clause = "WHERE";
        if (!(p = bind_filter(b, p, bind_bool(b, bind_expr(b, q, s->where), "WHERE", s->where->location))))
            return ST_ERROR;
    }
    q->clause = "UPDATE";
    SetVec sets = {0};
    TRY(bind_sets(b, q, &g, s->set, s->n_set, &sets, &p));
    out->kind = STMT_UPDATE;
    out->table = t;
    out->n_set = (int32_t)sets.len;
    out->set_cols = arena_array(b->a, int32_t, sets.len + 1);
    out->values = arena_array(b->a, ColId, sets.len + 1);
    ColId *ids = arena_array(b->a, ColId, t->n_cols + 1);
    if (!out->set_cols || !out->values || !ids) return ST_ERROR;
    /* new values beside everything that RETURNING may name */
    Proj news = {0};
    TRY(pass(b, &news, out->rowid));
    for (int c = 0; c < t->n_cols && g.view; c++) TRY(pass(b, &news, g.row[c])); /* instead of the view's columns */
    for (int64_t i = g.view != NULL; i < q->ns.len; i++)
        for (int32_t k = 0; k < q->ns.items[i].n_cols; k++) {
            Expr *e = expr_col(b->c, q->ns.items[i].cols[k].id);
            if (!bind_proj_add(b, &news, q, e, NULL)) return ST_ERROR;
        }
    for (int c = 0; c < t->n_cols; c++) ids[c] = g.row[c];
    for (int64_t i = 0; i < sets.len; i++) {
        Set *x = &sets.items[i];
        if (!(x->id = bind_proj_add(b, &news, NULL, x->value, t->cols[x->col].name))) return ST_ERROR;
        out->set_cols[i] = x->col;
        out->values[i] = ids[x->col] = x->id;
    }
    if (!(p = bind_proj_plan(b, &news, p))) return ST_ERROR;
    if (bind_has_generated(t)) {
        bool *set = arena_calloc(b->a, t->n_cols + 1);
        if (!set) return ST_ERROR;
        for (int64_t i = 0; i < sets.len; i++) set[sets.items[i].col] = true;
        if (!(p = bind_computed(b, t, ids, set, p))) return ST_ERROR;
        TRY(set_columns(b, t, set, ids, &out->n_set, &out->set_cols, &out->values));
    }
    NsItem row;
    ViewChecks views = {0};
    TRY(bind_dml_row(b, &g, item.name, ids, &views, &row));
    Proj proj = {0};
    TRY(pass(b, &proj, out->rowid));
    for (int32_t i = 0; i < out->n_set; i++) TRY(pass(b, &proj, out->values[i]));
    TRY(bind_checks(b, t, ids, 0, &views, &proj, out));
    Query *rq = arena_new_of(b->a, Query);
    if (!rq) return ST_ERROR;
    rq->ctes = ctes;
    TRY(bind_own_row(b, rq, &g, ids));
    TRY(bind_add_item(b, rq, &row));
    for (int64_t i = 1; i < q->ns.len; i++) TRY(vec_push(b->a, &rq->ns, q->ns.items[i]) ? ST_OK : ST_ERROR);
    TRY(add_returning(b, rq, s->returning, s->n_returning, &proj, out));
    if (!(p = bind_proj_plan(b, &proj, p))) return ST_ERROR;
    if (s->n_from && !(p = once_per_row(b, p, out))) return ST_ERROR;
    out->plan = bind_wrap_ctes(b, ctes, around, p);
    return out->plan ? ST_OK : ST_ERROR;
}

/* ---- DELETE --------------------------------------------------------------------------------------- */

Status bind_delete(Binder *b, const AstDelete *s, Cte *around, BoundStmt *out) {
    DmlTarget g;
    Plan *p;
    NsItem item;
    TRY(bind_dml_target(b, &s->table->name, s->table->location, STMT_DELETE, &g));
    Cte *ctes = around;
    TRY(bind_with(b, NULL, s->with, &ctes, NULL));
    Query *q = bind_target_query(b, s->table, &g, ctes, &p, &out->rowid, &item);
    if (!(p = target_from(b, q, s->using_items, s->n_using, p))) return ST_ERROR;
    if (s->where) {
        q->clause = "WHERE";
        if (!(p = bind_filter(b, p, bind_bool(b, bind_expr(b, q, s->where), "WHERE", s->where->location))))
            return ST_ERROR;
    }
    out->kind = STMT_DELETE;
    out->table = g.t;
    Proj proj = {0};
    TRY(pass(b, &proj, out->rowid));
    TRY(add_returning(b, q, s->returning, s->n_returning, &proj, out));
    if (!(p = bind_proj_plan(b, &proj, p))) return ST_ERROR;
    if (s->n_using && !(p = once_per_row(b, p, out))) return ST_ERROR;
    out->plan = bind_wrap_ctes(b, ctes, around, p);
    return out->plan ? ST_OK : ST_ERROR;
}
