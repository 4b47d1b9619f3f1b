/* test_plancache.c - a kept statement sees everything that a new one would see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "session/core/plancache.h"
#include "session/pl/pl_run_int.h"
#include "session/pool/bulk.h"

static Database *db;
static Session *session, *other;

/* All rows as text, cells joined by commas, rows by semicolons; "!" and the SQLSTATE on an error. */
static char text[8192];
static const char *rows_text(Session *s, Statement *st) {
    text[0] = 0;
    Arena *a = arena_new(&s->account, NULL);
    size_t at = 0;
    for (int64_t r = 0; r < st->n_rows; r++)
        for (int32_t c = 0; c < st->n_cols; c++) {
            const void *cell;
            bool null;
            assert_int_equal(
                rows_cell(st->rows, st->row_map ? st->row_map[r] : r, st->first_col + c, &cell, &null, &s->err), ST_OK);
            Value v = {.type = st->types[c], .is_null = null};
            if (!null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
            int64_t n = 4;
            const char *t = null ? "NULL" : value_to_text(a, &v, &n);
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", c ? "," : r ? ";" : "", (int)n, t);
            assert_true(at < sizeof text);
        }
    arena_free(a);
    return text;
}
static const char *failure(const Session *s) {
    snprintf(text, sizeof text, "!%s", s->err.sqlstate);
    return text;
}

static int64_t fail_left; /* mem_fail_at's countdown when the statement had run */
static const char *ask(Session *s, const char *sql) {
    Statement *st;
    int64_t used;
    Status prepared = statement_prepare(s, slice_of(sql), &st, &used),
           ran = prepared == ST_OK ? statement_run(st) : ST_ERROR;
    fail_left = mem_fail_at(0);
    if (prepared != ST_OK) return failure(s);
    const char *out = ran == ST_OK ? st->rows ? rows_text(s, st) : "" : failure(s);
    statement_free(st);
    return out;
}
static void must_in(Session *s, const char *sql) {
    const char *out = ask(s, sql);
    if (out[0] == '!') fail_msg("%s: %s", sql, s->err.message);
}
static void must(const char *sql) { must_in(session, sql); }

/* Asks twice; the second time nothing is planned. */
static void twice(const char *sql, const char *want) {
    assert_string_equal(ask(session, sql), want);
    int64_t texts = session->kept.n_texts_found, plans = session->kept.n_plans_found;
    assert_string_equal(ask(session, sql), want);
    assert_int_equal(session->kept.n_texts_found, texts + 1);
    assert_int_equal(session->kept.n_plans_found, plans + 1);
}
/* What was kept does not hold any more. */
static void anew(const char *sql, const char *want) {
    int64_t plans = session->kept.n_plans_found;
    assert_string_equal(ask(session, sql), want);
    assert_int_equal(session->kept.n_plans_found, plans);
    twice(sql, want);
}

static int setup(void **state) {
    (void)state;
    Err e = {0};
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &session, &e), ST_OK);
    assert_int_equal(session_new(db, &other, &e), ST_OK);
    must("create table t(a int, s text, d date)");
    must("insert into t values (1, 'one', '2020-01-01'), (2, 'two', '2020-01-02'), (3, 'three', null)");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    session_free(other);
    session_free(session);
    database_close(db);
    return 0;
}

static void data_changes(void) {
    const char *sum = "select count(*), sum(a), min(a), max(a) from t",
               *like = "select count(*) from t where s like '%e'",
               *in = "select s from t where s in ('one', 'nine') order by s";
    twice(sum, "3,6,1,3");
    twice(like, "2");
    twice(in, "one");
    must("insert into t values (2000000000, 'nine', null)"); /* another range, a string that no dictionary had */
    anew(sum, "4,2000000006,1,2000000000");
    anew(like, "3");
    anew(in, "nine;one");
    must("update t set a = a - 1, s = s || 'e' where a < 3");
    anew(sum, "4,2000000004,0,2000000000");
    anew(like, "4");
    must("delete from t where a > 100");
    anew(sum, "3,4,0,3");
    must("vacuum t");
    twice(sum, "3,4,0,3");
    must("analyze t");
    anew(sum, "3,4,0,3");
    must("truncate t");
    anew(sum, "0,NULL,NULL,NULL");
    anew(like, "0");
    must("insert into t select g, 'x' || g, null from generate_series(1, 5000) g");
    anew(sum, "5000,12502500,1,5000");
    anew(like, "0");
    must("vacuum t"); /* now columns of main are read */
    anew(sum, "5000,12502500,1,5000");
    must("truncate t");
    must("insert into t values (1, 'one', '2020-01-01'), (2, 'two', '2020-01-02'), (3, 'three', null)");
}

