/* test_hostmap.c - tables that devices read or copy where they lie: registered pages go when their tablet's bytes go,
 * and not before a query is done with them.
 *
 * The device is the host's compiler, told not to share memory, with a book of what is registered put between. Whatever
 * unmaps must find the bytes still there.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "db/database.h"
#include "exec/device/dev_int.h"
#include "session/core/session.h"
#include "storage/tablet.h"
#include "unit_answer.h"

static Database *db;
static Session *session;
static MemAccount root;
static Pool *pool; /* the device's: it outlives the database */
static Devices *devices;
static Device *device;
static CodeCache *cache;
static DevRuntime *runtime;

/* ---- the book --------------------------------------------------------------------------------------------- */
enum { BOOK_MAX = 256 };
static struct {
    char *host;
    int64_t bytes;
} book[BOOK_MAX];
static int n_book;
static int64_t maps, direct_bytes, other_bytes, fail_map_at;
static const DeviceOps *real;
static DeviceOps ops;

static Status book_map(Device *d, void *host, int64_t bytes, DevPtr *out, Err *e) {
    maps++;
    if (fail_map_at && maps >= fail_map_at) return err_set(e, ERR_SYSTEM, "no mapping in this test");
    for (int i = 0; i < n_book; i++)
        assert_false((char *)host < book[i].host + book[i].bytes && book[i].host < (char *)host + bytes);
    assert_true(n_book < BOOK_MAX);
    book[n_book].host = host;
    book[n_book++].bytes = bytes;
    return real->map_host(d, host, bytes, out, e);
}
static void book_unmap(Device *d, void *host, int64_t bytes) {
    int i = 0;
    while (i < n_book && book[i].host != host) i++;
    assert_true(i < n_book && book[i].bytes == bytes);
    assert_memory_equal(host, TABLET_MAGIC, 8); /* still there */
    book[i] = book[--n_book];
    real->unmap_host(d, host, bytes);
}
static Status book_copy_in(DevQueue *q, DevPtr dst, const void *src, int64_t n, Err *e) {
    bool in = false;
    for (int i = 0; i < n_book; i++)
        in |= (const char *)src >= book[i].host && (const char *)src + n <= book[i].host + book[i].bytes;
    *(in ? &direct_bytes : &other_bytes) += n;
    return real->copy_in(q, dst, src, n, e);
}

static _Atomic int launches;
static Status book_launch(DevQueue *q, DevKernel *k, int64_t groups, int32_t size, int64_t local,
                          const uint64_t *params, int32_t n, Err *e) {
    atomic_fetch_add(&launches, 1);
    return real->launch(q, k, groups, size, local, params, n, e);
}

/* ---- SQL ------------------------------------------------------------------------------------------------------ */
static uint64_t run(const char *sql) {
    Statement *st;
    int64_t used;
    if (statement_prepare(session, slice_of(sql), &st, &used) != ST_OK || statement_run(st) != ST_OK)
        fail_msg("%s: %s %s %s", sql, session->err.sqlstate, session->err.message, session->err.detail);
    uint64_t h = answer_digest(session, st);
    statement_free(st);
    return h;
}
static void set(const char *name, const char *value) {
    err_clear(&session->err);
    if (settings_set(session, name, value, &session->err) != ST_OK) fail_msg("set %s: %s", name, session->err.message);
}

static const char *const queries[] = {
    "select count(*), sum(a), sum(b), min(d), max(f) from t where b < 700",
    "select count(n), count(s), sum(n), max(f) from t where a % 7 = 3",
    "select a, s from t where b = 77 order by a limit 50",
    "select s, count(*) from t where f > 100 group by s order by 2 desc, 1 limit 9",
};
enum { N_QUERIES = (int)(sizeof queries / sizeof *queries) };

static uint64_t on_vm(const char *sql) {
    set("executor", "vm");
    uint64_t h = run(sql);
    set("executor", "compiled");
    return h;
}

static void fill(const char *name) {
    char sql[512];
    set("executor", "vm");
    snprintf(sql, sizeof sql, "create table %s(a int, b int, d date, s text, n int, f double precision)", name);
    run(sql);
    snprintf(sql, sizeof sql,
             "insert into %s select g, g * 31 %% 1000, date '2000-01-01' + (g %% 3000)::int, 's' || (g * 7 %% 250007), "
             "case when g %% 5 = 0 then null else g %% 3 end, g / 8.0 "
             "from generate_series(1, 300000) g",
             name);
    run(sql);
    snprintf(sql, sizeof sql, "vacuum %s", name);
    on_vm(sql);
}

