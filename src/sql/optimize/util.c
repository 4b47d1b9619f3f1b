/* util.c - building, copying and renaming expressions and plans for the optimiser's rules. */
#include "sql/optimize/optimize_int.h"

/* ---- tests ------------------------------------------------------------------------- */
bool opt_is_op(const Expr *e, const char *name) {
    return e->kind == EX_FUNC && e->n_args == 2 && (e->u.func->flags & FN_OPERATOR) &&
           strcmp(e->u.func->name, name) == 0;
}
bool opt_is_const(const Expr *e) { return e->kind == EX_CONST; }
bool opt_const_true(const Expr *e) {
    return e->kind == EX_CONST && e->type.id == T_BOOL && !e->u.value.is_null && e->u.value.u.b;
}
bool opt_const_false(const Expr *e) {
    return e->kind == EX_CONST && e->type.id == T_BOOL && !e->u.value.is_null && !e->u.value.u.b;
}
bool opt_const_null(const Expr *e) { return e->kind == EX_CONST && e->u.value.is_null; }
bool opt_equal_is_same(Type t) {
    if (t.id == T_ARRAY) t = type_element(t);
    return t.id != T_FLOAT4 && t.id != T_FLOAT8 && t.id != T_INTERVAL;
}
bool opt_has_subquery(const Expr *e) {
    if (stack_stop()) return false;
    if (e->kind == EX_SUBQUERY) return true;
    for (int32_t i = 0; i < e->n_args; i++)
        if (opt_has_subquery(e->args[i])) return true;
    return false;
}
/* Additions, multiplications and casts between numbers fail only on overflow: they move as
 * freely as in PostgreSQL. Division, casts from text and the like are often guarded by other predicates. */
bool opt_is_domain_fallible(const Expr *e) {
    if (stack_stop()) return true;
    for (int32_t i = 0; i < e->n_args; i++)
        if (opt_is_domain_fallible(e->args[i])) return true;
    if (e->kind == EX_CAST)
        return type_is_text(e->args[0]->type) && !type_is_text(e->type) && e->args[0]->kind != EX_CONST;
    if (e->kind != EX_FUNC || !(e->u.func->flags & FN_CAN_FAIL)) return false;
    const char *n = e->u.func->name;
    if ((e->u.func->flags & FN_OPERATOR) && n[1] == 0 && (n[0] == '+' || n[0] == '-' || n[0] == '*')) return false;
    if ((e->u.func->flags & FN_OPERATOR) && n[1] == 0 && (n[0] == '/' || n[0] == '%') && e->n_args == 2 &&
        opt_is_const(e->args[1]))
        return false;
    for (int32_t i = 1; i < e->n_args; i++)
        if (!opt_is_const(e->args[i])) return true;
    /* f(x, constants): substring(x, 1, 2) cannot fail by x; unary functions (ln, sqrt) can */
    return e->n_args < 2 || !type_is_text(e->args[0]->type);
}

static Status can_fail_fn(void *ctx, Expr **e) {
    if (expr_can_fail(*e)) *(bool *)ctx = true;
    return ST_OK;
}
bool opt_plan_can_fail(const Plan *p) {
    if (stack_stop()) return true;
    bool fails = (p->kind == LP_JOIN && p->join.kind == JN_SINGLE) || p->win.start_offset || p->win.end_offset;
    for (int32_t i = 0; i < p->win.n_calls; i++)
        fails |= p->win.calls[i].func == WF_NTILE || p->win.calls[i].func == WF_NTH_VALUE;
    (void)plan_each_expr((Plan *)(uintptr_t)p, can_fail_fn, &fails); /* only looks */
    for (int32_t i = 0; i < p->agg.n_calls; i++)
        fails |=
            p->agg.calls[i].kind == AGG_SINGLE || (p->agg.calls[i].func && (p->agg.calls[i].func->flags & FN_CAN_FAIL));
    for (int32_t i = 0; i < p->n_children && !fails; i++) fails = opt_plan_can_fail(p->children[i]);
    return fails;
}

