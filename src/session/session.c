/* session.c - running statements, transactions, results. See session.h. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "session/session.h"
#include "sql/bind/bind.h"
#include "sql/lower/lower.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"

/* ---- catalog undo ----------------------------------------------------------------------- */

typedef enum UndoKind { CU_ADDED_TABLE, CU_DROPPED_TABLE, CU_ADDED_VIEW, CU_DROPPED_VIEW, CU_ADDED_FOREIGN, CU_DROPPED_FOREIGN } UndoKind;
struct CatalogUndo {
    CatalogUndo *next;
    UndoKind kind;
    Table *table;
    View *view;
    ForeignKey *foreign;
};

/* Changes the catalog and remembers how to take it back: both or neither. */
static Status change(Session *s, UndoKind kind, Table *t, View *v, ForeignKey *f) {
    Catalog *c = &s->db->catalog;
    CatalogUndo *u = mem_calloc(&s->account, (int64_t)sizeof *u, &s->err);
    if (!u) return ST_ERROR;
    *u = (CatalogUndo){s->catalog_undo, kind, t, v, f};
    Status r = ST_OK;
    switch (kind) {
    case CU_ADDED_TABLE: r = catalog_add_table(c, t, &s->err); break;
    case CU_DROPPED_TABLE: (void)catalog_remove_table(c, slice_of(t->name)); break;
    case CU_ADDED_VIEW: r = catalog_add_view(c, v, &s->err); break;
    case CU_DROPPED_VIEW: (void)catalog_remove_view(c, slice_of(v->name)); break;
    case CU_ADDED_FOREIGN: r = catalog_add_foreign(c, f, &s->err); break;
    case CU_DROPPED_FOREIGN: catalog_remove_foreign(c, f); break;
    }
    if (r != ST_OK) {
        mem_free(&s->account, u, (int64_t)sizeof *u);
        return r;
    }
    s->catalog_undo = u;
    s->db->dirty = true;
    return ST_OK;
}

Status session_add_table(Session *s, Table *t) { return change(s, CU_ADDED_TABLE, t, NULL, NULL); }
Status session_drop_table(Session *s, Table *t) { return change(s, CU_DROPPED_TABLE, t, NULL, NULL); }
Status session_add_view(Session *s, View *v) { return change(s, CU_ADDED_VIEW, NULL, v, NULL); }
Status session_drop_view(Session *s, View *v) { return change(s, CU_DROPPED_VIEW, NULL, v, NULL); }
Status session_add_foreign(Session *s, ForeignKey *f) { return change(s, CU_ADDED_FOREIGN, NULL, NULL, f); }
Status session_drop_foreign(Session *s, ForeignKey *f) { return change(s, CU_DROPPED_FOREIGN, NULL, NULL, f); }

void catalog_undo_all(Session *s) {
    Catalog *c = &s->db->catalog;
    Err ignored = {0};
    while (s->catalog_undo) {
        CatalogUndo *u = s->catalog_undo;
        s->catalog_undo = u->next;
        switch (u->kind) {
        case CU_ADDED_TABLE:
            (void)catalog_remove_table(c, slice_of(u->table->name));
            table_free(u->table);
            break;
        case CU_DROPPED_TABLE: (void)catalog_add_table(c, u->table, &ignored); break; /* its slot is still there */
        case CU_ADDED_VIEW:
            (void)catalog_remove_view(c, slice_of(u->view->name));
            view_free(u->view);
            break;
        case CU_DROPPED_VIEW: (void)catalog_add_view(c, u->view, &ignored); break;
        case CU_ADDED_FOREIGN:
            catalog_remove_foreign(c, u->foreign);
            foreign_free(u->foreign);
            break;
        case CU_DROPPED_FOREIGN: (void)catalog_add_foreign(c, u->foreign, &ignored); break;
        }
        mem_free(&s->account, u, (int64_t)sizeof *u);
    }
}
void catalog_undo_forget(Session *s) {
    while (s->catalog_undo) {
        CatalogUndo *u = s->catalog_undo;
        s->catalog_undo = u->next;
        if (u->kind == CU_DROPPED_TABLE) {
            session_device_forget(s, u->table->id);
            table_free(u->table);
        }
        if (u->kind == CU_DROPPED_VIEW) view_free(u->view);
        if (u->kind == CU_DROPPED_FOREIGN) foreign_free(u->foreign);
        mem_free(&s->account, u, (int64_t)sizeof *u);
    }
}

/* ---- transactions ------------------------------------------------------------------------- */

