/* dev_param.c - from a recipe to parameter values.
 *
 * Most parameters never change while a query runs: values that follow from the plan, and addresses of plan-time data.
 * They are found once; the data (constants' strings, masks, maps, sets, patterns, lists of tablets, of all segments
 * together) go into one buffer and to the device in one copy. What remains is filled in before each launch from the
 * operator states.
 */
#include "exec/device/dev_int.h"

/* LATE: follows from operator states, before each launch. FIXED: known. DATA: the offset of data in the buffer is
 * known. CONTROL: the same of the control block. DICT: the address of a dictionary. */
enum { HOW_LATE, HOW_FIXED, HOW_DATA, HOW_CONTROL, HOW_DICT };

static int64_t put_bytes(DevQuery *q, ConstBuf *b, const void *p, int64_t n) {
    int64_t at = align_up(b->n, 16), need = at + n + 16; /* kernels may read whole words */
    if (need > b->cap) {
        int64_t cap = MAX_OF(need, MAX_OF(b->cap * 2, INT64_C(4096)));
        uint8_t *grown = arena_calloc(q->code_arena, cap);
        if (!grown) return -1;
        if (b->n) memcpy(grown, b->bytes, (size_t)b->n);
        b->bytes = grown;
        b->cap = cap;
    }
    if (n && p) memcpy(b->bytes + at, p, (size_t)n);
    b->n = need;
    return at;
}

/* The parameter's data, with offsets in place of addresses, and the way back of its strings. -1: no memory. */
static int64_t put_data(DevQuery *q, ConstBuf *b, const Program *prog, const EmitParam *p) {
    const int64_t bytes = emit_param_data(prog, p, 0, NULL), at = put_bytes(q, b, NULL, bytes);
    if (at < 0) return -1;
    (void)emit_param_data(prog, p, (uint64_t)at, b->bytes + at);
    const Str *strings;
    const int64_t n = emit_param_strings(prog, p, &strings);
    for (int64_t i = 0; i < n; i++) {
        uint64_t cell[2] = {(uint64_t)at, (uint64_t)bytes};
        const int64_t place = at + i * EMIT_STR_BYTES;
        if (p->kind != KP_CONST) {
            memcpy(cell, b->bytes + place, sizeof cell);
            if (!vec_push(q->code_arena, &b->fixups, place)) return -1;
        }
        const HostRange r = {.base = cell[0], .bytes = (int64_t)cell[1], .host = strings[i].ptr};
        if (r.bytes > 0 && !vec_push(q->code_arena, &b->ranges, r)) return -1;
    }
    return at;
}

/* The HostScanFn: `scan` is the program. Its table is locked while the query runs. */
static uint32_t host_scan(uint64_t scan, uint32_t tablet, uint32_t first, uint32_t n, int32_t *out) {
    const Program *p = (const Program *)(uintptr_t)scan;
    const Tablet *t = p->source.table->tablets[tablet];
    bool all = true;
    int64_t m = tablet_live_rows(t, first, n, out, &all);
    const int32_t *pos = all ? NULL : out;
    for (int32_t i = 0; i < p->n_instrs && m > 0; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_FILTER_RANGE) {
            const RangeTest *r = in->aux;
            m = tablet_filter_range(t, (int)in->imm, first, pos, m, r->lo, r->hi, r->negate, out);
        } else if (in->op == OP_FILTER_CODES) {
            const CodeMask *c = in->aux;
            m = tablet_filter_codes(t, (int)in->imm, first, pos, m, c->mask, c->n, out);
        } else {
            break;
        }
        pos = out;
    }
    for (int64_t i = 0; !pos && i < m; i++) out[i] = (int32_t)(first + i);
    return (uint32_t)m;
}

static Status prepare_one(DevQuery *q, DSegment *s, int32_t segment, int32_t i, ConstBuf *b, Err *e) {
    const EmitParam *p = &s->e.params[i];
    s->how[i] = HOW_FIXED;
    if (p->kind == KP_ERR) {
        s->how[i] = HOW_CONTROL;
        s->given[i] = (uint64_t)segment * 16;
        return ST_OK;
    }
    if (emit_param_value(q->ep, segment, p, &s->given[i])) return ST_OK;
    int64_t at = -1;
    switch (p->kind) {
    case KP_DICT_OFFSETS:
    case KP_DICT_BYTES: s->how[i] = HOW_DICT; return ST_OK;
    case KP_HOST_SCAN_FN: s->given[i] = (uint64_t)(uintptr_t)host_scan; return ST_OK;
    case KP_HOST_SCAN: s->given[i] = (uint64_t)(uintptr_t)s->p; return ST_OK;
    case KP_CODE: at = put_bytes(q, b, s->e.code, s->e.code_bytes); break;
    default: {
        const int64_t bytes = emit_param_data(s->p, p, 0, NULL);
        s->given[i] = 0;
        if (bytes < 0) s->how[i] = HOW_LATE;
        if (bytes < 0 || (bytes == 0 && p->kind == KP_MAP_VALID)) return ST_OK; /* it has no NULLs */
        at = put_data(q, b, s->p, p);
    }
    }
    if (at < 0) return err_oom(e);
    s->how[i] = HOW_DATA;
    s->given[i] = (uint64_t)at;
    return ST_OK;
}