/* ---- expressions --------------------------------------------------------------------- */
Expr *opt_cast(Opt *o, Expr *e, Type to) {
    if (!e || type_eq(e->type, to)) return e;
    if (e->kind == EX_CONST && e->u.value.is_null) return opt_null(o, to);
    Expr *x = expr_new(o->c, EX_CAST, to, 1);
    if (!x) return NULL;
    x->cast_ctx = CAST_IMPLICIT;
    if (!cast_exists(e->type, to, CAST_IMPLICIT) && !cast_is_noop(e->type, to)) x->cast_ctx = CAST_EXPLICIT;
    x->args[0] = e;
    return x;
}
Expr *opt_op(Opt *o, const char *name, Expr *a, Expr *b) {
    if (!a || !b) return NULL;
    const FuncDef *f;
    Type args[2] = {a->type, b->type}, coerced[2], ret;
    if (func_resolve(slice_of(name), true, 2, args, 0, &f, coerced, &ret, o->err) != ST_OK) return NULL;
    Expr *e = expr_new(o->c, EX_FUNC, ret, 2);
    if (!e) return NULL;
    e->u.func = f;
    e->args[0] = a->kind != EX_CONST && cast_is_noop(a->type, coerced[0]) ? a : opt_cast(o, a, coerced[0]);
    e->args[1] = b->kind != EX_CONST && cast_is_noop(b->type, coerced[1]) ? b : opt_cast(o, b, coerced[1]);
    return e->args[0] && e->args[1] ? e : NULL;
}
Expr *opt_call(Opt *o, const char *name, int n, Expr *const *args) {
    const FuncDef *f;
    Type types[4], coerced[4], ret;
    for (int i = 0; i < n; i++) types[i] = args[i]->type;
    if (func_resolve(slice_of(name), false, n, types, 0, &f, coerced, &ret, o->err) != ST_OK) return NULL;
    Expr *e = expr_new(o->c, EX_FUNC, ret, n);
    if (!e) return NULL;
    e->u.func = f;
    for (int i = 0; i < n; i++)
        if (!(e->args[i] = type_eq(types[i], coerced[i]) ? args[i] : opt_cast(o, args[i], coerced[i]))) return NULL;
    return e;
}
Expr *opt_unary(Opt *o, ExprKind kind, Expr *a) {
    if (!a) return NULL;
    Expr *e = expr_new(o->c, kind, type_make(T_BOOL), 1);
    if (e) e->args[0] = a;
    return e;
}
Expr *opt_nary(Opt *o, ExprKind kind, int64_t n, Expr *const *args) {
    if (n == 0) return expr_bool(o->c, kind == EX_AND);
    for (int64_t i = 0; i < n; i++)
        if (!args[i]) return NULL;
    if (n == 1) return args[0];
    Expr *e = expr_new(o->c, kind, type_make(T_BOOL), (int32_t)n);
    if (!e) return NULL;
    for (int64_t i = 0; i < n; i++) e->args[i] = args[i];
    return e;
}
Expr *opt_pair(Opt *o, ExprKind kind, Expr *a, Expr *b) {
    if (!a || !b) return NULL;
    Expr *e = expr_new(o->c, kind, type_make(T_BOOL), 2);
    if (!e) return NULL;
    e->args[0] = a;
    e->args[1] = b;
    return e;
}
Expr *opt_case(Opt *o, Expr *when, Expr *then, Expr *otherwise) {
    if (!when || !then || !otherwise) return NULL;
    Expr *e = expr_new(o->c, EX_CASE, then->type, 3);
    if (!e) return NULL;
    e->args[0] = when;
    e->args[1] = then;
    e->args[2] = otherwise;
    return e;
}
Expr *opt_coalesce(Opt *o, Expr *a, Expr *b) {
    if (!a || !b) return NULL;
    Expr *e = expr_new(o->c, EX_COALESCE, a->type, 2);
    if (!e) return NULL;
    e->args[0] = a;
    e->args[1] = b;
    return e;
}
Expr *opt_null(Opt *o, Type t) {
    Value v;
    memset(&v, 0, sizeof v);
    v.type = t;
    v.is_null = true;
    return expr_const(o->c, &v);
}
Expr *opt_int8(Opt *o, int64_t n) {
    Value v;
    memset(&v, 0, sizeof v);
    v.type = type_make(T_INT8);
    v.u.i64 = n;
    return expr_const(o->c, &v);
}
Expr *opt_col(Opt *o, ColId id) { return id > 0 ? expr_col(o->c, id) : NULL; }

Status opt_push(Opt *o, ExprVec *v, Expr *e) {
    if (!e) return ST_ERROR;
    return vec_push(o->a, v, e) ? ST_OK : ST_ERROR;
}
Status opt_split(Opt *o, Expr *e, ExprVec *out) {
    TRY(stack_check(o->err));
    if (!e) return ST_ERROR;
    if (e->kind != EX_AND) return opt_push(o, out, e);
    for (int32_t i = 0; i < e->n_args; i++) TRY(opt_split(o, e->args[i], out));
    return ST_OK;
}

