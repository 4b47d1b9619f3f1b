/* calibrate.c - measures what the CPU and the devices reach: see profile.h.
 *
 * Device kernels are kernel C like all generated ones and go through the device layer, so that the same code measures
 * every backend. Each kernel leaves partial results that are added up on the host and compared: a device that computes
 * nonsense fast gets no profile. Times are those of the wall clock around many launches and one sync, the best of some
 * runs; the buffers are big enough for launch and sync not to matter (full calibration), and one run before the first
 * measured one warms caches, clocks and page tables.
 */
#include "cost/profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "codegen/emit.h"
#include "codegen/prelude.h"
#include "device/work.h"

static const int64_t KIB = 1 << 10, MIB = 1 << 20;
enum { TILE = 1024 /* 16-byte units */, TILE_BYTES = TILE * 16, LOCAL_WORDS = 1024, GROUP = 256, PARAMS = 4 };
static const uint64_t WORD = UINT64_C(0x0101010101010101); /* of a buffer filled with ones */

/* Parameters: partial results, one word per item; memory; 16-byte units or words - 1; operations per item. */
static_assert(EMIT_CHANNEL_LOCAL == 22 * 8 && EMIT_CHANNEL_FULL == 254, "as kernel_head says");
static const char kernel_head[] =
    "#define N_PARAMS 4\n#define CHANNEL_LOCAL 0\n#define CHANNEL_WORDS 22\n#define CHANNEL_FULL 254\n";
static const char kernel_source[] =
    "#define TILE 1024\n"
    "#define LOCAL_WORDS 1024\n"
    "#if defined(KC_CUDA)\n"
    "typedef ulonglong2 unit;\n"
    "#define LOAD(i) __ldg((const unit *)P(1) + (i))\n"
    "#elif defined(KC_OPENCL)\n"
    "typedef ulong2 unit;\n"
    "#define LOAD(i) (((__global const unit *)P(1))[i])\n"
    "#else\n"
    "typedef struct { u64 x, y; } unit;\n"
    "#define LOAD(i) (((const unit *)P(1))[i])\n"
    "#endif\n"
    "#define ITEM (GID * LSIZE + LID)\n"
    "#define LEAVE(v) G(u64, P(0))[ITEM] = (v)\n"
    "#define NEXT(x) ((x) * U64C(6364136223846793005) + U64C(1442695040888963407))\n"
    "KERNEL(cal_empty) { (void)0; }\n"
    "KERNEL(cal_read) {\n"
    "    u64 a = 0, b = 0, c = 0, d = 0, tiles = P(2) / TILE;\n"
    "    for (u64 t = GID; t < tiles; t += NGROUPS) {\n"
    "        u64 i = t * TILE + LID, end = (t + 1) * TILE;\n"
    "        for (; i + 3 * LSIZE < end; i += 4 * LSIZE) {\n"
    "            unit p = LOAD(i), q = LOAD(i + LSIZE), r = LOAD(i + 2 * LSIZE), s = LOAD(i + 3 * LSIZE);\n"
    "            a += p.x + p.y; b += q.x + q.y; c += r.x + r.y; d += s.x + s.y;\n"
    "        }\n"
    "        for (; i < end; i += LSIZE) { unit p = LOAD(i); a += p.x + p.y; }\n"
    "    }\n"
    "    LEAVE(a + b + c + d);\n"
    "}\n"
    "KERNEL(cal_gather) {\n"
    "    u64 x = NEXT(ITEM), sum = 0;\n"
    "    for (u64 i = 0; i < P(3); i++) { x = NEXT(x); sum += GRO(u64, P(1))[(x >> 24) & P(2)]; }\n"
    "    LEAVE(sum);\n"
    "}\n"
    "KERNEL(cal_add) {\n"
    "    u64 x = NEXT(ITEM);\n"
    "    for (u64 i = 0; i < P(3); i++) { x = NEXT(x); ga_add_u64(P(1) + 8 * ((x >> 24) & P(2)), 1); }\n"
    "    LEAVE(P(3));\n"
    "}\n"
    "KERNEL(cal_cas) {\n"
    "    u64 x = NEXT(ITEM), sum = 0;\n"
    "    for (u64 i = 0; i < P(3); i++) { x = NEXT(x); sum += ga_cas_u64(P(1) + 8 * ((x >> 24) & P(2)), i, i) != 0; }\n"
    "    LEAVE(sum);\n"
    "}\n"
    "KERNEL(cal_compute) {\n"
    "    u32 a = (u32)ITEM, b = a + 1, c = a + 2, d = a + 3;\n"
    "    for (u64 i = 0; i < P(3); i++) { a = a * 1664525u + 1013904223u; b ^= a >> 9; c += b; d = d < c ? d + a : d ^ "
    "c; }\n"
    "    LEAVE(P(3) + ((a | b | c | d) == 0));\n"
    "}\n"
    "KERNEL(cal_link) {\n" /* one ring over all lines, in an order that no prefetcher foresees */
    "    for (u64 i = ITEM; i <= P(2); i += NGROUPS * LSIZE) G(u64, P(1) + i * 256)[0] = P(1) + ((i * U64C(2654435761) "
    "+ 12345) & P(2)) * 256;\n"
    "    LEAVE(0);\n"
    "}\n"
    "KERNEL(cal_chase) {\n"
    "    u64 x = P(2);\n"
    "    for (u64 i = 0; i < P(3); i++) x = GVOL(u64, x)[0];\n"
    "    LEAVE((x - P(1)) % 256);\n"
    "}\n"
    "KERNEL(cal_local) {\n"
    "    LOCAL u32 *table = LM(u32, 0);\n"
    "    u64 x = NEXT(ITEM), sum = 0;\n"
    "    for (u32 i = LID; i < LOCAL_WORDS; i += LSIZE) table[i] = 0;\n"
    "    BARRIER();\n"
    "    for (u64 i = 0; i < P(3); i++) { x = NEXT(x); la_add_u32(table + ((x >> 40) & (LOCAL_WORDS - 1)), 1); }\n"
    "    BARRIER();\n"
    "    for (u32 i = LID; i < LOCAL_WORDS; i += LSIZE) sum += table[i];\n"
    "    LEAVE(sum);\n"
    "}\n";

