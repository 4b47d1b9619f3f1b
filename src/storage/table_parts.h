/* table_parts.h - where the parts of a table lie in files, so that the next file of it has only those that changed.
 *
 * A table's file (table_file.h) has some of its tablets and dictionaries itself. The others lie in files that were
 * written before, its bases, which are beside it under other names (table_part_name) and are never written again. Where
 * what lies in files is known by TableParts: immutable from when its file was written or loaded on, and counted.
 *
 * A tablet is as it is in a file when it has the number that it had then (TabletBlock.id) and has not changed since; or
 * when it is packed, with the same checksum: then only rows of it are gone. A dictionary, when it has as many entries.
 *
 * Which bases a new file keeps (table_parts_choose): not one of which less than half is still of the table, so that
 * files take twice the room of the table at most; and not one that has less than what is written anyway, so that each
 * has more than all that came later, their number is a logarithm, and a tablet is written again as often at most.
 *
 * Thread rules: made and filled by one thread; read and dropped by any once the file is complete.
 */
#ifndef STELE_STORAGE_TABLE_PARTS_H
#define STELE_STORAGE_TABLE_PARTS_H

#include <stdatomic.h>

#include "storage/table.h"

enum { PART_NAME_ROOM = 48, BASES_MAX = 32 };

/* A section of a file: that of the table itself (0), or base `file - 1`. bytes 0: there is none. */
typedef struct FilePart {
    uint32_t file;
    int64_t offset, bytes;
    uint64_t checksum;
} FilePart;
typedef struct TabletPart {
    uint64_t id; /* of its block */
    int64_t changes;
    FilePart block, deleted;
} TabletPart;
typedef struct DictPart {
    uint64_t id; /* 0: the column has none */
    int32_t n, n_sorted;
    FilePart entries;
} DictPart;
/* A file, by the checksum in its header. */
typedef struct PartFile {
    uint64_t seal;
    int64_t bytes;
} PartFile;
typedef struct TableParts {
    _Atomic int64_t refs;
    PartFile own; /* seal 0: the file is not complete */
    int n_bases;
    PartFile bases[BASES_MAX];
    int64_t n_tablets, cap_tablets;
    TabletPart *tablets;
    int n_cols;
    DictPart *dicts; /* by column */
} TableParts;

/* Empty, counted once; of no account, since tables and checkpoints have it. */
TableParts *table_parts_new(Err *e);
TableParts *table_parts_share(TableParts *p); /* counted once more; NULL is fine */
void table_parts_drop(TableParts *p);         /* NULL is fine */
/* Room for what the table has. */
Status table_parts_reserve(TableParts *p, const Table *t, Err *e);
/* Of an empty one: it becomes the other's equal. */
Status table_parts_copy(TableParts *p, const TableParts *from, Err *e);
/* Bytes that loading the table reads. */
int64_t table_parts_bytes(const TableParts *p);
/* Sets out->bases, to be the bases of the table's new file: some of those of `before` and its own file. */
void table_parts_choose(const Table *t, const TableParts *before, TableParts *out);
/* Which of p's bases the file is, counted from 1; 0: none. */
uint32_t table_parts_base(const TableParts *p, uint64_t seal);
/* The tablet as p has it; NULL: it is not there. *deleted: and so are its deleted rows. */
const TabletPart *table_parts_tablet(const TableParts *p, const Table *t, int64_t i, bool *deleted);
/* The column's dictionary; NULL: it is not there. */
const DictPart *table_parts_dict(const TableParts *p, const Table *t, int col);
/* The name of a base of table `id`, in the directory of the file that has it. */
void table_part_name(char out[PART_NAME_ROOM], int64_t id, uint64_t seal);

#endif
