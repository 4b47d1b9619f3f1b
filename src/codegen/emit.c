/* emit.c - the emitter's plan: forms of registers and operator states, and what cannot run on a device.
 *
 * Segments are walked in execution order, so that everything a segment reads has been decided when it is reached. For
 * each register the walk finds out whether it can really be NULL (tablets without NULLs, inner joins: usually not) and
 * whether a string can stay a dictionary code. Row stores, build sides, group keys and sort columns take the form that
 * all segments feeding them share.
 *
 * A state is on one side: if one of the segments that feed it stays on the CPU, all of them do, and a segment that
 * reads a join, an aggregation or a sort of the CPU stays there as well (row stores can be copied, see
 * dev_query_rows_to_device).
 */
#include <math.h>

#include "codegen/emit_int.h"
#include "types/range_errors.h"

/* ---- columns of tables ---------------------------------------------------------------------- */
uint32_t dev_form(const TabletColumn *c, bool in_place) {
    if (in_place && c->stride && c->stride != phys_size((Phys)c->phys)) return DF_STRIDED + c->phys;
    if (c->encoding == ENC_STR) return in_place && c->is_delta ? DF_OPEN_STR : DF_STR;
    if (c->encoding == ENC_PLAIN) return DF_PLAIN + c->phys;
    switch (c->width) {
    case 0: return DF_FOR0;
    case 1: return DF_FOR1;
    case 2: return DF_FOR2;
    case 4: return DF_FOR4;
    case 8: return DF_FOR8;
    case 16: return DF_FOR16;
    case 24: return DF_FOR24;
    case 32: return DF_FOR32;
    default: return DF_FOR64;
    }
}

bool dev_patched(const TabletColumn *c, bool in_place) { return c->patches && (in_place || !c->stride); }

/* Memory that a row's value takes, or touches. */
static double form_bytes(uint32_t form, const TabletColumn *c, double width) {
    static const double bytes[] = {0, 0.125, 0.25, 0.5, 1, 2, 3, 4, 8};
    enum { LINE = 64 };
    if (form <= DF_FOR64) return bytes[form];
    if (form >= DF_STRIDED) return MIN_OF(c->stride, LINE) + (form == DF_STRIDED + PH_STR ? width : 0);
    if (form == DF_OPEN_STR) return (double)sizeof(Str) + width;
    return form == DF_STR ? 4 + width : (double)phys_size((Phys)(form - DF_PLAIN));
}

const TabCol *emit_table_col(EmitForms *f, const Table *t, int64_t col) {
    for (int64_t i = 0; i < f->cols.len; i++)
        if (f->cols.items[i].table == t && f->cols.items[i].col == col) return &f->cols.items[i];
    TabCol c = {.table = t, .col = (int32_t)col, .fits32 = true, .base0 = true};
    double bytes = 0, rows = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const Tablet *tab = t->tablets[i];
        if (tab->rows == 0) continue;
        const TabletColumn *tc = &tab->cols[col];
        uint32_t form = dev_form(tc, f->in_place);
        c.forms |= UINT64_C(1) << form;
        c.some_valid |= tc->validity != NULL;
        c.patched |= dev_patched(tc, f->in_place);
        c.cell_phys = tc->phys;
        c.base0 &= form > DF_FOR64 || tc->base == 0;
        bool in32 = tc->has_minmax ? tc->min >= INT32_MIN && tc->max <= INT32_MAX : tc->null_count == tab->rows;
        c.fits32 &= in32 && tc->encoding != ENC_STR && tc->phys <= PH_I64;
        bytes += (double)tab->rows * (form_bytes(form, tc, t->cols[col].stats.avg_width) + (tc->validity ? 0.125 : 0));
        rows += (double)tab->rows;
    }
    c.bytes = rows > 0 ? bytes / rows : 0;
    return vec_push(f->arena, &f->cols, c) ? &f->cols.items[f->cols.len - 1] : NULL;
}

/* ---- forms of registers ------------------------------------------------------------------------ */
typedef struct Planner {
    EmitPlan *ep;
    EmitForms *f;
    Arena *a;
    const QueryPlan *plan;
} Planner;

