/* bulk_call.c - bulks in SQL: CALL bulk_call('p', 'query'), and bulk_call(..) in FROM. See bulk.h.
 *
 * The query's rows are the calls. They are converted to the types of the parameters column by column; where that fails,
 * row by row: such a call fails with the error of its value and does not run. In FROM the bulk runs when its
 * statement's plan is about to be made, as functions that return sets do (pl_run.h): its rows become constants of the
 * plan.
 */
#include <stdio.h>

#include "session/pool/bulk.h"
#include "session/pool/bulk_forms.h"
#include "session/pl/pl_eval.h"
#include "session/pl/pl_run.h"
#include "sql/pl/pl.h"
#include "sql/bind/bind.h"
#include "sql/parse/parse.h"

enum { CONVERT_ROWS = 1024 };

/* Columns of a bulk's rows (sql_bulk_columns), before OUT values. */
enum { COL_CALL, COL_SQLSTATE, COL_MESSAGE, COL_DETAIL, COL_HINT, COL_LINE, COL_CONTEXT, FIRST_OUT };

bool session_is_bulk_call(const AstCall *x) { return sql_is_bulk_call(x->func); }

/* ---- the calls ----------------------------------------------------------------------------------- */
typedef struct Given {
    int64_t n;      /* calls */
    int64_t n_good; /* those that can run: rows of params */
    Vec *params;
    CallError **bad; /* by call, NULL: good; all NULL: no array */
    bool shared;     /* the query ran with a share in the lock; txn_lock_changes by then */
    uint64_t changes;
} Given;

/* The value of one call's parameter cannot be converted. Errors that are no fault of the value are the statement's. */
static Status mark_bad(Session *s, Arena *a, const Routine *r, int32_t param, int64_t row, const Err *e, Given *g) {
    if (strncmp(e->sqlstate, "22", 2) != 0) {
        err_copy(&s->err, e);
        return ST_ERROR;
    }
    if (!g->bad && !(g->bad = arena_calloc(a, (g->n + 1) * (int64_t)sizeof *g->bad))) return err_oom(&s->err);
    if (g->bad[row]) return ST_OK; /* another parameter's came first */
    CallError *x = arena_new_of(a, CallError);
    const char *signature = pl_signature_text(a, r);
    if (!x || !signature || !call_error_of(a, e, x) ||
        !(x->context = arena_printf(a, "argument %d of %s", (int)param + 1, name_of_key(signature))))
        return err_oom(&s->err);
    g->bad[row] = x;
    g->n_good--;
    return ST_OK;
}

