/* dev_pipe.c - pipelines: the pieces of one segment run at the same time, each on a queue of its own, and hand over rows through channels [GPL §3].
 *
 * The source is taken tile by tile: a round launches all kernels of the pipeline, the first over a tile, and joins their queues again. Without
 * concurrency ("in turn": a device that promises no progress of one kernel while another waits, or as the settings say) the kernels of a round run one
 * after the other on the query's queue, and the channels have room for all rows of a tile.
 *
 * All kernels of a round must be on the device together, so that only one pipeline at a time runs on a device (pipe_lock), with work-groups that fit
 * (cost/gpl.h, Eq. 2); every pipeline is waited for before the lock is given up. When a launch fails, the stop flags end the kernels that run already.
 *
 * Rows that do not fit (emit_chan.c: only where probes find many matches, or in turn) end the round with CHANNEL_FULL; everything that feeds the sink runs
 * again with packets four times as big. */
#include <stdio.h>
#include <time.h>

#include "codegen/emit.h"
#include "exec/device/dev_int.h"

enum { BOOST_MAX = 6, RING_DEFAULT = 4, TURN_TILE_MAX = 1 << 22, HEADER_WORDS = 8 };

/* ---- which segments ---------------------------------------------------------------------------------- */
/* Rows come out of a channel in any order. */
static const char *not_pipelined(const DevQuery *q, int32_t first, int32_t last) {
    const Sink *s = &q->plan->segments[last].program->sink;
    for (int32_t i = first; i <= last; i++)
        if (q->segs[i].reason) return "not pipelined: a piece runs on the cpu";
    if (s->kind == SINK_SORT) return "not pipelined: what is sorted keeps the order of its source";
    if (s->kind == SINK_ROWS && s->limit >= 0) return "not pipelined: LIMIT ends it early";
    if (s->kind == SINK_ROWS && q->plan->rows[s->id].ordered) return "not pipelined: its rows keep the order of their source";
    return NULL;
}

Status pipe_plan(DevQuery *q, Err *e) {
    const int32_t *of = q->opt.device.stage_of;
    if (!of) return ST_OK;
    if (!(q->pipes = arena_array(q->arena, Pipe, q->n + 1))) return err_oom(e);
    for (int32_t i = 0, next; i < q->n; i = next) {
        next = i + 1;
        while (next < q->n && of[next] == of[i]) next++;
        if (next - i < 2) continue;
        const char *why = not_pipelined(q, i, next - 1);
        if (why) {
            q->segs[next - 1].stats.pipeline = why;
            continue;
        }
        Pipe *p = &q->pipes[q->n_pipes++];
        *p = (Pipe){.first = i, .last = next - 1, .n = next - i};
        for (int32_t k = i; k < next; k++) {
            q->segs[k].pipe = p;
            if (k < next - 1) q->ep->rows[q->segs[k].p->sink.id].channel = true;
        }
    }
    return ST_OK;
}

bool pipe_spread(DevQuery *q) {
    bool changed = false;
    for (int32_t i = 0; i < q->n_pipes; i++) {
        const Pipe *p = &q->pipes[i];
        const char *reason = NULL;
        for (int32_t k = p->first; k <= p->last && !reason; k++) reason = q->segs[k].reason;
        for (int32_t k = p->first; k <= p->last && reason; k++) {
            if (q->segs[k].reason) continue;
            q->segs[k].reason = reason;
            changed = true;
        }
    }
    return changed;
}

/* ---- what the model is told ------------------------------------------------------------------------------ */
/* Rates that hold where nothing was measured. */
static void guess_machine(const Device *d, GplMachine *m) {
    const DeviceInfo *i = &d->info;
    double units = MAX_OF(i->units, 1);
    *m = (GplMachine){.units = i->kind == DEVICE_HOST ? 1 : i->units, .concurrency = i->kind == DEVICE_HOST ? units : 2, .waits_are_yields = i->kind == DEVICE_HOST};
    m->instruction_ns = i->kind == DEVICE_HOST ? 0.5 / units : 4.0 / (128 * units); /* four cycles of about a nanosecond, 128 lanes a unit */
    m->read_gbps = i->peak_gbps > 0 ? i->peak_gbps * 0.8 : i->kind == DEVICE_HOST ? 10 : 500;
    m->launch_ns = 5000;
}

