/* test_stream.c - results that are computed as they are read (stele_set_stream, stele_result_arrow_stream): the rows of
 * the whole result in its order, the snapshot of the statement whatever happens meanwhile, errors in the middle, ends
 * before the end, memory. Which rows are computed when is seen by errors that come late, and by stele_row_count, which
 * is -1 until the last rows are computed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api_int.h"
#include "unit_api.h"

enum { ROWS = 120000 };

static stele_db *db;
static stele_conn *conn, *other;

static void run(const char *sql) { api_run(conn, sql); }
static int set_up(void **state) {
    (void)state;
    if (stele_open(":memory:", &(stele_options){.threads = 3}, &db, NULL) != STELE_OK ||
        stele_connect(db, &conn) != STELE_OK || stele_connect(db, &other) != STELE_OK)
        return -1;
    run("create table t(a int, b text, c bigint);"
        "insert into t select x, 'text ' || x % 1000, x * 7 from generate_series(1, 120000) as g(x);"
        "create table d(k int, name text); insert into d select x, 'd' || x from generate_series(0, 49) as g(x);"
        "create table e(k int);"
        "create function f(a int) returns int language plpgsql as $$ begin return a + 1; end $$");
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    stele_disconnect(other);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}

static stele_stmt *prepare(const char *sql, bool stream) {
    stele_stmt *s;
    api_ok(conn, stele_prepare(conn, sql, -1, &s, NULL), sql);
    stele_set_stream(s, stream);
    return s;
}
/* Its first row was computed, its last was not. */
static stele_stmt *open_stream(const char *sql) {
    stele_stmt *s = prepare(sql, true);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_row_count(s), -1);
    assert_string_equal(stele_command_tag(s), "");
    return s;
}
typedef struct Seen {
    int64_t rows;
    uint64_t hash; /* of all texts in order */
    stele_status end;
} Seen;
static Seen read_all(stele_stmt *s) {
    Seen x = {.hash = 1469598103934665603u};
    while ((x.end = stele_step(s)) == STELE_ROW) {
        x.rows++;
        for (int64_t k = 0; k < stele_column_count(s); k++) {
            const char *t = stele_column_text(s, k, NULL);
            for (const char *p = t ? t : "\1"; *p; p++) x.hash = (x.hash ^ (uint8_t)*p) * 1099511628211u;
            x.hash = (x.hash ^ 0xff) * 1099511628211u;
        }
    }
    return x;
}
static int64_t count_rest(stele_stmt *s) {
    Seen x = read_all(s);
    assert_int_equal(x.end, STELE_DONE);
    return x.rows;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */
static void check_same(const char *sql, bool more) {
    stele_stmt *whole = prepare(sql, false), *stream = prepare(sql, true);
    assert_int_equal(stele_run(stream), STELE_DONE);
    if ((stele_row_count(stream) < 0) != more) fail_msg("%s: %s", sql, more ? "computed whole" : "not computed whole");
    Seen x = read_all(whole), y = read_all(stream);
    if (x.rows != y.rows || x.hash != y.hash || y.end != STELE_DONE)
        fail_msg("%s: %lld rows, streaming %lld", sql, (long long)x.rows, (long long)y.rows);
    assert_int_equal(stele_row_count(stream), x.rows);
    assert_string_equal(stele_command_tag(stream), stele_command_tag(whole));
    assert_int_equal(stele_step(stream), STELE_DONE);
    stele_finalize(whole);
    stele_finalize(stream);
}
static const char *const large[] = {
    "select * from t",
    "select a + 1, b || '!' from t where a % 3 = 0",
    "select t.a, d.name from t join d on t.a % 50 = d.k",
    "select t.a, d.name from t left join d on t.a % 70 = d.k",
    "select a from t union all select k from d union all select c from t",
    "select a from (select a, row_number() over (order by b, a) r from t) x where r > 10",
    "select * from generate_series(1, 300000)",
    "select a, count(*) from t group by a order by 1 desc limit 100000",
    "select a, x from t, generate_series(1, 5) as g(x)",
    "select distinct a, b from t order by 1, 2 limit 100000",
    "select a from t where a not in (select k from d)",
    "select a, c from t limit all offset 7",
};
static void same_rows(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) check_same(large[i], true);
    check_same("select * from t where a < 10", false);
    check_same("select count(*) from t", false);
    check_same("values (1), (2)", false);
    check_same("select * from e", false);
    check_same("select a from t where false", false);
    check_same("select a, b from t order by b, a offset 5", false); /* sorted rows are the result as they are */
    check_same("with recursive r(n) as (select 1 union all select n + 1 from r where n < 2000) select n from r", false);
    run("set threads = 1");
    check_same("select t.a, x.c from t full join t x on t.a = x.a + 5", true);
    check_same("select a from t limit 100000", true);
    check_same("select b from t limit 100000 offset 3000", true);
    check_same("select a * 2 from (select a from t limit 90000 offset 10) x where a % 2 = 0", true);
    check_same("select a from t limit 0", false);
    run("set threads = 3");
    run("set disabled_rules = 'predicate_pushdown,join_order,build_side,zone_maps,dictionary_codes,value_ranges'");
    for (size_t i = 0; i < 6; i++) check_same(large[i], true);
    run("reset disabled_rules");
}
static void same_rows_in_small_vectors(void **state) {
    (void)state;
    run("set vector_size = 3; set morsel_rows = 7");
    for (size_t i = 0; i < 6; i++) check_same(large[i], true);
    run("reset vector_size; reset morsel_rows");
}
/* The build side does not fit: partitions are replayed when the source has been read. */
static void same_rows_from_disk(void **state) {
    (void)state;
    run("set memory_limit = '40MB'");
    stele_stmt *s =
        prepare("select t.a, x.b from t join (select a, b || repeat('x', 400) as b from t) x on t.a = x.a", true);
    Seen x = read_all(s);
    assert_int_equal(x.end, STELE_DONE);
    assert_int_equal(x.rows, ROWS);
    stele_finalize(s);
    run("reset memory_limit");
}
static void same_rows_of_files(void **state) {
    (void)state;
    char path[] = "/tmp/stele_stream_XXXXXX", sql[400];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(sql, sizeof sql, "copy (select a, b, c from t, generate_series(1, 3)) to '%s' with (format csv, header)",
             path);
    run(sql);
    snprintf(sql, sizeof sql, "select * from read_csv('%s')", path);
    check_same(sql, true);
    snprintf(sql, sizeof sql, "select a, b from read_csv('%s') where a %% 2 = 0 limit 100000", path);
    check_same(sql, true);
    unlink(path);
}

