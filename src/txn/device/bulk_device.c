/* bulk_device.c - K-SET, TPL and PART with kernels made from the procedures (codegen/emit_proc.h): a launch for each
 * set, or one for all calls, or for all partitions. SERIAL: one partition, whose calls one work-item runs in the order
 * of time, what GPUTx compares itself with [§6.3].
 *
 * A device that shares the host's memory (the host itself, OpenCL on CPUs) works on the images where they lie. Any
 * other has copies of them (device_copy.h), which stay there from bulk to bulk; arguments go there and results come
 * back with each bulk. Footprints and schedule are the host's.
 *
 * Failures. The virtual machine runs a call that failed again: it fails again, with its error, or had only run out of
 * room; so errors are the machine's own. On a device with copies that takes all images to the host and back; there, an
 * error that follows from its code is worded here. A RAISE with a constant message is worded here in any case, without
 * another run. K-SET  launches are queued several at a time. A launch with failures keeps the later ones from running;
 * then the failures are handled, and the launches that did not run are queued again. TPL    calls that conflict with a
 * call that failed, and come after it, do not run. Then the failures are handled, and those calls are launched again.
 *   PART, SERIAL  a call that failed ends its partition. Then the failures are handled, at most one of each partition,
 * and the partitions continue behind them. Where that would copy all images many times, the virtual machine runs the
 * rest (give_up_launching), and stats.reason says so.
 *
 * Faults. When the device refuses a launch, those before it are waited for, and the machine goes on with the rest:
 * stats.reason says so. When a device with copies fails otherwise, the machine goes on from where the host's images
 * are; but not when the device had changes of earlier bulks: 58000, and the session runs them all again (replay.h).
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "codegen/prelude/kc_codes.h"
#include "storage/row_errors.h"
#include "txn/device/bulk_device_int.h"

enum {
    WARP = 32,
    LOOP_LANES = 4,
    GROUPS_PER_UNIT = 16,
    WORD_SAMPLE = 1024,
    WORD_STEP = 1024 /* failures, */,
    WORD_KEYS = 64 /* or keys, before other workers are used */,
    KEYS_MIN = 64,
    PROCS_MAX = 64,
    STOP_AFTER_NS = 1000000000,
    PARTITION_SHARES = 8 /* of a worker, where partitions are many */,
    LANES_ALONE = 16 /* lanes of a multiprocessor that have a warp each: partitions, while they are few */,
    TRIPS_MIN = 32,
    TRIPS_MAX = 16,            /* of all tables home and back: so many are allowed, and so many more may come; */
    TRIPS_ROWS = 4 << 20,      /* neither are those that took so many rows */
    FAILED_LIST_MAX = 1 << 14, /* beyond that all threads look for failures in the result (replay.c) */
    IN_CACHE_BYTES = 2 << 20,  /* tables of a bulk that processors' own caches hold, more or less */
    UNDO_BYTES_MAX = 1 << 30
};
#define WORDED UINT32_MAX /* instead of a failure's code */

static void let_go(BulkCode *c) {
    if (c->ref.entry) code_release(c->cache, &c->ref);
}
void images_drop_code(ImageSet *s, const Proc *proc) {
    for (int32_t i = 0; i < BULK_CODES_MAX; i++) {
        BulkCode *c = s->codes[i];
        bool drop = c && !proc;
        for (int32_t k = 0; c && k < c->n; k++) drop |= c->procs[k] == proc;
        if (!drop) continue;
        images_drop_prefetched(s);
        let_go(c);
        arena_free(c->arena);
        s->codes[i] = NULL;
    }
}

void images_drop_queue(ImageSet *s) {
    images_drop_prefetched(s);
    if (!s->device) return;
    device_queue_drop(s->device, &s->prefetch_queue);
    device_queue_drop(s->device, &s->queue);
    rank_device_free(s->rank);
    s->rank = NULL;
    for (int i = 0; i < BULK_CODES_MAX; i++)
        if (s->codes[i]) let_go(s->codes[i]);
    for (int i = 0; i < (int)ARRAY_LEN(s->pinned); i++) bulk_give_back(&s->pinned[i]);
    bulk_constants_forget(s);
    device_event_drop(s->device, &s->foot_made);
    for (int i = 0; i < BULK_MARKS; i++) device_event_drop(s->device, &s->marks[i]);
    for (int i = 0; i < BULK_DEV_MEMORY; i++) device_mem_free(s->device, &s->memory[i]);
}

typedef struct Launch {
    int64_t start, n;
} Launch; /* calls schedule.order[start ..], or n partitions */
/* ---- preparation ------------------------------------------------------------------------------ */
/* What the text depends on besides the procedures. */
static uint64_t image_form(const Image *im) {
    uint64_t h = hash_combine(hash_u64((uint64_t)im->n_indexes), hash_constant);
    for (int32_t k = 0; k < im->n_indexes; k++) {
        const ImageIndex *x = &im->indexes[k];
        h = hash_combine(h, (uint64_t)x->unique | (uint64_t)(uint32_t)x->order << 8 | (uint64_t)x->desc << 1);
        for (int32_t c = 0; c < x->n_cols; c++) h = hash_combine(h, (uint64_t)x->cols[c]);
    }
    for (int32_t c = 0; c < im->n_cols; c++) {
        const ImageColumn *col = &im->cols[c];
        h = hash_combine(h, (uint64_t)col->used << 1 | (col->valid != NULL) | (uint64_t)(uint32_t)col->piece << 2);
        if (col->used)
            h = hash_combine(h, (uint64_t)col->stride << 32 | (uint64_t)(col->cells - im->pieces[col->piece].rows));
    }
    return h;
}
int32_t bulk_code_proc(const BulkCode *c, const Proc *proc) {
    for (int32_t k = 0; k < c->n; k++)
        if (c->procs[k] == proc) return k;
    return -1;
}
static int32_t code_table(const BulkCode *c, int64_t id) {
    for (int32_t i = 0; i < c->n_tables; i++)
        if (c->tables[i] == id) return i;
    return -1;
}
static bool code_fits(const Bulk *b, const BulkCode *c) {
    const BulkDevice *v = b->device;
    if (!emit_target_same(&c->target, &v->target) || c->copies != v->copies ||
        c->statement_locks != bulk_statement_locks_wanted(b))
        return false;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const ProgRun *pr = b->groups[k].proc->body;
        if (bulk_code_proc(c, pr->proc) < 0) return false;
        for (int32_t i = 0; i < pr->proc->n_tables; i++)
            if (c->forms[code_table(c, pr->proc->tables[i].table_id)] != image_form(pr->tables[i].image)) return false;
    }
    return true;
}

/* Writes the kernels of the bulk's procedures. */
static Status write_code(Bulk *b, BulkCode *c, Arena *a, Err *e) {
    int32_t most = 1;
    for (int32_t k = 0; k < b->n_groups; k++) most += b->groups[k].group->proc->n_tables;
    ProcForm *forms = arena_array(a, ProcForm, b->n_groups + 1);
    c->procs = arena_array(a, const Proc *, b->n_groups + 1);
    c->tables = arena_array(a, int64_t, most);
    c->forms = arena_array(a, uint64_t, most);
    if (!forms || !c->procs || !c->tables || !c->forms) return err_oom(e);
    for (; c->n < b->n_groups; c->n++) {
        const ProgRun *pr = b->groups[c->n].proc->body;
        ProcTableForm *t = arena_array(a, ProcTableForm, pr->proc->n_tables + 1);
        int32_t *no = arena_array(a, int32_t, pr->proc->n_tables + 1);
        if (!t || !no) return err_oom(e);
        for (int32_t i = 0; i < pr->proc->n_tables; i++) {
            int64_t id = pr->proc->tables[i].table_id;
            t[i] = (ProcTableForm){pr->tables[i].image, pr->tables[i].index};
            if ((no[i] = code_table(c, id)) >= 0) continue;
            no[i] = c->n_tables++;
            c->tables[no[i]] = id;
            c->forms[no[i]] = image_form(pr->tables[i].image);
        }
        c->procs[c->n] = pr->proc;
        forms[c->n] = (ProcForm){pr->proc, t, no};
    }
    return emit_procs(c->n, forms, &c->target, !c->copies, c->statement_locks, a, &c->module, e);
}

