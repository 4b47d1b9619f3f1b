/* emit_guard.c - locks that calls hold by statement, in kernels; see emit_proc.h, Guards, and txn/README.md. The guards
 * themselves, calls that stop at one and go on later, and how a kernel runs such calls. */
#include "codegen/emit_proc_int.h"

enum {
    QUEUE_STOP_BITS = 1 << STOP_UNDO_BIT | 1 << STOP_QUEUE_BIT,
    FRAMES_BYTES =
        40 << 10 /* of shared memory: frames that do not fit lie in the lanes' own, and such calls do not share loops */
};

/* What the call does to the item counts when it is given up, and when the call fails. */
static bool changes(const ItemSite *it) { return it->kind != OPK_READ || it->deletes; }
int32_t proc_hash_var(const ProcEm *x, const Instr *in) {
    const Instr *of = in->a ? made_by(x, in->a) : NULL;
    if (in->a) return of && of->op == OP_LOAD ? (int32_t)of->imm : -1;
    for (int32_t i = 0; in->dst && i < x->p->n_instrs; i++)
        if (x->p->instrs[i].op == OP_STORE && x->p->instrs[i].a == in->dst) return (int32_t)x->p->instrs[i].imm;
    return -1;
}
bool proc_guard_takes(const ProcEm *x, const ItemSite *it) {
    return proc_owns(x, (int32_t)it->table, OWN_QUEUE) && it->group == ITEM_ROWS;
}
/* In a round, whose hashes and locks are known, and whose turn it is. */
static void guard_in_round(ProcEm *x, const Instr *in) {
    const ItemSite *it = in->aux;
    int32_t k = proc_asked(x, in);
    W("const u64 h = hash%d;\nu64 use = ask%d;\n(void)h;\n#if defined(KC_CUDA)\n", k, k);
    if (proc_guard_takes(x, it))
        W("if (%p != 0) use = queue_use(kp, use_at, use_end, names, h, true);\nelse\n", PARAM(PP_TAKES, 0, 0));
    W("use = guard_hold(kp, use, %s);\n#else\nuse = ", changes(it) ? "GUARD_WROTE" : "0u");
    if (proc_guard_takes(x, it))
        W("%p != 0 ? queue_use(kp, use_at, use_end, names, h, true) : ", PARAM(PP_TAKES, 0, 0));
    W("guard_take(kp, use_at, use_end, names, h, %s, true, 0, 0, false);\n#endif\n",
      changes(it) ? "GUARD_WROTE" : "0u");
}
void proc_guard(ProcEm *x, const Instr *in, int32_t pc) {
    const ItemSite *it = in->aux;
    if (x->out->holds_all) {
        if (in->dst) W("const i64 r%d = 0;\nconst bool v%d = true;\n", in->dst, in->dst);
        return;
    }
    if (in->dst) W("i64 r%d = 0;\nconst bool v%d = true;\n", in->dst, in->dst);
    bool once = x->once[it->guard] != 0;
    if (once) W("if (use_at != use_end && !had%d) {\n", it->guard);
    else W("if (use_at != use_end) {\n");
    int32_t back = x->round ? 0 : x->goes_back[pc], kept = proc_hash_var(x, in);
    bool narrow = x->narrow[pc] && !x->round, takes = proc_guard_takes(x, it);
    if (x->round) {
        guard_in_round(x, in);
    } else {
        const char *wrote = changes(it) ? "GUARD_WROTE" : "0u";
        if (in->a) W("const u64 h = (u64)%r;\n", in->a);
        else proc_item_hash(x, it, PARAM(PP_GUARD_BASE, it->guard, 0));
        W("const u64 use = ");
        if (in->a && kept >= 0) W("use%d != GUARD_UNKNOWN ? guard_again(kp, use%d, %s) : ", kept, kept, wrote);
        if (takes) W("%p != 0 ? queue_use(kp, use_at, use_end, names, h, false) : ", PARAM(PP_TAKES, 0, 0));
        W("guard_take(kp, use_at, use_end, names, h, %s, false, %s, %s, %s);\n", wrote,
          back ? "LANE_ALONE(together) ? 0 : wait" : "0", x->in_loop ? "WAITS_IN_LOOP" : "0",
          narrow ? "true" : "false");
    }
    W("if (use == GUARD_STOP) FAIL(%d);\n", fail_code(x, PF_STOPPED));
    if (in->dst) W("r%d = (i64)h;\n", in->dst);
    if (back) W("if (use == GUARD_WAITS) SUSPEND(%d);\n", x->split[back - 1]);
    if (it->release) W("g%d = use;\n", it->guard);
    if (takes) W("queue_at = use;\n");
    if (once) W("had%d = true;\n", it->guard);
    if (in->dst && kept >= 0) W("use%d = use;\n", kept);
    /* here, so that what follows is at hand when the turn comes */
    if (narrow)
        W("if (use != GUARD_NONE) {\nu32 from, c;\nguard_look(kp, use, &at%d, &from);\nops%d = USE_STATE(use) & "
          "GUARD_OPS;\nc = GVOL(u32, at%d)[0];\nif (c < from) {\nfor (u32 spins = 0; c < from; c = GVOL(u32, at%d)[0]) "
          "{\nif (KC_PEEK(P(0) + 8) != 0) FAIL(%d);\nRELAX(++spins, from - c);\n}\n}\nFENCE_TAKE();\n}\n",
          it->guard, it->guard, it->guard, it->guard, fail_code(x, PF_STOPPED));
    W("}\n");
}
/* What was changed is given up only where no failure is to be expected any more. */
static bool gives_up(const ProcEm *x, int32_t guard, int32_t pc) {
    return !changes(x->proc->guards[guard]) || pc > x->last_fail;
}
void proc_unguard(ProcEm *x, const Instr *in, int32_t pc) {
    const GuardList *l = in->aux;
    const char *shared = x->round ? "true" : "false";
    int32_t n = 0;
    if (x->out->holds_all) return;
    W("if (use_at != use_end) {\n");
    for (int32_t i = 0; i < l->n; i++) {
        int32_t g = l->guards[i];
        if (!x->narrow_guards[g] || x->round) continue;
        W("if (g%d != GUARD_NONE && ops%d == 1) {\nUSE_STATE(g%d) = GUARD_IS_OVER;\nspilled |= "
          "1;\nFENCE_GIVE();\nga_add_u32(at%d, 1);\ng%d = GUARD_NONE;\n}\n",
          g, g, g, g, g);
    }
    for (int32_t i = 0; i < l->n; i++) /* GUARD_NONE has all bits */
        if (gives_up(x, l->guards[i], pc)) W(n++ == 0 ? "if ((g%d" : " & g%d", l->guards[i]);
    if (n > 0) W(x->round ? ") != GUARD_NONE) {\nFENCE_GIVE();\n" : ") != GUARD_NONE) {\n");
    for (int32_t i = 0; i < l->n; i++)
        if (gives_up(x, l->guards[i], pc))
            W("const u64 next%d = guard_last(kp, g%d, %s, &spilled);\n", i, l->guards[i], shared);
    for (int32_t i = 0, k = 0; i < l->n; i++)
        if (gives_up(x, l->guards[i], pc)) W(k++ == 0 ? "if ((next%d" : " | next%d", i);
    if (n > 0)
        W(x->round ? ") != 0) {\nFENCE_TAKE();\nFENCE_GIVE();\n"
                   : ") != 0) {\nFENCE_GIVE();\n"); /* a round's: what other lanes did under the lock as well */
    for (int32_t i = 0; i < l->n; i++)
        if (gives_up(x, l->guards[i], pc)) W("if (next%d != 0) ga_add_u32(next%d, 1);\n", i, i);
    if (n > 0) W("}\n}\n");
    for (int32_t i = 0; i < l->n; i++) W("g%d = GUARD_NONE;\n", l->guards[i]);
    W("}\n");
}
/* A loop over rows that says the same lock each time, and in which no statement ends, need not look for it each time.
 */
