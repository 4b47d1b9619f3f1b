/* What statements read (session/core/read.c): published versions without the lock, the tables, or images. */
#include "unit.h"

#include "db/published.h"
#include "session/core/session.h"
#include "session/pool/bulk.h"

static Database *db;
static Session *a, *b;
static char text[4096];

/* Rows as text, or ! and the SQLSTATE. */
static const char *ask(Session *s, const char *sql) {
    Statement *st;
    int64_t used;
    size_t at = 0;
    text[0] = 0;
    bool ok = statement_prepare(s, slice_of(sql), &st, &used) == ST_OK;
    if (!ok || statement_run(st) != ST_OK) {
        snprintf(text, sizeof text, "!%s", s->err.sqlstate);
    } else {
        for (int64_t r = 0; r < st->n_rows; r++)
            for (int32_t c = 0; c < st->n_cols; c++) {
                Arena *tmp = arena_new(&s->account, NULL);
                Value v = {.type = st->types[c]};
                if (st->columns) {
                    v = statement_column_cell(st, r, c);
                } else if (st->values) {
                    v = st->values[r * st->n_cols + c];
                } else {
                    const void *cell;
                    assert_int_equal(rows_cell(st->rows, r, st->first_col + c, &cell, &v.is_null, &s->err), ST_OK);
                    if (!v.is_null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
                }
                int64_t n = 4;
                const char *t = v.is_null ? "NULL" : value_to_text(tmp, &v, &n);
                at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", c ? "," : r ? ";" : "", (int)n, t);
                arena_free(tmp);
            }
    }
    if (ok) statement_free(st);
    return text;
}
static void must(Session *s, const char *sql) {
    if (ask(s, sql)[0] == '!') fail_msg("%s: %s", sql, s->err.message);
}
static void gives(Session *s, const char *sql, const char *want) { assert_string_equal(ask(s, sql), want); }

/* The 100 rows that each test begins with, into an empty table. */
static void fill(void) { must(a, "insert into t select i, i from generate_series(1, 100) i"); }
/* One more in the row's v. */
static void add_one(Session *s, int id) {
    char sql[64];
    snprintf(sql, sizeof sql, "update t set v = v + 1 where id = %d", id);
    must(s, sql);
}
/* Session a holds the lock alone from here on. */
static void hold_lock(void) {
    must(a, "begin");
    must(a, "create table u(x int)");
}

static int setup(void **state) {
    (void)state;
    Err e = {0};
    assert_int_equal(database_open(NULL, vfs_posix(), 2, 0, &db, &e), ST_OK);
    assert_int_equal(session_new(db, &a, &e), ST_OK);
    assert_int_equal(session_new(db, &b, &e), ST_OK);
    must(a, "create table t(id int primary key, v int)");
    fill();
    must(a, "set lock_timeout = '10ms'");
    must(b, "set lock_timeout = '10ms'");
    return 0;
}
static int teardown(void **state) {
    (void)state;
    session_free(a);
    session_free(b);
    database_close(db);
    return 0;
}

/* Another session holds the lock alone: with definitions, in the middle of a transaction. */
static void test_beside_a_writer(void **state) {
    (void)state;
    hold_lock();
    must(a, "update t set v = 0");
    gives(b, "select sum(v) from t", "5050");
    gives(b, "select v from t where id = 7", "7");
    must(b, "prepare p as select sum(v) from t");
    gives(b, "execute p", "5050");
    must(b, "deallocate p");
    gives(b, "select count(*) from u", "!42P01");
    gives(b, "update t set v = 1", "!55P03");
    must(a, "rollback");
    must(a, "begin");
    must(a, "truncate t");
    gives(b, "select count(*), max(v) from t", "100,100");
    must(a, "commit");
    gives(b, "select count(*) from t", "0");
    fill();
}

/* What was committed is seen by all, at once. */
static void test_is_fresh(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        char sql[64], want[32];
        snprintf(sql, sizeof sql, "update t set v = %d where id = 5", i);
        snprintf(want, sizeof want, "%d", i);
        must(a, sql);
        gives(b, i % 2 ? "select v from t where id = 5" : "select sum(v) from t where id = 5", want);
        must(b, "begin");
        must(b, "update t set v = -1 where id = 5");
        gives(a, "select max(v) from t where id = 5", want);
        must(b, i % 3 ? "rollback" : "commit");
        gives(a, "select max(v) from t where id = 5", i % 3 ? want : "-1");
    }
    must(a, "update t set v = 5 where id = 5");
}

