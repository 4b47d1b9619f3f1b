/* emit_statement_locks.c - locks that calls hold by statement, in kernels; see emit_proc.h, Statement locks, and
 * txn/README.md. The locks themselves, calls that stop at one and go on later, and how a kernel runs such calls. */
#include "codegen/emit_proc_int.h"

/* What the call does to the item counts when it is given up, and when the call fails. */
static bool changes(const ItemSite *it) { return it->kind != OPK_READ || it->deletes; }
int32_t proc_hash_var(const ProcEm *x, const Instr *in) {
    const Instr *of = in->a ? made_by(x, in->a) : NULL;
    if (in->a) return of && of->op == OP_LOAD ? (int32_t)of->imm : -1;
    for (int32_t i = 0; in->dst && i < x->p->n_instrs; i++)
        if (x->p->instrs[i].op == OP_STORE && x->p->instrs[i].a == in->dst) return (int32_t)x->p->instrs[i].imm;
    return -1;
}
bool proc_lock_dequeues(const ProcEm *x, const ItemSite *it) {
    return proc_dequeue_use(x, (int32_t)it->table, DEQUEUE_ROWS) && it->group == ITEM_ROWS;
}
/* In a round, whose hashes and locks are known, and whose locks are acquired. */
static void lock_in_round(ProcEm *x, const Instr *in) {
    const ItemSite *it = in->aux;
    int32_t k = proc_asked(x, in);
    W("const u64 h = hash%d;\nu64 use = ask%d;\n(void)h;\n#if defined(KC_CUDA)\n", k, k);
    if (proc_lock_dequeues(x, it))
        W("if (%p != 0) use = dequeue_use(kp, use_at, use_end, names, h, true);\nelse\n", PARAM(PP_DEQUEUES, 0, 0));
    W("use = lock_hold(kp, use, %s);\n#else\nuse = ", changes(it) ? "USE_WROTE" : "0u");
    if (proc_lock_dequeues(x, it))
        W("%p != 0 ? dequeue_use(kp, use_at, use_end, names, h, true) : ", PARAM(PP_DEQUEUES, 0, 0));
    W("lock_acquire(kp, use_at, use_end, names, h, %s, true, 0, 0, false);\n#endif\n",
      changes(it) ? "USE_WROTE" : "0u");
}
void proc_lock(ProcEm *x, const Instr *in, int32_t pc) {
    const ItemSite *it = in->aux;
    if (x->out->holds_all) {
        if (in->dst) W("const i64 r%d = 0;\nconst bool v%d = true;\n", in->dst, in->dst);
        return;
    }
    if (in->dst) W("i64 r%d = 0;\nconst bool v%d = true;\n", in->dst, in->dst);
    bool once = x->locks.once[it->lock] != 0;
    if (once) W("if (use_at != use_end && !had%d) {\n", it->lock);
    else W("if (use_at != use_end) {\n");
    int32_t back = x->par.round ? 0 : x->locks.goes_back[pc], kept = proc_hash_var(x, in);
    bool narrow = x->locks.narrow[pc] && !x->par.round, dequeues = proc_lock_dequeues(x, it);
    if (x->par.round) {
        lock_in_round(x, in);
    } else {
        const char *wrote = changes(it) ? "USE_WROTE" : "0u";
        if (in->a) W("const u64 h = (u64)%r;\n", in->a);
        else proc_item_hash(x, it, PARAM(PP_LOCK_BASE, it->lock, 0));
        W("const u64 use = ");
        if (in->a && kept >= 0) W("use%d != LOCK_UNKNOWN ? lock_reacquire(kp, use%d, %s) : ", kept, kept, wrote);
        if (dequeues) W("%p != 0 ? dequeue_use(kp, use_at, use_end, names, h, false) : ", PARAM(PP_DEQUEUES, 0, 0));
        W("lock_acquire(kp, use_at, use_end, names, h, %s, false, %s, %s, %s);\n", wrote,
          back ? "LANE_ALONE(together) ? 0 : wait" : "0", x->log.in_loop ? "WAITS_IN_LOOP" : "0",
          narrow ? "true" : "false");
    }
    W("if (use == LOCK_STOP) FAIL(%d);\n", fail_code(x, PF_STOPPED));
    if (in->dst) W("r%d = (i64)h;\n", in->dst);
    if (back) W("if (use == LOCK_WAITS) SUSPEND(%d);\n", x->locks.split[back - 1]);
    if (it->release) W("g%d = use;\n", it->lock);
    if (dequeues) W("queue_at = use;\n");
    if (once) W("had%d = true;\n", it->lock);
    if (in->dst && kept >= 0) W("use%d = use;\n", kept);
    /* here, so that what follows is at hand when the lock is acquired */
    if (narrow)
        W("if (use != LOCK_NONE) {\nu32 from, c;\nlock_counter(kp, use, &at%d, &from);\nops%d = USE_STATE(use) & "
          "USE_OPS;\nc = GVOL(u32, at%d)[0];\nif (c < from) {\nfor (u32 spins = 0; c < from; c = GVOL(u32, at%d)[0]) "
          "{\nif (KC_PEEK(STOP_FLAG) != 0) FAIL(%d);\nRELAX(++spins, from - c);\n}\n}\nFENCE_TAKE();\n}\n",
          it->lock, it->lock, it->lock, it->lock, fail_code(x, PF_STOPPED));
    W("}\n");
}
/* What was changed is given up only where no failure is to be expected any more. */
static bool releases(const ProcEm *x, int32_t lock, int32_t pc) {
    return !changes(x->proc->locks[lock]) || pc > x->fail.last_fail;
}
void proc_unlock(ProcEm *x, const Instr *in, int32_t pc) {
    const LockList *l = in->aux;
    const char *shared = x->par.round ? "true" : "false";
    int32_t n = 0;
    if (x->out->holds_all) return;
    W("if (use_at != use_end) {\n");
    for (int32_t i = 0; i < l->n; i++) {
        int32_t g = l->locks[i];
        if (!x->locks.narrow_locks[g] || x->par.round) continue;
        W("if (g%d != LOCK_NONE && ops%d == 1) {\nUSE_STATE(g%d) = USE_RELEASED;\nspilled |= "
          "1;\nFENCE_GIVE();\nga_add_u32(at%d, 1);\ng%d = LOCK_NONE;\n}\n",
          g, g, g, g, g);
    }
    for (int32_t i = 0; i < l->n; i++) /* LOCK_NONE has all bits */
        if (releases(x, l->locks[i], pc)) W(n++ == 0 ? "if ((g%d" : " & g%d", l->locks[i]);
    if (n > 0) W(x->par.round ? ") != LOCK_NONE) {\nFENCE_GIVE();\n" : ") != LOCK_NONE) {\n");
    for (int32_t i = 0; i < l->n; i++)
        if (releases(x, l->locks[i], pc))
            W("const u64 next%d = lock_finish_op(kp, g%d, %s, &spilled);\n", i, l->locks[i], shared);
    for (int32_t i = 0, k = 0; i < l->n; i++)
        if (releases(x, l->locks[i], pc)) W(k++ == 0 ? "if ((next%d" : " | next%d", i);
    /* a round's: what other lanes did under the lock as well */
    if (n > 0) W(x->par.round ? ") != 0) {\nFENCE_TAKE();\nFENCE_GIVE();\n" : ") != 0) {\nFENCE_GIVE();\n");
    for (int32_t i = 0; i < l->n; i++)
        if (releases(x, l->locks[i], pc)) W("if (next%d != 0) ga_add_u32(next%d, 1);\n", i, i);
    if (n > 0) W("}\n}\n");
    for (int32_t i = 0; i < l->n; i++) W("g%d = LOCK_NONE;\n", l->locks[i]);
    W("}\n");
}
/* A loop over rows that says the same lock each time, and in which no statement ends, need not look for it each
 * time. */
