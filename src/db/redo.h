/* redo.h - what a database writes to its redo log (log/redo_log.h), and what it does with one when it is opened.
 *
 * The log belongs to a generation (database.h) and is in its directory, so that a save ends it: the rename of CURRENT
 * is the moment from which the next generation with an empty log is the database.
 *
 *   g<N>/log             the log
 *   g<N>/<LSN>.catalog   a catalog as of a commit with definitions, written and synced before its record
 *   g<N>/<LSN>-<id>.tab  a table as of a commit, likewise
 *
 * A record is a commit; what it is made of is in redo_parts.h.
 *
 * A table is written whole when row numbers of the log would mean nothing: what they mean has changed since it was
 * written last (merged, truncated, replaced by a load), it is new, or ALTER TABLE has built it anew; and when most of
 * its rows have changed.
 *
 * Opening a database reads the log twice. First, before tables are loaded, for the last catalog and the last file of
 * each table: what was logged before these is passed over. Then, when unique indexes of expressions have their
 * programs, the rest is applied to each table. If there was something, a save ends the log.
 *
 * Thread rules: redo_commit, redo_saving and redo_saved under the database lock held alone, redo_sequence held at least
 * shared; the others from any thread.
 */
#ifndef STELE_DB_REDO_H
#define STELE_DB_REDO_H

#include "db/database.h"
#include "log/redo_log.h"

/* From here on commits are logged; the database is saved first where there is no generation to go on from. Behind
 * database_replay, before it has sessions. */
Status redo_start(Database *db, Err *e);
/* What the log has (u NULL: nothing), and the catalog (definitions), become part of the redo log: as the last that may
 * refuse a commit. *lsn: what has to be on the disk for it; unchanged when there is nothing to log. 53200, 53100,
 * 58030. */
Status redo_commit(Database *db, const UndoLog *u, bool definitions, int64_t *lsn, Err *e);
/* Numbers of a sequence, up to those that it may give without saying so again. */
Status redo_sequence(Database *db, const Sequence *q, int64_t last, bool is_called, int64_t *lsn, Err *e);

/* LSN up to which all that is committed is logged; 0: nothing is. */
int64_t redo_end_lsn(const Database *db);
/* LSN up to which all is on the disk. */
int64_t redo_durable_lsn(const Database *db);
/* 55000: nothing is logged; 22023: the log ends before the LSN. */
Status redo_check_lsn(const Database *db, uint64_t lsn, Err *e);
/* Until it is on the disk up to the LSN: 53100, 58030. At once, where nothing is logged. */
Status redo_wait(Database *db, int64_t lsn, Err *e);
bool redo_info(const Database *db, RedoLogInfo *out); /* false: nothing is logged */
int64_t redo_bytes(const Database *db);               /* of the log, and the files that it names */
/* Raised when every sequence has to say again which numbers it may give: behind a catalog in a file; 0: none has to. */
int64_t redo_sequences_since(const Database *db);

/* ---- for database.c ---- */
/* Reads what the log of the generation in `dir` says of files; nothing, when there is none. XX001. */
Status redo_load_begin(Database *db, const char *dir, Err *e);
const char *redo_load_catalog(const Database *db); /* path of the catalog; NULL: the generation's */
/* Path of the table's data; NULL: it is empty. own: that of the generation. */
const char *redo_load_table(const Database *db, const Table *t, const char *own);
/* A save: the log of the next generation in its directory, before CURRENT is written. Then it is the log; or the save
 * has failed before, or with `why` while CURRENT was written: the log has failed then. */
Status redo_saving(Database *db, const char *dir, int64_t generation, Err *e);
void redo_saved(Database *db);
void redo_not_saved(Database *db, const Err *why);
void redo_end(Database *db); /* the database is closed */

#endif
