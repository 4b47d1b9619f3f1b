/* plan.h - bound expressions and the logical plan.
 *
 * The binder builds this, the optimiser rewrites it, the lowering turns it into segments.
 *
 * Columns have query-wide ids (ColId): every operator that makes a new value gives it a new
 * id, and expressions name ids, so that rewrites never renumber anything. An operator's output is a
 * set of ids (plan_outputs). The root has an explicit result list.
 *
 * Everything lives in one arena and is a tree (no sharing) until lowered, except
 * ColInfo and tables, which are borrowed under the statement's lock.
 *
 * Depth: as deep as the stack allows. Every recursive walk looks at it (base/stack.h).
 */
#ifndef STELE_SQL_PLAN_PLAN_H
#define STELE_SQL_PLAN_PLAN_H

#include "base/stack.h"
#include "catalog/catalog.h"
#include "program/stream.h"
#include "program/window.h"
#include "types/func.h"

typedef int32_t ColId; /* index into PlanCtx.cols; 0 is never used */

typedef struct ColInfo {
    const char *name; /* for EXPLAIN and result headers */
    Type type;
    bool nullable; /* may be NULL where it is produced (outer joins add NULLs above: see optimiser) */
    Table *table;  /* base column: table and its column number, else NULL, -1 */
    int col;
    int64_t domain; /* that its values are of (catalog.h); 0: none */
} ColInfo;

/* Names that may be no columns: variables of the routine whose statement is bound (sql/pl/pl.h). A name that could be
 * either is 42702, unless one of the two is preferred. */
typedef struct PlanVariables PlanVariables;
struct PlanVariables {
    /* What [schema.][table.]name means: the number of a parameter (from 1) and its type. 0: no variable; -1: an error
     * is set. is_column: there is a column of that name too, so that a record without such a field is no error. */
    int32_t (*find)(PlanVariables *v, const char *schema, const char *table, const char *name, bool is_column,
                    int64_t position, Type *type, Err *e);
    bool prefer_variable, prefer_column;
};

typedef struct NamedColumn {
    int64_t location;
    ColId id;
} NamedColumn;
/* A string literal of the text whose value depends on the session (DateStyle, IntervalStyle, time zone) or on the time.
 */
typedef struct KeptLiteral {
    int64_t location;
    Value value;
    const char *behind; /* what is written behind it; NULL: nothing */
    const char *insert; /* not NULL: it is no literal, but a name without its schema, which is this with a dot */
} KeptLiteral;
typedef struct KeptLiterals {
    VEC(KeptLiteral) list;
} KeptLiterals;
typedef struct GroupedKey {
    const Table *table;
    int key;
} GroupedKey;

/* A place in a view's text that names a table or view. */
typedef struct ViewTable {
    const struct AstFromTable *from; /* sql/parse/ast.h */
    int32_t n_cols;                  /* that the relation has, whatever the view has of it */
    const char **cols;
} ViewTable;

/* The client is asked for rows of a name that means nothing. */
typedef struct ClientResolve {
    bool (*fn)(void *ctx, const char *name); /* NULL: it is not */
    void *ctx;
} ClientResolve;
/* A place in a text that names a sequence: 's' of nextval('s'). */
typedef struct NamedSequence {
    int64_t location; /* of the literal */
    int64_t sequence; /* which one */
    bool typed;       /* it has its type, 's'::regclass */
} NamedSequence;
/* Calls of sequences' functions in a statement. */
typedef struct PlanSequences {
    VEC(NamedSequence) named;
    bool called;   /* there are some */
    bool in_order; /* several calls may have to do with the same sequence: rows are computed one by one */
} PlanSequences;
struct AstSelect;
/* A table in FROM of the query whose result gets row numbers. */
typedef struct RowNumber {
    const Table *table;
    const char *alias;
    bool locks; /* FOR UPDATE and the like are of it */
} RowNumber;

/* What is about rows by themselves: FOR UPDATE, cursors. */
typedef struct PlanRows {
    bool locks; /* the statement has FOR UPDATE or the like */
    /* A cursor's query: if its rows are rows of tables, it gets a column for each with the numbers of these, behind the
     * others. */
    const struct AstSelect *numbered;
    VEC(RowNumber) numbers;
    /* WHERE CURRENT OF: the number of the row, -1: none. NULL: what comes of it is not looked at. */
    Status (*current)(void *ctx, const char *cursor, const Table *t, int64_t *rowid);
    void *current_ctx;
    bool of_cursor; /* it was looked for */
} PlanRows;

