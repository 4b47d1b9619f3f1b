/* adbc_statistics.c - ADBC's GetStatistics: numbers of tables and their columns. Exact ones are computed by a query
 * over the table, approximate ones are the planner's (storage/table.h), without reading a row. The schema is adbc.h's.
 */
#include "api/adbc_int.h"

enum { VALUE_INT64, VALUE_UINT64, VALUE_FLOAT64, VALUE_BINARY, VALUE_KINDS };

typedef struct Statistics {
    AdbcConn *c;
    NestedHolder *h;
    NestedNode *root, *catalog, *schemas, *schema_row, *schema, *list, *row;
    NestedNode *table, *column, *key, *value, *approximate;
    NestedNode *kinds[VALUE_KINDS];
    bool exact;
} Statistics;

static bool make_tree(Statistics *s) {
    NestedHolder *h = s->h;
    static const char *const names[] = {"int64", "uint64", "float64", "binary"}, *const formats[] = {"l", "L", "g",
                                                                                                     "z"};
    for (int i = 0; i < VALUE_KINDS; i++) s->kinds[i] = nested_node(h, formats[i], names[i], true, 0, NULL);
    s->table = nested_node(h, "u", "table_name", false, 0, NULL);
    s->column = nested_node(h, "u", "column_name", true, 0, NULL);
    s->key = nested_node(h, "s", "statistic_key", false, 0, NULL);
    s->value = nested_node(h, "+ud:0,1,2,3", "statistic_value", false, VALUE_KINDS, s->kinds);
    s->approximate = nested_node(h, "b", "statistic_is_approximate", false, 0, NULL);
    NestedNode *fields[] = {s->table, s->column, s->key, s->value, s->approximate};
    s->row = nested_node(h, "+s", "item", true, 5, fields);
    s->list = nested_node(h, "+l", "db_schema_statistics", false, 1, &s->row);
    s->schema = nested_node(h, "u", "db_schema_name", true, 0, NULL);
    NestedNode *of_schema[] = {s->schema, s->list};
    s->schema_row = nested_node(h, "+s", "item", true, 2, of_schema);
    s->schemas = nested_node(h, "+l", "catalog_db_schemas", false, 1, &s->schema_row);
    s->catalog = nested_node(h, "u", "catalog_name", true, 0, NULL);
    NestedNode *of_root[] = {s->catalog, s->schemas};
    return (s->root = nested_node(h, "+s", "", false, 2, of_root)) != NULL;
}

/* The row of a value that has been added to its kind. column NULL: of the whole table. */
static bool put_row(Statistics *s, const char *table, const char *column, int key, int8_t kind, bool approximate) {
    return nested_text(s->h, s->table, table) && nested_text(s->h, s->column, column) &&
           nested_int(s->h, s->key, key) && nested_kind(s->h, s->value, kind) &&
           nested_int(s->h, s->approximate, approximate) && nested_row(s->h, s->row);
}
static bool put_int(Statistics *s, const char *table, const char *column, int key, int64_t v, bool approximate) {
    return nested_int(s->h, s->kinds[VALUE_INT64], v) && put_row(s, table, column, key, VALUE_INT64, approximate);
}
static bool put_double(Statistics *s, const char *table, const char *column, int key, double v, bool approximate) {
    return nested_double(s->h, s->kinds[VALUE_FLOAT64], v) &&
           put_row(s, table, column, key, VALUE_FLOAT64, approximate);
}

/* ---- exact ones ---------------------------------------------------------------------------------- */

/* What a column's type allows. */
static bool has_text(Type t) { return type_is_text(t) || t.id == T_BYTEA; }
static bool has_range(Type t) { return type_is_integer(t) || t.id == T_FLOAT4 || t.id == T_FLOAT8 || type_is_text(t); }
static bool has_equality(Type t) { return !type_is_unordered(t.id == T_ARRAY ? type_element(t) : t); }

typedef struct ColumnsOf {
    Arena *arena;
    VEC(const char *) names;
    VEC(Type) types;
} ColumnsOf;

