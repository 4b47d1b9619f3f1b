/* bind_int.h - what the binder's files share. Included by src/sql/bind only.
 *
 * Conventions: functions that return Expr * or Plan * return NULL on failure with the statement's Err set, and pass
 * NULL arguments through, so that nested calls need one check. Trees are never shared: what is used twice is copied
 * with bind_copy().
 *
 * Scopes. A Query is one SELECT (or DML) level: its name space holds the FROM items that can be named now, `outer`
 * is the level around it. A column is an EX_COL whatever level it comes from; Binder.owner says which.
 */
#ifndef STELE_SQL_BIND_INT_H
#define STELE_SQL_BIND_INT_H

#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

typedef struct Query Query;
typedef struct Cte Cte;
typedef struct DmlTarget DmlTarget;

typedef VEC(Expr *) ExprVec;
typedef VEC(ColId) IdVec;

typedef struct NsCol {
    const char *name;
    ColId id;
} NsCol;

/* A FROM item as names see it. */
typedef struct NsItem {
    const char *name; /* NULL = has no name */
    Slice schema;     /* of the relation whose name that is: schema.name means it, too; ptr NULL: an alias */
    NsCol *cols;
    int32_t n_cols;
    int32_t n_hidden;  /* the last of them, which * does not show */
    bool rel_visible;  /* name.col works */
    bool cols_visible; /* col works, and * shows the columns */
    bool lateral_bad;  /* left of a RIGHT or FULL join: LATERAL must not refer to it */
    bool scalar;       /* a function's one column: the item's name is its value */
    bool nullable;     /* an outer join may have NULLs in place of a row */
    bool projected;    /* a projection above has named columns only */
    ColId found;       /* TRUE in its rows; 0: not made yet (bind_row.c) */
    Plan *plan;        /* of its rows; NULL: of several items */
    bool target;       /* (lateral_bad) the table that UPDATE or DELETE changes, while its FROM is bound */
    Table *table;      /* base table, else NULL */
    ColId rowid;       /* of its rows; 0: not there */
} NsItem;
typedef VEC(NsItem) Ns;

typedef struct ColOwner {
    Query *query; /* the level whose FROM (or aggregation) makes the column; NULL = a finished level */
    bool agg;     /* result of one of its aggregates */
    bool window;  /* (agg) of one of its window functions */
    bool srf;     /* (agg) of a set-returning function of its select list */
} ColOwner;

/* A call whose rows are wanted, bound (bind_rows.c). */
typedef enum RowsKind {
    ROWS_SERIES, /* args: start, end, step */
    ROWS_ARRAY,  /* args[0]: the array of the values */
    ROWS_ROUTINE,
    ROWS_VALUE /* args[0]: one row */
} RowsKind;
typedef struct RowsFunc {
    uint8_t kind; /* RowsKind */
    int64_t location;
    int64_t n_args;
    Expr **args;
    const Routine *routine;
    const char *each; /* ROWS_ARRAY: an element's function, or NULL */
    bool members;     /* ROWS_ARRAY of JSON objects: columns are the members of their names */
    bool pairs;       /* ROWS_ARRAY of JSON arrays: columns are their elements, of json_each a text and a value */
    bool records;     /* ROWS_ARRAY of rows as records */
    int32_t n_cols;
    Type *types;
    ColId *cols; /* they have their names */
    ColId found; /* not 0: whether there is such a row, for rows as values */
} RowsFunc;

/* A row as a value (bind_row.c). */
typedef struct RowValue {
    ExprVec fields;     /* copied by what uses them */
    Expr *found;        /* NULL or FALSE: the row is NULL; none: it never is */
    const NsItem *item; /* of a whole row */
    const ColId *cols;  /* of a call's: they have the fields' names */
    int64_t location;
} RowValue;

/* A set-returning function of a select list, ORDER BY or GROUP BY. */
typedef enum SrfStage { SRF_BELOW_GROUPS, SRF_BELOW_WINDOWS, SRF_ABOVE } SrfStage;
typedef struct Srf {
    RowsFunc f;
    int32_t depth; /* 1: no argument has such a call in it */
    uint8_t stage; /* SrfStage */
    bool ready;    /* its arguments are over the groups */
    ColId above;   /* SRF_BELOW_GROUPS: the same call above them, once there is one */
} Srf;

/* GROUPING(args): a column of the level. */
typedef struct GroupingCall {
    int64_t n;
    Expr **args;
    int32_t *keys; /* which of the level's keys they are */
    ColId out;
} GroupingCall;

/* A window of a level: one of its WINDOW clause, or of an OVER (bind_window.c). */
typedef struct WinKey {
    Expr *expr;
    bool desc, nulls_first;
} WinKey;
typedef struct WinDef {
    const AstWindow *ast;
    const char *name; /* of the WINDOW clause */
    VEC(Expr *) partition;
    VEC(WinKey) order;
    Expr *start_offset, *end_offset;
    VEC(WinCall) calls;
    VEC(AggCall) aggs;
} WinDef;

struct Query {
    Query *outer;
    Query *sibling; /* for error messages: the level whose FROM this non-LATERAL subquery stands in */
    Cte *ctes;      /* in scope, innermost first */
    Ns ns;
    const char *clause;        /* "WHERE", "JOIN conditions" ...: where aggregates are not allowed; NULL = allowed */
    bool no_columns;           /* LIMIT */
    bool is_default;           /* neither columns nor subqueries */
    const char *no_subqueries; /* what they are not allowed in: "check constraint"; NULL: they are */
    bool srf_ok;               /* set-returning functions are allowed: in the select list, GROUP BY, ORDER BY */
    bool srf_again;            /* a call equal to one of the level is that one: GROUP BY, ORDER BY */
    const char *srf_clause;    /* where they are not allowed, and clause is NULL */
    bool recursive;            /* FROM has a recursive reference */
    bool numbered;             /* tables in FROM have their rows' numbers */
    VEC(Srf) srfs;
    int64_t srf_calls, srf_location; /* how many were bound so far, the last one's place */
    VEC(AggCall) aggs;
    VEC(GroupingCall) groupings;
    ExprVec direct; /* copies of direct arguments of its aggregates that stand in filters: of grouped columns only */
    bool window_ok; /* in the select list or ORDER BY */
    const char *window_error; /* where a window function is wrong all the same: why */
    VEC(WinDef *) windows;    /* those of the WINDOW clause first */
};

