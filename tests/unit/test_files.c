/* test_files.c - saving and opening databases: round trips, every byte damaged, every length cut, writes failing. */
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "db/database.h"
#include "storage/storage_int.h"

static char dir[64];
static Type ty(TypeId id) {
    Type t;
    memset(&t, 0, sizeof t);
    t.id = (uint8_t)id;
    return t;
}

/* ---- a Vfs that fails at the n-th change ---- */
static int64_t fail_countdown;
static bool torn;
static Vfs faulty;
static bool must_fail(void) { return fail_countdown > 0 && --fail_countdown == 0; }
#define FAULT(e)                                                                        \
    do {                                                                                \
        if (must_fail()) return err_set(e, ERR_DISK_FULL, "could not write: no space"); \
    } while (0)
static Status f_write(VfsFile *f, const void *b, int64_t n, int64_t at, Err *e) {
    if (must_fail()) {
        Err ignored = {0};
        if (torn) vfs_posix()->write_at(f, b, n / 2, at, &ignored);
        return err_set(e, ERR_DISK_FULL, "could not write: no space");
    }
    return vfs_posix()->write_at(f, b, n, at, e);
}
static Status f_open(Vfs *v, const char *p, int mode, VfsFile **out, Err *e) {
    if (mode & VFS_WRITE) FAULT(e);
    Status st = vfs_posix()->open(vfs_posix(), p, mode, out, e);
    if (st == ST_OK) (*out)->vfs = v;
    return st;
}
static Status f_sync(VfsFile *f, Err *e) {
    FAULT(e);
    return vfs_posix()->sync(f, e);
}
static Status f_rename(Vfs *v, const char *a, const char *b, Err *e) {
    (void)v;
    FAULT(e);
    return vfs_posix()->rename(vfs_posix(), a, b, e);
}
static Status f_sync_dir(Vfs *v, const char *p, Err *e) {
    (void)v;
    FAULT(e);
    return vfs_posix()->sync_dir(vfs_posix(), p, e);
}
static Status f_make_dir(Vfs *v, const char *p, Err *e) {
    (void)v;
    FAULT(e);
    return vfs_posix()->make_dir(vfs_posix(), p, e);
}

