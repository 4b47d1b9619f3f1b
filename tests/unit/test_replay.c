/* test_replay.c - bulks whose changes only a device has, and what becomes of them when it is lost
 * (session/pool/bulk_state.h, txn/run/replay.h): a script of bulks, in which every operation of the device fails once,
 * gives the results and tables that it gives on the virtual machine. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "codegen/cache.h"
#include "exec/device/dev.h"
#include "session/pool/bulk.h"
#include "unit_session.h"

static MemAccount root;
static Pool *pool;
static Devices *devices;
static Device *inner;
static CodeCache *cache;

static Database *db;
static Session *session;
static FaultPlan plan;
static Device *device;

/* ---- a database on a device that fails as planned -------------------------------------------------------------------
 */
static const char *const schema =
    "create table accounts(aid int primary key, bal bigint not null, note text); insert into accounts select i, 0, "
    "'account ' || i from generate_series(1, 200) g(i);"
    "create table payments(id int primary key, aid int not null, amount bigint not null, what text);"
    "create table counters(c int primary key, n bigint not null); insert into counters select i, 0 from "
    "generate_series(0, 3) g(i);"
    "create table waiting(g int, k int, primary key (g, k)); insert into waiting select i % 4, i from "
    "generate_series(1, 400) g(i);"
    "create procedure pay(i int, a int, d bigint, w text, out balance bigint) language plpgsql as $$ begin"
    "  update accounts set bal = bal + d where aid = a returning bal into balance;"
    "  if not found then raise exception 'no account %', a; end if;"
    "  insert into payments values (i, a, d, w); end $$;" /* a key that is there fails behind a change */
    "create procedure name_it(a int, w text) language plpgsql as $$ begin update accounts set note = w || a where aid "
    "= a; if a % 13 = 0 then raise exception 'unlucky %', w; end if; end $$;"
    "create procedure count_up(x int, by bigint) language plpgsql as $$ begin update counters set n = n * 3 + by where "
    "c = x; end $$;"
    "create procedure look(a int, out b bigint) language plpgsql as $$ begin select bal into b from accounts where aid "
    "= a; end $$;"
    "create procedure serve(x int, out first int) language plpgsql as $$ begin"
    "  select k into first from waiting where g = x order by k limit 1; if first is null then return; end if; delete "
    "from waiting where g = x and k = first; end $$;"
    "create procedure settle(x int) language plpgsql as $$ begin update counters set n = n + "
    "length(current_setting('timezone')) where c = x; end $$;";

static bool shares_memory = true; /* the device, with the host */
static void open_on(int64_t fail_at, bool sticky, bool lose) {
    Err e = {0};
    session_open(&db, &session);
    plan = (FaultPlan){.fail_at = 0, .sticky = sticky, .lose_device = lose};
    assert_int_equal(device_fault_new(inner, &plan, &device, &e), ST_OK);
    device->info.shares_memory = shares_memory;
    assert_int_equal(dev_runtime_new(device, cache, &root, &session->device.override, &e), ST_OK);
    session_sql(session, schema);
    session_sql(session, "set threads = 1; set executor = 'compiled'; set device_wait = on; set bulk_copies = on");
    plan.fail_at = fail_at;
}
/* How many operations there were. */
static int64_t close_all(void) {
    plan.fail_at = 0;
    DevRuntime *r = session->device.override;
    session_sql(session, "set executor = 'vm'");
    session_close(db, session);
    dev_runtime_free(r);
    code_cache_drop_device(cache, device);
    int64_t n = atomic_load(&plan.calls);
    device->ops->close(device);
    return n;
}

