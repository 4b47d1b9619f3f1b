/* bulk_foot.c - footprints by kernels (codegen/emit_proc.h, "bulk_foot"), and the schedule on the device.
 *
 * A device that shares the host's memory writes the operations where the machine's workers would, and the host makes
 * the schedule. On any other the operations stay, are ranked there (rank_device.h), and calls run under the locks, or
 * in the sets, that come out: the host gets no more than sums, counts, where sets begin and whether a footprint failed.
 * For PART the host fetches the operations: partitions are made by it alone. When a footprint failed, the machine makes
 * the footprints.
 *
 * Operations vary in number. A group has room for as many as calls of earlier bulks had on average, with a margin; when
 * that is not enough, the kernel has counted what is needed, and runs again.
 */
#include "base/hash.h"
#include "base/log.h"
#include "txn/device/bulk_device_int.h"

enum {
    OPS_GUESS = 12 /* operations of a call, when nothing is known */,
    OPS_MORE = 4096,
    DEPTH_MAX = 1 << 16 /* of a bulk whose depth is computed for the figures: deeper ones are reported with this */
};

Status bulk_foot_value(Bulk *b, int32_t group, const EmitParam *p, uint64_t *to, Err *e) {
    const ProgRun *pr = b->groups[group].proc->foot;
    const ItemSite *it = p->kind >= PP_ITEM_BASE && p->kind <= PP_DEQUEUE_KIND ? pr->p->instrs[p->id].aux : NULL;
    int32_t slot = it ? pr->add_slot[p->id] : -1;
    switch (p->kind) {
    case PP_ITEM_BASE:
        *to = hash_combine(hash_u64((uint64_t)pr->proc->tables[it->table].table_id), it->group);
        return ST_OK;
    case PP_ITEM_KIND:
        *to = pr->left_out[p->id] ? ITEM_LEFT_OUT : slot == ADD_EXCLUSIVE ? OPK_WRITE : it->kind;
        return ST_OK;
    case PP_DEQUEUE_KIND:
        *to = b->device->statement.on && group == b->device->statement.dequeue_group
                  ? b->device->statement.dequeue_kinds[p->id]
                  : DEQUEUE_KIND_NONE;
        return ST_OK;
    case PP_ITEM_SUM:
        *to = slot >= 0 ? bulk_device_at(b, &b->device->control.foot_words[FW_SUMS + 2 * slot]) : 0;
        return ST_OK;
    default: return bulk_program_value(b, pr->p, p, to, e);
    }
}

/* What a run of the kernel adds to. */
static Status zero(Bulk *b, DevQueue *q, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    memset(v->control.foot_words, 0, (size_t)foot_words(b) * 8);
    if (!v->copies) memset(b->foot.failed, 0, (size_t)b->n_calls);
    if (v->copies) TRY(ops->fill(q, bulk_device_at(b, v->control.foot_words), 0, foot_words(b) * 8, e));
    if (v->copies) TRY(ops->fill(q, bulk_device_at(b, v->control.foot_failed), 0, b->n_calls, e));
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++) {
            uint32_t *counts = b->groups[k].proc->foot->tables[i].counts;
            if (!counts) continue;
            memset(counts, 0, (size_t)b->groups[k].group->n * 4);
            if (v->copies) TRY(ops->fill(q, bulk_device_at(b, counts), 0, b->groups[k].group->n * 4, e));
        }
    return ST_OK;
}

Status bulk_foot_queue(Bulk *b, DevQueue *q, int64_t groups, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    TRY(zero(b, q, e));
    TRY(bulk_send_values(b, q, e));
    v->params.values[PROC_LAUNCH_AT] = (uint64_t)b->n_calls;
    v->params.values[PROC_LAUNCH_AT + 1] = 0;
    TRY(bulk_launch(b, q, v->foot, groups, e));
    if (!v->copies) return ST_OK;
    TRY(ops->copy_out(q, v->control.foot_words, bulk_device_at(b, v->control.foot_words), foot_words(b) * 8, e));
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++) {
            uint32_t *counts = b->groups[k].proc->foot->tables[i].counts;
            if (counts) TRY(ops->copy_out(q, counts, bulk_device_at(b, counts), b->groups[k].group->n * 4, e));
        }
    return ST_OK;
}
static Status launch(Bulk *b, int64_t groups, Err *e) {
    BulkDevice *v = b->device;
    TRY(bulk_compute_values(b, e));
    const bool taken = bulk_foot_take(b); /* then the result is made later, while the device ranks */
    if (!taken) TRY(bulk_foot_queue(b, v->queue, groups, e));
    Status made = ST_OK;
    if (!taken && v->copies && !b->result &&
        !b->writes_only) { /* meanwhile the result, unless only operations are needed */
        bulk_mark(b, BP_FOOT);
        made = bulk_make_result(b, e);
        bulk_mark(b, BP_RESULT);
    }
    TRY(device_finish(v->d, v->queue, bulk_device_poll, b, e));
    return made;
}

