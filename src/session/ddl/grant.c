/* grant.c - GRANT and REVOKE of privileges, ALTER DEFAULT PRIVILEGES. See access.h. */
#include <stdlib.h>
#include <strings.h>

#include "session/ddl/access.h"
#include "session/ddl/utility_int.h"
#include "session/system/builtin_objects.h"
#include "session/system/definitions.h"
#include "session/system/objects.h"
#include "sql/bind/bind.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/range.h"

/* ---- entries ---- */

static const char *shown(Arena *a, const char *name) {
    const Str s = str_make(name, (int64_t)strlen(name));
    return name_is_plain(s) ? name : quote_name(a, name);
}
const char *privileges_default_word(char kind) {
    return kind == 'r'   ? "relations"
           : kind == 'S' ? "sequences"
           : kind == 'f' ? "functions"
           : kind == 'T' ? "types"
                         : "schemas";
}
static const char *relation_word(const Catalog *c, const char *name) {
    const Slice n = slice_of(name);
    return catalog_sequence(c, n)  ? "sequence"
           : catalog_matview(c, n) ? "materialized view"
           : catalog_view(c, n)    ? "view"
                                   : "table";
}
const char *privileges_object(Session *s, Arena *a, const Privileges *x) {
    const Catalog *c = &s->db->catalog;
    const char *name = *x->name ? shown(a, x->name) : "";
    const Routine *r;
    const SysObjects *o;
    if (!name) return NULL;
    switch (x->kind) {
    case PRIVILEGE_RELATION: return arena_printf(a, "%s %s", relation_word(c, x->name), name);
    case PRIVILEGE_COLUMN:
        return arena_printf(a, "column %s of %s %s", shown(a, x->part), relation_word(c, x->name), name);
    case PRIVILEGE_TYPE: return arena_printf(a, "type %s", name);
    case PRIVILEGE_ROUTINE:
        r = catalog_routine_by_id(c, x->routine);
        o = session_objects(s);
        return r && o ? arena_printf(a, "function %s", definition_signature(o, a, r)) : NULL;
    case PRIVILEGE_SCHEMA: return arena_printf(a, "schema %s", name);
    case PRIVILEGE_LANGUAGE: return arena_printf(a, "language %s", name);
    case PRIVILEGE_DATABASE: return arena_printf(a, "database %s", shown(a, s->info.database));
    case PRIVILEGE_DEFAULT:
        return arena_printf(a, "default privileges on new %s belonging to role %s%s%s",
                            privileges_default_word(*x->part), role_name(c, x->owner), *x->name ? " in schema " : "",
                            name);
    }
    return NULL;
}
char privileges_acl_kind(const Catalog *c, const Privileges *x) {
    switch (x->kind) {
    case PRIVILEGE_RELATION: return catalog_sequence(c, slice_of(x->name)) ? 'S' : 'r';
    case PRIVILEGE_TYPE: return 'T';
    case PRIVILEGE_DEFAULT: return *x->part;
    default: return (char)x->kind;
    }
}
Status privileges_put(Session *s, const Privileges *x) {
    Privileges *old = catalog_privileges(&s->db->catalog, x);
    if (old) TRY(session_drop_privileges(s, old));
    return session_add_privileges(s, x);
}
/* A sequence of a column is its table's owner's, a column its relation's. */
static const char *owning_relation(const Catalog *c, const Privileges *of) {
    if (of->kind == PRIVILEGE_COLUMN) return of->name;
    const Sequence *q = of->kind == PRIVILEGE_RELATION ? catalog_sequence(c, slice_of(of->name)) : NULL;
    return q ? q->owner_table : NULL;
}
Status privileges_get(const Catalog *c, Arena *a, const Privileges *of, Privileges *out) {
    const Privileges *x = catalog_privileges(c, of);
    const char *table = owning_relation(c, of);
    *out = x ? *x : *of;
    if (!x) out->owner = catalog_owner(c, of);
    if (table) out->owner = catalog_owner(c, &(Privileges){.kind = PRIVILEGE_RELATION, .name = table, .part = ""});
    if (x && x->has_acl) return ST_OK;
    TRY(acl_default(privileges_acl_kind(c, of), out->owner, a, &out->acl));
    if (of->kind != PRIVILEGE_SCHEMA || strcmp(of->name, "public") != 0 || x) return ST_OK;
    out->acl.items[out->acl.n++] = (AclItem){.grantor = out->owner, .rights = ACL_USAGE}; /* everybody may see it */
    return ST_OK;
}

