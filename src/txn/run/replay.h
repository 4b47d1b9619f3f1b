/* replay.h - inputs of bulks whose changes only a device has.
 *
 * The result of a bulk follows from its calls and their order [GPUTx Definition 1]. So while a device with memory of
 * its own has changes that the tables do not, the inputs of all bulks since the tables were last brought up to date are
 * kept: when the device is lost, images are made anew from the tables, and the calls run once more on the virtual
 * machine.
 *
 * Kept of each bulk are: the arguments of procedures that may write, which of their calls failed (they left no change,
 * for whatever reason, and are left out), and the order whose result the bulk had. Calls that succeeded succeed again,
 * with the same changes; when one does not, restoring fails.
 *
 * Thread rules: one thread at a time, under the lock that bulks are run under; the pool helps with copies.
 */
#ifndef STELE_TXN_RUN_REPLAY_H
#define STELE_TXN_RUN_REPLAY_H

#include "txn/run/bulk.h"

typedef struct Replay Replay;
Replay *replay_new(MemAccount *acct, Err *e); /* NULL: 53200 */
void replay_free(Replay *r);                  /* NULL is fine */
void replay_clear(Replay *r);
int64_t replay_bytes(const Replay *r); /* of memory */
int64_t replay_bulks(const Replay *r);
int64_t replay_calls(const Replay *r);

/* Whether a bulk of this procedure can be run again: one that reads settings (current_setting) has inputs besides its
 * arguments. */
bool replay_covers(const Proc *p);
/* Copies what is needed of a bulk's inputs; procedures stay as long as the bulk is kept. q: pool, threads and session.
 * 53200, 53400: nothing was kept. */
Status replay_add(Replay *r, int32_t n_groups, const CallGroup *groups, const QueryOptions *q, Err *e);
/* The bulk that was added last has run. On an error (53200) its inputs cannot be used. */
Status replay_ran(Replay *r, const BulkResult *b, const QueryOptions *q, Err *e);
/* ... or has not, and changed nothing: drops it. */
void replay_drop_last(Replay *r);

/* All bulks, one after the other, on images that are made from the tables as they are. q: pool, threads, account, vfs.
 * Errors: 53200, 53400; 58000 when a call that had succeeded does not. The images have to be dropped then. */
Status replay_run(const Replay *r, ImageSet *images, const Catalog *c, const QueryOptions *q, Err *e);

#endif
