/* pg_access.c - statements on roles, privileges and owners: from PostgreSQL's tree to Stele's. See pg_convert.c. */
#include "sql/parse/pg_convert_int.h"

#include "nodes/pg_list.h"
#include "nodes/value.h"

static bool conv_role(Conv *c, RoleSpec *r, AstRoleSpec *out) {
    static const char words[] = {[ROLESPEC_CSTRING] = 'n',
                                 [ROLESPEC_CURRENT_ROLE] = 'c',
                                 [ROLESPEC_CURRENT_USER] = 'u',
                                 [ROLESPEC_SESSION_USER] = 's',
                                 [ROLESPEC_PUBLIC] = 'p'};
    out->what = words[r->roletype];
    out->location = pos_of(r->location);
    return copy_str(c, r->rolename, &out->name);
}
static bool conv_opt_role(Conv *c, RoleSpec *r, const AstRoleSpec **out) {
    AstRoleSpec *x = NULL;
    *out = NULL;
    if (!r) return true;
    if (!(x = arena_new_of(c->a, AstRoleSpec))) return false;
    *out = x;
    return conv_role(c, r, x);
}
static bool conv_roles(Conv *c, List *l, AstRoleSpecs *out) {
    out->n = list_length(l);
    if (!(out->items = new_array(c, out->n, (int64_t)sizeof(AstRoleSpec)))) return false;
    for (int64_t i = 0; i < out->n; i++)
        if (!conv_role(c, list_nth(l, (int)i), &out->items[i])) return false;
    return true;
}
const AstRoleSpec *conv_new_owner(Conv *c, RoleSpec *r) {
    const AstRoleSpec *x;
    return conv_opt_role(c, r, &x) ? x : NULL;
}

/* ---- roles ---- */

