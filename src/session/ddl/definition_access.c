/* definition_access.c - roles, owners and privileges as the statements that make them. See definition.h.
 *
 * Grants are written as what they change of those that an object has by default. One that another role than the owner
 * has made is written with that role as the session's, behind those of the owner. */
#include <stdlib.h>

#include "session/ddl/access.h"
#include "session/ddl/definition.h"

typedef struct Writer {
    Session *s;
    Arena *a;
    const Catalog *c;
    Definitions *out;
} Writer;

static Status add(Writer *w, const char *kind, const char *name, const char *table, const char *create) {
    if (!name || !create) return ST_ERROR; /* out of memory, which the arena has said */
    const Definition d = {.kind = kind,
                          .name = name,
                          .table = table,
                          .target = "",
                          .create = create,
                          .drop = "",
                          .drop_if_exists = "",
                          .problem = "",
                          .after_data = true};
    return vec_push(w->a, &w->out->list, d) ? ST_OK : ST_ERROR;
}
static const char *role(const Writer *w, int64_t id) {
    return id ? definition_name(w->a, role_name(w->c, id)) : "PUBLIC";
}
static int by_name(const void *x, const void *y) {
    return strcmp(((const Definition *)x)->name, ((const Definition *)y)->name);
}
static void sort_from(Writer *w, int64_t from) {
    const int64_t n = w->out->list.len - from;
    if (n > 1) qsort(&w->out->list.items[from], (size_t)n, sizeof(Definition), by_name);
}

/* ---- objects ---- */

/* TABLE t, with the word that GRANT (grant) or ALTER .. OWNER TO has for it. NULL: it is not in a dump. */
static const char *object(const Writer *w, const Privileges *x, bool grant) {
    const Slice n = slice_of(x->name);
    const Routine *r;
    const char *word, *name = x->name;
    switch (x->kind) {
    case PRIVILEGE_RELATION:
    case PRIVILEGE_COLUMN:
        word = catalog_sequence(w->c, n)  ? "SEQUENCE"
               : grant                    ? "TABLE"
               : catalog_matview(w->c, n) ? "MATERIALIZED VIEW"
               : catalog_view(w->c, n)    ? "VIEW"
                                          : "TABLE";
        break;
    case PRIVILEGE_TYPE: word = catalog_domain(w->c, n) ? "DOMAIN" : "TYPE"; break;
    case PRIVILEGE_ROUTINE:
        if (!(r = catalog_routine_by_id(w->c, x->routine))) return NULL;
        return arena_printf(w->a, "%s %s", routine_is_aggregate(r) && grant ? "FUNCTION" : definition_routine_kind(r),
                            definition_drop_name(w->a, r));
    case PRIVILEGE_SCHEMA: word = "SCHEMA"; break;
    case PRIVILEGE_LANGUAGE: word = "LANGUAGE"; break;
    default: return NULL; /* another database restores it */
    }
    return (name = definition_name(w->a, name)) ? arena_printf(w->a, "%s %s", word, name) : NULL;
}
static Status add_owner(Writer *w, const Privileges *x) {
    const char *what = object(w, x, false);
    const Sequence *q = x->kind == PRIVILEGE_RELATION ? catalog_sequence(w->c, slice_of(x->name)) : NULL;
    const bool by_default =
        x->owner ==
        (x->kind == PRIVILEGE_SCHEMA && strcmp(x->name, KEY_PUBLIC) == 0 ? ROLE_DATABASE_OWNER : ROLE_BOOTSTRAP);
    if (!what || by_default || x->kind == PRIVILEGE_COLUMN || (q && q->owner_table)) return ST_OK;
    return add(w, "OWNER", what, x->name, arena_printf(w->a, "ALTER %s OWNER TO %s", what, role(w, x->owner)));
}

/* ---- grants ---- */

