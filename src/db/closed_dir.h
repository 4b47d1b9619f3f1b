/* closed_dir.h - the directory of a database that is not open, for who looks at it and writes nothing.
 *
 * Its LOCK is held shared meanwhile, as a database that is opened read-only holds it: who would write must wait, others
 * may read. A directory without a LOCK (a copy) is not locked.
 */
#ifndef STELE_DB_CLOSED_DIR_H
#define STELE_DB_CLOSED_DIR_H

#include "base/vfs.h"
#include "catalog/catalog.h"
#include "db/generation.h"

typedef struct ClosedDir {
    Vfs *vfs;
    const char *path;
    MemAccount account;
    Arena *a; /* of paths and the like, as long as it is open; reports to the Err that it was opened with */
    VfsFile *lock;
} ClosedDir;

/* 58P01 there is no database; 55006; 58030, 53200. On an error it need not be closed. */
Status closed_dir_open(ClosedDir *d, Vfs *vfs, const char *path, Err *e);
void closed_dir_close(ClosedDir *d);
/* "path/g<generation>/name"; NULL: no memory. */
char *closed_dir_file(const ClosedDir *d, int64_t generation, const char *name);
/* What CURRENT says. XX001 */
Status closed_dir_current(const ClosedDir *d, Current *out, Err *e);

/* A catalog of a file, without a database. *c is filled, and freed by closed_catalog_free, whatever comes of it. */
Status closed_catalog_load(ClosedDir *d, const char *path, Catalog *c, Err *e);
/* Of bytes that such a file has. */
Status closed_catalog_read(ClosedDir *d, const char *what, const char *p, int64_t bytes, Catalog *c, Err *e);
void closed_catalog_free(Catalog *c);

#endif
