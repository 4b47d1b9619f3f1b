/* compile.h - PL/pgSQL procedures to programs that run many calls at a time (program/proc.h), with their access sets
 * [GPUTx §3; DESIGN section 4].
 *
 * Procedures that may run in one bulk are compiled together: which columns are static, how columns are grouped and by
 * which key a group is named depends on all of them, and is what a PlRegistry keeps. With it others are compiled later
 * by themselves, as long as they fit: they write no column that none of those writes, insert and delete rows only where
 * some of those do, and know what names rows there. On tables that none of those uses they may do anything.
 *
 * What is compiled: scalar variables and records, assignment, IF, CASE, LOOP, WHILE, FOR over numbers, arrays and
 * queries, EXIT, CONTINUE, RETURN, RAISE, ASSERT, blocks with EXCEPTION, SELECT INTO [STRICT], PERFORM, CALL, INSERT
 * (ON CONFLICT too), UPDATE, also of keys, DELETE with RETURNING INTO, foreign keys with their actions, FOUND; calls of
 * other routines in expressions, but not for the rows of a query, and not of themselves; GET DIAGNOSTICS of ROW_COUNT
 * and of what a handler caught; queries over tables by equality with columns, or over all of a small one (inner joins;
 * left joins by a unique key), with aggregates, GROUP BY, DISTINCT, ORDER BY, LIMIT and OFFSET; scalar subqueries,
 * EXISTS, IN, ANY and ALL. Everything else runs one call at a time, and Proc.reason says why.
 */
#ifndef STELE_SQL_PL_COMPILE_H
#define STELE_SQL_PL_COMPILE_H

#include "catalog/catalog.h"
#include "sql/pl/pl.h"
#include "sql/plan/plan.h"
#include "program/proc.h"

typedef struct Registry PlRegistry;
typedef struct PlSources {
    const Catalog *catalog;
    const SessionInfo *session;
    const PlRegistry *kept; /* of procedures that stay as they are, NULL: none; none of its tables has changed */
    int32_t n;
    const PlFunction *const *functions;
    struct NameReads *reads; /* by function: gets the names that are looked up for it; NULL: they are not recorded */
} PlSources;
typedef struct PlCompiled {
    Proc *procs;                /* n, in the order given */
    const PlRegistry *registry; /* in the arena: of these, with what they use of `kept` */
    int64_t misfit;             /* the id of a table on which they do not fit those of `kept`: there are no procs; 0 */
} PlCompiled;
/* In `a`; functions and the catalog's tables are only read, `kept` is needed during the call alone. A procedure that
 * cannot be compiled has a reason and no programs, and the others are compiled as if it were not there. Fails only
 * without memory. Hold the tables' locks; a Proc is valid for their definitions. */
Status pl_compile(const PlSources *x, Arena *a, PlCompiled *out, Err *e);
/* Procedures of `one` and of `other` (NULL: none), which was compiled with it as `kept`, as a registry for later ones,
 * in `a`. NULL: 53200. */
const PlRegistry *pl_registry_join(const PlRegistry *one, const PlRegistry *other, Arena *a);
void pl_registry_read(const PlRegistry *r);                  /* name_read of all its tables */
bool pl_registry_has(const PlRegistry *r, int64_t table_id); /* some procedure uses the table; r may be NULL */
bool pl_registry_grows(const PlRegistry *one, const PlRegistry *other); /* `other` has tables that `one` has not */
/* What all procedures need of the table's image; NULL: none uses it. Borrowed. */
const ImageNeed *pl_registry_need(const PlRegistry *r, int64_t table_id);
/* Some procedure finds or orders rows by a column of the table, other than by its unique keys. r may be NULL */
bool pl_registry_looks_up(const PlRegistry *r, int64_t table_id, int32_t col);

#endif
