/* checkpoint.h - checkpoints: the database as of one moment, written beside those who go on with it.
 *
 * A checkpoint makes a new generation (README.md), in three steps. There is one at a time.
 *
 * 1. checkpoint_start, without the database lock: makes the directory, and in it the log of the next generation.
 * 2. checkpoint_pin, under the lock held alone, for some microseconds: tables are brought up to date with images of
 *    bulks, a version of the tables is published and pinned (published.h), the catalog's bytes are put together, and
 *    the next log is used from here on (redo.h).
 * 3. checkpoint_finish, without the lock: writes the version's tables and the catalog, then CURRENT, and removes the
 *    generations before. A table that is as it was in a file gets that file under another name.
 *
 * When a step fails the old generation is kept. The log that was begun stays behind the one before it: recovery reads
 * both, and the next checkpoint begins a third. When CURRENT could not be written for certain, both generations stay,
 * with their logs, and the next checkpoint makes another.
 *
 * database_save makes one of the tables as they are, by who has the database to itself: since no other thread uses it,
 * or by the lock, which it keeps to the end. A checkpoint of others that waits for the lock then is given up and begun
 * again; one that is being written is waited for.
 *
 * A log that has failed takes nothing more, so it cannot say where it goes on. Then checkpoint_pin asks for the lock to
 * be kept: the tables are written under it, and the log of the new generation, which goes on from none, is used when
 * CURRENT names it.
 */
#ifndef STELE_DB_CHECKPOINT_H
#define STELE_DB_CHECKPOINT_H

#include "base/epoch.h"
#include "db/generation.h"

/* What the database has measured of itself, for recovery_target_seconds; bytes per second, those of `replay` being of
 * redo_work. */
typedef struct CheckpointRates {
    _Atomic int64_t load, replay, save; /* as long as none was measured, careful guesses */
} CheckpointRates;
typedef struct CheckpointInfo {
    int64_t made;     /* since the database was opened */
    int64_t last_ns;  /* what the last one took */
    int64_t replayed; /* the work (redo_work) that its logs were when it was opened */
} CheckpointInfo;

typedef struct Checkpoint Checkpoint;

/* For a database in a directory; *there false: CURRENT is missing. */
Status checkpoints_new(Database *db, bool *there, Err *e);
void checkpoints_free(Database *db);

/* Waits for the one that is being made. *out NULL: there is nothing to be saved. *cancel ends the wait, and later the
 * writing beside others: 57014. */
Status checkpoint_start(Database *db, _Atomic bool *cancel, Checkpoint **out, Err *e);
/* Behind checkpoint_start, before waiting for the lock in a way that *cancel ends: it is also set when the holder of
 * the lock saves the database, and waits for this checkpoint to be given up. */
void checkpoint_wait_begins(Checkpoint *c, _Atomic bool *cancel);
/* The wait is over; true: it has to be given up. */
bool checkpoint_wait_ends(Checkpoint *c);
/* *keep: the lock must be kept until checkpoint_finish. alone: it is kept anyway, and tables are saved as they are. On
 * error checkpoint_finish must not be called, but checkpoint_give_up. */
Status checkpoint_pin(Checkpoint *c, bool alone, bool *keep, Err *e);
/* Also ends it. */
Status checkpoint_finish(Checkpoint *c, Err *e);
void checkpoint_give_up(Checkpoint *c);

Current *checkpoint_current(const Database *db); /* what CURRENT says; of who opens, and who makes a checkpoint */
CheckpointRates *checkpoint_rates(const Database *db);
void checkpoint_info(const Database *db, CheckpointInfo *out);
/* When the last one began, on clock_ns; or when the database was opened. Any thread. */
int64_t checkpoint_began(const Database *db);
/* Seconds that recovery would take now, as was measured; *log: of these, for the log. */
double checkpoint_recovery_time(const Database *db, double *log);
/* Until the one that is being made is over, if one is, or for so long. */
void checkpoint_wait(Database *db, int64_t most_ns);

/* ---- for those who open the database ---- */
/* The generation was loaded. */
void checkpoint_loaded(Database *db, int64_t bytes, int64_t ns);
/* Its logs were applied: another timeline begins. */
void checkpoint_recovered(Database *db, int64_t work, int64_t ns);
/* Behind all that there is: the next generation is another one. */
void checkpoint_note_generations(Database *db, const GenerationList *all);

#endif
