/* dev_pipe.c - pipelines: the pieces of one segment run at the same time, each on a queue of its own, and hand over
 * rows through channels [GPL §3].
 *
 * The source is taken tile by tile: a round launches all kernels of the pipeline, the first over a tile, and joins
 * their queues again. Without concurrency ("in turn": a device that promises no progress of one kernel while another
 * waits, or as the settings say) the kernels of a round run one after the other on the query's queue, and the channels
 * have room for all rows of a tile.
 *
 * All kernels of a round must be on the device together, so that only one pipeline at a time runs on a device
 * (pipe_lock), with work-groups that fit (cost/gpl.h, Eq. 2); every pipeline is waited for before the lock is given up.
 * When a launch fails, the stop flags end the kernels that run already.
 *
 * Rows that do not fit (emit_chan.c: only where probes find many matches, or in turn) end the round with CHANNEL_FULL;
 * everything that feeds the sink runs again with packets four times as big. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/hash.h"
#include "base/mutex.h"
#include "codegen/emit.h"
#include "exec/device/dev_int.h"

enum { BOOST_MAX = 6, TURN_TILE_MAX = 1 << 22 };

/* ---- which segments ---------------------------------------------------------------------------------- */
/* Rows come out of a channel in any order. */
static const char *not_pipelined(const DevQuery *q, int32_t first, int32_t last) {
    const Sink *s = &q->plan->segments[last].program->sink;
    for (int32_t i = first; i <= last; i++)
        if (q->segs[i].reason) return "not pipelined: a piece runs on the cpu";
    if (s->kind == SINK_SORT) return "not pipelined: what is sorted keeps the order of its source";
    if (s->kind == SINK_ROWS && s->limit >= 0) return "not pipelined: LIMIT ends it early";
    if (s->kind == SINK_ROWS && q->plan->rows[s->id].ordered)
        return "not pipelined: its rows keep the order of their source";
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

/* ---- input of the model ---------------------------------------------------------------------------------- */
static const double setting_up_ns = 15000, group_latencies = 10; /* the host's work before the first launch; accesses of
                                                                    a group's item 0 that are not for rows */

/* Rates that hold where nothing was measured. */
static void guess_machine(const Device *d, GplMachine *m) {
    const DeviceInfo *i = &d->info;
    bool host = one_item_groups(i);
    double units = MAX_OF(i->units, 1);
    *m = (GplMachine){.shares_units = d->ops->share_units != NULL,
                      .units = host ? 1 : i->units,
                      .concurrency = host ? units : 0,
                      .waits_are_yields = host,
                      .cache_bytes = host ? 0 : (double)i->cache_bytes};
    m->instruction_ns = host ? 0.5 / units : 1.0 / (64 * units); /* a cycle of about a nanosecond, two for a lane */
    m->latency_ns = host ? 0 : 700;
    m->read_gbps = i->peak_gbps > 0 ? i->peak_gbps * 0.8 : host ? 10 : 500;
    m->launch_ns = host ? 2000 : 8000;
    m->fixed_ns = (host ? 20000 : 15000) + setting_up_ns;
    m->group_ns = group_latencies * m->latency_ns;
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
    if (d) {
        GplMachine *m = &r->machine;
        if (d->read_gbps > 0) m->read_gbps = d->read_gbps;
        if (d->compute_gips > 0 && !m->waits_are_yields) m->instruction_ns = 1 / d->compute_gips;
        if (d->latency_ns > 0 && !m->waits_are_yields) m->latency_ns = d->latency_ns;
        if (d->pipeline_us > 0) m->fixed_ns = d->pipeline_us * 1000 + setting_up_ns;
        m->group_ns = group_latencies * m->latency_ns;
        if (d->pipeline_kernel_us > 0) m->launch_ns = d->pipeline_kernel_us * 1000;
        m->channels = d->channels;
        r->rates = *d;
    }
    mem_free(r->account, p, (int64_t)sizeof *p);
}

/* One random access among `bytes`, all of the device at them. Unknown: a cache line of the memory's rate. */
static double access_ns(const DevQuery *q, const ProfileCurve *curve, double bytes) {
    double mps = profile_rate_at(curve, (int64_t)bytes);
    return mps > 0 ? 1000 / mps : 64 / fmax(q->r->machine.read_gbps, 1);
}

/* ---- how many rows get where */
/* The share of a table's rows with a value in a range, from the least and greatest of each tablet. */
static double range_share(const DSegment *s, int64_t col, const RangeTest *t) {
    double in = 0, all = 0;
    if (s->p->source.kind != SRC_TABLE) return 0.3;
    for (int64_t i = 0; i < s->n_list; i++) {
        const Tablet *tab = s->p->source.table->tablets[s->list[i]];
        const TabletColumn *c = &tab->cols[col];
        double rows = (double)tab->rows, width = (double)c->max - (double)c->min + 1, share = 0.3;
        if (c->has_minmax && width > 0)
            share = fmax(0, fmin((double)t->hi, (double)c->max) - fmax((double)t->lo, (double)c->min) + 1) / width;
        in += rows * share;
        all += rows;
    }
    double share = all > 0 ? fmin(1, in / all) : 0;
    return t->negate ? 1 - share : share;
}

static double mask_share(const CodeMask *k) {
    int64_t in = 0;
    for (int64_t i = 0; i < k->n; i++) in += k->mask[i] != 0;
    return k->n > 0 ? (double)in / (double)k->n : 1;
}

/* Values that a key has where it comes from: a column of the pipeline's table. 0: not known. */
static double key_values(const DSegment *first, Reg key) {
    const Program *p = first->p;
    for (int32_t i = 0; p->source.kind == SRC_TABLE && i < p->n_instrs; i++)
        if ((p->instrs[i].op == OP_LOAD || p->instrs[i].op == OP_LOAD_CODE) && p->instrs[i].dst == key)
            return p->source.table->cols[p->instrs[i].imm].stats.distinct;
    return 0;
}

/* Rows for each one that probes: build rows that are left, over the values that the key had on the side that has more
 * of them. */
static double probe_share(const DevQuery *q, const DSegment *first, const ProbeSite *s) {
    const JoinSpec *j = &q->plan->joins[s->join];
    const DState *st = &q->joins[s->join];
    if (s->kind == PK_LEFT || s->kind == PK_SINGLE || s->kind == PK_MARK) return 1;
    double built = st->fixed || !st->exact ? j->est_rows : (double)st->count,
           values = s->n_keys == 1 ? key_values(first, s->keys[0]) : 0, whole = 0;
    if (st->first >= 0) {
        const DSegment *from = &q->segs[st->first];
        if (from->pipe) from = &q->segs[from->pipe->first];
        if (from->p->source.kind == SRC_TABLE) whole = (double)from->p->source.table->live_rows;
    }
    values = values > 0 && whole > 0 ? fmax(values, fmin(whole, values * 4)) : fmax(values, whole);
    double share = values > 0 && built >= 0 ? built / values : 0.5;
    if (s->kind == PK_INNER) return share;
    return s->kind == PK_ANTI ? 1 - fmin(1, share) : fmin(1, share);
}

/* ---- what a row takes */
/* The first of a group's lanes that needs it makes all of them wait. */
static double any_of(double share, double lanes) { return 1 - pow(1 - fmin(fmax(share, 0), 1), lanes); }

typedef struct Work {
    double share, bodies, chain;
} Work;

static void weigh_probe(const DevQuery *q, const ProbeSite *site, double rows, GplStage *out, double *waits) {
    const DevJoin *d = &q->ep->joins[site->join];
    const DState *st = &q->joins[site->join];
    double heads = d->form == DJ_BITMAP   ? (double)d->dom / 8
                   : d->form == DJ_DIRECT ? (double)d->dom * 4
                                          : (double)(st->mask + 1) * 4;
    out->random_ns += rows * access_ns(q, &q->r->rates.gather, heads);
    *waits += 1;
    if (d->form != DJ_HASH) return;
    out->random_ns += rows * access_ns(q, &q->r->rates.gather, (double)st->mem.bytes); /* its keys */
    *waits += 1;
}

static void weigh_sink(const DevQuery *q, const Program *p, double share, GplStage *out) {
    const Sink *s = &p->sink;
    const DeviceProfile *rates = &q->r->rates;
    out->compute += share * (4 * s->n_regs + 4 * s->n_keys + 4);
    if (s->kind == SINK_JOIN && q->ep->joins[s->id].form != DJ_HASH)
        out->random_ns += share * access_ns(q, &rates->atomic_cas, (double)q->ep->joins[s->id].dom * 4);
    if (s->kind != SINK_AGG) return;
    const DevAgg *d = &q->ep->aggs[s->id];
    double each = 0, bytes = (double)MAX_OF(d->n_slots, INT64_C(1)) * d->stride;
    if (d->form == DA_LOCAL && rates->local_atomic_mps > 0) each = 1000 / rates->local_atomic_mps;
    if (d->form == DA_DIRECT) each = access_ns(q, &rates->atomic_add, bytes);
    if (d->form == DA_HASH) each = access_ns(q, &rates->atomic_add, (double)q->aggs[s->id].mem.bytes);
    out->random_ns += share * each * (s->n_regs + (d->form == DA_HASH));
}

/* Instructions weighed by about what they take; returns the share of rows that is left. */
static double weigh(const DevQuery *q, const DSegment *first, const DSegment *seg, GplStage *out) {
    const Program *p = seg->p;
    double share = 1, bodies = 1, lanes = MAX_OF(q->d->info.warp, 1), waits = 1; /* for the source */
    bool four = p->source.kind == SRC_TABLE &&
                !one_item_groups(&q->d->info); /* rows of an item, of which it runs one after the other */
    int32_t loaded = -1;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        double compute = 2, keep = 1, wait = 0, here = share * bodies;
        switch (in->op) {
        case OP_LOAD:
        case OP_LOAD_CODE: compute = 4; break;
        case OP_LOAD_BUILD: /* columns of one build row are fetched together */
            compute = 3;
            out->random_ns +=
                here *
                access_ns(q, &q->r->rates.gather,
                          (double)q->joins[((const ProbeSite *)p->instrs[MAX_OF(p->regs[in->a].first, 0)].aux)->join]
                              .mem.bytes);
            wait = loaded == in->a ? 0 : 1;
            loaded = in->a;
            break;
        case OP_FILTER_RANGE:
            keep = range_share(first, in->imm, in->aux);
            compute = 4;
            break;
        case OP_FILTER_CODES:
            keep = mask_share(in->aux);
            compute = 5;
            break;
        case OP_FILTER: keep = 0.5; break;
        case OP_PROBE:
        case OP_PROBE_BEGIN:
            compute = 12;
            keep = probe_share(q, first, in->aux);
            weigh_probe(q, in->aux, here, out, &wait);
            break;
        case OP_LIKE:
            compute = 100;
            wait = 2;
            break;
        case OP_CALL: compute = 40; break;
        case OP_NUM_MUL:
        case OP_NUM_DIV: compute = 60; break;
        case OP_IF: bodies = 0.5; break;
        case OP_ENDIF: bodies = 1; break;
        default: break;
        }
        out->compute += here * compute;
        waits += wait * any_of(here, lanes) * (four ? 4 : 1);
        share *= keep;
    }
    out->chain = waits;
    out->group_rows = one_item_groups(&q->d->info) ? 1 : q->ep->target.group_size * (four ? 4.0 : 1.0);
    weigh_sink(q, p, share, out);
    return share;
}

