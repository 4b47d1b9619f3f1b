/* redo_show.h - the redo log of a database that is not open, for people: what each part of its records has. */
#ifndef STELE_DB_REDO_SHOW_H
#define STELE_DB_REDO_SHOW_H

#include "base/vfs.h"

typedef struct RedoShown {
    int64_t database, timeline, generation; /* of the log that the record is in; 0: an older one, which does not say */
    int64_t lsn, bytes;                     /* of the record, with what the file has around it */
    bool first;                             /* part of it */
    const char *kind;
    const char *object; /* table or sequence, with its schema; of an outcome the LSN of its bulk; "": none */
    const char *file;   /* that it names, in the directory of the generation; the log that goes on; "": none */
    int64_t inserted, updated, deleted;
    int64_t last; /* of a sequence */
} RedoShown;
typedef struct RedoShownRow {
    const char *change;
    int64_t row, n;
    const char *const *names, *const *values; /* NULL: NULL */
} RedoShownRow;
/* Texts are good during the call. True: no more is wanted. row NULL: rows are counted only. */
typedef struct RedoShow {
    bool (*part)(void *ctx, const RedoShown *p);
    bool (*row)(void *ctx, const RedoShownRow *r);
    void *ctx;
} RedoShow;
/* From an LSN on; the rows of a part come behind it. 58P01, 55006, 58030, 53200, XX001: behind what can be read. */
Status redo_show(Vfs *vfs, const char *path, int64_t from, const RedoShow *to, Err *e);

#endif
