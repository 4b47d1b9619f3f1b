/* test_readers.c - what statements that read see while others write: all commits that ended before they began, of each
 * all or nothing, to their end.
 *
 * Histories. Writers take turns (a mutex), so that the order of commits is known, and keep a model: states[n] is what
 * the tables hold after commit n. `started` is the last commit that was begun, `ended` the last that has returned. A
 * read that began when `ended` was lo and was over when `started` was hi must give what the tables hold in one of
 * states[lo] .. states[hi], the same for all that it returns, and never one before that of the reader's previous read.
 * The database does not know of the turns: other connections define, roll back, vacuum, analyze and save beside them.
 * In a second kind of history writers take no turns, and each has its own row of progress.
 *
 * Scripts: statements of several connections in a fixed order, with what each gives, and results that are stepped
 * through while others change or drop what they were read from.
 *
 * Numbers of operations are fixed and nothing depends on time: a reader reads until the writers have done theirs.
 * STELE_TEST_TRANSACTIONS sets how many each writer does, STELE_TEST_SETTINGS is SQL that all connections of
 * histories run first.
 */
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stele/stele.h"
#include "unit.h"

enum { KEYS = 40, FILLED = 24, PAIRS = 5, WRITERS = 2, READERS = 3, STATES = 1 << 14, TEXT = 8192, WHY = 1024 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) /* which are some ten times slower */
enum { EACH = 100 };
#else
enum { EACH = 250 };
#endif
#define ABSENT INT64_MIN
#define UNSEEN INT64_MAX

/* ---- the model ---------------------------------------------------------------------------------------- */
/* What reads return as single numbers. EXTRA: whether the table is there. */
typedef enum Fact { ROWS, SUM, WEIGHTED, PAIR_ROWS, PAIR_SUM, LOGS, DEFINED, EXTRA, FACTS } Fact;
static const char *const fact_names[FACTS] = {"rows",     "sum",  "weighted", "pair rows",
                                              "pair sum", "logs", "def",      "extra"};
typedef struct State {
    int64_t bal[KEYS]; /* of acc, by k */
    int64_t pair[PAIRS];
    int64_t logs, defined, extra, more, unique;
    int64_t fact[FACTS];
    const char *op;
} State;
typedef struct World {
    stele_db *db;
    bool saved; /* in a directory */
    State *states;
    _Atomic int64_t started, ended;
    pthread_mutex_t turn;
    atomic_int writing;
    int64_t each; /* operations of a writer */
} World;
typedef struct Thread {
    World *w;
    stele_conn *c, *other;
    unsigned seed;
    int64_t reads, last, refused; /* last: the earliest state that the last read can have seen */
    int64_t id, own;              /* its row of the table own, and the number there */
    const char *copy;             /* of COPY FROM STDIN: what is left */
    char *sink;                   /* of COPY TO STDOUT */
    size_t n_sink;
    bool wrong;
    char why[WHY];
} Thread;
static int64_t random_below(Thread *t, int64_t n) {
    t->seed = t->seed * 1103515245u + 12345u;
    return (int64_t)(t->seed >> 8) % n;
}

static void settle(State *s) {
    memset(s->fact, 0, sizeof s->fact);
    for (int64_t k = 0; k < KEYS; k++) {
        if (s->bal[k] == ABSENT) continue;
        s->fact[ROWS]++;
        s->fact[SUM] += s->bal[k];
        s->fact[WEIGHTED] += s->bal[k] * k;
    }
    s->fact[PAIR_ROWS] = PAIRS;
    for (int64_t k = 0; k < PAIRS; k++) s->fact[PAIR_SUM] += s->pair[k] * (k + 1);
    s->fact[LOGS] = s->logs;
    s->fact[DEFINED] = s->defined;
    s->fact[EXTRA] = s->extra;
}

/* ---- errors of threads: the first one counts ---------------------------------------------------------- */
__attribute__((format(printf, 2, 3))) static void wrong(Thread *t, const char *fmt, ...) {
    if (t->wrong) return;
    t->wrong = true;
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->why, sizeof t->why, fmt, args);
    va_end(args);
}
static void failed(Thread *t, stele_conn *c, const char *sql) {
    stele_error_info e;
    stele_error(c, &e);
    wrong(t, "%.300s: %s %.300s", sql, e.sqlstate, e.message);
}
static bool is_error(stele_conn *c, const char *sqlstate) {
    stele_error_info e;
    stele_error(c, &e);
    return strcmp(e.sqlstate, sqlstate) == 0;
}

/* ---- what a read has seen, and in which state it was so ------------------------------------------------ */
typedef struct Seen {
    int64_t bal[KEYS], fact[FACTS];
    int64_t lo, hi; /* of the time of the read */
    const char *sql;
} Seen;
static void seen_begin(World *w, Seen *s, const char *sql) {
    for (int k = 0; k < KEYS; k++) s->bal[k] = UNSEEN;
    for (int k = 0; k < FACTS; k++) s->fact[k] = UNSEEN;
    s->sql = sql;
    s->lo = atomic_load(&w->ended);
}
static void seen_end(World *w, Seen *s) { s->hi = atomic_load(&w->started); }
static bool fits(const Seen *s, const State *state) {
    for (int i = 0; i < FACTS; i++)
        if (s->fact[i] != UNSEEN && s->fact[i] != state->fact[i]) return false;
    for (int k = 0; k < KEYS; k++)
        if (s->bal[k] != UNSEEN && s->bal[k] != state->bal[k]) return false;
    return true;
}
static void seen_check(Thread *t, const Seen *s) {
    const World *w = t->w;
    const int64_t from = s->lo > t->last ? s->lo : t->last;
    t->reads++;
    for (int64_t n = from; n <= s->hi; n++)
        if (fits(s, &w->states[n])) {
            t->last = n;
            return;
        }
    if (t->wrong) return;
    int64_t other = -1;
    for (int64_t n = 0; n <= s->hi; n++)
        if (fits(s, &w->states[n])) other = n;
    const State *end = &w->states[s->hi];
    char facts[512];
    size_t at = 0;
    facts[0] = 0;
    for (int i = 0; i < FACTS; i++)
        if (s->fact[i] != UNSEEN)
            at += (size_t)snprintf(facts + at, sizeof facts - at, " %s %lld (%lld)", fact_names[i],
                                   (long long)s->fact[i], (long long)end->fact[i]);
    for (int k = 0; k < KEYS && at < sizeof facts - 64; k++)
        if (s->bal[k] != UNSEEN && s->bal[k] != end->bal[k])
            at += (size_t)snprintf(facts + at, sizeof facts - at, " [%d] %lld (%lld)", k, (long long)s->bal[k],
                                   (long long)end->bal[k]);
    wrong(t, "%.160s: no state of %lld .. %lld (%s), after one of %lld%s: fits %lld;%s", s->sql, (long long)s->lo,
          (long long)s->hi, end->op, (long long)t->last, s->lo < t->last ? ", which is later" : "", (long long)other,
          facts);
}

/* ---- reads -------------------------------------------------------------------------------------------- */
/* Queries of one row, and what its columns are. `present`: of definitions, which are the present's in any snapshot. */
typedef struct Form {
    const char *sql;
    bool present;
    int n;
    Fact facts[6];
} Form;
static const Form forms[] = {
    {"select count(*), sum(bal), sum(bal * k), (select sum(n * k) from l), (select count(*) from log) from acc",
     false,
     5,
     {ROWS, SUM, WEIGHTED, PAIR_SUM, LOGS}},
    {"select count(*), sum(bal), sum(bal * k), max(def), (select sum(n * k) from r) from acc_view",
     true,
     5,
     {ROWS, SUM, WEIGHTED, DEFINED, PAIR_SUM}},
    {"select sum(c), sum(s), sum(x), (select count(*) from log) from (select branch, count(*) c, sum(bal) s, "
     "sum(bal * k) x from acc group by branch) g",
     false,
     4,
     {ROWS, SUM, WEIGHTED, LOGS}},
    {"select count(*), sum(l.n * r.k), (select sum(bal) from acc), (select count(*) from log) from l join r on l.k = "
     "r.k and l.n = r.n",
     false,
     4,
     {PAIR_ROWS, PAIR_SUM, SUM, LOGS}},
    {"select count(*), sum(n * k), (select sum(bal * k) from acc) from r where exists (select 1 from l where l.k = "
     "r.k and l.n = r.n)",
     false,
     3,
     {PAIR_ROWS, PAIR_SUM, WEIGHTED}},
    {"select c, s, x, p, g from totals() t", false, 5, {ROWS, SUM, WEIGHTED, PAIR_SUM, LOGS}},
    {"select rows_of_acc(), sum_of_pairs(), rows_of_log(), (select sum(bal * k) from acc)",
     false,
     4,
     {ROWS, PAIR_SUM, LOGS, WEIGHTED}},
    {"select def(), (select max(def) from acc_view), (select count(*) from log), (select sum(bal) from acc)",
     true,
     4,
     {DEFINED, DEFINED, LOGS, SUM}},
    {"with a as (select * from acc where word = 'w' || bal and name = 'acc' || lpad(k::text, 4, '0') and branch = k % "
     "4) select (select count(*) from a), (select sum(bal) from a), (select sum(bal * k) from a), (select sum(n * k) "
     "from l where k in (select k from r where r.n = l.n))",
     false,
     4,
     {ROWS, SUM, WEIGHTED, PAIR_SUM}},
    {"select max(case when what = 1 then v end), max(case when what = 2 then v end), max(case when what = 3 then v "
     "end) from (select 1 what, sum(bal) v from acc union all select 2, count(*) from log union all select 3, sum(n * "
     "k) from r) u",
     false,
     3,
     {SUM, LOGS, PAIR_SUM}},
};
enum { FORMS = sizeof forms / sizeof forms[0] };
/* Reads of rows: k, name, bal, word. */
static const char *const row_forms[] = {"select k, name, bal, word from acc order by name",
                                        "select k, name, bal, word from acc order by word, k desc",
                                        "select k, name, bal, word from acc_view join acc using (k, bal)"};
