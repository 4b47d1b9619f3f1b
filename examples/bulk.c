/* bulk.c - a bulk: many calls of a procedure, run in parallel, with exactly the result of running them one by one. */
#include <inttypes.h>
#include <stdio.h>
#include <stele/stele.h>

enum { ACCOUNTS = 1000, CALLS = 50000 };

static stele_conn *conn;

static int complain(void) {
    stele_error_info e;
    stele_error(conn, &e);
    fprintf(stderr, "%s: %s\n", e.sqlstate, e.message);
    return 1;
}
static bool print_row(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)ctx;
    for (int64_t i = 0; i < n; i++) printf("%s%s %s", i ? ", " : "", names[i], values[i] ? values[i] : "NULL");
    putchar('\n');
    return false;
}

int main(void) {
    static int32_t from[CALLS], to[CALLS];
    static int64_t amount[CALLS];
    stele_db *db;
    stele_bulk *bulk;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;
    if (stele_exec(conn,
                   "create table account (id int primary key, balance bigint not null check (balance >= 0));"
                   "insert into account select i, 1000 from generate_series(0, 999) as i;"
                   "create procedure transfer(a int, b int, amount bigint, out left_over bigint) language plpgsql as $$"
                   "declare have bigint;"
                   "begin"
                   "  select balance into have from account where id = a;"
                   "  if have is null then raise exception 'there is no account %', a; end if;"
                   "  left_over := have - amount;"
                   "  update account set balance = left_over where id = a;"
                   "  update account set balance = balance + amount where id = b;"
                   "end $$",
                   NULL, NULL) != STELE_OK)
        return complain();

    /* Arguments as columns: no texts, no calls by row. */
    for (int i = 0; i < CALLS; i++) {
        from[i] = (int32_t)((int64_t)i * 7919 % (ACCOUNTS + 1)); /* account 1000 is not there */
        to[i] = (int32_t)((int64_t)i * 104729 % ACCOUNTS);
        amount[i] = i % 400;
    }
    if (stele_bulk_new(conn, "transfer", &bulk) != STELE_OK) return complain();
    if (stele_bulk_add_columns(bulk, CALLS, (const void *const[]){from, to, amount}, NULL) != STELE_OK)
        return complain();
    if (stele_bulk_run(bulk) != STELE_OK) return complain();

    /* Each call has succeeded or failed alone. A call that failed has changed nothing. */
    int64_t poor = 0, unknown = 0, shown = 0;
    for (int64_t i = 0; i < stele_bulk_count(bulk); i++) {
        stele_error_info e;
        if (stele_bulk_status(bulk, i, &e) == STELE_OK) continue;
        if (e.constraint_name[0]) poor++;
        else unknown++;
        if (shown++ == 0) printf("call %" PRId64 ": %s %s\n", i, e.sqlstate, e.message);
    }
    printf("call 1 left %s\n", stele_bulk_value(bulk, 1, 0, NULL));
    stele_bulk_info info;
    stele_bulk_get_info(bulk, &info);
    printf("%" PRId64 " calls, %" PRId64 " failed: %" PRId64 " accounts not there, %" PRId64 " without the money\n",
           info.calls, info.failed, unknown, poor);
    if (stele_exec(conn, "select sum(balance) as total from account", print_row, NULL) != STELE_OK) return complain();
    stele_bulk_free(bulk);
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
