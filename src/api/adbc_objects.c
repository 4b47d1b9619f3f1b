/* adbc_objects.c - what there is in a database, for ADBC: GetObjects and GetInfo. Their schemas are adbc.h's. There is
 * one catalog, with the database's name.
 */
#include <limits.h>

#include "api/adbc_int.h"

/* ---- objects ------------------------------------------------------------------------------------- */

enum { COLUMN_FIELDS = 19 };

/* The tree of GetObjects, by levels. */
typedef struct Tree {
    NestedHolder *h;
    NestedNode *root, *catalog, *schemas, *schema_row, *schema;
    NestedNode *tables, *table_row, *table, *type;
    NestedNode *columns, *column_row, *column[COLUMN_FIELDS];
    NestedNode *constraints, *constraint_row, *constraint, *kind, *names, *name_item;
    NestedNode *usage, *usage_row, *fk[4];
} Tree;

/* Fields of a column, in their order: name, format, whether it may be NULL. */
static const struct {
    const char *name, *format;
} column_fields[COLUMN_FIELDS] = {{"column_name", "u"},
                                  {"ordinal_position", "i"},
                                  {"remarks", "u"},
                                  {"xdbc_data_type", "s"},
                                  {"xdbc_type_name", "u"},
                                  {"xdbc_column_size", "i"},
                                  {"xdbc_decimal_digits", "s"},
                                  {"xdbc_num_prec_radix", "s"},
                                  {"xdbc_nullable", "s"},
                                  {"xdbc_column_def", "u"},
                                  {"xdbc_sql_data_type", "s"},
                                  {"xdbc_datetime_sub", "s"},
                                  {"xdbc_char_octet_length", "i"},
                                  {"xdbc_is_nullable", "u"},
                                  {"xdbc_scope_catalog", "u"},
                                  {"xdbc_scope_schema", "u"},
                                  {"xdbc_scope_table", "u"},
                                  {"xdbc_is_autoincrement", "b"},
                                  {"xdbc_is_generatedcolumn", "b"}};

static NestedNode *list_of(NestedHolder *h, const char *name, NestedNode *item) {
    return nested_node(h, "+l", name, true, 1, &item);
}

static bool make_tree(Tree *t) {
    NestedHolder *h = t->h;
    static const char *const fk_names[] = {"fk_catalog", "fk_db_schema", "fk_table", "fk_column_name"};
    for (int i = 0; i < 4; i++) t->fk[i] = nested_node(h, "u", fk_names[i], i < 2, 0, NULL);
    t->usage_row = nested_node(h, "+s", "item", true, 4, t->fk);
    t->usage = list_of(h, "constraint_column_usage", t->usage_row);
    t->name_item = nested_node(h, "u", "item", true, 0, NULL);
    t->names = nested_node(h, "+l", "constraint_column_names", false, 1, &t->name_item);
    t->constraint = nested_node(h, "u", "constraint_name", true, 0, NULL);
    t->kind = nested_node(h, "u", "constraint_type", false, 0, NULL);
    NestedNode *of_constraint[] = {t->constraint, t->kind, t->names, t->usage};
    t->constraint_row = nested_node(h, "+s", "item", true, 4, of_constraint);
    t->constraints = list_of(h, "table_constraints", t->constraint_row);
    for (int i = 0; i < COLUMN_FIELDS; i++)
        t->column[i] = nested_node(h, column_fields[i].format, column_fields[i].name, i > 0, 0, NULL);
    t->column_row = nested_node(h, "+s", "item", true, COLUMN_FIELDS, t->column);
    t->columns = list_of(h, "table_columns", t->column_row);
    t->table = nested_node(h, "u", "table_name", false, 0, NULL);
    t->type = nested_node(h, "u", "table_type", false, 0, NULL);
    NestedNode *of_table[] = {t->table, t->type, t->columns, t->constraints};
    t->table_row = nested_node(h, "+s", "item", true, 4, of_table);
    t->tables = list_of(h, "db_schema_tables", t->table_row);
    t->schema = nested_node(h, "u", "db_schema_name", true, 0, NULL);
    NestedNode *of_schema[] = {t->schema, t->tables};
    t->schema_row = nested_node(h, "+s", "item", true, 2, of_schema);
    t->schemas = list_of(h, "catalog_db_schemas", t->schema_row);
    t->catalog = nested_node(h, "u", "catalog_name", true, 0, NULL);
    NestedNode *of_root[] = {t->catalog, t->schemas};
    return (t->root = nested_node(h, "+s", "", false, 2, of_root)) != NULL;
}

