/* arrow_file.h - Arrow files and streams (.arrow, .feather of version 2) as tables, and COPY TO files of them. */
#ifndef STELE_IO_ARROW_FILE_H
#define STELE_IO_ARROW_FILE_H

#include "io/copy.h"
#include "io/files.h"

/* A stream over files, whose columns are those of the first. In the arena. 22P04, 0A000: arrow_ipc.h. */
Status arrow_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                  Err *e);
/* As copy_to does; path is one. Memory: a batch of a few MB. Intervals and numerics without (p,s) become text, the
 * latter with a mark by which Stele reads them as what they were (elements of arrays without it). */
Status arrow_write(const CopySource *from, Vfs *vfs, const char *path, int64_t *n_rows, Err *e);

#endif
