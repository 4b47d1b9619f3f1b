/* indexes.c - CREATE INDEX, DROP INDEX, ALTER INDEX.
 *
 * Every index is kept as a definition (catalog/index_def.h). A unique one is built as well: one of plain columns is a
 * key of the table like those of constraints (KeyConstraint.is_index); one with expressions, a predicate, equal NULLs
 * or one column twice computes its keys (storage/exprindex.h). Either way the table is built anew with it. Others are
 * not built: plans know nothing of them.
 */
#include "catalog/similar_names.h"
#include "session/ddl/comments.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/index_program.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "session/system/access_methods.h"
#include "sql/bind/bind.h"
#include "types/composite.h"
#include "types/oid.h"

void draft_remove_index(TableDraft *d, int k) {
    if (k < d->n_keys) {
        memmove(&d->keys[k], &d->keys[k + 1], sizeof(KeyDef) * (size_t)(d->n_keys - k - 1));
        d->n_keys--;
    } else {
        const int i = k - d->n_keys;
        memmove(&d->exprs[i], &d->exprs[i + 1], sizeof(ExprIndexDef) * (size_t)(d->n_exprs - i - 1));
        d->n_exprs--;
    }
}

/* ---- CREATE INDEX ---- */

typedef struct NewIndex {
    Session *s;
    Arena *a;
    Table *t;
    const AstCreateIndex *x;
    const AccessMethod *m;
    TableDraft d;
    IndexDef def;
    Type types[INDEX_COLUMNS_MAX]; /* of the parts */
    int64_t domains[INDEX_COLUMNS_MAX];
} NewIndex;

static Status refuse_kind(Session *s, const AstName *n, const char *kind) {
    err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "cannot create index on relation \"%s\"", n->name);
    err_detail(&s->err, "This operation is not supported for %s.", kind);
    return ST_ERROR;
}
static Status find_table(Session *s, const AstName *n, Table **t) {
    const Catalog *c = &s->db->catalog;
    const Slice name = slice_of(n->name);
    if ((*t = catalog_table(c, name))) return ST_OK;
    if (catalog_view(c, name)) return refuse_kind(s, n, "views");
    if (catalog_sequence(c, name)) return refuse_kind(s, n, "sequences");
    if (catalog_index_exists(c, name, NULL))
        return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is an index", n->name);
    if (composite_find(c->rows, name))
        return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is a composite type", n->name);
    TRY(sql_refuse_system_relation(n->name, &s->err));
    return catalog_no_relation(c, n->name, n->location, &s->err);
}

/* A column alone is one, in parentheses too. NULL: an expression. */
static const char *plain_column(const Table *t, const AstIndexElem *e) {
    if (e->column || e->expr->kind != AST_COLUMN) return e->column;
    const AstColumn *c = AST_AS_CONST(AstColumn, e->expr);
    return !c->table || strcmp(c->table, name_of_key(t->name)) == 0 ? c->name : NULL;
}
/* Texts of the expressions and the predicate, bound: 42703 and the like. */
static Status read_texts(NewIndex *n) {
    const AstCreateIndex *x = n->x;
    const char *text = NULL;
    Type type;
    int64_t domain;
    n->def.parts = arena_array(n->a, IndexPart, x->n_elems + 1);
    if (!n->def.parts) return err_oom(&n->s->err);
    if (x->where) {
        TRY(stored_expression(n->s, n->a, n->t->name, n->d.n_cols, n->d.cols, x->where_source, &text));
        TRY(index_expr_type(n->s, n->a, n->t, text, true, &type, &domain));
        n->def.where = (char *)(uintptr_t)text;
    }
    for (int i = 0; i < n->def.n_parts; i++) {
        n->def.parts[i].statistics = -1;
        if (plain_column(n->t, &x->elems[i])) continue;
        TRY(stored_expression(n->s, n->a, n->t->name, n->d.n_cols, n->d.cols, x->elems[i].expr_source, &text));
        TRY(index_expr_type(n->s, n->a, n->t, text, false, &n->types[i], &n->domains[i]));
        n->def.parts[i].text = (char *)(uintptr_t)text;
    }
    return ST_OK;
}

