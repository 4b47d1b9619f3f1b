/* roles.c - CREATE, ALTER and DROP ROLE, memberships, settings of roles. See access.h. */
#include <stdio.h>
#include <strings.h>

#include "session/ddl/access.h"
#include "session/ddl/comments.h"
#include "session/ddl/setting_text.h"
#include "session/ddl/utility_int.h"
#include "session/system/objects.h"

/* ---- who is who ---- */

const char *role_name(const Catalog *c, int64_t id) {
    const Role *x = catalog_role_by_id(c, id);
    return x ? x->name : "";
}
static int64_t id_of(const Session *s, const char *name) {
    const Role *x = catalog_role(session_catalog(s), name);
    return x ? x->id : ROLE_BOOTSTRAP;
}
int64_t session_role(const Session *s) { return id_of(s, s->info.user); }
int64_t session_login_role(const Session *s) { return id_of(s, s->info.session_user); }

static Status no_role(Session *s, const char *name) {
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", name);
}
Status role_of_spec(Session *s, const AstRoleSpec *spec, int64_t *out) {
    const Role *x = NULL;
    switch (spec->what) {
    case 'c':
    case 'u': return *out = session_role(s), ST_OK;
    case 's': return *out = session_login_role(s), ST_OK;
    case 'p': return no_role(s, "public");
    default: x = catalog_role(&s->db->catalog, spec->name);
    }
    if (!x) return no_role(s, spec->name);
    return *out = x->id, ST_OK;
}
Status session_may_be_role(Session *s, const char *name, Err *e) {
    bool held;
    TRY(session_read_definitions(s, &held));
    const bool found = catalog_role(session_catalog(s), name) != NULL;
    if (!held && s->state == 'I') session_unlock(s);
    return found ? ST_OK : err_set(e, ERR_INVALID_PARAMETER, "role \"%s\" does not exist", name);
}

static bool is_reserved(const char *name) { return strncmp(name, "pg_", 3) == 0; }
static Status reserved(Session *s, const char *name, const char *detail) {
    err_set(&s->err, ERR_RESERVED_NAME, "role name \"%s\" is reserved", name);
    err_detail(&s->err, "%s", detail);
    return ST_ERROR;
}
/* Another definition of the role, which may be a predefined one. */
static Status put(Session *s, const Role *like) {
    Role *own = catalog_own_role(&s->db->catalog, like->id);
    if (own) TRY(session_drop_role(s, own));
    return session_add_role(s, like);
}

/* ---- members ---- */

static Status add_member(Session *s, Arena *a, int64_t role, const RoleMember *m) {
    const Catalog *c = &s->db->catalog;
    const Role *x = catalog_role_by_id(c, role);
    Role like = *x;
    if (m->member == ROLE_DATABASE_OWNER || role == ROLE_DATABASE_OWNER)
        return err_set(&s->err, ERR_INVALID_GRANT_OPERATION,
                       m->member == ROLE_DATABASE_OWNER ? "role \"%s\" cannot be a member of any role"
                                                        : "role \"%s\" cannot have explicit members",
                       role_name(c, ROLE_DATABASE_OWNER));
    if (role_is_member_nosuper(c, role, m->member))
        return err_set(&s->err, ERR_INVALID_GRANT_OPERATION, "role \"%s\" is a member of role \"%s\"", x->name,
                       role_name(c, m->member));
    if (!(like.members = arena_array(a, RoleMember, x->n_members + 1))) return ST_ERROR;
    if (x->n_members) memcpy(like.members, x->members, (size_t)x->n_members * sizeof *like.members);
    for (int i = 0; i < like.n_members; i++) {
        if (like.members[i].member != m->member) continue;
        if (m->admin && !like.members[i].admin) {
            like.members[i] = *m;
            return put(s, &like);
        }
        session_notice_text(s, "NOTICE", "00000", "role \"%s\" is already a member of role \"%s\"",
                            role_name(c, m->member), x->name);
        return ST_OK;
    }
    like.members[like.n_members++] = *m;
    return put(s, &like);
}
/* ... or (admin) only its ADMIN OPTION. */
static Status drop_member(Session *s, Arena *a, int64_t role, int64_t member, bool admin) {
    const Catalog *c = &s->db->catalog;
    const Role *x = catalog_role_by_id(c, role);
    Role like = *x;
    if (!(like.members = arena_array(a, RoleMember, x->n_members + 1))) return ST_ERROR;
    like.n_members = 0;
    bool found = false;
    for (int i = 0; i < x->n_members; i++) {
        RoleMember m = x->members[i];
        const bool same = m.member == member;
        found |= same;
        if (same && !admin) continue;
        if (same) m.admin = false;
        like.members[like.n_members++] = m;
    }
    if (found) return put(s, &like);
    session_notice_text(s, "WARNING", "01000", "role \"%s\" is not a member of role \"%s\"", role_name(c, member),
                        x->name);
    return ST_OK;
}
static Status add_members(Session *s, Arena *a, int64_t role, const AstRoleSpecs *list, bool admin) {
    for (int64_t i = 0; i < list->n; i++) {
        RoleMember m = {.grantor = session_role(s), .admin = admin};
        TRY(role_of_spec(s, &list->items[i], &m.member));
        TRY(add_member(s, a, role, &m));
    }
    return ST_OK;
}

