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
/* A type name with modifiers. */
Status sql_bind_type(const AstTypeName *ast, Type *out, Err *e);
/* Replaces parameters by values (cast to their types) throughout the statement. */
Status sql_bind_params(PlanCtx *c, BoundStmt *s, int32_t n, const Value *values);

#endif
