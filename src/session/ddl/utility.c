/* utility.c - statements that are no queries: DROP, TRUNCATE, settings, prepared statements, maintenance; the others
 * are in create_table.c, alter.c, copy_statement.c, views.c and routine.c. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "catalog/system_relation.h"
#include "base/log.h"
#include "catalog/similar_names.h"
#include "session/core/advisory.h"
#include "session/core/checkpointer.h"
#include "session/core/constraints.h"
#include "session/core/cursor.h"
#include "session/pool/callpool.h"
#include "session/ddl/access.h"
#include "session/ddl/comments.h"
#include "session/ddl/definition.h"
#include "session/ddl/depend.h"
#include "session/ddl/prepared.h"
#include "session/pl/pl_eval.h"
#include "session/pl/pl_run.h"
#include "session/core/plancache.h"
#include "session/core/session.h"
#include "session/core/transaction.h"
#include "session/ddl/setting_text.h"
#include "session/ddl/utility_int.h"
#include "storage/undo_edits.h"
#include "sql/bind/bind.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"
#include "types/composite.h"

struct SqlPrepared { /* in its text's arena */
    SqlPrepared *next;
    char *name;
    SqlText *text; /* with the types that parameters have been given, or found to have */
};

/* The schema of a name is there, and is no system's. */
static Status check_schema(Session *s, const AstName *n, bool missing_ok) {
    if (n->catalog && strcmp(n->catalog, s->info.database) != 0)
        return err_at(&s->err, n->location, ERR_FEATURE_NOT_SUPPORTED,
                      "cross-database references are not implemented: \"%s.%s.%s\"", n->catalog, n->schema, n->name);
    if (!n->schema) return ST_OK;
    if (system_schema(n->schema))
        return err_at(&s->err, n->location, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for schema %s", n->schema);
    if (missing_ok || catalog_has_schema(session_catalog(s), n->schema)) return ST_OK;
    return err_at(&s->err, n->location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", n->schema);
}
Status session_relation_name(Session *s, Arena *a, const AstName *n, bool missing_ok, AstName *out) {
    RelationName r;
    TRY(check_schema(s, n, missing_ok));
    TRY(catalog_search(session_catalog(s), a, n->schema, n->name, &r));
    *out = (AstName){.name = r.key, .location = n->location};
    return ST_OK;
}
Status session_new_name(Session *s, Arena *a, const AstName *n, AstName *out) {
    const char *schema = n->schema ? n->schema : search_path_first(&s->db->catalog);
    if (!schema) return err_at(&s->err, n->location, ERR_UNDEFINED_SCHEMA, "no schema has been selected to create in");
    if (strcmp(schema, SCHEMA_TEMP) == 0) {
        TRY(session_make_temp_schema(s));
        schema = s->path.temp.name;
    } else {
        TRY(check_schema(s, n, false));
    }
    if (system_schema(schema))
        return err_at(&s->err, n->location, ERR_INSUFFICIENT_PRIVILEGE, "permission denied for schema %s", schema);
    *out = (AstName){.name = key_has_schema(n->name) ? n->name : key_make(a, schema, n->name), .location = n->location};
    return out->name ? ST_OK : ST_ERROR;
}
Status session_new_relation(Session *s, Arena *a, const AstName *n, Persistence kept, AstName *out) {
    AstName in = *n;
    if (kept == PERSISTENCE_TEMPORARY && !n->schema) in.schema = SCHEMA_TEMP;
    TRY(session_new_name(s, a, &in, out));
    const bool temporary = key_is_temporary(out->name), own = temporary && key_is_in(out->name, s->path.temp.name);
    if (temporary && kept == PERSISTENCE_UNLOGGED)
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION,
                       "only temporary relations may be created in temporary schemas");
    if (temporary && !own)
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION,
                       "cannot create relations in temporary schemas of other sessions");
    if (!temporary && kept == PERSISTENCE_TEMPORARY)
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION,
                       "cannot create temporary relation in non-temporary schema");
    return ST_OK;
}

/* ---- DROP and TRUNCATE ------------------------------------------------------------------------------------ */

Status session_find_type(Session *s, const AstName *n, bool missing_ok, NamedType *out) {
    *out = (NamedType){0};
    TRY(check_schema(s, n, missing_ok));
    *out = catalog_type(session_catalog(s), n->schema, n->name);
    return ST_OK;
}
Status session_no_type(Session *s, const AstName *n) {
    return err_at(&s->err, n->location, ERR_UNDEFINED_OBJECT, "type \"%s%s%s\" does not exist",
                  n->schema ? n->schema : "", n->schema ? "." : "", n->name);
}

bool try_query(Session *s, Arena *a, const char *sql, PlanCtx *c, BoundStmt **b) {
    Err e = {0};
    AstStmt **list;
    int64_t n;
    plan_ctx_init(s, a, c);
    c->err = &e;
    c->of_catalog = true;
    c->own_names = c->views.definition = true;
    bool ok = sql && sql_parse(a, slice_of(sql), &list, &n, &e) == ST_OK && n == 1 &&
              sql_bind(c, list[0], 0, NULL, b) == ST_OK;
    c->err = &s->err;
    if (!ok && gave_up(&e)) err_copy(&s->err, &e);
    return ok;
}

