/* arrow_file.h - Arrow files and streams (.arrow, .feather of version 2) as tables, and COPY TO them. */
#ifndef STELE_IO_ARROW_FILE_H
#define STELE_IO_ARROW_FILE_H

#include "exec/rows.h"
#include "io/files.h"

/* A stream over files, whose columns are those of the first. In the arena. 22P04, 0A000: arrow_ipc.h. */
Status arrow_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                  Err *e);
/* All rows of a result, as copy_to does. */
Status arrow_write(RowStore *rows, int32_t first_col, int32_t n_cols, const Type *types, const char *const *names,
                   Vfs *vfs, const char *path, int tz_offset, int64_t *n_rows, Err *e);

#endif
