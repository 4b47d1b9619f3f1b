/* query.c - one execution of a QueryPlan: operator states, segments in order, workers over morsels.
 *
 * A segment's work is a list of morsels: pieces of tablets, runs of a row store, groups of an aggregation, build rows
 * of a join, stretches of a series. Workers take the next one from an atomic counter until none is left, an error has
 * occurred, or the sink's limit is reached. Each worker runs the segment's program in a Frame of its own.
 *
 * Operator states are made when the first segment that sinks into them starts, and finished after the last one
 * has ended (several segments may feed one state: UNION ALL, unmatched rows of outer joins).
 *
 * Scans of filtered tablets collect the positions that pass the leading filters until they fill a vector,
 * so that everything behind a selective filter still works on full vectors.
 *
 * With a device, segments run there as far as they can (exec/device); rows that the device made come to the host for
 * segments on the virtual machine that read them, and at the end for the result. When the device fails, the whole query
 * starts again on the virtual machine, unless that is forbidden.
 *
 * Partitioned joins (the build side did not fit): see vm_join.c for what a probe does with rows whose partition is on
 * disk. When the source is exhausted, the waiting rows are replayed partition by partition, probe by probe in
 * program order. Replayed rows have no source any more: before such a segment starts, its program is rearranged so that
 * all loads happen before the first partitioned probe (hoist_loads).
 *
 * segment.c runs one segment, query_next.c a query whose result is wanted in pieces.
 */
#include "base/log.h"
#include "exec/device/split.h"
#include "exec/query_int.h"

Status query_stop_error(const QueryStop *s, Err *e) {
    bool asked = s->cancel && atomic_load_explicit(s->cancel, memory_order_relaxed);
    return err_set(e, ERR_QUERY_CANCELED,
                   asked ? "canceling statement due to user request" : "canceling statement due to statement timeout");
}

/* ---- operator states ------------------------------------------------------------------------------------------ */
Status query_make_state(Query *q, const Sink *s, Err *e) {
    const QueryPlan *plan = q->plan;
    const QueryOptions *o = &q->opt;
    switch (s->kind) {
    case SINK_ROWS: {
        if (q->rows[s->id]) return ST_OK;
        if (!q->layouts[s->id]) {
            RowLayout *l = arena_new_of(q->arena, RowLayout);
            if (!l) return err_oom(e);
            if (row_layout_init(l, q->arena, plan->rows[s->id].n_cols, plan->rows[s->id].cols, 0) != ST_OK)
                return err_is_set(e) ? ST_ERROR : err_oom(e);
            q->layouts[s->id] = l;
        }
        TRY(rows_new(q->layouts[s->id], q->threads, &q->account, o->vfs, o->temp_dir, &q->rows[s->id], e));
        if (s->id == plan->result) rows_set_most(q->rows[s->id], o->result_bytes);
        return ST_OK;
    }
    case SINK_AGG:
        if (q->aggs[s->id]) return ST_OK;
        TRY(agg_new(&plan->aggs[s->id], q->threads, o->pool, q->threads, o->vector_size, &q->account, o->vfs,
                    o->temp_dir, &q->aggs[s->id], e));
        agg_set_stop(q->aggs[s->id], &q->stop);
        return ST_OK;
    case SINK_JOIN:
        if (q->joins[s->id]) return ST_OK;
        TRY(join_new(&plan->joins[s->id], q->threads, o->pool, q->threads, &q->account, o->vfs, o->temp_dir,
                     &q->joins[s->id], e));
        join_set_stop(q->joins[s->id], &q->stop);
        return ST_OK;
    case SINK_SORT: {
        int32_t sort = plan->rows[s->id].sort;
        if (sort < 0 || sort >= plan->n_sorts) return err_internal(e, "row store %d has no sort", (int)s->id);
        if (q->sorts[sort]) return ST_OK;
        TRY(sort_new(&plan->sorts[sort], q->threads, o->pool, q->threads, &q->account, o->vfs, o->temp_dir,
                     &q->sorts[sort], e));
        sort_set_stop(q->sorts[sort], &q->stop);
        return ST_OK;
    }
    default: return ST_OK;
    }
}

bool query_feeds_again(const Query *q, int32_t after, const Sink *s) {
    if (q->loop && s->kind == SINK_ROWS && s->id == q->loop->result) return true;
    for (int32_t i = after + 1; i < q->plan->n_segments; i++) {
        const Sink *o = &q->plan->segments[i].program->sink;
        if (o->kind == s->kind && o->id == s->id) return true;
    }
    return false;
}

