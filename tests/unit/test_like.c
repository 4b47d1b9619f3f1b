/* test_like.c - LIKE, ILIKE and UTF-8. */
#include "unit.h"

#include <stdlib.h>

#include "types/type.h"

static Arena *arena;

static bool like(const char *s, const char *pattern, bool fold) {
    Err e = {0};
    LikePattern *p = like_compile(arena, slice_of(pattern), '\\', fold, &e);
    assert_non_null(p);
    return like_match(p, s, (int64_t)strlen(s));
}

#define YES(s, p) assert_true(like(s, p, false))
#define NO(s, p) assert_false(like(s, p, false))
#define IYES(s, p) assert_true(like(s, p, true))
#define INO(s, p) assert_false(like(s, p, true))

static void test_like(void **state) {
    (void)state;
    YES("", "");
    NO("a", "");
    YES("", "%");
    YES("abc", "%%");
    YES("abc", "abc");
    NO("abcd", "abc");
    NO("ab", "abc");
    YES("abc", "a%");
    YES("abc", "%c");
    YES("abc", "%b%");
    NO("abc", "%d%");
    YES("abc", "a%c");
    NO("aba", "ab%ba"); /* runs must not overlap */
    YES("abba", "ab%ba");
    YES("aXbXc", "a%b%c");
    YES("a", "_");
    NO("", "_");
    NO("ab", "_");
    YES("ab", "_%");
    YES("ab", "%_");
    YES("ab", "__");
    YES("abc", "_b_");
    YES("xxabxx", "%a_x%");
    YES("mississippi", "%iss%ip%");
    NO("mississippi", "%iss%iss%iss%");
    YES("special packages requests", "%special%requests%");
    /* '_' is a character, not a byte. */
    YES("\xC3\xA9", "_");
    NO("\xC3\xA9", "__");
    YES("a\xE2\x82\xAC"
        "b",
        "a_b");
    YES("\xF0\x9F\x98\x80x", "%_x");
    YES("x\xF0\x9F\x98\x80", "x%_");
    /* escapes */
    YES("50%", "50\\%");
    NO("50x", "50\\%");
    YES("a_b", "a\\_b");
    NO("axb", "a\\_b");
    YES("a\\b", "a\\\\b");
    YES("abc", "a\\bc");
    Err e = {0};
    assert_null(like_compile(arena, slice_of("abc\\"), '\\', false, &e));
    assert_string_equal(e.sqlstate, ERR_INVALID_ESCAPE);
    LikePattern *p = like_compile(arena, slice_of("a\\%"), 0, false, NULL); /* no escape */
    assert_true(like_match(p, "a\\bc", 4));
    p = like_compile(arena, slice_of("a!%b%%"), '%', false, NULL); /* % is the escape itself */
    assert_true(like_match(p, "a!b%", 4));
    assert_false(like_match(p, "a!b", 3));
}

static void test_ilike(void **state) {
    (void)state;
    IYES("ABC", "abc");
    IYES("abc", "A%C");
    IYES("xxSPECIALyyRequests", "%special%REQUESTS%");
    INO("abc", "abd");
    IYES("\xC3\x89t\xC3\xA9", "\xC3\xA9T\xC3\x89"); /* Été */
    IYES("ÄÖÜ straße", "äöü STRAßE");
    IYES("ΣΑΣ", "%ας");        /* final sigma */
    IYES("\xE2\x84\xAA", "k"); /* Kelvin sign */
    INO("abc", "ä%");
    IYES("Äx", "_X");
    IYES("xÄyÖz", "%ä_ö%");
    char big[5000];
    memset(big, 'A', sizeof big);
    memcpy(big + 4990, "NeeDLE", 6);
    Err e = {0};
    LikePattern *p = like_compile(arena, slice_of("%needle_AAA"), '\\', true, &e);
    assert_true(like_match(p, big, sizeof big));
    assert_false(like_match(p, big, sizeof big - 1));
}

