/* bind_expr.c - expressions: names resolved, types decided, casts inserted.
 */
#include "catalog/named_type.h"
#include "sql/bind/bind_int.h"
#include "types/array.h"

Expr **bind_list(Binder *b, Query *q, AstExpr *const *items, int64_t n) {
    Expr **out = arena_array(b->a, Expr *, n + 1);
    for (int64_t i = 0; out && i < n; i++)
        if (!(out[i] = bind_expr(b, q, items[i]))) return NULL;
    return out;
}

/* ---- names of result columns ---------------------------------------------------- */

/* NULL: no opinion. *weak: a type's name or `case`, which gives way to that of what stands around it. */
static const char *guess_name(const AstExpr *e, bool *weak) {
    *weak = false;
    if (!e || stack_stop()) return NULL;
    switch ((int)e->kind) {
    case AST_COLUMN: return AST_AS_CONST(AstColumn, e)->name;
    case AST_FIELD: return AST_AS_CONST(AstField, e)->name;
    case AST_SUBSCRIPT: return guess_name(AST_AS_CONST(AstSubscript, e)->arg, weak);
    case AST_COLLATE: return guess_name(AST_AS_CONST(AstCollate, e)->arg, weak);
    case AST_FUNC: return AST_AS_CONST(AstFunc, e)->name.name;
    case AST_CAST: {
        const AstCast *c = AST_AS_CONST(AstCast, e);
        const char *n = guess_name(c->arg, weak);
        if (n && !*weak) return n;
        *weak = true;
        return c->type->name;
    }
    case AST_CASE: {
        const char *n = guess_name(AST_AS_CONST(AstCase, e)->otherwise, weak);
        if (n && !*weak) return n;
        *weak = true;
        return "case";
    }
    case AST_COALESCE: return "coalesce";
    case AST_GREATEST: return "greatest";
    case AST_LEAST: return "least";
    case AST_NULLIF: return "nullif";
    case AST_ARRAY: return "array";
    case AST_ROW: return "row";
    case AST_GROUPING: return "grouping";
    case AST_SUBLINK: {
        const AstSubLink *s = AST_AS_CONST(AstSubLink, e);
        if (s->sub_kind == AST_SUB_EXISTS) return "exists";
        if (s->sub_kind == AST_SUB_ARRAY) return "array";
        if (s->sub_kind != AST_SUB_SCALAR) return NULL;
        const AstSelect *q = s->query;
        while (q && q->set_op != AST_SETOP_NONE) q = q->left;
        if (!q) return NULL;
        if (q->n_values) return "column1";
        if (q->n_targets != 1) return NULL;
        return q->targets[0].alias ? q->targets[0].alias : bind_target_name(q->targets[0].expr);
    }
    case AST_SQL_VALUE: {
        static const char *const names[] = {
            [AST_CURRENT_DATE] = "current_date",           [AST_CURRENT_TIME] = "current_time",
            [AST_CURRENT_TIMESTAMP] = "current_timestamp", [AST_LOCALTIME] = "localtime",
            [AST_LOCALTIMESTAMP] = "localtimestamp",       [AST_CURRENT_USER] = "current_user",
            [AST_SESSION_USER] = "session_user",           [AST_CURRENT_CATALOG] = "current_catalog",
            [AST_CURRENT_SCHEMA] = "current_schema"};
        return names[AST_AS_CONST(AstSqlValue, e)->value];
    }
    default: return NULL;
    }
}

const char *bind_target_name(const AstExpr *e) {
    bool weak;
    const char *n = guess_name(e, &weak);
    return n ? n : "?column?";
}

/* ---- special forms ------------------------------------------------------------------ */

static Expr *bind_sql_value(Binder *b, const AstSqlValue *v) {
    static const char *const names[] = {
        [AST_CURRENT_DATE] = "current_date",           [AST_CURRENT_TIME] = "current_time",
        [AST_CURRENT_TIMESTAMP] = "current_timestamp", [AST_LOCALTIME] = "localtime",
        [AST_LOCALTIMESTAMP] = "localtimestamp",       [AST_CURRENT_USER] = "current_user",
        [AST_SESSION_USER] = "session_user",           [AST_CURRENT_CATALOG] = "current_catalog",
        [AST_CURRENT_SCHEMA] = "current_schema"};
    Expr *e = bind_call(b, names[v->value], false, 0, NULL, v->location);
    if (!e || v->precision < 0 || v->precision >= 6) return e;
    Type t = e->type;
    t.precision = (uint8_t)v->precision;
    return bind_coerce(b, e, t, CAST_EXPLICIT, v->location);
}

