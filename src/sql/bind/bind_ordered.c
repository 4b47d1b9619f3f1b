/* bind_ordered.c - aggregates WITHIN GROUP.
 *
 * Those that look for a value in an order (mode, percentile_*) are functions over array_agg of the values
 * (types/func_percentile.c). Those of a hypothetical row (rank and the like) are counts of the rows that would stand
 * before it: no row is sorted. Direct arguments use grouped columns only.
 */
#include "sql/bind/bind_int.h"

typedef enum OrderedKind { OA_NONE, OA_MODE, OA_DISC, OA_CONT, OA_RANK, OA_DENSE, OA_PERCENT, OA_CUME } OrderedKind;

static OrderedKind ordered_kind(const char *name) {
    static const char *const names[] = {
        [OA_MODE] = "mode",        [OA_DISC] = "percentile_disc", [OA_CONT] = "percentile_cont", [OA_RANK] = "rank",
        [OA_DENSE] = "dense_rank", [OA_PERCENT] = "percent_rank", [OA_CUME] = "cume_dist"};
    for (int k = OA_MODE; k <= OA_CUME; k++)
        if (strcmp(names[k], name) == 0) return (OrderedKind)k;
    return OA_NONE;
}

Status bind_check_ordered(Binder *b, const AstFunc *f) {
    OrderedKind k = ordered_kind(f->name.name);
    bool is_one = k == OA_MODE ? f->n_args == 1 : k == OA_DISC || k == OA_CONT ? f->n_args == 2 : k && f->n_args > 0;
    if (!is_one) return ST_OK;
    return err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
                  "WITHIN GROUP is required for ordered-set aggregate %s", f->name.name);
}

typedef struct Ordered {
    Binder *b;
    const AstFunc *f;
    Query *level;
    OrderedKind kind;
    int64_t n, n_direct;
    Expr **keys, **direct;
    Expr *filter;
} Ordered;

/* ---- errors -------------------------------------------------------------------------- */

static Expr *no_function(const Ordered *o, const char *hint) {
    Binder *b = o->b;
    const char *types = "";
    for (int64_t i = 0; i < o->n_direct + o->n && types; i++) {
        const Expr *e = i < o->n_direct ? o->direct[i] : o->keys[i - o->n_direct];
        types = arena_printf(b->a, "%s%s%s", types, i ? ", " : "", type_plain_name(e->type));
    }
    if (!types) return NULL;
    err_at(b->err, bind_pos(b, o->f->location), ERR_UNDEFINED_FUNCTION, "function %s(%s) does not exist",
           o->f->name.name, types);
    if (hint) err_hint(b->err, "%s", hint);
    else
        err_hint(b->err, "No function matches the given name and argument types. You might need to add explicit type "
                         "casts.");
    return NULL;
}

static Expr *wrong_direct(const Ordered *o, int64_t wanted) {
    return no_function(o, arena_printf(o->b->a,
                                       "There is an ordered-set aggregate %s, but it requires %lld direct argument%s, "
                                       "not %lld.",
                                       o->f->name.name, (long long)wanted, wanted == 1 ? "" : "s",
                                       (long long)o->n_direct));
}

/* ---- values in an order -------------------------------------------------------------------- */

static Expr *bool_const(Binder *b, bool v) { return expr_bool(b->c, v); }

/* array_agg of the values that are not NULL. */
static Expr *all_values(Ordered *o) {
    Binder *b = o->b;
    Expr *there = bind_unary(b, EX_IS_NOT_NULL, bind_copy(b, o->keys[0]), 0);
    Expr *both[2] = {o->filter, there};
    if (!there || (o->filter && !(there = bind_nary(b, EX_AND, 2, both, 0)))) return NULL;
    return bind_array_agg(b, o->level, o->f, o->keys[0], there);
}

