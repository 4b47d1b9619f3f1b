/* table_file.h - the file of a table's data.
 *
 * All integers are little-endian; checksums are xxh3-64.
 *
 *     0     header, 64 bytes: "STELETBL", u32 format = 1, u32 sections, u64 table id, u64 directory offset,
 *           u64 file bytes, u64 directory checksum, u64 0, u64 checksum of the 56 bytes before
 *     64    sections, back to back, each a multiple of 64 bytes (zero-padded)
 *     ...   directory: per section u32 kind, u32 index, u64 offset, u64 bytes, u64 checksum; ends the file
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
 * Key indexes are not stored: they are rebuilt on loading, which also checks uniqueness. Every byte is under a checksum
 * or compared with its only legal value, and shapes (offsets, counts, codes) are checked on top.
 */
#ifndef STELE_STORAGE_TABLE_FILE_H
#define STELE_STORAGE_TABLE_FILE_H

#include "base/vfs.h"
#include "storage/table.h"

/* Writes the whole file and syncs it. What is needed meanwhile is charged to `a`. */
Status table_file_save(const Table *t, Vfs *vfs, const char *path, MemAccount *a, Err *e);
/* Fills an empty table with the definition that the file was written under. XX001 when the file is missing or damaged;
 * the table is only good to be freed then. */
Status table_file_load(Table *t, Vfs *vfs, const char *path, MemAccount *a, Err *e);

#endif
