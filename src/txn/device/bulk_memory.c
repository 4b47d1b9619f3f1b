/* bulk_memory.c - memory of a bulk on a device, and what goes to and fro.
 *
 * What kernels find on a device with memory of its own:
 *   arguments             bulk_args.c
 *   before the schedule   control words, which the host sends; then what only the device writes
 *   after it              order and locks, when the host made them; OUT values
 *
 * Back. The results' columns lie in one piece, in the order and at the distances that they have on the device: one copy
 * brings them, and nobody touches them again. That piece is the result's (BulkLoan); drivers keep pinned memory that
 * was freed, so bulks of one kind take turns with few pieces. OUT strings likewise. Control words, failures and results
 * are fetched by copies queued right behind the kernel; of lists whose length only the device knows as much as bulks
 *        before had, something more, and the rest afterwards, if there is any.
 *
 * Memory that copies run to and from must be pinned: else a driver waits for them, one after the other. Where none is
 * to be had, ordinary memory does, slowly.
 */
#include "base/log.h"
#include "txn/device/bulk_device_int.h"

#define LENT_MAX (INT64_C(3) << 30) /* pinned memory that results may hold, together */

/* ---- pinned memory ------------------------------------------------------------------------------ */
/* Bulks that are nearly alike ask for the same. */
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
    return (out->p = mem_alloc(account, out->bytes, e)) ? ST_OK : ST_ERROR;
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
}
/* The image set's, for this bulk. */
Status bulk_host_memory(Bulk *b, BulkHostMem which, int64_t bytes, void **out, Err *e) {
    struct BulkLoan *k = &b->images->pinned[which];
    if (k->bytes < bytes || !k->p) {
        if (k->p) (void)images_wait_ahead(b->images);
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
    int32_t i = v->n_buffers++, at = i;
    v->buffers[i] =
        (Buffer){.host = (void *)(uintptr_t)host, .bytes = bytes, .at = (DevPtr)v->room, .in = in, .out = out};
    v->room += align_up(bytes, RESULT_ALIGN);
    while (at > 0 && (uintptr_t)v->buffers[v->by_host[at - 1]].host > (uintptr_t)host) at--;
    memmove(v->by_host + at + 1, v->by_host + at, sizeof *v->by_host * (size_t)(i - at));
    v->by_host[at] = i;
}
uint64_t bulk_device_at(const Bulk *b, const void *p) {
    const BulkDevice *v = b->device;
    if (!v->copies || !p) return (uint64_t)(uintptr_t)p;
    int32_t lo = 0, hi = v->n_buffers; /* the last one that begins at p or before */
    while (hi - lo > 1) {
        int32_t mid = (lo + hi) / 2;
        if ((uintptr_t)v->buffers[v->by_host[mid]].host <= (uintptr_t)p) lo = mid;
        else hi = mid;
    }
    const Buffer *x = &v->buffers[v->by_host[lo]];
    uint64_t from = (uint64_t)(uintptr_t)p - (uint64_t)(uintptr_t)x->host;
    return v->n_buffers > 0 && (uintptr_t)p >= (uintptr_t)x->host && from < (uint64_t)x->bytes ? x->at + from : 0;
}
static uint64_t at(const Bulk *b, const void *p) { return bulk_device_at(b, p); }

Status bulk_device_memory(Bulk *b, BulkDevMem which, int64_t bytes, DevPtr *out, Err *e) {
    struct KeptMemory *k = &b->images->memory[which];
    const DeviceOps *ops = b->device->d->ops;
    if (k->bytes < bytes) {
        if (k->p) (void)images_wait_ahead(b->images), ops->free(b->device->d, k->p, k->bytes);
        *k = (struct KeptMemory){0};
        bytes += bytes / 8;
        TRY(device_alloc(b->device->d, bytes, &k->p, e));
        k->bytes = bytes;
    }
    *out = k->p;
    return ST_OK;
}
/* Buffers from number `first` on get addresses, and `more` bytes behind them. */
static Status place_buffers(Bulk *b, BulkDevMem which, int32_t first, int64_t more, DevPtr *behind, Err *e) {
    BulkDevice *v = b->device;
    DevPtr base;
    TRY(bulk_device_memory(b, which, v->room + more + 8, &base, e));
    for (int32_t i = first; i < v->n_buffers; i++) v->buffers[i].at += base;
    *behind = base + (uint64_t)v->room;
    v->room = 0;
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
    v->control_words = control_words(b);
    const int64_t words = v->control_words + foot_words(b), values = v->code->module.n_params;
    if (!v->copies) p = arena_array(b->arena, uint64_t, words);
    else
        TRY(bulk_host_memory(b, (BulkHostMem)(BH_FOOT + b->seat), head + (words + values + GS_WORDS) * 8 + b->n_calls,
                             &p, e));
    if (!p) return err_oom(e);
    v->head = v->copies ? p : NULL;
    v->words = v->copies ? (uint64_t *)(void *)(v->head + head) : p;
    v->foot_words = v->words + v->control_words;
    v->ahead_values = v->copies ? v->foot_words + foot_words(b) : NULL;
    v->guard_seen = v->copies ? v->ahead_values + values : NULL;
    v->foot_failed = v->copies ? (uint8_t *)(v->guard_seen + GS_WORDS) : b->failed_foot;
    memset(v->words, 0, (size_t)v->control_words * 8);
    v->texts.heaps = v->words + bulk_words(b);
    v->texts.out_heap = v->texts.heaps + 2 * b->images->n;
    v->figures = (uint32_t *)(v->texts.out_heap + 3);
    return ST_OK;
}

/* What failed calls leave there. */
static int64_t failed_bytes(const Bulk *b) { return align_up((b->n_calls + 1) * 8, RESULT_ALIGN); }
static Status make_failures(Bulk *b, char *at, Err *e) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    if (at) {
        v->failed = (uint64_t *)(void *)at;
        v->again_calls = (uint32_t *)(void *)(at + failed_bytes(b));
        v->keys = (uint64_t *)(void *)(at + failed_bytes(b) + align_up(b->n_calls * 4, RESULT_ALIGN));
        return ST_OK;
    }
    v->failed_bytes = failed_bytes(b) + b->n_calls * 4 + 4;
    if (!(v->failed = mem_alloc(acct, v->failed_bytes, e)) || !(v->keys = mem_alloc(acct, v->keys_bytes, e)))
        return ST_ERROR;
    v->again_calls = (uint32_t *)(void *)((char *)v->failed + failed_bytes(b));
    return ST_OK;
}

