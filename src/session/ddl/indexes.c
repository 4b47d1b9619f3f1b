/* indexes.c - CREATE INDEX, DROP INDEX, ALTER INDEX ... RENAME: unique indexes.
 *
 * One of plain columns is a key of the table like those of constraints (KeyConstraint.is_index); one with expressions,
 * a predicate or equal NULLs computes its keys (storage/exprindex.h). Either way the table is built anew with it.
 */
#include "catalog/similar_names.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/index_program.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"

/* ---- names ---- */
static const char *index_name(const Table *t, int k) {
    return k < t->n_keys ? t->keys[k].name : t->exprs[k - t->n_keys].name;
}
/* *k: number of the index; NULL: there is none. */
static Table *find_index(const Session *s, const char *name, int *k) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0; i < c->n_tables; i++)
        for (*k = 0; *k < table_indexes(c->tables[i]); ++*k)
            if (strcmp(index_name(c->tables[i], *k), name) == 0) return c->tables[i];
    return NULL;
}
/* Indexes share the names of tables and views. */
static bool name_taken(const Session *s, const char *name) {
    const Catalog *c = &s->db->catalog;
    int k;
    return catalog_relation_exists(c, slice_of(name)) || find_index(s, name, &k);
}

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

/* PostgreSQL's name for an unnamed index: table_column_.._idx, and a number when that is taken. */
static char *choose_name(const Session *s, Arena *a, const AstCreateIndex *x) {
    char *base = arena_strdup(a, x->table.name);
    for (int64_t i = 0; base && i < x->n_elems; i++) {
        const AstIndexElem *e = &x->elems[i];
        base = arena_printf(a, "%s_%s", base, e->column ? e->column : sql_index_column_name(e->expr));
    }
    char *name = base ? arena_printf(a, "%s_idx", base) : NULL;
    for (int again = 1; name && name_taken(s, name); again++) name = arena_printf(a, "%s_idx%d", base, again);
    return name;
}

/* ---- CREATE INDEX ---- */
/* What is said of a key's column in an index, which changes nothing where it is right: order, operator class,
 * collation. */
static Status check_index_elem(Session *s, const Table *t, const AstIndexElem *e) {
    static const char *const classes[] = {
        "text_ops",           "varchar_ops",     "bpchar_ops",   "text_pattern_ops", "varchar_pattern_ops",
        "bpchar_pattern_ops", "int2_ops",        "int4_ops",     "int8_ops",         "numeric_ops",
        "float4_ops",         "float8_ops",      "date_ops",     "time_ops",         "timetz_ops",
        "timestamp_ops",      "timestamptz_ops", "interval_ops", "uuid_ops",         "bool_ops",
        "bytea_ops",          "array_ops",       "bit_ops",      "varbit_ops"};
    int col = e->column ? table_find_column(t, slice_of(e->column)) : -1;
    if (e->column && col < 0)
        return err_at(&s->err, e->location, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", e->column);
    if (e->collation.name)
        TRY(sql_check_collation(&e->collation, e->column ? t->cols[col].type : type_make(T_TEXT), e->location,
                                &s->err));
    bool known = !e->opclass;
    for (int64_t i = 0; i < ARRAY_LEN(classes) && !known; i++) known = strcmp(e->opclass, classes[i]) == 0;
    return known ? ST_OK
                 : err_at(&s->err, e->location, ERR_UNDEFINED_OBJECT,
                          "operator class \"%s\" does not exist for access method \"btree\"", e->opclass);
}

static Status check_index_method(Session *s, const AstCreateIndex *x) {
    static const char *const others[] = {"hash", "gist", "spgist", "gin", "brin"};
    if (strcmp(x->method, "btree") == 0) return ST_OK;
    for (int64_t i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(x->method, others[i]) == 0)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "access method \"%s\" does not support unique indexes",
                           x->method);
    return err_set(&s->err, ERR_UNDEFINED_OBJECT, "access method \"%s\" does not exist", x->method);
}

/* One with keys that are computed. */
static Status add_expr_index(Session *s, Arena *a, const Table *t, TableDraft *d, const AstCreateIndex *x,
                             const char *name) {
    const char **parts = arena_array(a, const char *, x->n_elems + 1);
    if (!parts) return ST_ERROR;
    for (int64_t i = 0; i < x->n_elems; i++) {
        const AstIndexElem *e = &x->elems[i];
        if (e->column && !(parts[i] = definition_name(a, e->column))) return err_oom(&s->err);
        if (e->column) continue;
        TRY(stored_expression(s, a, t->name, d->n_cols, d->cols, e->expr_source, &parts[i]));
        TRY(index_check_immutable(s, a, t, parts[i], false));
    }
    const char *where = NULL;
    if (x->where) {
        TRY(stored_expression(s, a, t->name, d->n_cols, d->cols, x->where_source, &where));
        TRY(index_check_immutable(s, a, t, where, true));
    }
    d->exprs[d->n_exprs++] = (ExprIndexDef){.name = name,
                                            .n_parts = (int)x->n_elems,
                                            .parts = parts,
                                            .where = where,
                                            .nulls_not_distinct = x->nulls_not_distinct};
    return ST_OK;
}
static Status add_plain_index(Session *s, Arena *a, TableDraft *d, const AstCreateIndex *x, const char *name) {
    AstConstraint k = {.kind = AST_CON_UNIQUE, .location = x->location, .n_columns = x->n_elems, .name = name};
    k.columns = arena_array(a, const char *, x->n_elems + 1);
    if (!k.columns) return ST_ERROR;
    for (int64_t i = 0; i < x->n_elems; i++) k.columns[i] = x->elems[i].column;
    TRY(add_constraint(s, a, d, x->table.name, &k, -1));
    d->keys[d->n_keys - 1].is_index = true;
    return ST_OK;
}

