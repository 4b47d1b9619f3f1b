/* test_profile.c - the machine profile: text form there and back, bad files, calibration with small sizes on the host
 * device. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "cost/profile.h"
#include "device/cuda/nvrtc.h"

static char dir[256];

static int setup(void **state) {
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/stele-profile-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static Profile *sample(void) {
    static Profile p;
    memset(&p, 0, sizeof p);
    p.cpu = (CpuProfile){.threads = 16, .read_gbps_thread = 14.25, .read_gbps_all = 180.5, .bulk_set_min = 6};
    p.n_devices = 2;
    p.devices[0] =
        (DeviceProfile){.id = "cuda:0",
                        .name = "NVIDIA H200",
                        .arch = "sm_90",
                        .driver = "580.1 = new # not a comment",
                        .read_gbps = 4591.125,
                        .copy_gbps = 4288,
                        .to_device_gbps = 55.6,
                        .to_host_gbps = 55.4,
                        .mapped_gbps = 51.4,
                        .launch_us = 3.1,
                        .launch_sync_us = 8.1,
                        .local_atomic_mps = 630000,
                        .compute_gips = 9123.5,
                        .latency_ns = 612.25,
                        .pipeline_us = 31.5,
                        .pipeline_kernel_us = 4.125,
                        .bulk_set_min = 64,
                        .bulk_groups = 65536,
                        .channels = {.n = 1, .at = {{16, 65536, 1 << 24, 350.25}}},
                        .gather = {.n = 3, .bytes = {1 << 20, 1 << 26, 1 << 30}, .mps = {168000, 80000.5, 42000}},
                        .atomic_add = {.n = 1, .bytes = {1 << 20}, .mps = {102000}}};
    p.devices[1] =
        (DeviceProfile){.id = "opencl:1", .name = "  padded  ", .read_gbps = 0.001, .copy_gbps = 99999999999.999};
    return &p;
}

static void expect_near(double a, double b) { assert_true(fabs(a - b) <= 0.000501 + 1e-9 * fabs(b)); }

static void expect_same_curve(const ProfileCurve *a, const ProfileCurve *b) {
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        assert_int_equal(a->bytes[i], b->bytes[i]);
        expect_near(a->mps[i], b->mps[i]);
    }
}

static void expect_same(const Profile *a, const Profile *b) {
    expect_near(a->cpu.threads, b->cpu.threads);
    expect_near(a->cpu.read_gbps_thread, b->cpu.read_gbps_thread);
    expect_near(a->cpu.read_gbps_all, b->cpu.read_gbps_all);
    expect_near(a->cpu.bulk_set_min, b->cpu.bulk_set_min);
    assert_int_equal(a->n_devices, b->n_devices);
    for (int64_t i = 0; i < a->n_devices; i++) {
        const DeviceProfile *x = &a->devices[i], *y = profile_device(b, x->id, x->name);
        assert_non_null(y);
        assert_string_equal(x->arch, y->arch);
        assert_string_equal(x->driver, y->driver);
        expect_near(x->read_gbps, y->read_gbps);
        expect_near(x->bulk_set_min, y->bulk_set_min);
        expect_near(x->bulk_groups, y->bulk_groups);
        expect_near(x->copy_gbps, y->copy_gbps);
        expect_near(x->to_device_gbps, y->to_device_gbps);
        expect_near(x->to_host_gbps, y->to_host_gbps);
        expect_near(x->mapped_gbps, y->mapped_gbps);
        expect_near(x->launch_us, y->launch_us);
        expect_near(x->launch_sync_us, y->launch_sync_us);
        expect_near(x->local_atomic_mps, y->local_atomic_mps);
        expect_near(x->compute_gips, y->compute_gips);
        expect_near(x->latency_ns, y->latency_ns);
        expect_near(x->pipeline_us, y->pipeline_us);
        expect_near(x->pipeline_kernel_us, y->pipeline_kernel_us);
        assert_int_equal(x->channels.n, y->channels.n);
        for (int64_t k = 0; k < x->channels.n; k++) {
            assert_int_equal(x->channels.at[k].channels, y->channels.at[k].channels);
            assert_int_equal(x->channels.at[k].packet_bytes, y->channels.at[k].packet_bytes);
            assert_int_equal(x->channels.at[k].bytes, y->channels.at[k].bytes);
            expect_near(x->channels.at[k].gbps, y->channels.at[k].gbps);
        }
        expect_same_curve(&x->gather, &y->gather);
        expect_same_curve(&x->atomic_add, &y->atomic_add);
        expect_same_curve(&x->atomic_cas, &y->atomic_cas);
    }
}

static void test_round_trip(void **state) {
    (void)state;
    Err e = {0};
    Arena *a = arena_new(NULL, &e);
    char *text = profile_text(a, sample());
    assert_non_null(text);
    static Profile back;
    assert_int_equal(profile_parse("test", text, (int64_t)strlen(text), &back, &e), ST_OK);
    expect_same(sample(), &back);
    char *again = profile_text(a, &back); /* written values are read exactly */
    assert_string_equal(text, again);
    /* Carriage returns, blanks, and no end of line at the end. */
    const char loose[] = "# comment\r\n\r\n  version=1\r\n[cpu]\r\n\tthreads =  4 \r\n [device host] \r\nread_gbps = "
                         "7\r\ngather_mps = 64 : 1.5 ,128:2";
    assert_int_equal(profile_parse("test", loose, (int64_t)sizeof loose - 1, &back, &e), ST_OK);
    expect_near(back.cpu.threads, 4);
    assert_int_equal(back.n_devices, 1);
    expect_near(back.devices[0].read_gbps, 7);
    assert_int_equal(back.devices[0].gather.bytes[1], 128);
    expect_near(back.devices[0].gather.mps[0], 1.5);
    arena_free(a);
}

