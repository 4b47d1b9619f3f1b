/* emit_proc.c - bodies of procedures as kernel C; see emit_proc.h. One ProcEm writes all procedures of a module, one
 * after the other. */
#include "base/hash.h"
#include "codegen/emit_proc_int.h"
#include "codegen/prelude.h"

enum {
    /* host: footprints of so many are in the kernel, whose loop then keeps parameters in registers */
    SHORT_INSTRS = 32
};

/* What belongs to the bulk or to a table is one parameter for all procedures. */
int32_t proc_param(ProcEm *x, int32_t kind, int32_t id, int32_t col) {
    bool of_bulk = kind >= PP_CALLS && kind < PP_CELLS, of_table = kind >= PP_CELLS && kind < PP_UNDO;
    uint16_t proc = x->m.proc;
    if (of_bulk || of_table) x->m.proc = 0;
    /* both programs have them */
    else if ((kind >= PP_ARG_CELLS && kind <= PP_ARG_STEP) || kind == PP_COUNTS) x->m.proc = x->body_no;
    int32_t n = em_param(&x->m, (ParamKind)kind, of_table ? x->table_no[id] : id, col, NULL);
    /* one address for the columns of a piece: where each is behind it is known */
    if ((kind == PP_CELLS || kind == PP_VALID) && !x->m.text.body.failed && !x->m.params.items[n].rows) {
        const ImageColumn *c = column(x, id, col);
        int32_t rows = em_param(&x->m, (ParamKind)PP_ROWS, x->table_no[id], c->piece, NULL);
        if (!x->m.text.body.failed) x->m.params.items[n].rows = rows + 1;
        if (!x->m.text.body.failed)
            x->m.params.items[n].offset =
                (int32_t)((kind == PP_CELLS ? c->cells : c->valid) - x->tables[id].image->pieces[c->piece].rows);
    }
    x->m.proc = proc;
    return n;
}

/* ---- what has no form ---------------------------------------------------------------------------- */
static const char *instr_reason(const Program *p, const Instr *in, Arena *a) {
    switch (in->op) {
    case OP_LOAD_CODE:
    case OP_LOAD_ROWID:
    case OP_DECODE:
    case OP_CODE_TEST:
    case OP_CODE_MAP: return "codes of a dictionary";
    case OP_P_TRY: return "EXCEPTION";
    case OP_NOTICE: return "RAISE of a notice";
    case OP_BUF_CLEAR:
    case OP_BUF_ADD:
    case OP_BUF_SORT:
    case OP_BUF_GET: return "rows of a query that are collected";
    case OP_CALL: return make_has_form(p, in->aux) ? NULL : expr_reason(NULL, p, in, NULL, a);
    case OP_FILTER:
    case OP_FILTER_RANGE:
    case OP_FILTER_CODES:
    case OP_PROBE:
    case OP_PROBE_BEGIN:
    case OP_PROBE_END:
    case OP_LOAD_BUILD:
    case OP_REPEAT: return op_info[in->op].name;
    default: return expr_reason(NULL, p, in, NULL, a);
    }
}

/* Instructions between the last effect of a run and the RAISE at its end make the message: the virtual machine does
 * that. */
static void mark_message(const Program *p, int32_t raise, bool *skip) {
    int32_t from = raise;
    while (from > 0 && !op_is_control(p->instrs[from - 1].op)) from--;
    for (int32_t i = raise - 1; i >= from; i--) {
        const Instr *in = &p->instrs[i];
        bool effect = op_has_effect(in->op) || in->op == OP_IF || in->op == OP_ELSE || in->op == OP_ENDIF, used = false;
        for (int32_t k = i + 1; !effect && in->dst && k < raise && !used; k++) {
            if (skip[k]) continue;
            Reg r;
            for (int32_t u = 0; (r = instr_use(&p->instrs[k], u)) >= 0; u++) used |= r == in->dst;
        }
        skip[i] = !effect && !used;
    }
}

/* ---- forms ------------------------------------------------------------------------------------------- */
static void find_forms(ProcEm *x) {
    const Program *p = x->p;
    RegForm *f = x->regs;
    for (int32_t r = 0; r < p->n_regs; r++)
        f[r] = (RegForm){.phys = p->regs[r].phys, .nullable = r > 0 && p->regs[r].is_const && p->regs[r].value.is_null};
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (!in->dst) continue;
        bool *n = &f[in->dst].nullable;
        switch (in->op) {
        case OP_LOAD:
        case OP_ROW_GET:
        case OP_SELECT:
        case OP_NULLIF:
        case OP_IN_SET:
        case OP_KEY_PACK:
        case OP_ENDIF: *n = true; break;
        case OP_COALESCE: *n = f[in->a].nullable && f[in->b].nullable; break;
        case OP_CALL: {
            const CallSite *c = in->aux;
            *n = !c->strict;
            for (int32_t k = 0; k < c->n_args; k++) *n |= f[c->args[k]].nullable;
            break;
        }
        default:
            if (op_info[in->op].nulls != NV)
                *n = (in->a && f[in->a].nullable) || (in->b && f[in->b].nullable) || (in->c && f[in->c].nullable);
        }
    }
}

