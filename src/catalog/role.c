/* role.c - roles. See role.h. */
#include "catalog/role.h"

#include "base/stack.h"
#include "catalog/catalog_int.h"
#include "catalog/names.h"

/* pg_monitor has three of them. */
static RoleMember of_monitor[] = {{3373, ROLE_BOOTSTRAP, false}};
#define PREDEFINED(number, called, n, m) \
    { .id = number, .name = called, .flags = ROLE_INHERIT, .connections = -1, .n_members = n, .members = m }
/* By number. */
static Role predefined[] = {
    {.id = ROLE_BOOTSTRAP, .name = ROLE_BOOTSTRAP_NAME, .flags = ROLE_ALL, .connections = -1},
    PREDEFINED(3373, "pg_monitor", 0, NULL),
    PREDEFINED(3374, "pg_read_all_settings", 1, of_monitor),
    PREDEFINED(3375, "pg_read_all_stats", 1, of_monitor),
    PREDEFINED(3377, "pg_stat_scan_tables", 1, of_monitor),
    PREDEFINED(4200, "pg_signal_backend", 0, NULL),
    PREDEFINED(4544, "pg_checkpoint", 0, NULL),
    PREDEFINED(4569, "pg_read_server_files", 0, NULL),
    PREDEFINED(4570, "pg_write_server_files", 0, NULL),
    PREDEFINED(4571, "pg_execute_server_program", 0, NULL),
    PREDEFINED(ROLE_DATABASE_OWNER, "pg_database_owner", 0, NULL),
    PREDEFINED(ROLE_READ_ALL_DATA, "pg_read_all_data", 0, NULL),
    PREDEFINED(ROLE_WRITE_ALL_DATA, "pg_write_all_data", 0, NULL),
};

/* ---- one role ---- */

static int64_t role_bytes(const Role *x) {
    int64_t n = (int64_t)sizeof *x + (int64_t)strlen(x->name) + 1 + x->n_members * (int64_t)sizeof(RoleMember) +
                x->n_configs * (int64_t)sizeof(RoleConfig);
    if (x->password) n += (int64_t)strlen(x->password) + 1;
    for (int i = 0; i < x->n_configs; i++)
        for (int k = 0; k < x->configs[i].n; k++)
            n += (int64_t)sizeof(char *) + (int64_t)strlen(x->configs[i].texts[k]) + 1;
    return n;
}
Role *role_new(const Role *like, Err *e) {
    Role *x = mem_calloc(NULL, role_bytes(like), e);
    if (!x) return NULL;
    *x = *like;
    x->node = (EpochNode){0};
    x->members = (RoleMember *)(void *)(x + 1);
    if (x->n_members) memcpy(x->members, like->members, (size_t)x->n_members * sizeof *x->members);
    x->configs = (RoleConfig *)(void *)(x->members + x->n_members);
    char **slots = (char **)(void *)(x->configs + x->n_configs);
    int64_t n_slots = 0;
    for (int i = 0; i < x->n_configs; i++) n_slots += like->configs[i].n;
    char *at = (char *)(slots + n_slots);
    x->name = catalog_put_text(&at, like->name);
    if (like->password) x->password = catalog_put_text(&at, like->password);
    for (int i = 0; i < x->n_configs; i++) {
        x->configs[i] = (RoleConfig){like->configs[i].database, like->configs[i].n, slots};
        for (int k = 0; k < x->configs[i].n; k++) *slots++ = catalog_put_text(&at, like->configs[i].texts[k]);
    }
    return x;
}
void role_free(Role *x) {
    if (x) mem_free(NULL, x, role_bytes(x));
}
static void reclaim(EpochNode *n) { role_free((Role *)(void *)n); }
void role_retire(EpochDomain *d, Role *x) { epoch_retire(d, &x->node, role_bytes(x), reclaim); }

/* ---- those of a catalog ---- */

