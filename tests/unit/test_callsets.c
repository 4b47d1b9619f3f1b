/* test_callsets.c - the pool of calls with bulk_cut = zero_set: what calls leave and give is what they do one by one,
 * in the order of submission, whatever is withdrawn, cannot be foretold, or is changed beside them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stele/stele.h"
#include "unit.h"

static stele_db *db;
static stele_conn *conn;

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static stele_conn *connect_with(const char *settings) {
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    if (settings) run(c, settings);
    return c;
}
static bool first_cell(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)n, (void)names;
    *(char **)ctx = strdup(v[0] ? v[0] : "NULL");
    return true;
}
static char *cell_of(const char *sql) {
    char *cell = NULL;
    (void)stele_exec(conn, sql, first_cell, &cell);
    return cell ? cell : strdup("nothing");
}
static void gives(const char *sql, const char *expected) {
    char *cell = cell_of(sql);
    if (strcmp(cell, expected) != 0) fail_msg("%s: %s, not %s", sql, cell, expected);
    free(cell);
}
static void nap_ms(int64_t ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}
static stele_pool_info pool_info(bool reset) {
    stele_pool_info info;
    stele_pool_get_info(conn, reset, &info);
    return info;
}

/* Procedures whose order shows: v * 3 + x is another number than v + x times 3. */
static const char *const definitions =
    "create table v(id int primary key, n bigint not null); create table k(id int primary key, n bigint); create table "
    "sums(id int primary key, n bigint not null);"
    "create table way(id int primary key, goal int not null); create table notes(a int, b int, n bigint); create table "
    "days(d date primary key, n int not null); create table held(a int);"
    "create procedure mul(a int, x int, out r bigint) language plpgsql as $$ begin update v set n = (n * 3 + x) % "
    "1000003 where id = a returning n into r; end $$;"
    "create procedure two(a int, b int, out r bigint) language plpgsql as $$ begin select n into strict r from v where "
    "id = a; update v set n = (n * 7 + r + 1) % 1000003 where id = b; end $$;"
    "create procedure via(a int, x int, out r bigint) language plpgsql as $$ declare g int; begin select goal into g "
    "from way where id = a; update v set n = (n * 5 + x) % 1000003 where id = g returning n into r; end $$;"
    "create procedure put(a int, x int, out r bigint) language plpgsql as $$ begin insert into k values (a, x); insert "
    "into notes values (a, x, 1); r := x; end $$;"
    "create procedure drop_it(a int, x int, out r bigint) language plpgsql as $$ begin r := 0; if exists (select 1 "
    "from k where id = a) then r := 1; end if; delete from k where id = a; end $$;"
    "create procedure add_to(a int, x int, out r bigint) language plpgsql as $$ begin r := a; update sums set n = n + "
    "x - 10 where id = a; insert into notes values (a, x, 2); end $$;"
    "create procedure set_it(a int, x int, out r bigint) language plpgsql as $$ begin update sums set n = n * 2 % 1000 "
    "where id = a returning n into r; end $$;"
    "create procedure part_of(a int, x int, out r bigint) language plpgsql as $$ begin update v set n = (n * 11 + 1) % "
    "1000003 where id = 60 / (x - 3) + a - a returning n into r; end $$;"
    "create procedure caught(a int, x int, out r bigint) language plpgsql as $$ begin update v set n = (n * 17 + 3) % "
    "1000003 where id = a + 0 / (x / 6) returning n into r;"
    "exception when division_by_zero then update v set n = (n * 19 + x) % 1000003 where id = a returning n into r; end "
    "$$;"
    "create procedure odd(a int, x int, out r bigint) language plpgsql as $$ begin execute 'update v set n = (n * 13 + "
    "5) % 1000003 where id = ' || a; r := x; end $$;"
    "create procedure many(a int, x int, out r bigint) language plpgsql as $$ declare i int; begin select n % 5 into r "
    "from v where id = a; i := r; while i > 0 loop insert into notes values (a, i, 3); i := i - 1; end loop; end $$;"
    "create procedure today(a int, x int, out r bigint) language plpgsql as $$ begin update days set n = n * 3 % 1001 "
    "+ x where d = current_date - a returning n into r; end $$;";