static int64_t pins(void) {
    EpochStats x;
    epoch_stats(db->epochs, &x);
    return x.pins;
}

/* A transaction that has changed nothing reads one version, whatever others do meanwhile, and waits for none of them.
 */
static void test_in_block(void **state) {
    (void)state;
    gives(b, "select sum(v) from t", "5050");
    hold_lock();
    must(a, "update t set v = 0");
    must(b, "begin");
    gives(b, "select sum(v) from t", "5050");
    assert_int_equal(pins(), 1);
    gives(b, "select v from t where id = 7", "7");
    gives(b, "select kind, label from stele_snapshots where session = 2 order by kind",
          "transaction,NULL;version,transaction");
    must(b, "prepare q(int) as select v from t where id = $1 + 1");
    gives(b, "execute q(7)", "8");
    must(b, "deallocate q");
    gives(b, "select count(*) from pg_nothing", "!42P01");
    assert_int_equal(pins(), 0);
    must(b, "rollback");
    must(b, "begin");
    must(b, "savepoint s");
    gives(b, "select count(*), max(v) from t", "100,100");
    must(a, "commit");
    gives(b, "select sum(v) from t", "5050");
    gives(b, "select v from t where id = 7", "7");
    must(a, "update t set v = id");
    must(a, "truncate t");
    must(a, "drop table u");
    must(a, "alter table t rename column v to w");
    gives(b, "select sum(v), count(*) from t", "5050,100");
    gives(b, "select w from t", "!40001");
    must(b, "rollback to s");
    gives(b, "select sum(v) from t", "5050");
    must(b, "commit");
    assert_int_equal(pins(), 0);
    must(a, "alter table t rename column w to v");
    fill();
}

/* The pin goes on behind the first change: the transaction sees that, and its snapshot as before. */
static void test_block_that_writes(void **state) {
    (void)state;
    must(b, "begin");
    gives(b, "select sum(v) from t where id > 50", "3775");
    must(a, "update t set v = v + 1000 where id = 3");
    must(a, "insert into t values (101, 0)");
    gives(b, "select sum(v), count(*) from t", "5050,100");
    add_one(b, 60);
    assert_int_equal(pins(), 1);
    gives(b, "select sum(v), count(*) from t", "5051,100");
    gives(b, "select v from t where id = 60", "61");
    gives(a, "select sum(v), count(*) from t", "6050,101");
    gives(b, "commit", "!40001"); /* it has read what was inserted meanwhile */
    assert_int_equal(pins(), 0);
    must(b, "begin");
    gives(b, "select sum(v) from t where id = 60", "60");
    gives(b, "select v from t where id = 61", "61");
    add_one(a, 62);
    add_one(b, 60);
    must(b, "commit");
    must(b, "begin");
    gives(b, "select v from t where id = 61", "61");
    add_one(a, 61);
    add_one(b, 60);
    gives(b, "commit", "!40001");
    gives(a, "select v from t where id >= 60 and id <= 62 order by id", "61;62;63");
    must(b, "begin read only");
    gives(b, "select count(*) from t", "101");
    must(a, "delete from t");
    gives(b, "update t set v = 0", "!25006");
    assert_int_equal(pins(), 0);
    must(b, "rollback");
    must(b, "begin");
    gives(b, "select count(*) from t", "0");
    must(b, "rollback");
    assert_int_equal(pins(), 0);
    fill();
}