/* Texts of all cells of statements, or their errors. */
typedef struct Text {
    char *at;
    size_t bytes;
    FILE *f;
} Text;
static void text_open(Text *t) { t->f = open_memstream(&t->at, &t->bytes); }
static void say_value(Text *t, const Value *v) {
    Arena *a = arena_new(&root, NULL);
    int64_t n = 0;
    fprintf(t->f, "%s,", v->is_null ? "NULL" : value_to_text(a, v, &n));
    arena_free(a);
}
static void say_error(Text *t) {
    fprintf(t->f, "%s %s | %s\n", session->err.sqlstate, session->err.message, session->err.detail);
    err_clear(&session->err);
}
static void say_of(Text *t, const char *sql, int32_t n_params, int32_t param) {
    Statement *st = NULL;
    int64_t used = 0;
    bool ran = statement_prepare(session, slice_of(sql), &st, &used) == ST_OK;
    for (int32_t i = 0; ran && i < n_params; i++) st->params[i] = (Value){.type = type_make(T_INT4), .u.i32 = param};
    ran = ran && statement_run(st) == ST_OK;
    if (!ran) say_error(t);
    for (int64_t i = 0; ran && i < st->n_rows; i++, fputc('\n', t->f))
        for (int32_t c = 0; c < st->n_cols; c++) {
            const void *cell;
            bool null;
            if (st->columns) {
                const Value v = statement_column_cell(st, i, c);
                say_value(t, &v);
                continue;
            }
            if (st->values) {
                say_value(t, &st->values[i * st->n_cols + c]);
                continue;
            }
            assert_int_equal(
                rows_cell(st->rows, st->row_map ? st->row_map[i] : i, st->first_col + c, &cell, &null, &session->err),
                ST_OK);
            Value v = {.type = st->types[c], .is_null = null};
            if (!null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(v.type)));
            say_value(t, &v);
        }
    statement_free(st);
}
static void say(Text *t, const char *sql) { say_of(t, sql, 0, 0); }

/* A bulk of calls of several procedures by turns: count_up, look, name_it, pay. */
enum { MIXED = 240, PER = MIXED / 4 };
static const Routine *routine_of(const char *name) {
    const Routine *r = NULL;
    if (session_bulk_routine(session, slice_of(name), &r) != ST_OK) fail_msg("%s: %s", name, session->err.message);
    return r;
}
static void say_mixed(Text *t, const char *order) {
    static int32_t keys[4][PER], amounts[PER];
    static int64_t big[PER];
    static Str words[PER];
    static char word[PER][16];
    static uint32_t calls[4][PER];
    static uint8_t some[PER];
    Err e = {0};
    assert_int_equal(settings_set(session, "bulk_order", order, &e), ST_OK);
    for (int i = 0; i < PER; i++) {
        keys[0][i] = i % 3;
        keys[1][i] = i * 7 % 210;
        keys[2][i] = i % 30;
        keys[3][i] = i % 25;
        amounts[i] = 10000 + (order[0] == 'a' ? 1000 : 0) + i % 50; /* ids: the last ones are there already */
        big[i] = i;
        words[i] = (Str){.ptr = word[i], .len = (uint32_t)snprintf(word[i], sizeof word[i], "w%d", i)};
        some[i] = i % 9 != 4;
        for (int k = 0; k < 4; k++) calls[k][i] = (uint32_t)(4 * i + k);
    }
    const Vec ints[4] = {{.data = keys[0], .phys = PH_I32, .type = type_make(T_INT4)},
                         {.data = keys[1], .phys = PH_I32, .type = type_make(T_INT4)},
                         {.data = keys[2], .phys = PH_I32, .type = type_make(T_INT4)},
                         {.data = keys[3], .phys = PH_I32, .type = type_make(T_INT4)}};
    const Vec ids = {.data = amounts, .phys = PH_I32, .type = type_make(T_INT4)},
              bigs = {.data = big, .phys = PH_I64, .type = type_make(T_INT8)},
              texts = {.data = words, .valid = some, .phys = PH_STR, .type = type_make(T_TEXT)};
    const Vec up[] = {ints[0], bigs}, look[] = {ints[1]}, name[] = {ints[2], texts},
              pay[] = {ids, ints[3], bigs, texts};
    const Vec *const params[4] = {up, look, name, pay};
    static const char *const names[4] = {"count_up", "look", "name_it", "pay"};
    BulkCalls groups[4];
    BulkResult *r = NULL;
    for (int k = 0; k < 4; k++)
        groups[k] = (BulkCalls){.routine = routine_of(names[k]), .n = PER, .params = params[k], .calls = calls[k]};
    Status st = session_bulk_run(session, 4, groups, NULL, &r);
    if (st != ST_OK) say_error(t);
    for (int k = 0; st == ST_OK && k < 4; k++)
        for (int i = 0; i < PER; i++) {
            if (r->errors[k][i]) fprintf(t->f, "%s %s\n", r->errors[k][i]->sqlstate, r->errors[k][i]->message);
            else if (k == 1 || k == 3)
                fprintf(t->f, "%lld\n", r->outs[k][0].valid[i] ? (long long)((int64_t *)r->outs[k][0].data)[i] : -1LL);
        }
    bulk_result_free(r);
    (void)session_end_statement(session, st);
    err_clear(&session->err);
    assert_int_equal(settings_set(session, "bulk_order", "timestamp", &e), ST_OK);
}

