/* create_table.c - CREATE TABLE and CREATE TABLE AS; drafts of tables, which ALTER TABLE changes (alter.c). */
#include "session/core/plancache.h"
#include "session/ddl/create_like.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/core/ahead.h"
#include "session/core/explain.h"
#include "session/core/session.h"
#include "session/ddl/index_program.h"
#include "session/ddl/stored_text.h"
#include "session/ddl/utility_int.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"
#include "types/dec.h"

Status column_type(Session *s, const AstColumnDef *c, Type *out, int64_t *domain) {
    const Domain *d;
    TRY(sql_bind_type(&s->db->catalog, c->type, out, &d, &s->err));
    *domain = d ? d->id : 0;
    return c->collation.name ? sql_check_collation(&c->collation, *out, c->location, &s->err) : ST_OK;
}

int draft_column(const TableDraft *d, const char *name) {
    for (int i = 0; i < d->n_cols; i++)
        if (strcmp(d->cols[i].name, name) == 0) return i;
    return -1;
}

Status draft_of(Session *s, Arena *a, const Table *t, TableDraft *d) {
    *d = (TableDraft){0};
    d->cols = arena_array(a, ColumnDef, t->n_cols + 2);
    d->keys = arena_array(a, KeyDef, t->n_keys + 2);
    d->checks = arena_array(a, CheckDef, t->n_checks + 2);
    d->exprs = arena_array(a, ExprIndexDef, t->n_exprs + 1);
    if (!d->cols || !d->keys || !d->checks || !d->exprs) return err_oom(&s->err);
    d->n_cols = t->n_cols;
    for (int i = 0; i < t->n_cols; i++)
        d->cols[i] = (ColumnDef){t->cols[i].name,        t->cols[i].type,   t->cols[i].not_null,
                                 t->cols[i].default_sql, t->cols[i].domain, t->cols[i].kind};
    d->n_keys = t->n_keys;
    for (int i = 0; i < t->n_keys; i++)
        d->keys[i] = (KeyDef){t->keys[i].name,     t->keys[i].primary,    t->keys[i].n_cols,  t->keys[i].cols,
                              t->keys[i].is_index, t->keys[i].deferrable, t->keys[i].deferred};
    d->n_checks = t->n_checks;
    for (int i = 0; i < t->n_checks; i++) d->checks[i] = (CheckDef){t->checks[i].name, t->checks[i].sql};
    d->n_exprs = t->n_exprs;
    d->unlogged = t->unlogged;
    for (int i = 0; i < t->n_exprs; i++) {
        const ExprIndex *x = &t->exprs[i];
        d->exprs[i] =
            (ExprIndexDef){x->name, x->n_parts, (const char *const *)x->parts, x->where, x->nulls_not_distinct};
    }
    return ST_OK;
}

/* PostgreSQL's name for an unnamed PRIMARY KEY or UNIQUE: table_pkey; table_column_..._key. */
static char *unnamed_key(const Session *s, Arena *a, const TableDraft *d, const char *table, const AstConstraint *k,
                         int n, const int *cols) {
    if (k->kind == AST_CON_PRIMARY_KEY) return relation_name_choose(s, a, d, table, NULL, "pkey");
    const char **names = arena_array(a, const char *, n + k->n_include + 1);
    if (!names) return NULL;
    for (int i = 0; i < n; i++) names[i] = d->cols[cols[i]].name;
    for (int64_t i = 0; i < k->n_include; i++) names[n + i] = k->include[i];
    char *joined = column_names_joined(a, n + (int)k->n_include, names);
    return joined ? relation_name_choose(s, a, d, table, joined, "key") : NULL;
}
/* INCLUDE and storage parameters of a key, which have no effect of their own. */
static Status add_key_details(Session *s, Arena *a, TableDraft *d, const char *table, const KeyDef *q,
                              const AstConstraint *k) {
    static char btree[] = "btree";
    if (k->n_include == 0 && k->n_options == 0) return ST_OK;
    if (q->n_cols + k->n_include > INDEX_COLUMNS_MAX)
        return err_at(&s->err, k->location, ERR_TOO_MANY_COLUMNS, "cannot use more than %d columns in an index",
                      INDEX_COLUMNS_MAX);
    IndexDef x = {.name = (char *)(uintptr_t)q->name,
                  .table = (char *)(uintptr_t)table,
                  .method = btree,
                  .unique = true,
                  .n_parts = q->n_cols,
                  .n_include = (int)k->n_include,
                  .include = (char **)(uintptr_t)k->include,
                  .parts = arena_array(a, IndexPart, q->n_cols + 1)};
    IndexDef *all = arena_array(a, IndexDef, d->n_index_defs + 1);
    if (!x.parts || !all) return err_oom(&s->err);
    TRY(storage_options_index(a, btree, k->n_options, k->options, 0, NULL, &x.n_options, &x.options, &s->err));
    for (int i = 0; i < q->n_cols; i++) {
        x.parts[i] = (IndexPart){.text = index_part_of_column(a, d->cols[q->cols[i]].name), .statistics = -1};
        if (!x.parts[i].text) return err_oom(&s->err);
    }
    if (d->n_index_defs) memcpy(all, d->index_defs, sizeof *all * (size_t)d->n_index_defs);
    d->index_defs = all;
    d->index_defs[d->n_index_defs++] = x;
    return ST_OK;
}

