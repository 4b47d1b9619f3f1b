/* owners.c - owners of objects: ALTER .. OWNER TO, REASSIGN OWNED, DROP OWNED, what new objects get; and privileges as
 * their objects change. See access.h. */
#include "base/stack.h"
#include "session/ddl/access.h"
#include "session/ddl/utility_int.h"
#include "session/system/objects.h"
#include "sql/bind/bind.h"
#include "types/composite.h"
#include "types/enums.h"
#include "types/range.h"

/* ---- another owner ---- */

static Status change_one(Session *s, Arena *a, const Privileges *of, int64_t to) {
    Privileges x;
    const bool has = catalog_privileges(&s->db->catalog, of) != NULL;
    TRY(privileges_get(&s->db->catalog, a, of, &x));
    if (x.owner == to && has) return ST_OK;
    Acl next = {0};
    if (x.has_acl || of->kind == PRIVILEGE_SCHEMA) TRY(acl_new_owner(&x.acl, x.owner, to, a, &next));
    x.has_acl = x.has_acl || (of->kind == PRIVILEGE_SCHEMA && strcmp(of->name, "public") == 0);
    x.acl = next;
    x.owner = to;
    return privileges_put(s, &x);
}
Status owner_change(Session *s, Arena *a, const Privileges *of, int64_t to) {
    const Catalog *c = &s->db->catalog;
    Privileges old;
    TRY(privileges_get(c, a, of, &old));
    const int64_t from = old.owner;
    TRY(change_one(s, a, of, to));
    if (of->kind != PRIVILEGE_RELATION) return ST_OK;
    for (int64_t i = 0; i < c->n_sequences; i++) { /* those of its columns */
        const Sequence *q = c->sequences[i];
        const Privileges x = {.kind = PRIVILEGE_RELATION, .name = q->name, .part = ""};
        if (q->owner_table && strcmp(q->owner_table, of->name) == 0) TRY(change_one(s, a, &x, to));
    }
    for (int64_t i = c->n_privileges - 1; i >= 0; i--) { /* grants on its columns */
        Privileges x = *c->privileges[i];
        Acl next;
        if (x.kind != PRIVILEGE_COLUMN || strcmp(x.name, of->name) != 0) continue;
        TRY(acl_new_owner(&x.acl, from, to, a, &next));
        x.acl = next;
        TRY(privileges_put(s, &x));
    }
    return ST_OK;
}

