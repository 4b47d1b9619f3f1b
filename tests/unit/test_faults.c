/* test_faults.c - statements when something gives out: every allocation, memory_limit, the disk, the database's files.
 *
 * The rule for all of them: an error with the right SQLSTATE or the right answer, no leak (run under AddressSanitizer),
 * tables unchanged, and a session that goes on.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "db/database.h"
#include "stele/stele.h"
#include "unit.h"

static stele_db *db;
static stele_conn *conn;

static void open_memory(int threads) {
    stele_options o = {.threads = threads};
    assert_int_equal(stele_open(NULL, &o, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &conn), STELE_OK);
}
static void close_all(void) {
    stele_disconnect(conn);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}
static void run(const char *sql) {
    if (stele_exec(conn, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(conn, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
/* An order-free digest of the rows. */
typedef struct Digest {
    uint64_t sum;
    int64_t rows;
} Digest;
static bool digest_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    Digest *d = ctx;
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < n; i++) {
        for (const char *p = v[i] ? v[i] : "\1NULL"; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
        h = (h ^ 255) * 1099511628211u;
    }
    d->sum += h;
    d->rows++;
    return false;
}
static stele_status digest(const char *sql, Digest *d) {
    *d = (Digest){0};
    return stele_exec(conn, sql, digest_row, d);
}
static Digest digest_of(const char *sql) {
    Digest d;
    if (digest(sql, &d) == STELE_OK) return d;
    stele_error_info e;
    stele_error(conn, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
    return d;
}

/* ---- every allocation fails once ---- */
static const char *const schema = "create table a(id int primary key, g int, t text, n numeric(12,2), d date);"
                                  "create table b(id bigint, a_id int, v double precision, s varchar(20), unique (id));"
                                  "insert into a select x, x % 7, 'text ' || x % 50, x / 4.0, date '2020-01-01' + x "
                                  "from generate_series(1, 300) g(x);"
                                  "insert into b select x, x % 100, x * 1.5, case when x % 5 <> 0 then 's' || x % 20 "
                                  "end from generate_series(1, 400) g(x);"
                                  "create view v as select g, count(*) as c, sum(n) as total from a group by g";
static const char *const state_query = "select 'a', count(*), sum(id), sum(n), count(distinct t) from a union all "
                                       "select 'b', count(*), sum(id), sum(a_id), count(distinct s) from b";

static const char *const queries[] = {
    "select 1",
    "select * from a where id = 17",
    "select id, t || '!', n * 2 from a where g in (1, 3) and t like '%1%' order by n desc, id limit 20",
    "select g, count(*), sum(n), avg(n), min(t), max(d), count(distinct t) from a group by g having count(*) > 3",
    "select count(*), sum(v), min(s) from b",
    "select a.id, b.id, b.s from a join b on a.id = b.a_id where b.v > 10",
    "select a.id, b.id from a left join b on a.id = b.a_id and b.v > 100",
    "select a.id, b.id from a full join b on a.id = b.a_id",
    "select count(*) from a, b where a.g = b.id % 7 and a.id < b.id",
    "select count(*) from a join b on a.id < b.a_id",
    "select id from a where exists (select 1 from b where b.a_id = a.id and b.v > 20)",
    "select id from a where id not in (select a_id from b where a_id is not null)",
    "select id, (select max(v) from b where b.a_id = a.id) from a where g = 2",
    "select * from a where n > (select avg(n) from a)",
    "with w as (select g, sum(n) as s from a group by g) select x.g, y.s from w x join w y on x.g = y.g + 1",
    "select g from a union select a_id from b",
    "select g from a except select a_id from b",
    "select g from a intersect all select a_id from b",
    "select distinct t, g from a",
    "select * from v where c > 2",
    "select * from (values (1, 'x'), (2, 'y'), (3, null)) t(i, s) order by s nulls first",
    "select x, x * x from generate_series(1, 3000) g(x) where x % 3 = 0",
    "select regexp_replace(t, '[0-9]+', 'N'), upper(t), substring(t from 2 for 3), extract(year from d), to_char(d, "
    "'YYYY-MM') from a",
    "select string_agg(t, ',') from a where id < 10",
    "select g, string_agg(distinct t, ',' order by t desc), string_agg(t, t order by n, id desc) from a where id < 40 "
    "group by g",
    "select x.id, y.id from a x, lateral (select b.id from b where b.a_id = x.id order by b.v desc limit 2 offset 1) y "
    "where x.g = 1",
    "select id from a order by g limit (select min(g) + 3 from a) offset (select 1)",
    "select id, g from a order by g desc fetch first 5 rows with ties",
    "select sum(i), avg(i) from (select make_interval(0, 0, 0, id) as i from a) q",
    "select case when g = 1 then 'one' when g = 2 then 'two' else t end, coalesce(t, 'none'), g::text, n::float8 from "
    "a",
    "select d + interval '1 month', d - date '2020-01-01', age(d, date '2019-01-01') from a where id < 30",
    "select t from a order by t, id offset 5 limit 10",
    "select sum(x) from (select distinct g * 10 as x from a) q",
    "explain select a.id from a join b on a.id = b.a_id where b.v > 10 order by 1",
    "show all",
    "prepare pq(int) as select * from a where id = $1 and g = $1 % 7",
};
static const char *const changes[] = {
    "insert into a values (1001, 1, 'new', 1.5, '2024-01-01'), (1002, 2, null, null, null)",
    "insert into a select id + 2000, g, t || '+', n, d from a",
    "insert into b(id, s) values (5001, 'x') returning id, s",
    "insert into a values (1, 1, 'dup', 0, null), (3001, 1, 'x', 0, null) on conflict do nothing",
    "insert into a select id - 5, g, 'up', n, d from a where id < 20 on conflict (id) do update set t = a.t || "
    "excluded.t, n = null where a.g <> 2 returning id, t",
    "update a set n = n + 1, t = t || '.' where g = 3",
    "update b set a_id = null where v > 500 returning id",
    "update a set n = b.v from b where b.id = a.id and b.id < 50",
    "delete from a where id % 11 = 0",
    "delete from b where a_id in (select id from a where g = 1)",
    "create table c(x int primary key, y text default 'y' || 1, check (x < 1000), unique (x, y))",
    "insert into c(x) select generate_series(1, 100)",
    "create table e as select a.id, b.s from a join b on a.id = b.a_id",
    "create view w as select * from e where s is not null",
    "create index c_i on c using btree (upper(y) desc, x) include (y) with (fillfactor = 70) where x > 0",
    "create unique index c_u on c (y desc, x)",
    "comment on column c.y is 'a comment'",
    "create table k (like c including all)",
    "create view low(k, words, twice) as select id, t, n * 2 from a where g < 5 with check option",
    "update low set words = words || twice where k < 9 returning *",
    "insert into low (k, words) values (8, 'low') on conflict (k) do update set words = excluded.words",
    "create materialized view kept as select g, count(*) as c from a group by g",
    "refresh materialized view kept",
    "drop materialized view kept",
    "alter table c rename column y to z",
    "alter index c_i set (fillfactor = 80)",
    "cluster c using c_u",
    "comment on column c.z is null",
    "drop index c_i, c_u",
    "drop table k",
    "create table f(x int references c on delete cascade, y int constraint fy references a)",
    "insert into f select x, case when x % 2 = 0 then x + 2 end from c where x < 8",
    "delete from c where x < 5",
    "alter table f drop constraint fy",
    "drop table f",
    "drop view w, low",
    "truncate e",
    "drop table e",
    "copy a to '/tmp/stele_test_faults.csv' with (format csv, header)",
    "copy c(x) to '/tmp/stele_test_faults.txt'",
    "truncate c",
    "copy c(x) from '/tmp/stele_test_faults.txt'",
    "analyze a",
    "vacuum a",
    "drop table c",
    "begin; insert into b(id) values (7000); update b set v = 1 where id = 7000; create table q as select * from b; "
    "commit",
    "drop table q",
    "delete from b",
};

static void check_memory_error(const char *sql, int64_t n) {
    stele_error_info e;
    stele_error(conn, &e);
    if (strcmp(e.sqlstate, "53200") != 0 && strcmp(e.sqlstate, "53400") != 0)
        fail_msg("allocation %lld of %s: %s %s", (long long)n, sql, e.sqlstate, e.message);
    if (stele_transaction_state(conn) != 'I') run("rollback");
}
static int64_t next(int64_t n) { return n < 200 ? n + 1 : n + 1 + n / 16; }

static void allocations(int threads) {
    open_memory(threads);
    run(schema);
    Digest before = digest_of(state_query), now;
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        Digest right = digest_of(queries[i]);
        bool prepares = strncmp(queries[i], "prepare", 7) == 0;
        if (prepares) run("deallocate pq");
        for (int64_t n = 1;; n = next(n)) {
            mem_fail_at(n);
            stele_status r = digest(queries[i], &now);
            bool reached = mem_fail_at(0) <= 0;
            if (r == STELE_OK && (now.sum != right.sum || now.rows != right.rows))
                fail_msg("allocation %lld of %s: a wrong answer", (long long)n, queries[i]);
            if (r == STELE_OK && prepares) run("deallocate pq");
            if (r != STELE_OK) check_memory_error(queries[i], n);
            if (!reached) {
                assert_int_equal(r, STELE_OK);
                break;
            }
        }
    }
    now = digest_of(state_query);
    assert_true(now.sum == before.sum);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        for (int64_t n = 1;; n = next(n)) {
            mem_fail_at(n);
            stele_status r = stele_exec(conn, changes[i], NULL, NULL);
            mem_fail_at(0);
            if (r == STELE_OK) break;
            check_memory_error(changes[i], n);
            now = digest_of(state_query);
            if (now.sum != before.sum) fail_msg("allocation %lld of %s: tables changed", (long long)n, changes[i]);
        }
        before = digest_of(state_query);
    }
    run("drop view v; drop table a; drop table b");
    unlink("/tmp/stele_test_faults.csv");
    unlink("/tmp/stele_test_faults.txt");
    close_all();
}
static void allocations_one(void **state) {
    (void)state;
    allocations(1);
}
static void allocations_two(void **state) {
    (void)state;
    allocations(2);
}
static void allocations_of_handles(void **state) {
    (void)state;
    for (int64_t n = 1;; n++) {
        stele_db *d = NULL;
        stele_conn *c = NULL;
        mem_fail_at(n);
        stele_error_info e;
        stele_options o = {.threads = 2, .temp_directory = "/tmp"};
        stele_status r = stele_open(NULL, &o, &d, &e);
        if (r != STELE_OK) assert_string_equal(e.sqlstate, "53200");
        if (r == STELE_OK) r = stele_connect(d, &c);
        bool reached = mem_fail_at(0) <= 0;
        stele_disconnect(c);
        if (d) assert_int_equal(stele_close(d, NULL), STELE_OK);
        if (!reached) break;
        assert_int_equal(r, STELE_ERROR);
    }
}

