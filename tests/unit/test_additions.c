/* test_additions.c - transactions of several threads that add to the same rows (storage/undo_rows.h): pgbench's five
 * statements, and random histories whose sums must come out, and whose tickets must differ.
 *
 * At READ COMMITTED nobody may be refused; at SERIALIZABLE those who have read what others added to are. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stele/stele.h"
#include "unit.h"

enum { THREADS = 4, COUNTERS = 4, TICKETS = 400 };

typedef struct Worker {
    stele_db *db;
    int id, transactions;
    bool serializable;
    int64_t sums[COUNTERS];   /* of what its committed transactions have added */
    int64_t tickets[TICKETS]; /* numbers that they have drawn */
    int n_tickets, refused;
    char why[512];
} Worker;

static bool one_number(void *ctx, int64_t n, const char *const *v, const char *const *names) {
    (void)names;
    *(int64_t *)ctx = n > 0 && v[0] ? atoll(v[0]) : -1;
    return false;
}
static bool run(Worker *w, stele_conn *c, const char *sql, int64_t *number) {
    stele_error_info e;
    if (stele_exec(c, sql, number ? one_number : NULL, number) == STELE_OK) return true;
    stele_error(c, &e);
    if (!w->serializable || strcmp(e.sqlstate, "40001") != 0)
        snprintf(w->why, sizeof w->why, "%.200s: %s %.200s", sql, e.sqlstate, e.message);
    return false;
}
static bool add(Worker *w, stele_conn *c, int counter, int n) {
    char sql[128];
    snprintf(sql, sizeof sql, "update counter set v = v + %d, total = total - %d where id = %d", n, n, counter);
    return run(w, c, sql, NULL);
}

/* One transaction: additions, some taken back, perhaps a ticket: what counter 0 is after an addition of 1. */
static bool transaction(Worker *w, stele_conn *c, unsigned *seed, int64_t *sums, int64_t *ticket) {
    *ticket = -1;
    if (!run(w, c, w->serializable ? "begin isolation level serializable" : "begin isolation level read committed",
             NULL))
        return false;
    for (int i = 1 + rand_r(seed) % 3; i > 0; i--) {
        const int k = 1 + rand_r(seed) % (COUNTERS - 1), n = 1 + rand_r(seed) % 9;
        const bool back = rand_r(seed) % 4 == 0;
        if (back && !run(w, c, "savepoint s", NULL)) return false;
        if (!add(w, c, k, n)) return false;
        if (back && !run(w, c, "rollback to s", NULL)) return false;
        if (!back) sums[k] += n;
    }
    if (rand_r(seed) % 2) {
        if (!add(w, c, 0, 1)) return false;
        sums[0]++;
        if (rand_r(seed) % 2 && !run(w, c, "select v from counter where id = 0", ticket)) return false;
    }
    if (rand_r(seed) % 8 == 0) {
        *ticket = -1;
        memset(sums, 0, COUNTERS * sizeof *sums);
        return run(w, c, "rollback", NULL);
    }
    return run(w, c, "commit", NULL);
}
static void *work(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    unsigned seed = (unsigned)w->id * 7919 + 1;
    if (stele_connect(w->db, &c) != STELE_OK) return snprintf(w->why, sizeof w->why, "connect"), NULL;
    for (int done = 0; done < w->transactions && !w->why[0];) {
        int64_t sums[COUNTERS] = {0}, ticket;
        if (!transaction(w, c, &seed, sums, &ticket)) {
            if (stele_transaction_state(c) != 'I') (void)stele_exec(c, "rollback", NULL, NULL);
            w->refused++;
            continue;
        }
        for (int k = 0; k < COUNTERS; k++) w->sums[k] += sums[k];
        if (ticket >= 0 && w->n_tickets < TICKETS) w->tickets[w->n_tickets++] = ticket;
        done++;
    }
    stele_disconnect(c);
    return NULL;
}

static void must(stele_conn *c, const char *sql, int64_t *number) {
    stele_error_info e;
    if (stele_exec(c, sql, number ? one_number : NULL, number) == STELE_OK) return;
    stele_error(c, &e);
    fail_msg("%s: %s %s", sql, e.sqlstate, e.message);
}
static int by_number(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
static void run_all(stele_db *db, Worker *w, int n, void *(*fn)(void *)) {
    pthread_t threads[16];
    for (int i = 0; i < n; i++) assert_int_equal(pthread_create(&threads[i], NULL, fn, &w[i]), 0);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++)
        if (w[i].why[0]) fail_msg("thread %d: %s", i, w[i].why);
    (void)db;
}
static void histories_at(bool serializable, int transactions) {
    stele_db *db;
    stele_conn *c;
    Worker *w = calloc(THREADS, sizeof *w);
    int64_t *tickets = calloc(THREADS * TICKETS, sizeof *tickets), n = 0, got;
    assert_true(w && tickets);
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    must(c, "create table counter(id int primary key, v bigint not null, total numeric(20, 2) not null)", NULL);
    must(c, "insert into counter select i, 0, 0 from generate_series(0, 3) g(i)", NULL);
    for (int i = 0; i < THREADS; i++)
        w[i] = (Worker){.db = db, .id = i, .transactions = transactions, .serializable = serializable};
    run_all(db, w, THREADS, work);
    for (int k = 0; k < COUNTERS; k++) {
        int64_t sum = 0;
        char sql[128];
        for (int i = 0; i < THREADS; i++) sum += w[i].sums[k];
        snprintf(sql, sizeof sql, "select v from counter where id = %d and total = -v", k);
        must(c, sql, &got);
        assert_int_equal(got, sum);
    }
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < w[i].n_tickets; k++) tickets[n++] = w[i].tickets[k];
    qsort(tickets, (size_t)n, sizeof *tickets, by_number);
    for (int64_t i = 1; i < n; i++) assert_true(tickets[i - 1] < tickets[i]);
    assert_true(n > 0);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    free(w);
    free(tickets);
}
static void at_read_committed(void **state) {
    (void)state;
    histories_at(false, 150);
}
static void at_serializable(void **state) {
    (void)state;
    histories_at(true, 60);
}

