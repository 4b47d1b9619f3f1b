/* test_value.c - types and their names, text of values, order, hash, copies. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "types/bits.h"
#include "types/type.h"

static Arena *arena;

static const char *conv(Type t, const char *text) {
    Value v;
    Err e = {0};
    if (value_from_text(t, slice_of(text), NULL, arena, &v, &e) != ST_OK) return arena_strdup(arena, e.sqlstate);
    return value_to_text(arena, &v, NULL);
}

static Type named(const char *name, int n, int64_t a, int64_t b) {
    int64_t mods[2] = {a, b};
    Type t;
    Err e = {0};
    assert_int_equal(type_from_name(slice_of(name), n, mods, &t, &e), ST_OK);
    return t;
}

static void bad_type(const char *name, int n, int64_t a, int64_t b, const char *state) {
    int64_t mods[2] = {a, b};
    Type t;
    Err e = {0};
    assert_int_equal(type_from_name(slice_of(name), n, mods, &t, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, state);
}

static void test_types(void **state) {
    (void)state;
    char buf[TYPE_NAME_MAX];
    assert_string_equal(type_name(named("decimal", 2, 15, 2), &buf), "numeric(15,2)");
    assert_string_equal(type_name(named("numeric", 1, 9, 0), &buf), "numeric(9,0)");
    assert_string_equal(type_name(named("numeric", 0, 0, 0), &buf), "numeric");
    assert_string_equal(type_name(named("varchar", 1, 10, 0), &buf), "character varying(10)");
    assert_string_equal(type_name(named("character", 0, 0, 0), &buf), "character(1)");
    assert_string_equal(type_name(named("char", 0, 0, 0), &buf), "\"char\""); /* SQL's char is bpchar by then */
    assert_string_equal(type_name(named("bpchar", 0, 0, 0), &buf), "bpchar");
    assert_string_equal(type_name(named("timestamptz", 1, 3, 0), &buf), "timestamp(3) with time zone");
    assert_string_equal(type_name(named("time", 0, 0, 0), &buf), "time without time zone");
    assert_int_equal(named("float", 1, 24, 0).id, T_FLOAT4);
    assert_int_equal(named("float", 1, 25, 0).id, T_FLOAT8);
    bad_type("nope", 0, 0, 0, ERR_UNDEFINED_OBJECT);
    bad_type("numeric", 1, 1001, 0, ERR_INVALID_PARAMETER);
    bad_type("numeric", 2, 10, -1001, ERR_INVALID_PARAMETER);
    assert_string_equal(type_name(named("numeric", 2, 39, 5), &buf), "numeric(39,5)");
    assert_string_equal(type_name(named("numeric", 2, 3, -2), &buf), "numeric(3,-2)");
    bad_type("varchar", 1, 0, 0, ERR_INVALID_PARAMETER);
    bad_type("int4", 1, 3, 0, ERR_INVALID_PARAMETER);
    assert_string_equal(type_name(named("bit", 1, 3, 0), &buf), "bit(3)");
    assert_string_equal(type_name(named("bit", 0, 0, 0), &buf), "\"bit\"");
    assert_string_equal(type_name(named("varbit", 1, 83886080, 0), &buf), "bit varying(83886080)");
    assert_int_equal(type_element(type_array_of(named("varbit", 1, 83886080, 0))).length, 83886080);
    bad_type("bit", 1, 83886081, 0, ERR_INVALID_PARAMETER);
    assert_int_equal(type_phys(type_numeric(18, 2)), PH_I64);
    assert_int_equal(type_phys(type_numeric(19, 2)), PH_I128);
    for (int p = 0; p < PH_COUNT_; p++) assert_true(phys_size((Phys)p) > 0 && phys_name((Phys)p));
    for (int id = 0; id < T_COUNT_; id++) assert_true(strlen(type_base_name((TypeId)id)) > 1);
}