void proc_find_once(ProcEm *x) {
    const Program *p = x->p;
    for (int32_t pc = 0; pc < p->n_instrs; pc++) {
        const Instr *in = &p->instrs[pc];
        if (in->op != OP_GUARD || in->dst) continue;
        const ItemSite *it = in->aux;
        int32_t loop = pc, depth = 1, at;
        while (loop > 0 && depth > 0) {
            loop--;
            depth += (p->instrs[loop].op == OP_P_ENDLOOP) - (p->instrs[loop].op == OP_P_LOOP);
        }
        bool same = depth == 0;
        for (int32_t k = loop; same && k < p->instrs[loop].jump; k++) same = p->instrs[k].op != OP_UNGUARD;
        Reg r;
        for (int32_t u = 0; same && (r = instr_use(in, u)) >= 0; u++) {
            const Instr *of = made_by(x, r);
            if (of) same = of->op == OP_LOAD && count_of(x, loop, p->instrs[loop].jump, OP_STORE, of->imm, &at) == 0;
        }
        if (same) x->once[it->guard] = loop + 1;
    }
}
void proc_guard_vars(ProcEm *x, Out *o) {
    if (proc_takes(x))
        out_w(&x->m, o, "%s",
              x->framed && !x->round ? ""
                                     : "u64 queue_at = GUARD_NONE;\n(void)queue_at;\ni64 taken = -1;\n(void)taken;\n");
    for (int32_t i = 0; i < x->proc->n_guards; i++) {
        if (x->proc->guards[i]->release && (!x->framed || x->round))
            out_w(&x->m, o, "u64 g%d = GUARD_NONE;\n(void)g%d;\n", i, i);
        if (x->narrow_guards[i])
            out_w(&x->m, o, "u64 at%d = 0;\nu32 ops%d = 0;\n(void)at%d; (void)ops%d;\n", i, i, i, i);
        if (x->once[i]) out_w(&x->m, o, "bool had%d = false;\n(void)had%d;\n", i, i);
    }
    for (int32_t i = 0; i < x->p->n_instrs; i++) {
        const Instr *in = &x->p->instrs[i];
        int32_t kept = in->op == OP_GUARD && in->dst ? proc_hash_var(x, in) : -1;
        for (int32_t k = 0; kept >= 0 && k < i; k++)
            if (x->p->instrs[k].op == OP_GUARD && x->p->instrs[k].dst && proc_hash_var(x, &x->p->instrs[k]) == kept)
                kept = -1;
        if (kept >= 0) out_w(&x->m, o, "u64 use%d = GUARD_UNKNOWN;\n(void)use%d;\n", kept, kept);
    }
}
void proc_guards_anew(ProcEm *x, int32_t loop) {
    for (int32_t i = 0; i < x->proc->n_guards; i++)
        if (x->once[i] == loop + 1) W("had%d = false;\n", i);
}
bool proc_holds_all(const ProcEm *x) {
    bool in_loops = false;
    for (int32_t i = 0, depth = 0; i < x->p->n_instrs; i++) {
        uint16_t op = x->p->instrs[i].op;
        depth += (op == OP_P_LOOP) - (op == OP_P_ENDLOOP);
        in_loops |= op == OP_GUARD && depth > 0;
    }
    return in_loops && !x->proc->writes;
}
int32_t proc_last_fail(ProcEm *x) {
    int32_t last = -1, depth = 0;
    bool in_loop = false;
    for (int32_t i = 0; i < x->p->n_instrs; i++) {
        const Instr *in = &x->p->instrs[i];
        depth += in->op == OP_P_LOOP;
        bool fails = in->op == OP_RAISE && strncmp(((const RaiseSite *)in->aux)->sqlstate, "22", 2) !=
                                               0; /* those are checks of the language's */
        if (in->op == OP_ROW_INSERT) {
            const RowInsert *ins = in->aux;
            fails = !ins->skip && x->tables[ins->table].image->table->n_keys > 0 && !proc_waits_for_none(x, ins->table);
        }
        if (fails) last = i;
        in_loop |= fails && depth > 0;
        if (in->op == OP_P_ENDLOOP && --depth == 0) {
            if (in_loop) last = i;
            in_loop = false;
        }
    }
    return last;
}

/* ---- calls that stop on their way ------------------------------------------------------------------------------
 * A call that has to wait at a guard leaves its function, with its variables in a frame, and goes on later from a place
 * before the guard where no register lives (a split); what stands between is done once more, so it must change nothing.
 * Guards without such a place wait where they are. Behind statements that have guards, outside of loops, lanes of a
 * warp that came through early leave in the same way, to go on together with the others. */
static bool has_effect(const Program *p, int32_t from, int32_t pc) {
    const Instr *in = &p->instrs[pc];
    bool read = false; /* what was read before it is another value the second time */
    for (int32_t k = MAX_OF(from, 0); k < pc && in->op == OP_STORE; k++)
        read |= p->instrs[k].op == OP_LOAD && p->instrs[k].imm == in->imm;
    return read || in->op == OP_RAISE || (in->op >= OP_ROW_PUT && in->op <= OP_UNGUARD && in->op != OP_GUARD);
}
/* The run is [from, to); `to` may use one of its registers. */
static void find_splits(ProcEm *x, int32_t from, int32_t to, bool in_loop) {
    const Program *p = x->p;
    int32_t depth = 0, live_to = from, last = -1; /* the last split that is followed by nothing that changes anything */
    for (int32_t pc = from; pc < to; pc++) {
        const Instr *in = &p->instrs[pc];
        bool clear = depth == 0 && live_to <= pc;
        if (clear) {
            last = pc;
            if (pc > from && p->instrs[pc - 1].op == OP_UNGUARD && !in_loop) x->gathers[pc] = true, x->split[pc] = 1;
        }
        if (in->op == OP_GUARD && last >= 0) x->split[last] = 1, x->goes_back[pc] = last + 1;
        x->out->lingers |= in->op == OP_GUARD && last < 0;
        x->out->waits_in_loops |= in->op == OP_GUARD && in_loop;
        if (has_effect(p, last, pc)) last = -1;
        depth += (in->op == OP_IF) - (in->op == OP_ENDIF);
        for (int32_t k = to; in->dst && k > pc; k--) { /* who uses it last */
            Reg r;
            bool used = false;
            if (k == p->n_instrs) continue;
            for (int32_t u = 0; (r = instr_use(&p->instrs[k], u)) >= 0; u++) used |= r == in->dst;
            if (!used) continue;
            live_to = MAX_OF(live_to, k + 1);
            break;
        }
        x->crosses[pc] = depth > 0 || live_to > pc + 1;
    }
}
void proc_find_states(ProcEm *x) {
    const Program *p = x->p;
    int32_t loops = 0;
    for (int32_t pc = 0, from; pc < p->n_instrs; pc++) {
        for (from = pc; pc < p->n_instrs && !is_statement(&p->instrs[pc]); pc++) {}
        if (pc > from) find_splits(x, from, pc, loops > 0);
        if (pc == p->n_instrs) break;
        loops += (p->instrs[pc].op == OP_P_LOOP) - (p->instrs[pc].op == OP_P_ENDLOOP);
    }
    for (int32_t pc = 0; pc < p->n_instrs; pc++)
        if (x->split[pc]) x->split[pc] = ++x->n_states;
}

