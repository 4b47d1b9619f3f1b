/* table_file.h - the file of a table's data.
 *
 * All integers are little-endian; checksums are xxh3-64.
 *
 *     0     header, 64 bytes: "STELETBL", u32 format = 1 (2: with bases), u32 sections, u64 table id, u64 directory
 *           offset, u64 file bytes, u64 directory checksum, u64 bases, u64 checksum of the 56 bytes before
 *     64    sections of its own, back to back, each a multiple of 64 bytes (zero-padded)
 *     ...   directory: per base u64 checksum in its header, u64 its file bytes, u64 0, u64 0; per section u16 kind,
 *           u16 file (0: this one, else a base, from 1 on), u32 index, u64 offset, u64 bytes, u64 checksum; ends the
 * file
 *
 * Sections, in this order:
 *
 *     kind              index       bytes
 *     1 description     0           i64 columns, i64 tablets, i64 live rows, i64 rows changed since the last merge;
 *                                   per column: u8 has a dictionary, statistics (put_stats)
 *     2 dictionary      column      i64 entries, i64 sorted entries, u32 length of each, then their bytes
 *     3 tablet          its number  a block as tablet.h describes it; delta tablets are encoded on the way out. The
 *                                   checksum here is the block's own
 *     4 deleted rows    its tablet  bitmap, follows its tablet
 *
 * A base is a table file of the same table, beside this one (table_parts.h); some of its sections are used, by what is
 * said of them here.
 *
 * Key indexes are not stored: they are rebuilt on loading, which also checks uniqueness. Every byte is under a checksum
 * or compared with its only legal value, and shapes (offsets, counts, codes) are checked on top.
 */
#ifndef STELE_STORAGE_TABLE_FILE_H
#define STELE_STORAGE_TABLE_FILE_H

#include "base/vfs.h"
#include "storage/table.h"
#include "storage/table_parts.h"

/* Writes the whole file and syncs it, as a new one: another name of what is there keeps it. What is needed meanwhile is
 * charged to `a`. */
Status table_file_save(const Table *t, Vfs *vfs, const char *path, MemAccount *a, Err *e);
/* The same; a long file beside those who wait for the disk is synced piece by piece, each of at most 1 MB, and fn is
 * called behind each, which may end it. */
typedef struct TablePace {
    Status (*fn)(void *ctx, Err *e);
    void *ctx;
} TablePace;
typedef struct TableSave {
    const TablePace *pace;    /* NULL: at once */
    const TableParts *before; /* what lies in files; NULL: nothing does */
    TableParts *parts;        /* what lies where then: filled, but for its bases, of which `before` has the parts */
} TableSave;
Status table_file_write(const Table *t, Vfs *vfs, const char *path, MemAccount *a, const TableSave *how, Err *e);
/* Fills an empty table with the definition that the file was written under. XX001 when the file, or one of its bases,
 * is missing or damaged; the table is only good to be freed then. */
Status table_file_load(Table *t, Vfs *vfs, const char *path, MemAccount *a, Err *e);
/* The same; `parts` is filled: what lies where. */
Status table_file_read(Table *t, Vfs *vfs, const char *path, MemAccount *a, TableParts *parts, Err *e);
/* Bases that the file names, into parts->bases. XX001 */
Status table_file_bases(int64_t id, Vfs *vfs, const char *path, MemAccount *a, TableParts *parts, Err *e);
/* All sections of the file's own, used or not, have their checksums, and it is the one that `seal` names. XX001 */
Status table_file_check(int64_t id, uint64_t seal, Vfs *vfs, const char *path, MemAccount *a, Err *e);

/* A file that has a table, for who may want to take it over as it is: where it lies is what the caller knows it by. */
typedef struct TableFile {
    int64_t generation, lsn;    /* generation 0: there is none */
    int64_t version, numbering; /* the table's, and table_generation, when it was written */
    int n_cols;
    TableParts *parts; /* counted; NULL: not known */
} TableFile;
/* Without parts. */
TableFile table_file_of(const Table *t, int64_t generation, int64_t lsn);
/* The table is byte for byte what the file has. t may be a version of it. */
bool table_file_is(const TableFile *f, const Table *t);
/* Kept with a table that is no version: the last file that has it, and the one that is being written. */
typedef struct TableFiles {
    TableFile last, next;
} TableFiles;
TableFiles *table_files(const Table *t);
void table_file_set(TableFile *f, TableFile to); /* takes over the parts, and gives up those that were there */

#endif
