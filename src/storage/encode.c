/* encode.c - cells of one column as the bytes that a main tablet has of it (tablet.h).
 *
 * enc_*() turn runs of raw cells into one column's final bytes, which tablet_lay_out() puts into a block. What is read
 * twice is the raw cells: first for the range, which says the width, then to be packed.
 */
#include "storage/storage_int.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* min/max and packing loops are worth vectorising */
#endif

enum { CHUNK = 1024 };

/* ---- integers of any stored type ---- */
static void load_i64(uint8_t phys, const void *cells, int64_t first, int64_t n, int64_t *restrict out) {
    switch (phys) {
    case PH_BOOL:
        for (int64_t i = 0; i < n; i++) out[i] = ((const uint8_t *)cells)[first + i];
        break;
    case PH_I16:
        for (int64_t i = 0; i < n; i++) out[i] = ((const int16_t *)cells)[first + i];
        break;
    case PH_I32:
        for (int64_t i = 0; i < n; i++) out[i] = ((const int32_t *)cells)[first + i];
        break;
    case PH_I64: memcpy(out, (const int64_t *)cells + first, (size_t)n * 8); break;
    default:
        for (int64_t i = 0; i < n; i++) out[i] = (int64_t)((const int128_t *)cells)[first + i];
    }
}

static int64_t count_nulls(const ColSeg *segs, int64_t n_segs) {
    int64_t nulls = 0;
    for (int64_t s = 0; s < n_segs; s++) {
        if (!segs[s].valid) continue;
        for (int64_t i = 0; i < segs[s].n; i++) nulls += !segs[s].valid[i];
    }
    return nulls;
}

static int width_for(uint64_t range) {
    if (range == 0) return 0;
    int bits = 64 - __builtin_clzll(range);
    static const int widths[] = {1, 2, 4, 8, 16, 24, 32};
    for (int i = 0; i < ARRAY_LEN(widths); i++)
        if (bits <= widths[i]) return widths[i];
    return 64;
}

/* Zeroed where several rows share a byte. */
static void *enc_alloc(MemAccount *a, int64_t bytes, bool zeroed, Err *e) {
    return zeroed ? mem_calloc(a, bytes + TABLET_GUARD, e) : mem_alloc_raw(a, bytes + TABLET_GUARD, e);
}

static Status enc_validity(MemAccount *a, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out, Err *e) {
    out->null_count = count_nulls(segs, n_segs);
    if (out->null_count == 0) return ST_OK;
    out->validity_bytes = (rows + 63) / 64 * 8;
    out->validity = enc_alloc(a, out->validity_bytes, true, e);
    if (!out->validity) return ST_ERROR;
    int64_t row = 0;
    for (int64_t s = 0; s < n_segs; s++) {
        for (int64_t i = 0; i < segs[s].n; i++, row++)
            if (!segs[s].valid || segs[s].valid[i]) out->validity[row >> 6] |= UINT64_C(1) << (row & 63);
    }
    return ST_OK;
}

/* Whole bytes are made at once; others may have their first or last rows already. */
static inline void pack_bits(int width, uint64_t base, const int64_t *restrict v, int64_t n, int64_t row,
                             uint8_t *restrict d) {
    int64_t per = 8 / width, i = 0;
    for (; i < n && (row + i) % per; i++)
        d[(row + i) / per] |= (uint8_t)(((uint64_t)v[i] - base) << ((row + i) % per * width));
    uint8_t *o = d + (row + i) / per;
    for (; i + per <= n; i += per) {
        uint64_t byte = 0;
        for (int64_t k = 0; k < per; k++) byte |= ((uint64_t)v[i + k] - base) << (k * width);
        *o++ = (uint8_t)byte;
    }
    for (int64_t k = 0; i < n; i++, k++) *o |= (uint8_t)(((uint64_t)v[i] - base) << (k * width));
}

/* Packs n codes at `row`, which fit the width; below 8 bits the target is zeroed. */
static void pack(int width, int64_t base, const int64_t *restrict v, int64_t n, int64_t row, uint8_t *restrict d) {
    uint64_t b = (uint64_t)base;
    switch (width) {
    case 0: break;
    case 1: pack_bits(1, b, v, n, row, d); break;
    case 2: pack_bits(2, b, v, n, row, d); break;
    case 4: pack_bits(4, b, v, n, row, d); break;
    case 8:
        for (int64_t i = 0; i < n; i++) d[row + i] = (uint8_t)((uint64_t)v[i] - b);
        break;
    case 16: {
        uint16_t *o = (uint16_t *)(void *)d + row;
        for (int64_t i = 0; i < n; i++) o[i] = (uint16_t)((uint64_t)v[i] - b);
        break;
    }
    case 24: {
        uint8_t *o =
            d + 3 * row; /* the fourth byte of each store is overwritten by the next; the last spills into the guard */
        for (int64_t i = 0; i < n; i++) {
            uint32_t c = (uint32_t)((uint64_t)v[i] - b);
            memcpy(o + 3 * i, &c, 4);
        }
        break;
    }
    case 32: {
        uint32_t *o = (uint32_t *)(void *)d + row;
        for (int64_t i = 0; i < n; i++) o[i] = (uint32_t)((uint64_t)v[i] - b);
        break;
    }
    default: {
        uint64_t *o = (uint64_t *)(void *)d + row;
        for (int64_t i = 0; i < n; i++) o[i] = (uint64_t)v[i] - b;
    }
    }
}

