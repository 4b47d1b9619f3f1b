/* exec.h - running a query: segments in order, workers over morsels.
 *
 * A QueryPlan is what the lowering makes: specs of all operator states (joins, aggregations,
 * sorts, row stores) and the segments, in an order in which every segment's inputs are complete. It is
 * immutable. A Query is one execution: the operator states, the workers, memory, cancellation.
 *
 * Thread rules: one thread runs query_run; workers come from the pool. query_cancel from any thread.
 */
#ifndef STELE_EXEC_EXEC_H
#define STELE_EXEC_EXEC_H

#include "program/program.h"

/* ---- operator specifications (plan time) ---- */
typedef struct KeySpec {
    uint8_t phys;
    Type type;
    bool nullable;
    bool null_equal; /* joins: NULL matches NULL (IS NOT DISTINCT FROM); groups: always so */
    bool has_range;
    int64_t min, max;
    const Dict *dict; /* codes */
} KeySpec;
typedef struct CellSpec { /* a stored column */
    uint8_t phys;
    Type type;
    bool nullable;
    bool stable_str;
    const Dict *dict; /* PH_I32 codes of this dictionary */
} CellSpec;

typedef struct JoinSpec {
    int32_t n_keys;
    KeySpec *keys;
    int32_t n_payload;
    CellSpec *payload;    /* LOAD_BUILD imm: payload column; imm >= n_payload: key (imm - n_payload) */
    bool exists_only;     /* only SEMI/ANTI/MARK probes without residual: duplicates may be dropped, no rows needed */
    bool track_matched;   /* RIGHT, FULL, PK_MARK_BUILD */
    bool has_null_mark;   /* MARK: remember whether a NULL key was built */
    double est_rows;
    const char *text;     /* for EXPLAIN */
} JoinSpec;

typedef enum AggOp { /* what a group keeps; result phys in AggCell */
    AO_COUNT_STAR, /* I64, never NULL */
    AO_COUNT,      /* I64, non-NULL inputs of any phys */
    AO_SUM_I64,    /* inputs I16/I32/I64 -> I64, overflow proven impossible */
    AO_SUM_I128,   /* inputs I16/I32/I64/I128 -> I128, checked */
    AO_SUM_I64_CHECKED, /* sum(int4)->int8 with 22003 */
    AO_SUM_F64,    /* F32/F64 -> F64 */
    AO_MIN, AO_MAX, /* any phys, same result */
    AO_ANY,        /* some value: the first seen (NULL allowed); any phys */
    AO_SINGLE,     /* the value; 21000 on a second row */
    AO_BOOL_AND, AO_BOOL_OR, AO_BIT_AND, AO_BIT_OR,
    AO_VAR,        /* Welford over F64; result by `arg`: AggKind (VAR_POP ...) -> F64 */
    AO_STRING_AGG  /* STR with delimiter */
} AggOp;
typedef struct AggCell {
    uint8_t op;       /* AggOp */
    uint8_t in_phys, out_phys;
    bool in_nullable;
    bool stable_str;
    uint8_t arg;
    Type type;        /* result */
} AggCell;
typedef struct AggSpec {
    int32_t n_keys;
    KeySpec *keys;
    int32_t n_aggs;
    AggCell *aggs;
    double est_groups;
    bool one_group;   /* no GROUP BY: one result row even on empty input */
} AggSpec;

typedef struct SortSpec {
    int32_t n_keys;
    struct { KeySpec key; bool desc, nulls_first; } *keys;
    int32_t n_cols;
    CellSpec *cols;   /* what SRC_ROWS will load */
    int64_t limit, offset; /* -1, 0 = none */
} SortSpec;
typedef struct RowsSpec {
    int32_t n_cols;
    CellSpec *cols;
    bool ordered;     /* keep source order (morsel order): results, LIMIT without ORDER BY */
    int64_t limit, offset; /* applied when read; -1, 0 none */
    int32_t sort;     /* number of the sort that fills it, -1: SINK_ROWS */
} RowsSpec;

typedef struct SegmentPlan {
    Program *program;
    const char *label; /* for EXPLAIN: what it does, e.g. "scan lineitem -> hash join build #2" */
} SegmentPlan;

typedef struct QueryPlan {
    int32_t n_segments;
    SegmentPlan *segments;
    int32_t n_joins;
    JoinSpec *joins;
    int32_t n_aggs;
    AggSpec *aggs;
    int32_t n_sorts;
    SortSpec *sorts;
    int32_t n_rows;
    RowsSpec *rows;
    int32_t result;    /* row store that holds the result */
    bool serial;       /* one thread, the caller's: it calls routines of the catalog */
} QueryPlan;