static Status not_a(Session *s, const AstName *n, const char *is) {
    return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not %s", n->name, is);
}
static Status relation_owner(Session *s, Arena *a, const AstOwner *x, int64_t to) {
    static const struct {
        AstObject object;
        char kind;
        const char *is;
    } kinds[] = {{AST_OBJ_VIEW, 'v', "a view"},
                 {AST_OBJ_MATVIEW, 'm', "a materialized view"},
                 {AST_OBJ_INDEX, 'i', "an index"},
                 {AST_OBJ_SEQUENCE, 'S', "a sequence"}};
    AstName named;
    const AstName *n = &named;
    TRY(session_relation_name(s, a, &x->name, x->if_exists, &named));
    const SysObjects *o = session_objects(s);
    if (!o) return ST_ERROR;
    const SysClass *k = object_class_of_key(o, n->name);
    if (!k) TRY(sql_refuse_system_relation(n->name, &s->err));
    if (!k && x->if_exists) {
        session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", n->name);
        return ST_OK;
    }
    if (!k) return err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", n->name);
    for (int64_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].object == x->object && kinds[i].kind != k->kind) return not_a(s, n, kinds[i].is);
    if (k->kind == 'c') {
        err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is a composite type", n->name);
        err_hint(&s->err, "Use ALTER TYPE instead.");
        return ST_ERROR;
    }
    if (k->kind == 'i') {
        session_notice_text(s, "WARNING", ERR_WRONG_OBJECT_TYPE, "cannot change owner of index \"%s\"", n->name);
        return ST_OK;
    }
    const Privileges of = {.kind = PRIVILEGE_RELATION, .name = n->name, .part = ""};
    if (k->sequence && k->sequence->owner_table &&
        to != catalog_owner(&s->db->catalog,
                            &(Privileges){.kind = PRIVILEGE_RELATION, .name = k->sequence->owner_table, .part = ""})) {
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot change owner of sequence \"%s\"", n->name);
        err_detail(&s->err, "Sequence \"%s\" is linked to table \"%s\".", n->name, k->sequence->owner_table);
        return ST_ERROR;
    }
    return owner_change(s, a, &of, to);
}
static Status type_owner(Session *s, Arena *a, const AstOwner *x, int64_t to) {
    NamedType t;
    Type own;
    TRY(session_find_type(s, &x->name, false, &t));
    if (t.table || t.view) {
        err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is a table's row type", x->name.name);
        err_hint(&s->err, "Use ALTER TABLE instead.");
        return ST_ERROR;
    }
    if (!named_type_defined(&t)) {
        if (type_is_builtin(&x->name, &own))
            return err_at(&s->err, x->name.location, ERR_INSUFFICIENT_PRIVILEGE, "must be owner of type %s",
                          x->name.name);
        return session_no_type(s, &x->name);
    }
    if (x->object == AST_OBJ_DOMAIN && !t.domain)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "%s is not a domain", x->name.name);
    return owner_change(s, a, &(Privileges){.kind = PRIVILEGE_TYPE, .name = named_type_key(&t), .part = ""}, to);
}
static Status routine_owner(Session *s, Arena *a, const AstOwner *x, int64_t to) {
    const char *missing;
    Routine *r = NULL;
    TRY(sql_find_routine(&s->db->catalog, a, x->what, x->routine, &r, &missing, &s->err));
    if (!r) return sql_no_routine(x->what, x->routine, missing, &s->err);
    const Privileges of = {.kind = PRIVILEGE_ROUTINE, .routine = r->id, .name = "", .part = ""};
    return owner_change(s, a, &of, to);
}
Status owner_statement(Session *s, Statement *st, const AstOwner *x) {
    Arena *a = st->run_arena;
    int64_t to;
    tag(st, ast_stmt_tag((const AstStmt *)x));
    TRY(session_begin_write(s));
    TRY(role_of_spec(s, x->owner, &to));
    switch (x->object) {
    case AST_OBJ_TYPE:
    case AST_OBJ_DOMAIN: return type_owner(s, a, x, to);
    case AST_OBJ_ROUTINE: return routine_owner(s, a, x, to);
    case AST_OBJ_SCHEMA:
        if (!catalog_has_schema(&s->db->catalog, x->name.name))
            return err_at(&s->err, x->name.location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist",
                          x->name.name);
        return owner_change(s, a, &(Privileges){.kind = PRIVILEGE_SCHEMA, .name = x->name.name, .part = ""}, to);
    case AST_OBJ_DATABASE:
        if (strcmp(x->name.name, s->info.database) != 0)
            return err_set(&s->err, ERR_UNDEFINED_DATABASE, "database \"%s\" does not exist", x->name.name);
        return owner_change(s, a, &(Privileges){.kind = PRIVILEGE_DATABASE, .name = "", .part = ""}, to);
    default: return relation_owner(s, a, x, to);
    }
}

/* ---- DROP OWNED, REASSIGN OWNED ---- */

