/* bulk_device.c - K-SET with kernels made from the procedures (codegen/emit_proc.h): one launch per set and procedure.
 *
 * The device works on the images where they lie: it has to share the host's memory. Footprints and schedule are the host's.
 *
 * Launches are queued several at a time. A launch with failures keeps the later ones from running; then the virtual machine runs the calls that failed
 * (they fail again, with their errors, or they had only run out of room), and the launches that did not run are queued again. So errors are the
 * machine's own, and a set sees what it would see there.
 *
 * When the device refuses a launch, all launches before it are waited for, and the machine goes on with the rest: stats.reason says so.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "codegen/emit_proc.h"
#include "exec/device/dev.h"
#include "txn/bulk_int.h"

enum { BATCH_MAX = 64, SPREAD = 8 /* groups per worker */ };

/* A procedure's kernel text, kept from bulk to bulk. */
struct ProcCode {
    Arena *arena;
    uint64_t form; /* of the images it was made for */
    ProcSource src;
};
void proc_code_free(struct ProcCode *c) {
    if (c) arena_free(c->arena);
}

typedef struct DevicePart {
    const ProcCode *code;
    CodeRef ref;
    bool has_ref;
    DevKernel *kernel;
    uint64_t *values;
    int32_t calls_at, order_at, launch_at; /* parameters that change from launch to launch, -1: not used */
} DevicePart;
typedef struct Launch { int64_t start, n; int32_t part; } Launch;

struct BulkDevice {
    Device *d;
    CodeCache *cache;
    DevQueue *queue;
    DevicePart *parts;
    uint64_t *words;   /* error word and stop flag, `blocked`, bounds */
    uint64_t *failed;  /* counter and list */
    int64_t failed_bytes;
    uint64_t *heaps;   /* two words per table entry of the image set */
    uint8_t *undo;
    int64_t undo_bytes;
    uint32_t *again;   /* calls for the machine; in n_calls * 4 bytes */
    int64_t n_again;
    int32_t again_part;
};
enum { W_ERR, W_STOP, W_BLOCKED, W_BOUNDS = 4 };

/* ---- preparation ------------------------------------------------------------------------------ */
/* What the text depends on besides the procedure. */
static uint64_t form_of(const ProgRun *pr) {
    uint64_t h = 1;
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
    return hash_combine(h, (uint64_t)hash_constant);
}

static Status make_code(Bulk *b, ProcEntry *x, Err *e) {
    uint64_t form = form_of(x->body);
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
    EmitTarget target = {.kind = DEVICE_HOST, .group_size = 1};
    if (st == ST_OK) st = emit_proc(proc, t, &target, a, &c->src, e);
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
    if (d->info.kind != DEVICE_HOST) *reason = "images are in the host's memory";
    if (*reason) return ST_OK;
    BulkDevice *v = b->device = arena_new_of(b->arena, BulkDevice);
    if (!v) return err_oom(e);
    v->d = d;
    v->cache = dev_runtime_cache(r);
    if (!(v->parts = arena_array(b->arena, DevicePart, b->n_parts + 1))) return err_oom(e);
    for (int32_t k = 0; k < b->n_parts && !*reason; k++) {
        TRY(get_kernel(b, k, reason, e));
        if (*reason && !(*reason = arena_printf(b->arena, "%s: %s", b->parts[k].part->proc->name, *reason))) return err_oom(e);
    }
    if (!*reason) TRY(d->ops->queue_new(d, &v->queue, e));
    return ST_OK;
}

Status bulk_device_prepare(Bulk *b, const char **reason, Err *e) {
    Status st = prepare(b, reason, e);
    if (st == ST_OK && *reason && b->n_calls > 1 && b->opt->query->device.strict)
        st = err_set(e, ERR_FEATURE_NOT_SUPPORTED, "the bulk cannot run compiled: %s", *reason);
    if (st != ST_OK || *reason) bulk_device_end(b);
    return st;
}

