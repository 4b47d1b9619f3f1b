/* parquet.h - Parquet files as tables, and COPY TO them. The library for them (third_party/carquet) is seen by
 * parquet_footer.c, parquet_out.c and parquet_memory.c only. */
#ifndef STELE_IO_PARQUET_H
#define STELE_IO_PARQUET_H

#include "io/copy.h"
#include "io/files.h"

/* A stream over files, whose columns are those of the first; the files are there. In the arena. 22P04 what is no
 * Parquet file or damaged, 0A000 what cannot be read. */
Status parquet_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                    Err *e);
/* As copy_to does; path is one. Memory: a row group's values as they are in the file, and its writer's. */
Status parquet_write(const CopySource *from, Vfs *vfs, const char *path, int64_t *n_rows, Err *e);

#endif