static int64_t resident(DevQuery *q, const DSegment *s) {
    int64_t g = q->d->ops->resident_groups(s->main, q->ep->target.group_size, s->e.main_local_bytes);
    return g < 1 ? MAX_OF(1, q->ep->target.units) : g;
}

static bool in_turn(const DevQuery *q) { return q->opt.device.pipeline.in_turn || !q->d->info.concurrent; }

/* ---- what earlier runs of the same kernels have shown */
enum { LEARNED_SHARE = 1, LEARNED_BUSY, LEARNED_BOOST };
static uint64_t learned_name(const DevQuery *q, const Pipe *p, int32_t i, int what) {
    return hash_combine(q->segs[p->first + i].text, (uint64_t)(what * 32 + i * 2 + in_turn(q)));
}

/* The share of rows that K_i passed on, in millionths. */
static double known_share(const DevQuery *q, const Pipe *p, int32_t i, double guess) {
    int64_t known = i < p->n - 1 ? learned_get(q->r, learned_name(q, p, i, LEARNED_SHARE)) : -1;
    return known >= 0 ? (double)known / 1e6 : guess;
}

/* How long a group of K_i was busy per row, in picoseconds. */
static double known_busy(const DevQuery *q, const Pipe *p, int32_t i) {
    int64_t known = learned_get(q->r, learned_name(q, p, i, LEARNED_BUSY));
    return known > 0 ? (double)known / 1e3 : 0;
}

