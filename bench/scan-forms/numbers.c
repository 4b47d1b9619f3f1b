/* numbers.c - packed, patched and open pieces of numbers, read as the virtual machine reads them: a vector at a time
 * into a register of 64-bit cells, column by column. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan_forms.h"

#pragma GCC optimize("O3")
#define CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))

int64_t *open_cells;
const int packed_width[WIDTHS] = {1, 4, 8, 16, 24, 32, 64};
const double patch_share[SHARES] = {0.001, 0.01, 0.05, 0.10};
Tablet **packed[WIDTHS];
int64_t *packed_values[WIDTHS][3];
Patch *patches[SHARES];
static int64_t *patched_values[SHARES][2];

/* ---- data ---- */
static void *xmalloc(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)align_up(bytes, 64));
    if (p) return p;
    printf("out of memory (%lld bytes)\n", (long long)bytes);
    exit(2);
}
static void fill_open(void *ctx, int worker) {
    (void)ctx, (void)worker;
    static _Atomic int64_t next;
    const int64_t words = (int64_t)TABLET_ROWS * WORDS_MAX;
    for (int64_t t; (t = next++) < bench.tablets;)
        for (int64_t i = t * words; i < (t + 1) * words; i++) open_cells[i] = (int64_t)(mix((uint64_t)i) & 255);
}
static void make_packed(int w) {
    Err err = {0};
    EncCol cols[3];
    int width = packed_width[w];
    for (int c = 0; c < 3; c++) {
        int64_t *v = packed_values[w][c] = xmalloc(TABLET_ROWS * 8);
        int bits = c == 2 ? 8 : width;
        for (int64_t i = 0; i < TABLET_ROWS; i++) {
            uint64_t x = mix((uint64_t)(i * 8 + c) + (uint64_t)width * 7919);
            v[i] = (int64_t)(bits == 64 ? x >> 1 : x & ((UINT64_C(1) << bits) - 1));
        }
        v[0] = 0;
        v[1] = bits == 64 ? INT64_MAX : (int64_t)((UINT64_C(1) << bits) - 1);
        ColSeg seg = {.cells = v, .n = TABLET_ROWS};
        need(enc_fixed(&bench.account, PH_I64, &seg, 1, TABLET_ROWS, &cols[c], &err), &err, "enc_fixed");
        if (bits < 64 && cols[c].width != bits) {
            printf("packed at %d bits, not %d\n", cols[c].width, bits);
            exit(2);
        }
    }
    packed[w] = xmalloc(bench.tablets * (int64_t)sizeof(Tablet *));
    for (int64_t t = 0; t < bench.tablets; t++)
        need(tablet_build(&bench.account, 1, TABLET_ROWS, 3, cols, &packed[w][t], &err), &err, "tablet_build");
    for (int c = 0; c < 3; c++) enc_release(&bench.account, &cols[c]);
}
static void make_patches(int s) {
    uint32_t *rows = xmalloc(TABLET_ROWS * 4);
    int64_t n = 0, *cells = xmalloc(TABLET_ROWS * 16);
    for (int c = 0; c < 2; c++) {
        patched_values[s][c] = xmalloc(TABLET_ROWS * 8);
        memcpy(patched_values[s][c], packed_values[PATCH_WIDTH][c], TABLET_ROWS * 8);
    }
    for (int64_t i = 0; i < TABLET_ROWS; i++) {
        if ((double)(mix((uint64_t)i + 77777) >> 11) * 0x1p-53 >= patch_share[s]) continue;
        rows[n] = (uint32_t)i;
        for (int c = 0; c < 2; c++)
            patched_values[s][c][i] = cells[n * 2 + c] = (int64_t)(mix((uint64_t)(i * 2 + c)) & 0xfffff);
        n++;
    }
    patches[s] = xmalloc(bench.tablets * (int64_t)sizeof(Patch));
    for (int64_t t = 0; t < bench.tablets; t++) {
        uint32_t *r = xmalloc(n * 4);
        int64_t *v = xmalloc(n * 16);
        memcpy(r, rows, (size_t)n * 4);
        memcpy(v, cells, (size_t)n * 16);
        patches[s][t] = (Patch){.n = n, .rows = r, .cells = v};
    }
    free(rows);
    free(cells);
}
void data_numbers(void) {
    open_cells = xmalloc(bench.tablets * TABLET_ROWS * WORDS_MAX * 8 + 64);
    pool_run(bench.pool, pool_threads(bench.pool), fill_open, NULL);
    for (int w = 0; w < WIDTHS; w++) make_packed(w);
    for (int s = 0; s < SHARES; s++) make_patches(s);
}
void data_numbers_free(void) {
    for (int w = 0; w < WIDTHS; w++) {
        for (int64_t t = 0; t < bench.tablets; t++) tablet_free(packed[w][t]);
        free(packed[w]);
        for (int c = 0; c < 3; c++) free(packed_values[w][c]);
    }
    for (int s = 0; s < SHARES; s++) {
        for (int64_t t = 0; t < bench.tablets; t++) {
            free((void *)(uintptr_t)patches[s][t].rows);
            free((void *)(uintptr_t)patches[s][t].cells);
        }
        free(patches[s]);
        for (int c = 0; c < 2; c++) free(patched_values[s][c]);
    }
    free(open_cells);
    open_cells = NULL;
}

