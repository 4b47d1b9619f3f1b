/* decode.c - from a tablet's bytes to vectors and to positions: the hottest loops.
 *
 * The loops live in decode_impl.inc, which is compiled once per instruction set; the set is chosen when the
 * library is loaded. This file does what is done once per call: bounds are translated into
 * the code domain and cut to the tablet's min and max, so that a filter that passes everything or nothing
 * touches no data, and NULLs are handled by a second pass, which columns without NULLs do not pay for.
 *
 * Patched columns (patches.h): packed cells are decoded, then the patched ones among them written over that. Filters go
 * block by block: on codes where no row is patched, else on decoded and patched integers, which costs at most as much
 * as merging positions and needs no order of them (docs/notes/one-store-scans.md).
 */
#include "storage/decode.h"

#include "storage/storage_int.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HAVE_X86_VARIANTS 1
#include <immintrin.h>
#pragma GCC optimize("O3")
#else
#define HAVE_X86_VARIANTS 0
#endif

static inline uint32_t load_u32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

#define ISA 0
#define FN(x) x##_base
#include "storage/decode_impl.inc"
#undef FN
#undef ISA

#if HAVE_X86_VARIANTS
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt")
#define ISA 2
#define FN(x) x##_avx2
#include "storage/decode_impl.inc"
#undef FN
#undef ISA
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target( \
    "avx2,bmi,bmi2,popcnt,lzcnt,avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,prefer-vector-width=512")
#define ISA 512
#define FN(x) x##_avx512
#include "storage/decode_impl.inc"
#undef FN
#undef ISA
#pragma GCC pop_options
#endif

/* ---- choice ---- */
typedef struct Isa {
    const char *name;
    const DecodeOps *ops;
} Isa;
static Isa isas[3];
static int n_isas;
static const DecodeOps *ops = &decode_ops_base;

__attribute__((constructor)) static void choose_isa(void) {
    n_isas = 0;
#if HAVE_X86_VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("bmi2"))
        isas[n_isas++] = (Isa){"avx512", &decode_ops_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        isas[n_isas++] = (Isa){"avx2", &decode_ops_avx2};
#endif
    isas[n_isas++] = (Isa){"baseline", &decode_ops_base};
    ops = isas[0].ops;
}
int decode_isa_count(void) { return n_isas; }
const char *decode_isa_name(int i) { return isas[i].name; }
void decode_isa_force(int i) { ops = isas[i].ops; }

static int width_index(int width) {
    switch (width) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 2;
    case 4: return 3;
    case 8: return 4;
    case 16: return 5;
    case 24: return 6;
    case 32: return 7;
    default: return 8;
    }
}

/* ---- decoding ---- */
static void gather_validity(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, uint8_t *valid) {
    if (!pos) {
        ops->valid_bytes(c->validity, first, n, valid);
        return;
    }
    const uint64_t *v = c->validity;
    for (int64_t i = 0; i < n; i++) valid[i] = (uint8_t)(v[pos[i] >> 6] >> (pos[i] & 63) & 1);
}

/* Cells that lie `stride` bytes apart. */
#define GATHER(SIZE)                                                                                     \
    for (int64_t i = 0; i < n; i++) memcpy(o + SIZE * i, d + (pos ? pos[i] : first + i) * stride, SIZE); \
    break
static void gather_cells(const char *d, int64_t stride, int64_t size, int64_t first, const int32_t *pos, int64_t n,
                         char *o) {
    switch (size) {
    case 1: GATHER(1);
    case 2: GATHER(2);
    case 4: GATHER(4);
    case 8: GATHER(8);
    default: GATHER(16);
    }
}
#undef GATHER
/* Cells copied as they are. */
static void copy_cells(const TabletColumn *c, int64_t size, int64_t first, const int32_t *pos, int64_t n, void *out) {
    const char *d = c->data;
    char *o = out;
    if (c->stride) {
        gather_cells(d, c->stride, size, first, pos, n, o);
        return;
    }
    if (!pos) {
        memcpy(o, d + first * size, (size_t)(n * size));
        return;
    }
    switch (size) {
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(o + 4 * i, d + 4 * (int64_t)pos[i], 4);
        break;
    case 8:
        for (int64_t i = 0; i < n; i++) memcpy(o + 8 * i, d + 8 * (int64_t)pos[i], 8);
        break;
    case 16:
        for (int64_t i = 0; i < n; i++) memcpy(o + 16 * i, d + 16 * (int64_t)pos[i], 16);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(o + size * i, d + size * pos[i], (size_t)size);
    }
}