static void test_data(void **state) {
    (void)state;
    data_changes();
}

/* Many rows of a device: in order, by several threads; their strings are the result's own. */
static void many_rows(const char *order) {
    enum { ROWS = 20000 };
    char sql[128];
    must("create table many(a int, s text, u text)");
    must("insert into many select g, case when g % 10 = 0 then null else 'name' || (g % 7) end, 'u' || g from "
         "generate_series(1, 20000) g");
    must("vacuum many");
    snprintf(sql, sizeof sql, "select a, s, u from many where a >= 0%s", order);
    Statement *st[2];
    int64_t used;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(statement_prepare(session, slice_of(sql), &st[i], &used), ST_OK);
        assert_int_equal(statement_run(st[i]), ST_OK);
        assert_int_equal(st[i]->n_rows, ROWS);
    }
    assert_ptr_equal(st[0]->plan, st[1]->plan);
    must("drop table many");
    for (int i = 0; i < 2; i++) {
        for (int32_t r = 0; r < ROWS; r++) {
            char want[32];
            const void *cell;
            bool null;
            assert_int_equal(rows_cell(st[i]->rows, r, 0, &cell, &null, &session->err), ST_OK);
            assert_int_equal(*(const int32_t *)cell, r + 1);
            assert_int_equal(rows_cell(st[i]->rows, r, 1, &cell, &null, &session->err), ST_OK);
            assert_int_equal(null, (r + 1) % 10 == 0);
            snprintf(want, sizeof want, "name%d", (r + 1) % 7);
            if (!null) assert_memory_equal(((const Str *)cell)->ptr, want, 5);
            assert_int_equal(rows_cell(st[i]->rows, r, 2, &cell, &null, &session->err), ST_OK);
            snprintf(want, sizeof want, "u%d", (int)r + 1);
            assert_int_equal(((const Str *)cell)->len, strlen(want));
            assert_memory_equal(((const Str *)cell)->ptr, want, strlen(want));
        }
        statement_free(st[i]);
    }
}

/* The same on the system's C compiler, where emitted text is kept, too. */
static void test_device(void **state) {
    (void)state;
    must("set executor = compiled");
    must("set device = cpu");
    must("set device_wait = on");
    data_changes();
    const char *join =
        "select x.s, count(*) from t x join t y on x.a >= y.a - 1 and x.d = y.d group by x.s order by x.s";
    twice(join, "one,1;two,1");
    many_rows("");
    many_rows(" order by a");
    anew(join, "one,1;two,1");
    must("set executor = vm");
    anew(join, "one,1;two,1");
    must("set executor = compiled");
    anew(join, "one,1;two,1");
    must("set device_memory_limit = '64MB'");
    anew(join, "one,1;two,1");
    must("reset all");
}

static void test_definitions(void **state) {
    (void)state;
    const char *all = "select * from t where a < 3 order by a", *view = "select * from v";
    twice(all, "1,one,2020-01-01;2,two,2020-01-02");
    must("create view v as select a from t where a = 1");
    twice(view, "1");
    must("alter table t add column n int default 7");
    anew(all, "1,one,2020-01-01,7;2,two,2020-01-02,7");
    must("alter table t drop column d");
    anew(all, "1,one,7;2,two,7");
    must("drop view v");
    assert_string_equal(ask(session, view), "!42P01");
    must("alter table t alter column a type numeric(5,1)");
    anew(all, "1.0,one,7;2.0,two,7");
    must("alter table t rename column s to name");
    must("create view v as select name from t");
    anew(view, "one;two;three");
    must("create or replace view v as select name || '!' as name from t where a = 3");
    anew(view, "three!");
    must("drop view v");
    must("drop table t");
    assert_string_equal(ask(session, all), "!42P01");
    must("create table t(a int, b text)"); /* the same name */
    anew(all, "");
    must("insert into t values (1, 'new')");
    anew(all, "1,new");
    must("alter table t rename to u");
    assert_string_equal(ask(session, all), "!42P01");
    must("create view t as select a + 1 as a from u"); /* a view where a table was */
    anew(all, "2");
    must("drop view t");
    must("drop table u");
    must("create table t(a int, s text, d date)");
    must("insert into t values (1, 'one', '2020-01-01'), (2, 'two', '2020-01-02'), (3, 'three', null)");
}