bool try_view(Session *s, Arena *a, const View *v, PlanCtx *c, BoundStmt **b) {
    Err e = {0};
    plan_ctx_init(s, a, c);
    c->err = &e;
    c->own_names = true;
    bool ok = sql_bind_view(c, v, b) == ST_OK;
    c->err = &s->err;
    if (!ok && gave_up(&e)) err_copy(&s->err, &e);
    return ok;
}

/* What relations are called, and how they are dropped. */
static const struct {
    AstObject object;
    const char *name, *words;
} kinds[] = {{AST_OBJ_TABLE, "table", "a table"},
             {AST_OBJ_VIEW, "view", "a view"},
             {AST_OBJ_MATVIEW, "materialized view", "a materialized view"},
             {AST_OBJ_SEQUENCE, "sequence", "a sequence"},
             {AST_OBJ_INDEX, "index", "an index"},
             {AST_OBJ_TYPE, "type", "a type"}};
static int kind_number(AstObject object) {
    int i = 0;
    while (kinds[i].object != object) i++;
    return i;
}
static Status not_of_kind(Session *s, const AstName *n, AstObject wanted, AstObject is) {
    static const char *const drops[] = {"TABLE", "VIEW", "MATERIALIZED VIEW", "SEQUENCE", "INDEX", "TYPE"};
    const int k = kind_number(is);
    err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not %s", n->name, kinds[kind_number(wanted)].words);
    err_hint(&s->err, "Use DROP %s to remove %s.", drops[k], kinds[k].words);
    return ST_ERROR;
}

/* The table, or the view of either kind, that a DROP names; both NULL: there is none, and that is fine. */
static Status find_to_drop(Session *s, const AstDrop *x, const AstName *n, Table **t, View **v) {
    const Catalog *k = &s->db->catalog;
    const char *what = kinds[kind_number(x->object)].name;
    *t = NULL;
    *v = NULL;
    View *view = catalog_view(k, slice_of(n->name)), *matview = catalog_matview(k, slice_of(n->name));
    Table *table = matview ? NULL : catalog_table(k, slice_of(n->name));
    if (table && x->object != AST_OBJ_TABLE) return not_of_kind(s, n, x->object, AST_OBJ_TABLE);
    if (view && x->object != AST_OBJ_VIEW) return not_of_kind(s, n, x->object, AST_OBJ_VIEW);
    if (matview && x->object != AST_OBJ_MATVIEW) return not_of_kind(s, n, x->object, AST_OBJ_MATVIEW);
    if (catalog_sequence(k, slice_of(n->name))) return not_of_kind(s, n, x->object, AST_OBJ_SEQUENCE);
    if (catalog_index_exists(k, slice_of(n->name), NULL)) return not_of_kind(s, n, x->object, AST_OBJ_INDEX);
    if (composite_find(k->rows, slice_of(n->name)) && !table && !view && !matview)
        return not_of_kind(s, n, x->object, AST_OBJ_TYPE);
    *t = table;
    *v = view ? view : matview;
    if (*t || *v) return ST_OK;
    TRY(sql_refuse_system_relation(n->name, &s->err));
    if (!x->if_exists) {
        err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "%s \"%s\" does not exist", what, n->name);
        catalog_hint_relation(k, n->name, &s->err);
        return ST_ERROR;
    }
    session_notice_text(s, "NOTICE", "00000", "%s \"%s\" does not exist, skipping", what, n->name);
    return ST_OK;
}

