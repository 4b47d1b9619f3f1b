/* ast.h - the abstract syntax tree of a SQL statement.
 *
 * This is Stele's own tree. pg_convert.c builds it from PostgreSQL's grammar (libpg_query); nothing else of Stele
 * depends on that library, so that the grammar can be replaced without touching the binder.
 *
 * Shape. Every node is a struct that begins with `AstKind kind; int64_t location;`.
 * AstExpr, AstFrom and AstStmt are the common beginnings of the three families; look at
 * `kind`, then cast with AST_AS(AstColumn, e). `location` is the 1-based byte offset
 * in the text given to sql_parse() (the whole text, also when it holds several statements);
 * 0 = none.
 *
 * Lists are (pointer, count) pairs; an empty list may have a NULL pointer. Names are
 * NUL-terminated, already folded to lower case unless quoted, and at most 63 bytes
 * (longer ones are truncated as in PostgreSQL). An optional name or node is NULL when absent.
 *
 * Ownership: everything lives in the arena given to sql_parse(). The tree is never
 * changed after it was made, so several threads may read it.
 *
 * Depth: nesting (parentheses, subqueries, CASE, right operands) is bounded by the grammar's stack and by the thread's;
 * chains through a left or only operand (1+1+1+..., NOT NOT ..., x::a::b, a UNION b UNION c ...) are bounded by the
 * text only. Walks loop over chains, or recurse and look at the stack (base/stack.h).
 */
#ifndef STELE_SQL_PARSE_AST_H
#define STELE_SQL_PARSE_AST_H

#include "base/base.h"

typedef enum AstKind {
    AST_NONE = 0,

    /* ---- expressions (AstExpr) ---- */
    AST_NULL_LIT,      /* AstExpr alone */
    AST_BOOL_LIT,      /* AstLiteral.b */
    AST_INT_LIT,       /* AstLiteral.i: fits int4 or int8; wider integers are AST_NUMBER_LIT */
    AST_NUMBER_LIT,    /* AstLiteral.text: 1.5, 1e10, 99999999999999999999 (no sign) */
    AST_STRING_LIT,    /* AstLiteral.text, quotes and escapes resolved; type unknown */
    AST_BITS_LIT,      /* AstLiteral.text: b'101' -> "b101", x'1F' -> "x1F" */
    AST_CAST,          /* AstCast: also typed literals: date '1994-01-01' */
    AST_PARAM,         /* AstParam: $n */
    AST_COLUMN,        /* AstColumn: a, t.a, s.t.a */
    AST_STAR,          /* AstColumn: *, t.*, s.t.*; t.* elsewhere is the whole row */
    AST_FIELD,         /* AstField: (expr).name */
    AST_SUBSCRIPT,     /* AstSubscript: expr[i], expr[i:j] */
    AST_COLLATE,       /* AstCollate */
    AST_OP,            /* AstOp: binary and unary operators, IS [NOT] DISTINCT FROM excluded */
    AST_AND,           /* AstBool: n-ary, flattened */
    AST_OR,            /* AstBool: n-ary, flattened */
    AST_NOT,           /* AstBool: one item */
    AST_IS,            /* AstIs: IS [NOT] NULL/TRUE/FALSE/UNKNOWN */
    AST_DISTINCT_FROM, /* AstDistinctFrom */
    AST_BETWEEN,       /* AstBetween */
    AST_IN_LIST,       /* AstInList: x [NOT] IN (a, b, ...) */
    AST_QUANTIFIED,    /* AstQuantified: op ANY|ALL over an array expression */
    AST_SUBLINK,       /* AstSubLink: EXISTS, scalar, IN, op ANY|ALL (subquery), ARRAY(subquery) */
    AST_CASE,          /* AstCase */
    AST_COALESCE,      /* AstList */
    AST_GREATEST,      /* AstList */
    AST_LEAST,         /* AstList */
    AST_NULLIF,        /* AstList of two */
    AST_ARRAY,         /* AstList: ARRAY[...] */
    AST_ROW,           /* AstList: (a, b), ROW(...) */
    AST_GROUPING,      /* AstList: GROUPING(a, b) */
    AST_LIKE,          /* AstLike */
    AST_FUNC,          /* AstFunc */
    AST_SQL_VALUE,     /* AstSqlValue: CURRENT_DATE ... */
    AST_DEFAULT,       /* AstExpr alone: DEFAULT in VALUES, SET */
    AST_CURRENT_OF,    /* AstCurrentOf: WHERE CURRENT OF */

    /* ---- FROM items (AstFrom) ---- */
    AST_FROM_TABLE,
    AST_FROM_SUBQUERY,
    AST_FROM_FUNC,
    AST_FROM_JOIN,

    /* ---- statements (AstStmt) ---- */
    AST_SELECT, /* AstSelect: SELECT, VALUES, set operations, TABLE t */
    AST_INSERT,
    AST_UPDATE,
    AST_DELETE,
    AST_MERGE,
    AST_TRUNCATE,
    AST_CREATE_TABLE,
    AST_CREATE_TABLE_AS,
    AST_CREATE_VIEW,
    AST_REFRESH,
    AST_CREATE_INDEX,
    AST_CREATE_SCHEMA,
    AST_SET_SCHEMA,
    AST_ALTER_ROUTINE,
    AST_DROP,
    AST_ALTER_TABLE,
    AST_RENAME,
    AST_COMMENT,
    AST_COPY,
    AST_TRANSACTION,
    AST_PREPARE,
    AST_EXECUTE,
    AST_DEALLOCATE,
    AST_SET,  /* AstSet: SET, RESET, RESET ALL */
    AST_SHOW, /* AstShow */
    AST_EXPLAIN,
    AST_DESCRIBE,
    AST_VACUUM, /* AstVacuum: VACUUM and ANALYZE */
    AST_REINDEX,
    AST_CLUSTER,
    AST_DECLARE_CURSOR,   /* AstDeclareCursor */
    AST_FETCH,            /* AstFetch: FETCH and MOVE */
    AST_CLOSE,            /* AstClose */
    AST_LOCK,             /* AstLock: LOCK TABLE */
    AST_SET_CONSTRAINTS,  /* AstSetConstraints */
    AST_CHECKPOINT,       /* AstStmt alone */
    AST_DISCARD,          /* AstDiscard */
    AST_CREATE_FUNCTION,  /* AstCreateFunction: functions and procedures */
    AST_DROP_FUNCTION,    /* AstDropFunction */
    AST_CREATE_ENUM,      /* AstCreateEnum */
    AST_ALTER_ENUM,       /* AstAlterEnum */
    AST_CREATE_COMPOSITE, /* AstCreateComposite */
    AST_CREATE_RANGE,     /* AstCreateRange */
    AST_CREATE_DOMAIN,    /* AstCreateDomain */
    AST_ALTER_DOMAIN,     /* AstAlterDomain */
    AST_CREATE_SEQUENCE,  /* AstSequence */
    AST_ALTER_SEQUENCE,   /* AstSequence */
    AST_CALL,             /* AstCall */
    AST_DO,               /* AstDo */
    AST_ROLE,             /* these seven: ast_access.h */
    AST_ROLE_SET,
    AST_GRANT_ROLE,
    AST_GRANT,
    AST_OWNER,
    AST_OWNED,
    AST_POLICY,
    AST_UNSUPPORTED, /* AstUnsupported: parsed, but Stele has no such statement */
    AST_KIND_COUNT_
} AstKind;

