/* test_table_parts.c - checkpoints write what has changed of a table, and what lies in older files is found again.
 *
 * Random changes of a table with some tablets and a dictionary, each followed by a checkpoint, which may fail, or find
 * that files cannot have two names; now and then the power is cut, and the database opened. What it has must be what it
 * had before, and stele check must find all files good. */
#include <unistd.h>

#include "db/checkpoint.h"
#include "storage/table_file.h"
#include "unit_durable.h"
#include "unit_random.h"

static const char settings[] = "set auto_merge = off";
/* The files as they would be found: those of tables, their bases, bytes of both. */
typedef struct Files {
    int n_parts;
    int64_t table_bytes, part_bytes;
} Files;
static Files files_of(Disk *d) {
    Files f = {0};
    char dir[40];
    snprintf(dir, sizeof dir, "/db/g%lld/", (long long)db->db->generation);
    pthread_mutex_lock(&d->lock);
    for (int64_t i = 0; i < d->names.n; i++) {
        const DiskName *x = &d->names.items[i];
        const bool is_part = strstr(x->path, ".part") != NULL;
        if (strncmp(x->path, dir, strlen(dir)) != 0 || (!is_part && !strstr(x->path, ".tab"))) continue;
        f.n_parts += is_part;
        *(is_part ? &f.part_bytes : &f.table_bytes) += x->file->len;
    }
    pthread_mutex_unlock(&d->lock);
    return f;
}
static void each_file(void *ctx, const stele_checked_file *f) {
    if (strcmp(f->state, "good") == 0 || strcmp(f->state, "unused") == 0) return; /* of a checkpoint that failed */
    fail_msg("%s is %s (%s), %s", f->name, f->state, f->problem, (const char *)ctx);
}
/* Of a database that nobody has open. */
static void check_files(Disk *d, const char *when) {
    stele_error_info e;
    int64_t bad = 0;
    if (api_check(db_path, &d->vfs, each_file, (void *)(uintptr_t)when, &bad, &e) != STELE_OK)
        fail_msg("%s", e.message);
}

/* ---- how much is written ---- */
static const char big[] = "create table t(id int, g int, s text); insert into t select i, i % 1000, 'text ' || i % 300 "
                          "from generate_series(1, 600000) g(i); checkpoint";
static const char sums[] = "select count(*), sum(id), sum(g), sum(hashtext(s)::bigint) from t";
static char *rows_now(void) {
    static char text[API_TEXT];
    text[0] = 0;
    api_ok(conn, stele_exec(conn, sums, api_keep, text), sums);
    return text;
}
static void gives_the_same(Disk *d) {
    char want[API_TEXT];
    snprintf(want, sizeof want, "%s", rows_now());
    stele_db *mine = db;
    stele_conn *mine_too = conn;
    pthread_mutex_lock(&d->lock);
    Disk *left = disk_after_cut(d);
    pthread_mutex_unlock(&d->lock);
    open_on(left, settings);
    api_gives(conn, sums, want);
    leave();
    check_files(left, want);
    disk_free(left);
    db = mine;
    conn = mine_too;
}
static void one_tablet(void **state) {
    (void)state;
    Disk *d = disk_new(81);
    open_on(d, settings);
    api_run(conn, big);
    const Files whole = files_of(d);
    assert_int_equal(whole.n_parts, 0);
    api_run(conn, "update t set g = -1 where id = 200000; checkpoint");
    const Files changed = files_of(d); /* one of five tablets */
    assert_int_equal(changed.n_parts, 1);
    assert_int_equal(changed.part_bytes, whole.table_bytes);
    assert_true(changed.table_bytes < whole.table_bytes / 3);
    gives_the_same(d);
    api_run(conn, "delete from t where id in (1, 300000, 599999); checkpoint");
    const Files deleted = files_of(d); /* rows that are gone, and no tablet */
    assert_int_equal(deleted.n_parts, 2);
    assert_true(deleted.table_bytes < whole.table_bytes / 20);
    api_run(conn, "create table other(a int); checkpoint");
    assert_int_equal(files_of(d).n_parts, 2); /* taken over as it is */
    api_run(conn, "update t set g = g + 1 where id % 1000 = 0; checkpoint");
    assert_int_equal(files_of(d).n_parts, 0); /* all tablets */
    gives_the_same(d);
    leave();
    disk_free(d);
}

