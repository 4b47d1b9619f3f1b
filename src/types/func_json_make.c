/* func_json_make.c - JSON made of values: to_json, json_build_object, json_object, aggregates; its parts as arrays.
 *
 * json_agg and json_object_agg are string_agg over entries (json_entry, json_pair_entry), put together by
 * json_from_entries, so that their order and memory are string_agg's. An entry begins with a byte that JSON text cannot
 * have: 1, or 2 where PostgreSQL begins a new line before the element, an array or a row that is not NULL.
 *
 * json_each and the like are unnest (sql/bind/bind_json.c) over functions that give all parts as one array.
 */
#include "base/stack.h"
#include "types/composite.h"
#include "types/func_json_int.h"

enum { ENTRY_PLAIN = 1, ENTRY_LINE = 2 };

/* ---- cells ------------------------------------------------------------------------------------ */

/* ISO 8601, whatever DateStyle is: a T between date and time, and minutes in the zone. */
static void put_time(const FuncCtx *ctx, JsonOut *o, Type t, const void *cell) {
    char text[VALUE_TEXT_MAX];
    TextForm form = ctx_form(ctx);
    form.date_style = DATES_ISO;
    const int64_t n = cell_to_text(t, cell, form, text);
    const char *end = text + n, *blank = t.id == T_DATE ? NULL : memchr(text, ' ', (size_t)n), *zone = NULL;
    json_put_text(o, "\"");
    if (!blank) { /* a date, or infinity */
        json_put(o, text, n);
        json_put_text(o, "\"");
        return;
    }
    json_put(o, text, blank - text);
    json_put_text(o, "T");
    for (const char *p = blank; p < end && t.id == T_TIMESTAMPTZ; p++)
        if (*p == '+' || *p == '-') zone = p;
    const char *rest = zone ? zone + 3 : blank + 1;
    if (zone) json_put(o, blank + 1, rest - blank - 1);
    if (zone && (rest == end || *rest != ':')) json_put_text(o, ":00");
    json_put(o, rest, end - rest);
    json_put_text(o, "\"");
}

/* The elements of one dimension from element *at on, which moves; the innermost are values, the others are lists. */
static Status put_dimension(FuncCtx *ctx, JsonOut *o, Type element, const ArrayView *a, int32_t level, int64_t *at,
                            const char *comma) {
    const int32_t len = a->n_dims ? array_dim(a, level).len : 0;
    TRY(stack_check_depth(ctx->err));
    json_put_text(o, "[");
    for (int32_t i = 0; i < len; i++) {
        Value x;
        if (i) json_put(o, comma, (int64_t)strlen(comma));
        if (level + 1 < a->n_dims) {
            TRY(put_dimension(ctx, o, element, a, level + 1, at, ","));
            continue;
        }
        const int64_t k = (*at)++;
        if (array_is_null(a, k)) {
            json_put_text(o, "null");
            continue;
        }
        array_get(a, k, &x.u);
        TRY(json_put_cell(ctx, o, element, &x.u));
    }
    json_put_text(o, "]");
    return ST_OK;
}
static Status put_array(FuncCtx *ctx, JsonOut *o, Type t, Str blob, const char *comma) {
    ArrayView a = array_view(blob);
    int64_t at = 0;
    return put_dimension(ctx, o, type_element(t), &a, 0, &at, comma);
}

static Status put_composite(FuncCtx *ctx, JsonOut *o, Type t, Str blob, const char *comma) {
    const CompositeType *x = composite_of(t);
    Value *fields = arena_array(ctx->arena, Value, x ? x->n + 1 : 1);
    if (!fields) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    TRY(stack_check_depth(ctx->err));
    TRY(composite_read(x, blob, fields, ctx->err));
    json_put_text(o, "{");
    for (int32_t i = 0; i < x->n; i++) {
        if (i) json_put(o, comma, (int64_t)strlen(comma));
        json_put_string(o, slice_of(x->fields[i].name));
        json_put_text(o, ":");
        if (fields[i].is_null) json_put_text(o, "null");
        else TRY(json_put_cell(ctx, o, fields[i].type, value_cell_const(&fields[i])));
    }
    json_put_text(o, "}");
    return ST_OK;
}