/* ---- definitions that do not concern what is kept ---- */
/* Statements one after the other. */
static void script(const char *sql) {
    Statement *st;
    for (int64_t used; *sql; sql += used) {
        if (statement_prepare(session, slice_of(sql), &st, &used) != ST_OK || statement_run(st) != ST_OK)
            fail_msg("%s: %s", sql, session->err.message);
        statement_free(st);
    }
}
/* Tables, views, routines, types and domains come and go, which nothing depends on; foreign keys, too; also undone. */
static void define_others(void) {
    script("create table other_a(id int primary key, v int); create table other_b(id int references other_a, w text)");
    script("create unique index on other_b(w); create view other_v as select v from other_a; create type other_e as "
           "enum ('x')");
    script("create function other_f(int) returns int language sql as $$ select $1 $$; drop table other_b");
    script(
        "create procedure other_p(a int) language plpgsql as $$ begin update other_a set v = a where id = a; end $$");
    script("begin; create table other_c(a int); drop view other_v; rollback");
    script("alter table other_a add column more int; drop function other_f; drop view other_v; drop type other_e");
}
static void drop_others(void) { script("drop procedure other_p; drop table other_a"); }

static void test_names(void **state) {
    (void)state;
    const char *plan = "select t.a, f(t.a) as x, k.v from t join k on k.id = t.a order by 1",
               *view = "select count(*), max(s) from names_v";
    script("create table k(id int primary key, v int); insert into k values (1, 10), (2, 20)");
    script("create view names_v as select s from t where a > 1");
    twice(view, "2,two");
    twice("select t.a, k.v from t join k on k.id = t.a order by 1", "1,10;2,20");
    define_others();
    int64_t plans = session->kept.n_plans_found;
    assert_string_equal(ask(session, view), "2,two");
    drop_others(); /* other tables move up in the catalog's list */
    assert_string_equal(ask(session, view), "2,two");
    assert_int_equal(session->kept.n_plans_found, plans + 2);
    assert_string_equal(ask(session, plan), "!42883");
    script("create function f(numeric) returns text language sql as $$ select 'numeric' $$");
    assert_string_equal(ask(session, plan), "1,numeric,10;2,numeric,20");
    script("create function f(int) returns text language sql as $$ select 'int' $$"); /* a better overload */
    assert_string_equal(ask(session, plan), "1,int,10;2,int,20");
    script("drop function f(int)");
    assert_string_equal(ask(session, plan), "1,numeric,10;2,numeric,20");
    script("drop function f(numeric)");
    /* A builtin function's name counts, though there were no routines; so does a name that the view's text has. */
    const char *same = "select initcap(s) from t where a = 1", *casts = "select abs(a) from t where a = 1";
    twice(same, "One");
    twice(casts, "1");
    script("create function initcap(text) returns text language sql as $$ select 'mine' $$");
    assert_string_equal(ask(session, casts), "1");
    script("drop function initcap(text)");
    script("create or replace view names_v as select s from t where a = 1");
    anew(view, "1,one");
    script("begin; alter table t add column names int");
    anew("select * from t where a = 1", "1,one,2020-01-01,NULL");
    script("rollback");
    anew("select * from t where a = 1", "1,one,2020-01-01");
    script("drop view names_v; drop table k");
}

/* Types: columns and values have them without naming them. */
static void test_type_names(void **state) {
    (void)state;
    script("create type mood as enum ('sad', 'ok'); create table m(id int primary key, x mood, p int)");
    script("create domain positive as int check (value > 0); insert into m values (1, 'ok', 5)");
    twice("select id from m where x = 'ok'", "1");
    script("alter type mood rename value 'ok' to 'fine'");
    assert_string_equal(ask(session, "select id from m where x = 'ok'"), "!22P02");
    anew("select id from m where x = 'fine'", "1");
    script("prepare d(int) as update m set p = $1::positive where id = 1");
    script("execute d(3)");
    script("alter domain positive add check (value > 3)");
    assert_string_equal(ask(session, "execute d(3)"), "!23514");
    script("deallocate d; drop table m; drop domain positive; drop type mood");
}