typedef struct Subst {
    Opt *o;
    int64_t n;
    const ColId *from;
    Expr *const *to;
} Subst;
static Expr *subst(const Subst *s, Expr *e);
static Status subst_node(Opt *o, Expr **e, void *ctx) {
    (void)o;
    *e = subst(ctx, *e);
    return *e ? ST_OK : ST_ERROR;
}
static Status subst_plan(const Subst *s, Plan *p) {
    TRY(stack_check(s->o->err));
    TRY(opt_each_expr(s->o, p, subst_node, (void *)s));
    for (int32_t i = 0; i < p->n_children; i++) TRY(subst_plan(s, p->children[i]));
    return ST_OK;
}
static Expr *subst(const Subst *s, Expr *e) {
    if (stack_check(s->o->err) != ST_OK) return NULL;
    if (e->kind == EX_COL) {
        for (int64_t i = 0; i < s->n; i++)
            if (s->from[i] == e->u.col) return expr_copy(s->o->c, s->to[i]);
        return e;
    }
    for (int32_t i = 0; i < e->n_args; i++) {
        Expr *was = e->args[i];
        bool folded = was->folded;
        if (!(e->args[i] = subst(s, was))) return NULL;
        if (e->args[i] != was || was->folded != folded) e->folded = false;
    }
    if (e->kind == EX_SUBQUERY) {
        for (int32_t i = 0; e->u.sub.compare && i < e->u.sub.n_cols; i++)
            if (e->u.sub.compare[i] && !(e->u.sub.compare[i] = subst(s, e->u.sub.compare[i]))) return NULL;
        if (subst_plan(s, e->u.sub.plan) != ST_OK) return NULL;
    }
    return e;
}
Expr *opt_subst(Opt *o, Expr *e, int64_t n, const ColId *from, Expr *const *to) {
    if (!e || n == 0) return e;
    Subst s = {o, n, from, to};
    return subst(&s, e);
}
/* Whether some column of e is in one of the sets (want) or in none of them (!want). Only subqueries need a set of their
 * own, since rules call this very often. */
static bool has_col(Opt *o, const Expr *e, const ColSet *a, const ColSet *b, bool want) {
    if (stack_stop()) return true;
    if (e->kind == EX_COL) return (colset_has(a, e->u.col) || (b && colset_has(b, e->u.col))) == want;
    if (e->kind == EX_SUBQUERY) {
        ColSet c = colset_new(o->c);
        expr_cols(o->c, e, &c);
        for (int64_t i = 0; i < c.n_words; i++) {
            uint64_t in = (i < a->n_words ? a->bits[i] : 0) | (b && i < b->n_words ? b->bits[i] : 0);
            if (c.bits[i] & (want ? in : ~in)) return true;
        }
        return false;
    }
    for (int32_t i = 0; i < e->n_args; i++)
        if (has_col(o, e->args[i], a, b, want)) return true;
    return e->kind == EX_AGG && e->u.agg.filter && has_col(o, e->u.agg.filter, a, b, want);
}
bool opt_uses(Opt *o, const Expr *e, const ColSet *s) { return e && has_col(o, e, s, NULL, true); }
bool opt_within(Opt *o, const Expr *e, const ColSet *s) { return !e || !has_col(o, e, s, NULL, false); }
bool opt_within_both(Opt *o, const Expr *e, const ColSet *a, const ColSet *b) {
    return !e || !has_col(o, e, a, b, false);
}
bool opt_uses_col(Opt *o, const Expr *e, ColId id) {
    if (stack_stop()) return true;
    if (e->kind == EX_COL) return e->u.col == id;
    if (e->kind == EX_SUBQUERY) {
        ColSet c = colset_new(o->c);
        expr_cols(o->c, e, &c);
        return colset_has(&c, id);
    }
    for (int32_t i = 0; i < e->n_args; i++)
        if (opt_uses_col(o, e->args[i], id)) return true;
    return false;
}

