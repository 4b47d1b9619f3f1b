/* test_mem.c - accounts, blocks and arenas. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"

static void test_account_tree(void **state) {
    (void)state;
    MemAccount root, child;
    Err e = {0};
    mem_account_init(&root, NULL, "database", 1000, "memory_limit");
    mem_account_init(&child, &root, "query", 0, NULL);
    assert_int_equal(mem_charge(&child, 600, &e), ST_OK);
    assert_int_equal(mem_headroom(&child), 400);
    assert_int_equal(mem_charge(&child, 401, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_LIMIT_EXCEEDED);
    assert_non_null(strstr(e.hint, "memory_limit"));
    /* A refused charge changes nothing. */
    assert_int_equal(atomic_load(&child.used), 600);
    assert_int_equal(atomic_load(&root.used), 600);
    assert_true(mem_try_charge(&child, 400));
    mem_discharge(&child, 1000);
    assert_int_equal(atomic_load(&root.used), 0);
    assert_int_equal(atomic_load(&root.peak), 1000);
    mem_account_init(&child, NULL, "free", 0, NULL);
    assert_true(mem_headroom(&child) == INT64_MAX);
}

/* A block becomes smaller at the limit, also where that is another kind of block. */
static void test_shrink_at_limit(void **state) {
    (void)state;
    MemAccount a;
    Err e = {0};
    mem_account_init(&a, NULL, "database", 200000, "memory_limit");
    char *p = mem_alloc(&a, 150000, &e);
    assert_non_null(p);
    memset(p, 7, 150000);
    p = mem_realloc(&a, p, 150000, 75000, &e);
    assert_non_null(p);
    assert_int_equal(p[74999], 7);
    assert_int_equal(atomic_load(&a.used), 75000);
    mem_free(&a, p, 75000);
    assert_int_equal(atomic_load(&a.used), 0);
}

/* The message of a refused charge names the part that holds most. */
static void test_account_parts(void **state) {
    (void)state;
    MemAccount root, parts[2];
    Err e = {0};
    mem_account_init(&root, NULL, "database", 1000, "memory_limit");
    mem_account_init(&parts[0], &root, "tables", 0, NULL);
    mem_account_init(&parts[1], &root, "calls", 0, NULL);
    root.n_parts = 2;
    root.parts = parts;
    assert_int_equal(mem_charge(&parts[0], 200, &e), ST_OK);
    assert_int_equal(mem_charge(&parts[1], 300, &e), ST_OK);
    assert_int_equal(mem_charge(&parts[0], 501, &e), ST_ERROR);
    assert_string_equal(e.detail,
                        "Failed on a request of 501 bytes: 500 of 1000 bytes are in use, 300 of them by calls.");
    mem_discharge(&parts[0], 200);
    mem_discharge(&parts[1], 300);
    assert_int_equal(atomic_load(&root.used), 0);
}

/* What is charged below an account with a reserve may go so far beyond the limits above it; others may not, meanwhile
 * and after it. */
static void test_reserve(void **state) {
    (void)state;
    MemAccount root, child, leaf, other;
    Err e = {0};
    mem_account_init(&root, NULL, "database", 1000, "memory_limit");
    mem_account_init(&child, &root, "connection", 0, NULL);
    mem_account_init(&leaf, &child, "query", 0, NULL);
    mem_account_init(&other, &root, "connection", 0, NULL);
    atomic_store(&child.reserve, 100);
    assert_true(mem_try_charge(&other, 1000));
    assert_false(mem_try_charge(&other, 1));
    assert_int_equal(mem_headroom(&leaf), 0);
    assert_int_equal(mem_headroom(&other), 0);
    assert_true(mem_try_charge(&leaf, 60));
    assert_false(mem_try_charge(&child, 41));
    assert_true(mem_try_charge(&child, 40));
    mem_discharge(&child, 40);
    mem_discharge(&leaf, 60);
    atomic_store(&child.reserve, 0);
    assert_int_equal(mem_charge(&leaf, 1, &e), ST_ERROR);
    atomic_store(&root.reserve, INT64_MAX);
    assert_true(mem_try_charge(&other, 5000));
    mem_discharge(&other, 6000);
    assert_int_equal(atomic_load(&root.used), 0);
}

