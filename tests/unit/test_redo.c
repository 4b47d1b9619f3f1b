/* test_redo.c - the redo log when power is cut, when the disk fails or is full, and when files are damaged.
 *
 * A simulation runs random statements on two connections over a disk in memory (unit_disk.h), and has the text of all
 * that is committed after each. At many operations of the disk it takes what a power cut would leave there, and what
 * must be found then: the state behind some commit, at least the last that was acknowledged, and no other. Now and then
 * the power is cut indeed, and the simulation goes on with what was left. All of it is given by the seed, but what a
 * checkpoint does beside statements: test_redo SEED runs one, test_redo NAME one of the other tests.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "api/api_int.h"
#include "base/hash.h"
#include "base/log.h"
#include "db/checkpoint.h"
#include "db/redo.h"
#include "storage/table.h"
#include "unit.h"
#include "unit_api.h"
#include "../definitions.h"
#include "unit_disk.h"
#include "unit_random.h"

static const char db_path[] = "/db";
enum { CONNS = 2, SEQUENCES = 2, FOUND_OUT = 3 };

/* ---- all that a database has ---- */
static bool each_value(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)names;
    for (int64_t i = 0; i < n; i++) {
        put(ctx, values[i] ? values[i] : "NULL");
        put(ctx, " ");
    }
    put(ctx, "\n");
    return false;
}
static _Atomic bool saver_is_busy; /* a checkpoint has, or waits for, the lock for a while */
/* NULL: the database is locked. */
static char *try_dump(stele_conn *c) {
    Definitions s = {{0}};
    put(&s.text, "");
    put(&s.tables, "");
    if (stele_list_definitions(c, each_definition, &s) != STELE_OK) {
        api_state(c, "55P03");
        free(s.text.p);
        free(s.tables.p);
        return NULL;
    }
    for (char *at = s.tables.p, *end; (end = strchr(at, '\n')); at = end + 1) {
        char sql[300];
        *end = 0;
        snprintf(sql, sizeof sql,
                 "select count(*), sum(hashtext(whole::text)::bigint), sum(hashtext('2' || whole::text)::bigint) from "
                 "%s whole",
                 at);
        put(&s.text, at);
        put(&s.text, ": ");
        if (stele_exec(c, sql, each_value, &s.text) == STELE_OK) continue;
        api_state(c, "55P03");
        free(s.text.p);
        s.text.p = NULL;
        break;
    }
    free(s.tables.p);
    return s.text.p;
}
/* NULL: a transaction has the database to itself, so nothing was committed. */
static char *dump_of(stele_conn *c) {
    for (;;) {
        const bool busy = saver_is_busy;
        char *text = try_dump(c);
        if (text || !busy) return text;
    }
}

/* ---- databases ---- */
static stele_status try_open(Disk *d, bool durable, stele_db **db, stele_error_info *e) {
    const stele_options o = {.threads = 1, .durable = durable};
    return api_open(db_path, &o, &d->vfs, db, e);
}
static stele_conn *connect_to(stele_db *db) {
    stele_conn *c = NULL;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    api_run(c, "set auto_merge = off; set lock_timeout = '1ms'; set log_verify = on");
    return c;
}
/* What only looks waits for no disk. */
static stele_conn *connect_observer(stele_db *db) {
    stele_conn *c = connect_to(db);
    api_run(c, "set synchronous_commit = off");
    return c;
}

static const char mix[] =
    "create procedure mix(a int) language plpgsql as $$ begin update book set n = n + a, s = s || a % 3 where id = a % "
    "101; if a % 5 = 0 then insert into book values (1000 + a, a, 'mixed ' || a); end if; "
    "if a % 7 = 0 then delete from book where id = 1000 + a - 7; end if; "
    "if a % 11 = 0 then raise exception 'eleven'; end if; end $$";

/* ---- the simulation ---- */
typedef struct Cut {
    Disk *disk;
    int64_t from, to; /* states that may be found */
    int64_t op, floor[SEQUENCES];
} Cut;
typedef struct Sim {
    uint64_t seed;
    Disk *disk;
    stele_db *db;
    stele_conn *conn[CONNS], *observer, *saver;
    pthread_t saving; /* CHECKPOINT on `saver`, beside all others */
    bool is_saving, saved;
    int64_t saves_from; /* the state that was committed before */
    bool sync[CONNS], big, faults;
    char **states; /* what was committed, in order */
    int64_t n_states, cap_states;
    _Atomic int64_t acked;                                     /* the state that has to be there */
    _Atomic int64_t floor[SEQUENCES], given[CONNS][SEQUENCES]; /* the last number acknowledged; that of a transaction */
    Cut *cuts;
    int64_t n_cuts, cap_cuts, next_cut, every;
    Text said;
} Sim;

static int64_t n_points, n_statements, n_refused, n_cut_short, n_beside, n_beside_failed;

static void note(Sim *s, const char *what, const char *sql) {
    put(&s->said, what);
    put(&s->said, sql);
    put(&s->said, "\n");
}
static void take_cut(void *ctx, Disk *d) {
    Sim *s = ctx;
    if (d->ops < s->next_cut) return;
    s->next_cut = d->ops + 1 + (int64_t)(disk_rnd(d) % (uint64_t)s->every);
    if (s->n_cuts == s->cap_cuts) {
        s->cap_cuts = s->cap_cuts * 2 + 64;
        s->cuts = disk_memory(s->cuts, (size_t)s->cap_cuts * sizeof *s->cuts);
    }
    Cut c = {.disk = disk_after_cut(d), .from = s->acked, .to = s->n_states, .op = d->ops};
    for (int i = 0; i < SEQUENCES; i++) c.floor[i] = s->floor[i];
    s->cuts[s->n_cuts++] = c;
}

static bool is_deaf(void *ctx, Disk *d, const char *path);
static int deaf_kind = -1; /* syncs of this kind are left out: that it is found out is what is wanted */
static void give_up(Sim *s, const char *what, const char *detail) {
    char name[64];
    if (deaf_kind >= 0) _exit(FOUND_OUT);
    snprintf(name, sizeof name, "/tmp/test_redo-%llu.sql", (unsigned long long)s->seed);
    FILE *f = fopen(name, "w");
    if (f) fprintf(f, "%s\n-- %s: %s\n", s->said.p ? s->said.p : "", what, detail);
    if (f) fclose(f);
    fail_msg("seed %llu: %s: %s (statements: %s)", (unsigned long long)s->seed, what, detail, name);
}
static void give_up_cut(Sim *s, const Cut *c, const char *what, const char *detail) {
    char text[200];
    snprintf(text, sizeof text, "power cut at operation %lld, states %lld to %lld: %s", (long long)c->op,
             (long long)c->from, (long long)c->to, what);
    give_up(s, text, detail);
}
/* The state that it is; -1: none of those. */
static int64_t find_state(const Sim *s, const char *text, int64_t from, int64_t to) {
    for (int64_t i = MIN_OF(to, s->n_states - 1); i >= from; i--)
        if (strcmp(s->states[i], text) == 0) return i;
    return -1;
}
static const char *first_difference(const char *a, const char *b) {
    static char out[1500];
    const char *la = a, *lb = b;
    for (; *a && *a == *b; a++, b++) {
        if (*a != '\n') continue;
        la = a + 1;
        lb = b + 1;
    }
    snprintf(out, sizeof out, "\"%.*s\" instead of \"%.*s\"", (int)strcspn(lb, "\n"), lb, (int)strcspn(la, "\n"), la);
    return out;
}
static void push_state(Sim *s, char *text) {
    if (!text || strcmp(s->states[s->n_states - 1], text) == 0) {
        free(text);
        return;
    }
    pthread_mutex_lock(&s->disk->lock); /* the thread that writes late takes cuts too */
    if (s->n_states == s->cap_states) {
        s->cap_states = s->cap_states * 2 + 64;
        s->states = disk_memory(s->states, (size_t)s->cap_states * sizeof *s->states);
    }
    s->states[s->n_states++] = text;
    pthread_mutex_unlock(&s->disk->lock);
}

