/* test_bulk_beside.c - what runs beside bulks on the tables that they use: merges, and readers of all kinds when memory
 * gives out at any step. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stele/stele.h"
#include "unit.h"

static stele_db *db;
static stele_conn *conn, *reader;

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static bool number_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)names;
    *(int64_t *)ctx = v[0] ? strtoll(v[0], NULL, 10) : INT64_MIN;
    return false;
}
static int64_t number(stele_conn *c, const char *sql) {
    int64_t x = -1;
    if (stele_exec(c, sql, number_row, &x) != STELE_OK) run(c, sql);
    return x;
}
static int open_db(void **state) {
    (void)state;
    stele_options o = {.threads = 2};
    return stele_open(NULL, &o, &db, NULL) == STELE_OK && stele_connect(db, &conn) == STELE_OK &&
                   stele_connect(db, &reader) == STELE_OK
               ? 0
               : -1;
}
static int close_db(void **state) {
    (void)state;
    stele_disconnect(conn);
    stele_disconnect(reader);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

/* ---- merges ---- */
/* Rows outside of packed tablets. */
#define LOOSE "select coalesce(sum(rows), 0) from stele_tablets where table_name = 'line' and form <> 'packed'"
enum { ROWS = 120000, IDLE = 16 /* IMAGES_IDLE */ };
static void insert_rows(int64_t from) {
    char sql[200];
    snprintf(sql, sizeof sql, "call bulk_call('put', 'select i from generate_series(%lld, %lld) g(i)')",
             (long long)from, (long long)(from + ROWS - 1));
    run(conn, sql);
}
/* The table is not merged as long as bulks use it, however much they insert and others read; when they do not any more,
 * it is, and so it is when most rows of it are gone. */
static void merges(void **state) {
    (void)state;
    run(conn, "create table line(n int, at int); create table other(a int); create procedure put(i int) language "
              "plpgsql as $$ begin insert into line values (i, i % 7); end $$");
    for (int64_t k = 0; k < 3; k++) {
        insert_rows(1 + k * ROWS);
        assert_int_equal(number(conn, "select count(*) from line"), (k + 1) * ROWS); /* the table has them */
        run(conn, "insert into other values (1)"); /* ends with a merge where one is due */
        assert_int_equal(number(conn, LOOSE), (k + 1) * ROWS);
    }
    for (int i = 0; i < IDLE; i++) run(conn, "insert into other values (1)");
    assert_int_equal(number(conn, LOOSE), 0);
    insert_rows(1 + 3 * ROWS);
    assert_int_equal(number(conn, "select count(*) from line"), 4 * ROWS);
    run(conn, "insert into other values (1)");
    assert_int_equal(number(conn, LOOSE), ROWS);
    run(conn, "delete from line where n % 10 <> 0");
    assert_int_equal(number(conn, LOOSE), 0);
    assert_int_equal(number(conn, "select count(*) from line"), 4 * ROWS / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(merges, open_db, close_db)};
    return cmocka_run_group_tests_name("bulks beside others", tests, NULL, NULL);
}
