/* items.c - operations that a procedure issues more often than it has to are issued once.
 *
 * In loops. What a loop over numbers issues in each round by a key that does not change there is issued once, in front
 * of it: in the footprint the ITEM is moved there, in the body with locks its LOCK, and what counts it behind the
 * loop [loop-invariant code motion]. A loop without any round issues it all the same, which makes calls wait that need
 * not. Only operations by which rounds do not exclude each other: reads, inserts whose key is not known beforehand,
 * additions to coarse items, and nothing else of these columns is in the loop: executors find by the locks in a loop
 * which of its rounds may run side by side (codegen/emit_parallel_loops.c).
 *
 * In straight runs. An operation that comes again, no weaker, is not issued the first time: the first place takes the
 * lock, the last one's statement gives it up.
 */
#include "program/operands.h"
#include "sql/pl/compile_int.h"

/* The item of an ITEM; NULL: it is no operation. */
static CpItem *item_of(const Instr *in) {
    CpItem *x = in->op == OP_ITEM ? in->aux : NULL;
    return x && x->key ? x : NULL;
}

/* ---- straight runs ------------------------------------------------------------------------------------------------
 */
static bool says_same(const ItemSite *x, const ItemSite *y) {
    if (x->table != y->table || x->group != y->group || x->n != y->n || x->has_amount || y->has_amount ||
        x->fetch_add || y->fetch_add || x->covered || y->covered || x->insert != y->insert ||
        x->deletes != y->deletes || x->kind > OPK_WRITE || y->kind > OPK_WRITE)
        return false;
    return (x->kind == y->kind || (y->kind == OPK_WRITE && !y->insert)) &&
           (x->n == 0 || memcmp(x->args, y->args, (size_t)x->n * sizeof *x->args) == 0);
}
static bool ends_run(uint16_t op) { return op_is_control(op) || op == OP_IF || op == OP_ELSE || op == OP_ENDIF; }
Status cp_merge_items(Cp *c) {
    Instr *code = c->pipe.b.instrs.items;
    int64_t n = c->pipe.b.instrs.len, run = 0;
    bool *gone = arena_calloc(c->arena, n + 1);
    if (!gone) return cp_oom(c);
    for (int64_t j = 0; j < n; j++) {
        if (ends_run(code[j].op)) run = j + 1;
        if (code[j].op != OP_ITEM) continue;
        CpItem *again = item_of(&code[j]), *before;
        for (int64_t i = run; again && again->touch->once && i < j; i++) {
            if (gone[i] || !(before = item_of(&code[i])) || !before->touch->once ||
                !says_same(&before->site, &again->site))
                continue;
            gone[i] = before->merged = true;
            again->site.does |= before->site.does;
        }
    }
    cp_drop(c, gone);
    return ST_OK;
}

/* ---- loops --------------------------------------------------------------------------------------------------------
 */