static void form_load(Planner *pl, const Program *p, const Instr *in, RegForm *d) {
    const DevCol *c = NULL;
    switch (p->source.kind) {
    case SRC_TABLE: {
        const TabCol *tc = emit_table_col(pl->f, p->source.table, in->imm);
        d->nullable = !tc || tc->some_valid;
        if (d->phys == PH_STR) d->dict = p->source.table->cols[in->imm].dict;
        return;
    }
    case SRC_ROWS: c = &pl->ep->rows[p->source.id].cols[in->imm]; break;
    case SRC_AGG: c = &pl->ep->aggs[p->source.id].cols[in->imm]; break;
    case SRC_JOIN: c = &pl->ep->joins[p->source.id].cols[in->imm]; break;
    default: return;
    }
    d->nullable = c->nullable;
    if (d->phys == PH_STR) d->dict = c->dict;
}

/* KEY_PACK gives NULL for values outside of its bits. */
static bool pack_can_miss(const Program *p, const KeyPack *k, const RegForm *r) {
    for (int32_t i = 0; i < k->n; i++) {
        const RegInfo *ri = &p->regs[k->args[i]];
        if (r[k->args[i]].nullable && !k->nullable[i]) return true;
        if (k->bits[i] >= 63) continue;
        int64_t max = (INT64_C(1) << k->bits[i]) - 1 - (k->nullable[i] ? 1 : 0);
        if (!ri->has_range || ri->min < k->base[i] || (int128_t)ri->max - k->base[i] > max) return true;
    }
    return false;
}

static const Dict *same_dict(const RegForm *a, const RegForm *b) { return a->dict == b->dict ? a->dict : NULL; }

static void form_instr(Planner *pl, const Program *p, int32_t pc, RegForm *r) {
    const Instr *in = &p->instrs[pc];
    if (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) {
        const ProbeSite *s = in->aux;
        if (in->dst && s->kind == PK_MARK && in->op == OP_PROBE)
            r[in->dst].nullable = pl->plan->joins[s->join].has_null_mark;
        else if (in->dst) r[in->dst].outer = s->kind == PK_LEFT || s->kind == PK_SINGLE;
        return;
    }
    if (!in->dst) return;
    RegForm *d = &r[in->dst];
    const RegForm *a = &r[in->a], *b = &r[in->b], *c = &r[in->c];
    switch ((Opcode)in->op) {
    case OP_LOAD:
    case OP_LOAD_CODE: form_load(pl, p, in, d); return;
    case OP_LOAD_BUILD: {
        const ProbeSite *s = p->instrs[p->regs[in->a].first].aux;
        const DevCol *col = &pl->ep->joins[s->join].cols[in->imm];
        d->nullable = col->nullable || a->outer;
        if (d->phys == PH_STR) d->dict = col->dict;
        return;
    }
    case OP_SELECT:
        d->nullable = b->nullable || c->nullable;
        if (d->phys == PH_STR) d->dict = same_dict(b, c);
        return;
    case OP_COALESCE:
        d->nullable = a->nullable && b->nullable;
        if (d->phys == PH_STR) d->dict = same_dict(a, b);
        return;
    case OP_NULLIF:
        d->nullable = true;
        d->dict = d->phys == PH_STR ? a->dict : NULL;
        return;
    case OP_IN_SET: d->nullable = a->nullable || ((const InSet *)in->aux)->has_null; return;
    case OP_CODE_MAP:
        d->nullable = a->nullable || ((const CodeMap *)in->aux)->valid || ((const CodeMap *)in->aux)->n == 0;
        return;
    case OP_DECODE:
        d->dict = ((const Dict *)in->aux)->n > 0 ? in->aux : NULL;
        d->nullable = a->nullable || !d->dict;
        return;
    case OP_KEY_PACK: d->nullable = pack_can_miss(p, in->aux, r); return;
    case OP_ENDIF: {
        int32_t el = pc; /* the ELSE that jumps here */
        while (el > 0 && !(p->instrs[el].op == OP_ELSE && p->instrs[el].jump == pc)) el--;
        d->nullable = a->nullable || r[p->instrs[el].a].nullable;
        if (d->phys == PH_STR) d->dict = same_dict(a, &r[p->instrs[el].a]);
        return;
    }
    case OP_PROBE_END: d->nullable = true; return;
    case OP_CALL: {
        const CallSite *s = in->aux;
        d->nullable = !s->strict;
        for (int32_t i = 0; i < s->n_args; i++) d->nullable |= r[s->args[i]].nullable;
        return;
    }
    default: break;
    }
    if (op_info[in->op].nulls == NV) d->nullable = false;
    else d->nullable = (in->a && a->nullable) || (in->b && b->nullable) || (in->c && c->nullable);
}

