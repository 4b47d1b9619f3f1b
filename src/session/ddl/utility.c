/* utility.c - definitions, COPY, settings, prepared statements, maintenance. */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/log.h"
#include "session/pool/callpool.h"
#include "session/ddl/depend.h"
#include "session/pl/pl_eval.h"
#include "session/core/session.h"
#include "session/core/transaction.h"
#include "sql/bind/bind.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"

struct SqlPrepared {
    SqlPrepared *next;
    char *name;
    Arena *arena;
    const AstStmt *ast;
    int32_t n_params;
    Type *types;
    KeptText kept;
};

static Status tag(Statement *st, const char *text) {
    snprintf(st->tag, sizeof st->tag, "%s", text);
    return ST_OK;
}

Status session_check_schema(Session *s, const AstName *n) {
    if (n->catalog)
        return err_at(&s->err, n->location, ERR_FEATURE_NOT_SUPPORTED,
                      "cross-database references are not implemented: \"%s.%s.%s\"", n->catalog, n->schema, n->name);
    if (!n->schema || strcmp(n->schema, "public") == 0) return ST_OK;
    return err_at(&s->err, n->location, ERR_UNDEFINED_SCHEMA, "schema \"%s\" does not exist", n->schema);
}

/* ---- CREATE TABLE ------------------------------------------------------------------------- */

typedef struct TableDraft {
    ColumnDef *cols;
    int n_cols;
    KeyDef *keys;
    int n_keys;
    CheckDef *checks;
    int n_checks;
} TableDraft;

static Status column_type(Session *s, const AstColumnDef *c, Type *out) {
    TRY(sql_bind_type(c->type, out, &s->err));
    return c->collation.name ? sql_check_collation(&c->collation, *out, c->location, &s->err) : ST_OK;
}

static int draft_column(const TableDraft *d, const char *name) {
    for (int i = 0; i < d->n_cols; i++)
        if (strcmp(d->cols[i].name, name) == 0) return i;
    return -1;
}

/* PostgreSQL's name for an unnamed UNIQUE: table_column_..._key and a number when that is taken. */
static char *key_name(Arena *a, const TableDraft *d, const char *table, int n, const int *cols) {
    char *base = arena_strdup(a, table);
    for (int i = 0; base && i < n; i++) base = arena_printf(a, "%s_%s", base, d->cols[cols[i]].name);
    char *name = base ? arena_printf(a, "%s_key", base) : NULL;
    for (int i = 0, again = 1; name && i < d->n_keys; i++)
        if (strcmp(d->keys[i].name, name) == 0) {
            name = arena_printf(a, "%s_key%d", base, again++);
            i = -1;
        }
    return name;
}

/* The column that a CHECK names, when it names just one; NULL otherwise, and when it does not bind. */
static const char *check_column(Session *s, Arena *a, const TableDraft *d, const char *table, const char *check) {
    char *row = arena_strdup(a, "select "), type[80];
    for (int i = 0; row && i < d->n_cols; i++)
        row = arena_printf(a, "%s%snull::%s as %s", row, i ? ", " : "", type_name(d->cols[i].type, type, sizeof type),
                           quote_name(a, d->cols[i].name));
    char *sql = row ? arena_printf(a, "select 1 from (%s) as %s where (%s)", row, quote_name(a, table), check) : NULL;
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
    const char *base = column ? arena_printf(a, "%s_%s_check", table, column) : arena_printf(a, "%s_check", table),
               *name = base;
    for (int i = 0, again = 1; name && i < d->n_checks; i++)
        if (strcmp(d->checks[i].name, name) == 0) {
            name = arena_printf(a, "%s%d", base, again++);
            i = -1;
        }
    return name;
}

static Status add_constraint(Session *s, Arena *a, TableDraft *d, const char *table, const AstConstraint *k,
                             int column) {
    switch (k->kind) {
    case AST_CON_NOT_NULL: d->cols[column].not_null = true; return ST_OK;
    case AST_CON_NULL: return ST_OK;
    case AST_CON_DEFAULT:
        d->cols[column].default_sql = arena_strndup(a, k->expr_source.ptr, k->expr_source.len);
        return d->cols[column].default_sql ? ST_OK : ST_ERROR;
    case AST_CON_CHECK: {
        CheckDef *c = &d->checks[d->n_checks];
        c->sql = arena_strndup(a, k->expr_source.ptr, k->expr_source.len);
        if (!c->sql) return err_oom(&s->err);
        for (int i = 0; k->name && i < d->n_checks; i++)
            if (strcmp(d->checks[i].name, k->name) == 0)
                return err_at(&s->err, k->location, ERR_DUPLICATE_OBJECT, "check constraint \"%s\" already exists",
                              k->name);
        c->name = k->name ? k->name : check_name(s, a, d, table, c->sql);
        d->n_checks++;
        return c->name ? ST_OK : err_oom(&s->err);
    }
    case AST_CON_PRIMARY_KEY:
    case AST_CON_UNIQUE: {
        if (k->nulls_not_distinct)
            return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "NULLS NOT DISTINCT is not supported");
        TRY(storage_options_index(k->n_options, k->options, &s->err));
        for (int64_t i = 0; i < k->n_include; i++) /* they would be in the index, which has no effect of its own */
            if (draft_column(d, k->include[i]) < 0)
                return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN, "column \"%s\" named in key does not exist",
                              k->include[i]);
        KeyDef *q = &d->keys[d->n_keys];
        int n = k->n_columns > 0 ? (int)k->n_columns : 1;
        int *cols = arena_array(a, int, n);
        if (!cols) return ST_ERROR;
        for (int i = 0; i < n; i++) {
            cols[i] = k->n_columns > 0 ? draft_column(d, k->columns[i]) : column;
            if (cols[i] < 0)
                return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN, "column \"%s\" named in key does not exist",
                              k->columns[i]);
            for (int j = 0; j < i; j++)
                if (cols[j] == cols[i])
                    return err_at(&s->err, k->location, ERR_DUPLICATE_COLUMN,
                                  "column \"%s\" appears twice in key constraint", d->cols[cols[i]].name);
            Type t = d->cols[cols[i]].type; /* equal intervals need not have equal bytes */
            if (t.id == T_ARRAY && type_element(t).id == T_INTERVAL)
                return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED,
                              "keys of arrays of intervals are not supported");
            if (k->kind == AST_CON_PRIMARY_KEY) d->cols[cols[i]].not_null = true;
        }
        if (k->kind == AST_CON_PRIMARY_KEY)
            for (int i = 0; i < d->n_keys; i++)
                if (d->keys[i].primary)
                    return err_at(&s->err, k->location, ERR_INVALID_TABLE_DEFINITION,
                                  "multiple primary keys for table \"%s\" are not allowed", table);
        *q = (KeyDef){.primary = k->kind == AST_CON_PRIMARY_KEY, .n_cols = n, .cols = cols};
        q->name = k->name ? k->name : q->primary ? arena_printf(a, "%s_pkey", table) : key_name(a, d, table, n, cols);
        for (int i = 0; i < d->n_keys && k->name; i++)
            if (strcmp(d->keys[i].name, k->name) == 0)
                return err_at(&s->err, k->location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", k->name);
        d->n_keys++;
        return q->name ? ST_OK : ST_ERROR;
    }
    case AST_CON_FOREIGN_KEY: return ST_OK; /* defined when the table is there: foreign_keys() */
    default:
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED,
                      "generated and identity columns are not supported");
    }
}

static Status check_column_constraints(Session *s, const char *table, const AstColumnDef *c) {
    int defaults = 0, nulls = 0, not_nulls = 0;
    for (int64_t i = 0; i < c->n_constraints; i++) {
        const AstConstraint *k = &c->constraints[i];
        defaults += k->kind == AST_CON_DEFAULT;
        nulls += k->kind == AST_CON_NULL;
        not_nulls += k->kind == AST_CON_NOT_NULL;
        if (defaults > 1)
            return err_at(&s->err, k->location, ERR_SYNTAX,
                          "multiple default values specified for column \"%s\" of table \"%s\"", c->name, table);
        if (nulls && not_nulls)
            return err_at(&s->err, k->location, ERR_SYNTAX,
                          "conflicting NULL/NOT NULL declarations for column \"%s\" of table \"%s\"", c->name, table);
    }
    return ST_OK;
}

/* CHECKs come last, in the order of the text: their names depend on it. */
static Status add_constraints(Session *s, Arena *a, TableDraft *d, const AstCreateTable *x) {
    int64_t next = 0;
    for (int64_t i = 0; i < x->n_columns; i++) TRY(check_column_constraints(s, x->name.name, x->columns[i]));
    for (int64_t i = 0; i < x->n_columns; i++)
        for (int64_t k = 0; k < x->columns[i]->n_constraints; k++)
            if (x->columns[i]->constraints[k].kind != AST_CON_CHECK)
                TRY(add_constraint(s, a, d, x->name.name, &x->columns[i]->constraints[k], (int)i));
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
                TRY(add_constraint(s, a, d, x->name.name, &x->columns[i]->constraints[k], (int)i));
    }
    return ST_OK;
}