/* ---- arrays of domains: values of the domain's type, each of which is looked at ---- */

/* args: the array, the domain's id. */
static Status elements_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    const Type element = type_element(args[0].type);
    (void)nargs;
    if (!ctx->session || !ctx->session->check_domain)
        return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "values cannot become ones of a domain here");
    for (int64_t i = 0; i < n; i++) {
        Value array, id;
        bind_arg_value(&args[0], i, &array);
        bind_arg_value(&args[1], i, &id);
        const ArrayView items = array.is_null ? (ArrayView){0} : array_view(array.u.str);
        for (int64_t k = 0; k < items.n; k++) {
            Value v = {.type = element, .is_null = array_is_null(&items, k)};
            if (!v.is_null) array_get(&items, k, value_cell(&v));
            if (ctx->session->check_domain(ctx->session->setting_ctx, id.u.i64, &v, ctx->err) == ST_OK) continue;
            ctx->error_row = i;
            return ST_ERROR;
        }
        bind_put_value(out, i, &array);
    }
    return ST_OK;
}
static const FuncDef elements_def = {.name = "domain_check_elements",
                                     .flags = FN_CAN_FAIL | FN_VOLATILE,
                                     .ret = T_VOID,
                                     .nargs = 2,
                                     .args = {T_VOID, T_INT8},
                                     .kernel = elements_kernel,
                                     .doc = "internal: an array as one of values of a domain"};
static Expr *cast_to_array(Binder *b, Query *q, const AstCast *c, const Domain *d) {
    const bool literal = c->arg->kind == AST_ARRAY;
    if (d->type.id == T_ARRAY) return bind_unsupported(b, c->location, "arrays of domains over arrays"), NULL;
    const Type t = type_array_of(d->type);
    Expr *e = literal ? bind_array(b, q, AST_AS_CONST(AstList, c->arg), &t) : bind_expr(b, q, c->arg);
    if (!(e = bind_coerce(b, e, t, CAST_EXPLICIT, c->location))) return NULL;
    Expr *x = expr_new(b->c, EX_FUNC, t, 2);
    if (!x || !(x->args[1] = bind_int8_const(b, d->id)) || !vec_push(b->a, &b->c->domain_ids, d->id)) return NULL;
    x->args[0] = e;
    x->u.func = &elements_def;
    b->c->one_thread = true;
    return x;
}

static Expr *bind_cast(Binder *b, Query *q, const AstCast *c) {
    Type t;
    const Domain *domain;
    const bool array = c->type->array_dims && !c->type->percent_type;
    const NamedType named = array ? catalog_type(b->c->catalog, c->type->schema, c->type->name) : (NamedType){0};
    if (named.domain) return cast_to_array(b, q, c, named.domain);
    if (bind_type(b, c->type, &t, &domain) != ST_OK) return NULL;
    Expr *arg;
    if (c->arg->kind == AST_NUMBER_LIT && (t.id == T_FLOAT8 || t.id == T_FLOAT4)) {
        /* 1e300::float8: never a numeric in between */
        Value v = {.type = type_make(T_UNKNOWN)};
        Slice s = AST_AS_CONST(AstLiteral, c->arg)->text;
        v.u.str = str_make(s.ptr, s.len);
        if ((arg = expr_const(b->c, &v))) arg->location = c->arg->location;
    } else if (c->arg->kind == AST_ARRAY && t.id == T_ARRAY) {
        arg = bind_array(b, q, AST_AS_CONST(AstList, c->arg), &t);
    } else {
        arg = bind_expr(b, q, c->arg);
    }
    Expr *e = bind_coerce(b, arg, t, CAST_EXPLICIT, c->location);
    if (domain || !e || !e->domain) return bind_domain(b, e, domain, c->location);
    if ((e = bind_copy(b, e))) e->domain = 0; /* of the base type */
    return e;
}

