/* similar_names.h - errors of relations that are not there, with the one that may have been meant. PostgreSQL has no
 * such hint for tables. */
#ifndef STELE_CATALOG_SIMILAR_NAMES_H
#define STELE_CATALOG_SIMILAR_NAMES_H

#include "base/similar.h"
#include "catalog/catalog.h"

/* 42P01 at the position, 0: none. A key (base/key.h) is shown with its schema. */
Status catalog_no_relation(const Catalog *c, const char *name, int64_t position, Err *e);
/* The hint alone, of an error that is set. */
void catalog_hint_relation(const Catalog *c, const char *name, Err *e);
/* The routines' names. */
void catalog_offer_routines(const Catalog *c, Similar *s);

#endif
