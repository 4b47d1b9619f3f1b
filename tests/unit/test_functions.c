/* test_functions.c - functions of the client: scalar ones and aggregates from C, wherever SQL calls functions; NULLs,
 * arrays, overloads, errors with their row, threads, what happens when they are dropped, allocation failures. Table
 * functions: test_table_functions.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "unit_api.h"

static stele_db *db;
static stele_conn *conn, *other;

static void run(const char *sql) { api_run(conn, sql); }
static void fails(const char *sql, const char *sqlstate, const char *message, const char *context) {
    const stele_error_info e = api_fails(conn, sql, sqlstate);
    if (message) assert_string_equal(e.message, message);
    if (context && !strstr(e.context, context)) fail_msg("%s: context \"%s\" lacks \"%s\"", sql, e.context, context);
}
static void gives(const char *sql, const char *rows) { api_gives(conn, sql, rows); }
static void created(stele_status st) { api_ok(conn, st, "a function"); }
static void refused(stele_status st, const char *sqlstate) { api_refused(conn, st, sqlstate, "a function"); }

/* ---- scalar functions -------------------------------------------------------------------------- */

static int destroyed;
static void destroy(void *data) {
    (void)data;
    destroyed++;
}

/* a + data; fails for 13 */
static stele_status add_one(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const int64_t *in = args[0].data;
    int64_t *out = result->data, by = stele_call_data(call) ? *(const int64_t *)stele_call_data(call) : 1;
    for (int64_t i = 0; i < n; i++) {
        if (in[i] == 13) return stele_call_fail(call, i, "22023", "thirteen is not welcome");
        out[i] = in[i] + by;
    }
    return STELE_OK;
}
/* Text of what it is called with; NULL for "none". */
static stele_status shout(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const stele_string *in = args[0].data;
    for (int64_t i = 0; i < n; i++) {
        char *t = stele_call_alloc(call, in[i].size + 1);
        if (!t) return STELE_ERROR;
        for (uint32_t k = 0; k < in[i].size; k++) {
            char ch = in[i].data[k];
            t[k] = ch >= 'a' && ch <= 'z' ? (char)(ch - 32) : ch;
        }
        t[in[i].size] = '!';
        if (in[i].size == 4 && memcmp(in[i].data, "none", 4) == 0) result->valid[i] = 0;
        else if (stele_call_set_text(call, result, i, t, in[i].size + 1) != STELE_OK) return STELE_ERROR;
    }
    return STELE_OK;
}
static stele_status or_zero(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    (void)call;
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)result->data)[i] = args[0].valid && !args[0].valid[i] ? 0 : ((const int32_t *)args[0].data)[i];
    return STELE_OK;
}
/* The same cell: of any type of a fixed size. */
static stele_status same(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    memcpy(result->data, args[0].data, (size_t)(n * *(const int64_t *)stele_call_data(call)));
    return STELE_OK;
}
/* text[] -> text[]: backwards, with "no" for NULL and NULL for "no" */
static stele_status backwards(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    for (int64_t i = 0; i < n; i++) {
        const stele_array *in = (const stele_array *)args[0].data + i;
        const stele_string *from = in->data;
        stele_string *out = stele_call_alloc(call, in->n * (int64_t)sizeof *out);
        unsigned char *valid = stele_call_alloc(call, in->n);
        if (!out || !valid) return STELE_ERROR;
        for (int64_t k = 0; k < in->n; k++) {
            const stele_string *x = &from[in->n - 1 - k];
            bool null = in->valid && !in->valid[in->n - 1 - k];
            out[k] = null ? (stele_string){"no", 2, 0} : *x;
            valid[k] = null || x->size != 2 || memcmp(x->data, "no", 2) != 0;
        }
        const stele_array x = {out, valid, in->n, in->dims, in->n_dims};
        if (stele_call_set_array(call, result, i, &x) != STELE_OK) return STELE_ERROR;
    }
    return STELE_OK;
}
/* The same array, of elements of a fixed size. */
static stele_status same_array(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const stele_array *in = args[0].data;
    const stele_dim four = {4, 1};
    for (int64_t i = 0; i < n; i++) {
        if ((uintptr_t)in[i].data % 16) return stele_call_fail(call, i, NULL, "not aligned");
        stele_array x = in[i];
        if (x.n == 5) x.dims = &four, x.n_dims = 1;
        if (stele_call_set_array(call, result, i, &x) != STELE_OK) return STELE_ERROR;
    }
    return STELE_OK;
}
/* The same text; nothing for "unset". */
static stele_status same_text(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const stele_string *in = args[0].data;
    for (int64_t i = 0; i < n; i++)
        if ((in[i].size != 5 || memcmp(in[i].data, "unset", 5) != 0) &&
            stele_call_set_text(call, result, i, in[i].data, in[i].size) != STELE_OK)
            return STELE_ERROR;
    return STELE_OK;
}
static _Atomic int64_t calls; /* by several threads */
static stele_status count_calls(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    (void)call, (void)args;
    for (int64_t i = 0; i < n; i++) ((int64_t *)result->data)[i] = ++calls;
    return STELE_OK;
}
static stele_status silent(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    (void)call, (void)n, (void)args, (void)result;
    return STELE_ERROR;
}

