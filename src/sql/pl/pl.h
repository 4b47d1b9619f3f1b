/* pl.h - PL/pgSQL: the text of a procedure to a tree of statements.
 *
 * pl_parse.c reads the body by recursive descent and makes the tree below in one arena; PostgreSQL's grammar
 * (sql_parse) reads the expressions and SQL statements in it. libpg_query's own reader of bodies gives JSON that has
 * lost the blocks that variables are declared in, has no record types (r.f := 1 and FOR r IN cursor are errors to it),
 * and reports errors without SQLSTATE and position; hence not that one.
 *
 * Types of parameters come from CREATE FUNCTION or PROCEDURE, those of variables from their declarations; %TYPE and
 * %ROWTYPE are looked up in the catalog when the routine is made and again when the catalog has changed. Expressions
 * and SQL statements keep the names of variables: the binder resolves such a name to the parameter $k of that
 * expression, k = place in PlNames.refs (PlanCtx.variables). A name that could be a column or a variable is 42702, as
 * in PostgreSQL.
 *
 * Two users: session/pl/pl_run.h runs a call statement by statement, by the same machinery as any SQL: that is the
 * reference. sql/pl/compile.h makes a program of it that runs many calls at a time.
 *
 * Depth: as deep as the stack allows (base/stack.h).
 */
#ifndef STELE_SQL_PL_PL_H
#define STELE_SQL_PL_PL_H

#include "catalog/catalog.h"
#include "sql/parse/ast.h"
#include "sql/plan/plan.h"

enum { PL_MAX_PARAMS = 100 };

typedef enum PlMode { PL_IN, PL_OUT, PL_INOUT } PlMode;

/* A variable: scalar (type), record (no type before it is assigned) or row of known columns. Numbered over the whole
 * routine; parameters come first, then `found`. Inner blocks may reuse a name: `block` says where it is visible. */
typedef struct PlVar {
    const char *name;
    uint8_t kind;   /* PlVarKind */
    Type type;      /* PLV_SCALAR */
    int64_t domain; /* ... that its values are of; 0: none */
    bool constant, not_null;
    struct PlExpr *init; /* NULL: NULL */
    int32_t line;
    const char *row_table; /* PLV_ROW: %ROWTYPE of */
    int32_t n_fields;      /* PLV_ROW: its columns; PLV_RECORD: 0 */
    const char **field_names;
    Type *field_types;
    int64_t *field_domains;  /* that their values are of; 0: none */
    int32_t block;           /* number of the block that declares it; 0: parameter or special */
    struct PlCursor *cursor; /* a bound cursor variable (its own type is refcursor: text) */
} PlVar;
/* A second name of a variable: DECLARE x ALIAS FOR $1, and parameters are $n besides. */
typedef struct PlAlias {
    const char *name;
    int32_t var, block;
} PlAlias;
typedef struct PlCursor {
    struct PlExpr *query;
    int32_t n_args, block; /* arguments: variables first_arg .. of that block */
    int32_t first_arg;
} PlCursor;
typedef enum PlVarKind { PLV_SCALAR, PLV_ROW, PLV_RECORD } PlVarKind;

/* A variable, or a field of a record variable, that a text mentions or that a statement assigns. */
typedef struct PlRef {
    int32_t var;
    const char *field; /* NULL: the whole variable */
} PlRef;

typedef struct PlExpr {
    const char *text;    /* an expression, or a SQL statement (PlStmt.query) */
    const AstExpr *ast;  /* expression; NULL for statements */
    const AstStmt *stmt; /* statement */
    int32_t block;       /* where it stands: which names it sees */
    int32_t limit;       /* ... of the variables declared so far: numbers below */
    int32_t line;
    int32_t number; /* over the whole routine, from 0 */
} PlExpr;

typedef enum PlStmtKind {
    PLS_BLOCK,  /* n_inits variables to initialise, body, handlers */
    PLS_ASSIGN, /* target (subscripts: of a part of an array or of jsonb) := expr */
    PLS_IF,     /* arms: cond, body; body = ELSE */
    PLS_CASE,   /* expr (NULL: searched) goes to case_var, whose type it decides; arms: cond (over case_var: case_var IN
                   (values)); body = ELSE,   has_else; none true: 20000 */
    PLS_LOOP,
    PLS_WHILE,        /* expr = condition */
    PLS_FOR,          /* target := lo .. hi [by], reverse */
    PLS_FOR_QUERY,    /* targets from query or dynamic text */
    PLS_FOREACH,      /* target in array expr */
    PLS_EXIT,         /* or CONTINUE: is_exit; label or NULL; expr = WHEN or NULL */
    PLS_RETURN,       /* expr or NULL */
    PLS_RETURN_NEXT,  /* expr or NULL (OUT parameters) */
    PLS_RETURN_QUERY, /* query, or dynamic text */
    PLS_RAISE,        /* level, condition or sqlstate, format, args, options; nothing at all: raise again */
    PLS_ASSERT,       /* expr, message */
    PLS_SQL,          /* query; into: targets, strict */
    PLS_DYNAMIC,      /* EXECUTE expr USING args INTO targets */
    PLS_PERFORM,      /* query, sets FOUND */
    PLS_CALL,         /* CALL p(...): query; OUT arguments go to targets */
    PLS_DIAGNOSTICS,  /* GET [STACKED] DIAGNOSTICS: targets, items */
    PLS_OPEN,
    PLS_FETCH,
    PLS_CLOSE, /* cursors */
    PLS_COMMIT,
    PLS_ROLLBACK,
    PLS_NULL
} PlStmtKind;

