/* bind_aggregate.c - aggregates of the catalog: CREATE AGGREGATE, and calls of them.
 *
 * What an aggregate is made of stands in its CREATE statement, which is read whenever a call is bound: the transition
 * function becomes an expression of $1, the state, and $2 and so on, a row's arguments; the final function one of $1.
 * A call has the form of an aggregate of a client over whole groups (bind_func.c): a row's arguments become bytes,
 * string_agg brings a group's together, in the order of the call, and a kernel takes one after the other through the
 * transition expression, which the session evaluates (SessionInfo.eval). So ORDER BY, DISTINCT, FILTER and OVER are
 * those of string_agg, and no executor has states of SQL. Functions for combining states and for moving frames say how
 * the same result may be had faster; they are checked and kept.
 *
 *   entry  u32 bytes of the rest, then per argument u8 whether it is NULL and its cell, of strings u32 bytes and the
 * bytes
 */
#include "catalog/names.h"
#include "sql/bind/bind_int.h"
#include "sql/bind/bind_poly.h"
#include "sql/parse/parse.h"

enum { ARGS_MAX = 8, STEPS = 64 /* states that are kept before memory is used again */ };

typedef struct AggPlan {
    const char *name;
    const Expr *step, *final; /* final NULL: the state is the result */
    Type state, ret;
    Value initial;
    bool strict, first_is_state; /* ... of a strict step without an initial value */
    int n_final;                 /* parameters of `final` */
    int n;
    Type types[ARGS_MAX];
    AggOps ops;
    FuncDef entry, whole, def;
} AggPlan;

/* ---- kernels ------------------------------------------------------------------------------------------ */

static int64_t put_argument(const Value *v, char *p) {
    const Phys ph = type_phys(v->type);
    if (p) *p = v->is_null;
    if (v->is_null) return 1;
    if (ph != PH_STR) {
        if (p) memcpy(p + 1, value_cell_const(v), (size_t)phys_size(ph));
        return 1 + phys_size(ph);
    }
    if (p) memcpy(p + 1, &v->u.str.len, 4);
    if (p && v->u.str.len) memcpy(p + 5, v->u.str.ptr, v->u.str.len);
    return 5 + (int64_t)v->u.str.len;
}
static const char *get_argument(const char *p, Type t, Value *out) {
    const Phys ph = type_phys(t);
    *out = (Value){.type = t, .is_null = *p++};
    if (out->is_null) return p;
    if (ph != PH_STR) {
        memcpy(value_cell(out), p, (size_t)phys_size(ph));
        return p + phys_size(ph);
    }
    uint32_t len;
    memcpy(&len, p, 4);
    out->u.str = str_make(p + 4, len);
    return p + 4 + len;
}

static Status entry_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    const AggPlan *g = ctx->func->own;
    for (int64_t i = 0; i < n; i++) {
        Value v[ARGS_MAX];
        int64_t bytes = 0;
        ((Str *)out->data)[i] = str_make("", 0);
        out->valid[i] = 1;
        for (int k = 0; k < nargs; k++) {
            bind_arg_value(&args[k], i, &v[k]);
            bytes += put_argument(&v[k], NULL);
            if (g->strict && v[k].is_null) out->valid[i] = 0;
        }
        if (!out->valid[i]) continue;
        if (bytes > INT32_MAX)
            return ctx->error_row = i, err_set(ctx->err, ERR_PROGRAM_LIMIT, "the arguments are too long");
        char *p = arena_alloc(ctx->arena, bytes + 4);
        if (!p) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
        const uint32_t size = (uint32_t)bytes;
        memcpy(p, &size, 4);
        int64_t at = 4;
        for (int k = 0; k < nargs; k++) at += put_argument(&v[k], p + at);
        ((Str *)out->data)[i] = str_make(p, at);
    }
    return ST_OK;
}

