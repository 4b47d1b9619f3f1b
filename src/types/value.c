/* value.c - values and cells: text, order, hash, copies.
 *
 * A cell is the raw content of a register or column slot, `phys_size` bytes; a Value is a cell
 * with its type. No locale is consulted.
 */
#include <math.h>

#include "base/hash.h"
#include "types/array.h"
#include "types/bits.h"
#include "types/chars.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/dec.h"
#include "types/json.h"
#include "types/jsonpath.h"
#include "types/lsn.h"
#include "types/money.h"
#include "types/type.h"
#include "types/oid.h"
#include "types/type_int.h"
#include "types/range.h"
#include "types/range_errors.h"

/* ---- float input --------------------------------------------------------------------- */

static bool word_is(Slice s, const char *lower) {
    for (int64_t i = 0; i < s.len; i++) {
        if (to_lower(s.ptr[i]) != lower[i]) return false;
    }
    return lower[s.len] == 0;
}

/* [+-](digits[.digits][e[+-]n] | NaN | Infinity | inf) -> either out. */
static Status float_parse(Slice text, bool single, void *out, Err *e) {
    const char *type = single ? "real" : "double precision";
    Slice t = text_trim(text);
    const char *s = t.ptr, *end = t.ptr + t.len;
    bool negative = false;
    if (s < end && (*s == '+' || *s == '-')) negative = *s++ == '-';
    double d = 0;
    float f = 0;
    Slice w = {s, end - s};
    if (word_is(w, "infinity") || word_is(w, "inf")) {
        d = HUGE_VAL;
        f = HUGE_VALF;
    } else if (word_is(w, "nan")) {
        d = (double)NAN;
        f = NAN;
        negative = false;
    } else {
        char digits[796]; /* no double needs more than 767 to differ from its neighbours */
        int64_t n = 0, exp = 0, count = 0;
        bool dropped = false, nonzero = false, point = false;
        for (; s < end && (is_digit(*s) || (*s == '.' && !point)); s++) {
            if (*s == '.') {
                point = true;
                continue;
            }
            count++;
            nonzero |= *s != '0';
            if (n == 0 && *s == '0') { /* leading zeros take no room */
                exp -= point;
                continue;
            }
            if (n < (int64_t)sizeof digits - 1) {
                digits[n++] = *s;
                exp -= point;
            } else {
                /* What is beyond only matters as "a little more". */
                dropped |= *s != '0';
                exp += !point;
            }
        }
        if (count == 0) return text_syntax_error(ERR_INVALID_TEXT, type, text, e);
        if (dropped) {
            digits[n++] = '1';
            exp--;
        }
        if (s < end && (*s == 'e' || *s == 'E')) {
            s++;
            bool exp_negative = false;
            int64_t x = 0;
            if (s < end && (*s == '+' || *s == '-')) exp_negative = *s++ == '-';
            if (s == end) return text_syntax_error(ERR_INVALID_TEXT, type, text, e);
            for (; s < end && is_digit(*s); s++) {
                if (x < 1000000) x = x * 10 + (*s - '0');
            }
            exp += exp_negative ? -x : x;
        }
        const char *behind = s; /* as in PostgreSQL, a number out of range is that, whatever follows */
        if (single) f = decimal_to_f32(digits, n, exp);
        else d = decimal_to_f64(digits, n, exp);
        if (single ? isinf(f) || (f == 0 && nonzero) : isinf(d) || (d == 0 && nonzero)) {
            return err_set(e, ERR_NUMERIC_RANGE, "\"%.*s\" is out of range for type %s",
                           (int)MIN_OF(single ? t.len : behind - t.ptr, 512), t.ptr, type);
        }
        if (behind != end) return text_syntax_error(ERR_INVALID_TEXT, type, text, e);
    }
    if (single) {
        f = negative ? -f : f;
        memcpy(out, &f, sizeof f);
    } else {
        d = negative ? -d : d;
        memcpy(out, &d, sizeof d);
    }
    return ST_OK;
}

/* ---- integers, booleans, uuid, bytea ------------------------------------------------ */