static Status choose(DevQuery *q, Pipe *p, Err *e) {
    if (p->chosen) return ST_OK;
    p->chosen = true;
    p->boost = (int32_t)MAX_OF(learned_get(q->r, learned_name(q, p, p->n - 1, LEARNED_BOOST)), INT64_C(0));
    const PipelineUse *use = &q->opt.device.pipeline;
    GplMachine m = q->r->machine;
    GplStage stages[GPL_STAGES_MAX] = {0};
    double share = 1;
    if (in_turn(q)) m.concurrency = 1;
    for (int32_t i = 0; i < p->n; i++) {
        DSegment *s = &q->segs[p->first + i];
        if (m.shares_units) TRY(q->d->ops->share_units(s->main, e));
        stages[i].share = share;
        stages[i].max_groups = resident(q, s);
        stages[i].row_bytes = i == 0 ? s->e.bytes_per_row : (double)state_row_bytes(q, &q->rows[s->p->source.id]);
        stages[i].busy_ns = known_busy(q, p, i);
        share *= known_share(q, p, i, weigh(q, &q->segs[p->first], s, &stages[i]));
    }
    GplFixed fixed = {
        .tile_rows = use->tile_rows, .channels = use->channels, .packet_rows = use->packet_rows, .groups = use->groups};
    bool host = one_item_groups(&q->d->info);
    gpl_choose(&m, stages, p->n, (double)source_rows(q, &q->segs[p->first]), q->ep->target.tile_rows,
               host ? 1 : q->ep->target.group_size * 4, &fixed, &p->choice);
    return ST_OK;
}

