/* bulk_memory.c - memory of a bulk on a device, and its copies.
 *
 * What kernels find on a device with memory of its own:
 *   arguments             bulk_args.c
 *   before the schedule   control words, which the host sends; then what only the device writes
 *   after it              order and locks, when the host made them; OUT values
 *
 * Back. The results' columns lie in one piece, in the order and at the distances that they have on the device: one copy
 * brings them, and they are not copied again. That piece is the result's (BulkLoan); drivers keep pinned memory that
 * was freed, so bulks of one kind use few pieces by turns. OUT strings likewise. Control words, failures and results
 * are fetched by copies queued right behind the kernel; of lists whose length only the device knows, as much as earlier
 * bulks had with a margin, and the rest afterwards, if there is any.
 *
 * Memory that copies run to and from is pinned: else the driver waits for each copy. Where no pinned memory can be
 * allocated, ordinary memory is used, slowly.
 */
#include "base/log.h"
#include "txn/device/bulk_device_int.h"

#define LENT_MAX (INT64_C(3) << 30) /* pinned memory that results may hold, together */

/* ---- pinned memory ------------------------------------------------------------------------------ */
/* Rounds sizes up, so that bulks of nearly the same size use the same piece. */
static int64_t in_steps(int64_t bytes) {
    int64_t step = 64 << 10;
    while (step * 16 < bytes) step *= 2;
    return align_up(bytes + bytes / 32, step);
}
static Status borrow(Device *d, MemAccount *account, int64_t bytes, BulkLoan *out, Err *e) {
    Err why = {0};
    bytes = MAX_OF(bytes, 1);
    *out = (BulkLoan){.account = account, .bytes = d ? in_steps(bytes) : bytes};
    if (d) {
        if (atomic_fetch_add(&d->lent, out->bytes) + out->bytes <= LENT_MAX &&
            d->ops->alloc_pinned(d, out->bytes, &out->p, NULL, &why) == ST_OK) {
            out->device = d;
            return ST_OK;
        }
        atomic_fetch_sub(&d->lent, out->bytes);
    }
    return (out->p = mem_alloc_raw(account, out->bytes, e)) ? ST_OK : ST_ERROR;
}
Status bulk_device_borrow(Bulk *b, int64_t bytes, BulkLoan *out, Err *e) {
    return borrow(b->device->copies ? b->device->d : NULL, b->opt->query->account, bytes, out, e);
}
void bulk_give_back(BulkLoan *l) {
    if (!l->p) return;
    if (l->device) {
        l->device->ops->free_pinned(l->device, l->p, l->bytes);
        atomic_fetch_sub(&l->device->lent, l->bytes);
    } else {
        mem_free(l->account, l->p, l->bytes);
    }
    l->p = NULL;
    l->bytes = 0;
}
/* The image set's, for this bulk. */
Status bulk_host_memory(Bulk *b, BulkHostMem which, int64_t bytes, void **out, Err *e) {
    struct BulkLoan *k = &b->images->pinned[which];
    if (k->bytes < bytes || !k->p) {
        if (k->p) (void)images_wait_prefetch(b->images);
        bulk_give_back(k);
        k->bytes = 0;
        TRY(borrow(b->device->d, &b->images->account, bytes, k, e));
    }
    *out = k->p;
    return ST_OK;
}

