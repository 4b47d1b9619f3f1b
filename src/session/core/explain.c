/* explain.c - EXPLAIN [ANALYZE] [VERBOSE]: plan, segments, programs, and where each segment ran. */
#include <stdio.h>
#include <strings.h>

#include "exec/vm.h"
#include "session/pool/bulk.h"
#include "session/core/changes.h"
#include "session/core/cursor.h"
#include "session/core/explain.h"
#include "session/core/transaction.h"
#include "sql/bind/bind.h"
#include "sql/lower/lower.h"
#include "sql/optimize/optimize.h"
#include "sql/parse/parse.h"
#include "sql/plan/plan_explain.h"

static Status put(Statement *st, const char *line) { return statement_text_row(st, (const char *[]){line}); }

static Status put_lines(Statement *st, const char *text, const char *indent) {
    while (*text) {
        const char *nl = strchr(text, '\n');
        int64_t n = nl ? nl - text : (int64_t)strlen(text);
        char *line = arena_printf(st->run_arena, "%s%.*s", indent, (int)n, text);
        if (!line) return ST_ERROR;
        TRY(put(st, line));
        text += n + (nl != NULL);
    }
    return ST_OK;
}

static char *size_text(Arena *a, int64_t bytes) {
    if (bytes < 10240) return arena_printf(a, "%lld B", (long long)bytes);
    if (bytes < 10485760) return arena_printf(a, "%lld kB", (long long)(bytes / 1024));
    return arena_printf(a, "%lld MB", (long long)(bytes / 1048576));
}

/* How a pipeline ran; the model's estimate against what was measured. */
static Status put_pipeline(Statement *st, const DeviceStats *d) {
    if (!d->pipeline) return ST_OK;
    Arena *a = st->run_arena;
    char *line = arena_printf(a, "       %s", d->pipeline);
    if (line && d->model_ns > 0) line = arena_printf(a, "%s, model %.3f ms", line, d->model_ns / 1e6);
    if (line && d->model_ns > 0 && d->kernel_ns > 0)
        line = arena_printf(a, "%s, measured %.3f ms, error %+.0f %%", line, (double)d->kernel_ns / 1e6,
                            (d->model_ns / (double)d->kernel_ns - 1) * 100);
    return line ? put(st, line) : ST_ERROR;
}

/* What a device did for a segment, or why it did nothing. */
static Status put_device(Statement *st, const DeviceStats *d, bool verbose) {
    Arena *a = st->run_arena;
    double limit = d->on_device ? session_device_limit(st->session, d->device) : 0;
    if (d->reason) {
        char *why = arena_printf(a, "       not on the device: %s", d->reason);
        if (!why) return ST_ERROR;
        TRY(put(st, why));
        return verbose && d->detail ? put_lines(st, d->detail, "         ") : ST_OK;
    }
    if (!d->on_device) return ST_OK;
    char *line = arena_printf(a, "       %s%s%lld launch%s, %s in, %s out, %s read", d->residence ? d->residence : "",
                              d->residence ? ", " : "", (long long)d->launches, d->launches == 1 ? "" : "es",
                              size_text(a, d->bytes_in), size_text(a, d->bytes_out), size_text(a, d->bytes_read));
    if (line && d->kernel_ns) line = arena_printf(a, "%s, kernels %.3f ms", line, (double)d->kernel_ns / 1e6);
    if (line && d->kernel_ns && d->bytes_read)
        line = arena_printf(a, "%s, %.1f GB/s", line, (double)d->bytes_read / (double)d->kernel_ns);
    if (line && d->kernel_ns && d->bytes_read && limit > 0)
        line = arena_printf(a, "%s (%.0f %% of %.0f)", line, 100 * (double)d->bytes_read / (double)d->kernel_ns / limit,
                            limit);
    if (line && d->restarts)
        line = arena_printf(a, "%s, restarted %lld time%s", line, (long long)d->restarts, d->restarts == 1 ? "" : "s");
    if (line && d->code_from_memory) line = arena_printf(a, "%s, code from memory", line);
    else if (line && d->code_from_disk) line = arena_printf(a, "%s, code from disk", line);
    else if (line) line = arena_printf(a, "%s, compiled in %.0f ms", line, (double)d->compile_ns / 1e6);
    if (line && d->materialized) line = arena_printf(a, "%s, %s materialized", line, size_text(a, d->materialized));
    if (!line) return ST_ERROR;
    TRY(put(st, line));
    return put_pipeline(st, d);
}