static Status read_method(NewIndex *n) {
    Session *s = n->s;
    const AstCreateIndex *x = n->x;
    const char *name = x->method, *lacks = NULL;
    if (strcmp(name, "rtree") == 0) {
        session_notice_text(s, "NOTICE", "00000", "substituting access method \"gist\" for obsolete method \"rtree\"");
        name = "gist";
    }
    if (!(n->m = access_method(name)))
        return err_set(&s->err, ERR_UNDEFINED_OBJECT, "access method \"%s\" does not exist", name);
    n->def.method = (char *)(uintptr_t)n->m->name;
    if (x->unique && !n->m->unique) lacks = "unique indexes";
    else if (x->n_include && !n->m->include) lacks = "included columns";
    else if (x->n_elems > 1 && !n->m->multicolumn) lacks = "multicolumn indexes";
    return lacks ? err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "access method \"%s\" does not support %s", name, lacks)
                 : ST_OK;
}

/* A column, or what it says beside its text. */
static Status read_part(NewIndex *n, int i) {
    Session *s = n->s;
    const AstIndexElem *e = &n->x->elems[i];
    IndexPart *p = &n->def.parts[i];
    const char *column = plain_column(n->t, e), *lacks = NULL;
    if (column) {
        const int col = table_find_column(n->t, slice_of(column));
        if (is_system_column(column) && col < 0)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "index creation on system columns is not supported");
        if (col < 0) return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", column);
        if (!(p->text = index_part_of_column(n->a, column))) return err_oom(&s->err);
        n->types[i] = n->t->cols[col].type;
        n->domains[i] = n->t->cols[col].domain;
    } else {
        TRY(index_check_immutable(s, n->a, n->t, p->text, false));
    }
    if (e->collation.name) TRY(sql_check_collation(&e->collation, n->types[i], 0, &s->err));
    const bool binary = oid_type_name(n->types[i]) && strcmp(oid_type_name(n->types[i]), "name") == 0;
    if (e->collation.name && strcmp(e->collation.name, binary ? "C" : "default") != 0)
        p->collation = (char *)(uintptr_t)e->collation.name;
    p->opclass = (char *)(uintptr_t)e->opclass;
    TRY(index_check_class(s, n->m, n->types[i], n->domains[i], &p->opclass));
    if (!n->m->order && e->ordered) lacks = "ASC/DESC options";
    else if (!n->m->order && e->nulls != AST_NULLS_DEFAULT) lacks = "NULLS FIRST/LAST options";
    if (lacks)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "access method \"%s\" does not support %s", n->m->name,
                       lacks);
    p->desc = e->desc;
    p->nulls_first = e->nulls == AST_NULLS_DEFAULT ? e->desc : e->nulls == AST_NULLS_FIRST;
    return ST_OK;
}
static Status read_include(NewIndex *n, int i) {
    Session *s = n->s;
    const AstIndexElem *e = &n->x->include[i];
    const char *column = plain_column(n->t, e);
    if (!column)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "expressions are not supported in included columns");
    if (table_find_column(n->t, slice_of(column)) < 0)
        return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", column);
    const char *has = e->collation.name               ? "a collation"
                      : e->opclass                    ? "an operator class"
                      : e->ordered                    ? "ASC/DESC options"
                      : e->nulls != AST_NULLS_DEFAULT ? "NULLS FIRST/LAST options"
                                                      : NULL;
    if (has) return err_set(&s->err, ERR_INVALID_OBJECT_DEFINITION, "including column does not support %s", has);
    n->def.include[i] = (char *)(uintptr_t)column;
    return ST_OK;
}
static Status read_parts(NewIndex *n) {
    IndexDef *def = &n->def;
    if (def->where) TRY(index_check_immutable(n->s, n->a, n->t, def->where, true));
    TRY(storage_options_index(n->a, n->m->name, n->x->n_options, n->x->options, 0, NULL, &def->n_options, &def->options,
                              &n->s->err));
    for (int i = 0; i < def->n_parts; i++) TRY(read_part(n, i));
    if (!(def->include = arena_array(n->a, char *, def->n_include + 1))) return err_oom(&n->s->err);
    for (int i = 0; i < def->n_include; i++) TRY(read_include(n, i));
    return ST_OK;
}