static void test_prefix(void **state) {
    (void)state;
    Slice s;
    struct {
        const char *pattern, *want;
    } cases[] = {{"abc%", "abc"}, {"abc%%", "abc"}, {"a\\%%", "a%"}, {"abc", NULL}, {"%abc", NULL},
                 {"a_%", NULL},   {"%", NULL},      {"", NULL},      {"a%b%", NULL}};
    for (int64_t i = 0; i < ARRAY_LEN(cases); i++) {
        LikePattern *p = like_compile(arena, slice_of(cases[i].pattern), '\\', false, NULL);
        assert_int_equal(like_prefix(p, &s), cases[i].want != NULL);
        if (cases[i].want) assert_true(slice_eq(s, slice_of(cases[i].want)));
    }
    assert_false(like_prefix(like_compile(arena, slice_of("abc%"), '\\', true, NULL), &s));
}

/* The textbook definition. */
static bool naive(const char *s, const char *p) {
    if (!*p) return !*s;
    if (*p == '%') return naive(s, p + 1) || (*s && naive(s + 1, p));
    return *s && (*p == '_' || *p == *s) && naive(s + 1, p + 1);
}

static void test_random(void **state) {
    (void)state;
    srandom(2);
    for (int i = 0; i < 50000; i++) {
        char s[48], p[12];
        int n = (int)(random() % 40), m = (int)(random() % 9);
        for (int k = 0; k < n; k++) s[k] = (char)('a' + random() % 2);
        for (int k = 0; k < m; k++) p[k] = "ab%_a%"[random() % 6];
        s[n] = p[m] = 0;
        char *copy = malloc((size_t)n + 1); /* exact size: reads beyond are seen by the sanitizer */
        memcpy(copy, s, (size_t)n);
        LikePattern *lp = like_compile(arena, slice_of(p), '\\', false, NULL);
        LikePattern *ip = like_compile(arena, slice_of(p), '\\', true, NULL);
        bool want = naive(s, p);
        if (like_match(lp, copy, n) != want || like_match(ip, copy, n) != want) fail_msg("'%s' LIKE '%s'", s, p);
        free(copy);
        if (i % 100 == 0) arena_reset(arena);
    }
}

static void test_utf8(void **state) {
    (void)state;
    char buf[200];
    /* A fault at every place of a long text is found at its place. */
    static const struct {
        const char *bytes;
        int n;
    } bad[] = {
        {"\x80", 1},         {"\xC0\x80", 2},         {"\xC1\xBF", 2}, {"\xED\xA0\x80", 3}, {"\xF4\x90\x80\x80", 4},
        {"\xE0\x80\x80", 3}, {"\xF0\x80\x80\x80", 4}, {"\xFF", 1},     {"\0", 1},           {"\xC3(", 2},
        {"\xE2\x82(", 3}};
    for (int64_t b = 0; b < ARRAY_LEN(bad); b++) {
        for (int at = 0; at < 150; at++) {
            memset(buf, 'x', sizeof buf);
            memcpy(buf + at, bad[b].bytes, (size_t)bad[b].n);
            assert_int_equal(utf8_check(buf, 180), at);
        }
    }
    memset(buf, 'x', sizeof buf);
    assert_int_equal(utf8_check(buf, 200), -1);
    assert_int_equal(utf8_check("", 0), -1);
    const char *good = "aé€😀\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF";
    assert_int_equal(utf8_check(good, (int64_t)strlen(good)), -1);
    assert_int_equal(utf8_check("\xE2\x82", 2), 0); /* cut off */
    assert_int_equal(utf8_length(good, (int64_t)strlen(good)), 7);
    assert_int_equal(utf8_prefix_bytes(good, (int64_t)strlen(good), 0), 0);
    assert_int_equal(utf8_prefix_bytes(good, (int64_t)strlen(good), 2), 3);
    assert_int_equal(utf8_prefix_bytes(good, (int64_t)strlen(good), 4), 10);
    assert_int_equal(utf8_prefix_bytes(good, (int64_t)strlen(good), 100), (int64_t)strlen(good));
    char *many = arena_alloc(arena, 300);
    for (int i = 0; i < 100; i++) memcpy(many + 3 * i, "€", 3);
    for (int i = 0; i <= 100; i++) {
        assert_int_equal(utf8_prefix_bytes(many, 300, i), 3 * i);
        assert_int_equal(utf8_length(many, 3 * i), i);
    }
}

int main(void) {
    Err e = {0};
    arena = arena_new(NULL, &e);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_like),   cmocka_unit_test(test_ilike), cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_random), cmocka_unit_test(test_utf8),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