/* ---- variables ---------------------------------------------------------------------------------------- */
/* What an argument is, by the names of its cells. */
static void load_argument(ProcEm *x, Out *o, int32_t i, const char *type, const char *valid_type) {
    int32_t cells = PARAM(PP_ARG_CELLS, i, 0), valid = PARAM(PP_ARG_VALID, i, 0), step = PARAM(PP_ARG_STEP, i, 0);
    uint8_t phys = x->vars[i].phys;
    char at[32];
    snprintf(at, sizeof at, "(u32)pos * (u32)P(%d)", (int)step); /* fits: a bulk has INT32_MAX calls at most */
    out_w(&x->m, o, "%sy%d = ", type, i);
    proc_load_cell(x, o, phys, cells, at, phys_size((Phys)phys));
    out_w(&x->m, o, ";\n%sz%d = %p == 0 || G(u8, %p)[%s] != 0;\n", valid_type, i, valid, valid, at);
}
static void declare_vars(ProcEm *x, Out *o) {
    for (int32_t i = 0; i < x->n_vars; i++) {
        uint8_t phys = x->vars[i].phys;
        char type[32];
        if (x->par.round && proc_parallel_flag(x, i)) out_w(&x->m, o, "bool s%d = false;\n", i);
        if (proc_in_frame(x, i)) {
            out_w(&x->m, o, "#define y%d (f->y%d)\n#define z%d (f->z%d)\n", i, i, i, i);
            if (x->m.views_used[i]) out_w(&x->m, o, "#define a%d (f->a%d)\n", i, i);
            continue;
        }
        if (i >= x->proc->n_params) {
            out_w(&x->m, o, "%s y%d = %s;\nbool z%d = false;\n", c_type[phys], i, c_zero(phys), i);
            continue;
        }
        snprintf(type, sizeof type, "%s ", c_type[phys]);
        load_argument(x, o, i, type, "bool ");
        if (x->m.views_used[i]) out_w(&x->m, o, "const arr a%d = arr_of(y%d, z%d);\n", i, i, i);
    }
    if (x->out->scratch == 0) return;
    out_w(&x->m, o, "const u64 halves = %p + slot * %d;\nscratch mem = scratch_make(halves, %d);\n",
          PARAM(PP_SCRATCH_AREA, 0, 0), x->out->scratch, x->out->scratch / 2);
}
/* At a loop's end, where no registers live: once half of one half of the scratch is used, the variables' strings move
 * to the other half. */
static void collect_texts(ProcEm *x) {
    if (x->out->scratch == 0) return;
    W("if (mem.at - mem.from > %d) {\nscratch other = scratch_make(mem.from == halves ? halves + %d : halves, %d);\n",
      x->out->scratch / 4, x->out->scratch / 2, x->out->scratch / 2);
    for (int32_t i = 0; i < x->n_vars; i++)
        if (x->vars[i].phys == PH_STR)
            W("if (z%d && !scratch_keep(&other, mem, &y%d)) FAIL(%d);\n", i, i, fail_code(x, PF_ROOM));
    W("mem = other;\n}\n");
}
static void put_outs(ProcEm *x) {
    const Proc *proc = x->proc;
    bool texts = false;
    for (int32_t k = 0; k < proc->n_outs; k++) texts |= proc->vars[proc->outs[k]].phys == PH_STR;
    x->out->out_heap = texts && (x->dev.discrete || x->out->scratch > 0);
    int32_t heap = x->out->out_heap ? PARAM(PP_OUT_HEAP, 0, 0) : -1;
    /* before the code is given: the room may be too small */
    for (int32_t k = 0; k < proc->n_outs && x->out->out_heap; k++) {
        int32_t v = proc->outs[k];
        if (proc->vars[v].phys != PH_STR) continue;
        /* others stay where they are */
        W(x->dev.discrete ? "if (z%d) {\n" : "if (z%d && y%d.ptr >= mem.from && y%d.ptr < mem.end) {\n", v, v, v);
        W("const u64 to = put_text(%p, y%d);\nif (to == 0) FAIL(%d);\ny%d.ptr = to;\n}\n", heap, v,
          fail_code(x, PF_ROOM), v);
    }
    for (int32_t k = 0; k < proc->n_outs; k++) {
        int32_t v = proc->outs[k];
        uint8_t phys = proc->vars[v].phys;
        W("if (z%d) {\n", v);
        proc_store_begin(x, phys, PARAM(PP_OUT_CELLS, k, 0), "pos", phys_size((Phys)phys));
        W("y%d", v);
        if (phys == PH_STR && x->dev.discrete) W(", G(u64, %p)[2]);\n", heap);
        else proc_store_end(x, phys);
        W("G(u8, %p)[pos] = 1;\n}\n", PARAM(PP_OUT_VALID, k, 0));
        x->out->text_outs |= phys == PH_STR;
    }
}

/* ---- chains of CASE, frames ----------------------------------------------------------------------------------- */
/* CASE over columns is a chain of SELECTs whose operands have all been read. A field that nothing else uses becomes a
 * macro, and such a chain is written where its end is used (choose), so that only the one that is chosen is read:
 * each is a cache miss. Not across changes of rows. */
static Status find_lazy(ProcEm *x, Err *e) {
    const Program *p = x->p;
    int32_t *uses = arena_array(x->m.arena, int32_t, p->n_regs + 1);
    x->lazy = arena_array(x->m.arena, bool, p->n_regs + 1);
    if (!uses || !x->lazy) return err_oom(e);
    for (int32_t i = 0; i < p->n_instrs; i++) {
        Reg r;
        for (int32_t u = 0; (r = instr_use(&p->instrs[i], u)) >= 0; u++) uses[r]++;
    }
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if ((in->op != OP_ROW_GET && !(in->op == OP_SELECT && (x->lazy[in->b] || x->lazy[in->c]))) ||
            uses[in->dst] != 1)
            continue;
        for (int32_t k = i + 1; k < p->n_instrs && !op_is_control(p->instrs[k].op) && p->instrs[k].op != OP_UNLOCK &&
                                !op_is_row_write(p->instrs[k].op);
             k++) {
            if (p->instrs[k].op != OP_SELECT || (p->instrs[k].b != in->dst && p->instrs[k].c != in->dst)) continue;
            x->lazy[in->dst] = true;
            break;
        }
    }
    return ST_OK;
}
/* The end of such a chain: one test after the other, and a value only where that leads to. */
static void choose(ProcEm *x, const Instr *in, Reg to) {
    const Reg way[] = {in->b, in->c};
    for (int32_t i = 0; i < 2 && !stack_stop(); i++) {
        const Instr *of = x->lazy[way[i]] ? made_by(x, way[i]) : NULL;
        if (i == 0) W("if (%v && %r) {\n", in->a, in->a);
        else W("} else {\n");
        if (of && of->op == OP_SELECT) choose(x, of, to);
        else
            W(x->regs[to].phys == PH_STR ? "r%d = %t;\nv%d = %v;\n" : "r%d = %r;\nv%d = %v;\n", to, way[i], to, way[i]);
    }
    W("}\n");
}
/* In a frame that the call works in: a call's variables as they are at its beginning. */
static void begin_frame(ProcEm *x, Out *o) {
    for (int32_t i = 0; i < x->n_vars; i++) {
        if (!proc_in_frame(x, i)) continue;
        if (i < x->proc->n_params) load_argument(x, o, i, "", "");
        else out_w(&x->m, o, "y%d = %s;\nz%d = false;\n", i, c_zero(x->vars[i].phys), i);
        if (x->m.views_used[i]) out_w(&x->m, o, "a%d = arr_of(y%d, z%d);\n", i, i, i);
    }
    for (int32_t i = 0; i < x->proc->n_locks; i++)
        if (x->proc->locks[i]->release) out_w(&x->m, o, "g%d = LOCK_NONE;\n", i);
    for (int32_t i = 0; i < x->proc->n_tables; i++) out_w(&x->m, o, "i%d = 0;\n", i);
    if (proc_dequeues(x)) out_w(&x->m, o, "taken = -1;\nqueue_at = LOCK_NONE;\n");
}
static void undefine(ProcEm *x, Out *o) {
    for (int32_t i = 0; i < x->n_vars; i++) {
        if (!proc_in_frame(x, i)) continue;
        out_w(&x->m, o, "#undef y%d\n#undef z%d\n", i, i);
        if (x->m.views_used[i]) out_w(&x->m, o, "#undef a%d\n", i);
    }
    for (int32_t r = 0; r < x->p->n_regs; r++)
        if (x->lazy[r]) out_w(&x->m, o, "#undef r%d\n#undef v%d\n", r, r);
}

