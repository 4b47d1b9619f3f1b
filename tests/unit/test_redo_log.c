/* test_redo_log.c - the redo log's file by itself: groups of many threads, changes of files under way, failed syncs.
 *
 * As sessions do, threads append under a lock held shared or alone, and wait without it; one thread begins new files
 * under the lock held alone.
 */
#include <sched.h>

#include "base/log.h"
#include "log/redo_log.h"
#include "unit.h"
#include "unit_disk.h"

enum { THREADS = 4, RECORDS = 300, FIRST_LSN = 4096 };
typedef struct Shared {
    Disk *disk;
    RedoLog *log;
    MemAccount account;
    pthread_mutex_t lock; /* appending is one step with what it stands for */
    int64_t order[THREADS * RECORDS + 1], n;
    _Atomic int64_t waited; /* how many of these are known to be on the disk */
    _Atomic int64_t refused;
} Shared;

typedef struct Record {
    int64_t thread, number;
    char more[120];
} Record;

static void *append_many(void *arg) {
    Shared *x = ((void **)arg)[0];
    const int64_t me = (int64_t)(intptr_t)((void **)arg)[1];
    for (int64_t i = 0; i < RECORDS; i++) {
        Err e = {0};
        Record r = {.thread = me, .number = i};
        int64_t lsn, at = 0;
        memset(r.more, (int)('a' + i % 26), sizeof r.more);
        pthread_mutex_lock(&x->lock);
        const Status st = redo_log_append(x->log, &r, 16 + (me * 31 + i * 7) % (int64_t)sizeof r.more, &lsn, &e);
        if (st == ST_OK) x->order[x->n++] = me * RECORDS + i;
        at = x->n;
        pthread_mutex_unlock(&x->lock);
        if (st != ST_OK || ((i + me) % 4 != 0 && redo_log_wait(x->log, lsn, &e) != ST_OK)) {
            x->refused++;
            continue;
        }
        if ((i + me) % 4 == 0) continue;
        for (int64_t was = x->waited; was < at && !atomic_compare_exchange_weak(&x->waited, &was, at);) {}
    }
    return NULL;
}
static void open_log(Shared *x, uint64_t seed) {
    Err e = {0};
    *x = (Shared){.disk = disk_new(seed)};
    pthread_mutex_init(&x->lock, NULL);
    mem_account_init(&x->account, NULL, "log", 0, NULL);
    assert_int_equal(vfs_write_file(&x->disk->vfs, "/other", "", 0, &e), ST_OK);
    assert_int_equal(redo_log_create(&x->disk->vfs, "/log", 3, FIRST_LSN, &x->account, &x->log, &e), ST_OK);
    assert_int_equal(x->disk->vfs.sync_dir(&x->disk->vfs, "/", &e), ST_OK);
}
static void run_threads(Shared *x, pthread_t *threads, void *args[][2]) {
    for (intptr_t i = 0; i < THREADS; i++) {
        args[i][0] = x;
        args[i][1] = (void *)i;
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, args[i]), 0);
    }
}
/* Records order[from] ... that the file has: how many. */
static int64_t read_back(Shared *x, Disk *d, const char *path, int64_t from) {
    RedoReader r;
    RedoRecord rec;
    Err e = {0};
    bool there, got = true;
    int64_t n = 0;
    assert_int_equal(redo_reader_open(&d->vfs, path, &r, &there, &e), ST_OK);
    assert_true(there);
    for (;;) {
        if (redo_reader_next(&r, &rec, &got, &e) != ST_OK) fail_msg("%s", e.message);
        if (!got) break;
        const Record *v = (const Record *)(const void *)rec.bytes;
        assert_int_equal(v->thread * RECORDS + v->number, x->order[from + n]);
        assert_int_equal(rec.n, 16 + (v->thread * 31 + v->number * 7) % (int64_t)sizeof v->more);
        n++;
    }
    redo_reader_close(&r);
    return n;
}
static void end(Shared *x) {
    redo_log_close(x->log);
    disk_free(x->disk);
    pthread_mutex_destroy(&x->lock);
    assert_int_equal(x->account.used, 0);
}