/* The column that a CHECK names, when it names just one; NULL otherwise, and when it does not bind. */
static const char *check_column(Session *s, Arena *a, const TableDraft *d, const char *table, const char *check) {
    const char *row = stored_row(a, d->n_cols, d->cols);
    char *sql =
        row ? arena_printf(a, "select 1 from (%s) as %s where (%s)", row, quote_name(a, name_of_key(table)), check)
            : NULL;
    PlanCtx c;
    BoundStmt *b;
    if (!try_query(s, a, sql, &c, &b)) return NULL;
    const Plan *p = b->plan;
    while (p->kind != LP_FILTER && p->n_children > 0) p = p->children[0];
    ColSet used = colset_new(&c);
    for (int32_t i = 0; i < p->n_conds; i++) expr_cols(&c, p->conds[i], &used);
    const char *name = NULL;
    for (ColId id = 1; id < c.cols.len; id++) {
        if (!colset_has(&used, id)) continue;
        if (name) return NULL;
        name = c.cols.items[id].name;
    }
    return name;
}
/* PostgreSQL's name for a CHECK without one: table_check, with the column between them when there is only one in it,
 * and a number when that is taken. */
static const char *check_name(Session *s, Arena *a, const TableDraft *d, const char *table, const char *check) {
    const char *column = check_column(s, a, d, table, check);
    const char *plain = name_of_key(table),
               *base = column ? arena_printf(a, "%s_%s_check", plain, column) : arena_printf(a, "%s_check", plain),
               *name = base;
    for (int i = 0, again = 1; name && i < d->n_checks; i++)
        if (strcmp(d->checks[i].name, name) == 0) {
            name = arena_printf(a, "%s%d", base, again++);
            i = -1;
        }
    return name;
}

static Status add_check(Session *s, Arena *a, TableDraft *d, const char *table, const AstConstraint *k) {
    CheckDef *c = &d->checks[d->n_checks];
    TRY(stored_expression(s, a, table, d->n_cols, d->cols, k->expr_source, &c->sql));
    for (int i = 0; k->name && i < d->n_checks; i++)
        if (strcmp(d->checks[i].name, k->name) == 0)
            return err_at(&s->err, k->location, ERR_DUPLICATE_OBJECT, "check constraint \"%s\" already exists",
                          k->name);
    c->name = k->name ? k->name : check_name(s, a, d, table, c->sql);
    d->n_checks++;
    return c->name ? ST_OK : err_oom(&s->err);
}

void draft_key_column(TableDraft *d, int col) {
    Type *t = &d->cols[col].type;
    const Type e = t->id == T_ARRAY ? type_element(*t) : *t;
    const bool scales = e.id == T_DECIMAL && e.length == 0; /* with (p,s) all have the same */
    if (scales || t->id == T_JSONB) t->flags |= TF_LEAST_SCALE;
}

