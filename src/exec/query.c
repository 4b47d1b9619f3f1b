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
 */
#include "base/log.h"
#include "exec/device/dev.h"
#include "exec/sort.h"
#include "exec/window.h"
#include "exec/device/split.h"
#include "exec/vm_frame.h"
#include "program/stream.h"

typedef struct Morsel {
    int32_t tablet, first, rows;
} Morsel;

struct Query {
    const QueryPlan *plan;
    const QueryPlan *whole; /* as it was given: what the virtual machine runs when the device runs nothing */
    QueryOptions opt;
    QueryStop stop; /* from opt */
    MemAccount account;
    Arena *arena;
    int threads;
    JoinTable **joins;
    AggTable **aggs;
    Sorter **sorts;
    RowStore **rows;
    SegmentStats *stats;
    int32_t segment;                /* running */
    int64_t round;                  /* of the innermost loop that runs */
    const LoopSpec *loop;           /* it */
    int64_t loop_rows;              /* in its result, if it has a limit */
    RowLayout **layouts;            /* of row stores */
    DevQuery *dev;                  /* while segments run on a device */
    char **join_texts, **agg_texts; /* of states that were on the device */
    bool needs_host;                /* query_needs_host */
};

typedef struct SegmentRun {
    Query *q;
    int32_t index;
    const Program *p;
    Vm *vm;
    Frame **frames; /* by worker, kept over replays */
    int threads;
    _Atomic int64_t next;
    int64_t n_morsels;
    Morsel *morsels; /* SRC_TABLE */
    int64_t stretch; /* SRC_SERIES: rows per morsel */
    int64_t series_rows;
    StreamRun *stream; /* SRC_STREAM */
    _Atomic bool stop;
    _Atomic bool failed;
    _Atomic int64_t out_rows;
    Err *err;
    /* replay of a partition */
    RowStore *replay;
    const Step *replay_step;
    int64_t reserved;
} SegmentRun;

Status query_stop_error(const QueryStop *s, Err *e) {
    bool asked = s->cancel && atomic_load_explicit(s->cancel, memory_order_relaxed);
    return err_set(e, ERR_QUERY_CANCELED,
                   asked ? "canceling statement due to user request" : "canceling statement due to statement timeout");
}

/* ---- sinks ------------------------------------------------------------------------------------ */
static Status collect(Frame *f, int32_t n, const Reg *regs, Vec *out) {
    for (int32_t i = 0; i < n; i++) {
        if (!regs[i]) {
            out[i] = (Vec){0};
            continue;
        }
        const Vec *v = frame_dense(f, regs[i]);
        if (UNLIKELY(!v)) return ST_ERROR;
        out[i] = *v;
    }
    return ST_OK;
}

static Status sink_vector(Frame *f) {
    SegmentRun *g = f->vm->env.ctx;
    Query *q = g->q;
    const Sink *s = &g->p->sink;
    TRY(collect(f, s->n_keys, s->keys, f->sink_keys));
    TRY(collect(f, s->n_regs, s->regs, f->sink_regs));
    switch (s->kind) {
    case SINK_ROWS: {
        TRY(rows_append(q->rows[s->id], f->worker, f->order, f->n, f->sink_regs, &f->err));
        if (s->limit >= 0 && atomic_fetch_add(&g->out_rows, f->n) + f->n >= s->limit) atomic_store(&g->stop, true);
        return ST_OK;
    }
    case SINK_AGG:
        if (s->regs2) TRY(collect(f, s->n_regs, s->regs2, f->sink_regs2));
        return agg_add(q->aggs[s->id], f->worker, f->n, f->sink_keys, f->sink_regs, s->regs2 ? f->sink_regs2 : NULL,
                       &f->err);
    case SINK_JOIN: return join_build(q->joins[s->id], f->worker, f->n, f->sink_keys, f->sink_regs, &f->err);
    case SINK_SORT:
        return sort_add(q->sorts[q->plan->rows[s->id].sort], f->worker, f->order, f->n, f->sink_keys, f->sink_regs,
                        &f->err);
    default: return ST_OK;
    }
}

