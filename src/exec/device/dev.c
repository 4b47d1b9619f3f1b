/* dev.c - the runtime of a device, and queries on it: placement, start, end. See dev.h and dev_int.h.
 *
 * Placement (place) depends on the plan, the tables' versions and a few settings only, and is kept for the plan's next
 * run (dev_plan.c). All that it makes lives in the query's code arena. start() gets what one run needs: memory,
 * addresses, resident columns.
 */
#include <stdio.h>

#include "base/hash.h"
#include "base/mutex.h"
#include "codegen/interp.h"
#include "exec/device/dev_int.h"

/* ---- runtime ------------------------------------------------------------------------------------ */
/* All or none. */
static bool make_locks(DevRuntime *r) {
    Mutex *const plain[] = {&r->lock, &r->pipe_lock, &r->map_lock};
    static const LockRank ranks[] = {RANK_DEV_RUNTIME, RANK_DEV_PIPE, RANK_DEV_MAP};
    size_t n = 0;
    if (!mutex_init_recursive(&r->res_lock, RANK_DEV_RESIDENCY)) return false;
    while (n < ARRAY_LEN(plain) && mutex_init(plain[n], ranks[n])) n++;
    if (n == ARRAY_LEN(plain)) return true;
    while (n-- > 0) mutex_destroy(plain[n]);
    mutex_destroy(&r->res_lock);
    return false;
}
Status dev_runtime_new(Device *d, CodeCache *cache, MemAccount *account, DevRuntime **out, Err *e) {
    *out = NULL;
    DevRuntime *r = mem_calloc(account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->d = d;
    r->cache = cache;
    r->account = account;
    r->map_limit = hostmap_limit();
    if (!make_locks(r)) {
        mem_free(account, r, (int64_t)sizeof *r);
        return err_oom(e);
    }
    d->reclaim_ctx = r;
    d->reclaim = dev_mem_reclaim;
    *out = r;
    return ST_OK;
}

void dev_runtime_free(DevRuntime *r) {
    if (!r) return;
    r->d->reclaim = NULL;
    plan_forget_all(r);
    res_free(r);
    while (r->lanes) {
        Lane *l = r->lanes;
        r->lanes = l->next;
        lane_free(r, l);
    }
    (void)dev_mem_trim(r);
    if (r->free) mem_free(r->account, r->free, r->cap_free * (int64_t)sizeof *r->free);
    mutex_destroy(&r->lock);
    mutex_destroy(&r->res_lock);
    mutex_destroy(&r->pipe_lock);
    mutex_destroy(&r->map_lock);
    mem_free(r->account, r, (int64_t)sizeof *r);
}
Device *dev_runtime_device(DevRuntime *r) { return r->d; }
CodeCache *dev_runtime_cache(DevRuntime *r) { return r->cache; }

/* ---- placement ------------------------------------------------------------------------------------- */
static void set_target(const Device *d, const DeviceUse *use, EmitTarget *t) {
    const DeviceInfo *i = &d->info;
    *t = emit_target(i);
    t->result_cache = use->result_cache;
    t->units = MAX_OF(i->units, 1);
    t->direct_bytes = dev_limit(d) / 32;
    if (i->native_threads) {
        t->group_size = 1;
        t->tile_rows = 8192;
        t->host_lists = true;
        t->local_bytes = MIN_OF(i->local_bytes, INT64_C(65536));
    } else {
        t->group_size = i->warp > 1 ? 256 : 64; /* warp 1: a CPU behind OpenCL */
        while (t->group_size > 1 && t->group_size > i->group_max) t->group_size /= 2;
        t->tile_rows = i->warp > 1 ? 2048 : 8192;
        t->local_bytes =
            MIN_OF(i->local_bytes,
                   MAX_OF(INT64_C(24576), MIN_OF(i->local_bytes / 4, INT64_C(49152)))); /* four groups per unit */
    }
}

static const char *why(DevQuery *q, const char *text, int32_t segment) {
    const char *percent = strstr(text, "%d"), *s;
    s = arena_printf(q->code_arena, "%.*s%d%s", (int)(percent - text), text, (int)segment, percent + 2);
    return s ? s : text;
}

/* The first of the segments on the virtual machine that feeds the same state, -1 none. */
static int32_t vm_feeder(const DevQuery *q, SinkKind kind, int32_t id) {
    for (int32_t i = 0; i < q->n; i++) {
        const Sink *s = &q->plan->segments[i].program->sink;
        bool rows = kind == SINK_ROWS && (s->kind == SINK_SORT || s->kind == SINK_WINDOW);
        if (q->segs[i].reason && s->id == id && (s->kind == kind || rows)) return i;
    }
    return -1;
}
static bool touches_join(const Program *p, int32_t join) {
    if (p->sink.kind == SINK_JOIN && p->sink.id == join) return true;
    if (p->source.kind == SRC_JOIN && p->source.id == join) return true;
    for (int32_t k = 0; k < p->n_instrs; k++)
        if ((p->instrs[k].op == OP_PROBE || p->instrs[k].op == OP_PROBE_BEGIN) &&
            ((const ProbeSite *)p->instrs[k].aux)->join == join)
            return true;
    return false;
}

static const char *share(DevQuery *q, const DSegment *s, int32_t segment) {
    const Program *p = s->p;
    int32_t other;
    if (p->sink.kind != SINK_NONE &&
        (other = vm_feeder(q, p->sink.kind == SINK_SORT ? SINK_ROWS : p->sink.kind, p->sink.id)) >= 0)
        return why(q, "fills the same state as segment %d on the cpu", other);
    if (p->source.kind == SRC_AGG && (other = vm_feeder(q, SINK_AGG, p->source.id)) >= 0)
        return why(q, "reads groups that segment %d made on the cpu", other);
    if (p->source.kind == SRC_ROWS && (other = vm_feeder(q, SINK_ROWS, p->source.id)) >= 0)
        return why(q, "reads rows that segment %d made on the cpu", other);
    for (int32_t k = 0; k < q->n; k++) {
        const Program *o = q->segs[k].p;
        if (!q->segs[k].reason || k == segment) continue;
        if (p->sink.kind == SINK_AGG && o->source.kind == SRC_AGG && o->source.id == p->sink.id)
            return why(q, "makes groups that segment %d reads on the cpu", k);
        for (int32_t j = 0; j < q->plan->n_joins; j++)
            if (touches_join(p, j) && touches_join(o, j)) return why(q, "shares a join with segment %d on the cpu", k);
    }
    return NULL;
}

/* What follows for others when some segments run on the virtual machine: a state is filled and read on one side, but
 * rows that the device made move to the host for readers there. */
static void spread(DevQuery *q) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < q->n; i++) {
            if (q->segs[i].reason) continue;
            q->segs[i].reason = share(q, &q->segs[i], i);
            changed |= q->segs[i].reason != NULL;
        }
        changed |= pipe_spread(q);
    }
}

