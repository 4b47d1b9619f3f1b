/* bulk_args.c - a bulk's arguments on their way to a device with memory of its own, and those of the next bulk, which
 * go there while the calls of this one run.
 *
 * The host's workers put arguments into one piece of pinned memory that is laid out as the device's; what is complete
 * from the beginning on is sent while they fill the rest.
 *
 * Prefetching. Numbering calls, gathering and sending arguments is work of the host and of the link and takes as long
 * as a tenth of a bulk, while kernels run. So a bulk whose calls have been launched fetches the next one's calls
 * (BulkPipeline) and does that for them. There are two buffer slots, each with memory for arguments on both sides and
 * for numbers: while the bulk of one runs, the next one's arguments are sent to the other, by a queue of their own. Its
 * footprints follow (bulk_prefetch.c); ranks and room for inserts cannot be prefetched, since they depend on the
 * results of both. The next bulk presents the ticket that prefetching gave. For a bulk with another ticket or none,
 * with other kernels, or on another device, the prefetched arguments are dropped. That costs time only: a bulk always
 * has its arguments on the host, and sends them itself where they were not sent.
 */
#include "base/log.h"
#include "txn/device/bulk_device_int.h"

enum {
    PIECE_BYTES = 64 << 10 /* that a worker copies at a time */,
    SEND_BYTES = 1 << 20,
    ALONE_BYTES = 128 << 10 /* not worth waking other workers */,
    PLACE_ALIGN = RESULT_ALIGN
};

/* ---- gathering ------------------------------------------------------------------------------------------ */
/* Pieces of plain arguments, then chunks of strings. The strings' cells lie between the two: all chunks write them, so
 * they go last. */
typedef struct Gather {
    DevFill fill;
    Bulk *b;
    const BulkArgs *x;
    DevQueue *queue;
    int64_t pieces;
} Gather;

static void copy_piece(const BulkArgs *v, int64_t from, int64_t to) {
    int32_t n = v->n_buffers, lo = 0, hi = n; /* the last one that begins at `from` or before */
    while (hi - lo > 1) {
        int32_t mid = (lo + hi) / 2;
        if ((int64_t)(v->buffers[mid].at - v->at) <= from) lo = mid;
        else hi = mid;
    }
    for (; lo < n; lo++) {
        const Buffer *x = &v->buffers[lo];
        int64_t begin = (int64_t)(x->at - v->at), a = MAX_OF(from, begin), z = MIN_OF(to, begin + x->bytes);
        if (begin >= to) return;
        if (a < z) memcpy(v->sent + a, (const char *)x->host + (a - begin), (size_t)(z - a));
    }
}
static void fill_piece(void *ctx, int64_t i) {
    const Gather *g = ctx;
    if (i >= g->pieces) texts_stage_chunk(g->b, &g->x->texts, i - g->pieces);
    else copy_piece(g->x, i * PIECE_BYTES, MIN_OF((i + 1) * PIECE_BYTES, g->x->plain_bytes));
}
static Status send(const Gather *g, int64_t *sent, int64_t to, Err *e) {
    const int64_t from = *sent;
    *sent = to;
    if (to <= from) return ST_OK;
    return g->b->device->d->ops->copy_in(g->queue, g->x->at + (uint64_t)from, g->x->sent + from, to - from, e);
}
/* Sends what is full from the beginning on, where it is large enough for a copy of its own; in the end the rest. */
static Status send_pieces(void *ctx, Err *e) {
    Gather *g = ctx;
    const BulkTexts *t = &g->x->texts;
    const int64_t plain = g->x->plain_bytes, strings = plain + (t->n_chunks > 0 ? t->chunks[0].at : t->staged_bytes);
    int64_t sent = 0, strings_sent = strings;
    for (int64_t i = 0; i < g->fill.n; i++) {
        while (!device_is_full(&g->fill, i)) device_fill_one(&g->fill);
        const int64_t next = i + 1 - g->pieces; /* chunk of strings, from 0 on */
        if (i + 1 == g->fill.n) break;
        int64_t *from = next <= 0 ? &sent : &strings_sent,
                to = next <= 0 ? MIN_OF((i + 1) * PIECE_BYTES, plain) : plain + t->chunks[next].at;
        if (to - *from >= SEND_BYTES) TRY(send(g, from, to, e));
    }
    if (strings_sent > strings) TRY(send(g, &sent, strings, e));
    else strings_sent = sent; /* all that is left lies together */
    return send(g, &strings_sent, plain + t->staged_bytes, e);
}
static Status send_all(Bulk *b, BulkArgs *x, DevQueue *queue, Err *e) {
    texts_stage(b, &x->texts, x->texts.staged_at);
    Gather g = {.b = b, .x = x, .queue = queue, .pieces = (x->plain_bytes + PIECE_BYTES - 1) / PIECE_BYTES};
    const int64_t n = g.pieces + x->texts.n_chunks;
    g.fill = (DevFill){.n = n, .places = n, .limit = n, .fill = fill_piece, .body = send_pieces, .ctx = &g};
    if (!(g.fill.full = arena_calloc(b->arena, (n + 1) * (int64_t)sizeof *g.fill.full))) return err_oom(e);
    const bool alone = x->plain_bytes + x->texts.staged_bytes <= ALONE_BYTES;
    return device_fill(&g.fill, b->opt->query->pool, alone ? 1 : b->workers, e);
}