/* What is packed: cells of one run from number `first` on, at most CHUNK, or their codes. In `tmp`, or where they are.
 */
static const int64_t *run_values(uint8_t phys, const int32_t *remap, const ColSeg *seg, int64_t first, int64_t n,
                                 int64_t *tmp) {
    if (phys == PH_I64) return (const int64_t *)seg->cells + first;
    load_i64(phys, seg->cells, first, n, tmp);
    const uint8_t *valid = seg->valid ? seg->valid + first : NULL;
    for (int64_t j = 0; remap && j < n; j++) tmp[j] = valid && !valid[j] ? 0 : remap[tmp[j]];
    return tmp;
}

static void widen(const int64_t *v, const uint8_t *valid, int64_t n, int64_t *min, int64_t *max) {
    int64_t lo = *min, hi = *max;
    for (int64_t j = 0; j < n; j++) {
        if (valid && !valid[j]) continue;
        lo = v[j] < lo ? v[j] : lo;
        hi = v[j] > hi ? v[j] : hi;
    }
    *min = lo;
    *max = hi;
}

static void pack_run(uint8_t phys, const int32_t *remap, const ColSeg *seg, int64_t row, EncCol *out) {
    int64_t tmp[CHUNK];
    for (int64_t i = 0; i < seg->n; i += CHUNK, row += CHUNK) {
        int64_t n = MIN_OF(CHUNK, seg->n - i);
        const int64_t *v = run_values(phys, remap, seg, i, n, tmp);
        if (seg->valid) {
            for (int64_t j = 0; j < n; j++) tmp[j] = seg->valid[i + j] ? v[j] : out->min;
            v = tmp;
        }
        pack(out->width, out->min, v, n, row, out->data);
    }
}

static Status enc_for(MemAccount *a, uint8_t phys, const int32_t *remap, const ColSeg *segs, int64_t n_segs,
                      int64_t rows, EncCol *out, Err *e) {
    int64_t tmp[CHUNK], min = INT64_MAX, max = INT64_MIN, row = 0;
    for (int64_t s = 0; s < n_segs; s++)
        for (int64_t i = 0; i < segs[s].n; i += CHUNK) {
            int64_t n = MIN_OF(CHUNK, segs[s].n - i);
            const int64_t *v = run_values(phys, remap, &segs[s], i, n, tmp);
            if (segs[s].valid) widen(v, segs[s].valid + i, n, &min, &max);
            else widen(v, NULL, n, &min, &max);
        }
    out->encoding = ENC_FOR;
    out->phys = phys;
    if (min <= max) {
        out->flags |= TABLET_COL_HAS_MINMAX;
        out->base = out->min = min;
        out->max = max;
        out->width = (uint8_t)width_for((uint64_t)max - (uint64_t)min);
    }
    out->data_bytes = (rows * out->width + 7) / 8;
    if (out->width == 0) return ST_OK;
    out->data = enc_alloc(a, out->data_bytes, out->width < 8, e);
    if (!out->data) return ST_ERROR;
    for (int64_t s = 0; s < n_segs; row += segs[s].n, s++) pack_run(phys, remap, &segs[s], row, out);
    return ST_OK;
}

static bool i128_fits(const ColSeg *segs, int64_t n_segs) {
    for (int64_t s = 0; s < n_segs; s++) {
        const int128_t *c = segs[s].cells;
        for (int64_t i = 0; i < segs[s].n; i++)
            if ((!segs[s].valid || segs[s].valid[i]) && c[i] != (int64_t)c[i]) return false;
    }
    return true;
}

Status enc_fixed(MemAccount *a, uint8_t phys, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out, Err *e) {
    memset(out, 0, sizeof *out);
    if (enc_validity(a, segs, n_segs, rows, out, e) != ST_OK) goto fail;
    if (phys_is_int(phys) && (phys != PH_I128 || i128_fits(segs, n_segs))) {
        if (enc_for(a, phys, NULL, segs, n_segs, rows, out, e) != ST_OK) goto fail;
        return ST_OK;
    }
    int64_t size = phys_size((Phys)phys);
    out->encoding = ENC_PLAIN;
    out->phys = phys;
    out->data_bytes = rows * size;
    out->data = enc_alloc(a, out->data_bytes, false, e);
    if (!out->data) goto fail;
    char *d = out->data;
    for (int64_t s = 0; s < n_segs; s++) {
        if (segs[s].n) memcpy(d, segs[s].cells, (size_t)(segs[s].n * size));
        if (segs[s].valid)
            for (int64_t i = 0; i < segs[s].n; i++)
                if (!segs[s].valid[i]) memset(d + i * size, 0, (size_t)size);
        d += segs[s].n * size;
    }
    return ST_OK;
fail:
    enc_release(a, out);
    return ST_ERROR;
}