Status session_option_bool(Session *s, const AstOption *o, bool *out) {
    const char *v = o->value ? o->value : "true";
    bool on = strcasecmp(v, "true") == 0 || strcasecmp(v, "on") == 0 || strcmp(v, "1") == 0;
    bool off = strcasecmp(v, "false") == 0 || strcasecmp(v, "off") == 0 || strcmp(v, "0") == 0;
    *out = on;
    return on || off ? ST_OK : err_at(&s->err, o->location, ERR_SYNTAX, "%s requires a Boolean value", o->name);
}

/* PostgreSQL's options; of those that say what is shown only VERBOSE does. */
static Status explain_options(Session *s, const AstExplain *x, bool *analyze, bool *verbose, bool *json) {
    static const char *const known[] = {"analyze", "verbose", "costs",    "buffers",
                                        "timing",  "summary", "settings", "wal"};
    static const char *const formats[] = {"xml", "yaml"};
    bool wal = false, timing = false;
    for (int64_t i = 0; i < x->n_options; i++) {
        const AstOption *o = &x->options[i];
        bool ok = false, on;
        if (strcmp(o->name, "format") == 0) {
            const char *v = o->value ? o->value : "";
            for (int64_t k = 0; k < ARRAY_LEN(formats); k++)
                if (strcmp(v, formats[k]) == 0)
                    return err_at(&s->err, o->location, ERR_FEATURE_NOT_SUPPORTED,
                                  "EXPLAIN format \"%s\" is not supported", v);
            *json = strcmp(v, "json") == 0;
            if (!*json && strcmp(v, "text") != 0)
                return err_at(&s->err, o->location, ERR_INVALID_PARAMETER,
                              "unrecognized value for EXPLAIN option \"%s\": \"%s\"", o->name, v);
            continue;
        }
        for (int64_t k = 0; k < ARRAY_LEN(known); k++) ok |= strcmp(o->name, known[k]) == 0;
        if (!ok) return err_at(&s->err, o->location, ERR_SYNTAX, "unrecognized EXPLAIN option \"%s\"", o->name);
        TRY(session_option_bool(s, o, &on));
        if (strcmp(o->name, "analyze") == 0) *analyze = on;
        if (strcmp(o->name, "verbose") == 0) *verbose = on;
        if (strcmp(o->name, "wal") == 0) wal = on;
        if (strcmp(o->name, "timing") == 0) timing = on;
    }
    if (wal && !*analyze) return err_set(&s->err, ERR_INVALID_PARAMETER, "EXPLAIN option WAL requires ANALYZE");
    if (timing && !*analyze) return err_set(&s->err, ERR_INVALID_PARAMETER, "EXPLAIN option TIMING requires ANALYZE");
    return ST_OK;
}

/* What the statement has read, and what that cost. */
static Status put_snapshot(Session *s, Statement *st) {
    Arena *a = st->run_arena;
    const PublishCost *cost = &s->read.cost;
    if (!session_reads_version(s) && !s->read.on_device)
        return put(st, "Snapshot: the tables themselves, under the lock; nothing copied");
    char *line;
    if (s->read.on_device)
        line = arena_printf(a, "Snapshot: rows that %s has, %s", s->read.device,
                            s->read.unlocked ? "copied there, and the lock given up" : "under the lock");
    else
        line = arena_printf(a, "Snapshot: published version of epoch %llu, ",
                            (unsigned long long)session_catalog_epoch(s));
    if (line && !s->read.on_device && s->read.published)
        line = arena_printf(a, "%smade for this statement in %.3f ms: %s copied, %s of them cells that bulks share",
                            line, (double)cost->ns / 1e6, size_text(a, cost->copied.bytes),
                            size_text(a, cost->copied.home_bytes));
    else if (line && !s->read.on_device && session_read_age_ns(s) > 0)
        line = arena_printf(a, "%sup to %.3f ms old", line, (double)session_read_age_ns(s) / 1e6);
    else if (line && !s->read.on_device) line = arena_printf(a, "%sthere already", line);
    return line ? put(st, line) : err_oom(&s->err);
}

const char *explain_change_name(const BoundStmt *b) {
    static const char *const names[] = {
        [STMT_INSERT] = "Insert", [STMT_UPDATE] = "Update", [STMT_DELETE] = "Delete", [STMT_MERGE] = "Merge"};
    return names[b->kind];
}