/* Statements on one row, and routines with their expressions. */
static void test_point_names(void **state) {
    (void)state;
    script("create table k(id int primary key, v int); insert into k values (1, 10), (2, 20)");
    script("create function twofold(a int) returns int language plpgsql as $$ begin return a * 2; end $$");
    script("create function rise(a int) returns int language plpgsql as $$ declare x int; begin"
           "  update k set v = v + 1 where id = a returning v into x; return twofold(x); end $$");
    script("prepare u as update k set v = v + 1 where id = $1 returning v");
    script("execute u(1)");
    assert_string_equal(ask(session, "select rise(g) from generate_series(1, 1) g"), "24");
    const PlRoutine *routine = session->pl->routines;
    while (routine && strcmp(routine->f->name, "rise") != 0) routine = routine->next;
    assert_non_null(routine);
    const Arena *kept = routine->preps[0].arena;
    assert_non_null(kept);
    define_others();
    drop_others();
    script("execute u(1)");
    assert_string_equal(ask(session, "select rise(g) from generate_series(1, 1) g"), "28");
    const PlRoutine *now = session->pl->routines;
    while (now && now != routine) now = now->next;
    assert_ptr_equal(now, routine);
    assert_ptr_equal(now->preps[0].arena, kept);
    script("create or replace function twofold(a int) returns int language plpgsql as $$ begin return a * 3; end $$");
    assert_string_equal(ask(session, "select rise(g) from generate_series(1, 1) g"), "45");
    script("create function twofold(a numeric) returns int language plpgsql as $$ begin return 0; end $$");
    assert_string_equal(ask(session, "select rise(g) from generate_series(1, 1) g"), "48");
    script("alter table k rename column v to w");
    assert_string_equal(ask(session, "select rise(g) from generate_series(1, 1) g"), "!42703");
    assert_string_equal(ask(session, "execute u(1)"), "!42703");
    script(
        "alter table k rename column w to v; create table parent(id int primary key); insert into parent values (1)");
    script("execute u(1)");
    script("update k set v = 1; alter table k add foreign key (v) references parent");
    assert_string_equal(ask(session, "execute u(2)"), "!23503");
    script("deallocate u; drop table k cascade; drop table parent; drop function rise; drop function twofold(int)");
    script("drop function twofold(numeric)");
}

/* ---- compiled procedures, and statements in bulks ---- */
static int64_t n_compiled, n_images;
static void note_made(void) { session_bulk_made(session, &n_compiled, &n_images); }
static void made(int64_t compiled, int64_t images) {
    int64_t c, i;
    session_bulk_made(session, &c, &i);
    if (c - n_compiled != compiled || i - n_images != images)
        fail_msg("%d compiled, %d images", (int)(c - n_compiled), (int)(i - n_images));
    note_made();
}
static const char *bulk(const char *p) {
    char sql[256];
    snprintf(sql, sizeof sql,
             "select count(sqlstate) from bulk_call('%s', 'select 1 + g %% 2, 1 from generate_series(1, 4) g')", p);
    return ask(session, sql);
}
static void make_procedures(void) {
    script("create table acc(id int primary key, v bigint not null, note text, w int); insert into acc values (1, 0), "
           "(2, 0)");
    script("create table hist(id int, d bigint); create table apart(id int primary key, v int)");
    script("insert into apart values (1, 0), (2, 0)");
    script("create procedure pay(a int, d int) language plpgsql as $$ begin update acc set v = v + d where id = a;"
           "  insert into hist values (a, d); end $$");
    script(
        "create procedure look(a int, d int, out x bigint) language plpgsql as $$ begin select v into x from acc where"
        "  id = a; end $$");
    script(
        "create procedure move(a int, d int) language plpgsql as $$ begin update apart set v = d where id = a; end $$");
}
static void drop_procedures(void) {
    script("drop procedure pay; drop procedure look; drop procedure move; drop table acc; drop table hist; drop table "
           "apart");
}

