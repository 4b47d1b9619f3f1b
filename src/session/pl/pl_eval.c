/* pl_eval.c - see pl_eval.h. Three-valued logic and order of evaluation as in the virtual machine (exec/vm_expr.c). */
#include "session/pl/pl_eval.h"

#include "session/core/session.h"

enum { DIRECT_ARGS = 8 };

static bool can_fn(void *ctx, Expr *e) {
    const unsigned *allowed = ctx;
    if (e->kind == EX_COL) return *allowed & EVAL_COLUMNS;
    if (e->kind == EX_SUBQUERY)
        return (*allowed & EVAL_SUBQUERIES) && (e->subquery == SQ_SCALAR || e->subquery == SQ_EXISTS);
    return e->kind != EX_AGG;
}
bool eval_can(const Expr *e, unsigned allowed) {
    return expr_walk((Expr *)(uintptr_t)e, can_fn, &allowed); /* changes nothing */
}

static Status call(const EvalCtx *x, const FuncDef *f, FuncKernel kernel, bool strict, Type ret, int32_t n,
                   const Value *args, Value *out) {
    Vec direct[DIRECT_ARGS], *v = n <= DIRECT_ARGS ? direct : arena_array(x->arena, Vec, n);
    uint8_t no = 0, ok = 1;
    if (!v) return stack_failed(x->err);
    *out = (Value){.type = ret};
    for (int32_t k = 0; k < n; k++) {
        if (strict && args[k].is_null) {
            out->is_null = true;
            return ST_OK;
        }
        v[k] = (Vec){.data = (void *)(uintptr_t)value_cell_const(&args[k]),
                     .valid = args[k].is_null ? &no : NULL,
                     .phys = (uint8_t)type_phys(args[k].type),
                     .type = args[k].type};
    }
    Vec r = {.data = value_cell(out), .valid = strict ? NULL : &ok, .phys = (uint8_t)type_phys(ret), .type = ret};
    FuncCtx ctx = {
        .func = f, .arena = x->arena, .err = x->err, .session = x->session, .state_arena = x->arena, .ret = ret};
    TRY(kernel(&ctx, 1, v, n, &r));
    out->is_null = !ok;
    dbg_assert(value_agrees(ret, out));
    return ST_OK;
}

static Status eval_call(const EvalCtx *x, const Expr *e, Value *out) {
    Value direct[DIRECT_ARGS], *args = e->n_args <= DIRECT_ARGS ? direct : arena_array(x->arena, Value, e->n_args);
    const FuncDef *f = e->u.func;
    if (!args) return stack_failed(x->err);
    for (int32_t i = 0; i < e->n_args; i++) TRY(eval_expr(x, e->args[i], &args[i]));
    if (!f->kernel) return err_internal(x->err, "function %s has no kernel", f->name);
    return call(x, f, f->kernel, f->flags & FN_STRICT, e->type, e->n_args, args, out);
}

static Status cast(const EvalCtx *x, const Value *v, Type to, CastCtx how, Value *out) {
    if (v->is_null) {
        *out = (Value){.type = to, .is_null = true};
        return ST_OK;
    }
    if (v->type.id == T_UNKNOWN)
        return value_from_text(to, (Slice){v->u.str.ptr, v->u.str.len}, x->session, x->arena, out, x->err);
    if (cast_is_noop(v->type, to) && type_phys(v->type) == type_phys(to)) {
        *out = *v;
        out->type = to;
        return ST_OK;
    }
    FuncKernel k = cast_kernel(v->type, to, how);
    if (!k)
        return err_set(x->err, ERR_CANNOT_COERCE, "cannot cast type %s to %s", type_base_name((TypeId)v->type.id),
                       type_base_name((TypeId)to.id));
    return call(x, NULL, k, true, to, 1, v, out);
}

Status eval_assign(const EvalCtx *x, const Value *v, Type to, Value *out) {
    if (type_eq(v->type, to) || v->is_null) {
        *out = *v;
        out->type = to;
        return ST_OK;
    }
    if (v->type.id == T_UNKNOWN || cast_exists(v->type, to, CAST_ASSIGNMENT))
        return cast(x, v, to, CAST_ASSIGNMENT, out);
    int64_t n;
    char *text = value_to_text_form(x->arena, v, x->session ? x->session->form : (TextForm){0}, &n);
    if (!text) return stack_failed(x->err);
    return value_from_text(to, (Slice){text, n}, x->session, x->arena, out, x->err);
}

static void set_bool(Value *out, bool b) { *out = (Value){.type = type_make(T_BOOL), .u.b = b}; }

/* AND (stop = false), OR (stop = true). */
static Status eval_chain(const EvalCtx *x, const Expr *e, bool stop, Value *out) {
    bool unknown = false;
    for (int32_t i = 0; i < e->n_args; i++) {
        Value v;
        TRY(eval_expr(x, e->args[i], &v));
        if (v.is_null) unknown = true;
        else if (v.u.b == stop) return set_bool(out, stop), ST_OK;
    }
    set_bool(out, !stop);
    out->is_null = unknown;
    return ST_OK;
}