/* The name that is given, or PostgreSQL's for an index without one: table_column_.._idx. *skip: it is there, and that
 * is fine. */
static Status read_name(NewIndex *n, bool *skip) {
    Session *s = n->s;
    const char **names, *joined;
    *skip = false;
    if (n->x->name) {
        n->def.name = (char *)(uintptr_t)key_beside(n->a, n->t->name, n->x->name);
        if (!n->def.name) return err_oom(&s->err);
        if (!catalog_relation_exists(&s->db->catalog, slice_of(n->def.name))) return ST_OK;
        if (!n->x->if_not_exists)
            return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", n->x->name);
        session_notice_text(s, "NOTICE", "42P07", "relation \"%s\" already exists, skipping", n->x->name);
        return *skip = true, ST_OK;
    }
    TRY(index_column_names(n->a, n->t, &n->def, &names));
    joined = column_names_joined(n->a, n->def.n_parts + n->def.n_include, names);
    n->def.name = joined ? relation_name_choose(s, n->a, NULL, n->t->name, joined, "idx") : NULL;
    return n->def.name ? ST_OK : err_oom(&s->err);
}

/* ---- unique ones are built ---- */

static bool has_column_twice(const IndexDef *x) {
    for (int i = 0; i < x->n_parts; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(x->parts[i].text, x->parts[k].text) == 0) return true;
    return false;
}
static Status add_computed(NewIndex *n) {
    TableDraft *d = &n->d;
    const char **parts = arena_array(n->a, const char *, n->def.n_parts + 1);
    if (!parts) return err_oom(&n->s->err);
    for (int i = 0; i < n->def.n_parts; i++) parts[i] = n->def.parts[i].text;
    d->exprs[d->n_exprs++] = (ExprIndexDef){.name = n->def.name,
                                            .n_parts = n->def.n_parts,
                                            .parts = parts,
                                            .where = n->def.where,
                                            .nulls_not_distinct = n->def.nulls_not_distinct};
    return ST_OK;
}
static Status add_plain(NewIndex *n) {
    TableDraft *d = &n->d;
    AstConstraint k = {.kind = AST_CON_UNIQUE, .location = n->x->location, .name = name_of_key(n->def.name)};
    k.n_columns = n->def.n_parts;
    k.columns = arena_array(n->a, const char *, k.n_columns + 1);
    if (!k.columns) return err_oom(&n->s->err);
    for (int i = 0; i < n->def.n_parts; i++) k.columns[i] = plain_column(n->t, &n->x->elems[i]);
    TRY(add_constraint(n->s, n->a, d, n->t->name, &k, -1));
    d->keys[d->n_keys - 1].is_index = true;
    return ST_OK;
}
static Status build(NewIndex *n, Statement *st) {
    bool computed = n->def.where || n->def.nulls_not_distinct || has_column_twice(&n->def);
    for (int i = 0; i < n->def.n_parts; i++) computed |= !plain_column(n->t, &n->x->elems[i]);
    TRY(computed ? add_computed(n) : add_plain(n));
    return rebuild_as(n->s, st, n->t, &n->d);
}
static void tell_not_built(Session *s, Arena *a, const char *name) {
    const char *message = arena_printf(a, "index \"%s\" is defined, not built", name_of_key(name));
    session_notice(
        s, &(SessionNotice){"NOTICE", "00000", message ? message : "an index is defined, not built", "",
                            "Queries scan the table, or find rows by its keys; only unique indexes are built.", ""});
}