/* Rows [at, at + n) of a column; one that fails alone is the call's error. */
static Status convert_rows(Session *s, Arena *a, const Routine *r, int32_t param, FuncKernel kernel, const Vec *from,
                           Vec *to, int64_t at, int64_t n, Given *g) {
    Err e = {0};
    FuncCtx ctx = {.arena = a, .err = &e, .session = &s->info, .state_arena = a, .ret = to->type};
    int64_t in = phys_size((Phys)from->phys), out = phys_size((Phys)to->phys);
    Vec x = *from, y = *to;
    x.data = (char *)from->data + at * in;
    x.valid = from->valid + at;
    y.data = (char *)to->data + at * out;
    y.valid = memcpy(to->valid + at, x.valid, (size_t)n);
    if (kernel(&ctx, n, &x, 1, &y) == ST_OK) return ST_OK;
    if (n == 1) return err_is_set(&e) ? mark_bad(s, a, r, param, at, &e, g) : err_oom(&s->err);
    for (int64_t i = 0; i < n; i++) TRY(convert_rows(s, a, r, param, kernel, from, to, at + i, 1, g));
    return ST_OK;
}
static Status convert(Session *s, Arena *a, const Routine *r, int32_t param, Type type, Vec *v, Given *g) {
    char from[TYPE_NAME_MAX], to[TYPE_NAME_MAX];
    const bool exact = v->type.id == T_NUMERIC || type_is_integer(v->type);
    if (type_eq(v->type, type) || (type.id == T_DECIMAL && exact)) return ST_OK; /* bulk_forms.h */
    FuncKernel kernel = cast_kernel(v->type, type, CAST_EXPLICIT);
    if (!kernel) {
        err_set(&s->err, ERR_CANNOT_COERCE, "cannot cast type %s to %s", type_name(v->type, &from),
                type_name(type, &to));
        err_context(&s->err, "argument %d of %s", (int)param + 1, r->name);
        return ST_ERROR;
    }
    Vec x = {.phys = (uint8_t)type_phys(type), .type = type};
    if (!(x.data = arena_calloc(a, (g->n + 1) * phys_size((Phys)x.phys))) || !(x.valid = arena_alloc(a, g->n + 1)))
        return err_oom(&s->err);
    for (int64_t at = 0; at < g->n; at += CONVERT_ROWS)
        TRY(convert_rows(s, a, r, param, kernel, v, &x, at, MIN_OF(g->n - at, (int64_t)CONVERT_ROWS), g));
    *v = x;
    return ST_OK;
}
static void drop_bad(Given *g, int32_t n_params) {
    for (int32_t k = 0; g->bad && k < n_params; k++) {
        Vec *v = &g->params[k];
        int64_t size = phys_size((Phys)v->phys), m = 0;
        for (int64_t i = 0; i < g->n; i++) {
            if (g->bad[i]) continue;
            memmove((char *)v->data + m * size, (char *)v->data + i * size, (size_t)size);
            v->valid[m++] = v->valid[i];
        }
    }
}

/* The result as columns, run by run, by several workers where there are no texts: these are copied to the arena, since
 * the query goes. */
typedef struct Take {
    RowStore *rows;
    int32_t n_cols;
    const Vec *params;
    Arena *texts;
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *err; /* of the first failure; read when all are done */
} Take;