void proc_find_once(ProcEm *x) {
    const Program *p = x->p;
    for (int32_t pc = 0; pc < p->n_instrs; pc++) {
        const Instr *in = &p->instrs[pc];
        if (in->op != OP_LOCK || in->dst) continue;
        const ItemSite *it = in->aux;
        int32_t loop = pc, depth = 1, at;
        while (loop > 0 && depth > 0) {
            loop--;
            depth += (p->instrs[loop].op == OP_P_ENDLOOP) - (p->instrs[loop].op == OP_P_LOOP);
        }
        bool same = depth == 0;
        for (int32_t k = loop; same && k < p->instrs[loop].jump; k++) same = p->instrs[k].op != OP_UNLOCK;
        Reg r;
        for (int32_t u = 0; same && (r = instr_use(in, u)) >= 0; u++) {
            const Instr *of = made_by(x, r);
            if (of) same = of->op == OP_LOAD && count_of(x, loop, p->instrs[loop].jump, OP_STORE, of->imm, &at) == 0;
        }
        if (same) x->locks.once[it->lock] = loop + 1;
    }
}
void proc_lock_vars(ProcEm *x, Out *o) {
    if (proc_dequeues(x))
        out_w(&x->m, o, "%s",
              x->locks.framed && !x->par.round
                  ? ""
                  : "u64 queue_at = LOCK_NONE;\n(void)queue_at;\ni64 taken = -1;\n(void)taken;\n");
    for (int32_t i = 0; i < x->proc->n_locks; i++) {
        if (x->proc->locks[i]->release && (!x->locks.framed || x->par.round))
            out_w(&x->m, o, "u64 g%d = LOCK_NONE;\n(void)g%d;\n", i, i);
        if (x->locks.narrow_locks[i])
            out_w(&x->m, o, "u64 at%d = 0;\nu32 ops%d = 0;\n(void)at%d; (void)ops%d;\n", i, i, i, i);
        if (x->locks.once[i]) out_w(&x->m, o, "bool had%d = false;\n(void)had%d;\n", i, i);
    }
    for (int32_t i = 0; i < x->p->n_instrs; i++) {
        const Instr *in = &x->p->instrs[i];
        int32_t kept = in->op == OP_LOCK && in->dst ? proc_hash_var(x, in) : -1;
        for (int32_t k = 0; kept >= 0 && k < i; k++)
            if (x->p->instrs[k].op == OP_LOCK && x->p->instrs[k].dst && proc_hash_var(x, &x->p->instrs[k]) == kept)
                kept = -1;
        if (kept >= 0) out_w(&x->m, o, "u64 use%d = LOCK_UNKNOWN;\n(void)use%d;\n", kept, kept);
    }
}
void proc_locks_anew(ProcEm *x, int32_t loop) {
    for (int32_t i = 0; i < x->proc->n_locks; i++)
        if (x->locks.once[i] == loop + 1) W("had%d = false;\n", i);
}
bool proc_holds_all(const ProcEm *x) {
    bool in_loops = false;
    for (int32_t i = 0, depth = 0; i < x->p->n_instrs; i++) {
        uint16_t op = x->p->instrs[i].op;
        depth += (op == OP_P_LOOP) - (op == OP_P_ENDLOOP);
        in_loops |= op == OP_LOCK && depth > 0;
    }
    return in_loops && !x->proc->writes;
}
int32_t proc_last_fail(ProcEm *x) {
    int32_t last = -1, depth = 0;
    bool in_loop = false;
    for (int32_t i = 0; i < x->p->n_instrs; i++) {
        const Instr *in = &x->p->instrs[i];
        depth += in->op == OP_P_LOOP;
        /* those are checks of the language's */
        bool fails = in->op == OP_RAISE && strncmp(((const RaiseSite *)in->aux)->sqlstate, "22", 2) != 0;
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

/* ---- calls that stop on their way ---------------------------------------------------------------------------
 * A call that has to wait at a lock leaves its function, with its variables in a frame, and goes on later from a
 * place before the lock where no register lives (a split); what stands between is done once more, so it must change
 * nothing. Locks without such a place wait where they are. Behind statements that have statement locks, outside of
 * loops, lanes of a warp that came through early leave in the same way, to go on together with the others. */
static bool has_effect(const Program *p, int32_t from, int32_t pc) {
    const Instr *in = &p->instrs[pc];
    bool read = false; /* what was read before it is another value the second time */
    for (int32_t k = MAX_OF(from, 0); k < pc && in->op == OP_STORE; k++)
        read |= p->instrs[k].op == OP_LOAD && p->instrs[k].imm == in->imm;
    return read || (op_has_effect(in->op) && in->op != OP_STORE && in->op != OP_LOCK);
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
            if (pc > from && p->instrs[pc - 1].op == OP_UNLOCK && !in_loop)
                x->locks.gathers[pc] = true, x->locks.split[pc] = 1;
        }
        if (in->op == OP_LOCK && last >= 0) x->locks.split[last] = 1, x->locks.goes_back[pc] = last + 1;
        x->out->waits_inside |= in->op == OP_LOCK && last < 0;
        x->out->waits_in_loops |= in->op == OP_LOCK && in_loop;
        if (has_effect(p, last, pc)) last = -1;
        depth += (in->op == OP_IF) - (in->op == OP_ENDIF);
        for (int32_t k = to; in->dst && k > pc; k--) { /* the last use */
            Reg r;
            bool used = false;
            if (k == p->n_instrs) continue;
            for (int32_t u = 0; (r = instr_use(&p->instrs[k], u)) >= 0; u++) used |= r == in->dst;
            if (!used) continue;
            live_to = MAX_OF(live_to, k + 1);
            break;
        }
        x->locks.crosses[pc] = depth > 0 || live_to > pc + 1;
    }
}
void proc_find_states(ProcEm *x) {
    const Program *p = x->p;
    int32_t loops = 0;
    for (int32_t pc = 0, from; pc < p->n_instrs; pc++) {
        for (from = pc; pc < p->n_instrs && !op_is_control(p->instrs[pc].op); pc++) {}
        if (pc > from) find_splits(x, from, pc, loops > 0);
        if (pc == p->n_instrs) break;
        loops += (p->instrs[pc].op == OP_P_LOOP) - (p->instrs[pc].op == OP_P_ENDLOOP);
    }
    for (int32_t pc = 0; pc < p->n_instrs; pc++)
        if (x->locks.split[pc]) x->locks.split[pc] = ++x->locks.n_states;
}

