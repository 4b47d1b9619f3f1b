/* files.h - files as tables: FROM 'x.csv', read_csv('x*.csv', header => true). See program/stream.h, README.md.
 *
 * Finds the files that a path with wildcards means, finds out format, dialect and columns from a sample of the first,
 * and gives the binder a RowStream. Reading begins when the segment starts that has the stream as its source.
 */
#ifndef STELE_IO_FILES_H
#define STELE_IO_FILES_H

#include "io/copy.h"
#include "program/stream.h"

/* The finder of a session. `session` has the time zone; all pointers outlive the statements that use it. */
typedef struct FileFinder {
    StreamFinder finder; /* first */
    Vfs *vfs;
    MemAccount *account;
    const SessionInfo *session;
} FileFinder;
void file_finder_init(FileFinder *f, Vfs *vfs, MemAccount *account, const SessionInfo *session);

/* COPY ... FROM a file with FORMAT auto: completes *o with what is found out, and gives the names of the file's
 * columns, which are its header if it has one. */
Status file_sniff_copy(const FileFinder *f, Arena *a, const char *path, CopyOptions *o, int32_t *n,
                       const char *const **names, Err *e);

/* The paths that the statement's stand for, in the arena: those with * ? [ ] sorted. 58P01 when there is none. */
Status file_paths(Vfs *vfs, Arena *a, int32_t n, const char *const *given, int32_t *n_out, const char *const **out,
                  Err *e);

#endif
