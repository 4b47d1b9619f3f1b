/* type.h - SQL types, physical types, and values.
 *
 * A Type is what SQL sees (numeric(15,2)); a Phys is how a register or a column
 * holds it (a scaled 64-bit integer). Fixed decisions, made once for all executors:
 *
 *   boolean      PH_BOOL  one byte, 0 or 1
 *   smallint     PH_I16   integer PH_I32   bigint PH_I64
 *   numeric(p,s) PH_I64 if p <= 18, else PH_I128; the value is integer * 10^-s. The
 *                scale is static. Databases of older versions have columns, and arrays in
 *                columns, of numeric(38,16) with TF_UNCONSTRAINED, which print without trailing
 *                zeros; programs of bulks hold parameters so (sql/pl/compile_decimal.c)
 *   numeric      PH_STR   any number of digits, each value with its own scale (dec.h); here
 *                a type of its own, T_DECIMAL, while SQL calls both numeric
 *   real         PH_F32   double precision PH_F64; NaN equals NaN and is greater than all; -0 = 0
 *   char(n)      PH_STR, stored without trailing blanks, compared so, padded when shown
 *   varchar, text, bytea   PH_STR
 *   date         PH_I32   days since 2000-01-01; INT32_MIN / INT32_MAX are -/+infinity
 *   time         PH_I64   microseconds since midnight, 0 .. 86,400,000,000
 *   timestamp    PH_I64   microseconds since 2000-01-01 00:00; INT64_MIN / MAX are -/+infinity
 *   timestamptz  PH_I64   the same in UTC
 *   timetz       PH_I64   the instant and the zone, in this order (timetz_make)
 *   interval     PH_INTERVAL   compared by PostgreSQL's rule (month = 30 days, day = 24 h)
 *   uuid         PH_UUID  16 bytes, memcmp order
 *   bit(n), bit varying(n)   PH_STR, in a form that compares as its bits do (bits.h)
 *   oid          PH_I64   0 .. 4294967295; also regclass and the like, xid, cid: `precision` says which (oid.h)
 *   name, "char" PH_STR   T_TEXT with a flag: cut to 63 bytes, to one
 *   json, jsonb  PH_STR   JSON text as it was given, and in a canonical form (json.h)
 *   jsonpath     PH_STR   the text of a path, in a canonical form (jsonpath.h)
 *   pg_lsn       PH_I64   a place in the log, unsigned, moved so that it compares as one (lsn.h)
 *   enumerated   PH_I32   a label's code; `length` is the number of the type (enums.h)
 *   range, multirange   PH_STR   bytes that compare as the values do (range.h); `length` is the number of the type
 *   composite    PH_STR   a row: a blob (composite.h); `length` is the number of the type
 *   t[]          PH_STR   arrays of the above, of any dimensions: a blob (array.h); the element's type is packed into
 * the Type
 *
 * Text order is binary (PostgreSQL's "C" collation).
 */
#ifndef STELE_TYPES_TYPE_H
#define STELE_TYPES_TYPE_H

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"

typedef enum TypeId {
    T_UNKNOWN = 0, /* an untyped literal or NULL before the binder decides; PH_STR */
    T_BOOL,
    T_INT2,
    T_INT4,
    T_INT8,
    T_NUMERIC,
    T_FLOAT4,
    T_FLOAT8,
    T_CHAR,
    T_VARCHAR,
    T_TEXT,
    T_BYTEA,
    T_DATE,
    T_TIME,
    T_TIMESTAMP,
    T_TIMESTAMPTZ,
    T_INTERVAL,
    T_UUID,
    T_VOID,
    T_ARRAY,
    T_DECIMAL, /* ids are stored in files: new ones go to the end */
    T_JSON,
    T_JSONB,
    T_ENUM,
    T_COMPOSITE,
    T_TIMETZ,
    T_BIT,
    T_VARBIT,
    T_OID,
    T_RANGE,
    T_MULTIRANGE,
    T_JSONPATH,
    T_LSN,
    T_MONEY,
    T_COUNT_
} TypeId;

