/* bind_index.c - expressions of unique indexes, over a row of the table; which index an ON CONFLICT means.
 *
 * Inference follows PostgreSQL: an index is meant when its columns and expressions are those of the target, in any
 * order, and a partial one only where the target's WHERE has every condition of its predicate.
 */
#include "sql/bind/bind_int.h"
#include "storage/keyindex.h"

Expr *bind_index_text(Binder *b, const NsItem *row, const char *sql, bool predicate) {
    Query *q = arena_new_of(b->a, Query);
    if (!q || bind_add_item(b, q, row) != ST_OK) return NULL;
    q->clause = predicate ? "index predicates" : "index expressions";
    q->no_subqueries = predicate ? "index predicate" : "index expression";
    Expr *e = bind_text_expr(b, q, sql, NULL);
    if (e && predicate) return bind_bool(b, e, "WHERE", 0);
    return e && e->type.id == T_UNKNOWN ? bind_coerce(b, e, type_make(T_TEXT), CAST_EXPLICIT, 0) : e;
}

Status bind_row_item(Binder *b, const Table *t, const char *name, const ColId *ids, NsItem *item) {
    *item = (NsItem){.name = name_of_key(name), .n_cols = t->n_cols, .rel_visible = true, .cols_visible = true};
    bind_item_schema(item, t->name);
    if (!(item->cols = arena_array(b->a, NsCol, t->n_cols + 1))) return ST_ERROR;
    for (int i = 0; i < t->n_cols; i++) item->cols[i] = (NsCol){t->cols[i].name, ids[i]};
    return ST_OK;
}
/* A row of the table that stands for any. */
static Status any_row(Binder *b, const Table *t, ColId *ids, NsItem *item) {
    for (int i = 0; i < t->n_cols; i++)
        if (!(ids[i] = plan_new_col(b->c, t->cols[i].name, t->cols[i].type, !t->cols[i].not_null))) return ST_ERROR;
    return bind_row_item(b, t, t->name, ids, item);
}

Status sql_bind_index_text(PlanCtx *c, const Table *t, const char *sql, bool predicate, ColId *ids, Expr **out) {
    Binder b;
    NsItem row;
    binder_init(&b, c);
    b.params_ok = false;
    *out = any_row(&b, t, ids, &row) == ST_OK ? bind_index_text(&b, &row, sql, predicate) : NULL;
    return *out ? stack_check(c->err) : err_is_set(c->err) ? ST_ERROR : err_oom(c->err);
}

Status sql_bind_index_expr(PlanCtx *c, const Table *t, const char *sql, bool predicate, ColId *ids, Expr **out) {
    Binder b;
    NsItem row;
    binder_init(&b, c);
    b.params_ok = false;
    *out = any_row(&b, t, ids, &row) == ST_OK ? bind_index_text(&b, &row, sql, predicate) : NULL;
    if (*out && !predicate && bind_is_incomparable((*out)->type)) {
        err_set(c->err, ERR_UNDEFINED_OBJECT, "data type %s has no default operator class for access method \"btree\"",
                type_plain_name((*out)->type));
        err_hint(c->err, "You must specify an operator class for the index or define a default operator class for the "
                         "data type.");
        return ST_ERROR;
    }
    if (*out && !predicate && (*out)->type.id == T_ARRAY && type_needs_key((*out)->type))
        return err_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "keys of arrays of %s are not supported",
                       type_plain_name(type_element((*out)->type)));
    if (*out && bind_has_key((*out)->type)) /* equal ones are to have equal bytes */
        *out = bind_least(&b, *out, 0);
    if (*out) bind_null_expr(c, *out);
    return *out ? stack_check(c->err) : err_is_set(c->err) ? ST_ERROR : err_oom(c->err);
}

const char *sql_index_column_name(const AstExpr *e) {
    const char *name = bind_target_name(e);
    return strcmp(name, "?column?") == 0 ? "expr" : name;
}

/* ---- ON CONFLICT ---- */

/* What the target of ON CONFLICT names. */
typedef struct ConflictTarget {
    const AstOnConflict *oc;
    NsItem row;
    Expr **exprs; /* by element of the target */
    Expr *where;
} ConflictTarget;

