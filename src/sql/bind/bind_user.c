/* bind_user.c - aggregates and table functions of clients (catalog/user_function.h); scalar ones are bound like
 * routines (bind_routine.c). Columns of a table function are asked for while the statement is bound. With constants as
 * arguments, by itself in FROM, it is a stream (program/stream.h); else an array of records, made for each row of
 * arguments, whose elements are its rows (bind_rows.c).
 */
#include "catalog/user_function.h"
#include "program/stream.h"
#include "sql/bind/bind_int.h"

static bool is_user(const Binder *b, const AstFunc *f, UserFunctionKind kind) {
    return !f->name.schema && b->c->catalog && user_functions_has(b->c->catalog->functions, f->name.name, kind);
}

bool bind_is_user_aggregate(const Binder *b, const AstFunc *f) {
    return is_user(b, f, USER_AGGREGATE) || bind_is_catalog_aggregate(b, &f->name);
}

Status bind_user_aggregate(Binder *b, const AstFunc *f, int n, Expr **args, const FuncDef **out, Type *coerced,
                           Type *ret) {
    UserFunction *user;
    Expr **cast = arena_array(b->a, Expr *, n + 1);
    *out = NULL;
    if (!cast) return ST_ERROR;
    if (!is_user(b, f, USER_AGGREGATE)) {
        const Routine *r;
        Type *given = arena_array(b->a, Type, n + 1);
        if (!given) return ST_ERROR;
        for (int i = 0; i < n; i++) given[i] = args[i]->type;
        TRY(bind_find_aggregate(b, f, n, args, &r));
        return r ? bind_catalog_aggregate(b, r, n, given, out, coerced, ret) : ST_OK;
    }
    TRY(bind_user_args(b, f, n, args, &user, cast));
    for (int i = 0; i < n; i++) coerced[i] = cast[i]->type;
    *out = &user->def;
    *ret = user->signature.ret;
    return ST_OK;
}

bool bind_is_user_table(const Binder *b, const AstExpr *call) {
    return call->kind == AST_FUNC && is_user(b, AST_AS_CONST(AstFunc, call), USER_TABLE);
}

/* ---- table functions --------------------------------------------------------------------------- */

static bool constant_node(void *ctx, Expr *e) {
    (void)ctx;
    return e->kind == EX_CONST || e->kind == EX_CAST || (e->kind == EX_FUNC && !(e->u.func->flags & FN_VOLATILE));
}

/* The value of an argument that consists of these. */
static Status argument_value(Binder *b, const Expr *e, Value *out) {
    if (e->kind == EX_CONST) {
        *out = e->u.value;
        out->type = e->type;
        return ST_OK;
    }
    TRY(stack_check(b->err));
    Value *args = arena_array(b->a, Value, e->n_args + 1);
    if (!args) return ST_ERROR;
    for (int32_t i = 0; i < e->n_args; i++) TRY(argument_value(b, e->args[i], &args[i]));
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

/* *values NULL: some argument is no constant. */
static Status argument_values(Binder *b, int64_t n, Expr *const *args, Value **values) {
    *values = NULL;
    for (int64_t i = 0; i < n; i++)
        if (!expr_walk(args[i], constant_node, NULL)) return ST_OK;
    Value *v = arena_array(b->a, Value, n + 1);
    if (!v) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) TRY(argument_value(b, args[i], &v[i]));
    *values = v;
    return ST_OK;
}

static Status open_rows(Binder *b, const UserFunction *user, const Value *values, int64_t location,
                        const RowStream **out) {
    if (user->open(user, b->a, values, out, b->err) == ST_OK) return ST_OK;
    if (!b->err->position) b->err->position = bind_pos(b, location);
    return ST_ERROR;
}

static Status records(Binder *b, const UserFunction *user, const Value *values, int64_t n, Expr **args,
                      int64_t location, RowsFunc *out) {
    const RowStream *rows;
    TRY(open_rows(b, user, values, location, &rows));
    *out = (RowsFunc){.kind = ROWS_ARRAY, .location = location, .n_args = 1, .records = true, .n_cols = rows->n_cols};
    Value types = {.type = type_make(T_BYTEA)};
    types.u.str = str_make((const char *)rows->types, rows->n_cols * (int64_t)sizeof(Type));
    Expr *e = expr_new(b->c, EX_FUNC, type_array_of(type_make(T_BYTEA)), (int32_t)n + 1);
    out->types = arena_array(b->a, Type, rows->n_cols);
    out->cols = arena_array(b->a, ColId, rows->n_cols);
    out->args = arena_array(b->a, Expr *, 1);
    if (!e || !out->types || !out->cols || !out->args || !(e->args[0] = expr_const(b->c, &types))) return ST_ERROR;
    e->u.func = &user->def;
    e->location = location;
    for (int64_t i = 0; i < n; i++) e->args[i + 1] = args[i];
    out->args[0] = e;
    for (int32_t i = 0; i < rows->n_cols; i++) {
        out->types[i] = rows->types[i];
        if ((out->cols[i] = plan_new_col(b->c, rows->names[i], rows->types[i], true)) <= 0) return ST_ERROR;
    }
    return ST_OK;
}

Status bind_user_records(Binder *b, const UserFunction *user, int64_t n, Expr **args, int64_t location, RowsFunc *out) {
    Value *values;
    TRY(argument_values(b, n, args, &values));
    return records(b, user, values, n, args, location, out);
}

static Status bind_arguments(Binder *b, Query *q, const AstFunc *f, UserFunction **user, Expr ***args) {
    Expr **given = bind_list(b, q, f->args, f->n_args);
    if (!given || !(*args = arena_array(b->a, Expr *, f->n_args + 1))) return ST_ERROR;
    return bind_user_args(b, f, f->n_args, given, user, *args);
}

Status bind_user_rows(Binder *b, Query *q, const AstFunc *f, RowsFunc *out) {
    UserFunction *user;
    Expr **args;
    TRY(bind_arguments(b, q, f, &user, &args));
    return bind_user_records(b, user, f->n_args, args, f->location, out);
}

Plan *bind_user_table(Binder *b, Query *q, const AstFunc *f, bool ordinality) {
    UserFunction *user;
    Expr **args;
    Value *values;
    const RowStream *rows;
    RowsFunc x;
    if (bind_arguments(b, q, f, &user, &args) != ST_OK || argument_values(b, f->n_args, args, &values) != ST_OK)
        return NULL;
    if (values && !ordinality)
        return open_rows(b, user, values, f->location, &rows) == ST_OK ? bind_stream_plan(b, rows) : NULL;
    return records(b, user, values, f->n_args, args, f->location, &x) == ST_OK ? bind_rows_plan(b, &x, ordinality)
                                                                               : NULL;
}
