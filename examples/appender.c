/* appender.c - many rows into a table: values of several types, a default, a whole record batch of one's own arrays
 * would go in by stele_append_arrow, and what a failure leaves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <stele/stele.h>

static stele_conn *conn;

static void check(stele_status st) {
    stele_error_info e;
    if (st == STELE_OK) return;
    stele_error(conn, &e);
    fprintf(stderr, "%s %s (%s)\n", e.sqlstate, e.message, e.context);
    exit(1);
}

static bool print_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)ctx, (void)names;
    for (int64_t i = 0; i < n; i++) printf("%s%s", i ? " | " : "", values[i] ? values[i] : "NULL");
    printf("\n");
    return false;
}

int main(void) {
    stele_db *db;
    stele_appender *rows;
    stele_error_info e;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;
    check(stele_exec(conn,
                     "create table measurement (id bigint primary key, place text not null default 'lab', "
                     "value double precision, taken timestamp, tags text[])",
                     NULL, NULL));

    check(stele_appender_new(conn, "measurement", 0, NULL, &rows));
    for (int64_t i = 0; i < 100000; i++) {
        const stele_value taken = {.type = STELE_TYPE_TIMESTAMP, .u.i64 = i * 1000000}; /* a second each */
        const stele_value words[] = {{.type = STELE_TYPE_TEXT, .u.text = {"a, b", -1}}, {.type = STELE_TYPE_NULL}};
        const stele_value tags = {.type = STELE_TYPE_ARRAY, .u.array = {words, 2}};
        check(stele_append_int64(rows, i));
        check(i % 2 ? stele_append_default(rows) : stele_append_text(rows, "roof", -1));
        check(i % 1000 ? stele_append_double(rows, (double)i / 4) : stele_append_null(rows));
        check(stele_append_value(rows, &taken));
        check(i < 2 ? stele_append_value(rows, &tags) : stele_append_null(rows));
        check(stele_append_end_row(rows));
    }
    check(stele_appender_flush(rows));
    printf("%" PRId64 " rows\n", stele_appender_rows(rows));

    /* A flush is one statement: it takes all its rows or none. */
    check(stele_append_int64(rows, 7));
    for (int i = 0; i < 4; i++) check(stele_append_default(rows));
    check(stele_append_end_row(rows));
    if (stele_appender_flush(rows) != STELE_OK) {
        stele_error(conn, &e);
        printf("%s %s\n  %s\n  %s\n", e.sqlstate, e.message, e.detail, e.context);
    }
    stele_appender_free(rows);

    check(stele_exec(conn,
                     "select place, count(*), count(value), min(taken), max(tags) from measurement group by place "
                     "order by place",
                     print_row, NULL));
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
