/* test_depend.c - views and literals of older files, and definitions that run out of memory halfway. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "session/ddl/depend.h"

static Database *db;
static Session *session;

static Status run(const char *sql, Statement **out) {
    int64_t used;
    *out = NULL;
    Status r = statement_prepare(session, slice_of(sql), out, &used);
    return r == ST_OK ? statement_run(*out) : r;
}
static void must(const char *sql) {
    Statement *st;
    if (run(sql, &st) != ST_OK) fail_msg("%s: %s", sql, session->err.message);
    statement_free(st);
}
/* The names of a query's columns, joined by commas. */
static void columns(const char *sql, const char *want) {
    char text[256] = "";
    Statement *st;
    if (run(sql, &st) != ST_OK) fail_msg("%s: %s", sql, session->err.message);
    for (int32_t i = 0; i < st->n_cols; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? "," : "", st->names[i]);
    statement_free(st);
    assert_string_equal(text, want);
}

static int setup(void **state) {
    (void)state;
    Err e = {0};
    assert_int_equal(database_open(NULL, vfs_posix(), 1, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &session, &e), ST_OK);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    session_free(session);
    database_close(db);
    return 0;
}

/* As a file of before views said what they read has them. */
static void forget_sources(void) {
    for (int64_t i = 0; i < db->catalog.n_views; i++) {
        Err e = {0};
        View *old = db->catalog.views[i], like = *old;
        like.n_sources = 0;
        like.sources = NULL;
        View *v = view_new(&like, &e);
        assert_non_null(v);
        catalog_replace_view(&db->catalog, old, v);
        view_free(old);
    }
}

static void test_older_files(void **state) {
    (void)state;
    must("create table t(a int, b int)");
    must("create view v as select * from t");
    must("create view w(x) as select * from v natural join t");
    forget_sources();
    columns("select * from w", "x,b");
    must("alter table t add column c int");
    columns("select * from v", "a,b");
    columns("select * from w", "x,b");
    forget_sources();
    must("alter table t rename column a to z");
    columns("select * from w", "x,b,c");
    forget_sources();
    must("alter table t rename to t2");
    columns("select * from v", "z,b,c");
    must("drop table t2 cascade");
    assert_int_equal(db->catalog.n_views, 0);
}

/* Each allocation fails in its turn: the definition is made or it is not. */
static void fails_or_is_done(const char *sql, const char *query, const char *before, const char *after) {
    for (int64_t n = 1;; n++) {
        Statement *st;
        mem_fail_at(n);
        Status r = run(sql, &st);
        int64_t left = mem_fail_at(0);
        statement_free(st);
        if (left > 0) {
            if (r != ST_OK) fail_msg("%s: %s", sql, session->err.message);
            break;
        }
        if (r == ST_OK) break;
        assert_string_equal(session->err.sqlstate, ERR_OUT_OF_MEMORY);
        columns(query, before);
    }
    columns(query, after);
}
static void test_out_of_memory(void **state) {
    (void)state;
    must("create table t(a int primary key, b int)");
    must("create view v as select * from t");
    must("create view w as select v.*, t.b as tb from v, t where v.a = t.a");
    forget_sources();
    fails_or_is_done("alter table t add column c int", "select * from v", "a,b", "a,b");
    fails_or_is_done("alter table t rename column a to z", "select * from w", "a,b,tb", "a,b,tb");
    fails_or_is_done("alter view v rename column b to y", "select * from v", "a,b", "a,y");
    fails_or_is_done("alter view v rename to v2", "select * from w", "a,b,tb", "a,b,tb");
    fails_or_is_done("create or replace view v2 as select z as a, b as y, c, 1 as one from t", "select * from w",
                     "a,b,tb", "a,b,tb");
}

/* What is kept of a literal does not depend on settings; what older files have is read under the defaults. */
static void test_literals(void **state) {
    (void)state;
    must("set datestyle = 'sql, dmy'");
    must("create table t(d date default '04/03/2020' check (d < '31/12/2021'), n int)");
    must("create view v as select d from t where d >= '04/03/2020'");
    Table *t = catalog_table(&db->catalog, slice_of("t"));
    View *v = catalog_view(&db->catalog, slice_of("v"));
    assert_string_equal(t->cols[0].default_sql, "'2020-03-04'");
    assert_string_equal(t->checks[0].sql, "d < '2021-12-31'");
    assert_string_equal(v->sql, "select d from t where d >= '2020-03-04'");
    memcpy(t->cols[0].default_sql, "'03/04/2020'", 12); /* as a file that was made with the defaults has them */
    memcpy(strstr(v->sql, "2020"), "03/04/2020", 10);
    memcpy(strstr(t->checks[0].sql, "2021"), "12/31/2021", 10);
    must("insert into t(n) values (1)");
    must("insert into t values ('01/01/2021', 2), ('03/03/2020', 3)");
    must("alter table t add column e date default '04/03/2020'");
    must("alter table t validate constraint t_d_check");
    must("do $$ begin if (select string_agg(d || ' ' || e, ';' order by n) from t) <> '04/03/2020 04/03/2020;"
         "01/01/2021 04/03/2020;03/03/2020 04/03/2020' or (select count(*) from v) <> 2 "
         "then raise '%', (select string_agg(d || ' ' || e, ';' order by n) from t); end if; end $$");
    must("drop view v");
    must("alter table t rename column d to day");
    Statement *st;
    assert_int_equal(run("insert into t values ('31/12/2021', 3)", &st), ST_ERROR);
    assert_string_equal(session->err.sqlstate, ERR_CHECK_VIOLATION);
    statement_free(st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_older_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_literals, setup, teardown),
    };
    return cmocka_run_group_tests_name("depend", tests, NULL, NULL);
}