enum { ROW_FORMS = sizeof row_forms / sizeof row_forms[0] };
typedef enum Statement { BY_KEY = FORMS, BY_NAME, BY_ROWS, STATEMENTS = BY_ROWS + ROW_FORMS } Statement;
#define KEY_SQL "select bal, word, name from acc where k = $1"
#define NAME_SQL "select bal, word, k from acc where name = $1"

static stele_stmt *prepare(Thread *t, const char *sql) {
    stele_stmt *s = NULL;
    if (stele_prepare(t->c, sql, -1, &s, NULL) != STELE_OK) failed(t, t->c, sql);
    return s;
}
/* False: an error that the caller is to look at. */
static bool read_form(Thread *t, stele_stmt *s, const Form *f, Seen *x) {
    const stele_status st = stele_step(s);
    seen_end(t->w, x);
    if (st == STELE_ERROR) return false;
    if (st != STELE_ROW) wrong(t, "%s: no row", f->sql);
    for (int i = 0; i < f->n && !t->wrong; i++) {
        int64_t *fact = &x->fact[f->facts[i]];
        const int64_t v = stele_column_int64(s, i);
        if (*fact != UNSEEN && *fact != v)
            wrong(t, "%.160s: %s is %lld and %lld", f->sql, fact_names[f->facts[i]], (long long)*fact, (long long)v);
        *fact = v;
    }
    stele_reset(s);
    return true;
}
static void word_check(Thread *t, const char *sql, int64_t k, const char *name, int64_t bal, const char *word) {
    char want_name[32], want_word[32];
    snprintf(want_name, sizeof want_name, "acc%04lld", (long long)k);
    snprintf(want_word, sizeof want_word, "w%lld", (long long)bal);
    if (k < 0 || k >= KEYS || !name || !word || strcmp(name, want_name) != 0 || strcmp(word, want_word) != 0)
        wrong(t, "%s: a row that never was: %lld %s %lld %s", sql, (long long)k, name ? name : "", (long long)bal,
              word ? word : "");
}
static bool read_point(Thread *t, stele_stmt *s, bool by_name, Seen *x) {
    const int64_t k = random_below(t, KEYS);
    char name[32];
    snprintf(name, sizeof name, "acc%04lld", (long long)k);
    if (by_name ? stele_bind_text(s, 1, name, -1) != STELE_OK : stele_bind_int64(s, 1, k) != STELE_OK)
        failed(t, t->c, x->sql);
    const stele_status st = stele_step(s);
    seen_end(t->w, x);
    if (st == STELE_ERROR) return false;
    const int64_t before = x->bal[k];
    x->bal[k] = ABSENT;
    if (st == STELE_ROW) {
        x->bal[k] = stele_column_int64(s, 0);
        const int64_t key = by_name ? stele_column_int64(s, 2) : k;
        if (key != k) wrong(t, "%s: key %lld, not %lld", x->sql, (long long)key, (long long)k);
        word_check(t, x->sql, k, by_name ? name : stele_column_text(s, 2, NULL), x->bal[k],
                   stele_column_text(s, 1, NULL));
    }
    if (before != UNSEEN && before != x->bal[k])
        wrong(t, "%s: key %lld is %lld and %lld", x->sql, (long long)k, (long long)before, (long long)x->bal[k]);
    stele_reset(s);
    return true;
}
static void add_row(Thread *t, stele_stmt *s, Seen *x) {
    const int64_t k = stele_column_int64(s, 0), bal = stele_column_int64(s, 2);
    word_check(t, x->sql, k, stele_column_text(s, 1, NULL), bal, stele_column_text(s, 3, NULL));
    if (t->wrong) return;
    if (x->bal[k] != ABSENT) wrong(t, "%s: key %lld twice", x->sql, (long long)k);
    x->bal[k] = bal;
}
static void no_rows(Seen *x) {
    for (int k = 0; k < KEYS; k++) x->bal[k] = ABSENT;
}

static void *reader_prepare(Thread *t, stele_stmt *stmts[STATEMENTS]) {
    for (int i = 0; i < STATEMENTS && !t->wrong; i++)
        stmts[i] = prepare(t, i < FORMS      ? forms[i].sql
                              : i == BY_KEY  ? KEY_SQL
                              : i == BY_NAME ? NAME_SQL
                                             : row_forms[i - BY_ROWS]);
    return t;
}
/* One of the forms or a point read, with its prepared statement. */
static bool read_one(Thread *t, stele_stmt *stmts[STATEMENTS], int which, Seen *x) {
    return which < FORMS ? read_form(t, stmts[which], &forms[which], x)
                         : read_point(t, stmts[which], which == BY_NAME, x);
}
static void read_now(Thread *t, stele_stmt *stmts[STATEMENTS], int which) {
    Seen x;
    seen_begin(t->w, &x, which < FORMS ? forms[which].sql : which == BY_KEY ? KEY_SQL : NAME_SQL);
    if (!read_one(t, stmts, which, &x)) failed(t, t->c, x.sql);
    if (!t->wrong) seen_check(t, &x);
}
/* Rows are taken one by one, with other reads of the connection in between: the result is of its beginning. */
static void read_slowly(Thread *t, stele_stmt *stmts[STATEMENTS]) {
    const int which = BY_ROWS + (int)random_below(t, ROW_FORMS);
    stele_stmt *s = stmts[which];
    Seen x;
    seen_begin(t->w, &x, row_forms[which - BY_ROWS]);
    no_rows(&x);
    const int64_t last = t->last;
    stele_status st = stele_step(s);
    seen_end(t->w, &x);
    for (int64_t n = 0; st == STELE_ROW && !t->wrong; n++) {
        add_row(t, s, &x);
        if (n == 2 && !t->wrong) {
            for (int i = 0; i < 3 && !t->wrong; i++) read_now(t, stmts, (int)random_below(t, BY_NAME + 1));
        }
        if (n % 4 == 3) sched_yield();
        st = stele_step(s);
    }
    if (st == STELE_ERROR) failed(t, t->c, x.sql);
    stele_reset(s);
    if (t->wrong) return;
    const int64_t now = t->last;
    t->last = last;
    seen_check(t, &x);
    if (t->last < now) t->last = now;
}
/* Refused, because of what others have done meanwhile. */
static void give_way(Thread *t) {
    if (!is_error(t->c, "40001") && !is_error(t->c, "42P01")) failed(t, t->c, "in a transaction");
    t->refused++;
    if (stele_transaction_state(t->c) != 'I' && stele_exec(t->c, "rollback", NULL, NULL) != STELE_OK)
        failed(t, t->c, "rollback");
}
static bool take_int(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    if (n > 0 && v[0]) *(int64_t *)ctx = strtoll(v[0], NULL, 10);
    return false;
}
/* In a transaction: its own row is changed, and read. */
static bool write_own(Thread *t) {
    char sql[128];
    int64_t n = -1;
    snprintf(sql, sizeof sql, "update own set n = n + 1 where k = %lld; select n from own where k = %lld",
             (long long)t->id, (long long)t->id);
    if (stele_exec(t->c, sql, take_int, &n) != STELE_OK) return false;
    if (n != t->own + 1) wrong(t, "%s: %lld, not %lld", sql, (long long)n, (long long)t->own + 1);
    return true;
}
/* What it has read was still so when it committed its change. */
static void end_own(Thread *t, Seen *x) {
    const int64_t lo = atomic_load(&t->w->ended);
    if (random_below(t, 4) == 0) {
        if (stele_exec(t->c, "rollback", NULL, NULL) != STELE_OK) failed(t, t->c, "rollback");
        return;
    }
    if (stele_exec(t->c, "commit", NULL, NULL) != STELE_OK) {
        give_way(t);
        return;
    }
    t->own++;
    const Seen first = *x;
    x->lo = lo;
    seen_end(t->w, x);
    const int64_t last = t->last;
    if (!t->wrong) seen_check(t, x);
    t->last = last;
    *x = first;
}
/* BEGIN: all of its statements read the state of the first, after it has changed something, too. A table that was made
 * anew meanwhile refuses it. */
