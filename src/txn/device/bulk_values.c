/* bulk_values.c - values of the kernels' parameters, and which work-items a launch has. */
#include "txn/device/bulk_device_int.h"

enum {
    WARP = 32,
    LOOP_LANES = 4,
    PARTITION_SHARES = 8 /* of a worker, where partitions are many */,
    LANES_ALONE = 16 /* lanes of a multiprocessor that have a warp each: partitions, while they are few */
};

static uint64_t at(const Bulk *b, const void *p) { return bulk_device_at(b, p); }
uint64_t bulk_counters_at(const Bulk *b) {
    const BulkDevice *v = b->device;
    return !v->locks.on ? 0 : v->plan.ranked ? v->plan.ranks.counters : at(b, v->locks.counters);
}
static uint64_t in_image(const Bulk *b, const Image *im, const void *array) {
    return b->device->copies ? device_copy_address(im, array) : (uint64_t)(uintptr_t)array;
}

static uint64_t limb(int128_t v, int32_t col) { return (uint64_t)(col >= PROC_HIGH ? v >> 64 : v); }

static uint64_t table_param_value(const Bulk *b, const EmitParam *p) {
    const ImageEntry *x = images_entry(b->images, b->device->code->tables[p->id]);
    const Image *im = x->image;
    int32_t col = p->col % PROC_HIGH;
    switch (p->kind) {
    case PP_CELLS: return in_image(b, im, im->cols[col].cells);
    case PP_VALID: return in_image(b, im, im->cols[col].valid);
    case PP_ROWS: return in_image(b, im, im->pieces[col].rows);
    case PP_LIVE: return in_image(b, im, im->live);
    case PP_DIRTY: return in_image(b, im, im->dirty);
    case PP_SLOTS: return in_image(b, im, im->indexes[col].slots);
    case PP_MASK: return (uint64_t)im->indexes[col].mask;
    case PP_NEXT: return in_image(b, im, im->indexes[col].next);
    case PP_FIRST_KEY: return im->indexes[col].first_key;
    case PP_DENSE: return (uint64_t)im->indexes[col].dense;
    case PP_SHARED: return x->cols[col].shared;
    case PP_LO: return limb(x->cols[col].lo, p->col);
    case PP_HI: return limb(x->cols[col].hi, p->col);
    case PP_BOUND:
        return x->cols[col].tracked && x->cols[col].slot >= 0
                   ? at(b, &b->device->control.words[W_BOUNDS + x->cols[col].slot])
                   : 0;
    case PP_IS_QUEUE:
        return b->device->statement.on && b->device->statement.dequeue_group >= 0 &&
               bulk_dequeue_table(b) == x->table_id;
    case PP_TEXTS: return b->device->copies ? device_copy_texts(im) : 0;
    default: return at(b, &b->device->texts.heaps[2 * (x - b->images->entries)]); /* PP_HEAP */
    }
}
Status bulk_program_value(Bulk *b, const Program *prog, const EmitParam *p, uint64_t *to, Err *e) {
    const int64_t staged = texts_data(&b->device->texts, p);
    if (staged >= 0) return *to = b->device->texts.staged_at + (uint64_t)staged, ST_OK;
    if (emit_program_value(prog, p, to)) return ST_OK;
    const Str *text;
    if (p->kind == KP_CONST && emit_param_strings(prog, p, &text) > 0) return *to = (uintptr_t)text->ptr, ST_OK;
    const int64_t bytes = emit_param_data(prog, p, 0, NULL);
    if (bytes < 0) return err_internal(e, "a procedure's parameter of kind %d", (int)p->kind);
    char *data = arena_alloc(b->arena, bytes + 1);
    if (!data) return err_oom(e);
    *to = (uint64_t)(uintptr_t)data;
    (void)emit_param_data(prog, p, *to, data);
    return ST_OK;
}
static Status proc_value(Bulk *b, int32_t k, const EmitParam *p, uint64_t *to, Err *e) {
    const BulkTexts *texts = &b->device->texts;
    const CallGroup *group = b->groups[k].group;
    const ProgRun *pr = b->groups[k].proc->body;
    const TableUse *t = p->kind >= PP_BASE && p->kind <= PP_COUNTS ? &pr->tables[p->id] : NULL;
    switch (p->kind) {
    case PP_UNDO: *to = pr->undo || b->device->statement.on; break;
    case PP_DEQUEUES: *to = b->device->statement.on && k == b->device->statement.dequeue_group; break;
    case PP_LOCK_BASE: *to = bulk_statement_lock_base(pr, p->id); break;
    case PP_ARG_CELLS:
        *to = texts->copies && texts->args[k][p->id] >= 0 ? texts->staged_at + (uint64_t)texts->args[k][p->id]
                                                          : at(b, group->params[p->id].data);
        break;
    case PP_ARG_VALID: *to = at(b, group->params[p->id].valid); break;
    case PP_ARG_STEP: *to = !group->params[p->id].is_const; break;
    case PP_OUT_CELLS:
        *to = b->result ? at(b, b->result->outs[k][p->id].data) : 0;
        break; /* footprints come before the result */
    case PP_OUT_VALID: *to = b->result ? at(b, b->result->outs[k][p->id].valid) : 0; break;
    case PP_BASE: *to = (uint64_t)t->base; break;
    case PP_STRIDE: *to = (uint64_t)t->stride; break;
    case PP_STARTS: *to = at(b, t->starts); break;
    case PP_COUNTS: *to = at(b, t->counts); break;
    default: return bulk_program_value(b, group->proc->body, p, to, e);
    }
    return ST_OK;
}
bool bulk_in_partitions(const Bulk *b) {
    return b->schedule.strategy == STRATEGY_PART || b->schedule.strategy == STRATEGY_SERIAL;
}
bool bulk_device_divergent(const Bulk *b) { return b->device->code->module.divergent; }
/* Lanes of a warp run in step: where calls diverge and others wait for them, a call gets a warp to itself. So does a
 * partition, as long as there are few. */