/* ---- narrow guards ------------------------------------------------------------------------------------------------
 * A chain of calls that change one row, one after the other, goes at the pace of what stands between a call's turn and
 * giving it up: on a GPU mostly at the pace at which instructions come that nobody has run for a while. Where a
 * statement is straight code with one such guard, what does not depend on what it guards comes before the guard, and
 * neither waiting nor giving up leaves the function. (H200: no difference at 64 warehouses of TPC-C, where new_orders
 * hardly wait for their district.) */
static bool is_narrow(const ProcEm *x, int32_t pc, int32_t *end) {
    const Program *p = x->p;
    const ItemSite *it = p->instrs[pc].aux;
    if (it->kind != OPK_WRITE || it->group >= ITEM_ROWS || !it->release) return false;
    int32_t k = pc + 1;
    bool changes = false;
    for (; k < p->n_instrs && !is_statement(&p->instrs[k]); k++) {
        const Instr *in = &p->instrs[k];
        bool put = in->op == OP_ROW_PUT || in->op == OP_ROW_ADD;
        changes |= put;
        if (x->split[k] || (!put && in->op != OP_STORE &&
                            (!in->dst || in->op == OP_CALL || in->op == OP_GUARD || in->op == OP_ROW_FIND ||
                             in->op == OP_ROW_FIRST || in->op == OP_ROW_NEXT)))
            return false;
    }
    *end = k;
    while (k < p->n_instrs && (p->instrs[k].op == OP_P_ENDIF || p->instrs[k].op == OP_P_ENDBLOCK)) k++;
    if (!changes || k >= p->n_instrs || p->instrs[k].op != OP_UNGUARD || x->split[k] || k <= x->last_fail) return false;
    const GuardList *l = p->instrs[k].aux;
    for (int32_t i = 0; i < l->n; i++)
        if (l->guards[i] == it->guard) return true;
    return false;
}
void proc_find_narrow(ProcEm *x) {
    const Program *p = x->p;
    bool *regs = arena_array(x->m.arena, bool, p->n_regs + 1), *vars = arena_array(x->m.arena, bool, x->n_vars + 1);
    if (!regs || !vars) return; /* then none is */
    for (int32_t pc = 0, end; pc < p->n_instrs; pc++) {
        if (p->instrs[pc].op != OP_GUARD || !is_narrow(x, pc, &end)) continue;
        const ItemSite *it = p->instrs[pc].aux;
        memset(vars, 0, (size_t)x->n_vars);
        x->narrow[pc] = end;
        x->narrow_guards[it->guard] = true;
        for (int32_t k = pc + 1; k < end; k++) {
            const Instr *in = &p->instrs[k];
            const RowCol *rc = in->op == OP_ROW_GET ? in->aux : NULL;
            bool late = in->op == OP_STORE || in->op == OP_ROW_PUT || in->op == OP_ROW_ADD ||
                        (in->op == OP_LOAD && vars[in->imm]);
            late |= (op_info[in->op].flags & F_FAIL) != 0;
            late |= rc && rc->table == (int32_t)it->table &&
                    column(x, rc->table, rc->col)->part != 0; /* columns that nobody changes are in part 0 */
            Reg r;
            for (int32_t u = 0; !late && (r = instr_use(in, u)) >= 0; u++) late = regs[r];
            x->late[k] = late;
            if (in->dst) regs[in->dst] = late;
            if (in->op == OP_STORE) vars[in->imm] = true;
        }
    }
}
void proc_put_split(ProcEm *x, int32_t pc) {
    if (x->gathers[pc])
        W("if (guarded && LANES_AWAY(together)) {\n*wait = GUARD_NONE;\nSUSPEND(%d);\n}\n", x->split[pc]);
    W("S%d: ;\n", x->split[pc]);
}
static void frame_field(ProcEm *x, Out *o, FrameMode mode, const char *type, const char *name) {
    static const char *const forms[] = {"%s %s;\n", "f->%s = %s;\n", "%s = f->%s;\n"};
    out_w(&x->m, o, forms[mode], mode == FRAME_FIELDS ? type : name, name);
}
static void frame_numbered(ProcEm *x, Out *o, FrameMode mode, const char *type, char letter, int32_t i) {
    char name[16];
    snprintf(name, sizeof name, "%c%d", letter, (int)i);
    frame_field(x, o, mode, type, name);
}
void proc_write_frame(ProcEm *x, Out *o, FrameMode mode) {
    static const char *const calls[][2] = {{"u32", "n_undo"}, {"u32", "spilled"}, {"u64", "steps"}, {"u64", "rounds"},
                                           {"u32", "failed"}, {"u32", "serial"},  {"u64", "names"}};
    for (int32_t i = 0; i < (int32_t)ARRAY_LEN(calls); i++)
        if (mode == FRAME_FIELDS || !x->framed) frame_field(x, o, mode, calls[i][0], calls[i][1]);
    if (x->framed && mode != FRAME_FIELDS) frame_field(x, o, mode, "u32", "failed");
    if (x->out->scratch > 0) frame_field(x, o, mode, "scratch", "mem");
    if (x->framed && mode != FRAME_FIELDS) return; /* the rest is there all the time */
    for (int32_t i = 0; i < x->proc->n_guards; i++)
        if (x->proc->guards[i]->release) frame_numbered(x, o, mode, "u64", 'g', i);
    for (int32_t i = 0; i < x->proc->n_tables; i++) frame_numbered(x, o, mode, "i64", 'i', i);
    if (proc_takes(x)) frame_field(x, o, mode, "i64", "taken"), frame_field(x, o, mode, "u64", "queue_at");
    for (int32_t i = 0; i < x->n_vars; i++) {
        if (!x->stored[i] && !(x->framed && i < x->proc->n_params)) continue;
        frame_numbered(x, o, mode, c_type[x->vars[i].phys], 'y', i);
        frame_numbered(x, o, mode, "bool", 'z', i);
        if (x->framed && x->m.views_used[i]) frame_numbered(x, o, mode, "arr", 'a', i);
    }
}
bool proc_in_frame(const ProcEm *x, int32_t var) {
    int32_t at;
    if (!x->framed || (!x->stored[var] && var >= x->proc->n_params)) return false;
    return !x->round || count_of(x, x->round->loop, x->round->end, OP_STORE, var, &at) == 0;
}

