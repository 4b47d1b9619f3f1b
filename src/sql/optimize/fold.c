/* fold.c - simplification of expressions: constants, booleans, OR factoring, ranges.
 *
 * Everything here keeps three-valued logic exactly, except opt_fold_cond and opt_fold_conds, which are for
 * places where NULL and FALSE mean the same. An error while folding leaves the expression as it is: it is
 * raised at run time if the branch is ever evaluated. */
#include "sql/optimize/optimize_int.h"
#include "types/array.h"

enum { ANY_LIST_MAX = 100000 }; /* elements of an array that become a list */

static Expr *const_of(Opt *o, Type t, const Value *v) {
    Value x = *v;
    x.type = t;
    return expr_const(o->c, &x);
}
static bool all_const(const Expr *e) {
    for (int32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->kind != EX_CONST) return false;
    return true;
}
static const char *negated_op(const char *n) {
    static const char *const t[][2] = {{"=", "<>"},     {"<>", "="},     {"<", ">="},   {">=", "<"},
                                       {">", "<="},     {"<=", ">"},     {"~~", "!~~"}, {"!~~", "~~"},
                                       {"~~*", "!~~*"}, {"!~~*", "~~*"}, {"~", "!~"},   {"!~", "~"}};
    for (int64_t i = 0; i < ARRAY_LEN(t); i++)
        if (strcmp(n, t[i][0]) == 0) return t[i][1];
    return NULL;
}
static const char *swapped_op(const char *n) {
    static const char *const t[][2] = {{"=", "="}, {"<>", "<>"}, {"<", ">"}, {">=", "<="}, {">", "<"}, {"<=", ">="}};
    for (int64_t i = 0; i < ARRAY_LEN(t); i++)
        if (strcmp(n, t[i][0]) == 0) return t[i][1];
    return NULL;
}
/* The operator of another name with the same argument types, found without conversions; NULL when there is none. */
static const FuncDef *op_like(const Expr *e, const char *name, bool swap) {
    const FuncDef *f;
    Type args[2] = {e->args[swap ? 1 : 0]->type, e->args[swap ? 0 : 1]->type}, co[2], ret;
    Err ignore;
    memset(&ignore, 0, sizeof ignore);
    if (func_resolve(slice_of(name), true, 2, args, 0, &f, co, &ret, &ignore) != ST_OK) return NULL;
    if (ret.id != e->type.id || co[0].id != args[0].id || co[1].id != args[1].id) return NULL;
    return f;
}

/* A cast that keeps order and loses nothing: the target's value is `factor` times the source's. */
static bool exact_cast(const Expr *e, int128_t *factor) {
    if (e->kind != EX_CAST || opt_is_const(e->args[0])) return false;
    Type from = e->args[0]->type, to = e->type;
    if (from.id == T_DATE && to.id == T_TIMESTAMP) {
        *factor = USECS_PER_DAY;
        return true;
    }
    if (type_is_integer(from) && type_is_integer(to)) {
        *factor = 1;
        return to.id > from.id;
    }
    int fs = from.id == T_NUMERIC ? from.scale : 0;
    if (to.id != T_NUMERIC || to.scale < fs || !(type_is_integer(from) || from.id == T_NUMERIC)) return false;
    *factor = pow10_i128[to.scale - fs];
    return true;
}
static bool cell_i128(const Expr *e, int128_t *out) {
    int64_t v;
    if (type_phys(e->type) == PH_I128) {
        *out = e->u.value.u.i128;
        return true;
    }
    if (!cell_as_i64(type_phys(e->type), value_cell_const(&e->u.value), &v)) return false;
    *out = v;
    return true;
}
/* The largest value of `t` that is not above the constant, as a constant; NULL (no error) when there is none. */
static Expr *floor_const(Opt *o, const Expr *k, Type t, int128_t factor, bool *exact) {
    int128_t c;
    if (k->u.value.is_null || !cell_i128(k, &c)) return NULL;
    if (t.id == T_DATE && (c <= TS_NEG_INF || c >= TS_POS_INF)) return NULL;
    int128_t q = c / factor, r = c % factor;
    if (r < 0) q--;
    *exact = r == 0;
    Value v;
    memset(&v, 0, sizeof v);
    v.type = t;
    if (t.id == T_NUMERIC && numeric_exceeds(q, t.precision)) return NULL;
    switch (type_phys(t)) {
    case PH_I16:
        if (q < INT16_MIN || q > INT16_MAX) return NULL;
        v.u.i16 = (int16_t)q;
        break;
    case PH_I32:
        if (q <= INT32_MIN || q >= INT32_MAX) return NULL; /* and the infinities of date */
        v.u.i32 = (int32_t)q;
        break;
    case PH_I64:
        if (q < INT64_MIN || q > INT64_MAX) return NULL;
        v.u.i64 = (int64_t)q;
        break;
    case PH_I128: v.u.i128 = q; break;
    default: return NULL;
    }
    return expr_const(o->c, &v);
}
/* cast(x) < constant -> x < constant of x's type: so that scans see their columns bare. */
static Expr *unwrap_cast(Opt *o, Expr *e) {
    int128_t factor;
    bool exact;
    if (e->n_args != 2 || !(e->u.func->flags & FN_OPERATOR) || !opt_is_const(e->args[1]) ||
        !exact_cast(e->args[0], &factor))
        return e;
    if (type_phys(e->args[0]->type) != type_phys(e->args[1]->type) ||
        e->args[0]->type.scale != e->args[1]->type.scale || e->args[0]->type.id != e->args[1]->type.id)
        return e;
    const char *n = e->u.func->name, *op = NULL;
    Expr *x = e->args[0]->args[0], *k = floor_const(o, e->args[1], x->type, factor, &exact);
    if (!k) return err_is_set(o->err) ? NULL : e;
    if (!strcmp(n, "=") || !strcmp(n, "<>")) op = exact ? n : NULL;
    else if (!strcmp(n, "<")) op = exact ? "<" : "<=";
    else if (!strcmp(n, "<=")) op = "<=";
    else if (!strcmp(n, ">")) op = ">";
    else if (!strcmp(n, ">=")) op = exact ? ">=" : ">";
    if (!op) return e;
    Expr *r = opt_op(o, op, x, k);
    if (!r) return NULL;
    if (r->args[0] != x || r->args[1] != k) return e;
    return r;
}
/* The same for cast(x) IN (constants). */
static Expr *unwrap_in(Opt *o, Expr *e) {
    int128_t factor;
    if (!exact_cast(e->args[0], &factor)) return e;
    Expr *x = e->args[0]->args[0], *r = expr_new(o->c, EX_IN, type_make(T_BOOL), e->n_args);
    if (!r) return NULL;
    r->args[0] = x;
    for (int32_t i = 1; i < e->n_args; i++) {
        bool exact = false;
        if (!opt_is_const(e->args[i]) || opt_const_null(e->args[i]) || e->args[i]->type.id != e->args[0]->type.id)
            return e;
        if (!(r->args[i] = floor_const(o, e->args[i], x->type, factor, &exact))) return err_is_set(o->err) ? NULL : e;
        if (!exact) return e;
    }
    return r;
}

