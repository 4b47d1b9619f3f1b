/* test_pl.c - PL/pgSQL: the tree that a body becomes (sql/pl/pl.h), and what the corpus (tests/sql/pl) cannot see:
 * notices, positions and contexts of errors, limits, cancellation, shapes of prepared calls, routines in the database's
 * files. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sql/parse/parse.h"
#include "sql/pl/pl.h"
#include "stele/stele.h"
#include "types/composite.h"
#include "unit.h"

/* ---- trees ------------------------------------------------------------------------------ */

typedef struct Fixture {
    MemAccount acct;
    Err err;
    Arena *a;
    Catalog c;
} Fixture;

static void fixture_init(Fixture *f) {
    memset(f, 0, sizeof *f);
    mem_account_init(&f->acct, NULL, "test", 0, NULL);
    f->a = arena_new(&f->acct, &f->err);
    assert_non_null(f->a);
    f->c.arena = f->a;
    assert_int_equal(composite_space_new(&f->acct, &f->c.rows, &f->err), ST_OK);
    ColumnDef cols[] = {{.name = "id", .type = type_make(T_INT4)}, {.name = "name", .type = type_make(T_TEXT)}};
    Table *t;
    assert_int_equal(table_new(&f->acct, "t", 2, cols, 0, NULL, 0, NULL, &t, &f->err), ST_OK);
    assert_int_equal(catalog_add_table(&f->c, t, &f->err), ST_OK);
}
static void fixture_free(Fixture *f) {
    table_free(f->c.tables[0]);
    composite_space_free(f->c.rows);
    arena_free(f->a);
    assert_int_equal(f->acct.used, 0);
}

static Status parse(Fixture *f, const char *sql, PlFunction **out) {
    AstStmt **list;
    int64_t n;
    err_clear(&f->err);
    TRY(sql_parse(f->a, slice_of(sql), &list, &n, &f->err));
    return pl_of_create(f->a, &f->c, AST_AS_CONST(AstCreateFunction, list[0]), out, &f->err);
}
static PlFunction *parsed(Fixture *f, const char *sql) {
    PlFunction *p = NULL;
    if (parse(f, sql, &p) != ST_OK) fail_msg("%s: %s", sql, f->err.message);
    return p;
}

static void test_signature(void **state) {
    (void)state;
    Fixture f;
    fixture_init(&f);
    PlFunction *p = parsed(
        &f,
        "create procedure p(a int, inout b numeric(10,2), c t.id%type default 4) language plpgsql as $$ begin end $$");
    assert_true(p->is_procedure && p->has_outs && !p->returns_set);
    assert_int_equal(p->n_params, 3);
    assert_string_equal(p->signature, "p(integer,numeric,integer)");
    assert_int_equal(p->param_types[2].id, T_INT4);
    assert_non_null(p->param_defaults[2]);
    assert_null(p->param_defaults[0]);
    assert_int_equal(p->param_modes[1], PL_INOUT);
    assert_int_equal(p->found, 3);
    p = parsed(&f, "create function r(n int) returns table (x int, y text) language plpgsql as $$ begin end $$");
    assert_true(p->returns_set && p->returns_record && p->has_outs);
    fixture_free(&f);
}

