/* dev_run.c - one segment on the device: launch, check, restart, finish.
 *
 *   1. its table's columns are made resident, its sink gets memory
 *   2. main runs over the source
 *   3. where the sink's row count matters, control block -> host: errors, and whether everything fitted. If not, the
 * sink is emptied, gets exactly enough room, and all segments that feed it so far run again
 *   4. the last segment of a sink finishes it: hash join chains, sorting
 *
 * A segment whose count does not matter is not waited for; its errors show at the next wait or at the end.
 */
#include "exec/device/dev_int.h"

enum { RESTARTS_MAX = 40 };

static Status launch(DevQuery *q, DSegment *s, DevKernel *k, int64_t work, int64_t local, Err *e) {
    const EmitTarget *t = &q->ep->target;
    if (work <= 0) return ST_OK;
    int64_t groups = segment_groups(q, s, k, local);
    if (groups < 1) groups = MAX_OF(1, t->units);
    if (q->d->info.native_threads) groups *= HOST_SPREAD;
    q->busy = true;
    q->checked = false;
    s->stats.launches++;
    return q->d->ops->launch(q->lane->queue, k, MIN_OF(groups, work), t->group_size, local, s->values, s->e.n_params,
                             e);
}
int64_t tiles_of(const DevQuery *q, int64_t rows) {
    return (rows + q->ep->target.tile_rows - 1) / q->ep->target.tile_rows;
}

typedef struct Streamed {
    DevQuery *q;
    DSegment *s;
} Streamed;
static Status run_piece(void *ctx, int64_t first, int64_t n, Err *e) {
    DevQuery *q = ((Streamed *)ctx)->q;
    DSegment *s = ((Streamed *)ctx)->s;
    int64_t work = n * (TABLET_ROWS / q->ep->target.tile_rows);
    TRY(params_fill(q, s, e));
    params_set(s, KP_TABLET_LIST, q->consts.p + (uint64_t)(s->list_at + first * 4));
    params_set(s, KP_SRC_TILES, (uint64_t)work);
    return launch(q, s, s->main, work, s->e.main_local_bytes, e);
}

/* Where an identity sink's rows begin is known on the host; counters on the device learn of such rows when another
 * segment counts on. */
static Status run_main(DevQuery *q, DSegment *s, DState *st, Err *e) {
    int64_t rows = source_rows(q, s);
    if (s->pipe) {
        s->base = st && !st->fixed ? st->count : 0;
        return pipe_run(q, s->pipe, e);
    }
    if (s->p->source.kind == SRC_TABLE) TRY(res_bind(q, s, e)); /* may decide to stream */
    s->base = st && !st->fixed ? st->count : 0;
    if (s->e.identity_sink && st) {
        if (s->base + rows > st->cap)
            return err_internal(e, "%lld rows for a sink of %lld", (long long)(s->base + rows), (long long)st->cap);
        s->added = rows;
    }
    int64_t work =
        s->p->source.kind == SRC_TABLE ? s->n_list * (TABLET_ROWS / q->ep->target.tile_rows) : tiles_of(q, rows);
    if (s->p->source.kind == SRC_TABLE && res_moves(s)) {
        Streamed x = {q, s};
        TRY(res_stream(q, s, run_piece, &x, e));
    } else {
        TRY(params_fill(q, s, e));
        TRY(launch(q, s, s->main, work, s->e.main_local_bytes, e));
    }
    if (s->e.identity_sink && st) {
        st->count += rows;
        if (!s->last) TRY(query_set_word(q, st->counter, (uint64_t)st->count, e));
    }
    return ST_OK;
}

static Status check_words(DevQuery *q, Err *e) {
    for (int32_t i = 0; i < q->n; i++)
        if (q->seen[2 * i] && !q->segs[i].reason) return emit_error(q->ep, i, q->seen[2 * i], e);
    return ST_OK;
}

/* Control block to q->seen, waiting for everything so far; raises the first data error found. */
static Status control_fetch(DevQuery *q, Err *e) {
    TRY(q->d->ops->copy_out(q->lane->queue, q->seen, q->control.p, q->control_words * 8, e));
    TRY(query_sync(q, e));
    TRY(check_words(q, e));
    q->checked = true;
    return ST_OK;
}

static Status timing_event(DevQuery *q, DevEvent **ev, Err *e) {
    return q->opt.device.timing ? device_mark(q->d, q->lane->queue, ev, e) : ST_OK;
}