/* Rows of members of WITH, which do not run: as many as their plans are thought to have, up to some. */
typedef struct Guess {
    PlanCtx *c;
    const BoundStmt *b;
} Guess;
static Status guess_rows(const Guess *g, Plan *p);
static bool guess_expr(void *ctx, Expr *e) { return e->kind != EX_SUBQUERY || guess_rows(ctx, e->u.sub.plan) == ST_OK; }
static Status guess_slot(void *ctx, Expr **slot) { return expr_walk(*slot, guess_expr, ctx) ? ST_OK : ST_ERROR; }
static Status guess_rows(const Guess *g, Plan *p) {
    TRY(stack_check(g->c->err));
    if (p->kind == LP_VALUES && p->values.member && !p->values.cells) {
        Arena *a = g->c->arena;
        double rows = g->b->members[p->values.member - 1].stmt->plan->est_rows;
        int64_t n = rows > 1 ? (int64_t)MIN_OF(rows, 1000.0) : 1;
        p->values.n_rows = n;
        if (!(p->values.cells = arena_array(a, Vec, p->n_out + 1))) return err_oom(g->c->err);
        for (int32_t i = 0; i < p->n_out; i++) {
            Type t = g->c->cols.items[p->out_cols[i]].type;
            Vec *v = &p->values.cells[i];
            *v = (Vec){.phys = (uint8_t)type_phys(t), .type = t};
            v->data = arena_calloc(a, (n + 1) * phys_size(type_phys(t)));
            v->valid = arena_calloc(a, n + 1);
            if (!v->data || !v->valid) return err_oom(g->c->err);
        }
    }
    TRY(plan_each_expr(p, guess_slot, (void *)(uintptr_t)g));
    for (int32_t i = 0; i < p->n_children; i++) TRY(guess_rows(g, p->children[i]));
    return ST_OK;
}

/* Members are planned before what reads them. */
static Status plan_members(Session *s, Statement *st, PlanCtx *c, BoundStmt *b) {
    Guess g = {c, b};
    for (int32_t i = 0; i < b->n_members; i++) {
        BoundStmt *x = b->members[i].stmt;
        s->explaining = true;
        Status limits = session_resolve_limits(s, c, x->plan, &st->account);
        s->explaining = false;
        TRY(limits);
        TRY(guess_rows(&g, x->plan));
        TRY(sql_optimize(c, x));
    }
    return b->n_members > 0 ? guess_rows(&g, b->plan) : ST_OK;
}
static Status put_members(Statement *st, Explained *x) {
    Arena *a = st->run_arena;
    const BoundStmt *b = x->b;
    for (int32_t i = 0; i < b->n_members; i++) {
        const WithMember *m = &b->members[i];
        const bool query = m->stmt->kind == STMT_SELECT;
        char *tree = plan_text(&x->c, m->stmt->plan);
        char *line = query ? arena_printf(a, "With %s", m->name)
                           : arena_printf(a, "With %s: %s on %s", m->name, explain_change_name(m->stmt),
                                          name_of_key(m->stmt->table->name));
        if (line && x->analyze) line = arena_printf(a, "%s  rows %lld", line, (long long)m->n_done);
        if (!tree || !line) return ST_ERROR;
        TRY(put(st, line));
        TRY(put_lines(st, tree, "  "));
    }
    return ST_OK;
}
/* The line of the change itself, above its rows' plan. */
static Status put_change(Statement *st, const Explained *x) {
    Arena *a = st->run_arena;
    char *line = arena_printf(a, "%s on %s", explain_change_name(x->b), name_of_key(x->b->table->name));
    if (line && x->analyze)
        line = arena_printf(a, "%s  rows %lld, %.3f ms", line, (long long)x->n_rows, (double)x->apply_ns / 1e6);
    return line ? put(st, line) : ST_ERROR;
}