/* ---- plans ------------------------------------------------------------------------------ */
static Expr **expr_array(Opt *o, int64_t n, Expr *const *from) {
    Expr **a = arena_array(o->a, Expr *, n + 1);
    for (int64_t i = 0; a && from && i < n; i++) a[i] = from[i];
    return a;
}
static ColId *id_array(Opt *o, int64_t n, const ColId *from) {
    ColId *a = arena_array(o->a, ColId, n + 1);
    for (int64_t i = 0; a && from && i < n; i++) a[i] = from[i];
    return a;
}
Plan *opt_filter(Opt *o, Plan *child, const ExprVec *conds) {
    if (!child || conds->len == 0) return child;
    int64_t old = child->kind == LP_FILTER ? child->n_conds : 0;
    Expr **all = expr_array(o, old + conds->len, NULL);
    if (!all) return NULL;
    for (int64_t i = 0; i < old; i++) all[i] = child->conds[i];
    for (int64_t i = 0; i < conds->len; i++)
        if (!(all[old + i] = conds->items[i])) return NULL;
    Plan *p = child;
    if (child->kind != LP_FILTER) {
        if (!(p = plan_new(o->c, LP_FILTER, 1))) return NULL;
        p->children[0] = child;
    }
    p->conds = all;
    p->n_conds = (int32_t)(old + conds->len);
    return p;
}
Plan *opt_join(Opt *o, JoinKind kind, Plan *l, Plan *r, const ExprVec *conds) {
    if (!l || !r) return NULL;
    Plan *p = plan_new(o->c, LP_JOIN, 2);
    if (!p) return NULL;
    p->join.kind = (uint8_t)kind;
    p->children[0] = l;
    p->children[1] = r;
    p->n_conds = conds ? (int32_t)conds->len : 0;
    if (!(p->conds = expr_array(o, p->n_conds, conds ? conds->items : NULL))) return NULL;
    return p;
}
Plan *opt_project(Opt *o, Plan *child, int64_t n, const ColId *out, Expr *const *exprs) {
    if (!child) return NULL;
    for (int64_t i = 0; i < n; i++)
        if (!exprs[i] || out[i] <= 0) return NULL;
    Plan *p = plan_new(o->c, LP_PROJECT, 1);
    if (!p) return NULL;
    p->children[0] = child;
    p->n_out = p->n_exprs = (int32_t)n;
    p->out_cols = id_array(o, n, out);
    p->exprs = expr_array(o, n, exprs);
    return p->out_cols && p->exprs ? p : NULL;
}
Plan *opt_agg(Opt *o, Plan *child, int64_t n_keys, const ColId *out, Expr *const *keys, int64_t n_aggs,
              const AggCall *aggs) {
    if (!child) return NULL;
    for (int64_t i = 0; i < n_keys; i++)
        if (!keys[i] || out[i] <= 0) return NULL;
    Plan *p = plan_new(o->c, LP_AGG, 1);
    if (!p) return NULL;
    p->children[0] = child;
    p->agg.n_keys = p->n_exprs = (int32_t)n_keys;
    p->n_out = (int32_t)n_keys;
    p->out_cols = id_array(o, n_keys, out);
    p->exprs = expr_array(o, n_keys, keys);
    p->agg.n_calls = (int32_t)n_aggs;
    p->agg.calls = arena_array(o->a, AggCall, n_aggs + 1);
    if (!p->out_cols || !p->exprs || !p->agg.calls) return NULL;
    for (int64_t i = 0; i < n_aggs; i++) {
        if (aggs[i].out <= 0) return NULL;
        p->agg.calls[i] = aggs[i];
    }
    return p;
}
Plan *opt_empty(Opt *o, const Plan *like) {
    IdVec ids = {0};
    if (opt_out_ids(o, like, &ids) != ST_OK) return NULL;
    Plan *p = plan_new(o->c, LP_VALUES, 0);
    if (!p) return NULL;
    p->n_out = (int32_t)ids.len;
    p->out_cols = id_array(o, ids.len, ids.items);
    p->values.n_rows = 0;
    return p->out_cols ? p : NULL;
}
bool opt_is_empty(const Plan *p) { return p->kind == LP_VALUES && p->values.n_rows == 0; }
Plan *opt_cte_scan(Opt *o, int64_t cte, int64_t n, const ColId *out, const ColId *def) {
    Plan *p = plan_new(o->c, LP_CTE_SCAN, 0);
    if (!p) return NULL;
    p->cte.id = cte;
    p->n_out = (int32_t)n;
    p->out_cols = id_array(o, n, out);
    p->cte.cols = id_array(o, n, def);
    return p->out_cols && p->cte.cols ? p : NULL;
}
const FuncDef *opt_agg_func(AggKind kind, Type arg) {
    int64_t n;
    const FuncDef *t = func_table(&n), *any = NULL;
    for (int64_t i = 0; i < n; i++) {
        if (!(t[i].flags & FN_AGGREGATE) || t[i].agg != kind) continue;
        if (t[i].nargs >= 1 && t[i].args[0] == arg.id) return &t[i];
        if (t[i].nargs == 0 || t[i].args[0] == T_VOID || !any) any = &t[i];
    }
    return any;
}
Status opt_agg_call(Opt *o, const char *name, Expr *arg, AggCall *out, Type *ret) {
    if (!arg) return ST_ERROR;
    const FuncDef *f;
    Type coerced[1];
    /* PostgreSQL has no min and max of bit strings and ranges: by these names they are the optimiser's own */
    if (type_is_bits(arg->type) || type_is_range(arg->type))
        name = strcmp(name, "min") == 0 ? "min_bytes" : strcmp(name, "max") == 0 ? "max_bytes" : name;
    TRY(func_resolve(slice_of(name), false, 1, &arg->type, 0, &f, coerced, ret, o->err));
    memset(out, 0, sizeof *out);
    out->func = f;
    out->kind = f->agg;
    out->arg = arg->kind != EX_CONST && cast_is_noop(arg->type, coerced[0]) ? arg : opt_cast(o, arg, coerced[0]);
    return out->arg ? ST_OK : ST_ERROR;
}