enum { PROCS = 12, MOST = 3, ENTRIES = 300 };
static const char *const procs[PROCS] = {"mul",    "two",     "via",    "put", "drop_it", "add_to",
                                         "set_it", "part_of", "caught", "odd", "many",    "today"};
static const int shares[PROCS] = {30, 20, 10, 14, 8, 14, 2, 2, 8, 1, 1, 1};

static void fresh_tables(void) {
    run(conn, "truncate v, k, sums, way, notes, days; insert into v select i, i from generate_series(0, 60) g(i); "
              "insert into sums select i, 0 from generate_series(0, 60) g(i);"
              "insert into way select i, i * 7 % 61 from generate_series(0, 60) g(i); insert into days select "
              "current_date - i, i from generate_series(-2, 62) g(i)");
}
static char *all_tables(void) {
    return cell_of("select (select string_agg(id || ':' || n, ' ' order by id) from v) || ' k ' || coalesce((select "
                   "string_agg(id || ':' || n, ' ' order by id) from k), '') || ' sums ' ||"
                   "(select string_agg(id || ':' || n, ' ' order by id) from sums) || ' days ' || (select string_agg(n "
                   "|| '', ' ' order by d) from days) || ' notes ' ||"
                   "coalesce((select string_agg(a || ':' || b || ':' || n, ' ' order by a, b, n) from notes), '')");
}

/* A handle whose routine the pool knows: to submit it wants no lock any more. */
static stele_bulk *handle(stele_conn *c, const char *proc) {
    stele_bulk *b;
    assert_int_equal(stele_bulk_new(c, proc, &b), STELE_OK);
    assert_int_equal(stele_bulk_submit(b), STELE_OK); /* no calls */
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    stele_bulk_reset(b);
    return b;
}
static stele_bulk *call_of(stele_conn *c, const char *proc, const char *a, const char *x) {
    stele_bulk *b = handle(c, proc);
    assert_int_equal(stele_bulk_add(b, (const char *const[]){a, x}), STELE_OK);
    return b;
}
static void submit_in_order(int n, stele_bulk *const *b) {
    for (int i = 0; i < n; i++) assert_int_equal(stele_bulk_submit(b[i]), STELE_OK);
}

typedef struct Entry {
    int proc, n;
    int32_t a[MOST], x[MOST];
} Entry;
static void make_entries(Entry *e, int keys, unsigned seed) {
    for (int i = 0; i < ENTRIES; i++) {
        int pick = rand_r(&seed) % 111;
        e[i].proc = 0;
        while (pick >= shares[e[i].proc]) pick -= shares[e[i].proc++];
        e[i].n = rand_r(&seed) % 4 ? 1 : 1 + rand_r(&seed) % MOST;
        for (int k = 0; k < e[i].n; k++) e[i].a[k] = rand_r(&seed) % keys, e[i].x[k] = rand_r(&seed) % 20;
    }
}
static char *result_of(stele_bulk *b, int n) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    for (int k = 0; k < n; k++) {
        stele_error_info e;
        if (stele_bulk_status(b, k, &e) == STELE_OK)
            fprintf(f, " %s", stele_bulk_value(b, k, 0, NULL) ? stele_bulk_value(b, k, 0, NULL) : "NULL");
        else fprintf(f, " %s %s", e.sqlstate, e.message);
    }
    fclose(f);
    return text;
}
/* All entries in order, by several connections in turn, with pauses or all at once. Texts of the results. */
static stele_pool_info submit_all(const Entry *e, const char *settings, bool held, char **results, char **tables) {
    enum { CONNS = 3 };
    stele_conn *c[CONNS], *ddl = connect_with(NULL);
    static stele_bulk *b[ENTRIES];
    fresh_tables();
    for (int i = 0; i < CONNS; i++) c[i] = connect_with(settings);
    for (int i = 0; i < ENTRIES; i++) {
        b[i] = handle(c[i % CONNS], procs[e[i].proc]);
        assert_int_equal(stele_bulk_add_columns(b[i], e[i].n, (const void *const[]){e[i].a, e[i].x}, NULL), STELE_OK);
    }
    (void)pool_info(true);
    if (held) run(ddl, "begin; truncate held");
    for (int i = 0; i < ENTRIES; i++) {
        assert_int_equal(stele_bulk_submit(b[i]), STELE_OK);
        if (!held && i % 40 == 39) nap_ms(1);
    }
    if (held) run(ddl, "commit");
    for (int i = 0; i < ENTRIES; i++) {
        assert_int_equal(stele_bulk_wait(b[i], -1, NULL), STELE_OK);
        results[i] = result_of(b[i], e[i].n);
        stele_bulk_free(b[i]);
    }
    for (int i = 0; i < CONNS; i++) stele_disconnect(c[i]);
    stele_disconnect(ddl);
    *tables = all_tables();
    return pool_info(false);
}
static const char *const ways[] = {
    "set bulk_cut = 'zero_set'", "set bulk_cut = 'zero_set'; set bulk_size = 9; set bulk_strategy = kset",
    "set bulk_cut = 'zero_set'; set vector_size = 4; set threads = 1",
    "set bulk_cut = 'zero_set'; set executor = compiled; set device = 'cpu'; set device_wait = on",
    "set bulk_cut = 'zero_set'; set executor = compiled; set device = 'cpu'; set device_wait = on; set bulk_copies = "
    "on"};
