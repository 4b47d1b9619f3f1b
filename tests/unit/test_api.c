/* test_api.c - the public interface: every function of stele.h, used as an embedding program would, and misused. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stele/stele.h"
#include "unit.h"

static stele_db *db;
static stele_conn *conn;

static int set_up(void **state) {
    (void)state;
    stele_options o = {.threads = 2};
    if (stele_open(":memory:", &o, &db, NULL) != STELE_OK) return -1;
    return stele_connect(db, &conn) == STELE_OK ? 0 : -1;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s %s", sql, e.sqlstate, e.message, e.detail);
}
static void refused(stele_conn *c, const char *sql, const char *sqlstate, const char *words, int64_t position) {
    stele_error_info e;
    if (stele_exec(c, sql, NULL, NULL) != STELE_ERROR) fail_msg("no error: %s", sql);
    stele_error(c, &e);
    if (strcmp(e.sqlstate, sqlstate) != 0 || !strstr(e.message, words) || (position >= 0 && e.position != position))
        fail_msg("%s: %s \"%s\" at %lld, not %s \"%s\" at %lld", sql, e.sqlstate, e.message, (long long)e.position,
                 sqlstate, words, (long long)position);
    assert_non_null(e.detail);
    assert_non_null(e.hint);
    assert_non_null(e.context);
}
/* The result as text: cells by '|', rows by '\n'. */
typedef struct Text {
    char s[4096];
    size_t n;
} Text;
static bool add_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Text *t = ctx;
    for (int64_t i = 0; i < n; i++) {
        assert_non_null(names[i]);
        t->n += (size_t)snprintf(t->s + t->n, sizeof t->s - t->n, "%s%s",
                                 i      ? "|"
                                 : t->n ? "\n"
                                        : "",
                                 v[i] ? v[i] : "NULL");
    }
    return false;
}
static void gives(stele_conn *c, const char *sql, const char *expected) {
    Text t = {.n = 0};
    if (stele_exec(c, sql, add_row, &t) != STELE_OK) {
        stele_error_info e;
        stele_error(c, &e);
        fail_msg("%s: %s %s %s", sql, e.sqlstate, e.message, e.detail);
    }
    assert_string_equal(t.s, expected);
}

/* ---- values and shapes ---- */
static void all_types(void **state) {
    (void)state;
    static const struct {
        const char *sql, *type, *text;
        int64_t i;
        double d;
        bool b, number;
    } cases[] = {
        {"true", "boolean", "t", 1, 1, true, false},
        {"7::smallint", "smallint", "7", 7, 7, true, true},
        {"-70000", "integer", "-70000", -70000, -70000, true, true},
        {"9223372036854775807", "bigint", "9223372036854775807", INT64_MAX, 9223372036854775807.0, true, true},
        {"1.25::numeric(15,2)", "numeric(15,2)", "1.25", 1, 1.25, true, true},
        {"12345678901234567890.5::numeric(30,1)", "numeric(30,1)", "12345678901234567890.5", 0, 12345678901234567890.5,
         false, true},
        {"1.5::real", "real", "1.5", 2, 1.5, true, true},
        {"'-2.5'::double precision", "double precision", "-2.5", -2, -2.5, true, true},
        {"'42 x'::text", "text", "42 x", 42, 42, true, false},
        {"'ab'::varchar(5)", "character varying(5)", "ab", 0, 0, false, false},
        {"'ab'::char(4)", "character(4)", "ab  ", 0, 0, false, false},
        {"date '2024-02-29'", "date", "2024-02-29", 0, 0, false, false},
        {"timestamp '2000-01-01 00:00:01.5'", "timestamp without time zone", "2000-01-01 00:00:01.5", 0, 0, false,
         false},
        {"interval '1 day 02:00'", "interval", "1 day 02:00:00", 0, 0, false, false},
        {"0", "integer", "0", 0, 0, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char sql[256];
        snprintf(sql, sizeof sql, "select %s as v, null", cases[i].sql);
        stele_stmt *s;
        assert_int_equal(stele_prepare(conn, sql, -1, &s, NULL), STELE_OK);
        assert_int_equal(stele_column_count(s), 2);
        assert_string_equal(stele_column_name(s, 0), "v");
        assert_string_equal(stele_column_type(s, 0), cases[i].type);
        assert_int_equal(stele_column_is_number(s, 0), cases[i].number);
        for (int round = 0; round < 2; round++) {
            assert_int_equal(stele_step(s), STELE_ROW);
            int64_t len;
            assert_string_equal(stele_column_text(s, 0, &len), cases[i].text);
            assert_int_equal(len, strlen(cases[i].text));
            if (cases[i].type[0] != 'd' || cases[i].type[1] != 'a')
                assert_true(stele_column_double(s, 0) == cases[i].d || cases[i].d == 0);
            if (cases[i].i) assert_int_equal(stele_column_int64(s, 0), cases[i].i);
            if (cases[i].i) assert_int_equal(stele_column_bool(s, 0), cases[i].b);
            assert_false(stele_column_is_null(s, 0));
            assert_true(stele_column_is_null(s, 1));
            assert_null(stele_column_text(s, 1, &len));
            assert_int_equal(stele_column_int64(s, 1), 0);
            assert_true(stele_column_double(s, 1) == 0);
            assert_int_equal(stele_step(s), STELE_DONE);
            assert_string_equal(stele_command_tag(s), "SELECT 1");
            assert_int_equal(stele_row_count(s), 1);
            stele_reset(s);
            /* The shape stays after the rows have gone. */
            assert_int_equal(stele_column_count(s), 2);
            assert_string_equal(stele_column_name(s, 0), "v");
            assert_string_equal(stele_column_type(s, 0), cases[i].type);
        }
        stele_finalize(s);
    }
}

static void parameters(void **state) {
    (void)state;
    run(conn, "create table p(i int, b bigint, d double precision, t text, n numeric(10,2), f boolean, dt date)");
    stele_stmt *s;
    assert_int_equal(stele_prepare(conn, "insert into p values ($1, $2, $3, $4, $5, $6, $7)", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_param_count(s), 7);
    for (int round = 0; round < 3; round++) {
        char text[16];
        snprintf(text, sizeof text, "row %d", round);
        assert_int_equal(stele_bind_int64(s, 1, round), STELE_OK);
        assert_int_equal(stele_bind_int64(s, 2, INT64_MIN), STELE_OK);
        assert_int_equal(stele_bind_double(s, 3, 0.5), STELE_OK);
        assert_int_equal(stele_bind_text(s, 4, text, -1), STELE_OK);
        assert_int_equal(stele_bind_text(s, 5, "1.005tail", 5), STELE_OK);
        assert_int_equal(stele_bind_bool(s, 6, round == 1), STELE_OK);
        assert_int_equal(stele_bind_text(s, 7, "2024-01-01", -1), STELE_OK);
        memset(text, 'x', sizeof text); /* values are copied */
        if (round == 2) assert_int_equal(stele_bind_null(s, 4), STELE_OK);
        assert_int_equal(stele_step(s), STELE_DONE);
        assert_string_equal(stele_command_tag(s), "INSERT 0 1");
        assert_int_equal(stele_row_count(s), 1);
        stele_reset(s);
    }
    /* Wrong values: the statement fails, names the value, and can be used again. */
    stele_error_info e;
    assert_int_equal(stele_bind_int64(s, 1, INT64_C(1) << 40), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ERROR);
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "22003");
    assert_int_equal(stele_bind_text(s, 1, "abc", -1), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ERROR);
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "22P02");
    assert_non_null(strstr(e.message, "abc"));
    assert_int_equal(stele_bind_text(s, 1, "9", -1), STELE_OK);
    assert_int_equal(stele_step(s), STELE_DONE);
    /* Wrong indexes and wrong text. */
    for (int i = 0; i < 3; i++) {
        const int64_t index[] = {0, 8, -1};
        assert_int_equal(stele_bind_int64(s, index[i], 1), STELE_ERROR);
        stele_error(conn, &e);
        assert_string_equal(e.sqlstate, "42P02");
    }
    assert_int_equal(stele_bind_text(s, 4, "\xff\xfe", 2), STELE_ERROR);
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "22021");
    assert_int_equal(stele_bind_text(s, 4, "a\0b", 3), STELE_ERROR);
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "22021");
    stele_finalize(s);
    gives(conn, "select i, b, d, t, n, f, dt from p order by i",
          "0|-9223372036854775808|0.5|row 0|1.01|f|2024-01-01\n1|-9223372036854775808|0.5|row 1|1.01|t|2024-01-01\n"
          "2|-9223372036854775808|0.5|NULL|1.01|f|2024-01-01\n9|-9223372036854775808|0.5|NULL|1.01|f|2024-01-01");
    assert_int_equal(stele_prepare(conn, "select $1::int + 1", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW); /* unbound: NULL */
    assert_true(stele_column_is_null(s, 0));
    stele_finalize(s);
}