typedef enum CteRecursion { REC_NO_FORM, REC_BASE, REC_STEP, REC_CHANGES } CteRecursion;
typedef enum RecContext { REC_IN_PLACE, REC_IN_SUBLINK, REC_IN_OUTER_JOIN, REC_IN_INTERSECT, REC_IN_EXCEPT } RecContext;
struct Cte {
    Cte *next;
    const char *name;
    int64_t id;
    int32_t n;
    const char **names;
    ColId *cols;
    Plan *plan;
    Plan *scan; /* the last reference, for inlining */
    int64_t refs;
    bool materialized, inlined; /* AS MATERIALIZED, AS NOT MATERIALIZED */
    bool binding;               /* being bound: a reference is recursive */
    const AstCte *ast;
    struct WithScope *scope;     /* of WITH RECURSIVE, else NULL (bind_with.c) */
    bool beside;                 /* of a WITH that has members that change data: placed by bind_place_cte */
    int32_t member;              /* it runs by itself: its number in Binder.members, from 1 */
    uint8_t recursion;           /* while binding: CteRecursion */
    const struct Search *search; /* the columns of SEARCH and CYCLE, the last ones; or NULL (bind_search.c) */
    int32_t n_extra;             /* how many these are */
    Query *ref_level;            /* of the recursive reference */
    int64_t location;
};

typedef struct ViewGuard {
    const struct ViewGuard *up;
    const View *view;
} ViewGuard;

/* A column that stands for an expression wherever it is named. */
typedef struct ComputedCol {
    ColId id;
    Expr *e;
} ComputedCol;
typedef struct Binder {
    PlanCtx *c;
    Arena *a;
    Err *err;
    const SearchPath *path; /* in force before; put back by `finish` of bind.c */
    bool fixed_pos; /* binding text that is not the statement's (views, checks): use `pos` for every error, and read
                       literals under the defaults of settings */
    int64_t pos;
    KeptLiterals *literals; /* PlanCtx's, NULL inside such text: but in the text of the view that is made */
    bool no_inline;         /* an expression with a subquery was copied: reference counts of CTEs are unknown */
    uint8_t rec_context;    /* RecContext: where in a recursive term */
    const AstWith *top;     /* WITH of the statement itself: its members may change data */
    bool changes;           /* ... and some do */
    const AstSelect *step;  /* the recursive term of a query with SEARCH or CYCLE, ... */
    Cte *step_of;           /* ... which is that one */
    VEC(WithMember) members;
    const ViewGuard *views;
    VEC(Type) params;
    bool params_ok;            /* false: $n is an error (defaults, checks) */
    VEC(ComputedCol) computed; /* columns of views that no plan makes (bind_target.c) */
    VEC(ColOwner) owner;       /* by ColId, from owner_first on; others have none */
    ColId owner_first;
} Binder;

/* A bound relation. */
typedef struct Rel {
    Plan *plan;
    int32_t n;
    ColId *cols; /* an array of its own, never one of an operator's */
    const char **names;
} Rel;

static inline int64_t bind_pos(const Binder *b, int64_t location) { return b->fixed_pos ? b->pos : location; }

/* ---- bind.c ------------------------------------------------------------------- */
void binder_init(Binder *b, PlanCtx *c);
Expr *bind_copy(Binder *b, const Expr *e);
Status bind_unsupported(Binder *b, int64_t location, const char *what); /* 0A000 "<what> is not supported" */
/* Text kept in the catalog (default, check): errors carry no position of the statement. assigned: the column that it is
 * the default of, or NULL. */
Expr *bind_text_expr(Binder *b, Query *q, const char *sql, const Column *assigned);

/* ---- bind_coerce.c --------------------------------------------------------------- */
/* *domain: NULL, or the domain that the name is of, whose base type is *out. domain NULL: 0A000 for one. */
Status bind_type(Binder *b, const AstTypeName *t, Type *out, const Domain **domain);
Expr *bind_literal(Binder *b, const AstExpr *e);
Expr *bind_null(Binder *b, Type t);
Expr *bind_text_const(Binder *b, Slice s, int64_t location);
Expr *bind_int8_const(Binder *b, int64_t v);
Expr *bind_param(Binder *b, int32_t number, int64_t location);
/* A routine's variable as that parameter; T_UNKNOWN: of the type the parameter was declared with. */
Expr *bind_variable(Binder *b, int32_t number, Type type, int64_t location);
bool bind_is_unknown(const Expr *e); /* an untyped literal or parameter */
/* Casts; constants are folded. 42846 or (assignment) 42804 with the column's name. */
Expr *bind_coerce(Binder *b, Expr *e, Type to, CastCtx ctx, int64_t location);
/* An untyped literal beside values of type t is of that type, but keeps its own digits and length: '1.234' beside a
 * numeric(10,2) is not 1.23. */
