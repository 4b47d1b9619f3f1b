/* test_residency.c - device_memory_limit and what is cached on a device: columns give way, then tables are streamed,
 * then the virtual machine runs the query. */
#include "unit_device.h"

static int setup(void **state) {
    (void)state;
    device_session_open();
    set("executor", "vm");
    for (const char *t = "abc"; *t; t++) { /* three columns of 2 MB each */
        char sql[256];
        snprintf(sql, sizeof sql, "create table %c(k int, x bigint, y bigint, z bigint)", *t);
        run(sql);
        snprintf(sql, sizeof sql,
                 "insert into %c select g, g::bigint * 7919 %% 4294967291, g::bigint * 104729 %% 4294967279, g::bigint "
                 "* 1299709 %% 4294967231 from generate_series(1, 500000) g",
                 *t);
        run(sql);
        snprintf(sql, sizeof sql, "vacuum %c", *t);
        run(sql);
    }
    set("device_wait", "on");
    return 0;
}
static int begin(void **state) {
    (void)state;
    set("executor", "compiled");
    set("device_strict", "off");
    set("device_memory_limit", "0");
    dev_runtime_forget(runtime, -1);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    device_session_close();
    return 0;
}

static int64_t used(void) { return atomic_load(&device->memory.used); }
static void sum_of(char table, const char *how) {
    char sql[128];
    snprintf(sql, sizeof sql, "select sum(x + y + z)::bigint from %c", table);
    explain(sql);
    if (!strstr(lines, how)) fail_msg("%s: no \"%s\" in\n%s", sql, how, lines);
    set("executor", "vm");
    int64_t want = number(sql);
    set("executor", "compiled");
    assert_int_equal(number(sql), want);
}
static bool came(void) { return !strstr(lines, "cached, 1 launch, 0 B in,"); }

/* stele_tablets: the tablets of table a of which a device has a copy; columns of its first one. */
static void copies_are(int64_t tablets, int64_t columns) {
    assert_int_equal(number("select count(devices) from stele_tablets where table_name = 'a'"), tablets);
    assert_int_equal(number("select count(devices) from stele_tablet_columns where table_name = 'a' and tablet = 0"),
                     columns);
}
/* Copies that a device has are shown as long as they are what the table has. */
static void test_shown(void **state) {
    (void)state;
    int64_t all = number("select count(*) from stele_tablets where table_name = 'a'");
    copies_are(0, 0);
    sum_of('a', "cached");
    copies_are(all, 3);
    char name[128];
    snprintf(name, sizeof name, "select count(*) from stele_tablets where devices = '%s'", device->info.id);
    assert_int_equal(number(name), all);
    static const char of_table[] = "select coalesce(sum(bytes), 0)::bigint from stele_memory where device is not null "
                                   "and what = 'columns' and table_name = 'a'";
    int64_t bytes = number(of_table);
    assert_true(bytes >= 3 * 4 * 500000 && bytes <= used());
    assert_int_equal(number("select max(charged) - sum(bytes)::bigint from stele_memory where device is not null"), 0);
    run("insert into a values (0, 0, 0, 0)"); /* packed tablets stay as they were */
    copies_are(all, 3);
    sum_of('a', "cached");
    copies_are(all + 1, 3);
    run("update a set x = x where k < 100000"); /* opens a column, and reads another */
    copies_are(all, 3);
    assert_int_equal(number("select count(*) - count(devices) from stele_tablet_columns where table_name = 'a' and "
                            "column_name = 'x' and tablet = 0"),
                     1);
    run("vacuum a"); /* packed tablets stay, but for the one that had changed */
    copies_are(all - 1, 0);
    sum_of('a', "cached");
    dev_runtime_forget(runtime, -1);
    copies_are(0, 0);
    assert_int_equal(number(of_table), 0);
}

/* Of patched columns the new cells are sent, not the packed ones again: per tablet with new patches, and only there. A
 * tablet in which a row became NULL has its validity bits moved, too, which are 16 kB. */