typedef enum Phys {
    PH_BOOL = 0,
    PH_I16,
    PH_I32,
    PH_I64,
    PH_I128,
    PH_F32,
    PH_F64,
    PH_STR,
    PH_INTERVAL,
    PH_UUID,
    PH_COUNT_
} Phys;

enum {
    TF_UNCONSTRAINED = 1, /* T_NUMERIC: without (p,s), as numeric(38,16) */
    TF_RECORD = 2,        /* bytea: a row of values (func_record.c); only queries make them, and no table has them */
    TF_RECORDS = 4,       /* ... an array of rows */
    TF_NAME = 16,         /* text: name */
    TF_QCHAR = 32,        /* text: "char" */
    TF_VECTOR = 64,       /* array: int2vector, oidvector: its text has blanks and no braces */
    TF_SHOWN = 128        /* oid: a name as a client sees it, PH_STR; only results have it */
};
enum { NUMERIC_MAX_PRECISION = 38, NUMERIC_DEFAULT_SCALE = 16 };

/* Type.precision of ranges and multiranges (range.h). */
enum {
    RANGE_KEYED = 1, /* values that are equal may have different bytes */
    RANGE_ZONED = 2  /* bounds are shown and read by the session's time zone */
};

typedef struct Type {
    uint8_t id;        /* TypeId */
    uint8_t flags;     /* TF_* */
    uint8_t precision; /* numeric: 1..38; time and timestamps: fractional digits 0..6 (6 default); interval: those and
                          1, 0 = all; ranges: RANGE_* */
    uint8_t scale;     /* numeric: 0..38 */
    int32_t length;    /* char, varchar: characters, bits: how many, 0 = any; interval: PostgreSQL's fields, 0 = all;
                          array: the low bits of the element's TypeId | element length << TYPE_ID_BITS. The others are
                          above the element's scale; all other fields are the element's */
} Type;
/* Of an array's Type. Lengths of bit strings need 27 bits, and scales six of the eight that they have. Ids that fit the
 * low bits are in files of older versions, which look the same. */
enum { TYPE_ID_BITS = 5, TYPE_SCALE_BITS = 6 };
static_assert(T_COUNT_ <= 1 << (TYPE_ID_BITS + 8 - TYPE_SCALE_BITS), "an array's Type has room for its element's id");
static_assert(NUMERIC_MAX_PRECISION < 1 << TYPE_SCALE_BITS, "an array's Type has room for its element's scale");
static_assert(sizeof(Type) == 8, "Type is passed by value and stored in files");

static inline Type type_make(TypeId id) {
    return (Type){.id = (uint8_t)id,
                  .flags = id == T_NUMERIC ? TF_UNCONSTRAINED : 0,
                  .precision = id == T_NUMERIC ? NUMERIC_MAX_PRECISION
                               : (id == T_TIME || id == T_TIMESTAMP || id == T_TIMESTAMPTZ || id == T_TIMETZ) ? 6
                                                                                                              : 0,
                  .scale = id == T_NUMERIC ? NUMERIC_DEFAULT_SCALE : 0,
                  .length = id == T_CHAR ? 1 : 0};
}
static inline Type type_numeric(int precision, int scale) {
    return (Type){.id = T_NUMERIC, .precision = (uint8_t)precision, .scale = (uint8_t)scale};
}
/* Polymorphic types, which parameters and results of routines are declared with: T_VOID with one of these as length. A
 * call has actual types in their place (sql/bind/bind_poly.h). */