static Status foreign_keys(Session *s, Statement *st, const char *table, int64_t n, const AstConstraint *k,
                           const char *column) {
    const Table *t = catalog_table(&s->db->catalog, slice_of(table));
    for (int64_t i = 0; i < n; i++)
        if (k[i].kind == AST_CON_FOREIGN_KEY) TRY(foreign_define(s, st, t, &k[i], column));
    return ST_OK;
}

static Status name_is_free(Session *s, const AstName *n, bool if_not_exists, bool *skip) {
    *skip = false;
    TRY(session_check_schema(s, n));
    Slice name = slice_of(n->name);
    if (!catalog_table(&s->db->catalog, name) && !catalog_view(&s->db->catalog, name)) return ST_OK;
    if (if_not_exists) return *skip = true, ST_OK;
    return err_at(&s->err, n->location, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", n->name);
}

/* Binds CHECKs and DEFAULTs once so that a bad one is refused at definition. */
static Status try_bind(Session *s, Arena *a, Table *t) {
    for (int i = 0; i < t->n_cols; i++) {
        if (!t->cols[i].default_sql) continue;
        PlanCtx c;
        plan_ctx_init(s, a, &c);
        AstExpr *x;
        Expr *e;
        TRY(sql_parse_expr(a, slice_of(t->cols[i].default_sql), &x, &s->err));
        if (sql_bind_scalar(&c, x, t->cols[i].type, &e) != ST_OK) return ST_ERROR;
    }
    if (t->n_checks == 0) return ST_OK;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    BoundStmt *b;
    AstStmt **list;
    int64_t n;
    char *sql = arena_printf(a, "insert into \"%s\" default values", t->name);
    if (!sql) return ST_ERROR;
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    return sql_bind(&c, list[0], 0, NULL, &b);
}

/* Rows stay (PRESERVE ROWS) or the table is refused: nothing here happens to tables at COMMIT. */
static Status check_on_commit(Session *s, int64_t location, bool temporary, char on_commit) {
    if (on_commit && !temporary)
        return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "ON COMMIT can only be used on temporary tables");
    if (on_commit == 'd' || on_commit == 'x')
        return err_at(&s->err, location, ERR_FEATURE_NOT_SUPPORTED, "ON COMMIT %s is not supported",
                      on_commit == 'd' ? "DELETE ROWS" : "DROP");
    return ST_OK;
}

static Status create_table(Session *s, Statement *st, const AstCreateTable *x) {
    Arena *a = st->run_arena;
    tag(st, "CREATE TABLE");
    TRY(session_begin_write(s));
    bool skip;
    TRY(check_on_commit(s, x->name.location, x->temporary, x->on_commit));
    TRY(name_is_free(s, &x->name, x->if_not_exists, &skip));
    if (skip) return ST_OK;
    if (x->n_columns > 1600) return err_set(&s->err, ERR_TOO_MANY_COLUMNS, "tables can have at most 1600 columns");
    int64_t n_con = x->n_constraints;
    for (int64_t i = 0; i < x->n_columns; i++) n_con += x->columns[i]->n_constraints;
    TableDraft d = {.cols = arena_array(a, ColumnDef, x->n_columns + 1),
                    .keys = arena_array(a, KeyDef, n_con + 1),
                    .checks = arena_array(a, CheckDef, n_con + 1)};
    if (!d.cols || !d.keys || !d.checks) return ST_ERROR;
    for (int64_t i = 0; i < x->n_columns; i++) {
        const AstColumnDef *c = x->columns[i];
        if (draft_column(&d, c->name) >= 0)
            return err_at(&s->err, c->location, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once",
                          c->name);
        d.cols[d.n_cols].name = c->name;
        TRY(column_type(s, c, &d.cols[d.n_cols].type));
        d.n_cols++;
    }
    TRY(add_constraints(s, a, &d, x));
    int64_t expected = 0;
    TRY(storage_options_read(x->n_options, x->options, true, &expected, &s->err));
    Table *t;
    TRY(table_new(&s->db->account, x->name.name, d.n_cols, d.cols, d.n_keys, d.keys, d.n_checks, d.checks, &t,
                  &s->err));
    t->expected_rows = expected;
    if (session_add_table(s, t) != ST_OK) {
        table_free(t);
        return ST_ERROR;
    }
    TRY(try_bind(s, a, t));
    for (int64_t i = 0; i < x->n_columns; i++)
        TRY(foreign_keys(s, st, t->name, x->columns[i]->n_constraints, x->columns[i]->constraints,
                         x->columns[i]->name));
    return foreign_keys(s, st, t->name, x->n_constraints, x->constraints, NULL);
}

/* ---- CREATE TABLE AS ------------------------------------------------------------------------- */

/* A result's rows on their way into an empty table: each worker takes some runs at a time, which keep their place. */
enum { FILL_ROWS = 2048, FILL_RUNS = 8 };
typedef struct Fill {
    RowStore *rows;
    TableLoad *load;
    Vec *cells, *now; /* per worker and column: room for FILL_ROWS; as filled last */
    const _Atomic bool *cancel;
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *e;
} Fill;

static Status fill_run(Fill *f, int worker, int64_t i, int64_t order, Err *e) {
    const RowLayout *l = rows_layout(f->rows);
    const Vec *cells = f->cells + (int64_t)worker * l->n_cols;
    Vec *now = f->now + (int64_t)worker * l->n_cols;
    RowRun run;
    TRY(rows_run_open(f->rows, i, &run, e));
    Status r = ST_OK;
    for (int64_t first = 0; r == ST_OK && first < run.n; first += FILL_ROWS) {
        int64_t n = MIN_OF((int64_t)FILL_ROWS, run.n - first);
        for (int32_t k = 0; k < l->n_cols; k++) {
            now[k] = cells[k]; /* rows_load leaves out `valid` where nothing is NULL */
            rows_load(l, k, &run, first, NULL, n, &now[k]);
        }
        r = load_add(f->load, worker, order, n, now, e);
    }
    rows_run_close(f->rows, &run);
    return r;
}
static void fill_worker(void *ctx, int worker) {
    Fill *f = ctx;
    Err err;
    err_clear(&err);
    for (int64_t order, runs = rows_n_runs(f->rows); (order = atomic_fetch_add(&f->next, 1)) * FILL_RUNS < runs;) {
        Status r = ST_OK;
        if (atomic_load(f->cancel)) r = err_set(&err, ERR_QUERY_CANCELED, "canceling statement due to user request");
        for (int64_t i = order * FILL_RUNS;
             r == ST_OK && i < MIN_OF((order + 1) * FILL_RUNS, runs) && !atomic_load(&f->failed); i++)
            r = fill_run(f, worker, i, order, &err);
        if (atomic_load(&f->failed)) return;
        if (r == ST_OK) continue;
        if (!atomic_exchange(&f->failed, true)) err_copy(f->e, &err); /* read when all are done */
        return;
    }
}

static Status fill_table(Session *s, Table *t, RowStore *rows, Arena *a, int64_t *count) {
    const RowLayout *l = rows_layout(rows);
    int64_t most = (rows_n_runs(rows) + FILL_RUNS - 1) / FILL_RUNS;
    int workers = s->db->pool ? (int)MAX_OF(INT64_C(1), MIN_OF((int64_t)pool_threads(s->db->pool), most)) : 1;
    Fill f = {.rows = rows, .cancel = &s->cancel, .e = &s->err};
    f.cells = arena_array(a, Vec, (int64_t)workers * l->n_cols + 1);
    f.now = arena_array(a, Vec, (int64_t)workers * l->n_cols + 1);
    if (!f.cells || !f.now) return ST_ERROR;
    for (int64_t i = 0; i < (int64_t)workers * l->n_cols; i++) {
        const CellSpec *c = &l->cols[i % l->n_cols];
        f.cells[i] = (Vec){.data = arena_alloc(a, phys_size((Phys)c->phys) * FILL_ROWS),
                           .valid = arena_alloc(a, FILL_ROWS),
                           .phys = c->phys,
                           .type = c->type};
        if (!f.cells[i].data || !f.cells[i].valid) return ST_ERROR;
    }
    TRY(load_begin(t, workers, &f.load, &s->err));
    if (workers > 1) pool_run(s->db->pool, workers, fill_worker, &f);
    else fill_worker(&f, 0);
    Status r = atomic_load(&f.failed) ? ST_ERROR : ST_OK;
    if (r == ST_OK) r = load_finish(f.load, s->db->pool, s->undo, count, &s->err);
    load_cancel(f.load);
    return r;
}