static void test_blocks(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5 << 20};
    MemAccount a;
    Err e = {0};
    mem_account_init(&a, NULL, "test", 0, NULL);
    for (int64_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *p = mem_calloc(&a, sizes[i], &e);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        for (int64_t k = 0; k < sizes[i]; k++) assert_int_equal(p[k], 0);
        if (sizes[i] >= 4 << 20) assert_int_equal((uintptr_t)p % (2 << 20), 0);
        memset(p, 7, (size_t)sizes[i]);
        for (int64_t j = 0; j < ARRAY_LEN(sizes); j++) {
            char *q = mem_alloc(&a, sizes[i], &e);
            memset(q, 9, (size_t)sizes[i]);
            q = mem_realloc(&a, q, sizes[i], sizes[j], &e);
            assert_non_null(q);
            for (int64_t k = 0; k < sizes[i] && k < sizes[j]; k++) {
                if (q[k] != 9) fail_msg("realloc lost byte %lld", (long long)k);
            }
            memset(q, 1, (size_t)sizes[j]);
            assert_int_equal(atomic_load(&a.used), sizes[i] + sizes[j]);
            mem_free(&a, q, sizes[j]);
        }
        mem_free(&a, p, sizes[i]);
        assert_int_equal(atomic_load(&a.used), 0);
    }
    mem_free(&a, NULL, 0);
    assert_null(mem_alloc(&a, -1, &e));
    assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    err_clear(&e);
    assert_null(mem_alloc(&a, INT64_MAX, &e));
    assert_int_equal(atomic_load(&a.used), 0);
}

/* Blocks that were freed serve again, zeroed to the end of what they may grow to; many and large ones are not kept. */
static void test_kept(void **state) {
    (void)state;
    enum { N = 100, SIZE = 3 << 20, MORE = SIZE + 1000 };
    MemAccount a;
    Err e = {0};
    char *block[N];
    mem_account_init(&a, NULL, "test", 0, NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            assert_non_null(block[i] = mem_alloc(&a, SIZE + i, &e));
            for (int64_t k = 0; k < SIZE + i; k += 509) assert_int_equal(block[i][k], 0);
            assert_non_null(block[i] = mem_realloc(&a, block[i], SIZE + i, MORE, &e));
            for (int64_t k = SIZE + i; k < MORE; k++) assert_int_equal(block[i][k], 0);
            memset(block[i], 5, MORE);
        }
        for (int i = 0; i < N; i++)
            for (int64_t k = 0; k < MORE; k += 4093) assert_int_equal(block[i][k], 5); /* nobody else has it */
        assert_int_equal(atomic_load(&a.used), (int64_t)N * MORE);
        for (int i = 0; i < N; i++) mem_free(&a, block[i], MORE);
        assert_int_equal(atomic_load(&a.used), 0);
    }
#if !defined(__SANITIZE_ADDRESS__)
    char *p = mem_alloc(&a, SIZE, &e);
    mem_free(&a, p, SIZE);
    char *q = mem_alloc_raw(&a, SIZE - 1, &e);
    assert_ptr_equal(p, q);
    mem_free(&a, q, SIZE - 1);
#endif
    static const int64_t grows[] = {2 << 20, 6 << 20, 40 << 20}; /* what has grown is on a huge page, or not kept */
    for (int i = 0; i < 3; i++)
        for (int k = i; k < 3; k++) {
            char *x = mem_alloc(&a, grows[i], &e);
            x = mem_realloc(&a, x, grows[i], grows[k], &e);
            memset(x, 5, (size_t)grows[k]);
            mem_free(&a, x, grows[k]);
            x = mem_calloc(&a, grows[k], &e);
            if (k > 0) assert_int_equal((uintptr_t)x % (2 << 20), 0);
            for (int64_t at = 0; at < grows[k]; at += 61) assert_int_equal(x[at], 0);
            mem_free(&a, x, grows[k]);
        }
}