/* SELECT, INSERT or, with a column, SELECT (a), INSERT (a). */
static const char *rights_text(const Writer *w, uint32_t rights, char kind, const char *column) {
    const char *text = "", *of = column ? definition_name(w->a, column) : NULL;
    if (!column && rights == acl_rights_of(kind)) return "ALL";
    for (uint32_t right = 1; right & ACL_ALL && text; right <<= 1)
        if (rights & right)
            text = of ? arena_printf(w->a, "%s%s%s (%s)", text, *text ? ", " : "", acl_right_name(right), of)
                      : arena_printf(w->a, "%s%s%s", text, *text ? ", " : "", acl_right_name(right));
    return text;
}
typedef struct GrantText {
    const char *text; /* statements so far, with ; between them; NULL: no memory */
    const char *before, *on;
    char kind;
    const char *column;
} GrantText;
static void put(const Writer *w, GrantText *g, const char *statement) {
    if (g->text && statement)
        g->text = arena_printf(w->a, "%s%s%s%s", g->text, *g->text ? ";\n" : "", g->before, statement);
    else g->text = NULL;
}
static void put_grant(const Writer *w, GrantText *g, const AclItem *x) {
    const uint32_t plain = x->rights & ~x->options, with = x->options;
    const char *to = role(w, x->grantee);
    if (plain)
        put(w, g, arena_printf(w->a, "GRANT %s ON %s TO %s", rights_text(w, plain, g->kind, g->column), g->on, to));
    if (with)
        put(w, g,
            arena_printf(w->a, "GRANT %s ON %s TO %s WITH GRANT OPTION", rights_text(w, with, g->kind, g->column),
                         g->on, to));
}
static const AclItem *item_of(const Acl *acl, int64_t grantee, int64_t grantor) {
    for (int i = 0; i < acl->n; i++)
        if (acl->items[i].grantee == grantee && acl->items[i].grantor == grantor) return &acl->items[i];
    return NULL;
}
static bool same(const AclItem *x, const AclItem *y) {
    return x && y && x->rights == y->rights && x->options == y->options;
}
/* From what holds by default to what is there. */
static void put_changes(const Writer *w, GrantText *g, const Acl *from, const Acl *to, int64_t owner) {
    for (int i = 0; i < from->n; i++) {
        const AclItem *x = &from->items[i], *now = item_of(to, x->grantee, x->grantor);
        if (!now || (x->rights & ~now->rights) || (x->options & ~now->options))
            put(w, g, arena_printf(w->a, "REVOKE ALL ON %s FROM %s", g->on, role(w, x->grantee)));
    }
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < to->n; i++) {
            const AclItem *x = &to->items[i], *had = item_of(from, x->grantee, x->grantor);
            if ((x->grantor == owner) != (pass == 0) || same(x, had)) continue;
            if (pass) put(w, g, arena_printf(w->a, "SET SESSION AUTHORIZATION %s", role(w, x->grantor)));
            put_grant(w, g, x);
            if (pass) put(w, g, "RESET SESSION AUTHORIZATION");
        }
}
static Status add_grants(Writer *w, const Privileges *x) {
    GrantText g = {.text = "", .before = "", .kind = privileges_acl_kind(w->c, x)};
    Acl from = {0};
    if (!x->has_acl || !(g.on = object(w, x, true))) return ST_OK;
    if (x->kind == PRIVILEGE_COLUMN) g.column = x->part;
    else TRY(acl_default(g.kind, x->owner, w->a, &from));
    if (x->kind == PRIVILEGE_SCHEMA && strcmp(x->name, "public") == 0)
        from.items[from.n++] = (AclItem){.grantor = x->owner, .rights = ACL_USAGE};
    put_changes(w, &g, &from, &x->acl, x->owner);
    if (g.text && !*g.text) return ST_OK;
    const char *name = g.column ? arena_printf(w->a, "%s %s", g.on, g.column) : g.on;
    return add(w, "ACL", name, x->name, g.text);
}
static Status add_defaults(Writer *w, const Privileges *x) {
    static const char *const words[][2] = {
        {"r", "TABLES"}, {"S", "SEQUENCES"}, {"f", "FUNCTIONS"}, {"T", "TYPES"}, {"n", "SCHEMAS"}};
    const char *in = *x->name ? definition_name(w->a, x->name) : "";
    GrantText g = {.text = "", .kind = *x->part};
    Acl from = {0};
    for (int64_t i = 0; i < ARRAY_LEN(words); i++)
        if (*words[i][0] == *x->part) g.on = words[i][1];
    if (!*x->name) TRY(acl_default(*x->part, x->owner, w->a, &from));
    if (!in) return ST_ERROR;
    g.before = arena_printf(w->a, "ALTER DEFAULT PRIVILEGES FOR ROLE %s%s%s ", role(w, x->owner),
                            *in ? " IN SCHEMA " : "", in);
    if (!g.before) return ST_ERROR;
    put_changes(w, &g, &from, &x->acl, x->owner);
    return add(w, "DEFAULT ACL", arena_printf(w->a, "%s %s %s", role_name(w->c, x->owner), x->name, g.on), "", g.text);
}
/* ---- row level security ---- */