/* ---- the sinks: what is done with vectors ---- */
CLONES static int64_t sum_cells(const int64_t *restrict v, int64_t n) {
    uint64_t s = 0;
    for (int64_t i = 0; i < n; i++) s += (uint64_t)v[i];
    return (int64_t)s;
}
static void add_by_code(const int64_t *codes, const int64_t *v, int64_t n, uint64_t *acc) {
    for (int64_t i = 0; i < n; i++) acc[codes[i]] += v ? (uint64_t)v[i] : 1;
}
static uint64_t acc_result(const uint64_t *acc) {
    uint64_t r = 0;
    for (int64_t i = 0; i < CODES; i++) r += acc[i] * (uint64_t)(2 * i + 1);
    return r;
}
/* The engine's own filter of 64-bit codes, over a vector that was loaded. */
static int64_t filter_vector(const int64_t *v, int64_t n, int64_t lo, int64_t hi, int32_t *pos) {
    TabletColumn col = {.encoding = ENC_FOR,
                        .width = 64,
                        .phys = PH_I64,
                        .data = v,
                        .has_minmax = true,
                        .min = INT64_MIN,
                        .max = INT64_MAX};
    Tablet t = {.rows = n, .cols = &col};
    return tablet_filter_range(&t, 0, 0, NULL, n, lo, hi, false, pos);
}

/* ---- open pieces: ways to load a strided column ---- */
enum { WAY_ANY_STRIDE, WAY_FIXED_STRIDE, WAY_GATHER, WAY_SHORT, WAYS };
enum { SHORT_RUN = 128 /* rows of which all columns are loaded before the next ones, so that they are still in L1 */ };
CLONES static void load_any(const int64_t *restrict p, int64_t words, int64_t n, int64_t *restrict out) {
    for (int64_t i = 0; i < n; i++) out[i] = p[i * words];
}
#define LOAD_FIXED(W)                                                                          \
    CLONES static void load_##W(const int64_t *restrict p, int64_t n, int64_t *restrict out) { \
        for (int64_t i = 0; i < n; i++) out[i] = p[i * W];                                     \
    }
LOAD_FIXED(2)
LOAD_FIXED(3)
LOAD_FIXED(4)
LOAD_FIXED(6)
LOAD_FIXED(8)
#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq"))) static void load_gather_512(const int64_t *p, int64_t words, int64_t n,
                                                                        int64_t *out) {
    const __m512i at = _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0), _mm512_set1_epi64(words));
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) _mm512_storeu_si512(out + i, _mm512_i64gather_epi64(at, p + i * words, 8));
    for (; i < n; i++) out[i] = p[i * words];
}
#endif
static void load_gather(const int64_t *p, int64_t words, int64_t n, int64_t *out) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
        load_gather_512(p, words, n, out);
        return;
    }