void column_copy_cells(const TabletColumn *c, int64_t first, int64_t n, void *cells, uint8_t *valid) {
    if (n <= 0) return;
    if (cells) copy_cells(c, phys_size((Phys)c->phys), first, NULL, n, cells);
    if (valid && c->validity) gather_validity(c, first, NULL, n, valid);
    else if (valid) memset(valid, 1, (size_t)n);
}

static void strided_ints(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, uint8_t phys, void *out) {
    enum { BATCH = 256 };
    alignas(64) char cells[BATCH * 16];
    int64_t size = phys_size((Phys)c->phys), to = phys_size((Phys)phys);
    if (c->phys == phys) {
        gather_cells(c->data, c->stride, size, first, pos, n, out);
        return;
    }
    for (int64_t i = 0; i < n; i += BATCH) {
        int64_t k = MIN_OF(BATCH, n - i);
        gather_cells(c->data, c->stride, size, first + i, pos ? pos + i : NULL, k, cells);
        ops->plain[c->phys][phys](cells, k, (char *)out + i * to);
    }
}
static void decode_ints(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, uint8_t phys, void *out) {
    if (c->encoding == ENC_FOR) {
        int w = width_index(c->width);
        if (pos) ops->decode_pos[phys][w](c->data, (uint64_t)c->base, pos, n, out);
        else ops->decode[phys][w](c->data, (uint64_t)c->base, first, n, out);
        return;
    }
    if (c->stride) {
        strided_ints(c, first, pos, n, phys, out);
        return;
    }
    if (pos) ops->plain_pos[c->phys][phys](c->data, pos, n, out);
    else ops->plain[c->phys][phys]((const char *)c->data + first * phys_size((Phys)c->phys), n, out);
}

/* Patched cells of a column over its decoded ones: integers of another size, or cells as they are. */
static void patch_ints(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, uint8_t phys, void *out) {
    PatchScan s = {.p = c->patches, .first = first, .pos = pos, .n = n};
    const int64_t size = phys_size((Phys)phys);
    int64_t i;
    for (const void *cell; (cell = patch_scan_next(&s, &i));) {
        int128_t v;
        if (c->phys == PH_I128) memcpy(&v, cell, sizeof v);
        else v = cell_i64(c->phys, cell);
        memcpy((char *)out + i * size, &v, (size_t)size); /* little-endian */
    }
}
static void patch_cells(const TabletColumn *c, int64_t size, int64_t first, const int32_t *pos, int64_t n, void *out) {
    PatchScan s = {.p = c->patches, .first = first, .pos = pos, .n = n};
    int64_t i;
    for (const void *cell; (cell = patch_scan_next(&s, &i));) memcpy((char *)out + i * size, cell, (size_t)size);
}

/* Codes first, then their strings; NULL rows are cleared by the validity bitmap. */
static void decode_dict(const Dict *dict, const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n,
                        const uint8_t *valid, Str *out) {
    int32_t codes[1024];
    const Str *entries = dict->entries;
    for (int64_t i = 0; i < n; i += 1024) {
        int64_t k = n - i < 1024 ? n - i : 1024;
        decode_ints(c, first + i, pos ? pos + i : NULL, k, PH_I32, codes);
        if (c->patches) patch_ints(c, first + i, pos ? pos + i : NULL, k, PH_I32, codes);
        if (valid) {
            for (int64_t j = 0; j < k; j++) out[i + j] = valid[i + j] ? entries[codes[j]] : (Str){"", 0, 0};
        } else {
            for (int64_t j = 0; j < k; j++) out[i + j] = entries[codes[j]];
        }
    }
}

