/* catalog_changes.h - what makes one catalog of another: objects that have come, have gone, or are defined otherwise.
 */
#ifndef STELE_DB_CATALOG_CHANGES_H
#define STELE_DB_CATALOG_CHANGES_H

#include "catalog/catalog.h"

typedef struct CatalogChange {
    const char *what; /* "create table", "alter view", "drop role" */
    const char *key;  /* of the object (base/key.h) */
    bool in_schema;
} CatalogChange;
typedef VEC(CatalogChange) CatalogChanges;
/* In the arena; keys are those of the catalogs. Comments, privileges, policies and types that are not domains are not
 * looked at. 53200 */
Status catalog_changes(const Catalog *before, const Catalog *after, Arena *a, CatalogChanges *out, Err *e);

#endif