#define AST_HEAD  \
    AstKind kind; \
    int64_t location

typedef struct AstExpr {
    AST_HEAD;
} AstExpr;
typedef struct AstFrom {
    AST_HEAD;
} AstFrom;
/* `source` is the statement's own text, without leading blanks and comments and without the
 * semicolon; `source_offset` is its 0-based byte offset in the whole text. Nested statements
 * (of EXPLAIN, PREPARE, COPY, ctes ...) have `source` {NULL, 0}, except where a field says otherwise. */
#define AST_STMT_HEAD \
    AST_HEAD;         \
    Slice source;     \
    int64_t source_offset
typedef struct AstStmt {
    AST_STMT_HEAD;
} AstStmt;

#define AST_AS(T, node) ((T *)(void *)(node))
#define AST_AS_CONST(T, node) ((const T *)(const void *)(node))

typedef struct AstSelect AstSelect;
typedef struct AstWindow AstWindow;
typedef struct AstOrderItem AstOrderItem;

/* A possibly qualified name of a table, view, index, schema, function or type. */
typedef struct AstName {
    const char *catalog; /* NULL unless a.b.c */
    const char *schema;  /* NULL unless qualified */
    const char *name;
    int64_t location;
} AstName;

/* numeric(15,2), timestamp(3) with time zone, integer[]. `name` is as the grammar canonicalises it:
 * int4, int8, float8, numeric, bpchar, varchar, timestamptz, interval, bool; schema pg_catalog dropped. */
typedef struct AstTypeName {
    const char *schema; /* NULL unless qualified with something other than pg_catalog */
    const char *name;
    int64_t *mods; /* (15,2) -> 15, 2; char without length has one modifier 1; interval: see below */
    int32_t n_mods;
    int32_t interval_fields; /* AstIntervalFields for INTERVAL DAY TO SECOND etc., 0 = none; precision, if any, in
                                mods[0] */
    int32_t array_dims;      /* 0 = no array */
    bool setof;
    bool percent_type; /* t.c%TYPE */
    int64_t location;
} AstTypeName;
typedef enum AstIntervalFields { /* bits */
                                 AST_IV_YEAR = 1,
                                 AST_IV_MONTH = 2,
                                 AST_IV_DAY = 4,
                                 AST_IV_HOUR = 8,
                                 AST_IV_MINUTE = 16,
                                 AST_IV_SECOND = 32
} AstIntervalFields;

/* ---- expressions -------------------------------------------------------------- */

/* AST_BOOL_LIT, AST_INT_LIT, AST_NUMBER_LIT, AST_STRING_LIT, AST_BITS_LIT. text is NUL-terminated too.
 * Unary minus on a number literal is folded: i < 0, or text begins with '-'. */
typedef struct AstLiteral {
    AST_HEAD;
    bool b;
    int64_t i;
    Slice text;
} AstLiteral;

/* arg::type, CAST(arg AS type), type 'literal'. A typed literal has a literal `arg`:
 * interval '3' day is a cast of '3' to interval with interval_fields = AST_IV_DAY. */
typedef struct AstCast {
    AST_HEAD;
    AstExpr *arg;
    AstTypeName *type;
} AstCast;

typedef struct AstParam {
    AST_HEAD;
    int32_t number; /* 1-based */
} AstParam;

/* AST_COLUMN and AST_STAR. A single `name` may also turn out to be a whole-row reference. */
typedef struct AstColumn {
    AST_HEAD;
    const char *schema; /* NULL if absent */
    const char *table;  /* NULL if absent */
    const char *name;   /* NULL for AST_STAR */
} AstColumn;

typedef struct AstField {
    AST_HEAD;
    AstExpr *arg;
    const char *name; /* NULL = .* */
} AstField;

typedef struct AstSubscript {
    AST_HEAD;
    AstExpr *arg;
    AstExpr *lower; /* slice only; may be NULL */
    AstExpr *upper; /* the index, or the slice's end (may then be NULL) */
    bool is_slice;
    bool chained; /* arg is a subscript that belongs to it: a[1][2], and not (a[1])[2] */
} AstSubscript;

/* Subscripts of a target of an assignment, column[i][j:k]: nodes without `arg`. */
typedef struct AstSubscripts {
    AstSubscript **items;
    int64_t n;
} AstSubscripts;

typedef struct AstCollate {
    AST_HEAD;
    AstExpr *arg;
    AstName collation;
} AstCollate;

/* Operators as spelled by the grammar: + - * / % ^ || = <> < <= > >= ~ ~* !~ !~* & | # << >> @ ...
 * ("!=" arrives as "<>"). left is NULL for prefix operators. LIKE and friends are AST_LIKE. */
typedef struct AstOp {
    AST_HEAD;
    const char *op;
    const char *op_schema; /* OPERATOR(s.+); normally NULL */
    AstExpr *left;
    AstExpr *right;
} AstOp;

typedef struct AstBool {
    AST_HEAD;
    AstExpr **items;
    int64_t n_items;
} AstBool;

typedef enum AstIsTest { AST_IS_NULL, AST_IS_TRUE, AST_IS_FALSE, AST_IS_UNKNOWN } AstIsTest;
typedef struct AstIs {
    AST_HEAD;
    AstIsTest test;
    bool negated;
    AstExpr *arg;
} AstIs;

typedef struct AstDistinctFrom {
    AST_HEAD;
    bool negated; /* IS NOT DISTINCT FROM */
    AstExpr *left;
    AstExpr *right;
} AstDistinctFrom;

typedef struct AstBetween {
    AST_HEAD;
    bool negated;
    bool symmetric;
    AstExpr *arg;
    AstExpr *low;
    AstExpr *high;
} AstBetween;

typedef struct AstInList {
    AST_HEAD;
    bool negated;
    AstExpr *arg; /* may be AST_ROW: (a, b) IN ((1, 2), ...) */
    AstExpr **items;
    int64_t n_items;
} AstInList;

/* left op ANY (array) / ALL (array): `array` is AST_ARRAY, a parameter, a cast or another array expression. */
typedef struct AstQuantified {
    AST_HEAD;
    const char *op;
    bool all;
    AstExpr *left;
    AstExpr *array;
} AstQuantified;

typedef enum AstSubLinkKind {
    AST_SUB_EXISTS,
    AST_SUB_SCALAR, /* (select ...) */
    AST_SUB_ANY,    /* test op ANY (select ...); IN has op "=" and is_in; NOT IN is AST_NOT around it */
    AST_SUB_ALL,
    AST_SUB_ARRAY /* ARRAY(select ...) */
} AstSubLinkKind;
typedef struct AstSubLink {
    AST_HEAD;
    AstSubLinkKind sub_kind;
    bool is_in;
    const char *op; /* ANY, ALL */
    AstExpr *test;  /* ANY, ALL; may be AST_ROW */
    AstSelect *query;
} AstSubLink;