static void same_as_one_by_one(void **state) {
    (void)state;
    const char *rounds = getenv("STELE_TEST_ROUNDS");
    static Entry e[ENTRIES];
    int64_t bulks = 0, calls = 0, turns = 0;
    for (int round = 0; round < (rounds ? atoi(rounds) : 10); round++) {
        char *want[ENTRIES], *got[ENTRIES], *left, *tables;
        const int way = round % 5;
        make_entries(e, round / 5 % 2 ? 60 : 8, (unsigned)round + 1);
        for (int i = 0; way > 2 && i < ENTRIES; i++) e[i].proc %= 3; /* each set of procedures is compiled by itself */
        (void)submit_all(e, "set bulk_strategy = serial", false, want, &left);
        const stele_pool_info info = submit_all(e, ways[way], round & 1, got, &tables);
        bulks += info.bulks, calls += info.calls, turns += info.by_turn;
        for (int i = 0; i < ENTRIES; i++) {
            if (strcmp(want[i], got[i]) != 0)
                fail_msg("round %d, entry %d, %s of %d, %d: %s instead of %s", round, i, procs[e[i].proc],
                         (int)e[i].a[0], (int)e[i].x[0], got[i], want[i]);
            free(want[i]);
            free(got[i]);
        }
        if (strcmp(left, tables) != 0) fail_msg("round %d: %s\ninstead of\n%s", round, tables, left);
        free(left);
        free(tables);
        assert_int_equal(info.waiting, 0);
        assert_int_equal(info.by_size + info.by_time + info.by_all + info.by_turn, info.bulks);
    }
    print_message("%lld calls in %lld bulks, %lld of them of calls whose turn had come\n", (long long)calls,
                  (long long)bulks, (long long)turns);
    assert_true(turns > 0);
}

/* ---- calls that wait ---- */
enum {
    TRIES = 2000
}; /* to see what is under way only for a while: on a busy machine one may come too late many times */
static void over(stele_bulk *b, const char *result) {
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    char *got = result_of(b, 1);
    if (strcmp(got, result) != 0) fail_msg("%s, not %s", got, result);
    free(got);
    stele_bulk_free(b);
}
/* v = v * 3 + x, and takes its time for it. */
static const char *const slow =
    "create procedure slow(a int, x int, out r bigint) language plpgsql as $$ declare y double precision := 0; begin "
    "for i in 1 .. 200000 loop y := y * 0.5 + i; end loop;"
    "update v set n = (n * 3 + x) % 1000003 where id = a returning n into r; if y < 0 then r := 0; end if; end $$";