/* Arguments, which have their places; then what footprints need besides: a seat's, as those are. */
static Status make_foot_buffers(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const BulkArgs *args = b->args;
    int64_t most = 28 + args->n_buffers;
    DevPtr behind;
    for (int32_t k = 0; k < b->n_groups; k++)
        most += 2 * b->groups[k].group->proc->n_outs + 2 * b->groups[k].group->proc->n_tables;
    if (!(v->buffers = arena_array(b->arena, Buffer, most)) || !(v->by_host = arena_array(b->arena, int32_t, most)))
        return err_oom(e);
    for (int32_t i = 0; i < args->n_buffers; i++) {
        add_buffer(v, args->buffers[i].host, args->buffers[i].bytes, true, false);
        v->buffers[i].at = args->buffers[i].at;
    }
    v->room = 0;
    v->first_head = v->n_buffers;
    add_buffer(v, v->words, v->control_words * 8, true, true);
    add_buffer(v, v->kinds, b->n_groups * 2, true, false);
    add_buffer(v, v->together, (3 * b->n_groups + 4) * 4, true, false);
    v->head_bytes = v->room;
    v->n_head = v->n_buffers - v->first_head;
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++)
            add_buffer(v, b->groups[k].proc->body->tables[i].counts, b->groups[k].group->n * 4, false, false);
    add_buffer(v, v->foot_words, foot_words(b) * 8, false, false);
    add_buffer(v, v->foot_failed, v->foot && b->failed_foot ? b->n_calls : 0, false, false);
    if (v->code->module.param_table && !v->table) add_buffer(v, v->values, v->code->module.n_params * 8, false, false);
    return place_buffers(b, (BulkDevMem)(BM_FOOT + b->seat), v->first_head, 0, &behind, e);
}
int64_t bulk_undo_room(BulkDevice *v, DevPtr at) {
    v->undo_at = at;
    v->scratch_at = at + (uint64_t)align_up(v->undo_bytes, RESULT_ALIGN);
    return align_up(v->undo_bytes, RESULT_ALIGN) + v->scratch_bytes + 8;
}
/* What calls need. */
static Status make_buffers(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const int32_t first = v->n_buffers;
    DevPtr behind;
    void *stage;
    TRY(bulk_host_memory(b, BH_STAGE, failed_bytes(b) + align_up(b->n_calls * 4, RESULT_ALIGN) + v->keys_bytes, &stage,
                         e));
    TRY(make_failures(b, stage, e));
    add_buffer(v, v->failed, (b->n_calls + 1) * 8, false, false);
    add_buffer(v, v->keys, v->keys_bytes, false, false);
    add_buffer(v, v->texts.outs, v->texts.outs_bytes, false, false);
    TRY(place_buffers(b, BM_BEFORE, first, 0, &behind, e));
    TRY(bulk_device_memory(b, BM_UNDO, bulk_undo_room(v, 0), &v->undo_at, e));
    (void)bulk_undo_room(v, v->undo_at);
    return ST_OK;
}
/* Control words and what is as short, in one copy. */
static Status send_head(Bulk *b, DevQueue *q, Err *e) {
    BulkDevice *v = b->device;
    const Buffer *first = &v->buffers[v->first_head];
    for (const Buffer *x = first; x < first + v->n_head; x++)
        memcpy(v->head + (x->at - first->at), x->host, (size_t)x->bytes);
    return v->d->ops->copy_in(q, first->at, v->head, v->head_bytes, e);
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
    b->transfer_ns += clock_ns() - began;
    return ST_OK;
}

