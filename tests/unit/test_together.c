/* test_together.c - eight connections at once, each with random statements of all kinds: definitions, changes, bulks in
 * their forms, transactions, queries, maintenance, and cancelling one another. For ThreadSanitizer most of all; every
 * error must be one of those that such neighbours explain, and money is only ever moved: whatever reads it finds the
 * same sum, beside bulks and at the end.
 *
 * Numbers of operations are fixed and nothing depends on time. STELE_TEST_TRANSACTIONS sets how many each does,
 * STELE_TEST_SEED their seed, STELE_TEST_SETTINGS is SQL that all connections run first:
 *
 *     make tsan; STELE_TEST_TRANSACTIONS=5000 STELE_TEST_SEED=7 build/tsan/tests/test_together
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stele/stele.h"
#include "unit.h"

enum { CONNECTIONS = 8, PURSES = 40, MONEY = PURSES * 100, SCRATCH = 3, TEXT = 1024 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) /* which are some ten times slower */
enum { EACH = 60 };
#else
enum { EACH = 150 };
#endif

typedef struct Worker {
    stele_db *db;
    stele_conn *c;
    struct Worker *all;
    unsigned seed;
    int64_t n, failed;
    bool wrong;
    char why[TEXT];
} Worker;
static int below(Worker *w, int n) {
    w->seed = w->seed * 1103515245u + 12345u;
    return (int)((w->seed >> 8) % (unsigned)n);
}