/* ---- sources ------------------------------------------------------------------------------------ */
/* All of [first, first + n) of the current source unit, vector by vector. */
static Status run_plain(Frame *f, int64_t first, int64_t n) {
    int64_t vs = f->vm->env.vector_size;
    int32_t pc = f->vm->n_leading;
    for (int64_t i = 0; i < n; i += vs) {
        if (frame_stopped(f)) return ST_ERROR;
        f->pos = NULL;
        f->first = first + i;
        TRY(frame_run(f, MIN_OF(vs, n - i), pc));
    }
    return ST_OK;
}

static Status scan_tablet(Frame *f, const Table *t, const Morsel *m, int32_t *buf) {
    const Vm *vm = f->vm;
    const Tablet *tab = t->tablets[m->tablet];
    int64_t vs = vm->env.vector_size;
    f->src.tablet = tab;
    f->src.unit = m->tablet;
    f->rows_in += m->rows;
    if (tablet_has_open(tab)) f->open_rows += m->rows;
    if (vm->n_leading == 0 && tab->n_deleted == 0) return run_plain(f, m->first, m->rows);
    int64_t have = 0, end = (int64_t)m->first + m->rows;
    for (int64_t i = m->first; i < end; i += vs) {
        if (frame_stopped(f)) return ST_ERROR;
        int64_t n = MIN_OF(vs, end - i);
        bool all;
        int64_t got = vm_scan_filter(vm, tab, i, n, buf + have, &all);
        if (all && have == 0) {
            f->pos = NULL;
            f->first = i;
            TRY(frame_run(f, n, vm->n_leading));
            continue;
        }
        if (all)
            for (int64_t k = 0; k < n; k++) buf[have + k] = (int32_t)(i + k);
        have += got;
        if (have < vs) continue;
        f->pos = buf;
        f->first = m->first;
        TRY(frame_run(f, vs, vm->n_leading));
        have -= vs;
        memmove(buf, buf + vs, (size_t)have * 4);
    }
    f->pos = buf;
    f->first = m->first;
    return have > 0 ? frame_run(f, have, vm->n_leading) : ST_OK;
}

static Status scan_run(Frame *f, RowStore *rows, int64_t run, int64_t skip, int64_t take) {
    TRY(rows_run_open(rows, run, &f->src.run, &f->err));
    f->src.layout = rows_layout(rows);
    f->src.unit = run;
    int64_t n = f->src.run.n - skip;
    if (take >= 0 && take < n) n = take;
    f->rows_in += n;
    Status st = run_plain(f, skip, n);
    rows_run_close(rows, &f->src.run);
    return st;
}

/* A row store with OFFSET or LIMIT is read in sequence by one worker. */
static Status scan_limited(SegmentRun *g, Frame *f, RowStore *rows, const RowsSpec *spec) {
    int64_t skip = spec->offset, take = spec->limit, runs = rows_n_runs(rows);
    for (int64_t i = 0; i < runs && take != 0; i++) {
        RowRun run;
        TRY(rows_run_open(rows, i, &run, &f->err));
        int64_t n = run.n;
        rows_run_close(rows, &run);
        if (skip >= n) {
            skip -= n;
            continue;
        }
        int64_t got = take < 0 ? n - skip : MIN_OF(n - skip, take);
        f->order = ((int64_t)g->index << 40) | i;
        TRY(scan_run(f, rows, i, skip, got));
        skip = 0;
        if (take > 0) take -= got;
    }
    return ST_OK;
}

static Status scan_join(Frame *f, JoinTable *j, int64_t morsel, bool matched, int64_t *buf) {
    int64_t cursor = 0, n;
    f->src.join = j;
    f->src.build_rows = buf;
    f->src.unit = morsel;
    while ((n = join_morsel_rows(j, morsel, matched, &cursor, f->vm->env.vector_size, buf)) > 0) {
        f->rows_in += n;
        TRY(run_plain(f, 0, n));
    }
    return ST_OK;
}

/* Batches of a stream until there are none: a stream's morsels are not known beforehand, so that this is all the
 * worker's. */
static Status scan_stream(SegmentRun *g, Frame *f) {
    for (;;) {
        StreamBatch b;
        if (frame_stopped(f)) return ST_ERROR;
        TRY(g->stream->next(g->stream, f->worker, &b, &f->err));
        if (b.n == 0) return ST_OK;
        f->order = ((int64_t)g->index << 40) | b.order;
        f->src.stream = b.cols;
        f->src.unit = b.order;
        f->rows_in += b.n;
        TRY(run_plain(f, 0, b.n));
        if (f->worker == 0 && f->vm->env.tick) f->vm->env.tick(g);
    }
}

