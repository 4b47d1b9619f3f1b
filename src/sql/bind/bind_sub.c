/* bind_sub.c - subqueries in expressions, IN lists, ANY and ALL, row comparisons.
 *
 * A subquery is bound as a level below the current one; outer columns appear in it as they are. x IN (subquery)
 * and op ANY/ALL become SQ_IN with the comparison spelled out per column (plan.h).
 */
#include "sql/bind/bind_int.h"

/* ---- rows ------------------------------------------------------------------------- */

Expr *bind_compare_rows(Binder *b, const char *op, int64_t n, Expr **l, Expr **r, int64_t location) {
    bool eq = strcmp(op, "=") == 0, ne = strcmp(op, "<>") == 0;
    if (eq || ne) {
        Expr **parts = arena_array(b->a, Expr *, n);
        if (!parts) return NULL;
        for (int64_t i = 0; i < n; i++)
            if (!(parts[i] = bind_op(b, op, l[i], r[i], location))) return NULL;
        return bind_nary(b, eq ? EX_AND : EX_OR, n, parts, location);
    }
    if (strcmp(op, "<") != 0 && strcmp(op, "<=") != 0 && strcmp(op, ">") != 0 && strcmp(op, ">=") != 0) {
        const Expr *first = bind_op(b, op, l[0], r[0], location);
        if (first && first->type.id != T_BOOL)
            err_at(b->err, bind_pos(b, location), ERR_DATATYPE_MISMATCH,
                   "row comparison operator must yield type boolean, not type %s", type_plain_name(first->type));
        if (!first || first->type.id != T_BOOL) return NULL;
        err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED,
               "could not determine interpretation of row comparison operator %s", op);
        err_hint(b->err, "Row comparison operators must be associated with btree operator families.");
        return NULL;
    }
    /* (a, b) < (c, d): a < c OR (a = c AND b < d), built from the last pair */
    char strict[2] = {op[0], 0};
    Expr *acc = bind_op(b, op, bind_copy(b, l[n - 1]), bind_copy(b, r[n - 1]), location);
    for (int64_t i = n - 1; i-- > 0 && acc;) {
        Expr *and_[2] = {bind_op(b, "=", bind_copy(b, l[i]), bind_copy(b, r[i]), location), acc};
        Expr *or_[2] = {bind_op(b, strict, bind_copy(b, l[i]), bind_copy(b, r[i]), location),
                        bind_nary(b, EX_AND, 2, and_, location)};
        acc = or_[0] ? bind_nary(b, EX_OR, 2, or_, location) : NULL;
    }
    return acc;
}

static Expr *subquery_expr(Binder *b, SubqueryKind kind, Type type, const Rel *r, int64_t location) {
    Expr *e = expr_new(b->c, EX_SUBQUERY, type, 0);
    if (!e) return NULL;
    e->subquery = (uint8_t)kind;
    e->location = location;
    e->u.sub.plan = r->plan;
    e->u.sub.cols = r->cols;
    e->u.sub.n_cols = kind == SQ_EXISTS ? 0 : r->n;
    return e;
}

static Status inner_select(Binder *b, const SelectEnv *env, const AstSelect *s, Rel *out) {
    uint8_t context = b->rec_context;
    b->rec_context = REC_IN_SUBLINK;
    Status st = bind_select(b, env, s, out);
    b->rec_context = context;
    return st;
}

/* (a, b) = (select x, y ...): the comparison becomes the subquery's one result column. */
static Expr *row_with_subquery(Binder *b, Query *q, const char *op, const AstList *row, const AstSubLink *s,
                               bool swapped, int64_t location) {
    Expr **l = bind_list(b, q, row->items, row->n_items);
    SelectEnv env = {.outer = q, .ctes = q->ctes};
    Rel r;
    if (!l || inner_select(b, &env, s->query, &r) != ST_OK) return NULL;
    if (r.n != row->n_items) {
        err_at(b->err, bind_pos(b, location), ERR_SYNTAX,
               r.n > row->n_items ? "subquery has too many columns" : "subquery has too few columns");
        return NULL;
    }
    Expr **cols = arena_array(b->a, Expr *, r.n + 1);
    if (!cols) return NULL;
    for (int32_t i = 0; i < r.n; i++) {
        if (!(cols[i] = expr_col(b->c, r.cols[i]))) return NULL;
        cols[i]->location = location;
    }
    Expr *cmp = bind_compare_rows(b, op, r.n, swapped ? cols : l, swapped ? l : cols, location);
    Proj proj = {0};
    ColId id = bind_proj_add(b, &proj, NULL, cmp, "row comparison");
    Rel one = {.n = 1, .cols = arena_array(b->a, ColId, 1)};
    if (!id || !one.cols || !(one.plan = bind_proj_plan(b, &proj, r.plan))) return NULL;
    one.cols[0] = id;
    return subquery_expr(b, SQ_SCALAR, type_make(T_BOOL), &one, location);
}