/* ---- forms of states ------------------------------------------------------------------------------ */
/* A stored column after one more register is to be stored there. */
static void feed(DevCol *c, bool first, const RegForm *r) {
    c->nullable |= r->nullable;
    if (c->phys != PH_STR && !(c->phys == PH_I32 && c->dict && r->phys == PH_STR)) return;
    if (r->phys != PH_STR) return;
    if (first && r->dict) {
        c->phys = PH_I32;
        c->dict = r->dict;
    } else if (c->dict != r->dict) {
        c->phys = PH_STR;
        c->dict = NULL;
    }
}
static void spec_cols(DevCol *c, const CellSpec *s, int32_t n, bool natural) {
    for (int32_t i = 0; i < n; i++)
        c[i] = (DevCol){
            .phys = s[i].phys, .type = s[i].type, .dict = s[i].phys == PH_I32 ? s[i].dict : NULL, .nullable = natural};
}
static void spec_key(DevCol *c, const KeySpec *k) {
    *c = (DevCol){.phys = k->phys, .type = k->type, .dict = k->phys == PH_I32 ? k->dict : NULL};
}

static void feed_sink(Planner *pl, const Program *p, const RegForm *r) {
    const Sink *s = &p->sink;
    EmitPlan *ep = pl->ep;
    switch (s->kind) {
    case SINK_ROWS: {
        DevRows *d = &ep->rows[s->id];
        for (int32_t i = 0; i < s->n_regs; i++) feed(&d->cols[i], !pl->f->rows_fed[s->id], &r[s->regs[i]]);
        pl->f->rows_fed[s->id] = true;
        break;
    }
    case SINK_JOIN: {
        DevJoin *d = &ep->joins[s->id];
        bool first = !pl->f->join_fed[s->id];
        for (int32_t i = 0; i < s->n_regs; i++) feed(&d->cols[i], first, &r[s->regs[i]]);
        const JoinSpec *js = &pl->plan->joins[s->id];
        for (int32_t i = 0; i < s->n_keys; i++) /* strings as strings: probes may come with other dictionaries */
            d->cols[s->n_regs + i].nullable |= r[s->keys[i]].nullable && (js->keys[i].null_equal || js->track_matched);
        pl->f->join_fed[s->id] = true;
        break;
    }
    case SINK_AGG: {
        DevAgg *d = &ep->aggs[s->id];
        AggForm *f = &pl->f->aggs[s->id];
        for (int32_t i = 0; i < s->n_keys; i++) feed(&d->cols[i], !f->fed, &r[s->keys[i]]);
        for (int32_t i = 0; i < s->n_regs; i++) {
            if (!s->regs[i]) continue;
            f->cells[i].null_in |= r[s->regs[i]].nullable;
            DevCol *c = &d->cols[s->n_keys + i];
            bool keep = c->nullable;
            feed(c, !f->fed, &r[s->regs[i]]);
            c->nullable = keep; /* decided by agg_form_cells */
        }
        f->fed = true;
        agg_form_cells(&pl->plan->aggs[s->id], f, d);
        break;
    }
    case SINK_SORT: {
        int32_t sort = pl->plan->rows[s->id].sort;
        DevSort *d = &ep->sorts[sort];
        bool first = !pl->f->sort_fed[sort];
        for (int32_t i = 0; i < s->n_regs; i++) feed(&d->cols[i], first, &r[s->regs[i]]);
        for (int32_t i = 0; i < s->n_keys; i++) {
            int32_t at = -1; /* a key that is also a column is stored once */
            for (int32_t k = 0; k < s->n_regs && at < 0; k++)
                if (s->regs[k] == s->keys[i]) at = k;
            int32_t own = s->n_regs + i;
            if (first) d->key_col[i] = at >= 0 ? at : own;
            else if (d->key_col[i] != at) d->key_col[i] = own;
            feed(&d->cols[own], first, &r[s->keys[i]]);
        }
        pl->f->sort_fed[sort] = true;
        memcpy(ep->rows[s->id].cols, d->cols, sizeof(DevCol) * (size_t)s->n_regs);
        break;
    }
    default: break;
    }
}

