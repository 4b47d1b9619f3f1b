/* func_json_set.c - values of jsonb with parts added, replaced and taken away; jsonb_pretty, json_strip_nulls.
 *
 * A function writes the JSON text of its result, parts of its arguments as they are, and json_finish() brings the text
 * into jsonb's form: the order of keys, and which of two equal ones counts.
 */
#include "base/stack.h"
#include "types/func_json_int.h"

/* With a comma before it unless it is the first of its container, which began at `from`. */
static void put_comma(JsonOut *o, int64_t from) {
    if (o->len > from) json_put_text(o, ", ");
}
static void put_member(JsonOut *o, int64_t from, Slice key, Slice value) {
    put_comma(o, from);
    if (key.len) {
        json_put_slice(o, key);
        json_put_text(o, ": ");
    }
    json_put_slice(o, value);
}

/* ---- || and - ---------------------------------------------------------------------------------- */

/* The members or elements; another value as an array's only one. */
static void put_parts(JsonOut *o, int64_t from, Slice v, bool whole) {
    Slice key, part;
    if (whole || !json_is_container(json_type(v))) {
        put_member(o, from, (Slice){NULL, 0}, v);
        return;
    }
    JsonIter it = json_iter(v);
    while (json_next(&it, &key, &part)) put_member(o, from, key, part);
}
/* Two objects are one; everything else is an array. */
KNF(jsonb_concat, Str, STR0, {
    Slice x = json_arg(args, 0, i);
    Slice y = json_arg(args, 1, i);
    bool objects = json_type(x) == JT_OBJECT && json_type(y) == JT_OBJECT;
    JsonOut o = {.a = ctx->arena};
    json_put(&o, objects ? "{" : "[", 1);
    put_parts(&o, 1, x, !objects && json_type(x) == JT_OBJECT);
    put_parts(&o, 1, y, !objects && json_type(y) == JT_OBJECT);
    json_put(&o, objects ? "}" : "]", 1);
    if ((objects ? json_finish(ctx, &o, &z) : json_done(&o, &z, ctx->err)) != ST_OK) return FAILED(i);
})

static bool is_one_of(Slice string, const ArrayView *names) {
    for (int64_t k = 0; k < names->n; k++) {
        Str name;
        if (array_is_null(names, k)) continue;
        array_get(names, k, &name);
        if (json_string_is(string, slice_of_str(name))) return true;
    }
    return false;
}

/* Without the members of these keys, or the strings among the elements; by: one text, or (NULL) `names`; at: or the
 * element of this number. */
static Status without(FuncCtx *ctx, Slice v, const Slice *by, const ArrayView *names, int64_t at, Str *z) {
    JsonOut o = {.a = ctx->arena};
    JsonIter it = json_iter(v);
    Slice key, part;
    json_put(&o, v.ptr, 1);
    for (int64_t i = 0; json_next(&it, &key, &part); i++) {
        Slice s = it.object ? key : part;
        bool out = i == at;
        if (by || names) out = json_type(s) == JT_STRING && (by ? json_string_is(s, *by) : is_one_of(s, names));
        if (!out) put_member(&o, 1, key, part);
    }
    json_put(&o, v.ptr + v.len - 1, 1);
    return json_done(&o, z, ctx->err);
}
#define NOT_FROM_SCALAR(v, what) \
    FAIL_IF(!json_is_container(json_type(v)), i, ERR_INVALID_PARAMETER, "cannot " what " scalar")