/* What goes by itself, when what depends on it is gone. */
static Status drop_spared(Session *s, const Dependents *d) {
    for (int64_t i = 0; i < d->spared_tables.len; i++) {
        Table *t = catalog_table(&s->db->catalog, slice_of(d->spared_tables.items[i]->name));
        TRY(constraints_none_wait(s, t, "DROP TABLE"));
        TRY(foreign_drop_table(s, t));
        TRY(sequences_drop_of(s, t->name, NULL));
        TRY(session_drop_table(s, t));
    }
    for (int64_t i = 0; i < d->spared_views.len; i++) {
        const View *v = d->spared_views.items[i];
        if (v->materialized) TRY(matview_drop(s, catalog_matview(&s->db->catalog, slice_of(v->name))));
        else TRY(session_drop_view(s, catalog_view(&s->db->catalog, slice_of(v->name))));
    }
    return ST_OK;
}
/* The names of a DROP as keys; those in schemas that are not there are left out where IF EXISTS is said. */
static Status resolve_drop(Session *s, Arena *a, const AstDrop *x, AstDrop *out) {
    *out = *x;
    out->n_names = 0;
    if (!(out->names = arena_array(a, AstName, x->n_names + 1))) return ST_ERROR;
    for (int64_t i = 0; i < x->n_names; i++) {
        const AstName *n = &x->names[i];
        if (x->if_exists && n->schema && !catalog_has_schema(&s->db->catalog, n->schema))
            session_notice_text(s, "NOTICE", "00000", "schema \"%s\" does not exist, skipping", n->schema);
        else TRY(session_relation_name(s, a, n, false, &out->names[out->n_names++]));
    }
    return ST_OK;
}
static bool is_table_like(AstObject o) { return o == AST_OBJ_TABLE || o == AST_OBJ_VIEW || o == AST_OBJ_MATVIEW; }
Status drop_statement(Session *s, Statement *st, const AstDrop *x) {
    Arena *a = st->run_arena;
    AstDrop keys;
    TRY(session_begin_write(s));
    snprintf(st->tag, sizeof st->tag, "DROP %s", x->object_name);
    if (x->object == AST_OBJ_SCHEMA) return schemas_drop(s, st, x);
    if (x->object == AST_OBJ_TYPE || x->object == AST_OBJ_DOMAIN) return type_drop(s, st, x);
    if (is_table_like(x->object) || x->object == AST_OBJ_INDEX || x->object == AST_OBJ_SEQUENCE) {
        TRY(resolve_drop(s, a, x, &keys));
        x = &keys;
    }
    if (x->object == AST_OBJ_INDEX) return drop_index(s, st, x);
    if (x->object == AST_OBJ_SEQUENCE) return sequence_drop(s, st, x);
    if (!is_table_like(x->object))
        return x->if_exists ? ST_OK
                            : err_at(&s->err, x->names[0].location, ERR_FEATURE_NOT_SUPPORTED,
                                     "DROP %s is not supported", x->object_name);
    TRY(views_fill_sources(s, a));
    Dependents d;
    dependents_init(&d, s, st);
    for (int64_t i = 0; i < x->n_names; i++) {
        Table *t;
        View *v;
        TRY(find_to_drop(s, x, &x->names[i], &t, &v));
        if (t) TRY(dependents_spare_table(&d, t));
        if (v) TRY(dependents_spare_view(&d, v));
    }
    for (int64_t i = 0; i < d.spared_tables.len; i++) TRY(dependents_of_table(&d, d.spared_tables.items[i]));
    for (int64_t i = 0; i < d.spared_views.len; i++) TRY(dependents_of_view(&d, d.spared_views.items[i]));
    const char *what =
        x->n_names == 1 ? dependents_called(&d, kinds[kind_number(x->object)].name, x->names[0].name) : NULL;
    TRY(dependents_drop(&d, what, x->cascade));
    return drop_spared(s, &d);
}

Status parts_rename(Session *s, const char *of, const char *name, const char *part, const char *new_name) {
    TRY(comments_rename(s, of, name, part, new_name));
    if (!part && strchr(of, 'r')) TRY(row_security_rename(s, name, new_name));
    return privileges_rename(s, of, name, part, new_name);
}
Status drop_spared_relations(Session *s, const Dependents *d) { return drop_spared(s, d); }

Status parts_sweep(Session *s) {
    if (!s->has_dropped) return ST_OK;
    TRY(index_defs_sweep(s));
    TRY(comments_sweep(s));
    TRY(privileges_sweep(s));
    TRY(row_security_sweep(s));
    s->has_dropped = false;
    return ST_OK;
}

/* One that can be truncated; 42809, 42501 or 42P01. */
static Status truncated_table(Session *s, const AstName *n, Table **out) {
    const Catalog *k = &s->db->catalog;
    Table *t = *out = catalog_table(k, slice_of(n->name));
    const bool matview = t && catalog_matview(k, slice_of(t->name));
    if (matview || (!t && catalog_relation_exists(k, slice_of(n->name))))
        return err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a table", n->name);
    if (!t) TRY(sql_refuse_system_relation(n->name, &s->err));
    return t ? ST_OK : catalog_no_relation(k, n->name, n->location, &s->err);
}
static Status truncate_tables(Session *s, Statement *st, const AstTruncate *stmt) {
    AstTruncate x = *stmt;
    Table *t;
    TRY(session_begin_write(s));
    tag(st, "TRUNCATE TABLE");
    if (!(x.tables = arena_array(st->run_arena, AstName, x.n_tables + 1))) return ST_ERROR;
    for (int64_t i = 0; i < x.n_tables; i++)
        TRY(session_relation_name(s, st->run_arena, &stmt->tables[i], false, (AstName *)(uintptr_t)&x.tables[i]));
    for (int64_t i = 0; i < x.n_tables; i++) TRY(truncated_table(s, &x.tables[i], &t));
    if (x.cascade) TRY(foreign_truncate_cascade(s, st->run_arena, &x));
    TRY(foreign_truncate(s, &x));
    for (int64_t i = 0; i < x.n_tables; i++) {
        TRY(truncated_table(s, &x.tables[i], &t));
        TRY(session_table_idle(s, t, "TRUNCATE TABLE"));
        TRY(constraints_none_wait(s, t, "TRUNCATE"));
        TRY(table_truncate(t, s->undo, &s->err));
        if (x.restart_identity) TRY(sequences_restart(s, t->name));
    }
    return ST_OK;
}

