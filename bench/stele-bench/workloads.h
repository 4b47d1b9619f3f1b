/* workloads.h - the transactions of stele-bench: which procedures of bench/oltp/NAME.sql are called, with which
 * arguments, and what must hold afterwards (and, where it names no figure of the run, between any two calls). */
#ifndef STELE_BENCH_WORKLOADS_H
#define STELE_BENCH_WORKLOADS_H

#include "oltp.h"

typedef struct Rng {
    uint64_t s;
} Rng;
int64_t rng_to(Rng *r, int64_t n); /* 0 .. n - 1 */

/* Ranks with probabilities 1 / rank^theta, after Gray et al., "Quickly generating billion-record synthetic databases".
 */
typedef struct Zipf {
    int64_t n;
    double theta, alpha, zetan, eta;
} Zipf;

enum { TYPES_MAX = OLTP_TYPES_MAX, COLS_MAX = 8, OUTS_MAX = 40, TEXT_CELL = 96, LINES_MAX = 15, CHECKS_MAX = 16 };
typedef struct Maker {
    Rng rng;
    Zipf zipf;
    const OltpOptions *o;
    int64_t n_total;    /* calls made so far */
    uint64_t scattered; /* YCSB: ranks are spread over the keys */
    int64_t fresh;      /* YCSB: keys given to inserts, of all lines */
} Maker;

/* One cell: integers (numerics: hundredths) in `v`, texts in `text`, arrays as n integers. */
typedef struct Cell {
    int64_t v;
    int len;
    char text[TEXT_CELL];
    int n;
    int32_t items[LINES_MAX];
} Cell;
typedef struct Workload {
    const char *name;
    char what[24];
    int n_types;
    const char *procs[TYPES_MAX];
    int weights[TYPES_MAX]; /* per cent */
    void (*make)(Maker *m, int type, Cell *cells);
    const char *before; /* a query for one number, before the calls; NULL: none */
    /* Queries that must give one row "t" afterwards. {before}: that number; {calls P}: calls of procedure P that
     * succeeded; {sum X}: of what those, of any procedure, gave as OUT value X, an integer. */
    const char *checks[CHECKS_MAX + 1];
} Workload;

/* False: there is none of that name. `ycsb`: its workload, 'A' to 'F'. */
bool workload_find(const char *name, char ycsb, Workload *w);
/* `fresh` stays as it is. */
void maker_init(Maker *m, const OltpOptions *o, const Workload *w, uint64_t seed);

#endif
