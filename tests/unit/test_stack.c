/* test_stack.c - deeply nested statements on threads with stacks of several sizes: an answer or 54001, and the
 * connection goes on; other stacks than the thread's own; interrupts while a statement is planned. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "base/stack.h"
#include "stele/stele.h"
#include "unit.h"

/* ---- texts ---------------------------------------------------------------------------------- */

typedef struct Text {
    char *s;
    size_t n, cap;
} Text;
static void add(Text *t, const char *s, int i) { /* %d in s is i, %e is i - 1 */
    if (!t->s) t->s = malloc(t->cap = 4096);
    for (; *s; s++) {
        if (t->cap - t->n < 64) t->s = realloc(t->s, t->cap *= 2);
        if (s[0] == '%' && (s[1] == 'd' || s[1] == 'e'))
            t->n += (size_t)sprintf(t->s + t->n, "%d", s[1] == 'd' ? i : i - 1), s++;
        else t->s[t->n++] = *s;
    }
    t->s[t->n] = 0;
}
static void repeat(Text *t, const char *s, int n) {
    for (int i = 1; i <= n; i++) add(t, s, i);
}

/* A statement of depth n: head, n times open, middle, n times close, tail. */
typedef struct Shape {
    const char *head, *open, *middle, *close, *tail;
} Shape;
static const Shape shapes[] = {
    {"with c0 as (select 1 as a)", ", c%d as (select a + 1 as a from c%e)", " select count(*) from c0", "", ""},
    {"with c0 as (select 1 as a)", ", c%d as (select a + (select 1) as a from c%e)", " select max(a) from c1", "", ""},
    {"with c0 as materialized (select 1 as a)", ", c%d as materialized (select a + 1 as a from c%e)",
     " select * from c1", "", ""},
    {"", "with a as (", "select 1 as x", ") select * from a", ""},
    {"select * from ", "(select * from ", "t", ") x%d", ""},
    {"select * from ", "(select a + 1 as a from ", "t", ") x%d where a > %d", ""},
    {"select ", "(select ", "1", ")", ""},
    {"select * from t t0 where ", "exists (select 1 from t t%d where t%d.a = t%e.a and ", "true", ")", ""},
    {"select * from t where a in ", "(select a from t where a in ", "(1)", ")", ""},
    {"select 1", " union select %d", "", "", ""},
    {"select 1", " union all select a from t where a = %d", "", "", ""},
    {"select 1", " except (select %d", "", ")", ""},
    {"select 1 as a", " intersect all select %d", "", "", " order by 1"},
    {"select count(*) from t t0", " join t t%d on t%d.a = t%e.a", "", "", ""},
    {"select count(*) from t t0", " left join t t%d on t%d.a = t%e.a", "", "", ""},
    {"select count(*) from t t0", " left join (t t%d", " cross join t", ") on true", ""},
    {"select count(*) from t t0", ", lateral (select t%e.a + 1 as a) t%d", "", "", ""},
    {"select ", "(", "1", ")", ""},
    {"select a from t where ", "(a = %d or ", "false", ")", ""},
    {"select a from t where true", " and (a <> %d or b > %d)", "", "", ""},
    {"select a from t where ", "(a <> %d and (b = %d or ", "true", "))", ""},
    {"select 1", " + %d", "", "", ""},
    {"select a", " + a", "", "", " from t"},
    {"select ", "a + (", "a", ")", " from t"},
    {"select ", "- (a - ", "a", ")", " from t"},
    {"select ", "not ", "true", "", ""},
    {"select ", "not (b and ", "b", ")", " from t2"},
    {"select ", "case when a = %d then %d else ", "0", " end", " from t"},
    {"select ", "case when a = 1 then ", "a", " end", " from t"},
    {"select case ", "when a = %d then %d ", "else 0 end from t", "", ""},
    {"select ", "coalesce(", "a", ", 1)", " from t"},
    {"select ", "coalesce(nullif(a, 7), ", "a", ")", " from t"},
    {"select ", "abs(", "a", ")", " from t"},
    {"select ", "abs(", "-1", ")", ""},
    {"select ", "greatest(a, ", "a", ")", " from t"},
    {"select ", "upper(s || ", "s", ")", " from t"},
    {"select ", "f(", "1", ")", ""},
    {"select recursive(", "", "100000", "", ")"},
    {"select a", "::text::int", "", "", " from t"},
    {"select ", "cardinality(array[", "1", "])", ""},
    {"select array[1", ", %d", "", "", "]"},
    {"select ", "(", "(array[1])", ")[1:1]", ""},
    {"select a from t where a in (0", ", %d", "", "", ")"},
    {"select a from t where false", " or a in (select %d)", "", "", ""},
    {"insert into t2 values (true)", ", (false)", "", "", ""},
    {"select 1 from t group by ", "(a, ", "b", ")", ""},
    {"select a from t group by grouping sets (", "grouping sets (", "a", ")", ")"},
    {"select ", "row(1, ", "1", ") is not null", ""}, /* the text of rows in rows doubles its quotes each time */
    {"do $$ begin ", "begin ", "null; ", "end; ", "end $$"},
    {"do $$ begin ", "if true then ", "null; ", "end if; ", "end $$"},
    {"do $$ begin if false then null; ", "elsif false then null; ", "", "", "end if; end $$"},
    {"do $$ begin ", "for i in 1 .. 1 loop ", "null; ", "end loop; ", "end $$"},
    {"do $$ begin ", "begin ", "raise exception 'x'; ", "exception when division_by_zero then null; end; ", "end $$"},
    {"do $$ declare x int; begin x := ", "(1 + ", "1", ")", "; end $$"},
    {"create or replace function g(x int) returns int language plpgsql as $$ begin ", "if x > %d then return %d; ", "",
     "end if; ", "return 0; end $$"},
    {"select * from v%d", "", "", "", ""},
    {"create or replace view w as select ", "(select ", "1", ")", " as a"},
    {"create table if not exists t3 (a int check (", "(a > 0) and (", "true", ")", "))"},
    {"prepare p as select ", "abs(", "1", ")", "; deallocate p"},
    {"copy (select ", "abs(", "1", ")", ") to stdout"},
};

