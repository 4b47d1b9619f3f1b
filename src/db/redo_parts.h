/* redo_parts.h - what a record of the redo log is made of: how its parts are written, and read again.
 *
 * A record is a commit, or a step of one: parts, each u8 kind and then, numbers being short (base/bytes.h),
 *
 *   'C' text file, u64           the catalog is that of the file, which has the checksum in its last 8 bytes
 *   'D' u64, u64, length, bytes  the catalog has changed: checksums (catalog_bytes_seal) of its bytes before and now,
 *                                and their difference (base/delta.h)
 *   'T' table, text file, u64    the table is that of the file, which has the checksum in its header
 *   'R' table, length, bytes     rows of the table have changed (storage/redo.h)
 *   'S' sequence, last, called   numbers up to `last` may have been given; a record of its own
 *   'B' length, bytes            inputs of a bulk (txn/run/replay.h), before it runs; a record of its own
 *   'O' LSN, length, bytes       the bulk whose inputs are the record with this LSN has run; a record of its own
 *   'N' table, length, bytes     the table has been brought up to date with what bulks have left, and its rows got
 *                                these numbers (storage/redo.h); a record of its own
 *   'E' generation               the log goes on in that of the generation; a record of its own, the last one
 *
 * What reads records (recovery, `stele check`, `stele log`) finds a kind in the table of redo_parts.c: a new one is a
 * function that writes it, a line of that table, and what the readers do with it.
 */
#ifndef STELE_DB_REDO_PARTS_H
#define STELE_DB_REDO_PARTS_H

#include "base/bytes.h"
#include "base/vfs.h"

typedef enum RedoKind {
    REDO_CATALOG = 'C',
    REDO_DEFINITIONS = 'D',
    REDO_TABLE = 'T',
    REDO_ROWS = 'R',
    REDO_SEQUENCE = 'S',
    REDO_BULK = 'B',
    REDO_OUTCOME = 'O',
    REDO_NUMBERS = 'N',
    REDO_NEXT = 'E',
} RedoKind;

/* Its bytes are the record's; texts are in the reader's arena. */
typedef struct RedoPart {
    RedoKind kind;
    const char *name; /* of the kind, as users see it */
    int64_t id;       /* of the table, of the sequence; the generation; of an outcome the LSN of the inputs */
    const char *file; /* that it names, without a directory; NULL: none */
    int64_t seal;     /* redo_read_seal of it; of the catalog */
    int64_t before;   /* likewise, of the catalog before */
    BytesIn bytes;    /* of rows: redo_read; of bulks; the difference of catalogs */
    int64_t last;     /* of a sequence */
    bool called;
} RedoPart;

void redo_put_file(BytesOut *o, RedoKind kind, int64_t id, const char *name, int64_t seal);
void redo_put_bulk(BytesOut *o, const BytesOut *inputs);
void redo_put_bytes(BytesOut *o, RedoKind kind, int64_t id, const BytesOut *bytes); /* rows, an outcome, numbers */
void redo_put_rows_head(BytesOut *o, int64_t table, int64_t n);                     /* n bytes of rows follow */
/* Nothing, when they are the same. */
void redo_put_definitions(BytesOut *o, const BytesOut *before, const BytesOut *now);
/* What the catalog's bytes become, appended to `out`, which is empty. *valid false: it is none of these bytes. */
Status redo_apply_definitions(const RedoPart *p, const BytesOut *before, BytesOut *out, bool *valid, Err *e);
void redo_put_sequence(BytesOut *o, int64_t sequence, int64_t last, bool called);
void redo_put_next(BytesOut *o, int64_t generation);
/* The next part of a record. in->failed: there is none of a kind that is known, or it is not whole. */
void redo_get_part(BytesIn *in, RedoPart *out);

/* Size of a file that a part names, and the checksum in it that stands for all of it. A file that is too short has 0.
 */
Status redo_read_seal(Vfs *vfs, const char *path, RedoKind kind, int64_t *bytes, int64_t *seal, Err *e);
/* It is the file that the record names, and not another one of this kind. Whether it is whole is for those who load it.
 * XX001 */
Status redo_check_seal(Vfs *vfs, const char *path, RedoKind kind, int64_t seal, Err *e);

#endif
