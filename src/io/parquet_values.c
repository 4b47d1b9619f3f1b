/* parquet_values.c - encoded values of Parquet pages as cells.
 *
 * The commonest forms have loops of their own without branches that depend on data; they look at all values before they
 * say that one is wrong, and the slow loop finds out which. Loads go up to 8 bytes beyond a value, which the padding
 * behind every buffer allows.
 */
#include "io/half.h"
#include "io/parquet_int.h"

#include "types/json.h"

static const int64_t days_1970_2000 = 10957, micros_1970_2000 = INT64_C(946684800) * 1000000;

static inline uint32_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}
static inline uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static NOINLINE Status ends_early(Err *e) { return err_set(e, ERR_BAD_COPY, "the values of a page end early"); }

/* ---- one value --------------------------------------------------------------------------------------------------- */

/* Big-endian, in two's complement. */
static Status decimal_of(const ParquetColumn *c, const uint8_t *p, int64_t n, void *cell, Err *e) {
    int128_t v = n > 0 && (p[0] & 0x80) ? -1 : 0;
    uint8_t sign = (uint8_t)v;
    while (n > 16 && p[0] == sign && ((p[1] ^ sign) & 0x80) == 0) p++, n--;
    for (int64_t i = 0; i < n && n <= 16; i++) v = (int128_t)((uint128_t)v << 8 | p[i]);
    if (n > 16 || numeric_exceeds(v, c->type.precision))
        return err_set(e, ERR_BAD_COPY, "a value has more digits than %d", (int)c->type.precision);
    if (type_phys(c->type) == PH_I64) *(int64_t *)cell = (int64_t)v;
    else *(int128_t *)cell = v;
    return ST_OK;
}