/* ---- finishing ------------------------------------------------------------------------------------------- */
static Status build_join(DevQuery *q, DSegment *s, DState *st, Err *e) {
    if (!s->build) return ST_OK;
    int64_t slots = 16;
    while (slots < 2 * st->count) slots *= 2;
    TRY(query_mem_get(q, slots * 4, &st->head, e));
    st->mask = slots - 1;
    TRY(query_zero(q, st->head.p, slots * 4, e));
    if (st->count == 0) return ST_OK;
    TRY(params_fill(q, s, e));
    return launch(q, s, s->build, tiles_of(q, st->count), 0, e);
}

static Status sort_pairs(DevQuery *q, DSegment *s, int64_t n, DevMem *a, DevMem *b, Err *e) {
    int64_t runs = (n + SORT_TILE - 1) / SORT_TILE;
    params_set(s, KP_SORT_A, a->p);
    params_set(s, KP_SORT_B, b->p);
    params_set(s, KP_SORT_N, (uint64_t)n);
    params_set(s, KP_SORT_WIDTH, SORT_TILE);
    TRY(launch(q, s, s->sort_init, tiles_of(q, n), 0, e));
    TRY(launch(q, s, s->sort_tile, runs, (int64_t)SORT_TILE * 16, e));
    for (int64_t width = SORT_TILE; width < n; width *= 2) {
        params_set(s, KP_SORT_A, a->p);
        params_set(s, KP_SORT_B, b->p);
        params_set(s, KP_SORT_WIDTH, (uint64_t)width);
        TRY(launch(q, s, s->sort_merge, runs, 0, e));
        DevMem t = *a;
        *a = *b;
        *b = t;
    }
    params_set(s, KP_SORT_A, a->p);
    params_set(s, KP_SORT_B, b->p);
    return ST_OK;
}

static Status sort_rows(DevQuery *q, DSegment *s, DState *in, DState *out, Err *e) {
    const SortSpec *spec = &q->plan->sorts[in->id];
    int64_t n = in->count, first = MIN_OF(n, MAX_OF(spec->offset, INT64_C(0)));
    int64_t take = spec->limit >= 0 ? MIN_OF(spec->limit, n - first) : n - first;
    TRY(state_alloc_rows(q, out, take, e));
    out->count = take;
    out->exact = true;
    if (take == 0) return ST_OK;
    DevMem a = {0}, b = {0};
    Status st = query_mem_get(q, align_up(n, SORT_TILE) * 16, &a, e);
    if (st == ST_OK) st = query_mem_get(q, align_up(n, SORT_TILE) * 16, &b, e);
    if (st == ST_OK) st = params_fill(q, s, e);
    if (st == ST_OK) st = sort_pairs(q, s, n, &a, &b, e);
    params_set(s, KP_SORT_FIRST, (uint64_t)first);
    params_set(s, KP_SORT_TAKE, (uint64_t)take);
    if (st == ST_OK) st = launch(q, s, s->sort_gather, tiles_of(q, take), 0, e);
    query_mem_put(q, &a);
    query_mem_put(q, &b);
    state_release(q, in);
    return st;
}

static Status finish(DevQuery *q, DSegment *s, DState *st, Err *e) {
    const Sink *sink = &s->p->sink;
    if (sink->kind == SINK_JOIN) return build_join(q, s, st, e);
    if (sink->kind == SINK_SORT) return sort_rows(q, s, st, &q->rows[sink->id], e);
    if (sink->kind != SINK_ROWS || st != &q->staged[sink->id]) return ST_OK;
    TRY(order_rows(q, st, &q->rows[sink->id], e));
    state_release(q, st);
    return ST_OK;
}

/* ---- a segment --------------------------------------------------------------------------------------------- */
/* Everything that feeds the sink up to this segment once more, into an empty sink. */
static Status run_again(DevQuery *q, DState *st, int32_t segment, Err *e) {
    if (!st->fixed) st->count = 0;
    for (int32_t i = st->first; i <= segment; i++) {
        DSegment *f = &q->segs[i];
        if (f->reason || sink_state(q, &f->p->sink) != st) continue;
        TRY(run_main(q, f, st, e));
        if (i < segment && !f->e.identity_sink) st->count += f->added;
    }
    return ST_OK;
}

/* Until the rows of all pipelines that ran fitted into their channels. */
static Status settle(DevQuery *q, DSegment *s, DState *st, int32_t segment, Err *e) {
    for (bool again = s->pipe || (st && st->first < segment);;) {
        if (again) TRY(pipe_check(q, &again, e));
        if (!again) return ST_OK;
        s->stats.restarts++;
        if (!st) {
            TRY(run_main(q, s, st, e));
            continue;
        }
        TRY(state_restart(q, st, st->cap, segment, e));
        TRY(run_again(q, st, segment, e));
    }
}

