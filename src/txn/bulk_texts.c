/* bulk_texts.c - strings of a bulk that runs by kernels; see bulk_texts.h. */
#include "txn/bulk_texts.h"

#include "base/mem.h"
#include "txn/image_mirror.h"

enum { OUT_GUESS = 64, OUT_GUESS_MAX = 1024 /* bytes of an OUT value */, CELL_ALIGN = 16 };

/* ---- images ------------------------------------------------------------------------------------- */
static int64_t arg_bytes(const BulkPart *part) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < part->proc->n_params; i++) {
        const Vec *p = &part->params[i];
        if (p->phys != PH_STR) continue;
        int64_t n = p->is_const ? 1 : part->n, sum = 0;
        for (int64_t j = 0; j < n; j++)
            if (!p->valid || p->valid[j]) sum += ((const Str *)p->data)[j].len;
        bytes += p->is_const ? sum * part->n : sum;
    }
    return bytes;
}
/* Arguments may go into each string that is put there; else what the columns' types and kernels' loops let expect. */
static int64_t wanted(const Bulk *b, const BulkTexts *t, const Image *im) {
    int64_t bytes = 0;
    for (int32_t k = 0; im && k < b->n_parts; k++) {
        const BulkPart *part = b->parts[k].part;
        const ProcSource *src = &t->module->procs[t->kinds[k]];
        int64_t args = -1;
        for (int32_t i = 0; i < part->proc->n_tables; i++) {
            if (b->parts[k].proc->body->tables[i].image != im || src->text_puts[i] == 0) continue;
            if (args < 0) args = arg_bytes(part);
            bytes += args * src->text_puts[i] + part->n * src->text_bytes[i];
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
        else if (!(r->at = image_text_room(im, r->bytes, e))) return ST_ERROR;
        r->piece = piece;
        if (t->copies) image_mirror_text_room(im, r->at);
        r->delta = t->copies ? image_mirror_texts(im) : 0;
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
        image_text_leave(b->images->entries[i].image, r->at + MIN_OF(used, r->bytes), r->at + r->bytes);
        r->at = NULL;
    }
}

/* ---- arguments, constants, OUT values ----------------------------------------------------------------- */
static int64_t reserve(BulkTexts *t, int64_t bytes) {
    int64_t at = t->staged_bytes;
    t->staged_bytes += align_up(bytes, CELL_ALIGN);
    return at;
}
static Status plan_copies(Bulk *b, BulkTexts *t, Err *e) {
    const ProcModule *m = t->module;
    t->args = arena_array(b->arena, int64_t *, b->n_parts + 1);
    t->data = arena_array(b->arena, int64_t, m->n_params + 1);
    if (!t->args || !t->data) return err_oom(e);
    for (int32_t k = 0; k < b->n_parts; k++) {
        const BulkPart *part = b->parts[k].part;
        if (!(t->args[k] = arena_array(b->arena, int64_t, part->proc->n_params + 1))) return err_oom(e);
        int64_t texts = arg_bytes(part);
        for (int32_t i = 0; i < part->proc->n_params; i++) {
            t->args[k][i] = -1;
            if (part->params[i].phys == PH_STR) t->args[k][i] = reserve(t, (part->params[i].is_const ? 1 : part->n) * (int64_t)sizeof(Str));
        }
        if (texts > 0) reserve(t, texts);
    }
    for (int32_t i = 0; i < m->n_params; i++) {
        t->data[i] = -1;
        for (int32_t k = 0; m->params[i].proc > 0 && k < b->n_parts; k++) {
            if (t->kinds[k] != m->params[i].proc - 1) continue;
            int64_t bytes = emit_proc_data(b->parts[k].part->proc->body, &m->params[i], 0, NULL);
            if (bytes > 0) t->data[i] = reserve(t, bytes);
            break;
        }
    }
    return t->staged_bytes == 0 || (t->staged = mem_alloc(t->account, t->staged_bytes, e)) ? ST_OK : ST_ERROR;
}
static Status plan_outs(const Bulk *b, BulkTexts *t, Err *e) {
    if (!(t->out_heap = arena_array(b->arena, uint64_t, 3))) return err_oom(e);
    for (int32_t k = 0; k < b->n_parts; k++) {
        const BulkPart *part = b->parts[k].part;
        int64_t args = t->module->procs[t->kinds[k]].out_heap ? arg_bytes(part) : 0;
        for (int32_t o = 0; t->module->procs[t->kinds[k]].out_heap && o < part->proc->n_outs; o++) {
            const ProcVar *var = &part->proc->vars[part->proc->outs[o]];
            if (var->phys == PH_STR) t->outs_bytes += args + part->n * (var->type.length > 0 ? MIN_OF((int64_t)var->type.length, (int64_t)OUT_GUESS_MAX) : (int64_t)OUT_GUESS);
        }
    }
    if (t->outs_bytes > 0 && !(t->outs = mem_alloc(t->account, t->outs_bytes, e))) return ST_ERROR;
    t->out_heap[0] = (uint64_t)(uintptr_t)t->outs;
    t->out_heap[1] = (uint64_t)(uintptr_t)t->outs + (uint64_t)t->outs_bytes;
    return ST_OK;
}
Status texts_plan(Bulk *b, BulkTexts *t, Err *e) {
    t->account = &b->images->account;
    t->heaps = arena_array(b->arena, uint64_t, 2 * b->images->n + 1);
    t->rooms = arena_array(b->arena, struct TextRoom, b->images->n + 1);
    if (!t->heaps || !t->rooms) return err_oom(e);
    for (int64_t i = 0; i < b->images->n; i++) t->rooms[i].bytes = wanted(b, t, b->images->entries[i].image);
    TRY(plan_outs(b, t, e));
    return t->copies ? plan_copies(b, t, e) : ST_OK;
}
void texts_free(BulkTexts *t) {
    if (!t->account) return;
    mem_free(t->account, t->staged, t->staged_bytes);
    mem_free(t->account, t->outs, t->outs_bytes);
    t->staged = t->outs = NULL;
}

void texts_stage(const Bulk *b, BulkTexts *t, uint64_t staged, uint64_t outs) {
    const ProcModule *m = t->module;
    for (int32_t k = 0; k < b->n_parts; k++) {
        const BulkPart *part = b->parts[k].part;
        int64_t at = 0;
        for (int32_t i = 0; i < part->proc->n_params; i++)
            if (t->args[k][i] >= 0) at = t->args[k][i] + align_up((part->params[i].is_const ? 1 : part->n) * (int64_t)sizeof(Str), CELL_ALIGN); /* bytes are behind the last one's cells */
        for (int32_t i = 0; i < part->proc->n_params; i++) {
            const Vec *p = &part->params[i];
            if (t->args[k][i] < 0) continue;
            Str *cells = (Str *)(void *)(t->staged + t->args[k][i]);
            const Str *from = p->data;
            for (int64_t j = 0; j < (p->is_const ? 1 : part->n); j++) {
                cells[j] = (Str){0};
                if (p->valid && !p->valid[j]) continue;
                cells[j] = from[j];
                cells[j].ptr = (const char *)(uintptr_t)(staged + (uint64_t)at); /* the device's */
                if (from[j].len) memcpy(t->staged + at, from[j].ptr, from[j].len);
                at += from[j].len;
            }
        }
    }
    for (int32_t i = 0; i < m->n_params; i++)
        for (int32_t k = 0; t->data[i] >= 0 && k < b->n_parts; k++) {
            if (t->kinds[k] != m->params[i].proc - 1) continue;
            emit_proc_data(b->parts[k].part->proc->body, &m->params[i], staged + (uint64_t)t->data[i], t->staged + t->data[i]);
            break;
        }
    t->out_heap[0] = outs;
    t->out_heap[1] = outs + (uint64_t)t->outs_bytes;
    t->out_heap[2] = outs - (uint64_t)(uintptr_t)t->outs;
}
