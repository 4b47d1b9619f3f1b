/* device.c - the same forms read by kernels: kernel C behind the engine's prelude, its unpack_ and load8_ functions,
 * tiles of 2048 rows by groups of 256 as emitted segments have them. Where there is no GPU the host device runs them
 * over a few tablets, which checks the text but says nothing of times. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/prelude.h"
#include "device/cuda/nvrtc.h"
#include "device/device.h"
#include "scan_forms.h"

enum { TILE = 2048, GROUP = 256, TILES = TABLET_ROWS / TILE, PARAMS = 16, TEXT_MAX = 1 << 18, KERNELS_MAX = 200 };

typedef struct DevCase {
    char name[32], label[64];
    Case plain; /* whose plain loop gives the result */
    uint64_t params[PARAMS];
    bool group;   /* the result is CODES sums */
    double bytes; /* read per row */
    int64_t local_bytes;
    DevKernel *kernel;
    int n_times;
    double ns[ROUNDS_MAX];
} DevCase;

static Device *d;
static const DeviceOps *o;
static Devices *devices;
static DevQueue *queue;
static DevModule *module;
static DevPtr out_at, errors_at;
static int64_t tablets;
static DevCase *cases;
static int n_cases;
static char *text;
static int64_t text_n;
static struct {
    DevPtr at;
    int64_t bytes;
} held[256];
static int n_held;

static void put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    text_n += vsnprintf(text + text_n, (size_t)(TEXT_MAX - text_n), fmt, ap);
    va_end(ap);
    if (text_n < TEXT_MAX) return;
    printf("kernel text too long\n");
    exit(2);
}

/* ---- memory ---- */
static DevPtr dev_alloc(int64_t bytes) {
    DevPtr p;
    bytes += 256;
    NEED(o->alloc(d, bytes, &p, e));
    held[n_held].at = p;
    held[n_held++].bytes = bytes;
    return p;
}
static void dev_write(DevPtr at, const void *from, int64_t bytes) { NEED(o->copy_in(queue, at, from, bytes, e)); }
static DevPtr dev_copy(const void *from, int64_t bytes) {
    DevPtr p = dev_alloc(bytes);
    dev_write(p, from, bytes);
    return p;
}
static void dev_sync(void) { NEED(o->sync(queue, NULL, NULL, e)); }
static void dev_free_all(void) {
    dev_sync();
    while (n_held > 0) {
        n_held--;
        o->free(d, held[n_held].at, held[n_held].bytes);
    }
}

/* ---- kernel text ---- */
static DevCase *begin(const char *label, double bytes, bool group) {
    if (n_cases == KERNELS_MAX) exit(2);
    DevCase *c = &cases[n_cases];
    *c = (DevCase){.bytes = bytes, .group = group, .local_bytes = CODES * 8};
    snprintf(c->name, sizeof c->name, "k%d", n_cases++);
    snprintf(c->label, sizeof c->label, "%s", label);
    c->params[0] = errors_at;
    c->params[1] = out_at;
    c->params[2] = (uint64_t)tablets;
    put("KERNEL(%s) {\n", c->name);
    put(group ? "GROUPED_BEGIN\n" : "SUMMED_BEGIN\n");
    put("TILES_BEGIN\n");
    return c;
}
static void end(bool group) { put(group ? "}\nGROUPED_END\n}\n" : "}\nSUMMED_END\n}\n"); }

