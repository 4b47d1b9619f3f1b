/* test_mirror.c - an image's copy on a device: what kernels changed there survives growth, comes to the host, and is lost only with the device; wherever memory or the
 * device fails. The host device stands for one with memory of its own: its addresses can be read and written here as a kernel would. */
#include "unit.h"

#include <stdlib.h>

#include "device/device.h"
#include "txn/image_mirror.h"

enum { ID, NAME, SMALL, BALANCE, N_COLS, ROWS = 50 };
static MemAccount root, devices_account;
static Err err;
static Devices *devices;
static Device *host;

typedef struct World {
    Table *table;
    Image *im;
    Device *d; /* `host`, or one that fails */
    DevQueue *q;
} World;

static void world_new(World *w, FaultPlan *plan) {
    static const ColumnDef defs[N_COLS] = {{.name = "id", .type = {.id = T_INT8}, .not_null = true}, {.name = "name", .type = {.id = T_TEXT}},
                                           {.name = "small", .type = {.id = T_INT2}, .not_null = true}, {.name = "balance", .type = {.id = T_INT8}, .not_null = true}};
    static const int pk[] = {ID};
    static bool cols[N_COLS] = {true, true, true, true}, writes[N_COLS] = {[NAME] = true, [BALANCE] = true};
    static int32_t group_cols[] = {SMALL};
    static __typeof__(*((ImageNeed *)0)->groups) groups[] = {{1, group_cols, 0, false}, {1, group_cols, 1 + ID, false}};
    KeyDef key = {"t_pkey", true, 1, pk};
    int64_t id[ROWS], balance[ROWS];
    int16_t small[ROWS];
    Str name[ROWS];
    *w = (World){.d = host};
    for (int i = 0; i < ROWS; i++) {
        id[i] = i;
        balance[i] = 100 * i;
        small[i] = (int16_t)(i % 7);
        name[i] = str_make(i % 2 ? "a name of more than twelve bytes" : "short", i % 2 ? 32 : 5);
    }
    Vec v[N_COLS] = {{.data = id, .phys = PH_I64, .type = type_make(T_INT8)}, {.data = name, .phys = PH_STR, .type = type_make(T_TEXT)},
                     {.data = small, .phys = PH_I16, .type = type_make(T_INT2)}, {.data = balance, .phys = PH_I64, .type = type_make(T_INT8)}};
    assert_int_equal(table_new(&root, "t", N_COLS, defs, 1, &key, 0, NULL, &w->table, &err), ST_OK);
    assert_int_equal(table_append(w->table, ROWS, v, NULL, NULL, &err), ST_OK);
    ImageNeed need = {.table = w->table, .cols = cols, .writes = writes, .inserts = true, .n_groups = 2, .groups = groups};
    assert_int_equal(image_make(&need, &root, NULL, &w->im, &err), ST_OK);
    if (plan) assert_int_equal(device_fault_new(host, plan, &w->d, &err), ST_OK);
    assert_int_equal(w->d->ops->queue_new(w->d, &w->q, &err), ST_OK);
}
static void world_free(World *w) {
    w->d->ops->queue_free(w->d, w->q);
    image_free(w->im);
    table_free(w->table);
    if (w->d != host) w->d->ops->close(w->d);
    assert_int_equal(root.used, 0);
}

static int64_t *balance(const Image *im, int64_t row) { return (int64_t *)(void *)image_cell(&im->cols[BALANCE], row); }
static int64_t *on_device(const Image *im, int64_t row) { return (int64_t *)(uintptr_t)image_mirror_at(im, balance(im, row)); }
static void same_on_device(const Image *im) {
    for (int64_t i = 0; i < ROWS; i++) assert_int_equal(*on_device(im, i), *balance(im, i));
}
static Status use(World *w) {
    TRY(image_reserve(w->im, 10, &err));
    TRY(image_mirror_use(w->im, w->d, w->q, 1000, &err));
    return w->d->ops->sync(w->q, NULL, NULL, &err);
}
/* What a bulk's kernels would do: a row is changed. */
static void change(const World *w, int64_t row, int64_t to) {
    *on_device(w->im, row) = to;
    ((uint8_t *)(uintptr_t)image_mirror_at(w->im, w->im->dirty))[row] = DIRTY_UPDATED;
    image_mirror_changed(w->im, w->im->cols[BALANCE].cells);
    image_mirror_changed(w->im, w->im->dirty);
}
static void expect(const Image *im, int64_t changed, int64_t to) {
    for (int64_t i = 0; i < ROWS; i++) assert_int_equal(*balance(im, i), i == changed ? to : 100 * i);
    assert_int_equal(im->dirty[7], changed == 7 ? DIRTY_UPDATED : 0);
}

