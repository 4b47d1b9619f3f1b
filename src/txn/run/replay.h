/* replay.h - inputs of bulks whose changes only a device has, and of bulks in the redo log.
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
 * As bytes (replay_bytes.c) the same goes to the redo log, instead of all cells that a bulk has changed: its inputs
 * before it runs, its outcome, which is the calls that failed, behind it. Recovery reads both and runs the bulk as
 * above. What rows are like does not say in which order tables have them, so there is more that cannot be run again
 * then (replay_reason).
 *
 * Thread rules: one thread at a time, under the lock that bulks are run under; the pool helps with copies.
 */
#ifndef STELE_TXN_RUN_REPLAY_H
#define STELE_TXN_RUN_REPLAY_H

#include "base/bytes.h"
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
/* The engine that logs inputs, and the only one that runs them: the release, and a number to be raised with whatever
 * changes what a bulk leaves in tables, in which order it numbers new rows, or what the bytes mean. */
#define REPLAY_ENGINE "0.1.0-2"
/* Why inputs of the procedure are not all that its changes follow from, in the arena; NULL: they are. */
const char *replay_reason(const Proc *p, Arena *a);
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

/* ---- bytes ---- */
/* A procedure by what it is in the catalog. */
typedef struct ReplayProc {
    int64_t id;
    uint64_t digest; /* of its definition */
} ReplayProc;
/* What replay_add copies; names: of the groups. Calls in timestamp order. */
void replay_put(int32_t n_groups, const CallGroup *groups, const ReplayProc *names, const QueryOptions *q,
                BytesOut *out);
/* What replay_ran keeps. */
void replay_put_outcome(int32_t n_groups, const CallGroup *groups, const BulkResult *b, BytesOut *out);
/* The engine that wrote inputs, in the arena of `in`; NULL: they are none. The rest comes behind it. */
const char *replay_get_engine(BytesIn *in);
/* `find` is asked for each procedure; NULL with an error: it is not there. */
typedef struct ReplayFind {
    const Proc *(*find)(void *ctx, const ReplayProc *name, Err *e);
    void *ctx;
} ReplayFind;
/* Inputs of REPLAY_ENGINE, whose procedures alone are looked for; *valid as below. */
Status replay_get_procs(BytesIn *in, const ReplayFind *find, bool *valid, Err *e);
/* Adds the bulk; it has run. *valid false: the bytes are none that replay_put and replay_put_outcome write. */
Status replay_get(Replay *r, BytesIn *in, BytesIn *outcome, const ReplayFind *find, bool *valid, Err *e);

/* What the tables of these calls have in columns that the calls may change, wherever their rows lie; and the same of
 * the bulk that was added last. On the host. */
uint64_t replay_hash_calls(const ImageSet *images, int32_t n_groups, const CallGroup *groups);
uint64_t replay_hash(const Replay *r, const ImageSet *images);

#endif
