/* pipeline.h - a program under construction: what the files of src/sql/lower share, and the compiler of procedures
 * (src/sql/pl/compile*.c), which lowers the expressions of a body with the same functions.
 */
#ifndef STELE_SQL_LOWER_PIPELINE_H
#define STELE_SQL_LOWER_PIPELINE_H

#include "sql/lower/lower.h"

/* Inclusive bounds of an integer register's non-NULL values. */
typedef struct Range {
    bool known;
    int128_t lo, hi;
} Range;

/* Where a column of the plan is found in a pipe. */
typedef enum ColWhere { CW_NONE = 0, CW_SOURCE, CW_BUILD, CW_REG, CW_EXPR, CW_ROW } ColWhere;
typedef struct ColEntry {
    uint8_t where;
    uint8_t phys; /* CW_SOURCE, CW_BUILD: phys to load */
    bool nullable;
    bool stable_str;
    Type type;
    int64_t imm;      /* source column, build column */
    Reg row;          /* CW_BUILD: register of build rows */
    ProbeSite *site;  /* CW_BUILD */
    Expr *expr;       /* CW_EXPR: computed on first use */
    ColId row_var;    /* CW_ROW: the variable that holds the row's number */
    RowCol *cell;     /* CW_ROW */
    Reg reg;          /* the loaded or computed value, 0 = none so far */
    bool table_int;   /* CW_SOURCE of a table: integer-like storage that range filters understand */
    const Dict *dict; /* codes */
    Range range;
} ColEntry;

/* An expression already computed in this pipe (common subexpressions). */
typedef struct Computed {
    const Expr *expr; /* NULL: register src converted to phys */
    Reg src;
    int phys;
    Reg reg;
    uint32_t hash; /* the expression's */
} Computed;

/* Conjuncts on one column, merged before they are emitted as one FILTER_RANGE. */
typedef struct PendingRange {
    int64_t column;
    int128_t lo, hi;
} PendingRange;

/* Entries of columns, by ColId, in pages that are made at their first use: a query of many pipes has many
 * columns, and a pipe few of them. */
enum { COL_PAGE = 32 };
typedef struct ColPage {
    ColEntry at[COL_PAGE];
} ColPage;

/* A pipeline under construction: current rows = output of the plan lowered so far. */
typedef struct Pipe {
    ProgramBuilder b;
    Source source;
    ColPage **pages;
    int64_t n_pages, n_cols;
    ColEntry lost;     /* what pipe_col() gives when there is no memory */
    VEC(Range) ranges; /* by register */
    VEC(Computed) computed;
    VEC(ZonePred) zones;
    VEC(PendingRange) pending;
    const char *label;
    int32_t depth; /* open IF blocks */
} Pipe;

typedef struct JoinInfo { /* what runtime filters need to know of a lowered join */
    const Plan *plan;
    int32_t id;
    Expr *build_key; /* the only key's build expression, NULL when keys are packed or several */
    uint8_t key_phys;
    const Dict *key_dict;
} JoinInfo;

typedef struct CteInfo {
    int64_t id;
    int32_t rows;
    ColEntry *entries; /* as sources, parallel to cols */
    ColId *cols;
    int32_t n_cols;
} CteInfo;

typedef struct Lower {
    PlanCtx *c;
    Arena *arena;
    Err *err;
    VEC(SegmentPlan) segments;
    VEC(JoinSpec) joins;
    VEC(AggSpec) aggs;
    VEC(SortSpec) sorts;
    VEC(WindowSpec) windows;
    VEC(RowsSpec) rows;
    VEC(JoinInfo) join_infos;
    VEC(LoopSpec) loops;
    const Plan *streamed; /* the recursive query whose rows go to a LIMIT above round by round, ... */
    int64_t stream_loop;  /* ... and its loop, so far without a result */
    VEC(CteInfo) ctes;
    VEC(ColSet) cte_needed; /* by cte id */
    VEC(ColMap) aliases;    /* column -> the column it copies */
    ColSet set_cols;        /* outputs of set operations */
    int32_t trial;          /* > 0: only finding out whether something can fail; the outermost trial makes it again */
} Lower;

/* The column's entry; never NULL, and stays where it is. Out of memory is an error of the arena, which sql_lower()
 * looks at in the end. */
ColEntry *pipe_col(Pipe *p, ColId id);

/* ---- registers (lower_expr.c) ---- */
Reg lower_reg(Lower *l, Pipe *p, Phys phys, Type type, bool nullable, Range range);
Range lower_range(const Pipe *p, Reg r);
RegInfo *lower_info(Pipe *p, Reg r);
Range range_of_type(Type t);
/* A column's register: loads or computes it on first use. Dictionary columns give codes. 0 on error (as everywhere). */
Reg lower_col(Lower *l, Pipe *p, ColId id);
/* Any expression; the register may be narrower than the type's phys, or codes. */
Reg lower_expr(Lower *l, Pipe *p, Expr *e);
/* A boolean expression or constant, for filters. */
/* The value in exactly this phys (PH_STR: decoded). */
Reg lower_as(Lower *l, Pipe *p, Reg r, Phys phys);
Reg lower_canonical(Lower *l, Pipe *p, Reg r, Type type);
Reg lower_const(Lower *l, Pipe *p, const Value *v);
Reg lower_int_const(Lower *l, Pipe *p, Phys phys, Type type, int128_t v);
Status lower_filter(Lower *l, Pipe *p, Expr *cond);

/* ---- dictionaries and scan predicates (lower_scan.c) ---- */
/* Evaluates e with column `col` = *v (NULL when v is NULL); false when it needs more than that or fails. */
bool lower_eval(Lower *l, const Expr *e, ColId col, const Value *v, Value *out);
/* The only column of e, 0 when none or several. */
ColId lower_single_col(Lower *l, const Expr *e);
/* Mask over the codes of `dict` (n entries, then NULL's answer) for boolean e; NULL when not worth it or not possible.
 * filter: NULL results may count as false; otherwise NULL must arise from NULL only. */
CodeMask *lower_code_mask(Lower *l, const Expr *e, ColId col, const Dict *dict, bool filter);
CodeMap *lower_code_map(Lower *l, const Expr *e, ColId col, const Dict *dict, Range *range);
/* Drops registers numbered from `reg` on from the column cache (the end of a probe's residual body). */
void lower_forget_since_reg(Pipe *p, int64_t reg, int64_t computed);
#define TRY_REG(expr)                  \
    do {                               \
        if ((expr) != ST_OK) return 0; \
    } while (0)
/* Tries to run cond on encoded data of the table source; *done tells. */
Status lower_scan_filter(Lower *l, Pipe *p, Expr *cond, bool *done);
Status lower_scan_ranges_flush(Lower *l, Pipe *p);
/* col cmp const, after stripping value-preserving casts: inclusive bounds in the column's own units. */
bool lower_col_bounds(const Expr *cond, ColId *col, int128_t *lo, int128_t *hi, bool *negate);

static inline int128_t range_max_abs(Range r) { return MAX_OF(r.lo < 0 ? -r.lo : r.lo, r.hi < 0 ? -r.hi : r.hi); }

#endif