Status check_key_type(Session *s, Type t, int64_t location) {
    uint8_t id = t.id == T_ARRAY ? type_element(t).id : t.id;
    if (type_is_unordered(t.id == T_ARRAY ? type_element(t) : t)) {
        err_at(&s->err, location, ERR_UNDEFINED_OBJECT,
               "data type %s has no default operator class for access method \"btree\"", type_plain_name(t));
        err_hint(&s->err, "You must specify an operator class for the index or define a default operator class for "
                          "the data type.");
        return ST_ERROR;
    }
    if (id == T_COMPOSITE)
        return err_at(&s->err, location, ERR_FEATURE_NOT_SUPPORTED, "keys of rows are not supported");
    if (type_is_range(t) && type_needs_key(t))
        return err_at(&s->err, location, ERR_FEATURE_NOT_SUPPORTED, "keys of type %s are not supported",
                      type_plain_name(t));
    if (t.id == T_ARRAY && type_needs_key(t) && id != T_DECIMAL) /* equal ones need not have equal bytes */
        return err_at(&s->err, location, ERR_FEATURE_NOT_SUPPORTED, "keys of arrays of %s are not supported",
                      type_plain_name(type_element(t)));
    return ST_OK;
}

/* The columns of a PRIMARY KEY or UNIQUE. */
static Status key_columns(Session *s, TableDraft *d, const AstConstraint *k, int column, int n, int *cols) {
    for (int64_t i = 0; i < k->n_include; i++)
        if (draft_column(d, k->include[i]) < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN, "column \"%s\" named in key does not exist",
                          k->include[i]);
    for (int i = 0; i < n; i++) {
        cols[i] = k->n_columns > 0 ? draft_column(d, k->columns[i]) : column;
        if (cols[i] < 0)
            return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN, "column \"%s\" named in key does not exist",
                          k->columns[i]);
        for (int j = 0; j < i; j++)
            if (cols[j] == cols[i])
                return err_at(&s->err, k->location, ERR_DUPLICATE_COLUMN,
                              "column \"%s\" appears twice in key constraint", d->cols[cols[i]].name);
        TRY(check_key_type(s, d->cols[cols[i]].type, k->location));
        draft_key_column(d, cols[i]);
        if (k->kind == AST_CON_PRIMARY_KEY) d->cols[cols[i]].not_null = true;
    }
    return ST_OK;
}

static Status add_key(Session *s, Arena *a, TableDraft *d, const char *table, const AstConstraint *k, int column) {
    if (k->nulls_not_distinct)
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "NULLS NOT DISTINCT is not supported");
    int n = k->n_columns > 0 ? (int)k->n_columns : 1;
    int *cols = arena_array(a, int, n);
    if (!cols) return ST_ERROR;
    TRY(key_columns(s, d, k, column, n, cols));
    bool primary = k->kind == AST_CON_PRIMARY_KEY;
    for (int i = 0; i < d->n_keys && primary; i++)
        if (d->keys[i].primary)
            return err_at(&s->err, k->location, ERR_INVALID_TABLE_DEFINITION,
                          "multiple primary keys for table \"%s\" are not allowed", table);
    KeyDef *q = &d->keys[d->n_keys];
    *q = (KeyDef){.primary = primary, .n_cols = n, .cols = cols, .deferrable = k->deferrable, .deferred = k->deferred};
    q->name = k->name ? key_beside(a, table, k->name) : unnamed_key(s, a, d, table, k, n, cols);
    if (!q->name) return err_oom(&s->err);
    bool taken = k->name && catalog_relation_exists(&s->db->catalog, slice_of(q->name));
    for (int i = 0; i < d->n_keys && k->name; i++) taken |= strcmp(d->keys[i].name, q->name) == 0;
    if (taken) return err_at(&s->err, k->location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", k->name);
    d->n_keys++;
    return add_key_details(s, a, d, table, q, k);
}

Status column_default(Session *s, Arena *a, const AstExpr *e, Slice source, ColumnDef *c) {
    char name[TYPE_NAME_MAX];
    const bool plain = strcmp(type_name(c->type, &name), type_plain_name(c->type)) == 0;
    if (e->kind == AST_NULL_LIT && !c->domain && plain) return c->default_sql = NULL, ST_OK;
    return stored_default(s, a, source, c->type, &c->default_sql);
}

