/* test_device.c - the device layer without a GPU: registry, host, null and fault. Run it under AddressSanitizer too: it
 * proves that nothing leaks. */
#include "unit.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "device/work.h"

#define OK(x)                                                                                    \
    do {                                                                                         \
        err = (Err){0};                                                                          \
        if ((x) != ST_OK) fail_msg("%s: %s %s (%s)", #x, err.sqlstate, err.message, err.detail); \
    } while (0)
#define FAILS(code, x)                             \
    do {                                           \
        err = (Err){0};                            \
        assert_int_equal((x), ST_ERROR);           \
        assert_string_equal(err.sqlstate, (code)); \
    } while (0)

static Err err;
static Pool *pool;
static MemAccount account;
static Devices *devices;

/* What the prelude gives a kernel on the host. */
static const char prelude[] = "typedef unsigned char u8; typedef unsigned long u64; typedef long i64;\n"
                              "typedef struct { u64 gid, ngroups; u8 *lmem; } KernelCtx;\n"
                              "#define KERNEL(f) void f(const u64 *p, KernelCtx *c)\n";

static void open_with(int threads) {
    err = (Err){0};
    mem_account_init(&account, NULL, "test", 0, "memory_limit");
    pool = pool_new(threads, &err);
    assert_non_null(pool);
    OK(devices_open(pool, &account, &devices, &err));
}
static void close_all(void) {
    devices_close(devices);
    pool_free(pool);
    assert_int_equal(atomic_load(&account.used), 0); /* everything was given back */
}
static Device *get(const char *id) {
    Device *d = NULL;
    OK(devices_get(devices, id, &d, &err));
    assert_non_null(d);
    assert_int_equal(d->ops->version, DEVICE_VERSION);
    return d;
}
static DevModule *module_of(Device *d, const char *body) {
    char source[4096];
    snprintf(source, sizeof source, "%s%s", prelude, body);
    DevCode code;
    OK(d->ops->compile(d, source, "", &code, &err));
    DevModule *m;
    OK(d->ops->load(d, code.bytes, code.n, &m, &err));
    dev_code_free(&code);
    return m;
}
static DevKernel *kernel_of(DevModule *m, Device *d, const char *name) {
    DevKernel *k;
    OK(d->ops->kernel(m, name, &k, &err));
    return k;
}
static void launch(Device *d, DevQueue *q, DevKernel *k, int64_t groups, int64_t local, int n, const uint64_t *params) {
    OK(d->ops->launch(q, k, groups, 1, local, params, n, &err));
}
static uint64_t address(void *p) { return (uint64_t)(uintptr_t)p; }
static void sleep_ms(int ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL); }

/* ---- host: kernels ---- */

static void test_launch(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads *= 2) {
        open_with(threads);
        Device *d = get("host");
        DevModule *m = module_of(
            d, "KERNEL(mark) { u64 *a = (u64 *)p[0]; __atomic_fetch_add(&a[c->gid], p[1] + c->ngroups, "
               "__ATOMIC_RELAXED); }\n"
               "KERNEL(last) { *(u64 *)p[0] = p[479]; }\n"
               "KERNEL(bits) { double x; __builtin_memcpy(&x, &p[1], 8); *(double *)p[0] = __builtin_sqrt(x); }\n");
        DevKernel *mark = kernel_of(m, d, "mark");
        DevQueue *q;
        OK(d->ops->queue_new(d, &q, &err));
        const int64_t sizes[] = {0, 1, 2, 3, 63, 1000, 100003};
        for (int64_t s = 0; s < ARRAY_LEN(sizes); s++) {
            int64_t n = sizes[s];
            DevPtr a;
            OK(d->ops->alloc(d, n * 8 + 8, &a, &err));
            uint64_t *v = (uint64_t *)(uintptr_t)a;
            OK(d->ops->fill(q, a, 0, n * 8 + 8, &err));
            launch(d, q, mark, n, 0, 2, (uint64_t[]){a, 5});
            launch(d, q, mark, n, 0, 2, (uint64_t[]){a, 7});
            OK(d->ops->sync(q, NULL, NULL, &err));
            for (int64_t i = 0; i < n; i++) assert_int_equal(v[i], 12 + 2 * n); /* each group once per launch */
            assert_int_equal(v[n], 0);
            d->ops->free(d, a, n * 8 + 8);
        }
        uint64_t params[DEV_PARAMS_MAX] = {0}, got = 0;
        params[0] = address(&got);
        params[DEV_PARAMS_MAX - 1] = 4711;
        launch(d, q, kernel_of(m, d, "last"), 1, 0, DEV_PARAMS_MAX, params);
        params[DEV_PARAMS_MAX - 1] = 0; /* they were copied */
        OK(d->ops->sync(q, NULL, NULL, &err));
        assert_int_equal(got, 4711);
        double x = 2.25, root = 0;
        params[0] = address(&root);
        memcpy(&params[1], &x, 8);
        launch(d, q, kernel_of(m, d, "bits"), 1, 0, 2, params);
        OK(d->ops->sync(q, NULL, NULL, &err));
        assert_true(root == 1.5);
        assert_ptr_equal(kernel_of(m, d, "mark"), mark);
        assert_int_equal(d->ops->resident_groups(mark, 1, 0), threads);
        /* Misuse is an error, not a crash. */
        FAILS("XX000", d->ops->launch(q, mark, 1, 2, 0, params, 2, &err));
        FAILS("XX000", d->ops->launch(q, mark, -1, 1, 0, params, 2, &err));
        FAILS("XX000", d->ops->launch(q, mark, 1, 1, 0, params, DEV_PARAMS_MAX + 1, &err));
        FAILS("XX000", d->ops->launch(q, mark, 1, 1, d->info.local_bytes + 1, params, 2, &err));
        FAILS("XX000", d->ops->copy_in(q, 0, NULL, -1, &err));
        FAILS("58000", d->ops->kernel(m, "nobody", &(DevKernel *){NULL}, &err));
        d->ops->queue_free(d, q);
        d->ops->unload(d, m);
        close_all();
    }
}