/* ---- the snapshot --------------------------------------------------------------------------------------- */
static void keeps_its_snapshot(void **state) {
    (void)state;
    run("create table u as select * from t");
    stele_stmt *s = open_stream("select a, b from u"), *s2;
    run("set lock_timeout = '10s'");
    api_run(other,
            "set lock_timeout = '10s'; update u set b = 'new', a = -a where a % 2 = 0; delete from u where a > 0");
    run("insert into u values (1, 'x', 1)");
    s2 = open_stream("select a from u");
    api_run(other, "truncate u");
    run("alter table u add column z int; drop table u; vacuum; checkpoint");
    stele_stmt *whole = prepare("select a, b from t", false);
    assert_int_equal(stele_step(whole), STELE_ROW);
    Seen x = read_all(whole), y = read_all(s);
    assert_int_equal(x.rows, y.rows);
    assert_true(x.hash == y.hash);
    assert_int_equal(count_rest(s2), ROWS / 2);
    stele_finalize(s);
    stele_finalize(s2);
    stele_finalize(whole);
}
static void outlives_transactions(void **state) {
    (void)state;
    static const char *const ends[] = {"commit", "rollback", "rollback to p; release p; commit"};
    run("create table u as select * from t");
    for (int i = 0; i < 3; i++) {
        run("begin");
        stele_stmt *s = open_stream("select a from u");
        run("savepoint p; delete from u where a > 5");
        stele_stmt *own = prepare("select a from u", true); /* it reads what is not committed */
        assert_int_equal(stele_step(own), STELE_ROW);
        assert_int_equal(stele_row_count(own), 5);
        run(ends[i]);
        assert_int_equal(count_rest(own), 4);
        assert_int_equal(count_rest(s), ROWS - 1);
        stele_finalize(s);
        stele_finalize(own);
        run("delete from u; insert into u select * from t");
    }
    run("drop table u");
}
static int64_t number(stele_conn *c, const char *sql) {
    stele_stmt *s;
    assert_int_equal(stele_prepare(c, sql, -1, &s, NULL), STELE_OK);
    assert_int_equal(stele_step(s), STELE_ROW);
    int64_t n = stele_column_int64(s, 0);
    stele_finalize(s);
    return n;
}
/* What others replace waits for the pin, up to a limit; the oldest go first. */
static void is_given_up(void **state) {
    (void)state;
    static const char pins[] = "select count(*) from stele_snapshots where label = 'result stream'";
    run("create table u(id int primary key, v bigint); insert into u select i, i from generate_series(1, 40000) i");
    stele_stmt *s = open_stream("select id, v from u");
    /* too many for patches: a copy of the column */
    api_run(other, "set snapshot_memory_limit = '100kB'; update u set v = 0 where id between 30000 and 30999");
    assert_int_equal(number(other, "select sum(v) from u"), 800020000 - 30499500);
    assert_true(number(other, "select held_bytes from stele_snapshots where label = 'result stream'") > 300000);
    stele_stmt *late = open_stream("select id, v from u");
    api_run(other, "update u set v = 0 where id = 2");
    assert_int_equal(number(other, pins), 1);
    Seen x = read_all(s);
    assert_int_equal(x.end, STELE_ERROR);
    assert_true(x.rows > 0 && x.rows < 39999);
    api_state(conn, "72000");
    assert_int_equal(stele_transaction_state(conn), 'I');
    assert_int_equal(count_rest(late), 39999);
    stele_finalize(s);
    stele_finalize(late);
    api_run(other, "reset snapshot_memory_limit; drop table u");
}
static void computed_whole(void **state) {
    (void)state;
    run("create table u(a int)");
    stele_stmt *s = prepare("insert into u select a from t returning a", true);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_row_count(s), ROWS);
    assert_int_equal(count_rest(s), ROWS - 1);
    stele_finalize(s);
    static const char *const whole[] = {"select f(a) from t", "with x as (delete from u returning a) select a from x",
                                        "select a, case when a > 0 then (select k / (t.a - 5) from d where k = t.a) "
                                        "else 0 end from t where a <> 5"};
    for (int i = 0; i < 3; i++) {
        s = prepare(whole[i], true);
        assert_int_equal(stele_step(s), STELE_ROW);
        assert_true(stele_row_count(s) >= ROWS - 1);
        stele_finalize(s);
    }
    run("set snapshot = 'lock'");
    s = prepare("select * from t", true);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_row_count(s), ROWS);
    stele_finalize(s);
    run("reset snapshot; drop table u");
    s = prepare("select * from t", false);
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_row_count(s), ROWS);
    stele_finalize(s);
}

