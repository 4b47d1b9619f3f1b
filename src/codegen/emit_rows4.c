/* emit_rows4.c - four rows per item at a time.
 *
 * On a device that hides latency by having many loads under way, a loop that loads, tests and loads again does not ask for enough at once. Here an
 * item takes four neighbouring rows of a table. In a first step it loads the columns of the leading filters, and others of which most of the memory would
 * be touched anyway, for all four rows (narrow codes by one wide load); tests the filters; then loads further columns of the rows that
 * passed; and only then runs the program on one row after the other. Values are in variables q<column>_0 .. _3, which move down by one
 * with each row, so that the program is written once and uses q<column>_0.
 *
 * How much of a column's memory is touched follows from the guessed share of rows that reach its load: a sector of SECTOR_BITS is fetched as a whole.
 */
#include <math.h>

#include "codegen/emit_int.h"

enum { SECTOR_BITS = 256, EARLY_MAX = 12, LATE_MAX = 8 };
static const double touched_enough = 0.4, rows_enough = 0.001, few_rows = 0.3;

const PreCol *rows4_col(const Em *m, int32_t col) {
    for (int32_t i = 0; i < m->n_pre; i++)
        if (m->pre[i].tc->col == col) return &m->pre[i];
    return NULL;
}

/* ---- what to load ahead ------------------------------------------------------------------------------ */
/* Shares are guessed from what a test is, not from its constants: the text must be the same for other constants. */
static double range_share(const RangeTest *t) {
    double share = t->lo == t->hi ? 0.05 : t->lo != INT64_MIN && t->hi != INT64_MAX ? 0.15 : 0.4;
    return t->negate ? 1 - share : share;
}
static double probe_share(const Em *m, const ProbeSite *s) {
    const DevJoin *d = &m->ep->joins[s->join];
    const JoinSpec *j = &m->plan->joins[s->join];
    if (s->kind != PK_INNER && s->kind != PK_SEMI) return 1;
    if (d->form == DJ_HASH || d->dom <= 0 || !isfinite(j->est_rows)) return 0.5;
    return j->est_rows > (double)d->dom / 2 ? 1 : 0.2;
}

static double leading_share(const Em *m) {
    double share = 1;
    for (int32_t i = 0; i < m->n_leading; i++) {
        const Instr *in = &m->prog->instrs[i];
        share *= in->op == OP_FILTER_RANGE ? range_share(in->aux) : 0.3;
    }
    return share;
}

/* The phys of a column's variables, PH_COUNT_ when it is not loaded ahead. */
static uint8_t pre_phys(const TabCol *tc) {
    uint64_t packed = (UINT64_C(1) << (DF_FOR64 + 1)) - 1, ints = 0;
    for (int p = PH_BOOL; p <= PH_I64; p++) ints |= UINT64_C(1) << (DF_PLAIN + p);
    if (tc->forms == 0) return PH_COUNT_;
    if ((tc->forms & ~(packed | ints)) == 0) return tc->fits32 ? PH_I32 : PH_I64;
    if (tc->forms == UINT64_C(1) << (DF_PLAIN + PH_F32)) return PH_F32;
    if (tc->forms == UINT64_C(1) << (DF_PLAIN + PH_F64)) return PH_F64;
    return PH_COUNT_;
}

static void add_col(Em *m, int64_t col, bool late, int32_t *early_left, int32_t *late_left) {
    if (rows4_col(m, (int32_t)col)) return;
    int32_t *left = late ? late_left : early_left;
    const TabCol *tc = em_need_col(m, col);
    uint8_t phys = tc ? pre_phys(tc) : PH_COUNT_;
    if (phys == PH_COUNT_ || *left == 0) return;
    --*left;
    m->pre[m->n_pre++] = (PreCol){tc, phys, late};
}