static Status eval_case(const EvalCtx *x, const Expr *e, Value *out) {
    int32_t i = 0;
    for (; i + 1 < e->n_args; i += 2) {
        Value v;
        TRY(eval_expr(x, e->args[i], &v));
        if (!v.is_null && v.u.b) return eval_expr(x, e->args[i + 1], out);
    }
    if (i < e->n_args) return eval_expr(x, e->args[i], out);
    *out = (Value){.type = e->type, .is_null = true};
    return ST_OK;
}

static Status eval_in(const EvalCtx *x, const Expr *e, Value *out) {
    Value v, item;
    bool unknown = false;
    TRY(eval_expr(x, e->args[0], &v));
    for (int32_t i = 1; i < e->n_args; i++) {
        TRY(eval_expr(x, e->args[i], &item));
        if (v.is_null || item.is_null) unknown = true;
        else if (value_cmp(&v, &item) == 0) return set_bool(out, true), ST_OK;
    }
    set_bool(out, false);
    out->is_null = unknown;
    return ST_OK;
}

Status eval_expr(const EvalCtx *x, const Expr *e, Value *out) {
    TRY(stack_check(x->err));
    Value v, w;
    switch ((ExprKind)e->kind) {
    case EX_CONST: *out = e->u.value; return ST_OK;
    case EX_PARAM:
        if (e->u.param > x->n_params)
            return err_set(x->err, ERR_UNDEFINED_PARAMETER, "there is no parameter $%d", (int)e->u.param);
        *out = *x->params[e->u.param - 1];
        out->type = e->type;
        return ST_OK;
    case EX_COL: {
        const Value *c;
        TRY(x->column(x->column_ctx, e->u.col, &c));
        *out = *c;
        return ST_OK;
    }
    case EX_FUNC: return eval_call(x, e, out);
    case EX_CAST: TRY(eval_expr(x, e->args[0], &v)); return cast(x, &v, e->type, (CastCtx)e->cast_ctx, out);
    case EX_AND: return eval_chain(x, e, false, out);
    case EX_OR: return eval_chain(x, e, true, out);
    case EX_NOT:
        TRY(eval_expr(x, e->args[0], out));
        out->u.b = !out->u.b;
        return ST_OK;
    case EX_IS_NULL:
    case EX_IS_NOT_NULL:
        TRY(eval_expr(x, e->args[0], &v));
        set_bool(out, v.is_null == (e->kind == EX_IS_NULL));
        return ST_OK;
    case EX_IS_TRUE:
    case EX_IS_NOT_TRUE:
    case EX_IS_FALSE:
    case EX_IS_NOT_FALSE: {
        TRY(eval_expr(x, e->args[0], &v));
        bool want = e->kind == EX_IS_TRUE || e->kind == EX_IS_NOT_TRUE, is = !v.is_null && v.u.b == want;
        set_bool(out, is == (e->kind == EX_IS_TRUE || e->kind == EX_IS_FALSE));
        return ST_OK;
    }
    case EX_DISTINCT:
    case EX_NOT_DISTINCT: {
        TRY(eval_expr(x, e->args[0], &v));
        TRY(eval_expr(x, e->args[1], &w));
        bool differ = v.is_null || w.is_null ? v.is_null != w.is_null : value_cmp(&v, &w) != 0;
        set_bool(out, differ == (e->kind == EX_DISTINCT));
        return ST_OK;
    }
    case EX_CASE: return eval_case(x, e, out);
    case EX_COALESCE:
        *out = (Value){.type = e->type, .is_null = true};
        for (int32_t i = 0; i < e->n_args && out->is_null; i++) TRY(eval_expr(x, e->args[i], out));
        return ST_OK;
    case EX_NULLIF:
        TRY(eval_expr(x, e->args[0], out));
        TRY(eval_expr(x, e->args[2], &v));
        if (!v.is_null && v.u.b) out->is_null = true;
        return ST_OK;
    case EX_IN: return eval_in(x, e, out);
    case EX_SUBQUERY: return x->subquery(x->subquery_ctx, e, out);
    case EX_AGG: break;
    }
    return err_internal(x->err, "expression cannot be evaluated by itself");
}

Status eval_for_session(void *ctx, const struct Expr *x, int32_t n, const Value *params, Arena *a, Value *out, Err *e) {
    enum { PARAMS_MAX = 16 };
    const Session *s = ctx;
    const Value *at[PARAMS_MAX];
    if (n > PARAMS_MAX) return err_internal(e, "an expression of %d parameters", n);
    for (int32_t i = 0; i < n; i++) at[i] = &params[i];
    const EvalCtx c = {.arena = a, .err = e, .session = &s->info, .n_params = n, .params = at};
    return eval_expr(&c, x, out);
}
