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

#include "base/log.h"
#include "txn/device/bulk_device_int.h"

enum {
    GROUPS_PER_UNIT = 16,
    KEYS_MIN = 64,
    PROCS_MAX = 64,
    STOP_AFTER_NS = 1000000000,
    TRIPS_MIN = 32,
    TRIPS_MAX = 16,            /* of all tables home and back: so many are allowed, and so many more may come; */
    TRIPS_ROWS = 4 << 20,      /* neither are those that took so many rows */
    FAILED_LIST_MAX = 1 << 14, /* beyond that all threads look for failures in the result (replay.c) */
    IN_CACHE_BYTES = 2 << 20,  /* tables of a bulk that processors' own caches hold, more or less */
    UNDO_BYTES_MAX = 1 << 30
};

typedef struct Launch {
    int64_t start, n;
} Launch; /* calls schedule.order[start ..], or n partitions */
/* ---- preparation ------------------------------------------------------------------------------ */
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
    TRY(bulk_code_get(b, reason, e));
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

static uint64_t at(const Bulk *b, const void *p) { return bulk_device_at(b, p); }

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

static bool uses(const Bulk *b, const Image *im) {
    for (int32_t k = 0; im && k < b->n_groups; k++)
        for (int32_t t = 0; t < b->groups[k].group->proc->n_tables; t++)
            if (b->groups[k].proc->body->tables[t].image == im) return true;
    return false;
}
Image *bulk_next_image(const Bulk *b, int64_t *at) {
    while (*at < b->images->n) {
        Image *im = b->images->entries[(*at)++].image;
        if (uses(b, im)) return im;
    }
    return NULL;
}
static int64_t all_rows(const Bulk *b) {
    int64_t rows = 0;
    const Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) rows += atomic_load(&im->rows);
    return rows;
}
static int64_t all_bytes(const Bulk *b) {
    int64_t bytes = 0;
    const Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) {
        for (const RowPiece *p = im->pieces; p < im->pieces + ROW_PIECES; p++)
            bytes += atomic_load(&im->rows) * p->stride;
        for (int32_t k = 0; k < im->n_indexes; k++) bytes += (im->indexes[k].mask + 1) * 8;
    }
    return bytes;
}
static Status use_device_copies(Bulk *b, Err *e) {
    Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) {
        const int64_t room = texts_room(b, &b->device->texts, i - 1);
        if (b->args && b->args->foot && !device_copy_ready(im, room) && !images_wait_prefetch(b->images))
            b->args->foot = NULL; /* kernels read what is going to move */
        TRY(device_copy_use(im, b->device->d, b->device->cache, b->device->queue, room, e));
    }
    return ST_OK;
}
/* All images or none; the device's copies are not used before the host's are sent again. */
static Status bring_home(Bulk *b, Err *e) {
    Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) TRY(device_copy_fetch(im, e));
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) {
        device_copy_commit(im);
        device_copy_stale(im);
    }
    return ST_OK;
}
static Status copy_to_host(Bulk *b, Err *e) {
    Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) TRY(device_copy_to_host(im, e));
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
    if (v->statement.on) bulk_plan_together(b);
    int64_t items =
        groups_of(b, v->statement.on ? MAX_OF(b->n_calls, bulk_launch_items(b, b->n_calls)) : b->n_calls, 1) *
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
        v->prefetch.on = all_bytes(b) > IN_CACHE_BYTES;
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
    const Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));)
        if (device_copy_newer(im)) v->safe = -1;
    TRY(use_device_copies(b, e));
    TRY(bulk_device_send(b, e));
    bulk_mark(b, BP_PLACE);
    return ST_OK;
}

