/* bind.h - names to objects: AST -> bound logical plan (sql/plan/plan.h). */
#ifndef STELE_SQL_BIND_BIND_H
#define STELE_SQL_BIND_BIND_H

#include "sql/parse/ast.h"
#include "sql/plan/plan.h"

/* Binds SELECT, VALUES, INSERT, UPDATE, DELETE (and the query of EXPLAIN, COPY, CREATE TABLE AS by being given that query).
 * param_types: declared types (T_UNKNOWN = infer); n_params in/out through BoundStmt. Needs the shared lock. */
Status sql_bind(PlanCtx *c, const AstStmt *stmt, int32_t n_params, const Type *param_types, BoundStmt **out);
/* A bare expression with no columns (DEFAULT, SET, EXECUTE arguments), cast to `type` unless T_UNKNOWN. */
Status sql_bind_scalar(PlanCtx *c, const AstExpr *ast, Type type, Expr **out);
/* An expression with PlanCtx.variables: no columns of its own, subqueries allowed. `type` as above, with assignment casts. */
Status sql_bind_value(PlanCtx *c, const AstExpr *ast, Type type, Expr **out);
/* A call of a catalog's routine: CALL's, or a SELECT of nothing but a function. args: one per parameter that callers give (routine_is_arg), cast, defaults filled
 * in. Of a procedure's OUT parameters the expressions are bound and never used. */
typedef struct BoundCall {
    const Routine *routine;
    int32_t n_args;
    Expr **args;
    int32_t n_params;
    Type *param_types;
} BoundCall;
/* procedure: 42883 when there is none. Else *out NULL when the name is no routine's of the catalog. */
Status sql_bind_call(PlanCtx *c, const AstFunc *f, bool procedure, int32_t n_params, const Type *param_types, BoundCall **out);
/* A type name with modifiers. */
Status sql_bind_type(const AstTypeName *ast, Type *out, Err *e);
/* Replaces parameters by values (cast to their types) throughout the statement. */
Status sql_bind_params(PlanCtx *c, BoundStmt *s, int32_t n, const Value *values);

#endif
