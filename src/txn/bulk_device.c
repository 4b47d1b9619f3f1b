/* bulk_device.c - K-SET with kernels made from the procedures (codegen/emit_proc.h): one launch per set and procedure.
 *
 * A device that shares the host's memory (the host itself, OpenCL on CPUs) works on the images where they lie. Any other has copies of them
 * (image_mirror.h), which stay there from bulk to bulk; arguments go there and results come back with each bulk. Footprints and schedule are the host's.
 *
 * Launches are queued several at a time. A launch with failures keeps the later ones from running; then the failures are seen to, and the launches that
 * did not run are queued again. The virtual machine runs a call that failed again: it fails again, with its error, or had only run out of room; so errors
 * are the machine's own. A device with copies has to bring them to the host for that, and back; there, an error that its code tells is worded here. A RAISE
 * with a constant message is worded here in any case, and nobody waits for it.
 *
 * Faults. When the device refuses a launch, those before it are waited for, and the machine goes on with the rest: stats.reason says so. When a device with
 * copies fails otherwise, the machine goes on from where the host's images are; but not when the device had changes of earlier bulks, which are lost: 58000.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "codegen/emit_proc.h"
#include "codegen/prelude/kc_codes.h"
#include "exec/device/dev.h"
#include "txn/bulk_int.h"

enum { BATCH_MAX = 64, SPREAD = 8 /* groups per worker, on the host */, GROUP_CPU = 64, GROUP_GPU = 128, GROUPS_PER_UNIT = 16, UNDO_BYTES_MAX = 256 << 20 };

/* A procedure's kernel text, kept from bulk to bulk. */
struct ProcCode {
    Arena *arena;
    uint64_t form; /* what it was made for */
    ProcSource src;
};
void proc_code_free(struct ProcCode *c) {
    if (c) arena_free(c->arena);
}

void images_drop_queue(ImageSet *s) {
    if (s->queue) s->device->ops->queue_free(s->device, s->queue);
    s->queue = NULL;
}

typedef struct DevicePart {
    const ProcCode *code;
    CodeRef ref;
    bool has_ref;
    DevKernel *kernel;
    uint64_t *values;
    int32_t calls_at, order_at, launch_at; /* parameters that change from launch to launch */
} DevicePart;
typedef struct Launch { int64_t start, n; int32_t part; } Launch;
/* Memory of this bulk that a device has a copy of. */
typedef struct Buffer { void *host; int64_t bytes, offset; bool in, out; } Buffer;

struct BulkDevice {
    Device *d;
    CodeCache *cache;
    DevQueue *queue, *side; /* side: the stop flag; NULL: not yet */
    bool broken;       /* an operation of it failed */
    EmitTarget target;
    bool copies;       /* the device does not share the host's memory */
    bool on_host;      /* ... and the host has everything now */
    int64_t safe;      /* ... and the host's images are as after so many launches; -1: the device has changes of earlier bulks */
    DevicePart *parts;
    uint64_t *words;   /* error word and stop flag, `blocked`, bounds */
    uint64_t *failed;  /* counter and list */
    int64_t failed_bytes;
    uint64_t *heaps;   /* two words per table entry of the image set */
    uint8_t *undo;
    int64_t undo_bytes;
    int32_t n_buffers;
    Buffer *buffers;
    DevPtr base;       /* of the buffers' copies */
    int64_t base_bytes, undo_offset;
    uint32_t *again;   /* calls for the machine */
    int64_t n_again;
    int32_t again_part;
};
enum { W_ERR, W_STOP, W_BLOCKED, W_BOUNDS = 4 };

/* ---- preparation ------------------------------------------------------------------------------ */
/* What the text depends on besides the procedure. */
static uint64_t form_of(const BulkDevice *v, const ProgRun *pr) {
    uint64_t h = hash_combine((uint64_t)v->target.kind, (uint64_t)v->target.group_size * 4 + v->copies * 2 + hash_constant);
    for (int32_t i = 0; i < pr->proc->n_tables; i++) {
        const Image *im = pr->tables[i].image;
        h = hash_combine(h, (uint64_t)im->n_indexes);
        for (int32_t k = 0; k < im->n_indexes; k++) {
            h = hash_combine(h, (uint64_t)im->indexes[k].unique);
            for (int32_t c = 0; c < im->indexes[k].n_cols; c++) h = hash_combine(h, (uint64_t)im->indexes[k].cols[c]);
        }
        for (int32_t k = 0; k < pr->proc->tables[i].need.table->n_keys + pr->proc->tables[i].need.n_groups; k++) h = hash_combine(h, (uint64_t)pr->tables[i].index[k]);
        for (int32_t c = 0; c < im->n_cols; c++) h = hash_combine(h, (uint64_t)im->cols[c].used << 1 | (im->cols[c].valid != NULL));
    }
    return h;
}

