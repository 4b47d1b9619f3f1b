/* comments.c - COMMENT ON. See comments.h. */
#include "session/ddl/comments.h"

#include "catalog/similar_names.h"
#include "session/ddl/comments_builtin.h"
#include "session/ddl/utility_int.h"
#include "session/system/objects.h"
#include "sql/bind/bind.h"
#include "types/composite.h"
#include "types/enums.h"

static char *text_of(const char *s) { return (char *)(uintptr_t)s; }
/* The text on the object; NULL or "": none. */
static Status put(Session *s, const Comment *of, const char *text) {
    Comment like = *of, *old = catalog_comment(&s->db->catalog, of);
    if (old) TRY(session_drop_comment(s, old));
    if (!text || !*text) return ST_OK;
    like.text = text_of(text);
    return session_add_comment(s, &like);
}

/* ---- which object ---- */

static Status wrong_kind(Session *s, const AstName *n, const char *is) {
    return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not %s", n->name, is);
}
/* A relation of the name; 42P01, or 42501 for the system's. */
static Status find_class(Session *s, const AstName *n, SysClass **out) {
    const SysObjects *o = session_objects(s);
    if (!o) return ST_ERROR;
    if ((*out = object_class_of_key(o, n->name))) return ST_OK;
    TRY(sql_refuse_system_relation(n->name, &s->err));
    return catalog_no_relation(&s->db->catalog, n->name, n->location, &s->err);
}
static Status on_relation(Session *s, const AstComment *x, Comment *out) {
    static const struct {
        AstObject object;
        char kind;
        const char *is;
    } kinds[] = {{AST_OBJ_TABLE, 'r', "a table"},
                 {AST_OBJ_VIEW, 'v', "a view"},
                 {AST_OBJ_MATVIEW, 'm', "a materialized view"},
                 {AST_OBJ_INDEX, 'i', "an index"},
                 {AST_OBJ_SEQUENCE, 'S', "a sequence"}};
    SysClass *c;
    TRY(find_class(s, &x->name, &c));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (kinds[i].object == x->object && kinds[i].kind != c->kind) return wrong_kind(s, &x->name, kinds[i].is);
    *out = (Comment){.kind = COMMENT_RELATION, .name = text_of(x->name.name), .part = text_of("")};
    return ST_OK;
}
static Status on_column(Session *s, const AstComment *x, Comment *out) {
    SysClass *c;
    TRY(find_class(s, &x->name, &c));
    if (c->kind == 'i' || c->kind == 'S') {
        err_at(&s->err, x->name.location, ERR_WRONG_OBJECT_TYPE, "cannot set comment on relation \"%s\"", x->name.name);
        err_detail(&s->err, "This operation is not supported for %s.", c->kind == 'i' ? "indexes" : "sequences");
        return ST_ERROR;
    }
    TRY(object_columns(session_objects(s), c));
    *out = (Comment){.kind = COMMENT_COLUMN, .name = text_of(x->name.name), .part = text_of(x->part)};
    for (int32_t i = 0; i < c->n_cols; i++)
        if (strcmp(c->cols[i].name, x->part) == 0) return ST_OK;
    return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", x->part,
                   x->name.name);
}
bool table_has_constraint(const Catalog *c, const Table *t, const char *name) {
    bool has = false;
    for (int k = 0; k < t->n_keys; k++) has |= !t->keys[k].is_index && key_is_named(t->keys[k].name, name);
    for (int i = 0; i < t->n_checks; i++) has |= strcmp(t->checks[i].name, name) == 0;
    for (int64_t i = 0; i < c->n_foreign; i++)
        has |= strcmp(c->foreign[i]->table, t->name) == 0 && strcmp(c->foreign[i]->name, name) == 0;
    return has;
}
static Status on_constraint(Session *s, const AstComment *x, Comment *out) {
    SysClass *c;
    TRY(find_class(s, &x->name, &c));
    *out = (Comment){.kind = COMMENT_CONSTRAINT, .name = text_of(x->name.name), .part = text_of(x->part)};
    if (c->kind == 'r' && table_has_constraint(&s->db->catalog, c->table, x->part)) return ST_OK;
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" for table \"%s\" does not exist", x->part,
                   x->name.name);
}

