/* test_opencl.c - the OpenCL backend: refusals without a driver, and everything else on the first usable device (PoCL
 * on machines without a GPU).
 *
 * Run with `--load FILE` it is a second process that runs a kernel from a program binary (test_fresh_process). */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/errcodes.h"
#include "device/device.h"
#include "device/opencl/opencl_api.h"

static MemAccount root;
static DeviceEntry found[16];
static int n_found;
static char none_found[320]; /* why there is no usable device */

static void keep_entry(void *ctx, const DeviceEntry *entry) {
    (void)ctx;
    if (n_found < (int)ARRAY_LEN(found)) found[n_found++] = *entry;
}

static void look(void) {
    n_found = 0;
    device_driver_opencl.probe(keep_entry, NULL);
}

static int usable(void) {
    look();
    for (int i = 0; i < n_found; i++) {
        if (found[i].usable) return found[i].index;
        snprintf(none_found, sizeof none_found, "%.31s: %.255s", found[i].id, found[i].state);
    }
    return -1;
}

/* ---- without a device -------------------------------------------------------------------------- */
static void check_refused(const char *reason) {
    look();
    assert_int_equal(n_found, 1);
    assert_false(found[0].usable);
    assert_int_equal(found[0].kind, DEVICE_OPENCL);
    assert_non_null(strstr(found[0].state, reason));
    Err e = {0};
    Device *d = NULL;
    assert_int_equal(device_driver_opencl.open(0, NULL, &root, &d, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_SYSTEM);
    assert_non_null(strstr(e.message, "opencl:0"));
    assert_non_null(strstr(e.message, reason));
    assert_int_equal(root.used, 0);
}

static void test_no_loader(void **state) {
    (void)state;
    setenv("STELE_LIBOPENCL", "/nonexistent/libOpenCL.so", 1);
    check_refused("/nonexistent/libOpenCL.so");
    setenv("STELE_LIBOPENCL", "libm.so.6", 1); /* a library, but not that one */
    check_refused("has no clGetPlatformIDs");
    unsetenv("STELE_LIBOPENCL");
}

/* ---- with one ---------------------------------------------------------------------------------- */
static const char source[] =
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable\n"
    "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    "#define G(T, a) ((__global T *)(a))\n"
    /* params: address of {input, output}, items. Sums a group's share in local memory, then adds it to output[0]. */
    "__kernel void sum(__global const ulong *params, __local uchar *lmem) {\n"
    "    __global ulong *table = G(ulong, params[0]);\n"
    "    __local ulong *part = (__local ulong *)lmem;\n"
    "    ulong n = params[1], l = get_local_id(0), s = 0;\n"
    "    for (ulong i = get_global_id(0); i < n; i += get_global_size(0)) s += G(uint, table[0])[i];\n"
    "    part[l] = s;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (ulong w = get_local_size(0) / 2; w > 0; w /= 2) {\n"
    "        if (l < w) part[l] += part[l + w];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    if (l == 0) atom_add(G(volatile ulong, table[1]), part[0]);\n"
    "    if (l == 0) atom_max(G(volatile ulong, table[1]) + 1, (ulong)get_group_id(0));\n"
    "}\n"
    /* out, rounds, start: a value that takes `rounds` steps to find */
    "__kernel void spin(__global const ulong *params, __local uchar *lmem) {\n"
    "    ulong x = params[2];\n"
    "    for (ulong i = 0; i < params[1]; i++) x = x * 6364136223846793005UL + (x >> 7);\n"
    "    G(ulong, params[0])[get_group_id(0)] = x;\n"
    "}\n"
    /* started, stop, out: runs until *stop */
    "__kernel void until(__global const ulong *params, __local uchar *lmem) {\n"
    "    ulong rounds = 0;\n"
    "    *G(volatile uint, params[0]) = 1;\n"
    "    while (*G(volatile uint, params[1]) == 0 && rounds < 20000000000UL) rounds++;\n"
    "    *G(ulong, params[2]) = rounds;\n"
    "}\n"
    /* out, then numbers to add up */
    "__kernel void wide(__global const ulong *params, __local uchar *lmem) {\n"
    "    ulong s = 0;\n"
    "    for (int i = 1; i < 480; i++) s += params[i];\n"
    "    *G(ulong, params[0]) = s;\n"
    "}\n"
    "__kernel void exact(__global const ulong *params, __local uchar *lmem) {\n"
    "    double a = as_double(params[1]), b = as_double(params[2]), c = as_double(params[3]);\n"
    "    *G(double, params[0]) = a * b + c;\n"
    "}\n";

typedef struct Fixture {
    Device *d;
    DevQueue *q;
    DevCode code;
    DevModule *m;
} Fixture;

static Err err; /* of the calls that must succeed */
#define OK(call)                                                                            \
    do {                                                                                    \
        err_clear(&err);                                                                    \
        Status st_ = (call);                                                                \
        if (st_ != ST_OK) print_error("%s %s %s\n", err.sqlstate, err.message, err.detail); \
        assert_int_equal(st_, ST_OK);                                                       \
        assert_false(err_is_set(&err));                                                     \
    } while (0)

static void assert_fails(Status st, Err *e, const char *sqlstate, const char *text) {
    assert_int_equal(st, ST_ERROR);
    assert_string_equal(e->sqlstate, sqlstate);
    if (text && !strstr(e->message, text) && !strstr(e->detail, text))
        fail_msg("\"%s\" is not in: %s / %s", text, e->message, e->detail);
    err_clear(e);
}

static int set_up(void **state) {
    static Fixture f;
    f = (Fixture){0};
    *state = &f;
    int index = usable();
    if (index < 0) return 0;
    if (device_driver_opencl.open(index, NULL, &root, &f.d, &err) != ST_OK ||
        f.d->ops->queue_new(f.d, &f.q, &err) != ST_OK || f.d->ops->compile(f.d, source, "", &f.code, &err) != ST_OK ||
        f.d->ops->load(f.d, f.code.bytes, f.code.n, &f.m, &err) != ST_OK) {
        print_error("%s %s\n%s\n", err.sqlstate, err.message, err.detail);
        return -1;
    }
    return 0;
}

static int tear_down(void **state) {
    Fixture *f = *state;
    if (!f->d) return 0;
    f->d->ops->unload(f->d, f->m);
    f->d->ops->queue_free(f->d, f->q);
    dev_code_free(&f->code);
    int64_t device_bytes = f->d->memory.used;
    f->d->ops->close(f->d);
    if (device_bytes == 0 && root.used == 0) return 0;
    print_error("left behind: %lld device bytes, %lld host bytes\n", (long long)device_bytes, (long long)root.used);
    return -1;
}

#define NEED_DEVICE()                                                   \
    Fixture *f = *state;                                                \
    if (!f->d) {                                                        \
        print_message("no OpenCL device to test on: %s\n", none_found); \
        skip();                                                         \
    }                                                                   \
    const DeviceOps *ops = f->d->ops;                                   \
    (void)ops

static DevKernel *kernel_of(Fixture *f, const char *name) {
    DevKernel *k = NULL;
    OK(f->d->ops->kernel(f->m, name, &k, &err));
    return k;
}

static void *wrap(DevPtr p) { return (void *)(uintptr_t)p; }

static int64_t ms_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void test_info(void **state) {
    NEED_DEVICE();
    const DeviceInfo *i = &f->d->info;
    assert_int_equal(i->kind, DEVICE_OPENCL);
    assert_true(strncmp(i->id, "opencl:", 7) == 0);
    assert_true(i->name[0] && i->arch[0] && i->compiler[0] && i->driver[0]);
    assert_true(i->units >= 1 && i->group_max >= 64 && i->warp >= 1 && i->items_per_unit >= 1);
    assert_true(i->memory_bytes > 0 && i->local_bytes >= 16384);
    assert_false(i->lost);
    for (int j = 0; j < n_found; j++) {
        if (strcmp(found[j].id, i->id) != 0) continue;
        assert_string_equal(found[j].state, "ready");
        assert_true(strstr(found[j].detail, "CPU") || strstr(found[j].detail, "GPU") ||
                    strstr(found[j].detail, "accelerator"));
        assert_int_equal(found[j].memory_bytes, i->memory_bytes);
    }
    int64_t free_bytes, total;
    OK(ops->memory_used(f->d, &free_bytes, &total, &err));
    assert_true(free_bytes >= 0 && free_bytes <= total && total == i->memory_bytes);
    Err e = {0};
    Device *d;
    assert_fails(device_driver_opencl.open(1000, NULL, &root, &d, &e), &e, ERR_SYSTEM, "opencl:1000");
}

static void test_copies(void **state) {
    NEED_DEVICE();
    enum { N = 100003 };
    uint8_t *in = malloc(N), *out = calloc(1, N);
    for (int i = 0; i < N; i++) in[i] = (uint8_t)(i * 7 + (i >> 8));
    DevPtr a, b;
    OK(ops->alloc(f->d, N, &a, &err));
    OK(ops->alloc(f->d, N, &b, &err));
    assert_true(a && b && a % 256 == 0 && b % 256 == 0);
    assert_int_equal(f->d->memory.used, 2 * N);
    OK(ops->copy_in(f->q, a, in, N, &err));
    OK(ops->fill(f->q, b, 0xAB, N, &err));
    OK(ops->copy(f->q, b + 17, a + 5, 1000, &err)); /* from and to the middle */
    OK(ops->fill(f->q, b + 2048, 0xCD, 64, &err));
    OK(ops->fill(f->q, b + 3001, 0xEF, 1, &err));
    OK(ops->fill(f->q, b, 0, 0, &err));
    OK(ops->copy_out(f->q, out, b, N, &err));
    OK(ops->sync(f->q, NULL, NULL, &err));
    for (int i = 0; i < N; i++) {
        uint8_t want = i >= 17 && i < 1017 ? in[i - 12] : i >= 2048 && i < 2112 ? 0xCD : i == 3001 ? 0xEF : 0xAB;
        if (out[i] != want) fail_msg("byte %d is %d instead of %d", i, out[i], want);
    }
    OK(ops->copy_out(f->q, out, a, N, &err));
    OK(ops->sync(f->q, NULL, NULL, &err));
    assert_memory_equal(in, out, N);
    ops->free(f->d, a, N);
    ops->free(f->d, b, N);
    assert_int_equal(f->d->memory.used, 0);
    free(in);
    free(out);
}

/* Groups of 64 with local memory and barriers; input and output are reached through addresses in memory. */
static uint64_t run_sum(Fixture *f, DevModule *m, int64_t groups, int32_t group_size, uint32_t factor,
                        uint64_t *last_group) {
    const DeviceOps *ops = f->d->ops;
    enum { N = 10007 };
    uint32_t *in = malloc(N * sizeof *in);
    for (uint32_t i = 0; i < N; i++) in[i] = i * factor;
    DevPtr data, out, table;
    DevQueue *q;
    DevKernel *k;
    OK(ops->kernel(m, "sum", &k, &err));
    OK(ops->queue_new(f->d, &q, &err));
    OK(ops->alloc(f->d, N * 4, &data, &err));
    OK(ops->alloc(f->d, 16, &out, &err));
    OK(ops->alloc(f->d, 16, &table, &err));
    uint64_t addresses[] = {data, out}, result[2] = {0};
    OK(ops->copy_in(q, data, in, N * 4, &err));
    OK(ops->copy_in(q, table, addresses, sizeof addresses, &err));
    OK(ops->fill(q, out, 0, 16, &err));
    OK(ops->launch(q, k, groups, group_size, group_size * 8, (uint64_t[]){table, N}, 2, &err));
    OK(ops->copy_out(q, result, out, 16, &err));
    OK(ops->sync(q, NULL, NULL, &err));
    ops->free(f->d, data, N * 4);
    ops->free(f->d, out, 16);
    ops->free(f->d, table, 16);
    ops->queue_free(f->d, q);
    free(in);
    if (last_group) *last_group = result[1];
    return result[0];
}

static const uint64_t sum_once = (uint64_t)10007 * 10006 / 2;

static void test_launch(void **state) {
    NEED_DEVICE();
    static const int64_t groups[] = {1, 2, 7, 33};
    for (int64_t i = 0; i < ARRAY_LEN(groups); i++) {
        uint64_t last;
        assert_int_equal(run_sum(f, f->m, groups[i], 64, 3, &last), 3 * sum_once);
        assert_int_equal(last, groups[i] - 1);
    }
    assert_int_equal(run_sum(f, f->m, 5, 1, 2, NULL), 2 * sum_once);
    DevKernel *k = kernel_of(f, "sum"), *again = kernel_of(f, "sum");
    assert_ptr_equal(k, again);
    assert_true(ops->resident_groups(k, 64, 512) >= f->d->info.units);
    assert_int_equal(ops->resident_groups(k, 64, f->d->info.local_bytes + 1), 0);
    OK(ops->launch(f->q, k, 0, 64, 512, NULL, 0, &err)); /* nothing to do */
    Err e = {0};
    assert_fails(ops->launch(f->q, k, 1, f->d->info.group_max + 1, 512, NULL, 0, &e), &e, ERR_INTERNAL, "sum");
    assert_fails(ops->launch(f->q, k, 1, 0, 512, NULL, 0, &e), &e, ERR_INTERNAL, NULL);
    assert_fails(ops->launch(f->q, k, 1, 1, 512, NULL, DEV_PARAMS_MAX + 1, &e), &e, ERR_INTERNAL, NULL);
    assert_fails(ops->kernel(f->m, "no_such_kernel", &k, &e), &e, ERR_SYSTEM, "CL_INVALID_KERNEL_NAME");
}

/* More launches in flight than a queue has slots, each with all its parameters, none of which may be overwritten early.
 */
static void test_params(void **state) {
    NEED_DEVICE();
    enum { N = 200 };
    DevKernel *k = kernel_of(f, "wide"), *exact = kernel_of(f, "exact");
    DevPtr out;
    uint64_t params[DEV_PARAMS_MAX], result[N];
    OK(ops->alloc(f->d, sizeof result, &out, &err));
    for (uint64_t i = 0; i < N; i++) {
        for (int j = 1; j < DEV_PARAMS_MAX; j++) params[j] = i << 40;
        params[0] = out + i * 8;
        params[DEV_PARAMS_MAX - 1] = i;
        OK(ops->launch(f->q, k, 1, 1, 0, params, DEV_PARAMS_MAX, &err));
    }
    memset(params, 0xff, sizeof params);
    OK(ops->copy_out(f->q, result, out, sizeof result, &err));
    OK(ops->sync(f->q, NULL, NULL, &err));
    for (uint64_t i = 0; i < N; i++) assert_int_equal(result[i], (i << 40) * (DEV_PARAMS_MAX - 2) + i);

    /* Products are rounded before they are added: a fused 0.1 * 10 - 1 is not 0. */
    double in[3] = {0.1, 10.0, -1.0}, r = 5;
    params[0] = out;
    memcpy(params + 1, in, sizeof in);
    OK(ops->launch(f->q, exact, 1, 1, 0, params, 4, &err));
    OK(ops->copy_out(f->q, &r, out, 8, &err));
    OK(ops->sync(f->q, NULL, NULL, &err));
    assert_true(r == 0.0);
    ops->free(f->d, out, sizeof result);
}

typedef struct Polls {
    int64_t n, give_up_at;
} Polls;
static bool count_poll(void *ctx) {
    Polls *p = ctx;
    return ++p->n != p->give_up_at;
}

static uint64_t spin_value(uint64_t rounds, uint64_t x) {
    for (uint64_t i = 0; i < rounds; i++) x = x * UINT64_C(6364136223846793005) + (x >> 7);
    return x;
}

static void test_poll_and_events(void **state) {
    NEED_DEVICE();
    enum { ROUNDS = 100000000 };
    DevKernel *k = kernel_of(f, "spin");
    DevPtr out;
    DevQueue *q2;
    DevEvent *from, *to;
    uint64_t result = 0;
    OK(ops->alloc(f->d, 64, &out, &err));
    OK(ops->queue_new(f->d, &q2, &err));
    OK(ops->event_new(f->d, &from, &err));
    OK(ops->event_new(f->d, &to, &err));
    OK(ops->launch(f->q, k, 1, 1, 0, (uint64_t[]){out, 1, 1}, 3,
                   &err)); /* compiled for its shape before the clock runs */
    OK(ops->sync(f->q, NULL, NULL, &err));

    int64_t start = ms_now();
    OK(ops->event_record(f->q, from, &err));
    OK(ops->launch(f->q, k, 1, 1, 0, (uint64_t[]){out, ROUNDS, 7}, 3, &err));
    OK(ops->event_record(f->q, to, &err));
    OK(ops->event_wait(q2, to, &err));
    OK(ops->copy_out(q2, &result, out, 8, &err));
    int64_t enqueued = ms_now() - start;
    Polls p = {.give_up_at = 2};
    Err e = {0};
    assert_int_equal(ops->sync(f->q, count_poll, &p, &e), ST_ERROR);
    assert_false(err_is_set(&e));
    assert_int_equal(p.n, 2);
    p = (Polls){0};
    OK(ops->sync(q2, count_poll, &p, &err));
    int64_t took = ms_now() - start;
    assert_int_equal(result, spin_value(ROUNDS, 7));
    assert_true(took >= 20); /* else nothing was measured */
    assert_true(enqueued < took / 2);
    assert_true(p.n >= took / 20);
    OK(ops->event_sync(f->d, to, NULL, NULL, &err));
    OK(ops->sync(f->q, NULL, NULL, &err));
    int64_t ns = -1;
    OK(ops->event_ns(f->d, from, to, &ns, &err));
    assert_true(ns >= took * 1000000 / 4 && ns <= (took + 1) * 1000000);
    ops->event_free(f->d, from);
    OK(ops->event_new(f->d, &from, &err));
    OK(ops->event_wait(q2, from, &err)); /* never recorded: no obstacle */
    OK(ops->event_sync(f->d, from, NULL, NULL, &err));
    assert_fails(ops->event_ns(f->d, from, to, &ns, &e), &e, ERR_INTERNAL, NULL);
    ops->event_free(f->d, from);
    ops->event_free(f->d, to);
    ops->event_free(f->d, NULL);
    ops->queue_free(f->d, q2);
    ops->free(f->d, out, 64);
}

/* Where host memory is the kernels' too: a launch starts by itself, reads malloc'ed memory, and sees the host's writes
 * while it runs. */
static void test_host_memory(void **state) {
    NEED_DEVICE();
    Err e = {0};
    DevPtr mapped, dev;
    void *pinned;
    uint32_t *flags = calloc(1, 4096);
    if (!f->d->info.can_map) {
        assert_fails(ops->map_host(f->d, flags, 4096, &mapped, &e), &e, ERR_FEATURE_NOT_SUPPORTED, f->d->info.id);
        OK(ops->alloc_pinned(f->d, 100, &pinned, NULL, &err));
        memset(pinned, 1, 100);
        ops->free_pinned(f->d, pinned, 100);
        free(flags);
        return;
    }
    assert_true(f->d->info.shares_memory);
    OK(ops->map_host(f->d, flags, 4096, &mapped, &err));
    assert_ptr_equal(wrap(mapped), flags);
    OK(ops->alloc_pinned(f->d, 64, &pinned, &dev, &err));
    assert_ptr_equal(wrap(dev), pinned);
    *(uint64_t *)pinned = 0;
    volatile uint32_t *started = flags, *stop = flags + 1;
    OK(ops->launch(f->q, kernel_of(f, "until"), 1, 1, 0, (uint64_t[]){mapped, mapped + 4, dev}, 3, &err));
    int64_t limit = ms_now() + 600000;
    while (!*started && ms_now() < limit) usleep(1000); /* nobody syncs */
    assert_int_equal(*started, 1);
    usleep(5000);
    *stop = 1;
    OK(ops->sync(f->q, NULL, NULL, &err));
    assert_true(*(volatile uint64_t *)pinned > 0 && *(volatile uint64_t *)pinned < UINT64_C(20000000000));
    ops->unmap_host(f->d, flags, 4096);
    ops->free_pinned(f->d, pinned, 64);
    free(flags);
}

static void test_compile_errors(void **state) {
    NEED_DEVICE();
    Err e = {0};
    DevCode code;
    DevModule *m;
    const char *number = "__kernel void k(__global ulong *p) { p[0] = NUMBER; }";
    assert_fails(ops->compile(f->d, "__kernel void k(__global ulong *p) { no_such_name(); }", "", &code, &e), &e,
                 ERR_SYSTEM, "no_such_name");
    assert_null(code.bytes);
    assert_fails(ops->compile(f->d, number, "", &code, &e), &e, ERR_SYSTEM, "CL_BUILD_PROGRAM_FAILURE");
    OK(ops->compile(f->d, number, "-DNUMBER=3", &code, &err));
    assert_true(code.n > 0);
    dev_code_free(&code);
    assert_fails(ops->load(f->d, "not a program", 13, &m, &e), &e, ERR_SYSTEM, "failed");
    assert_fails(ops->load(f->d, "OpenCL C source\0-DX\0", 20, &m, &e), &e, ERR_SYSTEM, "failed"); /* cut off */
}

static void test_memory_limit(void **state) {
    NEED_DEVICE();
    Err e = {0};
    DevPtr p;
    atomic_store(&f->d->memory.limit, 1 << 20);
    Status st = ops->alloc(f->d, 2 << 20, &p, &e);
    assert_non_null(strstr(e.detail, "2097152"));
    assert_non_null(strstr(e.hint, "device_memory_limit"));
    assert_fails(st, &e, ERR_OUT_OF_MEMORY, f->d->info.id);
    OK(ops->alloc(f->d, 1 << 19, &p, &err));
    assert_int_equal(f->d->memory.used, 1 << 19);
    ops->free(f->d, p, 1 << 19);
    atomic_store(&f->d->memory.limit, 0);
    assert_fails(ops->alloc(f->d, INT64_MAX / 2, &p, &e), &e, ERR_OUT_OF_MEMORY,
                 f->d->info.id); /* the driver refuses */
    assert_fails(ops->alloc(f->d, INT64_MAX, &p, &e), &e, ERR_OUT_OF_MEMORY, f->d->info.id);
    assert_fails(ops->alloc(f->d, -1, &p, &e), &e, ERR_INTERNAL, NULL);
    assert_int_equal(f->d->memory.used, 0);
    OK(ops->alloc(f->d, 0, &p, &err));
    assert_true(p != 0);
    ops->free(f->d, p, 0);
    ops->free(f->d, 0, 0);
}

/* Blocks come and go in any order, from several threads. */
static void test_blocks(void **state) {
    NEED_DEVICE();
    enum { N = 300 };
    DevPtr p[N];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) OK(ops->alloc(f->d, 1 + i * 37, &p[i], &err));
        for (int i = 0; i < N; i++) {
            int j = i * 7 % N; /* a permutation: 7 and 300 share no factor */
            ops->free(f->d, p[j], 1 + j * 37);
        }
        assert_int_equal(f->d->memory.used, 0);
    }
}

