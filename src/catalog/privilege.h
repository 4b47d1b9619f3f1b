/* privilege.h - owners of objects, and who was granted what on them (acl.h).
 *
 * An entry names its object as a comment does (comment.h); the code that renames the object replaces it. An object
 * without an entry is the bootstrap role's, with the privileges that its kind has by default.
 *
 * Never changed: another one takes its place. One block of memory.
 */
#ifndef STELE_CATALOG_PRIVILEGE_H
#define STELE_CATALOG_PRIVILEGE_H

#include "base/epoch.h"
#include "catalog/acl.h"

typedef enum PrivilegeKind {
    PRIVILEGE_RELATION = 'r', /* a table, view or sequence */
    PRIVILEGE_COLUMN = 'c',   /* `part` of a relation; it has no owner of its own */
    PRIVILEGE_TYPE = 't',     /* an enumerated, composite or range type, or a domain */
    PRIVILEGE_ROUTINE = 'f',  /* by `routine` */
    PRIVILEGE_SCHEMA = 'n',
    PRIVILEGE_DATABASE = 'D', /* this one */
    PRIVILEGE_LANGUAGE = 'l',
    PRIVILEGE_DEFAULT = 'p' /* of what `owner` will make: in the schema `name` ("": in all), of the kind `part` */
} PrivilegeKind;
typedef struct Privileges {
    EpochNode node; /* once retired */
    PrivilegeKind kind;
    int64_t routine;  /* id; 0: another kind */
    const char *name; /* of the object, "" for routines and the database */
    const char *part; /* "" where there is none */
    int64_t owner;
    bool has_acl; /* else what the kind has by default */
    Acl acl;
} Privileges;

Privileges *privileges_new(const Privileges *like, Err *e); /* a copy */
void privileges_free(Privileges *x);
void privileges_retire(EpochDomain *d, Privileges *x); /* as view_retire */

struct Catalog;
Status catalog_add_privileges(struct Catalog *c, Privileges *x, Err *e);
void catalog_remove_privileges(struct Catalog *c, const Privileges *x); /* without freeing it */
/* Of the same object (of defaults: also of the same owner); NULL: there are none. */
Privileges *catalog_privileges(const struct Catalog *c, const Privileges *of);
int64_t catalog_owner(const struct Catalog *c, const Privileges *of);
int64_t catalog_database_owner(const struct Catalog *c);

#endif