static Status make_code(Bulk *b, ProcEntry *x, Err *e) {
    BulkDevice *v = b->device;
    uint64_t form = form_of(v, x->body);
    if (x->code && x->code->form == form) return ST_OK;
    proc_code_free(x->code);
    x->code = NULL;
    Arena *a = arena_new(&b->images->account, e);
    if (!a) return ST_ERROR;
    const Proc *proc = x->proc;
    ProcCode *c = arena_new_of(a, ProcCode);
    ProcTableForm *t = arena_array(a, ProcTableForm, proc->n_tables + 1);
    Status st = c && t ? ST_OK : err_oom(e);
    for (int32_t i = 0; st == ST_OK && i < proc->n_tables; i++) t[i] = (ProcTableForm){x->body->tables[i].image, x->body->tables[i].index};
    if (st == ST_OK) st = emit_proc(proc, t, &v->target, !v->copies, a, &c->src, e);
    if (st != ST_OK) {
        arena_free(a);
        return st;
    }
    c->arena = a;
    c->form = form;
    x->code = c;
    return ST_OK;
}

static Status get_kernel(Bulk *b, int32_t k, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    DevicePart *p = &v->parts[k];
    ProcEntry *x = b->parts[k].proc;
    TRY(make_code(b, x, e));
    p->code = x->code;
    *reason = p->code->src.reason;
    if (*reason) return ST_OK;
    Err why = {0};
    const DeviceUse *use = &b->opt->query->device;
    switch (code_get(v->cache, v->d, p->code->src.source, NULL, use->wait || use->strict, &p->ref, &why)) {
    case CODE_PENDING: *reason = "its kernel is being compiled"; return ST_OK;
    case CODE_FAILED: *reason = arena_strdup(b->arena, why.message); return *reason ? ST_OK : err_oom(e);
    default: break;
    }
    p->has_ref = true;
    if (v->d->ops->kernel(p->ref.module, "proc_main", &p->kernel, &why) == ST_OK) return ST_OK;
    *reason = arena_strdup(b->arena, why.message);
    return *reason ? ST_OK : err_oom(e);
}

static Status prepare(Bulk *b, const char **reason, Err *e) {
    struct DevRuntime *r = b->opt->query->device.runtime;
    *reason = !r ? "there is no device"
              : b->n_calls == 1 ? "a single call"
              : b->opt->strategy != STRATEGY_AUTO && b->opt->strategy != STRATEGY_KSET ? "this strategy is the virtual machine's" : NULL;
    if (*reason) return ST_OK;
    Device *d = dev_runtime_device(r);
    BulkDevice *v = b->device = arena_new_of(b->arena, BulkDevice);
    if (!v) return err_oom(e);
    v->d = d;
    v->cache = dev_runtime_cache(r);
    v->copies = b->opt->copies || !d->info.shares_memory;
    v->target = (EmitTarget){.kind = d->info.kind, .group_size = d->info.kind == DEVICE_HOST ? 1 : d->info.kind == DEVICE_CUDA ? GROUP_GPU : GROUP_CPU};
    if (!(v->parts = arena_array(b->arena, DevicePart, b->n_parts + 1))) return err_oom(e);
    for (int32_t k = 0; k < b->n_parts && !*reason; k++) {
        TRY(get_kernel(b, k, reason, e));
        if (*reason && !(*reason = arena_printf(b->arena, "%s: %s", b->parts[k].part->proc->name, *reason))) return err_oom(e);
    }
    if (*reason) return ST_OK;
    ImageSet *s = b->images;
    if (s->device != d) images_drop_queue(s);
    v->queue = s->queue;
    s->queue = NULL;
    s->device = d;
    Err why = {0};
    if (!v->queue && d->ops->queue_new(d, &v->queue, &why) != ST_OK && !(*reason = arena_strdup(b->arena, why.message))) return err_oom(e);
    return ST_OK;
}

/* Footprints read some images on the host, and bounds of columns that are new to adds are looked for there. */
static bool foot_reads(const Bulk *b, const Image *im) {
    for (int32_t k = 0; k < b->n_parts; k++) {
        const ProgRun *pr = b->parts[k].proc->foot;
        for (int32_t i = 0; pr && i < pr->p->n_instrs; i++) {
            const Instr *in = &pr->p->instrs[i];
            int32_t table = -1;
            if (in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST || in->op == OP_ROW_NEXT) table = ((const RowKey *)in->aux)->table;
            if (in->op == OP_ROW_GET) table = ((const RowCol *)in->aux)->table;
            if (table >= 0 && pr->tables[table].image == im) return true;
            const ItemSite *it = in->aux;
            if (in->op != OP_ITEM || it->kind != OPK_ADD || !it->has_amount || pr->tables[it->table].image != im) continue;
            if (images_entry(b->images, pr->proc->tables[it->table].table_id)->bound[it->col] < 0) return true;
        }
    }
    return false;
}