/* A transaction that began under the lock, with a row, reads a version only as long as it is what it sees. */
static void test_block_under_the_lock(void **state) {
    (void)state;
    must(a, "update t set v = v where id = 1");
    must(b, "begin");
    gives(b, "select v from t where id = 7", "7"); /* no version is current */
    assert_int_equal(pins(), 0);
    hold_lock();
    gives(b, "select v from t where id = 7", "7"); /* now one is, of the same state */
    assert_int_equal(pins(), 1);
    must(a, "rollback");
    must(b, "commit");
    must(a, "update t set v = v where id = 1");
    must(b, "begin");
    gives(b, "select v from t where id = 7", "7");
    must(a, "update t set v = 0 where id = 7");
    hold_lock();
    gives(a, "select label from stele_snapshots where kind = 'version'", "");
    gives(b, "select sum(v) from t", "!55P03"); /* a version is current, and newer than its snapshot */
    must(a, "rollback");
    must(b, "rollback");
    must(b, "set snapshot = 'version'");
    must(a, "update t set v = 7 where id = 7");
    must(b, "begin");
    gives(b, "select v from t where id = 7", "7");
    assert_int_equal(pins(), 1);
    must(b, "commit");
    must(b, "reset snapshot");
}

/* What needs the lock shows the same snapshot, and the version is read again afterwards. */
static void test_block_and_routines(void **state) {
    (void)state;
    must(a, "create function total() returns bigint language plpgsql stable as $$ begin return (select sum(v) from t); "
            "end $$");
    must(a, "create procedure add(k int, x int) language plpgsql as $$ begin update t set v = v + x where id = k; end "
            "$$");
    must(b, "begin");
    gives(b, "select sum(v) from t", "5050");
    must(a, "update t set v = 0 where id > 90");
    must(a, "call bulk_call('add', 'select i, 100 from generate_series(1, 50) i')");
    gives(b, "select total(), sum(v) from t", "5050,5050");
    gives(b, "select total()", "5050");
    gives(b, "select sum(v) from t", "5050");
    hold_lock();
    gives(b, "select sum(v) from t", "5050");
    must(a, "rollback");
    must(b, "call add(80, 1)");
    gives(b, "select sum(v) from t", "5051");
    must(b, "rollback");
    gives(b, "select sum(v) from t", "9095");
    must(a, "drop procedure add");
    must(a, "drop function total");
    must(a, "update t set v = id");
}

/* What waits for a transaction's pin counts for snapshot_memory_limit: beyond it the pin ends, and it gets 72000. */
static void test_block_memory(void **state) {
    (void)state;
    char before[64];
    must(a, "create table big(id int primary key, v bigint)");
    must(a, "insert into big select i, i from generate_series(1, 40000) i");
    must(a, "set snapshot_memory_limit = '100kB'");
    must(b, "begin");
    gives(b, "select sum(v) from big", "800020000");
    must(a, "update big set v = 0 where id <= 1000"); /* too many for patches: a copy of the column */
    gives(a, "select sum(v) from big", "799519500");
    assert_string_equal(ask(a, "select held_bytes > 300000, label from stele_snapshots where kind = 'version' and "
                               "session = 2"),
                        "t,transaction");
    gives(b, "select sum(v) from big", "800020000");
    snprintf(before, sizeof before, "%d", (int)pins());
    assert_string_equal(before, "1");
    must(a, "update big set v = 0 where id = 1001");
    assert_int_equal(pins(), 0);
    gives(a, "select kind, lost from stele_snapshots where session = 2", "transaction,t");
    gives(b, "select sum(v) from big", "!72000");
    must(b, "rollback");
    gives(b, "select sum(v) from big", "799518499");
    must(a, "reset snapshot_memory_limit");
    must(a, "drop table big");
}

/* A result is stepped through, in a transaction, while others change and drop what it was read from. */
static void test_slow_result(void **state) {
    (void)state;
    Statement *st;
    int64_t used;
    must(b, "begin");
    gives(b, "select count(*) from t", "100");
    const char *sql = "select v, 'row ' || v from t order by id";
    assert_int_equal(statement_prepare(b, slice_of(sql), &st, &used), ST_OK);
    assert_int_equal(statement_run(st), ST_OK);
    assert_int_equal(b->lock, LOCK_NONE);
    must(a, "alter table t rename to t2");
    must(a, "update t2 set v = 0");
    must(a, "create table t(id int primary key, v int)");
    fill();
    must(a, "drop table t2");
    for (int64_t r = 0; r < st->n_rows; r++) {
        const void *cell;
        int32_t v;
        bool null;
        assert_int_equal(rows_cell(st->rows, r, st->first_col, &cell, &null, &b->err), ST_OK);
        memcpy(&v, cell, sizeof v);
        assert_int_equal(v, r + 1);
    }
    statement_free(st);
    gives(b, "select sum(v) from t", "5050");
    must(b, "commit");
}