static bool copy_texts(Arena *a, int64_t n, const uint8_t *valid, Str *t) {
    for (int64_t i = 0; i < n; i++) {
        const char *copy = valid[i] ? arena_strndup(a, t[i].ptr, t[i].len) : "";
        if (!copy) return false;
        t[i] = str_make(copy, valid[i] ? t[i].len : 0);
    }
    return true;
}
static Status take_run(const Take *x, int64_t run, Err *e) {
    const RowLayout *l = rows_layout(x->rows);
    const int64_t at = rows_run_start(x->rows, run);
    RowRun piece;
    TRY(rows_run_open(x->rows, run, &piece, e));
    Status st = ST_OK;
    for (int32_t i = 0; i < x->n_cols && st == ST_OK; i++) {
        const Vec *to = &x->params[i];
        Vec v = *to;
        v.data = (char *)to->data + at * phys_size((Phys)v.phys);
        v.valid = to->valid + at;
        rows_load(l, i, &piece, 0, NULL, piece.n, &v);
        if (!v.valid) memset(to->valid + at, 1, (size_t)piece.n);
        if (v.phys == PH_STR && !copy_texts(x->texts, piece.n, to->valid + at, (Str *)to->data + at)) st = err_oom(e);
    }
    rows_run_close(x->rows, &piece);
    return st;
}
static void take_worker(void *ctx, int worker) {
    Take *x = ctx;
    Err e = {0};
    (void)worker;
    for (int64_t k; !atomic_load(&x->failed) && (k = atomic_fetch_add(&x->next, 1)) < rows_n_runs(x->rows);)
        if (take_run(x, k, &e) != ST_OK && !atomic_exchange(&x->failed, true)) err_copy(x->err, &e);
}
static Status take_columns(Session *s, Arena *a, const PlanCtx *c, const BoundStmt *b, const RunOutput *run,
                           int32_t n_cols, Given *g) {
    const RowLayout *l = rows_layout(run->rows);
    g->n = g->n_good = rows_count(run->rows);
    Vec *v = g->params = arena_array(a, Vec, n_cols + 1);
    if (!v) return err_oom(&s->err);
    for (int i = 0; i < n_cols; i++) {
        v[i] = (Vec){.phys = l->cols[i].phys, .type = c->cols.items[b->result[i]].type};
        if (!(v[i].data = arena_alloc(a, (g->n + 1) * phys_size((Phys)v[i].phys))) ||
            !(v[i].valid = arena_alloc(a, g->n + 1)))
            return err_oom(&s->err);
    }
    int64_t workers = MIN_OF(MIN_OF(s->settings.exec.threads, rows_n_runs(run->rows)), pool_threads(s->db->pool));
    for (int i = 0; i < n_cols; i++)
        if (v[i].phys == PH_STR) workers = 1;
    Take x = {.rows = run->rows, .n_cols = n_cols, .params = v, .texts = a, .err = &s->err};
    if (workers > 1) pool_run(s->db->pool, (int)workers, take_worker, &x);
    else take_worker(&x, 0);
    return atomic_load(&x.failed) ? ST_ERROR : ST_OK;
}
/* The lock held alone is shared from here on: tables are up to date, and the query only reads. Routines may do more. */
static void share_lock(Session *s, const PlanCtx *c, Given *g) {
    if (c->calls_routine) return;
    txn_lock_downgrade(s->db->txn_lock);
    s->lock = LOCK_SHARED;
    g->shared = true;
    g->changes = txn_lock_changes(s->db->txn_lock);
}
static Status run_query(Session *s, Arena *a, MemAccount *acct, const Routine *r, Slice query, bool shares,
                        int32_t n_params, Given *g) {
    AstStmt **stmts;
    int64_t n_stmts;
    PlanCtx c;
    BoundStmt *b;
    RunOutput run;
    TRY(sql_parse(a, query, &stmts, &n_stmts, &s->err));
    if (n_stmts != 1 || stmts[0]->kind != AST_SELECT) return err_set(&s->err, ERR_SYNTAX, "bulk_call takes one query");
    plan_ctx_init_client(s, a, &c);
    TRY(sql_bind(&c, stmts[0], 0, NULL, &b));
    if (b->n_params > 0)
        return err_set(&s->err, ERR_UNDEFINED_PARAMETER, "the query of bulk_call has no parameters of its own");
    TRY(session_bulk_sync_for(s, &c)); /* the query sees what was done before */
    if (b->n_result != n_params && n_params > 0) {
        err_set(&s->err, ERR_SYNTAX, "the query of bulk_call has %d column%s, but %s takes %d argument%s",
                (int)b->n_result, b->n_result == 1 ? "" : "s", r->name, (int)n_params, n_params == 1 ? "" : "s");
        return ST_ERROR;
    }
    if (shares) share_lock(s, &c, g);
    TRY(session_run_plan(s, &c, b, b->n_result, b->result, acct, &run));
    Status st = take_columns(s, a, &c, b, &run, n_params, g);
    query_free(run.query);
    return st;
}
/* The query's rows as columns of the parameters' types; shares: it may give up all of the lock but a share in it. */
static Status read_calls(Session *s, Arena *a, MemAccount *acct, const Routine *r, Slice query, bool shares, Given *g) {
    int32_t n_params = 0, k = 0;
    for (int i = 0; i < r->n_params; i++) n_params += r->param_modes[i] == 'i' || r->param_modes[i] == 'b';
    if (run_query(s, a, acct, r, query, shares, n_params, g) != ST_OK) {
        s->err.position = 0; /* of the query, not of the statement */
        err_context(&s->err, "query of bulk_call");
        return ST_ERROR;
    }
    for (int i = 0; i < r->n_params; i++) {
        if (r->param_modes[i] != 'i' && r->param_modes[i] != 'b') continue;
        TRY(convert(s, a, r, k, r->param_types[i], &g->params[k], g));
        k++;
    }
    drop_bad(g, n_params);
    return ST_OK;
}