Status json_put_cell(FuncCtx *ctx, JsonOut *o, Type t, const void *cell) {
    Str s;
    switch ((TypeId)t.id) {
    case T_BOOL: return json_put_slice(o, slice_of(*(const uint8_t *)cell ? "true" : "false")), ST_OK;
    case T_ARRAY: return put_array(ctx, o, t, *(const Str *)cell, ",");
    case T_COMPOSITE: return put_composite(ctx, o, t, *(const Str *)cell, ",");
    case T_JSON:
    case T_JSONB: return json_put_slice(o, slice_of_str(*(const Str *)cell)), ST_OK;
    case T_DATE:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: return put_time(ctx, o, t, cell), ST_OK;
    default: break;
    }
    TRY(func_cell_output(ctx, t, cell, &s));
    bool digit = s.len > 0 && s.ptr[s.len - 1] >= '0' && s.ptr[s.len - 1] <= '9';
    if (type_is_number(t) && digit) json_put_slice(o, slice_of_str(s)); /* not NaN and Infinity */
    else json_put_string(o, slice_of_str(s));
    return ST_OK;
}
Status json_put_value(JsonOut *o, Type t, const void *cell, Err *e) {
    FuncCtx ctx = {.arena = o->a, .err = e};
    return json_put_cell(&ctx, o, t, cell);
}
/* The cell of an argument. Integers and numerics may be of another width than their type's. */
static Status put_arg(FuncCtx *ctx, JsonOut *o, const Vec *v, int64_t i) {
    if (arg_null(v, i)) return json_put_text(o, "null"), ST_OK;
    Type t = v->type;
    if (t.id != T_NUMERIC || v->phys == type_phys(t)) return json_put_cell(ctx, o, t, arg_cell(v, i));
    int128_t wide = num_at(v, i);
    int64_t narrow = (int64_t)wide;
    return json_put_cell(ctx, o, t, type_phys(t) == PH_I64 ? (const void *)&narrow : (const void *)&wide);
}

static Status put_key(FuncCtx *ctx, JsonOut *o, const Vec *v, int64_t i) {
    JsonOut text = {.a = ctx->arena};
    Type t = v->type;
    FAIL_IF(t.id == T_ARRAY || type_is_json(t), i, ERR_INVALID_PARAMETER,
            "key value must be scalar, not array, composite, or json");
    TRY(put_arg(ctx, &text, v, i));
    if (text.len && *text.p == '"') json_put(o, text.p, text.len);
    else json_put_string(o, (Slice){text.p, text.len});
    o->failed |= text.failed;
    return ST_OK;
}

/* ---- functions of values ---------------------------------------------------------------------------- */

KNF(to_json, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    if (put_arg(ctx, &o, &args[0], i) != ST_OK || json_finish(ctx, &o, &z) != ST_OK) return FAILED(i);
})
KNF(row_to_json, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    const bool lines = nargs > 1 && AT(uint8_t, 1, i);
    if (put_composite(ctx, &o, args[0].type, AT(Str, 0, i), lines ? ",\n " : ",") != ST_OK ||
        json_done(&o, &z, ctx->err) != ST_OK)
        return FAILED(i);
})
KNF(array_to_json, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    bool lines = nargs > 1 && AT(uint8_t, 1, i);
    if (put_array(ctx, &o, args[0].type, AT(Str, 0, i), lines ? ",\n " : ",") != ST_OK ||
        json_done(&o, &z, ctx->err) != ST_OK)
        return FAILED(i);
})

/* NULL arguments are values. */
#define MAKE(fn, ...)                                               \
    KERNEL(fn) {                                                    \
        KERNEL_UNUSED();                                            \
        for (int64_t i = 0; i < n; i++) {                           \
            Str *z = (Str *)out->data + i;                          \
            JsonOut o = {.a = ctx->arena};                          \
            *z = STR0;                                              \
            out->valid[i] = 1;                                      \
            __VA_ARGS__                                             \
            if (json_finish(ctx, &o, z) != ST_OK) return FAILED(i); \
        }                                                           \
        return ST_OK;                                               \
    }

