/* arrow_in.c - columns of Arrow batches become cells.
 *
 * Batches come from other programs: everything that can be checked is checked before anything is read (release
 * callbacks, formats, numbers of children and buffers, lengths, offsets), and values as any input is. What cannot be
 * checked is that buffers are as long as the lengths say. Values are copied: a batch stays its maker's.
 */
#include "io/arrow_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/stack.h"
#include "io/half.h"
#include "types/dec.h"

enum { EPOCH_DAYS = 10957 }; /* 1970-01-01 to 2000-01-01 */
#define OFFSET_MAX (INT64_C(1) << ARROW_OFFSET_BITS)
#define EPOCH_MICROS (INT64_C(946684800) * 1000000)
#define DAY_MICROS INT64_C(86400000000)

int64_t arrow_start(int64_t at, const struct ArrowArray *a) {
    return !a || at > OFFSET_MAX || a->offset < 0 || a->offset > OFFSET_MAX ? -1 : at + a->offset;
}
static bool bit(const void *bits, int64_t i) { return ((const uint8_t *)bits)[i >> 3] >> (i & 7) & 1; }
void arrow_valid(const ArrowColumn *c, uint8_t *valid) {
    const void *bits = c->array->n_buffers > 0 ? c->array->buffers[0] : NULL;
    for (int64_t i = 0; i < c->n; i++) valid[i] = (!bits || bit(bits, c->first + i)) && (!c->within || c->within[i]);
}

Status arrow_malformed(const ArrowColumn *c, const char *what, Err *e) {
    return err_set(e, c->of_file ? ERR_BAD_COPY : ERR_INVALID_PARAMETER, "the Arrow column of %s is malformed: %s",
                   c->where, what);
}
Status arrow_mismatch(const ArrowColumn *c, Err *e) {
    return err_set(e, ERR_DATATYPE_MISMATCH, "%s is of type %s, but its Arrow column has format \"%.60s\"", c->where,
                   c->what, c->schema->format);
}
/* Where an error was found. */
static Status in_row(const ArrowColumn *c, int64_t i, Err *e) {
    err_context(e, "row %lld of the Arrow column of %s", (long long)i + 1, c->where);
    return ST_ERROR;
}
static Status out_of_range(const ArrowColumn *c, int64_t i, Err *e) {
    err_set(e, ERR_NUMERIC_RANGE, "value out of range for type %s", c->what);
    return in_row(c, i, e);
}

/* ---- formats ------------------------------------------------------------------------------------------------ */
static const struct {
    char format[4];
    uint8_t layout, width, type; /* T_ARRAY: nested; T_NUMERIC: of 20 digits */
} formats[] = {
    {"n", ARROW_NULLS, 0, T_TEXT},       {"b", ARROW_FIXED, 0, T_BOOL},         {"c", ARROW_FIXED, 1, T_INT2},
    {"C", ARROW_FIXED, 1, T_INT2},       {"s", ARROW_FIXED, 2, T_INT2},         {"S", ARROW_FIXED, 2, T_INT4},
    {"i", ARROW_FIXED, 4, T_INT4},       {"I", ARROW_FIXED, 4, T_INT8},         {"l", ARROW_FIXED, 8, T_INT8},
    {"L", ARROW_FIXED, 8, T_NUMERIC},    {"f", ARROW_FIXED, 4, T_FLOAT4},       {"g", ARROW_FIXED, 8, T_FLOAT8},
    {"e", ARROW_FIXED, 2, T_FLOAT4},     {"u", ARROW_STRINGS, 4, T_TEXT},       {"U", ARROW_STRINGS, 8, T_TEXT},
    {"z", ARROW_STRINGS, 4, T_BYTEA},    {"Z", ARROW_STRINGS, 8, T_BYTEA},      {"vu", ARROW_VIEWS, 16, T_TEXT},
    {"vz", ARROW_VIEWS, 16, T_BYTEA},    {"+l", ARROW_LISTS, 4, T_ARRAY},       {"+L", ARROW_LISTS, 8, T_ARRAY},
    {"+s", ARROW_STRUCTS, 0, T_ARRAY},   {"+vl", ARROW_LIST_VIEWS, 4, T_ARRAY}, {"+vL", ARROW_LIST_VIEWS, 8, T_ARRAY},
    {"+r", ARROW_RUNS, 0, T_ARRAY},      {"+m", ARROW_MAPS, 4, T_ARRAY},        {"tdD", ARROW_FIXED, 4, T_DATE},
    {"tdm", ARROW_FIXED, 8, T_DATE},     {"tts", ARROW_FIXED, 4, T_TIME},       {"ttm", ARROW_FIXED, 4, T_TIME},
    {"ttu", ARROW_FIXED, 8, T_TIME},     {"ttn", ARROW_FIXED, 8, T_TIME},       {"tDs", ARROW_FIXED, 8, T_INTERVAL},
    {"tDm", ARROW_FIXED, 8, T_INTERVAL}, {"tDu", ARROW_FIXED, 8, T_INTERVAL},   {"tDn", ARROW_FIXED, 8, T_INTERVAL},
    {"tiM", ARROW_FIXED, 4, T_INTERVAL}, {"tiD", ARROW_FIXED, 8, T_INTERVAL},   {"tin", ARROW_FIXED, 16, T_INTERVAL}};