Status bulk_device_prepare(Bulk *b, const char **reason, Err *e) {
    Status st = b->opt->compiled ? prepare(b, reason, e) : ST_OK;
    if (st == ST_OK && *reason && b->n_calls > 1 && b->opt->query->device.strict)
        st = err_set(e, ERR_FEATURE_NOT_SUPPORTED, "the bulk cannot run compiled: %s", *reason);
    if (st != ST_OK || *reason) bulk_device_end(b);
    for (int64_t i = 0; st == ST_OK && i < b->images->n; i++) {
        Image *im = b->images->entries[i].image;
        if (!im || !im->mirror) continue;
        bool stays = b->device && b->device->copies;
        if (!stays || foot_reads(b, im)) st = image_mirror_to_host(im, e);
        if (!stays) image_mirror_stale(im);
    }
    return st;
}

void bulk_device_end(Bulk *b) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    if (!v) return;
    if (v->queue && v->broken) v->d->ops->queue_free(v->d, v->queue);
    else if (v->queue) b->images->queue = v->queue;
    if (v->side) v->d->ops->queue_free(v->d, v->side);
    if (v->base) v->d->ops->free(v->d, v->base, v->base_bytes);
    for (int32_t k = 0; v->parts && k < b->n_parts; k++)
        if (v->parts[k].has_ref) code_release(v->cache, &v->parts[k].ref);
    mem_free(acct, v->failed, v->failed_bytes);
    mem_free(acct, v->undo, v->undo_bytes);
    b->device = NULL;
}
const char *bulk_device_name(const Bulk *b) { return b->device->d->info.id; }

/* ---- memory of the bulk ----------------------------------------------------------------------------- */
static void add_buffer(BulkDevice *v, const void *host, int64_t bytes, bool in, bool out) {
    if (!host || bytes <= 0) return;
    v->buffers[v->n_buffers++] = (Buffer){.host = (void *)(uintptr_t)host, .bytes = bytes, .offset = v->base_bytes, .in = in, .out = out};
    v->base_bytes += align_up(bytes, 256);
}
static Status copy_buffers(BulkDevice *v, bool outs, bool down, Err *e) {
    for (int32_t i = 0; i < v->n_buffers; i++) {
        const Buffer *x = &v->buffers[i];
        DevPtr at = v->base + (uint64_t)x->offset;
        if (outs ? !x->out : !x->in) continue;
        if (down) TRY(v->d->ops->copy_out(v->queue, x->host, at, x->bytes, e));
        else TRY(v->d->ops->copy_in(v->queue, at, x->host, x->bytes, e));
    }
    return ST_OK;
}
static Status make_buffers(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    int64_t most = 8;
    for (int32_t k = 0; k < b->n_parts; k++) most += 2 * (b->parts[k].part->proc->n_params + b->parts[k].part->proc->n_outs + b->parts[k].part->proc->n_tables);
    if (!(v->buffers = arena_array(b->arena, Buffer, most))) return err_oom(e);
    add_buffer(v, v->words, (W_BOUNDS + b->n_sums + 1) * 8, true, false);
    add_buffer(v, v->failed, (b->n_calls + 1) * 8, false, false);
    add_buffer(v, b->schedule.order, b->n_calls * 4, true, false);
    add_buffer(v, b->pos_of, b->n_calls * 4, true, false);
    for (int32_t k = 0; k < b->n_parts; k++) {
        const BulkPart *part = b->parts[k].part;
        const ProgRun *pr = b->parts[k].proc->body;
        for (int32_t i = 0; i < part->proc->n_params; i++) {
            int64_t n = part->params[i].is_const ? 1 : part->n;
            add_buffer(v, part->params[i].data, n * phys_size((Phys)part->params[i].phys), true, false);
            add_buffer(v, part->params[i].valid, n, true, false);
        }
        for (int32_t i = 0; i < part->proc->n_outs; i++) {
            Vec *o = &b->result->outs[k][i];
            add_buffer(v, o->data, part->n * phys_size((Phys)o->phys), true, true);
            add_buffer(v, o->valid, part->n, true, true);
        }
        for (int32_t i = 0; i < part->proc->n_tables; i++) {
            add_buffer(v, pr->tables[i].starts, part->n * 4, true, false);
            add_buffer(v, pr->tables[i].counts, part->n * 4, true, false);
        }
    }
    v->undo_offset = v->base_bytes; /* the log is the device's alone */
    v->base_bytes += v->undo_bytes;
    TRY(v->d->ops->alloc(v->d, v->base_bytes, &v->base, e));
    return copy_buffers(v, false, false, e);
}