Expr *bind_beside(Binder *b, Expr *e, Type t, int64_t location);
/* Makes the numeric *t wide enough for an untyped literal. */
Status bind_literal_type(Binder *b, const Expr *e, Type *t);
Expr *bind_assign(Binder *b, Expr *e, const Column *col, int64_t location);
Expr *bind_assign_base(Binder *b, Expr *e, const Column *col, int64_t location); /* of its domain's base type */
Expr *bind_bool(Binder *b, Expr *e, const char *clause, int64_t location);
/* Common type of n expressions, which are all cast to it. what: "CASE", "UNION" ... for 42804. */
Status bind_common(Binder *b, int64_t n, Expr **args, const char *what, Type *out);
Status bind_comparable(Binder *b, int64_t n, Expr **args, const char *what, Type *out); /* likewise, to be compared */
/* Function or operator call. */
Expr *bind_call(Binder *b, const char *name, bool is_operator, int n, Expr **args, int64_t location);
Expr *bind_op(Binder *b, const char *op, Expr *l, Expr *r, int64_t location);
Expr *bind_nary(Binder *b, ExprKind kind, int64_t n, Expr *const *args, int64_t location);
Expr *bind_unary(Binder *b, ExprKind kind, Expr *arg, int64_t location);
Expr *bind_not(Binder *b, Expr *arg, int64_t location);

/* ---- bind_domain.c ------------------------------------------------------------------------ */
/* The value, of the domain's base type, as one of the domain (NULL: none): 23502 and 23514 when it is computed. */
Expr *bind_domain(Binder *b, Expr *e, const Domain *d, int64_t location);

/* ---- bind_index.c ---------------------------------------------------------------------- */
/* A row of the table as a name space item: ids[i] is column i. */
Status bind_row_item(Binder *b, const Table *t, const char *name, const ColId *ids, NsItem *item);
/* A part of an index's key, or its predicate, over a row of the table. */
Expr *bind_index_text(Binder *b, const NsItem *row, const char *sql, bool predicate);
/* *index: number of the unique index (keyindex.h) whose conflicts count, -1 for any. 42P10 when there is none. */
Status bind_conflict_index(Binder *b, const AstOnConflict *oc, const DmlTarget *g, int *index);
/* That a proposed and a stored row have one key in that index. */
Status bind_conflict_conds(Binder *b, const Table *t, int index, const NsItem *proposed, const NsItem *stored,
                           int64_t location, int32_t *n, Expr ***out);

/* ---- bind_name.c -------------------------------------------------------------------- */
Status bind_own(Binder *b, Query *q, ColId id, bool agg);
ColOwner bind_owner(const Binder *b, ColId id);
Status bind_add_item(Binder *b, Query *q, const NsItem *item);
Expr *bind_column(Binder *b, Query *q, const AstColumn *col);
Expr *bind_item_column(Binder *b, ColId id); /* of an item; one that is computed as what it stands for */
/* The item whose whole row the name means, and its level; NULL: it means something else, or an error is set. */
NsItem *bind_whole_row(Binder *b, Query *q, const AstColumn *col, Query **level);
/* Only this level, unqualified; 0 = not found, -1 = error (ambiguous). */
ColId bind_local_column(Binder *b, Query *q, const char *name, int64_t location);
/* Expands a star into ids and names. */
typedef struct StarCol {
    const char *name;
    ColId id;
} StarCol;
Status bind_star(Binder *b, Query *q, const AstColumn *star, StarCol **out, int64_t *n);
const char *bind_column_label(Binder *b, const Query *q, ColId id); /* "t.x" */

/* ---- bind_expr.c, bind_func.c, bind_sub.c ---------------------------------------------- */
Expr *bind_expr(Binder *b, Query *q, const AstExpr *e);
Expr **bind_list(Binder *b, Query *q, AstExpr *const *items, int64_t n);
const char *bind_target_name(const AstExpr *e); /* PostgreSQL's choice of a column's name */
Expr *bind_func(Binder *b, Query *q, const AstFunc *f);
Expr *bind_compare_rows(Binder *b, const char *op, int64_t n, Expr **l, Expr **r, int64_t location);
Expr *bind_row_op(Binder *b, Query *q, const char *op, const AstExpr *l, const AstExpr *r, int64_t location);
Expr *bind_in_list(Binder *b, Query *q, const AstInList *in);
/* l IS DISTINCT FROM r; negated: IS NOT. */
Expr *bind_distinct(Binder *b, bool negated, Expr *l, Expr *r, int64_t location);
Expr *bind_quantified(Binder *b, Query *q, const AstQuantified *x);
Expr *bind_sublink(Binder *b, Query *q, const AstSubLink *s);
/* The column of an aggregate of the level. */
Expr *bind_agg_column(Binder *b, Query *level, const AstFunc *f, AggCall call, Type ret);
/* array_agg of the level, in no order. */
Expr *bind_array_agg(Binder *b, Query *level, const AstFunc *f, Expr *arg, Expr *filter);
/* The level to which an aggregate with these arguments belongs. NULL: they have aggregates of that level in them. */
Query *bind_agg_level(Binder *b, Query *q, int64_t n, Expr *const *args, int64_t location);
/* An aggregate; with OVER its column is bind_window_agg's. */
Expr *bind_agg(Binder *b, Query *q, const AstFunc *f);
void bind_hint_function(Binder *b, const char *name, const char *what); /* an error is set; of 42883 */

/* ---- bind_stream.c ---------------------------------------------------------------------- */
/* Whether it is a call that reads a file: of a name that no function of the catalog has. */
bool bind_is_stream(const Binder *b, const AstExpr *call);
Plan *bind_stream_call(Binder *b, const AstFromFunc *f);
Plan *bind_stream_file(Binder *b, const AstFromTable *f);
Plan *bind_stream_plan(Binder *b, const RowStream *s);