static Status null_key(FuncCtx *ctx, int64_t i, int k) {
    if (ctx->ret.id == T_JSONB) FAIL(i, ERR_INVALID_PARAMETER, "argument %d: key must not be null", k + 1);
    ctx->error_row = i;
    err_set(ctx->err, ERR_INVALID_PARAMETER, "argument %d cannot be null", k + 1);
    err_hint(ctx->err, "Object keys should be text.");
    return ST_ERROR;
}
static Status odd_arguments(FuncCtx *ctx, int64_t i) {
    ctx->error_row = i;
    err_set(ctx->err, ERR_INVALID_PARAMETER, "argument list must have even number of elements");
    err_hint(ctx->err, "The arguments of %s() must consist of alternating keys and values.", ctx->func->name);
    return ST_ERROR;
}
MAKE(build_object, {
    if (nargs % 2) return odd_arguments(ctx, i);
    json_put_text(&o, "{");
    for (int k = 0; k < nargs; k += 2) {
        if (k) json_put_text(&o, ", ");
        if (arg_null(&args[k], i)) return null_key(ctx, i, k);
        TRY(put_key(ctx, &o, &args[k], i));
        json_put_text(&o, " : ");
        if (put_arg(ctx, &o, &args[k + 1], i) != ST_OK) return FAILED(i);
    }
    json_put_text(&o, "}");
})
MAKE(build_array, {
    json_put_text(&o, "[");
    for (int k = 0; k < nargs; k++) {
        if (k) json_put_text(&o, ", ");
        if (put_arg(ctx, &o, &args[k], i) != ST_OK) return FAILED(i);
    }
    json_put_text(&o, "]");
})
/* A row: (lines, name, value, ...). */
MAKE(json_row, {
    bool lines = AT(uint8_t, 0, i);
    json_put_text(&o, "{");
    for (int k = 1; k + 1 < nargs; k += 2) {
        if (k > 1) json_put_slice(&o, slice_of(lines ? ",\n " : ","));
        json_put_string(&o, slice_of_str(AT(Str, k, i)));
        json_put_text(&o, ":");
        if (put_arg(ctx, &o, &args[k + 1], i) != ST_OK) return FAILED(i);
    }
    json_put_text(&o, "}");
})

static Status put_pairs(FuncCtx *ctx, JsonOut *o, int64_t i, const ArrayView *keys, const ArrayView *values, int step) {
    json_put_text(o, "{");
    for (int64_t k = 0; k < keys->n; k += step) {
        int64_t at = values == keys ? k + 1 : k;
        Str s;
        FAIL_IF(array_is_null(keys, k), i, ERR_NULL_NOT_ALLOWED, "null value not allowed for object key");
        if (k) json_put_text(o, ", ");
        array_get(keys, k, &s);
        json_put_string(o, slice_of_str(s));
        json_put_text(o, " : ");
        array_get(values, at, &s);
        if (array_is_null(values, at)) json_put_text(o, "null");
        else json_put_string(o, slice_of_str(s));
    }
    json_put_text(o, "}");
    return ST_OK;
}
KNF(json_object_pairs, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    ArrayView a;
    TRY(json_texts_arg(ctx, args, 0, i, &a));
    FAIL_IF(a.n_dims > 2, i, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
    FAIL_IF(a.n_dims == 2 && array_dim(&a, 1).len != 2, i, ERR_ARRAY_SUBSCRIPT, "array must have two columns");
    FAIL_IF(a.n % 2, i, ERR_ARRAY_SUBSCRIPT, "array must have even number of elements");
    TRY(put_pairs(ctx, &o, i, &a, &a, 2));
    if (json_finish(ctx, &o, &z) != ST_OK) return FAILED(i);
})
KNF(json_object_arrays, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    ArrayView a;
    ArrayView b;
    TRY(json_texts_arg(ctx, args, 0, i, &a));
    TRY(json_texts_arg(ctx, args, 1, i, &b));
    FAIL_IF(a.n_dims > 1 || a.n_dims != b.n_dims, i, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
    FAIL_IF(a.n != b.n, i, ERR_ARRAY_SUBSCRIPT, "mismatched array dimensions");
    TRY(put_pairs(ctx, &o, i, &a, &b, 1));
    if (json_finish(ctx, &o, &z) != ST_OK) return FAILED(i);
})

/* ---- aggregates ------------------------------------------------------------------------------------------ */

/* args[1]: the value is a row. */
MAKE(json_entry, {
    bool many = args[0].type.id == T_ARRAY || args[0].type.id == T_COMPOSITE;
    bool line = !arg_null(&args[0], i) && (many || AT(uint8_t, 1, i));
    json_put(&o, &(char){line ? ENTRY_LINE : ENTRY_PLAIN}, 1);
    if (put_arg(ctx, &o, &args[0], i) != ST_OK) return FAILED(i);
})
MAKE(json_pair_entry, {
    FAIL_IF(arg_null(&args[0], i), i, ERR_INVALID_PARAMETER, "field name must not be null");
    json_put(&o, &(char){ENTRY_PLAIN}, 1);
    TRY(put_key(ctx, &o, &args[0], i));
    json_put_text(&o, " : ");
    if (put_arg(ctx, &o, &args[1], i) != ST_OK) return FAILED(i);
})