/* The address under which kernels find what the host has at p. */
static uint64_t at(const Bulk *b, const void *p) {
    const BulkDevice *v = b->device;
    if (!v->copies || !p) return (uint64_t)(uintptr_t)p;
    for (int32_t i = 0; i < v->n_buffers; i++) {
        const Buffer *x = &v->buffers[i];
        if ((const char *)p >= (const char *)x->host && (const char *)p < (const char *)x->host + x->bytes)
            return v->base + (uint64_t)x->offset + (uint64_t)((const char *)p - (const char *)x->host);
    }
    return 0;
}
static uint64_t in_image(const Bulk *b, const Image *im, const void *array) {
    return b->device->copies ? image_mirror_at(im, array) : (uint64_t)(uintptr_t)array;
}

/* ---- parameters --------------------------------------------------------------------------------- */
static uint64_t limb(int128_t v, int32_t col) { return (uint64_t)(col >= PROC_HIGH ? v >> 64 : v); }

static uint64_t table_value(const Bulk *b, const ProgRun *pr, const EmitParam *p) {
    const TableUse *t = &pr->tables[p->id];
    const Image *im = t->image;
    int32_t col = p->col % PROC_HIGH;
    switch (p->kind) {
    case PP_CELLS: return in_image(b, im, im->cols[col].cells);
    case PP_VALID: return in_image(b, im, im->cols[col].valid);
    case PP_LIVE: return in_image(b, im, im->live);
    case PP_DIRTY: return in_image(b, im, im->dirty);
    case PP_ROWIDS: return in_image(b, im, im->rowids);
    case PP_SLOTS: return in_image(b, im, im->indexes[col].slots);
    case PP_MASK: return (uint64_t)im->indexes[col].mask;
    case PP_NEXT: return in_image(b, im, im->indexes[col].next);
    case PP_BASE: return (uint64_t)t->base;
    case PP_STRIDE: return (uint64_t)t->stride;
    case PP_STARTS: return at(b, t->starts);
    case PP_COUNTS: return at(b, t->counts);
    case PP_SHARED: return t->cols[col].shared;
    case PP_LO: return limb(t->cols[col].lo, p->col);
    case PP_HI: return limb(t->cols[col].hi, p->col);
    case PP_BOUND: return t->cols[col].tracked && t->cols[col].slot >= 0 ? at(b, &b->device->words[W_BOUNDS + t->cols[col].slot]) : 0;
    default: /* PP_HEAP */
        for (int64_t i = 0; i < b->images->n; i++)
            if (b->images->entries[i].image == im) return (uint64_t)(uintptr_t)&b->device->heaps[2 * i];
        return 0;
    }
}

static Status fill_values(Bulk *b, int32_t k, Err *e) {
    BulkDevice *v = b->device;
    DevicePart *d = &v->parts[k];
    const BulkPart *part = b->parts[k].part;
    const ProgRun *pr = b->parts[k].proc->body;
    const ProcSource *src = &d->code->src;
    if (!(d->values = arena_array(b->arena, uint64_t, src->n_params + 1))) return err_oom(e);
    for (int32_t i = 0; i < src->n_params; i++) {
        const EmitParam *p = &src->params[i];
        uint64_t *to = &d->values[i];
        switch (p->kind) {
        case KP_ERR: *to = at(b, &v->words[W_ERR]); break;
        case PP_CALLS: d->calls_at = i; break;
        case PP_ORDER: d->order_at = i; break;
        case PP_LAUNCH: d->launch_at = i; break;
        case PP_POS: *to = at(b, b->pos_of); break;
        case PP_BLOCKED: *to = at(b, &v->words[W_BLOCKED]); break;
        case PP_FAILED: *to = at(b, v->failed); break;
        case PP_STEP_LIMIT: *to = (uint64_t)MAX_OF(b->opt->step_limit, INT64_C(0)); break;
        case PP_UNDO: *to = pr->undo; break;
        case PP_UNDO_AREA: *to = v->copies ? v->base + (uint64_t)v->undo_offset : at(b, v->undo); break;
        case PP_ARG_CELLS: *to = at(b, part->params[p->id].data); break;
        case PP_ARG_VALID: *to = at(b, part->params[p->id].valid); break;
        case PP_ARG_STEP: *to = !part->params[p->id].is_const; break;
        case PP_OUT_CELLS: *to = at(b, b->result->outs[k][p->id].data); break;
        case PP_OUT_VALID: *to = at(b, b->result->outs[k][p->id].valid); break;
        default:
            if (!emit_proc_value(part->proc, p, b->arena, to)) *to = table_value(b, pr, p);
            else if (p->kind == KP_LIKE && !*to) return err_oom(e);
        }
    }
    return ST_OK;
}

