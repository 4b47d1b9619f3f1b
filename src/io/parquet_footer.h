/* parquet_footer.h - what the footer of a Parquet file says: columns, row groups, where their pages are, statistics.
 *
 * third_party/carquet reads it: parquet_footer.c and parquet_out.c alone see the library. One thread at a time.
 */
#ifndef STELE_IO_PARQUET_FOOTER_H
#define STELE_IO_PARQUET_FOOTER_H

#include "io/parquet_int.h"

typedef struct ParquetFooter ParquetFooter;
/* 58P01 ..., 22P04 for what is no Parquet file. `path` outlives it. */
ParquetFooter *parquet_footer_open(Vfs *vfs, MemAccount *account, const char *path, Err *e);
void parquet_footer_close(ParquetFooter *f);          /* NULL is fine */
VfsFile *parquet_footer_file(const ParquetFooter *f); /* borrowed */
int64_t parquet_footer_rows(const ParquetFooter *f);  /* as the footer has it */
int32_t parquet_footer_groups(const ParquetFooter *f);
/* In the arena. 0A000 for columns that Stele has no type for. */
Status parquet_footer_columns(const ParquetFooter *f, Arena *a, int32_t *n_cols, ParquetColumn **cols, Err *e);
int64_t parquet_footer_group_rows(const ParquetFooter *f, int32_t group); /* below 0: damaged */

typedef struct ParquetChunk { /* a column of a row group */
    Codec codec;
    int64_t start, end; /* in the file, and within it */
} ParquetChunk;
Status parquet_footer_chunk(const ParquetFooter *f, int32_t group, const ParquetColumn *c, ParquetChunk *out, Err *e);
/* Least and largest cell of a column of 16 to 64 bits; false where they are not known. */
bool parquet_footer_bounds(const ParquetFooter *f, int32_t group, const ParquetColumn *c, int64_t *min, int64_t *max);

#endif