static void misuse(void **state) {
    (void)state;
    stele_stmt *s;
    const char *tail;
    assert_int_equal(stele_prepare(conn, "  -- nothing\n ; ", -1, &s, &tail), STELE_OK);
    assert_null(s);
    assert_int_equal(*tail, 0);
    assert_int_equal(stele_prepare(conn, "select 1 ; select 2", -1, &s, &tail), STELE_OK);
    assert_string_equal(tail, " select 2");
    /* Before the first row, outside the columns, after the last row: NULL and 0. */
    assert_true(stele_column_is_null(s, 0));
    assert_null(stele_column_text(s, 0, NULL));
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_null(stele_column_text(s, 1, NULL));
    assert_null(stele_column_text(s, -1, NULL));
    assert_int_equal(stele_column_int64(s, INT64_MAX), 0);
    assert_string_equal(stele_column_name(s, -1), "");
    assert_string_equal(stele_column_type(s, 99), "");
    assert_int_equal(stele_step(s), STELE_DONE);
    assert_int_equal(stele_step(s), STELE_DONE);
    /* A connection with statements left finalizes them; a database with connections does not close. */
    stele_error_info e;
    assert_int_equal(stele_close(db, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "55006");
    stele_finalize(s);
    stele_finalize(NULL);
    stele_disconnect(NULL);
    assert_int_equal(stele_close(NULL, NULL), STELE_OK);
    assert_int_equal(stele_discard(db), STELE_ERROR);
    assert_int_equal(stele_discard(NULL), STELE_OK);
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_prepare(c, "select 1", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    stele_disconnect(c);
    /* Opening what cannot be opened. */
    stele_db *other;
    assert_int_equal(stele_open("/nonexistent/dir/db", NULL, &other, &e), STELE_ERROR);
    assert_null(other);
    assert_true(strlen(e.sqlstate) == 5 && strcmp(e.sqlstate, "00000") != 0);
    assert_non_null(strstr(e.message, "/nonexistent/dir"));
    assert_int_equal(stele_open("/dev/null", NULL, &other, &e), STELE_ERROR);
    assert_null(other);
    assert_non_null(stele_version());
}

/* A stale shape: the table changes between prepare and step. */
static void changed_table(void **state) {
    (void)state;
    run(conn, "create table ch(a int, b text); insert into ch values (1, 'x')");
    stele_stmt *s;
    assert_int_equal(stele_prepare(conn, "select * from ch", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_column_count(s), 2);
    run(conn, "drop table ch; create table ch(a int, b text, c date); insert into ch values (1, 'x', null)");
    if (stele_step(s) == STELE_ROW) {
        assert_int_equal(stele_column_count(s), 3);
        assert_string_equal(stele_column_name(s, 2), "c");
    }
    stele_reset(s);
    run(conn, "drop table ch");
    assert_int_equal(stele_step(s), STELE_ERROR);
    stele_error_info e;
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "42P01");
    stele_finalize(s);
}

static void errors(void **state) {
    (void)state;
    static const struct {
        const char *sql, *sqlstate, *words;
        int64_t position; /* -1: any */
    } cases[] = {
        {"selec 1", "42601", "\"selec\"", 1},
        {"select 1 +", "42601", "end of input", 11},
        {"select 'abc", "42601", "unterminated", 8},
        {"select * from nowhere", "42P01", "\"nowhere\"", 15},
        {"select nope from (values (1)) v(a)", "42703", "\"nope\"", 8},
        {"select '\xc3\xa9\xc3\xa9' || nope", "42703", "\"nope\"", 16},
        {"select 1; select 2; select nope", "42703", "\"nope\"", 28},
        {"select nofunc(1)", "42883", "nofunc", 8},
        {"select 1/0", "22012", "division by zero", -1},
        {"select 1 % 0", "22012", "division by zero", -1},
        {"select 1.0/0", "22012", "division by zero", -1},
        {"select 2147483647 + 1", "22003", "integer out of range", -1},
        {"select 9223372036854775807 + 1", "22003", "bigint out of range", -1},
        {"select (-32768)::smallint * (-1)::smallint", "22003", "smallint", -1},
        {"select (-2147483648) / (-1)", "22003", "integer", -1},
        {"select (-9223372036854775807 - 1) / (-1)", "22003", "bigint", -1},
        {"select abs((-9223372036854775807 - 1))", "22003", "bigint", -1},
        {"select 'x'::int", "22P02", "\"x\"", -1},
        {"select '99999999999'::int", "22003", "99999999999", -1},
        {"select '1e400'::float8", "22003", "1e400", -1},
        {"select 1e300::float8 * 1e300::float8", "22003", "overflow", -1},
        {"select '2024-02-30'::date", "22008", "2024-02-30", -1},
        {"select 'never'::date", "22007", "never", -1},
        {"select date '5874897-12-31' + 1", "22008", "date out of range", -1},
        {"select timestamp '294276-12-31 23:59:59' + interval '1 day'", "22008", "timestamp", -1},
        {"select 12345.678::numeric(4,2)", "22003", "numeric field overflow", -1},
        {"select 'abc'::varchar(0)", "22023", "varchar", -1},
        {"select substring('abc' from 1 for -1)", "22011", "negative substring", -1},
        {"select sqrt(-1)", "2201F", "square root", -1},
        {"select ln(0)", "2201E", "logarithm", -1},
        {"select 'a' ~ '('", "2201B", "regular expression", -1},
        {"select (select 1 union all select 2)", "21000", "more than one row", -1},
        {"select 1 limit -1", "2201W", "LIMIT", -1},
        {"select 1 offset -1", "2201X", "OFFSET", -1},
        {"select sum(a) from (values (1)) v(a) where sum(a) > 1", "42803", "aggregate", -1},
        {"select a, count(*) from (values (1, 2)) v(a, b) group by b", "42803", "\"v.a\"", 8},
        {"select 1 union select 1, 2", "42601", "same number of columns", -1},
        {"select 1 union select date '2024-01-01'", "42804", "UNION", -1},
        {"set nosuch = 1", "42704", "\"nosuch\"", -1},
        {"set threads = 0", "22023", "\"threads\"", -1},
        {"set memory_limit = 'much'", "22023", "\"memory_limit\"", -1},
        {"set timezone = 'Mars/Base'", "22023", "Mars", -1},
        {"execute nothing", "26000", "\"nothing\"", -1},
        {"create table e1(a int, a int)", "42701", "\"a\"", -1},
        {"create table e1(a nosuchtype)", "42704", "nosuchtype", -1},
        {"copy (select 1) to '/nonexistent/x.csv'", "58P01", "/nonexistent/x.csv", -1},
        {"copy (select 1) to stdout", "0A000", "", -1},
        {"drop table nowhere", "42P01", "\"nowhere\"", -1},
        {"select \xff", "22021", "0xff", 8},
        {"select repeat('x', 2000000000)", "54000", "", -1},
        {"select generate_series(1, 2, 0)", "22023", "", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refused(conn, cases[i].sql, cases[i].sqlstate, cases[i].words, cases[i].position);
    stele_stmt *s;
    assert_int_equal(stele_prepare(conn, "select 1\0, 2", 12, &s, NULL), STELE_ERROR);
    stele_error_info e;
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "22021");
    assert_null(s);
    gives(conn, "select 1", "1");
}

/* ---- cancelling ---- */
static atomic_bool done;
static void *interrupter(void *arg) {
    while (!atomic_load(&done)) {
        usleep(20000);
        stele_interrupt(arg);
    }
    return NULL;
}
static const char *const endless =
    "select count(*) from generate_series(1, 300000) a(x), generate_series(1, 300000) b(y) where (x * 7 + y) % 11 = 3";
static void interrupted(void **state) {
    (void)state;
    pthread_t t;
    atomic_store(&done, false);
    pthread_create(&t, NULL, interrupter, conn);
    refused(conn, endless, "57014", "cancel", -1);
    atomic_store(&done, true);
    pthread_join(t, NULL);
    stele_interrupt(conn); /* idle: no effect */
    gives(conn, "select 2", "2");
    run(conn, "set statement_timeout = '50ms'");
    refused(conn, endless, "57014", "", -1);
    run(conn, "reset statement_timeout");
}
static bool interrupts(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)n, (void)names;
    int *rows = ctx;
    ++*rows;
    if (strcmp(values[0], "stop") == 0) stele_interrupt(conn);
    return false;
}
/* An interrupt that comes between two calls of a group, or between two statements of stele_exec, is not forgotten. */
static void interrupted_between(void **state) {
    (void)state;
    stele_stmt *s;
    int rows = 0;
    run(conn, "create table between_calls (a int)");
    assert_int_equal(stele_exec(conn, "select 'stop'; insert into between_calls values (1)", interrupts, &rows),
                     STELE_ERROR);
    stele_error_info e;
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "57014");
    assert_int_equal(rows, 1);
    gives(conn, "select count(*) from between_calls", "0");

    stele_calls_begin(conn);
    assert_int_equal(stele_prepare(conn, "insert into between_calls values (1)", -1, &s, NULL), STELE_OK);
    stele_calls_begin(conn);
    stele_interrupt(conn);
    stele_calls_end(conn); /* the outer one goes on */
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stele_run(s), STELE_ERROR);
        stele_error(conn, &e);
        assert_string_equal(e.sqlstate, "57014");
    }
    stele_calls_end(conn);
    gives(conn, "select count(*) from between_calls", "0");
    stele_interrupt(conn); /* no group: the next call forgets it */
    assert_int_equal(stele_run(s), STELE_DONE);
    stele_finalize(s);
    stele_calls_end(conn); /* without a begin */
    run(conn, "drop table between_calls");
}
static int64_t calls;
static bool on_progress(void *ctx, double fraction) {
    (void)ctx;
    assert_true(fraction >= 0 && fraction <= 1);
    return ++calls >= 3;
}
static void progress(void **state) {
    (void)state;
    calls = 0;
    stele_set_progress(conn, on_progress, NULL);
    refused(conn, endless, "57014", "", -1);
    assert_true(calls >= 3);
    stele_set_progress(conn, NULL, NULL);
    gives(conn, "select count(*) from generate_series(1, 100000)", "100000");
}