static bool feeds_later(const DevQuery *q, int32_t segment) {
    const Sink *s = &q->segs[segment].p->sink;
    for (int32_t i = segment + 1; i < q->n; i++) {
        const Sink *o = &q->segs[i].p->sink;
        if (o->kind == s->kind && o->id == s->id) return true;
    }
    return false;
}

/* A reason that only follows another segment's. */
static bool follows(const char *reason) {
    static const char *const starts[] = {"fills the same ", "reads ", "makes ", "shares "}; /* share */
    for (int64_t i = 0; i < ARRAY_LEN(starts); i++)
        if (strncmp(reason, starts[i], strlen(starts[i])) == 0) return true;
    return false;
}
static Status strict_error(const DevQuery *q, Err *e) {
    int32_t found = -1;
    for (int32_t i = 0; i < q->n; i++)
        if (q->segs[i].reason && (found < 0 || (follows(q->segs[found].reason) && !follows(q->segs[i].reason))))
            found = i;
    if (found < 0) return ST_OK;
    err_set(e, ERR_FEATURE_NOT_SUPPORTED, "segment %d cannot run on device %s: %s", (int)found, q->d->info.id,
            q->segs[found].reason);
    if (q->segs[found].detail) err_detail(e, "%s", q->segs[found].detail);
    err_hint(e, "SET device_strict = off lets the processor run it.");
    return ST_ERROR;
}

