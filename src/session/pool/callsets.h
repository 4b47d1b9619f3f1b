/* callsets.h - entries of the pool of calls that wait for earlier ones (bulk_cut = zero_set) [GPUTx §5.3].
 *
 * An entry's operations are computed when it arrives; it goes into the 0-sets as one call, whatever its calls do to
 * each other. Entries that wait for no other are taken out, run, and are done; they hold their items until then. An
 * entry that is withdrawn stays behind as a name: those that waited for it wait until it would have run.
 *
 * Thread rules: the entries and the list of them belong to the pool's mutex, the rest to the leader. Each function says
 * which of the two it needs.
 */
#ifndef STELE_SESSION_POOL_CALLSETS_H
#define STELE_SESSION_POOL_CALLSETS_H

#include "session/pool/callpool.h"
#include "txn/order/schedule.h"

typedef struct CallSets {
    /* the mutex's */
    CallEntry *first, *last; /* in the order of submission */
    /* the leader's */
    MemAccount *account;
    ZeroSets *zero;  /* NULL: none yet */
    uint64_t state;  /* session_bulk_state, when the entries' operations were good last */
    int64_t n_calls; /* of entries in the list and of those that run */
    int64_t barrier; /* number of an entry that cannot come in here: it waits until there are no others, and then runs
                        by itself; 0: none is known */
    struct CallPlan *waiting, *running;
} CallSets;

/* Leader: the entry's operations. On an error (53200) it is not there. The entry is not in the list yet. */
Status callsets_plan(CallSets *z, CallEntry *x, int64_t n_ops, const TxnOp *ops, Arena *scratch, Err *e);
/* Mutex: behind all others. */
void callsets_enter(CallSets *z, CallEntry *x);
/* Mutex: it is withdrawn. */
void callsets_leave(CallSets *z, CallEntry *x);
/* Both: entries that wait for no other, in the order of submission, out of the list. apart: no two of their calls
 * conflict. */
CallEntry *callsets_take(CallSets *z, bool *apart);
/* Leader: those that were taken have run. */
void callsets_done(CallSets *z);
/* Both: nothing is known any more. The entries of the list. */
CallEntry *callsets_clear(CallSets *z);
void callsets_free(CallSets *z); /* no entries */

#endif
