/* upkeep.h - tables are packed when the database has been left alone.
 *
 * Merges behind statements (session.c) leave alone what bulks use, and what has grown too little to be worth holding up
 * the next statement. When nothing has been changed for auto_merge_delay, a thread of the database packs the tables
 * of which much is open, patched or deleted, one after the other, as VACUUM does: a scan is then as fast as behind a
 * load, and what bulks had of the table is given back. Then so is room that bulks have in the tables that were not
 * packed, and freed memory that is kept in case it is wanted again. Before each table it gives way to those that wait
 * for the database lock, and begins again when it has been quiet for as long.
 *
 * Clients' databases have it (stele_open). The thread sleeps while there is nothing to be packed.
 */
#ifndef STELE_SESSION_CORE_UPKEEP_H
#define STELE_SESSION_CORE_UPKEEP_H

#include "session/core/session.h"

/* Before the database has sessions. Without a thread nothing is packed when it is quiet. Ended by database_stop_upkeep.
 * 53200 */
Status upkeep_start(Database *db, Err *e);
/* The session may have changed tables. Any thread. */
void upkeep_note(Session *s);

#endif
