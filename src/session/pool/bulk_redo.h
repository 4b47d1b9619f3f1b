/* bulk_redo.h - bulks in the redo log, and running them again when a database is opened.
 *
 * By inputs: arguments, session and order before the bulk runs, which calls failed behind it (txn/run/replay.h). Tables
 * stay behind then, as without a log; when they are brought up to date, a record says which numbers their rows have got
 * (db/redo.h). By cells: the tables are brought up to date at once, and the commit logs what has changed there, as any
 * statement's. That is for bulks whose changes do not follow from their inputs alone, or that are undone with something
 * else; stele_bulks and EXPLAIN PROCEDURE say why.
 *
 * Recovery runs bulks in the order of the log on the virtual machine, on images that all of them fit, so that nothing
 * is brought up to date but where the log says so. Inputs of another engine, and of procedures that are not those of
 * the catalog, are refused before anything has changed (0A000, XX001).
 *
 * Thread rules: under the database's lock, held alone.
 */
#ifndef STELE_SESSION_POOL_BULK_REDO_H
#define STELE_SESSION_POOL_BULK_REDO_H

#include "session/core/session.h"
#include "txn/run/replay.h"

/* How a bulk is logged. */
typedef struct BulkLogged {
    const char *by_cells;    /* why; NULL: by inputs, or there is no log */
    const ReplayProc *names; /* of its procedures */
    bool begun;
    int64_t at; /* redo_bulk */
} BulkLogged;
/* Why a bulk of any calls of the session is logged by cells. */
const char *bulk_redo_reason(Session *s, const BulkOptions *opt);
uint64_t bulk_redo_digest(const Routine *r);
/* Its inputs, once. */
Status bulk_redo_begin(Session *s, BulkLogged *l, int32_t n, const CallGroup *groups, const BulkOptions *opt);
/* It has run; on an error it has, and the log has failed. */
Status bulk_redo_ran(Session *s, BulkLogged *l, ImageSet *images, int32_t n, const CallGroup *groups,
                     const BulkResult *b);
struct BulkState;
/* What images say of tables goes to the log, unless BulkState.quiet. */
void bulk_redo_watch(struct BulkState *x, ImageSet *images);

extern const RedoBulkOps bulk_redo_ops;

#endif
