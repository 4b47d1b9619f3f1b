/* test_stress.c - everything at once: connections that change the same tables by statements, transactions and bulks,
 * beside definitions, merges, the thread that packs tables when it is quiet, interrupts, and readers of sums.
 *
 * A ledger. Accounts have a balance, a number of changes and a text that follows from that number; some lie in an
 * archive. What changes a balance writes the journal in the same statement list. So in each state that a reader may
 * see: the balances, each times its number, come to what the journal's amounts do; no account is lost or twice; each
 * text is that of its number. Numbers in the journal are a sequence's, so none comes twice. At the end the journal has
 * as many lines as were acknowledged.
 *
 * What is done is random (STELE_TEST_SEED), how much is fixed (STELE_TEST_TRANSACTIONS per writer), and nothing that is
 * checked depends on time. STELE_TEST_SETTINGS is SQL that all connections run first.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "unit_api.h"

enum { ACCOUNTS = 5000, WRITERS = 3, READERS = 2, WHY = 512, SQL = 1024, BULK = 64 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) /* which are some ten times slower */
enum { EACH = 40 };
#else
enum { EACH = 100 };
#endif

typedef struct World {
    stele_db *db;
    atomic_int writing;
    _Atomic int64_t lines; /* of the journal, acknowledged */
    int64_t each;
} World;
typedef struct Thread {
    World *w;
    stele_conn *c;
    unsigned seed;
    int64_t done, refused;
    bool wrong;
    char why[WHY];
} Thread;

static int64_t below(Thread *t, int64_t n) {
    t->seed = t->seed * 1103515245u + 12345u;
    return (int64_t)(t->seed >> 8) % n;
}
__attribute__((format(printf, 2, 3))) static void wrong(Thread *t, const char *fmt, ...) {
    if (t->wrong) return;
    t->wrong = true;
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->why, sizeof t->why, fmt, args);
    va_end(args);
}

/* ---- statements ---- */
/* 40001: another transaction was first; 55P03: it had the lock for too long; 57014: interrupted. Nothing of it is
 * there. */
static bool may_be_refused(const char *sqlstate) {
    return strcmp(sqlstate, "40001") == 0 || strcmp(sqlstate, "55P03") == 0 || strcmp(sqlstate, "57014") == 0;
}
/* Rows as text, "a,b;c,d". False: refused; rolled back. */
static bool ask(Thread *t, const char *sql, char *out) {
    if (out) out[0] = 0;
    if (stele_exec(t->c, sql, out ? api_keep : NULL, out) == STELE_OK) return true;
    stele_error_info e;
    stele_error(t->c, &e);
    if (may_be_refused(e.sqlstate)) t->refused++;
    else wrong(t, "%.200s: %s %.200s", sql, e.sqlstate, e.message);
    while (stele_transaction_state(t->c) != 'I') /* this may be interrupted, too */
        stele_exec(t->c, "rollback", NULL, NULL);
    return false;
}
static int64_t answer(Thread *t, const char *sql) {
    char got[API_TEXT];
    return ask(t, sql, got) ? strtoll(got, NULL, 10) : -1;
}

static const char *const setup =
    "create sequence line;"
    "create table acct(id int primary key, bal bigint not null, ver int not null, note text);"
    "create table archive(id int primary key, bal bigint not null, ver int not null, note text);"
    "create table journal(n bigint primary key, id int not null, delta bigint not null);"
    "create procedure pay(a int, b int, amount int, n1 bigint, n2 bigint, out lines int) language plpgsql as $$"
    "declare x bigint; begin lines := 0;"
    "  select bal into x from acct where id = a; if not found then return; end if;"
    "  select bal into x from acct where id = b; if not found then return; end if;"
    "  update acct set bal = bal - amount, ver = ver + 1,"
    "    note = 'v' || (ver + 1) || repeat('x', (ver + 1) % 40) where id = a;"
    "  update acct set bal = bal + amount, ver = ver + 1,"
    "    note = 'v' || (ver + 1) || repeat('x', (ver + 1) % 40) where id = b;"
    "  insert into journal values (n1, a, -amount); insert into journal values (n2, b, amount);"
    "  lines := 2; end $$;"
    "create procedure store(a int, out moved int) language plpgsql as $$ declare r record; begin moved := 0;"
    "  select bal, ver, note into r from acct where id = a; if not found then return; end if;"
    "  delete from acct where id = a; insert into archive values (a, r.bal, r.ver, r.note); moved := 1; end $$;"
    "create procedure restore(a int, out moved int) language plpgsql as $$ declare r record; begin moved := 0;"
    "  select bal, ver, note into r from archive where id = a; if not found then return; end if;"
    "  delete from archive where id = a; insert into acct values (a, r.bal, r.ver, r.note); moved := 1; end $$";

