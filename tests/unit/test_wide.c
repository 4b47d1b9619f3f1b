/* test_wide.c - integers of 512 bits, and roots, logarithms and powers of decimals against values of 140 digits. */
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

static int128_t number(const char *text, int *scale) {
    int128_t v = 0;
    Err e = {0};
    assert_int_equal(numeric_parse(slice_of(text), -1, &v, scale, &e), ST_OK);
    return v;
}

static void test_decimals(void **state) {
    (void)state;
    static const struct {
        char fn; /* Ln, Exp, Sqrt, loG to a base, Power */
        const char *a, *b;
        int to;
        const char *want;
    } cases[] = {
        {'L', "2", "0", 16, "0.6931471805599453"},
        {'L', "2", "0", 37, "0.6931471805599453094172321214581765681"},
        {'L', "0.00000000000000000000000000000000000001", "0", 16, "-87.4982335337737360"},
        {'L', "10000000000000000000000000000000000000", "0", 36, "85.195648440779690308665683823321475681"},
        {'L', "1", "0", 38, "0.00000000000000000000000000000000000000"},
        {'L', "1.000000000000000000000000000001", "0", 38, "0.00000000000000000000000000000100000000"},
        {'E', "1", "0", 36, "2.718281828459045235360287471352662498"},
        {'E', "0", "0", 16, "1.0000000000000000"},
        {'E', "-1", "0", 38, "0.36787944117144232159552377016146086745"},
        {'E', "50.5", "0", 16, "8548134287298057692257.9169089216848418"},
        {'E', "50.6", "0", 16, "9447149418127116214775.2624701243956134"},
        {'E', "-40", "0", 16, "0.0000000000000000"},
        {'E', "-100000000000000000000", "0", 16, "0.0000000000000000"},
        {'E', "100000000000000000000", "0", 16, "over"},
        {'E', "87.49", "0", 0, "99180026892994641059222096000788386427"},
        {'E', "87.50", "0", 0, "over"},
        {'S', "2", "0", 37, "1.4142135623730950488016887242096980786"},
        {'S', "10000000000000000000000000000000000000", "0", 18, "3162277660168379331.998893544432718534"},
        {'S', "0.00000000000000000000000000000000000001", "0", 19, "0.0000000000000000001"},
        {'S', "0.0000000000000000000000000000000000001", "0", 38, "0.00000000000000000031622776601683793320"},
        {'S', "0", "0", 16, "0.0000000000000000"},
        {'S', "99999999999999999999999999999999999999", "0", 18, "10000000000000000000.000000000000000000"},
        {'G', "8", "2", 16, "3.0000000000000000"},
        {'G', "0.001", "10", 30, "-3.000000000000000000000000000000"},
        {'G', "0.5", "3", 36, "-0.630929753571457437099527114342760854"},
        {'G', "1.000000000000000000000000000000000007", "1.000000000000000000000000000000000003", 16,
         "2.3333333333333333"},
        {'G', "10000000000000000000000000000000000000", "1.000000000000000000000000000000000003", 2, "over"},
        {'P', "0.5", "17", 16, "0.0000076293945313"},
        {'P', "-0.5", "17", 16, "-0.0000076293945313"},
        {'P', "-2", "-3", 16, "-0.1250000000000000"},
        {'P', "1.1", "100", 16, "13780.6123398222701841"},
        {'P', "10", "21", 16, "1000000000000000000000.0000000000000000"},
        {'P', "10", "22", 16, "over"},
        {'P', "3.7", "-7.3", 16, "0.0000711422201716"},
        {'P', "1.000000000000000000000000000001", "100000000000000000000000000000000", 16, "over"},
        {'P', "2", "0.5", 36, "1.414213562373095048801688724209698079"},
        {'P', "0.99999", "1000000000", 16, "0.0000000000000000"},
        {'P', "3", "-1000000", 16, "0.0000000000000000"},
        {'P', "1.000000001", "1000000000", 20, "2.71828182709990432238"},
        {'P', "0.125", "-10", 16, "1073741824.0000000000000000"},
    };
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        int sa, sb;
        int128_t a = number(cases[i].a, &sa), b = number(cases[i].b, &sb), r;
        bool over;
        switch (cases[i].fn) {
        case 'L': over = decimal_ln(a, sa, cases[i].to, &r); break;
        case 'E': over = decimal_exp(a, sa, cases[i].to, &r); break;
        case 'S': over = decimal_sqrt(a, sa, cases[i].to, &r); break;
        case 'G': over = decimal_log(b, sb, a, sa, cases[i].to, &r); break;
        default: over = decimal_power(a, sa, b, sb, cases[i].to, &r);
        }
        char text[VALUE_TEXT_MAX + 1] = "over";
        if (!over) text[cell_to_text(type_numeric(38, cases[i].to), &r, 0, text)] = 0;
        if (strcmp(text, cases[i].want) != 0)
            fail_msg("%c %s %s: %s, not %s", cases[i].fn, cases[i].a, cases[i].b, text, cases[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_div),
        cmocka_unit_test(test_shift),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
