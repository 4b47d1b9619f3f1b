/* named_type.h - types that a database defines, by their names.
 *
 * Enumerated, composite and range types are found beside the catalog's objects (types/enums.h and others), domains are
 * objects of it, and every table and view has a type of its rows that is called as it is.
 */
#ifndef STELE_CATALOG_NAMED_TYPE_H
#define STELE_CATALOG_NAMED_TYPE_H

#include "catalog/catalog.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/range.h"

/* One of these; all NULL: none. */
typedef struct NamedType {
    const EnumType *enumerated;
    const Domain *domain;
    const CompositeType *composite;
    const RangeType *range; /* with its multirange */
    const Table *table;
    const View *view;
    bool multi; /* the name is that of the multirange */
} NamedType;

static inline bool named_type_found(const NamedType *x) {
    return x->enumerated || x->domain || x->composite || x->range || x->table || x->view;
}
/* ... and it is not the type of a relation's rows. */
static inline bool named_type_defined(const NamedType *x) {
    return x->enumerated || x->domain || x->composite || x->range;
}
static inline const char *named_type_key(const NamedType *x) {
    return x->enumerated  ? x->enumerated->name
           : x->domain    ? x->domain->name
           : x->composite ? x->composite->name
           : x->range     ? (x->multi ? x->range->multi : x->range->name)
           : x->table     ? x->table->name
                          : x->view->name;
}
NamedType catalog_type_of_key(const Catalog *c, Slice key);
/* schema NULL: by the search path, behind PostgreSQL's own types unless it names pg_catalog first. A name may be a key.
 */
NamedType catalog_type(const Catalog *c, const char *schema, const char *name);
/* The range type that a constructor is of, or (*multi) whose multirange it is of; NULL: there is none. *key: what it is
 * called, which is the type's. */
const RangeType *catalog_range_constructor(const Catalog *c, const char *schema, const char *name, bool *multi);
/* As the thread shows it: "s.t", or "t" where s is one of the search path; in quotes where they are needed. */
const char *named_type_shown(Arena *a, const NamedType *x);

#endif
