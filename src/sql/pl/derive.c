/* derive.c - programs that are made of a body with touches: copies of instructions, the body without touches or with
 * statement locks for them, and the registers and variables that are left.
 *
 * Locks. A touch becomes a LOCK for each of its items, before the row is looked for where their keys do not need the
 * row, and the end of its statement an UNLOCK of those that count there. */
#include "program/operands.h"
#include "sql/pl/compile_int.h"

/* ---- copies ----------------------------------------------------------------------------------- */
static Reg *own_list(Arena *a, const Reg *list, int32_t n) {
    Reg *own = arena_array(a, Reg, n + 1);
    if (own && n) memcpy(own, list, (size_t)n * sizeof *own);
    return own;
}
#define OWN_SITE(Site)                                      \
    do {                                                    \
        Site *site = arena_new_of(a, Site);                 \
        if (!site) return false;                            \
        *site = *(const Site *)in->aux;                     \
        in->aux = site;                                     \
        return (site->args = own_list(a, list, n)) != NULL; \
    } while (0)
bool cp_own_operands(Arena *a, Instr *in) {
    int32_t n;
    const Reg *list = instr_list(in, &n);
    switch (in->op) {
    case OP_CALL: OWN_SITE(CallSite);
    case OP_KEY_PACK: OWN_SITE(KeyPack);
    case OP_ROW_FIND:
    case OP_ROW_FIRST: OWN_SITE(RowKey);
    case OP_BUF_ADD: OWN_SITE(BufferRow);
    case OP_ROW_INSERT: OWN_SITE(RowInsert);
    case OP_RAISE: OWN_SITE(RaiseSite);
    case OP_NOTICE: {
        NoticeSite *site = arena_new_of(a, NoticeSite);
        if (!site) return false;
        *site = *(const NoticeSite *)in->aux;
        in->aux = site;
        return (site->say.args = own_list(a, list, n)) != NULL;
    }
    default: return true;
    }
}
Status cp_derive(const Cp *c, Cp *to) {
    const ProgramBuilder *b = &c->pipe.b;
    *to = *c;
    memset(&to->from, 0, sizeof to->from);
    memset(&to->vars, 0, sizeof to->vars);
    memset(&to->pipe.b.instrs, 0, sizeof to->pipe.b.instrs);
    memset(&to->pipe.b.regs, 0, sizeof to->pipe.b.regs);
    for (int64_t i = 0; i < c->vars.len; i++)
        if (!vec_push(c->arena, &to->vars, c->vars.items[i])) return cp_oom(to);
    for (int64_t r = 0; r < b->regs.len; r++)
        if (!vec_push(c->arena, &to->pipe.b.regs, b->regs.items[r])) return cp_oom(to);
    return ST_OK;
}

/* ---- the body ----------------------------------------------------------------------------------- */
typedef struct Derive {
    const Cp *c;
    Cp *to;
    CpLocks *locks;    /* NULL: none are taken */
    int32_t skip;      /* > 0: in a branch that goes; brackets in it */
    VEC(uint8_t) open; /* P_IFs around: their marks */
    int32_t plain;     /* P_IFs around whose change only writes */
} Derive;