static bool rows_limited(const RowsSpec *r) { return r->sort < 0 && (r->limit >= 0 || r->offset > 0); }

/* Registers of a stored probe row, then the program from its probe on. */
static Status replay_run(SegmentRun *g, Frame *f, int64_t run) {
    const Step *s = g->replay_step;
    RowRun rr;
    TRY(rows_run_open(g->replay, run, &rr, &f->err));
    int64_t vs = f->vm->env.vector_size;
    Status st = ST_OK;
    for (int64_t i = 0; i < rr.n && st == ST_OK; i += vs) {
        int64_t n = MIN_OF(vs, rr.n - i);
        for (int32_t c = 0; c < s->n_split && st == ST_OK; c++) {
            Vec *v = &f->regs[s->split[c]];
            v->data = frame_home(f, s->split[c]);
            v->valid = frame_valid(f, s->split[c]);
            v->is_const = false;
            if (!v->data || !v->valid) st = ST_ERROR;
            else rows_load(rows_layout(g->replay), c, &rr, i, NULL, n, v);
        }
        if (st == ST_OK) st = frame_stopped(f) ? ST_ERROR : frame_run(f, n, s->pc);
    }
    rows_run_close(g->replay, &rr);
    return st;
}

static Status run_morsel(SegmentRun *g, Frame *f, int64_t m, int64_t *scratch) {
    Query *q = g->q;
    const Source *src = &g->p->source;
    f->order = ((int64_t)g->index << 40) + (q->round << 20) + m; /* rounds append to one store in their order */
    if (g->replay) return replay_run(g, f, m);
    switch (src->kind) {
    case SRC_TABLE: return scan_tablet(f, src->table, &g->morsels[m], (int32_t *)scratch);
    case SRC_ROWS: {
        const RowsSpec *spec = &q->plan->rows[src->id];
        if (rows_limited(spec)) return scan_limited(g, f, q->rows[src->id], spec);
        return scan_run(f, q->rows[src->id], m, 0, -1);
    }
    case SRC_AGG: {
        f->src.agg = q->aggs[src->id];
        f->src.unit = m;
        TRY(agg_morsel_open(f->src.agg, m, &f->src.morsel, &f->err));
        f->rows_in += f->src.morsel.n;
        Status st = run_plain(f, 0, f->src.morsel.n);
        agg_morsel_close(f->src.agg, &f->src.morsel);
        return st;
    }
    case SRC_JOIN: return scan_join(f, q->joins[src->id], m, src->matched, scratch);
    case SRC_SERIES: {
        int64_t n = MIN_OF(g->stretch, g->series_rows - m * g->stretch);
        f->src.series_base = m * g->stretch;
        f->src.unit = m;
        f->rows_in += n;
        return run_plain(f, 0, n);
    }
    case SRC_STREAM: return scan_stream(g, f);
    default: f->rows_in++; return run_plain(f, 0, 1);
    }
}

/* ---- workers --------------------------------------------------------------------------------------- */
static void fail_segment(SegmentRun *g, const Err *e) {
    if (!atomic_exchange(&g->failed, true)) err_copy(g->err, e); /* read after pool_run has returned */
    atomic_store(&g->stop, true);
}

static void report_progress(SegmentRun *g, int64_t m) {
    const Query *q = g->q;
    double part = g->n_morsels > 0 ? (double)MIN_OF(m, g->n_morsels) / (double)g->n_morsels : 1;
    if (g->stream && !g->replay) part = g->stream->fraction(g->stream);
    q->opt.progress(q->opt.progress_ctx, ((double)g->index + part) / (double)q->plan->n_segments);
}
/* One morsel can take long: a join multiplies its rows. */
static void tick(void *ctx) { report_progress(ctx, atomic_load(&((SegmentRun *)ctx)->next) - 1); }

