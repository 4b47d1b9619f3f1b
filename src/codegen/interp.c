/* interp.c - from programs to the device interpreter's bytecode.
 *
 * Registers of a program are in single assignment, so a register's life is a range of instructions, and machine
 * registers are handed out from first to last. Iterators (probes with several matches, REPEAT) make a life longer: what
 * was computed before one and is used inside or as its key must still be there for the next candidate, hence up to the
 * iterator's end. Iterators whose body is the rest of the program never end; those of a residual condition end at their
 * PROBE_END. Constants are loaded where they are used.
 */
#include "codegen/interp_int.h"

#include "base/hash.h"
#include "codegen/like_code.h"
#include "codegen/prelude.h"

static_assert(KI_BOOL == PH_BOOL && KI_I128 == PH_I128 && KI_F32 == PH_F32 && KI_STR == PH_STR && KI_UUID == PH_UUID,
              "ki_codes.h");
static_assert(KI_SRC_TABLE == SRC_TABLE && KI_SRC_AGG == SRC_AGG && KI_SRC_JOIN == SRC_JOIN, "ki_codes.h");
static_assert(KI_SINK_ROWS == SINK_ROWS && KI_SINK_AGG == SINK_AGG && KI_SINK_JOIN == SINK_JOIN &&
                  KI_SINK_SORT == SINK_SORT && KI_SINK_NONE == SINK_NONE,
              "ki_codes.h");
static_assert(KI_INNER == PK_INNER && KI_LEFT == PK_LEFT && KI_SINGLE == PK_SINGLE && KI_SEMI == PK_SEMI &&
                  KI_ANTI == PK_ANTI && KI_MARK == PK_MARK && KI_MARK_BUILD == PK_MARK_BUILD,
              "ki_codes.h");
static_assert(KI_BITMAP == DJ_BITMAP && KI_DIRECT == DJ_DIRECT && KI_HASH == DJ_HASH, "ki_codes.h");
static_assert(KI_AGG_ONE == DA_ONE && KI_AGG_LOCAL == DA_LOCAL && KI_AGG_DIRECT == DA_DIRECT && KI_AGG_HASH == DA_HASH,
              "ki_codes.h");
static_assert(KI_ADD64 == CK_ADD64 && KI_MAX64 == CK_MAX64 && KI_OR64 == CK_OR64 && KI_WIDE3 == CK_WIDE3 &&
                  KI_FIRST == CK_FIRST && KI_CELL_SINGLE == CK_SINGLE,
              "ki_codes.h");
static_assert(KI_FORM_PLAIN == DF_PLAIN && KI_FORM_STR == DF_STR && KI_FORM_OPEN_STR == DF_OPEN_STR &&
                  KI_FORM_STRIDED == DF_STRIDED && DF_FOR64 == 8,
              "ki_codes.h");

enum { ROW_DONE = -1 }; /* label */

/* ---- pieces -------------------------------------------------------------------------------------- */
uint32_t bc_param(Bc *b, ParamKind kind, int32_t id, int32_t col, const Dict *dict) {
    for (int64_t i = 0; i < b->params.len; i++) {
        const EmitParam *p = &b->params.items[i];
        if (p->kind == kind && p->id == id && p->col == col && p->dict == dict) return (uint32_t)i;
    }
    EmitParam p = {.kind = (uint16_t)kind, .id = id, .col = col, .dict = dict};
    if (b->params.len == DEV_PARAMS_MAX) b->reason = "too many parameters for the interpreter";
    else if (!vec_push(b->arena, &b->params, p)) b->oom = true;
    return b->params.len ? (uint32_t)(b->params.len - 1) : 0;
}
#define PARAM(b, kind, id) bc_param((b), (kind), (id), 0, NULL)

uint32_t bc_table(Bc *b, uint32_t n) {
    int64_t at = b->table.len;
    uint32_t zero = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!vec_push(b->arena, &b->table, zero)) b->oom = true;
    if (b->table.len < at + n) { /* out of memory: written, never used */
        b->table.len = 0;
        return BH_WORDS;
    }
    return (uint32_t)(at + BH_WORDS);
}

static int32_t label_new(Bc *b) {
    int32_t none = -1;
    if (!vec_push(b->arena, &b->labels, none)) b->oom = true;
    return (int32_t)b->labels.len - 1;
}
static int32_t here(const Bc *b) { return (int32_t)(b->code.len / BC_WORDS); }
static void label_here(Bc *b, int32_t label) {
    if (label >= 0 && !b->oom) b->labels.items[label] = here(b);
}
static void refer(Bc *b, bool in_table, int64_t word, int32_t label) {
    Ref r = {.in_table = in_table, .word = (int32_t)word, .label = label};
    if (!vec_push(b->arena, &b->refs, r)) b->oom = true;
}
/* Where a row that fails goes on. */
static int32_t fail_label(const Bc *b) { return b->loops.len ? b->loops.items[b->loops.len - 1].again : ROW_DONE; }