static int64_t lanes(const Bulk *b) {
    const BulkDevice *v = b->device;
    if (v->statement.on) return 1;
    if (v->d->info.warp_functions && (v->locks.on || bulk_in_partitions(b)) && b->opt->lanes > 0) return b->opt->lanes;
    if (v->d->info.warp_functions && bulk_in_partitions(b)) {
        int64_t n = WARP;
        while (n > 1 && b->schedule.n_partitions * n > v->d->info.units * (int64_t)LANES_ALONE * WARP) n /= 2;
        return n;
    }
    return v->d->info.warp_functions && v->locks.on && v->code->module.divergent ? WARP : 1;
}
/* With statement locks the lanes of a warp have a call each of one type, and while one runs alone the others are idle.
 * Calls that wait in loops would diverge soon: a warp for each. Of other types as many calls share a warp as are needed
 * for all to fit on the device. In timestamp order types are mixed: a warp for each call. A call with a warp to itself
 * runs its loops warp-parallel (figures: docs/notes/statement-locks.md). */
void bulk_plan_together(Bulk *b) {
    BulkDevice *v = b->device;
    const int64_t room = (int64_t)v->d->info.units * PROC_UNIT_THREADS / WARP;
    const bool mixed = !b->group_order || v->code->module.waits_inside, fixed = !mixed && b->opt->lanes > 0;
    int64_t units = 0;
    uint8_t *per = v->warps.per_warp;
    uint32_t *to = v->warps.together;
    for (int32_t k = 0; k < b->n_groups; k++) per[k] = (uint8_t)(fixed ? WARP / b->opt->lanes : 1);
    for (bool fits = mixed || fixed; !fits;) {
        int32_t most = -1;
        int64_t warps = 0;
        for (int32_t k = 0; k < b->n_groups; k++) {
            int64_t n = b->groups[k].group->n / per[k];
            const ProcSource *src = &v->code->module.procs[v->kinds[k]];
            if (src->waits_in_loops || k == v->statement.dequeue_group) continue; /* calls that dequeue wait */
            warps += n;
            if (per[k] < (src->holds_all ? LOOP_LANES : WARP) && (most < 0 || n > b->groups[most].group->n / per[most]))
                most = k;
        }
        fits = warps <= room || most < 0;
        if (!fits) per[most] *= 2;
    }
    if (v->statement.dequeue_group >= 0) per[v->statement.dequeue_group] = 1;
    v->warps.stretches = mixed ? 1 : b->n_groups;
    for (int32_t i = 0; i < v->warps.stretches; i++) {
        const CallGroupRun *group = &b->groups[mixed ? 0 : b->group_order[i]];
        int64_t each = mixed ? 1 : per[b->group_order[i]], n = mixed ? b->n_calls : group->group->n;
        *to++ = (uint32_t)units;
        *to++ = mixed ? 0 : (uint32_t)group->base;
        *to++ = (uint32_t)each | (each == 1 ? PROC_PARALLEL_LOOPS : 0) | (mixed ? 0 : PROC_BEGIN_TOGETHER);
        units += (n + each - 1) / each;
    }
    *to++ = (uint32_t)units;
    *to++ = (uint32_t)b->n_calls;
    v->warps.units = units;
}
/* Partitions that an item takes at a time: several where kernels prefetch rows, so that short partitions prefetch as
 * far as long ones. */