bool adbc_matches(const char *pattern, const char *name) {
    if (!pattern) return true;
    const char *p = pattern, *n = name, *star = NULL, *back = NULL;
    while (*n) {
        if (*p == '%') star = ++p, back = n;
        else if (*p == '_' || *p == *n) p++, n++;
        else if (star) p = star, n = ++back;
        else return false;
    }
    while (*p == '%') p++;
    return !*p;
}

static bool put_column(Tree *t, int64_t at, const char *name, const char *type, bool not_null, const char *def) {
    NestedHolder *h = t->h;
    bool ok = nested_text(h, t->column[0], name) && nested_int(h, t->column[1], at);
    for (int i = 2; i < COLUMN_FIELDS && ok; i++) switch (i) {
        case 4: ok = nested_text(h, t->column[i], type); break;
        case 8: ok = nested_int(h, t->column[i], !not_null); break;
        case 9: ok = nested_text(h, t->column[i], def); break;
        case 13: ok = nested_text(h, t->column[i], not_null ? "NO" : "YES"); break;
        default: ok = nested_null(h, t->column[i]);
        }
    return ok && nested_row(h, t->column_row);
}

static bool put_constraint(Tree *t, const char *name, const char *kind) {
    return nested_list(t->h, t->names) && nested_list(t->h, t->usage) && nested_text(t->h, t->constraint, name) &&
           nested_text(t->h, t->kind, kind) && nested_row(t->h, t->constraint_row);
}

static bool put_constraints(Tree *t, const Catalog *k, const Table *of, const char *catalog) {
    bool ok = true;
    for (int i = 0; i < of->n_keys && ok; i++) {
        for (int c = 0; c < of->keys[i].n_cols && ok; c++)
            ok = nested_text(t->h, t->name_item, of->cols[of->keys[i].cols[c]].name);
        ok = ok && put_constraint(t, name_of_key(of->keys[i].name), of->keys[i].primary ? "PRIMARY KEY" : "UNIQUE");
    }
    for (int i = 0; i < of->n_checks && ok; i++) ok = put_constraint(t, of->checks[i].name, "CHECK");
    for (int64_t i = 0; i < k->n_foreign && ok; i++) {
        const ForeignKey *f = k->foreign[i];
        if (strcmp(f->table, of->name) != 0) continue;
        for (int c = 0; c < f->n_cols && ok; c++) {
            const Slice in = schema_of_key(f->ref_table);
            const char *schema = arena_strndup(t->h->arena, in.ptr, in.len);
            const char *const usage[] = {catalog, schema, name_of_key(f->ref_table), f->ref_cols[c]};
            ok = schema && nested_text(t->h, t->name_item, f->cols[c]);
            for (int u = 0; u < 4 && ok; u++) ok = nested_text(t->h, t->fk[u], usage[u]);
            ok = ok && nested_row(t->h, t->usage_row);
        }
        ok = ok && put_constraint(t, f->name, "FOREIGN KEY");
    }
    return ok && nested_list(t->h, t->constraints);
}

typedef struct ColumnsOf {
    Tree *t;
    const char *pattern;
    int64_t at;
    bool failed;
} ColumnsOf;
static bool each_column(void *ctx, const char *name, const char *type, bool not_null, const char *def,
                        const char *key) {
    ColumnsOf *x = ctx;
    (void)key;
    x->at++;
    if (adbc_matches(x->pattern, name)) x->failed = !put_column(x->t, x->at, name, type, not_null, *def ? def : NULL);
    return x->failed;
}

