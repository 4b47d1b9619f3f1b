/* bind_variadic.c - builtin functions whose last argument is VARIADIC array: its elements are arguments.
 *
 * How many there are is known for each row only, so such a call has a kernel of its own, which calls the function's
 * with the elements of one row after the other. Paths of JSON are arrays anyway: #> and #>> take them.
 */
#include <pthread.h>

#include "sql/bind/bind_int.h"
#include "types/array.h"
#include "types/opcode.h"

enum { SPREADS_MAX = 64 };

/* A function whose last argument is an array; one for each function, so that equal calls are equal expressions. */
typedef struct Spread {
    FuncDef def; /* first: FuncCtx.func is it */
    const FuncDef *of;
} Spread;
static Spread spreads[SPREADS_MAX];
static int n_spreads;
static pthread_once_t spreads_once = PTHREAD_ONCE_INIT;

/* One row: *out gets it. format() takes a NULL array as one without elements, for the others the result is NULL. */
static Status spread_row(FuncCtx *ctx, const FuncDef *of, const Vec *args, int nargs, int64_t row, Vec *out) {
    const Vec *last = &args[nargs - 1];
    static const uint8_t no = 0, yes = 1;
    const int64_t at = last->is_const ? 0 : row;
    const bool null = last->valid && !last->valid[at];
    const ArrayView a = array_view(null ? str_make("", 0) : ((const Str *)last->data)[at]);
    const int64_t n = nargs - 1 + a.n, size = phys_size(a.phys);
    out->valid[0] = 0;
    if (null && strcmp(of->name, "format") != 0) return ST_OK;
    Vec *v = arena_array(ctx->arena, Vec, n + 1);
    char *cells = arena_calloc(ctx->arena, (a.n + 1) * size);
    if (!v || !cells) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    if (n > INT32_MAX) return err_set(ctx->err, ERR_TOO_MANY_ARGUMENTS, "the array has too many elements");
    for (int k = 0; k < nargs - 1; k++) {
        const int64_t i = args[k].is_const ? 0 : row;
        v[k] = args[k];
        v[k].data = (char *)args[k].data + i * phys_size((Phys)args[k].phys);
        v[k].valid = args[k].valid ? args[k].valid + i : NULL;
        v[k].is_const = true;
    }
    for (int64_t k = 0; k < a.n; k++) {
        array_get(&a, k, cells + k * size);
        v[nargs - 1 + k] = (Vec){.data = cells + k * size,
                                 .valid = (uint8_t *)(uintptr_t)(array_is_null(&a, k) ? &no : &yes), /* only read */
                                 .phys = (uint8_t)a.phys,
                                 .type = type_element(last->type),
                                 .is_const = true};
    }
    FuncCtx one = *ctx;
    one.func = of;
    one.state = NULL;
    out->valid[0] = 1;
    return of->kernel(&one, 1, v, (int)n, out);
}
static Status spread_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    const Spread *s = (const Spread *)(const void *)ctx->func;
    const int64_t size = phys_size((Phys)out->phys);
    for (int64_t i = 0; i < n; i++) {
        Vec one = *out;
        one.data = (char *)out->data + i * size;
        one.valid = out->valid + i;
        memset(one.data, 0, (size_t)size);
        if (out->phys == PH_STR) *(Str *)one.data = str_make("", 0);
        if (spread_row(ctx, s->of, args, nargs, i, &one) != ST_OK) {
            ctx->error_row = i;
            return ST_ERROR;
        }
    }
    return ST_OK;
}

static void make_spreads(void) {
    int64_t n;
    const FuncDef *f = func_table(&n);
    for (int64_t i = 0; i < n && n_spreads < SPREADS_MAX; i++) {
        const bool internal = f[i].doc && strncmp(f[i].doc, "internal:", 9) == 0;
        if (!(f[i].flags & FN_VARIADIC) || (f[i].flags & (FN_AGGREGATE | FN_STRICT)) || internal) continue;
        Spread *s = &spreads[n_spreads++];
        s->of = &f[i];
        s->def = f[i];
        s->def.flags |= FN_CAN_FAIL;
        s->def.kernel = spread_kernel;
        s->def.opcode = OP_NONE;
        s->def.nargs = 1;
        s->def.args[0] = T_VOID;
    }
}
static const FuncDef *spread_of(const FuncDef *f) {
    pthread_once(&spreads_once, make_spreads);
    for (int i = 0; i < n_spreads; i++)
        if (spreads[i].of == f) return &spreads[i].def;
    return NULL;
}

/* json_extract_path(j, VARIADIC path) and the like; NULL: it is none. */
static const char *path_operator(const char *name) {
    static const char *const names[][2] = {{"json_extract_path", "#>"},
                                           {"jsonb_extract_path", "#>"},
                                           {"json_extract_path_text", "#>>"},
                                           {"jsonb_extract_path_text", "#>>"}};
    for (int64_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(name, names[i][0]) == 0) return names[i][1];
    return NULL;
}

Expr *bind_variadic(Binder *b, Query *q, const AstFunc *f) {
    const char *name = f->name.name, *path = path_operator(name);
    const int n = (int)f->n_args;
    const FuncDef *def = NULL;
    Type types[64], coerced[64], ret;
    Expr **args = n > 0 && n <= ARRAY_LEN(types) ? bind_list(b, q, f->args, f->n_args) : NULL;
    if (!args) {
        if (!err_is_set(b->err)) bind_unsupported(b, f->location, "VARIADIC with that many arguments");
        return NULL;
    }
    Expr *multirange = n == 1 ? bind_multirange_variadic(b, name, args[0], f->location) : NULL;
    if (multirange || err_is_set(b->err)) return multirange;
    if (path && n == 2) {
        const Type json = type_make(name[4] == 'b' ? T_JSONB : T_JSON);
        Expr *from = bind_coerce(b, args[0], json, CAST_IMPLICIT, f->args[0]->location);
        return from ? bind_op(b, path, from, args[1], f->location) : NULL;
    }
    if (args[n - 1]->type.id != T_ARRAY) {
        err_at(b->err, bind_pos(b, f->args[n - 1]->location), ERR_DATATYPE_MISMATCH,
               "VARIADIC argument must be an array");
        return NULL;
    }
    for (int i = 0; i < n; i++) types[i] = i < n - 1 ? args[i]->type : type_element(args[i]->type);
    if (func_resolve(slice_of(name), false, n, types, bind_pos(b, f->location), &def, coerced, &ret, b->err) != ST_OK)
        return NULL;
    const FuncDef *spread = n == def->nargs ? spread_of(def) : NULL;
    if (!spread) {
        (void)bind_no_function(b, f, args);
        return NULL;
    }
    Expr *e = expr_new(b->c, EX_FUNC, ret, n);
    if (!e) return NULL;
    for (int i = 0; i < n; i++) {
        const Type want = i < n - 1 ? coerced[i] : args[i]->type;
        if (!(e->args[i] = bind_coerce(b, args[i], want, CAST_IMPLICIT, f->args[i]->location))) return NULL;
    }
    e->u.func = spread;
    e->location = f->location;
    return e;
}