static Status make_states(Planner *pl) {
    const QueryPlan *plan = pl->plan;
    EmitPlan *ep = pl->ep;
    Arena *a = pl->a;
    ep->joins = arena_array(a, DevJoin, plan->n_joins + 1);
    ep->aggs = arena_array(a, DevAgg, plan->n_aggs + 1);
    ep->rows = arena_array(a, DevRows, plan->n_rows + 1);
    ep->sorts = arena_array(a, DevSort, plan->n_sorts + 1);
    ep->reasons = arena_array(a, const char *, plan->n_segments + 1);
    EmitForms *f = pl->f;
    f->segs = arena_array(a, SegForm, plan->n_segments + 1);
    f->aggs = arena_array(a, AggForm, plan->n_aggs + 1);
    f->join_fed = arena_array(a, bool, plan->n_joins + 1);
    f->rows_fed = arena_array(a, bool, plan->n_rows + 1);
    f->sort_fed = arena_array(a, bool, plan->n_sorts + 1);
    if (!ep->joins || !ep->aggs || !ep->rows || !ep->sorts || !ep->reasons || !f->segs || !f->aggs || !f->join_fed ||
        !f->rows_fed || !f->sort_fed)
        return ST_ERROR;
    for (int32_t i = 0; i < plan->n_joins; i++) {
        const JoinSpec *s = &plan->joins[i];
        DevJoin *d = &ep->joins[i];
        d->n_cols = s->n_payload + s->n_keys;
        d->cols = arena_array(a, DevCol, d->n_cols + 1);
        d->stored = arena_array(a, bool, d->n_cols + 1);
        if (!d->cols || !d->stored) return ST_ERROR;
        spec_cols(d->cols, s->payload, s->n_payload, false);
        for (int32_t k = 0; k < s->n_keys; k++) spec_key(&d->cols[s->n_payload + k], &s->keys[k]);
    }
    for (int32_t i = 0; i < plan->n_aggs; i++) {
        const AggSpec *s = &plan->aggs[i];
        DevAgg *d = &ep->aggs[i];
        AggForm *g = &f->aggs[i];
        d->cols = arena_array(a, DevCol, s->n_keys + s->n_aggs + 1);
        d->key_off = arena_array(a, int32_t, s->n_keys + 1);
        d->key_valid_off = arena_array(a, int32_t, s->n_keys + 1);
        d->key_min = arena_array(a, int64_t, s->n_keys + 1);
        d->key_extent = arena_array(a, int64_t, s->n_keys + 1);
        d->cell_off = arena_array(a, int32_t, s->n_aggs + 1);
        g->cells = arena_array(a, CellForm, s->n_aggs + 1);
        if (!d->cols || !d->key_off || !d->key_valid_off || !d->key_min || !d->key_extent || !d->cell_off || !g->cells)
            return ST_ERROR;
        for (int32_t k = 0; k < s->n_keys; k++) spec_key(&d->cols[k], &s->keys[k]);
        for (int32_t k = 0; k < s->n_aggs; k++)
            d->cols[s->n_keys + k] = (DevCol){.phys = s->aggs[k].out_phys, .type = s->aggs[k].type};
    }
    for (int32_t i = 0; i < plan->n_rows; i++) {
        DevRows *d = &ep->rows[i];
        d->n_cols = plan->rows[i].n_cols;
        if (!(d->cols = arena_array(a, DevCol, d->n_cols + 1))) return ST_ERROR;
        spec_cols(d->cols, plan->rows[i].cols, d->n_cols, false);
    }
    for (int32_t i = 0; i < plan->n_sorts; i++) {
        const SortSpec *s = &plan->sorts[i];
        DevSort *d = &ep->sorts[i];
        d->n_cols = s->n_cols + s->n_keys + 1;
        d->cols = arena_array(a, DevCol, d->n_cols + 1);
        d->key_col = arena_array(a, int32_t, s->n_keys + 1);
        d->stored = arena_array(a, bool, d->n_cols + 1);
        if (!d->cols || !d->key_col || !d->stored) return ST_ERROR;
        spec_cols(d->cols, s->cols, s->n_cols, false);
        for (int32_t k = 0; k < s->n_keys; k++) spec_key(&d->cols[s->n_cols + k], &s->keys[k].key);
        d->cols[s->n_cols + s->n_keys] = (DevCol){.phys = PH_I64, .type = type_make(T_INT8)};
        d->seq_col = s->n_cols + s->n_keys;
    }
    return ST_OK;
}

/* ---- reasons ------------------------------------------------------------------------------------------ */
static const char *state_reason(Planner *pl, const char *what, int32_t id, const char *why) {
    const char *s = arena_printf(pl->a, "%s #%d: %s", what, (int)id, why);
    return s ? s : why;
}