static void say_tables(Text *t) {
    say(t, "select * from accounts order by 1");
    say(t, "select * from payments order by 1");
    say(t, "select * from counters order by 1");
    say(t, "select * from waiting order by 1, 2");
}
/* Bulks one after the other; nobody looks at tables before the last one but one, unless `looks`. */
static void script(Text *t, bool looks) {
    say(t, "call bulk_call('pay', 'select i, i % 210, i * 10::bigint, ''first '' || i from generate_series(1, 200) "
           "g(i)')");
    say(t, "call bulk_call('count_up', 'select i % 5, i::bigint from generate_series(1, 100) g(i)')");
    say_mixed(t, "timestamp");
    say(t, "call bulk_call('pay', 'select 20000 + i, case when i % 3 = 0 then 7 else 999 end, 1::bigint, null from "
           "generate_series(1, 600) g(i)')"); /* most fail */
    if (looks) say(t, "select sum(bal) from accounts");
    say(t, "call bulk_call('serve', 'select i % 5 from generate_series(1, 100) g(i)')");
    say_mixed(t, "any");
    say(t, "call bulk_call('name_it', 'select i % 40, case when i % 7 <> 0 then ''again '' || i end from "
           "generate_series(1, 90) g(i)')");
    say(t, "call bulk_call('pay', 'select 150 + i, i % 20, 5::bigint, ''twice'' from generate_series(1, 100) g(i)')");
    say_tables(t);
    say(t, "call bulk_call('pay', 'select 5000 + i, i % 20, 5::bigint, ''late'' from generate_series(1, 50) g(i)')");
    say_tables(t);
}
static char *expected(bool looks) {
    Text t;
    text_open(&t);
    session_open(&db, &session);
    session_sql(session, schema);
    session_sql(session, "set executor = 'vm'");
    script(&t, looks);
    session_close(db, session);
    fclose(t.f);
    assert_null(strstr(t.at, "42883"));
    return t.at;
}
static void same(const char *want, const char *got, const char *what, int64_t fail_at) {
    int64_t i = 0, line = 0;
    while (want[i] && want[i] == got[i]) line += want[i++] == '\n';
    if (want[i] == got[i]) return;
    while (i > 0 && want[i - 1] != '\n') i--;
    fail_msg("%s, fault %lld, line %lld: %.*s, not %.*s", what, (long long)fail_at, (long long)line + 1,
             (int)strcspn(got + i, "\n"), got + i, (int)strcspn(want + i, "\n"), want + i);
}

static int64_t again, lost, fetched; /* what the log said */
static void listen(void *ctx, LogLevel level, const char *message) {
    (void)ctx, (void)level;
    again += strstr(message, "run again on the processors") != NULL;
    lost += strstr(message, "changes are lost") != NULL;
    fetched += strstr(message, "come to the host from device") != NULL;
}

/* ---- tests
 * ------------------------------------------------------------------------------------------------------------ */
/* Every operation fails: once, from then on, or the device is lost. */
static void every_fault(const char *what, const char *settings, bool looks, int64_t step, int64_t least) {
    char *want = expected(looks);
    again = lost = 0;
    int64_t calls = 1, tried = 0;
    for (int64_t fail_at = 1; calls >= fail_at - step;
         fail_at += step, tried++) { /* until a run has no operation of that number */
        Text t;
        open_on(fail_at, fail_at / step % 3 == 1, fail_at / step % 3 == 2);
        session_sql(session, settings);
        text_open(&t);
        script(&t, looks);
        fclose(t.f);
        calls = close_all();
        same(want, t.at, what, fail_at);
        free(t.at);
    }
    print_message("%s: %lld faults of up to %lld operations, %lld times bulks ran again\n", what, (long long)tried,
                  (long long)calls, (long long)again);
    assert_in_range(again, least, tried);
    assert_int_equal(lost, 0);
    free(want);
}
static void test_every_fault(void **state) {
    (void)state;
    every_fault("bulks", "set bulk_strategy = 'auto'", false, 1, 60);
}
static void test_looked_at(void **state) {
    (void)state;
    every_fault("somebody looks", "set bulk_strategy = 'kset'", true, 3, 10);
}
/* Tables are brought up to date behind each bulk: there is nothing to be run again but the bulk before. */
static void test_no_memory_for_inputs(void **state) {
    (void)state;
    every_fault("little memory", "set bulk_replay_memory = '1'", false, 5, 1);
}