Status params_plan(DevQuery *q, Err *e) {
    ConstBuf b = {0};
    for (int32_t i = 0; i < q->n; i++) {
        DSegment *s = &q->segs[i];
        if (s->reason) continue;
        s->given = arena_array(q->code_arena, uint64_t, s->e.n_params + 1);
        s->how = arena_array(q->code_arena, uint8_t, s->e.n_params + 1);
        if (!s->given || !s->how) return err_oom(e);
        for (int32_t k = 0; k < s->e.n_params; k++) TRY(prepare_one(q, s, i, k, &b, e));
        if (s->p->source.kind != SRC_TABLE) continue;
        s->list_at = put_bytes(q, &b, s->list, s->n_list * 4);
        if (s->list_at < 0) return err_oom(e);
    }
    q->buf = b;
    return ST_OK;
}

/* ---- at the query's start --------------------------------------------------------------------------------- */
static void fix(const ConstBuf *b, void *bytes, DevPtr at) {
    for (int64_t i = 0; i < b->fixups.len; i++) {
        uint64_t v;
        memcpy(&v, (char *)bytes + b->fixups.items[i], 8);
        v += at;
        memcpy((char *)bytes + b->fixups.items[i], &v, 8);
    }
}

static Status upload(DevQuery *q, const ConstBuf *b, Err *e) {
    TRY(query_mem_get(q, b->n + 64, &q->consts, e));
    int64_t used = (WORDS + q->control_words) * 8;
    if (used + b->n <= q->lane->words.bytes) {
        char *staging = (char *)q->lane->words.p + used;
        memcpy(staging, b->bytes, (size_t)b->n);
        fix(b, staging, q->consts.p);
        q->busy = true;
        return q->d->ops->copy_in(q->lane->queue, q->consts.p, staging, b->n, e);
    }
    char *copy = arena_alloc(q->arena, b->n);
    if (!copy) return err_oom(e);
    memcpy(copy, b->bytes, (size_t)b->n);
    fix(b, copy, q->consts.p);
    Upload u = {.from = copy, .bytes = b->n};
    return query_upload(q, q->consts.p, &u, 1, e);
}

static Status fill_given(DevQuery *q, DSegment *s, Err *e) {
    s->values = arena_alloc(q->arena, (s->e.n_params + 1) * 8);
    if (!s->values) return err_oom(e);
    for (int32_t k = 0; k < s->e.n_params; k++) {
        const EmitParam *p = &s->e.params[k];
        uint64_t v = s->given[k];
        switch (s->how[k]) {
        case HOW_DATA: v += q->consts.p; break;
        case HOW_CONTROL: v += q->control.p; break;
        case HOW_DICT: {
            const ResDict *d;
            TRY(res_dict(q, p->dict, &d, e));
            v = p->kind == KP_DICT_OFFSETS ? d->offsets : d->bytes;
            break;
        }
        default: break;
        }
        s->values[k] = v;
    }
    return ST_OK;
}

Status params_prepare(DevQuery *q, Err *e) {
    const ConstBuf *b = &q->buf;
    if (b->n > 0) TRY(upload(q, b, e));
    for (int64_t i = 0; i < b->ranges.len; i++) {
        HostRange r = b->ranges.items[i];
        r.base += q->consts.p;
        if (!vec_push(q->arena, &q->ranges, r)) return err_oom(e);
    }
    for (int32_t i = 0; i < q->n; i++)
        if (!q->segs[i].reason) TRY(fill_given(q, &q->segs[i], e));
    return ST_OK;
}

/* ---- before a launch ------------------------------------------------------------------------------------ */
static int64_t tiles(const DevQuery *q, const DSegment *s, int64_t rows) {
    int64_t tile = q->ep->target.tile_rows;
    if (s->p->source.kind == SRC_TABLE) return s->n_list * (TABLET_ROWS / tile);
    return (rows + tile - 1) / tile;
}

