/* redo.h - what a database writes to its redo log (log/redo_log.h), and what it does with one when it is opened.
 *
 * A log is in the directory of its generation (generation.h), and has what was committed since that was saved. A
 * checkpoint (checkpoint.h) begins the log of the next generation first: until CURRENT names that, and when it fails,
 * the database is the older generation with both logs, one behind the other.
 *
 *   g<N>/log             the log
 *   g<N>/<LSN>-<id>.tab  a table as of a commit, written and synced before its record
 *   g<N>/<LSN>.catalog   a catalog as of a commit with definitions, likewise; older versions wrote such ones
 *
 * A record is a commit; what it is made of is in redo_parts.h.
 *
 * A bulk that is logged by inputs is committed when both of its records are there. It is run again on the tables and by
 * the definitions of then; so while there are bulks in the logs that recovery would read, no catalog and no table is
 * written to a file of them: what would do that saves the database instead, as its commit.
 *
 * A table is written whole when row numbers of the log would mean nothing: what they mean has changed since it was
 * written last (merged, truncated, replaced by a load), it is new, or ALTER TABLE has built it anew; and when most of
 * its rows have changed.
 *
 * Which logs there are, and that they belong together, is in redo_chain.h.
 *
 * Opening a database reads the logs twice. First, before tables are loaded, for the last catalog and the last file of
 * each table: what was logged before these is passed over. Then, when unique indexes of expressions have their
 * programs, the rest is applied, tables being shared out among the threads; bulks are run by who knows how to
 * (RedoBulkOps), and then one thread applies all. If there was something, a save ends the log, and a timeline begins.
 *
 * Thread rules: redo_commit, redo_switch, redo_renew and what is for bulks under the database lock held alone,
 * redo_sequence held at least shared; the others from any thread, what is for checkpoints from the one that makes one.
 */
#ifndef STELE_DB_REDO_H
#define STELE_DB_REDO_H

#include "base/bytes.h"
#include "db/generation.h"
#include "log/redo_log.h"
#include "storage/pieces.h"
#include "storage/table_file.h"

/* From here on commits are logged; the database is saved first where there is no generation to go on from. Behind
 * database_replay, before it has sessions. */
Status redo_start(Database *db, Err *e);
/* What the log has (u NULL: nothing), and the catalog (definitions), become part of the redo log: as the last that may
 * refuse a commit. *lsn: what has to be on the disk for it; unchanged when there is nothing to log. 53200, 53100,
 * 58030. */
Status redo_commit(Database *db, const UndoLog *u, bool definitions, int64_t *lsn, Err *e);
/* A bulk is about to run, which its inputs are logged for: as what may refuse it. *at: for redo_bulk_ran. 53200, 53100,
 * 58030. */
Status redo_bulk(Database *db, const BytesOut *inputs, int64_t *at, Err *e);
/* It has run; *lsn as of redo_commit. On an error (53200, 58030) the log has failed. */
Status redo_bulk_ran(Database *db, int64_t at, const BytesOut *outcome, int64_t *lsn, Err *e);
/* A table has been brought up to date with such bulks, and nothing else has changed in it. When that cannot be logged,
 * the log has failed. */
struct RowNumbers;
void redo_numbers(Database *db, const Table *t, const struct RowNumbers *x);
/* What is in memory lacks bulks that are in the log: nothing is committed or saved any more. The database has them
 * again when it is opened. */
void redo_is_ahead(Database *db, const Err *why);
Status redo_may_save(const Database *db, Err *e); /* 58030: it lacks them */
/* Beside commits: the record of what pieces_apply of the same input will do, kept with the pieces, so that its commit
 * need not make it. Nothing, where nothing is logged. 53200 */
Status redo_make(Database *db, const PieceInput *in, TablePieces *p, Err *e);
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
/* What applying it comes to, in bytes: its own, and so many more for each record and each row as those take time. */
int64_t redo_work(const Database *db);
/* Raised when every sequence has to say again which numbers it may give: behind a catalog in a file; 0: none has to. */
int64_t redo_sequences_since(const Database *db);

/* ---- for database.c ---- */
/* Reads what the log of the generation, and those behind it, say of files; nothing, when there is none. XX001. */
Status redo_load_begin(Database *db, const Current *c, const GenerationList *all, Err *e);
int64_t redo_load_logs(const Database *db); /* how many */
int64_t redo_load_lsn(const Database *db);  /* where the last one ends; 0: there is none */
/* The catalog, as the log has it at its end; own: the generation's file. What is needed meanwhile is in `a`. XX001 */
Status redo_load_catalog(Database *db, const char *own, Arena *a, Err *e);
/* Path of the table's data; NULL: it is empty. own: that of the generation. *where is set when it is another one. */
const char *redo_load_table(const Database *db, const Table *t, const char *own, TableFile *where);
void redo_end(Database *db); /* the database is closed */

/* ---- for checkpoint.c; all do nothing where nothing is logged ---- */
/* A log in the directory of the generation, which is there, that will go on from the one in use. */
Status redo_prepare(Database *db, Arena *a, int64_t generation, Err *e);
void redo_unprepare(Database *db); /* it is not used */
/* It is used from here on, at *lsn; what the catalog (its bytes) and tables are now, the generation will have. alone:
 * nothing is committed until redo_saved, or until the checkpoint has failed, and what is saved may be a commit. */
Status redo_switch(Database *db, const BytesOut *catalog, bool alone, int64_t *lsn, Err *e);
Status redo_begun(Database *db, Err *e); /* until it is on the disk that it is, and so all that was logged before */
void redo_saved(Database *db);           /* CURRENT names the generation of the log in use */
/* It is not known whether it does, and the generation may have what is not committed. The log has failed. */
void redo_not_saved(Database *db, const Err *why);
/* The log takes nothing more; a save under the lock gives it another file. */
bool redo_failed(const Database *db);
Status redo_remake(Database *db, Arena *a, int64_t generation, const BytesOut *catalog, int64_t *lsn, Err *e);
void redo_renew(Database *db); /* CURRENT names that generation */

#endif