Status create_index(Session *s, Statement *st, const AstCreateIndex *x) {
    if (x->concurrently && s->state == 'T')
        return err_set(&s->err, ERR_ACTIVE_TRANSACTION,
                       "CREATE INDEX CONCURRENTLY cannot run inside a transaction block");
    TRY(session_begin_write(s));
    tag(st, "CREATE INDEX");
    AstCreateIndex named = *x;
    TRY(session_relation_name(s, st->run_arena, &x->table, false, &named.table));
    x = &named;
    NewIndex n = {.s = s, .a = st->run_arena, .x = x};
    TRY(find_table(s, &x->table, &n.t));
    if (x->n_elems + x->n_include > INDEX_COLUMNS_MAX)
        return err_set(&s->err, ERR_TOO_MANY_COLUMNS, "cannot use more than %d columns in an index", INDEX_COLUMNS_MAX);
    TRY(draft_of(s, n.a, n.t, &n.d));
    n.def = (IndexDef){.table = n.t->name,
                       .unique = x->unique,
                       .nulls_not_distinct = x->nulls_not_distinct,
                       .n_parts = (int)x->n_elems,
                       .n_include = (int)x->n_include};
    bool skip;
    TRY(read_texts(&n));
    TRY(read_method(&n));
    TRY(read_parts(&n));
    TRY(read_name(&n, &skip));
    if (skip) return ST_OK;
    if (x->unique) TRY(build(&n, st));
    else tell_not_built(s, n.a, n.def.name);
    n.def.table = (char *)(uintptr_t)x->table.name;
    return session_add_index(s, &n.def);
}

/* ---- DROP INDEX ---- */
static const char *other_kind(const Catalog *c, Slice name) {
    return catalog_matview(c, name)    ? "MATERIALIZED VIEW"
           : catalog_table(c, name)    ? "TABLE"
           : catalog_view(c, name)     ? "VIEW"
           : catalog_sequence(c, name) ? "SEQUENCE"
                                       : NULL;
}
/* The table of the index that a DROP names; NULL: there is none, and that is fine. */
static Status find_to_drop(Session *s, Arena *a, const AstDrop *x, const AstName *n, Table **t) {
    const Catalog *c = &s->db->catalog;
    const char *other = other_kind(c, slice_of(n->name));
    *t = NULL;
    const bool found = catalog_index_exists(c, slice_of(n->name), t);
    if (!found && other) {
        err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not an index", n->name);
        const char *word = strcmp(other, "TABLE") == 0      ? "table"
                           : strcmp(other, "VIEW") == 0     ? "view"
                           : strcmp(other, "SEQUENCE") == 0 ? "sequence"
                                                            : "materialized view";
        err_hint(&s->err, "Use DROP %s to remove a %s.", other, word);
        return ST_ERROR;
    }
    if (!found && !x->if_exists)
        return err_at(&s->err, n->location, ERR_UNDEFINED_OBJECT, "index \"%s\" does not exist", n->name);
    if (!found) session_notice_text(s, "NOTICE", "00000", "index \"%s\" does not exist, skipping", n->name);
    const int k = found ? table_index_named(*t, n->name) : -1;
    if (k < 0 || k >= (*t)->n_keys || (*t)->keys[k].is_index) return ST_OK;
    const char *shown = catalog_shown(c, a, n->name), *of = catalog_shown(c, a, (*t)->name);
    if (!shown || !of) return ST_ERROR;
    err_set(&s->err, ERR_DEPENDENT_OBJECTS, "cannot drop index %s because constraint %s on table %s requires it", shown,
            n->name, of);
    err_hint(&s->err, "You can drop constraint %s on table %s instead.", n->name, of);
    return ST_ERROR;
}
static Status check_concurrently(Session *s, const AstDrop *x) {
    if (!x->concurrently) return ST_OK;
    if (x->n_names > 1)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "DROP INDEX CONCURRENTLY does not support dropping multiple objects");
    if (x->cascade)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "DROP INDEX CONCURRENTLY does not support CASCADE");
    return s->state == 'T' ? err_set(&s->err, ERR_ACTIVE_TRANSACTION,
                                     "DROP INDEX CONCURRENTLY cannot run inside a transaction block")
                           : ST_OK;
}