typedef struct Job {
    Fixture *f;
    uint64_t seed;
    bool right;
} Job;

static void *queue_thread(void *arg) {
    Job *job = arg;
    Device *d = job->f->d;
    Err e = {0};
    DevQueue *q;
    DevKernel *k;
    DevPtr p;
    enum { N = 100 };
    uint64_t result[N];
    if (d->ops->queue_new(d, &q, &e) != ST_OK || d->ops->kernel(job->f->m, "spin", &k, &e) != ST_OK) return NULL;
    job->right = true;
    for (int round = 0; round < 3; round++) {
        Status st = d->ops->alloc(d, sizeof result, &p, &e);
        for (uint64_t i = 0; i < N && st == ST_OK; i++) {
            st = d->ops->launch(q, k, 1, 1, 0, (uint64_t[]){p + i * 8, i, job->seed + i}, 3, &e);
        }
        if (st == ST_OK) st = d->ops->copy_out(q, result, p, sizeof result, &e);
        if (st == ST_OK) st = d->ops->sync(q, NULL, NULL, &e);
        for (uint64_t i = 0; i < N; i++) job->right &= st == ST_OK && result[i] == spin_value(i, job->seed + i);
        d->ops->free(d, p, sizeof result);
    }
    d->ops->queue_free(d, q);
    return NULL;
}