static void test_tree(void **state) {
    (void)state;
    Fixture f;
    fixture_init(&f);
    PlFunction *p = parsed(&f, "create function f(a int) returns int language plpgsql as $$\n"
                               "<<top>>\n"
                               "declare x int := 1; r record; w t%rowtype; y w.name%type;\n"
                               "begin\n"
                               "  x := a + 1;\n"
                               "  for i in 1..3 loop\n"
                               "    declare x text; begin x := 'q'; exit top when i = 2; end;\n"
                               "  end loop;\n"
                               "  select id into x from t where id = a;\n"
                               "  return x;\n"
                               "end $$");
    PlStmt *b = p->body;
    assert_int_equal(b->kind, PLS_BLOCK);
    assert_string_equal(b->label, "top");
    assert_int_equal(b->scope.n_inits, 4);
    assert_int_equal(b->body.n, 4);
    PlStmt *assign = b->body.stmts[0], *loop = b->body.stmts[1], *sql = b->body.stmts[2], *ret = b->body.stmts[3];
    assert_int_equal(assign->kind, PLS_ASSIGN);
    assert_int_equal(assign->line, 5);
    assert_int_equal(assign->targets[0].var, pl_find_var(p, b->scope.number, "x"));
    assert_int_equal(loop->kind, PLS_FOR);
    assert_int_equal(loop->line, 6);
    assert_string_equal(p->vars[loop->implicit_var].name, "i");
    PlStmt *inner = loop->body.stmts[0];
    assert_int_equal(inner->kind, PLS_BLOCK);
    assert_int_not_equal(pl_find_var(p, inner->scope.number, "x"), pl_find_var(p, b->scope.number, "x"));
    assert_int_equal(pl_find_var(p, inner->scope.number, "i"), loop->implicit_var);
    assert_int_equal(pl_find_var(p, b->scope.number, "i"), -1);
    assert_int_equal(pl_find_var(p, b->scope.number, "$1"), 0);
    assert_int_equal(inner->body.stmts[1]->kind, PLS_EXIT);
    assert_int_equal(inner->body.stmts[1]->loop, b->loop);
    assert_int_equal(sql->kind, PLS_SQL);
    assert_true(sql->has_into && !sql->is_row);
    assert_string_equal(sql->query->text, "select id        from t where id = a");
    assert_int_equal(sql->query->stmt->kind, AST_SELECT);
    assert_int_equal(ret->kind, PLS_RETURN);
    int32_t w = pl_find_var(p, b->scope.number, "w");
    assert_int_equal(p->vars[w].kind, PLV_ROW);
    assert_int_equal(p->vars[w].n_fields, 2);
    assert_int_equal(p->vars[pl_find_var(p, b->scope.number, "y")].type.id, T_TEXT);
    assert_int_equal(p->vars[pl_find_var(p, b->scope.number, "r")].kind, PLV_RECORD);
    PlRef ref;
    assert_true(pl_resolve(p, inner->scope.number, -1, NULL, "top", "x", &ref));
    assert_int_equal(ref.var, pl_find_var(p, b->scope.number, "x"));
    assert_true(pl_resolve(p, inner->scope.number, -1, NULL, "f", "a", &ref) && ref.var == 0);
    assert_true(pl_resolve(p, inner->scope.number, -1, "top", "w", "name", &ref) && ref.var == w &&
                strcmp(ref.field, "name") == 0);
    assert_false(pl_resolve(p, inner->scope.number, -1, NULL, "x", "y", &ref)); /* a scalar has no fields */
    fixture_free(&f);
}

static void test_syntax_errors(void **state) {
    (void)state;
    static const struct {
        const char *body, *state, *message;
        int64_t at; /* 1-based in the body */
    } cases[] = {
        {"begin x := 1; end", "42601", "\"x\" is not a known variable", 7},
        {"begin if true thn null; end if; end", "42601", "missing \"THEN\" at end of SQL expression", 23},
        {"begin return 1", "42601", "missing \";\" at end of SQL expression", 15},
        {"begin return 1 + ; end", "42601", "syntax error at end of input", 0},
        {"begin perform (1; end", "42601", "mismatched parentheses at or near \";\"", 17},
        {"begin exit; end", "42601", "EXIT cannot be used outside a loop, unless it has a label", 11},
        {"declare a int; a int; begin end", "42601", "duplicate declaration at or near \"a\"", 16},
        {"declare a nosuch; begin end", "42704", "type \"nosuch\" does not exist", 11},
        {"begin raise exception '%'; end", "42601", "too few parameters specified for RAISE", 7},
        {"begin null end", "42601", "syntax error at or near \"end\"", 12},
        {"begin end; select 1", "42601", "syntax error at or near \"select\"", 12},
        {"begin begin null; exception when nonsense then null; end; end", "42704",
         "unrecognized exception condition \"nonsense\"", 34},
        {"", "42601", "syntax error at end of input", 1},
    };
    Fixture f;
    fixture_init(&f);
    static const char head[] = "create function f() returns int language plpgsql as $$";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PlFunction *p;
        char sql[512];
        snprintf(sql, sizeof sql, "%s%s$$", head, cases[i].body);
        if (parse(&f, sql, &p) == ST_OK) fail_msg("no error: %s", cases[i].body);
        if (strcmp(f.err.sqlstate, cases[i].state) != 0 || strcmp(f.err.message, cases[i].message) != 0)
            fail_msg("%s: %s %s", cases[i].body, f.err.sqlstate, f.err.message);
        int64_t want = cases[i].at ? (int64_t)strlen(head) + cases[i].at : 0;
        if (cases[i].at && f.err.position != want)
            fail_msg("%s: position %lld, not %lld", cases[i].body, (long long)(f.err.position - (int64_t)strlen(head)),
                     (long long)cases[i].at);
    }
    fixture_free(&f);
}