/* d:precision,scale of 128 bits, or d:precision,scale,bits */
typedef struct DecimalFormat {
    int precision, scale, bits;
} DecimalFormat;
static bool decimal_format(const char *f, DecimalFormat *d) {
    d->bits = 128;
    return sscanf(f, "d:%d,%d,%d", &d->precision, &d->scale, &d->bits) >= 2 &&
           (d->bits == 32 || d->bits == 64 || d->bits == 128 || d->bits == 256) && d->precision >= 1 &&
           d->precision <= NUMERIC_MAX_PRECISION && d->scale >= 0 && d->scale <= NUMERIC_MAX_PRECISION;
}
/* False: it has more digits than the format says. */
static bool decimal_value(const DecimalFormat *d, const void *values, int64_t at, int128_t *v) {
    const char *p = (const char *)values + d->bits / 8 * at;
    int128_t high;
    if (d->bits == 32) {
        *v = ((const int32_t *)values)[at];
    } else if (d->bits == 64) {
        *v = ((const int64_t *)values)[at];
    } else {
        memcpy(v, p, 16);
    }
    if (d->bits == 256) {
        memcpy(&high, p + 16, 16);
        if (high != (*v < 0 ? -1 : 0)) return false;
    }
    return !numeric_exceeds(*v, d->precision);
}

bool arrow_format(const char *f, ArrowFormat *out) {
    DecimalFormat decimal;
    int64_t width = 0;
    *out = (ArrowFormat){0};
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        if (strcmp(f, formats[i].format) != 0) continue;
        TypeId type = (TypeId)formats[i].type;
        *out = (ArrowFormat){.layout = (ArrowLayout)formats[i].layout,
                             .wide = formats[i].width == 8,
                             .width = formats[i].width,
                             .has_type = type != T_ARRAY,
                             .type = type == T_NUMERIC ? type_numeric(20, 0) : type_make(type)};
        return true;
    }
    if (decimal_format(f, &decimal)) {
        *out = (ArrowFormat){
            .layout = ARROW_FIXED, .width = decimal.bits / 8, .has_type = decimal.scale <= decimal.precision};
        if (out->has_type) out->type = type_numeric(decimal.precision, decimal.scale);
        return true;
    }
    if (strncmp(f, "ts", 2) == 0 && f[2] && f[3] == ':') {
        *out = (ArrowFormat){
            .layout = ARROW_FIXED, .width = 8, .has_type = true, .type = type_make(f[4] ? T_TIMESTAMPTZ : T_TIMESTAMP)};
        return true;
    }
    if (strncmp(f, "+us:", 4) == 0 || strncmp(f, "+ud:", 4) == 0) {
        out->layout = f[2] == 's' ? ARROW_SPARSE : ARROW_DENSE;
        return true;
    }
    bool list = sscanf(f, "+w:%" SCNd64, &width) == 1;
    if ((!list && sscanf(f, "w:%" SCNd64, &width) != 1) || width <= 0 || width > INT32_MAX) return false;
    if (list) {
        *out = (ArrowFormat){.layout = ARROW_FIXED_LISTS, .width = (int32_t)width};
        return true;
    }
    *out = (ArrowFormat){.layout = ARROW_FIXED,
                         .width = (int32_t)width,
                         .has_type = true,
                         .type = type_make(width == 16 ? T_UUID : T_BYTEA)};
    return true;
}

static bool is_int_format(const char *f) { return f[0] && !f[1] && strchr("cCsSiIlL", f[0]); }

const uint8_t arrow_buffers[] = {
    [ARROW_FIXED] = 2,       [ARROW_STRINGS] = 3, [ARROW_VIEWS] = 3, [ARROW_LISTS] = 2,  [ARROW_LIST_VIEWS] = 3,
    [ARROW_FIXED_LISTS] = 1, [ARROW_STRUCTS] = 1, [ARROW_MAPS] = 2,  [ARROW_SPARSE] = 1, [ARROW_DENSE] = 2};