/* ---- helpers ---- */
static void fill(Table *t, int32_t first, int64_t n, bool bulk) {
    enum { MAX = 5000 };
    static int32_t k[MAX];
    static Str a[MAX], b[MAX];
    static char text[MAX][32];
    static uint8_t valid[MAX];
    static double f[MAX];
    for (int64_t i = 0; i < n; i++) {
        k[i] = first + (int32_t)i;
        a[i] = str_make(&"red green blue"[(k[i] % 3) * 4], 4);
        b[i] = str_make(text[i], snprintf(text[i], sizeof text[i], "text number %d", k[i]));
        valid[i] = k[i] % 7 != 0;
        f[i] = k[i] / 4.0;
    }
    Vec v[] = {{.data = k, .phys = PH_I32, .type = ty(T_INT4)},
               {.data = a, .phys = PH_STR, .type = ty(T_TEXT)},
               {.data = b, .valid = valid, .phys = PH_STR, .type = ty(T_TEXT)},
               {.data = f, .valid = valid, .phys = PH_F64, .type = ty(T_FLOAT8)}};
    Err e = {0};
    if (!bulk) {
        if (table_append(t, n, v, NULL, NULL, &e) != ST_OK) fail_msg("%s", e.message);
        return;
    }
    TableLoad *l;
    assert_int_equal(load_begin(t, 1, &l, &e), ST_OK);
    assert_int_equal(load_add(l, 0, 0, n, v, &e), ST_OK);
    if (load_finish(l, NULL, NULL, NULL, &e) != ST_OK) fail_msg("%s", e.message);
    load_cancel(l);
}
static Table *new_table(Database *db, const char *name) {
    ColumnDef cd[] = {{.name = "k", .type = ty(T_INT4), .not_null = true, .default_sql = "1 + 1"},
                      {.name = "a", .type = ty(T_TEXT)},
                      {.name = "b", .type = ty(T_TEXT)},
                      {.name = "f", .type = ty(T_FLOAT8)}};
    static const int pk[] = {0}, uq[] = {2, 0};
    KeyDef keys[] = {{"pkey", true, 1, pk}, {"uq", false, 2, uq}};
    CheckDef check = {"positive", "k >= 0"};
    Table *t;
    Err e = {0};
    assert_int_equal(table_new(&db->account, name, 4, cd, 2, keys, 1, &check, &t, &e), ST_OK);
    assert_int_equal(catalog_add_table(&db->catalog, t, &e), ST_OK);
    return t;
}
/* A checksum over all live rows, in order. */
static uint64_t content(Database *db) {
    uint64_t h = (uint64_t)db->catalog.n_tables * 31 + (uint64_t)db->catalog.n_views;
    for (int64_t i = 0; i < db->catalog.n_tables; i++) {
        const Table *t = db->catalog.tables[i];
        h = hash_combine(h, hash_bytes(t->name, (int64_t)strlen(t->name)));
        for (int c = 0; c < t->n_cols; c++) {
            h = hash_combine(h, (uint64_t)t->cols[c].type.id + (t->cols[c].default_sql ? 100 : 0));
            Phys p = type_phys(t->cols[c].type);
            for (int64_t k = 0; k < t->n_tablets; k++) {
                for (int64_t r = 0; r < t->tablets[k]->rows; r++) {
                    int32_t pos = (int32_t)r;
                    char cell[16] = {0};
                    uint8_t valid = 1;
                    bool nulls, ident;
                    if (tablet_live_rows(t->tablets[k], r, 1, &pos, &ident) == 0) continue;
                    tablet_decode(t, t->tablets[k], c, 0, &pos, 1, (uint8_t)p, cell, &valid, &nulls);
                    h = hash_combine(h, valid ? cell_hash(p, cell) : 7);
                }
            }
        }
        h = hash_combine(h, (uint64_t)t->n_keys * 10 + (uint64_t)t->n_checks);
        h = hash_combine(h, (uint64_t)t->expected_rows);
    }
    for (int64_t i = 0; i < db->catalog.n_views; i++) {
        const View *v = db->catalog.views[i];
        h = hash_combine(h, hash_bytes(v->sql, (int64_t)strlen(v->sql)) + (uint64_t)v->n_cols);
        for (int k = 0; k < v->n_sources; k++) {
            const ViewSource *q = &v->sources[k];
            h = hash_combine(h, hash_bytes(q->relation, (int64_t)strlen(q->relation)) + (uint64_t)q->location);
            for (int c = 0; c < q->n_cols; c++) {
                h = hash_combine(h, hash_bytes(q->cols[c], (int64_t)strlen(q->cols[c])));
                h = hash_combine(h, hash_bytes(q->names[c], (int64_t)strlen(q->names[c])));
            }
        }
    }
    for (int64_t i = 0; i < db->catalog.n_foreign; i++) {
        const ForeignKey *f = db->catalog.foreign[i];
        char text[256];
        snprintf(text, sizeof text, "%s %s %s %c %c", f->name, f->table, f->ref_table, f->on_delete, f->on_update);
        for (int c = 0; c < f->n_cols; c++)
            snprintf(text + strlen(text), sizeof text - strlen(text), " %s %s", f->cols[c], f->ref_cols[c]);
        h = hash_combine(h, hash_bytes(text, (int64_t)strlen(text)));
    }
    return h;
}
static void clean(void) {
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    assert_int_equal(system(cmd), 0);
}
static bool views_read; /* the view of make_small says what it reads */
static uint64_t make_small(Vfs *v, int64_t expected_rows) {
    Err e = {0};
    Database *db;
    clean();
    if (database_open(dir, v, 1, 0, &db, &e) != ST_OK) fail_msg("%s", e.message);
    Table *t = new_table(db, "t");
    t->expected_rows = expected_rows;
    fill(t, 0, 60, true);
    fill(t, 60, 6, false);
    int64_t ids[] = {0, 5, 11}, done;
    assert_int_equal(table_delete(t, 3, ids, NULL, &done, &e), ST_OK);
    static char *cols[] = {(char *)"x", NULL};
    static char *read[] = {(char *)"k", (char *)"a"}, *as[] = {(char *)"k", (char *)"old name"};
    static ViewSource sources[] = {{24, (char *)"t", 2, read, as}, {27, (char *)"t", 0, read, as}};
    View v1 = {.name = (char *)"v", .sql = (char *)"SELECT 1, k::text FROM t, t u", .n_cols = 2, .cols = cols};
    if (views_read) v1.n_sources = 2, v1.sources = sources;
    assert_int_equal(catalog_add_view(&db->catalog, view_new(&v1, &e), &e), ST_OK);
    static char *from[] = {(char *)"b", (char *)"f"}, *to[] = {(char *)"k", (char *)"a"};
    ForeignKey f = {.name = (char *)"fk",
                    .table = (char *)"t",
                    .ref_table = (char *)"t",
                    .n_cols = 2,
                    .cols = from,
                    .ref_cols = to,
                    .on_delete = 'c',
                    .on_update = 'n'};
    assert_int_equal(catalog_add_foreign(&db->catalog, foreign_new(&f, &e), &e), ST_OK);
    db->dirty = true;
    if (database_save(db, &e) != ST_OK) fail_msg("%s", e.message);
    assert_false(db->dirty);
    uint64_t h = content(db);
    database_close(db);
    return h;
}

