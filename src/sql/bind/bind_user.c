/* bind_user.c - aggregates and table functions of clients (catalog/user_function.h); scalar ones are bound like
 * routines (bind_routine.c). A table function in FROM is a stream (program/stream.h) whose columns are asked for while
 * the statement is bound, so that its arguments are constants then.
 */
#include "catalog/user_function.h"
#include "program/stream.h"
#include "sql/bind/bind_int.h"

static bool is_user(const Binder *b, const AstFunc *f, UserFunctionKind kind) {
    return !f->name.schema && b->c->catalog && user_functions_has(b->c->catalog->functions, f->name.name, kind);
}

bool bind_is_user_aggregate(const Binder *b, const AstFunc *f) { return is_user(b, f, USER_AGGREGATE); }

Status bind_user_aggregate(Binder *b, const AstFunc *f, int n, Expr **args, const FuncDef **out, Type *coerced,
                           Type *ret) {
    UserFunction *user;
    Expr **cast = arena_array(b->a, Expr *, n + 1);
    if (!cast) return ST_ERROR;
    TRY(bind_user_args(b, f, n, args, &user, cast));
    for (int i = 0; i < n; i++) coerced[i] = cast[i]->type;
    *out = &user->def;
    *ret = user->signature.ret;
    return ST_OK;
}

bool bind_is_user_table(const Binder *b, const AstExpr *call) {
    return call->kind == AST_FUNC && is_user(b, AST_AS_CONST(AstFunc, call), USER_TABLE);
}

/* The value of an argument that depends on nothing but constants. */
static Status argument_value(Binder *b, const AstFunc *f, const Expr *e, Value *out) {
    if (e->kind == EX_CONST) {
        *out = e->u.value;
        out->type = e->type;
        return ST_OK;
    }
    if (e->kind != EX_CAST && (e->kind != EX_FUNC || (e->u.func->flags & FN_VOLATILE)))
        return err_at(b->err, bind_pos(b, e->location), ERR_FEATURE_NOT_SUPPORTED,
                      "arguments of table function %s must be constants", f->name.name);
    TRY(stack_check(b->err));
    Value *args = arena_array(b->a, Value, e->n_args + 1);
    if (!args) return ST_ERROR;
    for (int32_t i = 0; i < e->n_args; i++) TRY(argument_value(b, f, e->args[i], &args[i]));
    FuncKernel kernel = NULL;
    if (e->kind == EX_CAST) {
        if (args[0].type.id == T_UNKNOWN && !args[0].is_null)
            return value_from_text(e->type, (Slice){args[0].u.str.ptr, args[0].u.str.len}, b->c->session, b->a, out,
                                   b->err);
        kernel = cast_kernel(args[0].type, e->type, (CastCtx)e->cast_ctx);
        if (args[0].is_null || !kernel) {
            *out = args[0];
            out->type = e->type;
            return ST_OK;
        }
    }
    return func_eval(e->kind == EX_FUNC ? e->u.func : NULL, kernel, b->c->session, b->a, e->type, (int)e->n_args, args,
                     out, b->err);
}

Plan *bind_user_table(Binder *b, Query *q, const AstFunc *f) {
    UserFunction *user;
    const RowStream *rows;
    Expr **given = bind_list(b, q, f->args, f->n_args);
    Expr **args = given ? arena_array(b->a, Expr *, f->n_args + 1) : NULL;
    Value *values = args ? arena_array(b->a, Value, f->n_args + 1) : NULL;
    if (!values || bind_user_args(b, f, f->n_args, given, &user, args) != ST_OK) return NULL;
    for (int64_t i = 0; i < f->n_args; i++)
        if (argument_value(b, f, args[i], &values[i]) != ST_OK) return NULL;
    if (user->open(user, b->a, values, &rows, b->err) != ST_OK) {
        if (!b->err->position) b->err->position = bind_pos(b, f->location);
        return NULL;
    }
    return bind_stream_plan(b, rows);
}