/* NULL, whatever the other arguments are (bind_null.c). In a routine not where one of them may fail: a call whose NULL
 * is not known before it runs would raise that error. */
/* False: constants whose value is an error. */
static bool could_be_folded(void *ctx, Expr *e) {
    (void)ctx;
    bool computed = e->kind == EX_CAST ||
                    (e->kind == EX_FUNC && !(e->u.func->flags & (FN_VOLATILE | FN_AGGREGATE)) && e->u.func->kernel);
    return !computed || !all_const(e) || !expr_can_fail(e);
}
static bool surely_null(const Opt *o, const Expr *e) {
    bool null = false;
    for (int32_t i = 0; i < e->n_args; i++) null |= opt_const_null(e->args[i]);
    for (int32_t i = 0; null && i < e->n_args; i++)
        if (!opt_const_null(e->args[i]) && expr_can_fail(e->args[i]) &&
            (o->c->of_routine || !expr_walk(e->args[i], could_be_folded, NULL)))
            return false;
    return null;
}
/* Whether the value of a constant call is the one that it has where it stands: not when it looked at settings
 * (zone_reads before it) and the statement changes some, or is not the only one. */
static bool is_lasting(const Opt *o, int64_t zone) {
    return !(o->c->sets_settings || o->c->lasts) || zone_reads == zone;
}
static Expr *fold_func(Opt *o, Expr *e) {
    const FuncDef *f = e->u.func;
    if (f->flags & (FN_VOLATILE | FN_AGGREGATE)) return e;
    if ((f->flags & (FN_STRICT | FN_NULL_ARGS)) && surely_null(o, e)) return opt_null(o, e->type);
    if (all_const(e) && f->kernel && !(o->c->lasts && f->flags & FN_STABLE)) {
        Value *args = arena_array(o->a, Value, e->n_args + 1), out;
        if (!args) return NULL;
        for (int32_t i = 0; i < e->n_args; i++) args[i] = e->args[i]->u.value;
        for (int32_t i = 0; i < e->n_args; i++) args[i].type = e->args[i]->type;
        Err err;
        err_clear(&err);
        memset(&out, 0, sizeof out);
        const int64_t zone = zone_reads;
        const Status st = func_eval(f, NULL, o->c->session, o->a, e->type, e->n_args, args, &out, &err);
        if (st == ST_OK && is_lasting(o, zone)) return const_of(o, e->type, &out);
        zone_reads = zone; /* the value is not used */
        if (strcmp(err.sqlstate, "53200") == 0 || strcmp(err.sqlstate, "53400") == 0) {
            err_copy(o->err, &err);
            return NULL;
        }
        return e;
    }
    /* constants to the right */
    if (e->n_args == 2 && (f->flags & FN_OPERATOR) && opt_is_const(e->args[0]) && !opt_is_const(e->args[1])) {
        const char *sw = swapped_op(f->name);
        const FuncDef *g = sw ? op_like(e, sw, true) : NULL;
        if (g) {
            Expr *x = e->args[0];
            e->args[0] = e->args[1];
            e->args[1] = x;
            e->u.func = g;
        }
    }
    return unwrap_cast(o, e);
}
static Expr *fold_cast(Opt *o, Expr *e) {
    Expr *x = e->args[0];
    if (type_eq(x->type, e->type)) return x;
    if (x->kind != EX_CONST) return e;
    if (x->u.value.is_null) return opt_null(o, e->type);
    if (cast_is_noop(x->type, e->type)) return const_of(o, e->type, &x->u.value);
    FuncKernel k = cast_kernel(x->type, e->type, (CastCtx)e->cast_ctx);
    if (!k) return e;
    Value in = x->u.value, out;
    in.type = x->type;
    Err err;
    err_clear(&err);
    memset(&out, 0, sizeof out);
    const int64_t zone = zone_reads;
    if (func_eval(NULL, k, o->c->session, o->a, e->type, 1, &in, &out, &err) == ST_OK && is_lasting(o, zone))
        return const_of(o, e->type, &out);
    zone_reads = zone; /* the value is not used */
    return e;
}