Status enc_codes(MemAccount *a, const int32_t *remap, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out,
                 Err *e) {
    memset(out, 0, sizeof *out);
    if (enc_validity(a, segs, n_segs, rows, out, e) != ST_OK ||
        enc_for(a, PH_I32, remap, segs, n_segs, rows, out, e) != ST_OK) {
        enc_release(a, out);
        return ST_ERROR;
    }
    out->flags |= TABLET_COL_CODES;
    return ST_OK;
}

Status enc_strings(MemAccount *a, const ColSeg *segs, int64_t n_segs, int64_t rows, EncCol *out, Err *e) {
    memset(out, 0, sizeof *out);
    int64_t bytes = 0, row = 0;
    if (enc_validity(a, segs, n_segs, rows, out, e) != ST_OK) goto fail;
    for (int64_t s = 0; s < n_segs; s++) {
        const Str *c = segs[s].cells;
        for (int64_t i = 0; i < segs[s].n; i++) bytes += !segs[s].valid || segs[s].valid[i] ? (int64_t)c[i].len : 0;
    }
    if (bytes > UINT32_MAX) {
        err_set(e, ERR_PROGRAM_LIMIT, "strings of one tablet exceed 4 GiB");
        goto fail;
    }
    out->encoding = ENC_STR;
    out->phys = PH_STR;
    out->var_bytes = bytes;
    out->data_bytes = (rows + 1) * 4;
    out->data = enc_alloc(a, out->data_bytes, false, e);
    out->var = enc_alloc(a, bytes, false, e);
    if (!out->data || !out->var) goto fail;
    uint32_t *off = out->data, at = 0, copied = 0; /* copied .. at lie one after the other before `end`, as in a heap */
    const char *end = NULL;
    for (int64_t s = 0; s < n_segs; s++) {
        const Str *c = segs[s].cells;
        for (int64_t i = 0; i < segs[s].n; i++, row++) {
            off[row] = at;
            if ((segs[s].valid && !segs[s].valid[i]) || c[i].len == 0) continue;
            if (c[i].ptr != end && at > copied) {
                memcpy(out->var + copied, end - (at - copied), at - copied);
                copied = at;
            }
            at += c[i].len;
            end = c[i].ptr + c[i].len;
        }
    }
    off[row] = at;
    if (at > copied) memcpy(out->var + copied, end - (at - copied), at - copied);
    memset(out->var + at, 0, TABLET_GUARD);
    return ST_OK;
fail:
    enc_release(a, out);
    return ST_ERROR;
}

void enc_release(MemAccount *a, EncCol *c) {
    if (c->data) mem_free(a, c->data, c->data_bytes + TABLET_GUARD);
    if (c->validity) mem_free(a, c->validity, c->validity_bytes + TABLET_GUARD);
    if (c->var) mem_free(a, c->var, c->var_bytes + TABLET_GUARD);
    memset(c, 0, sizeof *c);
}

/* ---- other codes ---- */
/* Up to 8 bits a code: what a byte of codes becomes depends on the byte alone. */
typedef struct CodeBytes {
    const int32_t *remap; /* by code less the old base */
    int width;
    bool seen[256];
    int64_t min, max;
} CodeBytes;
static void take_byte(CodeBytes *b, unsigned byte, int64_t n) {
    for (int64_t k = 0; k < n; k++, byte >>= b->width) {
        int64_t code = b->remap[byte & ((1u << b->width) - 1)];
        b->min = MIN_OF(b->min, code);
        b->max = MAX_OF(b->max, code);
    }
}
static uint8_t new_byte(const CodeBytes *b, unsigned byte, int64_t n) {
    unsigned out = 0;
    for (int64_t k = 0; k < n; k++, byte >>= b->width)
        out |= (unsigned)(b->remap[byte & ((1u << b->width) - 1)] - b->min) << (k * b->width);
    return (uint8_t)out;
}

bool enc_remap_bytes(EncCol *c, int64_t rows, const int32_t *remap) {
    CodeBytes b = {.remap = remap + c->base, .width = c->width, .min = INT64_MAX, .max = INT64_MIN};
    uint8_t becomes[256], *d = c->data;
    if (c->width > 8 || c->validity || rows == 0) return false;
    if (c->width == 0) {
        c->base = c->min = c->max = *b.remap;
        return true;
    }
    int64_t per = 8 / c->width, whole = rows / per, rest = rows % per;
    for (int64_t i = 0; i < whole; i++) b.seen[d[i]] = true;
    for (unsigned i = 0; i < 256; i++)
        if (b.seen[i]) take_byte(&b, i, per);
    if (rest) take_byte(&b, d[whole], rest);
    if (width_for((uint64_t)(b.max - b.min)) != c->width) return false;
    for (unsigned i = 0; i < 256; i++) becomes[i] = b.seen[i] ? new_byte(&b, i, per) : 0;
    for (int64_t i = 0; i < whole; i++) d[i] = becomes[d[i]];
    if (rest) d[whole] = new_byte(&b, d[whole], rest);
    c->base = c->min = b.min;
    c->max = b.max;
    return true;
}