/* ---- writers ---- */
static void pay_in_bulk(Thread *t) {
    char sql[SQL];
    const int64_t from = below(t, ACCOUNTS), step = 1 + below(t, 97);
    snprintf(sql, sizeof sql,
             "select coalesce(sum(lines), -1), count(sqlstate) from bulk_call('pay', 'select (%lld + i * %lld) %% %d,"
             " (%lld + i * %lld + 1) %% %d, i, nextval(''line''), nextval(''line'') from generate_series(1, %lld) i')",
             (long long)from, (long long)step, ACCOUNTS, (long long)from, (long long)step, ACCOUNTS,
             (long long)(1 + below(t, BULK)));
    char got[API_TEXT];
    if (!ask(t, sql, got)) return;
    const char *failed = strchr(got, ',');
    if (!failed || strcmp(failed, ",0") != 0) wrong(t, "calls of pay failed: %s", got);
    atomic_fetch_add(&t->w->lines, strtoll(got, NULL, 10));
}
static void pay_alone(Thread *t) {
    char sql[SQL];
    const int64_t a = below(t, ACCOUNTS);
    snprintf(sql, sizeof sql, "call pay(%lld, %lld, %lld, nextval('line'), nextval('line'), null)", (long long)a,
             (long long)((a + 1 + below(t, ACCOUNTS - 1)) % ACCOUNTS), (long long)below(t, 100));
    const int64_t lines = answer(t, sql);
    if (lines > 0) atomic_fetch_add(&t->w->lines, lines);
}
/* Many rows by one statement, in a transaction that is rolled back now and then. */
static void pay_by_statements(Thread *t) {
    char sql[SQL], got[API_TEXT];
    const int64_t some = 1 + below(t, 40), amount = below(t, 50), rest = below(t, some);
    const bool keep = below(t, 4) > 0, level = below(t, 2);
    snprintf(sql, sizeof sql,
             "begin isolation level %s; update acct set bal = bal + %lld, ver = ver + 1, note = 'v' || (ver + 1) ||"
             " repeat('x', (ver + 1) %% 40) where id %% %lld = %lld and id < 400;"
             "insert into journal select nextval('line'), id, %lld from acct where id %% %lld = %lld and id < 400;"
             "select count(*) from acct where id %% %lld = %lld and id < 400",
             level ? "serializable" : "repeatable read", (long long)amount, (long long)some, (long long)rest,
             (long long)amount, (long long)some, (long long)rest, (long long)some, (long long)rest);
    if (!ask(t, sql, got) || !ask(t, keep ? "commit" : "rollback", NULL)) return;
    if (keep) atomic_fetch_add(&t->w->lines, strtoll(got, NULL, 10));
}
static void move_in_bulk(Thread *t) {
    char sql[SQL];
    const int64_t from = below(t, ACCOUNTS - BULK), n = below(t, BULK);
    snprintf(sql, sizeof sql, "select count(sqlstate) from bulk_call('%s', 'select generate_series(%lld, %lld)')",
             below(t, 3) ? "restore" : "store", (long long)from, (long long)(from + n));
    if (answer(t, sql) > 0) wrong(t, "calls failed: %s", sql);
}
static void *writer(void *arg) {
    Thread *t = arg;
    for (; t->done < t->w->each && !t->wrong; t->done++) {
        switch (below(t, 8)) {
        case 0:
        case 1: pay_in_bulk(t); break;
        case 2:
        case 3: pay_alone(t); break;
        case 4:
        case 5: pay_by_statements(t); break;
        default: move_in_bulk(t); break;
        }
    }
    atomic_fetch_sub(&t->w->writing, 1);
    return NULL;
}

/* ---- definitions ---- */
static void *definer(void *arg) {
    static const char *const all[] = {
        "vacuum",
        "vacuum acct",
        "vacuum journal; analyze",
        "create unique index pair on journal(n, id); drop index pair",
        "alter table acct add column if not exists more text default 'more'",
        "alter table acct drop column if exists more",
        "alter table journal add column at bigint default 7; alter table journal drop column at",
        "create table scratch as select id, note from acct; drop table scratch",
        "begin; create table scratch(a int); insert into scratch values (1); rollback",
        "begin; truncate archive; rollback",
        "create or replace procedure other(k int) language plpgsql as $$ begin"
        "  update acct set ver = ver where id = k; end $$; call other(1)",
        "create temp sequence if not exists mine; select nextval('mine'); select setval('mine', 3)",
        "create temp table held as select * from acct where id < 50; delete from held; drop table held",
    };
    Thread *t = arg;
    while (atomic_load(&t->w->writing) > 0 && !t->wrong) {
        ask(t, all[below(t, (int64_t)(sizeof all / sizeof *all))], NULL);
        t->done++;
    }
    return NULL;
}

/* ---- readers ---- */
#define EVERYTHING \
    "(select * from (select id, bal, ver, note from acct) x union all select id, bal, ver, note from archive) q"
