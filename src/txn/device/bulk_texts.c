/* bulk_texts.c - strings of a bulk that runs by kernels; see bulk_texts.h. */
#include "txn/device/bulk_texts.h"

#include "base/mem.h"
#include "txn/device/bulk_device_int.h"

enum {
    TEXT_ALIGN = 8 /* where kernels put strings */,
    OUT_GUESS = 64,
    OUT_GUESS_MAX = 1024 /* bytes of an OUT value */,
    STAGE_CALLS = 1024,
    ROOM_GUESS_MAX = 256 << 20,
    CELL_ALIGN = 16
};

/* ---- arguments' strings, counted and copied by all workers -------------------------------------------- */
static Status cut(Bulk *b, BulkTexts *t, Err *e) {
    int64_t n = 0;
    for (int32_t k = 0; k < b->n_groups; k++) n += (b->groups[k].group->n + STAGE_CALLS - 1) / STAGE_CALLS;
    t->chunks = arena_array(b->arena, struct TextChunk, n + 1);
    t->arg_bytes = arena_array(b->arena, int64_t, b->n_groups + 1);
    if (!t->chunks || !t->arg_bytes) return err_oom(e);
    for (int32_t k = 0; k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        bool texts = false;
        for (int32_t i = 0; i < group->proc->n_params; i++) texts |= group->params[i].phys == PH_STR;
        for (int64_t i = 0; texts && i < group->n; i += STAGE_CALLS)
            t->chunks[t->n_chunks++] =
                (struct TextChunk){.group = k, .from = i, .to = MIN_OF(group->n, i + STAGE_CALLS)};
    }
    return ST_OK;
}
/* Cells of a parameter that belong to the chunk; a constant's to the first one. */
static int64_t chunk_end(const struct TextChunk *x, const Vec *p) {
    return !p->is_const ? x->to : x->from == 0 ? 1 : 0;
}
static void count(const Bulk *b, struct TextChunk *x) {
    const CallGroup *group = b->groups[x->group].group;
    int64_t bytes = 0, staged = 0; /* neighbours' sums lie in the same line, and other workers write those */
    for (int32_t i = 0; i < group->proc->n_params; i++) {
        const Vec *p = &group->params[i];
        const Str *s = p->data;
        int64_t times = p->is_const ? group->n : 1;
        for (int64_t j = x->from; p->phys == PH_STR && j < chunk_end(x, p); j++) {
            int64_t len = !p->valid || p->valid[j] ? s[j].len : 0;
            bytes += len * times;
            staged += align_up(len, TEXT_ALIGN);
        }
    }
    x->bytes = bytes;
    x->staged = staged;
}
static void copy(const Bulk *b, const BulkTexts *t, const struct TextChunk *x) {
    const CallGroup *group = b->groups[x->group].group;
    int64_t at = x->at;
    for (int32_t i = 0; i < group->proc->n_params; i++) {
        const Vec *p = &group->params[i];
        const Str *from = p->data;
        if (p->phys != PH_STR) continue;
        Str *cells = (Str *)(void *)(t->staged + t->args[x->group][i]);
        for (int64_t j = x->from; j < chunk_end(x, p); j++) {
            cells[j] = (Str){0};
            if (p->valid && !p->valid[j]) continue;
            cells[j] = from[j];
            cells[j].ptr = (const char *)(uintptr_t)(t->staged_at + (uint64_t)at); /* the device's */
            if (from[j].len) memcpy(t->staged + at, from[j].ptr, from[j].len);
            at += align_up(from[j].len, TEXT_ALIGN);
        }
    }
}
typedef struct Count {
    const Bulk *b;
    const BulkTexts *t;
    _Atomic int64_t next;
} Count;
static void count_worker(void *ctx, int number) {
    Count *y = ctx;
    (void)number;
    for (int64_t i; (i = atomic_fetch_add(&y->next, 1)) < y->t->n_chunks;) count(y->b, &y->t->chunks[i]);
}
static void count_all(const Bulk *b, const BulkTexts *t) {
    Count y = {.b = b, .t = t};
    if (t->n_chunks > 1 && b->workers > 1) pool_run(b->opt->query->pool, b->workers, count_worker, &y);
    else count_worker(&y, 0);
}