static const char *const bigint[] = {"bigint"}, *const text[] = {"text"}, *const integer[] = {"int"};

static stele_status scalar(const char *name, const char *type, const char *ret, stele_scalar_fn fn, int32_t flags,
                           void *data) {
    return stele_create_scalar(conn, &(stele_scalar){.name = name,
                                                     .n_params = type ? 1 : 0,
                                                     .param_types = &type,
                                                     .result_type = ret,
                                                     .flags = flags,
                                                     .call = fn,
                                                     .data = data,
                                                     .destroy = destroy});
}

static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", &(stele_options){.threads = 2}, &db, NULL) != STELE_OK ||
        stele_connect(db, &conn) != STELE_OK || stele_connect(db, &other) != STELE_OK)
        return -1;
    run("create table t (a bigint, s text, n numeric(9,2), g int);"
        "insert into t values (1, 'one', 1.5, 1), (2, 'none', 2.25, 2), (null, null, null, 1), (4, '', 4, 2)");
    run("create table many as select i as a, i % 7 as g from generate_series(101, 20100) as i");
    created(scalar("add_one", "bigint", "bigint", add_one, 0, NULL));
    created(scalar("shout", "text", "text", shout, 0, NULL));
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(other);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

static void test_scalar(void **state) {
    (void)state;
    gives("select add_one(a), shout(s) from t", "2,ONE!;3,NULL;NULL,NULL;5,!");
    gives("select add_one(1), shout('x'), add_one(null)", "2,X!,NULL");
    gives("select add_one(a::int) from t where add_one(a) > 2 order by 1", "3;5");
    gives("select sum(add_one(a)) - sum(a) from many", "20000");
    gives("select g, count(*) from t group by g, add_one(g) order by add_one(g)", "1,2;2,2");
    api_gives(other, "select add_one(41)", "42");
    /* named, and cast from what is not the parameter's type */
    gives("select add_one(2::smallint)", "3");
    fails("select add_one('x'::text)", "42883", "function add_one(text) does not exist", NULL);
    fails("select add_one(1, 2)", "42883", NULL, NULL);
    fails("select no_such(x => 1)", "42883", "function no_such(x => integer) does not exist", NULL);
    fails("select add_one(distinct 1)", "42809", NULL, NULL);
    /* DML, CHECK, DEFAULT, views, routines, prepared statements */
    run("create view v as select add_one(a) as b from t");
    gives("select b from v where b > 3", "5");
    run("create table c (a bigint default add_one(6) check (add_one(a) < 100), s text)");
    run("insert into c (s) values ('x')");
    run("update c set a = add_one(a), s = shout(s)");
    gives("select * from c", "8,X!");
    fails("insert into c values (99)", "23514", NULL, NULL);
    run("create function twice(x bigint) returns bigint language plpgsql as $$ begin return add_one(x) + add_one(x); "
        "end "
        "$$");
    gives("select twice(a) from t where a = 2", "6");
    run("prepare p as select add_one($1)");
    gives("execute p(9)", "10");
    run("deallocate p; drop view v; drop table c; drop function twice");
}