static Status from_entries(FuncCtx *ctx, Str entries, const char *open, const char *close, Str *z) {
    JsonOut o = {.a = ctx->arena};
    const char *p = entries.ptr, *end = p + entries.len, *from = p;
    json_put_slice(&o, slice_of(open));
    for (; p < end; p++) {
        if (*p != ENTRY_PLAIN && *p != ENTRY_LINE) continue;
        json_put(&o, from, p - from);
        if (p > entries.ptr) json_put_slice(&o, slice_of(*p == ENTRY_LINE ? ", \n " : ", "));
        from = p + 1;
    }
    json_put(&o, from, end - from);
    json_put_slice(&o, slice_of(close));
    return json_finish(ctx, &o, z);
}
KNF(array_from_entries, Str, STR0, {
    if (from_entries(ctx, AT(Str, 0, i), "[", "]", &z) != ST_OK) return FAILED(i);
})
KNF(object_from_entries, Str, STR0, {
    if (from_entries(ctx, AT(Str, 0, i), "{ ", " }", &z) != ST_OK) return FAILED(i);
})

/* ---- parts as arrays ---------------------------------------------------------------------------------------- */

typedef enum Parts {
    PARTS_ELEMENTS,
    PARTS_TEXTS, /* the elements as texts */
    PARTS_KEYS,
    PARTS_PAIRS /* members as JSON arrays, [key, value] */
} Parts;

/* PostgreSQL's words for a value that has no such parts. They name the function of SQL, whose name ends in "_array"
 * here. */
static Status no_parts(FuncCtx *ctx, int64_t i, Parts what, bool jsonb, JsonType t) {
    const char *name = ctx->func->name;
    int len = (int)strlen(name) - (int)strlen("_array");
    bool scalar = !json_is_container(t);
    const char *thing = scalar ? "a scalar" : t == JT_ARRAY ? "an array" : "a non-array";
    if (what <= PARTS_TEXTS && jsonb)
        FAIL(i, ERR_INVALID_PARAMETER, "cannot extract elements from %s", scalar ? "a scalar" : "an object");
    if (what == PARTS_PAIRS && jsonb) FAIL(i, ERR_INVALID_PARAMETER, "cannot call %.*s on a non-object", len, name);
    if (what == PARTS_PAIRS)
        FAIL(i, ERR_INVALID_PARAMETER, "cannot deconstruct %s", scalar ? "a scalar" : "an array as an object");
    FAIL(i, ERR_INVALID_PARAMETER, "cannot call %.*s on %s", len, name, thing);
}

static Status pair_of(FuncCtx *ctx, Slice key, Slice value, Str *z) {
    JsonOut o = {.a = ctx->arena};
    json_put_text(&o, "[");
    json_put_slice(&o, key);
    json_put_text(&o, ", ");
    json_put_slice(&o, value);
    json_put_text(&o, "]");
    return json_done(&o, z, ctx->err);
}

static Status parts(FuncCtx *ctx, int64_t i, const Vec *args, Parts what, Str *z) {
    Slice v = json_arg(args, 0, i), key, part;
    bool jsonb = args[0].type.id == T_JSONB;
    JsonType t = json_type(v), want = what <= PARTS_TEXTS ? JT_ARRAY : JT_OBJECT;
    if (!jsonb && json_check_escapes(ctx->arena, v, ctx->err) != ST_OK) return FAILED(i);
    if (t != want) return no_parts(ctx, i, what, jsonb, t);
    int64_t n = json_count(v), k = 0;
    Str *cells = arena_array(ctx->arena, Str, n + 1);
    uint8_t *valid = arena_alloc(ctx->arena, n + 1);
    if (!cells || !valid) {
        if (!err_is_set(ctx->err)) err_oom(ctx->err);
        return FAILED(i);
    }
    JsonIter it = json_iter(v);
    for (; k < n && json_next(&it, &key, &part); k++) {
        valid[k] = what != PARTS_TEXTS || json_type(part) != JT_NULL;
        cells[k] = valid[k] ? str_make(part.ptr, part.len) : STR0;
        if (what == PARTS_KEYS) TRY(json_unescape(ctx->arena, key, &cells[k], ctx->err));
        else if (what == PARTS_PAIRS) TRY(pair_of(ctx, key, part, &cells[k]));
        else if (what == PARTS_TEXTS && valid[k]) TRY(json_as_text(ctx->arena, part, &cells[k], ctx->err));
    }
    return array_build(ctx->arena, PH_STR, k, cells, valid, z, ctx->err);
}
#define PARTS(fn, what)                                               \
    KNF(fn, Str, STR0, {                                              \
        if (parts(ctx, i, args, what, &z) != ST_OK) return FAILED(i); \
    })