static void take_sums(Bulk *b) {
    const uint64_t *w = &b->device->control.foot_words[FW_SUMS];
    for (int i = 0; i < b->workers; i++) memset(b->w[i].sink.sums, 0, sizeof(uint128_t) * (size_t)b->foot.n_sums);
    b->w[0].sink.null_amount = (b->device->control.foot_words[FW_FLAGS] & FOOT_NULL_AMOUNT) != 0;
    for (int32_t i = 0; i < b->foot.n_sums; i++) b->w[0].sink.sums[i] = w[2 * i + 1] ? (uint128_t)INT128_MAX : w[2 * i];
}

static double guess(const Bulk *b) {
    double known = b->device->code->past.ops_per_call;
    return known > 0 ? known : OPS_GUESS;
}
static void learn(Bulk *b, int64_t ops) {
    BulkCode *c = (BulkCode *)(uintptr_t)b->device->code;
    c->past.ops_per_call = MAX_OF(c->past.ops_per_call, (double)ops / (double)b->n_calls * 1.1);
}

/* ---- shared memory: as the machine's workers leave them ---- */
static Status worker_room(Bulk *b, int64_t want, Err *e) {
    for (int i = 0; i < b->workers; i++) {
        BulkWorker *w = &b->w[i];
        TRY(bulk_ops_room(w, want, e));
        b->device->plan.ops_of[2 * i] = (uint64_t)(uintptr_t)w->ops;
        b->device->plan.ops_of[2 * i + 1] = (uint64_t)w->cap_ops;
    }
    return ST_OK;
}

static Status run_shared(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    _Static_assert(sizeof(TxnOp) == 16 && sizeof(BulkBlock) == 24, "as the kernel writes them");
    b->foot.block_size = FOOT_TILE;
    b->foot.n_blocks = (b->n_calls + FOOT_TILE - 1) / FOOT_TILE;
    b->foot.blocks = arena_array(b->arena, BulkBlock, b->foot.n_blocks + 1);
    v->plan.ops_of = arena_array(b->arena, uint64_t, 2 * b->workers + 1);
    if (!b->foot.blocks || !v->plan.ops_of) return err_oom(e);
    int64_t groups = MIN_OF((int64_t)b->workers, b->foot.n_blocks),
            want = (int64_t)((double)b->n_calls * guess(b)) / groups + OPS_MORE;
    for (;;) {
        TRY(worker_room(b, want, e));
        TRY(launch(b, groups, e));
        int64_t most = (int64_t)v->control.foot_words[FW_OPS], room = INT64_MAX;
        for (int i = 0; i < b->workers; i++) room = MIN_OF(room, b->w[i].cap_ops);
        if (most > room) { /* another group may have more next time */
            want = most + most / 4;
            continue;
        }
        take_sums(b);
        atomic_store(&b->alone, (v->control.foot_words[FW_FLAGS] & FOOT_FAILED) != 0);
        if (!bulk_demote_adds(b)) break;
    }
    for (int i = 0; i < b->workers; i++) b->w[i].n_ops = 0;
    int64_t total = 0;
    for (int64_t i = 0; i < b->foot.n_blocks; i++) {
        b->w[b->foot.blocks[i].worker].n_ops += b->foot.blocks[i].n;
        total += b->foot.blocks[i].n;
    }
    learn(b, total);
    return ST_OK;
}