/* Without inputs the changes go with the device: that is told once, and the tables are as before. */
static void test_off(void **state) {
    (void)state;
    Text t;
    for (int on = 0; on < 2; on++) {
        open_on(0, false, true);
        again = lost = 0;
        session_sql(session, on ? "set bulk_replay = on" : "set bulk_replay = off");
        text_open(&t);
        session_sql(session, "call bulk_call('count_up', 'select 1, 1 from generate_series(1, 10) g(i)')");
        session_sql(session, "set executor = 'vm'; select count(*) from counters"); /* on the host */
        session_sql(session, "set executor = 'compiled'");
        session_sql(session, "call bulk_call('count_up', 'select 2, 1 from generate_series(1, 10) g(i)')");
        plan.fail_at = atomic_load(&plan.calls) + 1;
        say(&t, "select n from counters order by c");
        say(&t, "select n from counters order by c");
        say(&t, "call bulk_call('count_up', 'select 1, 0 from generate_series(1, 2) g(i)')");
        say(&t, "select n from counters order by c");
        fclose(t.f);
        (void)close_all();
        char found[1024];
        snprintf(found, sizeof found, "%s", t.at);
        free(t.at);
        if (on)
            same("0,\n29524,\n29524,\n0,\n0,\n29524,\n29524,\n0,\n1,NULL,NULL,NULL,NULL,NULL,NULL,\n2,NULL,NULL,NULL,"
                 "NULL,NULL,NULL,\n0,"
                 "\n265716,\n29524,\n0,\n",
                 found, "on", 0);
        else {
            assert_non_null(strstr(found, "58000 device \"host\" was lost, and with it what bulks had left there"));
            same("0,\n29524,\n0,\n0,\n1,NULL,NULL,NULL,NULL,NULL,NULL,\n2,NULL,NULL,NULL,NULL,NULL,NULL,\n0,\n265716,"
                 "\n0,\n0,\n",
                 strchr(found, '\n') + 1, "off", 0);
        }
        assert_int_equal(again, on);
        assert_int_equal(lost, !on);
    }
}

/* What a transaction's bulk has done is undone or kept as a whole, whenever the device goes. */
static void test_in_a_transaction(void **state) {
    (void)state;
    for (int commits = 0; commits < 2; commits++) {
        int64_t calls = 1;
        for (int64_t fail_at = 1; calls >= fail_at; fail_at++) {
            Text t;
            open_on(0, false, true);
            session_sql(session, "call bulk_call('count_up', 'select 1, 1 from generate_series(1, 10) g(i)')");
            plan.calls = 0;
            plan.fail_at = fail_at;
            session_sql(session,
                        "begin; call bulk_call('count_up', 'select i % 3, 1 from generate_series(1, 10) g(i)')");
            session_sql(session, commits ? "commit" : "rollback");
            session_sql(session, "call bulk_call('count_up', 'select 3, 1 from generate_series(1, 2) g(i)')");
            text_open(&t);
            say(&t, "select n from counters order by c");
            fclose(t.f);
            calls = close_all();
            same(commits ? "13,\n2391484,\n13,\n4,\n" : "0,\n29524,\n0,\n4,\n", t.at, commits ? "commit" : "rollback",
                 fail_at);
            free(t.at);
        }
    }
}

/* A procedure that asks for settings has inputs that are not kept: the tables are up to date behind its bulks. */
static void test_settings(void **state) {
    (void)state;
    int64_t calls = 1;
    again = lost = 0;
    for (int64_t fail_at = 1; calls >= fail_at; fail_at++) {
        Text t;
        open_on(fail_at, false, true);
        session_sql(session, "call bulk_call('count_up', 'select 1, 1 from generate_series(1, 10) g(i)')");
        session_sql(session, "call bulk_call('settle', 'select i % 2 from generate_series(1, 20) g(i)')");
        session_sql(session, "set timezone = '2'");
        session_sql(session, "call bulk_call('count_up', 'select 2, 1 from generate_series(1, 3) g(i)')");
        text_open(&t);
        say(&t, "select n from counters order by c");
        fclose(t.f);
        calls = close_all();
        same("30,\n29554,\n13,\n0,\n", t.at, "settings", fail_at);
        free(t.at);
    }
    assert_int_equal(lost, 0);
}