static Status push(Derive *d, Instr in, int64_t like) {
    Cp *to = d->to;
    const CpOrigins *from = &d->c->from;
    bool own = cp_own_operands(to->arena, &in);
    if (!own || !vec_push(to->arena, &to->pipe.b.instrs, in) ||
        !vec_push(to->arena, &to->from.lines, from->lines.items[like]) ||
        !vec_push(to->arena, &to->from.places, from->places.items[like]) ||
        !vec_push(to->arena, &to->from.contexts, from->contexts.items[like]))
        return cp_oom(to);
    return ST_OK;
}
static bool has_column(const CpTouch *t, int32_t col) {
    for (int32_t k = 0; k < t->item.n; k++)
        if (t->cols[k] == col) return true;
    return false;
}
/* The touch has what names the items of another one. */
static bool names_all(const CpTouch *t, const CpTouch *other) {
    for (int64_t i = 0; i < other->items.len; i++)
        for (int k = 0; k < t->table->table->n_cols; k++)
            if (other->items.items[i]->key[k] && !has_column(t, k)) return false;
    return true;
}
/* The locks of `of`, whose keys are taken from the values of t. */
static Status take(Derive *d, const CpTouch *t, const CpTouch *of, int64_t at) {
    Cp *to = d->to;
    for (int64_t i = 0; i < of->items.len; i++) {
        const CpItem *item = of->items.items[i];
        ItemSite *x = arena_new_of(to->arena, ItemSite);
        Reg *args = arena_array(to->arena, Reg, t->item.n + 1);
        if (!x || !args) return cp_oom(to);
        *x = item->site;
        x->has_amount = x->inexact = false;
        x->fetch_add = 0;
        x->why = NULL;
        x->col = -1;
        x->n = 0;
        x->args = args;
        for (int32_t k = 0; k < t->item.n; k++)
            if (item->key[t->cols[k]]) args[x->n++] = t->item.args[k];
        x->release = of->once && !item->merged;
        x->loops = item->loops;
        x->lock = (int32_t)d->locks->list.len;
        if (!vec_push(to->arena, &d->locks->list, x) || !vec_push(to->arena, &d->locks->statements, of->statement))
            return cp_oom(to);
        TRY(push(d, (Instr){.op = OP_LOCK, .phys = PH_BOOL, .aux = x}, at));
    }
    return ST_OK;
}
static Status take_touch(Derive *d, const CpTouch *t, int64_t at) {
    if (!d->locks) return ST_OK;
    if (t->is_early) return t->late && names_all(t, t->late) ? take(d, t, t->late, at) : ST_OK;
    return t->early && names_all(t->early, t) ? ST_OK : take(d, t, t, at);
}
/* The statement's locks that count, of those taken so far. */
static Status give_back(Derive *d, int64_t at) {
    Cp *to = d->to;
    int64_t statement = d->c->pipe.b.instrs.items[at].imm;
    if (!d->locks) return ST_OK;
    LockList *l = arena_new_of(to->arena, LockList);
    int32_t *locks = arena_array(to->arena, int32_t, d->locks->list.len + 1), n = 0;
    if (!l || !locks) return cp_oom(to);
    for (int64_t i = 0; i < d->locks->list.len; i++)
        if (d->locks->list.items[i]->release && d->locks->statements.items[i] == statement) locks[n++] = (int32_t)i;
    *l = (LockList){n, locks};
    return n > 0 ? push(d, (Instr){.op = OP_UNLOCK, .phys = PH_BOOL, .aux = l}, at) : ST_OK;
}
/* A P_IF, what divides it, and its end: whether it stays. Of a change in two forms whose condition is not known only
 * the one that writes does. */
static Status bracket(Derive *d, Instr in, int64_t at) {
    bool stays;
    if (in.op == OP_P_IF) {
        stays = !(in.flags & (CP_FOR_TOUCH | CP_WRITES));
        d->plain += (in.flags & CP_WRITES) != 0;
        uint8_t how = in.flags;
        if (!vec_push(d->to->arena, &d->open, how)) return cp_oom(d->to);
    } else {
        uint8_t how = d->open.items[d->open.len - 1];
        stays = !(how & (CP_FOR_TOUCH | CP_WRITES));
        if (in.op == OP_P_ELSE && how & CP_WRITES) {
            d->plain--;
            d->skip = 1;
        }
        if (in.op == OP_P_ENDIF) d->open.len--;
    }
    in.flags &= INSTR_SAFE;
    return stays ? push(d, in, at) : ST_OK;
}
/* In a branch that goes. */
static void skip(Derive *d, const Instr *in) {
    d->skip += in->op == OP_P_IF;
    d->skip -= in->op == OP_P_ENDIF;
    if (d->skip == 0) d->open.len--;
}
static Status write_only(Derive *d, Instr *in) {
    if (d->plain == 0 || in->op != OP_ROW_PUT) return ST_OK;
    RowCol *cell = arena_new_of(d->to->arena, RowCol);
    if (!cell) return cp_oom(d->to);
    *cell = *(const RowCol *)in->aux;
    cell->bounded = false;
    in->aux = cell;
    return ST_OK;
}
static Status derive_one(Derive *d, int64_t at) {
    Instr in = d->c->pipe.b.instrs.items[at];
    if (d->skip > 0) {
        skip(d, &in);
        return ST_OK;
    }
    switch (in.op) {
    case OP_P_IF:
    case OP_P_ELSE:
    case OP_P_ENDIF: return bracket(d, in, at);
    case OP_ITEM: return take_touch(d, in.aux, at);
    case OP_UNLOCK: return give_back(d, at);
    default: break;
    }
    TRY(write_only(d, &in));
    return push(d, in, at);
}