/* ---- memory of its own: ranked there ---- */
int64_t bulk_foot_guess(const Bulk *b) { return (int64_t)((double)b->n_calls * guess(b)) + OPS_MORE; }
int64_t bulk_foot_room(BulkDevice *v, int64_t want, DevPtr at) {
    v->plan.ops_max = want;
    v->plan.ops_at = at;
    v->plan.uses_at = at + (uint64_t)align_up(want * 8, 256);
    return align_up(want * 8, 256) + want * 4 + 256;
}
static Status ops_room(Bulk *b, int64_t want, Err *e) {
    DevPtr at;
    TRY(bulk_device_memory(b, BM_OPS, bulk_foot_room(b->device, want, 0), &at, e));
    (void)bulk_foot_room(b->device, want, at);
    return ST_OK;
}

/* K-SET: a launch for each set, its calls by procedure, or with group_bits = 0 by time alone. */
static Status plan_sets(Bulk *b, const RankInput *locks, Err *e) {
    BulkDevice *v = b->device;
    RankInput in = *locks;
    const RankSets *r = &v->plan.sets;
    if (in.group_bits == 0) in.types = 0, in.n_types = 1;
    TRY(rank_device_sets(b->images->rank, v->queue, &in, &v->plan.sets, e));
    v->plan.ranked = v->plan.in_sets = v->plan.counted = true;
    Schedule s = {.strategy = STRATEGY_KSET,
                  .n_calls = b->n_calls,
                  .depth = r->depth,
                  .width0 = r->width0,
                  .crossing = r->crossing,
                  .n_sets = r->depth,
                  .why = "asked for"};
    if (!(s.set_start = arena_array(b->arena, int64_t, s.n_sets + 1))) return err_oom(e);
    for (int64_t k = 0; k <= s.n_sets; k++) s.set_start[k] = r->starts[k * in.n_types];
    b->schedule = s;
    return ST_OK;
}

/* The operations, in any order. */
static Status fetch_ops(Bulk *b, int64_t places, Err *e) {
    const BulkDevice *v = b->device;
    BulkWorker *w = &b->w[0];
    const int64_t began = clock_ns(), items_bytes = align_up(places * 8, 256);
    void *fetched;
    TRY(bulk_host_memory(b, BH_OPS, items_bytes + places * 4, &fetched, e));
    const uint64_t *items = fetched;
    const uint32_t *uses = (const uint32_t *)(const void *)((const char *)fetched + items_bytes);
    if (places > 0) {
        TRY(v->d->ops->copy_out(v->queue, fetched, v->plan.ops_at, places * 8, e));
        TRY(device_read(v->d, v->queue, (void *)(uintptr_t)uses, v->plan.uses_at, places * 4, e));
    }
    b->times.transfer_ns += clock_ns() - began;
    TRY(bulk_ops_room(w, places, e));
    w->n_ops = 0;
    for (int64_t i = 0; i < places; i++) {
        const uint32_t kind = uses[i] & ((1u << RANK_KIND_BITS) - 1);
        if (kind != RANK_NONE)
            w->ops[w->n_ops++] = (TxnOp){items[i], uses[i] >> RANK_KIND_BITS, (uint8_t)(kind & ~(uint32_t)RANK_AGAIN)};
    }
    if (!(b->foot.runs = arena_array(b->arena, OpRun, 1))) return err_oom(e);
    b->foot.runs[0] = (OpRun){w->ops, w->n_ops};
    b->foot.n_runs = 1;
    b->foot.n_ops = w->n_ops;
    b->foot.unordered = true;
    return ST_OK;
}

/* Runs the kernel until there was room for all operations and all additions that are shared commute. *made false: a
 * footprint failed, or the bulk is canceled, so that some may be missing. */
static Status make_ops(Bulk *b, bool *made, Err *e) {
    BulkDevice *v = b->device;
    *made = false;
    TRY(ops_room(b, bulk_foot_guess(b), e));
    for (;;) {
        TRY(launch(b, bulk_device_groups(b, b->n_calls), e));
        if (v->control.foot_words[FW_FLAGS] & FOOT_FAILED) return ST_OK;
        int64_t most = (int64_t)v->control.foot_words[FW_OPS];
        if (most > v->plan.ops_max) {
            TRY(ops_room(b, most + most / 8, e));
            continue;
        }
        take_sums(b);
        if (!bulk_demote_adds(b)) break;
    }
    bulk_mark_device(b, MARK_FOOT);
    bulk_mark(b, BP_FOOT);
    learn(b, (int64_t)v->control.foot_words[FW_OPS]);
    *made = !v->control.words[W_STOP];
    return ST_OK;
}
/* TPL: locks in the order of ranks. *again: they will not be held by statement after all, which makes other operations
 * of the calls that take from a queue. */
