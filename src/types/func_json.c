/* func_json.c - casts, operators and parts of json and jsonb.
 *
 * Parts are found by walking the text (types/json.h) and are borrowed from it. Reading a json value checks its escapes
 * first, since the type takes escapes that no text can have: PostgreSQL fails then, wherever they are.
 */
#include "base/stack.h"
#include "types/dec.h"
#include "types/func_json_int.h"

/* ---- casts -------------------------------------------------------------------------------- */

/* Of json, or of jsonb to a column of a key. */
KNF(to_jsonb_rows, Str, STR0, {
    z = AT(Str, 0, i);
    if (args[0].type.id == T_JSON && jsonb_from_text(ctx->arena, slice_of_str(z), &z, ctx->err) != ST_OK)
        return FAILED(i);
    if ((ctx->ret.flags & TF_LEAST_SCALE) && jsonb_least_scale(ctx->arena, z, &z, ctx->err) != ST_OK) return FAILED(i);
})
Status func_to_jsonb(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    return to_jsonb_rows(ctx, n, args, nargs, out);
}

static Status wrong_type(FuncCtx *ctx, int64_t row, JsonType t) {
    static const char *const names[] = {"null", "string", "numeric", "boolean", "array", "object"};
    FAIL(row, ERR_INVALID_PARAMETER, "cannot cast jsonb %s to type %s", names[t], type_plain_name(ctx->ret));
}

