/* privilege.c - owners and privileges of objects. See privilege.h. */
#include "catalog/privilege.h"

#include "catalog/catalog_int.h"
#include "catalog/names.h"

static int64_t privileges_bytes(const Privileges *x) {
    return (int64_t)(sizeof *x + strlen(x->name) + strlen(x->part)) + 2 + x->acl.n * (int64_t)sizeof(AclItem);
}
Privileges *privileges_new(const Privileges *like, Err *e) {
    Privileges *x = mem_calloc(NULL, privileges_bytes(like), e);
    if (!x) return NULL;
    *x = *like;
    x->node = (EpochNode){0};
    x->acl.items = (AclItem *)(void *)(x + 1);
    if (x->acl.n) memcpy(x->acl.items, like->acl.items, (size_t)x->acl.n * sizeof(AclItem));
    char *at = (char *)(x->acl.items + x->acl.n);
    x->name = catalog_put_text(&at, like->name);
    x->part = catalog_put_text(&at, like->part);
    return x;
}
void privileges_free(Privileges *x) {
    if (x) mem_free(NULL, x, privileges_bytes(x));
}
static void reclaim(EpochNode *n) { privileges_free((Privileges *)(void *)n); }
void privileges_retire(EpochDomain *d, Privileges *x) { epoch_retire(d, &x->node, privileges_bytes(x), reclaim); }

/* No statement's meaning depends on privileges, but what is kept of system relations may not outlive them. */
static void changed(Catalog *c, const Privileges *x) { catalog_changed(c, "pg_authid", x->name, 0); }
Status catalog_add_privileges(Catalog *c, Privileges *x, Err *e) {
    TRY(catalog_room(c, &c->privileges, c->n_privileges, &c->room.privileges, e));
    c->privileges[c->n_privileges++] = x;
    changed(c, x);
    return ST_OK;
}
void catalog_remove_privileges(Catalog *c, const Privileges *x) {
    for (int64_t i = 0; i < c->n_privileges; i++) {
        if (c->privileges[i] != x) continue;
        memmove(&c->privileges[i], &c->privileges[i + 1], (size_t)(--c->n_privileges - i) * sizeof *c->privileges);
        changed(c, x);
        return;
    }
}
Privileges *catalog_privileges(const Catalog *c, const Privileges *of) {
    for (int64_t i = 0; i < c->n_privileges; i++) {
        Privileges *x = c->privileges[i];
        if (x->kind == of->kind && x->routine == of->routine && strcmp(x->name, of->name) == 0 &&
            strcmp(x->part, of->part) == 0 && (x->kind != PRIVILEGE_DEFAULT || x->owner == of->owner))
            return x;
    }
    return NULL;
}
int64_t catalog_owner(const Catalog *c, const Privileges *of) {
    const Privileges *x = catalog_privileges(c, of);
    if (x) return x->owner;
    return of->kind == PRIVILEGE_SCHEMA && strcmp(of->name, "public") == 0 ? ROLE_DATABASE_OWNER : ROLE_BOOTSTRAP;
}
int64_t catalog_database_owner(const Catalog *c) {
    return catalog_owner(c, &(Privileges){.kind = PRIVILEGE_DATABASE, .name = "", .part = ""});
}
