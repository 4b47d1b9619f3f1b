/* test_dec.c - numbers of any length: the stored form, text, and arithmetic that must agree with itself. Values are
 * compared with PostgreSQL's in tests/sql/types/numeric_long.test. */
#include "unit.h"

#include "types/dec.h"
#include "unit_random.h"

static Err e;
static Arena *a;

static Dec number(const char *text) {
    Dec d;
    assert_int_equal(dec_parse(a, slice_of(text), &d, &e), ST_OK);
    return d;
}
static const char *text_of(const Dec *d) {
    Str s;
    assert_int_equal(dec_format(a, d, &s, &e), ST_OK);
    return s.ptr;
}
static Str stored(const Dec *d) {
    Str s;
    assert_int_equal(dec_encode(a, d, &s, &e), ST_OK);
    return s;
}

/* Up to 40 digits on each side of the point, often zeros and nines. */
static Dec some(void) {
    char text[128];
    int n = 0, whole = (int)rnd_below(40), fraction = (int)rnd_below(40);
    if (rnd_below(20) == 0) return dec_special(rnd_below(3) == 0 ? DEC_NAN : rnd_below(2) ? DEC_INF : DEC_NEG_INF);
    if (rnd_below(2)) text[n++] = '-';
    text[n++] = '0';
    for (int i = 0; i < whole; i++)
        text[n++] = (char)(rnd_below(3) ? '0' + (int)rnd_below(10) : rnd_below(2) ? '0' : '9');
    text[n++] = '.';
    for (int i = 0; i < fraction; i++)
        text[n++] = (char)(rnd_below(3) ? '0' + (int)rnd_below(10) : rnd_below(2) ? '0' : '9');
    text[n] = 0;
    return number(text);
}

static void test_forms(void **state) {
    (void)state;
    for (int i = 0; i < 4000; i++) {
        Dec x = some(), y = rnd_below(8) ? some() : x, back;
        if (y.kind == DEC_FINITE && rnd_below(2)) y.scale += 3;
        Str s = stored(&x), t = stored(&y);
        assert_int_equal(dec_decode(a, s, &back, &e), ST_OK);
        assert_string_equal(text_of(&x), text_of(&back));
        Dec again = number(text_of(&x));
        assert_true(str_eq(stored(&again), s));
        int c = dec_cmp(&x, &y), k = str_cmp(dec_key(s), dec_key(t)), whole = str_cmp(s, t);
        assert_int_equal(c < 0 ? -1 : c > 0, k < 0 ? -1 : k > 0);
        if (c) assert_int_equal(c < 0, whole < 0);
        Str least;
        Dec trimmed;
        assert_int_equal(dec_from_key(a, dec_key(s), &least, &e), ST_OK);
        assert_int_equal(dec_decode(a, least, &trimmed, &e), ST_OK);
        assert_int_equal(dec_cmp(&trimmed, &x), 0);
    }
}

static void test_arithmetic(void **state) {
    (void)state;
    for (int i = 0; i < 4000; i++) {
        Dec x = some(), y = some(), z, q, r;
        if (!dec_is_finite(&x) || !dec_is_finite(&y)) continue;
        assert_int_equal(dec_add(a, &x, &y, &z, &e), ST_OK);
        assert_int_equal(dec_sub(a, &z, &y, &z, &e), ST_OK);
        assert_int_equal(dec_cmp(&z, &x), 0);
        if (dec_is_zero(&y)) continue;
        assert_int_equal(dec_mul(a, &x, &y, &z, &e), ST_OK);
        assert_int_equal(dec_div_to(a, &z, &y, x.scale, true, &z, &e), ST_OK);
        assert_int_equal(dec_cmp(&z, &x), 0);
        /* x = y * div(x, y) + x % y, and the rest is smaller than y */
        assert_int_equal(dec_quotient(a, &x, &y, &q, &e), ST_OK);
        assert_int_equal(dec_mod(a, &x, &y, &r, &e), ST_OK);
        assert_int_equal(dec_mul(a, &q, &y, &z, &e), ST_OK);
        assert_int_equal(dec_add(a, &z, &r, &z, &e), ST_OK);
        assert_int_equal(dec_cmp(&z, &x), 0);
        r.neg = y.neg = false;
        assert_true(dec_cmp(&r, &y) < 0);
        /* The root's square is within half a digit. */
        Dec m = x, half = number("0.000000000000000000005"), lo, hi;
        m.neg = false;
        assert_int_equal(dec_sqrt_to(a, &m, 20, &q, &e), ST_OK);
        assert_int_equal(dec_sub(a, &q, &half, &lo, &e), ST_OK);
        assert_int_equal(dec_add(a, &q, &half, &hi, &e), ST_OK);
        assert_int_equal(dec_mul(a, &hi, &hi, &hi, &e), ST_OK);
        assert_true(dec_cmp(&m, &hi) <= 0);
        if (lo.neg) continue;
        assert_int_equal(dec_mul(a, &lo, &lo, &lo, &e), ST_OK);
        assert_true(dec_cmp(&lo, &m) <= 0);
    }
}

/* Limits are errors, not crashes; the largest operations end. */
static void test_limits(void **state) {
    (void)state;
    Dec large = number("1e131071"), small = number("1e-16383"), z;
    Str s;
    err_clear(&e);
    assert_int_equal(dec_mul(a, &large, &large, &z, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_NUMERIC_RANGE);
    err_clear(&e);
    assert_int_equal(dec_parse(a, slice_of("1e131072"), &z, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_NUMERIC_RANGE);
    err_clear(&e);
    assert_int_equal(dec_parse(a, slice_of("1e-16384"), &z, &e), ST_ERROR);
    err_clear(&e);
    assert_int_equal(dec_add(a, &large, &small, &z, &e), ST_OK);
    assert_int_equal(dec_encode(a, &z, &s, &e), ST_OK);
    Dec nine = z;
    for (int32_t i = 0; i < nine.n; i++) nine.w[i] = DEC_BASE - 1;
    assert_int_equal(dec_add(a, &nine, &nine, &z, &e), ST_OK);
    assert_int_equal(dec_encode(a, &z, &s, &e), ST_ERROR);
    err_clear(&e);
    assert_int_equal(dec_sqrt(a, &large, &z, &e), ST_OK);
    assert_int_equal(dec_div(a, &nine, &small, &z, &e), ST_OK);
    assert_int_equal(dec_encode(a, &z, &s, &e), ST_ERROR);
    err_clear(&e);
}

/* Every step may be the one that finds no memory. */
static void test_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t limit = 0; !done; limit += 4096) {
        Err err = {0};
        MemAccount acct;
        mem_account_init(&acct, NULL, "test", limit, "memory_limit");
        Arena *small = arena_new(&acct, &err);
        if (!small) continue;
        Dec x, y, z;
        Status st = dec_parse(small, slice_of("12345678901234567890.5"), &x, &err);
        if (st == ST_OK) st = dec_from_i128(small, 7, 1, &y, &err);
        if (st == ST_OK) st = dec_power(small, &x, &y, &z, &err);
        if (st == ST_OK) st = dec_ln(small, &z, &z, &err);
        if (st != ST_OK) assert_string_equal(err.sqlstate, ERR_OUT_OF_MEMORY);
        done = st == ST_OK;
        arena_free(small);
        assert_true(limit < 64 << 20);
    }
}

static int start(void **state) {
    (void)state;
    return (a = arena_new(NULL, &e)) ? 0 : -1;
}
static int stop(void **state) {
    (void)state;
    arena_free(a);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