/* What binding does with views. */
typedef struct PlanViews {
    bool keep_sources; /* for sql_bind_view: what the view's own text reads is kept in */
    VEC(ViewSource) sources;
    bool keep_tables; /* and sql_bind_view keeps where that text names tables and views, as they are: */
    VEC(ViewTable) tables;
    bool definition;         /* what is bound is not run: it may read materialized views without rows, ... */
    const char *unpopulated; /* ... and this is one; NULL: there is none */
} PlanViews;
typedef struct PlanCtx {
    Arena *arena;
    Err *err;
    VEC(ColInfo) cols; /* [0] unused */
    const Catalog *catalog;
    const SessionInfo *session;
    uint32_t disabled_rules; /* optimiser rules switched off (optimize.h) */
    bool guarded;            /* subqueries are computed only where a row needs their values (optimize/decorrelate.c) */
    int64_t n_ctes;
    VEC(const char *) relations; /* tables and views that binding looked up, those inside views included */
    PlanViews views;
    bool keep_columns; /* where the text names which column is kept in */
    VEC(NamedColumn) columns;
    KeptLiterals *literals;       /* such literals of the text itself are kept there; NULL: they are not */
    bool of_catalog;              /* the text is one of the catalog: as what Binder.fixed_pos says */
    VEC(GroupedKey) grouped_keys; /* primary keys that a GROUP BY relies on for other columns of their tables */
    PlanVariables *variables;     /* NULL: names are columns only */
    bool of_routine; /* parameters are a routine's variables: a call that is NULL because one of them is computes its
                        other arguments (bind_null.c) */
    bool calls_routine, writes_routine; /* the statement calls routines of the catalog; some may change data */
    bool one_thread;                    /* it calls something that wants the statement's own thread: a client's
                                           function that says so, set_config */
    int32_t n_bulks;                    /* bulk_call in FROM: so many */
    bool bulk_stays;   /* the bulk's changes need not be in tables behind it, if nothing else in the plan reads these */
    bool reads_system; /* system relations, or functions that read the catalog */
    bool for_shape;    /* for columns and parameters alone: a value that a column cannot hold is none */
    bool sets_settings;          /* set_config: rows are computed one by one, their values in order */
    bool lasts;                  /* the plan is kept for later statements: no stable call is folded */
    const StreamFinder *streams; /* NULL: nothing outside the database can be read */
    bool reads_stream;           /* the statement does: its plan and its shape are good for once */
    PlanRows rows;
    struct ClientRows **client_rows; /* that names in FROM may mean (client_rows.h); NULL: none */
    ClientResolve resolve;           /* may add some */
    PlanSequences sequences;
    bool reads_client_rows;            /* names do mean such rows */
    VEC(int64_t) domain_ids;           /* domains that binding looked up by name */
    VEC(int32_t) type_numbers;         /* enumerated and composite types, likewise */
    bool own_names;                    /* these and routine_ids: of the text itself, not of conditions of domains */
    VEC(int64_t) routine_ids;          /* which */
    VEC(const FuncDef *) routine_defs; /* of scalar calls, one per routine (bind_routine.c) */
} PlanCtx;
ColId plan_new_col(PlanCtx *c, const char *name, Type type, bool nullable); /* 0 on OOM */

/* ---- expressions ------------------------------------------------------------------ */
typedef enum ExprKind {
    EX_CONST, /* value */
    EX_PARAM, /* $n: number; replaced by EX_CONST before optimisation when values are bound */
    EX_COL,   /* col */
    EX_FUNC,  /* func(args): operators and functions; args already cast */
    EX_CAST,  /* args[0] to type; cast_ctx */
    EX_AND,   /* args, n-ary, three-valued */
    EX_OR,
    EX_NOT,
    EX_IS_NULL, /* args[0] IS NULL */
    EX_IS_NOT_NULL,
    EX_IS_TRUE,
    EX_IS_NOT_TRUE,
    EX_IS_FALSE,
    EX_IS_NOT_FALSE, /* IS UNKNOWN = IS_NULL on boolean */
    EX_DISTINCT,     /* args[0] IS DISTINCT FROM args[1] (same type) */
    EX_NOT_DISTINCT,
    EX_CASE,     /* args = when1, then1, when2, then2, ..., [else]; simple CASE was rewritten to searched with = */
    EX_COALESCE, /* args of one type */
    EX_NULLIF,   /* args[0], args[1]: NULL if args[2] (the bound equality) is true; result args[0] */
    EX_IN,       /* args[0] IN (args[1..]) constants or expressions of one type; `negated` never: NOT around it */
    EX_AGG,      /* only while binding: replaced by columns of LP_AGG */
    EX_SUBQUERY  /* only until decorrelated: see SubqueryKind */
} ExprKind;