static void read_in_transaction(Thread *t, stele_stmt *stmts[STATEMENTS]) {
    const bool writes = random_below(t, 3) == 0;
    const int64_t write_at = 1 + random_below(t, 3);
    Seen x;
    if (stele_exec(t->c, writes || random_below(t, 2) ? "begin" : "begin read only", NULL, NULL) != STELE_OK)
        failed(t, t->c, "begin");
    seen_begin(t->w, &x, "a transaction");
    int64_t hi = -1;
    for (int i = 0; i < 4 && !t->wrong; i++) {
        int which = (int)random_below(t, BY_NAME + 1);
        while (which < FORMS && forms[which].present) which = (int)random_below(t, BY_NAME + 1);
        if ((writes && i == write_at && !write_own(t)) || !read_one(t, stmts, which, &x)) {
            give_way(t);
            return;
        }
        if (hi < 0) hi = x.hi;
        sched_yield();
    }
    if (writes && !t->wrong) end_own(t, &x);
    else if (stele_exec(t->c, "commit", NULL, NULL) != STELE_OK) failed(t, t->c, "commit");
    x.hi = hi;
    if (!t->wrong) seen_check(t, &x);
}
static bool sink_write(void *ctx, const char *data, int64_t size) {
    Thread *t = ctx;
    if (t->n_sink + (size_t)size >= TEXT) return false;
    memcpy(t->sink + t->n_sink, data, (size_t)size);
    t->n_sink += (size_t)size;
    t->sink[t->n_sink] = 0;
    return true;
}
static void read_by_copy(Thread *t) {
    static const char *const sqls[] = {"copy acc (k, name, bal, word) to stdout with (format csv)",
                                       "copy (select k, name, bal, word from acc order by bal, k) to stdout with "
                                       "(format csv)"};
    Seen x;
    char name[64], word[64];
    long long k, bal;
    int used;
    seen_begin(t->w, &x, sqls[random_below(t, 2)]);
    no_rows(&x);
    t->n_sink = 0;
    t->sink[0] = 0;
    if (stele_exec(t->c, x.sql, NULL, NULL) != STELE_OK) failed(t, t->c, x.sql);
    seen_end(t->w, &x);
    for (const char *at = t->sink; *at && !t->wrong; at += used) {
        if (sscanf(at, "%lld,%63[^,],%lld,%63[^\n]\n%n", &k, name, &bal, word, &used) != 4) {
            wrong(t, "%s: %s", x.sql, at);
            return;
        }
        word_check(t, x.sql, k, name, bal, word);
        if (!t->wrong) x.bal[k] = bal;
    }
    if (!t->wrong) seen_check(t, &x);
}
/* A statement that is not prepared, of a table that comes and goes. */
static void read_extra(Thread *t) {
    Seen x;
    seen_begin(t->w, &x, "select count(*) from extra");
    x.fact[EXTRA] = 0;
    if (stele_exec(t->c, x.sql, take_int, &x.fact[EXTRA]) != STELE_OK && !is_error(t->c, "42P01"))
        failed(t, t->c, x.sql);
    seen_end(t->w, &x);
    if (!t->wrong) seen_check(t, &x);
}
static void read_explained(Thread *t) {
    const Form *f = &forms[random_below(t, FORMS)];
    char sql[1024];
    snprintf(sql, sizeof sql, "explain analyze %s", f->sql);
    if (stele_exec(t->c, sql, NULL, NULL) != STELE_OK) failed(t, t->c, sql);
}
static void *read_history(void *arg) {
    Thread *t = arg;
    char sink[TEXT];
    stele_stmt *stmts[STATEMENTS] = {NULL};
    t->sink = sink;
    stele_set_copy_streams(t->c, NULL, sink_write, t);
    reader_prepare(t, stmts);
    for (bool more = true; more && !t->wrong;) {
        more = atomic_load(&t->w->writing) > 0; /* and once more when all is done */
        const int64_t kind = random_below(t, 32);
        if (kind < 3) read_slowly(t, stmts);
        else if (kind < 7) read_in_transaction(t, stmts);
        else if (kind < 8) read_by_copy(t);
        else if (kind < 9) read_extra(t);
        else if (kind < 10) read_explained(t);
        else if (kind < 20) read_now(t, stmts, (int)random_below(t, FORMS));
        else read_now(t, stmts, BY_KEY + (int)random_below(t, 2));
    }
    for (int i = 0; i < STATEMENTS; i++) stele_finalize(stmts[i]);
    return NULL;
}

/* ---- writes ------------------------------------------------------------------------------------------- */
typedef struct Sql {
    size_t n;
    char text[TEXT], copy[TEXT];
    const char *error; /* the SQLSTATE that it must give; NULL: none */
} Sql;
__attribute__((format(printf, 2, 3))) static void add(Sql *q, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    q->n += (size_t)vsnprintf(q->text + q->n, sizeof q->text - q->n, fmt, args);
    va_end(args);
    if (q->n >= sizeof q->text) abort();
}
static int64_t pick(Thread *t, const State *s, bool there) {
    for (;;) {
        const int64_t k = random_below(t, KEYS);
        if ((s->bal[k] != ABSENT) == there) return k;
    }
}
static void pick_two(Thread *t, const State *s, int64_t *a, int64_t *b) {
    *a = pick(t, s, true);
    do *b = pick(t, s, true);
    while (*b == *a);
}
static void add_change(Sql *q, State *s, int64_t k, int64_t by) {
    add(q, "update acc set bal = bal + %lld, word = 'w' || (bal + %lld) where k = %lld;", (long long)by, (long long)by,
        (long long)k);
    s->bal[k] += by;
}
static void add_log(Sql *q, State *s, int64_t n) {
    add(q, "insert into log values (%lld, 'a transaction');", (long long)n);
    s->logs++;
}