static void test_threads(void **state) {
    NEED_DEVICE();
    enum { N = 4 };
    pthread_t t[N];
    Job jobs[N];
    for (int i = 0; i < N; i++) {
        jobs[i] = (Job){.f = f, .seed = (uint64_t)i << 32};
        assert_int_equal(pthread_create(&t[i], NULL, queue_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < N; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < N; i++) assert_true(jobs[i].right);
}

static void test_lost(void **state) {
    NEED_DEVICE();
    Err e = {0};
    DevPtr p;
    DevQueue *q;
    DevCode code;
    f->d->info.lost = true;
    assert_fails(ops->alloc(f->d, 100, &p, &e), &e, ERR_SYSTEM, "lost");
    assert_fails(ops->queue_new(f->d, &q, &e), &e, ERR_SYSTEM, "lost");
    assert_fails(ops->sync(f->q, NULL, NULL, &e), &e, ERR_SYSTEM, "lost");
    assert_fails(ops->fill(f->q, 0, 0, 1, &e), &e, ERR_SYSTEM, "lost");
    assert_fails(ops->compile(f->d, source, "", &code, &e), &e, ERR_SYSTEM, "lost");
    f->d->info.lost = false;
    OK(ops->sync(f->q, NULL, NULL, &err));
}

/* ---- what GPUs do and PoCL does not ------------------------------------------------------------ */
static cl_int (*real_exec_info)(cl_kernel, cl_uint, size_t, const void *);
static int64_t n_declared; /* blocks in the last list that the driver was given */
static int exec_infos;

static cl_int note_exec_info(cl_kernel k, cl_uint what, size_t size, const void *value) {
    if (what == CL_KERNEL_EXEC_INFO_SVM_PTRS) {
        n_declared = (int64_t)(size / sizeof(void *));
        exec_infos++;
    }
    return real_exec_info(k, what, size, value);
}

/* A device with memory of its own: parameters go by copy (or by fine-grained SVM), memory found through addresses is
 * declared. */
static void check_own_memory(Fixture *f, bool fine) {
    Fixture own = {0};
    OK(device_driver_opencl.open(usable(), NULL, &root, &own.d, &err));
    const DeviceOps *ops = own.d->ops;
    ClDevice *cl = (ClDevice *)own.d;
    own.d->info.shares_memory = own.d->info.can_map = cl->desc.svm_system = false;
    cl->desc.svm_fine = cl->desc.svm_fine && fine;
    real_exec_info = cl->api.SetKernelExecInfo;
    cl->api.SetKernelExecInfo = note_exec_info;
    exec_infos = 0;
    OK(ops->queue_new(own.d, &own.q, &err));
    OK(ops->load(own.d, f->code.bytes, f->code.n, &own.m, &err));
    own.code = f->code;
    void *state = &own;
    test_params(&state);
    assert_int_equal(n_declared, 1);
    assert_int_equal(exec_infos, 2); /* one block for 200 launches of one kernel and one of another */
    assert_int_equal(run_sum(&own, own.m, 3, 64, 5, NULL), 5 * sum_once);
    assert_int_equal(n_declared, 3);
    DevPtr extra;
    OK(ops->alloc(own.d, 100, &extra, &err));
    int told = exec_infos;
    assert_int_equal(run_sum(&own, own.m, 3, 64, 7, NULL), 7 * sum_once);
    assert_int_equal(n_declared, 4); /* the same kernel, other blocks */
    assert_int_equal(exec_infos, told + 1);
    ops->free(own.d, extra, 100);
    assert_int_equal(run_sum(&own, own.m, 3, 64, 7, NULL), 7 * sum_once);
    assert_int_equal(n_declared, 3);
    test_blocks(&state);

    Err e = {0};
    DevPtr dev;
    void *pinned;
    assert_fails(ops->map_host(own.d, &e, 1, &dev, &e), &e, ERR_FEATURE_NOT_SUPPORTED, own.d->info.id);
    int64_t before = root.used;
    OK(ops->alloc_pinned(own.d, 1000, &pinned, NULL, &err));
    memset(pinned, 7, 1000);
    assert_true(root.used >= before + 1000);
    ops->free_pinned(own.d, pinned, 1000);
    if (cl->desc.svm_fine) {
        OK(ops->alloc_pinned(own.d, 1000, &pinned, &dev, &err));
        assert_ptr_equal(wrap(dev), pinned);
        ops->free_pinned(own.d, pinned, 1000);
    } else {
        assert_fails(ops->alloc_pinned(own.d, 1000, &pinned, &dev, &e), &e, ERR_FEATURE_NOT_SUPPORTED, own.d->info.id);
    }
    assert_int_equal(root.used, before);
    ops->unload(own.d, own.m);
    ops->queue_free(own.d, own.q);
    assert_int_equal(own.d->memory.used, 0);
    ops->close(own.d);
}

static void test_own_memory(void **state) {
    NEED_DEVICE();
    check_own_memory(f, true);
    check_own_memory(f, false);
}

/* ---- errors of the driver ---------------------------------------------------------------------- */
static cl_int driver_error;
static cl_int failing_launch(cl_command_queue q, cl_kernel k, cl_uint dim, const size_t *offset, const size_t *global,
                             const size_t *local, cl_uint n, const cl_event *wait, cl_event *ev) {
    (void)q, (void)k, (void)dim, (void)offset, (void)global, (void)local, (void)n, (void)wait, (void)ev;
    return driver_error;
}
static cl_int failing_event(cl_event ev, cl_uint what, size_t size, void *out, size_t *n) {
    (void)ev, (void)what, (void)size, (void)n;
    *(cl_int *)out = driver_error;
    return CL_SUCCESS;
}

static void test_driver_errors(void **state) {
    NEED_DEVICE();
    ClDevice *cl = (ClDevice *)f->d;
    ClApi real = cl->api;
    Err e = {0};
    DevKernel *k = kernel_of(f, "spin");
    DevPtr p;
    OK(ops->alloc(f->d, 64, &p, &err));
    uint64_t params[] = {p, 1, 1};
    cl->api.EnqueueNDRangeKernel = failing_launch;
    driver_error = CL_OUT_OF_RESOURCES;
    assert_fails(ops->launch(f->q, k, 1, 1, 0, params, 3, &e), &e, ERR_SYSTEM,
                 "clEnqueueNDRangeKernel failed: CL_OUT_OF_RESOURCES");
    driver_error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    assert_fails(ops->launch(f->q, k, 1, 1, 0, params, 3, &e), &e, ERR_OUT_OF_MEMORY,
                 "CL_MEM_OBJECT_ALLOCATION_FAILURE");
    driver_error = -9999;
    assert_fails(ops->launch(f->q, k, 1, 1, 0, params, 3, &e), &e, ERR_SYSTEM, "error -9999");
    assert_false(f->d->info.lost);
    cl->api = real;
    OK(ops->launch(f->q, k, 1, 1, 0, params, 3, &err)); /* nothing is left of the failures */
    OK(ops->sync(f->q, NULL, NULL, &err));

    /* A kernel that failed while it ran: said once, by sync. */
    OK(ops->launch(f->q, k, 1, 1, 0, params, 3, &err));
    cl->api.GetEventInfo = failing_event;
    driver_error = -14;
    assert_fails(ops->sync(f->q, NULL, NULL, &e), &e, ERR_SYSTEM, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST");
    OK(ops->sync(f->q, NULL, NULL, &err));
    cl->api = real;

    cl->api.EnqueueNDRangeKernel = failing_launch;
    driver_error = CL_DEVICE_NOT_AVAILABLE;
    assert_fails(ops->launch(f->q, k, 1, 1, 0, params, 3, &e), &e, ERR_SYSTEM, "CL_DEVICE_NOT_AVAILABLE");
    assert_true(f->d->info.lost);
    cl->api = real;
    assert_fails(ops->launch(f->q, k, 1, 1, 0, params, 3, &e), &e, ERR_SYSTEM, "lost");
    f->d->info.lost = false;
    OK(ops->launch(f->q, k, 1, 1, 0, params, 3, &err));
    OK(ops->sync(f->q, NULL, NULL, &err));
    ops->free(f->d, p, 64);
}

/* ---- a program binary in another process ------------------------------------------------------- */
static int load_and_run(const char *path) {
    Fixture f = {0};
    int index = usable();
    FILE *in = fopen(path, "rb");
    if (index < 0 || !in || fseek(in, 0, SEEK_END) != 0) return 1;
    long n = ftell(in);
    rewind(in);
    char *code = malloc((size_t)n);
    if (!code || fread(code, 1, (size_t)n, in) != (size_t)n || fclose(in) != 0) return 2;
    if (device_driver_opencl.open(index, NULL, &root, &f.d, &err) != ST_OK ||
        f.d->ops->load(f.d, code, n, &f.m, &err) != ST_OK)
        return 3;
    uint64_t sum = run_sum(&f, f.m, 3, 64, 5, NULL);
    f.d->ops->unload(f.d, f.m);
    f.d->ops->close(f.d);
    free(code);
    return sum == 5 * sum_once ? 0 : 4;
}

static void check_fresh_process(const DevCode *code) {
    char path[] = "/tmp/stele-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, code->bytes, (size_t)code->n), code->n);
    close(fd);
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "test_opencl", "--load", path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    assert_int_equal(status, 0);
}

static void test_fresh_process(void **state) {
    NEED_DEVICE();
    check_fresh_process(&f->code);
    /* And the other way to keep code: what PoCL does not do, GPUs do. */
    bool is_source = f->code.n > 6 && memcmp(f->code.bytes, "OpenCL", 6) == 0;
    DevCode other;
    DevModule *m;
    ((ClDevice *)f->d)->desc.code_is_source = !is_source;
    OK(ops->compile(f->d, source, "-DUNUSED=1", &other, &err));
    ((ClDevice *)f->d)->desc.code_is_source = is_source;
    assert_int_equal(memcmp(other.bytes, "OpenCL", 6) == 0, !is_source);
    check_fresh_process(&other);
    OK(ops->load(f->d, other.bytes, other.n, &m, &err));
    assert_int_equal(run_sum(f, m, 4, 64, 9, NULL), 9 * sum_once);
    ops->unload(f->d, m);
    dev_code_free(&other);
}

int main(int argc, char **argv) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    if (argc == 3 && strcmp(argv[1], "--load") == 0) return load_and_run(argv[2]);
    const struct CMUnitTest without[] = {cmocka_unit_test(test_no_loader)};
    const struct CMUnitTest with[] = {
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_params),
        cmocka_unit_test(test_poll_and_events),
        cmocka_unit_test(test_host_memory),
        cmocka_unit_test(test_compile_errors),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_own_memory),
        cmocka_unit_test(test_driver_errors),
        cmocka_unit_test(test_fresh_process),
    };
    int failed = cmocka_run_group_tests_name("without a loader", without, NULL, NULL);
    return failed + cmocka_run_group_tests_name("with a device", with, set_up, tear_down);
}