/* Functions read the tables: the statement is begun again under the lock, and sees the same. */
static void test_routines(void **state) {
    (void)state;
    must(a, "create function f(k int) returns int language plpgsql stable as $$ begin return (select sum(v) from t "
            "where id <= k); end $$");
    must(a, "create function g() returns setof int language plpgsql as $$ begin return query select id from t where "
            "id < 3; end $$");
    must(b, "set snapshot = 'version'");
    gives(b, "select sum(v) from t where id <= 3", "6");
    gives(b, "select f(3)", "6");
    gives(b, "select id, f(id) from t where id < 3 order by id", "1,1;2,3");
    gives(b, "select * from g()", "1;2");
    gives(b, "select v from t where id = f(1)", "1");
    gives(b, "select sum(v) from t where id <= 3", "6");
    must(a, "begin");
    must(a, "create table w(x int)");
    gives(b, "select f(3)", "!55P03");
    gives(b, "select sum(v) from t where id <= 3", "6");
    must(a, "rollback");
    must(b, "reset snapshot");
    must(b, "set snapshot = 'lock'");
    must(a, "begin");
    must(a, "create table w(x int)");
    gives(b, "select sum(v) from t where id <= 3", "!55P03");
    must(a, "rollback");
    must(b, "reset snapshot");
}

/* A version stays what it is while it is pinned, and everything is freed afterwards. */
static void test_pinned(void **state) {
    (void)state;
    Err e = {0};
    EpochSlot *slot;
    bool done;
    PublishCost cost;
    assert_int_equal(epoch_register(db->epochs, 1000, &slot, &e), ST_OK);
    must(a, "create view vw as select v from t");
    assert_int_equal(database_publish(db, &done, &cost, &e), ST_OK); /* nothing else runs: as under the lock */
    assert_true(done);
    const DatabaseVersion *v = database_read_begin(db, slot, "test", 0);
    assert_non_null(v);
    must(a, "drop view vw");
    must(a, "update t set v = v + 1000");
    must(a, "alter table t rename column v to w");
    must(a, "alter table t rename to t2");
    must(a, "drop table t2");
    const Table *t = catalog_table(&v->catalog, slice_of("t"));
    assert_non_null(t);
    assert_string_equal(t->cols[1].name, "v");
    assert_non_null(catalog_view(&v->catalog, slice_of("vw")));
    Value got, key = {.type = type_make(T_INT4), .u.i32 = 9};
    table_value(t, table_lookup(t, 0, &key), 1, &got);
    assert_int_equal(got.u.i32, 9);
    assert_null(database_read_begin(db, a->read.slot, "test", 0)); /* it is not current */
    database_read_end(db, slot);
    epoch_unregister(slot);
    gives(b, "select * from t", "!42P01");
    must(a, "create table t(id int primary key, v int)");
    fill();
    gives(b, "select sum(v) from t", "5050");
    EpochStats stats;
    while (epoch_reclaim(db->epochs, 1000)) {}
    epoch_stats(db->epochs, &stats);
    assert_int_equal(stats.pins, 0);
}

/* A plan is kept for the version that it was made for, and not for another one in the same memory. */
static void test_kept_plans(void **state) {
    (void)state;
    must(a, "create table s(k int, w text)");
    must(a, "insert into s select i % 3, 'word' || i % 7 from generate_series(1, 2000) i");
    must(a, "create table x(k int)");
    must(a, "vacuum s");
    must(b, "set snapshot = 'version'");
    int64_t found = b->kept.n_plans_found;
    for (int i = 0; i < 3; i++) gives(b, "select count(*), min(w) from s where w > 'word3'", "857,word4");
    assert_int_equal(b->kept.n_plans_found, found + 2);
    for (int i = 0; i < 20; i++) {
        must(a, "vacuum x"); /* everything is published anew */
        gives(b, "select count(*), min(w) from s where w > 'word3'", "857,word4");
    }
    must(b, "reset snapshot");
    must(a, "drop table s, x");
}