Expr *bind_row_op(Binder *b, Query *q, const char *op, const AstExpr *l, const AstExpr *r, int64_t location) {
    if (l->kind != AST_ROW || r->kind != AST_ROW) {
        const AstExpr *sub = l->kind == AST_ROW ? r : l, *row = l->kind == AST_ROW ? l : r;
        if (sub->kind == AST_SUBLINK && AST_AS_CONST(AstSubLink, sub)->sub_kind == AST_SUB_SCALAR)
            return row_with_subquery(b, q, op, AST_AS_CONST(AstList, row), AST_AS_CONST(AstSubLink, sub), row == r,
                                     location);
        bind_unsupported(b, location, "comparing a row with a value");
        return NULL;
    }
    const AstList *x = AST_AS_CONST(AstList, l), *y = AST_AS_CONST(AstList, r);
    if (x->n_items != y->n_items) {
        err_at(b->err, bind_pos(b, location), ERR_SYNTAX, "unequal number of entries in row expressions");
        return NULL;
    }
    if (!x->n_items) {
        err_at(b->err, bind_pos(b, location), ERR_FEATURE_NOT_SUPPORTED, "cannot compare rows of zero length");
        return NULL;
    }
    Expr **a = bind_list(b, q, x->items, x->n_items), **c = a ? bind_list(b, q, y->items, y->n_items) : NULL;
    return c ? bind_compare_rows(b, op, x->n_items, a, c, location) : NULL;
}

/* ---- IN lists ------------------------------------------------------------------------- */

static bool col_fn(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_COL && e->kind != EX_SUBQUERY;
}
/* With reals it matters which values PostgreSQL makes an array of, whose elements have one type before they are
 * compared: all of ARRAY[..], and those of a list that depend on no column, if there are two or more. The list's x has
 * a part in that type. */
static Status settle_reals(Binder *b, bool list, Expr *x, int64_t n, Expr **items) {
    bool real = x->type.id == T_FLOAT4;
    for (int64_t i = 0; i < n; i++) real |= items[i]->type.id == T_FLOAT4;
    if (!real) return ST_OK;
    Expr **parts = arena_array(b->a, Expr *, n + 1);
    int64_t m = 0, *from = arena_array(b->a, int64_t, n + 1);
    if (!parts || !from) return ST_ERROR;
    if (list) parts[m++] = x;
    for (int64_t i = 0; i < n; i++) {
        if (list && !expr_walk(items[i], col_fn, NULL)) continue;
        from[m] = i;
        parts[m++] = items[i];
    }
    Type t;
    if (list && m < 3) m = 0;
    if (m > 0 && bind_common(b, m, parts, "IN", &t) != ST_OK) {
        if (strcmp(b->err->sqlstate, ERR_DATATYPE_MISMATCH) != 0) return ST_ERROR;
        err_clear(b->err); /* reported when they are compared */
        return ST_OK;
    }
    for (int64_t i = list; i < m; i++) items[from[i]] = parts[i];
    for (int64_t i = 0; i < n && x->type.id != T_UNKNOWN; i++)
        if (!(items[i] = bind_beside(b, items[i], x->type, items[i]->location))) return ST_ERROR;
    return ST_OK;
}

