/* roles.c - rows of the catalogs and views of roles, owners and privileges. See roles.h. */
#include "session/system/roles.h"

#include "session/ddl/access.h"
#include "session/system/definitions.h"

/* ---- owners and grants of objects ---- */

Privileges privileges_of_class(const SysClass *c) {
    const char *key = c->key ? c->key : c->name;
    if (c->kind == 'c') return (Privileges){.kind = PRIVILEGE_TYPE, .name = key, .part = ""};
    return (Privileges){.kind = PRIVILEGE_RELATION, .name = c->kind == 'i' ? c->table->name : key, .part = ""};
}
Privileges privileges_of_type(const SysObjects *o, const SysType *t) {
    const SysType *e = t->element && t->name[0] == '_' ? object_type(o, t->element) : NULL;
    if (e) t = e;
    if (t->row && t->row->kind != 'c') return privileges_of_class(t->row);
    return (Privileges){.kind = PRIVILEGE_TYPE,
                        .name = t->range ? t->range->name
                                : t->key ? t->key
                                         : t->name,
                        .part = ""};
}
/* A sequence of a column is its table's owner's. */
int64_t system_owner(const SysObjects *o, const Privileges *of) {
    const Sequence *q = of->kind == PRIVILEGE_RELATION ? catalog_sequence(o->c, slice_of(of->name)) : NULL;
    if (!q || !q->owner_table) return catalog_owner(o->c, of);
    return catalog_owner(o->c, &(Privileges){.kind = PRIVILEGE_RELATION, .name = q->owner_table, .part = ""});
}
static const Str *acl_texts(SystemRows *r, int32_t col, const Acl *acl) {
    const char **texts = arena_array(r->c->arena, const char *, acl->n + 1);
    if (!texts) return err_oom(r->err), NULL;
    for (int i = 0; i < acl->n; i++)
        if (!(texts[i] = acl_item_text(r->o->c, &acl->items[i], r->c->arena))) return err_oom(r->err), NULL;
    return system_texts(r, col, acl->n, texts);
}
const Str *system_acl(SystemRows *r, int32_t col, const Privileges *of) {
    const Privileges *x = catalog_privileges(r->o->c, of);
    Privileges public;
    if (x) return x->has_acl ? acl_texts(r, col, &x->acl) : NULL;
    if (of->kind != PRIVILEGE_SCHEMA) return NULL;
    if (privileges_get(r->o->c, r->c->arena, of, &public) != ST_OK) return err_oom(r->err), NULL;
    return acl_texts(r, col, &public.acl);
}

/* ---- roles ---- */

Status system_fill_authid(Session *s, SystemRows *r) {
    const Role *x;
    (void)s;
    for (int64_t i = 0; (x = catalog_role_nth(r->o->c, i)) != NULL; i++) {
        TRY(system_row(r, "isbbbbbbbis-", x->id, x->name, (x->flags & ROLE_SUPER) != 0, (x->flags & ROLE_INHERIT) != 0,
                       (x->flags & ROLE_CREATE_ROLE) != 0, (x->flags & ROLE_CREATE_DB) != 0,
                       (x->flags & ROLE_LOGIN) != 0, (x->flags & ROLE_REPLICATION) != 0,
                       (x->flags & ROLE_BYPASS_RLS) != 0, x->connections, x->password));
        if (x->expires) system_put_int(r, 11, x->valid_until);
    }
    return ST_OK;
}
Status system_fill_auth_members(Session *s, SystemRows *r) {
    const Role *x;
    (void)s;
    for (int64_t i = 0; (x = catalog_role_nth(r->o->c, i)) != NULL; i++)
        for (int k = 0; k < x->n_members; k++)
            TRY(system_row(r, "iiib", x->id, x->members[k].member, x->members[k].grantor, x->members[k].admin));
    return ST_OK;
}
Status system_fill_role_settings(Session *s, SystemRows *r) {
    const Role *x;
    (void)s;
    for (int64_t i = -1; i < 0 || (x = catalog_role_nth(r->o->c, i)) != NULL; i++) {
        if (i < 0) x = catalog_own_role(r->o->c, 0); /* of all */
        for (int k = 0; x && k < x->n_configs; k++)
            TRY(system_row(r, "iiv", x->configs[k].database, x->id,
                           system_texts(r, 2, x->configs[k].n, (const char *const *)x->configs[k].texts)));
    }
    return ST_OK;
}
Status system_fill_default_acl(Session *s, SystemRows *r) {
    (void)s;
    for (int64_t i = 0; i < r->o->c->n_privileges; i++) {
        const Privileges *x = r->o->c->privileges[i];
        if (x->kind != PRIVILEGE_DEFAULT) continue;
        TRY(system_row(r, "iiicv", object_derived(r->o, 'p', x->owner, x->part), x->owner,
                       *x->name ? object_schema(r->o, x->name) : (int64_t)0, *x->part, acl_texts(r, 4, &x->acl)));
    }
    return ST_OK;
}