/* A writer and a reader of a channel (codegen/prelude/kc_channel.h). Parameters: error word; the channel's control
 * block; its packets; rows of 8 bytes to write in all, or where the reader's items leave their sums. The writer's row i
 * is i. */
static const char channel_kernels[] =
    "KERNEL(cal_write) {\n"
    "    const u64 n = P(3);\n"
    "    CHAN_START(0, P(1));\n"
    "    for (u64 from = GID * 4096; from < n && CH[GAVE_UP] == 0; from += NGROUPS * 4096) {\n"
    "        const u64 to = n - from < 4096 ? n : from + 4096;\n"
    "        for (u64 batch = from, size = CH[OUT_BATCH]; batch < to; batch += size) {\n"
    "            CHAN_ROOM(P(1));\n"
    "            if (CH[GAVE_UP] != 0) break;\n"
    "            const u64 end = to - batch < size ? to : batch + size;\n"
    "            for (u64 row = batch + LID; row < end; row += LSIZE) {\n"
    "                const u64 slot = chan_append(P(1), P(ERR_PARAM), CH, GID);\n"
    "                if (slot != CH_NONE) G(u64, P(2))[slot] = row;\n"
    "            }\n"
    "        }\n"
    "    }\n"
    "    CHAN_END(0, P(1));\n"
    "}\n"
    "KERNEL(cal_take) {\n"
    "    u64 sum = 0;\n"
    "    CHAN_START(P(1), 0);\n"
    "    for (;;) {\n"
    "        CHAN_TAKE(P(1), 0);\n"
    "        if (CH[IN_PACKET] == 0) break;\n"
    "        const u64 first = CH[IN_FIRST], end = first + CH[IN_ROWS];\n"
    "        for (u64 row = first + LID; row < end; row += LSIZE) sum += G(u64, P(2))[row];\n"
    "    }\n"
    "    CHAN_END(P(1), 0);\n"
    "    G(u64, P(3))[GID * LSIZE + LID] = sum;\n"
    "}\n";

/* ---- the CPU ---------------------------------------------------------------------------------------- */

typedef struct Scan {
    const uint64_t *words;
    int64_t n, chunk; /* words */
    _Atomic int64_t next;
    _Atomic uint64_t sum;
} Scan;

static void scan_worker(void *ctx, int worker) {
    (void)worker;
    Scan *s = ctx;
    uint64_t sum[8] = {0};
    for (int64_t at; (at = atomic_fetch_add(&s->next, s->chunk)) < s->n;) {
        const uint64_t *p = s->words + at;
        int64_t n = MIN_OF(s->chunk, s->n - at) / 8 * 8;
        for (int64_t i = 0; i < n; i += 8) {
            for (int k = 0; k < 8; k++) sum[k] += p[i + k];
        }
    }
    for (int k = 1; k < 8; k++) sum[0] += sum[k];
    atomic_fetch_add(&s->sum, sum[0]);
}