static Status int_parse(Slice text, const char *type, int64_t min, int64_t max, int64_t *out, Err *e) {
    Slice t = text_trim(text);
    const char *s = t.ptr, *end = t.ptr + t.len;
    bool negative = false, overflow = false;
    if (s < end && (*s == '+' || *s == '-')) negative = *s++ == '-';
    if (s == end) return text_syntax_error(ERR_INVALID_TEXT, type, text, e);
    int64_t v = 0;                      /* counted downwards: the negative range is the larger one */
    for (; s < end && !overflow; s++) { /* one that is too large is that, whatever follows */
        if (!is_digit(*s)) return text_syntax_error(ERR_INVALID_TEXT, type, text, e);
        overflow |= __builtin_mul_overflow(v, 10, &v);
        overflow |= __builtin_sub_overflow(v, *s - '0', &v);
        overflow |= v < min;
    }
    if (!negative) overflow |= __builtin_sub_overflow(0, v, &v);
    if (overflow || v < min || v > max) {
        return err_set(e, ERR_NUMERIC_RANGE, "value \"%.*s\" is out of range for type %s", (int)MIN_OF(text.len, 512),
                       text.ptr, type);
    }
    *out = v;
    return ST_OK;
}

/* Unique prefixes of true, false, yes, no, on, off; 1 and 0. */
static bool bool_parse(Slice text, bool *out) {
    static const struct {
        const char *word;
        int8_t min;
        bool value;
    } words[] = {{"true", 1, true}, {"false", 1, false}, {"yes", 1, true}, {"no", 1, false},
                 {"on", 2, true},   {"off", 2, false},   {"1", 1, true},   {"0", 1, false}};
    Slice t = text_trim(text);
    for (int64_t i = 0; i < ARRAY_LEN(words); i++) {
        int64_t n = (int64_t)strlen(words[i].word), k = 0;
        if (t.len < words[i].min || t.len > n) continue;
        while (k < t.len && to_lower(t.ptr[k]) == words[i].word[k]) k++;
        if (k < t.len) continue;
        *out = words[i].value;
        return true;
    }
    return false;
}

static const char hex_chars[] = "0123456789abcdef";

/* 32 hex digits, a hyphen allowed after every fourth, all perhaps in braces. */
static bool uuid_parse(Slice t, Uuid *out) {
    const char *s = t.ptr, *end = t.ptr + t.len;
    bool braces = s < end && *s == '{';
    s += braces;
    for (int i = 0; i < 16; i++) {
        if (end - s < 2) return false;
        int hi = hex_digit(s[0]), lo = hex_digit(s[1]);
        if (hi < 0 || lo < 0) return false;
        out->bytes[i] = (uint8_t)(hi << 4 | lo);
        s += 2;
        if (i % 2 == 1 && i < 15 && s < end && *s == '-') s++;
    }
    if (braces) {
        if (s == end || *s != '}') return false;
        s++;
    }
    return s == end;
}

static int64_t uuid_format(const Uuid *u, char *out) {
    char *p = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
        *p++ = hex_chars[u->bytes[i] >> 4];
        *p++ = hex_chars[u->bytes[i] & 15];
    }
    return p - out;
}

static Status bytea_parse(Slice t, Arena *a, Str *out, Err *e) {
    char *buf = arena_alloc(a, t.len + 1);
    if (!buf) return err_oom(e);
    int64_t n = 0;
    if (t.len >= 2 && t.ptr[0] == '\\' && t.ptr[1] == 'x') {
        for (int64_t i = 2; i < t.len;) {
            if (is_blank(t.ptr[i])) { /* between bytes only */
                i++;
                continue;
            }
            int hi = hex_digit(t.ptr[i]);
            if (hi < 0) {
                return err_set(e, ERR_INVALID_PARAMETER, "invalid hexadecimal digit: \"%.*s\"",
                               (int)utf8_prefix_bytes(t.ptr + i, t.len - i, 1), t.ptr + i);
            }
            if (++i >= t.len)
                return err_set(e, ERR_INVALID_PARAMETER, "invalid hexadecimal data: odd number of digits");
            int lo = hex_digit(t.ptr[i]);
            if (lo < 0) {
                return err_set(e, ERR_INVALID_PARAMETER, "invalid hexadecimal digit: \"%.*s\"",
                               (int)utf8_prefix_bytes(t.ptr + i, t.len - i, 1), t.ptr + i);
            }
            i++;
            buf[n++] = (char)(hi << 4 | lo);
        }
    } else {
        for (int64_t i = 0; i < t.len; i++) {
            const char *s = t.ptr + i;
            if (*s != '\\') {
                buf[n++] = *s;
            } else if (i + 1 < t.len && s[1] == '\\') {
                buf[n++] = '\\';
                i++;
            } else if (i + 3 < t.len && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' && s[3] >= '0' &&
                       s[3] <= '7') {
                buf[n++] = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
                i += 3;
            } else {
                return err_set(e, ERR_INVALID_TEXT, "invalid input syntax for type bytea");
            }
        }
    }
    *out = str_make(buf, n);
    return ST_OK;
}

