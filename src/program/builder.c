/* builder.c - putting programs together: appending, then liveness, carry lists and jumps.
 *
 * program_finish() computes, in this order:
 *   1. jumps       the partner of every bracket (IF -> ELSE -> ENDIF, PROBE_BEGIN -> PROBE_END; statements of
 * procedures likewise, P_STEP and P_ENDLOOP -> their P_LOOP, P_LEAVE -> where its calls go)
 *   2. liveness    defining instruction and last use of every register; the sink uses at n_instrs
 *   3. carry       for instructions that change the rows: what is defined before and used after. For openers of
 *                  bodies (IF, ELSE, PROBE_BEGIN): what the body uses from outside
 *   4. keep_pos    whether an instruction that reads the source follows (for bodies: is inside)
 * Constants never appear in carry lists: they have no rows.
 */
#include "program/operands.h"

void builder_init(ProgramBuilder *b, Arena *a) {
    *b = (ProgramBuilder){.arena = a};
    RegInfo none = {0};
    if (!vec_push(a, &b->regs, none)) b->failed = true; /* register 0 means "none" */
}

Reg builder_reg(ProgramBuilder *b, Phys phys, Type type, bool nullable) {
    RegInfo r = {.phys = (uint8_t)phys, .nullable = nullable, .type = type, .first = -1, .last = -1};
    if (b->failed || !vec_push(b->arena, &b->regs, r)) {
        b->failed = true;
        return 0;
    }
    return (Reg)(b->regs.len - 1);
}

Reg builder_const(ProgramBuilder *b, Phys phys, const Value *v) {
    dbg_assert(v->is_null || cells_agree(v->type, v->type, phys, 1, value_cell_const(v), NULL));
    Reg r = builder_reg(b, phys, v->type, v->is_null);
    if (!r) return 0;
    RegInfo *ri = &b->regs.items[r];
    ri->is_const = true;
    ri->stable_str = true;
    ri->value = *v;
    if (v->is_null) return r;
    ri->has_range = cell_as_i64(phys, &v->u, &ri->min);
    ri->max = ri->min;
    return r;
}

Instr *builder_emit(ProgramBuilder *b, Opcode op, Phys phys, Reg dst, Reg a, Reg b2, Reg c) {
    Instr in = {.op = (uint16_t)op, .phys = (uint8_t)phys, .dst = dst, .a = a, .b = b2, .c = c};
    if (b->failed || !vec_push(b->arena, &b->instrs, in)) {
        b->failed = true;
        return NULL;
    }
    return &b->instrs.items[b->instrs.len - 1];
}

/* 1. The innermost open P_LOOP or P_BLOCK of this number, -1 none. */
static int32_t find_open(const Program *p, int32_t open, int64_t number) {
    for (; open >= 0; open = p->instrs[open].jump) {
        const Instr *in = &p->instrs[open];
        if ((in->op == OP_P_LOOP || in->op == OP_P_BLOCK) && in->imm == number) return open;
    }
    return -1;
}

/* 1. Where the calls of a P_LEAVE go: its `jump` is the opening bracket so far. */
static Status resolve_leave(Program *p, int32_t at, Err *e) {
    Instr *in = &p->instrs[at];
    int32_t opened = in->jump, end = p->instrs[opened].jump;
    if (!in->aux) {
        in->jump = end;
        return ST_OK;
    }
    for (int32_t i = opened + 1; i < end; i++)
        if (p->instrs[i].op == OP_P_STEP && p->instrs[i].jump == opened) {
            in->jump = i;
            return ST_OK;
        }
    return err_internal(e, "program: no step to go to at %d", (int)at);
}

static Status not_open(const Instr *in, int32_t at, Err *e) {
    if (in->op == OP_ELSE) return err_internal(e, "program: else without if at %d", (int)at);
    return err_internal(e, "program: bracket closed that is not open at %d", (int)at);
}