/* ---- running --------------------------------------------------------------------------------- */

enum { VIEWS = 400 };
static stele_db *db;
static int64_t answers, refusals;

static bool drop_output(void *ctx, const char *data, int64_t size) {
    (void)ctx, (void)data, (void)size;
    return true;
}

/* What else a statement may end with: it is about something else that the statement does, or had no time. */
static bool expected(const char *sqlstate) {
    static const char *const states[] = {
        "57014", "0A000" /* EXPLAIN of what has no plan */, "42601" /* EXPLAIN DO */, "42804", "42803", "P0001",
        "42P01" /* no such view */};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(sqlstate, states[i]) == 0) return true;
    return false;
}

/* An answer or 54001; then the connection answers still. */
static void run_one(stele_conn *c, const char *sql, const char *what) {
    stele_error_info e;
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) {
        answers++;
        return;
    }
    stele_error(c, &e);
    if (strcmp(e.sqlstate, "54001") == 0) refusals++;
    else if (!expected(e.sqlstate)) fail_msg("%s: %s %s", what, e.sqlstate, e.message);
    if (stele_transaction_state(c) != 'I') fail_msg("%s: in a transaction", what);
}

typedef struct Case {
    size_t stack; /* bytes */
    int depth;
    const char *prefix;
} Case;

static void make(Text *t, const Shape *s, const char *prefix, int n) {
    t->n = 0;
    add(t, prefix, n);
    add(t, s->head, n);
    repeat(t, s->open, n);
    add(t, s->middle, n);
    repeat(t, s->close, n);
    add(t, s->tail, n);
}

static void *run_all(void *arg) {
    const Case *k = arg;
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    stele_set_copy_streams(c, NULL, drop_output, NULL);
    (void)stele_exec(c, "set statement_timeout = '300ms'", NULL, NULL);
    Text t = {0};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char what[160];
        snprintf(what, sizeof what, "%s%.40s%.30s, depth %d, stack of %zu KiB", k->prefix, shapes[i].head,
                 shapes[i].open, k->depth, k->stack >> 10);
        make(&t, &shapes[i], k->prefix, k->depth);
        run_one(c, t.s, what);
        if (k->stack >= 128 << 10 && stele_exec(c, "select 1", NULL, NULL) != STELE_OK)
            fail_msg("%s: the connection is broken", what);
    }
    free(t.s);
    stele_disconnect(c);
    return NULL;
}

