/* bind_row.c - rows as values: ROW(...), whole rows of FROM items, fields of composite values.
 *
 * A row is its fields, known when it is bound (RowValue), where that says more than a value does: ROW(..) beside
 * another one, IS NULL, GROUP BY, JSON. Everywhere else it is a value of a composite type (types/composite.h): the row
 * type of its table, or a record of these fields. A whole row on the nullable side of an outer join is NULL where a
 * column of the side is, that is TRUE in its rows (NsItem.found).
 */
#include <stdio.h>

#include "sql/bind/bind_int.h"
#include "types/composite.h"

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

/* An untyped literal stays one until the type that the row becomes one of is known. */
static Status add_field(Binder *b, RowValue *r, Expr *e) {
    return e && vec_push(b->a, &r->fields, e) ? ST_OK : ST_ERROR;
}

static Status whole_row(Binder *b, Query *level, NsItem *it, int64_t location, RowValue *r) {
    for (int32_t k = 0; k < it->n_cols; k++) {
        Expr *e = bind_item_column(b, it->cols[k].id);
        if (e) e->location = location;
        TRY(add_field(b, r, e));
    }
    r->item = it;
    if (!it->nullable) return ST_OK;
    TRY(mark_rows(b, level, it, location));
    return (r->found = expr_col(b->c, it->found)) ? ST_OK : ST_ERROR;
}

static Status add_fields_of(Binder *b, Query *q, const AstField *f, RowValue *r) {
    ExprVec fields = {0};
    TRY(bind_all_fields(b, q, f, &fields, NULL));
    for (int64_t k = 0; k < fields.len; k++) TRY(add_field(b, r, fields.items[k]));
    return ST_OK;
}
static Status row_fields(Binder *b, Query *q, const AstList *l, RowValue *r) {
    for (int64_t i = 0; i < l->n_items; i++) {
        const AstExpr *x = l->items[i];
        if (x->kind == AST_STAR) {
            StarCol *cols;
            int64_t n;
            TRY(bind_star(b, q, AST_AS_CONST(AstColumn, x), &cols, &n));
            for (int64_t k = 0; k < n; k++) TRY(add_field(b, r, bind_item_column(b, cols[k].id)));
        } else if (x->kind == AST_FIELD && !AST_AS_CONST(AstField, x)->name) {
            TRY(add_fields_of(b, q, AST_AS_CONST(AstField, x), r));
        } else {
            TRY(add_field(b, r, bind_expr(b, q, x)));
        }
    }
    return ST_OK;
}