/* ---- bulks ---- */
/* Every call adds 1 to an account and writes a line: what calls say of themselves is what the tables have. */
static const char *const bulk_schema =
    "create table purse(k int primary key, bal int not null, word text); create table line(n int primary key, word "
    "text);"
    "create procedure pay(i int, a int, w text, out said text) language plpgsql as $$ begin"
    " update purse set bal = bal + 1, word = w where k = a; if not found then raise exception 'no purse %', a using "
    "hint "
    "= 'there are four'; end if;"
    " if i % 4 = 2 then raise notice 'call %', i; end if; insert into line values (i, w || ' of call ' || i);"
    " said := 'a text that does not fit into the value itself: ' || i; end $$;"
    "create procedure odd(i int, a int, w text, out said text) language plpgsql as $$ begin"
    " update purse set bal = bal + 1 where k = a; execute 'insert into line values (' || i || ')'; said := w; end $$;"
    "create procedure plain(i int, a int, w text, out now int) language plpgsql as $$ begin"
    " update purse set bal = bal + 1, word = w where k = a returning bal into now; if not found then raise exception "
    "'no "
    "purse %', a; end if; insert into line values (i, w); end $$"; /* that kernels can run */
#define TWENTY "'pay', 'select i, i % 5, ''word '' || i from generate_series(1, 20) g(i) order by i'"
static const struct {
    const char *before, *sql, *after;
} bulks[] = {
    {"", "call bulk_call(" TWENTY ")", ""},
    {"", "select * from bulk_call(" TWENTY ")", ""},
    {"begin", "call bulk_call(" TWENTY ")", "commit"},
    {"", "call bulk_call('odd', 'select i, 1 + i % 4, ''word '' || i from generate_series(1, 6) g(i) order by i')", ""},
    {"", "call bulk_call('plain', 'select i, i % 5, ''word '' || i from generate_series(1, 20) g(i) order by i')", ""},
    {"begin", "call bulk_call('plain', 'select i, i % 5, ''w'' || i from generate_series(1, 20) g(i) order by i')",
     "commit"},
    {"set bulk_interval = '10us'", "call pay(7, 2, 'a word of its own', null)", "set bulk_interval = 0"},
};
static const char *const ways[] = {"",
                                   "set bulk_strategy = 'kset'",
                                   "set bulk_strategy = 'tpl'",
                                   "set bulk_strategy = 'part'",
                                   "set bulk_strategy = 'serial'",
                                   "set bulk_slice_calls = 7",
                                   "set executor = 'compiled'; set device = 'cpu'; set device_wait = on",
                                   "set executor = 'compiled'; set device = 'cpu'; set device_wait = on; set "
                                   "bulk_copies = on; set bulk_strategy = 'tpl'"};