/* Bytes per nanosecond are GB/s; the best of some runs, the first not counted. */
static Status scan_rate(Pool *pool, int threads, Scan *s, int runs, double *out, Err *e) {
    *out = 0;
    for (int i = 0; i <= runs; i++) {
        atomic_store(&s->next, 0);
        atomic_store(&s->sum, 0);
        int64_t start = clock_ns();
        pool_run(pool, threads, scan_worker, s);
        int64_t ns = MAX_OF(clock_ns() - start, 1);
        if (atomic_load(&s->sum) != (uint64_t)s->n * WORD) return err_internal(e, "the processor computed a wrong sum");
        if (i > 0) *out = MAX_OF(*out, (double)s->n * 8 / (double)ns);
    }
    return ST_OK;
}

Status profile_calibrate_cpu(Pool *pool, bool quick, Profile *p, Err *e) {
    int64_t bytes = quick ? 8 * MIB : 1024 * MIB;
    uint64_t *words = mem_alloc(NULL, bytes, e);
    if (!words) return ST_ERROR;
    memset(words, 1, (size_t)bytes);
    Scan s = {.words = words, .n = bytes / 8, .chunk = 128 * KIB};
    CpuProfile c = {.threads = pool_threads(pool)};
    int runs = quick ? 2 : 5;
    Status st = scan_rate(pool, 1, &s, runs, &c.read_gbps_thread, e);
    if (st == ST_OK) st = scan_rate(pool, pool_threads(pool), &s, runs, &c.read_gbps_all, e);
    mem_free(NULL, words, bytes);
    if (st == ST_OK) p->cpu = c;
    return st;
}

/* ---- a device ---------------------------------------------------------------------------------------- */

typedef struct Bench {
    Device *d;
    const DeviceOps *ops;
    Err *e;
    bool quick;
    int runs;
    DevQueue *queue;
    DevModule *module;
    DevMem partial; /* results, one word per item */
    int64_t host_bytes;
    uint64_t *host; /* the same */
} Bench;

typedef struct Shape {
    int64_t groups, items;
    int32_t size;
} Shape;

static Status sync(Bench *b) { return b->ops->sync(b->queue, NULL, NULL, b->e); }

/* A grid that fills the device once. Where a group is one item it is a thread's work, and more of them than threads
 * even out their speed. */
static Status shape_of(Bench *b, DevKernel *k, int64_t local_bytes, Shape *out) {
    int32_t size = MAX_OF(MIN_OF((int32_t)GROUP, b->d->info.group_max), 1);
    int64_t groups = b->ops->resident_groups(k, size, local_bytes);
    if (groups < 1) return err_internal(b->e, "device \"%s\" cannot run a group of %d", b->d->info.id, (int)size);
    if (size == 1) groups *= 8;
    *out = (Shape){.groups = groups, .size = size, .items = groups * size};
    int64_t bytes = out->items * 8;
    TRY(device_mem_need(b->d, NULL, &b->partial, bytes, b->e));
    if (bytes <= b->host_bytes) return ST_OK;
    mem_free(NULL, b->host, b->host_bytes);
    b->host = mem_alloc(NULL, bytes, b->e);
    b->host_bytes = b->host ? bytes : 0;
    return b->host ? ST_OK : ST_ERROR;
}

static Status check_sum(Bench *b, const Shape *s, uint64_t expected, const char *kernel) {
    TRY(device_read(b->d, b->queue, b->host, b->partial.p, s->items * 8, b->e));
    uint64_t sum = 0;
    for (int64_t i = 0; i < s->items; i++) sum += b->host[i];
    if (sum == expected) return ST_OK;
    return err_internal(b->e, "device \"%s\" computed a wrong sum in calibration kernel %s", b->d->info.id, kernel);
}

/* Launches of one run: a processor is slow enough for one. */
static int repeats(const Bench *b, int run) {
    return run == 0 || (b->d->info.shares_memory && !b->quick) ? 1 : b->quick ? 2 : 4;
}

/* Runs a kernel a few times; the best time of one. `param` are P(1) to P(3). The sum of all partial results must be
 * `expected`. */
static Status time_kernel(Bench *b, const char *name, int64_t local_bytes, const uint64_t param[3], const Shape *s,
                          uint64_t expected, double *ns) {
    DevKernel *k;
    TRY(b->ops->kernel(b->module, name, &k, b->e));
    uint64_t p[PARAMS] = {b->partial.p, param[0], param[1], param[2]};
    *ns = 0;
    for (int i = 0; i <= b->runs; i++) {
        int64_t start = clock_ns();
        int repeat = repeats(b, i);
        for (int r = 0; r < repeat; r++)
            TRY(b->ops->launch(b->queue, k, s->groups, s->size, local_bytes, p, PARAMS, b->e));
        TRY(sync(b));
        double t = (double)MAX_OF(clock_ns() - start, 1) / repeat;
        if (i == 0) {
            TRY(check_sum(b, s, expected, name));
        } else if (*ns == 0 || t < *ns) {
            *ns = t;
        }
    }
    return ST_OK;
}