typedef enum SubqueryKind {
    SQ_SCALAR, /* one column; no row = NULL; more than one = 21000 */
    SQ_EXISTS,
    SQ_IN /* op ANY (subquery), op ALL (subquery), IN: sub.compare; three-valued */
} SubqueryKind;

typedef struct Plan Plan;
typedef struct Expr Expr;
struct Expr {
    uint8_t kind;     /* ExprKind */
    uint8_t cast_ctx; /* EX_CAST: CastCtx */
    uint8_t subquery; /* EX_SUBQUERY: SubqueryKind */
    bool all;         /* SQ_IN: op ALL (true) or op ANY (false) */
    bool folded; /* opt_fold() leaves it as it is: a change of its arguments clears this, in all nodes above them too */
    uint32_t hash; /* of the lowering, which looks for equal expressions; 0: not yet */
    Type type;
    int64_t location; /* in the statement, 1-based, 0 none */
    int64_t domain;   /* that the value is of; 0: none. It changes nothing in what is computed */
    int32_t n_args;
    Expr **args;
    union {
        Value value;         /* EX_CONST */
        int32_t param;       /* EX_PARAM, 1-based */
        ColId col;           /* EX_COL */
        const FuncDef *func; /* EX_FUNC */
        struct {
            Plan *plan;
            ColId *cols; /* result columns of plan to compare (SQ_IN: one per comparison) or the scalar column */
            int32_t n_cols;
            Expr **compare; /* SQ_IN: per pair, a bound boolean expression (usually =) over the left side and EX_COL
                               cols; walks enter it (opt_each_arg) */
        } sub;
        struct {
            const FuncDef *func;
            bool distinct;
            Expr *filter;
        } agg;
    } u;
};

/* ---- logical operators -------------------------------------------------------------- */
typedef enum PlanKind {
    LP_SCAN,    /* out_cols[i] is scan.table's column scan.cols[i] (-1: the rowid, bigint); conds = pushed filters */
    LP_VALUES,  /* rows x n_out constant (or parameter) expressions; n_rows may be 0; zero columns and 1 row = "SELECT
                   1"'s FROM */
    LP_SERIES,  /* generate_series(args[0], args[1], args[2]) -> out_cols[0] (int4, int8, numeric, timestamp),
                   its number -> out_cols[1] if ordinality */
    LP_STREAM,  /* rows from outside the database: out_cols[i] is the stream's column stream_cols[i] */
    LP_FILTER,  /* child[0], conds (conjuncts) */
    LP_PROJECT, /* child[0]; out_cols[i] := exprs[i]; columns of the child not listed are gone; EX_COL with the same id
                   passes through */
    LP_JOIN, /* child[0] left, child[1] right; join.kind; conds. join.dependent: right may use left's columns (lateral /
                correlated subquery) */
    LP_AGG,  /* child[0]; group keys out_cols[i] := exprs[i] for i < agg.n_keys; then agg.calls. agg.n_keys = 0: one row
                always */
    LP_SORT, /* child[0]; keys; with limit/offset (constants, -1 none) it is a top-N */
    LP_LIMIT,    /* child[0]; limit, offset (constants; -1 none) */
    LP_SETOP,    /* children n; out_cols[i] from set.cols[child][i]; set.op. UNION ALL n-ary; others binary */
    LP_CTE,      /* child[0] = definition of cte.id (materialised once), child[1] = body */
    LP_CTE_SCAN, /* out_cols[i] is column cte.cols[i] of the definition of cte.id */
    LP_WINDOW, /* child[0]; its rows and columns, with one more per call of a window: exprs = PARTITION BY, sort.keys =
                  ORDER BY (columns), win = the frame and functions, agg.calls = aggregates over the frame */
    LP_REPEAT  /* child[0]; every row count_col times (INTERSECT/EXCEPT ALL); out_cols[0], if there is one: the copy's
                  number from 0, bigint (series over columns) */
} PlanKind;