typedef struct Ins {
    uint32_t op, phys, to, flags, d, a, b, c, x, y, z;
    uint64_t imm;
    uint32_t error;
} Ins;
/* Appends; the result's first word. Unset registers are those numbered 0 unless the operation reads them. */
static int64_t put(Bc *b, Ins i) {
    int64_t at = b->code.len;
    uint32_t w[BC_WORDS] = {i.op | i.phys << 8 | i.to << 16 | i.flags << 24,
                            i.d | i.a << 8 | i.b << 16 | i.c << 24,
                            i.x,
                            i.y,
                            i.z,
                            (uint32_t)(b->pc + 1) << 8 | i.error,
                            (uint32_t)i.imm,
                            (uint32_t)(i.imm >> 32)};
    for (uint32_t k = 0; k < BC_WORDS; k++)
        if (!vec_push(b->arena, &b->code, w[k])) b->oom = true;
    return b->oom ? 0 : at;
}
static void put_failing(Bc *b, Ins i) { refer(b, false, put(b, i) + 5, fail_label(b)); }

/* ---- registers -------------------------------------------------------------------------------------- */
static uint32_t take(Bc *b, int32_t until) {
    for (uint32_t i = 0; i < BC_REGS; i++) {
        if (b->busy[i] >= b->pc) continue;
        b->busy[i] = until < b->pc ? b->pc : until;
        return i;
    }
    b->reason = "too many registers for the interpreter";
    return 0;
}
static uint32_t define(Bc *b, Reg r) {
    if (!r) return BC_NOREG;
    uint32_t s = take(b, b->until[r]);
    b->slot[r] = (uint8_t)s;
    return s;
}
uint32_t bc_use(Bc *b, Reg r, bool text, int32_t until) {
    if (!r) return BC_NOREG;
    const RegInfo *ri = &b->prog->regs[r];
    const RegForm *f = &b->regs[r];
    uint32_t s = b->slot[r];
    if (ri->is_const) {
        s = take(b, until);
        if (ri->value.is_null) {
            put(b, (Ins){.op = BC_NULL, .d = s, .a = BC_NOREG, .b = BC_NOREG});
        } else {
            bool wide = ri->phys == PH_I128 || ri->phys >= PH_STR;
            uint32_t lo = bc_param(b, KP_CONST, r, 0, NULL), hi = wide ? bc_param(b, KP_CONST, r, 1, NULL) : lo;
            put(b, (Ins){.op = BC_CONST, .phys = ri->phys, .d = s, .a = BC_NOREG, .b = BC_NOREG, .x = lo, .y = hi});
        }
    }
    if (!text || f->phys != PH_STR || !f->dict) return s;
    uint32_t t = take(b, until);
    put(b, (Ins){.op = BC_TEXT,
                 .d = t,
                 .a = s,
                 .b = BC_NOREG,
                 .x = bc_param(b, KP_DICT_OFFSETS, 0, 0, f->dict),
                 .y = bc_param(b, KP_DICT_BYTES, 0, 0, f->dict)});
    return t;
}
static uint32_t raw(Bc *b, Reg r) { return bc_use(b, r, false, b->pc); }
static uint32_t text(Bc *b, Reg r) { return bc_use(b, r, true, b->pc); }
/* In the form that register `like` has. */
static uint32_t alike(Bc *b, Reg r, Reg like) {
    return bc_use(b, r, b->regs[like].phys == PH_STR && !b->regs[like].dict, b->pc);
}

static bool is_open(const Instr *in) {
    uint8_t k = in->op == OP_REPEAT ? (uint8_t)PK_INNER : ((const ProbeSite *)in->aux)->kind;
    return k == PK_INNER || k == PK_LEFT;
}
static int32_t loop_end(const Program *p, int32_t pc) {
    const Instr *in = &p->instrs[pc];
    if (in->op == OP_REPEAT || (in->op == OP_PROBE && is_open(in))) return p->n_instrs;
    if (in->op == OP_PROBE_BEGIN) return is_open(in) ? p->n_instrs : in->jump;
    return -1;
}

static bool lives(Bc *b) {
    const Program *p = b->prog;
    b->until = arena_array(b->arena, int32_t, p->n_regs + 1);
    b->slot = arena_array(b->arena, uint8_t, p->n_regs + 1);
    b->probes = arena_array(b->arena, ProbeCode, p->n_instrs + 1);
    int32_t *from = arena_array(b->arena, int32_t, p->n_regs + 1);
    if (!b->until || !b->slot || !b->probes || !from) return false;
    for (Reg r = 0; r < p->n_regs; r++) b->until[r] = from[r] = -1;
    for (int32_t pc = 0; pc < p->n_instrs; pc++) {
        const Instr *in = &p->instrs[pc];
        for (int32_t k = 0, r; (r = instr_use(in, k)) >= 0; k++) b->until[r] = pc;
        if (in->dst && from[in->dst] < 0) from[in->dst] = pc;
        if (in->op == OP_ELSE) from[p->instrs[in->jump].dst] = pc; /* the first of its two writers */
        if (in->dst && b->until[in->dst] < pc) b->until[in->dst] = pc;
    }
    for (int32_t k = 0, r; (r = sink_use(&p->sink, k)) >= 0; k++) b->until[r] = p->n_instrs;
    for (int32_t pc = 0; pc < p->n_instrs; pc++) {
        int32_t op = p->instrs[pc].op;
        int32_t end = op == OP_REPEAT || op == OP_PROBE || op == OP_PROBE_BEGIN ? loop_end(p, pc) : -1;
        for (Reg r = 1; end >= 0 && r < p->n_regs; r++)
            if (from[r] < pc && b->until[r] >= pc) b->until[r] = MAX_OF(b->until[r], end);
    }
    for (uint32_t i = 0; i < BC_REGS; i++) b->busy[i] = -1;
    return true;
}

