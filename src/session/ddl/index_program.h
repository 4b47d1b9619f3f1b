/* index_program.h - what computes the keys of a table's unique indexes on expressions (storage/exprindex.h). */
#ifndef STELE_SESSION_DDL_INDEX_PROGRAM_H
#define STELE_SESSION_DDL_INDEX_PROGRAM_H

#include "session/core/session.h"

/* Gives each index its program and enters the rows that the table has. 0A000, 23505, and what expressions fail with.
 * The caller has the table alone. */
Status index_programs(const Catalog *c, Table *t, Err *e);
/* 42P17 for an expression, or a predicate, of an index of the table that is about to be made when its value may depend
 * on more than the row: on settings, the time, names. Indexes that there are stay what they are: their programs know no
 * session. An expression that does not bind is left to index_programs(). The text is as stored_text.h has it. */
Status index_check_immutable(Session *s, Arena *a, const Table *t, const char *sql, bool predicate);
/* The same of what a generated column is computed by: 42P17; 0A000 when it calls routines of the catalog. */
Status generated_check(Session *s, Arena *a, const Table *t, const char *sql);
/* Of a database that has just been opened. */
Status index_programs_of_all(const Catalog *c, Err *e);

#endif