static void patched_come(const char *bytes) {
    sum_of('b', "cached");
    if (!strstr(lines, bytes)) fail_msg("no \"%s\" in\n%s", bytes, lines);
}
static void test_patched(void **state) {
    (void)state;
    sum_of('b', "cached");
    run("update b set x = 5 where k = 10");
    assert_int_equal(number("select count(*) from stele_tablets where table_name = 'b' and form = 'patched'"), 1);
    patched_come(" 704 B in");
    patched_come(" 0 B in");
    run("update b set y = null where k = 200000");
    patched_come(" 16 kB in");
    run("update b set x = -7 where k = 400000");
    patched_come(" 704 B in");
    run("update b set x = -8 where k = 11");
    assert_int_equal(number("select count(*) - count(devices) from stele_tablet_columns where table_name = 'b' and "
                            "column_name <> 'k'"),
                     1);
    patched_come(" 704 B in");
    set("device_residence", "streamed");
    sum_of('b', "streamed");
    set("device_residence", "auto");
    run("vacuum b");
}
/* Whatever patched columns hold, wherever they are read. */
static void test_patched_types(void **state) {
    (void)state;
    static const char *const queries[] = {
        "select k, n, s, w, x, f, d from p where k < 7 or k > 2996 or s like 'new%' order by k",
        "select count(*), sum(n), min(n), sum(x), max(f), count(s), max(d), count(*) filter (where s > 'text 29') from "
        "p "
        "where f >= 1",
        "select w, count(*), sum(n) from p group by w order by w"};
    run("create table p(k int primary key, n bigint, s text, w text, x numeric(38,2), f float8, d date)");
    run("insert into p select g, g % 97, 'text ' || g, 'w' || g % 5, g % 50, g / 8.0, date '2024-01-01' + g % 300 from "
        "generate_series(1, 3000) g");
    run("vacuum p");
    for (int step = 0; step < 6; step++) {
        device_use(step % 3 == 2);
        set("device_residence", step % 3 == 1 ? "streamed" : "auto");
        for (int i = 0; i < 3; i++) {
            Answer want, got;
            for (int again = 0; again < 2; again++) {
                set("executor", "vm");
                assert_int_equal(answer(queries[i], &want), ST_OK);
                set("executor", "compiled");
                set("device_strict", "on");
                if (answer(queries[i], &got) != ST_OK) fail_msg("%s: %s", queries[i], session->err.message);
                set("device_strict", "off");
                assert_int_equal(got.hash, want.hash);
                assert_int_equal(got.rows, want.rows);
                if (again == 0)
                    run(step % 2 ? "update p set s = 'new ' || k, w = 'w9', n = -n, f = 0.5 where k % 1500 = 3"
                                 : "update p set s = null, n = null, x = 7.25, d = null, f = 9e9 where k in (5, 2998)");
            }
        }
        run("update p set s = 'news of some length ' || k where k = 2999");
    }
    set("device_residence", "auto");
    device_use(false);
    run("drop table p");
}

/* Open cells, those of a home and strings, are read where they are by a device that shares the host's memory. */
static void test_open(void **state) {
    (void)state;
    static const char sql[] = "select sum(x + k)::bigint from o where s like 't%'";
    run("create table o(k int primary key, x bigint not null, y int not null, s text)");
    run("insert into o select g, 0, g, 't' || g from generate_series(1, 1000) g");
    run("create procedure pay(a int, d bigint) language plpgsql as $$ begin update o set x = x + d, y = y + 1 where k "
        "= "
        "a; end $$");
    for (int shares = 0; shares < 2; shares++) {
        device_use(shares);
        for (int i = 1; i <= 2; i++) {
            set("executor", "vm");
            run("call bulk_call('pay', 'select g, 1 from generate_series(1, 1000, 2) g')");
            set("executor", "compiled");
            explain(sql);
            assert_int_equal(came(), !shares);
            assert_int_equal(number(sql), 500500 + 500 * (2 * shares + i));
        }
    }
    device_use(false);
    set("snapshot", "version"); /* of which a device with memory of its own gets what a bulk has changed */
    for (int i = 1; i <= 2; i++) {
        set("executor", "vm");
        run("call bulk_call('pay', 'select g, 1 from generate_series(1, 20) g')");
        set("executor", "compiled");
        explain(sql);
        if (!strstr(lines, i == 1 ? " kB in" : " 832 B in")) fail_msg("%s", lines);
        assert_int_equal(number(sql), 502500 + 20 * i);
    }
    set("snapshot", "auto");
    run("drop table o");
}

/* What a query brings to the device, and that its answer is right. */
static void moves(const char *sql, const char *bytes) {
    set("executor", "vm");
    int64_t want = number(sql);
    set("executor", "compiled");
    set("device_strict", "on");
    explain(sql);
    if (!strstr(lines, bytes)) fail_msg("%s: no \"%s\" in\n%s", sql, bytes, lines);
    assert_int_equal(number(sql), want);
    set("device_strict", "off");
}
static const char kept_x[] = "select sum(x)::bigint from w", kept_n[] = "select sum(n)::bigint from w",
                  kept_s[] = "select sum(length(s)) from w where s like 't%'";