/* ---- bind_row.c ---------------------------------------------------------------------------- */
/* The fields of ROW(...) or a whole row. */
Status bind_row_value(Binder *b, Query *q, const AstExpr *e, RowValue *out, bool *is_row);
Expr *bind_row_cell(Binder *b, const RowValue *r, int64_t location); /* as a value of a composite type */
/* A record that becomes a value of a composite type, before bind_coerce() casts it: ROW(..) as a row of that type at
 * once, so that untyped literals are read as its fields. Others are what they were. 42846 */
Expr *bind_row_as(Binder *b, Expr *e, Type to, CastCtx ctx, int64_t location);
Expr *bind_row_json(Binder *b, const RowValue *r, Expr *lines, int64_t location);  /* type json; lines: on several */
Expr *bind_row_null(Binder *b, const RowValue *r, bool negated, int64_t location); /* IS [NOT] NULL */
/* type_common(), and of records of as many fields one with their common types. */
bool bind_common_type(Binder *b, Type x, Type y, Type *out);
/* Gives two composite values, in place, fields whose keys compare; others are left alone. 42804 */
Status bind_row_pair(Binder *b, Expr **args, int64_t location);
Expr *bind_row_field(Binder *b, Query *q, const AstField *f);           /* (v).a */
Expr *bind_field_at(Binder *b, Expr *row, int32_t k, int64_t location); /* field k, from 0, of a composite value */
/* The row with that value, which is cast, as field k; of a NULL, a row of NULLs with it. 42804 */
Expr *bind_field_set(Binder *b, Expr *row, int32_t k, Expr *value, int64_t location);
/* (v).*; names NULL: not wanted. */
Status bind_all_fields(Binder *b, Query *q, const AstField *f, ExprVec *out, const char ***names);

/* ---- bind_window.c ------------------------------------------------------------------------- */
bool bind_is_window_func(const char *name);
Expr *bind_window_call(Binder *b, Query *q, const AstFunc *f); /* with OVER */
Expr *bind_window_agg(Binder *b, Query *q, const AstFunc *f, AggCall call, Type ret);
bool bind_calls_window(const Query *q); /* there is a call so far */
bool bind_uses_window(const Binder *b, Expr *e);
Status bind_windows(Binder *b, Query *q, const AstSelect *s); /* of the WINDOW clause */
/* Every expression of the level's windows and their calls but offsets of frames, which have no columns of the level. */
Status bind_windows_each(Query *q, Status (*fn)(void *ctx, Expr **slot), void *ctx);
Plan *bind_window_plan(Binder *b, Query *q, Plan *child);

/* ---- bind_array.c ------------------------------------------------------------------------- */
/* ARRAY[...]; want: the array type it is cast to at once, or NULL. */
Expr *bind_array(Binder *b, Query *q, const AstList *l, const Type *want);
/* A builtin function whose last argument is VARIADIC array. */
Expr *bind_variadic(Binder *b, Query *q, const AstFunc *f);
Expr *bind_subscript(Binder *b, Query *q, const AstSubscript *s);
/* The array with another element, as a[index] = value makes it; of the array's type. name: the column or variable, for
 * messages. NULL passes. */
/* ARRAY[...] of items that are bound. */
Expr *bind_array_of(Binder *b, int64_t n, Expr **items, int64_t location);
/* The array or jsonb with `value` in place of what the subscripts name; name: of the column, for messages. */
Expr *bind_part_set(Binder *b, Query *q, Expr *base, const AstSubscripts *s, Expr *value, const char *name,
                    int64_t location);
/* What the subscripts name of an array or jsonb. */
Expr *bind_part(Binder *b, Query *q, Expr *base, const AstSubscripts *s, int64_t location);
/* Gives the arguments of a call that takes arrays a common element type, and || of arrays its function's name. */
Status bind_array_args(Binder *b, const char **name, bool *is_operator, int n, Expr **args, int64_t location);
/* 42883 with a hint. Returns ST_ERROR. */
Status bind_no_such_call(Binder *b, const char *name, bool is_operator, int n, Expr *const *args, int64_t location);
/* ARRAY(subquery): the bound subquery becomes one row with the array of its values, in its order. */
Status bind_array_rel(Binder *b, Rel *r, int64_t location);
/* l op ANY (array), l op ALL (array). */
Expr *bind_any_array(Binder *b, const char *op, bool all, Expr *l, Expr *array, int64_t location);
Status bind_check_array(Binder *b, const Expr *e, int64_t location); /* 42883: not an argument of unnest */

/* ---- bind_row.c ---------------------------------------------------------------------------- */
/* The number of the item's table, in all rows that the item has; NULL where an outer join has none. */
Expr *bind_tableoid(Binder *b, Query *level, NsItem *it, int64_t location);

/* ---- bind_range.c ------------------------------------------------------------------------- */
/* The call of a range type's constructor by its key, where the call names its schema; NULL: it is none. */
const AstFunc *bind_schema_constructor(Binder *b, const AstFunc *f);
/* The same of ranges and multiranges; constructors of them set *made to the type of the result. */
Status bind_range_args(Binder *b, const char **name, bool *is_operator, int n, Expr **args, int64_t location,
                       Type *made);
/* A call that means a cast (bind_cast_call.c); NULL without an error: it does not. */
Expr *bind_cast_call(Binder *b, const AstFunc *f, Expr **args);
/* The name of a range type as that of a call with one argument, which is a literal without a type, or a value of that
 * type: a cast, as in PostgreSQL. NULL without an error: it is none. */
Expr *bind_range_cast(Binder *b, const char *name, int n, Expr *const *args, int64_t location);
/* The multirange constructor of that name with VARIADIC array. NULL without an error: it is none. */
Expr *bind_multirange_variadic(Binder *b, const char *name, Expr *array, int64_t location);

