/* The functions of prelude/txn/kp_*.h that need no procedure, as the host's C: locks of calls and of statements, what
 * footprints are written to, additions to 16 bits. How whole kernels run is test_bulk's, and on CUDA's lanes
 * tests/lanes'. */
#include "unit.h"

#include <string.h>

#define OPS_SHARED 0
#define N_SUMS 1
#define N_LAST 8
#include "codegen/prelude/txn/kp_alone.h"

/* The parameters, as kp_params.h numbers them. */
static u64 kp[128];
static u64 error[2]; /* error word, stop flag */
static u64 address(const void *p) { return (u64)(uintptr_t)p; }
static int setup(void **state) {
    (void)state;
    memset(kp, 0, sizeof kp);
    memset(error, 0, sizeof error);
    kp[0] = address(error);
    return 0;
}

static void test_add_16(void **state) {
    (void)state;
    u32 word[2] = {0x7ffffff0u, 7};
    u16 half;
    ga_add_i16(address(word), 0x20);
    assert_int_equal(word[0], 0x7fff0010u); /* nothing goes over to the other half */
    ga_add_i16(address(word) + 2, 1);
    assert_int_equal(word[0], 0x80000010u);
    ga_add_i16(address(word) + 2, 0u - 1);
    memcpy(&half, (const char *)word + 2, sizeof half);
    assert_int_equal(half, 0x7fff);
    assert_int_equal(word[1], 7);
}

static void test_call_locks(void **state) {
    (void)state;
    /* calls 0 .. 2 use lock 0 one after the other; call 2 uses lock 1 as well */
    u32 counters[2] = {0, 0}, starts[] = {0, 1, 2, 4}, uses[] = {0, 0, 0, 1, 0, 2, 1, 0};
    const u64 c = address(counters), s = address(starts), u = address(uses);
    assert_int_equal(locks_state(c, s, 1, u, 0), LOCKS_READY);
    assert_int_equal(locks_state(c, s, 1, u, 1), 1);
    assert_int_equal(locks_state(c, s, 1, u, 2), 2);
    locks_leave(c, s, 1, u, 0, true);
    assert_int_equal(locks_state(c, s, 1, u, 1), LOCKS_READY);
    assert_int_equal(locks_state(c, s, 1, u, 2), 1);
    locks_leave(c, s, 1, u, 1, false); /* the virtual machine has to see to it */
    assert_int_equal(locks_state(c, s, 1, u, 2), LOCKS_LEAVE);
    locks_leave(c, s, 1, u, 2, false);
    assert_int_equal(counters[0], 1 | LOCK_POISON);
    assert_int_equal(counters[1], LOCK_POISON);
}

