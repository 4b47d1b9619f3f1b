/* dev_plan.c - what is kept of a placed plan for its next run.
 *
 * Deciding forms, writing text and looking up code cost tens of microseconds per segment, and give the same as long as
 * plan, tables, device and a few settings are the same. The first run of a plan leaves its code arena and its
 * references to code in a DevPlan; later runs copy the segments from there.
 *
 * Ownership. The session owns a DevPlan beside the plan it belongs to; the runtime lists all that refer to its device's
 * code, so that whichever goes first leaves the other whole: without its runtime a DevPlan is empty and fits no query.
 * The arena's account outlives it.
 */
#include "base/mutex.h"
#include "exec/device/dev_int.h"

static void drop_code(DevPlan *p) {
    for (int32_t i = 0; i < p->n; i++)
        if (p->segs[i].has_code) code_release(p->r->cache, &p->segs[i].code);
    code_release(p->r->cache, &p->order.ref);
}

void dev_plan_free(DevPlan *p) {
    if (!p) return;
    if (p->r) {
        mutex_lock(&p->r->lock);
        *p->link = p->next;
        if (p->next) p->next->link = p->link;
        mutex_unlock(&p->r->lock);
        drop_code(p);
    }
    Arena *a = p->arena; /* holds p itself */
    arena_free(a);
}

void plan_forget_all(DevRuntime *r) {
    for (DevPlan *p = r->plans, *next; p; p = next) {
        next = p->next;
        drop_code(p);
        p->r = NULL;
    }
    r->plans = NULL;
}

bool plan_adopt(DevQuery *q, DevPlan **kept, const EmitTarget *target, Err *e) {
    DevPlan *p = *kept;
    if (p->r != q->r || p->plan != q->plan || !emit_target_same(&p->target, target) ||
        p->interpreted != q->opt.device.interpreted || p->compiled_too != q->opt.device.compiled_too ||
        atomic_load(&q->d->info.lost)) {
        dev_plan_free(p);
        *kept = NULL;
        return false;
    }
    if (!(q->segs = arena_alloc(q->arena, (p->n + 1) * (int64_t)sizeof *q->segs))) {
        err_oom(e);
        return false;
    }
    memcpy(q->segs, p->segs, (size_t)p->n * sizeof *q->segs);
    q->kept = p;
    q->ep = p->ep;
    q->buf = p->consts;
    q->order = p->order;
    return true;
}

/* A segment as placement left it. */
static DSegment placed(const DSegment *s) {
    DSegment d = {.p = s->p,
                  .reason = s->reason,
                  .detail = s->detail,
                  .emitted = s->emitted,
                  .has_code = s->has_code,
                  .last = s->last,
                  .e = s->e,
                  .code = s->code,
                  .text = s->text,
                  .main = s->main,
                  .build = s->build,
                  .sort_init = s->sort_init,
                  .sort_tile = s->sort_tile,
                  .sort_merge = s->sort_merge,
                  .sort_gather = s->sort_gather,
                  .how = s->how,
                  .given = s->given,
                  .n_list = s->n_list,
                  .list_rows = s->list_rows,
                  .list = s->list,
                  .list_at = s->list_at,
                  .skipped = s->skipped};
    memcpy(d.resident, s->resident, sizeof d.resident);
    d.stats.code_from_memory = s->has_code;
    return d;
}

void plan_keep(DevQuery *q, DevPlan **kept) {
    if (q->refused || !q->started) return;
    arena_set_err(q->code_arena, NULL);
    DevPlan *p = arena_new_of(q->code_arena, DevPlan);
    DSegment *segs = arena_array(q->code_arena, DSegment, q->n + 1);
    if (!p || !segs) return;
    *p = (DevPlan){.r = q->r,
                   .arena = q->code_arena,
                   .plan = q->plan,
                   .target = q->ep->target,
                   .interpreted = q->opt.device.interpreted,
                   .compiled_too = q->opt.device.compiled_too,
                   .ep = q->ep,
                   .n = q->n,
                   .segs = segs,
                   .consts = q->buf,
                   .order = q->order};
    for (int32_t i = 0; i < q->n; i++) segs[i] = placed(&q->segs[i]);
    mutex_lock(&q->r->lock);
    p->next = q->r->plans;
    p->link = &q->r->plans;
    if (p->next) p->next->link = &p->next;
    q->r->plans = p;
    mutex_unlock(&q->r->lock);
    dev_plan_free(*kept);
    *kept = p;
    q->kept = p;
}
