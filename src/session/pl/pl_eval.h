/* pl_eval.h - values of bound expressions, one at a time: for the expressions of routines that look at no table, and
 * for statements that touch one row.
 *
 * The same kernels as the virtual machine's, called for one row; a routine's expression costs some tens of nanoseconds
 * instead of a query's hundred microseconds. Strings are in `arena` or borrowed from parameters.
 */
#ifndef STELE_SESSION_PL_PL_EVAL_H
#define STELE_SESSION_PL_PL_EVAL_H

#include "sql/plan/plan.h"

typedef struct EvalCtx {
    Arena *arena;
    Err *err;
    const SessionInfo *session;
    int32_t n_params;
    const Value *const *params; /* EX_PARAM $k is params[k - 1] */
    /* EX_COL; NULL: there are none. The value stays valid while the expression is evaluated. */
    Status (*column)(void *ctx, ColId id, const Value **out);
    void *column_ctx;
    /* EX_SUBQUERY of kind SQ_SCALAR and SQ_EXISTS; NULL: there are none. */
    Status (*subquery)(void *ctx, const Expr *e, Value *out);
    void *subquery_ctx;
} EvalCtx;

/* True when eval_expr can do it: no aggregates, columns and subqueries only when allowed. */
enum { EVAL_COLUMNS = 1, EVAL_SUBQUERIES = 2 };
bool eval_can(const Expr *e, unsigned allowed);
Status eval_expr(const EvalCtx *x, const Expr *e, Value *out);
/* A value as another type: as an assignment, and through text when there is no such cast, as PL/pgSQL does. */
Status eval_assign(const EvalCtx *x, const Value *v, Type to, Value *out);

/* For SessionInfo.eval. */
Status eval_for_session(void *ctx, const struct Expr *x, int32_t n, const Value *params, Arena *a, Value *out, Err *e);

#endif