static void test_text(void **state) {
    (void)state;
    static const struct {
        TypeId id;
        const char *in, *want;
    } cases[] = {
        {T_BOOL, "TRUE", "t"},
        {T_BOOL, " of ", "f"},
        {T_BOOL, "1", "t"},
        {T_BOOL, "o", ERR_INVALID_TEXT},
        {T_BOOL, "", ERR_INVALID_TEXT},
        {T_INT2, "-32768", "-32768"},
        {T_INT2, "32768", ERR_NUMERIC_RANGE},
        {T_INT4, " +12 ", "12"},
        {T_INT4, "1.5", ERR_INVALID_TEXT},
        {T_INT4, "", ERR_INVALID_TEXT},
        {T_INT4, "-2147483649", ERR_NUMERIC_RANGE},
        {T_INT8, "-9223372036854775808", "-9223372036854775808"},
        {T_INT8, "9223372036854775808", ERR_NUMERIC_RANGE},
        {T_INT8, "99999999999999999999999999", ERR_NUMERIC_RANGE},
        {T_NUMERIC, "1.50", "1.5"},
        {T_NUMERIC, "100", "100"},
        {T_NUMERIC, "-0.00", "0"},
        {T_FLOAT8, "0.1", "0.1"},
        {T_FLOAT8, "1e15", "1e+15"},
        {T_FLOAT8, "123456789012345", "123456789012345"},
        {T_FLOAT8, "1e-5", "1e-05"},
        {T_FLOAT8, "0.0001", "0.0001"},
        {T_FLOAT8, "-0", "-0"},
        {T_FLOAT8, "nan", "NaN"},
        {T_FLOAT8, "-inf", "-Infinity"},
        {T_FLOAT8, "5e-324", "5e-324"},
        {T_FLOAT8, "1e23", "9.999999999999999e+22"},
        {T_FLOAT8, "1.7976931348623157e308", "1.7976931348623157e+308"},
        {T_FLOAT8, "0.30000000000000004", "0.30000000000000004"},
        {T_FLOAT8, "1e309", ERR_NUMERIC_RANGE},
        {T_FLOAT8, "1e-400", ERR_NUMERIC_RANGE},
        {T_FLOAT8, "0e-400", "0"},
        {T_FLOAT8, "1e", ERR_INVALID_TEXT},
        {T_FLOAT8, ".", ERR_INVALID_TEXT},
        {T_FLOAT8, "0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
         "1e-87"},
        {T_FLOAT4, "0.1", "0.1"},
        {T_FLOAT4, "1e6", "1e+06"},
        {T_FLOAT4, "16777217", "1.6777216e+07"},
        {T_FLOAT4, "3.4028235e38", "3.4028235e+38"},
        {T_FLOAT4, "1e-45", "1e-45"},
        {T_FLOAT4, "1e39", ERR_NUMERIC_RANGE},
        {T_UUID, "{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
        {T_UUID, "a0eebc999c0b4ef8bb6d6bb9bd380a1", ERR_INVALID_TEXT},
        {T_UUID, "", ERR_INVALID_TEXT},
        {T_BYTEA, "\\xDE ad", "\\xdead"},
        {T_BYTEA, "a\\\\\\001", "\\x615c01"},
        {T_BYTEA, "\\xD", ERR_INVALID_PARAMETER},
        {T_BYTEA, "\\x0g", ERR_INVALID_PARAMETER},
        {T_BYTEA, "\\9", ERR_INVALID_TEXT},
        {T_BYTEA, "", "\\x"},
        {T_TEXT, "  keeps ", "  keeps "},
        {T_VOID, "x", ERR_FEATURE_NOT_SUPPORTED},
    };
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = conv(type_make(cases[i].id), cases[i].in);
        if (strcmp(got, cases[i].want) != 0) fail_msg("'%s': got %s, want %s", cases[i].in, got, cases[i].want);
    }
    assert_string_equal(conv(type_numeric(10, 2), "99999999.994"), "99999999.99");
    assert_string_equal(conv(type_numeric(10, 2), "99999999.995"), ERR_NUMERIC_RANGE);
    assert_string_equal(conv(type_numeric(2, 2), "1"), ERR_NUMERIC_RANGE);
    assert_string_equal(conv(type_numeric(38, 10), "1e28"), ERR_NUMERIC_RANGE);
    assert_string_equal(conv(named("varchar", 1, 3, 0), "abc  "), "abc");
    assert_string_equal(conv(named("varchar", 1, 3, 0), "\xC3\xA4\xC3\xB6\xC3\xBC"), "\xC3\xA4\xC3\xB6\xC3\xBC");
    assert_string_equal(conv(named("varchar", 1, 3, 0), "abcd"), ERR_STRING_TRUNCATION);
    assert_string_equal(conv(named("char", 1, 4, 0), "ab"), "ab  ");
    assert_string_equal(conv(named("char", 1, 2, 0), "abc"), ERR_STRING_TRUNCATION);
    Value v;
    Err e = {0};
    assert_int_equal(value_from_text(named("char", 1, 4, 0), slice_of("ab  "), NULL, arena, &v, &e), ST_OK);
    assert_int_equal(v.u.str.len, 2);
    value_from_text(type_make(T_INT4), slice_of("x"), NULL, arena, &v, &e);
    assert_string_equal(e.message, "invalid input syntax for type integer: \"x\"");
    err_clear(&e);
    value_from_text(type_numeric(4, 2), slice_of("100"), NULL, arena, &v, &e);
    assert_string_equal(e.message, "numeric field overflow");
    assert_string_equal(e.detail, "A field with precision 4, scale 2 must round to an absolute value less than 10^2.");
    v = (Value){.type = type_make(T_INT4), .is_null = true};
    assert_string_equal(value_to_text(arena, &v, NULL), "");
}