static void test_lookup(void **state) {
    (void)state;
    const Profile *p = sample();
    assert_ptr_equal(profile_device(p, "cuda:0", "NVIDIA H200"), &p->devices[0]);
    assert_ptr_equal(profile_device(p, "cuda:0", NULL), &p->devices[0]);
    assert_null(profile_device(p, "cuda:0", "NVIDIA A100")); /* another card */
    assert_null(profile_device(p, "cuda:1", NULL));
    assert_ptr_equal(profile_device(p, "opencl:1", "padded"), &p->devices[1]);
    const ProfileCurve *c = &p->devices[0].gather;
    expect_near(profile_rate_at(c, 0), 168000);
    expect_near(profile_rate_at(c, 1 << 20), 168000);
    expect_near(profile_rate_at(c, (1 << 20) + 1), 80000.5);
    expect_near(profile_rate_at(c, INT64_MAX), 42000);
    expect_near(profile_rate_at(&p->devices[0].atomic_cas, 1), 0);
}

static void test_malformed(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "has no \"version\""},
        {"# nothing\n", "has no \"version\""},
        {"[cpu]\n", "line 1: section before \"version\""},
        {"version = 2\n", "line 1: unsupported version \"2\""},
        {"version = 1\nversion = 1\n", "line 2: repeated key \"version\""},
        {"speed = 1\n", "line 1: unknown key \"speed\""},
        {"version = 1\n\n[gpu]\n", "line 3: unknown section \"[gpu]\""},
        {"version = 1\n[cpu\n", "line 2: unknown section \"[cpu\""},
        {"version = 1\n[device ]\n", "line 2: invalid device"},
        {"version = 1\n[device\n", "line 2: unknown section"},
        {"version = 1\n[device aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", "line 2: invalid device"},
        {"version = 1\n[cpu]\n[cpu]\n", "line 3: repeated section"},
        {"version = 1\n[device a]\n[cpu]\n[device a]\n", "line 4: repeated section"},
        {"version = 1\n[cpu]\nthreads\n", "line 3: neither"},
        {"version = 1\n[cpu]\nthread = 1\n", "line 3: unknown key \"thread\""},
        {"version = 1\n[cpu]\nread_gbps = 1\n", "line 3: unknown key"},
        {"version = 1\n[cpu]\nthreads = 1\nthreads = 1\n", "line 4: repeated key"},
        {"version = 1\n[cpu]\nthreads =\n", "line 3: invalid value \"\""},
        {"version = 1\n[cpu]\nthreads = -1\n", "line 3: invalid value \"-1\""},
        {"version = 1\n[cpu]\nthreads = 1e3\n", "line 3: invalid value \"1e3\""},
        {"version = 1\n[cpu]\nthreads = 1,5\n", "line 3: invalid value"},
        {"version = 1\n[cpu]\nthreads = nan\n", "line 3: invalid value"},
        {"version = 1\n[cpu]\nthreads = 1.\n", "line 3: invalid value"},
        {"version = 1\n[cpu]\nthreads = .5\n", "line 3: invalid value"},
        {"version = 1\n[cpu]\nthreads = 1.2.3\n", "line 3: invalid value"},
        {"version = 1\n[cpu]\nthreads = 1111111111111111\n", "line 3: invalid value"},
        {"version = 1\n[device a]\ngather_mps = 5\n", "line 3: invalid value"},
        {"version = 1\n[device a]\ngather_mps = 5:1,\n", "line 3: invalid value"},
        {"version = 1\n[device a]\ngather_mps = 5:1,5:2\n", "line 3: invalid value"},
        {"version = 1\n[device a]\ngather_mps = 1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1\n", "line 3: invalid value"},
        {"version = 1\n[device a]\narch = 0123456789012345678901234567890123456789012345678901234567890123\n",
         "line 3: invalid value"},
    };
    static Profile p;
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        Err e = {0};
        assert_int_equal(profile_parse("some/file", cases[i].text, (int64_t)strlen(cases[i].text), &p, &e), ST_ERROR);
        assert_string_equal(e.sqlstate, ERR_INVALID_PARAMETER);
        if (!strstr(e.message, cases[i].message) || !strstr(e.message, "\"some/file\""))
            fail_msg("case %d: %s", (int)i, e.message);
    }
    Err e = {0};
    assert_int_equal(profile_parse("f", "version = 1\n[cpu]\n\0= 1\n", 24, &p, &e), ST_ERROR);
    assert_non_null(strstr(e.message, "line 3: zero byte"));
    /* Too many devices. */
    Arena *a = arena_new(NULL, &e);
    char *text = arena_strdup(a, "version = 1\n");
    for (int i = 0; i <= PROFILE_DEVICES_MAX; i++) text = arena_printf(a, "%s[device d%d]\n", text, i);
    err_clear(&e);
    assert_int_equal(profile_parse("f", text, (int64_t)strlen(text), &p, &e), ST_ERROR);
    assert_non_null(strstr(e.message, "line 34: too many devices"));
    arena_free(a);
    /* Every beginning of a good file gives an answer. */
    a = arena_new(NULL, &e);
    text = profile_text(a, sample());
    for (int64_t n = 0; n < (int64_t)strlen(text); n++) {
        err_clear(&e);
        char *copy = malloc((size_t)n + 1); /* exact size: reading past the end shows under ASan */
        memcpy(copy, text, (size_t)n);
        if (profile_parse("f", copy, n, &p, &e) != ST_OK) assert_true(err_is_set(&e));
        free(copy);
    }
    arena_free(a);
}