/* ---- channels ---------------------------------------------------------------------------------------------- */
/* Device memory of a pipeline: the control blocks of its channels one after the other; CLOCKS sums of times for each;
 * then the queues that they name. Rows are counted where the row store that a channel stands for has its counter. */
enum { HEADER_BYTES = EMIT_CHANNEL_HEAD * 8, HEADER_WORDS = 13, CLOCKS = 4 };

DevPtr pipe_channel(const DevQuery *q, int32_t rows) {
    const DState *st = &q->rows[rows];
    const Pipe *p = q->segs[st->first].pipe;
    return p->control.p + (uint64_t)((st->first - p->first) * HEADER_BYTES);
}

/* Rows of a source that a group of K_i takes at a time. */
static int64_t step_of(const DevQuery *q, const Pipe *p, int32_t i) {
    bool four = q->segs[p->first + i].p->source.kind == SRC_TABLE;
    return one_item_groups(&q->d->info) ? 1 : q->ep->target.group_size * (four ? 4 : 1);
}

/* Packets of a channel: concurrently, some for every group on either side; without concurrency all rows of a tile must
 * fit, whichever groups write them. */
static void size_channels(DevQuery *q, Pipe *p, int64_t rows) {
    const PipelineUse *use = &q->opt.device.pipeline;
    int64_t step = 1, most = 0, sides = 0;
    for (int32_t i = 0; i < p->n; i++) {
        step = MAX_OF(step, step_of(q, p, i));
        most = MAX_OF(most, p->choice.groups[i]);
        if (i + 1 < p->n) sides = MAX_OF(sides, 2 * p->choice.groups[i] + p->choice.groups[i + 1]);
    }
    p->cap = MAX_OF(p->choice.packet_rows, step) << (2 * p->boost);
    p->packets = use->ring > 0 ? use->ring * p->choice.channels : sides;
    if (in_turn(q)) {
        p->choice.channels = 1;
        int64_t tile = MIN_OF(MIN_OF(p->choice.tile_rows, (int64_t)TURN_TILE_MAX),
                              align_up(MAX_OF(rows, INT64_C(1)), q->ep->target.tile_rows));
        p->choice.tile_rows = MAX_OF(tile, (int64_t)q->ep->target.tile_rows);
        p->packets = 2 * (p->choice.tile_rows / MAX_OF(p->choice.packet_rows, step) + 1) + 2 * most + 2;
    }
    p->packets = MIN_OF(MAX_OF(p->packets, most), (int64_t)EMIT_CHANNEL_PACKETS_MAX); /* a group may keep one */
}

