/* bind_null.c - calls that are NULL because an argument is.
 *
 * A strict function is not called when an argument is NULL. Where a constant NULL is among its arguments PostgreSQL
 * replaces the call by NULL before the statement runs, so that the other arguments are never computed and cannot fail:
 * NULL > 1/a is NULL also where a is 0. That is part of what a statement means, not a rule of the optimiser: it is done
 * to the bound tree, before the ways of running it part (query engine, statements on one row, expressions of routines,
 * bulks).
 *
 * Parameters of a statement count once they have values (PostgreSQL's custom plans). Variables of routines do not: what
 * a call raises would depend on the way its routine runs.
 */
#include "sql/bind/bind_int.h"

static bool is_null(const Expr *e) { return e->kind == EX_CONST && e->u.value.is_null; }
static bool some_null(const Expr *e) {
    for (int32_t i = 0; i < e->n_args; i++)
        if (is_null(e->args[i])) return true;
    return false;
}
static bool all_null(const Expr *e) {
    for (int32_t i = 0; i < e->n_args; i++)
        if (!is_null(e->args[i])) return false;
    return true;
}

static bool is_strict(const PlanCtx *c, const Expr *e) {
    return (e->u.func->flags & (FN_STRICT | FN_NULL_ARGS)) || bind_calls_strict_routine(c, e);
}

/* The value of an expression of constants; false when it is none. *failed: it has none, since computing it fails. */
static bool constant_value(PlanCtx *c, const Expr *e, Value *out, bool *failed) {
    if (stack_stop()) return false;
    bool cast = e->kind == EX_CAST, call = e->kind == EX_FUNC &&
                                           !(e->u.func->flags & (FN_VOLATILE | FN_STABLE | FN_AGGREGATE)) &&
                                           e->u.func->kernel;
    if (e->kind == EX_CONST) {
        *out = e->u.value;
        out->type = e->type;
        return true;
    }
    bool constant = cast || call;
    FuncKernel k = cast ? cast_kernel(e->args[0]->type, e->type, (CastCtx)e->cast_ctx) : NULL;
    Value *args = arena_array(c->arena, Value, e->n_args + 1);
    if (!args) return false;
    for (int32_t i = 0; i < e->n_args; i++) constant &= constant_value(c, e->args[i], &args[i], failed) && !*failed;
    if (!constant || (cast && !k)) return false;
    Err err = {0};
    *failed = func_eval(call ? e->u.func : NULL, k, c->session, c->arena, e->type, e->n_args, args, out, &err) != ST_OK;
    return !*failed;
}
/* PostgreSQL computes what is constant in the arguments before it looks for NULLs among them: an error there is the
 * statement's. */
static bool constant_fails(PlanCtx *c, const Expr *e) {
    Value v;
    bool failed = false;
    for (int32_t i = 0; i < e->n_args; i++)
        if (e->args[i]->kind != EX_CONST && expr_can_fail(e->args[i])) (void)constant_value(c, e->args[i], &v, &failed);
    return failed;
}

static bool becomes_null(PlanCtx *c, const Expr *e) {
    switch ((ExprKind)e->kind) {
    case EX_FUNC: return some_null(e) && is_strict(c, e) && !constant_fails(c, e);
    case EX_CAST:
    case EX_NOT: return is_null(e->args[0]);
    case EX_IN: return is_null(e->args[0]) && !constant_fails(c, e);
    case EX_AND:
    case EX_OR:
    case EX_COALESCE: return e->n_args > 0 && all_null(e);
    default: return false;
    }
}

static void simplify(void *ctx, Expr *e) {
    if (e->kind == EX_NULLIF && (is_null(e->args[0]) || is_null(e->args[1]))) { /* they are not equal */
        Expr first = *e->args[0];
        *e = first;
    } else if (becomes_null(ctx, e)) {
        e->kind = EX_CONST;
        e->n_args = 0;
        e->u.value = (Value){.type = e->type, .is_null = true};
    }
}

void bind_null_plan(PlanCtx *c, Plan *p) {
    if (p) plan_visit(&(PlanVisitor){.ctx = c, .expr = simplify}, p);
}
void bind_null_expr(PlanCtx *c, Expr *e) { expr_visit(&(PlanVisitor){.ctx = c, .expr = simplify}, e); }

/* ---- parameters ------------------------------------------------------------------------------------ */

static bool no_param(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind != EX_PARAM;
}
static Status apart_slot(void *ctx, Expr **slot);
static bool not_apart(const PlanCtx *c, Plan *p) {
    if (stack_stop()) return false;
    if (plan_each_expr(p, apart_slot, (void *)(uintptr_t)c) != ST_OK) return false;
    for (int32_t i = 0; i < p->n_children; i++)
        if (!not_apart(c, p->children[i])) return false;
    return true;
}
static bool not_apart_expr(void *ctx, Expr *e) {
    if (e->kind == EX_SUBQUERY) return not_apart(ctx, e->u.sub.plan);
    if (e->kind != EX_FUNC || e->n_args < 2 || !is_strict(ctx, e)) return true;
    bool fails = false, param = false;
    for (int32_t i = 0; i < e->n_args; i++) {
        fails |= expr_can_fail(e->args[i]);
        param |= !expr_walk(e->args[i], no_param, NULL);
    }
    return !fails || !param;
}
static Status apart_slot(void *ctx, Expr **slot) { return expr_walk(*slot, not_apart_expr, ctx) ? ST_OK : ST_ERROR; }

bool sql_null_params_matter(const PlanCtx *c, const BoundStmt *s) {
    bool matter = s->plan && s->n_params > 0 && !not_apart(c, s->plan);
    for (int32_t i = 0; i < s->n_members; i++) matter |= s->n_params > 0 && !not_apart(c, s->members[i].stmt->plan);
    return matter;
}