/* Calls that say that they succeeded, of a statement that has run. */
static int64_t successes(stele_stmt *st) {
    int64_t n = 0;
    while (stele_step(st) == STELE_ROW) {
        const char *sqlstate = stele_column_count(st) > 1 ? stele_column_text(st, 1, NULL) : NULL;
        if (sqlstate && strcmp(sqlstate, "P0001") != 0 && strcmp(sqlstate, "53200") != 0) fail_msg("%s", sqlstate);
        n += !sqlstate;
    }
    return n;
}
static bool number_row(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)names;
    *(int64_t *)ctx = strtoll(v[0], NULL, 10);
    return false;
}
static int64_t number(const char *sql) {
    int64_t x = -1;
    if (stele_exec(conn, sql, number_row, &x) != STELE_OK) run(sql);
    return x;
}
/* Either the statement fails and nothing has changed, or each call says what it has done. Texts of rows are made when
 * they are asked for: there is memory again by then. */
static void bulk_without_memory(int which, const char *way, bool anew) {
    int64_t failed = 0;
    for (int64_t n = 1;; n = next(n)) {
        run("delete from line; update purse set bal = 0");
        if (anew) run("create table more(a int); drop table more"); /* procedures are compiled and images made anew */
        run(bulks[which].before);
        stele_stmt *st = NULL;
        stele_error_info e;
        char why[200] = "ok";
        int64_t calls = 0;
        mem_fail_at(n);
        stele_status r = stele_prepare(conn, bulks[which].sql, -1, &st, NULL);
        if (r == STELE_OK) r = stele_run(st);
        const bool reached = mem_fail_at(0) <= 0;
        if (r == STELE_ERROR) {
            stele_error(conn, &e);
            snprintf(why, sizeof why, "%s", e.message);
            calls = strstr(why, "has been executed") != NULL;
            check_memory_error(bulks[which].sql, n);
            failed++;
        } else {
            calls = successes(st);
        }
        stele_finalize(st);
        run(bulks[which].after);
        const int64_t lines = number("select count(*) from line"), sum = number("select sum(bal) from purse");
        if (lines != calls || sum != calls)
            fail_msg("%s: allocation %lld of %s: %s: %lld calls succeeded, %lld lines, sum %lld", way, (long long)n,
                     bulks[which].sql, why, (long long)calls, (long long)lines, (long long)sum);
        if (!reached) break;
    }
    assert_true(failed > 5);
}
static void bulks_without_memory(void **state) {
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        open_memory(1);
        run(bulk_schema);
        run("insert into purse select i, 0, 'none' from generate_series(1, 4) g(i)");
        run(ways[w]);
        for (int i = 0; i < (int)(sizeof bulks / sizeof bulks[0]); i++) bulk_without_memory(i, ways[w], w == 0);
        close_all();
    }
}