static void test_errors(void **state) {
    (void)state;
    fails("select add_one(a + 11) from t", "22023", "thirteen is not welcome", "function add_one(13)");
    fails("select add_one(13)", "22023", "thirteen is not welcome", "function add_one(13)");
    gives("select case when a = 2 then 0 else add_one(a + 11) end from t where a < 4", "13;0");
    created(scalar("silent", "int", "int", silent, 0, NULL));
    fails("select silent(1)", "38000", "function silent failed without a message", NULL);
    refused(scalar("lower", "int", "int", silent, 0, NULL), "42723");
    refused(scalar("f", "no_such", "int", silent, 0, NULL), "42704");
    refused(scalar("f", "void", "int", silent, 0, NULL), "0A000");
    refused(scalar("f", "timetz", "int", silent, 0, NULL), "0A000");
    refused(scalar("f", "pg_lsn[]", "int", silent, 0, NULL), "0A000");
    refused(scalar("f", "int", "bit varying[]", silent, 0, NULL), "0A000");
    refused(scalar("f", "int", "int", NULL, 0, NULL), "22023");
    refused(scalar("", "int", "int", silent, 0, NULL), "22023");
    refused(stele_drop_function(conn, "no_such", -1, NULL), "42883");
    int before = destroyed;
    refused(scalar("f", "int) + (1", "int", silent, 0, NULL), "42704");
    assert_int_equal(destroyed, before);
    created(stele_drop_function(conn, "silent", 1, integer));
    assert_int_equal(destroyed, before + 1);
    fails("select silent(1)", "42883", NULL, NULL);
}

static void test_nulls_and_types(void **state) {
    (void)state;
    static const struct {
        const char *type;
        int64_t size;
        const char *value;
    } types[] = {{"boolean", 1, "t"},
                 {"smallint", 2, "-5"},
                 {"int", 4, "7"},
                 {"bigint", 8, "-9223372036854775808"},
                 {"real", 4, "1.5"},
                 {"double precision", 8, "-Infinity"},
                 {"numeric(9,2)", 8, "12.34"},
                 {"numeric(38,10)", 16, "-1234567890123456789012345678.0123456789"},
                 {"date", 4, "infinity"},
                 {"time", 8, "24:00:00"},
                 {"timestamp", 8, "-infinity"},
                 {"interval", 16, "1 mon 2 days 03:00:00"},
                 {"uuid", 16, "00112233-4455-6677-8899-aabbccddeeff"}};
    char sql[300];
    created(scalar("or_zero", "int", "int", or_zero, STELE_FUNCTION_CALLED_ON_NULL, NULL));
    gives("select or_zero(g), or_zero(null), or_zero(a::int) from t", "1,0,1;2,0,2;1,0,0;2,0,4");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int64_t size = types[i].size;
        created(scalar("same", types[i].type, types[i].type, same, 0, &size));
        snprintf(sql, sizeof sql, "select same('%s'::%s)", types[i].value, types[i].type);
        gives(sql, types[i].value);
        snprintf(sql, sizeof sql, "select same(x) from (values ('%s'::%s), (null), ('%s')) as v (x)", types[i].value,
                 types[i].type, types[i].value);
        char rows[200];
        snprintf(rows, sizeof rows, "%s;NULL;%s", types[i].value, types[i].value);
        gives(sql, rows);
        created(stele_drop_function(conn, "same", -1, NULL));
    }
    /* out of its type's range */
    int64_t size = 8;
    created(scalar("wide", "bigint", "numeric(3,0)", same, 0, &size));
    gives("select wide(999)", "999");
    fails("select wide(1000)", "22003", NULL, "function wide(1000)");
    created(stele_drop_function(conn, "wide", -1, NULL));
    created(stele_drop_function(conn, "or_zero", -1, NULL));
}

