/* test_sequences.c - numbers of sequences: none comes twice, of several connections at once, after ROLLBACK and after
 * reopening; none is lost where the sequence has no CACHE. */
#include <ftw.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stele/stele.h"
#include "unit.h"

enum { THREADS = 4, EACH = 150, ALL = THREADS * EACH };

static void run(stele_conn *c, const char *sql) {
    if (stele_exec(c, sql, NULL, NULL) == STELE_OK) return;
    stele_error_info e;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static bool take(void *ctx, int64_t n, const char *const *values, const char *const *names) {
    (void)n, (void)names;
    *(int64_t *)ctx = values[0] ? atoll(values[0]) : -1;
    return false;
}
static int64_t number(stele_conn *c, const char *sql) {
    int64_t out = -1;
    return stele_exec(c, sql, take, &out) == STELE_OK ? out : -1;
}
static stele_conn *connect_to(stele_db *db) {
    stele_conn *c;
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    return c;
}

typedef struct Taker {
    stele_conn *c;
    int id;
    int64_t got[EACH]; /* of the sequence s */
    bool wrong;
} Taker;
/* By reading, by a default of an insert, in a transaction that is rolled back. */
static void *takes(void *ctx) {
    Taker *t = ctx;
    for (int i = 0; i < EACH && !t->wrong; i++) {
        if (i % 5 == 3) {
            t->wrong = stele_exec(t->c, "begin", NULL, NULL) != STELE_OK;
            t->got[i] = number(t->c, "select nextval('s')");
            t->wrong |= stele_exec(t->c, "rollback", NULL, NULL) != STELE_OK;
        } else if (i % 5 == 4) {
            t->got[i] = number(t->c, "insert into t (b) values (1) returning a");
        } else {
            t->got[i] = number(t->c, "select nextval('s')");
        }
        t->wrong |= t->got[i] < 0 || (i > 0 && t->got[i] <= t->got[i - 1]);
    }
    return NULL;
}
static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
/* What all threads were given, in order. */
static void take_beside(stele_db *db, int64_t *all) {
    Taker *takers = calloc(THREADS, sizeof *takers);
    pthread_t threads[THREADS];
    assert_non_null(takers);
    for (int i = 0; i < THREADS; i++) {
        takers[i].c = connect_to(db);
        takers[i].id = i;
        assert_int_equal(pthread_create(&threads[i], NULL, takes, &takers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        if (takers[i].wrong) {
            stele_error_info e;
            stele_error(takers[i].c, &e);
            fail_msg("connection %d: %s %s", i, e.sqlstate, e.message);
        }
        memcpy(all + i * EACH, takers[i].got, sizeof takers[i].got);
        stele_disconnect(takers[i].c);
    }
    free(takers);
    qsort(all, ALL, sizeof *all, by_value);
    for (int i = 1; i < ALL; i++) assert_true(all[i] > all[i - 1]);
}

static void beside_each_other(void **state) {
    (void)state;
    stele_db *db;
    int64_t all[ALL];
    stele_error_info e;
    assert_int_equal(stele_open(":memory:", NULL, &db, &e), STELE_OK);
    stele_conn *c = connect_to(db);
    run(c, "create sequence s; create table t (a bigint default nextval('s'), b int)");
    take_beside(db, all);
    assert_int_equal(all[0], 1);
    assert_int_equal(all[ALL - 1], ALL); /* none is lost */
    run(c, "alter sequence s cache 7");
    take_beside(db, all);
    assert_int_equal(all[0], ALL + 1);
    assert_true(all[ALL - 1] < 2 * ALL + 7 * THREADS); /* but for those kept by connections that have ended */
    assert_int_equal(number(c, "select count(*) - count(distinct a) from t"), 0);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f) {
    (void)st, (void)kind, (void)f;
    return remove(path);
}

static void after_reopening(void **state) {
    (void)state;
    char dir[] = "/tmp/stele_sequences_XXXXXX", path[64];
    stele_db *db;
    stele_error_info e;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/db", dir);
    assert_int_equal(stele_open(path, NULL, &db, &e), STELE_OK);
    stele_conn *c = connect_to(db);
    run(c, "create sequence s; create table t (a serial, b int); create sequence k cache 10 increment -2 cycle; "
           "insert into t (b) values (1), (2); checkpoint");
    assert_int_equal(number(c, "select nextval('s')"), 1); /* nothing else has changed */
    run(c, "begin; insert into t (b) values (3); rollback");
    assert_int_equal(number(c, "select nextval('k')"), -1);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, &e), STELE_OK);
    assert_int_equal(stele_open(path, NULL, &db, &e), STELE_OK);
    c = connect_to(db);
    assert_int_equal(number(c, "select nextval('s')"), 2);
    assert_int_equal(number(c, "insert into t (b) values (4) returning a"), 4);
    assert_int_equal(number(c, "select nextval('k')"), -21); /* the other nine were kept by a connection */
    assert_int_equal(number(c, "select setval('s', 40, false)"), 40);
    run(c, "alter table t rename to u; alter table u rename a to x");
    stele_disconnect(c);
    assert_int_equal(stele_close(db, &e), STELE_OK);
    stele_options readers = {.read_only = true};
    assert_int_equal(stele_open(path, &readers, &db, &e), STELE_OK);
    c = connect_to(db);
    assert_int_equal(number(c, "select last_value from s"), 40);
    assert_int_equal(number(c, "select nextval('s')"), -1); /* 25006 */
    stele_error(c, &e);
    assert_string_equal(e.sqlstate, "25006");
    stele_disconnect(c);
    assert_int_equal(stele_close(db, &e), STELE_OK);
    assert_int_equal(stele_open(path, NULL, &db, &e), STELE_OK);
    c = connect_to(db);
    assert_int_equal(number(c, "select nextval('s')"), 40);
    run(c, "drop table u");
    assert_int_equal(number(c, "select nextval('t_a_seq')"), -1); /* it went with the column */
    stele_disconnect(c);
    assert_int_equal(stele_close(db, &e), STELE_OK);
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Columns that are not named get their numbers; without names all but generated ones are the appender's. */
static void appended(void **state) {
    (void)state;
    stele_db *db;
    stele_appender *a;
    stele_error_info e;
    const char *const columns[] = {"a"};
    assert_int_equal(stele_open(":memory:", NULL, &db, &e), STELE_OK);
    stele_conn *c = connect_to(db);
    run(c, "create table t (id int generated always as identity, a int, twice int generated always as (a * 2) stored, "
           "s serial)");
    assert_int_equal(stele_appender_new(c, "t", 1, columns, &a), STELE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stele_append_int64(a, i * 10), STELE_OK);
        assert_int_equal(stele_append_end_row(a), STELE_OK);
    }
    assert_int_equal(stele_appender_flush(a), STELE_OK);
    stele_appender_free(a);
    assert_int_equal(number(c, "select sum(id * 10000 + s * 1000 + twice) from t"), 66060);
    assert_int_equal(stele_appender_new(c, "t", 0, NULL, &a), STELE_OK);
    assert_int_equal(stele_append_int64(a, 100), STELE_OK); /* as COPY: it may be given */
    assert_int_equal(stele_append_int64(a, 7), STELE_OK);
    assert_int_equal(stele_append_default(a), STELE_OK);
    assert_int_equal(stele_append_end_row(a), STELE_OK);
    assert_int_equal(stele_appender_flush(a), STELE_OK);
    stele_appender_free(a);
    assert_int_equal(number(c, "select id * 10000 + s * 1000 + twice from t where a = 7"), 1004014);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

int main(void) {
    static const struct CMUnitTest tests[] = {cmocka_unit_test(beside_each_other), cmocka_unit_test(after_reopening),
                                              cmocka_unit_test(appended)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
