/* func_jsonpath.c - jsonb_path_exists and its like, @? and @@.
 *
 * A call site parses a constant path once, and keeps its tree. A path that comes from a column is parsed whenever it is
 * not the one of the row before.
 */
#include "types/func_json_int.h"
#include "types/jsonpath.h"

typedef struct KeptPath {
    Str text;
    JsonPath path;
} KeptPath;
/* One call of a kernel. */
typedef struct PathCall {
    FuncCtx *ctx;
    const Vec *args;
    int nargs;
    JpRun run;
    KeptPath own; /* of a row */
} PathCall;

static PathCall path_call(FuncCtx *ctx, const Vec *args, int nargs) {
    const bool op = ctx->func->flags & FN_OPERATOR || strstr(ctx->func->name, "_opr");
    return (PathCall){.ctx = ctx,
                      .args = args,
                      .nargs = nargs,
                      .run = {.vars = op ? (Slice){0} : slice_of("{}"),
                              .silent = op,
                              .zoned = ctx->func->flags & FN_STABLE,
                              .arena = ctx->arena,
                              .session = ctx->session,
                              .err = ctx->err}};
}
static Status parse_path(PathCall *c, Arena *a, Str text, KeptPath *out) {
    char *copy = arena_strndup(a, text.ptr, text.len);
    if (!copy) return err_is_set(c->ctx->err) ? ST_ERROR : err_oom(c->ctx->err);
    out->text = str_make(copy, text.len);
    return jsonpath_parse(a, slice_of_str(out->text), &out->path, c->ctx->err);
}
static Status path_of_row(PathCall *c, int64_t i) {
    FuncCtx *ctx = c->ctx;
    const Str text = ((const Str *)c->args[1].data)[c->args[1].is_const ? 0 : i];
    KeptPath *kept = ctx->state;
    if (kept && str_eq(kept->text, text)) return c->run.path = &kept->path, ST_OK;
    if (!c->args[1].is_const) {
        if (!c->own.text.ptr || !str_eq(c->own.text, text)) TRY(parse_path(c, ctx->arena, text, &c->own));
        c->run.path = &c->own.path;
        return ST_OK;
    }
    ctx->state = NULL;
    kept = arena_new_of(ctx->state_arena, KeptPath);
    if (!kept) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    TRY(parse_path(c, ctx->state_arena, text, kept));
    ctx->state = kept;
    c->run.path = &kept->path;
    return ST_OK;
}
/* What the path finds in row i; *null: an argument is NULL. */
static JpResult run_row(PathCall *c, int64_t i, JpItems *found, bool *null) {
    const Vec *args = c->args;
    *null = false;
    for (int k = 0; k < c->nargs; k++) *null |= arg_null(&args[k], i);
    if (*null) return JP_NOT_FOUND;
    c->ctx->error_row = i;
    c->run.document = slice_of_str(AT(Str, 0, i));
    if (c->nargs > 2) c->run.vars = slice_of_str(AT(Str, 2, i));
    if (c->nargs > 3) c->run.silent = AT(uint8_t, 3, i);
    return path_of_row(c, i) == ST_OK ? jsonpath_run(&c->run, found) : JP_FAILED;
}

KERNEL(path_exists) {
    PathCall c = path_call(ctx, args, nargs);
    for (int64_t i = 0; i < n; i++) {
        bool null;
        const JpResult r = run_row(&c, i, NULL, &null);
        if (r == JP_FAILED) return ST_ERROR;
        out->valid[i] = !null && r != JP_ERROR;
        ((uint8_t *)out->data)[i] = r == JP_OK;
    }
    return ST_OK;
}

/* Of kernels that want the items: the rows' lists have room on the stack first. */
#define FIRST_ITEMS 4
#define EACH_ROW(zero, ...)                               \
    PathCall c = path_call(ctx, args, nargs);             \
    for (int64_t i = 0; i < n; i++) {                     \
        JpItem room[FIRST_ITEMS];                         \
        JpItems found = {room, 0, FIRST_ITEMS};           \
        bool null;                                        \
        const JpResult r = run_row(&c, i, &found, &null); \
        if (r == JP_FAILED) return ST_ERROR;              \
        out->valid[i] = !null;                            \
        zero;                                             \
        if (null) continue;                               \
        __VA_ARGS__                                       \
    }                                                     \
    return ST_OK;

