/* bulk_prefetch.c - the footprints of the next bulk, made on a device with memory of its own behind the calls of this
 * one.
 *
 * Between two bulks the host fetches results, delivers them, and prepares the next bulk, and the device is idle. The
 * first work of a bulk on the device, footprints, needs little: arguments, which have been prefetched (bulk_args.c),
 * and images, of which footprints read only what no compiled procedure writes (sql/pl). So once the last launch of a
 * bulk is queued, the next one's footprints are queued behind it, on the queue of the arguments, with memory of the
 * other buffer slot.
 *
 * This is speculation: the next bulk's plan is assumed to be this one's, for groups of the same procedures in the same
 * order. That bulk makes its own plan. A kernel's result depends on the values of its parameters and on images only; so
 * where the values are the same, and nothing was copied to the images since, the prefetched footprints are those of the
 * bulk (bulk_foot_take). Else it makes footprints as usual. After several misses in a row prefetching pauses for a
 * while.
 *
 * The module's constants have the next bulk's values from then on. So before anything more is launched for the bulk
 * that runs, the footprints are waited for and its own values are sent again (bulk_foot_drop); and a bulk of another
 * image set with the same module waits for them before it uses the constants (constants_user).
 */

#include "base/log.h"
#include "base/mutex.h"
#include "txn/device/bulk_device_int.h"

enum { MISSES_MAX = 3, BULKS_WITHOUT = 64 };

/* ---- constants ------------------------------------------------------------------------------------------ */
/* Databases whose procedures have the same text share a module, and so its constant memory. */
static Mutex constants_lock = MUTEX_INITIALIZER(RANK_BULK_CONSTANTS);
static ImageSet *constants_user; /* whose prefetched footprints may still read some; NULL: none. Under the lock */

void bulk_constants_begin(Bulk *b) {
    mutex_lock(&constants_lock);
    b->device->params.has_table = true;
    ImageSet *s = constants_user;
    Err e = {0};
    if (s && s != b->images && s->device->ops->event_sync(s->device, s->foot_made, NULL, NULL, &e) != ST_OK)
        log_write(LOG_INFO, "footprints ahead: %s", e.message);
    constants_user = NULL; /* the same set's queue waits for them */
}
void bulk_constants_end(Bulk *b) {
    if (b->device->params.has_table) mutex_unlock(&constants_lock);
}
void bulk_constants_forget(ImageSet *s) {
    mutex_lock(&constants_lock);
    if (constants_user == s) constants_user = NULL;
    mutex_unlock(&constants_lock);
}

/* ---- footprints ---------------------------------------------------------------------------------------------- */
static uint64_t images_uploaded(const Bulk *b) {
    uint64_t sum = 0;
    const Image *im;
    for (int64_t i = 0; (im = bulk_next_image(b, &i));) sum += device_copy_uploaded(im);
    return sum;
}

/* Fills n with what footprints need of the next bulk: this one's plan, with the prefetched arguments. False: the next
 * bulk is of another kind. */
static bool describe(Bulk *n, const Bulk *b, BulkArgs *x, BulkDevice *v, Err *e) {
    const BulkDevice *own = b->device;
    if (x->n_groups != b->n_groups || x->code != own->code || x->any_order != b->opt->any_order) return false;
    *n = (Bulk){.images = b->images,
                .opt = b->opt,
                .n_groups = x->n_groups,
                .n_calls = x->n_calls,
                .arena = x->arena,
                .err = e,
                .workers = b->workers,
                .vector_size = b->vector_size,
                .slot = x->slot,
                .type_of = x->type_of,
                .pos_of = x->pos_of,
                .group_order = x->group_order,
                .foot.n_sums = b->foot.n_sums,
                .args = x,
                .device = v};
    *v = (BulkDevice){.d = own->d,
                      .cache = own->cache,
                      .target = own->target,
                      .copies = true,
                      .code = own->code,
                      .foot = own->foot,
                      .params.table = own->params.table,
                      .undo_kernel = own->undo_kernel,
                      .statement.dequeue_group = -1};
    n->groups = arena_array(n->arena, CallGroupRun, n->n_groups + 1);
    CallGroup *groups = arena_array(n->arena, CallGroup, n->n_groups + 1);
    v->kinds = arena_array(n->arena, uint16_t, n->n_groups + 1);
    v->warps.per_warp = arena_array(n->arena, uint8_t, n->n_groups + 1);
    v->warps.together = arena_array(n->arena, uint32_t, 3 * n->n_groups + 4);
    if (!n->groups || !groups || !v->kinds || !v->warps.per_warp || !v->warps.together) return false;
    for (int32_t k = 0; k < n->n_groups; k++) {
        if (x->groups[k].proc != b->groups[k].group->proc) return false;
        groups[k] = x->groups[k];
        groups[k].params = x->params[k];
        n->groups[k] = (CallGroupRun){.group = &groups[k],
                                      .proc = b->groups[k].proc,
                                      .calls = x->group_order ? NULL : x->groups[k].calls,
                                      .base = x->bases[k]};
        v->kinds[k] = own->kinds[k];
    }
    v->statement.on = v->undo_kernel && bulk_statement_locks_use(n);
    return !v->statement.on || bulk_statement_locks_plan(n, e) == ST_OK;
}