/* Spans grow where they are, and are charged for what can be touched. */
static void test_spans(void **state) {
    (void)state;
    MemAccount a;
    Err e = {0};
    mem_account_init(&a, NULL, "test", 0, "memory_limit");
    int64_t most = INT64_C(1) << 34, small = 10;
    char *p = mem_span_new(&a, 100, &most, &e);
    assert_non_null(p);
    assert_int_equal(most, INT64_C(1) << 34);
    assert_int_equal(a.used, 100);
    for (int64_t had = 100, n; had < 9 << 20; had = n) {
        n = had * 3;
        assert_int_equal(mem_span_grow(&a, p, had, n, &e), ST_OK);
        assert_int_equal(a.used, n);
        for (int64_t k = had; k < n; k++)
            if (p[k]) fail_msg("byte %lld is not zero", (long long)k);
        memset(p + had, 5, (size_t)(n - had));
        if (n >= 9 << 20) {
            for (int64_t k = 100; k < n; k++)
                if (p[k] != 5) fail_msg("growth lost byte %lld", (long long)k);
            atomic_store(&a.limit, n + 99);
            assert_int_equal(mem_span_grow(&a, p, n, n + 100, &e), ST_ERROR);
            assert_string_equal(e.sqlstate, ERR_LIMIT_EXCEEDED);
            assert_non_null(strstr(e.hint, "memory_limit"));
            err_clear(&e);
            atomic_store(&a.limit, 0);
            mem_fail_at(1);
            assert_int_equal(mem_span_grow(&a, p, n, n + 8192, &e), ST_ERROR);
            assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
            err_clear(&e);
            assert_int_equal(a.used, n);
            mem_span_free(&a, p, n, most);
        }
    }
    assert_int_equal(a.used, 0);
    most = INT64_MAX; /* more addresses than there are */
    assert_non_null(p = mem_span_new(&a, 1 << 20, &most, &e));
    assert_in_range(most, 1 << 20, INT64_MAX / 4);
    mem_span_free(&a, p, 1 << 20, most);
    assert_non_null(p = mem_span_new(&a, 1 << 20, &small, &e));
    assert_int_equal(small, 1 << 20);
    mem_span_free(&a, p, 1 << 20, small);
    mem_span_free(&a, NULL, 0, 0);
    mem_fail_at(1);
    assert_null(mem_span_new(&a, 1 << 20, &small, &e));
    assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    err_clear(&e);
    assert_null(mem_span_new(&a, -1, &small, &e));
    assert_int_equal(a.used, 0);
}

static int64_t resident(char *p, int64_t bytes) {
    static unsigned char there[1 << 15];
    int64_t page = sysconf(_SC_PAGESIZE), n = 0;
    assert_true(bytes / page <= (int64_t)sizeof there);
    assert_int_equal(mincore(p, (size_t)bytes, there), 0);
    for (int64_t i = 0; i < bytes / page; i++) n += there[i] & 1;
    return n;
}
/* Spans that shrink give their pages back, and the account what they were charged; what comes there again is zero. */
static void test_span_shrinks(void **state) {
    (void)state;
    enum { MB = 1 << 20 };
    static const int64_t sizes[] = {3 * MB, 3 * MB - 5, 2 * MB + 4096, MB + 1, 4097, 100, 0};
    MemAccount a;
    Err e = {0};
    mem_account_init(&a, NULL, "test", 0, "memory_limit");
    const int64_t page = sysconf(_SC_PAGESIZE);
    int64_t most = INT64_C(1) << 30, had = 4 * MB;
    char *p = mem_span_new(&a, had, &most, &e);
    assert_non_null(p);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(p, 7, (size_t)had);
        assert_true(resident(p, 4 * MB) >= had / page);
        mem_span_shrink(&a, p, had, had); /* nothing */
        mem_span_shrink(&a, p, had, sizes[i]);
        assert_int_equal(a.used, sizes[i]);
        assert_true(resident(p, 4 * MB) <= (sizes[i] + page - 1) / page);
        for (int64_t k = 0; k < sizes[i]; k++)
            if (p[k] != 7) fail_msg("byte %lld was lost", (long long)k);
        if (i % 2) {
            assert_int_equal(mem_span_grow(&a, p, sizes[i], 4 * MB, &e), ST_OK);
            for (int64_t k = sizes[i]; k < 4 * MB; k++)
                if (p[k]) fail_msg("byte %lld is not zero", (long long)k);
        }
        had = i % 2 ? 4 * MB : sizes[i];
    }
    mem_span_free(&a, p, had, most);
    assert_int_equal(a.used, 0);
}
static void test_kept_is_trimmed(void **state) {
    (void)state;
    enum { N = 8, EACH = 1 << 20 };
    MemAccount a;
    void *p[N];
    mem_account_init(&a, NULL, "test", 0, NULL);
    mem_trim_kept(0);
    assert_int_equal(mem_kept(), 0);
    for (int i = 0; i < N; i++) assert_non_null(p[i] = mem_alloc(&a, EACH, NULL));
    for (int i = 0; i < N; i++) mem_free(&a, p[i], EACH);
    const int64_t all = mem_kept(); /* none with AddressSanitizer */
    assert_true(all == 0 || all == N * EACH);
    assert_int_equal(mem_trim_kept(N * EACH), 0);
    assert_int_equal(mem_trim_kept(3 * EACH + 5), all ? (N - 3) * EACH : 0);
    assert_int_equal(mem_trim_kept(0), all ? 3 * EACH : 0);
    assert_int_equal(mem_kept(), 0);
    assert_int_equal(a.used, 0);
}