static Expr *fold_not(Opt *o, Expr *x) {
    if (stack_check(o->err) != ST_OK) return NULL;
    if (opt_const_null(x)) return opt_null(o, type_make(T_BOOL));
    x->folded = false;
    switch ((ExprKind)x->kind) {
    case EX_CONST: return expr_bool(o->c, !x->u.value.u.b);
    case EX_NOT: return x->args[0];
    case EX_AND:
    case EX_OR:
        x->kind = x->kind == EX_AND ? EX_OR : EX_AND;
        for (int32_t i = 0; i < x->n_args; i++)
            if (!(x->args[i] = fold_not(o, x->args[i]))) return NULL;
        return opt_fold(o, x);
    case EX_IS_NULL: x->kind = EX_IS_NOT_NULL; return x;
    case EX_IS_NOT_NULL: x->kind = EX_IS_NULL; return x;
    case EX_IS_TRUE: x->kind = EX_IS_NOT_TRUE; return x;
    case EX_IS_NOT_TRUE: x->kind = EX_IS_TRUE; return x;
    case EX_IS_FALSE: x->kind = EX_IS_NOT_FALSE; return x;
    case EX_IS_NOT_FALSE: x->kind = EX_IS_FALSE; return x;
    case EX_DISTINCT: x->kind = EX_NOT_DISTINCT; return x;
    case EX_NOT_DISTINCT: x->kind = EX_DISTINCT; return x;
    case EX_FUNC:
        if (x->n_args == 2 && (x->u.func->flags & FN_OPERATOR)) {
            const char *n = negated_op(x->u.func->name);
            const FuncDef *g = n ? op_like(x, n, false) : NULL;
            if (g) {
                x->u.func = g;
                return x;
            }
        }
        break;
    default: break;
    }
    return opt_unary(o, EX_NOT, x);
}