static void test_procedures(void **state) {
    (void)state;
    make_procedures();
    note_made();
    assert_string_equal(bulk("pay"), "0");
    made(3, 2);
    assert_string_equal(bulk("move"), "0");
    made(0, 1);
    define_others();
    made(0, 0);
    assert_string_equal(bulk("pay"), "0");
    made(1, 0); /* other_p, which is new */
    drop_others();
    assert_string_equal(bulk("pay"), "0");
    made(3, 0); /* it wrote */
    /* A reader of what is there is compiled by itself. So is a routine on other tables, and one that writes no more. */
    script(
        "create procedure reader(a int, d int, out x bigint) language plpgsql as $$ begin select v + d into x from acc "
        "where id = a; end $$");
    assert_string_equal(bulk("reader"), "0");
    made(1, 0);
    /* A writer of another column is not: those that read the column have to reckon with it. The image gets it. */
    script("create procedure annotate(a int, d int) language plpgsql as $$ begin update acc set w = d where id = a; "
           "end $$");
    assert_string_equal(bulk("annotate"), "0");
    made(5, 1);
    assert_string_equal(bulk("pay"), "0");
    made(0, 0);
    /* What a procedure depends on: the table, a function that it calls, a name that it could call. */
    script("alter table apart add column more int");
    assert_string_equal(bulk("pay"), "0");
    made(5, 0);
    assert_string_equal(bulk("move"), "0");
    made(0, 1);
    assert_string_equal(ask(session, "select sum(v), count(*) from acc, (select 1) x"), "20,2");
    assert_string_equal(ask(session, "select sum(w) from acc"), "2");
    assert_string_equal(ask(session, "select sum(v), count(more) from apart"), "2,0");
    script("begin; drop table apart; rollback"); /* the image is the table's still */
    assert_string_equal(bulk("move"), "0");
    script("drop procedure reader; drop procedure annotate");
    drop_procedures();
}

/* A statement of one row in the pool of calls. */
static void statement(const char *args, const char *want) {
    char sql[64];
    snprintf(sql, sizeof sql, "execute q(%s)", args);
    assert_string_equal(ask(session, sql), want);
}
static void new_statement(const char *sql) {
    char text_[256];
    (void)ask(session, "deallocate q");
    snprintf(text_, sizeof text_, "prepare q as %s", sql);
    script(text_);
}
static void test_statements(void **state) {
    (void)state;
    make_procedures();
    script("set bulk_interval = '1us'");
    script("call pay(1, 1)");
    script("call move(1, 1)");
    note_made();
    new_statement("update acc set v = v + $2 where id = $1");
    statement("1, 5", "");
    made(1, 0);
    new_statement("insert into hist values ($1, $2)");
    statement("1, 5", "");
    made(1, 0);
    /* On a table of its own; then with another column, for which the first is compiled once more. */
    script("create table own(id int primary key, a int, b int); insert into own values (1, 0, 0), (2, 0, 0)");
    new_statement("update own set a = $2 where id = $1");
    statement("1, 5", "");
    made(1, 1);
    new_statement("update own set b = a + $2 where id = $1");
    statement("1, 5", "");
    made(2, 1);
    assert_string_equal(ask(session, "select sum(a), sum(b) from own where id = 1"), "5,10");
    /* A column that no procedure writes: alone. The procedures stay, and the image is wide enough for both then. */
    new_statement("update acc set w = $2 where id = $1");
    statement("1, 7", "");
    made(1, 1);
    script("call pay(1, 1)");
    statement("2, 8", "");
    script("call pay(2, 1)");
    made(0, 0);
    assert_string_equal(ask(session, "select id, v, w from acc order by id"), "1,7,7;2,1,8");
    /* The next definition of the pool's tables. */
    script("alter table own drop column b");
    statement("1, 1", "");
    new_statement("update own set a = a + $2 where id = $1");
    statement("1, 1", "");
    assert_string_equal(ask(session, "select sum(a) from own where id = 1"), "6");
    script("reset bulk_interval; deallocate q; drop table own");
    drop_procedures();
}
/* More texts than are kept: the least recently used ones go, and come again. */
static void test_many_statements(void **state) {
    (void)state;
    enum { TEXTS = 280 };
    make_procedures();
    script("set bulk_interval = '1us'");
    script("call pay(1, 0)");
    note_made();
    for (int again = 0; again < 2; again++)
        for (int i = 0; i < TEXTS; i++) {
            char sql[128];
            snprintf(sql, sizeof sql, "update acc set v = v + $2 + %d where id = $1", i);
            new_statement(sql);
            statement("1, 1", "");
        }
    assert_string_equal(ask(session, "select sum(v) from acc where id = 1"), "78680"); /* 2 * (280 + 279 * 280 / 2) */
    int64_t compiled, images;
    session_bulk_made(session, &compiled, &images);
    assert_in_range(compiled - n_compiled, TEXTS + 24, 2 * TEXTS);
    assert_int_equal(images - n_images, 0);
    script("reset bulk_interval; deallocate q");
    drop_procedures();
}