static void look_up_machine(DevRuntime *r) {
    if (r->machine_known) return;
    r->machine_known = true;
    guess_machine(r->d, &r->machine);
    Profile *p = mem_calloc(r->account, (int64_t)sizeof *p, NULL);
    bool found = false;
    Err quiet;
    err_clear(&quiet);
    if (!p) return;
    if (profile_load(vfs_posix(), NULL, p, &found, &quiet) != ST_OK) {
        log_write(LOG_WARNING, "the machine profile cannot be used: %s", quiet.message);
        found = false;
    }
    const DeviceProfile *d = found ? profile_device(p, r->d->info.id, r->d->info.name) : NULL;
    if (d && d->read_gbps > 0) r->machine.read_gbps = d->read_gbps;
    if (d && d->launch_us > 0) r->machine.launch_ns = d->launch_us * 1000;
    if (d) r->machine.channels = d->channels;
    mem_free(r->account, p, (int64_t)sizeof *p);
}

/* Share of rows that a probe lets through: as many keys as were built of those there may be. */
static double probe_share(const DevQuery *q, const ProbeSite *s) {
    const JoinSpec *j = &q->plan->joins[s->join];
    if (s->kind == PK_LEFT || s->kind == PK_SINGLE || s->kind == PK_MARK) return 1;
    double share = 0.5;
    if (j->n_keys == 1 && j->keys[0].has_range && j->keys[0].max >= j->keys[0].min && j->est_rows > 0)
        share = MIN_OF(1.0, j->est_rows / ((double)j->keys[0].max - (double)j->keys[0].min + 1));
    return s->kind == PK_ANTI ? 1 - share : share;
}

/* Instructions weighed by about what they take; returns the share of rows that is left. */
static double weigh(const DevQuery *q, const Program *p, GplStage *out) {
    double share = 1, bodies = 1;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        double compute = 1, memory = 0, keep = 1;
        switch (in->op) {
        case OP_LOAD: case OP_LOAD_CODE: case OP_LOAD_BUILD: compute = 2; memory = 1; break;
        case OP_FILTER_RANGE: keep = 0.3; compute = 3; memory = 1; break;
        case OP_FILTER_CODES: keep = 0.3; compute = 4; memory = 1; break;
        case OP_FILTER: keep = 0.5; break;
        case OP_PROBE: case OP_PROBE_BEGIN: compute = 8; memory = 2; keep = probe_share(q, in->aux); break;
        case OP_LIKE: compute = 60; memory = 4; break;
        case OP_CALL: compute = 20; break;
        case OP_NUM_MUL: case OP_NUM_DIV: compute = 30; break;
        case OP_IF: bodies = 0.5; break;
        case OP_ENDIF: bodies = 1; break;
        default: break;
        }
        out->compute += share * bodies * compute;
        out->memory += share * bodies * memory;
        share *= keep;
    }
    const Sink *s = &p->sink;
    double each = s->kind == SINK_AGG ? (s->n_keys ? 6 : 2) : 3;
    out->compute += share * (each * s->n_regs + 4 * s->n_keys + 4);
    out->memory += share * (s->kind == SINK_AGG && !s->n_keys ? 0 : s->n_regs + s->n_keys);
    return share;
}

static int64_t resident(DevQuery *q, const DSegment *s) {
    int64_t g = q->d->ops->resident_groups(s->main, q->ep->target.group_size, s->e.main_local_bytes);
    return g < 1 ? MAX_OF(1, q->ep->target.units) : g;
}

static bool in_turn(const DevQuery *q) { return q->opt.device.pipeline.in_turn || !q->d->info.concurrent; }

