/* ch_int.h - what the files of CH-benCHmark share (ch*.c).
 *
 * A Site is a database with its tables and the two sides' connections. Phases on it follow each other; in each, some
 * clients and analysts run in threads of their own until phase_run ends them all.
 */
#ifndef STELE_BENCH_CH_INT_H
#define STELE_BENCH_CH_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "calls.h"
#include "ch.h"
#include "session/pool/callpool.h"

enum { QUERIES = 22, CH_TYPES = 5 };

typedef struct Values { /* measured ones; grows */
    double *v;
    int64_t n, cap;
} Values;
bool values_add(Values *x, double value);
double values_share(Values *x, double share); /* the value that this share of them is not above; NAN: there are none */

/* A connection that makes calls. A round is a call or more of each procedure, in the order of the workload's, and one
 * that sets the client's row of ch_client to the round's number. */
typedef struct Client {
    struct Site *site;
    int k;
    Session *s;
    Maker maker;
    Calls calls[CH_TYPES], done;
    CallEntry entries[CH_TYPES + 1];
    int64_t rounds; /* that have ended */
    Values ended;   /* when, by now_s, in order */
    pthread_t thread;
    bool started, wrong;
    char why[WHY_MAX];
    double rate;               /* calls/s that are offered, 0: as fast as they are done */
    int64_t n_calls, n_failed; /* of the phase */
    Values latencies;          /* s; each stands for LATENCY_EACH calls */
} Client;

typedef struct Look { /* a query that an analyst has run */
    int query;
    double began, ended, snapshot_s; /* snapshot_s: until it had read `seen` */
    int64_t seen[CLIENTS_MOST];      /* rounds of each client in its snapshot */
} Look;
typedef struct Analyst {
    struct Site *site;
    int k;
    stele_conn *c;
    pthread_t thread;
    bool started, wrong;
    char why[WHY_MAX];
    int64_t n_run; /* queries, of all phases: which one is next */
    Look *looks;   /* of the phase */
    int64_t n_looks, cap;
    double began, ended;
} Analyst;

typedef struct Site {
    const Bench *b;
    const ChOptions *o;
    Workload w;
    char *queries[QUERIES];
    stele_db *db;
    Session *s;
    const Routine *routines[CH_TYPES], *marker;
    int n_clients, n_analysts; /* as many as there are connections */
    Client clients[CLIENTS_MOST];
    Analyst analysts[CLIENTS_MOST];
    double loaded_s;
    atomic_bool measuring, clients_end, analysts_end;
} Site;

/* Makes the tables and connections. False: `why`; site_close all the same. */
bool site_open(Site *s, const Bench *b, const ChOptions *o, int clients, int analysts, char why[WHY_MAX]);
void site_close(Site *s);

typedef struct Phase {
    int clients, analysts;
    double rate;    /* calls/s of all clients, 0: as fast as they are done */
    double seconds; /* at least; each analyst ends the query that it is at, and a pass of all when `whole` */
    bool whole;
    /* found */
    double took, cpu_s, resident_mb, load; /* load: of the machine when it began */
    double calls_per_s, failed_share, p50_s, p99_s, max_s;
    int64_t n_queries;
    double busy_s;            /* of all analysts, from each one's begin to its end */
    double of_query[QUERIES]; /* mean s of each query; 0: it did not run */
    int64_t runs[QUERIES];
    double snapshot_p50_s, snapshot_p99_s;        /* time to a snapshot: waiting for calls, publishing */
    double fresh_p50_s, fresh_p99_s, fresh_max_s; /* NAN: no queries, or no calls */
} Phase;
/* False: `why`. */
bool phase_run(Site *s, Phase *p, char why[WHY_MAX]);
/* A client that does not run: one round of n calls; or the same in pieces. */
bool client_round(Client *c, int64_t n, char why[WHY_MAX]);
void client_prepare(Client *c, int64_t n);                              /* its calls */
bool client_call(Client *c, int type, int64_t call, char why[WHY_MAX]); /* one of them; whether it fails is not said */
bool client_mark(Client *c, char why[WHY_MAX]);                         /* the end */

/* ch_check.c: exit status */
int ch_check(Bench *b, const ChOptions *o);

/* ch_plot.c: points of the frontier, by numbers of connections. False: the file cannot be written. */
typedef struct Point {
    int clients, analysts;
    double calls_per_s, queries_per_s, fresh_s; /* fresh_s NAN: none */
} Point;
bool ch_plot(const char *path, const Point *p, int n);

#endif