/* ---- memory_limit ---- */
static const char *const heavy[] = {
    "select count(*), sum(c) from (select x % 400000 as k, count(*) as c from generate_series(1, 500000) g(x) group by "
    "1) q",
    "select count(*), min(s) from (select 'key number ' || x as s, sum(x) from generate_series(1, 500000) g(x) group "
    "by 1) q",
    "select count(*), sum(a.y) from (select x, x + 1 as y from generate_series(1, 500000) g(x)) a join (select x * 2 "
    "as x from generate_series(1, 500000) h(x)) b on a.x = b.x",
    "select count(*), sum(a.id), sum(length(b.t)) from big a join big b on a.id = b.id + 1",
    "select count(*), sum(a.id) from big a left join big b on a.id = b.id * 3 where b.id is null",
    "select sum(id * r) from (select id, t, 1 as r from big order by t desc, id limit 400000) q",
    "select count(*) from (select distinct t from big) q",
    "select count(distinct t), count(distinct id) from big",
    "select count(*) from (select t from big except select t from big where id % 2 = 0) q",
    "select t, id from big order by t, id",
    "with w as (select id, t from big where id % 2 = 0) select count(*) from w a join w b on a.t = b.t",
    "select length(string_agg(t, ',')) from big",
    "select count(*) from (select g, array_length(array[1], 1) from big) q",
};
static void limits(void **state) {
    (void)state;
    open_memory(2);
    run("create table big as select x as id, x % 1000 as g, 'some text ' || x as t from generate_series(1, 500000) "
        "s(x)");
    for (size_t i = 0; i < sizeof heavy / sizeof heavy[0]; i++) {
        Digest right, now;
        if (digest(heavy[i], &right) != STELE_OK) continue; /* not supported */
        static const char *const limit[] = {"24MB", "48MB", "96MB"};
        for (int k = 0; k < 3; k++) {
            char set[64];
            snprintf(set, sizeof set, "set memory_limit = '%s'", limit[k]);
            run(set);
            stele_status r = digest(heavy[i], &now);
            if (r == STELE_OK) {
                if (now.sum != right.sum || now.rows != right.rows)
                    fail_msg("%s under %s: a wrong answer", heavy[i], limit[k]);
            } else {
                stele_error_info e;
                stele_error(conn, &e);
                if (strcmp(e.sqlstate, "53400") != 0 || !strstr(e.message, "memory limit") ||
                    !strstr(e.hint, "memory_limit"))
                    fail_msg("%s under %s: %s %s (%s)", heavy[i], limit[k], e.sqlstate, e.message, e.hint);
                print_message("%s: %s: %s\n", limit[k], heavy[i], e.message);
            }
            run("set memory_limit = '8GB'");
        }
        Digest again = digest_of("select 1");
        assert_int_equal(again.rows, 1);
    }
    close_all();
}