typedef enum PolyType {
    POLY_NONE,
    POLY_ELEMENT, /* anyelement */
    POLY_ARRAY,
    POLY_NONARRAY,
    POLY_ENUM,
    POLY_COMPATIBLE, /* anycompatible: the common type of all that are so declared */
    POLY_COMPATIBLE_ARRAY,
    POLY_COMPATIBLE_NONARRAY,
    POLY_RANGE, /* numbers are stored in files: new ones go to the end */
    POLY_MULTIRANGE,
    POLY_COMPATIBLE_RANGE,
    POLY_COMPATIBLE_MULTIRANGE
} PolyType;
static inline Type type_poly(PolyType p) { return (Type){.id = T_VOID, .length = p}; }
static inline bool type_is_poly(Type t) { return t.id == T_VOID && t.length != POLY_NONE; }
/* POLY_NONE: it is the name of none. */
PolyType type_poly_named(Slice name);
static inline bool type_eq(Type a, Type b) {
    return a.id == b.id && a.precision == b.precision && a.scale == b.scale && a.length == b.length &&
           a.flags == b.flags;
}
static inline bool type_is_record(Type t) { return t.id == T_BYTEA && (t.flags & (TF_RECORD | TF_RECORDS)); }
static inline bool type_is_text(Type t) {
    return t.id == T_CHAR || t.id == T_VARCHAR || t.id == T_TEXT || t.id == T_UNKNOWN;
}
static inline bool type_is_bits(Type t) { return t.id == T_BIT || t.id == T_VARBIT; }
/* Its `length` is that of values; 0: any. */
static inline bool type_has_length(Type t) {
    return t.id == T_CHAR || t.id == T_VARCHAR || t.id == T_BIT || t.id == T_VARBIT;
}
/* Both of texts, or both of bits. */
static inline bool type_both_strings(Type a, Type b) {
    return (type_is_text(a) && type_is_text(b)) || (type_is_bits(a) && type_is_bits(b));
}
/* Types of strings whose values are compared as they are, whichever of them each has. */
static inline bool type_same_strings(Type a, Type b) {
    return type_both_strings(a, b) && a.id != T_CHAR && b.id != T_CHAR;
}
static inline bool type_is_integer(Type t) { return t.id == T_INT2 || t.id == T_INT4 || t.id == T_INT8; }
static inline bool type_is_array(Type t) { return t.id == T_ARRAY; }
/* The type of arrays of `e`, and of an array's elements. */
static inline Type type_array_of(Type e) {
    return (Type){.id = T_ARRAY,
                  .flags = e.flags,
                  .precision = e.precision,
                  .scale = (uint8_t)(e.scale | (e.id >> TYPE_ID_BITS) << TYPE_SCALE_BITS),
                  .length = (int32_t)((e.id & ((1U << TYPE_ID_BITS) - 1)) | (uint32_t)e.length << TYPE_ID_BITS)};
}
static inline Type type_element(Type t) {
    const uint32_t low = (uint32_t)t.length & ((1U << TYPE_ID_BITS) - 1);
    return (Type){.id = (uint8_t)(low | (uint32_t)(t.scale >> TYPE_SCALE_BITS) << TYPE_ID_BITS),
                  .flags = (uint8_t)(t.flags & ~TF_VECTOR),
                  .precision = t.precision,
                  .scale = t.scale & ((1U << TYPE_SCALE_BITS) - 1),
                  .length = (int32_t)((uint32_t)t.length >> TYPE_ID_BITS)};
}
/* Of a type that a definition makes: `length` is its number (numbers.h). PostgreSQL's own ranges have such, too. */
static inline bool type_is_defined(Type t) {
    return t.id == T_ENUM || t.id == T_COMPOSITE || t.id == T_RANGE || t.id == T_MULTIRANGE;
}
static inline bool type_is_range(Type t) { return t.id == T_RANGE || t.id == T_MULTIRANGE; }
/* Its values, or casts from and to it, depend on the session's time zone. */
static inline bool type_has_zone(Type t) {
    const uint8_t id = t.id == T_ARRAY ? type_element(t).id : t.id;
    const bool range = id == T_RANGE || id == T_MULTIRANGE;
    return id == T_TIMESTAMPTZ || id == T_TIMETZ || (range && (t.precision & RANGE_ZONED));
}
static inline bool type_is_json(Type t) { return t.id == T_JSON || t.id == T_JSONB; }
/* Its values are not compared. */
static inline bool type_is_unordered(Type t) { return t.id == T_JSON || t.id == T_JSONPATH; }
static inline bool type_is_number(Type t) { return (t.id >= T_INT2 && t.id <= T_FLOAT8) || t.id == T_DECIMAL; }
/* Values that are equal may have different bytes: sort keys stand for them (sql/bind/bind_key.c). */
static inline bool type_needs_key(Type t) {
    uint8_t id = t.id == T_ARRAY ? type_element(t).id : t.id;
    const bool range = id == T_RANGE || id == T_MULTIRANGE;
    return id == T_DECIMAL || id == T_JSONB || id == T_COMPOSITE || (t.id == T_ARRAY && id == T_INTERVAL) ||
           (range && (t.precision & RANGE_KEYED));
}