/* Queries on the device read what bulks left there; what the host has to read comes to it once. */
static void read_there(void) {
    Text t;
    open_on(0, false, false);
    text_open(&t);
    for (int round = 0; round < 2; round++) {
        fetched = 0;
        session_sql(session, "call bulk_call('count_up', 'select 1, 1 from generate_series(1, 2) g(i)')");
        say(&t, "select sum(n), count(*), max(c) from counters");
        say(&t, "select c, n from counters where n > 0 order by n");
        session_sql(session,
                    "call bulk_call('name_it', 'select i, ''a name '' || i from generate_series(1, 12) g(i)')");
        session_sql(session, "call bulk_call('serve', 'select i % 4 from generate_series(1, 8) g(i)')");
        say_of(&t, "select k, g from waiting where g = $1 and k = 101", 1, 1); /* of a key of two columns */
        say_of(&t, "select k, g from waiting where g = $1 and k = 5", 1, 1);   /* that is gone */
        const int32_t ids[] = {5, 40, 999999};
        for (int i = 0; i < 3; i++) say_of(&t, "select bal, note, aid from accounts where aid = $1", 1, ids[i]);
        session_sql(session, "prepare p as select max(n) from counters; execute p; deallocate p");
        say(&t, "select note, aid, right(note, 3) from accounts where aid in (5, 12, 40) order by aid");
        say(&t, "select note from accounts where aid % 50 = 12 group by note order by note limit 2");
        assert_int_equal(fetched, 0);
        session_sql(session, "set executor = 'vm'");
        say(&t, "select sum(n), count(*), max(c) from counters");
        say(&t, "select sum(n) from counters");
        assert_int_equal(fetched, 3); /* a table each */
        session_sql(session, "set executor = 'compiled'");
    }
    fclose(t.f);
    (void)close_all();
    same("4,4,3,\n1,4,\n101,1,\n0,a name 55,5,\n0,account 40,40,\n"
         "a name 55,5, 55,\na name 1212,12,212,\naccount 40,40, 40,\na name 1212,\naccount 112,\n4,4,3,\n4,\n"
         "40,4,3,\n1,40,\n101,1,\n0,a name 55,5,\n0,account 40,40,\n"
         "a name 55,5, 55,\na name 1212,12,212,\naccount 40,40, 40,\na name 1212,\naccount 112,\n40,4,3,\n40,\n",
         t.at, "there", 0);
    free(t.at);
}

static void test_read_there(void **state) {
    (void)state;
    read_there();
    shares_memory = false;
    read_there();
    shares_memory = true;
}

/* Another session, which runs its statements when a query of the first one begins its first segment. */
typedef struct Beside {
    Session *other;
    const char *sql; /* NULL: it has run */
} Beside;
static bool run_beside(void *ctx, double fraction) {
    (void)fraction;
    Beside *b = ctx;
    const char *sql = b->sql;
    b->sql = NULL;
    if (sql) session_sql(b->other, sql);
    return false;
}
/* Once a query has made its columns of the rows that bulks left, others change them as they like. */
static void read_unlocked(void) {
    static const char *const changes[] = {
        "call bulk_call('count_up', 'select i % 4, 7 from generate_series(1, 12) g(i)');"
        "call bulk_call('name_it', 'select i, ''now '' || i from generate_series(1, 12) g(i)')",
        "call bulk_call('name_it', 'select i, repeat(''long '', 500) from generate_series(1, 200) g(i)')",
        "call bulk_call('serve', 'select i % 4 from generate_series(1, 8) g(i)'); set executor = 'vm';"
        "update counters set n = -1; delete from accounts where aid > 100; vacuum; set executor = 'compiled'",
        "drop table payments; truncate counters; create table more(x int);"
        "create procedure pay(i int) language plpgsql as $$ begin update counters set n = i; end $$",
        "drop procedure name_it(int, text); drop procedure look(int); drop table accounts cascade"};
    static const char sql[] =
        "select sum(a.bal), sum(c.n), sum(length(a.note)), count(*), left(a.note, 7) from accounts a join counters c "
        "on c.c = a.aid % 4 join waiting w on w.k = a.aid group by 5 order by 5";
    for (int i = 0; i < (int)ARRAY_LEN(changes); i++) {
        Err e = {0};
        Text t;
        open_on(0, false, false);
        Beside b = {.sql = NULL};
        assert_int_equal(session_new(db, &b.other, &e), ST_OK);
        b.other->device.override = session->device.override;
        session_sql(b.other, "set lock_timeout = '10ms'; set threads = 1; set executor = 'compiled'; set device_wait = "
                             "on; set bulk_copies = on");
        text_open(&t);
        session_sql(session, "call bulk_call('count_up', 'select i % 4, i from generate_series(1, 40) g(i)')");
        session_sql(session,
                    "call bulk_call('name_it', 'select i, ''a name '' || i from generate_series(1, 80) g(i)')");
        session_sql(session, "call bulk_call('pay', 'select i, i, i::bigint, null from generate_series(1, 150) g(i)')");
        session->client.progress = run_beside;
        session->client.progress_ctx = &b;
        fetched = 0;
        say(&t, sql);
        b.sql = changes[i];
        say(&t, sql);
        assert_null(b.sql);
        if (i == 0) assert_int_equal(fetched, 0);
        session->client.progress = NULL;
        fclose(t.f);
        session_free(b.other);
        (void)close_all();
        size_t half = strlen(t.at) / 2;
        assert_in_range(*t.at, '1', '9');
        if (strncmp(t.at, t.at + half, half) != 0 || half < 50) fail_msg("%d: %s", i, t.at);
        free(t.at);
    }
}

