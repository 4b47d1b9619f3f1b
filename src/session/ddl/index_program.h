/* index_program.h - what computes the keys of a table's unique indexes on expressions (storage/exprindex.h). */
#ifndef STELE_SESSION_DDL_INDEX_PROGRAM_H
#define STELE_SESSION_DDL_INDEX_PROGRAM_H

#include "catalog/catalog.h"

/* Gives each index its program and enters the rows that the table has. 42P17 for what is not immutable, 0A000, 23505,
 * and what expressions fail with. The caller has the table alone. */
Status index_programs(const Catalog *c, Table *t, Err *e);
/* Of a database that has just been opened. */
Status index_programs_of_all(const Catalog *c, Err *e);

#endif
