/* Dictionaries merged on a device (exec/device/dict_device.h) against a model: on the host device, on OpenCL where
 * there is a platform; the kernels also through NVRTC.
 *
 *   test_dict_device                 the tests
 *   test_dict_device check DEVICE    the same on another device */
#include "unit.h"
#include "unit_nvrtc.h"
#include "unit_random.h"

#include "exec/device/dev_int.h"
#include "exec/device/dict_device.h"

static MemAccount root;
static Err err;
#define OK(x)                                                                                    \
    do {                                                                                         \
        err = (Err){0};                                                                          \
        if ((x) != ST_OK) fail_msg("%s: %s %s (%s)", #x, err.sqlstate, err.message, err.detail); \
    } while (0)

typedef struct Rig {
    Pool *pool;
    Devices *devices;
    Device *d;
    CodeCache *cache;
    DictDevice *x;
} Rig;
static bool rig_open(Rig *g, const char *id) {
    Err why = {0};
    *g = (Rig){.pool = pool_new(3, &err)};
    OK(devices_open(g->pool, &root, &g->devices, &err));
    if (devices_get(g->devices, id, &g->d, &why) != ST_OK) {
        print_message("skipped: %s\n", why.message);
        devices_close(g->devices);
        pool_free(g->pool);
        return false;
    }
    OK(code_cache_new("", 0, &g->cache, &err));
    OK(dict_device_new(g->d, g->cache, &root, &g->x, &err));
    return true;
}
static void rig_close(Rig *g) {
    dict_device_free(g->x);
    code_cache_drop_device(g->cache, g->d);
    code_cache_free(g->cache);
    devices_close(g->devices);
    pool_free(g->pool);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* ---- the model ---- */
static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
static int64_t sort_unique(uint64_t *v, int64_t n) {
    int64_t m = 0;
    qsort(v, (size_t)n, sizeof *v, by_value);
    for (int64_t i = 0; i < n; i++)
        if (m == 0 || v[i] != v[m - 1]) v[m++] = v[i];
    return m;
}
static uint64_t *copy_of(const uint64_t *v, int64_t n) {
    uint64_t *out = malloc((size_t)(n + 1) * 8);
    if (n) memcpy(out, v, (size_t)n * 8);
    return out;
}
/* Some n values below `range`, with the greatest and the least there are. */
static uint64_t *values(int64_t n, uint64_t range) {
    uint64_t *v = malloc((size_t)(n + 1) * 8);
    for (int64_t i = 0; i < n; i++) v[i] = rnd() % range;
    if (n > 3) v[0] = UINT64_MAX, v[1] = 0;
    return v;
}

static void check_map(const uint64_t *from, const uint32_t *map, int64_t n, const DictOutput *out) {
    for (int64_t i = 0; i < n; i++) {
        assert_true(map[i] < out->n);
        assert_true(out->values[map[i]] == from[i]);
    }
}
static void check_merge(Rig *g, int64_t n_main, int64_t n_delta, uint64_t range) {
    uint64_t *a = values(n_main, range), *b = values(n_delta, range),
             *want = malloc((size_t)(n_main + n_delta + 1) * 8);
    DictInput in = {.main = a, .delta = b, .n_main = sort_unique(a, n_main), .n_delta = sort_unique(b, n_delta)};
    const int64_t all = in.n_main + in.n_delta;
    memcpy(want, a, (size_t)in.n_main * 8);
    memcpy(want + in.n_main, b, (size_t)in.n_delta * 8);
    const int64_t n = sort_unique(want, all);
    DictOutput out = {.values = malloc((size_t)(all + 1) * 8),
                      .of_main = malloc((size_t)(in.n_main + 1) * 4),
                      .of_delta = malloc((size_t)(in.n_delta + 1) * 4)};
    for (int way = 0; way < N_DICT_WAYS; way++)
        for (int k = 0; k < (way == DICT_SLICES ? 4 : 1); k++) {
            in.slices = k == 0 ? 0 : k == 1 ? 1 : k == 2 ? 7 : in.n_main + 3; /* some of them empty */
            memset(out.values, 0xee, (size_t)all * 8);
            OK(dict_device_merge(g->x, (DictWay)way, &in, &out, &err));
            assert_int_equal(out.n, n);
            assert_memory_equal(out.values, want, (size_t)n * 8);
            check_map(a, out.of_main, in.n_main, &out);
            check_map(b, out.of_delta, in.n_delta, &out);
        }
    free(a);
    free(b);
    free(want);
    free(out.values);
    free(out.of_main);
    free(out.of_delta);
}
static void check_unique(Rig *g, int64_t n, uint64_t range) {
    uint64_t *v = values(n, range), *want = copy_of(v, n);
    DictOutput out = {.values = malloc((size_t)(n + 1) * 8)};
    const int64_t m = sort_unique(want, n);
    OK(dict_device_unique(g->x, &(DictInput){.delta = v, .n_delta = n}, &out, &err));
    assert_int_equal(out.n, m);
    assert_memory_equal(out.values, want, (size_t)m * 8);
    free(v);
    free(want);
    free(out.values);
}
static void shapes(const char *id, int64_t most) {
    static const int64_t sizes[][2] = {{0, 0},   {0, 1},     {1, 0},     {1, 1},      {0, 100},
                                       {100, 0}, {64, 4000}, {4000, 64}, {5000, 5000}};
    Rig g;
    if (!rig_open(&g, id)) skip();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_merge(&g, sizes[i][0], sizes[i][1], 9000);
    for (int i = 0; i < 12; i++)
        check_merge(&g, rnd_below(most), rnd_below(most), i % 3 ? 1 + (uint64_t)rnd_below(4 * most) : UINT64_MAX);
    for (int i = 0; i < 12; i++) check_unique(&g, i < 3 ? i : rnd_below(most), 1 + (uint64_t)rnd_below(most));
    check_merge(&g, 3 * most, most / 9, UINT64_MAX);
    rig_close(&g);
}
static const char *chosen = "host";
static void on_host(void **state) {
    (void)state;
    shapes(chosen, 60000);
}
static void on_opencl(void **state) {
    (void)state;
    shapes("opencl:0", 9000);
}

/* Any call of the device that fails is an error of the merge, and nothing stays behind. */
static void failing(void **state) {
    (void)state;
    Rig g;
    if (!rig_open(&g, "host")) skip();
    const uint64_t a[] = {1, 4, 9, 16}, b[] = {2, 4, 8, 16, 32};
    uint64_t v[9];
    uint32_t x[4], y[5];
    FaultPlan plan = {0};
    Device *faulty = NULL;
    OK(device_fault_new(g.d, &plan, &faulty, &err));
    for (int way = 0; way < N_DICT_WAYS; way++) {
        int64_t failed = 0;
        for (int64_t at = 1; at < 200; at++) {
            DictDevice *on = NULL;
            DictOutput out = {.values = v, .of_main = x, .of_delta = y};
            Err e = {0};
            OK(dict_device_new(faulty, g.cache, &root, &on, &err));
            plan = (FaultPlan){.fail_at = at};
            const Status st = dict_device_merge(
                on, (DictWay)way, &(DictInput){.n_main = 4, .n_delta = 5, .main = a, .delta = b}, &out, &e);
            const bool over = st == ST_OK;
            if (!over) assert_true(e.sqlstate[0] != 0);
            plan = (FaultPlan){0};
            dict_device_free(on);
            if (over) break;
            failed++;
        }
        assert_in_range(failed, 5, 60);
    }
    code_cache_drop_device(g.cache, faulty);
    faulty->ops->close(faulty);
    rig_close(&g);
}

static void nvrtc(void **state) {
    (void)state;
    compiles_with_nvrtc("#define N_PARAMS 12\n", kernel_merge_text);
}

int main(int argc, char **argv) {
    mem_account_init(&root, NULL, "test", 0, "memory_limit");
    if (argc > 2 && strcmp(argv[1], "check") == 0) {
        chosen = argv[2];
        const struct CMUnitTest one[] = {cmocka_unit_test(on_host)};
        return cmocka_run_group_tests(one, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(on_host), cmocka_unit_test(on_opencl),
                                       cmocka_unit_test(failing), cmocka_unit_test(nvrtc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
