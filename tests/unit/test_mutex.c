/* test_mutex.c - mutexes with ranks: the order of locks is asserted in debug builds, and nothing else changes. */
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cond.h"
#include "base/log.h"
#include "base/mutex.h"

static Mutex outer, inner, other;

static void in_order(void) {
    mutex_lock(&outer);
    mutex_lock(&inner);
    mutex_unlock(&outer); /* any order of unlocking */
    mutex_unlock(&inner);
    lock_order_check(RANK_DATABASE);
}
static void out_of_order(void) {
    mutex_lock(&inner);
    mutex_lock(&outer);
}
static void same_rank(void) {
    mutex_lock(&inner);
    mutex_lock(&other);
}
static void database_lock_under_a_mutex(void) {
    mutex_lock(&outer);
    lock_order_check(RANK_DATABASE);
}
static void unlocked_twice(void) {
    mutex_lock(&outer);
    mutex_unlock(&outer);
    mutex_unlock(&outer);
}
static void waits_with_an_inner_lock(void) {
    pthread_cond_t c;
    cond_init(&c);
    mutex_lock(&outer);
    mutex_lock(&inner);
    (void)cond_wait_until(&c, &outer, clock_ns() + 1);
}
static void tries_out_of_order(void) {
    mutex_lock(&inner);
    if (mutex_try(&outer)) mutex_unlock(&outer);
    mutex_unlock(&inner);
}

/* Whether it ends the process. */
static bool aborts(void (*f)(void)) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)signal(SIGABRT, SIG_DFL); /* cmocka's handler would go on with the tests */
        (void)!freopen("/dev/null", "w", stderr);
        f();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_order(void **state) {
    (void)state;
    assert_false(aborts(in_order));
    assert_false(aborts(tries_out_of_order));
#ifdef STELE_DEBUG
    assert_true(aborts(out_of_order));
    assert_true(aborts(same_rank));
    assert_true(aborts(database_lock_under_a_mutex));
    assert_true(aborts(unlocked_twice));
    assert_true(aborts(waits_with_an_inner_lock));
#else
    (void)same_rank;
    (void)unlocked_twice;
    assert_false(aborts(out_of_order));
    assert_false(aborts(database_lock_under_a_mutex));
    assert_false(aborts(waits_with_an_inner_lock));
    assert_int_equal(sizeof(Mutex), sizeof(pthread_mutex_t));
#endif
}

static void test_recursive(void **state) {
    (void)state;
    Mutex m;
    assert_true(mutex_init_recursive(&m, RANK_DEV_RESIDENCY));
    mutex_lock(&m);
    mutex_lock(&m);
    assert_true(mutex_try(&m));
    for (int i = 0; i < 3; i++) mutex_unlock(&m);
    mutex_destroy(&m);
}

static void test_wait(void **state) {
    (void)state;
    pthread_cond_t c;
    cond_init(&c);
    mutex_lock(&outer);
    while (cond_wait_until(&c, &outer, clock_ns() + 1000)) {}
    assert_false(mutex_try(&outer)); /* it has been locked again */
    mutex_unlock(&outer);
    pthread_cond_destroy(&c);
}

int main(void) {
    if (!mutex_init(&outer, RANK_CALL_POOL) || !mutex_init(&inner, RANK_LOG) || !mutex_init(&other, RANK_LOG)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_recursive),
        cmocka_unit_test(test_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
