/* function.c - functions of the client: registration, calls, and scalar functions. Cells are function_cells.c's.
 * Contracts are in stele.h; how the binder finds them is in sql/bind/bind_routine.c, how long they live in
 * catalog/user_function.h.
 *
 * A scalar function is an ordinary kernel of the virtual machine. Rows of a strict function that have a NULL argument
 * are left out: the client's function gets the others as dense columns, and results go back to their rows.
 */
#include <stdio.h>

#include "api/function_int.h"
#include "session/core/plancache.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

enum { PARAMS_MAX = 100 };

/* ---- calls ----------------------------------------------------------------------------------- */

void *stele_call_data(const stele_call *c) { return c->f->data; }
Arena *function_arena(stele_call *c) {
    if (c->arena) return c->arena;
    return c->arena = c->scratch = arena_new(c->account, c->err);
}
void *stele_call_alloc(stele_call *c, int64_t bytes) {
    Arena *a = function_arena(c);
    void *p = a ? arena_alloc(a, MAX_OF(bytes, 1)) : NULL;
    if (!p && !err_is_set(c->err)) err_oom(c->err);
    return p;
}

static bool is_sqlstate(const char *s) {
    int n = 0;
    while (n < 5 && ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'A' && s[n] <= 'Z'))) n++;
    return n == 5 && !s[5] && strcmp(s, "00000") != 0;
}

stele_status stele_call_fail(stele_call *c, int64_t row, const char *sqlstate, const char *message) {
    if (err_is_set(c->err)) return STELE_ERROR;
    if (!sqlstate || !is_sqlstate(sqlstate)) sqlstate = ERR_EXTERNAL_ROUTINE;
    err_set(c->err, sqlstate, "%s", message ? message : "");
    if (row >= 0 && row < c->n) c->error_row = c->rows ? c->rows[row] : row;
    return STELE_ERROR;
}

Status function_failed(const stele_call *c) {
    if (!err_is_set(c->err))
        err_set(c->err, ERR_EXTERNAL_ROUTINE, "function %s failed without a message", c->f->signature.name);
    return ST_ERROR;
}

/* ---- scalar functions -------------------------------------------------------------------------- */

/* The rows without NULL arguments; NULL: all. */
static Status rows_to_call(Arena *a, int64_t n, const Vec *args, int nargs, int64_t *n_rows, int32_t **rows) {
    bool nulls = false;
    *n_rows = n;
    *rows = NULL;
    for (int k = 0; k < nargs; k++) nulls |= args[k].valid != NULL;
    if (!nulls) return ST_OK;
    if (!(*rows = arena_array(a, int32_t, n + 1))) return ST_ERROR;
    *n_rows = 0;
    for (int64_t i = 0; i < n; i++) {
        bool ok = true;
        for (int k = 0; k < nargs && ok; k++) ok = !args[k].valid || args[k].valid[args[k].is_const ? 0 : i];
        if (ok) (*rows)[(*n_rows)++] = (int32_t)i;
    }
    return ST_OK;
}

/* "function f(1, a)": the arguments of the row that failed. */
static void context_of(FuncCtx *ctx, const UserFunction *f, const Vec *args, int nargs, int64_t row) {
    const char *t = "";
    for (int k = 0; k < nargs && t && row >= 0; k++) {
        Value v = {.type = f->signature.param_types[k]};
        int64_t at = args[k].is_const ? 0 : row, size = phys_size((Phys)args[k].phys), len;
        bool null = args[k].valid && !args[k].valid[at];
        if (v.type.id == T_NUMERIC) function_copy_numeric(&args[k], at, type_phys(v.type), value_cell(&v));
        else memcpy(value_cell(&v), (const char *)args[k].data + at * size, (size_t)size);
        const char *text = null ? "NULL" : value_to_text(ctx->arena, &v, &len);
        t = text ? arena_printf(ctx->arena, "%s%s%.80s", t, k ? ", " : "", text) : NULL;
    }
    if (row >= 0 && t) err_context(ctx->err, "function %s(%s)", f->signature.name, t);
    else err_context(ctx->err, "function %s", f->signature.name);
}

/* The cells and validity of `m` results of the type to their rows (NULL: one after the other); the others are NULL. */
static void scatter(Vec *out, Type t, int64_t n, int64_t m, const int32_t *rows, const void *cells,
                    const uint8_t *valid) {
    size_t from = (size_t)phys_size(type_phys(t)), to = (size_t)phys_size((Phys)out->phys);
    memset(out->data, 0, (size_t)n * to);
    memset(out->valid, 0, (size_t)n);
    for (int64_t i = 0; out->phys == PH_STR && i < n; i++) ((Str *)out->data)[i] = str_make("", 0);
    Vec v = {.data = (void *)(uintptr_t)cells, .phys = (uint8_t)type_phys(t)};
    for (int64_t i = 0; i < m; i++) {
        int64_t row = rows ? rows[i] : i;
        char *cell = (char *)out->data + (size_t)row * to;
        out->valid[row] = valid[i];
        if (!valid[i]) continue;
        if (t.id == T_NUMERIC) function_copy_numeric(&v, i, (Phys)out->phys, cell);
        else memcpy(cell, (const char *)cells + (size_t)i * from, from);
    }
}