/* ---- statements ---- */
static int64_t last_number;
static bool keep_number(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)ctx, (void)names;
    if (n > 0 && values[0]) last_number = strtoll(values[0], NULL, 10);
    return false;
}
static char said[1200];
static void say(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void say(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(said, sizeof said, fmt, ap);
    va_end(ap);
}
#define N(n) ((int)rnd_below(n))
/* Tables t0 ... t4 have the same columns but the last, and other keys. */
static const char *const last_types[] = {"text", "date", "int[]", "jsonb", "bytea"};
static const char *const last_values[] = {"'x' || i", "date '2020-01-01' + i", "array[i, i + 1]",
                                          "('{\"a\": ' || i || '}')::jsonb",
                                          "('\\x' || lpad(to_hex(i), 8, '0'))::bytea"};
static const char *const keys[] = {", primary key (id)", "", ", unique (g, s)", ", primary key (g, id)",
                                   ", unique (s), check (n > -1000)"};
static const char *text_of(int how) {
    return how == 0   ? "'word ' || i % 5"
           : how == 1 ? "md5(i::text)"
                      : "case when i % 3 <> 0 then 'long text number ' || i end";
}
static void say_rows(int t, int64_t first, int64_t n) {
    say("insert into t%d select i, i %% %d, %s, i / 4.0, %s, %s from generate_series(%lld, %lld) g(i)", t, 3 + N(200),
        text_of(N(3)), N(2) ? "null" : "i * 1.125", N(4) ? last_values[t] : "null", (long long)first,
        (long long)(first + n - 1));
    if (N(3) == 0) strcat(said, " on conflict do nothing");
}
static void say_definition(const Sim *s, int t) {
    switch (N(21)) {
    case 0:
    case 1:
    case 2:
    case 20:
        say("create table t%d(id int, g int, s text, n numeric(12,2), x numeric, v %s%s)", t, last_types[t], keys[t]);
        break;
    case 3: say(N(3) ? "create table t%d(id int, g int, s text, n numeric(12,2))" : "drop table t%d cascade", t); break;
    case 4: say("alter table t%d add column if not exists c%d int default %d", t, N(3), N(9)); break;
    case 5: say("alter table t%d drop column if exists c%d", t, N(3)); break;
    case 6: say("alter table t%d alter column g type bigint", t); break;
    case 7: say("alter table t%d rename to t%d", t, N(5)); break;
    case 8: say("create index i%d on t%d(%s)", N(6), t, N(2) ? "g" : "s"); break;
    case 9:
        say("create unique index i%d on t%d(%s)", N(6), t, N(2) ? "(id * 2), (coalesce(g, 0) + 1)" : "id, (lower(s))");
        break;
    case 10: say("drop index if exists i%d", N(6)); break;
    case 11: say("create view v%d as select g, count(*) as c from t%d group by g", N(3), t); break;
    case 12: say("drop view if exists v%d", N(3)); break;
    case 13: say("create table w%d as select * from t%d", N(2), t); break;
    case 14: say("drop table if exists w%d", N(2)); break;
    case 15: say("alter table t%d add constraint c check (g is null or g < 100000)", t); break;
    case 16: say("create table w%d(id int generated by default as identity, ref int, a text)", N(2)); break;
    case 17: say("create materialized view m%d as select * from t%d where g > 3", N(2), t); break;
    case 18: say(N(2) ? "refresh materialized view m%d" : "drop materialized view m%d", N(2)); break;
    default: say("alter table t%d rename column x to x%d", t, N(2)); break;
    }
    (void)s;
}
static void say_change(const Sim *s, int t) {
    const int id = N(400);
    switch (N(23)) {
    case 0:
    case 1: say_rows(t, N(100000), 1 + N(4)); break;
    case 2: say_rows(t, N(1000), 10 + N(200)); break;
    case 3: say_rows(t, N(100000), s->big && N(2) ? 20000 + N(130000) : 1); break;
    case 4:
    case 5: say("update t%d set n = n + 1.25, s = s || '+' where id = %d", t, id); break;
    case 6: say("update t%d set g = g + 1 where id %% %d = 0", t, 2 + N(9)); break;
    case 7: say("update t%d set id = id + 100000 where id between %d and %d", t, id, id + N(20)); break;
    case 8: say("update t%d set s = null, x = %d.5, v = null where g = %d", t, id, N(30)); break;
    case 9: say("update t%d set s = 'word ' || id %% 7, n = -n", t); break;
    case 10:
    case 11: say("delete from t%d where id = %d", t, id); break;
    case 12: say("delete from t%d where g %% %d = %d", t, 2 + N(5), N(2)); break;
    case 13: say(N(6) ? "delete from t%d where id > 50000" : "delete from t%d", t); break;
    case 14: say(N(2) ? "truncate t%d" : "truncate t%d restart identity", t); break;
    case 15: say("vacuum t%d", t); break;
    case 16: say("insert into w%d(ref, a) select i, 'w' || i from generate_series(1, %d) g(i)", N(2), 1 + N(60)); break;
    case 17: say("update w%d set a = a || 'u', ref = ref + 1 where ref %% 3 = 0", N(2)); break;
    case 18:
        say("insert into t%d(id, g, s) values (%d, 1, 'a'), (%d, 2, 'b') on conflict do nothing", t, id, id + 1);
        break;
    case 19:
        say("merge into t%d a using (select i from generate_series(%d, %d) g(i)) b on a.id = b.i when matched then "
            "update set g = a.g + 1 when not matched then insert (id, g, s) values (b.i, b.i %% 9, 'm' || b.i)",
            t, id, id + N(40));
        break;
    case 20: say("call bulk_call('mix', 'select i from generate_series(%d, %d) g(i)')", id, id + N(50)); break;
    case 21:
        say("call bulk_call('stamp', 'select i, ''w'' || i %% 3, i %% 4 / 2.0, array[i, -i] from generate_series(%d, "
            "%d) "
            "g(i)')",
            id, id + N(50));
        break;
    default: say("call mix(%d)", id);
    }
}
/* The numbers that a transaction was given are acknowledged with it. */
static void note_numbers(Sim *s, int c, bool good) {
    for (int i = 0; i < SEQUENCES; i++) {
        if (good && s->sync[c] && s->given[c][i] > s->floor[i]) s->floor[i] = s->given[c][i];
        s->given[c][i] = 0;
    }
}
/* An operation has failed, and no checkpoint has set things right. */
static bool is_broken(const Sim *s) { return s->disk->fail_at > 0 && s->disk->ops >= s->disk->fail_at; }
static bool is_expected(const Sim *s, const char *sqlstate) {
    if (strcmp(sqlstate, "58030") == 0) return s->disk->off || is_broken(s);
    if (strcmp(sqlstate, "53100") == 0) return s->disk->full;
    static const char *const bad[] = {"XX", "58", "53", "0A"};
    for (int i = 0; i < 4; i++)
        if (strncmp(sqlstate, bad[i], 2) == 0) return strcmp(bad[i], "0A") == 0;
    return true;
}
/* Runs what was said. */
static bool run_on(Sim *s, int c, bool acknowledges) {
    stele_conn *conn = s->conn[c];
    stele_error_info e;
    last_number = -1;
    note(s, c ? "b: " : "a: ", said);
    const bool good = stele_exec(conn, said, keep_number, NULL) == STELE_OK;
    stele_error(conn, &e);
    n_statements++;
    if (!good) n_refused++;
    if (!good) note(s, "   -- ", e.sqlstate);
    if (!good && !is_expected(s, e.sqlstate)) give_up(s, said, e.message);
    const bool idle = stele_transaction_state(conn) == 'I';
    const int64_t before = s->n_states;
    if (idle && (good || s->disk->off || s->disk->full || is_broken(s))) push_state(s, dump_of(s->observer));
    const bool saved = good && strcmp(said, "checkpoint") == 0;
    if (saved) s->disk->fail_at = 0;
    /* What only reads goes on when nothing can be written, and a transaction may have done nothing at all. */
    const bool may_read = !is_broken(s) && !s->disk->full && strcmp(said, "commit") != 0;
    if (s->n_states == before && !may_read) acknowledges = false;
    if (good && idle && acknowledges && (s->sync[c] || saved)) s->acked = s->n_states - 1;
    return good;
}
/* ---- bulks one behind the other ----
 * Looking at the tables brings them up to date. So that several bulks are in the log before that, what each of them
 * leaves is seen in another database, which has a copy of their table. */
static stele_db *twin;
static stele_conn *twin_conn;
static bool each_book(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)n, (void)names;
    put(ctx, values[0]);
    return false;
}
static void begin_twin(Sim *s) {
    Text rows = {0};
    put(&rows, "create table book(id int primary key, n int, s text); insert into book values (-1, 0, '')");
    api_ok(
        s->observer,
        stele_exec(s->observer, "select format(', (%s, %s, %L)', id, n, s) from book where id >= 0", each_book, &rows),
        "book");
    put(&rows, "; delete from book where id = -1; ");
    assert_int_equal(stele_open(":memory:", &(stele_options){.threads = 1}, &twin, NULL), STELE_OK);
    assert_int_equal(stele_connect(twin, &twin_conn), STELE_OK);
    api_run(twin_conn, rows.p);
    api_run(twin_conn, mix);
    free(rows.p);
}
static void end_twin(void) {
    stele_disconnect(twin_conn);
    assert_int_equal(stele_close(twin, NULL), STELE_OK);
}
/* The last state, with the twin's table. */
static char *state_with_twin(const Sim *s) {
    Text out = {0};
    char *text = disk_text(s->states[s->n_states - 1]), *at = strstr(text, "\nbook: ") + 1, *end = strchr(at, '\n');
    char *book = dump_of(twin_conn), *line = strstr(book, "\nbook: ") + 1;
    *at = 0;
    put(&out, text);
    put(&out, line);
    put(&out, end + 1);
    free(book);
    free(text);
    return out.p;
}
static void chain(Sim *s, int c) {
    stele_conn *conn = s->conn[c];
    if (stele_transaction_state(conn) != 'I') return;
    char *now = dump_of(s->observer); /* what others have done since */
    if (!now) return;
    push_state(s, now);
    begin_twin(s);
    for (int i = 2 + N(4); i > 0; i--) {
        stele_error_info e;
        const int id = N(400);
        say("call bulk_call('mix', 'select i from generate_series(%d, %d) g(i) order by i %% %d, i')", id, id + N(80),
            1 + N(3));
        note(s, c ? "b: " : "a: ", said);
        n_statements++;
        api_ok(twin_conn, stele_exec(twin_conn, said, NULL, NULL), said);
        push_state(s, state_with_twin(s)); /* it may be found as soon as it has begun to be logged */
        const bool good = stele_exec(conn, said, NULL, NULL) == STELE_OK;
        stele_error(conn, &e);
        if (good && s->sync[c]) s->acked = s->n_states - 1;
        if (good) continue;
        n_refused++;
        note(s, "   -- ", e.sqlstate);
        if (!is_expected(s, e.sqlstate)) give_up(s, said, e.message);
        break;
    }
    end_twin();
    now = dump_of(s->observer);
    if (now && find_state(s, now, s->acked, s->n_states - 1) < 0)
        give_up(s, "bulks have left something else", first_difference(s->states[s->n_states - 1], now));
    if (now) push_state(s, now);
}
static void use_sequence(Sim *s, int c) {
    const int q = N(SEQUENCES);
    const bool idle = stele_transaction_state(s->conn[c]) == 'I';
    switch (N(idle ? 8 : 4)) {
    default:
        say("select nextval('q%d')", q);
        if (run_on(s, c, true) && last_number > s->given[c][q]) s->given[c][q] = last_number;
        if (idle) note_numbers(s, c, true);
        return;
    case 4:
        say("select setval('q%d', %lld)", q, (long long)(s->floor[q] + 1000));
        run_on(s, c, true);
        return;
    case 5: /* ahead of all that anybody was given */
        say("alter sequence q%d restart with %lld", q, (long long)(s->floor[q] + 2000));
        run_on(s, c, true);
        return;
    case 6: /* undone */
        say("begin");
        if (!run_on(s, c, false)) return;
        say("alter sequence q%d restart with 1", q);
        run_on(s, c, false);
        say("select nextval('q%d')", q);
        run_on(s, c, false);
        say("rollback");
        run_on(s, c, false);
        return;
    case 7: say("alter sequence q%d cache %d", q, 1 + N(5)); run_on(s, c, true);
    }
}
static void set_something(Sim *s, int c) {
    switch (N(4)) {
    case 0:
        say("set max_wal_size = '%dMB'", 1 + N(3) * 500);
        run_on(s, c, false);
        break;
    case 1:
        say("checkpoint");
        run_on(s, c, true);
        break;
    case 2:
        if (is_broken(s)) {
            say("checkpoint");
            run_on(s, c, true);
            break;
        }
    // fall through
    default: {
        const bool sync = N(3) != 0;
        if (N(2)) {
            say("set timezone = '%s'", N(2) ? "America/New_York" : "+05:30");
            run_on(s, c, false);
        }
        say("set synchronous_commit = %s", sync ? "on" : "off");
        if (stele_transaction_state(s->conn[c]) == 'I' && run_on(s, c, false)) s->sync[c] = sync;
    }
    }
}
static void control(Sim *s, int c) {
    const bool idle = stele_transaction_state(s->conn[c]) == 'I';
    if (idle) {
        say("begin");
        run_on(s, c, false);
        return;
    }
    const int what = N(8);
    if (what < 4) {
        say("commit");
        const bool failed = stele_transaction_state(s->conn[c]) == 'E';
        const bool good = run_on(s, c, !failed);
        note_numbers(s, c, good && !failed);
    } else if (what == 4) {
        say("rollback");
        run_on(s, c, false);
        note_numbers(s, c, false);
    } else {
        say(what < 7 ? "savepoint s%d" : "rollback to s%d", N(2));
        run_on(s, c, false);
    }
}
/* ---- a checkpoint beside all that ---- */
static void *save_beside(void *arg) {
    Sim *s = arg;
    disk_pause_ns = 1000 << (s->seed % 8);
    s->saved = stele_exec(s->saver, "checkpoint", NULL, NULL) == STELE_OK;
    saver_is_busy = false;
    return NULL;
}
static void begin_saving(Sim *s) {
    note(s, "-- ", "a checkpoint begins");
    s->saves_from = s->n_states - 1;
    saver_is_busy = true;
    s->is_saving = pthread_create(&s->saving, NULL, save_beside, s) == 0;
    assert_true(s->is_saving);
}
static void end_saving(Sim *s) {
    stele_error_info e;
    if (!s->is_saving) return;
    pthread_join(s->saving, NULL);
    s->is_saving = false;
    stele_error(s->saver, &e);
    note(s, "-- the checkpoint ends ", s->saved ? "" : e.sqlstate);
    /* The disk may have been full, or failed, for a while; or a transaction has the database to itself. */
    const bool spoilt = s->faults && (strcmp(e.sqlstate, "53100") == 0 || strcmp(e.sqlstate, "58030") == 0);
    const bool expected = spoilt || strcmp(e.sqlstate, "55P03") == 0 || (s->disk->off && is_expected(s, e.sqlstate));
    if (!s->saved && !expected) give_up(s, "a checkpoint beside others", e.message);
    n_beside += s->saved;
    n_beside_failed += !s->saved;
    if (s->saved) s->acked = MAX_OF(s->acked, s->saves_from);
}
/* Most of the time a table that is there. */
static int existing(const Sim *s) {
    char line[20];
    int t = N(5);
    for (int i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "\nt%d: ", t);
        if (strstr(s->states[s->n_states - 1], line)) break;
        t = N(5);
    }
    return t;
}
static void spoil(Sim *s) {
    pthread_mutex_lock(&s->disk->lock);
    if (N(80) == 0 && s->disk->fail_at == 0) s->disk->fail_at = s->disk->ops + 1 + N(8);
    s->disk->full = s->disk->full ? N(6) != 0 : N(80) == 0;
    pthread_mutex_unlock(&s->disk->lock);
}
static void step(Sim *s) {
    if (s->faults) spoil(s);
    if (!s->is_saving && N(12) == 0) begin_saving(s);
    else if (s->is_saving && N(4) == 0) end_saving(s);
    const int c = N(4) == 0;
    const int what = N(100), t = existing(s);
    if (stele_transaction_state(s->conn[c]) == 'E' && N(5)) {
        say(N(3) ? "rollback" : "rollback to s%d", N(2));
        run_on(s, c, false);
        note_numbers(s, c, false);
        return;
    }
    if (what < 50) say_change(s, t);
    else if (what < 66) say_definition(s, t);
    else if (what < 74) return use_sequence(s, c);
    else if (what < 80) return set_something(s, c);
    else if (what < 84) return chain(s, c);
    else if (what < 96) return control(s, c);
    else say("select count(*), sum(g) from t%d", t);
    run_on(s, c, true);
}