static Expr *value_in_order(Ordered *o) {
    Binder *b = o->b;
    int64_t wanted = o->kind == OA_MODE ? 0 : 1;
    if (o->n_direct != wanted) return wrong_direct(o, wanted);
    if (o->n != 1) return no_function(o, NULL);
    if (o->kind != OA_CONT && o->keys[0]->type.id == T_UNKNOWN) {
        err_at(b->err, bind_pos(b, o->f->location), ERR_DATATYPE_MISMATCH,
               "could not determine polymorphic type because input has type unknown");
        return NULL;
    }
    bool interval = o->keys[0]->type.id == T_INTERVAL, many = false;
    if (o->kind == OA_CONT && !interval) {
        if (o->keys[0]->type.id == T_ARRAY || !cast_exists(o->keys[0]->type, type_make(T_FLOAT8), CAST_IMPLICIT))
            return no_function(o, NULL);
        o->keys[0] = bind_coerce(b, o->keys[0], type_make(T_FLOAT8), CAST_IMPLICIT, o->f->location);
    }
    if (wanted) {
        Type f8 = type_make(T_FLOAT8);
        many = o->direct[0]->type.id == T_ARRAY;
        if (!cast_exists(many ? type_element(o->direct[0]->type) : o->direct[0]->type, f8, CAST_IMPLICIT))
            return no_function(o, NULL);
        o->direct[0] =
            bind_coerce(b, o->direct[0], many ? type_array_of(f8) : f8, CAST_IMPLICIT, o->direct[0]->location);
        if (!o->direct[0]) return NULL;
    }
    Expr *all = o->keys[0] ? all_values(o) : NULL, *desc = bool_const(b, o->f->order_by[0].desc);
    if (!all || !desc) return NULL;
    Expr *args[3] = {all, o->direct[0], desc};
    if (o->kind == OA_MODE) {
        args[1] = desc;
        return bind_call(b, "mode_of", false, 2, args, o->f->location);
    }
    const char *name = o->kind == OA_DISC ? (many ? "percentiles_at" : "percentile_at")
                       : many             ? "percentiles_between"
                                          : "percentile_between";
    return bind_call(b, name, false, 3, args, o->f->location);
}

/* ---- a hypothetical row ---------------------------------------------------------------------- */

static Expr *both(Binder *b, ExprKind kind, Expr *x, Expr *y) {
    Expr *args[2] = {x, y};
    return x && y ? bind_nary(b, kind, 2, args, 0) : NULL;
}

/* Whether the row's key stands before the hypothetical one: never NULL. */
static Expr *key_before(Ordered *o, int64_t i) {
    Binder *b = o->b;
    const AstOrderItem *item = &o->f->order_by[i];
    bool first = item->nulls == AST_NULLS_DEFAULT ? item->desc : item->nulls == AST_NULLS_FIRST;
    Expr *less = bind_op(b, item->desc ? ">" : "<", bind_copy(b, o->keys[i]), bind_copy(b, o->direct[i]), 0);
    Expr *null = bind_unary(b, EX_IS_NULL, bind_copy(b, first ? o->keys[i] : o->direct[i]), 0);
    Expr *value = bind_unary(b, EX_IS_NOT_NULL, bind_copy(b, first ? o->direct[i] : o->keys[i]), 0);
    return both(b, EX_OR, bind_unary(b, EX_IS_TRUE, less, 0), both(b, EX_AND, null, value));
}

static Expr *key_same(Ordered *o, int64_t i) {
    Binder *b = o->b;
    return bind_distinct(b, true, bind_copy(b, o->keys[i]), bind_copy(b, o->direct[i]), 0);
}

/* Whether the row stands before the hypothetical one, or (same) may stand there. */
static Expr *row_before(Ordered *o, bool same) {
    Expr *e = NULL;
    for (int64_t i = o->n - 1; i >= 0; i--) {
        bool last = i == o->n - 1;
        Expr *here = key_before(o, i), *equal = last && !same ? NULL : key_same(o, i);
        if (equal && !last) equal = both(o->b, EX_AND, equal, e);
        e = last && !same ? here : both(o->b, EX_OR, here, equal);
        if (!e) return NULL;
    }
    return e;
}