typedef void Operation(Thread *t, State *s, int64_t n, Sql *q);
static void op_transfer(Thread *t, State *s, int64_t n, Sql *q) {
    int64_t a, b;
    pick_two(t, s, &a, &b);
    add(q,
        "update acc set bal = bal + case when k = %1$lld then -%3$lld else %3$lld end, word = 'w' || (bal + case when "
        "k "
        "= %1$lld then -%3$lld else %3$lld end) where k in (%1$lld, %2$lld)",
        (long long)a, (long long)b, (long long)(n % 9 + 1));
    s->bal[a] -= n % 9 + 1;
    s->bal[b] += n % 9 + 1;
}
static void op_block(Thread *t, State *s, int64_t n, Sql *q) {
    int64_t a, b;
    pick_two(t, s, &a, &b);
    add(q, "begin;");
    add_change(q, s, a, -(n % 7));
    add_change(q, s, b, n % 7);
    add_log(q, s, n);
    add(q, "commit");
}
static void op_all(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t, (void)n;
    add(q, "update acc set bal = bal + k %% 3 - 1, word = 'w' || (bal + k %% 3 - 1)");
    for (int64_t k = 0; k < KEYS; k++)
        if (s->bal[k] != ABSENT) s->bal[k] += k % 3 - 1;
}
static void add_values(Sql *q, const State *s, int64_t k) {
    add(q, "(%lld, 'acc%04lld', %lld, %lld, 'w%lld')", (long long)k, (long long)k, (long long)k % 4,
        (long long)s->bal[k], (long long)s->bal[k]);
}
static void op_exchange(Thread *t, State *s, int64_t n, Sql *q) {
    const int64_t a = pick(t, s, true), b = pick(t, s, false);
    s->bal[b] = s->bal[a];
    s->bal[a] = ABSENT;
    add(q, "begin; delete from acc where k = %lld; insert into acc (k, name, branch, bal, word) values ", (long long)a);
    add_values(q, s, b);
    add(q, ";");
    add_log(q, s, n);
    add(q, "commit");
}
static void op_rename_key(Thread *t, State *s, int64_t n, Sql *q) {
    const int64_t a = pick(t, s, true), b = pick(t, s, false);
    (void)n;
    s->bal[b] = s->bal[a];
    s->bal[a] = ABSENT;
    add(q, "update acc set k = %1$lld, name = 'acc%1$04lld', branch = %2$lld where k = %3$lld", (long long)b,
        (long long)b % 4, (long long)a);
}
static void op_insert_delete(Thread *t, State *s, int64_t n, Sql *q) { /* one row more or less, by one statement */
    if (n % 2 ? s->fact[ROWS] < KEYS - 8 : s->fact[ROWS] < 16) {
        const int64_t k = pick(t, s, false);
        s->bal[k] = n;
        add(q, "insert into acc (k, name, branch, bal, word) values ");
        add_values(q, s, k);
    } else {
        const int64_t k = pick(t, s, true);
        s->bal[k] = ABSENT;
        add(q, "delete from acc where name = 'acc%04lld'", (long long)k);
    }
}
static void op_truncate(Thread *t, State *s, int64_t n, Sql *q) {
    const char *comma = "";
    (void)t;
    add(q, "begin; truncate acc; insert into acc (k, name, branch, bal, word) values ");
    for (int64_t k = 0; k < KEYS; k++) {
        if (s->bal[k] == ABSENT) continue;
        s->bal[k] += n % 5;
        add(q, "%s", comma);
        add_values(q, s, k);
        comma = ", ";
    }
    add(q, ";");
    add_log(q, s, n);
    add(q, "commit");
}
static void op_copy(Thread *t, State *s, int64_t n, Sql *q) {
    size_t at = 0;
    (void)t;
    add(q, "begin; %s acc; copy acc (k, name, branch, bal, word) from stdin with (format csv);",
        n % 2 ? "truncate" : "delete from");
    for (int64_t k = 0; k < KEYS; k++) {
        if (s->bal[k] == ABSENT) continue;
        s->bal[k] += n % 5 - 2;
        at += (size_t)snprintf(q->copy + at, sizeof q->copy - at, "%lld,acc%04lld,%lld,%lld,w%lld\n", (long long)k,
                               (long long)k, (long long)k % 4, (long long)s->bal[k], (long long)s->bal[k]);
    }
    add_log(q, s, n);
    add(q, "commit");
}
static void op_call(Thread *t, State *s, int64_t n, Sql *q) {
    int64_t a, b;
    pick_two(t, s, &a, &b);
    add(q, "call move(%lld, %lld, %lld, %lld)", (long long)a, (long long)b, (long long)n % 11, (long long)n);
    s->bal[a] -= n % 11;
    s->bal[b] += n % 11;
    s->logs++;
}
static void op_bulk(Thread *t, State *s, int64_t n, Sql *q) {
    add(q, "call bulk_call('move', 'values ");
    for (int i = 0; i < 8; i++) {
        int64_t a, b;
        pick_two(t, s, &a, &b);
        const bool fails = i % 4 == 3;
        if (fails) b = pick(t, s, false);
        add(q, "%s(%lld, %lld, %d, %lld)", i ? ", " : "", (long long)a, (long long)b, i + 1, (long long)n);
        if (fails) continue;
        s->bal[a] -= i + 1;
        s->bal[b] += i + 1;
        s->logs++;
    }
    add(q, "')");
}
static void op_select(Thread *t, State *s, int64_t n, Sql *q) { /* a query whose function writes */
    int64_t a, b;
    pick_two(t, s, &a, &b);
    add(q, "select moves(%lld, %lld, %lld, %lld)", (long long)a, (long long)b, (long long)n % 6, (long long)n);
    s->bal[a] -= n % 6;
    s->bal[b] += n % 6;
    s->logs++;
}
static void op_pair(Thread *t, State *s, int64_t n, Sql *q) {
    const int64_t k = random_below(t, PAIRS);
    add(q, "begin; update l set n = %1$lld where k = %2$lld; update r set n = %1$lld where k = %2$lld; commit",
        (long long)n, (long long)k + 1);
    s->pair[k] = n;
}
static void op_pairs(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t;
    add(q, "begin; update l set n = %1$lld; update r set n = %1$lld;", (long long)n);
    for (int k = 0; k < PAIRS; k++) s->pair[k] = n;
    add_log(q, s, n);
    add(q, "commit");
}
static void op_new_table(Thread *t, State *s, int64_t n, Sql *q) { /* another table takes the name */
    const char *name = random_below(t, 2) ? "l" : "r", *rest = *name == 'l' ? "r" : "l";
    add(q,
        "begin; create table fresh(k int primary key, n int not null); insert into fresh select k, %1$lld from %2$s; "
        "drop table %2$s; alter table fresh rename to %2$s; update %3$s set n = %1$lld;",
        (long long)n, name, rest);
    for (int k = 0; k < PAIRS; k++) s->pair[k] = n;
    add_log(q, s, n);
    add(q, "commit");
}
static void op_rollback(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t, (void)s, (void)n;
    add(q, "begin; update acc set bal = 0; delete from acc where k < 20; update l set n = -1; delete from r; rollback");
}
static void op_rollback_definitions(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t, (void)s, (void)n;
    add(q,
        "begin; update r set n = -2; drop table l; create table l(k int, n int); insert into l values (1, -1); alter "
        "table acc add column gone int default 7; update acc set bal = gone; create or replace function def() "
        "returns int language sql as 'select -1'; truncate log; rollback");
}
static void op_savepoint(Thread *t, State *s, int64_t n, Sql *q) {
    int64_t a, b;
    pick_two(t, s, &a, &b);
    add(q, "begin;");
    add_change(q, s, a, -(n % 13));
    add(q, "savepoint s; update acc set bal = bal * 2; delete from acc where k %% 2 = 0; rollback to s;");
    add_change(q, s, b, n % 13);
    add_log(q, s, n);
    add(q, "commit");
}
static void op_fail(Thread *t, State *s, int64_t n, Sql *q) { /* after rows that would have been good */
    const int64_t a = pick(t, s, true), b = pick(t, s, false);
    if (n % 2) add(q, "begin; update acc set bal = 1; delete from log; ");
    add(q,
        "insert into acc (k, name, branch, bal, word) values (%1$lld, 'acc%1$04lld', 0, 5, 'w5'), (%2$lld, 'again', 0, "
        "0, 'w0')%3$s",
        (long long)b, (long long)a, n % 2 ? "; commit" : "");
    q->error = "23505";
}
static void op_define(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t;
    add(q,
        "begin; create or replace view acc_view as select k, bal, %1$lld as def from acc; create or replace function "
        "def() returns int language sql as 'select %1$lld';",
        (long long)n);
    add_log(q, s, n);
    add(q, "commit");
    s->defined = n;
}
static void op_extra(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t, (void)n;
    add(q, s->extra ? "drop table extra" : "create table extra as select 1 as a");
    s->extra = !s->extra;
}
static void op_alter(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t;
    if (s->more) add(q, "alter table acc drop column more");
    else add(q, "alter table acc add column more int not null default %lld", (long long)n);
    s->more = !s->more;
}
static void op_unique(Thread *t, State *s, int64_t n, Sql *q) {
    (void)t, (void)n;
    add(q, "alter table acc %s constraint acc_word_k%s", s->unique ? "drop" : "add",
        s->unique ? "" : " unique (word, k)");
    s->unique = !s->unique;
}
static void op_maintain(Thread *t, State *s, int64_t n, Sql *q) {
    static const char *const what[] = {"vacuum acc", "vacuum", "analyze acc", "analyze", "checkpoint"};
    (void)s, (void)n;
    add(q, "%s", what[random_below(t, 5)]);
}
static const struct {
    const char *name;
    Operation *op;
    int share;
} operations[] = {{"transfer", op_transfer, 8},
                  {"block", op_block, 8},
                  {"all", op_all, 4},
                  {"exchange", op_exchange, 4},
                  {"rename key", op_rename_key, 4},
                  {"insert or delete", op_insert_delete, 6},
                  {"truncate", op_truncate, 2},
                  {"copy", op_copy, 2},
                  {"call", op_call, 5},
                  {"select", op_select, 4},
                  {"bulk", op_bulk, 5},
                  {"pair", op_pair, 5},
                  {"pairs", op_pairs, 3},
                  {"new table", op_new_table, 2},
                  {"rollback", op_rollback, 3},
                  {"rollback of definitions", op_rollback_definitions, 2},
                  {"savepoint", op_savepoint, 3},
                  {"fail", op_fail, 4},
                  {"define", op_define, 2},
                  {"extra", op_extra, 2},
                  {"alter", op_alter, 2},
                  {"unique", op_unique, 1},
                  {"maintain", op_maintain, 3}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static int64_t copy_read(void *ctx, char *buf, int64_t size) {
    Thread *t = ctx;
    const int64_t left = (int64_t)strlen(t->copy), n = left < 100 ? left : 100;
    if (size < n) return -1;
    memcpy(buf, t->copy, (size_t)n);
    t->copy += n;
    return n;
}
/* Runs it until no other transaction is in its way. */
static void run_operation(Thread *t, const Sql *q) {
    for (;;) {
        t->copy = q->copy;
        const stele_status st = stele_exec(t->c, q->text, NULL, NULL);
        if (st == STELE_OK && !q->error) return;
        const bool expected = st != STELE_OK && q->error && is_error(t->c, q->error);
        const bool again = st != STELE_OK && is_error(t->c, "40001");
        if (!expected && !again) {
            if (st == STELE_OK) wrong(t, "%s: no error", q->text);
            else failed(t, t->c, q->text);
        }
        if (stele_transaction_state(t->c) != 'I' && stele_exec(t->c, "rollback", NULL, NULL) != STELE_OK)
            failed(t, t->c, "rollback");
        if (!again || t->wrong) return;
        t->refused++;
    }
}
static void *write_history(void *arg) {
    Thread *t = arg;
    World *w = t->w;
    stele_stmt *stmts[STATEMENTS] = {NULL};
    Thread own = {.w = w, .c = t->other, .seed = t->seed}; /* another connection, which reads what was written */
    int shares = 0;
    for (int i = 0; i < OPERATIONS; i++) shares += operations[i].share;
    stele_set_copy_streams(t->c, copy_read, NULL, t);
    reader_prepare(&own, stmts);
    for (int64_t i = 0; i < w->each && !t->wrong && !own.wrong; i++) {
        pthread_mutex_lock(&w->turn);
        const int64_t n = atomic_load(&w->ended) + 1;
        State *s = &w->states[n];
        Sql q;
        q.n = 0;
        q.error = NULL;
        q.copy[0] = 0;
        *s = w->states[n - 1];
        int64_t which = 0;
        for (int64_t at = random_below(t, shares); at >= operations[which].share; which++)
            at -= operations[which].share;
        s->op = operations[which].name;
        operations[which].op(t, s, n, &q);
        settle(s);
        atomic_store(&w->started, n);
        run_operation(t, &q);
        atomic_store(&w->ended, n);
        if (!t->wrong) read_now(&own, stmts, (int)random_below(t, BY_NAME + 1)); /* there is no later commit: state n */
        pthread_mutex_unlock(&w->turn);
    }
    if (own.wrong) wrong(t, "own writes: %s", own.why);
    for (int i = 0; i < STATEMENTS; i++) stele_finalize(stmts[i]);
    atomic_fetch_sub(&w->writing, 1);
    return NULL;
}
/* Without a turn: nothing of it changes what the tables hold. */
static void *disturb(void *arg) {
    static const char *const what[] = {"begin; update acc set bal = bal + 1000; delete from log; rollback",
                                       "vacuum acc",
                                       "create table aside as select k from acc; create view aside_view as select k "
                                       "from aside; drop view aside_view; drop table aside",
                                       "begin; insert into l values (100, 100); savepoint s; truncate r; rollback",
                                       "checkpoint",
                                       "begin; alter table acc add column never int; drop view acc_view; rollback",
                                       "analyze",
                                       "select count(*) from bulk_call('look', 'select k from acc order by k') b",
                                       "insert into acc (k, name, branch, bal, word) select k, name, branch, bal, word "
                                       "from acc"};
    Thread *t = arg;
    int64_t errors = 0;
    for (size_t i = 0; atomic_load(&t->w->writing) > 0 && !t->wrong; i++) {
        const char *sql = what[i % (sizeof what / sizeof what[0])];
        if (stele_exec(t->c, sql, NULL, NULL) == STELE_OK) continue;
        if (!is_error(t->c, "23505") && !is_error(t->c, "40001")) failed(t, t->c, sql);
        if (stele_transaction_state(t->c) != 'I' && stele_exec(t->c, "rollback", NULL, NULL) != STELE_OK)
            failed(t, t->c, "rollback");
        errors++;
    }
    t->refused = errors;
    return NULL;
}

/* ---- databases ---------------------------------------------------------------------------------------- */
static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s %s", sql, e.sqlstate, e.message, e.detail);
}
static stele_conn *connect_to(stele_db *db) {
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    run(c, "set lock_timeout = 0");
    return c;
}
static stele_db *open_at(const char *path) {
    stele_db *db;
    stele_error_info e;
    if (stele_open(path, &(stele_options){.threads = 2}, &db, &e) != STELE_OK) fail_msg("%s: %s", path, e.message);
    return db;
}
static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)kind, (void)at;
    return remove(path);
}
static void new_folder(char *path, size_t size) {
    snprintf(path, size, "/tmp/stele-readers-XXXXXX");
    assert_non_null(mkdtemp(path));
}
static void remove_folder(const char *path) { assert_int_equal(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0); }