/* Bytes that the calls' strings may need in a table's heap: their arguments' once for each instruction that puts one there. */
static int64_t text_bytes(const Bulk *b, int32_t k, int32_t table) {
    const BulkPart *part = b->parts[k].part;
    uint32_t puts = b->device->parts[k].code->src.text_puts[table];
    int64_t bytes = 0;
    if (puts == 0) return 0;
    for (int32_t i = 0; i < part->proc->n_params; i++) {
        const Vec *p = &part->params[i];
        if (p->phys != PH_STR) continue;
        int64_t n = p->is_const ? 1 : part->n, sum = 0;
        for (int64_t j = 0; j < n; j++)
            if (!p->valid || p->valid[j]) sum += ((const Str *)p->data)[j].len;
        bytes += p->is_const ? sum * part->n : sum;
    }
    return (bytes + part->n * 16) * puts;
}
static Status make_heaps(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (!(v->heaps = arena_array(b->arena, uint64_t, 2 * b->images->n + 1))) return err_oom(e);
    for (int64_t i = 0; i < b->images->n && !v->copies; i++) {
        Image *im = b->images->entries[i].image;
        int64_t bytes = 0;
        for (int32_t k = 0; im && k < b->n_parts; k++)
            for (int32_t t = 0; t < b->parts[k].part->proc->n_tables; t++)
                if (b->parts[k].proc->body->tables[t].image == im) bytes += text_bytes(b, k, t);
        char *room = bytes > 0 ? image_text_room(im, bytes, e) : NULL;
        if (bytes > 0 && !room) return ST_ERROR;
        v->heaps[2 * i] = (uint64_t)(uintptr_t)room;
        v->heaps[2 * i + 1] = (uint64_t)(uintptr_t)room + (uint64_t)bytes;
    }
    return ST_OK;
}

/* Groups of a launch. */
static int64_t groups_of(const Bulk *b, int64_t calls) {
    const BulkDevice *v = b->device;
    int64_t tile = v->target.kind == DEVICE_HOST ? PROC_TILE : v->target.group_size, most = v->target.kind == DEVICE_HOST ? (int64_t)b->workers * SPREAD : (int64_t)v->d->info.units * GROUPS_PER_UNIT;
    int32_t log = 1;
    for (int32_t k = 0; k < b->n_parts; k++) log = MAX_OF(log, v->parts[k].code->src.undo_max);
    most = MIN_OF(most, MAX_OF(INT64_C(1), UNDO_BYTES_MAX / ((int64_t)log * UNDO_ENTRY * v->target.group_size)));
    return MAX_OF(INT64_C(1), MIN_OF((calls + tile - 1) / tile, most));
}

/* Each image of the bulk's procedures, once: fn may fail. */
static Status each_image(Bulk *b, Status (*fn)(Bulk *b, Image *im, Err *e), Err *e) {
    for (int64_t i = 0; i < b->images->n; i++) {
        Image *im = b->images->entries[i].image;
        bool used = false;
        for (int32_t k = 0; im && k < b->n_parts; k++)
            for (int32_t t = 0; t < b->parts[k].part->proc->n_tables; t++) used |= b->parts[k].proc->body->tables[t].image == im;
        if (used) TRY(fn(b, im, e));
    }
    return ST_OK;
}
static Status use_mirror(Bulk *b, Image *im, Err *e) { return image_mirror_use(im, b->device->d, b->device->queue, e); }
static Status fetch_image(Bulk *b, Image *im, Err *e) {
    (void)b;
    return image_mirror_fetch(im, e);
}
static Status commit_image(Bulk *b, Image *im, Err *e) {
    (void)b, (void)e;
    image_mirror_commit(im);
    image_mirror_stale(im);
    return ST_OK;
}
/* All images or none. */
static Status bring_home(Bulk *b, Err *e) {
    TRY(each_image(b, fetch_image, e));
    return each_image(b, commit_image, e);
}
static Status look_ahead(Bulk *b, Image *im, Err *e) {
    (void)e;
    if (image_mirror_ahead(im)) b->device->safe = -1;
    return ST_OK;
}
static Status drop_mirror(Bulk *b, Image *im, Err *e) {
    (void)b, (void)e;
    image_mirror_free(im);
    return ST_OK;
}
/* What the bodies write. */
static void mark_changed(Bulk *b) {
    for (int32_t k = 0; k < b->n_parts; k++) {
        const ProgRun *pr = b->parts[k].proc->body;
        for (int32_t i = 0; i < pr->p->n_instrs; i++) {
            const Instr *in = &pr->p->instrs[i];
            if (in->op < OP_ROW_PUT || in->op > OP_ROW_DELETE) continue;
            int32_t table = in->op == OP_ROW_INSERT ? ((const RowInsert *)in->aux)->table : ((const RowCol *)in->aux)->table;
            Image *im = pr->tables[table].image;
            int32_t col = in->op == OP_ROW_PUT || in->op == OP_ROW_ADD ? ((const RowCol *)in->aux)->col : -1;
            image_mirror_changed(im, im->dirty);
            if (in->op == OP_ROW_INSERT || in->op == OP_ROW_DELETE) image_mirror_changed(im, im->live);
            for (int32_t c = 0; c < im->n_cols; c++) {
                if (in->op != OP_ROW_INSERT && c != col) continue;
                image_mirror_changed(im, im->cols[c].cells);
                image_mirror_changed(im, im->cols[c].valid);
            }
            if (in->op != OP_ROW_INSERT) continue;
            image_mirror_changed(im, im->rowids);
            for (int32_t x = 0; x < im->n_indexes; x++) {
                image_mirror_changed(im, im->indexes[x].slots);
                image_mirror_changed(im, im->indexes[x].next);
            }
        }
    }
}