/* ---- transactions and several connections ---- */
static void transactions(void **state) {
    (void)state;
    stele_conn *b;
    assert_int_equal(stele_connect(db, &b), STELE_OK);
    run(b, "set lock_timeout = '50ms'");
    run(conn, "set lock_timeout = '50ms'; create table tx(a int primary key); insert into tx values (1)");
    assert_int_equal(stele_transaction_state(conn), 'I');
    run(conn, "begin; insert into tx values (2)");
    assert_int_equal(stele_transaction_state(conn), 'T');
    gives(b, "select count(*) from tx", "1"); /* nobody waits for a transaction that only changes rows */
    run(b, "insert into tx values (3); delete from tx where a = 3");
    gives(conn, "select count(*) from tx", "2");
    gives(b, "select count(*) from tx", "1");
    run(conn, "rollback");
    assert_int_equal(stele_transaction_state(conn), 'I');
    gives(b, "select count(*) from tx", "1");
    /* Two that have read the table and changed it: the second one gives way, at COMMIT or before. */
    run(conn, "begin; select * from tx; insert into tx values (4)");
    run(b, "begin; select * from tx; insert into tx values (5); commit");
    refused(conn, "commit", "40001", "read/write dependencies", -1);
    assert_int_equal(stele_transaction_state(conn), 'I');
    run(conn, "begin; select * from tx");
    run(b, "delete from tx where a = 5; insert into tx values (5)");
    gives(conn, "select max(a) from tx", "5");
    refused(conn, "delete from tx where a = 5", "40001", "concurrent update", -1);
    assert_int_equal(stele_transaction_state(conn), 'E');
    refused(conn, "select 1", "25P02", "aborted", -1);
    run(conn, "commit"); /* of a failed transaction: rolls back */
    gives(conn, "select count(*) from tx", "2");
    /* One that keeps the lock is waited for. */
    run(conn, "begin; truncate tx");
    gives(b, "select count(*) from tx", "2"); /* what is committed */
    refused(b, "insert into tx values (3)", "55P03", "lock timeout", -1);
    run(conn, "rollback");
    /* Any error fails the transaction, one of syntax too. */
    static const char *const bad[] = {"selec", "select nope", "select 1/0", "insert into tx values (1)",
                                      "create table tx(a int)"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        run(conn, "begin; insert into tx values (6)");
        assert_int_equal(stele_exec(conn, bad[i], NULL, NULL), STELE_ERROR);
        assert_int_equal(stele_transaction_state(conn), 'E');
        run(conn, "rollback");
        gives(conn, "select count(*) from tx", "2");
    }
    /* Statements are atomic; definitions roll back. */
    refused(conn, "insert into tx values (7), (8), (1)", "23505", "tx_pkey", -1);
    gives(conn, "select count(*) from tx", "2");
    run(conn, "begin; create table tx2(a int); drop table tx; rollback");
    gives(conn, "select count(*) from tx", "2");
    refused(conn, "select * from tx2", "42P01", "tx2", -1);
    run(conn, "begin read only");
    refused(conn, "insert into tx values (9)", "25006", "read-only", -1);
    run(conn, "rollback");
    /* Disconnecting rolls back. */
    run(b, "begin; delete from tx");
    stele_disconnect(b);
    gives(conn, "select count(*) from tx", "2");
    run(conn, "reset lock_timeout");
}

static atomic_int serialization_failures;
static void *upgrade(void *arg) {
    stele_conn *c = arg;
    for (int i = 0; i < 20; i++) {
        if (stele_exec(c, "begin; select sum(n) from counter; update counter set n = n + 1; commit", NULL, NULL) ==
            STELE_OK)
            continue;
        stele_error_info e;
        stele_error(c, &e);
        if (strcmp(e.sqlstate, "40001") == 0) atomic_fetch_add(&serialization_failures, 1);
        else if (strcmp(e.sqlstate, "55P03") != 0) return "unexpected error";
        stele_exec(c, "rollback", NULL, NULL);
        i--;
    }
    return NULL;
}
static void concurrent_updates(void **state) {
    (void)state;
    run(conn, "create table counter(n int); insert into counter values (0)");
    pthread_t t[3];
    stele_conn *c[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stele_connect(db, &c[i]), STELE_OK);
        pthread_create(&t[i], NULL, upgrade, c[i]);
    }
    for (int i = 0; i < 3; i++) {
        void *r;
        pthread_join(t[i], &r);
        assert_null(r);
        stele_disconnect(c[i]);
    }
    gives(conn, "select n from counter", "60");
}