/* Text and code of all placed segments. A segment whose code does not compile goes to the virtual machine. */
static Status get_code(DevQuery *q, bool wait, bool *ready, Err *e) {
    *ready = true;
    for (int32_t i = 0; i < q->n; i++) {
        DSegment *s = &q->segs[i];
        if (s->reason) continue;
        if (!s->emitted) {
            s->last = !feeds_later(q, i);
            if (q->opt.device.interpreted && !(i < 64 && q->opt.device.compiled_too >> i & 1)) {
                s->reason = interp_reason(q->ep, i, q->code_arena);
                if (s->reason) continue;
                TRY(interp_segment(q->ep, i, s->last, q->code_arena, &s->e, e));
            } else {
                TRY(emit_segment(q->ep, i, s->last, q->code_arena, &s->e, e));
            }
            if (s->e.n_params > DEV_PARAMS_MAX) {
                s->reason = arena_printf(q->code_arena, "its kernel would have %d parameters, more than %d",
                                         (int)s->e.n_params, (int)DEV_PARAMS_MAX);
                if (!s->reason) return err_oom(e);
                continue;
            }
            s->text = hash_combine(hash_bytes(s->e.source, s->e.source_bytes), hash_bytes(s->e.code, s->e.code_bytes));
            s->emitted = true;
        }
        if (s->has_code) continue;
        Err err;
        err_clear(&err);
        CodeState st = code_get(q->r->cache, q->d, s->e.source, "", wait, &s->code, &err);
        if (st == CODE_PENDING) *ready = false;
        if (st == CODE_READY) s->has_code = true;
        if (st != CODE_FAILED) continue;
        q->refused = true;
        if (strcmp(err.sqlstate, ERR_OUT_OF_MEMORY) == 0 || atomic_load(&q->d->info.lost)) {
            err_copy(e, &err);
            return ST_ERROR;
        }
        s->reason = arena_printf(q->code_arena, "its kernel cannot be compiled: %s", err.message);
        s->detail = arena_strdup(q->code_arena, err.detail);
        if (!s->reason || !s->detail) return err_oom(e);
        log_write(LOG_WARNING, "a kernel for device %s does not compile: %s %s", q->d->info.id, err.message,
                  err.detail);
    }
    spread(q);
    Err err;
    err_clear(&err);
    CodeState st = order_code(q, wait, &err);
    if (st == CODE_PENDING) *ready = false;
    if (st != CODE_FAILED) return ST_OK;
    err_copy(e, &err);
    return ST_ERROR;
}

static Status find_kernels(DevQuery *q, DSegment *s, Err *e) {
    Status (*get)(DevModule *, const char *, DevKernel **, Err *) = q->d->ops->kernel;
    TRY(get(s->code.module, "seg_main", &s->main, e));
    if (s->e.kernels & EK_BUILD) TRY(get(s->code.module, "join_build", &s->build, e));
    if (s->e.kernels & EK_SORT) {
        TRY(get(s->code.module, "sort_init", &s->sort_init, e));
        TRY(get(s->code.module, "sort_tile", &s->sort_tile, e));
        TRY(get(s->code.module, "sort_merge", &s->sort_merge, e));
        TRY(get(s->code.module, "sort_gather", &s->sort_gather, e));
    }
    DevKernel *const kernels[] = {s->main, s->build, s->sort_init, s->sort_tile, s->sort_merge, s->sort_gather};
    const int64_t local[] = {s->e.main_local_bytes, 0, 0, (int64_t)SORT_TILE * 16, 0, 0};
    for (int i = 0; i < (int)ARRAY_LEN(kernels); i++) {
        if (!kernels[i]) continue;
        s->resident[i].kernel = kernels[i];
        s->resident[i].local = local[i];
        s->resident[i].groups = q->d->ops->resident_groups(kernels[i], q->ep->target.group_size, local[i]);
    }
    s->stats.code_from_memory = s->code.from_memory;
    s->stats.code_from_disk = s->code.from_disk;
    s->stats.compile_ns = s->code.from_memory || s->code.from_disk ? 0 : s->code.compile_ns;
    return ST_OK;
}