/* Rows by key after a bulk are read from its images; the tables stay behind. */
static void test_images(void **state) {
    (void)state;
    must(a, "create procedure add(k int, x int) language plpgsql as $$ begin update t set v = v + x where id = k; end "
            "$$");
    must(a, "call bulk_call('add', 'select i, 100 from generate_series(1, 50) i')");
    assert_true(session_bulk_unapplied(a));
    gives(b, "select v from t where id = 7", "107");
    gives(a, "select v, id from t where id = 51", "51,51");
    gives(b, "select v from t where id = 1000", "");
    assert_true(session_bulk_unapplied(a));
    gives(b, "select sum(v) from t", "10050");
    assert_false(session_bulk_unapplied(a));
    gives(b, "select v from t where id = 7", "107");
    must(a, "drop procedure add");
}

/* What EXPLAIN ANALYZE says that a sum over table c has read. */
static void has_read(Session *s, const char *want) {
    Statement *st;
    int64_t used;
    const char *line = "";
    if (statement_prepare(s, slice_of("explain analyze select sum(v) from c"), &st, &used) != ST_OK ||
        statement_run(st) != ST_OK)
        fail_msg("%s", s->err.message);
    for (int64_t i = 0; i < st->n_rows; i++)
        if (strncmp(st->text_rows[i][0], "Snapshot: ", 10) == 0) line = st->text_rows[i][0];
    if (!strstr(line, want)) fail_msg("no \"%s\" in \"%s\"", want, line);
    statement_free(st);
}
static void test_explained(void **state) {
    (void)state;
    must(a, "create table c(id int primary key, v bigint not null)");
    must(a, "insert into c select i, i from generate_series(1, 100) i");
    must(a, "create procedure more(k int) language plpgsql as $$ begin update c set v = v + 1 where id = k; end $$");
    has_read(b, "made for this statement in ");
    has_read(b, "there already");
    must(a, "update c set v = v where id = 1");
    has_read(b, " copied, 0 B of them cells that bulks share");
    must(b, "set snapshot = 'lock'");
    has_read(b, "Snapshot: the tables themselves, under the lock; nothing copied");
    must(b, "reset snapshot");
    /* a bulk has cells in place: versions get copies */
    must(a, "vacuum"); /* no other cells are */
    must(a, "call bulk_call('more', 'select i from generate_series(1, 100) i')");
    has_read(a, " copied, 800 B of them cells that bulks share");
    must(b, "begin");
    has_read(b, "there already");
    must(b, "commit");
    must(a, "drop procedure more(int)");
    must(a, "drop table c");
}

/* Devices read versions, too. */
static void test_on_device(void **state) {
    static const char *const on[] = {"set executor = compiled", "set device = cpu", "set device_wait = on",
                                     "set device_strict = on"};
    static const char *const off[] = {"reset executor", "reset device", "reset device_wait", "reset device_strict"};
    must(a, "truncate t");
    fill();
    for (int i = 0; i < 4; i++) must(b, on[i]);
    test_beside_a_writer(state);
    test_is_fresh(state);
    test_in_block(state);
    for (int i = 0; i < 4; i++) must(b, off[i]);
}

