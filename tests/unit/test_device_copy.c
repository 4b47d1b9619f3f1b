/* test_device_copy.c - an image's copy on a device: what kernels changed there survives growth, comes to the host, and
 * is lost only with the device; wherever memory or the device fails. The host device stands for one with memory of its
 * own: its addresses can be read and written here as a kernel would.
 *
 *   test_device_copy                 the tests
 *   test_device_copy check DEVICE    indexes made larger by kernels, on another device */
#include "unit.h"
#include "unit_nvrtc.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "codegen/prelude/txn/kr_image_codes.h"
#include "txn/store/device_copy.h"
#include "txn/store/device_kernels.h"

enum { ID, NAME, SMALL, BALANCE, N_COLS, ROWS = 50 };
static MemAccount root, devices_account;
static Err err;
static Devices *devices;
static Device *host;
static CodeCache *cache; /* of kernels that make indexes larger; NULL: there are none */

typedef struct World {
    Table *table;
    Image *im;
    Device *d; /* `host`, or one that fails */
    DevQueue *q;
} World;

static int64_t expects; /* rows, of tables of new worlds */
static void world_new(World *w, FaultPlan *plan) {
    static const ColumnDef defs[N_COLS] = {{.name = "id", .type = {.id = T_INT8}, .not_null = true},
                                           {.name = "name", .type = {.id = T_TEXT}},
                                           {.name = "small", .type = {.id = T_INT2}, .not_null = true},
                                           {.name = "balance", .type = {.id = T_INT8}, .not_null = true}};
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
    Vec v[N_COLS] = {{.data = id, .phys = PH_I64, .type = type_make(T_INT8)},
                     {.data = name, .phys = PH_STR, .type = type_make(T_TEXT)},
                     {.data = small, .phys = PH_I16, .type = type_make(T_INT2)},
                     {.data = balance, .phys = PH_I64, .type = type_make(T_INT8)}};
    assert_int_equal(table_new(&root, "t", N_COLS, defs, 1, &key, 0, NULL, &w->table, &err), ST_OK);
    assert_int_equal(table_append(w->table, ROWS, v, NULL, NULL, &err), ST_OK);
    w->table->expected_rows = expects;
    ImageNeed need = {
        .table = w->table, .cols = cols, .writes = writes, .inserts = true, .n_groups = 2, .groups = groups};
    assert_int_equal(image_make(&need, &root, NULL, &w->im, &err), ST_OK);
    if (plan) assert_int_equal(device_fault_new(host, plan, &w->d, &err), ST_OK);
    assert_int_equal(w->d->ops->queue_new(w->d, &w->q, &err), ST_OK);
}
static void world_free(World *w) {
    w->d->ops->queue_free(w->d, w->q);
    image_free(w->im);
    table_free(w->table);
    if (w->d != host) {
        code_cache_drop_device(cache, w->d);
        w->d->ops->close(w->d);
    }
    assert_int_equal(root.used, 0);
}

static int64_t *balance(const Image *im, int64_t row) { return (int64_t *)(void *)image_cell(&im->cols[BALANCE], row); }
static int64_t *on_device(const Image *im, int64_t row) {
    return (int64_t *)(uintptr_t)device_copy_address(im, balance(im, row));
}
static void same_on_device(const Image *im) {
    for (int64_t i = 0; i < ROWS; i++) assert_int_equal(*on_device(im, i), *balance(im, i));
}
static Status use(World *w) {
    TRY(image_reserve(w->im, 10, &err));
    TRY(device_copy_use(w->im, w->d, cache, w->q, 1000, &err));
    return w->d->ops->sync(w->q, NULL, NULL, &err);
}
/* What a bulk's kernels would do: a row is changed. */
static void change(const World *w, int64_t row, int64_t to) {
    *on_device(w->im, row) = to;
    ((uint8_t *)(uintptr_t)device_copy_address(w->im, w->im->dirty))[row] = DIRTY_UPDATED;
    device_copy_changed(w->im, w->im->cols[BALANCE].cells);
    device_copy_changed(w->im, w->im->dirty);
}
static void expect(const Image *im, int64_t changed, int64_t to) {
    for (int64_t i = 0; i < ROWS; i++) assert_int_equal(*balance(im, i), i == changed ? to : 100 * i);
    assert_int_equal(im->dirty[7], changed == 7 ? DIRTY_UPDATED : 0);
}