static void choose(DevQuery *q, Pipe *p) {
    if (p->chosen) return;
    p->chosen = true;
    GplStage stages[GPL_STAGES_MAX] = {0};
    double share = 1;
    for (int32_t i = 0; i < p->n; i++) {
        DSegment *s = &q->segs[p->first + i];
        stages[i].share = share;
        stages[i].max_groups = resident(q, s);
        stages[i].row_bytes = i == 0 ? s->e.bytes_per_row : (double)state_row_bytes(q, &q->rows[s->p->source.id]);
        share *= weigh(q, s->p, &stages[i]);
    }
    const PipelineUse *use = &q->opt.device.pipeline;
    GplFixed fixed = {.tile_rows = use->tile_rows, .channels = use->channels, .packet_rows = use->packet_rows, .groups = use->groups};
    GplMachine m = q->r->machine;
    if (in_turn(q)) m.concurrency = 1;
    bool host = q->d->info.kind == DEVICE_HOST;
    gpl_choose(&m, stages, p->n, (double)source_rows(q, &q->segs[p->first]), q->ep->target.tile_rows, host ? 1 : q->ep->target.group_size * 4, &fixed, &p->choice);
}

/* ---- channels ---------------------------------------------------------------------------------------------- */
DevPtr pipe_channel(const DevQuery *q, int32_t rows) {
    const DState *st = &q->rows[rows];
    const Pipe *p = q->segs[st->first].pipe;
    return p->control.p + (uint64_t)((st->first - p->first) * p->block);
}

/* Packets of a channel: without concurrency all rows of a tile must fit, whichever groups write them. */
static void size_channels(DevQuery *q, Pipe *p, int64_t rows) {
    const PipelineUse *use = &q->opt.device.pipeline;
    bool host = q->d->info.kind == DEVICE_HOST;
    int64_t step = host ? 1 : q->ep->target.group_size * 4;
    p->cap = MAX_OF(p->choice.packet_rows, step) << (2 * p->boost);
    p->batch = host ? 1024 : MAX_OF(p->choice.packet_rows / 2 / step * step, step);
    p->ring = use->ring > 0 ? use->ring : RING_DEFAULT;
    if (!in_turn(q)) return;
    p->choice.channels = 1;
    int64_t tile = MIN_OF(MIN_OF(p->choice.tile_rows, (int64_t)TURN_TILE_MAX), align_up(MAX_OF(rows, INT64_C(1)), q->ep->target.tile_rows)), most = 0;
    p->choice.tile_rows = MAX_OF(tile, (int64_t)q->ep->target.tile_rows);
    for (int32_t i = 0; i < p->n; i++) most = MAX_OF(most, p->choice.groups[i]);
    p->ring = 2 * (p->choice.tile_rows / MAX_OF(p->choice.packet_rows, step) + 1) + 2 * most + 2;
}