/* A chain of calls on one row: others do not wait for all of it. False: whoever looks came too late to see that. */
static bool passes(stele_conn *c, stele_conn *ddl) {
    enum { CHAIN = 6 };
    stele_bulk *b[CHAIN], *other;
    fresh_tables();
    for (int i = 0; i < CHAIN; i++) b[i] = call_of(c, "slow", "1", "0");
    other = call_of(c, "mul", "2", "4");
    run(ddl, "begin; truncate held");
    submit_in_order(CHAIN, b);
    submit_in_order(1, &other);
    run(ddl, "commit");
    over(other, " 10");
    bool done;
    assert_int_equal(stele_bulk_wait(b[CHAIN - 1], 0, &done), STELE_OK);
    stele_bulk_info info;
    assert_int_equal(stele_bulk_wait(b[1], -1, NULL), STELE_OK);
    stele_bulk_get_info(b[1], &info);
    assert_true(info.depth == 1 && info.width0 == info.calls && info.calls == 1);
    static const char *const results[CHAIN] = {" 3", " 9", " 27", " 81", " 243", " 729"};
    for (int i = 0; i < CHAIN; i++) over(b[i], results[i]);
    return !done;
}
static void others_pass(void **state) {
    (void)state;
    stele_conn *c = connect_with("set bulk_cut = 'zero_set'"), *ddl = connect_with(NULL);
    bool shown = false;
    run(conn, slow);
    for (int again = 0; again < TRIES && !shown; again++) shown = passes(c, ddl);
    assert_true(shown);
    stele_disconnect(ddl);
    stele_disconnect(c);
    run(conn, "drop procedure slow");
}

/* The result of the next call of a chain: v * 3 + 1, and as much more often as some of `hidden` calls before it have
 * run after all. How many did. */
static int over_behind(stele_bulk *b, long long *v, int hidden) {
    assert_int_equal(stele_bulk_wait(b, -1, NULL), STELE_OK);
    char *got = result_of(b, 1), text[32];
    for (int ran = 0; ran <= hidden; ran++) {
        *v = (*v * 3 + 1) % 1000003;
        snprintf(text, sizeof text, " %lld", *v);
        if (strcmp(got, text) != 0) continue;
        free(got);
        stele_bulk_free(b);
        return ran;
    }
    fail_msg("%s, not %s", got, text);
    return 0;
}
/* Calls that wait for others are withdrawn: those behind them have their turn all the same. False: some were too quick
 * to be withdrawn. */
