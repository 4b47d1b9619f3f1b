/* system_relation.h - relations that the database shows of itself: PostgreSQL's catalogs, and Stele's own.
 *
 * One table declares all of them (system_relations.def, system_views.def): schema, name, columns, and either what fills
 * the rows (session/system) or the query that it is a view of. They are no objects of a catalog: names in pg_catalog
 * are found before the database's own (as PostgreSQL's search_path has it), those of information_schema by their schema
 * only. A new one is an entry, and its function.
 */
#ifndef STELE_CATALOG_SYSTEM_RELATION_H
#define STELE_CATALOG_SYSTEM_RELATION_H

#include "base/mem.h"
#include "types/type.h"

typedef struct SystemColumn {
    const char *name;
    Type type;
    bool not_null;
} SystemColumn;

typedef struct SystemRelation {
    int64_t oid;
    char kind; /* PostgreSQL's relkind: r, v */
    const char *schema, *name;
    const char *columns; /* "name type!, .." */
    const char *sql;     /* the query of a view; NULL: rows are made by session/system */
} SystemRelation;

int system_relations(const SystemRelation **all); /* how many; pg_catalog's and information_schema's */
/* Its number among all, -1 if there is none. schema NULL: pg_catalog. */
int system_relation_find(const char *schema, const char *name);
/* In `a`; NULL without memory. *n: how many. */
SystemColumn *system_relation_columns(const SystemRelation *r, Arena *a, int32_t *n);
bool system_schema(const char *name); /* pg_catalog, information_schema */

#endif