static void test_read_unlocked(void **state) {
    (void)state;
    read_unlocked();
    shares_memory = false;
    read_unlocked();
    shares_memory = true;
}

/* What reads the rows that bulks have left on the device, while each of the device's operations that it takes fails:
 * once, from then on, or the device is lost. The answer, the bulk after it and the tables are what they are without
 * faults. */
typedef struct Read {
    const char *sql;
    int32_t n_params, param;
} Read;
static const Read reads[] = {
    {"select sum(bal), count(*), max(aid) from accounts", 0, 0},
    {"select note, count(*) from accounts where aid < 30 group by note order by note", 0, 0},
    {"select count(*), sum(amount) from payments join accounts using (aid) where note like 'again%' or what <> ''", 0,
     0},
    {"select k, g from waiting where g < 2 order by k limit 5", 0, 0},
    {"select bal, note from accounts where aid = $1", 1, 5},
    {"select k from waiting where g = $1 and k = 101", 1, 1},
    {"begin; select count(*) from payments; select sum(bal) from accounts; commit", 0, 0},
    {"update accounts set bal = bal + 1 where aid = 7", 0, 0},
    {"create table copied as select * from payments where amount > 3", 0, 0},
    {"vacuum", 0, 0},
};
static int64_t read_beside(Text *t, const Read *r, int64_t fail_at) {
    say(t, "call bulk_call('pay', 'select i, 1 + i % 200, i * 10::bigint, ''first '' || i from generate_series(1, 200) "
           "g(i)')");
    say(t, "call bulk_call('name_it', 'select 1 + i % 12, ''again '' || i from generate_series(1, 60) g(i)')");
    say(t, "call bulk_call('serve', 'select i % 5 from generate_series(1, 100) g(i)')");
    plan.calls = 0;
    plan.fail_at = fail_at;
    for (const char *at = r->sql, *end; *at; at = end + strspn(end, "; ")) {
        char one[256];
        end = at + strcspn(at, ";");
        snprintf(one, sizeof one, "%.*s", (int)(end - at), at);
        say_of(t, one, r->n_params, r->param);
    }
    plan.fail_at = 0;
    const int64_t n = atomic_load(&plan.calls);
    say(t, "call bulk_call('pay', 'select 5000 + i, i % 20, 5::bigint, ''late'' from generate_series(1, 50) g(i)')");
    say_tables(t);
    fclose(t->f);
    return n;
}
static void test_readers_fail(void **state) {
    (void)state;
    int64_t faults = 0;
    lost = 0;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        Text want;
        text_open(&want);
        session_open(&db, &session);
        session_sql(session, schema);
        session_sql(session, "set executor = 'vm'");
        plan = (FaultPlan){.fail_at = 0};
        (void)read_beside(&want, &reads[i], 0);
        session_close(db, session);
        for (int how = 0; how < 3; how++) {
            int64_t fail_at = 0, calls;
            do { /* until a run has no operation of that number */
                Text t;
                open_on(0, how == 1, how == 2);
                text_open(&t);
                calls = read_beside(&t, &reads[i], ++fail_at);
                (void)close_all();
                same(want.at, t.at, reads[i].sql, fail_at);
                free(t.at);
            } while (fail_at <= calls);
            faults += fail_at - 1;
        }
        free(want.at);
    }
    print_message("%lld faults below readers\n", (long long)faults);
    assert_true(faults > 300);
    assert_int_equal(lost, 0);
}

/* ---- transactions and forms of reading ---- */
static const DeviceOps *real_ops;
static int64_t copied_out;
static Status counting_copy_out(DevQueue *q, void *dst, DevPtr src, int64_t n, Err *e) {
    copied_out += n;
    return real_ops->copy_out(q, dst, src, n, e);
}
/* What queries read of rows that bulks left, whatever they join it with: nothing comes to the host but results, outside
 * of transactions and in them. */
