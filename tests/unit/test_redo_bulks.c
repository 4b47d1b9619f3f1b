/* test_redo_bulks.c - bulks that the redo log has by their inputs: what is found when they run again, and what is
 * refused. Power cuts at any operation of the disk are test_redo's. */
#include "api/api_int.h"
#include "base/hash.h"
#include "db/check.h"
#include "db/checkpoint.h"
#include "db/redo_show.h"
#include "txn/run/replay.h"
#include "unit.h"
#include "unit_api.h"
#include "unit_disk.h"

static Disk *disk;
static stele_db *db;
static stele_conn *conn;

static stele_status try_open(stele_error_info *e) {
    const stele_options o = {.threads = 2, .durable = true};
    return api_open("/db", &o, &disk->vfs, &db, e);
}
static void open_db(void) {
    stele_error_info e;
    if (try_open(&e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
    assert_int_equal(stele_connect(db, &conn), STELE_OK);
    api_run(conn, "set log_verify = on");
}
static void begin(const char *definitions) {
    disk = disk_new(7);
    open_db();
    api_run(conn, definitions);
    api_run(conn, "checkpoint");
}
/* Power is cut; what was acknowledged is there. */
static void cut_power(void) {
    stele_disconnect(conn);
    assert_int_equal(stele_discard(db), STELE_OK);
    Disk *left = disk_after_cut(disk);
    disk_free(disk);
    disk = left;
}
static void end(void) {
    stele_disconnect(conn);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    disk_free(disk);
}
/* The query gives the same before and behind a power cut. */
static void survives(const char *sql) {
    char before[API_TEXT] = "";
    api_ok(conn, stele_exec(conn, sql, api_keep, before), sql);
    cut_power();
    open_db();
    api_gives(conn, sql, before);
}
static void logged(const char *how) {
    api_gives(conn, "select logged, coalesce(logged_why, '') from stele_bulks limit 1", how);
}

static const char tables[] =
    "create table a(id int primary key, v bigint, t text, n numeric(30,2), f float8, g int);"
    "create table h(k int, v bigint, t text, at timestamptz, more int[], b boolean, s smallint, u uuid);"
    "insert into a select i, 0, 'x', 0, 0, i % 10 from generate_series(0, 999) g(i);"
    "create procedure pay(k int, x bigint, w text) language plpgsql as $$ begin "
    "update a set v = v + x, t = w where id = k; insert into h(k, v, t, at) values (k, x, w, now()); "
    "if x % 7 = 3 then raise exception 'no'; end if; end $$;"
    "create procedure give(k int, x numeric(30,2), y float8, more int[], b boolean, s smallint, u uuid) language "
    "plpgsql "
    "as $$ begin update a set n = n + x, f = f * 2 + y where id = k; insert into h(k, more, b, s, u) values (k, more, "
    "b, "
    "s, u); end $$;"
    "create procedure look(i int, out x bigint) language plpgsql as $$ begin select v into x from a where id = i; end "
    "$$;"
    "create procedure drop_group(x int) language plpgsql as $$ begin delete from a where g = x; end $$";
static const char sums[] = "select (select md5(string_agg(a::text, ',' order by a::text)) from a), "
                           "(select md5(string_agg(h::text, ',' order by h::text)) from h), (select count(*) from h)";

/* Arguments of every form, constants and NULLs among them. */
static void arguments(void **state) {
    (void)state;
    begin(tables);
    api_run(conn,
            "call bulk_call('pay', 'select i % 1000, i::bigint * 100000000000, case when i % 3 > 0 then ''w'' || i "
            "end from generate_series(1, 5000) g(i)')");
    logged("inputs,");
    api_run(conn, "call bulk_call('give', 'select i % 1000, i * 1e20::numeric(30,2), 0.1 * i, case when i % 5 > 0 then "
                  "array[i, -i, 70000] end, i % 2 = 0, -3::smallint, md5(i::text)::uuid from generate_series(1, 3000) "
                  "g(i)')");
    api_run(conn,
            "call bulk_call('give', 'select 7, null, null, case when i % 2 = 0 then array[null, i] else ''{}'' end, "
            "null, i::smallint, null from generate_series(1, 300) g(i)')");
    logged("inputs,");
    survives(sums);
    api_run(conn, "call bulk_call('pay', 'select i, 1::bigint, ''again'' from generate_series(1, 50) g(i)')");
    survives(sums);
    survives(sums);
    end();
}
/* Rows have other numbers after recovery than when they were logged: what is changed by SQL between and behind bulks.
 */
static void row_numbers(void **state) {
    (void)state;
    begin(tables);
    for (int i = 0; i < 4; i++) {
        api_run(conn,
                "call bulk_call('pay', 'select i % 1200, i::bigint, ''a long text '' || i from generate_series(1, "
                "4000) g(i)')");
        api_run(conn,
                "call bulk_call('pay', 'select i % 70, i::bigint, ''b'' || i % 3 from generate_series(1, 500) g(i)')");
        logged("inputs,");
        api_run(conn, "update a set t = t || '+', v = v - 1 where id % 3 = 1");
        api_run(conn, "delete from h where v % 5 = 1");
        api_run(conn,
                "insert into a select 5000 + 100 * v, 1, 't', 0, 0, 3 from (select count(*) v from h where v = 77) x");
        api_run(conn, "update h set v = v + 1, t = 'sql' || k where k % 11 = 4");
        api_run(conn, "begin; call bulk_call('pay', 'select i, 2::bigint, ''in a transaction'' from generate_series(1, "
                      "40) g(i)'); update h set v = -v where t = 'in a transaction'; commit");
        if (i == 1) api_run(conn, "call bulk_call('drop_group', 'select 4')");
        if (i == 2) survives(sums);
    }
    survives(sums);
    api_run(conn, "vacuum; call bulk_call('pay', 'select 3, 1::bigint, ''x'' from generate_series(1, 10)')");
    survives(sums);
    end();
}
/* Definitions and whole tables in a log that has bulks save the database. */
static void definitions(void **state) {
    (void)state;
    begin(tables);
    const char *const between[] = {
        "create table other(a int)",
        "truncate h",
        "alter table a add column c int default 3",
        "create or replace procedure pay(k int, x bigint, w text) language plpgsql as $$ begin "
        "update a set v = v - x where id = k; end $$",
        "drop table other",
        "vacuum; delete from h",
        "begin; create table x(a int); rollback"};
    for (size_t i = 0; i < sizeof between / sizeof *between; i++) {
        api_run(conn, "call bulk_call('pay', 'select i % 900, i::bigint, ''w'' from generate_series(1, 2000) g(i)')");
        logged("inputs,");
        if (i % 2) survives(sums);
        api_run(conn, between[i]);
        survives(sums);
    }
    end();
}
/* That save fails: the definition has not happened, then and behind a power cut, and others go on from there. */
static void refused_definitions(void **state) {
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        begin(tables);
        api_run(conn, "create sequence q; select nextval('q')");
        api_run(conn, "call bulk_call('pay', 'select i % 900, i::bigint, ''w'' from generate_series(1, 2000) g(i)')");
        logged("inputs,");
        disk->broken = "/catalog";
        (void)api_fails(conn, "create table other(a int)", "58030");
        disk->broken = NULL;
        if (cut) survives(sums);
        api_gives(conn, "select to_regclass('other')", "NULL");
        api_run(conn, "update a set v = v + 1 where id = 7");
        survives(sums);
        api_run(conn, "create table third(a int); select nextval('q'); create table fourth(a int)");
        survives("select to_regclass('other'), to_regclass('third'), to_regclass('fourth')");
        api_gives(conn, "select nextval('q') > 2", "t");
        end();
    }
}
/* Up to where others go on beside it. */
static Checkpoint *begin_checkpoint(void) {
    Checkpoint *c;
    Err e = {0};
    bool keep;
    assert_int_equal(checkpoint_start(db->db, NULL, &c, &e), ST_OK);
    assert_int_equal(txn_lock_acquire(db->db->txn_lock, LOCK_NONE, LOCK_EXCLUSIVE, 0, NULL, &e), ST_OK);
    assert_int_equal(checkpoint_pin(c, false, &keep, &e), ST_OK);
    txn_lock_release(db->db->txn_lock, LOCK_EXCLUSIVE);
    assert_false(keep);
    return c;
}
/* Bulks before, while and behind a checkpoint is made, or fails: on tables whose numbers the log knows, or not. */
static void beside_a_checkpoint(bool made, bool known) {
    static const char pay[] =
        "call bulk_call('pay', 'select i % 900, i::bigint, ''w'' from generate_series(1, 700) g(i)')",
                      change[] =
                          "update a set v = v + 3, t = 'sql' || id where id % 3 = 1; delete from h where v % 9 = 2";
    Err e = {0};
    begin(tables);
    api_run(conn, pay);
    api_run(conn, change);
    api_run(conn, known ? pay : "vacuum a; vacuum h");
    Checkpoint *c = begin_checkpoint();
    api_run(conn, pay);
    if (known) api_run(conn, change);
    api_run(conn, "select sum(v) from a; select sum(v) from h"); /* they are brought up to date */
    api_run(conn, pay);
    logged("inputs,");
    if (made) assert_int_equal(checkpoint_finish(c, &e), ST_OK);
    else checkpoint_give_up(c);
    survives(sums);
    end();
    begin(tables);
    api_run(conn, pay);
    if (!known) api_run(conn, "vacuum a; vacuum h");
    c = begin_checkpoint();
    api_run(conn, pay);
    api_run(conn, "select sum(v) from a; select sum(v) from h");
    if (made) assert_int_equal(checkpoint_finish(c, &e), ST_OK);
    else checkpoint_give_up(c);
    api_run(conn, change);
    api_run(conn, pay);
    api_run(conn, change);
    survives(sums);
    api_run(conn, "create table other(a int)");
    survives(sums);
    end();
}
static void checkpoints(void **state) {
    (void)state;
    for (int i = 0; i < 4; i++) beside_a_checkpoint(i & 1, i & 2);
}
/* Calls of several procedures in one bulk, by the pool. */
static void several(void **state) {
    (void)state;
    enum { TICKETS = 40, CALLS = 30 };
    stele_bulk *t[TICKETS];
    static const char *const routines[] = {"pay", "look", "give", "drop_group"};
    begin(tables);
    api_run(conn, "set bulk_interval = '20ms'");
    for (int i = 0; i < TICKETS; i++) {
        const int r = i == 30 ? 3 : i % 3;
        assert_int_equal(stele_bulk_new(conn, routines[r], &t[i]), STELE_OK);
        for (int k = 0; k < CALLS; k++) {
            char id[20];
            snprintf(id, sizeof id, "%d", (i * 7 + k * k) % (r == 3 ? 10 : 40));
            const char *const pay[] = {id, id, "w"}, *const give[] = {id, "1.5", "0.1", "{1,2}", "t", "4", NULL};
            api_ok(conn, stele_bulk_add(t[i], r == 0 ? pay : r == 2 ? give : pay), "add");
        }
        api_ok(conn, stele_bulk_submit(t[i]), "submit");
    }
    for (int i = 0; i < TICKETS; i++) {
        api_ok(conn, stele_bulk_wait(t[i], -1, NULL), "wait");
        stele_bulk_free(t[i]);
    }
    api_gives(conn, "select max(calls) > 30, bool_and(logged is null or logged = 'inputs') from stele_bulks", "t,t");
    survives(sums);
    end();
}
/* What does not follow from inputs alone. */
static void by_cells(void **state) {
    (void)state;
    begin(tables);
    api_run(conn,
            "create procedure first_of(x int) language plpgsql as $$ declare k int; begin select id into k from a "
            "where g = x limit 1; update a set v = v + 1 where id = k; end $$;"
            "create procedure asks(k int) language plpgsql as $$ begin update a set t = "
            "current_setting('application_name') where id = k; end $$;"
            "create procedure power_of(k int) language plpgsql as $$ begin update a set f = exp(id) where id = k; end "
            "$$;"
            "create procedure least_of(x int) language plpgsql as $$ declare k int; begin select id into k from a "
            "where g = x order by v, id limit 1; update a set v = v + 1 where id = k; end $$");
    api_run(conn, "call bulk_call('first_of', 'select i % 10 from generate_series(1, 50) g(i)')");
    logged("cells,line 1: rows in the order that they are stored in");
    api_run(conn, "call bulk_call('asks', 'select i from generate_series(1, 50) g(i)')");
    logged("cells,line 1: what current_setting() gives is not among the inputs");
    api_run(conn, "call bulk_call('power_of', 'select i from generate_series(1, 50) g(i)')");
    logged("cells,line 1: exp() of a mathematical library");
    api_run(conn, "call bulk_call('least_of', 'select i % 10 from generate_series(1, 50) g(i)')");
    logged("inputs,");
    api_run(conn, "call bulk_call('first_of', 'select i % 10 from generate_series(1, 50) g(i)')");
    logged("cells,line 1: rows in the order that they are stored in");
    api_run(conn, "set bulk_order = 'any'; call bulk_call('pay', 'select 1, 1::bigint, null'); reset bulk_order");
    logged("cells,bulk_order is any");
    survives(sums);
    end();
}

/* ---- a log for people ---- */
static bool keep_part(void *ctx, const RedoShown *p) {
    char *to = ctx;
    const size_t n = strlen(to);
    const bool is_lsn = strcmp(p->kind, "outcome") == 0;
    snprintf(to + n, API_TEXT - n, "%s%s%s%s", n ? "; " : "", p->kind, *p->object ? " " : "",
             is_lsn ? "of its bulk" : p->object);
    return false;
}
static void each_file(void *ctx, const CheckedFile *f) {
    (void)ctx;
    if (f->state != CHECK_GOOD && f->state != CHECK_UNUSED) print_message("%s: %s\n", f->name, f->problem);
}
static void shown(void **state) {
    (void)state;
    Err e = {0};
    char parts[API_TEXT] = "";
    int64_t bad;
    begin(tables);
    api_run(conn, "call bulk_call('pay', 'select i % 900, i::bigint, ''w'' from generate_series(1, 200) g(i)')");
    api_run(conn, "update a set v = v + 1 where id = 3");
    cut_power();
    const RedoShow show = {.part = keep_part, .ctx = parts};
    assert_int_equal(redo_show(&disk->vfs, "/db", 0, &show, &e), ST_OK);
    assert_string_equal(parts, "bulk; outcome of its bulk; numbers public.a; numbers public.h; rows public.a");
    assert_int_equal(check_directory(&disk->vfs, "/db", &(CheckEach){each_file, NULL}, &bad, &e), ST_OK);
    assert_int_equal(bad, 0);
    open_db();
    end();
}

/* ---- what is refused ---- */
/* Changes bytes of the log, whose records have right checksums again. */
static void edit_log(const void *from, const void *to, int64_t n) {
    DiskName *name = NULL;
    for (int64_t i = 0; i < disk->names.n; i++)
        if (strstr(disk->names.items[i].path, "/log")) name = &disk->names.items[i];
    assert_non_null(name);
    const int64_t len = name->file->len, header = 128;
    char *p = memcpy(disk_memory(NULL, (size_t)len), name->file->p, (size_t)len), *path = disk_text(name->path);
    int64_t first_lsn, changed = 0;
    memcpy(&first_lsn, p + 72, 8);
    for (int64_t at = header, bytes; at + 24 <= len; at += 24 + (bytes + 7) / 8 * 8) {
        int64_t with[3] = {first_lsn + at - header};
        memcpy(with + 1, p + at + 8, 16);
        bytes = with[2];
        if (bytes <= 0 || bytes > len - at - 24) break;
        for (int64_t i = at + 24; i + n <= at + 24 + bytes; i++)
            if (memcmp(p + i, from, (size_t)n) == 0) memcpy(p + i, to, (size_t)n), changed++;
        const uint64_t sum = hash_combine(checksum64(with, sizeof with), checksum64(p + at + 24, bytes));
        memcpy(p + at, &sum, 8);
    }
    assert_true(changed > 0);
    disk_put(disk, path, p, len);
    free(path);
    free(p);
}
static void run_and_cut(void) {
    begin(tables);
    api_run(conn, "call bulk_call('pay', 'select i % 900, i::bigint, ''w'' from generate_series(1, 200) g(i)')");
    cut_power();
}
/* The error; what is on the disk stays as it is. */
static stele_error_info not_opened(const char *sqlstate) {
    stele_error_info e;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(try_open(&e), STELE_ERROR);
        assert_string_equal(e.sqlstate, sqlstate);
    }
    return e;
}
static void another_engine(void **state) {
    (void)state;
    static const char engine[] = REPLAY_ENGINE, other[] = "9.9.9-9";
    assert_int_equal(strncmp(engine, stele_version(), strlen(stele_version())), 0);
    assert_int_equal(sizeof engine, sizeof other);
    run_and_cut();
    edit_log(engine, other, sizeof other - 1);
    stele_error_info e = not_opened("0A000");
    assert_string_equal(e.message, "\"/db\" was not closed, and its redo log has bulks of version 9.9.9-9");
    assert_non_null(strstr(e.detail, "this is version " REPLAY_ENGINE));
    edit_log(other, engine, sizeof other - 1);
    open_db();
    api_gives(conn, "select count(*) from h", "171");
    end();
}
static void another_routine(void **state) {
    (void)state;
    run_and_cut();
    const char *sql = NULL;
    open_db();
    for (int64_t i = 0; i < db->db->catalog.n_routines; i++)
        if (strcmp(db->db->catalog.routines[i]->name, "pay") == 0) sql = db->db->catalog.routines[i]->sql;
    const uint64_t digest = checksum64(sql, (int64_t)strlen(sql)), other = digest + 1;
    end();
    run_and_cut();
    edit_log(&digest, &other, 8);
    const stele_error_info e = not_opened("XX001");
    assert_string_equal(e.message, "the redo log has calls of a routine that is not the catalog's: pay");
    edit_log(&other, &digest, 8);
    open_db();
    api_gives(conn, "select count(*) from h", "171");
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),      cmocka_unit_test(row_numbers),
        cmocka_unit_test(definitions),    cmocka_unit_test(refused_definitions),
        cmocka_unit_test(checkpoints),    cmocka_unit_test(shown),
        cmocka_unit_test(several),        cmocka_unit_test(by_cells),
        cmocka_unit_test(another_engine), cmocka_unit_test(another_routine),
    };
    return cmocka_run_group_tests_name("redo_bulks", tests, NULL, NULL);
}
