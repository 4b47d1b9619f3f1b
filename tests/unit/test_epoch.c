/* test_epoch.c - pins and what they hold back: nested, narrowed, copied, released elsewhere; bounded work; out of
 * memory; readers and a writer at once. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/epoch.h"

typedef struct Object {
    EpochNode node;
    int64_t value, twice;   /* twice == 2 * value until it is freed */
    struct Object *retires; /* when it is freed */
    EpochDomain *domain;
} Object;
static _Atomic int64_t freed;

static void object_free(EpochNode *n) {
    Object *o = (Object *)(void *)n;
    if (o->retires) epoch_retire(o->domain, &o->retires->node, 1, object_free);
    o->twice = -1;
    free(o);
    freed++;
}
static Object *object_new(EpochDomain *d, int64_t value) {
    Object *o = calloc(1, sizeof *o);
    assert_non_null(o);
    o->node.birth = epoch_now(d);
    o->value = value;
    o->twice = 2 * value;
    o->domain = d;
    return o;
}
static void retire(EpochDomain *d, Object *o, int64_t bytes) { epoch_retire(d, &o->node, bytes, object_free); }
/* One that lives for exactly one epoch, which it returns. */
static uint64_t one_epoch(EpochDomain *d, int64_t bytes) {
    uint64_t birth = epoch_boundary_begin(d);
    Object *o = object_new(d, 1);
    o->node.birth = birth;
    epoch_boundary_end(d);
    epoch_boundary_begin(d);
    retire(d, o, bytes);
    epoch_boundary_end(d);
    return birth;
}
static EpochStats stats(EpochDomain *d) {
    EpochStats s;
    Err e = {0};
    assert_int_equal(epoch_verify(d, &e), ST_OK);
    epoch_stats(d, &s);
    return s;
}
static void reclaim(EpochDomain *d) {
    while (epoch_reclaim(d, EPOCH_BATCH)) {}
}

static MemAccount root;
static int setup(void **state) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    EpochDomain *d = NULL;
    freed = 0;
    if (epoch_domain_new(&root, &d, NULL) != ST_OK) return 1;
    *state = d;
    return 0;
}
static int teardown(void **state) {
    EpochDomain *d = *state;
    epoch_domain_free(d);
    return atomic_load(&root.used) != 0;
}
static EpochSlot *slot(EpochDomain *d, int64_t session) {
    EpochSlot *s = NULL;
    Err e = {0};
    assert_int_equal(epoch_register(d, session, &s, &e), ST_OK);
    return s;
}

static void test_without_pins(void **state) {
    EpochDomain *d = *state;
    uint64_t before = epoch_now(d);
    retire(d, object_new(d, 1), 100);
    assert_int_equal(stats(d).waiting, 1);
    assert_int_equal(stats(d).waiting_bytes, 100);
    assert_false(epoch_reclaim(d, EPOCH_BATCH));
    assert_int_equal(freed, 1);
    assert_int_equal(stats(d).waiting_bytes, 0);
    assert_int_equal(stats(d).freed_bytes, 100);
    assert_true(epoch_now(d) > before); /* the step that it dies with is made here */
}

static void test_pin_holds(void **state) {
    EpochDomain *d = *state;
    EpochSlot *a = slot(d, 1), *b = slot(d, 2);
    epoch_pin(a, "statement", 0);
    retire(d, object_new(d, 1), 1);
    reclaim(d);
    assert_int_equal(freed, 0);
    /* A pin that came later does not see it. */
    epoch_pin(b, "statement", 0);
    assert_true(epoch_unpin(a));
    reclaim(d);
    assert_int_equal(freed, 1);
    assert_false(epoch_unpin(b));
    epoch_unregister(a);
    epoch_unregister(b);
}

