/* test_wide.c - integers of 512 bits. */
#include "unit.h"

#include <stdlib.h>

#include "types/type.h"
#include "types/wide.h"

static uint64_t seed = 88172645463325252u;
static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}
/* At most `words` words, often with words of all zeros or ones, which division stumbles over. */
static Wide some(int words) {
    Wide r = {{0}};
    int n = (int)(rnd() % (uint64_t)words) + 1;
    for (int i = 0; i < n; i++) r.w[i] = rnd() % 4 == 0 ? 0 : rnd() % 4 == 0 ? UINT64_MAX : rnd();
    return r;
}

static void test_div(void **state) {
    (void)state;
    for (int i = 0; i < 200000; i++) {
        Wide a = some(WIDE_WORDS), b = some(1 + i % WIDE_WORDS), q, r, back;
        if (!wide_bits(&b)) continue;
        wide_div(&a, &b, &q, &r);
        assert_true(wide_cmp(&r, &b) < 0);
        assert_false(wide_mul(&q, &b, &back));
        assert_false(wide_add(&back, &r, &back));
        assert_int_equal(wide_cmp(&a, &back), 0);
    }
}

static void test_shift(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        Wide a = some(3), one = wide_of(1), p, back;
        int by = (int)(rnd() % 320);
        p = wide_shift(&one, by);
        wide_mul(&a, &p, &p);
        back = wide_shift(&a, by);
        assert_int_equal(wide_cmp(&p, &back), 0);
        back = wide_shift(&back, -by);
        assert_int_equal(wide_cmp(&a, &back), 0);
        assert_int_equal(wide_bits(&p), wide_bits(&a) ? wide_bits(&a) + by : 0);
    }
}

/* (2 r - 1)^2 <= 4 a / b < (2 r + 1)^2 */
static void test_root(void **state) {
    (void)state;
    for (int i = 0; i < 20000; i++) {
        Wide a = some(3), b = some(1), x, y, one = wide_of(1);
        int128_t r;
        if (!wide_bits(&b) || wide_root(&a, &b, &r)) continue;
        Wide four_a = wide_shift(&a, 2);
        x = wide_of((uint128_t)r * 2);
        wide_add(&x, &one, &y);
        wide_mul(&y, &y, &y);
        wide_mul(&y, &b, &y);
        assert_true(wide_cmp(&four_a, &y) < 0);
        if (r == 0) continue;
        wide_sub(&x, &one, &y);
        wide_mul(&y, &y, &y);
        wide_mul(&y, &b, &y);
        assert_true(wide_cmp(&y, &four_a) <= 0);
    }
}

/* As the long way has it, near squares and far from them; and it is not taken where it is too short. */
static void test_short_root(void **state) {
    (void)state;
    int64_t taken = 0;
    for (int i = 0; i < 60000; i++) {
        const int bits = 1 + (int)(rnd() % 100), exp = (int)(rnd() % 39);
        uint64_t b = rnd() >> (1 + rnd() % 62);
        b += b == 0;
        uint128_t a = ((uint128_t)rnd() << 64 | rnd()) >> (128 - bits);
        if (i % 3 == 0) { /* a square, or next to one */
            const uint128_t r = a >> (bits / 2);
            a = r * r * b + rnd() % 3;
            a -= a > 0 && i % 2;
        }
        int128_t x, y;
        Wide wide = wide_of(a), over = wide_of(b);
        if (!wide_short_root(a, exp, b, &x)) continue;
        taken++;
        assert_false(wide_mul_pow10(&wide, exp));
        assert_false(wide_root(&wide, &over, &y));
        assert_true(x == y);
    }
    assert_true(taken > 20000);
    int128_t x;
    assert_false(wide_short_root((uint128_t)1 << 119, 38, 1, &x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_div),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_short_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