static const Read forms[] = {
    {"select f, note, label from few left join accounts on aid = f and bal = 0 order by f", 0, 0},
    {"select sum(bal), count(*) from accounts where exists (select from few where f = aid)", 0, 0},
    {"select label, (select note from accounts where aid = f) from few order by 1", 0, 0},
    {"select note from accounts where aid = (select max(f) from few)", 0, 0},
    {"select note, bal from accounts where aid = $1", 1, 5},
    {"select note, bal from accounts where aid in ($1, 7)", 1, 5},
    {"select label, note from few join accounts on aid = f where f = $1", 1, 3},
    {"select label from few where f not in (select k - 100 from waiting) order by 1", 0, 0},
    {"execute by_key(9)", 0, 0},
    {"select upper(note) from accounts where aid = 6", 0, 0},
    {"table counters", 0, 0},
};
static char *read_forms(const char *before, const char *behind, bool there) {
    enum { RESULT_BYTES = 1000, CHANGED_BYTES = 8000 };
    Text t;
    open_on(0, false, false);
    if (!there) session_sql(session, "set executor = 'vm'");
    session_sql(session, "create table few(f int primary key, label text); insert into few select i, 'f' || i from "
                         "generate_series(1, 9) g(i); prepare by_key(int) as select note from accounts where aid = $1");
    real_ops = device->ops;
    DeviceOps counting = *real_ops;
    counting.copy_out = counting_copy_out;
    device->ops = &counting;
    text_open(&t);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        session_sql(session,
                    "select from bulk_call('count_up', 'select i % 4, 7 from generate_series(1, 12) g(i)');"
                    "select from bulk_call('serve', 'select i % 4 from generate_series(1, 8) g(i)');"
                    "select from bulk_call('name_it', 'select i, ''a name '' from generate_series(1, 12) g(i)')");
        session_sql(session, before);
        fetched = copied_out = 0;
        say_of(&t, forms[i].sql, forms[i].n_params, forms[i].param);
        if (fetched > 0 || copied_out > RESULT_BYTES)
            fail_msg("%s %s: %lld bytes come to the host", before, forms[i].sql, (long long)copied_out);
        session_sql(session, behind);
    }
    session_sql(session, "set executor = 'vm'");
    say(&t, "select count(*) from accounts");
    assert_true(!there || (fetched > 0 && copied_out > CHANGED_BYTES)); /* they were there */
    fclose(t.f);
    device->ops = real_ops;
    (void)close_all();
    return t.at;
}
static void test_read_forms(void **state) {
    (void)state;
    shares_memory = false;
    char *want = read_forms("", "", false);
    for (int block = 0; block < 2; block++) {
        char *got = read_forms(block ? "begin" : "", block ? "commit" : "", true);
        same(want, got, block ? "in a transaction" : "alone", 0);
        free(got);
    }
    shares_memory = true;
    free(want);
}

/* A statement of one of several sessions. */
static void ask(Text *t, Session *s, const char *sql) {
    Session *mine = session;
    session = s;
    say(t, sql);
    session = mine;
}
static Session *another(void) {
    Err e = {0};
    Session *s;
    assert_int_equal(session_new(db, &s, &e), ST_OK);
    s->device.override = session->device.override;
    session_sql(s, "set threads = 1; set executor = 'compiled'; set device_wait = on; set bulk_copies = on");
    return s;
}
static const char one_up[] = "call bulk_call('count_up', 'select 1, 1 from generate_series(1, 2) g(i)')";
static const char counters_sql[] = "select sum(n), count(*), max(c) from counters";