static Status start(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    int32_t most = 1;
    for (int32_t k = 0; k < b->n_parts; k++) most = MAX_OF(most, v->parts[k].code->src.undo_max);
    v->failed_bytes = (b->n_calls + 1) * 12 + 16;
    v->undo_bytes = groups_of(b, b->n_calls) * v->target.group_size * most * UNDO_ENTRY + 64;
    if (!(v->words = arena_array(b->arena, uint64_t, W_BOUNDS + b->n_sums + 1))) return err_oom(e);
    if (!(v->failed = mem_alloc(acct, v->failed_bytes, e))) return ST_ERROR;
    if (v->copies) {
        TRY(each_image(b, look_ahead, e));
        TRY(each_image(b, use_mirror, e));
        TRY(make_buffers(b, e));
    } else if (!(v->undo = mem_alloc(acct, v->undo_bytes, e))) {
        return ST_ERROR;
    }
    TRY(make_heaps(b, e));
    for (int32_t k = 0; k < b->n_parts; k++) TRY(fill_values(b, k, e));
    return v->copies ? v->d->ops->sync(v->queue, NULL, NULL, e) : ST_OK;
}

Status bulk_device_start(Bulk *b, const char **reason, Err *e) {
    if (start(b, e) == ST_OK) return ST_OK;
    b->device->broken = true;
    if (!b->device->copies || b->opt->query->device.strict) return ST_ERROR;
    Err why;
    err_copy(&why, e);
    err_clear(e);
    TRY(bring_home(b, e)); /* what earlier bulks left there */
    log_write(LOG_WARNING, "a bulk runs without device \"%s\": %s", b->device->d->info.id, why.message);
    bulk_device_end(b);
    *reason = "the device has no room, or failed";
    return ST_OK;
}

/* ---- failures --------------------------------------------------------------------------------------- */
static void machine_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    BulkDevice *v = b->device;
    int64_t step = MIN_OF(b->parts[v->again_part].proc->body->vector_size, MAX_OF(INT64_C(1), v->n_again / b->workers));
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < v->n_again;) bulk_chunk(b, worker, v->again_part, MIN_OF(step, v->n_again - i), v->again + i);
}
/* These calls, which do not conflict, on the virtual machine. */
static void on_machine(Bulk *b, int32_t part, int64_t n, uint32_t *calls) {
    BulkDevice *v = b->device;
    v->again = calls;
    v->n_again = n;
    v->again_part = part;
    atomic_store(&b->next, 0);
    if (n < 64) machine_worker(b, 0);
    else bulk_parallel(b, machine_worker);
}
/* OUT values and bounds. */
static Status fetch_results(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    TRY(copy_buffers(v, true, true, e));
    if (b->n_sums > 0) TRY(v->d->ops->copy_out(v->queue, &v->words[W_BOUNDS], at(b, &v->words[W_BOUNDS]), b->n_sums * 8, e));
    return v->d->ops->sync(v->queue, NULL, NULL, e);
}
/* The host has everything that `done` launches did; the device's copies are not to be used before go_back. */
static Status go_home(Bulk *b, int64_t done, Err *e) {
    BulkDevice *v = b->device;
    if (!v->copies || v->on_host) return ST_OK;
    TRY(fetch_results(b, e));
    TRY(bring_home(b, e));
    v->on_host = true;
    v->safe = done;
    return ST_OK;
}
static Status go_back(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    if (!v->copies || !v->on_host) return ST_OK;
    TRY(each_image(b, use_mirror, e));
    TRY(copy_buffers(v, true, false, e));
    TRY(v->d->ops->sync(v->queue, NULL, NULL, e));
    v->on_host = false;
    mark_changed(b);
    return ST_OK;
}

