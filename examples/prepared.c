/* prepared.c - prepared statements: parameters, types of columns, rows, a transaction that is tried again. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <stele/stele.h>

static stele_conn *conn;

/* Reports the connection's last error. */
static int complain(void) {
    stele_error_info e;
    stele_error(conn, &e);
    fprintf(stderr, "%s: %s\n", e.sqlstate, e.message);
    return 1;
}

/* A statement is prepared once and run often: bind, step, reset. */
static stele_status fill(stele_stmt *insert) {
    static const struct {
        const char *item;
        double price;
        int64_t pieces;
    } rows[] = {{"screw", 0.05, 1200}, {"hammer", 14.9, 7}, {"saw", 22.5, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stele_bind_text(insert, 1, rows[i].item, -1);
        stele_bind_double(insert, 2, rows[i].price);
        stele_bind_int64(insert, 3, rows[i].pieces);
        if (stele_run(insert) != STELE_DONE) return STELE_ERROR;
        stele_reset(insert);
    }
    stele_bind_text(insert, 1, "nail", -1);
    stele_bind_null(insert, 2);
    stele_bind_int64(insert, 3, 0);
    return stele_run(insert);
}

/* Transactions are serialisable: one that conflicts with another fails with 40001 and is tried again. Other errors are
 * printed. */
static void sell(int64_t pieces, const char *item) {
    stele_stmt *update = NULL;
    if (stele_prepare(conn, "update stock set pieces = pieces - $1 where item = $2", -1, &update, NULL) != STELE_OK) {
        complain();
        return;
    }
    stele_bind_int64(update, 1, pieces);
    stele_bind_text(update, 2, item, -1);
    for (int tries = 0; tries < 10; tries++) {
        stele_status st = stele_exec(conn, "begin", NULL, NULL);
        if (st == STELE_OK) st = stele_run(update) == STELE_DONE ? STELE_OK : STELE_ERROR;
        if (st == STELE_OK) st = stele_exec(conn, "commit", NULL, NULL);
        if (st == STELE_OK) break;
        stele_error_info e;
        stele_error(conn, &e); /* until the connection's next call */
        bool again = strcmp(e.sqlstate, "40001") == 0;
        if (!again) printf("%d pieces of %s: %s %s\n", (int)pieces, item, e.sqlstate, e.message);
        if (stele_transaction_state(conn) != 'I') stele_exec(conn, "rollback", NULL, NULL);
        if (!again) break;
        stele_reset(update);
    }
    stele_finalize(update);
}

int main(void) {
    stele_db *db;
    stele_stmt *s = NULL;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;
    if (stele_exec(conn,
                   "create table stock (item text primary key, price numeric(10,2), pieces bigint check (pieces >= 0))",
                   NULL, NULL) != STELE_OK)
        return complain();
    if (stele_prepare(conn, "insert into stock values ($1, $2, $3)", -1, &s, NULL) != STELE_OK) return complain();
    if (fill(s) != STELE_DONE) return complain();
    stele_finalize(s);
    sell(2, "saw");
    sell(5, "saw");

    if (stele_prepare(conn,
                      "select item, price, pieces, price * pieces as worth from stock where pieces < $1 order by item",
                      -1, &s, NULL) != STELE_OK)
        return complain();
    for (int64_t i = 0; i < stele_column_count(s); i++)
        printf("%s %s\n", stele_column_name(s, i), stele_column_type(s, i));
    stele_bind_int64(s, 1, 1000);
    stele_status st;
    while ((st = stele_step(s)) == STELE_ROW) {
        const char *worth = stele_column_text(s, 3, NULL); /* any type has a text; NULL is NULL */
        printf("%s: %" PRId64 " at %.2f = %s\n", stele_column_text(s, 0, NULL), stele_column_int64(s, 2),
               stele_column_double(s, 1), worth ? worth : "?");
    }
    if (st == STELE_ERROR) return complain();
    stele_finalize(s);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