/* The count of rows, of those for which cond is true, or of the distinct values of arg in them. */
static Expr *count_rows(Ordered *o, Expr *arg, Expr *cond) {
    Binder *b = o->b;
    AggCall c = {.distinct = arg != NULL, .arg = arg};
    Type t, coerced, ret;
    if (arg) t = arg->type;
    if (func_resolve(slice_of("count"), false, arg ? 1 : 0, &t, 0, &c.func, &coerced, &ret, b->err) != ST_OK)
        return NULL;
    c.kind = c.func->agg;
    c.filter = o->filter ? bind_copy(b, o->filter) : NULL;
    if (o->filter && !c.filter) return NULL;
    if (cond && !(c.filter = c.filter ? both(b, EX_AND, c.filter, cond) : cond)) return NULL;
    return bind_agg_column(b, o->level, o->f, c, ret);
}

/* A text for each row that is the same where the keys are. */
static Expr *row_entry(Ordered *o) {
    Binder *b = o->b;
    Expr **args = arena_array(b->a, Expr *, o->n + 3);
    char *flags = arena_alloc(b->a, 2 * o->n + 1);
    if (!args || !flags) return NULL;
    for (int64_t i = 0; i < o->n; i++) {
        memcpy(flags + 2 * i, "al", 2);
        if (!(args[i + 3] = bind_copy(b, o->keys[i]))) return NULL;
    }
    args[0] = bind_text_const(b, (Slice){flags, 2 * o->n}, 0);
    args[1] = bind_text_const(b, slice_of(""), 0);
    args[2] = bind_text_const(b, slice_of(""), 0);
    if (!args[0] || !args[1] || !args[2]) return NULL;
    return bind_call(b, "string_agg_entry", false, (int)(o->n + 3), args, o->f->location);
}

static Expr *quotient(Binder *b, Expr *x, Expr *y) {
    Type f8 = type_make(T_FLOAT8);
    return bind_op(b, "/", bind_coerce(b, x, f8, CAST_EXPLICIT, 0), bind_coerce(b, y, f8, CAST_EXPLICIT, 0), 0);
}
static Expr *plus_one(Binder *b, Expr *x) { return bind_op(b, "+", x, bind_int8_const(b, 1), 0); }

static Expr *hypothetical(Ordered *o) {
    Binder *b = o->b;
    if (o->n_direct != o->n)
        return no_function(o, arena_printf(b->a,
                                           "To use the hypothetical-set aggregate %s, the number of hypothetical "
                                           "direct arguments (here %lld) must match the number of ordering columns "
                                           "(here %lld).",
                                           o->f->name.name, (long long)o->n_direct, (long long)o->n));
    for (int64_t i = 0; i < o->n; i++) {
        Expr *pair[2] = {o->direct[i], o->keys[i]};
        Type t;
        if (bind_common(b, 2, pair, "WITHIN GROUP", &t) != ST_OK) return NULL;
        o->direct[i] = pair[0];
        o->keys[i] = pair[1];
        /* its own tree: the copies in the filters are not rewritten by GROUP BY, which only checks this one */
        Expr *copy = bind_copy(b, pair[0]);
        if (!copy || !vec_push(b->a, &o->level->direct, copy)) return NULL;
    }
    switch (o->kind) {
    case OA_RANK: return plus_one(b, count_rows(o, NULL, row_before(o, false)));
    case OA_DENSE: {
        Expr *entry = row_entry(o);
        return entry ? plus_one(b, count_rows(o, entry, row_before(o, false))) : NULL;
    }
    case OA_CUME: {
        Expr *most = plus_one(b, count_rows(o, NULL, row_before(o, true)));
        return quotient(b, most, plus_one(b, count_rows(o, NULL, NULL)));
    }
    default: {
        /* 0 of no rows */
        Expr *share = expr_new(b->c, EX_COALESCE, type_make(T_FLOAT8), 2), *all = count_rows(o, NULL, NULL);
        Expr *none = expr_new(b->c, EX_NULLIF, type_make(T_INT8), 3);
        Value zero = {.type = type_make(T_FLOAT8)};
        if (!share || !all || !none || !(none->args[0] = all) || !(none->args[1] = bind_int8_const(b, 0)) ||
            !(none->args[2] = bind_op(b, "=", bind_copy(b, all), bind_int8_const(b, 0), 0)))
            return NULL;
        share->args[0] = quotient(b, count_rows(o, NULL, row_before(o, false)), none);
        share->args[1] = expr_const(b->c, &zero);
        return share->args[0] && share->args[1] ? share : NULL;
    }
    }
}