/* A string in a register or a row: a view of bytes that live in a tablet, a
 * dictionary or an arena. `prefix` holds the first four bytes, zero-padded, in
 * memory order; equality first compares len and prefix as one 64-bit word. */
typedef struct Str {
    const char *ptr;
    uint32_t len;
    uint32_t prefix;
} Str;
static_assert(sizeof(Str) == 16, "Str is a register cell");

static inline Str str_make(const char *p, int64_t len) {
    Str s = {p, (uint32_t)len, 0};
    if (len >= 4) memcpy(&s.prefix, p, 4);
    else if (len > 0) memcpy(&s.prefix, p, (size_t)len);
    return s;
}
static inline bool str_eq(Str a, Str b) {
    return a.len == b.len && a.prefix == b.prefix && (a.len <= 4 || memcmp(a.ptr + 4, b.ptr + 4, a.len - 4) == 0);
}
static inline int str_cmp(Str a, Str b) {
    if (a.prefix != b.prefix) {
        uint32_t x = __builtin_bswap32(a.prefix), y = __builtin_bswap32(b.prefix);
        return x < y ? -1 : 1;
    }
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 4 ? memcmp(a.ptr + 4, b.ptr + 4, n - 4) : 0;
    return c ? (c < 0 ? -1 : 1) : a.len < b.len ? -1 : a.len > b.len;
}

typedef struct Interval {
    int64_t micros;
    int32_t days;
    int32_t months;
} Interval;
static_assert(sizeof(Interval) == 16, "Interval is a register cell");

typedef struct Uuid {
    uint8_t bytes[16];
} Uuid;

/* One value outside vectors: literals, parameters, statistics, results. PH_STR
 * bytes are borrowed unless the holder says otherwise. */
typedef struct Value {
    Type type;
    bool is_null;
    union {
        bool b;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        int128_t i128;
        float f32;
        double f64;
        Str str;
        Interval interval;
        Uuid uuid;
    } u;
} Value;

Str record_shown(Type t, Str s); /* of a value of TF_RECORD or TF_RECORDS: a part of it */

Phys type_phys(Type t);
/* Bytes of a cell; inline, since inner loops call it. */
static inline int64_t phys_size(Phys p) {
    switch (p) {
    case PH_BOOL: return 1;
    case PH_I16: return 2;
    case PH_I32:
    case PH_F32: return 4;
    case PH_I64:
    case PH_F64: return 8;
    case PH_COUNT_: return 0;
    default: return 16;
    }
}
const char *phys_name(Phys p);
/* Room for the longest: an array of an enumerated type, whose name and whose schema's are 63 quotes, each doubled, in
 * quotes. */
enum { TYPE_NAME_MAX = 264 };
/* SQL spelling: "numeric(15,2)", "character varying(10)", "timestamp with time zone". Returns *room. A type that a
 * database defines has its schema where that is none of the thread's search path. */