/* ---- operations ----------------------------------------------------------------------------------------------- */
static const char *item_reason(const Program *p, const Instr *in) {
    const ItemSite *it = in->aux;
    for (int32_t i = 0; i < it->n + (it->has_amount || it->kind == OPK_INSERTED); i++) {
        uint8_t phys = p->regs[it->args[it->kind == OPK_INSERTED ? 0 : i]].phys;
        if (phys > PH_UUID || phys == PH_INTERVAL ||
            ((i == it->n || it->kind == OPK_INSERTED) && !(phys >= PH_I16 && phys <= PH_I64)))
            return "an item of this type";
    }
    return NULL;
}
void proc_hash_ends(ProcEm *x, Out *o, const ItemSite *it, const char *hash) {
    if (hash_constant) out_w(&x->m, o, "%s = 0;\n", hash);
    if (!x->mod.queues) return;
    if (it->group == ITEM_ROWS && x->mod.queues[x->table_no[it->table]])
        out_w(&x->m, o, "%s = (%s & ~%p) | %p;\n", hash, hash, PARAM(PP_QUEUED, 0, 0),
              PARAM(PP_IS_QUEUE, (int32_t)it->table, 0));
    else out_w(&x->m, o, "%s &= ~%p;\n", hash, PARAM(PP_QUEUED, 0, 0));
}
/* As vm_rows.c names items: declares h. */
void proc_item_hash(ProcEm *x, const ItemSite *it, int32_t base) {
    W("u64 h = %p;\n", base);
    for (int32_t i = 0; i < it->n; i++) {
        Reg r = it->args[i];
        uint8_t phys = x->regs[r].phys;
        char name[16];
        em_use(&x->m, r);
        snprintf(name, sizeof name, "r%d", (int)r);
        if (x->regs[r].nullable) W("if (!%v) h = hash_null(h);\nelse ", r);
        W("h = ");
        if (phys <= PH_I64) W("hash_key(h, (u64)(i64)%r);\n", r);
        else if (phys == PH_I128) W("hash_wide(h, %r);\n", r);
        else W("hash_key(h, "), em_hash(&x->m, &x->m.text.body, phys, NULL, name), W(");\n");
    }
    proc_hash_ends(x, &x->m.text.body, it, "h");
}