void tablet_decode(const Table *t, const Tablet *tab, int col, int64_t first, const int32_t *pos, int64_t n,
                   uint8_t phys, void *out, uint8_t *valid, bool *has_nulls) {
    const TabletColumn *c = &tab->cols[col];
    *has_nulls = c->validity != NULL;
    if (n <= 0) return;
    if (c->validity) gather_validity(c, first, pos, n, valid);
    if (c->encoding == ENC_STR) {
        if (c->is_delta) copy_cells(c, (int64_t)sizeof(Str), first, pos, n, out);
        else ops->strings(c->var_base, c->offsets, first, pos, n, out);
        if (c->patches) patch_cells(c, (int64_t)sizeof(Str), first, pos, n, out);
    } else if (phys == PH_STR) {
        decode_dict(t->cols[col].dict, c, first, pos, n, c->validity ? valid : NULL, out);
    } else if (phys_is_int(c->phys) && phys_is_int(phys)) {
        decode_ints(c, first, pos, n, phys, out);
        if (c->validity && c->encoding == ENC_FOR) ops->clear[phys](valid, n, out);
        if (c->patches) patch_ints(c, first, pos, n, phys, out);
    } else {
        copy_cells(c, phys_size((Phys)c->phys), first, pos, n, out);
        if (c->patches) patch_cells(c, phys_size((Phys)c->phys), first, pos, n, out);
    }
}

/* ---- filters ---- */
/* out may equal pos. */
static int64_t keep_valid(const TabletColumn *c, const int32_t *pos, int64_t n, bool want_valid, int32_t *out) {
    const uint64_t *v = c->validity;
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t p = pos[i];
        out[k] = p;
        k += (v[p >> 6] >> (p & 63) & 1) == (uint64_t)want_valid;
    }
    return k;
}
static int64_t all_rows(int64_t first, const int32_t *pos, int64_t n, int32_t *out) {
    if (!pos) {
        for (int64_t i = 0; i < n; i++) out[i] = (int32_t)(first + i);
    } else if (out != pos) {
        memcpy(out, pos, (size_t)n * sizeof(int32_t));
    }
    return n;
}

#define RANGE_PLAIN(NAME, T, UT)                                                                                \
    static int64_t NAME(const void *data, int64_t first, const int32_t *pos, int64_t n, int64_t lo, int64_t hi, \
                        bool neg, int32_t *out) {                                                               \
        const T *d = data;                                                                                      \
        UT l = (UT)(int128_t)lo, span = (UT)((int128_t)hi - lo);                                                \
        int64_t k = 0;                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                       \
            int32_t p = pos ? pos[i] : (int32_t)(first + i);                                                    \
            out[k] = p;                                                                                         \
            k += ((UT)((UT)d[p] - l) <= span) ^ neg;                                                            \
        }                                                                                                       \
        return k;                                                                                               \
    }
RANGE_PLAIN(range_bool, uint8_t, uint64_t)
RANGE_PLAIN(range_i16, int16_t, uint64_t)
RANGE_PLAIN(range_i32, int32_t, uint64_t)
RANGE_PLAIN(range_i64, int64_t, uint64_t)
RANGE_PLAIN(range_i128, int128_t, uint128_t)

/* Of plain cells side by side. */
static int64_t range_plain(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, int64_t lo, int64_t hi,
                           bool neg, int32_t *out) {
    switch (c->phys) {
    case PH_BOOL: return range_bool(c->data, first, pos, n, lo, hi, neg, out);
    case PH_I16: return range_i16(c->data, first, pos, n, lo, hi, neg, out);
    case PH_I32: return range_i32(c->data, first, pos, n, lo, hi, neg, out);
    case PH_I64: return range_i64(c->data, first, pos, n, lo, hi, neg, out);
    default: return range_i128(c->data, first, pos, n, lo, hi, neg, out);
    }
}
static int64_t range_by_row(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, int64_t lo, int64_t hi,
                            bool neg, int32_t *out) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t p = pos ? pos[i] : (int32_t)(first + i);
        int128_t v = c->phys == PH_I128 ? column_i128(c, p) : column_i64(c, p);
        out[k] = p;
        k += (v >= lo && v <= hi) != neg;
    }
    return k;
}

