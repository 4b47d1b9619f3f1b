/* function_aggregate.c - aggregates of the client: between the states of groups (exec/agg_client.c) and the functions
 * of stele_aggregate. Rows come in pieces of CHUNK; those with a NULL argument are left out.
 */
#include "api/function_int.h"

enum { CHUNK = 256, CELL_MAX = 16, STATE_MAX = 1024 };

typedef struct Aggregate {
    AggOps ops;
    stele_aggregate of; /* name and types are not the copy's */
} Aggregate;

static Status finish_call(const stele_call *c, stele_status st) {
    if (st == STELE_OK && !err_is_set(c->err)) return ST_OK;
    (void)function_failed(c);
    err_context(c->err, "aggregate %s", c->f->signature.name);
    return ST_ERROR;
}

static void put_cell(const Vec *v, Type t, int64_t row, char *cell) {
    int64_t at = v->is_const ? 0 : row, size = phys_size(type_phys(t));
    memcpy(cell, (const char *)v->data + at * size, (size_t)size);
}

static bool is_null(const Vec *v, int64_t row) { return v && v->valid && !v->valid[v->is_const ? 0 : row]; }

static Status update(const FuncDef *def, int64_t n, char *const *states, const Vec *in, const Vec *in2, Err *e) {
    const UserFunction *f = def->own;
    const Aggregate *g = f->own;
    alignas(16) char cells[2][CHUNK * CELL_MAX];
    void *some[CHUNK];
    const Type *types = f->signature.param_types;
    stele_call c = {.f = f, .err = e, .error_row = -1};
    for (int64_t i = 0; i < n;) {
        int64_t m = 0;
        for (; i < n && m < CHUNK; i++) {
            if (is_null(in, i) || is_null(in2, i)) continue;
            put_cell(in, types[0], i, cells[0] + m * phys_size(type_phys(types[0])));
            if (in2) put_cell(in2, types[1], i, cells[1] + m * phys_size(type_phys(types[1])));
            some[m++] = states[i];
        }
        if (m == 0) continue;
        const stele_column args[2] = {{cells[0], NULL}, {cells[1], NULL}};
        c.n = m;
        TRY(finish_call(&c, g->of.update(&c, m, some, args)));
    }
    return ST_OK;
}

static Status combine(const FuncDef *def, int64_t n, char *const *into, const char *const *from, Err *e) {
    const UserFunction *f = def->own;
    const Aggregate *g = f->own;
    stele_call c = {.f = f, .err = e, .n = n, .error_row = -1};
    return finish_call(&c, g->of.combine(&c, n, (void *const *)into, (const void *const *)from));
}

static Status finish(const FuncDef *def, int64_t n, const char *const *states, Vec *out, Err *e) {
    const UserFunction *f = def->own;
    const Aggregate *g = f->own;
    stele_call c = {.f = f, .err = e, .n = n, .error_row = -1};
    ResultCells r = {f->signature.ret, n, out->data, out->valid};
    stele_result result;
    if ((Phys)out->phys != type_phys(r.type))
        return err_internal(e, "aggregate %s as %s", f->signature.name, phys_name((Phys)out->phys));
    function_result_begin(&r, &result);
    TRY(finish_call(&c, g->of.finish(&c, n, (const void *const *)states, &result)));
    if (function_result_end(&c, &r) == ST_OK) return ST_OK;
    err_context(e, "aggregate %s", f->signature.name);
    return ST_ERROR;
}

static Status check(stele_conn *c, const stele_aggregate *x, const UserFunction *f) {
    Err *e = &c->s->err;
    if (x->n_params < 1 || x->n_params > 2)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "aggregates of clients have one argument or two");
    if (type_phys(f->signature.ret) == PH_STR)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "aggregates of clients cannot return a text type");
    if (x->flags & ~STELE_FUNCTION_ONE_THREAD)
        return err_set(e, ERR_INVALID_PARAMETER, "an aggregate can have no flag but STELE_FUNCTION_ONE_THREAD");
    if (x->state_size < 1 || x->state_size > STATE_MAX)
        return err_set(e, ERR_INVALID_PARAMETER, "the state of an aggregate has 1 to %d bytes", STATE_MAX);
    if (!x->update || !x->combine || !x->finish)
        return err_set(e, ERR_INVALID_PARAMETER, "the aggregate lacks update, combine or finish");
    return ST_OK;
}

static Status make(UserFunction *f, const stele_aggregate *x) {
    Aggregate *g = arena_new_of(f->arena, Aggregate);
    int64_t size = (x->state_size + 7) / 8 * 8;
    void *fresh = arena_calloc(f->arena, size);
    if (!g || !fresh) return ST_ERROR;
    if (x->init) x->init(x->data, fresh);
    g->ops = (AggOps){(int32_t)size, fresh, update, combine, finish};
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
    if (st == ST_OK) st = check(c, x, f);
    if (st == ST_OK) st = make(f, x);
    return function_add(c, f, st);
}
