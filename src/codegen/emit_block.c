/* emit_block.c - blocks of neighbouring rows, on devices with many items.
 *
 * On a device that hides latency by having many loads under way, a loop that loads, tests and loads again does not ask
 * for enough at once, and a loop whose items part at a test leaves most of them idle. Here an item takes a block of 4
 * or 8 neighbouring rows of a table: it loads columns for all of them (narrow codes by one wide load) and tests the
 * leading filters. Then, by what the program is (block_plan):
 *
 *   whole    the rest of the program can do no harm (no error, no memory read through values): it runs for all rows of
 *            the block, without a jump, and only the sink asks whether the row counts. All columns are loaded with the
 *            block.
 *   sifted   else, where filters leave few rows: the block's loop only lists the rows that passed, in local memory.
 *            After a barrier the program runs over the list, so that neighbouring items have rows again, and loads
 *            further columns for those rows alone. A join that comes first is a filter, too: heads, and first
 *            candidates by hash, are looked at for all rows of the block at once. The program looks again.
 *   else     the program runs on one row of the block after the other. No blocks where LIKE reads most rows' strings.
 *
 * A block's values are in variables q<column>_0 .. _7, which move down by one with each row, so that the program is
 * written once and uses q<column>_0.
 *
 * How much of a column's memory is touched follows from the guessed share of rows that reach its load: FETCH_BITS come
 * from memory at once. */
#include <math.h>

#include "codegen/emit_int.h"

enum { FETCH_BITS = 512, COLS_MAX = 20, BLOCK_BITS_MAX = 1024, SIFT_BYTES = 8192 };
static const double touched_enough = 0.4; /* of a column: load it with the block */
static const double rows_enough = 0.001;
static const double sift_share = 0.5;  /* at most so many rows pass the filters of a sifted scan */
static const double whole_bytes = 1.6; /* a whole block may read so much more than a sifted one: it is never idle */
static const double few_rows = 0.3;    /* a jump over blocks without rows pays */

const PreCol *block_col(const Em *m, int32_t col) {
    for (int32_t i = 0; i < m->loop.n_pre; i++)
        if (m->loop.pre[i].tc->col == col) return &m->loop.pre[i];
    return NULL;
}

/* ---- shares ------------------------------------------------------------------------------------------- */
/* Guessed from what a test is, not from its constants: the text must be the same for other constants. */
static double range_share(const RangeTest *t) {
    double share = t->lo == t->hi ? 0.05 : t->lo != INT64_MIN && t->hi != INT64_MAX ? 0.15 : 0.4;
    return t->negate ? 1 - share : share;
}
static double probe_share(const Em *m, const ProbeSite *s) {
    const DevJoin *d = &m->ep->joins[s->join];
    const JoinSpec *j = &m->plan->joins[s->join];
    if (s->kind != PK_INNER && s->kind != PK_SEMI && s->kind != PK_MARK_BUILD) return 1;
    if (d->form == DJ_HASH || d->dom <= 0 || !isfinite(j->est_rows)) return 0.5;
    return j->est_rows > (double)d->dom / 2 ? 1 : 0.2;
}
static bool is_source_filter(const Instr *in) { return in->op == OP_FILTER_RANGE || in->op == OP_FILTER_CODES; }
static double instr_share(const Em *m, const Instr *in) {
    if (in->op == OP_FILTER_RANGE) return range_share(in->aux);
    if (in->op == OP_FILTER_CODES) return 0.3;
    if (in->op == OP_FILTER) return 0.5;
    if (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) return probe_share(m, in->aux);
    return 1;
}
static double leading_share(const Em *m) {
    double share = 1;
    for (int32_t i = 0; i < m->loop.n_leading; i++) share *= instr_share(m, &m->prog->instrs[i]);
    return share;
}
static double touched(const TabCol *tc, double share) {
    return 1 - pow(1 - share, FETCH_BITS / fmax(1, tc->bytes * 8));
}