static void test_deep_nesting(void **state) {
    (void)state;
    Fixture f;
    fixture_init(&f);
    enum { DEEP = 20000 };
    char *sql = malloc(DEEP * 8 + 200),
         *p = sql + sprintf(sql, "create function f() returns int language plpgsql as $$ begin ");
    for (int i = 0; i < DEEP; i++) p += sprintf(p, "begin ");
    sprintf(p, "$$");
    PlFunction *out;
    assert_int_equal(parse(&f, sql, &out), ST_ERROR);
    assert_string_equal(f.err.sqlstate, "54001");
    free(sql);
    fixture_free(&f);
}

static void test_conditions(void **state) {
    (void)state;
    const char *other;
    assert_string_equal(pl_condition("division_by_zero", &other), "22012");
    assert_null(other);
    assert_string_equal(pl_condition("no_data_found", &other), "P0002");
    assert_non_null(pl_condition("string_data_right_truncation", &other));
    assert_non_null(other);
    assert_null(pl_condition("others", &other));
    assert_null(pl_condition("", &other));
}

/* ---- running ------------------------------------------------------------------------------ */

static stele_db *db;
static stele_conn *conn;
static char notices[1024];

static void on_notice(void *ctx, const stele_notice *n) {
    (void)ctx;
    size_t used = strlen(notices);
    snprintf(notices + used, sizeof notices - used, "%s %s %s|", n->severity, n->sqlstate, n->message);
}

static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return -1;
    stele_set_notice(conn, on_notice, NULL);
    notices[0] = 0;
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