typedef enum JoinKind {
    JN_INNER, /* without conds: cross */
    JN_LEFT,
    JN_RIGHT, /* the optimiser may turn LEFT into RIGHT and back by swapping children */
    JN_FULL,
    JN_SEMI,  /* left rows that have a match */
    JN_ANTI,  /* left rows without a match (conds not true): NOT EXISTS */
    JN_MARK,  /* left rows all kept; out join.mark_col := three-valued "conds is true for some right row" (IN) */
    JN_SINGLE /* LEFT, but more than one match is 21000 (scalar subquery) */
} JoinKind;

typedef enum SetOpKind {
    SO_UNION_ALL,
    SO_UNION,
    SO_INTERSECT,
    SO_INTERSECT_ALL,
    SO_EXCEPT,
    SO_EXCEPT_ALL,
    SO_RECURSIVE_ALL, /* children[0], then children[1] over the rows added last (CTE cte.id) until none come */
    SO_RECURSIVE      /* the same without rows that are there already */
} SetOpKind;

typedef struct SortKey {
    Expr *expr; /* after binding: always EX_COL */
    bool desc;
    bool nulls_first;
} SortKey;

typedef struct AggCall {
    const FuncDef *func; /* kind in func->agg */
    uint8_t kind;        /* AggKind; AVG is split by the lowering */
    bool distinct;
    Expr *arg;    /* NULL for count(*) */
    Expr *arg2;   /* string_agg delimiter */
    Expr *filter; /* or NULL */
    ColId out;
} AggCall;

/* What belongs to one kind of operator only. */
typedef struct PlanScan {
    Table *table;
    int32_t *cols;
    /* Runtime filters: semi-joins with join's build keys on local_col. A join whose build side is ready before may
     * filter scans below its probe side. */
    int32_t n_runtime;
    struct RuntimeFilter {
        Plan *join;
        ColId build_col;
        ColId local_col;
    } * runtime;
} PlanScan;
typedef struct PlanValues {
    int64_t n_rows;
    Expr ***rows;
    Vec *cells;         /* instead of rows: by column of out_cols, n_rows constant cells (a routine's rows, or a bulk's
                           results); of a column that is_const all are NULL, and it has one */
    int64_t routine_id; /* not 0: rows come from calling that routine of the catalog with exprs, when the plan is about
                           to run; below 0: they are of system relation -1 - routine_id (sql/bind/bind.h) */
    bool bulk;          /* ... of a bulk of its calls: exprs[0] is bulk_call's query */
    int32_t member;     /* not 0: rows are those of BoundStmt.members[member - 1], which has run before */
} PlanValues;
typedef struct PlanJoin {
    uint8_t kind; /* JoinKind */
    bool dependent;
    bool mark_exists; /* JN_MARK: only IS TRUE of mark_col is used (EXISTS): conditions need not keep NULL apart from
                         FALSE */
    bool build_left;  /* by the optimiser: hash table on the left child instead of the right */
    ColId mark_col;   /* JN_MARK */
} PlanJoin;
typedef struct PlanAgg {
    int32_t n_keys; /* the first of exprs */
    int32_t n_calls;
    AggCall *calls;
    const char *sets; /* the grouping sets that the keys came of, for EXPLAIN; or NULL */
} PlanAgg;
typedef struct PlanSort {
    int32_t n;
    SortKey *keys;
} PlanSort;
typedef struct WinCall { /* of a window function that is no aggregate */
    uint8_t func;        /* WinFunc */
    Expr *args[3];       /* NULL behind the last */
    ColId out;
} WinCall;
typedef struct PlanWindow {
    WinFrame frame;
    Expr *start_offset,
        *end_offset; /* of bounds that have one: bigint, or (RANGE) of the type that the order key takes */
    int32_t n_calls;
    WinCall *calls;
} PlanWindow;
typedef struct PlanLimit {
    int64_t rows, offset;          /* -1: none */
    Expr *rows_expr, *offset_expr; /* as bound; folded to rows/offset before lowering */
} PlanLimit;
typedef struct PlanSet {
    uint8_t op;   /* SetOpKind */
    ColId **cols; /* [child][i] */
} PlanSet;
typedef struct PlanCte {
    int64_t id;
    ColId *cols;       /* LP_CTE_SCAN */
    bool materialized; /* LP_CTE: WITH ... AS MATERIALIZED, computed by itself and once */
    bool inlined;      /* LP_CTE: NOT MATERIALIZED, planned where it is read, as often as that is */
} PlanCte;