static Expr *bind_is(Binder *b, Query *q, const AstIs *is) {
    if (is->test == AST_IS_NULL) {
        RowValue row;
        bool is_row;
        if (bind_row_value(b, q, is->arg, &row, &is_row) != ST_OK) return NULL;
        if (is_row) return bind_row_null(b, &row, is->negated, is->location);
        Expr *arg = bind_expr(b, q, is->arg);
        if (arg && bind_is_unknown(arg)) arg = bind_coerce(b, arg, type_make(T_TEXT), CAST_IMPLICIT, is->location);
        if (arg && arg->type.id == T_COMPOSITE)
            return bind_call(b, is->negated ? "row_is_not_null" : "row_is_null", false, 1, &arg, is->location);
        return bind_unary(b, is->negated ? EX_IS_NOT_NULL : EX_IS_NULL, arg, is->location);
    }
    static const char *const what[][2] = {[AST_IS_TRUE] = {"IS TRUE", "IS NOT TRUE"},
                                          [AST_IS_FALSE] = {"IS FALSE", "IS NOT FALSE"},
                                          [AST_IS_UNKNOWN] = {"IS UNKNOWN", "IS NOT UNKNOWN"}};
    static const uint8_t kinds[][2] = {[AST_IS_TRUE] = {EX_IS_TRUE, EX_IS_NOT_TRUE},
                                       [AST_IS_FALSE] = {EX_IS_FALSE, EX_IS_NOT_FALSE},
                                       [AST_IS_UNKNOWN] = {EX_IS_NULL, EX_IS_NOT_NULL}};
    Expr *arg = bind_bool(b, bind_expr(b, q, is->arg), what[is->test][is->negated], is->arg->location);
    return bind_unary(b, (ExprKind)kinds[is->test][is->negated], arg, is->location);
}

/* PostgreSQL resolves DISTINCT FROM as "=". */
static Expr *no_equality(Binder *b, const Expr *l, const Expr *r, int64_t location) {
    err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "operator does not exist: %s = %s",
           type_plain_name(l->type), type_plain_name(r->type));
    err_hint(b->err,
             "No operator matches the given name and argument types. You might need to add explicit type casts.");
    return NULL;
}
static bool is_null_literal(const Expr *e) { return bind_is_unknown(e) && e->kind == EX_CONST && e->u.value.is_null; }

