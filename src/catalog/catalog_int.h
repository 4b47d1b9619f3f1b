/* catalog_int.h - what the files of src/catalog share. */
#ifndef STELE_CATALOG_CATALOG_INT_H
#define STELE_CATALOG_CATALOG_INT_H

#include "base/err.h"
#include "catalog/catalog.h"

/* Room for one more pointer behind the n of a list of the catalog, `items` being the address of the list. 53200 */
Status catalog_room(Catalog *c, void *items, int64_t n, int64_t *cap, Err *e);
/* Copies the text, with its NUL, to *at, which moves behind it; NULL is NULL. Objects of a catalog are one block with
 * their texts at its end. */
char *catalog_put_text(char **at, const char *s);

#endif