/* 1. Pairs brackets with a stack threaded through `jump` of the open ones. */
static Status pair_brackets(Program *p, Err *e) {
    static const uint16_t opener[OP_COUNT_] = {
        [OP_ELSE] = OP_IF,          [OP_ENDIF] = OP_ELSE,         [OP_PROBE_END] = OP_PROBE_BEGIN,
        [OP_P_ELSE] = OP_P_IF,      [OP_P_ROUND] = OP_P_LOOP,     [OP_P_STEP] = OP_P_LOOP,
        [OP_P_ENDLOOP] = OP_P_LOOP, [OP_P_ENDBLOCK] = OP_P_BLOCK, [OP_P_CATCH] = OP_P_TRY,
        [OP_P_ENDTRY] = OP_P_CATCH};
    bool leaves = false;
    int32_t open = -1;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        Instr *in = &p->instrs[i];
        in->jump = -1;
        Instr *top = open >= 0 ? &p->instrs[open] : NULL;
        if (opener[in->op] && (!top || top->op != opener[in->op])) return not_open(in, i, e);
        int32_t outer;
        switch (in->op) {
        case OP_IF:
        case OP_PROBE_BEGIN:
        case OP_P_IF:
        case OP_P_LOOP:
        case OP_P_BLOCK:
        case OP_P_TRY:
            in->jump = open;
            open = i;
            break;
        case OP_ELSE:
        case OP_P_ELSE:
        case OP_P_CATCH:
            in->jump = top->jump;
            top->jump = i;
            open = i;
            break;
        case OP_P_ENDIF:
            if (!top || (top->op != OP_P_IF && top->op != OP_P_ELSE)) return not_open(in, i, e);
            open = top->jump;
            top->jump = i;
            break;
        case OP_ENDIF:
        case OP_PROBE_END:
        case OP_P_ENDBLOCK:
        case OP_P_ENDTRY:
        case OP_P_ENDLOOP:
            outer = top->jump;
            top->jump = i;
            if (in->op == OP_P_ENDLOOP) in->jump = open;
            open = outer;
            break;
        case OP_P_ROUND:
        case OP_P_STEP: in->jump = open; break;
        case OP_P_LEAVE:
            leaves = true;
            if ((in->jump = find_open(p, open, in->imm)) < 0)
                return err_internal(e, "program: nothing to leave at %d", (int)i);
            break;
        default: break;
        }
    }
    if (open >= 0) return err_internal(e, "program: bracket not closed at %d", (int)open);
    for (int32_t i = 0; leaves && i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_P_LEAVE) TRY(resolve_leave(p, i, e));
    return ST_OK;
}

/* 2. */
static Status find_lifetimes(Program *p, Err *e) {
    for (int32_t r = 0; r < p->n_regs; r++) p->regs[r].first = p->regs[r].last = -1;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->dst < 0 || in->dst >= p->n_regs) return err_internal(e, "program: no register %d", (int)in->dst);
        if (in->dst) {
            RegInfo *r = &p->regs[in->dst];
            if (r->first >= 0 || r->is_const)
                return err_internal(e, "program: r%d is written twice (at %d)", (int)in->dst, (int)i);
            r->first = r->last = i;
        }
        Reg u;
        for (int32_t k = 0; (u = instr_use(in, k)) != -1; k++) {
            if (u < 0 || u >= p->n_regs) return err_internal(e, "program: no register %d", (int)u);
            if (u) p->regs[u].last = i;
        }
    }
    Reg u;
    for (int32_t k = 0; (u = sink_use(&p->sink, k)) != -1; k++) {
        if (u < 0 || u >= p->n_regs) return err_internal(e, "program: no register %d", (int)u);
        if (u) p->regs[u].last = p->n_instrs;
    }
    return ST_OK;
}

/* 3. Registers born before `born_before` and needed after `after`. */
static Status set_carry(Program *p, Instr *in, int32_t born_before, int32_t after, Arena *a) {
    int32_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (Reg r = 1; r < p->n_regs; r++) {
            const RegInfo *ri = &p->regs[r];
            if (ri->is_const || ri->first < 0 || ri->first >= born_before || ri->last <= after || r == in->dst)
                continue;
            if (pass) in->carry[n] = r;
            n++;
        }
        if (!pass && !(in->carry = arena_array(a, Reg, n + 1))) return ST_ERROR;
    }
    in->n_carry = n;
    return ST_OK;
}