KERNEL(path_match){EACH_ROW(((uint8_t *)out->data)[i] = 0,
                            {
                                const JpItem *x = found.len == 1 ? &found.items[0] : NULL;
                                out->valid[i] = x && x->type == JT_BOOL;
                                if (out->valid[i]) ((uint8_t *)out->data)[i] = *x->text.ptr == 't';
                                else if (!c.run.silent && !(x && x->type == JT_NULL))
                                    FAIL(i, ERR_JSON_SINGLETON, "single boolean result is expected");
                            })} KERNEL(path_query_first){
    EACH_ROW(((Str *)out->data)[i] = STR0,
             {
                 out->valid[i] = found.len > 0;
                 if (found.len > 0)
                     TRY(jsonpath_item_text(ctx->arena, &found.items[0], (Str *)out->data + i, ctx->err));
             })} KERNEL(path_query_array){
    EACH_ROW(((Str *)out->data)[i] = STR0,
             {
                 JsonOut o = {.a = ctx->arena};
                 json_put_text(&o, "[");
                 for (int64_t k = 0; k < found.len; k++) {
                     Str text;
                     if (k) json_put_text(&o, ", ");
                     TRY(jsonpath_item_text(ctx->arena, &found.items[k], &text, ctx->err));
                     json_put_slice(&o, slice_of_str(text));
                 }
                 json_put_text(&o, "]");
                 TRY(json_done(&o, (Str *)out->data + i, ctx->err));
             })} /* The items as an array, of which the binder makes rows. */
KERNEL(path_query_items) {
    EACH_ROW(((Str *)out->data)[i] = STR0, {
        Str *texts = arena_array(ctx->arena, Str, found.len + 1);
        if (!texts) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
        for (int64_t k = 0; k < found.len; k++)
            TRY(jsonpath_item_text(ctx->arena, &found.items[k], &texts[k], ctx->err));
        TRY(array_build(ctx->arena, PH_STR, found.len, texts, NULL, (Str *)out->data + i, ctx->err));
    })
}

/* ---- table ------------------------------------------------------------------------------------------ */

static Type tf_jsonbs(const FuncDef *f, int nargs, const Type *args) {
    (void)f, (void)nargs, (void)args;
    return type_array_of(type_make(T_JSONB));
}
/* Of a document and a path, and of variables, and whether errors are suppressed. */
#define FORMS(nm, fl, rt, fn, tf, dc)                                                                   \
    DEF(nm, fl, rt, 2, ARGS(T_JSONB, T_JSONPATH), OP_NONE, fn, tf, dc),                                 \
        DEF(nm, fl, rt, 3, ARGS(T_JSONB, T_JSONPATH, T_JSONB), OP_NONE, fn, tf, dc "; with variables"), \
        DEF(nm, fl, rt, 4, ARGS(T_JSONB, T_JSONPATH, T_JSONB, T_BOOL), OP_NONE, fn, tf,                 \
            dc "; true: without errors of the document")
/* Also of those that use the session's time zone. */
#define BOTH(nm, tz, rt, fn, tf, dc) \
    FORMS(nm, NF, rt, fn, tf, dc), FORMS(tz, NF | FN_STABLE, rt, fn, tf, dc ", in the time zone")
static const FuncDef defs[] = {
    DEF("@?", FN_OPERATOR | NF, T_BOOL, 2, ARGS(T_JSONB, T_JSONPATH), OP_NONE, path_exists, NULL,
        "whether the path finds something"),
    DEF("@@", FN_OPERATOR | NF, T_BOOL, 2, ARGS(T_JSONB, T_JSONPATH), OP_NONE, path_match, NULL,
        "what the path's predicate says"),
    DEF("jsonb_path_exists_opr", NF, T_BOOL, 2, ARGS(T_JSONB, T_JSONPATH), OP_NONE, path_exists, NULL, "@?"),
    DEF("jsonb_path_match_opr", NF, T_BOOL, 2, ARGS(T_JSONB, T_JSONPATH), OP_NONE, path_match, NULL, "@@"),
    BOTH("jsonb_path_exists", "jsonb_path_exists_tz", T_BOOL, path_exists, NULL, "whether the path finds something"),
    BOTH("jsonb_path_match", "jsonb_path_match_tz", T_BOOL, path_match, NULL, "what the path's predicate says"),
    BOTH("jsonb_path_query_array", "jsonb_path_query_array_tz", T_JSONB, path_query_array, NULL,
         "what the path finds, as an array"),
    BOTH("jsonb_path_query_first", "jsonb_path_query_first_tz", T_JSONB, path_query_first, NULL,
         "the first that the path finds"),
    BOTH("jsonb_path_query_items", "jsonb_path_query_items_tz", T_ARRAY, path_query_items, tf_jsonbs,
         "internal: as an array of SQL"),
};
const FuncDefs func_defs_jsonpath = {defs, ARRAY_LEN(defs)};
