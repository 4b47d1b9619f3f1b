/* calls.h - calls of procedures in memory, column by column as sessions take them, and SQL on a session: what the
 * transaction benchmarks (oltp.c, ch_*.c) share. */
#ifndef STELE_BENCH_CALLS_H
#define STELE_BENCH_CALLS_H

#include "session/core/session.h"
#include "workloads.h"

typedef struct Calls { /* of one procedure */
    const Routine *r;
    int n_cols;
    Vec cols[COLS_MAX];
    char *texts[COLS_MAX];
    uint32_t *numbers;
    int64_t n;
    int n_outs; /* and of those that ran: OUT values, integers only */
    const char *outs[OUTS_MAX];
    bool summed[OUTS_MAX];
    int128_t sums[OUTS_MAX];
    int64_t succeeded;
} Calls;

/* Room for `cap` calls. w: whose invariants look at sums of OUT values, NULL: none. False: no memory; calls_free all
 * the same. */
bool calls_new(Calls *c, const Workload *w, const Routine *r, int64_t cap);
void calls_free(Calls *c);
/* One more; `number` among the calls of its bulk, for BulkCalls.calls. */
void calls_add(Calls *c, uint32_t number, const Cell *cells);

/* False: `why` has SQLSTATE and message. */
bool exec_sql(Session *s, const char *sql, char why[WHY_MAX]);
bool number_of(Session *s, const char *sql, int64_t *out, char why[WHY_MAX]); /* a query for one number */
bool check_true(Session *s, const char *sql, char why[WHY_MAX]);              /* a query for one boolean */
/* A file of SQL with :scale replaced; the caller's to free. NULL: `why`. */
char *scaled_text(const char *folder, const char *name, int64_t scale, char why[WHY_MAX]);

#endif