/* ---- bind_key.c --------------------------------------------------------------------------- */
bool bind_groupable(Type t); /* equal values have equal bytes, or there is a comparison */
/* 42883 for json, whose values are not compared. */
Status bind_check_groupable(Binder *b, Type t, int64_t location);
/* That, and 0A000 for arrays of intervals, which bind_least() cannot give equal bytes where they are equal. */
Status bind_check_least(Binder *b, Type t, int64_t location);
Status bind_check_sortable(Binder *b, Type t, int64_t location);     /* the same of what cannot be in ORDER BY */
Status bind_check_ordered_type(Binder *b, Type t, int64_t location); /* ... of what has no least or greatest */
bool bind_is_comparison(const char *op);
/* What SQL calls numeric: with and without (p,s). */
static inline bool bind_is_numeric(Type t) { return t.id == T_NUMERIC || t.id == T_DECIMAL; }
bool bind_is_incomparable(Type t);                    /* json */
bool bind_has_key(Type t);                            /* equal values may have different bytes */
bool bind_sorts_by_key(Type t);                       /* the order is not that of cells */
Expr *bind_key(Binder *b, Expr *e, int64_t location); /* e itself where cells compare as values do */
/* A comparison of values that have keys: args become their keys, and the operator is to be looked up again. */
Status bind_compare_keys(Binder *b, const char *name, const FuncDef *f, Expr **args, int64_t location, bool *changed);
/* Of a finished LP_AGG: groups by keys, with the same output columns as before. */
Status bind_group_keys(Binder *b, Plan *agg);
/* Numbers of values that have keys with the least scale that shows them, so that equal values have equal bytes: for set
 * operations other than UNION. */
Expr *bind_least(Binder *b, Expr *e, int64_t location);
Status bind_least_scale(Binder *b, Rel *r);

/* ---- bind_rows.c --------------------------------------------------------------------------- */
bool bind_is_rows(const AstFunc *f);                                   /* a set-returning builtin of a select list */
Status bind_rows_allowed(Binder *b, const Query *q, int64_t location); /* 0A000 */
/* The elements of an array, each (or NULL) called with one of them. */
Status bind_rows_array(Binder *b, Expr *array, const char *each, const char *name, int64_t location, RowsFunc *out);
Plan *bind_from_rows(Binder *b, Query *q, const AstFromFunc *f);
Plan *bind_rows_plan(Binder *b, const RowsFunc *f, bool ordinality);  /* of one call */
Expr *bind_rows_target(Binder *b, Query *q, const AstFunc *f);        /* in a select list: its column */
Expr *bind_srf(Binder *b, Query *q, const RowsFunc *f);               /* likewise, bound */
Status bind_srf_row(Binder *b, Query *q, RowsFunc *f, RowValue *out); /* likewise, of records */
/* The calls in e stand no higher than that. */
void bind_srf_stage(Binder *b, Query *q, Expr *e, SrfStage stage);
bool bind_srf_is_below(const Query *q, ColId id); /* that call stands below the grouping */
bool bind_srf_args(const Query *q, ColId id, bool (*fn)(void *ctx, Expr *e), void *ctx); /* expr_walk() of each */
/* The call of that column, which stands below the grouping, once more above it; fn regroups its arguments. */
Expr *bind_srf_above(Binder *b, Query *q, ColId id, Status (*fn)(void *ctx, Expr **slot), void *ctx);
/* Every argument of the calls above the grouping, once. */
Status bind_srfs_each(Query *q, Status (*fn)(void *ctx, Expr **slot), void *ctx);
void bind_srfs_end(Binder *b, const Query *q); /* for other levels their columns are like others */
/* p's rows with those of the calls of the stage. */
Plan *bind_srf_plan(Binder *b, const Query *q, Plan *p, SrfStage stage);

/* ---- bind_routine.c ------------------------------------------------------------------------- */
/* A function of the catalog. NULL without an error: no such one, a builtin may be meant. */
Expr *bind_routine_call(Binder *b, Query *q, const AstFunc *f);
/* In FROM: its rows, out->routine NULL if there is no such one. out->n_cols 0: of whatever columns. */
Status bind_rows_routine(Binder *b, Query *q, const AstFunc *f, const char *name, RowsFunc *out);
/* A cell of an argument as a value, and back: of kernels that call routines. */
void bind_arg_value(const Vec *v, int64_t i, Value *out);
void bind_put_value(Vec *out, int64_t i, const Value *v);
/* The array of its rows: of their values, or (packed) of their bytes. */
Expr *bind_rows_call(Binder *b, const RowsFunc *f);
static inline bool bind_rows_packed(const RowsFunc *f) {
    return f->records || (f->routine && (f->n_cols != 1 || f->types[0].id == T_ARRAY));
}

/* There may be routines of the name: the catalog has some, or clients have functions. */
/* A name without a schema at that place means the object with the key: texts that are kept get its schema there. */
Status bind_keep_schema(Binder *b, int64_t location, const char *key);
Status bind_check_schema(Binder *b, const AstFunc *f); /* 3F000: the schema that the call names is not there */
void bind_no_function_in(Binder *b, Query *q, const AstFunc *f); /* 42883, of a call with a schema */
bool bind_has_routines(const Binder *b, const char *name);
bool bind_is_routine(const Binder *b, const char *name); /* one of these */
/* A call of a routine of the catalog that is declared STRICT. */
bool bind_calls_strict_routine(const PlanCtx *c, const Expr *e);
struct UserFunction;
/* bind_row.c: (v).f and t.f, where f is a function of the row. NULL without an error: there is none. */
Expr *bind_field_function(Binder *b, Query *q, AstExpr *row, const char *name, int64_t location);
/* The aggregate of the catalog that a call with arguments of these types means; *out NULL: there is none. */
Status bind_find_aggregate(Binder *b, const AstFunc *f, int n, Expr **given, const Routine **out);
/* The function of a client that a call means, and its arguments in its order, cast; *out NULL: there is none. */
Status bind_user_args(Binder *b, const AstFunc *f, int64_t n, Expr **given, struct UserFunction **out, Expr **args);

