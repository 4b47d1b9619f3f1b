/* explain.c - EXPLAIN [ANALYZE] [VERBOSE]: plan, segments, programs, and where each segment ran. */
#include <stdio.h>
#include <strings.h>

#include "exec/vm.h"
#include "session/pool/bulk.h"
#include "session/core/session.h"
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
static Status explain_options(Session *s, const AstExplain *x, bool *analyze, bool *verbose) {
    static const char *const known[] = {"analyze", "verbose", "costs",    "buffers",
                                        "timing",  "summary", "settings", "wal"};
    static const char *const formats[] = {"xml", "json", "yaml"};
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
            if (strcmp(v, "text") != 0)
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

static const char *change_name(const BoundStmt *b) {
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
static Status put_members(Statement *st, PlanCtx *c, const BoundStmt *b) {
    Arena *a = st->run_arena;
    for (int32_t i = 0; i < b->n_members; i++) {
        const WithMember *m = &b->members[i];
        bool query = m->stmt->kind == STMT_SELECT;
        char *tree = plan_text(c, m->stmt->plan);
        if (!tree) return ST_ERROR;
        TRY(put(st, query ? arena_printf(a, "With %s", m->name)
                          : arena_printf(a, "With %s: %s on %s", m->name, change_name(m->stmt),
                                         name_of_key(m->stmt->table->name))));
        TRY(put_lines(st, tree, "  "));
    }
    return ST_OK;
}

Status session_explain(Session *s, Statement *st, const AstExplain *x, int32_t n_params, const Type *param_types,
                       const Value *params) {
    Arena *a = st->run_arena;
    bool analyze = false, verbose = false;
    TRY(explain_options(s, x, &analyze, &verbose));
    snprintf(st->tag, sizeof st->tag, "EXPLAIN");
    if (x->routine) {
        const Routine *r;
        TRY(session_lock(s, LOCK_SHARED));
        TRY(routine_find(s, a, x->routine, &r));
        return session_bulk_explain(s, st, r, verbose);
    }
    const AstStmt *q = x->query;
    if (q->kind == AST_CREATE_TABLE_AS) q = AST_AS_CONST(AstCreateTableAs, q)->query;
    bool is_dml = sql_is_change(q);
    bool changes = sql_changes_data(q);
    if (!is_dml && q->kind != AST_SELECT)
        return err_at(&s->err, q->location, ERR_FEATURE_NOT_SUPPORTED, "EXPLAIN of this statement is not supported");
    if (changes && analyze)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED,
                      "EXPLAIN ANALYZE of a data-changing statement is not supported");
    TRY(session_read(s, false));
    PlanCtx c;
    plan_ctx_init_client(s, a, &c);
    BoundStmt *b;
    TRY(sql_bind_client(&c, q, n_params, param_types, &b));
    if (c.calls_routine || c.n_bulks > 0 || c.sequences.called) TRY(session_read_locked(s));
    if (c.n_bulks > 0 && analyze)
        return err_at(&s->err, x->location, ERR_FEATURE_NOT_SUPPORTED,
                      "EXPLAIN ANALYZE of a statement that runs a bulk is not supported");
    if (b->n_params > 0 && n_params >= b->n_params) TRY(sql_bind_params(&c, b, n_params, params));
    int32_t n = b->n_result;
    ColId *ids = is_dml ? dml_columns(b, a, &n) : b->result;
    if (!ids) return ST_ERROR;
    RunOutput r = {0};
    if (analyze) {
        s->device.timing = true;
        Status run = session_run_plan(s, &c, b, n, ids, &st->account, &r);
        s->device.timing = false;
        TRY(run);
        st->query = r.query;
    } else {
        s->explaining = true;
        Status limits = session_resolve_limits(s, &c, b->plan, &st->account);
        s->explaining = false;
        TRY(limits);
        TRY(plan_members(s, st, &c, b));
        TRY(sql_optimize(&c, b));
        TRY(sql_raise_constants(&c, b->plan));
        r.plan = sql_lower(&c, b->plan, n, ids);
        if (!r.plan) return ST_ERROR;
    }
    TRY(statement_text_columns(st, 1, (const char *[]){"QUERY PLAN"}));
    TRY(put_members(st, &c, b));
    if (is_dml) TRY(put(st, arena_printf(a, "%s on %s", change_name(b), name_of_key(b->table->name))));
    char *tree = plan_text(&c, b->plan);
    if (!tree) return ST_ERROR;
    TRY(put_lines(st, tree, is_dml ? "  " : ""));
    TRY(put(st, "Segments:"));
    const QueryPlan *plan = analyze ? query_plan(r.query) : r.plan;
    for (int32_t i = 0; i < plan->n_segments; i++) {
        const SegmentPlan *g = &plan->segments[i];
        const DeviceStats *d = analyze ? &query_stats(r.query, i)->device : NULL;
        char *line =
            arena_printf(a, d && d->on_device ? "  %d: %s  [%s, %s]" : "  %d: %s  [%s, cpu, %s]", (int)i, g->label,
                         d && d->on_device ? d->executor : "vm", d && d->on_device ? d->device : vm_isa());
        if (analyze && line) {
            const SegmentStats *t = query_stats(r.query, i);
            line = arena_printf(a, "%s  rows in %lld", line, (long long)t->rows_in);
            if (line && g->program->source.kind == SRC_TABLE)
                line = arena_printf(a, "%s (%lld packed, %lld patched, %lld open)", line,
                                    (long long)(t->rows_in - t->open_rows - t->patched_rows),
                                    (long long)t->patched_rows, (long long)t->open_rows);
            if (line)
                line = arena_printf(a, "%s, out %lld, %.3f ms, %d worker%s", line, (long long)t->rows_out,
                                    (double)t->wall_ns / 1e6, t->workers, t->workers == 1 ? "" : "s");
            if (line && t->tablets_skipped)
                line = arena_printf(a, "%s, %lld %s skipped", line, (long long)t->tablets_skipped,
                                    g->program->source.kind == SRC_STREAM ? "row groups" : "tablets");
            if (line && t->spilled_bytes)
                line = arena_printf(a, "%s, %s spilled", line, size_text(a, t->spilled_bytes));
            if (line && t->note) line = arena_printf(a, "%s, %s", line, t->note);
        }
        if (!line) return ST_ERROR;
        TRY(put(st, line));
        if (d) TRY(put_device(st, d, verbose));
        const Sink *sink = &g->program->sink;
        if (analyze && (sink->kind == SINK_JOIN || sink->kind == SINK_AGG)) {
            char *t =
                sink->kind == SINK_JOIN ? query_join_text(r.query, sink->id, a) : query_agg_text(r.query, sink->id, a);
            if (t) TRY(put(st, arena_printf(a, "       %s", t)));
        }
        if (verbose) {
            char *text = program_text(g->program, a);
            if (!text) return ST_ERROR;
            TRY(put_lines(st, text, "       "));
        }
    }
    if (analyze) {
        TRY(put_snapshot(s, st));
        TRY(put(st, arena_printf(a, "Planning time: %.3f ms", (double)r.plan_ns / 1e6)));
        TRY(put(st, arena_printf(a, "Execution time: %.3f ms, peak memory %s", (double)r.run_ns / 1e6,
                                 size_text(a, atomic_load(&st->account.peak)))));
        query_free(st->query);
        st->query = NULL;
    }
    return ST_OK;
}