/* ---- the call -------------------------------------------------------------------------------- */

static Status bind_arguments(Ordered *o, Query *q) {
    Binder *b = o->b;
    const AstFunc *f = o->f;
    bool srf = q->srf_ok;
    q->srf_ok = false;
    o->n = f->n_order_by;
    o->n_direct = f->n_args;
    if (!(o->direct = bind_list(b, q, f->args, f->n_args))) return ST_ERROR;
    if (f->filter && !(o->filter = bind_bool(b, bind_expr(b, q, f->filter), "FILTER", f->filter->location)))
        return ST_ERROR;
    if (!(o->keys = arena_array(b->a, Expr *, o->n + 1))) return ST_ERROR;
    for (int64_t i = 0; i < o->n; i++) {
        if (!(o->keys[i] = bind_expr(b, q, f->order_by[i].expr))) return ST_ERROR;
        TRY(bind_check_sortable(b, o->keys[i]->type, f->order_by[i].expr->location));
    }
    q->srf_ok = srf;
    Expr **all = arena_array(b->a, Expr *, o->n + o->n_direct + 1);
    if (!all) return ST_ERROR;
    int64_t n = 0;
    for (int64_t i = 0; i < o->n; i++) all[n++] = o->keys[i];
    for (int64_t i = 0; i < o->n_direct; i++) all[n++] = o->direct[i];
    if (o->filter) all[n++] = o->filter;
    return (o->level = bind_agg_level(b, q, n, all, f->location)) ? ST_OK : ST_ERROR;
}

Expr *bind_within_group(Binder *b, Query *q, const AstFunc *f) {
    Ordered o = {.b = b, .f = f, .kind = ordered_kind(f->name.name)};
    const char *name = f->name.name;
    if (bind_arguments(&o, q) != ST_OK) return NULL;
    if (o.kind == OA_NONE) {
        const FuncDef *def;
        Type *types = arena_array(b->a, Type, o.n_direct + o.n + 1),
             *coerced = arena_array(b->a, Type, o.n_direct + o.n + 1), ret;
        if (!types || !coerced) return NULL;
        for (int64_t i = 0; i < o.n_direct + o.n; i++)
            types[i] = (i < o.n_direct ? o.direct[i] : o.keys[i - o.n_direct])->type;
        if (func_resolve(slice_of(name), false, (int)(o.n_direct + o.n), types, bind_pos(b, f->location), &def, coerced,
                         &ret, b->err) != ST_OK)
            return NULL;
        err_at(b->err, bind_pos(b, f->location), ERR_WRONG_OBJECT_TYPE,
               func_is_aggregate(slice_of(name)) ? "%s is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
                                                 : "WITHIN GROUP specified, but %s is not an aggregate function",
               name);
        return NULL;
    }
    if (f->over) {
        err_at(b->err, bind_pos(b, f->location), ERR_FEATURE_NOT_SUPPORTED,
               "OVER is not supported for ordered-set aggregate %s", name);
        return NULL;
    }
    if (o.level->clause) {
        err_at(b->err, bind_pos(b, f->location), ERR_GROUPING, "aggregate functions are not allowed in %s",
               o.level->clause);
        return NULL;
    }
    Expr *e = o.kind <= OA_CONT ? value_in_order(&o) : hypothetical(&o);
    if (e) e->location = f->location;
    return e;
}