Status arrow_check(const ArrowColumn *c, Err *e) {
    const struct ArrowSchema *s = c->schema;
    const struct ArrowArray *a = c->array;
    if (!s || !a || !s->release || !a->release || !s->format) return arrow_malformed(c, "it has been released", e);
    if (!s->dictionary != !a->dictionary || (s->dictionary && !is_int_format(s->format)))
        return arrow_malformed(c, "its dictionary", e);
    if (s->dictionary && s->dictionary->dictionary)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "the Arrow column of %s has a dictionary of dictionaries",
                       c->where);
    ArrowFormat format;
    if (!arrow_format(s->format, &format)) return arrow_mismatch(c, e);
    bool view = format.layout == ARROW_VIEWS, many = format.layout >= ARROW_STRUCTS && format.layout != ARROW_MAPS;
    int n = arrow_buffers[format.layout], n_children = arrow_is_nested(format.layout);
    if (a->length < 0 || a->offset < 0 || a->null_count < -1 || a->null_count > a->length)
        return arrow_malformed(c, "its length, offset or null count", e);
    if (c->first < a->offset || c->first - a->offset > a->length || c->n > a->length - (c->first - a->offset))
        return arrow_malformed(c, "it is shorter than the batch", e);
    if ((view ? a->n_buffers < n : a->n_buffers != n) || (n > 0 && !a->buffers))
        return arrow_malformed(c, "the number of its buffers", e);
    if ((many ? s->n_children < 0 : s->n_children != n_children) || a->n_children != s->n_children ||
        (s->n_children > 0 && (!s->children || !a->children)))
        return arrow_malformed(c, "the number of its children", e);
    if (arrow_is_union(format.layout)) {
        if (c->n > 0 && (!a->buffers[0] || !a->buffers[n - 1])) return arrow_malformed(c, "a buffer is missing", e);
        return ST_OK;
    }
    if (n > 0 && a->null_count > 0 && !a->buffers[0]) return arrow_malformed(c, "it has NULLs but no validity", e);
    int64_t needed = view ? a->n_buffers : format.layout == ARROW_LIST_VIEWS ? n : 2;
    for (int64_t i = 1; i < needed && n > 1 && c->n > 0; i++)
        if (!a->buffers[i] && (i == 1 || a->n_buffers > n)) return arrow_malformed(c, "a buffer is missing", e);
    return ST_OK;
}

Status arrow_check_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch, Err *e) {
    if (!schema || !batch || !schema->release || !batch->release)
        return err_set(e, ERR_INVALID_PARAMETER, "the Arrow batch has been released");
    if (!schema->format || strcmp(schema->format, "+s") != 0)
        return err_set(e, ERR_INVALID_PARAMETER, "an Arrow batch is a struct, format \"+s\"");
    if (batch->length < 0 || batch->offset < 0 || batch->n_buffers != 1 || schema->n_children < 0 ||
        schema->n_children != batch->n_children || (schema->n_children > 0 && (!schema->children || !batch->children)))
        return err_set(e, ERR_INVALID_PARAMETER, "the Arrow batch is malformed");
    if (batch->null_count != 0 && batch->buffers && batch->buffers[0])
        for (int64_t i = 0; i < batch->length; i++)
            if (!bit(batch->buffers[0], batch->offset + i))
                return err_set(e, ERR_INVALID_PARAMETER, "row %lld of the Arrow batch is NULL as a whole",
                               (long long)i + 1);
    return ST_OK;
}

Status arrow_bounds(const ArrowColumn *c, int64_t i, bool wide, int64_t *from, int64_t *to, Err *e) {
    const void *o = c->array->buffers[1];
    int64_t at = c->first + i;
    if (wide) *from = ((const int64_t *)o)[at], *to = ((const int64_t *)o)[at + 1];
    else *from = ((const int32_t *)o)[at], *to = ((const int32_t *)o)[at + 1];
    return *from < 0 || *to < *from || *to > OFFSET_MAX ? arrow_malformed(c, "its offsets", e) : ST_OK;
}

