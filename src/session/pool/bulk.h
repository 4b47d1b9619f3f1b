/* bulk.h - bulks of procedure calls from sessions.
 *
 * The database keeps its compiled procedures (sql/pl/compile.h) and the images that bulks change (txn/store/image.h) in
 * a BulkHub (hub.h), made when first needed; what is compiled anew for a definition is what depends on it.
 *
 * A bulk is one statement: it takes the exclusive lock, so that bulks, statements and transactions have one order.
 * Images are brought into the tables when the lock is next taken for anything else (session_lock), or at once when the
 * bulk stands in a transaction, whose ROLLBACK then undoes the tables. A procedure that cannot be compiled runs one
 * call at a time (pl_run.h), each in a subtransaction of its own, with the same results.
 *
 *   CALL bulk_call('transfer', 'select a, b, amount from calls order by t')
 *
 * gives a row per call, in order, and so does SELECT .. FROM bulk_call(..), which runs the bulk before the rest of its
 * statement: call bigint; sqlstate, message, line (of the procedure) and context, as an error of the call alone tells
 * them (NULL: it succeeded); then the procedure's OUT values.
 *   EXPLAIN [VERBOSE] PROCEDURE p    says whether p runs in bulk and how: its operations, and its programs; and why the
 *                                    redo log has all cells that a bulk of it has changed, where that is so
 */
#ifndef STELE_SESSION_POOL_BULK_H
#define STELE_SESSION_POOL_BULK_H

#include "session/core/session.h"
#include "txn/run/bulk.h"
#include "txn/store/device_rows.h"

/* Changes of images are applied to their tables; called with the exclusive lock. */
struct BulkLogEntry;
struct Device;
Status session_bulk_sync(Session *s);
/* Some are on a device only. Under the lock. */
bool session_bulk_on_device(const Session *s);
/* Rows of the table that only a device has, as queries there read them (exec/device/device_rows.h): columns can be made
 * of them until the lock is given up, the rest lasts until device_rows_release. NULL: the table has everything. *there
 * false: its newer rows are on the host, and not in the table. Under the shared lock. 58000, 53200. */
Status session_bulk_view(Session *s, Table *t, const Table **out, bool *there);
/* The statement reads tables that bulks change, or may: they are brought up to date when bulks are ahead. Under the
 * lock held alone. */
Status session_bulk_sync_for(Session *s, const struct PlanCtx *c);
/* A row of a table where bulks left it, on the host or on a device; `at` NULL: the table has everything. Under the
 * lock. What comes from a device is in the arena that each function is given. */
typedef struct BulkRow {
    struct Image *at;
    int64_t row;
    bool on_device;
    DeviceRow there;
    Mutex *views;
} BulkRow;
BulkRow session_bulk_row(const Session *s, const Table *t);
/* Finds the row by a key of the table; cells: values of the key's columns, none NULL. `row` -1: there is none. 0A000,
 * 53200, 58000: not on that device; the tables have to be brought up to date. */
Status bulk_row_find(BulkRow *r, int key, const void *const *cells, Arena *a, Err *e);
/* A cell of the column's phys; *there false: bulks do not know the column, it is in the table's row. Likewise. */
Status bulk_row_cell(const BulkRow *r, int col, Arena *a, const void **cell, bool *null, bool *there, Err *e);
int64_t bulk_row_rowid(const BulkRow *r); /* the table's row; -1: it has none, bulks know all columns */
int64_t session_bulks_list(const Session *s, struct BulkLogEntry *out, int64_t most); /* bulk_log.h; any thread */
/* Bulks use the table; by how often this was asked since the last one that did (images_in_use). Under the lock held
 * alone. */
bool session_bulk_uses(const Session *s, const Table *t);
void session_bulk_trim(Session *s); /* at the end of a statement that has the lock alone: bulk_state_trim */
/* What bulk_state_give_back does, with the lock held alone. */
bool session_give_back(Session *s);
bool session_bulk_has_image(const Session *s, const Table *t); /* bulks work on the table as it is */
/* What they had of a table that has been packed, and what they leave for the next bulk. */
void session_bulk_drop(const Session *s, const Table *t);
/* What bulks keep in case it is wanted again, and room that their images do not need, go back. Under the lock held
 * alone. 58000, 53200: a device failed. */
Status session_bulk_spare(Session *s);
/* Memory that a copy of the table's image takes on a device; *of: which. 0: none has one. Under the lock. */
int64_t session_bulk_device_bytes(const Session *s, const Table *t, const struct Device **of);
bool session_bulk_unapplied(const Session *s); /* there are such changes; under any lock */
/* The session's changes are about to be committed: images that fitted the tables before keep up with small ones. */
void session_bulk_follow(Session *s);
/* Sends the notices of calls [first, first + n) of a group, in order. */
void session_bulk_notices(Session *s, const BulkResult *b, int32_t group, int64_t first, int64_t n);
/* The statement is CALL bulk_call(..). */
bool session_is_bulk_call(const AstCall *x);
Status session_bulk_call(Session *s, Statement *st, const AstCall *x, int32_t n_params, const Value *params);
Status session_bulk_shape(Session *s, const AstCall *x, Arena *a, int32_t *n_params, Type **param_types,
                          int32_t *n_cols, const char ***names, Type **types);
/* A SELECT with bulk_call in FROM has been bound, under the lock held alone: tables that it reads are brought up to
 * date, and PlanCtx.bulk_stays is set. */
Status session_bulk_from(Session *s, PlanCtx *c);
/* The statement of a bulk with Session.bulk.undo == BULK_UNDO_IMAGES has come to its end. Nothing, where there was
 * none. */