static void test_arrays_and_json(void **state) {
    (void)state;
    static const struct {
        const char *type, *value;
    } types[] = {{"boolean[]", "{t,NULL,f}"},
                 {"smallint[]", "{-5}"},
                 {"int[]", "{}"},
                 {"bigint[]", "{1,2,NULL}"},
                 {"int[]", "[0:1][2:4]={{1,2,3},{4,NULL,6}}"},

                 {"real[]", "{1.5,0}"},
                 {"double precision[]", "{NaN}"},
                 {"numeric(9,2)[]", "{1.25,NULL}"},
                 {"date[]", "{2024-02-29}"},
                 {"numeric(30,1)[]", "{-1.5}"},
                 {"interval[]", "{\"1 mon\",01:00:00}"},
                 {"timestamp[]", "{infinity}"},
                 {"time[]", "{24:00:00}"},
                 {"uuid[]", "{00112233-4455-6677-8899-aabbccddeeff}"}};
    char sql[300], rows[200];
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        created(scalar("same", types[i].type, types[i].type, same_array, 0, NULL));
        snprintf(sql, sizeof sql, "select same(x), same(x) = x from (values ('%s'::%s), (null)) as v (x)",
                 types[i].value, types[i].type);
        snprintf(rows, sizeof rows, "%s,t;NULL,NULL", types[i].value);
        gives(sql, rows);
        created(stele_drop_function(conn, "same", -1, NULL));
    }
    created(scalar("backwards", "text[]", "varchar(1)[]", backwards, 0, NULL));
    gives("select backwards('{a,NULL,no,\"\"}'), backwards('{}'::text[]), backwards(null)", "{\"\",NULL,no,a},{},NULL");
    gives("select backwards(array[s, 'x']), backwards(array[s, 'x']) = array['x', s] from t where a < 3",
          "{x,one},t;{x,none},t");
    gives("select count(distinct backwards(array[g::text])) from many", "7");
    gives("select backwards('{{a,b},{c,d}}')", "{{d,c},{b,a}}");
    fails("select backwards(array[1])", "42883", NULL, NULL);
    created(scalar("narrow", "bigint[]", "numeric(2,0)[]", same_array, 0, NULL));
    fails("select narrow(array[a, 100]) from t where a = 2", "22003", NULL, "function narrow({2,100})");
    created(scalar("timely", "bigint[]", "time[]", same_array, 0, NULL));
    fails("select timely('{-1}')", "22008", NULL, "function timely");
    created(scalar("misnamed", "text", "int[]", same_text, 0, NULL));
    gives("select misnamed('unset') = '{}'", "t");
    fails("select misnamed('x')", "42804", "the result is not of a text type", NULL);
    created(scalar("misnamed", "int[]", "text", same_array, 0, NULL));
    created(scalar("reshaped", "int[]", "int[]", same_array, 0, NULL));
    fails("select reshaped(array[1,2,3,4,5])", "22023", "the dimensions of an array do not have its elements", NULL);
    created(stele_drop_function(conn, "reshaped", -1, NULL));
    fails("select misnamed(array[1])", "42804", "the result is not of an array type", NULL);
    /* json */
    created(scalar("as_jsonb", "json", "jsonb", same_text, 0, NULL));
    created(scalar("as_json", "text", "json", same_text, 0, NULL));
    gives("select as_jsonb('{\"b\": 1, \"a\":[2 ,3]}'), as_jsonb(as_json(' [1] ')), as_json(null)",
          "{\"a\": [2, 3], \"b\": 1},[1],NULL");
    gives("select as_jsonb(x::json) -> 'k' from (values ('{\"k\": \"v\"}'), ('[]')) as v (x)", "\"v\";NULL");
    fails("select as_json('{')", "22P02", NULL, "function as_json({)");
    fails("select as_json('unset')", "22P02", "the result of type json was not set", NULL);
    for (int i = 0; i < 6; i++)
        created(stele_drop_function(
            conn, (const char *const[]){"backwards", "narrow", "timely", "misnamed", "as_jsonb", "as_json"}[i], -1,
            NULL));
}