/* What a boundary replaces is dead for those who pin after it, and not held by them. */
static void test_boundary(void **state) {
    enum { MANY = 3 * EPOCH_BATCH };
    EpochDomain *d = *state;
    EpochSlot *a = slot(d, 1), *b = slot(d, 2);
    Object *o = object_new(d, 1);
    uint64_t opens = epoch_boundary_begin(d);
    assert_int_equal(epoch_pin(a, "statement", 0), opens - 1);
    retire(d, o, 1);
    for (int i = 1; i < MANY; i++) retire(d, object_new(d, 1), 1);
    int rounds = 0; /* the boundary is in progress: no step, nothing to look at, nothing is freed */
    while (epoch_reclaim(d, EPOCH_BATCH)) assert_true(++rounds < MANY);
    reclaim(d);
    assert_int_equal(epoch_now(d), opens - 1);
    epoch_boundary_end(d);
    assert_int_equal(epoch_pin(b, "statement", 0), opens);
    reclaim(d);
    assert_int_equal(freed, 0);
    epoch_unpin(a);
    reclaim(d);
    assert_int_equal(freed, MANY);
    epoch_unpin(b);
    epoch_unregister(a);
    epoch_unregister(b);
}

/* A pin of a cursor: thousands of objects live and die after it, and it holds those that were alive at it. */
static void test_long_pin(void **state) {
    EpochDomain *d = *state;
    EpochSlot *cursor = slot(d, 7), *other = slot(d, 8);
    Object *alive = object_new(d, 1);
    uint64_t p = epoch_pin(cursor, "cursor", 5);
    retire(d, alive, 1000);
    for (int i = 0; i < 100; i++) one_epoch(d, 10);
    reclaim(d);
    assert_int_equal(freed, 0); /* open: as with classic epochs */
    assert_int_equal(stats(d).waiting_bytes, 2000);
    assert_int_equal(stats(d).oldest.held_bytes, 2000);
    epoch_pin_narrow(cursor);
    reclaim(d);
    assert_int_equal(stats(d).waiting, 101); /* it may have seen each of them */
    uint64_t q = epoch_now(d);
    for (int i = 0; i < 10000; i++) {
        epoch_pin(other, "statement", 0);
        one_epoch(d, 10);
        epoch_unpin(other);
        epoch_reclaim(d, EPOCH_BATCH);
        assert_true(stats(d).waiting <= 103);
    }
    reclaim(d);
    EpochStats s = stats(d);
    assert_int_equal(s.waiting, 101);
    assert_int_equal(s.oldest.session, 7);
    assert_string_equal(s.oldest.label, "cursor");
    assert_int_equal(s.oldest.since_ns, 5);
    assert_int_equal(s.oldest.lower, p);
    assert_int_equal(s.oldest.upper, q);
    assert_true(epoch_unpin(cursor));
    reclaim(d);
    assert_int_equal(stats(d).waiting, 0);
    epoch_unregister(cursor);
    epoch_unregister(other);
}

static void test_nested(void **state) {
    EpochDomain *d = *state;
    EpochSlot *s = slot(d, 1);
    uint64_t p = epoch_pin(s, "statement", 0);
    assert_true(epoch_is_open(s));
    epoch_pin_narrow(s);
    assert_false(epoch_is_open(s));
    Object *later = object_new(d, 1);
    uint64_t b = one_epoch(d, 1); /* not seen */
    assert_true(b > p);
    later->node.birth = epoch_now(d);
    assert_int_equal(epoch_pin(s, "inner", 0), p);
    assert_true(epoch_is_open(s));
    epoch_pin_narrow(s); /* nothing: it is not the outermost */
    assert_true(epoch_is_open(s));
    retire(d, later, 1);
    reclaim(d);
    assert_int_equal(freed, 0); /* the inner pin is open at p */
    epoch_pin(s, "innermost", 0);
    epoch_unpin(s);
    assert_true(epoch_is_open(s));
    assert_true(epoch_unpin(s)); /* narrow again */
    assert_false(epoch_is_open(s));
    assert_int_equal(epoch_pinned(s), p);
    reclaim(d);
    assert_int_equal(freed, 2);
    epoch_unpin(s);
    assert_int_equal(epoch_pinned(s), 0);
    /* The next pin starts anew. */
    assert_true(epoch_pin(s, "statement", 0) > p);
    assert_true(epoch_is_open(s));
    epoch_unpin(s);
    epoch_unregister(s);
}