static void compare(const char *mode, bool same) {
    for (int i = 0; i < N_QUERIES; i++) {
        uint64_t want = on_vm(queries[i]);
        set("device_residence", mode);
        for (int again = 0; again < 2; again++)
            if ((run(queries[i]) == want) != same) fail_msg("%s, run %d: %s: wrong", mode, again, queries[i]);
    }
}

static void device_use(void) {
    Err e = {0};
    assert_int_equal(dev_runtime_new(device, cache, &root, &runtime, &e), ST_OK);
    session->device.override = runtime;
}
static void device_done(void) {
    session->device.override = NULL;
    dev_runtime_free(runtime);
    runtime = NULL;
}

static int setup(void **state) {
    (void)state;
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &session, &e), ST_OK);
    fill("t");
    assert_non_null(pool = pool_new(2, &e));
    assert_int_equal(devices_open(pool, &root, &devices, &e), ST_OK);
    assert_int_equal(devices_get(devices, "host", &device, &e), ST_OK);
    assert_int_equal(code_cache_new(NULL, -1, &cache, &e), ST_OK);
    real = device->ops;
    ops = *real;
    ops.map_host = book_map;
    ops.unmap_host = book_unmap;
    ops.copy_in = book_copy_in;
    ops.launch = book_launch;
    device->ops = &ops;
    device->info.shares_memory = false;
    set("device_wait", "on");
    set("device_strict", "on");
    return 0;
}

/* The database is closed while the device still has its pages. */
static int teardown(void **state) {
    (void)state;
    if (!runtime) device_use();
    set("executor", "compiled");
    set("device_residence", "mapped");
    run(queries[0]);
    assert_true(n_book > 0);
    on_vm("begin");
    on_vm("drop table t");
    on_vm("commit");
    assert_int_equal(n_book, 0);
    fill("t");
    run(queries[0]);
    assert_true(n_book > 0);
    session_free(session);
    database_close(db);
    assert_int_equal(n_book, 0);
    dev_runtime_free(runtime);
    device->ops = real;
    device->info.shares_memory = true;
    code_cache_drop_device(cache, device);
    code_cache_free(cache);
    devices_close(devices);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------------------------- */
static void test_watch(void **state) {
    (void)state;
    Table *t = catalog_table(&db->catalog, slice_of("t"));
    assert_non_null(t);
    Tablet *tab = t->tablets[0];
    int a = 0, b = 0;
    TabletWatch x = {.owner = &a}, y = {.owner = &b}, z = {.owner = &a};
    assert_null(tablet_watched(tab, &a));
    tablet_watch(tab, &x);
    tablet_watch(tab, &y);
    assert_ptr_equal(tablet_watched(tab, &a), &x);
    assert_ptr_equal(tablet_watched(tab, &b), &y);
    assert_true(tablet_unwatch(tab->block, &x));
    assert_false(tablet_unwatch(tab->block, &x));
    assert_false(tablet_unwatch(tab->block, &z));
    assert_null(tablet_watched(tab, &a));
    assert_ptr_equal(tablet_watched(tab, &b), &y);
    assert_true(tablet_unwatch(tab->block, &y));
    assert_null(tablet_watched(tab, &b));
}

static void test_mapped(void **state) {
    (void)state;
    device_use();
    maps = 0;
    compare("mapped", true);
    assert_int_equal(maps, 3); /* once per tablet, not per query */
    assert_int_equal(n_book, 3);
    assert_true(runtime->mapped_bytes > 0);
    device_done();
    assert_int_equal(n_book, 0);
}

/* What is registered is copied from where it is. */
static void test_moved(void **state) {
    (void)state;
    static const char *const modes[] = {"serial", "streamed"};
    for (int i = 0; i < 2; i++) {
        device_use();
        direct_bytes = 0;
        set("executor", "compiled");
        set("device_residence", modes[i]);
        run(queries[0]);
        assert_int_equal(direct_bytes, 0);
        assert_int_equal(n_book, 0);
        set("device_residence", "mapped");
        run(queries[0]);
        compare(modes[i], true);
        assert_true(direct_bytes > 8 * 300000);
        device_done();
        assert_int_equal(n_book, 0);
    }
}

/* A table that moves again and again is registered, and if that is refused it goes on moving. */
static void test_register(void **state) {
    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        device_use();
        maps = direct_bytes = 0;
        fail_map_at = refused ? 2 : 0; /* the second tablet's */
        uint64_t want = on_vm(queries[0]);
        set("device_residence", "serial");
        for (int i = 0; i < 12; i++) assert_true(run(queries[0]) == want);
        assert_int_equal(maps, refused ? 2 : 3);
        assert_int_equal(n_book, refused ? 1 : 3);
        assert_true(direct_bytes > 0);
        fail_map_at = 0;
        device_done();
    }
    assert_int_equal(n_book, 0);
}