Status drop_index(Session *s, Statement *st, const AstDrop *x) {
    Arena *a = st->run_arena;
    TRY(check_concurrently(s, x));
    for (int64_t i = 0; i < x->n_names; i++) {
        Table *t;
        TRY(find_to_drop(s, a, x, &x->names[i], &t));
        if (!t) continue;
        const int k = table_index_named(t, x->names[i].name);
        IndexDef *def = catalog_index_def(&s->db->catalog, t->name, x->names[i].name);
        if (k >= 0 && k < t->n_keys) {
            Dependents d;
            dependents_init(&d, s, st);
            TRY(dependents_of_key(&d, t, k));
            TRY(dependents_drop(&d, dependents_called(&d, "index", x->names[i].name), x->cascade));
        }
        if (def) TRY(session_drop_index(s, def));
        if (k < 0) continue;
        TableDraft d = {0};
        TRY(draft_of(s, a, t, &d));
        draft_remove_index(&d, k);
        TRY(rebuild_as(s, st, t, &d));
    }
    return ST_OK;
}

/* ---- ALTER INDEX ---- */

/* A constraint has the name of its index. */
Status rename_index(Session *s, Statement *st, const AstRename *x) {
    Table *t = NULL;
    Arena *a = st->run_arena;
    if (!catalog_index_exists(&s->db->catalog, slice_of(x->name.name), &t)) {
        if (!x->if_exists)
            return err_at(&s->err, x->name.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->name.name);
        session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", x->name.name);
        return ST_OK;
    }
    if (catalog_relation_exists(&s->db->catalog, slice_of(x->new_name)))
        return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->new_name);
    const IndexDef *def = catalog_index_def(&s->db->catalog, t->name, x->name.name);
    if (def) {
        IndexDef like = *def;
        like.name = (char *)(uintptr_t)x->new_name;
        TRY(index_def_put(s, t, def->name, &like));
    }
    const int k = table_index_named(t, x->name.name);
    TRY(parts_rename(s, "r", x->name.name, NULL, x->new_name));
    if (k < 0) return ST_OK;
    if (k < t->n_keys && !t->keys[k].is_index)
        TRY(parts_rename(s, "k", t->name, name_of_key(x->name.name), name_of_key(x->new_name)));
    TableDraft d = {0};
    TRY(draft_of(s, a, t, &d));
    if (k < d.n_keys) d.keys[k].name = x->new_name;
    else d.exprs[k - d.n_keys].name = x->new_name;
    TRY(views_fill_sources(s, a));
    return rebuild_as(s, st, t, &d);
}