static void test_copy(void **state) {
    EpochDomain *d = *state;
    EpochSlot *s = slot(d, 1), *cursor = slot(d, 1);
    Object *o = object_new(d, 1);
    uint64_t p = epoch_pin(s, "statement", 0);
    epoch_pin_narrow(s);
    retire(d, o, 1);
    reclaim(d);
    epoch_pin_copy(cursor, s, "cursor", 0);
    epoch_unpin(s);
    one_epoch(d, 1);
    reclaim(d);
    assert_int_equal(freed, 1);
    assert_int_equal(o->twice, 2);
    assert_int_equal(epoch_pinned(cursor), p);
    EpochPinInfo pins[2];
    assert_int_equal(epoch_pins(d, pins, 2), 1);
    assert_string_equal(pins[0].label, "cursor");
    epoch_unpin(cursor);
    reclaim(d);
    assert_int_equal(freed, 2);
    epoch_unregister(s);
    epoch_unregister(cursor);
}

static void *release_elsewhere(void *arg) {
    epoch_unpin(arg);
    return NULL;
}
static void test_other_thread(void **state) {
    EpochDomain *d = *state;
    EpochSlot *s = slot(d, 1);
    pthread_t t;
    epoch_pin(s, "statement", 0);
    retire(d, object_new(d, 1), 1);
    reclaim(d);
    assert_int_equal(freed, 0);
    assert_int_equal(pthread_create(&t, NULL, release_elsewhere, s), 0);
    pthread_join(t, NULL);
    reclaim(d);
    assert_int_equal(freed, 1);
    epoch_unregister(s);
}

static void test_bounded_work(void **state) {
    EpochDomain *d = *state;
    for (int i = 0; i < 100; i++) retire(d, object_new(d, 1), 1);
    assert_true(epoch_reclaim(d, 30));
    assert_int_equal(freed, 30);
    assert_true(epoch_reclaim(d, 30));
    assert_true(epoch_reclaim(d, 30));
    assert_false(epoch_reclaim(d, 30));
    assert_int_equal(freed, 100);
    /* What waits for a pin is not looked at again: what comes behind it is freed at once. */
    EpochSlot *s = slot(d, 1);
    Object *many[100];
    for (int i = 0; i < 100; i++) many[i] = object_new(d, 1);
    epoch_pin(s, "statement", 0);
    epoch_pin_narrow(s);
    for (int i = 0; i < 100; i++) retire(d, many[i], 1);
    reclaim(d);
    one_epoch(d, 1);
    assert_false(epoch_reclaim(d, 1));
    assert_int_equal(freed, 101);
    epoch_unpin(s);
    epoch_unregister(s);
    reclaim(d);
    assert_int_equal(freed, 201);
}

/* Freeing may retire; closing the domain frees everything, held or not. */
static void test_shutdown(void **state) {
    EpochDomain *d = *state;
    EpochSlot *s = slot(d, 1);
    epoch_pin(s, "statement", 0);
    for (int i = 0; i < 10; i++) {
        Object *o = object_new(d, 1);
        o->retires = object_new(d, 2);
        o->retires->retires = object_new(d, 3);
        retire(d, o, 1);
        if (i == 5) reclaim(d);
    }
    epoch_unpin(s);
    epoch_unregister(s);
    epoch_domain_free(d);
    assert_int_equal(freed, 30);
    assert_int_equal(setup(state), 0);
}

