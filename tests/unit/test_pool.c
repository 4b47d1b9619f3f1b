/* test_pool.c - worker threads, also from several callers and nested; files and hashes beside. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/vfs.h"

enum { ITEMS = 10000 };

typedef struct Work {
    _Atomic int64_t next, sum;
    _Atomic uint32_t workers; /* bit per worker number */
    Pool *pool;
    int depth;
} Work;

static void add_items(void *ctx, int worker) {
    Work *w = ctx;
    uint32_t before = atomic_fetch_or(&w->workers, 1u << worker);
    assert_false(before & 1u << worker); /* a number is given out once */
    int64_t i;
    while ((i = atomic_fetch_add(&w->next, 1)) < ITEMS) atomic_fetch_add(&w->sum, i);
}

static void run_once(Pool *p, int workers) {
    Work w = {0};
    pool_run(p, workers, add_items, &w);
    assert_int_equal(atomic_load(&w.sum), (int64_t)ITEMS * (ITEMS - 1) / 2);
    assert_true(atomic_load(&w.workers) & 1u);
}

static void test_run(void **state) {
    (void)state;
    for (int threads = 1; threads <= 8; threads *= 2) {
        Err e = {0};
        Pool *p = pool_new(threads, &e);
        assert_non_null(p);
        assert_int_equal(pool_threads(p), threads);
        for (int i = 0; i < 200; i++) run_once(p, i % 10);
        pool_free(p);
    }
    pool_free(NULL);
}

static void *caller(void *arg) {
    for (int i = 0; i < 200; i++) run_once(arg, 4);
    return NULL;
}

static void test_concurrent(void **state) {
    (void)state;
    Err e = {0};
    Pool *p = pool_new(4, &e);
    pthread_t t[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, caller, p), 0);
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    pool_free(p);
}

static void nested(void *ctx, int worker) {
    (void)worker;
    Work *w = ctx;
    if (atomic_fetch_add(&w->next, 1) < 20) run_once(w->pool, 3);
}

static void test_nested(void **state) {
    (void)state;
    Err e = {0};
    Pool *p = pool_new(3, &e);
    for (int i = 0; i < 20; i++) {
        Work w = {.pool = p};
        pool_run(p, 3, nested, &w);
    }
    pool_free(p);
}

/* An urgent job gets a worker although all threads of the pool are busy with another one, which goes on afterwards. */
typedef struct Busy {
    Pool *pool;
    _Atomic int arrived; /* workers of the urgent job */
    _Atomic int busy;    /* workers of the other one */
    _Atomic bool over;
} Busy;
static void busy_worker(void *ctx, int worker) {
    Busy *b = ctx;
    (void)worker;
    atomic_fetch_add(&b->busy, 1);
    while (!atomic_load(&b->over)) pool_help(b->pool);
}
static void *busy_thread(void *ctx) {
    pool_run(((Busy *)ctx)->pool, 2, busy_worker, ctx);
    return NULL;
}
static void meet(void *ctx, int worker) {
    Busy *b = ctx;
    (void)worker;
    atomic_fetch_add(&b->arrived, 1);
    for (int64_t end = clock_ns() + INT64_C(60000000000); atomic_load(&b->arrived) < 2 && clock_ns() < end;)
        pool_help(b->pool); /* does nothing: this is urgent itself */
}
static void test_urgent(void **state) {
    (void)state;
    Err e = {0};
    pthread_t t;
    Busy b = {.pool = pool_new(2, &e)};
    assert_int_equal(pthread_create(&t, NULL, busy_thread, &b), 0);
    while (atomic_load(&b.busy) < 2) usleep(100);
    pool_urgent_begin();
    for (int i = 0; i < 100; i++) {
        atomic_store(&b.arrived, 0);
        pool_run(b.pool, 2, meet, &b);
        assert_int_equal(atomic_load(&b.arrived), 2);
    }
    pool_urgent_end();
    atomic_store(&b.over, true);
    pthread_join(t, NULL);
    pool_free(b.pool);
}