/* ---- errors ---------------------------------------------------------------------------------------------- */
static void error_in_the_middle(void **state) {
    (void)state;
    static const char sql[] = "select 1 / (a - 110000) from t";
    stele_stmt *s = open_stream(sql);
    Seen x = read_all(s);
    assert_int_equal(x.end, STELE_ERROR);
    assert_true(x.rows > 0 && x.rows < 110000);
    api_state(conn, "22012");
    assert_int_equal(stele_step(s), STELE_ERROR); /* until it is reset */
    api_state(conn, "22012");
    assert_int_equal(stele_transaction_state(conn), 'I');
    stele_reset(s);
    assert_int_equal(stele_step(s), STELE_ROW);
    stele_reset(s);
    run("begin");
    assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(read_all(s).end, STELE_ERROR);
    assert_int_equal(stele_transaction_state(conn), 'E');
    run("rollback; begin");
    stele_reset(s);
    assert_int_equal(stele_step(s), STELE_ROW);
    run("commit; begin; create table u(a int)"); /* another transaction, which is none of its business */
    assert_int_equal(read_all(s).end, STELE_ERROR);
    assert_int_equal(stele_transaction_state(conn), 'T');
    run("rollback");
    stele_finalize(s);
    s = prepare("select 1 / (a - 3) from t", true);
    assert_int_equal(stele_step(s), STELE_ERROR);
    api_state(conn, "22012");
    stele_finalize(s);
}
static bool cancel_all(void *ctx, double fraction) {
    (void)ctx;
    (void)fraction;
    return true;
}
static void cancelled(void **state) {
    (void)state;
    stele_stmt *s = open_stream("select a, b, x from t, generate_series(1, 20) as g(x)");
    stele_interrupt(conn); /* nothing runs */
    int64_t before = 0;
    while (before < 20000 && stele_step(s) == STELE_ROW) before++;
    assert_int_equal(before, 20000);
    stele_set_progress(conn, cancel_all, NULL);
    assert_int_equal(read_all(s).end, STELE_ERROR);
    api_state(conn, "57014");
    stele_set_progress(conn, NULL, NULL);
    run("select 1");
    stele_finalize(s);
}
static void ends_early(void **state) {
    (void)state;
    int64_t used = atomic_load(&db->db->account.used);
    stele_stmt *s = open_stream("select * from t"), *s2 = open_stream("select a from t"), *s3;
    stele_reset(s);
    assert_int_equal(stele_step(s), STELE_ROW);
    stele_finalize(s2);
    assert_int_equal(stele_run(s), STELE_DONE); /* from the start */
    assert_int_equal(count_rest(s), ROWS);
    stele_finalize(s);
    stele_conn *third, *keep = conn;
    assert_int_equal(stele_connect(db, &third), STELE_OK);
    conn = third;
    s3 = open_stream("select * from t, generate_series(1, 100)");
    (void)s3;
    conn = keep;
    stele_disconnect(third);
    assert_true(atomic_load(&db->db->account.used) < used + (1 << 20));
    assert_int_equal(number(conn, "select count(*) from stele_snapshots where label = 'result stream'"), 0);
}
static void interleaved(void **state) {
    (void)state;
    stele_stmt *s[4];
    int64_t n[4] = {0};
    for (int i = 0; i < 4; i++) s[i] = open_stream(i % 2 ? "select a from t" : "select a, b, c from t");
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 5000 + 3000 * i && stele_step(s[i]) == STELE_ROW; k++) {
                assert_int_equal(stele_column_int64(s[i], 0), ++n[i] + 1);
                more = true;
            }
        run("select count(*) from t");
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(n[i], ROWS - 1);
        stele_finalize(s[i]);
    }
}