static Status bind_target(Binder *b, const DmlTarget *g, const AstOnConflict *oc, ConflictTarget *x) {
    const Table *t = g->t;
    NsItem item;
    ColId *ids = arena_array(b->a, ColId, t->n_cols + 1);
    Query *q = arena_new_of(b->a, Query);
    *x = (ConflictTarget){.oc = oc, .exprs = arena_array(b->a, Expr *, oc->n_target + 1)};
    if (!ids || !q || !x->exprs || any_row(b, t, ids, &x->row) != ST_OK ||
        bind_dml_row(b, g, g->name, ids, NULL, &item) != ST_OK || bind_add_item(b, q, &item) != ST_OK)
        return ST_ERROR;
    q->clause = "index expressions";
    q->no_subqueries = "index expression";
    for (int64_t i = 0; i < oc->n_target; i++)
        if (!(x->exprs[i] = bind_expr(b, q, oc->target[i]))) return ST_ERROR;
    q->clause = "index predicates";
    q->no_subqueries = "index predicate";
    if (oc->target_where &&
        !(x->where = bind_bool(b, bind_expr(b, q, oc->target_where), "WHERE", oc->target_where->location)))
        return ST_ERROR;
    return ST_OK;
}
static bool is_part(const Expr *e, int32_t n, Expr *const *parts) {
    for (int32_t i = 0; i < n; i++)
        if (expr_equal(e, parts[i])) return true;
    return false;
}
static bool same_parts(const ConflictTarget *x, int32_t n, Expr *const *parts) {
    for (int64_t i = 0; i < x->oc->n_target; i++)
        if (!is_part(x->exprs[i], n, parts)) return false;
    for (int32_t i = 0; i < n; i++)
        if (!is_part(parts[i], (int32_t)x->oc->n_target, x->exprs)) return false;
    return true;
}
/* x op constant, for x and the operators of order. */
static bool is_bound(const Expr *e) {
    static const char *const ops[] = {"<", "<=", "=", ">=", ">"};
    bool known = false;
    if (e->kind != EX_FUNC || e->n_args != 2 || e->args[1]->kind != EX_CONST || e->args[1]->u.value.is_null)
        return false;
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++) known |= strcmp(e->u.func->name, ops[i]) == 0;
    return known;
}
/* x > 5 follows from x > 7, x >= 6 and x = 6; x IS NOT NULL from each of them. */
static bool follows_from_bound(const Expr *p, const Expr *w) {
    if (!is_bound(w) || !expr_equal(p->args[0], w->args[0])) return false;
    if (p->kind == EX_IS_NOT_NULL) return true;
    if (!is_bound(p) || !type_eq(p->args[1]->type, w->args[1]->type)) return false;
    const char *op = p->u.func->name, *by = w->u.func->name;
    const int c = value_cmp(&w->args[1]->u.value, &p->args[1]->u.value);
    const bool equal = strcmp(by, "=") == 0, wide = by[1] == '=';
    if (*op == '=') return equal && c == 0;
    if (!equal && *by != *op) return false;
    const int inside = *op == '>' ? c : -c;
    return op[1] == '=' || (!equal && !wide) ? inside >= 0 : inside > 0;
}
/* Every condition of the predicate is one of the target's WHERE, or follows from one. */
static bool implied(const Expr *predicate, const Expr *where) {
    if (!where || stack_stop()) return false;
    if (predicate->kind == EX_AND) {
        for (int32_t i = 0; i < predicate->n_args; i++)
            if (!implied(predicate->args[i], where)) return false;
        return true;
    }
    if (expr_equal(predicate, where) || (predicate->n_args > 0 && follows_from_bound(predicate, where))) return true;
    for (int32_t i = 0; where->kind == EX_AND && i < where->n_args; i++)
        if (implied(predicate, where->args[i])) return true;
    return false;
}
static Status matches_expr(Binder *b, const ConflictTarget *x, const ExprIndex *index, bool *yes) {
    Expr *parts[KEYINDEX_MAX_COLS];
    for (int i = 0; i < index->n_parts; i++)
        if (!(parts[i] = bind_index_text(b, &x->row, index->parts[i], false))) return ST_ERROR;
    *yes = same_parts(x, index->n_parts, parts);
    if (!*yes || !index->where) return ST_OK;
    Expr *predicate = bind_index_text(b, &x->row, index->where, true);
    if (!predicate) return ST_ERROR;
    *yes = implied(predicate, x->where);
    return ST_OK;
}
static Status matches_key(Binder *b, const ConflictTarget *x, const KeyConstraint *key, bool *yes) {
    Expr *parts[KEYINDEX_MAX_COLS];
    for (int i = 0; i < key->n_cols; i++)
        if (!(parts[i] = expr_col(b->c, x->row.cols[key->cols[i]].id))) return ST_ERROR;
    *yes = same_parts(x, key->n_cols, parts);
    return ST_OK;
}

