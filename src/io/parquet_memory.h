/* parquet_memory.h - memory of third_party/carquet, charged to an account.
 *
 * The library has one allocator for the whole process. Ours charges what a thread's calls allocate between begin and
 * end to the account that begin names, and keeps a list of it: where the library is refused memory in the middle of
 * something it does not free all that it has.
 */
#ifndef STELE_IO_PARQUET_MEMORY_H
#define STELE_IO_PARQUET_MEMORY_H

#include "base/mem.h"

/* Of one reader or writer; one thread at a time allocates and frees it. */
typedef struct ParquetMemory {
    MemAccount *account;
    struct ParquetBlock *first;
} ParquetMemory;

/* The error of a refused charge is put into *e. Calls of the library are between these two, opening and writing at
 * least; not nested. */
void parquet_memory_begin(ParquetMemory *m, Err *e);
void parquet_memory_end(void);
/* The reader or writer has been closed: what is left of its memory goes. */
void parquet_memory_release(ParquetMemory *m);

#endif