/* ---- information_schema ---- */

/* The session's role is one of the two, or has it. */
static bool is_enabled(const Session *s, const SysObjects *o, const AclItem *x, bool world) {
    const int64_t me = session_role(s);
    return (world && x->grantee == 0) || role_is_member(o->c, me, x->grantor, true) ||
           (x->grantee && role_is_member(o->c, me, x->grantee, true));
}
static const char *grantee_name(const SysObjects *o, int64_t id) { return id ? role_name(o->c, id) : "PUBLIC"; }
static bool is_grantable(const SysObjects *o, const AclItem *x, uint32_t right, int64_t owner) {
    return x->options & right || (x->grantee && role_is_member(o->c, x->grantee, owner, true));
}
static bool is_listed(const SysClass *c) { return !c->system && (c->kind == 'r' || c->kind == 'v'); }
static Status table_rows(Session *s, SystemRows *r, bool world) {
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        const SysClass *c = &r->o->classes.items[i];
        const Privileges of = privileges_of_class(c);
        Privileges x;
        if (!is_listed(c)) continue;
        TRY(privileges_get(r->o->c, r->c->arena, &of, &x));
        for (int k = 0; k < x.acl.n; k++) {
            const AclItem *y = &x.acl.items[k];
            for (uint32_t right = 1; right & ACL_ALL && is_enabled(s, r->o, y, world); right <<= 1)
                if (y->rights & right)
                    TRY(system_row(r, "ssssssss", role_name(r->o->c, y->grantor), grantee_name(r->o, y->grantee),
                                   s->info.database, object_schema_name(r->o, c->space), c->name, acl_right_name(right),
                                   is_grantable(r->o, y, right, x.owner) ? "YES" : "NO",
                                   right == ACL_SELECT ? "YES" : "NO"));
        }
    }
    return ST_OK;
}
Status system_fill_table_privileges(Session *s, SystemRows *r) { return table_rows(s, r, true); }
Status system_fill_role_table_grants(Session *s, SystemRows *r) { return table_rows(s, r, false); }

/* The grants on a column, and those on its table that are of columns. */
static Status column_acl(SystemRows *r, const Privileges *table, const char *column, Acl *out) {
    const Privileges of = {.kind = PRIVILEGE_COLUMN, .name = table->name, .part = column};
    const Privileges *own = catalog_privileges(r->o->c, &of);
    const int n = table->acl.n + (own ? own->acl.n : 0);
    *out = (Acl){.items = arena_array(r->c->arena, AclItem, n + 1)};
    if (!out->items) return ST_ERROR;
    for (int i = 0; i < n; i++) {
        AclItem x = i < table->acl.n ? table->acl.items[i] : own->acl.items[i - table->acl.n];
        x.rights &= acl_rights_of('c');
        x.options &= acl_rights_of('c');
        for (int k = 0; k < out->n; k++) { /* what the same grantor has granted in the same way counts once */
            const AclItem *y = &out->items[k];
            if (y->grantee == x.grantee && y->grantor == x.grantor)
                x.rights &= ~(y->rights & ~(y->options ^ x.options));
        }
        if (x.rights) out->items[out->n++] = x;
    }
    return ST_OK;
}
static Status column_rows(Session *s, SystemRows *r, bool world) {
    for (int64_t i = 0; i < r->o->classes.len; i++) {
        SysClass *c = &r->o->classes.items[i];
        const Privileges of = privileges_of_class(c);
        Privileges x;
        if (!is_listed(c)) continue;
        TRY(object_columns(r->o, c));
        TRY(privileges_get(r->o->c, r->c->arena, &of, &x));
        for (int32_t n = 0; n < c->n_cols; n++) {
            Acl acl;
            TRY(column_acl(r, &x, c->cols[n].name, &acl));
            for (int k = 0; k < acl.n; k++)
                for (uint32_t right = 1; right & ACL_ALL && is_enabled(s, r->o, &acl.items[k], world); right <<= 1)
                    if (acl.items[k].rights & right)
                        TRY(system_row(r, "ssssssss", role_name(r->o->c, acl.items[k].grantor),
                                       grantee_name(r->o, acl.items[k].grantee), s->info.database,
                                       object_schema_name(r->o, c->space), c->name, c->cols[n].name,
                                       acl_right_name(right),
                                       is_grantable(r->o, &acl.items[k], right, x.owner) ? "YES" : "NO"));
        }
    }
    return ST_OK;
}
Status system_fill_column_privileges(Session *s, SystemRows *r) { return column_rows(s, r, true); }
Status system_fill_role_column_grants(Session *s, SystemRows *r) { return column_rows(s, r, false); }