typedef struct AstWhen {
    AstExpr *when; /* a condition, or a value if AstCase.arg */
    AstExpr *then;
    int64_t location;
} AstWhen;
typedef struct AstCase {
    AST_HEAD;
    AstExpr *arg; /* CASE arg WHEN value; NULL for the searched form */
    AstWhen *whens;
    int64_t n_whens;
    AstExpr *otherwise; /* NULL = ELSE NULL */
} AstCase;

/* AST_COALESCE, AST_GREATEST, AST_LEAST, AST_NULLIF, AST_ARRAY, AST_ROW, AST_GROUPING. */
typedef struct AstList {
    AST_HEAD;
    AstExpr **items;
    int64_t n_items;
} AstList;

typedef enum AstLikeKind { AST_LIKE_LIKE, AST_LIKE_ILIKE, AST_LIKE_SIMILAR } AstLikeKind;
typedef struct AstLike {
    AST_HEAD;
    AstLikeKind like_kind;
    bool negated;
    AstExpr *arg;
    AstExpr *pattern;
    AstExpr *escape; /* NULL = the default, a backslash */
} AstLike;

/* Function calls, aggregates and window functions. Special syntax arrives as PostgreSQL's functions: EXTRACT(f FROM x)
 * -> extract('f', x); POSITION(a IN b) -> position(b, a); SUBSTRING(x FROM a FOR b) -> substring(x, a, b); OVERLAY ->
 * overlay(...); TRIM(BOTH y FROM x) -> btrim(x, y), ltrim, rtrim; x AT TIME ZONE z -> timezone(z, x); x SIMILAR TO is
 * AST_LIKE. `sql_syntax`: the special syntax was used. */
typedef struct AstFunc {
    AST_HEAD;
    AstName name; /* schema pg_catalog is dropped */
    AstExpr **args;
    int64_t n_args;
    const char **arg_names; /* named notation f(a => 1): n_args entries, NULL where positional; NULL if none */
    AstOrderItem *order_by; /* inside the parentheses, or WITHIN GROUP */
    int64_t n_order_by;
    AstExpr *filter;
    AstWindow *over; /* NULL unless a window call */
    bool star;       /* count(*) */
    bool distinct;
    bool variadic;
    bool within_group;
    bool sql_syntax;
} AstFunc;

typedef enum AstSqlValueKind {
    AST_CURRENT_DATE,
    AST_CURRENT_TIME,
    AST_CURRENT_TIMESTAMP,
    AST_LOCALTIME,
    AST_LOCALTIMESTAMP,
    AST_CURRENT_USER, /* also CURRENT_ROLE, USER */
    AST_SESSION_USER,
    AST_CURRENT_CATALOG,
    AST_CURRENT_SCHEMA
} AstSqlValueKind;
typedef struct AstSqlValue {
    AST_HEAD;
    AstSqlValueKind value;
    int32_t precision; /* CURRENT_TIMESTAMP(3); -1 = none */
} AstSqlValue;

typedef struct AstCurrentOf {
    AST_HEAD;
    const char *cursor;
} AstCurrentOf;

/* ---- clauses ------------------------------------------------------------------- */

typedef enum AstNulls { AST_NULLS_DEFAULT, AST_NULLS_FIRST, AST_NULLS_LAST } AstNulls;
struct AstOrderItem {
    AstExpr *expr; /* an AST_INT_LIT is an ordinal in a query's ORDER BY */
    bool desc;     /* also USING > ; USING < is ascending */
    AstNulls nulls;
    int64_t location;
};

typedef enum AstFrameMode { AST_FRAME_RANGE, AST_FRAME_ROWS, AST_FRAME_GROUPS } AstFrameMode;
typedef enum AstFrameBound {
    AST_BOUND_UNBOUNDED_PRECEDING,
    AST_BOUND_PRECEDING, /* with an offset */
    AST_BOUND_CURRENT_ROW,
    AST_BOUND_FOLLOWING, /* with an offset */
    AST_BOUND_UNBOUNDED_FOLLOWING
} AstFrameBound;
typedef enum AstFrameExclude {
    AST_EXCLUDE_NONE,
    AST_EXCLUDE_CURRENT_ROW,
    AST_EXCLUDE_GROUP,
    AST_EXCLUDE_TIES
} AstFrameExclude;
/* A window specification: OVER name, OVER (...), or a WINDOW clause's entry. */
struct AstWindow {
    const char *name; /* WINDOW name AS; or OVER name (then nothing else is set) */
    const char *base; /* (base PARTITION BY ...) */
    AstExpr **partition_by;
    int64_t n_partition_by;
    AstOrderItem *order_by;
    int64_t n_order_by;
    bool has_frame; /* false: the default frame, RANGE UNBOUNDED PRECEDING .. CURRENT ROW, as set below */
    AstFrameMode mode;
    AstFrameBound start;
    AstFrameBound end;
    AstExpr *start_offset;
    AstExpr *end_offset;
    AstFrameExclude exclude;
    int64_t location;
};

/* One entry of a SELECT or RETURNING list. */
typedef struct AstTarget {
    AstExpr *expr;     /* AST_STAR for * and t.* */
    const char *alias; /* NULL = none given */
    int64_t location;
} AstTarget;

typedef struct AstAlias {
    const char *name; /* NULL = no alias */
    const char **columns;
    int64_t n_columns;
} AstAlias;

/* TABLESAMPLE method (args) REPEATABLE (seed) */
typedef struct AstSample {
    AstName method;
    AstExpr **args;
    int64_t n_args;
    AstExpr *repeatable; /* or NULL */
    int64_t location;
} AstSample;
typedef struct AstFromTable {
    AST_HEAD;
    AstName name;
    AstAlias alias;
    bool only;         /* FROM ONLY t */
    const char *file;  /* FROM 'file': its path; NULL for a table, whose name is `name` */
    AstSample *sample; /* or NULL */
} AstFromTable;

typedef struct AstFromSubquery {
    AST_HEAD;
    AstSelect *query;
    AstAlias alias;
    bool lateral;
} AstFromSubquery;

typedef struct AstColumnDef AstColumnDef;
typedef struct AstRowsFunc {
    AstExpr *call;              /* AST_FUNC, or AST_SQL_VALUE and the like */
    AstColumnDef **column_defs; /* inside ROWS FROM: f(..) AS (a int, b text): name and type only */
    int64_t n_column_defs;
} AstRowsFunc;
/* generate_series(1, 10) AS g(i), ROWS FROM (f(..), g(..)) */
typedef struct AstFromFunc {
    AST_HEAD;
    AstRowsFunc *funcs;
    int64_t n_funcs;
    AstAlias alias;
    AstColumnDef **column_defs; /* f(..) AS t(a int, b text) */
    int64_t n_column_defs;
    bool lateral;
    bool ordinality;
} AstFromFunc;

