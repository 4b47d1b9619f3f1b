/* bind.h - names to objects: AST -> bound logical plan (sql/plan/plan.h). */
#ifndef STELE_SQL_BIND_BIND_H
#define STELE_SQL_BIND_BIND_H

#include "sql/parse/ast.h"
#include "sql/plan/plan.h"

/* Binds SELECT, VALUES, INSERT, UPDATE, DELETE, MERGE (and the query of EXPLAIN, COPY, CREATE TABLE AS by being given
 * that query). param_types: declared types (T_UNKNOWN = infer); n_params in/out through BoundStmt. Needs the shared
 * lock. */
Status sql_bind(PlanCtx *c, const AstStmt *stmt, int32_t n_params, const Type *param_types, BoundStmt **out);
/* For a result that a client gets: names of objects (regclass and the like) are texts in it (types/oid.h). */
Status sql_bind_client(PlanCtx *c, const AstStmt *stmt, int32_t n_params, const Type *param_types, BoundStmt **out);
/* A view's query, under the view's names of columns. With PlanViews.keep_sources also what it reads. Needs the shared
 * lock. */
Status sql_bind_view(PlanCtx *c, const View *v, BoundStmt **out);
/* What can be changed through a view (which is not materialized). */
typedef struct ViewChanges {
    const char *reason; /* NULL; or why nothing can: as PostgreSQL's DETAIL */
    bool is_own;        /* the reason is this view's, and not one's that it reads */
    const Table *table; /* that changes go to */
    int n;
    int *cols; /* by the view's column: which of the table; -1: none */
    bool some; /* one is the table's: else rows can be deleted, and that is all */
} ViewChanges;
Status sql_view_changes(PlanCtx *c, const View *v, ViewChanges *out);
/* A bare expression with no columns (DEFAULT, SET, EXECUTE arguments), cast to `type` unless T_UNKNOWN. */
Status sql_bind_scalar(PlanCtx *c, const AstExpr *ast, Type type, Expr **out);
/* A part of an index's key, or its predicate, over a row of the table whose columns get the ids[] (n_cols of them, one
 * behind the other). Errors as PostgreSQL's for such expressions, but for volatility. */
Status sql_bind_index_text(PlanCtx *c, const Table *t, const char *sql, bool predicate, ColId *ids, Expr **out);
/* The same of one that is built: its values can be keys (42704, 0A000), and equal ones have equal bytes. */
Status sql_bind_index_expr(PlanCtx *c, const Table *t, const char *sql, bool predicate, ColId *ids, Expr **out);
/* What an unnamed index calls a part that is an expression: "lower", "expr". */
const char *sql_index_column_name(const AstExpr *e);
/* An expression with PlanCtx.variables: no columns of its own, subqueries allowed. `type` as above, with assignment
 * casts. */
Status sql_bind_value(PlanCtx *c, const AstExpr *ast, Type type, Expr **out);
/* A call of a catalog's routine: CALL's, or a SELECT of nothing but a function. args: one per parameter that callers
 * give (routine_is_arg), cast, defaults filled in. Of a procedure's OUT parameters the expressions are bound and never
 * used. */
typedef struct BoundCall {
    const Routine *routine;
    int32_t n_args;
    Expr **args;
    int32_t n_params;
    Type *param_types;
} BoundCall;
/* CREATE AGGREGATE: what the catalog keeps of it, less its text; 42P13, 42804, 42883 and others. */
Status sql_aggregate_signature(PlanCtx *c, const AstCreateFunction *x, Routine *r);
/* Binds what an aggregate of the catalog is made of, for what it depends on. */
Status sql_bind_aggregate(PlanCtx *c, const Routine *r);
/* The statement that made it; NULL (with an error) when that cannot be read. */
const AstAggregate *sql_aggregate_statement(PlanCtx *c, const Routine *r);
/* procedure: 42883 when there is none. Else *out NULL when the name is no routine's of the catalog. */
Status sql_bind_call(PlanCtx *c, const AstFunc *f, bool procedure, int32_t n_params, const Type *param_types,
                     BoundCall **out);
