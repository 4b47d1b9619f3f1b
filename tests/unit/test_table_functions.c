/* test_table_functions.c - table functions of the client: with constants, as streams, and with anything else, for each
 * row of arguments.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "unit_api.h"

static stele_db *db;
static stele_conn *conn;

static void run(const char *sql) { api_run(conn, sql); }
static void fails(const char *sql, const char *sqlstate, const char *message, const char *context) {
    const stele_error_info e = api_fails(conn, sql, sqlstate);
    if (message) assert_string_equal(e.message, message);
    if (context && !strstr(e.context, context)) fail_msg("%s: context \"%s\" lacks \"%s\"", sql, e.context, context);
}
static void gives(const char *sql, const char *rows) { api_gives(conn, sql, rows); }
static void created(stele_status st) { api_ok(conn, st, "a function"); }

static int destroyed;
static void destroy(void *data) {
    (void)data;
    destroyed++;
}

static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", &(stele_options){.threads = 2}, &db, NULL) != STELE_OK ||
        stele_connect(db, &conn) != STELE_OK)
        return -1;
    run("create table t (a bigint, s text, g int);"
        "insert into t values (1, 'one', 1), (2, 'none', 2), (null, null, 1), (4, '', 2)");
    run("create table many as select i as a, i % 7 as g from generate_series(101, 20100) as i");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

typedef struct Series {
    int64_t from, to, step;
} Series;
static _Atomic int bound_now, scans_now; /* by several threads */
static bool last_wanted[3];
static stele_status series_bind(stele_call *call, int64_t n_args, const stele_value *args, stele_columns *columns,
                                void **bound) {
    assert_int_equal(n_args, 3);
    Series *s = malloc(sizeof *s);
    *s = (Series){args[0].u.i64, args[1].u.i64, args[2].type == STELE_TYPE_NULL ? 1 : args[2].u.i64};
    *bound = s;
    bound_now++;
    if (s->step == 0) return stele_call_fail(call, -1, "22023", "a step of zero");
    if (stele_columns_add(columns, "n", "bigint") != STELE_OK || stele_columns_add(columns, "name", "text") != STELE_OK)
        return STELE_ERROR;
    return stele_columns_add(columns, "half", s->step == 99 ? "no_such" : "numeric(12,1)");
}
static void series_free(void *bound) {
    bound_now--;
    free(bound);
}
static stele_status series_begin(stele_call *call, void *bound, int64_t n_columns, const bool *wanted, void **scan) {
    (void)call;
    assert_int_equal(n_columns, 3);
    memcpy(last_wanted, wanted, sizeof last_wanted);
    Series *s = malloc(sizeof *s);
    *s = *(Series *)bound;
    scans_now++;
    *scan = s;
    return STELE_OK;
}
static stele_status series_next(stele_call *call, void *scan, int64_t room, stele_result *columns, int64_t *n) {
    Series *s = scan;
    char name[40];
    for (; *n < room && s->from <= s->to; s->from += s->step, ++*n) {
        if (s->from == 77777) return stele_call_fail(call, *n, "22023", "seventy-seven");
        ((int64_t *)columns[0].data)[*n] = s->from;
        columns[0].valid[*n] = s->from % 5 != 0;
        snprintf(name, sizeof name, "row %lld", (long long)s->from);
        if (stele_call_set_text(call, &columns[1], *n, name, -1) != STELE_OK) return STELE_ERROR;
        ((int64_t *)columns[2].data)[*n] = s->from * 5;
    }
    return STELE_OK;
}
static void series_end(void *scan) {
    scans_now--;
    free(scan);
}

