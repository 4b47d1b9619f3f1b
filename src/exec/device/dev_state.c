/* dev_state.c - joins, aggregations, sorts and rows in device memory: capacity, allocation, restart.
 *
 * Capacity. When the program cannot multiply rows, the source's rows are an upper bound and the sink can never
 * overflow; it is taken when its memory is small against the device's. Otherwise a guess: what this kernel needed the
 * last time, else the source's rows, else the planner's estimate, cut to a share of memory. A guess that was too small
 * costs one more run of the segment, with the exact size.
 *
 * A block per state: columns, validity bytes, chains and matched flags lie side by side in it.
 */
#include "base/mutex.h"
#include "exec/device/dev_int.h"

enum { ROUND = 256, GUESS_MIN = 1024 };
static const int64_t ROWS_MAX = (INT64_C(1) << 32) - 2;

/* ---- what states there are ------------------------------------------------------------------------ */
static Status state_init(DevQuery *q, DState *st, SinkKind kind, int32_t id, int32_t n_cols, const DevCol *cols,
                         Err *e) {
    *st = (DState){.kind = kind, .id = id, .first = -1, .last = -1, .n_cols = n_cols, .cols = cols};
    st->data = arena_array(q->arena, DevPtr, n_cols + 1);
    st->valid = arena_array(q->arena, DevPtr, n_cols + 1);
    return st->data && st->valid ? ST_OK : err_oom(e);
}

Status states_init(DevQuery *q, Err *e) {
    const QueryPlan *plan = q->plan;
    const EmitPlan *ep = q->ep;
    q->n_states = plan->n_joins + plan->n_aggs + 2 * plan->n_rows + plan->n_sorts;
    if (!(q->states = arena_array(q->arena, DState, q->n_states + 1))) return err_oom(e);
    q->joins = q->states;
    q->aggs = q->joins + plan->n_joins;
    q->rows = q->aggs + plan->n_aggs;
    q->staged = q->rows + plan->n_rows;
    q->sorts = q->staged + plan->n_rows;
    int64_t word = (int64_t)q->n * 2;
    for (int32_t i = 0; i < plan->n_joins; i++) {
        DState *st = &q->joins[i];
        TRY(state_init(q, st, SINK_JOIN, i, ep->joins[i].n_cols, ep->joins[i].cols, e));
        st->stored = ep->joins[i].stored;
        st->fixed = ep->joins[i].form == DJ_BITMAP;
        st->counter_word = word;
        word += 3; /* counter, then four flags */
    }
    for (int32_t i = 0; i < plan->n_aggs; i++) {
        DState *st = &q->aggs[i];
        TRY(state_init(q, st, SINK_AGG, i, 0, NULL, e));
        st->fixed = ep->aggs[i].form != DA_HASH;
        st->counter_word = word++;
    }
    for (int32_t i = 0; i < plan->n_rows; i++) {
        const DevRows *r = &ep->rows[i];
        TRY(state_init(q, &q->rows[i], SINK_ROWS, i, r->n_cols, r->cols, e));
        q->rows[i].counter_word = word++;
        if (!r->has_seq) continue;
        DevCol *cols = arena_array(q->arena, DevCol, r->n_cols + 1);
        if (!cols) return err_oom(e);
        if (r->n_cols) memcpy(cols, r->cols, sizeof *cols * (size_t)r->n_cols);
        cols[r->n_cols] = (DevCol){.phys = PH_I64, .type = type_make(T_INT8)};
        TRY(state_init(q, &q->staged[i], SINK_ROWS, i, r->n_cols + 1, cols, e));
        q->staged[i].counter_word = word++;
    }
    for (int32_t i = 0; i < plan->n_sorts; i++) {
        TRY(state_init(q, &q->sorts[i], SINK_SORT, i, ep->sorts[i].n_cols, ep->sorts[i].cols, e));
        q->sorts[i].counter_word = word++;
    }
    q->control_words = word;
    for (int32_t i = 0; i < q->n; i++) {
        if (q->segs[i].reason) continue;
        DState *st = sink_state(q, &q->segs[i].p->sink);
        if (!st) continue;
        if (st->first < 0) st->first = i;
        st->last = i;
    }
    return ST_OK;
}

DState *sink_state(DevQuery *q, const Sink *s) {
    switch (s->kind) {
    case SINK_ROWS: return q->ep->rows[s->id].has_seq ? &q->staged[s->id] : &q->rows[s->id];
    case SINK_SORT: return &q->sorts[q->plan->rows[s->id].sort];
    case SINK_JOIN: return &q->joins[s->id];
    case SINK_AGG: return &q->aggs[s->id];
    default: return NULL;
    }
}
DState *source_state(DevQuery *q, const Source *s) {
    switch (s->kind) {
    case SRC_ROWS: return &q->rows[s->id];
    case SRC_AGG: return &q->aggs[s->id];
    case SRC_JOIN: return &q->joins[s->id];
    default: return NULL;
    }
}