static void test_round_trip(void **state) {
    (void)state;
    Err e = {0};
    Database *db, *other;
    clean();
    assert_int_equal(database_open(dir, NULL, 2, 0, &db, &e), ST_OK);
    assert_int_equal(database_open(dir, NULL, 2, 0, &other, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_OBJECT_IN_USE);
    err_clear(&e);
    for (int round = 0; round < 4; round++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", round);
        Table *t = new_table(db, name);
        fill(t, 0, 5000, round & 1);
        fill(t, 5000, 3000, false);
        int64_t ids[] = {1, 2, 77}, done;
        assert_int_equal(table_delete(t, 3, ids, NULL, &done, &e), ST_OK);
        db->dirty = true;
        uint64_t h = content(db);
        if (database_save(db, &e) != ST_OK) fail_msg("%s", e.message);
        database_close(db);
        if (database_open(dir, NULL, 2, 0, &db, &e) != ST_OK) fail_msg("%s", e.message);
        assert_true(content(db) == h);
        for (int64_t i = 0; i < db->catalog.n_tables; i++) {
            t = db->catalog.tables[i];
            if (table_verify(t, &e) != ST_OK) fail_msg("%s", e.message);
            assert_string_equal(t->cols[0].default_sql, "1 + 1");
            assert_true(t->cols[0].stats.has_range && t->cols[0].stats.max == 7999);
            Value key = {.type = ty(T_INT4)};
            key.u.i32 = 5;
            assert_true(table_lookup(t, 0, &key) >= 0);
            key.u.i32 = 1;
            assert_int_equal(table_lookup(t, 0, &key), -1);
        }
    }
    database_close(db);
}

/* Opens; a failure must be XX001, a success must show the same rows. */
static bool open_damaged(uint64_t want, const char *what, int64_t at) {
    Err e = {0};
    Database *db;
    if (database_open(dir, NULL, 1, 0, &db, &e) == ST_OK) {
        if (content(db) != want) fail_msg("%s: damage at %d goes unnoticed", what, (int)at);
        database_close(db);
        return true;
    }
    if (strcmp(e.sqlstate, ERR_DATA_CORRUPTED) != 0) fail_msg("%s at %d: %s %s", what, (int)at, e.sqlstate, e.message);
    assert_non_null(strstr(e.message, dir));
    return false;
}
static void damage_files(int64_t expected_rows) {
    static const char *files[] = {"CURRENT", "g1/catalog", "g1/1.tab"};
    uint64_t want = make_small(NULL, expected_rows);
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", dir, files[i]);
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        static uint8_t data[1 << 20];
        int64_t n = (int64_t)fread(data, 1, sizeof data, f);
        assert_true(n > 0 && n < (int64_t)sizeof data);
        fclose(f);
        for (int64_t at = 0; at < n; at++) {
            f = fopen(path, "r+b");
            fseek(f, (long)at, SEEK_SET);
            fputc(data[at] ^ (1 << (at % 8)), f);
            fclose(f);
            assert_false(open_damaged(want, files[i], at));
            f = fopen(path, "r+b");
            fseek(f, (long)at, SEEK_SET);
            fputc(data[at], f);
            fclose(f);
        }
        assert_true(open_damaged(want, files[i], -1));
        for (int64_t len = 0; len < n; len += len < 300 || len > n - 300 ? 1 : 7) {
            f = fopen(path, "wb");
            fwrite(data, 1, (size_t)len, f);
            fclose(f);
            assert_false(open_damaged(want, files[i], len));
        }
        f = fopen(path, "wb");
        fwrite(data, 1, (size_t)n, f);
        fputc(0, f);
        fclose(f);
        assert_false(open_damaged(want, files[i], n));
        remove(path);
        assert_false(open_damaged(want, files[i], 0));
        f = fopen(path, "wb");
        fwrite(data, 1, (size_t)n, f);
        fclose(f);
    }
}

