/* dev.h - running segments of a query on a device.
 *
 * A DevRuntime belongs to the database and one device: queues, the residency of table columns, scratch memory, and the handle to
 * the code cache. A DevQuery is one query's execution on it: emitted plan, kernels, operator states in device memory. exec/query.c
 * asks it segment by segment; states move between host and device only where neighbouring segments run on different sides.
 *
 *   query.c:   dev_query_new  -> which segments can run here and whether their kernels are ready (placement)
 *              dev_query_run_segment for placed segments; otherwise the vm, after dev_query_to_host of the states it reads
 *              dev_query_to_device of states that the vm made and a placed segment reads
 *              dev_query_result  -> the result as an ordinary RowStore
 *
 * Residency (residency.c). Device copies of table columns are kept per (table, column, tablet) and found again by table id and version of
 * the data (tablets of main are immutable: a block address and its checksum identify it; delta tablets and delete bitmaps are compared by
 * Table.version). Modes [Virginian §4, GPU join]:
 *   cached    kept on the device until evicted (least recently used, never while a query has it pinned)
 *   serial    copied before the kernel, freed after it
 *   streamed  copied piece by piece through pinned buffers while kernels work on earlier pieces
 *   mapped    read by the kernel from host memory over the bus
 *   auto      cached when all columns of the query fit into device_memory_limit, else streamed for the largest tables
 *
 * Faults. An error of the device (58000, 53200) in a query that may run on the CPU is reported as such when device_strict is on; otherwise the whole
 * query starts again on the vm and the note of the first segment says why. Data errors (22xxx, 21000) are the statement's own and never retried.
 *
 * Thread rules: a DevRuntime serves several queries at once (own queues each); residency has a lock.
 */
#ifndef STELE_EXEC_DEVICE_DEV_H
#define STELE_EXEC_DEVICE_DEV_H

#include "codegen/cache.h"
#include "codegen/emit.h"
#include "exec/join.h"

typedef enum Residence { RES_AUTO, RES_CACHED, RES_SERIAL, RES_STREAMED, RES_MAPPED } Residence;

typedef struct DevRuntime DevRuntime;
Status dev_runtime_new(Device *d, CodeCache *cache, MemAccount *account, DevRuntime **out, Err *e);
void dev_runtime_free(DevRuntime *r);
Device *dev_runtime_device(DevRuntime *r);
/* Frees cached columns: of one table (dropped, rewritten), or all (table_id < 0). Not while a query pins them. */
void dev_runtime_forget(DevRuntime *r, int64_t table_id);

typedef struct DevOptions {
    Residence residence;
    bool strict;          /* device_strict */
    bool wait;            /* wait for compilation instead of using the vm this time */
    int64_t initial_rows; /* 0 = by estimate; tests: capacity of every sink at first, to force restarts */
    const QueryOptions *query;
} DevOptions;

typedef struct DevSegmentStats {
    bool on_device;
    const char *reason;   /* why not, in words */
    int64_t kernel_ns, bytes_in, bytes_out, bytes_read, compile_ns, restarts, launches;
    bool code_from_memory, code_from_disk;
    const char *residence; /* "cached", ... */
} DevSegmentStats;

typedef struct DevQuery DevQuery;
/* Emits, asks for code. *ready = false: kernels are being compiled beside (only when !wait); use the vm this time. */
Status dev_query_new(DevRuntime *r, const QueryPlan *plan, const DevOptions *opt, MemAccount *account, DevQuery **out, bool *ready, Err *e);
void dev_query_free(DevQuery *q); /* NULL is fine; gives up pins, frees states */
const char *dev_query_reason(const DevQuery *q, int32_t segment); /* NULL = it can run here */
Status dev_query_run_segment(DevQuery *q, int32_t segment, Err *e);
const DevSegmentStats *dev_query_stats(const DevQuery *q, int32_t segment);

/* States across. to_host: downloads a finished state into the host's form, by feeding rows to the host operator (rows_append, agg and join by
 * replaying: a join's build rows are fed to join_build; a finished aggregation becomes a row store read by SRC_AGG segments through `rows`, see query.c). */
Status dev_query_rows_to_host(DevQuery *q, int32_t rows, RowStore *out, Err *e);      /* appends; caller finishes */
Status dev_query_join_to_host(DevQuery *q, int32_t join, JoinTable *out, Err *e);     /* join_build; caller finishes */
/* Vectors of up to 1024 finished groups (keys, then aggregates as final values); fn returns ST_ERROR to stop. */
Status dev_query_agg_to_host(DevQuery *q, int32_t agg, Status (*fn)(void *ctx, int64_t n, const Vec *cols, Err *e), void *ctx, Err *e);
Status dev_query_rows_to_device(DevQuery *q, int32_t rows, RowStore *from, const RowsSpec *spec, Err *e);

#endif