/* ---- memory ----------------------------------------------------------------------------------------------- */
/* Rows of some 100 bytes: what is in memory does not grow with them. */
static int64_t peak_of(int64_t rows, Seen *x) {
    char sql[200];
    snprintf(sql, sizeof sql, "select g, repeat('x', 60), g * 3 from generate_series(1, %lld) as g", (long long)rows);
    stele_stmt *s = prepare(sql, true);
    int64_t before = atomic_load(&db->db->account.used);
    atomic_store(&db->db->account.peak, before);
    x->rows = 0;
    while ((x->end = stele_step(s)) == STELE_ROW) x->rows++;
    stele_finalize(s);
    return atomic_load(&db->db->account.peak) - before;
}
static void memory_is_bounded(void **state) {
    (void)state;
    Seen x, y;
    run("set memory_limit = '64MB'; set temp_directory = '/tmp'");
    int64_t little = peak_of(400000, &x), much = peak_of(1600000, &y);
    assert_int_equal(x.rows, 400000);
    assert_int_equal(y.rows, 1600000);
    assert_int_equal(y.end, STELE_DONE);
    if (little > 32 << 20 || much > 32 << 20) fail_msg("%lld and %lld bytes", (long long)little, (long long)much);
    run("reset memory_limit; reset temp_directory");
}
/* COPY TO writes pieces as they are computed; a file that is not complete goes. */
static void copy_is_bounded(void **state) {
    (void)state;
    char path[] = "/tmp/stele_stream_XXXXXX", sql[300];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static const char *const forms[] = {"csv", "parquet"};
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof sql,
                 "copy (select g, repeat('x', 60) as t from generate_series(1, 700000) as g) to '%s' (format %s)", path,
                 forms[i]);
        int64_t before = atomic_load(&db->db->account.used);
        atomic_store(&db->db->account.peak, before);
        run(sql);
        assert_true(atomic_load(&db->db->account.peak) - before < 32 << 20);
        snprintf(sql, sizeof sql, "select count(*) from %s('%s')", i ? "read_parquet" : "read_csv", path);
        assert_true(number(conn, sql) >= 699999);
        unlink(path);
        snprintf(sql, sizeof sql, "copy (select 1 / (a - 110000) as q, b, c from t) to '%s' (format %s)", path,
                 forms[i]);
        assert_int_equal(stele_exec(conn, sql, NULL, NULL), STELE_ERROR);
        api_state(conn, "22012");
        assert_int_equal(access(path, F_OK), -1);
        strcat(strcpy(sql, path), ".stele-tmp");
        assert_int_equal(access(sql, F_OK), -1);
    }
}
static void without_memory(void **state) {
    (void)state;
    int64_t used = -1;
    bool failed = true;
    for (int64_t n = 1; failed; n += 1 + n / 8) {
        stele_stmt *s = prepare("select a, b || 'x', d.name from t join d on a % 60 = d.k where a < 40000", true);
        mem_fail_at(n);
        Seen x = read_all(s);
        failed = mem_fail_at(0) == 0;
        if (x.end == STELE_ERROR) api_state(conn, "53200");
        else assert_true(x.rows > 30000);
        stele_finalize(s);
        run("select 1");
        int64_t now = atomic_load(&db->db->account.used);
        if (used < 0) used = now;
        assert_true(now < used + (1 << 20));
    }
}