/* Room for two tablets of three: those that a query reads stay, however many; afterwards the oldest go. */
static void test_limit(void **state) {
    (void)state;
    device_use();
    fill("u");
    set("executor", "compiled");
    set("device_residence", "mapped");
    run(queries[0]);
    int64_t one = runtime->mapped_bytes / 3;
    runtime->map_limit = 4 * one;
    run("select count(*), sum(a), sum(f) from u");
    assert_in_range(n_book, 3, 4);
    runtime->map_limit = one;
    compare("mapped", true);
    assert_int_equal(n_book, 3);
    runtime->map_limit = 100 * one;
    set("device_residence", "mapped");
    run("select count(*), sum(a), sum(f) from u");
    assert_int_equal(n_book, 6);
    on_vm("drop table u");
    assert_int_equal(n_book, 3);
    device_done();
}

/* Everything that gives up tablets. */
static void test_gone(void **state) {
    (void)state;
    static const char *const ways[] = {"drop table v",
                                       "truncate v",
                                       "delete from v where a % 10 <> 0; vacuum v",
                                       "update v set b = b + 1; vacuum v",
                                       "begin; truncate v; commit",
                                       "begin; drop table v; commit"};
    static const char *const undone[] = {"begin; truncate v; rollback", "begin; delete from v; rollback"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        device_use();
        set("device_residence", "mapped");
        on_vm("drop table if exists v");
        fill("v");
        const char *sql = "select count(*), sum(a), sum(f), count(s) from v";
        uint64_t before = run(sql);
        assert_int_equal(n_book, 3);
        for (size_t k = 0; k < sizeof undone / sizeof *undone; k++) {
            char text[128];
            snprintf(text, sizeof text, "%s", undone[k]);
            for (char *save = NULL, *part = strtok_r(text, ";", &save); part; part = strtok_r(NULL, ";", &save))
                on_vm(part);
            assert_true(run(sql) == before);
            assert_int_equal(n_book, 3);
        }
        char text[128];
        snprintf(text, sizeof text, "%s", ways[i]);
        for (char *save = NULL, *part = strtok_r(text, ";", &save); part; part = strtok_r(NULL, ";", &save))
            on_vm(part);
        assert_int_equal(n_book, 0);
        device_done();
    }
    on_vm("drop table if exists v");
}

/* ---- cancelling while pieces of a table wait for the kernels before them ---- */
/* When both tables' kernels have been started and no more of them are. */
static int64_t cancelled_ns;
static void *cancel_soon(void *unused) {
    (void)unused;
    for (int quiet = 0, seen = 0; quiet < 6;) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        int now = atomic_load(&launches);
        quiet = now > 1 && now == seen ? quiet + 1 : 0;
        seen = now;
    }
    cancelled_ns = clock_ns();
    atomic_store(&session->cancel, true);
    return NULL;
}

static void test_cancel(void **state) {
    (void)state;
    static const char *const modes[] = {"streamed", "serial", "mapped"};
    /* 13 tablets, each a piece: more than the ring and the pinned buffers have room for */
    on_vm("create table w as select g as a, g / 8.0 :: double precision as f, g / 7.0 :: double precision as h, g / "
          "6.0 :: double precision as k, g / 5.0 :: double precision as m from generate_series(1, 1600000) g");
    device_use();
    set("executor", "compiled");
    for (int again = 0; again < 2; again++) /* through buffers first; all is registered when it has been mapped */
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            set("device_residence", modes[i]);
            pthread_t thread;
            atomic_store(&launches, 0);
            assert_int_equal(pthread_create(&thread, NULL, cancel_soon, NULL), 0);
            Statement *st;
            int64_t used;
            const char *sql = "select count(*) from w x, w y where x.a + y.a = -1 and x.f > -1 and x.h > -1 and x.k > "
                              "-1 and x.m > -1 and y.f > -1 and y.h > -1 and y.k > -1 and y.m > -1";
            assert_int_equal(statement_prepare(session, slice_of(sql), &st, &used), ST_OK);
            assert_int_equal(statement_run(st), ST_ERROR);
            assert_string_equal(session->err.sqlstate, "57014");
            assert_int_equal(pthread_join(thread, NULL), 0);
            assert_true(clock_ns() - cancelled_ns <
                        INT64_C(300000000000)); /* all of it takes the better part of an hour */
            statement_free(st);
        }
    compare("streamed", true);
    device_done();
    on_vm("drop table w");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_watch), cmocka_unit_test(test_mapped),
                                       cmocka_unit_test(test_moved), cmocka_unit_test(test_register),
                                       cmocka_unit_test(test_limit), cmocka_unit_test(test_gone),
                                       cmocka_unit_test(test_cancel)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
