/* catalog_memory.h - a catalog as a whole: what it needs before it has objects, and how all of it is freed. For its
 * owner: a database, or who reads a catalog's file without one. */
#ifndef STELE_CATALOG_CATALOG_MEMORY_H
#define STELE_CATALOG_CATALOG_MEMORY_H

#include "catalog/catalog.h"

/* An empty one, all zero before, with spaces of types of its own, charged to the account. 53200: it is only good for
 * catalog_release. */
Status catalog_init(Catalog *c, MemAccount *account, Err *e);
/* Tables, views and all other objects. Nothing reads them any more. */
void catalog_free_objects(Catalog *c);
/* What catalog_init has made, behind that. */
void catalog_release(Catalog *c);

#endif