/* ---- what is found ---- */
static void verify_tables(Sim *s, stele_db *db) {
    Err e = {0};
    for (int64_t i = 0; i < db->db->catalog.n_tables; i++)
        if (table_verify(db->db->catalog.tables[i], &e) != ST_OK)
            give_up(s, db->db->catalog.tables[i]->name, e.message);
}
static void check_sequences(Sim *s, const Cut *c, stele_conn *conn) {
    for (int i = 0; i < SEQUENCES; i++) {
        char sql[64], got[100];
        if (c->floor[i] == 0) continue;
        snprintf(sql, sizeof sql, "select nextval('q%d')", i);
        last_number = -1;
        api_ok(conn, stele_exec(conn, sql, keep_number, NULL), sql);
        snprintf(got, sizeof got, "q%d gives %lld, and had given %lld", i, (long long)last_number,
                 (long long)c->floor[i]);
        if (last_number <= c->floor[i]) give_up_cut(s, c, "a number is given again", got);
    }
}
/* Opens the disk; the state that is there. */
static stele_db *open_cut(Sim *s, const Cut *c, bool durable, int64_t *state) {
    stele_db *db;
    stele_error_info e;
    if (try_open(c->disk, durable, &db, &e) != STELE_OK) {
        char text[600];
        snprintf(text, sizeof text, "%s %s", e.sqlstate, e.message);
        give_up_cut(s, c, "the database cannot be opened", text);
    }
    verify_tables(s, db);
    stele_conn *conn = connect_observer(db);
    char *text = dump_of(conn);
    *state = find_state(s, text, c->from, c->to);
    if (*state < 0) {
        const char *want = s->states[MIN_OF(c->to, s->n_states - 1)];
        const int64_t other = find_state(s, text, 0, s->n_states - 1);
        char detail[1700];
        snprintf(detail, sizeof detail, "as the last: %s; it is state %lld", first_difference(want, text),
                 (long long)other);
        give_up_cut(s, c, other < 0 ? "a state that there was not" : "a state of another time", detail);
    }
    free(text);
    check_sequences(s, c, conn);
    stele_disconnect(conn);
    return db;
}
/* Power is cut again while the disk that was left is opened: the same is found. */
static void check_again(Sim *s, const Cut *c) {
    stele_db *db;
    stele_error_info e;
    int64_t state;
    Cut again = *c;
    c->disk->cut_at = 1 + (int64_t)(disk_rnd(c->disk) % 24);
    if (try_open(c->disk, true, &db, &e) == STELE_OK) stele_discard(db);
    else if (strcmp(e.sqlstate, "58030") != 0) give_up_cut(s, c, "power cut while it was opened", e.message);
    again.disk = disk_after_cut(c->disk);
    stele_discard(open_cut(s, &again, true, &state));
    disk_free(again.disk);
}
static void check_cut(Sim *s, const Cut *c) {
    int64_t state;
    n_points++;
    if (N(4) == 0) return check_again(s, c);
    stele_db *db = open_cut(s, c, N(2), &state);
    if (N(8)) stele_discard(db);
    else assert_int_equal(stele_close(db, NULL), STELE_OK);
}