/* (a and x) or (a and y) -> a and (x or y) */
static Expr *factor_or(Opt *o, Expr *e) {
    if (e->n_args < 2 || !rule_on(o->c, RULE_OR_FACTOR)) return e;
    ExprVec first = {0}, common = {0};
    if (opt_split(o, e->args[0], &first) != ST_OK) return NULL;
    for (int64_t i = 0; i < first.len; i++) {
        Expr *cand = first.items[i];
        if (expr_is_volatile(cand) || opt_has_subquery(cand)) continue;
        bool everywhere = true;
        for (int32_t k = 1; k < e->n_args && everywhere; k++) {
            ExprVec part = {0};
            if (opt_split(o, e->args[k], &part) != ST_OK) return NULL;
            bool found = false;
            for (int64_t j = 0; j < part.len && !found; j++) found = expr_equal(cand, part.items[j]);
            everywhere = found;
        }
        if (everywhere && opt_push(o, &common, cand) != ST_OK) return NULL;
    }
    if (common.len == 0) return e;
    ExprVec rests = {0};
    bool absorbed = false; /* a or (a and x) = a */
    for (int32_t k = 0; k < e->n_args; k++) {
        ExprVec part = {0}, rest = {0};
        if (opt_split(o, e->args[k], &part) != ST_OK) return NULL;
        for (int64_t j = 0; j < part.len; j++) {
            bool is_common = false;
            for (int64_t i = 0; i < common.len && !is_common; i++)
                is_common = expr_equal(common.items[i], part.items[j]);
            if (!is_common && opt_push(o, &rest, part.items[j]) != ST_OK) return NULL;
        }
        if (rest.len == 0) absorbed = true;
        else if (opt_push(o, &rests, opt_nary(o, EX_AND, rest.len, rest.items)) != ST_OK) return NULL;
    }
    if (!absorbed) {
        Expr *r = opt_nary(o, EX_OR, rests.len, rests.items);
        if (!r || !(r = opt_fold(o, r)) || opt_split(o, r, &common) != ST_OK) return NULL;
    }
    return opt_nary(o, EX_AND, common.len, common.items);
}
/* x = 1 or x = 2 or x in (3, 4) -> x in (1, 2, 3, 4) */
static bool const_choice(const Expr *d) {
    if (d->kind == EX_IN)
        return all_const(&(Expr){.n_args = d->n_args - 1, .args = d->args + 1}) && !expr_is_volatile(d->args[0]);
    if (!opt_is_op(d, "=") || !opt_is_const(d->args[1])) return false;
    Type a = d->args[0]->type, b = d->args[1]->type;
    return a.id == b.id && a.scale == b.scale && type_phys(a) == type_phys(b) && !expr_is_volatile(d->args[0]);
}
static Expr *or_to_in(Opt *o, Expr *e) {
    enum { TARGETS = 32 };
    struct {
        int64_t at;
        ExprVec v; /* x, then the constants */
    } into[TARGETS];
    int n = 0;
    ExprVec out = {0};
    bool changed = false;
    for (int32_t i = 0; i < e->n_args; i++) {
        Expr *d = e->args[i];
        int k = TARGETS;
        if (const_choice(d)) {
            for (k = 0; k < n && !expr_equal(into[k].v.items[0], d->args[0]); k++) continue;
            if (k < n) changed = true;
            if (k == n && n < TARGETS) {
                memset(&into[n], 0, sizeof into[n]);
                into[n].at = out.len;
                if (opt_push(o, &into[n].v, d->args[0]) != ST_OK || opt_push(o, &out, d) != ST_OK) return NULL;
                n++;
            }
            for (int32_t q = 1; k < n && q < d->n_args; q++)
                if (opt_push(o, &into[k].v, d->args[q]) != ST_OK) return NULL;
            if (k < n) continue;
        }
        if (opt_push(o, &out, d) != ST_OK) return NULL;
    }
    if (!changed) return e;
    for (int k = 0; k < n; k++) {
        if (into[k].v.len <= 2) continue;
        Expr *in = expr_new(o->c, EX_IN, type_make(T_BOOL), 0);
        if (!in) return NULL;
        in->args = into[k].v.items;
        in->n_args = (int32_t)into[k].v.len;
        out.items[into[k].at] = in;
    }
    return opt_nary(o, EX_OR, out.len, out.items);
}

static Status flatten(Opt *o, Expr *e, uint8_t kind, ExprVec *out) {
    TRY(stack_check(o->err));
    if (e->kind != kind) return opt_push(o, out, e);
    for (int32_t i = 0; i < e->n_args; i++) TRY(flatten(o, e->args[i], kind, out));
    return ST_OK;
}
static bool all_folded(const Expr *e) {
    for (int32_t i = 0; i < e->n_args; i++)
        if (!e->args[i]->folded) return false;
    return true;
}
static Expr *fold_logic(Opt *o, Expr *e) {
    ExprVec in = {0}, out = {0};
    bool is_and = e->kind == EX_AND;
    if (flatten(o, e, e->kind, &in) != ST_OK) return NULL;
    for (int64_t i = 0; i < in.len; i++) {
        Expr *x = in.items[i];
        if (is_and ? opt_const_false(x) : opt_const_true(x)) {
            /* what stands before it would have been evaluated; PostgreSQL drops it too */
            return x;
        }
        if (is_and ? opt_const_true(x) : opt_const_false(x)) continue;
        bool dup = false;
        for (int64_t j = 0; j < out.len && !dup && out.len < 200; j++)
            dup = expr_equal(out.items[j], x) && !expr_is_volatile(x);
        if (!dup && opt_push(o, &out, x) != ST_OK) return NULL;
    }
    if (out.len < 2) return opt_nary(o, (ExprKind)e->kind, out.len, out.items);
    Expr *flat = opt_nary(o, (ExprKind)e->kind, out.len, out.items), *r = flat;
    if (r && r->kind == EX_OR) r = or_to_in(o, r);
    if (r && r->kind == EX_OR && r->n_args <= 64) r = factor_or(o, r);
    if (r && r == flat) r->folded = all_folded(r);
    return r;
}