/* ---- what comes with the schedule --------------------------------------------------------------------------- */
Status bulk_device_send_more(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const Schedule *s = &b->schedule;
    int32_t first = v->n_buffers;
    DevPtr behind;
    add_buffer(v, s->order, b->n_calls * 4, !v->ranked, false);
    if (v->partition_at) {
        add_buffer(v, s->partition_start, (s->n_partitions + 1) * 8, true, false);
        add_buffer(v, v->partition_at, s->n_partitions * 4, true, false);
    }
    if (v->locked) add_buffer(v, v->done, b->n_calls, !v->ranked, false);
    if (v->locked && !v->ranked) {
        add_buffer(v, v->counters, s->n_locks * 4, true, false);
        add_buffer(v, s->lock_start, (b->n_calls + 1) * 8, true, false);
        add_buffer(v, s->locks, s->lock_start[b->n_calls] * (int64_t)sizeof(LockUse), true, false);
    }
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++)
            add_buffer(v, b->groups[k].proc->body->tables[i].starts, b->groups[k].group->n * 4, true, false);
    int32_t first_out = v->n_buffers;
    v->outs_bytes = -v->room;
    for (int32_t k = 0; k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        for (int32_t i = 0; i < group->proc->n_outs; i++) {
            Vec *o = &b->result->outs[k][i];
            add_buffer(v, o->data, group->n * phys_size((Phys)o->phys), false, true);
            add_buffer(v, o->valid, group->n, false, true);
        }
    }
    v->outs_bytes += v->room;
    TRY(place_buffers(b, BM_AFTER, first, 0, &behind, e));
    for (int32_t i = first; i < v->n_buffers; i++)
        if (v->buffers[i].in)
            TRY(v->d->ops->copy_in(v->queue, v->buffers[i].at, v->buffers[i].host, v->buffers[i].bytes, e));
    for (int32_t k = 0; k < b->n_groups && !v->counted; k++) /* the machine's */
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++) {
            const uint32_t *counts = b->groups[k].proc->body->tables[i].counts;
            if (counts) TRY(v->d->ops->copy_in(v->queue, at(b, counts), counts, b->groups[k].group->n * 4, e));
        }
    if (v->ranked && v->locked) TRY(v->d->ops->fill(v->queue, at(b, v->done), 0, b->n_calls, e));
    if (v->outs_bytes == 0) return ST_OK;
    v->outs = v->buffers[first_out].host;
    v->outs_at = v->buffers[first_out].at;
    for (int32_t i = first_out; i < v->n_buffers; i++) /* as bulk_make_result laid them out */
        if ((uint64_t)((char *)v->buffers[i].host - v->outs) != v->buffers[i].at - v->outs_at)
            return err_internal(e, "OUT values lie in another order than on the device");
    return v->d->ops->fill(v->queue, v->outs_at, 0, v->outs_bytes, e); /* of calls that fail, zeros */
}
Status bulk_device_send_back(Bulk *b, Err *e) {
    const BulkDevice *v = b->device;
    TRY(v->d->ops->copy_in(v->queue, at(b, v->words), v->words, v->control_words * 8, e));
    return v->outs_bytes > 0 ? v->d->ops->copy_in(v->queue, v->outs_at, v->outs, v->outs_bytes, e) : ST_OK;
}