/* ---- column sets ------------------------------------------------------------------------- */
ColSet opt_outputs(Opt *o, const Plan *p) {
    ColSet s = colset_new(o->c);
    plan_outputs(o->c, p, &s);
    return s;
}
ColSet opt_free(Opt *o, const Plan *p) {
    ColSet s = colset_new(o->c);
    plan_free_cols(o->c, p, &s);
    return s;
}
Status opt_out_ids(Opt *o, const Plan *p, IdVec *out) {
    ColSet s = opt_outputs(o, p);
    for (int64_t w = 0; w < s.n_words; w++)
        for (uint64_t b = s.bits ? s.bits[w] : 0; b; b &= b - 1)
            if (!vec_push(o->a, out, (ColId)(w * 64 + __builtin_ctzll(b)))) return ST_ERROR;
    return ST_OK;
}
ColId opt_new_like(Opt *o, ColId id) {
    ColInfo ci = o->c->cols.items[id];
    ColId n = plan_new_col(o->c, ci.name, ci.type, ci.nullable);
    if (n > 0) {
        o->c->cols.items[n].table = ci.table;
        o->c->cols.items[n].col = ci.col;
        if (id < o->stats.len && o->stats.items[id].known) {
            ColStat st = o->stats.items[id], none = {0};
            while (o->stats.len <= n)
                if (!vec_push(o->a, &o->stats, none)) return n;
            o->stats.items[n] = st;
        }
    }
    return n;
}
bool opt_set_empty(const ColSet *s) {
    for (int64_t w = 0; w < s->n_words; w++)
        if (s->bits[w]) return false;
    return true;
}
ColSet opt_set_and(Opt *o, const ColSet *a, const ColSet *b) {
    ColSet r = colset_new(o->c);
    for (int64_t w = 0; w < a->n_words && w < b->n_words; w++)
        for (uint64_t x = a->bits[w] & b->bits[w]; x; x &= x - 1)
            colset_add(o->c, &r, (ColId)(w * 64 + __builtin_ctzll(x)));
    return r;
}