bool arrow_int_at(char format, const void *d, int64_t at, int64_t *v) {
    switch (format) {
    case 'c': *v = ((const int8_t *)d)[at]; return true;
    case 'C': *v = ((const uint8_t *)d)[at]; return true;
    case 's': *v = ((const int16_t *)d)[at]; return true;
    case 'S': *v = ((const uint16_t *)d)[at]; return true;
    case 'i': *v = ((const int32_t *)d)[at]; return true;
    case 'I': *v = ((const uint32_t *)d)[at]; return true;
    case 'l': *v = ((const int64_t *)d)[at]; return true;
    default: {
        uint64_t u = ((const uint64_t *)d)[at];
        *v = (int64_t)u;
        return u <= INT64_MAX;
    }
    }
}
static Status ints(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    static const int64_t lo[] = {[T_INT2] = INT16_MIN, [T_INT4] = INT32_MIN, [T_INT8] = INT64_MIN},
                         hi[] = {[T_INT2] = INT16_MAX, [T_INT4] = INT32_MAX, [T_INT8] = INT64_MAX};
    int64_t size = phys_size(type_phys(c->type)), v;
    if (!is_int_format(c->schema->format)) return arrow_mismatch(c, e);
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        if (!arrow_int_at(c->schema->format[0], c->array->buffers[1], c->first + i, &v) || v < lo[c->type.id] ||
            v > hi[c->type.id])
            return out_of_range(c, i, e);
        memcpy(cells + i * size, &v, (size_t)size); /* little-endian */
    }
    return ST_OK;
}

/* Of 16, 32 and 64 bits: 'e', 'f', 'g'. */
static bool is_float_format(const char *f) { return f[0] && !f[1] && strchr("efg", f[0]); }
static double float_at(char format, const void *d, int64_t at) {
    if (format == 'e') return (double)half_value((const uint16_t *)d + at);
    return format == 'f' ? (double)((const float *)d)[at] : ((const double *)d)[at];
}

/* A float as a cast to numeric(p,s) has it; true: it is out of range. */
static bool numeric_of_float(const ArrowColumn *c, int64_t at, int128_t *v) {
    const char form = c->schema->format[0];
    const double d = float_at(form, c->array->buffers[1], at);
    return form == 'g' ? numeric_from_f64(d, c->type.scale, v) : numeric_from_f32((float)d, c->type.scale, v);
}

static Status numerics(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    DecimalFormat decimal = {0};
    bool whole = is_int_format(f), real = is_float_format(f);
    if (!whole && !real && !decimal_format(f, &decimal)) return arrow_mismatch(c, e);
    int scale = real ? c->type.scale : decimal.scale;
    int64_t size = phys_size(type_phys(c->type));
    for (int64_t i = 0; i < c->n; i++) {
        int128_t v = 0, scaled;
        int64_t n;
        if (!valid[i]) continue;
        if (real) {
            if (numeric_of_float(c, c->first + i, &v)) return out_of_range(c, i, e);
        } else if (whole) {
            if (!arrow_int_at(f[0], c->array->buffers[1], c->first + i, &n)) v = (int128_t)(uint64_t)n;
            else v = n;
        } else if (!decimal_value(&decimal, c->array->buffers[1], c->first + i, &v)) {
            return out_of_range(c, i, e);
        }
        if (numeric_rescale(v, scale, c->type.scale, &scaled) || numeric_exceeds(scaled, c->type.precision))
            return out_of_range(c, i, e);
        memcpy(cells + i * size, &scaled, (size_t)size);
    }
    return ST_OK;
}

static Status floats(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    if (!is_float_format(f)) return arrow_mismatch(c, e);
    const char form = f[0]; /* the cells may not be taken for its text */
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        double v = float_at(form, c->array->buffers[1], c->first + i);
        float r = (float)v;
        if (c->type.id == T_FLOAT8) memcpy(cells + i * 8, &v, 8);
        else memcpy(cells + i * 4, &r, 4);
    }
    return ST_OK;
}

/* value * of / per, half away from zero; false: beyond 64 bits. */
static bool scale(int64_t v, int64_t of, int64_t per, int64_t *out) {
    int128_t x = (int128_t)v * of, half = per / 2;
    x = (x + (x < 0 ? -half : half)) / per;
    *out = (int64_t)x;
    return x > INT64_MIN && x < INT64_MAX;
}
/* A unit as a fraction of microseconds. */
static bool unit_of(char c, int64_t *of, int64_t *per) {
    *of = c == 's' ? 1000000 : c == 'm' ? 1000 : 1;
    *per = c == 'n' ? 1000 : 1;
    return c && strchr("smun", c);
}

/* A row's days or microseconds as Stele counts them; false: out of range. The ends of the range are infinities, as in
 * batches of Stele's own (arrow_out.c). narrow: of 32 bits. */