Status run_scalar(Session *s, Statement *st, PlanCtx *c, Expr *e, Type type, Value *out) {
    if (e->kind == EX_CONST) {
        *out = e->u.value;
        return ST_OK;
    }
    Arena *a = st->run_arena;
    BoundStmt *b = arena_new_of(a, BoundStmt);
    Plan *one = plan_new(c, LP_VALUES, 0);
    ColId id = plan_new_col(c, "value", type, true);
    if (!b || !one || !id) return ST_ERROR;
    one->values.n_rows = one->n_out = 1;
    one->out_cols = arena_array(a, ColId, 1);
    one->values.rows = arena_array(a, Expr **, 1);
    Expr **row = arena_array(a, Expr *, 1);
    if (!one->out_cols || !one->values.rows || !row) return ST_ERROR;
    one->out_cols[0] = id;
    one->values.rows[0] = row;
    row[0] = e;
    *b = (BoundStmt){.kind = STMT_SELECT, .plan = one, .n_result = 1, .result = one->out_cols};
    RunOutput r;
    TRY(session_run_plan(s, c, b, 1, one->out_cols, &st->account, &r));
    const void *cell;
    bool is_null;
    Status status = rows_cell(r.rows, 0, 0, &cell, &is_null, &s->err);
    Value v = {.type = type, .is_null = is_null};
    if (status == ST_OK && !is_null) memcpy(value_cell(&v), cell, (size_t)phys_size(type_phys(type)));
    if (status == ST_OK) status = value_copy(a, &v, out);
    query_free(r.query);
    return status;
}

/* ---- settings ------------------------------------------------------------------------------------------ */

static const char *literal_text(Arena *a, const AstExpr *e) {
    if (e->kind == AST_CAST) e = AST_AS_CONST(AstCast, e)->arg;
    const AstLiteral *l = AST_AS_CONST(AstLiteral, e);
    switch (e->kind) {
    case AST_BOOL_LIT: return l->b ? "on" : "off";
    case AST_INT_LIT: return arena_printf(a, "%lld", (long long)l->i);
    case AST_NUMBER_LIT:
    case AST_STRING_LIT: return arena_strndup(a, l->text.ptr, l->text.len);
    case AST_COLUMN: return AST_AS_CONST(AstColumn, e)->name;
    default: return NULL;
    }
}

/* SET TIME ZONE INTERVAL '..': "INTERVAL '02:00:00'", which the setting reads. NULL: the error is set. */
static const char *interval_text(Session *s, Arena *a, const AstCast *x) {
    const AstLiteral *l = AST_AS_CONST(AstLiteral, x->arg);
    Value v = {0};
    Type t;
    const Domain *domain;
    if (sql_bind_type(session_catalog(s), x->type, &t, &domain, &s->err) != ST_OK) return NULL;
    if (value_from_text(t, l->text, NULL, a, &v, &s->err) != ST_OK) return NULL;
    const char *text = value_to_text(a, &v, NULL);
    return text ? arena_printf(a, "INTERVAL '%s'", text) : NULL;
}

/* Of the open transaction; without one it is checked only. */
static Status set_transaction_mode(Session *s, const AstSet *x, const char *value) {
    bool on = false;
    if (strcmp(x->name, "transaction_isolation") != 0 && value && !pg_bool_parse(value, &on))
        return err_set(&s->err, ERR_INVALID_PARAMETER, "parameter \"%s\" requires a Boolean value", x->name);
    AstOption o = {.name = x->name, .value = on ? "1" : "0"};
    return s->state == 'T' ? session_transaction_options(s, 1, &o) : ST_OK;
}

static Status change_setting(Session *s, const AstSet *x, const char *value) {
    if (strncmp(x->name, "transaction_", 12) == 0 && strcmp(x->name, "transaction_isolation") != 0)
        return set_transaction_mode(s, x, value);
    if (x->is_local && s->state != 'T' && !pl_in_call(s))
        session_notice_text(s, "WARNING", "25P01", "SET LOCAL can only be used in transaction blocks");
    return settings_change(s, x->name, value, x->is_local, &s->err);
}

Status setting_value_text(Session *s, Arena *a, const AstSet *x, const char **out) {
    const char *v = "";
    if (x->n_values > 1 && !settings_is_list(x->name))
        return err_set(&s->err, ERR_INVALID_PARAMETER, "SET %s takes only one argument", x->name);
    for (int64_t i = 0; i < x->n_values; i++) {
        const AstExpr *e = x->values[i];
        const bool interval = e->kind == AST_CAST && strcmp(x->name, "timezone") == 0;
        const char *t = interval ? interval_text(s, a, AST_AS_CONST(AstCast, e)) : literal_text(a, e);
        if (err_is_set(&s->err)) return ST_ERROR;
        if (!t) return err_at(&s->err, x->values[i]->location, ERR_SYNTAX, "SET takes constants only");
        if (strcmp(x->name, "search_path") == 0 && !(t = definition_name(a, t))) return ST_ERROR;
        v = i ? arena_printf(a, "%s, %s", v, t) : t;
        if (!v) return ST_ERROR;
    }
    *out = v;
    return ST_OK;
}

