/* bulk_log.h - the last bulks of a database, for stele_bulks (session/core/system.c).
 *
 * Any thread at any time: a mutex of its own, a leaf.
 */
#ifndef STELE_SESSION_POOL_BULK_LOG_H
#define STELE_SESSION_POOL_BULK_LOG_H

#include "base/mutex.h"
#include "txn/run/bulk.h"

enum { BULK_LOG_MAX = 64, BULK_LOG_TEXT = 96 };

typedef struct BulkLogEntry {
    int64_t number;   /* from 1, in the order of their ends */
    int64_t ended_ns; /* on clock_ns */
    int64_t calls, failed, depth;
    int64_t footprint_ns, schedule_ns, reserve_ns, run_ns, total_ns, send_ns, transfer_ns;
    int64_t retries;                      /* BulkStats.n_retries */
    int64_t alone;                        /* calls that ran one at a time */
    bool any_order;                       /* BulkStats */
    const char *strategy, *why, *why_cut; /* constants; NULL: not known */
    char sqlstate[6];                     /* of a bulk that failed as a whole; "": it did not */
    const char *log;                      /* BulkStats; a constant */
    char executor[16], device[32], reason[BULK_LOG_TEXT], log_why[BULK_LOG_TEXT];
} BulkLogEntry;

typedef struct BulkLog {
    Mutex lock;
    int64_t n; /* bulks so far: the last BULK_LOG_MAX of them are there */
    BulkLogEntry entries[BULK_LOG_MAX];
} BulkLog;

void bulk_log_init(BulkLog *l);
void bulk_log_free(BulkLog *l);
/* why_cut: a constant; "statement" for one that a statement has made. sqlstate: the bulk failed as a whole, and
 * `reason` is the message; of the rest only the calls and the time are known. NULL: it has run. */
void bulk_log_add(BulkLog *l, const BulkStats *s, const char *why_cut, const char *sqlstate);
/* Newest first, at most `most`; returns their number. */
int64_t bulk_log_list(BulkLog *l, BulkLogEntry *out, int64_t most);

#endif