/* ---- results ------------------------------------------------------------------------------------------------------
 */
bool bulk_device_copies(const Bulk *b) { return b->device && b->device->copies; }
Status bulk_device_numbers(Bulk *b, int64_t bytes, void **out, Err *e) {
    return bytes > 0 ? bulk_host_memory(b, (BulkHostMem)(BH_NUMBERS + b->seat), bytes, out, e) : ST_OK;
}
void bulk_device_clear_outs(Bulk *b) {
    BulkDevice *v = b->device;
    if (!v->copies || v->fetched || !b->result) return;
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_outs; i++) {
            const Vec *o = &b->result->outs[k][i];
            memset(o->data, 0, (size_t)(b->groups[k].group->n * phys_size((Phys)o->phys)));
            memset(o->valid, 0, (size_t)b->groups[k].group->n);
        }
    v->fetched = true;
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
    v->got_failed = expected(b, c->failed_per_call, b->n_calls);
    v->got_keys = expected(b, c->keys_per_call, keys_room(v));
    TRY(ops->copy_out(v->queue, &v->words[W_BLOCKED], at(b, &v->words[W_BLOCKED]),
                      (v->control_words - W_BLOCKED - 1) * 8, e));
    TRY(ops->copy_out(v->queue, v->failed, at(b, v->failed), (v->got_failed + 1) * 8, e));
    if (v->guarded) TRY(ops->copy_out(v->queue, &v->guard_seen[GS_STOP], at(b, &v->words[W_STOP]), 8, e));
    if (v->guarded) TRY(ops->copy_out(v->queue, &v->guard_seen[GS_LOG], v->log, 8, e));
    return ops->copy_out(v->queue, v->keys, at(b, v->keys), (v->got_keys * KEY_WORDS + 2) * 8, e);
}
Status bulk_device_take_state(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    BulkCode *c = (BulkCode *)(uintptr_t)v->code;
    int64_t failed = (int64_t)v->failed[0], keys = keys_said(v);
    learn(&c->failed_per_call, b, failed);
    learn(&c->keys_per_call, b, keys);
    if (failed <= v->got_failed && keys <= v->got_keys) return ST_OK;
    if (failed > v->got_failed)
        TRY(ops->copy_out(v->queue, v->failed + 1 + v->got_failed, at(b, v->failed + 1 + v->got_failed),
                          (failed - v->got_failed) * 8, e));
    if (keys > v->got_keys)
        TRY(ops->copy_out(v->queue, v->keys + 2 + v->got_keys * KEY_WORDS, at(b, v->keys + 2 + v->got_keys * KEY_WORDS),
                          (keys - v->got_keys) * KEY_WORDS * 8, e));
    return ops->sync(v->queue, NULL, NULL, e);
}