/* ---- the device's memory ------------------------------------------------------------------------ */
static void add_buffer(BulkDevice *v, const void *host, int64_t bytes, bool in, bool out) {
    if (!host || bytes <= 0) return;
    int32_t i = v->memory.n_buffers++, at = i;
    v->memory.buffers[i] =
        (Buffer){.host = (void *)(uintptr_t)host, .bytes = bytes, .at = (DevPtr)v->memory.room, .in = in, .out = out};
    v->memory.room += align_up(bytes, RESULT_ALIGN);
    while (at > 0 && (uintptr_t)v->memory.buffers[v->memory.by_host[at - 1]].host > (uintptr_t)host) at--;
    memmove(v->memory.by_host + at + 1, v->memory.by_host + at, sizeof *v->memory.by_host * (size_t)(i - at));
    v->memory.by_host[at] = i;
}
uint64_t bulk_device_at(const Bulk *b, const void *p) {
    const BulkDevice *v = b->device;
    if (!v->copies || !p) return (uint64_t)(uintptr_t)p;
    int32_t lo = 0, hi = v->memory.n_buffers; /* the last one that begins at p or before */
    while (hi - lo > 1) {
        int32_t mid = (lo + hi) / 2;
        if ((uintptr_t)v->memory.buffers[v->memory.by_host[mid]].host <= (uintptr_t)p) lo = mid;
        else hi = mid;
    }
    const Buffer *x = &v->memory.buffers[v->memory.by_host[lo]];
    uint64_t from = (uint64_t)(uintptr_t)p - (uint64_t)(uintptr_t)x->host;
    return v->memory.n_buffers > 0 && (uintptr_t)p >= (uintptr_t)x->host && from < (uint64_t)x->bytes ? x->at + from
                                                                                                      : 0;
}
static uint64_t at(const Bulk *b, const void *p) { return bulk_device_at(b, p); }

Status bulk_device_memory(Bulk *b, BulkDevMem which, int64_t bytes, DevPtr *out, Err *e) {
    DevMem *k = &b->images->memory[which];
    if (k->p && k->bytes < bytes) (void)images_wait_prefetch(b->images);
    Status st = device_mem_need(b->device->d, NULL, k, bytes, e);
    *out = k->p;
    return st;
}
/* Buffers from number `first` on get addresses, and `more` bytes behind them. */
static Status place_buffers(Bulk *b, BulkDevMem which, int32_t first, int64_t more, DevPtr *behind, Err *e) {
    BulkDevice *v = b->device;
    DevPtr base;
    TRY(bulk_device_memory(b, which, v->memory.room + more + 8, &base, e));
    for (int32_t i = first; i < v->memory.n_buffers; i++) v->memory.buffers[i].at += base;
    *behind = base + (uint64_t)v->memory.room;
    v->memory.room = 0;
    return ST_OK;
}

static int64_t control_words(const Bulk *b) { return bulk_words(b) + 2 * b->images->n + 3 + 1; }
static int64_t head_room(const Bulk *b) {
    return align_up(control_words(b) * 8, RESULT_ALIGN) + align_up(b->n_groups * 2, RESULT_ALIGN) +
           align_up((3 * b->n_groups + 4) * 4, RESULT_ALIGN);
}
/* Words that come and go with each launch, and what else the host has of footprints there. */
Status bulk_device_control(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const int64_t head = head_room(b);
    void *p;
    v->control.n_words = control_words(b);
    const int64_t words = v->control.n_words + foot_words(b), values = v->code->module.n_params;
    if (!v->copies) p = arena_array(b->arena, uint64_t, words);
    else
        TRY(bulk_host_memory(b, (BulkHostMem)(BH_FOOT + b->slot), head + (words + values + GS_WORDS) * 8 + b->n_calls,
                             &p, e));
    if (!p) return err_oom(e);
    v->memory.head = v->copies ? p : NULL;
    v->control.words = v->copies ? (uint64_t *)(void *)(v->memory.head + head) : p;
    v->control.foot_words = v->control.words + v->control.n_words;
    v->params.prefetch_values = v->copies ? v->control.foot_words + foot_words(b) : NULL;
    v->control.lock_words = v->copies ? v->params.prefetch_values + values : NULL;
    v->control.foot_failed = v->copies ? (uint8_t *)(v->control.lock_words + GS_WORDS) : b->foot.failed;
    memset(v->control.words, 0, (size_t)v->control.n_words * 8);
    v->texts.heaps = v->control.words + bulk_words(b);
    v->texts.out_heap = v->texts.heaps + 2 * b->images->n;
    v->control.figures = (uint32_t *)(v->texts.out_heap + 3);
    return ST_OK;
}