static void segment_worker(void *ctx, int worker) {
    SegmentRun *g = ctx;
    Query *q = g->q;
    if (atomic_load(&g->next) >= g->n_morsels || atomic_load(&g->stop)) return;
    Frame *f = g->frames[worker];
    if (!f) {
        Err e;
        err_clear(&e);
        if (frame_new(g->vm, worker, &f, &e) != ST_OK) {
            fail_segment(g, &e);
            return;
        }
        g->frames[worker] = f;
    }
    int64_t *scratch = (int64_t *)f->priv[g->p->n_instrs];
    if (!scratch) {
        scratch = frame_alloc(f, q->opt.vector_size * 8 + 256); /* two vectors of positions, or one of build rows */
        if (!scratch) {
            fail_segment(g, &f->err);
            return;
        }
        f->priv[g->p->n_instrs] = scratch;
    }
    for (;;) {
        int64_t m = atomic_fetch_add(&g->next, 1);
        if (m >= g->n_morsels || frame_stopped(f)) break;
        if (run_morsel(g, f, m, scratch) != ST_OK) {
            if (!err_is_set(&f->err) && !frame_stopped(f)) err_internal(&f->err, "a worker failed without saying why");
            break;
        }
        if (worker == 0 && q->opt.progress) report_progress(g, m);
    }
    if (err_is_set(&f->err)) fail_segment(g, &f->err);
}

static Status run_workers(SegmentRun *g, int workers) {
    atomic_store(&g->next, 0);
    workers = (int)MIN_OF((int64_t)workers, g->n_morsels);
    if (workers > 1 && g->q->opt.pool) pool_run(g->q->opt.pool, workers, segment_worker, g);
    else if (g->n_morsels > 0) segment_worker(g, 0);
    return atomic_load(&g->failed) ? ST_ERROR : ST_OK;
}

/* ---- morsels ------------------------------------------------------------------------------------------- */
static bool zone_misses(const Tablet *t, const Source *s) {
    for (int32_t i = 0; i < s->n_zone; i++) {
        const TabletColumn *c = &t->cols[s->zone[i].col];
        if (c->has_minmax ? c->max < s->zone[i].lo || c->min > s->zone[i].hi : t->rows > 0 && c->null_count == t->rows)
            return true;
    }
    return false;
}

static Status table_morsels(SegmentRun *g, SegmentStats *stats, Arena *a, int *workers) {
    const Source *s = &g->p->source;
    const Table *t = s->table;
    const QueryOptions *o = &g->q->opt;
    int64_t rows = 0, tablets = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        if (t->tablets[i]->rows == 0) continue;
        if (s->n_zone && zone_misses(t->tablets[i], s)) {
            stats->tablets_skipped++;
            continue;
        }
        rows += t->tablets[i]->rows;
        tablets++;
    }
    /* Small enough that all workers end together, large enough to be worth taking. */
    int64_t size = MIN_OF(rows / (g->threads * 8) + 1, o->morsel_rows);
    size = align_up(MAX_OF(size, MIN_OF(INT64_C(8192), o->morsel_rows)), o->vector_size);
    if (rows <= 16384) *workers = 1;
    if (!(g->morsels = arena_array(a, Morsel, rows / size + tablets + 1))) return err_oom(g->err);
    for (int64_t i = 0; i < t->n_tablets; i++) {
        int64_t n = t->tablets[i]->rows;
        if (n == 0 || (s->n_zone && zone_misses(t->tablets[i], s))) continue;
        for (int64_t at = 0; at < n; at += size)
            g->morsels[g->n_morsels++] = (Morsel){(int32_t)i, (int32_t)at, (int32_t)MIN_OF(size, n - at)};
    }
    return ST_OK;
}

/* One morsel per worker: each takes batches until there are none. */
static Status stream_morsels(SegmentRun *g, Arena *a, int *workers) {
    const RowStream *s = g->p->source.stream;
    const QueryOptions *o = &g->q->opt;
    StreamUse use = {.threads = g->threads,
                     .account = &g->q->account,
                     .vfs = o->vfs,
                     .session = o->session,
                     .cancel = o->cancel,
                     .deadline_ns = o->deadline_ns};
    bool *wanted = arena_array(a, bool, s->n_cols + 1);
    if (!wanted) return err_oom(g->err);
    for (int32_t i = 0; i < g->p->n_instrs; i++)
        if (g->p->instrs[i].op == OP_LOAD) wanted[g->p->instrs[i].imm] = true;
    use.wanted = wanted;
    const Source *src = &g->p->source;
    StreamBound *bounds = arena_array(a, StreamBound, src->n_zone + 1);
    if (!bounds) return err_oom(g->err);
    for (int32_t i = 0; i < src->n_zone; i++)
        bounds[i] = (StreamBound){src->zone[i].col, src->zone[i].lo, src->zone[i].hi};
    use.n_bounds = src->n_zone;
    use.bounds = bounds;
    if (s->est_rows <= 8192) *workers = 1;
    g->n_morsels = *workers;
    return s->begin(s, &use, &g->stream, g->err);
}