/* ---- a statement ---- */

typedef struct Grant {
    Session *s;
    Arena *a;
    const AstGrant *x;
    const Catalog *c;
    int64_t *roles; /* grantees; 0: PUBLIC */
    int64_t n_roles;
} Grant;

static const char *word_of(char object) {
    switch (object) {
    case 'r': return "relation";
    case 'S': return "sequence";
    case 'n': return "schema";
    case 'D': return "database";
    case 'f': return "function";
    case 'p': return "procedure";
    case 'o': return "routine";
    case 'T': return "type";
    case 'l': return "language";
    default: return "domain";
    }
}
static char letter_of(char object) { return strchr("fpo", object) ? 'f' : object == 'd' ? 'T' : object; }
static uint32_t allowed_of(char object) { return acl_rights_of(letter_of(object)); }

static Status find_right(Session *s, const char *name, uint32_t *out) {
    *out = acl_right(name);
    if (*out) return ST_OK;
    return err_set(&s->err, ERR_SYNTAX, "unrecognized privilege type \"%s\"", name);
}
static Status check_rights(const Grant *g) {
    const AstGrant *x = g->x;
    for (int64_t i = 0; i < x->n_privileges; i++) {
        const AstPrivilege *p = &x->privileges[i];
        uint32_t right = 0;
        if (p->n_cols && x->object != 'r')
            return err_set(&g->s->err, ERR_INVALID_GRANT_OPERATION, "column privileges are only valid for relations");
        if (!p->name) continue;
        TRY(find_right(g->s, p->name, &right));
        const uint32_t allowed = p->n_cols          ? acl_rights_of('c')
                                 : x->object == 'r' ? acl_rights_of('r') | acl_rights_of('S')
                                                    : allowed_of(x->object);
        if (right & allowed) continue;
        return err_set(&g->s->err, ERR_INVALID_GRANT_OPERATION, "invalid privilege type %s for %s",
                       acl_right_name(right), p->n_cols ? "column" : word_of(x->object));
    }
    return ST_OK;
}
/* Those that are named for whole objects, or (column not NULL) for the column. */
static uint32_t rights_named(const AstGrant *x, const char *column) {
    uint32_t all = 0;
    for (int64_t i = 0; i < x->n_privileges; i++) {
        const AstPrivilege *p = &x->privileges[i];
        bool has = !column && !p->n_cols;
        for (int64_t k = 0; column && k < p->n_cols; k++) has |= strcmp(p->cols[k], column) == 0;
        if (has) all |= p->name ? acl_right(p->name) : column ? acl_rights_of('c') : 0;
    }
    return all;
}
static Status find_grantees(Grant *g) {
    const AstGrantees *y = &g->x->grantees;
    if (!(g->roles = arena_array(g->a, int64_t, y->to.n + 1))) return ST_ERROR;
    for (int64_t i = 0; i < y->to.n; i++) {
        const bool world = y->to.items[i].what == 'p';
        if (!world) TRY(role_of_spec(g->s, &y->to.items[i], &g->roles[i]));
        else g->roles[i] = 0;
        if (world && y->is_grant && y->option)
            return err_set(&g->s->err, ERR_INVALID_GRANT_OPERATION, "grant options can only be granted to roles");
    }
    g->n_roles = y->to.n;
    return ST_OK;
}
static Status merge(const Grant *g, const Acl *old, uint32_t rights, int64_t grantor, int64_t owner, Acl *out) {
    const AstGrantees *y = &g->x->grantees;
    *out = *old;
    for (int64_t i = 0; i < g->n_roles; i++) {
        const AclChange change = {.add = y->is_grant,
                                  .item = {.grantee = g->roles[i],
                                           .grantor = grantor,
                                           .rights = y->is_grant || !y->option ? rights : 0,
                                           .options = !y->is_grant || y->option ? rights : 0},
                                  .cascade = y->cascade};
        Acl next;
        /* An owner keeps grant options in any case, and PUBLIC has none. */
        TRY(acl_change(g->c, out, &change, owner, g->a, &next, &g->s->err));
        *out = next;
    }
    return ST_OK;
}