const char *type_name(Type t, char (*room)[TYPE_NAME_MAX]);
/* ... always with its schema: for SQL that is made here, and means the same under every path. */
const char *type_full_name(Type t, char (*room)[TYPE_NAME_MAX]);
/* "numeric", "date": without modifiers; static storage. */
const char *type_base_name(TypeId id);
/* The same of a whole type: "integer[]" for arrays. */
const char *type_plain_name(Type t);
/* A type from its SQL name (PostgreSQL's names and aliases, lower case, e.g. "int4",
 * "integer", "bpchar", "timestamptz"; "int4[]" is an array) and modifiers. 42704 unknown, 22023 bad modifiers. */
Status type_from_name(Slice name, int n_mods, const int64_t *mods, Type *out, Err *e);

/* ---- 128-bit integers and numeric --------------------------------------- */
extern const int128_t pow10_i128[39]; /* 10^0 .. 10^38 */
int i128_digits(int128_t v);          /* decimal digits of |v|, at least 1 */
/* All report overflow by returning true; `out` is then undefined. */
bool i128_mul_overflow(int128_t a, int128_t b, int128_t *out);
/* v * 10^(to-from), rounding half away from zero when to < from; true on overflow beyond 38 digits. */
bool numeric_rescale(int128_t v, int from_scale, int to_scale, int128_t *out);
/* (a / 10^sa) / (b / 10^sb) at result scale sr, rounded half away from zero, computed with
 * 256-bit intermediates. b must not be 0. True on overflow beyond 38 digits. */
bool numeric_div(int128_t a, int sa, int128_t b, int sb, int sr, int128_t *out);
/* True when v has more than `precision` digits. */
static inline bool numeric_exceeds(int128_t v, int precision) {
    return v >= pow10_i128[precision] || v <= -pow10_i128[precision];
}
double numeric_to_f64(int128_t v, int scale);
/* From a double, rounded; true on overflow, NaN or infinity. */
bool numeric_from_f64(double d, int scale, int128_t *out);
/* Likewise: of the six digits that a real has, not those of its double. */
bool numeric_from_f32(float f, int scale, int128_t *out);
/* Parses [+-]digits[.digits][e[+-]n]. For a literal (scale < 0) sets *out_scale to the digits after the
 * point. Blank-trimmed. 22P02 malformed, 22003 out of range. */
Status numeric_parse(Slice text, int scale, int128_t *out, int *out_scale, Err *e);

/* ---- text input and output ---------------------------------------------- */
/* How values are shown and read, as PostgreSQL's settings of these names have it; all zero: the defaults, and UTC. It
 * has no padding, so that forms are compared as bytes. */
typedef enum DateStyle { DATES_ISO, DATES_SQL, DATES_POSTGRES, DATES_GERMAN } DateStyle;
typedef enum DateOrder { DATES_MDY, DATES_DMY, DATES_YMD } DateOrder;
typedef enum IntervalStyle {
    INTERVALS_POSTGRES,
    INTERVALS_VERBOSE,
    INTERVALS_SQL_STANDARD,
    INTERVALS_ISO_8601
} IntervalStyle;
typedef struct TextForm {
    const struct Zone *zone; /* of timestamptz (types/zone.h); NULL: UTC */
    uint8_t date_style;      /* DateStyle */
    uint8_t date_order;      /* DateOrder: in texts that are read, too */
    uint8_t interval_style;  /* IntervalStyle */
    uint8_t bytea_escape;    /* 1: bytea_output = escape */
    int32_t float_cut; /* 1 - extra_float_digits when that is below 1: floats are rounded to 16 (real: 7) digits less
                          these; 0: the shortest text that is exact */
} TextForm;
static_assert(sizeof(TextForm) == 16, "forms are compared as bytes");
static inline bool text_form_eq(TextForm a, TextForm b) { return memcmp(&a, &b, sizeof a) == 0; }

enum { VALUE_TEXT_MAX = 112 }; /* no text of a fixed-size value is longer (an interval takes up to 101) */
/* PostgreSQL's text form of a fixed-size value; writes at most VALUE_TEXT_MAX bytes, returns the length.
 * `cell` points to a cell of type_phys(t). Not for text types, bytea and arrays. */