static const char frame[] =
    "#define TILE_ROWS 2048\n#define TABLET_ROWS 131072\n"
    "#define TILES_BEGIN const u64 n_tiles = P(2) * (TABLET_ROWS / TILE_ROWS); \\\n"
    "  for (u64 tile = GID; tile < n_tiles; tile += NGROUPS) { \\\n"
    "  const u64 tno = tile / (TABLET_ROWS / TILE_ROWS); \\\n"
    "  const u32 first = (u32)(tile % (TABLET_ROWS / TILE_ROWS)) * TILE_ROWS, end = first + TILE_ROWS;\n"
    "#define ROWS for (u32 row = first + LID; row < end; row += LSIZE)\n"
    "#define BLOCKS for (u32 row = first + LID * 8; row < end; row += LSIZE * 8)\n"
    "#define SUMMED_BEGIN u64 s = 0;\n"
    "#define SUMMED_END s = group_sum_u64(s, LM(u64, 0)); if (LID == 0) ga_add_u64(P(1), s);\n"
    "#define GROUPED_BEGIN LOCAL u64 *acc = LM(u64, 0); for (u32 i = LID; i < 256; i += LSIZE) acc[i] = 0; BARRIER();\n"
    "#define GROUPED_END BARRIER(); for (u32 i = LID; i < 256; i += LSIZE) ga_add_u64(P(1) + i * 8, acc[i]);\n"
    "#define IN(x) ((x) >= PI(8) && (x) <= PI(9))\n"
    /* a row's patch: the bitmap says whether, the bits before it which */
    "FN bool is_patched(u64 bits, u32 row) { return bit_at(bits, row); }\n"
    "FN u32 patch_of(u64 bits, u64 ranks, u32 row) {\n"
    "  const u64 w = GRO(u64, bits)[row >> 6] & ((U64C(1) << (row & 63)) - 1);\n"
    "  return GRO(u32, ranks)[row >> 6] + POPC(w);\n"
    "}\n"
    /* the code of a string: three zero-padded words; slots of hash << 32 | code + 1; own codes do not occur */
    "FN u32 code_of(u64 slots, u64 mask, u64 entries, u32 len, u64 a, u64 b, u64 c) {\n"
    "  u64 h = hash_u64((u64)len + U64C(0x9e3779b97f4a7c15));\n"
    "  h = hash_key(h, a); h = hash_key(h, b); if (len > 16) h = hash_key(h, c);\n"
    "  h >>= 32;\n"
    "  for (u64 at = h & mask;; at = (at + 1) & mask) {\n"
    "    const u64 v = GRO(u64, slots)[at];\n"
    "    if (v == 0) return 0xffffffffu;\n"
    "    if (v >> 32 != h) continue;\n"
    "    const u32 code = (u32)v - 1;\n"
    "    const u64 e = entries + (u64)code * 24;\n"
    "    if (GRO(u64, e)[0] == a && GRO(u64, e)[1] == b && (len <= 16 || GRO(u64, e)[2] == c)) return code;\n"
    "  }\n"
    "}\n";

static void begin_text(void) {
    text_n = 0;
    n_cases = 0;
    put("#define N_PARAMS %d\n#define ERR_PARAM 0\n", PARAMS);
    if (d->info.kind != DEVICE_HOST) put("#define GROUP_SIZE %d\n", GROUP);
    put("%s", KERNEL_PRELUDE_INCLUDE);
    put("#if defined(KC_CUDA)\n#define POPC(x) ((u32)__popcll(x))\n#else\n#define POPC(x) "
        "((u32)__builtin_popcountll(x))\n#endif\n");
    put("%s", frame);
}

/* Open pieces. P(3): cells. Ways: a load per cell; loads of 16 bytes; the rows brought to local memory side by side. */
enum { DEV_CELLS, DEV_WIDE, DEV_STAGED };
static void open_cell(int words, int j, int way, char *out, size_t size) {
    if (way == DEV_STAGED) snprintf(out, size, "stage[(row - from) * %d + %d]", words, j);
    else snprintf(out, size, way == DEV_WIDE ? "x[%d]" : "GRO(u64, at)[%d]", j);
}
static void open_row(int words, int k, Op op, int way) {
    char c0[64], cj[64];
    open_cell(words, 0, way, c0, sizeof c0);
    if (way == DEV_WIDE) {
        put("u64 x[%d];\n", words);
        for (int j = 0; j < k; j += 2)
            put("{ u32 b[4]; load_16(at + %d, b); x[%d] = b[0] | (u64)b[1] << 32; x[%d] = b[2] | (u64)b[3] << 32; }\n",
                j * 8, j, j + 1);
    }
    if (op == OP_FILTER_) put("if (!IN((i64)%s)) continue;\n", c0);
    if (op == OP_GROUP_) put("const u32 g = (u32)%s;\n", c0);
    if (op == OP_GROUP_ && k == 1) put("la_add_u64(acc + g, 1);\n");
    for (int j = op == OP_SUM_ || (op == OP_FILTER_ && k == 1) ? 0 : 1; j < k; j++) {
        open_cell(words, j, way, cj, sizeof cj);
        put(op == OP_GROUP_ ? "la_add_u64(acc + g, %s);\n" : "s += %s;\n", cj);
    }
}
static void add_open(DevPtr cells, int words, int k, Op op, int way) {
    static const char *const ops[] = {"sum", "filter", "group"}, *const ways[] = {"", "16 B loads", "by local memory"};
    char label[64];
    snprintf(label, sizeof label, "open %d B, %d col, %s %s", words * 8, k, ops[op], ways[way]);
    bool group = op == OP_GROUP_;
    DevCase *c = begin(label, words * 8, group);
    c->params[3] = cells;
    c->params[8] = 0;
    c->params[9] = 25;
    c->plain = *case_find("open 8 B, 1 col, sum");
    c->plain.words = words;
    c->plain.k = k;
    c->plain.op = op;
    c->plain.hi = 25;
    put("const u64 base = P(3) + tno * TABLET_ROWS * %d;\n", words * 8);
    if (way == DEV_STAGED) { /* 256 rows at a time behind the sums */
        c->local_bytes += 256 * words * 8;
        put("LOCAL u64 *stage = LM(u64, %d);\nfor (u32 from = first; from < end; from += 256) {\nBARRIER();\n",
            CODES * 8);
        put("for (u32 i = LID; i < 256 * %d; i += LSIZE) stage[i] = GRO(u64, base + (u64)from * %d)[i];\nBARRIER();\n",
            words, words * 8);
        put("for (u32 row = from + LID; row < from + 256; row += LSIZE) {\n");
    } else {
        put("ROWS {\nconst u64 at = base + (u64)row * %d;\n", words * 8);
    }
    open_row(words, k, op, way);
    put(way == DEV_STAGED ? "}\n}\n" : "}\n");
    end(group);
}

