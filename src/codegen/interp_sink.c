/* interp_sink.c - tables of the device interpreter's sinks, and of the kernels that finish a join or a sort. */
#include "codegen/interp_int.h"

static void put_words(Bc *b, const uint32_t *w, uint32_t n) {
    uint32_t at = bc_table(b, n);
    if (!b->oom) memcpy(&TABLE(b, at), w, n * sizeof *w);
}

/* ---- columns that are appended to ------------------------------------------------------------------------- */
typedef struct ColumnOut {
    Reg reg;
    const DevCol *c;
    ParamKind data, valid;
    int32_t id, col;
} ColumnOut;

/* Operands first, since loading them writes instructions; then the table. */
static uint32_t put_columns(Bc *b, const ColumnOut *out, int32_t n) {
    uint32_t at = bc_table(b, BO_WORDS * (uint32_t)n);
    for (int32_t i = 0; i < n; i++) {
        const DevCol *c = out[i].c;
        bool text = c->phys == PH_STR;
        uint32_t w[BO_WORDS] = {[BO_REG] = bc_use(b, out[i].reg, text, b->pc),
                                [BO_FROM] = text ? PH_STR : var_phys(&b->regs[out[i].reg]),
                                [BO_TO] = c->phys,
                                [BO_DATA] = BC_PARAM(b, out[i].data, out[i].id, out[i].col),
                                [BO_VALID] = c->nullable ? BC_PARAM(b, out[i].valid, out[i].id, out[i].col) : BC_NO};
        if (b->oom) break;
        memcpy(&TABLE(b, at + BO_WORDS * (uint32_t)i), w, sizeof w);
    }
    return at;
}

static uint32_t sink_table(Bc *b, uint32_t kind) {
    uint32_t w[BS_WORDS] = {[BS_KIND] = kind, [BS_BASE] = BC_NO, [BS_SEQ] = BC_NO};
    uint32_t at = (uint32_t)(BH_WORDS + b->table.len);
    put_words(b, w, BS_WORDS);
    b->head[BH_SINK] = at;
    return at;
}

static void sink_columns(Bc *b, uint32_t s, const ColumnOut *cols, int32_t n) {
    int32_t id = b->prog->sink.id;
    uint32_t at = put_columns(b, cols, n), count = BC_PARAM(b, KP_OUT_COUNT, id, 0),
             cap = BC_PARAM(b, KP_OUT_CAP, id, 0);
    if (b->oom) return;
    TABLE(b, s + BS_COLS) = at;
    TABLE(b, s + BS_N_COLS) = (uint32_t)n;
    TABLE(b, s + BS_COUNT) = count;
    TABLE(b, s + BS_CAP) = cap;
}
static void sink_sequence(Bc *b, uint32_t s, ParamKind kind, int32_t id, int32_t col) {
    uint32_t data = BC_PARAM(b, kind, id, col), base = BC_PARAM(b, KP_SEQ_BASE, 0, 0);
    if (b->oom) return;
    TABLE(b, s + BS_SEQ) = data;
    TABLE(b, s + BS_SEQ_BASE) = base;
}

static void sink_rows(Bc *b) {
    const Sink *k = &b->prog->sink;
    const DevRows *d = &b->ep->rows[k->id];
    ColumnOut *cols = arena_array(b->arena, ColumnOut, k->n_regs + 1);
    uint32_t s = sink_table(b, SINK_ROWS);
    if (!cols || b->oom) {
        b->oom = true;
        return;
    }
    int32_t n = 0;
    for (int32_t i = 0; i < k->n_regs; i++)
        if (k->regs[i]) cols[n++] = (ColumnOut){k->regs[i], &d->cols[i], KP_ROWS_DATA, KP_ROWS_VALID, k->id, i};
    sink_columns(b, s, cols, n);
    if (d->has_seq) sink_sequence(b, s, KP_ROWS_DATA, k->id, d->n_cols);
    uint32_t base = emit_is_identity(b->ep, b->prog) ? BC_PARAM(b, KP_OUT_BASE, k->id, 0) : BC_NO;
    if (!b->oom) TABLE(b, s + BS_BASE) = base;
}