Status query_finish_state(Query *q, const Sink *s, Err *e) {
    switch (s->kind) {
    case SINK_ROWS: return rows_finish(q->rows[s->id], q->plan->rows[s->id].ordered, e);
    case SINK_AGG: return agg_finish(q->aggs[s->id], e);
    case SINK_JOIN: return join_finish(q->joins[s->id], e);
    case SINK_SORT: {
        int32_t sort = q->plan->rows[s->id].sort;
        TRY(sort_finish(q->sorts[sort], &q->rows[s->id], e));
        sort_free(q->sorts[sort]);
        q->sorts[sort] = NULL;
        return ST_OK;
    }
    default: return ST_OK;
    }
}

/* ---- the query ------------------------------------------------------------------------------------------------------
 */
Status query_new(const QueryPlan *plan, const QueryOptions *opt, Query **out, Err *e) {
    *out = NULL;
    Query *q = mem_calloc(opt->account, (int64_t)sizeof *q, e);
    if (!q) return ST_ERROR;
    q->plan = plan;
    q->opt = *opt;
    if (q->opt.vector_size < 1) q->opt.vector_size = 1024;
    if (q->opt.vector_size > 65536) q->opt.vector_size = 65536;
    if (q->opt.morsel_rows < 1) q->opt.morsel_rows = 65536;
    if (q->opt.morsel_rows > TABLET_ROWS) q->opt.morsel_rows = TABLET_ROWS;
    q->threads = opt->threads < 1 || !opt->pool ? 1 : opt->threads;
    if (opt->pool && q->threads > pool_threads(opt->pool)) q->threads = pool_threads(opt->pool);
    if (!q->opt.vfs) q->opt.vfs = vfs_posix();
    q->stop = (QueryStop){opt->cancel, opt->deadline_ns};
    mem_account_init(&q->account, opt->account, "query", 0, NULL);
    q->arena = arena_new(&q->account, e);
    if (!q->arena) goto fail;
    q->whole = plan;
    if (plan->n_loops && q->opt.device.runtime) {
        q->opt.device.runtime = NULL;
        q->opt.device.reason = "a recursive query runs on the virtual machine";
    }
    if (q->opt.device.runtime && opt->device.shape != SHAPE_FUSED) {
        QueryPlan *pieces;
        int32_t *stage_of;
        if (plan_split(plan, q->arena, opt->device.shape == SHAPE_PIPELINED ? PIPELINE_STAGES : 0, &pieces, &stage_of,
                       e) != ST_OK)
            goto fail;
        q->plan = plan = pieces;
        q->opt.device.stage_of = stage_of;
    }
    q->joins = arena_array(q->arena, JoinTable *, plan->n_joins + 1);
    q->aggs = arena_array(q->arena, AggTable *, plan->n_aggs + 1);
    q->sorts = arena_array(q->arena, Sorter *, plan->n_sorts + 1);
    q->rows = arena_array(q->arena, RowStore *, plan->n_rows + 1);
    q->layouts = arena_array(q->arena, RowLayout *, plan->n_rows + 1);
    q->stats = arena_array(q->arena, SegmentStats, plan->n_segments + 1);
    q->join_texts = arena_array(q->arena, char *, plan->n_joins + 1);
    q->agg_texts = arena_array(q->arena, char *, plan->n_aggs + 1);
    if (!q->joins || !q->aggs || !q->sorts || !q->rows || !q->layouts || !q->stats || !q->join_texts || !q->agg_texts)
        goto fail;
    arena_set_err(q->arena, NULL); /* the caller's Err does not outlive this call */
    *out = q;
    return ST_OK;
fail:
    arena_free(q->arena);
    mem_free(opt->account, q, (int64_t)sizeof *q);
    return err_is_set(e) ? ST_ERROR : err_oom(e);
}

static void free_states(Query *q) {
    for (int32_t i = 0; i < q->plan->n_joins; i++) {
        if (q->joins[i]) join_free(q->joins[i]);
        q->joins[i] = NULL;
    }
    for (int32_t i = 0; i < q->plan->n_aggs; i++) {
        if (q->aggs[i]) agg_free(q->aggs[i]);
        q->aggs[i] = NULL;
    }
    for (int32_t i = 0; i < q->plan->n_sorts; i++) {
        if (q->sorts[i]) sort_free(q->sorts[i]);
        q->sorts[i] = NULL;
    }
    for (int32_t i = 0; i < q->plan->n_rows; i++) {
        if (q->rows[i]) rows_free(q->rows[i]);
        q->rows[i] = NULL;
    }
}

