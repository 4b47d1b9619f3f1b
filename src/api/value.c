/* value.c - values of every type: stele_value, typed binds, types of parameters. Contracts are in stele.h.
 *
 * Values of a fixed size become cells. Texts, bytes and arrays become literals without a type, which are converted to
 * what they are assigned to as text is: one conversion for all that varies in size.
 */
#include "api/api_int.h"
#include "api/value_int.h"
#include "base/stack.h"
#include "types/array.h"
#include "types/dec.h"

enum { ITEM_MAX = 100 };

static Status bad_time(Err *e) { return err_set(e, ERR_DATETIME_OVERFLOW, "date/time field value out of range"); }

static Status numeric_of(const stele_numeric *x, Value *out, Err *e) {
    if (x->scale < 0 || x->scale > NUMERIC_MAX_PRECISION)
        return err_set(e, ERR_INVALID_PARAMETER, "NUMERIC scale %d must be between 0 and %d", (int)x->scale,
                       NUMERIC_MAX_PRECISION);
    int128_t v = (int128_t)((uint128_t)(uint64_t)x->high << 64 | x->low);
    if (numeric_exceeds(v, NUMERIC_MAX_PRECISION))
        return err_set(e, ERR_NUMERIC_RANGE, "value has more than %d digits", NUMERIC_MAX_PRECISION);
    int digits = i128_digits(v) > x->scale ? i128_digits(v) : x->scale;
    out->type = type_numeric(digits > 18 ? NUMERIC_MAX_PRECISION : 18, x->scale);
    if (digits > 18) out->u.i128 = v;
    else out->u.i64 = (int64_t)v;
    return ST_OK;
}

static Status text_of(const stele_value *x, Value *out, Err *e) {
    int64_t n = x->u.text.size < 0 ? (int64_t)strlen(x->u.text.data) : x->u.text.size;
    if (n > INT32_MAX) return err_set(e, ERR_PROGRAM_LIMIT, "the value is too long: %lld bytes", (long long)n);
    if (n && utf8_check(x->u.text.data, n) >= 0)
        return err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
    out->u.str = str_make(n ? x->u.text.data : "", n);
    return ST_OK;
}

static Status bytes_of(const stele_value *x, Arena *a, Value *out, Err *e) {
    static const char digits[] = "0123456789abcdef";
    int64_t n = x->u.text.size < 0 ? (int64_t)strlen(x->u.text.data) : x->u.text.size;
    if (n > INT32_MAX / 2 - 2) return err_set(e, ERR_PROGRAM_LIMIT, "the value is too long: %lld bytes", (long long)n);
    char *t = arena_alloc(a, 2 * n + 3);
    if (!t) return err_is_set(e) ? ST_ERROR : err_oom(e);
    t[0] = '\\';
    t[1] = 'x';
    for (int64_t i = 0; i < n; i++) {
        t[2 + 2 * i] = digits[(unsigned char)x->u.text.data[i] >> 4];
        t[3 + 2 * i] = digits[x->u.text.data[i] & 15];
    }
    out->u.str = str_make(t, 2 * n + 2);
    return ST_OK;
}

/* An item between double quotes, with what is special in them behind a backslash. */
static int64_t put_item(char *out, const char *t, int64_t n) {
    int64_t at = 0;
    out[at++] = '"';
    for (int64_t i = 0; i < n; i++) {
        if (t[i] == '"' || t[i] == '\\') out[at++] = '\\';
        out[at++] = t[i];
    }
    out[at++] = '"';
    return at;
}

static Status array_of(const stele_value *x, Arena *a, Value *out, Err *e) {
    int64_t n = x->u.array.n, bytes = 2;
    Str *texts = n >= 0 && n <= INT32_MAX / 8 ? arena_array(a, Str, n + 1) : NULL;
    bool *nulls = texts ? arena_array(a, bool, n + 1) : NULL;
    if (!nulls) return err_is_set(e) ? ST_ERROR : err_set(e, ERR_PROGRAM_LIMIT, "the array has too many items");
    stele_type type = STELE_TYPE_NULL;
    for (int64_t i = 0; i < n; i++) {
        const stele_value *item = &x->u.array.items[i];
        Value v;
        if (item->type != STELE_TYPE_NULL && type != STELE_TYPE_NULL && item->type != type)
            return err_set(e, ERR_DATATYPE_MISMATCH, "the items of an array must have one type");
        if (item->type != STELE_TYPE_NULL) type = item->type;
        TRY(value_of_client(item, a, &v, e));
        nulls[i] = v.is_null;
        int64_t len = 0;
        bool text = !v.is_null && v.type.id == T_UNKNOWN;
        const char *t = v.is_null ? "" : text ? v.u.str.ptr : value_to_text(a, &v, &len);
        if (text) len = v.u.str.len;
        if (!t) return err_is_set(e) ? ST_ERROR : err_oom(e);
        texts[i] = str_make(t, len);
        bytes += 2 * len + 5;
    }
    char *text = bytes <= INT32_MAX ? arena_alloc(a, bytes + 1) : NULL;
    if (!text) return err_is_set(e) ? ST_ERROR : err_set(e, ERR_PROGRAM_LIMIT, "the array is too long");
    int64_t at = 0;
    text[at++] = '{';
    for (int64_t i = 0; i < n; i++) {
        if (i) text[at++] = ',';
        if (nulls[i]) {
            memcpy(text + at, "NULL", 4);
            at += 4;
        } else if (type == STELE_TYPE_ARRAY) {
            memcpy(text + at, texts[i].ptr, texts[i].len);
            at += texts[i].len;
        } else {
            at += put_item(text + at, texts[i].ptr, texts[i].len);
        }
    }
    text[at++] = '}';
    out->u.str = str_make(text, at);
    return ST_OK;
}