static Status time_read(Bench *b, DevPtr memory, int64_t bytes, double *gbps) {
    DevKernel *k;
    Shape s;
    double ns;
    TRY(b->ops->kernel(b->module, "cal_read", &k, b->e));
    TRY(shape_of(b, k, 0, &s));
    const uint64_t param[3] = {memory, (uint64_t)bytes / 16, 0};
    TRY(time_kernel(b, "cal_read", 0, param, &s, (uint64_t)(bytes / 8) * WORD, &ns));
    *gbps = (double)bytes / ns;
    return ST_OK;
}

/* The memory must hold what all runs of cal_add together have added. */
static Status check_added(Bench *b, DevPtr memory, int64_t bytes, uint64_t each_launch) {
    DevKernel *k;
    Shape s;
    uint64_t launches = 0;
    for (int i = 0; i <= b->runs; i++) launches += (uint64_t)repeats(b, i);
    TRY(b->ops->kernel(b->module, "cal_read", &k, b->e));
    TRY(shape_of(b, k, 0, &s));
    const uint64_t p[PARAMS] = {b->partial.p, memory, (uint64_t)bytes / 16, 0};
    TRY(b->ops->launch(b->queue, k, s.groups, s.size, 0, p, PARAMS, b->e));
    return check_sum(b, &s, launches * each_launch, "cal_add");
}

/* Gathers from words of ones; adds to zeros; compares zeros with counters, so that the first exchange writes 0 and no
 * other does. */
static Status time_random(Bench *b, const char *name, DevPtr memory, int64_t bytes, ProfileCurve *out) {
    DevKernel *k;
    Shape s;
    double ns;
    TRY(b->ops->kernel(b->module, name, &k, b->e));
    TRY(shape_of(b, k, 0, &s));
    bool gather = strcmp(name, "cal_gather") == 0, add = strcmp(name, "cal_add") == 0;
    int64_t total = b->quick ? 1 << 18 : b->d->info.shares_memory ? 1 << 22 : 1 << 26;
    uint64_t each = (uint64_t)MAX_OF(total / s.items, 1), all = each * (uint64_t)s.items;
    TRY(b->ops->fill(b->queue, memory, gather ? 1 : 0, bytes, b->e));
    const uint64_t param[3] = {memory, (uint64_t)bytes / 8 - 1, each};
    TRY(time_kernel(b, name, 0, param, &s, gather ? all * WORD : add ? all : 0, &ns));
    if (add) TRY(check_added(b, memory, bytes, all));
    out->bytes[out->n] = bytes;
    out->mps[out->n++] = (double)all * 1e3 / ns;
    return ST_OK;
}

static Status time_random_all(Bench *b, DevPtr memory, int64_t max_bytes, DeviceProfile *out) {
    static const int64_t full[] = {1 << 20, 1 << 26, 1 << 30, INT64_C(1) << 32}, small[] = {1 << 16, 1 << 20};
    const int64_t *sizes = b->quick ? small : full;
    int64_t n = b->quick ? ARRAY_LEN(small) : ARRAY_LEN(full);
    for (int64_t i = 0; i < n && sizes[i] <= max_bytes; i++) {
        TRY(time_random(b, "cal_gather", memory, sizes[i], &out->gather));
        TRY(time_random(b, "cal_cas", memory, sizes[i], &out->atomic_cas));
        TRY(time_random(b, "cal_add", memory, sizes[i], &out->atomic_add));
    }
    return ST_OK;
}

static Status time_local(Bench *b, double *mps) {
    DevKernel *k;
    Shape s;
    double ns;
    const int64_t bytes = LOCAL_WORDS * 4;
    if (b->d->info.local_bytes < bytes) return ST_OK;
    TRY(b->ops->kernel(b->module, "cal_local", &k, b->e));
    TRY(shape_of(b, k, bytes, &s));
    uint64_t each = (uint64_t)MAX_OF((b->quick ? 1 << 18 : b->d->info.shares_memory ? 1 << 24 : 1 << 28) / s.items, 1);
    const uint64_t param[3] = {0, 0, each};
    TRY(time_kernel(b, "cal_local", bytes, param, &s, each * (uint64_t)s.items, &ns));
    *mps = (double)each * (double)s.items * 1e3 / ns;
    return ST_OK;
}