/* ---- queues: emit_proc.h ---------------------------------------------------------------------------------- */
void proc_queue_stops(ProcEm *x) {
    W("{\nga_or_u64(P(0) + 8, %d);\nFAIL(%d);\n}\n", QUEUE_STOP_BITS, fail_code(x, PF_STOPPED));
}
/* Whether the taken row's column is equal to the register. */
static void put_equal(ProcEm *x, int32_t table, int32_t col, const char *row, Reg r) {
    uint8_t phys = column(x, table, col)->phys;
    Out cell = {0};
    char name[16];
    proc_load_field(x, &cell, table, col, row);
    out_put(&x->m, &cell, "", 1);
    em_use(&x->m, r);
    snprintf(name, sizeof name, "r%d", (int)r);
    if (cell.p) em_equal(&x->m, &x->m.body, phys, cell.p, name);
    x->m.body.failed |= cell.failed;
}
void proc_queue_take(ProcEm *x, const Instr *in, const ImageIndex *ix, int32_t next, int32_t order) {
    const RowKey *k = in->aux;
    int32_t cells = PARAM(PP_CELLS, k->table, ix->order - 1), live = PARAM(PP_LIVE, k->table, 0);
    char row[16];
    snprintf(row, sizeof row, "r%d", (int)in->dst);
    W("if (%p != 0) {\n", PARAM(PP_TAKES, 0, 0));
    proc_log_room(x);
    W("i64 front = -1;\n%s = queue_take(kp, queue_at, %s, %p, %p, %d, %p, %s, &front);\nif (front >= 0) {\nconst i64 "
      "row = front;\n",
      row, x->round ? "true" : "false", next, cells, order, live, row);
    proc_log_front(x, k->table);
    W("}\nif (%s == QUEUE_STOPS) FAIL(%d);\nif (queue_at != GUARD_NONE && %s >= 0) spilled |= 2;\n", row,
      fail_code(x, PF_STOPPED), row);
    for (int32_t c = 0; c < ix->n_cols; c++) { /* names are hashes: it may be another group's */
        W(c == 0 ? "if (%s >= 0 && !(" : " && ", row);
        put_equal(x, k->table, ix->cols[c], row, k->args[c]);
    }
    if (ix->n_cols > 0) {
        W(")) ");
        proc_queue_stops(x);
    }
    W("taken = %s;\n} else {\n%s = ord_first(%p, %p, %d, %p, %s);\n}\n", row, row, next, cells, order, live, row);
}
void proc_queue_key(ProcEm *x, const RowKey *k, const ImageIndex *ix) {
    const ProcTable *t = &x->proc->tables[k->table], *queue = &x->proc->tables[x->proc->queue];
    W("if (%p != 0 && (taken < 0 || !(true", PARAM(PP_TAKES, 0, 0));
    for (int32_t c = 0; c < t->n_own; c++)
        for (int32_t i = 0; i < ix->n_cols; i++) {
            if (ix->cols[i] != t->own_cols[c]) continue;
            W(" && ");
            put_equal(x, x->proc->queue, queue->own_cols[c], "taken", k->args[i]);
        }
    W("))) ");
    proc_queue_stops(x);
}
void proc_queue_delete(ProcEm *x) {
    W("if (%p != 0) {\nif (row != taken) ", PARAM(PP_TAKES, 0, 0));
    proc_queue_stops(x);
    W("if (queue_at != GUARD_NONE) queue_done(kp, queue_at, %s);\n}\n", x->round ? "true" : "false");
}
static void queue_helpers(ProcEm *x, Out *o) {
    Em *m = &x->m;
    int32_t takers = PARAM(PP_TAKERS, 0, 0), rows = PARAM(PP_QUEUE_ROWS, 0, 0);
    /* The lock of a queue's item, which nobody waits for. */
    out_w(m, o,
          "FN_BIG u64 queue_use(KP_ARG, const u64 use_at, const u64 use_end, const u64 mask, const u64 h, const bool "
          "shared) {\nconst u32 name = item_name(h);\nconst u64 i = (mask >> (name >> 1 & 63) & 1) != 0 ? "
          "guard_find(kp, use_at, use_end, name) : use_end;\n"
          "if (i == use_end) return GUARD_NONE;\nDALLY(h);\nconst u32 s = USE_STATE(i);\nif (s == GUARD_IS_OVER) "
          "{\nga_or_u64(P(0) + 8, %d);\nreturn GUARD_STOP;\n}\n"
          "if (shared) ga_or_u32(USE_STATE_AT(i), GUARD_HELD | GUARD_WROTE | QUEUE_USED);\nelse USE_STATE(i) = s | "
          "GUARD_HELD | GUARD_WROTE | QUEUE_USED;\nreturn i;\n}\n",
          1 << STOP_UNDO_BIT | 1 << STOP_OVER_BIT);
    /* The row that is this use's. The first use goes through the group and says which is whose, as it goes, and for
     * whom none is left, by its own group's anchor (names are hashes: a lock may be two groups'). *front: the group's
     * front as it was, when that was moved. Rows that others have deleted meanwhile are behind it. */
    out_w(
        m, o,
        "FN_BIG i64 queue_take(KP_ARG, const u64 use, const bool shared, const u64 next, const u64 cells, const u32 "
        "kind, const u64 live, const i64 anchor, PRIV i64 *front) {\nif (use == GUARD_NONE) return ord_first(next, "
        "cells, kind, live, anchor);\n"
        "const u64 none = ~(u64)(anchor + 1), lock = USE_LOCK(use), nth = USE_FROM(use), at = %p + (lock + nth) * "
        "8;\nif (nth == 0) {\nconst u64 n = G(u32, %p)[lock];\nconst i64 first = anchor < 0 ? -1 : GVOL(i64, next)[4 * "
        "anchor + 3] - 1;\ni64 c = first, last = -1, behind = -1, cv = 0;\nbool there = false;\nif (c >= 0) {\nbehind "
        "= ord_follow(next, c, 0);\nthere = GVOL(u8, live)[c] == ROW_LIVE;\ncv = ord_value(cells, kind, c);\n}\n"
        /* one loop, so that lanes which go through groups of their own do it in step; what is known of a row comes all
           at once, while the one before it is dealt with */
        "ROLLED for (u64 k = 0; k < n;) {\nif (c < 0) {\nGVOL(u64, %p)[lock + k++] = none;\ncontinue;\n}\nconst i64 "
        "beyond = ord_follow(next, behind, 0);\nconst bool alive = GVOL(u8, live)[behind] == ROW_LIVE;\nconst i64 bv = "
        "ord_value(cells, kind, behind);\n"
        "if (there) {\nGVOL(u64, %p)[lock + k++] = (u64)c + 1;\nlast = c;\n}\nc = ord_before(kind, cv, c, bv, behind) "
        "? behind : -1;\ncv = bv;\nthere = alive;\nbehind = beyond;\n}\n"
        "if (last >= 0 && last != first) {\n*front = first;\nGVOL(i64, next)[4 * anchor + 3] = last + 1;\n}\n}\n"
        "u64 row = GVOL(u64, at)[0];\nROLLED for (u32 spins = 0; row == 0; row = GVOL(u64, at)[0]) {\nif (KC_PEEK(P(0) "
        "+ 8) != 0) return QUEUE_STOPS;\nRELAX(++spins, 4);\n}\n"
        "const bool found = row >> 63 == 0;\nconst u32 s = USE_STATE(use), took = found ? QUEUE_TOOK | QUEUE_LEFT : "
        "QUEUE_TOOK;\nif ((s & QUEUE_TOOK) != 0 || (!found && row != none)) {\nga_or_u64(P(0) + 8, %d);\nreturn "
        "QUEUE_STOPS;\n}\n"
        "if (shared) ga_or_u32(USE_STATE_AT(use), took);\nelse USE_STATE(use) = s | took;\nreturn found ? (i64)row - 1 "
        ": -1;\n}\n",
        rows, takers, rows, rows, QUEUE_STOP_BITS);
    out_w(m, o,
          "FN_BIG void queue_done(KP_ARG, const u64 use, const bool shared) {\nconst u32 s = USE_STATE(use);\nif ((s & "
          "QUEUE_LEFT) == 0) return;\nif (shared) ga_add_u32(USE_STATE_AT(use), 0u - QUEUE_LEFT);\nelse USE_STATE(use) "
          "= s & ~QUEUE_LEFT;\n}\n");
}