int64_t source_rows(DevQuery *q, const DSegment *s) {
    const Source *src = &s->p->source;
    switch (src->kind) {
    case SRC_ONE: return 1;
    case SRC_TABLE: return s->list_rows;
    case SRC_SERIES: {
        int128_t span = (int128_t)src->stop - src->start;
        int128_t n = src->step > 0 ? (span < 0 ? 0 : span / src->step + 1) : (span > 0 ? 0 : span / src->step + 1);
        return n > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)n;
    }
    case SRC_ROWS: {
        const RowsSpec *r = &q->plan->rows[src->id];
        if (q->ep->rows[src->id].channel) return source_rows(q, &q->segs[q->rows[src->id].first]);
        int64_t n = q->rows[src->id].count;
        if (r->sort >= 0) return n;
        n = MAX_OF(INT64_C(0), n - r->offset);
        return r->limit >= 0 ? MIN_OF(n, r->limit) : n;
    }
    case SRC_AGG: return q->aggs[src->id].count;
    default: return q->joins[src->id].count;
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------- */
int64_t learned_get(DevRuntime *r, uint64_t text) {
    mutex_lock(&r->lock);
    const Learned *l = &r->learned[text % LEARNED];
    int64_t need = l->text == text ? l->need : -1;
    mutex_unlock(&r->lock);
    return need;
}
void learned_put(DevRuntime *r, uint64_t text, int64_t need) {
    mutex_lock(&r->lock);
    r->learned[text % LEARNED] = (Learned){text, need};
    mutex_unlock(&r->lock);
}

static bool multiplies(const Program *p) {
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_REPEAT) return true;
        if (in->op != OP_PROBE && in->op != OP_PROBE_BEGIN) continue;
        uint8_t kind = ((const ProbeSite *)in->aux)->kind;
        if (kind == PK_INNER || kind == PK_LEFT) return true;
    }
    return false;
}

static bool segment_multiplies(const DevQuery *q, const DSegment *s) {
    if (!s->pipe) return multiplies(s->p);
    for (int32_t i = s->pipe->first; i <= s->pipe->last; i++)
        if (multiplies(q->segs[i].p)) return true;
    return false;
}

static bool has_column(const DState *st, int32_t c) { return !st->stored || st->stored[c]; }
int64_t state_row_bytes(const DevQuery *q, const DState *st) {
    if (st->kind == SINK_AGG) return q->ep->aggs[st->id].stride + 32;
    int64_t n = 0;
    for (int32_t c = 0; c < st->n_cols; c++)
        if (has_column(st, c)) n += phys_size((Phys)st->cols[c].phys) + st->cols[c].nullable;
    if (st->kind == SINK_JOIN) n += 4 + q->plan->joins[st->id].track_matched;
    return MAX_OF(n, INT64_C(1));
}

/* Slots that appending to a join may leave empty. */
static int64_t segment_slack(DevQuery *q, const DSegment *s) {
    int64_t groups = segment_groups(q, s, s->main, s->e.main_local_bytes);
    if (q->d->info.native_threads) groups *= HOST_SPREAD;
    int64_t rows = source_rows(q, s),
            tiles = rows / q->ep->target.tile_rows + (s->p->source.kind == SRC_TABLE ? s->n_list : 1);
    return join_slack(rows, MIN_OF(MAX_OF(groups, (int64_t)q->ep->target.units), tiles));
}

/* Rows the state should have room for before `segment` runs. */
static int64_t choose_capacity(DevQuery *q, const DState *st, int32_t segment) {
    const DSegment *s = &q->segs[segment];
    int64_t rows = source_rows(q, s), bound = rows, width = state_row_bytes(q, st), share = dev_limit(q->d) / 8 / width;
    if (st->kind == SINK_JOIN) bound += segment_slack(q, s);
    bool multi = segment_multiplies(q, s);
    if (st->last != segment) multi = true; /* what the others bring is not known yet */
    if (q->opt.device.initial_rows > 0 && !s->e.identity_sink) return q->opt.device.initial_rows;
    if (s->e.identity_sink && st->last == segment) return rows;
    int64_t learned = learned_get(q->r, s->text), guess;
    if (learned >= 0) guess = learned + learned / 8 + 64;
    else if (st->kind == SINK_AGG)
        guess = (int64_t)MIN_OF(MAX_OF(q->plan->aggs[st->id].est_groups * 1.5, (double)GUESS_MIN), 1e15);
    else guess = bound;
    if (!multi) guess = MIN_OF(guess, bound);
    if (guess > share) {
        double est = st->kind == SINK_JOIN ? q->plan->joins[st->id].est_rows : s->p->source.est_rows;
        int64_t less = (int64_t)MIN_OF(est * 1.5 + GUESS_MIN, 1e15);
        guess = MIN_OF(guess, MAX_OF(less, share));
    }
    return MIN_OF(MAX_OF(guess, multi ? (int64_t)GUESS_MIN : INT64_C(1)), ROWS_MAX);
}