/* ---- EXECUTE, COPY streams, lists ---- */
static void prepared_in_sql(void **state) {
    (void)state;
    run(conn, "prepare q(int, text) as select $1 + 1, $2 || '!'");
    gives(conn, "execute q(41, 'hi')", "42|hi!");
    refused(conn, "execute q(1)", "42601", "", -1);
    refused(conn, "prepare q as select 1", "42P05", "\"q\"", -1);
    run(conn, "deallocate q");
    refused(conn, "execute q(1, '')", "26000", "\"q\"", -1);
    refused(conn, "prepare q as select nope", "42703", "nope", -1);
    refused(conn, "execute q", "26000", "\"q\"", -1);
}

typedef struct Stream {
    const char *in;
    char out[256];
    size_t n;
    bool broken;
} Stream;
static int64_t stream_read(void *ctx, char *buf, int64_t size) {
    Stream *s = ctx;
    if (s->broken) return -1;
    size_t n = strlen(s->in);
    if (n > 3) n = 3; /* small pieces */
    if ((int64_t)n > size) n = (size_t)size;
    memcpy(buf, s->in, n);
    s->in += n;
    return (int64_t)n;
}
static bool stream_write(void *ctx, const char *data, int64_t size) {
    Stream *s = ctx;
    if (s->broken || s->n + (size_t)size > sizeof s->out) return false;
    memcpy(s->out + s->n, data, (size_t)size);
    s->n += (size_t)size;
    return true;
}
static void copy_streams(void **state) {
    (void)state;
    Stream s = {.in = "1,one\n2,\"two, three\"\n3,\n"};
    run(conn, "create table cs(a int, b text)");
    stele_set_copy_streams(conn, stream_read, stream_write, &s);
    run(conn, "copy cs from stdin with (format csv)");
    run(conn, "copy cs to stdout");
    assert_int_equal(s.n, strlen("1\tone\n2\ttwo, three\n3\t\\N\n"));
    assert_memory_equal(s.out, "1\tone\n2\ttwo, three\n3\t\\N\n", s.n);
    s = (Stream){.in = "4,four\nx,five\n"};
    refused(conn, "copy cs from stdin with (format csv)", "22P02", "\"x\"", -1);
    s.broken = true;
    assert_int_equal(stele_exec(conn, "copy cs from stdin", NULL, NULL), STELE_ERROR);
    assert_int_equal(stele_exec(conn, "copy cs to stdout", NULL, NULL), STELE_ERROR);
    gives(conn, "select count(*) from cs", "3");
    stele_set_copy_streams(conn, NULL, NULL, NULL);
}

