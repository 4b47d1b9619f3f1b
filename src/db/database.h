/* database.h - a database: catalog, memory, threads, and its files.
 *
 * A Database is shared by its connections. `txn_lock` is its one lock: statements that read hold it shared, statements
 * that change anything hold it exclusive (session/core/transaction.h). DDL takes part in transactions through undo
 * entries of the session.
 *
 * Files are in a directory:
 *   LOCK            advisory lock: one process at a time (55006)
 *   CURRENT         text: the generation now valid, with checksum; replaced by rename (generation.h)
 *   g<N>/catalog    tables, views, foreign keys, routines: checksummed
 *   g<N>/<id>.tab   tablets and dictionaries of a table, byte-exact, each with checksum (storage/table_file.h)
 *   g<N>/log        what was committed since, and files that it names (redo.h)
 * A checkpoint (checkpoint.h) writes a whole new generation, syncs files and directories, renames CURRENT, then removes
 * the old ones: a crash at any point leaves one complete generation, and the logs behind it (README.md). Corruption:
 * XX001 naming the file and offset.
 */
#ifndef STELE_DB_DATABASE_H
#define STELE_DB_DATABASE_H

#include <stdatomic.h>

#include "base/epoch.h"
#include "base/pool.h"
#include "base/vfs.h"
#include "catalog/catalog.h"
#include "db/lock.h"

/* What the layers above keep per database, made when it is first needed; the types are theirs. What a hub has of
 * tables, threads and memory is good until it is freed: database_close frees the bulk hub, then the device hub, then
 * all else. Its operations are set before the hub is. */
struct DeviceHub; /* session/core/devices.c: open devices and what was compiled for them */
typedef struct DeviceHubOps {
    void (*free)(struct DeviceHub *h);
} DeviceHubOps;
typedef struct Upkeep Upkeep; /* session/core/upkeep.c: the thread that packs tables which are left alone */
typedef struct UpkeepOps {
    void (*free)(Upkeep *u); /* ends the thread, which may wait for a merge */
} UpkeepOps;
typedef struct Checkpointer Checkpointer; /* session/core/checkpointer.c: the thread that begins checkpoints */
typedef struct CheckpointerOps {
    void (*free)(Checkpointer *c); /* ends the thread, which may wait for a checkpoint */
} CheckpointerOps;
struct BulkHub; /* session/pool/bulk.c: compiled procedures and images of tables */
typedef struct BulkHubOps {
    Status (*save)(struct BulkHub *h, Err *e); /* brings tables up to date; before the database is saved */
    void (*free)(struct BulkHub *h);
} BulkHubOps;

struct BytesIn;
struct RedoPlaces;
struct Database;
/* Runs bulks of a redo log again when the database is opened. `in` and `outcome` are what was logged. */
typedef struct RedoBulkOps {
    Status (*begin)(struct Database *db, void **out, Err *e); /* before the first, when there are some */
    Status (*look)(void *x, struct BytesIn *in, Err *e);      /* at each of them; then nothing has changed yet */
    Status (*run)(void *x, struct BytesIn *in, struct BytesIn *outcome, bool *valid, Err *e);
    /* The table is brought up to date, and its rows of the log have the numbers of `in`. */
    Status (*numbers)(void *x, Table *t, struct RedoPlaces *places, struct BytesIn *in, bool *valid, Err *e);
    Status (*end)(void *x, Err *e); /* all tables are brought up to date */
    void (*free)(void *x);
} RedoBulkOps;

/* What memory of a database is for: accounts below the database's, so that it can be told what holds it
 * (stele_memory). What they do not have is the catalog, and what runs only for a while. */