/* x = any of the items of a list or array, or for op other than "=" / all: OR or AND of comparisons. */
static Expr *any_all(Binder *b, const char *op, bool all, bool list, Expr *x, int64_t n, Expr **items,
                     int64_t location) {
    if (n == 0) return expr_bool(b->c, all);
    if (settle_reals(b, list, x, n, items) != ST_OK) return NULL;
    bool in = (!all && strcmp(op, "=") == 0) || (all && strcmp(op, "<>") == 0);
    const bool unordered = bind_is_incomparable(x->type);
    in &= !unordered;
    for (int64_t i = 0; i < n && in; i++) in = bind_groupable(x->type) && bind_groupable(items[i]->type);
    if (in && n > 1) {
        Expr **args = arena_array(b->a, Expr *, n + 1);
        if (!args) return NULL;
        args[0] = x;
        memcpy(args + 1, items, sizeof *items * (size_t)n);
        Type t;
        if (bind_comparable(b, n + 1, args, "IN", &t) == ST_OK) {
            Expr *e = expr_new(b->c, EX_IN, type_make(T_BOOL), 0);
            if (!e) return NULL;
            e->args = args;
            e->n_args = (int32_t)(n + 1);
            e->location = location;
            return all ? bind_not(b, e, location) : e;
        }
        if (strcmp(b->err->sqlstate, ERR_DATATYPE_MISMATCH) != 0) return NULL;
        err_clear(b->err); /* one by one: the operators may exist all the same, or say what is wrong */
    }
    Expr **parts = arena_array(b->a, Expr *, n);
    if (!parts) return NULL;
    for (int64_t i = 0; i < n && n > 1 && (x->type.id == T_COMPOSITE || unordered); i++) /* one type for several */
        if (bind_is_unknown(items[i]) && !(items[i] = bind_coerce(b, items[i], x->type, CAST_IMPLICIT, location)))
            return NULL;
    for (int64_t i = 0; i < n; i++)
        if (!(parts[i] =
                  bind_bool(b, bind_op(b, op, i ? bind_copy(b, x) : x, items[i], location), "op ANY/ALL", location)))
            return NULL;
    return bind_nary(b, all ? EX_AND : EX_OR, n, parts, location);
}

Expr *bind_in_list(Binder *b, Query *q, const AstInList *in) {
    Expr *e = NULL;
    if (in->arg->kind == AST_ROW) {
        const AstList *row = AST_AS_CONST(AstList, in->arg);
        Expr **l = bind_list(b, q, row->items, row->n_items);
        Expr **parts = arena_array(b->a, Expr *, in->n_items);
        if (!l || !parts) return NULL;
        for (int64_t i = 0; i < in->n_items; i++) {
            const AstList *r = AST_AS_CONST(AstList, in->items[i]);
            if (in->items[i]->kind != AST_ROW || r->n_items != row->n_items || !row->n_items) {
                err_at(b->err, bind_pos(b, in->items[i]->location), ERR_SYNTAX,
                       "unequal number of entries in row expressions");
                return NULL;
            }
            Expr **y = bind_list(b, q, r->items, r->n_items), **x = arena_array(b->a, Expr *, row->n_items);
            if (!x || !y) return NULL;
            for (int64_t k = 0; k < row->n_items; k++)
                if (!(x[k] = bind_copy(b, l[k]))) return NULL;
            if (!(parts[i] = bind_compare_rows(b, "=", row->n_items, x, y, in->location))) return NULL;
        }
        e = bind_nary(b, EX_OR, in->n_items, parts, in->location);
    } else {
        Expr *arg = bind_expr(b, q, in->arg);
        Expr **items = arg ? bind_list(b, q, in->items, in->n_items) : NULL;
        if (!items) return NULL;
        e = any_all(b, "=", false, true, arg, in->n_items, items, in->location);
    }
    return in->negated ? bind_not(b, e, in->location) : e;
}

/* ---- arrays -------------------------------------------------------------------------------- */

/* '{a,"b c",NULL}' into untyped literals. */
static Status split_array(Binder *b, Slice s, int64_t location, ExprVec *out) {
    const char *p = s.ptr, *end = s.ptr + s.len;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\n')) p++;
    while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n')) end--;
    if (p == end || *p != '{' || end[-1] != '}' || end - p < 2)
        return err_at(b->err, bind_pos(b, location), ERR_INVALID_TEXT, "malformed array literal: \"%.*s\"",
                      (int)MIN_OF(s.len, 200), s.ptr);
    p++;
    end--;
    bool more = p < end;
    while (more) {
        while (p < end && *p == ' ') p++;
        char *text = arena_alloc(b->a, end - p + 1);
        int64_t n = 0, keep = 0;
        bool quoted = false;
        if (!text) return ST_ERROR;
        if (p < end && *p == '"') {
            quoted = true;
            for (p++; p < end && *p != '"'; p++) {
                if (*p == '\\' && p + 1 < end) p++;
                text[n++] = *p;
            }
            if (p < end) p++;
            keep = n;
            while (p < end && *p == ' ') p++;
        }
        for (; p < end && *p != ','; p++) {
            if (quoted || *p == '{' || *p == '}' || *p == '"')
                return err_at(b->err, bind_pos(b, location), ERR_INVALID_TEXT, "malformed array literal: \"%.*s\"",
                              (int)MIN_OF(s.len, 200), s.ptr);
            if (*p == '\\' && p + 1 < end) p++;
            text[n++] = *p;
            if (*p != ' ') keep = n;
        }
        n = keep;
        Value v = {.type = type_make(T_UNKNOWN)};
        v.is_null = !quoted && n == 4 && (memcmp(text, "NULL", 4) == 0 || memcmp(text, "null", 4) == 0);
        if (!quoted && n == 0)
            return err_at(b->err, bind_pos(b, location), ERR_INVALID_TEXT, "malformed array literal: \"%.*s\"",
                          (int)MIN_OF(s.len, 200), s.ptr);
        v.u.str = str_make(text, n);
        Expr *e = expr_const(b->c, &v);
        if (!e || !vec_push(b->a, out, e)) return ST_ERROR;
        e->location = location;
        more = p < end && *p == ',';
        if (more) p++;
    }
    return ST_OK;
}

