/* emit_host.c - lists of rows, on the CPU.
 *
 * A processor core that tests one row after the other waits for mispredicted branches and for one cache miss at a time.
 * On the host a tile of a table is therefore narrowed down first: the leading filters by the storage's own loops over
 * packed columns (HostScanFn), which leave a list of positions in local memory; then each further test that needs
 * nothing but the source's columns, in a loop of its own without branches, whose loads are independent of each other.
 * The program runs over what is left.
 *
 * Tests that are done exactly are left out of the program. An inner join or a join by hash is only asked whether its
 * head is empty, and then, by hash, whether the first candidate has these keys or is not the only one: the program
 * looks again, at memory that is now in the cache. A test never moves before an instruction that can raise an error.
 */
#include "codegen/emit_int.h"

enum { STAGES_MAX = 6 };

/* No effect but on its result. */
static bool is_pure(const Program *p, const Instr *in) {
    if (in->op == OP_CVT) { /* a wider integer holds every value */
        uint8_t from = p->regs[in->a].phys, to = p->regs[in->dst].phys;
        return from <= PH_I64 && to <= PH_I64 && from <= to;
    }
    if (in->op == OP_LOAD_BUILD || in->op == OP_CALL || in->op == OP_ENDIF || in->op == OP_ELSE) return false;
    return in->dst && !(op_info[in->op].flags & (F_FAIL | F_ROWS | F_BLOCK));
}

/* Marks what an instruction needs; false when that is more than the source's columns and pure operations. */
static bool row_slice(const Em *m, int32_t pc, bool *in_slice) {
    const Program *p = m->prog;
    for (int32_t i = 0; i < pc; i++) in_slice[i] = false;
    for (int32_t i = pc; i >= 0; i--) {
        if (i < pc && !in_slice[i]) continue;
        const Instr *in = &p->instrs[i];
        if (i < pc && !is_pure(p, in)) return false;
        Reg r;
        for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++) {
            if (r == 0 || p->regs[r].is_const) continue;
            if (p->regs[r].first < 0 || p->regs[r].first >= i) return false;
            in_slice[p->regs[r].first] = true;
        }
    }
    return true;
}

/* Instructions that no later test may pass. */
static bool is_barrier(const Em *m, const Instr *in) {
    if (in->op == OP_PROBE) {
        const ProbeSite *s = in->aux;
        return s->kind == PK_SINGLE || s->kind == PK_MARK_BUILD || m->plan->joins[s->join].track_matched;
    }
    if (in->op == OP_FILTER || in->op == OP_FILTER_RANGE || in->op == OP_FILTER_CODES || in->op == OP_LOAD_BUILD)
        return false;
    return !is_pure(m->prog, in);
}

/* 0 no, 1 as a first test only, 2 in full. */
static int testable(const Em *m, const Instr *in) {
    if (in->op == OP_FILTER) return 2;
    if (in->op != OP_PROBE && in->op != OP_PROBE_BEGIN) return 0;
    const ProbeSite *s = in->aux;
    const JoinSpec *j = &m->plan->joins[s->join];
    const DevJoin *d = &m->ep->joins[s->join];
    bool exact = d->form != DJ_HASH && in->op == OP_PROBE;
    if (j->n_keys == 0) return 0;
    for (int32_t i = 0; i < j->n_keys; i++)
        if (j->keys[i].phys >= PH_STR) return 0;
    if (s->kind == PK_ANTI) return exact ? 2 : 0;
    if (s->kind == PK_SEMI) return exact ? 2 : 1;
    return s->kind == PK_INNER ? 1 : 0;
}

/* keys: the second test of a join by hash; false, and nothing is written, when there is none. */
static bool write_stage(Em *m, int32_t pc, const bool *in_slice, bool first, bool keys) {
    const Program *p = m->prog;
    const Instr *in = &p->instrs[pc];
    int64_t start = m->text.body.n;
    w(m, "{\nu32 kept = 0;\nfor (u32 nth = 0; nth < %s; nth++) {\n", first ? "end - first" : "n_sel");
    w(m, first ? "const u32 row = first + nth;\nif (deleted != 0 && bit_at(deleted, row)) continue;\n"
               : "const u32 row = sel[nth];\n");
    for (int32_t i = 0; i < pc; i++) {
        if (!in_slice[i]) continue;
        const Instr *x = &p->instrs[i];
        m->pc = i;
        if (x->op == OP_LOAD || x->op == OP_LOAD_CODE || x->op == OP_LOAD_ROWID) em_load(m, x);
        else if (!em_expr(m, x)) m->reason = op_info[x->op].name;
    }
    m->pc = pc;
    if (keys && !em_probe_keys(m, in)) {
        m->text.body.n = start;
        return false;
    }
    if (in->op == OP_FILTER) w(m, "const bool pass = %v & %r;\n", in->a, in->a);
    else if (!keys) em_probe_test(m, in);
    w(m, "sel[kept] = row;\nkept += (u32)pass;\n}\nn_sel = kept;\n}\n");
    return true;
}

/* What is not needed any more after tests have been left out. */
static void drop_unused(Em *m) {
    const Program *p = m->prog;
    bool *used = arena_array(m->arena, bool, p->n_regs + 1);
    if (!used) return;
    Reg r;
    for (int32_t k = 0; (r = sink_use(&p->sink, k)) >= 0; k++) used[r] = true;
    for (int32_t i = p->n_instrs - 1; i >= 0; i--) {
        const Instr *in = &p->instrs[i];
        if (m->loop.done[i]) continue;
        if (is_pure(p, in) && !used[in->dst]) {
            m->loop.done[i] = true;
            continue;
        }
        for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++) used[r] = true;
    }
}

Status host_rows(Em *m) {
    const Program *p = m->prog;
    if (!m->ep->target.native_threads || !m->ep->target.host_lists || p->source.kind != SRC_TABLE ||
        p->source.table->on_device || chan_writes(m->ep, p))
        return ST_OK;
    m->loop.done = arena_array(m->arena, bool, p->n_instrs + 1);
    bool *in_slice = arena_array(m->arena, bool, p->n_instrs + 1);
    if (!m->loop.done || !in_slice) return ST_ERROR;
    Out program = m->text.body;
    m->text.body = (Out){0};
    int32_t at = 0, stages = 0;
    for (; at < p->n_instrs && (p->instrs[at].op == OP_FILTER_RANGE || p->instrs[at].op == OP_FILTER_CODES); at++) {
        m->loop.done[at] = true;
        (void)em_need_col(m, p->instrs[at].imm);
    }
    bool scan = at > 0; /* which leaves out deleted rows, too */
    if (scan) {
        w(m, "n_sel = ((u32 (*)(u64, u32, u32, u32, u32 *))%p)(%p, tno, first, end - first, sel);\n",
          P0(m, KP_HOST_SCAN_FN), P0(m, KP_HOST_SCAN));
    }
    for (; at < p->n_instrs && stages < STAGES_MAX; at++) {
        const Instr *in = &p->instrs[at];
        int test = testable(m, in);
        if (test && row_slice(m, at, in_slice)) {
            (void)write_stage(m, at, in_slice, !scan && stages == 0, false);
            stages++;
            if (in->op != OP_FILTER && stages < STAGES_MAX && write_stage(m, at, in_slice, false, true)) stages++;
            if (test == 2) m->loop.done[at] = true;
        }
        if (is_barrier(m, in)) break;
    }
    m->loop.listed = scan || stages > 0;
    m->loop.stages = m->text.body;
    m->text.body = program;
    if (m->loop.listed) drop_unused(m);
    return ST_OK;
}
