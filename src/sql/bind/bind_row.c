/* bind_row.c - rows as values: ROW(...), whole rows of FROM items.
 *
 * There is no type of rows: a row is its fields, known when it is bound, and becomes what is wanted of it at once:
 *
 *   its text (row_text), where it is a column of the statement's result, or is cast to text;
 *   bytes that compare as rows do (row_key), where it is compared with a row, sorted or counted;
 *   its fields, where it is a key of GROUP BY, tested for NULL or one is selected.
 *
 * So rows have no place in subqueries' results, in arrays or as arguments (0A000): there a type would be needed. A
 * whole row on the nullable side of an outer join is NULL where a column of the side is, that is TRUE in its rows
 * (NsItem.found).
 */
#include "sql/bind/bind_int.h"

/* ---- what is a row ------------------------------------------------------------------------- */

/* A column that is TRUE in the item's rows, put into its plan. */
static Status mark_rows(Binder *b, Query *q, NsItem *it, int64_t location) {
    if (it->found) return ST_OK;
    if (!it->plan || it->projected)
        return bind_unsupported(b, location, "this row, which an outer join may make NULL,");
    Plan *below = plan_new(b->c, (PlanKind)it->plan->kind, 0);
    Proj proj = {0};
    ColSet out = colset_new(b->c);
    if (!below) return ST_ERROR;
    *below = *it->plan;
    for (Query *s = q; s; s = s->outer)
        for (Cte *c = s->ctes; c; c = c->next)
            if (c->scan == it->plan) c->scan = below;
    plan_outputs(b->c, below, &out);
    for (ColId id = 1; id < b->c->cols.len; id++) {
        if (!colset_has(&out, id)) continue;
        Expr *e = expr_col(b->c, id);
        if (!e || !vec_push(b->a, &proj.ids, id) || !vec_push(b->a, &proj.exprs, e)) return ST_ERROR;
    }
    ColId found = bind_proj_add(b, &proj, NULL, expr_bool(b->c, true), "found");
    Plan *p = found ? bind_proj_plan(b, &proj, below) : NULL;
    if (!p || bind_own(b, q, found, false) != ST_OK) return ST_ERROR;
    *it->plan = *p;
    it->found = found;
    return ST_OK;
}

/* An untyped literal stays one, as in PostgreSQL: it is text when it is shown, and compares with no text. */
static Status add_field(Binder *b, RowValue *r, Expr *e) {
    return e && vec_push(b->a, &r->fields, e) ? ST_OK : ST_ERROR;
}

static Status whole_row(Binder *b, Query *level, NsItem *it, int64_t location, RowValue *r) {
    for (int32_t k = 0; k < it->n_cols; k++) {
        Expr *e = expr_col(b->c, it->cols[k].id);
        if (e) e->location = location;
        TRY(add_field(b, r, e));
    }
    r->item = it;
    if (!it->nullable) return ST_OK;
    TRY(mark_rows(b, level, it, location));
    return (r->found = expr_col(b->c, it->found)) ? ST_OK : ST_ERROR;
}

static Status row_fields(Binder *b, Query *q, const AstList *l, bool nested, RowValue *r) {
    for (int64_t i = 0; i < l->n_items; i++) {
        const AstExpr *x = l->items[i];
        bool is_row = false;
        RowValue in = {0};
        if (x->kind == AST_STAR) {
            StarCol *cols;
            int64_t n;
            TRY(bind_star(b, q, AST_AS_CONST(AstColumn, x), &cols, &n));
            for (int64_t k = 0; k < n; k++) TRY(add_field(b, r, expr_col(b->c, cols[k].id)));
            continue;
        }
        if (nested) TRY(bind_row_value(b, q, x, true, &in, &is_row));
        TRY(add_field(b, r, is_row ? bind_row_text(b, &in, x->location) : bind_expr(b, q, x)));
    }
    return ST_OK;
}

Status bind_row_value(Binder *b, Query *q, const AstExpr *e, bool nested, RowValue *out, bool *is_row) {
    TRY(stack_check_at(b->err, bind_pos(b, e->location)));
    *out = (RowValue){.location = e->location};
    *is_row = e->kind == AST_ROW;
    if (*is_row) return row_fields(b, q, AST_AS_CONST(AstList, e), nested, out);
    if (e->kind == AST_FUNC && nested && q->rows_ok) { /* a set of records in a select list */
        RowsFunc f;
        TRY(bind_routine_records(b, q, AST_AS_CONST(AstFunc, e), &f, is_row));
        return *is_row ? bind_srf_row(b, q, &f, out) : ST_OK;
    }
    if (e->kind != AST_COLUMN) return ST_OK;
    Query *level;
    NsItem *it = bind_whole_row(b, q, AST_AS_CONST(AstColumn, e), &level);
    if (!it) return err_is_set(b->err) ? ST_ERROR : ST_OK;
    *is_row = true;
    return whole_row(b, level, it, e->location, out);
}

/* ---- what becomes of it ---------------------------------------------------------------------- */

/* NULL where the row is. */
static Expr *if_found(Binder *b, const RowValue *r, Expr *e) {
    if (!e || !r->found) return e;
    Expr *c = expr_new(b->c, EX_CASE, e->type, 2);
    if (!c || !(c->args[0] = bind_copy(b, r->found))) return NULL;
    c->args[1] = e;
    return c;
}

