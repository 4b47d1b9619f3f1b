/* access.h - roles, owners and privileges: who a session is, statements on them, and how they follow their objects.
 *
 * All of it is kept and shown, as catalogs and functions have it; no statement is refused for want of a privilege, but
 * for GRANT and REVOKE, whose grantor must have what he grants. Nor do policies take rows away. */
#ifndef STELE_SESSION_DDL_ACCESS_H
#define STELE_SESSION_DDL_ACCESS_H

#include "session/core/session.h"
#include "sql/parse/ast_access.h"

/* ---- roles.c ---- */
Status role_statement(Session *s, Statement *st, const AstRole *x);
Status role_set_statement(Session *s, Statement *st, const AstRoleSet *x);
Status role_grant_statement(Session *s, Statement *st, const AstGrantRole *x);
Status role_rename(Session *s, Statement *st, const AstRename *x);
/* The role that statements run as (SET ROLE), and that of the session (SET SESSION AUTHORIZATION); when it is gone the
 * bootstrap role. */
int64_t session_role(const Session *s);
int64_t session_login_role(const Session *s);
Status role_of_spec(Session *s, const AstRoleSpec *spec, int64_t *out); /* 42704 */
const char *role_name(const Catalog *c, int64_t id);                    /* "" of one that is gone */
/* Before SET ROLE and SET SESSION AUTHORIZATION: 22023. */
Status session_may_be_role(Session *s, const char *name, Err *e);
/* PASSWORD as it is kept: RFC 5802's verifier of a password, or a verifier as it is. NULL: no memory. */
const char *password_verifier(Arena *a, const char *password, Err *e);

/* ---- grant.c ---- */
Status grant_statement(Session *s, Statement *st, const AstGrant *x);

/* ---- owners.c ---- */
Status owner_statement(Session *s, Statement *st, const AstOwner *x);
Status owner_change(Session *s, Arena *a, const Privileges *of, int64_t to); /* also of what goes with it */
Status owned_statement(Session *s, Statement *st, const AstOwned *x);
/* The statement has made objects: their owner is the session's role, with its default privileges. */
Status owners_of_new(Session *s, Arena *a, const CatalogUndo *mark);
/* An object of these kinds, or (part not NULL) a part of one, has another name; a routine another definition. */
Status privileges_rename(Session *s, const char *kinds, const char *name, const char *part, const char *new_name);
Status privileges_of_routine(Session *s, int64_t from, int64_t to);
Status privileges_sweep(Session *s); /* those of what is gone go */

/* ---- policies.c ---- */
Status policy_statement(Session *s, Statement *st, const AstPolicy *x);
/* The table, or a column of it, is about to get another name. */
Status row_security_rename(Session *s, const char *table, const char *new_table);
Status row_security_rename_column(Session *s, Arena *a, const Table *t, int col, const char *new_name);
Status policy_drop(Session *s, Arena *a, const char *table, const char *name);
bool policy_uses_column(Session *s, Arena *a, const Table *t, const Policy *p, int col);
Status row_security_sweep(Session *s); /* that of tables that are gone goes */
/* Lines about policies that are for the role, behind *detail. */
Status row_security_of_role(const Catalog *c, Arena *a, int64_t role, const char **detail);

/* In the place of what the catalog has of the object. */
Status privileges_put(Session *s, const Privileges *x);
/* What the catalog has of the object, or what holds without an entry. */
Status privileges_get(const Catalog *c, Arena *a, const Privileges *of, Privileges *out);
/* acl_rights_of's letter of an object. */
char privileges_acl_kind(const Catalog *c, const Privileges *x);
/* "table t", as PostgreSQL describes it. NULL: no memory. */
const char *privileges_object(Session *s, Arena *a, const Privileges *x);
/* By grantee and grantor, as default privileges are kept and given. */
void privileges_sort(Acl *acl);
/* Kinds of what default privileges are of: "relations". */
const char *privileges_default_word(char kind);

#endif