/* ---- the rows ------------------------------------------------------------------------------------- */
/* Texts are the bulk's result's, or in the arena: they go when that does. */
static void text_cell(const char *text, Value *out) {
    if (!text) return;
    out->is_null = false;
    out->u.str = str_make(text, (int64_t)strlen(text));
}
/* What went wrong, and where; the context as an error of the call alone has it. Without memory for that it is the
 * routines' that the call's called: the calls have been executed, and so the statement does not fail. */
static void error_cells(Arena *a, const char *signature, const CallError *e, Value *row) {
    const char *context = e->context;
    if (e->line > 0 && e->place) {
        context = arena_printf(a, "%s%sPL/pgSQL function %s line %d at %s", context ? context : "", context ? "\n" : "",
                               signature, (int)e->line, e->place);
        if (!context) context = e->context;
    }
    text_cell(e->sqlstate, &row[COL_SQLSTATE]);
    text_cell(e->message, &row[COL_MESSAGE]);
    text_cell(e->detail, &row[COL_DETAIL]);
    text_cell(e->hint, &row[COL_HINT]);
    if (e->line > 0) row[COL_LINE] = (Value){.type = type_make(T_INT4), .u.i32 = e->line};
    text_cell(context, &row[COL_CONTEXT]);
}
/* The bulk's result goes with the arena. */
static void free_result(void *p) {
    BulkResult **b = p;
    if (*b) bulk_result_free(*b);
}
/* Room for the result: what runs then need not fail for having none. */
static Status room_for_result(Session *s, Arena *a, BulkResult ***room) {
    *room = arena_calloc(a, (int64_t)sizeof **room);
    return *room && arena_on_release(a, free_result, *room) == ST_OK ? ST_OK : err_oom(&s->err);
}
/* Runs the bulk. sliced: others may come in between, and r may be gone afterwards. */
static Status run_calls(Session *s, const Routine *r, bool sliced, const Given *g, BulkResult **out) {
    BulkResult *b;
    BulkCalls group = {.routine = r, .n = g->n_good, .params = g->params};
    TRY((sliced ? session_bulk_run_sliced : session_bulk_run)(s, 1, &group, NULL, &b));
    *out = b;
    if (!sliced) bulk_declared_outs(1, &group, b);
    session_bulk_notices(s, b, 0, 0, g->n_good);
    s->bulk.stats = b->stats;
    s->bulk.stats.n_calls += g->n - g->n_good;
    s->bulk.stats.n_failed += g->n - g->n_good;
    if (b->stats.reason) {
        snprintf(s->bulk.reason, sizeof s->bulk.reason, "%s", b->stats.reason);
        s->bulk.stats.reason = s->bulk.reason;
    }
    return ST_OK;
}
/* ---- the rows, as columns ---- */
/* n cells of the type, unwritten; valid: with room for NULLs. */
static Status column_room(Session *s, Arena *a, int64_t n, Type type, bool valid, Vec *v) {
    const Phys ph = type_phys(type);
    *v = (Vec){.phys = (uint8_t)ph,
               .type = type,
               .data = arena_alloc(a, (n + 1) * phys_size(ph)),
               .valid = valid ? arena_alloc(a, n + 1) : NULL};
    return v->data && (v->valid || !valid) ? ST_OK : err_oom(&s->err);
}
/* Room that is seldom needed: addresses and a charge, and memory only where it is touched. As blocks of the arena these
 * would take the place of what was touched among the freed mappings that serve again (base/mem.c). */
