/* jsonpath_item.c - items of SQL/JSON paths: their text, order and arithmetic.
 *
 * Numbers stay the text that jsonb has for them, which has no exponent and no leading zeros, so that they are compared
 * without being read; arithmetic is numeric's (dec.h).
 */
#include <string.h>

#include "base/stack.h"
#include "types/dec.h"
#include "types/func.h"
#include "types/jsonpath.h"
#include "types/type_int.h"
#include "types/zone.h"

/* ---- text ----------------------------------------------------------------------------------------- */

static void put_offset(JsonOut *o, int32_t offset) {
    const int32_t size = offset < 0 ? -offset : offset;
    const int parts[] = {size / 3600, size / 60 % 60, size % 60};
    json_put(o, offset < 0 ? "-" : "+", 1);
    for (int i = 0; i < 2 + (parts[2] != 0); i++) {
        const char two[] = {':', (char)('0' + parts[i] / 10), (char)('0' + parts[i] % 10)};
        json_put(o, two + (i == 0), 3 - (i == 0));
    }
}
/* ISO 8601 as to_json() has it, with the zone that the text had. */
static void put_datetime(JsonOut *o, const JpItem *x) {
    char text[VALUE_TEXT_MAX];
    const TypeId id = (TypeId)x->time_type.id;
    const int32_t date = (int32_t)x->time;
    int64_t n = id == T_DATE     ? date_format(date, (TextForm){0}, text)
                : id == T_TIME   ? time_format(x->time, text)
                : id == T_TIMETZ ? time_format(timetz_micros(x->time), text)
                                 : timestamp_format(x->time + x->offset * USECS_PER_SEC, false, (TextForm){0}, text);
    const char *era = n > 3 && memcmp(text + n - 3, " BC", 3) == 0 ? text + n - 3 : text + n;
    char *blank = memchr(text, ' ', (size_t)(era - text));
    if (blank) *blank = 'T';
    json_put_text(o, "\"");
    json_put(o, text, era - text);
    if (id == T_TIMETZ || id == T_TIMESTAMPTZ) put_offset(o, id == T_TIMETZ ? timetz_offset(x->time) : x->offset);
    json_put(o, era, text + n - era);
    json_put_text(o, "\"");
}
Status jsonpath_item_text(Arena *a, const JpItem *x, Str *out, Err *e) {
    if (x->type != JP_ITEM_DATETIME) return *out = str_make(x->text.ptr, x->text.len), ST_OK;
    JsonOut o = {.a = a};
    put_datetime(&o, x);
    return json_done(&o, out, e);
}
const char *jsonpath_item_type(const JpItem *x) {
    static const char *const names[] = {"null", "string", "number", "boolean", "array", "object"};
    return x->type == JP_ITEM_DATETIME ? type_base_name((TypeId)x->time_type.id) : names[x->type];
}

/* ---- numbers -------------------------------------------------------------------------------------- */

static int whole_digits(Slice x) {
    const char *point = memchr(x.ptr, '.', (size_t)x.len);
    return (int)(point ? point - x.ptr : x.len);
}
/* Of two without signs. */
static int magnitude_cmp(Slice x, Slice y) {
    const int a = whole_digits(x), b = whole_digits(y);
    if (a != b) return a < b ? -1 : 1;
    for (int64_t i = 0, n = MAX_OF(x.len, y.len); i < n; i++) {
        const char p = i < x.len && x.ptr[i] != '.' ? x.ptr[i] : '0', q = i < y.len && y.ptr[i] != '.' ? y.ptr[i] : '0';
        if (p != q) return p < q ? -1 : 1;
    }
    return 0;
}
int json_number_cmp(Slice x, Slice y) {
    const bool neg = *x.ptr == '-', other = *y.ptr == '-';
    if (neg != other) return neg ? -1 : 1;
    if (!neg) return magnitude_cmp(x, y);
    return magnitude_cmp((Slice){y.ptr + 1, y.len - 1}, (Slice){x.ptr + 1, x.len - 1});
}

bool jsonpath_index(Slice number, int32_t *out) {
    const bool neg = *number.ptr == '-';
    int64_t v = 0;
    for (int64_t i = neg; i < number.len && number.ptr[i] != '.'; i++) {
        v = v * 10 + (number.ptr[i] - '0');
        if (v > INT64_C(2147483648)) return false;
    }
    if (neg) v = -v;
    *out = (int32_t)v;
    return v == *out;
}