static void sink_sort(Bc *b) {
    const Sink *k = &b->prog->sink;
    int32_t sort = b->plan->rows[k->id].sort, n = 0;
    const DevSort *d = &b->ep->sorts[sort];
    ColumnOut *cols = arena_array(b->arena, ColumnOut, d->n_cols + 1);
    uint32_t s = sink_table(b, SINK_SORT);
    if (!cols || b->oom) {
        b->oom = true;
        return;
    }
    for (int32_t i = 0; i < d->seq_col; i++)
        if (d->stored[i])
            cols[n++] = (ColumnOut){
                i < k->n_regs ? k->regs[i] : k->keys[i - k->n_regs], &d->cols[i], KP_SORT_DATA, KP_SORT_VALID, sort, i};
    sink_columns(b, s, cols, n);
    sink_sequence(b, s, KP_SORT_DATA, sort, d->seq_col);
}

/* ---- joins ---------------------------------------------------------------------------------------------------- */
static void sink_join(Bc *b) {
    const Sink *k = &b->prog->sink;
    const JoinSpec *spec = &b->plan->joins[k->id];
    const DevJoin *d = &b->ep->joins[k->id];
    int32_t n = 0, n_cols = spec->n_payload + spec->n_keys;
    bool keyed = spec->n_keys > 0, hash = d->form == DJ_HASH;
    ColumnOut *cols = arena_array(b->arena, ColumnOut, n_cols + 1);
    uint32_t s = sink_table(b, SINK_JOIN);
    if (!cols || b->oom) {
        b->oom = true;
        return;
    }
    for (int32_t i = 0; i < n_cols && d->form != DJ_BITMAP; i++)
        if (d->stored[i])
            cols[n++] = (ColumnOut){i < spec->n_payload ? k->regs[i] : k->keys[i - spec->n_payload],
                                    &d->cols[i],
                                    KP_JOIN_DATA,
                                    KP_JOIN_VALID,
                                    k->id,
                                    i};
    if (d->form != DJ_BITMAP) sink_columns(b, s, cols, n);
    uint32_t keys = bc_keys(b, k->keys, k->id, b->pc);
    uint32_t w[BJ_WORDS] = {[BJ_FORM] = d->form,
                            [BJ_N_KEYS] = (uint32_t)spec->n_keys,
                            [BJ_KEYS] = keys,
                            [BJ_FLAGS] = BC_PARAM(b, KP_JOIN_FLAGS, k->id, 0),
                            [BJ_TRACK] = spec->track_matched,
                            [BJ_NULL_MARK] = spec->has_null_mark,
                            [BJ_ERROR] = (uint32_t)raise_code(b->pc, RK_INTERNAL)};
    if (!hash) {
        w[BJ_HEAD] = BC_PARAM(b, KP_JOIN_HEAD, k->id, 0);
        w[BJ_MIN] = BC_PARAM(b, KP_JOIN_MIN, k->id, 0);
        w[BJ_DOM] = BC_PARAM(b, KP_JOIN_DOM, k->id, 0);
    }
    if (d->form == DJ_DIRECT) w[BJ_NEXT] = BC_PARAM(b, KP_JOIN_NEXT, k->id, 0);
    w[BJ_MATCHED] = spec->track_matched ? (uint32_t)BC_PARAM(b, KP_JOIN_MATCHED, k->id, 0) : BC_NO;
    if (hash && keyed) w[BJ_NEXT] = BC_PARAM(b, KP_JOIN_NEXT, k->id, 0);
    if (hash && keyed && b->last) {
        w[BJ_HEAD] = BC_PARAM(b, KP_JOIN_HEAD, k->id, 0);
        w[BJ_MASK] = BC_PARAM(b, KP_JOIN_MASK, k->id, 0);
        w[BJ_ROWS] = BC_PARAM(b, KP_JOIN_ROWS, k->id, 0);
        b->kernels |= EK_BUILD;
        b->head[BH_BUILD] = s;
    }
    uint32_t at = (uint32_t)(BH_WORDS + b->table.len);
    put_words(b, w, BJ_WORDS);
    if (!b->oom) TABLE(b, s + BS_EXTRA) = at;
}