/* What failed calls leave there. */
static int64_t failed_bytes(const Bulk *b) { return align_up((b->n_calls + 1) * 8, RESULT_ALIGN); }
static Status make_failures(Bulk *b, char *at, Err *e) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    if (at) {
        v->failures.list = (uint64_t *)(void *)at;
        v->failures.rest = (uint32_t *)(void *)(at + failed_bytes(b));
        v->failures.keys = (uint64_t *)(void *)(at + failed_bytes(b) + align_up(b->n_calls * 4, RESULT_ALIGN));
        return ST_OK;
    }
    v->failures.bytes = failed_bytes(b) + b->n_calls * 4 + 4;
    if (!(v->failures.list = mem_alloc_raw(acct, v->failures.bytes, e)) ||
        !(v->failures.keys = mem_alloc_raw(acct, v->failures.keys_bytes, e)))
        return ST_ERROR;
    v->failures.rest = (uint32_t *)(void *)((char *)v->failures.list + failed_bytes(b));
    return ST_OK;
}

/* Arguments, which have their places; then what footprints need besides: in the same buffer slot. */
static Status make_foot_buffers(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const BulkArgs *args = b->args;
    int64_t most = 28 + args->n_buffers;
    DevPtr behind;
    for (int32_t k = 0; k < b->n_groups; k++)
        most += 2 * b->groups[k].group->proc->n_outs + 2 * b->groups[k].group->proc->n_tables;
    if (!(v->memory.buffers = arena_array(b->arena, Buffer, most)) ||
        !(v->memory.by_host = arena_array(b->arena, int32_t, most)))
        return err_oom(e);
    for (int32_t i = 0; i < args->n_buffers; i++) {
        add_buffer(v, args->buffers[i].host, args->buffers[i].bytes, true, false);
        v->memory.buffers[i].at = args->buffers[i].at;
    }
    v->memory.room = 0;
    v->memory.first_head = v->memory.n_buffers;
    add_buffer(v, v->control.words, v->control.n_words * 8, true, true);
    add_buffer(v, v->kinds, b->n_groups * 2, true, false);
    add_buffer(v, v->warps.together, (3 * b->n_groups + 4) * 4, true, false);
    v->memory.head_bytes = v->memory.room;
    v->memory.n_head = v->memory.n_buffers - v->memory.first_head;
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++)
            add_buffer(v, b->groups[k].proc->body->tables[i].counts, b->groups[k].group->n * 4, false, false);
    add_buffer(v, v->control.foot_words, foot_words(b) * 8, false, false);
    add_buffer(v, v->control.foot_failed, v->foot && b->foot.failed ? b->n_calls : 0, false, false);
    if (v->code->module.param_table && !v->params.table)
        add_buffer(v, v->params.values, v->code->module.n_params * 8, false, false);
    return place_buffers(b, (BulkDevMem)(BM_FOOT + b->slot), v->memory.first_head, 0, &behind, e);
}
int64_t bulk_undo_room(BulkDevice *v, DevPtr at) {
    v->work.undo_at = at;
    v->work.scratch_at = at + (uint64_t)align_up(v->work.undo_bytes, RESULT_ALIGN);
    return align_up(v->work.undo_bytes, RESULT_ALIGN) + v->work.scratch_bytes + 8;
}
/* What calls need. */
static Status make_buffers(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const int32_t first = v->memory.n_buffers;
    DevPtr behind;
    void *stage;
    TRY(bulk_host_memory(b, BH_STAGE, failed_bytes(b) + align_up(b->n_calls * 4, RESULT_ALIGN) + v->failures.keys_bytes,
                         &stage, e));
    TRY(make_failures(b, stage, e));
    add_buffer(v, v->failures.list, (b->n_calls + 1) * 8, false, false);
    add_buffer(v, v->failures.keys, v->failures.keys_bytes, false, false);
    add_buffer(v, v->texts.outs, v->texts.outs_bytes, false, false);
    TRY(place_buffers(b, BM_BEFORE, first, 0, &behind, e));
    TRY(bulk_device_memory(b, BM_UNDO, bulk_undo_room(v, 0), &v->work.undo_at, e));
    (void)bulk_undo_room(v, v->work.undo_at);
    return ST_OK;
}
/* Control words and what is as short, in one copy. */
static Status send_head(Bulk *b, DevQueue *q, Err *e) {
    BulkDevice *v = b->device;
    const Buffer *first = &v->memory.buffers[v->memory.first_head];
    for (const Buffer *x = first; x < first + v->memory.n_head; x++)
        memcpy(v->memory.head + (x->at - first->at), x->host, (size_t)x->bytes);
    return v->d->ops->copy_in(q, first->at, v->memory.head, v->memory.head_bytes, e);
}
Status bulk_device_send_foot(Bulk *b, DevQueue *q, Err *e) {
    TRY(make_foot_buffers(b, e));
    return send_head(b, q, e);
}

