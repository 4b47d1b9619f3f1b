/* parquet_delta.c - the encodings of Parquet that store differences, or the bytes of numbers apart: a page's values are
 * brought into PLAIN encoding, so that there is one way from values to cells.
 *
 * DELTA_BINARY_PACKED: a head (values of a block, miniblocks of a block, values, the first value), then blocks: the
 * least difference, the widths of the miniblocks, the differences less the least, packed.
 * DELTA_LENGTH_BYTE_ARRAY: lengths as such numbers, then all bytes.
 * DELTA_BYTE_ARRAY: how many bytes each value has in common with the one before, as such numbers; then the rest of each
 * as DELTA_LENGTH_BYTE_ARRAY.
 * BYTE_STREAM_SPLIT: the first bytes of all values, then the second ones ...
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
#include "io/parquet_int.h"

enum { MINIBLOCK_MAX = 1 << 20 };
static const int64_t most_bytes = INT64_C(1) << 30; /* of a page's strings */

static NOINLINE Status damaged(Err *e) { return err_set(e, ERR_BAD_COPY, "the differences of a page are damaged"); }

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 70 && *at < end; shift += 7) {
        uint8_t b = *(*at)++;
        if (shift < 64) *out |= (uint64_t)(b & 0x7F) << shift;
        if (!(b & 0x80)) return true;
    }
    return false;
}

static bool zigzag(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    uint64_t v;
    if (!varint(at, end, &v)) return false;
    *out = (v >> 1) ^ (0 - (v & 1));
    return true;
}

/* A number of up to 64 bits. Up to 15 bytes behind it are read. */
static uint64_t packed(const uint8_t *p, int64_t bit, int width) {
    uint64_t low, high;
    int shift = (int)(bit % 8);
    if (width == 0) return 0;
    memcpy(&low, p + bit / 8, 8);
    memcpy(&high, p + bit / 8 + 8, 8);
    uint64_t v = low >> shift | (shift ? high << (64 - shift) : 0);
    return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

typedef struct DeltaHead {
    uint64_t block, minis, count, value;
} DeltaHead;

/* One miniblock's values, as many as are missing. */
static bool miniblock(const uint8_t **at, const uint8_t *end, int width, int64_t per, uint64_t least, int64_t *left,
                      uint64_t *value, int64_t **out) {
    int64_t n = MIN_OF(per, *left), bytes = (per * width + 7) / 8, there = end - *at;
    if (width > 64 || (n * width + 7) / 8 > there) return false;
    for (int64_t i = 0; i < n; i++) {
        *value += least + packed(*at, i * width, width);
        *(*out)++ = (int64_t)*value;
    }
    *left -= n;
    *at += MIN_OF(bytes, there); /* the last one may be cut off */
    return true;
}

/* At most `most` numbers in a new array, of which there are *n. */
static Status numbers(const uint8_t **at, const uint8_t *end, int64_t most, MemAccount *account, int64_t **out,
                      int64_t *n, Err *e) {
    DeltaHead h;
    *out = NULL;
    *n = 0;
    if (!varint(at, end, &h.block) || !varint(at, end, &h.minis) || !varint(at, end, &h.count) ||
        !zigzag(at, end, &h.value))
        return damaged(e);
    if (h.count > (uint64_t)most || h.minis == 0 || h.minis > h.block || h.block / h.minis > MINIBLOCK_MAX ||
        h.minis > 4096)
        return damaged(e);
    if (!(*out = mem_alloc_raw(account, MAX_OF(most, 1) * 8, e))) return ST_ERROR;
    int64_t *o = *out, left = (int64_t)h.count - 1, per = (int64_t)(h.block / h.minis);
    if (h.count > 0) *o++ = (int64_t)h.value;
    while (left > 0) {
        uint64_t least;
        const uint8_t *widths;
        if (!zigzag(at, end, &least) || end - *at < (int64_t)h.minis) return damaged(e);
        widths = *at;
        *at += h.minis;
        for (uint64_t m = 0; m < h.minis && left > 0; m++)
            if (!miniblock(at, end, widths[m], per, least, &left, &h.value, &o)) return damaged(e);
    }
    *n = (int64_t)h.count;
    return ST_OK;
}

static Status from_numbers(const ParquetColumn *c, const uint8_t *at, const uint8_t *end, int64_t most, IoBuffer *out,
                           MemAccount *account, int64_t *size, Err *e) {
    int64_t *v, n;
    bool ints = c->physical == PP_INT32 || c->physical == PP_INT64;
    if (!ints) return err_set(e, ERR_BAD_COPY, "differences of numbers in a column that has none");
    Status st = numbers(&at, end, most, account, &v, &n, e);
    if (st == ST_OK) st = io_buffer(out, account, n * c->length, e);
    for (int64_t i = 0; st == ST_OK && i < n; i++) memcpy(out->p + i * c->length, &v[i], (size_t)c->length);
    *size = n * c->length;
    if (v) mem_free(account, v, MAX_OF(most, 1) * 8);
    return st;
}

/* Strings of given lengths, each with the first bytes of the one before. prefixes NULL: none. */
static Status put_strings(const ParquetColumn *c, const uint8_t *at, const uint8_t *end, const int64_t *prefixes,
                          const int64_t *lengths, int64_t n, IoBuffer *out, MemAccount *account, int64_t *size,
                          Err *e) {
    int64_t head = c->physical == PP_BYTE_ARRAY ? 4 : 0, before = 0, there = end - at, total = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t prefix = prefixes ? prefixes[i] : 0, len = lengths[i];
        if (prefix < 0 || prefix > before || len < 0 || len > there) return damaged(e);
        if (head == 0 && prefix + len != c->length) return damaged(e);
        there -= len;
        before = prefix + len;
        total += head + before;
        if (total > most_bytes)
            return err_set(e, ERR_PROGRAM_LIMIT, "a page is larger than %lld bytes", (long long)most_bytes);
    }
    TRY(io_buffer(out, account, total, e));
    uint8_t *w = out->p, *last = w;
    for (int64_t i = 0; i < n; i++) {
        int64_t prefix = prefixes ? prefixes[i] : 0;
        uint32_t len = (uint32_t)(prefix + lengths[i]);
        memcpy(w, &len, (size_t)head);
        memcpy(w + head, last, (size_t)prefix);
        memcpy(w + head + prefix, at, (size_t)lengths[i]);
        last = w + head;
        at += lengths[i];
        w += head + len;
    }
    *size = total;
    return ST_OK;
}