static void run(const char *sql) {
    if (stele_exec(conn, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(conn, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static void refused(const char *sql, const char *sqlstate, const char *context) {
    stele_error_info e;
    if (stele_exec(conn, sql, NULL, NULL) != STELE_ERROR) fail_msg("no error: %s", sql);
    stele_error(conn, &e);
    if (strcmp(e.sqlstate, sqlstate) != 0) fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
    if (context) assert_string_equal(e.context, context);
}

static void test_notices(void **state) {
    (void)state;
    run("create procedure p(a int) language plpgsql as $$ begin raise notice 'n % %%', a; raise warning 'w'; raise "
        "info using message = 'i'; raise debug 'd'; "
        "raise notice 'c' using errcode = '01234'; end $$");
    run("call p(null)");
    assert_string_equal(notices, "NOTICE 00000 n <NULL> %|WARNING 01000 w|INFO 00000 i|NOTICE 01234 c|");
    notices[0] = 0;
    run("drop function if exists nothing(int)");
    assert_string_equal(notices, "NOTICE 00000 function nothing(integer) does not exist, skipping|");
    stele_set_notice(conn, NULL, NULL);
    run("call p(1)");
}

static void test_contexts(void **state) {
    (void)state;
    run("create table t (id int primary key)");
    run("create procedure inner_(a int) language plpgsql as $$\nbegin\n  insert into t values (a);\nend $$");
    run("create procedure outer_(a int) language plpgsql as $$\ndeclare x int;\nbegin\n  if a > 5 then\n    x := 1 / "
        "(a - a);\n  end if;\n  call inner_(a);\n  call inner_(a);\nend $$");
    refused("call outer_(6)", "22012", "PL/pgSQL function outer_(integer) line 5 at assignment");
    refused("call outer_(1)", "23505",
            "SQL statement \"insert into t values (a)\"\nPL/pgSQL function inner_(integer) line 3 at SQL "
            "statement\nSQL statement \"call inner_(a)\"\n"
            "PL/pgSQL function outer_(integer) line 8 at CALL");
    refused("do $$ begin raise exception 'x'; end $$", "P0001", "PL/pgSQL function inline_code_block line 1 at RAISE");
}

static void test_prepared_calls(void **state) {
    (void)state;
    stele_stmt *s;
    run("create procedure p(a int, inout b bigint, out c text) language plpgsql as $$ begin b := a * b; c := 'c' || a; "
        "end $$");
    assert_int_equal(stele_prepare(conn, "call p($1, $2, null)", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_param_count(s), 2);
    assert_int_equal(stele_column_count(s), 2);
    assert_string_equal(stele_column_name(s, 0), "b");
    assert_string_equal(stele_column_type(s, 0), "bigint");
    assert_string_equal(stele_column_type(s, 1), "text");
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(stele_bind_int64(s, 1, i), STELE_OK);
        assert_int_equal(stele_bind_text(s, 2, "9007199254740993", -1), STELE_OK);
        assert_int_equal(stele_step(s), STELE_ROW);
        assert_true(stele_column_int64(s, 0) == INT64_C(9007199254740993) * i);
        char want[8];
        snprintf(want, sizeof want, "c%d", i);
        assert_string_equal(stele_column_text(s, 1, NULL), want);
        assert_int_equal(stele_step(s), STELE_DONE);
        assert_string_equal(stele_command_tag(s), "CALL");
        stele_reset(s);
    }
    stele_bind_int64(s, 1, INT64_C(3000000000)); /* does not fit the parameter */
    assert_int_equal(stele_run(s), STELE_ERROR);
    stele_finalize(s);
    assert_int_equal(stele_prepare(conn, "call p($1)", -1, &s, NULL), STELE_ERROR);
    stele_error_info e;
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "42883");
    assert_int_equal(e.position, 6);
}

static void test_limits(void **state) {
    (void)state;
    run("create procedure spin() language plpgsql as $$ begin loop null; end loop; end $$");
    run("create procedure count_(n int) language plpgsql as $$ begin for i in 1..n loop null; end loop; end $$");
    run("create procedure twice(n int) language plpgsql as $$ begin call count_(n); call count_(n); end $$");
    run("set bulk_step_limit = 1000");
    refused("call spin()", "54000", NULL);
    run("call count_(1000)");
    refused("call count_(1001)", "54000", NULL);
    run("call count_(1000)"); /* counts from the beginning of each call */
    refused("call twice(600)", "54000", NULL);
    run("call twice(500)");
    run("reset bulk_step_limit");
    run("set statement_timeout = 30");
    refused("call spin()", "57014", NULL);
    run("create function fib(n int) returns bigint language plpgsql as $$ begin if n < 2 then return n; end if; return "
        "fib(n - 1) + fib(n - 2); end $$");
    refused("select fib(60)", "57014", NULL);
    run("set statement_timeout = 0");
    run("create function r(n int) returns int language plpgsql as $$ begin return r(n + 1); end $$");
    refused("select r(1)", "54001", NULL);
    run("create function q(n int) returns bigint language plpgsql as $$ declare x bigint; begin select sum(q(n + i)) "
        "into x from generate_series(1, 2) i; return x; end $$");
    refused("select q(1)", "54001", NULL);
    run("create procedure caught() language plpgsql as $$ begin perform r(1); exception when others then null; end $$");
    run("call caught()");
}

static _Atomic bool interrupted;
static void *interrupt(void *arg) { /* again and again: the call may not have begun */
    (void)arg;
    while (!atomic_load(&interrupted)) {
        usleep(20000);
        stele_interrupt(conn);
    }
    return NULL;
}
static void test_cancel(void **state) {
    (void)state;
    pthread_t th;
    run("create procedure spin() language plpgsql as $$ begin begin loop null; end loop; exception when others then "
        "raise notice 'caught'; end; end $$");
    assert_int_equal(pthread_create(&th, NULL, interrupt, NULL), 0);
    refused("call spin()", "57014", NULL);
    atomic_store(&interrupted, true);
    pthread_join(th, NULL);
    assert_string_equal(notices, ""); /* OTHERS does not mean a cancellation */
    run("select 1");
}

typedef struct Text {
    char s[1024];
} Text;
static bool add_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Text *t = ctx;
    (void)names;
    for (int64_t i = 0; i < n; i++)
        snprintf(t->s + strlen(t->s), sizeof t->s - strlen(t->s), "%s%s", v[i] ? v[i] : "NULL", i == n - 1 ? ";" : ",");
    return false;
}
static bool add_routine(void *ctx, const char *name, const char *kind, const char *args, const char *result,
                        const char *language) {
    Text *t = ctx;
    snprintf(t->s + strlen(t->s), sizeof t->s - strlen(t->s), "%s %s(%s) %s %s;", kind, name, args, result, language);
    return false;
}

static void test_files(void **state) {
    (void)state;
    char dir[] = "/tmp/stele-pl-XXXXXX", cmd[64];
    assert_non_null(mkdtemp(dir));
    for (int pass = 0; pass < 3; pass++) {
        stele_db *d;
        stele_conn *c;
        Text t = {""}, list = {""};
        assert_int_equal(stele_open(dir, NULL, &d, NULL), STELE_OK);
        assert_int_equal(stele_connect(d, &c), STELE_OK);
        if (pass == 0)
            assert_int_equal(stele_exec(c,
                                        "create table t (id int primary key, v text);"
                                        "create function f(a int, b int default 2) returns int language plpgsql strict "
                                        "as $$ begin return a * b; end $$;"
                                        "create procedure p(inout x text, i t.id%type) language plpgsql as $$ begin x "
                                        ":= x || i; insert into t values (i, x); end $$;"
                                        "create function s(n int) returns table (i int) language sql as 'select g from "
                                        "generate_series(1, n) g'",
                                        NULL, NULL),
                             STELE_OK);
        if (stele_exec(c, "select f(21); call p('a', 1); select * from s(2); delete from t", add_row, &t) != STELE_OK) {
            stele_error_info e;
            stele_error(c, &e);
            fail_msg("%s", e.message);
        }
        assert_string_equal(t.s, "42;a1;1;2;");
        assert_int_equal(stele_list_routines(c, add_routine, &list), STELE_OK);
        assert_string_equal(list.s, "function f(a integer, b integer) integer plpgsql;procedure p(INOUT x text, i "
                                    "integer)  plpgsql;function s(n integer) TABLE(i integer) sql;");
        if (pass == 1)
            assert_int_equal(stele_exec(c,
                                        "create or replace function s(n int) returns table (i int) language sql as "
                                        "'select g + 0 from generate_series(1, n) g'",
                                        NULL, NULL),
                             STELE_OK);
        stele_disconnect(c);
        assert_int_equal(stele_close(d, NULL), STELE_OK);
    }
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    assert_int_equal(system(cmd), 0);
}

/* Calls of two connections run one after the other, without serialization failures: who may write locks first. */
static void *many_calls(void *arg) {
    stele_conn *c;
    int *failed = arg;
    if (stele_connect(db, &c) != STELE_OK) return NULL;
    for (int i = 0; i < 300; i++)
        *failed += stele_exec(c, i % 2 ? "call add_(1)" : "select addf(1)", NULL, NULL) != STELE_OK;
    stele_disconnect(c);
    return NULL;
}
static void test_concurrent_calls(void **state) {
    (void)state;
    pthread_t th[3];
    int failed[3] = {0};
    Text t = {""};
    run("create table t (id int primary key, v bigint); insert into t values (1, 0)");
    run("create procedure add_(i int) language plpgsql as $$ declare x bigint; begin select v into x from t where id = "
        "i; update t set v = x + 1 where id = i; end $$");
    run("create function addf(i int) returns int language plpgsql as $$ declare x bigint; begin select v into x from t "
        "where id = i; update t set v = x + 1 where id = i; return 1; end $$");
    for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&th[i], NULL, many_calls, &failed[i]), 0);
    for (int i = 0; i < 3; i++) pthread_join(th[i], NULL);
    for (int i = 0; i < 3; i++) assert_int_equal(failed[i], 0);
    assert_int_equal(stele_exec(conn, "select v from t", add_row, &t), STELE_OK);
    assert_string_equal(t.s, "900;");
}