Status add_constraint(Session *s, Arena *a, TableDraft *d, const char *table, const AstConstraint *k, int column) {
    switch (k->kind) {
    case AST_CON_NOT_NULL: d->cols[column].not_null = true; return ST_OK;
    case AST_CON_NULL: return ST_OK;
    case AST_CON_DEFAULT: return column_default(s, a, k->expr, k->expr_source, &d->cols[column]);
    case AST_CON_CHECK: return add_check(s, a, d, table, k);
    case AST_CON_PRIMARY_KEY:
    case AST_CON_UNIQUE: return add_key(s, a, d, table, k, column);
    case AST_CON_FOREIGN_KEY: /* defined when the table is there: foreign_keys() */
        if (column >= 0) draft_key_column(d, column);
        for (int64_t i = 0; i < k->n_columns; i++)
            if (draft_column(d, k->columns[i]) >= 0) draft_key_column(d, draft_column(d, k->columns[i]));
        return ST_OK;
    case AST_CON_IDENTITY: return ST_OK; /* add_sequence() */
    case AST_CON_GENERATED:
        d->cols[column].kind = COLUMN_GENERATED;
        return stored_expression(s, a, table, d->n_cols, d->cols, k->expr_source, &d->cols[column].default_sql);
    default: return err_internal(&s->err, "constraint of kind %d", (int)k->kind);
    }
}

/* The integer type of a serial column; false: it is none. Such a name is a type's in CREATE and ALTER TABLE only. */
static bool serial_type(const AstTypeName *t, Type *out) {
    static const struct {
        const char *name;
        TypeId type;
    } names[] = {{"serial", T_INT4},  {"serial4", T_INT4},     {"bigserial", T_INT8},
                 {"serial8", T_INT8}, {"smallserial", T_INT2}, {"serial2", T_INT2}};
    for (size_t i = 0; i < ARRAY_LEN(names) && !t->schema && !t->percent_type && t->n_mods == 0; i++)
        if (strcmp(t->name, names[i].name) == 0) return *out = type_make(names[i].type), true;
    return false;
}

bool is_system_column(const char *name) {
    static const char *const names[] = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"};
    for (int64_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}
Status column_name_free(Session *s, const char *name, int64_t location) {
    if (!is_system_column(name)) return ST_OK;
    return err_at(&s->err, location, ERR_DUPLICATE_COLUMN, "column name \"%s\" conflicts with a system column name",
                  name);
}
bool is_pseudo_type(const AstTypeName *t) {
    static const char *const names[] = {"unknown",
                                        "record",
                                        "void",
                                        "cstring",
                                        "internal",
                                        "trigger",
                                        "event_trigger",
                                        "any",
                                        "anyelement",
                                        "anyarray",
                                        "anynonarray",
                                        "anyenum",
                                        "anyrange",
                                        "anymultirange",
                                        "anycompatible",
                                        "anycompatiblearray",
                                        "anycompatiblenonarray",
                                        "anycompatiblerange",
                                        "anycompatiblemultirange",
                                        "language_handler",
                                        "fdw_handler",
                                        "index_am_handler",
                                        "table_am_handler",
                                        "tsm_handler",
                                        "pg_ddl_command"};
    if (t->array_dims || (t->schema && strcmp(t->schema, "pg_catalog") != 0)) return false;
    for (int64_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], t->name) == 0) return true;
    return false;
}
Status new_column_type(Session *s, const AstColumnDef *c, Type *out, int64_t *domain) {
    if (c->type->setof)
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "column \"%s\" cannot be declared SETOF", c->name);
    if (is_pseudo_type(c->type))
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "column \"%s\" has pseudo-type %s", c->name,
                       c->type->name);
    if (!serial_type(c->type, out)) return column_type(s, c, out, domain);
    *domain = 0;
    if (c->type->array_dims)
        return err_at(&s->err, c->type->location, ERR_FEATURE_NOT_SUPPORTED, "array of serial is not implemented");
    return c->collation.name ? sql_check_collation(&c->collation, *out, c->location, &s->err) : ST_OK;
}