/* Rows with sequence numbers are written to one place and read, in order, from another. */
static const DState *rows_of(DevQuery *q, const DSegment *s, int32_t id) {
    const Sink *sink = &s->p->sink;
    return sink->kind == SINK_ROWS && sink->id == id ? sink_state(q, sink) : &q->rows[id];
}

static Status late_value(DevQuery *q, const DSegment *s, const EmitParam *p, uint64_t *out, Err *e) {
    const Source *src = &s->p->source;
    const DState *sink = sink_state(q, &s->p->sink);
    switch (p->kind) {
    case KP_SRC_FIRST: {
        bool slice = src->kind == SRC_ROWS && q->plan->rows[src->id].sort < 0;
        *out = slice ? (uint64_t)q->plan->rows[src->id].offset : 0;
        return ST_OK;
    }
    case KP_SRC_ROWS: *out = (uint64_t)source_rows(q, s); return ST_OK;
    case KP_SRC_TILES: *out = (uint64_t)tiles(q, s, source_rows(q, s)); return ST_OK;
    case KP_TABLETS: *out = s->tablets; return ST_OK;
    case KP_TABLET_LIST: *out = q->consts.p + (uint64_t)s->list_at; return ST_OK;
    case KP_COLUMN:
        for (int32_t i = 0; i < s->e.n_tables_cols; i++)
            if (s->e.table_cols[i] == p->col) {
                *out = s->columns[i];
                return ST_OK;
            }
        return err_internal(e, "column %d is not among those the segment reads", (int)p->col);
    case KP_ROWS_DATA: *out = rows_of(q, s, p->id)->data[p->col]; return ST_OK;
    case KP_ROWS_VALID: *out = rows_of(q, s, p->id)->valid[p->col]; return ST_OK;
    case KP_JOIN_DATA: *out = q->joins[p->id].data[p->col]; return ST_OK;
    case KP_JOIN_VALID: *out = q->joins[p->id].valid[p->col]; return ST_OK;
    case KP_JOIN_HEAD: *out = q->joins[p->id].head.p; return ST_OK;
    case KP_JOIN_NEXT: *out = q->joins[p->id].next; return ST_OK;
    case KP_JOIN_MASK: *out = (uint64_t)q->joins[p->id].mask; return ST_OK;
    case KP_JOIN_FLAGS: *out = q->joins[p->id].flags; return ST_OK;
    case KP_JOIN_MATCHED: *out = q->joins[p->id].matched; return ST_OK;
    case KP_JOIN_ROWS: *out = (uint64_t)q->joins[p->id].count; return ST_OK;
    case KP_AGG_RECORDS: *out = q->aggs[p->id].mem.p; return ST_OK;
    case KP_AGG_SLOTS: *out = q->aggs[p->id].head.p; return ST_OK;
    case KP_AGG_MASK: *out = (uint64_t)q->aggs[p->id].mask; return ST_OK;
    case KP_AGG_COUNT: *out = q->aggs[p->id].counter; return ST_OK;
    case KP_AGG_CAP: *out = (uint64_t)q->aggs[p->id].cap; return ST_OK;
    case KP_OUT_COUNT: *out = sink ? sink->counter : 0; return ST_OK;
    case KP_OUT_CAP: *out = sink ? (uint64_t)sink->cap : 0; return ST_OK;
    case KP_CHAN_IN:
    case KP_CHAN_OUT: *out = pipe_channel(q, p->id); return ST_OK;
    case KP_CHAN_TILE: *out = 0; return ST_OK; /* set by rounds */
    case KP_OUT_BASE: *out = (uint64_t)s->base; return ST_OK;
    case KP_SORT_DATA: *out = q->sorts[p->id].data[p->col]; return ST_OK;
    case KP_SORT_VALID: *out = q->sorts[p->id].valid[p->col]; return ST_OK;
    case KP_SORT_A:
    case KP_SORT_B:
    case KP_SORT_N:
    case KP_SORT_WIDTH:
    case KP_SORT_FIRST:
    case KP_SORT_TAKE:
        *out = 0; /* set while sorting */
        return ST_OK;
    default: return err_internal(e, "parameter kind %d", (int)p->kind);
    }
}

Status params_fill(DevQuery *q, DSegment *s, Err *e) {
    for (int32_t i = 0; i < s->e.n_params; i++)
        if (s->how[i] == HOW_LATE) TRY(late_value(q, s, &s->e.params[i], &s->values[i], e));
    return ST_OK;
}
void params_set(DSegment *s, uint16_t kind, uint64_t v) {
    for (int32_t i = 0; i < s->e.n_params; i++)
        if (s->e.params[i].kind == kind) s->values[i] = v;
}