Status role_grant_statement(Session *s, Statement *st, const AstGrantRole *x) {
    const AstGrantees *g = &x->grantees;
    int64_t grantor;
    tag(st, g->is_grant ? "GRANT ROLE" : "REVOKE ROLE");
    TRY(session_begin_write(s));
    grantor = session_role(s);
    if (g->grantor) TRY(role_of_spec(s, g->grantor, &grantor));
    for (int64_t i = 0; i < x->n_roles; i++) {
        const AstRoleSpec spec = {.what = 'n', .name = x->roles[i].name};
        int64_t role = 0, member;
        if (!spec.name || x->roles[i].n_cols)
            return err_set(&s->err, ERR_INVALID_GRANT_OPERATION,
                           "column names cannot be included in GRANT/REVOKE ROLE");
        TRY(role_of_spec(s, &spec, &role));
        for (int64_t k = 0; k < g->to.n; k++) {
            TRY(role_of_spec(s, &g->to.items[k], &member));
            const RoleMember m = {member, grantor, g->option};
            if (g->is_grant) TRY(add_member(s, st->run_arena, role, &m));
            else TRY(drop_member(s, st->run_arena, role, member, g->option));
        }
    }
    return ST_OK;
}

/* ---- CREATE and ALTER ---- */

static const AstRoleOption *option(const AstRole *x, const char *name) {
    for (int64_t i = 0; i < x->n_options; i++)
        if (strcmp(x->options[i].name, name) == 0) return &x->options[i];
    return NULL;
}
static Status options_are_once(Session *s, const AstRole *x) {
    for (int64_t i = 0; i < x->n_options; i++)
        for (int64_t k = 0; k < i; k++)
            if (strcmp(x->options[i].name, x->options[k].name) == 0)
                return err_at(&s->err, x->options[i].location, ERR_SYNTAX, "conflicting or redundant options");
    return ST_OK;
}
static Status set_password(Session *s, Arena *a, const AstRoleOption *o, Role *x) {
    x->password = NULL;
    if (!o->text) return ST_OK;
    if (!*o->text) {
        session_notice_text(s, "NOTICE", "00000", "empty string is not a valid login password, clearing password");
        return ST_OK;
    }
    return (x->password = password_verifier(a, o->text, &s->err)) ? ST_OK : ST_ERROR;
}
static Status set_expiry(Session *s, Arena *a, const AstRoleOption *o, Role *x) {
    Value v = {0};
    TRY(value_from_text(type_make(T_TIMESTAMPTZ), slice_of(o->text), &s->info, a, &v, &s->err));
    x->expires = true;
    x->valid_until = v.u.i64;
    return ST_OK;
}
/* All but those about members. */
static Status set_options(Session *s, Arena *a, const AstRole *x, Role *r) {
    static const struct {
        const char *name;
        uint32_t flag;
    } flags[] = {{"superuser", ROLE_SUPER},     {"inherit", ROLE_INHERIT}, {"createrole", ROLE_CREATE_ROLE},
                 {"createdb", ROLE_CREATE_DB},  {"canlogin", ROLE_LOGIN},  {"isreplication", ROLE_REPLICATION},
                 {"bypassrls", ROLE_BYPASS_RLS}};
    const AstRoleOption *o;
    for (int64_t i = 0; i < ARRAY_LEN(flags); i++)
        if ((o = option(x, flags[i].name))) r->flags = o->on ? r->flags | flags[i].flag : r->flags & ~flags[i].flag;
    if (option(x, "sysid")) session_notice_text(s, "NOTICE", "00000", "SYSID can no longer be specified");
    if ((o = option(x, "connectionlimit"))) {
        r->connections = o->number;
        if (o->number < -1)
            return err_set(&s->err, ERR_INVALID_PARAMETER, "invalid connection limit: %d", (int)o->number);
    }
    if ((o = option(x, "validUntil"))) TRY(set_expiry(s, a, o, r));
    if ((o = option(x, "password"))) TRY(set_password(s, a, o, r));
    return ST_OK;
}
static Status create_role(Session *s, Arena *a, const AstRole *x) {
    const AstRoleOption *o;
    Role r = {.id = -1, .name = x->roles.items[0].name, .flags = ROLE_INHERIT, .connections = -1};
    if (x->word == 'u') r.flags |= ROLE_LOGIN;
    TRY(set_options(s, a, x, &r));
    if (is_reserved(r.name)) return reserved(s, r.name, "Role names starting with \"pg_\" are reserved.");
    if (catalog_role(&s->db->catalog, r.name))
        return err_set(&s->err, ERR_DUPLICATE_OBJECT, "role \"%s\" already exists", r.name);
    TRY(session_add_role(s, &r));
    const int64_t id = catalog_role(&s->db->catalog, r.name)->id;
    if ((o = option(x, "addroleto")))
        for (int64_t i = 0; i < o->roles.n; i++) {
            int64_t role;
            TRY(role_of_spec(s, &o->roles.items[i], &role));
            TRY(add_member(s, a, role, &(RoleMember){id, session_role(s), false}));
        }
    if ((o = option(x, "adminmembers"))) TRY(add_members(s, a, id, &o->roles, true));
    if ((o = option(x, "rolemembers"))) TRY(add_members(s, a, id, &o->roles, false));
    return ST_OK;
}
static Status alter_role(Session *s, Arena *a, const AstRole *x) {
    const AstRoleSpec *spec = &x->roles.items[0];
    int64_t id, member;
    if (spec->what == 'n' && is_reserved(spec->name)) return reserved(s, spec->name, "Cannot alter reserved roles.");
    TRY(role_of_spec(s, spec, &id));
    Role r = *catalog_role_by_id(&s->db->catalog, id);
    TRY(set_options(s, a, x, &r));
    TRY(put(s, &r));
    const AstRoleOption *o = option(x, "rolemembers");
    if (!o) return ST_OK;
    if (x->members > 0) return add_members(s, a, id, &o->roles, false);
    for (int64_t i = 0; i < o->roles.n; i++) {
        TRY(role_of_spec(s, &o->roles.items[i], &member));
        TRY(drop_member(s, a, id, member, false));
    }
    return ST_OK;
}