static bool time_of(const ArrowColumn *c, int64_t i, bool narrow, int64_t of, int64_t per, int64_t *v) {
    const void *d = c->array->buffers[1];
    bool day = c->type.id == T_DATE;
    int64_t raw = narrow ? ((const int32_t *)d)[c->first + i] : ((const int64_t *)d)[c->first + i];
    if (c->type.id != T_TIME && of == 1 && per == 1 && narrow == day &&
        (raw == (day ? INT32_MIN : INT64_MIN) || raw == (day ? INT32_MAX : INT64_MAX))) {
        *v = raw;
        return true;
    }
    if (day) {
        if (!narrow) raw = raw / 86400000 - (raw % 86400000 < 0); /* milliseconds */
        *v = raw - EPOCH_DAYS;
        return *v > INT32_MIN && *v < INT32_MAX;
    }
    if (!scale(raw, of, per, v)) return false;
    if (c->type.id == T_TIME) return *v >= 0 && *v <= DAY_MICROS;
    return !__builtin_sub_overflow(*v, EPOCH_MICROS, v) && *v != INT64_MIN && *v != INT64_MAX;
}

/* Days and microseconds since 1970; nanoseconds are rounded. */
static Status times(const ArrowColumn *c, char *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    bool zoned = c->type.id == T_TIMESTAMPTZ, day = c->type.id == T_DATE, moment = zoned || c->type.id == T_TIMESTAMP;
    int64_t of = 1, per = 1, size = day ? 4 : 8;
    if (day && strcmp(f, "tdD") != 0 && strcmp(f, "tdm") != 0) return arrow_mismatch(c, e);
    if (c->type.id == T_TIME && (strncmp(f, "tt", 2) != 0 || !unit_of(f[2], &of, &per))) return arrow_mismatch(c, e);
    if (moment && (strncmp(f, "ts", 2) != 0 || !unit_of(f[2], &of, &per) || f[3] != ':' || (f[4] != 0) != zoned))
        return arrow_mismatch(c, e); /* a zone says that values are in UTC */
    ArrowFormat format;
    (void)arrow_format(f, &format);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t v;
        if (!valid[i]) continue;
        if (!time_of(c, i, format.width == 4, of, per, &v)) return out_of_range(c, i, e);
        memcpy(cells + i * size, &v, (size_t)size);
    }
    return ST_OK;
}

/* Durations, and Arrow's intervals: months, days and milliseconds, or months, days and nanoseconds. */
static Status intervals(const ArrowColumn *c, Interval *cells, const uint8_t *valid, Err *e) {
    const char *f = c->schema->format;
    int64_t of = 1, per = 1;
    bool duration = strncmp(f, "tD", 2) == 0 && unit_of(f[2], &of, &per);
    if (!duration && strncmp(f, "ti", 2) != 0) return arrow_mismatch(c, e);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t at = c->first + i, nanos;
        const char *d = c->array->buffers[1];
        if (!valid[i]) continue;
        if (duration && !scale(((const int64_t *)(const void *)d)[at], of, per, &cells[i].micros))
            return out_of_range(c, i, e);
        if (duration) continue;
        if (f[2] == 'M') {
            memcpy(&cells[i].months, d + 4 * at, 4);
        } else if (f[2] == 'D') {
            int32_t millis;
            memcpy(&cells[i].days, d + 8 * at, 4);
            memcpy(&millis, d + 8 * at + 4, 4);
            cells[i].micros = millis * INT64_C(1000);
        } else {
            memcpy(&cells[i].months, d + 16 * at, 4);
            memcpy(&cells[i].days, d + 16 * at + 4, 4);
            memcpy(&nanos, d + 16 * at + 8, 8);
            if (!scale(nanos, 1, 1000, &cells[i].micros)) return out_of_range(c, i, e);
        }
    }
    return ST_OK;
}

/* ---- strings ------------------------------------------------------------------------------------------------ */
/* A row of strings that lie apart, in the column's buffers behind the first two (their sizes are in the last). */
static Status view_at(const ArrowColumn *c, int64_t i, Slice *out, Err *e) {
    const char *v = (const char *)c->array->buffers[1] + 16 * (c->first + i);
    int32_t len, buffer, from;
    memcpy(&len, v, 4);
    if (len < 0) return arrow_malformed(c, "a length", e);
    *out = (Slice){v + 4, len};
    if (len <= 12) return ST_OK;
    memcpy(&buffer, v + 8, 4);
    memcpy(&from, v + 12, 4);
    int64_t n = c->array->n_buffers - 3;
    if (buffer < 0 || buffer >= n || from < 0 ||
        from + (int64_t)len > ((const int64_t *)c->array->buffers[n + 2])[buffer])
        return arrow_malformed(c, "its offsets", e);
    out->ptr = (const char *)c->array->buffers[buffer + 2] + from;
    return ST_OK;
}
static Status string_at(const ArrowColumn *c, const ArrowFormat *f, int64_t i, Slice *out, Err *e) {
    int64_t from, to;
    if (f->layout == ARROW_VIEWS) return view_at(c, i, out, e);
    if (f->layout == ARROW_FIXED) {
        *out = (Slice){(const char *)c->array->buffers[1] + f->width * (c->first + i), f->width};
        return ST_OK;
    }
    TRY(arrow_bounds(c, i, f->wide, &from, &to, e));
    if (to > from && !c->array->buffers[2]) return arrow_malformed(c, "a buffer is missing", e);
    *out = to > from ? (Slice){(const char *)c->array->buffers[2] + from, to - from} : (Slice){"", 0};
    return ST_OK;
}

