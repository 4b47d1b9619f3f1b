/* test_numeric.c - scaled integers: rescale, division, text, doubles. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "types/type.h"

static char text_buf[128];

static const char *show(int128_t v, int scale) {
    Type t = type_numeric(38, scale);
    int64_t n = cell_to_text(t, &v, (TextForm){0}, text_buf);
    text_buf[n] = 0;
    return text_buf;
}

static const char *parse(const char *s, int scale) {
    int128_t v;
    int got = -1;
    Err e = {0};
    if (numeric_parse(slice_of(s), scale, &v, &got, &e) != ST_OK) return memcpy(text_buf, e.sqlstate, 6);
    return show(v, got);
}

static void test_parse(void **state) {
    (void)state;
    assert_string_equal(parse("0", -1), "0");
    assert_string_equal(parse("  -12.340 ", -1), "-12.340");
    assert_string_equal(parse("+.5", -1), "0.5");
    assert_string_equal(parse("5.", -1), "5");
    assert_string_equal(parse("1e3", -1), "1000");
    assert_string_equal(parse("1.5e-3", -1), "0.0015");
    assert_string_equal(parse("1.25E+1", -1), "12.5");
    assert_string_equal(parse("99999999999999999999999999999999999999", -1), "99999999999999999999999999999999999999");
    assert_string_equal(parse("100000000000000000000000000000000000000", -1), ERR_NUMERIC_RANGE);
    assert_string_equal(parse("1e38", -1), ERR_NUMERIC_RANGE);
    assert_string_equal(parse("-1e37", -1), "-10000000000000000000000000000000000000");
    assert_string_equal(parse("0e999999999", -1), "0");
    assert_string_equal(parse("000000000000000000000000000000000000000000000001", -1), "1");
    /* A literal with more digits than fit loses the last ones, rounded. */
    assert_string_equal(parse("3.14159265358979323846264338327950288419716939937510", -1),
                        "3.1415926535897932384626433832795028842");
    assert_string_equal(parse("1.005", 2), "1.01");
    assert_string_equal(parse("-1.005", 2), "-1.01");
    assert_string_equal(parse("1.00499999999999999999999999999999999999999999", 2), "1.00");
    assert_string_equal(parse("0.005", 2), "0.01");
    assert_string_equal(parse("0.0049", 2), "0.00");
    assert_string_equal(parse("5e-3", 2), "0.01");
    assert_string_equal(parse("5e-4", 2), "0.00");
    assert_string_equal(parse("12345678901234567890.125", 2), "12345678901234567890.13");
    assert_string_equal(parse("99999999999999999999999999999999999999.5", 0), ERR_NUMERIC_RANGE);
    assert_string_equal(parse("1e-2000000000000", 5), "0.00000");
    const char *bad[] = {"", " ", "-", ".", "abc", "1x", "1e", "1e+", "--1", "1.2.3", "1 2", "e5", "0x10"};
    for (int64_t i = 0; i < ARRAY_LEN(bad); i++) assert_string_equal(parse(bad[i], -1), ERR_INVALID_TEXT);
    assert_string_equal(parse("NaN", -1), ERR_FEATURE_NOT_SUPPORTED);
}

static void test_rescale(void **state) {
    (void)state;
    int128_t r;
    assert_false(numeric_rescale(125, 2, 1, &r));
    assert_true(r == 13);
    assert_false(numeric_rescale(-125, 2, 1, &r));
    assert_true(r == -13);
    assert_false(numeric_rescale(124, 2, 1, &r));
    assert_true(r == 12);
    assert_false(numeric_rescale(pow10_i128[38] - 1, 38, 0, &r));
    assert_true(r == 1);
    assert_true(numeric_rescale(pow10_i128[37], 0, 1, &r));
    assert_false(numeric_rescale(pow10_i128[36], 0, 1, &r));
    assert_true(r == pow10_i128[37]);
    assert_true(numeric_rescale(1, 0, 38, &r));
    assert_false(numeric_rescale(0, 0, 38, &r));
    assert_false(numeric_rescale(5 * pow10_i128[19], 20, 0, &r));
    assert_true(r == 1);
    for (int i = 0; i <= 38; i++) {
        assert_int_equal(i128_digits(pow10_i128[i]), i + 1);
        assert_int_equal(i128_digits(-(pow10_i128[i] - 1)), i ? i : 1);
    }
    assert_int_equal(i128_digits(INT128_MIN), 39);
    assert_true(i128_mul_overflow(INT128_MAX, 2, &r));
}