static const char setup[] =
    "create table acc(k int primary key, name text not null unique, branch int not null, bal bigint not null, word "
    "text "
    "not null);"
    "create table l(k int primary key, n int not null); create table r(k int primary key, n int not null);"
    "create table log(id bigint, what text); create view acc_view as select k, bal, 0 as def from acc;"
    "insert into acc select i, 'acc' || lpad(i::text, 4, '0'), i % 4, 100, 'w100' from generate_series(0, 23) g(i);"
    "create table own(k int primary key, n bigint); insert into own select i, 0 from generate_series(0, 15) g(i);"
    "insert into l select i, 0 from generate_series(1, 5) g(i); insert into r select k, n from l;"
    "create function def() returns int language sql as 'select 0';"
    "create function totals(out c bigint, out s bigint, out x bigint, out p bigint, out g bigint) language plpgsql as "
    "$$"
    "begin select count(*), sum(bal), sum(bal * k) into c, s, x from acc; select sum(n * k) into p from l;"
    " select count(*) into g from log; end $$;"
    "create function rows_of_acc() returns bigint language plpgsql as $$ declare n bigint := 0; one record; begin"
    " for one in select k from acc loop n := n + 1; end loop; return n; end $$;"
    "create function sum_of_pairs() returns bigint language plpgsql as $$ declare n bigint := 0; one int; begin"
    " for i in 1 .. 5 loop select l.n into strict one from l join r using (k, n) where k = i; n := n + i * one; end "
    "loop;"
    " return n; end $$;"
    "create function rows_of_log() returns bigint language sql as 'select count(*) from log';"
    "create procedure look(key int, out seen bigint) language plpgsql as $$ begin"
    " select bal into seen from acc where k = key; end $$;"
    "create procedure move(a int, b int, m int, n bigint) language plpgsql as $$ begin"
    " update acc set bal = bal - m, word = 'w' || (bal - m) where k = a;"
    " update acc set bal = bal + m, word = 'w' || (bal + m) where k = b;"
    " if not found then raise exception 'no account %', b; end if;"
    " insert into log values (n, 'a call'); end $$;"
    "create function moves(a int, b int, m int, n bigint) returns int language plpgsql as $$ begin"
    " update acc set bal = bal - m, word = 'w' || (bal - m) where k = a;"
    " update acc set bal = bal + m, word = 'w' || (bal + m) where k = b;"
    " insert into log values (n, 'a function'); return 1; end $$;";

static int64_t operations_each(void) {
    const char *env = getenv("STELE_TEST_TRANSACTIONS");
    const int64_t n = env ? strtoll(env, NULL, 10) : 0;
    return n > 0 && n * WRITERS < STATES ? n : EACH;
}
static void join(pthread_t thread, const Thread *t, const char *role, int64_t *reads, int64_t *refused) {
    pthread_join(thread, NULL);
    *reads += t->reads;
    *refused += t->refused;
    if (t->wrong) print_error("%s: %s\n", role, t->why);
}
/* Of one database; the last state of the model is there at the end, and after opening it anew. */
static void history(const char *path, const char *settings) {
    World w = {.db = open_at(path), .saved = path != NULL, .each = operations_each()};
    Thread t[READERS + WRITERS + 1];
    pthread_t threads[READERS + WRITERS + 1];
    const int n = READERS + WRITERS + 1;
    int64_t reads = 0, refused = 0;
    w.states = calloc((size_t)STATES, sizeof *w.states);
    assert_non_null(w.states);
    for (int k = 0; k < KEYS; k++) w.states[0].bal[k] = k < FILLED ? 100 : ABSENT;
    w.states[0].op = "setup";
    settle(&w.states[0]);
    pthread_mutex_init(&w.turn, NULL);
    atomic_store(&w.writing, WRITERS);
    stele_conn *c = connect_to(w.db);
    run(c, setup);
    for (int i = 0; i < n; i++) {
        t[i] = (Thread){.w = &w, .c = connect_to(w.db), .seed = (unsigned)i * 7919u + 1, .id = i};
        if (settings) run(t[i].c, settings);
        if (getenv("STELE_TEST_SETTINGS")) run(t[i].c, getenv("STELE_TEST_SETTINGS"));
        if (i < WRITERS) t[i].other = connect_to(w.db);
    }
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i < WRITERS  ? write_history
                                        : i == n - 1 ? disturb
                                                     : read_history,
                                        &t[i]),
                         0);
    bool bad = false;
    for (int i = 0; i < n; i++) {
        join(threads[i], &t[i], i < WRITERS ? "writer" : i == n - 1 ? "beside them" : "reader", &reads, &refused);
        bad |= t[i].wrong;
        stele_disconnect(t[i].c);
        stele_disconnect(t[i].other);
    }
    print_message("%lld commits, %lld reads, %lld refused\n", (long long)atomic_load(&w.ended), (long long)reads,
                  (long long)refused);
    for (int again = 0; again < (path ? 2 : 1) && !bad; again++) {
        Thread end = {.w = &w, .c = c};
        stele_stmt *stmts[STATEMENTS];
        reader_prepare(&end, stmts);
        for (int i = 0; i < FORMS && !end.wrong; i++) read_now(&end, stmts, i);
        if (!end.wrong) read_slowly(&end, stmts);
        if (end.wrong) print_error("at the end%s: %s\n", again ? ", opened anew" : "", end.why);
        bad |= end.wrong;
        stele_disconnect(c);
        c = NULL;
        assert_int_equal(stele_close(w.db, NULL), STELE_OK);
        w.db = NULL;
        if (!path || again) break;
        w.db = open_at(path);
        c = connect_to(w.db);
    }
    stele_disconnect(c);
    if (w.db) stele_discard(w.db);
    pthread_mutex_destroy(&w.turn);
    free(w.states);
    if (bad) fail_msg("a history is not right");
}
static void history_in_memory(void **state) {
    (void)state;
    history(NULL, NULL);
}
static void history_in_a_directory(void **state) {
    (void)state;
    char path[64];
    new_folder(path, sizeof path);
    history(path, NULL);
    remove_folder(path);
}
static void history_with_the_pool(
    void **state) { /* single-row statements and calls of several connections share bulks */
    (void)state;
    history(NULL, "set bulk_interval = '100us'");
}

/* ---- histories without turns -------------------------------------------------------------------------- */
/* Writer i counts its transactions in its row of `progress`. begun[i]: the last that it began; done[i]: that returned.
 */