static Status decimal_of_int(const ParquetColumn *c, int64_t v, void *cell, Err *e) {
    if (type_phys(c->type) == PH_I64) *(int64_t *)cell = v;
    else *(int128_t *)cell = v;
    if (!numeric_exceeds(v, c->type.precision)) return ST_OK;
    return err_set(e, ERR_BAD_COPY, "a value has more digits than %d", (int)c->type.precision);
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static Status stamp_of(const ParquetColumn *c, int64_t v, int64_t *out, Err *e) {
    int64_t scaled;
    if (__builtin_mul_overflow(v, c->multiply, &scaled) ||
        __builtin_sub_overflow(floor_div(scaled, c->divide), micros_1970_2000, out))
        return err_set(e, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    return ST_OK;
}

static Status time_of(const ParquetColumn *c, int64_t v, int64_t *out, Err *e) {
    if (v < 0 || v > USECS_PER_DAY / c->multiply * c->divide)
        return err_set(e, ERR_DATETIME_OVERFLOW, "time out of range");
    *out = v * c->multiply / c->divide;
    return ST_OK;
}

/* Nanoseconds of a Julian day. */
static Status int96_of(const uint8_t *p, int64_t *out, Err *e) {
    int64_t nanos = (int64_t)load64(p), day = (int32_t)load32(p + 8), start;
    if (__builtin_mul_overflow(day - 2451545, USECS_PER_DAY, &start) ||
        __builtin_add_overflow(start, floor_div(nanos, 1000), out))
        return err_set(e, ERR_DATETIME_OVERFLOW, "timestamp out of range");
    return ST_OK;
}

static Status text_of(const ParquetColumn *c, const uint8_t *p, int64_t n, Str *out, Err *e) {
    if ((c->form == PF_TEXT || c->form == PF_JSON) && utf8_check((const char *)p, n) >= 0)
        return err_set(e, ERR_CHAR_NOT_IN_REPERTOIRE, "a text is no UTF-8");
    if (c->form == PF_JSON) TRY(json_check((Slice){(const char *)p, n}, e));
    *out = str_make((const char *)p, n);
    return ST_OK;
}

/* A value of the column's length. */
static Status cell_of(const ParquetColumn *c, const uint8_t *p, void *cell, Err *e) {
    bool wide = c->physical == PP_INT64;
    int64_t v = wide ? (int64_t)load64(p) : (int32_t)load32(p);
    switch (c->form) {
    case PF_I16: *(int16_t *)cell = (int16_t)v; return ST_OK;
    case PF_I32:
    case PF_F32: memcpy(cell, p, 4); return ST_OK;
    case PF_U32: *(int64_t *)cell = (uint32_t)v; return ST_OK;
    case PF_I64:
    case PF_F64: memcpy(cell, p, 8); return ST_OK;
    case PF_U64: *(int128_t *)cell = (uint64_t)v; return ST_OK;
    case PF_DATE: *(int32_t *)cell = (int32_t)MAX_OF(v - days_1970_2000, (int64_t)INT32_MIN + 1); return ST_OK;
    case PF_TIME: return time_of(c, v, cell, e);
    case PF_STAMP: return stamp_of(c, v, cell, e);
    case PF_INT96: return int96_of(p, cell, e);
    case PF_F16: *(float *)cell = half_value(p); return ST_OK;
    case PF_FIXED: *(Str *)cell = str_make((const char *)p, c->length); return ST_OK;
    case PF_UUID: memcpy(cell, p, 16); return ST_OK;
    case PF_DECIMAL: break;
    case PF_BOOL:
    case PF_TEXT:
    case PF_JSON:
    case PF_BYTES: return err_internal(e, "a Parquet value of no length");
    }
    return c->physical == PP_FIXED ? decimal_of(c, p, c->length, cell, e) : decimal_of_int(c, v, cell, e);
}

/* ---- many of one length ------------------------------------------------------------------------------------------ */

/* Decimals of up to 18 digits in up to 8 bytes, as parquet-mr and Arrow write them; false: one has too many digits. */
static bool small_decimals(const ParquetColumn *c, const uint8_t *p, int64_t n, int64_t *cells) {
    int shift = 64 - 8 * c->length;
    int64_t most = (int64_t)pow10_i128[c->type.precision];
    bool bad = false;
    for (int64_t i = 0; i < n; i++, p += c->length) {
        int64_t v = (int64_t)__builtin_bswap64(load64(p)) >> shift;
        bad |= v >= most || v <= -most;
        cells[i] = v;
    }
    return !bad;
}

static bool int_decimals(const ParquetColumn *c, const uint8_t *p, int64_t n, int64_t *cells) {
    int64_t most = (int64_t)pow10_i128[c->type.precision];
    bool bad = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t v = c->physical == PP_INT64 ? (int64_t)load64(p + 8 * i) : (int32_t)load32(p + 4 * i);
        bad |= v >= most || v <= -most;
        cells[i] = v;
    }
    return !bad;
}

static void dates(const uint8_t *p, int64_t n, int32_t *cells) {
    for (int64_t i = 0; i < n; i++) {
        int32_t v = (int32_t)load32(p + 4 * i);
        int32_t least = INT32_MIN + 1 + (int32_t)days_1970_2000;
        cells[i] = MAX_OF(v, least) - (int32_t)days_1970_2000;
    }
}

/* False: there is no loop for the form, or a value is wrong. */
static bool many_cells(const ParquetColumn *c, const uint8_t *p, int64_t n, void *cells) {
    switch (c->form) {
    case PF_I32:
    case PF_F32: memcpy(cells, p, (size_t)n * 4); return true;
    case PF_I64:
    case PF_F64: memcpy(cells, p, (size_t)n * 8); return true;
    case PF_DATE: dates(p, n, cells); return true;
    case PF_DECIMAL:
        if (type_phys(c->type) != PH_I64) return false;
        if (c->physical != PP_FIXED) return int_decimals(c, p, n, cells);
        return c->length <= 8 && small_decimals(c, p, n, cells);
    default: return false;
    }
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

/* Whether all bytes are 1 to 127: most texts, which need no closer look. Reads up to 7 bytes beyond them. */
static inline bool is_plain_text(const uint8_t *p, int64_t n) {
    const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
    uint64_t bad = 0;
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t w = load64(p);
        bad |= w | (w - ones);
    }
    if (n > 0) {
        uint64_t keep = (UINT64_C(1) << (8 * n)) - 1, w = (load64(p) & keep) | (ones & ~keep);
        bad |= w | (w - ones);
    }
    return (bad & high) == 0;
}

/* 4 bytes of length, and so many more. */
static Status strings(const ParquetColumn *c, const uint8_t **at, const uint8_t *end, int64_t n, void *cells, Err *e) {
    const uint8_t *p = *at;
    bool text = c->form == PF_TEXT, json = c->form == PF_JSON, decimal = c->form == PF_DECIMAL;
    int64_t size = phys_size(type_phys(c->type));
    for (int64_t i = 0; i < n; i++) {
        if (end - p < 4) return ends_early(e);
        int64_t len = load32(p);
        p += 4;
        if (len > end - p) return ends_early(e);
        if (decimal) TRY(decimal_of(c, p, len, (char *)cells + i * size, e));
        else if (!json && (!text || is_plain_text(p, len))) ((Str *)cells)[i] = str_make((const char *)p, len);
        else TRY(text_of(c, p, len, (Str *)cells + i, e));
        p += len;
    }
    *at = p;
    return ST_OK;
}

Status parquet_cells(const ParquetColumn *c, const uint8_t **at, const uint8_t *end, int64_t n, void *cells, Err *e) {
    const uint8_t *p = *at;
    if (c->physical == PP_BYTE_ARRAY) return strings(c, at, end, n, cells, e);
    if (n > (end - p) / c->length) return ends_early(e);
    *at = p + n * c->length;
    if (many_cells(c, p, n, cells)) return ST_OK;
    int64_t size = phys_size(type_phys(c->type));
    for (int64_t i = 0; i < n; i++) TRY(cell_of(c, p + i * c->length, (char *)cells + i * size, e));
    return ST_OK;
}

Status parquet_cells_skip(const ParquetColumn *c, const uint8_t **at, const uint8_t *end, int64_t n, Err *e) {
    const uint8_t *p = *at;
    if (c->physical != PP_BYTE_ARRAY) {
        if (n > (end - p) / c->length) return ends_early(e);
        *at = p + n * c->length;
        return ST_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t len = end - p < 4 ? -1 : (int64_t)load32(p);
        if (len < 0 || len > end - p - 4) return ends_early(e);
        p += 4 + len;
    }
    *at = p;
    return ST_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

void parquet_runs_init(ParquetRuns *r, const uint8_t *p, const uint8_t *end, int width) {
    *r = (ParquetRuns){.p = p, .end = end, .width = width};
}

/* The next run's head; false: there is none. */
static bool next_run(ParquetRuns *r) {
    uint64_t head = 0;
    if (r->packed) r->p += MIN_OF((r->bit + 7) / 8, (int64_t)(r->end - r->p));
    r->packed = false;
    for (int shift = 0;; shift += 7) {
        if (r->p >= r->end || shift > 28) return false;
        uint8_t b = *r->p++;
        head |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80)) break;
    }
    r->left = (int64_t)(head >> 1);
    if (head & 1) {
        /* groups of 8; the last ones may be cut off */
        int64_t there = r->width ? (int64_t)(r->end - r->p) * 8 / r->width : INT64_MAX;
        r->left = MIN_OF(r->left * 8, there);
        r->packed = true;
        r->bit = 0;
        return r->left > 0;
    }
    int bytes = (r->width + 7) / 8;
    if (r->end - r->p < bytes) return false;
    r->value = 0;
    memcpy(&r->value, r->p, (size_t)bytes);
    r->p += bytes;
    return true;
}

