/* table_version.h - immutable versions of a table: what a statement pins and reads (base/epoch.h).
 *
 * The Table itself is the writer's working state: changed through table.h, by one writer at a time, with keys, undo and
 * statistics. At a boundary its state is published: table_version_prepare makes an immutable TableVersion of it, which
 * can fail; table_versions_install exchanges the pointers of any number of tables as one step, which cannot. Readers
 * pin an epoch and get for each table the version of that epoch. A version is handed out as a `const Table *`:
 * everything that reads tables (scans, decoding, filters, planning) works on it without knowing.
 *
 *     Table (writer) ---- tablets ----> block: encoded bytes, or open cells; counted
 *        | impl->versions                  ^   ^
 *        v                                 |   |   a header per (tablet, state of it): rows, deleted bitmap, column
 *     current -> TableVersion 9 -> header -+   |   views; counted, shared by versions until the tablet changes
 *                  | older                     |
 *                TableVersion 7 -> header -----+      retired at 9; freed when no pin intersects [7, 9)
 *
 * What is shared, and how it stays immutable:
 *
 * - Encoded tablets: the block, by count; it never changes.
 * - Patches of columns (patches.h), by count: the first change after a version was published copies the addresses
 *   of the runs and one run. While undo logs have cells of a column the version gets copies instead.
 * - Deleted bitmaps: copied at publishing when the tablet has changed since the last version.
 * - Open (delta) tablets: the arrays of published cells, by count. Rows are appended behind the published number, and
 *   updated there. Updates of few published rows become patches beside the array; the one that is too many, and growth,
 *   copy the array for the writer (tablet.c, delta_unshare). Validity bitmaps are copied at publishing. Strings never
 *   move.
 * - Cells of homes (row_home.h): a copy, by count, and patches of rows that have changed since it was made.
 * - Dictionaries: entries below the published number and the hash table, by count. Both are only added to, and a
 *   lookup passes over codes that its version does not have.
 * - Statistics: copied, with the most common values; without the estimator's registers.
 * - Definition: columns, keys' columns and checks are copied. Names are the table's, which outlives its versions.
 * - Key indexes: the slots, by count, which are only added to (keyindex.h). table_lookup works on a version: entries
 *   that came later name rows, or keys of rows, that the version does not have. What growing or a sweep has replaced
 *   stays for the versions that share it.
 *
 * Counts are touched when a version is made or freed, never by readers. No lock is held while anything is freed.
 * A version is of committed state (table_is_committed): logs of others are hidden, and the log of the transaction that
 * commits counts as committed (undo_set_committed). Undo logs write to published cells later, and cannot fail:
 * publishing reserves memory for copies of columns that they have cells of. Rows of theirs that a version has seen, as
 * deleted ones, are not used again. The README says who calls this.
 */
#ifndef STELE_STORAGE_TABLE_VERSION_H
#define STELE_STORAGE_TABLE_VERSION_H

#include "base/epoch.h"
#include "storage/table.h"

typedef struct TableVersion TableVersion;

/* Before the first version; the domain outlives the table. */
Status table_versions_enable(Table *t, EpochDomain *d, Err *e);

/* By the table's writer. The table is not changed before the version is installed; or the version is kept without that,
 * as what the table was, and is discarded, by any thread. 55000: the table has changes that are not committed. On error
 * nothing has changed. */
Status table_version_prepare(Table *t, TableVersion **out, Err *e);
void table_version_discard(TableVersion *v); /* not installed; NULL is fine */
/* Bytes that making a version has copied, and how many of them are cells of homes (row_home.h): all of a column, or of
 * rows that have changed or come. */
typedef struct VersionCost {
    int64_t bytes, home_bytes;
} VersionCost;
VersionCost table_version_cost(const TableVersion *v);
/* In one step, at a boundary of its own; the versions before are retired, and some of what waits is reclaimed. Returns
 * the epoch from which on readers see them. */
uint64_t table_versions_install(EpochDomain *d, int64_t n, TableVersion *const *versions);
/* The same inside of a boundary that the caller has begun, which opens `epoch`. Behind its end the caller reclaims
 * more than it has retired (epoch_reclaim). */
void table_versions_install_at(EpochDomain *d, uint64_t epoch, int64_t n, TableVersion *const *versions);

/* The table as of the slot's epoch; NULL: it had no version then. Valid until the pin ends. The table was found under
 * this pin. Takes no lock when the pin is open and the current version is old enough; else a lock of the table for as
 * long as it takes to follow the list of its versions. */
const Table *table_version_at(const Table *t, const EpochSlot *pin);
/* The version that was installed last, as readers see it; NULL: none is current. To be called where versions are
 * prepared and installed. */
const Table *table_version_current(const Table *t);
const Table *table_version_view(const TableVersion *v);
Table *table_version_owner(const Table *view); /* whose version it is; it may have been dropped */
/* No version is current any more; the last one is retired. Inside of a boundary. */
void table_versions_unpublish(Table *t);
/* The table's tablet that a version's tablet is of, which had been changed in place so often (TabletBlock.changes). */
Tablet *table_version_tablet(const Table *version, int64_t i, int64_t *changes);
/* The epoch that the version was born in; 0: the table is no version, but the writer's working state. */
uint64_t table_version_birth(const Table *t);
/* The cells of an open column of a version's tablet, for who keeps copies of them elsewhere. Cells of the tablet's rows
 * are the same in all versions in which they have this id, for as long as the process runs: a version with more rows
 * has these behind them. Patches and validity bits are each version's own. */
typedef struct OpenCells {
    uint64_t id;   /* 0: not known again. The column is packed, or `t` is no version, and its cells may change */
    int64_t bytes; /* of all rows that may come behind them under this id */
} OpenCells;
OpenCells table_version_cells(const Table *t, int64_t tablet, int col);
/* How often the tablet had changed (TabletBlock.changes): as of the version, or, where `t` is none, now. */
int64_t table_version_changes(const Table *t, int64_t tablet);
/* Debug: every invariant that table_verify knows, keys included, and shared counts. */
Status table_version_verify(const Table *version, Err *e);

#endif
