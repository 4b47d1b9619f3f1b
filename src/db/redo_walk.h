/* redo_walk.h - goes through the logs of a database that is not open: their records, the parts of these, and the
 * catalog as of each, by which their bytes can be read.
 */
#ifndef STELE_DB_REDO_WALK_H
#define STELE_DB_REDO_WALK_H

#include "db/closed_dir.h"
#include "db/redo_chain.h"
#include "db/redo_parts.h"
#include "storage/redo.h"

typedef struct RedoWalk {
    ClosedDir *dir;
    RedoChain chain;
    RedoRecord record;        /* of its last log */
    BytesIn in;               /* of the record's parts */
    Arena *a;                 /* of a record */
    const char *catalog_path; /* the last file that the catalog as of the part was in */
    BytesOut image;           /* its bytes, as they have become; empty: as in the file */
    bool lost;                /* the file is damaged: it is not known what they have become */
    bool compares;            /* set by the caller: `before` is wanted */
    Catalog catalog, before;  /* as of the part, where it is loaded; and before it, where it has definitions */
    bool loaded, has_before;
    bool bulks;         /* inputs of a bulk were read */
    int64_t inputs_lsn; /* of the last ones */
    Err *e;
} RedoWalk;

/* *there: false when there is no log. Whatever comes of it, redo_walk_end frees what there is. XX001 */
Status redo_walk_begin(RedoWalk *w, ClosedDir *dir, const Current *current, bool *there, Err *e);
void redo_walk_end(RedoWalk *w);
/* The next record. XX001 */
Status redo_walk_record(RedoWalk *w, bool *got);
/* Its next part; *got: false, there is none. XX001 the record is none that is written, or not at this place: what bulks
 * have before and behind them (redo.h). */
Status redo_walk_part(RedoWalk *w, RedoPart *out, bool *got);
/* The catalog as of the part, loaded when it is first asked for. */
Status redo_walk_catalog(RedoWalk *w, const Catalog **out);
/* Another one of the same, which the caller frees with closed_catalog_free, whatever comes of it. */
Status redo_walk_copy(RedoWalk *w, Catalog *out, Err *e);
/* The table of a part. XX001: there is none. */
Status redo_walk_table(RedoWalk *w, const RedoPart *p, const Table **out);
/* Its rows, piece by piece (redo_read). XX001 */
Status redo_walk_rows(RedoWalk *w, RedoPart *p, const Table *t, RedoEach each, void *ctx);
/* The record is damaged, where its bytes begin. */
Status redo_walk_damaged(const RedoWalk *w, const char *how);

#endif