/* One string, converted to the type. */
static Status put_string(const ArrowColumn *c, int64_t i, Slice s, Arena *a, Str *cell, Err *e) {
    char *copy = arena_strndup(a, s.ptr, s.len);
    Value v;
    if (!copy) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (c->type.id == T_BYTEA) {
        if (s.len > UINT32_MAX) return out_of_range(c, i, e);
        *cell = str_make(copy, s.len);
        return ST_OK;
    }
    if (utf8_check(copy, s.len) >= 0)
        err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"");
    if (err_is_set(e) || value_from_text(c->type, (Slice){copy, s.len}, NULL, a, &v, e) != ST_OK)
        return in_row(c, i, e);
    *cell = v.u.str;
    return ST_OK;
}

/* The column's bytes in one piece; NULL: they do not lie so, or are not all good text, and rows go one by one. */
static char *copy_whole(const ArrowColumn *c, const ArrowFormat *f, Arena *a, int64_t *from) {
    int64_t to, end;
    Err ignored = {0};
    if (f->layout != ARROW_STRINGS || c->n < 2 || !c->array->buffers[2]) return NULL;
    if (arrow_bounds(c, 0, f->wide, from, &to, &ignored) != ST_OK) return NULL;
    if (arrow_bounds(c, c->n - 1, f->wide, &to, &end, &ignored) != ST_OK || end < *from) return NULL;
    const char *bytes = (const char *)c->array->buffers[2] + *from;
    if (c->type.id != T_BYTEA && utf8_check(bytes, end - *from) >= 0) return NULL;
    return arena_strndup(a, bytes, end - *from);
}

static Status texts(const ArrowColumn *c, Arena *a, Str *cells, const uint8_t *valid, Err *e) {
    ArrowFormat f;
    bool bytes = c->type.id == T_BYTEA, known = arrow_format(c->schema->format, &f);
    bool fits = f.layout == ARROW_FIXED ? bytes && c->schema->format[0] == 'w'
                                        : f.has_type && f.type.id == (bytes ? T_BYTEA : T_TEXT);
    if (!known || !fits) return arrow_mismatch(c, e);
    int64_t start = 0;
    char *whole = bytes || c->type.id == T_TEXT ? copy_whole(c, &f, a, &start) : NULL;
    for (int64_t i = 0; i < c->n; i++) {
        Slice s = {"", 0};
        if (!valid[i]) continue;
        TRY(string_at(c, &f, i, &s, e));
        int64_t at = whole && s.len ? s.ptr - (const char *)c->array->buffers[2] - start : 0;
        /* a text that begins or ends within a character goes the long way, which refuses it */
        bool cut = whole && !bytes && s.len && ((whole[at] & 0xC0) == 0x80 || (whole[at + s.len] & 0xC0) == 0x80);
        if (whole && !cut && s.len <= UINT32_MAX) cells[i] = str_make(whole + at, s.len);
        else TRY(put_string(c, i, s, a, &cells[i], e));
    }
    return ST_OK;
}

/* Numerics without (p,s): of whole numbers, decimals, floats and texts. */
static Status decimal_at(const ArrowColumn *c, const ArrowFormat *format, int64_t i, Arena *a, Dec *out, Err *e) {
    const char *f = c->schema->format;
    const void *data = c->array->buffers[1];
    DecimalFormat decimal;
    int64_t at = c->first + i, n;
    if (is_int_format(f))
        return dec_from_i128(a, arrow_int_at(f[0], data, at, &n) ? n : (int128_t)(uint64_t)n, 0, out, e);
    if (strcmp(f, "g") == 0) return dec_from_f64(a, ((const double *)data)[at], out, e);
    if (is_float_format(f)) return dec_from_f32(a, (float)float_at(f[0], data, at), out, e);
    if (format->type.id == T_TEXT) {
        Slice s;
        TRY(string_at(c, format, i, &s, e));
        return dec_parse(a, s, out, e);
    }
    int128_t v;
    if (!decimal_format(f, &decimal)) return arrow_mismatch(c, e);
    if (!decimal_value(&decimal, data, at, &v)) return out_of_range(c, i, e);
    return dec_from_i128(a, v, decimal.scale, out, e);
}
static Status decimals(const ArrowColumn *c, Arena *a, Str *cells, const uint8_t *valid, Err *e) {
    ArrowFormat format;
    (void)arrow_format(c->schema->format, &format);
    for (int64_t i = 0; i < c->n; i++) {
        Dec d;
        if (!valid[i]) continue;
        TRY(decimal_at(c, &format, i, a, &d, e));
        TRY(dec_fit(a, c->type, &d, e));
        TRY(dec_encode(a, &d, &cells[i], e));
    }
    return ST_OK;
}