static Status plan_locks(Bulk *b, const RankInput *in, bool *again, Err *e) {
    BulkDevice *v = b->device;
    ImageSet *s = b->images;
    int64_t depth = 0;
    if (b->opt->figures) { /* before the locks, which use the same memory */
        RankInput alone = *in;
        RankSets sets;
        alone.types = 0;
        alone.n_types = 1;
        alone.depth_max = DEPTH_MAX;
        TRY(rank_device_sets(s->rank, v->queue, &alone, &sets, e));
        depth = sets.depth;
    }
    TRY(rank_device_locks(s->rank, v->queue, in, &v->plan.ranks, e));
    bool free = v->plan.ranks.ops_left == 0;
    if (free && v->statement.dequeue_group >= 0) {
        v->statement.dequeue_group = -1;
        *again = true;
        return ST_OK;
    }
    v->plan.ranked = v->plan.counted = true;
    b->schedule = (Schedule){.strategy = STRATEGY_TPL,
                             .n_calls = b->n_calls,
                             .depth = free ? 1 : depth,
                             .width0 = free ? b->n_calls : 0,
                             .n_locks = v->plan.ranks.n_locks};
    return ST_OK;
}
/* Makes operations, and of them, here or there, a schedule; *again: see plan_locks. */
static Status plan_once(Bulk *b, BulkPlanned *how, bool *again, Err *e) {
    BulkDevice *v = b->device;
    ImageSet *s = b->images;
    bool made;
    TRY(make_ops(b, &made, e));
    if (!made) return ST_OK;
    const int64_t t0 = clock_ns(), n = (int64_t)v->control.foot_words[FW_OPS];
    if (b->opt->strategy == STRATEGY_PART) {
        TRY(fetch_ops(b, MIN_OF(n, v->plan.ops_max), e));
        *how = PLANNED_RUNS;
        return ST_OK;
    }
    if (!s->rank) TRY(rank_device_new(v->d, v->cache, &s->account, &s->rank, e));
    RankInput in = {.n_calls = b->n_calls,
                    .figures = true,
                    .types = bulk_device_at(b, b->type_of),
                    .n_types = b->n_groups,
                    .group_bits = b->type_of && !v->statement.on ? b->opt->group_bits : 0,
                    .names = v->statement.on,
                    .dequeues = v->statement.dequeue_group >= 0,
                    .dequeue_type = v->statement.dequeue_group,
                    .max_ops = MIN_OF(MAX_OF(n, 1), v->plan.ops_max),
                    .items = v->plan.ops_at,
                    .uses = v->plan.uses_at,
                    .n_ops = bulk_device_at(b, &v->control.foot_words[FW_OPS])};
    if (b->opt->strategy == STRATEGY_KSET) TRY(plan_sets(b, &in, e));
    else TRY(plan_locks(b, &in, again, e));
    if (*again) return ST_OK;
    bulk_mark_device(b, MARK_RANKED);
    bulk_mark(b, BP_RANK);
    b->foot.n_ops = n;
    b->schedule.plan_ns = clock_ns() - t0;
    *how = PLANNED_ALL;
    return ST_OK;
}
static Status run_ranked(Bulk *b, BulkPlanned *how, Err *e) {
    for (bool again = true; again;) {
        again = false;
        TRY(plan_once(b, how, &again, e));
    }
    return ST_OK;
}

Status bulk_foot_count(Bulk *b, bool *counted, Err *e) {
    TRY(bulk_device_begin(b, e));
    TRY(ops_room(b, OPS_MORE, e)); /* they are not read */
    TRY(launch(b, bulk_device_groups(b, b->n_calls), e));
    *counted = b->device->plan.counted = (b->device->control.foot_words[FW_FLAGS] & FOOT_FAILED) == 0;
    return ST_OK;
}

Status bulk_foot_run(Bulk *b, BulkPlanned *how, Err *e) {
    TRY(bulk_device_begin(b, e));
    if (b->device->copies) return run_ranked(b, how, e);
    TRY(run_shared(b, e));
    *how = PLANNED_OPS;
    return ST_OK;
}