/* What guards call. A use's state: operations that are to come, GUARD_HELD once its turn has come, GUARD_WROTE;
 * GUARD_IS_OVER when it was given up. */
void proc_guard_helpers(ProcEm *x, Out *o, int32_t counters) {
    Em *m = &x->m;
    out_w(m, o,
          "#define USE(i, word) G(u32, %p + (u64)(i) * 16)[word]\n#define USE_STATE_AT(i) (%p + (u64)(i) * 16 + "
          "4)\n#define USE_NAME(i) USE(i, 0)\n#define USE_STATE(i) USE(i, 1)\n#define USE_LOCK(i) USE(i, 2)\n#define "
          "USE_FROM(i) USE(i, 3)\n",
          PARAM(PP_USED, 0, 0), PARAM(PP_USED, 0, 0));
    out_w(m, o,
          "#define GUARD_NONE (~U64C(0))\n#define GUARD_STOP (~U64C(0) - 1)\n#define GUARD_WAITS (~U64C(0) - "
          "2)\n#define GUARD_UNKNOWN (~U64C(0) - 3)\n#define GUARD_HELD 0x80000000u\n#define GUARD_WROTE "
          "0x40000000u\n#define GUARD_OPS 0x07ffffffu\n#define QUEUE_TOOK 0x20000000u\n#define QUEUE_LEFT "
          "0x10000000u\n#define QUEUE_USED 0x08000000u\n#define QUEUE_STOPS ((i64)-2)\n"
          "#define GUARD_IS_OVER 0xffffffffu\n#define STOPS_AT 0x60000000u\n#define WAITS_IN_LOOP 30000u\n#define "
          "LOOKS 16u\n#define NAP 500u\n#define MEET_CLOCKS 90000u\n#define CLOCK() ((u64)clock64())\n#define "
          "SUSPEND(at) do { status = STOPS_AT | (at); goto FAIL_TO; } while (0)\n"
          "FN bool said_here(u32 status) { return (status & FAILED_KNOWN) != 0 || (status & 255u) == %d; }\n",
          (int32_t)PF_SAID);
    out_w(
        m, o,
        "FN_BIG void stop_undo(KP_ARG, const u32 status, const u32 spilled, const u32 proc) {\nconst u64 why = (u64)1 "
        "<< ((spilled & 2) != 0 ? %d : spilled != 0 ? %d : %d) | %d;\n(void)ga_cas_u64(P(0) + 8, 0, (u64)((status & "
        "((1u << %d) - 1)) | (proc < %d ? proc : %d) << %d) << 32 | why);\nga_or_u64(P(0) + 8, why);\n}\n",
        STOP_QUEUE_BIT, STOP_SPILT_BIT, STOP_UNSAID_BIT, 1 << STOP_UNDO_BIT, STOP_PROC_SHIFT, STOP_PROCS, STOP_PROCS,
        STOP_PROC_SHIFT);
    out_w(m, o,
          "FN void guard_look(KP_ARG, const u64 use, PRIV u64 *at, PRIV u32 *from) {\n*at = %p + (u64)USE_LOCK(use) * "
          "4;\n*from = USE_FROM(use);\n}\n",
          counters);
    out_w(m, o,
          "FN bool guard_turn(KP_ARG, const u64 use) {\nu64 at;\nu32 from;\nguard_look(kp, use, &at, &from);\nreturn "
          "GVOL(u32, at)[0] >= from;\n}\n");
    /* Until a lane that waits has its turn, or for a while; whether anybody that they wait for went on. In registers
     * alone: variables of the kernel lie in memory, and thousands of warps that wait would keep it busy. */
    out_w(
        m, o,
        "#if defined(KC_CUDA)\nFN_BIG bool lanes_wait(PRIV bool *turn, const u64 at, const u32 from) {\nconst bool "
        "waits = !*turn;\nu32 first = 0;\nbool has = false, moved = false;\nROLLED for (u32 k = 0; k < LOOKS; k++) {\n"
        "const u32 c = waits ? GVOL(u32, at)[0] : 0;\nif (k == 0) first = c;\nhas = waits && c >= from;\nmoved = c != "
        "first;\nif (__any_sync(~0u, has)) break;\n__nanosleep(NAP);\n}\n"
        "if (has) *turn = true;\nreturn __any_sync(~0u, has || moved);\n}\n#endif\n");
    /* A call's loop begins where all but one of the group's warps are at theirs, or after a while: some may wait for a
     * lock, or have no such loop. */
    out_w(m, o,
          "#if defined(KC_CUDA)\n#define MEETINGS 4u\nFN_BIG void warps_meet(volatile u32 *came) {\nconst u64 since = "
          "CLOCK();\nif ((LID & 31u) == 0) atomicAdd((u32 *)came, 1u);\nwhile (*came + 1 < GROUP_SIZE / 32 && CLOCK() "
          "- since < MEET_CLOCKS) __nanosleep(200u);\n__syncwarp();\n}\n#endif\n");
    /* Waits for so many clocks at most. */
    out_w(m, o,
          "FN bool guard_soon(KP_ARG, const u64 use, const u64 time) {\n#if defined(KC_CUDA)\nfor (const u64 since = "
          "CLOCK(); CLOCK() - since < time;) {\n__nanosleep(100u);\nif (guard_turn(kp, use)) return "
          "true;\n}\n#endif\n(void)time; (void)use;\nreturn false;\n}\n");
    out_w(m, o,
          "FN_BIG bool guard_wait(KP_ARG, const u64 use) {\nconst u32 from = USE_FROM(use);\nconst u64 at = %p + "
          "(u64)USE_LOCK(use) * 4;\nu32 spins = 0;\n(void)spins;\n"
          "for (;;) {\nconst u32 c = GVOL(u32, at)[0];\nif (c >= from) break;\nif (KC_PEEK(P(0) + 8) != 0) return "
          "false;\nRELAX(++spins, from - c);\n}\nFENCE_TAKE();\nreturn true;\n}\n",
          counters);
    /* The calls' locks, by name: most items have none. */
    out_w(m, o,
          "FN_BIG u64 guard_mask(KP_ARG, const u64 use_at, const u64 use_end) {\nu64 mask = 0;\nROLLED for (u64 i = "
          "use_at; i < use_end; i++) mask |= U64C(1) << (USE_NAME(i) >> 1 & 63);\nreturn mask;\n}\n");
    /* several at a time: each is a load from far away */
    out_w(m, o,
          "FN u64 guard_find(KP_ARG, const u64 use_at, const u64 use_end, const u32 name) {\n#if defined(KC_CUDA)\nu64 "
          "found = use_end;\nfor (u64 i = use_at; i < use_end; i += 8) {\nu32 hits = 0;\n#pragma unroll\nfor (u32 k = "
          "0; k < 8; k++) hits |= (u32)(USE_NAME(i + k < use_end ? i + k : use_end - 1) == name) << k;\n"
          "if (hits != 0) {\nfound = i + (u32)__ffs((i32)hits) - 1;\nif (found >= use_end) found = use_end - 1;\ni = "
          "use_end;\n}\n}\nreturn found;\n#else\nfor (u64 i = use_at; i < use_end; i++)\n    if (USE_NAME(i) == name) "
          "return i;\nreturn use_end;\n#endif\n}\n");
    out_w(m, o,
          "FN u32 item_name(const u64 h) { return ((u32)(hash_u64(h) >> 32) & ~1u) | ((u32)h & 1u); }\n"); /* as ranks
                                                                                                              have it */
    /* On the host, for tests: others get on meanwhile, so that what was read too early has become old. */
    out_w(m, o,
          "#if defined(KC_HOST)\n#define DALLY(h) do { for (u64 k = (h) & 1023; k > 0; k--) PAUSE(); } while "
          "(0)\n#else\n#define DALLY(h) ((void)0)\n#endif\n");
    out_w(m, o,
          "FN_BIG u64 guard_take(KP_ARG, const u64 use_at, const u64 use_end, const u64 mask, const u64 h, const u32 "
          "wrote, const bool shared, PRIV u64 *wait, const u64 time, const bool looks) {\nconst u32 name = "
          "item_name(h);\nconst u64 i = (mask >> (name >> 1 & 63) & 1) != 0 ? guard_find(kp, use_at, use_end, name) : "
          "use_end;\nu64 use = i;\n"
          "if (i == use_end) {\nuse = GUARD_NONE;\n} else {\nDALLY(h);\nconst u32 s = USE_STATE(i);\n"
          "if (s == GUARD_IS_OVER) {\nga_or_u64(P(0) + 8, %d);\nuse = GUARD_STOP;\n" /* more often than its footprint
                                                                                        said: not to be */
          "} else if ((s & GUARD_HELD) == 0) {\nif (guard_turn(kp, i)) {\nFENCE_TAKE();\n} else if (wait == 0) {\nif "
          "(!looks && !guard_wait(kp, i)) use = GUARD_STOP;\n} else if (guard_soon(kp, i, time)) {\nFENCE_TAKE();\n} "
          "else {\n*wait = i;\nuse = GUARD_WAITS;\n}\n}\n"
          "if (use == i) {\nif (shared) ga_or_u32(USE_STATE_AT(i), GUARD_HELD | wrote);\nelse USE_STATE(i) = s | "
          "GUARD_HELD | wrote;\n}\n}\nreturn use;\n}\n",
          1 << STOP_UNDO_BIT | 1 << STOP_OVER_BIT);
    /* Of an item that the call has its turn at, and had better have: it is asked for once more. */
    out_w(m, o,
          "FN_BIG u64 guard_again(KP_ARG, const u64 use, const u32 wrote) {\nif (use != GUARD_NONE) {\nconst u32 s = "
          "USE_STATE(use);\nif (s == GUARD_IS_OVER) {\nga_or_u64(P(0) + 8, %d);\nreturn GUARD_STOP;\n}\n"
          "if ((s & wrote) != wrote) USE_STATE(use) = s | wrote;\n}\nreturn use;\n}\n",
          1 << STOP_UNDO_BIT | 1 << STOP_OVER_BIT);
    /* Rounds of a loop that lanes share. The call's lock for the item; it is taken later, when its turn has come. */
    out_w(
        m, o,
        "#if defined(KC_CUDA)\nFN_BIG u64 guard_ask(KP_ARG, const u64 use_at, const u64 use_end, const u64 mask, const "
        "u64 h) {\nconst u32 name = item_name(h);\nif ((mask >> (name >> 1 & 63) & 1) == 0) return GUARD_NONE;\n"
        "const u64 i = guard_find(kp, use_at, use_end, name);\nreturn i == use_end ? GUARD_NONE : i;\n}\n"
        "FN_BIG u64 guard_hold(KP_ARG, const u64 use, const u32 wrote) {\nif (use == GUARD_NONE) return use;\nif "
        "(USE_STATE(use) == GUARD_IS_OVER) {\nga_or_u64(P(0) + 8, %d);\nreturn "
        "GUARD_STOP;\n}\nga_or_u32(USE_STATE_AT(use), GUARD_HELD | wrote);\nreturn use;\n}\n#endif\n",
        1 << STOP_UNDO_BIT | 1 << STOP_OVER_BIT);
    /* One operation less; the address of the lock's counter when it was the last one, else 0. */
    out_w(m, o,
          "FN_BIG u64 guard_last(KP_ARG, const u64 use, const bool shared, PRIV u32 *spilled) {\nu64 at = 0;\nif (use "
          "!= GUARD_NONE && USE_STATE(use) != GUARD_IS_OVER) {\nconst u32 s = shared ? ga_add_u32(USE_STATE_AT(use), "
          "~0u) : USE_STATE(use);\n"
          "if ((s & GUARD_OPS) > 1) {\nif (!shared) USE_STATE(use) = s - 1;\n} else {\nUSE_STATE(use) = "
          "GUARD_IS_OVER;\nif ((s & GUARD_WROTE) != 0) *spilled |= 1;\nif ((s & QUEUE_USED) != 0 && (s & (QUEUE_TOOK | "
          "QUEUE_LEFT)) != QUEUE_TOOK) ga_or_u64(P(0) + 8, %d);\nat = %p + (u64)USE_LOCK(use) * 4;\n}\n}\nreturn "
          "at;\n}\n",
          QUEUE_STOP_BITS, counters);
    /* What has to be waited for before a call has its turn everywhere; GUARD_NONE: nothing. */
    out_w(m, o,
          "FN_BIG u64 guards_begin(KP_ARG, const u64 use_at, const u64 use_end) {\nROLLED for (u64 i = use_at; i < "
          "use_end; i++)\n    if (!guard_turn(kp, i)) return i;\nFENCE_TAKE();\nreturn GUARD_NONE;\n}\n");
    /* A call that is done gives up all that it has, once it has had its turn everywhere; else: where it has not. */
    out_w(
        m, o,
        "FN_BIG u64 guards_done(KP_ARG, const u64 use_at, const u64 use_end, const bool takes) {\nROLLED for (u64 i = "
        "use_at; i < use_end; i++) {\nconst u32 s = USE_STATE(i);\n"
        "if (takes && s != GUARD_IS_OVER && (USE_NAME(i) & 1u) != 0 && (s & (QUEUE_TOOK | QUEUE_LEFT)) != QUEUE_TOOK) "
        "{\nga_or_u64(P(0) + 8, %d);\nreturn i;\n}\nif (s == GUARD_IS_OVER || (s & GUARD_HELD) != 0) continue;\n"
        "if (!guard_turn(kp, i)) return i;\nUSE_STATE(i) = s | GUARD_HELD;\n}\nFENCE_TAKE();\nFENCE_GIVE();\n"
        "ROLLED for (u64 i = use_at; i < use_end; i++)\n    if (USE_STATE(i) != GUARD_IS_OVER) ga_add_u32(%p + "
        "(u64)USE_LOCK(i) * 4, 1);\nreturn GUARD_NONE;\n}\n",
        QUEUE_STOP_BITS, counters);
    proc_spread_helpers(x, o);
    if (x->queues) queue_helpers(x, o);
    /* together: the warp's lanes that have calls; 0: one only, which may as well wait where it is. Whether others are
     * not here. On the host, for tests, a call stops wherever it may. */
    out_w(m, o,
          "#if defined(KC_CUDA)\n#define LANE_ALONE(together) ((together) == 0)\n#define LANES_AWAY(together) "
          "((together) != 0 && __activemask() != (together))\n#else\n#define LANE_ALONE(together) ((void)(together), "
          "false)\n"
          "#if defined(KC_OPENCL)\n#define LANES_AWAY(together) ((void)(together), false)\n#else\n#define "
          "LANES_AWAY(together) ((void)(together), true)\n#endif\n#endif\n");
}