/* ---- definitions beside ---- */
/* NULL + 1 cannot be deferred: the statement begins again, and the table may be another by then. */
static void *add_to_null(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    if (stele_connect(w->db, &c) != STELE_OK) return snprintf(w->why, sizeof w->why, "connect"), NULL;
    for (int i = 0; i < w->transactions && !w->why[0]; i++) {
        (void)run(w, c, "begin isolation level read committed; update nulls set v = v + 1 where id = 1; commit", NULL);
        if (stele_transaction_state(c) != 'I') (void)run(w, c, "rollback", NULL);
    }
    stele_disconnect(c);
    return NULL;
}
static void *alter(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    if (stele_connect(w->db, &c) != STELE_OK) return snprintf(w->why, sizeof w->why, "connect"), NULL;
    for (int i = 0; i < w->transactions && !w->why[0]; i++)
        (void)run(w, c, i % 2 ? "alter table nulls drop column x" : "alter table nulls add column x int", NULL);
    stele_disconnect(c);
    return NULL;
}
static void beside_definitions(void **state) {
    (void)state;
    stele_db *db;
    stele_conn *c;
    Worker w[3] = {{.id = 0, .transactions = 300}, {.id = 1, .transactions = 300}, {.id = 2, .transactions = 200}};
    pthread_t threads[3];
    int64_t n;
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    must(c, "create table nulls(id int primary key, v int); insert into nulls values (1, null)", NULL);
    for (int i = 0; i < 3; i++) {
        w[i].db = db;
        w[i].serializable = true; /* 40001 is all right */
        assert_int_equal(pthread_create(&threads[i], NULL, i == 2 ? alter : add_to_null, &w[i]), 0);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        if (w[i].why[0]) fail_msg("thread %d: %s", i, w[i].why);
    must(c, "select count(*) from nulls where v is null", &n);
    assert_int_equal(n, 1);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
}

/* ---- pgbench ---- */
static void *five_statements(void *arg) {
    Worker *w = arg;
    stele_conn *c;
    unsigned seed = (unsigned)w->id * 104729 + 1;
    if (stele_connect(w->db, &c) != STELE_OK) return snprintf(w->why, sizeof w->why, "connect"), NULL;
    for (int i = 0; i < w->transactions && !w->why[0]; i++) {
        const int aid = rand_r(&seed) % 100, tid = rand_r(&seed) % 10, delta = rand_r(&seed) % 10001 - 5000;
        char sql[640];
        int64_t balance = -1;
        snprintf(sql, sizeof sql,
                 "begin isolation level read committed; "
                 "update accounts set abalance = abalance + %d where aid = %d; "
                 "select abalance from accounts where aid = %d; "
                 "update tellers set tbalance = tbalance + %d where tid = %d; "
                 "update branches set bbalance = bbalance + %d where bid = 1; "
                 "insert into history (tid, bid, aid, delta, mtime) values (%d, 1, %d, %d, current_timestamp); end",
                 delta, aid, aid, delta, tid, delta, tid, aid, delta);
        (void)run(w, c, sql, &balance);
    }
    stele_disconnect(c);
    return NULL;
}
static void pgbench(void **state) {
    (void)state;
    enum { CLIENTS = 8, EACH = 50 };
    stele_db *db;
    stele_conn *c;
    Worker *w = calloc(CLIENTS, sizeof *w);
    int64_t n, a, b, t;
    assert_non_null(w);
    assert_int_equal(stele_open(NULL, &(stele_options){.threads = 1}, &db, NULL), STELE_OK);
    assert_int_equal(stele_connect(db, &c), STELE_OK);
    must(c,
         "create table branches(bid int primary key, bbalance int, filler char(88)); "
         "create table tellers(tid int primary key, bid int, tbalance int, filler char(84)); "
         "create table accounts(aid int primary key, bid int, abalance int, filler char(84)); "
         "create table history(tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)); "
         "insert into branches values (1, 0, ''); "
         "insert into tellers select i, 1, 0, '' from generate_series(0, 9) g(i); "
         "insert into accounts select i, 1, 0, '' from generate_series(0, 99) g(i)",
         NULL);
    for (int i = 0; i < CLIENTS; i++) w[i] = (Worker){.db = db, .id = i, .transactions = EACH};
    run_all(db, w, CLIENTS, five_statements);
    must(c, "select count(*) from history", &n);
    must(c, "select sum(abalance) - (select sum(delta) from history) from accounts", &a);
    must(c, "select sum(tbalance) - (select sum(delta) from history) from tellers", &t);
    must(c, "select sum(bbalance) - (select sum(delta) from history) from branches", &b);
    assert_int_equal(n, CLIENTS * EACH);
    assert_true(a == 0 && b == 0 && t == 0);
    stele_disconnect(c);
    assert_int_equal(stele_close(db, NULL), STELE_OK);
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_read_committed), cmocka_unit_test(at_serializable),
                                       cmocka_unit_test(beside_definitions), cmocka_unit_test(pgbench)};
    return cmocka_run_group_tests_name("additions", tests, NULL, NULL);
}