/* ---- with a device
 * --------------------------------------------------------------------------------------------------- */
static Status append_rows(void *ctx, int worker, int64_t order, int64_t n, const Vec *cols, Err *e) {
    return rows_append(ctx, worker, order, n, cols, e);
}

/* Rows that the device made, for readers here. */
static Status fetch_rows(Query *q, int32_t id, Err *e) {
    if (q->rows[id]) return ST_OK;
    const RowsSpec *spec = &q->plan->rows[id];
    RowLayout l;
    CellSpec *cols = arena_array(q->arena, CellSpec, spec->n_cols + 1);
    bool *lasting = arena_array(q->arena, bool, spec->n_cols + 1);
    if (!cols || !lasting) return err_oom(e);
    TRY(dev_query_rows_strings(q->dev, id, q->arena, lasting, e));
    for (int32_t i = 0; i < spec->n_cols; i++) {
        cols[i] = spec->cols[i];
        cols[i].stable_str |= lasting[i];
    }
    if (row_layout_init(&l, q->arena, spec->n_cols, cols, 0) != ST_OK) return err_oom(e);
    TRY(rows_new(&l, q->threads, &q->account, q->opt.vfs, q->opt.temp_dir, &q->rows[id], e));
    TRY(dev_query_rows_to_host(q->dev, id, append_rows, q->rows[id], e));
    return rows_finish(q->rows[id], true, e);
}

static bool fills(const Sink *s, int32_t rows) {
    return (s->kind == SINK_ROWS || s->kind == SINK_SORT) && s->id == rows;
}
static bool device_made(const Query *q, int32_t rows) {
    for (int32_t i = 0; i < q->plan->n_segments; i++)
        if (fills(&q->plan->segments[i].program->sink, rows) && !dev_query_reason(q->dev, i)) return true;
    return false;
}

/* Rows of the segment's table are on a device only (exec/device/device_rows.h). */
static bool reads_device_rows(const QueryPlan *plan, int32_t segment) {
    const Source *s = &plan->segments[segment].program->source;
    return s->kind == SRC_TABLE && s->table->on_device;
}
static bool has_device_rows(const QueryPlan *plan) {
    for (int32_t i = 0; i < plan->n_segments; i++)
        if (reads_device_rows(plan, i)) return true;
    return false;
}
static Status run_placed(Query *q, Err *e) {
    const QueryPlan *plan = q->plan;
    for (int32_t i = 0; i < plan->n_segments; i++) {
        const Source *s = &plan->segments[i].program->source;
        if (s->kind == SRC_ROWS && dev_query_reason(q->dev, i)) dev_query_keep(q->dev, s->id);
    }
    if (plan->result >= 0) dev_query_keep(q->dev, plan->result);
    if (q->opt.device.rows_made && has_device_rows(plan)) {
        TRY(dev_query_make_rows(q->dev, e));
        q->opt.device.rows_made(q->opt.device.rows_made_ctx);
    }
    for (q->segment = 0; q->segment < plan->n_segments; q->segment++) {
        int32_t i = q->segment;
        const Source *s = &plan->segments[i].program->source;
        if (q->opt.progress) q->opt.progress(q->opt.progress_ctx, (double)i / (double)plan->n_segments);
        int64_t start = clock_ns();
        if (!dev_query_reason(q->dev, i)) {
            TRY(dev_query_run_segment(q->dev, i, e));
            q->stats[i].wall_ns = clock_ns() - start;
            continue;
        }
        if (s->kind == SRC_ROWS && device_made(q, s->id)) TRY(fetch_rows(q, s->id, e));
        TRY(query_run_segment(q, i, e));
    }
    if (plan->result >= 0 && device_made(q, plan->result)) TRY(fetch_rows(q, plan->result, e));
    return dev_query_finish(q->dev, e);
}

/* What EXPLAIN shows must not live in the device's query. */
static Status keep_stats(Query *q, Err *e) {
    for (int32_t i = 0; i < q->plan->n_segments; i++) {
        SegmentStats *s = &q->stats[i];
        dev_query_segment_stats(q->dev, i, s);
        if (s->device.reason && !(s->device.reason = arena_strdup(q->arena, s->device.reason))) return err_oom(e);
        if (s->device.detail && !(s->device.detail = arena_strdup(q->arena, s->device.detail))) return err_oom(e);
        if (s->device.pipeline && !(s->device.pipeline = arena_strdup(q->arena, s->device.pipeline))) return err_oom(e);
    }
    for (int32_t i = 0; i < q->plan->n_joins; i++) q->join_texts[i] = dev_query_join_text(q->dev, i, q->arena);
    for (int32_t i = 0; i < q->plan->n_aggs; i++) q->agg_texts[i] = dev_query_agg_text(q->dev, i, q->arena);
    return ST_OK;
}