static void test_local_memory(void **state) {
    (void)state;
    open_with(4);
    Device *d = get("host");
    /* Each group fills its local memory and checks, after giving others time, that nobody else wrote to it. */
    DevModule *m = module_of(d, "KERNEL(own) { u64 n = p[1]; u64 bad = (u64)c->lmem & 63; for (u64 i = 0; i < n; i++) "
                                "c->lmem[i] = (u8)(c->gid + i);\n"
                                "  for (volatile int w = 0; w < 2000; w++) { } for (u64 i = 0; i < n; i++) bad |= "
                                "c->lmem[i] ^ (u8)(c->gid + i);\n"
                                "  if (bad) __atomic_fetch_add((u64 *)p[0], 1, __ATOMIC_RELAXED); }\n"
                                "KERNEL(none) { if (c->lmem) *(u64 *)p[0] += 1; }\n");
    DevKernel *own = kernel_of(m, d, "own");
    DevQueue *q;
    OK(d->ops->queue_new(d, &q, &err));
    uint64_t bad = 0;
    const int64_t sizes[] = {1, 64, 1000, 16384, 65, 40000};
    for (int64_t s = 0; s < ARRAY_LEN(sizes); s++)
        launch(d, q, own, 500, sizes[s], 2, (uint64_t[]){address(&bad), (uint64_t)sizes[s]});
    launch(d, q, own, 8, d->info.local_bytes, 2, (uint64_t[]){address(&bad), (uint64_t)d->info.local_bytes});
    launch(d, q, kernel_of(m, d, "none"), 1, 0, 1, (uint64_t[]){address(&bad)});
    OK(d->ops->sync(q, NULL, NULL, &err));
    assert_int_equal(bad, 0);
    d->ops->queue_free(d, q);
    d->ops->unload(d, m);
    close_all();
}

static int entries_in(const char *path) {
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int n = 0;
    while (readdir(dir)) n++;
    closedir(dir);
    return n - 2;
}

static void test_compile(void **state) {
    (void)state;
    char tmp[] = "/tmp/test-device-XXXXXX";
    assert_non_null(mkdtemp(tmp));
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", tmp, 1);
    open_with(1);
    Device *d = get("host");
    DevCode code, again;
    /* A library function, an option, and code that outlives the device that made it. */
    char source[1024];
    snprintf(source, sizeof source,
             "%sdouble pow(double, double);\nKERNEL(k) { *(u64 *)p[0] = (u64)pow((double)p[1], 2) + ADD; }\n", prelude);
    OK(d->ops->compile(d, source, " -DADD=3  -O1 ", &code, &err));
    assert_true(code.n > 0 && code.log);
    assert_int_equal(entries_in(tmp), 0);                         /* nothing is left behind */
    FAILS("58000", d->ops->compile(d, source, "", &again, &err)); /* ADD is missing */
    assert_null(again.bytes);
    assert_null(again.log);
    assert_non_null(strstr(err.detail, "ADD"));
    assert_non_null(strstr(err.detail, "error"));
    assert_null(strstr(err.detail, tmp)); /* private names are none of the message */
    assert_true(strncmp(err.detail, "kernel.c:", 9) == 0);
    FAILS("58000", d->ops->compile(d, source, "-DADD=1 --no-such-option", &again, &err));
    /* Very long messages are cut. */
    const char *bad = "#error a\n#error b\n@ @ @ @ x y z;\nint f(void) { return u1 + u2 + u3 + u4 + u5 + u6 + u7 + u8 "
                      "+ u9 + u10 + u11 + u12; }\n";
    FAILS("58000", d->ops->compile(d, bad, "", &again, &err));
    assert_true(strlen(err.detail) < sizeof err.detail);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    FAILS("58000", d->ops->compile(d, "void nobody(void); void k(void) { nobody(); }", "", &again, &err));
    assert_non_null(strstr(err.detail, "nobody"));
#endif
    assert_int_equal(entries_in(tmp), 0);
    char compiler[128];
    memcpy(compiler, d->info.compiler, sizeof compiler);
    close_all();

    open_with(2);
    d = get("host");
    assert_string_equal(d->info.compiler, compiler);
    DevModule *m[3];
    DevQueue *q;
    OK(d->ops->queue_new(d, &q, &err));
    for (int i = 0; i < 3; i++)
        OK(d->ops->load(d, code.bytes, code.n, &m[i], &err)); /* several at once are several libraries */
    for (int i = 0; i < 3; i++) {
        uint64_t got = 0;
        launch(d, q, kernel_of(m[i], d, "k"), 1, 0, 2, (uint64_t[]){address(&got), 9});
        OK(d->ops->sync(q, NULL, NULL, &err));
        assert_int_equal(got, 84);
        d->ops->unload(d, m[i]);
    }
    /* A library is not mistaken for another that is loaded, or was before it. */
    for (int i = 0; i < 6; i++) {
        char body[128];
        snprintf(body, sizeof body, "KERNEL(k) { *(u64 *)p[0] = %d; }", 100 + i);
        if (i >= 3) d->ops->unload(d, m[i % 3]);
        m[i % 3] = module_of(d, body);
        for (int j = i < 2 ? 0 : i - 2; j <= i; j++) {
            uint64_t got = 0;
            launch(d, q, kernel_of(m[j % 3], d, "k"), 1, 0, 1, (uint64_t[]){address(&got)});
            OK(d->ops->sync(q, NULL, NULL, &err));
            assert_int_equal(got, 100 + j);
        }
    }
    for (int i = 0; i < 3; i++) d->ops->unload(d, m[i]);
    /* Damaged code is refused before the loader sees it. */
    DevModule *none;
    FAILS("58000", d->ops->load(d, NULL, 0, &none, &err));
    FAILS("58000", d->ops->load(d, "garbage", 7, &none, &err));
    FAILS("58000", d->ops->load(d, code.bytes, 100, &none, &err));
    FAILS("58000", d->ops->load(d, code.bytes, code.n / 4, &none, &err));
    assert_null(none);
    assert_int_equal(entries_in(tmp), 0);
    dev_code_free(&code);
    dev_code_free(&code);
    dev_code_free(NULL);
    d->ops->queue_free(d, q);
    close_all();

    /* A temporary directory that is none. */
    rmdir(tmp);
    open_with(1);
    Device *out;
    FAILS("58P01", devices_get(devices, "host", &out, &err));
    close_all();
    if (before) {
        setenv("TMPDIR", before, 1);
        free(before);
    } else {
        unsetenv("TMPDIR");
    }
}

/* The embedding program may ignore SIGCHLD: exit statuses are lost then. */
static void test_compile_sigchld(void **state) {
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    open_with(1);
    Device *d = get("host");
    DevCode code;
    OK(d->ops->compile(d, "void k(void) {}", "", &code, &err));
    dev_code_free(&code);
    FAILS("58000", d->ops->compile(d, "broken", "", &code, &err));
    assert_non_null(strstr(err.detail, "error"));
    close_all();
    signal(SIGCHLD, before);
}

static void *compile_thread(void *arg) {
    Device *d = arg;
    Err e = {0};
    DevCode code;
    uintptr_t bad = 0;
    for (int i = 0; i < 3; i++) {
        bad += d->ops->compile(d, "void k(void) {}", "", &code, &e) != ST_OK;
        dev_code_free(&code);
    }
    return (void *)bad;
}