static bool conv_role_option(Conv *c, DefElem *d, AstRoleOption *x) {
    x->location = pos_of(d->location);
    if (!copy_str(c, d->defname, &x->name)) return false;
    if (!d->arg) return true;
    switch (nodeTag(d->arg)) {
    case T_Boolean: x->on = boolVal(d->arg); return true;
    case T_Integer: x->number = intVal(d->arg); return true;
    case T_String: return copy_str(c, strVal(d->arg), &x->text);
    case T_List: return conv_roles(c, (List *)d->arg, &x->roles);
    default: return unexpected(c, d->arg) != NULL;
    }
}
static AstRole *new_role(Conv *c, char action, List *options) {
    AstRole *x = NEW(AstRole, AST_ROLE, -1);
    if (!x) return NULL;
    x->action = action;
    x->n_options = list_length(options);
    if (!(x->options = new_array(c, x->n_options, (int64_t)sizeof(AstRoleOption)))) return NULL;
    for (int64_t i = 0; i < x->n_options; i++)
        if (!conv_role_option(c, list_nth(options, (int)i), &x->options[i])) return NULL;
    return x;
}
static AstStmt *conv_create_role(Conv *c, CreateRoleStmt *s) {
    AstRole *x = new_role(c, 'c', s->options);
    if (!x || !(x->roles.items = new_array(c, 1, (int64_t)sizeof(AstRoleSpec)))) return NULL;
    x->word = s->stmt_type == ROLESTMT_ROLE ? 'r' : s->stmt_type == ROLESTMT_USER ? 'u' : 'g';
    x->roles.n = 1;
    x->roles.items[0].what = 'n';
    return copy_str(c, s->role, &x->roles.items[0].name) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_alter_role(Conv *c, AlterRoleStmt *s) {
    AstRole *x = new_role(c, 'a', s->options);
    if (!x || !(x->roles.items = new_array(c, 1, (int64_t)sizeof(AstRoleSpec)))) return NULL;
    x->roles.n = 1;
    for (int64_t i = 0; i < x->n_options; i++)
        if (strcmp(x->options[i].name, "rolemembers") == 0) x->members = s->action;
    return conv_role(c, s->role, &x->roles.items[0]) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_drop_role(Conv *c, DropRoleStmt *s) {
    AstRole *x = new_role(c, 'd', NIL);
    if (!x) return NULL;
    x->if_exists = s->missing_ok;
    return conv_roles(c, s->roles, &x->roles) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_role_set(Conv *c, RoleSpec *role, char *database, VariableSetStmt *set, bool is_database) {
    AstRoleSet *x = NEW(AstRoleSet, AST_ROLE_SET, -1);
    if (!x) return NULL;
    x->is_database = is_database;
    if (!conv_opt_role(c, role, &x->role) || !copy_str(c, database, &x->database)) return NULL;
    return (x->set = (AstSet *)conv_set(c, set)) ? (AstStmt *)x : NULL;
}

/* ---- privileges ---- */

static bool conv_privileges(Conv *c, List *l, AstPrivilege **out, int64_t *n) {
    *n = list_length(l);
    if (!(*out = new_array(c, *n, (int64_t)sizeof(AstPrivilege)))) return false;
    for (int64_t i = 0; i < *n; i++) {
        AccessPriv *p = list_nth(l, (int)i);
        AstPrivilege *x = &(*out)[i];
        if (!copy_str(c, p->priv_name, &x->name) || !conv_names(c, p->cols, &x->cols, &x->n_cols)) return false;
    }
    return true;
}
static AstStmt *conv_grant_role(Conv *c, GrantRoleStmt *s) {
    AstGrantRole *x = NEW(AstGrantRole, AST_GRANT_ROLE, -1);
    if (!x) return NULL;
    x->grantees.is_grant = s->is_grant;
    x->grantees.option = s->admin_opt;
    x->grantees.cascade = s->behavior == DROP_CASCADE;
    return conv_privileges(c, s->granted_roles, &x->roles, &x->n_roles) &&
                   conv_roles(c, s->grantee_roles, &x->grantees.to) &&
                   conv_opt_role(c, s->grantor, &x->grantees.grantor)
               ? (AstStmt *)x
               : NULL;
}
/* 0: what cannot be granted here. */
static char grant_object(ObjectType t) {
    switch (t) {
    case OBJECT_TABLE: return 'r';
    case OBJECT_SEQUENCE: return 'S';
    case OBJECT_SCHEMA: return 'n';
    case OBJECT_DATABASE: return 'D';
    case OBJECT_FUNCTION: return 'f';
    case OBJECT_PROCEDURE: return 'p';
    case OBJECT_ROUTINE: return 'o';
    case OBJECT_TYPE: return 'T';
    case OBJECT_LANGUAGE: return 'l';
    case OBJECT_DOMAIN: return 'd';
    default: return 0;
    }
}
static bool conv_grant_objects(Conv *c, List *l, AstGrant *x) {
    x->n_names = list_length(l);
    const int64_t n = x->n_names;
    const bool routines = x->target == 'o' && strchr("fpo", x->object);
    if (routines && !(x->routines = new_array(c, n, (int64_t)sizeof(AstFuncSignature)))) return false;
    if (!routines && !(x->names = new_array(c, n, (int64_t)sizeof(AstName)))) return false;
    for (int64_t i = 0; i < n; i++) {
        Node *o = list_nth(l, (int)i);
        const bool ok = routines           ? conv_signature(c, (ObjectWithArgs *)o, &x->routines[i])
                        : IsA(o, RangeVar) ? conv_rangevar(c, (RangeVar *)o, &x->names[i])
                                           : object_names(c, o, &x->names[i]);
        if (!ok) return false;
        if (!routines && !x->names[i].name) return unexpected(c, o) != NULL;
    }
    return true;
}
static AstStmt *conv_grant(Conv *c, GrantStmt *s) {
    AstGrant *x = NEW(AstGrant, AST_GRANT, -1);
    if (!x) return NULL;
    if (!(x->object = grant_object(s->objtype)))
        return unsupported_on(c, s->is_grant ? "GRANT ON" : "REVOKE ON", s->objtype);
    x->target = s->targtype == ACL_TARGET_OBJECT ? 'o' : s->targtype == ACL_TARGET_ALL_IN_SCHEMA ? 'a' : 'd';
    x->grantees.is_grant = s->is_grant;
    x->grantees.option = s->grant_option;
    x->grantees.cascade = s->behavior == DROP_CASCADE;
    return conv_privileges(c, s->privileges, &x->privileges, &x->n_privileges) &&
                   conv_roles(c, s->grantees, &x->grantees.to) && conv_opt_role(c, s->grantor, &x->grantees.grantor) &&
                   conv_grant_objects(c, s->objects, x)
               ? (AstStmt *)x
               : NULL;
}
static AstStmt *conv_defaults(Conv *c, AlterDefaultPrivilegesStmt *s) {
    AstStmt *st = conv_grant(c, s->action);
    if (!st || st->kind != AST_GRANT) return st;
    AstGrant *x = (AstGrant *)st;
    for (int i = 0; i < list_length(s->options); i++) {
        DefElem *d = list_nth(s->options, i);
        const bool schemas = strcmp(d->defname, "schemas") == 0;
        if (schemas ? x->in_schemas != NULL : x->for_roles.items != NULL)
            return err_at(c->e, pos_of(d->location), ERR_SYNTAX, "conflicting or redundant options"), NULL;
        if (schemas ? !conv_names(c, (List *)d->arg, &x->in_schemas, &x->n_in_schemas)
                    : !conv_roles(c, (List *)d->arg, &x->for_roles))
            return NULL;
    }
    return st;
}

/* ---- owners ---- */

AstStmt *conv_table_owner(Conv *c, AlterTableStmt *s) {
    AstOwner *x = NEW(AstOwner, AST_OWNER, s->relation->location);
    if (!x || !conv_rangevar(c, s->relation, &x->name)) return NULL;
    x->object = object_of(s->objtype);
    x->if_exists = s->missing_ok;
    return conv_opt_role(c, ((AlterTableCmd *)linitial(s->cmds))->newowner, &x->owner) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_owner(Conv *c, AlterOwnerStmt *s) {
    AstOwner *x = NEW(AstOwner, AST_OWNER, -1);
    if (!x || !conv_opt_role(c, s->newowner, &x->owner)) return NULL;
    x->object = object_of(s->objectType);
    switch (s->objectType) {
    case OBJECT_FUNCTION:
    case OBJECT_PROCEDURE:
    case OBJECT_AGGREGATE:
    case OBJECT_ROUTINE:
        x->object = AST_OBJ_ROUTINE;
        x->what = routine_kind(s->objectType);
        if (!(x->routine = arena_new_of(c->a, AstFuncSignature))) return NULL;
        return conv_signature(c, (ObjectWithArgs *)s->object, x->routine) ? (AstStmt *)x : NULL;
    case OBJECT_DATABASE: x->object = AST_OBJ_DATABASE; break;
    case OBJECT_TYPE:
    case OBJECT_DOMAIN:
    case OBJECT_SCHEMA: break;
    default: return unsupported_on(c, "ALTER", s->objectType);
    }
    return object_names(c, s->object, &x->name) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_drop_owned(Conv *c, DropOwnedStmt *s) {
    AstOwned *x = NEW(AstOwned, AST_OWNED, -1);
    if (!x) return NULL;
    x->drop = true;
    x->cascade = s->behavior == DROP_CASCADE;
    return conv_roles(c, s->roles, &x->roles) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_reassign_owned(Conv *c, ReassignOwnedStmt *s) {
    AstOwned *x = NEW(AstOwned, AST_OWNED, -1);
    if (!x || !conv_roles(c, s->roles, &x->roles)) return NULL;
    return conv_opt_role(c, s->newrole, &x->to) ? (AstStmt *)x : NULL;
}

/* ---- row level security ---- */

static char policy_command(const char *name) {
    static const char *const names[] = {"all", "select", "insert", "update", "delete"};
    for (int i = 0; name && i < 5; i++)
        if (strcmp(names[i], name) == 0) return "*rawd"[i];
    return 0;
}
static bool conv_policy_parts(Conv *c, List *roles, Node *qual, Node *check, AstPolicy *x) {
    const int from = x->location > 0 ? (int)x->location - 1 : 0;
    if (!conv_roles(c, roles, &x->roles) || !conv_opt_expr(c, qual, &x->using_expr) ||
        !conv_opt_expr(c, check, &x->check_expr))
        return false;
    return (!qual || copy_clause(c, from, "using", &x->using_source)) &&
           (!check || copy_clause(c, from, "check", &x->check_source));
}
static AstStmt *conv_create_policy(Conv *c, CreatePolicyStmt *s) {
    AstPolicy *x = NEW(AstPolicy, AST_POLICY, s->table->location);
    if (!x || !conv_rangevar(c, s->table, &x->table) || !copy_str(c, s->policy_name, &x->name)) return NULL;
    x->action = 'c';
    x->command = policy_command(s->cmd_name);
    x->restrictive = !s->permissive;
    return conv_policy_parts(c, s->roles, s->qual, s->with_check, x) ? (AstStmt *)x : NULL;
}
static AstStmt *conv_alter_policy(Conv *c, AlterPolicyStmt *s) {
    AstPolicy *x = NEW(AstPolicy, AST_POLICY, s->table->location);
    if (!x || !conv_rangevar(c, s->table, &x->table) || !copy_str(c, s->policy_name, &x->name)) return NULL;
    x->action = 'a';
    return conv_policy_parts(c, s->roles, s->qual, s->with_check, x) ? (AstStmt *)x : NULL;
}
AstStmt *conv_rename_policy(Conv *c, RenameStmt *s) {
    AstPolicy *x = NEW(AstPolicy, AST_POLICY, s->relation->location);
    if (!x || !conv_rangevar(c, s->relation, &x->table)) return NULL;
    x->action = 'r';
    x->if_exists = s->missing_ok;
    return copy_str(c, s->subname, &x->name) && copy_str(c, s->newname, &x->new_name) ? (AstStmt *)x : NULL;
}
/* The grammar takes one: (table, policy). */
AstStmt *conv_drop_policy(Conv *c, DropStmt *s) {
    AstPolicy *x = NEW(AstPolicy, AST_POLICY, -1);
    List *l = linitial(s->objects);
    if (!x || !copy_str(c, strVal(llast(l)), &x->name)) return NULL;
    x->action = 'd';
    x->if_exists = s->missing_ok;
    return conv_qualified(c, list_truncate(l, list_length(l) - 1), -1, &x->table) ? (AstStmt *)x : NULL;
}
char row_security_command(const AlterTableStmt *s) {
    if (list_length(s->cmds) != 1) return 0;
    switch (((AlterTableCmd *)linitial(s->cmds))->subtype) {
    case AT_EnableRowSecurity: return 'e';
    case AT_DisableRowSecurity: return 'x';
    case AT_ForceRowSecurity: return 'f';
    case AT_NoForceRowSecurity: return 'n';
    default: return 0;
    }
}
AstStmt *conv_row_security(Conv *c, AlterTableStmt *s) {
    AstPolicy *x = NEW(AstPolicy, AST_POLICY, s->relation->location);
    if (!x) return NULL;
    x->action = row_security_command(s);
    x->if_exists = s->missing_ok;
    return conv_rangevar(c, s->relation, &x->table) ? (AstStmt *)x : NULL;
}

bool is_access_stmt(Node *n) {
    switch (nodeTag(n)) {
    case T_CreateRoleStmt:
    case T_AlterRoleStmt:
    case T_DropRoleStmt:
    case T_AlterRoleSetStmt:
    case T_AlterDatabaseSetStmt:
    case T_GrantRoleStmt:
    case T_GrantStmt:
    case T_AlterDefaultPrivilegesStmt:
    case T_AlterOwnerStmt:
    case T_DropOwnedStmt:
    case T_CreatePolicyStmt:
    case T_AlterPolicyStmt:
    case T_ReassignOwnedStmt: return true;
    default: return false;
    }
}
AstStmt *conv_access(Conv *c, Node *n) {
    switch (nodeTag(n)) {
    case T_CreateRoleStmt: return conv_create_role(c, (CreateRoleStmt *)n);
    case T_AlterRoleStmt: return conv_alter_role(c, (AlterRoleStmt *)n);
    case T_DropRoleStmt: return conv_drop_role(c, (DropRoleStmt *)n);
    case T_AlterRoleSetStmt: {
        AlterRoleSetStmt *s = (AlterRoleSetStmt *)n;
        return conv_role_set(c, s->role, s->database, s->setstmt, false);
    }
    case T_AlterDatabaseSetStmt: {
        AlterDatabaseSetStmt *s = (AlterDatabaseSetStmt *)n;
        return conv_role_set(c, NULL, s->dbname, s->setstmt, true);
    }
    case T_GrantRoleStmt: return conv_grant_role(c, (GrantRoleStmt *)n);
    case T_GrantStmt: return conv_grant(c, (GrantStmt *)n);
    case T_AlterDefaultPrivilegesStmt: return conv_defaults(c, (AlterDefaultPrivilegesStmt *)n);
    case T_AlterOwnerStmt: return conv_owner(c, (AlterOwnerStmt *)n);
    case T_CreatePolicyStmt: return conv_create_policy(c, (CreatePolicyStmt *)n);
    case T_AlterPolicyStmt: return conv_alter_policy(c, (AlterPolicyStmt *)n);
    case T_DropOwnedStmt: return conv_drop_owned(c, (DropOwnedStmt *)n);
    case T_ReassignOwnedStmt: return conv_reassign_owned(c, (ReassignOwnedStmt *)n);
    default: return unexpected(c, n);
    }
}