void session_bulk_stands(Session *s);
void session_bulk_go_back(Session *s);
/* The plan reads tables that bulks of the routine may change, or may. */
bool session_bulk_is_read(const Session *s, const PlanCtx *c, const Routine *r);
/* Rows of bulk_call in FROM (Plan.bulk): runs the bulk, whose changes the statement's failure undoes. */
Status session_bulk_fill(Session *s, PlanCtx *c, Plan *p, MemAccount *acct);
/* What bulks have changed under the lock that is held goes to the tables, and to the undo log. */
Status session_bulk_to_tables(Session *s);
/* The bulk that has run is undone by its statement's failure, and tables do not have all of it: the images that do go.
 * They were not ahead before it. */
void session_bulk_forget(Session *s);
/* Calls of one routine: column i of params are the IN and INOUT parameters in their types' phys; calls: as in
 * CallGroup.
 */
typedef struct BulkCalls {
    const Routine *routine;
    int64_t n;
    const Vec *params;
    const uint32_t *calls;
} BulkCalls;
/* Bulks one after the other: the next bulk's calls are fetched while a bulk runs on a device, so that their arguments
 * are sent meanwhile (BulkPipeline, txn/run/bulk.h). */
typedef struct CallPipeline {
    /* Called at most once, by the thread that called session_bulk_run. The columns that it gives stay where they are
     * until that bulk has run, or the ticket is not used. False: there is none. */
    bool (*next)(void *ctx, int32_t *n_groups, const BulkCalls **groups);
    void (*sent)(void *ctx); /* NULL, or called after a `next` that gave calls: their strings are not read any more */
    void *ctx;
    const BulkStop *stop; /* for calls of other sessions: then the session's own cancel and deadline apply to calls that
                             run one at a time only. NULL: they apply */
    const char *why_cut;  /* for stele_bulks; a constant */
    bool apart;           /* BulkOptions.apart */
    bool whole;           /* session_bulk_run_sliced does not cut it */
    uint64_t ticket;      /* next_ticket of the bulk before, when it prefetched this bulk's arguments; else 0 */
    uint64_t next_ticket; /* out; 0: nothing was sent */
} CallPipeline;
/* The exclusive lock and undo log for a bulk; changes may stay in images, unapplied. session_bulk_run does it itself.
 */
Status session_begin_bulk(Session *s);
/* The result, by group, is the caller's. pipeline NULL: the next bulk is not known. */
Status session_bulk_run(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                        BulkResult **out);
/* The same outside a transaction, for a caller that does not have to undo the bulk as a whole: a long one runs as
 * smaller ones, and others may come in between (bulk_slices.c). Nothing that was looked up under the lock before may be
 * used afterwards, and after some errors of the last calls the lock is not held. */
Status session_bulk_run_sliced(Session *s, int32_t n_groups, const BulkCalls *groups, CallPipeline *pipeline,
                               BulkResult **out);
/* The operations of calls, for a caller that keeps conflicting calls apart (BulkOps, in `a`). session_bulk_plan comes
 * first, under the lock of session_begin_bulk, which it takes: *state stays the same number as long as operations found
 * earlier are still right. session_bulk_bounded is false for routines whose operations are not known before they run:
 * those that run one at a time, that use the clock for what they touch, or that insert a number of rows which only a
 * run tells. */
Status session_bulk_plan(Session *s, uint64_t *state);
/* Under the same lock, which it takes: all that is compiled is as the catalog has it. */
Status session_bulk_ready(Session *s);
uint64_t session_bulk_state(const Session *s);
bool session_bulk_bounded(const Session *s, int64_t routine);
Status session_bulk_ops(Session *s, int32_t n_groups, const BulkCalls *groups, const BulkStop *stop, Arena *a,
                        BulkOps *out);
/* SQL statements that touch one row (point.c), which bulks run as if each were a procedure of one statement: its
 * parameters, then OUT "rows" and its results. The database knows those that were used last by text and types of
 * parameters (hub.h). */
typedef struct BulkText {
    Slice sql;
    int32_t n_params, n_results;
    const Type *param_types, *result_types;
} BulkText;
/* *known false: it is not, or not under this catalog, and `learn` is false; learn needs the lock of session_begin_bulk,
 * all else any. *out NULL: it runs in the ordinary way: it cannot be compiled, or changes columns that procedures look
 * rows up by. *out lives until the lock is given up; its id is found no more when others have taken its place. */
Status session_bulk_statement(Session *s, const BulkText *x, bool learn, bool *known, const Routine **out);
/* A routine of the catalog, or such a statement that can be compiled under this catalog (ids < 0); NULL: gone. Any
 * lock. */
const Routine *session_bulk_routine_by_id(const Database *db, int64_t id);
/* Calls of the routine are in no bulk with calls for which this is another number. Any lock. */
int64_t session_bulk_apart(const Database *db, int64_t id);
/* Another number when what was known of routines and statements may not hold though no name has changed. Any thread. */
uint64_t session_bulk_generation(const Session *s);
/* How many procedures and statements have been compiled, each as often as it was, and images made. Any lock. */
void session_bulk_made(const Session *s, int64_t *compiled, int64_t *images);
/* Before a table is freed, under the lock held alone; no image is ahead of it. */
void session_bulk_forget_table(const Session *s, int64_t table_id);
/* The routine that a text names as SQL does: f, f(int, text), for bulks: 42809 when it returns a set. */
Status session_bulk_routine(Session *s, Slice name, const Routine **out);
/* What becomes of a routine in bulk: text rows of the statement. */
Status session_bulk_explain(Session *s, Statement *st, const Routine *r, bool verbose);

#endif