struct Plan {
    uint8_t kind; /* PlanKind */
    int32_t n_children;
    Plan **children;
    int32_t n_out;
    ColId *out_cols; /* see each kind; LP_FILTER/SORT/LIMIT/REPEAT/JOIN pass their children's columns and leave it NULL
                        (REPEAT may add one); so does LP_WINDOW, whose calls name the columns that it adds */
    int32_t n_exprs;
    Expr **exprs; /* LP_PROJECT, LP_AGG keys, LP_WINDOW partition keys (columns), LP_SERIES args */
    int32_t n_conds;
    Expr **conds;      /* conjuncts */
    const char *alias; /* LP_SCAN, LP_CTE */
    bool ordinality;   /* LP_VALUES of a routine, LP_SERIES of other than integers: the last column is the row's number,
                          from 1 */
    PlanScan scan;     /* LP_SCAN */
    PlanValues values; /* LP_VALUES */
    PlanJoin join;     /* LP_JOIN */
    PlanAgg agg;       /* LP_AGG, LP_WINDOW (without keys) */
    PlanSort sort;     /* LP_SORT, LP_WINDOW */
    PlanWindow win;    /* LP_WINDOW */
    PlanLimit limit;   /* LP_SORT, LP_LIMIT */
    PlanSet set;       /* LP_SETOP */
    PlanCte cte;       /* LP_CTE, LP_CTE_SCAN */
    ColId count_col;   /* LP_REPEAT */
    int64_t repeats;   /* LP_REPEAT: count_col's value if it is constant, else 0 */
    const RowStream *stream; /* LP_STREAM */
    int32_t *stream_cols;
    /* filled by the optimiser */
    double est_rows, est_cost;
    bool unordered; /* LP_CTE (its definition), LP_SETOP: nothing depends on the order of the rows */
};

/* ---- statements ----------------------------------------------------------------------- */
typedef enum StmtKind {
    STMT_SELECT,
    STMT_INSERT, /* plan yields one column per column of table, in table order; ON CONFLICT DO UPDATE: see BoundStmt.hit
                  */
    STMT_UPDATE, /* plan yields rowid, then set_cols' new values, then (returning) */
    STMT_DELETE, /* plan yields rowid */
    STMT_MERGE,  /* plan yields rowid (NULL: of a row that is inserted), BoundMerge.clause, one column per column of the
                    table: the row as it will be, of one that is deleted as it is */
    STMT_UTILITY /* run by the session from the AST */
} StmtKind;

/* A member of WITH that runs by itself: one that changes data, or a query that several of the others read. */
typedef struct WithMember {
    const char *name;
    struct BoundStmt *stmt; /* its result is the member's rows */
    int64_t n_done;         /* once it has run: rows that it has changed or found */
} WithMember;

/* What MERGE does with a row of its plan. */
typedef struct BoundMerge {
    ColId clause;    /* the number of its WHEN clause; a row without one, or of DO NOTHING, is not in the plan's rows */
    StmtKind *kinds; /* by number: STMT_INSERT, STMT_UPDATE, STMT_DELETE, or for DO NOTHING STMT_SELECT */
} BoundMerge;

typedef struct BoundStmt {
    StmtKind kind;
    Plan *plan;
    int32_t n_result;   /* visible result columns; PlanRows.numbers are behind them in `result` */
    ColId *result;      /* their ids, in order */
    const char **names; /* result headers */
    Table *table;       /* DML target */
    int32_t n_set;
    int32_t *set_cols;
    /* DML: ids in plan's output. INSERT, MERGE: values[i] for table column i. UPDATE: values[i] for set_cols[i]. */
    ColId rowid;
    ColId *values;
    /* CHECK constraints as boolean columns of the plan: a FALSE row is 23514. The last ones (with DO UPDATE: of each
     * half) are conditions of views WITH CHECK OPTION: 44000 */
    int32_t n_checks, n_view_checks;
    ColId *checks;
    const char **check_names;
    /* RETURNING is result/n_result over plan outputs computed with the new values */
    bool on_conflict_nothing;
    /* ON CONFLICT DO UPDATE: the plan has joined the proposed rows with the rows they conflict with. rowid is that row,
     * NULL for none: then values[] are inserted. Else hit (boolean) says whether it is updated: set_values[i] for
     * set_cols[i]. */
    ColId hit; /* 0: no DO UPDATE */
    ColId *set_values;
    bool sets_keys; /* set_cols has columns of keys, and more than one row may be proposed: a row may free or take a key
                       for those behind it */
    ColId *inserted_result; /* then: RETURNING of a row that is inserted after all, since an earlier one has freed its
                               key; NULL without RETURNING */
    int conflict_key;       /* number of a unique index (table_indexes), -1 any: whose conflicts are skipped; others are
                               errors */
    const BoundMerge *merge; /* of MERGE, else NULL: set_cols are those that one of its UPDATEs sets */
    int32_t n_params;
    Type *param_types;
    int32_t n_members; /* 0: no member of WITH changes data */
    WithMember *members;
} BoundStmt;