Status session_lock(Session *s, LockMode mode) {
    if (s->lock >= mode) return ST_OK;
    TRY(txn_lock_acquire(s->db->txn_lock, s->lock, mode, s->settings.lock_timeout_ms, &s->cancel, &s->err));
    s->lock = mode;
    return ST_OK;
}

Status session_begin_write(Session *s) {
    if (s->read_only) return err_set(&s->err, ERR_READ_ONLY, "cannot execute this statement in a read-only transaction");
    TRY(session_lock(s, LOCK_EXCLUSIVE));
    if (!s->undo) s->undo = undo_new(&s->account, &s->err);
    return s->undo ? ST_OK : ST_ERROR;
}

static void release_lock(Session *s) {
    txn_lock_release(s->db->txn_lock, s->lock);
    s->lock = LOCK_NONE;
}
static void start_transaction(Session *s) {
    s->state = 'T';
    s->settings_before = s->settings_keep = s->settings;
}
static void roll_back_all(Session *s) {
    if (s->state == 'T') settings_restore(s, &s->settings_before);
    if (s->undo) {
        undo_rollback(s->undo, 0);
        undo_free(s->undo);
        s->undo = NULL;
    }
    catalog_undo_all(s);
}

/* A delta that has grown large against its table is merged when a writing transaction ends. */
static void merge_grown(Session *s) {
    if (!s->settings.merge_auto) return;
    for (int64_t i = 0; i < s->db->catalog.n_tables; i++) {
        Table *t = s->db->catalog.tables[i];
        int64_t d = table_delta_rows(t);
        if (d < 100000 || d < t->live_rows / 10) continue;
        Err e = {0};
        if (table_merge(t, s->db->pool, &e) != ST_OK) log_write(LOG_WARNING, "merge of \"%s\" failed: %s", t->name, e.message);
    }
}

static void commit_all(Session *s) {
    if (s->undo) {
        undo_forget(s->undo);
        undo_free(s->undo);
        s->undo = NULL;
        s->db->dirty = true;
        catalog_undo_forget(s);
        merge_grown(s);
    } else {
        catalog_undo_forget(s);
    }
}

Status session_end_statement(Session *s, Status outcome) {
    if (s->state == 'I') {
        if (outcome == ST_OK) commit_all(s);
        else roll_back_all(s);
        s->read_only = false;
        release_lock(s);
    } else if (outcome != ST_OK && s->state == 'T') {
        roll_back_all(s);
        release_lock(s);
        s->state = 'E';
    }
    return outcome;
}

void session_transaction_options(Session *s, int64_t n, const AstOption *options) {
    for (int64_t i = 0; i < n; i++)
        if (strcmp(options[i].name, "transaction_read_only") == 0) s->read_only = options[i].value && strcmp(options[i].value, "1") == 0;
}