static void test_use(void **state) {
    (void)state;
    World w;
    world_new(&w, NULL);
    assert_false(image_mirror_ahead(w.im));
    assert_int_equal(use(&w), ST_OK);
    assert_false(image_mirror_ahead(w.im));
    assert_ptr_not_equal(on_device(w.im, 0), balance(w.im, 0));
    same_on_device(w.im);
    assert_int_equal(image_mirror_at(w.im, NULL), 0);
    for (int64_t i = ROWS; i < w.im->cap; i++) assert_int_equal(((uint8_t *)(uintptr_t)image_mirror_at(w.im, w.im->live))[i], ROW_DEAD);
    const Str *s = (const Str *)(uintptr_t)image_mirror_at(w.im, image_cell(&w.im->cols[NAME], 1));
    assert_memory_equal((const char *)(uintptr_t)((uint64_t)(uintptr_t)s->ptr + image_mirror_texts(w.im)), "a name of more than twelve bytes", 32);
    change(&w, 7, -1);
    assert_true(image_mirror_ahead(w.im));
    assert_int_equal(*balance(w.im, 7), 700);
    assert_int_equal(use(&w), ST_OK); /* it is the newer one and stays */
    assert_int_equal(*on_device(w.im, 7), -1);
    assert_int_equal(image_mirror_fetch(w.im, &err), ST_OK);
    assert_int_equal(*balance(w.im, 7), 700);
    image_mirror_commit(w.im);
    expect(w.im, 7, -1);
    assert_false(image_mirror_ahead(w.im));
    *balance(w.im, 8) = 1; /* the host changes it: copied anew */
    image_mirror_stale(w.im);
    assert_int_equal(use(&w), ST_OK);
    assert_int_equal(*on_device(w.im, 8), 1);
    world_free(&w);
}

static void test_grow(void **state) {
    (void)state;
    World w;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -1);
    int64_t cap = w.im->cap, generation = w.im->generation, inserts = 0;
    while (w.im->cap == cap) assert_int_equal(image_reserve(w.im, ++inserts, &err), ST_OK); /* the keys' table has room longer than the rows have */
    assert_true(w.im->generation > generation);
    assert_true(image_mirror_ahead(w.im)); /* it grew there */
    assert_int_equal(*balance(w.im, 7), 700);
    assert_int_equal(*on_device(w.im, 7), -1);
    for (int64_t i = 0; i < ROWS; i++) assert_int_equal(*on_device(w.im, i), i == 7 ? -1 : 100 * i);
    for (int64_t i = ROWS; i < w.im->cap; i++) {
        assert_int_equal(((uint8_t *)(uintptr_t)image_mirror_at(w.im, w.im->live))[i], ROW_DEAD);
        assert_int_equal(((uint8_t *)(uintptr_t)image_mirror_at(w.im, w.im->dirty))[i], 0);
    }
    assert_int_equal(use(&w), ST_OK); /* and is still good */
    assert_int_equal(*on_device(w.im, 7), -1);
    change(&w, 9, -9);
    assert_int_equal(image_mirror_to_host(w.im, &err), ST_OK);
    assert_int_equal(*balance(w.im, 9), -9);
    change(&w, 9, 900);
    assert_int_equal(image_mirror_to_host(w.im, &err), ST_OK);
    expect(w.im, 7, -1);
    assert_int_equal(image_verify(w.im, false, &err), ST_OK);
    change(&w, 7, -2);
    assert_int_equal(image_reserve(w.im, 100000, &err), ST_OK); /* the indexes have to be made anew: it comes home */
    assert_false(image_mirror_ahead(w.im));
    expect(w.im, 7, -2);
    world_free(&w);
}