/* ---- bind_named.c, bind_system.c ---------------------------------------------------------------- */
Plan *bind_bulk_rows(Binder *b, Query *q, const AstFunc *f);
Plan *bind_system_rows(Binder *b, int relation, int64_t location, Rel *rel);

/* ---- bind_aggregate.c -------------------------------------------------------------------- */
/* Some aggregate of the catalog that the search path finds has the name. */
bool bind_is_catalog_aggregate(const Binder *b, const AstName *name);
/* A call of one, with arguments of the given types: as bind_user_aggregate(). */
Status bind_catalog_aggregate(Binder *b, const Routine *r, int n, const Type *given, const FuncDef **out, Type *coerced,
                              Type *ret);

/* ---- bind_user.c: functions of clients ---------------------------------------------------------- */
bool bind_is_user_aggregate(const Binder *b, const AstFunc *f);
/* The aggregate that a call means, of a client or of the catalog, whose name is that of one; args may have no types
 * yet. *out NULL: a builtin one. */
Status bind_user_aggregate(Binder *b, const AstFunc *f, int n, Expr **args, const FuncDef **out, Type *coerced,
                           Type *ret);
bool bind_is_user_table(const Binder *b, const AstExpr *call);
/* FROM's call of it alone. */
Plan *bind_user_table(Binder *b, Query *q, const AstFunc *f, bool ordinality);
/* Its rows for each row of arguments, whatever these are; `f` or a call that is bound. */
Status bind_user_rows(Binder *b, Query *q, const AstFunc *f, RowsFunc *out);
Status bind_user_records(Binder *b, const struct UserFunction *user, int64_t n, Expr **args, int64_t location,
                         RowsFunc *out);

/* ---- bind_null.c ----------------------------------------------------------------------------- */
/* Strict calls with a constant NULL among their arguments become NULL, in place. */
void bind_null_plan(PlanCtx *c, Plan *p);
void bind_null_expr(PlanCtx *c, Expr *e);

/* ---- bind_from.c ------------------------------------------------------------------------- */
Plan *bind_one_row(Binder *b); /* LP_VALUES without columns */
Plan *bind_filter(Binder *b, Plan *child, Expr *cond);
Plan *bind_join(Binder *b, JoinKind kind, Plan *l, Plan *r);
bool bind_depends(Binder *b, Plan *right, Plan *left);
Plan *bind_from(Binder *b, Query *q, AstFrom *const *items, int64_t n, Plan *start);
/* The key of the relation that is named, in the name's place (catalog/schema.h); or *system, which it is of those. */
Status bind_relation_name(Binder *b, AstName *name, int *system);
Status bind_find_table(Binder *b, const AstName *key, Table **t, View **v); /* 42P01 */
/* The item is that relation under its own name. */
void bind_item_schema(NsItem *item, const char *key);
/* ---- bind_sequence.c ---- */
/* A call of nextval, currval, setval or pg_get_serial_sequence; NULL without an error: of another function. */
Expr *bind_sequence_call(Binder *b, Query *q, const AstFunc *f);
Sequence *bind_find_sequence(Binder *b, const AstName *key); /* in FROM; NULL: the key is no sequence's */
Plan *bind_sequence_row(Binder *b, const Sequence *q);       /* the sequence as a table of one row */
/* A scan of all columns; with the rowid when rowid is not NULL. Adds the item to q when add. */
Plan *bind_scan(Binder *b, Query *q, Table *t, const char *alias, ColId *rowid, NsItem *item);
Plan *bind_view(Binder *b, const View *v, int64_t location, Rel *r);
/* What the binder was before it came to the text of a view; ok: no error is to name the view. */
typedef struct ViewScope {
    ViewGuard guard;
    bool fixed_pos, params_ok;
    int64_t pos;
    KeptLiterals *literals;
    const SearchPath *path;
} ViewScope;
Status bind_view_enter(Binder *b, const View *v, int64_t location, ViewScope *s); /* 42P17: it is in there already */
void bind_view_leave(Binder *b, const ViewScope *s, bool ok);
/* What the view's text that is being bound means by the name at `location`. NULL: what any text means. */
const ViewSource *bind_view_source(const Binder *b, int64_t location);
/* The columns of a table or view in that text under the names that they have there. */
Status bind_table_columns(Binder *b, const AstFromTable *f, NsItem *item);

/* ---- bind_with.c ------------------------------------------------------------------------------- */
Status bind_with(Binder *b, Query *outer, const AstWith *w, Cte **ctes, Query *sibling);
Status bind_member_of_with(Binder *b, Cte *c); /* binds it where it is named before its turn */
Plan *bind_wrap_ctes(Binder *b, Cte *ctes, const Cte *until, Plan *body);
Plan *bind_wrap_cte(Binder *b, Cte *c, Plan *body);

/* ---- bind_search.c: SEARCH and CYCLE of recursive queries ------------------------------------------- */
/* Checks the clauses, and adds their columns to those of the query; types: room for three more. */
Status bind_search_columns(Binder *b, const AstCte *a, Cte *c, Type *types);
/* The terms, which have the query's own columns; the step those of the reference's clauses behind them. */
Status bind_search_base(Binder *b, const Cte *c, Rel *base);
Status bind_search_step(Binder *b, const Cte *c, Rel *step);