Status bulk_device_send(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (!v->copies) return make_failures(b, NULL, e);
    TRY(make_foot_buffers(b, e));
    TRY(make_buffers(b, e));
    int64_t began = clock_ns();
    texts_place_outs(&v->texts, at(b, v->texts.outs));
    TRY(send_head(b, v->queue, e));
    bulk_mark_device(b, MARK_SENT);
    b->times.transfer_ns += clock_ns() - began;
    return ST_OK;
}

/* ---- what comes with the schedule --------------------------------------------------------------------------- */
Status bulk_device_send_more(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const Schedule *s = &b->schedule;
    int32_t first = v->memory.n_buffers;
    DevPtr behind;
    add_buffer(v, s->order, b->n_calls * 4, !v->plan.ranked, false);
    if (v->partitions.at) {
        add_buffer(v, s->partition_start, (s->n_partitions + 1) * 8, true, false);
        add_buffer(v, v->partitions.at, s->n_partitions * 4, true, false);
    }
    if (v->locks.on) add_buffer(v, v->locks.done, b->n_calls, !v->plan.ranked, false);
    if (v->locks.on && !v->plan.ranked) {
        add_buffer(v, v->locks.counters, s->n_locks * 4, true, false);
        add_buffer(v, s->lock_start, (b->n_calls + 1) * 8, true, false);
        add_buffer(v, s->locks, s->lock_start[b->n_calls] * (int64_t)sizeof(LockUse), true, false);
    }
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++)
            add_buffer(v, b->groups[k].proc->body->tables[i].starts, b->groups[k].group->n * 4, true, false);
    int32_t first_out = v->memory.n_buffers;
    v->results.outs_bytes = -v->memory.room;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        for (int32_t i = 0; i < group->proc->n_outs; i++) {
            Vec *o = &b->result->outs[k][i];
            add_buffer(v, o->data, group->n * phys_size((Phys)o->phys), false, true);
            add_buffer(v, o->valid, group->n, false, true);
        }
    }
    v->results.outs_bytes += v->memory.room;
    TRY(place_buffers(b, BM_AFTER, first, 0, &behind, e));
    for (int32_t i = first; i < v->memory.n_buffers; i++)
        if (v->memory.buffers[i].in)
            TRY(v->d->ops->copy_in(v->queue, v->memory.buffers[i].at, v->memory.buffers[i].host,
                                   v->memory.buffers[i].bytes, e));
    for (int32_t k = 0; k < b->n_groups && !v->plan.counted; k++) /* the machine's */
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++) {
            const uint32_t *counts = b->groups[k].proc->body->tables[i].counts;
            if (counts) TRY(v->d->ops->copy_in(v->queue, at(b, counts), counts, b->groups[k].group->n * 4, e));
        }
    if (v->plan.ranked && v->locks.on) TRY(v->d->ops->fill(v->queue, at(b, v->locks.done), 0, b->n_calls, e));
    if (v->results.outs_bytes == 0) return ST_OK;
    v->results.outs = v->memory.buffers[first_out].host;
    v->results.outs_at = v->memory.buffers[first_out].at;
    for (int32_t i = first_out; i < v->memory.n_buffers; i++) /* as bulk_make_result laid them out */
        if ((uint64_t)((char *)v->memory.buffers[i].host - v->results.outs) !=
            v->memory.buffers[i].at - v->results.outs_at)
            return err_internal(e, "OUT values lie in another order than on the device");
    return v->d->ops->fill(v->queue, v->results.outs_at, 0, v->results.outs_bytes, e); /* of calls that fail, zeros */
}
Status bulk_device_send_back(Bulk *b, Err *e) {
    const BulkDevice *v = b->device;
    TRY(v->d->ops->copy_in(v->queue, at(b, v->control.words), v->control.words, v->control.n_words * 8, e));
    return v->results.outs_bytes > 0
               ? v->d->ops->copy_in(v->queue, v->results.outs_at, v->results.outs, v->results.outs_bytes, e)
               : ST_OK;
}