/* ---- copying and renaming ------------------------------------------------------------------ */
static Expr *copy_expr_deep(Opt *o, const Expr *e);
static Status copy_subplans(Opt *o, Expr *e) {
    TRY(stack_check(o->err));
    for (int32_t i = 0; i < e->n_args; i++) TRY(copy_subplans(o, e->args[i]));
    if (e->kind == EX_SUBQUERY) {
        if (!(e->u.sub.plan = opt_plan_copy(o, e->u.sub.plan))) return ST_ERROR;
        ColId *cols = id_array(o, e->u.sub.n_cols, e->u.sub.cols);
        if (!cols) return ST_ERROR;
        e->u.sub.cols = cols;
        if (e->u.sub.compare) {
            Expr **cmp = expr_array(o, e->u.sub.n_cols, NULL);
            if (!cmp) return ST_ERROR;
            for (int32_t i = 0; i < e->u.sub.n_cols; i++)
                if (e->u.sub.compare[i] && !(cmp[i] = copy_expr_deep(o, e->u.sub.compare[i]))) return ST_ERROR;
            e->u.sub.compare = cmp;
        }
    }
    return ST_OK;
}
static Expr *copy_expr_deep(Opt *o, const Expr *e) {
    if (!e) return NULL;
    Expr *x = expr_copy(o->c, e);
    if (!x || copy_subplans(o, x) != ST_OK) return NULL;
    return x;
}
static Status copy_exprs(Opt *o, Expr ***list, int64_t n) {
    if (!*list) return ST_OK;
    Expr **x = expr_array(o, n, NULL);
    if (!x) return ST_ERROR;
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] = copy_expr_deep(o, (*list)[i]))) return ST_ERROR;
    *list = x;
    return ST_OK;
}
static Status copy_ids(Opt *o, ColId **list, int64_t n) {
    if (!*list) return ST_OK;
    ColId *x = id_array(o, n, *list);
    if (!x) return ST_ERROR;
    *list = x;
    return ST_OK;
}
static Status copy_into(Opt *o, Plan *n) {
    TRY(copy_ids(o, &n->out_cols, n->n_out));
    TRY(copy_exprs(o, &n->exprs, n->n_exprs));
    TRY(copy_exprs(o, &n->conds, n->n_conds));
    if (n->scan.cols) {
        int32_t *x = arena_array(o->a, int32_t, n->n_out + 1);
        if (!x) return ST_ERROR;
        memcpy(x, n->scan.cols, (size_t)n->n_out * sizeof *x);
        n->scan.cols = x;
    }
    if (n->stream_cols) {
        int32_t *x = arena_array(o->a, int32_t, n->n_out + 1);
        if (!x) return ST_ERROR;
        memcpy(x, n->stream_cols, (size_t)n->n_out * sizeof *x);
        n->stream_cols = x;
    }
    if (n->values.cells) {
        Vec *cells = arena_array(o->a, Vec, n->n_out + 1);
        if (!cells) return ST_ERROR;
        memcpy(cells, n->values.cells, (size_t)n->n_out * sizeof *cells);
        n->values.cells = cells;
    }
    if (n->kind == LP_VALUES && n->values.rows) {
        Expr ***rows = arena_array(o->a, Expr **, n->values.n_rows);
        if (!rows) return ST_ERROR;
        for (int64_t i = 0; i < n->values.n_rows; i++) {
            rows[i] = n->values.rows[i];
            TRY(copy_exprs(o, &rows[i], n->n_out));
        }
        n->values.rows = rows;
    }
    if (n->agg.calls) {
        AggCall *x = arena_array(o->a, AggCall, n->agg.n_calls + 1);
        if (!x) return ST_ERROR;
        for (int32_t i = 0; i < n->agg.n_calls; i++) {
            x[i] = n->agg.calls[i];
            if (x[i].arg && !(x[i].arg = copy_expr_deep(o, x[i].arg))) return ST_ERROR;
            if (x[i].arg2 && !(x[i].arg2 = copy_expr_deep(o, x[i].arg2))) return ST_ERROR;
            if (x[i].filter && !(x[i].filter = copy_expr_deep(o, x[i].filter))) return ST_ERROR;
        }
        n->agg.calls = x;
    }
    if (n->sort.keys) {
        SortKey *x = arena_array(o->a, SortKey, n->sort.n + 1);
        if (!x) return ST_ERROR;
        for (int32_t i = 0; i < n->sort.n; i++) {
            x[i] = n->sort.keys[i];
            if (!(x[i].expr = copy_expr_deep(o, x[i].expr))) return ST_ERROR;
        }
        n->sort.keys = x;
    }
    if (n->limit.rows_expr && !(n->limit.rows_expr = copy_expr_deep(o, n->limit.rows_expr))) return ST_ERROR;
    if (n->limit.offset_expr && !(n->limit.offset_expr = copy_expr_deep(o, n->limit.offset_expr))) return ST_ERROR;
    TRY(copy_ids(o, &n->cte.cols, n->n_out));
    if (n->set.cols) {
        ColId **x = arena_array(o->a, ColId *, n->n_children + 1);
        if (!x) return ST_ERROR;
        for (int32_t i = 0; i < n->n_children; i++) {
            x[i] = n->set.cols[i];
            TRY(copy_ids(o, &x[i], n->n_out));
        }
        n->set.cols = x;
    }
    Plan **ch = arena_array(o->a, Plan *, n->n_children + 1);
    if (!ch) return ST_ERROR;
    for (int32_t i = 0; i < n->n_children; i++)
        if (!(ch[i] = opt_plan_copy(o, n->children[i]))) return ST_ERROR;
    n->children = ch;
    return ST_OK;
}
Plan *opt_plan_copy(Opt *o, const Plan *p) {
    if (stack_check(o->err) != ST_OK) return NULL;
    Plan *n = plan_new(o->c, (PlanKind)p->kind, p->n_children);
    if (!n) return NULL;
    *n = *p;
    return copy_into(o, n) == ST_OK ? n : NULL;
}