/* ---- what is not used --------------------------------------------------------------------------- */
static int32_t opening(const Instr *code, int32_t end) {
    int32_t depth = 0;
    for (int32_t i = end; i >= 0; i--) {
        depth += code[i].op == OP_ENDIF;
        depth -= code[i].op == OP_IF;
        if (depth == 0) return i;
    }
    return 0;
}
/* What was computed for touches and is no lock's goes, whether it may fail or not; the marks of the others too. */
static Status drop_unused(Cp *c) {
    ProgramBuilder *b = &c->pipe.b;
    Instr *code = b->instrs.items;
    int32_t n = (int32_t)b->instrs.len, *uses = arena_array(c->arena, int32_t, b->regs.len + 1);
    bool *gone = arena_calloc(c->arena, n + 1);
    Reg r;
    if (!uses || !gone) return cp_oom(c);
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; (r = instr_use(&code[i], k)) >= 0; k++) uses[r]++;
    for (int32_t i = n - 1; i >= 0; i--) {
        if (gone[i] || !(code[i].flags & CP_FOR_TOUCH) || !code[i].dst || uses[code[i].dst] > 0) continue;
        for (int32_t from = code[i].op == OP_ENDIF ? opening(code, i) : i, j = i; j >= from; j--) {
            if (gone[j]) continue;
            gone[j] = true;
            for (int32_t k = 0; (r = instr_use(&code[j], k)) >= 0; k++) uses[r]--;
        }
    }
    for (int32_t i = 0; i < n; i++) code[i].flags &= INSTR_SAFE;
    cp_drop(c, gone);
    return ST_OK;
}
Status cp_finish_body(const Cp *c, Cp *to, CpLocks *locks) {
    Derive d = {.c = c, .to = to, .locks = locks};
    TRY(cp_derive(c, to));
    for (int64_t i = 0; i < c->pipe.b.instrs.len; i++) TRY(derive_one(&d, i));
    return drop_unused(to);
}

/* ---- packing ------------------------------------------------------------------------------------- */
Status cp_pack_registers(Cp *c) {
    ProgramBuilder *b = &c->pipe.b;
    int64_t n = 1;
    Reg *to = arena_array(c->arena, Reg, b->regs.len + 1);
    bool *used = arena_calloc(c->arena, b->regs.len + 1);
    Reg r;
    if (!to || !used) return cp_oom(c);
    for (int64_t i = 0; i < b->instrs.len; i++) {
        used[b->instrs.items[i].dst] = true;
        for (int32_t k = 0; (r = instr_use(&b->instrs.items[i], k)) >= 0; k++) used[r] = true;
    }
    for (int64_t i = 1; i < b->regs.len; i++) {
        if (!used[i]) continue;
        to[i] = (Reg)n;
        b->regs.items[n++] = b->regs.items[i];
    }
    b->regs.len = n;
    for (int64_t i = 0; i < b->instrs.len; i++) {
        Instr *in = &b->instrs.items[i];
        int32_t n_list;
        Reg *list = (Reg *)(uintptr_t)instr_list(in, &n_list); /* this program's own */
        in->dst = to[in->dst];
        in->a = to[in->a];
        in->b = to[in->b];
        in->c = to[in->c];
        for (int32_t k = 0; k < n_list; k++) list[k] = to[list[k]];
    }
    return ST_OK;
}
Status cp_pack_variables(Cp *c) {
    ProgramBuilder *b = &c->pipe.b;
    int64_t n = c->proc->n_params;
    int32_t *to = arena_array(c->arena, int32_t, c->vars.len + 1);
    bool *used = arena_calloc(c->arena, c->vars.len + 1);
    if (!to || !used) return cp_oom(c);
    for (int64_t i = 0; i < b->instrs.len; i++)
        if (b->instrs.items[i].op == OP_LOAD || b->instrs.items[i].op == OP_STORE) used[b->instrs.items[i].imm] = true;
    for (int64_t v = 0; v < c->vars.len; v++) {
        if (v >= c->proc->n_params && !used[v]) continue;
        to[v] = (int32_t)(v < c->proc->n_params ? v : n++);
        c->vars.items[to[v]] = c->vars.items[v];
    }
    c->vars.len = n;
    for (int64_t i = 0; i < b->instrs.len; i++)
        if (b->instrs.items[i].op == OP_LOAD || b->instrs.items[i].op == OP_STORE)
            b->instrs.items[i].imm = to[b->instrs.items[i].imm];
    return ST_OK;
}