static void test_float_round_trip(void **state) {
    (void)state;
    srandom(4);
    for (int i = 0; i < 200000; i++) {
        uint64_t bits = (uint64_t)random() << 62 ^ (uint64_t)random() << 31 ^ (uint64_t)random();
        double d, back;
        if (i % 4 == 0) {
            d = (double)(random() - (1 << 30)) / (double[]){1, 10, 100, 1e4}[i / 4 % 4];
        } else {
            memcpy(&d, &bits, sizeof d);
        }
        if (isnan(d)) continue;
        char text[VALUE_TEXT_MAX + 1];
        Err e = {0};
        int64_t n = cell_to_text(type_make(T_FLOAT8), &d, (TextForm){0}, text);
        text[n] = 0;
        assert_int_equal(cell_from_text(type_make(T_FLOAT8), (Slice){text, n}, NULL, NULL, &back, &e), ST_OK);
        if (memcmp(&d, &back, sizeof d) != 0 || strtod(text, NULL) != d) fail_msg("%.17g as %s", d, text);
        float f, fback;
        uint32_t fbits = (uint32_t)bits;
        memcpy(&f, &fbits, sizeof f);
        if (isnan(f)) continue;
        n = cell_to_text(type_make(T_FLOAT4), &f, (TextForm){0}, text);
        text[n] = 0;
        assert_int_equal(cell_from_text(type_make(T_FLOAT4), (Slice){text, n}, NULL, NULL, &fback, &e), ST_OK);
        if (memcmp(&f, &fback, sizeof f) != 0 || strtof(text, NULL) != f) fail_msg("%.9g as %s", (double)f, text);
    }
}