/* ---- a disk that fills up ---- */
static Vfs faulty;
static int64_t writes_left;
static Status f_open(Vfs *v, const char *p, int mode, VfsFile **out, Err *e) {
    Status st = vfs_posix()->open(vfs_posix(), p, mode, out, e);
    if (st == ST_OK) (*out)->vfs = v;
    return st;
}
static Status f_write(VfsFile *f, const void *b, int64_t n, int64_t at, Err *e) {
    if (__atomic_sub_fetch(&writes_left, 1, __ATOMIC_RELAXED) < 0)
        return err_set(e, ERR_DISK_FULL, "could not write file \"%s\": no space left on device", f->path);
    return vfs_posix()->write_at(f, b, n, at, e);
}
static void break_disk(void) {
    faulty = *vfs_posix();
    faulty.open = f_open;
    faulty.write_at = f_write;
    (*(Database **)(void *)db)->vfs = &faulty; /* the first member of a stele_db */
}
static void full_disk_spill(void **state) {
    (void)state;
    open_memory(2);
    break_disk();
    run("create table big as select x as id, 'some text ' || x as t from generate_series(1, 400000) s(x)");
    static const char *const q[] = {
        "select count(*), sum(length(t)) from (select t, id from big order by t limit 399999) q",
        "select count(*) from (select t, count(*) from big group by t) q",
        "select count(*) from big a join big b on a.t = b.t"};
    for (int i = 0; i < 3; i++) {
        writes_left = INT64_MAX;
        Digest right = digest_of(q[i]), now;
        for (int64_t n = 0; n < 4000; n = n * 3 + 1) {
            writes_left = n;
            run("set memory_limit = '48MB'");
            stele_status r = digest(q[i], &now);
            stele_error_info e;
            stele_error(conn, &e);
            if (r == STELE_OK) assert_true(now.sum == right.sum);
            else if (strcmp(e.sqlstate, "53100") != 0 && strcmp(e.sqlstate, "53400") != 0)
                fail_msg("%s: %s %s", q[i], e.sqlstate, e.message);
            run("set memory_limit = '8GB'");
            if (r == STELE_OK) break;
        }
        writes_left = INT64_MAX;
        now = digest_of(q[i]);
        assert_true(now.sum == right.sum);
    }
    close_all();
}