static bool withdraws(stele_conn *c, stele_conn *d) {
    enum { CHAIN = 14, FREED = 8, RESET = 10, LATE = 11, APART = 13 };
    stele_bulk *b[CHAIN];
    bool done;
    fresh_tables();
    for (int i = 0; i < CHAIN; i++) b[i] = call_of(i == LATE ? d : c, "slow", i == APART ? "2" : "1", "1");
    run(d, "set statement_timeout = '20ms'");
    submit_in_order(CHAIN, b);
    over(b[0], " 4"); /* the others are known to wait */
    stele_bulk_free(b[FREED]);
    stele_bulk_reset(b[RESET]);
    bool late = stele_bulk_wait(b[LATE], -1, &done) != STELE_OK; /* it is withdrawn */
    if (late) {
        stele_error_info e;
        stele_error(d, &e);
        assert_false(done);
        assert_string_equal(e.sqlstate, "57014");
        stele_bulk_free(b[LATE]);
    }
    stele_bulk_free(b[RESET]);
    long long v = 4;
    int hidden = 0, ran = 0;
    for (int i = 1; i < CHAIN; i++) {
        if (i == APART) {
            over(b[i], " 7");
        } else if (i == FREED || i == RESET || (late && i == LATE)) {
            hidden++;
        } else {
            ran += over_behind(b[i], &v, hidden);
            hidden = 0;
        }
    }
    assert_int_equal(pool_info(false).waiting, 0);
    run(d, "set statement_timeout = 0");
    return late && ran == 0;
}
static void withdrawn(void **state) {
    (void)state;
    enum { CHAIN = 14 };
    stele_conn *c = connect_with("set bulk_cut = 'zero_set'"), *d = connect_with("set bulk_cut = 'zero_set'");
    stele_bulk *b[CHAIN];
    bool shown = false;
    run(conn, slow);
    for (int again = 0; again < TRIES && !shown; again++) shown = withdraws(c, d);
    assert_true(shown);
    /* all of them: while they are looked at, and when that is done */
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < CHAIN; i++) b[i] = call_of(c, "slow", "1", "1");
        submit_in_order(CHAIN, b);
        if (again) assert_int_equal(stele_bulk_wait(b[0], -1, NULL), STELE_OK);
        else nap_ms(5);
        for (int i = CHAIN - 1; i >= 0; i--) stele_bulk_free(b[i]);
        assert_int_equal(pool_info(false).waiting, 0);
    }
    stele_disconnect(c);
    stele_disconnect(d);
    run(conn, "drop procedure slow");
}
/* lock_timeout counts for those that nobody waits for. */
static void timed_out(void **state) {
    (void)state;
    enum { CHAIN = 12 };
    stele_conn *c = connect_with("set bulk_cut = 'zero_set'; set lock_timeout = '60ms'");
    stele_bulk *b[CHAIN];
    int ran = 0;
    run(conn, slow);
    fresh_tables();
    for (int i = 0; i < CHAIN; i++) b[i] = call_of(c, "slow", "1", "1");
    submit_in_order(CHAIN, b);
    nap_ms(50);
    for (int i = 0; i < CHAIN; i++) {
        bool done;
        stele_status st;
        while ((st = stele_bulk_wait(b[i], 0, &done)) == STELE_OK && !done) nap_ms(1);
        stele_error_info e;
        if (st != STELE_OK) {
            stele_error(c, &e);
            assert_string_equal(e.sqlstate, "55P03");
        }
        assert_true(done && (st == STELE_OK) == (stele_bulk_status(b[i], 0, NULL) == STELE_OK));
        ran += st == STELE_OK;
        stele_bulk_free(b[i]);
    }
    static const char *const left[] = {"1",    "4",    "13",    "40",    "121",    "364",   "1093",
                                       "3280", "9841", "29524", "88573", "265720", "797161"};
    gives("select n from v where id = 1", left[ran]);
    print_message("%d of %d calls ran in time\n", ran, CHAIN);
    stele_disconnect(c);
    run(conn, "drop procedure slow");
}

/* What a call is going to do is looked at again when somebody else has changed what tells it: a call that waits is on
 * its way to row 4, and then to row 2, where an earlier call is to go. */
static void changed_beside(void **state) {
    (void)state;
    enum { FIRST = 5, MORE = 10 };
    stele_conn *c = connect_with("set bulk_cut = 'zero_set'");
    stele_bulk *b[FIRST + MORE + 2];
    int n = 0;
    run(conn, slow);
    run(conn, "create procedure both_rows(a int, b int, out r bigint) language plpgsql as $$ begin select n into "
              "strict r from v where id = a; update v set n = n * 3 where id = b; end $$");
    int shown = 0;
    for (int again = 0; again < TRIES && shown < 2; again++) { /* the change may find the lock too late */
        fresh_tables();
        run(conn, "update way set goal = 4 where id = 7");
        n = 0;
        for (int i = 0; i < MORE; i++) b[n++] = call_of(c, "slow", "1", "0");
        b[n++] = call_of(c, "both_rows", "1", "2");
        for (int i = 0; i < FIRST; i++) b[n++] = call_of(c, "slow", "4", "0");
        b[n++] = call_of(c, "via", "7", "1");
        submit_in_order(n, b);
        nap_ms(10);
        run(conn, shown ? "drop procedure via; create procedure via(a int, x int, out r bigint) language plpgsql as $$ "
                          "begin r := 0; end $$"
                        : "update way set goal = 2 where id = 7");
        bool late, done;
        assert_int_equal(stele_bulk_wait(b[MORE], 0, &done), STELE_OK);
        (void)stele_bulk_wait(b[n - 1], 0, &late); /* it may have failed already, since its procedure is gone */
        for (int i = 0; i < n - 1; i++) {
            assert_int_equal(stele_bulk_wait(b[i], -1, NULL), STELE_OK);
            stele_bulk_free(b[i]);
        }
        if (done || late) { /* nothing to be seen */
            stele_bulk_free(b[n - 1]);
            if (shown)
                run(conn, "drop procedure via; create procedure via(a int, x int, out r bigint) language plpgsql as $$ "
                          "declare g int; begin select goal into g from way where id = a; update v set n = (n * 5 + x) "
                          "% 1000003 where id = g returning n into r; end $$");
            continue;
        }
        if (shown++) {
            assert_int_equal(stele_bulk_wait(b[n - 1], -1, &done), STELE_ERROR);
            stele_error_info e;
            stele_error(c, &e);
            assert_string_equal(e.sqlstate, "42883"); /* its procedure is gone */
            stele_bulk_free(b[n - 1]);
            gives("select n from v where id = 2", "6");
        } else {
            over(b[n - 1], " 31"); /* (2 * 3) * 5 + 1 */
        }
        gives("select n from v where id = 1", "59049");
        gives("select n from v where id = 4", "972");
    }
    assert_int_equal(shown, 2);
    stele_disconnect(c);
    run(conn, "drop procedure slow; drop procedure both_rows; drop procedure via");
}