enum { FREE_WRITERS = 3, FREE_ACCOUNTS = 16, FREE_SUM = FREE_ACCOUNTS * 100 };
typedef struct FreeWorld {
    stele_db *db;
    _Atomic int64_t begun[FREE_WRITERS], done[FREE_WRITERS];
    atomic_int writing;
    int64_t each;
} FreeWorld;
typedef struct FreeThread {
    Thread t; /* its world is NULL */
    FreeWorld *w;
    int id;
} FreeThread;
static void free_operation(Thread *t, int id, int64_t n, Sql *q) {
    const long long a = random_below(t, FREE_ACCOUNTS), b = random_below(t, FREE_ACCOUNTS), m = random_below(t, 50);
    q->n = 0;
    switch (random_below(t, 4)) {
    case 0: add(q, "call pay(%lld, %lld, %lld, %d)", a, b, m, id); return;
    case 1: add(q, "select count(*) from bulk_call('pay', 'values (%lld, %lld, %lld, %d)') x", a, b, m, id); return;
    case 2:
        add(q,
            "begin; update purse set bal = bal - %lld where k = %lld; update purse set bal = bal + %lld where k = "
            "%lld;",
            m, a, m, b);
        break;
    default:
        add(q,
            "begin; delete from purse where k = %1$lld; insert into purse values (%1$lld, 0); update purse set bal = "
            "(select %2$d - sum(bal) from purse where k <> %1$lld) where k = %1$lld;",
            a, FREE_SUM);
    }
    add(q, "update progress set n = n + 1 where w = %d; insert into done values (%d, %lld); commit", id, id,
        (long long)n);
}
static void *write_freely(void *arg) {
    FreeThread *f = arg;
    Thread *t = &f->t;
    for (int64_t n = 1; n <= f->w->each && !t->wrong; n++) {
        Sql q;
        free_operation(t, f->id, n, &q);
        atomic_store(&f->w->begun[f->id], n);
        while (!t->wrong && stele_exec(t->c, q.text, NULL, NULL) != STELE_OK) {
            if (!is_error(t->c, "40001")) failed(t, t->c, q.text);
            if (stele_transaction_state(t->c) != 'I') stele_exec(t->c, "rollback", NULL, NULL);
            t->refused++;
            free_operation(t, f->id, n, &q);
        }
        atomic_store(&f->w->done[f->id], n);
    }
    atomic_fetch_sub(&f->w->writing, 1);
    return NULL;
}
#define FREE_SQL                                                                                                      \
    "select w, n, (select sum(bal) from purse), (select count(*) from done), (select sum(n) from progress), (select " \
    "count(*) from purse) from progress order by w"
static void *read_freely(void *arg) {
    FreeThread *f = arg;
    Thread *t = &f->t;
    FreeWorld *w = f->w;
    int64_t last[FREE_WRITERS] = {0};
    stele_stmt *s = prepare(t, FREE_SQL);
    for (bool more = true; more && !t->wrong; t->reads++) {
        int64_t lo[FREE_WRITERS];
        more = atomic_load(&w->writing) > 0;
        for (int i = 0; i < FREE_WRITERS; i++) lo[i] = atomic_load(&w->done[i]);
        int rows = 0;
        stele_status st;
        for (; (st = stele_step(s)) == STELE_ROW && rows < FREE_WRITERS; rows++) {
            const int64_t n = stele_column_int64(s, 1), hi = atomic_load(&w->begun[rows]);
            if (n < lo[rows] || n < last[rows] || n > hi)
                wrong(t, "writer %d: %lld, not in %lld (or %lld, read before) .. %lld", rows, (long long)n,
                      (long long)lo[rows], (long long)last[rows], (long long)hi);
            last[rows] = n;
            if (stele_column_int64(s, 2) != FREE_SUM || stele_column_int64(s, 5) != FREE_ACCOUNTS)
                wrong(t, "sum %lld of %lld accounts", (long long)stele_column_int64(s, 2),
                      (long long)stele_column_int64(s, 5));
            if (stele_column_int64(s, 3) != stele_column_int64(s, 4))
                wrong(t, "%lld transactions, progress %lld", (long long)stele_column_int64(s, 3),
                      (long long)stele_column_int64(s, 4));
        }
        if (st == STELE_ERROR) failed(t, t->c, FREE_SQL);
        else if (rows != FREE_WRITERS) wrong(t, "%d rows", rows);
        stele_reset(s);
    }
    stele_finalize(s);
    return NULL;
}
static void history_without_turns(void **state) {
    (void)state;
    FreeWorld w = {.db = open_at(NULL), .each = operations_each() / 2};
    FreeThread f[FREE_WRITERS + READERS];
    pthread_t threads[FREE_WRITERS + READERS];
    int64_t reads = 0, refused = 0;
    bool bad = false;
    stele_conn *c = connect_to(w.db);
    run(c, "create table purse(k int primary key, bal bigint not null); create table progress(w int primary key, n "
           "bigint not null); create table done(w int, n bigint);"
           "insert into purse select i, 100 from generate_series(0, 15) g(i);"
           "insert into progress select i, 0 from generate_series(0, 2) g(i);"
           "create procedure pay(a int, b int, m int, id int) language plpgsql as $$ begin"
           " update purse set bal = bal - m where k = a; update purse set bal = bal + m where k = b;"
           " update progress set n = n + 1 where w = id;"
           " insert into done select w, n from progress where w = id; end $$;");
    atomic_store(&w.writing, FREE_WRITERS);
    for (int i = 0; i < FREE_WRITERS + READERS; i++)
        f[i] = (FreeThread){.t = {.c = connect_to(w.db), .seed = (unsigned)i * 7919u + 1}, .w = &w, .id = i};
    for (int i = 0; i < FREE_WRITERS + READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < FREE_WRITERS ? write_freely : read_freely, &f[i]), 0);
    for (int i = 0; i < FREE_WRITERS + READERS; i++) {
        join(threads[i], &f[i].t, i < FREE_WRITERS ? "writer" : "reader", &reads, &refused);
        bad |= f[i].t.wrong;
        stele_disconnect(f[i].t.c);
    }
    print_message("%lld commits, %lld reads, %lld refused\n", (long long)w.each * FREE_WRITERS, (long long)reads,
                  (long long)refused);
    stele_disconnect(c);
    assert_int_equal(stele_close(w.db, NULL), STELE_OK);
    if (bad) fail_msg("a history is not right");
}

/* ---- scripts ------------------------------------------------------------------------------------------ */
/* The connection `on` runs `sql`, which gives rows (cells by ',', rows by ' '), "!" and an SQLSTATE, or either of two
 * by " or "; "any" or NULL: it succeeds. `on` 'a' .. 'c' are connections; 'P' .. 'R': the next run of the prepared
 * statement of that letter, of connection b, which `sql` prepares when it is given. A step without `on` ends a script.
 */
typedef struct Step {
    char on;
    const char *sql, *gives;
} Step;
typedef struct Cells {
    char text[1024];
    size_t n;
} Cells;
static bool add_cells(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    Cells *t = ctx;
    (void)names;
    for (int64_t i = 0; i < n && t->n < sizeof t->text - 100; i++)
        t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n, "%s%.80s",
                                 i      ? ","
                                 : t->n ? " "
                                        : "",
                                 v[i] ? v[i] : "NULL");
    return false;
}
static stele_status run_prepared(stele_stmt *s, Cells *got) {
    stele_status st;
    while ((st = stele_step(s)) == STELE_ROW) {
        const char *cells[8], *names[8] = {NULL};
        char kept[8][100];
        const int64_t n = stele_column_count(s);
        for (int64_t i = 0; i < n && i < 8; i++) {
            const char *v = stele_column_text(s, i, NULL);
            snprintf(kept[i], sizeof kept[i], "%s", v ? v : "NULL");
            cells[i] = kept[i];
        }
        add_cells(got, n < 8 ? n : 8, cells, names);
    }
    stele_reset(s);
    return st;
}
static bool is_one_of(const char *got, const char *gives) {
    const char *other = strstr(gives, " or ");
    if (strcmp(gives, "any") == 0) return *got != '!';
    if (!other) return strcmp(got, gives) == 0;
    return strcmp(got, other + 4) == 0 ||
           (strlen(got) == (size_t)(other - gives) && strncmp(got, gives, strlen(got)) == 0);
}
static void play(stele_db *db, const char *name, const Step *steps) {
    stele_conn *conns[3] = {NULL};
    stele_stmt *prepared[3] = {NULL};
    for (int i = 0; i < 3; i++) conns[i] = connect_to(db);
    for (int i = 0; steps[i].on; i++) {
        const Step *x = &steps[i];
        Cells got = {.n = 0};
        stele_error_info e = {.message = ""};
        const bool is_prepared = x->on >= 'P' && x->on <= 'R';
        stele_conn *c = conns[is_prepared ? 1 : x->on - 'a'];
        stele_status st;
        if (is_prepared) {
            stele_stmt **s = &prepared[x->on - 'P'];
            if (x->sql) {
                stele_finalize(*s);
                assert_int_equal(stele_prepare(c, x->sql, -1, s, NULL), STELE_OK);
            }
            st = run_prepared(*s, &got);
        } else {
            st = stele_exec(c, x->sql, add_cells, &got);
        }
        if (st == STELE_ERROR) {
            stele_error(c, &e);
            snprintf(got.text, sizeof got.text, "!%s", e.sqlstate);
        } else if (got.n == 0) {
            snprintf(got.text, sizeof got.text, "-");
        }
        if (x->gives ? !is_one_of(got.text, x->gives) : st == STELE_ERROR)
            fail_msg("%s, step %d: %c %s: %s %s, not %s", name, i, x->on, x->sql ? x->sql : "", got.text, e.message,
                     x->gives ? x->gives : "success");
    }
    for (int i = 0; i < 3; i++) stele_finalize(prepared[i]);
    for (int i = 0; i < 3; i++) stele_disconnect(conns[i]);
}