static Status array_items(Binder *b, Query *q, const AstExpr *array, const Expr *left, ExprVec *out) {
    TRY(stack_check_at(b->err, bind_pos(b, array->location)));
    if (array->kind == AST_ARRAY) {
        const AstList *l = AST_AS_CONST(AstList, array);
        for (int64_t i = 0; i < l->n_items; i++) {
            Expr *e = bind_expr(b, q, l->items[i]);
            if (!e || !vec_push(b->a, out, e)) return ST_ERROR;
        }
        return ST_OK;
    }
    if (array->kind == AST_STRING_LIT) {
        int64_t from = out->len;
        TRY(split_array(b, AST_AS_CONST(AstLiteral, array)->text, array->location, out));
        Type t = left->type;
        if (t.id == T_UNKNOWN) t = type_make(T_TEXT);
        if (type_has_length(t)) t.length = 0;
        if (t.id == T_NUMERIC) return ST_OK;
        for (int64_t i = from; i < out->len; i++)
            if (!(out->items[i] = bind_coerce(b, out->items[i], t, CAST_IMPLICIT, array->location))) return ST_ERROR;
        return ST_OK;
    }
    if (array->kind == AST_CAST && AST_AS_CONST(AstCast, array)->type->array_dims) {
        const AstCast *c = AST_AS_CONST(AstCast, array);
        AstTypeName elem = *c->type;
        elem.array_dims = 0;
        Type t;
        TRY(bind_type(b, &elem, &t, NULL));
        int64_t from = out->len;
        Expr as_text = {.type = t};
        TRY(array_items(b, q, c->arg, &as_text, out));
        for (int64_t i = from; i < out->len; i++)
            if (!(out->items[i] = bind_coerce(b, out->items[i], t, CAST_EXPLICIT, c->location))) return ST_ERROR;
        return ST_OK;
    }
    return err_internal(b->err, "binder: not a spelled out array");
}

/* ARRAY[...], an array literal, or one of them cast: its items are known one by one. Not those of several dimensions or
 * with bounds. */
static bool spelled_out(const AstExpr *e) {
    if (e->kind == AST_CAST && AST_AS_CONST(AstCast, e)->type->array_dims == 1) e = AST_AS_CONST(AstCast, e)->arg;
    if (e->kind == AST_ARRAY) {
        const AstList *l = AST_AS_CONST(AstList, e);
        for (int64_t i = 0; i < l->n_items; i++)
            if (l->items[i]->kind == AST_ARRAY) return false;
        return true;
    }
    if (e->kind != AST_STRING_LIT) return false;
    const Slice s = AST_AS_CONST(AstLiteral, e)->text;
    const char *brace = s.len ? memchr(s.ptr, '{', (size_t)s.len) : NULL;
    const int64_t behind = brace ? s.len - (brace + 1 - s.ptr) : 0;
    return (!s.len || !memchr(s.ptr, '[', (size_t)(brace ? brace - s.ptr : s.len))) &&
           (behind == 0 || !memchr(brace + 1, '{', (size_t)behind));
}