/* ---- what to load with the block ------------------------------------------------------------------------ */
/* Forms of cells of a phys. */
static uint64_t cells_of(uint8_t phys) { return UINT64_C(1) << (DF_PLAIN + phys) | UINT64_C(1) << (DF_STRIDED + phys); }
/* The phys of a column's variables, PH_COUNT_ when blocks cannot have it. */
static uint8_t pre_phys(const TabCol *tc) {
    uint64_t packed = (UINT64_C(1) << (DF_FOR64 + 1)) - 1, ints = 0;
    for (int p = PH_BOOL; p <= PH_I64; p++) ints |= cells_of((uint8_t)p);
    if (tc->forms == 0) return PH_COUNT_;
    if ((tc->forms & ~(packed | ints)) == 0) return tc->fits32 ? PH_I32 : PH_I64;
    if ((tc->forms & ~cells_of(PH_F32)) == 0) return PH_F32;
    if ((tc->forms & ~cells_of(PH_F64)) == 0) return PH_F64;
    return PH_COUNT_;
}
static bool add_col(Em *m, int64_t col) {
    if (block_col(m, (int32_t)col)) return true;
    const TabCol *tc = em_need_col(m, col);
    uint8_t phys = tc ? pre_phys(tc) : PH_COUNT_;
    if (phys == PH_COUNT_ || m->loop.n_pre == COLS_MAX) return false;
    m->loop.pre[m->loop.n_pre++] = (PreCol){tc, phys};
    return true;
}
static bool loads_column(const Instr *in) {
    return in->op == OP_LOAD || in->op == OP_LOAD_CODE || is_source_filter(in);
}

/* ---- whole ------------------------------------------------------------------------------------------------- */
static bool cannot_fail(const Instr *in) { return in->dst && !(op_info[in->op].flags & (F_FAIL | F_ROWS | F_BLOCK)); }
/* No effect but on its result, and no harm whatever its operands are. */
static bool is_harmless(const Program *p, const Instr *in) {
    Reg r;
    for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++)
        if (p->regs[r].phys == PH_STR) return false;
    if (in->dst && p->regs[in->dst].phys == PH_STR) return false;
    switch ((Opcode)in->op) {
    case OP_CODE_MAP:
    case OP_CALL:
    case OP_LOAD_BUILD:
    case OP_ELSE:
    case OP_ENDIF: return false;
    case OP_CODE_TEST: return ((const CodeMask *)in->aux)->n <= 64;
    case OP_CVT:
        return in->phys <= PH_I32 && p->regs[in->dst].phys >= in->phys && p->regs[in->dst].phys <= PH_I64 &&
               p->regs[in->dst].phys != PH_BOOL;
    case OP_FILTER:
    case OP_NONE: return true;
    default: return cannot_fail(in);
    }
}
static bool can_be_whole(Em *m) {
    const Program *p = m->prog;
    if (p->sink.kind != SINK_AGG || !agg_whole(m)) return false;
    for (int32_t i = m->loop.n_leading; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_LOAD || in->op == OP_LOAD_CODE) {
            const TabCol *tc = em_need_col(m, in->imm);
            if (!tc || pre_phys(tc) == PH_COUNT_ || p->regs[in->dst].phys == PH_STR) return false;
        } else if (!is_harmless(p, in)) {
            return false;
        }
    }
    return true;
}

/* A probe that comes before all else that can fail, by a key made of columns that blocks can have, and that drops many
 * rows: sets what block_begin needs to know. */
static bool can_sift_probe(Em *m) {
    const Program *p = m->prog;
    int32_t pc = m->loop.n_leading;
    while (pc < p->n_instrs &&
           (is_source_filter(&p->instrs[pc]) || p->instrs[pc].op == OP_FILTER || cannot_fail(&p->instrs[pc])))
        pc++;
    if (pc == p->n_instrs || (p->instrs[pc].op != OP_PROBE && p->instrs[pc].op != OP_PROBE_BEGIN)) return false;
    const ProbeSite *s = p->instrs[pc].aux;
    const JoinSpec *j = &m->plan->joins[s->join];
    bool alone = p->instrs[pc].op == OP_PROBE, hash = m->ep->joins[s->join].form == DJ_HASH;
    if (j->n_keys == 0 || probe_share(m, s) > sift_share) return false;
    if (s->kind != PK_INNER && s->kind != PK_SEMI && !(s->kind == PK_ANTI && alone && !hash) &&
        !(s->kind == PK_MARK_BUILD && alone))
        return false;
    if (!(m->loop.sift_slice = arena_array(m->arena, bool, pc + 1))) return false;
    m->loop.sift_slice[pc] = true;
    for (int32_t i = pc; i >= m->loop.n_leading; i--) {
        const Instr *in = &p->instrs[i];
        if (!m->loop.sift_slice[i]) continue;
        if (i < pc && (!is_harmless(p, in) || (loads_column(in) && !add_col(m, in->imm)))) return false;
        Reg r;
        for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++) {
            if (r == 0 || p->regs[r].is_const) continue;
            if (p->regs[r].first < m->loop.n_leading || p->regs[r].first >= i) return false;
            m->loop.sift_slice[p->regs[r].first] = true;
        }
    }
    m->loop.sift_probe = pc;
    return true;
}

