/* test_appender.c - appenders (stele_appender_new) and values of every type (stele_bind_value, stele_param_type): all
 * types there and back, defaults, constraints, transactions, what stands after a failure, allocation failures.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "unit_api.h"

static stele_db *db;
static stele_conn *conn;

static void run(const char *sql) { api_run(conn, sql); }
static void gives(const char *sql, const char *rows) { api_gives(conn, sql, rows); }
static const char *what = "a call"; /* for messages */
static void good(stele_status st) { api_ok(conn, st, what); }
static void refused(stele_status st, const char *sqlstate, const char *context) {
    const stele_error_info e = api_refused(conn, st, sqlstate, what);
    if (context && !strstr(e.context, context)) fail_msg("context \"%s\" lacks \"%s\"", e.context, context);
}
static stele_appender *appender(const char *table, int64_t n, const char *const *columns) {
    stele_appender *a;
    good(stele_appender_new(conn, table, n, columns, &a));
    return a;
}

static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", &(stele_options){.threads = 2}, &db, NULL) != STELE_OK ||
        stele_connect(db, &conn) != STELE_OK)
        return -1;
    run("create table t (a int primary key, b text not null default 'none', c numeric(9,2) check (c < 100), d bigint)");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

/* ---- values ------------------------------------------------------------------------------------ */

static const stele_value items[] = {
    {.type = STELE_TYPE_INT64, .u.i64 = 1}, {.type = STELE_TYPE_NULL}, {.type = STELE_TYPE_INT64, .u.i64 = -3}};
static const stele_value matrix[] = {{.type = STELE_TYPE_ARRAY, .u.array = {items, 3}},
                                     {.type = STELE_TYPE_ARRAY, .u.array = {items, 3}}};
static const stele_value words[] = {{.type = STELE_TYPE_TEXT, .u.text = {"a \"b\" \\, {c}", -1}},
                                    {.type = STELE_TYPE_NULL},
                                    {.type = STELE_TYPE_TEXT, .u.text = {"NULL", -1}},
                                    {.type = STELE_TYPE_TEXT, .u.text = {"", 0}}};
static const stele_value moments[] = {{.type = STELE_TYPE_TIMESTAMP, .u.i64 = INT64_MAX},
                                      {.type = STELE_TYPE_TIMESTAMP, .u.i64 = 0}};
