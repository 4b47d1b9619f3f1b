/* test_temporary.c - temporary objects of several connections: none sees another's, they go with their connection, and
 * neither files nor the redo log have anything of them. */
#include "api/api_int.h"
#include "db/database.h"
#include "db/redo.h"
#include "storage/table.h"
#include "unit.h"
#include "unit_api.h"
#include "unit_disk.h"

static stele_conn *connect_to(stele_db *db) {
    stele_conn *c = NULL;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    api_run(c, "set lock_timeout = '50ms'");
    return c;
}
typedef struct Two {
    stele_db *db;
    stele_conn *a, *b;
} Two;
static void open_two(Two *t) {
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &t->db, NULL), STELE_OK);
    t->a = connect_to(t->db);
    t->b = connect_to(t->db);
}
static void close_two(Two *t) {
    if (t->a) stele_disconnect(t->a);
    if (t->b) stele_disconnect(t->b);
    assert_int_equal(stele_close(t->db, NULL), STELE_OK);
}
static const char count_objects[] = "select (select count(*) from pg_class where relpersistence = 't'), "
                                    "(select count(*) from pg_namespace where nspname like 'pg\\_temp%')";

/* ---- names ---- */
static void test_apart(void **state) {
    (void)state;
    Two t;
    char schema[API_TEXT] = "", sql[API_TEXT + 100];
    open_two(&t);
    api_run(t.a, "create temp table t (a int primary key); insert into t values (1)");
    api_fails(t.b, "select * from t", "42P01");
    api_fails(t.b, "select * from pg_temp.t", "42P01");
    api_run(t.b, "create temp table t (b text, c serial); insert into t (b) values ('x'), ('y')");
    api_gives(t.a, "select * from t", "1");
    api_gives(t.b, "select * from t", "x,1;y,2");
    api_run(t.a, "create temp view v as select a + 1 from t; create temp sequence q start 7");
    api_gives(t.a, "select * from v", "2");
    api_fails(t.b, "select * from v", "42P01");
    api_fails(t.b, "select nextval('q')", "42P01");
    api_ok(t.a, stele_exec(t.a, "select pg_my_temp_schema()::regnamespace", api_keep, schema), "the schema's name");
    const char *const others[] = {"select * from %s.t",
                                  "insert into %s.t values (5)",
                                  "drop table %s.t",
                                  "select nextval('%s.q')",
                                  "create index on %s.t (a)",
                                  "alter table %s.t add b int",
                                  "create view w as select * from %s.t"};
    for (int i = 0; i < (int)ARRAY_LEN(others); i++) {
        snprintf(sql, sizeof sql, others[i], schema);
        api_fails(t.b, sql, "42P01");
    }
    snprintf(sql, sizeof sql, "create table %s.u (a int)", schema);
    api_fails(t.b, sql, "42P16");
    snprintf(sql, sizeof sql, "set search_path = %s, public; select * from t", schema);
    api_run(t.b, "reset search_path");
    api_gives(t.b, sql, "x,1;y,2");
    snprintf(sql, sizeof sql, "select pg_is_other_temp_schema('%s'::regnamespace)", schema);
    api_gives(t.a, sql, "f");
    api_gives(t.b, sql, "t");
    api_gives(t.b, "select count(*) from information_schema.tables where table_name = 't'", "1");
    api_gives(t.b, "show tables", "pg_temp_2.t");
    api_gives(t.a, "show tables", "pg_temp_1.t;pg_temp_1.v");
    api_run(t.b, "drop table t");
    api_fails(t.b, "drop table t", "42P01");
    api_gives(t.a, "select * from t", "1");
    close_two(&t);
}

/* Kept texts and plans of one connection are good for what its names mean. */
static void test_plans(void **state) {
    (void)state;
    Two t;
    open_two(&t);
    api_run(t.a, "create table t (a int primary key); insert into t values (1)");
    api_run(t.a, "create function f() returns int language plpgsql as $$ begin return (select max(a) from t); end $$");
    api_run(t.a, "create procedure p(n int) language plpgsql as $$ begin insert into t values (n); end $$");
    for (int i = 0; i < 3; i++) {
        api_gives(t.a, "select a from t", "1");
        api_gives(t.b, "select a from t", "1");
        api_gives(t.a, "select f()", "1");
        api_gives(t.b, "select f()", "1");
        api_gives(t.b, "select a from t where a = 1", "1");
    }
    api_run(t.b, "create temp table t (a int primary key); insert into t values (2)");
    for (int i = 0; i < 3; i++) {
        api_gives(t.a, "select a from t", "1");
        api_gives(t.b, "select a from t", "2");
        api_gives(t.a, "select f()", "1");
        api_gives(t.b, "select f()", "2");
        api_gives(t.b, "select a from t where a = 1", "");
        api_gives(t.b, "select a from t where a = 2", "2");
    }
    api_run(t.a, "call bulk_call('p', 'select g from generate_series(10, 11) g')");
    api_run(t.b, "call bulk_call('p', 'select g from generate_series(20, 21) g')");
    api_gives(t.b, "explain procedure p",
              "Procedure p runs one call at a time: it names a temporary table of this session");
    api_gives(t.a, "select a from t order by a", "1;10;11");
    api_gives(t.b, "select a from t order by a", "2;20;21");
    api_run(t.a, "set bulk_interval = '100us'; call p(12)");
    api_run(t.b, "set bulk_interval = '100us'; call p(22); insert into t values (23)");
    api_gives(t.a, "select max(a) from t", "12");
    api_gives(t.b, "select max(a) from t", "23");
    api_run(t.b, "drop table t");
    api_gives(t.b, "select a from t order by a", "1;10;11;12");
    api_run(t.b, "call p(30)");
    api_gives(t.a, "select max(a) from t", "30");
    close_two(&t);
}

