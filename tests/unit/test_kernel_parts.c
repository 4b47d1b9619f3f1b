/* The parts of kernel C that sources take in (codegen/prelude.h): where they go, and the lines that compilers name.
 * That each file compiles alone is tools/lint.sh's, that modules of them do test_emit_proc's. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/prelude.h"

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
    return n;
}
static void test_expand(void **state) {
    (void)state;
    static const char source[] = "int a;\n" KERNEL_PRELUDE_INCLUDE KERNEL_PART(kp_base) "int b;\n" KERNEL_PART(kp_rows)
        KERNEL_PART(kp_rows) "int c; // " KERNEL_PART(kp_rows) "int d;";
    char *text = kernel_source_expand(source);
    assert_non_null(text);
    assert_memory_equal(text, "int a;\n/* kc_codes.h", 20);
    assert_int_equal(count(text, "#line 1 \"kp_base.h\"\n"), 1);
    assert_int_equal(count(text, "#line 1 \"kp_rows.h\"\n"), 2);
    assert_int_equal(count(text, "#include \"codegen"), 0);
    /* behind a part the source's own lines go on */
    assert_non_null(strstr(text, "\n#line 4 \"kernel.c\"\nint b;\n#line 1 \"kp_rows.h\"\n"));
    assert_non_null(strstr(text, "\n#line 6 \"kernel.c\"\n#line 1 \"kp_rows.h\"\n"));
    assert_non_null(strstr(text, "\n#line 7 \"kernel.c\"\nint c; // #include \"kp_rows.h\"\nint d;"));
    free(text);
    text = kernel_source_expand("int a;");
    assert_string_equal(text, "int a;");
    free(text);
}
/* An include that is left out of a part leaves its line empty. */
static void test_lines(void **state) {
    (void)state;
    char *text = kernel_source_expand(KERNEL_PART(kp_rows));
    assert_non_null(text);
    assert_non_null(strstr(text, "#define KP_ROWS_H\n\n"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expand), cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