static void test_constraints(void **state) {
    (void)state;
    /* What a constraint proves is gone with it. */
    must("create table k(id int primary key, v int not null)");
    must("insert into k values (1, 10), (2, 20)");
    const char *distinct = "select count(*) from (select distinct id, v from k) x",
               *nulls = "select count(*) from k where v is null";
    twice(distinct, "2");
    twice(nulls, "0");
    must("alter table k drop constraint k_pkey");
    must("alter table k alter column v drop not null");
    anew(distinct, "2");
    must("insert into k values (2, 20), (3, null)");
    anew(distinct, "3");
    anew(nulls, "1");
    must("drop table k");
}

static void test_settings(void **state) {
    (void)state;
    const char *zone = "select extract(hour from timestamptz '2020-01-01 12:00:00+00' at time zone 'UTC'), '2020-01-01 "
                       "00:00:00'::timestamptz = '2020-01-01 00:00:00+00'::timestamptz";
    twice(zone, "12,t");
    must("set timezone = '2'");
    anew(zone, "12,f");
    must("set timezone = 'UTC'");
    anew(zone, "12,t");
    const char *show = "select current_setting('application_name') || a from t where a = 1";
    must("set application_name = 'x'");
    twice(show, "x1");
    must("set application_name = 'y'");
    anew(show, "y1");
    must("set disabled_rules = 'constant_folding,dictionary_codes'");
    anew(show, "y1");
    must("begin");
    must("set local application_name = 'z'");
    anew(show, "z1");
    must("commit");
    anew(show, "y1");
    must("reset all");
}

static void test_transactions(void **state) {
    (void)state;
    const char *sum = "select sum(a), max(s) from t", *star = "select * from n";
    twice(sum, "6,two");
    must("begin");
    twice(sum, "6,two");
    must("insert into t values (100, 'zero', null)");
    anew(sum, "106,zero");
    must("rollback");
    anew(sum, "6,two");
    must("begin");
    must("create table n(x int)");
    must("insert into n values (5)");
    twice(star, "5");
    must("rollback");
    assert_string_equal(ask(session, star), "!42P01");
    must("begin");
    must("drop table t");
    assert_string_equal(ask(session, sum), "!42P01");
    must("rollback");
    anew(sum, "6,two");
    must("begin");
    must("truncate t");
    anew(sum, "NULL,NULL");
    must("rollback");
    anew(sum, "6,two");
    /* Failed transactions look at nothing. */
    must("begin");
    assert_string_equal(ask(session, "select 1 / (a - a) from t"), "!22012");
    assert_string_equal(ask(session, sum), "!25P02");
    must("rollback");
    assert_string_equal(ask(session, sum), "6,two");
    /* Another session's changes. */
    must_in(other, "update t set a = a + 1 where a = 3");
    anew(sum, "7,two");
    must_in(other, "begin");
    must_in(other, "update t set a = 3 where a = 4");
    must_in(other, "rollback");
    twice(sum, "7,two"); /* the published version is still what is committed */
    must_in(other, "update t set a = 3 where a = 4");
    must_in(other, "alter table t alter column a type bigint");
    anew(sum, "6,two");
    must_in(other, "alter table t alter column a type int");
}

