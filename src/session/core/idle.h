/* idle.h - calls of the library for a session, and idle_in_transaction_session_timeout.
 *
 * A transaction whose session has been outside of calls for longer than the setting is ended: its changes are undone,
 * its snapshot and, when it is pinned, its lock are given back. The session's next call that would run a statement
 * fails with 25P03, whatever the statement is, and leaves the session outside of transactions.
 *
 * There is no thread for it. Idle transactions are ended by sessions that wait for the database lock (db/lock.c, every
 * 50 ms), by commits that would be kept for their snapshots, and by their session's next call. So that no two threads
 * are in a session at once, a call of a session in a transaction holds SessionIdle.call, and a thread that ends the
 * transaction has to get it without waiting (docs/LOCKS.md). */
#ifndef STELE_SESSION_CORE_IDLE_H
#define STELE_SESSION_CORE_IDLE_H

#include "session/core/session.h"

Status session_idle_init(Session *s);
/* Begins a call, and ends it, after any outcome. Calls may be nested: those inside another one do nothing. 25P03: the
 * transaction has been ended; state 'I'. */
Status session_enter(Session *s);
void session_leave(Session *s);
/* Ends transactions whose time is up; none that is in a call, so none of the caller's. */
void sessions_end_idle(TxnHub *h);

#endif