static void test_file(void **state) {
    (void)state;
    Err e = {0};
    Vfs *v = vfs_posix();
    char path[600], other[PROFILE_PATH_MAX];
    snprintf(path, sizeof path, "%s/a/b/profile", dir);
    static Profile p;
    bool found = true;
    assert_int_equal(profile_load(v, path, &p, &found, &e), ST_OK);
    assert_false(found);
    assert_int_equal(p.n_devices, 0);
    for (int i = 0; i < 2; i++) { /* also over an older one */
        assert_int_equal(profile_save(v, path, sample(), &e), ST_OK);
        assert_int_equal(profile_load(v, path, &p, &found, &e), ST_OK);
        assert_true(found);
        expect_same(sample(), &p);
    }
    snprintf(other, sizeof other, "%s.new", path);
    assert_int_equal(access(other, F_OK), -1);
    FILE *f = fopen(path, "w");
    fputs("version = 1\nnonsense\n", f);
    fclose(f);
    assert_int_equal(profile_load(v, path, &p, &found, &e), ST_ERROR);
    assert_non_null(strstr(e.message, path));
    assert_non_null(strstr(e.message, "line 2"));
    /* A directory that cannot be made. */
    err_clear(&e);
    snprintf(other, sizeof other, "%s/below", path);
    assert_int_equal(profile_save(v, other, sample(), &e), ST_ERROR);
    assert_true(err_is_set(&e));
    /* Every allocation of saving and loading fails once. */
    int64_t left = 0;
    for (int64_t n = 1; left == 0; n++) {
        err_clear(&e);
        mem_fail_at(n);
        Status st = profile_save(v, path, sample(), &e);
        if (st == ST_OK) st = profile_load(v, path, &p, &found, &e);
        left = mem_fail_at(0);
        if (st != ST_OK) assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
        assert_true(left == 0 || st == ST_OK);
        assert_true(n < 100);
    }
    /* Where it lies. */
    setenv("STELE_PROFILE", path, 1);
    assert_int_equal(profile_path(other, &e), ST_OK);
    assert_string_equal(other, path);
    assert_int_equal(profile_load(v, NULL, &p, &found, &e), ST_OK);
    assert_true(found);
    unsetenv("STELE_PROFILE");
    setenv("XDG_CONFIG_HOME", "/x", 1);
    assert_int_equal(profile_path(other, &e), ST_OK);
    assert_string_equal(other, "/x/stele/profile");
    unsetenv("XDG_CONFIG_HOME");
    setenv("HOME", "/h", 1);
    assert_int_equal(profile_path(other, &e), ST_OK);
    assert_string_equal(other, "/h/.config/stele/profile");
    unsetenv("HOME");
    err_clear(&e);
    assert_int_equal(profile_path(other, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_INVALID_PARAMETER);
    unlink(path);
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(path, '/');
        *slash = 0;
        rmdir(path);
    }
}

