/* split.c - cutting programs at operator boundaries.
 *
 * Stage 0 scans: the filters on encoded columns and all loads. After it come, each on its own, filters, probes (with
 * their residual bodies and all loads of build columns), REPEAT, and runs of expressions between them; the sink is the
 * last stage. A row store between two stages holds the registers that are born before the cut and used after it;
 * registers keep their numbers, so that an instruction is copied as it is.
 */
#include "exec/device/split.h"

#include "program/operands.h"

typedef struct Split {
    Arena *a;
    const QueryPlan *plan;
    const Program *p;
    int32_t *stage;       /* of each instruction */
    int32_t n_stages;     /* the sink's included */
    int32_t max_stages;   /* 0: any number */
    int32_t *born, *used; /* per register: stage that defines it (-1 constant or unused), last stage that reads it */
    VEC(SegmentPlan) segments;
    VEC(RowsSpec) rows;
    VEC(int32_t) from;
} Split;

static bool is_source(const Instr *in) { return (op_info[in->op].flags & F_SOURCE) != 0; }

/* Stages in program order: a new one where the kind of work changes. */
static void assign_stages(Split *s) {
    enum { SCAN, MAP, OTHER } kind = SCAN;
    int32_t stage = 0, depth = 0;
    for (int32_t i = 0; i < s->p->n_instrs; i++) {
        const Instr *in = &s->p->instrs[i];
        if (is_source(in) || in->op == OP_LOAD_BUILD) {
            s->stage[i] = is_source(in) ? 0 : s->born[in->a];
            if (in->dst) s->born[in->dst] = s->stage[i];
            continue;
        }
        bool opens = in->op == OP_IF || in->op == OP_PROBE_BEGIN, closes = in->op == OP_ENDIF || in->op == OP_PROBE_END;
        if (depth == 0) {
            bool own = (op_info[in->op].flags & F_ROWS) != 0;
            if (own || kind != MAP) stage++;
            kind = own ? OTHER : MAP;
        }
        depth += opens - closes;
        s->stage[i] = stage;
        if (in->dst) s->born[in->dst] = stage;
    }
    s->n_stages = stage + 2;
    if (stage == 0) s->n_stages = 1; /* loads and a sink: one operator as it is */
}

static bool is_unbounded(const Split *s, const Instr *in) {
    if (in->op == OP_REPEAT) return true;
    return (in->op == OP_PROBE || in->op == OP_PROBE_BEGIN) &&
           s->plan->joins[((const ProbeSite *)in->aux)->join].n_keys == 0;
}

/* At most max_stages, about as many operators in each; nothing is cut behind an unbounded operator. */
static void merge_stages(Split *s) {
    int32_t n = s->n_stages;
    if (s->max_stages == 0 || n == 1) return;
    for (int32_t i = 0; i < s->p->n_instrs; i++)
        if (is_unbounded(s, &s->p->instrs[i])) n = MIN_OF(n, s->stage[i] + 1);
    int32_t most = MIN_OF(n, s->max_stages);
    for (int32_t i = 0; i < s->p->n_instrs; i++)
        s->stage[i] = (int32_t)((int64_t)MIN_OF(s->stage[i], n - 1) * most / n);
    for (Reg r = 1; r < s->p->n_regs; r++)
        if (s->born[r] >= 0) s->born[r] = (int32_t)((int64_t)MIN_OF(s->born[r], n - 1) * most / n);
    s->n_stages = most;
}

static void find_uses(Split *s) {
    const Program *p = s->p;
    for (Reg r = 0; r < p->n_regs; r++) s->used[r] = -1;
    Reg u;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        for (int32_t k = 0; (u = instr_use(in, k)) != -1; k++)
            if (u) s->used[u] = MAX_OF(s->used[u], s->stage[i]);
    }
    for (int32_t k = 0; (u = sink_use(&p->sink, k)) != -1; k++)
        if (u) s->used[u] = s->n_stages - 1;
}

static bool crosses(const Split *s, Reg r, int32_t after) {
    return s->born[r] >= 0 && s->born[r] <= after && s->used[r] > after;
}

/* The row store behind stage `after`: registers in ascending order, at least one column. */
static Status cut(Split *s, int32_t after, int32_t n_regs, const RegInfo *regs, Reg filler, Sink *sink, Err *e) {
    int32_t n = 0;
    for (Reg r = 1; r < s->p->n_regs; r++) n += crosses(s, r, after);
    CellSpec *cells = arena_array(s->a, CellSpec, n + 1);
    Reg *out = arena_array(s->a, Reg, n + 1);
    if (!cells || !out) return err_oom(e);
    n = 0;
    for (Reg r = 1; r < n_regs; r++) {
        if (r == filler ? n > 0 : r >= s->p->n_regs || !crosses(s, r, after)) continue;
        const RegInfo *ri = &regs[r];
        cells[n] = (CellSpec){.phys = ri->phys,
                              .type = ri->type,
                              .nullable = ri->nullable,
                              .stable_str = ri->stable_str,
                              .dict = ri->dict};
        out[n++] = r;
    }
    const Sink *last = &s->p->sink;
    bool ordered = last->kind == SINK_ROWS && s->plan->rows[last->id].ordered;
    RowsSpec spec = {.n_cols = n, .cols = cells, .ordered = ordered, .limit = -1, .sort = -1};
    if (!vec_push(s->a, &s->rows, spec)) return err_oom(e);
    *sink = (Sink){.kind = SINK_ROWS, .id = (int32_t)s->rows.len - 1, .n_regs = n, .regs = out, .limit = -1};
    return ST_OK;
}