PARTS(json_elements, PARTS_ELEMENTS)
PARTS(json_elements_text, PARTS_TEXTS)
PARTS(json_keys, PARTS_KEYS)
PARTS(json_pairs, PARTS_PAIRS)

Status json_check_row(Slice json, Err *e) {
    const JsonType t = json_type(json);
    if (t == JT_OBJECT) return ST_OK;
    return err_set(e, ERR_INVALID_PARAMETER, "cannot call populate_composite on %s",
                   t == JT_ARRAY ? "an array" : "a scalar");
}
Status json_check_records(const char *name, int len, bool jsonb, Slice json, Err *e) {
    const JsonType t = json_type(json);
    if (t != JT_ARRAY)
        return err_set(e, ERR_INVALID_PARAMETER, "cannot call %.*s on %s", len, name,
                       jsonb            ? "a non-array"
                       : t == JT_OBJECT ? "an object"
                                        : "a scalar");
    Slice key, part;
    JsonIter it = json_iter(json);
    while (json_next(&it, &key, &part))
        if (json_type(part) != JT_OBJECT)
            return err_set(e, ERR_INVALID_PARAMETER, "argument of %.*s must be an array of objects", len, name);
    return ST_OK;
}
/* json_to_recordset: the elements; json_to_record: an array of the one object. */
static Status records(FuncCtx *ctx, int64_t i, const Vec *args, bool set, Str *z) {
    const Slice v = json_arg(args, 0, i);
    const char *name = ctx->func->name;
    const int len = (int)strlen(name) - (int)strlen("_array");
    const bool jsonb = args[0].type.id == T_JSONB;
    Status st = jsonb ? ST_OK : json_check_escapes(ctx->arena, v, ctx->err);
    if (st == ST_OK) st = set ? json_check_records(name, len, jsonb, v, ctx->err) : json_check_row(v, ctx->err);
    if (st != ST_OK) return FAILED(i);
    Str one = str_make(v.ptr, v.len);
    return set ? parts(ctx, i, args, PARTS_ELEMENTS, z) : array_build(ctx->arena, PH_STR, 1, &one, NULL, z, ctx->err);
}
KNF(json_records, Str, STR0, {
    if (records(ctx, i, args, true, &z) != ST_OK) return FAILED(i);
})
KNF(json_record, Str, STR0, {
    if (records(ctx, i, args, false, &z) != ST_OK) return FAILED(i);
})

/* ---- table --------------------------------------------------------------------------------------------------- */

#define MANY (FN_VARIADIC | FN_CAN_FAIL | FN_ANY_NUMERIC_SCALE)
#define BUILD(nm, rt, fn, dc)                                    \
    DEF(nm, FN_CAN_FAIL, rt, 0, ARGS(0), OP_NONE, fn, NULL, dc), \
        DEF(nm, MANY, rt, 1, ARGS(T_ANY), OP_NONE, fn, NULL, dc)
#define OBJECT(nm, rt)                                                                                         \
    DEF(nm, SF, rt, 1, ARGS(T_TEXTS), OP_NONE, json_object_pairs, NULL, "object of keys and values by turns"), \
        DEF(nm, SF, rt, 2, ARGS(T_TEXTS, T_TEXTS), OP_NONE, json_object_arrays, NULL, "object of keys and values")
#define AGG(nm, rt, n, dc)                                                                                  \
    {                                                                                                       \
        .name = nm, .flags = FN_AGGREGATE | FN_CAN_FAIL, .ret = rt, .nargs = n, .args = ARGS(T_ANY, T_ANY), \
        .agg = AGG_STRING_AGG, .doc = dc                                                                    \
    }
