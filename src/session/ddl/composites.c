/* composites.c - CREATE TYPE .. AS (..), ALTER TYPE of these.
 *
 * A definition never changes: another one takes its place (types/composite.h), and undo puts the old one back. One with
 * other fields has another number: what names the type by its number, other types and routines, is defined again with
 * it, and columns refuse it, since their rows would have to change. One with other names has the same number.
 */
#include "session/ddl/depend.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"

typedef struct Fields {
    CompositeField *items;
    int32_t n;
} Fields;

static int32_t find(const Fields *f, const char *name) {
    for (int32_t i = 0; i < f->n; i++)
        if (strcmp(f->items[i].name, name) == 0) return i;
    return -1;
}

static Status attribute_type(Session *s, const AstColumnDef *c, Type *out) {
    const Domain *d;
    TRY(sql_bind_type(&s->db->catalog, c->type, out, &d, &s->err));
    const CompositeType *x = composite_of(out->id == T_ARRAY ? type_element(*out) : *out);
    if (d) return err_at(&s->err, c->location, ERR_FEATURE_NOT_SUPPORTED, "attributes of domains are not supported");
    if (x && x->kind == COMPOSITE_TABLE)
        return err_at(&s->err, c->location, ERR_FEATURE_NOT_SUPPORTED,
                      "attributes of row types of tables are not supported");
    return c->collation.name ? sql_check_collation(&c->collation, *out, c->location, &s->err) : ST_OK;
}

Status composite_create(Session *s, Statement *st, const AstCreateComposite *x) {
    const CompositeType *made;
    TRY(session_begin_write(s));
    tag(st, "CREATE TYPE");
    TRY(type_schema_public(s, &x->name));
    TRY(type_name_free(s, &x->name, x->name.name));
    if (x->n_cols > COMPOSITE_FIELDS_MAX)
        return err_set(&s->err, ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", COMPOSITE_FIELDS_MAX);
    Fields f = {.items = arena_array(st->run_arena, CompositeField, x->n_cols + 1)};
    if (!f.items) return ST_ERROR;
    for (int64_t i = 0; i < x->n_cols; i++) {
        const AstColumnDef *c = x->cols[i];
        if (find(&f, c->name) >= 0)
            return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", c->name);
        f.items[f.n].name = c->name;
        TRY(attribute_type(s, c, &f.items[f.n].type));
        f.n++;
    }
    TRY(composite_make(s->db->catalog.rows, 0, x->name.name, f.n, f.items, &made, &s->err));
    return session_put_composite(s, NULL, made);
}

/* ---- ALTER TYPE ---------------------------------------------------------------------------------------- */

static Status check_columns(Session *s, const CompositeType *x) {
    const Catalog *k = &s->db->catalog;
    for (int64_t i = 0; i < k->n_tables; i++)
        for (int c = 0; c < k->tables[i]->n_cols; c++)
            if (composite_uses(k->tables[i]->cols[c].type, x->number))
                return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                               "cannot alter type \"%s\" because column \"%s.%s\" uses it", x->name, k->tables[i]->name,
                               k->tables[i]->cols[c].name);
    return ST_OK;
}

/* Texts of views and the like are bound anew whenever they are used. */
static Status check_texts(Session *s, Statement *st, const CompositeType *x, bool by_name) {
    Dependents d;
    const char *what;
    TRY(views_fill_sources(s, st->run_arena));
    dependents_init(&d, s, st);
    TRY(dependents_knowing_fields(&d, x, by_name, &what));
    if (!what) return ST_OK;
    err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
            "the fields of type \"%s\" cannot be changed, because the definition of %s knows them", x->name, what);
    err_hint(&s->err, "Drop that, change the type, and define it again.");
    return ST_ERROR;
}

