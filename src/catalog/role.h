/* role.h - roles: who may own and be granted something.
 *
 * Roles are kept and shown: nothing asks them before it does something. Other entries of the catalog (privilege.h)
 * refer to them by number, so that a new name changes nothing there.
 *
 * PostgreSQL's own roles, and the one that every database begins with (ROLE_BOOTSTRAP), are in no catalog until they
 * are changed: a catalog's role of the same number then takes their place.
 *
 * Never changed: another one takes its place. One block of memory.
 */
#ifndef STELE_CATALOG_ROLE_H
#define STELE_CATALOG_ROLE_H

#include "base/epoch.h"
#include "base/err.h"
#include "base/mem.h"

#define ROLE_BOOTSTRAP_NAME "stele"
enum {
    ROLE_BOOTSTRAP = 10,
    ROLE_DATABASE_OWNER = 6171,
    ROLE_READ_ALL_DATA = 6181,
    ROLE_WRITE_ALL_DATA = 6182,
    ROLE_FIRST = 16384 /* of those that are created */
};
enum {
    ROLE_SUPER = 1,
    ROLE_INHERIT = 2,
    ROLE_CREATE_ROLE = 4,
    ROLE_CREATE_DB = 8,
    ROLE_LOGIN = 16,
    ROLE_REPLICATION = 32,
    ROLE_BYPASS_RLS = 64,
    ROLE_ALL = 127
};

typedef struct RoleMember {
    int64_t member, grantor;
    bool admin;
} RoleMember;
/* Settings that a session would begin with, were there such: ALTER ROLE SET. */
typedef struct RoleConfig {
    int64_t database; /* its oid; 0: in all */
    int n;
    char **texts; /* name=value */
} RoleConfig;
typedef struct Role {
    EpochNode node; /* once retired */
    int64_t id;     /* its oid; 0: not one, but what is set for all roles */
    const char *name;
    uint32_t flags;
    int64_t connections; /* -1: any number */
    bool expires;
    int64_t valid_until;  /* timestamptz */
    const char *password; /* a verifier (SCRAM-SHA-256), never the password; NULL: none */
    int n_members;
    RoleMember *members; /* of this role */
    int n_configs;
    RoleConfig *configs;
} Role;

Role *role_new(const Role *like, Err *e); /* a copy */
void role_free(Role *x);
void role_retire(EpochDomain *d, Role *x); /* as view_retire */

struct Catalog;
Status catalog_add_role(struct Catalog *c, Role *x, Err *e);         /* the first time the role gets its number */
void catalog_remove_role(struct Catalog *c, const Role *x);          /* without freeing it */
const Role *catalog_role(const struct Catalog *c, const char *name); /* NULL: there is none; likewise the next */
const Role *catalog_role_by_id(const struct Catalog *c, int64_t id);
/* All, by number from 0, in the order of their oids; NULL: no more. */
const Role *catalog_role_nth(const struct Catalog *c, int64_t i);
/* What stands for the number in the catalog itself, and can be taken out of it; NULL: nothing does. */
Role *catalog_own_role(const struct Catalog *c, int64_t id);
/* The member has the role: directly or by others, or it is a superuser. `inherits`: only by roles with INHERIT. */
bool role_is_member(const struct Catalog *c, int64_t member, int64_t role, bool inherits);
bool role_is_member_nosuper(const struct Catalog *c, int64_t member, int64_t role);
/* It may grant the role: by ADMIN OPTION, or as a superuser. */
bool role_is_admin(const struct Catalog *c, int64_t member, int64_t role);
bool role_is_super(const struct Catalog *c, int64_t id);
/* Its name as an aclitem has it, in quotes where it needs them; the number of one that is gone. NULL: no memory. */
const char *role_shown(const struct Catalog *c, int64_t id, Arena *a);

#endif