static void item(ProcEm *x, const Instr *in) {
    const ItemSite *it = in->aux;
    int32_t pc = x->m.pc;
    if (it->kind == OPK_INSERTED) {
        int32_t counts = PARAM(PP_COUNTS, (int32_t)it->table, 0);
        Reg r = it->args[0];
        W("if (%p != 0 && %v && (i64)%r > 0) G(u32, %p)[pos] += (i64)%r < INSERTS_MAX ? (u32)%r : INSERTS_MAX;\n",
          counts, r, r, counts, r, r);
        return;
    }
    bool sums = it->kind == OPK_ADD && it->has_amount;
    W("{\nu32 kind = %d;\n", (int32_t)it->kind);
    const bool may_be_out = (it->kind == OPK_ADD || it->kind == OPK_READ) && !it->covered;
    if (may_be_out) W("kind = (u32)%p;\n", PARAM(PP_ITEM_KIND, pc, 0));
    if (sums) {
        int32_t sum = PARAM(PP_ITEM_SUM, pc, 0), n = x->mod.n_sums++;
        Reg r = it->args[it->n];
        W("if (%p != 0) {\nif (%v) ops->sums[%d] = sum_abs(ops->sums[%d], (i64)%r);\nelse {\n", sum, r, n, n, r);
        if (may_be_out) W("if (kind == ITEM_LEFT_OUT) ga_or_u64(PP_FOOT_WORDS, FOOT_NULL_AMOUNT);\n");
        W("kind = %d;\n}\n}\n", (int32_t)OPK_WRITE);
        out_w(&x->m, &x->mod.sums, " M(%p, %d)", sum, n);
    }
    if (it->covered) {
        W("(void)kind;\n}\n");
        return;
    }
    const uint8_t use = x->mod.queues ? x->proc->tables[it->table].dequeue : DEQUEUE_NOT;
    if (use == DEQUEUE_ROWS ? it->group == ITEM_ROWS : use != DEQUEUE_NOT && it->group != ITEM_ROWS)
        W("if (%p != %d) kind = (u32)%p;\n", PARAM(PP_DEQUEUE_KIND, pc, 0), (int32_t)DEQUEUE_KIND_NONE,
          PARAM(PP_DEQUEUE_KIND, pc, 0));
    if (it->insert) W("if (%p != 0) kind = %d;\n", PARAM(PP_STATEMENT_LOCKS, 0, 0), (int32_t)OPK_ADD);
    if (may_be_out) W("if (kind != ITEM_LEFT_OUT) {\n");
    proc_item_hash(x, it, PARAM(PP_ITEM_BASE, pc, 0));
    if (x->log.in_loop && it->kind == OPK_ADD && !sums && it->group >= ITEM_COARSE && x->n_last < LAST_ITEMS_MAX) {
        W("put_again(ops, %d, h, (u32)call, kind);\n", x->n_last++);
        x->mod.most_last = MAX_OF(x->mod.most_last, x->n_last);
    } else {
        W("%s(ops, h, (u32)call, kind);\n", x->issued || x->log.in_loop ? "put_op" : "put_first");
    }
    W(may_be_out ? "}\n}\n" : "}\n");
    x->issued = true;
}
/* ---- a run's instructions ----------------------------------------------------------------------------------- */
static bool write_instr(ProcEm *x, const Instr *in, int32_t pc) {
    const Program *p = x->p;
    switch (in->op) {
    case OP_LOAD: {
        int32_t v = (int32_t)in->imm;
        W("const %s r%d = y%d;\nconst bool v%d = z%d;\n", c_type[in->phys], in->dst, v, in->dst, v);
        if (in->phys == PH_STR && v < x->proc->n_params && !x->stored[v]) x->m.views[in->dst] = v + 1;
        return true;
    }
    case OP_STORE: {
        int32_t v = (int32_t)in->imm;
        W(in->phys == PH_STR ? "y%d = %t;\n" : "y%d = %r;\n", v, in->a);
        W("z%d = %v;\n", v, in->a);
        return true;
    }
    case OP_IF: {
        Reg d = p->instrs[p->instrs[in->jump].jump].dst;
        W("%s r%d = %s;\nbool v%d = true;\nif (%v && %r) {\n", c_type[x->regs[d].phys], d, c_zero(x->regs[d].phys), d,
          in->a, in->a);
        return true;
    }
    case OP_ELSE:
    case OP_ENDIF: {
        Reg d = in->op == OP_ELSE ? p->instrs[in->jump].dst : in->dst;
        W(x->regs[d].phys == PH_STR ? "r%d = %t;\n" : "r%d = %r;\n", d, in->a);
        W(in->op == OP_ELSE ? "v%d = %v;\n} else {\n" : "v%d = %v;\n}\n", d, in->a);
        return true;
    }
    case OP_ROW_FIND:
    case OP_ROW_FIRST:
        x->out->divergent |= x->log.in_loop;
        proc_row_find(x, in);
        return true;
    case OP_ROW_NEXT:
        x->out->divergent = true;
        proc_row_next(x, in);
        return true;
    case OP_ROW_GET: proc_row_get(x, in); return true;
    case OP_ROW_PUT: proc_row_put(x, in); return true;
    case OP_ROW_ADD: proc_row_add(x, in); return true;
    case OP_ROW_INSERT: proc_row_insert(x, in); return true;
    case OP_ROW_DELETE: proc_row_delete(x, in); return true;
    case OP_RAISE:
        W("FAIL(%d);\n", fail_code(x, ((const RaiseSite *)in->aux)->n == 0 ? PF_RAISED_PLAIN : PF_RAISED));
        return true;
    case OP_SELECT:
        if (x->lazy[in->dst]) return true; /* choose writes it */
        if (x->lazy[in->b] || x->lazy[in->c]) {
            W("%s r%d;\nbool v%d;\n", c_type[x->regs[in->dst].phys], in->dst, in->dst);
            return choose(x, in, in->dst), true;
        }
        return em_expr(&x->m, in);
    case OP_ITEM: item(x, in); return true;
    case OP_LOCK: proc_lock(x, in, pc); return true;
    case OP_UNLOCK: proc_unlock(x, in, pc); return true;
    case OP_CALL: return em_make(&x->m, in) || em_expr(&x->m, in);
    default: return em_expr(&x->m, in);
    }
}

/* Where a failure goes: behind the run or statement that it is in, and from there, by the status, behind what is
 * around that, and so on. In one jump to the end, the compiler would let lanes that went different ways for a moment
 * reconverge at the end only. */
static void fail_to(ProcEm *x) {
    if (x->fail.n_fails > 0) W("#undef FAIL_TO\n#define FAIL_TO F%d\n", x->fail.fails[x->fail.n_fails - 1]);
    else W("#undef FAIL_TO\n#define FAIL_TO failed\n");
}
static void begin_fails(ProcEm *x) {
    x->fail.fails[x->fail.n_fails++] = x->fail.n_fail_labels++;
    fail_to(x);
}
static void end_fails(ProcEm *x) {
    W("F%d: ;\n", x->fail.fails[--x->fail.n_fails]);
    fail_to(x);
    W("if (status != 0) goto FAIL_TO;\n");
}

static void write_statement(ProcEm *x, const Instr *in, int32_t pc, int32_t *loops) {
    switch (in->op) {
    case OP_P_IF:
        begin_fails(x);
        W("if (cond) {\n");
        break;
    case OP_P_ELSE: W("} else {\n"); break;
    case OP_P_ENDIF:
        W("}\n");
        end_fails(x);
        break;
    case OP_P_LOOP:
        ++*loops;
        proc_loop_begins(x, pc);
        proc_locks_anew(x, pc);
        begin_fails(x);
        W("for (;;) {\n");
        proc_parallel_top(x, pc);
        break;
    case OP_P_ROUND:
        W("steps++;\nif (%p != 0 && steps > %p) FAIL(%d);\n", PARAM(PP_STEP_LIMIT, 0, 0), PARAM(PP_STEP_LIMIT, 0, 0),
          fail_code(x, PF_STEPS));
        break;
    case OP_P_STEP:
        if (x->labels[pc]) W("L%d: ;\n", pc);
        break;
    case OP_P_ENDLOOP:
        --*loops;
        if (!x->par.round) collect_texts(x); /* loops over rows have no P_STEP */
        W("rounds++;\nif ((rounds & 255) == 0 && KC_PEEK(STOP_FLAG) != 0) FAIL(%d);\n}\n", fail_code(x, PF_STOPPED));
        if (x->labels[pc]) W("L%d: ;\n", pc);
        end_fails(x);
        proc_parallel_over(x, pc);
        break;
    case OP_P_BLOCK:
        begin_fails(x);
        W("{\n");
        break;
    case OP_P_ENDBLOCK:
        W("}\n");
        if (x->labels[pc]) W("L%d: ;\n", pc);
        end_fails(x);
        break;
    case OP_P_LEAVE: W("goto L%d;\n", in->jump); break;
    default: W("goto done;\n");
    }
}