static void test_damage(void **state) {
    (void)state;
    damage_files(0);
    damage_files(1234567);
    views_read = true;
    damage_files(0);
    views_read = false;
}

static int64_t catalog_format(void) {
    char path[128], head[16];
    snprintf(path, sizeof path, "%s/g1/catalog", dir);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    fclose(f);
    int64_t format;
    memcpy(&format, head + 8, 8);
    return format;
}
/* What tables expect is in files that say so, and only where some table does: others are as they always were. */
static void test_expected_rows(void **state) {
    (void)state;
    static const int64_t expected[] = {0, 1, EXPECTED_ROWS_MAX};
    for (int i = 0; i < 3; i++) {
        Err e = {0};
        Database *db;
        uint64_t want = make_small(NULL, expected[i]);
        assert_int_equal(catalog_format(), expected[i] ? 4 : 2);
        if (database_open(dir, NULL, 1, 0, &db, &e) != ST_OK) fail_msg("%s", e.message);
        assert_int_equal(db->catalog.tables[0]->expected_rows, expected[i]);
        assert_int_equal(db->catalog.n_foreign, 1);
        assert_true(content(db) == want);
        Table *t = new_table(db, "u"); /* of several tables each has its own */
        db->dirty = true;
        assert_int_equal(database_save(db, &e), ST_OK);
        t->expected_rows = 99;
        db->dirty = true;
        assert_int_equal(database_save(db, &e), ST_OK);
        database_close(db);
        assert_int_equal(database_open(dir, NULL, 1, 0, &db, &e), ST_OK);
        assert_int_equal(catalog_table(&db->catalog, slice_of("t"))->expected_rows, expected[i]);
        assert_int_equal(catalog_table(&db->catalog, slice_of("u"))->expected_rows, 99);
        database_close(db);
    }
}

/* What views read is in files that say so, and only where some view does. */
static void test_view_sources(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        Err e = {0};
        Database *db;
        views_read = i > 0;
        uint64_t want = make_small(NULL, i == 2 ? 7 : 0);
        views_read = false;
        assert_int_equal(catalog_format(), i ? 5 : 2);
        assert_int_equal(database_open(dir, NULL, 1, 0, &db, &e), ST_OK);
        assert_true(content(db) == want);
        assert_int_equal(db->catalog.tables[0]->expected_rows, i == 2 ? 7 : 0);
        assert_int_equal(db->catalog.views[0]->n_sources, i ? 2 : 0);
        database_close(db);
    }
}

