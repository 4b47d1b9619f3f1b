/* test_jsonpath.c - SQL/JSON paths: depth, memory that runs out, text that is cut short. What paths find, and their
 * errors, are compared with PostgreSQL's in tests/sql/types/jsonpath.test and tests/sql/select/jsonpath*.test. */
#include "unit.h"

#include "types/jsonpath.h"

static Err e;
static Arena *a;

/* What a path finds in a document, one behind the other. */
static Status find(Arena *arena, const char *doc, const char *text, bool silent, Str *out, Err *err) {
    Str document;
    JsonPath path;
    JpItems found = {0};
    JsonOut o = {.a = arena};
    TRY(jsonb_from_text(arena, slice_of(doc), &document, err));
    TRY(jsonpath_parse(arena, slice_of(text), &path, err));
    const JpRun run = {.path = &path,
                       .document = {document.ptr, document.len},
                       .vars = slice_of("{\"x\": 2}"),
                       .silent = silent,
                       .arena = arena,
                       .err = err};
    const JpResult r = jsonpath_run(&run, &found);
    if (r == JP_FAILED) return ST_ERROR;
    if (r == JP_ERROR) json_put_text(&o, "error ");
    for (int64_t i = 0; i < found.len; i++) {
        Str item;
        TRY(jsonpath_item_text(arena, &found.items[i], &item, err));
        if (i) json_put_text(&o, " ");
        json_put(&o, item.ptr, item.len);
    }
    return json_done(&o, out, err);
}
#define FINDS(doc, path, silent, want)                                    \
    do {                                                                  \
        Str got;                                                          \
        assert_int_equal(find(a, doc, path, silent, &got, &e), ST_OK);    \
        assert_true(slice_eq((Slice){got.ptr, got.len}, slice_of(want))); \
    } while (0)

static void test_find(void **state) {
    (void)state;
    FINDS("{\"a\": [1, 2, 3.50]}", "$.a[*] ? (@ >= $x)", false, "2 3.50");
    FINDS("{\"a\": 1}", "strict $.b", true, "error ");
    FINDS("[\"2017-03-10\"]", "$.datetime()", false, "\"2017-03-10\"");
    FINDS("{\"a\": {\"b\": 1}}", "$.a.keyvalue().id", false, "16");
    FINDS("[[1, 2, 3, 4, 5, 6], 7]", "$ == 7", false, "true"); /* lists that leave the stack */
    FINDS("[[1, 2, 3, 4, 5, 6, 7, 8, 9], [9]]", "$[*] ? (@[*] == $[1][*]).size()", false, "1 1");
}

static int32_t sign(int32_t v) { return (v > 0) - (v < 0); }
static void test_numbers(void **state) {
    (void)state;
    static const char *const ascending[] = {"-10.5", "-10", "-9.99", "-0.01", "0",  "0.001",
                                            "0.01",  "1",   "9",     "10",    "100"};
    for (int i = 0; i < (int)ARRAY_LEN(ascending); i++)
        for (int k = 0; k < (int)ARRAY_LEN(ascending); k++)
            assert_int_equal(sign(json_number_cmp(slice_of(ascending[i]), slice_of(ascending[k]))), sign(i - k));
    assert_int_equal(json_number_cmp(slice_of("1.0"), slice_of("1.00")), 0);
    assert_int_equal(json_number_cmp(slice_of("-1"), slice_of("-1.0")), 0);
    int32_t at;
    assert_true(jsonpath_index(slice_of("-2147483648.9"), &at) && at == INT32_MIN);
    assert_false(jsonpath_index(slice_of("2147483648"), &at));
}

/* What is nested too deeply, in paths and in what they walk over. */
static void test_depth(void **state) {
    (void)state;
    enum { DEPTH = 1 << 20 };
    static char text[DEPTH + 1];
    static const char *const marks = "(-[!";
    JsonPath path;
    for (const char *m = marks; *m; m++) {
        memset(text, *m, DEPTH);
        if (*m == '[' || *m == '!')
            for (int i = 0; i < DEPTH; i += 2) memcpy(text + i, *m == '[' ? "$[" : "!(", 2);
        assert_int_equal(jsonpath_parse(a, slice_of(text), &path, &e), ST_ERROR);
        assert_string_equal(e.sqlstate, "54001");
        err_clear(&e);
    }
    enum { ARRAYS = 2000 };
    memset(text, '[', ARRAYS);
    memset(text + ARRAYS, ']', ARRAYS);
    text[2 * ARRAYS] = 0;
    Str got;
    const Status st = find(a, text, "$.** ? (@ == 1)", false, &got, &e);
    assert_true(st == ST_OK || strcmp(e.sqlstate, "54001") == 0);
    err_clear(&e);
}

/* Every beginning of a path is a path or an error, and so is every one with a character more. */
static void test_cut(void **state) {
    (void)state;
    static const char path[] = "strict $.a[1 to last,0]?(!exists(@.c) && (@.d > -1.5e3) is unknown).**{1 to last}"
                               ".keyvalue().datetime(\"YYYY\") + $\"v w\" % 2 ? (@.\"b\\u0041\" like_regex \"^x\")";
    static const char more[] = "$@.[](){}?*\"\\'&|!=<>+-/%,:0aE_\x80\n";
    for (size_t n = 0; n < sizeof path; n++) {
        for (size_t k = 0; k < sizeof more; k++) {
            char text[sizeof path + 1];
            Str canonical;
            memcpy(text, path, n);
            text[n] = more[k];
            char *exact = arena_strndup(a, text, (int64_t)n + (k + 1 < sizeof more)); /* its end is the block's */
            Slice given = {exact, (int64_t)strlen(exact)};
            if (jsonpath_from_text(a, given, &canonical, &e) == ST_OK) {
                Str again;
                assert_int_equal(jsonpath_from_text(a, (Slice){canonical.ptr, canonical.len}, &again, &e), ST_OK);
                assert_true(str_eq(canonical, again));
            }
            err_clear(&e);
        }
    }
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
        Str x;
        Status st = jsonpath_from_text(small, slice_of("$.a ? (@ like_regex \"x\") + 1"), &x, &err);
        if (st == ST_OK)
            st = find(small, "{\"a\": [1, 2, 3, 4, 5, 6, \"7\"]}", "-$.a[0] * $.a[6].double() + 1e3", false, &x, &err);
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
        cmocka_unit_test(test_find), cmocka_unit_test(test_numbers), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_cut),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