/* Numbers go through numeric, as in PostgreSQL. */
Status func_jsonb_to_scalar(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out) {
    (void)nargs;
    size_t w = (size_t)phys_size((Phys)out->phys);
    Type dec = type_make(T_DECIMAL);
    bool to_dec = ctx->ret.id == T_DECIMAL && ctx->ret.length == 0;
    FuncKernel number = type_is_integer(ctx->ret)  ? func_dec_to_int
                        : ctx->ret.id == T_NUMERIC ? func_dec_to_numeric
                        : ctx->ret.id == T_DECIMAL ? func_number_to_dec
                                                   : func_dec_to_float;
    for (int64_t i = 0; i < n; i++) {
        char *cell = (char *)out->data + w * (size_t)i;
        memset(cell, 0, w);
        if (out->phys == PH_STR) *(Str *)(void *)cell = STR0;
        if (!row_valid(out, i)) continue;
        Slice v = json_arg(args, 0, i);
        JsonType t = json_type(v);
        if (t != (ctx->ret.id == T_BOOL ? JT_BOOL : JT_NUMBER)) return wrong_type(ctx, i, t);
        if (t == JT_BOOL) {
            *(uint8_t *)cell = *v.ptr == 't';
            continue;
        }
        Str stored;
        if (cell_from_text(dec, v, ctx->session, ctx->arena, &stored, ctx->err) != ST_OK) return FAILED(i);
        if (to_dec) {
            *(Str *)(void *)cell = stored;
            continue;
        }
        Vec in = {.data = &stored, .phys = PH_STR, .type = dec};
        Vec one = {.data = cell, .phys = out->phys, .type = out->type};
        if (number(ctx, 1, &in, 1, &one) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- parts --------------------------------------------------------------------------------- */

bool json_index(Slice text, int32_t *out) {
    int64_t i = 0, v = 0;
    while (i < text.len && (text.ptr[i] == ' ' || (text.ptr[i] >= '\t' && text.ptr[i] <= '\r'))) i++;
    bool neg = i < text.len && text.ptr[i] == '-';
    i += i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '+');
    if (i == text.len) return false;
    for (; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9') return false;
        v = v * 10 + (text.ptr[i] - '0');
        if (v > INT64_C(2147483648)) return false;
    }
    if (neg) v = -v;
    *out = (int32_t)v;
    return v == *out;
}

typedef enum PartForm { PART_JSON, PART_TEXT /* and null is NULL */ } PartForm;
static Status put_part(FuncCtx *ctx, Vec *out, int64_t i, bool found, Slice v, PartForm form) {
    Str *z = (Str *)out->data + i;
    *z = STR0;
    out->valid[i] = found && !(form == PART_TEXT && json_type(v) == JT_NULL);
    if (!out->valid[i]) return ST_OK;
    if (form == PART_TEXT) return json_as_text(ctx->arena, v, z, ctx->err);
    *z = str_make(v.ptr, v.len);
    return ST_OK;
}

/* Whether row i is to be read; *v is its value. NULL rows are done. */
static Status begin_row(FuncCtx *ctx, int64_t i, const Vec *args, int nargs, Vec *out, Slice *v, bool *read) {
    *read = true;
    for (int k = 0; k < nargs; k++) *read &= !arg_null(&args[k], i);
    out->valid[i] = 0;
    ((Str *)out->data)[i] = STR0;
    if (!*read) return ST_OK;
    *v = json_arg(args, 0, i);
    return args[0].type.id == T_JSON ? json_check_escapes(ctx->arena, *v, ctx->err) : ST_OK;
}

static Status get_member(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, PartForm form) {
    bool sorted = args[0].type.id == T_JSONB, read;
    for (int64_t i = 0; i < n; i++) {
        Slice v, part = {0};
        if (begin_row(ctx, i, args, 2, out, &v, &read) != ST_OK) return FAILED(i);
        if (!read) continue;
        bool found = json_type(v) == JT_OBJECT && json_find(v, slice_of_str(AT(Str, 1, i)), sorted, &part);
        if (put_part(ctx, out, i, found, part, form) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
/* A scalar jsonb is an array of itself here, which PostgreSQL says of its storage. */
static Status get_element(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, PartForm form) {
    bool jsonb = args[0].type.id == T_JSONB, read;
    for (int64_t i = 0; i < n; i++) {
        Slice v, part = {0};
        if (begin_row(ctx, i, args, 2, out, &v, &read) != ST_OK) return FAILED(i);
        if (!read) continue;
        int32_t at = AT(int32_t, 1, i);
        JsonType t = json_type(v);
        bool found = t == JT_ARRAY && json_element(v, at, &part);
        if (jsonb && !json_is_container(t) && (at == 0 || at == -1)) {
            found = true;
            part = v;
        }
        if (put_part(ctx, out, i, found, part, form) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(json_get_member) { return (void)nargs, get_member(ctx, n, args, out, PART_JSON); }
KERNEL(json_get_member_text) { return (void)nargs, get_member(ctx, n, args, out, PART_TEXT); }
KERNEL(json_get_element) { return (void)nargs, get_element(ctx, n, args, out, PART_JSON); }
KERNEL(json_get_element_text) { return (void)nargs, get_element(ctx, n, args, out, PART_TEXT); }

static bool step(Slice *v, Slice name, bool sorted) {
    int32_t i;
    switch (json_type(*v)) {
    case JT_OBJECT: return json_find(*v, name, sorted, v);
    case JT_ARRAY: return json_index(name, &i) && i != INT32_MIN && json_element(*v, i, v);
    default: return false;
    }
}
/* #> and its functions: a NULL in the path finds nothing. */
static Status get_path(FuncCtx *ctx, int64_t n, const Vec *args, Vec *out, PartForm form) {
    bool sorted = args[0].type.id == T_JSONB, read;
    for (int64_t i = 0; i < n; i++) {
        Slice v;
        if (begin_row(ctx, i, args, 2, out, &v, &read) != ST_OK) return FAILED(i);
        if (!read) continue;
        ArrayView path;
        TRY(json_texts_arg(ctx, args, 1, i, &path));
        bool found = true;
        for (int64_t k = 0; k < path.n; k++) found &= !array_is_null(&path, k);
        for (int64_t k = 0; k < path.n && found; k++) {
            Str name;
            array_get(&path, k, &name);
            found = step(&v, slice_of_str(name), sorted);
        }
        if (put_part(ctx, out, i, found, v, form) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(json_get_path) { return (void)nargs, get_path(ctx, n, args, out, PART_JSON); }
KERNEL(json_get_path_text) { return (void)nargs, get_path(ctx, n, args, out, PART_TEXT); }

/* json_extract_path(value, name, ...) */
static Status extract_path(FuncCtx *ctx, int64_t n, const Vec *args, int nargs, Vec *out, PartForm form) {
    bool sorted = args[0].type.id == T_JSONB, read;
    for (int64_t i = 0; i < n; i++) {
        Slice v;
        if (begin_row(ctx, i, args, nargs, out, &v, &read) != ST_OK) return FAILED(i);
        if (!read) continue;
        bool found = true;
        for (int k = 1; k < nargs && found; k++) found = step(&v, slice_of_str(AT(Str, k, i)), sorted);
        if (put_part(ctx, out, i, found, v, form) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}
KERNEL(json_extract_path) { return extract_path(ctx, n, args, nargs, out, PART_JSON); }
KERNEL(json_extract_path_text) { return extract_path(ctx, n, args, nargs, out, PART_TEXT); }

/* ---- questions -------------------------------------------------------------------------------- */

static const char *const type_names[] = {"null", "string", "number", "boolean", "array", "object"};
KNF(json_typeof, Str, STR0, {
    const char *name = type_names[json_type(json_arg(args, 0, i))];
    z = str_make(name, (int64_t)strlen(name));
})
KNF(json_array_length, int32_t, 0, {
    Slice v = json_arg(args, 0, i);
    JsonType t = json_type(v);
    FAIL_IF(t == JT_OBJECT, i, ERR_INVALID_PARAMETER, "cannot get array length of a non-array");
    FAIL_IF(t != JT_ARRAY, i, ERR_INVALID_PARAMETER, "cannot get array length of a scalar");
    z = (int32_t)json_count(v);
})

/* A key of an object, or a string of an array; a scalar is an array of itself. */
static bool has_key(Slice v, Slice key) {
    JsonType t = json_type(v);
    Slice name, part;
    if (t == JT_OBJECT) return json_find(v, key, true, &part);
    if (t == JT_STRING) return json_string_is(v, key);
    JsonIter it = json_iter(v);
    while (t == JT_ARRAY && json_next(&it, &name, &part))
        if (json_type(part) == JT_STRING && json_string_is(part, key)) return true;
    return false;
}
K2(jsonb_has_key, Str, Str, uint8_t, has_key(slice_of_str(x), slice_of_str(y)))
static Status has_keys(FuncCtx *ctx, const Vec *args, int64_t i, bool all, uint8_t *z) {
    ArrayView a;
    TRY(json_texts_arg(ctx, args, 1, i, &a));
    *z = all;
    for (int64_t k = 0; k < a.n && *z == all; k++) {
        Str key;
        if (array_is_null(&a, k)) continue;
        array_get(&a, k, &key);
        *z = has_key(json_arg(args, 0, i), slice_of_str(key));
    }
    return ST_OK;
}
KNF(jsonb_has_any, uint8_t, 0, TRY(has_keys(ctx, args, i, false, &z));)
KNF(jsonb_has_all, uint8_t, 0, TRY(has_keys(ctx, args, i, true, &z));)

/* ---- containment -------------------------------------------------------------------------------- */

typedef struct Containing {
    Arena *a;
    Err *e;
} Containing;

/* Equal scalars: their text is, but for numbers, of which 1.0 and 1.00 are equal. */
static Status same_scalar(Containing *c, Slice x, Slice y, bool *same) {
    *same = slice_eq(x, y);
    if (*same || json_type(x) != JT_NUMBER || json_type(y) != JT_NUMBER) return ST_OK;
    Dec p, q;
    TRY(dec_parse(c->a, x, &p, c->e));
    TRY(dec_parse(c->a, y, &q, c->e));
    *same = dec_cmp(&p, &q) == 0;
    return ST_OK;
}

static Status contains(Containing *c, Slice x, Slice y, bool *yes);

/* Whether an array has an element that contains y. */
static Status has_element(Containing *c, Slice array, Slice y, bool *yes) {
    JsonIter it = json_iter(array);
    Slice key, part;
    *yes = false;
    bool scalar = !json_is_container(json_type(y));
    while (!*yes && json_next(&it, &key, &part)) {
        if (json_type(part) != json_type(y)) continue;
        TRY(scalar ? same_scalar(c, part, y, yes) : contains(c, part, y, yes));
    }
    return ST_OK;
}

static Status contains(Containing *c, Slice x, Slice y, bool *yes) {
    TRY(stack_check_depth(c->e));
    JsonType t = json_type(x), u = json_type(y);
    *yes = t == u;
    if (!*yes || !json_is_container(t)) return *yes ? same_scalar(c, x, y, yes) : ST_OK;
    JsonIter it = json_iter(y);
    Slice key, part, have;
    while (*yes && json_next(&it, &key, &part)) {
        if (t == JT_ARRAY) {
            TRY(has_element(c, x, part, yes));
            continue;
        }
        Str name;
        TRY(json_unescape(c->a, key, &name, c->e));
        *yes = json_find(x, slice_of_str(name), true, &have);
        if (*yes) TRY(contains(c, have, part, yes));
    }
    return ST_OK;
}

/* Only here an array contains a scalar that is an element. */
static Status contains_top(FuncCtx *ctx, Slice x, Slice y, uint8_t *z) {
    Containing c = {ctx->arena, ctx->err};
    bool yes;
    if (json_type(x) == JT_ARRAY && !json_is_container(json_type(y))) TRY(has_element(&c, x, y, &yes));
    else TRY(contains(&c, x, y, &yes));
    *z = yes;
    return ST_OK;
}
KNF(jsonb_contains, uint8_t, 0, {
    if (contains_top(ctx, json_arg(args, 0, i), json_arg(args, 1, i), &z) != ST_OK) return FAILED(i);
})
KNF(jsonb_contained, uint8_t, 0, {
    if (contains_top(ctx, json_arg(args, 1, i), json_arg(args, 0, i), &z) != ST_OK) return FAILED(i);
})

/* ---- keys ---------------------------------------------------------------------------------------- */

KNF(jsonb_key_of, Str, STR0, {
    if (jsonb_key(ctx->arena, AT(Str, 0, i), &z, ctx->err) != ST_OK) return FAILED(i);
})
KNF(jsonb_trim_scale, Str, STR0, {
    if (jsonb_least_scale(ctx->arena, AT(Str, 0, i), &z, ctx->err) != ST_OK) return FAILED(i);
})

KNF(jsonb_cmp, int32_t, 0, {
    Str x;
    Str y;
    if (jsonb_key(ctx->arena, AT(Str, 0, i), &x, ctx->err) != ST_OK ||
        jsonb_key(ctx->arena, AT(Str, 1, i), &y, ctx->err) != ST_OK)
        return FAILED(i);
    const int order = str_cmp(x, y);
    z = (order > 0) - (order < 0);
})

/* ---- table ------------------------------------------------------------------------------------------ */

#define OPF (FN_OPERATOR | NF)
/* An operator of both types. */
#define BOTH(nm, fl, rt_json, rt_jsonb, B, fn, dc)                   \
    DEF(nm, fl, rt_json, 2, ARGS(T_JSON, B), OP_NONE, fn, NULL, dc), \
        DEF(nm, fl, rt_jsonb, 2, ARGS(T_JSONB, B), OP_NONE, fn, NULL, dc)
#define EXTRACT(nm, T, rt, fn, dc) DEF(nm, NF | FN_VARIADIC, rt, 2, ARGS(T, T_TEXT), OP_NONE, fn, NULL, dc)
/* What operators are, by name: for clients to which a question mark is a parameter. */
#define NAMED(nm, fl, rt, A, B, fn, dc) DEF(nm, fl, rt, 2, ARGS(A, B), OP_NONE, fn, NULL, dc)
#define PART(type, T)                                                                                              \
    NAMED(type "_object_field", NF, T, T, T_TEXT, json_get_member, "member of a key"),                             \
        NAMED(type "_object_field_text", NF, T_TEXT, T, T_TEXT, json_get_member_text, "member of a key, as text"), \
        NAMED(type "_array_element", NF, T, T, T_INT4, json_get_element, "element, from 0, or from the end: -1"),  \
        NAMED(type "_array_element_text", NF, T_TEXT, T, T_INT4, json_get_element_text, "element, as text")
static const FuncDef defs[] = {
    PART("json", T_JSON),
    PART("jsonb", T_JSONB),
    NAMED("jsonb_contains", SF, T_BOOL, T_JSONB, T_JSONB, jsonb_contains, "the first value contains the second"),
    NAMED("jsonb_contained", SF, T_BOOL, T_JSONB, T_JSONB, jsonb_contained, "the second value contains the first"),
    NAMED("jsonb_exists", S_, T_BOOL, T_JSONB, T_TEXT, jsonb_has_key, "the text is a key, or a string of the array"),
    NAMED("jsonb_exists_any", SF, T_BOOL, T_JSONB, T_TEXTS, jsonb_has_any, "one of the texts is such"),
    NAMED("jsonb_exists_all", SF, T_BOOL, T_JSONB, T_TEXTS, jsonb_has_all, "all texts are such"),
    BOTH("->", OPF, T_JSON, T_JSONB, T_TEXT, json_get_member, "member of a key"),
    BOTH("->", OPF, T_JSON, T_JSONB, T_INT4, json_get_element, "element, from 0, or from the end: -1"),
    BOTH("->>", OPF, T_TEXT, T_TEXT, T_TEXT, json_get_member_text, "member of a key, as text"),
    BOTH("->>", OPF, T_TEXT, T_TEXT, T_INT4, json_get_element_text, "element, as text"),
    BOTH("#>", OPF, T_JSON, T_JSONB, T_TEXTS, json_get_path, "part at a path of keys and indexes"),
    BOTH("#>>", OPF, T_TEXT, T_TEXT, T_TEXTS, json_get_path_text, "part at a path, as text"),
    EXTRACT("json_extract_path", T_JSON, T_JSON, json_extract_path, "part at a path of keys and indexes"),
    EXTRACT("jsonb_extract_path", T_JSONB, T_JSONB, json_extract_path, "part at a path of keys and indexes"),
    EXTRACT("json_extract_path_text", T_JSON, T_TEXT, json_extract_path_text, "part at a path, as text"),
    EXTRACT("jsonb_extract_path_text", T_JSONB, T_TEXT, json_extract_path_text, "part at a path, as text"),
    DEF("@>", FN_OPERATOR | SF, T_BOOL, 2, ARGS(T_JSONB, T_JSONB), OP_NONE, jsonb_contains, NULL,
        "the first value contains the second"),
    DEF("<@", FN_OPERATOR | SF, T_BOOL, 2, ARGS(T_JSONB, T_JSONB), OP_NONE, jsonb_contained, NULL,
        "the second value contains the first"),
    DEF("?", FN_OPERATOR | S_, T_BOOL, 2, ARGS(T_JSONB, T_TEXT), OP_NONE, jsonb_has_key, NULL,
        "the text is a key, or a string of the array"),
    DEF("?|", FN_OPERATOR | SF, T_BOOL, 2, ARGS(T_JSONB, T_TEXTS), OP_NONE, jsonb_has_any, NULL,
        "one of the texts is a key, or a string of the array"),
    DEF("?&", FN_OPERATOR | SF, T_BOOL, 2, ARGS(T_JSONB, T_TEXTS), OP_NONE, jsonb_has_all, NULL,
        "all texts are keys, or strings of the array"),
    DEF("json_typeof", S_, T_TEXT, 1, ARGS(T_JSON), OP_NONE, json_typeof, NULL, "object, array, string, number .."),
    DEF("jsonb_typeof", S_, T_TEXT, 1, ARGS(T_JSONB), OP_NONE, json_typeof, NULL, "object, array, string, number .."),
    DEF("json_array_length", SF, T_INT4, 1, ARGS(T_JSON), OP_NONE, json_array_length, NULL, "number of elements"),
    DEF("jsonb_array_length", SF, T_INT4, 1, ARGS(T_JSONB), OP_NONE, json_array_length, NULL, "number of elements"),
    DEF("jsonb_cmp", SF, T_INT4, 2, ARGS(T_JSONB, T_JSONB), OP_NONE, jsonb_cmp, NULL,
        "-1, 0 or 1, as they are ordered"),
    DEF("jsonb_key", SF, T_BYTEA, 1, ARGS(T_JSONB), OP_NONE, jsonb_key_of, NULL,
        "internal: bytes that compare as the value does"),
    DEF("jsonb_trim_scale", SF, T_JSONB, 1, ARGS(T_JSONB), OP_NONE, jsonb_trim_scale, NULL,
        "internal: numbers without zeros at their end"),
};
const FuncDefs func_defs_json = {defs, ARRAY_LEN(defs)};