static void test_compile_threads(void **state) {
    (void)state;
    open_with(1);
    Device *d = get("host");
    pthread_t t[3];
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&t[i], NULL, compile_thread, d), 0);
    for (int i = 0; i < 3; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
    }
    close_all();
}

static const DeviceEntry *entry_of(const char *id) {
    for (int i = 0; i < devices_count(devices); i++) {
        if (strcmp(devices_entry(devices, i)->id, id) == 0) return devices_entry(devices, i);
    }
    return NULL;
}

static void write_script(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, 0700), 0);
}

static void test_no_compiler(void **state) {
    (void)state;
    Device *d;
    setenv("STELE_CC", "/nonexistent", 1);
    open_with(1);
    const DeviceEntry *host = entry_of("host");
    assert_non_null(host);
    assert_false(host->usable);
    assert_non_null(strstr(host->state, "/nonexistent"));
    FAILS("58000", devices_get(devices, "host", &d, &err));
    assert_non_null(strstr(err.message, "/nonexistent"));
    assert_null(d);
    close_all();
    setenv("STELE_CC", "no-such-compiler-on-path", 1);
    open_with(1);
    assert_false(entry_of("host")->usable);
    close_all();
    char *path = strdup(getenv("PATH"));
    unsetenv("STELE_CC");
    setenv("PATH", "/nonexistent:", 1);
    open_with(1);
    assert_false(entry_of("host")->usable);
    assert_non_null(strstr(entry_of("host")->state, "PATH"));
    close_all();
    setenv("PATH", path, 1);
    free(path);
    /* One that can be run but fails, one that dies, one that says yes and writes nothing, one that is no program. */
    char file[] = "/tmp/test-device-cc-XXXXXX";
    close(mkstemp(file));
    setenv("STELE_CC", file, 1);
    write_script(file, "#!/bin/sh\nexit 3\n");
    open_with(1);
    assert_true(entry_of("host")->usable);
    FAILS("58000", devices_get(devices, "host", &d, &err));
    assert_non_null(strstr(err.message, "exits with 3"));
    write_script(file, "#!/bin/sh\nkill -9 $$\n");
    FAILS("58000", devices_get(devices, "host", &d, &err));
    assert_non_null(strstr(err.message, "signal 9"));
    write_script(file, "not a program");
    FAILS("58000", devices_get(devices, "host", &d, &err));
    write_script(file, "#!/bin/sh\necho fake 1\nexit 0\n");
    d = get("host");
    assert_true(strncmp(d->info.compiler, "fake 1;", 7) == 0);
    DevCode code;
    FAILS("58000", d->ops->compile(d, "", "", &code, &err));
    assert_non_null(strstr(err.message, "no object file"));
    assert_non_null(strstr(err.detail, "fake 1"));
    unlink(file); /* and one that has gone since */
    FAILS("58000", d->ops->compile(d, "", "", &code, &err));
    assert_null(code.bytes);
    close_all();
    unsetenv("STELE_CC");
}

/* ---- host: memory, queues, events ---- */

static void test_memory(void **state) {
    (void)state;
    open_with(2);
    Device *d = get("host");
    assert_true(d->info.shares_memory && d->info.can_map && !d->info.lost);
    assert_true(d->info.memory_bytes > 0 && d->info.units == 2 && d->info.group_max == 1 && d->info.warp == 1);
    assert_true(d->info.native_threads && d->info.shares_memory && !d->info.warp_functions && !d->info.runs_nothing);
    assert_true(d->info.group_rows == 1 && d->info.group_calls == 1 && d->info.measure_bytes > 0);
    int64_t own = atomic_load(&account.used);
    const int64_t sizes[] = {0, 1, 255, 256, 257, 5000, (1 << 20) - 100, 1 << 20, (5 << 20) + 1};
    DevPtr p[ARRAY_LEN(sizes)];
    for (int64_t i = 0; i < ARRAY_LEN(sizes); i++) {
        OK(d->ops->alloc(d, sizes[i], &p[i], &err));
        assert_int_not_equal(p[i], 0);
        assert_int_equal(p[i] % 256, 0);
        memset((void *)(uintptr_t)p[i], 1, (size_t)sizes[i]);
    }
    assert_true(atomic_load(&d->memory.used) >= (7 << 20) && atomic_load(&account.used) >= own + (7 << 20));
    for (int64_t i = 0; i < ARRAY_LEN(sizes); i++) d->ops->free(d, p[i], sizes[i]);
    d->ops->free(d, 0, 100);
    assert_int_equal(atomic_load(&d->memory.used), 0);
    assert_int_equal(atomic_load(&account.used), own);
    void *pinned;
    DevPtr dev, mapped;
    OK(d->ops->alloc_pinned(d, 1000, &pinned, &dev, &err));
    assert_int_equal(dev, address(pinned));
    d->ops->free_pinned(d, pinned, 1000);
    OK(d->ops->alloc_pinned(d, 3 << 20, &pinned, NULL, &err));
    assert_int_equal(atomic_load(&d->memory.used), 0); /* host memory */
    d->ops->free_pinned(d, pinned, 3 << 20);
    OK(d->ops->map_host(d, &dev, 8, &mapped, &err));
    assert_int_equal(mapped, address(&dev));
    d->ops->unmap_host(d, &dev, 8);
    int64_t left, total;
    OK(d->ops->memory_used(d, &left, &total, &err));
    assert_true(left > 0 && left <= total && total == d->info.memory_bytes);

    /* The device's limit: 53200 that names device, bytes, use, limit and setting. */
    atomic_store(&d->memory.limit, 4096);
    OK(d->ops->alloc(d, 1024, &p[0], &err));
    FAILS("53200", d->ops->alloc(d, 4000, &p[1], &err));
    assert_int_equal(p[1], 0);
    assert_non_null(strstr(err.message, "host"));
    assert_non_null(strstr(err.detail, "4096"));
    assert_non_null(strstr(err.detail, "1024"));
    assert_non_null(strstr(err.hint, "device_memory_limit"));
    OK(d->ops->alloc(d, 3072, &p[1], &err));
    d->ops->free(d, p[0], 1024);
    d->ops->free(d, p[1], 3072);
    atomic_store(&d->memory.limit, 0);
    FAILS("53200", d->ops->alloc(d, -1, &p[0], &err));
    FAILS("53200", d->ops->alloc(d, INT64_MAX, &p[0], &err));
    /* memory_limit of the account above keeps its own words. */
    atomic_store(&account.limit, atomic_load(&account.used) + 1000);
    FAILS("53400", d->ops->alloc(d, 4000, &p[0], &err));
    assert_non_null(strstr(err.hint, "memory_limit"));
    atomic_store(&account.limit, 0);
    assert_int_equal(atomic_load(&d->memory.used), 0);
    close_all();
}