/* What of the rights the session's role can grant: 42501, or a warning, where that is not all. */
static Status restrict_rights(const Grant *g, const Privileges *x, const Acl *whole, bool all, uint32_t *rights,
                              int64_t *grantor) {
    const bool is_grant = g->x->grantees.is_grant;
    const char kind = privileges_acl_kind(g->c, x);
    const char *name = x->kind == PRIVILEGE_COLUMN     ? x->part
                       : x->kind == PRIVILEGE_DATABASE ? g->s->info.database
                                                       : x->name;
    const Routine *r = x->kind == PRIVILEGE_ROUTINE ? catalog_routine_by_id(g->c, x->routine) : NULL;
    const uint32_t wanted = *rights, mask = acl_rights_of(kind);
    const int64_t role = session_role(g->s);
    uint32_t options;
    if (r) name = r->name;
    acl_best_grantor(g->c, whole, role, x->owner, wanted, grantor, &options);
    if (!options && wanted && !acl_mask(g->c, whole, *grantor, x->owner, mask | acl_options(mask), true)) {
        const char *what = x->kind == PRIVILEGE_RELATION || x->kind == PRIVILEGE_COLUMN ? relation_word(g->c, x->name)
                           : r && r->is_procedure                                       ? "procedure"
                                                                                        : word_of(kind);
        if (x->kind == PRIVILEGE_COLUMN) name = x->name;
        if (strcmp(what, "materialized view") == 0) what = "materialized view";
        return err_set(&g->s->err, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for %s %s", what, name);
    }
    *rights = wanted & options;
    if (*rights == wanted || (*rights && all)) return ST_OK;
    const char *state = is_grant ? "01007" : "01006", *verb = is_grant ? "were granted" : "could be revoked";
    const char *of = *rights ? "not all privileges" : "no privileges";
    if (x->kind == PRIVILEGE_COLUMN)
        session_notice_text(g->s, "WARNING", state, "%s %s for column \"%s\" of relation \"%s\"", of, verb, name,
                            x->name);
    else session_notice_text(g->s, "WARNING", state, "%s %s for \"%s\"", of, verb, name);
    return ST_OK;
}
static Status grant_on(const Grant *g, const Privileges *of, uint32_t rights, bool all) {
    Privileges x;
    int64_t grantor;
    Acl next;
    TRY(privileges_get(g->c, g->a, of, &x));
    TRY(restrict_rights(g, &x, &x.acl, all, &rights, &grantor));
    TRY(merge(g, &x.acl, rights, grantor, x.owner, &next));
    x.acl = next;
    x.has_acl = true;
    return privileges_put(g->s, &x);
}

/* ---- relations ---- */

static Status grant_on_column(const Grant *g, const Privileges *table, const char *column, uint32_t rights, bool all) {
    const Privileges of = {.kind = PRIVILEGE_COLUMN, .name = table->name, .part = column};
    Privileges x;
    Acl whole, next;
    int64_t grantor;
    TRY(privileges_get(g->c, g->a, &of, &x));
    x.owner = table->owner;
    whole = (Acl){.items = arena_array(g->a, AclItem, x.acl.n + table->acl.n + 1)};
    if (!whole.items) return ST_ERROR;
    for (int i = 0; i < table->acl.n; i++) whole.items[whole.n++] = table->acl.items[i];
    for (int i = 0; i < x.acl.n; i++) whole.items[whole.n++] = x.acl.items[i];
    TRY(restrict_rights(g, &x, &whole, all, &rights, &grantor));
    TRY(merge(g, &x.acl, rights, grantor, table->owner, &next));
    x.acl = next;
    x.has_acl = true;
    if (next.n) return privileges_put(g->s, &x);
    Privileges *old = catalog_privileges(g->c, &of);
    return old ? session_drop_privileges(g->s, old) : ST_OK;
}
static Status has_column(const Grant *g, SysClass *k, const char *name) {
    TRY(object_columns(session_objects(g->s), k));
    for (int32_t i = 0; i < k->n_cols; i++)
        if (strcmp(k->cols[i].name, name) == 0) return ST_OK;
    return err_set(&g->s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", name, k->name);
}
static Status grant_on_columns(const Grant *g, SysClass *k, const Privileges *table, uint32_t of_table, bool all) {
    const AstGrant *x = g->x;
    const uint32_t of_columns = acl_rights_of('c');
    for (int64_t i = 0; i < x->n_privileges; i++)
        for (int64_t c = 0; c < x->privileges[i].n_cols; c++) TRY(has_column(g, k, x->privileges[i].cols[c]));
    TRY(object_columns(session_objects(g->s), k));
    const char **names = arena_array(g->a, const char *, k->n_cols + 1);
    const int32_t n = k->n_cols;
    if (!names) return ST_ERROR;
    for (int32_t i = 0; i < n; i++)
        if (!(names[i] = arena_strdup(g->a, k->cols[i].name))) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) { /* the objects are made anew with each change */
        uint32_t rights = rights_named(x, names[i]);
        if (!x->grantees.is_grant &&
            catalog_privileges(g->c, &(Privileges){.kind = PRIVILEGE_COLUMN, .name = table->name, .part = names[i]}))
            rights |= of_table & of_columns; /* what a table's column has goes with the table's */
        if (rights) TRY(grant_on_column(g, table, names[i], rights, all));
    }
    return ST_OK;
}
/* A table's rights, or what of them a sequence has. */
static uint32_t relation_rights(const Grant *g, const SysClass *k, bool *all) {
    const AstGrant *x = g->x;
    uint32_t rights = rights_named(x, NULL);
    *all = x->n_privileges == 0;
    if (*all) return acl_rights_of(k->kind == 'S' ? 'S' : 'r');
    if (x->object == 'S' || k->kind != 'S' || !(rights & ~acl_rights_of('S'))) return rights;
    session_notice_text(g->s, "WARNING", ERR_INVALID_GRANT_OPERATION,
                        "sequence \"%s\" only supports USAGE, SELECT, and UPDATE privileges", k->name);
    return rights & acl_rights_of('S');
}
static Status grant_on_relation(const Grant *g, SysClass *k) {
    bool all;
    const char *name = arena_strdup(g->a, k->key);
    const uint32_t rights = relation_rights(g, k, &all);
    const Privileges of = {.kind = PRIVILEGE_RELATION, .name = name, .part = ""};
    Privileges table;
    if (!name) return ST_ERROR;
    if (k->kind != 'S' && rights & ACL_USAGE)
        return err_set(&g->s->err, ERR_INVALID_GRANT_OPERATION, "invalid privilege type USAGE for table");
    TRY(privileges_get(g->c, g->a, &of, &table));
    if (rights || all) TRY(grant_on(g, &of, rights, all));
    SysClass *now = k->kind == 'S' ? NULL : object_class_of_key(session_objects(g->s), name);
    return now ? grant_on_columns(g, now, &table, rights, all) : ST_OK;
}
static Status grant_on_key(const Grant *g, const char *key) {
    const SysObjects *o = session_objects(g->s);
    SysClass *k = o ? object_class_of_key(o, key) : NULL;
    return k ? grant_on_relation(g, k) : o ? ST_OK : ST_ERROR;
}
static Status grant_on_named(const Grant *g, const AstName *name) {
    Session *s = g->s;
    AstName named;
    const AstName *n = &named;
    TRY(session_relation_name(s, g->a, name, false, &named));
    const SysObjects *o = session_objects(s);
    SysClass *k = o ? object_class_of_key(o, n->name) : NULL;
    if (!o) return ST_ERROR;
    if (!k) TRY(sql_refuse_system_relation(n->name, &s->err));
    if (!k) return err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", n->name);
    if (k->kind == 'i') return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is an index", n->name);
    if (k->kind == 'c') return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is a composite type", n->name);
    if (g->x->object == 'S' && k->kind != 'S')
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a sequence", n->name);
    return grant_on_relation(g, k);
}

/* ---- other objects ---- */

static Status grant_whole(const Grant *g, const Privileges *of) {
    const bool all = g->x->n_privileges == 0;
    return grant_on(g, of, all ? allowed_of(g->x->object) : rights_named(g->x, NULL), all);
}
static Status grant_on_type(const Grant *g, const AstName *n) {
    Session *s = g->s;
    NamedType t;
    Type own;
    TRY(session_find_type(s, n, false, &t));
    if (named_type_defined(&t)) {
        if (g->x->object == 'd' && !t.domain)
            return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a domain", n->name);
        return grant_whole(g, &(Privileges){.kind = PRIVILEGE_TYPE, .name = named_type_key(&t), .part = ""});
    }
    if (type_is_builtin(n, &own))
        return err_at(&s->err, n->location, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for type %s", n->name);
    return session_no_type(s, n);
}
static Status grant_on_language(const Grant *g, const AstName *n) {
    const BuiltinObject *x = builtin_object(IN_LANGUAGE, n->name);
    if (!x) return err_set(&g->s->err, ERR_UNDEFINED_OBJECT, "language \"%s\" does not exist", n->name);
    if (x->oid != OID_SQL && x->oid != OID_PLPGSQL) {
        err_set(&g->s->err, ERR_WRONG_OBJECT_TYPE, "language \"%s\" is not trusted", n->name);
        err_detail(&g->s->err, "GRANT and REVOKE are not allowed on untrusted languages, because only superusers can "
                               "use untrusted languages.");
        return ST_ERROR;
    }
    return grant_whole(g, &(Privileges){.kind = PRIVILEGE_LANGUAGE, .name = n->name, .part = ""});
}
static Status grant_on_routine(const Grant *g, const AstFuncSignature *q) {
    const char what = g->x->object == 'o' ? 'r' : g->x->object, *missing;
    Routine *r = NULL;
    TRY(sql_find_routine(g->c, g->a, what, q, &r, &missing, &g->s->err));
    if (!r) return sql_no_routine(what, q, missing, &g->s->err);
    return grant_whole(g, &(Privileges){.kind = PRIVILEGE_ROUTINE, .routine = r->id, .name = "", .part = ""});
}
static Status find_schema(const Grant *g, const char *name, int64_t location, const char **out) {
    *out = schema_meant(name);
    if (*out && !schema_is_others(*out) && catalog_has_schema(g->c, *out)) return ST_OK;
    return err_at(&g->s->err, location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", name);
}
static Status grant_on_object(const Grant *g, int64_t i) {
    const AstGrant *x = g->x;
    if (x->routines) return grant_on_routine(g, &x->routines[i]);
    const AstName *n = &x->names[i];
    const char *in;
    switch (x->object) {
    case 'n':
        TRY(find_schema(g, n->name, n->location, &in));
        return grant_whole(g, &(Privileges){.kind = PRIVILEGE_SCHEMA, .name = in, .part = ""});
    case 'D':
        if (strcmp(n->name, g->s->info.database) != 0)
            return err_set(&g->s->err, ERR_UNDEFINED_DATABASE, "database \"%s\" does not exist", n->name);
        return grant_whole(g, &(Privileges){.kind = PRIVILEGE_DATABASE, .name = "", .part = ""});
    case 'T':
    case 'd': return grant_on_type(g, n);
    case 'l': return grant_on_language(g, n);
    default: return grant_on_named(g, n);
    }
}
/* ALL TABLES IN SCHEMA and the like. */
static Status grant_on_all(const Grant *g, const AstName *schema) {
    const AstGrant *x = g->x;
    const char *in;
    TRY(find_schema(g, schema->name, schema->location, &in));
    for (int64_t i = 0; strchr("fpo", x->object) && i < g->c->n_routines; i++) {
        const Routine *r = g->c->routines[i];
        if (r->generic || !key_is_in(r->name, in) || (x->object != 'o' && (x->object == 'p') != r->is_procedure))
            continue;
        TRY(grant_whole(g, &(Privileges){.kind = PRIVILEGE_ROUTINE, .routine = r->id, .name = "", .part = ""}));
    }
    for (int64_t i = 0; x->object == 'S' && i < g->c->n_sequences; i++)
        if (key_is_in(g->c->sequences[i]->name, in))
            TRY(grant_whole(g,
                            &(Privileges){.kind = PRIVILEGE_RELATION, .name = g->c->sequences[i]->name, .part = ""}));
    if (x->object != 'r') return ST_OK;
    for (int64_t i = 0; i < g->c->n_tables; i++)
        if (key_is_in(g->c->tables[i]->name, in)) TRY(grant_on_key(g, g->c->tables[i]->name));
    for (int64_t i = 0; i < g->c->n_views; i++)
        if (!g->c->views[i]->materialized && key_is_in(g->c->views[i]->name, in))
            TRY(grant_on_key(g, g->c->views[i]->name));
    return ST_OK;
}

/* ---- ALTER DEFAULT PRIVILEGES ---- */

static int by_grantee(const void *x, const void *y) {
    const AclItem *a = x, *b = y;
    if (a->grantee != b->grantee) return a->grantee < b->grantee ? -1 : 1;
    return a->grantor < b->grantor ? -1 : a->grantor > b->grantor;
}
void privileges_sort(Acl *acl) {
    if (acl->n > 1) qsort(acl->items, (size_t)acl->n, sizeof *acl->items, by_grantee);
}

static Status change_default(const Grant *g, int64_t role, const char *schema) {
    const char part[] = {letter_of(g->x->object), 0};
    Privileges of = {.kind = PRIVILEGE_DEFAULT, .name = schema, .part = part, .owner = role, .has_acl = true};
    Privileges *old = catalog_privileges(g->c, &of);
    Acl from = {0}, next;
    if (!*schema) TRY(acl_default(*part, role, g->a, &from));
    const uint32_t rights = g->x->n_privileges ? rights_named(g->x, NULL) : allowed_of(g->x->object);
    TRY(merge(g, old ? &old->acl : &from, rights, role, role, &next));
    privileges_sort(&next);
    of.acl = next;
    if (!acl_equal(&next, &from)) return privileges_put(g->s, &of);
    return old ? session_drop_privileges(g->s, old) : ST_OK;
}
static Status change_defaults(const Grant *g) {
    const AstGrant *x = g->x;
    const AstRoleSpec me = {.what = 'c'};
    const AstRoleSpecs own = {.n = 1, .items = (AstRoleSpec *)(uintptr_t)&me};
    const AstRoleSpecs *roles = x->for_roles.n ? &x->for_roles : &own;
    if (x->object == 'n' && x->n_in_schemas)
        return err_set(&g->s->err, ERR_INVALID_GRANT_OPERATION,
                       "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS");
    for (int64_t i = 0; i < roles->n; i++) {
        int64_t role;
        TRY(role_of_spec(g->s, &roles->items[i], &role));
        if (!x->n_in_schemas) TRY(change_default(g, role, ""));
        for (int64_t k = 0; k < x->n_in_schemas; k++) {
            const char *in;
            TRY(find_schema(g, x->in_schemas[k], 0, &in));
            TRY(change_default(g, role, in));
        }
    }
    return ST_OK;
}

Status grant_statement(Session *s, Statement *st, const AstGrant *x) {
    Grant g = {.s = s, .a = st->run_arena, .x = x, .c = &s->db->catalog};
    tag(st, x->target == 'd' ? "ALTER DEFAULT PRIVILEGES" : x->grantees.is_grant ? "GRANT" : "REVOKE");
    TRY(session_begin_write(s));
    if (x->grantees.grantor) {
        int64_t grantor;
        TRY(role_of_spec(s, x->grantees.grantor, &grantor));
        if (grantor != session_role(s))
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "grantor must be current user");
    }
    TRY(find_grantees(&g));
    TRY(check_rights(&g));
    if (x->target == 'd') return change_defaults(&g);
    for (int64_t i = 0; i < x->n_names; i++)
        TRY(x->target == 'a' ? grant_on_all(&g, &x->names[i]) : grant_on_object(&g, i));
    return ST_OK;
}