Status add_sequence(Session *s, Arena *a, TableDraft *d, const char *table, const AstColumnDef *c, int column) {
    const AstConstraint *identity = NULL;
    Type ignored;
    for (int64_t i = 0; i < c->n_constraints; i++)
        if (c->constraints[i].kind == AST_CON_IDENTITY) identity = &c->constraints[i];
    if (!identity && !serial_type(c->type, &ignored)) return ST_OK;
    return sequence_of_column(s, a, d, table, column, identity);
}

Status check_column_constraints(Session *s, const char *table, const AstColumnDef *c) {
    Type ignored;
    const bool serial = serial_type(c->type, &ignored);
    int defaults = serial, nulls = 0, not_nulls = serial, identities = 0, expressions = 0;
    for (int64_t i = 0; i < c->n_constraints; i++) {
        const AstConstraint *k = &c->constraints[i];
        defaults += k->kind == AST_CON_DEFAULT;
        nulls += k->kind == AST_CON_NULL;
        not_nulls += k->kind == AST_CON_NOT_NULL || k->kind == AST_CON_IDENTITY;
        identities += k->kind == AST_CON_IDENTITY;
        expressions += k->kind == AST_CON_GENERATED;
        if (defaults > 1)
            return err_at(&s->err, k->location, ERR_SYNTAX,
                          "multiple default values specified for column \"%s\" of table \"%s\"", c->name, table);
        if (nulls && not_nulls)
            return err_at(&s->err, k->location, ERR_SYNTAX,
                          "conflicting NULL/NOT NULL declarations for column \"%s\" of table \"%s\"", c->name, table);
        const char *wrong = identities > 1              ? "multiple identity specifications"
                            : expressions > 1           ? "multiple generation clauses specified"
                            : defaults && identities    ? "both default and identity specified"
                            : defaults && expressions   ? "both default and generation expression specified"
                            : identities && expressions ? "both identity and generation expression specified"
                                                        : NULL;
        if (wrong)
            return err_at(&s->err, k->location, ERR_SYNTAX, "%s for column \"%s\" of table \"%s\"", wrong, c->name,
                          table);
    }
    return ST_OK;
}

/* CHECKs come last, in the order of the text: their names depend on it. */
static Status add_constraints(Session *s, Arena *a, TableDraft *d, const AstCreateTable *x, const int *at,
                              Likes *likes) {
    int64_t next = 0;
    for (int64_t i = 0; i < x->n_columns; i++) TRY(check_column_constraints(s, x->name.name, x->columns[i]));
    for (int64_t i = 0; i < x->n_columns; i++) TRY(add_sequence(s, a, d, x->name.name, x->columns[i], at[i]));
    TRY(likes_add_keys(s, a, d, x->name.name, likes));
    for (int64_t i = 0; i < x->n_columns; i++)
        for (int64_t k = 0; k < x->columns[i]->n_constraints; k++)
            if (x->columns[i]->constraints[k].kind != AST_CON_CHECK)
                TRY(add_constraint(s, a, d, x->name.name, &x->columns[i]->constraints[k], at[i]));
    for (int64_t k = 0; k < x->n_constraints; k++)
        if (x->constraints[k].kind != AST_CON_CHECK) TRY(add_constraint(s, a, d, x->name.name, &x->constraints[k], -1));
    for (int64_t i = 0; i <= x->n_columns; i++) {
        for (;
             next < x->n_constraints && (i == x->n_columns || x->constraints[next].location < x->columns[i]->location);
             next++)
            if (x->constraints[next].kind == AST_CON_CHECK)
                TRY(add_constraint(s, a, d, x->name.name, &x->constraints[next], -1));
        for (int64_t k = 0; i < x->n_columns && k < x->columns[i]->n_constraints; k++)
            if (x->columns[i]->constraints[k].kind == AST_CON_CHECK)
                TRY(add_constraint(s, a, d, x->name.name, &x->columns[i]->constraints[k], at[i]));
    }
    return likes_add_checks(s, a, d, x->name.name, likes);
}