static void run_on(size_t stack, int depth, const char *prefix) {
    Case k = {stack, depth, prefix};
    pthread_t th;
    pthread_attr_t a;
    assert_int_equal(pthread_attr_init(&a), 0);
    assert_int_equal(pthread_attr_setstacksize(&a, stack * STACK_FACTOR), 0);
    assert_int_equal(pthread_create(&th, &a, run_all, &k), 0);
    pthread_join(th, NULL);
    pthread_attr_destroy(&a);
}

/* ---- tests --------------------------------------------------- */

static void stacks(void **state) {
    static const struct {
        size_t kib;
        int depth;
    } cases[] = {{64, 10},     {64, 1000},  {128, 100},   {256, 10},   {256, 300},
                 {256, 20000}, {1024, 900}, {1024, 5000}, {8192, 2000}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t before = answers;
        run_on(cases[i].kib << 10, cases[i].depth, "");
        if (cases[i].kib >= 256 && cases[i].depth == 10)
            assert_true(answers - before > 50); /* most of them are no task */
        if (cases[i].depth < 5000) run_on(cases[i].kib << 10, cases[i].depth, "explain ");
    }
    assert_true(refusals > 100);
}

/* Each of several coroutines, whose stacks are no thread's, uses what is on its own only. */
enum { COROUTINES = 3, COROUTINE_STACK = STACK_FACTOR * (256 << 10) };
static ucontext_t back, in[COROUTINES];
static void coroutine(void) {
    Case k = {COROUTINE_STACK, 300, ""};
    run_all(&k);
}
static void coroutines(void **state) {
    int64_t before = answers;
    (void)state;
    for (int i = 0; i < COROUTINES; i++) {
        char *stack = malloc(COROUTINE_STACK);
        assert_non_null(stack);
        assert_int_equal(getcontext(&in[i]), 0);
        in[i].uc_stack.ss_sp = stack;
        in[i].uc_stack.ss_size = COROUTINE_STACK;
        in[i].uc_link = &back;
        makecontext(&in[i], coroutine, 0);
        assert_int_equal(swapcontext(&back, &in[i]), 0);
        free(stack);
    }
    assert_true(answers > before);
}

/* A routine that calls itself without end ends with 54001, which a handler of the routine may catch. */
static void handlers(void **state) {
    stele_conn *c;
    (void)state;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(stele_exec(c,
                                "do $$ begin perform endless(1); raise exception 'it ended'; exception when "
                                "statement_too_complex then null; end $$",
                                NULL, NULL),
                     STELE_OK);
    assert_int_equal(stele_exec(c, "select endless(1)", NULL, NULL), STELE_ERROR);
    stele_error_info e;
    stele_error(c, &e);
    assert_string_equal(e.sqlstate, "54001");
    assert_string_equal(e.message, "stack depth limit exceeded");
    assert_non_null(strstr(e.hint, "larger stack"));
    stele_disconnect(c);
}

/* ---- interrupts while planning ------------------------------------------------------------------ */