static Expr *fold_case(Opt *o, Expr *e) {
    ExprVec out = {0};
    int32_t i = 0;
    for (; i + 1 < e->n_args; i += 2) {
        Expr *w = e->args[i];
        if (opt_const_false(w) || opt_const_null(w)) continue;
        if (opt_const_true(w)) {
            if (opt_push(o, &out, e->args[i + 1]) != ST_OK) return NULL;
            break;
        }
        if (opt_push(o, &out, w) != ST_OK || opt_push(o, &out, e->args[i + 1]) != ST_OK) return NULL;
    }
    if (i + 1 == e->n_args && opt_push(o, &out, e->args[i]) != ST_OK) return NULL;
    if (out.len == 0) return opt_null(o, e->type);
    if (out.len == 1) return opt_cast(o, out.items[0], e->type);
    if (out.len == e->n_args) return e;
    Expr *r = expr_new(o->c, EX_CASE, e->type, (int32_t)out.len);
    if (!r) return NULL;
    r->location = e->location;
    for (int64_t k = 0; k < out.len; k++) r->args[k] = out.items[k];
    return r;
}
static Expr *fold_coalesce(Opt *o, Expr *e) {
    ExprVec out = {0};
    for (int32_t i = 0; i < e->n_args; i++) {
        if (opt_const_null(e->args[i])) continue;
        if (opt_push(o, &out, e->args[i]) != ST_OK) return NULL;
        if (opt_is_const(e->args[i])) break;
    }
    if (out.len == 0) return opt_null(o, e->type);
    if (out.len == 1) return opt_cast(o, out.items[0], e->type);
    if (out.len == e->n_args) return e;
    Expr *r = expr_new(o->c, EX_COALESCE, e->type, (int32_t)out.len);
    if (!r) return NULL;
    for (int64_t k = 0; k < out.len; k++) r->args[k] = out.items[k];
    return r;
}
static Expr *fold_in(Opt *o, Expr *e) {
    if (opt_const_null(e->args[0])) return opt_null(o, type_make(T_BOOL));
    if (e->n_args == 1) return expr_bool(o->c, false);
    if (all_const(e)) {
        bool null = false;
        for (int32_t i = 1; i < e->n_args; i++) {
            if (opt_const_null(e->args[i])) {
                null = true;
                continue;
            }
            if (type_phys(e->args[i]->type) != type_phys(e->args[0]->type) ||
                e->args[i]->type.scale != e->args[0]->type.scale)
                return e;
            if (value_cmp(&e->args[0]->u.value, &e->args[i]->u.value) == 0) return expr_bool(o->c, true);
        }
        return null ? opt_null(o, type_make(T_BOOL)) : expr_bool(o->c, false);
    }
    if (e->n_args == 2 && e->args[0]->type.id == e->args[1]->type.id)
        return opt_fold(o, opt_op(o, "=", e->args[0], e->args[1]));
    return unwrap_in(o, e);
}
static Expr *fold_is(Opt *o, Expr *e) {
    Expr *x = e->args[0];
    if (x->kind == EX_CONST) {
        bool null = x->u.value.is_null, t = !null && x->type.id == T_BOOL && x->u.value.u.b,
             f = !null && x->type.id == T_BOOL && !x->u.value.u.b;
        bool r = e->kind == EX_IS_NULL       ? null
                 : e->kind == EX_IS_NOT_NULL ? !null
                 : e->kind == EX_IS_TRUE     ? t
                 : e->kind == EX_IS_NOT_TRUE ? !t
                 : e->kind == EX_IS_FALSE    ? f
                                             : !f;
        return expr_bool(o->c, r);
    }
    bool two_valued =
        x->kind == EX_DISTINCT || x->kind == EX_NOT_DISTINCT || (x->kind >= EX_IS_NULL && x->kind <= EX_IS_NOT_FALSE);
    if (two_valued) switch ((ExprKind)e->kind) {
        case EX_IS_TRUE:
        case EX_IS_NOT_FALSE: return x;
        case EX_IS_FALSE:
        case EX_IS_NOT_TRUE: return fold_not(o, x);
        case EX_IS_NULL: return expr_bool(o->c, false);
        case EX_IS_NOT_NULL: return expr_bool(o->c, true);
        default: break;
        }
    return e;
}
static Expr *fold_distinct(Opt *o, Expr *e) {
    Expr *a = e->args[0], *b = e->args[1];
    bool distinct = e->kind == EX_DISTINCT;
    if (a->kind == EX_CONST && b->kind == EX_CONST && type_phys(a->type) == type_phys(b->type) &&
        a->type.scale == b->type.scale) {
        bool same = a->u.value.is_null || b->u.value.is_null ? a->u.value.is_null == b->u.value.is_null
                                                             : value_cmp(&a->u.value, &b->u.value) == 0;
        return expr_bool(o->c, same != distinct);
    }
    if (opt_const_null(a)) return opt_unary(o, distinct ? EX_IS_NOT_NULL : EX_IS_NULL, b);
    if (opt_const_null(b)) return opt_unary(o, distinct ? EX_IS_NOT_NULL : EX_IS_NULL, a);
    return e;
}

/* x = ANY (array known by now): an IN list, which has sets, dictionary codes and key lookups. NULL on failure, e when
 * it is none. */
