/* progress.c - a long statement: progress on the way, cancelled by the program, by another thread, and by a limit. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <stele/stele.h>

static const char long_query[] =
    "select count(*) from generate_series(1, 4000000) as a(i), generate_series(1, 4000000) as b(k)"
    " where a.i * b.k % 7919 = 3";

static void report(stele_conn *conn, const char *what, stele_status st) {
    stele_error_info e;
    stele_error(conn, &e);
    printf("%s: %s %s\n", what, st == STELE_OK ? "00000" : e.sqlstate, st == STELE_OK ? "done" : e.message);
}

typedef struct Watch {
    long calls;
    double last;
    bool ordered, cancel;
} Watch;

/* Called now and then on the thread that runs the statement; returning true cancels it. */
static bool watch(void *ctx, double fraction) {
    Watch *w = ctx;
    w->calls++;
    w->ordered = w->ordered && fraction >= 0 && fraction <= 1;
    w->last = fraction;
    return w->cancel;
}

typedef struct Killer {
    stele_conn *conn;
    pthread_mutex_t mu;
    bool stop;
} Killer;

/* stele_interrupt may be called from any thread, and from signal handlers. It has no effect on an idle connection, so a
 * thread that cannot know whether the statement runs yet asks until it has ended. */
static void *interrupt(void *ctx) {
    Killer *k = ctx;
    for (bool stop = false; !stop;) {
        usleep(1000);
        pthread_mutex_lock(&k->mu);
        stop = k->stop;
        if (!stop) stele_interrupt(k->conn);
        pthread_mutex_unlock(&k->mu);
    }
    return NULL;
}

int main(void) {
    stele_db *db;
    stele_conn *conn;
    if (stele_open(":memory:", NULL, &db, NULL) != STELE_OK || stele_connect(db, &conn) != STELE_OK) return 1;

    Watch w = {.ordered = true};
    stele_set_progress(conn, watch, &w);
    stele_status st = stele_exec(conn,
                                 "create table t as select i as a, i % 1000 as b from generate_series(1, 3000000) as i;"
                                 "select b, count(*), sum(a) from t group by b order by b",
                                 NULL, NULL);
    report(conn, "with progress", st);
    printf("progress between 0 and 1: %s\n", w.ordered ? "yes" : "no");

    w.cancel = true;
    report(conn, "cancelled by the callback", stele_exec(conn, long_query, NULL, NULL));
    stele_set_progress(conn, NULL, NULL);

    Killer k = {.conn = conn, .mu = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    if (pthread_create(&thread, NULL, interrupt, &k) != 0) return 1;
    st = stele_exec(conn, long_query, NULL, NULL);
    pthread_mutex_lock(&k.mu);
    k.stop = true;
    pthread_mutex_unlock(&k.mu);
    pthread_join(thread, NULL);
    report(conn, "cancelled by another thread", st);

    stele_exec(conn, "set statement_timeout = '50ms'", NULL, NULL);
    report(conn, "beyond its time", stele_exec(conn, long_query, NULL, NULL));
    report(conn, "the connection goes on", stele_exec(conn, "select 1", NULL, NULL));
    stele_disconnect(conn);
    return stele_close(db, NULL) == STELE_OK ? 0 : 1;
}