/* ---- text out ------------------------------------------------------------------------ */

static int64_t enum_format(Type t, int32_t code, char *out) {
    const EnumLabel *l = enum_label(enum_of(t), code);
    const int64_t n = l ? (int64_t)strlen(l->text) : 0;
    if (n) memcpy(out, l->text, (size_t)n);
    return n;
}
static Status enum_parse(Type t, Slice text, int32_t *code, Err *e) {
    const EnumType *x = enum_of(t);
    const int32_t i = enum_index(x, text);
    if (i < 0)
        return err_set(e, ERR_INVALID_TEXT, "invalid input value for enum %s: \"%.*s\"", type_plain_name(t),
                       (int)MIN_OF(text.len, 512), text.ptr);
    *code = x->labels[i].code;
    return enum_check_use(x, &x->labels[i], e);
}

int64_t cell_to_text(Type t, const void *cell, TextForm form, char *out) {
    switch ((TypeId)t.id) {
    case T_BOOL: *out = *(const uint8_t *)cell ? 't' : 'f'; return 1;
    case T_INT2: return numeric_format(*(const int16_t *)cell, 0, false, out);
    case T_INT4: return numeric_format(*(const int32_t *)cell, 0, false, out);
    case T_INT8: return numeric_format(*(const int64_t *)cell, 0, false, out);
    case T_OID: return oid_format(t, *(const int64_t *)cell, out);
    case T_NUMERIC: {
        int128_t v; /* cells need not be aligned to 16 bytes */
        if (t.precision <= 18) v = *(const int64_t *)cell;
        else memcpy(&v, cell, sizeof v);
        return numeric_format(v, t.scale, (t.flags & TF_UNCONSTRAINED) != 0, out);
    }
    case T_FLOAT4: return f32_format(*(const float *)cell, form.float_cut, out);
    case T_FLOAT8: return f64_format(*(const double *)cell, form.float_cut, out);
    case T_DATE: return date_format(*(const int32_t *)cell, form, out);
    case T_TIME: return time_format(*(const int64_t *)cell, out);
    case T_TIMETZ: return timetz_format(*(const int64_t *)cell, out);
    case T_TIMESTAMP: return timestamp_format(*(const int64_t *)cell, false, form, out);
    case T_TIMESTAMPTZ: return timestamp_format(*(const int64_t *)cell, true, form, out);
    case T_INTERVAL: return interval_format(cell, form, out);
    case T_UUID: return uuid_format(cell, out);
    case T_LSN: return lsn_format(*(const int64_t *)cell, out);
    case T_MONEY: return money_format(*(const int64_t *)cell, out);
    case T_ENUM: return enum_format(t, *(const int32_t *)cell, out);
    case T_UNKNOWN:
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT:
    case T_BYTEA:
    case T_VOID:
    case T_ARRAY:
    case T_DECIMAL:
    case T_JSON:
    case T_JSONB:
    case T_COMPOSITE:
    case T_BIT:
    case T_VARBIT:
    case T_RANGE:
    case T_MULTIRANGE:
    case T_JSONPATH:
    case T_COUNT_: break;
    }
    return 0;
}

char *bytea_escaped(Arena *a, Str s, int64_t *len_out) {
    char *p = arena_alloc(a, (int64_t)s.len * 4 + 1);
    int64_t n = 0;
    for (int64_t i = 0; p && i < (int64_t)s.len; i++) {
        const unsigned char c = (unsigned char)s.ptr[i];
        p[n++] = c == '\\' || c < 0x20 || c > 0x7e ? '\\' : (char)c;
        if (c == '\\') p[n++] = '\\';
        if (c >= 0x20 && c <= 0x7e) continue;
        p[n++] = (char)('0' + (c >> 6));
        p[n++] = (char)('0' + (c >> 3 & 7));
        p[n++] = (char)('0' + (c & 7));
    }
    if (p) p[n] = 0;
    *len_out = n;
    return p;
}