/* ---- helpers (plan.c) ------------------------------------------------------------------ */
Expr *expr_new(PlanCtx *c, ExprKind kind, Type type, int32_t n_args);
Expr *expr_col(PlanCtx *c, ColId id);
Expr *expr_const(PlanCtx *c, const Value *v);
Expr *expr_bool(PlanCtx *c, bool value);
Expr *expr_copy(PlanCtx *c, const Expr *e);
bool expr_equal(const Expr *a, const Expr *b);
/* Calls fn for every node, children first when post; stops when it returns false. Does not enter subplans. */
bool expr_walk(Expr *e, bool (*fn)(void *ctx, Expr *e), void *ctx);
/* Replaces column references by map (ids not in the map stay). */
typedef struct ColMap {
    ColId from, to;
} ColMap;
void expr_remap(Expr *e, int64_t n, const ColMap *map);
bool expr_is_volatile(const Expr *e);
bool expr_can_fail(const Expr *e);     /* may raise a data error */
bool expr_itself_fails(const Expr *e); /* ... though its arguments do not */
Plan *plan_new(PlanCtx *c, PlanKind kind, int32_t n_children);
/* Calls fn with every expression slot of this operator alone (its subplans and children are not entered). */
Status plan_each_expr(Plan *p, Status (*fn)(void *ctx, Expr **slot), void *ctx);
/* All of a plan: every operator before its expressions, every node of these after its arguments, then the children;
 * subplans of expressions likewise. NULL: that is not called. Ends early where the stack does (stack_stop). */
typedef struct PlanVisitor {
    void *ctx;
    void (*plan)(void *ctx, Plan *p);
    void (*expr)(void *ctx, Expr *e);
} PlanVisitor;
void plan_visit(const PlanVisitor *v, Plan *p);
void expr_visit(const PlanVisitor *v, Expr *e); /* of one expression, and its subplans */
/* A set of column ids as a bitmap. */
typedef struct ColSet {
    uint64_t *bits;
    int64_t n_words;
} ColSet;
ColSet colset_new(PlanCtx *c); /* room for all current ids; grows on add */
void colset_add(PlanCtx *c, ColSet *s, ColId id);
bool colset_has(const ColSet *s, ColId id);
void colset_add_all(PlanCtx *c, ColSet *s, const ColSet *other);
bool colset_subset(const ColSet *a, const ColSet *of);
bool colset_intersects(const ColSet *a, const ColSet *b);
void expr_cols(PlanCtx *c, const Expr *e, ColSet *out); /* includes free columns of subplans */
void plan_outputs(PlanCtx *c, const Plan *p, ColSet *out);
bool plan_yields(const Plan *p, ColId id); /* whether the column is an output */
/* Columns used inside p but not produced inside p (correlation). */
void plan_free_cols(PlanCtx *c, const Plan *p, ColSet *out);
/* LP_WINDOW: partition keys, then order keys; the window whose keys the rows of p are sorted by, and how many windows
 * from p down share that sort (plan_window.c). */
int32_t plan_window_keys(const Plan *p);
SortKey plan_window_key(const Plan *p, int32_t i);
const Plan *plan_window_sort(const Plan *p, int32_t *n);
/* Text for EXPLAIN: SQL-like, into the arena. */
const char *expr_text(PlanCtx *c, const Expr *e);
Status plan_verify(PlanCtx *c, const Plan *p,
                   Err *e); /* every used column is produced below, types agree, nothing is shared */
/* A tree: no operator, expression or array of theirs is in two places (rules change them in place). */
Status plan_verify_unshared(PlanCtx *c, const Plan *p, Err *e);
Status stmt_verify(const PlanCtx *c, const BoundStmt *s,
                   Err *e); /* what a DML statement computes are cells of its table's columns */

#endif
