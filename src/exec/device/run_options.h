/* run_options.h - how a query is to be run, and what is reported of it: shared by the scheduler (exec/exec.h) and the
 * device executor (exec/device/dev.h), which lies below it.
 */
#ifndef STELE_EXEC_DEVICE_RUN_OPTIONS_H
#define STELE_EXEC_DEVICE_RUN_OPTIONS_H

#include "base/log.h"
#include "program/query_plan.h"

/* How a device gets at table columns (exec/device/dev.h). */
typedef enum Residence { RES_AUTO, RES_CACHED, RES_SERIAL, RES_STREAMED, RES_MAPPED } Residence;
/* What a segment becomes on a device: one fused kernel; one kernel per operator, results materialised in between
 * (exec/device/split.h); such kernels at the same time, connected by channels (exec/device/dev_pipe.c). */
typedef enum PlanShape { SHAPE_FUSED, SHAPE_SPLIT, SHAPE_PIPELINED } PlanShape;
typedef struct PipelineUse { /* 0 = by the model (cost/gpl.h) */
    bool in_turn;            /* "without concurrency": tile by tile, one kernel after the other */
    int64_t tile_rows;       /* of the source, scheduled at a time */
    int64_t channels;        /* sub-channels between two kernels */
    int64_t packet_rows;
    int64_t ring;   /* packets in a sub-channel */
    int64_t groups; /* of each kernel */
} PipelineUse;
typedef struct DeviceUse {      /* segments run compiled on a device where they can */
    struct DevRuntime *runtime; /* NULL: everything on the virtual machine */
    const char *reason;         /* then: why, for EXPLAIN ANALYZE, or NULL; as long as query_run */
    Residence residence;
    bool strict;           /* 0A000 instead of running anything on the virtual machine */
    bool interpreted;      /* by the device's interpreter instead of kernels of their own */
    uint64_t compiled_too; /* tests: segments that are compiled all the same, by bits */
    bool *needs_host;      /* set when it fails because rows that only a device has (device_rows.h) are wanted on the
                              host; query.c sets the place */
    /* Rows that only a device has were read: what the query needs of them is its own from here on. On its thread. */
    void (*rows_made)(void *ctx);
    void *rows_made_ctx;
    bool wait;     /* for compilation, instead of using the virtual machine this time */
    bool timing;   /* measure kernels (EXPLAIN ANALYZE) */
    uint8_t shape; /* PlanShape */
    PipelineUse pipeline;
    const int32_t *stage_of; /* per segment of a split plan: the segment it was cut from; query.c sets it */
    struct DevPlan *
        *keep; /* NULL, or where placement is found (when it fits) and left for the next run of the same plan */
    MemAccount *keep_account; /* what is kept is charged to it; outlives the plan */
    bool result_cache;        /* rows are staged in local memory on their way to a row store */
    int64_t initial_rows;     /* 0 = by estimate; tests: first capacity of every sink, to force restarts */
} DeviceUse;

/* What ends a query before its time. Workers look at it per vector, and loops over many rows that belong to no vector
 * (sorting, merging, building maps) every some ten thousand rows. */
typedef struct QueryStop {
    const _Atomic bool *cancel; /* NULL: cannot be cancelled */
    int64_t deadline_ns;        /* on clock_ns(); 0 = none */
} QueryStop;
/* s NULL: never. */
static inline bool query_stopped(const QueryStop *s) {
    if (!s) return false;
    return (s->cancel && atomic_load_explicit(s->cancel, memory_order_relaxed)) ||
           (s->deadline_ns && clock_ns() > s->deadline_ns);
}
/* 57014, with the words for what has happened. */
Status query_stop_error(const QueryStop *s, Err *e);
static inline Status query_stop_check(const QueryStop *s, Err *e) {
    return UNLIKELY(query_stopped(s)) ? query_stop_error(s, e) : ST_OK;
}

typedef struct QueryOptions {
    Pool *pool;
    int threads;          /* at most that many workers */
    int64_t vector_size;  /* rows per vector, 1 .. 65536; default 1024 */
    int64_t morsel_rows;  /* default 65536, at most TABLET_ROWS */
    MemAccount *account;  /* parent; its limits are what spilling reacts to */
    int64_t result_bytes; /* of the result's rows at most so many are kept in memory; 0: as memory allows */
    const char *temp_dir;
    Vfs *vfs;
    const SessionInfo *session;
    _Atomic bool *cancel;                         /* polled per morsel and per spill page */
    void (*progress)(void *ctx, double fraction); /* from the calling thread's worker; may be NULL */
    void *progress_ctx;
    int64_t deadline_ns; /* on clock_ns(); 0 = none: 57014 when it has passed */
    DeviceUse device;
} QueryOptions;

typedef struct DeviceStats { /* of a segment; all zero when no device was requested */
    bool on_device;
    const char *device;          /* its name, "cuda:0" */
    const char *executor;        /* "compiled", "interpreted", "kernel", "pipelined" */
    const char *reason;          /* why not, in words */
    const char *detail;          /* more about that (a compiler's messages), or NULL */
    int64_t kernel_ns;           /* 0: not measured */
    int64_t bytes_in, bytes_out; /* moved to and from the device for this segment */
    int64_t bytes_read;          /* of the source, by kernels (estimate) */
    int64_t compile_ns, restarts, launches;
    int64_t materialized; /* bytes written to a row store for the next piece of a split segment */
    double model_ns;      /* estimate of a pipeline's time; 0 = none */
    const char *pipeline; /* how a pipeline ran, or why the segment is none; NULL: not recorded */
    bool code_from_memory, code_from_disk;
    const char *residence; /* "cached", ...; NULL: no table */
} DeviceStats;
typedef struct SegmentStats {
    int64_t wall_ns, rows_in, rows_out, tablets_skipped, spilled_bytes;
    int64_t open_rows;    /* of rows_in, those of tablets in which a column that is read is open */
    int64_t patched_rows; /* in which one is patched and none open; the others are packed */
    int workers;
    const char *note;
    DeviceStats device;
} SegmentStats;

#endif