static int64_t power_of_two(int64_t n) {
    int64_t p = 16;
    while (p < n) p *= 2;
    return p;
}

/* ---- memory ----------------------------------------------------------------------------------------------- */
Status state_alloc_rows(DevQuery *q, DState *st, int64_t cap, Err *e) {
    bool join = st->kind == SINK_JOIN, track = join && q->plan->joins[st->id].track_matched;
    if (cap > ROWS_MAX) {
        err_set(e, ERR_OUT_OF_MEMORY, "an operator on device %s needs room for %lld rows", q->d->info.id,
                (long long)cap);
        err_detail(e, "At most %lld rows fit.", (long long)ROWS_MAX);
        return ST_ERROR;
    }
    for (int pass = 0; pass < 2; pass++) {
        uint64_t at = pass ? st->mem.p : 0;
        for (int32_t c = 0; c < st->n_cols; c++) {
            st->data[c] = st->valid[c] = 0;
            if (!has_column(st, c)) continue;
            st->data[c] = at;
            at += (uint64_t)align_up(cap * phys_size((Phys)st->cols[c].phys), ROUND);
            if (!st->cols[c].nullable) continue;
            st->valid[c] = at;
            at += (uint64_t)align_up(cap, ROUND);
        }
        if (join) {
            st->next = at;
            at += (uint64_t)align_up(cap * 4, ROUND);
        }
        if (track) {
            st->matched = at;
            at += (uint64_t)align_up(cap, ROUND);
        }
        if (pass == 0) TRY(query_mem_get(q, (int64_t)at + ROUND, &st->mem, e));
    }
    st->cap = cap;
    return ST_OK;
}

static Status alloc_aggregation(DevQuery *q, DState *st, int64_t cap, Err *e) {
    const DevAgg *a = &q->ep->aggs[st->id];
    st->cap = a->form == DA_HASH ? cap : a->n_slots;
    TRY(query_mem_get(q, align_up(st->cap * a->stride, ROUND) + ROUND, &st->mem, e));
    if (a->form != DA_HASH) {
        st->count = a->n_slots;
        st->exact = true;
        return ST_OK;
    }
    int64_t slots = power_of_two(2 * cap);
    TRY(query_mem_get(q, slots * 8, &st->head, e));
    st->mask = slots - 1;
    return ST_OK;
}

static Status alloc_join(DevQuery *q, DState *st, int64_t cap, Err *e) {
    const DevJoin *j = &q->ep->joins[st->id];
    if (j->form == DJ_BITMAP)
        return st->head.bytes ? ST_OK : query_mem_get(q, align_up(j->dom / 8 + 8, 8), &st->head, e);
    if (j->form == DJ_DIRECT && !st->head.bytes) TRY(query_mem_get(q, (j->dom + 1) * 4, &st->head, e));
    return state_alloc_rows(q, st, cap, e);
}

/* Slots of a join that have not been filled. */
static Status mark_empty(DevQuery *q, DState *st, Err *e) {
    q->busy = true;
    if (q->ep->joins[st->id].form == DJ_HASH) TRY(q->d->ops->fill(q->lane->queue, st->next, 0xff, st->cap * 4, e));
    return st->matched ? q->d->ops->fill(q->lane->queue, st->matched, 0xff, st->cap, e) : ST_OK;
}

/* Everything the segments that feed it start from. */
Status state_empty(DevQuery *q, DState *st, Err *e) {
    if (st->kind == SINK_AGG) {
        const DevAgg *a = &q->ep->aggs[st->id];
        TRY(query_zero(q, st->mem.p, st->cap * a->stride, e));
        if (a->form == DA_HASH) TRY(query_zero(q, st->head.p, (st->mask + 1) * 8, e));
        return ST_OK;
    }
    if (st->kind != SINK_JOIN) return ST_OK;
    const DevJoin *j = &q->ep->joins[st->id];
    if (j->form == DJ_BITMAP) return query_zero(q, st->head.p, align_up(j->dom / 8 + 8, 8), e);
    if (j->form == DJ_DIRECT) TRY(query_zero(q, st->head.p, (j->dom + 1) * 4, e));
    return mark_empty(q, st, e);
}

