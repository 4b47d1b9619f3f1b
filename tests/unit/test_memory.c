/* test_memory.c - what bulks and updates leave behind: dead rows and dead text are bounded.
 *
 * A workload of constant size, as that of TPC-C with orders that are deleted when they are old: each bulk changes
 * strings of a table, and inserts as many rows into two others as it deletes there. What is charged for the database
 * after many bulks is compared with what it was after the first ones.
 *
 * At memory_limit tables are packed and what bulks work on goes before a statement or a bulk fails.
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
/* from: by SELECT .. FROM bulk_call, which may have to be undone as a whole. */
static void run_bulk(Session *s, int64_t b, bool from) {
    char text[512];
    snprintf(text, sizeof text,
             "%s bulk_call('step', 'select (i * 7) %% %d, i, i - %d from generate_series(%lld, %lld) as g(i)')",
             from ? "select count(*) from" : "call", ROWS, ROWS, (long long)(ROWS + b * CALLS),
             (long long)(ROWS + (b + 1) * CALLS - 1));
    session_sql(s, text);
}
static int64_t charged(const Database *db) {
    return atomic_load(&db->account.used) - atomic_load(&db->parts[DB_CONNECTIONS].used);
}
/* `read`: statements behind each bulk, NULL: none. */
static void constant_size(const char *settings, bool from, const char *read) {
    Database *db;
    Session *s;
    int64_t warm = 0, most = 0;
    session_open(&db, &s);
    session_sql(s, settings);
    define(s);
    for (int64_t b = 0; b < BULKS; b++) {
        run_bulk(s, b, from);
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
/* Strings that bulks write are the table's where they are, and others stay where they were. */
static void test_other_texts(void **state) {
    Database *db;
    Session *s;
    (void)state;
    session_open(&db, &s);
    session_sql(s, "set executor = 'vm'; create table notes(id int primary key, note text, n int)");
    session_sql(s, "insert into notes select i, nullif('note ' || i, 'note 7'), 0 from generate_series(0, 9999) i");
    session_sql(s, "vacuum notes");
    session_sql(s, "create procedure counted(k int) language plpgsql as $$ begin"
                   "  update notes set n = n + 1 where id = k; end $$;"
                   "create procedure noted(k int, t text) language plpgsql as $$ begin"
                   "  update notes set note = t where id = k; end $$");
    for (int i = 0; i < 3; i++)
        session_sql(s, "call bulk_call('counted', 'select generate_series(0, 9999)');"
                       "select 1 / (sum(n) > 0)::int from notes");
    session_sql(s, "select 1 / (bytes = 0)::int from stele_memory where what = 'texts' and table_name = 'notes'");
    session_sql(s,
                "call bulk_call('noted', 'select i, nullif(''note '' || i % 9, ''note 5'') from"
                " generate_series(0, 99) i');"
                "select 1 / (count(*) = 12 and max(id) = 99)::int from notes where note is null or n <> 3 or id = 99;"
                "select 1 / (bytes = 0)::int from stele_memory where what = 'texts' and table_name = 'notes'");
    session_close(db, s);
}
static const char some_update[] = "update stock set qty = qty + 1; update orders set at = at + 1; "
                                  "update queue set n = n + 1; select count(*) from queue";
static void test_updates(void **state) {
    (void)state;
    constant_size("set executor = 'vm'", false, some_update);
}
static void test_vm(void **state) {
    (void)state;
    constant_size("set executor = 'vm'", false, NULL);
    constant_size("set executor = 'vm'", false, some_read);
    constant_size("set executor = 'vm'", true, NULL);
}
static void test_device(void **state) {
    (void)state;
    constant_size(by_device, false, NULL);
    constant_size(by_device, false, some_read);
    constant_size(by_copies, false, NULL);
    constant_size(by_copies, false, some_read);
    constant_size(by_copies, true, NULL);
}

/* ---- at the limit ---- */
/* What bulks need of `stock` is there, and so little room is left that what they need of `orders` is not to be had. */
static void fill_up(Database **db, Session **s) {
    session_open(db, s);
    session_sql(*s, "set executor = 'vm'");
    define(*s);
    session_sql(*s, "create procedure sold(k int) language plpgsql as $$ begin"
                    "  update stock set qty = qty + 1, info = 'sold ' || k where id = k; end $$;"
                    "create procedure late(k int) language plpgsql as $$ begin"
                    "  update orders set at = at + 1, note = 'late ' || k where id = k; end $$;"
                    "call bulk_call('sold', 'select generate_series(0, 11999)');"
                    "select sum(qty) from stock");
    int64_t room = atomic_load(&(*db)->parts[DB_HOMES].used) + atomic_load(&(*db)->parts[DB_IMAGES].used);
    atomic_store(&(*db)->account.limit, atomic_load(&(*db)->account.used) + room * 9 / 10);
}
static void sql_fails(Session *s, const char *sql) {
    Statement *st = NULL;
    int64_t used = 0;
    assert_int_equal(statement_prepare(s, slice_of(sql), &st, &used), ST_OK);
    assert_int_equal(statement_run(st), ST_ERROR);
    assert_memory_equal(s->err.sqlstate, "53", 2);
    statement_free(st);
}
/* A transaction that has changed something has rows where they are: it fails, where others do not. */
static void fails_in_transaction_only(const char *sql) {
    Database *db;
    Session *s;
    fill_up(&db, &s);
    session_sql(s, "begin; insert into queue values (-1, 0)");
    sql_fails(s, sql);
    session_sql(s, "rollback");
    int64_t refused = atomic_load(&db->account.refused);
    session_sql(s, sql);
    assert_true(atomic_load(&db->account.refused) > refused);
    atomic_store(&db->account.limit, 0);
    session_sql(s, "create table seen as select (select sum(qty) from stock) as a, (select sum(qty) from stock"
                   "  where info = 'sold ' || id) as b");
    session_sql(s, "select 1 / (a = 12000 and b = 12000)::int from seen");
    session_close(db, s);
}
static void test_bulk_at_limit(void **state) {
    (void)state;
    fails_in_transaction_only("call bulk_call('late', 'select generate_series(0, 11999)')");
}
static void test_statements_at_limit(void **state) {
    (void)state;
    fails_in_transaction_only("insert into orders select i, i, 'note of order ' || i, i"
                              "  from generate_series(100001, 125000) i");
}

/* ---- what shrinks ---- */
static int64_t held_by_bulks(const Database *db) {
    return atomic_load(&db->parts[DB_HOMES].used) + atomic_load(&db->parts[DB_IMAGES].used);
}
/* A table whose rows are open, by statements and by bulks, gives back what it had when most of them are gone. */
static void test_vacuum_gives_back(void **state) {
    enum { MANY = 300000, FEW = 1000, MB = 1 << 20 };
    Database *db;
    Session *s;
    char text[256];
    (void)state;
    session_open(&db, &s);
    session_sql(s, "set executor = 'vm'; set auto_merge = off;"
                   "create table wide(id int primary key, n bigint not null, info text);"
                   "create procedure put(k int) language plpgsql as $$ begin"
                   "  insert into wide values (k, k, 'information on row ' || k); end $$;"
                   "create procedure clear(k int) language plpgsql as $$ begin"
                   "  delete from wide where id = k; end $$");
    for (int round = 0; round < 2; round++) {
        snprintf(text, sizeof text, "call bulk_call('put', 'select generate_series(1, %d)'); select count(*) from wide",
                 MANY);
        session_sql(s, text);
        const int64_t full = charged(db);
        assert_true(full > 30 * MB);
        snprintf(text, sizeof text,
                 round ? "delete from wide where id > %d" : "call bulk_call('clear', 'select generate_series(%d, %d)')",
                 round ? FEW : FEW + 1, MANY);
        session_sql(s, text);
        assert_true(charged(db) > 20 * MB);
        session_sql(s, "vacuum wide; select 1 / (count(*) = 1000 and sum(n) = 500500)::int from wide");
        assert_true(held_by_bulks(db) < 4 * MB); /* registers of the procedures' programs */
        assert_true(charged(db) < 5 * MB);
        assert_true(mem_kept() <= MB);
        session_sql(s, "delete from wide");
    }
    session_close(db, s);
}
/* Bulks leave memory for the next one, and room; where no more bulks come it goes back, and what they do is there. */
static void test_spare_goes_back(void **state) {
    enum { MB = 1 << 20 };
    Database *db;
    Session *s;
    (void)state;
    session_open(&db, &s);
    session_sql(s, "set executor = 'vm'; set bulk_slice = 0");
    define(s);
    run_bulk(s, 0, false);
    const int64_t little = held_by_bulks(db);
    session_sql(
        s, "call bulk_call('step', 'select (i * 7) % 12000, i, i - 12000 from generate_series(13500, 73499) g(i)')");
    const int64_t much = held_by_bulks(db);
    assert_true(much > little + 4 * MB);
    assert_int_equal(session_lock(s, LOCK_EXCLUSIVE), ST_OK);
    assert_int_equal(session_give_back_spare(s), ST_OK);
    session_unlock_unchanged(s);
    assert_true(held_by_bulks(db) < much - 4 * MB);
    assert_true(mem_kept() <= charged(db));
    run_bulk(s, 41, false);
    session_sql(s, "select 1 / (sum(qty) = 63000)::int from stock; select 1 / (count(*) = 12000)::int from queue");
    session_sql(s, "drop table stock cascade; drop table orders; drop table queue");
    assert_true(held_by_bulks(db) < 4 * MB);
    session_close(db, s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_statements),
                                       cmocka_unit_test(test_vm),
                                       cmocka_unit_test(test_updates),
                                       cmocka_unit_test(test_device),
                                       cmocka_unit_test(test_other_texts),
                                       cmocka_unit_test(test_vacuum_gives_back),
                                       cmocka_unit_test(test_spare_goes_back),
                                       cmocka_unit_test(test_bulk_at_limit),
                                       cmocka_unit_test(test_statements_at_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
