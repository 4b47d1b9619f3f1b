/* policies.c - CREATE, ALTER and DROP POLICY, ALTER TABLE .. ROW LEVEL SECURITY (catalog/row_security.h).
 *
 * As privileges, policies are kept and shown, and no statement is refused or filtered because of them; ENABLE says so.
 */
#include "catalog/similar_names.h"
#include "session/ddl/access.h"
#include "session/ddl/depend.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

/* What is there of a table, in the arena, with room for one more policy. */
typedef struct Draft {
    Session *s;
    Arena *a;
    const Table *t;
    RowSecurity x;
    Policy *policies;
} Draft;

static Status begin_draft(Session *s, Arena *a, const Table *t, Draft *out) {
    const RowSecurity *old = catalog_row_security(&s->db->catalog, t->name);
    *out = (Draft){.s = s, .a = a, .t = t, .x = {.table = t->name}};
    if (old) out->x = *old;
    if (!(out->policies = arena_array(a, Policy, out->x.n_policies + 1))) return err_oom(&s->err);
    if (out->x.n_policies) memcpy(out->policies, out->x.policies, sizeof(Policy) * (size_t)out->x.n_policies);
    out->x.policies = out->policies;
    return ST_OK;
}
static Status put(Draft *d) {
    const RowSecurity *x = &d->x;
    RowSecurity *old = catalog_row_security(&d->s->db->catalog, x->table);
    if (x->n_policies || x->enabled || x->forced) return session_put_row_security(d->s, x);
    return old ? session_drop_row_security(d->s, old) : ST_OK;
}
static int find(const Draft *d, const char *name) {
    for (int i = 0; i < d->x.n_policies; i++)
        if (strcmp(d->policies[i].name, name) == 0) return i;
    return -1;
}

/* ---- parts ---- */

/* A condition over the table's columns, as it is kept. */
static Status condition(Draft *d, Slice source, const char **out) {
    Session *s = d->s;
    ColumnDef *cols = arena_array(d->a, ColumnDef, d->t->n_cols + 1);
    const char *table = quote_relation(d->a, d->t->name);
    AstStmt **list;
    int64_t n;
    PlanCtx c;
    BoundStmt *b;
    const char *sql =
        table ? arena_printf(d->a, "select 1 from %s where (%.*s\n)", table, (int)source.len, source.ptr) : NULL;
    if (!cols || !sql) return err_oom(&s->err);
    for (int i = 0; i < d->t->n_cols; i++)
        cols[i] = (ColumnDef){.name = d->t->cols[i].name, .type = d->t->cols[i].type};
    plan_ctx_init(s, d->a, &c);
    const Status st =
        sql_parse(d->a, slice_of(sql), &list, &n, &s->err) == ST_OK ? sql_bind(&c, list[0], 0, NULL, &b) : ST_ERROR;
    s->err.position = 0;
    TRY(st);
    return stored_expression(s, d->a, d->t->name, d->t->n_cols, cols, source, out);
}
static Status set_roles(Draft *d, const AstRoleSpecs *roles, Policy *p) {
    int64_t *ids = arena_array(d->a, int64_t, roles->n + 1);
    if (!ids) return err_oom(&d->s->err);
    p->n_roles = 0;
    p->roles = ids;
    for (int64_t i = 0; i < roles->n; i++) {
        if (roles->items[i].what == 'p') return p->n_roles = 0, ST_OK;
        TRY(role_of_spec(d->s, &roles->items[i], &ids[p->n_roles++]));
    }
    return ST_OK;
}
static Status check_command(Session *s, char command, bool using, bool check) {
    if (check && (command == 'r' || command == 'd'))
        return err_set(&s->err, ERR_SYNTAX, "WITH CHECK cannot be applied to SELECT or DELETE");
    if (using && command == 'a') return err_set(&s->err, ERR_SYNTAX, "only WITH CHECK expression allowed for INSERT");
    return ST_OK;
}
static Status set_parts(Draft *d, const AstPolicy *x, Policy *p) {
    if (x->roles.n) TRY(set_roles(d, &x->roles, p));
    if (x->using_expr) TRY(condition(d, x->using_source, &p->using_sql));
    if (x->check_expr) TRY(condition(d, x->check_source, &p->check_sql));
    return ST_OK;
}

/* ---- statements ---- */