static void test_use(void **state) {
    (void)state;
    World w;
    world_new(&w, NULL);
    assert_false(device_copy_newer(w.im));
    assert_int_equal(use(&w), ST_OK);
    assert_false(device_copy_newer(w.im));
    assert_ptr_not_equal(on_device(w.im, 0), balance(w.im, 0));
    same_on_device(w.im);
    assert_int_equal(device_copy_address(w.im, NULL), 0);
    for (int64_t i = ROWS; i < w.im->cap; i++)
        assert_int_equal(((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->live))[i], ROW_DEAD);
    const Str *s = (const Str *)(uintptr_t)device_copy_address(w.im, image_cell(&w.im->cols[NAME], 1));
    assert_memory_equal((const char *)(uintptr_t)((uint64_t)(uintptr_t)s->ptr + device_copy_texts(w.im)),
                        "a name of more than twelve bytes", 32);
    change(&w, 7, -1);
    assert_true(device_copy_newer(w.im));
    assert_int_equal(*balance(w.im, 7), 700);
    assert_int_equal(use(&w), ST_OK); /* it is the newer one and stays */
    assert_int_equal(*on_device(w.im, 7), -1);
    assert_int_equal(device_copy_fetch(w.im, &err), ST_OK);
    assert_int_equal(*balance(w.im, 7), 700);
    device_copy_commit(w.im);
    expect(w.im, 7, -1);
    assert_false(device_copy_newer(w.im));
    *balance(w.im, 8) = 1; /* the host changes it: copied anew */
    device_copy_stale(w.im);
    assert_int_equal(use(&w), ST_OK);
    assert_int_equal(*on_device(w.im, 8), 1);
    world_free(&w);
}

/* Of an image with room for many more rows than it has, only those that there are go to the device and come back. */
static const DeviceOps *real_ops;
static int64_t copied_in, copied_out;
static Status counting_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    copied_in += n;
    return real_ops->copy_in(q, dst, src, n, e);
}
static Status counting_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    copied_out += n;
    return real_ops->copy_out(q, dst, src, n, e);
}
static void test_room(void **state) {
    (void)state;
    World w;
    expects = 100000;
    world_new(&w, NULL);
    expects = 0;
    assert_int_equal(w.im->cap, 100000);
    real_ops = w.d->ops;
    DeviceOps counting = *real_ops;
    counting.copy_in = counting_copy_in;
    counting.copy_out = counting_copy_out;
    w.d->ops = &counting;
    int64_t slots = 0, by_row = 2 + 8 * (1 + 4) /* live, dirty, next of both groups */, texts = 0, used = 0;
    for (int32_t i = 0; i < w.im->n_indexes; i++) slots += (w.im->indexes[i].mask + 1) * 8;
    for (int k = 0; k < ROW_PIECES; k++) by_row += w.im->pieces[k].stride;
    assert_int_equal(use(&w), ST_OK);
    assert_non_null(image_texts(w.im, &texts, &used));
    assert_int_equal(copied_in, slots + ROWS * by_row + used);
    same_on_device(w.im);
    for (int64_t i = ROWS; i < w.im->cap; i++)
        assert_int_equal(((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->live))[i], ROW_DEAD);
    change(&w, 7, -1);
    device_copy_changed(w.im, w.im->live);
    device_copy_changed(w.im, w.im->indexes[1].next);
    assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
    assert_int_equal(copied_out, ROWS * (2 + 8 + w.im->pieces[w.im->cols[BALANCE].piece].stride));
    expect(w.im, 7, -1);
    w.d->ops = real_ops;
    world_free(&w);
}

