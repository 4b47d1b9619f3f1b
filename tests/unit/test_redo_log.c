/* test_redo_log.c - the redo log's files by themselves: groups of many threads, files that go on from others under way,
 * failed syncs.
 *
 * As sessions do, threads append under a lock held alone, and wait without it; one thread prepares new files beside
 * them, and begins these under the lock.
 */
#include <sched.h>

#include "base/log.h"
#include "log/redo_log.h"
#include "unit.h"
#include "unit_disk.h"

enum { THREADS = 4, RECORDS = 300, BEGIN_LSN = 4096, FILES = 30 };
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

/* One in five is made before it is appended. */
static Status append_one(Shared *x, const Record *r, int64_t n, int64_t i, int64_t *lsn, Err *e) {
    MadeRecord made;
    if (i % 5) return redo_log_append(x->log, r, n, lsn, e);
    redo_log_begin_made(x->log, &made, e);
    bytes_put(&made.bytes, r, n);
    Status st = redo_log_end_made(&made, e);
    if (st == ST_OK) st = redo_log_append_made(x->log, &made, lsn, e);
    redo_log_release_made(&made);
    return st;
}
static void *append_many(void *arg) {
    Shared *x = ((void **)arg)[0];
    const int64_t me = (int64_t)(intptr_t)((void **)arg)[1];
    for (int64_t i = 0; i < RECORDS; i++) {
        Err e = {0};
        Record r = {.thread = me, .number = i};
        int64_t lsn, at = 0;
        memset(r.more, (int)('a' + i % 26), sizeof r.more);
        pthread_mutex_lock(&x->lock);
        const Status st = append_one(x, &r, 16 + (me * 31 + i * 7) % (int64_t)sizeof r.more, i, &lsn, &e);
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
    const RedoLogId id = {.database = 77, .timeline = 2};
    assert_int_equal(redo_log_create(&x->disk->vfs, "/log0", &id, BEGIN_LSN, &x->account, &x->log, &e), ST_OK);
    assert_int_equal(x->disk->vfs.sync_dir(&x->disk->vfs, "/", &e), ST_OK);
}
static void run_threads(Shared *x, pthread_t *threads, void *args[][2]) {
    for (intptr_t i = 0; i < THREADS; i++) {
        args[i][0] = x;
        args[i][1] = (void *)i;
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, args[i]), 0);
    }
}
static const char last_record[] = "last";
/* Records that the file has, which is the one behind those of *lsn; *more: it says that there is another one. */
static void read_file(Shared *x, Disk *d, int file, int64_t *lsn, int64_t *n, bool *more) {
    RedoReader r;
    RedoRecord rec;
    Err e = {0};
    bool there, got = true;
    char path[32];
    snprintf(path, sizeof path, "/log%d", file);
    if (redo_reader_open(&d->vfs, path, &r, &there, &e) != ST_OK) fail_msg("%s", e.message);
    assert_true(there);
    assert_int_equal(r.id.database, 77);
    assert_int_equal(r.id.timeline, 2);
    assert_int_equal(r.id.generation, file);
    assert_int_equal(r.id.previous, MAX_OF(file - 1, 0));
    if (redo_reader_follow(&r, *lsn, &e) != ST_OK) fail_msg("%s", e.message);
    for (*more = false; got;) {
        if (redo_reader_next(&r, &rec, &got, &e) != ST_OK) fail_msg("%s", e.message);
        if (!got) break;
        assert_false(*more);
        *more = rec.n == (int64_t)sizeof last_record;
        if (*more) continue;
        const Record *v = (const Record *)(const void *)rec.bytes;
        assert_int_equal(v->thread * RECORDS + v->number, x->order[*n]);
        assert_int_equal(rec.n, 16 + (v->thread * 31 + v->number * 7) % (int64_t)sizeof v->more);
        ++*n;
    }
    *lsn = redo_reader_lsn(&r);
    redo_reader_close(&r);
}
/* The records of all files, one behind the other. */
static int64_t read_back(Shared *x, Disk *d) {
    int64_t lsn = BEGIN_LSN, n = 0;
    bool more = true;
    for (int file = 0; more; file++) read_file(x, d, file, &lsn, &n, &more);
    return n;
}
static void end(Shared *x) {
    redo_log_close(x->log);
    disk_free(x->disk);
    pthread_mutex_destroy(&x->lock);
    assert_int_equal(x->account.used, 0);
}

