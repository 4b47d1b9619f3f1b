/* catalog_roles.h - the part of the catalog file that has roles, owners and privileges; catalog_file.c includes it. */
#ifndef STELE_DB_CATALOG_ROLES_H
#define STELE_DB_CATALOG_ROLES_H

#include "base/bytes.h"
#include "catalog/catalog.h"

void catalog_put_role(BytesOut *o, const Role *x);
void catalog_put_roles(BytesOut *o, const Catalog *c);
Status catalog_load_roles(Catalog *c, BytesIn *in, const char *path, Err *e);

#endif
