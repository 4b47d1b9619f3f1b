/* type.c - names, modifiers and physical forms of SQL types.
 *
 * Two spellings exist: what PostgreSQL prints (format_type: "character varying(10)") and
 * what users and libpg_query write ("varchar", "int4", "pg_catalog" names). One table per direction.
 */
#include "types/type.h"

#include <stdio.h>

#include "base/search_path.h"
#include "types/bits.h"
#include "types/composite.h"
#include "types/dec.h"
#include "types/enums.h"
#include "types/numbers.h"
#include "types/oid.h"
#include "types/range.h"
#include "types/type_int.h"

Phys type_phys(Type t) {
    switch ((TypeId)t.id) {
    case T_BOOL:
    case T_VOID: return PH_BOOL;
    case T_INT2: return PH_I16;
    case T_INT4:
    case T_ENUM:
    case T_DATE: return PH_I32;
    case T_INT8:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
    case T_LSN:
    case T_MONEY: return PH_I64;
    case T_NUMERIC: return t.precision <= 18 ? PH_I64 : PH_I128;
    case T_FLOAT4: return PH_F32;
    case T_FLOAT8: return PH_F64;
    case T_INTERVAL: return PH_INTERVAL;
    case T_UUID: return PH_UUID;
    case T_OID: return t.flags & TF_SHOWN ? PH_STR : PH_I64;
    case T_UNKNOWN:
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT:
    case T_BYTEA:
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
    return PH_STR;
}

const char *phys_name(Phys p) {
    static const char *const names[PH_COUNT_] = {
        [PH_BOOL] = "bool", [PH_I16] = "i16", [PH_I32] = "i32", [PH_I64] = "i64",           [PH_I128] = "i128",
        [PH_F32] = "f32",   [PH_F64] = "f64", [PH_STR] = "str", [PH_INTERVAL] = "interval", [PH_UUID] = "uuid"};
    return (unsigned)p < PH_COUNT_ ? names[p] : "?";
}

static const char *const base_names[T_COUNT_] = {
    [T_UNKNOWN] = "unknown",
    [T_BOOL] = "boolean",
    [T_INT2] = "smallint",
    [T_INT4] = "integer",
    [T_INT8] = "bigint",
    [T_NUMERIC] = "numeric",
    [T_FLOAT4] = "real",
    [T_FLOAT8] = "double precision",
    [T_CHAR] = "character",
    [T_VARCHAR] = "character varying",
    [T_TEXT] = "text",
    [T_BYTEA] = "bytea",
    [T_DATE] = "date",
    [T_TIME] = "time without time zone",
    [T_TIMESTAMP] = "timestamp without time zone",
    [T_TIMESTAMPTZ] = "timestamp with time zone",
    [T_INTERVAL] = "interval",
    [T_UUID] = "uuid",
    [T_VOID] = "void",
    [T_ARRAY] = "array",
    [T_DECIMAL] = "numeric",
    [T_JSON] = "json",
    [T_JSONB] = "jsonb",
    [T_ENUM] = "anyenum",
    [T_COMPOSITE] = "record",
    [T_TIMETZ] = "time with time zone",
    [T_BIT] = "bit",
    [T_VARBIT] = "bit varying",
    [T_OID] = "oid",
    [T_RANGE] = "anyrange",
    [T_MULTIRANGE] = "anymultirange",
    [T_JSONPATH] = "jsonpath",
    [T_LSN] = "pg_lsn",
    [T_MONEY] = "money",
};
static const char *const array_names[T_COUNT_] = {
    [T_UNKNOWN] = "anyarray",
    [T_BOOL] = "boolean[]",
    [T_INT2] = "smallint[]",
    [T_INT4] = "integer[]",
    [T_INT8] = "bigint[]",
    [T_NUMERIC] = "numeric[]",
    [T_FLOAT4] = "real[]",
    [T_FLOAT8] = "double precision[]",
    [T_CHAR] = "character[]",
    [T_VARCHAR] = "character varying[]",
    [T_TEXT] = "text[]",
    [T_BYTEA] = "bytea[]",
    [T_DATE] = "date[]",
    [T_TIME] = "time without time zone[]",
    [T_TIMESTAMP] = "timestamp without time zone[]",
    [T_TIMESTAMPTZ] = "timestamp with time zone[]",
    [T_INTERVAL] = "interval[]",
    [T_UUID] = "uuid[]",
    [T_DECIMAL] = "numeric[]",
    [T_JSON] = "json[]",
    [T_JSONB] = "jsonb[]",
    [T_ENUM] = "anyenum[]",
    [T_COMPOSITE] = "record[]",
    [T_TIMETZ] = "time with time zone[]",
    [T_BIT] = "bit[]",
    [T_VARBIT] = "bit varying[]",
    [T_OID] = "oid[]",
    [T_RANGE] = "anyrange[]",
    [T_MULTIRANGE] = "anymultirange[]",
    [T_JSONPATH] = "jsonpath[]",
    [T_LSN] = "pg_lsn[]",
    [T_MONEY] = "money[]",
};

static const char *const poly_names[] = {"void",     "anyelement",    "anyarray",           "anynonarray",
                                         "anyenum",  "anycompatible", "anycompatiblearray", "anycompatiblenonarray",
                                         "anyrange", "anymultirange", "anycompatiblerange", "anycompatiblemultirange"};
PolyType type_poly_named(Slice name) {
    for (int i = POLY_ELEMENT; i < ARRAY_LEN(poly_names); i++)
        if (slice_eq(name, slice_of(poly_names[i]))) return (PolyType)i;
    return POLY_NONE;
}

static const char *range_shown(const RangeType *x, bool multi, bool array) {
    const char *shown = multi ? (array ? x->multi_array : x->multi_shown) : (array ? x->array_shown : x->shown);
    return x->number < TYPE_NUMBER_FIRST ? shown : named_shown(multi ? x->multi : x->name, shown);
}
const char *type_base_name(TypeId id) { return (unsigned)id < T_COUNT_ ? base_names[id] : "?"; }
const char *type_plain_name(Type t) {
    if (type_is_record(t)) return t.flags & TF_RECORDS ? "record[]" : "record";
    const Type own = t.id == T_ARRAY ? type_element(t) : t;
    const EnumType *x = enum_of(own);
    const CompositeType *row = composite_of(own);
    const RangeType *range = range_of(own);
    if (x) return named_shown(x->name, t.id == T_ARRAY ? x->array_shown : x->shown);
    if (range) return range_shown(range, own.id == T_MULTIRANGE, t.id == T_ARRAY);
    if (row && row->kind == COMPOSITE_ANONYMOUS) return t.id == T_ARRAY ? "record[]" : "record";
    if (row) return named_shown(row->name, t.id == T_ARRAY ? row->array_shown : row->shown);
    if (type_is_poly(t)) return poly_names[t.length];
    const char *of_catalog = oid_type_name(t);
    if (of_catalog) return of_catalog;
    if (t.id != T_ARRAY) return type_base_name((TypeId)t.id);
    const char *name = array_names[type_element(t).id];
    return name ? name : "?";
}

static const struct {
    int32_t mask;
    const char *words;
} interval_ranges[] = {
    {IR_YEAR, "year"},
    {IR_MONTH, "month"},
    {IR_DAY, "day"},
    {IR_HOUR, "hour"},
    {IR_MINUTE, "minute"},
    {IR_SECOND, "second"},
    {IR_YEAR | IR_MONTH, "year to month"},
    {IR_DAY | IR_HOUR, "day to hour"},
    {IR_DAY | IR_HOUR | IR_MINUTE, "day to minute"},
    {IR_DAY | IR_HOUR | IR_MINUTE | IR_SECOND, "day to second"},
    {IR_HOUR | IR_MINUTE, "hour to minute"},
    {IR_HOUR | IR_MINUTE | IR_SECOND, "hour to second"},
    {IR_MINUTE | IR_SECOND, "minute to second"},
};

const char *type_name(Type t, char (*room)[TYPE_NAME_MAX]) {
    const char *base = type_base_name((TypeId)t.id);
    char *buf = *room;
    const size_t n = sizeof *room;
    if (type_is_record(t) || type_is_defined(t) || type_is_poly(t) || oid_type_name(t)) base = type_plain_name(t);
    switch ((TypeId)t.id) {
    case T_ARRAY:
        if (t.flags & TF_VECTOR) break;
        if (type_element(t).id == T_UNKNOWN) return snprintf(buf, n, "anyarray"), buf;
        type_name(type_element(t), room);
        dbg_assert(strlen(buf) + 3 <= n);
        memcpy(buf + strlen(buf), "[]", 3);
        return buf;
    case T_NUMERIC:
        if (t.flags & TF_UNCONSTRAINED) break;
        snprintf(buf, n, "numeric(%d,%d)", t.precision, t.scale);
        return buf;
    case T_DECIMAL:
        if (!t.length) break;
        snprintf(buf, n, "numeric(%d,%d)", dec_typmod_precision(t.length), dec_typmod_scale(t.length));
        return buf;
    case T_CHAR:
        /* Without a length it is the blank-trimmed type of any length, which SQL cannot spell. */
        if (t.length <= 0) base = "bpchar";
        else return snprintf(buf, n, "character(%d)", t.length), buf;
        break;
    case T_VARCHAR:
        if (t.length <= 0) break;
        snprintf(buf, n, "character varying(%d)", t.length);
        return buf;
    case T_BIT:
        /* bit without a length, in quotes, is a bit string of any length; without quotes it is bit(1) */
        if (t.length <= 0) base = "\"bit\"";
        else return snprintf(buf, n, "bit(%d)", t.length), buf;
        break;
    case T_VARBIT:
        if (t.length <= 0) break;
        snprintf(buf, n, "bit varying(%d)", t.length);
        return buf;
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
        if (t.precision >= 6) break;
        snprintf(buf, n, "%s(%d) %s time zone", t.id == T_TIME || t.id == T_TIMETZ ? "time" : "timestamp", t.precision,
                 type_has_zone(t) ? "with" : "without");
        return buf;
    case T_INTERVAL:
        for (int64_t i = 0; i < ARRAY_LEN(interval_ranges); i++) {
            if (interval_ranges[i].mask != t.length) continue;
            if (t.precision) snprintf(buf, n, "interval %s(%d)", interval_ranges[i].words, t.precision - 1);
            else snprintf(buf, n, "interval %s", interval_ranges[i].words);
            return buf;
        }
        if (!t.precision) break;
        snprintf(buf, n, "interval(%d)", t.precision - 1);
        return buf;
    default: break;
    }
    snprintf(buf, n, "%s", base);
    return buf;
}

const char *type_full_name(Type t, char (*room)[TYPE_NAME_MAX]) {
    const SearchPath *path = search_path_use(search_path_none());
    (void)type_name(t, room);
    (void)search_path_use(path);
    return *room;
}

static const struct {
    const char *name;
    TypeId id;
} aliases[] = {
    {"bool", T_BOOL},
    {"boolean", T_BOOL},
    {"int2", T_INT2},
    {"smallint", T_INT2},
    {"int4", T_INT4},
    {"int", T_INT4},
    {"integer", T_INT4},
    {"int8", T_INT8},
    {"bigint", T_INT8},
    {"numeric", T_DECIMAL},
    {"decimal", T_DECIMAL},
    {"dec", T_DECIMAL},
    {"float4", T_FLOAT4},
    {"real", T_FLOAT4},
    {"float8", T_FLOAT8},
    {"float", T_FLOAT8},
    {"double precision", T_FLOAT8},
    {"double", T_FLOAT8},
    {"bpchar", T_CHAR},
    {"character", T_CHAR},
    {"nchar", T_CHAR},
    {"varchar", T_VARCHAR},
    {"character varying", T_VARCHAR},
    {"char varying", T_VARCHAR},
    {"text", T_TEXT},
    {"string", T_TEXT},
    {"bytea", T_BYTEA},
    {"date", T_DATE},
    {"time", T_TIME},
    {"time without time zone", T_TIME},
    {"timetz", T_TIMETZ},
    {"time with time zone", T_TIMETZ},
    {"timestamp", T_TIMESTAMP},
    {"timestamp without time zone", T_TIMESTAMP},
    {"timestamptz", T_TIMESTAMPTZ},
    {"timestamp with time zone", T_TIMESTAMPTZ},
    {"interval", T_INTERVAL},
    {"uuid", T_UUID},
    {"bit", T_BIT},
    {"varbit", T_VARBIT},
    {"bit varying", T_VARBIT},
    {"json", T_JSON},
    {"jsonb", T_JSONB},
    {"jsonpath", T_JSONPATH},
    {"pg_lsn", T_LSN},
    {"money", T_MONEY},
    {"void", T_VOID},
    {"unknown", T_UNKNOWN},
};

enum { CHAR_LENGTH_MAX = 10485760 };

static Status numeric_modifiers(int n_mods, const int64_t *mods, Type *out, Err *e) {
    int64_t precision = mods[0], scale = n_mods > 1 ? mods[1] : 0;
    if (n_mods > 2) return err_set(e, ERR_INVALID_PARAMETER, "invalid NUMERIC type modifier");
    if (precision < 1 || precision > DEC_TYPMOD_MAX) {
        return err_set(e, ERR_INVALID_PARAMETER, "NUMERIC precision %lld must be between 1 and %d",
                       (long long)precision, DEC_TYPMOD_MAX);
    }
    if (scale < -DEC_TYPMOD_MAX || scale > DEC_TYPMOD_MAX) {
        return err_set(e, ERR_INVALID_PARAMETER, "NUMERIC scale %lld must be between %d and %d", (long long)scale,
                       -DEC_TYPMOD_MAX, DEC_TYPMOD_MAX);
    }
    if (precision <= NUMERIC_MAX_PRECISION && scale >= 0 && scale <= NUMERIC_MAX_PRECISION) {
        *out = type_numeric((int)precision, (int)scale);
    } else {
        *out = type_make(T_DECIMAL);
        out->length = dec_typmod((int)precision, (int)scale);
    }
    return ST_OK;
}

static Status length_modifier(const char *name, int64_t most, int n_mods, const int64_t *mods, Type *out, Err *e) {
    if (n_mods != 1) return err_set(e, ERR_INVALID_PARAMETER, "invalid type modifier");
    if (mods[0] < 1) return err_set(e, ERR_INVALID_PARAMETER, "length for type %s must be at least 1", name);
    if (mods[0] > most)
        return err_set(e, ERR_INVALID_PARAMETER, "length for type %s cannot exceed %lld", name, (long long)most);
    out->length = (int32_t)mods[0];
    return ST_OK;
}

/* libpg_query passes the fields of "interval year to month" as a bit mask. */
static Status interval_modifiers(int n_mods, const int64_t *mods, Type *out, Err *e) {
    if (n_mods > 2) return err_set(e, ERR_INVALID_PARAMETER, "invalid INTERVAL type modifier");
    if (n_mods == 2 && mods[1] < 0)
        return err_set(e, ERR_INVALID_PARAMETER, "INTERVAL(%lld) precision must not be negative", (long long)mods[1]);
    if (n_mods == 2 && mods[1] < 6)
        out->precision = (uint8_t)(mods[1] + 1); /* PostgreSQL reduces more to 6, with a warning */
    if (mods[0] == IR_FULL) return ST_OK;
    for (int64_t i = 0; i < ARRAY_LEN(interval_ranges); i++) {
        if (interval_ranges[i].mask != mods[0]) continue;
        out->length = (int32_t)mods[0];
        return ST_OK;
    }
    return err_set(e, ERR_INVALID_PARAMETER, "invalid INTERVAL type modifier");
}

Status type_from_name(Slice name, int n_mods, const int64_t *mods, Type *out, Err *e) {
    if (name.len > 2 && memcmp(name.ptr + name.len - 2, "[]", 2) == 0) {
        name.len -= 2;
        while (name.len > 2 && memcmp(name.ptr + name.len - 2, "[]", 2) == 0) name.len -= 2; /* as if there were one */
        TRY(type_from_name(name, n_mods, mods, out, e));
        if (out->id == T_UNKNOWN || out->id == T_VOID)
            return err_set(e, ERR_UNDEFINED_OBJECT, "type \"%.*s[]\" does not exist", (int)MIN_OF(name.len, 128),
                           name.ptr);
        *out = type_array_of(*out);
        return ST_OK;
    }
    if (!n_mods && oid_type_named(name, out)) return ST_OK;
    if (slice_eq(name, slice_of("char"))) name = slice_of("character");
    int64_t i = 0;
    while (i < ARRAY_LEN(aliases) && !slice_eq(name, slice_of(aliases[i].name))) i++;
    bool multi = false;
    const RangeType *range = i == ARRAY_LEN(aliases) && !n_mods ? range_builtin(name, &multi) : NULL;
    if (range) return *out = multi ? multirange_type(range) : range_type(range), ST_OK;
    if (i == ARRAY_LEN(aliases)) {
        return err_set(e, ERR_UNDEFINED_OBJECT, "type \"%.*s\" does not exist", (int)MIN_OF(name.len, 128), name.ptr);
    }
    TypeId id = aliases[i].id;
    *out = type_make(id);
    if (n_mods == 0) {
        if (id == T_CHAR && slice_eq(name, slice_of("bpchar"))) out->length = 0;
        return ST_OK;
    }
    switch (id) {
    case T_DECIMAL: return numeric_modifiers(n_mods, mods, out, e);
    case T_CHAR: return length_modifier("char", CHAR_LENGTH_MAX, n_mods, mods, out, e);
    case T_VARCHAR: return length_modifier("varchar", CHAR_LENGTH_MAX, n_mods, mods, out, e);
    case T_BIT: return length_modifier("bit", BITS_TYPE_MAX, n_mods, mods, out, e);
    case T_VARBIT: return length_modifier("varbit", BITS_TYPE_MAX, n_mods, mods, out, e);
    case T_INTERVAL: return interval_modifiers(n_mods, mods, out, e);
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ:
    case T_TIMETZ:
        if (n_mods != 1) return err_set(e, ERR_INVALID_PARAMETER, "invalid type modifier");
        if (mods[0] < 0) {
            return err_set(e, ERR_INVALID_PARAMETER, "%s(%lld)%s precision must not be negative",
                           id == T_TIME || id == T_TIMETZ ? "TIME" : "TIMESTAMP", (long long)mods[0],
                           type_has_zone(*out) ? " WITH TIME ZONE" : "");
        }
        out->precision = (uint8_t)MIN_OF(mods[0], 6); /* as PostgreSQL, which reduces it with a warning */
        return ST_OK;
    case T_FLOAT8:
        if (!slice_eq(name, slice_of("float"))) break;
        if (n_mods != 1 || mods[0] < 1) {
            return err_set(e, ERR_INVALID_PARAMETER, "precision for type float must be at least 1 bit");
        }
        if (mods[0] > 53) {
            return err_set(e, ERR_INVALID_PARAMETER, "precision for type float must be less than 54 bits");
        }
        *out = type_make(mods[0] <= 24 ? T_FLOAT4 : T_FLOAT8);
        return ST_OK;
    default: break;
    }
    return err_set(e, ERR_INVALID_PARAMETER, "type modifier is not allowed for type \"%.*s\"",
                   (int)MIN_OF(name.len, 128), name.ptr);
}
