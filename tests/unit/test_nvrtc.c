/* test_nvrtc.c - the real run-time compiler, without a device: cubins for sm_80 and sm_90, PTX for what it does not
 * know yet, errors with their log. Skipped where there is no libnvrtc.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "device/cuda/nvrtc.h"
#include "unit.h"

static const char source[] = "typedef unsigned long long u64;\n"
                             "struct Params { u64 p[3]; };\n"
                             "u64 twice(u64 x) { return x * 2; }\n" /* unmarked: on the device all the same */
                             "extern \"C\" __global__ void scale(Params a) {\n"
                             "    extern __shared__ unsigned char local[];\n"
                             "    __int128 wide = (__int128)a.p[1] * a.p[1];\n"
                             "    double d = __longlong_as_double(a.p[2]) * 3.0 + 1.0;\n"
                             "    local[threadIdx.x] = 1;\n"
                             "    ((u64 *)a.p[0])[blockIdx.x] = twice((u64)(wide >> 64)) + (u64)d + local[0] + EXTRA;\n"
                             "}\n";

static int warnings;
static void count_warnings(void *ctx, LogLevel level, const char *message) {
    (void)ctx;
    if (level == LOG_WARNING && strstr(message, "PTX")) warnings++;
}

/* memmem with strings. */
static bool contains(const DevCode *c, const char *word) {
    size_t n = strlen(word);
    for (int64_t i = 0; i + (int64_t)n <= c->n; i++) {
        if (memcmp((char *)c->bytes + i, word, n) == 0) return true;
    }
    return false;
}

static bool available(void) {
    int major, minor;
    Err e = {0};
    if (nvrtc_version(&major, &minor, &e) == ST_OK) return true;
    print_message("skipped: %s\n", e.message);
    assert_string_equal(e.sqlstate, ERR_SYSTEM);
    assert_non_null(strstr(e.message, "libnvrtc could not be opened"));
    DevCode c;
    err_clear(&e);
    assert_int_equal(nvrtc_compile(source, "sm_80", "", &c, &e), ST_ERROR);
    return false;
}

static void test_cubin(void **state) {
    (void)state;
    if (!available()) skip();
    const char *archs[] = {"sm_80", "sm_90"};
    for (int i = 0; i < 2; i++) {
        Err e = {0};
        DevCode c;
        if (nvrtc_compile(source, archs[i], " -DEXTRA=7u  --disable-warnings ", &c, &e) != ST_OK)
            fail_msg("%s %s", e.message, e.detail);
        assert_true(c.n > 64);
        assert_memory_equal(c.bytes, "\177ELF", 4);
        assert_true(contains(&c, "scale"));
        dev_code_free(&c);
    }
}

static void test_ptx(void **state) {
    (void)state;
    if (!available()) skip();
    Err e = {0};
    DevCode c;
    log_set(count_warnings, NULL);
    if (nvrtc_compile(source, "sm_9990", "-DEXTRA=7", &c, &e) != ST_OK) fail_msg("%s %s", e.message, e.detail);
    log_set(NULL, NULL);
    assert_int_equal(warnings, 1);
    assert_int_equal(((char *)c.bytes)[c.n - 1], 0);
    assert_true(contains(&c, ".visible .entry scale"));
    /* a product and a sum of doubles stay two roundings */
    assert_false(contains(&c, "fma.rn.f64"));
    assert_true(contains(&c, "mul.rn.f64") || contains(&c, "mul.f64"));
    dev_code_free(&c);
}

static void test_errors(void **state) {
    (void)state;
    if (!available()) skip();
    Err e = {0};
    DevCode c;
    assert_int_equal(nvrtc_compile(source, "sm_90", "", &c, &e), ST_ERROR); /* EXTRA is not defined */
    assert_string_equal(e.sqlstate, ERR_SYSTEM);
    assert_non_null(strstr(e.message, "could not compile"));
    assert_non_null(strstr(e.detail, "EXTRA"));
    assert_null(c.bytes);
    err_clear(&e);
    assert_int_equal(nvrtc_compile(source, "sm_20", "", &c, &e), ST_ERROR);
    assert_non_null(strstr(e.message, "cannot compile for sm_20"));
    int oldest = 0;
    assert_false(nvrtc_supports(20, &oldest));
    assert_true(oldest > 20);
    assert_true(nvrtc_supports(90, &oldest));
    err_clear(&e);
    assert_int_equal(nvrtc_compile(source, "sm_90", "--no-such-option", &c, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_SYSTEM);
    err_clear(&e);
    assert_int_equal(nvrtc_compile(source, "avx2", "", &c, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_INTERNAL);
    char many[64 * 6 + 1];
    for (int i = 0; i < 64; i++) memcpy(many + i * 6, " -DX=1", 7);
    err_clear(&e);
    assert_int_equal(nvrtc_compile(source, "sm_90", many, &c, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_INTERNAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cubin), cmocka_unit_test(test_ptx),
                                       cmocka_unit_test(test_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