Status bulk_device_queue_results(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    const BulkTexts *t = &v->texts;
    v->got_texts = expected(b, v->code->texts_per_call, t->outs_bytes);
    if (v->outs_bytes > 0) TRY(ops->copy_out(v->queue, v->outs, v->outs_at, v->outs_bytes, e));
    if (v->got_texts > 0) TRY(ops->copy_out(v->queue, t->outs, at(b, t->outs), v->got_texts, e));
    if (v->ranked && v->ranks.ops_left > 0) TRY(ops->copy_out(v->queue, v->figures, v->ranks.figures, 8, e));
    return ST_OK;
}
Status bulk_device_take_results(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (v->ranked && v->ranks.ops_left > 0) {
        b->schedule.width0 = v->figures[0];
        b->schedule.crossing = v->figures[1];
    }
    int64_t made = texts_made(b);
    learn(&((BulkCode *)(uintptr_t)v->code)->texts_per_call, b, made);
    if (made > v->got_texts) {
        const char *rest = v->texts.outs + v->got_texts;
        TRY(v->d->ops->copy_out(v->queue, (void *)(uintptr_t)rest, at(b, rest), made - v->got_texts, e));
        TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    }
    v->fetched = true;
    return ST_OK;
}
Status bulk_device_fetch(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    int64_t began = clock_ns();
    if (!v->here) {
        TRY(v->d->ops->copy_out(v->queue, &v->words[W_BLOCKED], at(b, &v->words[W_BLOCKED]),
                                (v->control_words - W_BLOCKED - 1) * 8, e));
        TRY(bulk_device_queue_results(b, e));
        TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    }
    TRY(bulk_device_take_results(b, e));
    b->transfer_ns += clock_ns() - began;
    return ST_OK;
}

/* ---- when what happened there
 * ------------------------------------------------------------------------------------------ */
void bulk_mark_device(Bulk *b, BulkMark m) {
    BulkDevice *v = b->device;
    ImageSet *s = b->images;
    Err e = {0};
    if (!v->copies || v->no_marks) return;
    if (!s->marks[m] && v->d->ops->event_new(v->d, &s->marks[m], &e) != ST_OK) s->marks[m] = NULL;
    if (s->marks[m] && v->d->ops->event_record(v->queue, s->marks[m], &e) == ST_OK) v->marked |= 1u << m;
    else v->no_marks = true; /* it is only for figures; what is wrong with the device shows elsewhere */
}
void bulk_read_marks(Bulk *b) {
    BulkDevice *v = b->device;
    static const BulkPhase phases[BULK_MARKS] = {
        [MARK_SENT] = BP_DEV_UPLOAD, [MARK_FOOT] = BP_DEV_FOOT, [MARK_RANKED] = BP_DEV_RANK,
        [MARK_LAUNCH] = BP_DEV_WAIT, [MARK_RUN] = BP_DEV_RUN,   [MARK_FETCHED] = BP_DEV_DOWNLOAD};
    int before = -1;
    Err e = {0};
    for (int m = 0; m < BULK_MARKS && !v->no_marks; m++) {
        int64_t ns = 0;
        if ((v->marked >> m & 1) == 0) continue;
        if (before >= 0 && v->d->ops->event_ns(v->d, b->images->marks[before], b->images->marks[m], &ns, &e) != ST_OK)
            return;
        if (before >= 0) b->phase_ns[phases[m]] += MAX_OF(ns, INT64_C(0));
        before = m;
    }
    v->code->run_ns = (double)b->phase_ns[BP_DEV_RUN] / (double)MAX_OF(b->n_calls, INT64_C(1));
    b->transfer_ns += b->phase_ns[BP_DEV_DOWNLOAD];
}
