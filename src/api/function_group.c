/* function_group.c - aggregates of the client that get all rows of a group at once: those by groups (stele.h), and
 * those by states with ORDER BY in the call.
 *
 * The binder makes f(x, y ORDER BY k) into whole(string_agg_sorted(string_agg(string_agg_entry(.., entry(x, y), k)))),
 * without ORDER BY whole(string_agg(entry(x, y), '')): as array_agg, and for the same reason (types/func_sorted.c), so
 * that no executor has ordered aggregates, and groups merge as texts do. entry makes bytes of a row's arguments, NULL
 * where one of them is, which string_agg leaves out; whole makes columns of a group's entries and calls the client.
 *
 *   entry  u32 bytes of the rest, then per argument its cell, of strings and arrays u32 bytes and the bytes
 */
#include "api/function_int.h"
#include "types/array.h"

/* ---- entries ------------------------------------------------------------------------------------- */

static bool is_null(const Vec *v, int64_t row) { return v->valid && !v->valid[v->is_const ? 0 : row]; }

/* Argument k of a row; p NULL: how many bytes it has. */
static int64_t put_argument(const Vec *v, Type t, int64_t row, char *p) {
    int64_t at = v->is_const ? 0 : row, size = phys_size(type_phys(t));
    const void *cell = (const char *)v->data + at * size;
    if (type_phys(t) == PH_STR) {
        const Str *s = cell;
        if (p) memcpy(p, &s->len, 4);
        if (p && s->len) memcpy(p + 4, s->ptr, s->len);
        return 4 + (int64_t)s->len;
    }
    if (p && t.id == T_NUMERIC) function_copy_numeric(v, at, type_phys(t), p);
    else if (p) memcpy(p, cell, (size_t)size);
    return size;
}

static Status entry_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    const UserFunction *f = ctx->func->own;
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        int64_t bytes = 0;
        *z = str_make("", 0);
        out->valid[i] = 1;
        for (int k = 0; k < nargs; k++) out->valid[i] &= !is_null(&args[k], i);
        if (!out->valid[i]) continue;
        for (int k = 0; k < nargs; k++) bytes += put_argument(&args[k], f->signature.param_types[k], i, NULL);
        if (bytes > INT32_MAX)
            return ctx->error_row = i, err_set(ctx->err, ERR_PROGRAM_LIMIT, "the arguments are too long");
        alignas(16) char cell[16];
        char *p = arena_alloc(ctx->arena, bytes + 4);
        if (!p) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
        uint32_t size = (uint32_t)bytes;
        memcpy(p, &size, 4);
        for (int64_t at = 4, k = 0; k < nargs; k++) {
            Type t = f->signature.param_types[k];
            bool fixed = type_phys(t) != PH_STR;
            int64_t m = put_argument(&args[k], t, i, fixed ? cell : p + at);
            if (fixed) memcpy(p + at, cell, (size_t)m);
            at += m;
        }
        *z = str_make(p, bytes + 4);
    }
    return ST_OK;
}

/* How many entries there are; -1: these are none. */
static int64_t count_entries(Str all) {
    int64_t n = 0;
    for (int64_t at = 0; at < all.len; n++) {
        uint32_t size;
        if (all.len - at < 4) return -1;
        memcpy(&size, all.ptr + at, 4);
        if (all.len - at - 4 < size) return -1;
        at += 4 + (int64_t)size;
    }
    return n;
}

/* Columns of the executors' cells, without NULLs. */
static Status split_entries(Arena *a, const UserFunction *f, Str all, int64_t n, Vec *cols) {
    for (int k = 0; k < f->signature.n_args; k++) {
        Type t = f->signature.param_types[k];
        cols[k] = (Vec){.phys = (uint8_t)type_phys(t), .type = t};
        if (!(cols[k].data = arena_alloc(a, n * phys_size(type_phys(t)) + 1))) return ST_ERROR;
    }
    const char *p = all.ptr;
    for (int64_t i = 0; i < n; i++) {
        p += 4;
        for (int k = 0; k < f->signature.n_args; k++) {
            int64_t size = phys_size((Phys)cols[k].phys);
            char *to = (char *)cols[k].data + i * size;
            if (cols[k].phys != PH_STR) {
                memcpy(to, p, (size_t)size);
                p += size;
                continue;
            }
            uint32_t len;
            memcpy(&len, p, 4);
            *(Str *)(void *)to = str_make(p + 4, len);
            p += 4 + (int64_t)len;
        }
    }
    return ST_OK;
}