static void connect_all(Sim *s) {
    for (int i = 0; i < CONNS; i++) {
        s->conn[i] = connect_to(s->db);
        s->sync[i] = true;
        for (int q = 0; q < SEQUENCES; q++) s->given[i][q] = 0;
    }
    s->observer = connect_observer(s->db);
    s->saver = connect_to(s->db);
    api_run(s->saver, "set lock_timeout = '300ms'");
}
static void disconnect_all(Sim *s) {
    stele_disconnect(s->saver);
    for (int i = 0; i < CONNS; i++) stele_disconnect(s->conn[i]);
    stele_disconnect(s->observer);
}
static const char *const first_statements[] = {
    "create sequence q0",
    "create sequence q1 start 10 increment 1",
    "create table t0(id int, g int, s text, n numeric(12,2), x numeric, v text, primary key (id))",
    "create table t1(id int, g int, s text, n numeric(12,2), x numeric, v date)",
    "create table t2(id int, g int, s text, n numeric(12,2), x numeric, v int[], unique (g, s))",
    "create table w0(id int generated by default as identity, ref int, a text)",
    "create table book(id int primary key, n int, s text)",
    "insert into book select i, 0, 'b' || i from generate_series(0, 100) g(i)",
    mix,
    "create table stamps(a int, who text, at timestamptz, f float8, zone text, more int[])",
    "create procedure stamp(a int, who text, f float8, more int[]) language plpgsql as $$ begin insert into stamps "
    "values "
    "(a, who || current_user, now(), f * a, to_char(now(), 'OF'), more || a); "
    "delete from stamps where stamps.a = stamp.a - 3; end $$"};
static void forget_states(Sim *s) {
    for (int64_t i = 0; i < s->n_states; i++) free(s->states[i]);
    s->n_states = 0;
    s->acked = 0;
}
/* From opening the disk to a power cut. */
static void live(Sim *s, int64_t n) {
    stele_error_info e;
    s->disk->hook = take_cut;
    s->disk->deaf = deaf_kind >= 0 ? is_deaf : NULL;
    s->disk->ctx = s;
    s->next_cut = 1;
    if (N(3) == 0) s->disk->cut_at = 1 + N(300);
    const bool opened = try_open(s->disk, true, &s->db, &e) == STELE_OK;
    if (!opened && (!s->disk->off || strcmp(e.sqlstate, "58030") != 0)) give_up(s, "opening", e.message);
    if (!opened) return;
    connect_all(s);
    char *text = dump_of(s->observer);
    if (s->n_states > 0 && strcmp(s->states[0], text) != 0)
        give_up(s, "it is another when it is opened again", first_difference(s->states[0], text));
    push_state(s, text);
    if (!strstr(s->states[0], "book"))
        for (size_t i = 0; i < sizeof first_statements / sizeof *first_statements; i++) {
            say("%s", first_statements[i]);
            run_on(s, 0, true);
        }
    for (int64_t i = 0; i < n && !(s->disk->off && N(4) == 0); i++) step(s);
    end_saving(s);
    disconnect_all(s);
    stele_discard(s->db);
}
/* Goes on with one of the disks that were left. */
static void choose(Sim *s) {
    Cut c = s->cuts[rnd_below(s->n_cuts)];
    Disk *copy = disk_after_cut(c.disk);
    int64_t state;
    c.disk = disk_after_cut(copy);
    stele_discard(open_cut(s, &c, true, &state));
    disk_free(c.disk);
    char *text = disk_text(s->states[state]);
    forget_states(s);
    s->states[s->n_states++] = text;
    for (int i = 0; i < SEQUENCES; i++) s->floor[i] = c.floor[i];
    disk_free(s->disk);
    s->disk = copy;
    note(s, "-- ", "power cut");
}
static void simulate(uint64_t seed, int64_t phases) {
    Sim s = {.seed = seed, .every = 5};
    rng = seed * 0x9E3779B97F4A7C15u | 1;
    for (int i = 0; i < 8; i++) (void)rnd();
    s.big = N(20) == 0;
    s.faults = N(2) == 0;
    s.disk = disk_new(seed);
    for (int64_t i = 0; i < phases; i++) {
        if (s.n_states == 0) {
            s.cap_states = 64;
            s.states = disk_memory(s.states, (size_t)s.cap_states * sizeof *s.states);
            s.states[s.n_states++] = disk_text("");
        }
        live(&s, 10 + N(40));
        s.disk->hook = NULL;
        s.disk->deaf = NULL;
        if (s.disk->off) n_cut_short++;
        for (int64_t k = 0; k < s.n_cuts; k++) {
            Cut c = s.cuts[k];
            c.disk = disk_after_cut(c.disk);
            check_cut(&s, &c);
            disk_free(c.disk);
        }
        if (s.n_cuts > 0) choose(&s);
        for (int64_t k = 0; k < s.n_cuts; k++) disk_free(s.cuts[k].disk);
        s.n_cuts = 0;
    }
    disk_free(s.disk);
    forget_states(&s);
    free(s.states);
    free(s.cuts);
    free(s.said.p);
}
/* ---- syncs that are left out ---- */
/* Something that has this in its path, and was made, renamed or linked in the directory, is not durable yet. */
static bool is_pending(const Disk *d, const char *dir, const char *name) {
    for (int64_t i = 0; i < d->n_changes; i++) {
        const char *to = d->changes[i].to;
        if (to && disk_is_in(to, dir) && strncmp(to + strlen(dir) + 1, name, strlen(name)) == 0) return true;
    }
    return false;
}
static bool is_table(const char *path) { return strlen(path) > 4 && strcmp(path + strlen(path) - 4, ".tab") == 0; }
static bool ends_in(const char *path, const char *end) {
    return strlen(path) > strlen(end) && strcmp(path + strlen(path) - strlen(end), end) == 0;
}
static bool is_generation(const char *path) { return strncmp(path, "/db/g", 5) == 0 && !strchr(path + 5, '/'); }
static bool has_logged_name(const Disk *d, const char *dir) {
    for (int64_t i = 0; i < d->n_changes; i++) {
        const char *to = d->changes[i].to;
        if (to && disk_is_in(to, dir) && strchr(to, '-')) return true;
    }
    return false;
}
typedef enum DeafKind {
    DEAF_TABLE,
    DEAF_LOGGED_TABLE,
    DEAF_CATALOG,
    DEAF_NEW_LOG,
    DEAF_LOG,
    DEAF_CURRENT,
    DEAF_CURRENT_NAME,
    DEAF_GENERATION_NAME,
    DEAF_LOG_NAME,
    DEAF_SAVED_NAMES,
    DEAF_LOGGED_NAMES,
    DEAF_KINDS
} DeafKind;
static const char *const deaf_names[DEAF_KINDS] = {"a table of a checkpoint",
                                                   "a table in the log",
                                                   "the catalog",
                                                   "a new log",
                                                   "records",
                                                   "CURRENT",
                                                   "CURRENT's name",
                                                   "a generation's name",
                                                   "a log's name",
                                                   "names of a checkpoint",
                                                   "names of files in the log"};