typedef enum DatabasePart {
    DB_TABLES,      /* an account for each below it (storage/table.h) */
    DB_HOMES,       /* rows that bulks work on, and that tables have cells in */
    DB_IMAGES,      /* what else bulks need of tables */
    DB_CALLS,       /* procedures; arguments and results of calls */
    DB_INPUTS,      /* kept while only a device has what bulks did */
    DB_UNDO,        /* changes of transactions, and those kept for snapshots */
    DB_VERSIONS,    /* published catalogs */
    DB_LOG,         /* what is not yet on the disk of the redo log */
    DB_CONNECTIONS, /* sessions and their statements */
    DB_DEVICES,
    N_DATABASE_PARTS,
} DatabasePart;
extern const char *const database_part_names[N_DATABASE_PARTS];

typedef struct Database {
    char *path; /* NULL for :memory: */
    Vfs *vfs;
    VfsFile *lock_file;
    MemAccount account; /* memory of this database; limit = memory_limit */
    MemAccount parts[N_DATABASE_PARTS];
    int64_t memory_limit;       /* that it was opened with, 0 = none: what RESET gives */
    const char *temp_directory; /* likewise, NULL = none; the opener's, who sets it */
    Catalog catalog;            /* the working state; under the lock */
    EpochDomain *epochs;
    struct DatabaseVersion *_Atomic published; /* what is read without the lock (published.h); NULL: nothing */
    _Atomic uint64_t published_changes;        /* DatabaseVersion.changes of it; UINT64_MAX: nothing is published */
    _Atomic uint64_t published_commits;        /* DatabaseVersion.commits of it */
    _Atomic int64_t published_fresh_ns;        /* DatabaseVersion.fresh_ns of it, or of one before; 0: nothing is */
    _Atomic int64_t committed_definitions;     /* the catalog's version at the last commit of definitions */
    Mutex publishing;                          /* of publishing and unpublishing; under the database lock */
    _Atomic int64_t n_sessions, last_session;  /* open ones; the number given last */
    Pool *pool;
    TxnLock *txn_lock;
    int64_t refs;
    _Atomic int64_t generation;      /* that CURRENT names; changed by checkpoints, of which there is one at a time */
    struct Checkpoints *checkpoints; /* checkpoint.h; NULL for :memory: */
    _Atomic bool dirty;              /* not all is saved; numbers of sequences are given under the shared lock */
    bool read_only;                  /* opened so: no transaction writes, and nothing is saved */
    TempSchema *_Atomic temps;       /* of sessions that have ended and could not drop them */
    struct Redo *redo;               /* redo.h; NULL: commits are not logged */
    struct RedoLoading *loading;     /* a log that has not been applied yet; NULL: there is none */
    struct DeviceHub *device_hub;    /* NULL: no device was asked for yet */
    const DeviceHubOps *device_hub_ops;
    struct BulkHub *_Atomic bulk_hub; /* NULL: no bulk, and no call of the pool, yet */
    const BulkHubOps *bulk_hub_ops;
    Upkeep *upkeep; /* NULL: there is none; made by the opener, before the database has sessions */
    const UpkeepOps *upkeep_ops;
    Checkpointer *checkpointer; /* NULL: there is none; likewise, where commits are logged */
    const CheckpointerOps *checkpointer_ops;
} Database;

Status database_open(const char *path, Vfs *vfs, int threads, int64_t memory_limit, Database **out, Err *e);
/* One that is there, beside other processes that do so; its files stay as they are. */
Status database_open_read_only(const char *path, Vfs *vfs, int threads, int64_t memory_limit, Database **out, Err *e);
/* Whether there is a database at the path, were it a damaged one. */
Status database_exists(const char *path, Vfs *vfs, bool *there, Err *e);
/* What a log has is applied, and saved: behind database_open, when indexes of expressions have their programs. */
Status database_replay(Database *db, const RedoBulkOps *bulks, Err *e);
/* A checkpoint by the only thread that uses the database; no-op when not dirty or :memory:. */
Status database_save(Database *db, Err *e);
void database_stop_threads(Database *db); /* without sessions, before it is saved for the last time */
void database_close(Database *db);        /* does not save */

#endif