int64_t cell_to_text(Type t, const void *cell, TextForm form, char *out);
/* Any value to text in an arena (text types: a copy; char(n): padded). NULL on OOM. is_null gives "". */
char *value_to_text(Arena *a, const Value *v, int64_t *len_out);
/* The same in another form. */
char *value_to_text_form(Arena *a, const Value *v, TextForm form, int64_t *len_out);
/* A bytea's text with bytea_output = escape, with a NUL behind; NULL on OOM. */
char *bytea_escaped(Arena *a, Str s, int64_t *len_out);
/* Text to a cell, PostgreSQL's input syntax, blanks trimmed where it trims; PH_STR results
 * borrow or are allocated in `a` (bytea). varchar(n)/char(n) too long: 22001. Malformed: 22P02
 * (22007 dates and times, 22008 out of range, 22003 numbers). Messages name type and text. The session (types/func.h)
 * has the time zone and what 'now' and 'today' mean; NULL: UTC and the clock. */
struct SessionInfo;
Status cell_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, void *cell, Err *e);
Status value_from_text(Type t, Slice text, const struct SessionInfo *session, Arena *a, Value *out, Err *e);

/* ---- cells --------------------------------------------------------------- */
void *value_cell(Value *v);
const void *value_cell_const(const Value *v);
/* Order of two non-NULL cells: <0, 0, >0, total (NaN last). */
int cell_cmp(Phys p, const void *a, const void *b);
uint64_t cell_hash(Phys p, const void *cell);
int value_cmp(const Value *a, const Value *b);             /* same phys, and type for arrays; NULLs last and equal */
Status value_copy(Arena *a, const Value *src, Value *dst); /* strings copied too */
/* An integer view of exact fixed-size values for statistics, ranges and key packing:
 * false for floats, strings, intervals, uuid, and I128 beyond 64 bits. */
bool cell_as_i64(Phys p, const void *cell, int64_t *out);
/* Debug builds check with these (dbg_assert) whatever enters a column, a register, a tree or a parameter of type
 * `want`: cells of type `have`, held as `phys`, are cells of `want` as they are. Exact numbers have its scale and are
 * within its range: the lowering keeps integers, and numerics of scale 0, in registers of each other's types. */
bool type_same_cells(Type want, Type have);
bool cells_agree(Type want, Type have, Phys phys, int64_t n, const void *cells, const uint8_t *valid);
bool value_agrees(Type want, const Value *v);

/* ---- dates --------------------------------------------------------------- */
enum { USECS_PER_DAY_S = 86400 };
#define USECS_PER_SEC INT64_C(1000000)
#define USECS_PER_DAY INT64_C(86400000000)
#define DATE_NEG_INF INT32_MIN
#define DATE_POS_INF INT32_MAX
#define TS_NEG_INF INT64_MIN
#define TS_POS_INF INT64_MAX
/* Proleptic Gregorian, days since 2000-01-01; year 0 = 1 BC. */
int32_t date_from_ymd(int64_t y, int m, int d);
void date_to_ymd(int32_t days, int64_t *y, int *m, int *d);
bool date_valid_ymd(int64_t y, int m, int d); /* a real day within PostgreSQL's range */
/* timestamp + interval, PostgreSQL's rule (months first, clamped to month end, then days, then time).
 * True when out of range. Infinities stay. */
bool timestamp_add_interval(int64_t ts, const Interval *iv, int sign, int64_t *out);
/* The same of a timestamptz: months and days are those of clocks of the zone, on which each may be skipped or come
 * twice (zone_offset_of_local). */
bool timestamptz_add_interval(const struct Zone *zone, int64_t ts, const Interval *iv, int sign, int64_t *out);
int128_t interval_cmp_value(const Interval *iv); /* microseconds with month = 30 days */
/* Cells of timetz: (microseconds of the day in UTC, below 0 and above a day too) * TIMETZ_STEP + the seconds that the
 * zone is west of UTC, made positive. They compare as integers as PostgreSQL compares them: by the instant, then by the
 * zone. Offsets are east of UTC, less than 168 hours. */