static Status time_launch(Bench *b, DeviceProfile *out) {
    DevKernel *k;
    const uint64_t p[PARAMS] = {0};
    const int32_t size = MAX_OF(MIN_OF((int32_t)GROUP, b->d->info.group_max), 1);
    const int many = b->quick ? 50 : 500;
    TRY(b->ops->kernel(b->module, "cal_empty", &k, b->e));
    for (int run = 0; run <= b->runs; run++) {
        int64_t start = clock_ns();
        for (int i = 0; i < many; i++) TRY(b->ops->launch(b->queue, k, 1, size, 0, p, PARAMS, b->e));
        TRY(sync(b));
        double us = (double)(clock_ns() - start) / 1e3 / many;
        if (run == 1 || (run > 1 && us < out->launch_us)) out->launch_us = us;
    }
    double best = 0;
    for (int i = 0; i < many; i++) {
        int64_t start = clock_ns();
        TRY(b->ops->launch(b->queue, k, 1, size, 0, p, PARAMS, b->e));
        TRY(sync(b));
        double us = (double)(clock_ns() - start) / 1e3;
        if (i == 0 || us < best) best = us;
    }
    out->launch_sync_us = best;
    return ST_OK;
}

typedef enum CopyWay { TO_DEVICE, TO_HOST, ON_DEVICE } CopyWay;

static Status time_copy(Bench *b, CopyWay way, DevPtr memory, void *pinned, int64_t bytes, double *gbps) {
    *gbps = 0;
    for (int run = 0; run <= b->runs; run++) {
        int repeat = b->quick ? 1 : 4;
        int64_t start = clock_ns();
        for (int i = 0; i < repeat; i++) {
            if (way == TO_DEVICE) TRY(b->ops->copy_in(b->queue, memory, pinned, bytes, b->e));
            if (way == TO_HOST) TRY(b->ops->copy_out(b->queue, pinned, memory, bytes, b->e));
            if (way == ON_DEVICE) TRY(b->ops->copy(b->queue, memory + (uint64_t)bytes, memory, bytes, b->e));
        }
        TRY(sync(b));
        double ns = (double)MAX_OF(clock_ns() - start, 1) / repeat;
        double rate = (double)bytes * (way == ON_DEVICE ? 2 : 1) / ns;
        if (run > 0) *gbps = MAX_OF(*gbps, rate);
    }
    return ST_OK;
}

static Status time_bus(Bench *b, DevPtr memory, int64_t bytes, DeviceProfile *out) {
    void *pinned = NULL;
    DevPtr seen = 0;
    TRY(b->ops->alloc_pinned(b->d, bytes, &pinned, &seen, b->e));
    memset(pinned, 1, (size_t)bytes);
    Status st = time_copy(b, TO_DEVICE, memory, pinned, bytes, &out->to_device_gbps);
    if (st == ST_OK) st = time_copy(b, TO_HOST, memory, pinned, bytes, &out->to_host_gbps);
    if (st == ST_OK && seen) st = time_read(b, seen, bytes, &out->mapped_gbps);
    if (st != ST_OK) (void)b->ops->sync(b->queue, NULL, NULL, NULL); /* nothing may use the memory any more */
    b->ops->free_pinned(b->d, pinned, bytes);
    return st;
}

/* ---- channels ------------------------------------------------------------------------------------------ */

typedef struct ChannelRun {
    DevQueue *other[4]; /* [0]: the reader's */
    DevKernel *write, *take;
    Shape shape;   /* of both: two fifths of what fits */
    DevPtr memory; /* error word, then the control block, then packets */
    int64_t bytes;
} ChannelRun;

enum { CHANNEL_HEADER = 13 };
/* The control block of one channel, as for a pipeline: the error word, the count of rows and times, the block, its
 * queues, packets. */
static Status make_channel(Bench *b, const ChannelRun *c, DevPtr at, int64_t channels, int64_t packets, int64_t packet,
                           uint64_t header[CHANNEL_HEADER]) {
    const uint64_t words[CHANNEL_HEADER] = {(uint64_t)channels,
                                            (uint64_t)packets,
                                            (uint64_t)packet,
                                            (uint64_t)c->shape.groups,
                                            0,
                                            (uint64_t)MIN_OF((int64_t)4 * c->shape.size, packet),
                                            0,
                                            0,
                                            0,
                                            (uint64_t)MIN_OF((int64_t)4 * c->shape.size, packet),
                                            at + EMIT_CHANNEL_HEAD * 8,
                                            c->memory + 64,
                                            c->memory + 128};
    memcpy(header, words, sizeof words);
    TRY(b->ops->fill(b->queue, at, 0, (EMIT_CHANNEL_HEAD + emit_channel_words(channels, packets)) * 8, b->e));
    return b->ops->copy_in(b->queue, at, header, (int64_t)sizeof words, b->e);
}

/* Ends what waits for kernels that were never started. */
static void stop_kernels(Bench *b, const ChannelRun *c) {
    static const uint64_t stop = 1;
    (void)device_signal(b->d, &b->queue, c->memory + 8, &stop, NULL);
}