/* ---- aggregations ----------------------------------------------------------------------------------------------- */
static uint32_t group_keys(Bc *b, const AggSpec *spec, const DevAgg *d) {
    const Sink *k = &b->prog->sink;
    bool hash = d->form == DA_HASH;
    uint32_t at = bc_table(b, BG_WORDS * (uint32_t)spec->n_keys);
    for (int32_t i = 0; i < spec->n_keys; i++) {
        const DevCol *c = &d->cols[i];
        uint32_t w[BG_WORDS] = {
            [BG_REG] = bc_use(b, k->keys[i], c->phys == PH_STR, b->pc), [BG_PHYS] = c->phys, [BG_VALID_OFF] = BC_NO};
        if (hash) {
            w[BG_OFF] = (uint32_t)d->key_off[i];
            if (c->nullable) w[BG_VALID_OFF] = (uint32_t)d->key_valid_off[i];
        } else {
            w[BG_MIN] = BC_PARAM(b, KP_AGG_KEY_MIN, k->id, i);
            w[BG_EXTENT] = (uint32_t)d->key_extent[i];
            w[BG_VALUES] = (uint32_t)(d->key_extent[i] - c->nullable);
        }
        if (b->oom) break;
        memcpy(&TABLE(b, at + BG_WORDS * (uint32_t)i), w, sizeof w);
    }
    return at;
}
static uint32_t cells(Bc *b, const AggSpec *spec, const DevAgg *d, const AggForm *f) {
    const Sink *k = &b->prog->sink;
    uint32_t at = bc_table(b, BX_WORDS * (uint32_t)spec->n_aggs);
    for (int32_t i = 0; i < spec->n_aggs; i++) {
        const CellForm *c = &f->cells[i];
        const AggCell *a = &spec->aggs[i];
        const DevCol *col = &d->cols[spec->n_keys + i];
        bool flt = c->in_phys == PH_F32 || c->in_phys == PH_F64, counts = a->op == AO_COUNT || a->op == AO_COUNT_STAR;
        bool stores = c->kind == CK_FIRST || c->kind == CK_SINGLE;
        uint32_t w[BX_WORDS] = {
            [BX_REG] = a->op == AO_COUNT_STAR ? BC_NOREG : bc_use(b, k->regs[i], stores && col->phys == PH_STR, b->pc),
            [BX_KIND] = c->kind,
            [BX_FLAGS] = (c->flip ? BL_FLIP : 0) | (flt ? BL_FLOAT : 0) | (c->in_phys == PH_BOOL ? BL_BOOL : 0) |
                         (counts ? BXF_ONE : 0),
            [BX_OFF] = (uint32_t)d->cell_off[i],
            [BX_SEEN] = c->seen >= 0 ? (uint32_t)c->seen : BC_NO,
            [BX_FLAG_OFF] = c->flags >= 0 ? (uint32_t)(d->cell_off[i] + c->flags) : BC_NO,
            [BX_PHYS] = col->phys};
        if (b->oom) break;
        memcpy(&TABLE(b, at + BX_WORDS * (uint32_t)i), w, sizeof w);
    }
    return at;
}

static void sink_agg(Bc *b) {
    int32_t id = b->prog->sink.id;
    const AggSpec *spec = &b->plan->aggs[id];
    const DevAgg *d = &b->ep->aggs[id];
    uint32_t s = sink_table(b, SINK_AGG);
    uint32_t keys = group_keys(b, spec, d), states = cells(b, spec, d, &b->forms->aggs[id]);
    uint32_t w[BA_WORDS] = {[BA_FORM] = d->form,
                            [BA_RECORDS] = BC_PARAM(b, KP_AGG_RECORDS, id, 0),
                            [BA_STRIDE] = (uint32_t)d->stride,
                            [BA_N_KEYS] = (uint32_t)spec->n_keys,
                            [BA_KEYS] = keys,
                            [BA_N_CELLS] = (uint32_t)spec->n_aggs,
                            [BA_CELLS] = states,
                            [BA_ERROR] = (uint32_t)raise_code(b->pc, RK_INTERNAL),
                            [BA_CARDINALITY] = (uint32_t)raise_code(b->pc, RK_CARDINALITY)};
    if (d->form == DA_HASH) {
        w[BA_SLOTS] = BC_PARAM(b, KP_AGG_SLOTS, id, 0);
        w[BA_MASK] = BC_PARAM(b, KP_AGG_MASK, id, 0);
        w[BA_COUNT] = BC_PARAM(b, KP_AGG_COUNT, id, 0);
        w[BA_CAP] = BC_PARAM(b, KP_AGG_CAP, id, 0);
    }
    uint32_t at = (uint32_t)(BH_WORDS + b->table.len);
    put_words(b, w, BA_WORDS);
    if (!b->oom) TABLE(b, s + BS_EXTRA) = at;
}

