/* test_bytes.c - what is written comes back, and a reader stops at the end. */
#include "unit.h"

#include "base/bytes.h"
#include "base/delta.h"
#include "unit_random.h"

static Arena *arena;

static void test_round_trip(void **state) {
    (void)state;
    Err e = {0};
    BytesOut o = {.e = &e};
    bytes_put_bool(&o, true);
    bytes_put_i64(&o, -7);
    bytes_put_f64(&o, 0.5);
    bytes_put_text(&o, "text");
    bytes_put_text(&o, NULL);
    bytes_put_block(&o, "a\0b", 3);
    bytes_put_padding(&o, 64);
    assert_false(o.failed);
    assert_int_equal(o.len % 64, 0);
    BytesIn in = {.p = o.p, .len = o.len, .arena = arena};
    int64_t n;
    assert_true(bytes_get_bool(&in));
    assert_int_equal(bytes_get_i64(&in), -7);
    assert_true(bytes_get_f64(&in) == 0.5);
    assert_string_equal(bytes_get_text(&in, false), "text");
    assert_null(bytes_get_text(&in, true));
    assert_memory_equal(bytes_get_block(&in, &n), "a\0b", 3);
    assert_int_equal(n, 3);
    assert_false(in.failed);
    while (in.at < in.len) assert_int_equal(in.p[in.at++], 0);
    bytes_out_release(&o);
    assert_null(o.p);
}

/* Whatever is asked of bytes that are too few or no such thing: the reader fails, and gives what is safe. */
static void test_damage(void **state) {
    (void)state;
    static const char bytes[16] = {2, 0, 0, 0, 0, 0, 0, 0, 'a', 0, 'b'};
    int64_t n;
    BytesIn in = {.p = bytes, .len = 16, .arena = arena};
    assert_false(bytes_get_bool(&in)); /* 2 */
    assert_true(in.failed);
    assert_int_equal(bytes_get_i64(&in), 0); /* stays failed */
    in = (BytesIn){.p = bytes, .len = 16, .arena = arena};
    assert_int_equal(bytes_get_count(&in, 1), 0);
    assert_true(in.failed);
    in = (BytesIn){.p = bytes, .len = 16, .arena = arena};
    assert_string_equal(bytes_get_text(&in, false), ""); /* a NUL inside */
    assert_true(in.failed);
    in = (BytesIn){.p = bytes, .len = 9, .arena = arena};
    assert_string_equal(bytes_get_block(&in, &n), ""); /* 2 bytes, of which 1 is there */
    assert_int_equal(n, 0);
    assert_true(in.failed);
    in = (BytesIn){.p = bytes, .len = 7, .arena = arena};
    assert_int_equal(bytes_get_i64(&in), 0);
    assert_true(in.failed);
}

static void test_short(void **state) {
    (void)state;
    static const int64_t numbers[] = {0,     1,    -1,        63,        -64,       64,        -65,
                                      -8192, 8191, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1};
    Err e = {0};
    BytesOut o = {.e = &e};
    for (int i = 0; i < ARRAY_LEN(numbers); i++) {
        const int64_t at = o.len;
        bytes_put_short(&o, numbers[i]);
        if (numbers[i] >= -64 && numbers[i] < 64) assert_int_equal(o.len - at, 1);
    }
    BytesIn in = {.p = o.p, .len = o.len};
    for (int i = 0; i < ARRAY_LEN(numbers); i++) assert_true(bytes_get_short(&in) == numbers[i]);
    assert_false(in.failed);
    assert_int_equal(in.at, in.len);
    assert_int_equal(bytes_get_short(&in), 0); /* there is no more */
    assert_true(in.failed);
    in = (BytesIn){.p = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", .len = 12}; /* it does not end */
    assert_int_equal(bytes_get_short(&in), 0);
    assert_true(in.failed);
    in = (BytesIn){.p = "\x06", .len = 1}; /* 3 */
    assert_int_equal(bytes_get_short_count(&in, 2), 0);
    assert_true(in.failed);
    bytes_out_release(&o);
}

/* No memory: the writer fails once and takes no more; what it has is given back. */
static void test_no_memory(void **state) {
    (void)state;
    Err e = {0};
    MemAccount acct;
    mem_account_init(&acct, NULL, "small", 5000, "memory_limit");
    BytesOut o = {.acct = &acct, .e = &e};
    static const char block[4096];
    bytes_put(&o, block, 4096);
    assert_false(o.failed);
    bytes_put(&o, block, 1);
    assert_true(o.failed);
    assert_string_equal(e.sqlstate, ERR_LIMIT_EXCEEDED);
    bytes_put_i64(&o, 1);
    assert_int_equal(o.len, 4096);
    bytes_out_release(&o);
    assert_int_equal(atomic_load(&acct.used), 0);
}

/* ---- differences ---- */
enum { RUN = 20000 };
static int64_t difference(const char *from, int64_t n_from, const char *to, int64_t n_to) {
    Err e = {0};
    BytesOut o = {.e = &e}, again = {.e = &e};
    delta_put(&o, from, n_from, to, n_to);
    BytesIn in = {.p = o.p, .len = o.len};
    assert_true(delta_apply(&in, from, n_from, &again) && !again.failed);
    assert_int_equal(again.len, n_to);
    assert_memory_equal(again.p, to, (size_t)n_to);
    const int64_t len = o.len;
    for (int i = 0; i < 200; i++) { /* damage is found out, or gives other bytes */
        BytesIn bad = {.p = o.p, .len = i % 2 ? o.len : rnd_below(o.len)};
        const int64_t at = rnd_below(o.len);
        o.p[at] = (char)(o.p[at] ^ 1 << rnd_below(8));
        again.len = 0;
        (void)delta_apply(&bad, from, n_from, &again);
        o.p[at] = (char)rnd();
    }
    bytes_out_release(&o);
    bytes_out_release(&again);
    return len;
}
static void test_difference(void **state) {
    (void)state;
    static char from[RUN], to[RUN + 1000];
    for (int i = 0; i < 300; i++) {
        for (int k = 0; k < RUN; k++) from[k] = (char)(i % 2 ? rnd() : rnd_below(2) * (k % 300 > 250));
        int64_t n = 0, at = 0;
        for (int edits = (int)rnd_below(6); edits >= 0; edits--) { /* some bytes, then new ones, others left out */
            const int64_t some = rnd_below(RUN / 4), added = rnd_below(100), left_out = rnd_below(60);
            const int64_t copied = MIN_OF(some, RUN - at);
            memcpy(to + n, from + at, (size_t)copied);
            n += copied;
            at += copied;
            for (int64_t k = 0; k < added; k++) to[n++] = (char)rnd();
            at = MIN_OF(at + left_out, (int64_t)RUN);
        }
        memcpy(to + n, from + at, (size_t)(RUN - at));
        n += RUN - at;
        const int64_t bytes = difference(from, RUN, to, n);
        if (i % 2) assert_true(bytes < 6 * (100 + 100 + 40) + 40);
        (void)difference(from, rnd_below(RUN), to, rnd_below(n));
    }
    (void)difference("", 0, "some", 4);
    (void)difference("some", 4, "", 0);
}

int main(void) {
    Err e = {0};
    arena = arena_new(NULL, &e);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_damage),     cmocka_unit_test(test_short),
        cmocka_unit_test(test_no_memory),  cmocka_unit_test(test_difference),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_free(arena);
    return failed;
}