static char dir[64];
static void make_dir(void) {
    strcpy(dir, "/tmp/stele_faults_XXXXXX");
    assert_non_null(mkdtemp(dir));
}
static void remove_dir(void) {
    char cmd[128];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    assert_int_equal(system(cmd), 0);
}
static stele_status open_dir(stele_error_info *e) {
    stele_options o = {.threads = 1};
    stele_status r = stele_open(dir, &o, &db, e);
    if (r == STELE_OK) assert_int_equal(stele_connect(db, &conn), STELE_OK);
    return r;
}
static void full_disk_save(void **state) {
    (void)state;
    make_dir();
    assert_int_equal(open_dir(NULL), STELE_OK);
    run(schema);
    Digest right = digest_of(state_query), now;
    break_disk();
    int64_t n = 0;
    for (;; n++) {
        writes_left = n;
        if (stele_exec(conn, "checkpoint", NULL, NULL) == STELE_OK) break;
        stele_error_info e;
        stele_error(conn, &e);
        assert_string_equal(e.sqlstate, "53100");
        now = digest_of(state_query);
        assert_true(now.sum == right.sum);
    }
    assert_true(n > 2);
    run("insert into a(id) values (90001)");
    right = digest_of(state_query);
    writes_left = 1;
    stele_disconnect(conn);
    stele_error_info e;
    assert_int_equal(stele_close(db, &e), STELE_ERROR); /* stays open */
    assert_string_equal(e.sqlstate, "53100");
    writes_left = INT64_MAX;
    assert_int_equal(stele_close(db, &e), STELE_OK);
    assert_int_equal(open_dir(&e), STELE_OK);
    now = digest_of(state_query);
    assert_true(now.sum == right.sum);
    close_all();
    remove_dir();
}