/* ---- layout --------------------------------------------------------------------------------------------- */
static void add(BulkArgs *x, int64_t *room, const void *host, int64_t bytes) {
    if (!host || bytes <= 0) return;
    x->buffers[x->n_buffers++] =
        (Buffer){.host = (void *)(uintptr_t)host, .bytes = bytes, .at = (DevPtr)*room, .in = true};
    *room += align_up(bytes, PLACE_ALIGN);
}
/* Reads of the bulk only its calls' numbers, the device's code and kinds, and the arena. */
static Status lay_out(Bulk *b, BulkArgs *x, Err *e) {
    BulkDevice *v = b->device;
    int64_t most = 4, room = 0;
    for (int32_t k = 0; k < b->n_groups; k++) most += 2 * b->groups[k].group->proc->n_params;
    x->texts = (BulkTexts){.module = &v->code->module, .kinds = v->kinds, .copies = true};
    if (!(x->buffers = arena_array(b->arena, Buffer, most))) return err_oom(e);
    TRY(texts_plan_args(b, &x->texts, e));
    add(x, &room, b->pos_of, b->n_calls * 4);
    add(x, &room, b->type_of, b->n_calls * 2);
    for (int32_t k = 0; k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        for (int32_t i = 0; i < group->proc->n_params; i++) {
            int64_t n = group->params[i].is_const ? 1 : group->n;
            if (group->params[i].phys != PH_STR)
                add(x, &room, group->params[i].data, n * phys_size((Phys)group->params[i].phys));
            add(x, &room, group->params[i].valid, n);
        }
    }
    x->plain_bytes = room;
    void *stage;
    int64_t bytes = MAX_OF(room + x->texts.staged_bytes, INT64_C(8));
    TRY(bulk_host_memory(b, (BulkHostMem)(BH_ARGS + b->slot), bytes, &stage, e));
    TRY(bulk_device_memory(b, (BulkDevMem)(BM_ARGS + b->slot), bytes, &x->at, e));
    x->sent = stage;
    x->texts.staged = x->sent + x->plain_bytes;
    for (int32_t i = 0; i < x->n_buffers; i++) x->buffers[i].at += x->at;
    x->texts.staged_at = x->at + (uint64_t)x->plain_bytes;
    return ST_OK;
}
static BulkArgs *args_new(Bulk *b) {
    BulkArgs *x = arena_new_of(b->arena, BulkArgs);
    if (x)
        *x = (BulkArgs){.d = b->device->d,
                        .code = b->device->code,
                        .any_order = b->opt->any_order,
                        .n_groups = b->n_groups,
                        .n_calls = b->n_calls,
                        .slot = b->slot,
                        .type_of = b->type_of,
                        .pos_of = b->pos_of,
                        .group_order = b->group_order};
    return x;
}

/* Errors of the device are not reported here: they come again with its next use. */
bool images_wait_prefetch(ImageSet *s) {
    Err e = {0};
    if (!s->prefetch_queue || s->device->ops->sync(s->prefetch_queue, NULL, NULL, &e) == ST_OK) return true;
    device_queue_drop(s->device, &s->prefetch_queue);
    return false;
}
Status bulk_args_send(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    const bool fits = b->args && b->args->code == v->code && b->args->d == v->d;
    if (fits && b->args->foot && v->d->ops->event_wait(v->queue, b->images->foot_made, e) == ST_OK)
        return ST_OK; /* the queue that made footprints behind them has sent them */
    err_clear(e);
    const bool there =
        images_wait_prefetch(b->images); /* also for what was sent to this buffer slot and was not used */
    if (there && fits) return ST_OK;
    /* sent for another module or device, or not completely: only the numbers can be used */
    bulk_mark_device(b, MARK_BEGIN);
    if (!(b->args = args_new(b))) return err_oom(e);
    TRY(lay_out(b, b->args, e));
    return send_all(b, b->args, v->queue, e);
}

static _Atomic uint64_t tickets = 1; /* of all image sets, so that no two are alike */

