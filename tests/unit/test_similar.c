/* test_similar.c - distances of names, and the closest of some. */
#include "base/similar.h"
#include "unit.h"
#include <string.h>

static void test_distance(void **state) {
    (void)state;
    assert_int_equal(similar_distance("", "", 3), 0);
    assert_int_equal(similar_distance("orders", "orders", 3), 0);
    assert_int_equal(similar_distance("orders", "order", 3), 1);
    assert_int_equal(similar_distance("form", "from", 3), 1); /* exchanged */
    assert_int_equal(similar_distance("ab", "ba", 3), 1);
    assert_int_equal(similar_distance("kitten", "sitting", 3), 3);
    assert_int_equal(similar_distance("kitten", "sitting", 2), 3);
    assert_int_equal(similar_distance("abc", "xyzabcxyz", 3), 4); /* too many */
    char name[65];
    memset(name, 'a', 64);
    name[64] = 0;
    assert_int_equal(similar_distance(name, name, 3), 4); /* too long */
    assert_int_equal(similar_distance(name + 1, name + 1, 3), 0);
}

static void test_closest(void **state) {
    (void)state;
    Similar s;
    similar_init(&s, "lenght");
    similar_offer(&s, "left");
    assert_null(s.best);
    similar_offer(&s, "lengths");
    assert_string_equal(s.best, "lengths");
    similar_offer(&s, "length");
    assert_string_equal(s.best, "length");
    similar_offer(&s, "lenghts"); /* as close, but later */
    assert_string_equal(s.best, "length");
    similar_init(&s, "x");
    similar_offer(&s, "y");
    assert_null(s.best);
    similar_init(&s, "");
    similar_offer(&s, "a");
    assert_null(s.best);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_distance), cmocka_unit_test(test_closest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