/* A transaction goes on seeing what bulks had left on the device when it began, whatever comes. */
static void test_snapshot_there(void **state) {
    (void)state;
    static const char *const changes[] = {
        "call bulk_call('count_up', 'select 1, 5 from generate_series(1, 3) g(i)')",
        "select from bulk_call('count_up', 'select i % 4, 7 from generate_series(1, 12) g(i)')",
        "update counters set n = -1 where c = 1",
        "begin; delete from counters where c > 1; commit",
        "begin; update counters set n = 5; rollback",
        "vacuum"};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        Text t;
        open_on(0, false, false);
        Session *other = another(), *older = another();
        text_open(&t);
        ask(&t, older, "begin");
        ask(&t, older, "select sum(n) from counters");
        session_sql(other, one_up);
        fetched = 0;
        say(&t, "begin");
        say(&t, counters_sql);
        say(&t, "select n from counters where c = 1");
        assert_int_equal(fetched, 0);
        session_sql(other, changes[i]);
        say(&t, counters_sql);
        say(&t, "select c, n from counters where n > 0 order by n"); /* none of its columns but n was made before */
        say(&t, "select n from counters where c = 1");
        ask(&t, older, "select sum(n) from counters");
        say(&t, counters_sql);
        say(&t, "commit");
        ask(&t, older, "commit");
        session_sql(other, "update counters set n = 0"); /* as it ends, nothing of it is left */
        session_sql(other, one_up);
        fetched = 0;
        session_sql(other, one_up);
        ask(&t, other, "select max(n) from counters");
        assert_int_equal(fetched, 0);
        fclose(t.f);
        session_free(other);
        session_free(older);
        (void)close_all();
        same("0,\n4,4,3,\n4,\n4,4,3,\n1,4,\n4,\n0,\n4,4,3,\n40,\n", t.at, changes[i], 0);
        free(t.at);
    }
}
/* What such a transaction writes is validated against what came after what it has read. */
static void test_writes_behind_it(void **state) {
    (void)state;
    for (int meets = 0; meets < 2; meets++) {
        Text t;
        open_on(0, false, false);
        Session *other = another();
        text_open(&t);
        session_sql(other, one_up);
        say(&t, "begin");
        say(&t, "select n from counters where c = 1");
        session_sql(other,
                    meets ? one_up : "call bulk_call('count_up', 'select 2, 1 from generate_series(1, 2) g(i)')");
        say(&t, "update accounts set bal = 7 where aid = 3");
        say(&t, "select n, (select sum(bal) from accounts) from counters where c = 1");
        say(&t, "commit");
        say(&t, "select n from counters where c < 3 order by c");
        say(&t, "select sum(bal) from accounts");
        fclose(t.f);
        session_free(other);
        (void)close_all();
        if (meets) assert_non_null(strstr(t.at, "4,\n4,7,\n40001 could not serialize access"));
        else same("4,\n4,7,\n0,\n4,\n4,\n7,\n", t.at, "it does not meet others", 0);
        free(t.at);
    }
}
/* Without inputs such a transaction ends with the device that it has read from. */
static void test_snapshot_lost(void **state) {
    (void)state;
    Text t;
    open_on(0, false, true);
    Session *other = another();
    text_open(&t);
    session_sql(other, "set bulk_replay = off");
    session_sql(other, one_up);
    say(&t, "begin");
    say(&t, counters_sql);
    plan.fail_at = atomic_load(&plan.calls) + 1;
    ask(&t, other, "select sum(n) from counters");
    say(&t, counters_sql);
    say(&t, "commit");
    say(&t, counters_sql);
    fclose(t.f);
    session_free(other);
    (void)close_all();
    const char *lines = strchr(t.at, '\n') + 1;
    assert_non_null(strstr(lines, "58000 device \"host\" was lost"));
    assert_non_null(strstr(lines, "58000 what bulks had left on a device was lost, which the transaction has seen"));
    assert_non_null(strstr(lines, "\n0,4,3,\n"));
    free(t.at);
}

static int setup(void **state) {
    (void)state;
    Err e = {0};
    mem_account_init(&root, NULL, "test", 0, NULL);
    assert_non_null(pool = pool_new(1, &e));
    assert_int_equal(devices_open(pool, &root, &devices, &e), ST_OK);
    assert_int_equal(devices_get(devices, "host", &inner, &e), ST_OK);
    assert_int_equal(code_cache_new(NULL, -1, &cache, &e), ST_OK);
    log_set(listen, NULL);
    return 0;
}
static int teardown(void **state) {
    (void)state;
    log_set(NULL, NULL);
    code_cache_drop_device(cache, inner);
    code_cache_free(cache);
    devices_close(devices);
    pool_free(pool);
    assert_int_equal(atomic_load(&root.used), 0);
    return 0;
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_fault),          cmocka_unit_test(test_looked_at),
        cmocka_unit_test(test_no_memory_for_inputs), cmocka_unit_test(test_off),
        cmocka_unit_test(test_in_a_transaction),     cmocka_unit_test(test_settings),
        cmocka_unit_test(test_read_there),           cmocka_unit_test(test_read_unlocked),
        cmocka_unit_test(test_readers_fail),         cmocka_unit_test(test_read_forms),
        cmocka_unit_test(test_snapshot_there),       cmocka_unit_test(test_writes_behind_it),
        cmocka_unit_test(test_snapshot_lost)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