static Status transaction(Session *s, Statement *st, const AstTransaction *t) {
    switch (t->tx_kind) {
    case AST_TX_BEGIN:
        if (s->state == 'T') log_write(LOG_WARNING, "there is already a transaction in progress");
        if (s->state != 'T') start_transaction(s);
        session_transaction_options(s, t->n_options, t->options);
        snprintf(st->tag, sizeof st->tag, "%s", ast_stmt_tag((const AstStmt *)t));
        return ST_OK;
    case AST_TX_COMMIT:
        snprintf(st->tag, sizeof st->tag, s->state == 'E' ? "ROLLBACK" : "COMMIT");
        if (s->state == 'I') return ST_OK; /* PostgreSQL warns; there is nothing to end */
        if (s->state == 'T') {
            settings_restore(s, &s->settings_keep);
            commit_all(s);
        }
        break;
    case AST_TX_ROLLBACK:
        snprintf(st->tag, sizeof st->tag, "ROLLBACK");
        if (s->state == 'I') return ST_OK;
        roll_back_all(s);
        break;
    default: {
        Status r = err_at(&s->err, t->location, ERR_FEATURE_NOT_SUPPORTED, "savepoints and two-phase commit are not supported");
        return r;
    }
    }
    release_lock(s);
    s->state = 'I';
    s->read_only = false;
    if (t->chain) start_transaction(s);
    return ST_OK;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static const char *setting_text(void *ctx, Arena *a, const char *name, Err *e) { return settings_show(ctx, a, name, e); }

Status session_new(Database *db, Session **out, Err *e) {
    Session *s = mem_calloc(&db->account, (int64_t)sizeof *s, e);
    if (!s) return ST_ERROR;
    s->db = db;
    s->state = 'I';
    mem_account_init(&s->account, &db->account, "connection", 0, NULL);
    if (settings_init(&s->settings, db) != ST_OK) {
        mem_free(&db->account, s, (int64_t)sizeof *s);
        return err_oom(e);
    }
    s->info.setting = setting_text;
    s->info.setting_ctx = s;
    s->info.user = "stele";
    s->info.database = db->path ? db->path : ":memory:";
    s->info.random_seed = (uint64_t)clock_ns();
    *out = s;
    return ST_OK;
}

void session_free(Session *s) {
    if (!s) return;
    while (s->statements) statement_free(s->statements);
    roll_back_all(s);
    release_lock(s);
    s->state = 'I';
    session_free_prepared(s);
    mem_free(&s->db->account, s, (int64_t)sizeof *s);
}

/* ---- statements -------------------------------------------------------------------------------- */

static void drop_results(Statement *st) {
    query_free(st->query);
    st->query = NULL;
    st->rows = NULL;
    st->row_map = NULL;
    st->text_rows = NULL;
    st->is_text = false;
    st->ran = false;
    st->n_rows = st->next_row = st->affected = 0;
    st->first_col = 0;
    st->tag[0] = 0;
    arena_free(st->run_arena);
    st->run_arena = NULL;
    arena_free(st->cell_arena);
    st->cell_arena = NULL;
    /* The last run's names and types were in run_arena. */
    st->n_cols = st->prepared_shape.n_cols;
    st->names = st->prepared_shape.names;
    st->types = st->prepared_shape.types;
}
void statement_reset(Statement *st) { drop_results(st); }

void statement_clear_param(Statement *st, int32_t i) {
    Value *v = &st->params[i];
    if (v->type.id == T_UNKNOWN && !v->is_null) mem_free(&st->session->account, (void *)(uintptr_t)v->u.str.ptr, (int64_t)v->u.str.len + 1);
    *v = (Value){.type = st->param_types[i], .is_null = true};
}

void statement_free(Statement *st) {
    if (!st) return;
    drop_results(st);
    *st->link = st->next;
    if (st->next) st->next->link = st->link;
    if (st->params && st->param_types)
        for (int32_t i = 0; i < st->n_params; i++) statement_clear_param(st, i);
    arena_free(st->arena);
    mem_free(&st->session->account, st, (int64_t)sizeof *st);
}

void plan_ctx_init(Session *s, Arena *a, PlanCtx *c) {
    memset(c, 0, sizeof *c);
    c->arena = a;
    c->err = &s->err;
    c->catalog = &s->db->catalog;
    c->session = &s->info;
    c->disabled_rules = s->settings.disabled_rules;
    (void)vec_push(a, &c->cols, ((ColInfo){.name = "", .col = -1}));
}

static bool is_plannable(const AstStmt *a) {
    return a->kind == AST_SELECT || a->kind == AST_INSERT || a->kind == AST_UPDATE || a->kind == AST_DELETE;
}

static Status set_shape(Statement *st, Arena *a, PlanCtx *c, const BoundStmt *b) {
    st->n_cols = b->n_result;
    st->names = arena_array(a, const char *, b->n_result + 1);
    st->types = arena_array(a, Type, b->n_result + 1);
    if (!st->names || !st->types) return ST_ERROR;
    for (int32_t i = 0; i < b->n_result; i++) {
        st->names[i] = arena_strdup(a, b->names[i]);
        st->types[i] = c->cols.items[b->result[i]].type;
        if (!st->names[i]) return ST_ERROR;
    }
    st->has_shape = true;
    return ST_OK;
}

static Status prepare_shape(Session *s, Statement *st) {
    bool explain_inner = st->ast->kind == AST_EXPLAIN;
    const AstStmt *q = explain_inner ? AST_AS_CONST(AstExplain, st->ast)->query : st->ast;
    if (!is_plannable(q) || s->state == 'E') return ST_OK;
    TRY(session_lock(s, LOCK_SHARED));
    PlanCtx c;
    Arena *tmp = arena_new(&s->account, &s->err);
    Status r = ST_ERROR;
    BoundStmt *b = NULL;
    if (tmp) {
        plan_ctx_init(s, tmp, &c);
        r = sql_bind(&c, q, 0, NULL, &b);
    }
    if (r == ST_OK && !explain_inner) r = set_shape(st, st->arena, &c, b);
    if (r == ST_OK && !explain_inner) {
        st->prepared_shape.n_cols = st->n_cols;
        st->prepared_shape.names = st->names;
        st->prepared_shape.types = st->types;
    }
    if (r == ST_OK) {
        st->n_params = b->n_params;
        st->param_types = arena_array(st->arena, Type, b->n_params + 1);
        st->params = arena_array(st->arena, Value, b->n_params + 1);
        if (!st->param_types || !st->params) r = ST_ERROR;
        else
            for (int32_t i = 0; i < b->n_params; i++) {
                st->param_types[i] = b->param_types[i];
                st->params[i] = (Value){.type = b->param_types[i], .is_null = true};
            }
    }
    arena_free(tmp);
    if (s->state == 'I') release_lock(s);
    return r;
}

Status statement_prepare(Session *s, Slice sql, Statement **out, int64_t *consumed) {
    *out = NULL;
    err_clear(&s->err);
    atomic_store(&s->cancel, false);
    /* Only the first statement is parsed, so that a long script costs time in proportion to its length. */
    sql.len = *consumed = sql_statement_end(sql);
    Arena *a = arena_new(&s->account, &s->err);
    char *text = a ? arena_strndup(a, sql.ptr, sql.len) : NULL;
    AstStmt **list = NULL;
    int64_t n = 0;
    Status r = text ? sql_parse(a, (Slice){text, sql.len}, &list, &n, &s->err) : ST_ERROR;
    Statement *st = r == ST_OK && n > 0 ? mem_calloc(&s->account, (int64_t)sizeof *st, &s->err) : NULL;
    if (!st) {
        arena_free(a);
        if (r == ST_OK && n == 0) return ST_OK;
        return session_end_statement(s, ST_ERROR);
    }
    arena_set_err(a, &s->err);
    if (n > 1) *consumed = list[1]->source_offset; /* the lexer saw parentheses where the grammar saw none */
    st->session = s;
    st->arena = a;
    st->ast = list[0];
    mem_account_init(&st->account, &s->account, "query", 0, "memory_limit");
    st->next = s->statements;
    st->link = &s->statements;
    if (st->next) st->next->link = &st->next;
    s->statements = st;
    /* Several statements at once: later ones may depend on earlier ones, so each is bound when it is prepared itself. */
    if (prepare_shape(s, st) != ST_OK) {
        statement_free(st);
        return session_end_statement(s, ST_ERROR);
    }
    *out = st;
    return ST_OK;
}

Status statement_text_columns(Statement *st, int32_t n, const char *const *names) {
    Arena *a = st->run_arena;
    st->is_text = true;
    st->show_rows = true;
    st->n_cols = n;
    st->names = arena_array(a, const char *, n + 1);
    st->types = arena_array(a, Type, n + 1);
    if (!st->names || !st->types) return ST_ERROR;
    for (int32_t i = 0; i < n; i++) {
        st->names[i] = arena_strdup(a, names[i]);
        if (!st->names[i]) return ST_ERROR;
        st->types[i] = type_make(T_TEXT);
    }
    return ST_OK;
}
Status statement_text_row(Statement *st, const char *const *cells) {
    Arena *a = st->run_arena;
    if ((st->n_rows & (st->n_rows - 1)) == 0) {
        const char ***g = arena_array(a, const char **, st->n_rows ? st->n_rows * 2 : 1);
        if (!g) return ST_ERROR;
        if (st->n_rows) memcpy(g, st->text_rows, (size_t)st->n_rows * sizeof *g);
        st->text_rows = g;
    }
    const char **row = arena_array(a, const char *, st->n_cols + 1);
    if (!row) return ST_ERROR;
    for (int32_t i = 0; i < st->n_cols; i++) {
        if (!cells[i]) continue;
        row[i] = arena_strdup(a, cells[i]);
        if (!row[i]) return ST_ERROR;
    }
    st->text_rows[st->n_rows++] = row;
    return ST_OK;
}

static void progress_hook(void *ctx, double fraction) {
    Session *s = ctx;
    if (s->progress && s->progress(s->progress_ctx, fraction)) atomic_store(&s->cancel, true);
}

Status session_run_plan(Session *s, PlanCtx *c, BoundStmt *b, int32_t n, const ColId *ids, MemAccount *acct, RunOutput *out) {
    int64_t t0 = clock_ns();
    memset(out, 0, sizeof *out);
    TRY(session_resolve_limits(s, c, b->plan, acct));
    TRY(sql_optimize(c, b));
    out->plan = sql_lower(c, b->plan, n, ids);
    if (!out->plan) return ST_ERROR;
    int64_t t1 = clock_ns();
    QueryOptions o = {.pool = s->db->pool, .threads = (int)s->settings.threads, .vector_size = s->settings.vector_size, .morsel_rows = s->settings.morsel_rows,
                      .account = acct, .temp_dir = s->settings.temp_directory[0] ? s->settings.temp_directory : NULL, .vfs = s->db->vfs, .session = &s->info,
                      .cancel = &s->cancel, .progress = progress_hook, .progress_ctx = s, .deadline_ns = s->deadline_ns};
    TRY(session_device_use(s, out->plan, &o.device));
    TRY(query_new(out->plan, &o, &out->query, &s->err));
    if (query_run(out->query, &s->err) != ST_OK) {
        query_free(out->query);
        out->query = NULL;
        return ST_ERROR;
    }
    out->rows = query_result(out->query);
    out->plan_ns = t1 - t0;
    out->run_ns = clock_ns() - t1;
    return ST_OK;
}

Status session_execute(Session *s, Statement *st, const AstStmt *ast, int32_t n_params, const Type *param_types, const Value *params) {
    if (s->state == 'E' && !(ast->kind == AST_TRANSACTION && (AST_AS_CONST(AstTransaction, ast)->tx_kind == AST_TX_ROLLBACK || AST_AS_CONST(AstTransaction, ast)->tx_kind == AST_TX_COMMIT)))
        return err_set(&s->err, ERR_FAILED_TRANSACTION, "current transaction is aborted, commands ignored until end of transaction block");
    if (ast->kind == AST_TRANSACTION) return transaction(s, st, AST_AS_CONST(AstTransaction, ast));
    if (ast->kind == AST_EXPLAIN) return session_explain(s, st, AST_AS_CONST(AstExplain, ast), n_params, param_types, params);
    if (!is_plannable(ast)) return session_utility(s, st, ast);
    if (ast->kind == AST_SELECT) TRY(session_lock(s, LOCK_SHARED));
    else TRY(session_begin_write(s));
    PlanCtx c;
    plan_ctx_init(s, st->run_arena, &c);
    BoundStmt *b;
    TRY(sql_bind(&c, ast, n_params, param_types, &b));
    TRY(set_shape(st, st->run_arena, &c, b));
    if (b->n_params > 0) {
        if (n_params < b->n_params) return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "the statement has %d parameters but %d values were given", (int)b->n_params, (int)n_params);
        TRY(sql_bind_params(&c, b, n_params, params));
    }
    if (b->kind != STMT_SELECT) return session_dml(s, st, &c, b);
    RunOutput r;
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, &st->account, &r));
    st->query = r.query;
    st->rows = r.rows;
    st->n_rows = rows_count(r.rows);
    st->affected = st->n_rows;
    st->show_rows = true;
    snprintf(st->tag, sizeof st->tag, "SELECT %lld", (long long)st->n_rows);
    return ST_OK;
}

