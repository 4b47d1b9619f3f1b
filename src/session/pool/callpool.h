/* callpool.h - calls from many connections, collected and run as bulks.
 *
 * A submission (CallEntry) is one or more calls of one routine; entries stand in a queue in the order they came, which
 * is the order of their timestamps. A bulk takes entries from the head of the queue. It is cut when
 *
 *   - it has bulk_size calls,
 *   - its first entry has waited for bulk_interval, or
 *   - all threads that have waited for calls during the last bulk_interval wait again: no further call is to be
 * expected. So a thread that is alone never waits.
 *
 * While a bulk runs the next one collects, so that under load bulks form by themselves.
 *
 * The leader runs it: a thread that waits for one of the entries or, when there is none, the pool's own thread, which
 * is started by the first entry that is submitted without waiting. Either uses the pool's session, never its own, so
 * that cancelling the leader's statement does not cancel calls of others. The leader takes the exclusive lock first and
 * the entries afterwards, so that all that come while it waits belong to the bulk; DDL and transactions thus wait for
 * the boundary of a bulk, and bulks for theirs.
 *
 * Faults. A call that has not begun can be withdrawn: by cancelling its statement or by statement_timeout (57014 for it
 * alone), by lock_timeout (55P03; counted from its arrival, bulk_interval apart), by closing its handle. Of an entry
 * whose bulk runs, the same (but lock_timeout) ends calls that are in loops: they alone fail with 57014, at the next
 * iteration (on devices when the bulk has been there for a second, since it goes on on the virtual machine then). Where
 * calls run one at a time (routines that cannot be compiled) the bulk is undone, and the entries of others run again.
 * bulk_step_limit bounds all. An error of the whole bulk (memory) goes to all its entries; nothing has changed then.
 * Entries whose routine is gone when they are to run fail alone (42883).
 *
 * Slices. A bulk that takes long runs in slices (bulk_slices.c), cut between entries too: others run in between, and
 * definitions may change. An entry whose routine is gone by then, or before which a slice failed as a whole, has not
 * begun: a plain CALL or statement runs in the ordinary way then, as above. Bulks of 0-sets and of routines that cannot
 * be compiled run in one piece.
 *
 * Prefetching. While a bulk runs on a device with memory of its own and a full one is waiting, the leader gathers that
 * one's columns and has its arguments sent (CallPipeline). Its calls cannot be withdrawn during that, but afterwards;
 * the next leader uses what was gathered when the entries are the same.
 *
 * 0-sets. With bulk_cut = zero_set (timestamps kept, bulk_strategy auto or kset) the leader first computes the
 * footprints of the entries that have come since (up to bulk_size calls), and takes all that wait for no earlier one
 * (callsets.h): no two calls of such a bulk conflict, so it needs no schedule, nor footprints except to count rows. The
 * rest stays in the pool, where later entries overtake it that do not conflict with it, and runs in the next bulk,
 * which is due at once. An entry is taken as a whole; when its own calls conflict, its bulk is planned as ever.
 * Additions count as writes there: whether they commute is known of the calls of one bulk only. Entries whose
 * operations are not known before they run are barriers (routines that cannot be compiled, that use the clock for what
 * they touch, or that insert a number of rows which only a run tells; calls whose footprint fails; other settings): all
 * before them run, then a bulk is cut by arrival that begins with them. Whatever else than bulks changes rows or
 * definitions makes the leader compute the footprints of waiting entries again. Entries can be withdrawn; while their
 * footprints are computed only afterwards, but a loop that does not end is stopped there as well. For one entry alone
 * no footprint is computed. Nothing is prefetched.
 *
 * Settings are those of the submitting session at that moment; a bulk ends where the next entry's differ in what
 * concerns bulks. Routines that cannot be compiled run one call at a time, in bulks of their own.
 *
 * A plain CALL, or SELECT of nothing but a volatile function that gives a value, joins when bulk_interval > 0, outside
 * a transaction block, and its routine can be compiled. A bulk of one costs no more than the call by itself. So does a
 * statement with parameters that inserts, changes or deletes one row by its key (point.c), or reads one while images
 * have unapplied changes: to bulks it is a procedure of that one statement (session_bulk_statement). One whose table
 * has no room as an image (53200, 53400: nothing has changed then) leaves the pool, which the log says, and runs in the
 * ordinary way. Other statements take the lock between two bulks, and have their place in the same order.
 *
 * Thread rules: everything here may be called by any session's thread. Lock order: the pool's mutex is a leaf, held for
 * no more than list work; the database lock is taken without it. An entry and what it points to belong to its
 * submitter, which must not touch them from call_submit until the entry is done or withdrawn.
 */
#ifndef STELE_SESSION_POOL_CALLPOOL_H
#define STELE_SESSION_POOL_CALLPOOL_H

#include "session/pool/bulk.h"