static Status make_channels(DevQuery *q, Pipe *p, Err *e) {
    const GplChoice *c = &p->choice;
    int64_t packets = c->channels * p->ring;
    p->block = (EMIT_CHANNEL_HEAD + c->channels * EMIT_CHANNEL_SUB + packets * EMIT_CHANNEL_PACKET) * 8;
    for (int32_t i = p->first; i < p->last; i++) {
        DState *st = &q->rows[q->segs[i].p->sink.id];
        if (st->mem.bytes && st->cap == packets * p->cap) continue;
        query_mem_put(q, &st->mem);
        TRY(state_alloc_rows(q, st, packets * p->cap, e));
    }
    int64_t bytes = p->block * (p->n - 1);
    query_mem_put(q, &p->image);
    query_mem_put(q, &p->control);
    TRY(query_mem_get(q, bytes, &p->image, e));
    TRY(query_mem_get(q, bytes, &p->control, e));
    TRY(query_zero(q, p->image.p, bytes, e));
    for (int32_t i = 0; i < p->n - 1; i++) {
        const uint64_t header[HEADER_WORDS] = {(uint64_t)c->channels, (uint64_t)p->ring, (uint64_t)p->cap, (uint64_t)c->groups[i], 0, (uint64_t)p->batch, 0, in_turn(q)};
        TRY(query_set_words(q, p->image.p + (uint64_t)(i * p->block), header, HEADER_WORDS, e));
    }
    return ST_OK;
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */
static Status queues_ready(DevQuery *q, int32_t n, Err *e) {
    Lane *l = q->lane;
    TRY(lane_event(q, &l->pipe_go, e));
    for (int32_t i = 0; i < n; i++) {
        if (!l->pipe[i]) TRY(q->d->ops->queue_new(q->d, &l->pipe[i], e));
        TRY(lane_event(q, &l->pipe_done[i], e));
    }
    return ST_OK;
}

static Status launch(DevQuery *q, Pipe *p, int32_t i, DevQueue *queue, Err *e) {
    DSegment *s = &q->segs[p->first + i];
    s->stats.launches++;
    return q->d->ops->launch(queue, s->main, p->choice.groups[i], q->ep->target.group_size, s->e.main_local_bytes, s->values, s->e.n_params, e);
}

/* All launches come before the first record: where queues share a channel to the device, a record that waits must not stand before a kernel. */
static Status round_together(DevQuery *q, Pipe *p, Err *e) {
    Lane *l = q->lane;
    const DeviceOps *ops = q->d->ops;
    TRY(ops->event_record(l->queue, l->pipe_go, e));
    for (int32_t i = 0; i < p->n; i++) TRY(ops->event_wait(l->pipe[i], l->pipe_go, e));
    for (int32_t i = 0; i < p->n; i++) TRY(launch(q, p, i, l->pipe[i], e));
    for (int32_t i = 0; i < p->n; i++) TRY(ops->event_record(l->pipe[i], l->pipe_done[i], e));
    for (int32_t i = 0; i < p->n; i++) TRY(ops->event_wait(l->queue, l->pipe_done[i], e));
    return ST_OK;
}

/* Tiles 0 .. tiles - 1 of the first segment's list that begins at `list`. */
static Status run_rounds(DevQuery *q, Pipe *p, int64_t list, int64_t tiles, Err *e) {
    int64_t step = MAX_OF(p->choice.tile_rows / q->ep->target.tile_rows, INT64_C(1));
    DSegment *first = &q->segs[p->first];
    for (int32_t i = p->first; i <= p->last; i++) TRY(params_fill(q, &q->segs[i], e));
    if (first->p->source.kind == SRC_TABLE) params_set(first, KP_TABLET_LIST, q->consts.p + (uint64_t)(first->list_at + list * 4));
    q->busy = true;
    q->checked = false;
    for (int64_t t = 0; t < tiles; t += step) {
        TRY(query_check_cancel(q, e));
        params_set(first, KP_CHAN_TILE, (uint64_t)t);
        params_set(first, KP_SRC_TILES, (uint64_t)MIN_OF(t + step, tiles));
        TRY(q->d->ops->copy(q->lane->queue, p->control.p, p->image.p, p->block * (p->n - 1), e));
        p->rounds++;
        if (in_turn(q)) {
            for (int32_t i = 0; i < p->n; i++) TRY(launch(q, p, i, q->lane->queue, e));
        } else {
            TRY(round_together(q, p, e));
        }
    }
    return ST_OK;
}

typedef struct Streamed { DevQuery *q; Pipe *p; } Streamed;
static Status run_piece(void *ctx, int64_t first, int64_t n, Err *e) {
    const Streamed *x = ctx;
    return run_rounds(x->q, x->p, first, n * (TABLET_ROWS / x->q->ep->target.tile_rows), e);
}

static Status run_source(DevQuery *q, Pipe *p, Err *e) {
    DSegment *s = &q->segs[p->first];
    bool table = s->p->source.kind == SRC_TABLE;
    if (table && s->residence == RES_STREAMED) {
        Streamed x = {q, p};
        return res_stream(q, s, run_piece, &x, e);
    }
    return run_rounds(q, p, 0, table ? s->n_list * (TABLET_ROWS / q->ep->target.tile_rows) : tiles_of(q, source_rows(q, s)), e);
}

/* Ends kernels that wait for others which were never started. */
static void give_up(DevQuery *q, Pipe *p) {
    Err quiet;
    err_clear(&quiet);
    query_stop_kernels(q);
    bool ok = q->d->ops->sync(q->lane->side, NULL, NULL, &quiet) == ST_OK;
    for (int32_t i = 0; i < p->n; i++)
        if (q->lane->pipe[i]) ok = q->d->ops->sync(q->lane->pipe[i], NULL, NULL, &quiet) == ST_OK && ok;
    ok = q->d->ops->sync(q->lane->queue, NULL, NULL, &quiet) == ST_OK && ok;
    if (!ok) q->lane->broken = true;
}

static Status lock_device(DevQuery *q, Err *e) {
    const struct timespec nap = {.tv_nsec = 200000};
    while (pthread_mutex_trylock(&q->r->pipe_lock) != 0) {
        TRY(query_check_cancel(q, e));
        nanosleep(&nap, NULL);
    }
    return ST_OK;
}

Status pipe_run(DevQuery *q, Pipe *p, Err *e) {
    DSegment *s = &q->segs[p->first];
    if (s->p->source.kind == SRC_TABLE) TRY(res_bind(q, s, e)); /* may decide to stream */
    TRY(lock_device(q, e));
    look_up_machine(q->r);
    choose(q, p);
    size_channels(q, p, source_rows(q, s));
    p->rounds = 0;
    Status st = make_channels(q, p, e);
    if (st == ST_OK && !in_turn(q)) st = queues_ready(q, p->n, e);
    if (st == ST_OK) {
        st = run_source(q, p, e);
        if (st == ST_OK) st = q->d->ops->copy_out(q->lane->queue, q->seen, q->control.p, q->control_words * 8, e);
        if (st == ST_OK) st = query_sync(q, e);
        else give_up(q, p);
    }
    pthread_mutex_unlock(&q->r->pipe_lock);
    if (st != ST_OK) return st;
    s->rows_in = source_rows(q, s);
    return res_unbind(q, s, e);
}

/* ---- afterwards ----------------------------------------------------------------------------------------------- */
Status pipe_check(DevQuery *q, bool *again, Err *e) {
    *again = false;
    if (q->n_pipes == 0) return ST_OK;
    for (int32_t i = 0; i < q->n; i++) {
        uint64_t word = q->seen[2 * i];
        if (word == 0 || q->segs[i].reason || !q->segs[i].pipe) continue;
        if (word != EMIT_CHANNEL_FULL) return emit_error(q->ep, i, word, e);
        Pipe *p = q->segs[i].pipe;
        if (++p->boost > BOOST_MAX)
            return err_set(e, ERR_LIMIT_EXCEEDED, "the channels of a pipeline on device %s would need packets of more than %lld rows", q->d->info.id, (long long)p->cap);
        TRY(query_zero(q, q->control.p + (uint64_t)i * 16, 8, e));
        q->seen[2 * i] = 0;
        *again = true;
    }
    return ST_OK;
}

const char *pipe_note(DevQuery *q, int32_t segment, double *model_ns) {
    DSegment *s = &q->segs[segment];
    Pipe *p = s->pipe;
    if (!p || s->reason) return s->stats.pipeline;
    if (segment < p->last) {
        snprintf(p->note, sizeof p->note, "in the pipeline of segment %d", (int)p->last);
    } else {
        const GplChoice *c = &p->choice;
        int at = snprintf(p->note, sizeof p->note, "pipeline of %d kernels%s, %lld round%s of %lld rows, %lld channel%s of %lld packets of %lld rows, groups", (int)p->n,
                          q->opt.device.pipeline.in_turn ? " in turn" : q->d->info.concurrent ? "" : " in turn (the device runs no kernels at the same time)",
                          (long long)p->rounds, p->rounds == 1 ? "" : "s", (long long)c->tile_rows, (long long)c->channels, c->channels == 1 ? "" : "s", (long long)p->ring,
                          (long long)p->cap);
        for (int32_t i = 0; i < p->n && at > 0 && at < (int)sizeof p->note - 16; i++) at += snprintf(p->note + at, sizeof p->note - (size_t)at, "%s%lld", i ? "+" : " ", (long long)c->groups[i]);
        *model_ns = c->ns;
    }
    const char *copy = arena_strdup(q->arena, p->note);
    return copy;
}
