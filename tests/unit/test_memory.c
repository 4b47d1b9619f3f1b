/* test_memory.c - what bulks and updates leave behind: dead rows and dead text are bounded.
 *
 * A workload of constant size, as that of TPC-C with orders that are deleted when they are old: each bulk changes
 * strings of a table, and inserts as many rows into two others as it deletes there. What is charged for the database
 * after many bulks is compared with what it was after the first ones.
 */
#include "unit_session.h"

enum { ROWS = 12000, CALLS = 1500, WARM = 24, BULKS = 120 };

static void define(Session *s) {
    session_sql(s, "create table stock(id int primary key, qty int not null, info text, tag text);"
                   "create table orders(id int primary key, stock int not null, note text, at bigint);"
                   "create table queue(id int primary key, n int not null)");
    char text[1024];
    snprintf(text, sizeof text,
             "insert into stock select i, 0, 'information on ' || i, 'tag ' || i %% 7 from generate_series(0, %d) i;"
             "insert into orders select i, i, 'note of order ' || i, i from generate_series(0, %d) i;"
             "insert into queue select i, i from generate_series(0, %d) i",
             ROWS - 1, ROWS - 1, ROWS - 1);
    session_sql(s, text);
    session_sql(s, "create procedure step(k int, fresh int, old int) language plpgsql as $$ begin"
                   "  update stock set qty = qty + 1, info = 'information ' || fresh where id = k;"
                   "  update stock set tag = 'tag ' || fresh where id = k and qty % 2 = 0;"
                   "  insert into orders values (fresh, k, 'note of order ' || fresh, fresh);"
                   "  insert into queue values (fresh, k);"
                   "  delete from orders where id = old;"
                   "  delete from queue where id = old; end $$");
}
static void run_bulk(Session *s, int64_t b) {
    char text[512];
    snprintf(text, sizeof text,
             "call bulk_call('step', 'select (i * 7) %% %d, i, i - %d from generate_series(%lld, %lld) as g(i)')", ROWS,
             ROWS, (long long)(ROWS + b * CALLS), (long long)(ROWS + (b + 1) * CALLS - 1));
    session_sql(s, text);
}
static int64_t charged(const Database *db) {
    return atomic_load(&db->account.used) - atomic_load(&db->parts[DB_CONNECTIONS].used);
}
/* `read`: statements behind each bulk, NULL: none. */
static void constant_size(const char *settings, const char *read) {
    Database *db;
    Session *s;
    int64_t warm = 0, most = 0;
    session_open(&db, &s);
    session_sql(s, settings);
    define(s);
    for (int64_t b = 0; b < BULKS; b++) {
        run_bulk(s, b);
        if (read) session_sql(s, read);
        int64_t *to = b < WARM ? &warm : &most;
        *to = MAX_OF(*to, charged(db));
    }
    if (most * 10 > warm * 13) fail_msg("%lld bytes, and %lld after the first bulks", (long long)most, (long long)warm);
    session_close(db, s);
}

/* The same without bulks: strings that statements overwrite, and entries of a dictionary that no row has any more. */
static void test_statements(void **state) {
    Database *db;
    Session *s;
    int64_t warm = 0, most = 0;
    (void)state;
    session_open(&db, &s);
    define(s);
    session_sql(s, "vacuum stock");
    for (int64_t b = 0; b < BULKS; b++) {
        char text[256];
        snprintf(text, sizeof text,
                 "update stock set info = 'information %lld of ' || id, tag = 'tag ' || id %% 300 + %lld", (long long)b,
                 (long long)b * 300);
        session_sql(s, text);
        int64_t *to = b < WARM ? &warm : &most;
        *to = MAX_OF(*to, charged(db));
    }
    if (most * 10 > warm * 13) fail_msg("%lld bytes, and %lld after the first ones", (long long)most, (long long)warm);
    session_close(db, s);
}

static const char by_device[] = "set executor = 'compiled'; set device = 'cpu'; set device_wait = on";
static const char by_copies[] =
    "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set bulk_copies = on";
static const char some_read[] =
    "select count(*), max(info), sum(qty) from stock; select count(*), max(note) from orders; "
    "select count(*) from queue";
static const char some_update[] = "update stock set qty = qty + 1; update orders set at = at + 1; "
                                  "update queue set n = n + 1; select count(*) from queue";
static void test_updates(void **state) {
    (void)state;
    constant_size("set executor = 'vm'", some_update);
}
static void test_vm(void **state) {
    (void)state;
    constant_size("set executor = 'vm'", NULL);
    constant_size("set executor = 'vm'", some_read);
}
static void test_device(void **state) {
    (void)state;
    constant_size(by_device, NULL);
    constant_size(by_device, some_read);
    constant_size(by_copies, NULL);
    constant_size(by_copies, some_read);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_statements), cmocka_unit_test(test_vm),
                                       cmocka_unit_test(test_updates), cmocka_unit_test(test_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