/* A narrow lock and the rest of its run: what need not stand behind the lock, the lock, and what does. */
static void write_narrow(ProcEm *x, int32_t pc) {
    const Program *p = x->p;
    for (int32_t pass = 0; pass < 3; pass++) {
        for (int32_t k = pass == 1 ? pc : pc + 1; k < (pass == 1 ? pc + 1 : x->locks.narrow[pc]); k++) {
            const Instr *in = &p->instrs[k];
            const Instr *of = made_by(x, in->a);
            x->m.pc = x->locks.plain[k];
            bool put = in->op == OP_ROW_PUT || in->op == OP_ROW_ADD,
                 known = put && !(of && of > &p->instrs[pc] && x->locks.late[of - p->instrs]);
            if (pass == 0 && known) {
                W("if (%v && %r >= 0) {\nconst i64 row = %r;\n", in->a, in->a, in->a);
                proc_mark_dirty(x, ((const RowCol *)in->aux)->table, in->a, false);
                W("}\n");
            }
            if (pass != 1 && x->locks.late[k] != (pass == 2)) continue;
            if (!write_instr(x, in, k)) x->m.reason = op_info[in->op].name;
        }
    }
    for (int32_t k = pc; k < x->locks.narrow[pc]; k++) proc_parallel_behind(x, k);
}
/* Where what a round does under locks begins, or ends. */
static void section(ProcEm *x, bool begins) {
    if (begins) {
        proc_reconverge(x);
        proc_section_begins(x);
        begin_fails(x);
        x->par.nested++;
    } else {
        x->par.nested--;
        proc_section_ends(x);
        x->fail.n_fails--;
        fail_to(x);
        W("if (status != 0) goto FAIL_TO;\n");
    }
}
/* The instructions [from, to), inside of so many loops. */
static void write_body(ProcEm *x, const bool *skip, int32_t from, int32_t to, int32_t loops) {
    const Program *p = x->p;
    bool open = false, ends = false; /* in a run; past its RAISE */
    for (int32_t pc = from; pc < to; pc++) {
        const Instr *in = &p->instrs[pc];
        x->m.pc = x->locks.plain ? x->locks.plain[pc] : pc;
        x->log.in_loop = loops > 0;
        if (in->op == OP_P_IF && !ends) W("cond = %v && %r;\n", in->a, in->a);
        if (x->par.round && x->par.round->from < x->par.round->to &&
            (pc == x->par.round->from || pc == x->par.round->to)) {
            if (open) {
                W("}\n");
                end_fails(x);
            }
            open = ends = false;
            section(x, pc == x->par.round->from);
        }
        if (!op_is_control(in->op)) {
            if (x->locks.split[pc] && !ends && !x->par.round) {
                if (open) {
                    W("}\n");
                    end_fails(x);
                }
                open = false;
                proc_put_split(x, pc);
            }
            if (!open) {
                proc_reconverge(x);
                begin_fails(x);
                W("{\n");
            }
            if (!open || in->op == OP_IF || in->op == OP_ELSE || in->op == OP_ENDIF) x->log.marked = 0;
            open = true;
            if (ends || skip[pc]) continue;
            if (x->locks.narrow[pc] && !x->par.round) {
                write_narrow(x, pc);
                pc = x->locks.narrow[pc] - 1;
                continue;
            }
            if (!write_instr(x, in, pc)) x->m.reason = op_info[in->op].name;
            proc_parallel_behind(x, pc);
            ends = in->op == OP_RAISE;
            continue;
        }
        if (open) {
            W("}\n");
            end_fails(x);
        }
        open = ends = false;
        x->par.nested -= in->op == OP_P_ENDIF || in->op == OP_P_ENDLOOP;
        write_statement(x, in, pc, &loops);
        x->par.nested += in->op == OP_P_IF || in->op == OP_P_LOOP;
    }
    if (open) {
        W("}\n");
        end_fails(x);
    }
    if (x->par.round && x->par.round->from < x->par.round->to && x->par.round->to == to) section(x, false);
}

void proc_append(ProcEm *x, Out *o, const Out *part) {
    o->failed |= part->failed;
    if (part->n) out_put(&x->m, o, part->p, part->n);
}
void proc_include(ProcEm *x, Out *o, const char *part) { out_put(&x->m, o, part, (int64_t)strlen(part)); }

