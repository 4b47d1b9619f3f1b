/* bulk_code.c - modules of kernels, kept from bulk to bulk: found for a bulk's procedures, written, compiled; and the
 * end of all that an image set keeps on a device. */
#include "base/hash.h"
#include "txn/device/bulk_device_int.h"

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

/* What the text depends on besides the procedures. */
static uint64_t table_form(const Image *im) {
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
int32_t bulk_code_table(const BulkCode *c, int64_t id) {
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
            if (c->forms[bulk_code_table(c, pr->proc->tables[i].table_id)] != table_form(pr->tables[i].image))
                return false;
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
            if ((no[i] = bulk_code_table(c, id)) >= 0) continue;
            no[i] = c->n_tables++;
            c->tables[no[i]] = id;
            c->forms[no[i]] = table_form(pr->tables[i].image);
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

Status bulk_code_get(Bulk *b, const char **reason, Err *e) {
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