static const struct {
    const char *type;
    stele_value value;
    const char *text;
} all[] = {
    {"boolean", {.type = STELE_TYPE_BOOL, .u.boolean = true}, "t"},
    {"smallint", {.type = STELE_TYPE_INT64, .u.i64 = -32768}, "-32768"},
    {"integer", {.type = STELE_TYPE_INT64, .u.i64 = 2147483647}, "2147483647"},
    {"bigint", {.type = STELE_TYPE_INT64, .u.i64 = INT64_MIN}, "-9223372036854775808"},
    {"real", {.type = STELE_TYPE_FLOAT, .u.f32 = 1.5F}, "1.5"},
    {"double precision", {.type = STELE_TYPE_DOUBLE, .u.f64 = 0.1}, "0.1"},
    {"numeric(38,0)",
     {.type = STELE_TYPE_NUMERIC, .u.numeric = {0x098a223fffffffffU, 0x4b3b4ca85a86c47a, 0}},
     "99999999999999999999999999999999999999"},
    {"numeric(38,10)", {.type = STELE_TYPE_NUMERIC, .u.numeric = {(uint64_t)-15, -1, 1}}, "-1.5000000000"},
    {"numeric", {.type = STELE_TYPE_NUMERIC, .u.numeric = {123456789, 0, 9}}, "0.123456789"},
    {"text", {.type = STELE_TYPE_TEXT, .u.text = {"h\xc3\xa9", -1}}, "h\xc3\xa9"},
    {"character varying(3)", {.type = STELE_TYPE_TEXT, .u.text = {"abcdef", 2}}, "ab"},
    {"bytea", {.type = STELE_TYPE_BYTEA, .u.text = {"\0\xff\\", 3}}, "\\x00ff5c"},
    {"date", {.type = STELE_TYPE_DATE, .u.i64 = INT32_MIN}, "-infinity"},
    {"date", {.type = STELE_TYPE_DATE, .u.i64 = -1}, "1999-12-31"},
    {"time without time zone", {.type = STELE_TYPE_TIME, .u.i64 = 86400000000}, "24:00:00"},
    {"timestamp without time zone", {.type = STELE_TYPE_TIMESTAMP, .u.i64 = INT64_MAX}, "infinity"},
    {"timestamp with time zone", {.type = STELE_TYPE_TIMESTAMPTZ, .u.i64 = 1}, "2000-01-01 00:00:00.000001+00"},
    {"timestamp with time zone", {.type = STELE_TYPE_TIMESTAMPTZ, .u.i64 = INT64_MIN}, "-infinity"},
    {"interval", {.type = STELE_TYPE_INTERVAL, .u.interval = {-1, 40, 14}}, "1 year 2 mons 40 days -00:00:00.000001"},
    {"uuid", {.type = STELE_TYPE_UUID, .u.uuid = {0, 17, 34, 51}}, "00112233-0000-0000-0000-000000000000"},
    {"integer[]", {.type = STELE_TYPE_ARRAY, .u.array = {items, 3}}, "{1,NULL,-3}"},
    {"numeric(9,2)[]", {.type = STELE_TYPE_ARRAY, .u.array = {items, 3}}, "{1.00,NULL,-3.00}"},
    {"text[]", {.type = STELE_TYPE_ARRAY, .u.array = {words, 4}}, "{\"a \\\"b\\\" \\\\, {c}\",NULL,\"NULL\",\"\"}"},
    {"timestamp without time zone[]",
     {.type = STELE_TYPE_ARRAY, .u.array = {moments, 2}},
     "{infinity,\"2000-01-01 00:00:00\"}"},
    {"bigint[]", {.type = STELE_TYPE_ARRAY, .u.array = {NULL, 0}}, "{}"},
    {"integer[]", {.type = STELE_TYPE_ARRAY, .u.array = {matrix, 2}}, "{{1,NULL,-3},{1,NULL,-3}}"},
    {"uuid", {.type = STELE_TYPE_NULL}, NULL},
};

/* Without modifiers. */
static void plain_name(const char *type, char *out) {
    for (int depth = 0; *type; type++) {
        depth += *type == '(';
        if (depth == 0) *out++ = *type;
        depth -= *type == ')';
    }
    *out = 0;
}

static void bind_all(void **state) {
    (void)state;
    char sql[200], type[64];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *element = strstr(all[i].type, "time zone[]") ? "timestamp[]" : all[i].type;
        if (strcmp(all[i].type, "numeric(38,0)") == 0) continue; /* parameters have no modifiers */
        snprintf(sql, sizeof sql, "select $1::%s", element);
        stele_stmt *s;
        good(stele_prepare(conn, sql, -1, &s, NULL));
        plain_name(all[i].type, type);
        if (strcmp(stele_param_type(s, 1), type) != 0) fail_msg("%s: %s", sql, stele_param_type(s, 1));
        assert_null(stele_param_type(s, 2));
        assert_null(stele_param_type(s, 0));
        good(stele_bind_value(s, 1, &all[i].value));
        if (stele_step(s) != STELE_ROW) good(STELE_ERROR);
        const char *got = stele_column_text(s, 0, NULL);
        if ((got == NULL) != (all[i].text == NULL) || (got && strcmp(got, all[i].text) != 0))
            fail_msg("%s: %s, not %s", sql, got ? got : "NULL", all[i].text ? all[i].text : "NULL");
        stele_finalize(s);
    }
}