typedef enum AstJoinType { AST_JOIN_INNER, AST_JOIN_LEFT, AST_JOIN_RIGHT, AST_JOIN_FULL, AST_JOIN_CROSS } AstJoinType;
typedef struct AstFromJoin {
    AST_HEAD;
    AstJoinType type; /* AST_JOIN_CROSS: CROSS JOIN, no condition */
    bool natural;
    AstFrom *left;
    AstFrom *right;
    const char **using_columns;
    int64_t n_using;
    const char *using_alias; /* USING (a) AS x */
    AstExpr *on;             /* NULL if NATURAL, USING or CROSS */
    AstAlias alias;          /* (a JOIN b) AS x(...) */
} AstFromJoin;

typedef enum AstMaterialized { AST_MAT_DEFAULT, AST_MAT_ALWAYS, AST_MAT_NEVER } AstMaterialized;
/* SEARCH BREADTH | DEPTH FIRST BY columns SET sequence. */
typedef struct AstSearch {
    bool breadth;
    const char **columns;
    int64_t n_columns;
    const char *sequence;
    int64_t location;
} AstSearch;
/* CYCLE columns SET mark [TO value DEFAULT other] USING path. */
typedef struct AstCycle {
    const char **columns;
    int64_t n_columns;
    const char *mark, *path;
    AstExpr *value, *other;
    int64_t location;
} AstCycle;
typedef struct AstCte {
    const char *name;
    const char **columns;
    int64_t n_columns;
    AstMaterialized materialized;
    AstStmt *query;    /* AST_SELECT, or a change of data: AST_INSERT, AST_UPDATE, AST_DELETE, AST_MERGE */
    AstSearch *search; /* NULL: none */
    AstCycle *cycle;
    int64_t location;
} AstCte;
typedef struct AstWith {
    bool recursive;
    AstCte *ctes;
    int64_t n_ctes;
    int64_t location;
} AstWith;

typedef enum AstGroupKind {
    AST_GROUP_EXPR,  /* an expression; an AST_INT_LIT is an ordinal; AST_ROW (a, b) groups by a and b */
    AST_GROUP_EMPTY, /* () */
    AST_GROUP_ROLLUP,
    AST_GROUP_CUBE,
    AST_GROUP_SETS /* GROUPING SETS (...) */
} AstGroupKind;
typedef struct AstGroupItem AstGroupItem;
struct AstGroupItem {
    AstGroupKind kind;
    AstExpr *expr;       /* AST_GROUP_EXPR */
    AstGroupItem *items; /* ROLLUP, CUBE, GROUPING SETS */
    int64_t n_items;
    int64_t location;
};

typedef enum AstSetOp { AST_SETOP_NONE, AST_SETOP_UNION, AST_SETOP_INTERSECT, AST_SETOP_EXCEPT } AstSetOp;

/* One VALUES row; items may be AST_DEFAULT in INSERT. */
typedef struct AstValuesRow {
    AstExpr **items;
    int64_t n_items;
} AstValuesRow;

/* Three forms: a set operation (set_op != NONE: left, right), VALUES (values != NULL),
 * or a plain SELECT. with, order_by, limit, offset apply to each of them. */
struct AstSelect {
    AST_STMT_HEAD;
    AstWith *with; /* NULL = none */

    AstSetOp set_op;
    bool set_all;
    AstSelect *left;
    AstSelect *right;

    AstValuesRow *values;
    int64_t n_values;

    bool distinct;         /* SELECT DISTINCT or DISTINCT ON */
    AstExpr **distinct_on; /* n_distinct_on > 0: DISTINCT ON (...) */
    int64_t n_distinct_on;
    AstTarget *targets;
    int64_t n_targets;
    AstFrom **from; /* comma list */
    int64_t n_from;
    AstExpr *where;
    AstGroupItem *group_by;
    int64_t n_group_by;
    bool group_distinct; /* GROUP BY DISTINCT */
    AstExpr *having;
    AstWindow *windows; /* WINDOW clause */
    int64_t n_windows;

    AstOrderItem *order_by;
    int64_t n_order_by;
    AstExpr *limit; /* NULL = none or LIMIT ALL / NULL */
    AstExpr *offset;
    bool limit_with_ties; /* FETCH FIRST ... WITH TIES */
    const char *lock; /* "FOR UPDATE" ...: no row is locked, so that it only has to be one that could be; NULL = none */
    const char **lock_of; /* OF: names of FROM's items */
    int64_t n_lock_of;
};

/* ---- data changes ---------------------------------------------------------------- */

/* A part of a column that is assigned: .field, or [subscripts]. */
typedef struct AstStep {
    const char *field; /* NULL: */
    AstSubscripts subscripts;
} AstStep;
typedef struct AstPath {
    int64_t n; /* 0: the whole column */
    AstStep *steps;
} AstPath;

/* One assignment of UPDATE or ON CONFLICT DO UPDATE. SET (a, b) = (1, 2) arrives as two
 * assignments; SET (a, b) = (SELECT ...) or = row as one with n_columns = 2. */
typedef struct AstAssign {
    const char **columns;
    int64_t n_columns;
    AstPath path;   /* column[1:2].field = value, of one column */
    AstExpr *value; /* AST_DEFAULT possible; for n_columns > 1 an AST_SUBLINK (scalar kind) or another row expression */
    int64_t location;
} AstAssign;

typedef struct AstOnConflict {
    bool do_update;   /* else DO NOTHING */
    AstExpr **target; /* (a, b): conflict columns or expressions; none = any */
    int64_t n_target;
    AstExpr *target_where;
    const char *constraint; /* ON CONSTRAINT name */
    AstAssign *set;
    int64_t n_set;
    AstExpr *where;
    int64_t location;
} AstOnConflict;

typedef struct AstInsert {
    AST_STMT_HEAD;
    AstWith *with;
    AstName table;
    const char *alias;
    const char **columns;
    int64_t *column_locations; /* n_columns entries */
    AstPath *paths;            /* likewise */
    int64_t n_columns;
    AstSelect *query;       /* VALUES or SELECT; NULL = DEFAULT VALUES */
    bool overriding_system; /* OVERRIDING SYSTEM VALUE */
    bool overriding_user;
    AstOnConflict *on_conflict;
    AstTarget *returning;
    int64_t n_returning;
} AstInsert;

typedef struct AstUpdate {
    AST_STMT_HEAD;
    AstWith *with;
    AstFromTable *table;
    AstAssign *set;
    int64_t n_set;
    AstFrom **from;
    int64_t n_from;
    AstExpr *where;
    AstTarget *returning;
    int64_t n_returning;
} AstUpdate;

typedef struct AstDelete {
    AST_STMT_HEAD;
    AstWith *with;
    AstFromTable *table;
    AstFrom **using_items;
    int64_t n_using;
    AstExpr *where;
    AstTarget *returning;
    int64_t n_returning;
} AstDelete;