Status bind_row_value(Binder *b, Query *q, const AstExpr *e, RowValue *out, bool *is_row) {
    TRY(stack_check_at(b->err, bind_pos(b, e->location)));
    *out = (RowValue){.location = e->location};
    *is_row = e->kind == AST_ROW;
    if (*is_row) return row_fields(b, q, AST_AS_CONST(AstList, e), out);
    if (e->kind != AST_COLUMN && !(e->kind == AST_STAR && AST_AS_CONST(AstColumn, e)->table)) return ST_OK;
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

/* The type of values that the row has as one: that of its table, if it has one. */
static Status cell_type(Binder *b, const RowValue *r, Type *out) {
    const NsItem *it = r->item;
    if (it && it->table && it->n_cols - it->n_hidden == it->table->n_cols)
        return catalog_row_type(b->c->catalog, it->table, out, b->err);
    CompositeField *fields = arena_array(b->a, CompositeField, r->fields.len + 1);
    const CompositeType *x;
    if (!fields) return ST_ERROR;
    for (int64_t i = 0; i < r->fields.len; i++) {
        fields[i].type = composite_record_type(r->fields.items[i]->type);
        fields[i].name = it        ? it->cols[i].name
                         : r->cols ? b->c->cols.items[r->cols[i]].name
                                   : arena_printf(b->a, "f%lld", (long long)i + 1);
        if (!fields[i].name) return ST_ERROR;
    }
    TRY(composite_shared(b->c->catalog->rows, NULL, (int32_t)r->fields.len, fields, &x, b->err));
    *out = composite_type(x);
    return ST_OK;
}

/* args: of the types of the fields, or untyped literals. */
static Expr *make_row(Binder *b, Type t, int64_t n, Expr **args, int64_t location) {
    if (n > COMPOSITE_FIELDS_MAX + 64) {
        err_at(b->err, bind_pos(b, location), ERR_TOO_MANY_COLUMNS, "ROW expressions can have at most %d entries",
               1664);
        return NULL;
    }
    bool *unknown = arena_array(b->a, bool, n + 1);
    if (!unknown) return NULL;
    for (int64_t i = 0; i < n; i++) unknown[i] = args[i]->kind == EX_CONST && args[i]->type.id == T_UNKNOWN;
    Expr *e = bind_call(b, "row_make", false, (int)n, args, location);
    if (!e) return NULL;
    e->type = t;
    for (int64_t i = 0; i < n; i++) /* they stay such for bind_row_as */
        if (unknown[i]) e->args[i]->type.id = e->args[i]->u.value.type.id = T_UNKNOWN;
    return e;
}

Expr *bind_row_cell(Binder *b, const RowValue *r, int64_t location) {
    const int64_t n = r->fields.len;
    Expr **args = arena_array(b->a, Expr *, n + 1);
    Type t;
    if (!args || cell_type(b, r, &t) != ST_OK) return NULL;
    const CompositeType *x = composite_of(t);
    for (int64_t i = 0; i < n; i++) {
        if (!(args[i] = bind_copy(b, r->fields.items[i]))) return NULL;
        if (args[i]->kind == EX_CONST && args[i]->type.id == T_UNKNOWN) continue;
        if (!(args[i] = bind_coerce(b, args[i], x->fields[i].type, CAST_EXPLICIT, args[i]->location))) return NULL;
    }
    return if_found(b, r, make_row(b, t, n, args, location));
}

static bool is_made(const Expr *e) { return e->kind == EX_FUNC && strcmp(e->u.func->name, "row_make") == 0; }

static Expr *cannot_cast(Binder *b, Type from, Type to, int64_t location) {
    err_at(b->err, bind_pos(b, location), ERR_CANNOT_COERCE, "cannot cast type %s to %s", type_plain_name(from),
           type_plain_name(to));
    return NULL;
}

/* A value as one of the field, which may be of a domain. */
static Expr *field_value(Binder *b, Expr *e, const CompositeField *f, CastCtx ctx, int64_t location) {
    if (!(e = bind_coerce(b, e, f->type, ctx, location)) || !f->domain) return e;
    return bind_domain(b, e, catalog_domain_by_id(b->c->catalog, f->domain), location);
}
Expr *bind_row_as(Binder *b, Expr *e, Type to, CastCtx ctx, int64_t location) {
    const CompositeType *from = composite_of(e->type), *x = composite_of(to);
    if (!from || !x || from->kind != COMPOSITE_ANONYMOUS || from == x) return e;
    const bool made = is_made(e) && x->kind != COMPOSITE_ANONYMOUS;
    Expr **args = arena_array(b->a, Expr *, x->n + 1);
    if (!args) return NULL;
    if (from->n != x->n) {
        cannot_cast(b, e->type, to, location);
        err_detail(b->err, from->n < x->n ? "Input has too few columns." : "Input has too many columns.");
        return NULL;
    }
    for (int32_t i = 0; i < x->n; i++) {
        const Type f = x->fields[i].type;
        const bool nested = made && f.id == T_COMPOSITE && e->args[i]->type.id == T_COMPOSITE; /* it says what fails */
        if (!nested && !cast_exists(made ? e->args[i]->type : from->fields[i].type, f, ctx)) {
            cannot_cast(b, e->type, to, location);
            err_detail(b->err, "Cannot cast type %s to %s in column %d.", type_plain_name(from->fields[i].type),
                       type_plain_name(f), i + 1);
            return NULL;
        }
        if (made && !(args[i] = field_value(b, e->args[i], &x->fields[i], ctx, e->args[i]->location))) return NULL;
    }
    return made ? make_row(b, to, x->n, args, location) : e;
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

Expr *bind_row_null(Binder *b, const RowValue *r, bool negated, int64_t location) {
    Expr **parts = copies(b, r);
    for (int64_t i = 0; parts && i < r->fields.len; i++)
        if (!(parts[i] = bind_unary(b, negated ? EX_IS_NOT_NULL : EX_IS_NULL, parts[i], location))) return NULL;
    if (!parts) return NULL;
    return r->fields.len ? bind_nary(b, EX_AND, r->fields.len, parts, location) : expr_bool(b->c, true);
}

/* ---- fields --------------------------------------------------------------------------------- */

Expr *bind_field_at(Binder *b, Expr *row, int32_t k, int64_t location) {
    const CompositeType *x = composite_of(row->type);
    if (is_made(row)) return bind_coerce(b, row->args[k], x->fields[k].type, CAST_IMPLICIT, location);
    Value at = {.type = type_make(T_INT4)};
    at.u.i32 = k;
    Expr *args[2] = {row, expr_const(b->c, &at)};
    Expr *e = args[1] ? bind_call(b, "row_column", false, 2, args, location) : NULL;
    if (e) e->type = x->fields[k].type;
    if (e) e->domain = x->fields[k].domain;
    return e;
}

Expr *bind_field_set(Binder *b, Expr *row, int32_t k, Expr *value, int64_t location) {
    if (!row || !value) return NULL;
    const CompositeType *x = composite_of(row->type);
    const Type t = x->fields[k].type;
    Value at = {.type = type_make(T_INT4)};
    at.u.i32 = k;
    if (value->type.id != T_UNKNOWN && !cast_exists(value->type, t, CAST_ASSIGNMENT)) {
        err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
               "subfield \"%s\" is of type %s but expression is of type %s", x->fields[k].name, type_plain_name(t),
               type_plain_name(value->type));
        err_hint(b->err, "You will need to rewrite or cast the expression.");
        return NULL;
    }
    Expr *args[3] = {row, expr_const(b->c, &at), field_value(b, value, &x->fields[k], CAST_ASSIGNMENT, location)};
    Expr *e = args[1] && args[2] ? bind_call(b, "row_set", false, 3, args, location) : NULL;
    if (e) e->type = composite_type(x);
    return e;
}

/* The value whose field is selected. */
static Expr *composite_arg(Binder *b, Query *q, const AstField *f) {
    Expr *e = bind_expr(b, q, f->arg);
    if (!e || composite_of(e->type)) return e;
    if (f->name)
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
               "column notation .%s applied to type %s, which is not a composite type", f->name,
               type_plain_name(e->type));
    else
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE, "type %s is not composite",
               type_plain_name(e->type));
    return NULL;
}