static void test_failing_writes(void **state) {
    (void)state;
    faulty = *vfs_posix();
    faulty.write_at = f_write;
    faulty.open = f_open;
    faulty.sync = f_sync;
    faulty.rename = f_rename;
    faulty.sync_dir = f_sync_dir;
    faulty.make_dir = f_make_dir;
    for (int t = 0; t < 2; t++) {
        torn = t;
        for (int64_t n = 1;; n++) {
            fail_countdown = 0;
            uint64_t old = make_small(&faulty, 10 * t);
            Err e = {0};
            Database *db;
            assert_int_equal(database_open(dir, &faulty, 1, 0, &db, &e), ST_OK);
            fill(db->catalog.tables[0], 1000, 10, false);
            uint64_t new = content(db);
            db->dirty = true;
            fail_countdown = n;
            Status st = database_save(db, &e);
            bool reached = fail_countdown == 0;
            fail_countdown = 0;
            if (st != ST_OK) {
                assert_string_equal(e.sqlstate, ERR_DISK_FULL);
                assert_true(db->dirty);
                assert_true(content(db) == new);
            }
            /* as after a crash here: old or new, complete */
            char cmd[256];
            snprintf(cmd, sizeof cmd, "cp -r %s %s.copy && rm -rf %s.copy/LOCK", dir, dir, dir);
            assert_int_equal(system(cmd), 0);
            char keep[64];
            memcpy(keep, dir, sizeof keep);
            snprintf(dir, sizeof dir, "%.50s.copy", keep);
            Database *copy;
            err_clear(&e);
            if (database_open(dir, NULL, 1, 0, &copy, &e) != ST_OK) fail_msg("%s", e.message);
            uint64_t h = content(copy);
            assert_true(h == new || (st != ST_OK && h == old));
            database_close(copy);
            clean();
            memcpy(dir, keep, sizeof keep);
            /* the next save succeeds */
            if (st != ST_OK) {
                err_clear(&e);
                if (database_save(db, &e) != ST_OK) fail_msg("%s", e.message);
            }
            database_close(db);
            assert_int_equal(database_open(dir, NULL, 1, 0, &db, &e), ST_OK);
            assert_true(content(db) == new);
            database_close(db);
            if (st == ST_OK && !reached) break;
        }
    }
}

static void test_memory_database(void **state) {
    (void)state;
    Err e = {0};
    Database *db;
    assert_int_equal(database_open(":memory:", NULL, 1, 0, &db, &e), ST_OK);
    Table *t = new_table(db, "t");
    fill(t, 0, 10, false);
    ColumnDef cd = {.name = "k", .type = ty(T_INT4)};
    Table *dup;
    assert_int_equal(table_new(&db->account, "t", 1, &cd, 0, NULL, 0, NULL, &dup, &e), ST_OK);
    assert_int_equal(catalog_add_table(&db->catalog, dup, &e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_DUPLICATE_TABLE);
    table_free(dup);
    err_clear(&e);
    db->dirty = true;
    assert_int_equal(database_save(db, &e), ST_OK);
    assert_ptr_equal(catalog_remove_table(&db->catalog, slice_of("t")), t);
    assert_null(catalog_table(&db->catalog, slice_of("t")));
    assert_int_equal(catalog_add_table(&db->catalog, t, &e), ST_OK);
    database_close(db);
}

int main(void) {
    snprintf(dir, sizeof dir, "/tmp/stele_files_%d", (int)getpid());
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_damage),
                                       cmocka_unit_test(test_expected_rows),  cmocka_unit_test(test_view_sources),
                                       cmocka_unit_test(test_failing_writes), cmocka_unit_test(test_memory_database)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clean();
    return failed;
}