void bulk_device_end(Bulk *b) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    if (!v) return;
    if (v->queue) v->d->ops->queue_free(v->d, v->queue);
    for (int32_t k = 0; v->parts && k < b->n_parts; k++)
        if (v->parts[k].has_ref) code_release(v->cache, &v->parts[k].ref);
    mem_free(acct, v->failed, v->failed_bytes);
    mem_free(acct, v->undo, v->undo_bytes);
    b->device = NULL;
}

const char *bulk_device_name(const Bulk *b) { return b->device->d->info.id; }

/* ---- parameters --------------------------------------------------------------------------------- */
static uint64_t address(const void *p) { return (uint64_t)(uintptr_t)p; }
static uint64_t limb(int128_t v, int32_t col) { return (uint64_t)(col >= PROC_HIGH ? v >> 64 : v); }

static uint64_t table_value(const Bulk *b, const ProgRun *pr, const EmitParam *p) {
    const TableUse *t = &pr->tables[p->id];
    const Image *im = t->image;
    int32_t col = p->col % PROC_HIGH;
    switch (p->kind) {
    case PP_CELLS: return address(im->cols[col].cells);
    case PP_VALID: return address(im->cols[col].valid);
    case PP_LIVE: return address(im->live);
    case PP_DIRTY: return address(im->dirty);
    case PP_ROWIDS: return address(im->rowids);
    case PP_SLOTS: return address(im->indexes[col].slots);
    case PP_MASK: return (uint64_t)im->indexes[col].mask;
    case PP_NEXT: return address(im->indexes[col].next);
    case PP_BASE: return (uint64_t)t->base;
    case PP_STRIDE: return (uint64_t)t->stride;
    case PP_STARTS: return address(t->starts);
    case PP_COUNTS: return address(t->counts);
    case PP_SHARED: return t->cols[col].shared;
    case PP_LO: return limb(t->cols[col].lo, p->col);
    case PP_HI: return limb(t->cols[col].hi, p->col);
    case PP_BOUND: return t->cols[col].tracked && t->cols[col].slot >= 0 ? address(&b->device->words[W_BOUNDS + t->cols[col].slot]) : 0;
    default: /* PP_HEAP */
        for (int64_t i = 0; i < b->images->n; i++)
            if (b->images->entries[i].image == im) return address(&b->device->heaps[2 * i]);
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
    d->calls_at = d->order_at = d->launch_at = -1;
    for (int32_t i = 0; i < src->n_params; i++) {
        const EmitParam *p = &src->params[i];
        uint64_t *to = &d->values[i];
        switch (p->kind) {
        case KP_ERR: *to = address(&v->words[W_ERR]); break;
        case PP_CALLS: d->calls_at = i; break;
        case PP_ORDER: d->order_at = i; break;
        case PP_LAUNCH: d->launch_at = i; break;
        case PP_POS: *to = address(b->pos_of); break;
        case PP_BLOCKED: *to = address(&v->words[W_BLOCKED]); break;
        case PP_FAILED: *to = address(v->failed); break;
        case PP_STEP_LIMIT: *to = (uint64_t)MAX_OF(b->opt->step_limit, INT64_C(0)); break;
        case PP_UNDO: *to = pr->undo; break;
        case PP_UNDO_AREA: *to = address(v->undo); break;
        case PP_ARG_CELLS: *to = address(part->params[p->id].data); break;
        case PP_ARG_VALID: *to = address(part->params[p->id].valid); break;
        case PP_ARG_STEP: *to = !part->params[p->id].is_const; break;
        case PP_OUT_CELLS: *to = address(b->result->outs[k][p->id].data); break;
        case PP_OUT_VALID: *to = address(b->result->outs[k][p->id].valid); break;
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
    for (int64_t i = 0; i < b->images->n; i++) {
        Image *im = b->images->entries[i].image;
        int64_t bytes = 0;
        for (int32_t k = 0; im && k < b->n_parts; k++)
            for (int32_t t = 0; t < b->parts[k].part->proc->n_tables; t++)
                if (b->parts[k].proc->body->tables[t].image == im) bytes += text_bytes(b, k, t);
        char *room = bytes > 0 ? image_text_room(im, bytes, e) : NULL;
        if (bytes > 0 && !room) return ST_ERROR;
        v->heaps[2 * i] = address(room);
        v->heaps[2 * i + 1] = address(room) + (uint64_t)bytes;
    }
    return ST_OK;
}

static int64_t groups_of(const Bulk *b, int64_t calls) { return MIN_OF((calls + PROC_TILE - 1) / PROC_TILE, (int64_t)b->workers * SPREAD); }

Status bulk_device_start(Bulk *b, Err *e) {
    BulkDevice *v = b->device;
    MemAccount *acct = &b->images->account;
    int32_t most = 1;
    for (int32_t k = 0; k < b->n_parts; k++) most = MAX_OF(most, v->parts[k].code->src.undo_max);
    v->failed_bytes = (b->n_calls + 1) * 12 + 16;
    v->undo_bytes = groups_of(b, b->n_calls) * most * UNDO_ENTRY + 64;
    if (!(v->words = arena_array(b->arena, uint64_t, W_BOUNDS + b->n_sums + 1))) return err_oom(e);
    v->failed = mem_alloc(acct, v->failed_bytes, e);
    v->undo = mem_alloc(acct, v->undo_bytes, e);
    if (!v->failed || !v->undo) return ST_ERROR;
    v->again = (uint32_t *)(v->failed + b->n_calls + 1);
    TRY(make_heaps(b, e));
    for (int32_t k = 0; k < b->n_parts; k++) TRY(fill_values(b, k, e));
    return ST_OK;
}

/* ---- running ---------------------------------------------------------------------------------------- */
static bool canceled(const Bulk *b) {
    const CallSink *k = &b->w[0].sink;
    if (k->cancel && atomic_load_explicit(k->cancel, memory_order_relaxed)) return true;
    return k->deadline_ns && clock_ns() > k->deadline_ns;
}
static bool poll_cancel(void *ctx) {
    Bulk *b = ctx;
    if (canceled(b)) __atomic_store_n(&b->device->words[W_STOP], 1, __ATOMIC_RELAXED);
    return true;
}

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

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}
static void see_failures(Bulk *b, int32_t part) {
    BulkDevice *v = b->device;
    int64_t n = (int64_t)v->failed[0];
    uint32_t *calls = (uint32_t *)(v->failed + b->n_calls + 1);
    for (int64_t i = 0; i < n; i++) calls[i] = (uint32_t)v->failed[1 + i];
    qsort(calls, (size_t)n, sizeof *calls, by_number);
    on_machine(b, part, n, calls);
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
    p->values[p->order_at] = address(b->schedule.order + l->start);
    p->values[p->launch_at] = (uint64_t)number;
    return v->d->ops->launch(v->queue, p->kernel, groups_of(b, l->n), 1, 0, p->values, p->code->src.n_params, e);
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

Status bulk_device_execute(Bulk *b, const char **reason, Err *e) {
    BulkDevice *v = b->device;
    Launch *l = NULL;
    int64_t n = 0, at = 0, batch = 8;
    Err why = {0};
    TRY(cut_launches(b, &l, &n, e));
    while (at < n && !*reason && !canceled(b)) {
        int64_t queued = 0;
        v->words[W_BLOCKED] = v->failed[0] = 0;
        while (queued < batch && at + queued < n && queue_launch(b, &l[at + queued], queued + 1, &why) == ST_OK) queued++;
        if (queued < batch && at + queued < n) *reason = "the device refused a launch";
        if (v->d->ops->sync(v->queue, poll_cancel, b, &why) != ST_OK) return err_internal(e, "%s", why.message);
        int64_t blocked = (int64_t)v->words[W_BLOCKED];
        batch = blocked ? MAX_OF(batch / 2, INT64_C(1)) : MIN_OF(batch * 2, (int64_t)BATCH_MAX);
        at += blocked ? blocked : queued;
        if (blocked) see_failures(b, l[at - 1].part);
    }
    for (; at < n; at++) on_machine(b, l[at].part, l[at].n, b->schedule.order + l[at].start);
    for (int32_t i = 0; i < b->n_sums; i++) {
        int128_t most = (int128_t)v->words[W_BOUNDS + i];
        b->w[0].sink.bounds[i] = MAX_OF(b->w[0].sink.bounds[i], most);
    }
    keep_texts(b);
    return ST_OK;
}