/* Memory that grows, in place and by copies. */
static void test_spans(void **state) {
    (void)state;
    open_with(2);
    Device *d = get("host");
    DevQueue *q;
    FaultPlan plan = {0};
    Device *faulty;
    OK(device_fault_new(d, &plan, &faulty, &err));
    assert_true(d->info.span_unit > 0);
    for (int kind = 0; kind < 3; kind++) { /* the host, a wrapped one, one that cannot */
        Device *x = kind == 1 ? faulty : d;
        int64_t unit = d->info.span_unit;
        OK(x->ops->queue_new(x, &q, &err));
        if (kind == 2) d->info.span_unit = 0;
        DevSpan s = {0};
        OK(device_span_new(x, 100, &s, &err));
        assert_int_equal(s.most, 0); /* too small */
        memset((void *)(uintptr_t)s.at, 3, 100);
        OK(device_span_grow(x, q, &s, 50000, 100, &err));
        assert_int_equal(s.bytes, 50000);
        DevPtr at = s.at;
        memset((void *)(uintptr_t)(s.at + 100), 3, 49900);
        OK(device_span_grow(x, q, &s, 3 << 20, 50000, &err));
        assert_true((s.at == at) == (kind != 2));
        for (int64_t i = 0; i < 50000; i++) assert_int_equal(((char *)(uintptr_t)s.at)[i], 3);
        memset((void *)(uintptr_t)s.at, 4, 3 << 20);
        assert_true(atomic_load(&x->memory.used) >= 3 << 20);
        atomic_store(&x->memory.limit, 4 << 20);
        FAILS("53200", device_span_grow(x, q, &s, 9 << 20, 3 << 20, &err));
        atomic_store(&x->memory.limit, 0);
        assert_int_equal(s.bytes, 3 << 20);
        assert_int_equal(((char *)(uintptr_t)s.at)[(3 << 20) - 1], 4);
        OK(device_span_shrink(x, q, &s, 5 << 20, 5 << 20, &err)); /* it has less */
        OK(device_span_shrink(x, q, &s, 2 << 20, 2 << 20, &err));
        assert_int_equal(s.bytes, kind == 2 ? 3 << 20 : 2 << 20); /* not worth a copy */
        assert_int_equal(atomic_load(&x->memory.used), s.bytes);
        plan.fail_at = atomic_load(&plan.calls) + 1;
        if (kind == 1) FAILS("58000", device_span_shrink(x, q, &s, 1 << 20, 1 << 20, &err));
        plan.fail_at = 0;
        OK(device_span_shrink(x, q, &s, 1 << 20, 1 << 20, &err));
        assert_int_equal(s.bytes, 1 << 20);
        assert_int_equal(atomic_load(&x->memory.used), 1 << 20);
        for (int64_t i = 0; i < 1 << 20; i++) assert_int_equal(((char *)(uintptr_t)s.at)[i], 4);
        OK(device_span_grow(x, q, &s, 3 << 20, 1 << 20, &err));
        memset((void *)(uintptr_t)s.at, 5, 3 << 20);
        device_span_free(x, &s);
        assert_int_equal(s.at, 0);
        device_span_free(x, &s);
        assert_int_equal(atomic_load(&x->memory.used), 0);
        d->info.span_unit = unit;
        x->ops->queue_free(x, q);
    }
    OK(faulty->ops->queue_new(faulty, &q, &err));
    plan.fail_at = atomic_load(&plan.calls) + 1;
    DevSpan s = {0};
    FAILS("53200", device_span_new(faulty, 1 << 20, &s, &err));
    assert_int_equal(s.at, 0);
    OK(device_span_new(faulty, 1 << 20, &s, &err));
    plan.fail_at = atomic_load(&plan.calls) + 1;
    FAILS("53200", device_span_grow(faulty, q, &s, 2 << 20, 1 << 20, &err));
    device_span_free(faulty, &s);
    faulty->ops->queue_free(faulty, q);
    faulty->ops->close(faulty);
    close_all();
}

static void test_copies(void **state) {
    (void)state;
    open_with(2);
    Device *d = get("host");
    DevQueue *q;
    OK(d->ops->queue_new(d, &q, &err));
    const int64_t n = 3 << 20; /* above and below what is copied at once */
    char *in = malloc((size_t)n), *out = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++) in[i] = (char)(i * 7 + i / 1000);
    for (int round = 0; round < 2; round++) {
        int64_t len = round ? n : 1000;
        DevPtr a, b;
        OK(d->ops->alloc(d, n, &a, &err));
        OK(d->ops->alloc(d, n, &b, &err));
        memset(out, 0, (size_t)n);
        OK(d->ops->copy_in(q, a, in, len, &err));
        OK(d->ops->copy(q, b, a, len, &err));
        OK(d->ops->fill(q, b + 10, 0xAB, len - 20, &err));
        OK(d->ops->copy_out(q, out, b, len, &err));
        OK(d->ops->copy_out(q, NULL, 0, 0, &err));
        OK(d->ops->sync(q, NULL, NULL, &err));
        assert_memory_equal(out, in, 10);
        assert_memory_equal(out + len - 10, in + len - 10, 10);
        for (int64_t i = 10; i < len - 10; i++) assert_int_equal((uint8_t)out[i], 0xAB);
        d->ops->free(d, a, n);
        d->ops->free(d, b, n);
    }
    free(in);
    free(out);
    d->ops->queue_free(d, q);
    d->ops->queue_free(d, NULL);
    d->ops->event_free(d, NULL);
    close_all();
}

static const char gate_kernels[] = "KERNEL(gate) { while (!__atomic_load_n((u64 *)p[0], __ATOMIC_ACQUIRE)) { } if "
                                   "(p[1]) __atomic_store_n((u64 *)p[1], 1, __ATOMIC_RELAXED); }\n"
                                   "KERNEL(copy) { *(u64 *)p[0] = *(u64 *)p[1]; }\n"
                                   "KERNEL(set) { __atomic_store_n((u64 *)p[0], p[1], __ATOMIC_RELEASE); }\n";

typedef struct Poll {
    _Atomic uint64_t gate;
    int calls, stop_at, open_at;
    pthread_t thread;
    int64_t last_ns, gap_ns;
} Poll;

static bool poll_fn(void *ctx) {
    Poll *p = ctx;
    int64_t now = clock_ns();
    if (p->last_ns) p->gap_ns = MAX_OF(p->gap_ns, now - p->last_ns);
    p->last_ns = now;
    p->thread = pthread_self();
    p->calls++;
    if (p->open_at && p->calls == p->open_at) atomic_store(&p->gate, 1);
    return !p->stop_at || p->calls < p->stop_at;
}

