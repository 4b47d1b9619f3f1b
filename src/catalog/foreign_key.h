/* foreign_key.h - what a foreign key means for its tables. */
#ifndef STELE_CATALOG_FOREIGN_KEY_H
#define STELE_CATALOG_FOREIGN_KEY_H

#include "catalog/catalog.h"

/* The key of `parent` that f refers to, whose columns may stand in another order (-1: none). */
int foreign_parent_key(const Table *parent, const ForeignKey *f);

#endif