static Status set_statement(Session *s, Statement *st, const AstSet *x) {
    Arena *a = st->run_arena;
    tag(st, x->is_reset ? "RESET" : "SET");
    switch (x->set_kind) {
    case AST_RESET_ALL: return settings_reset_all(s);
    case AST_SET_TRANSACTION:
        if (s->state == 'T') return session_transaction_options(s, x->n_options, x->options);
        session_notice_text(s, "WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks");
        return ST_OK;
    case AST_SET_SESSION_CHARACTERISTICS:
        for (int64_t i = 0; i < x->n_options; i++) {
            const char *name = arena_printf(a, "default_%s", x->options[i].name);
            if (!name) return ST_ERROR;
            TRY(settings_change(s, name, x->options[i].value, false, &s->err));
        }
        return ST_OK;
    case AST_SET_VALUE: {
        const char *v;
        TRY(setting_value_text(s, a, x, &v));
        return change_setting(s, x, v);
    }
    default: return change_setting(s, x, NULL);
    }
}

/* SHOW TABLES: tables and views by name. */
static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }
static Status show_tables(Session *s, Statement *st) {
    TRY(session_read(s, true));
    const Catalog *c = session_catalog(s);
    const char **names = arena_array(st->run_arena, const char *, c->n_tables + c->n_views + 1);
    if (!names) return ST_ERROR;
    int64_t n = 0;
    for (int64_t i = 0; i < c->n_tables; i++)
        if (!key_is_others(c->tables[i]->name)) names[n++] = c->tables[i]->name;
    for (int64_t i = 0; i < c->n_views; i++)
        if (!c->views[i]->materialized && !key_is_others(c->views[i]->name)) names[n++] = c->views[i]->name;
    qsort(names, (size_t)n, sizeof *names, by_name);
    TRY(statement_text_columns(st, 1, (const char *[]){"name"}));
    for (int64_t i = 0; i < n; i++) TRY(statement_text_row(st, (const char *[]){names[i]}));
    return ST_OK;
}

static Status show_statement(Session *s, Statement *st, const AstShow *x) {
    Arena *a = st->run_arena;
    tag(st, "SHOW");
    if (strcmp(x->name, "all") == 0) {
        TRY(statement_text_columns(st, 3, (const char *[]){"name", "setting", "description"}));
        for (int64_t i = 0; i < settings_count(); i++) {
            SettingInfo info;
            settings_info(s, a, i, &info);
            const char *v = settings_show(s, a, info.name, &s->err);
            if (!v) return ST_ERROR;
            TRY(statement_text_row(st, (const char *[]){info.name, v, info.doc}));
        }
        return ST_OK;
    }
    if (strcmp(x->name, "tables") == 0) return show_tables(s, st);
    if (strcmp(x->name, "devices") == 0) return session_show_devices(s, st);
    const char *v = settings_show(s, a, x->name, &s->err);
    if (!v) return ST_ERROR;
    TRY(statement_text_columns(st, 1, (const char *[]){x->name}));
    return statement_text_row(st, (const char *[]){v});
}

/* ---- PREPARE ------------------------------------------------------------------------------------------------ */