/* ---- the source ------------------------------------------------------------------------------------- */
static uint32_t column(Bc *b, int64_t col) {
    bool known = false;
    for (int64_t i = 0; i < b->cols.len; i++) known |= b->cols.items[i] == col;
    if (!known &&
        (!vec_push(b->arena, &b->cols, (int32_t)col) || !emit_table_col(b->forms, b->prog->source.table, col)))
        b->oom = true;
    return bc_param(b, KP_COLUMN, 0, (int32_t)col, NULL);
}

/* A load whose cells have the form of `c`, which may be codes where the register holds strings. */
static void put_load(Bc *b, Reg dst, const DevCol *c, Ins i) {
    const RegForm *f = &b->regs[dst];
    bool decode = f->phys == PH_STR && !f->dict && c->phys == PH_I32 && c->dict;
    i.d = define(b, dst);
    i.to = decode ? PH_I32 : var_phys(f);
    put(b, i);
    if (decode)
        put(b, (Ins){.op = BC_TEXT,
                     .d = i.d,
                     .a = i.d,
                     .b = BC_NOREG,
                     .x = bc_param(b, KP_DICT_OFFSETS, 0, 0, c->dict),
                     .y = bc_param(b, KP_DICT_BYTES, 0, 0, c->dict)});
}
static void load_stored(Bc *b, Reg dst, const DevCol *c, ParamKind data, ParamKind valid, int32_t id, int32_t col,
                        uint32_t row) {
    put_load(b, dst, c,
             (Ins){.op = BC_LOAD_COLUMN,
                   .phys = c->phys,
                   .a = row,
                   .x = bc_param(b, data, id, col, NULL),
                   .y = c->nullable ? bc_param(b, valid, id, col, NULL) : BC_NO});
}

static void load_group_key(Bc *b, const Instr *in) {
    int32_t id = b->prog->source.id, k = (int32_t)in->imm;
    const DevAgg *d = &b->ep->aggs[id];
    const DevCol *c = &d->cols[k];
    if (d->form == DA_HASH) {
        put_load(b, in->dst, c,
                 (Ins){.op = BC_LOAD_RECORD,
                       .phys = c->phys,
                       .x = (uint32_t)d->key_off[k],
                       .y = c->nullable ? (uint32_t)d->key_valid_off[k] : BC_NO});
        return;
    }
    int64_t radix = 1;
    for (int32_t i = 0; i < k; i++) radix *= d->key_extent[i];
    put_load(b, in->dst, c,
             (Ins){.op = BC_LOAD_KEY,
                   .phys = c->phys,
                   .flags = c->nullable,
                   .x = (uint32_t)radix,
                   .y = k < b->plan->aggs[id].n_keys - 1,
                   .z = bc_param(b, KP_AGG_KEY_MIN, id, k, NULL),
                   .imm = (uint64_t)d->key_extent[k]});
}
static void load_aggregate(Bc *b, const Instr *in) {
    int32_t id = b->prog->source.id, n_keys = b->plan->aggs[id].n_keys, i = (int32_t)in->imm - n_keys;
    const DevAgg *d = &b->ep->aggs[id];
    const CellForm *c = &b->forms->aggs[id].cells[i];
    const AggCell *a = &b->plan->aggs[id].aggs[i];
    DevCol col = d->cols[in->imm];
    bool flt = c->in_phys == PH_F32 || c->in_phys == PH_F64, checked = a->op == AO_SUM_I64_CHECKED;
    uint32_t flags = (c->flip ? BL_FLIP : 0) | (flt ? BL_FLOAT : 0);
    Ins ins = {
        .op = BC_LOAD_CELL, .x = (uint32_t)d->cell_off[i], .b = c->kind, .error = checked ? RK_BIGINT : RK_NUMERIC38};
    if (c->flags >= 0) {
        flags |= BL_FLAG;
        ins.y = (uint32_t)(d->cell_off[i] + c->flags);
    } else if (c->seen >= 0) {
        flags |= BL_SEEN;
        ins.y = (uint32_t)(4 + 4 * (c->seen / 32));
        ins.z = (uint32_t)c->seen % 32;
    } else if (n_keys == 0 && a->op != AO_COUNT && a->op != AO_COUNT_STAR) {
        flags |= BL_LIVE;
    }
    switch (c->kind) {
    case CK_ADD64: col.phys = PH_I64; break;
    case CK_ADDF: col.phys = PH_F64; break;
    case CK_MAX64:
        if (col.phys == PH_BOOL) flags |= BL_BOOL;
        if (!col.dict) col.phys = flt ? PH_F64 : PH_I64;
        break;
    case CK_OR64:
        if (c->in_phys == PH_BOOL) flags |= BL_BOOL;
        col.phys = PH_I64;
        break;
    case CK_WIDE2:
    case CK_WIDE3:
        if (checked) flags |= BL_CHECKED;
        if (a->out_phys == PH_I64) flags |= BL_NARROW;
        col.phys = PH_I128;
        break;
    default: break;
    }
    ins.c = flags;
    ins.phys = col.phys;
    put_load(b, in->dst, &col, ins);
}

