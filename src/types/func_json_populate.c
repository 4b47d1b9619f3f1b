/* func_json_populate.c - JSON as values of any type: json_populate_record, json_populate_recordset, and the columns of
 * json_to_record.
 *
 * As PostgreSQL's populate_record_field: a JSON null is NULL; a string is read as the type reads its text; an array
 * becomes an array, its parts elements or, where all are arrays, one dimension more; an object becomes a row, whose
 * fields that it does not have keep the value that they have in the row before; anything else is read as the type
 * reads its JSON text.
 */
#include <stdio.h>

#include "base/stack.h"
#include "types/composite.h"
#include "types/func_json_int.h"

/* What is read, and where its parts come from. */
typedef struct Populate {
    FuncCtx *ctx;
    bool jsonb;
} Populate;

/* An array under construction: its elements so far, and its dimensions as soon as an element that is no array shows how
 * many there are. */
typedef struct Filling {
    Populate *p;
    Type element;
    Slice key; /* for errors; without ptr: none */
    ArrayShape shape;
    bool known[ARRAY_MAX_DIMS];     /* the length of a dimension */
    int32_t counts[ARRAY_MAX_DIMS]; /* parts so far on each level */
    int64_t n, cap;
    char *cells;
    uint8_t *valid;
} Filling;

static Status populate(Populate *p, Type t, Slice key, const Value *before, Slice json, Value *out);

static Status no_memory(Err *e) { return err_is_set(e) ? ST_ERROR : err_oom(e); }

/* ---- scalars ------------------------------------------------------------------------------------------------- */
static Status populate_scalar(Populate *p, Type t, Slice json, Value *out) {
    FuncCtx *ctx = p->ctx;
    Str text = str_make(json.ptr, json.len);
    if (t.id == T_JSONB && !p->jsonb) return jsonb_from_text(ctx->arena, json, &out->u.str, ctx->err);
    if (type_is_json(t)) {
        out->u.str = text;
        return ST_OK;
    }
    if (json_type(json) == JT_STRING) TRY(json_unescape(ctx->arena, json, &text, ctx->err));
    TRY(value_from_text(t, slice_of_str(text), ctx->session, ctx->arena, out, ctx->err));
    out->type = t;
    return ST_OK;
}