static void groups(void **state) {
    (void)state;
    Shared x;
    pthread_t threads[THREADS];
    void *args[THREADS][2];
    open_log(&x, 3);
    run_threads(&x, threads, args);
    for (int i = 0; i < 40; i++) { /* power cuts under way */
        pthread_mutex_lock(&x.disk->lock);
        const int64_t least = x.waited;
        Disk *left = disk_after_cut(x.disk);
        pthread_mutex_unlock(&x.disk->lock);
        pthread_mutex_lock(&x.lock);
        assert_true(read_back(&x, left, "/log", 0) >= least);
        pthread_mutex_unlock(&x.lock);
        disk_free(left);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    Err e = {0};
    assert_int_equal(x.refused, 0);
    assert_int_equal(redo_log_wait(x.log, redo_log_end(x.log), &e), ST_OK);
    assert_int_equal(redo_log_durable(x.log), redo_log_end(x.log));
    assert_int_equal(read_back(&x, x.disk, "/log", 0), THREADS * RECORDS);
    end(&x);
}
static void new_files(void **state) {
    (void)state;
    Shared x;
    pthread_t threads[THREADS];
    void *args[THREADS][2];
    int64_t from = 0;
    char path[32] = "/log";
    open_log(&x, 4);
    run_threads(&x, threads, args);
    for (int i = 0; i < 30; i++) {
        Err e = {0};
        pthread_mutex_lock(&x.lock);
        snprintf(path, sizeof path, "/log%d", i);
        assert_int_equal(redo_log_prepare(x.log, path, 4 + i, &e), ST_OK);
        if (i % 3 == 0) {
            redo_log_unprepare(x.log);
        } else {
            redo_log_switch(x.log);
            from = x.n;
            assert_int_equal(redo_log_bytes(x.log), 64);
        }
        pthread_mutex_unlock(&x.lock);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    Err e = {0};
    assert_int_equal(x.refused, 0);
    assert_int_equal(redo_log_wait(x.log, redo_log_end(x.log), &e), ST_OK);
    assert_int_equal(read_back(&x, x.disk, path, from), THREADS * RECORDS - from);
    end(&x);
}
/* Nothing is taken behind it, and what was acknowledged is there. */
static void failed_sync(void **state) {
    (void)state;
    Shared x;
    pthread_t threads[THREADS];
    void *args[THREADS][2];
    open_log(&x, 5);
    x.disk->fail_at = x.disk->ops + 200;
    run_threads(&x, threads, args);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    Err e = {0};
    int64_t lsn;
    assert_true(x.refused > 0);
    assert_int_equal(redo_log_append(x.log, "x", 1, &lsn, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "58030");
    for (int i = 0; i < 20; i++) {
        Disk *left = disk_after_cut(x.disk);
        assert_true(read_back(&x, left, "/log", 0) >= x.waited);
        disk_free(left);
    }
    err_clear(&e);
    assert_int_equal(redo_log_prepare(x.log, "/next", 9, &e), ST_OK);
    redo_log_switch(x.log);
    assert_int_equal(redo_log_append(x.log, "x", 1, &lsn, &e), ST_OK);
    assert_int_equal(redo_log_wait(x.log, lsn, &e), ST_OK);
    end(&x);
}
/* What no thread waits for is written by the log's thread. */
static void late(void **state) {
    (void)state;
    Shared x;
    Err e = {0};
    int64_t lsn;
    open_log(&x, 6);
    assert_int_equal(redo_log_append(x.log, "abc", 3, &lsn, &e), ST_OK);
    const int64_t until = clock_ns() + INT64_C(20000000000);
    while (redo_log_durable(x.log) < lsn && clock_ns() < until) sched_yield();
    assert_int_equal(redo_log_durable(x.log), lsn);
    end(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups), cmocka_unit_test(new_files),
                                       cmocka_unit_test(failed_sync), cmocka_unit_test(late)};
    return cmocka_run_group_tests_name("redo_log", tests, NULL, NULL);
}
