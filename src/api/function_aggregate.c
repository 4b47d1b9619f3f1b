/* function_aggregate.c - aggregates of the client by states: between the states of groups (exec/agg_client.c) and the
 * functions of stele_aggregate. Rows come in pieces of CHUNK; those with a NULL argument are left out. Those by groups,
 * and calls with ORDER BY, are function_group.c's.
 */
#include "api/function_int.h"

enum { CHUNK = 256, STATE_MAX = 1024 };

Status function_aggregate_failed(const stele_call *c, stele_status st) {
    if (st == STELE_OK && !err_is_set(c->err)) return ST_OK;
    (void)function_failed(c);
    err_context(c->err, "aggregate %s", c->f->signature.name);
    return ST_ERROR;
}

static bool is_null(const Vec *v, int64_t row) { return v && v->valid && !v->valid[v->is_const ? 0 : row]; }

static Status update(const FuncDef *def, int64_t n, char *const *states, const Vec *const *in, MemAccount *account,
                     Err *e) {
    const UserFunction *f = def->own;
    const ClientAggregate *g = f->own;
    const Type *types = f->signature.param_types;
    void *some[CHUNK];
    int32_t rows[CHUNK];
    Status st = ST_OK;
    stele_call c = {.f = f, .account = account, .err = e, .rows = rows, .error_row = -1};
    for (int64_t i = 0; i < n && st == ST_OK;) {
        int64_t m = 0;
        for (; i < n && m < CHUNK; i++) {
            if (is_null(in[0], i) || is_null(in[1], i)) continue;
            rows[m] = (int32_t)i;
            some[m++] = states[i];
        }
        if (m == 0) continue;
        stele_column args[2];
        c.n = m;
        for (int k = 0; k < f->signature.n_args && st == ST_OK; k++) {
            st = function_column(&c, types[k], in[k], m, rows, &args[k]);
            args[k].valid = NULL;
        }
        if (st != ST_OK) break;
        st = function_aggregate_failed(&c, g->of.update(&c, m, some, args));
        if (c.scratch) arena_reset(c.scratch);
    }
    arena_free(c.scratch);
    return st == ST_OK || err_is_set(e) ? st : err_oom(e);
}

static Status combine(const FuncDef *def, int64_t n, char *const *into, const char *const *from, MemAccount *account,
                      Err *e) {
    const UserFunction *f = def->own;
    const ClientAggregate *g = f->own;
    stele_call c = {.f = f, .account = account, .err = e, .n = n, .error_row = -1};
    Status st = function_aggregate_failed(&c, g->of.combine(&c, n, (void *const *)into, (const void *const *)from));
    arena_free(c.scratch);
    return st;
}

static Status finish(const FuncDef *def, int64_t n, const char *const *states, Vec *out, Arena *a, Err *e) {
    const UserFunction *f = def->own;
    const ClientAggregate *g = f->own;
    stele_call c = {.f = f, .arena = a, .err = e, .n = n, .error_row = -1};
    ResultCells r = {f->signature.ret, n, out->data, out->valid};
    stele_result result;
    if ((Phys)out->phys != type_phys(r.type))
        return err_internal(e, "aggregate %s as %s", f->signature.name, phys_name((Phys)out->phys));
    function_result_begin(&r, &result);
    TRY(function_aggregate_failed(&c, g->of.finish(&c, n, (const void *const *)states, &result)));
    if (function_result_end(&c, &r) == ST_OK) return ST_OK;
    err_context(e, "aggregate %s", f->signature.name);
    return ST_ERROR;
}

static Status check(stele_conn *c, const stele_aggregate *x) {
    Err *e = &c->s->err;
    int most = x->group ? GROUP_ARGS_MAX : 2;
    if (x->n_params < 1 || x->n_params > most)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "aggregates of clients by %s have 1 to %d arguments",
                       x->group ? "groups" : "states", most);
    if (x->flags & ~STELE_FUNCTION_ONE_THREAD)
        return err_set(e, ERR_INVALID_PARAMETER, "an aggregate can have no flag but STELE_FUNCTION_ONE_THREAD");
    if (x->group && (x->state_size || x->init || x->update || x->combine || x->finish))
        return err_set(e, ERR_INVALID_PARAMETER, "an aggregate by groups has no states");
    if (x->group) return ST_OK;
    if (x->state_size < 1 || x->state_size > STATE_MAX)
        return err_set(e, ERR_INVALID_PARAMETER, "the state of an aggregate has 1 to %d bytes", STATE_MAX);
    if (!x->update || !x->combine || !x->finish)
        return err_set(e, ERR_INVALID_PARAMETER, "the aggregate lacks update, combine or finish");
    return ST_OK;
}

static Status make(UserFunction *f, const stele_aggregate *x) {
    ClientAggregate *g = arena_new_of(f->arena, ClientAggregate);
    int64_t size = (x->state_size + 7) / 8 * 8;
    void *fresh = arena_calloc(f->arena, MAX_OF(size, 8));
    if (!g || !fresh) return ST_ERROR;
    if (x->init) x->init(x->data, fresh);
    function_group_defs(f, g);
    g->ops = (AggOps){(int32_t)size, fresh, x->group ? NULL : update, combine, finish, &g->entry, &g->whole};
    g->of = *x;
    f->own = g;
    f->def.flags = FN_AGGREGATE;
    f->def.agg = AGG_CLIENT;
    f->def.ret = f->signature.ret.id;
    f->def.agg_ops = &g->ops;
    f->def.doc = "an aggregate of the client";
    return ST_OK;
}

stele_status stele_create_aggregate(stele_conn *c, const stele_aggregate *x) {
    FunctionHead head = {.kind = USER_AGGREGATE,
                         .name = x->name,
                         .n_params = x->n_params,
                         .param_types = x->param_types,
                         .flags = x->flags,
                         .data = x->data,
                         .destroy = x->destroy};
    UserFunction *f;
    Status st = function_new(c, &head, &f);
    if (st == ST_OK) st = function_type(c, f, x->result_type, &f->signature.ret);
    if (st == ST_OK) st = check(c, x);
    if (st == ST_OK) st = make(f, x);
    return function_add(c, f, st);
}