static void kept_new(void) {
    run("create table w(k int, x bigint, s text, n bigint)");
    run("insert into w select g, g, 't' || g, 1 from generate_series(1, 3000) g");
}
/* Open cells of published versions stay on a device with memory of its own: changed rows come as patches, rows that
 * were added behind the others as long as there is room, NULLs with their column's bits. */
static void test_open_kept(void **state) {
    (void)state;
    set("snapshot", "version");
    set("auto_merge", "off");
    kept_new();
    moves(kept_x, " 23 kB in");
    moves(kept_x, " 0 B in");
    run("update w set x = -5 where k = 10");
    moves(kept_x, " 704 B in");
    run("insert into w values (3001, 7, 't3001', 1)");
    moves(kept_x, " 8 B in");
    moves(kept_n, " 23 kB in");
    run("update w set n = null, x = null where k = 3001");
    moves(kept_n, " 1152 B in");
    moves(kept_n, " 0 B in");
    moves(kept_s, "in");
    run("insert into w values (3002, 7, 't300', 2)");
    moves(kept_s, " 8 B in");
    run("update w set s = case k when 3002 then null when 5 then 'tt' else 'x' end where k in (4, 5, 3002)");
    moves(kept_s, " 1536 B in");
    Answer want, got;
    static const char rows[] = "select s, x, n from w where k < 7 or k > 2999 order by k"; /* addresses of strings */
    set("executor", "vm");
    assert_int_equal(answer(rows, &want), ST_OK);
    set("executor", "compiled");
    assert_int_equal(answer(rows, &got), ST_OK);
    assert_int_equal(got.hash, want.hash);
    run("insert into w select g, g, 'a longer text ' || g, null from generate_series(3003, 4090) g");
    moves(kept_x, " 9280 B in"); /* there is room for 4,096 rows, */
    moves(kept_s, " 49 kB in");  /* but not for strings so long */
    run("insert into w select g, g, 't' || g, null from generate_series(4091, 6000) g");
    moves(kept_x, " 47 kB in");
    set("snapshot", "lock");
    run("create table e(x int)"); /* a definition of another table leaves what is published */
    run("update w set x = x + 1 where k = 20");
    run("drop table e");
    set("snapshot", "version");
    moves(kept_x, " 1024 B in");
    moves(kept_x, " 0 B in");
    set("device_residence", "streamed");
    run("update w set x = 1 where k = 21");
    moves(kept_x, "streamed");
    set("device_residence", "auto");
    set("snapshot", "lock"); /* the table itself: nothing is known of its cells */
    run("insert into w values (6001, 0, 't', 0)");
    moves(kept_x, " 48 kB in");
    set("snapshot", "auto"); /* versions for the device's sake; the cells come once more, since what came had no id */
    run("insert into w values (6002, 0, 't', 0)");
    moves(kept_x, " 47 kB in");
    run("insert into w values (6003, 0, 't', 0)");
    moves(kept_x, " 8 B in");
    run("drop table w");
    set("auto_merge", "on");
}
/* Whatever fails while rows come behind kept ones: the next query reads all of them. */
static void test_kept_faults(void **state) {
    (void)state;
    set("snapshot", "version");
    set("auto_merge", "off");
    kept_new();
    moves(kept_s, "in"); /* something is published */
    run("update w set s = 'tt' where k = 11");
    for (int64_t n = 1, last = 0; !last; n++) {
        moves(kept_s, "in");
        run("insert into w values (9, 9, 't9', null)");
        run("update w set s = 'tttt' where k = 10");
        plan.calls = 0;
        plan.fail_at = n;
        int64_t got = number(kept_s);
        last = plan.calls < n;
        plan.fail_at = 0;
        set("executor", "vm");
        assert_int_equal(got, number(kept_s));
        set("executor", "compiled");
    }
    run("drop table w");
    set("snapshot", "auto");
    set("auto_merge", "on");
}

/* Lowering the limit frees what was not used for longest, at once. */
static void test_lowered(void **state) {
    (void)state;
    sum_of('a', "cached");
    sum_of('b', "cached");
    assert_true(used() > 10 << 20);
    set("device_memory_limit", "9MB");
    assert_true(used() <= 9 << 20);
    explain("select sum(x + y + z)::bigint from b");
    assert_non_null(strstr(lines, "cached"));
    assert_false(came());
    set("device_memory_limit", "0");
    explain("select sum(x + y + z)::bigint from a");
    assert_true(came());
}

/* Who needs room gets that of others. */
static void test_room(void **state) {
    (void)state;
    set("device_strict", "on");
    set("device_memory_limit", "12MB");
    for (int i = 0; i < 3; i++)
        for (const char *t = "abc"; *t; t++) {
            sum_of(*t, "cached");
            assert_true(used() <= 12 << 20);
        }
}