/* ---- arrays -------------------------------------------------------------------------------------------------- */
static Status expected_array(const Filling *f, int32_t level) {
    Err *e = f->p->ctx->err;
    char at[ARRAY_MAX_DIMS * 14 + 1] = "";
    for (int32_t i = 0, n = 0; i < level; i++) n += snprintf(at + n, sizeof at - (size_t)n, "[%d]", (int)f->counts[i]);
    err_set(e, ERR_INVALID_TEXT, "expected JSON array");
    if (f->key.ptr && level == 0) err_hint(e, "See the value of key \"%.*s\".", (int)f->key.len, f->key.ptr);
    else if (f->key.ptr) err_hint(e, "See the array element %s of key \"%.*s\".", at, (int)f->key.len, f->key.ptr);
    else if (level > 0) err_hint(e, "See the array element %s.", at);
    return ST_ERROR;
}
static Status add_element(Filling *f, Slice json) {
    Arena *a = f->p->ctx->arena;
    const int64_t width = phys_size(type_phys(f->element));
    if (f->n == f->cap) {
        const int64_t more = f->cap ? 2 * f->cap : 16;
        char *cells = arena_alloc(a, more * width);
        uint8_t *valid = arena_alloc(a, more);
        if (!cells || !valid) return no_memory(f->p->ctx->err);
        if (f->n > 0) {
            memcpy(cells, f->cells, (size_t)(f->n * width));
            memcpy(valid, f->valid, (size_t)f->n);
        }
        f->cells = cells;
        f->valid = valid;
        f->cap = more;
    }
    Value v = {.type = f->element};
    TRY(populate(f->p, f->element, (Slice){0}, NULL, json, &v));
    memset(f->cells + f->n * width, 0, (size_t)width);
    if (!v.is_null) memcpy(f->cells + f->n * width, value_cell(&v), (size_t)width);
    f->valid[f->n++] = !v.is_null;
    return ST_OK;
}
/* A sub-array of that level has ended: those beside it have as many parts. */
static Status end_level(Filling *f, int32_t level) {
    const int32_t n = f->counts[level];
    if (f->known[level] && f->shape.dims[level].len != n) {
        err_set(f->p->ctx->err, ERR_INVALID_TEXT, "malformed JSON array");
        err_detail(f->p->ctx->err, "Multidimensional arrays must have sub-arrays with matching dimensions.");
        return ST_ERROR;
    }
    f->known[level] = true;
    f->shape.dims[level] = (ArrayDim){.len = n, .low = 1};
    f->counts[level] = 0;
    return ST_OK;
}
static Status fill_level(Filling *f, int32_t level, Slice json) {
    Err *e = f->p->ctx->err;
    TRY(stack_check_depth(e));
    if (json_type(json) != JT_ARRAY) return expected_array(f, level);
    if (level == ARRAY_MAX_DIMS)
        return err_set(e, ERR_PROGRAM_LIMIT, "number of array dimensions (%d) exceeds the maximum allowed (%d)",
                       ARRAY_MAX_DIMS + 1, ARRAY_MAX_DIMS);
    JsonIter it = json_iter(json);
    Slice key, part;
    bool first = true;
    for (; json_next(&it, &key, &part); first = false) {
        if (first && f->shape.n == 0 && json_type(part) != JT_ARRAY) f->shape.n = level + 1;
        if (f->shape.n == level + 1) TRY(add_element(f, part));
        else TRY(fill_level(f, level + 1, part));
        f->counts[level]++;
    }
    if (first && f->shape.n == 0) f->shape.n = level + 1;
    return end_level(f, level);
}
static Status populate_array(Populate *p, Type t, Slice key, Slice json, Value *out) {
    Filling f = {.p = p, .element = type_element(t), .key = key};
    TRY(fill_level(&f, 0, json));
    if (f.n == 0) f.shape.n = 0;
    return array_build_shaped(p->ctx->arena, type_phys(f.element), &f.shape, f.cells, f.valid, &out->u.str,
                              p->ctx->err);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */
/* before: the row whose values fields without a member have; NULL or a NULL: they are NULL. */
static Status populate_row(Populate *p, Type t, const Value *before, Slice object, Value *out) {
    FuncCtx *ctx = p->ctx;
    const CompositeType *x = composite_of(t);
    if (!x) return err_internal(ctx->err, "populate_row: not a type of rows");
    TRY(stack_check_depth(ctx->err));
    TRY(json_check_row(object, ctx->err));
    Value *fields = arena_array(ctx->arena, Value, x->n + 1);
    if (!fields) return no_memory(ctx->err);
    for (int32_t i = 0; i < x->n; i++) fields[i] = (Value){.type = x->fields[i].type, .is_null = true};
    if (before && !before->is_null) TRY(composite_read(x, before->u.str, fields, ctx->err));
    for (int32_t i = 0; i < x->n; i++) {
        const CompositeField *f = &x->fields[i];
        const Value was = fields[i];
        const Slice name = slice_of(f->name);
        Slice member;
        if (!json_find(object, name, p->jsonb, &member)) continue;
        fields[i] = (Value){.type = f->type};
        TRY(populate(p, f->type, name, &was, member, &fields[i]));
    }
    return composite_build(ctx->arena, x->n, fields, &out->u.str, ctx->err);
}

static Status populate(Populate *p, Type t, Slice key, const Value *before, Slice json, Value *out) {
    const JsonType kind = json_type(json);
    out->is_null = kind == JT_NULL;
    if (out->is_null) return ST_OK;
    if (t.id == T_ARRAY && kind != JT_STRING) return populate_array(p, t, key, json, out);
    if (t.id == T_COMPOSITE && kind != JT_STRING) return populate_row(p, t, before, json, out);
    return populate_scalar(p, t, json, out);
}

/* ---- functions ----------------------------------------------------------------------------------------------- */
static Status populate_begin(FuncCtx *ctx, const Vec *args, int k, int64_t i, Populate *p, Slice *json) {
    *p = (Populate){.ctx = ctx, .jsonb = args[k].type.id == T_JSONB};
    *json = json_arg(args, k, i);
    return p->jsonb ? ST_OK : json_check_escapes(ctx->arena, *json, ctx->err);
}
static Value row_arg(const Vec *v, int64_t i) {
    Value x = {.type = v->type, .is_null = arg_null(v, i)};
    if (!x.is_null) memcpy(&x.u.str, arg_cell(v, i), sizeof x.u.str);
    return x;
}
static Status check_row(FuncCtx *ctx, Type t, const char *name) {
    if (t.id == T_COMPOSITE && composite_of(t)) return ST_OK;
    return err_set(ctx->err, ERR_DATATYPE_MISMATCH, "first argument of %s must be a row type", name);
}
KERNEL(populate_record) {
    KERNEL_UNUSED();
    TRY(check_row(ctx, ctx->ret, ctx->func->name));
    for (int64_t i = 0; i < n; i++) {
        Populate p;
        Slice json;
        Value v = row_arg(&args[0], i);
        const Value before = v;
        if (!arg_null(&args[1], i)) {
            if (populate_begin(ctx, args, 1, i, &p, &json) != ST_OK) return FAILED(i);
            if (populate_row(&p, ctx->ret, &before, json, &v) != ST_OK) return FAILED(i);
            v.is_null = false;
        }
        out->valid[i] = !v.is_null;
        ((Str *)out->data)[i] = v.is_null ? (Str){0} : v.u.str;
    }
    return ST_OK;
}

static Status record_set(FuncCtx *ctx, int64_t i, const Vec *args, const char *name, Str *z) {
    Populate p;
    Slice json, key, part;
    const Value before = row_arg(&args[0], i);
    const Type row = type_element(ctx->ret);
    TRY(populate_begin(ctx, args, 1, i, &p, &json));
    TRY(json_check_records(name, (int)strlen(name), p.jsonb, json, ctx->err));
    Str *rows = arena_array(ctx->arena, Str, json_count(json) + 1);
    if (!rows) return no_memory(ctx->err);
    int64_t n = 0;
    JsonIter it = json_iter(json);
    for (; json_next(&it, &key, &part); n++) {
        Value v = {.type = row};
        TRY(populate_row(&p, row, &before, part, &v));
        rows[n] = v.u.str;
    }
    return array_build(ctx->arena, PH_STR, n, rows, NULL, z, ctx->err);
}
KERNEL(populate_recordset) {
    KERNEL_UNUSED();
    const char *name = args[1].type.id == T_JSONB ? "jsonb_populate_recordset" : "json_populate_recordset";
    TRY(check_row(ctx, type_element(ctx->ret), name));
    for (int64_t i = 0; i < n; i++) {
        Str *z = &((Str *)out->data)[i];
        *z = (Str){0};
        out->valid[i] = !arg_null(&args[1], i);
        if (out->valid[i] && record_set(ctx, i, args, name, z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* The member args[1] of the object args[0] as a value of the type of args[2]. */
KERNEL(populate_member) {
    KERNEL_UNUSED();
    const int64_t width = phys_size((Phys)out->phys);
    for (int64_t i = 0; i < n; i++) {
        Populate p;
        Slice json, member;
        Value v = {.type = ctx->ret, .is_null = true};
        memset((char *)out->data + i * width, 0, (size_t)width);
        out->valid[i] = 0;
        if (arg_null(&args[0], i) || arg_null(&args[1], i)) continue;
        if (populate_begin(ctx, args, 0, i, &p, &json) != ST_OK) return FAILED(i);
        const Slice key = slice_of_str(AT(Str, 1, i));
        if (!json_find(json, key, p.jsonb, &member)) continue;
        if (populate(&p, ctx->ret, key, NULL, member, &v) != ST_OK) return FAILED(i);
        out->valid[i] = !v.is_null;
        if (!v.is_null) memcpy((char *)out->data + i * width, value_cell(&v), (size_t)width);
    }
    return ST_OK;
}

static Type tf_third(const FuncDef *f, int nargs, const Type *a) {
    (void)f, (void)nargs;
    return a[2];
}
#define P_ (FN_CAN_FAIL | FN_STABLE)
/* A third argument, which PostgreSQL has had no use for since version 9.4, comes with json. */
#define UNUSED_THIRD(nm, ret, kn, tf, dc) DEF(nm, P_, ret, 3, ARGS(T_ANY, T_JSON, T_BOOL), OP_NONE, kn, tf, dc)
#define RECORD(nm, T)                                                                                                 \
    DEF(nm "_populate_record", P_, T_COMPOSITE, 2, ARGS(T_ANY, T), OP_NONE, populate_record, tf_first,                \
        "an object as a row; what it does not have is as in the first argument"),                                     \
        DEF(nm "_populate_recordset_array", P_, T_ARRAY, 2, ARGS(T_ANY, T), OP_NONE, populate_recordset, tf_array_of, \
            "internal: as an array"),                                                                                 \
        DEF(nm "_populate_member", P_, T_VOID, 3, ARGS(T, T_TEXT, T_ANY), OP_NONE, populate_member, tf_third,         \
            "internal: a member as a value of the type of the third argument")
static const FuncDef defs[] = {
    RECORD("json", T_JSON),
    RECORD("jsonb", T_JSONB),
    UNUSED_THIRD("json_populate_record", T_COMPOSITE, populate_record, tf_first, "the same"),
    UNUSED_THIRD("json_populate_recordset_array", T_ARRAY, populate_recordset, tf_array_of, "internal: as an array"),
};
const FuncDefs func_defs_json_populate = {defs, ARRAY_LEN(defs)};
