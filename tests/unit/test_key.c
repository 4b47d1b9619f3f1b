/* test_key.c - keys of objects (base/key.h), and search paths (catalog/schema.h). */
#include "unit.h"

#include "base/key.h"
#include "catalog/schema.h"
#include "types/func.h"

static void test_keys(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, NULL);
    const char *k = key_make(a, "s", "t");
    assert_true(strcmp(key_make(a, "public", "t"), "t") == 0 && strcmp(key_make(a, NULL, "t"), "t") == 0);
    assert_true(strcmp(name_of_key(k), "t") == 0 && slice_eq(schema_of_key(k), slice_of("s")));
    assert_true(strcmp(name_of_key("t"), "t") == 0 && slice_eq(schema_of_key("t"), slice_of("public")));
    assert_true(key_is_in(k, "s") && !key_is_in(k, "public") && key_is_in("t", "public") && key_is_named(k, "t"));
    assert_true(strcmp(key_beside(a, k, "u"), key_make(a, "s", "u")) == 0 && strcmp(key_beside(a, "t", "u"), "u") == 0);
    assert_true(strcmp(name_of_key("\xff"), "") == 0 && schema_of_key("\xff").len == 0);
    assert_true(strcmp(name_of_key("\xff"
                                   "abc"),
                       "") == 0);
    arena_free(a);
}

static void test_shown(void **state) {
    (void)state;
    Arena *a = arena_new(NULL, NULL);
    char text[100];
    const char *k = key_make(a, "s", "t"), *odd = key_make(a, "S", "a\"b");
    snprintf(text, sizeof text, "table %s and %s of %s", k, "x", odd);
    assert_true(strcmp(keys_dotted(a, text), "table s.t and x of S.a\"b") == 0);
    key_names_only(text);
    assert_true(strcmp(text, "table t and x of a\"b") == 0);
    snprintf(text, sizeof text, "cut %.2s", k);
    key_names_only(text);
    assert_true(strcmp(text, "cut ") == 0);
    (void)name_put_quoted(odd, text);
    assert_true(strcmp(text, "\"S\".\"a\"\"b\"") == 0);
    (void)name_put_quoted(k, text);
    assert_true(strcmp(text, "s.t") == 0);
    Err e = {0};
    err_set(&e, "42P01", "relation \"%s\"", k);
    err_of_column(&e, k, "c");
    assert_true(strcmp(e.message, "relation \"t\"") == 0);
    assert_true(strcmp(err_names_of(&e).of[EF_SCHEMA], "s") == 0 && strcmp(err_names_of(&e).of[EF_TABLE], "t") == 0);
    arena_free(a);
}

static void test_paths(void **state) {
    (void)state;
    SearchPath p, q;
    assert_true(search_path_parse("\"$user\", public", "me", &p) && p.n == 2 && !p.has_catalog);
    assert_true(strcmp(search_path_name(&p, 0), "me") == 0 && strcmp(search_path_name(&p, 1), "public") == 0);
    assert_true(search_path_parse(" A , \"B \"\"c\" ,pg_catalog", NULL, &p) && p.n == 3 && p.has_catalog);
    assert_true(strcmp(search_path_name(&p, 0), "a") == 0 && strcmp(search_path_name(&p, 1), "B \"c") == 0);
    assert_true(search_path_parse("", NULL, &p) && p.n == 0 && search_path_parse("\"\"", NULL, &p) && p.n == 0);
    assert_true(!search_path_parse("a b", NULL, &p) && !search_path_parse("a,", NULL, &p) &&
                !search_path_parse("\"a", NULL, &p) && !search_path_parse(",a", NULL, &p));
    assert_true(search_path_parse("a,b", NULL, &p) && search_path_parse("a , b", NULL, &q) && p.hash == q.hash);
    assert_true(search_path_parse("b,a", NULL, &q) && p.hash != q.hash);
    const SearchPath *was = search_path_use(&p);
    assert_true(search_path_now() == &p && search_path_has(slice_of("b")) && !search_path_has(slice_of("public")));
    (void)search_path_use(was);
    assert_true(search_path_now()->n == 1 && search_path_has(slice_of("public")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