void bc_sink(Bc *b) {
    switch (b->ends ? SINK_NONE : b->prog->sink.kind) {
    case SINK_ROWS: sink_rows(b); break;
    case SINK_AGG: sink_agg(b); break;
    case SINK_JOIN: sink_join(b); break;
    case SINK_SORT: sink_sort(b); break;
    default: sink_table(b, SINK_NONE);
    }
}

/* ---- sorting --------------------------------------------------------------------------------------------------------
 */
static void sort_key(Bc *b, const SortSpec *s, const DevSort *d, int32_t sort, int32_t i) {
    int32_t col = d->key_col[i];
    const DevCol *c = &d->cols[col];
    /* Codes order as their strings do only when the dictionary is sorted. */
    bool decode = c->phys == PH_I32 && c->dict && s->keys[i].key.phys == PH_STR && c->dict->n_sorted != c->dict->n;
    uint8_t phys = decode ? PH_STR : c->phys;
    bool exact = phys <= PH_I32 || phys == PH_F32 || ((phys == PH_I64 || phys == PH_F64) && !c->nullable);
    uint32_t w[BY_WORDS] = {[BY_PHYS] = phys,
                            [BY_DATA] = BC_PARAM(b, KP_SORT_DATA, sort, col),
                            [BY_VALID] = c->nullable ? BC_PARAM(b, KP_SORT_VALID, sort, col) : BC_NO,
                            [BY_OFFSETS] = decode ? bc_param(b, KP_DICT_OFFSETS, 0, 0, c->dict) : BC_NO,
                            [BY_BYTES] = decode ? bc_param(b, KP_DICT_BYTES, 0, 0, c->dict) : BC_NO,
                            [BY_DESC] = s->keys[i].desc,
                            [BY_NULLS_FIRST] = s->keys[i].nulls_first,
                            [BY_EXACT] = i == 0 && exact};
    put_words(b, w, BY_WORDS);
}

void bc_finish(Bc *b) {
    const Sink *k = &b->prog->sink;
    if (!b->last || k->kind != SINK_SORT) return;
    int32_t sort = b->plan->rows[k->id].sort;
    const SortSpec *spec = &b->plan->sorts[sort];
    const DevSort *d = &b->ep->sorts[sort];
    uint32_t keys = (uint32_t)(BH_WORDS + b->table.len);
    for (int32_t i = 0; i < spec->n_keys; i++) sort_key(b, spec, d, sort, i);
    uint32_t columns = (uint32_t)(BH_WORDS + b->table.len);
    for (int32_t i = 0; i < spec->n_cols; i++) {
        const DevCol *c = &d->cols[i];
        uint32_t w[BM_WORDS] = {[BM_PHYS] = c->phys,
                                [BM_FROM] = BC_PARAM(b, KP_SORT_DATA, sort, i),
                                [BM_TO] = BC_PARAM(b, KP_ROWS_DATA, k->id, i),
                                [BM_FROM_VALID] = c->nullable ? BC_PARAM(b, KP_SORT_VALID, sort, i) : BC_NO,
                                [BM_TO_VALID] = c->nullable ? BC_PARAM(b, KP_ROWS_VALID, k->id, i) : BC_NO};
        put_words(b, w, BM_WORDS);
    }
    uint32_t w[BSO_WORDS] = {[BSO_N_KEYS] = (uint32_t)spec->n_keys,
                             [BSO_KEYS] = keys,
                             [BSO_SEQ] = BC_PARAM(b, KP_SORT_DATA, sort, d->seq_col),
                             [BSO_N] = BC_PARAM(b, KP_SORT_N, sort, 0),
                             [BSO_A] = BC_PARAM(b, KP_SORT_A, sort, 0),
                             [BSO_B] = BC_PARAM(b, KP_SORT_B, sort, 0),
                             [BSO_WIDTH] = BC_PARAM(b, KP_SORT_WIDTH, sort, 0),
                             [BSO_FIRST] = BC_PARAM(b, KP_SORT_FIRST, sort, 0),
                             [BSO_TAKE] = BC_PARAM(b, KP_SORT_TAKE, sort, 0),
                             [BSO_N_COLS] = (uint32_t)spec->n_cols,
                             [BSO_COLS] = columns};
    b->head[BH_SORT] = (uint32_t)(BH_WORDS + b->table.len);
    put_words(b, w, BSO_WORDS);
    b->kernels |= EK_SORT;
}