/* ---- locks by statement ---------------------------------------------------------------------------------------- */
static u32 uses[3][4], counters[3];
/* The call's uses: of items with hashes 1 .. 3, locks 0 .. 2, `ops` operations each, from ranks on. */
static void make_uses(u32 ops, u32 r0, u32 r1, u32 r2) {
    const u32 from[] = {r0, r1, r2};
    for (u32 i = 0; i < 3; i++) {
        uses[i][0] = item_name(i + 1);
        uses[i][1] = ops;
        uses[i][2] = i;
        uses[i][3] = from[i];
        counters[i] = 0;
    }
    PP_USED = address(uses);
    PP_COUNTERS = address(counters);
}
static void test_statement_locks(void **state) {
    (void)state;
    make_uses(2, 0, 1, 0);
    const u64 mask = locks_filter(kp, 0, 3);
    u64 wait = LOCK_NONE;
    u32 spilled = 0;
    assert_true(lock_acquire(kp, 0, 3, mask, 77, 0, false, &wait, 0, false) == LOCK_NONE); /* an item without a lock */
    assert_true(lock_acquire(kp, 0, 3, mask, 1, USE_WROTE, false, &wait, 0, false) == 0);
    assert_int_equal(uses[0][1], 2 | USE_HELD | USE_WROTE);
    assert_true(lock_acquire(kp, 0, 3, mask, 2, 0, false, &wait, 0, false) == LOCK_WAITS);
    assert_true(wait == 1);
    assert_int_equal(uses[1][1], 2); /* it is not held */
    counters[1] = 1;
    assert_true(lock_acquire(kp, 0, 3, mask, 2, 0, false, &wait, 0, false) == 1);
    assert_true(lock_reacquire(kp, 1, USE_WROTE) == 1);
    assert_int_equal(uses[1][1], 2 | USE_HELD | USE_WROTE);
    /* released behind the last operation */
    assert_true(lock_finish_op(kp, 0, false, &spilled) == 0);
    assert_int_equal(spilled, 0);
    assert_true(lock_finish_op(kp, 0, false, &spilled) == address(&counters[0]));
    assert_int_equal(spilled, 1);
    assert_int_equal(uses[0][1], USE_RELEASED);
    counters[0]++; /* the caller's */
    assert_true(lock_finish_op(kp, 0, false, &spilled) == 0);
    /* what is left is released at the end, each counter once */
    assert_true(locks_finish(kp, 0, 3, false) == LOCK_NONE);
    assert_int_equal(counters[0], 1);
    assert_int_equal(counters[1], 2);
    assert_int_equal(counters[2], 1);
    /* once more than the footprint said: the bulk is undone */
    assert_int_equal(error[1], 0);
    assert_true(lock_acquire(kp, 0, 3, mask, 1, 0, false, &wait, 0, false) == LOCK_STOP);
    assert_int_equal(error[1], STOP_OVERUSED);
}
static void test_all_locks(void **state) {
    (void)state;
    make_uses(1, 0, 2, 0);
    assert_true(locks_begin(kp, 0, 3) == 1);
    assert_true(locks_finish(kp, 0, 3, false) == 1); /* nothing is released before it was its turn everywhere */
    assert_int_equal(counters[0] + counters[2], 0);
    counters[1] = 2;
    assert_true(locks_begin(kp, 0, 3) == LOCK_NONE);
    assert_true(locks_finish(kp, 0, 3, false) == LOCK_NONE);
    assert_int_equal(counters[0], 1);
    assert_int_equal(counters[1], 3);
    assert_int_equal(counters[2], 1);
    /* a call that waits gives up when the launch stops */
    make_uses(1, 5, 0, 0);
    error[1] = 1;
    assert_false(lock_wait(kp, 0));
}
static void test_stop(void **state) {
    (void)state;
    stop_undo(kp, 3u << 8 | PF_KEY, 0, 2);
    stop_undo(kp, 9u << 8 | PF_NULL, 1, 4); /* the first one's code is kept */
    assert_true(error[1] >> 32 == (2u << STOP_PROC_SHIFT | 3u << 8 | PF_KEY));
    assert_int_equal(error[1] & 0xff, 1 << STOP_UNDO_BIT | 1 << STOP_UNKNOWN_BIT | 1 << STOP_SPILT_BIT);
    assert_true(failure_known(PROC_ERROR_KNOWN | 5) && failure_known(7u << 8 | PF_RAISED_PLAIN) &&
                !failure_known(7u << 8 | PF_KEY));
}

/* ---- footprints, without shared memory --------------------------------------------------------------------------- */
static void test_ops(void **state) {
    (void)state;
    u64 items[32] = {0}, counter = 0;
    u32 kinds[32] = {0};
    ops_sink ops = {.items = address(items), .uses = address(kinds), .room = 32, .counter = address(&counter)};
    for (u32 i = 0; i < 9; i++) put_first(&ops, 100 + i, 5, 2);
    assert_int_equal(counter, 2 * OPS_CHUNK); /* two pieces */
    assert_int_equal(ops.left, OPS_CHUNK - 1);
    assert_int_equal(items[8], 108);
    assert_int_equal(kinds[8], 5u << RK_KIND_BITS | 2);
    put_again(&ops, 3, 42, 5, 1);
    put_again(&ops, 3, 42, 5, 1); /* the same item: not again */
    put_again(&ops, 3, 43, 5, 1);
    assert_int_equal(ops.left, OPS_CHUNK - 3);
    assert_int_equal(kinds[9], 5u << RK_KIND_BITS | 1 | RK_AGAIN);
    assert_int_equal(items[10], 43);
    ops.room = 11; /* no more places: they are only counted */
    put_first(&ops, 1, 5, 2);
    assert_int_equal(items[11], 0);
    u64 sum[2] = {0, 0};
    sum_merge(address(sum), sum_abs(sum_abs(0, -7), 5));
    assert_true(sum[0] == 12 && sum[1] == 0);
    sum_merge(address(sum), ~U64C(0) - 3);
    assert_true(sum[1] == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_add_16, setup),
                                       cmocka_unit_test_setup(test_call_locks, setup),
                                       cmocka_unit_test_setup(test_statement_locks, setup),
                                       cmocka_unit_test_setup(test_all_locks, setup),
                                       cmocka_unit_test_setup(test_stop, setup),
                                       cmocka_unit_test_setup(test_ops, setup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