/* Bytes per row that the program reads when all columns are loaded, or only those of the leading filters and then what
 * is touched. */
static double bytes_read(const Em *m, bool whole) {
    const Program *p = m->prog;
    double bytes = 0, share = leading_share(m);
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (!loads_column(in)) continue;
        bool before = false;
        for (int32_t k = 0; k < i; k++) before |= loads_column(&p->instrs[k]) && p->instrs[k].imm == in->imm;
        const TabCol *tc = emit_table_col(m->forms, p->source.table, in->imm);
        if (!tc || before) continue;
        bytes += tc->bytes * (whole || i < m->loop.n_leading ? 1 : touched(tc, share));
    }
    return bytes;
}

/* Bodies without loops are unrolled, others would only grow. */
static bool is_simple(const Em *m) {
    for (int32_t i = 0; i < m->prog->n_instrs; i++) {
        uint16_t op = m->prog->instrs[i].op;
        if (op == OP_PROBE || op == OP_PROBE_BEGIN || op == OP_REPEAT || op == OP_LIKE || op == OP_CALL ||
            op == OP_NUM_DIV || op == OP_NUM_MUL)
            return false;
    }
    return m->prog->sink.kind != SINK_AGG || m->ep->aggs[m->prog->sink.id].form != DA_HASH;
}

/* Registers that eight rows take before they are unpacked. */
static bool fits_eight(const Em *m) {
    double bits = 0;
    for (int32_t i = 0; i < m->loop.n_pre; i++) {
        uint64_t packed32 = (UINT64_C(1) << (DF_FOR32 + 1)) - 1;
        bits += (m->loop.pre[i].tc->forms & ~packed32) ? 8 * 8.0 * (double)phys_size(m->loop.pre[i].phys)
                                                       : 64 * m->loop.pre[i].tc->bytes;
    }
    return bits <= BLOCK_BITS_MAX;
}

/* Whether a tile of a table is several of the executor's, so that fewer of them are begun: as long as every unit still
 * gets some. */
static void choose_tile(Em *m, int64_t most) {
    const Table *t = m->prog->source.table;
    const EmitTarget *g = &m->ep->target;
    int64_t tiles = t->n_tablets * (TABLET_ROWS / g->tile_rows), groups = (int64_t)g->units * 8;
    while (m->tile_rows * 2 <= most && tiles / (m->tile_rows / g->tile_rows * 2) >= 2 * groups) m->tile_rows *= 2;
}

/* Columns whose memory would be touched anyway are loaded with the block, as long as rows are left. */
static Status plan_rows(Em *m) {
    const Program *p = m->prog;
    double share = leading_share(m);
    for (int32_t i = m->loop.n_leading; i < p->n_instrs && share > rows_enough; i++) {
        const Instr *in = &p->instrs[i];
        if (loads_column(in)) {
            const TabCol *tc = em_need_col(m, in->imm);
            if (!tc) return ST_ERROR;
            if (touched(tc, share) >= touched_enough) (void)add_col(m, in->imm);
        }
        if (in->op == OP_IF) break; /* what a body loads, few rows may need */
        share *= instr_share(m, in);
        if ((in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) && share < 0.5) break;
    }
    return ST_OK;
}

/* Bytes of strings are read for most rows: of neighbouring rows by neighbouring items, then, so that what one has
 * brought into the cache serves the others before it is gone. */
static bool scans_strings(const Em *m) {
    double share = 1;
    for (int32_t i = 0; i < m->prog->n_instrs && share > few_rows; i++) {
        if (m->prog->instrs[i].op == OP_LIKE) return true;
        share *= instr_share(m, &m->prog->instrs[i]);
    }
    return false;
}