static Status routine_rows(Session *s, SystemRows *r, bool world) {
    for (int64_t i = 0; i < r->o->routines.len; i++) {
        const Routine *f = r->o->routines.items[i].routine;
        const Privileges of = privileges_of_routine_id(f->id);
        const char *specific =
            arena_printf(r->c->arena, "%s_%lld", name_of_key(f->name), (long long)r->o->routines.items[i].oid);
        Privileges x;
        const char *in = object_schema_name(r->o, object_schema_of(r->o, f->name));
        if (!specific) return err_oom(r->err);
        TRY(privileges_get(r->o->c, r->c->arena, &of, &x));
        for (int k = 0; k < x.acl.n; k++) {
            const AclItem *y = &x.acl.items[k];
            if (is_enabled(s, r->o, y, world))
                TRY(system_row(r, "ssssssssss", role_name(r->o->c, y->grantor), grantee_name(r->o, y->grantee),
                               s->info.database, in, specific, s->info.database, in, name_of_key(f->name), "EXECUTE",
                               is_grantable(r->o, y, ACL_EXECUTE, x.owner) ? "YES" : "NO"));
        }
    }
    return ST_OK;
}
Status system_fill_routine_privileges(Session *s, SystemRows *r) { return routine_rows(s, r, true); }
Status system_fill_role_routine_grants(Session *s, SystemRows *r) { return routine_rows(s, r, false); }

/* USAGE of domains and sequences; of composite types (udt): without a kind of object. */
static Status usage_of(Session *s, SystemRows *r, const Privileges *of, const char *name, const char *kind,
                       bool world) {
    const char *in = object_schema_name(r->o, object_schema_of(r->o, of->name));
    Privileges x;
    TRY(privileges_get(r->o->c, r->c->arena, of, &x));
    if (!kind && of->kind == PRIVILEGE_RELATION) TRY(acl_default('T', x.owner, r->c->arena, &x.acl)); /* its rows */
    for (int k = 0; k < x.acl.n; k++) {
        const AclItem *y = &x.acl.items[k];
        const char *by = role_name(r->o->c, y->grantor), *to = grantee_name(r->o, y->grantee);
        const char *grantable = is_grantable(r->o, y, ACL_USAGE, x.owner) ? "YES" : "NO";
        if (!(y->rights & ACL_USAGE) || !is_enabled(s, r->o, y, world)) continue;
        if (kind) TRY(system_row(r, "ssssssss", by, to, s->info.database, in, name, kind, "USAGE", grantable));
        else TRY(system_row(r, "sssssss", by, to, s->info.database, in, name, "TYPE USAGE", grantable));
    }
    return ST_OK;
}
static Status usage_rows(Session *s, SystemRows *r, bool world) {
    const Catalog *c = r->o->c;
    for (int64_t i = 0; i < c->n_domains; i++) {
        const Privileges of = {.kind = PRIVILEGE_TYPE, .name = c->domains[i]->name, .part = ""};
        TRY(usage_of(s, r, &of, c->domains[i]->name, "DOMAIN", world));
    }
    for (int64_t i = 0; i < c->n_sequences; i++) {
        const Privileges of = {.kind = PRIVILEGE_RELATION, .name = c->sequences[i]->name, .part = ""};
        TRY(usage_of(s, r, &of, name_of_key(c->sequences[i]->name), "SEQUENCE", world));
    }
    return ST_OK;
}
Status system_fill_usage_privileges(Session *s, SystemRows *r) { return usage_rows(s, r, true); }
Status system_fill_role_usage_grants(Session *s, SystemRows *r) { return usage_rows(s, r, false); }
static Status udt_rows(Session *s, SystemRows *r, bool world) {
    for (int64_t i = 0; i < r->o->types.len; i++) {
        const SysType *t = &r->o->types.items[i];
        if (!t->row || t->row->system) continue;
        const Privileges of = privileges_of_type(r->o, t);
        TRY(usage_of(s, r, &of, t->name, NULL, world));
    }
    return ST_OK;
}
Status system_fill_udt_privileges(Session *s, SystemRows *r) { return udt_rows(s, r, true); }
Status system_fill_role_udt_grants(Session *s, SystemRows *r) { return udt_rows(s, r, false); }