static bool is_owned(const Privileges *x, int64_t role) {
    return x->owner == role && x->kind != PRIVILEGE_COLUMN && x->kind != PRIVILEGE_DEFAULT;
}
/* No grants to the role are left. */
static Status revoke_all(Session *s, Arena *a, int64_t role) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->n_privileges - 1; i >= 0; i--) {
        Privileges x = *c->privileges[i];
        bool changed = false;
        for (int k = 0; k < x.acl.n;) {
            const AclItem y = x.acl.items[k];
            const AclChange take = {.item = {y.grantee, y.grantor, ACL_ALL, ACL_ALL}, .cascade = true};
            Acl next;
            if (y.grantee != role) {
                k++;
                continue;
            }
            TRY(acl_change(c, &x.acl, &take, x.owner, a, &next, &s->err));
            x.acl = next;
            changed = true;
            k = 0;
        }
        const bool own_default = x.kind == PRIVILEGE_DEFAULT && x.owner == role;
        const bool empty = x.acl.n == 0 && x.kind == PRIVILEGE_COLUMN;
        if (own_default || (changed && empty)) TRY(session_drop_privileges(s, c->privileges[i]));
        else if (changed) TRY(privileges_put(s, &x));
    }
    return ST_OK;
}
/* DROP of the words of the role's objects for which `is` holds. */
static Status drop_kind(Session *s, Statement *st, int64_t role, AstObject object, const char *words, bool cascade) {
    const Catalog *c = &s->db->catalog;
    AstName *names = arena_array(st->run_arena, AstName, c->n_privileges + 1);
    AstDrop x = {.kind = AST_DROP, .object = object, .object_name = words, .names = names, .cascade = cascade};
    if (!names) return ST_ERROR;
    TRY(stack_check(&s->err));
    for (int64_t i = 0; i < c->n_privileges; i++) {
        const Privileges *p = c->privileges[i];
        const Slice n = slice_of(p->name);
        const Sequence *q = catalog_sequence(c, n);
        const AstObject is = p->kind == PRIVILEGE_TYPE       ? AST_OBJ_TYPE
                             : p->kind != PRIVILEGE_RELATION ? AST_OBJ_OTHER
                             : q                             ? AST_OBJ_SEQUENCE
                             : catalog_matview(c, n)         ? AST_OBJ_MATVIEW
                             : catalog_view(c, n)            ? AST_OBJ_VIEW
                                                             : AST_OBJ_TABLE;
        if (is != object || !is_owned(p, role) || (q && q->owner_table)) continue;
        names[x.n_names].schema = key_has_schema(p->name) ? NULL : KEY_PUBLIC;
        if (!(names[x.n_names++].name = arena_strdup(st->run_arena, p->name))) return ST_ERROR;
    }
    if (x.n_names == 0) return ST_OK;
    TRY(session_utility(s, st, (const AstStmt *)&x));
    return ST_OK;
}
static Status drop_routines(Session *s, int64_t role) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->n_routines - 1; i >= 0; i--) {
        const Privileges of = {.kind = PRIVILEGE_ROUTINE, .routine = c->routines[i]->id, .name = "", .part = ""};
        const Privileges *x = catalog_privileges(c, &of);
        if (x && x->owner == role) TRY(session_drop_routine(s, c->routines[i]));
    }
    return ST_OK;
}
static Status drop_owned(Session *s, Statement *st, int64_t role, bool cascade) {
    TRY(drop_kind(s, st, role, AST_OBJ_VIEW, "VIEW", cascade));
    TRY(drop_kind(s, st, role, AST_OBJ_MATVIEW, "MATERIALIZED VIEW", cascade));
    TRY(drop_kind(s, st, role, AST_OBJ_TABLE, "TABLE", cascade));
    TRY(drop_kind(s, st, role, AST_OBJ_SEQUENCE, "SEQUENCE", cascade));
    TRY(drop_routines(s, role));
    TRY(drop_kind(s, st, role, AST_OBJ_TYPE, "TYPE", cascade));
    return revoke_all(s, st->run_arena, role);
}
static Status reassign(Session *s, Arena *a, int64_t from, int64_t to) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0, n = c->n_privileges; i < n;) {
        const Privileges *x = c->privileges[i];
        if (!is_owned(x, from)) {
            i++;
            continue;
        }
        const Privileges of = *x;
        TRY(owner_change(s, a, &of, to)); /* the new one comes last, behind those that are looked at */
        n = MIN_OF(n, c->n_privileges);
    }
    return ST_OK;
}
Status owned_statement(Session *s, Statement *st, const AstOwned *x) {
    const char *words = x->drop ? "DROP OWNED" : "REASSIGN OWNED";
    int64_t to = 0;
    TRY(session_begin_write(s));
    for (int64_t i = 0; i < x->roles.n; i++) {
        int64_t role;
        TRY(role_of_spec(s, &x->roles.items[i], &role));
        if (role < ROLE_FIRST)
            return err_set(&s->err, ERR_DEPENDENT_OBJECTS,
                           x->drop ? "cannot drop objects owned by role %s because they are required by the database "
                                     "system"
                                   : "cannot reassign ownership of objects owned by role %s because they are required "
                                     "by the database system",
                           role_name(&s->db->catalog, role));
    }
    if (x->to) TRY(role_of_spec(s, x->to, &to));
    for (int64_t i = 0; i < x->roles.n; i++) {
        int64_t role;
        TRY(role_of_spec(s, &x->roles.items[i], &role));
        if (x->drop) TRY(drop_owned(s, st, role, x->cascade));
        else TRY(reassign(s, st->run_arena, role, to));
    }
    return tag(st, words);
}

/* ---- new objects ---- */