static void load(Bc *b, const Instr *in) {
    const Source *s = &b->prog->source;
    int32_t col = (int32_t)in->imm;
    DevCol plain = {.phys = var_phys(&b->regs[in->dst])};
    if (in->op == OP_LOAD_ROWID) {
        put_load(b, in->dst, &(DevCol){.phys = PH_I64}, (Ins){.op = BC_LOAD_ROWID, .phys = PH_I64});
        if (s->kind == SRC_TABLE) PARAM(b, KP_TABLETS, 0);
        return;
    }
    switch (s->kind) {
    case SRC_TABLE: put_load(b, in->dst, &plain, (Ins){.op = BC_LOAD_TABLE, .x = column(b, col)}); break;
    case SRC_ROWS:
        load_stored(b, in->dst, &b->ep->rows[s->id].cols[col], KP_ROWS_DATA, KP_ROWS_VALID, s->id, col, BC_NOREG);
        break;
    case SRC_JOIN:
        load_stored(b, in->dst, &b->ep->joins[s->id].cols[col], KP_JOIN_DATA, KP_JOIN_VALID, s->id, col, BC_NOREG);
        break;
    case SRC_AGG:
        if (col < b->plan->aggs[s->id].n_keys) load_group_key(b, in);
        else load_aggregate(b, in);
        break;
    case SRC_SERIES:
        put_load(b, in->dst, &(DevCol){.phys = PH_I64},
                 (Ins){.op = BC_LOAD_SERIES,
                       .phys = PH_I64,
                       .x = PARAM(b, KP_SERIES_START, 0),
                       .y = PARAM(b, KP_SERIES_STEP, 0)});
        break;
    default: b->reason = "a load from a source without columns";
    }
}

static void filter_column(Bc *b, const Instr *in) {
    if (in->op == OP_FILTER_RANGE) {
        const RangeTest *t = in->aux;
        put_failing(b, (Ins){.op = BC_RANGE,
                             .flags = t->negate,
                             .x = column(b, in->imm),
                             .y = PARAM(b, KP_LO, b->pc),
                             .z = PARAM(b, KP_HI, b->pc)});
        return;
    }
    const CodeMask *k = in->aux;
    put_failing(b, (Ins){.op = BC_CODES,
                         .flags = (k->n <= 64 ? 1u : 0u) | (k->mask[k->n] ? 2u : 0u),
                         .x = column(b, in->imm),
                         .y = PARAM(b, k->n <= 64 ? KP_MASK_BITS : KP_MASK, b->pc)});
}

/* ---- expressions ---------------------------------------------------------------------------------------- */
static const uint8_t plain_ops[OP_COUNT_] = {[OP_ADD] = BC_ADD,
                                             [OP_SUB] = BC_SUB,
                                             [OP_MUL] = BC_MUL,
                                             [OP_DIV] = BC_DIV,
                                             [OP_MOD] = BC_MOD,
                                             [OP_NEG] = BC_NEG,
                                             [OP_ABS] = BC_ABS,
                                             [OP_ADD_N] = BC_ADD_N,
                                             [OP_SUB_N] = BC_SUB_N,
                                             [OP_MUL_N] = BC_MUL_N,
                                             [OP_MUL_WIDE] = BC_MUL_WIDE,
                                             [OP_BIT_AND] = BC_BIT_AND,
                                             [OP_BIT_OR] = BC_BIT_OR,
                                             [OP_BIT_XOR] = BC_BIT_XOR,
                                             [OP_BIT_NOT] = BC_BIT_NOT,
                                             [OP_SHL] = BC_SHL,
                                             [OP_SHR] = BC_SHR,
                                             [OP_RESCALE] = BC_RESCALE,
                                             [OP_NUM_DIV] = BC_NUM_DIV,
                                             [OP_NUM_MUL] = BC_NUM_MUL,
                                             [OP_NUM_TO_F64] = BC_NUM_TO_F64,
                                             [OP_F64_TO_NUM] = BC_F64_TO_NUM,
                                             [OP_CHECK_DIGITS] = BC_CHECK_DIGITS,
                                             [OP_CVT] = BC_CVT,
                                             [OP_EQ] = BC_EQ,
                                             [OP_NE] = BC_NE,
                                             [OP_LT] = BC_LT,
                                             [OP_LE] = BC_LE,
                                             [OP_GT] = BC_GT,
                                             [OP_GE] = BC_GE,
                                             [OP_DISTINCT] = BC_DISTINCT,
                                             [OP_AND] = BC_AND,
                                             [OP_OR] = BC_OR,
                                             [OP_NOT] = BC_NOT,
                                             [OP_IS_NULL] = BC_IS_NULL,
                                             [OP_IS_NOT_NULL] = BC_IS_NOT_NULL,
                                             [OP_IS_TRUE] = BC_IS_TRUE,
                                             [OP_IS_FALSE] = BC_IS_FALSE,
                                             [OP_SELECT] = BC_SELECT,
                                             [OP_COALESCE] = BC_COALESCE,
                                             [OP_NULLIF] = BC_NULLIF,
                                             [OP_IN_SET] = BC_IN_SET,
                                             [OP_CODE_TEST] = BC_CODE_TEST,
                                             [OP_CODE_MAP] = BC_CODE_MAP,
                                             [OP_LIKE] = BC_LIKE,
                                             [OP_DATE_PART] = BC_DATE_PART};

