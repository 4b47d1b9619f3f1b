/* parquet_memory.h - memory of third_party/carquet, charged to an account.
 *
 * The library has one allocator for the whole process. Ours charges what a thread's calls allocate between begin and
 * end to the account that begin names; a block remembers its account and may be freed at any time by any thread.
 */
#ifndef STELE_IO_PARQUET_MEMORY_H
#define STELE_IO_PARQUET_MEMORY_H

#include "base/mem.h"

/* The error of a refused charge is put into *e. Calls of the library are between these two, opening and writing at
 * least; not nested. */
void parquet_memory_begin(MemAccount *account, Err *e);
void parquet_memory_end(void);

#endif