/* Packed pieces. P(3), P(4): columns, P(5): codes; bytes of a tablet's in the text. */
static void add_packed(const DevPtr *cols, int w, int k, Op op, bool block) {
    static const char *const ops[] = {"sum", "filter", "group"};
    char label[64];
    int bits = packed_width[w], at = op == OP_GROUP_ ? 5 : 3, second = op == OP_GROUP_ ? 3 : 4;
    int first_bits = op == OP_GROUP_ ? 8 : bits;
    snprintf(label, sizeof label, "packed %d bit, %d col, %s%s", bits, k, ops[op], block ? ", 8 rows" : "");
    bool group = op == OP_GROUP_;
    DevCase *c = begin(label, (first_bits + (k - 1) * bits) / 8.0, group);
    for (int i = 0; i < 3; i++) c->params[3 + i] = cols[i];
    c->plain = *case_find("packed 1 bit, 1 col, sum");
    c->plain.width = w;
    c->plain.op = op;
    c->plain.k = k;
    c->plain.hi = bits == 64 ? INT64_MAX / 10 : (INT64_C(1) << bits) / 10;
    c->params[9] = (uint64_t)c->plain.hi;
    put("const u64 c0 = P(%d) + tno * (TABLET_ROWS / 8 * %d);\n", at, first_bits);
    if (k > 1) put("const u64 c1 = P(%d) + tno * (TABLET_ROWS / 8 * %d);\n", second, bits);
    if (block) {
        put("BLOCKS {\nu32 x[8];\nload8_%d(c0, row, x);\n", first_bits);
        if (k > 1) put("u32 y[8];\nload8_%d(c1, row, y);\n", bits);
        put("UNROLL\nfor (i32 i = 0; i < 8; i++) {\nconst u64 a = x[i];\n");
        if (k > 1) put("const u64 b = y[i];\n");
    } else {
        put("ROWS {\nconst u64 a = unpack_%d(c0, row);\n", first_bits);
        if (k > 1 && op != OP_FILTER_) put("const u64 b = unpack_%d(c1, row);\n", bits);
    }
    if (op == OP_SUM_) put("s += a%s;\n", k > 1 ? " + b" : "");
    else if (op == OP_GROUP_) put("la_add_u64(acc + a, %s);\n", k > 1 ? "b" : "1");
    else if (k == 1) put("if (IN((i64)a)) s += a;\n");
    else if (block) put("if (IN((i64)a)) s += b;\n");
    else put("if (IN((i64)a)) s += unpack_%d(c1, row);\n", bits);
    put(block ? "}\n}\n" : "}\n");
    end(group);
}

/* Patched pieces of 16-bit columns. P(3), P(4) columns, P(6) bitmap, P(7) ranks, P(10) rows, P(11) cells, P(12) their
 * number in a tablet, P(13) where the tiles' begin. Ways: each row asks the bitmap and finds its patch by rank; or rows
 * with patches are left out, as deleted ones are, and the tile's patches come after in a loop of their own. */
