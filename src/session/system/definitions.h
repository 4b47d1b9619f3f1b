/* definitions.h - objects as PostgreSQL's pg_get_*def functions have them: texts of SQL. Texts are in the arena. */
#ifndef STELE_SESSION_SYSTEM_DEFINITIONS_H
#define STELE_SESSION_SYSTEM_DEFINITIONS_H

#include "session/system/objects.h"

/* pretty: without parentheses and schemas that are not needed, as PostgreSQL's functions have it. */
/* A relation's name, with its schema where it would not be found without. NULL without memory; likewise the others. */
const char *definition_class_name(const SysObjects *o, Arena *a, const SysClass *c);
const char *definition_qualified_name(const SysObjects *o, Arena *a, const SysClass *c);
Status definition_constraint(const SysObjects *o, Arena *a, const SysConstraint *k, bool pretty, const char **out);
/* part 0: CREATE INDEX; else the key's part of that number (from 1), NULL: there is none. */
Status definition_index(const SysObjects *o, Arena *a, SysClass *c, int64_t part, bool pretty, const char **out);
Status definition_view(const SysObjects *o, Arena *a, const SysClass *c, const char **out);
/* An expression on the columns of t (NULL: on none), as PostgreSQL writes it. */
Status definition_expr(const SysObjects *o, Arena *a, const Table *t, bool pretty, const char *sql, const char **out);
Status definition_domain_check(const SysObjects *o, Arena *a, const Domain *d, bool pretty, const char *sql,
                               const char **out);
/* A default of something of that type. */
Status definition_default(const SysObjects *o, Arena *a, const struct AstExpr *ast, Type type, const char **out);
Status definition_default_text(const SysObjects *o, Arena *a, const char *sql, Type type, const char **out);
/* Numbers of the columns, from 1, that a condition of t reads; room for all. */
Status definition_check_columns(const SysObjects *o, const Table *t, const char *sql, int64_t *n, int64_t *cols);
/* ---- routines ---- */
typedef enum RoutineText { ROUTINE_ARGUMENTS, ROUTINE_IDENTITY, ROUTINE_RESULT, ROUTINE_DEFINITION } RoutineText;
/* What its statement says beside the routine's form, and the body as pg_proc has it. NULL: no memory. */
const AstFuncOptions *definition_routine_options(Arena *a, const Routine *f, const char **body);
/* Its settings: name=value, or as lines of a CREATE statement. */
typedef struct RoutineConfig {
    int64_t n;
    const char **items;
} RoutineConfig;
Status definition_routine_config(const SysObjects *o, Arena *a, const AstFuncOptions *x, bool quoted,
                                 RoutineConfig *out);
/* RETURN .. or BEGIN ATOMIC .. END; NULL: it is a string. */
const char *definition_routine_sql_body(Arena *a, const Routine *f);
Status definition_routine(const SysObjects *o, Arena *a, const Routine *f, RoutineText what, const char **out);
/* The default of parameter n (from 1); NULL: it has none. */
Status definition_argument_default(const SysObjects *o, Arena *a, const Routine *f, int64_t n, const char **out);
Status definition_routine_body(const SysObjects *o, Arena *a, const Routine *f, const char **out);
Status definition_result_oid(const SysObjects *o, Arena *a, const Routine *f, int64_t *out);
/* f(integer, text): the types callers give; with_types false: f. */
/* Without its schema where it is visible. */
const char *definition_routine_name(Arena *a, const Routine *f, bool visible);
const char *definition_signature(const SysObjects *o, Arena *a, const Routine *f);

/* catalogs.c, catalogs_more.c */
int64_t system_table_bytes(const Table *t);
/* A function of PostgreSQL's that there is here, or that its catalogs name. */
typedef struct BuiltinProc {
    int64_t oid;
    const char *name;
    char kind;
    bool strict, returns_set;
    char volatility;
    int64_t result;
    const char *args; /* an oidvector */
} BuiltinProc;
const BuiltinProc *builtin_procs(int64_t *n);
const BuiltinProc *builtin_proc(int64_t oid); /* NULL: none */
/* The types of its arguments as format_type() has them, with `between` between them. */
const char *builtin_proc_arguments(const SysObjects *o, Arena *a, const BuiltinProc *f, const char *between);

#endif