static const char *action_name(const AstAlterCmd *k) {
    switch (k->kind) {
    case AST_ALTER_ADD_COLUMN: return "ADD COLUMN";
    case AST_ALTER_DROP_COLUMN: return "DROP COLUMN";
    case AST_ALTER_SET_NOT_NULL: return "ALTER COLUMN ... SET NOT NULL";
    case AST_ALTER_DROP_NOT_NULL: return "ALTER COLUMN ... DROP NOT NULL";
    case AST_ALTER_SET_DEFAULT:
    case AST_ALTER_DROP_DEFAULT: return "ALTER COLUMN ... SET DEFAULT";
    case AST_ALTER_SET_TYPE: return "ALTER COLUMN ... SET DATA TYPE";
    case AST_ALTER_ADD_CONSTRAINT: return "ADD CONSTRAINT";
    case AST_ALTER_DROP_CONSTRAINT: return "DROP CONSTRAINT";
    case AST_ALTER_VALIDATE_CONSTRAINT: return "VALIDATE CONSTRAINT";
    case AST_ALTER_ADD_IDENTITY: return "ALTER COLUMN ... ADD IDENTITY";
    case AST_ALTER_SET_IDENTITY: return "ALTER COLUMN ... SET";
    case AST_ALTER_DROP_IDENTITY: return "ALTER COLUMN ... DROP IDENTITY";
    case AST_ALTER_DROP_EXPRESSION: return "ALTER COLUMN ... DROP EXPRESSION";
    case AST_ALTER_CLUSTER_ON: return "CLUSTER ON";
    case AST_ALTER_DROP_CLUSTER: return "SET WITHOUT CLUSTER";
    case AST_ALTER_SET_LOGGED: return "SET LOGGED";
    case AST_ALTER_SET_UNLOGGED: return "SET UNLOGGED";
    default: return k->what && strcmp(k->what, "ATTACH PARTITION") == 0 ? k->what : NULL;
    }
}
/* ALTER COLUMN number SET STATISTICS. */
static Status set_statistics(Session *s, Arena *a, const Table *t, const AstAlterCmd *k, IndexDef *x) {
    const char **names;
    const int64_t number = k->number;
    int64_t most = k->statistics;
    if (k->name || number < 1)
        return err_at(&s->err, k->location, ERR_INVALID_PARAMETER, "column number must be in range from 1 to 32767");
    TRY(index_column_names(a, t, x, &names));
    if (number > x->n_parts + x->n_include)
        return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN,
                      "column number %lld of relation \"%s\" does not exist", (long long)number, x->name);
    if (number > x->n_parts)
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED,
                      "cannot alter statistics on included column \"%s\" of index \"%s\"", names[number - 1], x->name);
    if (index_part_column(t, x->parts[number - 1].text) >= 0) {
        err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED,
               "cannot alter statistics on non-expression column \"%s\" of index \"%s\"", names[number - 1], x->name);
        err_hint(&s->err, "Alter statistics on table column instead.");
        return ST_ERROR;
    }
    if (most < -1)
        return err_at(&s->err, k->location, ERR_INVALID_PARAMETER, "statistics target %lld is too low",
                      (long long)most);
    if (most > 10000) {
        session_notice_text(s, "WARNING", "22023", "lowering statistics target to 10000");
        most = 10000;
    }
    x->parts[number - 1].statistics = (int32_t)most;
    return ST_OK;
}
static Status alter_def(Session *s, Arena *a, const Table *t, const AstAlterCmd *k, IndexDef *x) {
    const char *action = action_name(k);
    switch ((int)k->kind) {
    case AST_ALTER_SET_OPTIONS:
        return storage_options_index(a, x->method, k->n_options, k->options, x->n_options, x->options, &x->n_options,
                                     &x->options, &s->err);
    case AST_ALTER_RESET_OPTIONS:
        return storage_options_index_reset(a, k->n_options, k->options, x->n_options, x->options, &x->n_options,
                                           &x->options, &s->err);
    case AST_ALTER_SET_STATISTICS: return set_statistics(s, a, t, k, x);
    default: break;
    }
    if (!action)
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "ALTER INDEX %s is not supported",
                      k->what ? k->what : "of this kind");
    err_at(&s->err, k->location, ERR_WRONG_OBJECT_TYPE, "ALTER action %s cannot be performed on relation \"%s\"",
           action, x->name);
    err_detail(&s->err, "This operation is not supported for indexes.");
    return ST_ERROR;
}
Status alter_index(Session *s, Statement *st, const AstAlterTable *x) {
    Table *t = NULL;
    Arena *a = st->run_arena;
    const Slice name = slice_of(x->table.name);
    if (!catalog_index_exists(&s->db->catalog, name, &t)) {
        if (catalog_relation_exists(&s->db->catalog, name))
            return err_at(&s->err, x->table.location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not an index", x->table.name);
        if (!x->if_exists)
            return err_at(&s->err, x->table.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->table.name);
        session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", x->table.name);
        return ST_OK;
    }
    IndexDef old, like;
    TRY(index_def_get(s, a, t, x->table.name, &old));
    like = old;
    if (!(like.parts = arena_array(a, IndexPart, old.n_parts + 1))) return err_oom(&s->err);
    memcpy(like.parts, old.parts, sizeof *like.parts * (size_t)old.n_parts);
    for (int64_t i = 0; i < x->n_cmds; i++) TRY(alter_def(s, a, t, &x->cmds[i], &like));
    return index_def_put(s, t, x->table.name, &like);
}
