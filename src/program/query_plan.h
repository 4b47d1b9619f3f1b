/* query_plan.h - what a query is lowered to: specifications of all operator states and the segments that fill them.
 *
 * A QueryPlan has specs of joins, aggregations, sorts and row stores, and the segments in an order in which every
 * segment's inputs are complete. It is immutable, lives in its owner's arena, and does not depend on executors:
 * exec/exec.h runs it, codegen/emit.h writes it out as kernels, cost/place.h decides where.
 */
#ifndef STELE_PROGRAM_QUERY_PLAN_H
#define STELE_PROGRAM_QUERY_PLAN_H

#include "program/program.h"
#include "program/window.h"

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
    CellSpec *payload;  /* LOAD_BUILD imm: payload column; imm >= n_payload: key (imm - n_payload) */
    bool exists_only;   /* only SEMI/ANTI/MARK probes without residual: duplicates may be dropped, no rows needed */
    bool track_matched; /* RIGHT, FULL, PK_MARK_BUILD */
    bool has_null_mark; /* MARK: remember whether a NULL key was built */
    double est_rows;
    const char *text; /* for EXPLAIN */
} JoinSpec;

typedef enum AggOp {                     /* what a group keeps; result phys in AggCell */
                     AO_COUNT_STAR,      /* I64, never NULL */
                     AO_COUNT,           /* I64, non-NULL inputs of any phys */
                     AO_SUM_I64,         /* inputs I16/I32/I64 -> I64, overflow proven impossible */
                     AO_SUM_I128,        /* inputs I16/I32/I64/I128 -> I128, checked */
                     AO_SUM_I64_CHECKED, /* sum(int4)->int8 with 22003 */
                     AO_SUM_F64,         /* F32/F64 -> F64 */
                     AO_SUM_DEC,         /* numerics without (p,s): STR -> STR */
                     AO_MIN,
                     AO_MAX,    /* any phys, same result */
                     AO_ANY,    /* some value: the first seen (NULL allowed); any phys */
                     AO_SINGLE, /* the value; 21000 on a second row */
                     AO_BOOL_AND,
                     AO_BOOL_OR,
                     AO_BIT_AND,
                     AO_BIT_OR,
                     AO_BIT_XOR,
                     AO_VAR,        /* Youngs-Cramer over F64; result by `arg`: AggKind (VAR_POP ...) -> F64 */
                     AO_VAR_EXACT,  /* I16/I32/I64/I128 of `in_scale` digits after the point, exact sums; by `arg`, too
                                       -> I128, checked */
                     AO_STRING_AGG, /* STR with delimiter */
                     AO_REGR,       /* F64 y and x; result by `arg`: AggKind (CORR ...) -> F64, REGR_COUNT -> I64 */
                     AO_CLIENT      /* any phys, one or two arguments; func->agg_ops */
} AggOp;
typedef struct AggCell {
    uint8_t op; /* AggOp */
    uint8_t in_phys, out_phys;
    bool in_nullable;
    bool stable_str;
    uint8_t arg;
    uint8_t in_scale;    /* AO_VAR_EXACT */
    Type type;           /* result */
    const FuncDef *func; /* AO_CLIENT */
} AggCell;
typedef struct AggSpec {
    int32_t n_keys;
    KeySpec *keys;
    int32_t n_aggs;
    AggCell *aggs;
    double est_groups;
    bool one_group; /* no GROUP BY: one result row even on empty input */
    bool hashed;    /* a hash table however few groups there may be (agg_add_fresh) */
} AggSpec;

typedef struct SortSpec {
    int32_t n_keys;
    struct {
        KeySpec key;
        bool desc, nulls_first;
    } * keys;
    int32_t n_cols;
    CellSpec *cols;        /* what SRC_ROWS will load */
    int64_t limit, offset; /* -1, 0 = none */
} SortSpec;
typedef struct RowsSpec {
    int32_t n_cols;
    CellSpec *cols;
    bool ordered; /* keep source order (morsel order): results, LIMIT without ORDER BY, CTEs and unions that these read
                     (row_order.c) */
    int64_t limit, offset; /* applied when read; -1, 0 none */
    int32_t sort;          /* number of the sort that fills it, -1: SINK_ROWS, SINK_WINDOW */
    int32_t window;        /* SINK_WINDOW: number of the window that fills it */
} RowsSpec;

/* A window reads a row store whose rows are sorted by its keys, and makes another of the columns of the first that are
 * passed on and of one column per call. Windows that share a sort are clauses of one specification: the partition and
 * order keys of each are a prefix of the sort's. Columns are those of the rows that are read; -1: none. */
typedef struct WinCell {
    uint8_t func;     /* WinFunc */
    int32_t arg[3];   /* columns; WF_AGG: argument and delimiter */
    bool same_offset; /* of lag and lead: for all rows */
    AggCell agg;      /* WF_AGG */
    CellSpec out;
} WinCell;

typedef struct WinClause {
    int32_t n_partition, n_order;
    int32_t *keys;          /* columns: partition keys, then order keys */
    bool desc, nulls_first; /* of the (only) order key, for RANGE with offsets */
    WinFrame frame;
    int32_t start_offset, end_offset; /* columns */
    Type start_type, end_type;        /* of the offsets */
    int32_t n_calls;
    WinCell *calls;
} WinClause;

typedef struct WindowSpec {
    int32_t n_in;
    CellSpec *in; /* columns of the rows that are read */
    int32_t n_pass;
    int32_t
        *pass; /* those that are passed on: the first columns of the result; then come all calls, clause by clause */
    int32_t n_clauses;
    WinClause *clauses; /* the one with the fewest partition keys first */
} WindowSpec;

typedef struct SegmentPlan {
    Program *program;
    const char *label; /* for EXPLAIN: what it does, e.g. "scan lineitem -> hash join build #2" */
} SegmentPlan;

/* Segments that run again and again: a recursive query. Before them `work` holds the first rows; each round reads it,
 * leaves its rows in `next`, which is the next round's `work`, and the loop ends when that is empty. The segments up to
 * `step` hand the rows of `work` on to the row store `result`: all of them, or what is made of them for a LIMIT above;
 * then the loop ends, too, when there are `limit` rows. With `distinct`, groups by all columns that live as long as the
 * loop, only rows that are new are in `work`. The loop's states but these and `result` live for a round. */
typedef struct LoopSpec {
    int32_t first, step, end; /* segments [first, end); [step, end) make the next round's rows */
    int32_t work, next, result;
    int64_t limit;           /* -1: none */
    const AggSpec *distinct; /* NULL: equal rows stay */
} LoopSpec;

typedef struct QueryPlan {
    int32_t n_segments;
    SegmentPlan *segments;
    int32_t n_joins;
    JoinSpec *joins;
    int32_t n_aggs;
    AggSpec *aggs;
    int32_t n_sorts;
    SortSpec *sorts;
    int32_t n_windows;
    WindowSpec *windows;
    int32_t n_rows;
    RowsSpec *rows;
    int32_t n_loops; /* an inner loop before the one around it */
    LoopSpec *loops;
    int32_t result;  /* row store that holds the result */
    bool serial;     /* one thread, the caller's: it calls routines of the catalog */
    bool row_by_row; /* vectors of one row: it changes settings and reads them, or several of its calls
                        have to do with the same sequence */
} QueryPlan;

#endif
