/* acl.h - who has which privileges on an object: a list of grants, as PostgreSQL's aclitem[].
 *
 * An Acl is an array in the memory of its maker; changes make another one in an arena. The rules are those of
 * PostgreSQL's utils/adt/acl.c: a grant is of one grantor to one grantee, grant options make chains that end at the
 * owner, and revoking one that others depend on takes these with it (CASCADE) or is refused.
 */
#ifndef STELE_CATALOG_ACL_H
#define STELE_CATALOG_ACL_H

#include "base/err.h"
#include "base/mem.h"

enum { /* by number in PostgreSQL's order, whose letters are ACL_LETTERS */
       ACL_INSERT = 1 << 0,
       ACL_SELECT = 1 << 1,
       ACL_UPDATE = 1 << 2,
       ACL_DELETE = 1 << 3,
       ACL_TRUNCATE = 1 << 4,
       ACL_REFERENCES = 1 << 5,
       ACL_TRIGGER = 1 << 6,
       ACL_EXECUTE = 1 << 7,
       ACL_USAGE = 1 << 8,
       ACL_CREATE = 1 << 9,
       ACL_TEMP = 1 << 10,
       ACL_CONNECT = 1 << 11,
       ACL_ALL = (1 << 12) - 1
};
#define ACL_LETTERS "arwdDxtXUCTc"
typedef struct AclItem {
    int64_t grantee, grantor; /* roles; grantee 0: PUBLIC */
    uint32_t rights, options; /* ACL_*; which of them with grant option */
} AclItem;
typedef struct Acl {
    int n;
    AclItem *items;
} Acl;

/* INSERT, ...: of one right; NULL: there is none. */
const char *acl_right_name(uint32_t right);
uint32_t acl_right(const char *name); /* of a name in any case; 0: there is none */
/* What can be granted on an object, by its kind: r table, c column, S sequence, n schema, D database, f routine,
 * T type. */
uint32_t acl_rights_of(char kind);
/* What holds where nothing was granted or revoked yet. */
Status acl_default(char kind, int64_t owner, Arena *a, Acl *out);

struct Catalog;
/* A grant is added, or rights and grant options of one are taken away. 0LP01: a grant option back to its grantor;
 * 2BP01: others depend on it (not with cascade). */
typedef struct AclChange {
    bool add;
    AclItem item;
    bool cascade;
} AclChange;
Status acl_change(const struct Catalog *c, const Acl *old, const AclChange *x, int64_t owner, Arena *a, Acl *out,
                  Err *e);
/* The object gets another owner: grants to and by the old one are the new one's. */
Status acl_new_owner(const Acl *old, int64_t from, int64_t to, Arena *a, Acl *out);
/* Those of `mask` that the role has: its own, PUBLIC's, those of roles that it has. With grant options in the upper
 * half (acl_options). `any`: one of them is enough. */
uint64_t acl_mask(const struct Catalog *c, const Acl *acl, int64_t role, int64_t owner, uint64_t mask, bool any);
static inline uint64_t acl_options(uint32_t rights) { return (uint64_t)rights << 32; }
/* For whom a role's grant counts, and which of the rights it can grant. */
void acl_best_grantor(const struct Catalog *c, const Acl *acl, int64_t role, int64_t owner, uint32_t rights,
                      int64_t *grantor, uint32_t *options);
/* joe=r*w/stele. NULL: no memory. */
const char *acl_item_text(const struct Catalog *c, const AclItem *x, Arena *a);
/* The other way. 22P02, 42704; a grantor that is not given is the bootstrap role. */
Status acl_item_parse(const struct Catalog *c, const char *text, Arena *a, AclItem *out, Err *e);
bool acl_equal(const Acl *x, const Acl *y); /* the same grants, in any order */

#endif
