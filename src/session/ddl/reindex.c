/* reindex.c - REINDEX and CLUSTER.
 *
 * REINDEX builds the table anew, and with it its keys (23505 where two rows have one); indexes that are not built have
 * nothing to do. CLUSTER builds the table anew too, with its rows in the order of an index, whether that is built or
 * not. It marks the index, so that CLUSTER without a name does the same again.
 */
#include "catalog/similar_names.h"
#include "session/core/constraints.h"
#include "session/ddl/utility_int.h"
#include "session/system/access_methods.h"

/* Options without effect but for CONCURRENTLY, which a transaction block refuses. */
static Status read_options(Session *s, const char *statement, int64_t n, const AstOption *o, bool *concurrently) {
    const bool reindex = concurrently != NULL;
    for (int64_t i = 0; i < n; i++) {
        bool on;
        if (reindex && strcmp(o[i].name, "concurrently") == 0) {
            TRY(session_option_bool(s, &o[i], concurrently));
        } else if (strcmp(o[i].name, "verbose") == 0) {
            TRY(session_option_bool(s, &o[i], &on));
        } else if (reindex && strcmp(o[i].name, "tablespace") == 0) {
            if (!o[i].value || strcmp(o[i].value, "pg_default") != 0)
                return err_at(&s->err, o[i].location, ERR_UNDEFINED_OBJECT, "tablespace \"%s\" does not exist",
                              o[i].value ? o[i].value : "");
        } else {
            return err_at(&s->err, o[i].location, ERR_SYNTAX, "unrecognized %s option \"%s\"", statement, o[i].name);
        }
    }
    return ST_OK;
}
static Status outside_block(Session *s, const char *what) {
    return s->state == 'T' ? err_set(&s->err, ERR_ACTIVE_TRANSACTION, "%s cannot run inside a transaction block", what)
                           : ST_OK;
}

/* ---- REINDEX ---- */

static Status build_anew(Session *s, Statement *st, Table *t) {
    TableDraft d = {0};
    if (table_indexes(t) == 0) return ST_OK;
    TRY(constraints_none_wait(s, t, "REINDEX"));
    TRY(draft_of(s, st->run_arena, t, &d));
    return rebuild_as(s, st, t, &d);
}
static bool has_index(const Catalog *c, const Table *t) {
    bool has = table_indexes(t) > 0;
    for (int64_t i = 0; i < c->n_index_defs; i++) has |= strcmp(c->index_defs[i]->table, t->name) == 0;
    return has;
}
static Status reindex_index(Session *s, Statement *st, const AstName *n) {
    Table *t = NULL;
    const Catalog *c = &s->db->catalog;
    if (!catalog_index_exists(c, slice_of(n->name), &t)) {
        if (catalog_relation_exists(c, slice_of(n->name)))
            return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not an index", n->name);
        return err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", n->name);
    }
    return table_index_named(t, n->name) >= 0 ? build_anew(s, st, t) : ST_OK;
}
static Status reindex_table(Session *s, Statement *st, const AstName *n, bool concurrently) {
    const Catalog *c = &s->db->catalog;
    Table *t = catalog_table(c, slice_of(n->name));
    if (!t && catalog_relation_exists(c, slice_of(n->name)))
        return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a table or materialized view",
                      n->name);
    if (!t) return catalog_no_relation(c, n->name, n->location, &s->err);
    if (!has_index(c, t))
        session_notice_text(s, "NOTICE", "00000",
                            concurrently ? "table \"%s\" has no indexes that can be reindexed concurrently"
                                         : "table \"%s\" has no indexes to reindex",
                            n->name);
    return build_anew(s, st, t);
}
/* Names of all tables: one that is built anew comes last in the catalog. */
static Status table_names(Session *s, Arena *a, int64_t *n, const char ***names) {
    const Catalog *c = &s->db->catalog;
    *n = 0;
    if (!(*names = arena_array(a, const char *, c->n_tables + 1))) return err_oom(&s->err);
    for (int64_t i = 0; i < c->n_tables; i++) {
        if (key_is_others(c->tables[i]->name)) continue;
        if (!((*names)[(*n)++] = arena_strdup(a, c->tables[i]->name))) return err_oom(&s->err);
    }
    return ST_OK;
}
/* schema NULL: of all. */
static Status reindex_all(Session *s, Statement *st, const char *schema) {
    const Catalog *c = &s->db->catalog;
    const char **names;
    int64_t n;
    TRY(table_names(s, st->run_arena, &n, &names));
    for (int64_t i = 0; i < n; i++)
        if (!schema || key_is_in(names[i], schema)) TRY(build_anew(s, st, catalog_table(c, slice_of(names[i]))));
    return ST_OK;
}