static Status make_room(DevQuery *q, DState *st, int64_t cap, Err *e) {
    if (st->kind == SINK_AGG) return alloc_aggregation(q, st, cap, e);
    if (st->kind == SINK_JOIN) return alloc_join(q, st, cap, e);
    return state_alloc_rows(q, st, cap, e);
}

Status state_begin(DevQuery *q, DState *st, int32_t segment, Err *e) {
    st->count = 0;
    st->exact = true;
    return make_room(q, st, st->fixed ? 0 : choose_capacity(q, st, segment), e);
}

Status state_extend(DevQuery *q, DState *st, int32_t segment, Err *e) {
    if (st->fixed || st->kind == SINK_AGG) return ST_OK;
    const DSegment *s = &q->segs[segment];
    bool must = s->e.identity_sink; /* such a segment writes all its rows without asking */
    int64_t more = must ? source_rows(q, s) : choose_capacity(q, st, segment);
    if (st->count + more <= st->cap) return ST_OK;
    if (!must && (q->opt.device.initial_rows > 0 || st->count + more > ROWS_MAX ||
                  (st->count + more) * state_row_bytes(q, st) > dev_limit(q->d) / 4))
        return ST_OK;
    DState old = *st;
    if (!(st->data = arena_array(q->arena, DevPtr, st->n_cols + 1)) ||
        !(st->valid = arena_array(q->arena, DevPtr, st->n_cols + 1))) {
        *st = old;
        return err_oom(e);
    }
    st->mem = (DevMem){0};
    if (state_alloc_rows(q, st, old.count + more, e) != ST_OK) {
        *st = old;
        return ST_ERROR;
    }
    Status r = st->kind == SINK_JOIN ? mark_empty(q, st, e) : ST_OK;
    for (int32_t c = 0; c < st->n_cols && r == ST_OK && old.count > 0; c++) {
        if (st->data[c] && old.data[c])
            r = q->d->ops->copy(q->lane->queue, st->data[c], old.data[c], old.count * phys_size((Phys)st->cols[c].phys),
                                e);
        if (r == ST_OK && st->data[c] && st->valid[c])
            r = q->d->ops->copy(q->lane->queue, st->valid[c], old.valid[c], old.count, e);
    }
    if (r == ST_OK && st->kind == SINK_JOIN && old.count > 0)
        r = q->d->ops->copy(q->lane->queue, st->next, old.next, old.count * 4, e);
    if (r == ST_OK && st->matched && old.count > 0)
        r = q->d->ops->copy(q->lane->queue, st->matched, old.matched, old.count, e);
    q->busy = true;
    query_mem_put(q, &old.mem);
    return r;
}

Status state_restart(DevQuery *q, DState *st, int64_t need, int32_t segment, Err *e) {
    const DSegment *s = &q->segs[segment];
    int64_t cap = need + need / 8 + 64;
    if (st->kind == SINK_JOIN) cap += segment_slack(q, s);
    if (st->kind == SINK_AGG) {
        /* Rows that found no record count again and again: no more groups than rows, and no need to believe more than a
         * step at first. */
        if (st->first == segment && !segment_multiplies(q, s)) cap = MIN_OF(cap, source_rows(q, s) + 1);
        int64_t step = MAX_OF(st->cap * 16, (int64_t)GUESS_MIN);
        if (cap > step && cap * state_row_bytes(q, st) > dev_limit(q->d) / 16) cap = step;
        cap = MAX_OF(cap, st->cap + 1);
        query_mem_put(q, &st->head);
    }
    query_mem_put(q, &st->mem);
    st->matched = st->next = 0;
    TRY(make_room(q, st, cap, e));
    TRY(state_empty(q, st, e));
    TRY(query_zero(q, st->counter, 8, e));
    if (st->flags) TRY(query_zero(q, st->flags, 16, e));
    return ST_OK;
}

bool state_needs_count(DevQuery *q, const DState *st, const DSegment *s) {
    if (st->fixed || s->e.identity_sink) return false;
    if (s->pipe) return true; /* waited for anyway, and every round may leave slots empty */
    if (st->kind != SINK_JOIN || q->ep->joins[st->id].form != DJ_DIRECT) return true;
    if (segment_multiplies(q, s) || st->first != st->last || st->cap < source_rows(q, s) + segment_slack(q, s))
        return true;
    for (int32_t i = 0; i < q->plan->n_segments; i++) {
        const Source *src = &q->plan->segments[i].program->source;
        if (src->kind == SRC_JOIN && src->id == st->id) return true;
    }
    return false;
}

void state_release(DevQuery *q, DState *st) {
    query_mem_put(q, &st->mem);
    query_mem_put(q, &st->head);
    st->next = st->matched = 0;
}