enum { DEV_RANK, DEV_AFTER };
typedef struct DevPatches {
    DevPtr bits, ranks, rows, cells, starts;
    int64_t n;
} DevPatches;
static void patched_row(int k, Op op, const char *a, const char *b) {
    if (op == OP_SUM_) put("s += (u64)(%s)%s%s%s;\n", a, k > 1 ? " + (u64)(" : "", k > 1 ? b : "", k > 1 ? ")" : "");
    else put("if (IN((i64)(%s))) s += (u64)(%s);\n", a, k > 1 ? b : a);
}
static void add_patched(const DevPtr *cols, const DevPatches *p, int share, int k, Op op, int way) {
    static const char *const ops[] = {"sum", "filter"}, *const ways[] = {"by rank", "after"};
    char label[64];
    snprintf(label, sizeof label, "patched %.1f %%, %d col, %s %s", patch_share[share] * 100, k, ops[op], ways[way]);
    DevCase *c = begin(label, 2 * k + patch_share[share] * 20, false);
    const uint64_t params[] = {cols[0], cols[1], 0,        p->bits,        p->ranks, 0,
                               6553,    p->rows, p->cells, (uint64_t)p->n, p->starts};
    memcpy(c->params + 3, params, sizeof params);
    c->plain = *case_find("patched 0.1 %, 1 col, sum");
    c->plain.set = share;
    c->plain.op = op;
    c->plain.k = k;
    c->plain.hi = 6553;
    put("const u64 c0 = P(3) + tno * (TABLET_ROWS * 2), c1 = P(4) + tno * (TABLET_ROWS * 2);\n(void)c1;\n");
    put("const u64 bits = P(6) + tno * (TABLET_ROWS / 8), cells = P(11) + tno * P(12) * 16;\n");
    if (way == DEV_RANK) {
        put("const u64 ranks = P(7) + tno * (TABLET_ROWS / 16);\nROWS {\n");
        put("u64 a = unpack_16(c0, row)%s;\n", k > 1 ? ", b = unpack_16(c1, row)" : "");
        put("if (is_patched(bits, row)) {\nconst u64 at = cells + (u64)patch_of(bits, ranks, row) * 16;\n");
        put("a = GRO(u64, at)[0];\n%s}\n", k > 1 ? "b = GRO(u64, at)[1];\n" : "");
        patched_row(k, op, "a", "b");
        put("}\n");
    } else {
        put("ROWS {\nif (is_patched(bits, row)) continue;\n");
        patched_row(k, op, "unpack_16(c0, row)", "unpack_16(c1, row)");
        put("}\nconst u32 to = GRO(u32, P(13))[first / TILE_ROWS + 1];\n");
        put("for (u32 i = GRO(u32, P(13))[first / TILE_ROWS] + LID; i < to; i += LSIZE) {\n");
        put("const u64 at = cells + (u64)i * 16;\n");
        patched_row(k, op, "GRO(u64, at)[0]", "GRO(u64, at)[1]");
        put("}\n");
    }
    end(false);
}

