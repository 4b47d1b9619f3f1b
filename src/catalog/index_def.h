/* index_def.h - what CREATE INDEX says of an index.
 *
 * A definition enforces nothing and finds nothing: a unique index is built as a key of its table (storage/table.h:
 * KeyConstraint, ExprIndex) under the same name, all others are not built. Every index that CREATE INDEX has made has a
 * definition; one that a constraint has made has one only where there is more to say than the table's key does
 * (INCLUDE, storage parameters, CLUSTER).
 *
 * Names tables and columns, like a foreign key, so that it survives rebuilds of its table; the code that renames these
 * replaces it. One of a table that is gone, or whose key is gone, means nothing (session/ddl/index_defs.c takes it
 * out).
 *
 * Never changed: another one takes its place. One block of memory.
 */
#ifndef STELE_CATALOG_INDEX_DEF_H
#define STELE_CATALOG_INDEX_DEF_H

#include "base/epoch.h"
#include "storage/table.h"

enum { INDEX_COLUMNS_MAX = 32 }; /* PostgreSQL's */

typedef struct IndexPart {
    char *text;                /* SQL: a column's name, quoted where it must be, f(...), or (expression) */
    char *opclass, *collation; /* NULL: the type's, the column's */
    bool desc, nulls_first;
    int32_t statistics; /* ALTER COLUMN SET STATISTICS; -1: none */
} IndexPart;
typedef struct IndexDef {
    EpochNode node; /* once retired */
    char *name, *table, *method;
    bool unique; /* a key of the table has the same name, which enforces it; other indexes are not built */
    bool nulls_not_distinct;
    bool clustered; /* CLUSTER has used it last */
    int n_parts, n_include, n_options;
    IndexPart *parts;
    char **include; /* names of columns */
    char **options; /* storage parameters: name=value */
    char *where;    /* SQL of the predicate; NULL: all rows */
} IndexDef;

IndexDef *index_def_new(const IndexDef *like, Err *e); /* a copy */
void index_def_free(IndexDef *x);
void index_def_retire(EpochDomain *d, IndexDef *x); /* as view_retire */
/* The definition of the table's index number k (table_indexes) as far as the table has it, in the arena. */
Status index_def_of_table(Arena *a, const Table *t, int k, IndexDef *out);
/* A table's index says as much. */
bool index_def_is_plain(const IndexDef *x);
/* A column's name as parts have it. NULL: no memory. */
char *index_part_of_column(Arena *a, const char *column);
const char *table_index_name(const Table *t, int k);     /* of its index number k */
int table_index_named(const Table *t, const char *name); /* -1: it has none */

struct Catalog;
Status catalog_add_index_def(struct Catalog *c, IndexDef *x, Err *e);
void catalog_remove_index_def(struct Catalog *c, const IndexDef *x);                       /* without freeing it */
IndexDef *catalog_index_def(const struct Catalog *c, const char *table, const char *name); /* NULL: there is none */
/* An index of some table has the name, built or not; *table: which (NULL: not wanted). */
bool catalog_index_exists(const struct Catalog *c, Slice name, Table **table);

#endif