/* 3. Registers born before `open` and used in (open, close], the closing bracket's own operand included. */
static Status set_captures(Program *p, Instr *in, int32_t born_before, int32_t open, int32_t close, Arena *a,
                           uint8_t *seen) {
    memset(seen, 0, (size_t)p->n_regs);
    int32_t n = 0;
    for (int32_t i = open + 1; i <= close; i++) {
        Reg u;
        for (int32_t k = 0; (u = instr_use(&p->instrs[i], k)) != -1; k++) {
            const RegInfo *ri = &p->regs[u];
            if (u == 0 || ri->is_const || ri->first < 0 || ri->first >= born_before || seen[u]) continue;
            seen[u] = 1;
            n++;
        }
    }
    if (!(in->carry = arena_array(a, Reg, n + 1))) return ST_ERROR;
    in->n_carry = 0;
    for (Reg r = 1; r < p->n_regs; r++)
        if (seen[r]) in->carry[in->n_carry++] = r;
    return ST_OK;
}

/* 4. */
static bool loads_between(const Program *p, int32_t from, int32_t to) {
    for (int32_t i = from; i < to; i++)
        if (op_info[p->instrs[i].op].flags & F_SOURCE) return true;
    return false;
}

static Status set_carries(Program *p, Arena *a) {
    uint8_t *seen = arena_calloc(a, p->n_regs + 1);
    int32_t *stack = arena_array(a, int32_t, p->n_instrs + 1);
    if (!seen || !stack) return ST_ERROR;
    int32_t depth = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        Instr *in = &p->instrs[i];
        switch (in->op) {
        case OP_IF:
            stack[depth++] = i;
            TRY(set_captures(p, in, i, i, in->jump, a, seen));
            in->keep_pos = loads_between(p, i + 1, in->jump);
            break;
        case OP_ELSE: /* what the first body defined is gone: only registers from before the IF */
            TRY(set_captures(p, in, stack[depth - 1], i, in->jump, a, seen));
            in->keep_pos = loads_between(p, i + 1, in->jump);
            break;
        case OP_ENDIF: depth--; break;
        case OP_PROBE_BEGIN:
            stack[depth++] = i;
            TRY(set_captures(p, in, i, i, in->jump, a, seen));
            in->keep_pos = loads_between(p, i + 1, in->jump);
            break;
        case OP_PROBE_END:
            depth--;
            TRY(set_carry(p, in, stack[depth], i, a));
            in->keep_pos = loads_between(p, i + 1, p->n_instrs);
            break;
        default:
            if (!(op_info[in->op].flags & F_ROWS)) break;
            TRY(set_carry(p, in, i, i, a));
            in->keep_pos = loads_between(p, i + 1, p->n_instrs);
        }
    }
    return ST_OK;
}

Program *program_finish(ProgramBuilder *b, const Source *src, const Sink *sink, Err *e) {
    Program *p = b->failed ? NULL : arena_new_of(b->arena, Program);
    if (!p) {
        if (!err_is_set(e)) err_oom(e);
        return NULL;
    }
    *p = (Program){.n_instrs = (int32_t)b->instrs.len,
                   .instrs = b->instrs.items,
                   .n_regs = (int32_t)b->regs.len,
                   .regs = b->regs.items,
                   .n_sites = b->n_sites,
                   .source = *src,
                   .sink = *sink};
    /* Instructions may come out of builder_emit only, but an opcode outside the table would index past it. */
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_NONE || p->instrs[i].op >= OP_COUNT_) {
            err_internal(e, "program: unknown opcode %d", (int)p->instrs[i].op);
            return NULL;
        }
    if (pair_brackets(p, e) != ST_OK || find_lifetimes(p, e) != ST_OK) return NULL;
    if (set_carries(p, b->arena) != ST_OK) {
        if (!err_is_set(e)) err_oom(e);
        return NULL;
    }
    return program_verify(p, e) == ST_OK ? p : NULL;
}
