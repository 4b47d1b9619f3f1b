/* suballoc.h - a device's memory, taken from the driver in big chunks and handed out in blocks, because the driver's
 * own allocation takes up to milliseconds and its freeing waits for the whole device.
 *
 * Small requests (up to SUB_SMALL_MAX) and large ones live in chunks of their own, so that small blocks do not split
 * large chunks. Inside, the smallest free block that is found quickly is taken and split (64 x 4 bins by size, as in
 * TLSF); neighbours merge when freed. Chunks that are free as a whole go back to the driver when it has no more memory,
 * or when what is held would exceed the limit, and by suballoc_trim.
 *
 * A freed block is handed out again at once: the caller frees only after the queues that use it were synchronised.
 *
 * It knows addresses only and never touches the memory. Descriptions of blocks are charged to `account`. Thread rules:
 * any thread; one lock, held also while the driver is asked for a chunk.
 */
#ifndef STELE_DEVICE_CUDA_SUBALLOC_H
#define STELE_DEVICE_CUDA_SUBALLOC_H

#include "base/base.h"
#include "base/err.h"
#include "base/mem.h"

enum { SUB_SMALL_MAX = 1 << 20, SUB_ALIGN = 256, SUB_LARGE_ALIGN = 64 << 10 };

typedef struct SubAlloc SubAlloc;
typedef enum SubResult { SUB_OK, SUB_FULL, SUB_FAILED } SubResult;

typedef struct SubSource { /* where chunks come from */
    void *ctx;
    SubResult (*grow)(void *ctx, int64_t bytes, uint64_t *addr,
                      Err *e); /* FULL: no memory (Err not set); FAILED: Err set */
    void (*drop)(void *ctx, uint64_t addr, int64_t bytes);
} SubSource;

Status suballoc_new(MemAccount *account, const SubSource *source, SubAlloc **out, Err *e);
void suballoc_free(SubAlloc *s); /* NULL is fine; drops all chunks, used or not */

/* What a request of that size takes and is charged: rounded up to 256 bytes, or to 64 KiB when large. */
int64_t suballoc_rounded(int64_t bytes);
/* `bytes` is rounded. `limit` (0 = none): chunks held should not exceed it. FULL leaves Err alone. */
SubResult suballoc_take(SubAlloc *s, int64_t bytes, int64_t limit, uint64_t *addr, Err *e);
/* Returns the bytes that suballoc_take was asked for; -1 when `addr` is no used block. */
int64_t suballoc_give(SubAlloc *s, uint64_t addr);
int64_t suballoc_trim(SubAlloc *s); /* gives whole free chunks back; returns their bytes */

typedef struct SubStats {
    int64_t held, used, blocks_used, blocks_free, chunks;
} SubStats;
/* Walks everything and checks it: bins, neighbours, sums. False when something is broken. Tests only. */
bool suballoc_verify(SubAlloc *s, SubStats *out);

#endif