Status create_index(Session *s, Statement *st, const AstCreateIndex *x) {
    TRY(session_begin_write(s));
    tag(st, "CREATE INDEX");
    TRY(session_check_schema(s, &x->table));
    Table *t = catalog_table(&s->db->catalog, slice_of(x->table.name));
    if (!t) TRY(sql_refuse_system_relation(x->table.name, &s->err));
    if (!t) return catalog_no_relation(&s->db->catalog, x->table.name, x->table.location, &s->err);
    if (!x->unique)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "only CREATE UNIQUE INDEX is supported");
    if (x->name && name_taken(s, x->name)) {
        if (!x->if_not_exists) return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->name);
        session_notice_text(s, "NOTICE", "42P07", "relation \"%s\" already exists, skipping", x->name);
        return ST_OK;
    }
    TRY(check_index_method(s, x));
    TRY(storage_options_index(x->n_options, x->options, &s->err));
    bool computed = x->where || x->nulls_not_distinct;
    for (int64_t i = 0; i < x->n_elems; i++) {
        TRY(check_index_elem(s, t, &x->elems[i]));
        computed |= !x->elems[i].column;
    }
    for (int64_t i = 0; i < x->n_include; i++)
        if (table_find_column(t, slice_of(x->include[i])) < 0)
            return err_at(&s->err, x->location, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", x->include[i]);
    Arena *a = st->run_arena;
    const char *name = x->name ? x->name : choose_name(s, a, x);
    TableDraft d = {0};
    if (!name) return err_oom(&s->err);
    TRY(draft_of(s, a, t, &d));
    TRY(computed ? add_expr_index(s, a, t, &d, x, name) : add_plain_index(s, a, &d, x, name));
    return rebuild_as(s, st, t, &d);
}

/* ---- DROP INDEX ---- */
/* The index that a DROP names; NULL: there is none, and that is fine. */
static Status find_to_drop(Session *s, const AstDrop *x, const AstName *n, Table **t, int *k) {
    const Catalog *c = &s->db->catalog;
    TRY(session_check_schema(s, n));
    *t = find_index(s, n->name, k);
    const bool table = catalog_table(c, slice_of(n->name)) != NULL, view = catalog_view(c, slice_of(n->name)) != NULL;
    if (!*t && (table || view)) {
        err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not an index", n->name);
        err_hint(&s->err, "Use DROP %s to remove a %s.", table ? "TABLE" : "VIEW", table ? "table" : "view");
        return ST_ERROR;
    }
    if (!*t && !x->if_exists)
        return err_at(&s->err, n->location, ERR_UNDEFINED_OBJECT, "index \"%s\" does not exist", n->name);
    if (!*t) session_notice_text(s, "NOTICE", "00000", "index \"%s\" does not exist, skipping", n->name);
    if (!*t || *k >= (*t)->n_keys || (*t)->keys[*k].is_index) return ST_OK;
    err_set(&s->err, ERR_DEPENDENT_OBJECTS, "cannot drop index %s because constraint %s on table %s requires it",
            n->name, n->name, (*t)->name);
    err_hint(&s->err, "You can drop constraint %s on table %s instead.", n->name, (*t)->name);
    return ST_ERROR;
}

Status drop_index(Session *s, Statement *st, const AstDrop *x) {
    Arena *a = st->run_arena;
    for (int64_t i = 0; i < x->n_names; i++) {
        Table *t;
        int k;
        TRY(find_to_drop(s, x, &x->names[i], &t, &k));
        if (!t) continue;
        if (k < t->n_keys) {
            Dependents d;
            dependents_init(&d, s, st);
            TRY(dependents_of_key(&d, t, k));
            TRY(dependents_drop(&d, arena_printf(a, "index %s", x->names[i].name), x->cascade));
        }
        TableDraft d = {0};
        TRY(draft_of(s, a, t, &d));
        draft_remove_index(&d, k);
        TRY(rebuild_as(s, st, t, &d));
    }
    return ST_OK;
}

/* ---- ALTER INDEX ... RENAME: a constraint has the name of its index ---- */
Status rename_index(Session *s, Statement *st, const AstRename *x) {
    int k;
    Table *t = find_index(s, x->name.name, &k);
    tag(st, "ALTER INDEX");
    if (!t) {
        if (!x->if_exists)
            return err_at(&s->err, x->name.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->name.name);
        session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", x->name.name);
        return ST_OK;
    }
    if (name_taken(s, x->new_name))
        return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->new_name);
    TableDraft d = {0};
    TRY(draft_of(s, st->run_arena, t, &d));
    if (k < d.n_keys) d.keys[k].name = x->new_name;
    else d.exprs[k - d.n_keys].name = x->new_name;
    TRY(views_fill_sources(s, st->run_arena));
    return rebuild_as(s, st, t, &d);
}