static void bind_refused(void **state) {
    (void)state;
    stele_stmt *s;
    const stele_value mixed[] = {items[0], words[0]};
    good(stele_prepare(conn, "select $1::int", -1, &s, NULL));
    refused(stele_bind_value(s, 2, &items[0]), "42P02", NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = (stele_type)99}), "22023", NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_NUMERIC, .u.numeric = {1, 0, 39}}), "22023", NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_NUMERIC, .u.numeric = {0, INT64_MAX, 0}}), "22003",
            NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_DATE, .u.i64 = INT64_MAX}), "22008", NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_TIME, .u.i64 = -1}), "22008", NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_TEXT, .u.text = {"\xff", 1}}), "22021", NULL);
    refused(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_ARRAY, .u.array = {mixed, 2}}), "42804", NULL);
    good(stele_bind_value(s, 1, &(stele_value){.type = STELE_TYPE_INT64, .u.i64 = INT64_MAX}));
    assert_int_equal(stele_step(s), STELE_ERROR);
    refused(STELE_ERROR, "22003", NULL);
    stele_finalize(s);
}

/* ---- appenders --------------------------------------------------------------------------------- */

static void append_all(void **state) {
    (void)state;
    char sql[300];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *element = strstr(all[i].type, "time zone[]") ? "timestamp[]" : all[i].type;
        snprintf(sql, sizeof sql, "drop table if exists one; create table one (a int, v %s, w text)", element);
        run(sql);
        what = sql;
        stele_appender *a = appender("one", 0, NULL);
        for (int k = 0; k < 3; k++) {
            good(stele_append_int64(a, k));
            good(k == 1 ? stele_append_null(a) : stele_append_value(a, &all[i].value));
            good(all[i].text && all[i].value.type != STELE_TYPE_ARRAY
                     ? stele_append_value(a, &all[i].value)
                     : stele_append_text(a, all[i].text ? "x" : "", -1));
            good(stele_append_end_row(a));
        }
        good(stele_appender_flush(a));
        assert_int_equal(stele_appender_rows(a), 3);
        stele_appender_free(a);
        char rows[300];
        const char *text = all[i].text ? all[i].text : "NULL";
        snprintf(rows, sizeof rows, "%s;NULL;%s", text, text);
        gives("select v from one order by a", rows);
    }
    what = "a call";
    run("drop table one");
}

static void rows_and_defaults(void **state) {
    (void)state;
    static const char *const some[] = {"d", "a"};
    stele_appender *a = appender("t", 0, NULL);
    good(stele_append_int64(a, 1));
    good(stele_append_text(a, "one", -1));
    good(stele_append_double(a, 1.25));
    good(stele_append_null(a));
    good(stele_append_end_row(a));
    good(stele_append_int64(a, 2));
    good(stele_append_default(a));
    good(stele_append_default(a));
    good(stele_append_bool(a, true) == STELE_ERROR ? stele_append_int64(a, 7) : STELE_ERROR);
    refused(stele_append_int64(a, 8), "54011", "row 2 of appender for t");
    good(stele_append_end_row(a));
    good(stele_append_int64(a, 3)); /* a row that is dropped */
    refused(stele_append_end_row(a), "42601", "row 3 of appender for t, column \"b\"");
    refused(stele_appender_flush(a), "55000", NULL);
    stele_appender_drop_row(a);
    gives("select count(*) from t", "0");
    good(stele_appender_flush(a));
    good(stele_appender_flush(a));
    gives("select * from t order by a", "1,one,1.25,NULL;2,none,NULL,7");
    stele_appender_free(a);
    a = appender("t", 2, some);
    for (int i = 10; i < 3010; i++) {
        good(stele_append_value(a, &(stele_value){.type = STELE_TYPE_TEXT, .u.text = {"5", 1}}));
        good(stele_append_int64(a, i));
        good(stele_append_end_row(a));
    }
    good(stele_appender_flush(a));
    assert_int_equal(stele_appender_rows(a), 3000);
    stele_appender_free(a);
    gives("select count(*), min(b), sum(d), max(a) from t where a >= 10", "3000,none,15000,3009");
    run("delete from t");
}