/* Less than a table: it is streamed, whether its columns are there or not. */
static void test_streamed(void **state) {
    (void)state;
    set("device_strict", "on");
    sum_of('a', "cached");
    set("device_memory_limit", "4MB");
    sum_of('a', "streamed");
    sum_of('b', "streamed");
    assert_true(used() <= 4 << 20);
}

/* Less and less: cached, then streamed because columns and groups do not fit beside each other, then on the cpu for
 * want of memory; always the same answer. */
static void test_states(void **state) {
    (void)state;
    static const char sql[] =
        "select sum(n)::bigint from (select x % 300000 as g, sum(y + z + k) as n from a group by 1) q where n > 0";
    static const char *const ways[] = {"       cached, ", "       streamed, ",
                                       "       not on the device: the device failed: out of memory on device \"host\""};
    set("executor", "vm");
    int64_t want = number(sql);
    set("executor", "compiled");
    explain(sql);
    int64_t limit = used();
    int at = 0, seen = 0;
    for (; at < 2; limit -= 1 << 20) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        set("device_memory_limit", text);
        explain(sql);
        while (at < 2 && !strstr(lines, ways[at])) at++;
        if (!strstr(lines, ways[at])) fail_msg("%s: no \"%s\" in\n%s", text, ways[at], lines);
        seen |= 1 << at;
        assert_int_equal(number(sql), want);
        assert_true(used() <= limit);
    }
    assert_int_equal(seen, 7);
}

/* Runs a statement of another session. */
static void other_runs(Session *other, const char *sql) {
    Session *mine = session;
    session = other;
    run(sql);
    session = mine;
}
/* The sum of a's x, on the device, and what names of d are. */
static void other_reads(Session *s, int64_t sum, int64_t named) {
    Session *mine = session;
    session = s;
    assert_int_equal(number("select sum(x)::bigint from d"), sum);
    assert_int_equal(number("select count(*) from d where name like 'n%' and note like '%x'"), named);
    session = mine;
}
/* Two sessions read different versions of a table in turns, one of them without the lock beside a writer. */
static void versions_in_turns(Session *other, bool packed) {
    set("device_strict", "off");
    run("create table d(k int primary key, x bigint, name text, note text)");
    run("insert into d select g, 1, 'n' || g % 5, g || 'x' from generate_series(1, 300000) g");
    if (packed) run("vacuum d");
    set("device_strict", "on");
    run("begin");
    other_reads(session, 300000, 300000);
    for (int i = 1; i <= 3; i++) {
        char sql[128];
        snprintf(sql, sizeof sql, "update d set x = x + 1, name = 'm%d', note = 'y%d' where k = %d", i, i, i);
        other_runs(other, sql);
        other_reads(other, 300000 + i, 300000 - i);
        other_reads(session, 300000, 300000);
    }
    other_runs(other, "begin");
    other_runs(other, "update d set x = 0");
    other_reads(other, 0, 300000 - 3);
    other_reads(session, 300000, 300000);
    other_runs(other, "create table e(x int)"); /* it holds the lock alone */
    other_reads(session, 300000, 300000);
    run("commit");
    other_reads(session, 300003, 300000 - 3);
    other_runs(other, "rollback");
    other_runs(other, "vacuum d");
    other_reads(other, 300003, 300000 - 3);
    other_reads(session, 300003, 300000 - 3);
    run("drop table d");
}
static void test_versions(void **state) {
    (void)state;
    Err e = {0};
    Session *other, *mine = session;
    assert_int_equal(session_new(db, &other, &e), ST_OK);
    for (int shares = 0; shares < 2; shares++) {
        device_use(shares);
        set("auto_merge", shares ? "on" : "off");
        other->device.override = runtime;
        session = other;
        set("executor", "compiled");
        set("device_wait", "on");
        set("device_strict", "on");
        set("lock_timeout", "10");
        session = mine;
        set("lock_timeout", "10");
        versions_in_turns(other, true);
        if (!shares) versions_in_turns(other, false);
    }
    other->device.override = NULL;
    session_free(other);
    device_use(false);
    set("lock_timeout", "0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_patched, begin),       cmocka_unit_test_setup(test_lowered, begin),
        cmocka_unit_test_setup(test_room, begin),          cmocka_unit_test_setup(test_streamed, begin),
        cmocka_unit_test_setup(test_states, begin),        cmocka_unit_test_setup(test_shown, begin),
        cmocka_unit_test_setup(test_versions, begin),      cmocka_unit_test_setup(test_open, begin),
        cmocka_unit_test_setup(test_patched_types, begin), cmocka_unit_test_setup(test_open_kept, begin),
        cmocka_unit_test_setup(test_kept_faults, begin),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