typedef struct PlStmt PlStmt;
typedef struct PlBody {
    int32_t n;
    PlStmt **stmts;
} PlBody;
typedef struct PlArm {
    PlExpr *cond;
    int32_t n_values;
    PlExpr **values;
    PlBody body;
} PlArm;
typedef struct PlHandler {
    int32_t n_states;
    const char **states; /* SQLSTATEs, "XX000" class codes end in 000; "others" */
    PlBody body;
} PlHandler;
typedef enum PlRaiseLevel { PLR_DEBUG, PLR_LOG, PLR_INFO, PLR_NOTICE, PLR_WARNING, PLR_EXCEPTION } PlRaiseLevel;
typedef struct PlOption {
    const char *name; /* "errcode", "message", "detail", "hint", ..., or the item of GET DIAGNOSTICS */
    PlExpr *expr;
} PlOption;

/* The name that an option of RAISE gives, or that of an item of GET STACKED DIAGNOSTICS. */
bool pl_error_field(const char *name, ErrField *out);

/* A block: what it declares and catches. */
typedef struct PlScope {
    int32_t number;
    int32_t n_inits;
    int32_t *inits; /* variables that it sets on entry, in order */
    int32_t n_handlers;
    PlHandler *handlers;
    int32_t state_var, message_var; /* with handlers: SQLSTATE and SQLERRM in them */
} PlScope;
/* IF, CASE: the first arm whose condition is true is run. */
typedef struct PlChoice {
    int32_t n;
    PlArm *items;
    bool has_else;
    int32_t case_var; /* PLS_CASE */
} PlChoice;
typedef struct PlRaise {
    uint8_t level; /* PlRaiseLevel */
    const char *sqlstate, *format;
    const char *condition; /* RAISE condition: its name, which is the message when none is given */
} PlRaise;
typedef struct PlCursorUse {
    int32_t var;       /* of the cursor, -1 none */
    bool is_move;      /* MOVE */
    int32_t direction; /* PLS_FETCH: 0 next, 1 prior, 2 first, 3 last, 4 absolute, 5 relative, 6 forward all, 7
                          backward all, 8 backward n, 9 forward n; expr = n */
} PlCursorUse;

/* A subscript of a target: [upper], or (is_slice) [lower:upper], whose bounds may be NULL. */
typedef struct PlSubscript {
    PlExpr *lower, *upper;
    bool is_slice;
} PlSubscript;

struct PlStmt {
    uint8_t kind; /* PlStmtKind */
    int32_t line; /* within the body, 1-based */
    const char *label;
    int32_t loop; /* loops and blocks: a number; EXIT, CONTINUE: of what they leave or continue */
    bool is_exit; /* PLS_EXIT */
    /* what it computes and runs */
    PlExpr *expr, *expr2, *expr3; /* FOR: lo, hi, by */
    PlExpr *query;                /* a SQL statement */
    int32_t n_args;
    PlExpr **args;
    int32_t n_options;
    PlOption *options; /* RAISE, GET DIAGNOSTICS */
    bool stacked;      /* GET STACKED DIAGNOSTICS */
    /* where the result goes */
    bool has_into, strict, is_row; /* is_row: targets[0] is one record or row variable */
    int32_t n_targets;
    PlRef *targets;
    int32_t n_subscripts;
    PlSubscript *subscripts;
    /* statements in it */
    PlBody body;
    bool reverse;         /* PLS_FOR */
    int32_t implicit_var; /* PLS_FOR: the variable it declares */
    PlScope scope;        /* PLS_BLOCK */
    PlChoice arms;        /* PLS_IF, PLS_CASE */
    PlRaise raise;        /* PLS_RAISE */
    PlCursorUse cursor;   /* PLS_OPEN, PLS_FETCH, PLS_CLOSE, PLS_FOR_QUERY over a cursor */
};

