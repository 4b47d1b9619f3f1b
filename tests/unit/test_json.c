/* test_json.c - JSON text: parts in place, the order of jsonb, depth, and memory that runs out. Texts and errors
 * are compared with PostgreSQL's in tests/sql/types/json.test and tests/diff/documents.py. */
#include "unit.h"

#include "types/json.h"

static Err e;
static Arena *a;

static Slice jsonb(const char *text) {
    Str s;
    assert_int_equal(jsonb_from_text(a, slice_of(text), &s, &e), ST_OK);
    return (Slice){s.ptr, s.len};
}

static void test_parts(void **state) {
    (void)state;
    Slice v, json = slice_of("{ \"a\" : [1, {\"]\": \"}\\\"\"} ] ,\"\\u0061\\\\\":2 , \"a\" : true}");
    assert_int_equal(json_count(json), 3);
    assert_true(json_find(json, slice_of("a"), false, &v) && slice_eq(v, slice_of("true")));
    assert_true(json_find(json, slice_of("a\\"), false, &v) && slice_eq(v, slice_of("2")));
    assert_false(json_find(json, slice_of(""), false, &v));
    Slice sorted = jsonb("{\"bb\": 1, \"a\": 2, \"\\u0001\": 3, \"\": 4}");
    assert_true(slice_eq(sorted, slice_of("{\"\": 4, \"\\u0001\": 3, \"a\": 2, \"bb\": 1}")));
    assert_true(json_find(sorted, slice_of("\1"), true, &v) && slice_eq(v, slice_of("3")));
    assert_true(json_find(sorted, slice_of("bb"), true, &v) && slice_eq(v, slice_of("1")));
    assert_false(json_find(sorted, slice_of("b"), true, &v));
    assert_true(json_element(slice_of("[ [1, 2] , \"x,]\" ]"), -1, &v) && slice_eq(v, slice_of("\"x,]\"")));
    assert_false(json_element(slice_of("[1]"), -2, &v));
    assert_true(json_string_is(slice_of("\"\\ud83d\\ude04x\""), slice_of("\xF0\x9F\x98\x84x")));
    assert_false(json_string_is(slice_of("\"\\ud83d\\ude04x\""), slice_of("\xF0\x9F\x98\x84")));
}

/* In PostgreSQL's order, equal ones side by side. */
static void test_order(void **state) {
    (void)state;
    static const char *const values[] = {"[]",
                                         "null",
                                         "\"\"",
                                         "\"a\"",
                                         "\"ab\"",
                                         "-1.50",
                                         "-1.5",
                                         "0",
                                         "0.00",
                                         "1e-3",
                                         "10",
                                         "false",
                                         "true",
                                         "[null]",
                                         "[[]]",
                                         "[1, 2]",
                                         "[1, 2.0]",
                                         "[1, []]",
                                         "{}",
                                         "{\"a\": null}",
                                         "{\"a\": 1}",
                                         "{\"aa\": 0}",
                                         "{\"b\": 0}",
                                         "{\"a\": 1, \"b\": 1}",
                                         "{\"a\": 1, \"b\": 2}"};
    static const int equal[] = {5, 7, 15}; /* to the next one */
    Str before = {0}, key;
    for (int i = 0; i < (int)ARRAY_LEN(values); i++) {
        Slice v = jsonb(values[i]);
        assert_int_equal(jsonb_key(a, str_make(v.ptr, v.len), &key, &e), ST_OK);
        bool same = false;
        for (int k = 0; k < (int)ARRAY_LEN(equal); k++) same |= equal[k] == i - 1;
        if (i) assert_int_equal(str_cmp(before, key), same ? 0 : -1);
        before = key;
    }
    Str least;
    Slice v = jsonb("{\"a.50\": [1.50, 100, 0.00], \"b\": -2.0}");
    assert_int_equal(jsonb_least_scale(a, str_make(v.ptr, v.len), &least, &e), ST_OK);
    Slice want = jsonb("{\"a.50\": [1.5, 100, 0], \"b\": -2}");
    assert_true(str_eq(least, str_make(want.ptr, want.len)));
}

static void test_depth(void **state) {
    (void)state;
    enum { DEPTH = 1 << 20 };
    static char text[DEPTH];
    Str s;
    memset(text, '[', sizeof text);
    assert_int_equal(json_check((Slice){text, DEPTH}, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "54001");
    err_clear(&e);
    assert_int_equal(jsonb_from_text(a, (Slice){text, DEPTH}, &s, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "54001");
    err_clear(&e);
}

static void test_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t limit = 0; !done; limit += 4096) {
        Err err = {0};
        MemAccount acct;
        mem_account_init(&acct, NULL, "test", limit, "memory_limit");
        Arena *small = arena_new(&acct, &err);
        if (!small) continue;
        Str x, key;
        Status st = jsonb_from_text(small, slice_of("{\"b\": [1e3, \"\\u0041\"], \"a\": {\"c\": null}}"), &x, &err);
        if (st == ST_OK) st = jsonb_key(small, x, &key, &err);
        if (st == ST_OK) st = jsonb_least_scale(small, x, &x, &err);
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
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