Status opt_each_expr(Opt *o, Plan *p, Status (*fn)(Opt *o, Expr **e, void *ctx), void *ctx) {
    for (int32_t i = 0; i < p->n_exprs; i++) TRY(fn(o, &p->exprs[i], ctx));
    for (int32_t i = 0; i < p->n_conds; i++) TRY(fn(o, &p->conds[i], ctx));
    if (p->kind == LP_VALUES && p->values.rows)
        for (int64_t r = 0; r < p->values.n_rows; r++)
            for (int32_t i = 0; i < p->n_out; i++) TRY(fn(o, &p->values.rows[r][i], ctx));
    for (int32_t i = 0; i < p->agg.n_calls; i++) {
        if (p->agg.calls[i].arg) TRY(fn(o, &p->agg.calls[i].arg, ctx));
        if (p->agg.calls[i].arg2) TRY(fn(o, &p->agg.calls[i].arg2, ctx));
        if (p->agg.calls[i].filter) TRY(fn(o, &p->agg.calls[i].filter, ctx));
    }
    for (int32_t i = 0; i < p->sort.n; i++) TRY(fn(o, &p->sort.keys[i].expr, ctx));
    for (int32_t i = 0; i < p->win.n_calls; i++)
        for (int k = 0; k < 3 && p->win.calls[i].args[k]; k++) TRY(fn(o, &p->win.calls[i].args[k], ctx));
    if (p->win.start_offset) TRY(fn(o, &p->win.start_offset, ctx));
    if (p->win.end_offset) TRY(fn(o, &p->win.end_offset, ctx));
    if (p->limit.rows_expr) TRY(fn(o, &p->limit.rows_expr, ctx));
    if (p->limit.offset_expr) TRY(fn(o, &p->limit.offset_expr, ctx));
    return ST_OK;
}

Status opt_each_arg(Opt *o, Expr *e, Status (*fn)(Opt *o, Expr **e, void *ctx), void *ctx) {
    for (int32_t i = 0; i < e->n_args; i++) TRY(fn(o, &e->args[i], ctx));
    if (e->kind == EX_SUBQUERY && e->u.sub.compare)
        for (int32_t i = 0; i < e->u.sub.n_cols; i++) TRY(fn(o, &e->u.sub.compare[i], ctx));
    return ST_OK;
}

/* Maps are sorted by `from` when long; a map here is searched linearly up to 16 entries and through a table otherwise.
 */
typedef struct Remap {
    int64_t n;
    const ColMap *map;
    const ColId *table; /* by id, or NULL */
    int64_t n_table;
} Remap;
static ColId remap_id(const Remap *r, ColId id) {
    if (r->table) return id < r->n_table && r->table[id] ? r->table[id] : id;
    for (int64_t i = 0; i < r->n; i++)
        if (r->map[i].from == id) return r->map[i].to;
    return id;
}
static void remap_plan(const Remap *r, Plan *p);
static void remap_expr(const Remap *r, Expr *e) {
    if (stack_stop()) return;
    if (e->kind == EX_COL) e->u.col = remap_id(r, e->u.col);
    for (int32_t i = 0; i < e->n_args; i++) remap_expr(r, e->args[i]);
    if (e->kind == EX_SUBQUERY) {
        for (int32_t i = 0; i < e->u.sub.n_cols; i++) {
            e->u.sub.cols[i] = remap_id(r, e->u.sub.cols[i]);
            if (e->u.sub.compare && e->u.sub.compare[i]) remap_expr(r, e->u.sub.compare[i]);
        }
        remap_plan(r, e->u.sub.plan);
    }
}
static Status remap_fn(Opt *o, Expr **e, void *ctx) {
    (void)o;
    remap_expr(ctx, *e);
    return ST_OK;
}
static void remap_ids(const Remap *r, ColId *ids, int64_t n) {
    for (int64_t i = 0; ids && i < n; i++) ids[i] = remap_id(r, ids[i]);
}
static void remap_plan(const Remap *r, Plan *p) {
    if (stack_stop()) return;
    remap_ids(r, p->out_cols, p->n_out);
    remap_ids(r, p->cte.cols, p->n_out);
    for (int32_t i = 0; p->set.cols && i < p->n_children; i++) remap_ids(r, p->set.cols[i], p->n_out);
    for (int32_t i = 0; i < p->agg.n_calls; i++) p->agg.calls[i].out = remap_id(r, p->agg.calls[i].out);
    for (int32_t i = 0; i < p->win.n_calls; i++) p->win.calls[i].out = remap_id(r, p->win.calls[i].out);
    p->join.mark_col = remap_id(r, p->join.mark_col);
    p->count_col = remap_id(r, p->count_col);
    if (opt_each_expr(NULL, p, remap_fn, (void *)r) != ST_OK) return;
    for (int32_t i = 0; i < p->n_children; i++) remap_plan(r, p->children[i]);
}
void opt_plan_remap(Plan *p, int64_t n, const ColMap *map) {
    Remap r = {n, map, NULL, 0};
    remap_plan(&r, p);
}
ColId opt_mapped(const MapVec *m, ColId id) {
    for (int64_t i = 0; i < m->len; i++)
        if (m->items[i].from == id) return m->items[i].to;
    return id;
}