static void test_grow(void **state) {
    (void)state;
    World w;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -1);
    int64_t cap = w.im->cap, generation = w.im->generation, inserts = 0;
    while (w.im->cap == cap)
        assert_int_equal(image_reserve(w.im, ++inserts, &err),
                         ST_OK); /* the keys' table has room longer than the rows have */
    assert_true(w.im->generation > generation);
    assert_true(device_copy_newer(w.im)); /* it grew there */
    assert_int_equal(*balance(w.im, 7), 700);
    assert_int_equal(*on_device(w.im, 7), -1);
    for (int64_t i = 0; i < ROWS; i++) assert_int_equal(*on_device(w.im, i), i == 7 ? -1 : 100 * i);
    for (int64_t i = ROWS; i < w.im->cap; i++) {
        assert_int_equal(((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->live))[i], ROW_DEAD);
        assert_int_equal(((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->dirty))[i], 0);
    }
    assert_int_equal(use(&w), ST_OK); /* and is still good */
    assert_int_equal(*on_device(w.im, 7), -1);
    change(&w, 9, -9);
    assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
    assert_int_equal(*balance(w.im, 9), -9);
    change(&w, 9, 900);
    assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
    expect(w.im, 7, -1);
    assert_int_equal(image_verify(w.im, false, &err), ST_OK);
    change(&w, 7, -2);
    assert_int_equal(image_reserve(w.im, 100000, &err), ST_OK); /* the indexes too */
    assert_true(device_copy_newer(w.im));
    assert_true(w.im->indexes[0].mask + 1 >= 200000);
    expect(w.im, 7, -1);
    assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
    expect(w.im, 7, -2);
    assert_int_equal(image_verify(w.im, false, &err), ST_OK);
    world_free(&w);
    CodeCache *kernels = cache;
    cache = NULL;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -2);
    assert_int_equal(image_reserve(w.im, 100000, &err), ST_OK); /* without kernels it comes home */
    assert_false(device_copy_newer(w.im));
    expect(w.im, 7, -2);
    assert_int_equal(image_verify(w.im, false, &err), ST_OK);
    world_free(&w);
    cache = kernels;
}

/* A copy that is newer shrinks there: what kernels changed stays, and both sides have room for as many rows. */
static void test_shrink(void **state) {
    (void)state;
    const int64_t unit = host->info.span_unit;
    for (int copies = 0; copies < 2; copies++) {
        World w;
        const Device *of;
        host->info.span_unit = copies ? 0 : unit;
        world_new(&w, NULL);
        assert_int_equal(image_reserve(w.im, 300000, &err), ST_OK);
        assert_int_equal(use(&w), ST_OK);
        change(&w, 7, -1);
        const int64_t had = device_copy_bytes(w.im, &of), used = atomic_load(&root.used);
        assert_int_equal(room_trim(w.im, &err), ST_OK);
        assert_true(device_copy_newer(w.im));
        assert_true(w.im->cap < 200);
        assert_true(device_copy_bytes(w.im, &of) < had - 300000 * 16);
        assert_true(atomic_load(&root.used) < used - 300000 * 16);
        assert_int_equal(*on_device(w.im, 7), -1);
        assert_int_equal(use(&w), ST_OK); /* and is still good */
        assert_int_equal(*on_device(w.im, 7), -1);
        assert_int_equal(image_reserve(w.im, 5000, &err), ST_OK); /* and grows again */
        assert_int_equal(*on_device(w.im, 7), -1);
        for (int64_t i = ROWS; i < w.im->cap; i++)
            assert_int_equal(((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->live))[i], ROW_DEAD);
        assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
        expect(w.im, 7, -1);
        assert_int_equal(room_trim(w.im, &err), ST_OK); /* the indexes, too */
        assert_true(w.im->indexes[0].mask + 1 <= 1024);
        assert_int_equal(image_verify(w.im, false, &err), ST_OK);
        world_free(&w);
    }
    host->info.span_unit = unit;
}

/* Tables made larger by kernels are those that the host would make, with keys of every kind; rows that died leave
 * unique ones. */