static bool ask_always(void *ctx) { return ctx == NULL; }
static bool ask_twice(void *ctx) { return ++*(int *)ctx < 2; }

static void test_sync_poll(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        open_with(threads);
        Device *d = get("host");
        DevModule *m = module_of(d, gate_kernels);
        DevKernel *gate = kernel_of(m, d, "gate");
        DevQueue *q;
        OK(d->ops->queue_new(d, &q, &err));
        OK(d->ops->sync(q, NULL, NULL, &err)); /* nothing to wait for */
        Poll p = {.open_at = 20};
        OK(d->ops->sync(q, poll_fn, &p, &err));
        assert_int_equal(p.calls, 0);
        /* One group that only ends because poll is called meanwhile, on this thread. */
        uint64_t done = 0;
        launch(d, q, gate, 1, 0, 2, (uint64_t[]){address(&p.gate), address(&done)});
        OK(d->ops->sync(q, poll_fn, &p, &err));
        assert_true(p.calls >= 20);
        assert_true(pthread_equal(p.thread, pthread_self()));
        assert_int_equal(done, 1);
        assert_true(p.gap_ns < INT64_C(300000000000)); /* 10 ms are promised; the machine may be busy */
        /* Giving up leaves no error and a busy queue, which can be waited for again. */
        p = (Poll){.stop_at = 3};
        done = 0;
        launch(d, q, gate, 3, 0, 2, (uint64_t[]){address(&p.gate), address(&done)});
        err = (Err){0};
        assert_int_equal(d->ops->sync(q, poll_fn, &p, &err), ST_ERROR);
        assert_false(err_is_set(&err));
        assert_int_equal(p.calls, 3);
        atomic_store(&p.gate, 1);
        OK(d->ops->sync(q, NULL, NULL, &err));
        assert_int_equal(done, 1);
        /* queue_free waits for what was queued. */
        atomic_store(&p.gate, 0);
        uint64_t one = 1;
        done = 0;
        launch(d, q, gate, 1, 0, 2, (uint64_t[]){address(&p.gate), 0});
        launch(d, q, kernel_of(m, d, "set"), 1, 0, 2, (uint64_t[]){address(&done), one});
        atomic_store(&p.gate, 1);
        d->ops->queue_free(d, q);
        assert_int_equal(done, 1);
        d->ops->unload(d, m);
        close_all();
    }
}

/* Whoever waits runs what has not begun, while somebody else asks its poll: the gate only opens because that is called.
 */
static void test_finish(void **state) {
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        open_with(threads);
        Device *d = get("host");
        DevModule *m = module_of(d, gate_kernels);
        DevKernel *gate = kernel_of(m, d, "gate"), *copy = kernel_of(m, d, "copy"), *set = kernel_of(m, d, "set");
        DevQueue *q;
        OK(d->ops->queue_new(d, &q, &err));
        OK(device_finish(d, q, NULL, NULL, &err)); /* nothing to do */
        int here = 0, elsewhere = 0;
        for (int i = 0; i < 20; i++) {
            Poll p = {.open_at = 2};
            uint64_t done = 0, from = 0, to = 0;
            launch(d, q, gate, 1, 0, 2, (uint64_t[]){address(&p.gate), address(&done)});
            launch(d, q, set, 1, 0, 2, (uint64_t[]){address(&from), (uint64_t)i + 1});
            launch(d, q, copy, 1, 0, 2, (uint64_t[]){address(&to), address(&from)});
            OK(device_finish(d, q, poll_fn, &p, &err));
            assert_int_equal(done, 1);
            assert_int_equal(to, i + 1);
            assert_true(p.calls >= 2);
            if (pthread_equal(p.thread, pthread_self())) here++;
            else elsewhere++;
            int calls = p.calls; /* nobody asks any more */
            usleep(12000);
            assert_int_equal(p.calls, calls);
        }
        assert_int_equal(here + elsewhere, 20);
        for (int i = 0; i < 2000; i++) { /* the thread and the waiting one are about as fast */
            uint64_t done = 0, to = 0;
            launch(d, q, set, 1, 0, 2, (uint64_t[]){address(&done), (uint64_t)i + 1});
            for (int spin = 0; spin < i % 64 * 50; spin++) atomic_thread_fence(memory_order_seq_cst);
            launch(d, q, copy, 1, 0, 2, (uint64_t[]){address(&to), address(&done)});
            OK(device_finish(d, q, i & 1 ? ask_always : NULL, NULL, &err));
            assert_int_equal(to, i + 1);
        }
        d->ops->queue_free(d, q);
        d->ops->unload(d, m);
        close_all();
    }
}