static Expr *any_to_in(Opt *o, Expr *e) {
    bool any = strcmp(e->u.func->name, "array_any=") == 0;
    if ((!any && strcmp(e->u.func->name, "array_all<>") != 0) || e->args[1]->kind != EX_CONST ||
        e->args[1]->u.value.is_null || opt_is_const(e->args[0]))
        return e;
    ArrayView a = array_view(e->args[1]->u.value.u.str);
    Type t = type_element(e->args[1]->type);
    if (a.n > ANY_LIST_MAX || !type_eq(t, e->args[0]->type)) return e;
    Expr *in = expr_new(o->c, EX_IN, type_make(T_BOOL), (int32_t)a.n + 1);
    if (!in) return NULL;
    in->location = e->location;
    in->args[0] = e->args[0];
    for (int64_t i = 0; i < a.n; i++) {
        Value v = {.type = t, .is_null = array_is_null(&a, i)};
        if (!v.is_null) array_get(&a, i, value_cell(&v));
        if (!(in->args[i + 1] = expr_const(o->c, &v))) return NULL;
    }
    return any ? opt_fold(o, in) : fold_not(o, opt_fold(o, in));
}

/* Its arguments are folded. */
static Expr *fold_node(Opt *o, Expr *e) {
    switch ((ExprKind)e->kind) {
    case EX_FUNC: {
        Expr *in = e->n_args == 2 ? any_to_in(o, e) : e;
        return !in || in != e ? in : fold_func(o, e);
    }
    case EX_CAST: return fold_cast(o, e);
    case EX_AND:
    case EX_OR: return fold_logic(o, e);
    case EX_NOT: return fold_not(o, e->args[0]);
    case EX_IS_NULL:
    case EX_IS_NOT_NULL:
    case EX_IS_TRUE:
    case EX_IS_NOT_TRUE:
    case EX_IS_FALSE:
    case EX_IS_NOT_FALSE: return fold_is(o, e);
    case EX_DISTINCT:
    case EX_NOT_DISTINCT: return fold_distinct(o, e);
    case EX_CASE: return fold_case(o, e);
    case EX_COALESCE: return fold_coalesce(o, e);
    case EX_NULLIF:
        if (e->n_args == 3 && opt_is_const(e->args[2]))
            return opt_const_true(e->args[2]) ? opt_null(o, e->type) : opt_cast(o, e->args[0], e->type);
        return e;
    case EX_IN: return fold_in(o, e);
    default: return e;
    }
}
Expr *opt_fold(Opt *o, Expr *e) {
    if (stack_check(o->err) != ST_OK) return NULL;
    if (!e || e->folded) return e;
    if (!rule_on(o->c, RULE_FOLD) && e->kind != EX_SUBQUERY && !opt_has_subquery(e)) return e;
    if (rule_on(o->c, RULE_FOLD) && e->kind == EX_NOT) { /* sinks to the leaves in one walk, from above */
        Expr *x = e->args[0];
        if (x->kind == EX_NOT) return opt_fold(o, x->args[0]);
        if (x->kind == EX_AND || x->kind == EX_OR) {
            x->kind = x->kind == EX_AND ? EX_OR : EX_AND;
            x->folded = false;
            for (int32_t i = 0; i < x->n_args; i++)
                if (!(x->args[i] = opt_unary(o, EX_NOT, x->args[i]))) return NULL;
            return opt_fold(o, x);
        }
    }
    bool whole = true; /* nothing in it has to be looked at again */
    for (int32_t i = 0; i < e->n_args; i++) {
        if (!(e->args[i] = opt_fold(o, e->args[i]))) return NULL;
        whole &= e->args[i]->folded;
    }
    if (e->kind == EX_SUBQUERY) {
        for (int32_t i = 0; e->u.sub.compare && i < e->u.sub.n_cols; i++)
            if (e->u.sub.compare[i] && !(e->u.sub.compare[i] = opt_fold(o, e->u.sub.compare[i]))) return NULL;
        return opt_fold_plan(o, e->u.sub.plan) == ST_OK ? e : NULL;
    }
    if (!rule_on(o->c, RULE_FOLD)) return e;
    Expr *r = fold_node(o, e);
    if (r == e) r->folded = whole;
    return r;
}
Expr *opt_fold_cond(Opt *o, Expr *e) {
    if (stack_check(o->err) != ST_OK) return NULL;
    e = opt_fold(o, e);
    if (!e) return NULL;
    if (opt_const_null(e)) return expr_bool(o->c, false);
    if (e->kind == EX_IS_TRUE) return opt_fold_cond(o, e->args[0]);
    if (e->kind == EX_AND || e->kind == EX_OR) {
        bool change = false;
        for (int32_t i = 0; i < e->n_args; i++) {
            Expr *x = e->args[i];
            if (opt_const_null(x) || x->kind == EX_IS_TRUE) {
                if (!(e->args[i] = opt_fold_cond(o, x))) return NULL;
                e->folded = false;
                change = true;
            }
        }
        return change ? opt_fold(o, e) : e;
    }
    return e;
}