static void test_div(void **state) {
    (void)state;
    int128_t r;
    assert_false(numeric_div(1, 0, 3, 0, 5, &r));
    assert_true(r == 33333);
    assert_false(numeric_div(2, 0, -3, 0, 5, &r));
    assert_true(r == -66667);
    assert_false(numeric_div(100, 2, 4, 0, 0, &r)); /* 1.00 / 4 = 0.25 -> 0 */
    assert_true(r == 0);
    assert_false(numeric_div(1, 0, 2, 0, 0, &r)); /* half away from zero */
    assert_true(r == 1);
    assert_false(numeric_div(-1, 0, 2, 0, 0, &r));
    assert_true(r == -1);
    int128_t nines = pow10_i128[38] - 1;
    assert_false(numeric_div(nines, 0, nines, 0, 37, &r)); /* 256-bit numerator */
    assert_true(r == pow10_i128[37]);
    assert_true(numeric_div(nines, 0, nines, 0, 38, &r)); /* 10^38 has 39 digits */
    assert_false(numeric_div(nines, 38, nines, 0, 38, &r));
    assert_true(r == 1);
    assert_false(numeric_div(nines, 0, pow10_i128[37], 37, 0, &r));
    assert_true(r == nines);
    assert_true(numeric_div(nines, 0, 1, 1, 0, &r));
    assert_true(numeric_div(1, 0, 1, 38, 38, &r));
    assert_false(numeric_div(0, 0, 1, 38, 38, &r));
    assert_false(numeric_div(1, 38, nines, 0, 0, &r)); /* denominator beyond 128 bits */
    assert_true(r == 0);
    /* Against long division digit by digit, over divisors of every width. */
    srandom(1);
    for (int i = 0; i < 20000; i++) {
        int128_t a = ((int128_t)random() << 62 | (int128_t)random() << 31 | random()) >> (random() % 90);
        int128_t b = (((int128_t)random() << 93 | (int128_t)random() << 62 | (int128_t)random() << 31 | random()) >>
                      (random() % 120)) |
                     1;
        if (b >= pow10_i128[38]) b = pow10_i128[38] - 1;
        int scale = (int)(random() % 39);
        int128_t q = a / b, rem = a % b;
        bool overflow = false;
        for (int k = 0; k < scale && !overflow; k++) {
            /* q = q * 10 + rem * 10 / b by repeated addition, which stays within 128 bits */
            int digit = 0;
            int128_t acc = 0;
            for (int m = 0; m < 10; m++) {
                if (acc >= b - rem) {
                    acc -= b - rem;
                    digit++;
                } else {
                    acc += rem;
                }
            }
            rem = acc;
            overflow = q > (pow10_i128[38] - 1 - digit) / 10;
            if (!overflow) q = q * 10 + digit;
        }
        if (!overflow && rem >= b - rem) q++;
        if (!overflow && q >= pow10_i128[38]) overflow = true;
        bool got = numeric_div(a, 0, b, 0, scale, &r);
        assert_int_equal(got, overflow);
        if (!overflow && r != q) fail_msg("wrong quotient at step %d", i);
    }
}

static void test_f64(void **state) {
    (void)state;
    int128_t r;
    assert_true(numeric_to_f64(12345, 2) == 123.45);
    assert_true(numeric_to_f64(-1, 20) == -1e-20);
    assert_true(numeric_to_f64(pow10_i128[38] - 1, 0) == 1e38);
    assert_true(numeric_to_f64(pow10_i128[37] + 1, 38) == 0.1);
    assert_false(numeric_from_f64(0.1, 20, &r));
    assert_string_equal(show(r, 20), "0.10000000000000000000");
    assert_false(numeric_from_f64(1.005, 2, &r)); /* by way of 15 digits, as in PostgreSQL */
    assert_string_equal(show(r, 2), "1.01");
    assert_false(numeric_from_f64(-2.5, 0, &r));
    assert_true(r == -3);
    assert_false(numeric_from_f64(1e30, 2, &r));
    assert_string_equal(show(r, 2), "1000000000000000000000000000000.00");
    assert_false(numeric_from_f64(1e-300, 16, &r));
    assert_true(r == 0);
    assert_false(numeric_from_f64(123456789.123456789, 6, &r));
    assert_string_equal(show(r, 6), "123456789.123457");
    assert_true(numeric_from_f64(1e38, 0, &r));
    assert_true(numeric_from_f64((double)NAN, 0, &r));
    assert_true(numeric_from_f64(HUGE_VAL, 0, &r));
}

static void test_format(void **state) {
    (void)state;
    assert_string_equal(show(0, 0), "0");
    assert_string_equal(show(0, 3), "0.000");
    assert_string_equal(show(-5, 3), "-0.005");
    assert_string_equal(show(-12345, 3), "-12.345");
    assert_string_equal(show(pow10_i128[38] - 1, 38), "0.99999999999999999999999999999999999999");
    assert_string_equal(show(pow10_i128[36] + 7, 2), "10000000000000000000000000000000000.07");
    assert_string_equal(show(pow10_i128[20], 0), "100000000000000000000");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse), cmocka_unit_test(test_rescale), cmocka_unit_test(test_div),
        cmocka_unit_test(test_f64),   cmocka_unit_test(test_format),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