/* A procedure that no other session can run. */
static void test_only_temporary(void **state) {
    (void)state;
    Two t;
    open_two(&t);
    api_run(t.a, "create temp table log (n int)");
    api_run(t.a, "create procedure p(n int) language plpgsql as $$ begin insert into log values (n); end $$");
    api_run(t.a, "call bulk_call('p', 'select g from generate_series(1, 5) g')");
    api_gives(t.a, "select count(*), sum(n) from log", "5,15");
    api_gives(t.a, "explain procedure p",
              "Procedure p runs one call at a time: it names a temporary table of this session");
    api_fails(t.b, "call p(1)", "42P01");
    api_run(t.b, "create temp table log (n int); call p(1)");
    api_gives(t.a, "select count(*) from log", "5");
    close_two(&t);
}

/* ---- the end of a connection ---- */
static void test_ends(void **state) {
    (void)state;
    Two t;
    open_two(&t);
    api_run(t.a,
            "create temp table t (a serial primary key, b text); create temp view v as select * from t; "
            "create temp sequence q; create unique index on t (b); comment on table t is 'x'; "
            "grant select on t to public; create function pg_temp.f() returns int language sql as 'select 1'; "
            "create temp table u (a int references t); insert into t (b) select g from generate_series(1, 5000) g");
    api_gives(t.b, count_objects, "7,1");
    stele_disconnect(t.a);
    t.a = connect_to(t.db);
    api_gives(t.b, count_objects, "0,0");
    api_gives(t.b, "select count(*) from pg_proc where proname = 'f' and pronamespace >= 16384", "0");
    assert_int_equal(t.db->db->catalog.n_index_defs, 0);
    assert_int_equal(t.db->db->catalog.n_comments, 0);
    assert_int_equal(t.db->db->catalog.n_privileges, 0);
    /* in a transaction */
    api_run(t.a, "create table kept (a int); create temp table t (a int); begin; insert into t values (1); "
                 "create temp table u (a int); insert into kept values (1); drop table t");
    stele_disconnect(t.a);
    t.a = connect_to(t.db);
    api_gives(t.b, count_objects, "0,0");
    api_gives(t.b, "select count(*) from kept", "0");
    /* in one that has failed, and with statements of it */
    stele_stmt *st;
    api_run(t.a, "create temp table t (a int); insert into t values (1), (2)");
    api_ok(t.a, stele_prepare(t.a, "select a from t", -1, &st, NULL), "prepare");
    assert_int_equal(stele_step(st), STELE_ROW);
    api_run(t.a, "begin");
    api_fails(t.a, "select 1 / 0", "22012");
    stele_disconnect(t.a);
    t.a = connect_to(t.db);
    api_gives(t.b, count_objects, "0,0");
    close_two(&t);
}

/* Another connection has the database to itself: what is left goes with the next connection that ends. */
static void test_ends_beside(void **state) {
    (void)state;
    Two t;
    open_two(&t);
    api_run(t.a, "create temp table t (a int); insert into t values (1)");
    api_run(t.b, "begin; create table x (a int)");
    stele_disconnect(t.a);
    t.a = NULL;
    api_run(t.b, "commit");
    api_fails(t.b, "select * from t", "42P01");
    api_gives(t.b, count_objects, "1,1");
    stele_disconnect(connect_to(t.db));
    api_gives(t.b, count_objects, "0,0");
    api_run(t.b, "begin; create temp table t (a int)");
    t.a = connect_to(t.db);
    stele_disconnect(t.b);
    t.b = NULL;
    api_gives(t.a, count_objects, "0,0");
    close_two(&t);
}