static void test_overloads_and_dropping(void **state) {
    (void)state;
    static int64_t by_ten = 10, by_two = 2;
    int before = destroyed;
    created(scalar("plus", "bigint", "bigint", add_one, 0, &by_ten));
    created(scalar("plus", "text", "text", shout, 0, NULL));
    gives("select plus(1), plus('a'::text)", "11,A!");
    stele_stmt *stmt;
    assert_int_equal(stele_prepare(conn, "select plus(1) from t where a = 1", -1, &stmt, NULL), STELE_OK);
    assert_int_equal(stele_step(stmt), STELE_ROW);
    assert_int_equal(stele_column_int64(stmt, 0), 11);
    run("create view v as select plus(a) as b from t where a = 1");
    run("create function through(x bigint) returns bigint language sql as 'select plus(x)'");
    gives("select b, through(1) from v", "11,11");
    /* another one in its place: kept plans are made again */
    created(scalar("plus", "bigint", "bigint", add_one, 0, &by_two));
    stele_reset(stmt);
    assert_int_equal(stele_step(stmt), STELE_ROW);
    assert_int_equal(stele_column_int64(stmt, 0), 3);
    gives("select b, through(1) from v", "3,3");
    created(stele_drop_function(conn, "plus", 1, bigint));
    fails("select b from v", "42883", NULL, NULL);
    fails("select through(1)", "42883", NULL, NULL);
    gives("select plus('a'::text)", "A!");
    stele_reset(stmt);
    assert_int_equal(stele_step(stmt), STELE_ERROR);
    stele_finalize(stmt);
    created(scalar("plus", "bigint", "bigint", add_one, 0, &by_ten));
    gives("select b, through(1) from v", "11,11");
    run("drop view v; drop function through");
    created(stele_drop_function(conn, "plus", -1, NULL));
    run("select 1");
    stele_disconnect(other); /* plans that a connection keeps have their functions until then */
    assert_int_equal(stele_connect(db, &other), STELE_OK);
    assert_true(destroyed >= before + 2);
}

static void test_volatility(void **state) {
    (void)state;
    created(scalar("counted", NULL, "bigint", count_calls, STELE_FUNCTION_VOLATILE, NULL));
    created(scalar("once", NULL, "bigint", count_calls, 0, NULL));
    calls = 0;
    gives("select count(distinct counted()) from many", "20000");
    assert_int_equal(calls, 20000);
    gives("select count(distinct once()) from many", "1");
    created(scalar("alone", NULL, "bigint", count_calls, STELE_FUNCTION_VOLATILE | STELE_FUNCTION_ONE_THREAD, NULL));
    calls = 0;
    gives("select max(alone()) from many", "20000");
    /* in a bulk: one call at a time, with the reason */
    run("create table log (a bigint);"
        "create procedure put(x bigint) language plpgsql as $$ begin insert into log values (add_one(x)); end $$");
    stele_bulk *b;
    stele_bulk_info info;
    assert_int_equal(stele_bulk_new(conn, "put", &b), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"1"}), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"13"}), STELE_OK);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){"3"}), STELE_OK);
    assert_int_equal(stele_bulk_run(b), STELE_OK);
    stele_bulk_get_info(b, &info);
    assert_non_null(info.reason);
    if (!strstr(info.reason, "add_one() is a function of the client")) fail_msg("%s", info.reason);
    assert_int_equal(info.failed, 1);
    stele_bulk_free(b);
    gives("select a from log order by a", "2;4");
    run("drop procedure put; drop table log");
}

/* ---- aggregates -------------------------------------------------------------------------------- */

typedef struct Product {
    double value;
    int64_t n;
} Product;
static void product_init(void *data, void *state) {
    (void)data;
    ((Product *)state)->value = 1;
}
static stele_status product_update(stele_call *call, int64_t n, void *const *states, const stele_column *args) {
    const double *x = args[0].data;
    for (int64_t i = 0; i < n; i++) {
        Product *p = states[i];
        if (x[i] == -13) return stele_call_fail(call, i, "22023", "not that one");
        p->value *= x[i];
        p->n++;
    }
    return STELE_OK;
}
static stele_status product_combine(stele_call *call, int64_t n, void *const *into, const void *const *from) {
    (void)call;
    for (int64_t i = 0; i < n; i++) {
        ((Product *)into[i])->value *= ((const Product *)from[i])->value;
        ((Product *)into[i])->n += ((const Product *)from[i])->n;
    }
    return STELE_OK;
}
static stele_status product_finish(stele_call *call, int64_t n, const void *const *states, stele_result *result) {
    (void)call;
    for (int64_t i = 0; i < n; i++) {
        const Product *p = states[i];
        ((double *)result->data)[i] = p->value;
        result->valid[i] = p->n > 0;
    }
    return STELE_OK;
}
/* sum(a * b) of integers */
static stele_status dot_update(stele_call *call, int64_t n, void *const *states, const stele_column *args) {
    (void)call;
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)states[i] += ((const int64_t *)args[0].data)[i] * ((const int32_t *)args[1].data)[i];
    return STELE_OK;
}
static stele_status dot_combine(stele_call *call, int64_t n, void *const *into, const void *const *from) {
    (void)call;
    for (int64_t i = 0; i < n; i++) *(int64_t *)into[i] += *(const int64_t *)from[i];
    return STELE_OK;
}
static stele_status dot_finish(stele_call *call, int64_t n, const void *const *states, stele_result *result) {
    (void)call;
    for (int64_t i = 0; i < n; i++) ((int64_t *)result->data)[i] = *(const int64_t *)states[i];
    return STELE_OK;
}