static bool on_table(void *ctx, const char *name, const char *kind, int64_t rows) {
    Text *t = ctx;
    t->n += (size_t)snprintf(t->s + t->n, sizeof t->s - t->n, "%s %s %lld;", kind, name, (long long)rows);
    return false;
}
static bool on_column(void *ctx, const char *name, const char *type, bool not_null, const char *default_sql,
                      const char *key) {
    Text *t = ctx;
    t->n += (size_t)snprintf(t->s + t->n, sizeof t->s - t->n, "%s %s%s [%s] {%s};", name, type,
                             not_null ? " not null" : "", default_sql, key);
    return false;
}
static bool on_function(void *ctx, const char *name, const char *args, const char *result, const char *doc) {
    assert_true(name && args && result && doc);
    ++*(int *)ctx;
    return false;
}
static bool on_option(void *ctx, const char *name, const char *value) {
    Text *t = ctx;
    t->n += (size_t)snprintf(t->s + t->n, sizeof t->s - t->n, "%s=%s;", name, value);
    return false;
}
static void check_options(const char *table, const char *want) {
    Text t = {.n = 0};
    assert_int_equal(stele_list_options(conn, table, on_option, &t), STELE_OK);
    assert_string_equal(t.n ? t.s : "", want);
}
static bool on_definition(void *ctx, const stele_definition *d) {
    Text *t = ctx;
    t->n += (size_t)snprintf(t->s + t->n, sizeof t->s - t->n, "%s %s%s;%s;", d->kind, d->name,
                             d->after_data ? " after" : "", d->create_sql);
    return strcmp(d->name, "d2 k") == 0;
}
/* In an order in which they can be made, also inside of a transaction that has made them. */
static void definitions(void **state) {
    (void)state;
    stele_db *d;
    stele_conn *c;
    stele_error_info e;
    assert_int_equal(stele_open(":memory:", NULL, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "begin; create table d2(a int, \"B\" text default 'x', constraint k unique (a)); create table d1(c int "
           "references "
           "d2(a)); create view d0 as select f.a from d2 as f");
    Text t = {.n = 0};
    assert_int_equal(stele_list_definitions(c, on_definition, &t), STELE_OK);
    assert_string_equal(t.s, "TABLE d2;CREATE TABLE d2 (\n    a integer,\n    \"B\" text DEFAULT 'x'\n);"
                             "TABLE d1;CREATE TABLE d1 (\n    c integer\n);"
                             "VIEW d0;CREATE VIEW d0 AS\nselect f.a from d2 as f;"
                             "CONSTRAINT d2 k after;ALTER TABLE d2 ADD CONSTRAINT k UNIQUE (a);");
    assert_int_equal(stele_transaction_state(c), 'T');
    run(c, "rollback");
    t.n = 0;
    assert_int_equal(stele_list_definitions(c, on_definition, &t), STELE_OK);
    assert_int_equal(t.n, 0);
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
    stele_options only = {.existing = true};
    assert_int_equal(stele_open("/tmp/stele-test-api-nowhere", &only, &d, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "58P01");
    assert_null(d);
}
typedef struct Counts {
    int64_t all, problems;
} Counts;
static bool count_definition(void *ctx, const stele_definition *d) {
    Counts *n = ctx;
    n->all++;
    n->problems += *d->problem != 0;
    return false;
}
/* A list is whole, or an error: memory that runs out in the middle makes no definition look broken. */
static void definitions_in_little_memory(void **state) {
    (void)state;
    stele_db *d;
    stele_conn *c;
    stele_error_info e;
    char sql[200];
    assert_int_equal(stele_open(":memory:", NULL, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "create table t(a int, b text); create function f(x int) returns int language plpgsql as $$ begin return x; "
           "end $$; create view v0 as select * from t");
    for (int i = 1; i < 60; i++) {
        snprintf(sql, sizeof sql, "create view v%d as select f(a) as a, b from v%d where a + f(%d) > 0", i, i - 1, i);
        if (i % 8 == 0) snprintf(sql, sizeof sql, "create view v%d as select f(a) as a, b from t", i);
        run(c, sql);
    }
    int failed = 0;
    bool whole = false;
    for (int64_t limit = 64 << 10; limit < (64 << 20) && !whole; limit += 64 << 10) {
        snprintf(sql, sizeof sql, "set memory_limit = '%lldB'", (long long)limit);
        if (stele_exec(c, sql, NULL, NULL) != STELE_OK) continue;
        Counts n = {0, 0};
        whole = stele_list_definitions(c, count_definition, &n) == STELE_OK;
        stele_error(c, &e);
        if (whole) assert_true(n.all == 62 && n.problems == 0);
        else assert_memory_equal(e.sqlstate, "53", 2);
        failed += !whole;
    }
    assert_true(whole && failed > 0);
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}
/* What a table expects stays with it whatever is done to its definition, and comes back with ROLLBACK. */
static void options(void **state) {
    (void)state;
    run(conn, "create table x1(a int primary key, b text) with (fillfactor = 70, expected_rows = 10); create table x2 "
              "with (expected_rows = '1e3') as select 1 as a; create table x3(a int);"
              "create view x4 as select 1 as a");
    check_options("x1", "expected_rows=10;");
    check_options("x2", "expected_rows=1000;");
    check_options("x3", "");
    check_options("x4", "");
    Text t = {.n = 0};
    assert_int_equal(stele_list_options(conn, "x5", on_option, &t), STELE_ERROR);
    stele_error_info e;
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "42P01");
    static const char *const keeps[] = {"alter table x1 add column c int default 3",
                                        "alter table x1 set (fillfactor = 80)",
                                        "alter table x1 reset (fillfactor)",
                                        "alter table x1 alter b set not null",
                                        "alter table x1 alter c type bigint",
                                        "alter table x1 add constraint k unique (c)",
                                        "alter table x1 rename column c to d",
                                        "alter table x1 drop column d",
                                        "insert into x1 values (1, 'a')",
                                        "vacuum x1",
                                        "truncate x1",
                                        "alter table x1 rename to y1; alter table y1 rename to x1"};
    for (int i = 0; i < (int)(sizeof keeps / sizeof *keeps); i++) {
        run(conn, keeps[i]);
        check_options("x1", "expected_rows=10;");
    }
    run(conn, "begin; alter table x1 set (expected_rows = 20)");
    check_options("x1", "expected_rows=20;");
    run(conn, "savepoint s; alter table x1 add column c int, set (expected_rows = 30); alter table x3 set "
              "(expected_rows = 3)");
    check_options("x1", "expected_rows=30;");
    run(conn, "rollback to s");
    check_options("x1", "expected_rows=20;");
    check_options("x3", "");
    run(conn, "alter table x1 reset (expected_rows), add column c int");
    check_options("x1", "");
    run(conn, "drop table x1; rollback");
    check_options("x1", "expected_rows=10;");
    run(conn, "begin; alter table x1 set (expected_rows = 20); drop table x1; create table x1(a int) with "
              "(expected_rows = 40); commit");
    check_options("x1", "expected_rows=40;");
    run(conn, "begin; alter table x1 set (expected_rows = 50); commit; alter table x2 set (expected_rows = 0)");
    check_options("x1", "expected_rows=50;");
    check_options("x2", "");
    assert_int_equal(stele_exec(conn, "alter table x1 set (expected_rows = 60), add column a int", NULL, NULL),
                     STELE_ERROR); /* a statement is done or not */
    check_options("x1", "expected_rows=50;");
    run(conn, "drop view x4; drop table x1, x2, x3");
}
static void lists(void **state) {
    (void)state;
    run(conn, "create table l1(a int primary key, b text default 'x' unique, c numeric(5,1)); insert into l1(a, b) "
              "values (1, 'p'), (2, 'q');"
              "create view l2 as select a + 1 as n, b from l1");
    Text t = {.n = 0};
    assert_int_equal(stele_list_tables(conn, on_table, &t), STELE_OK);
    assert_non_null(strstr(t.s, "table l1 2;"));
    assert_non_null(strstr(t.s, "view l2 "));
    t.n = 0;
    assert_int_equal(stele_list_columns(conn, "l1", on_column, &t), STELE_OK);
    assert_string_equal(t.s, "a integer not null [] {primary key};b text ['x'] {unique};c numeric(5,1) [] {};");
    t.n = 0;
    assert_int_equal(stele_list_columns(conn, "l2", on_column, &t), STELE_OK);
    assert_string_equal(t.s, "n integer [] {};b text [] {};");
    assert_int_equal(stele_list_columns(conn, "l3", on_column, &t), STELE_ERROR);
    stele_error_info e;
    stele_error(conn, &e);
    assert_string_equal(e.sqlstate, "42P01");
    int n = 0;
    stele_list_functions(on_function, &n);
    assert_true(n > 100);
}
static bool stop_at_two(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)v, (void)names;
    return ++*(int *)ctx == 2;
}
static void stopping(void **state) {
    (void)state;
    int n = 0;
    assert_int_equal(stele_exec(conn, "select * from generate_series(1, 10); select 1/0", stop_at_two, &n), STELE_OK);
    assert_int_equal(n, 2);
}

/* ---- what the library says ---- */
static char undone[512]; /* the last message about an undone bulk */
static atomic_int times_undone;
static void on_undone(void *ctx, int level, const char *message) {
    (void)ctx;
    if (level < 1 || !strstr(message, " is undone and run again")) return;
    atomic_fetch_add(&times_undone, 1);
    snprintf(undone, sizeof undone, "%s", message);
}
/* Calls that fill an array from rows: what they leave behind on their way is collected, and where an array does not fit
 * at all the virtual machine does it, and the log says so. */
static void bulk_log(void **state) {
    (void)state;
    if (system("${STELE_CC:-cc} --version >/dev/null 2>&1") != 0) skip();
    stele_options o = {.threads = 2, .memory_limit = INT64_C(1) << 30};
    stele_db *d;
    stele_conn *c;
    assert_int_equal(stele_open(NULL, &o, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on; set "
           "bulk_release = 'statement'; set bulk_strategy = 'tpl';"
           "create table t(g int, i int, primary key (g, i)); insert into t select 1, i from generate_series(1, 400) "
           "x(i); insert into t select 2, i from generate_series(1, 9000) x(i);"
           "create table found(g int primary key, n int); insert into found values (1, 0), (2, 0);"
           "create procedure gather(wanted int, out n int) language plpgsql as $$\n"
           "declare seen int[] := '{}'; r record;\n"
           "begin\n"
           "  for r in select i from t where g = wanted loop\n"
           "    seen := array_append(seen, r.i);\n"
           "  end loop;\n"
           "  n := array_length(seen, 1);\n"
           "  update found set n = gather.n where g = wanted;\n"
           "end $$");
    stele_set_logger(on_undone, NULL);
    for (int g = 1; g <= 2; g++) {
        stele_bulk *b;
        assert_int_equal(stele_bulk_new(c, "gather", &b), STELE_OK);
        const int calls = g == 1 ? 20 : 2;
        for (int i = 0; i < calls; i++)
            assert_int_equal(stele_bulk_add(b, (const char *const[]){g == 1 ? "1" : "2"}), STELE_OK);
        assert_int_equal(stele_bulk_run(b), STELE_OK);
        for (int i = 0; i < calls; i++) {
            stele_error_info e;
            if (stele_bulk_status(b, i, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
            assert_string_equal(stele_bulk_value(b, i, 0, NULL), g == 1 ? "400" : "9000");
        }
        stele_bulk_free(b);
        assert_int_equal(atomic_load(&times_undone), g - 1);
    }
    assert_string_equal(
        undone, "a bulk of 2 calls is undone and run again with locks held by calls: a call failed in a way that only "
                "the virtual machine can tell; gather line 5: there was no room for texts or changes");
    stele_set_logger(NULL, NULL);
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

/* ---- allocator and logger ---- */
static atomic_llong live, blocks;
static void *count_alloc(void *ctx, size_t n) {
    (void)ctx;
    void *p = malloc(n);
    if (p) {
        atomic_fetch_add(&live, (long long)n);
        atomic_fetch_add(&blocks, 1);
    }
    return p;
}
static void count_free(void *ctx, void *p, size_t n) {
    (void)ctx;
    if (!p) return;
    atomic_fetch_sub(&live, (long long)n);
    atomic_fetch_sub(&blocks, 1);
    free(p);
}
static void on_log(void *ctx, int level, const char *message) {
    (void)ctx;
    assert_true(level >= 0 && level <= 3);
    assert_non_null(message);
}
static void allocator(void **state) {
    (void)state;
    stele_set_allocator(count_alloc, count_free, NULL);
    stele_set_logger(on_log, NULL);
    stele_options o = {.threads = 2, .memory_limit = INT64_C(1) << 30, .temp_directory = "/tmp"};
    stele_db *d;
    assert_int_equal(stele_open(NULL, &o, &d, NULL), STELE_OK);
    stele_conn *c;
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    assert_true(atomic_load(&live) > 0);
    run(c, "create table a(i int primary key, t text, n numeric(12,2)); insert into a select x, 'text ' || x % 100, x "
           "/ 4.0 from generate_series(1, 50000) g(x);"
           "create view v as select * from a; update a set n = n + 1 where i % 3 = 0; delete from a where i % 7 = 0;"
           "select t, sum(n), count(distinct i) from a group by t order by 2 limit 3; select * from a join v on a.i = "
           "v.i + 1 where a.t like '%9%' order by a.n;"
           "begin; drop table a cascade; rollback; begin; create table b as select * from a; rollback;"
           "prepare q(int) as select * from a where i = $1; execute q(3); truncate a; drop view v; drop table a; "
           "create table z(a int)");
    refused(c, "insert into z select 1/(x - 50) from generate_series(1, 100) g(x)", "22012", "", -1);
    stele_stmt *s;
    assert_int_equal(stele_prepare(c, "select $1::text", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_bind_text(s, 1, "left behind", -1), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
    long long bytes = atomic_load(&live), n = atomic_load(&blocks);
    stele_set_allocator(NULL, NULL, NULL);
    stele_set_logger(NULL, NULL);
    assert_int_equal(n, 0);
    assert_int_equal(bytes, 0);
}

/* ---- settings ------------------------------------------------------------------------------------- */
static void shows(stele_conn *c, const char *setting, const char *value) {
    char sql[64];
    stele_stmt *s;
    snprintf(sql, sizeof sql, "show %s", setting);
    assert_int_equal(stele_prepare(c, sql, -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_string_equal(stele_column_text(s, 0, NULL), value);
    stele_finalize(s);
}
/* RESET gives what the database was opened with, whoever has set it meanwhile. */
static void opened_with(void **state) {
    (void)state;
    static const char *const resets[] = {"reset memory_limit; reset temp_directory",
                                         "set memory_limit to default; set temp_directory to default", "reset all"};
    char far[2000];
    memset(far, 'x', sizeof far);
    far[sizeof far - 1] = 0;
    stele_options o = {.threads = 2, .memory_limit = INT64_C(100) << 20, .temp_directory = "/tmp/"},
                  wrong = {.temp_directory = far};
    stele_db *d;
    stele_error_info e;
    stele_conn *c, *other;
    assert_int_equal(stele_open(NULL, &wrong, &d, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "22023");
    wrong.temp_directory = "/nowhere/at/all";
    assert_int_equal(stele_open(NULL, &wrong, &d, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "58P01");
    assert_int_equal(stele_open(NULL, &o, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    for (int i = 0; i < 3; i++) {
        run(c, "set memory_limit = '48MB'; set temp_directory = ''; set threads = 1");
        assert_int_equal(stele_connect(d, &other), STELE_OK);
        shows(other, "memory_limit", "48MB"); /* one limit for all */
        shows(other, "temp_directory", "/tmp/");
        shows(other, "threads", "2");
        run(other, "set memory_limit = '64MB'");
        shows(c, "memory_limit", "64MB");
        stele_disconnect(other);
        run(c, resets[i]);
        shows(c, "memory_limit", "100MB");
        shows(c, "temp_directory", "/tmp/");
    }
    refused(c, "set temp_directory = '/nowhere'", "58P01",
            "could not use \"/nowhere\" as temp_directory: No such file or directory", -1);
    refused(c, "set temp_directory = '/etc/passwd'", "42809", "Not a directory", -1);
    refused(c, "set temp_directory = '/proc/self'", "42501", "temp_directory", -1);
    shows(c, "temp_directory", "/tmp/");
    shows(c, "threads", "2");
    run(c, "begin; set memory_limit = '48MB'; reset memory_limit; commit");
    shows(c, "memory_limit", "100MB");
    run(c, "begin; set memory_limit = '48MB'; rollback");
    shows(c, "memory_limit", "100MB");
    run(c, "set memory_limit = '32MB'");
    refused(c, "create table big as select x, x::text || repeat('y', 500) t from generate_series(1, 200000) g(x)",
            "53400", "", -1); /* what it is there for */
    run(c, "reset memory_limit; create table big as select x, x::text || repeat('y', 50) t from generate_series(1, "
           "20000) g(x)");
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
    stele_options small = {.threads = 1, .memory_limit = 900 << 10}; /* less than SET takes */
    assert_int_equal(stele_open(NULL, &small, &d, NULL), STELE_OK);
    if (stele_connect(d, &c) == STELE_OK) {
        run(c, "set memory_limit = '1MB'; reset memory_limit");
        shows(c, "memory_limit", "900kB");
        stele_disconnect(c);
    }
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

/* ---- names in errors -------------------------------------------------------------------------------- */
static void names(const stele_error_info *e, const char *sqlstate, const char *table, const char *column,
                  const char *constraint) {
    assert_string_equal(e->sqlstate, sqlstate);
    assert_string_equal(e->schema_name, table[0] ? "public" : "");
    assert_string_equal(e->table_name, table);
    assert_string_equal(e->column_name, column);
    assert_string_equal(e->constraint_name, constraint);
    assert_string_equal(e->datatype_name, "");
}
static void error_names(void **state) {
    (void)state;
    static const char *const settings[] = {"set executor = 'vm'",
                                           "set executor = 'compiled'; set device = 'cpu'; set device_wait = on",
                                           "set bulk_interval = 0"};
    stele_db *d;
    stele_conn *c;
    stele_error_info e;
    assert_int_equal(stele_open(NULL, NULL, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "create table t(id int primary key, n int not null, constraint small check (n < 10)); insert into t values "
           "(1, 1);"
           "create function inner_put(i int, v int) returns int language plpgsql as $$ begin insert into t values (i, "
           "v); return i; end $$;"
           "create procedure put(i int, v int) language plpgsql as $$ declare x int; begin x := 10 / i; x := "
           "inner_put(i, v); end $$;"
           "create procedure alone(i int, v int) language plpgsql as $$ declare x int; begin x := 10 / i; execute "
           "'insert into t values (' || i || ',' || coalesce(v::text, 'null') || ')'; end $$;");
    refused(c, "insert into t values (1, 2)", "23505", "duplicate key", 0);
    stele_error(c, &e);
    names(&e, "23505", "t", "", "t_pkey");
    refused(c, "select 1/0", "22012", "division", 0);
    stele_error(c, &e);
    names(&e, "22012", "", "", "");
    run(c, "select 1");
    stele_error(c, &e);
    names(&e, "00000", "", "", "");
    for (int i = 0; i < 3; i++) {
        static const char *const calls[][2] = {{"1", "2"}, {"5", NULL}, {"6", "10"}, {"0", "1"}};
        run(c, settings[i]);
        stele_bulk *b;
        assert_int_equal(stele_bulk_new(c, i == 2 ? "alone" : "put", &b), STELE_OK);
        for (int k = 0; k < 4; k++) assert_int_equal(stele_bulk_add(b, (const char *const *)calls[k]), STELE_OK);
        assert_int_equal(stele_bulk_run(b), STELE_OK);
        run(c,
            "create table other(a int); drop table other; call put(7, 7); delete from t where id = 7"); /* what the
                                                                                                           procedures
                                                                                                           were compiled
                                                                                                           to is gone */
        stele_bulk *after;
        assert_int_equal(stele_bulk_new(c, "put", &after), STELE_OK);
        assert_int_equal(stele_bulk_add(after, (const char *const[]){"1", "2"}), STELE_OK);
        assert_int_equal(stele_bulk_run(after), STELE_OK);
        stele_bulk_free(after);
        assert_int_equal(stele_bulk_status(b, 0, &e), STELE_ERROR);
        names(&e, "23505", "t", "", "t_pkey");
        assert_non_null(strstr(e.context, i == 2 ? "alone" : "inner_put"));
        assert_int_equal(stele_bulk_status(b, 1, &e), STELE_ERROR);
        names(&e, "23502", "t", "n", "");
        assert_int_equal(stele_bulk_status(b, 2, &e), STELE_ERROR);
        names(&e, "23514", "t", "", "small");
        assert_int_equal(stele_bulk_status(b, 3, &e), STELE_ERROR);
        names(&e, "22012", "", "", "");
        stele_bulk_free(b);
    }
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

/* ---- bulks ------------------------------------------------------------------------------------- */
static void bulks(void **state) {
    (void)state;
    stele_db *d;
    stele_conn *c;
    assert_int_equal(stele_open(NULL, NULL, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "create table acc(id int primary key, bal bigint not null); insert into acc select i, 100 from "
           "generate_series(1, 10) g(i);"
           "create procedure move(a int, b int, m bigint, out left_over bigint) language plpgsql as $$ begin "
           "update acc set bal = bal - m where id = a returning bal into left_over; if left_over < 0 then raise "
           "exception 'short of %', -left_over; end if; "
           "update acc set bal = bal + m where id = b; end $$");
    stele_bulk *b;
    assert_int_equal(stele_bulk_new(c, "nothing", &b), STELE_ERROR);
    assert_int_equal(stele_bulk_new(c, "move", &b), STELE_OK);
    assert_int_equal(stele_bulk_param_count(b), 3);
    assert_string_equal(stele_bulk_param_type(b, 2), "bigint");
    assert_int_equal(stele_bulk_out_count(b), 1);
    assert_string_equal(stele_bulk_out_name(b, 0), "left_over");
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1", "2", "60"}), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1", "2", "x"}), STELE_ERROR);
    assert_int_equal(stele_bulk_count(b), 1);
    const int32_t from[] = {1, 2, 3}, to[] = {3, 3, 3};
    const int64_t much[] = {60, 160, 5};
    const unsigned char there[] = {1, 1, 0};
    assert_int_equal(stele_bulk_add_columns(b, 3, (const void *const[]){from, to, much},
                                            (const unsigned char *const[]){NULL, NULL, there}),
                     STELE_OK);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    assert_int_equal(stele_bulk_run(b), STELE_ERROR); /* once */
    stele_error_info e;
    assert_int_equal(stele_bulk_status(b, 0, &e), STELE_OK);
    assert_int_equal(stele_bulk_status(b, 1, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "P0001");
    assert_string_equal(e.message, "short of 20");
    assert_non_null(strstr(e.context, "PL/pgSQL function "));
    assert_non_null(strstr(e.context, " at RAISE"));
    assert_int_equal(stele_bulk_status(b, 2, &e), STELE_OK);
    assert_string_equal(e.context, "");
    assert_int_equal(stele_bulk_status(b, 3, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "23502");
    assert_string_equal(stele_bulk_value(b, 0, 0, NULL), "40");
    assert_null(stele_bulk_value(b, 1, 0, NULL));
    assert_string_equal(stele_bulk_value(b, 2, 0, NULL), "0");
    stele_bulk_info info;
    stele_bulk_get_info(b, &info);
    assert_int_equal(info.calls, 4);
    assert_int_equal(info.failed, 2);
    stele_bulk_free(b);
    stele_stmt *s;
    assert_int_equal(
        stele_prepare(c, "select string_agg(bal::text, ',' order by id) from acc where id <= 3", -1, &s, NULL),
        STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_string_equal(stele_column_text(s, 0, NULL), "40,0,260");
    stele_finalize(s);
    /* in a transaction: undone with it */
    run(c, "begin");
    assert_int_equal(stele_bulk_new(c, "move", &b), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1", "2", "10"}), STELE_OK);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_free(b);
    run(c, "rollback");
    assert_int_equal(stele_prepare(c, "select bal from acc where id = 1", -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_column_int64(s, 0), 40);
    stele_finalize(s);
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

/* What was saved last is there; what came after it is not. */
static void discards(void **state) {
    (void)state;
    char path[] = "/tmp/stele-api-XXXXXX";
    assert_non_null(mkdtemp(path));
    stele_db *d;
    stele_conn *c;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(stele_open(path, NULL, &d, NULL), STELE_OK);
        assert_int_equal(stele_connect(d, &c), STELE_OK);
        if (again == 0)
            assert_int_equal(stele_exec(c, "create table t(a int); checkpoint; insert into t values (1)", NULL, NULL),
                             STELE_OK);
        int64_t n = -1;
        stele_stmt *s;
        assert_int_equal(stele_prepare(c, "select count(*) from t", -1, &s, NULL), STELE_OK);
        assert_int_equal(stele_step(s), STELE_ROW);
        n = stele_column_int64(s, 0);
        stele_finalize(s);
        assert_int_equal(n, again == 0 ? 1 : 0);
        stele_disconnect(c);
        assert_int_equal(stele_discard(d), STELE_OK);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
}

/* Tables that are left alone are packed by the database's own thread; the database may be closed while it works. */
static int64_t first_int(stele_conn *c, const char *sql) {
    stele_stmt *s;
    assert_int_equal(stele_prepare(c, sql, -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    int64_t n = stele_column_int64(s, 0);
    stele_finalize(s);
    return n;
}
static void packs_when_idle(void **state) {
    static const char loose[] = "select count(*) from stele_tablets where form <> 'packed'";
    stele_db *d;
    stele_conn *c;
    (void)state;
    assert_int_equal(stele_open(":memory:", NULL, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "set auto_merge_delay = '20ms'; create table t(a int primary key, b text);"
           "insert into t select i, 'text ' || i from generate_series(1, 20000) i; vacuum t");
    for (int i = 0; i < 3; i++) {
        run(c, "update t set b = 'other ' || a where a % 2 = 0; delete from t where a % 100 = 7");
        for (int k = 0; k < 6000 && first_int(c, loose) > 0; k++) usleep(10000);
        assert_int_equal(first_int(c, loose), 0);
        assert_int_equal(first_int(c, "select count(*) from t where b like 'other %'"), 10000);
    }
    run(c, "update t set b = 'last ' || a");
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

/* Types whose descriptions are at their limits are read again as they were written. */
static void reopens(void **state) {
    (void)state;
    char path[] = "/tmp/stele-api-XXXXXX";
    assert_non_null(mkdtemp(path));
    for (int again = 0; again < 2; again++) {
        stele_db *d;
        stele_conn *c;
        assert_int_equal(stele_open(path, NULL, &d, NULL), STELE_OK);
        assert_int_equal(stele_connect(d, &c), STELE_OK);
        assert_int_equal(
            stele_exec(c, again ? "insert into t values ('{}')" : "create table t(a bit(70000000)[])", NULL, NULL),
            STELE_OK);
        stele_disconnect(c);
        assert_int_equal(stele_close(d, NULL), STELE_OK);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
}

/* Inserts less and less, until there is no room for a row. */
static void fill(stele_conn *c, const char *table) {
    for (int64_t rows = 100000; rows > 0;) {
        char sql[200];
        snprintf(sql, sizeof sql, "insert into %s select i, md5(i::text) from generate_series(1, %lld) g(i)", table,
                 (long long)rows);
        stele_error_info e;
        if (stele_exec(c, sql, NULL, NULL) == STELE_OK) continue;
        stele_error(c, &e);
        assert_string_equal(e.sqlstate, "53400");
        rows /= 2;
    }
}

/* At the limit what gives memory back runs, and so do connecting and saving. */
static void at_the_limit(void **state) {
    (void)state;
    char path[] = "/tmp/stele-api-XXXXXX";
    assert_non_null(mkdtemp(path));
    stele_options o = {.threads = 2, .memory_limit = INT64_C(60) << 20};
    stele_db *d;
    stele_conn *c, *other;
    assert_int_equal(stele_open(path, &o, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c,
        "create table a(i int, s text); create table b(i int, s text); create table e(i int); prepare p as select 1");
    run(c, "insert into a select i, md5(i::text) from generate_series(1, 150000) g(i)");
    fill(c, "b");
    refused(c, "set memory_limit = '1MB'", "53400", "memory_limit cannot be less than what is in use", -1);
    shows(c, "memory_limit", "60MB");
    run(c, "set threads = 1; reset threads; begin; savepoint x; rollback to x; release x; commit; deallocate p");
    assert_int_equal(stele_connect(d, &other), STELE_OK);
    run(other, "set threads = 1; checkpoint; drop table e");
    stele_disconnect(other);
    run(c, "delete from a where i % 10 <> 0; vacuum a");
    fill(c, "b");
    run(c, "begin; truncate a; rollback; begin; drop table a; rollback; begin; truncate a; commit");
    fill(c, "b");
    run(c, "begin");
    stele_error_info e;
    if (stele_exec(c, "insert into b select i, md5(i::text) from generate_series(1, 100000) g(i)", NULL, NULL) !=
        STELE_OK)
        stele_error(c, &e);
    run(c, "rollback; checkpoint");
    fill(c, "b");
    run(c, "set memory_limit = '100MB'");
    fill(c, "b");
    refused(c, "reset memory_limit", "53400", "memory_limit cannot be less than what is in use", -1);
    refused(c, "reset all", "53400", "memory_limit cannot be less than what is in use", -1);
    shows(c, "memory_limit", "100MB");
    run(c, "drop table b; reset memory_limit; create table b(i int, s text)");
    fill(c, "b");
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK); /* saves */
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", path);
    assert_int_equal(system(command), 0);
}

/* Little more memory than the tables take: whatever can spill does. */
static int64_t bytes_in_use(stele_conn *c) {
    stele_error_info e;
    assert_int_equal(stele_exec(c, "set memory_limit = '1MB'", NULL, NULL), STELE_ERROR);
    stele_error(c, &e);
    return atoll(e.detail);
}
static void little_room(void **state) {
    (void)state;
    static const struct {
        const char *sql, *n;
    } queries[] = {
        {"select count(*) from (select s, k from t union select s, i from t) x", "1200000"},
        {"select count(*) from (select s, k from t except select s, i from t) x", "600000"},
        {"select count(*) from (select s, k from t intersect select s, i from t) x", "0"},
        {"select count(distinct s) + count(distinct k) + count(distinct i) from t", "1800000"},
        {"select sum(a) + sum(b) from (select k % 10, count(distinct s) as a, count(distinct i) as b from t group by "
         "1) x",
         "1200000"},
        {"select count(*) from (select k % 60000, string_agg(s, ',') as a from t group by 1) x where a <> ''", "60000"},
        {"select count(*) from t a join t b on a.s = b.s", "600000"},
        {"select i from t order by s limit 1 offset 100000", NULL},
    };
    stele_options o = {.threads = 2};
    stele_db *d;
    stele_conn *c;
    assert_int_equal(stele_open(NULL, &o, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    run(c, "create table t as select i, (i::bigint * 7919) % 1000003 as k, md5(i::text) as s from generate_series(1, "
           "600000) g(i); vacuum t");
    for (int64_t more = 4; more <= 20; more += 8)
        for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
            char sql[100];
            stele_stmt *st;
            snprintf(sql, sizeof sql, "set memory_limit = %lld", (long long)(bytes_in_use(c) + (more << 20)));
            run(c, sql);
            assert_int_equal(stele_prepare(c, queries[i].sql, -1, &st, NULL), STELE_OK);
            stele_error_info e;
            bool row = stele_step(st) == STELE_ROW;
            stele_error(c, &e);
            if (!row) fail_msg("%lld MB, %s: %s %s", (long long)more, queries[i].sql, e.sqlstate, e.detail);
            if (queries[i].n) assert_string_equal(stele_column_text(st, 0, NULL), queries[i].n);
            stele_finalize(st);
        }
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

/* Rows that were taken back leave nothing in the index of their key, also while somebody else has changed the table. */
static void rolled_back(void **state) {
    (void)state;
    stele_options o = {.threads = 1, .memory_limit = INT64_C(100) << 20};
    stele_db *d;
    stele_conn *c, *other;
    assert_int_equal(stele_open(NULL, &o, &d, NULL), STELE_OK);
    assert_int_equal(stele_connect(d, &c), STELE_OK);
    assert_int_equal(stele_connect(d, &other), STELE_OK);
    run(c, "create table k(a int primary key, b int unique); insert into k values (-1, -1)");
    for (int beside = 0; beside < 2; beside++) {
        if (beside) run(other, "begin; insert into k values (-2, -2)");
        for (int i = 0; i < 150; i++) {
            char sql[200];
            snprintf(sql, sizeof sql, "begin; insert into k select i, i from generate_series(%d, %d) g(i); rollback",
                     i * 10000, i * 10000 + 9999);
            run(c, sql);
            snprintf(sql, sizeof sql,
                     "insert into k select i, i from generate_series(%d, %d) g(i) union all select -1, -3", i * 10000,
                     i * 10000 + 999);
            refused(c, sql, "23505", "k_pkey", -1);
        }
        if (beside) run(other, "commit");
        run(c, "set memory_limit = '3MB'; reset memory_limit"); /* no more is in use */
        refused(c, "insert into k values (-1, -3)", "23505", "k_pkey", -1);
        refused(c, "insert into k values (-3, -1)", "23505", "k_b_key", -1);
    }
    run(c, "insert into k select i, i from generate_series(1, 10000) g(i); update k set a = a + 100000 where a > 5000; "
           "delete from k where a between 10 and 4000");
    refused(c, "insert into k values (105001, -4)", "23505", "k_pkey", -1);
    refused(c, "insert into k values (5, -4)", "23505", "k_pkey", -1);
    run(c, "insert into k values (5001, -4), (10, 10)");
    stele_disconnect(other);
    stele_disconnect(c);
    assert_int_equal(stele_close(d, NULL), STELE_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types),
        cmocka_unit_test(parameters),
        cmocka_unit_test(misuse),
        cmocka_unit_test(changed_table),
        cmocka_unit_test(errors),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(interrupted_between),
        cmocka_unit_test(progress),
        cmocka_unit_test(transactions),
        cmocka_unit_test(concurrent_updates),
        cmocka_unit_test(prepared_in_sql),
        cmocka_unit_test(copy_streams),
        cmocka_unit_test(options),
        cmocka_unit_test(discards),
        cmocka_unit_test(reopens),
        cmocka_unit_test(packs_when_idle),
        cmocka_unit_test(at_the_limit),
        cmocka_unit_test(little_room),
        cmocka_unit_test(rolled_back),
        cmocka_unit_test(lists),
        cmocka_unit_test(stopping),
        cmocka_unit_test(opened_with),
        cmocka_unit_test(error_names),
        cmocka_unit_test(bulks),
        cmocka_unit_test(bulk_log),
        cmocka_unit_test(definitions),
        cmocka_unit_test(definitions_in_little_memory),
    };
    const struct CMUnitTest alone[] = {cmocka_unit_test(allocator)}; /* needs that nothing else is allocated */
    int r = cmocka_run_group_tests_name("api", tests, set_up, tear_down);
    return cmocka_run_group_tests_name("api_allocator", alone, NULL, NULL) + r;
}