/* Loops that do not end, in what is asked beforehand and in what calls do: each is ended alone. */
static void endless(void **state) {
    (void)state;
    run(conn, "create procedure endless(a int, x int, out r bigint) language plpgsql as $$ begin update v set n = n + "
              "100 where id = a; while x > 0 loop null; end loop; r := 1; end $$;"
              "create procedure lost(a int, x int, out r bigint) language plpgsql as $$ declare id_of int := 0; begin "
              "while id_of < a or x > 0 loop id_of := id_of + 1 - x; end loop;"
              "update v set n = n + 1 where id = id_of; r := id_of; end $$;");
    for (int how = 0; how < 4; how++) {
        stele_conn *c = connect_with("set bulk_cut = 'zero_set'"), *d = connect_with("set bulk_cut = 'zero_set'");
        const char *proc = how & 1 ? "lost" : "endless";
        bool done;
        fresh_tables();
        stele_bulk *const all[] = {call_of(c, "mul", "3", "1"), call_of(d, proc, "3", "1"), call_of(c, "mul", "3", "1"),
                                   call_of(c, "mul", "4", "1")};
        stele_bulk *const before = all[0], *const stuck = all[1], *const behind = all[2], *const beside = all[3];
        submit_in_order(4, all);
        if (how < 2) {
            run(d, "set statement_timeout = '200ms'");
            stele_status st = stele_bulk_wait(stuck, -1, &done); /* withdrawn, or ended */
            stele_error_info e;
            if (st == STELE_OK) assert_true(stele_bulk_status(stuck, 0, &e) == STELE_ERROR);
            else stele_error(d, &e);
            assert_string_equal(e.sqlstate, "57014");
            stele_bulk_free(stuck);
        } else {
            nap_ms(100);
            stele_bulk_free(stuck);
        }
        over(before, " 10");
        over(behind, " 31");
        over(beside, " 13");
        stele_disconnect(c);
        stele_disconnect(d);
    }
    run(conn, "drop procedure endless; drop procedure lost");
}

/* Many that submit, wait, withdraw and change things beside, at the same time: sums tell whether each call ran once or
 * not at all. */