static Status emit_stage(Split *s, int32_t stage, const Source *src, const Sink *before, bool last, Sink *sink,
                         Err *e) {
    const Program *p = s->p;
    ProgramBuilder b = {.arena = s->a, .n_sites = p->n_sites};
    /* One register more than the program has: what a store holds whose rows carry nothing. */
    b.regs.cap = b.regs.len = p->n_regs;
    b.regs.items = arena_array(s->a, RegInfo, p->n_regs);
    if (!b.regs.items) return err_oom(e);
    memcpy(b.regs.items, p->regs, sizeof(RegInfo) * (size_t)p->n_regs);
    Value yes = {.type = {.id = T_BOOL}, .u.b = true};
    Reg filler = builder_const(&b, PH_BOOL, &yes);
    for (int32_t c = 0; before && c < before->n_regs; c++) {
        Reg r = before->regs[c];
        if (r == filler || s->used[r] < stage) continue;
        Instr *in = builder_emit(&b, OP_LOAD, (Phys)p->regs[r].phys, r, 0, 0, 0);
        if (in) in->imm = c;
    }
    for (int pass = 0; pass < 2; pass++) /* source filters first, so that loads touch what is left */
        for (int32_t i = 0; i < p->n_instrs; i++) {
            const Instr *in = &p->instrs[i];
            bool filter = is_source(in) && (op_info[in->op].flags & F_ROWS);
            if (s->stage[i] != stage || filter != (pass == 0)) continue;
            if (!vec_push(s->a, &b.instrs, *in)) return err_oom(e);
        }
    if (last) *sink = p->sink;
    else TRY(cut(s, stage, (int32_t)b.regs.len, b.regs.items, filler, sink, e));
    Program *out = program_finish(&b, src, sink, e);
    if (!out) return ST_ERROR;
    SegmentPlan g = {.program = out};
    static const char *const names[] = {"scan", "map", "filter", "probe", "repeat", "sink"};
    int what = stage == 0 ? 0 : last ? 5 : 1;
    for (int32_t i = 0; i < p->n_instrs && what == 1; i++)
        if (s->stage[i] == stage && (op_info[p->instrs[i].op].flags & F_ROWS))
            what = p->instrs[i].op == OP_FILTER ? 2 : p->instrs[i].op == OP_REPEAT ? 4 : 3;
    g.label = s->n_stages == 1 ? "" : names[what];
    if (!vec_push(s->a, &s->segments, g)) return err_oom(e);
    return ST_OK;
}

static Status split_segment(Split *s, int32_t index, Err *e) {
    const SegmentPlan *g = &s->plan->segments[index];
    s->p = g->program;
    s->stage = arena_array(s->a, int32_t, s->p->n_instrs + 1);
    s->born = arena_array(s->a, int32_t, s->p->n_regs);
    s->used = arena_array(s->a, int32_t, s->p->n_regs);
    if (!s->stage || !s->born || !s->used) return err_oom(e);
    for (Reg r = 0; r < s->p->n_regs; r++) s->born[r] = -1;
    assign_stages(s);
    merge_stages(s);
    find_uses(s);
    Source src = s->p->source;
    Sink sink = {0}, before = {0};
    for (int32_t stage = 0; stage < s->n_stages; stage++) {
        TRY(emit_stage(s, stage, &src, stage ? &before : NULL, stage == s->n_stages - 1, &sink, e));
        SegmentPlan *made = &s->segments.items[s->segments.len - 1];
        if (s->n_stages == 1) made->label = g->label;
        else if (!(made->label = arena_printf(s->a, "%s: %s", g->label, made->label))) return err_oom(e);
        if (!vec_push(s->a, &s->from, index)) return err_oom(e);
        before = sink;
        src = (Source){.kind = SRC_ROWS, .id = sink.id, .est_rows = s->p->source.est_rows};
    }
    return ST_OK;
}

Status plan_split(const QueryPlan *plan, Arena *a, int32_t max_stages, QueryPlan **out, int32_t **stage_of, Err *e) {
    Split s = {.a = a, .plan = plan, .max_stages = max_stages};
    for (int32_t i = 0; i < plan->n_rows; i++)
        if (!vec_push(a, &s.rows, plan->rows[i])) return err_oom(e);
    for (int32_t i = 0; i < plan->n_segments; i++) TRY(split_segment(&s, i, e));
    QueryPlan *q = arena_new_of(a, QueryPlan);
    if (!q) return err_oom(e);
    *q = *plan;
    q->n_segments = (int32_t)s.segments.len;
    q->segments = s.segments.items;
    q->n_rows = (int32_t)s.rows.len;
    q->rows = s.rows.items;
    *out = q;
    if (stage_of) *stage_of = s.from.items;
    return ST_OK;
}