static int64_t group_each(const Bulk *b) {
    const BulkDevice *v = b->device;
    return v->d->info.native_threads
               ? MAX_OF(INT64_C(1),
                        MIN_OF((int64_t)PROC_TILE, b->schedule.n_partitions / (b->workers * PARTITION_SHARES)))
               : 1;
}
/* Work-items of a launch of n calls. */
int64_t bulk_launch_items(const Bulk *b, int64_t n) {
    const BulkDevice *v = b->device;
    return v->statement.on ? MIN_OF(v->warps.units, n) * WARP : n * lanes(b);
}
static uint64_t bulk_value(const Bulk *b, const EmitParam *p) {
    const BulkDevice *v = b->device;
    switch (p->kind) {
    case KP_ERR: return at(b, &v->control.words[W_ERR]);
    case PP_POS: return at(b, b->pos_of);
    case PP_TYPES: return at(b, b->type_of);
    case PP_KINDS: return at(b, v->kinds);
    case PP_BLOCKED: return at(b, &v->control.words[W_BLOCKED]);
    case PP_TABLE: return v->params.table ? 0 : at(b, v->params.values);
    case PP_FAILED: return at(b, v->failures.list);
    case PP_KEYS: return at(b, v->failures.keys);
    case PP_COUNTERS: return bulk_counters_at(b);
    case PP_LOCK_START:
        return v->plan.ranked ? v->plan.ranks.lock_start : at(b, v->locks.on ? b->schedule.lock_start : NULL);
    case PP_LOCK_STEP: return v->plan.ranked ? 1 : sizeof *b->schedule.lock_start / 4;
    case PP_LOCKS: return v->plan.ranked ? v->plan.ranks.locks : at(b, v->locks.on ? b->schedule.locks : NULL);
    case PP_DONE: return at(b, v->locks.done);
    case PP_STATEMENT_LOCKS: return v->statement.on;
    case PP_USED: return v->plan.ranks.named_locks;
    case PP_LOG: return v->statement.log;
    case PP_LOG_AT: return v->statement.log_at;
    case PP_LOG_N: return v->statement.log_n;
    case PP_OPS: return v->copies ? v->plan.ops_at : at(b, v->plan.ops_of);
    case PP_USES: return v->copies ? v->plan.uses_at : at(b, b->foot.blocks);
    case PP_OPS_MAX: return (uint64_t)v->plan.ops_max;
    case PP_FOOT_WORDS: return at(b, v->control.foot_words);
    case PP_FOOT_FAILED: return at(b, v->control.foot_failed);
    case PP_QUEUED: return v->statement.on && v->statement.dequeue_group >= 0;
    case PP_DEQUEUE_COUNTS: return v->plan.ranks.dequeues;
    case PP_QUEUE_ROWS: return v->plan.ranks.rows;
    case PP_STRETCHES: return (uint64_t)v->warps.stretches;
    case PP_TOGETHER: return at(b, v->warps.together);
    case PP_LANES: return (uint64_t)lanes(b);
    case PP_LOCKED:
        return v->plan.ranked && v->locks.on && !v->locks.relaunched && v->plan.ranks.order && b->opt->lanes == 0 &&
                       lanes(b) == 1
                   ? v->plan.ranks.n_first
                   : 0;
    case PP_PART_AT: return at(b, v->partitions.at);
    case PP_PART_EACH: return (uint64_t)group_each(b);
    case PP_PART_START: return v->partitions.at ? at(b, b->schedule.partition_start) : 0;
    case PP_STEP_LIMIT: return (uint64_t)MAX_OF(b->opt->step_limit, INT64_C(0));
    case PP_UNDO_AREA: return v->copies ? v->work.undo_at : at(b, v->work.undo);
    case PP_FETCHES: return v->prefetch.on;
    case PP_PIECES: return (uint64_t)(uintptr_t)v->prefetch.pieces;
    case PP_OUT_HEAP: return at(b, v->texts.out_heap);
    case PP_SCRATCH_AREA: return v->copies ? v->work.scratch_at : at(b, v->work.scratch);
    default: return 0; /* changes from launch to launch */
    }
}