/* What a segment has done. */
static char *segment_figures(Arena *a, const SegmentPlan *g, const SegmentStats *t, char *line) {
    line = arena_printf(a, "%s  rows in %lld", line, (long long)t->rows_in);
    if (line && g->program->source.kind == SRC_TABLE)
        line = arena_printf(a, "%s (%lld packed, %lld patched, %lld open)", line,
                            (long long)(t->rows_in - t->open_rows - t->patched_rows), (long long)t->patched_rows,
                            (long long)t->open_rows);
    if (line)
        line = arena_printf(a, "%s, out %lld, %.3f ms, %d worker%s", line, (long long)t->rows_out,
                            (double)t->wall_ns / 1e6, t->workers, t->workers == 1 ? "" : "s");
    if (line && t->tablets_skipped)
        line = arena_printf(a, "%s, %lld %s skipped", line, (long long)t->tablets_skipped,
                            g->program->source.kind == SRC_STREAM ? "row groups" : "tablets");
    if (line && t->spilled_bytes) line = arena_printf(a, "%s, %s spilled", line, size_text(a, t->spilled_bytes));
    if (line && t->note) line = arena_printf(a, "%s, %s", line, t->note);
    return line;
}
static Status put_segment(Statement *st, const Explained *x, const SegmentPlan *g, int32_t i) {
    Arena *a = st->run_arena;
    Query *q = x->run.query;
    const DeviceStats *d = x->analyze ? &query_stats(q, i)->device : NULL;
    const Sink *sink = &g->program->sink;
    char *line = arena_printf(a, d && d->on_device ? "  %d: %s  [%s, %s]" : "  %d: %s  [%s, cpu, %s]", (int)i, g->label,
                              d && d->on_device ? d->executor : "vm", d && d->on_device ? d->device : vm_isa());
    if (x->analyze && line) line = segment_figures(a, g, query_stats(q, i), line);
    if (!line) return ST_ERROR;
    TRY(put(st, line));
    if (d) TRY(put_device(st, d, x->verbose));
    if (x->analyze && (sink->kind == SINK_JOIN || sink->kind == SINK_AGG)) {
        char *t = sink->kind == SINK_JOIN ? query_join_text(q, sink->id, a) : query_agg_text(q, sink->id, a);
        if (t) TRY(put(st, arena_printf(a, "       %s", t)));
    }
    const char *text = x->verbose ? program_text(g->program, a) : "";
    return text ? put_lines(st, text, "       ") : ST_ERROR;
}

static Status put_json(Statement *st, Explained *x) {
    Str text;
    TRY(explain_json(st, x, &text));
    st->types[0] = type_make(T_JSON);
    const char *cell = arena_strndup(st->run_arena, text.ptr, text.len);
    return cell ? put(st, cell) : ST_ERROR;
}
static Status put_all(Session *s, Statement *st, Explained *x) {
    Arena *a = st->run_arena;
    TRY(statement_text_columns(st, 1, (const char *[]){"QUERY PLAN"}));
    if (x->json) return put_json(st, x);
    if (!x->b) return ST_OK;
    TRY(put_members(st, x));
    if (x->changes) TRY(put_change(st, x));
    char *tree = plan_text(&x->c, x->b->plan);
    if (!tree) return ST_ERROR;
    TRY(put_lines(st, tree, x->changes ? "  " : ""));
    TRY(put(st, "Segments:"));
    const QueryPlan *plan = x->analyze ? query_plan(x->run.query) : x->run.plan;
    for (int32_t i = 0; i < plan->n_segments; i++) TRY(put_segment(st, x, &plan->segments[i], i));
    if (!x->analyze) return ST_OK;
    TRY(put_snapshot(s, st));
    if (x->run.plan_ns) TRY(put(st, arena_printf(a, "Planning time: %.3f ms", (double)x->run.plan_ns / 1e6)));
    return put(st,
               arena_printf(a, "Execution time: %.3f ms, peak memory %s", (double)(x->run.run_ns + x->apply_ns) / 1e6,
                            size_text(a, atomic_load(&st->account.peak))));
}

/* ---- what is run ---- */