int64_t segment_groups(const DevQuery *q, const DSegment *s, DevKernel *k, int64_t local) {
    for (int i = 0; i < (int)ARRAY_LEN(s->resident); i++)
        if (s->resident[i].kernel == k && s->resident[i].local == local) return s->resident[i].groups;
    return q->d->ops->resident_groups(k, q->ep->target.group_size, local);
}

/* ---- start ---------------------------------------------------------------------------------------------- */
static Status list_tablets(DevQuery *q, DSegment *s, Err *e) {
    const Table *t = s->p->source.table;
    if (t->n_tablets > UINT32_MAX)
        return err_set(e, ERR_OUT_OF_MEMORY, "table \"%s\" has too many tablets for device %s", t->name, q->d->info.id);
    if (!(s->list = arena_array(q->code_arena, uint32_t, t->n_tablets + 1))) return err_oom(e);
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const Tablet *tab = t->tablets[i];
        if (tab->rows == 0) continue;
        if (source_skips(&s->p->source, tab)) {
            s->skipped++;
            continue;
        }
        s->list[s->n_list++] = (uint32_t)i;
        s->list_rows += tab->rows;
    }
    return ST_OK;
}

/* Pinned memory for small copies: words, the control block on its way back, constants on their way to the device. */
static Status words_room(DevQuery *q, Err *e) {
    Lane *l = q->lane;
    int64_t want = (WORDS + q->control_words) * 8 + MIN_OF(q->buf.n, (int64_t)CONSTS_PINNED);
    TRY(device_pinned_need(q->d, &l->words, want, e));
    /* Looked at before its first copy, too (pipe_check), and then the same as the block on the device: zeros. */
    q->seen = (uint64_t *)l->words.p + WORDS;
    memset(q->seen, 0, (size_t)q->control_words * 8);
    return ST_OK;
}

static Status start(DevQuery *q, Err *e) {
    bool any = false;
    for (int32_t i = 0; i < q->n; i++) any |= !q->segs[i].reason;
    TRY(states_init(q, e));
    if (!any) return ST_OK;
    if (!q->kept) TRY(params_plan(q, e));
    TRY(res_plan(q, e));
    TRY(words_room(q, e));
    int64_t bytes = q->control_words * 8;
    TRY(query_mem_get(q, bytes, &q->control, e));
    TRY(query_zero(q, q->control.p, bytes, e));
    for (int32_t i = 0; i < q->n_states; i++) {
        q->states[i].counter = q->control.p + (uint64_t)q->states[i].counter_word * 8;
        if (i < q->plan->n_joins) q->states[i].flags = q->states[i].counter + 8;
    }
    TRY(params_prepare(q, e));
    q->started = true;
    return ST_OK;
}

/* Which segments run here, their text, code and kernels. */
static Status place(DevQuery *q, const EmitTarget *target, bool *ready, Err *e) {
    const DeviceUse *use = &q->opt.device;
    bool wait = use->wait || use->strict;
    if (!(q->code_arena = arena_new(use->keep ? use->keep_account : q->account, e))) return ST_ERROR;
    if (!(q->segs = arena_array(q->code_arena, DSegment, q->n + 1))) return ST_ERROR;
    TRY(emit_plan(q->plan, target, q->code_arena, &q->ep, e));
    for (int32_t i = 0; i < q->n; i++) {
        q->segs[i].p = q->plan->segments[i].program;
        q->segs[i].reason = q->ep->reasons[i];
    }
    spread(q);
    if (use->strict) TRY(strict_error(q, e));
    if (use->shape == SHAPE_PIPELINED) TRY(pipe_plan(q, e));
    TRY(get_code(q, false, ready, e)); /* all at once, beside each other */
    if (!*ready && wait) TRY(get_code(q, true, ready, e));
    if (use->strict) TRY(strict_error(q, e));
    for (int32_t i = 0; *ready && i < q->n; i++) {
        DSegment *s = &q->segs[i];
        if (s->reason) continue;
        TRY(find_kernels(q, s, e));
        if (s->p->source.kind == SRC_TABLE) TRY(list_tablets(q, s, e));
    }
    return ST_OK;
}