void session_free_prepared(Session *s) {
    while (s->names.prepared) {
        SqlPrepared *p = s->names.prepared;
        s->names.prepared = p->next;
        text_release(p->text);
    }
}
static SqlPrepared *find_prepared(Session *s, const char *name) {
    for (SqlPrepared *p = s->names.prepared; p; p = p->next)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

bool session_prepared_nth(const Session *s, int64_t i, const char **name, const SqlText **text) {
    const SqlPrepared *p = s->names.prepared;
    while (p && i-- > 0) p = p->next;
    if (!p) return false;
    *name = p->name;
    *text = p->text;
    return true;
}

/* Types of parameters, of which the first were given, and what else there is to know of the text. */
static Status bind_prepared(Session *s, Arena *a, SqlText *t, int64_t n_types, AstTypeName *const *types) {
    Type *given = arena_array(a, Type, n_types + 1);
    int64_t *domains = arena_calloc(t->arena, (n_types + 1) * (int64_t)sizeof *domains);
    if (!given || !domains) return ST_ERROR;
    for (int64_t i = 0; i < n_types; i++) {
        const Domain *d;
        TRY(sql_bind_type(session_catalog(s), types[i], &given[i], &d, &s->err));
        if (type_has_length(given[i])) given[i].length = 0; /* as PostgreSQL has it */
        if (d) domains[i] = d->id;
    }
    PlanCtx c;
    plan_ctx_init_client(s, a, &c);
    BoundStmt *b;
    TRY(sql_bind(&c, t->ast, (int32_t)n_types, given, &b));
    t->runs_bulk = c.n_bulks > 0;
    t->once = c.reads_client_rows || c.reads_stream;
    t->n_params = b->n_params;
    t->param_domains = n_types > 0 ? domains : NULL;
    t->n_domains = (int32_t)n_types;
    t->param_types = arena_array(t->arena, Type, b->n_params + 1);
    if (!t->param_types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_params; i++) t->param_types[i] = b->param_types[i];
    return ST_OK;
}

static Status prepare_statement(Session *s, Statement *st, const AstPrepare *x) {
    tag(st, "PREPARE");
    if (find_prepared(s, x->name))
        return err_set(&s->err, ERR_DUPLICATE_PREPARED, "prepared statement \"%s\" already exists", x->name);
    TRY(session_read_device(s)); /* definitions are all that it looks at */
    TRY(session_read(s, true));
    SqlText *t;
    TRY(text_parse(s, x->query_source, &t));
    Status r = t->ast && !t->next ? bind_prepared(s, st->run_arena, t, x->n_types, x->types)
                                  : err_internal(&s->err, "PREPARE text is not one statement");
    SqlPrepared *p = r == ST_OK ? arena_new_of(t->arena, SqlPrepared) : NULL;
    if (!p || !(p->name = arena_strdup(t->arena, x->name))) {
        text_release(t);
        return ST_ERROR;
    }
    p->text = t;
    p->next = s->names.prepared;
    s->names.prepared = p;
    return ST_OK;
}

Status prepared_values(Session *s, Statement *st, const AstExecute *x, SqlText **out, Value **values) {
    SqlPrepared *p = find_prepared(s, x->name);
    if (!p) return err_set(&s->err, ERR_BAD_STATEMENT_NAME, "prepared statement \"%s\" does not exist", x->name);
    SqlText *t = p->text;
    if (t->n_params && x->n_args != t->n_params) { /* without parameters arguments are not looked at */
        err_set(&s->err, ERR_SYNTAX, "wrong number of parameters for prepared statement \"%s\"", x->name);
        err_detail(&s->err, "Expected %d parameters but got %lld.", (int)t->n_params, (long long)x->n_args);
        return ST_ERROR;
    }
    Value *v = arena_array(st->run_arena, Value, t->n_params + 1);
    if (!v) return ST_ERROR;
    for (int32_t i = 0; i < t->n_params; i++) {
        PlanCtx c;
        plan_ctx_init(s, st->run_arena, &c);
        Expr *e;
        TRY(sql_bind_scalar(&c, x->args[i], t->param_types[i], &e));
        if (i < t->n_domains) TRY(sql_bind_domain(&c, t->param_domains[i], &e));
        EvalCtx simple = {.arena = st->run_arena, .err = &s->err, .session = &s->info};
        if (eval_can(e, 0)) TRY(eval_expr(&simple, e, &v[i])); /* without a lock: a call may join the pool */
        else TRY(run_scalar(s, st, &c, e, t->param_types[i], &v[i]));
    }
    t->refs++;
    text_release(st->ran_text);
    st->ran_text = *out = t;
    *values = v;
    return ST_OK;
}
static Status execute_statement(Session *s, Statement *st, const AstExecute *x) {
    SqlText *t;
    Value *v;
    TRY(prepared_values(s, st, x, &t, &v));
    return session_execute(s, st, t->ast, t->n_params, t->param_types, v, t);
}

static Status deallocate(Session *s, Statement *st, const AstDeallocate *x) {
    tag(st, x->name ? "DEALLOCATE" : "DEALLOCATE ALL");
    if (!x->name) {
        session_free_prepared(s);
        return ST_OK;
    }
    for (SqlPrepared **p = &s->names.prepared; *p; p = &(*p)->next)
        if (strcmp((*p)->name, x->name) == 0) {
            SqlPrepared *d = *p;
            *p = d->next;
            text_release(d->text);
            return ST_OK;
        }
    return err_set(&s->err, ERR_BAD_STATEMENT_NAME, "prepared statement \"%s\" does not exist", x->name);
}

/* ---- maintenance --------------------------------------------------------------------------------------------- */

/* PostgreSQL's options, which change nothing here; others are 42601. *analyze: VACUUM (ANALYZE). */
static Status vacuum_options(Session *s, const AstVacuum *x, bool *analyze) {
    static const char *const names[] = {
        "verbose",       "skip_locked", "analyze",       "freeze",  "full", "disable_page_skipping",
        "process_toast", "truncate",    "index_cleanup", "parallel"};
    const char *what = x->is_vacuum ? "VACUUM" : "ANALYZE";
    for (int64_t i = 0; i < x->n_options; i++) {
        const AstOption *o = &x->options[i];
        int64_t k = 0, known = x->is_vacuum ? (int64_t)ARRAY_LEN(names) : 2;
        while (k < known && strcmp(o->name, names[k]) != 0) k++;
        if (k == known) return err_at(&s->err, o->location, ERR_SYNTAX, "unrecognized %s option \"%s\"", what, o->name);
        bool on = true;
        if (strcmp(o->name, "parallel") == 0) {
            char *end = NULL;
            long n = o->value ? strtol(o->value, &end, 10) : -1;
            if (!o->value)
                return err_at(&s->err, o->location, ERR_SYNTAX, "parallel option requires a value between 0 and %d",
                              1024);
            if (*end || n < 0 || n > 1024)
                return err_at(&s->err, o->location, ERR_SYNTAX, "parallel workers for vacuum must be between 0 and %d",
                              1024);
        } else if (!(strcmp(o->name, "index_cleanup") == 0 && o->value && strcasecmp(o->value, "auto") == 0)) {
            TRY(session_option_bool(s, o, &on));
        }
        if (strcmp(o->name, "analyze") == 0) *analyze = on;
    }
    return ST_OK;
}

/* A merge has computed statistics. */
static Status vacuum_table(Session *s, const AstVacuum *x, bool analyze, Table *t) {
    const int64_t before = table_generation(t);
    if (x->is_vacuum && table_has_undo(t))
        session_notice_text(
            s, "WARNING", "01000",
            "skipping vacuum of \"%s\": open transactions have changed it or look at what it was before", t->name);
    else if (x->is_vacuum) TRY(session_merge(s, t, &s->err));
    if (analyze || table_generation(t) == before) TRY(table_analyze(t, s->db->pool, &s->err));
    if (!key_is_temporary(t->name)) s->db->dirty = true;
    return ST_OK;
}

static Status vacuum(Session *s, Statement *st, const AstVacuum *x) {
    bool analyze = !x->is_vacuum;
    tag(st, x->is_vacuum ? "VACUUM" : "ANALYZE");
    TRY(vacuum_options(s, x, &analyze));
    for (int64_t i = 0; i < x->n_tables; i++)
        if (x->n_columns[i] && !analyze)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED,
                           "ANALYZE option must be specified when a column list is provided");
    if (x->is_vacuum && s->state == 'T')
        return err_set(&s->err, ERR_ACTIVE_TRANSACTION, "VACUUM cannot run inside a transaction block");
    TRY(session_lock(s, LOCK_EXCLUSIVE));
    Catalog *c = &s->db->catalog;
    for (int64_t i = 0; i < c->n_tables && x->n_tables == 0; i++)
        if (!key_is_others(c->tables[i]->name)) TRY(vacuum_table(s, x, analyze, c->tables[i]));
    for (int64_t i = 0; i < x->n_tables; i++) {
        AstName n;
        TRY(session_relation_name(s, st->run_arena, &x->tables[i], false, &n));
        Table *t = catalog_table(c, slice_of(n.name));
        if (!t && catalog_view(c, slice_of(n.name))) {
            session_notice_text(s, "WARNING", "01000",
                                "skipping \"%s\" --- cannot %s non-tables or special system tables", n.name,
                                x->is_vacuum ? "vacuum" : "analyze");
            continue;
        }
        if (!t) return catalog_no_relation(&s->db->catalog, n.name, n.location, &s->err);
        for (int64_t k = 0; k < x->n_columns[i]; k++)
            if (table_find_column(t, slice_of(x->columns[i][k])) < 0)
                return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist",
                               x->columns[i][k], t->name);
        TRY(vacuum_table(s, x, analyze, t));
    }
    return ST_OK;
}