/* A type that a database defines. */
static Status find_type(Session *s, const AstName *n, bool domain, NamedType *out) {
    Type own;
    TRY(session_find_type(s, n, false, out));
    if (domain ? out->domain != NULL : named_type_found(out)) return ST_OK;
    if (named_type_found(out)) return wrong_kind(s, n, "a domain");
    if (type_is_builtin(n, &own))
        return err_at(&s->err, n->location, ERR_INSUFFICIENT_PRIVILEGE, "must be owner of type %s", n->name);
    return session_no_type(s, n);
}
static Status on_type(Session *s, const AstComment *x, Comment *out) {
    NamedType t;
    TRY(find_type(s, &x->name, x->object == AST_OBJ_DOMAIN, &t));
    *out = (Comment){.kind = COMMENT_TYPE, .name = text_of(named_type_key(&t)), .part = text_of("")};
    return ST_OK;
}
static bool has_check(const Domain *d, const char *name) {
    for (int i = 0; i < d->n_checks; i++)
        if (strcmp(d->checks[i].name, name) == 0) return true;
    return false;
}
static Status on_domain_constraint(Session *s, const AstComment *x, Comment *out) {
    NamedType t;
    TRY(find_type(s, &x->name, true, &t));
    *out = (Comment){.kind = COMMENT_DOMAIN_CONSTRAINT, .name = t.domain->name, .part = text_of(x->part)};
    if (has_check(t.domain, x->part)) return ST_OK;
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" for domain %s does not exist", x->part,
                   x->name.name);
}
static Status on_routine(Session *s, Arena *a, const AstComment *x, Comment *out) {
    const char *missing;
    Routine *r = NULL;
    TRY(sql_find_routine(&s->db->catalog, a, x->what, x->routine, &r, &missing, &s->err));
    if (!r && x->what == 'a' && !x->routine->name.schema) return comment_on_builtin(s, a, x, out);
    bool found = false;
    const char *schema = x->routine->name.schema;
    if (!r && x->what != 'p' && (!schema || strcmp(schema, "pg_catalog") == 0))
        TRY(comment_on_builtin_function(s, a, x->routine, out, &found));
    if (found) return ST_OK;
    if (!r) return sql_no_routine(x->what, x->routine, missing, &s->err);
    *out = (Comment){.kind = COMMENT_ROUTINE, .routine = r->id, .name = text_of(""), .part = text_of("")};
    return ST_OK;
}
static Status on_schema(Session *s, const AstComment *x, Comment *out) {
    const AstName in = {.schema = x->name.name, .name = "", .location = x->name.location};
    AstName none;
    TRY(session_new_name(s, session_objects(s)->a, &in, &none)); /* it is there */
    *out = (Comment){.kind = COMMENT_SCHEMA, .name = text_of(schema_meant(x->name.name)), .part = text_of("")};
    return ST_OK;
}

static bool is_of_relation(AstObject o) {
    return o == AST_OBJ_TABLE || o == AST_OBJ_VIEW || o == AST_OBJ_MATVIEW || o == AST_OBJ_INDEX ||
           o == AST_OBJ_SEQUENCE || o == AST_OBJ_COLUMN || o == AST_OBJ_CONSTRAINT;
}
Status comment_statement(Session *s, Statement *st, const AstComment *x) {
    Comment of = {0};
    tag(st, "COMMENT");
    AstComment named = *x;
    TRY(session_begin_write(s));
    if (is_of_relation(x->object)) {
        TRY(session_relation_name(s, st->run_arena, &x->name, false, &named.name));
        x = &named;
    }
    switch (x->object) {
    case AST_OBJ_COLUMN: TRY(on_column(s, x, &of)); break;
    case AST_OBJ_CONSTRAINT: TRY(on_constraint(s, x, &of)); break;
    case AST_OBJ_TYPE:
    case AST_OBJ_DOMAIN: TRY(on_type(s, x, &of)); break;
    case AST_OBJ_DOMAIN_CONSTRAINT: TRY(on_domain_constraint(s, x, &of)); break;
    case AST_OBJ_ROUTINE: TRY(on_routine(s, st->run_arena, x, &of)); break;
    case AST_OBJ_SCHEMA: TRY(on_schema(s, x, &of)); break;
    case AST_OBJ_ROLE:
        of = (Comment){.kind = COMMENT_ROLE, .name = text_of(x->name.name), .part = text_of("")};
        if (catalog_role(&s->db->catalog, x->name.name)) break;
        return err_set(&s->err, ERR_UNDEFINED_OBJECT, "role \"%s\" does not exist", x->name.name);
    case AST_OBJ_DATABASE:
        of = (Comment){.kind = COMMENT_DATABASE, .name = text_of(""), .part = text_of("")};
        if (strcmp(x->name.name, s->info.database) == 0) break;
        session_notice_text(s, "WARNING", "3D000", "database \"%s\" does not exist", x->name.name);
        return ST_OK;
    case AST_OBJ_OTHER: TRY(comment_on_builtin(s, st->run_arena, x, &of)); break;
    default: TRY(on_relation(s, x, &of)); break;
    }
    return put(s, &of, x->comment);
}