static const char *agg_reason(Planner *pl, const AggSpec *s, const Sink *sink, const RegForm *r) {
    for (int32_t i = 0; i < s->n_aggs; i++) {
        const AggCell *c = &s->aggs[i];
        bool wide = c->in_phys == PH_I128 || c->in_phys == PH_INTERVAL || c->in_phys == PH_UUID || c->in_phys == PH_STR;
        const Dict *dict = r[sink->regs[i]].dict;
        if (wide && dict && dict->n_sorted == dict->n && !pl->f->aggs[sink->id].fed)
            wide = false; /* codes in the order of their strings */
        if (c->op == AO_VAR || c->op == AO_VAR_EXACT) return "variance";
        if (c->op == AO_STRING_AGG) return "string_agg";
        if (c->op == AO_SUM_DEC) return "sum of numeric without (p,s)";
        if (c->op == AO_REGR) return "regression";
        if (c->op == AO_BIT_XOR) return "bit_xor";
        if ((c->op == AO_BIT_AND || c->op == AO_BIT_OR) && c->in_phys == PH_STR)
            return c->op == AO_BIT_AND ? "bit_and of bit strings" : "bit_or of bit strings";
        if (c->op == AO_CLIENT) return "an aggregate of the client";
        if ((c->op == AO_MIN || c->op == AO_MAX) && wide) {
            const char *t =
                arena_printf(pl->a, "%s over %s", c->op == AO_MIN ? "min" : "max", type_base_name((TypeId)c->type.id));
            return t ? t : "min or max";
        }
    }
    return NULL;
}

static const char *segment_reason(Planner *pl, const Program *p, const RegForm *r) {
    if (p->source.kind == SRC_STREAM) return "rows from outside the database are read on the cpu";
    const EmitPlan *ep = pl->ep;
    const Source *src = &p->source;
    if (src->kind == SRC_AGG && ep->aggs[src->id].reason)
        return state_reason(pl, "aggregation", src->id, ep->aggs[src->id].reason);
    if (src->kind == SRC_JOIN && ep->joins[src->id].reason)
        return state_reason(pl, "join", src->id, ep->joins[src->id].reason);
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) {
            int32_t j = ((const ProbeSite *)in->aux)->join;
            if (ep->joins[j].reason) return state_reason(pl, "join", j, ep->joins[j].reason);
        }
        const char *why = expr_reason(ep, p, in, r, pl->a);
        if (why) return why;
    }
    if (p->sink.kind == SINK_WINDOW) return "window functions have no device form";
    if (p->sink.kind == SINK_AGG) {
        const char *why = agg_reason(pl, &pl->plan->aggs[p->sink.id], &p->sink, r);
        if (why) return state_reason(pl, "aggregation", p->sink.id, why);
    }
    return NULL;
}

static const char **sink_reason(Planner *pl, const Sink *s) {
    switch (s->kind) {
    case SINK_JOIN: return &pl->ep->joins[s->id].reason;
    case SINK_AGG: return &pl->ep->aggs[s->id].reason;
    case SINK_WINDOW:
    case SINK_ROWS: return &pl->ep->rows[s->id].reason;
    case SINK_SORT: return &pl->ep->sorts[pl->plan->rows[s->id].sort].reason;
    default: return NULL;
    }
}

/* A row store that the CPU fills has the form of its specification. */
static void close_host_rows(Planner *pl, const Program *p) {
    if (p->sink.kind != SINK_ROWS && p->sink.kind != SINK_SORT && p->sink.kind != SINK_WINDOW) return;
    DevRows *d = &pl->ep->rows[p->sink.id];
    spec_cols(d->cols, pl->plan->rows[p->sink.id].cols, d->n_cols, true);
}

/* ---- forms of joins and aggregations --------------------------------------------------------------------- */
static bool small_int(uint8_t phys) { return phys <= PH_I64; }

static void choose_join(Planner *pl, int32_t id, bool host_reads) {
    const JoinSpec *s = &pl->plan->joins[id];
    DevJoin *d = &pl->ep->joins[id];
    const EmitTarget *t = &pl->ep->target;
    d->form = DJ_HASH;
    if (s->n_keys == 1 && small_int(s->keys[0].phys) && (s->keys[0].has_range || s->keys[0].phys == PH_BOOL)) {
        int64_t min = s->keys[0].phys == PH_BOOL ? 0 : s->keys[0].min,
                max = s->keys[0].phys == PH_BOOL ? 1 : s->keys[0].max;
        int128_t dom = max >= min ? (int128_t)max - min + 1 : 1;
        if (dom < (INT64_C(1) << 31) - 1) {
            d->min = min;
            d->dom = (int64_t)dom;
            double limit = 4e6 + 512 * (isfinite(s->est_rows) ? s->est_rows : 0);
            if (s->exists_only && !s->track_matched && !host_reads && d->dom / 8 + 8 <= t->direct_bytes &&
                (double)d->dom / 32 <= limit)
                d->form = DJ_BITMAP;
            else if ((d->dom + 1) * 4 <= t->direct_bytes && (double)d->dom <= limit) d->form = DJ_DIRECT;
        }
    }
    for (int32_t i = 0; i < s->n_keys; i++)
        if (d->form == DJ_HASH || host_reads) d->stored[s->n_payload + i] = true;
    for (int32_t i = 0; i < s->n_payload; i++)
        if (host_reads) d->stored[i] = true;
}