/* ---- Arrow ------------------------------------------------------------------------------------------------ */
static void arrow_batches(void **state) {
    (void)state;
    struct ArrowArrayStream st;
    struct ArrowSchema schema;
    struct ArrowArray batch, kept = {0};
    stele_stmt *s = prepare("select a, b from t", false);
    assert_int_equal(stele_result_arrow_stream(s, &st), STELE_OK);
    assert_int_equal(st.get_schema(&st, &schema), 0);
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[0]->format, "i");
    assert_string_equal(schema.children[1]->format, "U");
    schema.release(&schema);
    int64_t rows = 0, batches = 0;
    for (;;) {
        assert_int_equal(st.get_next(&st, &batch), 0);
        if (!batch.release) break;
        const int32_t *a = batch.children[0]->buffers[1];
        for (int64_t i = 0; i < batch.length; i++) assert_int_equal(a[i], ++rows);
        batches++;
        if (batches == 2) kept = batch;
        else batch.release(&batch);
    }
    assert_int_equal(rows, ROWS);
    assert_true(batches > 2);
    assert_int_equal(st.get_next(&st, &batch), 0);
    assert_null(batch.release);
    st.release(&st);
    const int64_t *ends = kept.children[1]->buffers[1];
    assert_true(ends[1] > 5 && memcmp(kept.children[1]->buffers[2], "text ", 5) == 0);
    kept.release(&kept);
}
static void arrow_failures(void **state) {
    (void)state;
    struct ArrowArrayStream st;
    struct ArrowArray batch;
    stele_stmt *s = prepare("select 1 / (a - 110000) from t", false);
    assert_int_equal(stele_result_arrow_stream(s, &st), STELE_OK);
    int r;
    while ((r = st.get_next(&st, &batch)) == 0 && batch.release) batch.release(&batch);
    assert_int_equal(r, EIO);
    assert_string_equal(st.get_last_error(&st), "22012: division by zero");
    st.release(&st);
    s = prepare("select 1 / (a - 1) from t", false);
    assert_int_equal(stele_result_arrow_stream(s, &st), STELE_ERROR);
    assert_null(st.release);
    api_state(conn, "22012");
    stele_finalize(s);
    stele_conn *third, *keep = conn; /* the connection goes first */
    assert_int_equal(stele_connect(db, &third), STELE_OK);
    conn = third;
    s = prepare("select a from t", false);
    assert_int_equal(stele_result_arrow_stream(s, &st), STELE_OK);
    conn = keep;
    stele_disconnect(third);
    assert_int_equal(st.get_next(&st, &batch), ENOTCONN);
    st.release(&st);
    s = prepare("select a from t", false); /* a result that is there */
    for (int i = 0; i < 10; i++) assert_int_equal(stele_step(s), STELE_ROW);
    assert_int_equal(stele_result_arrow_stream(s, &st), STELE_OK);
    assert_int_equal(st.get_next(&st, &batch), 0);
    assert_int_equal(batch.length, ROWS - 10);
    batch.release(&batch);
    st.release(&st);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_rows),           cmocka_unit_test(same_rows_in_small_vectors),
        cmocka_unit_test(same_rows_from_disk), cmocka_unit_test(same_rows_of_files),
        cmocka_unit_test(keeps_its_snapshot),  cmocka_unit_test(outlives_transactions),
        cmocka_unit_test(is_given_up),         cmocka_unit_test(computed_whole),
        cmocka_unit_test(error_in_the_middle), cmocka_unit_test(cancelled),
        cmocka_unit_test(ends_early),          cmocka_unit_test(interleaved),
        cmocka_unit_test(memory_is_bounded),   cmocka_unit_test(copy_is_bounded),
        cmocka_unit_test(without_memory),      cmocka_unit_test(arrow_batches),
        cmocka_unit_test(arrow_failures),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