/* Faults of the device, as opposed to errors in data and to cancellation. */
static bool device_fault(const Err *e) {
    return strcmp(e->sqlstate, ERR_SYSTEM) == 0 || strcmp(e->sqlstate, ERR_OUT_OF_MEMORY) == 0 ||
           strcmp(e->sqlstate, ERR_LIMIT_EXCEEDED) == 0;
}

/* The device had no room for columns that it keeps beside the query's states; tables that come piece by piece need
 * less. */
static bool may_stream(const Query *q, const Err *e) {
    bool is_short = strcmp(e->sqlstate, ERR_OUT_OF_MEMORY) == 0;
    return is_short && q->opt.device.residence == RES_AUTO &&
           !dev_runtime_device(q->opt.device.runtime)->info.shares_memory;
}

static Status needs_host(Query *q, Err *e) {
    q->needs_host = true;
    return err_internal(e, "rows that only a device has are wanted on the host");
}
bool query_needs_host(const Query *q) { return q->needs_host; }
static Status run_placed_or_not(Query *q, Err *e) {
    for (int32_t i = 0; i < q->plan->n_segments; i++)
        if (reads_device_rows(q->plan, i) && dev_query_reason(q->dev, i)) return needs_host(q, e);
    TRY(run_placed(q, e));
    return keep_stats(q, e);
}

/* One attempt. *ready = false: nothing has run, kernels are being compiled. */
static Status try_device(Query *q, bool *ready, Err *e) {
    Status st = dev_query_new(q->plan, &q->opt, &q->account, &q->dev, ready, e);
    if (st == ST_OK && *ready) st = run_placed_or_not(q, e);
    dev_query_free(q->dev);
    q->dev = NULL;
    if (st == ST_OK) return ST_OK;
    free_states(q);
    memset(q->stats, 0, sizeof *q->stats * (size_t)q->plan->n_segments);
    return ST_ERROR;
}

/* *done = false: nothing has happened, the virtual machine is to run everything; `reason` and `detail` say why. */
static Status run_on_device(Query *q, bool *done, const char **reason, const char **detail, Err *e) {
    bool ready;
    Err err;
    err_clear(&err);
    const bool only_there = has_device_rows(q->plan);
    *done = true;
    q->opt.device.needs_host = &q->needs_host;
    q->opt.device.wait |= only_there; /* bringing rows to the host takes longer than compiling kernels */
    Status st = try_device(q, &ready, &err);
    if (st != ST_OK && may_stream(q, &err) && !only_there) {
        log_write(LOG_INFO, "a query starts again with its tables streamed: %s", err.message);
        err_clear(&err);
        q->opt.device.residence = RES_STREAMED;
        st = try_device(q, &ready, &err);
    }
    if (st == ST_OK) {
        *done = ready;
        if (!ready) *reason = "its kernels are being compiled";
        return ST_OK;
    }
    q->needs_host |= only_there && device_fault(&err);
    if (q->opt.device.strict || !device_fault(&err) || q->needs_host) {
        err_copy(e, &err);
        return ST_ERROR;
    }
    log_write(LOG_WARNING, "a query starts again on the cpu: %s", err.message);
    *reason = arena_printf(q->arena, "the device failed: %s", err.message);
    *detail = arena_strdup(q->arena, err.detail);
    *done = false;
    return *reason && *detail ? ST_OK : err_oom(e);
}

/* ---- loops ---- */
void query_free_rows(Query *q, int32_t id) {
    if (id >= 0 && q->rows[id]) rows_free(q->rows[id]);
    if (id >= 0) q->rows[id] = NULL;
}