/* Every allocation of a call fails once: the call ends with 53200 or goes on, nothing is left behind, and the
 * connection works. */
static void test_out_of_memory(void **state) {
    (void)state;
    static const char script[] =
        "create or replace function m(n int) returns setof text language plpgsql as $$ declare r record; a int[] := "
        "'{1,2}'; c cursor for select id from t order by id; x int; begin "
        "for r in select id, v from t order by id loop begin if r.id = 2 then raise exception 'two'; end if; return "
        "next r.v || repeat('x', n); exception when others then "
        "return next sqlerrm; end; end loop; a[3] := n; foreach x in array a loop update t set v = v || x where id = "
        "x; end loop; open c; fetch c into x; close c; "
        "execute 'select $1 + 1' into x using n; return next x::text; end $$;"
        "create or replace procedure mp(inout o text) language plpgsql as $$ declare k bigint; begin insert into t "
        "values (100, 'h'); select count(*) into k from m(70); "
        "o := o || k || (select v from t where id = 100); delete from t where id = 100; end $$;"
        "call mp('o'); select m2(1); do $$ declare q text; begin call mp(q); end $$";
    run("create table t (id int primary key, v text); insert into t values (1, 'a'), (2, 'b'), (3, 'c')");
    run("create function m2(n int) returns int language plpgsql as $$ begin return n + length(repeat('y', 200)); end "
        "$$");
    int64_t n = 1;
    int failures = 0;
    for (;; n += n < 400 ? 1 : 7) {
        mem_fail_at(n);
        stele_status st = stele_exec(conn, script, NULL, NULL);
        bool hit = mem_fail_at(0) <= 0;
        if (st == STELE_ERROR) {
            stele_error_info e;
            stele_error(conn, &e);
            if (strcmp(e.sqlstate, "53200") != 0)
                fail_msg("allocation %lld: %s %s", (long long)n, e.sqlstate, e.message);
            failures++;
        }
        Text t = {""};
        assert_int_equal(stele_exec(conn, "select count(*), max(id) from t", add_row, &t), STELE_OK);
        assert_string_equal(t.s, "3,3;");
        if (!hit) break;
    }
    assert_true(failures > 50);
}