/* A system that does not know how to populate pages, when a test wants one. */
static bool old_system;
int madvise(void *p, size_t n, int advice) {
    enum { POPULATE_WRITE = 23 };
    if (old_system && advice == POPULATE_WRITE) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, p, n, advice);
}
/* The system backs what was touched, all of it; bytes that are there stay. */
static void test_touch(void **state) {
    (void)state;
    enum { SIZE = 48 << 20, PART = 16 << 20 }; /* freed, blocks of this size go back to the system */
    int64_t page = sysconf(_SC_PAGESIZE);
    MemAccount a;
    Err e = {0};
    mem_account_init(&a, NULL, "test", 0, NULL);
    for (int old = 0; old < 2; old++) {
        old_system = old;
        char *p = mem_alloc(&a, SIZE, &e);
        assert_non_null(p);
        assert_int_equal(resident(p, SIZE), 0);
        p[PART + 5] = 1;
        p[2 * PART - 1] = 2;
        mem_touch(p + PART + 5, PART - 5); /* not from the beginning of a page on */
        assert_int_equal(resident(p + PART, PART), PART / page);
        assert_int_equal(resident(p + 2 * PART, PART), 0);
        assert_true(p[PART + 5] == 1 && p[2 * PART - 1] == 2 && p[PART + 4] == 0);
        mem_touch(p + 2 * PART - 1, 2); /* across a page's end */
        assert_true(resident(p + 2 * PART, PART) > 0 && p[2 * PART - 1] == 2 && p[2 * PART] == 0);
        mem_touch(p, 0);
        mem_touch(p, SIZE);
        assert_int_equal(resident(p, SIZE), SIZE / page);
        for (int64_t i = 0; i < SIZE; i++)
            if (p[i] != (i == PART + 5 ? 1 : i == 2 * PART - 1 ? 2 : 0))
                fail_msg("byte %lld was changed", (long long)i);
        mem_free(&a, p, SIZE);
        char *small = mem_calloc(&a, 3 * page + 7, &e); /* with neighbours on its pages */
        for (int64_t i = 0; i < 3 * page + 7; i++) small[i] = (char)i;
        mem_touch(small, 3 * page + 7);
        for (int64_t i = 0; i < 3 * page + 7; i++) assert_int_equal(small[i], (char)i);
        mem_free(&a, small, 3 * page + 7);
    }
    old_system = false;
    assert_int_equal(atomic_load(&a.used), 0);
}

static void test_failure_injection(void **state) {
    (void)state;
    MemAccount a;
    Err e = {0};
    mem_account_init(&a, NULL, "test", 0, NULL);
    mem_fail_at(2);
    void *p = mem_alloc(&a, 10, &e);
    assert_non_null(p);
    assert_null(mem_realloc(&a, p, 10, 100, &e)); /* the old block stays */
    assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    assert_int_equal(atomic_load(&a.used), 10);
    memset(p, 1, 10);
    void *q = mem_alloc(&a, 10, NULL);
    assert_non_null(q);
    mem_free(&a, p, 10);
    mem_free(&a, q, 10);
    mem_fail_at(0);
}

static int64_t hook_balance;
static void *hook_alloc(void *ctx, size_t n) {
    (void)ctx;
    hook_balance += (int64_t)n;
    return malloc(n);
}
static void hook_free(void *ctx, void *p, size_t n) {
    (void)ctx;
    hook_balance -= (int64_t)n;
    free(p);
}

static void test_hooks(void **state) {
    (void)state;
    MemHooks h = {hook_alloc, hook_free, NULL};
    mem_set_hooks(&h);
    for (int64_t n = 0; n < 300; n += 7) {
        char *p = mem_alloc(NULL, n, NULL);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, (size_t)n);
        assert_true(hook_balance > 0);
        mem_free(NULL, p, n);
        assert_int_equal(hook_balance, 0);
    }
    mem_set_hooks(NULL);
}

static char order[8];
static void note(void *arg) { strncat(order, arg, 1); }