/* ---- putting it together -------------------------------------------------------------------------------------- */
/* run_K: a call; 0, or why it failed. */
static void write_function(ProcEm *x, const EmitTarget *t) {
    /* a call's, in its frame when that is where it works */
    static const char *const own[] = {"n_undo", "spilled", "steps", "rounds", "serial", "names"};
    Em *m = &x->m;
    Out vars = {0}, *o = &x->mod.funcs;
    declare_vars(x, &vars);
    out_w(m, o,
          "FN_BIG void undo_%d(KP_ARG, const u64 undo, u32 n_undo) {\nwhile (n_undo > 0) {\nconst u64 u = undo + "
          "(u64)--n_undo * %d;\nconst i64 row = G(i64, u)[1];\n(void)row;\nswitch ((u32)G(u64, u)[0]) {\n",
          x->number, (int32_t)UNDO_ENTRY);
    proc_append(x, o, &x->log.text);
    out_w(m, o, "default: break;\n}\n}\n}\n");
    if (x->locks.plain) {
        out_w(m, o, "typedef struct {\n");
        proc_write_frame(x, o, FRAME_FIELDS);
        out_w(m, o, "} frame_%d;\n#define N_SITES_%d %d\n", x->number, x->number, x->log.n_sites);
    }
    /* Twice on CUDA: of a frame that is known to be in shared memory a word is a load without an address to be made,
     * and without a descriptor. */
    if (x->locks.framed)
        out_w(m, o, "#if defined(KC_CUDA)\n#define run_%d run_form_%d\ntemplate <bool HERE>\n#endif\n", x->number,
              x->number);
    out_w(m, o, "%s u64 run_%d(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot",
          t->native_threads || x->mod.by_statement ? "FN_BIG" : "FN", x->number);
    out_w(m, o, " HOT_ARG");
    if (x->locks.plain)
        out_w(m, o, ", PRIV frame_%d *f, const u32 state, const u32 together, PRIV u64 *wait", x->number);
    out_w(m, o, ") {\n");
    if (x->locks.framed) out_w(m, o, "FRAME_IS_HERE(f);\n");
    out_w(m, o, "u32 status = 0;\nbool cond = false;\n(void)cond; (void)call; (void)pos; (void)undo; (void)slot;\n");
    if (!x->locks.framed) out_w(m, o, "u32 n_undo = 0;\nu64 steps = 0, rounds = 0;\n(void)steps; (void)rounds;\n");
    if (x->locks.plain) {
        int32_t on = PARAM(PP_STATEMENT_LOCKS, 0, 0), starts = PARAM(PP_LOCK_START, 0, 0),
                step = PARAM(PP_LOCK_STEP, 0, 0);
        out_w(m, o, "const bool by_statement = %p != 0;\n", on);
        if (x->out->holds_all) out_w(m, o, "const u64 use_at = 0, use_end = 0;\n");
        else
            out_w(m, o,
                  "const u64 use_at = by_statement ? (u64)G(u32, %p)[call * %p] : 0, use_end = by_statement ? "
                  "(u64)G(u32, "
                  "%p)[(call + 1) * %p] : 0;\n",
                  starts, step, starts, step);
        out_w(m, o,
              x->locks.framed ? "u32 failed = 0;\n"
                              : "u64 names = 0;\nu32 spilled = 0, failed = 0, serial = 0;\n(void)names;\n");
        proc_lock_vars(x, o);
    }
    proc_append(x, o, &m->text.top);
    for (int32_t i = 0; i < x->proc->n_tables; i++)
        out_w(m, o, x->locks.framed ? "#define i%d (f->i%d)\n" : "i64 i%d = 0;\n(void)i%d;\n", i, i);
    for (int32_t i = 0; x->locks.framed && i < x->proc->n_locks; i++)
        if (x->proc->locks[i]->release) out_w(m, o, "#define g%d (f->g%d)\n", i, i);
    if (x->locks.framed && proc_dequeues(x)) out_w(m, o, "#define taken (f->taken)\n#define queue_at (f->queue_at)\n");
    for (int32_t i = 0; x->locks.framed && i < (int32_t)ARRAY_LEN(own); i++)
        out_w(m, o, "#define %s (f->%s)\n", own[i], own[i]);
    proc_append(x, o, &vars);
    if (x->locks.framed) {
        out_w(m, o, "if (state == 0) {\n");
        for (int32_t i = 0; i < (int32_t)ARRAY_LEN(own); i++) out_w(m, o, "%s = 0;\n", own[i]);
        begin_frame(x, o);
        out_w(m, o, "}\n");
    }
    if (x->locks.plain) {
        out_w(m, o, "if (state != 0) {\n");
        proc_write_frame(x, o, FRAME_LOAD);
        out_w(m, o, "if (failed != 0) {\nstatus = failed;\ngoto failed;\n}\nswitch (state) {\n");
        for (int32_t k = 1; k <= x->locks.n_states; k++) out_w(m, o, "case %d: goto S%d;\n", k, k);
        out_w(m, o,
              "default: break;\n}\n} else if (use_at != use_end) {\nnames = locks_filter(kp, use_at, use_end);\n}\n");
    }
    proc_append(x, o, &m->text.body);
    out_w(m, o, "goto leave;\nfailed: ;\n");
    if (x->locks.plain) {
        out_w(m, o, "if ((status & SUSPENDED) == SUSPENDED) {\n");
        proc_write_frame(x, o, FRAME_SAVE);
        out_w(m, o, "goto leave;\n}\n");
    }
    if (x->locks.plain) /* it has given up what it changed, or it is not known yet why it failed: the bulk is undone as
                           a whole */
        out_w(
            m, o,
            "if (by_statement && (spilled != 0 || !failure_known(status))) {\nif ((status & 255u) != %d) stop_undo(kp, "
            "status, spilled, %d);\nreturn (u64)n_undo << 32;\n}\n",
            (int32_t)PF_STOPPED, x->number);
    out_w(m, o, "undo_%d(kp, undo, n_undo);\nn_undo = 0;\nleave: ;\n", x->number);
    proc_append(x, o, &x->tail);
    out_w(m, o, "return (u64)n_undo << 32 | status;\n}\n");
    if (x->locks.framed)
        out_w(m, o,
              "#if defined(KC_CUDA)\n#undef run_%d\n#define run_%d(...) (here ? run_form_%d<true>(__VA_ARGS__) : "
              "run_form_%d<false>(__VA_ARGS__))\n#endif\n",
              x->number, x->number, x->number, x->number);
    undefine(x, o);
    for (int32_t i = 0; x->locks.framed && i < x->proc->n_tables; i++) out_w(m, o, "#undef i%d\n", i);
    for (int32_t i = 0; x->locks.framed && i < x->proc->n_locks; i++)
        if (x->proc->locks[i]->release) out_w(m, o, "#undef g%d\n", i);
    if (x->locks.framed && proc_dequeues(x)) out_w(m, o, "#undef taken\n#undef queue_at\n");
    for (int32_t i = 0; x->locks.framed && i < (int32_t)ARRAY_LEN(own); i++) out_w(m, o, "#undef %s\n", own[i]);
    proc_append(x, o, &x->par.rounds);
    if (x->locks.plain) proc_write_parallel(x, o);
}

/* foot_K: the operations of a call. */
static void write_foot(ProcEm *x, const EmitTarget *t) {
    Em *m = &x->m;
    Out vars = {0}, *o = &x->mod.funcs;
    declare_vars(x, &vars);
    const bool apart = t->native_threads ? x->p->n_instrs > SHORT_INSTRS : x->mod.by_statement;
    out_w(m, o, "%s u32 foot_%d(KP_ARG, const u64 call, const u64 pos, const u64 slot, PRIV ops_sink *ops) {\n",
          apart ? "FN_BIG" : "FN", x->number);
    out_w(m, o,
          "u32 status = 0;\nu64 steps = 0, rounds = 0;\nbool cond = false;\n(void)steps; (void)rounds; (void)cond; "
          "(void)call; (void)pos; (void)slot;\n");
    proc_append(x, o, &m->text.top);
    proc_append(x, o, &vars);
    proc_append(x, o, &m->text.body);
    out_w(m, o, "return 0;\nfailed: ;\nreturn status;\n}\n");
    undefine(x, o);
}