/* Another connection replaces, drops and brings back what this one has made ready. */
static void test_two_connections(void **state) {
    (void)state;
    stele_conn *other;
    Text t = {""};
    assert_int_equal(stele_connect(db, &other), STELE_OK);
    run("create function f() returns int language plpgsql as $$ begin return 1; end $$");
    run("create function g() returns int language plpgsql as $$ begin return f() + 10; end $$");
    assert_int_equal(stele_exec(conn, "select g()", add_row, &t), STELE_OK);
    assert_int_equal(
        stele_exec(other, "create or replace function f() returns int language plpgsql as $$ begin return 2; end $$",
                   NULL, NULL),
        STELE_OK);
    assert_int_equal(stele_exec(conn, "select g()", add_row, &t), STELE_OK);
    assert_int_equal(stele_exec(other, "drop function f()", NULL, NULL), STELE_OK);
    refused("select g()", "42883", NULL);
    assert_int_equal(
        stele_exec(other, "create function f() returns int language plpgsql as $$ begin return 3; end $$", NULL, NULL),
        STELE_OK);
    assert_int_equal(stele_exec(conn, "select g()", add_row, &t), STELE_OK);
    assert_string_equal(t.s, "11;12;13;");
    stele_disconnect(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_deep_nesting),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test_setup_teardown(test_notices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_contexts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_prepared_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrent_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_out_of_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_connections, set_up, tear_down),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