static int64_t heads_bytes(const Pipe *p) { return (p->n - 1) * HEADER_BYTES; }
static int64_t clocks_bytes(const Pipe *p) { return (p->n - 1) * CLOCKS * 8; }
static DevPtr clocks_of(const Pipe *p) { return p->control.p + (uint64_t)heads_bytes(p); }

/* A look at the room left is for `batch` rows of the source; it needs room for twice as many rows as these are known to
 * become. */
static void set_header(DevQuery *q, Pipe *p, int32_t i, DevPtr counter, DevPtr queues, uint64_t *header) {
    const GplChoice *c = &p->choice;
    int64_t step = step_of(q, p, i),
            batch = one_item_groups(&q->d->info) ? 1024 : MIN_OF(MAX_OF(p->cap / 4 / step * step, step), p->cap),
            room = batch;
    double share = known_share(q, p, i, 1);
    if (share > 1 && !in_turn(q)) room = (int64_t)fmin(2 * share * (double)batch, (double)p->cap);
    const uint64_t words[HEADER_WORDS] = {(uint64_t)c->channels,
                                          (uint64_t)p->packets,
                                          (uint64_t)p->cap,
                                          (uint64_t)c->groups[i],
                                          0,
                                          (uint64_t)batch,
                                          0,
                                          in_turn(q),
                                          0,
                                          (uint64_t)room,
                                          queues,
                                          counter,
                                          clocks_of(p) + (uint64_t)(i * CLOCKS * 8)};
    memcpy(header, words, sizeof words);
}

static Status make_channels(DevQuery *q, Pipe *p, Err *e) {
    int64_t heads = heads_bytes(p), clocks = clocks_bytes(p),
            block = emit_channel_words(p->choice.channels, p->packets) * 8;
    uint64_t words[(PIPELINE_STAGES - 1) * EMIT_CHANNEL_HEAD] = {0};
    p->queues = block * (p->n - 1);
    query_mem_put(q, &p->image);
    query_mem_put(q, &p->control);
    TRY(query_mem_get(q, heads, &p->image, e));
    TRY(query_mem_get(q, heads + clocks + p->queues, &p->control, e));
    TRY(query_zero(q, clocks_of(p), clocks, e));
    for (int32_t i = 0; i < p->n - 1; i++) {
        DState *st = &q->rows[q->segs[p->first + i].p->sink.id];
        if (!st->mem.bytes || st->cap != p->packets * p->cap) {
            query_mem_put(q, &st->mem);
            TRY(state_alloc_rows(q, st, p->packets * p->cap, e));
        }
        if (p->ran) TRY(query_zero(q, st->counter, 8, e));
        set_header(q, p, i, st->counter, p->control.p + (uint64_t)(heads + clocks + i * block),
                   words + i * EMIT_CHANNEL_HEAD);
    }
    p->ran = true;
    return query_set_words(q, p->image.p, words, (p->n - 1) * EMIT_CHANNEL_HEAD, e);
}

/* As they are before a round. */
static Status reset_channels(DevQuery *q, Pipe *p, Err *e) {
    TRY(q->d->ops->copy(q->lane->queue, p->control.p, p->image.p, heads_bytes(p), e));
    return query_zero(q, clocks_of(p) + (uint64_t)clocks_bytes(p), p->queues, e);
}

/* The times on their way to the host; *out NULL: no room in the lane's pinned words. */
static Status fetch_clocks(DevQuery *q, const Pipe *p, const uint64_t **out, Err *e) {
    int64_t n = (p->n - 1) * CLOCKS;
    *out = NULL;
    if (q->word_next + n > WORDS - 1) return ST_OK;
    uint64_t *words = (uint64_t *)q->lane->words.p + q->word_next;
    q->word_next += n;
    *out = words;
    return q->d->ops->copy_out(q->lane->queue, words, clocks_of(p), clocks_bytes(p), e);
}

/* Lives of K_i's groups without their waits and what every group takes anyway, per row, averaged with what is known:
 * the last runs count. */
static void learn_busy(DevQuery *q, const Pipe *p, int32_t i, const uint64_t *clocks, double rows) {
    double life = i > 0 ? (double)clocks[(i - 1) * CLOCKS + 3] : (double)clocks[1], waits = 0;
    if (i > 0) waits += (double)clocks[(i - 1) * CLOCKS + 2];
    if (i < p->n - 1) waits += (double)clocks[i * CLOCKS];
    double busy = life - waits - (double)(p->choice.groups[i] * p->rounds) * q->r->machine.group_ns,
           known = known_busy(q, p, i);
    if (life <= 0 || rows <= 0) return;
    busy = fmax(busy, 0.05 * (life - waits)) / rows;
    learned_put(q->r, learned_name(q, p, i, LEARNED_BUSY),
                (int64_t)fmin(fmax((known > 0 ? (known + busy) / 2 : busy) * 1e3, 1), 1e15));
}