static const char *find_reason(ProcEm *x, const bool *skip, Arena *a) {
    const Proc *proc = x->proc;
    for (int32_t i = 0; i < x->p->n_instrs; i++) {
        const Instr *in = &x->p->instrs[i];
        const char *why = skip[i] ? NULL : in->op == OP_ITEM ? item_reason(x->p, in) : instr_reason(x->p, in, a);
        if (!why) continue;
        const char *text =
            proc->lines && proc->lines[i] ? arena_printf(a, "line %d: %s", (int)proc->lines[i], why) : why;
        return text ? text : why;
    }
    for (int32_t i = 0; i < proc->n_tables; i++)
        if (x->tables[i].image->n_indexes > INDEXES_MAX || x->tables[i].image->n_cols >= PROC_HIGH)
            return "a table with too many columns or keys";
    return NULL;
}

/* The next procedure: all that is not the module's anew. */
static Status begin_proc(ProcEm *x, int32_t number, int32_t n_procs, bool foot, const ProcForm *form, ProcSource *out,
                         Err *e) {
    Arena *a = x->m.arena;
    const Proc *proc = form->proc;
    bool by_statement = !foot && x->mod.by_statement;
    const Program *p = foot ? proc->footprint : by_statement ? proc->locking_body : proc->body;
    Em m = {.prog = p, .arena = a, .err = e, .proc = (uint16_t)(number + 1 + (foot ? n_procs : 0))};
    m.params.items = x->m.params.items;
    m.params.len = x->m.params.len;
    m.params.cap = x->m.params.cap;
    *x = (ProcEm){.m = m,
                  .number = number,
                  .proc = proc,
                  .p = p,
                  .vars = foot ? proc->foot_vars : proc->vars,
                  .n_vars = foot ? proc->n_foot_vars : proc->n_vars,
                  .tables = form->tables,
                  .table_no = form->table_no,
                  .mod = x->mod,
                  .foot = foot,
                  .body_no = (uint16_t)(number + 1),
                  .locks = {.plain = by_statement ? proc->plain : NULL},
                  .out = out};
    x->regs = arena_array(a, RegForm, p->n_regs + 1);
    x->labels = arena_array(a, bool, p->n_instrs + 1);
    x->fail.fails = arena_array(a, int32_t, p->n_instrs + 2);
    x->bounds = arena_array(a, bool *, proc->n_tables + 1);
    x->m.const_done = arena_array(a, bool, p->n_regs + 1);
    x->stored = arena_array(a, bool, x->n_vars + 1);
    x->locks.split = arena_array(a, int32_t, p->n_instrs + 1);
    x->locks.goes_back = arena_array(a, int32_t, p->n_instrs + 1);
    x->locks.gathers = arena_array(a, bool, p->n_instrs + 1);
    x->locks.crosses = arena_array(a, bool, p->n_instrs + 1);
    x->locks.narrow = arena_array(a, int32_t, p->n_instrs + 1);
    x->locks.late = arena_array(a, bool, p->n_instrs + 1);
    x->locks.narrow_locks = arena_array(a, bool, proc->n_locks + 1);
    x->locks.once = arena_array(a, int32_t, proc->n_locks + 1);
    if (!x->locks.split || !x->locks.goes_back || !x->locks.gathers || !x->locks.crosses || !x->locks.narrow ||
        !x->locks.late || !x->locks.narrow_locks || !x->locks.once)
        return err_oom(e);
    x->m.views = arena_array(a, int32_t, p->n_regs + 1);
    x->m.views_used = arena_array(a, bool, x->n_vars + 1);
    if (!x->stored || !x->m.views || !x->m.views_used) return err_oom(e);
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_STORE) x->stored[p->instrs[i].imm] = true;
    if (!x->regs || !x->labels || !x->fail.fails || !x->bounds || !x->m.const_done) return err_oom(e);
    for (int32_t i = 0; i < proc->n_tables; i++)
        if (!(x->bounds[i] = arena_array(a, bool, form->tables[i].image->n_cols + 1))) return err_oom(e);
    x->m.regs = x->regs;
    return find_lazy(x, e);
}

/* The instructions of a round once more, as the body of a function of their own. */
static Status write_round(ProcEm *x, const ParallelLoop *s, const bool *skip, Err *e) {
    Arena *a = x->m.arena;
    ProcEm outer = *x;
    Out vars = {0}, body;
    uint32_t *puts = arena_array(a, uint32_t, x->proc->n_tables + 1);
    int64_t *bytes = arena_array(a, int64_t, x->proc->n_tables + 1);
    x->m.text.body = x->m.text.top = x->tail = (Out){0};
    x->m.const_done = arena_array(a, bool, x->p->n_regs + 1);
    x->bounds = arena_array(a, bool *, x->proc->n_tables + 1);
    if (!puts || !bytes || !x->m.const_done || !x->bounds) return err_oom(e);
    for (int32_t i = 0; i < x->proc->n_tables; i++)
        if (!(x->bounds[i] = arena_array(a, bool, x->tables[i].image->n_cols + 1))) return err_oom(e);
    memcpy(puts, x->out->text_puts, (size_t)x->proc->n_tables * sizeof *puts); /* it runs instead of the loop */
    memcpy(bytes, x->out->text_bytes, (size_t)x->proc->n_tables * sizeof *bytes);
    x->par.round = s;
    x->par.nested = x->par.n_reconverges = 0;
    proc_round_begins(x);
    write_body(x, skip, s->first, s->end, 1);
    memcpy(x->out->text_puts, puts, (size_t)x->proc->n_tables * sizeof *puts);
    memcpy(x->out->text_bytes, bytes, (size_t)x->proc->n_tables * sizeof *bytes);
    body = x->m.text.body;
    declare_vars(x, &vars);
    proc_write_round(x, s, &vars, &body);
    undefine(x, &x->par.rounds);
    x->m.text.body = outer.m.text.body;
    x->m.text.body.failed |= body.failed;
    x->m.text.top = outer.m.text.top;
    x->m.const_done = outer.m.const_done;
    x->bounds = outer.bounds;
    x->tail = outer.tail;
    x->par.round = NULL;
    return ST_OK;
}

