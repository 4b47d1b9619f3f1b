/* check.h - all files of a database that is not open: whether each is as it was written, and whether they belong
 * together.
 *
 * Files are read as opening the database would read them, all of them: catalogs and tables by their loaders, the log
 * record by record with the catalog as of each, and files that it names although later ones stand for them. Rows of the
 * log are not applied to tables here; who opens the database does that.
 */
#ifndef STELE_DB_CHECK_H
#define STELE_DB_CHECK_H

#include "base/vfs.h"

typedef enum CheckState {
    CHECK_GOOD,
    CHECK_UNUSED,     /* nothing wants it */
    CHECK_INCOMPLETE, /* a log that ends in bytes that are no record */
    CHECK_DAMAGED,
    CHECK_MISSING,
    CHECK_UNCHECKED, /* a damaged one would say what it should have */
} CheckState;
extern const char *const check_state_names[];

typedef struct CheckedFile {
    const char *name; /* in the directory */
    const char *what;
    CheckState state;
    int64_t bytes, offset; /* offset: of the damage; -1: none, or in no one place */
    const char *problem;   /* "" */
} CheckedFile;
typedef struct CheckEach {
    void (*fn)(void *ctx, const CheckedFile *f);
    void *ctx;
} CheckEach;
/* *bad: how many are neither good nor unused. On error it is not known what they are: 58P01, 55006, 58030 of the
 * directory, 53200. */
Status check_directory(Vfs *vfs, const char *path, const CheckEach *each, int64_t *bad, Err *e);

#endif