/* ---- DROP ---- */

/* What of an entry depends on the role: its owner, or a grant to another than its owner. NULL: nothing. */
static const char *dependence(const Catalog *c, const Privileges *x, int64_t role) {
    const Privileges table = {.kind = PRIVILEGE_RELATION, .name = x->name, .part = ""};
    const bool column = x->kind == PRIVILEGE_COLUMN;
    if ((column ? catalog_owner(c, &table) : x->owner) == role) return column ? NULL : "owner of";
    for (int i = 0; i < x->acl.n; i++)
        if (x->acl.items[i].grantee == role || x->acl.items[i].grantor == role) return "privileges for";
    return NULL;
}
static Status nothing_depends(Session *s, Arena *a, const Role *r) {
    const Catalog *c = &s->db->catalog;
    const char *detail = NULL;
    for (int64_t i = 0; i < c->n_privileges; i++) {
        const Privileges *x = c->privileges[i];
        const char *how = dependence(c, x, r->id);
        if (!how) continue;
        const char *what = privileges_object(s, a, x);
        if (!what || !(detail = arena_printf(a, "%s%s%s %s", detail ? detail : "", detail ? "\n" : "", how, what)))
            return ST_ERROR;
    }
    TRY(row_security_of_role(c, a, r->id, &detail));
    if (!detail) return ST_OK;
    err_set(&s->err, ERR_DEPENDENT_OBJECTS, "role \"%s\" cannot be dropped because some objects depend on it", r->name);
    err_detail(&s->err, "%s", detail);
    return ST_ERROR;
}
static Status drop_role(Session *s, Arena *a, const AstRole *x) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0; i < x->roles.n; i++) {
        const AstRoleSpec *spec = &x->roles.items[i];
        const Role *r = spec->what == 'n' ? catalog_role(c, spec->name) : NULL, *other;
        if (spec->what != 'n')
            return err_set(&s->err, ERR_INVALID_PARAMETER, "cannot use special role specifier in DROP ROLE");
        if (!r && !x->if_exists) return no_role(s, spec->name);
        if (!r) session_notice_text(s, "NOTICE", "00000", "role \"%s\" does not exist, skipping", spec->name);
        if (!r) continue;
        if (r->id == session_role(s)) return err_set(&s->err, ERR_OBJECT_IN_USE, "current user cannot be dropped");
        if (r->id == session_login_role(s))
            return err_set(&s->err, ERR_OBJECT_IN_USE, "session user cannot be dropped");
        if (r->id < ROLE_FIRST)
            return err_set(&s->err, ERR_DEPENDENT_OBJECTS,
                           "cannot drop role %s because it is required by the database system", r->name);
        TRY(nothing_depends(s, a, r));
        const int64_t id = r->id;
        for (int64_t k = 0; (other = catalog_role_nth(c, k)) != NULL; k++) {
            bool member = false;
            for (int m = 0; m < other->n_members; m++) member |= other->members[m].member == id;
            if (member) TRY(drop_member(s, a, other->id, id, false));
        }
        TRY(session_drop_role(s, catalog_own_role(c, id)));
        s->has_dropped = true;
    }
    return ST_OK;
}