static void test_hash(void **state) {
    (void)state;
    assert_int_equal(crc32c(0, "123456789", 9), 0xE3069283u);
    uint32_t c = crc32c(0, "12345", 5);
    assert_int_equal(crc32c(c, "6789", 4), 0xE3069283u);
    assert_int_equal(crc32c(0, "", 0), 0);
    assert_true(hash_bytes("a", 1) != hash_bytes("b", 1));
    assert_true(hash_bytes(NULL, 0) == hash_bytes("", 0));
    hash_constant = true;
    assert_true(hash_bytes("a", 1) == 0);
    hash_constant = false;
    int64_t t = clock_ns();
    assert_true(clock_ns() >= t);
}

static Status count_name(void *ctx, const char *name, Err *e) {
    (void)e;
    (void)name;
    ++*(int *)ctx;
    return ST_OK;
}

static void test_files(void **state) {
    (void)state;
    Vfs *v = vfs_posix();
    Err e = {0};
    char dir[64], path[96], other[96], buf[16];
    snprintf(dir, sizeof dir, "/tmp/stele_unit_%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/a", dir);
    snprintf(other, sizeof other, "%s/b", dir);
    VfsFile *f, *g;
    int64_t got, size;
    bool there;
    assert_int_equal(v->open(v, path, VFS_READ, &f, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_UNDEFINED_FILE);
    err_clear(&e);
    assert_int_equal(v->make_dir(v, dir, &e), ST_OK);
    assert_int_equal(v->make_dir(v, dir, &e), ST_OK);
    assert_int_equal(v->open(v, path, VFS_READ | VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, &f, &e), ST_OK);
    assert_int_equal(v->open(v, path, VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, &g, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_DUPLICATE_FILE);
    err_clear(&e);
    assert_int_equal(v->write_at(f, "hello", 5, 3, &e), ST_OK);
    assert_int_equal(v->read_at(f, buf, 16, 4, &got, &e), ST_OK);
    assert_int_equal(got, 4);
    assert_memory_equal(buf, "ello", 4);
    assert_int_equal(v->sync(f, &e), ST_OK);
    assert_int_equal(v->size(f, &size, &e), ST_OK);
    assert_int_equal(size, 8);
    const void *map;
    assert_int_equal(v->map(f, size, &map, &e), ST_OK);
    assert_memory_equal((const char *)map + 3, "hello", 5);
    v->unmap(map, size);
    assert_int_equal(v->lock(f, &e), ST_OK);
    assert_int_equal(v->open(v, path, VFS_READ, &g, &e), ST_OK);
    assert_int_equal(v->lock(g, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_OBJECT_IN_USE);
    err_clear(&e);
    v->close(g, &e);
    assert_int_equal(v->truncate(f, 2, &e), ST_OK);
    assert_int_equal(v->close(f, &e), ST_OK);
    assert_int_equal(v->rename(v, path, other, &e), ST_OK);
    assert_int_equal(v->sync_dir(v, dir, &e), ST_OK);
    int names = 0;
    assert_int_equal(v->list(v, dir, count_name, &names, &e), ST_OK);
    assert_int_equal(names, 1);
    assert_int_equal(v->exists(v, path, &there, &e), ST_OK);
    assert_false(there);
    assert_int_equal(v->remove(v, path, &e), ST_OK);
    assert_int_equal(v->remove(v, other, &e), ST_OK);
    assert_int_equal(vfs_open_temp(v, dir, &f, &e), ST_OK);
    assert_int_equal(v->write_at(f, "x", 1, 0, &e), ST_OK);
    names = 0;
    assert_int_equal(v->list(v, dir, count_name, &names, &e), ST_OK);
    assert_int_equal(names, 0); /* unlinked at once */
    v->close(f, &e);
    assert_int_equal(vfs_open_temp(v, "/nonexistent", &f, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_UNDEFINED_FILE);
    err_clear(&e);
    assert_int_equal(v->remove(v, dir, &e), ST_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_run),    cmocka_unit_test(test_concurrent), cmocka_unit_test(test_nested),
        cmocka_unit_test(test_urgent), cmocka_unit_test(test_hash),       cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