/* The longest text of at most 39 bytes, as a text. */
static stele_status longest_update(stele_call *call, int64_t n, void *const *states, const stele_column *args) {
    const stele_string *in = args[0].data;
    (void)call;
    for (int64_t i = 0; i < n; i++) {
        char *s = states[i];
        if (in[i].size <= strlen(s) || in[i].size > 39) continue;
        memcpy(s, in[i].data, in[i].size);
        s[in[i].size] = 0;
    }
    return STELE_OK;
}
static stele_status longest_combine(stele_call *call, int64_t n, void *const *into, const void *const *from) {
    (void)call;
    for (int64_t i = 0; i < n; i++)
        if (strlen(from[i]) > strlen(into[i])) memcpy(into[i], from[i], 40);
    return STELE_OK;
}
static stele_status longest_finish(stele_call *call, int64_t n, const void *const *states, stele_result *result) {
    for (int64_t i = 0; i < n; i++)
        if (stele_call_set_text(call, result, i, states[i], -1) != STELE_OK) return STELE_ERROR;
    return STELE_OK;
}
/* How long the arrays are together; the memory is not needed. */
static stele_status sizes_update(stele_call *call, int64_t n, void *const *states, const stele_column *args) {
    if (!stele_call_alloc(call, 100)) return STELE_ERROR;
    for (int64_t i = 0; i < n; i++) *(int64_t *)states[i] += ((const stele_array *)args[0].data)[i].n;
    return STELE_OK;
}
/* text_1(int_1)text_2(int_2).. */
static stele_status glue_group(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const stele_string *words = args[0].data;
    char *out = stele_call_alloc(call, 40 * n + 1), *at = out;
    if (!out) return STELE_ERROR;
    for (int64_t i = 0; i < n; i++) {
        if (words[i].size > 20) return stele_call_fail(call, i, "22023", "too long to be glued");
        at += sprintf(at, "%.*s(%d)", (int)words[i].size, words[i].data, ((const int32_t *)args[1].data)[i]);
    }
    return stele_call_set_text(call, result, 0, out, at - out);
}
/* Arrays in, the array of their first elements out. */
static stele_status firsts_group(stele_call *call, int64_t n, const stele_column *args, stele_result *result) {
    const stele_array *in = args[0].data;
    int64_t *out = stele_call_alloc(call, 8 * n);
    unsigned char *valid = stele_call_alloc(call, n);
    if (!out || !valid) return STELE_ERROR;
    for (int64_t i = 0; i < n; i++) {
        valid[i] = in[i].n > 0 && (!in[i].valid || in[i].valid[0]);
        out[i] = valid[i] ? *(const int64_t *)in[i].data : 0;
    }
    return stele_call_set_array(call, result, 0, &(stele_array){out, valid, n, (stele_dim[]){{(int32_t)n, 0}}, 1});
}

