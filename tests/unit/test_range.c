/* test_range.c - ranges as bytes: what is computed of them against sets of numbers, their order, bytes that are none.
 */
#include "unit.h"

#include <stdlib.h>

#include "types/range.h"

enum { NUMBERS = 16, ROUNDS = 3000 };
static Arena *arena;

static Type type_named(const char *name) {
    bool multi;
    const RangeType *x = range_builtin(slice_of(name), &multi);
    assert_non_null(x);
    return multi ? multirange_type(x) : range_type(x);
}
static Str parse(Type t, const char *text) {
    Str s;
    Err e = {0};
    if (range_from_text(t, slice_of(text), NULL, arena, &s, &e) != ST_OK) fail_msg("%s: %s", text, e.message);
    return s;
}
static RangeList read(Type t, Str s, RangeParts *room) {
    RangeList l;
    Err e = {0};
    assert_int_equal(range_read(t, s, arena, room, &l, &e), ST_OK);
    return l;
}
static const char *shown(Type t, Str s) {
    Str out;
    Err e = {0};
    assert_int_equal(range_to_text(t, s, (TextForm){0}, arena, &out, &e), ST_OK);
    return out.ptr;
}

/* The set of numbers as the text of a multirange of integers. */
static const char *text_of(unsigned set) {
    const char *t = "";
    for (int i = 0; i < NUMBERS; i++) {
        if (!(set >> i & 1)) continue;
        int end = i;
        while (end < NUMBERS && set >> end & 1) end++;
        t = arena_printf(arena, "%s%s[%d,%d)", t, *t ? "," : "", i, end);
        i = end;
    }
    return arena_printf(arena, "{%s}", t);
}
static unsigned random_set(void) {
    unsigned set = 0;
    for (int n = rand() % 4; n > 0; n--) {
        const int from = rand() % NUMBERS, len = 1 + rand() % 4;
        for (int i = from; i < from + len && i < NUMBERS; i++) set |= 1u << i;
    }
    return set;
}
static int first_of(unsigned set) { return __builtin_ctz(set); }
static int last_of(unsigned set) { return 31 - __builtin_clz(set); }

static void check_text(Type t, const RangeList *l, unsigned set) {
    Str s;
    Err e = {0};
    assert_int_equal(range_write(t, l, arena, &s, &e), ST_OK);
    assert_string_equal(shown(t, s), text_of(set));
    assert_true(range_ok(t, s));
}

/* Sets of numbers are what PostgreSQL's rules say in other words. */
static void test_against_sets(void **state) {
    (void)state;
    const Type t = type_named("int4multirange");
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned p = random_set(), q = random_set();
        RangeParts room[2];
        RangeList out;
        Err e = {0};
        const Str sx = parse(t, text_of(p)), sy = parse(t, text_of(q));
        const RangeList x = read(t, sx, &room[0]), y = read(t, sy, &room[1]);
        assert_int_equal(range_contains(&x, &y), (q & ~p) == 0);
        assert_int_equal(range_overlaps(&x, &y), (p & q) != 0);
        assert_int_equal(range_before(&x, &y), p && q && last_of(p) < first_of(q));
        assert_int_equal(range_overleft(&x, &y), p && q && last_of(p) <= last_of(q));
        assert_int_equal(range_overright(&x, &y), p && q && first_of(p) >= first_of(q));
        assert_int_equal(range_adjacent(&x, &y),
                         p && q && (last_of(p) + 1 == first_of(q) || last_of(q) + 1 == first_of(p)));
        assert_int_equal(range_unite(&x, &y, arena, &out, &e), ST_OK);
        check_text(t, &out, p | q);
        assert_int_equal(range_intersect(&x, &y, arena, &out, &e), ST_OK);
        check_text(t, &out, p & q);
        assert_int_equal(range_subtract(&x, &y, arena, &out, &e), ST_OK);
        check_text(t, &out, p & ~q);
        const int order = range_list_cmp(&x, &y), bytes = str_cmp(sx, sy);
        assert_int_equal((order > 0) - (order < 0), (bytes > 0) - (bytes < 0));
        assert_int_equal(order == 0, p == q);
        if (round % 100 == 99) arena_reset(arena);
    }
}

/* In PostgreSQL's order. */
static void test_order(void **state) {
    (void)state;
    static const char *const nums[] = {"empty",       "(,-5)",   "(,-5]",     "(,)",      "[-10,0)",
                                       "[-2.5,-2.5]", "[-2,-1)", "(-2,-1)",   "[0,0.5)",  "[0,0.5]",
                                       "[0,7)",       "[0,)",    "(0,7)",     "[0.01,2)", "[1,10)",
                                       "(1,10)",      "[10,11)", "[100,101)", "(100,)",   "[NaN,NaN]"};
    const Type t = type_named("numrange");
    for (int64_t i = 0; i < ARRAY_LEN(nums); i++)
        for (int64_t k = 0; k < ARRAY_LEN(nums); k++) {
            RangeParts room[2];
            const Str x = parse(t, nums[i]), y = parse(t, nums[k]);
            const RangeList p = read(t, x, &room[0]), q = read(t, y, &room[1]);
            const int bytes = str_cmp(x, y), order = range_list_cmp(&p, &q), want = (i > k) - (i < k);
            assert_string_equal(shown(t, x), nums[i]);
            assert_int_equal((bytes > 0) - (bytes < 0), want);
            assert_int_equal((order > 0) - (order < 0), want);
        }
    /* What is shown differently is equal without the tails. */
    const Str a = parse(t, "[1.0,2.50]"), b = parse(t, "[1.00,2.5]");
    assert_false(str_eq(a, b));
    assert_true(str_eq(range_key(t, a), range_key(t, b)));
    assert_string_equal(shown(t, a), "[1.0,2.50]");
}

/* Bytes that are cut off anywhere, or have another one, are no value, or are read within their end. */
static void test_bad_bytes(void **state) {
    (void)state;
    static const char *const values[][2] = {{"numrange", "[1.5,200)"},
                                            {"int4range", "[1,5)"},
                                            {"nummultirange", "{[1.0,2),(5,)}"},
                                            {"tsmultirange", "{(,2020-01-01],[2021-01-01,infinity]}"}};
    for (int64_t i = 0; i < ARRAY_LEN(values); i++) {
        const Type t = type_named(values[i][0]);
        const Str s = parse(t, values[i][1]);
        assert_true(range_ok(t, s));
        for (uint32_t n = 0; n < s.len; n++) {
            char *copy = malloc(n ? n : 1); /* its own, so that sanitizers see reads behind it */
            memcpy(copy, s.ptr, n);
            RangeParts room;
            RangeList l;
            Err e = {0};
            const Str cut = str_make(copy, n);
            assert_false(range_ok(t, cut));
            if (n > 0) assert_int_equal(range_read(t, cut, arena, &room, &l, &e), ST_ERROR);
            free(copy);
        }
        for (uint32_t n = 0; n < s.len; n++) {
            char *copy = malloc(s.len);
            memcpy(copy, s.ptr, s.len);
            copy[n] = (char)(copy[n] ^ 0x55);
            RangeParts room;
            RangeList l;
            Err e = {0};
            const Str other = str_make(copy, s.len);
            assert_int_equal(range_ok(t, other), range_read(t, other, arena, &room, &l, &e) == ST_OK);
            free(copy);
        }
    }
}

static int group_begin(void **state) {
    Err e = {0};
    (void)state;
    return (arena = arena_new(NULL, &e)) ? 0 : -1;
}
static int group_end(void **state) {
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_sets),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_bad_bytes),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