/* An error that its code tells: false when the machine has to word it. */
static bool word_error(Bulk *b, int32_t part, uint32_t code, uint32_t call) {
    const Proc *proc = b->parts[part].part->proc;
    const Program *p = proc->body;
    int32_t pc = (int32_t)(code >> 8) - 1, kind = (int32_t)(code & 0xff);
    const Instr *in = &p->instrs[pc];
    Err e = {0};
    if (kind == PF_SAID) {
        const RaiseSite *r = in->aux;
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
    } else if (b->device->copies && kind <= KE_NUMERIC && !(in->op >= OP_STORE && in->op <= OP_P_RETURN)) {
        emit_data_error(p, part, code, &e);
        for (int32_t i = pc - 1; i >= 0 && !(p->instrs[i].op >= OP_P_IF && p->instrs[i].op <= OP_P_RETURN); i--) /* the machine tries a whole IF again */
            if (p->instrs[i].op == OP_IF && p->instrs[p->instrs[i].jump].jump > pc) pc = i;
    } else {
        return false;
    }
    CallSink *k = &b->w[0].sink;
    CallError *x = arena_new_of(k->arena, CallError);
    if (!x) return false;
    memcpy(x->sqlstate, e.sqlstate, sizeof x->sqlstate);
    x->message = arena_strdup(k->arena, e.message);
    x->detail = e.detail[0] ? arena_strdup(k->arena, e.detail) : NULL;
    x->hint = e.hint[0] ? arena_strdup(k->arena, e.hint) : NULL;
    x->line = proc->lines ? proc->lines[pc] : 0;
    x->place = proc->places ? proc->places[pc] : NULL;
    if (!x->message) return false;
    k->errors[part][b->pos_of ? b->pos_of[call] : call] = x;
    k->n_failed++;
    return true;
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}
/* Of a batch; those that the machine has to see are of the launch before `done`, of `part`. */
static Status see_failures(Bulk *b, int32_t part, int64_t done, Err *e) {
    BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failed[0], m = 0;
    uint32_t *calls = (uint32_t *)(v->failed + b->n_calls + 1);
    for (int64_t i = 0; i < n; i++)
        if (!word_error(b, bulk_type(b, (uint32_t)v->failed[1 + i]), (uint32_t)(v->failed[1 + i] >> 32), (uint32_t)v->failed[1 + i])) calls[m++] = (uint32_t)v->failed[1 + i];
    if (m == 0) return ST_OK;
    qsort(calls, (size_t)m, sizeof *calls, by_number);
    TRY(go_home(b, done - 1, e));
    on_machine(b, part, m, calls);
    v->safe = done;
    return go_back(b, e);
}

/* ---- running ---------------------------------------------------------------------------------------- */
static bool canceled(const Bulk *b) {
    const CallSink *k = &b->w[0].sink;
    if (k->cancel && atomic_load_explicit(k->cancel, memory_order_relaxed)) return true;
    return k->deadline_ns && clock_ns() > k->deadline_ns;
}
static bool poll_cancel(void *ctx) {
    Bulk *b = ctx;
    BulkDevice *v = b->device;
    if (v->words[W_STOP] || !canceled(b)) return true;
    __atomic_store_n(&v->words[W_STOP], 1, __ATOMIC_RELAXED);
    Err e = {0};
    if (v->copies && (v->side || v->d->ops->queue_new(v->d, &v->side, &e) == ST_OK) &&
        v->d->ops->copy_in(v->side, at(b, &v->words[W_STOP]), &v->words[W_STOP], 8, &e) != ST_OK)
        log_write(LOG_WARNING, "a bulk on device \"%s\" cannot be stopped: %s", v->d->info.id, e.message);
    return true;
}

/* Sets cut by procedure, in order. */
static Status cut_launches(Bulk *b, Launch **out, int64_t *count, Err *e) {
    const Schedule *s = &b->schedule;
    Launch *l = NULL;
    for (int pass = 0; pass < 2; pass++) {
        int64_t n = 0;
        for (int64_t k = 0; k < s->n_sets; k++)
            for (int64_t i = s->set_start[k], j; i < s->set_start[k + 1]; i = j, n++) {
                int32_t type = bulk_type(b, s->order[i]);
                j = s->set_start[k + 1];
                if (b->type_of)
                    for (j = i + 1; j < s->set_start[k + 1] && b->type_of[s->order[j]] == type;) j++;
                if (pass) l[n] = (Launch){i, j - i, type};
            }
        if (!pass && !(l = arena_alloc(b->arena, (n + 1) * (int64_t)sizeof(Launch)))) return err_oom(e);
        *count = n;
    }
    *out = l;
    return ST_OK;
}

static Status queue_launch(Bulk *b, const Launch *l, int64_t number, Err *e) {
    BulkDevice *v = b->device;
    DevicePart *p = &v->parts[l->part];
    p->values[p->calls_at] = (uint64_t)l->n;
    p->values[p->order_at] = at(b, b->schedule.order + l->start);
    p->values[p->launch_at] = (uint64_t)number;
    return v->d->ops->launch(v->queue, p->kernel, groups_of(b, l->n), v->target.group_size, 0, p->values, p->code->src.n_params, e);
}