/* Where each partition stands. SERIAL has one. */
static Status make_partitions(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    Schedule *s = &b->schedule;
    if (!bulk_in_partitions(b)) return ST_OK;
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
        TRY(use_device_copies(b, e)); /* there is room for inserts now */
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

Status bulk_device_footprints(Bulk *b, BulkPlanned *how, const char **reason, Err *e) {
    *how = PLANNED_NOTHING;
    if (b->device->foot && bulk_foot_run(b, how, e) != ST_OK) TRY(give_up(b, reason, e));
    if (b->device && b->device->copies && *how == PLANNED_NOTHING) TRY(copy_to_host(b, e));
    return ST_OK;
}

Status bulk_device_counts(Bulk *b, bool *counted, const char **reason, Err *e) {
    *counted = false;
    if (!b->device->copies) return ST_OK;
    if (b->device->foot && bulk_foot_count(b, counted, e) != ST_OK) TRY(give_up(b, reason, e));
    return b->device && !*counted ? copy_to_host(b, e) : ST_OK;
}

/* ---- failures --------------------------------------------------------------------------------------- */
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
    TRY(v->d->ops->copy_out(v->queue, v->locks.stage, bulk_counters_at(b), b->schedule.n_locks * 4, e));
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
    TRY(use_device_copies(b, e));
    TRY(texts_take_room(b, &v->texts, e));
    v->locks.relaunched = true;
    TRY(bulk_device_send_back(b, e));
    TRY(bulk_device_values(b, e)); /* images may have moved */
    if (v->partitions.at)
        TRY(v->d->ops->copy_in(v->queue, at(b, v->partitions.at), v->partitions.at, b->schedule.n_partitions * 4,
                               e)); /* calls have run since */
    if (v->locks.on) {
        TRY(v->d->ops->copy_in(v->queue, bulk_counters_at(b), v->locks.counters, b->schedule.n_locks * 4, e));
        TRY(v->d->ops->copy_in(v->queue, at(b, v->locks.done), v->locks.done, b->n_calls, e));
        TRY(v->d->ops->copy_in(v->queue, at(b, b->schedule.order), b->schedule.order, v->launches.left * 4, e));
    }
    TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    v->on_host = false;
    mark_changed(b);
    return ST_OK;
}

/* Handles the failures of a batch; calls for the virtual machine are of the launch before `done`. */
/* *trip: all images went to the host and back for it. */
static Status see_failures(Bulk *b, int64_t done, bool *trip, Err *e) {
    uint32_t *calls;
    int64_t m = bulk_word_failures(b, &calls);
    bulk_mark(b, BP_FAILURES);
    *trip = m > 0;
    if (m == 0) return ST_OK;
    TRY(go_home(b, done - 1, e));
    TRY(bulk_run_failures(b, m, calls, e));
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
    return bulk_launch(b, v->queue, v->kernel,
                       groups_of(b, bulk_launch_items(b, l->n), v->partitions.at ? 1 : PROC_TILE), e);
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
    Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) device_copy_free(im);
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
    if (!b->again && bulk_word_failures(b, &calls) > 0)
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
        int64_t m = bulk_word_failures(b, &calls);
        bulk_mark(b, BP_FAILURES);
        if (queued > 0 && m == 0 && !v->control.words[W_STOP]) {
            v->launches.left = 0;
            break;
        }
        TRY(go_home(b, 0, e));
        TRY(bulk_run_failures(b, m, calls, e));
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
            bsearch(&s->order[at_partition[p]], calls, (size_t)n, sizeof *calls, bulk_by_number))
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
        int64_t before = v->launches.left, m = bulk_word_failures(b, &calls);
        bulk_mark(b, BP_FAILURES);
        if (m == 0 && !v->control.words[W_STOP]) {
            longest -= MIN_OF(longest, queued * PROC_PART_CALLS);
            if (longest == 0) v->launches.left = 0;
            continue;
        }
        TRY(go_home(b, 0, e));
        TRY(bulk_run_failures(b, m, calls, e));
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
        TRY(bulk_run_failures(b, l[done].n, b->schedule.order + l[done].start, e));
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