static Status dec_operation(Arena *a, JpKind op, Dec *x, const Dec *y, Err *e) {
    switch (op) {
    case JP_ADD: return dec_add(a, x, y, x, e);
    case JP_SUB: return dec_sub(a, x, y, x, e);
    case JP_MUL: return dec_mul(a, x, y, x, e);
    case JP_DIV: return dec_div(a, x, y, x, e);
    case JP_MOD: return dec_mod(a, x, y, x, e);
    case JP_FLOOR: return dec_floor(a, x, false, x, e);
    case JP_CEILING: return dec_floor(a, x, true, x, e);
    case JP_ABS: x->neg = false; return ST_OK;
    case JP_MINUS: x->neg = x->n > 0 && !x->neg; return ST_OK;
    default: return ST_OK;
    }
}
JpResult jsonpath_number(const JpRun *run, JpKind op, Slice x, Slice y, bool raise, Slice *out) {
    Arena *a = run->arena;
    Err own;
    Dec p, q = {0};
    Str text;
    err_clear(&own);
    if (dec_parse(a, x, &p, &own) == ST_OK && (!y.ptr || dec_parse(a, y, &q, &own) == ST_OK) &&
        dec_operation(a, op, &p, &q, &own) == ST_OK && dec_encode(a, &p, &text, &own) == ST_OK /* it fits */ &&
        dec_format(a, &p, &text, &own) == ST_OK) {
        *out = (Slice){text.ptr, text.len};
        return JP_OK;
    }
    const bool data = strcmp(own.sqlstate, ERR_NUMERIC_RANGE) == 0 || strcmp(own.sqlstate, ERR_DIVISION_BY_ZERO) == 0;
    if (!err_is_set(run->err) && data && !raise) return JP_ERROR;
    if (!err_is_set(run->err)) err_copy(run->err, &own);
    if (!err_is_set(run->err)) err_oom(run->err);
    return JP_FAILED;
}

/* ---- dates and times ------------------------------------------------------------------------------- */

static Status needs_zone(const JpRun *run, const char *from, const char *to) {
    if (run->zoned) return ST_OK;
    err_set(run->err, ERR_FEATURE_NOT_SUPPORTED, "cannot convert value from %s to %s without time zone usage", from,
            to);
    err_hint(run->err, "Use *_tz() function for time zone support.");
    return ST_ERROR;
}
static bool is_day(const JpItem *x) {
    return x->time_type.id == T_DATE || x->time_type.id == T_TIMESTAMP || x->time_type.id == T_TIMESTAMPTZ;
}
/* Of a date, a timestamp or a timestamptz in microseconds; of the first two on clocks, or as an instant where these
 * show the session's time. */
static int128_t instant(const JpRun *run, const JpItem *x, bool zoned) {
    if (x->time_type.id == T_TIMESTAMPTZ) return x->time;
    const int128_t local = x->time_type.id == T_DATE ? (int128_t)x->time * USECS_PER_DAY : x->time;
    if (!zoned || local != (int64_t)local) return local;
    zone_reads++;
    const Zone *z = run->session ? run->session->form.zone : NULL;
    return local - (int128_t)zone_offset_of_local(z, (int64_t)local) * USECS_PER_SEC;
}
static Status as_timetz(const JpRun *run, const JpItem *x, int64_t *out) {
    const Type from = type_make(T_TIME), to = type_make(T_TIMETZ);
    if (x->time_type.id == T_TIMETZ) return *out = x->time, ST_OK;
    const Value v = {.type = from, .u.i64 = x->time};
    Value z;
    TRY(func_eval(NULL, cast_kernel(from, to, CAST_EXPLICIT), run->session, run->arena, to, 1, &v, &z, run->err));
    *out = z.u.i64;
    return ST_OK;
}
/* *known false: they are not comparable. */
static Status datetime_cmp(const JpRun *run, const JpItem *x, const JpItem *y, int *order, bool *known) {
    const uint8_t a = x->time_type.id, b = y->time_type.id;
    *known = is_day(x) == is_day(y);
    if (!*known) return ST_OK;
    if (is_day(x)) {
        const bool zoned = (a == T_TIMESTAMPTZ) != (b == T_TIMESTAMPTZ);
        if (zoned) TRY(needs_zone(run, a == T_DATE || b == T_DATE ? "date" : "timestamp", "timestamptz"));
        const int128_t p = instant(run, x, zoned), q = instant(run, y, zoned);
        *order = (p > q) - (p < q);
        return ST_OK;
    }
    int64_t p = x->time, q = y->time;
    if (a != b) {
        TRY(needs_zone(run, "time", "timetz"));
        TRY(as_timetz(run, x, &p));
        TRY(as_timetz(run, y, &q));
    }
    *order = (p > q) - (p < q);
    return ST_OK;
}