static void key_pack(Bc *b, const Instr *in) {
    const KeyPack *k = in->aux;
    uint32_t d = define(b, in->dst);
    put(b, (Ins){.op = BC_PACK_BEGIN, .d = d, .a = BC_NOREG, .b = BC_NOREG});
    for (int32_t i = 0; i < k->n; i++) {
        uint64_t mask = k->bits[i] >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << k->bits[i]) - 1,
                 max = mask - (k->nullable[i] ? 1 : 0);
        put(b, (Ins){.op = BC_PACK,
                     .flags = (k->nullable[i] ? 1u : 0u) | (max <= INT64_MAX ? 2u : 0u),
                     .d = d,
                     .a = raw(b, k->args[i]),
                     .b = BC_NOREG,
                     .x = (uint32_t)k->shift[i] & 63,
                     .y = k->bits[i],
                     .imm = (uint64_t)k->base[i]});
    }
}

static void call(Bc *b, const Instr *in) {
    static const char *const names[] = {"text_from",  "text_part",  "text_left",  "text_right",
                                        "text_chars", "text_bytes", "text_starts"};
    const CallSite *c = in->aux;
    const char *fn = emit_call_fn(c);
    uint32_t which = 0, args[3] = {BC_NOREG, BC_NOREG, BC_NOREG};
    while (which < ARRAY_LEN(names) && fn && strcmp(fn, names[which]) != 0) which++;
    if (!fn || which == ARRAY_LEN(names) || c->n_args > 3) {
        b->reason = "a call that the interpreter does not have";
        return;
    }
    for (int32_t i = 0; i < c->n_args; i++) args[i] = text(b, c->args[i]);
    put(b, (Ins){.op = BC_CALL, .d = define(b, in->dst), .a = args[0], .b = args[1], .c = args[2], .x = which});
}

static void expression(Bc *b, const Instr *in) {
    Ins i = {.op = plain_ops[in->op],
             .phys = in->phys,
             .to = in->dst ? b->prog->regs[in->dst].phys : 0,
             .a = BC_NOREG,
             .b = BC_NOREG,
             .c = BC_NOREG};
    const RegForm *fa = &b->regs[in->a], *fb = &b->regs[in->b];
    bool equality = in->op == OP_EQ || in->op == OP_NE || in->op == OP_DISTINCT;
    switch ((Opcode)in->op) {
    case OP_NONE: return;
    case OP_KEY_PACK: key_pack(b, in); return;
    case OP_CALL: call(b, in); return;
    case OP_DECODE:
        i.op = b->regs[in->dst].dict ? BC_MOVE : BC_NULL;
        i.a = raw(b, in->a);
        break;
    case OP_EQ:
    case OP_NE:
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_DISTINCT: {
        bool codes =
            in->phys == PH_STR && fa->dict && fa->dict == fb->dict && (equality || fa->dict->n_sorted == fa->dict->n);
        if (codes) i.phys = PH_I32;
        i.a = bc_use(b, in->a, !codes, b->pc);
        i.b = bc_use(b, in->b, !codes, b->pc);
        break;
    }
    case OP_SELECT:
        i.a = raw(b, in->a);
        i.b = alike(b, in->b, in->dst);
        i.c = alike(b, in->c, in->dst);
        break;
    case OP_COALESCE:
        i.a = alike(b, in->a, in->dst);
        i.b = alike(b, in->b, in->dst);
        break;
    case OP_NULLIF:
        i.a = alike(b, in->a, in->dst);
        i.b = raw(b, in->b);
        break;
    case OP_RESCALE:
    case OP_NUM_DIV:
    case OP_NUM_MUL:
    case OP_NUM_TO_F64:
    case OP_F64_TO_NUM:
        i.x = (uint32_t)NUM_IMM_FROM(in->imm);
        i.y = (uint32_t)NUM_IMM_TO(in->imm);
        i.z = (uint32_t)NUM_IMM_PREC(in->imm);
        i.a = raw(b, in->a);
        i.b = raw(b, in->b);
        break;
    case OP_CHECK_DIGITS:
        i.x = (uint32_t)in->imm;
        i.y = RK_NUMERIC38;
        i.a = raw(b, in->a);
        break;
    case OP_IN_SET:
        i.a = text(b, in->a);
        i.flags = ((const InSet *)in->aux)->has_null;
        i.x = PARAM(b, KP_SET, b->pc);
        i.y = PARAM(b, KP_SET_N, b->pc);
        break;
    case OP_CODE_TEST: {
        const CodeMask *k = in->aux;
        i.a = raw(b, in->a);
        i.flags = k->n == 0 ? 2 : k->n <= 64;
        if (k->n) i.x = PARAM(b, k->n <= 64 ? KP_MASK_BITS : KP_MASK, b->pc);
        break;
    }
    case OP_CODE_MAP: {
        const CodeMap *k = in->aux;
        i.a = raw(b, in->a);
        i.flags = k->n == 0;
        i.y = BC_NO;
        if (k->n) i.x = PARAM(b, KP_MAP_CELLS, b->pc);
        if (k->n && k->valid) i.y = PARAM(b, KP_MAP_VALID, b->pc);
        break;
    }
    case OP_LIKE:
        i.a = text(b, in->a);
        i.x = PARAM(b, KP_LIKE, b->pc);
        break;
    case OP_DATE_PART:
        i.a = raw(b, in->a);
        i.x = (uint32_t)in->imm;
        break;
    default:
        if (i.op == 0) {
            const char *why = arena_printf(b->arena, "opcode %s", op_info[in->op].name);
            b->reason = why ? why : "an opcode";
            return;
        }
        i.a = raw(b, in->a);
        i.b = raw(b, in->b);
    }
    i.d = define(b, in->dst);
    put(b, i);
}