char *value_to_text(Arena *a, const Value *v, int64_t *len_out) {
    return value_to_text_form(a, v, (TextForm){0}, len_out);
}

char *value_to_text_form(Arena *a, const Value *v, TextForm form, int64_t *len_out) {
    char *p = NULL;
    int64_t n = 0;
    if (v->is_null) {
        p = arena_strndup(a, "", 0);
    } else if (type_is_record(v->type)) {
        Str s = record_shown(v->type, v->u.str);
        n = s.len;
        p = arena_strndup(a, s.ptr, n);
    } else if (v->type.id == T_BYTEA && form.bytea_escape) {
        p = bytea_escaped(a, v->u.str, &n);
    } else if (v->type.id == T_BYTEA) {
        n = (int64_t)v->u.str.len * 2 + 2;
        p = arena_alloc(a, n + 1);
        if (p) {
            p[0] = '\\';
            p[1] = 'x';
            for (int64_t i = 0; i < (int64_t)v->u.str.len; i++) {
                unsigned char c = (unsigned char)v->u.str.ptr[i];
                p[2 + 2 * i] = hex_chars[c >> 4];
                p[3 + 2 * i] = hex_chars[c & 15];
            }
            p[n] = 0;
        }
    } else if (type_is_bits(v->type)) {
        n = bits_length(v->u.str);
        p = arena_alloc(a, n + 1);
        if (p) {
            bits_to_text(v->u.str, p);
            p[n] = 0;
        }
    } else if (v->type.id == T_ARRAY) {
        Err e = {0};
        Str text;
        if (array_to_text(v->type, v->u.str, form, a, &text, &e) == ST_OK) {
            p = (char *)(uintptr_t)text.ptr; /* fresh, with a NUL behind */
            n = text.len;
        }
    } else if (v->type.id == T_COMPOSITE) {
        Err e = {0};
        Str text;
        if (composite_to_text(v->type, v->u.str, form, a, &text, &e) == ST_OK) {
            p = (char *)(uintptr_t)text.ptr; /* fresh, with a NUL behind */
            n = text.len;
        }
    } else if (type_is_range(v->type)) {
        Err e = {0};
        Str text;
        if (range_to_text(v->type, v->u.str, form, a, &text, &e) == ST_OK) {
            p = (char *)(uintptr_t)text.ptr; /* fresh, with a NUL behind */
            n = text.len;
        }
    } else if (v->type.id == T_DECIMAL) {
        Err e = {0};
        Dec d;
        Str text;
        if (dec_decode(a, v->u.str, &d, &e) == ST_OK && dec_format(a, &d, &text, &e) == ST_OK) {
            p = (char *)(uintptr_t)text.ptr; /* fresh, with a NUL behind */
            n = text.len;
        }
    } else if (type_phys(v->type) == PH_STR) {
        n = v->u.str.len;
        int64_t pad = v->type.id == T_CHAR && v->type.length > 0 ? v->type.length - utf8_length(v->u.str.ptr, n) : 0;
        if (pad < 0) pad = 0;
        p = arena_alloc(a, n + pad + 1);
        if (p) {
            if (n) memcpy(p, v->u.str.ptr, (size_t)n);
            memset(p + n, ' ', (size_t)pad);
            n += pad;
            p[n] = 0;
        }
    } else {
        p = arena_alloc(a, VALUE_TEXT_MAX + 1);
        if (p) {
            n = cell_to_text(v->type, value_cell_const(v), form, p);
            p[n] = 0;
        }
    }
    if (len_out) *len_out = p ? n : 0;
    return p;
}

/* ---- text in ---------------------------------------------------------------------------- */