/* An INSERT, UPDATE, DELETE or MERGE; its result is not shown. */
static Status run_change(Session *s, Statement *st, Explained *x) {
    Change ch = {0};
    int64_t since = clock_ns();
    if (x->b->n_members > 0) {
        TRY(session_with_changes(s, st, &x->c, x->b));
    } else {
        TRY(session_may_change(s, x->b->table));
        TRY(change_allowed(s, x->b));
        TRY(session_dml_plan(s, st, &x->c, x->b, &ch));
        x->run.plan_ns = ch.plan_ns;
        x->run.run_ns = ch.run_ns;
        since = clock_ns();
        TRY(session_dml_apply(s, st, &ch));
    }
    x->apply_ns = clock_ns() - since;
    x->n_rows = st->affected;
    x->run.query = st->query;
    st->rows = NULL;
    st->row_map = NULL;
    st->n_rows = st->affected = 0;
    st->first_col = 0;
    return ST_OK;
}
/* As a definition, which it is. */
static Status run_create_as(Session *s, Statement *st, const AstStmt *q, Explained *x) {
    if (AST_AS_CONST(AstCreateTableAs, q)->materialized_view)
        return err_at(&s->err, q->location, ERR_FEATURE_NOT_SUPPORTED,
                      "EXPLAIN ANALYZE of CREATE MATERIALIZED VIEW is not supported");
    if (s->state == 'T') TRY(session_lock_latest(s));
    const int64_t since = clock_ns();
    st->explained = x;
    const Status out = session_utility(s, st, q);
    st->explained = NULL;
    if (s->lock != LOCK_NONE) transaction_pin(s, true);
    TRY(out);
    st->affected = 0;
    if (x->b) x->run.run_ns = clock_ns() - since - x->run.plan_ns;
    return ST_OK;
}
static Status run_bound(Session *s, Statement *st, Explained *x, int32_t n, const ColId *ids) {
    s->device.timing = true;
    Status run = ST_OK;
    if (x->changes) run = run_change(s, st, x);
    else run = session_run_plan(s, &x->c, x->b, n, ids, &st->account, &x->run);
    s->device.timing = false;
    if (run == ST_OK) st->query = x->run.query;
    return run;
}
static Status plan_only(Session *s, Statement *st, Explained *x, int32_t n, const ColId *ids) {
    s->explaining = true;
    Status limits = session_resolve_limits(s, &x->c, x->b->plan, &st->account);
    s->explaining = false;
    TRY(limits);
    TRY(plan_members(s, st, &x->c, x->b));
    TRY(sql_optimize(&x->c, x->b));
    TRY(sql_raise_constants(&x->c, x->b->plan));
    x->run.plan = sql_lower(&x->c, x->b->plan, n, ids);
    return x->run.plan ? ST_OK : ST_ERROR;
}

/* A query or change. */
static Status explain_planned(Session *s, Statement *st, const AstExplain *of, const AstStmt *q, int32_t n_params,
                              const Type *param_types, const Value *params, Explained *x) {
    const bool runs_changes = x->analyze && sql_changes_data(q);
    x->changes = sql_is_change(q);
    if (!x->changes && q->kind != AST_SELECT)
        return err_at(&s->err, q->location, ERR_FEATURE_NOT_SUPPORTED, "EXPLAIN of this statement is not supported");
    if (runs_changes) TRY(session_begin_change(s));
    else TRY(session_read(s, false));
    plan_ctx_init_client(s, st->run_arena, &x->c);
    if (runs_changes) {
        x->c.rows.current = cursor_current_row;
        x->c.rows.current_ctx = s;
    }
    TRY(sql_bind_client(&x->c, q, n_params, param_types, &x->b));
    BoundStmt *b = x->b;
    if (x->c.calls_routine || x->c.n_bulks > 0 || x->c.sequences.called) TRY(session_read_locked(s));
    if (x->c.n_bulks > 0 && x->analyze)
        return err_at(&s->err, of->location, ERR_FEATURE_NOT_SUPPORTED,
                      "EXPLAIN ANALYZE of a statement that runs a bulk is not supported");
    if (b->n_params > 0 && n_params >= b->n_params) TRY(sql_bind_params(&x->c, b, n_params, params));
    int32_t n = b->n_result;
    ColId *ids = x->changes ? dml_columns(b, st->run_arena, &n) : b->result;
    if (!ids) return ST_ERROR;
    return x->analyze ? run_bound(s, st, x, n, ids) : plan_only(s, st, x, n, ids);
}

Status session_explain(Session *s, Statement *st, const AstExplain *of, int32_t n_params, const Type *param_types,
                       const Value *params) {
    Arena *a = st->run_arena;
    Explained *x = arena_new_of(a, Explained);
    if (!x) return err_oom(&s->err);
    *x = (Explained){0};
    TRY(explain_options(s, of, &x->analyze, &x->verbose, &x->json));
    snprintf(st->tag, sizeof st->tag, "EXPLAIN");
    if (of->routine) {
        const Routine *r;
        TRY(session_lock(s, LOCK_SHARED));
        TRY(routine_find(s, a, 'r', of->routine, &r));
        return session_bulk_explain(s, st, r, x->verbose);
    }
    const AstStmt *q = of->query;
    const bool creates = q->kind == AST_CREATE_TABLE_AS;
    if (creates && x->analyze) TRY(run_create_as(s, st, q, x));
    else
        TRY(explain_planned(s, st, of, creates ? AST_AS_CONST(AstCreateTableAs, q)->query : q, n_params, param_types,
                            params, x));
    snprintf(st->tag, sizeof st->tag, "EXPLAIN");
    TRY(put_all(s, st, x));
    if (x->analyze) {
        query_free(st->query);
        st->query = NULL;
    }
    return ST_OK;
}