/* A group's entries through the step; the state is in `to` then. work: two arenas for states on the way. */
static Status take_rows(FuncCtx *ctx, const AggPlan *g, Str all, Arena *const work[2], Arena *to, Value *state) {
    bool begun = !g->first_is_state;
    Value v[ARGS_MAX + 1], next;
    *state = g->initial;
    int64_t steps = 0;
    Arena *now = work[0];
    for (const char *p = all.ptr, *end = all.ptr + all.len; p < end;) {
        p += 4;
        for (int k = 0; k < g->n; k++) p = get_argument(p, g->types[k], &v[k + 1]);
        if (!begun) {
            begun = true;
            *state = v[1];
            state->type = g->state;
            continue;
        }
        if (g->strict && state->is_null) continue;
        v[0] = *state;
        TRY(ctx->session->eval(ctx->session->setting_ctx, g->step, g->n + 1, v, now, &next, ctx->err));
        *state = next;
        if (++steps % STEPS != 0) continue;
        now = now == work[0] ? work[1] : work[0];
        arena_reset(now);
        TRY(value_copy(now, &next, state) == ST_OK ? ST_OK : err_oom(ctx->err));
    }
    const Value last = *state;
    return value_copy(to, &last, state) == ST_OK ? ST_OK : err_oom(ctx->err);
}
static Status whole_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    const AggPlan *g = ctx->func->own;
    if (!ctx->session || !ctx->session->eval)
        return err_set(ctx->err, ERR_FEATURE_NOT_SUPPORTED, "functions of the catalog cannot be called here");
    MemAccount *account = arena_account(ctx->arena);
    Arena *work[2] = {arena_new(account, ctx->err), arena_new(account, ctx->err)};
    Status st = work[0] && work[1] ? ST_OK : ST_ERROR;
    for (int64_t i = 0; i < n && st == ST_OK; i++) {
        Value all, v[ARGS_MAX + 1], result;
        bind_arg_value(args, i, &all);
        st = take_rows(ctx, g, all.is_null ? str_make("", 0) : all.u.str, work, ctx->arena, &v[0]);
        result = v[0];
        for (int k = 1; k < g->n_final; k++) v[k] = (Value){.type = g->types[k - 1], .is_null = true};
        if (st == ST_OK && g->final)
            st = ctx->session->eval(ctx->session->setting_ctx, g->final, g->n_final, v, ctx->arena, &result, ctx->err);
        result.type = g->ret;
        if (st == ST_OK) bind_put_value(out, i, &result);
        else ctx->error_row = i;
        for (int k = 0; k < 2; k++) arena_reset(work[k]);
    }
    arena_free(work[0]);
    arena_free(work[1]);
    return st;
}

/* ---- what an aggregate is made of ----------------------------------------------------------------------- */

static bool has_name(const AstName *n) { return n->name != NULL; }

/* A call of a function of the aggregate with parameters of these types. */
static Expr *call_of(PlanCtx *c, const AstName *name, int n, const Type *types) {
    Binder b;
    if (stack_check(c->err) != ST_OK) return NULL;
    binder_init(&b, c);
    b.fixed_pos = true;
    b.literals = NULL;
    Query *q = arena_new_of(c->arena, Query);
    AstFunc *f = arena_new_of(c->arena, AstFunc);
    AstParam *params = arena_array(c->arena, AstParam, n + 1);
    if (!q || !f || !params || !(f->args = arena_array(c->arena, AstExpr *, n + 1))) return NULL;
    q->clause = "aggregate definitions";
    f->kind = AST_FUNC;
    f->location = -1;
    f->name = *name;
    if (f->name.schema && strcmp(f->name.schema, "pg_catalog") == 0) f->name.schema = NULL;
    f->n_args = n;
    for (int i = 0; i < n; i++) {
        params[i] = (AstParam){.kind = AST_PARAM, .location = -1, .number = i + 1};
        f->args[i] = (AstExpr *)&params[i];
        if (!vec_push(c->arena, &b.params, types[i])) return NULL;
    }
    return bind_func(&b, q, f);
}
/* ... whose result is one of `want`. what: the function, for the message. */
static Expr *call_giving(PlanCtx *c, const AstName *name, int n, const Type *types, Type want, const char *what) {
    char type[TYPE_NAME_MAX];
    Binder b;
    Expr *e = call_of(c, name, n, types);
    if (!e) return NULL;
    binder_init(&b, c);
    b.fixed_pos = true;
    const bool alike = e->type.id == want.id || (type_is_number(e->type) && type_is_number(want) &&
                                                 bind_is_numeric(e->type) && bind_is_numeric(want));
    if (!alike || (type_is_defined(want) && !type_eq(e->type, want))) {
        err_set(c->err, ERR_DATATYPE_MISMATCH, "return type of %s function %s is not %s", what, name->name,
                type_name(want, &type));
        return NULL;
    }
    return type_eq(e->type, want) ? e : bind_coerce(&b, e, want, CAST_ASSIGNMENT, -1);
}
static bool is_strict(const PlanCtx *c, const Expr *e) {
    while (e->kind == EX_CAST) e = e->args[0];
    return e->kind == EX_FUNC && ((e->u.func->flags & (FN_STRICT | FN_NULL_ARGS)) || bind_calls_strict_routine(c, e));
}

