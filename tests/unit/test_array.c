/* test_array.c - blobs of arrays: layout, text, order, sort keys, malformed literals. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "types/array.h"
#include "types/func.h"

static Arena *arena;

static Type named(const char *name) {
    Type t;
    Err e = {0};
    assert_int_equal(type_from_name(slice_of(name), 0, NULL, &t, &e), ST_OK);
    return t;
}

static Str parse(Type t, const char *text) {
    Str s;
    Err e = {0};
    if (array_from_text(t, slice_of(text), NULL, arena, &s, &e) != ST_OK) fail_msg("%s: %s", text, e.message);
    return s;
}

/* Text of a text read; its SQLSTATE when it is refused. */
static const char *round_trip(const char *type, const char *text) {
    Type t = named(type);
    Str s, out;
    Err e = {0};
    if (array_from_text(t, slice_of(text), NULL, arena, &s, &e) != ST_OK) return arena_strdup(arena, e.sqlstate);
    assert_true(array_ok(s, type_phys(type_element(t))));
    assert_int_equal(array_to_text(t, s, (TextForm){0}, arena, &out, &e), ST_OK);
    return arena_strndup(arena, out.ptr, out.len);
}

static void test_types(void **state) {
    (void)state;
    static const char *const names[][2] = {{"int4[]", "integer[]"}, {"bool[]", "boolean[]"},
                                           {"text[]", "text[]"},    {"numeric[]", "numeric[]"},
                                           {"uuid[]", "uuid[]"},    {"timestamptz[]", "timestamp with time zone[]"}};
    char buf[TYPE_NAME_MAX];
    for (int64_t i = 0; i < ARRAY_LEN(names); i++) {
        Type t = named(names[i][0]);
        assert_string_equal(type_name(t, &buf), names[i][1]);
        assert_string_equal(type_plain_name(t), names[i][1]);
        assert_int_equal(type_phys(t), PH_STR);
    }
    /* Every modifier survives the packing. */
    Type elements[] = {type_numeric(38, 37),
                       type_numeric(1, 0),
                       type_make(T_NUMERIC),
                       type_make(T_TIMESTAMP),
                       {.id = T_VARCHAR, .length = 10485760},
                       {.id = T_CHAR, .length = 7},
                       {.id = T_CHAR},
                       {.id = T_TIME, .precision = 3},
                       {.id = T_INTERVAL, .length = 0x1c08}};
    for (int64_t i = 0; i < ARRAY_LEN(elements); i++) {
        Type t = type_array_of(elements[i]);
        assert_true(t.id == T_ARRAY && t.length >= 0);
        assert_true(type_eq(type_element(t), elements[i]));
    }
    assert_string_equal(type_name(type_array_of(type_numeric(12, 2)), &buf), "numeric(12,2)[]");
    Type t;
    Err e = {0};
    assert_int_equal(type_from_name(slice_of("int4[][]"), 0, NULL, &t, &e), ST_OK); /* as many as a value has */
    assert_true(type_eq(t, named("int4[]")));
    assert_int_equal(type_from_name(slice_of("void[]"), 0, NULL, &t, &e), ST_ERROR);
}