/* Allocations that fail: an error, and all is as before. Pins and retiring need none. */
static void test_out_of_memory(void **state) {
    EpochDomain *d = *state, *other = NULL;
    EpochSlot *s = slot(d, 1), *many[64] = {0};
    Err e = {0};
    mem_fail_at(1);
    assert_int_equal(epoch_domain_new(NULL, &other, &e), ST_ERROR);
    int got = 0;
    mem_fail_at(1);
    for (; got < 64; got++)
        if (epoch_register(d, got, &many[got], &e) != ST_OK) break;
    assert_int_equal(mem_fail_at(0), 0);
    assert_true(got < 64);
    assert_int_equal(stats(d).slots, got + 1);
    mem_fail_at(1);
    epoch_pin(s, "statement", 0);
    retire(d, object_new(d, 1), 1);
    reclaim(d);
    epoch_unpin(s);
    reclaim(d);
    assert_int_equal(mem_fail_at(0), 1); /* nothing was allocated */
    assert_int_equal(freed, 1);
    many[got] = slot(d, got);
    for (int i = 0; i <= got; i++) epoch_unregister(many[i]);
    epoch_unregister(s);
    assert_int_equal(stats(d).slots, 0);
}

/* ---- readers and a writer at once: a fixed number of steps ---- */
enum { READERS = 4, STEPS = 20000, ROOTS = 4 };
typedef struct Stress {
    EpochDomain *domain;
    _Atomic(Object *) roots[ROOTS];
    _Atomic bool done;
    _Atomic int64_t bad;
} Stress;

static void check(Stress *x, const Object *o) {
    if (o->twice != 2 * o->value) x->bad++;
}
static void *reader(void *arg) {
    Stress *x = arg;
    EpochSlot *s = slot(x->domain, 1), *cursor = slot(x->domain, 1);
    const Object *kept = NULL; /* by the cursor */
    for (int64_t i = 0; i < STEPS || !x->done; i++) {
        const Object *seen[ROOTS];
        epoch_pin(s, "statement", 0);
        for (int k = 0; k < ROOTS; k++) check(x, seen[k] = atomic_load_explicit(&x->roots[k], memory_order_acquire));
        if (i % 3 == 0) {
            epoch_pin_narrow(s);
            for (int k = 0; k < ROOTS; k++) check(x, seen[k]);
            epoch_pin(s, "inner", 0);
            check(x, atomic_load_explicit(&x->roots[i % ROOTS], memory_order_acquire));
            epoch_unpin(s);
            for (int k = 0; k < ROOTS; k++) check(x, seen[k]);
        }
        if (i % 50 == 0) {
            if (kept) {
                check(x, kept);
                epoch_unpin(cursor);
            }
            epoch_pin_copy(cursor, s, "cursor", 0);
            kept = seen[i / 50 % ROOTS];
        }
        bool held = epoch_unpin(s);
        if (i % 10 == 0 && kept) check(x, kept);
        if (held && i % 7 == 0) epoch_reclaim(x->domain, 8);
    }
    if (kept) epoch_unpin(cursor);
    epoch_unregister(s);
    epoch_unregister(cursor);
    return NULL;
}
static void test_stress(void **state) {
    EpochDomain *d = *state;
    Stress x = {.domain = d};
    pthread_t t[READERS];
    for (int k = 0; k < ROOTS; k++) atomic_init(&x.roots[k], object_new(d, k));
    for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&t[i], NULL, reader, &x), 0);
    for (int64_t i = 0; i < STEPS; i++) {
        bool boundary = i % 2 == 0;
        if (boundary) epoch_boundary_begin(d);
        Object *o = object_new(d, i);
        Object *old = atomic_exchange_explicit(&x.roots[i % ROOTS], o, memory_order_acq_rel);
        retire(d, old, (int64_t)sizeof *old);
        if (boundary) epoch_boundary_end(d);
        epoch_reclaim(d, EPOCH_BATCH);
        if (i % 1000 == 0) stats(d);
    }
    x.done = true;
    for (int i = 0; i < READERS; i++) pthread_join(t[i], NULL);
    assert_int_equal(x.bad, 0);
    for (int k = 0; k < ROOTS; k++) retire(d, x.roots[k], 1);
    reclaim(d);
    assert_int_equal(stats(d).waiting, 0);
    assert_int_equal(freed, STEPS + ROOTS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_pins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pin_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_boundary, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_pin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nested, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_thread, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounded_work, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shutdown, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stress, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