/* ---- joins --------------------------------------------------------------------------------------------------- */
uint32_t bc_keys(Bc *b, const Reg *regs, int32_t join, int32_t until) {
    const JoinSpec *s = &b->plan->joins[join];
    const DevJoin *d = &b->ep->joins[join];
    uint32_t at = bc_table(b, BK_WORDS * (uint32_t)s->n_keys);
    for (int32_t i = 0; i < s->n_keys; i++) {
        int32_t col = s->n_payload + i;
        uint32_t k = at + BK_WORDS * (uint32_t)i, reg = bc_use(b, regs[i], true, until);
        uint32_t data = d->stored[col] ? bc_param(b, KP_JOIN_DATA, join, col, NULL) : BC_NO;
        uint32_t valid = d->stored[col] && d->cols[col].nullable ? bc_param(b, KP_JOIN_VALID, join, col, NULL) : BC_NO;
        if (b->oom) break;
        TABLE(b, k + BK_REG) = reg;
        TABLE(b, k + BK_PHYS) = s->keys[i].phys;
        TABLE(b, k + BK_NULL_EQUAL) = s->keys[i].null_equal;
        TABLE(b, k + BK_DATA) = data;
        TABLE(b, k + BK_VALID) = valid;
    }
    return at;
}

static void loop_push(Bc *b, int32_t again, int32_t end) {
    Loop l = {again, end};
    if (!vec_push(b->arena, &b->loops, l)) b->oom = true;
}

static void table_label(Bc *b, uint32_t place, int32_t label) { refer(b, true, place - BH_WORDS, label); }

/* The body, if any, follows; its PROBE_END closes the loop. */
static void probe(Bc *b, const Instr *in) {
    const ProbeSite *s = in->aux;
    const JoinSpec *spec = &b->plan->joins[s->join];
    const DevJoin *d = &b->ep->joins[s->join];
    bool body = in->op == OP_PROBE_BEGIN,
         exists = !body && (s->kind == PK_SEMI || s->kind == PK_ANTI || s->kind == PK_MARK), open = is_open(in);
    int32_t end = exists || (!body && !open) ? b->pc : loop_end(b->prog, b->pc);
    uint32_t keys = bc_keys(b, s->keys, s->join, end), state = take(b, end);
    uint32_t dst = define(b, in->dst), t = bc_table(b, BP_WORDS), params[BP_WORDS] = {0};
    bool mark = exists && s->kind == PK_MARK;
    bool direct = d->form != DJ_HASH && spec->n_keys > 0;
    if (spec->n_keys > 0) params[BP_HEAD] = PARAM(b, KP_JOIN_HEAD, s->join);
    if (spec->n_keys > 0 && d->form != DJ_BITMAP) params[BP_NEXT] = PARAM(b, KP_JOIN_NEXT, s->join);
    if (spec->n_keys > 0 && d->form == DJ_HASH) params[BP_MASK] = PARAM(b, KP_JOIN_MASK, s->join);
    if (spec->has_null_mark) params[BP_JOIN_FLAGS] = PARAM(b, KP_JOIN_FLAGS, s->join);
    if (spec->track_matched) params[BP_MATCHED] = PARAM(b, KP_JOIN_MATCHED, s->join);
    if (spec->n_keys == 0) params[BP_ROWS] = PARAM(b, KP_JOIN_ROWS, s->join);
    if (direct) {
        params[BP_MIN] = PARAM(b, KP_JOIN_MIN, s->join);
        params[BP_DOM] = PARAM(b, KP_JOIN_DOM, s->join);
    }
    params[BP_KIND] = s->kind;
    params[BP_FORM] = d->form;
    params[BP_N_KEYS] = (uint32_t)spec->n_keys;
    params[BP_KEYS] = keys;
    params[BP_FLAGS] =
        (body ? BPF_BODY : 0) | (spec->track_matched ? BPF_TRACK : 0) | (spec->has_null_mark ? BPF_NULL_MARK : 0);
    params[BP_STATE] = state;
    params[BP_DST] = mark ? BC_NOREG : dst;
    params[BP_MARK] = mark ? dst : BC_NOREG;
    params[BP_ERROR] = (uint32_t)raise_code(b->pc, RK_CARDINALITY);
    if (b->oom) return;
    memcpy(&TABLE(b, t), params, sizeof params);
    int32_t again = label_new(b), behind = label_new(b), candidate = label_new(b);
    b->probes[b->pc].table = t;
    b->probes[b->pc].behind = behind;
    table_label(b, t + BP_BODY, candidate);
    table_label(b, t + BP_FINISH, behind);
    table_label(b, t + BP_FAIL, fail_label(b));
    table_label(b, t + BP_AGAIN, again);
    if (exists) {
        put(b, (Ins){.op = BC_EXISTS, .x = t});
        label_here(b, behind);
        return;
    }
    put(b, (Ins){.op = BC_PROBE, .x = t});
    label_here(b, again);
    put(b, (Ins){.op = BC_PROBE_NEXT, .x = t});
    label_here(b, candidate);
    if (body || open) {
        loop_push(b, again, end);
        if (!body) label_here(b, behind);
        return;
    }
    put(b, (Ins){.op = BC_PROBE_END, .a = BC_NOREG, .x = t});
    label_here(b, behind);
    b->ends |= s->kind == PK_MARK_BUILD;
}