#endif
    load_any(p, words, n, out);
}
/* Cells of one column; those of a group of one column are not copied. */
static const int64_t *load_open(const int64_t *p, int words, int64_t n, int way, int64_t *out) {
    if (words == 1) return p;
    if (way == WAY_GATHER) load_gather(p, words, n, out);
    else if (way == WAY_ANY_STRIDE) load_any(p, words, n, out);
    else if (words == 2) load_2(p, n, out);
    else if (words == 3) load_3(p, n, out);
    else if (words == 4) load_4(p, n, out);
    else if (words == 6) load_6(p, n, out);
    else load_8(p, n, out);
    return out;
}
static const int64_t *open_at(const Case *c, int64_t tablet) { return open_cells + tablet * TABLET_ROWS * c->words; }

static uint64_t open_sum(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR];
    const int64_t *p = open_at(c, tablet);
    uint64_t r = 0;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR)
        for (int j = 0; j < c->k; j++)
            r += (uint64_t)sum_cells(load_open(p + first * c->words + j, c->words, VECTOR, c->way, out), VECTOR);
    return r;
}
static uint64_t open_sum_short(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[WORDS_MAX][VECTOR];
    const int64_t *p = open_at(c, tablet);
    uint64_t r = 0;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        for (int64_t i = 0; i < VECTOR; i += SHORT_RUN) {
            const int64_t *rows = p + (first + i) * c->words;
            for (int j = 0; j < c->k; j++) load_open(rows + j, c->words, SHORT_RUN, WAY_FIXED_STRIDE, out[j] + i);
        }
        for (int j = 0; j < c->k; j++) r += (uint64_t)sum_cells(out[j], VECTOR);
    }
    return r;
}
static uint64_t open_filter(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR];
    int32_t pos[VECTOR + 16];
    const int64_t *p = open_at(c, tablet);
    uint64_t r = 0;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        const int64_t *rows = p + first * c->words;
        int64_t m = filter_vector(load_open(rows, c->words, VECTOR, c->way, out), VECTOR, c->lo, c->hi, pos);
        for (int j = c->k == 1 ? 0 : 1; j < c->k; j++) {
            for (int64_t i = 0; i < m; i++) out[i] = rows[pos[i] * c->words + j];
            r += (uint64_t)sum_cells(out, m);
        }
    }
    return r;
}
static uint64_t open_group(const Case *c, int64_t tablet) {
    alignas(64) int64_t codes[VECTOR], out[VECTOR];
    uint64_t acc[CODES] = {0};
    const int64_t *p = open_at(c, tablet);
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        const int64_t *rows = p + first * c->words;
        const int64_t *code = load_open(rows, c->words, VECTOR, c->way, codes);
        if (c->k == 1) add_by_code(code, NULL, VECTOR, acc);
        for (int j = 1; j < c->k; j++)
            add_by_code(code, load_open(rows + j, c->words, VECTOR, c->way, out), VECTOR, acc);
    }
    return acc_result(acc);
}
static uint64_t open_plain(const Case *c, int64_t tablet) {
    const int64_t *p = open_at(c, tablet);
    uint64_t acc[CODES] = {0}, r = 0;
    for (int64_t i = 0; i < TABLET_ROWS; i++, p += c->words) {
        if (c->op == OP_FILTER_ && (p[0] < c->lo || p[0] > c->hi)) continue;
        if (c->op == OP_GROUP_ && c->k == 1) acc[p[0]]++;
        for (int j = c->op != OP_SUM_ && (c->k > 1 || c->op == OP_GROUP_) ? 1 : 0; j < c->k; j++) {
            if (c->op == OP_GROUP_) acc[p[0]] += (uint64_t)p[j];
            else r += (uint64_t)p[j];
        }
    }
    return c->op == OP_GROUP_ ? acc_result(acc) : r;
}
/* All columns of a tablet side by side, in one pass over its rows. */
static void gather_runs(const int64_t *p, int words, int64_t *cells) {
    for (int64_t i = 0; i < TABLET_ROWS; i += SHORT_RUN) {
        for (int j = 0; j < words; j++)
            load_open(p + i * words + j, words, SHORT_RUN, WAY_FIXED_STRIDE, cells + j * TABLET_ROWS + i);
    }
}
/* Packing: what a merge does of an open group, whose columns it gathers first; without dictionaries. */
static uint64_t open_pack(const Case *c, int64_t tablet) {
    Err err = {0};
    EncCol cols[WORDS_MAX];
    const bool runs = c->way == WAY_SHORT;
    int64_t *cells = xmalloc(TABLET_ROWS * 8 * (runs ? c->words : 1));
    const int64_t *p = open_at(c, tablet);
    if (runs) gather_runs(p, c->words, cells);
    for (int j = 0; j < c->words; j++) {
        const int64_t *v =
            runs ? cells + j * TABLET_ROWS : load_open(p + j, c->words, TABLET_ROWS, WAY_FIXED_STRIDE, cells);
        ColSeg seg = {.cells = v, .n = TABLET_ROWS};
        need(enc_fixed(&bench.account, PH_I64, &seg, 1, TABLET_ROWS, &cols[j], &err), &err, "enc_fixed");
    }
    Tablet *t;
    need(tablet_build(&bench.account, 1, TABLET_ROWS, c->words, cols, &t, &err), &err, "tablet_build");
    uint64_t r = 0;
    for (int j = 0; j < c->words; j++) {
        r += (uint64_t)column_i64(&t->cols[j], 4711) + t->cols[j].width;
        enc_release(&bench.account, &cols[j]);
    }
    tablet_free(t);
    free(cells);
    return r;
}
static uint64_t open_pack_plain(const Case *c, int64_t tablet) {
    const int64_t *p = open_at(c, tablet);
    uint64_t r = 0;
    for (int j = 0; j < c->words; j++) r += (uint64_t)p[4711 * c->words + j] + 8;
    return r;
}

