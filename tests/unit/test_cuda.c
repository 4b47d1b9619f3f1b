/* test_cuda.c - the cuda backend on a fake driver and compiler (fake_cuda.c): what probe says, every operation, every
 * call failing once, lost devices, memory given back. The real compiler is in test_nvrtc.c, the real device in
 * tests/device/cuda_smoke.c.
 *
 * The driver and the compiler are found once per process, so the tests of their absence come first.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "device/cuda/suballoc.h"
#include "device/work.h"
#include "fake_cuda.h"
#include "unit.h"

static FakeCuda *fake;
static MemAccount account;
static DeviceEntry entries[4];
static int n_entries;

static void add_entry(void *ctx, const DeviceEntry *e) {
    (void)ctx;
    if (n_entries < 4) entries[n_entries] = *e;
    n_entries++;
}
static const DeviceEntry *probe(void) {
    n_entries = 0;
    device_driver_cuda.probe(add_entry, NULL);
    assert_in_range(n_entries, 1, 4);
    return &entries[0];
}
static Device *open_device(void) {
    Err e = {0};
    Device *d = NULL;
    if (device_driver_cuda.open(0, NULL, &account, &d, &e) != ST_OK) fail_msg("open: %s %s", e.sqlstate, e.message);
    return d;
}
static void reset_fake(void) {
    *fake = (FakeCuda){.version = 13000, .devices = 1, .param_info = 1};
    atomic_store(&account.used, 0);
}
/* Nothing of the host or the driver is left. */
static void check_clean(void) {
    assert_int_equal(atomic_load(&account.used), 0);
    assert_int_equal(fake->chunks, 0);
    assert_int_equal(fake->device_bytes, 0);
    assert_int_equal(fake->pinned, 0);
    assert_int_equal(fake->regions, 0);
    assert_int_equal(fake->reserved, 0);
    assert_int_equal(fake->mappings, 0);
    assert_int_equal(fake->memories, 0);
    assert_int_equal(fake->streams, 0);
    assert_int_equal(fake->events, 0);
    assert_int_equal(fake->modules, 0);
    assert_int_equal(fake->contexts, 0);
    assert_int_equal(fake->programs, 0);
    assert_int_equal(fake->no_context, 0);
}
#define OK(call)                                                                                    \
    do {                                                                                            \
        Err e_ = {0}, *e = &e_;                                                                     \
        if ((call) != ST_OK) fail_msg("%s: %s %s (%s)", #call, e_.sqlstate, e_.message, e_.detail); \
    } while (0)
/* The call fails with that SQLSTATE and the text somewhere in it. */
#define FAILS(call, state, text)                                                                                \
    do {                                                                                                        \
        Err e_ = {0}, *e = &e_;                                                                                 \
        assert_int_equal((call), ST_ERROR);                                                                     \
        if (strcmp(e_.sqlstate, state) != 0 || (!strstr(e_.message, text) && !strstr(e_.detail, text)))         \
            fail_msg("%s: %s %s (%s), expected %s %s", #call, e_.sqlstate, e_.message, e_.detail, state, text); \
    } while (0)

/* ---- absence ------------------------------------------------------------------------- */

static void test_absent(void **unused) {
    (void)unused;
    Device *d = NULL;
    setenv("STELE_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
    const DeviceEntry *p = probe();
    assert_int_equal(n_entries, 1);
    assert_false(p->usable);
    assert_string_equal(p->id, "cuda");
    assert_non_null(strstr(p->state, "/nonexistent/libcuda.so.1"));
    FAILS(device_driver_cuda.open(0, NULL, &account, &d, e), ERR_SYSTEM, "/nonexistent/libcuda.so.1");
    assert_null(d);

    setenv("STELE_LIBCUDA", "libm.so.6", 1); /* a library, but not that one */
    assert_non_null(strstr(probe()->state, "no function cuInit"));

    setenv("STELE_LIBCUDA", FAKE_CUDA_PATH, 1);
    void *lib = dlopen(FAKE_CUDA_PATH, RTLD_NOW | RTLD_LOCAL);
    if (!lib) fail_msg("%s", dlerror());
    void *symbol = dlsym(lib, "fake_cuda");
    FakeCuda *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    fake = get();

    fake->version = 11080;
    assert_string_equal(probe()->state, "the driver supports CUDA 11.8, but 12.0 is needed");
    fake->version = 13000;
    fake->init_result = 100;
    assert_non_null(strstr(probe()->state, "cuInit failed: CUDA_ERROR_NO_DEVICE"));
    FAILS(device_driver_cuda.open(0, NULL, &account, &d, e), ERR_SYSTEM, "CUDA_ERROR_NO_DEVICE");
    fake->init_result = 0;
    fake->devices = 0;
    assert_non_null(strstr(probe()->state, "finds no device"));
    assert_false(probe()->usable);

    fake->devices = 1;
    setenv("STELE_NVRTC", "/nonexistent/libnvrtc.so", 1);
    p = probe();
    assert_false(p->usable);
    assert_string_equal(p->id, "cuda:0");
    assert_string_equal(p->name, "Fake 0");
    assert_non_null(strstr(p->state, "libnvrtc could not be opened: /nonexistent/libnvrtc.so"));
    assert_non_null(strstr(p->state, "needed to compile kernels"));
    FAILS(device_driver_cuda.open(0, NULL, &account, &d, e), ERR_SYSTEM, "libnvrtc could not be opened");
    setenv("STELE_NVRTC", FAKE_CUDA_PATH, 1);

    fake->compute_mode = 2;
    assert_non_null(strstr(probe()->state, "prohibits"));
    fake->compute_mode = 0;
    fake->devices = 3;
    p = probe();
    assert_int_equal(n_entries, 3);
    assert_true(p->usable);
    assert_string_equal(p->state, "ready");
    assert_string_equal(entries[2].id, "cuda:2");
    assert_int_equal(entries[2].index, 2);
    assert_int_equal(p->memory_bytes, 8 << 20);
    assert_non_null(strstr(p->detail, "sm_90"));
    FAILS(device_driver_cuda.open(3, NULL, &account, &d, e), ERR_SYSTEM, "no such device, 3 found");
    assert_int_equal(fake->contexts, 0); /* probing makes no context */
    check_clean();
}

/* ---- operations ------------------------------------------------------------------------ */

static const char source[] = "kernels: add_k crash plain";

static DevModule *load_source(Device *d) {
    DevCode code;
    DevModule *m = NULL;
    OK(d->ops->compile(d, source, " -DA=1  -DB ", &code, e));
    OK(d->ops->load(d, code.bytes, code.n, &m, e));
    dev_code_free(&code);
    return m;
}

static bool stop_after(void *ctx) { return --*(int *)ctx > 0; }

static void test_operations(void **unused) {
    (void)unused;
    reset_fake();
    Device *d = open_device();
    assert_string_equal(d->info.id, "cuda:0");
    assert_string_equal(d->info.arch, "sm_90");
    assert_string_equal(d->info.compiler, "nvrtc 12.4");
    assert_string_equal(d->info.driver, "CUDA 13.0");
    assert_int_equal(d->info.units, 10);
    assert_int_equal(d->info.local_bytes, 232448);
    assert_true(d->info.can_map && d->info.concurrent && !d->info.shares_memory && !d->info.lost);
    assert_true(d->info.peak_gbps > 127 && d->info.peak_gbps < 129);

    DevModule *m = load_source(d);
    assert_string_equal(
        fake->options,
        "--gpu-architecture=sm_90\n-default-device\n--std=c++17\n--device-int128\n-fmad=false\n-DA=1\n-DB\n");
    DevKernel *k, *same;
    OK(d->ops->kernel(m, "add_k", &k, e));
    OK(d->ops->kernel(m, "add_k", &same, e));
    assert_ptr_equal(k, same);
    FAILS(d->ops->kernel(m, "missing", &same, e), ERR_SYSTEM, "cuModuleGetFunction");

    DevQueue *q;
    OK(d->ops->queue_new(d, &q, e));
    enum { N = 1000 };
    uint64_t in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = (uint64_t)i * 3;
    DevPtr a, b;
    OK(d->ops->alloc(d, sizeof in, &a, e));
    OK(d->ops->alloc(d, sizeof in, &b, e));
    assert_int_equal(a % 256, 0);
    assert_int_equal(b % 256, 0);
    assert_int_equal(atomic_load(&d->memory.used), 2 * 8192);
    OK(d->ops->copy_in(q, a, in, sizeof in, e));
    OK(d->ops->fill(q, b, 0xAB, sizeof in, e));
    OK(d->ops->copy_in(q, a, in, 0, e));
    fake->busy = 20;
    OK(d->ops->launch(q, k, 7, 128, 100, (uint64_t[]){b, a, N, 5}, 4, e));
    assert_int_equal(fake->launched_groups, 7);
    assert_int_equal(fake->launched_size, 128);
    assert_int_equal(fake->launched_local, 100);
    OK(d->ops->copy_out(q, out, b, sizeof out, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    for (int i = 0; i < N; i++) assert_int_equal(out[i], i * 3 + 5);
    OK(d->ops->copy(q, b, a, sizeof in, e));
    OK(d->ops->copy_out(q, out, b, sizeof out, e));
    assert_memory_equal(in, out, sizeof in);

    /* waiting: polled when it takes longer than the spin; giving up sets no error */
    fake->busy = 3;
    OK(d->ops->launch(q, k, 1, 1, 0, (uint64_t[]){b, a, 1, 5}, 4, e));
    int polls = 1000;
    OK(d->ops->sync(q, stop_after, &polls, e));
    fake->busy = -1;
    OK(d->ops->launch(q, k, 1, 1, 0, (uint64_t[]){b, a, 1, 5}, 4, e));
    polls = 4;
    Err none = {0};
    int64_t start = clock_ns();
    assert_int_equal(d->ops->sync(q, stop_after, &polls, &none), ST_ERROR);
    assert_false(err_is_set(&none));
    assert_int_equal(polls, 0);
    assert_true(clock_ns() - start < INT64_C(300000000000));
    OK(d->ops->sync(q, NULL, NULL, e));

    /* misuse is refused before the driver sees it */
    uint64_t p[DEV_PARAMS_MAX + 1] = {0};
    DevPtr none_at;
    FAILS(d->ops->launch(q, k, INT64_C(1) << 31, 1, 0, p, 4, e), ERR_INTERNAL, "2147483648 groups");
    FAILS(d->ops->launch(q, k, -1, 1, 0, p, 4, e), ERR_INTERNAL, "-1 groups");
    FAILS(d->ops->launch(q, k, 1, 1025, 0, p, 4, e), ERR_INTERNAL, "1025");
    FAILS(d->ops->launch(q, k, 1, 1, 232448, p, 4, e), ERR_INTERNAL, "232448 bytes of local memory");
    FAILS(d->ops->launch(q, k, 1, 1, 0, p, 3, e), ERR_INTERNAL, "32 bytes expected");
    FAILS(d->ops->launch(q, k, 1, 1, 0, p, DEV_PARAMS_MAX + 1, e), ERR_INTERNAL, "481 parameters");
    FAILS(d->ops->copy_in(q, a, in, -1, e), ERR_INTERNAL, "-1 bytes");
    FAILS(d->ops->alloc(d, -1, &none_at, e), ERR_INTERNAL, "-1 bytes");
    OK(d->ops->launch(q, k, 0, 1, 0, p, 4, e));

    /* more local memory than the default is asked for once, and for the whole that is left beside the static part */
    assert_int_equal(d->ops->resident_groups(k, 256, 48 * 1024 - 1024), 80);
    assert_int_equal(fake->raise_calls, 0);
    assert_int_equal(d->ops->resident_groups(k, 256, 48 * 1024), 80);
    OK(d->ops->launch(q, k, 1, 1, 200000, (uint64_t[]){b, a, 0, 5}, 4, e));
    assert_int_equal(fake->raise_calls, 1);
    assert_int_equal(d->ops->resident_groups(k, 256, 232448), 0);
    assert_int_equal(d->ops->resident_groups(k, 0, 0), 0);

    DevEvent *from, *to;
    int64_t ns, f, t;
    OK(d->ops->event_new(d, &from, e));
    OK(d->ops->event_new(d, &to, e));
    FAILS(d->ops->event_ns(d, from, to, &ns, e), ERR_SYSTEM, "cuEventElapsedTime");
    OK(d->ops->event_record(q, from, e));
    OK(d->ops->event_wait(q, from, e));
    OK(d->ops->event_record(q, to, e));
    OK(d->ops->event_sync(d, to, NULL, NULL, e));
    OK(d->ops->event_ns(d, from, to, &ns, e));
    assert_int_equal(ns, 1500000);
    fake->busy = 3;
    OK(d->ops->launch(q, k, 1, 1, 0, (uint64_t[]){b, a, 1, 5}, 4, e));
    OK(d->ops->event_record(q, to, e));
    polls = 1000;
    OK(d->ops->event_sync(d, to, stop_after, &polls, e));
    fake->busy = -1;
    OK(d->ops->launch(q, k, 1, 1, 0, (uint64_t[]){b, a, 1, 5}, 4, e));
    OK(d->ops->event_record(q, to, e));
    polls = 4;
    assert_int_equal(d->ops->event_sync(d, to, stop_after, &polls, &none), ST_ERROR);
    assert_false(err_is_set(&none));
    assert_int_equal(polls, 0);
    OK(d->ops->event_sync(d, to, NULL, NULL, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    OK(d->ops->memory_used(d, &f, &t, e));
    assert_int_equal(t, 8 << 20);

    d->ops->event_free(d, from);
    d->ops->event_free(d, to);
    d->ops->queue_free(d, q);
    d->ops->unload(d, m);
    d->ops->free(d, a, sizeof in);
    d->ops->free(d, b, sizeof in);
    assert_int_equal(atomic_load(&d->memory.used), 0);
    d->ops->free(d, 0, 8);
    d->ops->close(d);
    check_clean();
}

static void test_compiler(void **unused) {
    (void)unused;
    reset_fake();
    Device *d = open_device();
    DevCode code;
    FAILS(d->ops->compile(d, "#error", "", &code, e), ERR_SYSTEM, "kernel.cu(2): error: second");
    assert_null(code.bytes);
    DevModule *m;
    FAILS(d->ops->load(d, "", 0, &m, e), ERR_SYSTEM, "damaged");
    FAILS(d->ops->load(d, "cut", 3, &m, e), ERR_SYSTEM, "damaged");
    FAILS(d->ops->load(d, "a\0b", 4, &m, e), ERR_SYSTEM, "damaged");
    unsigned char elf[128] = "\177ELF\2\1";
    elf[41] = 1; /* sections at 256, behind the end */
    FAILS(d->ops->load(d, elf, sizeof elf, &m, e), ERR_SYSTEM, "damaged");
    assert_null(m);
    fake->fail_at = fake->calls + 2; /* the context, then the load */
    fake->fail_result = 200;
    Err refused = {0};
    assert_int_equal(d->ops->load(d, source, sizeof source, &m, &refused), ST_ERROR);
    assert_non_null(strstr(refused.message, "cuModuleLoadData"));
    assert_non_null(strstr(refused.hint, "nvrtc 12.4 and the driver supports CUDA 13.0"));
    assert_false(d->info.lost);
    /* without cuFuncGetParamInfo's help a launch with fewer parameters reads zeros, not the stack */
    fake->param_info = 0;
    m = load_source(d);
    DevKernel *k;
    OK(d->ops->kernel(m, "plain", &k, e));
    DevQueue *q;
    OK(d->ops->queue_new(d, &q, e));
    OK(d->ops->launch(q, k, 1, 32, 0, NULL, 0, e));
    d->ops->queue_free(d, q);
    d->ops->unload(d, m);
    d->ops->close(d);
    check_clean();
}

static void test_memory(void **unused) {
    (void)unused;
    reset_fake();
    Device *d = open_device();
    /* blocks come again without the driver */
    DevPtr p[64];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 64; i++) OK(d->ops->alloc(d, 1000 + i * 5000, &p[i], e));
        for (int i = 0; i < 64; i++) d->ops->free(d, p[i], 1000 + i * 5000);
    }
    assert_int_equal(fake->chunk_calls, 1);
    OK(d->ops->alloc(d, 0, &p[0], e));
    assert_true(p[0] != 0);
    d->ops->free(d, p[0], 0);

    /* the limit */
    atomic_store(&d->memory.limit, 1 << 20);
    OK(d->ops->alloc(d, 900 << 10, &p[0], e));
    Err e2 = {0};
    assert_int_equal(d->ops->alloc(d, 200 << 10, &p[1], &e2), ST_ERROR);
    assert_string_equal(e2.sqlstate, ERR_OUT_OF_MEMORY);
    assert_non_null(strstr(e2.detail, "204800 bytes"));
    assert_non_null(strstr(e2.detail, "921600 of 1048576"));
    assert_non_null(strstr(e2.hint, "device_memory_limit"));
    assert_int_equal(atomic_load(&d->memory.used), 900 << 10);
    d->ops->free(d, p[0], 900 << 10);
    atomic_store(&d->memory.limit, 0);

    /* the device: chunks that are free as a whole go back first, then less than the usual chunk is asked for */
    fake->memory_limit = 64 << 20;
    OK(d->ops->alloc(d, 60 << 20, &p[0], e));
    assert_int_equal(fake->device_bytes, 64 << 20); /* the small chunk of 32 MiB is gone */
    FAILS(d->ops->alloc(d, 5 << 20, &p[1], e), ERR_OUT_OF_MEMORY,
          "5242880 bytes asked for, 62914560 in use, limit none");
    OK(d->ops->alloc(d, 4 << 20, &p[1], e));
    FAILS(d->ops->alloc(d, INT64_MAX, &p[2], e), ERR_OUT_OF_MEMORY, "asked for");
    d->ops->free(d, p[0], 60 << 20);
    d->ops->free(d, p[1], 4 << 20);
    assert_int_equal(atomic_load(&d->memory.used), 0);

    /* pinned blocks are kept and reused up to twice the size; a closed device leaves none behind */
    void *h[3];
    DevPtr dev;
    OK(d->ops->alloc_pinned(d, 100000, &h[0], &dev, e));
    assert_int_equal(dev, (uintptr_t)h[0]);
    memset(h[0], 1, 100000);
    int64_t used = atomic_load(&account.used);
    d->ops->free_pinned(d, h[0], 100000);
    assert_int_equal(used - atomic_load(&account.used), 102400);
    OK(d->ops->alloc_pinned(d, 60000, &h[1], NULL, e));
    assert_ptr_equal(h[0], h[1]);
    assert_int_equal(fake->pinned_calls, 1);
    OK(d->ops->alloc_pinned(d, 1, &h[2], NULL, e));
    assert_int_equal(fake->pinned_calls, 2);
    d->ops->free_pinned(d, h[1], 60000);
    d->ops->free_pinned(d, NULL, 0);
    d->ops->close(d); /* with h[2] in use */
    check_clean();
}

/* Memory that grows where it is, its limits, and a device that has none of the kind. */
static void test_span(void **unused) {
    (void)unused;
    enum { MB = 1 << 20 };
    static char in[7 * MB], out[7 * MB];
    reset_fake();
    Device *d = open_device();
    DevQueue *q;
    DevPtr p, x;
    OK(d->ops->queue_new(d, &q, e));
    assert_int_equal(d->info.span_unit, 2 * MB);
    int64_t most = INT64_C(1) << 30;
    OK(d->ops->span_new(d, 3 * MB, &most, &p, e));
    assert_true(most >= INT64_C(1) << 30);
    assert_int_equal(fake->device_bytes, 4 * MB);
    assert_int_equal(d->memory.used, 4 * MB);
    for (size_t i = 0; i < sizeof in; i++) in[i] = (char)(i * 7 >> 3);
    OK(d->ops->copy_in(q, p, in, 4 * MB, e));
    FAILS(d->ops->copy_in(q, p + 4 * MB, in, 1, e), ERR_SYSTEM, "cuMemcpyHtoD");
    OK(d->ops->span_grow(d, p, 3 * MB, 4 * MB, e)); /* there already */
    OK(d->ops->span_grow(d, p, 4 * MB, 7 * MB, e));
    assert_int_equal(fake->mappings, 2);
    assert_int_equal(fake->memories, 2);
    OK(d->ops->copy_in(q, p + 4 * MB, in + 4 * MB, 3 * MB, e));
    OK(d->ops->copy_out(q, out, p, 7 * MB, e)); /* over the border */
    OK(d->ops->sync(q, NULL, NULL, e));
    assert_memory_equal(in, out, 7 * MB);
    FAILS(d->ops->span_grow(d, p, 7 * MB, most + 1, e), ERR_INTERNAL, "cannot grow");
    FAILS(d->ops->span_grow(d, p + 8, 7 * MB, 8 * MB, e), ERR_INTERNAL, "cannot grow");

    /* limits: ours, then the driver's, which free chunks count against; nothing has changed then */
    atomic_store(&d->memory.limit, 9 * MB);
    FAILS(d->ops->span_grow(d, p, 7 * MB, 10 * MB, e), ERR_OUT_OF_MEMORY, "of 9437184 bytes are in use");
    atomic_store(&d->memory.limit, 0);
    OK(d->ops->alloc(d, 40 * MB, &x, e));
    d->ops->free(d, x, 40 * MB);
    fake->memory_limit = 50 * MB;
    OK(d->ops->span_grow(d, p, 7 * MB, 20 * MB, e));
    FAILS(d->ops->span_grow(d, p, 20 * MB, 60 * MB, e), ERR_OUT_OF_MEMORY, "out of memory on device");
    assert_int_equal(d->memory.used, 20 * MB);
    assert_int_equal(fake->device_bytes, 20 * MB);
    OK(d->ops->copy_out(q, out, p, 7 * MB, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    assert_memory_equal(in, out, 7 * MB);
    /* whole pieces go: of 4, 4 and 12 MB; and are there again */
    d->ops->span_shrink(d, p, 20 * MB, 9 * MB);
    assert_int_equal(d->memory.used, 20 * MB);
    d->ops->span_shrink(d, p, 9 * MB, 7 * MB);
    assert_int_equal(d->memory.used, 8 * MB);
    assert_int_equal(fake->device_bytes, 8 * MB);
    d->ops->span_shrink(d, p, 7 * MB, 3 * MB);
    assert_int_equal(fake->device_bytes, 4 * MB);
    FAILS(d->ops->copy_in(q, p + 4 * MB, in, 1, e), ERR_SYSTEM, "cuMemcpyHtoD");
    OK(d->ops->span_grow(d, p, 3 * MB, 7 * MB, e));
    OK(d->ops->copy_in(q, p + 4 * MB, in + 4 * MB, 3 * MB, e));
    OK(d->ops->copy_out(q, out, p, 7 * MB, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    assert_memory_equal(in, out, 7 * MB);
    d->ops->span_shrink(d, p, 7 * MB, 0);
    assert_int_equal(d->memory.used, 4 * MB); /* the first piece stays */
    OK(d->ops->span_grow(d, p, 0, 1 * MB, e));
    d->ops->span_free(d, p, 1 * MB, most);
    d->ops->span_free(d, 0, 1, 1);
    /* a large one has several pieces, all of them or none */
    fake->memory_limit = 100 * MB;
    most = 1 << 30;
    FAILS(d->ops->span_new(d, 200 * MB, &most, &p, e), ERR_OUT_OF_MEMORY, "out of memory on device");
    assert_int_equal(fake->device_bytes, 0);
    OK(d->ops->span_new(d, 96 * MB, &most, &p, e));
    d->ops->span_shrink(d, p, 96 * MB, 10 * MB);
    assert_int_equal(d->memory.used, 64 * MB);
    d->ops->span_free(d, p, 10 * MB, most);
    assert_int_equal(fake->device_bytes, 0);
    assert_int_equal(d->memory.used, 0);
    fake->memory_limit = 0;

    /* fewer addresses than asked for; all through the helper: in place, moved when they are used up, below a unit
     * always */
    fake->address_limit = 8 * MB;
    most = 1 << 30;
    OK(d->ops->span_new(d, 2 * MB, &most, &p, e));
    assert_int_equal(most, 8 * MB);
    d->ops->span_free(d, p, 2 * MB, most);
    DevSpan s = {0};
    OK(device_span_new(d, 1 * MB, &s, e));
    assert_int_equal(s.most, 0);
    OK(d->ops->copy_in(q, s.at, in, 1 * MB, e));
    OK(device_span_grow(d, q, &s, 4 * MB, 1 * MB, e));
    assert_int_equal(s.most, 8 * MB);
    OK(d->ops->copy_in(q, s.at + MB, in + MB, 3 * MB, e));
    p = s.at;
    OK(device_span_grow(d, q, &s, 6 * MB, 4 * MB, e));
    assert_true(s.at == p);
    fake->address_limit = 0;
    OK(device_span_grow(d, q, &s, 10 * MB, 4 * MB, e));
    assert_true(s.at != p);
    OK(device_span_grow(d, q, &s, 5 * MB, 4 * MB, e)); /* has more */
    OK(d->ops->copy_out(q, out, s.at, 4 * MB, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    assert_memory_equal(in, out, 4 * MB);
    device_span_free(d, &s);
    device_span_free(d, &s);
    most = 1 << 30;
    OK(d->ops->span_new(d, 2 * MB, &most, &p, e));
    d->ops->queue_free(d, q);
    d->ops->close(d); /* with a span in use */
    check_clean();

    fake->no_virtual = 1;
    d = open_device();
    assert_int_equal(d->info.span_unit, 0);
    OK(d->ops->queue_new(d, &q, e));
    OK(device_span_new(d, 4 * MB, &s, e));
    OK(d->ops->copy_in(q, s.at, in, 4 * MB, e));
    OK(device_span_grow(d, q, &s, 7 * MB, 4 * MB, e));
    OK(d->ops->copy_out(q, out, s.at, 4 * MB, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    assert_memory_equal(in, out, 4 * MB);
    assert_int_equal(fake->reserved, 0);
    device_span_free(d, &s);
    d->ops->queue_free(d, q);
    d->ops->close(d);
    fake->no_virtual = 0;
    check_clean();
}

static void test_map(void **unused) {
    (void)unused;
    reset_fake();
    Device *d = open_device();
    enum { PAGE = 4096, SIZE = 16 * PAGE };
    char *m = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(m != MAP_FAILED && sysconf(_SC_PAGESIZE) == PAGE);
    for (int i = 0; i < SIZE; i++) m[i] = (char)(i * 7 + i / 256);
    DevPtr p, r;
    /* whole pages: one region */
    OK(d->ops->map_host(d, m, SIZE, &p, e));
    assert_int_equal(p, (uintptr_t)m);
    assert_int_equal(fake->regions, 1);
    FAILS(d->ops->map_host(d, m + PAGE, PAGE, &r, e), ERR_FEATURE_NOT_SUPPORTED, "mapped already");
    OK(d->ops->map_host(d, m, SIZE, &r, e)); /* the same again is counted */
    d->ops->unmap_host(d, m, SIZE);
    assert_int_equal(fake->regions, 1);
    d->ops->unmap_host(d, m, SIZE);
    assert_int_equal(fake->regions, 0);

    /* two blocks that share a page, and a third inside one page of the second */
    int64_t cut = 5 * PAGE + 100, end = 9 * PAGE + 8;
    OK(d->ops->map_host(d, m + 64, cut - 64, &p, e));
    assert_int_equal(p, (uintptr_t)m + 64);
    assert_int_equal(fake->regions, 3);
    OK(d->ops->map_host(d, m + cut, end - cut, &r, e));
    assert_int_equal(r, (uintptr_t)m + (uintptr_t)cut);
    assert_int_equal(fake->regions, 5);
    OK(d->ops->map_host(d, m + end, 24, &r, e));
    assert_int_equal(fake->regions, 5);

    /* copies cross borders of regions and the end of the mapped part */
    DevQueue *q;
    DevPtr buffer;
    char *back = malloc(SIZE);
    OK(d->ops->queue_new(d, &q, e));
    OK(d->ops->alloc(d, SIZE, &buffer, e));
    OK(d->ops->copy_in(q, buffer, m, SIZE, e));
    OK(d->ops->copy_out(q, back, buffer, SIZE, e));
    assert_memory_equal(back, m, SIZE);
    /* many at once: more than a driver call takes, cut at the same borders */
    enum { PART = 256, PARTS = SIZE / PART };
    static_assert(PARTS > 128 && SIZE % PART == 0, "more than one call");
    DevCopy many[PARTS + 1];
    for (int i = 0; i < PARTS; i++) many[i] = (DevCopy){buffer + (uint64_t)(SIZE - (i + 1) * PART), m + i * PART, PART};
    many[PARTS] = (DevCopy){buffer, m, 0};
    int64_t batches = fake->batches;
    OK(d->ops->copy_in_many(q, many, PARTS + 1, e));
    assert_true(fake->batches - batches > 1);
    OK(d->ops->copy_in_many(q, many, 0, e));
    char *turned = malloc(SIZE);
    OK(d->ops->copy_out(q, turned, buffer, SIZE, e));
    for (int i = 0; i < PARTS; i++) assert_memory_equal(turned + SIZE - (i + 1) * PART, m + i * PART, PART);
    free(turned);
    many[1].bytes = -1;
    FAILS(d->ops->copy_in_many(q, many, 2, e), ERR_INTERNAL, "-1 bytes");
    OK(d->ops->copy_in(q, buffer, m, SIZE, e));
    memset(m, 0, SIZE);
    OK(d->ops->copy_out(q, m + 10, buffer + 10, SIZE - 20, e));
    OK(d->ops->sync(q, NULL, NULL, e));
    assert_memory_equal(back + 10, m + 10, SIZE - 20);
    free(back);
    d->ops->free(d, buffer, SIZE);
    d->ops->queue_free(d, q);

    d->ops->unmap_host(d, m + 64, cut - 64);
    assert_int_equal(fake->regions, 3); /* the shared page stays for the second block */
    d->ops->unmap_host(d, m + cut, end - cut);
    assert_int_equal(fake->regions, 1);
    d->ops->unmap_host(d, m + end, 24);
    assert_int_equal(fake->regions, 0);
    FAILS(d->ops->map_host(d, m, 0, &p, e), ERR_INTERNAL, "0 bytes");
    OK(d->ops->map_host(d, m + 1, PAGE * 3, &p, e));
    d->ops->close(d); /* still mapped */
    munmap(m, SIZE);
    check_clean();
}

/* ---- faults ------------------------------------------------------------------------------ */

typedef struct Things {
    Device *d;
    DevQueue *q;
    DevEvent *from, *to;
    DevModule *m;
    DevPtr a, b, span;
    int64_t span_bytes, span_most;
    void *pinned;
    bool mapped;
    DevCode code;
} Things;

static char map_page[3 * 4096] __attribute__((aligned(4096)));

/* One of everything; stops at the first error with what it has so far. */
static Status use_everything(Things *t, Err *e) {
    DevPtr x;
    DevKernel *k;
    int64_t ns, f, total;
    uint64_t in[16] = {1, 2, 3}, out[16];
    TRY(device_driver_cuda.open(0, NULL, &account, &t->d, e));
    const DeviceOps *o = t->d->ops;
    TRY(o->alloc(t->d, sizeof in, &t->a, e));
    TRY(o->alloc(t->d, 3 << 20, &t->b, e));
    TRY(o->alloc_pinned(t->d, 4096, &t->pinned, &x, e));
    TRY(o->map_host(t->d, map_page + 100, 2 * 4096, &x, e));
    t->mapped = true;
    if (t->d->info.span_unit > 0) { /* 0: the trial at open failed */
        t->span_most = 64 << 20;
        TRY(o->span_new(t->d, 2 << 20, &t->span_most, &t->span, e));
        t->span_bytes = 2 << 20;
        TRY(o->span_grow(t->d, t->span, t->span_bytes, 6 << 20, e));
        t->span_bytes = 6 << 20;
    }
    TRY(o->memory_used(t->d, &f, &total, e));
    TRY(o->queue_new(t->d, &t->q, e));
    TRY(o->event_new(t->d, &t->from, e));
    TRY(o->event_new(t->d, &t->to, e));
    TRY(o->compile(t->d, source, "", &t->code, e));
    TRY(o->load(t->d, t->code.bytes, t->code.n, &t->m, e));
    TRY(o->kernel(t->m, "add_k", &k, e));
    TRY(o->event_record(t->q, t->from, e));
    TRY(o->copy_in(t->q, t->a, in, sizeof in, e));
    TRY(o->copy_in_many(t->q, (DevCopy[]){{t->a, in, 64}, {t->a + 64, in + 8, 64}}, 2, e));
    TRY(o->fill(t->q, t->b, 0, 3 << 20, e));
    TRY(o->event_wait(t->q, t->from, e));
    TRY(o->launch(t->q, k, 1, 32, 100000, (uint64_t[]){t->b, t->a, 16, 1}, 4, e));
    int polls = 1000;
    TRY(o->sync(t->q, stop_after, &polls, e));
    TRY(o->copy(t->q, t->b, t->a, sizeof in, e));
    TRY(o->copy_out(t->q, out, t->b, sizeof out, e));
    TRY(o->event_record(t->q, t->to, e));
    TRY(o->event_sync(t->d, t->to, NULL, NULL, e));
    TRY(o->event_ns(t->d, t->from, t->to, &ns, e));
    TRY(o->sync(t->q, NULL, NULL, e));
    return memcmp(in, out, sizeof in) == 0 ? ST_OK : err_internal(e, "wrong copy");
}

static void release_everything(Things *t) {
    dev_code_free(&t->code);
    if (!t->d) return;
    const DeviceOps *o = t->d->ops;
    o->event_free(t->d, t->to);
    o->event_free(t->d, t->from);
    o->queue_free(t->d, t->q);
    o->unload(t->d, t->m);
    if (t->mapped) o->unmap_host(t->d, map_page + 100, 2 * 4096);
    o->span_free(t->d, t->span, t->span_bytes, t->span_most);
    o->free_pinned(t->d, t->pinned, 4096);
    o->free(t->d, t->b, 3 << 20);
    o->free(t->d, t->a, 16 * sizeof(uint64_t));
    assert_int_equal(atomic_load(&t->d->memory.used), 0);
    o->close(t->d);
}

static void fail_each_call(int result) {
    for (int64_t n = 1;; n++) {
        reset_fake();
        fake->busy = 2;
        fake->fail_at = n;
        fake->fail_result = result;
        Things t = {0};
        Err e = {0};
        Status st = use_everything(&t, &e);
        int64_t calls = fake->calls;
        if (calls < n) {
            /* Past the last call before the releases: they may fail too, and nothing is left all the same. */
            assert_int_equal(st, ST_OK);
        } else if (st != ST_OK) {
            assert_true(err_is_set(&e));
            /* "Invalid value" is how the driver says that a kernel has no parameters. */
            bool no_parameters = strstr(e.message, "(0 bytes expected)") != NULL;
            if (strcmp(e.sqlstate, ERR_SYSTEM) != 0 && strcmp(e.sqlstate, ERR_OUT_OF_MEMORY) != 0 && !no_parameters) {
                fail_msg("call %ld: %s %s", (long)n, e.sqlstate, e.message);
            }
            if (t.d && result >= 700 && !strstr(e.message, "nvrtc")) {
                assert_true(t.d->info.lost);
                int64_t before = fake->calls, f, total;
                FAILS(t.d->ops->memory_used(t.d, &f, &total, e), ERR_SYSTEM, "was lost: cu");
                assert_int_equal(fake->calls, before); /* at once, without asking the driver */
            }
        }
        /* A failed call leaves nothing behind; that close tidies up does not count. */
        if (!t.mapped) assert_int_equal(fake->regions, 0);
        if (!t.pinned) assert_int_equal(fake->pinned, 0);
        if (!t.span) assert_int_equal(fake->reserved, 0);
        assert_int_equal(fake->mappings, t.span ? t.span_bytes / (2 << 20) == 1 ? 1 : 2 : 0);
        assert_int_equal(fake->memories, fake->mappings);
        release_everything(&t);
        check_clean();
        if (fake->calls < n) { /* nothing failed any more */
            assert_true(n > 80);
            return;
        }
    }
}

static void test_faults(void **unused) {
    (void)unused;
    fail_each_call(1);
    fail_each_call(2);
    fail_each_call(719);
}

static void test_host_faults(void **unused) {
    (void)unused;
    for (int64_t n = 1;; n++) {
        reset_fake();
        Things t = {0};
        Err e = {0};
        mem_fail_at(n);
        Status st = use_everything(&t, &e);
        bool over = mem_fail_at(0) > 0;
        if (st != ST_OK) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        release_everything(&t);
        check_clean();
        if (over) {
            assert_int_equal(st, ST_OK);
            assert_true(n > 8);
            return;
        }
    }
}

static void test_lost(void **unused) {
    (void)unused;
    reset_fake();
    Device *d = open_device();
    DevModule *m = load_source(d);
    DevKernel *k;
    DevQueue *q, *other;
    DevCode code;
    DevPtr p;
    OK(d->ops->alloc(d, 100, &p, e));
    OK(d->ops->queue_new(d, &q, e));
    OK(d->ops->kernel(m, "crash", &k, e));
    OK(d->ops->launch(q, k, 1, 1, 0, &p, 1, e));
    FAILS(d->ops->sync(q, NULL, NULL, e), ERR_SYSTEM, "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access");
    assert_true(d->info.lost);
    FAILS(d->ops->queue_new(d, &other, e), ERR_SYSTEM,
          "cuda:0 was lost: cuCtxGetCurrent failed: CUDA_ERROR_ILLEGAL_ADDRESS");
    FAILS(d->ops->compile(d, source, "", &code, e), ERR_SYSTEM, "was lost");
    assert_int_equal(d->ops->resident_groups(k, 1, 0), 0);
    d->ops->free(d, p, 100);
    d->ops->queue_free(d, q);
    d->ops->unload(d, m);
    d->ops->close(d);
    check_clean();
    /* and once more from the start */
    reset_fake();
    Things t = {0};
    OK(use_everything(&t, e));
    release_everything(&t);
    check_clean();
}

/* ---- threads ------------------------------------------------------------------------------ */

static void *hammer(void *arg) {
    Device *d = arg;
    Err e = {0};
    bool bad = false;
    for (int i = 0; i < 500 && !bad; i++) {
        DevPtr p[8] = {0};
        void *h = NULL;
        DevQueue *q = NULL;
        for (int j = 0; j < 8; j++) bad |= d->ops->alloc(d, (i * 37 + j * 4099) % 100000, &p[j], &e) != ST_OK;
        bad |= d->ops->alloc_pinned(d, 5000, &h, NULL, &e) != ST_OK;
        bad |= d->ops->queue_new(d, &q, &e) != ST_OK;
        if (!bad) {
            memset(h, i, 5000);
            bad |= d->ops->copy_in(q, p[0], h, (i * 37) % 5000, &e) != ST_OK;
            bad |= d->ops->sync(q, NULL, NULL, &e) != ST_OK;
        }
        d->ops->queue_free(d, q);
        d->ops->free_pinned(d, h, 5000);
        for (int j = 0; j < 8; j++) d->ops->free(d, p[j], (i * 37 + j * 4099) % 100000);
    }
    return bad ? arg : NULL;
}

static void test_threads(void **unused) {
    (void)unused;
    reset_fake();
    Device *d = open_device();
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, hammer, d), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    assert_int_equal(atomic_load(&d->memory.used), 0);
    d->ops->close(d);
    check_clean();
}

/* ---- sub-allocator -------------------------------------------------------------------------- */

typedef struct Space {
    uint64_t next;
    int64_t held, max;
} Space;
static SubResult space_grow(void *ctx, int64_t bytes, uint64_t *addr, Err *e) {
    (void)e;
    Space *s = ctx;
    if (s->held + bytes > s->max) return SUB_FULL;
    *addr = s->next;
    s->next += (uint64_t)bytes + (1u << 21);
    s->held += bytes;
    return SUB_OK;
}
static void space_drop(void *ctx, uint64_t addr, int64_t bytes) {
    (void)addr;
    ((Space *)ctx)->held -= bytes;
}

static void test_suballoc(void **unused) {
    (void)unused;
    enum { LIVE = 400, STEPS = 40000 };
    static struct {
        uint64_t at;
        int64_t n;
    } live[LIVE];
    int64_t used = 0;
    Space space = {.next = 1 << 21, .max = INT64_C(128) << 20};
    SubAlloc *s;
    SubStats st;
    atomic_store(&account.used, 0);
    OK(suballoc_new(&account, &(SubSource){&space, space_grow, space_drop}, &s, e));
    uint64_t rnd = 42;
    int64_t full = 0;
    for (int i = 0; i < STEPS; i++) {
        rnd = rnd * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int slot = (int)(rnd >> 33) % LIVE;
        if (live[slot].n) {
            assert_int_equal(suballoc_give(s, live[slot].at), live[slot].n);
            used -= live[slot].n;
            live[slot].n = 0;
        } else {
            int64_t n = suballoc_rounded((int64_t)((rnd >> 20) & 0xFFFFF) << ((rnd >> 45) % 7 == 0 ? 4 : 0) >>
                                         (rnd >> 50) % 12);
            Err e = {0};
            SubResult r = suballoc_take(s, n, 0, &live[slot].at, &e);
            assert_false(err_is_set(&e));
            if (r == SUB_FULL) {
                full++;
                continue;
            }
            assert_int_equal(live[slot].at % SUB_ALIGN, 0);
            live[slot].n = n;
            used += n;
        }
        if (i % 50 == 0) {
            assert_true(suballoc_verify(s, &st));
            assert_int_equal(st.used, used);
            assert_int_equal(st.held, space.held);
            for (int a = 0; a < LIVE; a++) { /* none overlaps another */
                for (int b = a + 1; b < LIVE && i % 5000 == 0; b++) {
                    if (live[a].n && live[b].n)
                        assert_true(live[a].at + (uint64_t)live[a].n <= live[b].at ||
                                    live[b].at + (uint64_t)live[b].n <= live[a].at);
                }
            }
        }
    }
    assert_true(full > 0 && full < STEPS / 10);
    assert_int_equal(suballoc_give(s, 12345 * 256), -1);
    for (int i = 0; i < LIVE; i++) {
        if (live[i].n) assert_int_equal(suballoc_give(s, live[i].at), live[i].n);
    }
    assert_true(suballoc_verify(s, &st));
    assert_int_equal(st.blocks_used, 0);
    assert_int_equal(st.blocks_free, st.chunks); /* everything merged again */
    /* the same request comes from the same place; with a limit no more than that is held */
    uint64_t a, b;
    OK((Status)suballoc_take(s, 10 << 20, 0, &a, e));
    suballoc_give(s, a);
    OK((Status)suballoc_take(s, 10 << 20, 0, &b, e));
    assert_int_equal(a, b);
    suballoc_give(s, b);
    assert_true(suballoc_trim(s) > 0);
    assert_int_equal(space.held, 0);
    OK((Status)suballoc_take(s, 20 << 20, 24 << 20, &a, e));
    assert_int_equal(space.held, 20 << 20);
    suballoc_give(s, a);
    OK((Status)suballoc_take(s, 512 << 10, 24 << 20, &a, e));
    assert_int_equal(space.held, 22 << 20);
    suballoc_free(s); /* with a block in use */
    assert_int_equal(space.held, 0);
    assert_int_equal(atomic_load(&account.used), 0);
}

int main(void) {
    mem_account_init(&account, NULL, "test", 0, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suballoc), cmocka_unit_test(test_absent),  cmocka_unit_test(test_operations),
        cmocka_unit_test(test_compiler), cmocka_unit_test(test_memory),  cmocka_unit_test(test_span),
        cmocka_unit_test(test_map),      cmocka_unit_test(test_faults),  cmocka_unit_test(test_host_faults),
        cmocka_unit_test(test_lost),     cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