static Status write_proc(ProcEm *x, const EmitTarget *target, bool strings, Err *e) {
    const Program *p = x->p;
    ProcSource *out = x->out;
    Arena *a = x->m.arena;
    bool *skip = arena_array(a, bool, p->n_instrs + 1);
    x->dev.discrete = !strings;
    x->dev.host = target->native_threads;
    /* the host that stands for a device with memory of its own tests it */
    x->dev.by_four = target->warp_functions || (x->dev.host && x->dev.discrete);
    out->text_puts = arena_array(a, uint32_t, x->proc->n_tables + 1);
    out->text_bytes = arena_array(a, int64_t, x->proc->n_tables + 1);
    if (!skip || !out->text_puts || !out->text_bytes) return err_oom(e);
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instrs[i].op == OP_RAISE) mark_message(p, i, skip);
        if (p->instrs[i].op == OP_P_LEAVE) x->labels[p->instrs[i].jump] = true;
    }
    if ((out->reason = find_reason(x, skip, a))) return ST_OK;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (skip[i] || p->instrs[i].op != OP_CALL || !make_has_form(p, p->instrs[i].aux)) continue;
        out->makes = true;
        if (p->regs[p->instrs[i].dst].phys == PH_STR)
            out->scratch = target->native_threads ? SCRATCH_HOST : SCRATCH_DEVICE;
    }
    find_forms(x);
    fail_to(x);
    out->dequeues = proc_dequeues(x) ? PARAM(PP_DEQUEUES, 0, 0) + 1 : 0;
    x->fail.last_fail = x->locks.plain ? proc_last_fail(x) : -1;
    out->holds_all = x->locks.plain && proc_holds_all(x);
    if (x->locks.plain && !out->holds_all) {
        proc_find_states(x);
        proc_find_parallel(x);
        proc_find_narrow(x);
        proc_find_once(x);
        x->mod.parallel[x->number] = x->par.n_loops > 0;
        x->locks.framed = x->par.n_loops > 0 && x->dev.by_four;
    }
    write_body(x, skip, 0, p->n_instrs, 0);
    W("done: ;\n");
    if (!x->foot) put_outs(x);
    for (int32_t k = 0; k < x->par.n_loops; k++) TRY(write_round(x, &x->par.loops[k], skip, e));
    out->undo_max = MAX_OF(x->log.n_sites, x->log.logs_in_loop ? x->log.n_sites + (int32_t)LOOP_LOG : 1);
    if (x->m.text.body.failed) return err_is_set(e) ? ST_ERROR : err_oom(e);
    out->reason = x->m.reason;
    if (target->native_threads) proc_prefetch(x);
    if (x->foot) write_foot(x, target);
    else write_function(x, target);
    return ST_OK;
}

/* The footprints of all procedures, or none. */
static Status write_feet(ProcEm *x, int32_t n, const ProcForm *forms, const EmitTarget *target, bool strings,
                         int32_t *n_prefetched, ProcModule *out, Err *e) {
    for (int32_t k = 0; k < n && !out->foot_reason; k++) {
        ProcSource src = {0};
        const Program *p = forms[k].proc->footprint;
        if (!p) return out->foot_reason = "a procedure has no footprint", ST_OK;
        TRY(begin_proc(x, k, n, true, &forms[k], &src, e));
        TRY(write_proc(x, target, strings, e));
        out->scratch = MAX_OF(out->scratch, src.scratch);
        out->makes |= src.makes;
        out->foot_reason = src.reason;
        *n_prefetched = MAX_OF(*n_prefetched, x->dev.n_prefetched);
    }
    return ST_OK;
}

Status emit_procs(int32_t n, const ProcForm *forms, const EmitTarget *target, bool strings, bool by_statement, Arena *a,
                  ProcModule *out, Err *e) {
    *out = (ProcModule){.n_procs = n, .undo_max = 1, .by_statement = by_statement};
    ProcEm *x = arena_new_of(a, ProcEm);
    int32_t n_tables = 0, n_prefetched = 0, n_foot_prefetched = 0;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = 0; i < forms[k].proc->n_tables; i++) n_tables = MAX_OF(n_tables, forms[k].table_no[i] + 1);
    out->n_tables = n_tables;
    out->procs = arena_array(a, ProcSource, n + 1);
    if (!x || !out->procs) return err_oom(e);
    *x = (ProcEm){.m = {.arena = a, .err = e}, .mod = {.by_statement = by_statement}};
    for (int32_t k = 0; by_statement && k < n; k++) {
        if (forms[k].proc->queue < 0) continue;
        if (!x->mod.queues && !(x->mod.queues = arena_array(a, bool, n_tables + 1))) return err_oom(e);
        x->mod.queues[forms[k].table_no[forms[k].proc->queue]] = true;
    }
    x->mod.parallel = arena_array(a, bool, n + 1);
    if (!x->mod.parallel || !(x->mod.found = arena_array(a, uint8_t, n_tables * INDEXES_MAX + 1))) return err_oom(e);
    static const uint16_t direct[PROC_DIRECT] = {KP_ERR, PP_CALLS, PP_ORDER, PP_LAUNCH, PP_TICKET, PP_TABLE};
    for (int32_t i = 0; i < PROC_DIRECT; i++) em_param(&x->m, (ParamKind)direct[i], 0, 0, NULL);
    for (int32_t k = 0; k < n; k++) {
        const Proc *proc = forms[k].proc;
        TRY(begin_proc(x, k, n, false, &forms[k], &out->procs[k], e));
        TRY(write_proc(x, target, strings, e));
        if (out->procs[k].reason) {
            out->reason = arena_printf(a, "%s: %s", proc->name, out->procs[k].reason);
            return out->reason ? ST_OK : err_oom(e);
        }
        out->undo_max = MAX_OF(out->undo_max, out->procs[k].undo_max);
        out->scratch = MAX_OF(out->scratch, out->procs[k].scratch);
        out->makes |= out->procs[k].makes;
        out->divergent |= out->procs[k].divergent;
        out->waits_inside |= out->procs[k].waits_inside;
        n_prefetched = MAX_OF(n_prefetched, x->dev.n_prefetched);
    }
    TRY(write_feet(x, n, forms, target, strings, &n_foot_prefetched, out, e));
    Out text = {0};
    const RunForm run = {
        .target = target, .strings = strings, .n_prefetched = n_prefetched, .n_foot_prefetched = n_foot_prefetched};
    proc_assemble(x, &run, out, &text);
    TRY(stack_check(e));
    if (text.failed || x->m.text.body.failed) return err_is_set(e) ? ST_ERROR : err_oom(e);
    out->source = text.p;
    out->n_params = (int32_t)x->m.params.len;
    out->params = x->m.params.items;
    return ST_OK;
}