static Status bad(PlanCtx *c, const char *message) {
    return err_set(c->err, ERR_INVALID_FUNCTION_DEFINITION, "%s", message);
}
/* Everything of a call with arguments of these types, in which no polymorphic ones are left. */
static Status make_plan(PlanCtx *c, const AstAggregate *x, const char *name, int n, const Type *types, Type state,
                        AggPlan *g) {
    Type params[ARGS_MAX + 1] = {state};
    if (n > ARGS_MAX) return err_set(c->err, ERR_TOO_MANY_ARGUMENTS, "aggregates cannot have more than 8 arguments");
    *g = (AggPlan){.name = name, .state = state, .ret = state, .n = n};
    for (int i = 0; i < n; i++) params[i + 1] = g->types[i] = types[i];
    Expr *step = call_giving(c, &x->sfunc, n + 1, params, state, "transition");
    if (!step) return ST_ERROR;
    g->strict = is_strict(c, step);
    g->initial = (Value){.type = state, .is_null = true};
    if (x->initcond.ptr) TRY(value_from_text(state, x->initcond, c->session, c->arena, &g->initial, c->err));
    g->first_is_state = g->strict && !x->initcond.ptr;
    if (g->first_is_state && (n == 0 || !cast_is_noop(types[0], state)))
        return err_set(c->err, ERR_INVALID_FUNCTION_DEFINITION,
                       "must not omit initial value when transition function is strict and transition type is not "
                       "compatible with input type");
    if (has_name(&x->finalfunc)) {
        g->n_final = x->final_extra ? n + 1 : 1;
        Expr *final = call_of(c, &x->finalfunc, g->n_final, params);
        if (!final) return ST_ERROR;
        if (x->final_extra && is_strict(c, final))
            return bad(c, "final function with extra arguments must not be declared STRICT");
        bind_null_expr(c, final);
        g->final = final;
        g->ret = final->type;
    }
    if (has_name(&x->combinefunc)) {
        const Type two[2] = {state, state};
        if (!call_giving(c, &x->combinefunc, 2, two, state, "combine")) return ST_ERROR;
    }
    bind_null_expr(c, step);
    g->step = step;
    c->one_thread = true;
    return ST_OK;
}

static Status agg_type(const Catalog *k, const AstTypeName *t, Type *out, Err *e) {
    int64_t domain;
    TRY(sql_routine_type(k, t, out, &domain, e));
    if (out->id == T_NUMERIC && out->flags & TF_UNCONSTRAINED) *out = type_make(T_DECIMAL);
    return ST_OK;
}

/* ---- CREATE AGGREGATE -------------------------------------------------------------------------------------- */