static void words_release(struct ArrowArray *x) { (void)x; }
void arrow_words_init(ArrowWords *out, Type type, int64_t n, const char *cells, const uint8_t *valid) {
    *out = (ArrowWords){
        .array = {.length = n, .release = words_release}, .type = type, .n = n, .cells = cells, .valid = valid};
}

/* The dictionary of a column as cells. */
static Status words_of(const ArrowColumn *c, Arena *a, ArrowWords *out, Err *e) {
    ArrowColumn d = *c;
    TRY(stack_check(e));
    d.schema = c->schema->dictionary;
    d.array = c->array->dictionary;
    if (d.array->release == words_release) {
        *out = *(const ArrowWords *)d.array;
        if (type_phys(out->type) == type_phys(c->type)) return ST_OK;
        return err_internal(e, "a dictionary of another type");
    }
    d.first = arrow_start(0, d.array);
    d.n = d.array->length;
    d.within = NULL;
    TRY(arrow_check(&d, e));
    char *cells = arena_calloc(a, d.n * phys_size(type_phys(c->type)) + 16);
    uint8_t *valid = arena_alloc(a, d.n + 1);
    if (!cells || !valid) return err_is_set(e) ? ST_ERROR : err_oom(e);
    arrow_words_init(out, c->type, d.n, cells, valid);
    return arrow_convert(&d, a, cells, valid, e);
}

/* Codes into a column of their own. */
static Status coded(const ArrowColumn *c, Arena *a, char *cells, uint8_t *valid, Err *e) {
    ArrowWords w = {0};
    int64_t size = phys_size(type_phys(c->type)), code;
    TRY(words_of(c, a, &w, e));
    for (int64_t i = 0; i < c->n; i++) {
        if (!valid[i]) continue;
        if (!arrow_int_at(c->schema->format[0], c->array->buffers[1], c->first + i, &code) || code < 0 || code >= w.n)
            return arrow_malformed(c, "a code that is not in its dictionary", e);
        valid[i] = w.valid[code];
        if (valid[i]) memcpy(cells + i * size, w.cells + code * size, (size_t)size);
    }
    return ST_OK;
}

/* Cells (zeroed) and valid[] of the column, which has been checked. */
Status arrow_convert(const ArrowColumn *c, Arena *a, void *cells, uint8_t *valid, Err *e) {
    if (strcmp(c->schema->format, "+r") == 0) return arrow_runs(c, a, cells, valid, e);
    if (c->schema->format[0] == '+' && type_is_json(c->type)) return arrow_json(c, a, cells, valid, e);
    if (strcmp(c->schema->format, "n") == 0) {
        memset(valid, 0, (size_t)c->n);
        return ST_OK;
    }
    arrow_valid(c, valid);
    if (c->schema->dictionary) return coded(c, a, cells, valid, e);
    switch ((TypeId)c->type.id) {
    case T_BOOL:
        if (strcmp(c->schema->format, "b") != 0) return arrow_mismatch(c, e);
        for (int64_t i = 0; i < c->n; i++) ((uint8_t *)cells)[i] = valid[i] && bit(c->array->buffers[1], c->first + i);
        return ST_OK;
    case T_INT2:
    case T_INT4:
    case T_INT8: return ints(c, cells, valid, e);
    case T_NUMERIC: return numerics(c, cells, valid, e);
    case T_DECIMAL: return decimals(c, a, cells, valid, e);
    case T_FLOAT4:
    case T_FLOAT8: return floats(c, cells, valid, e);
    case T_DATE:
    case T_TIME:
    case T_TIMESTAMP:
    case T_TIMESTAMPTZ: return times(c, cells, valid, e);
    case T_INTERVAL: return intervals(c, cells, valid, e);
    case T_CHAR:
    case T_VARCHAR:
    case T_TEXT:
    case T_BYTEA:
    case T_JSON:
    case T_JSONB: return texts(c, a, cells, valid, e);
    case T_UUID:
        if (strcmp(c->schema->format, "w:16") != 0) return arrow_mismatch(c, e);
        for (int64_t i = 0; i < c->n; i++)
            if (valid[i]) memcpy((char *)cells + 16 * i, (const char *)c->array->buffers[1] + 16 * (c->first + i), 16);
        return ST_OK;
    case T_ARRAY: return arrow_lists(c, a, cells, valid, e);
    default: return arrow_mismatch(c, e);
    }
}