static Status create_table_as(Session *s, Statement *st, const AstCreateTableAs *x) {
    Arena *a = st->run_arena;
    TRY(session_begin_write(s));
    tag(st, "CREATE TABLE AS");
    bool skip;
    TRY(check_on_commit(s, x->name.location, x->temporary, x->on_commit));
    TRY(name_is_free(s, &x->name, x->if_not_exists, &skip));
    if (skip) return ST_OK;
    if (x->materialized_view)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "materialized views are not supported");
    if (x->query->kind != AST_SELECT)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "CREATE TABLE AS EXECUTE is not supported");
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    BoundStmt *b;
    TRY(sql_bind(&c, x->query, 0, NULL, &b));
    if (b->n_params > 0) return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "CREATE TABLE AS takes no parameters");
    if (x->n_columns > b->n_result) return err_set(&s->err, ERR_SYNTAX, "too many column names were specified");
    ColumnDef *cols = arena_array(a, ColumnDef, b->n_result + 1);
    if (!cols) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        cols[i].name = i < x->n_columns ? x->columns[i] : b->names[i];
        cols[i].type = c.cols.items[b->result[i]].type;
        if (cols[i].type.id == T_UNKNOWN) cols[i].type = type_make(T_TEXT);
        for (int32_t j = 0; j < i; j++)
            if (strcmp(cols[j].name, cols[i].name) == 0)
                return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" specified more than once", cols[i].name);
    }
    int64_t expected = 0;
    TRY(storage_options_read(x->n_options, x->options, true, &expected, &s->err));
    Table *t;
    TRY(table_new(&s->db->account, x->name.name, b->n_result, cols, 0, NULL, 0, NULL, &t, &s->err));
    t->expected_rows = expected;
    if (session_add_table(s, t) != ST_OK) {
        table_free(t);
        return ST_ERROR;
    }
    if (x->with_no_data) return ST_OK;
    RunOutput r;
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    int64_t n = 0;
    Status out = fill_table(s, t, r.rows, a, &n);
    query_free(r.query);
    st->affected = n;
    snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)n);
    return out;
}

/* ---- views, drops, alterations ------------------------------------------------------------------- */

bool try_query(Session *s, Arena *a, const char *sql, PlanCtx *c, BoundStmt **b) {
    Err e = {0};
    AstStmt **list;
    int64_t n;
    plan_ctx_init(s, a, c);
    c->err = &e;
    bool ok = sql && sql_parse(a, slice_of(sql), &list, &n, &e) == ST_OK && n == 1 &&
              sql_bind(c, list[0], 0, NULL, b) == ST_OK;
    c->err = &s->err;
    if (!ok && strcmp(e.sqlstate, ERR_OUT_OF_MEMORY) == 0) err_copy(&s->err, &e);
    return ok;
}

bool try_view(Session *s, Arena *a, const View *v, PlanCtx *c, BoundStmt **b) {
    Err e = {0};
    plan_ctx_init(s, a, c);
    c->err = &e;
    bool ok = sql_bind_view(c, v, b) == ST_OK;
    c->err = &s->err;
    if (!ok && strcmp(e.sqlstate, ERR_OUT_OF_MEMORY) == 0) err_copy(&s->err, &e);
    return ok;
}

/* The table or view that a DROP names; both NULL: there is none, and that is fine. */
static Status find_to_drop(Session *s, const AstDrop *x, const AstName *n, Table **t, View **v) {
    const char *what = x->object == AST_OBJ_TABLE ? "table" : "view",
               *other = x->object == AST_OBJ_TABLE ? "view" : "table";
    *t = NULL;
    *v = NULL;
    if (x->if_exists && n->schema && strcmp(n->schema, "public") != 0) {
        session_notice_text(s, "NOTICE", "00000", "schema \"%s\" does not exist, skipping", n->schema);
        return ST_OK;
    }
    TRY(session_check_schema(s, n));
    *t = catalog_table(&s->db->catalog, slice_of(n->name));
    *v = catalog_view(&s->db->catalog, slice_of(n->name));
    if (x->object == AST_OBJ_TABLE ? *v != NULL : *t != NULL) {
        err_at(&s->err, n->location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a %s", n->name, what);
        err_hint(&s->err, "Use DROP %s to remove a %s.", *v ? "VIEW" : "TABLE", other);
        return ST_ERROR;
    }
    if (*t || *v) return ST_OK;
    if (!x->if_exists)
        return err_at(&s->err, n->location, ERR_UNDEFINED_TABLE, "%s \"%s\" does not exist", what, n->name);
    session_notice_text(s, "NOTICE", "00000", "%s \"%s\" does not exist, skipping", what, n->name);
    return ST_OK;
}

static Status drop(Session *s, Statement *st, const AstDrop *x) {
    Arena *a = st->run_arena;
    TRY(session_begin_write(s));
    snprintf(st->tag, sizeof st->tag, "DROP %s", x->object_name);
    if (x->object != AST_OBJ_TABLE && x->object != AST_OBJ_VIEW)
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
    const char *what = x->n_names == 1
                           ? arena_printf(a, "%s %s", x->object == AST_OBJ_TABLE ? "table" : "view", x->names[0].name)
                           : NULL;
    TRY(dependents_drop(&d, what, x->cascade));
    for (int64_t i = 0; i < d.spared_tables.len; i++) {
        Table *t = catalog_table(&s->db->catalog, slice_of(d.spared_tables.items[i]->name));
        TRY(foreign_drop_table(s, t));
        TRY(session_drop_table(s, t));
    }
    for (int64_t i = 0; i < d.spared_views.len; i++)
        TRY(session_drop_view(s, catalog_view(&s->db->catalog, slice_of(d.spared_views.items[i]->name))));
    return ST_OK;
}

/* Result column `col` becomes e. */
static Status replace_result(PlanCtx *c, BoundStmt *b, int col, const ColumnDef *def, Expr *e) {
    Plan *p = plan_new(c, LP_PROJECT, 1);
    ColId to = plan_new_col(c, def->name, def->type, true);
    if (!p || !to) return ST_ERROR;
    p->children[0] = b->plan;
    p->n_out = p->n_exprs = b->n_result;
    p->out_cols = arena_array(c->arena, ColId, b->n_result);
    p->exprs = arena_array(c->arena, Expr *, b->n_result);
    ColId *result = arena_array(c->arena, ColId, b->n_result);
    if (!p->out_cols || !p->exprs || !result) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        p->out_cols[i] = result[i] = i == col ? to : b->result[i];
        p->exprs[i] = i == col ? e : expr_col(c, b->result[i]);
        if (!p->exprs[i]) return ST_ERROR;
    }
    b->plan = p;
    b->result = result;
    return ST_OK;
}
/* ... cast as an assignment does. */
static Status assign_result(Session *s, PlanCtx *c, BoundStmt *b, int col, const ColumnDef *def) {
    ColId from = b->result[col];
    Type old = c->cols.items[from].type;
    if (!cast_exists(old, def->type, CAST_ASSIGNMENT)) {
        char tn[64];
        return err_set(&s->err, ERR_DATATYPE_MISMATCH, "column \"%s\" cannot be cast automatically to type %s",
                       def->name, type_name(def->type, tn, sizeof tn));
    }
    Expr *e = expr_new(c, EX_CAST, def->type, 1);
    if (!e || !(e->args[0] = expr_col(c, from))) return ST_ERROR;
    e->cast_ctx = CAST_ASSIGNMENT;
    return replace_result(c, b, col, def, e);
}
/* ... the column's default, assigned to it as INSERT would. */
static Status default_result(Session *s, PlanCtx *c, BoundStmt *b, int col, const ColumnDef *def) {
    AstExpr *ast;
    Expr *e;
    TRY(sql_parse_expr(c->arena, slice_of(def->default_sql), &ast, &s->err));
    TRY(sql_bind_scalar(c, ast, def->type, &e));
    return replace_result(c, b, col, def, e);
}

/* Rebuilds a table under a new definition from the rows of `select_sql`, then swaps it in. cast_col >= 0: that column
 * is still of its old type. new_col >= 0: that column is new, and NULL in these rows: its default takes its place. */