static const char *statistics_sql(const ColumnsOf *x, const char *table) {
    Arena *a = x->arena;
    const char *sql = "select count(*)", *from = quote_relation(a, table);
    for (int64_t i = 0; sql && i < x->names.len; i++) {
        const char *c = quote_name(a, x->names.items[i]);
        Type t = x->types.items[i];
        sql = c ? arena_printf(a, "%s, count(%s)", sql, c) : NULL;
        if (sql && has_equality(t)) sql = arena_printf(a, "%s, count(distinct %s)", sql, c);
        if (sql && has_range(t)) sql = arena_printf(a, "%s, min(%s), max(%s)", sql, c, c);
        if (sql && has_text(t))
            sql = arena_printf(a, "%s, avg(octet_length(%s))::float8, max(octet_length(%s))", sql, c, c);
    }
    return sql && from ? arena_printf(a, "%s from %s", sql, from) : NULL;
}

/* A least or greatest value as the statistic has it; NULL of a column without any: nothing. */
static bool put_bound(Statistics *s, stele_stmt *q, int64_t at, const char *table, const char *column, int key,
                      Type t) {
    if (stele_column_is_null(q, at)) return true;
    if (type_is_integer(t)) return put_int(s, table, column, key, stele_column_int64(q, at), false);
    if (!type_is_text(t)) return put_double(s, table, column, key, stele_column_double(q, at), false);
    int64_t n;
    const char *text = stele_column_text(q, at, &n);
    return text && nested_bytes(s->h, s->kinds[VALUE_BINARY], text, n) &&
           put_row(s, table, column, key, VALUE_BINARY, false);
}

static bool put_exact(Statistics *s, const ColumnsOf *x, stele_stmt *q, const char *table) {
    int64_t rows = stele_column_int64(q, 0), at = 1;
    const char *name = name_of_key(table);
    bool ok = put_int(s, name, NULL, ADBC_STATISTIC_ROW_COUNT_KEY, rows, false);
    for (int64_t i = 0; ok && i < x->names.len; i++) {
        const char *c = x->names.items[i];
        Type t = x->types.items[i];
        ok = put_int(s, name, c, ADBC_STATISTIC_NULL_COUNT_KEY, rows - stele_column_int64(q, at++), false);
        if (ok && has_equality(t))
            ok = put_int(s, name, c, ADBC_STATISTIC_DISTINCT_COUNT_KEY, stele_column_int64(q, at++), false);
        if (ok && has_range(t)) {
            ok = put_bound(s, q, at, name, c, ADBC_STATISTIC_MIN_VALUE_KEY, t) &&
                 put_bound(s, q, at + 1, name, c, ADBC_STATISTIC_MAX_VALUE_KEY, t);
            at += 2;
        }
        if (!ok || !has_text(t)) continue;
        if (!stele_column_is_null(q, at))
            ok = put_double(s, name, c, ADBC_STATISTIC_AVERAGE_BYTE_WIDTH_KEY, stele_column_double(q, at), false) &&
                 put_int(s, name, c, ADBC_STATISTIC_MAX_BYTE_WIDTH_KEY, stele_column_int64(q, at + 1), false);
        at += 2;
    }
    return ok;
}

static bool exact(Statistics *s, const ColumnsOf *x, const char *table) {
    stele_stmt *q = NULL;
    const char *sql = statistics_sql(x, table);
    bool ok = sql && stele_prepare(s->c->conn, sql, -1, &q, NULL) == STELE_OK && stele_step(q) == STELE_ROW &&
              put_exact(s, x, q, table);
    stele_finalize(q);
    return ok;
}

/* ---- tables -------------------------------------------------------------------------------------- */

static bool put_approximate(Statistics *s, const Table *t) {
    const char *name = name_of_key(t->name);
    bool ok = put_int(s, name, NULL, ADBC_STATISTIC_ROW_COUNT_KEY, t->live_rows, true);
    for (int i = 0; ok && i < t->n_cols; i++) {
        const ColumnStats *k = &t->cols[i].stats;
        const char *c = t->cols[i].name;
        ok = put_int(s, name, c, ADBC_STATISTIC_NULL_COUNT_KEY, k->null_count, true);
        if (ok && k->distinct >= 1) ok = put_double(s, name, c, ADBC_STATISTIC_DISTINCT_COUNT_KEY, k->distinct, true);
        if (ok && k->avg_width > 0)
            ok = put_double(s, name, c, ADBC_STATISTIC_AVERAGE_BYTE_WIDTH_KEY, k->avg_width, true);
    }
    return ok;
}