/* ---- groups -------------------------------------------------------------------------------------- */

/* An aggregate by states: all rows into one. */
static stele_status by_state(stele_call *c, const ClientAggregate *g, int64_t n, const stele_column *args,
                             stele_result *result) {
    void *state = stele_call_alloc(c, g->ops.state_bytes), **states = stele_call_alloc(c, (n + 1) * 8);
    if (!state || !states) return STELE_ERROR;
    memcpy(state, g->ops.fresh, (size_t)g->ops.state_bytes);
    for (int64_t i = 0; i < n; i++) states[i] = state;
    if (n && (g->of.update(c, n, states, args) != STELE_OK || err_is_set(c->err))) return STELE_ERROR;
    c->n = 1;
    return g->of.finish(c, 1, &(const void *){state}, result);
}

static Status call_group(stele_call *c, const Str *all, ResultCells *r) {
    const UserFunction *f = c->f;
    const ClientAggregate *g = f->own;
    int64_t n = all ? count_entries(*all) : 0;
    if (n < 0) return err_internal(c->err, "aggregate %s: these are no rows", f->signature.name);
    Vec cols[GROUP_ARGS_MAX];
    stele_column args[GROUP_ARGS_MAX];
    stele_result result;
    TRY(split_entries(c->arena, f, all ? *all : str_make("", 0), n, cols));
    for (int k = 0; k < f->signature.n_args; k++)
        TRY(function_column(c, f->signature.param_types[k], &cols[k], n, NULL, &args[k]));
    c->n = n;
    function_result_begin(r, &result);
    TRY(function_aggregate_failed(c,
                                  g->of.group ? g->of.group(c, n, args, &result) : by_state(c, g, n, args, &result)));
    c->n = 1;
    if (function_result_end(c, r) == ST_OK) return ST_OK;
    err_context(c->err, "aggregate %s", f->signature.name);
    return ST_ERROR;
}

static Status whole_kernel(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    const UserFunction *f = ctx->func->own;
    Type t = f->signature.ret;
    int64_t size = phys_size((Phys)out->phys);
    for (int64_t i = 0; i < n; i++) {
        alignas(16) char cell[16];
        uint8_t valid;
        ResultCells r = {t, 1, cell, &valid};
        stele_call c = {.f = f, .arena = ctx->arena, .err = ctx->err, .error_row = -1};
        const Str *all = is_null(args, i) ? NULL : (const Str *)args->data + (args->is_const ? 0 : i);
        if (call_group(&c, all, &r) != ST_OK) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
        const Vec v = {.data = cell, .phys = (uint8_t)type_phys(t)};
        char *to = (char *)out->data + i * size;
        out->valid[i] = valid;
        if (t.id == T_NUMERIC) function_copy_numeric(&v, 0, (Phys)out->phys, to);
        else memcpy(to, cell, (size_t)size);
    }
    return ST_OK;
}

void function_group_defs(const UserFunction *f, ClientAggregate *g) {
    g->entry = (FuncDef){.name = f->signature.name,
                         .flags = FN_CAN_FAIL | FN_NULL_ARGS,
                         .ret = T_TEXT,
                         .kernel = entry_kernel,
                         .doc = "internal: rows of an aggregate of the client",
                         .own = f};
    g->whole = (FuncDef){.name = f->signature.name,
                         .flags = FN_CAN_FAIL,
                         .ret = f->signature.ret.id,
                         .kernel = whole_kernel,
                         .doc = "internal: an aggregate of the client over its rows",
                         .own = f};
}