Status block_plan(Em *m) {
    const Program *p = m->prog;
    const EmitTarget *t = &m->ep->target;
    if (t->native_threads || p->source.kind != SRC_TABLE || p->source.table->n_tablets == 0) return ST_OK;
    if (!(m->loop.pre = arena_array(m->arena, PreCol, COLS_MAX))) return ST_ERROR;
    while (m->loop.n_leading < p->n_instrs && is_source_filter(&p->instrs[m->loop.n_leading]) &&
           add_col(m, p->instrs[m->loop.n_leading].imm))
        m->loop.n_leading++;
    bool channel = chan_reads(m->ep, p) || chan_writes(m->ep, p),
         limited = p->sink.kind == SINK_ROWS && p->sink.limit >= 0;
    bool local = p->sink.kind == SINK_AGG && m->ep->aggs[p->sink.id].form == DA_LOCAL;
    int64_t most = 4 * (int64_t)t->tile_rows,
            list_max = local ? SIFT_BYTES : MAX_OF(t->local_bytes, (int64_t)SIFT_BYTES);
    bool can_list = !channel && !limited && 2 * (int64_t)t->tile_rows <= list_max,
         sift = can_list && m->loop.n_leading > 0 && leading_share(m) <= sift_share;
    int32_t n_filters = m->loop.n_pre;
    if (can_be_whole(m) && (!sift || bytes_read(m, true) <= whole_bytes * bytes_read(m, false))) {
        m->loop.whole = true;
        for (int32_t i = m->loop.n_leading; i < p->n_instrs && m->loop.whole; i++)
            if (loads_column(&p->instrs[i])) m->loop.whole = add_col(m, p->instrs[i].imm);
    }
    if (!m->loop.whole) m->loop.n_pre = n_filters;
    m->loop.sift_probe = -1;
    if (!m->loop.whole && can_list &&
        leading_share(m) > few_rows) { /* else its key is better loaded for the rows that passed the filters */
        if (can_sift_probe(m)) sift = true;
        else m->loop.n_pre = n_filters;
    }
    if (!m->loop.whole && sift) {
        m->loop.sifted = true;
        out_w(m, &m->text.tile_end, "BARRIER();\n");
        most = MIN_OF(most, list_max / 2);
    } else if (!m->loop.whole && scans_strings(m)) {
        m->loop.n_pre = 0;
        return ST_OK;
    } else if (!m->loop.whole) {
        TRY(plan_rows(m));
    }
    m->loop.block = (m->loop.whole || m->loop.sifted) && !channel && fits_eight(m) ? 8 : 4;
    if (!channel) choose_tile(m, MIN_OF(most, (int64_t)TABLET_ROWS / 4));
    return ST_OK;
}

/* ---- the block's loop ------------------------------------------------------------------------------------------ */
static void load_form(Em *m, Out *o, const PreCol *p, uint32_t form) {
    static const int32_t width[] = {0, 1, 2, 4, 8, 16, 24, 32, 64};
    int32_t c = p->tc->col, n = m->loop.block;
    const char *t = c_type[p->phys];
    if (form > DF_FOR0 && form <= DF_FOR32) {
        out_w(m, o, "{ u32 x[%d]; load%d_%d(cd%d, row0, x);", n, n, width[form], c);
        for (int32_t k = 0; k < n; k++)
            out_w(m, o,
                  p->phys == PH_I32 ? " q%d_%d = (i32)((u32)cb%d + (u32)x[%d]);"
                                    : " q%d_%d = (i64)((u64)cb%d + x[%d]);",
                  c, k, c, k);
        out_w(m, o, " }\n");
        return;
    }
    for (int32_t k = 0; k < n; k++) {
        char row[64];
        snprintf(row, sizeof row, form <= DF_FOR64 ? "row0 + %d" : "(row0 + %d < end ? row0 + %d : row0)", (int)k,
                 (int)k);
        out_w(m, o, "q%d_%d = (%s)", c, k, t);
        em_put_form(m, o, form, c, p->phys, row);
        out_w(m, o, ";\n");
    }
}
static void load_pre(Em *m, Out *o, const PreCol *p) {
    uint64_t forms = p->tc->forms;
    int32_t c = p->tc->col;
    out_w(m, o, "%s ", c_type[p->phys]);
    for (int32_t k = 0; k < m->loop.block; k++) out_w(m, o, k ? ", q%d_%d = 0" : "q%d_%d = 0", c, k);
    out_w(m, o, ";\n");
    bool several = (forms & (forms - 1)) != 0;
    if (several) out_w(m, o, "switch (cf%d) {\n", c);
    while (forms) {
        uint32_t form = (uint32_t)__builtin_ctzll(forms);
        forms &= forms - 1;
        if (several && forms) out_w(m, o, "case %d:\n", (int32_t)form);
        else if (several) out_w(m, o, "default:\n");
        load_form(m, o, p, form);
        if (several) out_w(m, o, "break;\n");
    }
    if (several) out_w(m, o, "}\n");
    for (int32_t k = 0; k < m->loop.block; k++) {
        char name[32], row[32];
        snprintf(name, sizeof name, "q%d_%d", (int)c, (int)k);
        snprintf(row, sizeof row, "row0 + %d", (int)k);
        em_put_patch(m, o, p->tc, name, p->phys, row);
    }
}