Status foreign_keys(Session *s, Statement *st, const char *table, int64_t n, const AstConstraint *k,
                    const char *column) {
    const Table *t = catalog_table(&s->db->catalog, slice_of(table));
    for (int64_t i = 0; i < n; i++)
        if (k[i].kind == AST_CON_FOREIGN_KEY) {
            AstConstraint valid = k[i]; /* of a new column or table */
            valid.not_valid = false;
            TRY(foreign_define(s, st, t, &valid, column));
        }
    return ST_OK;
}

Status name_is_free(Session *s, const AstName *n, bool if_not_exists, bool *skip) {
    *skip = false;
    if (!catalog_relation_exists(&s->db->catalog, slice_of(n->name))) return row_type_free(s, n->name, 0);
    if (if_not_exists) return *skip = true, ST_OK;
    return err_at(&s->err, n->location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", n->name);
}

Status try_bind(Session *s, Arena *a, Table *t) {
    bool generated = false;
    for (int i = 0; i < t->n_cols; i++) {
        generated |= t->cols[i].kind == COLUMN_GENERATED;
        if (!t->cols[i].default_sql || t->cols[i].kind == COLUMN_GENERATED) continue;
        PlanCtx c;
        plan_ctx_init(s, a, &c);
        c.of_catalog = true;
        AstExpr *x;
        Expr *e;
        TRY(sql_parse_expr(a, slice_of(t->cols[i].default_sql), &x, &s->err));
        if (sql_bind_scalar(&c, x, t->cols[i].type, &e) != ST_OK) return ST_ERROR;
    }
    if (t->n_checks == 0 && !generated) return ST_OK;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    BoundStmt *b;
    AstStmt **list;
    int64_t n;
    const char *name = quote_relation(a, t->name);
    char *sql = name ? arena_printf(a, "insert into %s default values", name) : NULL;
    if (!sql) return err_oom(&s->err);
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    for (int i = 0; i < t->n_cols; i++)
        if (t->cols[i].kind == COLUMN_GENERATED) TRY(generated_check(s, a, t, t->cols[i].default_sql));
    return ST_OK;
}

static Status check_on_commit(Session *s, const char *key, char on_commit) {
    if (on_commit && !key_is_temporary(key))
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "ON COMMIT can only be used on temporary tables");
    return ST_OK;
}
/* Table.on_commit. PRESERVE ROWS is what happens anyway. */
static char on_commit_of(char code) { return code == 'p' ? (char)0 : code; }

/* The columns, those of each LIKE at its place; at[i]: where column i of the statement is. */
static Status add_columns(Session *s, TableDraft *d, const AstCreateTable *x, const Likes *likes, int *at) {
    int like = 0;
    for (int64_t i = 0; i <= x->n_columns; i++) {
        for (; like < likes->n && x->likes[like].before == i; like++) TRY(likes_add_columns(s, d, &likes->items[like]));
        if (i == x->n_columns) break;
        const AstColumnDef *c = x->columns[i];
        if (draft_column(d, c->name) >= 0)
            return err_at(&s->err, c->location, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once",
                          c->name);
        TRY(column_name_free(s, c->name, c->location));
        at[i] = d->n_cols++;
        d->cols[at[i]].name = c->name;
        TRY(new_column_type(s, c, &d->cols[at[i]].type, &d->cols[at[i]].domain));
    }
    return d->n_cols <= 1600 ? ST_OK : err_set(&s->err, ERR_TOO_MANY_COLUMNS, "tables can have at most 1600 columns");
}