static Expr **copies(Binder *b, const RowValue *r) {
    Expr **args = arena_array(b->a, Expr *, r->fields.len + 1);
    for (int64_t i = 0; args && i < r->fields.len; i++) {
        if (!(args[i] = bind_copy(b, r->fields.items[i]))) return NULL;
        if (args[i]->type.id != T_UNKNOWN) continue;
        if (!(args[i] = bind_coerce(b, args[i], type_make(T_TEXT), CAST_IMPLICIT, args[i]->location))) return NULL;
    }
    return args;
}

Expr *bind_row_text(Binder *b, const RowValue *r, int64_t location) {
    Expr **args = copies(b, r);
    if (!args) return NULL;
    if (r->fields.len == 0) return bind_text_const(b, slice_of("()"), location);
    return if_found(b, r, bind_call(b, "row_text", false, (int)r->fields.len, args, location));
}

Expr *bind_row_json(Binder *b, const RowValue *r, Expr *lines, int64_t location) {
    Expr **fields = copies(b, r), **args = arena_array(b->a, Expr *, 2 * r->fields.len + 1);
    if (!fields || !args || !(args[0] = lines)) return NULL;
    int n = 1;
    for (int64_t i = 0; i < r->fields.len; i++) {
        const char *name = r->item ? r->item->cols[i].name : arena_printf(b->a, "f%lld", (long long)i + 1);
        if (!name || !(args[n++] = bind_text_const(b, slice_of(name), location))) return NULL;
        args[n++] = fields[i];
    }
    if (n > 1) return if_found(b, r, bind_call(b, "json_row", false, n, args, location));
    Expr *empty = bind_text_const(b, slice_of("{}"), location);
    return empty ? bind_coerce(b, empty, type_make(T_JSON), CAST_EXPLICIT, location) : NULL;
}

Expr *bind_row_key(Binder *b, const RowValue *r, int64_t location) {
    Expr **args = copies(b, r);
    if (!args) return NULL;
    for (int64_t i = 0; i < r->fields.len; i++)
        if (bind_check_groupable(b, args[i]->type, location) != ST_OK) return NULL;
    if (r->fields.len == 0) return bind_text_const(b, slice_of(""), location);
    return if_found(b, r, bind_call(b, "row_key", false, (int)r->fields.len, args, location));
}

Expr *bind_row_null(Binder *b, const RowValue *r, bool negated, int64_t location) {
    Expr **parts = copies(b, r);
    for (int64_t i = 0; parts && i < r->fields.len; i++)
        if (!(parts[i] = bind_unary(b, negated ? EX_IS_NOT_NULL : EX_IS_NULL, parts[i], location))) return NULL;
    if (!parts) return NULL;
    return r->fields.len ? bind_nary(b, EX_AND, r->fields.len, parts, location) : expr_bool(b->c, true);
}

Status bind_row_pair(Binder *b, RowValue *x, RowValue *y, int64_t location) {
    for (int64_t i = 0; i < MIN_OF(x->fields.len, y->fields.len); i++) {
        Expr *pair[2] = {x->fields.items[i], y->fields.items[i]};
        Type t;
        bool numerics = bind_is_numeric(pair[0]->type) && bind_is_numeric(pair[1]->type);
        if (pair[0]->type.id != pair[1]->type.id && !numerics)
            return err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
                          "cannot compare dissimilar column types %s and %s at record column %lld",
                          type_plain_name(pair[0]->type), type_plain_name(pair[1]->type), (long long)i + 1);
        if (!numerics && pair[0]->type.id != T_ARRAY) continue;
        TRY(bind_common(b, 2, pair, "ROW", &t));
        x->fields.items[i] = pair[0];
        y->fields.items[i] = pair[1];
    }
    if (x->fields.len == y->fields.len) return ST_OK;
    return err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
                  "cannot compare record types with different numbers of columns");
}

Expr *bind_row_keys_op(Binder *b, const char *op, const RowValue *l, const RowValue *r, int64_t location) {
    static const char *const ops[] = {"=", "<>", "<", "<=", ">", ">="};
    RowValue x = {.found = l->found}, y = {.found = r->found};
    bool known = false;
    for (int64_t i = 0; i < ARRAY_LEN(ops); i++) known |= strcmp(op, ops[i]) == 0;
    if (!known) {
        bind_unsupported(b, location, "this operator of rows");
        return NULL;
    }
    for (int64_t i = 0; i < l->fields.len; i++)
        if (!vec_push(b->a, &x.fields, l->fields.items[i])) return NULL;
    for (int64_t i = 0; i < r->fields.len; i++)
        if (!vec_push(b->a, &y.fields, r->fields.items[i])) return NULL;
    if (bind_row_pair(b, &x, &y, location) != ST_OK) return NULL;
    Expr *a = bind_row_key(b, &x, location), *c = a ? bind_row_key(b, &y, location) : NULL;
    return c ? bind_op(b, op, a, c, location) : NULL;
}

/* (t).a */
Expr *bind_row_field(Binder *b, Query *q, const AstField *f) {
    RowValue r;
    bool is_row = false;
    if (f->arg->kind == AST_COLUMN && f->name && bind_row_value(b, q, f->arg, false, &r, &is_row) != ST_OK) return NULL;
    if (!is_row || !r.item) {
        if (!err_is_set(b->err)) bind_unsupported(b, f->location, "field selection from a composite value");
        return NULL;
    }
    const char *table = AST_AS_CONST(AstColumn, f->arg)->name;
    for (int32_t k = 0; k < r.item->n_cols; k++)
        if (strcmp(r.item->cols[k].name, f->name) == 0) return r.fields.items[k];
    err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_COLUMN, "column %s.%s does not exist", table, f->name);
    return NULL;
}