/* A range is tested by one comparison of unsigned differences, which needs lo <= hi: `some` says that this holds for
 * all of them. */
static bool by_difference(const Instr *in) {
    return in->op == OP_FILTER_RANGE && !((const RangeTest *)in->aux)->negate;
}
static bool put_ranges(Em *m) {
    Out *top = &m->text.top;
    bool some = false;
    for (int32_t pc = 0; pc < m->loop.n_leading; pc++) {
        const Instr *in = &m->prog->instrs[pc];
        if (!by_difference(in)) continue;
        bool wide = block_col(m, (int32_t)in->imm)->phys == PH_I64;
        const char *t = wide ? "i64" : "i32", *u = wide ? "u64" : "u32";
        int32_t lo = P1(m, KP_LO, pc), hi = P1(m, KP_HI, pc);
        out_w(m, top, "    const %s lo%d = (%s)P(%d), span%d = (%s)P(%d) - lo%d;\n", u, pc, u, lo, pc, u, hi, pc);
        out_w(m, top,
              some ? "    some = some && (%s)P(%d) <= (%s)P(%d);\n" : "    bool some = (%s)P(%d) <= (%s)P(%d);\n", t,
              lo, t, hi);
        some = true;
    }
    return some;
}

static void put_filter(Em *m, Out *o, int32_t pc) {
    const Instr *in = &m->prog->instrs[pc];
    const PreCol *p = block_col(m, (int32_t)in->imm);
    int32_t c = p->tc->col;
    bool nulls = p->tc->some_valid;
    const char *t = c_type[p->phys];
    for (int32_t k = 0; k < m->loop.block; k++) {
        out_w(m, o, "ok_%d &= ", k);
        if (in->op == OP_FILTER_RANGE) {
            if (nulls) out_w(m, o, "(cn%d == 0 || !ok_%d || bit_at(cn%d, row0 + %d)) & ", c, k, c, k);
            if (by_difference(in))
                out_w(m, o, "((%s)q%d_%d - lo%d <= span%d);\n", p->phys == PH_I64 ? "u64" : "u32", c, k, pc, pc);
            else
                out_w(m, o, "!((q%d_%d >= (%s)P(%d)) & (q%d_%d <= (%s)P(%d)));\n", c, k, t, P1(m, KP_LO, pc), c, k, t,
                      P1(m, KP_HI, pc));
            continue;
        }
        const CodeMask *mask = in->aux;
        if (nulls)
            out_w(m, o,
                  mask->mask[mask->n] ? "(cn%d != 0 && ok_%d && !bit_at(cn%d, row0 + %d)) || "
                                      : "(cn%d == 0 || !ok_%d || bit_at(cn%d, row0 + %d)) && ",
                  c, k, c, k);
        if (mask->n <= 64) out_w(m, o, "((P(%d) >> (q%d_%d & 63)) & 1) != 0;\n", P1(m, KP_MASK_BITS, pc), c, k);
        else out_w(m, o, "(ok_%d && GRO(u8, P(%d))[q%d_%d] != 0);\n", k, P1(m, KP_MASK, pc), c, k);
    }
}

/* A sifted tile's list are positions in the tile. There are two counters, of this tile and of the next. */
static void put_probe(Em *m, Out *o) {
    const Program *p = m->prog;
    Out body = m->text.body;
    m->text.body = (Out){0};
    for (int32_t k = 0; k < m->loop.block; k++) {
        w(m, "{\nconst u32 row = row0 + %d;\n", k);
        m->loop.listing = k + 1;
        for (m->pc = m->loop.n_leading; m->pc < m->loop.sift_probe; m->pc++) {
            const Instr *in = &p->instrs[m->pc];
            if (!m->loop.sift_slice[m->pc]) continue;
            if (loads_column(in) || in->op == OP_LOAD_ROWID) em_load(m, in);
            else if (!em_expr(m, in)) m->reason = op_info[in->op].name;
        }
        w(m, "{\n");
        em_probe_test(m, &p->instrs[m->loop.sift_probe]);
        w(m, "ok_%d &= pass;\n}\n{\n", k);
        if (em_probe_keys(m, &p->instrs[m->loop.sift_probe])) w(m, "ok_%d &= pass;\n", k);
        w(m, "}\n}\n");
    }
    m->loop.listing = 0;
    if (m->text.body.failed) o->failed = true;
    if (m->text.body.n) out_put(m, o, m->text.body.p, m->text.body.n);
    m->text.body = body;
}