/* ---- packed pieces ---- */
static void decode(const Tablet *t, int col, int64_t first, const int32_t *pos, int64_t n, int64_t *out) {
    bool nulls;
    tablet_decode(NULL, t, col, first, pos, n, PH_I64, out, NULL, &nulls);
}
static uint64_t packed_sum(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR + 16];
    const Tablet *t = packed[c->width][tablet];
    uint64_t r = 0;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        for (int j = 0; j < c->k; j++) {
            decode(t, j, first, NULL, VECTOR, out);
            r += (uint64_t)sum_cells(out, VECTOR);
        }
    }
    return r;
}
static uint64_t packed_filter(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR + 16];
    int32_t pos[VECTOR + 16];
    const Tablet *t = packed[c->width][tablet];
    uint64_t r = 0;
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        int64_t m = tablet_filter_range(t, 0, first, NULL, VECTOR, c->lo, c->hi, false, pos);
        decode(t, c->k - 1, 0, pos, m, out);
        r += (uint64_t)sum_cells(out, m);
    }
    return r;
}
static uint64_t packed_group(const Case *c, int64_t tablet) {
    alignas(64) int64_t codes[VECTOR + 16], out[VECTOR + 16];
    uint64_t acc[CODES] = {0};
    const Tablet *t = packed[c->width][tablet];
    for (int64_t first = 0; first < TABLET_ROWS; first += VECTOR) {
        decode(t, 2, first, NULL, VECTOR, codes);
        if (c->k > 1) decode(t, 0, first, NULL, VECTOR, out);
        add_by_code(codes, c->k > 1 ? out : NULL, VECTOR, acc);
    }
    return acc_result(acc);
}
static uint64_t plain_of(const Case *c, int64_t *const *values, const int64_t *codes) {
    uint64_t acc[CODES] = {0}, r = 0;
    for (int64_t i = 0; i < TABLET_ROWS; i++) {
        if (c->op == OP_GROUP_) acc[codes[i]] += c->k > 1 ? (uint64_t)values[0][i] : 1;
        else if (c->op == OP_FILTER_)
            r += values[0][i] >= c->lo && values[0][i] <= c->hi ? (uint64_t)values[c->k - 1][i] : 0;
        else
            for (int j = 0; j < c->k; j++) r += (uint64_t)values[j][i];
    }
    return c->op == OP_GROUP_ ? acc_result(acc) : r;
}
static uint64_t packed_plain(const Case *c, int64_t tablet) {
    (void)tablet; /* all have the same rows */
    return plain_of(c, packed_values[c->width], packed_values[c->width][2]);
}