Expr *bind_distinct(Binder *b, bool negated, Expr *l, Expr *r, int64_t location) {
    if (!l || !r) return NULL;
    Expr *args[2] = {l, r};
    bool null = is_null_literal(l) || is_null_literal(r); /* asks whether the other is NULL */
    Type t;
    if (bind_row_pair(b, args, location) != ST_OK) return NULL;
    if (l->type.id == T_COMPOSITE && r->type.id == T_COMPOSITE) /* of one form now */
        for (int i = 0; i < 2; i++)
            if (bind_check_groupable(b, args[i]->type, location) != ST_OK ||
                !(args[i] = bind_key(b, args[i], location)))
                return NULL;
    if (bind_comparable(b, 2, args, negated ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM", &t) != ST_OK) {
        if (strcmp(b->err->sqlstate, ERR_DATATYPE_MISMATCH) != 0) return NULL;
        err_clear(b->err);
        return no_equality(b, l, r, location);
    }
    if (!null && type_is_unordered(t)) return no_equality(b, l, r, location);
    if (!null && t.id == T_ARRAY && bind_check_groupable(b, type_element(t), location) != ST_OK) return NULL;
    for (int i = 0; i < 2 && !bind_groupable(t); i++)
        if (!(args[i] = bind_key(b, args[i], location))) return NULL;
    Expr *e = expr_new(b->c, negated ? EX_NOT_DISTINCT : EX_DISTINCT, type_make(T_BOOL), 2);
    if (!e) return NULL;
    e->args[0] = args[0];
    e->args[1] = args[1];
    e->location = location;
    return e;
}

static Expr *bind_distinct_from(Binder *b, Query *q, const AstDistinctFrom *d) {
    if (d->left->kind == AST_ROW && d->right->kind == AST_ROW) {
        const AstList *l = AST_AS_CONST(AstList, d->left), *r = AST_AS_CONST(AstList, d->right);
        if (l->n_items != r->n_items || !l->n_items) {
            err_at(b->err, bind_pos(b, d->location), ERR_SYNTAX, "unequal number of entries in row expressions");
            return NULL;
        }
        Expr **x = bind_list(b, q, l->items, l->n_items), **y = x ? bind_list(b, q, r->items, r->n_items) : NULL;
        if (!y) return NULL;
        for (int64_t i = 0; i < l->n_items; i++)
            if (!(x[i] = bind_distinct(b, d->negated, x[i], y[i], d->location))) return NULL;
        return bind_nary(b, d->negated ? EX_AND : EX_OR, l->n_items, x, d->location);
    }
    Expr *l = bind_expr(b, q, d->left), *r = l ? bind_expr(b, q, d->right) : NULL;
    return bind_distinct(b, d->negated, l, r, d->location);
}

static Expr *between_once(Binder *b, const Expr *x, const Expr *lo, const Expr *hi, int64_t location) {
    Expr *parts[2] = {bind_op(b, ">=", bind_copy(b, x), bind_copy(b, lo), location), NULL};
    if (!parts[0]) return NULL;
    parts[1] = bind_op(b, "<=", bind_copy(b, x), bind_copy(b, hi), location);
    return bind_nary(b, EX_AND, 2, parts, location);
}

static Expr *bind_between(Binder *b, Query *q, const AstBetween *x) {
    Expr *arg = bind_expr(b, q, x->arg), *lo = arg ? bind_expr(b, q, x->low) : NULL,
         *hi = lo ? bind_expr(b, q, x->high) : NULL;
    if (!hi) return NULL;
    Expr *e = bind_bool(b, between_once(b, arg, lo, hi, x->location), x->negated ? "OR" : "AND", x->location);
    if (e && x->symmetric) {
        Expr *both[2] = {e, between_once(b, arg, hi, lo, x->location)};
        e = bind_nary(b, EX_OR, 2, both, x->location);
    }
    return x->negated ? bind_not(b, e, x->location) : e;
}

/* Set-returning functions since there were that many calls. */
static Status no_srfs(Binder *b, const Query *q, int64_t before, const char *where) {
    if (q->srf_calls == before) return ST_OK;
    err_at(b->err, bind_pos(b, q->srf_location), ERR_FEATURE_NOT_SUPPORTED,
           "set-returning functions are not allowed in %s", where);
    err_hint(b->err, "You might be able to move the set-returning function into a LATERAL FROM item.");
    return ST_ERROR;
}

static Expr *bind_case(Binder *b, Query *q, const AstCase *c) {
    Expr *arg = NULL;
    int64_t srfs = q->srf_calls;
    if (c->arg) {
        if (!(arg = bind_expr(b, q, c->arg))) return NULL;
        if (bind_is_unknown(arg)) arg = bind_coerce(b, arg, type_make(T_TEXT), CAST_IMPLICIT, arg->location);
        if (!arg) return NULL;
    }
    int64_t n = c->n_whens;
    Expr **results = arena_array(b->a, Expr *, n + 1);
    Expr *e = expr_new(b->c, EX_CASE, type_make(T_TEXT), (int32_t)(2 * n + 1));
    if (!results || !e) return NULL;
    for (int64_t i = 0; i < n; i++) {
        const AstWhen *w = &c->whens[i];
        Expr *when = bind_expr(b, q, w->when);
        when = arg ? bind_op(b, "=", bind_copy(b, arg), when, w->location)
                   : bind_bool(b, when, "CASE/WHEN", w->when->location);
        if (!when || !(results[i + 1] = bind_expr(b, q, w->then))) return NULL;
        e->args[2 * i] = when;
    }
    results[0] = c->otherwise ? bind_expr(b, q, c->otherwise) : bind_null(b, type_make(T_UNKNOWN));
    /* PostgreSQL looks at ELSE first: matters for messages only */
    if (!results[0] || bind_common(b, n + 1, results, "CASE", &e->type) != ST_OK ||
        no_srfs(b, q, srfs, "CASE") != ST_OK)
        return NULL;
    for (int64_t i = 0; i < n; i++) e->args[2 * i + 1] = results[i + 1];
    e->args[2 * n] = results[0];
    e->location = c->location;
    return e;
}

static Expr *bind_coalesce(Binder *b, Query *q, const AstList *l) {
    int64_t srfs = q->srf_calls;
    Expr **args = bind_list(b, q, l->items, l->n_items);
    Expr *e = expr_new(b->c, EX_COALESCE, type_make(T_TEXT), (int32_t)l->n_items);
    if (!args || !e || bind_common(b, l->n_items, args, "COALESCE", &e->type) != ST_OK ||
        no_srfs(b, q, srfs, "COALESCE") != ST_OK)
        return NULL;
    if (l->n_items == 1) return args[0];
    memcpy(e->args, args, sizeof *args * (size_t)l->n_items);
    e->location = l->location;
    return e;
}

/* Integers, numerics, floats; 4: no number. */
static int number_rank(Type t) {
    if (type_is_integer(t)) return 1;
    return t.id == T_NUMERIC || t.id == T_DECIMAL ? 2 : t.id == T_FLOAT4 || t.id == T_FLOAT8 ? 3 : 4;
}
static Expr *bind_nullif(Binder *b, Query *q, const AstList *l) {
    Expr **args = bind_list(b, q, l->items, l->n_items);
    if (!args) return NULL;
    for (int i = 0; i < 2; i++)
        if (bind_is_unknown(args[i]) && (i == 1 || bind_is_unknown(args[1]))) {
            Type t = bind_is_unknown(args[0]) ? type_make(T_TEXT) : args[0]->type;
            if (type_has_length(t)) t.length = 0;
            if (t.id == T_NUMERIC) t = type_make(T_NUMERIC);
            if (!(args[i] = bind_coerce(b, args[i], t, CAST_IMPLICIT, l->location))) return NULL;
        }
    /* A number is of the type in which it is compared, where that is no operator of its own. */
    const int rank[2] = {number_rank(args[0]->type), number_rank(args[1]->type)};
    Type t;
    if (rank[0] < rank[1] && rank[1] == 2 && bind_common(b, 2, args, "NULLIF", &t) != ST_OK) return NULL;
    if (rank[0] < rank[1] && rank[1] == 3)
        args[0] = bind_coerce(b, args[0], type_make(T_FLOAT8), CAST_IMPLICIT, l->location);
    if (!args[0]) return NULL;
    Expr *eq = bind_op(b, "=", bind_copy(b, args[0]), bind_copy(b, args[1]), l->location);
    args[0] = bind_beside(b, args[0], args[1]->type, l->location);
    if (!eq || !args[0]) return NULL;
    Expr *e = expr_new(b->c, EX_NULLIF, args[0]->type, 3);
    if (!e) return NULL;
    e->args[0] = args[0];
    e->args[1] = args[1];
    e->args[2] = eq;
    e->location = l->location;
    return e;
}

static Expr *bind_minmax(Binder *b, Query *q, const AstList *l, const char *name) {
    Expr **args = bind_list(b, q, l->items, l->n_items);
    Type t;
    if (!args || bind_common(b, l->n_items, args, name[0] == 'g' ? "GREATEST" : "LEAST", &t) != ST_OK) return NULL;
    return bind_call(b, name, false, (int)l->n_items, args, l->location);
}

static Expr *bind_like(Binder *b, Query *q, const AstLike *l) {
    Expr *arg = bind_expr(b, q, l->arg), *pattern = arg ? bind_expr(b, q, l->pattern) : NULL;
    if (!pattern) return NULL;
    if (l->like_kind == AST_LIKE_SIMILAR) {
        Expr *args[2] = {pattern, NULL};
        if (l->escape && !(args[1] = bind_expr(b, q, l->escape))) return NULL;
        pattern = bind_call(b, "similar_to_escape", false, l->escape ? 2 : 1, args, l->location);
        return bind_op(b, l->negated ? "!~" : "~", arg, pattern, l->location);
    }
    if (l->escape) {
        Expr *args[2] = {pattern, bind_expr(b, q, l->escape)};
        pattern = bind_call(b, "like_escape", false, 2, args, l->location);
    }
    static const char *const ops[2][2] = {{"~~", "!~~"}, {"~~*", "!~~*"}};
    return bind_op(b, ops[l->like_kind == AST_LIKE_ILIKE][l->negated], arg, pattern, l->location);
}

/* PostgreSQL's operators of anyenum do not take domains over enumerated types. */
static bool is_enum_domain(const Binder *b, const Expr *e) {
    return e->type.id == T_ENUM && e->domain && catalog_domain_by_id(b->c->catalog, e->domain);
}
static const char *operand_name(Binder *b, const Expr *e) {
    const Domain *d = catalog_domain_by_id(b->c->catalog, e->domain);
    return d ? domain_shown(b->a, d) : type_plain_name(e->type);
}
static Expr *no_enum_operator(Binder *b, const char *op, const Expr *l, const Expr *r, int64_t location) {
    const char *left = operand_name(b, l), *right = operand_name(b, r);
    if (!left || !right) return NULL;
    err_at(b->err, bind_pos(b, location), ERR_UNDEFINED_FUNCTION, "operator does not exist: %s %s %s", left, op, right);
    err_hint(b->err,
             "No operator matches the given name and argument types. You might need to add explicit type casts.");
    return NULL;
}
static Expr *bind_operator(Binder *b, Query *q, const AstOp *o) {
    if (o->op_schema && strcmp(o->op_schema, "pg_catalog") != 0) {
        err_at(b->err, bind_pos(b, o->location), ERR_UNDEFINED_FUNCTION, "operator does not exist: %s.%s", o->op_schema,
               o->op);
        return NULL;
    }
    if (!o->left) {
        Expr *arg = bind_expr(b, q, o->right);
        return bind_call(b, o->op, true, 1, &arg, o->location);
    }
    const bool rows = o->left->kind == AST_ROW && o->right->kind == AST_ROW;
    if (rows || (o->left->kind == AST_ROW && o->right->kind == AST_SUBLINK))
        return bind_row_op(b, q, o->op, o->left, o->right, o->location);
    Expr *l = bind_expr(b, q, o->left), *r = l ? bind_expr(b, q, o->right) : NULL;
    if (r && bind_is_comparison(o->op) && (is_enum_domain(b, l) || is_enum_domain(b, r)))
        return no_enum_operator(b, o->op, l, r, o->location);
    return bind_op(b, o->op, l, r, o->location);
}

static Expr *bind_bool_op(Binder *b, Query *q, const AstBool *x) {
    const char *what = x->kind == AST_AND ? "AND" : x->kind == AST_OR ? "OR" : "NOT";
    Expr **args = arena_array(b->a, Expr *, x->n_items);
    if (!args) return NULL;
    for (int64_t i = 0; i < x->n_items; i++)
        if (!(args[i] = bind_bool(b, bind_expr(b, q, x->items[i]), what, x->items[i]->location))) return NULL;
    if (x->kind == AST_NOT) return bind_not(b, args[0], x->location);
    return bind_nary(b, x->kind == AST_AND ? EX_AND : EX_OR, x->n_items, args, x->location);
}

Status sql_check_collation(const AstName *collation, Type t, int64_t position, Err *e) {
    static const char *const binary[] = {"C", "POSIX", "default", "ucs_basic", "C.UTF-8", "C.utf8"};
    if (t.id == T_ARRAY) t = type_element(t);
    if (!type_is_text(t))
        return err_at(e, position, ERR_DATATYPE_MISMATCH, "collations are not supported by type %s",
                      type_plain_name(t));
    if (collation->schema)
        return err_at(e, position, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", collation->schema);
    for (int64_t i = 0; i < ARRAY_LEN(binary); i++)
        if (strcmp(binary[i], collation->name) == 0) return ST_OK;
    err_at(e, position, ERR_UNDEFINED_OBJECT, "collation \"%s\" for encoding \"UTF8\" does not exist", collation->name);
    err_hint(e, "Text is always ordered by its bytes, as with COLLATE \"C\".");
    return ST_ERROR;
}

static Expr *bind_collate(Binder *b, Query *q, const AstCollate *c) {
    Expr *e = bind_expr(b, q, c->arg);
    return e && sql_check_collation(&c->collation, e->type, bind_pos(b, c->location), b->err) == ST_OK ? e : NULL;
}

/* WHERE CURRENT OF: the target, which is the first item, is in the cursor's row. */
static Expr *bind_current_of(Binder *b, const Query *q, const AstCurrentOf *x) {
    const NsItem *target = &q->ns.items[0];
    int64_t row = -1;
    if (!target->table) {
        err_set(b->err, ERR_FEATURE_NOT_SUPPORTED, "WHERE CURRENT OF on a view is not implemented");
        return NULL;
    }
    b->c->rows.of_cursor = true;
    if (b->c->rows.current && b->c->rows.current(b->c->rows.current_ctx, x->cursor, target->table, &row) != ST_OK)
        return NULL;
    if (row < 0) return expr_bool(b->c, false);
    return bind_op(b, "=", expr_col(b->c, target->rowid), bind_int8_const(b, row), 0);
}

static Expr *bind_column_or_row(Binder *b, Query *q, const AstExpr *e) {
    RowValue row;
    bool is_row;
    if (bind_row_value(b, q, e, &row, &is_row) != ST_OK) return NULL;
    return is_row ? bind_row_cell(b, &row, e->location) : bind_column(b, q, AST_AS_CONST(AstColumn, e));
}

/* t.* as a value is the whole row. */
static Expr *bind_star_row(Binder *b, Query *q, const AstExpr *e) {
    RowValue row;
    bool is_row = false;
    if (bind_row_value(b, q, e, &row, &is_row) != ST_OK) return NULL;
    if (is_row) return bind_row_cell(b, &row, e->location);
    err_at(b->err, bind_pos(b, e->location), ERR_SYNTAX, "row expansion via \"*\" is not supported here");
    return NULL;
}

static Expr *bind_node(Binder *b, Query *q, const AstExpr *e) {
    switch ((int)e->kind) {
    case AST_NULL_LIT:
    case AST_BOOL_LIT:
    case AST_INT_LIT:
    case AST_NUMBER_LIT:
    case AST_STRING_LIT:
    case AST_BITS_LIT: return bind_literal(b, e);
    case AST_CAST: return bind_cast(b, q, AST_AS_CONST(AstCast, e));
    case AST_PARAM: return bind_param(b, AST_AS_CONST(AstParam, e)->number, e->location);
    case AST_COLUMN:
    case AST_ROW: return bind_column_or_row(b, q, e);
    case AST_STAR: return bind_star_row(b, q, e);
    case AST_FIELD: return bind_row_field(b, q, AST_AS_CONST(AstField, e));
    case AST_SUBSCRIPT: return bind_subscript(b, q, AST_AS_CONST(AstSubscript, e));
    case AST_COLLATE: return bind_collate(b, q, AST_AS_CONST(AstCollate, e));
    case AST_OP: return bind_operator(b, q, AST_AS_CONST(AstOp, e));
    case AST_AND:
    case AST_OR:
    case AST_NOT: return bind_bool_op(b, q, AST_AS_CONST(AstBool, e));
    case AST_IS: return bind_is(b, q, AST_AS_CONST(AstIs, e));
    case AST_DISTINCT_FROM: return bind_distinct_from(b, q, AST_AS_CONST(AstDistinctFrom, e));
    case AST_BETWEEN: return bind_between(b, q, AST_AS_CONST(AstBetween, e));
    case AST_IN_LIST: return bind_in_list(b, q, AST_AS_CONST(AstInList, e));
    case AST_QUANTIFIED: return bind_quantified(b, q, AST_AS_CONST(AstQuantified, e));
    case AST_SUBLINK: return bind_sublink(b, q, AST_AS_CONST(AstSubLink, e));
    case AST_CASE: return bind_case(b, q, AST_AS_CONST(AstCase, e));
    case AST_COALESCE: return bind_coalesce(b, q, AST_AS_CONST(AstList, e));
    case AST_GREATEST: return bind_minmax(b, q, AST_AS_CONST(AstList, e), "greatest");
    case AST_LEAST: return bind_minmax(b, q, AST_AS_CONST(AstList, e), "least");
    case AST_NULLIF: return bind_nullif(b, q, AST_AS_CONST(AstList, e));
    case AST_ARRAY: return bind_array(b, q, AST_AS_CONST(AstList, e), NULL);
    case AST_GROUPING: return bind_grouping(b, q, AST_AS_CONST(AstList, e));
    case AST_LIKE: return bind_like(b, q, AST_AS_CONST(AstLike, e));
    case AST_FUNC: return bind_func(b, q, AST_AS_CONST(AstFunc, e));
    case AST_SQL_VALUE: return bind_sql_value(b, AST_AS_CONST(AstSqlValue, e));
    case AST_CURRENT_OF: return bind_current_of(b, q, AST_AS_CONST(AstCurrentOf, e));
    case AST_DEFAULT:
        err_at(b->err, bind_pos(b, e->location), ERR_SYNTAX, "DEFAULT is not allowed in this context");
        return NULL;
    default: err_internal(b->err, "binder: unexpected node %s", ast_kind_name(e->kind)); return NULL;
    }
}

Expr *bind_expr(Binder *b, Query *q, const AstExpr *e) {
    return stack_check_at(b->err, bind_pos(b, e->location)) == ST_OK ? bind_node(b, q, e) : NULL;
}
