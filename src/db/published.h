/* published.h - the database as readers see it without its lock: published versions.
 *
 * The catalog and its tables are the working state of the one session that holds the database lock alone. A
 * DatabaseVersion is what they held at the end of a commit, and never changes: a copy of the catalog whose tables are
 * table versions (storage/table_version.h) and whose views, foreign keys and routines are the catalog's own, which do
 * not change either. Readers pin an epoch (base/epoch.h), take the current version and read it for as long as the pin
 * lasts, whatever is written, merged, dropped or defined meanwhile.
 *
 *     Database.published -> DatabaseVersion -> Catalog -> tables[i] = view of TableVersion
 *                                                      -> views, foreign keys, routines: shared, retired when replaced
 *
 * A version is current as long as the lock has not been held alone and something changed since (txn_lock_changes): a
 * reader that finds an older one must not use it, since it would miss a commit that its caller may know of. Publishing
 * costs some microseconds and, for each open tablet, the copy of a column at its first update afterwards; so it is not
 * done at every commit, but by readers that find no current version, and by statements that are about to write for
 * long (session/core/read.c). Readers that may miss what was committed of late (setting snapshot_interval) take a
 * version that is no more current; it says until when it was.
 *
 * Memory. The current version keeps what the tables had: replaced tablets, dictionaries, dropped objects. What
 * replaces or drops something unpublishes, so that it is freed as soon as no pin sees it.
 */
#ifndef STELE_DB_PUBLISHED_H
#define STELE_DB_PUBLISHED_H

#include "db/database.h"
#include "storage/table_version.h"

typedef struct DatabaseVersion {
    EpochNode node;           /* first */
    _Atomic uint64_t changes; /* txn_lock_changes when the tables were last known to be in this state */
    _Atomic uint64_t commits; /* TxnHub.commits then */
    _Atomic int64_t fresh_ns; /* on clock_ns: what was committed by then is in it */
    int64_t bytes;            /* of this allocation */
    MemAccount *account;
    Catalog catalog; /* without an arena: nothing is added */
} DatabaseVersion;

/* The slot, which holds no pin, pins the present epoch; the current version, valid until database_read_end. NULL, and
 * no pin: there is none. since_ns: when the statement began, on clock_ns; label: what for (epoch.h). Needs no lock. */
const DatabaseVersion *database_read_begin(Database *db, EpochSlot *slot, const char *label, int64_t since_ns);
/* The same, but one is enough that has all that was committed at the time fresh_ns, and the definitions of now. now_ns:
 * some time since this call was made for. */
const DatabaseVersion *database_read_older(Database *db, EpochSlot *slot, const char *label, int64_t now_ns,
                                           int64_t fresh_ns);
/* The same when only definitions will be looked at: its tables may be of an older commit. */
const DatabaseVersion *database_definitions_begin(Database *db, EpochSlot *slot, const char *label, int64_t since_ns);
/* There is a current version: a call of database_read_begin would likely find one. in_block: one that a transaction can
 * begin with (session/core/transaction.h). */
bool database_is_published(Database *db, bool in_block);
bool database_is_published_since(Database *db, int64_t fresh_ns); /* the same of database_read_older */
void database_read_end(Database *db, EpochSlot *slot);

typedef struct PublishCost {
    int64_t ns;
    VersionCost copied;
} PublishCost;
/* Publishes the state of catalog and tables, which is committed: the caller holds the database lock, shared or alone,
 * and no uncommitted change is shown in a table. *done false: a table does not show what is
 * committed (table_is_committed). On error nothing has changed. */
Status database_publish(Database *db, bool *done, PublishCost *cost, Err *e);
/* Current versions of those tables of `c`, a copy of the catalog, that are their own (not views of others' rows), in
 * their place; tables that changed get one, and the database's published version, if it is older, is none any more. The
 * caller holds the database lock and a pin. *done false: a table does not show what is committed; then, and on error,
 * `c` is as it was. */
Status database_table_versions(Database *db, Catalog *c, bool *done, PublishCost *cost, Err *e);
/* No version is current any more; under the lock held alone. Comes before what versions name is freed or retired. */
void database_unpublish(Database *db);
/* Likewise, before objects of the catalog are retired: tables' versions stay current, for the next one to have. */
void database_unpublish_objects(Database *db);
/* Definitions of the catalog are committed; under the lock held alone. */
void database_definitions_committed(Database *db);

#endif