/* ---- results ------------------------------------------------------------------------------------------------------
 */
bool bulk_device_copies(const Bulk *b) { return b->device && b->device->copies; }
Status bulk_device_numbers(Bulk *b, int64_t bytes, void **out, Err *e) {
    return bytes > 0 ? bulk_host_memory(b, (BulkHostMem)(BH_NUMBERS + b->slot), bytes, out, e) : ST_OK;
}
void bulk_device_clear_outs(Bulk *b) {
    BulkDevice *v = b->device;
    if (!v->copies || v->results.fetched || !b->result) return;
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_outs; i++) {
            const Vec *o = &b->result->outs[k][i];
            if (!o->data || !o->valid) return; /* there was no memory for them: the bulk fails */
            memset(o->data, 0, (size_t)(b->groups[k].group->n * phys_size((Phys)o->phys)));
            memset(o->valid, 0, (size_t)b->groups[k].group->n);
        }
    v->results.fetched = true;
}

static int64_t expected(const Bulk *b, double per_call, int64_t most) {
    return MIN_OF((int64_t)((double)b->n_calls * per_call) + 256, most);
}
static void learn(double *known, const Bulk *b, int64_t n) {
    *known = MAX_OF(*known, (double)n / (double)b->n_calls * 1.125);
}
static int64_t texts_made(const Bulk *b) {
    const BulkTexts *t = &b->device->texts;
    return t->outs ? MIN_OF((int64_t)(t->out_heap[0] - at(b, t->outs)), t->outs_bytes) : 0;
}

Status bulk_device_queue_state(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    const BulkCode *c = v->code;
    v->results.got_failed = expected(b, c->past.failed_per_call, b->n_calls);
    v->results.got_keys = expected(b, c->past.keys_per_call, keys_room(v));
    TRY(ops->copy_out(v->queue, &v->control.words[W_BLOCKED], at(b, &v->control.words[W_BLOCKED]),
                      (v->control.n_words - W_BLOCKED - 1) * 8, e));
    TRY(ops->copy_out(v->queue, v->failures.list, at(b, v->failures.list), (v->results.got_failed + 1) * 8, e));
    if (v->statement.on)
        TRY(ops->copy_out(v->queue, &v->control.lock_words[GS_STOP], at(b, &v->control.words[W_STOP]), 8, e));
    if (v->statement.on) TRY(ops->copy_out(v->queue, &v->control.lock_words[GS_LOG], v->statement.log, 8, e));
    return ops->copy_out(v->queue, v->failures.keys, at(b, v->failures.keys), (v->results.got_keys * KEY_WORDS + 2) * 8,
                         e);
}
Status bulk_device_take_state(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    BulkCode *c = (BulkCode *)(uintptr_t)v->code;
    int64_t failed = (int64_t)v->failures.list[0], keys = keys_listed(v);
    learn(&c->past.failed_per_call, b, failed);
    learn(&c->past.keys_per_call, b, keys);
    if (failed <= v->results.got_failed && keys <= v->results.got_keys) return ST_OK;
    if (failed > v->results.got_failed)
        TRY(ops->copy_out(v->queue, v->failures.list + 1 + v->results.got_failed,
                          at(b, v->failures.list + 1 + v->results.got_failed), (failed - v->results.got_failed) * 8,
                          e));
    if (keys > v->results.got_keys)
        TRY(ops->copy_out(v->queue, v->failures.keys + 2 + v->results.got_keys * KEY_WORDS,
                          at(b, v->failures.keys + 2 + v->results.got_keys * KEY_WORDS),
                          (keys - v->results.got_keys) * KEY_WORDS * 8, e));
    return ops->sync(v->queue, NULL, NULL, e);
}