/* By default privileges of the owner, in the schema (NULL: it is one). *has false: none speak of such an object. */
static Status default_acl(const Catalog *c, Arena *a, char kind, const char *in, int64_t owner, bool *has, Acl *out) {
    const char part[] = {kind, 0};
    Privileges of = {.kind = PRIVILEGE_DEFAULT, .name = "", .part = part, .owner = owner};
    const Privileges *all = catalog_privileges(c, &of);
    of.name = in ? in : "";
    const Privileges *schema = in ? catalog_privileges(c, &of) : NULL;
    Acl from;
    Err ignored = {0};
    TRY(acl_default(kind, owner, a, &from));
    *out = from;
    if (all) TRY(acl_new_owner(&all->acl, owner, owner, a, out)); /* a copy */
    for (int i = 0; schema && i < schema->acl.n; i++) {
        const AclChange add = {.add = true, .item = schema->acl.items[i]};
        Acl next;
        TRY(acl_change(c, out, &add, owner, a, &next, &ignored));
        *out = next;
    }
    privileges_sort(out);
    *has = (all || schema) && !acl_equal(out, &from);
    return ST_OK;
}
static Status own_new(Session *s, Arena *a, const AddedObject *x, int64_t owner) {
    const Catalog *c = &s->db->catalog;
    const bool relation = x->kind == 'r' || x->kind == 'S';
    Privileges p = {.kind = relation         ? PRIVILEGE_RELATION
                            : x->kind == 'T' ? PRIVILEGE_TYPE
                            : x->kind == 'n' ? PRIVILEGE_SCHEMA
                                             : PRIVILEGE_ROUTINE,
                    .routine = x->routine,
                    .name = x->kind == 'f' ? "" : x->name,
                    .part = "",
                    .owner = owner};
    const Slice of = schema_of_key(x->name);
    const char *in = arena_strndup(a, of.ptr, of.len);
    if (!in) return err_oom(&s->err);
    TRY(default_acl(c, a, x->kind, x->kind == 'n' ? NULL : in, owner, &p.has_acl, &p.acl));
    if (!p.has_acl) p.acl.n = 0;
    if (catalog_privileges(c, &p) || (!p.has_acl && owner == ROLE_BOOTSTRAP)) return ST_OK;
    return privileges_put(s, &p);
}
Status owners_of_new(Session *s, Arena *a, const CatalogUndo *mark) {
    const Catalog *c = &s->db->catalog;
    const int64_t owner = session_role(s);
    const CatalogUndo *at = s->catalog_undo;
    AddedObject x;
    VEC(AddedObject) all = {0};
    bool defaults = false;
    for (int64_t i = 0; i < c->n_privileges; i++)
        defaults |= c->privileges[i]->kind == PRIVILEGE_DEFAULT && c->privileges[i]->owner == owner;
    if (owner == ROLE_BOOTSTRAP && !defaults) return ST_OK;
    while (session_next_added(s, &at, mark, &x))
        if (!vec_push(a, &all, x)) return ST_ERROR;
    for (int64_t i = all.len - 1; i >= 0; i--) TRY(own_new(s, a, &all.items[i], owner)); /* as they were made */
    return ST_OK;
}

/* ---- as objects change ---- */

Status privileges_rename(Session *s, const char *kinds, const char *name, const char *part, const char *new_name) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0, n = c->n_privileges; i < n;) {
        Privileges *x = c->privileges[i], like = *x;
        if (!strchr(kinds, (char)x->kind) || strcmp(x->name, name) != 0 || (part && strcmp(x->part, part) != 0)) {
            i++;
            continue;
        }
        *(part ? &like.part : &like.name) = new_name;
        TRY(session_drop_privileges(s, x)); /* the new one comes last, behind those that are looked at */
        TRY(session_add_privileges(s, &like));
        n--;
    }
    return ST_OK;
}
Status privileges_of_routine(Session *s, int64_t from, int64_t to) {
    const Privileges of = {.kind = PRIVILEGE_ROUTINE, .routine = from, .name = "", .part = ""};
    Privileges *x = catalog_privileges(&s->db->catalog, &of);
    if (!x) return ST_OK;
    Privileges like = *x;
    like.routine = to;
    TRY(session_drop_privileges(s, x));
    return session_add_privileges(s, &like);
}
static bool is_there(const Catalog *c, const Privileges *x) {
    const Slice name = slice_of(x->name);
    const NamedType type = catalog_type_of_key(c, name);
    const Table *t;
    switch (x->kind) {
    case PRIVILEGE_RELATION: return catalog_relation_exists(c, name);
    case PRIVILEGE_COLUMN:
        t = catalog_table(c, name);
        return t ? table_find_column(t, slice_of(x->part)) >= 0 : catalog_view(c, name) != NULL;
    case PRIVILEGE_TYPE: return named_type_defined(&type);
    case PRIVILEGE_ROUTINE: return catalog_routine_by_id(c, x->routine) != NULL;
    case PRIVILEGE_SCHEMA: return catalog_has_schema(c, x->name);
    case PRIVILEGE_DEFAULT: return !*x->name || catalog_has_schema(c, x->name);
    default: return true;
    }
}
Status privileges_sweep(Session *s) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->n_privileges - 1; i >= 0; i--)
        if (!is_there(c, c->privileges[i])) TRY(session_drop_privileges(s, c->privileges[i]));
    return ST_OK;
}