typedef struct PlFunction {
    const char *name;
    bool is_procedure, returns_set, returns_void, strict, returns_record; /* returns_record: more than one column */
    bool has_outs;    /* OUT or INOUT parameters, or RETURNS TABLE: they are the result */
    int32_t n_params; /* all: IN, OUT, INOUT and TABLE columns */
    const char **param_names;
    uint8_t *param_modes; /* PlMode */
    Type *param_types;
    const AstExpr **param_defaults; /* NULL = none */
    int64_t ret_domain;             /* that the result is of; 0: none */
    Type ret;                       /* scalar result, element of a set */
    int32_t found;                  /* number of variable FOUND */
    int32_t n_vars;
    PlVar *vars;
    int32_t n_aliases;
    PlAlias *aliases;
    int32_t n_blocks, n_loops, n_exprs;
    int32_t *block_parent;     /* by block number: the enclosing block, -1. Block 0 holds parameters and is named as the
                                  routine is */
    const char **block_labels; /* NULL: none */
    uint8_t conflict;          /* PlConflict */
    bool keeps_transaction;    /* SET or SECURITY DEFINER: no COMMIT in it */
    bool is_sql;               /* LANGUAGE sql: results of statements are dropped */
    int32_t result_var;        /* LANGUAGE sql: the scalar result, else -1 */
    PlStmt *body;              /* PLS_BLOCK */
    const char *source;        /* text between the dollars */
    const char *signature;     /* p(integer,text), for messages; its name is the key */
    const AstSet **sets;       /* in force in its calls; search_path is not among them */
    int64_t n_sets;
    bool has_path; /* names in it are looked for by a path of its own: */
    const SearchPath *path;
} PlFunction;
typedef enum PlConflict { PLC_ERROR, PLC_VARIABLE, PLC_COLUMN } PlConflict; /* #variable_conflict */

/* The routine of a CREATE statement, of DO, of the catalog (its text is parsed again). `c` is for %TYPE and %ROWTYPE.
 * Everything lives in the arena; the tree keeps pointers into the statement's AST and text. Errors: 42601 with the
 * position in the statement's text, 42704, 42P01, 42P13 ... */
Status pl_of_create(Arena *a, const Catalog *c, const AstCreateFunction *x, PlFunction **out, Err *e);
Status pl_of_do(Arena *a, const Catalog *c, const AstDo *x, PlFunction **out, Err *e);
Status pl_of_routine(Arena *a, const Catalog *c, const Routine *r, PlFunction **out, Err *e);
/* A SQL statement that touches one row at most, as a procedure of `sig` (parameters $1 .. of any type; then OUT "rows",
 * and one OUT for each of its results): names in it are columns. The text stays the caller's. */
Status pl_of_statement(Arena *a, const Catalog *c, const Routine *sig, Slice text, PlFunction **out, Err *e);
/* The definition by CREATE FUNCTION, as the catalog keeps it; arrays in the arena. 42P13 when it is no definition. */
Status pl_signature(Arena *a, const Catalog *c, const AstCreateFunction *x, Routine *out, Err *e);
/* "p(integer,text)": PostgreSQL's way to name a routine in messages. */
char *pl_signature_text(Arena *a, const Routine *r);
bool pl_may_write(const PlFunction *f);

/* Variable visible in block `block` under `name` ("$1": a parameter); -1 none. Innermost first. */
int32_t pl_find_var(const PlFunction *f, int32_t block, const char *name);
/* What a name of one to three parts means there: x, label.x, r.field, label.r.field (schema, table NULL when absent).
 * limit: numbers of variables below it are visible, -1 all. */
bool pl_resolve(const PlFunction *f, int32_t block, int32_t limit, const char *schema, const char *table,
                const char *name, PlRef *out);

/* Binding one expression or statement of a routine: set PlanCtx.variables = &names.hook. */
typedef struct PlNames {
    PlanVariables hook; /* made by pl_names_init */
    const PlFunction *f;
    int32_t block, limit;
    Arena *arena;
    VEC(PlRef) refs; /* parameter $k is refs.items[k - 1] */
    /* Type of a record variable's field as it is now; false: it has none of that name (42703). *assigned false: the
     * record has no shape yet (55000). */
    bool (*field_type)(void *ctx, int32_t var, const char *field, Type *out, bool *assigned);
    /* Type of a scalar variable that its declaration leaves open (case_var); NULL: PlVar.type. */
    Type (*var_type)(void *ctx, int32_t var);
    void *ctx;
} PlNames;
void pl_names_init(PlNames *n, Arena *a, const PlFunction *f, const PlExpr *x);

const char *pl_stmt_name(
    PlStmtKind k); /* "IF", "FOR loop": PostgreSQL's words for messages, and for EXPLAIN PROCEDURE */
const char *pl_stmt_words(const PlStmt *s); /* in contexts of errors: "CONTINUE", "FOR over cursor" */
/* SQLSTATE of a condition's name ("division_by_zero"); NULL unknown. A second one of the same name: *other. */
const char *pl_condition(const char *name, const char **other);

#endif