static void test_order_and_hash(void **state) {
    (void)state;
    double zero = 0, minus = -0.0, nan1 = (double)NAN, inf = HUGE_VAL;
    assert_int_equal(cell_cmp(PH_F64, &zero, &minus), 0);
    assert_int_equal(cell_cmp(PH_F64, &nan1, &nan1), 0);
    assert_true(cell_cmp(PH_F64, &nan1, &inf) > 0);
    assert_true(cell_cmp(PH_F64, &inf, &nan1) < 0);
    assert_true(cell_hash(PH_F64, &zero) == cell_hash(PH_F64, &minus));
    double nan2 = -nan1;
    assert_true(cell_hash(PH_F64, &nan1) == cell_hash(PH_F64, &nan2));
    float f0 = 0.5f;
    double d0 = 0.5;
    assert_true(cell_hash(PH_F32, &f0) == cell_hash(PH_F64, &d0));
    int16_t a = -7;
    int32_t b = -7;
    int64_t c = -7;
    int128_t d = -7, big = (int128_t)1 << 64;
    assert_true(cell_hash(PH_I16, &a) == cell_hash(PH_I32, &b));
    assert_true(cell_hash(PH_I32, &b) == cell_hash(PH_I64, &c));
    assert_true(cell_hash(PH_I64, &c) == cell_hash(PH_I128, &d));
    int128_t none = 0;
    assert_true(cell_hash(PH_I128, &big) != cell_hash(PH_I128, &none));
    int64_t out;
    assert_true(cell_as_i64(PH_I128, &d, &out) && out == -7);
    assert_false(cell_as_i64(PH_I128, &big, &out));
    assert_false(cell_as_i64(PH_F64, &d0, &out));
    Interval month = {0, 0, 1}, days = {0, 30, 0};
    assert_int_equal(cell_cmp(PH_INTERVAL, &month, &days), 0);
    assert_true(cell_hash(PH_INTERVAL, &month) == cell_hash(PH_INTERVAL, &days));
    /* strings: bytes, a prefix is smaller, NUL-padded prefixes do not lie */
    static const char *const sorted[] = {"", "a", "ab", "abc", "abcd", "abcda", "abcdb", "abce", "b", "\xC3\xA9"};
    for (int64_t i = 0; i < ARRAY_LEN(sorted); i++) {
        for (int64_t j = 0; j < ARRAY_LEN(sorted); j++) {
            Str x = str_make(sorted[i], (int64_t)strlen(sorted[i])),
                y = str_make(sorted[j], (int64_t)strlen(sorted[j]));
            int cmp = cell_cmp(PH_STR, &x, &y);
            assert_int_equal(cmp, i < j ? -1 : i > j);
            assert_int_equal(str_eq(x, y), i == j);
        }
    }
    Value v1 = {.type = type_make(T_INT4), .u.i32 = 1}, v2 = {.type = type_make(T_INT4), .is_null = true};
    assert_true(value_cmp(&v1, &v2) < 0 && value_cmp(&v2, &v1) > 0 && value_cmp(&v2, &v2) == 0);
    hash_constant = true;
    assert_true(cell_hash(PH_I64, &c) == 0);
    hash_constant = false;
    char text[] = "hello";
    Value s = {.type = type_make(T_TEXT), .u.str = str_make(text, 5)}, copy;
    assert_int_equal(value_copy(arena, &s, &copy), ST_OK);
    text[0] = 'x';
    assert_memory_equal(copy.u.str.ptr, "hello", 5);
}

/* Stored forms of bit strings compare as their texts do: all of up to 9 bits, and some longer ones. */
static void test_bits(void **state) {
    (void)state;
    enum { SHORT = 1023, LONG = 300, N = SHORT + LONG, WIDEST = 40 };
    static Str stored[N], text[N];
    int64_t n = 0;
    for (int len = 0; len <= 9; len++)
        for (int bits = 0; bits < 1 << len; bits++, n++) {
            char *t = arena_alloc(arena, len + 1);
            for (int k = 0; k < len; k++) t[k] = (char)('0' + (bits >> (len - 1 - k) & 1));
            text[n] = str_make(t, len);
        }
    uint64_t seed = 1;
    for (; n < N; n++) {
        char *t = arena_alloc(arena, WIDEST);
        const int len = (int)(n % (WIDEST + 1));
        for (int k = 0; k < len; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
            t[k] = (char)('0' + (seed >> 60 == 0));
        }
        text[n] = str_make(t, len);
    }
    for (int64_t i = 0; i < N; i++) {
        Value v;
        Err e = {0};
        int64_t len;
        assert_int_equal(value_from_text(type_make(T_VARBIT), (Slice){text[i].ptr, text[i].len}, NULL, arena, &v, &e),
                         ST_OK);
        stored[i] = v.u.str;
        assert_int_equal(bits_length(v.u.str), text[i].len);
        assert_int_equal(v.u.str.len, bits_bytes(text[i].len));
        const char *shown = value_to_text(arena, &v, &len);
        assert_int_equal(len, text[i].len);
        assert_memory_equal(shown, text[i].ptr, (size_t)len);
    }
    int64_t wrong = 0;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < N; j++) wrong += str_cmp(stored[i], stored[j]) != str_cmp(text[i], text[j]);
    assert_int_equal(wrong, 0);
}

int main(void) {
    Err e = {0};
    arena = arena_new(NULL, &e);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),          cmocka_unit_test(test_text), cmocka_unit_test(test_float_round_trip),
        cmocka_unit_test(test_order_and_hash), cmocka_unit_test(test_bits),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