typedef enum AstMergeAction { AST_MERGE_NOTHING, AST_MERGE_INSERT, AST_MERGE_UPDATE, AST_MERGE_DELETE } AstMergeAction;
/* WHEN [NOT] MATCHED [AND condition] THEN action. */
typedef struct AstMergeWhen {
    bool matched;
    AstExpr *condition; /* NULL = none */
    AstMergeAction action;
    AstInsert *insert; /* AST_MERGE_INSERT: its columns, and VALUES of one row or DEFAULT VALUES */
    AstAssign *set;    /* AST_MERGE_UPDATE */
    int64_t n_set;
} AstMergeWhen;
typedef struct AstMerge {
    AST_STMT_HEAD;
    AstWith *with;
    AstFromTable *table;
    AstFrom *using_item;
    AstExpr *on;
    AstMergeWhen *whens;
    int64_t n_whens;
} AstMerge;

typedef struct AstTruncate {
    AST_STMT_HEAD;
    AstName *tables;
    int64_t n_tables;
    bool cascade;
    bool restart_identity;
} AstTruncate;

/* ---- definitions ------------------------------------------------------------------- */

/* name = value of WITH (...), COPY options, EXPLAIN options. Values: number and words arrive as text. */
typedef struct AstOption {
    const char *space; /* toast of toast.fillfactor; NULL = none */
    const char *name;  /* lower case */
    const char *value; /* NULL = name alone */
    const char **list; /* force_quote (a, b): n_list entries, value NULL */
    int64_t n_list;
    bool star; /* force_quote * */
    int64_t location;
} AstOption;

/* An option of a sequence, or of an identity column's. */
typedef enum AstSequenceOptionKind {
    AST_SEQ_AS, /* type */
    AST_SEQ_INCREMENT,
    AST_SEQ_START,
    AST_SEQ_RESTART, /* without a number: at START */
    AST_SEQ_MAXVALUE,
    AST_SEQ_MINVALUE, /* these without a number: NO MAXVALUE, NO MINVALUE */
    AST_SEQ_CACHE,
    AST_SEQ_CYCLE,    /* on */
    AST_SEQ_OWNED_BY, /* column; table NULL: the word NONE, or a name without a table */
    AST_SEQ_NAME,     /* SEQUENCE NAME of an identity column: owner */
    AST_SEQ_GENERATED /* SET GENERATED ALWAYS (on) or BY DEFAULT, in ALTER COLUMN */
} AstSequenceOptionKind;
typedef struct AstSequenceOption {
    AstSequenceOptionKind kind;
    bool has_number, on;
    int64_t number;
    AstTypeName *type;
    AstName owner; /* of OWNED BY schema.table.column: catalog, schema, name */
    int64_t location;
} AstSequenceOption;

typedef enum AstConstraintKind {
    AST_CON_NOT_NULL,
    AST_CON_NULL, /* explicit NULL */
    AST_CON_DEFAULT,
    AST_CON_CHECK,
    AST_CON_PRIMARY_KEY,
    AST_CON_UNIQUE,
    AST_CON_FOREIGN_KEY,
    AST_CON_GENERATED, /* GENERATED ALWAYS AS (expr) STORED */
    AST_CON_IDENTITY   /* GENERATED ... AS IDENTITY */
} AstConstraintKind;
typedef struct AstConstraint {
    AstConstraintKind kind;
    const char *name;     /* CONSTRAINT name; NULL = none */
    const char **columns; /* table-level PRIMARY KEY, UNIQUE, FOREIGN KEY; at column level empty */
    int64_t n_columns;
    AstExpr *expr;     /* DEFAULT, CHECK, GENERATED */
    Slice expr_source; /* the expression's text (without the parentheses of CHECK), for the catalog */
    AstName ref_table; /* FOREIGN KEY */
    const char **ref_columns;
    int64_t n_ref_columns;
    char on_delete; /* PostgreSQL's codes: a no action, r restrict, c cascade, n set null, d set default; 0 if no
                       foreign key */
    char on_update;
    const char **set_columns; /* ON DELETE SET NULL (..), SET DEFAULT (..); none: all of them */
    int64_t n_set_columns;
    bool match_full;
    bool deferrable, deferred; /* deferred: INITIALLY DEFERRED */
    bool nulls_not_distinct;
    bool not_valid;       /* NOT VALID: rows that are there need not pass */
    const char **include; /* INCLUDE: of a key, to be columns */
    int64_t n_include;
    AstOption *options; /* of the index behind a key */
    int64_t n_options;
    bool identity_always;
    AstSequenceOption *sequence; /* options of IDENTITY */
    int64_t n_sequence;
    int64_t location;
} AstConstraint;

struct AstColumnDef {
    const char *name;
    AstTypeName *type; /* NULL only in CREATE TABLE AS column lists */
    AstConstraint *constraints;
    int64_t n_constraints;
    AstName collation; /* name NULL = none */
    int64_t location;
};

/* LIKE table INCLUDING ..: what is taken beside columns, their types and NOT NULL; bits of `including`. */
typedef enum AstIncluding {
    AST_INCLUDING_COMMENTS = 1,
    AST_INCLUDING_COMPRESSION = 2,
    AST_INCLUDING_CONSTRAINTS = 4,
    AST_INCLUDING_DEFAULTS = 8,
    AST_INCLUDING_GENERATED = 16,
    AST_INCLUDING_IDENTITY = 32,
    AST_INCLUDING_INDEXES = 64,
    AST_INCLUDING_STATISTICS = 128,
    AST_INCLUDING_STORAGE = 256
} AstIncluding;
typedef struct AstTableLike {
    AstName name;
    uint32_t including;
    int64_t before; /* columns that are written in front of it */
} AstTableLike;

typedef struct AstCreateTable {
    AST_STMT_HEAD;
    AstName name;
    bool if_not_exists;
    bool temporary;
    bool unlogged;
    AstColumnDef **columns;
    int64_t n_columns;
    AstTableLike *likes;
    int64_t n_likes;
    AstConstraint *constraints; /* table level */
    int64_t n_constraints;
    AstOption *options;
    int64_t n_options;
    char on_commit; /* 0 none, 'p' preserve rows, 'd' delete rows, 'x' drop */
} AstCreateTable;

typedef struct AstCreateTableAs {
    AST_STMT_HEAD;
    AstName name;
    bool if_not_exists;
    bool temporary;
    bool unlogged;
    bool materialized_view; /* CREATE MATERIALIZED VIEW */
    const char **columns;
    int64_t n_columns;
    AstOption *options;
    int64_t n_options;
    AstStmt *query;     /* AST_SELECT or AST_EXECUTE */
    Slice query_source; /* of a materialized view: the text of the query, for the catalog */
    bool with_no_data;
    char on_commit;
} AstCreateTableAs;