/* What a run has shown is the model's input next time. In turn all rows handed over were there at once. */
static void learn(DevQuery *q, Pipe *p, const uint64_t *clocks) {
    double in = (double)source_rows(q, &q->segs[p->first]);
    for (int32_t i = 0; i < p->n; i++) {
        DSegment *s = &q->segs[p->first + i];
        if (clocks) learn_busy(q, p, i, clocks, in);
        if (i == p->n - 1) break;
        const DState *st = &q->rows[s->p->sink.id];
        int64_t rows = (int64_t)q->seen[st->counter_word];
        if (in > 0)
            learned_put(q->r, learned_name(q, p, i, LEARNED_SHARE), (int64_t)fmin((double)rows / in * 1e6, 1e15));
        if (in_turn(q)) s->stats.materialized = rows * state_row_bytes(q, st);
        s->added = rows;
        in = (double)rows;
    }
}

/* ---- rounds -------------------------------------------------------------------------------------------------- */
static Status queues_ready(DevQuery *q, int32_t n, Err *e) {
    Lane *l = q->lane;
    for (int32_t i = 0; i < n; i++) TRY(device_queue_need(q->d, &l->pipe[i], e));
    return ST_OK;
}

static Status launch(DevQuery *q, Pipe *p, int32_t i, DevQueue *queue, Err *e) {
    DSegment *s = &q->segs[p->first + i];
    s->stats.launches++;
    return q->d->ops->launch(queue, s->main, p->choice.groups[i], q->ep->target.group_size, s->e.main_local_bytes,
                             s->values, s->e.n_params, e);
}

/* All launches come before the first record: where queues share a channel to the device, a record that waits must not
 * stand before a kernel. */
static Status round_together(DevQuery *q, Pipe *p, Err *e) {
    Lane *l = q->lane;
    const DeviceOps *ops = q->d->ops;
    TRY(device_mark(q->d, l->queue, &l->pipe_go, e));
    for (int32_t i = 0; i < p->n; i++) TRY(ops->event_wait(l->pipe[i], l->pipe_go, e));
    for (int32_t i = 0; i < p->n; i++) TRY(launch(q, p, i, l->pipe[i], e));
    for (int32_t i = 0; i < p->n; i++) TRY(device_mark(q->d, l->pipe[i], &l->pipe_done[i], e));
    for (int32_t i = 0; i < p->n; i++) TRY(ops->event_wait(l->queue, l->pipe_done[i], e));
    return ST_OK;
}

/* Tiles of tablets list[first .. first + n): those behind the last one's rows are left out. */
static int64_t table_tiles(const DevQuery *q, const DSegment *s, int64_t first, int64_t n) {
    int64_t per = TABLET_ROWS / q->ep->target.tile_rows;
    return n > 0 ? (n - 1) * per + tiles_of(q, s->p->source.table->tablets[s->list[first + n - 1]]->rows) : 0;
}

/* Tiles 0 .. tiles - 1 of the first segment's list that begins at `list`. */
static Status run_rounds(DevQuery *q, Pipe *p, int64_t list, int64_t tiles, Err *e) {
    DSegment *first = &q->segs[p->first];
    int64_t step = MAX_OF(p->choice.tile_rows / q->ep->target.tile_rows, INT64_C(1));
    if (p->choice.tile_rows >= source_rows(q, first) && !in_turn(q))
        step = MAX_OF(tiles, INT64_C(1)); /* tablets need not be full */
    for (int32_t i = p->first; i <= p->last; i++) TRY(params_fill(q, &q->segs[i], e));
    if (first->p->source.kind == SRC_TABLE)
        params_set(first, KP_TABLET_LIST, q->consts.p + (uint64_t)(first->list_at + list * 4));
    q->busy = true;
    q->checked = false;
    for (int64_t t = 0; t < tiles; t += step) {
        TRY(query_check_cancel(q, e));
        params_set(first, KP_CHAN_TILE, (uint64_t)t);
        params_set(first, KP_SRC_TILES, (uint64_t)MIN_OF(t + step, tiles));
        TRY(reset_channels(q, p, e));
        p->rounds++;
        if (in_turn(q)) {
            for (int32_t i = 0; i < p->n; i++) TRY(launch(q, p, i, q->lane->queue, e));
        } else {
            TRY(round_together(q, p, e));
        }
    }
    return ST_OK;
}