static Status make_morsels(SegmentRun *g, SegmentStats *stats, Arena *a, int *workers) {
    Query *q = g->q;
    const Source *s = &g->p->source;
    if ((s->kind == SRC_ROWS && !q->rows[s->id]) || (s->kind == SRC_AGG && !q->aggs[s->id]) ||
        (s->kind == SRC_JOIN && !q->joins[s->id]))
        return err_internal(g->err, "segment %d reads what no segment has filled", (int)g->index);
    switch (s->kind) {
    case SRC_TABLE: return table_morsels(g, stats, a, workers);
    case SRC_ROWS:
        g->n_morsels = rows_n_runs(q->rows[s->id]);
        if (rows_limited(&q->plan->rows[s->id])) g->n_morsels = 1;
        if (rows_count(q->rows[s->id]) <= 8192) *workers = 1;
        return ST_OK;
    case SRC_AGG:
        g->n_morsels = agg_n_morsels(q->aggs[s->id]);
        if (agg_groups(q->aggs[s->id]) <= 8192) *workers = 1;
        return ST_OK;
    case SRC_JOIN: g->n_morsels = join_n_morsels(q->joins[s->id]); return ST_OK;
    case SRC_SERIES: {
        int128_t span = (int128_t)s->stop - s->start;
        int128_t n = s->step > 0 ? (span < 0 ? 0 : span / s->step + 1) : (span > 0 ? 0 : span / s->step + 1);
        g->series_rows = n > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)n;
        g->stretch = align_up(MIN_OF(g->series_rows / (g->threads * 8) + 1, INT64_C(65536)), q->opt.vector_size);
        g->n_morsels = (g->series_rows + g->stretch - 1) / g->stretch;
        return ST_OK;
    }
    case SRC_STREAM: return stream_morsels(g, a, workers);
    default: g->n_morsels = 1; return ST_OK;
    }
}

/* ---- partitioned joins ------------------------------------------------------------------------------------- */
static bool probe_is_partitioned(const Query *q, const Instr *in) {
    return (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) &&
           join_is_partitioned(q->joins[((const ProbeSite *)in->aux)->join]);
}

/* The program with all source instructions behind the first partitioned probe moved in front of it. Loads may move
 * anywhere upwards; source filters commute with the joins in between. */
static const Program *hoist_loads(Query *q, const Program *p, Arena *a, Err *e) {
    int32_t probe = -1, late = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (probe < 0 && probe_is_partitioned(q, &p->instrs[i])) probe = i;
        if (probe >= 0 && (op_info[p->instrs[i].op].flags & F_SOURCE)) late++;
    }
    if (probe < 0 || late == 0) return p;
    ProgramBuilder b = {.arena = a, .n_sites = p->n_sites};
    b.regs.items = arena_array(a, RegInfo, p->n_regs);
    b.instrs.items = arena_array(a, Instr, p->n_instrs);
    if (!b.regs.items || !b.instrs.items) {
        err_oom(e);
        return NULL;
    }
    memcpy(b.regs.items, p->regs, sizeof(RegInfo) * (size_t)p->n_regs);
    b.regs.len = b.regs.cap = p->n_regs;
    b.instrs.cap = p->n_instrs;
    for (int pass = 0; pass < 3; pass++)
        for (int32_t i = pass ? probe : 0; i < (pass ? p->n_instrs : probe); i++) {
            bool source = (op_info[p->instrs[i].op].flags & F_SOURCE) != 0;
            if (pass == 0 || (pass == 1) == source) b.instrs.items[b.instrs.len++] = p->instrs[i];
        }
    return program_finish(&b, &p->source, &p->sink, e);
}

/* Sinks fill memory to the limit before they spill. What the next partition's table needs is kept from them. */
static void reserve(SegmentRun *g) {
    int64_t want = MIN_OF(mem_headroom(&g->q->account) / 8, INT64_C(64) << 20);
    if (want > 0 && mem_try_charge(&g->q->account, want)) g->reserved = want;
}
static void unreserve(SegmentRun *g) {
    mem_discharge(&g->q->account, g->reserved);
    g->reserved = 0;
}