typedef struct AstCreateView {
    AST_STMT_HEAD;
    AstName name;
    bool or_replace;
    bool temporary;
    bool recursive;    /* CREATE RECURSIVE VIEW: query and its text are already the WITH RECURSIVE form */
    char check_option; /* WITH [CASCADED | LOCAL] CHECK OPTION: 'c', 'l'; 0: none */
    const char **columns;
    int64_t n_columns;
    AstOption *options;
    int64_t n_options;
    AstSelect *query;
    Slice query_source; /* the text of the query, for the catalog */
} AstCreateView;

/* REFRESH MATERIALIZED VIEW */
typedef struct AstRefresh {
    AST_STMT_HEAD;
    AstName name;
    bool concurrently;
    bool with_no_data;
} AstRefresh;

typedef struct AstIndexElem {
    const char *column; /* or */
    AstExpr *expr;
    Slice expr_source;   /* its text: f(...), or (expression) */
    const char *opclass; /* NULL = the type's */
    AstName collation;   /* name NULL = none */
    bool desc, ordered;  /* ASC or DESC is written */
    AstNulls nulls;
    int64_t location;
} AstIndexElem;
typedef struct AstCreateIndex {
    AST_STMT_HEAD;
    const char *name; /* NULL = choose one */
    AstName table;
    const char *method; /* "btree" by default */
    bool unique;
    bool if_not_exists;
    bool concurrently;
    bool nulls_not_distinct;
    AstIndexElem *elems;
    int64_t n_elems;
    AstIndexElem *include;
    int64_t n_include;
    AstOption *options;
    int64_t n_options;
    AstExpr *where;
    Slice where_source; /* its text */
} AstCreateIndex;

typedef struct AstCreateSchema {
    AST_STMT_HEAD;
    const char *name;  /* NULL = AUTHORIZATION's */
    const char *owner; /* AUTHORIZATION; NULL = not given, or the user */
    bool if_not_exists;
    AstStmt **elements; /* CREATE TABLE and others, without `source` */
    int64_t n_elements;
} AstCreateSchema;

typedef enum AstObject {
    AST_OBJ_TABLE,
    AST_OBJ_VIEW,
    AST_OBJ_MATVIEW,
    AST_OBJ_INDEX,
    AST_OBJ_SCHEMA,
    AST_OBJ_COLUMN,
    AST_OBJ_CONSTRAINT,
    AST_OBJ_TYPE,
    AST_OBJ_DOMAIN,
    AST_OBJ_SEQUENCE,
    AST_OBJ_ROLE,
    AST_OBJ_ROUTINE, /* these three in COMMENT ON and OWNER TO only */
    AST_OBJ_DOMAIN_CONSTRAINT,
    AST_OBJ_DATABASE,
    AST_OBJ_OTHER /* function ...: see AstDrop.object_name */
} AstObject;
typedef struct AstDrop {
    AST_STMT_HEAD;
    AstObject object;
    const char *object_name; /* "TABLE", "VIEW", "SEQUENCE" ... */
    AstName *names;
    int64_t n_names;
    bool if_exists;
    bool cascade;
    bool concurrently;
} AstDrop;

typedef enum AstAlterKind {
    AST_ALTER_ADD_COLUMN,
    AST_ALTER_DROP_COLUMN,
    AST_ALTER_SET_NOT_NULL,
    AST_ALTER_DROP_NOT_NULL,
    AST_ALTER_SET_DEFAULT,
    AST_ALTER_DROP_DEFAULT,
    AST_ALTER_SET_TYPE,
    AST_ALTER_ADD_CONSTRAINT,
    AST_ALTER_DROP_CONSTRAINT,
    AST_ALTER_VALIDATE_CONSTRAINT,
    AST_ALTER_CONSTRAINT, /* constraint: its name, deferrable, deferred */
    AST_ALTER_SET_OPTIONS,
    AST_ALTER_RESET_OPTIONS,
    AST_ALTER_ADD_IDENTITY, /* constraint */
    AST_ALTER_SET_IDENTITY, /* sequence */
    AST_ALTER_DROP_IDENTITY,
    AST_ALTER_DROP_EXPRESSION,
    AST_ALTER_CLUSTER_ON,   /* name: an index */
    AST_ALTER_DROP_CLUSTER, /* SET WITHOUT CLUSTER */
    AST_ALTER_SET_LOGGED,
    AST_ALTER_SET_UNLOGGED,
    AST_ALTER_OWNER,          /* beside other commands; alone: AstOwner */
    AST_ALTER_SET_STATISTICS, /* of column `name`, or of that number where name is NULL: the number is `statistics` */
    AST_ALTER_OTHER           /* 0A000 with `what` */
} AstAlterKind;
typedef struct AstAlterCmd {
    AstAlterKind kind;
    const char *name; /* column or constraint */
    bool if_exists;   /* or IF NOT EXISTS for ADD COLUMN */
    bool cascade;
    AstColumnDef *column; /* ADD COLUMN; SET TYPE: type only */
    AstExpr *expr;        /* SET DEFAULT; SET TYPE ... USING */
    Slice expr_source;    /* its text */
    AstConstraint *constraint;
    AstOption *options;
    int64_t n_options;
    AstSequenceOption *sequence; /* SET IDENTITY */
    int64_t n_sequence;
    int64_t number, statistics;
    const struct AstRoleSpec *owner;
    const char *what; /* ALTER_OTHER: a name for the message */
    int64_t location;
} AstAlterCmd;
typedef struct AstAlterTable {
    AST_STMT_HEAD;
    AstObject object; /* TABLE, VIEW, INDEX, TYPE, OTHER */
    AstName table;
    bool if_exists;
    AstAlterCmd *cmds;
    int64_t n_cmds;
} AstAlterTable;

typedef enum AstReindexKind {
    AST_REINDEX_INDEX,
    AST_REINDEX_TABLE,
    AST_REINDEX_SCHEMA,
    AST_REINDEX_SYSTEM,
    AST_REINDEX_DATABASE
} AstReindexKind;
typedef struct AstReindex {
    AST_STMT_HEAD;
    AstReindexKind kind_of; /* what is named */
    AstName name;
    AstOption *options; /* verbose, concurrently, tablespace */
    int64_t n_options;
} AstReindex;
typedef struct AstCluster {
    AST_STMT_HEAD;
    AstName table;     /* name NULL: all that have been clustered */
    const char *index; /* NULL: as last time */
    AstOption *options;
    int64_t n_options;
} AstCluster;

/* ALTER TABLE / VIEW / INDEX ... RENAME, and RENAME COLUMN, RENAME CONSTRAINT. */
typedef struct AstRename {
    AST_STMT_HEAD;
    AstObject object;     /* what is renamed: TABLE, VIEW, INDEX, SCHEMA, COLUMN, CONSTRAINT */
    AstObject relation;   /* COLUMN: what kind of relation it is in */
    AstName name;         /* the relation (or schema) */
    const char *old_name; /* COLUMN, CONSTRAINT */
    const char *new_name;
    bool if_exists;
} AstRename;