/* ---- running ---- */
static void compile(void) {
    char *source = kernel_source_expand(text);
    DevCode code;
    NEED(o->compile(d, source, "", &code, e));
    NEED(o->load(d, code.bytes, code.n, &module, e));
    dev_code_free(&code);
    int major, minor;
    Err none = {0};
    if (d->info.kind == DEVICE_HOST && nvrtc_version(&major, &minor, &none) == ST_OK) {
        NEED(nvrtc_compile(source, "sm_90", "", &code, e));
        dev_code_free(&code);
        printf("# the kernels compile for sm_90\n");
    }
    free(source);
    for (int i = 0; i < n_cases; i++) NEED(o->kernel(module, cases[i].name, &cases[i].kernel, e));
}
static uint64_t expect_of(DevCase *c) {
    uint64_t r = 0;
    for (int64_t t = 0; t < tablets; t++) r += c->plain.plain(&c->plain, t);
    return r;
}
static uint64_t result(const DevCase *c) {
    uint64_t sums[CODES], r = 0;
    NEED(o->copy_out(queue, sums, out_at, sizeof sums, e));
    dev_sync();
    if (!c->group) return sums[0];
    for (int64_t i = 0; i < CODES; i++) r += sums[i] * (uint64_t)(2 * i + 1);
    return r;
}
static void launch(DevCase *c, DevEvent *a, DevEvent *b) {
    int32_t size = d->info.kind == DEVICE_HOST ? 1 : GROUP;
    int64_t groups = MIN_OF(o->resident_groups(c->kernel, size, c->local_bytes), tablets * TILES);
    NEED(o->fill(queue, out_at, 0, CODES * 8, e));
    NEED(o->event_record(queue, a, e));
    NEED(o->launch(queue, c->kernel, groups, size, c->local_bytes, c->params, PARAMS, e));
    NEED(o->event_record(queue, b, e));
    dev_sync();
    int64_t ns = 0;
    NEED(o->event_ns(d, a, b, &ns, e));
    if (c->n_times < ROUNDS_MAX) c->ns[c->n_times++] = (double)ns;
}
static void expect_worker(void *ctx, int worker) {
    (void)worker;
    _Atomic int64_t *next = ctx;
    for (int64_t i; (i = (*next)++) < n_cases;) cases[i].plain.expect_all = expect_of(&cases[i]);
}
static void run_all(void) {
    DevEvent *a, *b;
    NEED(o->event_new(d, &a, e));
    NEED(o->event_new(d, &b, e));
    _Atomic int64_t next = 0;
    pool_run(bench.pool, pool_threads(bench.pool), expect_worker, &next);
    bool gpu = d->info.kind != DEVICE_HOST;
    for (int round = 0; round < (gpu ? 10 : 1); round++) { /* the first is not counted */
        for (int i = 0; i < n_cases; i++) {
            launch(&cases[i], a, b);
            if (round == 0 && gpu) cases[i].n_times = 0;
            if (result(&cases[i]) == cases[i].plain.expect_all) continue;
            printf("WRONG on the device: %s\n", cases[i].label);
            bench.failures++;
        }
    }
    o->event_free(d, a);
    o->event_free(d, b);
    if (!gpu) {
        printf("# %d kernels give the right results on the host device; times need a GPU\n", n_cases);
        return;
    }
    printf("%-40s %10s %9s %8s\n", d->info.name, "G rows/s", "GB/s", "spread");
    for (int i = 0; i < n_cases; i++) {
        DevCase *c = &cases[i];
        Case t = {.n_times = c->n_times};
        memcpy(t.ns, c->ns, sizeof t.ns);
        double spread, ns = case_median(&t, &spread), rows = (double)(tablets * TABLET_ROWS);
        printf("%-40s %10.2f %9.0f %7.0f%%\n", c->label, rows / ns, rows * c->bytes / ns, spread * 100);
    }
    fflush(stdout);
}

static bool open_device(void) {
    if (!devices) NEED(devices_open(bench.pool, &bench.account, &devices, e));
    NEED(devices_get(devices, devices_automatic() ? devices_automatic() : "host", &d, e));
    o = d->ops;
    tablets = d->info.kind == DEVICE_HOST ? 2 : bench.tablets;
    cases = calloc(KERNELS_MAX, sizeof *cases);
    text = malloc(TEXT_MAX);
    if (!cases || !text) return false;
    NEED(o->queue_new(d, &queue, e));
    out_at = dev_alloc(CODES * 8);
    errors_at = dev_alloc(64);
    NEED(o->fill(queue, errors_at, 0, 64, e));
    return true;
}
static void close_device(void) {
    dev_free_all();
    o->unload(d, module);
    o->queue_free(d, queue);
    free(cases);
    free(text);
}