/* ---- damaged files ---- */
static void check_damaged(const char *file, const char *what, int64_t at, Digest right) {
    stele_error_info e;
    if (open_dir(&e) == STELE_OK) {
        Digest now;
        if (digest(state_query, &now) == STELE_OK) {
            if (now.sum != right.sum) fail_msg("%s %s at %lld: a wrong answer", file, what, (long long)at);
        } else {
            stele_error(conn, &e);
            if (strcmp(e.sqlstate, "XX001") != 0)
                fail_msg("%s %s at %lld: %s %s", file, what, (long long)at, e.sqlstate, e.message);
        }
        close_all();
    } else if (strcmp(e.sqlstate, "XX001") != 0 || !strstr(e.message, dir)) {
        fail_msg("%s %s at %lld: %s %s", file, what, (long long)at, e.sqlstate, e.message);
    }
}
static void damage_file(const char *path, Digest right) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    static char bytes[1 << 20];
    int64_t n = (int64_t)fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    int64_t step = n / 60 + 1;
    for (int64_t at = 0; at < n; at += at < 64 ? 3 : step) {
        bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
        f = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, (size_t)n, f), n);
        fclose(f);
        check_damaged(path, "flipped", at, right);
        bytes[at] = (char)(bytes[at] ^ (1 << at % 8));
        f = fopen(path, "wb");
        assert_int_equal(fwrite(bytes, 1, (size_t)at, f), at);
        fclose(f);
        check_damaged(path, "cut", at, right);
    }
    unlink(path);
    check_damaged(path, "removed", 0, right);
    f = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, (size_t)n, f), n);
    fclose(f);
}
static void damaged_files(void **state) {
    (void)state;
    make_dir();
    assert_int_equal(open_dir(NULL), STELE_OK);
    run(schema);
    run("delete from a where id % 9 = 0; update b set s = 'changed' where id < 40; checkpoint");
    Digest right = digest_of(state_query);
    close_all();
    char sub[128] = "", path[512];
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));)
        if (x->d_name[0] == 'g') snprintf(sub, sizeof sub, "%s/%.20s", dir, x->d_name);
    closedir(d);
    assert_true(sub[0] != 0);
    d = opendir(sub);
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));) {
        if (x->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", sub, x->d_name);
        damage_file(path, right);
    }
    closedir(d);
    /* CURRENT: cut or flipped is an error; without it the directory holds no database. */
    snprintf(path, sizeof path, "%s/CURRENT", dir);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char bytes[256];
    int64_t n = (int64_t)fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    for (int64_t at = 0; at < n; at++) {
        bytes[at] = (char)(bytes[at] ^ (1 << at % 7));
        f = fopen(path, "wb");
        fwrite(bytes, 1, (size_t)n, f);
        fclose(f);
        check_damaged(path, "flipped", at, right);
        bytes[at] = (char)(bytes[at] ^ (1 << at % 7));
        f = fopen(path, "wb");
        fwrite(bytes, 1, (size_t)at, f);
        fclose(f);
        check_damaged(path, "cut", at, right);
    }
    f = fopen(path, "wb");
    fwrite(bytes, 1, (size_t)n, f);
    fclose(f);
    stele_error_info e;
    assert_int_equal(open_dir(&e), STELE_OK);
    Digest now = digest_of(state_query);
    assert_true(now.sum == right.sum);
    close_all();
    remove_dir();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_of_handles), cmocka_unit_test(allocations_one), cmocka_unit_test(allocations_two),
        cmocka_unit_test(bulks_without_memory),   cmocka_unit_test(limits),          cmocka_unit_test(full_disk_spill),
        cmocka_unit_test(full_disk_save),         cmocka_unit_test(damaged_files),
    };
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