static Status numeric_cell(Type t, Slice text, void *cell, Err *e) {
    int128_t v;
    bool infinite;
    if (!(t.flags & TF_UNCONSTRAINED) && numeric_is_special(text, &infinite))
        return infinite ? numeric_infinite_error(e, t.precision, t.scale) : numeric_nan_error(e, t.precision, t.scale);
    bool fresh = e && !err_is_set(e);
    Status st = numeric_parse(text, t.scale, &v, NULL, e);
    bool too_big = st != ST_OK && fresh && strcmp(e->sqlstate, ERR_NUMERIC_RANGE) == 0;
    if (too_big && !(t.flags & TF_UNCONSTRAINED)) err_clear(e); /* retold with the type's limits */
    else if (st != ST_OK) return st;
    if (too_big || numeric_exceeds(v, t.precision)) return numeric_range_error(e, t.precision, t.scale);
    if (t.precision <= 18) {
        *(int64_t *)cell = (int64_t)v;
    } else {
        memcpy(cell, &v, sizeof v);
    }
    return ST_OK;
}

/* varchar(n), char(n): what is too long may only lose blanks. char(n) never keeps blanks at its end. */
static Status text_cell(Type t, Slice text, Str *out, Err *e) {
    if (text.len > UINT32_MAX)
        return err_set(e, ERR_LIMIT_EXCEEDED, "text of %lld bytes is too long", (long long)text.len);
    if (t.id == T_CHAR) {
        while (text.len > 0 && text.ptr[text.len - 1] == ' ') text.len--;
    }
    if (t.length > 0 && (t.id == T_CHAR || t.id == T_VARCHAR) && text.len > t.length) {
        int64_t keep = utf8_prefix_bytes(text.ptr, text.len, t.length);
        for (int64_t i = keep; i < text.len; i++) {
            if (text.ptr[i] == ' ') continue;
            char name[TYPE_NAME_MAX];
            return err_set(e, ERR_STRING_TRUNCATION, "value too long for type %s", type_name(t, &name));
        }
        text.len = keep;
    }
    *out = text_cut(t, str_make(text.ptr, text.len));
    return ST_OK;
}

Status cell_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, void *cell, Err *e) {
    int64_t v = 0;
    switch ((TypeId)t.id) {
    case T_BOOL: {
        bool b;
        if (!bool_parse(text, &b)) return text_syntax_error(ERR_INVALID_TEXT, "boolean", text, e);
        *(uint8_t *)cell = b;
        return ST_OK;
    }
    case T_INT2:
        TRY(int_parse(text, "smallint", INT16_MIN, INT16_MAX, &v, e));
        *(int16_t *)cell = (int16_t)v;
        return ST_OK;
    case T_INT4:
        TRY(int_parse(text, "integer", INT32_MIN, INT32_MAX, &v, e));
        *(int32_t *)cell = (int32_t)v;
        return ST_OK;
    case T_INT8: return int_parse(text, "bigint", INT64_MIN, INT64_MAX, cell, e);
    case T_OID: return oid_from_text(t, text, session, cell, e);
    case T_NUMERIC: return numeric_cell(t, text, cell, e);
    case T_FLOAT4: return float_parse(text, true, cell, e);
    case T_FLOAT8: return float_parse(text, false, cell, e);
    case T_UNKNOWN:
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT: return text_cell(t, text, cell, e);
    case T_BYTEA: return bytea_parse(text, a, cell, e);
    case T_BIT:
    case T_VARBIT: return bits_parse(t, text, a, cell, e);
    case T_DATE: return date_parse(text, session, cell, e);
    case T_TIME: return time_parse(text, t.precision, session, cell, e);
    case T_TIMETZ: return timetz_parse(text, t.precision, session, cell, e);
    case T_TIMESTAMP: return timestamp_parse(text, t.precision, false, session, cell, e);
    case T_TIMESTAMPTZ: return timestamp_parse(text, t.precision, true, session, cell, e);
    case T_INTERVAL: return interval_parse(text, t, session, cell, e);
    case T_UUID:
        if (!uuid_parse(text_trim(text), cell)) return text_syntax_error(ERR_INVALID_TEXT, "uuid", text, e);
        return ST_OK;
    case T_ENUM: return enum_parse(t, text, cell, e);
    case T_ARRAY: return array_from_text(t, text, session, a, cell, e);
    case T_COMPOSITE: return composite_from_text(t, text, session, a, cell, e);
    case T_RANGE:
    case T_MULTIRANGE: return range_from_text(t, text, session, a, cell, e);
    case T_DECIMAL: {
        Dec d;
        TRY(dec_parse(a, text, &d, e));
        TRY(dec_fit(a, t, &d, e));
        return dec_encode(a, &d, cell, e);
    }
    case T_JSON: TRY(json_check(text, e)); return text_cell(t, text, cell, e);
    case T_JSONB:
        TRY(jsonb_from_text(a, text, cell, e));
        return t.flags & TF_LEAST_SCALE ? jsonb_least_scale(a, *(Str *)cell, cell, e) : ST_OK;
    case T_JSONPATH: return jsonpath_from_text(a, text, cell, e);
    case T_LSN:
        if (!lsn_parse(text, cell)) return text_syntax_error(ERR_INVALID_TEXT, "pg_lsn", text, e);
        return ST_OK;
    case T_MONEY: return money_parse(text, cell, e);
    case T_VOID:
    case T_COUNT_: break;
    }
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "cannot accept a value of type %s", type_plain_name(t));
}