#define TIMETZ_STEP (INT64_C(1) << 21)
/* Times, instants and parts of intervals as columns of a type keep them: to `precision` fractional digits, half away
 * from zero; only the fields and digits that t has. */
int64_t micros_round(int64_t micros, int precision);
void interval_fit(Type t, Interval *v);
static inline int64_t timetz_make(int64_t micros, int32_t offset) {
    return (micros - offset * USECS_PER_SEC) * TIMETZ_STEP + TIMETZ_STEP / 2 - offset;
}
static inline int32_t timetz_offset(int64_t cell) { return (int32_t)(TIMETZ_STEP / 2 - (cell & (TIMETZ_STEP - 1))); }
static inline int64_t timetz_utc(int64_t cell) { return (cell - (cell & (TIMETZ_STEP - 1))) / TIMETZ_STEP; }
/* On its own clocks: 0 to a day. */
static inline int64_t timetz_micros(int64_t cell) { return timetz_utc(cell) + timetz_offset(cell) * USECS_PER_SEC; }
/* Field names of EXTRACT / date_part / date_trunc. */
typedef enum DateField {
    DF_YEAR,
    DF_MONTH,
    DF_DAY,
    DF_HOUR,
    DF_MINUTE,
    DF_SECOND,
    DF_MILLISECONDS,
    DF_MICROSECONDS,
    DF_QUARTER,
    DF_WEEK,
    DF_DOW,
    DF_ISODOW,
    DF_DOY,
    DF_ISOYEAR,
    DF_DECADE,
    DF_CENTURY,
    DF_MILLENNIUM,
    DF_EPOCH,
    DF_JULIAN,
    DF_TIMEZONE,
    DF_TIMEZONE_HOUR,
    DF_TIMEZONE_MINUTE,
    DF_INVALID
} DateField;
DateField date_field_from_name(Slice name);

/* An ISO offset, "+05:30", "-0730", "+2", as a whole text: seconds east of UTC. False: it is none; *beyond: it is one
 * that is out of range. */
bool zone_offset_parse(Slice text, int32_t *offset, bool *beyond);

/* ---- text ----------------------------------------------------------------- */
/* Byte offset of the first invalid byte, or -1 when `s` is valid UTF-8 without NUL. SIMD where it helps. */
int64_t utf8_check(const char *s, int64_t len);
int64_t utf8_length(const char *s, int64_t len); /* characters */
/* Bytes taken by the first n characters (all bytes if fewer). */
int64_t utf8_prefix_bytes(const char *s, int64_t len, int64_t n_chars);

/* LIKE compiled once per pattern: split on %, runs found with memmem; '_' by character. */
typedef struct LikePattern LikePattern;
/* escape: 0 = none, '\\' default. case_insensitive: ILIKE (simple Unicode folding). 22025 bad escape. */
LikePattern *like_compile(Arena *a, Slice pattern, char escape, bool case_insensitive, Err *e);
bool like_match(const LikePattern *p, const char *s, int64_t len);
/* The pattern's last character is an escape of nothing: like_compile() refuses it, while it only fails, step by step,
 * on a subject that has a character left when it comes to that one. */
bool like_ends_in_escape(Slice pattern, char escape);
/* LIKE as PostgreSQL goes about it; bytewise: '_' is a byte. 22025. */
Status like_stepwise(Slice s, Slice pattern, char escape, bool bytewise, bool *match, Err *e);
/* True when the pattern is `literal%`: its literal bytes, for range scans. */
bool like_prefix(const LikePattern *p, Slice *out);

/* Fields of "interval year to month": PostgreSQL's bits, kept in Type.length (0 = all). */
enum {
    IR_MONTH = 1 << 1,
    IR_YEAR = 1 << 2,
    IR_DAY = 1 << 3,
    IR_HOUR = 1 << 10,
    IR_MINUTE = 1 << 11,
    IR_SECOND = 1 << 12,
    IR_FULL = 0x7FFF,
};

#endif