static void probe_end(Bc *b, const Instr *in) {
    int32_t pc = b->pc - 1;
    while (pc > 0 && !(b->prog->instrs[pc].op == OP_PROBE_BEGIN && b->prog->instrs[pc].jump == b->pc)) pc--;
    const Instr *begin = &b->prog->instrs[pc];
    uint32_t t = b->probes[pc].table;
    uint8_t kind = ((const ProbeSite *)begin->aux)->kind;
    put(b, (Ins){.op = BC_PROBE_END, .a = raw(b, in->a), .x = t});
    uint32_t dst = kind == PK_MARK ? define(b, in->dst) : 0;
    if (b->oom) return;
    if (kind == PK_MARK) TABLE(b, t + BP_MARK) = dst;
    label_here(b, b->probes[pc].behind);
    if (kind != PK_INNER && kind != PK_LEFT) b->loops.len--;
    b->ends |= kind == PK_MARK_BUILD;
}

static void repeat(Bc *b, const Instr *in) {
    if (in->dst) {
        b->reason = "rows repeated with a number";
        return;
    }
    uint32_t state = take(b, b->prog->n_instrs);
    int32_t again = label_new(b);
    put(b, (Ins){.op = BC_REPEAT, .d = state, .a = raw(b, in->a), .b = BC_NOREG});
    label_here(b, again);
    put_failing(b, (Ins){.op = BC_AGAIN, .d = state, .a = BC_NOREG, .b = BC_NOREG});
    loop_push(b, again, b->prog->n_instrs);
}

/* ---- a program -------------------------------------------------------------------------------------------------- */
static bool instructions(Bc *b) {
    const Program *p = b->prog;
    int32_t *alternatives =
        arena_array(b->arena, int32_t, p->n_instrs + 1); /* labels by the number of ELSE and ENDIF */
    if (!alternatives) return false;
    for (int32_t i = 0; i < p->n_instrs && !b->ends && !b->reason && !b->oom; i++) {
        const Instr *in = &p->instrs[i];
        b->pc = i;
        switch (in->op) {
        case OP_LOAD:
        case OP_LOAD_CODE:
        case OP_LOAD_ROWID: load(b, in); break;
        case OP_FILTER_RANGE:
        case OP_FILTER_CODES: filter_column(b, in); break;
        case OP_FILTER: put_failing(b, (Ins){.op = BC_FILTER, .a = raw(b, in->a), .b = BC_NOREG}); break;
        case OP_IF:
            alternatives[in->jump] = label_new(b);
            refer(b, false, put(b, (Ins){.op = BC_IF, .a = raw(b, in->a), .b = BC_NOREG}) + 2, alternatives[in->jump]);
            break;
        case OP_ELSE:
        case OP_ENDIF: {
            Reg d = in->op == OP_ELSE ? p->instrs[in->jump].dst : in->dst;
            uint32_t from = alike(b, in->a, d);
            put(b, (Ins){.op = BC_MOVE, .d = in->op == OP_ELSE ? define(b, d) : b->slot[d], .a = from, .b = BC_NOREG});
            if (in->op == OP_ELSE) {
                alternatives[in->jump] = label_new(b);
                refer(b, false, put(b, (Ins){.op = BC_JUMP}) + 2, alternatives[in->jump]);
            }
            label_here(b, alternatives[i]);
            break;
        }
        case OP_PROBE:
        case OP_PROBE_BEGIN: probe(b, in); break;
        case OP_PROBE_END: probe_end(b, in); break;
        case OP_LOAD_BUILD: {
            int32_t join = ((const ProbeSite *)p->instrs[p->regs[in->a].first].aux)->join, col = (int32_t)in->imm;
            load_stored(b, in->dst, &b->ep->joins[join].cols[col], KP_JOIN_DATA, KP_JOIN_VALID, join, col,
                        raw(b, in->a));
            break;
        }
        case OP_REPEAT: repeat(b, in); break;
        default: expression(b, in);
        }
    }
    b->pc = p->n_instrs;
    return true;
}