static Status made_ids(Opt *o, const Plan *p, ColSet *seen, IdVec *out);
static Status made_add(Opt *o, ColId id, ColSet *seen, IdVec *out) {
    if (id <= 0 || colset_has(seen, id)) return ST_OK;
    colset_add(o->c, seen, id);
    return vec_push(o->a, out, id) ? ST_OK : ST_ERROR;
}
typedef struct Made {
    ColSet *seen;
    IdVec *out;
} Made;
static Status made_expr(Opt *o, Expr **e, void *ctx) {
    TRY(stack_check(o->err));
    Made *m = ctx;
    TRY(opt_each_arg(o, *e, made_expr, ctx));
    if ((*e)->kind == EX_SUBQUERY) TRY(made_ids(o, (*e)->u.sub.plan, m->seen, m->out));
    return ST_OK;
}
static Status made_ids(Opt *o, const Plan *p, ColSet *seen, IdVec *out) {
    TRY(stack_check(o->err));
    Made m = {seen, out};
    /* children first: a projection that passes a column through does not make it */
    for (int32_t i = 0; i < p->n_children; i++) TRY(made_ids(o, p->children[i], seen, out));
    for (int32_t i = 0; p->out_cols && i < p->n_out; i++) {
        bool passes = (p->kind == LP_PROJECT || p->kind == LP_AGG) && i < p->n_exprs && p->exprs[i]->kind == EX_COL &&
                      p->exprs[i]->u.col == p->out_cols[i];
        if (!passes) TRY(made_add(o, p->out_cols[i], seen, out));
    }
    for (int32_t i = 0; i < p->agg.n_calls; i++) TRY(made_add(o, p->agg.calls[i].out, seen, out));
    for (int32_t i = 0; i < p->win.n_calls; i++) TRY(made_add(o, p->win.calls[i].out, seen, out));
    TRY(made_add(o, p->join.mark_col, seen, out));
    return opt_each_expr(o, (Plan *)p, made_expr, &m);
}
typedef struct CteIds {
    Opt *o;
    int64_t n;
    int64_t from[64], to[64];
} CteIds;
static void fresh_ctes(CteIds *m, Plan *p) {
    if (stack_stop()) return;
    if (p->kind == LP_SETOP && p->cte.id && m->n < 63) {
        m->from[m->n] = p->cte.id;
        p->cte.id = m->to[m->n++] = ++m->o->c->n_ctes;
    } else if (p->kind == LP_CTE && m->n < 64) {
        m->from[m->n] = p->cte.id;
        p->cte.id = m->to[m->n++] = ++m->o->c->n_ctes;
    } else if (p->kind == LP_CTE_SCAN) {
        for (int64_t i = m->n - 1; i >= 0; i--)
            if (m->from[i] == p->cte.id) {
                p->cte.id = m->to[i];
                break;
            }
    }
    for (int32_t i = 0; i < p->n_children; i++) fresh_ctes(m, p->children[i]);
}
Status opt_plan_rename(Opt *o, Plan *p, MapVec *map) {
    ColSet seen = colset_new(o->c);
    IdVec ids = {0};
    TRY(made_ids(o, p, &seen, &ids));
    int64_t top = o->c->cols.len;
    ColId *table = arena_array(o->a, ColId, top + 1);
    if (!table) return ST_ERROR;
    for (int64_t i = 0; i < ids.len; i++) {
        ColMap m = {ids.items[i], opt_new_like(o, ids.items[i])};
        if (m.to <= 0 || !vec_push(o->a, map, m)) return ST_ERROR;
        table[m.from] = m.to;
    }
    Remap r = {0, NULL, table, top};
    remap_plan(&r, p);
    return ST_OK;
}
Plan *opt_plan_copy_fresh(Opt *o, const Plan *p, MapVec *map) {
    Plan *n = opt_plan_copy(o, p);
    if (!n) return NULL;
    CteIds ctes = {.o = o};
    fresh_ctes(&ctes, n);
    return opt_plan_rename(o, n, map) == ST_OK ? n : NULL;
}

static Status volatile_fn(Opt *o, Expr **e, void *ctx) {
    (void)o;
    if (expr_is_volatile(*e)) *(bool *)ctx = true;
    return ST_OK;
}
bool opt_plan_volatile(const Plan *p) {
    if (stack_stop()) return true;
    bool v = false;
    if (opt_each_expr(NULL, (Plan *)p, volatile_fn, &v) != ST_OK || v) return true;
    for (int32_t i = 0; i < p->n_children; i++)
        if (opt_plan_volatile(p->children[i])) return true;
    return false;
}