typedef struct Interrupt {
    stele_conn *c;
    const char *timeout; /* of the statement; NULL: another thread cancels it */
    _Atomic bool over;
} Interrupt;
static void *cancel(void *arg) {
    Interrupt *k = arg;
    while (!atomic_load(&k->over)) { /* again and again: a call that begins forgets it */
        stele_interrupt(k->c);
        sched_yield();
    }
    return NULL;
}
/* EXPLAIN plans and does not run; planning each of these would take minutes. */
static void *plan_long(void *arg) {
    static const Shape slow[] = {
        {"explain select * from ", "(select a + b as a, b from ", "t", ") x%d where a > %d", ""},
        {"explain with c0 as (select 1 as a)", ", c%d as (select (select a + 1 from c%e) as a)",
         " select * from c12000", "", ""},
        {"explain select count(*) from t t0", " join t t%d on t%d.a = t%e.a", "", "", ""},
    };
    static const int depth[] = {1500, 12000, 12000};
    Interrupt *k = arg;
    Text t = {0};
    for (int i = 0; i < 3; i++) {
        make(&t, &slow[i], "", depth[i]);
        if (stele_exec(k->c, t.s, NULL, NULL) != STELE_ERROR) fail_msg("planned: %.60s", t.s);
        stele_error_info e;
        stele_error(k->c, &e);
        if (strcmp(e.sqlstate, "57014") != 0) fail_msg("%.60s: %s %s", t.s, e.sqlstate, e.message);
        assert_string_equal(e.message, k->timeout ? "canceling statement due to statement timeout"
                                                  : "canceling statement due to user request");
        assert_int_equal(stele_transaction_state(k->c), 'I');
    }
    free(t.s);
    atomic_store(&k->over, true);
    return NULL;
}
static void interrupt_with(const char *timeout) {
    Interrupt k = {.timeout = timeout};
    char sql[60];
    pthread_t th, other;
    pthread_attr_t a;
    assert_int_equal(stele_connect(db, &k.c), STELE_OK);
    snprintf(sql, sizeof sql, "set statement_timeout = '%s'", timeout ? timeout : "0");
    assert_int_equal(stele_exec(k.c, sql, NULL, NULL), STELE_OK);
    assert_int_equal(pthread_attr_init(&a), 0);
    assert_int_equal(pthread_attr_setstacksize(&a, (size_t)STACK_FACTOR << 27), 0);
    assert_int_equal(pthread_create(&th, &a, plan_long, &k), 0);
    if (!timeout) assert_int_equal(pthread_create(&other, NULL, cancel, &k), 0);
    pthread_join(th, NULL);
    if (!timeout) pthread_join(other, NULL);
    pthread_attr_destroy(&a);
    assert_int_equal(stele_exec(k.c, "select 1", NULL, NULL), STELE_OK);
    stele_disconnect(k.c);
}
static void interrupts(void **state) {
    (void)state;
    interrupt_with(NULL);
    interrupt_with("50ms");
}

/* What fails because a walk was cut short fails as the walk did. */
static void errors(void **state) {
    (void)state;
    _Atomic bool cancel = true;
    Err e = {0};
    const StackWatch before = stack_watch_begin(&cancel, 0);
    assert_true(stack_stop());
    cancel = false;
    err_set(&e, ERR_FEATURE_NOT_SUPPORTED, "something is not supported");
    assert_int_equal(stack_failed(&e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_QUERY_CANCELED);
    err_clear(&e);
    err_set(&e, ERR_FEATURE_NOT_SUPPORTED, "something is not supported");
    assert_int_equal(stack_failed(&e), ST_ERROR);
    assert_string_equal(e.sqlstate, ERR_FEATURE_NOT_SUPPORTED);
    stack_watch_end(before);
}

static int open_db(void **state) {
    stele_conn *c;
    char sql[100];
    (void)state;
    assert_int_equal(stele_open(NULL, NULL, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    assert_int_equal(
        stele_exec(c,
                   "create table t (a int, b int, s text); insert into t values (1, 2, 'x'), (2, 3, 'y'); create table "
                   "t2 (b bool); insert into t2 values (true);"
                   "create function f(x int) returns int language plpgsql as $$ begin return x; end $$;"
                   "create function endless(x int) returns int language plpgsql as $$ begin return endless(x); end $$;"
                   "create function recursive(x int) returns int language plpgsql as $$ begin if x = 0 then return 0; "
                   "end if; return recursive(x - 1); end $$;"
                   "create view v0 as select a from t",
                   NULL, NULL),
        STELE_OK);
    for (int i = 1; i <= VIEWS; i++) {
        snprintf(sql, sizeof sql, "create view v%d as select a + 1 as a from v%d", i, i - 1);
        if (stele_exec(c, sql, NULL, NULL) != STELE_OK) return 1;
    }
    stele_disconnect(c);
    return 0;
}
static int close_db(void **state) {
    (void)state;
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks),     cmocka_unit_test(coroutines), cmocka_unit_test(handlers),
        cmocka_unit_test(interrupts), cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, open_db, close_db);
}