static void test_events(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        open_with(threads);
        Device *d = get("host");
        DevModule *m = module_of(d, gate_kernels);
        DevKernel *gate = kernel_of(m, d, "gate"), *copy = kernel_of(m, d, "copy"), *set = kernel_of(m, d, "set");
        DevQueue *a, *b;
        DevEvent *ev, *before, *after;
        OK(d->ops->queue_new(d, &a, &err));
        OK(d->ops->queue_new(d, &b, &err));
        OK(d->ops->event_new(d, &ev, &err));
        OK(d->ops->event_new(d, &before, &err));
        OK(d->ops->event_new(d, &after, &err));
        int64_t ns;
        FAILS("XX000", d->ops->event_ns(d, ev, ev, &ns, &err)); /* never recorded */
        OK(d->ops->event_wait(b, ev, &err));
        OK(d->ops->event_sync(d, ev, NULL, NULL, &err));
        for (int round = 0; round < 3; round++) {
            /* a: wait for the gate, write x. b: after that, y = x. Only the event keeps b from reading too early. */
            _Atomic uint64_t open = 0;
            uint64_t x = 0, y = 99;
            OK(d->ops->event_record(a, before, &err));
            launch(d, a, gate, 1, 0, 2, (uint64_t[]){address(&open), 0});
            launch(d, a, set, 1, 0, 2, (uint64_t[]){address(&x), 42 + (uint64_t)round});
            OK(d->ops->event_record(a, ev, &err));
            OK(d->ops->event_record(a, after, &err));
            OK(d->ops->event_wait(b, ev, &err));
            launch(d, b, copy, 1, 0, 2, (uint64_t[]){address(&y), address(&x)});
            FAILS("XX000", d->ops->event_ns(d, before, ev, &ns, &err)); /* has not passed */
            sleep_ms(20);
            assert_int_equal(y, 99);
            atomic_store(&open, 1);
            OK(d->ops->sync(b, NULL, NULL, &err));
            assert_int_equal(y, 42 + round);
            OK(d->ops->event_sync(d, after, NULL, NULL, &err));
            OK(d->ops->event_ns(d, before, after, &ns, &err));
            assert_true(ns >= 20 * 1000000 && ns < INT64_C(600) * 1000000000);
        }
        /* Waiting for an event asks now and then whether to go on. */
        _Atomic uint64_t closed = 0;
        launch(d, a, gate, 1, 0, 2, (uint64_t[]){address(&closed), 0});
        OK(d->ops->event_record(a, after, &err));
        int asked = 0;
        assert_int_equal(d->ops->event_sync(d, after, ask_twice, &asked, &err), ST_ERROR);
        assert_false(err_is_set(&err));
        assert_int_equal(asked, 2);
        atomic_store(&closed, 1);
        OK(d->ops->event_sync(d, after, NULL, NULL, &err));
        /* Recorded on two queues, the later one passes first: it counts. */
        _Atomic uint64_t shut = 0;
        launch(d, a, gate, 1, 0, 2, (uint64_t[]){address(&shut), 0});
        OK(d->ops->event_record(a, ev, &err));
        OK(d->ops->event_record(b, ev, &err));
        OK(d->ops->event_sync(d, ev, NULL, NULL, &err));
        atomic_store(&shut, 1);
        OK(d->ops->sync(a, NULL, NULL, &err));
        OK(d->ops->event_sync(d, ev, NULL, NULL, &err));
        OK(d->ops->event_ns(d, before, ev, &ns, &err));
        /* An event may be freed while it is queued, and queues do not wait for each other without one. */
        _Atomic uint64_t open = 0;
        uint64_t done = 0;
        DevEvent *gone;
        OK(d->ops->event_new(d, &gone, &err));
        launch(d, a, gate, 1, 0, 2, (uint64_t[]){address(&open), 0});
        OK(d->ops->event_record(a, gone, &err));
        d->ops->event_free(d, gone);
        launch(d, b, set, 1, 0, 2, (uint64_t[]){address(&open), 1}); /* opens a's gate: both run at the same time */
        OK(d->ops->sync(a, NULL, NULL, &err));
        launch(d, b, set, 1, 0, 2, (uint64_t[]){address(&done), 1});
        OK(d->ops->sync(b, NULL, NULL, &err));
        assert_int_equal(done, 1);
        assert_true(d->info.concurrent);
        d->ops->event_free(d, ev);
        d->ops->event_free(d, before);
        d->ops->event_free(d, after);
        d->ops->queue_free(d, a);
        d->ops->queue_free(d, b);
        d->ops->unload(d, m);
        close_all();
    }
}

/* A queue per thread on one device. */
typedef struct QueueJob {
    Device *d;
    DevKernel *add;
    int64_t sum;
    bool ok;
} QueueJob;

static void *queue_thread(void *arg) {
    QueueJob *j = arg;
    Err e = {0};
    Device *d = j->d;
    DevQueue *q;
    DevPtr p = 0;
    j->ok = d->ops->queue_new(d, &q, &e) == ST_OK && d->ops->alloc(d, 8, &p, &e) == ST_OK &&
            d->ops->fill(q, p, 0, 8, &e) == ST_OK;
    for (int i = 0; i < 50 && j->ok; i++) {
        uint64_t params[2] = {p, (uint64_t)i};
        j->ok = d->ops->launch(q, j->add, 100, 1, 64, params, 2, &e) == ST_OK &&
                (i % 10 || d->ops->sync(q, NULL, NULL, &e) == ST_OK);
    }
    j->ok = j->ok && d->ops->copy_out(q, &j->sum, p, 8, &e) == ST_OK && d->ops->sync(q, NULL, NULL, &e) == ST_OK;
    d->ops->queue_free(d, q);
    d->ops->free(d, p, 8);
    return NULL;
}