static void mark_loads(Planner *pl, const Program *p) {
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_LOAD && p->source.kind == SRC_JOIN) pl->ep->joins[p->source.id].stored[in->imm] = true;
        if (in->op == OP_LOAD_BUILD)
            pl->ep->joins[((const ProbeSite *)p->instrs[p->regs[in->a].first].aux)->join].stored[in->imm] = true;
    }
}

static bool join_read_by(const Program *p, int32_t join) {
    if (p->source.kind == SRC_JOIN && p->source.id == join) return true;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if ((in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) && ((const ProbeSite *)in->aux)->join == join) return true;
    }
    return false;
}

/* Extents are in the kernel's text. Those of tables that grow have room, an eighth at most, so that the text stays the
 * same for some time. */
static int128_t room_for(int128_t values) {
    enum { EXACT = 64, PARTS = 8 };
    int64_t part = 1;
    if (values < EXACT || values > INT32_MAX) return values;
    while (part * 2 * PARTS <= (int64_t)values) part *= 2;
    return ((int64_t)values + part - 1) / part * part;
}
static void choose_agg(Planner *pl, int32_t id) {
    const AggSpec *s = &pl->plan->aggs[id];
    DevAgg *d = &pl->ep->aggs[id];
    AggForm *f = &pl->f->aggs[id];
    const EmitTarget *t = &pl->ep->target;
    d->form = s->n_keys == 0 ? DA_ONE : DA_HASH;
    d->n_slots = 1;
    bool single = false, direct = s->n_keys > 0;
    int32_t words = 1;
    for (int32_t i = 0; i < s->n_aggs; i++) {
        single |= f->cells[i].kind == CK_SINGLE;
        words += f->cells[i].words;
    }
    int128_t slots = 1;
    for (int32_t i = 0; i < s->n_keys && direct; i++) {
        const KeySpec *k = &s->keys[i];
        const DevCol *c = &d->cols[i];
        int64_t min = k->min, max = k->max;
        if (c->dict) {
            min = 0;
            max = MAX_OF((int64_t)c->dict->n - 1, 0);
        } else if (c->phys == PH_BOOL) {
            min = 0;
            max = 1;
        } else if (!small_int(c->phys) || !k->has_range || max < min) {
            direct = false;
            break;
        }
        int128_t ext = room_for((int128_t)max - min + 1) + (c->nullable ? 1 : 0);
        slots *= ext;
        if (slots > INT32_MAX) direct = false;
        d->key_min[i] = min;
        d->key_extent[i] = direct ? (int64_t)ext : 0;
    }
    double limit = 65536 + 8 * (isfinite(s->est_groups) ? s->est_groups
                                                        : 0); /* clearing and reading records that stay empty costs */
    if (direct) {
        int64_t n = (int64_t)slots;
        if (!single && n <= 1024 && n * words * 8 <= t->local_bytes) d->form = DA_LOCAL;
        else if (n * (16 + words * 8) <= t->direct_bytes && (double)n <= limit) d->form = DA_DIRECT;
        if (d->form != DA_HASH) d->n_slots = n;
    }
    /* The record. */
    int32_t off = 4 + 4 * d->n_seen_words, align = 8;
    for (int32_t i = 0; i < s->n_keys; i++) {
        d->key_off[i] = d->key_valid_off[i] = -1;
        if (d->form != DA_HASH) continue;
        int32_t size = (int32_t)phys_size((Phys)d->cols[i].phys);
        if (size == 16) align = 16;
        off = (int32_t)align_up(off, size);
        d->key_off[i] = off;
        off += size;
    }
    for (int32_t i = 0; i < s->n_keys && d->form == DA_HASH; i++)
        if (d->cols[i].nullable) d->key_valid_off[i] = off++;
    for (int32_t i = 0; i < s->n_aggs; i++) {
        bool cell = (f->cells[i].kind == CK_FIRST || f->cells[i].kind == CK_SINGLE) &&
                    phys_size((Phys)f->cells[i].in_phys) == 16;
        if (cell) align = 16;
        off = (int32_t)align_up(off, cell ? 16 : 8);
        d->cell_off[i] = off;
        off += 8 * f->cells[i].words;
    }
    d->stride = (int32_t)align_up(off, align);
}