/* ---- as objects change ---- */

Status comment_copy(Session *s, CommentKind kind, const char *from, const char *from_part, const char *to,
                    const char *to_part) {
    const Comment of = {.kind = kind, .name = text_of(from), .part = text_of(from_part)};
    const Comment *x = catalog_comment(&s->db->catalog, &of);
    Comment like = {.kind = kind, .name = text_of(to), .part = text_of(to_part)};
    if (!x) return ST_OK;
    like.text = x->text;
    return session_add_comment(s, &like);
}
Status comments_rename(Session *s, const char *kinds, const char *name, const char *part, const char *new_name) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0, n = c->n_comments; i < n;) {
        Comment *x = c->comments[i], like = *x;
        if (!strchr(kinds, (char)x->kind) || strcmp(x->name, name) != 0 || (part && strcmp(x->part, part) != 0)) {
            i++;
            continue;
        }
        *(part ? &like.part : &like.name) = text_of(new_name);
        TRY(session_drop_comment(s, x)); /* the new one comes last, behind those that are looked at */
        TRY(session_add_comment(s, &like));
        n--;
    }
    return ST_OK;
}
Status comments_of_routine(Session *s, int64_t from, int64_t to) {
    const Comment of = {.kind = COMMENT_ROUTINE, .routine = from, .name = text_of(""), .part = text_of("")};
    Comment *x = catalog_comment(&s->db->catalog, &of);
    if (!x) return ST_OK;
    Comment like = *x;
    like.routine = to;
    TRY(session_drop_comment(s, x));
    return session_add_comment(s, &like);
}

static bool has_field(const CompositeType *x, const char *name) {
    for (int32_t i = 0; i < x->n; i++)
        if (strcmp(x->fields[i].name, name) == 0) return true;
    return false;
}
/* Columns of a view stay what they are, and comments_rename follows a new name. */
static bool is_there(const Catalog *c, const Comment *x) {
    const Slice name = slice_of(x->name);
    const Table *t = catalog_table(c, name);
    const CompositeType *row;
    const Domain *d;
    NamedType type;
    switch (x->kind) {
    case COMMENT_RELATION: return catalog_relation_exists(c, name);
    case COMMENT_COLUMN:
        if (t) return table_find_column(t, slice_of(x->part)) >= 0;
        row = composite_find(c->rows, name);
        return row ? has_field(row, x->part) : catalog_view(c, name) != NULL;
    case COMMENT_CONSTRAINT: return t && table_has_constraint(c, t, x->part);
    case COMMENT_DOMAIN_CONSTRAINT: return (d = catalog_domain(c, name)) && has_check(d, x->part);
    case COMMENT_TYPE: return type = catalog_type_of_key(c, name), named_type_found(&type);
    case COMMENT_ROUTINE: return catalog_routine_by_id(c, x->routine) != NULL;
    case COMMENT_ROLE: return catalog_role(c, x->name) != NULL;
    default: return true;
    }
}
Status comments_sweep(Session *s) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = c->n_comments - 1; i >= 0; i--)
        if (!is_there(c, c->comments[i])) TRY(session_drop_comment(s, c->comments[i]));
    return ST_OK;
}