Status bulk_compute_values(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const ProcModule *m = &v->code->module;
    int32_t *group_of = arena_array(b->arena, int32_t, m->n_procs + 1);
    bool *used = arena_array(b->arena, bool, v->code->n_tables + 1);
    if (!group_of || !used) return err_oom(e);
    for (int32_t k = 0; k < m->n_procs; k++) group_of[k] = -1;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const Proc *proc = b->groups[k].group->proc;
        group_of[v->kinds[k]] = k;
        for (int32_t i = 0; i < proc->n_tables; i++) used[bulk_code_table(v->code, proc->tables[i].table_id)] = true;
    }
    for (int32_t i = 0; i < m->n_params; i++) {
        const EmitParam *p = &m->params[i];
        if (p->proc > m->n_procs) {
            int32_t k = group_of[p->proc - 1 - m->n_procs];
            if (k >= 0 && b->foot.failed)
                TRY(bulk_foot_value(b, k, p, &v->params.values[i], e)); /* there are footprints */
        } else if (p->proc > 0) {
            if (group_of[p->proc - 1] >= 0) TRY(proc_value(b, group_of[p->proc - 1], p, &v->params.values[i], e));
        } else if (p->kind >= PP_CELLS) {
            if (used[p->id]) v->params.values[i] = table_param_value(b, p);
        } else {
            v->params.values[i] = bulk_value(b, p);
        }
    }
    return ST_OK;
}
Status bulk_send_values(const Bulk *b, DevQueue *q, Err *e) {
    const BulkDevice *v = b->device;
    const ProcModule *m = &v->code->module;
    if (v->params.table) return v->d->ops->copy_in(q, v->params.table, v->params.values, m->n_params * 8, e);
    if (!v->copies || !m->param_table) return ST_OK;
    return v->d->ops->copy_in(q, at(b, v->params.values), v->params.values, m->n_params * 8, e);
}
Status bulk_device_values(Bulk *b, Err *e) {
    TRY(bulk_compute_values(b, e));
    return bulk_send_values(b, b->device->queue, e);
}

Status bulk_launch(const Bulk *b, DevQueue *q, DevKernel *k, int64_t groups, Err *e) {
    const BulkDevice *v = b->device;
    const ProcModule *m = &v->code->module;
    return v->d->ops->launch(q, k, groups, v->target.group_size, 0, v->params.values,
                             m->param_table ? PROC_DIRECT : m->n_params, e);
}