/* ---- bind_changes.c: members of WITH that change data ---------------------------------------------- */
/* 0A000 unless they may stand here. */
Status bind_check_changes(Binder *b, const AstWith *w);
Status bind_change_member(Binder *b, const AstCte *a, Cte *ctes, Cte *c, Rel *r);
/* The rows of such a member. */
Plan *bind_member_rows(Binder *b, const Cte *c, const char *alias);
/* Puts a member's query where it is read: in the statement's own plan `body`, in that of another member, or, when more
 * than one reads it, in a member of its own. */
Plan *bind_place_cte(Binder *b, Cte *c, Plan *body);

/* ---- bind_select.c, bind_setop.c, bind_limit.c ------------------------------------------------------------ */
typedef struct SelectEnv {
    Query *outer;
    Query *sibling;
    Cte *ctes;
    bool keep_unknown; /* untyped literals of the select list stay untyped (set operations, INSERT) */
} SelectEnv;
Status bind_select(Binder *b, const SelectEnv *env, const AstSelect *s, Rel *out);
Status bind_setop(Binder *b, const SelectEnv *env, const AstSelect *s, Rel *out);
/* An LP_AGG that groups by n columns; ids[i] becomes the new id of column i. */
Plan *bind_distinct_plan(Binder *b, Plan *child, int32_t n, ColId *ids, const char *const *names);
/* The input with every column of these types; ids are new where cast. */
Status bind_cast_input(Binder *b, Rel *r, const Type *types);
/* *done = false: the query does not refer to itself, and is bound like any other. */
Status bind_recursive(Binder *b, const SelectEnv *env, const AstCte *a, Cte *c, bool *done, Rel *out);
Status bind_recursive_ref(Binder *b, Query *q, Cte *c, int64_t location); /* 42P19 where it must not be */
/* Gives an untyped output column of a plan its type. */
Status bind_retype(Binder *b, Plan *p, ColId id, Type t);
/* Untyped columns become text. */
Status bind_settle(Binder *b, Rel *r);
/* A scan of a definition made by the binder; out: the new ids. */
Plan *bind_cte_ref(Binder *b, int64_t id, int64_t n, const ColId *def, ColId *out);
/* level: the query's own, or NULL: its columns must not be used. */
Status bind_limit(Binder *b, const SelectEnv *env, const Query *level, const AstSelect *s, Rel *r);

/* A projection under construction: equal columns are passed through once. */
typedef struct Proj {
    IdVec ids;
    ExprVec exprs;
} Proj;
ColId *bind_ids(Binder *b, int64_t n, const ColId *ids); /* a copy: operators share no arrays */
ColId bind_proj_add(Binder *b, Proj *p, const Query *q, Expr *e, const char *name);
Status bind_pass(Binder *b, Proj *p, ColId id); /* the column as it is */
Plan *bind_proj_plan(Binder *b, const Proj *p, Plan *child);

/* ---- bind_target.c ------------------------------------------------------------------------------ */
/* What a statement changes. Its columns are those that the statement can name: the table's, or a view's. */
typedef struct ViewLevel ViewLevel;
struct DmlTarget {
    StmtKind change;
    Table *t;        /* whose rows change */
    ViewLevel *view; /* NULL: the statement names the table itself */
    const char *name;
    int n;
    const char **names;
    int *base;               /* of column i: which of the table it is; -1: none, it is computed */
    const Column **cols;     /* ... as the statement has it: with its name and its default; NULL: it is computed */
    const Column **defaults; /* by column of the table: whose default INSERT puts there */
    const ColId *row;        /* likewise: the row that there is; NULL: there is none */
};
/* The condition of a view WITH CHECK OPTION. */
typedef struct ViewCheck {
    const char *view;
    Expr *e;
} ViewCheck;
typedef VEC(ViewCheck) ViewChecks;
/* 55000: a view that cannot be changed; 42809, 42P01 */
Status bind_dml_target(Binder *b, const AstName *name, int64_t location, StmtKind change, DmlTarget *g);
int bind_dml_column(const DmlTarget *g, const char *name);                                    /* -1: there is none: */
Status bind_no_dml_column(Binder *b, const DmlTarget *g, const char *name, int64_t location); /* 42703 */
Status bind_changes_column(Binder *b, const DmlTarget *g, int col); /* 0A000: it is computed */
/* A scan of the rows of the target: of those of the table that the view has. item: the target's columns. */
Plan *bind_dml_scan(Binder *b, DmlTarget *g, const char *alias, ColId *rowid, NsItem *item);
/* The target's columns over a row of the table, of which those that are computed stand for expressions. checks: NULL,
 * or gets the conditions of views, the innermost first. */
Status bind_dml_row(Binder *b, const DmlTarget *g, const char *name, const ColId *ids, ViewChecks *checks,
                    NsItem *item);
/* The row's columns are the level's, whether the target has them or computes others from them. */
Status bind_own_row(Binder *b, Query *q, const DmlTarget *g, const ColId *ids);

/* ---- bind_dml.c -------------------------------------------------------------------------------- */
/* around: definitions of WITH in scope. */
Status bind_insert(Binder *b, const AstInsert *s, Cte *around, BoundStmt *out);
Status bind_update(Binder *b, const AstUpdate *s, Cte *around, BoundStmt *out);
Status bind_delete(Binder *b, const AstDelete *s, Cte *around, BoundStmt *out);
Status bind_merge(Binder *b, const AstMerge *s, BoundStmt *out); /* bind_merge.c */
/* The level of a statement that changes rows of the target: that alone, with the numbers of its rows. */
Query *bind_target_query(Binder *b, const AstFromTable *f, DmlTarget *g, Cte *ctes, Plan **scan, ColId *rowid,
                         NsItem *item);