/* ---- types -------------------------------------------------------------------------------------------------- */
/* A text of Arrow's metadata, which moves behind it. */
static Slice metadata_text(const char **at) {
    int32_t n;
    memcpy(&n, *at, sizeof n);
    Slice s = {*at + sizeof n, MAX_OF(n, 0)};
    *at = s.ptr + s.len;
    return s;
}
static bool has_numeric_mark(const char *metadata) {
    int32_t n = 0;
    if (metadata) memcpy(&n, metadata, sizeof n);
    const char *at = metadata ? metadata + sizeof n : NULL;
    for (; n > 0; n--) {
        Slice key = metadata_text(&at), value = metadata_text(&at);
        if (slice_eq(key, slice_of(ARROW_TYPE_KEY))) return slice_eq(value, slice_of(ARROW_NUMERIC));
    }
    return false;
}
static Type type_of(const ArrowFormat *f, const struct ArrowSchema *s) {
    return f->type.id == T_TEXT && has_numeric_mark(s->metadata) ? type_make(T_DECIMAL) : f->type;
}
/* Of a list: decimals that say so are numerics without (p,s). */
static Type type_of_elements(const ArrowFormat *f, const struct ArrowSchema *s) {
    Type t = type_of(f, s);
    if (t.id == T_NUMERIC && has_numeric_mark(s->metadata)) t.flags |= TF_UNCONSTRAINED;
    return t;
}

static Status type_in(const struct ArrowSchema *column, const struct ArrowSchema *s, int depth, Type *out, Err *e);

/* Whether values are nested, or runs of nested ones. Its type is known. */
static bool has_members(const struct ArrowSchema *s) {
    while (!s->dictionary && strcmp(s->format, "+r") == 0) s = s->children[1];
    return !s->dictionary && s->format[0] == '+';
}

/* Of what is nested: an array, or jsonb where all that it has within has a type. */
static Status nested_type_in(const struct ArrowSchema *column, const struct ArrowSchema *s, ArrowLayout layout,
                             int depth, Type *out, Err *e) {
    Type item = {0};
    bool list = arrow_is_list(layout);
    for (int64_t i = 0; i < s->n_children; i++) TRY(type_in(column, s->children[i], depth + 1, &item, e));
    *out = type_make(T_JSONB);
    const struct ArrowSchema *child = list ? s->children[0] : NULL;
    if (!list || item.id == T_ARRAY || has_members(child)) return ST_OK;
    ArrowFormat format;
    bool plain = !child->dictionary && arrow_format(child->format, &format) && format.has_type;
    *out = type_array_of(plain ? type_of_elements(&format, child) : item);
    return ST_OK;
}

/* The type of a column or of something within it. */
static Status type_in(const struct ArrowSchema *column, const struct ArrowSchema *s, int depth, Type *out, Err *e) {
    const struct ArrowSchema *v = s && s->dictionary ? s->dictionary : s;
    const char *f = v && v->format && s->release ? v->format : "";
    ArrowFormat format;
    TRY(stack_check(e));
    bool known = arrow_format(f, &format) && depth < NESTED_DEPTH;
    if (known && format.has_type) {
        *out = type_of(&format, s);
        return ST_OK;
    }
    bool nested = known && arrow_is_nested(format.layout) && (v->children || v->n_children == 0);
    if (nested && arrow_is_list(format.layout)) nested = v->n_children == 1;
    if (nested && format.layout == ARROW_RUNS) {
        if (v->n_children == 2) return type_in(column, v->children[1], depth + 1, out, e);
        nested = false;
    }
    if (nested && format.layout == ARROW_MAPS)
        nested = v->n_children == 1 && v->children[0] && v->children[0]->n_children == 2;
    if (nested && arrow_is_union(format.layout)) nested = v->n_children > 0;
    if (nested) return nested_type_in(column, v, format.layout, depth, out, e);
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED,
                   "no SQL type corresponds to the Arrow column \"%.60s\" of format \"%.60s\"",
                   column->name ? column->name : "", f);
}
Status arrow_type(const struct ArrowSchema *s, Type *out, Err *e) { return type_in(s, s, 0, out, e); }
