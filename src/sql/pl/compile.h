/* compile.h - PL/pgSQL procedures to programs that run many calls at a time (program/proc.h), with their access sets
 * [GPUTx §3; DESIGN section 4].
 *
 * All procedures are compiled together: which columns are static, how columns are grouped and by which key a group is
 * named depends on all of them. They are compiled anew when one is registered, changed or dropped, or a table is
 * changed.
 *
 * What is compiled: scalar variables and records, assignment, IF, CASE, LOOP, WHILE, FOR over numbers, arrays and
 * queries, EXIT, CONTINUE, RETURN, RAISE, ASSERT, blocks with EXCEPTION, SELECT INTO [STRICT], PERFORM, CALL, INSERT
 * (ON CONFLICT too), UPDATE, DELETE with RETURNING INTO, FOUND; calls of other routines in expressions, but not for the
 * rows of a query, and not of themselves; GET DIAGNOSTICS of ROW_COUNT and of what a handler caught; queries over
 * tables by equality with columns, or over all of a small one (inner joins; left joins by a unique key), with
 * aggregates, GROUP BY, DISTINCT, ORDER BY, LIMIT and OFFSET; scalar subqueries, EXISTS, IN, ANY and ALL. Everything
 * else runs one call at a time, and Proc.reason says why.
 */
#ifndef STELE_SQL_PL_COMPILE_H
#define STELE_SQL_PL_COMPILE_H

#include "catalog/catalog.h"
#include "sql/pl/pl.h"
#include "sql/plan/plan.h"
#include "program/proc.h"

/* out: n procs, in `a`, in the order given; functions and the catalog's tables are only read. A procedure that cannot
 * be compiled has a reason and no programs, and the others are compiled as if it were not there. Fails only without
 * memory. Hold the tables' locks; a Proc is valid for their versions. */
Status pl_compile(const Catalog *catalog, const SessionInfo *session, int32_t n, const PlFunction *const *functions,
                  Arena *a, Proc **out, Err *e);

#endif