static Status get_code(Bulk *b, Err *e) {
    ImageSet *s = b->images;
    BulkDevice *v = b->device;
    int32_t place = 0;
    s->bulks++;
    for (int32_t i = 0; i < BULK_CODES_MAX; i++) {
        BulkCode *c = s->codes[i];
        if (c && code_fits(b, c)) {
            c->used = s->bulks;
            v->code = c;
            return ST_OK;
        }
        if (!c || (s->codes[place] && c->used < s->codes[place]->used)) place = i;
    }
    Arena *a = arena_new(&s->account, e);
    if (!a) return ST_ERROR;
    BulkCode *c = arena_new_of(a, BulkCode);
    if (c)
        *c = (BulkCode){.arena = a,
                        .target = v->target,
                        .copies = v->copies,
                        .statement_locks = bulk_statement_locks_wanted(b),
                        .used = s->bulks};
    if (!c || write_code(b, c, a, e) != ST_OK) {
        arena_free(a);
        return c ? ST_ERROR : err_oom(e);
    }
    if (s->codes[place]) { /* whose arguments these may be */
        images_drop_prefetched(s);
        let_go(s->codes[place]);
        arena_free(s->codes[place]->arena);
    }
    v->code = s->codes[place] = c;
    return ST_OK;
}

static Status get_kernel(Bulk *b, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    TRY(get_code(b, e));
    *reason = v->code->module.reason;
    if (*reason) return ST_OK;
    if (!(v->kinds = arena_array(b->arena, uint16_t, b->n_groups + 1)) ||
        !(v->warps.per_warp = arena_array(b->arena, uint8_t, b->n_groups + 1)) ||
        !(v->warps.together = arena_array(b->arena, uint32_t, 3 * b->n_groups + 4)))
        return err_oom(e);
    for (int32_t k = 0; k < b->n_groups; k++) v->kinds[k] = (uint16_t)bulk_code_proc(v->code, b->groups[k].group->proc);
    Err why = {0};
    BulkCode *c = v->code;
    if (c->ref.entry && (c->cache != v->cache || c->device != v->d)) let_go(c);
    if (!c->ref.entry) {
        const DeviceUse *use = &b->opt->query->device;
        switch (code_get(v->cache, v->d, c->module.source, NULL, use->wait || use->strict, &c->ref, &why)) {
        case CODE_PENDING: *reason = "its kernel is being compiled"; return ST_OK;
        case CODE_FAILED: *reason = arena_strdup(b->arena, why.message); return *reason ? ST_OK : err_oom(e);
        default: break;
        }
        c->cache = v->cache;
        c->device = v->d;
    } else {
        code_used(c->cache, &c->ref);
    }
    v->statement.dequeue_group = -1;
    if (v->code->module.constants) {
        bulk_constants_begin(b);
        if (v->d->ops->constant(v->code->ref.module, "kc_table", v->code->module.n_params * 8, &v->params.table,
                                &why) != ST_OK)
            return *reason = arena_strdup(b->arena, why.message), *reason ? ST_OK : err_oom(e);
    }
    if (!v->code->module.foot_reason && v->d->ops->kernel(v->code->ref.module, "bulk_foot", &v->foot, &why) != ST_OK)
        v->foot = NULL;
    if (v->code->module.by_statement &&
        v->d->ops->kernel(v->code->ref.module, "bulk_undo", &v->undo_kernel, &why) == ST_OK)
        v->statement.on = bulk_statement_locks_use(b);
    if (v->statement.on) TRY(bulk_statement_locks_plan(b, e));
    if (v->d->ops->kernel(v->code->ref.module, "bulk_main", &v->kernel, &why) == ST_OK) return ST_OK;
    *reason = arena_strdup(b->arena, why.message);
    return *reason ? ST_OK : err_oom(e);
}

static Status prepare(Bulk *b, const char **reason, Err *e) {
    struct DevRuntime *r = b->opt->query->device.runtime;
    *reason = !r                        ? "there is no device"
              : b->n_calls == 0         ? "no calls"
              : b->n_calls == 1         ? "a single call"
              : b->n_groups > PROCS_MAX ? "too many procedures"
                                        : NULL;
    if (*reason) return ST_OK;
    Device *d = dev_runtime_device(r);
    BulkDevice *v = b->device = arena_new_of(b->arena, BulkDevice);
    if (!v) return err_oom(e);
    v->d = d;
    v->cache = dev_runtime_cache(r);
    v->copies = b->opt->copies || !d->info.shares_memory;
    v->target = emit_target(&d->info);
    const bool units = d->info.warp_functions && bulk_statement_locks_wanted(b);
    v->target.group_size = units ? (int32_t)PROC_UNIT_THREADS : d->info.group_calls;
    ImageSet *s = b->images;
    if (s->device != d) images_drop_queue(s);
    s->device = d;
    TRY(get_kernel(b, reason, e));
    if (*reason) return ST_OK;
    v->queue = s->queue;
    s->queue = NULL;
    Err why = {0};
    if (device_queue_need(d, &v->queue, &why) != ST_OK && !(*reason = arena_strdup(b->arena, why.message)))
        return err_oom(e);
    return ST_OK;
}

/* Finds the images that the host reads: for footprints, or for bounds of columns that are new to adds. read[], by
 * entry. */
static void find_read(const Bulk *b, bool *read) {
    const ImageEntry *entries = b->images->entries;
    if (b->opt->strategy == STRATEGY_SERIAL) return; /* bulk_device_counts brings them */
    for (int32_t k = 0; k < b->n_groups; k++) {
        const ProgRun *pr = b->groups[k].proc->foot;
        for (int32_t i = 0; pr && i < pr->p->n_instrs; i++) {
            const Instr *in = &pr->p->instrs[i];
            int32_t table = -1;
            if (in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST || in->op == OP_ROW_NEXT)
                table = ((const RowKey *)in->aux)->table;
            if (in->op == OP_ROW_GET) table = ((const RowCol *)in->aux)->table;
            if (table >= 0 && !(b->device && b->device->foot))
                read[images_entry(b->images, pr->proc->tables[table].table_id) - entries] = true;
            const ItemSite *it = in->aux;
            if (in->op != OP_ITEM || it->kind != OPK_ADD || !it->has_amount) continue;
            const ImageEntry *x = images_entry(b->images, pr->proc->tables[it->table].table_id);
            if (x->bound[it->col] < 0 && bulk_may_share(b, x, it->col)) read[x - entries] = true;
        }
    }
}

Status bulk_device_prepare(Bulk *b, const char **reason, Err *e) {
    Status st = b->opt->compiled ? prepare(b, reason, e) : ST_OK;
    if (st == ST_OK && *reason && b->n_calls > 1 && b->opt->query->device.strict)
        st = err_set(e, ERR_FEATURE_NOT_SUPPORTED, "the bulk cannot run compiled: %s", *reason);
    if (st != ST_OK || *reason) bulk_device_end(b);
    bool *read = arena_calloc(b->arena, b->images->n + 1);
    if (!read) return err_oom(e);
    find_read(b, read);
    for (int64_t i = 0; st == ST_OK && i < b->images->n; i++) {
        Image *im = b->images->entries[i].image;
        if (!im || !im->device_copy) continue;
        bool stays = b->device && b->device->copies;
        if (!stays || read[i]) st = device_copy_to_host(im, e);
        if (!stays) device_copy_stale(im);
    }
    return st;
}

void bulk_device_end(Bulk *b) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    bulk_prefetch_end(b);
    if (!v) return;
    if (v->broken) device_queue_drop(v->d, &v->queue);
    if (v->queue) b->images->queue = v->queue;
    device_queue_drop(v->d, &v->side);
    bulk_constants_end(b);
    mem_free(acct, v->locks.counters, v->locks.state_bytes);
    if (v->failures.bytes > 0) {
        mem_free(acct, v->failures.list, v->failures.bytes);
        mem_free(acct, v->failures.keys, v->failures.keys_bytes);
    }
    mem_free(acct, v->work.undo, v->work.undo_bytes);
    mem_free(acct, v->work.scratch, v->work.scratch_bytes);
    texts_free(&v->texts);
    b->device = NULL;
}
const char *bulk_device_name(const Bulk *b) { return b->device->d->info.id; }

/* ---- parameters --------------------------------------------------------------------------------- */
static uint64_t at(const Bulk *b, const void *p) { return bulk_device_at(b, p); }
static uint64_t counters_at(const Bulk *b) {
    const BulkDevice *v = b->device;
    return !v->locks.on ? 0 : v->plan.ranked ? v->plan.ranks.counters : at(b, v->locks.counters);
}
static uint64_t in_image(const Bulk *b, const Image *im, const void *array) {
    return b->device->copies ? device_copy_address(im, array) : (uint64_t)(uintptr_t)array;
}