/* ALTER .. SET SCHEMA */
typedef struct AstSetSchema {
    AST_STMT_HEAD;
    AstObject object; /* TABLE, VIEW, MATVIEW, SEQUENCE, TYPE, DOMAIN, ROUTINE */
    AstName name;
    const struct AstFuncSignature *routine; /* FUNCTION, PROCEDURE, ROUTINE */
    char what;                              /* likewise: f, p, r */
    const char *schema;
    bool if_exists;
} AstSetSchema;

typedef struct AstComment {
    AST_STMT_HEAD;
    AstObject object;
    const char *object_name;                /* "TABLE", "FUNCTION", "CAST" .. */
    AstName name;                           /* COLUMN, CONSTRAINT: of the table or domain */
    const char *part;                       /* COLUMN, CONSTRAINT, TRIGGER ..: its name; OPERATOR CLASS: its method */
    const struct AstFuncSignature *routine; /* FUNCTION, PROCEDURE, ROUTINE, AGGREGATE, OPERATOR; CAST: its types */
    char what;                              /* likewise: f, p, r */
    const char *comment;                    /* NULL = remove */
} AstComment;

/* ---- utilities ------------------------------------------------------------------------ */

typedef struct AstCopy {
    AST_STMT_HEAD;
    bool from;      /* FROM (load), else TO */
    AstName table;  /* table.name NULL: COPY (query) TO */
    AstStmt *query; /* AST_SELECT, or a data change with RETURNING */
    const char **columns;
    int64_t n_columns;
    const char *path; /* NULL = STDIN / STDOUT, or a program's command if `program` */
    bool program;
    AstOption *options; /* format, delimiter, header, null, quote, escape, encoding ... */
    int64_t n_options;
    AstExpr *where;
} AstCopy;

typedef enum AstTransactionKind {
    AST_TX_BEGIN,    /* BEGIN, START TRANSACTION */
    AST_TX_COMMIT,   /* COMMIT, END */
    AST_TX_ROLLBACK, /* ROLLBACK, ABORT */
    AST_TX_SAVEPOINT,
    AST_TX_RELEASE,
    AST_TX_ROLLBACK_TO,
    AST_TX_PREPARE, /* two-phase */
    AST_TX_COMMIT_PREPARED,
    AST_TX_ROLLBACK_PREPARED
} AstTransactionKind;
typedef struct AstTransaction {
    AST_STMT_HEAD;
    AstTransactionKind tx_kind;
    const char *name;   /* savepoint or prepared transaction */
    AstOption *options; /* transaction_isolation, transaction_read_only ("on"/"off"), transaction_deferrable */
    int64_t n_options;
    bool chain; /* AND CHAIN */
} AstTransaction;

typedef struct AstPrepare {
    AST_STMT_HEAD;
    const char *name;
    AstTypeName **types;
    int64_t n_types;
    AstStmt *query;
    Slice query_source;
} AstPrepare;

typedef struct AstExecute {
    AST_STMT_HEAD;
    const char *name;
    AstExpr **args;
    int64_t n_args;
} AstExecute;

typedef struct AstDeallocate {
    AST_STMT_HEAD;
    const char *name; /* NULL = ALL */
} AstDeallocate;

typedef enum AstSetKind {
    AST_SET_VALUE,   /* SET name = value, ... */
    AST_SET_DEFAULT, /* SET name TO DEFAULT, RESET name */
    AST_SET_CURRENT, /* SET name FROM CURRENT */
    AST_RESET_ALL,
    AST_SET_TRANSACTION, /* SET TRANSACTION ...: options */
    AST_SET_SESSION_CHARACTERISTICS
} AstSetKind;
/* SET TIME ZONE x is name "timezone"; SET TIME ZONE LOCAL / DEFAULT is AST_SET_DEFAULT. */
typedef struct AstSet {
    AST_STMT_HEAD;
    AstSetKind set_kind;
    const char *name; /* lower case, a.b for custom settings */
    bool is_local;
    bool is_reset;    /* spelled RESET: for the command tag */
    AstExpr **values; /* literals; AST_CAST to interval for SET TIME ZONE INTERVAL '1' HOUR */
    int64_t n_values;
    AstOption *options; /* SET TRANSACTION */
    int64_t n_options;
} AstSet;

typedef struct AstCreateEnum {
    AST_STMT_HEAD;
    AstName name;
    const char **labels;
    int64_t n_labels;
} AstCreateEnum;

/* CREATE TYPE .. AS (..). ALTER TYPE .. ADD ATTRIBUTE and the like are AstAlterTable of AST_OBJ_TYPE, RENAME ATTRIBUTE
 * is AstRename of a column of it. */
typedef struct AstCreateComposite {
    AST_STMT_HEAD;
    AstName name;
    AstColumnDef **cols;
    int64_t n_cols;
} AstCreateComposite;

/* CREATE TYPE .. AS RANGE (..): what follows = is a type's or another object's name. */
typedef struct AstRangeOption {
    const char *name;
    AstTypeName *value; /* NULL: none */
} AstRangeOption;
typedef struct AstCreateRange {
    AST_STMT_HEAD;
    AstName name;
    AstRangeOption *options;
    int64_t n_options;
} AstCreateRange;

/* ALTER TYPE of enumerated types: ADD VALUE (label), RENAME VALUE (old_label, label), RENAME TO (new_name). */
typedef struct AstAlterEnum {
    AST_STMT_HEAD;
    AstName name;
    const char *label, *old_label;
    const char *neighbor; /* NULL: behind the last */
    bool after;           /* the neighbor; else before it */
    bool if_not_exists;
    const char *new_name;
} AstAlterEnum;

typedef struct AstCreateDomain {
    AST_STMT_HEAD;
    AstName name;
    AstColumnDef *def; /* its type, collation and constraints */
} AstCreateDomain;

/* ALTER DOMAIN: SET and DROP of DEFAULT and NOT NULL, ADD, DROP and VALIDATE CONSTRAINT as those of tables; or RENAME
 * [CONSTRAINT old_name] TO new_name. */
typedef struct AstAlterDomain {
    AST_STMT_HEAD;
    AstName name;
    AstAlterCmd cmd;
    const char *old_name, *new_name;
} AstAlterDomain;

/* CREATE SEQUENCE, ALTER SEQUENCE. ALTER SEQUENCE RENAME is AstRename. */
typedef struct AstSequence {
    AST_STMT_HEAD;
    AstName name;
    bool if_exists; /* of CREATE: IF NOT EXISTS */
    bool temporary, unlogged;
    AstSequenceOption *options;
    int64_t n_options;
} AstSequence;

/* DISCARD ALL, or of one kind only. */
typedef struct AstDiscard {
    AST_STMT_HEAD;
    bool sequences, plans, temp; /* these alone */
} AstDiscard;

typedef struct AstShow {
    AST_STMT_HEAD;
    const char *name; /* "all" for SHOW ALL */
} AstShow;

/* DESCRIBE and SUMMARIZE, of a query, a table or a file (forms.c). */
typedef struct AstDescribe {
    AST_STMT_HEAD;
    AstStmt *query; /* of a table: SELECT of all its columns */
    bool summarize;
    bool is_query;      /* query_source is a query; else a name or a file as it stands in FROM */
    Slice query_source; /* its text */
} AstDescribe;