/* Under guards. A call's room in the log, its beginning and its end, as both forms of the kernel have them. */
static void log_chunk(ProcEm *x, Out *o) {
    int32_t log = PARAM(PP_LOG, 0, 0);
    out_w(&x->m, o,
          "if (log_end - log_at < UNDO_MAX * %d) {\nlog_at = ga_add_u64(%p, UNDO_MAX * %d);\nlog_end = log_at + "
          "UNDO_MAX * %d;\nif (log_end > G(u64, %p)[1]) ga_or_u64(P(0) + 8, %d);\n}\n",
          (int32_t)UNDO_ENTRY, log, UNDO_ENTRY * LOG_CALLS, UNDO_ENTRY * LOG_CALLS, log, 1 << STOP_ROOM_BIT);
}
static void call_ran(ProcEm *x, Out *o) {
    int32_t failed = PARAM(PP_FAILED, 0, 0);
    out_w(&x->m, o,
          "const u32 n_undo = (u32)(ran >> 32);\nif (n_undo > 0) {\nG(u64, %p)[call] = log_at;\nG(u32, %p)[call] = "
          "n_undo;\nlog_at += (u64)n_undo * %d;\n}\nif (status != 0) G(u64, %p + 8)[ga_add_u64(%p, 1)] = (u64)(status "
          "| FAILED_KNOWN) << 32 | call;\n",
          PARAM(PP_LOG_AT, 0, 0), PARAM(PP_LOG_N, 0, 0), (int32_t)UNDO_ENTRY, failed, failed);
}
/* The launch stops: a call on its way leaves what it has logged to bulk_undo. */
static void call_stops(ProcEm *x, Out *o) {
    out_w(&x->m, o,
          "const u32 n = mine->any.n_undo;\nif (n > 0) {\nG(u64, %p)[call] = log_at;\nG(u32, %p)[call] = n;\n}\n",
          PARAM(PP_LOG_AT, 0, 0), PARAM(PP_LOG_N, 0, 0));
}
/* For the procedures that have such loops. */
static void run_spreads(ProcEm *x, Out *o, int32_t n, const char *fmt) {
    out_w(&x->m, o, "switch (kind) {\n");
    for (int32_t k = 0; k < n; k++) {
        if (!x->spreading[k]) continue;
        out_w(&x->m, o, "case %d: ", k);
        out_w(&x->m, o, fmt, k, k);
        out_w(&x->m, o, " break;\n");
    }
    out_w(&x->m, o, "default: break;\n}\n");
}
#define RUN_GUARDED "ran = run_%d(kp, call, pos, log_at, slot, &mine->f%d, state, together, &wait);"
/* One call after the other, each of which waits on its way. */
void proc_run_guarded(ProcEm *x, Out *o, int32_t n, int32_t order, int32_t pos, int32_t types, int32_t kinds) {
    Em *m = &x->m;
    int32_t starts = PARAM(PP_LOCK_START, 0, 0), step = PARAM(PP_LOCK_STEP, 0, 0);
    out_w(m, o,
          "if (%p != 0) {\nframe_any frame;\nPRIV frame_any *const mine = &frame;\nfor (u32 k = 0; k < left; k++) "
          "{\nif (KC_PEEK(P(0) + 8) != 0) return;\nconst u64 nth = tile + k;\n" CALL_OF,
          PARAM(PP_GUARDS, 0, 0), order, order, pos, pos, types, kinds, types, kinds);
    out_w(m, o, "const u64 use_at = G(u32, %p)[call * %p], use_end = G(u32, %p)[(call + 1) * %p];\n", starts, step,
          starts, step);
    out_w(m, o,
          "if (HOLDS_ALL(kind))\n    for (u64 use; (use = guards_begin(kp, use_at, use_end)) != GUARD_NONE;)\n        "
          "if (!guard_wait(kp, use)) return;\n");
    log_chunk(x, o);
    out_w(m, o,
          "u32 state = 0, status = 0;\nu64 ran = 0, wait = GUARD_NONE;\nconst u32 together = 0;\nfor (;;) {\nif "
          "(KC_PEEK(P(0) + 8) != 0) {\nif (state != 0) {\n");
    call_stops(x, o);
    out_w(m, o, "}\nreturn;\n}\n");
    proc_switch(x, o, n, RUN_GUARDED);
    out_w(m, o,
          "status = (u32)ran;\nif ((status & STOPS_AT) != STOPS_AT) break;\nstate = status & 0xffffu;\nif ((state & "
          "SPREAD) != 0) {\n");
    run_spreads(x, o, n, "state = spread_%d(kp, call, pos, log_at, slot, &mine->f%d, state);");
    out_w(m, o, "}\nif (wait != GUARD_NONE) (void)guard_wait(kp, wait);\n}\n");
    call_ran(x, o);
    out_w(m, o,
          "for (u64 use; (use = guards_done(kp, use_at, use_end, TAKES(kind))) != GUARD_NONE;)\n    if "
          "(!guard_wait(kp, use) || KC_PEEK(P(0) + 8) != 0) return;\n}\ncontinue;\n}\n");
}
/* The lanes of a warp have a call each, which go on together as far as they can: of those that need not wait, the lanes
 * that are behind go first, and in the same state at a time. A lane that is done takes the next call, so that lanes are
 * always behind somebody. Lanes that went ahead wait for the others where functions say so (LANES_AWAY), and only for
 * such as need not wait themselves: whoever holds a lock goes on whatever others do. A function is longer than the
 * cache of instructions, and what a warp fetches is gone when another one comes there. So a group has all threads of a
 * multiprocessor, and its warps take their next calls, a batch for each, at the same time: those that follow find what
 * the first one has fetched, and so catch up. Calls that are done hold nothing, so nobody waits for a warp that waits
 * here. (H200, TPC-C, 64 warehouses: 5.4 M/s instead of 4.2 in bulks of 64k, 6.8 instead of 5.1 in bulks of 256k; in
 * groups of 4, 8 and 16 warps 4.6, 4.8 and 4.9 M/s.) They meet once more where a call's loop is shared (warps_meet),
 * but for a limited time, since here calls hold locks. (64k new_orders 6.3 ms instead of 6.8, full mix of 64k 6.5
 * instead of 6.7.) More warps do not help, instructions do not come faster: 48 or 64 on a multiprocessor, with 42 or 32
 * registers, 8.9 and 9.4 ms for 64k new_orders instead of 6.6; 24 warps 6.9. */