/* What a round has made, and what loops inside it have left. */
static void end_round(Query *q, const LoopSpec *l) {
    for (int32_t i = l->first; i < l->end; i++) {
        const Sink *s = &q->plan->segments[i].program->sink;
        if (s->kind == SINK_AGG && q->aggs[s->id]) {
            agg_free(q->aggs[s->id]);
            q->aggs[s->id] = NULL;
        }
        if (s->kind == SINK_JOIN && q->joins[s->id]) {
            join_free(q->joins[s->id]);
            q->joins[s->id] = NULL;
        }
        bool kept = s->id == l->result || s->id == l->next;
        bool store = s->kind == SINK_ROWS || s->kind == SINK_WINDOW;
        if ((store && !kept) || s->kind == SINK_SORT) query_free_rows(q, s->id);
    }
    query_free_rows(q, l->work);
    q->rows[l->work] = q->rows[l->next];
    q->rows[l->next] = NULL;
}

/* ---- rows of a loop that come for the first time ---- */
typedef struct Fresh {
    AggTable *seen; /* NULL: equal rows stay */
    Arena *arena;
    Vec *cols;
    void **data;
    uint8_t **valid;
    const char **rows;
} Fresh;

static Status fresh_init(Query *q, const LoopSpec *l, Fresh *f, Err *e) {
    const RowsSpec *spec = &q->plan->rows[l->work];
    int64_t vs = q->opt.vector_size;
    if (!l->distinct) return ST_OK;
    TRY(agg_new(l->distinct, 1, NULL, 1, vs, &q->account, NULL, NULL, &f->seen, e));
    agg_set_stop(f->seen, &q->stop);
    if (!(f->arena = arena_new(&q->account, e))) return ST_ERROR;
    f->cols = arena_array(f->arena, Vec, spec->n_cols + 1);
    f->data = arena_array(f->arena, void *, spec->n_cols + 1);
    f->valid = arena_array(f->arena, uint8_t *, spec->n_cols + 1);
    f->rows = arena_array(f->arena, const char *, vs + 1);
    if (!f->cols || !f->data || !f->valid || !f->rows) return err_oom(e);
    for (int32_t i = 0; i < spec->n_cols; i++) {
        f->data[i] = arena_alloc(f->arena, vs * 16 + 64);
        f->valid[i] = arena_alloc(f->arena, vs + 64);
        if (!f->data[i] || !f->valid[i]) return err_oom(e);
    }
    return ST_OK;
}
static void fresh_release(Fresh *f) {
    if (f->seen) agg_free(f->seen);
    arena_free(f->arena);
}

static void fresh_vectors(Fresh *f, const RowsSpec *spec) {
    for (int32_t i = 0; i < spec->n_cols; i++)
        f->cols[i] =
            (Vec){.data = f->data[i], .valid = f->valid[i], .phys = spec->cols[i].phys, .type = spec->cols[i].type};
}
/* One run of the working table; what is new goes to `to`. */
static Status fresh_run(Query *q, Fresh *f, const RowsSpec *spec, RowStore *from, int64_t run, RowStore *to, Err *e) {
    RowRun r;
    TRY(rows_run_open(from, run, &r, e));
    Status st = query_stop_check(&q->stop, e);
    for (int64_t first = 0; first < r.n && st == ST_OK; first += q->opt.vector_size) {
        int64_t n = MIN_OF(q->opt.vector_size, r.n - first), m;
        fresh_vectors(f, spec);
        for (int32_t i = 0; i < spec->n_cols; i++) rows_load(rows_layout(from), i, &r, first, NULL, n, &f->cols[i]);
        st = agg_add_fresh(f->seen, n, f->cols, f->rows, &m, e);
        if (st != ST_OK || m == 0) continue;
        AggMorsel rows = {.rows = f->rows, .n = m};
        fresh_vectors(f, spec);
        for (int32_t i = 0; i < spec->n_cols && st == ST_OK; i++)
            st = agg_load(f->seen, i, &rows, 0, NULL, m, &f->cols[i], f->arena, e);
        if (st == ST_OK) st = rows_append(to, 0, run, m, f->cols, e);
    }
    rows_run_close(from, &r);
    return st;
}
/* Leaves in the working table what was not there in a round before. */
static Status keep_fresh(Query *q, const LoopSpec *l, Fresh *f, Err *e) {
    const RowsSpec *spec = &q->plan->rows[l->work];
    RowStore *from = q->rows[l->work], *to;
    if (!f->seen || rows_count(from) == 0) return ST_OK;
    TRY(rows_new(q->layouts[l->work], 1, &q->account, q->opt.vfs, q->opt.temp_dir, &to, e));
    Status st = ST_OK;
    for (int64_t i = 0; i < rows_n_runs(from) && st == ST_OK; i++) st = fresh_run(q, f, spec, from, i, to, e);
    if (st == ST_OK) st = rows_finish(to, spec->ordered, e);
    if (st != ST_OK) {
        rows_free(to);
        return ST_ERROR;
    }
    rows_free(from);
    q->rows[l->work] = to;
    return ST_OK;
}