static void test_queues_of_threads(void **state) {
    (void)state;
    open_with(3);
    Device *d = get("host");
    DevModule *m = module_of(d, "KERNEL(add) { c->lmem[0] = (u8)c->gid; __atomic_fetch_add((u64 *)p[0], p[1] * "
                                "(c->lmem[0] == (u8)c->gid), __ATOMIC_RELAXED); }");
    QueueJob jobs[4];
    pthread_t t[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (QueueJob){.d = d, .add = kernel_of(m, d, "add")};
        assert_int_equal(pthread_create(&t[i], NULL, queue_thread, &jobs[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        assert_true(jobs[i].ok);
        assert_int_equal(jobs[i].sum, 100 * 49 * 50 / 2);
    }
    d->ops->unload(d, m);
    close_all();
}

/* ---- a little of everything, for faults ---- */

/* One use of every op. Releases what it made, whatever fails. */
static Status use_device(Device *d, const char *source, int32_t group, Err *e) {
    DevPtr a = 0, b = 0, mapped = 0;
    void *pinned = NULL;
    DevQueue *q = NULL;
    DevEvent *from = NULL, *to = NULL;
    DevModule *m = NULL;
    DevKernel *k;
    DevCode code = {0};
    int64_t x, y, ns;
    uint64_t in = 7, out = 0;
    bool is_mapped = false;
    Status st = d->ops->memory_used(d, &x, &y, e);
    if (st == ST_OK) st = d->ops->alloc(d, 1000, &a, e);
    if (st == ST_OK) st = d->ops->alloc(d, 2 << 20, &b, e);
    if (st == ST_OK) st = d->ops->alloc_pinned(d, 100, &pinned, NULL, e);
    if (st == ST_OK) st = d->ops->map_host(d, &in, 8, &mapped, e);
    if (st == ST_OK) is_mapped = true;
    if (st == ST_OK) st = d->ops->queue_new(d, &q, e);
    if (st == ST_OK) st = d->ops->event_new(d, &from, e);
    if (st == ST_OK) st = d->ops->event_new(d, &to, e);
    if (st == ST_OK) st = d->ops->compile(d, source, "", &code, e);
    if (st == ST_OK) st = d->ops->load(d, code.bytes, code.n, &m, e);
    if (st == ST_OK) st = d->ops->kernel(m, "k", &k, e);
    if (st == ST_OK) st = d->ops->event_record(q, from, e);
    if (st == ST_OK) st = d->ops->copy_in(q, a, &out, 8, e);
    if (st == ST_OK)
        st = device_copy_in_many(d, q, (DevCopy[]){{a + 4, (char *)&in + 4, 4}, {a, &in, 4}, {a, NULL, 0}}, 3, e);
    if (st == ST_OK) st = d->ops->copy(q, b, a, 8, e);
    if (st == ST_OK) st = d->ops->fill(q, a, 0, 8, e);
    if (st == ST_OK) st = d->ops->launch(q, k, d->ops->resident_groups(k, group, 64), group, 64, (uint64_t[]){b}, 1, e);
    if (st == ST_OK) st = d->ops->event_wait(q, from, e);
    if (st == ST_OK) st = d->ops->copy_out(q, &out, b, 8, e);
    if (st == ST_OK) st = d->ops->event_record(q, to, e);
    if (st == ST_OK) st = d->ops->event_sync(d, to, NULL, NULL, e);
    if (st == ST_OK) st = d->ops->event_ns(d, from, to, &ns, e);
    if (st == ST_OK) st = d->ops->sync(q, NULL, NULL, e);
    if (q) d->ops->queue_free(d, q); /* waits, so that the rest may go */
    if (m) d->ops->unload(d, m);
    dev_code_free(&code);
    if (from) d->ops->event_free(d, from);
    if (to) d->ops->event_free(d, to);
    if (is_mapped) d->ops->unmap_host(d, &in, 8);
    if (pinned) d->ops->free_pinned(d, pinned, 100);
    d->ops->free(d, a, 1000);
    d->ops->free(d, b, 2 << 20);
    if (st == ST_OK && d->info.kind == DEVICE_HOST && out != 8 + (uint64_t)d->info.units - 1)
        st = err_set(e, "XX000", "wrong result");
    return st;
}
enum { USE_CALLS = 23 };
static const char use_source[] = "void k(const unsigned long *p, void *c) { (void)c; __atomic_fetch_add((unsigned long "
                                 "*)p[0], 1, __ATOMIC_RELAXED); }";

/* Every allocation of the host device fails once. */
static void test_allocations(void **state) {
    (void)state;
    open_with(2);
    int64_t n = 0;
    for (bool reached = true; reached;) {
        Device *d = NULL;
        Err e = {0};
        mem_fail_at(++n);
        Status st = devices_get(devices, "host", &d, &e);
        if (st == ST_OK) st = use_device(d, use_source, 1, &e);
        reached = mem_fail_at(0) <= 0;
        if (reached && st == ST_OK) fail_msg("allocation %d failed and nobody noticed", (int)n);
        if (!reached && st != ST_OK) fail_msg("%s %s", e.sqlstate, e.message);
        if (reached) assert_string_equal(e.sqlstate, "53200");
        if (d) assert_int_equal(atomic_load(&d->memory.used), 0);
    }
    assert_true(n > 8);
    close_all();
}

/* ---- null ---- */

static void test_null(void **state) {
    (void)state;
    open_with(1);
    Device *d = get("null");
    assert_int_equal(d->info.kind, DEVICE_NULL);
    assert_true(d->info.runs_nothing && !d->info.native_threads && d->info.group_rows > 0 && d->info.group_calls > 0);
    OK(use_device(d, "anything", 128, &err));
    const NullCounts *c = device_null_counts(d);
    assert_int_equal(c->allocs, 2);
    assert_int_equal(c->frees, 2);
    assert_int_equal(c->bytes_in_use, 0);
    assert_int_equal(c->copies, 6);
    assert_int_equal(c->bytes_copied, 32);
    assert_int_equal(c->fills, 1);
    assert_int_equal(c->launches, 1);
    assert_int_equal(c->syncs, 1);
    assert_int_equal(c->compiles, 1);
    DevPtr a, b;
    OK(d->ops->alloc(d, INT64_C(1) << 34, &a, &err)); /* no memory behind it */
    OK(d->ops->alloc(d, 1, &b, &err));
    assert_true(a % 256 == 0 && b % 256 == 0 && b >= a + (UINT64_C(1) << 34));
    assert_int_equal(c->bytes_in_use, (INT64_C(1) << 34) + 1);
    atomic_store(&d->memory.limit, INT64_C(1) << 35);
    FAILS("53200", d->ops->alloc(d, INT64_C(1) << 35, &(DevPtr){0}, &err));
    FAILS("53200", d->ops->alloc(d, INT64_MAX, &(DevPtr){0}, &err));
    assert_int_equal(c->allocs, 4); /* refusals are none */
    DevQueue *q;
    OK(d->ops->queue_new(d, &q, &err));
    uint64_t out = 5;
    OK(d->ops->copy_out(q, &out, a, 8, &err));
    assert_int_equal(out, 0);
    d->ops->queue_free(d, q);
    d->ops->free(d, a, INT64_C(1) << 34);
    d->ops->free(d, b, 1);
    assert_int_equal(c->bytes_in_use, 0);
    close_all();
}

/* ---- fault ---- */

static void fault_everywhere(Device *inner, const char *source, int32_t group) {
    FaultPlan plan = {0};
    Device *d;
    OK(device_fault_new(inner, &plan, &d, &err));
    assert_string_equal(d->info.id, inner->info.id);
    OK(use_device(d, source, group, &err));
    assert_int_equal(atomic_load(&plan.calls), USE_CALLS); /* every op that returns a Status */
    for (int mode = 0; mode < 3; mode++) {
        for (int64_t n = 1; n <= USE_CALLS + 1; n++) {
            plan = (FaultPlan){.fail_at = n, .sticky = mode == 1, .lose_device = mode == 2};
            if (mode == 2) { /* a device is lost once */
                d->ops->close(d);
                OK(device_fault_new(inner, &plan, &d, &err));
            }
            err = (Err){0};
            Status st = use_device(d, source, group, &err);
            assert_int_equal(st, n <= USE_CALLS ? ST_ERROR : ST_OK);
            assert_int_equal(atomic_load(&plan.calls), MIN_OF(n, USE_CALLS)); /* nothing more was tried */
            assert_int_equal(atomic_load(&d->memory.used), 0);
            assert_int_equal(atomic_load(&inner->memory.used), 0);
            if (st == ST_OK) continue;
            bool alloc = n >= 2 && n <= 4;
            assert_string_equal(err.sqlstate, mode != 2 && alloc ? "53200" : "58000");
            assert_non_null(strstr(err.message, inner->info.id));
            assert_non_null(strstr(err.message, mode == 2 ? "was lost" : "injected"));
            err = (Err){0};
            st = use_device(d, source, group, &err);
            assert_int_equal(st, mode == 0 ? ST_OK : ST_ERROR);
            if (mode == 2) {
                assert_true(d->info.lost);
                assert_non_null(strstr(err.message, "was lost"));
            }
        }
    }
    d->ops->close(d);
    assert_false(inner->info.lost);
    err = (Err){0};
    OK(use_device(inner, source, group, &err)); /* as good as new */
}

static void test_fault_null(void **state) {
    (void)state;
    open_with(1);
    fault_everywhere(get("null"), "", 64);
    const NullCounts *c = device_null_counts(get("null"));
    assert_int_equal(c->allocs, c->frees);
    close_all();
}

static void test_fault_host(void **state) {
    (void)state;
    open_with(2);
    fault_everywhere(get("host"), use_source, 1);
    close_all();
}

/* A failed sync has waited nevertheless: memory may be freed after it. */
static void test_fault_sync(void **state) {
    (void)state;
    open_with(2);
    Device *inner = get("host"), *d;
    FaultPlan plan = {0};
    OK(device_fault_new(inner, &plan, &d, &err));
    DevModule *m = module_of(d, "KERNEL(slow) { for (volatile int i = 0; i < 20000000; i++) { } *(u64 *)p[0] = 1; }");
    DevQueue *q;
    OK(d->ops->queue_new(d, &q, &err));
    uint64_t done = 0;
    launch(d, q, kernel_of(m, d, "slow"), 1, 0, 1, (uint64_t[]){address(&done)});
    plan.fail_at = atomic_load(&plan.calls) + 1;
    plan.lose_device = true;
    FAILS("58000", d->ops->sync(q, NULL, NULL, &err));
    assert_int_equal(done, 1);
    d->ops->queue_free(d, q);
    d->ops->unload(d, m);
    d->ops->close(d);
    close_all();
}

/* ---- registry ---- */

static void test_registry(void **state) {
    (void)state;
    unsetenv("STELE_DEVICES");
    open_with(2);
    bool seen[4] = {false};
    for (int i = 0; i < devices_count(devices); i++) {
        const DeviceEntry *d = devices_entry(devices, i);
        assert_true(d->kind >= DEVICE_HOST && d->kind <= DEVICE_NULL);
        seen[d->kind] = true;
        assert_true(d->id[0] && d->state[0]);
        if (d->usable) {
            assert_string_equal(d->state, "ready");
            assert_true(d->name[0] && d->memory_bytes > 0);
        } else {
            assert_true(strlen(d->state) > 10); /* a reason */
        }
        for (int k = 0; k < i; k++) assert_string_not_equal(d->id, devices_entry(devices, k)->id);
    }
    for (int k = 0; k < 4; k++) assert_true(seen[k]);
    assert_null(devices_entry(devices, -1));
    assert_null(devices_entry(devices, devices_count(devices)));
    Device *d = NULL;
    FAILS("42704", devices_get(devices, "tpu:0", &d, &err));
    assert_non_null(strstr(err.hint, "cpu"));
    FAILS("42704", devices_get(devices, "", &d, &err));
    FAILS("42704", devices_get(devices, "cuda:99", &d, &err));
    assert_null(d);
    assert_ptr_equal(get("host"), get("host"));
    assert_ptr_equal(get("null"), get("null"));
    const DeviceEntry *gpu = devices_auto(devices);
    if (gpu) assert_true(gpu->usable && (gpu->kind == DEVICE_CUDA || gpu->gpu));
    close_all();
    devices_close(NULL);
}

static void test_registry_environment(void **state) {
    (void)state;
    setenv("STELE_DEVICES", "null,host", 1);
    open_with(1);
    assert_int_equal(devices_count(devices), devices_n_backends());
    assert_true(entry_of("null")->usable);
    assert_false(entry_of("cuda")->usable);
    assert_non_null(strstr(entry_of("opencl")->state, "STELE_DEVICES"));
    assert_null(devices_auto(devices));
    Device *d;
    FAILS("58000", devices_get(devices, "cuda", &d, &err));
    FAILS("42704", devices_get(devices, "cuda:0", &d, &err));
    assert_non_null(strstr(err.detail, "STELE_DEVICES"));
    close_all();
    setenv("STELE_DEVICES", "host,gpu", 1);
    FAILS("22023", devices_open(NULL, NULL, &devices, &err));
    assert_non_null(strstr(err.message, "gpu"));
    assert_string_equal(err.hint, "The backends are host, cuda, opencl and null, separated by commas.");
    setenv("STELE_DEVICES", "", 1); /* as if unset */
    open_with(1);
    assert_true(devices_count(devices) >= devices_n_backends());
    close_all();
    unsetenv("STELE_DEVICES");
}

static void test_registry_names(void **state) {
    (void)state;
    static const char *const good[] = {"cpu", "CPU", "null", "cuda:0", "cuda:999", "opencl:12"};
    static const char *const bad[] = {"", "host", "cuda", "cuda:", "cuda:1000", "cuda:x", "cuda:1 ", "cpu:0", "gpu:0"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) assert_true(devices_name_valid(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(devices_name_valid(bad[i]));
    char names[64];
    devices_list_names(names, sizeof names);
    assert_string_equal(names, "cpu, cuda:N or opencl:N");
    devices_list_names(names, 8); /* cut off */
    assert_string_equal(names, "cpu, cu");
}

static void *get_thread(void *arg) {
    (void)arg;
    Err e = {0};
    Device *d = NULL;
    devices_get(devices, "host", &d, &e);
    return d;
}

static void test_registry_threads(void **state) {
    (void)state;
    open_with(1);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, get_thread, NULL), 0);
    void *first = NULL, *got;
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], &got);
        assert_non_null(got);
        if (first) assert_ptr_equal(got, first);
        first = got;
    }
    close_all();
}