/* Bounds that hold for a column's cells, or for its packed ones alone. */
typedef struct Bounds {
    bool has;
    int64_t min, max;
} Bounds;
/* All or none of the cells pass: *k of them do. */
static bool range_is_clear(const Bounds *b, int64_t first, const int32_t *pos, int64_t n, int64_t lo, int64_t hi,
                           bool negate, int32_t *out, int64_t *k) {
    bool none = lo > hi, all = false;
    if (b->has) {
        none = none || hi < b->min || lo > b->max;
        all = lo <= b->min && hi >= b->max;
    }
    if (!none && !all) return false;
    *k = none != negate ? 0 : all_rows(first, pos, n, out);
    return true;
}
/* On the codes. */
static int64_t range_for(const TabletColumn *c, const Bounds *b, int64_t first, const int32_t *pos, int64_t n,
                         int64_t lo, int64_t hi, bool negate, int32_t *out) {
    if (!b->has) return 0; /* nothing but NULLs */
    if (lo < b->min) lo = b->min;
    if (hi > b->max) hi = b->max;
    uint64_t clo = (uint64_t)lo - (uint64_t)c->base, span = (uint64_t)hi - (uint64_t)lo;
    int w = width_index(c->width); /* width 0: min = max, answered before */
    if (pos) return ops->range_pos[w](c->data, pos, n, clo, span, negate, out);
    return ops->range[w](c->data, first, n, clo, span, negate, out);
}

/* Rows of a patched column that are looked at together. */
enum { PATCH_BLOCK = 1024 };
static bool any_patched(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n) {
    PatchScan s = {.p = c->patches, .first = first, .pos = pos, .n = n};
    int64_t i;
    return patch_scan_next(&s, &i) != NULL;
}
static void decode_patched(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, int64_t *out) {
    decode_ints(c, first, pos, n, PH_I64, out);
    patch_ints(c, first, pos, n, PH_I64, out);
}
/* Rows without patches, of a packed column. */
static int64_t range_unpatched(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, int64_t lo,
                               int64_t hi, bool negate, int32_t *out) {
    const Bounds packed = {c->patches->has_minmax, c->patches->min, c->patches->max};
    int64_t k;
    if (range_is_clear(&packed, first, pos, n, lo, hi, negate, out, &k)) return k;
    return range_for(c, &packed, first, pos, n, lo, hi, negate, out);
}
static int64_t range_for_patched(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, int64_t lo,
                                 int64_t hi, bool negate, int32_t *out) {
    int64_t v[PATCH_BLOCK], k = 0;
    for (int64_t i = 0; i < n; i += PATCH_BLOCK) {
        const int64_t at = first + i, m = MIN_OF(n - i, (int64_t)PATCH_BLOCK);
        const int32_t *p = pos ? pos + i : NULL;
        if (!any_patched(c, at, p, m)) {
            k += range_unpatched(c, at, p, m, lo, hi, negate, out + k);
            continue;
        }
        decode_patched(c, at, p, m, v);
        for (int64_t j = 0; j < m; j++) {
            out[k] = p ? p[j] : (int32_t)(at + j);
            k += ((uint64_t)v[j] - (uint64_t)lo <= (uint64_t)hi - (uint64_t)lo) ^ negate;
        }
    }
    return k;
}
/* Plain cells side by side are looked at where they are, from patch to patch. */
static int64_t range_plain_patched(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, int64_t lo,
                                   int64_t hi, bool negate, int32_t *out) {
    PatchScan s = {.p = c->patches, .first = first, .pos = pos, .n = n};
    int64_t k = 0, done = 0, i;
    for (const void *cell; (cell = patch_scan_next(&s, &i)); done = i + 1) {
        const int32_t row = pos ? pos[i] : (int32_t)(first + i);
        int128_t v;
        if (c->phys == PH_I128) memcpy(&v, cell, sizeof v);
        else v = cell_i64(c->phys, cell);
        k += range_plain(c, first + done, pos ? pos + done : NULL, i - done, lo, hi, negate, out + k);
        out[k] = row;
        k += (v >= lo && v <= hi) != negate;
    }
    return k + range_plain(c, first + done, pos ? pos + done : NULL, n - done, lo, hi, negate, out + k);
}

