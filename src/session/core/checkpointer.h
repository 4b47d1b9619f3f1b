/* checkpointer.h - when checkpoints are made (db/checkpoint.h).
 *
 * CHECKPOINT makes one in its session, which holds the database lock only while the version is pinned. Where commits
 * are logged a thread of the database makes them too: when the log, with the files that it names, has grown to
 * max_wal_size; when something was committed and the last one began checkpoint_timeout ago; and when recovery would
 * take recovery_target_seconds. The settings are those of the session that has committed last.
 *
 * Recovery loads the tables, applies the log and saves what has changed. How fast that goes the database measures when
 * it is opened and saved (CheckpointRates). While a checkpoint is made the log grows on, so one begins when half of the
 * time that is left for the log is used up; when all of it is, who commits waits until the checkpoint is made, or has
 * failed. So recovery takes longer than the target by what sessions commit at the same time, at most; and where tables
 * alone take most of it, by a fifth of it.
 */
#ifndef STELE_SESSION_CORE_CHECKPOINTER_H
#define STELE_SESSION_CORE_CHECKPOINTER_H

#include "session/core/session.h"

/* By a session that holds no lock, outside of a transaction; it may hold the lock afterwards. Returns when all that was
 * committed before is saved. */
Status session_checkpoint(Session *s);
/* Before the database, which logs commits, has sessions. Ended by database_stop_threads. */
Status checkpointer_start(Database *db, Err *e);
/* The session has committed something. */
void checkpointer_note(Session *s);
/* It holds no lock now, and goes on when recovery would not take too long. */
void checkpointer_hold(Session *s);

#endif
