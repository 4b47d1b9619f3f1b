/* ch.h - CH-benCHmark: TPC-C's transactions and analytical queries on the same tables, from separate connections
 * (ch.c; bench/ch/README.md). */
#ifndef STELE_BENCH_CH_H
#define STELE_BENCH_CH_H

#include "oltp.h"

enum { OFFERED_MAX = 8, CLIENTS_MOST = 64 };
typedef struct ChOptions {
    const OltpOptions *oltp;    /* scale, seconds, folder of tpcc.sql, settings of the clients */
    const char *folder;         /* of schema.sql and queries/ */
    const char *query_settings; /* SQL that analysts run first, NULL: none */
    int clients, analysts;      /* connections of each side */
    int64_t calls;              /* of a round: what a client sends at once and waits for */
    double interval;            /* s from round to round at the least, where calls are offered at a rate */
    int n_offered;
    double
        offered[OFFERED_MAX]; /* shares of the clients' rate alone at which calls come; 1: as fast as they are done */
    int snapshots;            /* instead: so many of them are compared with a serial replay; 0: rates are measured */
    bool frontier;            /* instead: both rates over both numbers of connections */
    const char *svg;          /* the frontier's plot, NULL: none */
} ChOptions;

int bench_ch(Bench *b, const ChOptions *o);

#endif