static void put_list(Em *m, Out *o) {
    int32_t n = m->loop.block;
    out_w(m, o, "const u32 passed = ");
    for (int32_t k = 0; k < n; k++) out_w(m, o, k ? " + (u32)ok_%d" : "(u32)ok_%d", k);
    out_w(m, o, ";\nif (passed == 0) continue;\nu32 to = la_add_u32(kept + (turn & 1), passed);\n");
    for (int32_t k = 0; k < n; k++) out_w(m, o, "if (ok_%d) list[to++] = (u16)(row0 - first + %d);\n", k, k);
    out_w(m, o,
          "}\nBARRIER();\nconst u32 n_kept = kept[turn & 1];\nif (LID == 0) kept[(turn & 1) ^ 1] = 0;\nturn++;\n");
    out_w(m, o, "for (u32 nth = LID; nth < n_kept; nth += LSIZE) {\nconst u32 row = first + list[nth];\n");
}

void block_begin(Em *m, Out *o) {
    int32_t n = m->loop.block;
    bool some = put_ranges(m);
    if (m->loop.sifted) {
        int64_t at = align_up(m->local_bytes, 16);
        m->local_bytes = at + 16 + 2 * (int64_t)m->tile_rows;
        out_w(m, &m->text.top,
              "    LOCAL u32 *kept = LM(u32, %l);\n    LOCAL u16 *list = LM(u16, %l);\n    u32 turn = 0;\n", at,
              at + 16);
        out_w(m, &m->text.top, "    if (LID == 0) kept[0] = kept[1] = 0;\n    BARRIER();\n");
    }
    if (some) out_w(m, o, "const u32 stop = some ? end : 0;\n");
    out_w(m, o, "for (u32 row0 = first + LID * %d; row0 < %s; row0 += LSIZE * %d) {\n", n, some ? "stop" : "end", n);
    for (int32_t i = 0; i < m->loop.n_pre; i++) load_pre(m, o, &m->loop.pre[i]);
    out_w(m, o, "bool ok_0 = true");
    for (int32_t k = 1; k < n; k++) out_w(m, o, ", ok_%d = row0 + %d < end", k, k);
    out_w(m, o, ";\n");
    out_w(m, o, "if (deleted != 0) {\n");
    for (int32_t k = 0; k < n; k++) out_w(m, o, "ok_%d = ok_%d && !bit_at(deleted, row0 + %d);\n", k, k, k);
    out_w(m, o, "}\n");
    for (int32_t pc = 0; pc < m->loop.n_leading; pc++) put_filter(m, o, pc);
    if (m->loop.sifted) {
        if (m->loop.sift_probe >= 0) put_probe(m, o);
        put_list(m, o);
        return;
    }
    /* Compilers move loads behind a jump, where they wait for the filters' columns: there is one only where it saves
     * most rows. */
    if (!m->loop.whole && leading_share(m) < few_rows) {
        out_w(m, o, "if (!(ok_0");
        for (int32_t k = 1; k < n; k++) out_w(m, o, " | ok_%d", k);
        out_w(m, o, ")) continue;\n");
    }
    out_w(m, o, m->loop.whole || is_simple(m) ? "UNROLL\n" : "NO_UNROLL\n");
    out_w(m, o, "for (u32 k = 0; k < %d; k++", n);
    for (int32_t k = 1; k < n; k++) out_w(m, o, ", ok_%d = ok_%d", k - 1, k);
    for (int32_t i = 0; i < m->loop.n_pre; i++)
        for (int32_t k = 1; k < n; k++)
            out_w(m, o, ", q%d_%d = q%d_%d", m->loop.pre[i].tc->col, k - 1, m->loop.pre[i].tc->col, k);
    out_w(m, o,
          m->loop.whole ? ") {\nconst u32 row = row0 + k;\n"
                        : ") {\nif (!ok_0) continue;\nconst u32 row = row0 + k;\n");
}