static bool is_deaf(void *ctx, Disk *d, const char *path) {
    (void)ctx;
    switch (deaf_kind) {
    case DEAF_TABLE: return is_table(path) && !strchr(path, '-');
    case DEAF_LOGGED_TABLE: return is_table(path) && strchr(path, '-');
    case DEAF_CATALOG: return ends_in(path, "/catalog");
    case DEAF_NEW_LOG: return ends_in(path, "/log.tmp");
    case DEAF_LOG: return ends_in(path, "/log");
    case DEAF_CURRENT: return ends_in(path, "/CURRENT.tmp");
    case DEAF_CURRENT_NAME: return strcmp(path, "/db") == 0 && is_pending(d, path, "CURRENT");
    case DEAF_GENERATION_NAME:
        return strcmp(path, "/db") == 0 && !is_pending(d, path, "CURRENT") && is_pending(d, path, "g");
    case DEAF_LOG_NAME: return is_generation(path) && is_pending(d, path, "log");
    case DEAF_SAVED_NAMES: return is_generation(path) && !is_pending(d, path, "log") && is_pending(d, path, "catalog");
    case DEAF_LOGGED_NAMES: return is_generation(path) && has_logged_name(d, path) && !is_pending(d, path, "catalog");
    default: return false;
    }
}
/* In another process, which ends when something is wrong. */
static bool is_found_out(int kind, uint64_t seed) {
    const pid_t child = fork();
    int how = 0;
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(1);
        deaf_kind = kind;
        simulate(seed, 3);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return !WIFEXITED(how) || WEXITSTATUS(how) != 0;
}
static void left_out_syncs(void **state) {
    enum { SEEDS = 40 };
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++) assert_false(is_found_out(DEAF_KINDS, seed)); /* none is left out */
    for (int kind = 0; kind < DEAF_KINDS; kind++) {
        uint64_t seed = 1;
        while (seed <= SEEDS && !is_found_out(kind, seed)) seed++;
        if (seed > SEEDS) fail_msg("nobody misses the sync of %s", deaf_names[kind]);
        print_message("without the sync of %s: found out by seed %llu\n", deaf_names[kind], (unsigned long long)seed);
    }
}

static uint64_t first_seed = 1;
static int64_t n_seeds = 50;
static void simulated(void **state) {
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)n_seeds; seed++) simulate(seed, 4);
    print_message(
        "%lld power cuts, %lld statements, %lld of them refused; power went off %lld times; beside others %lld "
        "checkpoints, and %lld that failed\n",
        (long long)n_points, (long long)n_statements, (long long)n_refused, (long long)n_cut_short, (long long)n_beside,
        (long long)n_beside_failed);
}