static void check(Thread *t) {
    char got[API_TEXT], expected[64];
    snprintf(expected, sizeof expected, "%d,%d,0,0", ACCOUNTS, ACCOUNTS);
    switch (below(t, 3)) {
    case 0: /* one statement, on the pool: the accounts, the journal, texts */
        if (!ask(t,
                 "select count(*), count(distinct id), sum(bal * (id + 1)) - coalesce((select sum(delta * (id + 1)) "
                 "from journal), 0), count(*) filter (where note <> 'v' || ver || repeat('x', ver % 40)) "
                 "from " EVERYTHING,
                 got))
            return;
        break;
    case 1: /* several statements of one snapshot */
        if (!ask(t,
                 "begin isolation level repeatable read; create temp table sums as select sum(bal * "
                 "(id + 1)) as s, count(*) as n, count(distinct id) as d, count(*) filter (where note <> 'v' || ver "
                 "|| repeat('x', ver % 40)) as w from " EVERYTHING ";"
                 "select n, d, s - coalesce((select sum(delta * (id + 1)) from journal), 0), w from sums; drop table "
                 "sums; commit",
                 got))
            return;
        break;
    default: /* by key, sorted, joined */
        if (!ask(t,
                 "select count(*), count(distinct q.id), sum(q.bal - coalesce(j.s, 0)), 0 from " EVERYTHING
                 " left join (select id, sum(delta) as s from journal group by id order by id) j on j.id = q.id",
                 got))
            return;
        break;
    }
    if (strcmp(got, expected) != 0) wrong(t, "read %s, not %s", got, expected);
    t->done++;
}
static void *reader(void *arg) {
    Thread *t = arg;
    while (atomic_load(&t->w->writing) > 0 && !t->wrong) check(t);
    return NULL;
}
/* Calls of others come back with 57014, or as if nothing had been. */
static void *interrupter(void *arg) {
    Thread *t = arg; /* whose connection is interrupted */
    const struct timespec nap = {.tv_nsec = 3000000};
    while (atomic_load(&t->w->writing) > 0) {
        stele_interrupt(t->c);
        nanosleep(&nap, NULL);
    }
    return NULL;
}

/* ---- a run ---- */
static int64_t from_environment(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}
static stele_conn *connect_to(stele_db *db, const char *settings) {
    stele_conn *c;
    const char *more = getenv("STELE_TEST_SETTINGS");
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    api_run(c, settings);
    if (more) api_run(c, more);
    return c;
}
static void verify(stele_db *db, const World *w, const char *settings) {
    stele_conn *c = connect_to(db, settings);
    Thread t = {.c = c, .seed = 1};
    char lines[64];
    snprintf(lines, sizeof lines, "%lld", (long long)atomic_load(&w->lines));
    for (int i = 0; i < 6; i++) check(&t);
    if (t.wrong) fail_msg("%s", t.why);
    api_gives(c, "select count(*) from journal", lines);
    api_run(c, "vacuum");
    for (int i = 0; i < 6; i++) check(&t);
    if (t.wrong) fail_msg("after vacuum: %s", t.why);
    stele_disconnect(c);
}
static void run_world(int threads, const char *settings, unsigned seed) {
    enum { ALL = WRITERS + READERS + 1 };
    const stele_options o = {.threads = threads};
    World w = {.each = from_environment("STELE_TEST_TRANSACTIONS", EACH)};
    Thread t[ALL] = {0};
    pthread_t id[ALL + 1];
    char text[SQL];
    assert_int_equal(stele_open(NULL, &o, &w.db, NULL), STELE_OK);
    stele_conn *c = connect_to(w.db, settings);
    api_run(c, setup);
    snprintf(text, sizeof text, "insert into acct select i, 0, 0, 'v0' from generate_series(0, %d) i", ACCOUNTS - 1);
    api_run(c, text);
    atomic_init(&w.writing, WRITERS);
    for (int i = 0; i < ALL; i++) t[i] = (Thread){.w = &w, .c = connect_to(w.db, settings), .seed = seed + (unsigned)i};
    for (int i = 0; i < ALL; i++)
        assert_int_equal(pthread_create(&id[i], NULL, i < WRITERS ? writer : i < ALL - 1 ? reader : definer, &t[i]), 0);
    assert_int_equal(pthread_create(&id[ALL], NULL, interrupter, &t[WRITERS]), 0);
    for (int i = 0; i <= ALL; i++) pthread_join(id[i], NULL);
    for (int i = 0; i < ALL; i++) stele_disconnect(t[i].c);
    stele_disconnect(c);
    for (int i = 0; i < ALL; i++)
        if (t[i].wrong) fail_msg("seed %u, connection %d: %s", seed, i, t[i].why);
    verify(w.db, &w, settings);
    assert_int_equal(stele_close(w.db, NULL), STELE_OK);
}
#define SETTINGS "set auto_merge_delay = 5; set lock_timeout = '60s';"
static unsigned first_seed(void) { return (unsigned)from_environment("STELE_TEST_SEED", 20261127); }
static void one_thread(void **state) {
    (void)state;
    run_world(1, SETTINGS, first_seed());
}
static void several_threads(void **state) {
    (void)state;
    run_world(4, SETTINGS "set morsel_rows = 512", first_seed() + 100);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(one_thread), cmocka_unit_test(several_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