KNF(jsonb_delete_key, Str, STR0, {
    Slice v = json_arg(args, 0, i);
    Slice name = slice_of_str(AT(Str, 1, i));
    NOT_FROM_SCALAR(v, "delete from");
    if (without(ctx, v, &name, NULL, -1, &z) != ST_OK) return FAILED(i);
})
KNF(jsonb_delete_keys, Str, STR0, {
    Slice v = json_arg(args, 0, i);
    ArrayView names;
    TRY(json_texts_arg(ctx, args, 1, i, &names));
    FAIL_IF(names.n_dims > 1, i, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
    NOT_FROM_SCALAR(v, "delete from");
    if (without(ctx, v, NULL, &names, -1, &z) != ST_OK) return FAILED(i);
})
KNF(jsonb_delete_element, Str, STR0, {
    Slice v = json_arg(args, 0, i);
    int64_t at = AT(int32_t, 1, i);
    NOT_FROM_SCALAR(v, "delete from");
    FAIL_IF(json_type(v) == JT_OBJECT, i, ERR_INVALID_PARAMETER, "cannot delete from object using integer index");
    if (at < 0) at += json_count(v);
    if (without(ctx, v, NULL, NULL, at, &z) != ST_OK) return FAILED(i);
})

/* ---- jsonb_set, jsonb_insert, #-, assignment --------------------------------------------------------------------- */

enum {
    SET_REPLACE = 1, /* what is there */
    SET_CREATE = 2,  /* that, and what is not */
    SET_DELETE = 4,
    SET_BEFORE = 8, /* jsonb_insert */
    SET_AFTER = 16,
    SET_FILLS = 32, /* assignment to subscripts: what is missing on the way there, too */
    SET_ADDS = SET_CREATE | SET_BEFORE | SET_AFTER
};
typedef struct Setter {
    FuncCtx *ctx;
    JsonOut *o;
    ArrayView path;
    Slice value;
    int op;
    int64_t row;
} Setter;

static Status set_at(Setter *s, Slice v, int64_t level);

enum { ELEMENTS_MAX = 44739242 }; /* of a jsonb array, PostgreSQL's */
/* Nulls up to an element that is to come. */
static Status put_nulls(Setter *s, int64_t from, int64_t n) {
    FuncCtx *ctx = s->ctx;
    FAIL_IF(n > ELEMENTS_MAX, s->row, ERR_PROGRAM_LIMIT,
            "number of jsonb array elements exceeds the maximum allowed (%d)", ELEMENTS_MAX);
    for (int64_t i = 0; i < n; i++) put_member(s->o, from, (Slice){NULL, 0}, slice_of("null"));
    return ST_OK;
}
/* The value within the objects and arrays that the path from `level` on needs. */
static Status put_chain(Setter *s, int64_t level) {
    FuncCtx *ctx = s->ctx;
    Str name;
    int32_t at;
    TRY(stack_check_depth(ctx->err));
    if (level == s->path.n) return json_put_slice(s->o, s->value), ST_OK;
    array_get(&s->path, level, &name);
    const bool array = json_index(slice_of_str(name), &at);
    json_put(s->o, array ? "[" : "{", 1);
    const int64_t from = s->o->len;
    if (array) TRY(put_nulls(s, from, at));
    put_comma(s->o, from);
    if (!array) {
        json_put_string(s->o, slice_of_str(name));
        json_put_text(s->o, ": ");
    }
    TRY(put_chain(s, level + 1));
    json_put(s->o, array ? "]" : "}", 1);
    return ST_OK;
}

static Status set_in_object(Setter *s, Slice v, int64_t level, Slice name) {
    JsonIter it = json_iter(v);
    Slice key, part;
    bool last = level == s->path.n - 1, done = false;
    json_put_text(s->o, "{");
    int64_t from = s->o->len;
    while (json_next(&it, &key, &part)) {
        if (done || !json_string_is(key, name)) {
            put_member(s->o, from, key, part);
            continue;
        }
        done = true;
        if (last && (s->op & (SET_BEFORE | SET_AFTER))) {
            s->ctx->error_row = s->row;
            err_set(s->ctx->err, ERR_INVALID_PARAMETER, "cannot replace existing key");
            err_hint(s->ctx->err, "Try using the function jsonb_set to replace key value.");
            return ST_ERROR;
        }
        if (last && (s->op & SET_DELETE)) continue;
        put_member(s->o, from, key, last ? s->value : (Slice){"", 0});
        if (!last) TRY(set_at(s, part, level + 1));
    }
    if (!done && last && (s->op & SET_ADDS)) {
        put_comma(s->o, from);
        json_put_string(s->o, name);
        json_put_text(s->o, ": ");
        json_put_slice(s->o, s->value);
    } else if (!done && (s->op & SET_FILLS)) {
        put_comma(s->o, from);
        json_put_string(s->o, name);
        json_put_text(s->o, ": ");
        TRY(put_chain(s, level + 1));
    }
    json_put_text(s->o, "}");
    return ST_OK;
}

static Status set_in_array(Setter *s, Slice v, int64_t level, Slice name) {
    FuncCtx *ctx = s->ctx;
    JsonIter it = json_iter(v);
    Slice key, part;
    int32_t at;
    int64_t n = json_count(v), index;
    bool last = level == s->path.n - 1, done = false;
    FAIL_IF(!json_index(name, &at), s->row, ERR_INVALID_TEXT,
            "path element at position %lld is not an integer: \"%.*s\"", (long long)level + 1,
            (int)MIN_OF(name.len, 800), name.ptr);
    const bool fills = s->op & SET_FILLS;
    FAIL_IF(fills && at < -n, s->row, ERR_INVALID_PARAMETER, "path element at position %lld is out of range: %d",
            (long long)level + 1, at);
    index = at < 0 ? at + n : fills ? at : MIN_OF((int64_t)at, n);
    json_put_text(s->o, "[");
    int64_t from = s->o->len;
    if (last && (s->op & SET_ADDS) && (index < 0 || n == 0)) {
        if (fills) TRY(put_nulls(s, from, index));
        put_member(s->o, from, (Slice){NULL, 0}, s->value);
        done = true;
    }
    for (int64_t i = 0; json_next(&it, &key, &part); i++) {
        if (i != index) {
            put_member(s->o, from, key, part);
            continue;
        }
        done = true;
        if (!last) {
            put_comma(s->o, from);
            TRY(set_at(s, part, level + 1));
            continue;
        }
        if (s->op & (SET_BEFORE | SET_CREATE)) put_member(s->o, from, key, s->value);
        if (s->op & (SET_BEFORE | SET_AFTER)) put_member(s->o, from, key, part);
        if (s->op & (SET_AFTER | SET_REPLACE)) put_member(s->o, from, key, s->value);
    }
    if (!done && fills) TRY(put_nulls(s, from, index - n));
    if (!done && last && (s->op & SET_ADDS)) put_member(s->o, from, (Slice){NULL, 0}, s->value);
    if (!done && !last && fills) {
        put_comma(s->o, from);
        TRY(put_chain(s, level + 1));
    }
    json_put_text(s->o, "]");
    return ST_OK;
}

static Status set_at(Setter *s, Slice v, int64_t level) {
    FuncCtx *ctx = s->ctx;
    Str name;
    TRY(stack_check_depth(ctx->err));
    FAIL_IF(array_is_null(&s->path, level), s->row, ERR_NULL_NOT_ALLOWED, "path element at position %lld is null",
            (long long)level + 1);
    array_get(&s->path, level, &name);
    if (json_type(v) == JT_OBJECT) return set_in_object(s, v, level, slice_of_str(name));
    if (json_type(v) == JT_ARRAY) return set_in_array(s, v, level, slice_of_str(name));
    if (s->op & SET_FILLS) {
        ctx->error_row = s->row;
        err_set(ctx->err, ERR_INVALID_PARAMETER, "cannot replace existing key");
        err_detail(ctx->err, "The path assumes key is a composite object, but it is a scalar value.");
        return ST_ERROR;
    }
    json_put_slice(s->o, v);
    return ST_OK;
}

/* In args[0], at the path args[1]. */
static Status set_path(FuncCtx *ctx, const Vec *args, int64_t i, Slice value, int op, Str *z) {
    JsonOut o = {.a = ctx->arena};
    Setter s = {.ctx = ctx, .o = &o, .value = value, .op = op, .row = i};
    Slice v = json_arg(args, 0, i);
    TRY(json_texts_arg(ctx, args, 1, i, &s.path));
    FAIL_IF(s.path.n_dims > 1, i, ERR_ARRAY_SUBSCRIPT, "wrong number of array subscripts");
    FAIL_IF(!json_is_container(json_type(v)), i, ERR_INVALID_PARAMETER,
            op == SET_DELETE ? "cannot delete path in scalar" : "cannot set path in scalar");
    *z = str_make(v.ptr, v.len);
    if (s.path.n == 0 || (json_count(v) == 0 && !(op & SET_ADDS))) return ST_OK;
    if (set_at(&s, v, 0) != ST_OK || json_finish(ctx, &o, z) != ST_OK) return FAILED(i);
    return ST_OK;
}
static bool flag_arg(const Vec *args, int nargs, int k, int64_t i, bool missing) {
    return k < nargs ? AT(uint8_t, k, i) != 0 : missing;
}
KNF(jsonb_set, Str, STR0, {
    int op = flag_arg(args, nargs, 3, i, true) ? SET_CREATE : SET_REPLACE;
    TRY(set_path(ctx, args, i, json_arg(args, 2, i), op, &z));
})
KNF(jsonb_insert, Str, STR0, {
    int op = flag_arg(args, nargs, 3, i, false) ? SET_AFTER : SET_BEFORE;
    TRY(set_path(ctx, args, i, json_arg(args, 2, i), op, &z));
})
KNF(jsonb_delete_path, Str, STR0, { TRY(set_path(ctx, args, i, (Slice){"", 0}, SET_DELETE, &z)); })

static Status wrong_treatment(FuncCtx *ctx, int64_t i) {
    FAIL(i, ERR_INVALID_PARAMETER,
         "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"");
}
/* What jsonb_set_lax does with a NULL. */
static Status set_null(FuncCtx *ctx, int64_t i, const Vec *args, int op, Slice how, Str *z) {
    if (slice_eq(how, slice_of("use_json_null"))) return set_path(ctx, args, i, slice_of("null"), op, z);
    if (slice_eq(how, slice_of("delete_key"))) return set_path(ctx, args, i, (Slice){"", 0}, SET_DELETE, z);
    if (slice_eq(how, slice_of("return_target"))) return *z = AT(Str, 0, i), ST_OK;
    if (!slice_eq(how, slice_of("raise_exception"))) return wrong_treatment(ctx, i);
    ctx->error_row = i;
    err_set(ctx->err, ERR_NULL_NOT_ALLOWED, "JSON value must not be null");
    err_detail(ctx->err, "Exception was raised because null_value_treatment is \"raise_exception\".");
    err_hint(ctx->err, "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not "
                       "passed.");
    return ST_ERROR;
}
KERNEL(jsonb_set_lax) {
    for (int64_t i = 0; i < n; i++) {
        Str *z = (Str *)out->data + i;
        *z = STR0;
        out->valid[i] = !arg_null(&args[0], i) && !arg_null(&args[1], i) && !(nargs > 3 && arg_null(&args[3], i));
        if (!out->valid[i]) continue;
        int op = flag_arg(args, nargs, 3, i, true) ? SET_CREATE : SET_REPLACE;
        if (nargs > 4 && arg_null(&args[4], i)) return wrong_treatment(ctx, i);
        Slice how = nargs > 4 ? slice_of_str(AT(Str, 4, i)) : slice_of("use_json_null");
        if (!arg_null(&args[2], i)) TRY(set_path(ctx, args, i, json_arg(args, 2, i), op, z));
        else TRY(set_null(ctx, i, args, op, how, z));
    }
    return ST_OK;
}

/* j[a][b] = value. args: j, value (NULL is null), whether the first subscript is a number (of what a NULL j becomes),
 * the path. */
KERNEL(jsonb_assign) {
    Str *names = arena_array(ctx->arena, Str, nargs);
    if (!names) return err_is_set(ctx->err) ? ST_ERROR : err_oom(ctx->err);
    for (int64_t i = 0; i < n; i++) {
        JsonOut o = {.a = ctx->arena};
        Str path, *z = (Str *)out->data + i;
        for (int k = 3; k < nargs; k++) {
            FAIL_IF(arg_null(&args[k], i), i, ERR_NULL_NOT_ALLOWED, "jsonb subscript in assignment must not be null");
            names[k - 3] = AT(Str, k, i);
        }
        if (array_build(ctx->arena, PH_STR, nargs - 3, names, NULL, &path, ctx->err) != ST_OK) return FAILED(i);
        Setter s = {.ctx = ctx,
                    .o = &o,
                    .path = array_view(path),
                    .value = arg_null(&args[1], i) ? slice_of("null") : json_arg(args, 1, i),
                    .op = SET_CREATE | SET_FILLS,
                    .row = i};
        const Slice j = arg_null(&args[0], i) ? slice_of(AT(uint8_t, 2, i) ? "[]" : "{}") : json_arg(args, 0, i);
        out->valid[i] = 1;
        if (set_at(&s, j, 0) != ST_OK || json_finish(ctx, &o, z) != ST_OK) return FAILED(i);
    }
    return ST_OK;
}

/* ---- other forms ---------------------------------------------------------------------------------------- */

static void put_line(JsonOut *o, int64_t depth) {
    json_put_text(o, "\n");
    for (int64_t i = 0; i < depth; i++) json_put_text(o, "    ");
}
static Status put_pretty(FuncCtx *ctx, JsonOut *o, Slice v, int64_t depth) {
    if (!json_is_container(json_type(v))) return json_put_slice(o, v), ST_OK;
    TRY(stack_check_depth(ctx->err));
    JsonIter it = json_iter(v);
    Slice key, part;
    json_put(o, v.ptr, 1);
    for (bool first = true; json_next(&it, &key, &part); first = false) {
        if (!first) json_put_text(o, ",");
        put_line(o, depth + 1);
        json_put_slice(o, key);
        if (key.len) json_put_text(o, ": ");
        TRY(put_pretty(ctx, o, part, depth + 1));
    }
    put_line(o, depth);
    json_put(o, v.ptr + v.len - 1, 1);
    return ST_OK;
}
KNF(jsonb_pretty, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    if (put_pretty(ctx, &o, json_arg(args, 0, i), 0) != ST_OK || json_done(&o, &z, ctx->err) != ST_OK) return FAILED(i);
})

static Status put_string_again(JsonOut *o, Slice string, Err *e) {
    Str text;
    TRY(json_unescape(o->a, string, &text, e));
    json_put_string(o, slice_of_str(text));
    return ST_OK;
}
static Status put_stripped(FuncCtx *ctx, JsonOut *o, Slice v) {
    JsonType t = json_type(v);
    if (t == JT_STRING) return put_string_again(o, v, ctx->err);
    if (!json_is_container(t)) return json_put_slice(o, v), ST_OK;
    TRY(stack_check_depth(ctx->err));
    JsonIter it = json_iter(v);
    Slice key, part;
    json_put(o, v.ptr, 1);
    int64_t from = o->len;
    while (json_next(&it, &key, &part)) {
        if (it.object && json_type(part) == JT_NULL) continue;
        if (o->len > from) json_put_text(o, ",");
        if (it.object) {
            TRY(put_string_again(o, key, ctx->err));
            json_put_text(o, ":");
        }
        TRY(put_stripped(ctx, o, part));
    }
    json_put(o, v.ptr + v.len - 1, 1);
    return ST_OK;
}
KNF(json_strip_nulls, Str, STR0, {
    JsonOut o = {.a = ctx->arena};
    Slice v = json_arg(args, 0, i);
    if (args[0].type.id == T_JSON && json_check_escapes(ctx->arena, v, ctx->err) != ST_OK) return FAILED(i);
    if (put_stripped(ctx, &o, v) != ST_OK || json_finish(ctx, &o, &z) != ST_OK) return FAILED(i);
})

/* ---- table ------------------------------------------------------------------------------------------------ */

#define OPF (FN_OPERATOR | SF)
/* Of a value, a path and a new value, and, by a macro's name, a boolean and a text. */
#define SET_3(nm, fl, fn, dc) DEF(nm, fl, T_JSONB, 3, ARGS(T_JSONB, T_TEXTS, T_JSONB), OP_NONE, fn, NULL, dc)
#define SET_4(nm, fl, fn, dc) DEF(nm, fl, T_JSONB, 4, ARGS(T_JSONB, T_TEXTS, T_JSONB, T_BOOL), OP_NONE, fn, NULL, dc)
#define SET_5(nm, fl, fn, dc) \
    DEF(nm, fl, T_JSONB, 5, ARGS(T_JSONB, T_TEXTS, T_JSONB, T_BOOL, T_TEXT), OP_NONE, fn, NULL, dc)
static const FuncDef defs[] = {
    DEF("||", OPF, T_JSONB, 2, ARGS(T_JSONB, T_JSONB), OP_NONE, jsonb_concat, NULL, "members or elements of both"),
    DEF("-", OPF, T_JSONB, 2, ARGS(T_JSONB, T_TEXT), OP_NONE, jsonb_delete_key, NULL, "without a key or string"),
    DEF("-", OPF, T_JSONB, 2, ARGS(T_JSONB, T_TEXTS), OP_NONE, jsonb_delete_keys, NULL, "without keys or strings"),
    DEF("-", OPF, T_JSONB, 2, ARGS(T_JSONB, T_INT4), OP_NONE, jsonb_delete_element, NULL, "without an element"),
    DEF("#-", OPF, T_JSONB, 2, ARGS(T_JSONB, T_TEXTS), OP_NONE, jsonb_delete_path, NULL, "without the part at a path"),
    DEF("jsonb_concat", SF, T_JSONB, 2, ARGS(T_JSONB, T_JSONB), OP_NONE, jsonb_concat, NULL,
        "members or elements of both"),
    DEF("jsonb_delete", SF, T_JSONB, 2, ARGS(T_JSONB, T_TEXT), OP_NONE, jsonb_delete_key, NULL,
        "without a key or string"),
    DEF("jsonb_delete", SF, T_JSONB, 2, ARGS(T_JSONB, T_INT4), OP_NONE, jsonb_delete_element, NULL,
        "without an element"),
    DEF("jsonb_delete_path", SF, T_JSONB, 2, ARGS(T_JSONB, T_TEXTS), OP_NONE, jsonb_delete_path, NULL,
        "without the part at a path"),
    SET_3("jsonb_set", SF, jsonb_set, "with another value at a path"),
    SET_4("jsonb_set", SF, jsonb_set, "with another value at a path, if there is one or (true) anyway"),
    SET_3("jsonb_insert", SF, jsonb_insert, "with one more value before a path"),
    SET_4("jsonb_insert", SF, jsonb_insert, "with one more value before, or (true) after a path"),
    SET_3("jsonb_set_lax", FN_CAN_FAIL, jsonb_set_lax, "jsonb_set, of NULL too"),
    SET_4("jsonb_set_lax", FN_CAN_FAIL, jsonb_set_lax, "jsonb_set, of NULL too"),
    SET_5("jsonb_set_lax", FN_CAN_FAIL, jsonb_set_lax,
          "jsonb_set; of NULL what the text says: use_json_null, delete_key, return_target, raise_exception"),
    DEF("jsonb_assign", FN_VARIADIC | FN_CAN_FAIL, T_JSONB, 4, ARGS(T_JSONB, T_JSONB, T_BOOL, T_TEXT), OP_NONE,
        jsonb_assign, NULL, "internal: with another value at a path, and what is missing on the way there"),
    DEF("jsonb_pretty", SF, T_TEXT, 1, ARGS(T_JSONB), OP_NONE, jsonb_pretty, NULL, "text of several lines"),
    DEF("json_strip_nulls", SF, T_JSON, 1, ARGS(T_JSON), OP_NONE, json_strip_nulls, NULL,
        "without members that are null"),
    DEF("jsonb_strip_nulls", SF, T_JSONB, 1, ARGS(T_JSONB), OP_NONE, json_strip_nulls, NULL,
        "without members that are null"),
};
const FuncDefs func_defs_json_set = {defs, ARRAY_LEN(defs)};