/* Somebody holds the newer image: moving it would lose what it has. */
static void test_moved(void **state) {
    (void)state;
    World w;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -1);
    w.im->generation++;
    assert_int_equal(image_mirror_use(w.im, w.d, w.q, 0, &err), ST_ERROR);
    assert_string_equal(err.sqlstate, "XX000");
    err_clear(&err);
    w.im->generation--;
    assert_int_equal(image_mirror_to_host(w.im, &err), ST_OK);
    expect(w.im, 7, -1);
    world_free(&w);
}

/* Room for more rows, with whatever fails: the change is on the host or still on the device. With a device that is lost it is lost, and said to be. */
static void grow_with(FaultPlan *plan, int64_t fail_at, bool *over) {
    World w;
    world_new(&w, plan);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -1);
    if (plan) plan->fail_at = atomic_load(&plan->calls) + fail_at;
    else mem_fail_at(fail_at);
    Status st = image_reserve(w.im, w.im->cap - ROWS + 1, &err);
    if (st == ST_OK) st = image_mirror_to_host(w.im, &err);
    *over = plan ? atomic_load(&plan->calls) < plan->fail_at : mem_fail_at(0) > 0;
    if (st == ST_OK) {
        expect(w.im, 7, -1);
    } else {
        assert_string_equal(err.sqlstate, plan ? "58000" : "53200");
        err_clear(&err);
        expect(w.im, -1, 0);
        bool lost = plan && plan->sticky;
        assert_true(image_mirror_ahead(w.im)); /* nothing was thrown away */
        if (plan) plan->fail_at = 0;
        if (!lost) {
            assert_int_equal(*on_device(w.im, 7), -1);
            assert_int_equal(image_mirror_to_host(w.im, &err), ST_OK); /* the next try succeeds */
            expect(w.im, 7, -1);
        }
    }
    for (int64_t i = ROWS; i < w.im->cap; i++) assert_int_equal(w.im->live[i], ROW_DEAD);
    if (plan) plan->fail_at = 0;
    world_free(&w);
}
static void test_faults(void **state) {
    (void)state;
    for (int sticky = 0; sticky < 2; sticky++)
        for (int64_t at = 1, over = 0; !over; at++) {
            FaultPlan plan = {.sticky = sticky};
            bool last;
            grow_with(&plan, at, &last);
            over = last;
            assert_in_range(at, 1, 200);
        }
}
static void test_out_of_memory(void **state) {
    (void)state;
    int64_t steps = 0;
    for (bool over = false; !over;) grow_with(NULL, ++steps, &over);
    assert_in_range(steps, 5, 200);
    for (int64_t at = 1;; at++) { /* the first copy */
        World w;
        world_new(&w, NULL);
        mem_fail_at(at);
        Status st = use(&w);
        bool over = mem_fail_at(0) > 0;
        if (st != ST_OK) assert_string_equal(err.sqlstate, "53200");
        err_clear(&err);
        assert_int_equal(use(&w), ST_OK);
        same_on_device(w.im);
        world_free(&w);
        if (over) break;
        assert_in_range(at, 1, 200);
    }
}

int main(void) {
    mem_account_init(&root, NULL, "test", 0, NULL);
    mem_account_init(&devices_account, NULL, "devices", 0, NULL);
    Pool *pool = pool_new(1, &err);
    if (!pool || devices_open(pool, &devices_account, &devices, &err) != ST_OK || devices_get(devices, "host", &host, &err) != ST_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_use), cmocka_unit_test(test_grow), cmocka_unit_test(test_moved), cmocka_unit_test(test_faults), cmocka_unit_test(test_out_of_memory)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    devices_close(devices);
    pool_free(pool);
    return failed;
}