/* Names and columns of the tables, since queries run without the look at the catalog. */
typedef struct Wanted {
    const char *name;
    ColumnsOf columns;
} Wanted;
typedef VEC(Wanted) WantedTables;

static bool collect(Statistics *s, const char *schema, const char *pattern, WantedTables *out) {
    if (!api_look_begin(s->c->conn->s, false)) return false;
    const Catalog *k = session_catalog(s->c->conn->s);
    bool ok = true;
    for (int64_t i = 0; ok && i < k->n_tables; i++) {
        const Table *t = k->tables[i];
        if (!key_is_in(t->name, schema) || !adbc_matches(pattern, name_of_key(t->name))) continue;
        if (!s->exact) {
            ok = put_approximate(s, t);
            continue;
        }
        Wanted w = {arena_strdup(s->h->arena, t->name), {.arena = s->h->arena}};
        for (int c = 0; ok && c < t->n_cols; c++) {
            const char *name = arena_strdup(s->h->arena, t->cols[c].name);
            ok = name && vec_push(s->h->arena, &w.columns.names, name) &&
                 vec_push(s->h->arena, &w.columns.types, t->cols[c].type);
        }
        ok = ok && w.name && vec_push(s->h->arena, out, w);
    }
    api_look_end(s->c->conn->s, ST_OK);
    return ok;
}

static bool fill(Statistics *s, const char *catalog, const char *schema, const char *table) {
    const char *own = s->c->conn->s->info.database;
    int64_t n = 0;
    if (!adbc_matches(catalog, own)) return true;
    const char **names = api_schemas(s->c->conn->s, s->h->arena, &n);
    bool ok = names != NULL;
    for (int64_t k = 0; ok && k < n; k++) {
        WantedTables w = {0};
        if (!adbc_matches(schema, names[k])) continue;
        ok = collect(s, names[k], table, &w);
        for (int64_t i = 0; ok && i < w.len; i++) ok = exact(s, &w.items[i].columns, w.items[i].name);
        ok = ok && nested_list(s->h, s->list) && nested_text(s->h, s->schema, names[k]) &&
             nested_row(s->h, s->schema_row);
    }
    return ok && nested_list(s->h, s->schemas) && nested_text(s->h, s->catalog, own) && nested_row(s->h, s->root);
}

AdbcStatusCode adbc_get_statistics(struct AdbcConnection *conn, const char *catalog, const char *schema,
                                   const char *table, char approximate, struct ArrowArrayStream *out,
                                   struct AdbcError *e) {
    AdbcConn *c = conn->private_data;
    if (!c || !c->conn) return adbc_fail(e, ADBC_STATUS_INVALID_STATE, "the connection is not open");
    Statistics s = {.c = c, .h = nested_new(), .exact = !approximate};
    err_clear(&c->conn->s->err);
    bool ok = s.h && make_tree(&s) && fill(&s, catalog, schema, table);
    if (ok && nested_stream(s.h, s.root, out)) return ADBC_STATUS_OK;
    if (!ok) nested_unref(s.h);
    if (err_is_set(&c->conn->s->err)) return adbc_failed(e, c->conn);
    return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}

/* There are none but ADBC's own. */
AdbcStatusCode adbc_get_statistic_names(struct AdbcConnection *conn, struct ArrowArrayStream *out,
                                        struct AdbcError *e) {
    NestedHolder *h = nested_new();
    (void)conn;
    if (!h) return adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
    NestedNode *fields[] = {nested_node(h, "u", "statistic_name", false, 0, NULL),
                            nested_node(h, "s", "statistic_key", false, 0, NULL)};
    NestedNode *root = nested_node(h, "+s", "", false, 2, fields);
    return nested_stream(h, root, out) ? ADBC_STATUS_OK : adbc_fail(e, ADBC_STATUS_INTERNAL, "out of memory");
}