static Status call_client(FuncCtx *ctx, stele_call *c, const stele_scalar *s, int64_t n, const Vec *args, int nargs,
                          Vec *out) {
    Arena *a = ctx->arena;
    int64_t m = c->n, size = phys_size(type_phys(ctx->ret));
    bool apart = c->rows || (Phys)out->phys != type_phys(ctx->ret);
    stele_column *columns = arena_array(a, stele_column, nargs + 1);
    ResultCells r = {ctx->ret, m, apart ? arena_alloc(a, MAX_OF(m * size, 1)) : out->data,
                     apart ? arena_alloc(a, MAX_OF(m, 1)) : out->valid};
    if (!columns || !r.cells || !r.valid) return ST_ERROR;
    for (int k = 0; k < nargs; k++)
        TRY(function_column(c, c->f->signature.param_types[k], &args[k], m, c->rows, &columns[k]));
    stele_result result;
    function_result_begin(&r, &result);
    if (s->call(c, m, columns, &result) != STELE_OK || err_is_set(c->err)) return function_failed(c);
    TRY(function_result_end(c, &r));
    if (apart) scatter(out, ctx->ret, n, m, c->rows, r.cells, r.valid);
    return ST_OK;
}

static Status scalar_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    const UserFunction *f = ctx->func->own;
    stele_call c = {.f = f, .arena = ctx->arena, .err = ctx->err, .error_row = -1};
    int32_t *rows = NULL;
    int64_t m = n;
    if (f->signature.strict && rows_to_call(ctx->arena, n, args, nargs, &m, &rows) != ST_OK) return ST_ERROR;
    c.rows = rows;
    c.n = m;
    Status st = ST_OK;
    if (m > 0) st = call_client(ctx, &c, f->own, n, args, nargs, out);
    else scatter(out, ctx->ret, n, 0, rows, NULL, NULL);
    if (st != ST_OK) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        if (c.error_row >= 0) ctx->error_row = c.error_row;
        context_of(ctx, f, args, nargs, c.error_row);
        return ST_ERROR;
    }
    return ST_OK;
}

/* ---- registration ------------------------------------------------------------------------------ */

Status function_type(stele_conn *c, UserFunction *f, const char *name, Type *out) {
    return function_type_of(f->arena, name, out, &c->s->err);
}

Status function_type_of(Arena *a, const char *name, Type *out, Err *e) {
    AstExpr *x;
    char *text = arena_printf(a, "null::%s", name ? name : "");
    if (!text) return ST_ERROR;
    bool parsed = sql_parse_expr(a, slice_of(text), &x, e) == ST_OK;
    if (!parsed && strcmp(e->sqlstate, ERR_SYNTAX) != 0) return ST_ERROR;
    if (!parsed || x->kind != AST_CAST) {
        err_clear(e);
        return err_set(e, ERR_UNDEFINED_OBJECT, "type \"%s\" does not exist", name ? name : "");
    }
    TRY(sql_bind_type(NULL, AST_AS_CONST(AstCast, x)->type, out, NULL, e));
    Type t = type_is_array(*out) ? type_element(*out) : *out;
    if (t.id == T_DECIMAL && t.length == 0) t = type_make(T_NUMERIC); /* the client sees 128 bits */
    if (t.id == T_VOID || t.id == T_UNKNOWN || t.id == T_DECIMAL || t.id == T_ENUM || t.id == T_TIMETZ ||
        t.id == T_LSN || t.id == T_MONEY || type_is_bits(t) || type_is_range(t))
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "functions of clients cannot have type %s", name);
    if (t.id == T_CHAR || t.id == T_VARCHAR) t.length = 0;
    *out = type_is_array(*out) ? type_array_of(t) : t;
    return ST_OK;
}