/* items(list, repeat): the list's items, `repeat` times, with the rest of the list */
typedef struct Items {
    const stele_value *list;
    int64_t n, at, end;
} Items;
static stele_status items_bind(stele_call *call, int64_t n_args, const stele_value *args, stele_columns *columns,
                               void **bound) {
    if (args) {
        assert_int_equal(n_args, 2);
        if (args[1].u.i64 < 0) return stele_call_fail(call, -1, "22023", "less than never");
        Items *x = malloc(sizeof *x);
        *x = (Items){.n = args[0].type == STELE_TYPE_ARRAY ? args[0].u.array.n : 0};
        x->list = x->n ? args[0].u.array.items : NULL;
        x->end = x->n * args[1].u.i64;
        *bound = x;
        bound_now++;
    }
    bool other = args && args[1].u.i64 == 99;
    if (stele_columns_add(columns, "item", "text") != STELE_OK ||
        stele_columns_add(columns, "rest", other ? "int[]" : "text[]") != STELE_OK)
        return STELE_ERROR;
    return stele_columns_add(columns, "doc", "jsonb");
}
static stele_status items_begin(stele_call *call, void *bound, int64_t n_columns, const bool *wanted, void **scan) {
    (void)call, (void)n_columns, (void)wanted;
    Items *x = malloc(sizeof *x);
    *x = *(Items *)bound;
    scans_now++;
    *scan = x;
    return STELE_OK;
}
static stele_status items_next(stele_call *call, void *scan, int64_t room, stele_result *columns, int64_t *n) {
    Items *x = scan;
    stele_string *rest = stele_call_alloc(call, x->n * (int64_t)sizeof *rest);
    if (!rest) return STELE_ERROR;
    for (; *n < room && x->at < x->end; x->at++, ++*n) {
        int64_t at = x->at % x->n;
        const stele_value *v = &x->list[at];
        for (int64_t k = at + 1; k < x->n; k++)
            rest[k - at - 1] = (stele_string){x->list[k].u.text.data, (uint32_t)x->list[k].u.text.size, 0};
        columns[2].valid[*n] = columns[0].valid[*n] = v->type != STELE_TYPE_NULL;
        if (v->type != STELE_TYPE_NULL &&
            (stele_call_set_text(call, &columns[0], *n, v->u.text.data, v->u.text.size) != STELE_OK ||
             stele_call_set_text(call, &columns[2], *n, x->at ? "[ 1]" : "{}", -1) != STELE_OK))
            return STELE_ERROR;
        const stele_array list = {.data = rest, .n = x->n - at - 1};
        if (stele_call_set_array(call, &columns[1], *n, &list) != STELE_OK) return STELE_ERROR;
    }
    return STELE_OK;
}
static stele_status upto_bind(stele_call *call, int64_t n_args, const stele_value *args, stele_columns *columns,
                              void **bound) {
    Series *s = malloc(sizeof *s);
    (void)call, (void)n_args;
    *s = (Series){1, args ? args[0].u.i64 : 0, 1};
    *bound = s;
    bound_now++;
    return stele_columns_add(columns, "n", "bigint");
}
static stele_status upto_begin(stele_call *call, void *bound, int64_t n_columns, const bool *wanted, void **scan) {
    (void)call, (void)n_columns, (void)wanted;
    Series *s = malloc(sizeof *s);
    *s = *(Series *)bound;
    scans_now++;
    *scan = s;
    return STELE_OK;
}
static stele_status upto_next(stele_call *call, void *scan, int64_t room, stele_result *columns, int64_t *n) {
    Series *s = scan;
    (void)call;
    for (; *n < room && s->from <= s->to; ++*n) ((int64_t *)columns[0].data)[*n] = s->from++;
    return STELE_OK;
}

static void test_tables(void **state) {
    (void)state;
    static const char *const types[] = {"bigint", "bigint", "int"}, *const names[] = {"first", "last", "step"};
    stele_table_function f = {.name = "steps",
                              .n_params = 3,
                              .param_types = types,
                              .param_names = names,
                              .bind = series_bind,
                              .free_bound = series_free,
                              .begin = series_begin,
                              .next = series_next,
                              .end = series_end,
                              .destroy = destroy};
    created(stele_create_table_function(conn, &f));
    gives("select * from steps(1, 6, 2)", "1,row 1,0.5;3,row 3,1.5;NULL,row 5,2.5");
    gives("select s.name from steps(step => 3, first => -1, last => 2) as s order by half desc", "row 2;row -1");
    assert_true(!last_wanted[0] && last_wanted[1] && last_wanted[2]);
    gives("select count(*), count(n), sum(half) from steps(1, 70000, null)", "70000,56000,1225017500.0");
    gives("select count(*) from steps(1, 3, null) a join steps(2, 9, null) b using (n)", "2");
    gives("select count(*) from steps(2, 1, null)", "0");
    gives("select n from steps(1, 80000, null) limit 1", "1");
    /* a streaming result asks for rows as it is read: it never comes to the one that fails */
    stele_stmt *s;
    assert_int_equal(stele_prepare(conn, "select n, name from steps(1, 9000000000000000000, null)", -1, &s, NULL),
                     STELE_OK);
    stele_set_stream(s, true);
    for (int i = 0; i < 3; i++) assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_column_int64(s, 0), 3);
    assert_int_equal(stele_row_count(s), -1);
    stele_finalize(s);
    run("create view sv as select n from steps(1, 3, null)");
    gives("select sum(n) from sv", "6");
    fails("select * from steps(1, 80000, null)", "22023", "seventy-seven", "function steps");
    fails("select * from steps(1, 2, 0)", "22023", "a step of zero", "function steps");
    fails("select * from steps(1, 2, 99)", "42704", NULL, NULL);
    fails("select * from steps(1, 2)", "42883", NULL, NULL);
    fails("select * from steps(1, 2, other => 2)", "42883", NULL, NULL);
    fails("select * from t, steps(a, 2, 1)", "0A000", NULL, NULL);
    fails("select steps(1, 2, 1)", "0A000", NULL, NULL);
    fails("select * from steps($1, 2, 1)", "0A000", "arguments of table function steps must be constants", NULL);
    gives("select n, ordinality from steps(1, 2, 1) with ordinality", "1,1;2,2");
    gives("select * from rows from (steps(1, 2, 1), generate_series(7, 9))",
          "1,row 1,0.5,7;2,row 2,1.0,8;NULL,NULL,NULL,9");
    run("drop view sv");
    run("select 1");
    assert_int_equal(scans_now, 0);
    created(stele_drop_function(conn, "steps", -1, NULL));
    assert_int_equal(bound_now, 0);
    fails("select * from steps(1, 2, 1)", "42883", NULL, NULL);
}