/* 42501 if the name is that of a system relation: before it is changed, or said not to exist. */
Status sql_refuse_system_relation(const char *name, Err *e);

/* Functions that the binder knows without the function table (listed.c), for lists. Types as text. */
typedef struct ListedFunction {
    const char *name, *args, *result, *doc;
} ListedFunction;
const ListedFunction *sql_listed_functions(int64_t *n);

/* bulk_call('p', 'query'): CALL's, and in FROM (LP_VALUES, Plan.bulk). */
bool sql_is_bulk_call(const AstFunc *f);
Status sql_bulk_arguments(const AstFunc *f, int64_t position, Err *e); /* 42883: not two */
/* Its columns in `a`: call, sqlstate, message, line, context, then OUT values. Fails without memory. */
Status sql_bulk_columns(Arena *a, const Routine *r, int32_t *n, const char ***names, Type **types);
/* The type of a routine's parameter, result or variable, also table.column%TYPE. *domain: that it is of, or
 * 0. */
Status sql_routine_type(const Catalog *c, const AstTypeName *t, Type *out, int64_t *domain, Err *e);
/* Of a function's result as a value: that of a record of its columns; text where a call says what they are, and of void
 * functions. The arena is for what is made on the way. */
Status sql_result_type(const Catalog *c, const Routine *r, Arena *a, Type *out, Err *e);
/* Of routines of the same name: in the search path, at which place; -1: it is not meant by the name. */
int sql_routine_place(const Routine *r, const char *schema, const char *name);
bool sql_same_inputs(const Routine *r, const Routine *other);
/* Input parameters of these types are the routine's: overloads differ in them. */
bool sql_same_identity(const Routine *r, int n, const Type *types);
/* The routine that a text names: f, f(int, text). 42883, 42725; without a position. */
Status sql_named_routine(const Catalog *c, Arena *a, Slice name, const Routine **out, Err *e);
/* The routine that is meant, by name, or by name and types of parameters; what: 'f' a function, 'p' a procedure, 'r'
 * either. *out NULL: there is none (missing: how it was looked for, "w(integer)", or the name). 42725 when several
 * are. */
Status sql_find_routine(const Catalog *c, Arena *a, char what, const AstFuncSignature *q, Routine **out,
                        const char **missing, Err *e);
Status sql_no_routine(char what, const AstFuncSignature *q, const char *missing, Err *e); /* 42883 */
/* COLLATE: of a text, by its bytes (42804, 42704). */
Status sql_check_collation(const AstName *collation, Type t, int64_t position, Err *e);
/* The name of a relation in a text, which has it as SQL does: s, public.s, "S". 42602. In the arena. */
Status sql_relation_name(Arena *a, Slice text, AstName *out, Err *e);
/* The key of what is named so (catalog_search). 42602, 3F000. */
Status sql_relation_key(const Catalog *c, Arena *a, Slice text, const char **key, Err *e);
/* A type name with modifiers; c: has enumerated types and domains, or NULL. *domain: NULL, or the domain that the name
 * is of, whose base type is *out. domain NULL: 0A000 for one. */
Status sql_bind_type(const Catalog *c, const AstTypeName *ast, Type *out, const Domain **domain, Err *e);
/* The text of a column's default: its own, or its domain's. NULL: none. */
const char *sql_column_default(const Catalog *c, const Column *col);
/* *e, of the domain's base type, as a value of the domain, which may be gone or 0. */
Status sql_bind_domain(PlanCtx *c, int64_t domain, Expr **e);
/* Whether it is a condition of a domain with that type. */
Status sql_bind_domain_check(PlanCtx *c, const Domain *d, const char *sql);
/* Replaces parameters by values (cast to their types) throughout the statement. Strict calls of those that are NULL
 * become NULL, unless PlanCtx.of_routine. */
Status sql_bind_params(PlanCtx *c, BoundStmt *s, int32_t n, const Value *values);
/* Whether a parameter that is NULL makes a call NULL whose other arguments could fail: then the statement is not the
 * same with the parameter's value put in late. */
bool sql_null_params_matter(const PlanCtx *c, const BoundStmt *s);

#endif