static void check_types(Device *d) {
    enum {
        K_ID,
        K_BOOL,
        K_I16,
        K_I32,
        K_I64,
        K_I128,
        K_F32,
        K_F64,
        K_STR,
        K_INTERVAL,
        K_UUID,
        COLS,
        N = 3000,
        DENSE = 1000, /* first rows whose ids tell their numbers */
        DEAD = 500,
        GROUPS = 12
    };
    static const TypeId ids[COLS] = {T_INT8,   T_BOOL,   T_INT2, T_INT4,     T_INT8, T_NUMERIC,
                                     T_FLOAT4, T_FLOAT8, T_TEXT, T_INTERVAL, T_UUID};
    static const char *const names[COLS] = {"id", "b", "s", "i", "l", "n", "f", "d", "t", "v", "u"};
    static int64_t id[N], l[N];
    static uint8_t b[N], valid[N];
    static int16_t s[N];
    static int32_t i4[N];
    static int128_t n[N];
    static float f[N];
    static double f8[N];
    static Str t[N];
    static Interval v[N];
    static Uuid u[N];
    static char text[N * 40];
    static const int pk[] = {K_ID}, wide[] = {K_STR, K_ID, K_UUID};
    KeyDef keys[] = {{"t_pkey", true, 1, pk}, {"t_key", false, 3, wide}};
    ColumnDef defs[COLS];
    for (int c = 0; c < COLS; c++)
        defs[c] = (ColumnDef){
            .name = names[c], .type = c == K_I128 ? type_numeric(30, 2) : type_make(ids[c]), .not_null = c != K_STR};
    for (int64_t i = 0, at = 0; i < N; i++) {
        int64_t k = i * 7919 % 1009;
        id[i] = i < DENSE ? i - 100 : 2 * i;
        b[i] = k & 1;
        s[i] = (int16_t)(k - 500);
        i4[i] = (int32_t)(k * -65537);
        l[i] = k * INT64_C(0x123456789ab);
        n[i] = (int128_t)k * INT64_C(1000000007) * (k % 3 ? INT64_C(1000000007) : 1) * (k % 2 ? -1 : 1);
        f[i] = k == 0 ? NAN : k == 1 ? -0.0f : (float)k / 3;
        f8[i] = k == 0 ? NAN : k == 1 ? -0.0 : (double)k * -1e100;
        v[i] = (Interval){.micros = k * 1000003, .days = (int32_t)(k % 60), .months = (int32_t)(k % 7) - 3};
        memset(&u[i], (int)(k % 251), sizeof u[i]);
        u[i].bytes[3] = (uint8_t)(k >> 2);
        int len = snprintf(text + at, 40, "%.*s%lld", (int)(k % 30), "..............................", (long long)k);
        valid[i] = k % 11 != 0;
        t[i] = str_make(text + at, k % 13 == 0 ? 0 : len);
        at += len;
    }
    const void *data[COLS] = {id, b, s, i4, l, n, f, f8, t, v, u};
    Vec vecs[COLS];
    for (int c = 0; c < COLS; c++)
        vecs[c] = (Vec){.data = (void *)(uintptr_t)data[c],
                        .phys = (uint8_t)type_phys(defs[c].type),
                        .type = defs[c].type,
                        .valid = c == K_STR ? valid : NULL};
    static int32_t alone[COLS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, several[] = {K_F32, K_INTERVAL, K_I128};
    __typeof__(*((ImageNeed *)0)->groups) groups[GROUPS];
    for (int k = 0; k < 10; k++)
        groups[k] = (__typeof__(groups[0])){1, &alone[k + 1], k % 2 ? 1 + K_ID : 0, k % 4 == 1};
    groups[10] = (__typeof__(groups[0])){3, several, 1 + K_I16, false};
    groups[11] = (__typeof__(groups[0])){0, several, 0, false};
    Table *table;
    Image *im;
    DevQueue *q;
    assert_int_equal(table_new(&root, "t", COLS, defs, 2, keys, 0, NULL, &table, &err), ST_OK);
    if (table_append(table, N, vecs, NULL, NULL, &err) != ST_OK) fail_msg("%s", err.message);
    ImageNeed need = {
        .table = table, .inserts = true, .writes = (bool[COLS]){false}, .n_groups = GROUPS, .groups = groups};
    assert_int_equal(image_make(&need, &root, NULL, &im, &err), ST_OK);
    for (int64_t i = 0; i < DEAD; i++) image_delete(im, i * 5);
    assert_int_equal(d->ops->queue_new(d, &q, &err), ST_OK);
    if (device_copy_use(im, d, cache, q, 1000, &err) != ST_OK || d->ops->sync(q, NULL, NULL, &err) != ST_OK)
        fail_msg("%s: %s", d->info.id, err.message);
    const Device *of;
    const int64_t bytes = device_copy_bytes(im, &of);
    assert_ptr_equal(of, d);
    assert_in_range(bytes, im->cap * COLS, atomic_load(&d->memory.used));
    device_copy_changed(im, im->live);
    if (image_reserve(im, 20000, &err) != ST_OK) fail_msg("%s: %s", d->info.id, err.message);
    assert_true(device_copy_newer(im));
    const int64_t dense = hash_constant ? 0 : DENSE;
    assert_int_equal(im->indexes[0].dense, dense);
    assert_int_equal(im->indexes[0].used, N - DEAD - (dense - dense / 5));
    assert_in_range(im->indexes[1].used, 1, N - DEAD);
    assert_int_equal(im->indexes[2].used, 2); /* booleans; too few entries for a larger table */
    assert_int_equal(im->indexes[13].used, 1);
    uint64_t *before = im->indexes[0].slots;
    assert_int_equal(image_reserve(im, 20000, &err), ST_OK); /* there is room */
    assert_ptr_equal(im->indexes[0].slots, before);
    if (device_copy_to_host(im, &err) != ST_OK || image_verify(im, false, &err) != ST_OK)
        fail_msg("%s: %s", d->info.id, err.message);
    assert_true(im->indexes[0].mask + 1 >= 2 * 22500);
    d->ops->queue_free(d, q);
    image_free(im);
    table_free(table);
    assert_int_equal(root.used, 0);
}
static Device *chosen;
static void on_chosen(void **state) {
    (void)state;
    check_types(chosen);
    hash_constant = true;
    check_types(chosen);
    hash_constant = false;
}
static void test_types(void **state) {
    chosen = host;
    on_chosen(state);
    Device *d;
    if (devices_get(devices, "opencl:0", &d, &err) == ST_OK) check_types(d);
    else print_message("skipped: opencl:0: %s\n", err.message);
    err_clear(&err);
}
static void test_compiles_for_cuda(void **state) {
    (void)state;
    char defines[128];
    snprintf(defines, sizeof defines, "#define N_PARAMS %d\n#define GROUP_SIZE 256\n", IK_PARAMS);
    compiles_with_nvrtc(defines, kernel_image_text);
}

/* Somebody holds the newer image: moving it would lose what it has. */
static void test_moved(void **state) {
    (void)state;
    World w;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -1);
    w.im->generation++;
    assert_int_equal(device_copy_use(w.im, w.d, cache, w.q, 0, &err), ST_ERROR);
    assert_string_equal(err.sqlstate, "XX000");
    err_clear(&err);
    w.im->generation--;
    assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
    expect(w.im, 7, -1);
    world_free(&w);
}