/* Queues launches and waits: how many were queued, and the number of the one with failures (0 none). An error: the device is not to be used further. */
static Status run_batch(Bulk *b, const Launch *l, int64_t most, int64_t *queued, int64_t *blocked, Err *e) {
    BulkDevice *v = b->device;
    const DeviceOps *ops = v->d->ops;
    Err refused = {0};
    *queued = 0;
    v->words[W_BLOCKED] = v->failed[0] = 0;
    if (v->copies) {
        TRY(ops->copy_in(v->queue, at(b, &v->words[W_BLOCKED]), &v->words[W_BLOCKED], 8, e));
        TRY(ops->copy_in(v->queue, at(b, v->failed), v->failed, 8, e));
    }
    while (*queued < most && queue_launch(b, &l[*queued], *queued + 1, &refused) == ST_OK) ++*queued;
    if (v->copies) {
        TRY(ops->copy_out(v->queue, &v->words[W_BLOCKED], at(b, &v->words[W_BLOCKED]), 8, e));
        TRY(ops->copy_out(v->queue, v->failed, at(b, v->failed), 8, e));
    }
    TRY(ops->sync(v->queue, poll_cancel, b, e));
    *blocked = (int64_t)v->words[W_BLOCKED];
    if (!v->copies || v->failed[0] == 0) return ST_OK;
    TRY(ops->copy_out(v->queue, v->failed, at(b, v->failed), ((int64_t)v->failed[0] + 1) * 8, e));
    return ops->sync(v->queue, NULL, NULL, e);
}

/* OUT strings point anywhere: the result has its own. */
static void keep_texts(Bulk *b) {
    static CallError oom = {"53200", (char *)(uintptr_t) "out of memory for the result; the call has been executed", NULL, NULL, 0, NULL};
    for (int32_t k = 0; k < b->n_parts; k++) {
        const BulkPart *part = b->parts[k].part;
        for (int32_t o = 0; b->device->parts[k].code->src.text_outs && o < part->proc->n_outs; o++) {
            Vec *v = &b->result->outs[k][o];
            Str *s = v->data;
            for (int64_t i = 0; v->phys == PH_STR && i < part->n; i++) {
                if (!v->valid[i]) continue;
                const char *copy = arena_strndup(b->result->arena, s[i].ptr, s[i].len);
                if (copy) {
                    s[i].ptr = copy;
                    continue;
                }
                v->valid[i] = 0;
                memset(&s[i], 0, sizeof s[i]);
                if (!b->result->errors[k][i]) b->result->errors[k][i] = &oom;
            }
        }
    }
}

/* The device failed: on from where the host's images are. */
static Status start_again(Bulk *b, const Launch *l, int64_t n, Err *e) {
    BulkDevice *v = b->device;
    if (!v->copies || v->safe < 0) return ST_ERROR;
    log_write(LOG_WARNING, "a bulk goes on without device \"%s\": %s", v->d->info.id, e->message);
    err_clear(e);
    (void)each_image(b, drop_mirror, e);
    v->on_host = true;
    for (int64_t i = v->safe; i < n; i++)
        for (int64_t k = l[i].start; k < l[i].start + l[i].n; k++) {
            uint32_t call = b->schedule.order[k];
            CallError **x = &b->result->errors[l[i].part][b->pos_of ? b->pos_of[call] : call];
            if (*x) b->w[0].sink.n_failed--;
            *x = NULL;
        }
    return ST_OK;
}

static Status run_launches(Bulk *b, const Launch *l, int64_t n, int64_t *done, const char **reason, Err *e) {
    int64_t batch = 8;
    while (*done < n && !*reason && !canceled(b)) {
        int64_t queued, blocked, most = MIN_OF(batch, n - *done);
        TRY(run_batch(b, l + *done, most, &queued, &blocked, e));
        if (queued < most && !blocked) *reason = "the device refused a launch";
        batch = blocked ? MAX_OF(batch / 2, INT64_C(1)) : MIN_OF(batch * 2, (int64_t)BATCH_MAX);
        *done += blocked ? blocked : queued;
        if (b->device->failed[0] > 0) TRY(see_failures(b, l[*done - 1].part, *done, e));
    }
    if (*done < n) return go_home(b, *done, e);
    if (!b->device->copies) return ST_OK;
    return fetch_results(b, e);
}

Status bulk_device_execute(Bulk *b, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    Launch *l = NULL;
    int64_t n = 0, done = 0;
    TRY(cut_launches(b, &l, &n, e));
    if (v->copies) mark_changed(b);
    if (run_launches(b, l, n, &done, reason, e) != ST_OK) {
        v->broken = true;
        TRY(start_again(b, l, n, e));
        *reason = "the device failed";
        done = v->safe;
    }
    for (; done < n; done++) on_machine(b, l[done].part, l[done].n, b->schedule.order + l[done].start);
    for (int32_t i = 0; i < b->n_sums; i++) {
        int128_t most = (int128_t)v->words[W_BOUNDS + i];
        b->w[0].sink.bounds[i] = MAX_OF(b->w[0].sink.bounds[i], most);
    }
    keep_texts(b);
    return ST_OK;
}
