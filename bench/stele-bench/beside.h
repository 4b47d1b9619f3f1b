/* beside.h - connections beside the calls of a transaction benchmark (--readers, --callers). Some look at its
 * invariants again and again, each look in one snapshot; others run calls of the same kind by SQL. What holds between
 * any two calls has to hold in every snapshot, whatever runs meanwhile.
 *
 * A reader looks at each invariant in a statement of its own, or at all in one transaction. Readers take turns with
 * executors: the settings of the calls, and the virtual machine. A caller takes turns with CALL bulk_call(..), SELECT
 * .. FROM bulk_call(..), single CALLs (those of every second caller go to the pool of calls), bulks in transactions
 * that commit or roll back, and VACUUM.
 *
 * Over the public interface. One thread starts and stops it; each connection has a thread of its own.
 */
#ifndef STELE_BENCH_BESIDE_H
#define STELE_BENCH_BESIDE_H

#include "catalog/catalog.h"
#include "workloads.h"

typedef struct BesideTotals { /* of calls that callers made */
    int64_t succeeded[TYPES_MAX];
    int64_t sums[TYPES_MAX][OUTS_MAX]; /* of OUT value k of procedure i, where it is an integer */
} BesideTotals;
typedef struct Beside Beside;

/* `settings`: SQL that each connection runs first, NULL: none. `routines`: of w->procs, alive until beside_stop.
 * NULL: `why`. */
Beside *beside_start(stele_db *db, const char *settings, const Workload *w, const Routine *const *routines,
                     const OltpOptions *o, char why[WHY_MAX]);
/* Lets every connection finish its first round, ends them all and prints what they did. False: an invariant did not
 * hold, or a statement failed; standard error says which. */
bool beside_stop(Beside *b, BesideTotals *totals);

#endif