/* ---- narrow locks -------------------------------------------------------------------------------------------
 * A chain of calls that change one row, one after the other, goes at the pace of what stands between acquiring a lock
 * and releasing it: on a GPU mostly at the pace at which instructions come that no warp has run for a while. Where a
 * statement is straight code with one such lock, what does not depend on what it locks comes before the lock, and
 * neither waiting nor releasing leaves the function. It matters where calls do wait for such a row. */
static bool is_narrow(const ProcEm *x, int32_t pc, int32_t *end) {
    const Program *p = x->p;
    const ItemSite *it = p->instrs[pc].aux;
    if (it->kind != OPK_WRITE || it->group >= ITEM_ROWS || !it->release) return false;
    int32_t k = pc + 1;
    bool changes = false;
    for (; k < p->n_instrs && !op_is_control(p->instrs[k].op); k++) {
        const Instr *in = &p->instrs[k];
        bool put = in->op == OP_ROW_PUT || in->op == OP_ROW_ADD;
        changes |= put;
        if (x->locks.split[k] || (!put && in->op != OP_STORE &&
                                  (!in->dst || in->op == OP_CALL || in->op == OP_LOCK || in->op == OP_ROW_FIND ||
                                   in->op == OP_ROW_FIRST || in->op == OP_ROW_NEXT)))
            return false;
    }
    *end = k;
    while (k < p->n_instrs && (p->instrs[k].op == OP_P_ENDIF || p->instrs[k].op == OP_P_ENDBLOCK)) k++;
    if (!changes || k >= p->n_instrs || p->instrs[k].op != OP_UNLOCK || x->locks.split[k] || k <= x->fail.last_fail)
        return false;
    const LockList *l = p->instrs[k].aux;
    for (int32_t i = 0; i < l->n; i++)
        if (l->locks[i] == it->lock) return true;
    return false;
}
void proc_find_narrow(ProcEm *x) {
    const Program *p = x->p;
    bool *regs = arena_array(x->m.arena, bool, p->n_regs + 1), *vars = arena_array(x->m.arena, bool, x->n_vars + 1);
    if (!regs || !vars) return; /* then none is */
    for (int32_t pc = 0, end; pc < p->n_instrs; pc++) {
        if (p->instrs[pc].op != OP_LOCK || !is_narrow(x, pc, &end)) continue;
        const ItemSite *it = p->instrs[pc].aux;
        memset(vars, 0, (size_t)x->n_vars);
        x->locks.narrow[pc] = end;
        x->locks.narrow_locks[it->lock] = true;
        for (int32_t k = pc + 1; k < end; k++) {
            const Instr *in = &p->instrs[k];
            const RowCol *rc = in->op == OP_ROW_GET ? in->aux : NULL;
            bool late = in->op == OP_STORE || in->op == OP_ROW_PUT || in->op == OP_ROW_ADD ||
                        (in->op == OP_LOAD && vars[in->imm]);
            late |= (op_info[in->op].flags & F_FAIL) != 0;
            /* columns that are never changed are in piece 0 */
            late |= rc && rc->table == (int32_t)it->table && column(x, rc->table, rc->col)->piece != 0;
            Reg r;
            for (int32_t u = 0; !late && (r = instr_use(in, u)) >= 0; u++) late = regs[r];
            x->locks.late[k] = late;
            if (in->dst) regs[in->dst] = late;
            if (in->op == OP_STORE) vars[in->imm] = true;
        }
    }
}
void proc_put_split(ProcEm *x, int32_t pc) {
    if (x->locks.gathers[pc])
        W("if (by_statement && LANES_DIVERGED(together)) {\n*wait = LOCK_NONE;\nSUSPEND(%d);\n}\n", x->locks.split[pc]);
    W("S%d: ;\n", x->locks.split[pc]);
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
        if (mode == FRAME_FIELDS || !x->locks.framed) frame_field(x, o, mode, calls[i][0], calls[i][1]);
    if (x->locks.framed && mode != FRAME_FIELDS) frame_field(x, o, mode, "u32", "failed");
    if (x->out->scratch > 0) frame_field(x, o, mode, "scratch", "mem");
    if (x->locks.framed && mode != FRAME_FIELDS) return; /* the rest is there all the time */
    for (int32_t i = 0; i < x->proc->n_locks; i++)
        if (x->proc->locks[i]->release) frame_numbered(x, o, mode, "u64", 'g', i);
    for (int32_t i = 0; i < x->proc->n_tables; i++) frame_numbered(x, o, mode, "i64", 'i', i);
    if (proc_dequeues(x)) frame_field(x, o, mode, "i64", "taken"), frame_field(x, o, mode, "u64", "queue_at");
    for (int32_t i = 0; i < x->n_vars; i++) {
        if (!x->stored[i] && !(x->locks.framed && i < x->proc->n_params)) continue;
        frame_numbered(x, o, mode, c_type[x->vars[i].phys], 'y', i);
        frame_numbered(x, o, mode, "bool", 'z', i);
        if (x->locks.framed && x->m.views_used[i]) frame_numbered(x, o, mode, "arr", 'a', i);
    }
}
bool proc_in_frame(const ProcEm *x, int32_t var) {
    int32_t at;
    if (!x->locks.framed || (!x->stored[var] && var >= x->proc->n_params)) return false;
    return !x->par.round || count_of(x, x->par.round->loop, x->par.round->end, OP_STORE, var, &at) == 0;
}