Status bind_all_fields(Binder *b, Query *q, const AstField *f, ExprVec *out, const char ***names) {
    Expr *e = composite_arg(b, q, f);
    if (!e) return ST_ERROR;
    const CompositeType *x = composite_of(e->type);
    const char **all = arena_array(b->a, const char *, x->n + 1);
    if (!all) return ST_ERROR;
    for (int32_t k = 0; k < x->n; k++) {
        Expr *copy = bind_copy(b, e), *field = copy ? bind_field_at(b, copy, k, f->location) : NULL;
        if (!field || !vec_push(b->a, out, field)) return ST_ERROR;
        all[k] = x->fields[k].name;
    }
    if (names) *names = all;
    return ST_OK;
}

/* (v).f and t.f, where f is a function of the row. NULL without an error: there is none. */
Expr *bind_field_function(Binder *b, Query *q, AstExpr *row, const char *name, int64_t location) {
    AstFunc *f = arena_new_of(b->a, AstFunc);
    if (!f || !(f->args = arena_array(b->a, AstExpr *, 1))) return NULL;
    if (!bind_has_routines(b, name) || !bind_is_routine(b, name)) return NULL;
    f->kind = AST_FUNC;
    f->location = location;
    f->name.name = name;
    f->args[0] = row;
    f->n_args = 1;
    Expr *e = bind_func(b, q, f);
    if (!e && strcmp(b->err->sqlstate, ERR_UNDEFINED_FUNCTION) == 0) err_clear(b->err);
    return e;
}

/* (v).a, where v is a whole row or a composite value. */
Expr *bind_row_field(Binder *b, Query *q, const AstField *f) {
    RowValue r;
    bool is_row = false;
    if (!f->name) {
        err_at(b->err, bind_pos(b, f->location), ERR_SYNTAX, "row expansion via \"*\" is not supported here");
        return NULL;
    }
    if (f->arg->kind == AST_COLUMN && bind_row_value(b, q, f->arg, &r, &is_row) != ST_OK) return NULL;
    if (is_row && r.item) {
        for (int32_t k = 0; k < r.item->n_cols; k++)
            if (strcmp(r.item->cols[k].name, f->name) == 0) return r.fields.items[k];
        Expr *call = bind_field_function(b, q, f->arg, f->name, f->location);
        if (call || err_is_set(b->err)) return call;
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_COLUMN, "column %s.%s does not exist",
               AST_AS_CONST(AstColumn, f->arg)->name, f->name);
        return NULL;
    }
    Expr *e = composite_arg(b, q, f);
    if (!e) return NULL;
    const CompositeType *x = composite_of(e->type);
    const int32_t k = composite_field(x, slice_of(f->name));
    if (k >= 0) return bind_field_at(b, e, k, f->location);
    Expr *call = bind_field_function(b, q, f->arg, f->name, f->location);
    if (call || err_is_set(b->err)) return call;
    if (x->kind == COMPOSITE_ANONYMOUS)
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_COLUMN,
               "could not identify column \"%s\" in record data type", f->name);
    else
        err_at(b->err, bind_pos(b, f->location), ERR_UNDEFINED_COLUMN, "column \"%s\" not found in data type %s",
               f->name, type_plain_name(e->type));
    return NULL;
}