Status rows4_plan(Em *m) {
    const Program *p = m->prog;
    if (m->ep->target.kind == DEVICE_HOST || p->source.kind != SRC_TABLE || p->source.table->n_tablets == 0) return ST_OK;
    if (!(m->pre = arena_array(m->arena, PreCol, EARLY_MAX + LATE_MAX))) return ST_ERROR;
    double share = 1;
    bool leading = true;
    int32_t early = EARLY_MAX, late = LATE_MAX;
    for (int32_t i = 0; i < p->n_instrs && share > rows_enough; i++) {
        const Instr *in = &p->instrs[i];
        bool filter = in->op == OP_FILTER_RANGE || in->op == OP_FILTER_CODES;
        if (filter || in->op == OP_LOAD || in->op == OP_LOAD_CODE) {
            const TabCol *tc = em_need_col(m, in->imm);
            if (!tc) return ST_ERROR;
            double touched = 1 - pow(1 - share, SECTOR_BITS / fmax(1, tc->bytes * 8));
            if (leading && filter && pre_phys(tc) == PH_COUNT_) leading = false; /* its test needs the row */
            bool now = (leading && filter) || touched >= touched_enough;
            add_col(m, in->imm, !now, &early, &late);
            if (leading && filter && !rows4_col(m, (int32_t)in->imm)) leading = false;
        }
        if (leading && filter) m->n_leading = i + 1;
        else leading = false;
        if (in->op == OP_FILTER_RANGE) share *= range_share(in->aux);
        else if (in->op == OP_FILTER_CODES) share *= 0.3;
        else if (in->op == OP_FILTER) share *= 0.5;
        else if (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) share *= probe_share(m, in->aux);
        else if (in->op == OP_IF) break; /* what a body loads, few rows may need */
        if ((in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) && share < 0.5) break;
    }
    m->rows4 = true;
    return ST_OK;
}

/* ---- the item's loop --------------------------------------------------------------------------------------- */
static void early_form(Em *m, Out *o, const PreCol *p, uint32_t form) {
    static const int32_t width[] = {0, 1, 2, 4, 8, 16, 24, 32, 64};
    int32_t c = p->tc->col;
    const char *t = c_type[p->phys];
    if (form > DF_FOR0 && form <= DF_FOR32) {
        out_w(m, o, "{ u32 x[4]; load4_%d(cd%d, row0, x);", width[form], c);
        for (int32_t k = 0; k < 4; k++)
            out_w(m, o, p->phys == PH_I32 ? " q%d_%d = (i32)cb%d + (i32)x[%d];" : " q%d_%d = (i64)((u64)cb%d + x[%d]);", c, k, c, k);
        out_w(m, o, " }\n");
        return;
    }
    for (int32_t k = 0; k < 4; k++) {
        char row[64];
        snprintf(row, sizeof row, form <= DF_FOR64 ? "row0 + %d" : "(row0 + %d < end ? row0 + %d : row0)", (int)k, (int)k);
        out_w(m, o, "q%d_%d = (%s)", c, k, t);
        em_put_form(m, o, form, c, p->phys, row);
        out_w(m, o, ";\n");
    }
}
static void late_form(Em *m, Out *o, const PreCol *p, uint32_t form) {
    int32_t c = p->tc->col;
    for (int32_t k = 0; k < 4; k++) {
        char row[64];
        snprintf(row, sizeof row, "row0 + %d", (int)k);
        out_w(m, o, "if (ok_%d) q%d_%d = (%s)", k, c, k, c_type[p->phys]);
        em_put_form(m, o, form, c, p->phys, row);
        out_w(m, o, ";\n");
    }
}
static void load_pre(Em *m, Out *o, const PreCol *p) {
    uint64_t forms = p->tc->forms;
    int32_t c = p->tc->col;
    out_w(m, o, "%s q%d_0 = 0, q%d_1 = 0, q%d_2 = 0, q%d_3 = 0;\n", c_type[p->phys], c, c, c, c);
    bool several = (forms & (forms - 1)) != 0;
    if (several) out_w(m, o, "switch (cf%d) {\n", c);
    while (forms) {
        uint32_t form = (uint32_t)__builtin_ctzll(forms);
        forms &= forms - 1;
        if (several && forms) out_w(m, o, "case %d:\n", (int32_t)form);
        else if (several) out_w(m, o, "default:\n");
        if (p->late) late_form(m, o, p, form);
        else early_form(m, o, p, form);
        if (several) out_w(m, o, "break;\n");
    }
    if (several) out_w(m, o, "}\n");
}