/* What a power cut leaves now has all that was acknowledged. */
static void check_cut(Shared *x) {
    pthread_mutex_lock(&x->disk->lock);
    const int64_t least = x->waited;
    Disk *left = disk_after_cut(x->disk);
    pthread_mutex_unlock(&x->disk->lock);
    pthread_mutex_lock(&x->lock);
    assert_true(read_back(x, left) >= least);
    pthread_mutex_unlock(&x->lock);
    disk_free(left);
}
static void groups(void **state) {
    (void)state;
    Shared x;
    pthread_t threads[THREADS];
    void *args[THREADS][2];
    open_log(&x, 3);
    run_threads(&x, threads, args);
    for (int i = 0; i < 40; i++) check_cut(&x); /* under way */
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    Err e = {0};
    assert_int_equal(x.refused, 0);
    assert_int_equal(redo_log_wait(x.log, redo_log_end(x.log), &e), ST_OK);
    assert_int_equal(redo_log_durable(x.log), redo_log_end(x.log));
    assert_int_equal(read_back(&x, x.disk), THREADS * RECORDS);
    end(&x);
}
static void new_files(void **state) {
    (void)state;
    Shared x;
    pthread_t threads[THREADS];
    void *args[THREADS][2];
    open_log(&x, 4);
    run_threads(&x, threads, args);
    for (int file = 1, i = 0; file < FILES; i++) {
        Err e = {0};
        char path[32];
        const RedoLogId id = {.database = 77, .timeline = 2, .generation = file, .previous = file - 1};
        snprintf(path, sizeof path, "/log%d", file);
        assert_int_equal(redo_log_prepare(x.log, path, &id, &e), ST_OK);
        assert_int_equal(x.disk->vfs.sync_dir(&x.disk->vfs, "/", &e), ST_OK);
        if (i % 3 == 0) {
            redo_log_unprepare(x.log);
            continue;
        }
        pthread_mutex_lock(&x.lock);
        const Status st = redo_log_switch(x.log, last_record, (int64_t)sizeof last_record, &e);
        if (st == ST_OK) assert_int_equal(redo_log_bytes(x.log), 128);
        pthread_mutex_unlock(&x.lock);
        assert_int_equal(st, ST_OK);
        check_cut(&x);
        if (i % 2) assert_int_equal(redo_log_begun(x.log, &e), ST_OK);
        check_cut(&x);
        file++;
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    Err e = {0};
    assert_int_equal(x.refused, 0);
    assert_int_equal(redo_log_wait(x.log, redo_log_end(x.log), &e), ST_OK);
    assert_int_equal(redo_log_begun(x.log, &e), ST_OK);
    assert_int_equal(read_back(&x, x.disk), THREADS * RECORDS);
    end(&x);
}
/* The next file is not used as long as there is no room for the end of this one; then nothing is lost. */
static void full_disk(void **state) {
    (void)state;
    Shared x;
    Err e = {0};
    const RedoLogId id = {.database = 77, .timeline = 2, .generation = 1};
    int64_t lsn;
    open_log(&x, 7);
    assert_int_equal(redo_log_prepare(x.log, "/log1", &id, &e), ST_OK);
    assert_int_equal(redo_log_append(x.log, "one", 3, &lsn, &e), ST_OK);
    x.disk->full = true;
    assert_int_equal(redo_log_wait(x.log, lsn, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "53100");
    err_clear(&e);
    assert_int_equal(redo_log_switch(x.log, last_record, (int64_t)sizeof last_record, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "53100");
    err_clear(&e);
    x.disk->full = false;
    assert_int_equal(redo_log_switch(x.log, last_record, (int64_t)sizeof last_record, &e), ST_OK);
    x.disk->full = true;
    assert_int_equal(redo_log_append(x.log, "two", 3, &lsn, &e), ST_OK);
    assert_int_equal(redo_log_begun(x.log, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, "53100");
    err_clear(&e);
    x.disk->full = false;
    assert_int_equal(redo_log_wait(x.log, lsn, &e), ST_OK);
    assert_int_equal(redo_log_begun(x.log, &e), ST_OK);
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
        assert_true(read_back(&x, left) >= x.waited);
        disk_free(left);
    }
    err_clear(&e);
    const RedoLogId id = {.database = 77, .timeline = 2, .generation = 1};
    assert_true(redo_log_failed(x.log));
    assert_int_equal(redo_log_remake(x.log, "/next", &id, &e), ST_OK);
    redo_log_renew(x.log);
    assert_false(redo_log_failed(x.log));
    assert_int_equal(redo_log_append(x.log, "x", 1, &lsn, &e), ST_OK);
    assert_int_equal(redo_log_wait(x.log, lsn, &e), ST_OK);
    end(&x);
}
/* ---- writes beside each other ---- */
static struct {
    Status (*sync)(VfsFile *f, Err *e);
    _Atomic int begun;
    _Atomic bool hold; /* the first one */
} slow;
static Status sync_slowly(VfsFile *f, Err *e) {
    const int number = slow.begun++;
    while (number == 0 && slow.hold) sched_yield();
    return slow.sync(f, e);
}
static void *append_and_wait(void *arg) {
    Shared *x = arg;
    Err e = {0};
    int64_t lsn = 0;
    pthread_mutex_lock(&x->lock);
    x->refused += redo_log_append(x->log, "one", 3, &lsn, &e) != ST_OK;
    pthread_mutex_unlock(&x->lock);
    x->refused += redo_log_wait(x->log, lsn, &e) != ST_OK;
    return NULL;
}
static void wait_for(Shared *x, int64_t begun, int64_t writes) {
    RedoLogInfo info = {0};
    while (slow.begun < begun || info.writes < writes) {
        sched_yield();
        redo_log_info(x->log, &info);
    }
}
/* A write begins while another one is under way; what it has is not on the disk before that. */
static void beside(void **state) {
    (void)state;
    Shared x;
    pthread_t threads[2];
    open_log(&x, 8);
    slow.sync = x.disk->vfs.sync;
    slow.begun = 0;
    slow.hold = true;
    x.disk->vfs.sync = sync_slowly;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, append_and_wait, &x), 0);
        wait_for(&x, i + 1, i);
    }
    assert_int_equal(redo_log_durable(x.log), BEGIN_LSN);
    slow.hold = false;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    assert_int_equal(x.refused, 0);
    assert_int_equal(redo_log_durable(x.log), redo_log_end(x.log));
    x.disk->vfs.sync = slow.sync;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(groups),      cmocka_unit_test(beside),
                                       cmocka_unit_test(new_files),   cmocka_unit_test(full_disk),
                                       cmocka_unit_test(failed_sync), cmocka_unit_test(late)};
    return cmocka_run_group_tests_name("redo_log", tests, NULL, NULL);
}