/* col op const with an ordering operator: 1 <, 2 <=, 3 =, 4 >=, 5 > */
static int range_op(const Expr *e) {
    if (e->kind != EX_FUNC || e->n_args != 2 || !(e->u.func->flags & FN_OPERATOR) || e->args[0]->kind != EX_COL ||
        !opt_is_const(e->args[1]))
        return 0;
    if (type_phys(e->args[0]->type) != type_phys(e->args[1]->type) || e->args[0]->type.scale != e->args[1]->type.scale)
        return 0;
    if (opt_const_null(e->args[1])) return 0;
    const char *n = e->u.func->name;
    return !strcmp(n, "<")    ? 1
           : !strcmp(n, "<=") ? 2
           : !strcmp(n, "=")  ? 3
           : !strcmp(n, ">=") ? 4
           : !strcmp(n, ">")  ? 5
                              : 0;
}
/* Relation of two range conditions on one column: -1 contradiction, 1 a implies b, 2 b implies a, 0 both needed. */
static int range_relation(const Expr *a, int oa, const Expr *b, int ob) {
    int c = value_cmp(&a->args[1]->u.value, &b->args[1]->u.value);
    if (oa == 3 && ob == 3) return c == 0 ? 1 : -1;
    if (ob == 3 && oa != 3) {
        int r = range_relation(b, ob, a, oa);
        return r == 1 ? 2 : r == 2 ? 1 : r;
    }
    if (oa == 3) { /* a fixes the value */
        bool ok = ob == 1 ? c < 0 : ob == 2 ? c <= 0 : ob == 4 ? c >= 0 : c > 0;
        return ok ? 1 : -1;
    }
    bool ua = oa <= 2, ub = ob <= 2; /* upper bounds */
    if (ua && ub) return c < 0 || (c == 0 && oa == 1) ? 1 : 2;
    if (!ua && !ub) return c > 0 || (c == 0 && oa == 5) ? 1 : 2;
    /* one upper, one lower */
    int lo_hi = ua ? -c : c; /* sign of lower - upper */
    bool strict = oa == 1 || oa == 5 || ob == 1 || ob == 5;
    return lo_hi > 0 || (lo_hi == 0 && strict) ? -1 : 0;
}
Status opt_fold_conds(Opt *o, ExprVec *conds) {
    ExprVec in = {0}, out = {0};
    for (int64_t i = 0; i < conds->len; i++) {
        Expr *e = opt_fold_cond(o, conds->items[i]);
        TRY(opt_split(o, e, &in));
    }
    for (int64_t i = 0; i < in.len; i++) {
        Expr *e = in.items[i];
        if (opt_const_true(e)) continue;
        if (opt_const_false(e) || opt_const_null(e)) goto contradiction;
        bool drop = false, is_volatile = expr_is_volatile(e);
        int r = rule_on(o->c, RULE_FOLD) ? range_op(e) : 0;
        for (int64_t j = 0; j < out.len && j < 300 && !drop; j++) {
            Expr *x = out.items[j];
            if (!is_volatile && expr_equal(x, e)) {
                drop = true;
                break;
            }
            int rx = r ? range_op(x) : 0;
            if (!rx || x->args[0]->u.col != e->args[0]->u.col) continue;
            int rel = range_relation(x, rx, e, r);
            if (rel == -1) goto contradiction;
            if (rel == 1) drop = true;
            if (rel == 2) {
                out.items[j] = e;
                drop = true;
                /* the replaced one may have been weaker than others too; they stay, which is harmless */
            }
        }
        if (!drop) TRY(opt_push(o, &out, e));
    }
    conds->len = 0;
    for (int64_t i = 0; i < out.len; i++) TRY(opt_push(o, conds, out.items[i]));
    return ST_OK;
contradiction:
    conds->len = 0;
    return opt_push(o, conds, expr_bool(o->c, false));
}

/* For an OR over several tables: the OR of each branch's conjuncts on `side`, when every branch has some. */
Status opt_derive_or(Opt *o, const Expr *e, const ColSet *side, Expr **out) {
    TRY(stack_check(o->err));
    *out = NULL;
    if (e->kind != EX_OR || !rule_on(o->c, RULE_OR_FACTOR)) return ST_OK;
    ExprVec branches = {0};
    for (int32_t i = 0; i < e->n_args; i++) {
        ExprVec parts = {0}, mine = {0};
        TRY(opt_split(o, e->args[i], &parts));
        for (int64_t j = 0; j < parts.len; j++) {
            Expr *p = parts.items[j];
            Expr *deep = NULL;
            if (expr_is_volatile(p) || opt_is_domain_fallible(p) || opt_has_subquery(p)) continue;
            if (opt_uses(o, p, side) && opt_within(o, p, side)) deep = expr_copy(o->c, p);
            else if (p->kind == EX_OR) TRY(opt_derive_or(o, p, side, &deep));
            if (deep) TRY(opt_push(o, &mine, deep));
        }
        if (mine.len == 0) return ST_OK;
        TRY(opt_push(o, &branches, opt_nary(o, EX_AND, mine.len, mine.items)));
    }
    Expr *r = opt_nary(o, EX_OR, branches.len, branches.items);
    if (!r) return ST_ERROR;
    *out = opt_fold(o, r);
    return *out ? ST_OK : ST_ERROR;
}