static void expect_curve(const ProfileCurve *c) {
    assert_true(c->n >= 2);
    for (int64_t i = 0; i < c->n; i++) assert_true(c->mps[i] > 0);
}

/* Calibrates `id` (skipped when the machine has no such device); all rates must be there, and plausible. */
static void calibrate(const char *id) {
    Err e = {0};
    MemAccount account;
    mem_account_init(&account, NULL, "devices", 0, NULL);
    Pool *pool = pool_new(2, &e);
    Devices *ds = NULL;
    assert_int_equal(devices_open(pool, &account, &ds, &e), ST_OK);
    bool usable = false;
    for (int i = 0; i < devices_count(ds); i++) {
        const DeviceEntry *x = devices_entry(ds, i);
        if (strcmp(x->id, id) == 0) usable = x->usable;
    }
    static Profile p;
    memset(&p, 0, sizeof p);
    if (usable) {
        int64_t start = clock_ns();
        Status st = ST_OK;
        for (int i = 0; i < 2 && st == ST_OK; i++)
            st = profile_calibrate(ds, id, true, &p, &e); /* the second replaces the first */
        if (st != ST_OK) fail_msg("%s: %s: %s", id, e.message, e.detail);
        double seconds = (double)(clock_ns() - start) / 2e9;
        if (seconds > 3) print_message("quick calibration of %s took %.1f s\n", id, seconds);
        assert_int_equal(p.n_devices, 1);
        const DeviceProfile *d = profile_device(&p, id, NULL);
        assert_non_null(d);
        assert_true(d->name[0] && d->arch[0]);
        assert_true(d->read_gbps > 0.01 && d->copy_gbps > 0.01 && d->to_device_gbps > 0.01 && d->to_host_gbps > 0.01);
        assert_true(d->read_gbps < 1e5 && d->launch_us > 0 && d->launch_us < 1e5 && d->launch_sync_us > 0);
        assert_true(d->local_atomic_mps > 0 && d->compute_gips > 0 && d->latency_ns > 0);
        expect_curve(&d->gather);
        expect_curve(&d->atomic_add);
        expect_curve(&d->atomic_cas);
        Arena *a = arena_new(NULL, &e);
        char *text = profile_text(a, &p);
        static Profile back;
        assert_int_equal(profile_parse("f", text, (int64_t)strlen(text), &back, &e), ST_OK);
        if (getenv("STELE_TEST_VERBOSE")) print_message("%s", text);
        arena_free(a);
    }
    Device *null_device;
    assert_int_equal(devices_get(ds, "null", &null_device, &e), ST_OK);
    int64_t before = p.n_devices;
    assert_int_equal(profile_calibrate(ds, "null", true, &p, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_FEATURE_NOT_SUPPORTED);
    err_clear(&e);
    assert_int_equal(profile_calibrate(ds, "no:1", true, &p, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_UNDEFINED_OBJECT);
    assert_int_equal(p.n_devices, before);
    devices_close(ds);
    assert_int_equal(atomic_load(&account.used), 0);
    pool_free(pool);
    if (!usable) skip();
}

static void test_host(void **state) {
    (void)state;
    calibrate("host");
}
static void test_cuda(void **state) {
    (void)state;
    calibrate("cuda:0");
}
static void test_opencl(void **state) {
    (void)state;
    calibrate("opencl:0");
}

static void test_cpu(void **state) {
    (void)state;
    Err e = {0};
    Pool *pool = pool_new(2, &e);
    static Profile p;
    assert_int_equal(profile_calibrate_cpu(pool, true, &p, &e), ST_OK);
    expect_near(p.cpu.threads, 2);
    assert_true(p.cpu.read_gbps_thread > 0.01 && p.cpu.read_gbps_all > 0.01);
    pool_free(pool);
}

/* Every device call fails once: an error, the profile as before, nothing leaks (the account and ASan tell). */
static void test_faults(void **state) {
    (void)state;
    Err e = {0};
    MemAccount account;
    mem_account_init(&account, NULL, "devices", 0, NULL);
    Pool *pool = pool_new(1, &e);
    Devices *ds = NULL;
    assert_int_equal(devices_open(pool, &account, &ds, &e), ST_OK);
    Device *host, *faulty;
    if (devices_get(ds, "host", &host, &e) != ST_OK) {
        devices_close(ds);
        pool_free(pool);
        skip();
    }
    static Profile p;
    for (int64_t n = 3; n < 200;
         n = n * 2 + 1) { /* 1 and 2 are compile and load: not every n, compiling takes its time */
        FaultPlan plan = {.fail_at = n};
        err_clear(&e);
        memset(&p, 0, sizeof p);
        assert_int_equal(device_fault_new(host, &plan, &faulty, &e), ST_OK);
        int64_t used = atomic_load(&host->memory.used);
        assert_int_equal(profile_calibrate_device(faulty, true, &p, &e), ST_ERROR);
        assert_true(err_is_set(&e));
        assert_int_equal(p.n_devices, 0);
        assert_int_equal(atomic_load(&host->memory.used), used);
        faulty->ops->close(faulty);
    }
    devices_close(ds);
    pool_free(pool);
}

/* The kernels for NVIDIA, compiled where there is a compiler and no card. */
static const char *nvrtc_arch;
static Status nvrtc_ops_compile(Device *d, const char *source, const char *options, DevCode *out, Err *e) {
    (void)d;
    return nvrtc_compile(source, nvrtc_arch, options, out, e);
}
static Status no_load(Device *d, const void *code, int64_t n, DevModule **out, Err *e) {
    (void)d;
    (void)code;
    (void)out;
    return err_set(e, ERR_SYSTEM, n > 1000 ? "compiled" : "empty code");
}

static void test_nvrtc(void **state) {
    (void)state;
    int major, minor;
    Err e = {0};
    if (nvrtc_version(&major, &minor, &e) != ST_OK) skip();
    static const DeviceOps ops = {.version = DEVICE_VERSION, .compile = nvrtc_ops_compile, .load = no_load};
    Device d = {.ops = &ops, .info = {.id = "cuda:0", .kind = DEVICE_CUDA}};
    static Profile p;
    for (int i = 0; i < 2; i++) {
        nvrtc_arch = i ? "sm_90" : "sm_80";
        err_clear(&e);
        assert_int_equal(profile_calibrate_device(&d, true, &p, &e), ST_ERROR);
        if (strcmp(e.message, "compiled") != 0) fail_msg("%s: %s: %s", nvrtc_arch, e.message, e.detail);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_lookup), cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_file),       cmocka_unit_test(test_cpu),    cmocka_unit_test(test_host),
        cmocka_unit_test(test_cuda),       cmocka_unit_test(test_opencl), cmocka_unit_test(test_nvrtc),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