typedef struct Spare {
    MemAccount *account;
    void *at;
    int64_t bytes, most;
} Spare;
static void free_spare(void *p) {
    Spare *x = p;
    mem_span_free(x->account, x->at, x->bytes, x->most);
}
static void *spare_room(Session *s, Arena *a, int64_t bytes) {
    enum { SMALL = 128 << 10 };
    if (bytes < SMALL) return arena_alloc(a, bytes);
    Spare *x = arena_new_of(a, Spare);
    if (!x) return NULL;
    *x = (Spare){.account = arena_account(a), .bytes = bytes, .most = bytes};
    if (arena_on_release(a, free_spare, x) != ST_OK) return NULL;
    return x->at = mem_span_new(x->account, bytes, &x->most, &s->err);
}
static Status spare_column(Session *s, Arena *a, int64_t n, Type type, Vec *v) {
    const Phys ph = type_phys(type);
    *v = (Vec){.phys = (uint8_t)ph,
               .type = type,
               .data = spare_room(s, a, (n + 1) * phys_size(ph)),
               .valid = spare_room(s, a, n + 1)};
    return v->data && v->valid ? ST_OK : err_oom(&s->err);
}
/* Room for what make_columns makes, which cannot fail then. */
static Status columns_room(Session *s, Arena *a, const Given *g, int32_t w, const Type *types, Vec *cols) {
    TRY(column_room(s, a, g->n, types[COL_CALL], false, &cols[COL_CALL]));
    for (int32_t k = COL_CALL + 1; k < FIRST_OUT; k++) TRY(spare_column(s, a, g->n, types[k], &cols[k]));
    for (int32_t k = FIRST_OUT; g->bad && k < w; k++) TRY(column_room(s, a, g->n, types[k], true, &cols[k]));
    return ST_OK;
}
static void no_errors(Vec *cols) {
    for (int32_t k = COL_CALL + 1; k < FIRST_OUT; k++) {
        memset(cols[k].data, 0, (size_t)phys_size((Phys)cols[k].phys));
        cols[k].valid[0] = 0;
        cols[k].is_const = true;
    }
}
static void error_columns(Arena *a, const char *signature, const Given *g, const BulkResult *b, Vec *cols) {
    for (int32_t k = COL_CALL + 1; k < FIRST_OUT; k++) memset(cols[k].valid, 0, (size_t)g->n);
    for (int64_t i = 0, ran = 0; i < g->n; i++) {
        const CallError *e = g->bad ? g->bad[i] : NULL;
        if (!e) e = b->errors[0][ran++];
        if (!e) continue;
        Value row[FIRST_OUT];
        for (int32_t k = 0; k < FIRST_OUT; k++) row[k] = (Value){.type = cols[k].type, .is_null = true};
        error_cells(a, signature, e, row);
        for (int32_t k = COL_CALL + 1; k < FIRST_OUT; k++) {
            const int64_t size = phys_size((Phys)cols[k].phys);
            if (row[k].is_null) continue;
            cols[k].valid[i] = 1;
            memcpy((char *)cols[k].data + i * size, value_cell_const(&row[k]), (size_t)size);
        }
    }
}
/* An OUT value's cells of the calls that ran, at the places of all calls. */
static void spread(const Given *g, const Vec *from, Vec *to) {
    const int64_t size = phys_size((Phys)from->phys);
    for (int64_t i = 0, ran = 0; i < g->n; i++) {
        to->valid[i] = !g->bad[i] && (!from->valid || from->valid[ran]);
        if (to->valid[i]) memcpy((char *)to->data + i * size, (const char *)from->data + ran * size, (size_t)size);
        ran += !g->bad[i];
    }
}
/* The result's columns, a row per call in the order of the calls. A column that is_const has one cell for all rows. OUT
 * values lie in the bulk's result, which goes with `a`; they are NULL where a call failed. */
static void make_columns(Session *s, Arena *a, const char *signature, const Given *g, const BulkResult *b, int32_t w,
                         Vec *cols) {
    for (int64_t i = 0; i < g->n; i++) ((int64_t *)cols[COL_CALL].data)[i] = i + 1;
    if (s->bulk.stats.n_failed > 0) error_columns(a, signature, g, b, cols);
    else no_errors(cols);
    for (int32_t k = FIRST_OUT; k < w; k++) {
        const Vec *v = &b->outs[0][k - FIRST_OUT];
        if (g->bad) spread(g, v, &cols[k]);
        else cols[k] = *v;
    }
    err_clear(&s->err); /* a context that had no memory */
}
/* Outside a transaction what calls have done stands when they have run, so nothing fails any more, and cancelling ends
 * no more than the calls that say so; columns are made when others have the lock. */