static const char *policy_text(const Writer *w, const char *table, const Policy *p) {
    static const char *const commands[] = {"*", "r SELECT", "a INSERT", "w UPDATE", "d DELETE"};
    const char *name = definition_name(w->a, p->name), *to = "", *text;
    for (int i = 0; to && i < p->n_roles; i++)
        to = arena_printf(w->a, "%s%s", *to ? arena_printf(w->a, "%s, ", to) : " TO ", role(w, p->roles[i]));
    text = name && to
               ? arena_printf(w->a, "CREATE POLICY %s ON %s%s", name, table, p->restrictive ? " AS RESTRICTIVE" : "")
               : NULL;
    for (int i = 1; text && i < 5; i++)
        if (commands[i][0] == p->command) text = arena_printf(w->a, "%s FOR %s", text, commands[i] + 2);
    text = text ? arena_printf(w->a, "%s%s", text, to) : NULL;
    if (text && p->using_sql) text = arena_printf(w->a, "%s USING (%s\n)", text, p->using_sql);
    return text && p->check_sql ? arena_printf(w->a, "%s WITH CHECK (%s\n)", text, p->check_sql) : text;
}
static Status add_row_security(Writer *w, const RowSecurity *x) {
    const char *table = definition_name(w->a, x->table);
    if (!table) return ST_ERROR;
    if (x->enabled)
        TRY(add(w, "ROW SECURITY", table, x->table,
                arena_printf(w->a, "ALTER TABLE %s ENABLE ROW LEVEL SECURITY", table)));
    if (x->forced)
        TRY(add(w, "ROW SECURITY", table, x->table,
                arena_printf(w->a, "ALTER TABLE %s FORCE ROW LEVEL SECURITY", table)));
    for (int i = 0; i < x->n_policies; i++)
        TRY(add(w, "POLICY", arena_printf(w->a, "%s %s", table, x->policies[i].name), x->table,
                policy_text(w, table, &x->policies[i])));
    return ST_OK;
}
Status definitions_access(Session *s, Arena *a, const Catalog *c, Definitions *out) {
    Writer w = {s, a, c, out};
    int64_t from = out->list.len;
    for (int64_t i = 0; i < w.c->n_privileges; i++)
        if (w.c->privileges[i]->kind != PRIVILEGE_DEFAULT) TRY(add_owner(&w, w.c->privileges[i]));
    sort_from(&w, from);
    from = out->list.len;
    for (int64_t i = 0; i < w.c->n_privileges; i++)
        if (w.c->privileges[i]->kind != PRIVILEGE_DEFAULT) TRY(add_grants(&w, w.c->privileges[i]));
    sort_from(&w, from);
    from = out->list.len;
    for (int64_t i = 0; i < w.c->n_privileges; i++)
        if (w.c->privileges[i]->kind == PRIVILEGE_DEFAULT) TRY(add_defaults(&w, w.c->privileges[i]));
    sort_from(&w, from);
    from = out->list.len;
    for (int64_t i = 0; i < w.c->row_security.n; i++) TRY(add_row_security(&w, w.c->row_security.items[i]));
    sort_from(&w, from);
    return ST_OK;
}