static void heading(Bc *b) {
    const Source *s = &b->prog->source;
    const Sink *k = &b->prog->sink;
    bool table = s->kind == SRC_TABLE, limit = k->kind == SINK_ROWS && k->limit >= 0;
    b->head[BH_SOURCE] = s->kind;
    b->head[BH_TILES] = PARAM(b, KP_SRC_TILES, 0);
    if (table) {
        b->head[BH_LIST] = PARAM(b, KP_TABLET_LIST, 0);
        b->head[BH_TABLETS] = PARAM(b, KP_TABLETS, 0);
    } else {
        b->head[BH_FIRST] = PARAM(b, KP_SRC_FIRST, 0);
        b->head[BH_ROWS] = PARAM(b, KP_SRC_ROWS, 0);
    }
    b->head[BH_LIMIT] = limit ? PARAM(b, KP_LIMIT, 0) : BC_NO;
    if (limit) b->head[BH_COUNT] = PARAM(b, KP_OUT_COUNT, k->id);
    if (s->kind == SRC_JOIN) {
        b->head[BH_SOURCE_BASE] = PARAM(b, KP_JOIN_MATCHED, s->id);
        b->head[BH_SOURCE_ARG] = s->matched;
    }
    if (s->kind == SRC_AGG) {
        b->head[BH_SOURCE_BASE] = PARAM(b, KP_AGG_RECORDS, s->id);
        b->head[BH_SOURCE_ARG] = (uint32_t)b->ep->aggs[s->id].stride;
        b->head[BH_SKIP_DEAD] = !b->plan->aggs[s->id].one_group;
    }
}

/* Everything but the text. false: out of memory. */
static bool compile(Bc *b, const EmitPlan *ep, int32_t segment, bool last, Arena *a) {
    *b = (Bc){.ep = ep,
              .forms = (EmitForms *)(uintptr_t)ep->forms,
              .plan = ep->plan,
              .prog = ep->plan->segments[segment].program,
              .regs = ep->forms->segs[segment].regs,
              .arena = a,
              .segment = segment,
              .last = last,
              .kernels = EK_MAIN};
    PARAM(b, KP_ERR, 0);
    PARAM(b, KP_CODE, 0);
    heading(b);
    if (!lives(b) || !instructions(b)) return false;
    if (b->reason) return true;
    bc_sink(b);
    refer(b, false, put(b, (Ins){.op = BC_SINK, .a = BC_NOREG, .b = BC_NOREG}) + 5, fail_label(b));
    bc_finish(b);
    return !b->oom;
}

static bool join_up(Bc *b, EmitSegment *out) {
    uint32_t base = (uint32_t)(BH_WORDS + b->table.len);
    for (int64_t i = 0; i < b->refs.len; i++) {
        const Ref *r = &b->refs.items[i];
        uint32_t *w = r->in_table ? &b->table.items[r->word] : &b->code.items[r->word];
        int32_t at = r->label >= 0 ? b->labels.items[r->label] : -1; /* labels that are not set are never gone to */
        *w = at >= 0 ? base + (uint32_t)at * BC_WORDS : BC_ROW_DONE;
    }
    b->head[BH_START] = base;
    int64_t words = base + b->code.len;
    uint32_t *all = arena_array(b->arena, uint32_t, words);
    if (!all) return false;
    memcpy(all, b->head, sizeof b->head);
    if (b->table.len) memcpy(all + BH_WORDS, b->table.items, sizeof *all * (size_t)b->table.len);
    memcpy(all + base, b->code.items, sizeof *all * (size_t)b->code.len);
    out->code = all;
    out->code_bytes = words * 4;
    return true;
}

const char *interp_reason(const EmitPlan *ep, int32_t segment, Arena *a) {
    if (ep->reasons[segment]) return ep->reasons[segment];
    Bc b;
    return compile(&b, ep, segment, true, a) ? b.reason : "out of memory";
}

Status interp_segment(const EmitPlan *ep, int32_t segment, bool last, Arena *a, EmitSegment *out, Err *e) {
    *out = (EmitSegment){0};
    if (ep->reasons[segment])
        return err_internal(e, "segment %d cannot run on a device: %s", (int)segment, ep->reasons[segment]);
    Bc b;
    if (!compile(&b, ep, segment, last, a)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    if (b.reason) return err_internal(e, "segment %d cannot be interpreted: %s", (int)segment, b.reason);
    const EmitTarget *t = &ep->target;
    EmitParam filler = {.kind = KP_ERR};
    while (t->whole_params && b.params.len < DEV_PARAMS_MAX)
        if (!vec_push(a, &b.params, filler)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    char group[48] = "";
    if (!t->native_threads) snprintf(group, sizeof group, "#define GROUP_SIZE %d\n", (int)t->group_size);
    out->source = arena_printf(
        a, "#define N_PARAMS %d\n#define ERR_PARAM 0\n%s%s#define TILE_ROWS %d\n#define TABLET_ROWS %d\n%s%s",
        (int)DEV_PARAMS_MAX, group, hash_constant ? "#define HASH_CONSTANT 1\n" : "", (int)t->tile_rows,
        (int)TABLET_ROWS, KERNEL_PRELUDE_INCLUDE, kernel_interp_text);
    if (!out->source || !join_up(&b, out)) return err_is_set(e) ? ST_ERROR : err_oom(e);
    out->source_bytes = (int64_t)strlen(out->source);
    out->n_params = (int32_t)b.params.len;
    out->params = b.params.items;
    out->kernels = b.kernels;
    out->identity_sink = emit_is_identity(ep, b.prog);
    out->n_tables_cols = (int32_t)b.cols.len;
    out->table_cols = b.cols.items;
    for (int64_t i = 0; i < b.cols.len; i++)
        out->bytes_per_row += emit_table_col(b.forms, b.prog->source.table, b.cols.items[i])->bytes;
    return ST_OK;
}