static Status refuse_deferrable(Binder *b, const Table *t, int index) {
    if (index >= t->n_keys || !t->keys[index].deferrable) return ST_OK;
    err_set(b->err, ERR_NOT_IN_STATE,
            "ON CONFLICT does not support deferrable unique constraints/exclusion constraints as arbiters");
    err_of_constraint(b->err, t->name, t->keys[index].name);
    return ST_ERROR;
}

Status bind_conflict_index(Binder *b, const AstOnConflict *oc, const DmlTarget *g, int *index) {
    const Table *t = g->t;
    *index = -1;
    if (!oc->constraint && !oc->n_target && !oc->do_update)
        for (int k = 0; k < t->n_keys; k++) TRY(refuse_deferrable(b, t, k));
    if (oc->do_update && !oc->constraint && !oc->n_target) {
        err_at(b->err, bind_pos(b, oc->location), ERR_SYNTAX,
               "ON CONFLICT DO UPDATE requires inference specification or constraint name");
        err_hint(b->err, "For example, ON CONFLICT (column_name).");
        return ST_ERROR;
    }
    if (oc->constraint) {
        for (int k = 0; k < t->n_keys && !g->view; k++)
            if (!t->keys[k].is_index && key_is_named(t->keys[k].name, oc->constraint))
                return *index = k, refuse_deferrable(b, t, k);
        return err_at(b->err, bind_pos(b, oc->location), ERR_UNDEFINED_OBJECT,
                      "constraint \"%s\" for table \"%s\" does not exist", oc->constraint, g->name);
    }
    if (!oc->n_target) return ST_OK;
    ConflictTarget x;
    bool yes = false;
    TRY(bind_target(b, g, oc, &x));
    for (int k = 0; k < t->n_keys && !yes; k++) {
        TRY(matches_key(b, &x, &t->keys[k], &yes));
        *index = k;
    }
    for (int i = 0; i < t->n_exprs && !yes; i++) {
        TRY(matches_expr(b, &x, &t->exprs[i], &yes));
        *index = t->n_keys + i;
    }
    if (yes) return refuse_deferrable(b, t, *index);
    return err_at(b->err, bind_pos(b, oc->location), ERR_INVALID_COLUMN_REFERENCE,
                  "there is no unique or exclusion constraint matching the ON CONFLICT specification");
}

/* l and r have equal values in the key. */
static Expr *equal_parts(Binder *b, const ExprIndex *x, Expr *l, Expr *r, int64_t location) {
    if (!l || !r) return NULL;
    return x->nulls_not_distinct ? bind_distinct(b, true, l, r, location) : bind_op(b, "=", l, r, location);
}

Status bind_conflict_conds(Binder *b, const Table *t, int index, const NsItem *proposed, const NsItem *stored,
                           int64_t location, int32_t *n, Expr ***out) {
    if (index < t->n_keys) {
        const KeyConstraint *key = &t->keys[index];
        *n = key->n_cols;
        if (!(*out = arena_array(b->a, Expr *, key->n_cols))) return ST_ERROR;
        for (int k = 0; k < key->n_cols; k++) {
            int c = key->cols[k];
            Expr *l = expr_col(b->c, proposed->cols[c].id), *r = expr_col(b->c, stored->cols[c].id);
            if (!((*out)[k] = bind_op(b, "=", l, r, location))) return ST_ERROR;
        }
        return ST_OK;
    }
    const ExprIndex *x = &t->exprs[index - t->n_keys];
    *n = 0;
    if (!(*out = arena_array(b->a, Expr *, x->n_parts + 2))) return ST_ERROR;
    for (int i = 0; i < x->n_parts; i++) {
        Expr *l = bind_index_text(b, proposed, x->parts[i], false);
        Expr *r = bind_index_text(b, stored, x->parts[i], false);
        if (!((*out)[(*n)++] = equal_parts(b, x, l, r, location))) return ST_ERROR;
    }
    const NsItem *const both[] = {proposed, stored};
    for (int i = 0; i < 2 && x->where; i++)
        if (!((*out)[(*n)++] = bind_index_text(b, both[i], x->where, true))) return ST_ERROR;
    return ST_OK;
}