static Status rebuild(Session *s, Statement *st, Table *old, const TableDraft *d, const char *new_name,
                      const char *select_sql, int cast_col, int new_col) {
    Arena *a = st->run_arena;
    Table *t;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    TRY(sql_parse(a, slice_of(select_sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    if (cast_col >= 0) TRY(assign_result(s, &c, b, cast_col, &d->cols[cast_col]));
    if (new_col >= 0 && d->cols[new_col].default_sql) TRY(default_result(s, &c, b, new_col, &d->cols[new_col]));
    RunOutput r;
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    if (table_new(&s->db->account, new_name, d->n_cols, d->cols, d->n_keys, d->keys, d->n_checks, d->checks, &t,
                  &s->err) != ST_OK) {
        query_free(r.query);
        return ST_ERROR;
    }
    t->expected_rows = old->expected_rows;
    int64_t rows = 0;
    UndoLog *undo = s->undo;
    s->undo = NULL; /* the new table is undone as a whole */
    Status out = fill_table(s, t, r.rows, a, &rows);
    s->undo = undo;
    query_free(r.query);
    if (out == ST_OK) out = session_drop_table(s, old);
    if (out == ST_OK) out = session_add_table(s, t);
    if (out != ST_OK && catalog_table(&s->db->catalog, slice_of(t->name)) != t) table_free(t);
    return out == ST_OK ? try_bind(s, a, t) : out;
}

static Status draft_of(Session *s, Arena *a, const Table *t, TableDraft *d) {
    d->cols = arena_array(a, ColumnDef, t->n_cols + 2);
    d->keys = arena_array(a, KeyDef, t->n_keys + 2);
    d->checks = arena_array(a, CheckDef, t->n_checks + 2);
    if (!d->cols || !d->keys || !d->checks) return err_oom(&s->err);
    d->n_cols = t->n_cols;
    for (int i = 0; i < t->n_cols; i++)
        d->cols[i] = (ColumnDef){t->cols[i].name, t->cols[i].type, t->cols[i].not_null, t->cols[i].default_sql};
    d->n_keys = t->n_keys;
    for (int i = 0; i < t->n_keys; i++)
        d->keys[i] = (KeyDef){t->keys[i].name, t->keys[i].primary, t->keys[i].n_cols, t->keys[i].cols};
    d->n_checks = t->n_checks;
    for (int i = 0; i < t->n_checks; i++) d->checks[i] = (CheckDef){t->checks[i].name, t->checks[i].sql};
    return ST_OK;
}

char *quote_name(Arena *a, const char *name) {
    char *q = arena_alloc(a, (int64_t)strlen(name) * 2 + 3), *p = q;
    if (!q) return NULL;
    *p++ = '"';
    for (; *name; name++) {
        if (*name == '"') *p++ = '"';
        *p++ = *name;
    }
    *p++ = '"';
    *p = 0;
    return q;
}

/* "select a, b, <extra> from t": columns of t except `skip`. */
static char *select_columns(Arena *a, const Table *t, int skip, const char *extra) {
    char *sql = arena_strdup(a, "select ");
    bool any = false;
    for (int i = 0; sql && i < t->n_cols; i++) {
        if (i == skip) continue;
        sql = arena_printf(a, "%s%s%s", sql, any ? ", " : "", quote_name(a, t->cols[i].name));
        any = true;
    }
    if (sql && extra) sql = arena_printf(a, "%s%s%s", sql, any ? ", " : "", extra);
    return sql ? arena_printf(a, "%s from %s", sql, quote_name(a, t->name)) : NULL;
}

/* The columns of t with an expression in the place of one. */
static char *select_using(Arena *a, const Table *t, int col, Slice expr) {
    char *sql = arena_strdup(a, "select ");
    for (int i = 0; sql && i < t->n_cols; i++)
        sql = i == col ? arena_printf(a, "%s%s(%.*s\n)", sql, i ? ", " : "", (int)expr.len, expr.ptr)
                       : arena_printf(a, "%s%s%s", sql, i ? ", " : "", quote_name(a, t->cols[i].name));
    return sql ? arena_printf(a, "%s from %s", sql, quote_name(a, t->name)) : NULL;
}

/* Whether a CHECK names the column: it does not bind without it. */
static bool check_uses(Session *s, Arena *a, const Table *t, const char *check, int column) {
    PlanCtx c;
    BoundStmt *b;
    char *rest = select_columns(a, t, column, NULL);
    return !rest ||
           !try_query(s, a, arena_printf(a, "select 1 from (%s) as %s where (%s)", rest, quote_name(a, t->name), check),
                      &c, &b);
}

/* Existing rows must pass a new CHECK. */
static Status check_rows(Session *s, Statement *st, const char *table, const CheckDef *check) {
    Arena *a = st->run_arena;
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    RunOutput r;
    char *q = arena_printf(a, "select 1 from %s where not (%s) limit 1", quote_name(a, table), check->sql);
    if (!q) return ST_ERROR;
    TRY(sql_parse(a, slice_of(q), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    int64_t bad = rows_count(r.rows);
    query_free(r.query);
    if (!bad) return ST_OK;
    err_set(&s->err, ERR_CHECK_VIOLATION, "check constraint \"%s\" of relation \"%s\" is violated by some row",
            check->name, table);
    err_of_constraint(&s->err, table, check->name);
    return ST_ERROR;
}

/* A column that a view reads keeps its type. */
static Status no_view_reads(Session *s, Arena *a, const Table *t, int col) {
    for (int64_t i = 0; i < s->db->catalog.n_views; i++) {
        const View *v = s->db->catalog.views[i];
        bool uses = view_uses_column(s, a, v, t, col);
        if (err_is_set(&s->err)) return ST_ERROR;
        if (!uses) continue;
        err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "cannot alter type of a column used by a view or rule");
        err_detail(&s->err, "rule _RETURN on view %s depends on column \"%s\"", v->name, t->cols[col].name);
        return ST_ERROR;
    }
    return ST_OK;
}

/* What depends on a column or key of the table goes, or refuses. */
static Status drop_dependents_of_column(Session *s, Statement *st, const Table *t, int col, bool cascade) {
    Dependents d;
    dependents_init(&d, s, st);
    TRY(dependents_of_column(&d, t, col));
    return dependents_drop(&d, arena_printf(d.a, "column %s of table %s", t->cols[col].name, t->name), cascade);
}
static Status drop_dependents_of_key(Session *s, Statement *st, const Table *t, int key, bool cascade) {
    Dependents d;
    dependents_init(&d, s, st);
    TRY(dependents_of_key(&d, t, key));
    return dependents_drop(&d, arena_printf(d.a, "constraint %s on table %s", t->keys[key].name, t->name), cascade);
}

/* Rows that were there when a CHECK came with NOT VALID pass it now, or the statement fails. Foreign keys are valid
 * ever. */
static Status validate_constraint(Session *s, Statement *st, const Table *t, const AstAlterCmd *k) {
    const Catalog *c = &s->db->catalog;
    for (int i = 0; i < t->n_checks; i++)
        if (strcmp(t->checks[i].name, k->name) == 0)
            return check_rows(s, st, t->name, &(CheckDef){t->checks[i].name, t->checks[i].sql});
    for (int64_t i = 0; i < c->n_foreign; i++)
        if (strcmp(c->foreign[i]->table, t->name) == 0 && strcmp(c->foreign[i]->name, k->name) == 0) return ST_OK;
    for (int i = 0; i < t->n_keys; i++)
        if (strcmp(t->keys[i].name, k->name) == 0)
            return err_at(&s->err, k->location, ERR_WRONG_OBJECT_TYPE,
                          "constraint \"%s\" of relation \"%s\" is not a foreign key or check constraint", k->name,
                          t->name);
    return err_at(&s->err, k->location, ERR_UNDEFINED_OBJECT, "constraint \"%s\" of relation \"%s\" does not exist",
                  k->name, t->name);
}

static Status alter_one(Session *s, Statement *st, Table *t, const AstAlterCmd *k) {
    Arena *a = st->run_arena;
    TableDraft d = {0};
    TRY(draft_of(s, a, t, &d));
    int cast_col = -1, new_col = -1, old_checks = d.n_checks;
    int col = k->name ? draft_column(&d, k->name) : -1;
    bool needs_col = k->kind != AST_ALTER_ADD_COLUMN && k->kind != AST_ALTER_ADD_CONSTRAINT &&
                     k->kind != AST_ALTER_DROP_CONSTRAINT && k->kind != AST_ALTER_VALIDATE_CONSTRAINT &&
                     k->kind != AST_ALTER_SET_OPTIONS && k->kind != AST_ALTER_RESET_OPTIONS &&
                     k->kind != AST_ALTER_OTHER;
    if (needs_col && col < 0) {
        if (k->if_exists) return ST_OK;
        return err_at(&s->err, k->location, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist",
                      k->name, t->name);
    }
    char *sql = NULL;
    switch (k->kind) {
    case AST_ALTER_ADD_COLUMN: {
        if (draft_column(&d, k->column->name) >= 0) {
            if (k->if_exists) return ST_OK;
            return err_at(&s->err, k->location, ERR_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists",
                          k->column->name, t->name);
        }
        Type ty;
        char tn[64];
        TRY(check_column_constraints(s, t->name, k->column));
        TRY(column_type(s, k->column, &ty));
        d.cols[d.n_cols++] = (ColumnDef){.name = k->column->name, .type = ty};
        d.keys = arena_array(a, KeyDef, t->n_keys + k->column->n_constraints + 1);
        d.checks = arena_array(a, CheckDef, t->n_checks + k->column->n_constraints + 1);
        if (!d.keys || !d.checks) return ST_ERROR;
        for (int i = 0; i < t->n_keys; i++)
            d.keys[i] = (KeyDef){t->keys[i].name, t->keys[i].primary, t->keys[i].n_cols, t->keys[i].cols};
        for (int i = 0; i < t->n_checks; i++) d.checks[i] = (CheckDef){t->checks[i].name, t->checks[i].sql};
        for (int64_t i = 0; i < k->column->n_constraints; i++)
            TRY(add_constraint(s, a, &d, t->name, &k->column->constraints[i], d.n_cols - 1));
        new_col = d.n_cols - 1;
        sql = select_columns(a, t, -1, arena_printf(a, "null::%s", type_name(ty, tn, sizeof tn)));
        break;
    }
    case AST_ALTER_DROP_COLUMN:
        TRY(drop_dependents_of_column(s, st, t, col, k->cascade));
        TRY(foreign_drop_column(s, t, k->name));
        TRY(views_drop_column(s, a, t->name, k->name));
        for (int i = 0; i < d.n_keys; i++)
            for (int j = 0; j < d.keys[i].n_cols; j++)
                if (d.keys[i].cols[j] == col) { /* the key goes with its column, as in PostgreSQL */
                    memmove(&d.keys[i], &d.keys[i + 1], sizeof(KeyDef) * (size_t)(d.n_keys - i - 1));
                    d.n_keys--;
                    i--;
                    break;
                }
        for (int i = 0; i < d.n_keys; i++) {
            int *c = arena_array(a, int, d.keys[i].n_cols);
            if (!c) return ST_ERROR;
            for (int j = 0; j < d.keys[i].n_cols; j++) c[j] = d.keys[i].cols[j] - (d.keys[i].cols[j] > col);
            d.keys[i].cols = c;
        }
        for (int i = 0; i < d.n_checks; i++)
            if (check_uses(s, a, t, d.checks[i].sql, col)) {
                memmove(&d.checks[i], &d.checks[i + 1], sizeof(CheckDef) * (size_t)(d.n_checks - i - 1));
                d.n_checks--;
                i--;
            }
        sql = select_columns(a, t, col, NULL);
        memmove(&d.cols[col], &d.cols[col + 1], sizeof(ColumnDef) * (size_t)(d.n_cols - col - 1));
        d.n_cols--;
        break;
    case AST_ALTER_SET_NOT_NULL: d.cols[col].not_null = true; break;
    case AST_ALTER_DROP_NOT_NULL:
        for (int i = 0; i < d.n_keys; i++)
            for (int j = 0; j < d.keys[i].n_cols; j++)
                if (d.keys[i].primary && d.keys[i].cols[j] == col)
                    return err_set(&s->err, ERR_INVALID_TABLE_DEFINITION, "column \"%s\" is in a primary key", k->name);
        d.cols[col].not_null = false;
        break;
    case AST_ALTER_SET_DEFAULT:
        d.cols[col].default_sql = arena_strndup(a, k->expr_source.ptr, k->expr_source.len);
        break;
    case AST_ALTER_DROP_DEFAULT: d.cols[col].default_sql = NULL; break;
    case AST_ALTER_ADD_CONSTRAINT:
        if (k->constraint->kind == AST_CON_FOREIGN_KEY && k->constraint->not_valid)
            return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED,
                          "NOT VALID of a foreign key is not supported");
        if (k->constraint->kind == AST_CON_FOREIGN_KEY) return foreign_define(s, st, t, k->constraint, NULL);
        TRY(add_constraint(s, a, &d, t->name, k->constraint, -1));
        break;
    case AST_ALTER_DROP_CONSTRAINT: {
        bool found = false;
        TRY(foreign_drop_constraint(s, t, k->name, &found));
        if (found) return ST_OK;
        for (int i = 0; i < t->n_keys; i++)
            if (strcmp(t->keys[i].name, k->name) == 0) TRY(drop_dependents_of_key(s, st, t, i, k->cascade));
        for (int i = 0; i < d.n_keys; i++)
            if (strcmp(d.keys[i].name, k->name) == 0) {
                memmove(&d.keys[i], &d.keys[i + 1], sizeof(KeyDef) * (size_t)(d.n_keys - i - 1));
                d.n_keys--, i--, found = true;
            }
        for (int i = 0; i < d.n_checks; i++)
            if (strcmp(d.checks[i].name, k->name) == 0) {
                memmove(&d.checks[i], &d.checks[i + 1], sizeof(CheckDef) * (size_t)(d.n_checks - i - 1));
                d.n_checks--, i--, found = true;
            }
        if (!found && !k->if_exists)
            return err_at(&s->err, k->location, ERR_UNDEFINED_OBJECT,
                          "constraint \"%s\" of relation \"%s\" does not exist", k->name, t->name);
        break;
    }
    case AST_ALTER_VALIDATE_CONSTRAINT: return validate_constraint(s, st, t, k);
    case AST_ALTER_SET_TYPE: {
        TRY(no_view_reads(s, a, t, col));
        TRY(column_type(s, k->column, &d.cols[col].type));
        cast_col = col;
        if (k->expr) sql = select_using(a, t, col, k->expr_source);
        break;
    }
    case AST_ALTER_SET_OPTIONS:
    case AST_ALTER_RESET_OPTIONS: {
        int64_t rows = t->expected_rows;
        TRY(k->kind == AST_ALTER_SET_OPTIONS ? storage_options_read(k->n_options, k->options, false, &rows, &s->err)
                                             : storage_options_reset(k->n_options, k->options, &rows, &s->err));
        return rows == t->expected_rows ? ST_OK : session_expect_rows(s, t, rows);
    }
    default:
        return err_at(&s->err, k->location, ERR_FEATURE_NOT_SUPPORTED, "ALTER TABLE %s is not supported",
                      k->what ? k->what : "of this kind");
    }
    if (!sql) sql = select_columns(a, t, -1, NULL);
    if (!sql) return err_oom(&s->err);
    TRY(rebuild(s, st, t, &d, t->name, sql, cast_col, new_col));
    if (k->kind == AST_ALTER_ADD_COLUMN || (k->kind == AST_ALTER_ADD_CONSTRAINT && !k->constraint->not_valid))
        for (int i = old_checks; i < d.n_checks; i++) TRY(check_rows(s, st, t->name, &d.checks[i]));
    if (k->kind == AST_ALTER_ADD_COLUMN)
        TRY(foreign_keys(s, st, t->name, k->column->n_constraints, k->column->constraints, k->column->name));
    if (k->kind == AST_ALTER_SET_TYPE) TRY(foreign_check_types(s, t->name));
    return ST_OK;
}

Status alter_table_cmd(Session *s, Statement *st, const char *table, const AstAlterCmd *k) {
    return alter_one(s, st, catalog_table(&s->db->catalog, slice_of(table)), k);
}

static Status alter_table(Session *s, Statement *st, const AstAlterTable *x) {
    TRY(session_begin_write(s));
    TRY(views_fill_sources(s, st->run_arena));
    tag(st, "ALTER TABLE");
    TRY(session_check_schema(s, &x->table));
    for (int64_t i = 0; i < x->n_cmds; i++) {
        Table *t = catalog_table(&s->db->catalog, slice_of(x->table.name));
        if (!t && catalog_view(&s->db->catalog, slice_of(x->table.name))) {
            if (x->object == AST_OBJ_VIEW)
                return err_at(&s->err, x->table.location, ERR_FEATURE_NOT_SUPPORTED,
                              "ALTER VIEW other than RENAME is not supported");
            err_at(&s->err, x->table.location, ERR_WRONG_OBJECT_TYPE,
                   "ALTER TABLE cannot be performed on relation \"%s\"", x->table.name);
            err_detail(&s->err, "This operation is not supported for views.");
            return ST_ERROR;
        }
        if (!t && x->if_exists) return ST_OK;
        if (!t)
            return err_at(&s->err, x->table.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->table.name);
        TRY(alter_one(s, st, t, &x->cmds[i]));
    }
    return ST_OK;
}

static int by_location(const void *a, const void *b) {
    int64_t x = ((const NamedColumn *)a)->location, y = ((const NamedColumn *)b)->location;
    return (x > y) - (x < y);
}

/* A CHECK's text when its table, or (col >= 0) a column of it, is about to get another name: its columns without the
 * table's name, and the column under the new one. */
static Status rename_in_check(Session *s, Arena *a, const Table *t, int col, const char *new_name, const char *check,
                              const char **out) {
    static const char before[] = "select (";
    PlanCtx c;
    AstStmt **list;
    int64_t n;
    BoundStmt *b;
    char *table = quote_name(a, t->name),
         *sql = table ? arena_printf(a, "%s%s\n) from %s", before, check, table) : NULL;
    if (!sql) return err_oom(&s->err);
    plan_ctx_init(s, a, &c);
    c.keep_columns = true;
    TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
    TRY(sql_bind(&c, list[0], 0, NULL, &b));
    if (c.columns.len) qsort(c.columns.items, (size_t)c.columns.len, sizeof *c.columns.items, by_location);
    Slice text = slice_of(check);
    char *done = arena_strdup(a, "");
    int64_t at = 0;
    for (int64_t i = 0; done && i < c.columns.len; i++) {
        int64_t start = c.columns.items[i].location - 1 - (int64_t)strlen(before);
        if (start < at) continue; /* bound more than once */
        int k = c.cols.items[c.columns.items[i].id].col;
        char *name = quote_name(a, k == col ? new_name : t->cols[k].name);
        done = name ? arena_printf(a, "%s%.*s%s", done, (int)(start - at), check + at, name) : NULL;
        at = sql_column_end(text, start);
    }
    *out = done ? arena_printf(a, "%s%s", done, check + at) : NULL;
    return *out ? ST_OK : err_oom(&s->err);
}
static Status rename_in_checks(Session *s, Arena *a, const Table *t, int col, const char *new_name, TableDraft *d) {
    for (int i = 0; i < d->n_checks; i++)
        TRY(rename_in_check(s, a, t, col, new_name, d->checks[i].sql, &d->checks[i].sql));
    return ST_OK;
}

/* Keys share the names of tables and views. */
static bool index_name_taken(const Session *s, const char *name) {
    const Catalog *c = &s->db->catalog;
    if (catalog_table(c, slice_of(name)) || catalog_view(c, slice_of(name))) return true;
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_keys; k++)
            if (strcmp(c->tables[i]->keys[k].name, name) == 0) return true;
    return false;
}

static Status rename_object(Session *s, Statement *st, const AstRename *x);
/* An index is the key that it is of. */
static Status rename_index(Session *s, Statement *st, const AstRename *x) {
    const Catalog *c = &s->db->catalog;
    for (int64_t i = 0; i < c->n_tables; i++)
        for (int k = 0; k < c->tables[i]->n_keys; k++) {
            if (strcmp(c->tables[i]->keys[k].name, x->name.name) != 0) continue;
            if (index_name_taken(s, x->new_name))
                return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->new_name);
            AstRename y = *x;
            y.object = AST_OBJ_CONSTRAINT;
            y.old_name = x->name.name;
            y.name.name = c->tables[i]->name;
            TRY(rename_object(s, st, &y));
            return tag(st, "ALTER INDEX");
        }
    tag(st, "ALTER INDEX");
    if (!x->if_exists)
        return err_at(&s->err, x->name.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", x->name.name);
    session_notice_text(s, "NOTICE", "00000", "relation \"%s\" does not exist, skipping", x->name.name);
    return ST_OK;
}

static Status rename_object(Session *s, Statement *st, const AstRename *x) {
    TRY(stack_check(&s->err));
    TRY(session_begin_write(s));
    tag(st, x->object == AST_OBJ_VIEW ? "ALTER VIEW" : "ALTER TABLE");
    Arena *a = st->run_arena;
    TRY(session_check_schema(s, &x->name));
    if (x->object == AST_OBJ_INDEX) return rename_index(s, st, x);
    Table *t = catalog_table(&s->db->catalog, slice_of(x->name.name));
    View *v = catalog_view(&s->db->catalog, slice_of(x->name.name));
    if (!t && !v)
        return x->if_exists ? ST_OK
                            : err_at(&s->err, x->name.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                                     x->name.name);
    if (t && (x->object == AST_OBJ_VIEW || (x->object == AST_OBJ_COLUMN && x->relation == AST_OBJ_VIEW)))
        return err_at(&s->err, x->name.location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a view", x->name.name);
    bool is_relation = x->object == AST_OBJ_TABLE || x->object == AST_OBJ_VIEW;
    if (is_relation &&
        (catalog_table(&s->db->catalog, slice_of(x->new_name)) || catalog_view(&s->db->catalog, slice_of(x->new_name))))
        return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->new_name);
    TRY(views_fill_sources(s, a));
    if (v) return view_rename(s, st, catalog_view(&s->db->catalog, slice_of(x->name.name)), x);
    TableDraft d = {0};
    TRY(draft_of(s, a, t, &d));
    const char *name = t->name;
    if (x->object == AST_OBJ_COLUMN) {
        int c = draft_column(&d, x->old_name);
        if (c < 0) return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", x->old_name);
        if (draft_column(&d, x->new_name) >= 0)
            return err_set(&s->err, ERR_DUPLICATE_COLUMN, "column \"%s\" of relation \"%s\" already exists",
                           x->new_name, t->name);
        TRY(rename_in_checks(s, a, t, c, x->new_name, &d));
        d.cols[c].name = x->new_name;
        TRY(foreign_rename(s, t->name, x->old_name, x->new_name));
        TRY(views_rename(s, a, t->name, x->old_name, x->new_name));
    } else if (x->object == AST_OBJ_CONSTRAINT) {
        bool found = false;
        TRY(foreign_rename_constraint(s, t, x->old_name, x->new_name, &found));
        if (found) return ST_OK;
        for (int i = 0; i < d.n_keys; i++)
            if (strcmp(d.keys[i].name, x->old_name) == 0) d.keys[i].name = x->new_name, found = true;
        for (int i = 0; i < d.n_checks; i++)
            if (strcmp(d.checks[i].name, x->old_name) == 0) d.checks[i].name = x->new_name, found = true;
        if (!found)
            return err_set(&s->err, ERR_UNDEFINED_OBJECT, "constraint \"%s\" for table \"%s\" does not exist",
                           x->old_name, t->name);
    } else {
        name = x->new_name;
        TRY(rename_in_checks(s, a, t, -1, NULL, &d));
        TRY(foreign_rename(s, t->name, NULL, x->new_name));
        TRY(views_rename(s, a, t->name, NULL, x->new_name));
    }
    char *sql = select_columns(a, t, -1, NULL);
    return sql ? rebuild(s, st, t, &d, name, sql, -1, -1) : err_oom(&s->err);
}

static Status truncate_tables(Session *s, Statement *st, const AstTruncate *x) {
    TRY(session_begin_write(s));
    tag(st, "TRUNCATE TABLE");
    for (int64_t i = 0; i < x->n_tables; i++) TRY(session_check_schema(s, &x->tables[i]));
    TRY(foreign_truncate(s, x));
    for (int64_t i = 0; i < x->n_tables; i++) {
        Table *t = catalog_table(&s->db->catalog, slice_of(x->tables[i].name));
        if (!t && catalog_view(&s->db->catalog, slice_of(x->tables[i].name)))
            return err_at(&s->err, x->tables[i].location, ERR_WRONG_OBJECT_TYPE, "\"%s\" is not a table",
                          x->tables[i].name);
        if (!t)
            return err_at(&s->err, x->tables[i].location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->tables[i].name);
        TRY(session_table_idle(s, t, "TRUNCATE TABLE"));
        TRY(table_truncate(t, s->undo, &s->err));
    }
    return ST_OK;
}

/* ---- CREATE INDEX: a unique index is a key constraint; others are accepted for later --------------- */

/* What is said of a key's column in an index, which changes nothing where it is right: order, operator class,
 * collation. */
static Status check_index_elem(Session *s, const Table *t, const AstIndexElem *e) {
    static const char *const classes[] = {
        "text_ops", "varchar_ops", "bpchar_ops",    "text_pattern_ops", "varchar_pattern_ops", "bpchar_pattern_ops",
        "int2_ops", "int4_ops",    "int8_ops",      "numeric_ops",      "float4_ops",          "float8_ops",
        "date_ops", "time_ops",    "timestamp_ops", "timestamptz_ops",  "interval_ops",        "uuid_ops",
        "bool_ops", "bytea_ops",   "array_ops"};
    if (!e->column)
        return err_at(&s->err, e->location, ERR_FEATURE_NOT_SUPPORTED, "indexes on expressions are not supported");
    int col = table_find_column(t, slice_of(e->column));
    if (col < 0) return err_at(&s->err, e->location, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", e->column);
    if (e->collation.name) TRY(sql_check_collation(&e->collation, t->cols[col].type, e->location, &s->err));
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

static Status create_index(Session *s, Statement *st, const AstCreateIndex *x) {
    TRY(session_begin_write(s));
    tag(st, "CREATE INDEX");
    TRY(session_check_schema(s, &x->table));
    Table *t = catalog_table(&s->db->catalog, slice_of(x->table.name));
    if (!t)
        return err_at(&s->err, x->table.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist", x->table.name);
    if (!x->unique || x->where)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED,
                      "only CREATE UNIQUE INDEX on columns is supported");
    if (x->name && index_name_taken(s, x->name)) {
        if (!x->if_not_exists) return err_set(&s->err, ERR_DUPLICATE_TABLE, "relation \"%s\" already exists", x->name);
        session_notice_text(s, "NOTICE", "42P07", "relation \"%s\" already exists, skipping", x->name);
        return ST_OK;
    }
    TRY(check_index_method(s, x));
    TRY(storage_options_index(x->n_options, x->options, &s->err));
    Arena *a = st->run_arena;
    AstConstraint k = {.kind = AST_CON_UNIQUE,
                       .location = x->location,
                       .n_columns = x->n_elems,
                       .nulls_not_distinct = x->nulls_not_distinct};
    k.columns = arena_array(a, const char *, x->n_elems + 1);
    if (!k.columns) return ST_ERROR;
    for (int64_t i = 0; i < x->n_elems; i++) {
        TRY(check_index_elem(s, t, &x->elems[i]));
        k.columns[i] = x->elems[i].column;
    }
    for (int64_t i = 0; i < x->n_include; i++)
        if (table_find_column(t, slice_of(x->include[i])) < 0)
            return err_at(&s->err, x->location, ERR_UNDEFINED_COLUMN, "column \"%s\" does not exist", x->include[i]);
    k.name = x->name;
    AstAlterCmd cmd = {.kind = AST_ALTER_ADD_CONSTRAINT, .constraint = &k, .location = x->location};
    return alter_one(s, st, t, &cmd);
}

/* The value of an expression without columns (a DEFAULT, an argument of EXECUTE), in the statement's arena. */
static Status run_scalar(Session *s, Statement *st, PlanCtx *c, Expr *e, Type type, Value *out) {
    if (e->kind == EX_CONST) {
        *out = e->u.value;
        return ST_OK;
    }
    Arena *a = st->run_arena;
    BoundStmt *b = arena_new_of(a, BoundStmt);
    Plan *one = plan_new(c, LP_VALUES, 0);
    ColId id = plan_new_col(c, "value", type, true);
    if (!b || !one || !id) return ST_ERROR;
    one->n_rows = one->n_out = 1;
    one->out_cols = arena_array(a, ColId, 1);
    one->rows = arena_array(a, Expr **, 1);
    Expr **row = arena_array(a, Expr *, 1);
    if (!one->out_cols || !one->rows || !row) return ST_ERROR;
    one->out_cols[0] = id;
    one->rows[0] = row;
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

/* ---- COPY -------------------------------------------------------------------------------------------- */

static void copy_progress(void *ctx, double f) {
    Session *s = ctx;
    if (s->deadline_ns && clock_ns() > s->deadline_ns) atomic_store(&s->cancel, true);
    if (s->progress && s->progress(s->progress_ctx, f)) atomic_store(&s->cancel, true);
}

static Status copy_statement(Session *s, Statement *st, const AstCopy *x) {
    Arena *a = st->run_arena;
    if (x->program)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "COPY to or from a program is not supported");
    CopyOptions o;
    if (x->table.name) TRY(session_check_schema(s, &x->table));
    if (x->from) {
        if (x->where) return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "COPY ... WHERE is not supported");
        TRY(session_begin_write(s));
        Table *t = catalog_table(&s->db->catalog, slice_of(x->table.name));
        if (!t && catalog_view(&s->db->catalog, slice_of(x->table.name)))
            return err_at(&s->err, x->table.location, ERR_WRONG_OBJECT_TYPE, "cannot copy to view \"%s\"",
                          x->table.name);
        if (!t)
            return err_at(&s->err, x->table.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->table.name);
        int n = x->n_columns > 0 ? (int)x->n_columns : t->n_cols;
        int *cols = arena_array(a, int, n + 1);
        const char **names = arena_array(a, const char *, n + 1);
        Value *defaults = arena_array(a, Value, t->n_cols + 1);
        bool *given = arena_array(a, bool, t->n_cols + 1);
        if (!cols || !names || !defaults || !given) return ST_ERROR;
        for (int i = 0; i < n; i++) {
            cols[i] = x->n_columns > 0 ? table_find_column(t, slice_of(x->columns[i])) : i;
            if (cols[i] < 0)
                return err_at(&s->err, x->table.location, ERR_UNDEFINED_COLUMN,
                              "column \"%s\" of relation \"%s\" does not exist", x->columns[i], t->name);
            if (given[cols[i]])
                return err_at(&s->err, x->table.location, ERR_DUPLICATE_COLUMN,
                              "column \"%s\" specified more than once", x->columns[i]);
            given[cols[i]] = true;
            names[i] = t->cols[cols[i]].name;
        }
        for (int i = 0; i < t->n_cols; i++) {
            defaults[i] = (Value){.type = t->cols[i].type, .is_null = true};
            if (given[i] || !t->cols[i].default_sql) continue;
            PlanCtx c;
            plan_ctx_init(s, a, &c);
            AstExpr *ast;
            Expr *e;
            TRY(sql_parse_expr(a, slice_of(t->cols[i].default_sql), &ast, &s->err));
            TRY(sql_bind_scalar(&c, ast, t->cols[i].type, &e));
            TRY(run_scalar(s, st, &c, e, t->cols[i].type, &defaults[i]));
        }
        if (!x->path && !s->copy_read)
            return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "COPY FROM STDIN needs an input stream from the client");
        if (t->n_checks > 0) { /* through INSERT, which knows how to check: load into a scratch table first */
            TableDraft d = {0};
            TRY(draft_of(s, a, t, &d));
            Table *tmp;
            TRY(table_new(&s->db->account, arena_printf(a, "copy of %s", t->name), d.n_cols, d.cols, 0, NULL, 0, NULL,
                          &tmp, &s->err));
            if (session_add_table(s, tmp) != ST_OK) {
                table_free(tmp);
                return ST_ERROR;
            }
            CopyTarget g = {
                tmp,          n,          cols,          defaults, &s->info, s->db->pool, (int)s->settings.threads,
                &st->account, &s->cancel, copy_progress, s};
            int64_t rows = 0;
            TRY(copy_options(x, n, names, a, &o, &s->err));
            TRY(copy_from(&g, &o, s->db->vfs, x->path, x->path ? NULL : s->copy_read, s->copy_ctx, s->undo, &rows,
                          &s->err));
            char *sql =
                arena_printf(a, "insert into %s select * from %s", quote_name(a, t->name), quote_name(a, tmp->name));
            AstStmt **list;
            int64_t k;
            if (!sql) return ST_ERROR;
            TRY(sql_parse(a, slice_of(sql), &list, &k, &s->err));
            PlanCtx c;
            plan_ctx_init(s, a, &c);
            BoundStmt *b;
            TRY(sql_bind(&c, list[0], 0, NULL, &b));
            TRY(session_dml(s, st, &c, b));
            TRY(session_drop_table(s, tmp));
            st->affected = rows;
            snprintf(st->tag, sizeof st->tag, "COPY %lld", (long long)rows);
            return ST_OK;
        }
        TRY(copy_options(x, n, names, a, &o, &s->err));
        CopyTarget g = {t,
                        n,
                        cols,
                        defaults,
                        &s->info,
                        s->db->pool,
                        (int)s->settings.threads,
                        &st->account,
                        &s->cancel,
                        copy_progress,
                        s};
        int64_t rows = 0;
        TRY(copy_from(&g, &o, s->db->vfs, x->path, x->path ? NULL : s->copy_read, s->copy_ctx, s->undo, &rows,
                      &s->err));
        TRY(foreign_check_table(s, st, t));
        st->affected = rows;
        snprintf(st->tag, sizeof st->tag, "COPY %lld", (long long)rows);
        return ST_OK;
    }
    TRY(session_lock(s, LOCK_SHARED));
    const AstStmt *q = x->query;
    if (!q) {
        char *sql = arena_strdup(a, "select ");
        if (!catalog_table(&s->db->catalog, slice_of(x->table.name)) &&
            !catalog_view(&s->db->catalog, slice_of(x->table.name)))
            return err_at(&s->err, x->table.location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->table.name);
        for (int64_t i = 0; sql && i < x->n_columns; i++)
            sql = arena_printf(a, "%s%s%s", sql, i ? ", " : "", quote_name(a, x->columns[i]));
        if (sql) sql = arena_printf(a, "%s%s from %s", sql, x->n_columns ? "" : "*", quote_name(a, x->table.name));
        AstStmt **list;
        int64_t n;
        if (!sql) return ST_ERROR;
        TRY(sql_parse(a, slice_of(sql), &list, &n, &s->err));
        q = list[0];
    }
    if (q->kind != AST_SELECT)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED,
                      "COPY of a data-changing query is not supported");
    PlanCtx c;
    plan_ctx_init(s, a, &c);
    BoundStmt *b;
    TRY(sql_bind(&c, q, 0, NULL, &b));
    TRY(copy_options(x, b->n_result, b->names, a, &o, &s->err));
    if (!x->path && !s->copy_write)
        return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "COPY TO STDOUT needs an output stream from the client");
    Type *types = arena_array(a, Type, b->n_result + 1);
    if (!types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) types[i] = c.cols.items[b->result[i]].type;
    RunOutput r;
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    int64_t rows = 0;
    Status out = copy_to(r.rows, 0, b->n_result, types, b->names, &o, s->db->vfs, x->path, s->copy_write, s->copy_ctx,
                         s->settings.tz_offset, &rows, &s->err);
    query_free(r.query);
    st->affected = rows;
    snprintf(st->tag, sizeof st->tag, "COPY %lld", (long long)rows);
    return out;
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

/* In a transaction SET lasts when it commits, SET LOCAL until it ends; outside one SET LOCAL has no effect. */
static Status change_setting(Session *s, const AstSet *x, const char *name, const char *value) {
    Settings now = s->settings;
    TRY(settings_set(s, name, value, &s->err));
    if (s->state != 'T') {
        if (x->is_local) settings_restore(s, &now);
        return ST_OK;
    }
    if (x->is_local) return ST_OK;
    now = s->settings;
    s->settings = s->settings_keep;
    Status st = settings_set(s, name, value, &s->err);
    s->settings_keep = s->settings;
    s->settings = now;
    return st;
}

static Status reset_settings(Session *s, const AstSet *x) {
    TRY(change_setting(s, x, "memory_limit", NULL)); /* the one that may be refused: then all stay */
    for (int64_t i = 0; i < settings_count(); i++) {
        const char *name, *doc;
        settings_at(i, &name, &doc);
        TRY(change_setting(s, x, name, NULL));
    }
    return ST_OK;
}

static Status set_statement(Session *s, Statement *st, const AstSet *x) {
    Arena *a = st->run_arena;
    tag(st, x->is_reset ? "RESET" : "SET");
    switch (x->set_kind) {
    case AST_RESET_ALL: return reset_settings(s, x);
    case AST_SET_TRANSACTION:
        if (s->state == 'T') return session_transaction_options(s, x->n_options, x->options);
        session_notice_text(s, "WARNING", "25P01", "SET TRANSACTION can only be used in transaction blocks");
        return ST_OK;
    case AST_SET_SESSION_CHARACTERISTICS:
        for (int64_t i = 0; i < x->n_options; i++) {
            const char *name = arena_printf(a, "default_%s", x->options[i].name);
            if (!name) return ST_ERROR;
            TRY(change_setting(s, x, name, x->options[i].value));
        }
        return ST_OK;
    case AST_SET_VALUE: {
        const char *v = "";
        for (int64_t i = 0; i < x->n_values; i++) {
            const char *t = literal_text(a, x->values[i]);
            if (!t) return err_at(&s->err, x->values[i]->location, ERR_SYNTAX, "SET takes constants only");
            v = i ? arena_printf(a, "%s, %s", v, t) : t;
            if (!v) return ST_ERROR;
        }
        return change_setting(s, x, x->name, v);
    }
    default: return change_setting(s, x, x->name, NULL);
    }
}

static Status show_statement(Session *s, Statement *st, const AstShow *x) {
    Arena *a = st->run_arena;
    tag(st, "SHOW");
    if (strcmp(x->name, "all") == 0) {
        TRY(statement_text_columns(st, 3, (const char *[]){"name", "setting", "description"}));
        for (int64_t i = 0; i < settings_count(); i++) {
            const char *name, *doc;
            settings_at(i, &name, &doc);
            const char *v = settings_show(s, a, name, &s->err);
            if (!v) return ST_ERROR;
            TRY(statement_text_row(st, (const char *[]){name, v, doc}));
        }
        return ST_OK;
    }
    if (strcmp(x->name, "devices") == 0) return session_show_devices(s, st);
    const char *v = settings_show(s, a, x->name, &s->err);
    if (!v) return ST_ERROR;
    TRY(statement_text_columns(st, 1, (const char *[]){x->name}));
    return statement_text_row(st, (const char *[]){v});
}

/* ---- PREPARE ------------------------------------------------------------------------------------------------ */

static void prepared_free(SqlPrepared *p) {
    Arena *a = p->arena; /* holds p itself */
    plan_release(p->kept.plan);
    call_text_free(p->kept.call);
    arena_free(a);
}
void session_free_prepared(Session *s) {
    while (s->prepared) {
        SqlPrepared *p = s->prepared;
        s->prepared = p->next;
        prepared_free(p);
    }
}
static SqlPrepared *find_prepared(Session *s, const char *name) {
    for (SqlPrepared *p = s->prepared; p; p = p->next)
        if (strcmp(p->name, name) == 0) return p;
    return NULL;
}

static Status prepare_statement(Session *s, Statement *st, const AstPrepare *x) {
    tag(st, "PREPARE");
    if (find_prepared(s, x->name))
        return err_set(&s->err, ERR_DUPLICATE_PREPARED, "prepared statement \"%s\" already exists", x->name);
    TRY(session_lock(s, LOCK_SHARED));
    Arena *own = arena_new(&s->account, &s->err);
    SqlPrepared *p = own ? arena_new_of(own, SqlPrepared) : NULL;
    if (!p) {
        arena_free(own);
        return ST_ERROR;
    }
    p->arena = own;
    Status r = ST_ERROR;
    AstStmt **list;
    int64_t n = 0;
    p->name = arena_strdup(own, x->name);
    char *text = p->name ? arena_strndup(own, x->query_source.ptr, x->query_source.len) : NULL;
    if (!text) goto done;
    if (sql_parse(p->arena, slice_of(text), &list, &n, &s->err) != ST_OK) goto done;
    if (n != 1) {
        err_internal(&s->err, "PREPARE text has %lld statements", (long long)n);
        goto done;
    }
    p->ast = list[0];
    Type *given = arena_array(st->run_arena, Type, x->n_types + 1);
    if (!given) goto done;
    for (int64_t i = 0; i < x->n_types; i++)
        if (sql_bind_type(x->types[i], &given[i], &s->err) != ST_OK) goto done;
    PlanCtx c;
    plan_ctx_init(s, st->run_arena, &c);
    BoundStmt *b;
    if (sql_bind(&c, p->ast, (int32_t)x->n_types, given, &b) != ST_OK) goto done;
    p->n_params = b->n_params;
    p->types = arena_array(p->arena, Type, b->n_params + 1);
    if (!p->types) goto done;
    for (int32_t i = 0; i < b->n_params; i++) p->types[i] = b->param_types[i];
    p->next = s->prepared;
    s->prepared = p;
    return ST_OK;
done:
    prepared_free(p);
    return r;
}

static Status execute_statement(Session *s, Statement *st, const AstExecute *x) {
    SqlPrepared *p = find_prepared(s, x->name);
    if (!p) return err_set(&s->err, ERR_BAD_STATEMENT_NAME, "prepared statement \"%s\" does not exist", x->name);
    if (x->n_args != p->n_params) {
        err_set(&s->err, ERR_SYNTAX, "wrong number of parameters for prepared statement \"%s\"", x->name);
        err_detail(&s->err, "Expected %d parameters but got %lld.", (int)p->n_params, (long long)x->n_args);
        return ST_ERROR;
    }
    Value *v = arena_array(st->run_arena, Value, p->n_params + 1);
    if (!v) return ST_ERROR;
    for (int32_t i = 0; i < p->n_params; i++) {
        PlanCtx c;
        plan_ctx_init(s, st->run_arena, &c);
        Expr *e;
        TRY(sql_bind_scalar(&c, x->args[i], p->types[i], &e));
        EvalCtx simple = {.arena = st->run_arena, .err = &s->err, .session = &s->info};
        if (eval_can(e, 0)) TRY(eval_expr(&simple, e, &v[i])); /* without a lock: a call may join the pool */
        else TRY(run_scalar(s, st, &c, e, p->types[i], &v[i]));
    }
    return session_execute(s, st, p->ast, p->n_params, p->types, v, &p->kept);
}

static Status deallocate(Session *s, Statement *st, const AstDeallocate *x) {
    tag(st, x->name ? "DEALLOCATE" : "DEALLOCATE ALL");
    if (!x->name) {
        session_free_prepared(s);
        return ST_OK;
    }
    for (SqlPrepared **p = &s->prepared; *p; p = &(*p)->next)
        if (strcmp((*p)->name, x->name) == 0) {
            SqlPrepared *d = *p;
            *p = d->next;
            prepared_free(d);
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

static Status vacuum_table(Session *s, const AstVacuum *x, Table *t) {
    if (x->is_vacuum && table_has_undo(t))
        session_notice_text(
            s, "WARNING", "01000",
            "skipping vacuum of \"%s\": open transactions have changed it or look at what it was before", t->name);
    else if (x->is_vacuum) TRY(table_merge(t, s->db->pool, &s->err));
    TRY(table_analyze(t, s->db->pool, &s->err));
    s->db->dirty = true;
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
    for (int64_t i = 0; i < c->n_tables && x->n_tables == 0; i++) TRY(vacuum_table(s, x, c->tables[i]));
    for (int64_t i = 0; i < x->n_tables; i++) {
        TRY(session_check_schema(s, &x->tables[i]));
        Table *t = catalog_table(c, slice_of(x->tables[i].name));
        if (!t && catalog_view(c, slice_of(x->tables[i].name))) {
            session_notice_text(s, "WARNING", "01000",
                                "skipping \"%s\" --- cannot %s non-tables or special system tables", x->tables[i].name,
                                x->is_vacuum ? "vacuum" : "analyze");
            continue;
        }
        if (!t)
            return err_at(&s->err, x->tables[i].location, ERR_UNDEFINED_TABLE, "relation \"%s\" does not exist",
                          x->tables[i].name);
        for (int64_t k = 0; k < x->n_columns[i]; k++)
            if (table_find_column(t, slice_of(x->columns[i][k])) < 0)
                return err_set(&s->err, ERR_UNDEFINED_COLUMN, "column \"%s\" of relation \"%s\" does not exist",
                               x->columns[i][k], t->name);
        TRY(vacuum_table(s, x, t));
    }
    return ST_OK;
}

Status session_utility(Session *s, Statement *st, const AstStmt *x) {
    switch (x->kind) {
    case AST_CREATE_TABLE: return create_table(s, st, AST_AS_CONST(AstCreateTable, x));
    case AST_CREATE_TABLE_AS: return create_table_as(s, st, AST_AS_CONST(AstCreateTableAs, x));
    case AST_CREATE_VIEW: return view_create(s, st, AST_AS_CONST(AstCreateView, x));
    case AST_CREATE_INDEX: return create_index(s, st, AST_AS_CONST(AstCreateIndex, x));
    case AST_DROP: return drop(s, st, AST_AS_CONST(AstDrop, x));
    case AST_ALTER_TABLE: return alter_table(s, st, AST_AS_CONST(AstAlterTable, x));
    case AST_RENAME: return rename_object(s, st, AST_AS_CONST(AstRename, x));
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
        TRY(session_lock(s, LOCK_EXCLUSIVE));
        return database_save(s->db, &s->err);
    case AST_DISCARD:
        tag(st, "DISCARD ALL");
        if (s->state == 'T')
            return err_set(&s->err, ERR_ACTIVE_TRANSACTION, "DISCARD ALL cannot run inside a transaction block");
        session_free_prepared(s);
        return reset_settings(s, &(AstSet){0});
    case AST_CREATE_FUNCTION: return routine_create(s, st, AST_AS_CONST(AstCreateFunction, x));
    case AST_DROP_FUNCTION: return routine_drop(s, st, AST_AS_CONST(AstDropFunction, x));
    case AST_UNSUPPORTED:
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported",
                      AST_AS_CONST(AstUnsupported, x)->what);
    default: return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED, "%s is not supported", ast_stmt_tag(x));
    }
}