typedef struct TableNames {
    Arena *arena;
    VEC(const char *) names;
    VEC(const char *) kinds;
    bool failed;
} TableNames;
/* Keys of the tables and views of a schema. */
static bool list_tables(Session *s, const char *schema, TableNames *x) {
    if (!api_look_begin(s, false)) return false;
    const Catalog *k = session_catalog(s);
    for (int64_t i = 0; i < k->n_tables + k->n_views && !x->failed; i++) {
        const bool table = i < k->n_tables;
        const View *v = table ? NULL : k->views[i - k->n_tables];
        const char *key = table ? k->tables[i]->name : v->name;
        const bool matview = table && catalog_matview(k, slice_of(key));
        if ((v && v->materialized) || !key_is_in(key, schema)) continue;
        const char *copy = arena_strdup(x->arena, key), *what = table && !matview ? "table" : "view";
        x->failed = !copy || !vec_push(x->arena, &x->names, copy) || !vec_push(x->arena, &x->kinds, what);
    }
    api_look_end(s, ST_OK);
    return !x->failed;
}

static bool wanted_type(const char **types, const char *kind) {
    if (!types) return true;
    for (; *types; types++)
        if (strcmp(*types, kind) == 0) return true;
    return false;
}

/* Columns and constraints of a table or view that is there. */
static bool put_details(Tree *t, AdbcConn *c, const char *table, const char *column, const char *catalog) {
    ColumnsOf x = {t, column, 0, false};
    const char *dotted = api_dotted(t->h->arena, table);
    if (!dotted || stele_list_columns(c->conn, dotted, each_column, &x) != STELE_OK || x.failed) return false;
    if (!nested_list(t->h, t->columns) || !api_look_begin(c->conn->s, false)) return false;
    const Catalog *k = session_catalog(c->conn->s);
    const Table *of = catalog_table(k, slice_of(table));
    bool ok = of ? put_constraints(t, k, of, catalog) : nested_list(t->h, t->constraints);
    api_look_end(c->conn->s, ST_OK);
    return ok;
}

static bool put_tables(Tree *t, AdbcConn *c, int depth, const char *schema, const char *table, const char **types,
                       const char *column, const char *catalog) {
    TableNames x = {.arena = t->h->arena};
    bool ok = list_tables(c->conn->s, schema, &x);
    for (int64_t i = 0; i < x.names.len && ok; i++) {
        const char *name = name_of_key(x.names.items[i]);
        if (!adbc_matches(table, name) || !wanted_type(types, x.kinds.items[i])) continue;
        ok = nested_text(t->h, t->table, name) && nested_text(t->h, t->type, x.kinds.items[i]);
        if (ok && depth == ADBC_OBJECT_DEPTH_TABLES)
            ok = nested_null(t->h, t->columns) && nested_null(t->h, t->constraints);
        else ok = ok && put_details(t, c, x.names.items[i], column, catalog);
        ok = ok && nested_row(t->h, t->table_row);
    }
    return ok && nested_list(t->h, t->tables);
}

static bool put_schemas(Tree *t, AdbcConn *c, int depth, const char *pattern, const char *table, const char **types,
                        const char *column, const char *catalog) {
    int64_t n = 0;
    const char **names = api_schemas(c->conn->s, t->h->arena, &n);
    bool ok = names != NULL;
    for (int64_t i = 0; i < n && ok; i++) {
        if (!adbc_matches(pattern, names[i])) continue;
        ok = nested_text(t->h, t->schema, names[i]);
        if (ok && depth == ADBC_OBJECT_DEPTH_DB_SCHEMAS) ok = nested_null(t->h, t->tables);
        else ok = ok && put_tables(t, c, depth, names[i], table, types, column, catalog);
        ok = ok && nested_row(t->h, t->schema_row);
    }
    return ok && nested_list(t->h, t->schemas);
}