Status value_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Value *out, Err *e) {
    memset(out, 0, sizeof *out);
    out->type = t;
    /* Field restrictions act on input only; the value is an ordinary interval. */
    if (t.id == T_INTERVAL) out->type = type_make(T_INTERVAL);
    return cell_from_text(t, text, session, a, value_cell(out), e);
}

/* ---- cells ---------------------------------------------------------------------------- */

void *value_cell(Value *v) { return &v->u; }
const void *value_cell_const(const Value *v) { return &v->u; }

#define THREE_WAY(T)                            \
    do {                                        \
        T x = *(const T *)a, y = *(const T *)b; \
        return x < y ? -1 : x > y;              \
    } while (0)

/* NaN is equal to itself and above everything. */
static inline int cmp_f64(double x, double y) {
    if (UNLIKELY(isnan(x) || isnan(y))) return isnan(x) ? !isnan(y) : -1;
    return x < y ? -1 : x > y;
}

int cell_cmp(Phys p, const void *a, const void *b) {
    switch (p) {
    case PH_BOOL: THREE_WAY(uint8_t);
    case PH_I16: THREE_WAY(int16_t);
    case PH_I32: THREE_WAY(int32_t);
    case PH_I64: THREE_WAY(int64_t);
    case PH_I128: {
        int128_t x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        return x < y ? -1 : x > y;
    }
    case PH_F32: return cmp_f64((double)*(const float *)a, (double)*(const float *)b);
    case PH_F64: return cmp_f64(*(const double *)a, *(const double *)b);
    case PH_STR: return str_cmp(*(const Str *)a, *(const Str *)b);
    case PH_INTERVAL: {
        int128_t x = interval_cmp_value(a), y = interval_cmp_value(b);
        return x < y ? -1 : x > y;
    }
    case PH_UUID: {
        int c = memcmp(a, b, sizeof(Uuid));
        return c < 0 ? -1 : c > 0;
    }
    case PH_COUNT_: break;
    }
    return 0;
}

/* Integers hash by value whatever their width. */
static uint64_t hash_i128(int128_t v) {
    uint64_t h = hash_u64((uint64_t)v);
    if (v == (int64_t)v) return h;
    return hash_combine(h, (uint64_t)(v >> 64));
}

static uint64_t hash_f64(double d) {
    if (d == 0) d = 0; /* -0 = 0 */
    if (isnan(d)) d = (double)NAN;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return hash_u64(bits);
}

uint64_t cell_hash(Phys p, const void *cell) {
    if (UNLIKELY(hash_constant)) return 0;
    switch (p) {
    case PH_BOOL: return hash_u64(*(const uint8_t *)cell);
    case PH_I16: return hash_u64((uint64_t) * (const int16_t *)cell);
    case PH_I32: return hash_u64((uint64_t) * (const int32_t *)cell);
    case PH_I64: return hash_u64((uint64_t) * (const int64_t *)cell);
    case PH_I128: {
        int128_t v;
        memcpy(&v, cell, sizeof v);
        return hash_i128(v);
    }
    case PH_F32: return hash_f64((double)*(const float *)cell);
    case PH_F64: return hash_f64(*(const double *)cell);
    case PH_STR: return hash_bytes(((const Str *)cell)->ptr, ((const Str *)cell)->len);
    case PH_INTERVAL: return hash_i128(interval_cmp_value(cell));
    case PH_UUID: return hash_bytes(cell, (int64_t)sizeof(Uuid));
    case PH_COUNT_: break;
    }
    return 0;
}