static uint64_t limb(int128_t v, int32_t col) { return (uint64_t)(col >= PROC_HIGH ? v >> 64 : v); }

static uint64_t image_value(const Bulk *b, const EmitParam *p) {
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
static bool in_partitions(const Bulk *b) {
    return b->schedule.strategy == STRATEGY_PART || b->schedule.strategy == STRATEGY_SERIAL;
}
bool bulk_device_divergent(const Bulk *b) { return b->device->code->module.divergent; }
/* Lanes of a warp run in step: where calls diverge and others wait for them, a call gets a warp to itself. So does a
 * partition, as long as there are few. */
int64_t bulk_device_lanes(const Bulk *b) {
    const BulkDevice *v = b->device;
    if (v->statement.on) return 1;
    if (v->d->info.warp_functions && (v->locks.on || in_partitions(b)) && b->opt->lanes > 0) return b->opt->lanes;
    if (v->d->info.warp_functions && in_partitions(b)) {
        int64_t lanes = WARP;
        while (lanes > 1 && b->schedule.n_partitions * lanes > v->d->info.units * (int64_t)LANES_ALONE * WARP)
            lanes /= 2;
        return lanes;
    }
    return v->d->info.warp_functions && v->locks.on && v->code->module.divergent ? WARP : 1;
}
/* With statement locks the lanes of a warp have a call each of one type, and while one runs alone the others are idle.
 * Calls that wait in loops would diverge soon: a warp for each. Of other types as many calls share a warp as are needed
 * for all to fit on the device. In timestamp order types are mixed: a warp for each call. A call with a warp to itself
 * runs its loops warp-parallel (figures: docs/notes/statement-locks.md). */
static void plan_together(Bulk *b) {
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
static int64_t launch_items(const Bulk *b, int64_t n) {
    const BulkDevice *v = b->device;
    return v->statement.on ? MIN_OF(v->warps.units, n) * WARP : n * bulk_device_lanes(b);
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
    case PP_COUNTERS: return counters_at(b);
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
    case PP_LANES: return (uint64_t)bulk_device_lanes(b);
    case PP_LOCKED:
        return v->plan.ranked && v->locks.on && !v->locks.relaunched && v->plan.ranks.order && b->opt->lanes == 0 &&
                       bulk_device_lanes(b) == 1
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
        for (int32_t i = 0; i < proc->n_tables; i++) used[code_table(v->code, proc->tables[i].table_id)] = true;
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
            if (used[p->id]) v->params.values[i] = image_value(b, p);
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

/* Bytes of an item's log; with statement locks there is one for all. */
static int64_t undo_each(const BulkDevice *v) {
    return v->statement.on ? 0 : (int64_t)v->code->module.undo_max * UNDO_ENTRY;
}
/* Groups of a launch for so many calls; `each`: calls that an item takes at a time where a group is one item. */
static int64_t groups_of(const Bulk *b, int64_t calls, int64_t each) {
    const BulkDevice *v = b->device;
    int64_t size = v->target.group_size, tile = size == 1 ? each : size,
            most = v->d->info.native_threads
                       ? b->workers
                       : (int64_t)v->d->info.units * (size < PROC_UNIT_THREADS ? GROUPS_PER_UNIT : 1);
    most = MIN_OF(most, MAX_OF(INT64_C(1), UNDO_BYTES_MAX / ((undo_each(v) + v->code->module.scratch + 1) * size)));
    return MAX_OF(INT64_C(1), MIN_OF((calls + tile - 1) / tile, most));
}
int64_t bulk_device_groups(const Bulk *b, int64_t calls) { return groups_of(b, calls, PROC_TILE); }

/* Each image of the bulk's procedures, once: fn may fail. */
bool bulk_uses_image(const Bulk *b, const Image *im) {
    bool used = false;
    for (int32_t k = 0; im && k < b->n_groups; k++)
        for (int32_t t = 0; t < b->groups[k].group->proc->n_tables; t++)
            used |= b->groups[k].proc->body->tables[t].image == im;
    return used;
}
static Status each_image(Bulk *b, Status (*fn)(Bulk *b, Image *im, Err *e), Err *e) {
    for (int64_t i = 0; i < b->images->n; i++)
        if (bulk_uses_image(b, b->images->entries[i].image)) TRY(fn(b, b->images->entries[i].image, e));
    return ST_OK;
}
static int64_t all_rows(const Bulk *b) {
    int64_t rows = 0;
    for (int64_t i = 0; i < b->images->n; i++)
        if (bulk_uses_image(b, b->images->entries[i].image)) rows += atomic_load(&b->images->entries[i].image->rows);
    return rows;
}
static Status use_device_copy(Bulk *b, Image *im, Err *e) {
    int64_t entry = 0;
    while (b->images->entries[entry].image != im) entry++;
    const int64_t room = texts_room(b, &b->device->texts, entry);
    if (b->args && b->args->foot && !device_copy_ready(im, room) && !images_wait_prefetch(b->images))
        b->args->foot = NULL; /* kernels read what is going to move */
    return device_copy_use(im, b->device->d, b->device->cache, b->device->queue, room, e);
}
static Status fetch_image(Bulk *b, Image *im, Err *e) {
    (void)b;
    return device_copy_fetch(im, e);
}
static Status commit_image(Bulk *b, Image *im, Err *e) {
    (void)b, (void)e;
    device_copy_commit(im);
    device_copy_stale(im);
    return ST_OK;
}
static Status add_size(Bulk *b, Image *im, Err *e) {
    int64_t row = 0, slots = 0;
    (void)e;
    for (const RowPiece *p = im->pieces; p < im->pieces + ROW_PIECES; p++) row += p->stride;
    for (int32_t i = 0; i < im->n_indexes; i++) slots += im->indexes[i].mask + 1;
    b->device->prefetch.image_bytes += atomic_load(&im->rows) * row + slots * 8;
    return ST_OK;
}
/* All images or none. */
static Status bring_home(Bulk *b, Err *e) {
    TRY(each_image(b, fetch_image, e));
    return each_image(b, commit_image, e);
}
static Status check_newer(Bulk *b, Image *im, Err *e) {
    (void)e;
    if (device_copy_newer(im)) b->device->safe = -1;
    return ST_OK;
}
static Status drop_device_copy(Bulk *b, Image *im, Err *e) {
    (void)b, (void)e;
    device_copy_free(im);
    return ST_OK;
}
/* Marks the arrays that the bodies write. */
static void mark_changed(Bulk *b) {
    for (int32_t k = 0; k < b->n_groups; k++) {
        const ProgRun *pr = b->groups[k].proc->body;
        for (int32_t i = 0; i < pr->p->n_instrs; i++) {
            const Instr *in = &pr->p->instrs[i];
            if (in->op == OP_ROW_FIRST) { /* the group's first row is cached */
                const RowKey *key = in->aux;
                const ImageIndex *x = &pr->tables[key->table].image->indexes[pr->tables[key->table].index[key->index]];
                if (x->order) device_copy_changed(pr->tables[key->table].image, x->next);
            }
            if (!op_is_row_write(in->op)) continue;
            int32_t table =
                in->op == OP_ROW_INSERT ? ((const RowInsert *)in->aux)->table : ((const RowCol *)in->aux)->table;
            Image *im = pr->tables[table].image;
            int32_t col = in->op == OP_ROW_PUT || in->op == OP_ROW_ADD ? ((const RowCol *)in->aux)->col : -1;
            int64_t size, used;
            device_copy_changed(im, im->dirty);
            if (in->op == OP_ROW_INSERT || (in->op == OP_ROW_PUT && im->cols[col].phys == PH_STR))
                device_copy_changed(im, image_texts(im, &size, &used));
            if (in->op == OP_ROW_INSERT || in->op == OP_ROW_DELETE) device_copy_changed(im, im->live);
            for (int32_t x = 0; in->op == OP_ROW_DELETE && x < im->n_indexes; x++) /* undo */
                if (im->indexes[x].order) device_copy_changed(im, im->indexes[x].next);
            for (int32_t c = 0; c < im->n_cols; c++) {
                if (in->op != OP_ROW_INSERT && c != col) continue;
                device_copy_changed(im, im->pieces[im->cols[c].piece].rows);
            }
            if (in->op != OP_ROW_INSERT) continue;
            for (int32_t x = 0; x < im->n_indexes; x++) {
                device_copy_changed(im, im->indexes[x].slots);
                device_copy_changed(im, im->indexes[x].next);
            }
        }
    }
}

/* Counters and `done`, in one piece. */
static Status make_locks(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const Schedule *s = &b->schedule;
    v->locks.on = v->plan.ranked ? v->plan.ranks.ops_left > 0 : s->strategy == STRATEGY_TPL && s->n_locks > 0;
    if (!v->locks.on) return ST_OK;
    int64_t bytes = align_up(s->n_locks * 4, 8) + b->n_calls;
    v->locks.state_bytes = v->copies ? 2 * align_up(bytes, 8) : bytes;
    v->locks.counters = v->plan.ranked ? mem_alloc_raw(&b->images->account, v->locks.state_bytes, e)
                                       : mem_calloc(&b->images->account, v->locks.state_bytes,
                                                    e); /* it is cleared where it is needed: fetch_locks */
    if (!v->locks.counters) return ST_ERROR;
    v->locks.done = (uint8_t *)v->locks.counters + align_up(s->n_locks * 4, 8);
    if (v->copies) v->locks.stage = (uint8_t *)v->locks.counters + align_up(bytes, 8);
    return ST_OK;
}

/* How many a launch has at most. */
int64_t bulk_plan_items(Bulk *b) {
    BulkDevice *v = b->device;
    if (v->statement.on) plan_together(b);
    int64_t items = groups_of(b, v->statement.on ? MAX_OF(b->n_calls, launch_items(b, b->n_calls)) : b->n_calls, 1) *
                    v->target.group_size; /* a partition at a time */
    v->work.undo_bytes = items * undo_each(v) + 64;
    v->work.scratch_bytes = items * v->code->module.scratch;
    return items;
}

Status bulk_device_begin(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const ProcModule *m = &v->code->module;
    MemAccount *acct = &b->images->account;
    if (v->begun) return ST_OK;
    v->begun = true;
    const int64_t items = bulk_plan_items(b);
    v->params.values = arena_array(b->arena, uint64_t, m->n_params + 1);
    if (!v->params.values) return err_oom(e);
    if (v->d->info.native_threads) {
        TRY(each_image(b, add_size, e));
        v->prefetch.on = v->prefetch.image_bytes > IN_CACHE_BYTES;
        char *pieces = arena_calloc(b->arena, items * PROC_PIECES_AT(m->n_tables) + 64);
        if (!pieces) return err_oom(e);
        v->prefetch.pieces = pieces + (-(uintptr_t)pieces & 63);
    }
    v->failures.keys_bytes = (2 + KEY_WORDS * (b->n_calls / 8 + KEYS_MIN)) * 8;
    for (int64_t i = 0; i < b->images->n; i++)
        if (b->images->entries[i].image)
            v->failures.key_cols =
                MAX_OF(v->failures.key_cols, b->images->entries[i].image->n_cols + INT64_C(8)); /* workers are apart */
    if (!(v->failures.key_cells = arena_array(b->arena, const void *, v->failures.key_cols * b->workers + 1)))
        return err_oom(e);
    if (!(v->failures.raised = arena_calloc(b->arena, (b->n_groups + 1) * (int64_t)sizeof *v->failures.raised)))
        return err_oom(e);
    v->texts = (BulkTexts){.module = m, .kinds = v->kinds, .copies = v->copies};
    TRY(bulk_device_control(b, e));
    if (v->copies) {
        TRY(bulk_args_send(b, e));
        texts_take_args(&v->texts, &b->args->texts);
        bulk_mark(b, BP_GATHER);
    }
    TRY(texts_plan(b, &v->texts, e));
    if (!v->copies) {
        TRY(bulk_device_send(b, e));
        if (!(v->work.undo = mem_alloc_raw(acct, v->work.undo_bytes, e)) ||
            (v->work.scratch_bytes > 0 && !(v->work.scratch = mem_alloc_raw(acct, v->work.scratch_bytes, e))))
            return ST_ERROR;
        return ST_OK;
    }
    TRY(each_image(b, check_newer, e));
    TRY(each_image(b, use_device_copy, e));
    TRY(bulk_device_send(b, e));
    bulk_mark(b, BP_PLACE);
    return ST_OK;
}

/* Where each partition stands. SERIAL has one. */
static Status make_partitions(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    Schedule *s = &b->schedule;
    if (!in_partitions(b)) return ST_OK;
    if (s->strategy == STRATEGY_SERIAL) {
        s->n_partitions = 1;
        s->order = arena_alloc(b->arena, b->n_calls * 4 + 4);
        s->partition_start = arena_array(b->arena, int64_t, 2);
        if (!s->order || !s->partition_start) return err_oom(e);
        for (int64_t i = 0; i < b->n_calls; i++) s->order[i] = (uint32_t)i;
        s->partition_start[0] = 0;
        s->partition_start[1] = b->n_calls;
    }
    v->partitions.at = arena_alloc(b->arena, 2 * (s->n_partitions * 4 + 4));
    if (!v->partitions.at) return err_oom(e);
    v->partitions.stage = v->partitions.at + s->n_partitions + 1;
    for (int64_t p = 0; p < s->n_partitions; p++) v->partitions.at[p] = (uint32_t)s->partition_start[p];
    return ST_OK;
}

/* No call waits for another, so there are no statement locks: each item gets a log of its own. */
static Status item_logs(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    v->work.undo_bytes = bulk_device_groups(b, b->n_calls) * v->target.group_size * undo_each(v) + 64;
    return bulk_device_memory(b, BM_LOG, v->work.undo_bytes, &v->work.undo_at, e);
}

static Status start(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    TRY(bulk_device_begin(b, e));
    TRY(make_locks(b, e));
    TRY(make_partitions(b, e));
    if (v->plan.ranked && v->locks.on && !(b->schedule.order = arena_alloc(b->arena, b->n_calls * 4 + 4)))
        return err_oom(e);
    if (v->copies) {
        TRY(each_image(b, use_device_copy, e)); /* there is room for inserts now */
        TRY(bulk_device_send_more(b, e));
        TRY(texts_take_room(b, &v->texts, e));
        TRY(v->d->ops->copy_in(v->queue, at(b, v->texts.heaps), v->texts.heaps, 2 * b->images->n * 8, e));
    } else {
        TRY(texts_take_room(b, &v->texts, e));
    }
    const bool wanted = v->statement.on;
    v->statement.on &= v->plan.ranked && v->locks.on;
    if (v->statement.on) TRY(bulk_statement_locks_start(b, e));
    else if (wanted) TRY(item_logs(b, e));
    return bulk_device_values(b, e);
}

/* The device failed before any call ran: the virtual machine runs the bulk. */
static Status give_up(Bulk *b, const char **reason, Err *e) {
    b->device->broken = true;
    if (!b->device->copies || b->opt->query->device.strict) return ST_ERROR;
    Err why;
    err_copy(&why, e);
    err_clear(e);
    TRY(bring_home(b, e)); /* changes of earlier bulks */
    log_write(LOG_WARNING, "a bulk runs without device \"%s\": %s", b->device->d->info.id, why.message);
    *reason = arena_printf(b->arena, "device \"%s\": %s", b->device->d->info.id, why.message);
    bulk_device_clear_outs(b);
    bulk_device_end(b);
    if (!*reason) return err_oom(e);
    return ST_OK;
}
Status bulk_device_start(Bulk *b, const char **reason, Err *e) {
    return start(b, e) == ST_OK ? ST_OK : give_up(b, reason, e);
}

static Status foot_home(Bulk *b, Image *im, Err *e) {
    (void)b;
    return device_copy_to_host(im, e);
}
Status bulk_device_footprints(Bulk *b, BulkPlanned *how, const char **reason, Err *e) {
    *how = PLANNED_NOTHING;
    if (b->device->foot && bulk_foot_run(b, how, e) != ST_OK) TRY(give_up(b, reason, e));
    if (b->device && b->device->copies && *how == PLANNED_NOTHING) TRY(each_image(b, foot_home, e));
    return ST_OK;
}

Status bulk_device_counts(Bulk *b, bool *counted, const char **reason, Err *e) {
    *counted = false;
    if (!b->device->copies) return ST_OK;
    if (b->device->foot && bulk_foot_count(b, counted, e) != ST_OK) TRY(give_up(b, reason, e));
    return b->device && !*counted ? each_image(b, foot_home, e) : ST_OK;
}

/* ---- failures --------------------------------------------------------------------------------------- */
static void machine_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    BulkDevice *v = b->device;
    int64_t step = MIN_OF(b->groups[v->failures.again_group].proc->body->vector_size,
                          MAX_OF(INT64_C(1), v->failures.n_again / b->workers));
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < v->failures.n_again;)
        bulk_chunk(b, worker, v->failures.again_group, MIN_OF(step, v->failures.n_again - i), v->failures.again + i);
}
/* These calls of a group, which do not conflict, on the virtual machine. */
static void on_machine(Bulk *b, int32_t group, int64_t n, uint32_t *calls) {
    BulkDevice *v = b->device;
    v->failures.again = calls;
    v->failures.n_again = n;
    v->failures.again_group = group;
    atomic_store(&b->next, 0);
    if (n < 64) machine_worker(b, 0);
    else bulk_parallel(b, machine_worker);
}
/* The order of the sets, once the host has to know it. */
static Status fetch_order(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (!v->plan.in_sets || b->schedule.order) return ST_OK;
    uint32_t *order = arena_alloc(b->arena, b->n_calls * 4 + 4);
    if (!order) return err_oom(e);
    TRY(device_read(v->d, v->queue, order, v->plan.sets.order, b->n_calls * 4, e));
    b->schedule.order = order;
    return ST_OK;
}
/* The locks of the calls, once the host has to know them. */
static Status fetch_locks(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    Schedule *s = &b->schedule;
    if (!v->plan.ranked || s->lock_start) return ST_OK;
    uint32_t *starts = arena_alloc(b->arena, (b->n_calls + 1) * 4);
    int64_t *wide = arena_alloc(b->arena, (b->n_calls + 1) * 8);
    if (!starts || !wide) return err_oom(e);
    TRY(device_read(v->d, v->queue, starts, v->plan.ranks.lock_start, (b->n_calls + 1) * 4, e));
    for (int64_t i = 0; i <= b->n_calls; i++) wide[i] = starts[i];
    if (!(s->locks = arena_alloc(b->arena, wide[b->n_calls] * (int64_t)sizeof(LockUse) + 8))) return err_oom(e);
    if (wide[b->n_calls] > 0)
        TRY(device_read(v->d, v->queue, s->locks, v->plan.ranks.locks, wide[b->n_calls] * (int64_t)sizeof(LockUse), e));
    s->lock_start = wide;
    memset(v->locks.counters, 0, (size_t)v->locks.state_bytes); /* as far as the host knows no call has run */
    return ST_OK;
}
/* Which calls have run, as the images that are fetched now have it. */
static Status fetch_state(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    int64_t bytes = align_up(b->schedule.n_locks * 4, 8);
    if (v->partitions.at)
        return device_read(v->d, v->queue, v->partitions.stage, at(b, v->partitions.at), b->schedule.n_partitions * 4,
                           e);
    if (!v->locks.on) return fetch_order(b, e);
    TRY(fetch_locks(b, e));
    TRY(v->d->ops->copy_out(v->queue, v->locks.stage, counters_at(b), b->schedule.n_locks * 4, e));
    return device_read(v->d, v->queue, v->locks.stage + bytes, at(b, v->locks.done), b->n_calls, e);
}
/* Brings everything to the host that `done` launches, or under locks and in partitions the device, did; the device's
 * copies must not be used before go_back. */
static Status go_home(Bulk *b, int64_t done, Err *e) {
    BulkDevice *v = b->device;
    if (!v->copies || v->on_host) return ST_OK;
    TRY(bulk_foot_drop(b, e));
    TRY(bulk_device_fetch(b, e));
    TRY(fetch_state(b, e));
    TRY(bring_home(b, e));
    if (v->locks.on)
        memcpy(v->locks.counters, v->locks.stage, (size_t)(align_up(b->schedule.n_locks * 4, 8) + b->n_calls));
    if (v->partitions.at) memcpy(v->partitions.at, v->partitions.stage, (size_t)b->schedule.n_partitions * 4);
    v->on_host = true;
    v->safe = done;
    return ST_OK;
}
static Status go_back(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (!v->copies || !v->on_host) return ST_OK;
    TRY(each_image(b, use_device_copy, e));
    TRY(texts_take_room(b, &v->texts, e));
    v->locks.relaunched = true;
    TRY(bulk_device_send_back(b, e));
    TRY(bulk_device_values(b, e)); /* images may have moved */
    if (v->partitions.at)
        TRY(v->d->ops->copy_in(v->queue, at(b, v->partitions.at), v->partitions.at, b->schedule.n_partitions * 4,
                               e)); /* calls have run since */
    if (v->locks.on) {
        TRY(v->d->ops->copy_in(v->queue, counters_at(b), v->locks.counters, b->schedule.n_locks * 4, e));
        TRY(v->d->ops->copy_in(v->queue, at(b, v->locks.done), v->locks.done, b->n_calls, e));
        TRY(v->d->ops->copy_in(v->queue, at(b, b->schedule.order), b->schedule.order, v->launches.left * 4, e));
    }
    TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    v->on_host = false;
    mark_changed(b);
    return ST_OK;
}

/* Gives a call its error, with the place of the instruction. NULL: no memory for it. */
static CallError *give_error(Bulk *b, int worker, int32_t group, int32_t pc, uint32_t call, const Err *e) {
    static CallError oom = {.sqlstate = "53200", .message = (char *)(uintptr_t) "out of memory for an error's message"};
    const Proc *proc = b->groups[group].group->proc;
    CallSink *k = &b->w[worker].sink;
    CallError *x = arena_new_of(k->arena, CallError);
    x = x && call_error_of(k->arena, e, x) ? call_error_place(k->arena, proc, pc, x) : NULL;
    k->errors[group][b->pos_of ? b->pos_of[call] : call] = x ? x : &oom;
    k->n_failed++;
    return x;
}
/* A RAISE with a constant message: its calls share the error. */
static void word_raise(Bulk *b, int32_t group, int32_t pc, uint32_t call) {
    CallError ***shared = &b->device->failures.raised[group];
    const Program *p = b->groups[group].group->proc->body;
    if (*shared && (*shared)[pc]) {
        CallSink *k = &b->w[0].sink;
        k->errors[group][b->pos_of ? b->pos_of[call] : call] = (*shared)[pc];
        k->n_failed++;
        return;
    }
    const RaiseSite *r = p->instrs[pc].aux;
    Err e = {0};
    char text[sizeof e.message];
    int64_t n = 0;
    for (const char *s = r->format; *s && n < (int64_t)sizeof text - 1; s++) {
        if (*s != '%') text[n++] = *s;
        else if (s[1] == '%') text[n++] = *s++;
    }
    text[n] = 0;
    err_set(&e, r->sqlstate, "%s", text);
    if (r->detail) err_detail(&e, "%s", r->detail);
    if (r->hint) err_hint(&e, "%s", r->hint);
    if (r->names) err_names(&e, r->names);
    CallError *x = give_error(b, 0, group, pc, call, &e);
    if (!*shared) *shared = arena_calloc(b->arena, (p->n_instrs + 1) * (int64_t)sizeof **shared);
    if (*shared) (*shared)[pc] = x;
}
/* A taken key, from the list of these. */
static void word_key(Bulk *b, int worker, const uint64_t *record) {
    uint32_t call = (uint32_t)record[0];
    int32_t group = bulk_type(b, call), pc = (int32_t)((uint32_t)record[1] >> 8) - 1;
    const RowInsert *ins = b->groups[group].group->proc->body->instrs[pc].aux;
    const Image *im = b->groups[group].proc->body->tables[ins->table].image;
    const ImageIndex *ix = &im->indexes[record[0] >> 32];
    const void **cells = b->device->failures.key_cells + worker * b->device->failures.key_cols;
    Err e = {0};
    for (int32_t c = 0; c < ix->n_cols; c++) cells[ix->cols[c]] = &record[2 + c];
    (void)row_key_error(im->table, ix->key, cells, &e);
    (void)give_error(b, worker, group, pc, call, &e);
}
/* Words an error that follows from its code: false when only the virtual machine can word it. */
static bool word_error(Bulk *b, int worker, int32_t group, uint32_t code, uint32_t call) {
    const Program *p = b->groups[group].group->proc->body;
    if ((code & PROC_ERROR_KNOWN) == 0) return false;
    code &= ~PROC_ERROR_KNOWN;
    int32_t pc = (int32_t)(code >> 8) - 1, kind = (int32_t)(code & 0xff);
    if (kind == PF_KEY) return true; /* its record in `keys` has the error */
    if (kind == PF_RAISED_PLAIN) {
        word_raise(b, group, pc, call);
        return true;
    }
    Err e = {0};
    emit_data_error(p, group, code, &e);
    for (int32_t i = pc - 1; i >= 0 && !op_is_control(p->instrs[i].op);
         i--) /* the virtual machine repeats a whole IF */
        if (p->instrs[i].op == OP_IF && p->instrs[p->instrs[i].jump].jump > pc) pc = i;
    (void)give_error(b, worker, group, pc, call, &e);
    return true;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}
/* Words duplicate keys, and failures that have not been worded. Errors that calls share exist already, or are left for
 * later, as are calls for the virtual machine. Memory is prefetched for some failures at a time. */
typedef struct Wording {
    Bulk *b;
    int64_t keys;
    uint32_t *left;
    _Atomic int64_t next, n_left;
} Wording;
enum { WORD_AT_A_TIME = 32 };
static void word_some(Wording *y, int worker, int n, const int64_t *which) {
    Bulk *b = y->b;
    BulkDevice *v = b->device;
    CallError **at[WORD_AT_A_TIME];
    int64_t worded = 0;
    for (int i = 0; i < n; i++) {
        uint32_t call = (uint32_t)v->failures.list[1 + which[i]];
        at[i] = &b->result->errors[bulk_type(b, call)][b->pos_of ? b->pos_of[call] : call];
        __builtin_prefetch(at[i], 1);
    }
    for (int i = 0; i < n; i++) {
        uint32_t call = (uint32_t)v->failures.list[1 + which[i]],
                 code = (uint32_t)(v->failures.list[1 + which[i]] >> 32);
        int32_t group = bulk_type(b, call), pc = (int32_t)((code & ~PROC_ERROR_KNOWN) >> 8) - 1;
        bool shared = (code & PROC_ERROR_KNOWN) != 0 && (code & 0xff) == PF_RAISED_PLAIN;
        CallError *x = shared && v->failures.raised[group] ? v->failures.raised[group][pc] : NULL;
        if (x) {
            *at[i] = x;
            worded++;
        } else if (shared || !word_error(b, worker, group, code, call)) {
            y->left[atomic_fetch_add(&y->n_left, 1)] = (uint32_t)which[i];
        }
    }
    b->w[worker].sink.n_failed += worded;
}
static void word_worker(void *ctx, int worker) {
    Wording *y = ctx;
    Bulk *b = y->b;
    BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failures.list[0];
    for (int64_t from; (from = atomic_fetch_add(&y->next, WORD_KEYS)) < y->keys;)
        for (int64_t i = from; i < MIN_OF(from + WORD_KEYS, y->keys); i++)
            word_key(b, worker, v->failures.keys + 2 + i * KEY_WORDS);
    for (int64_t from; (from = atomic_fetch_add(&b->next, WORD_STEP)) < n;) {
        int64_t which[WORD_AT_A_TIME], end = MIN_OF(from + WORD_STEP, n);
        for (int64_t i = from; i < end; i += WORD_AT_A_TIME) {
            int have = 0;
            for (int64_t k = i; k < MIN_OF(i + WORD_AT_A_TIME, end); k++) {
                uint32_t call = (uint32_t)v->failures.list[1 + k];
                if (v->failures.list[1 + k] >> 32 == WORDED) continue;
                if (b->type_of) __builtin_prefetch(&b->type_of[call]);
                if (b->pos_of) __builtin_prefetch(&b->pos_of[call]);
                which[have++] = k;
            }
            word_some(y, worker, have, which);
        }
    }
}
/* Words failures of a launch or batch, and returns the calls that the virtual machine has to run, in their order. */
static int64_t word_failures(Bulk *b, uint32_t **calls) {
    BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failures.list[0], m = 0;
    Wording y = {.b = b, .keys = keys_listed(v)};
    *calls = v->failures.rest;
    if (n == 0) return 0;
    /* Errors that calls share are made from some failures all over the list: neighbours are often alike. */
    for (int64_t i = 0; i < n; i += MAX_OF(n / WORD_SAMPLE, INT64_C(1))) {
        uint32_t call = (uint32_t)v->failures.list[1 + i], code = (uint32_t)(v->failures.list[1 + i] >> 32);
        int32_t group = bulk_type(b, call), pc = (int32_t)((code & ~PROC_ERROR_KNOWN) >> 8) - 1;
        if ((code & PROC_ERROR_KNOWN) == 0 || (code & 0xff) != PF_RAISED_PLAIN ||
            (v->failures.raised[group] && v->failures.raised[group][pc]))
            continue;
        word_raise(b, group, pc, call);
        v->failures.list[1 + i] |= (uint64_t)WORDED << 32; /* worded */
    }
    atomic_store(&b->next, 0);
    y.left = v->failures.rest;
    if (b->workers > 1 && (n > WORD_STEP || y.keys > WORD_KEYS))
        pool_run(b->opt->query->pool, b->workers, word_worker, &y);
    else word_worker(&y, 0);
    for (int64_t k = 0; k < y.n_left; k++) { /* *calls has no more than it had before, and k */
        uint64_t entry = v->failures.list[1 + y.left[k]];
        if (!word_error(b, 0, bulk_type(b, (uint32_t)entry), (uint32_t)(entry >> 32), (uint32_t)entry))
            (*calls)[m++] = (uint32_t)entry;
    }
    if (m > 1) qsort(*calls, (size_t)m, sizeof **calls, by_number);
    return m;
}
/* These calls, which do not conflict, on the machine: procedure by procedure. */
static Status run_failures(Bulk *b, int64_t n, const uint32_t *calls, Err *e) {
    uint32_t *some = arena_alloc(b->arena, n * 4 + 4);
    if (!some) return err_oom(e);
    b->device->launches.trip = true;
    for (int32_t k = 0; k < b->n_groups; k++) {
        int64_t m = 0;
        for (int64_t i = 0; i < n; i++)
            if (bulk_type(b, calls[i]) == k) some[m++] = calls[i];
        if (m > 0) on_machine(b, k, m, some);
    }
    return ST_OK;
}
/* Handles the failures of a batch; calls for the virtual machine are of the launch before `done`. */
/* *trip: all images went to the host and back for it. */
static Status see_failures(Bulk *b, int64_t done, bool *trip, Err *e) {
    uint32_t *calls;
    int64_t m = word_failures(b, &calls);
    bulk_mark(b, BP_FAILURES);
    *trip = m > 0;
    if (m == 0) return ST_OK;
    TRY(go_home(b, done - 1, e));
    TRY(run_failures(b, m, calls, e));
    b->device->safe = done;
    return go_back(b, e);
}

/* ---- running ---------------------------------------------------------------------------------------- */
/* Whether all calls, or some, are to stop, so that the virtual machine runs what is left. For some calls it needs all
 * images on the host, which pays only where the bulk would not end otherwise. */
static bool canceled(const Bulk *b) {
    const CallSink *k = &b->w[0].sink;
    return sink_canceled(k) || (sink_stops_some(k) && clock_ns() - b->times.began > STOP_AFTER_NS);
}
bool bulk_device_poll(void *ctx) {
    Bulk *b = ctx;
    BulkDevice *v = b->device;
    if (v->control.words[W_STOP] || !canceled(b)) return true;
    __atomic_store_n(&v->control.words[W_STOP], 1, __ATOMIC_RELAXED);
    Err e = {0};
    const uint64_t *stop = &v->control.words[W_STOP];
    if (v->copies && device_signal(v->d, &v->side, at(b, stop), stop, &e) != ST_OK)
        log_write(LOG_WARNING, "a bulk on device \"%s\" cannot be stopped: %s", v->d->info.id, e.message);
    return true;
}

/* A launch for each set; when no call waits for another, one for all. */
static Status cut_launches(Bulk *b, Launch **out, int64_t *count, Err *e) {
    const Schedule *s = &b->schedule;
    bool sets = s->strategy == STRATEGY_KSET;
    int64_t n = *count = sets ? s->n_sets : 1;
    Launch *l = *out = arena_alloc(b->arena, (n + 1) * (int64_t)sizeof(Launch));
    if (!l) return err_oom(e);
    for (int64_t k = 0; k < n; k++)
        l[k] = sets ? (Launch){s->set_start[k], s->set_start[k + 1] - s->set_start[k]} : (Launch){0, b->n_calls};
    return ST_OK;
}

static Status queue_launch(Bulk *b, const Launch *l, int64_t number, Err *e) {
    BulkDevice *v = b->device;
    uint64_t *to = v->params.values + PROC_LAUNCH_AT;
    *to++ = (uint64_t)l->n;
    *to++ = v->plan.in_sets                        ? v->plan.sets.order + (DevPtr)l->start * 4
            : v->plan.ranked && l->n == b->n_calls ? v->plan.ranks.order
                                                   : at(b, b->schedule.order + l->start);
    *to++ = (uint64_t)number;
    *to = at(b, &v->control.words[W_TICKETS + number - 1]);
    return bulk_launch(b, v->queue, v->kernel, groups_of(b, launch_items(b, l->n), v->partitions.at ? 1 : PROC_TILE),
                       e);
}

/* Queues launches and waits: how many were queued, and the number of the one with failures (0 none). An error: the
 * device is not to be used further. */
static Status run_batch(Bulk *b, const Launch *l, int64_t most, int64_t *queued, int64_t *blocked, Err *e) {
    BulkDevice *v = b->device;
    Err refused = {0};
    *queued = 0;
    v->failures.list[0] = v->failures.keys[0] = 0;
    v->failures.keys[1] = (uint64_t)keys_room(v);
    v->results.here = false;
    const int64_t zeros = W_TICKETS + most + 1 - W_BLOCKED; /* a launch under locks has two tickets */
    TRY(bulk_foot_drop(b, e));
    memset(&v->control.words[W_BLOCKED], 0, (size_t)zeros * 8);
    if (v->copies) {
        const DevCopy copies[] = {{at(b, &v->control.words[W_BLOCKED]), &v->control.words[W_BLOCKED], zeros * 8},
                                  {at(b, v->failures.list), v->failures.list, 8},
                                  {at(b, v->failures.keys), v->failures.keys, 16}};
        TRY(device_copy_in_many(v->d, v->queue, copies, ARRAY_LEN(copies), e));
    }
    v->launches.batches++;
    v->launches.last_ns = clock_ns();
    bulk_mark_device(b, MARK_LAUNCH);
    while (*queued < most && queue_launch(b, &l[*queued], *queued + 1, &refused) == ST_OK) ++*queued;
    bulk_mark_device(b, MARK_RUN);
    bool all = v->copies && v->results.queued && *queued == most; /* no further launch, unless there are failures */
    if (v->copies) TRY(bulk_device_queue_state(b, e));
    if (all) TRY(bulk_device_queue_results(b, e));
    bulk_mark_device(b, MARK_FETCHED);
    if (v->copies) bulk_args_next(b);
    if (all) TRY(bulk_foot_next(b, e));
    if (v->copies && b->opt->launched) b->opt->launched(b->opt->launched_ctx);
    TRY(device_finish(v->d, v->queue, bulk_device_poll, b, e));
    bulk_read_marks(b);
    bulk_mark(b, BP_RUN);
    *blocked = (int64_t)v->control.words[W_BLOCKED];
    v->results.here = all;
    return v->copies ? bulk_device_take_state(b, e) : ST_OK;
}

/* OUT strings point into tables and scratch memory: the result gets copies, procedure by procedure, each worker a share
 * of the calls. */
enum { KEEP_CALLS = 4096 };
typedef struct KeepTexts {
    Bulk *b;
    int32_t group;
    _Atomic int64_t next;
} KeepTexts;
static void keep_worker(void *ctx, int worker) {
    static CallError oom = {.sqlstate = "53200",
                            .message = (char *)(uintptr_t) "out of memory for the result; the call has been executed"};
    KeepTexts *k = ctx;
    Bulk *b = k->b;
    const CallGroup *group = b->groups[k->group].group;
    for (int64_t first; (first = atomic_fetch_add(&k->next, KEEP_CALLS)) < group->n;)
        for (int32_t o = 0; o < group->proc->n_outs; o++) {
            Vec *v = &b->result->outs[k->group][o];
            Str *s = v->data;
            for (int64_t i = first; v->phys == PH_STR && i < MIN_OF(first + KEEP_CALLS, group->n); i++) {
                if (!v->valid[i]) continue;
                const char *copy = arena_strndup(b->w[worker].sink.arena, s[i].ptr, s[i].len);
                if (copy) {
                    s[i].ptr = copy;
                    continue;
                }
                v->valid[i] = 0;
                memset(&s[i], 0, sizeof s[i]);
                if (!b->result->errors[k->group][i]) b->result->errors[k->group][i] = &oom;
            }
        }
}
static void keep_texts(Bulk *b) {
    BulkDevice *v = b->device;
    if (v->copies && texts_give(&v->texts, b->result->arena)) return; /* the result has them already */
    for (int32_t k = 0; k < b->n_groups; k++) {
        KeepTexts x = {.b = b, .group = k};
        if (!v->code->module.procs[v->kinds[k]].text_outs) continue;
        if (b->workers > 1 && b->groups[k].group->n > KEEP_CALLS)
            pool_run(b->opt->query->pool, b->workers, keep_worker, &x);
        else keep_worker(&x, 0);
    }
}

static void forget_error(Bulk *b, uint32_t call) {
    CallError **x = &b->result->errors[bulk_type(b, call)][b->pos_of ? b->pos_of[call] : call];
    if (*x) b->w[0].sink.n_failed--;
    *x = NULL;
}
/* Under locks: schedule.order has the calls that have not run. */
static void find_left(Bulk *b) {
    BulkDevice *v = b->device;
    v->launches.left = 0;
    for (int64_t i = 0; i < b->n_calls; i++)
        if (!v->locks.done[i]) b->schedule.order[v->launches.left++] = (uint32_t)i;
}
/* Calls that have not run in their partitions; *longest: of one. */
static int64_t left_in_partitions(const Bulk *b, int64_t *longest) {
    const Schedule *s = &b->schedule;
    int64_t left = *longest = 0;
    for (int64_t p = 0; p < s->n_partitions; p++) {
        int64_t n = s->partition_start[p + 1] - b->device->partitions.at[p];
        left += n;
        *longest = MAX_OF(*longest, n);
    }
    return left;
}
/* No call has run, and the host has no order: the virtual machine plans anew. */
static bool knows_no_order(const Bulk *b) {
    const BulkDevice *v = b->device;
    return v->plan.ranked && (v->plan.in_sets ? !b->schedule.order : !b->schedule.lock_start) && v->safe == 0;
}

/* The device failed: continues from the state of the host's images. */
static Status start_again(Bulk *b, const Launch *l, int64_t n, Err *e) {
    BulkDevice *v = b->device;
    v->launches.trip = true;
    if (!v->copies || v->safe < 0) return ST_ERROR;
    log_write(LOG_WARNING, "a bulk goes on without device \"%s\": %s", v->d->info.id, e->message);
    err_clear(e);
    device_queue_drop(v->d, &v->queue); /* kernels may still use what is freed now */
    images_drop_prefetched(b->images);
    (void)each_image(b, drop_device_copy, e);
    v->on_host = true;
    bulk_device_clear_outs(b);
    if (knows_no_order(b)) {
        for (uint32_t i = 0; i < (uint32_t)b->n_calls; i++) forget_error(b, i);
        return ST_OK;
    }
    if (v->partitions.at) {
        int64_t longest;
        v->launches.left = left_in_partitions(b, &longest);
        for (int64_t p = 0; p < b->schedule.n_partitions; p++)
            for (int64_t k = v->partitions.at[p]; k < b->schedule.partition_start[p + 1]; k++)
                forget_error(b, b->schedule.order[k]);
        return ST_OK;
    }
    if (v->locks.on) find_left(b);
    for (int64_t i = v->locks.on ? 0 : v->safe; i < n; i++)
        for (int64_t k = l[i].start; k < l[i].start + (v->locks.on ? v->launches.left : l[i].n); k++)
            forget_error(b, b->schedule.order[k]);
    return ST_OK;
}

/* Failures that cannot be worded here copy all images to the host and back: where that would happen many more times,
 * the virtual machine runs the rest. `done`, `left`: launches, or calls, since the trip before, and to come; `rows`: of
 * all tables. */
static void give_up_launching(int64_t trips, int64_t rows, int64_t done, int64_t left, const char **reason) {
    if (trips >= TRIPS_MIN && done * TRIPS_MAX < left && trips * rows > TRIPS_ROWS)
        *reason = "calls failed launch after launch for reasons that only the virtual machine can tell";
}
static Status run_launches(Bulk *b, const Launch *l, int64_t n, int64_t *done, const char **reason, Err *e) {
    int64_t batch = 8, trips = 0, before = *done, rows = all_rows(b);
    while (*done < n && !*reason && !canceled(b)) {
        int64_t queued, blocked, most = MIN_OF(batch, n - *done);
        b->device->results.queued = *done + most == n;
        TRY(run_batch(b, l + *done, most, &queued, &blocked, e));
        if (queued < most && !blocked) *reason = "the device refused a launch";
        batch = blocked ? MAX_OF(batch / 2, INT64_C(1)) : MIN_OF(batch * 2, (int64_t)BATCH_MAX);
        *done += blocked ? blocked : queued;
        bool trip = false;
        if (b->device->failures.list[0] > 0) TRY(see_failures(b, *done, &trip, e));
        if (!trip) continue;
        give_up_launching(++trips, rows, *done - before, n - *done, reason);
        before = *done;
    }
    if (*done < n) return go_home(b, *done, e);
    if (!b->device->copies) return ST_OK;
    return bulk_device_fetch(b, e);
}

/* Failed calls have been run again: releases what waits for them. */
static void release_locks(Bulk *b, int64_t n, const uint32_t *calls) {
    const Schedule *s = &b->schedule;
    BulkDevice *v = b->device;
    for (int64_t i = 0; i < s->n_locks; i++) v->locks.counters[i] &= ~(UINT32_C(1) << LOCK_POISON_BIT);
    for (int64_t i = 0; i < n; i++) {
        v->locks.done[calls[i]] = 1;
        for (int64_t k = s->lock_start[calls[i]]; k < s->lock_start[calls[i] + 1]; k++)
            v->locks.counters[s->locks[k].lock]++;
    }
}
/* All calls with statement locks, or none of them (undone). */
static Status run_statement_locks(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    int64_t queued, blocked;
    uint32_t *calls;
    Launch l = {0, b->n_calls};
    v->results.queued = true;
    TRY(run_batch(b, &l, 1, &queued, &blocked, e));
    TRY(bulk_statement_locks_finish(b, e));
    b->again |= queued == 0;
    if (!b->again && word_failures(b, &calls) > 0)
        return err_internal(e, "a call with statement locks failed without an error");
    v->launches.left = 0;
    return bulk_device_fetch(b, e);
}
/* All calls under locks: schedule.order[0 .. left) is what has not run in the end. */
static Status run_locked(Bulk *b, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    uint32_t *calls;
    if (v->statement.on) return run_statement_locks(b, e);
    for (int64_t trips = 1, rows = all_rows(b); v->launches.left > 0 && !*reason && !canceled(b); trips++) {
        int64_t queued, blocked, before = v->launches.left;
        Launch l = {0, v->launches.left};
        v->results.queued = true;
        TRY(run_batch(b, &l, 1, &queued, &blocked, e));
        if (queued == 0) *reason = "the device refused a launch";
        int64_t m = word_failures(b, &calls);
        bulk_mark(b, BP_FAILURES);
        if (queued > 0 && m == 0 && !v->control.words[W_STOP]) {
            v->launches.left = 0;
            break;
        }
        TRY(go_home(b, 0, e));
        TRY(run_failures(b, m, calls, e));
        release_locks(b, m, calls);
        find_left(b);
        give_up_launching(trips, rows, before - v->launches.left, v->launches.left, reason);
        if (v->launches.left > 0 && !*reason && !canceled(b)) TRY(go_back(b, e));
    }
    if (v->launches.left > 0) return go_home(b, 0, e);
    return v->copies && !v->on_host ? bulk_device_fetch(b, e) : ST_OK;
}

/* Failed calls have been run again: their partitions continue behind them. */
static void pass_failures(Bulk *b, int64_t n, const uint32_t *calls) {
    const Schedule *s = &b->schedule;
    uint32_t *at_partition = b->device->partitions.at;
    for (int64_t p = 0; n > 0 && p < s->n_partitions; p++)
        if (at_partition[p] < s->partition_start[p + 1] &&
            bsearch(&s->order[at_partition[p]], calls, (size_t)n, sizeof *calls, by_number))
            at_partition[p]++;
}
/* All calls, partition by partition: none is left in the end. */
static Status run_partitions(Bulk *b, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    Launch l[BATCH_MAX];
    uint32_t *calls;
    int64_t trips = 0, rows = all_rows(b), longest;
    for (int i = 0; i < BATCH_MAX; i++) l[i] = (Launch){0, b->schedule.n_partitions};
    v->launches.left = left_in_partitions(b, &longest);
    while (v->launches.left > 0 && !*reason && !canceled(b)) {
        int64_t queued, blocked, most = MIN_OF((longest + PROC_PART_CALLS - 1) / PROC_PART_CALLS, (int64_t)BATCH_MAX);
        v->results.queued = longest <= most * PROC_PART_CALLS;
        TRY(run_batch(b, l, most, &queued, &blocked, e));
        if (queued < most && !blocked) *reason = "the device refused a launch";
        int64_t before = v->launches.left, m = word_failures(b, &calls);
        bulk_mark(b, BP_FAILURES);
        if (m == 0 && !v->control.words[W_STOP]) {
            longest -= MIN_OF(longest, queued * PROC_PART_CALLS);
            if (longest == 0) v->launches.left = 0;
            continue;
        }
        TRY(go_home(b, 0, e));
        TRY(run_failures(b, m, calls, e));
        pass_failures(b, m, calls);
        v->launches.left = left_in_partitions(b, &longest);
        give_up_launching(++trips, rows, before - v->launches.left, v->launches.left, reason);
        if (v->launches.left > 0 && !*reason && !canceled(b)) TRY(go_back(b, e));
    }
    if (v->launches.left > 0) return go_home(b, 0, e);
    return v->copies && !v->on_host ? bulk_device_fetch(b, e) : ST_OK;
}
/* `left`: calls that the device has not run. */
static void note_stops(const Bulk *b, bool left, const char **reason) {
    if (left && !*reason && sink_stops_some(&b->w[0].sink))
        *reason = "calls were canceled: the virtual machine did the rest";
}

Status bulk_device_execute(Bulk *b, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    Launch *l = NULL;
    int64_t n = 0, done = 0;
    bool anew = false;
    if (!v->partitions.at) TRY(cut_launches(b, &l, &n, e));
    v->launches.left = v->locks.on ? b->n_calls : 0;
    if (v->copies) mark_changed(b);
    if ((v->partitions.at ? run_partitions(b, reason, e)
         : v->locks.on    ? run_locked(b, reason, e)
                          : run_launches(b, l, n, &done, reason, e)) != ST_OK) {
        v->broken = true;
        TRY(start_again(b, l, n, e));
        *reason = "the device failed";
        done = v->safe;
        anew = knows_no_order(b);
    }
    if (done < n && !v->locks.on && knows_no_order(b)) anew = true; /* refused, or canceled: no call has begun */
    if (anew) {
        v->launches.left = 0;
        TRY(bulk_plan_on_host(b, e));
        TRY(bulk_execute(b, e));
    }
    note_stops(b, v->launches.left > 0 || done < n || anew, reason);
    if (v->launches.left > 0 && v->partitions.at) bulk_run_partitions(b, v->partitions.at);
    else if (v->launches.left > 0) bulk_run_locked(b, v->launches.left, (_Atomic uint32_t *)v->locks.counters);
    for (; done < n && !v->locks.on && !anew; done++)
        TRY(run_failures(b, l[done].n, b->schedule.order + l[done].start, e));
    for (int32_t i = 0; i < b->foot.n_sums; i++) {
        int128_t most = (int128_t)v->control.words[W_BOUNDS + i];
        b->w[0].sink.bounds[i] = MAX_OF(b->w[0].sink.bounds[i], most);
    }
    bulk_mark(b, BP_FETCH);
    keep_texts(b);
    texts_leave_room(b, &v->texts);
    return ST_OK;
}

/* Where one batch ran all calls, the device's list of failures is complete. */
void bulk_device_list_failed(Bulk *b) {
    const BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failures.list[0], failed = 0;
    for (int i = 0; i < b->workers; i++) failed += b->w[i].sink.n_failed;
    if (v->launches.batches != 1 || v->launches.trip || n != failed || n > FAILED_LIST_MAX) return;
    FailedCall *list = arena_array(b->result->arena, FailedCall, n + 1);
    for (int64_t i = 0; list && i < n; i++) {
        const uint32_t call = (uint32_t)v->failures.list[1 + i];
        list[i] = (FailedCall){bulk_type(b, call), b->pos_of ? b->pos_of[call] : call};
    }
    b->result->failed = list; /* NULL without memory: the list is optional */
    b->result->n_listed = n;
}