/* n numbers of `width` bits from bit number `bit` on: as many at a time as 57 bits, which are loaded wherever they
 * begin, have. */
static inline void unpack(const uint8_t *p, int64_t bit, int width, int64_t n, uint32_t *out) {
    uint64_t mask = (UINT64_C(1) << width) - 1;
    int64_t i = 0;
    const int per = width <= 7 ? 8 : width <= 14 ? 4 : width <= 28 ? 2 : 1;
    for (; i + per <= n; i += per, bit += per * width) {
        uint64_t v = load64(p + bit / 8) >> (bit % 8);
#pragma GCC unroll 8
        for (int k = 0; k < per; k++) out[i + k] = (uint32_t)(v >> (k * width) & mask);
    }
    for (; i < n; i++, bit += width) out[i] = (uint32_t)(load64(p + bit / 8) >> (bit % 8) & mask);
}

/* The width known to the compiler, for the commonest ones. */
static void unpack_any(const uint8_t *p, int64_t bit, int width, int64_t n, uint32_t *out) {
#define WIDTH(w) \
    case w: unpack(p, bit, w, n, out); break;
    switch (width) {
        WIDTH(1)
        WIDTH(2)
        WIDTH(3)
        WIDTH(4)
        WIDTH(5)
        WIDTH(6)
        WIDTH(7)
        WIDTH(8)
        WIDTH(9)
        WIDTH(10)
        WIDTH(11)
        WIDTH(12)
        WIDTH(13)
        WIDTH(14)
        WIDTH(15)
        WIDTH(16)
    default: unpack(p, bit, width, n, out); break;
    }
#undef WIDTH
}

bool parquet_runs_read(ParquetRuns *r, int64_t n, uint32_t *out) {
    while (n > 0) {
        if (r->left == 0 && !next_run(r)) return false;
        int64_t m = MIN_OF(n, r->left);
        if (out && r->packed) unpack_any(r->p, r->bit, r->width, m, out);
        for (int64_t i = 0; out && !r->packed && i < m; i++) out[i] = r->value;
        r->bit += r->packed ? m * r->width : 0;
        r->left -= m;
        n -= m;
        if (out) out += m;
    }
    return true;
}

bool parquet_runs_bits(ParquetRuns *r, int64_t n, uint8_t *out, int64_t *ones) {
    *ones = 0;
    if (r->left >= n && !r->packed && r->value == 1) {
        r->left -= n;
        *ones = n;
        return true;
    }
    while (n > 0) {
        if (r->left == 0 && !next_run(r)) return false;
        int64_t m = MIN_OF(n, r->left);
        if (!r->packed) {
            memset(out, (int)(r->value & 1), (size_t)m);
            *ones += (int64_t)(r->value & 1) * m;
        }
        for (int64_t i = 0; r->packed && i < m; i++) {
            out[i] = r->p[(r->bit + i) / 8] >> ((r->bit + i) % 8) & 1;
            *ones += out[i];
        }
        r->bit += r->packed ? m : 0;
        r->left -= m;
        n -= m;
        out += m;
    }
    return true;
}