AdbcStatusCode adbc_get_objects(struct AdbcConnection *conn, int depth, const char *catalog, const char *schema,
                                const char *table, const char **types, const char *column, struct ArrowArrayStream *out,
                                struct AdbcError *e) {
    AdbcConn *c = conn->private_data;
    if (!c || !c->conn) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection is not open");
    Tree t = {.h = nested_new()};
    const char *own = c->conn->s->info.database;
    bool ok = t.h && make_tree(&t);
    err_clear(&c->conn->s->err);
    if (ok && adbc_matches(catalog, own)) {
        if (depth == ADBC_OBJECT_DEPTH_CATALOGS) ok = nested_null(t.h, t.schemas);
        else ok = put_schemas(&t, c, depth, schema, table, types, column, own);
        ok = ok && nested_text(t.h, t.catalog, own) && nested_row(t.h, t.root);
    }
    if (ok && nested_stream(t.h, t.root, out)) return ADBC_STATUS_OK;
    if (!ok) nested_unref(t.h);
    if (err_is_set(&c->conn->s->err)) return adbc_failed(e, c->conn);
    return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}

/* ---- info ---------------------------------------------------------------------------------------- */

enum { INFO_TEXT, INFO_BOOL, INFO_INT64, INFO_KINDS = 6 };

static const struct {
    uint32_t code;
    int8_t kind;
    const char *text;
    int64_t number;
} infos[] = {{ADBC_INFO_VENDOR_NAME, INFO_TEXT, "Stele", 0},
             {ADBC_INFO_VENDOR_VERSION, INFO_TEXT, STELE_VERSION, 0},
             {ADBC_INFO_VENDOR_SQL, INFO_BOOL, NULL, 1},
             {ADBC_INFO_VENDOR_SUBSTRAIT, INFO_BOOL, NULL, 0},
             {ADBC_INFO_DRIVER_NAME, INFO_TEXT, "libstele", 0},
             {ADBC_INFO_DRIVER_VERSION, INFO_TEXT, STELE_VERSION, 0},
             {ADBC_INFO_DRIVER_ADBC_VERSION, INFO_INT64, NULL, ADBC_VERSION_1_1_0}};

static bool is_wanted(const uint32_t *codes, size_t n, uint32_t code) {
    for (size_t i = 0; codes && i < n; i++)
        if (codes[i] == code) return true;
    return !codes || n == 0;
}

AdbcStatusCode adbc_get_info(struct AdbcConnection *conn, const uint32_t *codes, size_t n, struct ArrowArrayStream *out,
                             struct AdbcError *e) {
    NestedHolder *h = nested_new();
    (void)conn;
    if (!h) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    NestedNode *text = nested_node(h, "u", "item", true, 0, NULL);
    NestedNode *numbers = nested_node(h, "i", "item", true, 0, NULL);
    NestedNode *entry[] = {nested_node(h, "i", "key", false, 0, NULL), list_of(h, "value", numbers)};
    NestedNode *entries = nested_node(h, "+s", "entries", false, 2, entry);
    NestedNode *kinds[INFO_KINDS] = {nested_node(h, "u", "string_value", true, 0, NULL),
                                     nested_node(h, "b", "bool_value", true, 0, NULL),
                                     nested_node(h, "l", "int64_value", true, 0, NULL),
                                     nested_node(h, "i", "int32_bitmask", true, 0, NULL),
                                     list_of(h, "string_list", text),
                                     nested_node(h, "+m", "int32_to_int32_list_map", true, 1, &entries)};
    NestedNode *fields[] = {nested_node(h, "I", "info_name", false, 0, NULL),
                            nested_node(h, "+ud:0,1,2,3,4,5", "info_value", true, INFO_KINDS, kinds)};
    NestedNode *root = nested_node(h, "+s", "", false, 2, fields);
    bool ok = root != NULL;
    for (size_t i = 0; i < sizeof infos / sizeof *infos && ok; i++) {
        if (!is_wanted(codes, n, infos[i].code)) continue;
        NestedNode *value = kinds[infos[i].kind];
        ok = nested_int(h, fields[0], infos[i].code) &&
             (infos[i].text ? nested_text(h, value, infos[i].text) : nested_int(h, value, infos[i].number)) &&
             nested_kind(h, fields[1], infos[i].kind) && nested_row(h, root);
    }
    if (ok && nested_stream(h, root, out)) return ADBC_STATUS_OK;
    if (!ok) nested_unref(h);
    return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}