static void test_layout(void **state) {
    (void)state;
    /* As array.h documents it for kernels. */
    int32_t cells[] = {7, -8, 9};
    uint8_t valid[] = {1, 0, 1};
    Str s;
    Err e = {0};
    assert_int_equal(array_build(arena, PH_I32, 3, cells, NULL, &s, &e), ST_OK);
    ArrayHead h;
    memcpy(&h, s.ptr, sizeof h);
    assert_true(h.n == 3 && h.phys == PH_I32 && !h.has_nulls && h.data == 16 && h.bytes == 28 && s.len == 28);
    assert_memory_equal(s.ptr + 16, cells, 12);
    assert_int_equal(array_build(arena, PH_I32, 3, cells, valid, &s, &e), ST_OK);
    memcpy(&h, s.ptr, sizeof h);
    assert_true(h.has_nulls && h.data == 32 && h.bytes == 44);
    assert_memory_equal(s.ptr + 16, "\1\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_memory_equal(s.ptr + 36, "\0\0\0\0", 4); /* what was NULL is zero */
    Str texts[] = {str_make("ab", 2), str_make("", 0), str_make("xyz", 3)};
    assert_int_equal(array_build(arena, PH_STR, 3, texts, valid, &s, &e), ST_OK);
    memcpy(&h, s.ptr, sizeof h);
    uint32_t ends[3];
    memcpy(ends, s.ptr + h.data, sizeof ends);
    assert_true(ends[0] == 2 && ends[1] == 2 && ends[2] == 5 && h.bytes == 32 + 12 + 5);
    assert_memory_equal(s.ptr + 44, "abxyz", 5);
    /* anywhere in memory */
    char *p = arena_alloc(arena, s.len + 1);
    memcpy(p + 1, s.ptr, s.len);
    ArrayView v = array_view(str_make(p + 1, s.len));
    Str x;
    array_get(&v, 2, &x);
    assert_true(v.n == 3 && v.phys == PH_STR && array_is_null(&v, 1) && str_eq(x, texts[2]));
    assert_int_equal(array_view(str_make("", 0)).n, 0);
    assert_int_equal(array_build(arena, PH_BOOL, INT64_C(1) << 40, cells, NULL, &s, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_PROGRAM_LIMIT);
}

static void test_canonical(void **state) {
    (void)state;
    Type f8 = named("float8[]"), f4 = named("float4[]");
    assert_true(str_eq(parse(f8, "{0,NaN}"), parse(f8, "{-0,nan}")));
    assert_true(str_eq(parse(f4, "{0,NaN}"), parse(f4, "{-0,nan}")));
    assert_true(str_eq(parse(named("text[]"), "{a,NULL}"), parse(named("text[]"), " { \"a\" , null } ")));
    assert_false(str_eq(parse(named("text[]"), "{\"\"}"), parse(named("text[]"), "{NULL}")));
    assert_false(str_eq(parse(named("text[]"), "{}"), parse(named("text[]"), "{NULL}")));
    /* dimensions that say nothing are not kept */
    assert_true(str_eq(parse(named("int4[]"), "[1:2]={1,2}"), parse(named("int4[]"), "{1,2}")));
    assert_true(str_eq(parse(named("int4[]"), "{}"), parse(named("int4[]"), "{ }")));
    assert_false(str_eq(parse(named("int4[]"), "[0:1]={1,2}"), parse(named("int4[]"), "{1,2}")));
    assert_false(str_eq(parse(named("int4[]"), "{{1,2}}"), parse(named("int4[]"), "{{1},{2}}")));
}

/* Slices are as if built anew. */
static void check_slice(const char *type, const char *from, int32_t n, const int32_t *lower, const int32_t *upper,
                        const char *want) {
    Str part;
    Err e = {0};
    assert_int_equal(array_slice(arena, parse(named(type), from), n, lower, upper, &part, &e), ST_OK);
    assert_true(str_eq(part, parse(named(type), want)));
    assert_true(array_ok(part, type_phys(type_element(named(type)))));
}
static void test_slices(void **state) {
    (void)state;
    check_slice("int4[]", "{1,NULL,3,4}", 1, (int32_t[]){3}, (int32_t[]){4}, "{3,4}");
    check_slice("int4[]", "{1,NULL,3,4}", 1, (int32_t[]){0}, (int32_t[]){INT32_MAX}, "{1,NULL,3,4}");
    check_slice("text[]", "{a,NULL,bcd,e}", 1, (int32_t[]){2}, (int32_t[]){3}, "{NULL,bcd}");
    check_slice("text[]", "[-3:-2]={a,b}", 1, (int32_t[]){INT32_MIN}, (int32_t[]){INT32_MAX}, "{a,b}");
    check_slice("text[]", "{{a,b,c},{d,NULL,f}}", 2, (int32_t[]){1, 2}, (int32_t[]){2, 3}, "{{b,c},{NULL,f}}");
    check_slice("text[]", "{{a,b,c},{d,NULL,f}}", 1, (int32_t[]){2}, (int32_t[]){5}, "{{d,NULL,f}}");
    check_slice("int4[]", "{{1,2}}", 1, (int32_t[]){2}, (int32_t[]){2}, "{}");
    check_slice("int4[]", "{1,2}", 2, (int32_t[]){1, 1}, (int32_t[]){1, 1}, "{}");
    check_slice("int4[]", "{}", 1, (int32_t[]){1}, (int32_t[]){1}, "{}");
}

static void test_text(void **state) {
    (void)state;
    assert_string_equal(round_trip("int4[]", " { 1 , -2,NULL } "), "{1,-2,NULL}");
    assert_string_equal(round_trip("int4[]", "[1:2]={3,4}"), "{3,4}");
    assert_string_equal(round_trip("text[]", "{a b,\"c\\\"d\",\\\\,\"\",\"null\",x\\,y}"),
                        "{\"a b\",\"c\\\"d\",\"\\\\\",\"\",\"null\",\"x,y\"}");
    assert_string_equal(round_trip("text[]", "{nullx,\\null}"), "{nullx,\"null\"}");
    assert_string_equal(round_trip("bytea[]", "{\"\\\\x00ff\"}"), "{\"\\\\x00ff\"}");
    assert_string_equal(round_trip("timestamp[]", "{2020-01-01}"), "{\"2020-01-01 00:00:00\"}");
    static const char *const bad[] = {"",
                                      "1",
                                      "{",
                                      "}",
                                      "{1",
                                      "{1,",
                                      "{1,}",
                                      "{,}",
                                      "{,1}",
                                      "{1 2}",
                                      "{1}x",
                                      "{1}{",
                                      "{1{}",
                                      "{\"",
                                      "{\"a",
                                      "{\"a\"b}",
                                      "{\\",
                                      "{a\\",
                                      "[1:2]",
                                      "[1:2]=",
                                      "[1:2]={1}",
                                      "[1]={1,2}",
                                      "[",
                                      "[1",
                                      "[1:",
                                      "[1:1",
                                      "[1:1]1}",
                                      "[x]={1}",
                                      "{1,2}}",
                                      "=",
                                      "[2:3]={{1,2}}",
                                      "{{1},2}",
                                      "{{1,2},{3}}",
                                      "{{},{}}"};
    for (int64_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_string_equal(round_trip("int4[]", bad[i]), "22P02");
    }
    assert_string_equal(round_trip("int4[]", "[99999999999:1]={}"), "2202E");
    assert_string_equal(round_trip("int4[]", "{{{{{{{1}}}}}}}"), "54000");
    assert_string_equal(round_trip("int4[]", "[2147483647:2147483647]={1}"), "54000");
    assert_string_equal(round_trip("int4[]", "{ { 1 , 2 } , {NULL,4} }"), "{{1,2},{NULL,4}}");
    assert_string_equal(round_trip("int4[]", "[2:3]={1,2}"), "[2:3]={1,2}");
    assert_string_equal(round_trip("text[]", "[1:2][-1:-1]={{a},{\"{\"}}"), "[1:2][-1:-1]={{a},{\"{\"}}");
    assert_string_equal(round_trip("int4[]", "[1:1][1:1]={{1}}"), "{{1}}");
    assert_string_equal(round_trip("int4[]", "[3:1]={}"), "2202E");
    assert_string_equal(round_trip("int2[]", "{99999}"), "22003");
    assert_string_equal(round_trip("date[]", "{2020-02-30}"), "22008");
    assert_string_equal(round_trip("varchar[]", "{abc}"), "{abc}");
}

static uint64_t seed = 42;
static uint32_t rnd(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(seed >> 33) % n;
}

/* Random bytes out of what matters: never a crash, and what is accepted has a text that reads back as the same bytes.
 */
static void test_fuzz(void **state) {
    (void)state;
    static const char alphabet[] = "{}{},,\"\"\\\\ \t\nNULLnull[]:=0123aAx-.";
    static const char *const types[] = {"text[]", "int4[]", "float8[]", "bytea[]", "bool[]"};
    int64_t accepted = 0;
    for (int i = 0; i < 200000; i++) {
        char text[40];
        uint32_t n = rnd(24);
        bool braces = rnd(4) != 0;
        for (uint32_t k = 0; k < n; k++) text[k] = alphabet[rnd(sizeof alphabet - 1)];
        if (braces && n > 1) text[0] = '{', text[n - 1] = '}';
        Type t = named(types[rnd(5)]);
        Str s, out, again;
        Err e = {0};
        if (array_from_text(t, (Slice){text, n}, NULL, arena, &s, &e) == ST_OK) {
            accepted++;
            assert_true(array_ok(s, type_phys(type_element(t))));
            assert_int_equal(array_to_text(t, s, (TextForm){0}, arena, &out, &e), ST_OK);
            assert_int_equal(array_from_text(t, (Slice){out.ptr, out.len}, NULL, arena, &again, &e), ST_OK);
            assert_true(str_eq(s, again));
        } else {
            assert_non_null(strstr("22P02 54000 22003 22023 2202E", e.sqlstate));
        }
        if (i % 1000 == 0) arena_reset(arena);
    }
    assert_true(accepted > 1000);
}

static void test_damaged(void **state) {
    (void)state;
    Str s = parse(named("text[]"), "[0:1][1:2]={{a,NULL},{bcd,e}}");
    assert_true(array_ok(s, PH_STR));
    assert_false(array_ok(s, PH_I32));
    for (uint32_t n = 0; n < s.len; n++) assert_false(array_ok(str_make(s.ptr, n), PH_STR));
    char *p = arena_alloc(arena, s.len);
    for (uint32_t i = 0; i < s.len; i++) { /* whatever is accepted can be read */
        memcpy(p, s.ptr, s.len);
        p[i] = (char)(p[i] ^ 0x41);
        Str d = str_make(p, s.len);
        if (!array_ok(d, PH_STR)) continue;
        ArrayView v = array_view(d);
        for (int64_t k = 0; k < v.n; k++) {
            Str x;
            array_get(&v, k, &x);
            assert_true(x.ptr >= p && x.ptr + x.len <= p + s.len);
        }
    }
}

static int sign(int c) { return (c > 0) - (c < 0); }

/* In ascending order; array_cmp and the sort keys' bytes agree, and keys give the array back. */
static void check_order(const char *type, int64_t n, const char *const *texts) {
    Type t = named(type);
    int64_t count;
    const FuncDef *table = func_table(&count), *key = NULL, *back = NULL;
    for (int64_t i = 0; i < count; i++) {
        if (strcmp(table[i].name, "array_sort_key") == 0) key = &table[i];
        if (strcmp(table[i].name, "array_from_sort_key") == 0) back = &table[i];
    }
    assert_true(key && back);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            Value a = {.type = t, .u.str = parse(t, texts[i])}, b = {.type = t, .u.str = parse(t, texts[j])}, ka, kb, r;
            Err e = {0};
            int want = i < j ? -1 : i > j;
            assert_int_equal(sign(array_cmp(a.u.str, b.u.str)), want);
            assert_int_equal(sign(value_cmp(&a, &b)), want);
            assert_int_equal(func_eval(key, NULL, NULL, arena, type_make(T_BYTEA), 1, &a, &ka, &e), ST_OK);
            assert_int_equal(func_eval(key, NULL, NULL, arena, type_make(T_BYTEA), 1, &b, &kb, &e), ST_OK);
            assert_int_equal(sign(str_cmp(ka.u.str, kb.u.str)), want);
            assert_int_equal(func_eval(back, NULL, NULL, arena, t, 1, &ka, &r, &e), ST_OK);
            assert_true(str_eq(r.u.str, a.u.str));
        }
}
#define ORDER(type, ...)                            \
    do {                                            \
        const char *const texts[] = {__VA_ARGS__};  \
        check_order(type, ARRAY_LEN(texts), texts); \
    } while (0)
static void test_order(void **state) {
    (void)state;
    ORDER("int4[]", "{}", "{-300}", "{-1}", "{0}", "{0,0}", "{0,NULL}", "{1}", "{256}", "{NULL}", "{NULL,1}",
          "{NULL,NULL}");
    ORDER("int4[]", "{1}", "[-5:-4]={1,2}", "[0:1]={1,2}", "{1,2}", "[2:3]={1,2}", "[0:0][1:2]={{1,2}}", "{{1,2}}",
          "[1:1][2:3]={{1,2}}", "{{1},{2}}", "{{{1,2}}}", "{1,2,0}", "[0:0]={2}");
    ORDER("text[]", "{a}", "[-1:0]={a,b}", "{a,b}", "{{a},{b}}", "{b}");
    ORDER("int8[]", "{-9223372036854775808}", "{-1}", "{9223372036854775807}");
    ORDER("int2[]", "{-2}", "{-1,5}", "{3}", "{300}");
    ORDER("bool[]", "{f}", "{f,f}", "{t}", "{NULL}");
    ORDER("text[]", "{}", "{\"\"}", "{\"\",a}", "{a}", "{a,b}", "{ab}", "{b}", "{NULL}");
    ORDER("bytea[]", "{\"\\\\x\"}", "{\"\\\\x00\"}", "{\"\\\\x00\",\"\\\\x\"}", "{\"\\\\x0000\"}", "{\"\\\\x0001\"}",
          "{\"\\\\x01\"}", "{\"\\\\xff\"}");
    ORDER("float8[]", "{-Infinity}", "{-1e300}", "{-1.5}", "{0}", "{1e-300}", "{2}", "{Infinity}", "{NaN}", "{NULL}");
    ORDER("float4[]", "{-1.5}", "{0}", "{0.5,1}", "{NaN}");
    ORDER("numeric[]", "{-1000.5}", "{-1}", "{0}", "{0.0001}", "{99999999999999999999}");
    ORDER("date[]", "{-infinity}", "{1999-12-31}", "{2000-01-01}", "{infinity}");
    ORDER("uuid[]", "{00112233-4455-6677-8899-aabbccddeeff}", "{ff112233-4455-6677-8899-aabbccddeeff}");
}

/* A function of arrays of one type refuses other elements itself, whoever calls it. */
static void test_wrong_elements(void **state) {
    (void)state;
    int64_t count, tried = 0;
    const FuncDef *table = func_table(&count);
    const Value uuids = {.type = named("uuid[]"),
                         .u.str = parse(named("uuid[]"), "{00112233-4455-6677-8899-aabbccddeeff}")};
    for (int64_t i = 0; i < count; i++) {
        Value args[8] = {0}, r;
        bool some = false;
        Err e = {0};
        for (int k = 0; k < table[i].nargs; k++) {
            args[k].type = func_arg_type(&table[i], k);
            if (type_is_json(args[k].type)) args[k].u.str = str_make("{\"a\": 1}", 8);
            else if (args[k].type.id == T_TEXT) args[k].u.str = str_make("delete_key", 10);
            else if (table[i].args[k] & FUNC_ARRAY_OF) some = true, args[k] = uuids;
        }
        if (!some || func_of_catalog(&table[i])) continue; /* these are the session's */
        tried++;
        if (func_eval(&table[i], NULL, NULL, arena, type_make(T_JSONB), table[i].nargs, args, &r, &e) == ST_OK)
            fail_msg("%s takes an array of others", table[i].name);
        assert_string_equal(e.sqlstate, "XX000");
    }
    assert_true(tried >= 20);
}

static int setup(void **state) {
    (void)state;
    return (arena = arena_new(NULL, NULL)) ? 0 : -1;
}
static int teardown(void **state) {
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),   cmocka_unit_test(test_layout),         cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_text),    cmocka_unit_test(test_wrong_elements), cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_order),          cmocka_unit_test(test_slices),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
