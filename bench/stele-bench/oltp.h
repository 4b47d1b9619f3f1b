/* oltp.h - options of the transaction benchmarks (oltp.c). */
#ifndef STELE_BENCH_OLTP_H
#define STELE_BENCH_OLTP_H

#include "bench.h"
#include "txn/order/schedule.h"

/* Lines of their own, on the tables that all lines share. */
enum { POINTS_MAX = 128, LABEL_MAX = 48, OLTP_TYPES_MAX = 16 };
typedef struct OltpPoint {
    char label[LABEL_MAX];
    const char *settings; /* SQL before it, NULL: none */
    int types, work;
    double alpha, seconds;
    int64_t size;
    Strategy strategy;
    int mix[OLTP_TYPES_MAX]; /* shares of the transactions; all 0: the benchmark's */
} OltpPoint;

typedef struct OltpOptions {
    const char *folder;   /* of NAME.sql */
    const char *settings; /* SQL run after the tables are made, NULL: none */
    int64_t scale;
    double skew;          /* smallbank, ycsb: 0 .. 0.99 */
    char workload;        /* ycsb: 'A' .. 'F' */
    double seconds;       /* per line */
    double arrival;       /* calls/s; 0: as fast as they are done */
    int pool;             /* calls go to the pool of calls, so many to a ticket; 0: in bulks */
    int readers, callers; /* connections beside the calls (beside.h) */
    int n_intervals;
    double intervals[16]; /* s between the cuts of bulks, with arrival; a line for each */
    int n_sizes;
    int64_t sizes[16];
    int n_strategies;
    Strategy strategies[5];
    int64_t tuples;  /* gputx */
    int types, work; /* gputx: T, x */
    double alpha;    /* gputx */
    const int *mix;  /* of a point, NULL: the benchmark's */
    int n_points;    /* instead of sizes, strategies and variants */
    OltpPoint points[POINTS_MAX];
} OltpOptions;

int bench_oltp(Bench *b, const char *name, const OltpOptions *o);

#endif