static void test_no_memory(void) {
    stele_error_info e;
    for (int64_t step = 1;; step += step < 40 ? 1 : 7) {
        char got[API_TEXT] = "";
        mem_fail_at(step);
        stele_status st =
            stele_exec(conn, "select item, rest from t, items(array[s, s], g) where a = 1", api_keep, got);
        bool over = mem_fail_at(0) > 0;
        if (st != STELE_OK) {
            stele_error(conn, &e);
            if (strcmp(e.sqlstate, "53200") != 0) fail_msg("step %lld: %s %s", (long long)step, e.sqlstate, e.message);
        } else {
            assert_string_equal(got, "one,{one};one,{}");
        }
        assert_int_equal(scans_now, 0);
        if (over) break;
    }
}

/* Arguments that are no constants. */
static void test_lateral(void **state) {
    (void)state;
    static const char *const types[] = {"text[]", "int"}, *const names[] = {"list", "repeat"};
    stele_table_function items = {.name = "items",
                                  .n_params = 2,
                                  .param_types = types,
                                  .param_names = names,
                                  .flags = STELE_FUNCTION_LATERAL,
                                  .bind = items_bind,
                                  .free_bound = series_free,
                                  .begin = items_begin,
                                  .next = items_next,
                                  .end = series_end};
    stele_table_function upto = {.name = "upto",
                                 .n_params = 1,
                                 .param_types = (const char *const[]){"bigint"},
                                 .flags = STELE_FUNCTION_LATERAL,
                                 .bind = upto_bind,
                                 .free_bound = series_free,
                                 .begin = upto_begin,
                                 .next = upto_next,
                                 .end = series_end};
    created(stele_create_table_function(conn, &items));
    created(stele_create_table_function(conn, &upto));
    gives("select * from items(array['a', null, 'b'], 1)", "a,{\"\",b},{};NULL,{b},NULL;b,{},[1]");
    gives("select a, u.n from t, upto(a) as u where u.n <> 2 order by a, u.n", "1,1;2,1;4,1;4,3;4,4");
    gives("select a, item, rest from t left join lateral items(array[s, 'x'], g) on item <> '' where a < 3 order by a, "
          "item, rest",
          "1,one,{x};1,x,{};2,none,{x};2,none,{x};2,x,{};2,x,{}");
    gives("select sum(n), count(*) from many, upto(g)", "159998,60000");
    gives("select count(*), max(n) from upto((select 1000 + count(*) from t))", "1004,1004");
    gives("select upto(2), upto(a) from t where a = 1", "1,1;2,NULL");
    gives("select x.n, x.o from t, upto(a) with ordinality as x (n, o) where a = 2", "1,1;2,2");
    gives("select * from items(repeat => 1, list => (select array_agg(s order by s) from t where a > 1))",
          ",{none},{};none,{},[1]");
    run("prepare q as select count(*), min(item) from items($1, $2)");
    gives("execute q('{p,q}', 3)", "6,p");
    gives("execute q(null, 3)", "0,NULL");
    fails("execute q('{p}', -1)", "22023", "less than never", "function items");
    fails("execute q('{p}', 99)", "42804", NULL, NULL);
    run("deallocate q");
    fails("select items('{a}', 1)", "0A000", NULL, NULL);
    fails("select * from t where upto(a) > 1", "0A000", NULL, NULL);
    test_no_memory();
    run("select 1");
    assert_int_equal(scans_now, 0);
    created(stele_drop_function(conn, "items", -1, NULL));
    created(stele_drop_function(conn, "upto", -1, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables), cmocka_unit_test(test_lateral)};
    return cmocka_run_group_tests_name("table functions", tests, set_up, tear_down);
}