/* ---- execution ---- */
/* How a device gets at table columns (exec/device/dev.h). */
typedef enum Residence { RES_AUTO, RES_CACHED, RES_SERIAL, RES_STREAMED, RES_MAPPED } Residence;
/* What a segment becomes on a device: one fused kernel; one kernel per operator, results materialised in between (exec/split.h); such kernels at the same time,
 * connected by channels (exec/device/dev_pipe.c). */
typedef enum PlanShape { SHAPE_FUSED, SHAPE_SPLIT, SHAPE_PIPELINED } PlanShape;
typedef struct PipelineUse { /* 0 = by the model (cost/gpl.h) */
    bool in_turn;         /* "without concurrency": tile by tile, one kernel after the other */
    int64_t tile_rows;    /* of the source, scheduled at a time */
    int64_t channels;     /* sub-channels between two kernels */
    int64_t packet_rows;
    int64_t ring;         /* packets in a sub-channel */
    int64_t groups;       /* of each kernel */
} PipelineUse;
typedef struct DeviceUse { /* segments run compiled on a device where they can */
    struct DevRuntime *runtime; /* NULL: everything on the virtual machine */
    const char *reason;   /* then: why, for EXPLAIN ANALYZE, or NULL; as long as query_run */
    Residence residence;
    bool strict;          /* 0A000 instead of running anything on the virtual machine */
    bool interpreted;     /* by the device's interpreter instead of kernels of their own */
    uint64_t compiled_too; /* tests: segments that are compiled all the same, by bits */
    bool wait;            /* for compilation, instead of using the virtual machine this time */
    bool timing;          /* measure kernels (EXPLAIN ANALYZE) */
    uint8_t shape;        /* PlanShape */
    PipelineUse pipeline;
    const int32_t *stage_of; /* per segment of a split plan: the segment it was cut from; query.c sets it */
    struct DevPlan **keep; /* NULL, or where placement is found (when it fits) and left for the next run of the same plan */
    MemAccount *keep_account; /* what is kept is charged to it; outlives the plan */
    bool result_cache;    /* rows are staged in local memory on their way to a row store */
    int64_t initial_rows; /* 0 = by estimate; tests: first capacity of every sink, to force restarts */
} DeviceUse;

typedef struct QueryOptions {
    Pool *pool;
    int threads;            /* at most that many workers */
    int64_t vector_size;    /* rows per vector, 1 .. 65536; default 1024 */
    int64_t morsel_rows;    /* default 65536, at most TABLET_ROWS */
    MemAccount *account;    /* parent; its limits are what spilling reacts to */
    const char *temp_dir;
    Vfs *vfs;
    const SessionInfo *session;
    _Atomic bool *cancel;   /* polled per morsel and per spill page */
    void (*progress)(void *ctx, double fraction); /* from the calling thread's worker; may be NULL */
    void *progress_ctx;
    int64_t deadline_ns;    /* on clock_ns(); 0 = none: 57014 when it has passed */
    DeviceUse device;
} QueryOptions;

typedef struct DeviceStats { /* of a segment; all zero when no device was asked for */
    bool on_device;
    const char *device;    /* its name, "cuda:0" */
    const char *executor;  /* "compiled", "interpreted", "kernel", "pipelined" */
    const char *reason;    /* why not, in words */
    const char *detail;    /* more about that (a compiler's messages), or NULL */
    int64_t kernel_ns;     /* 0: not measured */
    int64_t bytes_in, bytes_out; /* moved to and from the device for this segment */
    int64_t bytes_read;    /* of the source, by kernels (estimate) */
    int64_t compile_ns, restarts, launches;
    int64_t materialized;  /* bytes written to a row store for the next piece of a split segment */
    double model_ns;       /* estimate of a pipeline's time; 0 = none */
    const char *pipeline;  /* how a pipeline ran, or why the segment is none; NULL: nobody asked */
    bool code_from_memory, code_from_disk;
    const char *residence; /* "cached", ...; NULL: no table */
} DeviceStats;
typedef struct SegmentStats { int64_t wall_ns, rows_in, rows_out, tablets_skipped, spilled_bytes; int workers; const char *note; DeviceStats device; } SegmentStats;

typedef struct Query Query;
struct RowStore;
Status query_new(const QueryPlan *plan, const QueryOptions *opt, Query **out, Err *e);
Status query_run(Query *q, Err *e);
void query_free(Query *q);
/* What is run: the plan given, or that plan cut into pieces. query_stats counts its segments. */
const QueryPlan *query_plan(const Query *q);
/* The result, valid until query_free: exec/rows.h reads it. */
struct RowStore *query_result(Query *q);
const SegmentStats *query_stats(const Query *q, int32_t segment);
/* Text on how an operator state ended up ("dense index, 1,500,000 rows, 12 MiB"), for EXPLAIN ANALYZE. */
char *query_join_text(const Query *q, int32_t join, Arena *a);
char *query_agg_text(const Query *q, int32_t agg, Arena *a);

#endif