Status role_statement(Session *s, Statement *st, const AstRole *x) {
    TRY(options_are_once(s, x));
    TRY(session_begin_write(s));
    switch (x->action) {
    case 'c': tag(st, "CREATE ROLE"); return create_role(s, st->run_arena, x);
    case 'a': tag(st, "ALTER ROLE"); return alter_role(s, st->run_arena, x);
    default: tag(st, "DROP ROLE"); return drop_role(s, st->run_arena, x);
    }
}

Status role_rename(Session *s, Statement *st, const AstRename *x) {
    const Role *r;
    tag(st, "ALTER ROLE");
    TRY(session_begin_write(s));
    if (!(r = catalog_role(&s->db->catalog, x->name.name))) return no_role(s, x->name.name);
    if (r->id == session_login_role(s))
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "session user cannot be renamed");
    if (r->id == session_role(s)) return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "current user cannot be renamed");
    if (r->id == ROLE_BOOTSTRAP)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "the role that a database begins with cannot be renamed");
    if (is_reserved(r->name)) return reserved(s, r->name, "Role names starting with \"pg_\" are reserved.");
    if (is_reserved(x->new_name)) return reserved(s, x->new_name, "Role names starting with \"pg_\" are reserved.");
    if (catalog_role(&s->db->catalog, x->new_name))
        return err_set(&s->err, ERR_DUPLICATE_OBJECT, "role \"%s\" already exists", x->new_name);
    Role like = *r;
    like.name = x->new_name;
    TRY(put(s, &like));
    return comments_rename(s, "u", x->name.name, NULL, x->new_name);
}