static const char script_setup[] =
    "create table t(id int primary key, name text unique, v int); insert into t values (1, 'one', 10), (2, 'two', 20);"
    "create table u(id int primary key, v int); insert into u values (1, 10), (2, 20);"
    "create view tv as select id, v, 0 as def from t; create function f() returns bigint language plpgsql as $$ begin "
    "return (select sum(v) from t); end $$;"
    "create procedure add_to(k int, d int) language plpgsql as $$ begin update t set v = v + d where id = k;"
    " if not found then raise exception 'no row'; end if; update u set v = v + d where id = k; end $$";
#define BOTH "select t.id, t.v, u.v from t join u using (id) order by 1"
static const Step committed[] = {
    {'b', "select sum(v), f() from t", "30,30"},
    {'P', "select v from t where id = 1", "10"},
    {'Q', "select id from t where name = 'one'", "1"},
    {'R', BOTH, "1,10,10 2,20,20"},
    {'a', "begin; update t set v = v + 1; update u set v = v + 1", NULL},
    {'a', BOTH, "1,11,11 2,21,21"},
    {'b', "select sum(v), f() from t", "30,30"},
    {'P', NULL, "10"},
    {'R', NULL, "1,10,10 2,20,20"},
    {'c', "select * from tv order by id", "1,10,0 2,20,0"},
    {'a', "commit", NULL},
    {'P', NULL, "11"},
    {'R', NULL, "1,11,11 2,21,21"},
    {'b', "select sum(v), f() from t", "32,32"},
    {'c', "select * from tv order by id", "1,11,0 2,21,0"},
    {'a', "begin; delete from t where id = 1; insert into t values (3, 'one', 5); update u set id = 3 where id = 1",
     NULL},
    {'P', NULL, "11"},
    {'Q', NULL, "1"},
    {'a', "rollback", NULL},
    {'P', NULL, "11"},
    {'Q', NULL, "1"},
    {'R', NULL, "1,11,11 2,21,21"},
    {'a', "update t set id = 3 where id = 1", NULL},
    {'P', NULL, "-"},
    {'Q', NULL, "3"},
    {'R', NULL, "2,21,21"},
    {'a', "call add_to(2, 4)", NULL},
    {'R', NULL, "2,25,25"},
    {'a', "select sqlstate from bulk_call('add_to', 'values (2, 1), (9, 1), (2, 2), (3, 1)') b order by call",
     "NULL P0001 NULL NULL"},
    {'R', NULL, "2,28,28"},
    {'a', "call add_to(9, 4)", "!P0001"},
    {'b', "select id, name, v from t order by name", "3,one,12 2,two,28"},
    {'a', "insert into t values (4, 'four', 1), (5, 'two', 1)", "!23505"},
    {'b', "select count(*), f() from t", "2,40"},
    {'a', "begin; update t set v = 0; savepoint s; delete from t; rollback to s", NULL},
    {'b', "select count(*), f() from t", "2,40"},
    {'a', "select count(*), f() from t", "2,0"},
    {'a', "commit", NULL},
    {'b', "select count(*), f() from t", "2,0"},
    {'b', "select name from t where exists (select 1 from u where u.id = t.id)", "two"},
    {0, NULL, NULL}};
static const Step repeatable[] = {
    {'b', "begin", NULL},
    {'a', "update t set v = 11 where id = 1", NULL},
    {'b', "select sum(v) from t", "31"},
    {'a', "begin; update t set v = 12 where id = 1; update u set v = 12 where id = 1; commit", NULL},
    {'b', "select sum(v), f() from t", "31,31"},
    {'b', BOTH, "1,11,10 2,20,20"},
    {'c', BOTH, "1,12,12 2,20,20"},
    {'a', "insert into t values (3, 'three', 30)", NULL},
    {'a', "delete from t where id = 2", NULL},
    {'b', "select id, name, v from t order by name", "1,one,11 2,two,20"},
    {'c', "select id, name, v from t order by name", "1,one,12 3,three,30"},
    {'b', "select v from t where id = 3", "-"},
    {'b', "select id from t where name = 'two'", "2"},
    {'a', "truncate t", NULL},
    {'b', "select count(*) from t", "2"},
    {'c', "select count(*) from t", "0"},
    {'b', "commit", NULL},
    {'b', "select count(*) from t", "0"},
    {0, NULL, NULL}};
static const Step defined[] = {
    {'P', "select max(def), count(*) from tv", "0,2"},
    {'Q', "select f()", "30"},
    {'R', "select * from t order by id", "1,one,10 2,two,20"},
    {'a', "create or replace view tv as select id, v, 7 as def from t where id = 1", NULL},
    {'P', NULL, "7,1"},
    {'a', "create or replace function f() returns bigint language sql as 'select 99'", NULL},
    {'Q', NULL, "99"},
    {'b', "select f(), max(def) from tv", "99,7"},
    {'a', "alter table t add column w int default 5", NULL},
    {'R', NULL, "1,one,10,5 2,two,20,5"},
    {'a', "alter table t rename column w to x; update t set x = 6 where id = 2", NULL},
    {'R', NULL, "1,one,10,5 2,two,20,6"},
    {'b', "select x from t order by id", "5 6"},
    {'b', "select w from t", "!42703"},
    {'a', "alter table t drop column x", NULL},
    {'R', NULL, "1,one,10 2,two,20"},
    {'b', "select * from fresh", "!42P01"},
    {'a', "begin; create table fresh(a int); insert into fresh values (1); commit", NULL},
    {'b', "select * from fresh", "1"},
    {'a', "alter table fresh rename to old", NULL},
    {'b', "select * from fresh", "!42P01"},
    {'b', "select * from old", "1"},
    {'a', "begin; drop table old; create table old(a text, b text); insert into old values ('x', 'y'); commit", NULL},
    {'b', "select * from old", "x,y"},
    {'a', "drop view tv", NULL},
    {'P', NULL, "!42P01"},
    {'a', "create view tv as select 3 as def", NULL},
    {'P', NULL, "3,1"},
    {'a', "create unique index t_v on t(v)", NULL},
    {'b', "select id from t where v = 20", "2"},
    {'a', "vacuum t; analyze t; checkpoint", NULL},
    {'R', NULL, "1,one,10 2,two,20"},
    {'a', "begin; drop table u; rollback", NULL},
    {'b', "select sum(v) from u", "30"},
    {'a', "drop table u", NULL},
    {'b', "select sum(v) from u", "!42P01"},
    {0, NULL, NULL}};
/* Queries that write, by functions; a prepared one may begin to do so when its function is replaced. */
static const Step writing[] = {
    {'P', "select f()", "30"},
    {'Q', "select v from t where id = 1", "10"},
    {'a',
     "create function bump(d int) returns bigint language plpgsql as $$ begin update t set v = v + d; update u set "
     "v = v + d; return (select sum(v) from t); end $$",
     NULL},
    {'b', "select bump(1)", "32"},
    {'b', "select sum(v) from t", "32"},
    {'c', BOTH, "1,11,11 2,21,21"},
    {'Q', NULL, "11"},
    {'a', "create or replace function f() returns bigint language plpgsql as $$ begin return bump(1); end $$", NULL},
    {'P', NULL, "34"},
    {'P', NULL, "36"},
    {'Q', NULL, "13"},
    {'c', BOTH, "1,13,13 2,23,23"},
    {'a', "create view bumped as select f() as s", NULL},
    {'b', "select s from bumped", "38"},
    {'c', "explain analyze select f()", "any"},
    {'b', "select sum(v) from t", "40"},
    {'b', "select id, v from t for update", "1,15 2,25"},
    {'a', "begin; select f()", "42"},
    {'Q', NULL, "15"},
    {'c', BOTH, "1,15,15 2,25,25"},
    {'a', "rollback", NULL},
    {'Q', NULL, "15"},
    {'a',
     "create or replace function f() returns bigint language plpgsql as $$ begin perform bump(1); raise exception "
     "'no'; end $$",
     NULL},
    {'P', NULL, "!P0001"},
    {'Q', NULL, "15"},
    {'a',
     "create or replace function f() returns bigint language plpgsql as $$ begin execute 'update t set v = 1'; "
     "return 1; end $$",
     NULL},
    {'P', NULL, "1"},
    {'c', "select id, v from t order by id", "1,1 2,1"},
    {'b', "update t set v = 2 where id = 2", NULL},
    {'b', "select sum(v) from t", "3"},
    {'a', "select sum(v) from t", "3"},
    {0, NULL, NULL}};
/* Another's open definitions, TRUNCATE and COPY: what was committed before or, while the lock is held, 55P03 - nothing
 * of theirs. */