/* ---- the plan ------------------------------------------------------------------------------------------------ */
bool emit_is_identity(const EmitPlan *ep, const Program *p) {
    const Source *s = &p->source;
    if (p->sink.kind != SINK_ROWS || p->sink.limit >= 0 || chan_reads(ep, p) || chan_writes(ep, p)) return false;
    bool dense = s->kind == SRC_ONE || s->kind == SRC_SERIES || s->kind == SRC_ROWS ||
                 (s->kind == SRC_AGG && ep->plan->aggs[s->id].one_group);
    if (!dense) return false;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (!(op_info[in->op].flags & F_ROWS) || in->op == OP_PROBE_END) continue;
        if ((in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) && probe_keeps_rows(((const ProbeSite *)in->aux)->kind))
            continue;
        return false;
    }
    return true;
}

static void choose_seq(Planner *pl) {
    EmitPlan *ep = pl->ep;
    for (int32_t r = 0; r < pl->plan->n_rows; r++) {
        if (!pl->plan->rows[r].ordered || pl->plan->rows[r].sort >= 0) continue;
        int32_t feeders = 0;
        bool any_order = false, identity = true;
        for (int32_t i = 0; i < pl->plan->n_segments; i++) {
            const Program *p = pl->plan->segments[i].program;
            if (p->sink.kind != SINK_ROWS || p->sink.id != r) continue;
            feeders++;
            any_order |= p->source.kind == SRC_TABLE || p->source.kind == SRC_ROWS || p->source.kind == SRC_SERIES;
            identity &= emit_is_identity(ep, p);
        }
        ep->rows[r].has_seq = feeders > 0 && !(feeders == 1 && (identity || !any_order));
    }
}

static Status plan_segments(Planner *pl, Err *e) {
    EmitPlan *ep = pl->ep;
    for (int32_t i = 0; i < pl->plan->n_segments; i++) {
        const Program *p = pl->plan->segments[i].program;
        SegForm *sf = &pl->f->segs[i];
        if (!(sf->regs = arena_array(pl->a, RegForm, p->n_regs + 1))) return ST_ERROR;
        if (p->source.kind == SRC_AGG && !pl->f->aggs[p->source.id].fed)
            return err_internal(e, "segment %d reads an aggregation that is not filled", (int)i);
        for (Reg r = 1; r < p->n_regs; r++)
            sf->regs[r] =
                (RegForm){.phys = p->regs[r].phys, .nullable = p->regs[r].is_const && p->regs[r].value.is_null};
        for (int32_t pc = 0; pc < p->n_instrs; pc++) form_instr(pl, p, pc, sf->regs);
        const char *why = ep->reasons[i] = segment_reason(pl, p, sf->regs);
        const char **sink = sink_reason(pl, &p->sink);
        if (why && sink && !*sink) {
            const char *s = arena_printf(pl->a, "filled on the cpu (%s)", why);
            *sink = s ? s : why;
        }
        feed_sink(pl, p, sf->regs);
        if (sink && *sink) close_host_rows(pl, p);
        mark_loads(pl, p);
    }
    for (int32_t i = 0; i < pl->plan->n_segments; i++) { /* all or none of a state's segments */
        const char **sink = sink_reason(pl, &pl->plan->segments[i].program->sink);
        if (sink && *sink && !ep->reasons[i]) ep->reasons[i] = *sink;
    }
    return ST_OK;
}

EmitTarget emit_target(const DeviceInfo *i) {
    return (EmitTarget){.native_threads = i->native_threads,
                        .warp_functions = i->warp_functions,
                        .constant_memory = i->constant_memory,
                        .whole_params = i->whole_params,
                        .in_place = i->shares_memory};
}
static_assert(sizeof(EmitTarget) == 40, "every field is compared");
bool emit_target_same(const EmitTarget *a, const EmitTarget *b) {
    return a->native_threads == b->native_threads && a->warp_functions == b->warp_functions &&
           a->constant_memory == b->constant_memory && a->whole_params == b->whole_params &&
           a->in_place == b->in_place && a->group_size == b->group_size && a->tile_rows == b->tile_rows &&
           a->local_bytes == b->local_bytes && a->units == b->units && a->direct_bytes == b->direct_bytes &&
           a->host_lists == b->host_lists && a->result_cache == b->result_cache;
}