/* ---- patched pieces ---- */
/* The patches of the vector's rows over what was decoded; returns where the next vector's begin. */
static inline int64_t scatter(const Patch *p, int64_t at, int64_t first, int64_t n, int col, int64_t *out) {
    const int64_t end = first + n;
    for (; at < p->n && (int64_t)p->rows[at] < end; at++) out[p->rows[at] - first] = p->cells[at * 2 + col];
    return at;
}
static uint64_t patched_sum(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR + 16];
    const Tablet *t = packed[PATCH_WIDTH][tablet];
    const Patch *p = &patches[c->set][tablet];
    uint64_t r = 0;
    for (int64_t first = 0, at = 0, next = 0; first < TABLET_ROWS; first += VECTOR, at = next) {
        for (int j = 0; j < c->k; j++) {
            decode(t, j, first, NULL, VECTOR, out);
            next = scatter(p, at, first, VECTOR, j, out);
            r += (uint64_t)sum_cells(out, VECTOR);
        }
    }
    return r;
}
/* Filter by decoding, patching and filtering the vector. */
static uint64_t patched_filter_vector(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR + 16], second[VECTOR + 16];
    int32_t pos[VECTOR + 16];
    const Tablet *t = packed[PATCH_WIDTH][tablet];
    const Patch *p = &patches[c->set][tablet];
    uint64_t r = 0;
    for (int64_t first = 0, at = 0, next = 0; first < TABLET_ROWS; first += VECTOR, at = next) {
        decode(t, 0, first, NULL, VECTOR, out);
        next = scatter(p, at, first, VECTOR, 0, out);
        int64_t m = filter_vector(out, VECTOR, c->lo, c->hi, pos);
        const int64_t *v = out;
        if (c->k > 1) {
            decode(t, 1, first, NULL, VECTOR, second);
            scatter(p, at, first, VECTOR, 1, second);
            v = second;
        }
        for (int64_t i = 0; i < m; i++) r += (uint64_t)v[pos[i]];
    }
    return r;
}
/* Filter on packed codes, then the patches merged into the positions: patched rows go and come back by their new
 * cells, in the order of rows; their values are put in after decoding by position. */
static uint64_t patched_filter_merge(const Case *c, int64_t tablet) {
    alignas(64) int64_t out[VECTOR + 16];
    int32_t pos[VECTOR + 16], merged[VECTOR + 16], fix_at[VECTOR], fix[VECTOR];
    const Tablet *t = packed[PATCH_WIDTH][tablet];
    const Patch *p = &patches[c->set][tablet];
    uint64_t r = 0;
    for (int64_t first = 0, at = 0; first < TABLET_ROWS; first += VECTOR) {
        const int64_t end = first + VECTOR, begin = at;
        int64_t m = tablet_filter_range(t, 0, first, NULL, VECTOR, c->lo, c->hi, false, pos), n_fix = 0;
        const int32_t *use = pos;
        while (at < p->n && (int64_t)p->rows[at] < end) at++;
        if (at > begin) {
            int64_t i = 0, k = 0;
            for (int64_t x = begin; x < at; x++) {
                const int32_t row = (int32_t)p->rows[x];
                while (i < m && pos[i] < row) merged[k++] = pos[i++];
                i += i < m && pos[i] == row;
                const int64_t cell = p->cells[x * 2];
                const bool passes = cell >= c->lo && cell <= c->hi;
                merged[k] = row;
                fix_at[n_fix] = (int32_t)k;
                fix[n_fix] = (int32_t)x;
                k += passes;
                n_fix += passes;
            }
            memcpy(merged + k, pos + i, (size_t)(m - i) * 4);
            m = k + m - i;
            use = merged;
        }
        decode(t, c->k - 1, 0, use, m, out);
        for (int64_t i = 0; i < n_fix; i++) out[fix_at[i]] = p->cells[(int64_t)fix[i] * 2 + c->k - 1];
        r += (uint64_t)sum_cells(out, m);
    }
    return r;
}
static uint64_t patched_plain(const Case *c, int64_t tablet) {
    (void)tablet;
    return plain_of(c, patched_values[c->set], packed_values[PATCH_WIDTH][2]);
}