static void row(stele_appender *a, int64_t id, const char *b, double c) {
    good(stele_append_int64(a, id));
    good(b ? stele_append_text(a, b, -1) : stele_append_null(a));
    good(stele_append_double(a, c));
    good(stele_append_int64(a, id));
    good(stele_append_end_row(a));
}

static void failures(void **state) {
    (void)state;
    static const char *const twice[] = {"a", "a"}, *const none[] = {"zz"};
    stele_appender *a;
    refused(stele_appender_new(conn, "no_such", 0, NULL, &a), "42P01", NULL);
    assert_null(a);
    refused(stele_appender_new(conn, "t", 1, none, &a), "42703", NULL);
    refused(stele_appender_new(conn, "t", 2, twice, &a), "42701", NULL);
    run("create view v as select * from t");
    refused(stele_appender_new(conn, "v", 0, NULL, &a), "42809", NULL);
    run("drop view v");
    a = appender("t", 0, NULL);
    row(a, 1, "x", 1);
    good(stele_appender_flush(a));
    /* a value that does not convert: the row goes on */
    refused(stele_append_text(a, "twelve", -1), "22P02", "row 2 of appender for t, column \"a\"");
    good(stele_append_text(a, "12", -1));
    good(stele_append_text(a, "y", -1));
    refused(stele_append_double(a, 1e9), "22003", "row 2 of appender for t, column \"c\"");
    stele_appender_drop_row(a);
    row(a, 2, "x", 1);
    row(a, 3, NULL, 1);
    refused(stele_appender_flush(a), "23502", "row 3 of appender for t, column \"b\"");
    gives("select a from t", "1");
    row(a, 4, "x", 100);
    refused(stele_appender_flush(a), "23514", "rows 4 to 4 of appender for t");
    row(a, 5, "x", 1);
    row(a, 1, "x", 1);
    refused(stele_appender_flush(a), "23505", "rows 5 to 6 of appender for t");
    row(a, 6, "x", 1);
    good(stele_appender_flush(a));
    gives("select a from t order by a", "1;6");
    /* foreign keys */
    run("create table f (a int references t)");
    stele_appender *f = appender("f", 0, NULL);
    good(stele_append_int64(f, 6));
    good(stele_append_end_row(f));
    good(stele_appender_flush(f));
    good(stele_append_int64(f, 7));
    good(stele_append_end_row(f));
    refused(stele_appender_flush(f), "23503", NULL);
    /* transactions */
    run("begin");
    row(a, 7, "x", 1);
    good(stele_appender_flush(a));
    gives("select count(*) from t", "3");
    run("rollback");
    gives("select count(*) from t", "2");
    run("begin");
    row(a, 6, "x", 1);
    refused(stele_appender_flush(a), "23505", NULL);
    assert_int_equal(stele_transaction_state(conn), 'E');
    run("rollback; drop table f");
    run("alter table t rename to t2");
    row(a, 8, "x", 1);
    refused(stele_appender_flush(a), "42P01", NULL);
    run("alter table t2 rename to t; delete from t");
    stele_appender_free(a);
    stele_appender_free(f);
    stele_appender_free(NULL);
}

static void arrow(void **state) {
    (void)state;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    stele_stmt *s;
    good(stele_prepare(conn,
                       "select i::int as a, 'w' || i as b, i::numeric(4,2), null::int from generate_series(1, 50) "
                       "as i",
                       -1, &s, NULL));
    assert_int_equal(stele_fetch_arrow(s, 0, &schema, &batch), STELE_ROW);
    stele_finalize(s);
    stele_appender *a = appender("t", 0, NULL);
    good(stele_append_int64(a, 100));
    good(stele_append_default(a));
    good(stele_append_null(a));
    refused(stele_append_arrow(a, &schema, &batch), "55000", NULL);
    good(stele_append_null(a));
    good(stele_append_end_row(a));
    good(stele_append_arrow(a, &schema, &batch));
    good(stele_append_int64(a, 101));
    good(stele_append_text(a, "last", -1));
    good(stele_append_null(a));
    good(stele_append_null(a));
    good(stele_append_end_row(a));
    good(stele_appender_flush(a));
    gives("select count(*), sum(c), min(b), max(a), count(d) from t", "52,1275.00,last,101,0");
    gives("select b from t where a in (100, 7)", "none;w7");
    schema.n_children--;
    refused(stele_append_arrow(a, &schema, &batch), "42804", NULL);
    schema.n_children++;
    stele_appender_free(a);
    schema.release(&schema);
    batch.release(&batch);
    run("delete from t");
}