static void test_aggregates_by_groups(void **state) {
    (void)state;
    static const char *const texts[9] = {"text", "int", "int", "int", "int", "int", "int", "int", "int"},
                             *const arrays[] = {"bigint[]"};
    stele_aggregate longest = {.name = "longest",
                               .n_params = 1,
                               .param_types = text,
                               .result_type = "text",
                               .state_size = 40,
                               .update = longest_update,
                               .combine = longest_combine,
                               .finish = longest_finish};
    stele_aggregate sizes = {.name = "sizes",
                             .n_params = 1,
                             .param_types = arrays,
                             .result_type = "bigint",
                             .state_size = 8,
                             .update = sizes_update,
                             .combine = dot_combine,
                             .finish = dot_finish};
    stele_aggregate glue = {
        .name = "glue", .n_params = 2, .param_types = texts, .result_type = "text", .group = glue_group};
    stele_aggregate firsts = {
        .name = "firsts", .n_params = 1, .param_types = arrays, .result_type = "bigint[]", .group = firsts_group};
    created(stele_create_aggregate(conn, &longest));
    created(stele_create_aggregate(conn, &sizes));
    created(stele_create_aggregate(conn, &glue));
    created(stele_create_aggregate(conn, &firsts));
    gives("select longest(s), longest(s) filter (where g = 1), longest(s) is null from t", "none,one,f");
    gives("select g, longest(s), longest(distinct s) from t group by g order by g", "1,one,one;2,none,none");
    gives("select longest(s) over (order by a) from t order by a", "one;none;none;none");
    gives("select longest(x) = repeat('x', 39) from (select repeat('x', i % 40) as x from generate_series(1, 9000) as "
          "i) as y",
          "t");
    gives("select count(l), sum(length(l)) from (select longest(a::text) as l from many group by a % 5000) as x",
          "5000,25000");
    gives("select sizes(array[a, null, 3]) from t", "12");
    gives("select sizes(array[]::bigint[]), sizes(null) from t", "0,0");
    /* by groups: in order, NULLs left out, of no rows too */
    gives("select glue(s, g order by a desc), glue(s, g order by s, a) from t", "(2)none(2)one(1),(2)none(2)one(1)");
    gives("select g, glue(s, 0 order by a) from t group by g order by g", "1,one(0);2,none(0)(0)");
    gives("select glue(s, g) from t where false", "");
    gives("select glue(x, 1), glue(distinct x, 1), glue(distinct x, 1 order by x desc) from "
          "(values ('b'), ('a'), ('b')) as v (x)",
          "b(1)a(1)b(1),a(1)b(1),b(1)a(1)");
    gives("select glue(s, g order by a) filter (where a < 4) from t", "one(1)none(2)");
    gives("select glue(s, g) over (order by a rows between 1 preceding and current row) from t where a is not null "
          "order by a",
          "one(1);one(1)none(2);none(2)(2)");
    gives("select glue(s, g order by a) from t group by grouping sets ((), (g)) having count(*) > 0 order by 1",
          "none(2)(2);one(1);one(1)none(2)(2)");
    gives("select t.a, (select glue(x.s, x.g order by x.a) from t as x where x.g = t.a) from t order by a",
          "1,one(1);2,none(2)(2);4,;NULL,");
    gives("select firsts(array[a, 7] order by a), firsts(array[]::bigint[]), firsts(null) from t",
          "[0:3]={1,2,4,NULL},[0:3]={NULL,NULL,NULL,NULL},{}");
    gives("select sum(length(x)) from (select glue('ab', g order by a) as x from many group by a % 3000) as x",
          "100000");
    /* states in order */
    gives("select product(a::float8 order by a), dot(a, 2 order by s, a) from t", "8,14");
    fails("select glue(repeat('x', 21), 1)", "22023", "too long to be glued", "aggregate glue");
    fails("select glue(s, g order by a) over () from t", "0A000", NULL, NULL);
    fails("select glue(distinct s, g order by a) from t", "42P10", NULL, NULL);
    fails("select product(a::float8 - 14 order by a) from t", "22023", "not that one", "aggregate product");
    longest.init = product_init;
    longest.group = glue_group;
    refused(stele_create_aggregate(conn, &longest), "22023");
    glue.n_params = 9;
    refused(stele_create_aggregate(conn, &glue), "0A000");
}