static void test_memory(void **state) {
    (void)state;
    Two t;
    int64_t before = 0;
    open_two(&t);
    for (int i = 0; i < 20; i++) {
        stele_conn *c = connect_to(t.db);
        api_run(c, "create temp table t as select g as a, g::text as b from generate_series(1, 20000) g");
        stele_disconnect(c);
        if (i == 0) before = atomic_load(&t.db->db->parts[DB_TABLES].used);
    }
    assert_true(atomic_load(&t.db->db->parts[DB_TABLES].used) <= before + 65536);
    close_two(&t);
}

/* ---- transactions ---- */
static void test_transactions(void **state) {
    (void)state;
    Two t;
    open_two(&t);
    api_run(t.a, "create table p (a int primary key); insert into p values (1)");
    api_run(t.a, "create temp table d (a int) on commit delete rows; create temp table k (a int)");
    api_run(t.b, "create temp table d (a int) on commit delete rows");
    api_run(t.a, "begin; insert into d values (1); insert into k values (1)");
    api_run(t.b, "begin isolation level read committed; insert into d values (1), (2); select * from p");
    api_run(t.a, "update p set a = 2; commit");
    api_gives(t.b, "select count(*) from d", "2");
    api_gives(t.a, "select (select count(*) from d), (select count(*) from k)", "0,1");
    api_run(t.b, "commit");
    api_gives(t.b, "select count(*) from d", "0");
    api_run(t.b, "begin; insert into d values (3)");
    api_run(t.a, "insert into k values (2); create temp table m (a int); drop table m");
    api_gives(t.b, "select count(*) from d", "1");
    api_run(t.b, "rollback");
    close_two(&t);
}

/* ---- files and the log ---- */
static const char path[] = "/db";
static stele_db *open_on(Disk *d, bool durable) {
    stele_db *db = NULL;
    const stele_options o = {.threads = 1, .durable = durable};
    stele_error_info e;
    if (api_open(path, &o, &d->vfs, &db, &e) != STELE_OK) fail_msg("open: %s %s", e.sqlstate, e.message);
    return db;
}
static void test_files(void **state) {
    (void)state;
    Disk *d = disk_new(1);
    stele_db *db = open_on(d, false);
    stele_conn *c = connect_to(db);
    api_run(c, "create table p (a int); insert into p values (1); create unlogged table u (a serial)");
    api_run(c, "create temp table t (a serial primary key); create temp view v as select * from t; "
               "comment on table t is 'x'; create function pg_temp.f() returns int language sql as 'select 1'; "
               "comment on function pg_temp.f() is 'y'; grant execute on function pg_temp.f() to public; checkpoint");
    assert_false(db->db->dirty);
    api_run(c, "insert into t values (5); create temp table t2 as select * from p; select nextval('t_a_seq')");
    assert_false(db->db->dirty); /* nothing that is kept has changed */
    stele_disconnect(c);
    assert_false(db->db->dirty);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    db = open_on(d, false);
    c = connect_to(db);
    api_gives(c, count_objects, "0,0");
    api_gives(c, "select a from p", "1");
    api_gives(c, "select relname, relpersistence from pg_class where relname in ('p', 'u', 'u_a_seq') order by 1",
              "p,p;u,u;u_a_seq,u");
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    disk_free(d);
}
static void test_log(void **state) {
    (void)state;
    Disk *d = disk_new(1);
    stele_db *db = open_on(d, true);
    stele_conn *c = connect_to(db);
    api_run(c, "create table p (a int)");
    const int64_t before = redo_end_lsn(db->db);
    api_run(c, "create temp table t (a serial primary key, b int); insert into t (b) values (1), (2); "
               "update t set b = 3; alter table t add column c text; create temp table u (a int references t); "
               "create temp view v as select * from t; create temp sequence q; select nextval('q'); "
               "create index on t (b); truncate t cascade; drop table u; "
               "begin; create temp table x (a int) on commit drop; insert into x values (1); commit; discard temp");
    assert_int_equal(redo_end_lsn(db->db), before);
    api_run(c, "create temp table t (a int)");
    api_run(c, "begin; insert into p values (7); insert into t values (7); commit");
    assert_true(redo_end_lsn(db->db) > before);
    api_run(c, "create table p2 (a int); insert into p2 values (8); insert into t values (8); "
               "create policy kept on p using (a > 0); create policy gone on t using (a > 0)");
    stele_disconnect(c);
    assert_int_equal(stele_discard(db), STELE_OK);
    db = open_on(d, true);
    c = connect_to(db);
    api_gives(c, "select (select a from p), (select a from p2)", "7,8");
    api_gives(c, "select tablename, policyname from pg_policies", "p,kept");
    api_gives(c, count_objects, "0,0");
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    disk_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apart),        cmocka_unit_test(test_plans),       cmocka_unit_test(test_only_temporary),
        cmocka_unit_test(test_ends),         cmocka_unit_test(test_ends_beside), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_transactions), cmocka_unit_test(test_files),       cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