static Status find_table(Session *s, Arena *a, const AstPolicy *x, bool missing_ok, const Table **out) {
    const Catalog *c = &s->db->catalog;
    AstName n;
    TRY(session_relation_name(s, a, &x->table, missing_ok, &n));
    *out = catalog_matview(c, slice_of(n.name)) ? NULL : catalog_table(c, slice_of(n.name));
    if (*out) return ST_OK;
    if (catalog_relation_exists(c, slice_of(n.name)))
        return err_at(&s->err, n.location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a table", x->table.name);
    if (!missing_ok) return catalog_no_relation(c, n.name, n.location, &s->err);
    session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", x->table.name);
    return ST_OK;
}
static Status no_policy(Draft *d, const AstPolicy *x) {
    if (!x->if_exists)
        return err_set(&d->s->err, ERR_UNDEFINED_OBJECT, "policy \"%s\" for table \"%s\" does not exist", x->name,
                       d->t->name);
    session_notice_text(d->s, "NOTICE", "00000", "policy \"%s\" for relation \"%s\" does not exist, skipping", x->name,
                        name_of_key(d->t->name));
    return ST_OK;
}
static Status taken(Draft *d, const char *name) {
    return err_set(&d->s->err, ERR_DUPLICATE_OBJECT, "policy \"%s\" for table \"%s\" already exists", name, d->t->name);
}
static Status change_policy(Draft *d, const AstPolicy *x) {
    const int at = find(d, x->name);
    if (at < 0) return no_policy(d, x);
    Policy *p = &d->policies[at];
    switch (x->action) {
    case 'r':
        if (find(d, x->new_name) >= 0) return taken(d, x->new_name);
        p->name = x->new_name;
        break;
    case 'd':
        d->x.n_policies--;
        memmove(p, p + 1, sizeof *p * (size_t)(d->x.n_policies - at));
        break;
    default:
        TRY(check_command(d->s, p->command, x->using_expr != NULL, x->check_expr != NULL));
        TRY(set_parts(d, x, p));
    }
    return put(d);
}
static Status create_policy(Draft *d, const AstPolicy *x) {
    if (find(d, x->name) >= 0) return taken(d, x->name);
    Policy *p = &d->policies[d->x.n_policies];
    *p = (Policy){.name = x->name, .command = x->command, .restrictive = x->restrictive};
    TRY(set_parts(d, x, p));
    d->x.n_policies++;
    return put(d);
}
static Status change_table(Draft *d, char action) {
    if (action == 'e' || action == 'x') d->x.enabled = action == 'e';
    else d->x.forced = action == 'f';
    if (action == 'e')
        session_notice_text(d->s, "NOTICE", "00000", "row level security of \"%s\" is kept, and not enforced",
                            name_of_key(d->t->name));
    return put(d);
}

Status policy_statement(Session *s, Statement *st, const AstPolicy *x) {
    const Table *t;
    Draft d;
    TRY(session_begin_write(s));
    tag(st, ast_stmt_tag((const AstStmt *)x));
    if (x->action == 'c') {
        if (!x->command) return err_set(&s->err, ERR_SYNTAX, "unrecognized policy command");
        TRY(check_command(s, x->command, x->using_expr != NULL, x->check_expr != NULL));
    }
    TRY(find_table(s, st->run_arena, x, x->if_exists, &t));
    if (!t) return ST_OK;
    TRY(begin_draft(s, st->run_arena, t, &d));
    if (x->action == 'c') return create_policy(&d, x);
    return strchr("ard", x->action) ? change_policy(&d, x) : change_table(&d, x->action);
}

/* ---- as tables and roles change ---- */

Status policy_drop(Session *s, Arena *a, const char *table, const char *name) {
    const Table *t = catalog_table(&s->db->catalog, slice_of(table));
    Draft d;
    if (!t) return ST_OK; /* it has gone with another one */
    TRY(begin_draft(s, a, t, &d));
    return find(&d, name) < 0 ? ST_OK : change_policy(&d, &(AstPolicy){.action = 'd', .name = name});
}
bool policy_uses_column(Session *s, Arena *a, const Table *t, const Policy *p, int col) {
    return (p->using_sql && text_uses_column(s, a, t, p->using_sql, col)) ||
           (p->check_sql && text_uses_column(s, a, t, p->check_sql, col));
}

Status row_security_rename(Session *s, const char *table, const char *new_table) {
    RowSecurity *old = catalog_row_security(&s->db->catalog, table);
    if (!old) return ST_OK;
    RowSecurity like = *old;
    like.table = new_table;
    TRY(session_put_row_security(s, &like));
    return session_drop_row_security(s, old);
}
Status row_security_rename_column(Session *s, Arena *a, const Table *t, int col, const char *new_name) {
    Draft d;
    if (!catalog_row_security(&s->db->catalog, t->name)) return ST_OK;
    TRY(begin_draft(s, a, t, &d));
    for (int i = 0; i < d.x.n_policies; i++) {
        Policy *p = &d.policies[i];
        if (p->using_sql) TRY(rename_in_text(s, a, t, col, new_name, p->using_sql, &p->using_sql));
        if (p->check_sql) TRY(rename_in_text(s, a, t, col, new_name, p->check_sql, &p->check_sql));
    }
    return put(&d);
}
Status row_security_sweep(Session *s) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->row_security.n - 1; i >= 0; i--)
        if (!catalog_table(c, slice_of(c->row_security.items[i]->table)))
            TRY(session_drop_row_security(s, c->row_security.items[i]));
    return ST_OK;
}
Status row_security_of_role(const Catalog *c, Arena *a, int64_t role, const char **detail) {
    for (int64_t i = 0; i < c->row_security.n; i++) {
        const RowSecurity *x = c->row_security.items[i];
        for (int k = 0; k < x->n_policies; k++)
            for (int r = 0; r < x->policies[k].n_roles; r++) {
                if (x->policies[k].roles[r] != role) continue;
                *detail = arena_printf(a, "%s%starget of policy %s on table %s", *detail ? *detail : "",
                                       *detail ? "\n" : "", x->policies[k].name, name_of_key(x->table));
                if (!*detail) return ST_ERROR;
            }
    }
    return ST_OK;
}