/* The innermost loop around the instruction, when nothing but blocks stands between; -1 none. */
static int32_t loop_around(const Cp *c, int32_t at) {
    const Instr *code = c->pipe.b.instrs.items;
    int32_t depth = 0;
    for (int32_t i = at - 1; i >= 0; i--) {
        uint16_t op = code[i].op;
        if (op == OP_ENDIF || op == OP_P_ENDIF || op == OP_P_ENDLOOP || op == OP_P_ENDBLOCK || op == OP_P_CATCH)
            depth++;
        if (op != OP_IF && op != OP_P_IF && op != OP_P_LOOP && op != OP_P_BLOCK && op != OP_P_TRY) continue;
        if (depth-- > 0) continue;
        depth = 0;
        if (op == OP_P_LOOP) return i;
        if (op != OP_P_BLOCK) return -1;
    }
    return -1;
}
static int32_t loop_end(const Cp *c, int32_t loop) {
    const Instr *code = c->pipe.b.instrs.items;
    int32_t end = loop + 1;
    while (end < c->pipe.b.instrs.len && !(code[end].op == OP_P_ENDLOOP && code[end].imm == code[loop].imm)) end++;
    return end;
}
static const Instr *made_by(const Cp *c, int32_t at, Reg r) {
    const Instr *code = c->pipe.b.instrs.items;
    while (--at >= 0)
        if (code[at].dst == r) return &code[at];
    return NULL;
}
/* The key has the same value in each round. */
static bool is_invariant(const Cp *c, int32_t at, int32_t loop, int32_t end) {
    const Instr *code = c->pipe.b.instrs.items;
    const ItemSite *x = code[at].aux;
    for (int32_t k = 0; k < x->n; k++) {
        if (c->pipe.b.regs.items[x->args[k]].is_const) continue;
        const Instr *of = made_by(c, at, x->args[k]);
        if (!of || of->op != OP_LOAD) return false;
        for (int32_t i = loop; i < end; i++)
            if (code[i].op == OP_STORE && code[i].imm == of->imm) return false;
    }
    return true;
}
/* The footprint's item can stand in front of the loop. */
static bool may_leave(Cp *c, int32_t at, int32_t loop) {
    const Instr *code = c->pipe.b.instrs.items;
    const CpItem *item = item_of(&code[at]);
    int32_t end = loop_end(c, loop);
    if (!item || !item->touch->once) return false;
    const ItemSite *x = &item->site;
    if (x->has_amount || x->covered ||
        (x->kind != OPK_READ && !x->insert && !(x->kind == OPK_ADD && x->group >= ITEM_COARSE)) ||
        end == c->pipe.b.instrs.len)
        return false;
    for (int32_t i = loop; i < end; i++) {
        const ItemSite *y = code[i].aux;
        if (code[i].op == OP_ITEM && i != at && y->kind <= OPK_WRITE && y->table == x->table && y->group == x->group)
            return false;
    }
    return is_invariant(c, at, loop, end);
}

static Status insert_at(Cp *c, int32_t at, Instr in, int32_t like) {
    ProgramBuilder *b = &c->pipe.b;
    int64_t n = b->instrs.len;
    if (!vec_push(c->arena, &b->instrs, in)) return cp_oom(c);
    memmove(&b->instrs.items[at + 1], &b->instrs.items[at], (size_t)(n - at) * sizeof in);
    b->instrs.items[at] = in;
    if (at >= c->from.lines.len || like >= c->from.lines.len) return ST_OK;
    int32_t line = c->from.lines.items[like];
    const char *place = c->from.places.items[like], *context = c->from.contexts.items[like];
    n = c->from.lines.len;
    if (!vec_push(c->arena, &c->from.lines, line) || !vec_push(c->arena, &c->from.places, place) ||
        !vec_push(c->arena, &c->from.contexts, context))
        return cp_oom(c);
    memmove(&c->from.lines.items[at + 1], &c->from.lines.items[at], (size_t)(n - at) * sizeof line);
    memmove(&c->from.places.items[at + 1], &c->from.places.items[at], (size_t)(n - at) * sizeof place);
    memmove(&c->from.contexts.items[at + 1], &c->from.contexts.items[at], (size_t)(n - at) * sizeof context);
    c->from.lines.items[at] = line;
    c->from.places.items[at] = place;
    c->from.contexts.items[at] = context;
    return ST_OK;
}
/* The ITEM or LOCK is moved in front of the loop, with its key read there; *moved: how many instructions there are
 * more in front of what followed it. */