/* SET items, in the order of columns. */
typedef struct Set {
    int col; /* of the table */
    int by;  /* which of the target's columns that is */
    Expr *value;
    ColId id;
    bool element; /* an element of it was set: others may follow */
} Set;
typedef VEC(Set) SetVec;
/* *plan gets what their subqueries are joined by. */
Status bind_sets(Binder *b, Query *q, const DmlTarget *g, const AstAssign *set, int64_t n, SetVec *sets, Plan **plan);
bool bind_has_generated(const Table *t);
/* Computes the generated columns of a row whose columns are ids[], above p; ids[] then has their new columns. set:
 * NULL, or which columns have other values than before, so that those that depend on none of them stay; it gets them,
 * too. */
Plan *bind_computed(Binder *b, const Table *t, ColId *ids, bool *set, Plan *p);
/* One row of VALUES, or DEFAULT VALUES, as values of all columns of the table. */
Status bind_values_row(Binder *b, Query *q, const AstInsert *s, const DmlTarget *g, Expr **row);
/* CHECK constraints over a row of the table, and the conditions of views, which out gets. stored: 0, or a column that
 * says of each row whether they are for it. */
Status bind_checks(Binder *b, const Table *t, const ColId *row, ColId stored, const ViewChecks *views, Proj *proj,
                   BoundStmt *out);
/* Target list (select list, RETURNING): expands stars. */
typedef struct Target {
    Expr *expr;
    const char *name;
    const AstExpr *ast; /* NULL for a star's column */
    RowValue *row;      /* of which expr is the text, or NULL */
} Target;
typedef VEC(Target) TargetVec;
Status bind_targets(Binder *b, Query *q, const AstTarget *t, int64_t n, TargetVec *out);
/* The recursive term hands on what the clauses' columns were in the row before (bind_search.c). */
Status bind_search_targets(Binder *b, Query *q, TargetVec *out);

/* ---- bind_parts.c ------------------------------------------------------------------------------------ */
bool bind_is_parts(const AstFunc *f); /* regexp_matches and the like */
Status bind_parts(Binder *b, const AstFunc *f, Expr **args, const char *name, RowsFunc *out);
/* 42883 that no function of that name takes the arguments, unless there is another error already. */
Status bind_no_function(Binder *b, const AstFunc *f, Expr *const *args);

/* ---- bind_notation.c ---------------------------------------------------------------------------------- */
/* A call in named notation of a builtin whose parameters' names are known. */
bool bind_is_named(Binder *b, const AstFunc *f);
/* The same call by position. NULL: an error (42883, 42601, 0A000). */
const AstFunc *bind_by_position(Binder *b, Query *q, const AstFunc *f);

/* ---- bind_json.c ------------------------------------------------------------------------------------- */
bool bind_takes_json_rows(const AstFunc *f); /* its arguments may be rows */
Expr **bind_json_args(Binder *b, Query *q, const AstFunc *f, bool *first_is_row);
Expr *bind_row_to_json(Binder *b, Query *q, const AstFunc *f);
/* An entry of json_agg or json_object_agg as they are aggregated, and the value of all entries. row: arg was a row. */
Expr *bind_json_entry(Binder *b, const AggCall *call, bool row, int64_t location);
Expr *bind_json_entries(Binder *b, const AggCall *call, Expr *entries, int64_t location);
bool bind_is_json_each(const AstFunc *f); /* or aclexplode */
Status bind_json_each(Binder *b, const AstFunc *f, Expr *const *args, RowsFunc *out);
Expr *bind_json_pair_part(Binder *b, Expr *pair, int32_t k, Type t, int64_t location); /* of RowsFunc.pairs */
bool bind_is_json_record(const AstFunc *f); /* json_to_record, json_to_recordset */
/* out has the columns of its definition list. */
Status bind_json_record(Binder *b, const AstFunc *f, Expr *const *args, RowsFunc *out);
/* value[key][index]...: the part at a path, or NULL. */
Expr *bind_json_subscripts(Binder *b, Query *q, const AstSubscripts *s, Expr *value, int64_t location);
/* base[s] = value. */
Expr *bind_json_set(Binder *b, Query *q, Expr *base, const AstSubscripts *s, Expr *value, int64_t location);
Expr *bind_json_member(Binder *b, Expr *object, const char *name, Type t, int64_t location);

/* ---- bind_ordered.c ---------------------------------------------------------------------------------- */
Expr *bind_within_group(Binder *b, Query *q, const AstFunc *f);
/* 42809 for an ordered-set aggregate without WITHIN GROUP. */
Status bind_check_ordered(Binder *b, const AstFunc *f);

/* ---- bind_groups.c ------------------------------------------------------------------------------- */
typedef IdVec KeySet; /* numbers of keys */
typedef VEC(KeySet) KeySets;
/* The keys of GROUP BY, and its sets of them. */
Status bind_group_sets(Binder *b, Query *q, const AstSelect *s, const TargetVec *targets, ExprVec *keys, KeySets *sets);
bool bind_in_all_sets(const KeySets *sets, int64_t key);
/* One item (bind_select.c): adds its keys to the set, and to the keys where they are new. */
Status bind_group_key(Binder *b, Query *q, const AstExpr *ast, const TargetVec *targets, ExprVec *keys, KeySet *set);
Expr *bind_grouping(Binder *b, Query *q, const AstList *l);
/* Finds the arguments of the level's GROUPING() among its keys. */
Status bind_grouping_keys(Binder *b, Query *q, const ExprVec *keys);
/* The aggregation by all keys becomes one by the sets, with the values of GROUPING(). */
Plan *bind_grouping_plan(Binder *b, const Query *q, Plan *agg, const KeySets *sets);

#endif