/* Enough rows that they are loaded from where they are. */
static void many(void **state) {
    (void)state;
    enum { N = 60000 };
    char text[20];
    run("create table m (a int primary key, b text not null default 'none', c bigint)");
    for (int round = 0; round < 4; round++) {
        stele_appender *a = appender("m", round == 3 ? 0 : 2, (const char *const[]){"c", "a"});
        for (int i = 0; i < N; i++) {
            if (round < 3) {
                good(i % 3 ? stele_append_int64(a, i) : stele_append_null(a));
                good(stele_append_int64(a, round == 1 && i == N - 1 ? 5 : i + (round == 2 ? N : 0)));
            } else {
                snprintf(text, sizeof text, "row %d", i);
                good(stele_append_int64(a, i + 2 * N));
                good(i == 40000 ? stele_append_null(a) : stele_append_text(a, text, -1));
                good(stele_append_int64(a, i));
            }
            good(stele_append_end_row(a));
        }
        if (round == 1) refused(stele_appender_flush(a), "23505", "rows 1 to 60000 of appender for m");
        else if (round == 3) refused(stele_appender_flush(a), "23502", "row 40001 of appender for m, column \"b\"");
        else good(stele_appender_flush(a));
        assert_int_equal(stele_appender_rows(a), round == 0 || round == 2 ? N : 0);
        stele_appender_free(a);
        gives("select count(*), count(distinct a), count(c), min(b) from m",
              round < 2 ? "60000,60000,40000,none" : "120000,120000,80000,none");
    }
    run("begin; delete from m; rollback");
    gives("select count(*), max(a) from m where c is null", "40000,119997");
    run("drop table m");
}

static stele_status append_some(void) {
    stele_appender *a;
    if (stele_appender_new(conn, "t", 0, NULL, &a) != STELE_OK) return STELE_ERROR;
    stele_status st = STELE_OK;
    for (int i = 0; i < 3 && st == STELE_OK; i++) {
        st = stele_append_int64(a, i);
        if (st == STELE_OK) st = i == 1 ? stele_append_default(a) : stele_append_text(a, "some text", -1);
        if (st == STELE_OK) st = stele_append_value(a, &(stele_value){.type = STELE_TYPE_INT64, .u.i64 = 1});
        if (st == STELE_OK) st = stele_append_null(a);
        if (st == STELE_OK) st = stele_append_end_row(a);
    }
    if (st == STELE_OK) st = stele_appender_flush(a);
    stele_appender_free(a);
    return st;
}
static void no_memory(void **state) {
    (void)state;
    for (int64_t step = 1;; step += step < 80 ? 1 : 9) {
        mem_fail_at(step);
        stele_status st = append_some();
        bool over = mem_fail_at(0) > 0;
        if (st != STELE_OK) refused(st, "53200", NULL);
        gives("select count(*) from t", st == STELE_OK ? "3" : "0");
        run("delete from t");
        if (over) {
            assert_int_equal(st, STELE_OK);
            assert_true(step > 20);
            return;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bind_all),   cmocka_unit_test(bind_refused),
                                       cmocka_unit_test(append_all), cmocka_unit_test(rows_and_defaults),
                                       cmocka_unit_test(failures),   cmocka_unit_test(arrow),
                                       cmocka_unit_test(many),       cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests_name("appender", tests, set_up, tear_down);
}