static Status run_utility(Session *s, Statement *st, const AstStmt *x) {
    switch (x->kind) {
    case AST_CREATE_TABLE: return create_table(s, st, AST_AS_CONST(AstCreateTable, x));
    case AST_CREATE_TABLE_AS: return create_table_as(s, st, AST_AS_CONST(AstCreateTableAs, x));
    case AST_REFRESH: return matview_refresh(s, st, AST_AS_CONST(AstRefresh, x));
    case AST_CREATE_VIEW: return view_create(s, st, AST_AS_CONST(AstCreateView, x));
    case AST_CREATE_INDEX: return create_index(s, st, AST_AS_CONST(AstCreateIndex, x));
    case AST_DROP: return drop_statement(s, st, AST_AS_CONST(AstDrop, x));
    case AST_ALTER_TABLE: return alter_table(s, st, AST_AS_CONST(AstAlterTable, x));
    case AST_RENAME:
        if (AST_AS_CONST(AstRename, x)->object == AST_OBJ_ROLE) return role_rename(s, st, AST_AS_CONST(AstRename, x));
        return rename_object(s, st, AST_AS_CONST(AstRename, x));
    case AST_TRUNCATE: return truncate_tables(s, st, AST_AS_CONST(AstTruncate, x));
    case AST_COPY: return copy_statement(s, st, AST_AS_CONST(AstCopy, x));
    case AST_SET: return set_statement(s, st, AST_AS_CONST(AstSet, x));
    case AST_SHOW: return show_statement(s, st, AST_AS_CONST(AstShow, x));
    case AST_PREPARE: return prepare_statement(s, st, AST_AS_CONST(AstPrepare, x));
    case AST_EXECUTE: return execute_statement(s, st, AST_AS_CONST(AstExecute, x));
    case AST_DEALLOCATE: return deallocate(s, st, AST_AS_CONST(AstDeallocate, x));
    case AST_VACUUM: return vacuum(s, st, AST_AS_CONST(AstVacuum, x));
    case AST_CHECKPOINT:
        tag(st, "CHECKPOINT");
        if (s->state == 'T')
            return err_set(&s->err, ERR_ACTIVE_TRANSACTION, "CHECKPOINT cannot run inside a transaction block");
        return session_checkpoint(s);
    case AST_DISCARD:
        if (AST_AS_CONST(AstDiscard, x)->plans) {
            text_unlist_all(s);
            return tag(st, "DISCARD PLANS");
        }
        if (AST_AS_CONST(AstDiscard, x)->temp) {
            tag(st, "DISCARD TEMP");
            return session_drop_temp(s);
        }
        session_forget_sequences(s);
        tag(st, AST_AS_CONST(AstDiscard, x)->sequences ? "DISCARD SEQUENCES" : "DISCARD ALL");
        if (AST_AS_CONST(AstDiscard, x)->sequences) return ST_OK;
        if (s->state == 'T')
            return err_set(&s->err, ERR_ACTIVE_TRANSACTION, "DISCARD ALL cannot run inside a transaction block");
        cursors_close_all(s);
        session_free_prepared(s);
        TRY(advisory_unlock_all(s));
        TRY(session_drop_temp(s));
        TRY(settings_change(s, "session_authorization", NULL, false, &s->err));
        return settings_reset_all(s);
    case AST_CREATE_SCHEMA: return schema_create(s, st, AST_AS_CONST(AstCreateSchema, x));
    case AST_ALTER_ROUTINE: return routine_alter(s, st, AST_AS_CONST(AstAlterRoutine, x));
    case AST_SET_SCHEMA: return set_schema(s, st, AST_AS_CONST(AstSetSchema, x));
    case AST_CREATE_RANGE: return range_create(s, st, AST_AS_CONST(AstCreateRange, x));
    case AST_REINDEX: return reindex_statement(s, st, AST_AS_CONST(AstReindex, x));
    case AST_CLUSTER: return cluster_statement(s, st, AST_AS_CONST(AstCluster, x));
    case AST_CREATE_COMPOSITE: return composite_create(s, st, AST_AS_CONST(AstCreateComposite, x));
    case AST_CREATE_DOMAIN: return domain_create(s, st, AST_AS_CONST(AstCreateDomain, x));
    case AST_ALTER_DOMAIN: return domain_alter(s, st, AST_AS_CONST(AstAlterDomain, x));
    case AST_CREATE_SEQUENCE: return sequence_create(s, st, AST_AS_CONST(AstSequence, x));
    case AST_ALTER_SEQUENCE: return sequence_alter(s, st, AST_AS_CONST(AstSequence, x));
    case AST_CREATE_ENUM: return enum_create(s, st, AST_AS_CONST(AstCreateEnum, x));
    case AST_ALTER_ENUM: return enum_alter(s, st, AST_AS_CONST(AstAlterEnum, x));
    case AST_COMMENT: return comment_statement(s, st, AST_AS_CONST(AstComment, x));
    case AST_ROLE: return role_statement(s, st, AST_AS_CONST(AstRole, x));
    case AST_ROLE_SET: return role_set_statement(s, st, AST_AS_CONST(AstRoleSet, x));
    case AST_GRANT_ROLE: return role_grant_statement(s, st, AST_AS_CONST(AstGrantRole, x));
    case AST_GRANT: return grant_statement(s, st, AST_AS_CONST(AstGrant, x));
    case AST_POLICY: return policy_statement(s, st, AST_AS_CONST(AstPolicy, x));
    case AST_OWNER: return owner_statement(s, st, AST_AS_CONST(AstOwner, x));
    case AST_OWNED: return owned_statement(s, st, AST_AS_CONST(AstOwned, x));
    case AST_CREATE_FUNCTION: return routine_create(s, st, AST_AS_CONST(AstCreateFunction, x));
    case AST_DROP_FUNCTION: return routine_drop(s, st, AST_AS_CONST(AstDropFunction, x));
    case AST_UNSUPPORTED: return unsupported_statement(s, st, AST_AS_CONST(AstUnsupported, x));
    default: return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", ast_stmt_tag(x));
    }
}

/* Objects that the statement adds are new ones, but for those that take the place of others. */
static bool creates(AstKind kind) {
    switch (kind) {
    case AST_CREATE_TABLE:
    case AST_CREATE_TABLE_AS:
    case AST_CREATE_VIEW:
    case AST_CREATE_SEQUENCE:
    case AST_CREATE_ENUM:
    case AST_CREATE_RANGE:
    case AST_CREATE_COMPOSITE:
    case AST_CREATE_DOMAIN:
    case AST_CREATE_FUNCTION: return true;
    default: return false;
    }
}
Status session_utility(Session *s, Statement *st, const AstStmt *x) {
    const int64_t before = atomic_load(&s->db->catalog.version);
    const CatalogUndo *mark = s->catalog_undo;
    TRY(run_utility(s, st, x));
    const bool changed = atomic_load(&s->db->catalog.version) != before;
    if (!changed || s->lock != LOCK_EXCLUSIVE) return ST_OK;
    if (creates(x->kind)) TRY(owners_of_new(s, st->run_arena, mark));
    return parts_sweep(s);
}