Status create_table(Session *s, Statement *st, const AstCreateTable *x) {
    Arena *a = st->run_arena;
    Likes likes;
    tag(st, "CREATE TABLE");
    TRY(session_begin_write(s));
    bool skip;
    AstCreateTable named = *x;
    TRY(session_new_relation(s, a, &x->name, persistence_of(x->temporary, x->unlogged), &named.name));
    x = &named;
    TRY(check_on_commit(s, x->name.name, x->on_commit));
    TRY(name_is_free(s, &x->name, x->if_not_exists, &skip));
    if (skip) return ST_OK;
    TRY(likes_find(s, a, x, &likes));
    int64_t n_con = x->n_constraints;
    for (int64_t i = 0; i < x->n_columns; i++) n_con += x->columns[i]->n_constraints;
    TableDraft d = {.cols = arena_calloc(a, (x->n_columns + likes.n_cols + 1) * (int64_t)sizeof(ColumnDef)),
                    .keys = arena_array(a, KeyDef, n_con + likes.n_indexes + 1),
                    .checks = arena_array(a, CheckDef, n_con + likes.n_checks + 1),
                    .exprs = arena_array(a, ExprIndexDef, likes.n_indexes + 1),
                    .unlogged = x->unlogged};
    int *at = arena_array(a, int, x->n_columns + 1);
    if (!d.cols || !d.keys || !d.checks || !d.exprs || !at) return ST_ERROR;
    TRY(add_columns(s, &d, x, &likes, at));
    TRY(add_constraints(s, a, &d, x, at, &likes));
    int64_t expected = 0;
    TRY(storage_options_read(x->n_options, x->options, true, &expected, &s->err));
    Table *t;
    TRY(draft_table(s, &d, x->name.name, &t));
    t->expected_rows = expected;
    t->on_commit = on_commit_of(x->on_commit);
    if (session_add_table(s, t) != ST_OK) {
        table_free(t);
        return ST_ERROR;
    }
    TRY(index_defs_of_draft(s, &d));
    TRY(likes_copy_comments(s, t->name, &likes));
    TRY(try_bind(s, a, t));
    for (int64_t i = 0; i < x->n_columns; i++)
        TRY(foreign_keys(s, st, t->name, x->columns[i]->n_constraints, x->columns[i]->constraints,
                         x->columns[i]->name));
    return foreign_keys(s, st, t->name, x->n_constraints, x->constraints, NULL);
}

/* ---- CREATE TABLE AS ------------------------------------------------------------------------- */

Status table_of_query(Session *s, Arena *a, const AstCreateTableAs *x, const PlanCtx *c, const BoundStmt *b,
                      Table **out) {
    if (x->n_columns > b->n_result) return err_set(&s->err, ERR_SYNTAX, "too many column names were specified");
    ColumnDef *cols = arena_array(a, ColumnDef, b->n_result + 1);
    if (!cols) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        cols[i].name = i < x->n_columns ? x->columns[i] : b->names[i];
        cols[i].type = c->cols.items[b->result[i]].type;
        cols[i].domain = c->cols.items[b->result[i]].domain;
        if (cols[i].type.id == T_UNKNOWN) cols[i].type = type_make(T_TEXT);
        if (type_is_record(cols[i].type) || composite_is_record(cols[i].type))
            return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "column \"%s\" has pseudo-type %s", cols[i].name,
                           type_plain_name(cols[i].type));
        for (int32_t j = 0; j < i; j++)
            if (strcmp(cols[j].name, cols[i].name) == 0)
                return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", cols[i].name);
    }
    int64_t expected = 0;
    Table *t;
    TRY(storage_options_read(x->n_options, x->options, true, &expected, &s->err));
    TRY(table_new(&s->db->parts[DB_TABLES], x->name.name, b->n_result, cols, 0, NULL, 0, NULL, &t, &s->err));
    t->expected_rows = expected;
    t->on_commit = on_commit_of(x->on_commit);
    t->unlogged = x->unlogged;
    *out = t;
    return ST_OK;
}
Status add_new_table(Session *s, Table *t) {
    if (session_add_table(s, t) == ST_OK) return ST_OK;
    table_free(t);
    return ST_ERROR;
}

