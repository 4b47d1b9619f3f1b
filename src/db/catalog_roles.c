/* catalog_roles.c - roles, owners and privileges in the catalog file: the last part of format 22. */
#include "db/catalog_roles.h"

void catalog_put_role(BytesOut *o, const Role *x) {
    bytes_put_i64(o, x->id);
    bytes_put_text(o, x->name);
    bytes_put_i64(o, x->flags);
    bytes_put_i64(o, x->connections);
    bytes_put_bool(o, x->expires);
    bytes_put_i64(o, x->valid_until);
    bytes_put_text(o, x->password);
    bytes_put_i64(o, x->n_members);
    for (int i = 0; i < x->n_members; i++) {
        bytes_put_i64(o, x->members[i].member);
        bytes_put_i64(o, x->members[i].grantor);
        bytes_put_bool(o, x->members[i].admin);
    }
    bytes_put_i64(o, x->n_configs);
    for (int i = 0; i < x->n_configs; i++) {
        bytes_put_i64(o, x->configs[i].database);
        bytes_put_i64(o, x->configs[i].n);
        for (int k = 0; k < x->configs[i].n; k++) bytes_put_text(o, x->configs[i].texts[k]);
    }
}
static void put_privileges(BytesOut *o, const Privileges *x) {
    const char kind = (char)x->kind;
    bytes_put(o, &kind, 1);
    bytes_put_i64(o, x->routine);
    bytes_put_text(o, x->name);
    bytes_put_text(o, x->part);
    bytes_put_i64(o, x->owner);
    bytes_put_bool(o, x->has_acl);
    bytes_put_i64(o, x->acl.n);
    for (int i = 0; i < x->acl.n; i++) {
        bytes_put_i64(o, x->acl.items[i].grantee);
        bytes_put_i64(o, x->acl.items[i].grantor);
        bytes_put_i64(o, x->acl.items[i].rights);
        bytes_put_i64(o, x->acl.items[i].options);
    }
}
void catalog_put_roles(BytesOut *o, const Catalog *c) {
    bytes_put_i64(o, c->n_roles);
    for (int64_t i = 0; i < c->n_roles; i++) catalog_put_role(o, c->roles[i]);
    bytes_put_i64(o, c->n_privileges);
    for (int64_t i = 0; i < c->n_privileges; i++) put_privileges(o, c->privileges[i]);
}

static Status load_configs(BytesIn *in, Role *x) {
    x->n_configs = (int)bytes_get_count(in, MIN_OF(in->len / 16, INT32_MAX));
    if (!(x->configs = arena_array(in->arena, RoleConfig, x->n_configs + 1))) return ST_ERROR;
    for (int i = 0; i < x->n_configs && !in->failed; i++) {
        RoleConfig *f = &x->configs[i];
        f->database = bytes_get_i64(in);
        f->n = (int)bytes_get_count(in, MIN_OF(in->len / 8, INT32_MAX));
        if (!(f->texts = arena_array(in->arena, char *, f->n + 1))) return ST_ERROR;
        for (int k = 0; k < f->n && !in->failed; k++) {
            f->texts[k] = bytes_get_text(in, false);
            in->failed = in->failed || !strchr(f->texts[k], '=');
        }
    }
    return ST_OK;
}
static Status load_role(Catalog *c, BytesIn *in, const char *path, Err *e) {
    Role x = {.id = bytes_get_i64(in)};
    x.name = bytes_get_text(in, false);
    x.flags = (uint32_t)bytes_get_count(in, ROLE_ALL);
    x.connections = bytes_get_i64(in);
    x.expires = bytes_get_bool(in);
    x.valid_until = bytes_get_i64(in);
    x.password = bytes_get_text(in, true);
    x.n_members = (int)bytes_get_count(in, MIN_OF(in->len / 17, INT32_MAX));
    if (!(x.members = arena_array(in->arena, RoleMember, x.n_members + 1))) return ST_ERROR;
    for (int i = 0; i < x.n_members && !in->failed; i++) {
        x.members[i].member = bytes_get_i64(in);
        x.members[i].grantor = bytes_get_i64(in);
        x.members[i].admin = bytes_get_bool(in);
    }
    TRY(load_configs(in, &x));
    if (in->failed || x.id < 0 || catalog_own_role(c, x.id) || (x.id == 0) != (*x.name == 0))
        return err_corrupted(e, path, in->at, "role is invalid");
    Role *copy = role_new(&x, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_role(c, copy, e) == ST_OK) return ST_OK;
    role_free(copy);
    return ST_ERROR;
}
static Status load_privileges(Catalog *c, BytesIn *in, const char *path, Err *e) {
    char kind = 0;
    bytes_get(in, &kind, 1);
    Privileges x = {.kind = (PrivilegeKind)kind, .routine = bytes_get_i64(in)};
    x.name = bytes_get_text(in, false);
    x.part = bytes_get_text(in, false);
    x.owner = bytes_get_i64(in);
    x.has_acl = bytes_get_bool(in);
    x.acl.n = (int)bytes_get_count(in, MIN_OF(in->len / 32, INT32_MAX));
    if (!(x.acl.items = arena_array(in->arena, AclItem, x.acl.n + 1))) return ST_ERROR;
    for (int i = 0; i < x.acl.n && !in->failed; i++) {
        x.acl.items[i].grantee = bytes_get_i64(in);
        x.acl.items[i].grantor = bytes_get_i64(in);
        x.acl.items[i].rights = (uint32_t)bytes_get_count(in, ACL_ALL);
        x.acl.items[i].options = (uint32_t)bytes_get_count(in, ACL_ALL);
    }
    if (in->failed || !kind || !strchr("rctfnDlp", kind) || catalog_privileges(c, &x))
        return err_corrupted(e, path, in->at, "privileges are invalid");
    Privileges *copy = privileges_new(&x, e);
    if (!copy) return ST_ERROR;
    if (catalog_add_privileges(c, copy, e) == ST_OK) return ST_OK;
    privileges_free(copy);
    return ST_ERROR;
}
/* Each refers to roles that are there. */
static bool roles_known(const Catalog *c) {
    bool known = true;
    for (int64_t i = 0; i < c->n_roles; i++)
        for (int k = 0; k < c->roles[i]->n_members; k++)
            known = known && catalog_role_by_id(c, c->roles[i]->members[k].member);
    for (int64_t i = 0; i < c->n_privileges; i++) {
        const Privileges *x = c->privileges[i];
        known = known && catalog_role_by_id(c, x->owner);
        for (int k = 0; k < x->acl.n; k++) {
            const AclItem *y = &x->acl.items[k];
            known = known && (!y->grantee || catalog_role_by_id(c, y->grantee));
            known = known && catalog_role_by_id(c, y->grantor);
        }
    }
    return known;
}
Status catalog_load_roles(Catalog *c, BytesIn *in, const char *path, Err *e) {
    int64_t n = bytes_get_count(in, in->len / 50);
    for (int64_t i = 0; i < n; i++) TRY(load_role(c, in, path, e));
    n = bytes_get_count(in, in->len / 40);
    for (int64_t i = 0; i < n; i++) TRY(load_privileges(c, in, path, e));
    return roles_known(c) ? ST_OK : err_corrupted(e, path, in->at, "role is missing");
}