/* ---- statements ---- */
/* Every purse is there, and all money: of what a statement gives in one row. */
static bool check_sum(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Worker *w = ctx;
    (void)names;
    if (n == 2 && atoll(v[0]) == PURSES && atoll(v[1]) == MONEY) return false;
    snprintf(w->why, sizeof w->why, "%s purses with %s", n > 0 ? v[0] : "no", n > 1 && v[1] ? v[1] : "nothing");
    w->wrong = true;
    return false;
}
/* What others may have done to a statement: definitions that are gone or there, conflicts, waits, cancelling. */
static bool is_explained(const char *sqlstate) {
    static const char *const all[] = {"42P01", "42P07", "42703", "42701", "42883", "42723", "42809", "40001", "55P03",
                                      "57014", "23505", "72000", "25P02", "2BP01", "22003", "P0001", "55006", "25001"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(sqlstate, all[i]) == 0) return true;
    return false;
}
static bool attempt(Worker *w, const char *sql, bool sums) {
    if (w->wrong) return false;
    stele_error_info e;
    const bool ok = stele_exec(w->c, sql, sums ? check_sum : NULL, w) == STELE_OK;
    if (!ok) {
        stele_error(w->c, &e);
        w->failed++;
        if (!is_explained(e.sqlstate)) {
            snprintf(w->why, sizeof w->why, "%.600s: %s %s", sql, e.sqlstate, e.message);
            w->wrong = true;
        }
    }
    return ok;
}
static void say(Worker *w, bool sums, const char *format, ...) {
    char sql[TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    (void)attempt(w, sql, sums);
    if (stele_transaction_state(w->c) != 'I') {
        for (int i = 0; i < 100 && stele_transaction_state(w->c) != 'I'; i++) /* it may be cancelled too */
            (void)attempt(w, "rollback", false);
    }
}

static const char pairs[] = "'select a.k, b.k, 1 + a.k %% 3 from purse a join purse b on b.k = (a.k * 7 + %d) %% 40 "
                            "where a.k <> b.k order by a.k'";
static void move_money(Worker *w) {
    const int a = below(w, PURSES), b = below(w, PURSES), m = below(w, 20);
    char query[TEXT], sql[TEXT];
    snprintf(query, sizeof query, pairs, below(w, PURSES));
    if (a == b) return;
    switch (below(w, 6)) {
    case 0: say(w, false, "call move(%d, %d, %d)", a, b, m); return;
    case 1: snprintf(sql, sizeof sql, "call bulk_call('move', %s)", query); break;
    case 2: snprintf(sql, sizeof sql, "select count(*), max(sqlstate) from bulk_call('move', %s)", query); break;
    case 3:
        say(w, false,
            "begin; update purse set bal = bal - %d where k = %d; update purse set bal = bal + %d where k = %d; commit",
            m, a, m, b);
        return;
    case 4:
        say(w, false, "begin; call bulk_call('move', %s); select count(*) from purse; %s", query,
            below(w, 2) ? "commit" : "rollback");
        return;
    default: say(w, false, "update purse set bal = bal - %d + %d, word = 'w' || k where k < %d", m, m, a); return;
    }
    say(w, false, "%s", sql);
}
/* Through the interface of bulks: at once, or by the pool. */
static void move_in_bulk(Worker *w) {
    stele_bulk *b;
    if (stele_bulk_new(w->c, "move", &b) != STELE_OK) return;
    for (int i = 0; i < 20; i++) {
        char from[16], to[16];
        snprintf(from, sizeof from, "%d", below(w, PURSES));
        snprintf(to, sizeof to, "%d", below(w, PURSES));
        if (stele_bulk_add(b, (const char *const[]){from, to, "1"}) != STELE_OK) break;
    }
    if (below(w, 2)) {
        (void)stele_bulk_run(b);
    } else if (stele_bulk_submit(b) == STELE_OK && below(w, 4)) {
        bool done = false;
        for (int i = 0; i < 1000 && !done; i++) /* it may be cancelled time and again */
            (void)stele_bulk_wait(b, -1, &done);
    }
    stele_bulk_free(b); /* withdrawn, or waited for */
}
static void look(Worker *w) {
    switch (below(w, 5)) {
    case 0: say(w, true, "select count(*), sum(bal) from purse"); return;
    case 1:
        say(w, true, "begin; select count(*), sum(bal) from purse; select count(*), sum(bal) from purse; commit");
        return;
    case 2: say(w, true, "select count(*), sum(a.bal) from purse a join purse b using (k)"); return;
    case 3:
        say(w, true,
            "select count(*), coalesce(sum(total), 0) from (select k, sum(bal) total from purse group by k) q");
        return;
    default: say(w, false, "select word, count(*) from purse group by word order by 2, 1 limit 5");
    }
}
static void define(Worker *w) {
    const int x = below(w, SCRATCH);
    switch (below(w, 12)) {
    case 0: say(w, false, "create table x%d (a int primary key, b text, c bigint default 7)", x); return;
    case 1: say(w, false, "drop table if exists x%d", x); return;
    case 2:
        say(w, false, "insert into x%d(a, b) select i, 'text ' || i %% 9 from generate_series(%d, %d) g(i)", x,
            below(w, 300), 300 + below(w, 300));
        return;
    case 3: say(w, false, "update x%d set b = b || '.', c = c + a where a %% 3 = %d", x, below(w, 3)); return;
    case 4: say(w, false, "delete from x%d where a %% 5 = %d", x, below(w, 5)); return;
    case 5: say(w, false, "alter table x%d add column d int default 3", x); return;
    case 6: say(w, false, "alter table x%d drop column d", x); return;
    case 7: say(w, false, "select count(*), max(b) from x%d where c > %d", x, below(w, 50)); return;
    case 8:
        say(w, false,
            "create or replace procedure fill%d(i int) language plpgsql as $$ begin insert into x%d(a) values (i); end "
            "$$",
            x, x);
        return;
    case 9: say(w, false, "call bulk_call('fill%d', 'select i from generate_series(1000, 1040) g(i)')", x); return;
    case 10: say(w, false, "truncate x%d", x); return;
    default: say(w, false, "create or replace view v%d as select a, c from x%d", x, x);
    }
}
static void maintain(Worker *w) {
    static const char *const all[] = {"vacuum",
                                      "analyze purse",
                                      "vacuum purse",
                                      "select count(*) from stele_bulks",
                                      "select count(*) from stele_tablets",
                                      "explain analyze select sum(bal) from purse",
                                      "explain procedure move"};
    say(w, false, "%s", all[below(w, (int)(sizeof all / sizeof all[0]))]);
}
static void *work(void *arg) {
    Worker *w = arg;
    for (int64_t i = 0; i < w->n && !w->wrong; i++) {
        const int what = below(w, 20);
        if (what < 6) move_money(w);
        else if (what < 9) move_in_bulk(w);
        else if (what < 13) look(w);
        else if (what < 17) define(w);
        else if (what < 19) maintain(w);
        else stele_interrupt(w->all[below(w, CONNECTIONS)].c);
    }
    return NULL;
}

/* ---- the test ---- */
static int64_t number_from(const char *name, int64_t otherwise) {
    const char *env = getenv(name);
    return env ? strtoll(env, NULL, 10) : otherwise;
}
static void must(stele_conn *c, const char *sql) {
    stele_error_info e;
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static void together(const char *settings) {
    stele_db *db;
    Worker all[CONNECTIONS];
    pthread_t threads[CONNECTIONS];
    int64_t failed = 0;
    bool wrong = false;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 2}, &db, NULL), STELE_OK);
    for (int i = 0; i < CONNECTIONS; i++) {
        all[i] = (Worker){.db = db,
                          .all = all,
                          .seed = (unsigned)(number_from("STELE_TEST_SEED", 1) * 7919 + i),
                          .n = number_from("STELE_TEST_TRANSACTIONS", EACH)};
        assert_int_equal(stele_connect(db, &all[i].c), STELE_OK);
        must(all[i].c, settings);
        if (getenv("STELE_TEST_SETTINGS")) must(all[i].c, getenv("STELE_TEST_SETTINGS"));
    }
    must(all[0].c, "create table purse(k int primary key, bal bigint not null, word text); insert into purse select i, "
                   "100, 'none' from "
                   "generate_series(0, 39) g(i); create procedure move(a int, b int, m int, out now bigint) language "
                   "plpgsql as $$ begin"
                   " update purse set bal = bal - m where k = a returning bal into now; if now % 11 = 3 then raise "
                   "exception 'unlucky'; end if;"
                   " update purse set bal = bal + m, word = 'from ' || a where k = b; end $$");
    for (int i = 0; i < CONNECTIONS; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, &all[i]), 0);
    for (int i = 0; i < CONNECTIONS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < CONNECTIONS; i++) {
        failed += all[i].failed;
        wrong |= all[i].wrong;
        if (all[i].wrong) print_error("connection %d: %s\n", i, all[i].why);
    }
    print_message("%lld statements failed\n", (long long)failed);
    all[0].wrong = false;
    (void)attempt(&all[0], "select count(*), sum(bal) from purse", true);
    wrong |= all[0].wrong;
    for (int i = 0; i < CONNECTIONS; i++) stele_disconnect(all[i].c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    if (wrong) fail_msg("%s: %s", settings, all[0].why);
}
static void in_slices(void **state) {
    (void)state;
    together("set bulk_slice_calls = 5");
}
static void with_the_pool(void **state) {
    (void)state;
    together("set bulk_interval = '100us'");
}
static void whole(void **state) {
    (void)state;
    together("set bulk_slice = 0; set bulk_strategy = 'tpl'");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_slices), cmocka_unit_test(with_the_pool),
                                       cmocka_unit_test(whole)};
    return cmocka_run_group_tests_name("together", tests, NULL, NULL);
}