static Status bulk_columns(Session *s, Arena *a, const Routine *r, const Given *g, bool sliced, int32_t w,
                           const Type *types, Vec **cols) {
    BulkResult **held;
    const char *signature = pl_signature_text(a, r);
    if (!signature || !(*cols = arena_array(a, Vec, w + 1))) return err_oom(&s->err);
    TRY(columns_room(s, a, g, w, types, *cols));
    TRY(room_for_result(s, a, &held));
    TRY(run_calls(s, r, sliced, g, held));
    if (sliced && s->state == 'I') {
        session_is_past_cancel(s);
        TRY(session_pause_bulk(s, true));
    }
    make_columns(s, a, signature, g, *held, w, *cols);
    return ST_OK;
}

/* ---- CALL ----------------------------------------------------------------------------------------- */
/* An argument that is a text: a literal or a parameter. */
static Status text_argument(Session *s, const AstExpr *e, int32_t n_params, const Value *params, const char *what,
                            Slice *out) {
    if (e->kind == AST_STRING_LIT) {
        Slice t = AST_AS_CONST(AstLiteral, e)->text;
        *out = t;
        return ST_OK;
    }
    if (e->kind == AST_PARAM) {
        int32_t k = AST_AS_CONST(AstParam, e)->number;
        if (k >= 1 && k <= n_params && !params[k - 1].is_null && type_phys(params[k - 1].type) == PH_STR) {
            *out = (Slice){params[k - 1].u.str.ptr, params[k - 1].u.str.len};
            return ST_OK;
        }
    }
    return err_at(&s->err, e->location, ERR_FEATURE_NOT_SUPPORTED,
                  "bulk_call takes its %s as a string literal or parameter", what);
}
static Status call_arguments(Session *s, const AstCall *x, int32_t n_params, const Value *params, Slice *name,
                             Slice *query) {
    const AstFunc *f = x->func;
    TRY(sql_bulk_arguments(f, f->location, &s->err));
    TRY(text_argument(s, f->args[0], n_params, params, "procedure", name));
    return query ? text_argument(s, f->args[1], n_params, params, "query", query) : ST_OK;
}
Status session_bulk_shape(Session *s, const AstCall *x, Arena *a, int32_t *n_params, Type **param_types,
                          int32_t *n_cols, const char ***names, Type **types) {
    Slice name;
    const Routine *r;
    *n_params = 0;
    for (int64_t i = 0; i < x->func->n_args; i++)
        if (x->func->args[i]->kind == AST_PARAM)
            *n_params = MAX_OF(*n_params, AST_AS_CONST(AstParam, x->func->args[i])->number);
    if (!(*param_types = arena_array(a, Type, *n_params + 1))) return err_oom(&s->err);
    for (int32_t i = 0; i < *n_params; i++) (*param_types)[i] = type_make(T_TEXT);
    if (x->func->n_args > 0 && x->func->args[0]->kind != AST_STRING_LIT) { /* the shape is known when it runs */
        *n_cols = 0;
        return ST_OK;
    }
    TRY(call_arguments(s, x, 0, NULL, &name, NULL));
    TRY(session_bulk_routine(s, name, &r));
    return sql_bulk_columns(a, r, n_cols, names, types) == ST_OK ? ST_OK : err_oom(&s->err);
}
/* The routine, the shape of the result, and the calls. */
static Status calls_of(Session *s, Statement *st, Slice name, Slice query, bool shares, const Routine **r, Given *g) {
    *g = (Given){0};
    TRY(session_bulk_routine(s, name, r));
    if (sql_bulk_columns(st->run_arena, *r, &st->n_cols, &st->names, &st->types) != ST_OK) return err_oom(&s->err);
    return read_calls(s, st->run_arena, &st->account, *r, query, shares, g);
}
/* Under the lock held alone. Outside a transaction the query, which may take long, runs while others read. The lock is
 * then given up and taken again, since of two that hold a share and want it alone one would fail; when something has
 * changed in between, all is looked up again, under the lock held alone. Where that happened, others keep changing
 * something, and the next queries are not run twice. */