void proc_run_together(ProcEm *x, Out *o, int32_t n, int32_t order, int32_t pos, int32_t types, int32_t kinds,
                       int32_t ticket) {
    Em *m = &x->m;
    int32_t starts = PARAM(PP_LOCK_START, 0, 0), step = PARAM(PP_LOCK_STEP, 0, 0);
    out_w(m, o,
          "if (%p != 0) {\nenum { FRAMES_FIT = sizeof(frame_any) * (GROUP_SIZE / 32) <= %d };\n__shared__ "
          "__align__(16) char frames[FRAMES_FIT ? sizeof(frame_any) * (GROUP_SIZE / 32) : 16];\n__shared__ u32 "
          "came[MEETINGS];\n__shared__ u64 batch;\nframe_any frame, *mine = &frame;\nu64 call = 0, pos = 0, wait = "
          "GUARD_NONE, use_at = 0, use_end = 0, since = CLOCK(), at = 0;\nu32 kind = 0, state = LANE_FREE, from = 0, "
          "meeting = 0;\nbool turn = true, begun = true; /* it need not wait; it has the locks that it holds all the "
          "time */\nconst bool meets = (G(u32, %p)[2] & %d) != 0;\nfor (bool more = true;;) {\n"
          "if (more && !__any_sync(~0u, state != LANE_FREE)) {\nconst u32 lane = LID & 31u;\nu64 unit = 0, k = 0;\nif "
          "(meets) {\n__syncthreads();\nif (LID < MEETINGS) came[LID] = 0;\nif (LID == 0) batch = ga_add_u64(%p + 8, "
          "GROUP_SIZE / 32);\n__syncthreads();\nunit = batch + LID / 32;\n} else {\nif (lane == 0) unit = "
          "ga_add_u64(%p + 8, 1);\nunit = __shfl_sync(~0u, unit, 0);\n}\nmeeting = 0;\n"
          "while (k + 1 < %p && unit >= G(u32, %p)[3 * k + 3]) k++;\n"
          "const u32 how = G(u32, %p)[3 * k + 2];\nconst u64 per = how & 0xffffu, nth = (u64)G(u32, %p)[3 * k + 1] + "
          "(unit - G(u32, %p)[3 * k]) * per + lane, end = G(u32, %p)[3 * k + 4];\nmore = nth - lane < end;\nhere = "
          "FRAMES_FIT && (how & %d) != 0;\nmine = here ? (frame_any *)(void *)frames + LID / 32 : &frame;\n"
          "if (lane < per && nth < end) {\ncall = %p != 0 ? (u64)G(u32, %p)[nth] : nth;\npos = %p != 0 ? (u64)G(u32, "
          "%p)[call] : call;\nkind = %p != 0 ? G(u16, %p)[G(u16, %p)[call]] : G(u16, %p)[0];\n"
          "use_at = G(u32, %p)[call * %p];\nuse_end = G(u32, %p)[(call + 1) * %p];\nturn = true;\nbegun = "
          "!HOLDS_ALL(kind);\nstate = 0;\n",
          PARAM(PP_GUARDS, 0, 0), (int32_t)FRAMES_BYTES, PARAM(PP_TOGETHER, 0, 0), (int32_t)PROC_MEETS, ticket, ticket,
          PARAM(PP_STRETCHES, 0, 0), PARAM(PP_TOGETHER, 0, 0), PARAM(PP_TOGETHER, 0, 0), PARAM(PP_TOGETHER, 0, 0),
          PARAM(PP_TOGETHER, 0, 0), PARAM(PP_TOGETHER, 0, 0), (int32_t)PROC_SPREADS, order, order, pos, pos, types,
          kinds, types, kinds, starts, step, starts, step);
    log_chunk(x, o);
    out_w(m, o, "}\n}\nif (__any_sync(~0u, KC_PEEK(P(0) + 8) != 0)) {\nif (state != 0 && state < LANE_ENDS) {\n");
    call_stops(x, o);
    out_w(m, o,
          "}\nreturn;\n}\n"
          "if (!begun && turn) {\nwait = guards_begin(kp, use_at, use_end);\nbegun = turn = wait == GUARD_NONE;\nif "
          "(!turn) guard_look(kp, wait, &at, &from);\n}\n"
          "if (state == LANE_ENDS && turn) {\nwait = guards_done(kp, use_at, use_end, TAKES(kind));\nturn = wait == "
          "GUARD_NONE;\nif (turn) state = LANE_FREE;\nelse guard_look(kp, wait, &at, &from);\n}\n"
          "const u32 busy = __ballot_sync(~0u, state != LANE_FREE);\nif (busy == 0 && !more) break;\n"
          "const bool ready = state < LANE_ENDS && turn;\n"
          "const u32 key = ready ? kind << 16 | state : ~0u, least = least_of(~0u, key), all = __ballot_sync(~0u, "
          "state < LANE_ENDS && kind == least >> 16);\n"
          "const bool goes = ready && key == least;\nconst u32 group = __ballot_sync(~0u, goes), behind = "
          "__ballot_sync(~0u, state < (least & 0xffffu) || !begun) & all;\n");
    /* those that are behind may come soon, as long as those they wait for go on */
    out_w(m, o,
          "if (group == 0 || (behind != 0 && __any_sync(~0u, CLOCK() - since < PATIENCE))) {\nif (__any_sync(~0u, "
          "!turn) && lanes_wait(&turn, at, from)) since = CLOCK();\ncontinue;\n}\n"
          "if (goes) {\nconst u32 together = (busy & (busy - 1)) == 0 ? 0 : all;\nu64 ran = 0;\n");
    proc_switch(x, o, n, RUN_GUARDED);
    out_w(m, o,
          "const u32 status = (u32)ran;\nif ((status & STOPS_AT) == STOPS_AT) {\nstate = status & 0xffffu;\nturn = "
          "wait == GUARD_NONE;\nif (!turn) guard_look(kp, wait, &at, &from);\n} else {\n");
    call_ran(x, o);
    out_w(m, o, "state = use_at == use_end ? LANE_FREE : LANE_ENDS;\n}\n}\n__syncwarp();\n");
    /* a call that has its warp to itself has all lanes help it with a loop */
    out_w(m, o,
          "const u32 at_top = from_lane(state, 0);\nif (at_top < LANE_ENDS && (at_top & SPREAD) != 0) {\nif (meets && "
          "meeting < MEETINGS) warps_meet(&came[meeting++]);\nconst u64 its_call = from_lane(call, 0), its_pos = "
          "from_lane(pos, 0), its_log = from_lane(log_at, 0);\nu32 next = at_top & 0x3fffu;\n{\nconst u32 its_kind = "
          "from_lane(kind, 0), kind = its_kind;\n");
    run_spreads(x, o, n, "next = spread_%d(kp, its_call, its_pos, its_log, slot, &mine->f%d, at_top);");
    out_w(m, o, "}\nif ((LID & 31u) == 0) state = next;\n}\nsince = CLOCK();\n}\nreturn;\n}\n");
}
/* Takes back what all calls did, the last one's first. */
void proc_assemble_undo(ProcEm *x, ProcModule *out, Out *o) {
    Em *m = &x->m;
    m->proc = 0;
    int32_t pos = PARAM(PP_POS, 0, 0), types = PARAM(PP_TYPES, 0, 0), kinds = PARAM(PP_KINDS, 0, 0),
            at = PARAM(PP_LOG_AT, 0, 0), count = PARAM(PP_LOG_N, 0, 0);
    out_w(m, o,
          "\nKERNEL(bulk_undo) {\nif (GID != 0 || LID != 0) return;\nfor (u64 nth = %p; nth-- > 0;) {\nconst u32 n = "
          "G(u32, %p)[nth];\nif (n == 0) continue;\n" CALL_OF,
          PARAM(PP_CALLS, 0, 0), count, PARAM(PP_ORDER, 0, 0), PARAM(PP_ORDER, 0, 0), pos, pos, types, kinds, types,
          kinds);
    out_w(m, o, "const u64 at = G(u64, %p)[call];\n", at);
    proc_switch(x, o, out->n_procs, "undo_%d(kp, at, n);");
    out_w(m, o, "}\n}\n");
}