/* ---- comparison ------------------------------------------------------------------------------- */

/* An untyped literal is of no type yet. */
static Type field_type(const Expr *row, int32_t i) {
    return is_made(row) && row->args[i]->type.id == T_UNKNOWN ? type_make(T_UNKNOWN)
                                                              : composite_of(row->type)->fields[i].type;
}
static Status dissimilar(Binder *b, Type x, Type y, int32_t k, int64_t location) {
    return err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
                  "cannot compare dissimilar column types %s and %s at record column %d", type_plain_name(x),
                  type_plain_name(y), k + 1);
}

bool bind_common_type(Binder *b, Type x, Type y, Type *out) {
    const CompositeType *p = composite_of(x), *r = composite_of(y), *common;
    if (!p || !r || p == r || p->kind != COMPOSITE_ANONYMOUS || r->kind != COMPOSITE_ANONYMOUS)
        return type_common(x, y, out);
    CompositeField *fields = arena_array(b->a, CompositeField, p->n + 1);
    bool same = fields && p->n == r->n;
    for (int32_t i = 0; same && i < p->n; i++) {
        fields[i].name = p->fields[i].name;
        same = bind_common_type(b, p->fields[i].type, r->fields[i].type, &fields[i].type);
    }
    if (!same || composite_shared(b->c->catalog->rows, NULL, p->n, fields, &common, b->err) != ST_OK) return false;
    *out = composite_type(common);
    return true;
}

Status bind_row_pair(Binder *b, Expr **args, int64_t location) {
    const CompositeType *x = composite_of(args[0]->type), *y = composite_of(args[1]->type), *common;
    if (!x || !y || args[0]->type.id != T_COMPOSITE || args[1]->type.id != T_COMPOSITE) return ST_OK;
    CompositeField *fields = arena_array(b->a, CompositeField, x->n + 1);
    bool changed = false;
    if (!fields) return ST_ERROR;
    for (int32_t i = 0; i < MIN_OF(x->n, y->n); i++) {
        const Type p = field_type(args[0], i), r = field_type(args[1], i);
        const bool numerics = bind_is_numeric(p) && bind_is_numeric(r);
        if ((p.id != r.id && !numerics) || !bind_common_type(b, p, r, &fields[i].type))
            return dissimilar(b, p, r, i, location);
        fields[i].name = x->fields[i].name;
        changed |= numerics || p.id == T_ARRAY || p.id == T_COMPOSITE;
    }
    if (x->n != y->n)
        return err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
                      "cannot compare record types with different numbers of columns");
    if (!changed || x == y) return ST_OK;
    TRY(composite_shared(b->c->catalog->rows, NULL, x->n, fields, &common, b->err));
    for (int k = 0; k < 2; k++) {
        Expr *e = type_eq(args[k]->type, composite_type(common)) ? args[k]
                                                                 : expr_new(b->c, EX_CAST, composite_type(common), 1);
        if (!e) return ST_ERROR;
        if (e != args[k]) e->args[0] = args[k], e->cast_ctx = CAST_EXPLICIT, e->location = location;
        args[k] = e;
    }
    return ST_OK;
}

/* ---- tableoid --------------------------------------------------------------------------------- */

Expr *bind_tableoid(Binder *b, Query *level, NsItem *it, int64_t location) {
    RowValue r = {.item = it};
    const char *key = it->table->name;
    char *name = arena_alloc(b->a, 2 * (int64_t)strlen(key) + 16), *at = name;
    if (!name) return NULL;
    if (!key_has_schema(key)) at += snprintf(at, 16, "\"%s\".", KEY_PUBLIC);
    at[name_quote(str_make(key, (int64_t)strlen(key)), at)] = 0;
    Expr *text = bind_text_const(b, slice_of(name), location);
    Expr *e = text ? bind_call(b, "to_regclass", false, 1, &text, location) : NULL;
    if (!e || !(e = bind_coerce(b, e, type_make(T_OID), CAST_EXPLICIT, location)) || !it->nullable) return e;
    if (mark_rows(b, level, it, location) != ST_OK || !(r.found = expr_col(b->c, it->found))) return NULL;
    return if_found(b, &r, e);
}
