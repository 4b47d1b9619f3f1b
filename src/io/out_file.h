/* out_file.h - a file that COPY TO writes: under a temporary name beside its place, and renamed when complete, so that
 * a full disk or a crash leaves the old file or none, never half of one. A device (/dev/..) has no place beside it and
 * is written as it is. */
#ifndef STELE_IO_OUT_FILE_H
#define STELE_IO_OUT_FILE_H

#include "base/mem.h"
#include "base/vfs.h"

typedef struct OutFile {
    Vfs *vfs;
    VfsFile *file; /* NULL: it is not open */
    MemAccount *account;
    const char *path;
    char *temp;
    int64_t offset;
    bool beside;
} OutFile;

/* path outlives it. 58P01 and the like, with the path in the message. On an error there is nothing to end. */
Status out_file_open(OutFile *f, Vfs *vfs, MemAccount *account, const char *path, Err *e);
/* At the end. 53100 where there is no room. */
Status out_file_write(OutFile *f, const void *p, int64_t n, Err *e);
/* good: in place when this returns ST_OK. Otherwise, and on an error, nothing is left of it. */
Status out_file_end(OutFile *f, bool good, Err *e);

#endif