static Status from_strings(const ParquetColumn *c, bool prefixed, const uint8_t *at, const uint8_t *end, int64_t most,
                           IoBuffer *out, MemAccount *account, int64_t *size, Err *e) {
    int64_t *prefixes = NULL, *lengths = NULL, n = 0, n_prefixes = 0;
    Status st = ST_OK;
    if (c->physical != PP_BYTE_ARRAY && !(prefixed && c->physical == PP_FIXED))
        return err_set(e, ERR_BAD_COPY, "differences of strings in a column that has none");
    if (prefixed) st = numbers(&at, end, most, account, &prefixes, &n_prefixes, e);
    if (st == ST_OK) st = numbers(&at, end, most, account, &lengths, &n, e);
    if (st == ST_OK && prefixed && n != n_prefixes) st = damaged(e);
    if (st == ST_OK) st = put_strings(c, at, end, prefixes, lengths, n, out, account, size, e);
    if (prefixes) mem_free(account, prefixes, MAX_OF(most, 1) * 8);
    if (lengths) mem_free(account, lengths, MAX_OF(most, 1) * 8);
    return st;
}

static Status from_streams(const ParquetColumn *c, const uint8_t *at, const uint8_t *end, IoBuffer *out,
                           MemAccount *account, int64_t *size, Err *e) {
    if (c->length == 0) return err_set(e, ERR_BAD_COPY, "bytes of numbers in a column that has none");
    int64_t n = (end - at) / c->length;
    TRY(io_buffer(out, account, n * c->length, e));
    for (int64_t k = 0; k < c->length; k++)
        for (int64_t i = 0; i < n; i++) out->p[i * c->length + k] = at[k * n + i];
    *size = n * c->length;
    return ST_OK;
}

Status parquet_to_plain(const ParquetColumn *c, int encoding, const uint8_t *at, const uint8_t *end, int64_t n,
                        IoBuffer *out, MemAccount *account, int64_t *size, Err *e) {
    switch (encoding) {
    case PE_DELTA_BINARY_PACKED: return from_numbers(c, at, end, n, out, account, size, e);
    case PE_DELTA_LENGTH_BYTE_ARRAY: return from_strings(c, false, at, end, n, out, account, size, e);
    case PE_DELTA_BYTE_ARRAY: return from_strings(c, true, at, end, n, out, account, size, e);
    case PE_BYTE_STREAM_SPLIT: return from_streams(c, at, end, out, account, size, e);
    default: break;
    }
    return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "values are encoded in a way that is not known (%d)", encoding);
}