Status query_needs_host_rows(DevQuery *q, const Table *t, Err *e) {
    *q->opt.device.needs_host = true;
    return err_internal(e, "the rows of table \"%s\" that device %s has are wanted on the host", t->name,
                        q->d->info.id);
}

Status dev_query_new(const QueryPlan *plan, const QueryOptions *opt, MemAccount *account, DevQuery **out, bool *ready,
                     Err *e) {
    *out = NULL;
    *ready = false;
    DevRuntime *r = opt->device.runtime;
    Arena *a = arena_new(account, e);
    if (!a) return ST_ERROR;
    DevQuery *q = arena_new_of(a, DevQuery);
    if (!q) {
        arena_free(a);
        return err_is_set(e) ? ST_ERROR : err_oom(e);
    }
    *q =
        (DevQuery){.r = r, .d = r->d, .plan = plan, .opt = *opt, .account = account, .arena = a, .n = plan->n_segments};
    EmitTarget target;
    set_target(q->d, &opt->device, &target);
    DevPlan **keep = opt->device.shape == SHAPE_FUSED ? opt->device.keep : NULL;
    if (keep && *keep && plan_adopt(q, keep, &target, e)) {
        *ready = true;
        if (opt->device.strict && strict_error(q, e) != ST_OK) goto fail;
    } else if (err_is_set(e) || place(q, &target, ready, e) != ST_OK) {
        goto fail;
    }
    if (*ready) {
        if (lane_take(r, &q->lane, e) != ST_OK) goto fail;
        if (start(q, e) != ST_OK) goto fail;
        if (keep && !q->kept) plan_keep(q, keep);
    }
    arena_set_err(a, NULL);
    if (q->code_arena) arena_set_err(q->code_arena, NULL);
    *out = q;
    return ST_OK;
fail:
    if (!err_is_set(e)) err_oom(e);
    dev_query_free(q);
    return ST_ERROR;
}

Status dev_query_make_rows(DevQuery *q, Err *e) {
    for (int32_t i = 0; i < q->n; i++) {
        DSegment *s = &q->segs[i];
        bool there = !s->reason && s->p->source.kind == SRC_TABLE && s->p->source.table->on_device;
        if (there) TRY(res_bind(q, s, e));
    }
    return query_sync(q, e);
}

void dev_query_free(DevQuery *q) {
    if (!q) return;
    DevRuntime *r = q->r;
    (void)query_settle(q);
    for (int32_t i = 0; q->states && i < q->n_states; i++) {
        dev_mem_put(r, &q->states[i].mem);
        dev_mem_put(r, &q->states[i].head);
    }
    for (int32_t i = 0; q->segs && i < q->n; i++) {
        DSegment *s = &q->segs[i];
        res_drop_own(q, s);
        device_event_drop(q->d, &s->from);
        device_event_drop(q->d, &s->to);
        if (s->has_code && !q->kept) code_release(r->cache, &s->code);
    }
    for (int32_t i = 0; i < q->n_pipes; i++) {
        dev_mem_put(r, &q->pipes[i].image);
        dev_mem_put(r, &q->pipes[i].control);
    }
    if (!q->kept) code_release(r->cache, &q->order.ref);
    dev_mem_put(r, &q->control);
    dev_mem_put(r, &q->consts);
    for (int64_t i = 0; i < q->held.len; i++) dev_mem_put(r, &q->held.items[i]);
    res_unmap_all(q);
    res_unpin_all(q);
    lane_give(r, q->lane);
    if (!q->kept) arena_free(q->code_arena);
    arena_free(q->arena);
}

/* ---- what became of it -------------------------------------------------------------------------------------- */
const char *dev_query_reason(const DevQuery *q, int32_t segment) { return q->segs[segment].reason; }
void dev_query_keep(DevQuery *q, int32_t rows) {
    if (q->rows) q->rows[rows].kept = true;
}

