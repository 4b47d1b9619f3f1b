/* pl_run.h - running functions and procedures one call at a time: the reference that bulks (txn/run/bulk.h) are tested
 * against.
 *
 * A call walks the tree that sql/pl made of the body. Expressions and statements are bound once per session and kept
 * until the catalog changes; expressions without tables are computed by pl_eval.c, statements that touch one row by its
 * key by pl_point.c, all others run as any statement of the session does. The lock of the statement that called is held
 * throughout (exclusive when the routine may change data).
 *
 * An EXCEPTION block is a subtransaction: on an error what it changed is undone from its marks of the undo logs. COMMIT
 * and ROLLBACK end the transaction of a CALL that stands by itself (2D000 elsewhere).
 *
 * Nothing here is thread-safe: one thread, the session's. Queries that call functions run on that thread alone
 * (QueryPlan.serial).
 */
#ifndef STELE_SESSION_PL_PL_RUN_H
#define STELE_SESSION_PL_PL_RUN_H

#include "session/core/session.h"

/* CALL and DO. */
Status pl_statement(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types,
                    const Value *params);
/* SELECT of nothing but a function of the catalog: without the query engine. *done false: it is something else. */
Status pl_lone_call(Session *s, Statement *st, const AstSelect *x, int32_t n_params, const Type *param_types,
                    const Value *params, bool *done);
/* The call in a SELECT of nothing but one; NULL: it is another one. */
const AstFunc *pl_lone_function(const AstSelect *x);
/* For calls that others may run (callpool.h). CALL's, or a lone function's, bound in `a`, under a lock; *out NULL:
 * binding or its arguments depend on more than definitions and parameters, or the function is none of the catalog's,
 * not volatile, strict, or has other results than a value. Its routine is a copy of what callers need, its `sql` the
 * signature for messages. */
struct BoundCall;
Status pl_call_bind(Session *s, const AstFunc *f, bool procedure, Arena *a, int32_t n_params, const Type *param_types,
                    struct BoundCall **out);
/* The values of its IN and INOUT parameters; no lock is needed. */
Status pl_call_values(Session *s, const struct BoundCall *b, Arena *a, int32_t n_params, const Value *params,
                      Value *out);
/* CALL's columns and parameters, under the shared lock; arrays in the arena. */
Status pl_call_shape(Session *s, const AstCall *x, Arena *a, int32_t *n_params, Type **param_types, int32_t *n_cols,
                     const char ***names, Type **types);
/* SessionInfo.call_routine; ctx is the session. */
Status pl_call_function(void *ctx, int64_t routine, int n, const Value *args, Type ret, Arena *a, Value *out, Err *e);
/* SessionInfo.check_domain. */
Status pl_check_domain(void *ctx, int64_t domain, const Value *v, Err *e);
/* SessionInfo.call_routine_rows. */
Status pl_call_rows(void *ctx, int64_t routine, int n, const Value *args, int32_t n_cols, const Type *types, Arena *a,
                    int64_t *n_rows, Value **cells, Err *e);
/* Rows of an LP_VALUES with a values.routine_id: calls it, and makes them constants. Its arguments are constants by
 * now. */
Status pl_fill_rows(Session *s, PlanCtx *c, Plan *p);
/* One call of a routine with its IN and INOUT arguments, under the exclusive lock, outside of any other: OUT values (or
 * the function's value) in `a`. After an error the caller undoes what was changed. */
Status pl_call_once(Session *s, const Routine *r, int n, const Value *args, Arena *a, int32_t *n_out, Value **out);
/* The command's tag of a statement on one row by its key, which was there or not. */
void pl_point_tag(const BoundStmt *b, bool found, char *tag, int64_t size);
bool pl_in_call(const Session *s); /* a routine runs now */
/* The name of a cursor variable of that routine becomes that of its cursor; others stay. */
void pl_cursor_portal(const Session *s, Str *name);
void pl_session_free(Session *s);

#endif