Status row_type_unused(Session *s, Statement *st, const Table *t) {
    const Catalog *k = &s->db->catalog;
    Type type;
    TRY(catalog_row_type(k, t, &type, &s->err));
    for (int64_t i = 0; i < k->n_tables; i++)
        for (int c = 0; c < k->tables[i]->n_cols; c++)
            if (composite_uses(k->tables[i]->cols[c].type, type.length))
                return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                               "cannot alter table \"%s\" because column \"%s.%s\" uses its row type", t->name,
                               k->tables[i]->name, k->tables[i]->cols[c].name);
    for (int64_t i = 0; i < k->n_routines; i++) {
        const Routine *r = k->routines[i];
        bool uses = composite_uses(r->ret, type.length);
        for (int p = 0; p < r->n_params; p++) uses |= composite_uses(r->param_types[p], type.length);
        if (uses)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "cannot alter table \"%s\" because function \"%s\" uses its row type", t->name, r->name);
    }
    return check_texts(s, st, composite_of(type), true);
}

static Status no_field(Session *s, const CompositeType *x, const char *name) {
    return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist", name, x->name);
}
static Status field_taken(Session *s, const CompositeType *x, const char *name) {
    return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists", name, x->name);
}

/* The definition's fields, with room for one more. */
static Status copy_fields(Statement *st, const CompositeType *x, Fields *out) {
    *out = (Fields){arena_array(st->run_arena, CompositeField, (int64_t)x->n + 2), x->n};
    if (!out->items) return ST_ERROR;
    if (x->n) memcpy(out->items, x->fields, sizeof *x->fields * (size_t)x->n);
    return ST_OK;
}

static bool is_that(Type t, const CompositeType *x) {
    if (t.id == T_ARRAY) t = type_element(t);
    return t.id == T_COMPOSITE && t.length == x->number;
}
static Type other_type(Type t, const CompositeType *to) {
    return t.id == T_ARRAY ? type_array_of(composite_type(to)) : composite_type(to);
}

/* The routine with the type in its parameters and result. It is another one, so that nothing compiled of it is used. */
static Status replace_in_routine(Session *s, Routine *r, const CompositeType *from, const CompositeType *to) {
    bool uses = is_that(r->ret, from);
    for (int i = 0; i < r->n_params; i++) uses |= is_that(r->param_types[i], from);
    if (!uses) return ST_OK;
    Routine *copy = routine_new(r, &s->err);
    if (!copy) return ST_ERROR;
    copy->id = 0;
    if (is_that(copy->ret, from)) copy->ret = other_type(copy->ret, to);
    for (int i = 0; i < copy->n_params; i++)
        if (is_that(copy->param_types[i], from)) copy->param_types[i] = other_type(copy->param_types[i], to);
    if (session_drop_routine(s, r) != ST_OK || session_add_routine(s, copy) != ST_OK) {
        routine_free(copy);
        return ST_ERROR;
    }
    return ST_OK;
}

/* Puts a definition with these fields in the place of one, and in whatever has that. */
static Status replace(Session *s, Statement *st, const CompositeType *from, const Fields *f) {
    const Catalog *k = &s->db->catalog;
    const CompositeType *to, *y;
    TRY(stack_check(&s->err));
    TRY(composite_make(k->rows, 0, from->name, f->n, f->items, &to, &s->err));
    TRY(session_put_composite(s, from, to));
    for (int64_t i = 0; (y = composite_nth(k->rows, i)) != NULL; i++) {
        Fields g;
        bool uses = false;
        TRY(copy_fields(st, y, &g));
        for (int32_t p = 0; p < g.n; p++) {
            if (!is_that(g.items[p].type, from)) continue;
            g.items[p].type = other_type(g.items[p].type, to);
            uses = true;
        }
        if (uses) TRY(replace(s, st, y, &g));
    }
    for (int64_t i = k->n_routines - 1; i >= 0; i--) TRY(replace_in_routine(s, k->routines[i], from, to));
    return ST_OK;
}