static void changed(Catalog *c, const Role *x) { catalog_changed(c, "pg_authid", x->name, 0); }
Status catalog_add_role(Catalog *c, Role *x, Err *e) {
    TRY(catalog_room(c, &c->roles, c->n_roles, &c->room.roles, e));
    if (x->id < 0) x->id = ROLE_FIRST + ++c->next_id;
    int64_t at = c->n_roles++;
    for (; at > 0 && c->roles[at - 1]->id > x->id; at--) c->roles[at] = c->roles[at - 1];
    c->roles[at] = x;
    changed(c, x);
    return ST_OK;
}
void catalog_remove_role(Catalog *c, const Role *x) {
    for (int64_t i = 0; i < c->n_roles; i++) {
        if (c->roles[i] != x) continue;
        memmove(&c->roles[i], &c->roles[i + 1], (size_t)(--c->n_roles - i) * sizeof *c->roles);
        changed(c, x);
        return;
    }
}
Role *catalog_own_role(const Catalog *c, int64_t id) {
    for (int64_t i = 0; i < c->n_roles; i++)
        if (c->roles[i]->id == id) return c->roles[i];
    return NULL;
}
const Role *catalog_role_by_id(const Catalog *c, int64_t id) {
    const Role *own = catalog_own_role(c, id);
    for (int64_t i = 0; !own && i < ARRAY_LEN(predefined); i++)
        if (predefined[i].id == id) return &predefined[i];
    return id ? own : NULL;
}
const Role *catalog_role_nth(const Catalog *c, int64_t i) {
    if (i < ARRAY_LEN(predefined)) return catalog_role_by_id(c, predefined[i].id);
    i -= ARRAY_LEN(predefined);
    for (int64_t k = 0; k < c->n_roles; k++)
        if (c->roles[k]->id >= ROLE_FIRST && i-- == 0) return c->roles[k];
    return NULL;
}
const Role *catalog_role(const Catalog *c, const char *name) {
    const Role *x;
    for (int64_t i = 0; (x = catalog_role_nth(c, i)) != NULL; i++)
        if (strcmp(x->name, name) == 0) return x;
    return NULL;
}

bool role_is_super(const Catalog *c, int64_t id) {
    const Role *x = catalog_role_by_id(c, id);
    return x && x->flags & ROLE_SUPER;
}
/* Roles that were granted in a circle are refused, so the walk ends. pg_database_owner has one member, the owner of the
 * database. */
static bool is_member(const Catalog *c, int64_t member, int64_t role, bool inherits) {
    if (member == role || stack_stop()) return member == role;
    const Role *x = catalog_role_by_id(c, role);
    if (role == ROLE_DATABASE_OWNER && is_member(c, member, catalog_database_owner(c), inherits)) return true;
    for (int i = 0; x && i < x->n_members; i++) {
        const Role *m = catalog_role_by_id(c, x->members[i].member);
        if (m && (!inherits || m->flags & ROLE_INHERIT) && is_member(c, member, m->id, inherits)) return true;
    }
    return false;
}
bool role_is_member_nosuper(const Catalog *c, int64_t member, int64_t role) {
    return is_member(c, member, role, false);
}
bool role_is_member(const Catalog *c, int64_t member, int64_t role, bool inherits) {
    return role_is_super(c, member) || is_member(c, member, role, inherits);
}
bool role_is_admin(const Catalog *c, int64_t member, int64_t role) {
    const Role *x = catalog_role_by_id(c, role);
    if (role_is_super(c, member)) return true;
    for (int i = 0; x && i < x->n_members; i++)
        if (x->members[i].admin && is_member(c, member, x->members[i].member, false)) return true;
    return false;
}

const char *role_shown(const Catalog *c, int64_t id, Arena *a) {
    const Role *x = catalog_role_by_id(c, id);
    if (!x) return arena_printf(a, "%lld", (long long)id);
    bool plain = true;
    int64_t quotes = 0;
    for (const char *p = x->name; *p; p++) {
        const bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p & 0x80;
        plain = plain && (letter || (*p >= '0' && *p <= '9') || *p == '_');
        quotes += *p == '"';
    }
    if (plain) return x->name;
    char *out = arena_alloc(a, (int64_t)strlen(x->name) + quotes + 3), *at = out;
    if (!out) return NULL;
    *at++ = '"';
    for (const char *p = x->name; *p; p++) {
        if (*p == '"') *at++ = '"';
        *at++ = *p;
    }
    *at++ = '"';
    *at = 0;
    return out;
}