static Status moment_of(const stele_value *x, TypeId id, Value *out, Err *e) {
    int64_t v = x->u.i64;
    out->type = type_make(id);
    if (id == T_DATE) {
        if (v < INT32_MIN || v > INT32_MAX) return bad_time(e);
        out->u.i32 = (int32_t)v;
        return ST_OK;
    }
    if (id == T_TIME && (v < 0 || v > USECS_PER_DAY)) return bad_time(e);
    out->u.i64 = v;
    return ST_OK;
}

Status value_of_client(const stele_value *x, Arena *a, Value *out, Err *e) {
    TRY(stack_check(e));
    *out = (Value){.type = type_make(T_UNKNOWN)};
    switch (x->type) {
    case STELE_TYPE_NULL: out->is_null = true; return ST_OK;
    case STELE_TYPE_BOOL: *out = (Value){.type = type_make(T_BOOL), .u.b = x->u.boolean}; return ST_OK;
    case STELE_TYPE_INT64: *out = (Value){.type = type_make(T_INT8), .u.i64 = x->u.i64}; return ST_OK;
    case STELE_TYPE_FLOAT: *out = (Value){.type = type_make(T_FLOAT4), .u.f32 = x->u.f32}; return ST_OK;
    case STELE_TYPE_DOUBLE: *out = (Value){.type = type_make(T_FLOAT8), .u.f64 = x->u.f64}; return ST_OK;
    case STELE_TYPE_NUMERIC: return numeric_of(&x->u.numeric, out, e);
    case STELE_TYPE_TEXT: return text_of(x, out, e);
    case STELE_TYPE_BYTEA: return bytes_of(x, a, out, e);
    case STELE_TYPE_DATE: return moment_of(x, T_DATE, out, e);
    case STELE_TYPE_TIME: return moment_of(x, T_TIME, out, e);
    case STELE_TYPE_TIMESTAMP: return moment_of(x, T_TIMESTAMP, out, e);
    case STELE_TYPE_TIMESTAMPTZ: return moment_of(x, T_TIMESTAMPTZ, out, e);
    case STELE_TYPE_INTERVAL:
        out->type = type_make(T_INTERVAL);
        out->u.interval = (Interval){x->u.interval.micros, x->u.interval.days, x->u.interval.months};
        return ST_OK;
    case STELE_TYPE_UUID:
        out->type = type_make(T_UUID);
        memcpy(&out->u.uuid, x->u.uuid, sizeof out->u.uuid);
        return ST_OK;
    case STELE_TYPE_ARRAY: return array_of(x, a, out, e);
    }
    return err_set(e, ERR_INVALID_PARAMETER, "there is no stele_type %d", (int)x->type);
}

/* Text where 38 digits do not hold it. */
static Status decimal_to_client(const Value *v, Arena *a, stele_value *out) {
    Err e = {0};
    Dec d;
    int128_t x;
    if (dec_decode(a, v->u.str, &d, &e) != ST_OK) return ST_ERROR;
    if (d.scale <= NUMERIC_MAX_PRECISION && !dec_to_i128(&d, d.scale, &x)) {
        out->type = STELE_TYPE_NUMERIC;
        out->u.numeric = (stele_numeric){(uint64_t)x, (int64_t)(x >> 64), d.scale};
        return ST_OK;
    }
    out->type = STELE_TYPE_TEXT;
    return (out->u.text.data = value_to_text(a, v, &out->u.text.size)) ? ST_OK : ST_ERROR;
}

