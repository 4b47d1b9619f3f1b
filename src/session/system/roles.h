/* roles.h - roles, owners and privileges as catalogs and functions show them. */
#ifndef STELE_SESSION_SYSTEM_ROLES_H
#define STELE_SESSION_SYSTEM_ROLES_H

#include "session/system/system_int.h"

/* What catalog/privilege.h calls an object. */
Privileges privileges_of_class(const SysClass *c);
Privileges privileges_of_type(const SysObjects *o, const SysType *t);
static inline Privileges privileges_of_routine_id(int64_t routine) {
    return (Privileges){.kind = PRIVILEGE_ROUTINE, .routine = routine, .name = "", .part = ""};
}
/* Its owner; and its grants as column col of the row has them (NULL: those by default, or no memory). */
int64_t system_owner(const SysObjects *o, const Privileges *of);
const Str *system_acl(SystemRows *r, int32_t col, const Privileges *of);
/* A function on roles and privileges: has_table_privilege and its like, pg_has_role, acldefault, makeaclitem. *known
 * false: it is none. */
Status system_privilege_call(Session *s, const SysObjects *o, const char *name, int n, const Value *args, Arena *a,
                             Value *out, bool *known, Err *e);

#endif