static Status run_range(Query *q, int32_t from, int32_t end, const LoopSpec *within, Err *e);

static Status run_loop(Query *q, const LoopSpec *l, Err *e) {
    const LoopSpec *loop = q->loop;
    int64_t round = q->round, rows = q->loop_rows;
    Sink result = {.kind = SINK_ROWS, .id = l->result};
    Fresh fresh = {0};
    Status st = fresh_init(q, l, &fresh, e);
    q->round = 0;
    q->loop_rows = 0;
    if (st == ST_OK) st = keep_fresh(q, l, &fresh, e);
    while (st == ST_OK && rows_count(q->rows[l->work]) > 0) {
        q->loop = l;
        st = run_range(q, l->first, l->step, l, e);
        if (st != ST_OK || (l->limit >= 0 && q->loop_rows >= l->limit)) break;
        st = run_range(q, l->step, l->end, l, e);
        if (st == ST_OK) {
            end_round(q, l);
            st = keep_fresh(q, l, &fresh, e);
        }
        q->round++;
    }
    fresh_release(&fresh);
    q->loop = NULL;
    q->round = round;
    q->loop_rows = rows;
    if (st == ST_OK) st = query_make_state(q, &result, e);
    if (st == ST_OK) st = query_finish_state(q, &result, e);
    q->loop = loop;
    return st;
}

Status query_run_next(Query *q, int32_t *at, const LoopSpec *within, Err *e) {
    const LoopSpec *l = NULL; /* the outermost that begins here: inner ones come first */
    for (int32_t k = 0; k < q->plan->n_loops && &q->plan->loops[k] != within; k++)
        if (q->plan->loops[k].first == *at) l = &q->plan->loops[k];
    if (l) {
        *at = l->end;
        return run_loop(q, l, e);
    }
    q->segment = (*at)++;
    return query_run_segment(q, q->segment, e);
}

/* Segments [from, end), and the loops among them. */
static Status run_range(Query *q, int32_t from, int32_t end, const LoopSpec *within, Err *e) {
    TRY(stack_check(e));
    while (from < end) TRY(query_run_next(q, &from, within, e));
    return ST_OK;
}

Status query_run_on_device(Query *q, bool *done, const char **reason, const char **detail, Err *e) {
    *done = false;
    *reason = *detail = NULL;
    if (q->opt.device.runtime) {
        TRY(run_on_device(q, done, reason, detail, e));
        if (!*done) q->plan = q->whole;
        return ST_OK;
    }
    if (has_device_rows(q->plan)) return needs_host(q, e);
    if (q->opt.device.reason && !(*reason = arena_strdup(q->arena, q->opt.device.reason))) return err_oom(e);
    return ST_OK;
}

Status query_run(Query *q, Err *e) {
    const char *reason, *detail;
    bool done;
    TRY(query_run_on_device(q, &done, &reason, &detail, e));
    if (done) return ST_OK;
    TRY(run_range(q, 0, q->plan->n_segments, NULL, e));
    for (int32_t i = 0; i < q->plan->n_segments; i++) {
        q->stats[i].device.reason = reason;
        q->stats[i].device.detail = detail;
    }
    return ST_OK;
}

void query_free(Query *q) {
    if (!q) return;
    query_stop_pieces(q);
    free_states(q);
    MemAccount *parent = q->opt.account;
    arena_free(q->arena);
    mem_free(parent, q, (int64_t)sizeof *q);
}

struct RowStore *query_result(Query *q) {
    return q->plan->result >= 0 && q->plan->result < q->plan->n_rows ? q->rows[q->plan->result] : NULL;
}
const QueryPlan *query_plan(const Query *q) { return q->plan; }
const SegmentStats *query_stats(const Query *q, int32_t segment) { return &q->stats[segment]; }
char *query_join_text(const Query *q, int32_t join, Arena *a) {
    if (q->joins[join]) return join_text(q->joins[join], a);
    return arena_strdup(a, q->join_texts[join] ? q->join_texts[join] : "not run");
}
char *query_agg_text(const Query *q, int32_t agg, Arena *a) {
    if (q->aggs[agg]) return agg_text(q->aggs[agg], a);
    return arena_strdup(a, q->agg_texts[agg] ? q->agg_texts[agg] : "not run");
}