/* The prepared procedures are both bulks': what each writes into their tables, but for the plan of additions, is saved
 * and restored around the work for the other. */
typedef struct Saved {
    TableUse *body, *foot;
} Saved;
static Status save_tables(const Bulk *b, Arena *a, Saved **out, Err *e) {
    if (!(*out = arena_array(a, Saved, b->n_groups + 1))) return err_oom(e);
    for (int32_t k = 0; k < b->n_groups; k++) {
        const int32_t n = b->groups[k].group->proc->n_tables;
        ProgRun *body = b->groups[k].proc->body, *foot = b->groups[k].proc->foot;
        Saved *s = &(*out)[k];
        if (!(s->body = arena_array(a, TableUse, n + 1)) || !(s->foot = arena_array(a, TableUse, n + 1)))
            return err_oom(e);
        for (int32_t i = 0; i < n; i++) {
            s->body[i] = body->tables[i];
            s->foot[i] = foot->tables[i];
        }
    }
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++)
            b->groups[k].proc->body->tables[i].counts = b->groups[k].proc->foot->tables[i].counts = NULL;
    return ST_OK;
}
static void restore_tables(const Bulk *b, const Saved *saved) {
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++) {
            b->groups[k].proc->body->tables[i] = saved[k].body[i];
            b->groups[k].proc->foot->tables[i] = saved[k].foot[i];
        }
}
/* Whether memory that the running bulk's calls use until they end is large enough for the next one's footprints as it
 * is: it must not move. */