/* ---- the cases ---- */
static void add_open(int words, int k, Op op, int way) {
    static const char *const ways[WAYS] = {"any stride", "", "gather", "runs of 128"};
    static const char *const ops[] = {"sum", "filter", "group", "pack"};
    char label[64];
    snprintf(label, sizeof label, "open %d B, %d col, %s%s%s", words * 8, k, ops[op], *ways[way] ? " " : "", ways[way]);
    uint64_t (*const run[])(const Case *, int64_t) = {open_sum, open_filter, open_group, open_pack};
    Case *c = case_add(label, op, way == WAY_SHORT && op == OP_SUM_ ? open_sum_short : run[op],
                       op == OP_PACK_ ? open_pack_plain : open_plain);
    c->words = words;
    c->k = k;
    c->way = way;
    c->lo = 0;
    c->hi = 25;
}
static void add_packed(int w, int k, Op op) {
    static const char *const ops[] = {"sum", "filter", "group"};
    char label[64];
    snprintf(label, sizeof label, "packed %d bit, %d col, %s", packed_width[w], k, ops[op]);
    uint64_t (*const run[])(const Case *, int64_t) = {packed_sum, packed_filter, packed_group};
    Case *c = case_add(label, op, run[op], packed_plain);
    c->width = w;
    c->k = k;
    c->hi = packed_width[w] == 64 ? INT64_MAX / 10 : (INT64_C(1) << packed_width[w]) / 10;
}
static void add_patched(int share, int k, Op op, int way) {
    static const char *const ways[] = {"sum", "filter by vector", "filter by merge"};
    char label[64];
    snprintf(label, sizeof label, "patched %.1f %%, %d col, %s", patch_share[share] * 100, k,
             ways[op == OP_SUM_ ? 0 : 1 + way]);
    Case *c = case_add(label, op,
                       op == OP_SUM_ ? patched_sum
                       : way         ? patched_filter_merge
                                     : patched_filter_vector,
                       patched_plain);
    c->set = share;
    c->k = k;
    c->hi = 6553;
}
void add_number_cases(void) {
    static const int widths[] = {1, 2, 3, 4, 6, 8};
    for (int i = 0; i < ARRAY_LEN(widths); i++) {
        int w = widths[i];
        for (Op op = OP_SUM_; op <= OP_GROUP_; op++)
            for (int k = 1; k <= w; k = k == 1 ? 2 : k < w ? w : w + 1) add_open(w, k, op, WAY_FIXED_STRIDE);
        if (w == 1) continue;
        add_open(w, 1, OP_SUM_, WAY_ANY_STRIDE);
        add_open(w, 1, OP_SUM_, WAY_GATHER);
        add_open(w, 2, OP_SUM_, WAY_SHORT);
        if (w > 2) add_open(w, w, OP_SUM_, WAY_SHORT);
        if (w > 2) add_open(w, w, OP_SUM_, WAY_GATHER);
    }
    for (int w = 0; w < WIDTHS; w++) {
        for (Op op = OP_SUM_; op <= OP_GROUP_; op++)
            for (int k = 1; k <= 2; k++) add_packed(w, k, op);
    }
    for (int s = 0; s < SHARES; s++) {
        for (int k = 1; k <= 2; k++) {
            add_patched(s, k, OP_SUM_, 0);
            add_patched(s, k, OP_FILTER_, 0);
            add_patched(s, k, OP_FILTER_, 1);
        }
    }
    for (int i = 0; i < ARRAY_LEN(widths); i++) {
        add_open(widths[i], widths[i], OP_PACK_, WAY_FIXED_STRIDE);
        bench.cases[bench.n_cases - 1].cap = 64;
        if (widths[i] == 1) continue;
        add_open(widths[i], widths[i], OP_PACK_, WAY_SHORT);
        bench.cases[bench.n_cases - 1].cap = 64;
    }
}
