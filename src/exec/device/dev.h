/* dev.h - running segments of a query on a device.
 *
 * A DevRuntime belongs to the database and one device: queues, the residency of table columns, scratch memory, and the
 * handle to the code cache. A DevQuery is one query's execution on it: emitted plan, kernels, operator states in device
 * memory. exec/query.c runs it segment by segment; states move between host and device only where neighbouring segments
 * run on different sides.
 *
 *   query.c:   dev_query_new  -> which segments can run here and whether their kernels are ready (placement)
 *              dev_query_run_segment for placed segments; otherwise the vm, after dev_query_rows_to_host of the rows it
 *              reads dev_query_rows_to_host of the result
 *
 * Residency (residency.c). Device copies of table columns are kept per (table, column, tablet) and found again by table
 * id and version of the data (tablets of main are immutable: a block address and its checksum identify it; delta
 * tablets and delete bitmaps are compared by Table.version). Modes [Virginian §4, GPU join]:
 *   cached    kept on the device until evicted (least recently used, never while a query has it pinned)
 *   serial    copied before the kernel, freed after it
 *   streamed  copied piece by piece while kernels work on earlier pieces; both from where the tablet lies once it is
 *             registered (dev_hostmap.c)
 *   mapped    read by the kernel from host memory over the bus
 *   auto      cached when all columns of the query fit into device_memory_limit, else streamed for the largest tables;
 *             the query starts again with all tables streamed when its states turn out not to fit beside its columns
 *             (exec/query.c)
 *
 * Faults. An error of the device (58000, 53200) in a query that may run on the CPU is reported as such when
 * device_strict is on; otherwise the whole query starts again on the vm, and the reason of all its segments
 * (DeviceStats) says why. Data errors (22xxx, 21000) are the statement's own and never retried.
 *
 * Thread rules: a DevRuntime serves several queries at once (own queues each); residency has a lock.
 */
#ifndef STELE_EXEC_DEVICE_DEV_H
#define STELE_EXEC_DEVICE_DEV_H

#include "codegen/cache.h"
#include "codegen/emit.h"
#include "exec/device/run_options.h"

typedef struct DevRuntime DevRuntime;
/* Everything given must outlive the runtime. */
Status dev_runtime_new(Device *d, CodeCache *cache, MemAccount *account, DevRuntime **out, Err *e);
void dev_runtime_free(DevRuntime *r); /* NULL is fine; no queries any more */
Device *dev_runtime_device(DevRuntime *r);
CodeCache *dev_runtime_cache(DevRuntime *r);
/* device_memory_limit from now on, 0 = nearly all of the memory; what is cached beyond it is freed, least recently used
 * first, but for what queries read right now. */
void dev_runtime_limit(DevRuntime *r, int64_t bytes);
/* Frees cached columns: of one table (dropped, rewritten), or all (table_id < 0). Those that a query reads right now
 * stay. */
void dev_runtime_forget(DevRuntime *r, int64_t table_id);
/* Device memory that copies of the table take: columns and tablets of all versions, and dictionaries. Waits for what a
 * query is just sending. */
int64_t dev_runtime_table_bytes(DevRuntime *r, int64_t table_id);
/* It has memory of its own, and copies of columns there. Takes no lock. */
bool dev_runtime_keeps_copies(const DevRuntime *r);
/* The device has a copy of the tablet's column as the table has it now. */
bool dev_runtime_has(DevRuntime *r, const Table *t, int64_t tablet, int32_t col);

/* What placing a plan on a device found out, kept for the plan's next runs: emitted text, kernels, constants, lists of
 * tablets. It is as good as the plan itself: for the same versions of its tables. The owner of the plan keeps the
 * pointer (DeviceUse.keep) and frees it before the plan. Runs of one plan that share it must not overlap. */
typedef struct DevPlan DevPlan;
void dev_plan_free(DevPlan *p); /* NULL is fine; before or after the runtime */

typedef struct DevQuery DevQuery;
/* Places the query by opt->device: emits, looks up code or has it compiled. *ready = false: kernels are being compiled
 * beside (only when neither wait nor strict); free the query then and use the vm this time. The plan must outlive the
 * query. */
Status dev_query_new(const QueryPlan *plan, const QueryOptions *opt, MemAccount *account, DevQuery **out, bool *ready,
                     Err *e);
void dev_query_free(DevQuery *q); /* NULL is fine; waits for the device, frees states, gives up pins */
const char *dev_query_reason(const DevQuery *q, int32_t segment); /* NULL = it runs here */
/* This row store will be read on the host: keep it. Before the first segment. */
void dev_query_keep(DevQuery *q, int32_t rows);
/* Makes all columns of rows that only the device has (device_rows.h), and waits for them: these rows may change
 * afterwards. */
Status dev_query_make_rows(DevQuery *q, Err *e);
/* In order. The device may still be working when it returns; errors of its data then show later. */
Status dev_query_run_segment(DevQuery *q, int32_t segment, Err *e);
/* All rows, as vectors of the row store's columns (RowsSpec). Waits for everything before. fn is called by workers 0 ..
 * QueryOptions.threads - 1, by each for one vector after the other; `order` numbers the vectors; ST_ERROR stops. String
 * cells point to tables, dictionaries and the plan. */
typedef Status (*RowsFn)(void *ctx, int worker, int64_t order, int64_t n, const Vec *cols, Err *e);
Status dev_query_rows_to_host(DevQuery *q, int32_t rows, RowsFn fn, void *ctx, Err *e);
/* Before that: lasting[c] = true for columns whose strings will be in `a`, as copies of a small dictionary's entries:
 * they need not be copied row by row. Waits, too. */
Status dev_query_rows_strings(DevQuery *q, int32_t rows, Arena *a, bool *lasting, Err *e);
/* Waits until everything has been done and raises what went wrong. */
Status dev_query_finish(DevQuery *q, Err *e);
/* After dev_query_finish. */
void dev_query_segment_stats(DevQuery *q, int32_t segment, SegmentStats *out);
char *dev_query_join_text(const DevQuery *q, int32_t join, Arena *a); /* NULL: not made here */
char *dev_query_agg_text(const DevQuery *q, int32_t agg, Arena *a);

#endif