static void copy_packed(int w, DevPtr *cols) {
    for (int c = 0; c < 3; c++) {
        int64_t bytes = (int64_t)TABLET_ROWS / 8 * (c == 2 ? 8 : packed_width[w]);
        cols[c] = dev_alloc(bytes * tablets);
        for (int64_t t = 0; t < tablets; t++)
            dev_write(cols[c] + (DevPtr)(t * bytes), packed[w][t]->cols[c].data, bytes);
    }
}
static void copy_patches(int s, DevPatches *out) {
    const Patch *p = &patches[s][0]; /* all tablets have the same */
    static uint64_t bits[TABLET_ROWS / 64];
    static uint32_t ranks[TABLET_ROWS / 64], starts[TILES + 1];
    memset(bits, 0, sizeof bits);
    for (int64_t i = 0; i < p->n; i++) bits[p->rows[i] >> 6] |= UINT64_C(1) << (p->rows[i] & 63);
    uint32_t n = 0;
    for (int64_t i = 0; i < TABLET_ROWS / 64; i++) {
        if (i % (TILE / 64) == 0) starts[i / (TILE / 64)] = n;
        ranks[i] = n;
        n += (uint32_t)__builtin_popcountll(bits[i]);
    }
    starts[TILES] = n;
    *out = (DevPatches){.bits = dev_alloc((int64_t)sizeof bits * tablets),
                        .ranks = dev_alloc((int64_t)sizeof ranks * tablets),
                        .rows = dev_alloc(p->n * 4 * tablets),
                        .cells = dev_alloc(p->n * 16 * tablets),
                        .n = p->n};
    out->starts = dev_copy(starts, sizeof starts);
    for (int64_t t = 0; t < tablets; t++) {
        dev_write(out->bits + (DevPtr)t * sizeof bits, bits, sizeof bits);
        dev_write(out->ranks + (DevPtr)t * sizeof ranks, ranks, sizeof ranks);
        dev_write(out->rows + (DevPtr)(t * p->n * 4), p->rows, p->n * 4);
        dev_write(out->cells + (DevPtr)(t * p->n * 16), p->cells, p->n * 16);
    }
    dev_sync();
}
static void number_kernels(void) {
    static const int widths[] = {1, 2, 3, 4, 6, 8};
    DevPtr cells = dev_copy(open_cells, tablets * TABLET_ROWS * WORDS_MAX * 8);
    for (int i = 0; i < ARRAY_LEN(widths); i++) {
        int w = widths[i];
        for (Op op = OP_SUM_; op <= OP_GROUP_; op++)
            for (int k = 1; k <= w; k = k == 1 ? 2 : k < w ? w : w + 1) add_open(cells, w, k, op, DEV_CELLS);
        if (w == 1) continue;
        if (w % 2 == 0) add_open(cells, w, w, OP_SUM_, DEV_WIDE);
        add_open(cells, w, 1, OP_SUM_, DEV_STAGED);
        add_open(cells, w, w, OP_SUM_, DEV_STAGED);
    }
    DevPtr cols[WIDTHS][3];
    for (int w = 0; w < WIDTHS; w++) {
        copy_packed(w, cols[w]);
        for (Op op = OP_SUM_; op <= OP_GROUP_; op++) {
            for (int k = 1; k <= 2; k++) {
                add_packed(cols[w], w, k, op, false);
                if (packed_width[w] <= 32) add_packed(cols[w], w, k, op, true);
            }
        }
    }
    for (int s = 0; s < SHARES; s++) {
        DevPatches p;
        copy_patches(s, &p);
        for (int way = DEV_RANK; way <= DEV_AFTER; way++) {
            add_patched(cols[PATCH_WIDTH], &p, s, 1, OP_SUM_, way);
            add_patched(cols[PATCH_WIDTH], &p, s, 2, OP_SUM_, way);
            add_patched(cols[PATCH_WIDTH], &p, s, 2, OP_FILTER_, way);
        }
    }
}
void device_numbers(void) {
    if (!open_device()) return;
    begin_text();
    number_kernels();
    compile();
    run_all();
    close_device();
}

/* ---- strings ---- */
/* P(3) cells, P(4) heap, P(5) slots, P(6) mask, P(7) entries. */
static const char string_words[] =
    "const u64 w0 = GRO(u64, at)[0], w1 = GRO(u64, at)[1];\n"
    "u64 a, b, c = 0;\n"
    "const u32 len = (u32)w0;\n"
    "if (len <= 12) { a = w0 >> 32 | w1 << 32; b = w1 >> 32; }\n"
    "else { const u64 t = P(4) + w1; a = GRO(u64, t)[0]; b = GRO(u64, t)[1]; if (len > 16) c = GRO(u64, t)[2]; }\n";