void rows4_filter(Em *m, Out *o, int32_t pc) {
    const Instr *in = &m->prog->instrs[pc];
    const PreCol *p = rows4_col(m, (int32_t)in->imm);
    int32_t c = p->tc->col;
    bool nulls = p->tc->some_valid;
    const char *t = c_type[p->phys];
    for (int32_t k = 0; k < 4; k++) {
        out_w(m, o, "ok_%d &= ", k);
        if (in->op == OP_FILTER_RANGE) {
            const RangeTest *r = in->aux;
            int32_t lo = P1(m, KP_LO, pc), hi = P1(m, KP_HI, pc);
            if (nulls) out_w(m, o, "(cn%d == 0 || !ok_%d || bit_at(cn%d, row0 + %d)) & ", c, k, c, k);
            out_w(m, o, r->negate ? "!" : "");
            out_w(m, o, "((q%d_%d >= (%s)P(%d)) & (q%d_%d <= (%s)P(%d)));\n", c, k, t, lo, c, k, t, hi);
            continue;
        }
        const CodeMask *mask = in->aux;
        if (nulls) out_w(m, o, mask->mask[mask->n] ? "(cn%d != 0 && ok_%d && !bit_at(cn%d, row0 + %d)) || " : "(cn%d == 0 || !ok_%d || bit_at(cn%d, row0 + %d)) && ", c, k, c, k);
        if (mask->n <= 64) out_w(m, o, "((P(%d) >> (q%d_%d & 63)) & 1) != 0;\n", P1(m, KP_MASK_BITS, pc), c, k);
        else out_w(m, o, "(ok_%d && GRO(u8, P(%d))[q%d_%d] != 0);\n", k, P1(m, KP_MASK, pc), c, k);
    }
}

/* Bodies without loops are unrolled, others would only grow. */
static bool is_simple(const Em *m) {
    for (int32_t i = 0; i < m->prog->n_instrs; i++) {
        uint16_t op = m->prog->instrs[i].op;
        if (op == OP_PROBE || op == OP_PROBE_BEGIN || op == OP_REPEAT || op == OP_LIKE || op == OP_CALL || op == OP_NUM_DIV || op == OP_NUM_MUL) return false;
    }
    return m->prog->sink.kind != SINK_AGG || m->ep->aggs[m->prog->sink.id].form != DA_HASH;
}

void rows4_begin(Em *m, Out *o) {
    out_w(m, o, "for (u32 row0 = first + LID * 4; row0 < end; row0 += LSIZE * 4) {\n");
    for (int32_t i = 0; i < m->n_pre; i++)
        if (!m->pre[i].late) load_pre(m, o, &m->pre[i]);
    out_w(m, o, "bool ok_0 = true, ok_1 = row0 + 1 < end, ok_2 = row0 + 2 < end, ok_3 = row0 + 3 < end;\n");
    if (m->seg->deletions) {
        out_w(m, o, "if (deleted != 0) {\n");
        for (int32_t k = 0; k < 4; k++) out_w(m, o, "ok_%d = ok_%d && !bit_at(deleted, row0 + %d);\n", k, k, k);
        out_w(m, o, "}\n");
    }
    for (int32_t pc = 0; pc < m->n_leading; pc++) rows4_filter(m, o, pc);
    /* Compilers move loads behind a jump, where they wait for the filters' columns: there is one only where it saves late columns or most rows. */
    bool jump = leading_share(m) < few_rows;
    for (int32_t i = 0; i < m->n_pre; i++) jump |= m->pre[i].late;
    if (jump) out_w(m, o, "if (!(ok_0 | ok_1 | ok_2 | ok_3)) continue;\n");
    for (int32_t i = 0; i < m->n_pre; i++)
        if (m->pre[i].late) load_pre(m, o, &m->pre[i]);
    out_w(m, o, is_simple(m) ? "UNROLL4\n" : "NO_UNROLL\n");
    out_w(m, o, "for (u32 k = 0; k < 4; k++, ok_0 = ok_1, ok_1 = ok_2, ok_2 = ok_3");
    for (int32_t i = 0; i < m->n_pre; i++) {
        int32_t c = m->pre[i].tc->col;
        out_w(m, o, ", q%d_0 = q%d_1, q%d_1 = q%d_2, q%d_2 = q%d_3", c, c, c, c, c, c);
    }
    out_w(m, o, ") {\nif (!ok_0) continue;\nconst u32 row = row0 + k;\n");
}