static bool shares(Bulk *n) {
    BulkDevice *v = n->device;
    const DevMem *ops = &n->images->memory[BM_OPS], *undo = &n->images->memory[BM_UNDO];
    (void)bulk_plan_items(n);
    if (bulk_foot_room(v, bulk_foot_guess(n), ops->p) > ops->bytes) return false;
    const BulkLoan *words = &n->images->pinned[BH_FOOT + n->slot], *numbers = &n->images->pinned[BH_NUMBERS + n->slot];
    if (!words->device || (n->foot.numbers && !numbers->device)) return false; /* copies to other memory would block */
    return bulk_undo_room(v, undo->p) <= undo->bytes;
}
static Status queue_foot(Bulk *n, bool *queued, Err *e) {
    ImageSet *s = n->images;
    BulkDevice *v = n->device;
    BulkFoot *f = arena_new_of(n->arena, BulkFoot);
    if (!f) return err_oom(e);
    v->texts = (BulkTexts){.module = &v->code->module, .kinds = v->kinds, .copies = true};
    TRY(bulk_device_control(n, e));
    n->foot.failed = v->control.foot_failed; /* not read by the host */
    v->params.values = f->values = v->params.prefetch_values;
    memset(v->params.values, 0, (size_t)v->code->module.n_params * 8); /* other procedures of the module have none */
    f->n_images = s->n;
    f->n_sums = n->foot.n_sums;
    f->foot_words = v->control.foot_words;
    texts_take_args(&v->texts, &n->args->texts);
    TRY(bulk_make_counts(n, e));
    if (!shares(n)) return ST_OK;
    TRY(bulk_device_send_foot(n, s->prefetch_queue, e));
    TRY(bulk_compute_values(n, e));
    f->uploads = images_uploaded(n);
    TRY(v->d->ops->event_wait(s->prefetch_queue, s->marks[MARK_RUN], e));
    TRY(bulk_foot_queue(n, s->prefetch_queue, bulk_device_groups(n, n->n_calls), e));
    TRY(device_mark(v->d, s->prefetch_queue, &s->foot_made, e));
    n->args->foot = f;
    *queued = true;
    return ST_OK;
}
Status bulk_foot_next(Bulk *b, Err *out) {
    ImageSet *s = b->images;
    BulkArgs *x = s->prefetched;
    BulkDevice *v = b->device;
    if (!x || x->foot || !v->foot || !b->foot.failed || b->writes_only || b->cautious || v->launches.no_marks ||
        (v->launches.marks >> MARK_RUN & 1) == 0)
        return ST_OK;
    if (v->code->past.foots_missed >= MISSES_MAX && s->bulks % BULKS_WITHOUT != 0) return ST_OK;
    if (v->code->past.run_ns > 0 &&
        (double)(clock_ns() - v->launches.last_ns) > v->code->past.run_ns * (double)b->n_calls)
        return ST_OK; /* the calls have ended by now: the device waits for the host */
    Err e = {0};
    Bulk n;
    BulkDevice device = {0};
    Saved *saved = NULL;
    bool queued = false;
    arena_set_err(x->arena, &e);
    Status st = ST_OK;
    if (describe(&n, b, x, &device, &e) && (st = save_tables(b, x->arena, &saved, &e)) == ST_OK) {
        st = queue_foot(&n, &queued, &e);
        restore_tables(b, saved);
    }
    if (st != ST_OK || err_is_set(&e))
        log_write(LOG_INFO, "footprints of the next bulk could not be made ahead: %s", e.message);
    if (queued && device.params.table) constants_user = s;
    arena_set_err(x->arena, NULL);
    if (queued || st == ST_OK) return ST_OK;
    images_drop_prefetched(s); /* some of it may be queued */
    b->opt->pipeline->next_ticket = 0;
    return bulk_send_values(b, v->queue, out);
}

/* Whether footprints depend on the parameter: calls alone use the others. */
static bool is_for_footprints(const ProcModule *m, const EmitParam *p) {
    if (p->proc > m->n_procs) return true;
    if (p->proc > 0) return (p->kind >= PP_ARG_CELLS && p->kind <= PP_ARG_STEP) || p->kind == PP_COUNTS;
    return p->kind != PP_FAILED && p->kind != PP_KEYS && p->kind != PP_UNDO_AREA && p->kind != PP_TABLE &&
           p->kind != PP_CALLS && p->kind != PP_ORDER && p->kind != PP_LAUNCH && p->kind != PP_TICKET;
}
bool bulk_foot_take(Bulk *b) {
    BulkDevice *v = b->device;
    const ProcModule *m = &v->code->module;
    BulkFoot *f = b->args ? b->args->foot : NULL;
    if (!f) return false;
    b->args->foot = NULL; /* once: a second run, for more room or other additions, needs other values */
    bool same = f->n_images == b->images->n && f->n_sums == b->foot.n_sums && f->foot_words == v->control.foot_words &&
                f->uploads == images_uploaded(b);
    for (int32_t i = 0; i < m->n_params && same; i++)
        same = v->params.values[i] == f->values[i] || !is_for_footprints(m, &m->params[i]);
    v->code->past.foots_missed = same ? 0 : v->code->past.foots_missed + 1;
    v->plan.foot_prefetched |= same;
    if (!same) (void)images_wait_prefetch(b->images);
    return same;
}
Status bulk_foot_drop(Bulk *b, Err *e) {
    ImageSet *s = b->images;
    if (!s->prefetched || !s->prefetched->foot) return ST_OK;
    s->prefetched->foot = NULL;
    if (!images_wait_prefetch(s)) {
        images_drop_prefetched(s);
        b->opt->pipeline->next_ticket = 0;
    }
    return b->device->params.values ? bulk_send_values(b, b->device->queue, e) : ST_OK;
}
void bulk_prefetch_end(Bulk *b) {
    if (!b->adopted || !b->adopted->foot) return;
    b->adopted->foot = NULL;
    (void)images_wait_prefetch(b->images);
}
bool bulk_device_foot_prefetched(const Bulk *b) { return b->device->plan.foot_prefetched; }