Expr *bind_quantified(Binder *b, Query *q, const AstQuantified *x) {
    Expr *l = bind_expr(b, q, x->left);
    ExprVec items = {0};
    if (l && !spelled_out(x->array)) return bind_any_array(b, x->op, x->all, l, bind_expr(b, q, x->array), x->location);
    if (!l || array_items(b, q, x->array, l, &items) != ST_OK) return NULL;
    for (int64_t i = 0; i < items.len; i++) /* one dimension more */
        if (items.items[i]->type.id == T_ARRAY)
            return bind_any_array(b, x->op, x->all, l, bind_array_of(b, items.len, items.items, x->location),
                                  x->location);
    return any_all(b, x->op, x->all, false, l, items.len, items.items, x->location);
}

/* ---- subqueries ----------------------------------------------------------------------------- */

static Expr *bind_any_sub(Binder *b, Query *q, const AstSubLink *s) {
    Expr **l;
    int64_t n = 1;
    if (s->test->kind == AST_ROW) {
        const AstList *row = AST_AS_CONST(AstList, s->test);
        n = row->n_items;
        l = bind_list(b, q, row->items, n);
    } else if ((l = arena_array(b->a, Expr *, 1))) {
        l[0] = bind_expr(b, q, s->test);
    }
    if (!l || (n && !l[0])) return NULL;
    SelectEnv env = {.outer = q, .ctes = q->ctes};
    Rel r;
    if (inner_select(b, &env, s->query, &r) != ST_OK) return NULL;
    if (r.n != n) {
        err_at(b->err, bind_pos(b, s->location), ERR_SYNTAX,
               r.n > n ? "subquery has too many columns" : "subquery has too few columns");
        return NULL;
    }
    const char *op = s->op ? s->op : "=";
    bool all = s->sub_kind == AST_SUB_ALL, negate = false;
    if (n > 1 && strcmp(op, "<>") == 0) { /* a row differs from some: not equal to all */
        op = "=";
        all = !all;
        negate = true;
    }
    Expr *e = subquery_expr(b, SQ_IN, type_make(T_BOOL), &r, s->location);
    if (!e || !(e->u.sub.compare = arena_array(b->a, Expr *, n))) return NULL;
    e->all = all;
    Expr **right = arena_array(b->a, Expr *, n);
    if (!right) return NULL;
    for (int64_t i = 0; i < n; i++) {
        if (!(right[i] = expr_col(b->c, r.cols[i]))) return NULL;
        right[i]->location = s->location;
        if (!(l[i] = bind_beside(b, l[i], right[i]->type, s->location))) return NULL;
    }
    if (n == 1 || strcmp(op, "=") == 0) {
        for (int64_t i = 0; i < n; i++) {
            Expr *c = bind_op(b, op, l[i], right[i], s->location);
            if (!c) return NULL;
            if (c->type.id != T_BOOL) {
                err_at(b->err, bind_pos(b, s->location), ERR_WRONG_OBJECT_TYPE,
                       "op ANY/ALL (array) requires operator to yield boolean");
                return NULL;
            }
            e->u.sub.compare[i] = c;
        }
    } else { /* order of rows: one condition over all columns */
        for (int64_t i = 1; i < n; i++)
            if (!(e->u.sub.compare[i] = expr_bool(b->c, true))) return NULL;
        if (!(e->u.sub.compare[0] = bind_compare_rows(b, op, n, l, right, s->location))) return NULL;
    }
    return negate ? bind_not(b, e, s->location) : e;
}

Expr *bind_sublink(Binder *b, Query *q, const AstSubLink *s) {
    if (q->is_default || q->no_subqueries) {
        err_at(b->err, bind_pos(b, s->location), ERR_FEATURE_NOT_SUPPORTED, "cannot use subquery in %s",
               q->no_subqueries ? q->no_subqueries : "DEFAULT expression");
        return NULL;
    }
    if (s->sub_kind == AST_SUB_ANY || s->sub_kind == AST_SUB_ALL) return bind_any_sub(b, q, s);
    SelectEnv env = {.outer = q, .ctes = q->ctes};
    Rel r;
    if (inner_select(b, &env, s->query, &r) != ST_OK) return NULL;
    if (s->sub_kind == AST_SUB_ARRAY && bind_array_rel(b, &r, s->location) != ST_OK) return NULL;
    if (s->sub_kind == AST_SUB_EXISTS) return subquery_expr(b, SQ_EXISTS, type_make(T_BOOL), &r, s->location);
    if (r.n != 1) {
        err_at(b->err, bind_pos(b, s->location), ERR_SYNTAX, "subquery must return only one column");
        return NULL;
    }
    return subquery_expr(b, SQ_SCALAR, b->c->cols.items[r.cols[0]].type, &r, s->location);
}