/* One run: `rows` rows through `channels` sub-channels with packets of `packet` rows. */
static Status time_channel(Bench *b, ChannelRun *c, int64_t channels, int64_t packet, int64_t rows, double *gbps) {
    const int64_t packets = 3 * c->shape.groups, words = EMIT_CHANNEL_HEAD + emit_channel_words(channels, packets),
                  control = align_up(words * 8, 256);
    if (256 + control + packets * packet * 8 > c->bytes) return ST_OK;
    const uint64_t at = c->memory + 256, data = at + (uint64_t)control;
    for (int run = 0; run <= b->runs; run++) {
        uint64_t header[CHANNEL_HEADER];
        TRY(b->ops->fill(b->queue, c->memory, 0, 256, b->e));
        TRY(make_channel(b, c, at, channels, packets, packet, header));
        TRY(sync(b));
        const uint64_t write[PARAMS] = {c->memory, at, data, (uint64_t)rows},
                       take[PARAMS] = {c->memory, at, data, b->partial.p};
        int64_t start = clock_ns();
        TRY(b->ops->launch(c->other[0], c->take, c->shape.groups, c->shape.size, EMIT_CHANNEL_LOCAL, take, PARAMS,
                           b->e));
        Status st =
            b->ops->launch(b->queue, c->write, c->shape.groups, c->shape.size, EMIT_CHANNEL_LOCAL, write, PARAMS, b->e);
        if (st != ST_OK) stop_kernels(b, c);
        if (b->ops->sync(c->other[0], NULL, NULL, b->e) != ST_OK || st != ST_OK) return ST_ERROR;
        TRY(sync(b));
        double rate = (double)rows * 8 / (double)MAX_OF(clock_ns() - start, 1);
        TRY(check_sum(b, &c->shape, (uint64_t)rows * (uint64_t)(rows - 1) / 2, "cal_take"));
        if (run > 0) *gbps = MAX_OF(*gbps, rate);
    }
    return ST_OK;
}

/* A round of `pairs` of a writer and a reader with nothing to hand over, as the executor starts it: the best time from
 * the first call to the end of the wait. */
static Status time_round(Bench *b, ChannelRun *c, int pairs, double *us) {
    const int64_t block = align_up((EMIT_CHANNEL_HEAD + emit_channel_words(1, 8)) * 8, 256);
    Shape all = c->shape;
    uint64_t header[2][CHANNEL_HEADER];
    DevEvent *go = NULL, *done[4] = {0};
    Status st = ST_OK;
    c->shape.groups = 1;
    for (int run = 0; run <= b->runs * 4 && st == ST_OK; run++) {
        int64_t start = clock_ns();
        int launched = 0;
        for (int i = 0; i < pairs && st == ST_OK; i++)
            st = make_channel(b, c, c->memory + 256 + (uint64_t)(i * block), 1, 8, 1024, header[i]);
        if (st == ST_OK) st = device_mark(b->d, b->queue, &go, b->e);
        for (int i = 0; i < 2 * pairs && st == ST_OK; i++) st = b->ops->event_wait(c->other[i], go, b->e);
        for (int i = 0; i < 2 * pairs && st == ST_OK; i++, launched++) {
            const uint64_t at = c->memory + 256 + (uint64_t)(i / 2 * block),
                           p[PARAMS] = {c->memory, at, at, i % 2 ? b->partial.p : 0};
            st = b->ops->launch(c->other[i], i % 2 ? c->take : c->write, 1, c->shape.size, EMIT_CHANNEL_LOCAL, p,
                                PARAMS, b->e);
        }
        if (st != ST_OK && launched) stop_kernels(b, c);
        for (int i = 0; i < 2 * pairs && st == ST_OK; i++) st = device_mark(b->d, c->other[i], &done[i], b->e);
        for (int i = 0; i < 2 * pairs && st == ST_OK; i++) st = b->ops->event_wait(b->queue, done[i], b->e);
        if (st == ST_OK) st = sync(b);
        double t = (double)(clock_ns() - start) / 1e3;
        if (run == 1 || (run > 1 && t < *us)) *us = t;
    }
    c->shape = all;
    for (int i = 0; i < 2 * pairs; i++) {
        if (c->other[i] && st != ST_OK) (void)b->ops->sync(c->other[i], NULL, NULL, NULL);
        device_event_drop(b->d, &done[i]);
    }
    device_event_drop(b->d, &go);
    return device_settle(b->d, b->queue, st, b->e); /* copies of `header` may still be on their way */
}