static Status signature(stele_conn *c, UserFunction *f, const FunctionHead *h) {
    Routine *r = &f->signature;
    int64_t n = h->n_params;
    Err *e = &c->s->err;
    if (!h->name || !*h->name || utf8_check(h->name, (int64_t)strlen(h->name)) >= 0)
        return err_set(e, ERR_INVALID_PARAMETER, "a function needs a name");
    if (n < 0 || n > PARAMS_MAX)
        return err_set(e, ERR_TOO_MANY_ARGUMENTS, "functions cannot have more than %d arguments", PARAMS_MAX);
    int64_t n_defs;
    const FuncDef *defs = func_table(&n_defs);
    for (int64_t i = 0; i < n_defs; i++)
        if (strcmp(defs[i].name, h->name) == 0)
            return err_set(e, ERR_DUPLICATE_FUNCTION, "\"%s\" is the name of a built-in function", h->name);
    r->name = arena_strdup(f->arena, h->name);
    r->language = arena_strdup(f->arena, "c");
    r->param_names = arena_array(f->arena, char *, n + 1);
    r->param_modes = arena_array(f->arena, char, n + 1);
    r->param_types = arena_array(f->arena, Type, n + 1);
    if (!r->name || !r->language || !r->param_names || !r->param_modes || !r->param_types) return ST_ERROR;
    r->n_params = r->n_args = (int)n;
    for (int64_t i = 0; i < n; i++) {
        r->param_modes[i] = 'i';
        TRY(function_type(c, f, h->param_types[i], &r->param_types[i]));
        const char *own = h->param_names ? h->param_names[i] : NULL;
        if (own && !(r->param_names[i] = arena_strdup(f->arena, own))) return ST_ERROR;
    }
    r->strict = !(h->flags & STELE_FUNCTION_CALLED_ON_NULL);
    r->volatility = h->flags & STELE_FUNCTION_VOLATILE ? 'v' : h->flags & STELE_FUNCTION_STABLE ? 's' : 'i';
    return ST_OK;
}

Status function_new(stele_conn *c, const FunctionHead *h, UserFunction **out) {
    UserFunction *f;
    *out = NULL;
    err_clear(&c->s->err);
    TRY(user_function_new(c->owner->db->catalog.functions, &f, &c->s->err));
    *out = f;
    f->kind = (uint8_t)h->kind;
    f->one_thread = h->flags & STELE_FUNCTION_ONE_THREAD;
    f->data = h->data;
    f->free_data = h->destroy;
    TRY(signature(c, f, h));
    f->def.name = f->signature.name;
    f->def.flags = (uint16_t)(FN_CAN_FAIL | (f->signature.strict ? FN_NULL_ARGS : 0) |
                              (f->signature.volatility == 'v'   ? FN_VOLATILE
                               : f->signature.volatility == 's' ? FN_STABLE
                                                                : 0));
    f->def.doc = "a function of the client";
    return ST_OK;
}

stele_status function_add(stele_conn *c, UserFunction *f, Status st) {
    if (st == ST_OK) {
        arena_set_err(f->arena, NULL);
        st = user_functions_add(c->owner->db->catalog.functions, f, &c->s->err);
    }
    if (st == ST_OK) return STELE_OK;
    if (f) f->free_data = NULL;
    user_function_unref(f);
    if (!err_is_set(&c->s->err)) err_oom(&c->s->err);
    return STELE_ERROR;
}

stele_status stele_create_scalar(stele_conn *c, const stele_scalar *x) {
    FunctionHead head = {USER_SCALAR,    x->name,  x->n_params, x->param_types,
                         x->param_names, x->flags, x->data,     x->destroy};
    UserFunction *f;
    stele_scalar *own = NULL;
    Status st = function_new(c, &head, &f);
    if (st == ST_OK) st = function_type(c, f, x->result_type, &f->signature.ret);
    if (st == ST_OK && !x->call) st = err_set(&c->s->err, ERR_INVALID_PARAMETER, "the function has no code");
    if (st == ST_OK && !(own = arena_new_of(f->arena, stele_scalar))) st = ST_ERROR;
    if (st == ST_OK) {
        own->call = x->call;
        f->own = own;
        f->def.ret = f->signature.ret.id;
        f->def.kernel = scalar_kernel;
    }
    return function_add(c, f, st);
}

stele_status stele_drop_function(stele_conn *c, const char *name, int64_t n, const char *const *param_types) {
    UserFunctions *all = c->owner->db->catalog.functions;
    UserFunction *scratch;
    err_clear(&c->s->err);
    if (user_function_new(all, &scratch, &c->s->err) != ST_OK) return STELE_ERROR;
    Type types[PARAMS_MAX];
    Status st = n > PARAMS_MAX ? err_set(&c->s->err, ERR_UNDEFINED_FUNCTION,
                                         "could not find a registered function named \"%s\"", name)
                               : ST_OK;
    for (int64_t i = 0; i < n && st == ST_OK; i++) st = function_type(c, scratch, param_types[i], &types[i]);
    if (st == ST_OK) st = user_functions_remove(all, name, n < 0 ? -1 : (int)n, types, &c->s->err);
    text_unlist_all(c->s); /* plans that are kept have the function */
    user_function_unref(scratch);
    return st == ST_OK ? STELE_OK : STELE_ERROR;
}