/* ---- images ------------------------------------------------------------------------------------- */
/* Arguments may go into each string that is put there; else what the columns' types and kernels' loops let expect. */
static int64_t wanted(const Bulk *b, const BulkTexts *t, const Image *im) {
    int64_t bytes = 0;
    for (int32_t k = 0; im && k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        const ProcSource *src = &t->module->procs[t->kinds[k]];
        for (int32_t i = 0; i < group->proc->n_tables; i++) {
            if (b->groups[k].proc->body->tables[i].image != im || src->text_puts[i] == 0) continue;
            bytes += t->arg_bytes[k] * src->text_puts[i] +
                     MIN_OF(group->n * (src->text_bytes[i] + TEXT_ALIGN * src->text_puts[i]), (int64_t)ROOM_GUESS_MAX) +
                     (t->copies ? (int64_t)TEXT_ALIGN : (int64_t)TEXT_PIECE * b->workers);
        }
    }
    return bytes;
}
int64_t texts_room(const Bulk *b, const BulkTexts *t, int64_t entry) {
    const struct TextRoom *r = &t->rooms[entry];
    int64_t size, used;
    const Image *im = b->images->entries[entry].image;
    if (r->at && image_texts(im, &size, &used) == r->piece) return 0;
    return r->bytes;
}
Status texts_take_room(Bulk *b, BulkTexts *t, Err *e) {
    for (int64_t i = 0; i < b->images->n; i++) {
        Image *im = b->images->entries[i].image;
        struct TextRoom *r = &t->rooms[i];
        uint64_t *heap = &t->heaps[2 * i];
        if (r->bytes == 0) continue;
        int64_t size, used, taken = 0;
        char *piece = t->copies ? image_texts(im, &size, &used) : NULL;
        if (r->at && piece == r->piece) taken = (int64_t)(heap[0] - r->delta - (uint64_t)(uintptr_t)r->at);
        else if (!(r->at = row_text_room(im, r->bytes, e))) return ST_ERROR;
        else taken = -(int64_t)(uintptr_t)r->at & (TEXT_ALIGN - 1);
        r->piece = piece;
        if (t->copies) device_copy_text_room(im, r->at);
        r->delta = t->copies ? device_copy_texts(im) : 0;
        heap[0] = (uint64_t)(uintptr_t)r->at + r->delta + (uint64_t)taken;
        heap[1] = (uint64_t)(uintptr_t)r->at + r->delta + (uint64_t)r->bytes;
    }
    return ST_OK;
}
void texts_leave_room(Bulk *b, BulkTexts *t) {
    for (int64_t i = 0; i < b->images->n; i++) {
        struct TextRoom *r = &t->rooms[i];
        if (!r->at) continue;
        int64_t used = (int64_t)(t->heaps[2 * i] - r->delta - (uint64_t)(uintptr_t)r->at);
        Image *im = b->images->entries[i].image;
        row_text_leave(im, r->at + MIN_OF(used, r->bytes), r->at + r->bytes);
        if (t->copies && im->device_copy)
            device_copy_text_room(im,
                                  r->at); /* the host may write there next, and what is there may be fetched already */
        r->at = NULL;
    }
}