/* What starting kernels that run at the same time takes: a line through the times of two and of four. */
static Status time_pipeline(Bench *b, ChannelRun *c, DeviceProfile *out) {
    double two = 0, four = 0;
    TRY(b->ops->fill(b->queue, c->memory, 0, 256, b->e));
    TRY(time_round(b, c, 1, &two));
    TRY(time_round(b, c, 2, &four));
    out->pipeline_kernel_us = MAX_OF((four - two) / 2, 0.01);
    out->pipeline_us = MAX_OF(two - 2 * out->pipeline_kernel_us, 0.01);
    return ST_OK;
}

static Status time_channels(Bench *b, DevPtr memory, int64_t bytes, DeviceProfile *out) {
    static const int64_t counts[] = {1, 4, 16}, packets[] = {2048, 8192}, sizes[] = {1 << 17, 1 << 21, 1 << 24};
    if (!b->d->info.concurrent) return ST_OK;
    ChannelRun c = {.memory = memory, .bytes = bytes};
    TRY(b->ops->kernel(b->module, "cal_write", &c.write, b->e));
    TRY(b->ops->kernel(b->module, "cal_take", &c.take, b->e));
    TRY(shape_of(b, c.take, EMIT_CHANNEL_LOCAL, &c.shape));
    if (c.shape.size == 1) c.shape.groups /= 8; /* a thread each */
    c.shape.groups = MAX_OF(c.shape.groups * 2 / 5, INT64_C(1));
    int64_t most = b->ops->resident_groups(c.write, c.shape.size, EMIT_CHANNEL_LOCAL) * 2 / 5;
    if (c.shape.size > 1) c.shape.groups = MAX_OF(MIN_OF(c.shape.groups, most), INT64_C(1));
    c.shape.items = c.shape.groups * c.shape.size;
    Status st = ST_OK;
    for (int i = 0; i < (int)ARRAY_LEN(c.other) && st == ST_OK; i++) st = b->ops->queue_new(b->d, &c.other[i], b->e);
    if (st == ST_OK) st = time_pipeline(b, &c, out);
    for (int n = 0; n < (int)ARRAY_LEN(counts); n++)
        for (int p = 0; p < (int)ARRAY_LEN(packets); p++)
            for (int s = 0; s < (b->quick ? 1 : (int)ARRAY_LEN(sizes)) && st == ST_OK; s++) {
                double gbps = 0;
                st = time_channel(b, &c, counts[n], packets[p], sizes[s], &gbps);
                if (st != ST_OK || gbps <= 0) continue;
                ProfileChannels *to = &out->channels;
                to->at[to->n].channels = counts[n];
                to->at[to->n].packet_bytes = packets[p] * 8;
                to->at[to->n].bytes = sizes[s] * 8;
                to->at[to->n++].gbps = gbps;
            }
    for (int i = 0; i < (int)ARRAY_LEN(c.other); i++) device_queue_drop(b->d, &c.other[i]); /* waits */
    return st;
}

/* Instructions, and loads that wait for each other. */
static Status time_items(Bench *b, DevPtr memory, int64_t bytes, DeviceProfile *out) {
    enum { PER_TURN = 8, LINE = 256 };
    DevKernel *k;
    Shape s;
    double ns;
    TRY(b->ops->kernel(b->module, "cal_compute", &k, b->e));
    TRY(shape_of(b, k, 0, &s));
    uint64_t each = (uint64_t)MAX_OF((b->quick ? 1 << 18 : b->d->info.shares_memory ? 1 << 24 : 1 << 28) / s.items, 1);
    const uint64_t param[3] = {0, 0, each};
    TRY(time_kernel(b, "cal_compute", 0, param, &s, each * (uint64_t)s.items, &ns));
    out->compute_gips = PER_TURN * (double)each * (double)s.items / ns;
    const Shape one = {.groups = 1, .size = 1, .items = 1};
    const uint64_t lines = (uint64_t)MIN_OF(bytes, 256 * MIB) / LINE, steps = b->quick ? 1000 : 10000,
                   ring[3] = {memory, lines - 1, steps};
    TRY(time_kernel(b, "cal_link", 0, ring, &s, 0, &ns));
    TRY(b->ops->kernel(b->module, "cal_chase", &k, b->e));
    for (int run = 0; run <= b->runs; run++) { /* each over lines that no cache holds yet */
        const uint64_t p[PARAMS] = {b->partial.p, memory,
                                    memory + lines / (uint64_t)(b->runs + 1) * (uint64_t)run * LINE, steps};
        int64_t start = clock_ns();
        TRY(b->ops->launch(b->queue, k, 1, 1, 0, p, PARAMS, b->e));
        TRY(check_sum(b, &one, 0, "cal_chase"));
        double t = (double)(clock_ns() - start) / (double)steps;
        if (run == 1 || (run > 1 && t < out->latency_ns)) out->latency_ns = t;
    }
    return ST_OK;
}