Status reindex_statement(Session *s, Statement *st, const AstReindex *x) {
    bool concurrently = false;
    tag(st, "REINDEX");
    TRY(read_options(s, "REINDEX", x->n_options, x->options, &concurrently));
    if (concurrently) TRY(outside_block(s, "REINDEX CONCURRENTLY"));
    if (x->kind_of == AST_REINDEX_SCHEMA) TRY(outside_block(s, "REINDEX SCHEMA"));
    if (x->kind_of == AST_REINDEX_SYSTEM) TRY(outside_block(s, "REINDEX SYSTEM"));
    if (x->kind_of == AST_REINDEX_DATABASE) TRY(outside_block(s, "REINDEX DATABASE"));
    AstName n;
    TRY(session_begin_write(s));
    if (x->kind_of == AST_REINDEX_INDEX || x->kind_of == AST_REINDEX_TABLE)
        TRY(session_relation_name(s, st->run_arena, &x->name, false, &n));
    switch (x->kind_of) {
    case AST_REINDEX_INDEX: return reindex_index(s, st, &n);
    case AST_REINDEX_TABLE: return reindex_table(s, st, &n, concurrently);
    case AST_REINDEX_SCHEMA: {
        const char *schema = schema_meant(x->name.name);
        if (!schema || !catalog_has_schema(&s->db->catalog, schema))
            return err_set(&s->err, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", x->name.name);
        return reindex_all(s, st, schema);
    }
    default:
        if (strcmp(x->name.name, s->info.database) != 0)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "can only reindex the currently open database");
        return x->kind_of == AST_REINDEX_DATABASE ? reindex_all(s, st, NULL) : ST_OK;
    }
}

/* ---- CLUSTER ---- */

/* The index that is to order the table. */
static Status cluster_index(Session *s, Arena *a, const Table *t, const char *name, IndexDef *out) {
    Table *of = NULL;
    if (!catalog_index_exists(&s->db->catalog, slice_of(name), &of)) {
        if (catalog_relation_exists(&s->db->catalog, slice_of(name)))
            return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not an index", name);
        return err_set(&s->err, ERR_UNDEFINED_OBJECT, "index \"%s\" for table \"%s\" does not exist", name, t->name);
    }
    if (of != t)
        return err_set(&s->err, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not an index for table \"%s\"", name, t->name);
    TRY(index_def_get(s, a, t, name, out));
    const AccessMethod *m = access_method(out->method);
    if (!m || !m->cluster)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                       "cannot cluster on index \"%s\" because access method does not support clustering", name);
    return out->where ? err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot cluster on partial index \"%s\"", name)
                      : ST_OK;
}
Status cluster_mark(Session *s, Arena *a, const Table *t, const char *name) {
    const Catalog *c = &s->db->catalog;
    IndexDef x;
    if (name) TRY(cluster_index(s, a, t, name, &x));
    for (int64_t i = 0; i < c->n_index_defs; i++) {
        IndexDef *old = c->index_defs[i], like = *old;
        if (strcmp(old->table, t->name) != 0 || !old->clustered || (name && strcmp(old->name, name) == 0)) continue;
        like.clustered = false;
        TRY(index_def_put(s, t, old->name, &like));
        i = -1;
    }
    if (!name || x.clustered) return ST_OK;
    x.clustered = true;
    return index_def_put(s, t, name, &x);
}
/* ORDER BY of an index. */
static const char *order_of(Arena *a, const IndexDef *x) {
    const char *out = " order by ";
    for (int i = 0; out && i < x->n_parts; i++)
        out = arena_printf(a, "%s%s(%s\n)%s nulls %s", out, i ? ", " : "", x->parts[i].text,
                           x->parts[i].desc ? " desc" : "", x->parts[i].nulls_first ? "first" : "last");
    return out;
}
static Status cluster_table(Session *s, Statement *st, Table *t, const char *name) {
    Arena *a = st->run_arena;
    IndexDef x;
    TableDraft d = {0};
    TRY(constraints_none_wait(s, t, "CLUSTER"));
    TRY(cluster_index(s, a, t, name, &x));
    TRY(cluster_mark(s, a, t, x.name));
    const char *order = strcmp(x.method, "btree") == 0 ? order_of(a, &x) : "";
    TRY(draft_of(s, a, t, &d));
    return order ? rebuild_ordered(s, st, t, &d, order) : err_oom(&s->err);
}
static const char *clustered_index(const Catalog *c, const char *table) {
    for (int64_t i = 0; i < c->n_index_defs; i++)
        if (c->index_defs[i]->clustered && strcmp(c->index_defs[i]->table, table) == 0) return c->index_defs[i]->name;
    return NULL;
}
static Status cluster_all(Session *s, Statement *st) {
    const Catalog *c = &s->db->catalog;
    const char **names;
    int64_t n;
    TRY(table_names(s, st->run_arena, &n, &names));
    for (int64_t i = 0; i < n; i++) {
        const char *index = clustered_index(c, names[i]);
        if (index) TRY(cluster_table(s, st, catalog_table(c, slice_of(names[i])), index));
    }
    return ST_OK;
}
Status cluster_statement(Session *s, Statement *st, const AstCluster *x) {
    tag(st, "CLUSTER");
    TRY(read_options(s, "CLUSTER", x->n_options, x->options, NULL));
    if (!x->table.name) TRY(outside_block(s, "CLUSTER"));
    TRY(session_begin_write(s));
    if (!x->table.name) return cluster_all(s, st);
    const Catalog *c = &s->db->catalog;
    AstCluster named = *x;
    TRY(session_relation_name(s, st->run_arena, &x->table, false, &named.table));
    x = &named;
    Table *t = catalog_table(c, slice_of(x->table.name));
    if (!t && catalog_relation_exists(c, slice_of(x->table.name)))
        return err_at(&s->err, x->table.location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a table or materialized view",
                      x->table.name);
    if (!t) return catalog_no_relation(c, x->table.name, x->table.location, &s->err);
    const char *index = x->index ? key_beside(st->run_arena, t->name, x->index) : clustered_index(c, t->name);
    return index ? cluster_table(s, st, t, index)
                 : err_set(&s->err, ERR_UNDEFINED_OBJECT, "there is no previously clustered index for table \"%s\"",
                           t->name);
}