static void test_aggregates(void **state) {
    (void)state;
    static const char *const one[] = {"double precision"}, *const two[] = {"bigint", "int"};
    stele_aggregate product = {.name = "product",
                               .n_params = 1,
                               .param_types = one,
                               .result_type = "double precision",
                               .state_size = (int64_t)sizeof(Product),
                               .init = product_init,
                               .update = product_update,
                               .combine = product_combine,
                               .finish = product_finish,
                               .destroy = destroy};
    stele_aggregate dot = {.name = "dot",
                           .n_params = 2,
                           .param_types = two,
                           .result_type = "bigint",
                           .state_size = 8,
                           .update = dot_update,
                           .combine = dot_combine,
                           .finish = dot_finish};
    created(stele_create_aggregate(conn, &product));
    created(stele_create_aggregate(conn, &dot));
    test_aggregates_by_groups(state);
    gives("select product(a), dot(a, g) from t", "8,13");
    gives("select g, product(a), dot(a, g), count(*) from t group by g order by g", "1,1,1,2;2,8,12,2");
    gives("select product(a) filter (where a > 1), product(distinct g) from t", "8,2");
    gives("select product(a), dot(a, g) from t where false", "NULL,0");
    gives("select product(a) over (order by a), dot(a, 2) over (partition by g) from t order by a",
          "1,2;2,12;8,12;8,2");
    gives("select product(a) over (order by a rows between 1 preceding and current row) from t where a is not null "
          "order by a",
          "1;2;8");
    gives("select dot(a, g) = sum(a * g) from many", "t");
    gives(
        "select bool_and(d = s), count(*) from (select dot(a, g) as d, sum(a * g) as s from many group by a % 5000) x",
        "t,5000");
    gives("select count(*) from (select g from many group by g having dot(a, 1) = sum(a)) as x", "7");
    gives("select (select product(x.a) from t as x where x.g = t.g) from t where a = 4", "8");
    gives("select product(a) from t group by grouping sets ((), (g)) order by 1", "1;8;8");
    run("create view pv as select product(a) as p from t");
    gives("select p from pv", "8");
    fails("select product(-13)", "22023", "not that one", "aggregate product");
    fails("select a from t where product(a) > 1", "42803", NULL, NULL);
    fails("select product('x'::text) from t", "42883", NULL, NULL);
    fails("select product(a, 1) from t", "42883", NULL, NULL);
    refused(scalar("product", "int", "int", or_zero, 0, NULL), "42723");
    dot.state_size = 0;
    refused(stele_create_aggregate(conn, &dot), "22023");
    dot.state_size = 8;
    dot.group = glue_group;
    refused(stele_create_aggregate(conn, &dot), "22023");
    dot.group = NULL;
    dot.n_params = 0;
    refused(stele_create_aggregate(conn, &dot), "0A000");
    /* groups that go to disk */
    gives("select count(*), sum(p) from (select product(1.0) as p from generate_series(1, 30000) as i group by i) as x",
          "30000,30000");
    created(stele_drop_function(conn, "product", -1, NULL));
    fails("select p from pv", "42883", NULL, NULL);
    run("drop view pv");
}

/* ---- no memory --------------------------------------------------------------------------------- */

static void test_no_memory(void **state) {
    (void)state;
    stele_error_info e;
    char got[API_TEXT];
    for (int64_t step = 1;; step += step < 60 ? 1 : 7) {
        stele_drop_function(conn, "scarce", -1, NULL);
        mem_fail_at(step);
        stele_status made = scalar("scarce", "text", "text", shout, 0, NULL);
        got[0] = 0;
        stele_status ran = made == STELE_OK
                               ? stele_exec(conn,
                                            "select scarce(s), (select glue(s, g order by a) || longest(s) || "
                                            "firsts(array[g])::text from t) from t where a < 2",
                                            api_keep, got)
                               : STELE_ERROR;
        bool over = mem_fail_at(0) > 0;
        if (ran != STELE_OK) {
            stele_error(conn, &e);
            if (strcmp(e.sqlstate, "53200") != 0) fail_msg("step %lld: %s %s", (long long)step, e.sqlstate, e.message);
        } else {
            assert_string_equal(got, "ONE!,one(1)none(2)(2)none[0:3]={1,2,1,2}");
        }
        if (over) {
            assert_int_equal(ran, STELE_OK);
            assert_true(step > 20);
            break;
        }
    }
    created(stele_drop_function(conn, "scarce", -1, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar),          cmocka_unit_test(test_errors),
        cmocka_unit_test(test_nulls_and_types), cmocka_unit_test(test_overloads_and_dropping),
        cmocka_unit_test(test_arrays_and_json), cmocka_unit_test(test_volatility),
        cmocka_unit_test(test_aggregates),      cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests_name("functions", tests, set_up, tear_down);
}