int value_cmp(const Value *a, const Value *b) {
    if (a->is_null || b->is_null) return (int)a->is_null - (int)b->is_null;
    if (a->type.id == T_ARRAY) return array_cmp(a->u.str, b->u.str);
    return cell_cmp(type_phys(a->type), value_cell_const(a), value_cell_const(b));
}

Status value_copy(Arena *a, const Value *src, Value *dst) {
    *dst = *src;
    if (src->is_null || type_phys(src->type) != PH_STR) return ST_OK;
    char *p = arena_strndup(a, src->u.str.ptr, src->u.str.len);
    if (!p) return ST_ERROR;
    dst->u.str.ptr = p;
    return ST_OK;
}

bool cell_as_i64(Phys p, const void *cell, int64_t *out) {
    switch (p) {
    case PH_BOOL: *out = *(const uint8_t *)cell; return true;
    case PH_I16: *out = *(const int16_t *)cell; return true;
    case PH_I32: *out = *(const int32_t *)cell; return true;
    case PH_I64: *out = *(const int64_t *)cell; return true;
    case PH_I128: {
        int128_t v;
        memcpy(&v, cell, sizeof v);
        *out = (int64_t)v;
        return v == *out;
    }
    case PH_F32:
    case PH_F64:
    case PH_STR:
    case PH_INTERVAL:
    case PH_UUID:
    case PH_COUNT_: break;
    }
    return false;
}

/* ---- values and their types ---------------------------------------------------------- */

/* Digits after the point: of integers none, and -1 of what is not exact. */
static int exact_scale(Type t) { return type_is_integer(t) ? 0 : t.id == T_NUMERIC ? t.scale : -1; }

bool type_same_cells(Type want, Type have) {
    int scale = exact_scale(want);
    if (scale >= 0) return exact_scale(have) == scale;
    if (type_is_text(want)) return type_is_text(have);
    if (type_is_bits(want)) return type_is_bits(have);
    if (want.id != T_ARRAY) return have.id == want.id && (!type_is_defined(want) || have.length == want.length);
    if (have.id != T_ARRAY) return false;
    Type x = type_element(want), y = type_element(have);
    /* An array without elements has no type of its own: '{}', array[]. */
    return x.id == T_UNKNOWN || y.id == T_UNKNOWN || type_same_cells(x, y);
}

static bool exact_fits(Type t, int128_t v) {
    if (t.id == T_INT2) return v == (int16_t)v;
    if (t.id == T_INT4) return v == (int32_t)v;
    return t.id == T_INT8 ? v == (int64_t)v : !numeric_exceeds(v, t.precision);
}

static bool array_agrees(Type element, Str blob) {
    ArrayView a = array_view(blob);
    if (a.n > 0 && a.phys != type_phys(element)) return false;
    for (int64_t i = 0; i < a.n && element.id == T_NUMERIC; i++) {
        int128_t v = 0;
        if (array_is_null(&a, i)) continue;
        array_get(&a, i, &v);
        if (numeric_exceeds(a.phys == PH_I64 ? (int64_t)v : v, element.precision)) return false;
    }
    return true;
}

bool cells_agree(Type want, Type have, Phys phys, int64_t n, const void *cells, const uint8_t *valid) {
    if (!type_same_cells(want, have)) return false;
    bool array = want.id == T_ARRAY && type_element(want).id != T_UNKNOWN && type_element(have).id != T_UNKNOWN;
    if (exact_scale(want) < 0 && !array) return true;
    int64_t size = phys_size(phys);
    for (int64_t i = 0; i < n; i++) {
        const char *cell = (const char *)cells + i * size;
        if (valid && !valid[i]) continue;
        if (array) {
            if (!array_agrees(type_element(want), *(const Str *)(const void *)cell)) return false;
            continue;
        }
        int128_t v = 0;
        int64_t narrow;
        if (phys == PH_I128) memcpy(&v, cell, sizeof v);
        else if (cell_as_i64(phys, cell, &narrow)) v = narrow;
        else return false;
        if (!exact_fits(want, v)) return false;
    }
    return true;
}

bool value_agrees(Type want, const Value *v) {
    return type_same_cells(want, v->type) &&
           (v->is_null || (type_phys(want) == type_phys(v->type) &&
                           cells_agree(want, v->type, type_phys(v->type), 1, value_cell_const(v), NULL)));
}