static Status replay_partitions(SegmentRun *g, SegmentStats *stats, int workers) {
    for (int32_t i = 0; i < g->p->n_instrs; i++) {
        const Step *s = &g->vm->steps[i];
        if (!s->parts) continue;
        int32_t parts = join_n_partitions(s->join);
        for (int32_t k = 0; k < parts && !atomic_load(&g->stop); k++) {
            unreserve(g);
            TRY(rows_finish(s->parts[k], false, g->err));
            if (rows_count(s->parts[k]) > 0) {
                TRY(join_partition_load(s->join, k, g->err));
                stats->note = "partitioned join";
                reserve(g);
                g->replay = s->parts[k];
                g->replay_step = s;
                g->n_morsels = rows_n_runs(g->replay);
                TRY(run_workers(g, workers));
                g->replay = NULL;
            }
            rows_free(s->parts[k]);
            s->parts[k] = NULL;
        }
    }
    return ST_OK;
}

/* ---- operator states ------------------------------------------------------------------------------------------ */
static Status make_state(Query *q, const Sink *s, Err *e) {
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

static bool feeds_again(const Query *q, int32_t after, const Sink *s) {
    if (q->loop && s->kind == SINK_ROWS && s->id == q->loop->result) return true;
    for (int32_t i = after + 1; i < q->plan->n_segments; i++) {
        const Sink *o = &q->plan->segments[i].program->sink;
        if (o->kind == s->kind && o->id == s->id) return true;
    }
    return false;
}

static Status finish_state(Query *q, const Sink *s, Err *e) {
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

/* ---- windows ----------------------------------------------------------------------------------------- */

/* A segment that has no program: the rows of its source, which no other segment reads, through a window. */
static Status run_window(Query *q, int32_t index, Err *e) {
    const Program *p = q->plan->segments[index].program;
    const RowsSpec *rows = &q->plan->rows[p->sink.id];
    SegmentStats *stats = &q->stats[index];
    int64_t start = clock_ns();
    RowStore *in = q->rows[p->source.id];
    if (!in) return err_internal(e, "segment %d reads what no segment has filled", (int)index);
    WindowEnv env = {.pool = q->opt.pool,
                     .threads = q->threads,
                     .batch_rows = q->opt.morsel_rows,
                     .account = &q->account,
                     .stop = &q->stop,
                     .tz_offset = q->opt.session ? q->opt.session->tz_offset : 0};
    RowLayout l;
    if (row_layout_init(&l, q->arena, rows->n_cols, rows->cols, 0) != ST_OK)
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    TRY(rows_new(&l, q->threads, &q->account, q->opt.vfs, q->opt.temp_dir, &q->rows[p->sink.id], e));
    TRY(window_run(&q->plan->windows[rows->window], &env, in, q->rows[p->sink.id], &stats->workers, e));
    stats->rows_in = stats->rows_out = rows_count(in);
    q->rows[p->source.id] = NULL;
    rows_free(in);
    stats->wall_ns = clock_ns() - start;
    return ST_OK;
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */
static Status run_segment(Query *q, int32_t index, Err *e) {
    const Program *p = q->plan->segments[index].program;
    if (p->sink.kind == SINK_WINDOW) return run_window(q, index, e);
    SegmentStats *stats = &q->stats[index];
    int64_t start = clock_ns();
    SegmentRun g = {.q = q, .index = index, .threads = q->threads, .err = e};
    TRY(make_state(q, &p->sink, e));
    Status st = ST_ERROR;
    Arena *a = arena_new(&q->account, e);
    if (!a) return ST_ERROR;
    if (!(p = hoist_loads(q, p, a, e))) goto done;
    g.p = p;
    VmEnv env = {.plan = q->plan,
                 .joins = q->joins,
                 .aggs = q->aggs,
                 .rows = q->rows,
                 .session = q->opt.session,
                 .account = &q->account,
                 .vfs = q->opt.vfs,
                 .temp_dir = q->opt.temp_dir,
                 .vector_size = q->opt.vector_size,
                 .workers = q->threads,
                 .cancel = q->opt.cancel,
                 .stop = &g.stop,
                 .deadline_ns = q->opt.deadline_ns,
                 .tick = q->opt.progress ? tick : NULL,
                 .sink = sink_vector,
                 .ctx = &g};
    int workers = q->threads;
    if (!(g.frames = arena_array(a, Frame *, q->threads))) {
        err_oom(e);
        goto done;
    }
    if (vm_new(p, &env, &g.vm, e) != ST_OK || make_morsels(&g, stats, a, &workers) != ST_OK) goto done;
    if (p->sink.kind == SINK_ROWS && p->sink.limit == 0) g.n_morsels = 0;
    /* LIMIT over sorted rows must take a prefix: with several workers the stop could leave a hole in an earlier morsel.
     */
    if (p->sink.kind == SINK_ROWS && p->sink.limit >= 0 && (p->source.kind == SRC_ROWS || p->source.kind == SRC_STREAM))
        workers = 1;
    if (g.stream && workers == 1) g.n_morsels = MIN_OF(g.n_morsels, INT64_C(1));
    stats->workers = (int)MAX_OF(INT64_C(1), MIN_OF((int64_t)workers, g.n_morsels));
    if (g.vm->has_partitioned) reserve(&g);
    st = run_workers(&g, workers);
    if (st == ST_OK && g.stream && !atomic_load(&g.stop)) st = g.stream->end(g.stream, e);
    if (st == ST_OK && g.vm->has_partitioned) st = replay_partitions(&g, stats, q->threads);
    unreserve(&g);
    if (q->loop && q->loop->limit >= 0 && p->sink.kind == SINK_ROWS && p->sink.id == q->loop->result)
        q->loop_rows += atomic_load(&g.out_rows);
    if (st == ST_OK && !feeds_again(q, index, &p->sink)) st = finish_state(q, &p->sink, e);
done:
    for (int i = 0; g.frames && i < q->threads; i++) {
        if (!g.frames[i]) continue;
        stats->rows_in += g.frames[i]->rows_in;
        stats->open_rows += g.frames[i]->open_rows;
        stats->rows_out += g.frames[i]->rows_out;
        frame_free(g.frames[i]);
    }
    vm_free(g.vm);
    if (g.stream) {
        stats->tablets_skipped += atomic_load(&g.stream->skipped);
        g.stream->free(g.stream);
    }
    arena_free(a);
    stats->wall_ns += clock_ns() - start;
    if (st != ST_OK && !err_is_set(e)) err_oom(e);
    return st;
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
        TRY(run_segment(q, i, e));
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
static void free_rows(Query *q, int32_t id) {
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
        if ((store && !kept) || s->kind == SINK_SORT) free_rows(q, s->id);
    }
    free_rows(q, l->work);
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
    if (st == ST_OK) st = make_state(q, &result, e);
    if (st == ST_OK) st = finish_state(q, &result, e);
    q->loop = loop;
    return st;
}

/* Segments [from, end), and the loops among them. */
static Status run_range(Query *q, int32_t from, int32_t end, const LoopSpec *within, Err *e) {
    TRY(stack_check(e));
    for (int32_t i = from; i < end; i++) {
        const LoopSpec *l = NULL; /* the outermost that begins here: inner ones come first */
        for (int32_t k = 0; k < q->plan->n_loops && &q->plan->loops[k] != within; k++)
            if (q->plan->loops[k].first == i) l = &q->plan->loops[k];
        if (l) {
            TRY(run_loop(q, l, e));
            i = l->end - 1;
            continue;
        }
        q->segment = i;
        TRY(run_segment(q, i, e));
    }
    return ST_OK;
}

Status query_run(Query *q, Err *e) {
    const char *reason = NULL, *detail = NULL;
    if (q->opt.device.runtime) {
        bool done;
        TRY(run_on_device(q, &done, &reason, &detail, e));
        if (done) return ST_OK;
        q->plan = q->whole;
    } else if (has_device_rows(q->plan)) {
        return needs_host(q, e);
    } else if (q->opt.device.reason && !(reason = arena_strdup(q->arena, q->opt.device.reason))) {
        return err_oom(e);
    }
    TRY(run_range(q, 0, q->plan->n_segments, NULL, e));
    for (int32_t i = 0; i < q->plan->n_segments; i++) {
        q->stats[i].device.reason = reason;
        q->stats[i].device.detail = detail;
    }
    return ST_OK;
}

void query_free(Query *q) {
    if (!q) return;
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