typedef struct CallPool CallPool;
struct CallText;                          /* what a CALL's text became (SqlText.call) */
typedef struct CallBulk CallBulk;         /* a bulk's result, shared by its entries */
typedef struct CallSettings CallSettings; /* a copy of a session's settings, shared */
typedef enum CallState { CALL_NEW, CALL_PENDING, CALL_RUNNING, CALL_DONE } CallState;

typedef struct CallEntry {
    /* the submitter's, before call_submit */
    int64_t routine; /* id */
    bool serial;     /* it cannot be compiled */
    int64_t n;
    const Vec *params; /* n cells each, of the IN and INOUT parameters */
    /* the pool's */
    struct CallEntry *next, *prev;
    struct CallPlan *plan; /* it is in the 0-sets (callsets.h) */
    struct CallClient *client;
    CallSettings *settings;
    _Atomic CallState state;
    bool waited;       /* its thread waits for it */
    _Atomic bool stop; /* it is not wanted any more; what has begun may end */
    int64_t number;    /* in the order of submission */
    int64_t arrived_ns, begun_ns, done_ns;
    CallBulk *bulk;
    int32_t group;
    int64_t first; /* of the group's calls */
} CallEntry;

/* Submits without waiting: 25001 in a transaction block. `keeper`: there may never be a waiting thread, so the pool's
 * thread runs it. On an error nothing was submitted. */
Status call_submit(Session *s, CallEntry *x, bool keeper);
/* Waits for at most timeout_us (< 0: for ever); *done false: time is up and it still pends or runs. On an error (57014,
 * 55P03) the entry was withdrawn and is NEW again. Errors of calls and of the bulk are no errors here:
 * call_entry_error, call_entry_fault. A statement that is canceled while the bulk runs waits for its end (see Faults).
 */
Status call_wait(Session *s, CallEntry *x, int64_t timeout_us, bool *done);
/* Withdraws it, or waits for its end, and lets go of its results: it is NEW again. NEW entries are fine. */
void call_release(Session *s, CallEntry *x);

/* Of an entry that is DONE. */
const Err *call_entry_fault(const CallEntry *x);                     /* NULL: the bulk ran */
const CallError *call_entry_error(const CallEntry *x, int64_t call); /* NULL: it succeeded */
const Vec *call_entry_outs(
    const CallEntry *x, int64_t *first); /* columns; cell of call i is at first + i. Strings live until call_release */
void call_entry_notices(Session *s, const CallEntry *x); /* what its calls had to say goes to the session */
const BulkStats *call_entry_stats(const CallEntry *x);   /* of the whole bulk */

/* CALL, or SELECT of a lone function, as a statement or prepared: its call, which is a procedure's or a function's;
 * NULL: a statement on one row, perhaps. What the text becomes for that stays with it; it is made anew when definitions
 * have changed. *done false: it is to run in the ordinary way. */
Status call_statement(Session *s, Statement *st, SqlText *text, const AstFunc *call, int32_t n_params,
                      const Type *param_types, const Value *params, bool *done);
void call_session_free(Session *s); /* no entry of it is left */
void call_text_free(struct CallText *t);

/* What the pool has done since the database was opened. Latency: from call_submit to the result. */
typedef struct CallPoolStats {
    int64_t bulks, calls, largest;
    int64_t by_size, by_time, by_all;     /* why bulks were cut */
    int64_t by_turn;                      /* likewise: of calls that had waited for calls of the bulk before */
    int64_t sent_ahead, footprints_ahead; /* BulkStats.prefetched, foot_prefetched */
    int64_t p50_ns, p99_ns, max_ns;       /* to an eighth */
    int64_t waiting;                      /* calls in the queue now */
} CallPoolStats;
void call_pool_stats(Session *s, bool reset, CallPoolStats *out);

/* For bulk.c: the pool lives in the database's hub. */
CallPool *call_pool_new(Database *db, Err *e);
void call_pool_free(CallPool *p); /* no entries; ends its thread */
/* In bulk.c. NULL: not made yet (no error). */
CallPool *session_call_pool(const Session *s);
bool call_pool_runs_on(const CallPool *p, const Session *s); /* its bulks run on that session */
Status session_call_pool_make(Session *s,
                              CallPool **out); /* takes the exclusive lock when it must; outside transactions */
/* Whether the routine can be compiled. False: not found out yet, under this catalog. Under any lock. */
bool session_bulk_known(const Session *s, int64_t routine, bool *yes);
/* A name in it may mean a temporary table of the session, which bulks do not see. Once it is known. */
bool session_bulk_names_temporary(const Session *s, int64_t routine);
Status session_bulk_compilable(Session *s, int64_t routine,
                               bool *yes); /* under the exclusive lock of session_begin_bulk */
/* The exclusive lock for the pool's session. Waits for timeout_ms at most, <= 0: for ever. */
Status session_pool_lock(Session *s, int64_t timeout_ms, _Atomic bool *cancel, Err *e);

#endif
