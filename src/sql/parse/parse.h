/* parse.h - SQL text to AST.
 *
 * Thread rules: any number of threads may parse at once, each into its own arena.
 */
#ifndef STELE_SQL_PARSE_PARSE_H
#define STELE_SQL_PARSE_PARSE_H

#include "base/mem.h"
#include "sql/parse/ast.h"

/* Longest statement text accepted, in bytes. */
#define SQL_TEXT_MAX (INT64_C(256) << 20)

/* Parses zero or more statements separated by semicolons. *stmts_out is an array of *n_out
 * statements in the arena (n 0: blank text). Source slices point into `text`, which
 * must outlive the tree. Positions count from the beginning of `text`.
 *
 * Errors: 42601 syntax error, with position; 22021 NUL byte or invalid UTF-8; 54001 nested too deeply for the grammar
 * or the thread's stack, or text too long; 0A000 a construct Stele has no tree for; 53200/53400 memory. On error the
 * arena keeps whatever was allocated; nothing else changes. */
Status sql_parse(Arena *a, Slice text, AstStmt ***stmts_out, int64_t *n_out, Err *e);

/* As sql_parse for one scalar expression (a column default kept in the catalog as text). Locations in the
 * tree are SQL_EXPR_SHIFT too high (the text is parsed behind "SELECT "); error positions are right. */
enum { SQL_EXPR_SHIFT = 7 };
Status sql_parse_expr(Arena *a, Slice text, AstExpr **out, Err *e);

/* The name of a routine, with or without the types of its parameters: f, f(int, text), "F"(). Error positions mean
 * nothing. */
Status sql_parse_signature(Arena *a, Slice text, AstFuncSignature **out, Err *e);

/* Refuses text that costs the grammar's scanner more than time in proportion to its length: long runs of operator signs
 * outside strings, quoted names and comments, and of comments. */
Status sql_runs_check(Slice text, Err *e);

/* Length of the first statement of `text` with its semicolon, and of whatever blanks, comments and lone semicolons
 * stand before it. Lexical only: the whole length when no semicolon ends it. */
int64_t sql_statement_end(Slice text);
/* Its first word; empty when it begins with something else. */
Slice sql_first_word(Slice text);

/* The end of the column's name that begins at byte `at`: a, t.a, s.t.a. */
int64_t sql_column_end(Slice text, int64_t at);

/* The end of the string literal that begins at byte `at`, all its parts (on several lines; U&'..' UESCAPE '!'); -1: no
 * string begins there. */
/* A CREATE FUNCTION or PROCEDURE with another name, which is written as it is. NULL: no memory. */
char *sql_create_named(Arena *a, Slice sql, const char *name);
int64_t sql_string_end(Slice text, int64_t at);

/* Clauses of CREATE FUNCTION behind its parameters (routine_text.c). */
typedef enum RoutineClause {
    RC_NONE,
    RC_OTHER,
    RC_RETURNS,
    RC_VOLATILITY,
    RC_LEAKPROOF,
    RC_STRICT,
    RC_SECURITY,
    RC_PARALLEL,
    RC_COST,
    RC_ROWS,
    RC_SET,
    RC_AS,
    RC_BODY /* RETURN, BEGIN ATOMIC */
} RoutineClause;
typedef struct RoutineEdit {
    RoutineClause kind;
    const char *setting; /* of RC_SET: that one; NULL: all */
    const char *text;    /* what stands for such clauses from now on; NULL: nothing */
} RoutineEdit;
/* A CREATE FUNCTION with other clauses. NULL: no memory. */
char *sql_routine_edit(Arena *a, Slice sql, int64_t n, const RoutineEdit *edits);
/* RETURN .. or BEGIN ATOMIC .. END; empty: it has no such body. */
Slice sql_routine_body(Arena *a, Slice sql);

bool sql_is_change(const AstStmt *s);  /* INSERT, UPDATE, DELETE, MERGE */
bool sql_is_planned(const AstStmt *s); /* one of these, or a query */
/* One of these, or a query with one of them in WITH. */
bool sql_changes_data(const AstStmt *s);
/* A member of WITH changes data. */
bool sql_with_changes(const AstWith *w);

/* The tree as text (for tests, fuzzing, debugging); NULL when memory runs out. */
char *ast_dump(Arena *a, const AstStmt *s);

#endif