static Status move_out(Cp *c, int32_t at, int32_t loop, int32_t *moved) {
    ProgramBuilder *b = &c->pipe.b;
    ItemSite *x = (ItemSite *)(uintptr_t)b->instrs.items[at].aux;
    Reg *args = arena_array(c->arena, Reg, x->n + 2);
    int32_t to = loop, n = 0;
    if (!args) return cp_oom(c);
    for (int32_t k = 0; k < x->n; k++) {
        args[k] = x->args[k];
        if (b->regs.items[args[k]].is_const) continue;
        Instr load = *made_by(c, at + n, args[k]);
        if (!(load.dst = builder_reg(b, (Phys)b->regs.items[args[k]].phys, b->regs.items[args[k]].type,
                                     b->regs.items[args[k]].nullable)))
            return cp_oom(c);
        args[k] = load.dst;
        TRY(insert_at(c, to++, load, at + n));
        n++;
    }
    x->args = args;
    TRY(insert_at(c, to, b->instrs.items[at + n], at + n));
    n++;
    bool *gone = arena_calloc(c->arena, b->instrs.len + 1);
    if (!gone) return cp_oom(c);
    gone[at + n] = true;
    cp_drop(c, gone);
    *moved = n - 1;
    return ST_OK;
}
Status cp_hoist_items(Cp *c) {
    const ProgramBuilder *b = &c->pipe.b;
    for (int32_t at = 0; at < b->instrs.len; at++) {
        int32_t loop, moved;
        if (b->instrs.items[at].op != OP_ITEM || ((const ItemSite *)b->instrs.items[at].aux)->kind > OPK_WRITE ||
            (loop = loop_around(c, at)) < 0 || !may_leave(c, at, loop))
            continue;
        item_of(&b->instrs.items[at])->loops++;
        TRY(move_out(c, at, loop, &moved));
        at = loop - 1; /* it may leave another one */
    }
    return ST_OK;
}

/* ---- locks of what has left loops ----------------------------------------------------------------------------------
 */
/* No UNLOCK in [from, to) counts the lock any more; *taken: one did. */
static Status take_off(Cp *c, int32_t lock, int32_t from, int32_t to, bool *taken) {
    ProgramBuilder *b = &c->pipe.b;
    bool *gone = arena_calloc(c->arena, b->instrs.len + 1);
    if (!gone) return cp_oom(c);
    *taken = false;
    for (int32_t i = from; i < to; i++) {
        if (b->instrs.items[i].op != OP_UNLOCK) continue;
        const LockList *l = b->instrs.items[i].aux;
        LockList *rest = arena_new_of(c->arena, LockList);
        int32_t *some = arena_array(c->arena, int32_t, l->n), n = 0;
        if (!rest || !some) return cp_oom(c);
        for (int32_t k = 0; k < l->n; k++)
            if (l->locks[k] != lock) some[n++] = l->locks[k];
        if (n == l->n) continue;
        *taken = true;
        *rest = (LockList){n, some};
        b->instrs.items[i].aux = rest;
        gone[i] = n == 0;
    }
    cp_drop(c, gone);
    return ST_OK;
}
static Status count_at(Cp *c, int32_t lock, int32_t at) {
    LockList *l = arena_new_of(c->arena, LockList);
    int32_t *only = arena_array(c->arena, int32_t, 1);
    if (!l || !only) return cp_oom(c);
    *only = lock;
    *l = (LockList){1, only};
    return insert_at(c, at, (Instr){.op = OP_UNLOCK, .phys = PH_BOOL, .aux = l}, at - 1);
}
/* One that the body cannot issue in front of the same loop (it is under an IF that the footprint does not have, or in a
 * loop of its statement's own) is not counted any more: its lock is held to the call's end, since what the footprint
 * issued once must not be given up in the first round. */
Status cp_hoist_locks(Cp *c) {
    const ProgramBuilder *b = &c->pipe.b;
    for (int32_t at = 0; at < b->instrs.len; at++) {
        ItemSite *x = (ItemSite *)(uintptr_t)b->instrs.items[at].aux;
        if (b->instrs.items[at].op != OP_LOCK || x->loops == 0) continue;
        int32_t loop = loop_around(c, at), moved = 0;
        bool counted = false, leaves = loop >= 0 && is_invariant(c, at, loop, loop_end(c, loop));
        x->loops = leaves ? x->loops - 1 : 0;
        if (leaves) {
            TRY(move_out(c, at, loop, &moved));
            at = loop - 1; /* it may leave another one */
            loop += moved + 1;
            if (x->release) TRY(take_off(c, x->lock, loop, loop_end(c, loop), &counted));
        }
        if (!x->release) continue;
        if (counted) {
            TRY(count_at(c, x->lock, loop_end(c, loop) + 1));
        } else {
            TRY(take_off(c, x->lock, 0, (int32_t)b->instrs.len, &counted));
            x->release = false;
        }
    }
    return ST_OK;
}