/* ---- settings ---- */

/* What of the texts is not of the setting, and, unless it is NULL, name=value. name NULL: nothing. */
static Status change_texts(Arena *a, RoleConfig *f, const char *name, const char *value) {
    char **texts = arena_array(a, char *, f->n + 1);
    int n = 0;
    if (!texts) return ST_ERROR;
    const size_t len = name ? strlen(name) : 0;
    for (int i = 0; name && i < f->n; i++)
        if (strncasecmp(f->texts[i], name, len) != 0 || f->texts[i][len] != '=') texts[n++] = f->texts[i];
    if (value && !(texts[n++] = arena_printf(a, "%s=%s", name, value))) return ST_ERROR;
    f->texts = texts;
    f->n = n;
    return ST_OK;
}
/* As PostgreSQL spells it. */
static const char *setting_spelled(const char *name) {
    static const char *const capitals[] = {"DateStyle", "IntervalStyle", "TimeZone"};
    const PgSetting *p = pg_setting_find(name);
    for (int64_t i = 0; i < ARRAY_LEN(capitals); i++)
        if (strcasecmp(name, capitals[i]) == 0) return capitals[i];
    return p ? pg_setting_name(p) : name;
}
/* The setting takes the value: as if it were set and set back. */
static Status try_setting(Session *s, Arena *a, const char *name, const char *value) {
    if (!settings_show(s, a, name, &s->err) && !strchr(name, '.')) return ST_ERROR;
    err_clear(&s->err);
    if (!value) return ST_OK;
    const Settings keep = s->settings;
    const Status st = settings_set(s, name, value, &s->err);
    settings_restore(s, &keep);
    return st;
}
Status role_set_statement(Session *s, Statement *st, const AstRoleSet *x) {
    Arena *a = st->run_arena;
    Role r = {.name = "", .connections = -1};
    const bool all = x->set->set_kind == AST_RESET_ALL;
    const char *value = NULL, *name = all ? NULL : setting_spelled(x->set->name);
    int64_t id = 0;
    tag(st, x->is_database ? "ALTER DATABASE" : "ALTER ROLE");
    TRY(session_begin_write(s));
    if (x->role && x->role->what == 'n' && is_reserved(x->role->name))
        return reserved(s, x->role->name, "Cannot alter reserved roles.");
    if (x->role) TRY(role_of_spec(s, x->role, &id));
    if (x->database && strcmp(x->database, s->info.database) != 0)
        return err_set(&s->err, ERR_UNDEFINED_DATABASE, "database \"%s\" does not exist", x->database);
    if (x->set->set_kind == AST_SET_VALUE) TRY(setting_value_text(s, a, x->set, &value));
    if (x->set->set_kind == AST_SET_CURRENT && !(value = settings_show(s, a, name, &s->err))) return ST_ERROR;
    if (name) TRY(try_setting(s, a, name, value));
    const Role *old = id ? catalog_role_by_id(&s->db->catalog, id) : catalog_own_role(&s->db->catalog, 0);
    if (old) r = *old;
    const int64_t database = x->database ? OID_DATABASE : 0;
    int at = 0, n = 0;
    RoleConfig *configs = arena_array(a, RoleConfig, r.n_configs + 1);
    if (!configs) return ST_ERROR;
    if (r.n_configs) memcpy(configs, r.configs, (size_t)r.n_configs * sizeof *configs);
    while (at < r.n_configs && configs[at].database != database) at++;
    if (at == r.n_configs) configs[r.n_configs++] = (RoleConfig){.database = database};
    TRY(change_texts(a, &configs[at], name, value));
    for (int i = 0; i < r.n_configs; i++)
        if (configs[i].n) configs[n++] = configs[i];
    r.configs = configs;
    r.n_configs = n;
    if (id || n) return put(s, &r);
    return old ? session_drop_role(s, catalog_own_role(&s->db->catalog, 0)) : ST_OK;
}