typedef struct Client {
    int id;
    int64_t sum;
    const char *wrong;
    const char *settings;
} Client;
static void *client(void *arg) {
    enum { UNDER_WAY = 6, CALLS = 800 };
    Client *k = arg;
    unsigned seed = (unsigned)k->id + 100;
    stele_conn *c;
    stele_bulk *b[UNDER_WAY] = {0};
    int32_t a[UNDER_WAY], x[UNDER_WAY];
    if (stele_connect(db, &c) != STELE_OK || stele_exec(c, k->settings, NULL, NULL) != STELE_OK)
        return k->wrong = "connect", NULL;
    for (int i = 0; i < CALLS + UNDER_WAY && !k->wrong; i++) {
        const int at = i % UNDER_WAY;
        if (b[at]) {
            bool done = false;
            if (rand_r(&seed) % 5 == 0)
                (void)stele_bulk_wait(b[at], rand_r(&seed) % 300, &done); /* leaves in between */
            if (stele_bulk_wait(b[at], -1, &done) != STELE_OK || !done || stele_bulk_status(b[at], 0, NULL) != STELE_OK)
                k->wrong = "a call failed";
            k->sum += x[at] - 10;
            stele_bulk_free(b[at]);
            b[at] = NULL;
        }
        if (i >= CALLS) continue;
        if (i % 97 == 96 && stele_exec(c, "update way set goal = goal where id = 5", NULL, NULL) != STELE_OK)
            k->wrong = "a statement failed";
        const char *proc = i % 7 ? "add_to" : i % 3 ? "mul" : "odd";
        a[at] = rand_r(&seed) % 12, x[at] = proc[0] == 'a' ? rand_r(&seed) % 20 : 10;
        if (stele_bulk_new(c, proc, &b[at]) != STELE_OK ||
            stele_bulk_add_columns(b[at], 1, (const void *const[]){&a[at], &x[at]}, NULL) != STELE_OK ||
            stele_bulk_submit(b[at]) != STELE_OK)
            k->wrong = "submit";
        if (rand_r(&seed) % 20 > 0) continue;
        stele_bulk *gone; /* leaves no trace: it adds nothing */
        int32_t none = 10;
        if (stele_bulk_new(c, "add_to", &gone) != STELE_OK ||
            stele_bulk_add_columns(gone, 1, (const void *const[]){&a[at], &none}, NULL) != STELE_OK ||
            stele_bulk_submit(gone) != STELE_OK)
            k->wrong = "submit";
        stele_bulk_free(gone);
    }
    stele_disconnect(c);
    return NULL;
}
static void many_at_once(void **state) {
    (void)state;
    enum { CLIENTS = 6 };
    for (int round = 0; round < 3; round++) {
        pthread_t threads[CLIENTS];
        Client k[CLIENTS];
        int64_t sum = 0;
        char text[64];
        fresh_tables();
        (void)pool_info(true);
        for (int i = 0; i < CLIENTS; i++) {
            k[i] = (Client){
                .id = i + 10 * round,
                .settings = round == 2 && i % 2 ? "set bulk_cut = 'arrival'"
                            : round == 1 ? "set bulk_cut = 'zero_set'; set bulk_size = 5; set bulk_interval = '200us'"
                                         : "set bulk_cut = 'zero_set'"};
            assert_int_equal(pthread_create(&threads[i], NULL, client, &k[i]), 0);
        }
        for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
        for (int i = 0; i < CLIENTS; i++) {
            if (k[i].wrong) fail_msg("client %d: %s", i, k[i].wrong);
            sum += k[i].sum;
        }
        const stele_pool_info info = pool_info(false);
        assert_int_equal(info.waiting, 0);
        snprintf(text, sizeof text, "%lld", (long long)sum);
        gives("select sum(n) from sums", text);
        gives("select sum(b - 10) from notes", text);
        print_message("%lld calls in %lld bulks, %lld by turn\n", (long long)info.calls, (long long)info.bulks,
                      (long long)info.by_turn);
        assert_true(info.by_turn > 0);
    }
}

static int set_up(void **state) {
    (void)state;
    stele_options o = {.threads = 2};
    if (stele_open(":memory:", &o, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return -1;
    run(conn, definitions);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : -1;
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_one_by_one), cmocka_unit_test(others_pass),  cmocka_unit_test(withdrawn),
        cmocka_unit_test(timed_out),          cmocka_unit_test(many_at_once), cmocka_unit_test(endless),
        cmocka_unit_test(changed_beside),
    };
    return cmocka_run_group_tests_name("callsets", tests, set_up, tear_down);
}