static Status not_here(PlanCtx *c, const char *what) {
    return err_set(c->err, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", what);
}
static Status check_options(PlanCtx *c, const AstAggregate *x) {
    if (x->ordered) return not_here(c, "CREATE AGGREGATE of an ordered-set aggregate");
    if (x->hypothetical) return bad(c, "only ordered-set aggregates can be hypothetical");
    if (!x->stype) return bad(c, "aggregate stype must be specified");
    if (!has_name(&x->sfunc)) return bad(c, "aggregate sfunc must be specified");
    if (x->mstype && !has_name(&x->msfunc))
        return bad(c, "aggregate msfunc must be specified when mstype is specified");
    if (x->mstype && !has_name(&x->minvfunc))
        return bad(c, "aggregate minvfunc must be specified when mstype is specified");
    if (x->mstype) return ST_OK;
    if (has_name(&x->msfunc)) return bad(c, "aggregate msfunc must not be specified without mstype");
    if (has_name(&x->minvfunc)) return bad(c, "aggregate minvfunc must not be specified without mstype");
    if (has_name(&x->mfinalfunc)) return bad(c, "aggregate mfinalfunc must not be specified without mstype");
    if (x->minitcond.ptr) return bad(c, "aggregate minitcond must not be specified without mstype");
    return ST_OK;
}
/* With every polymorphic type in place of a sample. */
static Status sample_plan(PlanCtx *c, const AstAggregate *x, const Routine *r, Type state, Type sample, AggPlan *g) {
    Type types[ARGS_MAX], given[ARGS_MAX];
    Poly poly;
    for (int i = 0; i < r->n_params; i++) {
        const Type t = r->param_types[i];
        const bool array = type_is_poly(t) && (t.length == POLY_ARRAY || t.length == POLY_COMPATIBLE_ARRAY);
        given[i] = !type_is_poly(t) ? t : array ? type_array_of(sample) : sample;
    }
    if (!poly_fits(r->n_params, r->param_types, given, &poly))
        return not_here(c, "CREATE AGGREGATE with these polymorphic types");
    TRY(poly_settle(&poly, c->err));
    for (int i = 0; i < r->n_params; i++) TRY(poly_type(&poly, r->param_types[i], &types[i], c->err));
    TRY(poly_type(&poly, state, &state, c->err));
    return make_plan(c, x, r->name, r->n_params, types, state, g);
}
/* The result's type, polymorphic where it changes with the arguments. */
static Status result_of(PlanCtx *c, const AstAggregate *x, Routine *r, Type state, bool poly) {
    AggPlan a, b;
    const Type one = type_make(T_INT4), two = type_make(T_DATE);
    TRY(sample_plan(c, x, r, state, one, &a));
    r->ret = a.ret;
    if (!poly) return ST_OK;
    TRY(sample_plan(c, x, r, state, two, &b));
    if (type_eq(a.ret, b.ret)) return ST_OK;
    if (type_is_poly(state) && type_eq(a.ret, a.state)) return r->ret = state, ST_OK;
    r->ret = type_poly(type_eq(a.ret, type_array_of(one)) ? POLY_ARRAY : POLY_ELEMENT);
    return ST_OK;
}

Status sql_aggregate_signature(PlanCtx *c, const AstCreateFunction *x, Routine *r) {
    const AstAggregate *g = x->aggregate;
    bool poly = false;
    Type state;
    TRY(check_options(c, g));
    *r = (Routine){.name = (char *)(uintptr_t)x->name.name,
                   .language = (char *)(uintptr_t) "internal",
                   .volatility = 'i',
                   .n_params = (int)x->n_params,
                   .n_args = (int)x->n_params};
    if (x->n_params > ARGS_MAX) return not_here(c, "CREATE AGGREGATE with more than 8 arguments");
    r->param_names = arena_array(c->arena, char *, x->n_params + 1);
    r->param_modes = arena_alloc(c->arena, x->n_params + 1);
    r->param_types = arena_array(c->arena, Type, x->n_params + 1);
    r->param_domains = arena_array(c->arena, int64_t, x->n_params + 1);
    if (!r->param_names || !r->param_modes || !r->param_types || !r->param_domains) return ST_ERROR;
    for (int i = 0; i < r->n_params; i++) {
        const AstFuncParam *p = &x->params[i];
        if (p->mode == AST_PARAM_VARIADIC) return not_here(c, "CREATE AGGREGATE with VARIADIC arguments");
        r->param_names[i] = (char *)(uintptr_t)p->name;
        r->param_modes[i] = 'i';
        TRY(agg_type(c->catalog, p->type, &r->param_types[i], c->err));
        poly |= type_is_poly(r->param_types[i]);
    }
    TRY(agg_type(c->catalog, g->stype, &state, c->err));
    if (type_is_poly(state) && !poly) {
        err_set(c->err, ERR_INVALID_FUNCTION_DEFINITION, "cannot determine transition data type");
        err_detail(c->err,
                   "A result of type %s requires at least one input of type anyelement, anyarray, "
                   "anynonarray, anyenum, anyrange, or anymultirange.",
                   type_plain_name(state));
        return ST_ERROR;
    }
    return result_of(c, g, r, state, poly);
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

bool bind_is_catalog_aggregate(const Binder *b, const AstName *name) {
    const Catalog *k = b->c->catalog;
    for (int64_t i = 0; k && i < k->n_routines; i++)
        if (routine_is_aggregate(k->routines[i]) && sql_routine_place(k->routines[i], name->schema, name->name) >= 0)
            return true;
    return false;
}

const AstAggregate *sql_aggregate_statement(PlanCtx *c, const Routine *r) {
    AstStmt **list;
    int64_t n;
    if (sql_parse(c->arena, slice_of(r->sql), &list, &n, c->err) != ST_OK) return NULL;
    const bool ok = n == 1 && list[0]->kind == AST_CREATE_FUNCTION;
    const AstAggregate *x = ok ? AST_AS_CONST(AstCreateFunction, list[0])->aggregate : NULL;
    if (!x) err_internal(c->err, "aggregate \"%s\" has no CREATE statement", r->name);
    return x;
}
Status sql_bind_aggregate(PlanCtx *c, const Routine *r) {
    const AstAggregate *x = sql_aggregate_statement(c, r);
    SearchPath room;
    Routine copy = *r;
    Type state;
    if (!x) return ST_ERROR;
    if (r->path && !search_path_parse(r->path, NULL, &room))
        return err_internal(c->err, "the search path of aggregate \"%s\"", r->name);
    room.pinned = room.no_temp = true;
    const SearchPath *path = search_path_use(r->path ? &room : NULL);
    Status st = agg_type(c->catalog, x->stype, &state, c->err);
    if (st == ST_OK) st = result_of(c, x, &copy, state, routine_is_polymorphic(r));
    (void)search_path_use(path);
    return st;
}
static Status plan_of(Binder *b, const Routine *r, int n, const Type *given, AggPlan *g) {
    const AstAggregate *x = sql_aggregate_statement(b->c, r);
    Type types[ARGS_MAX], state;
    SearchPath room;
    Poly poly;
    if (!x) return ST_ERROR;
    if (!poly_fits(n, r->param_types, given, &poly)) return err_internal(b->err, "aggregate \"%s\"", r->name);
    if (r->path && !search_path_parse(r->path, NULL, &room))
        return err_internal(b->err, "the search path of aggregate \"%s\"", r->name);
    room.pinned = room.no_temp = true;
    const SearchPath *path = search_path_use(r->path ? &room : NULL);
    Status st = agg_type(b->c->catalog, x->stype, &state, b->err);
    if (st == ST_OK && routine_is_polymorphic(r)) st = poly_settle(&poly, b->err);
    for (int i = 0; i < n && st == ST_OK; i++) st = poly_type(&poly, r->param_types[i], &types[i], b->err);
    if (st == ST_OK) st = poly_type(&poly, state, &state, b->err);
    if (st == ST_OK) st = make_plan(b->c, x, name_of_key(r->name), n, types, state, g);
    (void)search_path_use(path);
    return st;
}

Status bind_catalog_aggregate(Binder *b, const Routine *r, int n, const Type *given, const FuncDef **out, Type *coerced,
                              Type *ret) {
    AggPlan *g = arena_new_of(b->a, AggPlan);
    if (!g) return ST_ERROR;
    TRY(plan_of(b, r, n, given, g));
    g->ops = (AggOps){.entry = &g->entry, .whole = &g->whole};
    g->entry = (FuncDef){.name = g->name,
                         .flags = FN_CAN_FAIL,
                         .ret = T_TEXT,
                         .kernel = entry_kernel,
                         .doc = "internal: rows of an aggregate of the catalog",
                         .own = g};
    g->whole = (FuncDef){.name = g->name,
                         .flags = FN_CAN_FAIL | FN_STABLE,
                         .ret = g->ret.id,
                         .kernel = whole_kernel,
                         .doc = "internal: an aggregate of the catalog over its rows",
                         .own = g};
    g->def = (FuncDef){
        .name = g->name, .flags = FN_AGGREGATE, .ret = g->ret.id, .agg = AGG_CLIENT, .agg_ops = &g->ops, .own = g};
    for (int i = 0; i < n; i++) coerced[i] = g->types[i];
    *out = &g->def;
    *ret = g->ret;
    return ST_OK;
}