/* ---- arguments, constants, OUT values ----------------------------------------------------------------- */
static int64_t reserve(BulkTexts *t, int64_t bytes) {
    int64_t at = t->staged_bytes;
    t->staged_bytes += align_up(bytes, CELL_ALIGN);
    return at;
}
/* The program whose constant the parameter may be; NULL: none, or of no group of this bulk. */
static const Program *program_of(const Bulk *b, const BulkTexts *t, const EmitParam *p) {
    int32_t n = t->module->n_procs, number = p->proc - 1;
    for (int32_t k = 0; number >= 0 && k < b->n_groups; k++)
        if (t->kinds[k] == number % n)
            return number < n ? b->groups[k].group->proc->body : b->groups[k].group->proc->footprint;
    return NULL;
}
int64_t texts_data(const BulkTexts *t, const EmitParam *p) { return t->copies ? t->data[p - t->module->params] : -1; }
static Status plan_copies(Bulk *b, BulkTexts *t, Err *e) {
    const ProcModule *m = t->module;
    t->args = arena_array(b->arena, int64_t *, b->n_groups + 1);
    t->data = arena_array(b->arena, int64_t, m->n_params + 1);
    if (!t->args || !t->data) return err_oom(e);
    for (int32_t k = 0; k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        if (!(t->args[k] = arena_array(b->arena, int64_t, group->proc->n_params + 1))) return err_oom(e);
        for (int32_t i = 0; i < group->proc->n_params; i++) {
            t->args[k][i] = -1;
            if (group->params[i].phys == PH_STR)
                t->args[k][i] = reserve(t, (group->params[i].is_const ? 1 : group->n) * (int64_t)sizeof(Str));
        }
    }
    for (int64_t i = 0; i < t->n_chunks; i++) t->chunks[i].at = reserve(t, t->chunks[i].staged);
    for (int32_t i = 0; i < m->n_params; i++) {
        const Program *p = program_of(b, t, &m->params[i]);
        int64_t bytes = p ? emit_param_data(p, &m->params[i], 0, NULL) : 0;
        t->data[i] = bytes > 0 ? reserve(t, bytes) : -1;
    }
    return ST_OK;
}
static Status plan_outs(Bulk *b, BulkTexts *t, Err *e) {
    for (int32_t k = 0; k < b->n_groups; k++) {
        const CallGroup *group = b->groups[k].group;
        int64_t args = t->arg_bytes[k];
        for (int32_t o = 0; t->module->procs[t->kinds[k]].out_heap && o < group->proc->n_outs; o++) {
            const ProcVar *var = &group->proc->vars[group->proc->outs[o]];
            if (var->phys == PH_STR)
                t->outs_bytes +=
                    args + group->n * TEXT_ALIGN +
                    group->n * (var->type.length > 0 ? MIN_OF((int64_t)var->type.length, (int64_t)OUT_GUESS_MAX)
                                                     : (int64_t)OUT_GUESS);
        }
    }
    if (t->outs_bytes > 0) TRY(bulk_device_borrow(b, t->outs_bytes, &t->loan, e));
    t->outs = t->loan.p;
    t->out_heap[0] = (uint64_t)(uintptr_t)t->outs;
    t->out_heap[1] = (uint64_t)(uintptr_t)t->outs + (uint64_t)t->outs_bytes;
    return ST_OK;
}
/* Some call puts strings in tables, or in the heap of OUT values. */
static bool puts_texts(const Bulk *b, const BulkTexts *t) {
    for (int32_t k = 0; k < b->n_groups; k++) {
        const ProcSource *src = &t->module->procs[t->kinds[k]];
        if (src->out_heap) return true;
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++)
            if (src->text_puts[i] > 0) return true;
    }
    return false;
}
Status texts_plan_args(Bulk *b, BulkTexts *t, Err *e) {
    TRY(cut(b, t, e));
    count_all(b, t);
    for (int64_t i = 0; i < t->n_chunks; i++) t->arg_bytes[t->chunks[i].group] += t->chunks[i].bytes;
    return t->copies ? plan_copies(b, t, e) : ST_OK;
}
void texts_take_args(BulkTexts *t, const BulkTexts *planned) {
    t->chunks = planned->chunks;
    t->n_chunks = planned->n_chunks;
    t->arg_bytes = planned->arg_bytes;
    t->staged = planned->staged;
    t->staged_bytes = planned->staged_bytes;
    t->staged_at = planned->staged_at;
    t->args = planned->args;
    t->data = planned->data;
}
Status texts_plan(Bulk *b, BulkTexts *t, Err *e) {
    t->rooms = arena_array(b->arena, struct TextRoom, b->images->n + 1);
    if (!t->rooms) return err_oom(e);
    if (!t->copies && !puts_texts(b, t)) return ST_OK;
    if (!t->copies) TRY(texts_plan_args(b, t, e));
    for (int64_t i = 0; i < b->images->n; i++) t->rooms[i].bytes = wanted(b, t, b->images->entries[i].image);
    return plan_outs(b, t, e);
}
void texts_free(BulkTexts *t) {
    bulk_give_back(&t->loan);
    t->staged = t->outs = NULL;
}

/* It lives as long as the result. */
static void free_loan(void *p) { bulk_give_back(p); }
bool texts_give(BulkTexts *t, Arena *result) {
    BulkLoan *l = t->outs ? arena_new_of(result, BulkLoan) : NULL;
    if (!t->outs) return true;
    if (!l) return false;
    *l = t->loan;
    if (arena_on_release(result, free_loan, l) != ST_OK) return false;
    t->loan = (BulkLoan){0};
    t->outs = NULL;
    return true;
}

void texts_stage(Bulk *b, BulkTexts *t, uint64_t staged) {
    const ProcModule *m = t->module;
    t->staged_at = staged;
    for (int32_t i = 0; i < m->n_params; i++)
        if (t->data[i] >= 0)
            (void)emit_param_data(program_of(b, t, &m->params[i]), &m->params[i], staged + (uint64_t)t->data[i],
                                  t->staged + t->data[i]);
}
void texts_place_outs(BulkTexts *t, uint64_t outs) {
    t->out_heap[0] = outs;
    t->out_heap[1] = outs + (uint64_t)t->outs_bytes;
    t->out_heap[2] = outs - (uint64_t)(uintptr_t)t->outs;
}

void texts_stage_chunk(Bulk *b, const BulkTexts *t, int64_t i) { copy(b, t, &t->chunks[i]); }
