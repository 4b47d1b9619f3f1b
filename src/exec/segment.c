/* segment.c - one segment: its morsels, its workers, what they read and where rows go. See query.c for the whole.
 *
 * A segment may run in pieces: workers begin no other morsel once the sink's row store has so many bytes, end those
 * that they have begun, and the next piece goes on with the morsel behind. So a piece has the rows of consecutive
 * morsels, and its memory is bounded by what the morsels under way make (beyond `result_bytes` the row store is on
 * disk). Between pieces no worker is anywhere: what stays are frames, counters and the states that are read.
 */
#include "exec/query_int.h"
#include "exec/rows_int.h"
#include "exec/window.h"

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

enum { TEXT_BYTES = 32 }; /* of a text, where nothing is known of it */

static int64_t made_bytes(const RowStore *r) { return rows_bytes(r) + rows_spilled_bytes(r); }

static Status sink_vector(Frame *f) {
    SegmentRun *g = f->vm->env.ctx;
    Query *q = g->q;
    const Sink *s = &g->p->sink;
    TRY(collect(f, s->n_keys, s->keys, f->sink_keys));
    TRY(collect(f, s->n_regs, s->regs, f->sink_regs));
    switch (s->kind) {
    case SINK_ROWS: {
        if (g->to)
            return g->to->add(g->to->ctx, f->worker, f->order - q->pieces.first_order, f->n, f->sink_regs, &f->err);
        TRY(rows_append(q->rows[s->id], f->worker, f->order, f->n, f->sink_regs, &f->err));
        if (g->most > 0 && made_bytes(q->rows[s->id]) >= g->most) atomic_store(&g->full, true);
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

/* Forms of the columns that the program reads of a table's tablet, for SegmentStats. */
static void count_forms(Frame *f, const Tablet *tab, int64_t rows) {
    const Program *p = f->vm->p;
    bool open = false, patched = false;
    for (int32_t i = 0; i < p->n_instrs && !open; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op != OP_LOAD && in->op != OP_LOAD_CODE && in->op != OP_FILTER_RANGE && in->op != OP_FILTER_CODES)
            continue;
        const TabletColumn *c = &tab->cols[in->imm];
        open = c->is_delta;
        patched |= c->patches != NULL;
    }
    if (open) f->open_rows += rows;
    else if (patched) f->patched_rows += rows;
}

static Status scan_tablet(Frame *f, const Table *t, const Morsel *m, int32_t *buf) {
    const Vm *vm = f->vm;
    const Tablet *tab = t->tablets[m->tablet];
    int64_t vs = vm->env.vector_size;
    f->src.tablet = tab;
    f->src.unit = m->tablet;
    f->rows_in += m->rows;
    count_forms(f, tab, m->rows);
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
static Status scan_limited(SegmentRun *g, Frame *f, RowStore *rows) {
    int64_t runs = rows_n_runs(rows);
    for (int64_t i = 0; i < runs && g->take != 0; i++) {
        RowRun run;
        TRY(rows_run_open(rows, i, &run, &f->err));
        int64_t n = run.n;
        rows_run_close(rows, &run);
        if (g->skip >= n) {
            g->skip -= n;
            continue;
        }
        int64_t got = g->take < 0 ? n - g->skip : MIN_OF(n - g->skip, g->take);
        f->order = ((int64_t)g->index << 40) | i;
        TRY(scan_run(f, rows, i, g->skip, got));
        g->skip = 0;
        if (g->take > 0) g->take -= got;
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
        if (rows_limited(spec)) return scan_limited(g, f, q->rows[src->id]);
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
    while (!atomic_load(&g->full)) {
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

/* From the next morsel on. */
static Status run_workers(SegmentRun *g) {
    int workers = (int)MIN_OF((int64_t)g->workers, g->n_morsels - atomic_load(&g->next));
    if (workers > 1 && g->q->opt.pool) pool_run(g->q->opt.pool, workers, segment_worker, g);
    else if (workers > 0) segment_worker(g, 0);
    return atomic_load(&g->failed) ? ST_ERROR : ST_OK;
}

/* ---- morsels ------------------------------------------------------------------------------------------- */
/* Rows whose morsel is a fair part of a piece, as far as the width of rows tells: half of a worker's share, so that
 * what is made beyond the piece by morsels that were under way stays small. */
static int64_t piece_rows(const SegmentRun *g, int64_t rows) {
    const Sink *s = &g->p->sink;
    if (g->most <= 0 || s->kind != SINK_ROWS) return rows;
    const RowLayout *l = rows_layout(g->q->rows[s->id]);
    int64_t width = l->width;
    for (int32_t i = 0; i < l->n_cols; i++)
        if (l->cols[i].phys == PH_STR && !l->cols[i].stable_str) width += TEXT_BYTES;
    return MAX_OF(MIN_OF(rows, align_up(g->most / (2 * width * g->threads), g->q->opt.vector_size)),
                  MIN_OF(rows, g->q->opt.vector_size));
}

static Status table_morsels(SegmentRun *g, SegmentStats *stats) {
    const Source *s = &g->p->source;
    const Table *t = s->table;
    const QueryOptions *o = &g->q->opt;
    int64_t rows = 0, tablets = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        if (t->tablets[i]->rows == 0) continue;
        if (source_skips(s, t->tablets[i])) {
            stats->tablets_skipped++;
            continue;
        }
        rows += t->tablets[i]->rows;
        tablets++;
    }
    /* Small enough that all workers end together, large enough to be worth taking. */
    int64_t size = MIN_OF(rows / (g->threads * 8) + 1, o->morsel_rows);
    size = piece_rows(g, align_up(MAX_OF(size, MIN_OF(INT64_C(8192), o->morsel_rows)), o->vector_size));
    if (rows <= 16384) g->workers = 1;
    if (!(g->morsels = arena_array(g->arena, Morsel, rows / size + tablets + 1))) return err_oom(g->err);
    for (int64_t i = 0; i < t->n_tablets; i++) {
        int64_t n = t->tablets[i]->rows;
        if (n == 0 || source_skips(s, t->tablets[i])) continue;
        for (int64_t at = 0; at < n; at += size)
            g->morsels[g->n_morsels++] = (Morsel){(int32_t)i, (int32_t)at, (int32_t)MIN_OF(size, n - at)};
    }
    return ST_OK;
}

/* One morsel per worker: each takes batches until there are none. */
static Status stream_morsels(SegmentRun *g) {
    const RowStream *s = g->p->source.stream;
    const QueryOptions *o = &g->q->opt;
    StreamUse use = {.threads = g->threads,
                     .account = &g->q->account,
                     .vfs = o->vfs,
                     .session = o->session,
                     .cancel = o->cancel,
                     .deadline_ns = g->most > 0 ? 0 : o->deadline_ns, /* of pieces: workers look at each one's */
                     .pause = &g->full};
    bool *wanted = arena_array(g->arena, bool, s->n_cols + 1);
    if (!wanted) return err_oom(g->err);
    for (int32_t i = 0; i < g->p->n_instrs; i++)
        if (g->p->instrs[i].op == OP_LOAD) wanted[g->p->instrs[i].imm] = true;
    use.wanted = wanted;
    const Source *src = &g->p->source;
    StreamBound *bounds = arena_array(g->arena, StreamBound, src->n_zone + 1);
    if (!bounds) return err_oom(g->err);
    for (int32_t i = 0; i < src->n_zone; i++)
        bounds[i] = (StreamBound){src->zone[i].col, src->zone[i].lo, src->zone[i].hi};
    use.n_bounds = src->n_zone;
    use.bounds = bounds;
    if (s->est_rows <= 8192) g->workers = 1;
    g->n_morsels = g->workers;
    return s->begin(s, &use, &g->stream, g->err);
}

static Status make_morsels(SegmentRun *g, SegmentStats *stats) {
    Query *q = g->q;
    const Source *s = &g->p->source;
    if ((s->kind == SRC_ROWS && !q->rows[s->id]) || (s->kind == SRC_AGG && !q->aggs[s->id]) ||
        (s->kind == SRC_JOIN && !q->joins[s->id]))
        return err_internal(g->err, "segment %d reads what no segment has filled", (int)g->index);
    switch (s->kind) {
    case SRC_TABLE: return table_morsels(g, stats);
    case SRC_ROWS:
        g->n_morsels = rows_n_runs(q->rows[s->id]);
        if (rows_limited(&q->plan->rows[s->id])) g->n_morsels = 1;
        g->skip = q->plan->rows[s->id].offset;
        g->take = q->plan->rows[s->id].limit;
        if (rows_count(q->rows[s->id]) <= 8192) g->workers = 1;
        return ST_OK;
    case SRC_AGG:
        g->n_morsels = agg_n_morsels(q->aggs[s->id]);
        if (agg_groups(q->aggs[s->id]) <= 8192) g->workers = 1;
        return ST_OK;
    case SRC_JOIN: g->n_morsels = join_n_morsels(q->joins[s->id]); return ST_OK;
    case SRC_SERIES: {
        int128_t span = (int128_t)s->stop - s->start;
        int128_t n = s->step > 0 ? (span < 0 ? 0 : span / s->step + 1) : (span > 0 ? 0 : span / s->step + 1);
        g->series_rows = n > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)n;
        g->stretch = align_up(MIN_OF(g->series_rows / (g->threads * 8) + 1, INT64_C(65536)), q->opt.vector_size);
        g->stretch = piece_rows(g, g->stretch);
        g->n_morsels = (g->series_rows + g->stretch - 1) / g->stretch;
        return ST_OK;
    }
    case SRC_STREAM: return stream_morsels(g);
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

/* A worker of a sort holds a vector's rows, what becomes of them on the way to disk, and a page that is read. */
static int workers_for(const SegmentRun *g) {
    enum { SORT_WORKER_BYTES = 1 << 20 };
    const int64_t room = mem_headroom(&g->q->account);
    if (g->p->sink.kind != SINK_SORT || room == INT64_MAX) return g->threads;
    return (int)MAX_OF(INT64_C(1), MIN_OF((int64_t)g->threads, room / SORT_WORKER_BYTES));
}
/* The source has been read, or the partition that is replayed: what comes next. *done: nothing. */
static Status next_partition(SegmentRun *g, bool *done) {
    *done = true;
    if (g->replay) {
        const Step *s = g->replay_step;
        g->replay = NULL;
        rows_free(s->parts[g->part]);
        s->parts[g->part++] = NULL;
    } else if (g->stream && !atomic_load(&g->stop)) {
        TRY(g->stream->end(g->stream, g->err));
    }
    for (; g->vm->has_partitioned && g->step < g->p->n_instrs; g->step++, g->part = 0) {
        const Step *s = &g->vm->steps[g->step];
        for (; s->parts && g->part < join_n_partitions(s->join) && !atomic_load(&g->stop); g->part++) {
            RowStore **rows = &s->parts[g->part];
            unreserve(g);
            TRY(rows_finish(*rows, false, g->err));
            if (rows_count(*rows) > 0) {
                TRY(join_partition_load(s->join, g->part, g->err));
                g->q->stats[g->index].note = "partitioned join";
                reserve(g);
                g->replay = *rows;
                g->replay_step = s;
                g->n_morsels = rows_n_runs(g->replay);
                g->workers = workers_for(g);
                atomic_store(&g->next, 0);
                *done = false;
                return ST_OK;
            }
            rows_free(*rows);
            *rows = NULL;
        }
    }
    return ST_OK;
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
                     .vfs = q->opt.vfs,
                     .temp_dir = q->opt.temp_dir,
                     .zone = q->opt.session ? q->opt.session->form.zone : NULL};
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
static void free_run(SegmentRun *g) {
    SegmentStats *stats = &g->q->stats[g->index];
    for (int i = 0; g->frames && i < g->threads; i++) {
        if (!g->frames[i]) continue;
        stats->rows_in += g->frames[i]->rows_in;
        stats->open_rows += g->frames[i]->open_rows;
        stats->patched_rows += g->frames[i]->patched_rows;
        stats->rows_out += g->frames[i]->rows_out;
        frame_free(g->frames[i]);
    }
    vm_free(g->vm);
    if (g->stream) {
        stats->tablets_skipped += atomic_load(&g->stream->skipped);
        g->stream->free(g->stream);
    }
    arena_free(g->arena);
}

/* Rows of the result need not be kept: they come once, in an order that does not fall for a worker. */
static bool gives_rows(const SegmentRun *g) {
    const Query *q = g->q;
    const Sink *s = &g->p->sink;
    return q->pieces.to && g->most > 0 && s->kind == SINK_ROWS && s->id == q->plan->result && s->limit < 0 &&
           !rows_limited(&q->plan->rows[s->id]) && !g->vm->has_partitioned;
}

static Status prepare(SegmentRun *g, const Program *p) {
    Query *q = g->q;
    SegmentStats *stats = &q->stats[g->index];
    if (!(g->p = p = hoist_loads(q, p, g->arena, g->err))) return ST_ERROR;
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
                 .stop = &g->stop,
                 .pool = q->opt.pool,
                 .deadline_ns = q->opt.deadline_ns,
                 .tick = q->opt.progress ? tick : NULL,
                 .sink = sink_vector,
                 .ctx = g};
    if (!(g->frames = arena_array(g->arena, Frame *, q->threads))) return err_oom(g->err);
    TRY(vm_new(p, &env, &g->vm, g->err));
    if (gives_rows(g)) {
        g->to = q->pieces.to;
        g->most = 0;
        if (q->pieces.first_order < 0) q->pieces.first_order = (int64_t)g->index << 40;
    }
    TRY(make_morsels(g, stats));
    if (p->sink.kind == SINK_ROWS && p->sink.limit == 0) g->n_morsels = 0;
    /* LIMIT over sorted rows must take a prefix: with several workers the stop could leave a hole in an earlier morsel.
     */
    if (p->sink.kind == SINK_ROWS && p->sink.limit >= 0 && (p->source.kind == SRC_ROWS || p->source.kind == SRC_STREAM))
        g->workers = 1;
    if (g->stream && g->workers == 1) g->n_morsels = MIN_OF(g->n_morsels, INT64_C(1));
    g->workers = MIN_OF(g->workers, workers_for(g));
    stats->workers = (int)MAX_OF(INT64_C(1), MIN_OF((int64_t)g->workers, g->n_morsels));
    if (g->vm->has_partitioned) reserve(g);
    return ST_OK;
}

SegmentRun *segment_begin(Query *q, int32_t index, int64_t piece_bytes, Err *e) {
    const Program *p = q->plan->segments[index].program;
    int64_t start = clock_ns();
    if (query_make_state(q, &p->sink, e) != ST_OK) return NULL;
    Arena *a = arena_new(&q->account, e);
    SegmentRun *g = a ? arena_new_of(a, SegmentRun) : NULL;
    if (!g) {
        arena_free(a);
        if (!err_is_set(e)) err_oom(e);
        return NULL;
    }
    *g = (SegmentRun){.q = q,
                      .arena = a,
                      .index = index,
                      .threads = q->threads,
                      .workers = q->threads,
                      .most = piece_bytes,
                      .err = e};
    if (prepare(g, p) == ST_OK) {
        q->stats[index].wall_ns += clock_ns() - start;
        return g;
    }
    if (!err_is_set(e)) err_oom(e);
    unreserve(g);
    free_run(g);
    return NULL;
}

Status segment_run(SegmentRun *g, bool *done, Err *e) {
    int64_t start = clock_ns();
    Status st = ST_OK;
    g->err = e;
    *done = false;
    atomic_store(&g->full, false);
    arena_set_err(g->arena, NULL);
    while (!*done && st == ST_OK) {
        if (g->stream && !g->replay) atomic_store(&g->next, 0); /* its morsels are workers, which go on */
        st = run_workers(g);
        if (atomic_load(&g->full) && !atomic_load(&g->stop)) break;
        if (st == ST_OK) st = next_partition(g, done);
    }
    if (g->most > 0 && g->q->opt.progress) report_progress(g, atomic_load(&g->next)); /* worker 0 may have had none */
    g->q->stats[g->index].wall_ns += clock_ns() - start;
    return st;
}

Status segment_end(SegmentRun *g, Status st, Err *e) {
    Query *q = g->q;
    const Sink *s = &q->plan->segments[g->index].program->sink;
    int32_t index = g->index;
    int64_t start = clock_ns();
    unreserve(g);
    if (q->loop && q->loop->limit >= 0 && s->kind == SINK_ROWS && s->id == q->loop->result)
        q->loop_rows += atomic_load(&g->out_rows);
    if (st == ST_OK && !query_feeds_again(q, index, s)) st = query_finish_state(q, s, e);
    free_run(g);
    q->stats[index].wall_ns += clock_ns() - start;
    if (st != ST_OK && !err_is_set(e)) err_oom(e);
    return st;
}

Status query_run_segment(Query *q, int32_t index, Err *e) {
    if (q->plan->segments[index].program->sink.kind == SINK_WINDOW) return run_window(q, index, e);
    SegmentRun *g = segment_begin(q, index, 0, e);
    if (!g) return ST_ERROR;
    bool done;
    Status st = segment_run(g, &done, e);
    return segment_end(g, st, e);
}
