/* pl_domain.c - values one at a time as ones of a domain: variables, results of functions, volatile expressions.
 *
 * The conditions are bound for each value, by the code that binds them into statements, and computed without the query
 * engine.
 */
#include "session/pl/pl_eval.h"
#include "session/pl/pl_run.h"
#include "sql/bind/bind.h"

Status pl_check_domain(void *ctx, int64_t domain, const Value *v, Err *e) {
    Session *s = ctx;
    PlanCtx c;
    Value out;
    Arena *a = arena_new(&s->account, e);
    if (!a) return ST_ERROR;
    plan_ctx_init(s, a, &c);
    c.err = e;
    Expr *x = expr_new(&c, EX_PARAM, v->type, 0);
    EvalCtx eval = {.arena = a, .err = e, .session = &s->info, .params = &v, .n_params = 1};
    Status st = x ? ST_OK : err_oom(e);
    if (st == ST_OK) x->u.param = 1;
    if (st == ST_OK) st = sql_bind_domain(&c, domain, &x);
    if (st == ST_OK) st = eval_expr(&eval, x, &out);
    arena_free(a);
    return st;
}