/* ---- snapshot_interval ---- */
enum { SUM = 5050 }; /* of fill's rows */
static const char *const sum = "select sum(v) from t";
static void gives_sum(Session *s, int more) {
    char want[32];
    snprintf(want, sizeof want, "%d", SUM + more);
    gives(s, sum, want);
}
static void begin_older(const char *interval) {
    char sql[64];
    must(a, "truncate t");
    fill();
    must(b, "reset snapshot_interval");
    gives_sum(b, 0);
    snprintf(sql, sizeof sql, "set snapshot_interval = '%s'", interval);
    must(b, sql);
}
/* What others have committed since may be missing, and nothing else. */
static void test_older(void **state) {
    (void)state;
    begin_older("1h");
    add_one(a, 3);
    gives_sum(b, 0);
    gives(b, "select v from t where id = 3", "3");
    gives_sum(a, 1);
    must(b, "set snapshot_interval = 0");
    gives_sum(b, 1);

    begin_older("1h");
    add_one(a, 3);
    add_one(b, 4); /* its own change, and what it has seen with it */
    gives_sum(b, 2);
    add_one(a, 5);
    gives_sum(b, 2);

    begin_older("1h");
    must(b, "set bulk_interval = '1us'");
    must(b, "create procedure add_to(n int) language plpgsql as $$ begin update t set v = v + 1 where id = n; end $$");
    gives_sum(b, 0);
    must(b, "call add_to(7)");
    gives_sum(b, 1);
    must(b, "reset bulk_interval");
    must(b, "drop procedure add_to");

    begin_older("1h");
    must(a, "create table later(x int)");
    gives(b, "select count(*) from later", "0");
    must(a, "drop table later");
    gives(b, "select count(*) from later", "!42P01");

    begin_older("1ms");
    add_one(a, 3);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    gives_sum(b, 1);
    must(b, "reset snapshot_interval");
}
/* A transaction that is READ ONLY keeps the version; below REPEATABLE READ each statement has its own. */
static void test_older_block(void **state) {
    (void)state;
    begin_older("1h");
    must(a,
         "create function sum_t() returns bigint language plpgsql as $$ begin return (select sum(v) from t); end $$");
    gives_sum(b, 0);
    add_one(a, 3);
    must(b, "begin isolation level repeatable read, read only");
    gives_sum(b, 0);
    add_one(a, 3);
    must(b, "set local snapshot_interval = 0");
    gives_sum(b, 0);
    must(a, "vacuum t");
    gives_sum(b, 0);
    gives(b, "select sum_t()", "!55000");
    gives(b, sum, "!25P02");
    must(b, "rollback");
    gives_sum(b, 2);

    add_one(a, 3);
    must(b, "begin isolation level read committed, read only");
    gives_sum(b, 2);
    must(b, "set local snapshot_interval = 0");
    gives_sum(b, 3);
    gives(b, "select sum_t()", "5053");
    must(b, "commit");

    add_one(a, 3);
    must(b, "begin isolation level repeatable read");
    gives_sum(b, 4);
    must(b, "commit");

    must(b, "begin isolation level repeatable read, read only");
    gives_sum(b, 4);
    must(b, "declare c cursor for select sum(v) from t");
    add_one(a, 3);
    must(a, "vacuum t");
    gives(b, "fetch c", "5054");
    must(b, "commit");
    must(a, "drop function sum_t()");
    must(b, "reset snapshot_interval");
}
/* The statement says how old it may be. */
static void test_older_explained(void **state) {
    (void)state;
    begin_older("1h");
    must(a, "create table c(id int primary key, v bigint)");
    has_read(b, "made for this statement in ");
    must(a, "insert into c values (1, 1)");
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    has_read(b, ", up to ");
    has_read(b, " ms old");
    must(a, "drop table c");
    must(b, "reset snapshot_interval");
}
/* Transactions that read older versions keep no commit, and others are not given up for them. */
static void test_older_keeps_nothing(void **state) {
    (void)state;
    begin_older("1h");
    must(b, "begin isolation level repeatable read, read only");
    gives_sum(b, 0);
    for (int i = 0; i < 100; i++) add_one(a, 3);
    assert_true(atomic_load(&txn_lock_hub(db->txn_lock)->kept_bytes) == 0);
    gives_sum(b, 0);
    must(b, "commit");
    must(b, "reset snapshot_interval");
    gives_sum(b, 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_beside_a_writer),
                                       cmocka_unit_test(test_is_fresh),
                                       cmocka_unit_test(test_in_block),
                                       cmocka_unit_test(test_block_that_writes),
                                       cmocka_unit_test(test_block_and_routines),
                                       cmocka_unit_test(test_block_under_the_lock),
                                       cmocka_unit_test(test_slow_result),
                                       cmocka_unit_test(test_block_memory),
                                       cmocka_unit_test(test_routines),
                                       cmocka_unit_test(test_pinned),
                                       cmocka_unit_test(test_kept_plans),
                                       cmocka_unit_test(test_images),
                                       cmocka_unit_test(test_explained),
                                       cmocka_unit_test(test_on_device),
                                       cmocka_unit_test(test_older),
                                       cmocka_unit_test(test_older_block),
                                       cmocka_unit_test(test_older_explained),
                                       cmocka_unit_test(test_older_keeps_nothing)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