static const Step open_definitions[] = {
    {'P', "select sum(v) from t", "30"},
    {'b', "set lock_timeout = '20ms'", NULL},
    {'a', "begin; create table made(a int); insert into made values (1)", NULL},
    {'b', "select * from made", "!42P01 or !55P03"},
    {'a', "select * from made", "1"},
    {'P', NULL, "30 or !55P03"},
    {'a', "update t set v = 0", NULL},
    {'P', NULL, "30 or !55P03"},
    {'a', "alter table t add column w int default 1; drop view tv; drop table u", NULL},
    {'b', "select * from t order by id", "1,one,10 2,two,20 or !55P03"},
    {'b', "select count(*) from u", "2 or !55P03"},
    {'b', "select max(def) from tv", "0 or !55P03"},
    {'a', "truncate t", NULL},
    {'P', NULL, "30 or !55P03"},
    {'a', "rollback", NULL},
    {'P', NULL, "30"},
    {'b', "select count(*) from u join tv using (id)", "2"},
    {'b', "select * from made", "!42P01"},
    {'a', "begin; truncate t; insert into t values (5, 'five', 5)", NULL},
    {'a', "select count(*), f() from t", "1,5"},
    {'P', NULL, "30 or !55P03"},
    {'b', "select name from t order by 1", "one two or !55P03"},
    {'a', "commit", NULL},
    {'P', NULL, "5"},
    {'b', "select name from t order by 1", "five"},
    {'a', "begin; create or replace function f() returns bigint language sql as 'select 1'", NULL},
    {'b', "select f()", "5 or !55P03"},
    {'a', "commit", NULL},
    {'b', "select f()", "1"},
    {0, NULL, NULL}};
/* Statements that fail while they read or change, and what others see of it. */
static const Step failing[] = {{'P', "select 100 / v from t where id = 1", "10"},
                               {'a', "update t set v = 0 where id = 1", NULL},
                               {'P', NULL, "!22012"},
                               {'b', "select sum(v) from t", "20"},
                               {'a', "update t set v = 10 / (v - 20)", "!22012"},
                               {'a', "begin; update t set v = 5; select 1 / 0", "!22012"},
                               {'P', NULL, "!22012"},
                               {'b', "select sum(v) from t", "20"},
                               {'a', "commit", NULL},
                               {'b', "select sum(v) from t", "20"},
                               {'a', "update t set v = 4 where id = 1", NULL},
                               {'P', NULL, "25"},
                               {'a', "update t set id = id + 1 where id = 1", "!23505"},
                               {'a', "update t set id = id + 1", NULL},
                               {'P', NULL, "-"},
                               {'b', "select id, v from t order by id", "2,4 3,20"},
                               {'b', "select v from t where id = (select id from t)", "!21000"},
                               {'b', "select count(*) from t", "2"},
                               {0, NULL, NULL}};
static void scripts(const char *path) {
    static const struct {
        const char *name;
        const Step *steps;
    } all[] = {{"committed", committed}, {"repeatable", repeatable},
               {"defined", defined},     {"open definitions", open_definitions},
               {"writing", writing},     {"failing", failing}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char at[80];
        if (path) snprintf(at, sizeof at, "%s/%zu", path, i);
        stele_db *db = open_at(path ? at : NULL);
        stele_conn *c = connect_to(db);
        run(c, script_setup);
        if (path) run(c, "checkpoint");
        stele_disconnect(c);
        play(db, all[i].name, all[i].steps);
        assert_int_equal(stele_close(db, NULL), STELE_OK);
    }
}
static void scripts_in_memory(void **state) {
    (void)state;
    scripts(NULL);
}
static void scripts_in_a_directory(void **state) {
    (void)state;
    char path[64];
    new_folder(path, sizeof path);
    scripts(path);
    remove_folder(path);
}

/* ---- results that stay what they were ------------------------------------------------------------------ */
enum { BIG = 5000 };
/* Row i of it, from 0: i, a text of its own, one of a few, and twice i as bigint. */
#define BIG_SQL "select i, own, few, v from big order by i"
static void check_big_row(stele_stmt *s, int64_t i) {
    char own[48], few[16];
    snprintf(own, sizeof own, "a text that is long enough %lld", (long long)i);
    snprintf(few, sizeof few, "few %lld", (long long)i % 5);
    assert_int_equal(stele_column_int64(s, 0), i);
    assert_string_equal(stele_column_text(s, 1, NULL), own);
    assert_string_equal(stele_column_text(s, 2, NULL), few);
    assert_int_equal(stele_column_int64(s, 3), i * 2);
}
static void step_big(stele_stmt *s, int64_t *at, int64_t to) {
    for (; *at < to; ++*at) {
        assert_int_equal(stele_step(s), STELE_ROW);
        check_big_row(s, *at);
    }
}
static void results_stay(void **state) {
    (void)state;
    static const char *const changes[] = {
        "update big set v = 0, own = 'changed', few = 'x' || i",
        "begin; delete from big where i % 2 = 0; insert into big select i, 'new', 'y', 0 from generate_series(0, 4998, "
        "2) g(i); commit",
        "delete from big",
        "vacuum big; analyze big",
        "begin; truncate big; insert into big values (1, 'a', 'b', 3); commit",
        "alter table big add column w int default 3; alter table big drop column own; vacuum big",
        "alter table big rename to small; create table big(i int); insert into big values (1)",
        "checkpoint",
        "drop table big",
        "begin; drop table big; create table big(i text); commit; drop table big",
    };
    char path[64], at_path[80];
    new_folder(path, sizeof path);
    for (int on_disk = 0; on_disk < 2; on_disk++) {
        snprintf(at_path, sizeof at_path, "%s/db", path);
        stele_db *db = open_at(on_disk ? at_path : NULL);
        stele_conn *a = connect_to(db);
        for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
            stele_conn *b = connect_to(db);
            stele_stmt *s, *stays;
            int64_t at = 0, stays_at = 0;
            run(a, "drop table if exists big, small; create table big(i int primary key, own text, few text, v bigint);"
                   "insert into big select i, 'a text that is long enough ' || i, 'few ' || i % 5, i * 2 from "
                   "generate_series(0, 4999) g(i); vacuum big");
            assert_int_equal(stele_prepare(b, BIG_SQL, -1, &s, NULL), STELE_OK);
            assert_int_equal(stele_prepare(b, "select * from big where i >= $1", -1, &stays, NULL), STELE_OK);
            assert_int_equal(stele_bind_int64(stays, 1, 0), STELE_OK);
            step_big(s, &at, 10);
            assert_int_equal(stele_run(stays), STELE_DONE);
            run(a, changes[i]);
            step_big(s, &at, BIG / 2);
            run(a, "begin; create table other(x int, y text); insert into other select i, 'z' || i from "
                   "generate_series(1, 2000) g(i); drop table other; commit");
            for (; stays_at < BIG; stays_at++) assert_int_equal(stele_step(stays), STELE_ROW);
            assert_int_equal(stele_step(stays), STELE_DONE);
            step_big(s, &at, BIG);
            assert_int_equal(stele_step(s), STELE_DONE);
            stele_reset(s);
            /* What is there now: an error, or the new rows, but none of the old. */
            if (stele_step(s) == STELE_ROW && i != 3 && i != 7)
                assert_string_not_equal(stele_column_text(s, 1, NULL), "a text that is long enough 0");
            if (i % 2) stele_finalize(s); /* else by disconnecting, with rows left */
            if (i % 2) stele_finalize(stays);
            stele_disconnect(b);
        }
        stele_disconnect(a);
        assert_int_equal(stele_close(db, NULL), STELE_OK);
    }
    remove_folder(path);
}
/* Results of several states side by side, each of its own, given back in another order. */
static void results_of_many_states(void **state) {
    (void)state;
    enum { MANY = 12, ROWS_EACH = 600 };
    stele_db *db = open_at(NULL);
    stele_conn *a = connect_to(db), *conns[MANY];
    stele_stmt *stmts[MANY];
    run(a, "create table t(id int primary key, v bigint, w text); insert into t select i, 0, 'w0' from "
           "generate_series(1, 600) g(i)");
    for (int k = 0; k < MANY; k++) {
        char sql[96];
        conns[k] = connect_to(db);
        snprintf(sql, sizeof sql, "update t set v = %d, w = 'w%d'", k, k);
        run(a, sql);
        if (k % 4 == 3) run(a, "vacuum t");
        assert_int_equal(stele_prepare(conns[k], "select id, v, w from t order by id", -1, &stmts[k], NULL), STELE_OK);
        assert_int_equal(stele_step(stmts[k]), STELE_ROW);
    }
    for (int j = 0; j < MANY; j++) {
        const int k = j * 5 % MANY;
        char word[16];
        snprintf(word, sizeof word, "w%d", k);
        for (int64_t i = 1; i <= ROWS_EACH; i++) {
            assert_int_equal(stele_column_int64(stmts[k], 0), i);
            assert_int_equal(stele_column_int64(stmts[k], 1), k);
            assert_string_equal(stele_column_text(stmts[k], 2, NULL), word);
            assert_int_equal(stele_step(stmts[k]), i < ROWS_EACH ? STELE_ROW : STELE_DONE);
        }
        if (j % 3 == 0) run(a, "delete from t where id = 1; insert into t values (1, -1, 'again')");
        if (j % 2) stele_finalize(stmts[k]);
        stele_disconnect(conns[k]);
    }
    stele_disconnect(a);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(scripts_in_memory),     cmocka_unit_test(scripts_in_a_directory),
        cmocka_unit_test(results_stay),          cmocka_unit_test(results_of_many_states),
        cmocka_unit_test(history_in_memory),     cmocka_unit_test(history_in_a_directory),
        cmocka_unit_test(history_with_the_pool), cmocka_unit_test(history_without_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