/* Rows of a join: slots taken without those that stayed empty. */
static int64_t stored_rows(const DevQuery *q, const DState *st) {
    const uint64_t *w = q->seen + st->counter_word;
    return (int64_t)(w[0] - (w[2] >> 32));
}

/* Rows of the listed tablets, of whose columns that are read one is open, or patched; for EXPLAIN ANALYZE only. */
static void count_forms(const DevQuery *q, const DSegment *s, SegmentStats *out) {
    out->open_rows = out->patched_rows = 0;
    if (!q->opt.device.timing || s->p->source.kind != SRC_TABLE) return;
    for (int64_t i = 0; i < s->n_list; i++) {
        const Tablet *t = s->p->source.table->tablets[s->list[i]];
        bool open = false, patched = false;
        for (int32_t k = 0; k < s->e.n_tables_cols; k++) {
            open |= t->cols[s->e.table_cols[k]].is_delta;
            patched |= t->cols[s->e.table_cols[k]].patches != NULL;
        }
        if (open) out->open_rows += t->rows;
        else if (patched) out->patched_rows += t->rows;
    }
}

void dev_query_segment_stats(DevQuery *q, int32_t segment, SegmentStats *out) {
    static const char *const names[] = {NULL, "cached", "serial", "streamed", "mapped"};
    DSegment *s = &q->segs[segment];
    Err quiet = {0};
    if (s->from && s->to && s->stats.on_device &&
        q->d->ops->event_ns(q->d, s->from, s->to, &s->stats.kernel_ns, &quiet) != ST_OK)
        s->stats.kernel_ns = 0;
    if (!s->reason && s->p->source.kind == SRC_TABLE) {
        s->stats.residence = s->p->source.table->on_device ? "rows of bulks there" : names[s->residence];
        s->stats.bytes_read = (int64_t)(s->e.bytes_per_row * (double)s->list_rows);
    }
    static const char *const executors[] = {"compiled", "kernel", "pipelined"};
    s->stats.device = q->d->info.id;
    s->stats.executor = q->opt.device.interpreted ? "interpreted" : executors[q->opt.device.shape];
    s->stats.pipeline = pipe_note(q, segment, &s->stats.model_ns);
    s->stats.reason = s->reason;
    s->stats.detail = s->detail;
    out->device = s->stats;
    if (s->reason) return;
    out->workers = 1;
    out->tablets_skipped = s->skipped;
    out->rows_in = s->rows_in;
    if (s->rows_in > 0) count_forms(q, s, out);
    const DState *st = s->p->sink.kind == SINK_JOIN ? &q->joins[s->p->sink.id] : NULL;
    out->rows_out = st && st->first == st->last && !st->fixed ? stored_rows(q, st) : s->added;
}

char *dev_query_join_text(const DevQuery *q, int32_t join, Arena *a) {
    static const char *const forms[] = {"bitmap", "array of chains", "hash chains"};
    const DState *st = &q->joins[join];
    if (st->kind != SINK_JOIN || st->first < 0) return NULL;
    DevJoinForm form = q->ep->joins[join].form;
    if (form == DJ_BITMAP)
        return arena_printf(a, "%s of %lld values on %s", forms[form], (long long)q->ep->joins[join].dom,
                            q->d->info.id);
    return arena_printf(a, "%s, %lld rows on %s", forms[form], (long long)stored_rows(q, st), q->d->info.id);
}
char *dev_query_agg_text(const DevQuery *q, int32_t agg, Arena *a) {
    static const char *const forms[] = {"one group", "groups in local memory", "array of groups",
                                        "hash table of groups"};
    const DState *st = &q->aggs[agg];
    if (st->kind != SINK_AGG || st->first < 0) return NULL;
    return arena_printf(a, "%s, %lld records of %d bytes on %s", forms[q->ep->aggs[agg].form], (long long)st->count,
                        (int)q->ep->aggs[agg].stride, q->d->info.id);
}
