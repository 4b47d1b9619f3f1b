/* names.h - which names have got another meaning, so that what was made from the others can be kept.
 *
 * Plans, bound statements and compiled procedures are made from names: of tables, views, routines, types. A change of
 * the catalog notes its version at the names that it concerns (catalog_changed). While something is made that is to be
 * kept, a NameReads records the names that are looked up, found or not, and a NameDeps is kept beside it. What was made
 * is good as long as none of its names has changed since (name_deps_hold), whatever else has been defined or dropped.
 * Names that were not found count, so that a new overload, or a table in the place of a view, is noticed.
 *
 *   foreign keys         concern both tables that they name
 *   ALTER TYPE, and domains that go or change, functions of clients: concern everything; columns and values have such
 *                        types without naming them
 *
 *   schemas              concern everything; which of them a name is looked for in is kept beside the names (path)
 *
 * Names share NAME_SLOTS numbers by their hash: two names with one number cost a needless compilation, nothing else.
 *
 * Thread rules: catalogs are changed under the database lock held alone; all else under any lock, or in a version (all
 * versions of a catalog share one CatalogNames). A NameReads belongs to its thread.
 */
#ifndef STELE_CATALOG_NAMES_H
#define STELE_CATALOG_NAMES_H

#include "catalog/catalog.h"

enum { NAME_SLOTS = 1 << 14 };

/* By slot the version of the catalog that a name last changed with; `all`: that everything changed with. */
typedef struct CatalogNames {
    _Atomic int64_t all;
    _Atomic int64_t at[NAME_SLOTS];
} CatalogNames;
CatalogNames *catalog_names_new(Err *e);  /* NULL: 53200 */
void catalog_names_free(CatalogNames *x); /* NULL is fine */

/* Another version of the catalog, in which these names (NULL: none) and the object of that id (0: none) are not what
 * they were. Under the lock held alone, after the change. */
void catalog_changed(Catalog *c, const char *name, const char *other, int64_t id);
void catalog_changed_all(Catalog *c); /* ... in which nothing is */

/* What the thread looks up between name_reads_begin and name_reads_end, which nest: the outer one gets what an inner
 * one has. The struct lies on the stack of who calls both. */
typedef struct NameReads {
    struct NameReads *outer;
    int64_t definitions; /* catalog_definitions, before the first look */
    uint64_t path;       /* SearchPath.hash of what names were looked for by; 0: by none */
    uint64_t bits[NAME_SLOTS / 64];
} NameReads;
void name_reads_begin(NameReads *r, const Catalog *c);
void name_reads_resume(NameReads *r); /* after its end: more of the same; NULL is fine, here and in `end` */
void name_reads_end(NameReads *r);
/* Nothing is recorded from here to `continue`, which gets what this gave: for what is made on the way and kept with
 * names of its own. */
NameReads *name_reads_pause(void);
void name_reads_continue(NameReads *r);
/* A name, or an object by its id, has been looked up. Does nothing where nothing is recorded. */
void name_read(Slice name);
void name_read_id(int64_t id);
void name_read_path(uint64_t hash); /* ... by a session's search path */

typedef struct NameDeps {
    _Atomic int64_t definitions; /* under which this was found to hold last; 0: never */
    uint64_t path;               /* it is good under this search path; 0: under all */
    int32_t n;
    const uint16_t *slots;
} NameDeps;
/* What was recorded, after name_reads_end. 53200: false. */
bool name_deps_keep(const NameReads *r, Arena *a, NameDeps *out);
/* No name of it has changed between the definitions that it was made from and those of c, which may be older, and the
 * thread looks for names as it did. */
bool name_deps_hold(NameDeps *d, const Catalog *c);
/* The name may be one of them; false: it is none. */
bool name_deps_may_have(const NameDeps *d, Slice name);
/* What is kept is used for something that is made now, which then depends on the same names. */
void name_deps_read(const NameDeps *d);

#endif