Status statement_run(Statement *st) {
    Session *s = st->session;
    drop_results(st);
    err_clear(&s->err);
    atomic_store(&s->cancel, false);
    st->run_arena = arena_new(&st->account, &s->err);
    if (!st->run_arena) return err_oom(&s->err);
    if (s->state == 'I') {
        struct timespec ts;
        clock_gettime(CLOCK_REALTIME, &ts);
        s->info.now_micros = ((int64_t)ts.tv_sec - INT64_C(946684800)) * 1000000 + ts.tv_nsec / 1000;
    }
    s->info.tz_offset = s->settings.tz_offset;
    s->deadline_ns = s->settings.statement_timeout_ms > 0 ? clock_ns() + s->settings.statement_timeout_ms * 1000000 : 0;
    Value *vals = arena_array(st->run_arena, Value, st->n_params + 1);
    Status r = vals ? ST_OK : ST_ERROR;
    for (int32_t i = 0; r == ST_OK && i < st->n_params; i++) {
        vals[i] = st->params[i];
        if (vals[i].is_null) vals[i].type = st->param_types[i];
    }
    if (r == ST_OK) r = session_execute(s, st, st->ast, st->n_params, st->param_types, vals);
    if (r != ST_OK && s->deadline_ns && clock_ns() > s->deadline_ns && strcmp(s->err.sqlstate, ERR_QUERY_CANCELED) == 0) {
        err_clear(&s->err);
        err_set(&s->err, ERR_QUERY_CANCELED, "canceling statement due to statement timeout");
    }
    r = session_end_statement(s, r);
    if (r != ST_OK) {
        Err keep;
        err_copy(&keep, &s->err);
        drop_results(st);
        err_copy(&s->err, &keep);
        return r;
    }
    st->ran = true;
    st->next_row = 0;
    return ST_OK;
}