Status bulk_device_queue_results(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    const BulkTexts *t = &v->texts;
    v->results.got_texts = expected(b, v->code->past.texts_per_call, t->outs_bytes);
    if (v->results.outs_bytes > 0)
        TRY(ops->copy_out(v->queue, v->results.outs, v->results.outs_at, v->results.outs_bytes, e));
    if (v->results.got_texts > 0) TRY(ops->copy_out(v->queue, t->outs, at(b, t->outs), v->results.got_texts, e));
    if (v->plan.ranked && v->plan.ranks.ops_left > 0)
        TRY(ops->copy_out(v->queue, v->control.figures, v->plan.ranks.figures, 8, e));
    return ST_OK;
}
static Status take_results(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (v->plan.ranked && v->plan.ranks.ops_left > 0) {
        b->schedule.width0 = v->control.figures[0];
        b->schedule.crossing = v->control.figures[1];
    }
    int64_t made = texts_made(b);
    learn(&((BulkCode *)(uintptr_t)v->code)->past.texts_per_call, b, made);
    if (made > v->results.got_texts) {
        const char *rest = v->texts.outs + v->results.got_texts;
        TRY(device_read(v->d, v->queue, (void *)(uintptr_t)rest, at(b, rest), made - v->results.got_texts, e));
    }
    v->results.fetched = true;
    return ST_OK;
}
Status bulk_device_fetch(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    int64_t began = clock_ns();
    if (!v->results.here) {
        TRY(v->d->ops->copy_out(v->queue, &v->control.words[W_BLOCKED], at(b, &v->control.words[W_BLOCKED]),
                                (v->control.n_words - W_BLOCKED - 1) * 8, e));
        TRY(bulk_device_queue_results(b, e));
        TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    }
    TRY(take_results(b, e));
    b->times.transfer_ns += clock_ns() - began;
    return ST_OK;
}

/* ---- when what happened there
 * ------------------------------------------------------------------------------------------ */
void bulk_mark_device(Bulk *b, BulkMark m) {
    BulkDevice *v = b->device;
    ImageSet *s = b->images;
    Err e = {0};
    if (!v->copies || v->launches.no_marks) return;
    if (device_mark(v->d, v->queue, &s->marks[m], &e) == ST_OK) v->launches.marks |= 1u << m;
    else v->launches.no_marks = true; /* it is only for figures; what is wrong with the device shows elsewhere */
}
void bulk_read_marks(Bulk *b) {
    BulkDevice *v = b->device;
    static const BulkPhase phases[BULK_MARKS] = {
        [MARK_SENT] = BP_DEV_UPLOAD, [MARK_FOOT] = BP_DEV_FOOT, [MARK_RANKED] = BP_DEV_RANK,
        [MARK_LAUNCH] = BP_DEV_WAIT, [MARK_RUN] = BP_DEV_RUN,   [MARK_FETCHED] = BP_DEV_DOWNLOAD};
    int before = -1;
    Err e = {0};
    for (int m = 0; m < BULK_MARKS && !v->launches.no_marks; m++) {
        int64_t ns = 0;
        if ((v->launches.marks >> m & 1) == 0) continue;
        if (before >= 0 && v->d->ops->event_ns(v->d, b->images->marks[before], b->images->marks[m], &ns, &e) != ST_OK)
            return;
        if (before >= 0) b->times.phase_ns[phases[m]] += MAX_OF(ns, INT64_C(0));
        before = m;
    }
    v->code->past.run_ns = (double)b->times.phase_ns[BP_DEV_RUN] / (double)MAX_OF(b->n_calls, INT64_C(1));
    b->times.transfer_ns += b->times.phase_ns[BP_DEV_DOWNLOAD];
}