static uint64_t words_hash(const uint64_t *w, int len) {
    uint64_t h = hash_u64((uint64_t)len + UINT64_C(0x9e3779b97f4a7c15));
    for (int i = 0; i < (len > 16 ? 3 : 2); i++) h = hash_key(h, w[i]);
    return h >> 32;
}
static void copy_dictionary(const StringView *v, uint64_t *params) {
    int64_t n = v->dict->n, n_slots = 32;
    while (n_slots < n * 2) n_slots *= 2;
    uint64_t *slots = calloc((size_t)n_slots, 8), *entries = calloc((size_t)n, 24);
    if (!slots || !entries) exit(2);
    for (int64_t i = 0; i < n; i++) {
        memcpy(entries + 3 * i, v->dict->entries[i].ptr, v->dict->entries[i].len);
        uint64_t h = words_hash(entries + 3 * i, v->len);
        int64_t at = (int64_t)h & (n_slots - 1);
        while (slots[at]) at = (at + 1) & (n_slots - 1);
        slots[at] = h << 32 | (uint64_t)(i + 1);
    }
    params[5] = dev_copy(slots, n_slots * 8);
    params[6] = (uint64_t)n_slots - 1;
    params[7] = dev_copy(entries, n * 24);
    dev_sync();
    free(slots);
    free(entries);
}
static void add_strings(int set) {
    StringView v = strings_view(set);
    uint64_t params[PARAMS] = {0};
    int64_t rows = tablets * TABLET_ROWS;
    char label[64], name[32];
    snprintf(name, sizeof name, "%d B of %s", v.len, v.dict->n == 10 ? "10" : "1 M");
    params[3] = dev_copy(v.cells, rows * 16);
    params[4] = v.heap ? dev_copy(v.heap, rows * 24) : 0;
    copy_dictionary(&v, params);
    int bits = v.packed[0]->cols[0].width;
    int64_t bytes = (int64_t)TABLET_ROWS / 8 * bits;
    DevPtr codes = dev_alloc(bytes * tablets);
    int64_t *bases = malloc((size_t)tablets * 8);
    if (!bases) exit(2);
    for (int64_t t = 0; t < tablets; t++) {
        dev_write(codes + (DevPtr)(t * bytes), v.packed[t]->cols[0].data, bytes);
        bases[t] = v.packed[t]->cols[0].base;
    }
    const DevPtr bases_at = dev_copy(bases, tablets * 8);
    dev_sync();
    free(bases);
    static const char code[] = "const u64 c0 = P(3) + tno * %lld, base = GRO(u64, P(4))[tno];\n";

    snprintf(label, sizeof label, "%s, packed group (%d bit)", name, bits);
    DevCase *c = begin(label, bits / 8.0, true);
    c->plain = *strings_plain(set, OP_GROUP_);
    c->params[3] = codes;
    c->params[4] = bases_at;
    put(code, (long long)bytes);
    put("ROWS la_add_u64(acc + ((base + unpack_%d(c0, row)) & 255), 1);\n", bits);
    end(true);

    snprintf(label, sizeof label, "%s, group by mapping", name);
    c = begin(label, 16 + (v.heap ? 24 : 0), true);
    memcpy(c->params + 3, params + 3, sizeof params - 24);
    c->plain = *strings_plain(set, OP_GROUP_);
    put("ROWS {\nconst u64 at = P(3) + (tno * TABLET_ROWS + row) * 16;\n%s", string_words);
    put("la_add_u64(acc + (code_of(P(5), P(6), P(7), len, a, b, c) & 255), 1);\n}\n");
    end(true);

    snprintf(label, sizeof label, "%s, equal by cells", name);
    c = begin(label, 16 + (v.heap ? 24 : 0), false);
    memcpy(c->params + 3, params + 3, sizeof params - 24);
    uint64_t want[3] = {0};
    memcpy(want, v.dict->entries[3].ptr, (size_t)v.len);
    memcpy(c->params + 8, want, sizeof want);
    c->plain = *strings_plain(set, OP_FILTER_);
    put("ROWS {\nconst u64 at = P(3) + (tno * TABLET_ROWS + row) * 16;\n%s", string_words);
    put("s += len == %du && a == P(8) && b == P(9) && c == P(10);\n}\n", v.len);
    end(false);

    snprintf(label, sizeof label, "%s, packed equal (%d bit)", name, bits);
    c = begin(label, bits / 8.0, false);
    c->plain = *strings_plain(set, OP_FILTER_);
    c->params[3] = codes;
    c->params[4] = bases_at;
    put(code, (long long)bytes);
    put("ROWS s += base + unpack_%d(c0, row) == 3;\n", bits);
    end(false);
}
void device_strings(void) {
    if (!open_device()) return;
    begin_text();
    for (int set = 0; set < STRING_SETS; set++) add_strings(set);
    compile();
    run_all();
    close_device();
}
void device_end(void) {
    if (devices) devices_close(devices);
    devices = NULL;
}