int64_t tablet_filter_range(const Tablet *tab, int col, int64_t first, const int32_t *pos, int64_t n, int64_t lo,
                            int64_t hi, bool negate, int32_t *out) {
    const TabletColumn *c = &tab->cols[col];
    const Bounds bounds = {c->has_minmax, c->min, c->max};
    int64_t k;
    if (n <= 0 || c->encoding == ENC_STR || !phys_is_int(c->phys)) return 0;
    if (range_is_clear(&bounds, first, pos, n, lo, hi, negate, out, &k)) {
        /* every cell is on one side */
    } else if (c->patches) {
        k = c->encoding == ENC_FOR ? range_for_patched(c, first, pos, n, lo, hi, negate, out)
                                   : range_plain_patched(c, first, pos, n, lo, hi, negate, out);
    } else if (c->encoding == ENC_FOR) {
        k = range_for(c, &bounds, first, pos, n, lo, hi, negate, out);
    } else {
        k = c->stride ? range_by_row(c, first, pos, n, lo, hi, negate, out)
                      : range_plain(c, first, pos, n, lo, hi, negate, out);
    }
    return k > 0 && c->validity ? keep_valid(c, out, k, true, out) : k;
}

static int64_t codes_patched(const TabletColumn *c, int64_t first, const int32_t *pos, int64_t n, const uint8_t *mask,
                             int32_t *out) {
    int64_t v[PATCH_BLOCK], k = 0;
    for (int64_t i = 0; i < n; i += PATCH_BLOCK) {
        const int64_t at = first + i, m = MIN_OF(n - i, (int64_t)PATCH_BLOCK);
        const int32_t *p = pos ? pos + i : NULL;
        decode_patched(c, at, p, m, v);
        for (int64_t j = 0; j < m; j++) {
            out[k] = p ? p[j] : (int32_t)(at + j);
            k += mask[v[j]] != 0;
        }
    }
    return k;
}
int64_t tablet_filter_codes(const Tablet *tab, int col, int64_t first, const int32_t *pos, int64_t n,
                            const uint8_t *mask, int64_t n_codes, int32_t *out) {
    const TabletColumn *c = &tab->cols[col];
    if (n <= 0 || c->encoding == ENC_STR) return 0;
    bool null_passes = mask[n_codes] != 0;
    int64_t k = 0;
    if (c->validity) {
        /* NULL rows answer by mask[n_codes], whatever code they carry: a path of its own. */
        for (int64_t i = 0; i < n; i++) {
            int32_t p = pos ? pos[i] : (int32_t)(first + i);
            out[k] = p;
            k += column_row_valid(c, p) ? mask[column_i64(c, p)] != 0 : null_passes;
        }
        return k;
    }
    if (c->patches) return codes_patched(c, first, pos, n, mask, out);
    if (c->encoding == ENC_FOR && c->width > 0 && c->width <= 32) {
        int w = width_index(c->width);
        if (pos) return ops->codes_pos[w](c->data, c->base, pos, n, mask, out);
        return ops->codes[w](c->data, c->base, first, n, mask, out);
    }
    if (c->encoding == ENC_FOR && c->width == 0) return mask[c->base] ? all_rows(first, pos, n, out) : 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t p = pos ? pos[i] : (int32_t)(first + i);
        out[k] = p;
        k += mask[column_i64(c, p)] != 0;
    }
    return k;
}

int64_t tablet_live_rows(const Tablet *tab, int64_t first, int64_t n, int32_t *out, bool *identity) {
    *identity = true;
    if (!tab->deleted || tab->n_deleted == 0 || n <= 0) return n;
    const uint64_t *d = tab->deleted;
    int64_t end = first + n, row = first, k = 0;
    bool any = false;
    for (int64_t w = first >> 6; w <= (end - 1) >> 6 && !any; w++) {
        uint64_t bits = d[w];
        if (w == first >> 6) bits &= ~UINT64_C(0) << (first & 63);
        if (w == (end - 1) >> 6 && (end & 63)) bits &= ~(~UINT64_C(0) << (end & 63));
        any = bits != 0;
    }
    if (!any) return n;
    *identity = false;
    for (; row < end; row++) {
        out[k] = (int32_t)row;
        k += !(d[row >> 6] >> (row & 63) & 1);
    }
    return k;
}