/* ---- random changes ---- */
static const char *const changes[] = {
    "update t set g = g + 1 where id between %d and %d + 20",
    "update t set s = 'new ' || id where id between %d and %d + 3",
    "delete from t where id between %d and %d + 30",
    "insert into t select i, 0, 'text ' || i %% 50 from generate_series(%d, %d + 40) g(i)",
    "begin; delete from t where id > %d or id < %d; rollback",
    "begin; truncate t; insert into t values (%d, %d, 'x'); rollback",
    "create table if not exists other(a int); insert into other values (%d); delete from other where a < %d",
};
static void change(int64_t rows) {
    char sql[300];
    const int at = (int)rnd_below(rows);
    if (rnd_below(40) == 0) return api_run(conn, "vacuum t");
    snprintf(sql, sizeof sql, changes[rnd_below(ARRAY_LEN(changes))], at, at);
    api_run(conn, sql);
}
static void random_changes(void **state) {
    (void)state;
    int most = 0, with = 0;
    for (int seed = 1; seed <= 6; seed++) {
        Disk *d = disk_new((uint64_t)seed);
        rng = (uint64_t)seed * 0x9E3779B97F4A7C15u | 1;
        const int64_t rows = seed % 2 ? 300000 : 3000;
        char sql[200];
        open_on(d, settings);
        snprintf(sql, sizeof sql,
                 "create table t(id int, g int, s text); insert into t select i, i, 'text ' || i %% 100 from "
                 "generate_series(1, %lld) g(i); vacuum t; checkpoint",
                 (long long)rows);
        api_run(conn, sql);
        for (int i = 0; i < 60; i++) {
            for (int64_t n = rnd_below(3); n >= 0; n--) change(rows);
            char want[API_TEXT];
            snprintf(want, sizeof want, "%s", rows_now());
            d->no_links = rnd_below(10) == 0;
            if (rnd_below(6) == 0) d->fail_at = d->ops + 1 + rnd_below(12);
            const bool made = stele_exec(conn, "checkpoint", NULL, NULL) == STELE_OK;
            d->fail_at = 0;
            if (!made) api_run(conn, "checkpoint");
            const Files f = files_of(d);
            most = MAX_OF(most, f.n_parts);
            with += f.n_parts > 0;
            if (rnd_below(4)) continue;
            leave();
            pthread_mutex_lock(&d->lock);
            Disk *left = disk_after_cut(d);
            pthread_mutex_unlock(&d->lock);
            disk_free(d);
            d = left;
            check_files(d, want);
            open_on(d, settings);
            assert_string_equal(rows_now(), want);
        }
        leave();
        disk_free(d);
    }
    print_message("%d checkpoints had older files, at most %d\n", with, most);
    assert_true(with > 100 && most > 2);
}