static void test_arena(void **state) {
    (void)state;
    MemAccount acct;
    Err e = {0};
    mem_account_init(&acct, NULL, "test", 0, NULL);
    Arena *a = arena_new(&acct, &e);
    assert_non_null(a);
    for (int round = 0; round < 3; round++) {
        char *last = NULL;
        for (int64_t i = 0; i < 3000; i++) {
            int64_t n = i % 500 == 499 ? 100000 : i % 97;
            char *p = arena_alloc(a, n);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % 16, 0);
            assert_ptr_not_equal(p, last);
            memset(p, (int)i, (size_t)n);
            last = p;
        }
        char *big = arena_calloc(a, 3 << 20);
        assert_int_equal(arena_bytes(a), atomic_load(&acct.used));
        assert_int_equal(big[(3 << 20) - 1], 0);
        order[0] = 0;
        assert_int_equal(arena_on_release(a, note, (void *)(uintptr_t) "1"), ST_OK);
        assert_int_equal(arena_on_release(a, note, (void *)(uintptr_t) "2"), ST_OK);
        arena_reset(a);
        assert_string_equal(order, "21");
        assert_true(atomic_load(&acct.used) <= 4096 + (256 << 10));
        assert_int_equal(arena_bytes(a), atomic_load(&acct.used));
    }
    assert_string_equal(arena_strdup(a, "abc"), "abc");
    assert_string_equal(arena_strndup(a, "abc", 2), "ab");
    assert_string_equal(arena_strndup(a, NULL, 0), "");
    assert_string_equal(arena_printf(a, "%d-%s", 7, "x"), "7-x");
    VEC(int) v = {0};
    for (int i = 0; i < 1000; i++) assert_true(vec_push(a, &v, i));
    for (int i = 0; i < 1000; i++) assert_int_equal(v.items[i], i);
    assert_null(arena_alloc(a, INT64_MAX));
    assert_string_equal(e.sqlstate, ERR_OUT_OF_MEMORY);
    arena_free(a);
    arena_free(NULL);
    assert_int_equal(atomic_load(&acct.used), 0);

    mem_account_init(&acct, NULL, "small", 10000, "memory_limit");
    err_clear(&e);
    a = arena_new(&acct, &e);
    while (arena_alloc(a, 100)) {}
    assert_string_equal(e.sqlstate, ERR_LIMIT_EXCEEDED);
    arena_free(a);
    assert_int_equal(atomic_load(&acct.used), 0);
}

static void test_err(void **state) {
    (void)state;
    Err e = {0};
    err_detail(&e, "ignored");
    assert_string_equal(e.detail, "");
    assert_int_equal(err_at(&e, 5, ERR_SYNTAX, "first %d", 1), ST_ERROR);
    err_set(&e, ERR_INTERNAL, "second");
    assert_string_equal(e.message, "first 1");
    assert_string_equal(e.sqlstate, ERR_SYNTAX);
    assert_string_equal(e.context, "second");
    assert_int_equal(e.position, 5);
    /* Cut on a character boundary: 2-byte characters in a buffer of odd room. */
    char text[3000];
    for (int i = 0; i < 2998; i += 2) memcpy(text + i, "\xC3\xA9", 2);
    text[2998] = 0;
    err_clear(&e);
    err_set(&e, ERR_SYNTAX, "%s", text);
    assert_int_equal(strlen(e.message), 1022);
    assert_int_equal(err_set(NULL, ERR_SYNTAX, "x"), ST_ERROR);
    for (int i = 0; i < 100; i++) { /* the first ones and the last one stay */
        char last[64];
        err_context(&e, "line %d of a context that is too long", i);
        snprintf(last, sizeof last, "line %d of a context that is too long", i);
        assert_true(strlen(e.context) < sizeof e.context && strlen(e.context) >= strlen(last));
        assert_string_equal(e.context + strlen(e.context) - strlen(last), last);
    }
    assert_non_null(strstr(e.context, "line 0 of a context that is too long\nline 1 of"));
    assert_non_null(strstr(e.context, "too long\n...\nline "));
    for (int i = 0; i < 10; i++) err_context(&e, "%s", text);
    assert_true(strlen(e.context) < sizeof e.context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_account_tree),
        cmocka_unit_test(test_account_parts),
        cmocka_unit_test(test_shrink_at_limit),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_span_shrinks),
        cmocka_unit_test(test_kept_is_trimmed),
        cmocka_unit_test(test_touch),
        cmocka_unit_test(test_failure_injection),
        cmocka_unit_test(test_hooks),
        cmocka_unit_test(test_arena),
        cmocka_unit_test(test_err),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