/* ---- prefetching ---------------------------------------------------------------------------------------------- */
void bulk_prefetch_free(BulkArgs *x) {
    if (x && x->arena) arena_free(x->arena);
}
void images_drop_prefetched(ImageSet *s) {
    if (!s->prefetched) return;
    (void)images_wait_prefetch(s); /* copies still read the buffer slot */
    bulk_prefetch_free(s->prefetched);
    s->prefetched = NULL;
}
static bool same_groups(const Bulk *b, const BulkArgs *x) {
    bool same = b->n_groups == x->n_groups && b->n_calls == x->n_calls && b->opt->any_order == x->any_order;
    for (int32_t k = 0; same && k < b->n_groups; k++) {
        const CallGroup *p = b->groups[k].group, *q = &x->groups[k];
        same = p->proc == q->proc && p->n == q->n && p->params == q->params && p->calls == q->calls;
    }
    return same;
}
bool bulk_prefetch_adopt(Bulk *b) {
    ImageSet *s = b->images;
    BulkArgs *x = s->prefetched;
    if (!x || b->cautious)
        return false; /* it runs again: the prefetched arguments are the next one's, whose footprints were given up */
    const BulkPipeline *pipeline = b->opt->pipeline;
    if (!pipeline || pipeline->ticket != x->ticket || !same_groups(b, x)) {
        images_drop_prefetched(s);
        return false;
    }
    s->prefetched = NULL;
    s->slot = b->slot = x->slot;
    b->args = b->adopted = x;
    b->type_of = x->type_of;
    b->pos_of = x->pos_of;
    b->group_order = x->group_order;
    for (int32_t k = 0; k < b->n_groups; k++) {
        b->groups[k].calls = x->group_order ? NULL : b->groups[k].group->calls;
        b->groups[k].base = x->bases[k];
    }
    return true;
}

/* Fills in what is needed of a bulk to send its arguments. False: they cannot be prefetched. */
static bool prepare(Bulk *n, const Bulk *b, BulkDevice *v, Err *e) {
    v->d = b->device->d;
    v->code = b->device->code;
    v->copies = true;
    n->device = v;
    if (!(v->kinds = arena_array(n->arena, uint16_t, n->n_groups + 1))) return false;
    for (int32_t k = 0; k < n->n_groups; k++) {
        int32_t kind = bulk_code_proc(v->code, n->groups[k].group->proc);
        if (kind < 0) return false; /* another module's */
        v->kinds[k] = (uint16_t)kind;
    }
    return bulk_number_calls(n, e) == ST_OK;
}
static Status send_next(Bulk *n, const Bulk *b, int32_t n_groups, const CallGroup *groups, bool *sent, Err *e) {
    ImageSet *s = b->images;
    *sent = false;
    BulkDevice *v = arena_new_of(n->arena, BulkDevice);
    CallGroup *copy = arena_array(n->arena, CallGroup, n_groups + 1);
    n->groups = arena_array(n->arena, CallGroupRun, n_groups + 1);
    if (!v || !copy || !n->groups) return err_oom(e);
    for (int32_t k = 0; k < n_groups; k++) copy[k] = groups[k];
    TRY(bulk_check_groups(n, n_groups, copy, e));
    (void)images_wait_prefetch(s);
    TRY(device_queue_need(b->device->d, &s->prefetch_queue, e));
    if (!prepare(n, b, v, e)) return err_is_set(e) ? ST_ERROR : ST_OK;
    BulkArgs *x = args_new(n);
    if (!x || !(x->bases = arena_array(n->arena, int64_t, n_groups + 1))) return err_oom(e);
    if (!(x->params = arena_array(n->arena, Vec *, n_groups + 1))) return err_oom(e);
    for (int32_t k = 0; k < n_groups; k++) {
        x->bases[k] = n->groups[k].base;
        const int32_t n_params = copy[k].proc->n_params;
        if (!(x->params[k] = arena_array(n->arena, Vec, n_params + 1))) return err_oom(e);
        for (int32_t i = 0; i < n_params; i++) x->params[k][i] = copy[k].params[i];
    }
    x->groups = copy;
    TRY(lay_out(n, x, e));
    TRY(send_all(n, x, s->prefetch_queue, e));
    x->arena = n->arena;
    arena_set_err(x->arena, NULL); /* it stays */
    x->ticket = atomic_fetch_add(&tickets, 1);
    s->prefetched = x;
    *sent = true;
    return ST_OK;
}
void bulk_args_next(Bulk *b) {
    BulkPipeline *pipeline = b->opt->pipeline;
    int32_t n_groups = 0;
    const CallGroup *groups = NULL;
    if (!pipeline || !pipeline->next || b->cautious || b->device->launches.asked || b->images->prefetched) return;
    b->device->launches.asked = true;
    if (!pipeline->next(pipeline->ctx, &n_groups, &groups)) return;
    Err e = {0};
    Bulk n = {.images = b->images,
              .opt = b->opt,
              .n_groups = n_groups,
              .err = &e,
              .workers = b->workers,
              .vector_size = b->vector_size,
              .slot = 1 - b->slot};
    n.arena = arena_new(b->opt->query->account, &e);
    bool sent = false;
    Status st = n.arena ? send_next(&n, b, n_groups, groups, &sent, &e) : ST_ERROR;
    if (st != ST_OK) log_write(LOG_INFO, "arguments of the next bulk could not be sent ahead: %s", e.message);
    if (sent) pipeline->next_ticket = b->images->prefetched->ticket;
    else arena_free(n.arena);
    if (pipeline->sent) pipeline->sent(pipeline->ctx);
}