enum { QUERIES_ALONE = 16 };
static Status look_up_calls(Session *s, Statement *st, Slice name, Slice query, const Routine **r, Given *g) {
    TRY(session_begin_bulk(s));
    const bool shares = s->state == 'I' && atomic_load(&s->db->n_sessions) > 1 && s->bulk.queries_alone == 0;
    if (s->state == 'I' && s->bulk.queries_alone > 0) s->bulk.queries_alone--;
    TRY(calls_of(s, st, name, query, shares, r, g));
    if (!g->shared) return ST_OK;
    TRY(session_pause_bulk(s, true));
    TRY(session_begin_bulk(s));
    if (txn_lock_changes(s->db->txn_lock) == g->changes) return ST_OK;
    s->bulk.queries_alone = QUERIES_ALONE;
    return calls_of(s, st, name, query, false, r, g);
}
Status session_bulk_call(Session *s, Statement *st, const AstCall *x, int32_t n_params, const Value *params) {
    Slice name, query;
    const Routine *r;
    Given g;
    Vec *columns = NULL;
    TRY(call_arguments(s, x, n_params, params, &name, &query));
    TRY(look_up_calls(s, st, name, query, &r, &g));
    TRY(bulk_columns(s, st->run_arena, r, &g, true, st->n_cols, st->types, &columns));
    st->columns = columns;
    st->has_shape = true;
    st->n_rows = st->affected = g.n;
    st->show_rows = true;
    snprintf(st->tag, sizeof st->tag, "CALL");
    return ST_OK;
}

/* ---- FROM ----------------------------------------------------------------------------------------- */
Status session_bulk_fill(Session *s, PlanCtx *c, Plan *p, MemAccount *acct) {
    Arena *a = c->arena;
    EvalCtx x = {.arena = a, .err = &s->err, .session = &s->info};
    Value query;
    if (s->explaining) {
        p->values.routine_id = p->n_exprs = 0;
        return ST_OK;
    }
    if (pl_in_call(s)) return err_set(&s->err, ERR_FEATURE_NOT_SUPPORTED, "a routine cannot run a bulk");
    TRY(session_begin_write(s));
    const Routine *r = catalog_routine_by_id(&s->db->catalog, p->values.routine_id);
    if (!r) return err_set(&s->err, ERR_UNDEFINED_FUNCTION, "the routine has been dropped");
    const bool stays = c->bulk_stays && !session_bulk_is_read(s, c, r);
    if (!stays) TRY(session_bulk_sync(s));
    TRY(eval_expr(&x, p->exprs[0], &query));
    if (query.is_null) return err_set(&s->err, ERR_NULL_NOT_ALLOWED, "the query of bulk_call is null");
    Type *types = arena_array(a, Type, p->n_out + 1);
    if (!types) return err_oom(&s->err);
    for (int32_t i = 0; i < p->n_out; i++) types[i] = c->cols.items[p->out_cols[i]].type;
    s->kept.n_runs++; /* the plan is good for once */
    s->bulk.undo = stays ? BULK_UNDO_IMAGES : BULK_UNDO_TABLES;
    Given g = {0};
    Status st = read_calls(s, a, acct, r, (Slice){query.u.str.ptr, query.u.str.len}, false, &g);
    if (st == ST_OK) st = bulk_columns(s, a, r, &g, false, p->n_out, types, &p->values.cells);
    p->values.n_rows = g.n;
    s->bulk.undo = BULK_STANDS;
    if (!stays && st == ST_OK) st = session_bulk_to_tables(s);
    if (!stays && st != ST_OK) session_bulk_forget(s);
    TRY(st); /* one that stays goes back at the statement's end */
    p->values.routine_id = 0;
    p->exprs = NULL;
    p->n_exprs = 0;
    return ST_OK;
}