static Status measure(Bench *b, DevPtr memory, int64_t bytes, DeviceProfile *out) {
    TRY(time_launch(b, out));
    TRY(b->ops->fill(b->queue, memory, 1, bytes, b->e));
    TRY(time_read(b, memory, bytes, &out->read_gbps));
    TRY(time_copy(b, ON_DEVICE, memory, NULL, bytes / 2, &out->copy_gbps));
    TRY(time_bus(b, memory, MIN_OF(bytes, 256 * MIB), out));
    TRY(time_local(b, &out->local_atomic_mps));
    TRY(time_random_all(b, memory, bytes, out));
    TRY(time_items(b, memory, bytes, out));
    return time_channels(b, memory, bytes, out);
}

static Status load_kernels(Bench *b) {
    int64_t head = (int64_t)sizeof kernel_head - 1, prelude = (int64_t)strlen(kernel_prelude_text),
            body = (int64_t)sizeof kernel_source;
    const char *parts[] = {kernel_kc_channel_text, channel_kernels};
    for (int i = 0; i < (int)ARRAY_LEN(parts); i++) body += (int64_t)strlen(parts[i]);
    char *source = mem_alloc(NULL, head + prelude + body, b->e);
    if (!source) return ST_ERROR;
    memcpy(source, kernel_head, (size_t)head);
    memcpy(source + head, kernel_prelude_text, (size_t)prelude);
    char *end = source + head + prelude;
    memcpy(end, kernel_source, sizeof kernel_source);
    for (int i = 0; i < (int)ARRAY_LEN(parts); i++) {
        end += strlen(end);
        memcpy(end, parts[i], strlen(parts[i]) + 1);
    }
    DevCode code = {0};
    Status st = b->ops->compile(b->d, source, "", &code, b->e);
    if (st == ST_OK) st = b->ops->load(b->d, code.bytes, code.n, &b->module, b->e);
    dev_code_free(&code);
    mem_free(NULL, source, head + prelude + body);
    return st;
}

/* A power of two, as the kernels need it, of at most a quarter of what is free. */
static Status memory_size(Bench *b, int64_t *out) {
    int64_t free_bytes = 0, total = 0, most = b->quick ? 8 * MIB : b->d->info.measure_bytes;
    TRY(b->ops->memory_used(b->d, &free_bytes, &total, b->e));
    int64_t limit = MIN_OF(free_bytes, mem_headroom(&b->d->memory)) / 4;
    while (most > limit && most > TILE_BYTES * 2) most /= 2;
    *out = most;
    return ST_OK;
}

static void copy_text(char *dst, int64_t size, const char *src) { snprintf(dst, (size_t)size, "%s", src); }

Status profile_calibrate_device(Device *d, bool quick, Profile *p, Err *e) {
    Bench b = {.d = d, .ops = d->ops, .e = e, .quick = quick, .runs = quick ? 2 : 5};
    DeviceProfile found = {0};
    copy_text(found.id, (int64_t)sizeof found.id, d->info.id);
    copy_text(found.name, (int64_t)sizeof found.name, d->info.name);
    copy_text(found.arch, (int64_t)sizeof found.arch, d->info.arch);
    copy_text(found.driver, (int64_t)sizeof found.driver, d->info.driver);
    if (d->info.runs_nothing)
        return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "device \"%s\" runs nothing that could be measured", d->info.id);
    int64_t at = 0;
    while (at < p->n_devices && strcmp(p->devices[at].id, found.id) != 0) at++;
    if (at == PROFILE_DEVICES_MAX)
        return err_set(e, ERR_PROGRAM_LIMIT, "a profile holds at most %d devices", (int)PROFILE_DEVICES_MAX);
    DevPtr memory = 0;
    int64_t bytes = 0;
    Status st = load_kernels(&b);
    if (st == ST_OK) st = b.ops->queue_new(d, &b.queue, e);
    if (st == ST_OK) st = memory_size(&b, &bytes);
    if (st == ST_OK) st = b.ops->alloc(d, bytes, &memory, e);
    if (st == ST_OK) st = measure(&b, memory, bytes, &found);
    device_queue_drop(d, &b.queue); /* waits */
    if (memory) b.ops->free(d, memory, bytes);
    device_mem_free(d, &b.partial);
    mem_free(NULL, b.host, b.host_bytes);
    if (b.module) b.ops->unload(d, b.module);
    if (st != ST_OK) return ST_ERROR;
    p->devices[at] = found;
    if (at == p->n_devices) p->n_devices++;
    return ST_OK;
}

Status profile_calibrate(Devices *ds, const char *id, bool quick, Profile *p, Err *e) {
    Device *d;
    TRY(devices_get(ds, id, &d, e));
    return profile_calibrate_device(d, quick, p, e);
}