/* ---- a failed sync, a full disk ---- */
static stele_db *db;
static stele_conn *conn;
static void open_on(Disk *d) {
    stele_error_info e;
    if (try_open(d, true, &db, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
    conn = connect_to(db);
}
static void leave(void) {
    stele_disconnect(conn);
    assert_int_equal(stele_discard(db), STELE_OK);
}
/* What a power cut leaves. */
static Disk *cut_off(Disk *d) {
    Disk *left = disk_after_cut(d);
    disk_free(d);
    return left;
}
static Disk *with_a_row(void) {
    Disk *d = disk_new(17);
    open_on(d);
    api_run(conn, "create table t(a int primary key, b text); create sequence q");
    api_run(conn, "insert into t values (1, 'one')");
    return d;
}
static void refused(const char *sql) {
    const stele_error_info e = api_fails(conn, sql, "58030");
    if (!strstr(e.hint, "CHECKPOINT")) fail_msg("%s: %s (%s)", sql, e.message, e.hint);
}
static void failed_sync(void **state) {
    (void)state;
    for (int which = 1; which <= 2; which++) { /* the write, the sync */
        Disk *d = with_a_row();
        d->fail_at = d->ops + which;
        refused("insert into t values (2, 'two')");
        d->fail_at = 0;
        refused("insert into t values (3, 'three')");
        refused("update t set b = b || '!'");
        refused("create table u(a int)");
        api_run(conn, "begin; insert into t values (4, 'four')");
        refused("commit");
        api_gives(conn, "select count(*) from t where a in (1, 3, 4) and b not like '%!'", "1");
        api_gives(conn, "select to_regclass('u')", "NULL");
        stele_conn *other = connect_to(db);
        api_gives(other, "select b from t where a = 1", "one");
        stele_disconnect(other);
        Disk *found = disk_after_cut(d);
        stele_db *mine = db;
        stele_conn *mine_too = conn;
        open_on(found);
        api_gives(conn, "select count(*) from t where a in (1, 3, 4)", "1");
        leave();
        disk_free(found);
        db = mine;
        conn = mine_too;
        api_run(conn, "checkpoint; insert into t values (5, 'five')");
        leave();
        d = cut_off(d);
        open_on(d);
        api_gives(conn, "select a, b from t where a <> 2 order by a", "1,one;5,five");
        leave();
        disk_free(d);
    }
}
static void full_disk(void **state) {
    (void)state;
    Disk *d = with_a_row();
    d->full = true;
    api_fails(conn, "insert into t values (2, 'two')", "53100");
    api_fails(conn, "insert into t values (3, 'three')", "53100");
    api_fails(conn, "create table u(a int)", "53100");
    api_fails(conn, "checkpoint", "53100");
    api_fails(conn, "select nextval('q')", "53100");
    api_gives(conn, "select count(*) from t where a in (1, 3)", "1");
    api_run(conn, "begin; select count(*) from t; commit");
    d->full = false;
    api_run(conn, "insert into t values (4, 'four'); create table u(a int)");
    api_gives(conn, "select nextval('q')", "1");
    leave();
    d = cut_off(d);
    open_on(d);
    api_gives(conn, "select a, b from t order by a", "1,one;2,two;4,four"); /* the second was kept, and written then */
    api_gives(conn, "select count(*) from u", "0");
    api_gives(conn, "select nextval('q') > 1", "t");
    leave();
    disk_free(d);
}

/* The log is applied in memory; nothing is written. */
static void read_only(void **state) {
    (void)state;
    Disk *d = with_a_row();
    api_run(conn, "create table u(a int); update t set b = 'changed'; truncate u");
    leave();
    d = cut_off(d);
    const stele_options o = {.threads = 1, .read_only = true, .durable = true};
    stele_error_info e;
    for (int i = 0; i < 2; i++) {
        if (api_open(db_path, &o, &d->vfs, &db, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
        conn = connect_to(db);
        api_gives(conn, "select a, b from t", "1,changed");
        api_gives(conn, "select count(*) from u", "0");
        api_fails(conn, "insert into u values (1)", "25006");
        leave();
        assert_int_equal(d->ops, 0);
    }
    open_on(d);
    api_gives(conn, "select a, b from t", "1,changed");
    leave();
    disk_free(d);
}

/* ---- checkpoints that fail, and chains of logs ---- */
static int64_t generation_now(void) { return db->db->generation; }
static bool is_there(Disk *d, const char *path) {
    pthread_mutex_lock(&d->lock);
    const bool there = disk_find(&d->names, path) != NULL;
    pthread_mutex_unlock(&d->lock);
    return there;
}
/* Generation 1 with its log, and those of two checkpoints that have failed behind it; what each log has. */
static Disk *with_a_chain(uint64_t seed) {
    Disk *d = disk_new(seed);
    open_on(d);
    api_run(conn, "create table t(a int primary key, b text); create sequence q; insert into t values (1, 'one')");
    d->broken = "/catalog";
    (void)api_fails(conn, "checkpoint", "58030");
    api_run(conn, "insert into t values (2, 'two'); update t set b = 'uno' where a = 1; select nextval('q')");
    (void)api_fails(conn, "checkpoint", "58030");
    d->broken = NULL;
    api_run(conn, "insert into t values (3, 'three'); update t set b = b || '!' where a = 2; create table u(a int)");
    api_run(conn, "insert into u values (4); insert into t values (5, 'five')");
    assert_int_equal(generation_now(), 1);
    assert_true(is_there(d, "/db/g1/log") && is_there(d, "/db/g2/log") && is_there(d, "/db/g3/log"));
    assert_false(is_there(d, "/db/g2/catalog") || is_there(d, "/db/g3/1.tab"));
    return d;
}
static const char chain_rows[] = "1,uno;2,two!;3,three;5,five";
static void check_chain(void) {
    api_gives(conn, "select a, b from t order by a", chain_rows);
    api_gives(conn, "select a from u", "4");
    api_gives(conn, "select nextval('q') > 1", "t");
}
/* It is opened, recovered, and saved as one generation; or another checkpoint succeeds. */
static void chain_of_logs(void **state) {
    (void)state;
    for (int i = 0; i < 20; i++) {
        Disk *d = with_a_chain(100 + (uint64_t)i);
        if (i % 2) {
            api_run(conn, "checkpoint");
            assert_int_equal(generation_now(), 4);
            assert_false(is_there(d, "/db/g1") || is_there(d, "/db/g2") || is_there(d, "/db/g3"));
        }
        leave();
        d = cut_off(d);
        const stele_options o = {.threads = 1, .read_only = true};
        stele_error_info e;
        if (api_open(db_path, &o, &d->vfs, &db, &e) != STELE_OK) fail_msg("%s %s", e.sqlstate, e.message);
        conn = connect_to(db);
        api_gives(conn, "select a, b from t order by a", chain_rows);
        leave();
        open_on(d);
        assert_int_equal(generation_now(), 4);
        check_chain();
        assert_false(is_there(d, "/db/g1") || is_there(d, "/db/g2") || is_there(d, "/db/g3"));
        leave();
        disk_free(d);
    }
}
static void is_refused(Disk *d, const char *file, const char *what) {
    stele_error_info e;
    if (try_open(d, true, &db, &e) == STELE_OK) fail_msg("%s %s: it was opened", file, what);
    if (strcmp(e.sqlstate, "XX001") != 0) fail_msg("%s %s: %s %s", file, what, e.sqlstate, e.message);
    disk_free(d);
}
static const char *const chain_logs[] = {"/db/g1/log", "/db/g2/log", "/db/g3/log"};
/* Logs of the chain that are removed, cut off, exchanged, or another database's. */
static void damaged_chain(void **state) {
    (void)state;
    Disk *d = with_a_chain(31);
    leave();
    d = cut_off(d);
    Disk *stranger = with_a_chain(32);
    leave();
    stranger = cut_off(stranger);
    for (int i = 0; i < 3; i++) {
        const DiskBytes *b = disk_find(&d->names, chain_logs[i])->file->durable;
        Disk *copy = disk_after_cut(d);
        stele_error_info e;
        disk_put(copy, chain_logs[i], NULL, 0);
        assert_int_equal(try_open(copy, true, &db, &e), STELE_ERROR);
        assert_string_equal(e.sqlstate, "XX001");
        if (!strstr(e.message, chain_logs[i])) fail_msg("%s is missing: %s", chain_logs[i], e.message);
        disk_free(copy);
        const int64_t padding = 8; /* of the last record: nothing is lost without it */
        for (int64_t at = 0; at < b->len - padding; at++) {
            copy = disk_after_cut(d);
            disk_put(copy, chain_logs[i], b->p, at);
            if (i < 2 || at < 64) {
                is_refused(copy, chain_logs[i], "cut off");
                continue;
            }
            open_on(copy); /* the last one is shorter */
            api_gives(conn, "select count(*) >= 2 from t", "t");
            leave();
            disk_free(copy);
        }
        for (int k = 0; k < 3; k++) {
            const DiskBytes *other = disk_find(&d->names, chain_logs[k])->file->durable;
            const DiskBytes *strange = disk_find(&stranger->names, chain_logs[k])->file->durable;
            if (k != i) {
                copy = disk_after_cut(d);
                disk_put(copy, chain_logs[i], other->p, other->len);
                is_refused(copy, chain_logs[i], "exchanged");
            }
            copy = disk_after_cut(d);
            disk_put(copy, chain_logs[i], strange->p, strange->len);
            is_refused(copy, chain_logs[i], "of another database");
        }
    }
    open_on(d);
    check_chain();
    leave();
    disk_free(d);
    disk_free(stranger);
}
/* What a power cut leaves of it. */
static void check_rows_after_cut(Disk *d, int64_t rows) {
    stele_db *mine = db;
    stele_conn *mine_too = conn;
    char want[40];
    snprintf(want, sizeof want, "%lld", (long long)rows);
    pthread_mutex_lock(&d->lock);
    Disk *left = disk_after_cut(d);
    pthread_mutex_unlock(&d->lock);
    open_on(left);
    api_gives(conn, "select count(*) from t", want);
    api_gives(conn, "select count(*) from other", "1000");
    leave();
    disk_free(left);
    db = mine;
    conn = mine_too;
}
/* Each operation of a checkpoint fails once: nothing is lost then, nor behind the next one. */
static bool fail_once(int64_t k, bool links) {
    Disk *d = disk_new(40 + (uint64_t)k);
    int64_t rows = 0;
    open_on(d);
    d->no_links = !links;
    api_run(conn, "create table t(a int primary key, b text); create table other(a int); "
                  "insert into other select i from generate_series(1, 1000) g(i); insert into t values (0, 'first')");
    api_run(conn, "checkpoint; insert into t values (1, 'second')");
    rows = 2;
    d->fail_at = d->ops + k;
    const bool good = stele_exec(conn, "checkpoint", NULL, NULL) == STELE_OK;
    const bool reached = d->ops >= d->fail_at;
    if (!good) api_state(conn, "58030");
    check_rows_after_cut(d, rows);
    d->fail_at = 0;
    if (stele_exec(conn, "insert into t values (2, 'third')", NULL, NULL) == STELE_OK) {
        check_rows_after_cut(d, ++rows); /* the log has not failed */
    } else {
        api_state(conn, "58030");
        api_run(conn, "checkpoint; insert into t values (2, 'third')");
        check_rows_after_cut(d, ++rows);
    }
    api_run(conn, "checkpoint");
    check_rows_after_cut(d, rows);
    api_run(conn, "insert into t values (3, 'fourth')");
    check_rows_after_cut(d, rows + 1);
    leave();
    disk_free(d);
    return reached;
}
static void failed_checkpoints(void **state) {
    (void)state;
    int64_t k = 1;
    while (fail_once(k, k % 3 > 0)) k++;
    print_message("%lld operations of a checkpoint have failed\n", (long long)k - 1);
    assert_true(k > 20);
}
static const DiskFile *file_at(Disk *d, int64_t generation, int64_t id) {
    char path[64];
    snprintf(path, sizeof path, "/db/g%lld/%lld.tab", (long long)generation, (long long)id);
    const DiskName *x = disk_find(&d->names, path);
    if (!x) fail_msg("%s is not there", path);
    return x->file;
}
/* A table that is in a file is not written again. */
static void tables_taken_over(void **state) {
    (void)state;
    for (int links = 0; links < 2; links++) {
        Disk *d = disk_new(51);
        open_on(d);
        d->no_links = !links;
        api_run(conn, "create table a(i int); create table b(i int primary key); insert into a select "
                      "generate_series(1, 500); insert into b select generate_series(1, 500); checkpoint");
        const int64_t g = generation_now(), a = db->db->catalog.tables[0]->id, b = db->db->catalog.tables[1]->id;
        api_run(conn, "update b set i = i + 1000 where i = 7; checkpoint");
        assert_int_equal(generation_now(), g + 1);
        const DiskFile *of_a = file_at(d, g + 1, a), *of_b = file_at(d, g + 1, b);
        api_run(conn, "truncate b; insert into b values (1); checkpoint");
        assert_true((file_at(d, g + 2, a) == of_a) == (links == 1));
        assert_true(file_at(d, g + 2, b) != of_b);
        leave();
        open_on(d); /* nothing has happened: files are known */
        assert_int_equal(generation_now(), g + 2);
        of_a = file_at(d, g + 2, a);
        api_run(conn, "insert into b values (2); checkpoint; insert into b values (3); checkpoint");
        assert_true((file_at(d, g + 4, a) == of_a) == (links == 1));
        api_run(conn, "delete from a where i % 2 = 0; vacuum a; insert into b values (4); checkpoint");
        assert_true(file_at(d, g + 5, a) != of_a);
        api_run(conn, "insert into a values (1000); insert into b values (5)");
        leave();
        d = cut_off(d);
        open_on(d);
        api_gives(conn, "select count(*), max(i) from a", "251,1000");
        api_gives(conn, "select string_agg(i::text, ' ' order by i) from b", "1 2 3 4 5");
        leave();
        disk_free(d);
    }
}
/* Who has the lock saves the database while a checkpoint waits for the lock: that begins again, and finds nothing. */
static void *checkpoint_beside(void *arg) {
    stele_conn *c = connect_to(db);
    api_run(c, "set lock_timeout = 0");
    *(bool *)arg = stele_exec(c, "checkpoint", NULL, NULL) == STELE_OK;
    stele_disconnect(c);
    return NULL;
}
static void saved_under_the_lock(void **state) {
    (void)state;
    Disk *d = with_a_row();
    pthread_t thread;
    bool saved = false;
    Err e = {0};
    const int64_t g = generation_now();
    assert_int_equal(txn_lock_acquire(db->db->txn_lock, LOCK_NONE, LOCK_EXCLUSIVE, 0, NULL, &e), ST_OK);
    assert_int_equal(pthread_create(&thread, NULL, checkpoint_beside, &saved), 0);
    while (txn_lock_waiters(db->db->txn_lock) == 0) (void)usleep(1000);
    assert_int_equal(database_save(db->db, &e), ST_OK);
    assert_int_equal(generation_now(), g + 1);
    txn_lock_release(db->db->txn_lock, LOCK_EXCLUSIVE);
    pthread_join(thread, NULL);
    assert_true(saved);
    assert_int_equal(generation_now(), g + 1);
    api_run(conn, "insert into t values (2, 'two')");
    leave();
    d = cut_off(d);
    open_on(d);
    api_gives(conn, "select a, b from t order by a", "1,one;2,two");
    leave();
    disk_free(d);
}
static void check_rows_in_big(Disk *d) {
    stele_db *mine = db;
    stele_conn *mine_too = conn;
    pthread_mutex_lock(&d->lock);
    Disk *left = disk_after_cut(d);
    pthread_mutex_unlock(&d->lock);
    open_on(left);
    api_gives(conn, "select string_agg(b, ' ' order by a) from t", "one beside behind");
    api_gives(conn, "select count(*), sum(sign(i)) from big", "150000,149982");
    leave();
    disk_free(left);
    db = mine;
    conn = mine_too;
}
/* A statement that is cancelled while its checkpoint writes: the log goes on, and the next one is made. */
static void *slow_checkpoint(void *arg) {
    disk_pause_ns = 10000000;
    (void)stele_exec(arg, "checkpoint", NULL, NULL);
    return NULL;
}
static void cancelled(void **state) {
    (void)state;
    Disk *d = with_a_row();
    pthread_t thread;
    api_run(conn, "set lock_timeout = 0; create table big(i int, s text); insert into big select i, md5(i::text) from "
                  "generate_series(1, "
                  "150000) g(i); update big set i = -i where i < 10");
    stele_conn *other = connect_to(db);
    const int64_t g = generation_now();
    assert_int_equal(pthread_create(&thread, NULL, slow_checkpoint, other), 0);
    char path[64];
    snprintf(path, sizeof path, "/db/g%lld/%lld.tab", (long long)(g + 1), (long long)db->db->catalog.tables[1]->id);
    while (!is_there(d, path)) (void)usleep(1000);
    api_run(conn, "insert into t values (2, 'beside')"); /* it has no lock */
    stele_interrupt(other);
    pthread_join(thread, NULL);
    api_state(other, "57014");
    assert_int_equal(generation_now(), g);
    stele_disconnect(other);
    api_run(conn, "insert into t values (3, 'behind')");
    check_rows_in_big(d);
    api_run(conn, "checkpoint");
    assert_int_equal(generation_now(), g + 2);
    check_rows_in_big(d);
    leave();
    disk_free(d);
}
static void wait_for_generation(int64_t least) {
    const int64_t until = clock_ns() + INT64_C(60000000000);
    while (generation_now() < least && clock_ns() < until) (void)usleep(1000);
    if (generation_now() < least) fail_msg("no checkpoint was made by itself");
}
/* By the size of the log; by the time that recovery would take: test_recovery_time.c. */
static void made_by_themselves(void **state) {
    (void)state;
    Disk *d = disk_new(61);
    open_on(d);
    api_run(conn, "set lock_timeout = 0; set max_wal_size = '1MB'; create table t(a int, b text)");
    const int64_t g = generation_now();
    for (int k = 0; k < 20; k++)
        api_run(conn, "insert into t select i, repeat('text', 20) || i from generate_series(1, 700) g(i)");
    wait_for_generation(g + 1);
    api_run(conn, "insert into t values (0, 'last')");
    leave();
    d = cut_off(d);
    open_on(d);
    api_gives(conn, "select count(*) from t", "14001");
    leave();
    disk_free(d);
}
/* A new one with each recovery, and no other. */
static void timelines(void **state) {
    (void)state;
    Disk *d = with_a_row();
    const Current *c = checkpoint_current(db->db);
    const int64_t id = c->database, lsn = redo_end_lsn(db->db);
    assert_int_equal(c->timeline, 1);
    stele_disconnect(conn);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    for (int i = 0; i < 3; i++) {
        open_on(d);
        c = checkpoint_current(db->db);
        assert_true(c->database == id && redo_end_lsn(db->db) >= lsn);
        assert_int_equal(c->timeline, 1 + i);
        api_run(conn, "update t set b = b || '+'");
        leave();
        d = cut_off(d);
    }
    disk_free(d);
}

/* ---- damaged files ---- */
enum { DAMAGED_STATES = 12 };
typedef struct Damage {
    Disk *disk;
    char *states[DAMAGED_STATES];
    int64_t ends[DAMAGED_STATES]; /* of the log, in bytes */
    int n;
    int64_t refused, opened;
} Damage;
static void damage_begin(Damage *x) {
    static const char *const work[] = {"create table a(id int primary key, s text)",
                                       "create table b(id int, n numeric(10,2), s text)",
                                       "insert into a select i, 'text ' || i from generate_series(1, 50) g(i)",
                                       "insert into b select i, i, null from "
                                       "generate_series(1, 20) g(i)",
                                       "update a set s = s || '!' where id % 3 = 0",
                                       "truncate b",
                                       "insert into b values "
                                       "(1, 2.5, 'x')",
                                       "create unique index on b((id + 1))",
                                       "delete from a where id < 9",
                                       "insert into b values (2, 2, 'y')"};
    *x = (Damage){.disk = disk_new(5)};
    open_on(x->disk);
    stele_conn *observer = connect_observer(db);
    api_run(conn, "create table old(a int, b text); insert into old values (1, 'kept'); checkpoint");
    for (size_t i = 0; i < sizeof work / sizeof *work; i++) {
        x->ends[x->n] = disk_find(&x->disk->names, "/db/g2/log")->file->len;
        x->states[x->n++] = dump_of(observer);
        api_run(conn, work[i]);
    }
    x->ends[x->n] = disk_find(&x->disk->names, "/db/g2/log")->file->len;
    x->states[x->n++] = dump_of(observer);
    stele_disconnect(observer);
    leave();
}
/* It is refused, with the name of a file; or one of the states first .. last is found. */
static void look_at_damage(Damage *x, Disk *d, const char *what, const char *path, int64_t at, int first, int last) {
    stele_error_info e;
    stele_db *opened;
    if (try_open(d, at % 2, &opened, &e) != STELE_OK) {
        if (strcmp(e.sqlstate, "XX001") != 0 || !strstr(e.message, "/db/"))
            fail_msg("%s %s at %lld: %s %s", path, what, (long long)at, e.sqlstate, e.message);
        x->refused++;
        disk_free(d);
        return;
    }
    stele_conn *c = connect_observer(opened);
    char *text = dump_of(c);
    int k = x->n - 1;
    while (k >= 0 && strcmp(x->states[k], text) != 0) k--;
    if (k < first || k > last)
        fail_msg("%s %s at %lld: state %d, not %d to %d: %s", path, what, (long long)at, k, first, last,
                 first_difference(x->states[last], text));
    x->opened++;
    free(text);
    stele_disconnect(c);
    assert_int_equal(stele_discard(opened), STELE_OK);
    disk_free(d);
}
static void damage_file(Damage *x, const char *path, const DiskBytes *b) {
    const bool is_log = disk_find(&x->disk->names, path) && strcmp(path + strlen(path) - 4, "/log") == 0;
    const int64_t around = b->len > 6000 ? b->len / 900 : 3;
    char *bytes = disk_memory(NULL, (size_t)b->len + 1);
    memcpy(bytes, b->p, (size_t)b->len);
    for (int64_t at = 0; at < b->len; at += at < 128 ? 1 : 1 + N(2 * around)) {
        Disk *d = disk_after_cut(x->disk);
        bytes[at] = (char)(bytes[at] ^ 1 << N(8));
        disk_put(d, path, bytes, b->len);
        bytes[at] = b->p[at];
        look_at_damage(x, d, "changed", path, at, is_log && at >= x->ends[x->n - 2] ? x->n - 2 : x->n - 1, x->n - 1);
        int first = x->n - 1, last = x->n - 1;
        while (is_log && first > 0 && x->ends[first] > at) first--;
        while (is_log && last > 0 && x->ends[last] - 8 >= at) last--; /* the end of a record may be padding */
        d = disk_after_cut(x->disk);
        disk_put(d, path, bytes, at);
        look_at_damage(x, d, "cut", path, at, first, last);
    }
    free(bytes);
}
static void damaged_files(void **state) {
    (void)state;
    Damage x;
    damage_begin(&x);
    const DiskNames *names = &x.disk->durable;
    x.disk = cut_off(x.disk);
    names = &x.disk->durable;
    for (int64_t i = 0; i < names->n; i++) {
        const char *path = names->items[i].path;
        DiskBytes *b = names->items[i].file->durable;
        if (!b || strcmp(path, "/db/LOCK") == 0) continue;
        damage_file(&x, path, b);
        Disk *d = disk_after_cut(x.disk);
        disk_put(d, path, NULL, 0);
        look_at_damage(&x, d, "removed", path, 0, x.n - 1, x.n - 1);
    }
    print_message("%lld damaged files were refused, %lld had no effect or were a shorter log\n", (long long)x.refused,
                  (long long)x.opened);
    for (int i = 0; i < x.n; i++) free(x.states[i]);
    disk_free(x.disk);
}
/* Each in the place of each other. */
static void swapped_files(void **state) {
    (void)state;
    Damage x;
    damage_begin(&x);
    x.disk = cut_off(x.disk);
    const DiskNames *names = &x.disk->durable;
    for (int64_t i = 0; i < names->n * names->n; i++) {
        const DiskName *to = &names->items[i / names->n], *from = &names->items[i % names->n];
        const DiskBytes *b = from->file->durable;
        if (to == from || !b || !to->file->durable || strcmp(to->path, "/db/LOCK") == 0) continue;
        Disk *d = disk_after_cut(x.disk);
        disk_put(d, to->path, b->p, b->len);
        look_at_damage(&x, d, from->path, to->path, i, x.n - 1, x.n - 1);
    }
    for (int i = 0; i < x.n; i++) free(x.states[i]);
    disk_free(x.disk);
}
/* The log of the generation before has the right form, and other records. */
static void log_of_another_generation(void **state) {
    (void)state;
    Disk *d = with_a_row();
    const DiskFile *log = disk_find(&d->names, "/db/g1/log")->file;
    const int64_t n = log->len;
    char *bytes = memcpy(disk_memory(NULL, (size_t)n), log->p, (size_t)n);
    api_run(conn, "checkpoint");
    leave();
    d = cut_off(d);
    disk_put(d, "/db/g2/log", bytes, n);
    stele_error_info e;
    assert_int_equal(try_open(d, true, &db, &e), STELE_ERROR);
    assert_string_equal(e.sqlstate, "XX001");
    assert_non_null(strstr(e.message, "/db/g2/log"));
    free(bytes);
    disk_free(d);
}

/* ---- allocations that fail ---- */
static const char *const changes[] = {"insert into a select i, 'more ' || i from generate_series(60, 90) g(i)",
                                      "update a set s = s || '?', id = id + 1000 where id % 5 = 0",
                                      "delete from a where id % 2 = 0",
                                      "truncate b",
                                      "create table c as select * from a",
                                      "create index ia on a((length(s)))",
                                      "select nextval('q')",
                                      "checkpoint"};
static Disk *with_tables(void) {
    Disk *d = disk_new(23);
    open_on(d);
    api_run(conn, "create table a(id int primary key, s text); create table b(id int, n numeric); create sequence q; "
                  "insert into a select i, 'text ' || i from generate_series(1, 50) g(i); insert into b values (1, 2)");
    return d;
}
/* Either it fails and nothing has changed, or what was done is found behind a power cut. */
static bool change_without_memory(const char *sql, int64_t n) {
    Disk *d = with_tables();
    stele_conn *observer = connect_observer(db);
    char *before = dump_of(observer);
    mem_fail_at(n);
    const bool good = stele_exec(conn, sql, NULL, NULL) == STELE_OK;
    const bool reached = mem_fail_at(0) <= 0;
    if (!good) api_state(conn, "53200");
    char *after = dump_of(observer);
    if (!good && strcmp(before, after) != 0) fail_msg("allocation %lld of %s: half of it", (long long)n, sql);
    api_run(conn, "insert into b values (7, 7)");
    char *last = dump_of(observer);
    stele_disconnect(observer);
    leave();
    d = cut_off(d);
    open_on(d);
    char *found = dump_of(conn);
    if (strcmp(last, found) != 0)
        fail_msg("allocation %lld of %s, %s: %s", (long long)n, sql, good ? "done" : "refused",
                 first_difference(last, found));
    leave();
    disk_free(d);
    free(before);
    free(after);
    free(last);
    free(found);
    return reached;
}
static void changes_without_memory(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (int64_t n = 1; change_without_memory(changes[i], n); n += 1 + n / 16) {}
}
static void opening_without_memory(void **state) {
    (void)state;
    Disk *d = with_tables();
    for (size_t i = 0; i < sizeof changes / sizeof *changes - 1; i++) api_run(conn, changes[i]);
    char *want = dump_of(conn);
    leave();
    d = cut_off(d);
    int64_t failed = 0;
    bool reached = true;
    for (int64_t n = 1; reached; n += 1 + n / 32) {
        stele_error_info e;
        Disk *copy = disk_after_cut(d);
        mem_fail_at(n);
        const bool good = try_open(copy, true, &db, &e) == STELE_OK;
        reached = mem_fail_at(0) <= 0;
        if (good) assert_int_equal(stele_discard(db), STELE_OK);
        else if (strcmp(e.sqlstate, "53200") != 0)
            fail_msg("allocation %lld: %s %s", (long long)n, e.sqlstate, e.message);
        failed += !good;
        open_on(copy);
        char *found = dump_of(conn);
        if (strcmp(want, found) != 0) fail_msg("allocation %lld: %s", (long long)n, first_difference(want, found));
        free(found);
        leave();
        disk_free(copy);
    }
    assert_true(failed > 20);
    free(want);
    disk_free(d);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failed_sync),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(read_only),
        cmocka_unit_test(chain_of_logs),
        cmocka_unit_test(damaged_chain),
        cmocka_unit_test(failed_checkpoints),
        cmocka_unit_test(tables_taken_over),
        cmocka_unit_test(saved_under_the_lock),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(made_by_themselves),
        cmocka_unit_test(timelines),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(swapped_files),
        cmocka_unit_test(log_of_another_generation),
        cmocka_unit_test(changes_without_memory),
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test(simulated),
        cmocka_unit_test(left_out_syncs),
    };
    if (argc > 1) first_seed = strtoull(argv[1], NULL, 10);
    if (argc > 1) cmocka_set_test_filter(first_seed > 0 ? "simulated" : argv[1]);
    if (argc > 1) n_seeds = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
    return cmocka_run_group_tests_name("redo", tests, NULL, NULL);
}