/* ---- comparison ------------------------------------------------------------------------------------- */

static Status string_cmp(const JpRun *run, Slice x, Slice y, int *order) {
    Str p, q;
    if (slice_eq(x, y)) return *order = 0, ST_OK;
    TRY(json_unescape(run->arena, x, &p, run->err));
    TRY(json_unescape(run->arena, y, &q, run->err));
    *order = str_cmp(p, q);
    return ST_OK;
}
JpBool jsonpath_compare(const JpRun *run, JpKind op, const JpItem *x, const JpItem *y) {
    int order = 0;
    bool known = true;
    if (x->type != y->type) {
        if (x->type == JT_NULL || y->type == JT_NULL) return op == JP_NE ? JP_TRUE : JP_FALSE;
        return JP_UNKNOWN;
    }
    switch (x->type) {
    case JT_NULL: break;
    case JT_BOOL: order = (*x->text.ptr == 't') - (*y->text.ptr == 't'); break;
    case JT_NUMBER: order = json_number_cmp(x->text, y->text); break;
    case JT_STRING: /* equal ones have equal bytes in jsonb */
        if (op == JP_EQ || op == JP_NE) order = !slice_eq(x->text, y->text);
        else if (string_cmp(run, x->text, y->text, &order) != ST_OK) return JP_BOOL_FAILED;
        break;
    case JP_ITEM_DATETIME:
        if (datetime_cmp(run, x, y, &order, &known) != ST_OK) return JP_BOOL_FAILED;
        break;
    default: known = false;
    }
    if (!known) return JP_UNKNOWN;
    const bool yes = op == JP_EQ   ? order == 0
                     : op == JP_NE ? order != 0
                     : op == JP_LT ? order < 0
                     : op == JP_LE ? order <= 0
                     : op == JP_GT ? order > 0
                                   : order >= 0;
    return yes ? JP_TRUE : JP_FALSE;
}

/* ---- where PostgreSQL has things ------------------------------------------------------------------------- */

/* Bytes of a string without quotes and escapes; those of jsonb stand for a byte each. */
static int64_t string_bytes(Slice s) {
    int64_t n = 0;
    for (int64_t i = 1; i + 1 < s.len; n++) i += s.ptr[i] != '\\' ? 1 : s.ptr[i + 1] == 'u' ? 6 : 2;
    return n;
}
/* A numeric: a header of 6 or 8 bytes, and digits of base 10,000 from the first to the last that is not 0. */
static int64_t number_bytes(Slice s) {
    const char *point = memchr(s.ptr, '.', (size_t)s.len);
    const int64_t whole = point ? point - s.ptr : s.len, scale = point ? s.len - whole - 1 : 0;
    int64_t first = 0, last = 0;
    bool some = false;
    for (int64_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]) || s.ptr[i] == '0') continue;
        const int64_t power = i < whole ? whole - 1 - i : whole - i; /* of ten */
        last = power >= 0 ? power / 4 : -((3 - power) / 4);
        if (!some) first = last;
        some = true;
    }
    const bool brief = scale <= 63 && first >= -64 && first <= 63;
    return (brief ? 6 : 8) + (some ? 2 * (first - last + 1) : 0);
}
static int64_t aligned(int64_t at) { return (at + 3) & ~INT64_C(3); }
/* What is behind a container at `at`; -1: `part` is in it, at *found. */
static int64_t container_end(Slice container, int64_t at, const char *part, int64_t *found) {
    *found = at;
    if (container.ptr == part || stack_stop()) return -1;
    Slice key, value;
    JsonIter it = json_iter(container);
    at += 4 + 4 * (it.object ? 2 : 1) * json_count(container);
    while (it.object && json_next(&it, &key, &value)) at += string_bytes(key);
    it = json_iter(container);
    while (json_next(&it, &key, &value)) {
        const JsonType t = json_type(value);
        if (t == JT_STRING) at += string_bytes(value);
        if (t == JT_NUMBER) at = aligned(at) + number_bytes(value);
        if (!json_is_container(t)) continue;
        if (part > value.ptr + value.len || part < value.ptr) { /* not in it, but in front of what is looked for */
            at = container_end(value, aligned(at), NULL, found);
            continue;
        }
        return container_end(value, aligned(at), part, found);
    }
    return at;
}
int64_t jsonpath_offset(Slice base, const char *part) {
    int64_t found = 0;
    if (part < base.ptr || part >= base.ptr + base.len) return 0;
    (void)container_end(base, 0, part, &found);
    return found;
}