static void test_registry_allocations(void **state) {
    (void)state;
    setenv("STELE_DEVICES", "host,null", 1);
    mem_account_init(&account, NULL, "test", 0, NULL);
    for (int64_t n = 1;; n++) {
        Err e = {0};
        mem_fail_at(n);
        Status st = devices_open(NULL, &account, &devices, &e);
        bool reached = mem_fail_at(0) <= 0;
        assert_int_equal(st, reached ? ST_ERROR : ST_OK);
        if (reached) assert_string_equal(e.sqlstate, "53200");
        if (st == ST_OK) devices_close(devices);
        assert_int_equal(atomic_load(&account.used), 0);
        if (!reached) break;
    }
    unsetenv("STELE_DEVICES");
}

int main(void) {
    setenv("STELE_DEVICES", "host,null", 1); /* drivers of GPUs have tests of their own, and leaks that are not ours */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),
        cmocka_unit_test(test_local_memory),
        cmocka_unit_test(test_compile),
        cmocka_unit_test(test_compile_sigchld),
        cmocka_unit_test(test_compile_threads),
        cmocka_unit_test(test_no_compiler),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_sync_poll),
        cmocka_unit_test(test_finish),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_queues_of_threads),
        cmocka_unit_test(test_allocations),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_fault_null),
        cmocka_unit_test(test_fault_host),
        cmocka_unit_test(test_fault_sync),
        cmocka_unit_test(test_registry_environment),
        cmocka_unit_test(test_registry_names),
        cmocka_unit_test(test_registry_threads),
        cmocka_unit_test(test_registry_allocations),
        cmocka_unit_test(test_registry), /* all backends: last, because it ends the limit above */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