/* CREATE TABLE AS, computed beside the tables. */
typedef struct NewTable {
    Session *s;
    Arena *a;
    const AstCreateTableAs *x;
    Table *table; /* of no catalog yet; NULL: there is none */
} NewTable;
static Status bind_new(void *ctx, PlanCtx *c, BoundStmt **b, Table **t) {
    NewTable *n = ctx;
    table_free(n->table); /* of the last try */
    n->table = NULL;
    plan_ctx_init_client(n->s, n->a, c);
    TRY(sql_bind(c, n->x->query, 0, NULL, b));
    TRY(table_of_query(n->s, n->a, n->x, c, *b, &n->table));
    *t = n->table;
    return ST_OK;
}
/* *done false: it is to be computed under the lock, which is held. */
static Status create_ahead(Session *s, Statement *st, const AstCreateTableAs *x, int64_t *rows, bool *done) {
    NewTable n = {s, st->run_arena, x, NULL};
    TableLoad *load;
    bool skip = false;
    Status r = ST_OK;
    bool again = true;
    AheadTries tries = {0};
    while (ahead_again(&tries) && r == ST_OK && again)
        r = fill_ahead(s, st, &(FillQuery){bind_new, &n}, NULL, &tries, &load, &again);
    *done = r == ST_OK && load;
    if (*done) r = name_is_free(s, &x->name, x->if_not_exists, &skip); /* others may have taken it meanwhile */
    if (r == ST_OK && *done && !skip) {
        r = session_add_table(s, n.table);
        if (r == ST_OK) r = load_finish(load, s->db->pool, s->undo, rows, &s->err);
        if (catalog_table(&s->db->catalog, slice_of(x->name.name)) == n.table) n.table = NULL;
    }
    load_cancel(load);
    table_free(n.table);
    return r;
}

static Status created_with(Statement *st, int64_t n) {
    st->affected = n;
    snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)n);
    return ST_OK;
}
Status create_table_as(Session *s, Statement *st, const AstCreateTableAs *x) {
    Arena *a = st->run_arena;
    AstCreateTableAs named = *x;
    TRY(session_begin_write(s));
    TRY(session_new_relation(s, a, &x->name, persistence_of(x->temporary, x->unlogged), &named.name));
    x = &named;
    if (x->materialized_view) return matview_create(s, st, x);
    tag(st, "CREATE TABLE AS");
    bool skip;
    TRY(check_on_commit(s, x->name.name, x->on_commit));
    TRY(name_is_free(s, &x->name, x->if_not_exists, &skip));
    if (skip) return ST_OK;
    SqlText *prepared = NULL;
    Value *values = NULL;
    if (x->query->kind == AST_EXECUTE) {
        TRY(prepared_values(s, st, AST_AS_CONST(AstExecute, x->query), &prepared, &values));
        if (prepared->ast->kind != AST_SELECT)
            return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "prepared statement is not a SELECT");
        named.query = (AstStmt *)(uintptr_t)prepared->ast; /* it is only read */
    }
    PlanCtx c;
    plan_ctx_init_client(s, a, &c);
    BoundStmt *b;
    Table *t;
    const int32_t n_given = prepared ? prepared->n_params : 0;
    const Type *types = prepared ? prepared->param_types : NULL;
    TRY(sql_bind(&c, x->query, n_given, types, &b));
    if (!prepared && b->n_params > 0)
        return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "CREATE TABLE AS takes no parameters");
    int64_t n = 0;
    bool done = false;
    Explained *shown = st->explained;
    const bool ahead = !prepared && !x->with_no_data && !shown && ahead_pays(s, &c, b);
    if (ahead) TRY(create_ahead(s, st, x, &n, &done));
    if (done) return created_with(st, n);
    if (ahead) { /* it has given up the lock: what was bound may be gone */
        plan_ctx_init_client(s, a, &c);
        TRY(sql_bind(&c, x->query, n_given, types, &b));
    }
    if (prepared) TRY(sql_bind_params(&c, b, prepared->n_params, values));
    TRY(table_of_query(s, a, x, &c, b, &t));
    TRY(add_new_table(s, t));
    if (x->with_no_data) return ST_OK;
    RunOutput r;
    TRY(session_begin_pieces(s, &c, b, b->n_result, b->result, &st->account, &r));
    Status out = fill_table(s, t, &r, a, &n);
    if (shown) {
        *shown = (Explained){
            .c = c, .b = b, .run = r, .n_rows = n, .analyze = true, .verbose = shown->verbose, .json = shown->json};
        st->query = r.query;
    } else {
        query_free(r.query);
    }
    return out == ST_OK ? created_with(st, n) : out;
}