static void test_parameters(void **state) {
    (void)state;
    Statement *st;
    int64_t used;
    assert_int_equal(statement_prepare(session, slice_of("select a, $1 from t where a = $1 order by a"), &st, &used),
                     ST_OK);
    assert_int_equal(st->n_params, 1);
    int64_t found = session->kept.n_plans_found;
    const struct {
        int32_t v;
        const char *want;
        bool same;
    } runs[] = {{1, "1,1", false}, {2, "2,2", false}, {2, "2,2", true},
                {9, "", false},    {9, "", true},     {1, "1,1", false}};
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        st->params[0] = (Value){.type = type_make(T_INT8), .u.i64 = runs[i].v};
        assert_int_equal(statement_run(st), ST_OK);
        assert_string_equal(rows_text(session, st), runs[i].want);
        found += runs[i].same;
        assert_int_equal(session->kept.n_plans_found, found);
    }
    statement_clear_param(st, 0); /* NULL, then other types */
    assert_int_equal(statement_run(st), ST_OK);
    assert_string_equal(rows_text(session, st), "");
    st->params[0] = (Value){.type = type_make(T_FLOAT8), .u.f64 = 2};
    assert_int_equal(statement_run(st), ST_OK);
    assert_string_equal(rows_text(session, st), "2,2");
    st->params[0] = (Value){.type = type_make(T_INT8), .u.i64 = 2};
    assert_int_equal(statement_run(st), ST_OK);
    assert_string_equal(rows_text(session, st), "2,2");
    must("insert into t values (2, 'again', null)");
    assert_int_equal(statement_run(st), ST_OK);
    assert_string_equal(rows_text(session, st), "2,2;2,2");
    must("delete from t where s = 'again'");
    assert_int_equal(statement_run(st), ST_OK);
    assert_string_equal(rows_text(session, st), "2,2");
    assert_int_equal(session->kept.n_plans_found, found);
    assert_int_equal(statement_run(st), ST_OK);
    assert_int_equal(session->kept.n_plans_found, found + 1);
    statement_free(st);

    must("prepare p(text) as select a from t where s = $1");
    assert_string_equal(ask(session, "execute p('two')"), "2");
    found = session->kept.n_plans_found;
    assert_string_equal(ask(session, "execute p('two')"), "2");
    assert_int_equal(session->kept.n_plans_found, found + 1);
    assert_string_equal(ask(session, "execute p('one')"), "1");
    assert_int_equal(session->kept.n_plans_found, found + 1);
    must("update t set a = 11 where s = 'one'");
    assert_string_equal(ask(session, "execute p('one')"), "11");
    must("update t set a = 1 where s = 'one'");
    must("deallocate p");
}

static void test_clock(void **state) {
    (void)state;
    static const char *const texts[] = {"select now() as x",
                                        "select 'now'::timestamp as x",
                                        "select clock_timestamp() as x",
                                        "select count(*) from t where current_timestamp < timestamptz 'tomorrow'",
                                        "select a from t where d + 40000 > current_date",
                                        "select a from t where d < date 'yesterday' order by a"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char before[64];
        snprintf(before, sizeof before, "%.60s", ask(session, texts[i]));
        int64_t found = session->kept.n_plans_found;
        const char *after = ask(session, texts[i]);
        if (strstr(texts[i], "clock") == NULL) assert_int_equal(session->kept.n_plans_found, found);
        if (strstr(texts[i], "as x")) assert_string_not_equal(before, after);
        else assert_string_equal(before, after);
    }
    const char *limit = "select a from t order by a limit (select count(*) - 1 from t)",
               *random = "select count(distinct x) from (select random() as x from generate_series(1, 10)) r";
    assert_string_equal(ask(session, limit), "1;2");
    assert_string_equal(ask(session, limit), "1;2");
    must("delete from t where a = 1");
    assert_string_equal(ask(session, limit), "2");
    must("insert into t values (1, 'one', '2020-01-01')");
    twice(random, "10");
    char first[64];
    snprintf(first, sizeof first, "%.60s", ask(session, "select random()"));
    assert_string_not_equal(ask(session, "select random()"), first);
}

/* A result does not change with what comes after it. */
static void test_results(void **state) {
    (void)state;
    static const char sql[] = "select s, a from r order by a";
    must("create table r(a int, s text)");
    must("insert into r select g, 'r' || (g % 3) from generate_series(1, 40) g");
    Statement *first, *second;
    int64_t used;
    assert_int_equal(statement_prepare(session, slice_of(sql), &first, &used), ST_OK);
    assert_int_equal(statement_run(first), ST_OK);
    assert_int_equal(statement_prepare(session, slice_of(sql), &second, &used), ST_OK);
    assert_ptr_equal(first->text, second->text);
    assert_int_equal(statement_run(second), ST_OK);
    assert_ptr_equal(first->plan, second->plan);
    char want[sizeof text];
    snprintf(want, sizeof want, "%s", rows_text(session, first));
    must("drop table r");
    assert_int_equal(statement_run(second), ST_ERROR);
    for (int i = 0; i < 80; i++) { /* out of the list */
        char other_text[64];
        snprintf(other_text, sizeof other_text, "select a + %d from t where a = 1", i);
        (void)ask(session, other_text);
    }
    assert_true(session->kept.n_texts <= 64);
    assert_string_equal(rows_text(session, first), want);
    statement_reset(first);
    assert_int_equal(first->n_cols, 2);
    assert_string_equal(first->names[0], "s");
    statement_free(first);
    statement_free(second);
    twice("select a + 79 from t where a = 1", "80");
}