Status emit_plan(const QueryPlan *plan, const EmitTarget *target, Arena *a, EmitPlan **out, Err *e) {
    EmitPlan *ep = arena_new_of(a, EmitPlan);
    EmitForms *f = arena_new_of(a, EmitForms);
    if (!ep || !f) return err_is_set(e) ? ST_ERROR : err_oom(e);
    *ep = (EmitPlan){.plan = plan, .target = *target, .forms = f};
    f->arena = a;
    f->in_place = target->in_place;
    if (target->tile_rows <= 0 || (target->tile_rows & (target->tile_rows - 1)) || target->tile_rows > TABLET_ROWS)
        return err_internal(e, "tile of %d rows", (int)target->tile_rows);
    Planner pl = {ep, f, a, plan};
    if (make_states(&pl) != ST_OK || plan_segments(&pl, e) != ST_OK) return err_is_set(e) ? ST_ERROR : err_oom(e);
    for (int32_t i = 0; i < plan->n_joins; i++) {
        bool host_reads = false;
        for (int32_t k = 0; k < plan->n_segments; k++)
            host_reads |= ep->reasons[k] && join_read_by(plan->segments[k].program, i);
        choose_join(&pl, i, host_reads);
    }
    for (int32_t i = 0; i < plan->n_aggs; i++) choose_agg(&pl, i);
    for (int32_t i = 0; i < plan->n_sorts; i++) {
        DevSort *d = &ep->sorts[i];
        for (int32_t c = 0; c < plan->sorts[i].n_cols; c++) d->stored[c] = true;
        for (int32_t k = 0; k < plan->sorts[i].n_keys; k++) d->stored[d->key_col[k]] = true;
        d->stored[d->seq_col] = true;
    }
    choose_seq(&pl);
    *out = ep;
    return ST_OK;
}

/* ---- errors
 * ---------------------------------------------------------------------------------------------------------- */
static Status range_error(Err *e, uint8_t phys) {
    static const char *const text[PH_COUNT_] = {
        [PH_BOOL] = "value out of range",         [PH_I16] = "smallint out of range",
        [PH_I32] = "integer out of range",        [PH_I64] = "bigint out of range",
        [PH_I128] = "numeric field overflow",     [PH_F32] = "value out of range: overflow",
        [PH_F64] = "value out of range: overflow"};
    return err_set(e, ERR_NUMERIC_RANGE, "%s", phys < PH_COUNT_ && text[phys] ? text[phys] : "value out of range");
}

Status emit_error(const EmitPlan *ep, int32_t segment, uint64_t word, Err *e) {
    return emit_data_error(ep->plan->segments[segment].program, segment, word, e);
}
Status emit_data_error(const Program *p, int32_t segment, uint64_t word, Err *e) {
    int64_t pc = (int64_t)(word >> 8) - 1;
    const Instr *in = pc >= 0 && pc < p->n_instrs ? &p->instrs[pc] : NULL;
    switch (word & 0xff) {
    case KE_RANGE: return range_error(e, in ? p->regs[in->dst].phys : PH_I64);
    case KE_ZERO_DIV: return err_set(e, ERR_DIVISION_BY_ZERO, "division by zero");
    case KE_UNDERFLOW: return err_set(e, ERR_NUMERIC_RANGE, "value out of range: underflow");
    case KE_NUMERIC: {
        int prec = in ? NUM_IMM_PREC(in->imm) : 0;
        return numeric_range_error(e, prec < NUMERIC_MAX_PRECISION ? prec : 0, in ? NUM_IMM_TO(in->imm) : 0);
    }
    case RK_NUMERIC38: return err_set(e, ERR_NUMERIC_RANGE, "numeric field overflow");
    case RK_BIGINT: return err_set(e, ERR_NUMERIC_RANGE, "bigint out of range");
    case RK_SUBSTRING: return err_set(e, ERR_SUBSTRING, "negative substring length not allowed");
    case KE_NAN: return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "cannot convert NaN to numeric");
    case KE_INFINITY: return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "cannot convert infinity to numeric");
    case RK_CARDINALITY:
        return err_set(e, ERR_CARDINALITY, "more than one row returned by a subquery used as an expression");
    default:
        return err_internal(e, "segment %d, instruction %lld: device error %d", (int)segment, (long long)pc,
                            (int)(word & 0xff));
    }
}