/* Room for more rows, entries and strings, with whatever fails: the change is on the host or still on the device. With
 * a device that is lost it is lost, and said to be. */
static Status grow_all(World *w, int64_t inserts, int64_t room) {
    TRY(image_reserve(w->im, inserts, &err));
    return room > 0 ? device_copy_use(w->im, w->d, cache, w->q, room, &err) : ST_OK;
}
static void grow_with(FaultPlan *plan, int64_t fail_at, bool much, bool *over) {
    World w;
    world_new(&w, plan);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -1);
    if (plan) plan->fail_at = atomic_load(&plan->calls) + fail_at;
    else mem_fail_at(fail_at);
    Status st = grow_all(&w, much ? 5000 : w.im->cap - ROWS + 1, much ? 1 << 20 : 0);
    if (st == ST_OK) st = device_copy_to_host(w.im, &err);
    *over = plan ? atomic_load(&plan->calls) < plan->fail_at : mem_fail_at(0) > 0;
    if (st == ST_OK) {
        expect(w.im, 7, -1);
        assert_int_equal(image_verify(w.im, false, &err), ST_OK);
    } else {
        assert_string_equal(err.sqlstate, plan ? "58000" : "53200");
        err_clear(&err);
        bool home = !device_copy_newer(w.im); /* it was before the device failed; else nothing was thrown away */
        expect(w.im, home ? 7 : -1, home ? -1 : 0);
        assert_true(!home || much);
        if (plan) plan->fail_at = 0;
        if (!(plan && plan->sticky)) {
            if (!home) assert_int_equal(*on_device(w.im, 7), -1);
            assert_int_equal(grow_all(&w, 6000, 2 << 20), ST_OK); /* the next try succeeds */
            assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
            expect(w.im, 7, -1);
            assert_int_equal(image_verify(w.im, false, &err), ST_OK);
        }
    }
    for (int64_t i = ROWS; i < w.im->cap; i++) assert_int_equal(w.im->live[i], ROW_DEAD);
    if (plan) plan->fail_at = 0;
    world_free(&w);
}
static void test_faults(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++)
        for (int64_t at = 1, over = 0; !over; at++) {
            FaultPlan plan = {.sticky = k & 1};
            bool last;
            grow_with(&plan, at, k > 1, &last);
            over = last;
            assert_in_range(at, 1, 300);
        }
}
static void test_out_of_memory(void **state) {
    (void)state;
    for (int much = 0; much < 2; much++) {
        int64_t steps = 0;
        for (bool over = false; !over;) grow_with(NULL, ++steps, much, &over);
        assert_in_range(steps, 5, 300);
    }
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

/* How far a column goes, of what only the device has. */
static void test_bound(void **state) {
    (void)state;
    World w;
    uint64_t most = 0;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    change(&w, 7, -123456789012345);
    change(&w, 8, INT64_MIN);
    assert_true(device_copy_bound(w.im, BALANCE, &most));
    assert_true(most == UINT64_C(1) << 63);
    ((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->live))[8] = ROW_DEAD;
    assert_true(device_copy_bound(w.im, BALANCE, &most));
    assert_true(most == 123456789012345);
    assert_true(device_copy_bound(w.im, SMALL, &most));
    assert_true(most == 6);
    world_free(&w);
    for (int64_t at = 1, over = 0; !over; at++) { /* the device fails */
        FaultPlan plan = {0};
        world_new(&w, &plan);
        assert_int_equal(use(&w), ST_OK);
        change(&w, 7, 7777);
        plan.fail_at = atomic_load(&plan.calls) + at;
        over = device_copy_bound(w.im, BALANCE, &most);
        assert_true(!over || most == 7777);
        plan.fail_at = 0;
        assert_true(device_copy_bound(w.im, BALANCE, &most));
        world_free(&w);
        assert_in_range(at, 1, 50);
    }
}

/* Strings gathered anew on the device, which has the newer ones; the host's cells keep theirs until it gets those. */
static Str *name_on_device(const Image *im, int64_t row) {
    return (Str *)(uintptr_t)device_copy_address(im, image_cell(&im->cols[NAME], row));
}
static int64_t longer_name(int64_t row, char *out) {
    return sprintf(out, "row %d has a name that only the device knows", (int)row);
}
static Status rename_there(const World *w, int64_t row) {
    char text[64];
    int64_t n = longer_name(row, text);
    char *room = row_text_room(w->im, n, &err);
    if (!room) return ST_ERROR;
    device_copy_text_room(w->im, room);
    memcpy((char *)(uintptr_t)((uint64_t)(uintptr_t)room + device_copy_texts(w->im)), text, (size_t)n);
    *name_on_device(w->im, row) = (Str){.ptr = room, .len = (uint32_t)n};
    device_copy_changed(w->im, w->im->cols[NAME].cells);
    device_copy_changed(w->im, room);
    return ST_OK;
}
static void expect_names(const Image *im, bool there) {
    char text[64];
    uint64_t texts = there ? device_copy_texts(im) : 0;
    const uint8_t *live = there ? (const uint8_t *)(uintptr_t)device_copy_address(im, im->live) : im->live;
    for (int64_t i = 0; i < ROWS; i++) {
        const Str *s = there ? name_on_device(im, i) : (const Str *)(const void *)image_cell(&im->cols[NAME], i);
        int64_t n = i % 3 == 0 ? longer_name(i, text)
                               : sprintf(text, "%s", i % 2 ? "a name of more than twelve bytes" : "short");
        if (live[i] != ROW_LIVE) n = 0;
        assert_int_equal(s->len, n);
        if (n) assert_memory_equal((const char *)(uintptr_t)((uint64_t)(uintptr_t)s->ptr + texts), text, (size_t)n);
    }
}
static void gather_with(FaultPlan *plan, int64_t fail_at, bool *over) {
    enum { MUCH = 80 << 20 /* more than the piece may have */, DEAD = 11 };
    World w;
    int64_t size, used;
    world_new(&w, plan);
    assert_int_equal(use(&w), ST_OK);
    for (int64_t i = 0; i < ROWS; i += 3) assert_int_equal(rename_there(&w, i), ST_OK);
    ((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->live))[DEAD] = ROW_DEAD;
    ((uint8_t *)(uintptr_t)device_copy_address(w.im, w.im->dirty))[DEAD] = DIRTY_DELETED;
    device_copy_changed(w.im, w.im->live);
    device_copy_changed(w.im, w.im->dirty);
    const char *old = image_texts(w.im, &size, &used);
    if (plan) plan->fail_at = atomic_load(&plan->calls) + fail_at;
    else if (fail_at) mem_fail_at(fail_at);
    Status st = device_copy_use(w.im, w.d, cache, w.q, MUCH, &err);
    *over = plan ? atomic_load(&plan->calls) < plan->fail_at : fail_at == 0 || mem_fail_at(0) > 0;
    if (plan) plan->fail_at = 0;
    if (st == ST_OK) {
        assert_int_equal(w.d->ops->sync(w.q, NULL, NULL, &err), ST_OK);
        assert_ptr_not_equal(image_texts(w.im, &size, &used), old);
        assert_true(size - used >= MUCH);
        expect_names(w.im, true);
        if (*over) { /* it stayed there, and the host's older cells have their strings */
            assert_true(device_copy_newer(w.im));
            for (int64_t i = 0; i < ROWS; i++) {
                const Str *s = (const Str *)(const void *)image_cell(&w.im->cols[NAME], i);
                assert_memory_equal(s->ptr, i % 2 ? "a name of more than twelve bytes" : "short", s->len);
            }
        }
        if (device_copy_newer(w.im)) {
            assert_int_equal(rename_there(&w, 0), ST_OK); /* goes on from there */
            expect_names(w.im, true);
        }
        assert_int_equal(device_copy_to_host(w.im, &err), ST_OK);
        expect_names(w.im, false);
        assert_int_equal(image_verify(w.im, false, &err), ST_OK);
    } else {
        assert_true((plan && strcmp(err.sqlstate, "58000") == 0) || strcmp(err.sqlstate, "53200") == 0);
        err_clear(&err);
        if (device_copy_to_host(w.im, &err) == ST_OK) expect_names(w.im, false);
        else
            assert_string_equal(err.sqlstate, "58000"); /* it failed while it moved them: what only the device had is
                                                           lost, and that is said each time */
        err_clear(&err);
    }
    world_free(&w);
}
static void test_gather(void **state) {
    (void)state;
    bool over;
    gather_with(NULL, 0, &over);
    for (int k = 0; k < 2; k++)
        for (int64_t at = 1; over = false, at < 100; at++) {
            FaultPlan plan = {0};
            gather_with(k ? &plan : NULL, at, &over);
            if (over) break;
        }
    assert_true(over);
    CodeCache *kernels = cache; /* without kernels the host does it */
    cache = NULL;
    World w;
    world_new(&w, NULL);
    assert_int_equal(use(&w), ST_OK);
    for (int64_t i = 0; i < ROWS; i += 3) assert_int_equal(rename_there(&w, i), ST_OK);
    assert_int_equal(device_copy_use(w.im, w.d, cache, w.q, 80 << 20, &err), ST_OK);
    assert_false(device_copy_newer(w.im));
    expect_names(w.im, false);
    world_free(&w);
    cache = kernels;
}

int main(int argc, char **argv) {
    const bool check = argc == 3 && strcmp(argv[1], "check") == 0;
    mem_account_init(&root, NULL, "test", 0, NULL);
    mem_account_init(&devices_account, NULL, "devices", 0, NULL);
    Pool *pool = pool_new(1, &err);
    if (!pool || devices_open(pool, &devices_account, &devices, &err) != ST_OK ||
        devices_get(devices, "host", &host, &err) != ST_OK ||
        (check && devices_get(devices, argv[2], &chosen, &err) != ST_OK) ||
        code_cache_new(NULL, -1, &cache, &err) != ST_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use),    cmocka_unit_test(test_room),   cmocka_unit_test(test_grow),
        cmocka_unit_test(test_shrink), cmocka_unit_test(test_types),  cmocka_unit_test(test_compiles_for_cuda),
        cmocka_unit_test(test_moved),  cmocka_unit_test(test_faults), cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_bound),  cmocka_unit_test(test_gather)};
    const struct CMUnitTest of_device[] = {cmocka_unit_test(on_chosen)};
    int failed = check ? cmocka_run_group_tests(of_device, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
    if (check) printf("%d passed, %d failed\n", !failed, failed); /* for tests/device/run.sh */
    code_cache_free(cache);
    devices_close(devices);
    pool_free(pool);
    return failed;
}