/* ---- damage ---- */
static bool try_open_fails(Disk *d, stele_error_info *e) {
    const stele_options o = {.threads = 1, .read_only = true};
    if (api_open(db_path, &o, &d->vfs, &db, e) != STELE_OK) return true;
    assert_int_equal(stele_connect(db, &conn), STELE_OK);
    return false;
}
static void damaged_base(void **state) {
    (void)state;
    Disk *d = disk_new(83);
    open_on(d, settings);
    api_run(conn, big);
    api_run(conn, "update t set g = -1 where id = 200000; checkpoint");
    char want[API_TEXT];
    snprintf(want, sizeof want, "%s", rows_now());
    leave();
    pthread_mutex_lock(&d->lock);
    Disk *left = disk_after_cut(d);
    pthread_mutex_unlock(&d->lock);
    const DiskName *part = NULL;
    for (int64_t i = 0; i < left->names.n; i++)
        if (strstr(left->names.items[i].path, ".part")) part = &left->names.items[i];
    assert_non_null(part);
    char *path = disk_text(part->path), *bytes = disk_memory(NULL, (size_t)part->file->len);
    const int64_t n = part->file->len;
    memcpy(bytes, part->file->p, (size_t)n);
    int refused = 0;
    for (int i = 0; i < 40; i++) {
        const int64_t at = i == 0 ? 56 : rnd_below(n);
        stele_error_info e;
        bytes[at] ^= 1;
        disk_put(left, path, i == 39 ? NULL : bytes, i == 39 ? 0 : i == 38 ? n - 1 : n);
        bytes[at] ^= 1;
        if (try_open_fails(left, &e)) {
            refused++;
            if (!strstr(e.message, ".part") || strcmp(e.sqlstate, "XX001") != 0)
                fail_msg("%s %s", e.sqlstate, e.message);
        } else {
            api_gives(conn, sums, want);
            leave();
            assert_true(i > 0 && i < 38);
        }
    }
    assert_true(refused > 25); /* the others were in what is not used any more */
    free(path);
    free(bytes);
    disk_free(left);
    disk_free(d);
}

/* ---- beside a checkpoint ---- */
static void *save_beside(void *arg) {
    stele_conn *c = arg;
    (void)stele_exec(c, "checkpoint", NULL, NULL);
    return NULL;
}
static bool is_logged(Disk *d) {
    bool found = false;
    pthread_mutex_lock(&d->lock);
    for (int64_t i = 0; i < d->names.n; i++) {
        const char *name = strrchr(d->names.items[i].path, '/');
        found |= strstr(name, ".tab") && strchr(name, '-');
    }
    pthread_mutex_unlock(&d->lock);
    return found;
}
/* A table that was packed is in the last checkpoint so: changes of it are rows in the log, whether the next checkpoint
 * is being written or not, and succeeds or not. */
static void commit_beside(void **state) {
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        Disk *d = disk_new(84);
        pthread_t thread;
        open_on(d, settings);
        api_run(conn, "set lock_timeout = 0; create table t(id int, g int, s text); insert into t select i, i, 'text' "
                      "from generate_series(1, 5000) g(i); checkpoint; delete from t where id % 3 = 0; vacuum t; "
                      "checkpoint; create table other(a int); checkpoint; insert into other values (1)");
        assert_false(is_logged(d));
        stele_conn *saver = NULL;
        assert_int_equal(stele_connect(db, &saver), STELE_OK);
        const int64_t g = db->db->generation;
        d->slow = "/catalog";
        d->slow_ns = 500000000;
        char path[60];
        snprintf(path, sizeof path, "/db/g%lld/%lld.tab", (long long)(g + 1), (long long)db->db->catalog.tables[0]->id);
        assert_int_equal(pthread_create(&thread, NULL, save_beside, saver), 0);
        for (bool there = false; !there; (void)usleep(1000)) {
            pthread_mutex_lock(&d->lock);
            there = disk_find(&d->names, path) != NULL;
            pthread_mutex_unlock(&d->lock);
        }
        api_run(conn, "update t set g = -1 where id between 100 and 200");
        assert_int_equal(db->db->generation, g);
        if (fails) d->broken = "/catalog";
        pthread_join(thread, NULL);
        assert_int_equal(db->db->generation, fails ? g : g + 1);
        api_run(conn, "update t set g = -2 where id between 150 and 160");
        assert_false(is_logged(d));
        d->slow = d->broken = NULL;
        gives_the_same(d);
        stele_disconnect(saver);
        leave();
        disk_free(d);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tablet),
        cmocka_unit_test(random_changes),
        cmocka_unit_test(damaged_base),
        cmocka_unit_test(commit_beside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
