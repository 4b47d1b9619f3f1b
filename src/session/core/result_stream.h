/* result_stream.h - a statement's result in pieces: computed as it is read (exec/query_next.c).
 *
 * A statement with `streams` that selects runs as far as the first piece. If that is all, its result is like any other.
 * Else a ResultStream is what goes on: the query, between two pieces, with a pin of its own on the published version
 * that the statement reads. It holds no lock and no thread, and shares nothing with what the session does next: other
 * statements, COMMIT, ROLLBACK, definitions. So the rest of its rows are those of its snapshot, whatever happens.
 *
 * Not in pieces, but whole as ever, are results that cannot go on without what a statement has while it runs: of
 * statements that read tables under the lock (SET snapshot = 'lock', own uncommitted changes, routines, bulks), of
 * those that change data, and of plans that may have to begin again after an error of data (CachedPlan.may_guard).
 *
 * Bounds. What others replace waits for the pin. Commits that find more waiting for pins of streams than
 * snapshot_memory_limit give the oldest streams up: they fail with 72000 when they are next asked for a piece.
 *
 * Threads. A stream is its session's, but for being given up: `state` goes from AT_REST or AT_WORK to GIVEN_UP on any
 * thread, under the mutex of TxnHub, from whose list the stream is known to live. Who finds it at rest ends its pin,
 * and the session itself when it was at work.
 */
#ifndef STELE_SESSION_CORE_RESULT_STREAM_H
#define STELE_SESSION_CORE_RESULT_STREAM_H

#include "session/core/plancache.h"

typedef enum StreamState { STREAM_AT_REST, STREAM_AT_WORK, STREAM_GIVEN_UP } StreamState;

struct ResultStream {
    Statement *st;
    bool more;                          /* the query has pieces left, or has failed */
    bool in_block;                      /* the transaction block in which it began is open */
    SessionInfo info;                   /* clock and zone are those of the statement */
    int64_t bytes;                      /* of the last piece, as asked for */
    int64_t rows;                       /* of all pieces so far */
    Err failed;                         /* sqlstate "": not so */
    EpochSlot *slot;                    /* its pin; NULL: it reads no table */
    int64_t since_ns;                   /* when the statement began */
    _Atomic int state;                  /* StreamState; with a slot */
    struct ResultStream *next, *before; /* of the hub, newest first; with a slot */
};

/* The plan, which is about to run, can go on after the statement's end. */
bool result_stream_can(const Session *s, const CachedPlan *p);
/* The first piece, in place of the whole result; st->stream is set. */
Status result_stream_begin(Session *s, Statement *st, CachedPlan *p, RunOutput *out);
void result_stream_free(struct ResultStream *r); /* NULL is fine */
/* A call of the library: the next piece in place of the last one. *some false: there is none. */
Status statement_next_piece(Statement *st, bool *some);
/* The session's block ends: what fails from now on is no failure of it. */
void result_streams_leave_block(Session *s);
/* At a commit: more than `limit` bytes are waiting for streams. */
void result_streams_give_up(const Session *s, int64_t limit);

#endif