typedef struct Streamed {
    DevQuery *q;
    Pipe *p;
} Streamed;
static Status run_piece(void *ctx, int64_t first, int64_t n, Err *e) {
    const Streamed *x = ctx;
    return run_rounds(x->q, x->p, first, table_tiles(x->q, &x->q->segs[x->p->first], first, n), e);
}

static Status run_source(DevQuery *q, Pipe *p, Err *e) {
    DSegment *s = &q->segs[p->first];
    bool table = s->p->source.kind == SRC_TABLE;
    if (table && res_moves(s)) {
        Streamed x = {q, p};
        return res_stream(q, s, run_piece, &x, e);
    }
    return run_rounds(q, p, 0, table ? table_tiles(q, s, 0, s->n_list) : tiles_of(q, source_rows(q, s)), e);
}

/* Ends kernels that wait for others which were never started. */
static void give_up(DevQuery *q, Pipe *p) {
    Err quiet;
    err_clear(&quiet);
    query_stop_kernels(q);
    bool ok = q->d->ops->sync(q->lane->stop, NULL, NULL, &quiet) == ST_OK;
    for (int32_t i = 0; i < p->n; i++)
        if (q->lane->pipe[i]) ok = q->d->ops->sync(q->lane->pipe[i], NULL, NULL, &quiet) == ST_OK && ok;
    ok = q->d->ops->sync(q->lane->queue, NULL, NULL, &quiet) == ST_OK && ok;
    if (!ok) q->lane->broken = true;
}

static Status lock_device(DevQuery *q, Err *e) {
    const struct timespec nap = {.tv_nsec = 200000};
    while (!mutex_try(&q->r->pipe_lock)) {
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
    p->rounds = 0;
    const uint64_t *clocks = NULL;
    Status st = choose(q, p, e);
    if (st == ST_OK) {
        size_channels(q, p, source_rows(q, s));
        st = make_channels(q, p, e);
    }
    if (st == ST_OK && !in_turn(q)) st = queues_ready(q, p->n, e);
    if (st == ST_OK) {
        st = run_source(q, p, e);
        if (st == ST_OK) st = fetch_clocks(q, p, &clocks, e);
        if (st == ST_OK) st = q->d->ops->copy_out(q->lane->queue, q->seen, q->control.p, q->control_words * 8, e);
        if (st == ST_OK) st = query_sync(q, e);
        else give_up(q, p);
    }
    mutex_unlock(&q->r->pipe_lock);
    if (st != ST_OK) return st;
    learn(q, p, clocks);
    s->rows_in = source_rows(q, s);
    return ST_OK;
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
            return err_set(e, ERR_LIMIT_EXCEEDED,
                           "the channels of a pipeline on device %s would need packets of more than %lld rows",
                           q->d->info.id, (long long)p->cap);
        learned_put(q->r, learned_name(q, p, p->n - 1, LEARNED_BOOST), p->boost);
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
        int at = snprintf(
            p->note, sizeof p->note,
            "pipeline of %d kernels%s, %lld round%s of %lld rows, %lld channel%s, %lld packets of %lld rows, groups",
            (int)p->n,
            q->opt.device.pipeline.in_turn ? " in turn"
            : q->d->info.concurrent        ? ""
                                           : " in turn (the device runs no kernels at the same time)",
            (long long)p->rounds, p->rounds == 1 ? "" : "s", (long long)c->tile_rows, (long long)c->channels,
            c->channels == 1 ? "" : "s", (long long)p->packets, (long long)p->cap);
        for (int32_t i = 0; i < p->n && at > 0 && at < (int)sizeof p->note - 16; i++)
            at += snprintf(p->note + at, sizeof p->note - (size_t)at, "%s%lld", i ? "+" : " ", (long long)c->groups[i]);
        *model_ns = c->ns;
    }
    const char *copy = arena_strdup(q->arena, p->note);
    return copy;
}