#define PARTS_OF(nm, T, fn, tf) DEF(nm "_array", SF, T_ARRAY, 1, ARGS(T), OP_NONE, fn, tf, "internal: as an array")
static const FuncDef defs[] = {
    DEF("to_json", SF, T_JSON, 1, ARGS(T_ANY), OP_NONE, to_json, NULL, "any value as JSON"),
    DEF("to_jsonb", SF, T_JSONB, 1, ARGS(T_ANY), OP_NONE, to_json, NULL, "any value as JSON"),
    DEF("row_to_json", SF, T_JSON, 1, ARGS(T_COMPOSITE), OP_NONE, row_to_json, NULL, "row as JSON"),
    DEF("row_to_json", SF, T_JSON, 2, ARGS(T_COMPOSITE, T_BOOL), OP_NONE, row_to_json, NULL,
        "row as JSON, on a line per field"),
    DEF("array_to_json", SF, T_JSON, 1, ARGS(T_ARRAY), OP_NONE, array_to_json, NULL, "array as JSON"),
    DEF("array_to_json", SF, T_JSON, 2, ARGS(T_ARRAY, T_BOOL), OP_NONE, array_to_json, NULL,
        "array as JSON, its elements on lines of their own"),
    BUILD("json_build_object", T_JSON, build_object, "object of keys and values by turns"),
    BUILD("jsonb_build_object", T_JSONB, build_object, "object of keys and values by turns"),
    BUILD("json_build_array", T_JSON, build_array, "array of the arguments"),
    BUILD("jsonb_build_array", T_JSONB, build_array, "array of the arguments"),
    OBJECT("json_object", T_JSON),
    OBJECT("jsonb_object", T_JSONB),
    DEF("json_row", MANY, T_JSON, 2, ARGS(T_BOOL, T_ANY), OP_NONE, json_row, NULL, "internal: a row as JSON"),
    AGG("json_agg", T_JSON, 1, "values as a JSON array"),
    AGG("jsonb_agg", T_JSONB, 1, "values as a JSON array"),
    AGG("json_object_agg", T_JSON, 2, "keys and values as a JSON object"),
    AGG("jsonb_object_agg", T_JSONB, 2, "keys and values as a JSON object"),
    DEF("json_entry", FN_CAN_FAIL, T_TEXT, 2, ARGS(T_ANY, T_BOOL), OP_NONE, json_entry, NULL,
        "internal: a value of json_agg"),
    DEF("json_pair_entry", FN_CAN_FAIL | FN_ANY_NUMERIC_SCALE, T_TEXT, 2, ARGS(T_ANY, T_ANY), OP_NONE, json_pair_entry,
        NULL, "internal: a key and a value of json_object_agg"),
    DEF("json_agg_entries", SF, T_JSON, 1, ARGS(T_TEXT), OP_NONE, array_from_entries, NULL, "internal: of json_agg"),
    DEF("jsonb_agg_entries", SF, T_JSONB, 1, ARGS(T_TEXT), OP_NONE, array_from_entries, NULL, "internal: of jsonb_agg"),
    DEF("json_object_agg_entries", SF, T_JSON, 1, ARGS(T_TEXT), OP_NONE, object_from_entries, NULL,
        "internal: of json_object_agg"),
    DEF("jsonb_object_agg_entries", SF, T_JSONB, 1, ARGS(T_TEXT), OP_NONE, object_from_entries, NULL,
        "internal: of jsonb_object_agg"),
    PARTS_OF("json_array_elements", T_JSON, json_elements, tf_array_of),
    PARTS_OF("jsonb_array_elements", T_JSONB, json_elements, tf_array_of),
    PARTS_OF("json_array_elements_text", T_JSON, json_elements_text, tf_texts),
    PARTS_OF("jsonb_array_elements_text", T_JSONB, json_elements_text, tf_texts),
    PARTS_OF("json_object_keys", T_JSON, json_keys, tf_texts),
    PARTS_OF("jsonb_object_keys", T_JSONB, json_keys, tf_texts),
    PARTS_OF("json_to_record", T_JSON, json_record, tf_array_of),
    PARTS_OF("jsonb_to_record", T_JSONB, json_record, tf_array_of),
    PARTS_OF("json_to_recordset", T_JSON, json_records, tf_array_of),
    PARTS_OF("jsonb_to_recordset", T_JSONB, json_records, tf_array_of),
    PARTS_OF("json_each", T_JSON, json_pairs, tf_array_of),
    PARTS_OF("jsonb_each", T_JSONB, json_pairs, tf_array_of),
    PARTS_OF("json_each_text", T_JSON, json_pairs, tf_array_of),
    PARTS_OF("jsonb_each_text", T_JSONB, json_pairs, tf_array_of),
};
const FuncDefs func_defs_json_make = {defs, ARRAY_LEN(defs)};