typedef struct AstExplain {
    AST_STMT_HEAD;
    AstStmt *query;                         /* NULL: EXPLAIN PROCEDURE */
    const struct AstFuncSignature *routine; /* EXPLAIN PROCEDURE f, f(int, text) */
    AstOption *options;                     /* analyze, verbose, format ... */
    int64_t n_options;
} AstExplain;

typedef struct AstVacuum {
    AST_STMT_HEAD;
    bool is_vacuum;     /* else ANALYZE */
    AstOption *options; /* full, verbose, analyze, freeze ... */
    int64_t n_options;
    AstName *tables; /* none = all */
    int64_t n_tables;
    const char ***columns; /* of each table: those to analyze, */
    int64_t *n_columns;    /* 0 = all */
} AstVacuum;

/* ---- cursors, locks ------------------------------------------------------------------------- */

typedef struct AstDeclareCursor {
    AST_STMT_HEAD;
    const char *name;
    bool binary, scroll, no_scroll, insensitive, asensitive, hold;
    AstSelect *query;
} AstDeclareCursor;

/* n rows forward or backward (0: the present one), to row n, or by n rows; AST_FETCH_ALL is all that there are. */
typedef enum AstFetchDirection { AST_FORWARD, AST_BACKWARD, AST_ABSOLUTE, AST_RELATIVE } AstFetchDirection;
#define AST_FETCH_ALL INT64_MAX
typedef struct AstFetch {
    AST_STMT_HEAD;
    const char *name;
    bool move;
    AstFetchDirection direction;
    int64_t count;
} AstFetch;

typedef struct AstClose {
    AST_STMT_HEAD;
    const char *name; /* NULL = ALL */
} AstClose;

typedef struct AstLock {
    AST_STMT_HEAD;
    AstName *tables;
    int64_t n_tables;
    const char *mode; /* "ACCESS SHARE" .. "ACCESS EXCLUSIVE" */
    bool nowait;
} AstLock;

typedef struct AstSetConstraints {
    AST_STMT_HEAD;
    AstName *names; /* none: ALL */
    int64_t n_names;
    bool deferred; /* else IMMEDIATE */
} AstSetConstraints;

/* ---- routines ----------------------------------------------------------------------------- */

typedef enum AstParamMode {
    AST_PARAM_IN,
    AST_PARAM_OUT,
    AST_PARAM_INOUT,
    AST_PARAM_TABLE,
    AST_PARAM_VARIADIC
} AstParamMode;
typedef struct AstFuncParam {
    const char *name; /* NULL: $n only */
    AstParamMode mode;
    AstTypeName *type;
    AstExpr *def; /* DEFAULT; NULL = none */
    int64_t location;
} AstFuncParam;

/* CREATE AGGREGATE: what is in its parentheses. Names of functions are empty (NULL) where there is none. */
typedef struct AstAggregate {
    AstName sfunc, finalfunc, combinefunc, serialfunc, deserialfunc, msfunc, minvfunc, mfinalfunc;
    AstTypeName *stype, *mstype; /* NULL: none */
    Slice initcond, minitcond;   /* ptr NULL: none */
    bool final_extra, mfinal_extra;
    bool ordered; /* an ordered-set aggregate */
    bool hypothetical;
    int64_t n_direct; /* of these: arguments in front of ORDER BY */
} AstAggregate;

/* What CREATE and ALTER FUNCTION say of a routine beside its form. */
typedef struct AstFuncOptions {
    char volatility;                   /* 'i', 's', 'v'; 0: not said */
    int8_t strict, definer, leakproof; /* 1, 0; -1: not said */
    char parallel;                     /* 's', 'r', 'u'; 0: not said */
    double cost, rows;                 /* 0: not said */
    const struct AstSet **sets;        /* SET and RESET, in their order */
    int64_t n_sets;
    int64_t of_functions; /* where something stands that procedures do not have; -1: nowhere */
} AstFuncOptions;

typedef struct AstCreateFunction {
    AST_STMT_HEAD;
    AstName name;
    bool is_procedure;
    bool or_replace;
    AstFuncParam *params;
    int64_t n_params;
    AstTypeName *ret;     /* RETURNS; NULL = none. RETURNS TABLE: parameters of mode TABLE, setof record */
    const char *language; /* lower case; NULL = not given */
    Slice body;           /* AS '...' with quotes resolved; NULL: SQL-standard body or none */
    int64_t body_offset;  /* 0-based, of the body in the whole text when it stands there as it is ($$...$$), else -1 */
    char volatility;      /* 'i' immutable, 's' stable, 'v' volatile (default) */
    bool strict;          /* RETURNS NULL ON NULL INPUT */
    const char *sql_body; /* BEGIN ATOMIC or RETURN, as it stands there; NULL: none */
    AstFuncOptions options;
    const char *unsupported;       /* an option that Stele has not, or NULL */
    const struct AstSet *path;     /* SET search_path; NULL: none */
    const AstAggregate *aggregate; /* CREATE AGGREGATE; else NULL */
} AstCreateFunction;

typedef struct AstFuncSignature {
    AstName name;
    bool has_args;        /* f(int) and f(), not f */
    AstFuncParam *params; /* without names and defaults when none are written */
    int64_t n_params;
} AstFuncSignature;
/* ALTER FUNCTION, PROCEDURE, ROUTINE; of aggregates only their names. */
typedef struct AstAlterRoutine {
    AST_STMT_HEAD;
    char what; /* as in AstDropFunction */
    AstFuncSignature *of;
    const char *new_name; /* RENAME; NULL: options */
    AstFuncOptions options;
} AstAlterRoutine;
typedef struct AstDropFunction {
    AST_STMT_HEAD;
    char what; /* 'f' FUNCTION, 'p' PROCEDURE, 'a' AGGREGATE, 'r' ROUTINE */
    AstFuncSignature *items;
    int64_t n_items;
    bool if_exists;
    bool cascade;
} AstDropFunction;

typedef struct AstCall {
    AST_STMT_HEAD;
    AstFunc *func;
} AstCall;

typedef struct AstDo {
    AST_STMT_HEAD;
    const char *language; /* NULL = plpgsql */
    Slice body;
    int64_t body_offset; /* as in AstCreateFunction */
} AstDo;

/* What it names is looked for first, as PostgreSQL does; each may be NULL. */
typedef struct AstUnsupported {
    AST_STMT_HEAD;
    const char *what; /* the statement's SQL name: "CREATE FUNCTION" */
    const char *extension, *database, *server, *file, *directory;
    bool if_exists; /* IF EXISTS, IF NOT EXISTS */
    const AstName *table;
    const AstFuncSignature *function;
} AstUnsupported;

/* "SELECT", "AST_FUNC" ...: the kind's name for dumps and internal errors. */
const char *ast_kind_name(AstKind k);

/* The command tag's words: "SELECT", "CREATE TABLE", "BEGIN" ... */
const char *ast_stmt_tag(const AstStmt *s);

#endif