static Status run_counted(DevQuery *q, DSegment *s, DState *st, int32_t segment, Err *e) {
    TRY(run_main(q, s, st, e));
    TRY(settle(q, s, st, segment, e));
    if (!st || !state_needs_count(q, st, s)) {
        if (st && !st->fixed && !s->e.identity_sink) { /* a join whose chains need no count */
            st->exact = false;
            st->count = MIN_OF(st->cap, s->base + source_rows(q, s));
        }
        return ST_OK;
    }
    for (int tries = 0;; tries++) {
        TRY(control_fetch(q, e));
        int64_t need = (int64_t)q->seen[st->counter_word];
        if (need <= st->cap) {
            learned_put(q->r, s->text, need);
            s->added = need - s->base;
            st->count = need;
            st->exact = true;
            return ST_OK;
        }
        if (tries == RESTARTS_MAX) return err_internal(e, "segment %d was started %d times", (int)segment, tries);
        s->stats.restarts++;
        TRY(state_restart(q, st, need, segment, e));
        TRY(run_again(q, st, segment, e));
        TRY(settle(q, s, st, segment, e));
    }
}

static bool reads(DevQuery *q, const Program *p, const DState *st) {
    if (source_state(q, &p->source) == st) return true;
    for (int32_t k = 0; k < p->n_instrs; k++)
        if ((p->instrs[k].op == OP_PROBE || p->instrs[k].op == OP_PROBE_BEGIN) &&
            &q->joins[((const ProbeSite *)p->instrs[k].aux)->join] == st)
            return true;
    return false;
}

/* A state is needed as long as a reader has not run, or may run again because its sink is still being fed. */
static void release_inputs(DevQuery *q, int32_t segment) {
    const QueryPlan *plan = q->plan;
    for (int32_t k = 0; k < plan->n_joins + plan->n_aggs + plan->n_rows; k++) {
        DState *st = &q->states[k];
        if ((!st->mem.bytes && !st->head.bytes) || st->kept || !reads(q, plan->segments[segment].program, st)) continue;
        bool wanted = false;
        for (int32_t i = 0; i < q->n && !wanted; i++) {
            const Program *p = plan->segments[i].program;
            const Pipe *pipe = q->segs[i].pipe; /* runs again as a whole */
            const DState *sink = sink_state(q, pipe ? &q->segs[pipe->last].p->sink : &p->sink);
            wanted = (i > segment || (sink && sink->last > segment)) && reads(q, p, st);
        }
        if (!wanted) state_release(q, st);
    }
}

/* Its rows go to the next piece of the same segment only. */
static bool is_piece(const DevQuery *q, int32_t segment) {
    const int32_t *of = q->opt.device.stage_of;
    return of && segment + 1 < q->n && of[segment] == of[segment + 1];
}

Status dev_query_run_segment(DevQuery *q, int32_t segment, Err *e) {
    DSegment *s = &q->segs[segment];
    if (s->reason || !q->started) return err_internal(e, "segment %d is not placed on the device", (int)segment);
    TRY(query_check_cancel(q, e));
    s->stats.on_device = true;
    if (s->pipe && segment < s->pipe->last) return ST_OK; /* the last one runs them all */
    int64_t in = q->bytes_in, out = q->bytes_out;
    DState *st = sink_state(q, &s->p->sink);
    bool begins = st && st->first == segment;
    if (begins) TRY(state_begin(q, st, segment, e));
    TRY(timing_event(q, &s->from, e)); /* emptying a state is the device's work, too */
    if (begins) TRY(state_empty(q, st, e));
    else if (st) TRY(state_extend(q, st, segment, e));
    TRY(run_counted(q, s, st, segment, e));
    if (st && st->last == segment) TRY(finish(q, s, st, e));
    TRY(timing_event(q, &s->to, e));
    if (is_piece(q, segment) && st) s->stats.materialized = s->added * state_row_bytes(q, st);
    s->rows_in = source_rows(q, s);
    s->stats.bytes_in += q->bytes_in - in;
    s->stats.bytes_out += q->bytes_out - out;
    for (int32_t i = s->pipe ? s->pipe->first : segment; i <= segment; i++) release_inputs(q, i);
    return ST_OK;
}

/* Joins that were not waited for had room for whatever could come. */
static Status check_room(DevQuery *q, Err *e) {
    for (int32_t i = 0; i < q->plan->n_joins; i++) {
        const DState *st = &q->joins[i];
        if (st->first < 0 || st->fixed || st->exact || (int64_t)q->seen[st->counter_word] <= st->cap) continue;
        return err_internal(e, "join #%d took %lld slots of %lld", (int)i, (long long)q->seen[st->counter_word],
                            (long long)st->cap);
    }
    return ST_OK;
}

Status dev_query_finish(DevQuery *q, Err *e) {
    if (q->started && (q->busy || !q->checked)) TRY(control_fetch(q, e));
    return q->started ? check_room(q, e) : ST_OK;
}
