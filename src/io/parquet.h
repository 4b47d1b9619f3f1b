/* parquet.h - Parquet files as tables. The library that reads them (third_party/carquet) is seen by
 * parquet.c and parquet_out.c only. */
#ifndef STELE_IO_PARQUET_H
#define STELE_IO_PARQUET_H

#include "io/files.h"

/* A stream over files, whose columns are those of the first; the files are there. In the arena. 22P04 what is no
 * Parquet file or damaged, 0A000 what cannot be read. */
Status parquet_open(const FileFinder *x, Arena *a, int32_t n_paths, const char *const *paths, const RowStream **out,
                    Err *e);
/* All rows of a result, as copy_to does. */
Status parquet_write(RowStore *rows, const RowPieces *more, int32_t first_col, int32_t n_cols, const Type *types,
                     const char *const *names, Vfs *vfs, const char *path, int tz_offset, int64_t *n_rows, Err *e);

#endif