/* ---- queues: emit_proc.h ---------------------------------------------------------------------------------- */
void proc_queue_stops(ProcEm *x) {
    W("{\nga_or_u64(STOP_FLAG, STOP_QUEUE);\nFAIL(%d);\n}\n", fail_code(x, PF_STOPPED));
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
    if (cell.p) em_equal(&x->m, &x->m.text.body, phys, cell.p, name);
    x->m.text.body.failed |= cell.failed;
}
void proc_dequeue(ProcEm *x, const Instr *in, const ImageIndex *ix, int32_t next, int32_t order) {
    const RowKey *k = in->aux;
    int32_t cells = PARAM(PP_CELLS, k->table, ix->order - 1), live = PARAM(PP_LIVE, k->table, 0);
    char row[16];
    snprintf(row, sizeof row, "r%d", (int)in->dst);
    W("if (%p != 0) {\n", PARAM(PP_DEQUEUES, 0, 0));
    proc_log_room(x);
    W("i64 front = -1;\n%s = dequeue(kp, queue_at, %s, %p, %p, %d, %p, %s, &front);\nif (front >= 0) {\nconst i64 row "
      "= front;\n",
      row, x->par.round ? "true" : "false", next, cells, order, live, row);
    proc_log_front(x, k->table);
    W("}\nif (%s == DEQUEUE_STOPS) FAIL(%d);\nif (queue_at != LOCK_NONE && %s >= 0) spilled |= 2;\n", row,
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
    W("if (%p != 0 && (taken < 0 || !(true", PARAM(PP_DEQUEUES, 0, 0));
    for (int32_t c = 0; c < t->n_dequeue_cols; c++)
        for (int32_t i = 0; i < ix->n_cols; i++) {
            if (ix->cols[i] != t->dequeue_cols[c]) continue;
            W(" && ");
            put_equal(x, x->proc->queue, queue->dequeue_cols[c], "taken", k->args[i]);
        }
    W("))) ");
    proc_queue_stops(x);
}
void proc_queue_delete(ProcEm *x) {
    W("if (%p != 0) {\nif (row != taken) ", PARAM(PP_DEQUEUES, 0, 0));
    proc_queue_stops(x);
    W("if (queue_at != LOCK_NONE) dequeue_done(kp, queue_at, %s);\n}\n", x->par.round ? "true" : "false");
}