static Status alter_one(Session *s, Statement *st, const CompositeType *x, const AstAlterCmd *c) {
    Fields f;
    TRY(copy_fields(st, x, &f));
    const int32_t at = find(&f, c->name);
    switch (c->kind) {
    case AST_ALTER_ADD_COLUMN:
        if (at >= 0) return field_taken(s, x, c->name);
        if (f.n == COMPOSITE_FIELDS_MAX)
            return err_set(&s->err, ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", COMPOSITE_FIELDS_MAX);
        f.items[f.n].name = c->name;
        TRY(attribute_type(s, c->column, &f.items[f.n].type));
        if (composite_uses(f.items[f.n++].type, x->number))
            return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "composite type %s cannot be made a member of itself",
                           x->name);
        break;
    case AST_ALTER_DROP_COLUMN:
        if (at < 0 && !c->if_exists) return no_field(s, x, c->name);
        if (at < 0)
            return session_notice_text(s, "NOTICE", "00000",
                                       "column \"%s\" of relation \"%s\" does not exist, skipping", c->name, x->name),
                   ST_OK;
        memmove(&f.items[at], &f.items[at + 1], sizeof *f.items * (size_t)(f.n - at - 1));
        f.n--;
        break;
    case AST_ALTER_SET_TYPE:
        if (at < 0) return no_field(s, x, c->name);
        TRY(attribute_type(s, c->column, &f.items[at].type));
        if (composite_uses(f.items[at].type, x->number))
            return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "composite type %s cannot be made a member of itself",
                           x->name);
        break;
    default: return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "this form of ALTER TYPE is not supported");
    }
    TRY(check_columns(s, x));
    TRY(check_texts(s, st, x, false));
    return replace(s, st, x, &f);
}

static Status find_composite(Session *s, const AstName *n, const CompositeType **out) {
    TRY(session_check_schema(s, n));
    if ((*out = composite_find(s->db->catalog.rows, slice_of(n->name))) != NULL) return ST_OK;
    if (catalog_relation_exists(&s->db->catalog, slice_of(n->name)))
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a composite type", n->name);
    return err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", n->name);
}

Status composite_alter(Session *s, Statement *st, const AstAlterTable *x) {
    tag(st, "ALTER TYPE");
    for (int64_t i = 0; i < x->n_cmds; i++) {
        const CompositeType *t;
        TRY(find_composite(s, &x->table, &t));
        TRY(alter_one(s, st, t, &x->cmds[i]));
    }
    return ST_OK;
}

Status composite_drop_attribute(Session *s, Statement *st, const char *type, const char *name) {
    const CompositeType *x = composite_find(s->db->catalog.rows, slice_of(type));
    const AstAlterCmd c = {.kind = AST_ALTER_DROP_COLUMN, .name = name, .if_exists = true};
    return x ? alter_one(s, st, x, &c) : ST_OK;
}

/* Under the same number, which what has values of the type goes by. */
static Status put_like(Session *s, const CompositeType *x, const char *name, const CompositeField *fields) {
    const CompositeType *made;
    TRY(composite_make(s->db->catalog.rows, x->number, name, x->n, fields, &made, &s->err));
    return session_put_composite(s, x, made);
}

Status composite_rename_attribute(Session *s, Statement *st, const AstRename *x) {
    const CompositeType *t;
    Fields f;
    tag(st, "ALTER TYPE");
    TRY(find_composite(s, &x->name, &t));
    TRY(copy_fields(st, t, &f));
    const int32_t at = find(&f, x->old_name);
    if (at < 0) return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", x->old_name);
    if (find(&f, x->new_name) >= 0) return field_taken(s, t, x->new_name);
    TRY(check_texts(s, st, t, false));
    f.items[at].name = x->new_name;
    return put_like(s, t, t->name, f.items);
}

Status composite_rename(Session *s, const CompositeType *x, const char *new_name) {
    return put_like(s, x, new_name, x->fields);
}