static Status fold_fn(Opt *o, Expr **e, void *ctx) {
    (void)ctx;
    *e = opt_fold(o, *e);
    return *e ? ST_OK : ST_ERROR;
}
/* The error of a constant call that folding left as it is, where evaluating e reaches it whatever the row. */
static Status raise_const(Opt *o, const Expr *e) {
    TRY(stack_check(o->err));
    bool lazy = e->kind == EX_CASE || e->kind == EX_COALESCE || e->kind == EX_AND || e->kind == EX_OR;
    for (int32_t i = 0; i < (lazy ? MIN_OF(e->n_args, 1) : e->n_args); i++) TRY(raise_const(o, e->args[i]));
    bool call = e->kind == EX_FUNC && e->u.func->kernel && !(e->u.func->flags & (FN_VOLATILE | FN_AGGREGATE));
    FuncKernel k = e->kind == EX_CAST ? cast_kernel(e->args[0]->type, e->type, (CastCtx)e->cast_ctx) : NULL;
    if ((!call && !k) || !all_const(e)) return ST_OK;
    Value *args = arena_array(o->a, Value, e->n_args + 1), out;
    if (!args) return ST_ERROR;
    for (int32_t i = 0; i < e->n_args; i++) {
        args[i] = e->args[i]->u.value;
        args[i].type = e->args[i]->type;
        if (args[i].is_null && (k || (e->u.func->flags & FN_STRICT))) return ST_OK;
    }
    return func_eval(call ? e->u.func : NULL, k, o->c->session, o->a, e->type, e->n_args, args, &out, o->err);
}
static Status raise_slot(Opt *o, Expr **e, void *ctx) {
    (void)ctx;
    return raise_const(o, *e);
}
static Status raise_plan(Opt *o, Plan *p) {
    TRY(stack_check(o->err));
    for (int32_t i = 0; i < p->n_children; i++) TRY(raise_plan(o, p->children[i]));
    return opt_each_expr(o, p, raise_slot, NULL);
}
Status sql_raise_constants(PlanCtx *c, Plan *p) {
    Opt o = {.c = c, .a = c->arena, .err = c->err};
    return raise_plan(&o, p);
}

/* LIMIT and OFFSET become numbers. */
static Status fold_limit(Opt *o, Expr **e, int64_t *out, bool is_limit) {
    if (!*e) return ST_OK;
    Expr *x = *e;
    uint32_t disabled = o->c->disabled_rules;
    o->c->disabled_rules &= ~(UINT32_C(1) << RULE_FOLD); /* a limit must be a number */
    if (x->kind != EX_CONST) x = *e = opt_fold(o, x);
    o->c->disabled_rules = disabled;
    if (!x) return ST_ERROR;
    if (x->kind != EX_CONST) TRY(raise_const(o, x));
    if (x->kind != EX_CONST) {
        err_at(o->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "argument of %s must be a constant expression",
               is_limit ? "LIMIT" : "OFFSET");
        return ST_ERROR;
    }
    int64_t v = 0;
    if (x->u.value.is_null) v = is_limit ? -1 : 0;
    else if (!cell_as_i64(type_phys(x->type), value_cell_const(&x->u.value), &v)) v = INT64_MAX;
    else if (v < 0)
        return err_at(o->err, x->location, is_limit ? ERR_INVALID_LIMIT : ERR_INVALID_OFFSET, "%s must not be negative",
                      is_limit ? "LIMIT" : "OFFSET");
    *out = v;
    *e = NULL;
    return ST_OK;
}
Status opt_fold_plan(Opt *o, Plan *p) {
    TRY(stack_check(o->err));
    for (int32_t i = 0; i < p->n_children; i++) TRY(opt_fold_plan(o, p->children[i]));
    if (p->kind == LP_LIMIT || p->kind == LP_SORT) {
        TRY(fold_limit(o, &p->limit.rows_expr, &p->limit.rows, true));
        TRY(fold_limit(o, &p->limit.offset_expr, &p->limit.offset, false));
    }
    return opt_each_expr(o, p, fold_fn, NULL);
}

Expr *sql_fold(PlanCtx *c, Expr *e) {
    Opt o = {.c = c, .a = c->arena, .err = c->err};
    const uint32_t disabled = c->disabled_rules;
    c->disabled_rules &= ~(UINT32_C(1) << RULE_FOLD); /* it decides whether 22012 is raised, not only how fast it is */
    e = opt_fold(&o, e);
    c->disabled_rules = disabled;
    return e;
}