static Status scalar_to_client(const Value *v, Arena *a, stele_value *out) {
    memset(out, 0, sizeof *out);
    if (v->is_null) return ST_OK;
    switch ((TypeId)v->type.id) {
    case T_BOOL: *out = (stele_value){.type = STELE_TYPE_BOOL, .u.boolean = v->u.b}; return ST_OK;
    case T_INT2: *out = (stele_value){.type = STELE_TYPE_INT64, .u.i64 = v->u.i16}; return ST_OK;
    case T_INT4: *out = (stele_value){.type = STELE_TYPE_INT64, .u.i64 = v->u.i32}; return ST_OK;
    case T_INT8: *out = (stele_value){.type = STELE_TYPE_INT64, .u.i64 = v->u.i64}; return ST_OK;
    case T_OID:
        if (v->type.flags & TF_SHOWN) break;
        *out = (stele_value){.type = STELE_TYPE_INT64, .u.i64 = v->u.i64};
        return ST_OK;
    case T_FLOAT4: *out = (stele_value){.type = STELE_TYPE_FLOAT, .u.f32 = v->u.f32}; return ST_OK;
    case T_FLOAT8: *out = (stele_value){.type = STELE_TYPE_DOUBLE, .u.f64 = v->u.f64}; return ST_OK;
    case T_NUMERIC: {
        int128_t x = type_phys(v->type) == PH_I64 ? v->u.i64 : v->u.i128;
        out->type = STELE_TYPE_NUMERIC;
        out->u.numeric = (stele_numeric){(uint64_t)x, (int64_t)(x >> 64), v->type.scale};
        return ST_OK;
    }
    case T_DECIMAL: return decimal_to_client(v, a, out);
    case T_DATE: *out = (stele_value){.type = STELE_TYPE_DATE, .u.i64 = v->u.i32}; return ST_OK;
    case T_TIME: *out = (stele_value){.type = STELE_TYPE_TIME, .u.i64 = v->u.i64}; return ST_OK;
    case T_TIMESTAMP: *out = (stele_value){.type = STELE_TYPE_TIMESTAMP, .u.i64 = v->u.i64}; return ST_OK;
    case T_TIMESTAMPTZ: *out = (stele_value){.type = STELE_TYPE_TIMESTAMPTZ, .u.i64 = v->u.i64}; return ST_OK;
    case T_INTERVAL:
        out->type = STELE_TYPE_INTERVAL;
        out->u.interval = (stele_interval){v->u.interval.micros, v->u.interval.days, v->u.interval.months};
        return ST_OK;
    case T_UUID:
        out->type = STELE_TYPE_UUID;
        memcpy(out->u.uuid, &v->u.uuid, sizeof out->u.uuid);
        return ST_OK;
    default: break;
    }
    out->type = v->type.id == T_BYTEA ? STELE_TYPE_BYTEA : STELE_TYPE_TEXT;
    if (type_phys(v->type) == PH_STR && !type_is_defined(v->type) && !type_is_bits(v->type)) {
        out->u.text.data = v->u.str.ptr;
        out->u.text.size = v->u.str.len;
        return ST_OK;
    }
    return (out->u.text.data = value_to_text(a, v, &out->u.text.size)) ? ST_OK : ST_ERROR;
}

Status value_to_client(const Value *v, Arena *a, stele_value *out) {
    if (v->type.id != T_ARRAY || v->is_null) return scalar_to_client(v, a, out);
    const ArrayView view = array_view(v->u.str);
    const ArrayShape shape = array_shape(&view);
    for (int32_t k = 0; k < shape.n; k++) {
        if (shape.dims[k].low == 1) continue;
        *out = (stele_value){.type = STELE_TYPE_TEXT};
        return (out->u.text.data = value_to_text(a, v, &out->u.text.size)) ? ST_OK : ST_ERROR;
    }
    stele_value *items = arena_array(a, stele_value, view.n + 1);
    if (!items) return ST_ERROR;
    for (int64_t i = 0; i < view.n; i++) {
        Value item = {.type = type_element(v->type), .is_null = array_is_null(&view, i)};
        if (!item.is_null) array_get(&view, i, value_cell(&item));
        TRY(scalar_to_client(&item, a, &items[i]));
    }
    int64_t n = view.n;
    for (int32_t k = shape.n - 1; k >= 1; k--) { /* of each outer dimension arrays of the next inner one */
        int64_t len = shape.dims[k].len;
        stele_value *outer = arena_array(a, stele_value, n / len);
        if (!outer) return ST_ERROR;
        for (int64_t i = 0; i < n / len; i++)
            outer[i] = (stele_value){.type = STELE_TYPE_ARRAY, .u.array = {items + i * len, len}};
        items = outer;
        n /= len;
    }
    *out = (stele_value){.type = STELE_TYPE_ARRAY, .u.array = {items, n}};
    return ST_OK;
}

/* ---- parameters -------------------------------------------------------------------------------- */

stele_status stele_bind_value(stele_stmt *stmt, int64_t index, const stele_value *value) {
    Statement *st = (Statement *)(void *)stmt;
    Err *e = &st->session->err;
    if (stele_bind_null(stmt, index) != STELE_OK) return STELE_ERROR;
    err_clear(e);
    Arena *a = arena_new(&st->session->account, e);
    Value v;
    Status r = a ? value_of_client(value, a, &v, e) : ST_ERROR;
    stele_status out = r == ST_OK ? STELE_OK : STELE_ERROR;
    if (r == ST_OK && !v.is_null && v.type.id == T_UNKNOWN)
        out = stele_bind_text(stmt, index, v.u.str.ptr, v.u.str.len);
    else if (r == ST_OK && !v.is_null) st->params[index - 1] = v;
    arena_free(a);
    return out;
}

const char *stele_param_type(const stele_stmt *stmt, int64_t index) {
    static _Thread_local char name[TYPE_NAME_MAX];
    const Statement *st = (const Statement *)(const void *)stmt;
    return index >= 1 && index <= st->n_params ? type_name(st->param_types[index - 1], &name) : NULL;
}