/* Statements of PREPARE on one row by its key run without a plan, and their results outlive them. */
static void test_execute_point(void **state) {
    (void)state;
    const char *prepare = "prepare u as update k set v = v + 1 where id = $1 returning v as vv";
    Statement *st;
    int64_t used;
    must("create table k(id int primary key, v int)");
    must("insert into k values (1, 10), (2, 20)");
    must(prepare);
    int64_t runs = session->kept.n_runs;
    assert_string_equal(ask(session, "execute u(1)"), "");
    assert_int_equal(statement_prepare(session, slice_of("execute u(2)"), &st, &used), ST_OK);
    assert_int_equal(statement_run(st), ST_OK);
    assert_int_equal(session->kept.n_runs, runs);
    must("deallocate u");
    must(prepare);
    assert_int_equal(st->n_rows, 1);
    assert_int_equal(st->values[0].u.i32, 21);
    assert_string_equal(st->names[0], "vv");
    assert_int_equal(statement_run(st), ST_OK); /* the new one */
    assert_int_equal(st->values[0].u.i32, 22);
    statement_reset(st);
    must("deallocate all");
    assert_int_equal(statement_run(st), ST_ERROR);
    statement_free(st);
    assert_string_equal(ask(session, "select sum(v) from k"), "33");
    must("drop table k");
}

static void test_list(void **state) {
    (void)state;
    const char *kept = "select a from t where a = 3";
    twice(kept, "3");
    for (int i = 0; i < 200; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "select a * %d from t where a = 1", i);
        (void)ask(session, sql);
        if (i % 20 == 0) twice(kept, "3"); /* used: stays */
    }
    int64_t found = session->kept.n_texts_found;
    (void)ask(session, "select a * 0 from t where a = 1");
    assert_int_equal(session->kept.n_texts_found, found);
    /* Only SELECTs, and changes with parameters; and texts differ by any character. */
    must("insert into t values (9, 'nine', null)");
    must("insert into t values (9, 'nine', null)");
    assert_int_equal(session->kept.n_texts_found, found);
    assert_string_equal(ask(session, "select count(*) from t where a = 9"), "2");
    assert_string_equal(ask(session, "select count(*) from t where a =  9"), "2");
    must("delete from t where a = 9");
    found = session->kept.n_texts_found;
    const char *change = "update t set s = 'none' where a = $1 and a < 0";
    must(change);
    must(change);
    assert_int_equal(session->kept.n_texts_found, found + 1);
    /* What is kept stays small beside the limit. */
    must("set memory_limit = '64MB'");
    for (int i = 0; i < 100; i++) {
        char sql[96];
        snprintf(sql, sizeof sql, "select a * %d, count(*) from t where a = 1 group by a order by 1", i);
        (void)ask(session, sql);
        assert_true(atomic_load(&session->kept.account.used) <= (2 << 20));
    }
    must("set memory_limit = '4GB'");
}

/* An allocation that fails leaves nothing behind, and what was kept stays right. */
static void test_memory(void **state) {
    (void)state;
    const char *sql = "select s, count(*) from t where a in (1, 2) group by s order by s";
    for (int kept = 0; kept < 2; kept++)
        for (int64_t n = 1;; n++) {
            if (!kept) text_unlist_all(session);
            int64_t used = atomic_load(&session->account.used);
            (void)mem_fail_at(n);
            const char *got = ask(session, sql);
            bool reached = fail_left <= 0;
            if (got[0] == '!') assert_string_equal(got, "!53200");
            else assert_string_equal(got, "one,1;two,1");
            if (!kept) text_unlist_all(session);
            assert_int_equal(atomic_load(&session->account.used), used);
            if (!reached) {
                assert_string_equal(got, "one,1;two,1");
                break;
            }
            if (kept) assert_string_equal(ask(session, sql), "one,1;two,1");
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data),       cmocka_unit_test(test_device),       cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_type_names),   cmocka_unit_test(test_point_names),
        cmocka_unit_test(test_procedures), cmocka_unit_test(test_statements),   cmocka_unit_test(test_constraints),
        cmocka_unit_test(test_settings),   cmocka_unit_test(test_transactions), cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_clock),      cmocka_unit_test(test_results),      cmocka_unit_test(test_execute_point),
        cmocka_unit_test(test_list),       cmocka_unit_test(test_memory),       cmocka_unit_test(test_many_statements),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
