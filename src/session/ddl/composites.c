/* composites.c - CREATE TYPE .. AS (..), ALTER TYPE of these.
 *
 * A definition never changes: another one takes its place (types/composite.h), and undo puts the old one back. One with
 * other fields has another number: what names the type by its number is defined again with it (row_types.c). One with
 * other names has the same number.
 */
#include "catalog/names.h"
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

static Status attribute_type(Session *s, const AstColumnDef *c, CompositeField *f) {
    const Domain *d;
    Type *out = &f->type;
    TRY(sql_bind_type(&s->db->catalog, c->type, out, &d, &s->err));
    const CompositeType *x = composite_of(out->id == T_ARRAY ? type_element(*out) : *out);
    f->domain = d ? d->id : 0;
    if (d && x)
        return err_at(&s->err, c->location, ERR_FEATURE_NOT_SUPPORTED,
                      "attributes of domains over composite types are not supported");
    if (x && x->kind == COMPOSITE_TABLE)
        return err_at(&s->err, c->location, ERR_FEATURE_NOT_SUPPORTED,
                      "attributes of row types of tables are not supported");
    return c->collation.name ? sql_check_collation(&c->collation, *out, c->location, &s->err) : ST_OK;
}

Status composite_create(Session *s, Statement *st, const AstCreateComposite *x) {
    const CompositeType *made;
    AstName name;
    TRY(session_begin_write(s));
    tag(st, "CREATE TYPE");
    TRY(type_new_name(s, st->run_arena, &x->name, &name));
    if (x->n_cols > COMPOSITE_FIELDS_MAX)
        return err_set(&s->err, ERR_TOO_MANY_COLUMNS, "tables can have at most %d columns", COMPOSITE_FIELDS_MAX);
    Fields f = {.items = arena_array(st->run_arena, CompositeField, x->n_cols + 1)};
    if (!f.items) return ST_ERROR;
    for (int64_t i = 0; i < x->n_cols; i++) {
        const AstColumnDef *c = x->cols[i];
        if (find(&f, c->name) >= 0)
            return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", c->name);
        f.items[f.n].name = c->name;
        TRY(attribute_type(s, c, &f.items[f.n]));
        f.n++;
    }
    TRY(composite_make(s->db->catalog.rows, 0, name.name, f.n, f.items, &made, &s->err));
    return session_put_composite(s, NULL, made);
}

/* ---- ALTER TYPE ---------------------------------------------------------------------------------------- */

/* A column with the type, in the order in which PostgreSQL comes upon them: arrays of the type, types with it, itself.
 */
static const Table *find_column(const Catalog *k, Type t, int *column) {
    const CompositeType *x;
    if (stack_stop()) return NULL;
    for (int pass = 0; pass < 3; pass++) {
        for (int64_t i = 0; pass == 1 && (x = composite_nth(k->rows, i)) != NULL; i++) {
            bool has = false;
            for (int32_t f = 0; f < x->n; f++)
                has |= type_eq(x->fields[f].type, t) || type_eq(x->fields[f].type, type_array_of(t));
            const Table *found = has ? find_column(k, composite_type(x), column) : NULL;
            if (found) return found;
        }
        for (int64_t i = 0; pass != 1 && i < k->n_tables; i++)
            for (*column = 0; *column < k->tables[i]->n_cols; ++*column)
                if (type_eq(k->tables[i]->cols[*column].type, pass == 0 ? type_array_of(t) : t)) return k->tables[i];
    }
    return NULL;
}
static Status check_columns(Session *s, const CompositeType *x) {
    int column;
    const Table *t = find_column(&s->db->catalog, composite_type(x), &column);
    TRY(stack_check(&s->err));
    if (!t) return ST_OK;
    return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot alter type \"%s\" because column \"%s.%s\" uses it",
                   x->name, name_of_key(t->name), t->cols[column].name);
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

Status row_type_unused(Session *s, Statement *st, const Table *t, bool columns) {
    const Catalog *k = &s->db->catalog;
    Type type;
    TRY(catalog_row_type(k, t, &type, &s->err));
    int column;
    const Table *user = columns ? find_column(k, type, &column) : NULL;
    TRY(stack_check(&s->err));
    if (user)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "cannot alter table \"%s\" because column \"%s.%s\" uses its row type", name_of_key(t->name),
                       name_of_key(user->name), user->cols[column].name);
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
        TRY(attribute_type(s, c->column, &f.items[f.n]));
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
        TRY(attribute_type(s, c->column, &f.items[at]));
        if (composite_uses(f.items[at].type, x->number))
            return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "composite type %s cannot be made a member of itself",
                           x->name);
        break;
    default: return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "this form of ALTER TYPE is not supported");
    }
    if (c->kind == AST_ALTER_SET_TYPE) TRY(check_columns(s, x));
    TRY(check_texts(s, st, x, false));
    const CompositeType *to;
    TRY(composite_make(s->db->catalog.rows, 0, x->name, f.n, f.items, &to, &s->err));
    TRY(session_put_composite(s, x, to));
    const int32_t dropped = c->kind == AST_ALTER_DROP_COLUMN ? at : -1;
    return row_type_changed(s, st, x, to, row_change_map(st->run_arena, x->n, f.n, dropped));
}

static Status find_composite(Session *s, const AstName *n, const CompositeType **out) {
    NamedType x;
    TRY(session_find_type(s, n, false, &x));
    if ((*out = x.composite) != NULL) return ST_OK;
    if (x.table || x.view) return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a composite type", n->name);
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
    TRY(parts_rename(s, "c", t->name, x->old_name, x->new_name));
    return put_like(s, t, t->name, f.items);
}

Status composite_rename(Session *s, const CompositeType *x, const char *new_name) {
    return put_like(s, x, new_name, x->fields);
}
