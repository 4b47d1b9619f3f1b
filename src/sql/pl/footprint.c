/* footprint.c - from the body of a procedure to its footprint: which values are known before a call runs, and the part
 * of the body that computes them.
 *
 * One walk over the instructions, structure by structure: an abstract interpretation with two values, known and
 * unknown, that emits the instructions whose results are known [binding-time analysis, Jones, Gomard, Sestoft 1993].
 *
 * Values. Constants and parameters are known; what is computed of known values; a row that is found by a known key in a
 * table where no rows come or go, and a column of it that no procedure writes. A column that the row was found by has
 * the value that it was found by, whether the row is known or not.
 *
 * Conditions. A P_IF whose condition is known stays. Where it is not known both branches are walked, one after the
 * other, and are run both: a variable that is assigned there is unknown afterwards, and not assigned in the footprint.
 * A P_LEAVE, P_RETURN or error under such a condition may or may not happen: control goes on as if it did not, and what
 * is assigned from there to the place where it would have led is unknown behind that place. Until that place nothing is
 * left for one that lies farther, since control may be there already: a P_LEAVE, P_RETURN or error that is known to
 * come leads to the nearest such place instead. In a loop that counts for earlier instructions, too, which run again in
 * a later round, and in a block with handlers for all, each of which may have failed. A branch under a condition that
 * is not known becomes a P_BLOCK, and its end is such a place. Which conditions count depends on where they stand: a
 * variable whose uses all follow its first assignment in one branch is assigned there (its home), and a block that lies
 * in the branch as a whole is left there.
 *
 * Loops. What is known at the beginning of a loop is what stays known after each round, found by walking until nothing
 * changes. A loop stays one if it is known when it ends: all that leaves it in its head (before its P_ROUND; anywhere
 * if it has none) does so by known conditions, which change, or, without a head, something does. Another loop is open:
 * its body is run once, for all rounds, with everything unknown that is assigned there.
 *
 * Handlers. A block with handlers is run as if it came to its end; an error that is known to come leaves it. Then the
 * handlers are run, as branches that are not known. What is assigned in either is unknown.
 */
#include "program/operands.h"
#include "sql/pl/compile_int.h"

/* What is known where control arrives from several places. */
typedef struct Arrival {
    bool *known;   /* by variable; NULL: from nowhere */
    int64_t since; /* what was assigned later than this is not known; INT64_MAX: all is */
} Arrival;
typedef struct LabelEnds {
    bool head, head_unknown, ends; /* left in its head; by a condition that is not known; left for sure elsewhere */
} LabelEnds;
typedef struct Label {
    uint16_t op; /* P_LOOP, P_BLOCK, P_TRY; P_IF: a branch whose condition is not known */
    int64_t number;
    int64_t clock; /* when it began */
    bool rounds;   /* its P_ROUND has been passed */
    bool may_end;  /* an earlier round may have left it */
    LabelEnds is;
    Arrival left, next; /* at its end, at its P_STEP */
} Label;

typedef struct Foot {
    Cp *c, *to;
    Arena *arena; /* of the pass */
    Instr *code;
    int32_t n, n_vars;
    int32_t *middle, *end; /* of brackets, by opening: P_ELSE, P_CATCH, ELSE, -1 none; the closing one */
    int32_t *made;         /* by register: the instruction; -1 none */
    int32_t *found_by;     /* by variable: the lookup whose row it is, -1 none */
    int32_t *first;        /* by variable: its first STORE, if all uses follow in the same branch; -1 */
    int64_t *walked;       /* by instruction: lookups: when */
    bool *regs, *vars;     /* known */
    Reg *same;             /* by register: the one that stands for it */
    int64_t *stamp, clock; /* by variable: of its last assignment; assignments so far */
    int32_t *home;         /* by variable: unknown conditions around its first STORE */
    int32_t depth;         /* unknown conditions around */
    int32_t trial;         /* > 0: nothing is emitted */
    int32_t open, handlers, writes_only;
    bool dead;         /* control does not come here */
    VEC(bool *) spare; /* copies of `vars` that are not in use */
    VEC(Label) labels;
    VEC(bool) loops; /* around: open */
    bool oom, bad;
} Foot;

/* ---- the text ------------------------------------------------------------------------------- */
static bool opens(uint16_t op) {
    return op == OP_IF || op == OP_P_IF || op == OP_P_LOOP || op == OP_P_BLOCK || op == OP_P_TRY;
}
static bool divides(uint16_t op) { return op == OP_ELSE || op == OP_P_ELSE || op == OP_P_CATCH; }
static bool closes(uint16_t op) {
    return op == OP_ENDIF || op == OP_P_ENDIF || op == OP_P_ENDLOOP || op == OP_P_ENDBLOCK || op == OP_P_ENDTRY;
}
/* A variable's home: the branch that all of its uses stand in, if the first one there is an assignment. */
typedef struct Use {
    int32_t branch, first; /* branch: number of the innermost one with all uses */
    bool stored;           /* the first one assigns, and stands in that branch directly */
} Use;
typedef struct Branches {
    VEC(int32_t) up, depth; /* by branch */
    int32_t now;
} Branches;
static void enter_branch(Foot *f, Branches *b) {
    int32_t d = b->depth.items[b->now] + 1;
    if (!vec_push(f->arena, &b->up, b->now) || !vec_push(f->arena, &b->depth, d)) f->oom = true;
    else b->now = (int32_t)b->up.len - 1;
}
static void use_variable(const Foot *f, const Branches *b, Use *u, int32_t at) {
    int32_t x = u->branch, y = b->now;
    if (x < 0) {
        *u = (Use){y, at, f->code[at].op == OP_STORE};
        return;
    }
    while (x != y) {
        if (b->depth.items[x] >= b->depth.items[y]) x = b->up.items[x];
        else y = b->up.items[y];
    }
    u->stored &= x == u->branch;
    u->branch = x;
}
static void find_homes(Foot *f) {
    Branches b = {.now = 0};
    Use *uses = arena_array(f->arena, Use, f->n_vars + 1);
    int32_t none = -1, zero = 0;
    if (!uses || !vec_push(f->arena, &b.up, none) || !vec_push(f->arena, &b.depth, zero)) f->oom = true;
    for (int32_t v = 0; v < f->n_vars && !f->oom; v++) uses[v].branch = -1;
    for (int32_t i = 0; i < f->n && !f->oom; i++) {
        uint16_t op = f->code[i].op;
        if (divides(op) || closes(op)) b.now = b.up.items[b.now];
        if (opens(op) || divides(op)) enter_branch(f, &b);
        if (op == OP_LOAD || op == OP_STORE) use_variable(f, &b, &uses[f->code[i].imm], i);
    }
    for (int32_t v = 0; v < f->n_vars && !f->oom; v++)
        f->first[v] = uses[v].branch > 0 && uses[v].stored ? uses[v].first : -1;
}
static void find_brackets(Foot *f) {
    VEC(int32_t) stack = {0};
    for (int32_t i = 0; i < f->n && !f->oom && !f->bad; i++) {
        const Instr *in = &f->code[i];
        f->middle[i] = f->end[i] = -1;
        if (in->dst) f->made[in->dst] = i;
        if (opens(in->op) && !vec_push(f->arena, &stack, i)) f->oom = true;
        f->bad |= (divides(in->op) || closes(in->op)) && stack.len == 0;
        if (f->bad || f->oom) break;
        if (divides(in->op)) f->middle[stack.items[stack.len - 1]] = i;
        if (closes(in->op)) f->end[stack.items[--stack.len]] = i;
        if (in->op == OP_STORE && f->made[in->a] >= 0) {
            const Instr *of = &f->code[f->made[in->a]];
            if (of->op == OP_ROW_FIND || of->op == OP_ROW_FIRST) f->found_by[in->imm] = f->made[in->a];
        }
    }
    f->bad |= stack.len != 0;
}

/* ---- states ---------------------------------------------------------------------------------- */
static bool *known_copy(Foot *f) {
    bool *k = f->spare.len > 0 ? f->spare.items[--f->spare.len] : arena_array(f->arena, bool, f->n_vars + 1);
    if (!k) return f->oom = true, f->vars;
    memcpy(k, f->vars, (size_t)f->n_vars);
    return k;
}
static void known_drop(Foot *f, bool *k) {
    if (k && k != f->vars && !vec_push(f->arena, &f->spare, k)) f->oom = true;
}
static void known_set(const Foot *f, const bool *k) {
    if (k != f->vars) memcpy(f->vars, k, (size_t)f->n_vars); /* without memory there is no copy */
}
static void known_meet(const Foot *f, const bool *k) {
    for (int32_t v = 0; v < f->n_vars; v++) f->vars[v] &= k[v];
}
static void forget_since(const Foot *f, int64_t clock) {
    for (int32_t v = 0; v < f->n_vars; v++) f->vars[v] &= f->stamp[v] <= clock;
}
static void leaves_for(Foot *f, Arrival *a, int64_t since) {
    if (!a->known) a->known = known_copy(f);
    for (int32_t v = 0; v < f->n_vars; v++) a->known[v] &= f->vars[v];
    a->since = MIN_OF(a->since, since);
}
/* Control arrives here from there as well. */
static void arrive(Foot *f, Arrival *a) {
    if (!a->known) return;
    if (f->dead) known_set(f, a->known);
    else known_meet(f, a->known);
    forget_since(f, a->since);
    f->dead = false;
    known_drop(f, a->known);
    a->known = NULL;
}
static Label *push_label(Foot *f, uint16_t op, int64_t number) {
    Label l = {.op = op, .number = number, .clock = f->clock, .left.since = INT64_MAX, .next.since = INT64_MAX};
    if (!vec_push(f->arena, &f->labels, l)) return f->oom = true, NULL;
    return &f->labels.items[f->labels.len - 1];
}
static void emit(Foot *f, Instr in) {
    if (f->trial > 0 || f->oom) return;
    in.flags &= INSTR_SAFE | CP_FOR_TOUCH;
    if (in.op != OP_ITEM && !cp_own_operands(f->to->arena, &in)) f->oom = true;
    if (in.op != OP_ITEM) {
        int32_t n;
        Reg *list = (Reg *)(uintptr_t)instr_list(&in, &n);
        in.a = f->same[in.a];
        in.b = f->same[in.b];
        in.c = f->same[in.c];
        for (int32_t i = 0; i < n; i++) list[i] = f->same[list[i]];
    }
    if (!vec_push(f->to->arena, &f->to->pipe.b.instrs, in)) f->oom = true;
}
static void emit_op(Foot *f, uint16_t op, int64_t imm) { emit(f, (Instr){.op = op, .phys = PH_BOOL, .imm = imm}); }

/* ---- values ------------------------------------------------------------------------------------ */
static bool uses_known(const Foot *f, const Instr *in) {
    Reg r;
    for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++)
        if (r && !f->regs[r]) return false;
    return true;
}
static const CpTable *table_of(const Foot *f, int32_t number) { return f->c->reg_tables.items[number]; }
/* The columns that the lookup finds rows by, in the order of its operands. */
static const int32_t *lookup_columns(const Foot *f, const RowKey *k) {
    const CpTable *t = table_of(f, k->table);
    return k->index < t->table->n_keys ? t->table->keys[k->index].cols
                                       : t->need.groups[k->index - t->table->n_keys].cols;
}
/* The lookup that found the row; -1: none. */
static int32_t lookup_of(const Foot *f, Reg row) {
    int32_t by = f->made[row];
    if (by < 0) return -1;
    if (f->code[by].op == OP_ROW_FIND || f->code[by].op == OP_ROW_FIRST) return by;
    return f->code[by].op == OP_LOAD ? f->found_by[f->code[by].imm] : -1;
}
/* The column of a row that is not known has a known value since the row was found by it: the register is that. */
static bool found_by_value(Foot *f, const Instr *get) {
    const RowCol *cell = get->aux;
    int32_t by = lookup_of(f, get->a);
    if (by < 0) return false;
    const RowKey *k = f->code[by].aux;
    const int32_t *cols = lookup_columns(f, k);
    const RegInfo *regs = f->c->pipe.b.regs.items, *to = &regs[get->dst];
    for (int32_t i = 0; i < k->n; i++) {
        const RegInfo *r = &regs[k->args[i]];
        if (cols[i] != cell->col || r->phys != to->phys || !type_same_cells(r->type, to->type)) continue;
        if (r->is_const) {
            f->same[get->dst] = k->args[i];
            return true;
        }
        const Instr *of = f->made[k->args[i]] >= 0 ? &f->code[f->made[k->args[i]]] : NULL;
        if (!of || of->op != OP_LOAD || !f->vars[of->imm] || f->stamp[of->imm] > f->walked[by]) continue;
        emit(f, (Instr){.op = OP_LOAD, .phys = to->phys, .dst = get->dst, .imm = of->imm});
        return true;
    }
    return false;
}
static bool is_known(const Foot *f, const Instr *in) {
    switch (op_effect(in->op)) {
    case EF_SOURCE: return in->op == OP_LOAD && f->vars[in->imm];
    case EF_PURE:
    case EF_COMPARE:
    case EF_BUFFER:                         /* the number of its rows is known where all of them are */
    case EF_CALL: return uses_known(f, in); /* nothing volatile is compiled */
    case EF_ROW_READ: {
        int32_t table = in->op == OP_ROW_GET ? ((const RowCol *)in->aux)->table : ((const RowKey *)in->aux)->table;
        const CpTable *t = table_of(f, table);
        if (!rows_static(t) || in->flags & CP_UNKNOWN || !uses_known(f, in)) return false;
        return in->op != OP_ROW_GET || t->group[((const RowCol *)in->aux)->col] == NO_GROUP;
    }
    default: return false;
    }
}
static void value(Foot *f, int32_t at) {
    const Instr *in = &f->code[at];
    f->walked[at] = f->clock;
    if ((f->regs[in->dst] = is_known(f, in))) emit(f, *in);
    else if (in->op == OP_ROW_GET) f->regs[in->dst] = found_by_value(f, in);
}
/* An IF of an expression: known if all of it is that counts. */
static void find_known_body(Foot *f, int32_t at, int32_t end) {
    f->bad |= stack_stop();
    for (int32_t i = at; i <= end && !f->bad; i++) {
        const Instr *in = &f->code[i];
        if (in->op == OP_IF && i > at) {
            find_known_body(f, i, f->end[i]);
            i = f->end[i];
        } else if (in->dst && in->op != OP_ENDIF) {
            f->regs[in->dst] = is_known(f, in);
        }
    }
    f->regs[f->code[end].dst] = f->regs[f->code[at].a] && f->regs[f->code[f->middle[at]].a] && f->regs[f->code[end].a];
}
static void emit_body(Foot *f, int32_t at, int32_t end) {
    if (!f->regs[f->code[end].dst] || stack_stop()) return;
    for (int32_t i = at; i <= end; i++) {
        const Instr *in = &f->code[i];
        if (in->op == OP_IF && i > at) {
            emit_body(f, i, f->end[i]);
            i = f->end[i];
        } else if (!in->dst || f->regs[in->dst]) {
            emit(f, *in);
        }
    }
}
static void store(Foot *f, int32_t at) {
    const Instr *in = &f->code[at];
    if (f->first[in->imm] == at) f->home[in->imm] = f->depth;
    f->vars[in->imm] = f->regs[in->a] && f->depth == f->home[in->imm];
    f->stamp[in->imm] = ++f->clock;
    if (f->vars[in->imm]) emit(f, *in);
}

/* ---- touches ------------------------------------------------------------------------------------- */
/* How much is added in all is not known where the amount is not, or how often. */
static void note_sum(Foot *f, const CpTouch *x) {
    if (x->knows_amount && x->once) return;
    int32_t table = (int32_t)x->item.table;
    for (int64_t i = 0; i < f->to->unbounded.len; i++)
        if (f->to->unbounded.items[i].table == table && f->to->unbounded.items[i].col == x->item.col) return;
    ProcColumn col = {table, x->item.col};
    if (!vec_push(f->to->arena, &f->to->unbounded, col)) f->oom = true;
}
static bool knows_key(const CpTouch *x, int k) {
    const KeyConstraint *key = &x->table->table->keys[k];
    bool all = key->n_cols > 0;
    for (int i = 0; i < key->n_cols; i++) all &= key->cols[i] < 64 && x->known[key->cols[i]];
    return all;
}
/* A row that is deleted is named by the keys that are known. */
static void name_deleted(CpTouch *x) {
    const Table *t = x->table->table;
    bool named = false;
    for (int k = 0; k < t->n_keys; k++) named |= knows_key(x, k);
    if (t->n_keys > 1 && named && !knows_key(x, x->group - rows_group(x->table))) x->item.kind = CP_DELETES;
}
/* Rows that are inserted in loops: how many is counted, or found out by running it. */
static bool counts_rows(Foot *f, const CpTouch *x) {
    ProcTable *t = &f->c->proc->tables[x->item.table];
    if (t->max_inserts >= 0) return false;
    t->guessed |= x->open;
    return !x->open;
}
static void touch(Foot *f, CpTouch *x) {
    if (f->trial > 0 || x->is_early) return;
    const Table *t = x->table->table;
    if (!(x->known = arena_calloc(f->c->arena, t->n_cols + 1))) {
        f->oom = true;
        return;
    }
    CpSite site = {x->group, 0, 0};
    int32_t n = x->item.n + x->item.has_amount;
    if (!(x->foot_args = arena_array(f->c->arena, Reg, n + 1))) f->oom = true;
    for (int32_t k = 0; k < n && !f->oom; k++) {
        x->foot_args[k] = f->same[x->item.args[k]];
        if (!x->cols || k >= x->item.n || !f->regs[x->item.args[k]]) continue;
        x->known[x->cols[k]] = true;
        if (x->cols[k] < 64) site.known |= UINT64_C(1) << x->cols[k];
    }
    x->knows_amount = x->item.has_amount && f->regs[x->item.args[x->item.n]];
    x->open = f->open > 0;
    x->once = f->handlers == 0;
    for (int32_t i = 0; i < x->loops && i < f->loops.len; i++) x->once &= !f->loops.items[i];
    x->item.inexact = x->inexact && f->writes_only == 0;
    if (x->item.does & DOES_DELETE) name_deleted(x);
    if (x->item.kind == CP_SUMS) {
        note_sum(f, x);
    } else if (x->item.kind == OPK_INSERTED) {
        if (counts_rows(f, x)) emit(f, (Instr){.op = OP_ITEM, .phys = PH_BOOL, .aux = x});
    } else if (x->item.covered) {
        if (x->knows_amount && x->item.inexact == x->inexact)
            emit(f, (Instr){.op = OP_ITEM, .phys = PH_BOOL, .aux = x});
    } else {
        site.kind = x->item.kind;
        if (!vec_push(f->c->reg->arena, &x->table->sites, site)) f->oom = true;
        emit(f, (Instr){.op = OP_ITEM, .phys = PH_BOOL, .aux = x});
    }
}

/* ---- control --------------------------------------------------------------------------------------- */
static void run(Foot *f, int32_t from, int32_t to);

/* Loops from the innermost label down to number `to` are left for sure. */
static void ends_loops(Foot *f, int64_t to) {
    for (int64_t i = f->labels.len - 1; i >= to; i--) f->labels.items[i].is.ends = true;
}
static bool may_come(const Arrival *a) { return a->known && a->since != INT64_MAX; }
/* The nearest label inside of number `to` (-1: all), or its own P_STEP, where control may be already; -1 none. Labels
 * around a loop keep what arrives from it through its rounds. */
static int64_t nearer_place(const Foot *f, int64_t to, bool to_step, bool *step) {
    for (int64_t i = f->labels.len - 1; i >= MAX_OF(to, INT64_C(0)); i--) {
        const Label *l = &f->labels.items[i];
        if (i == to && to_step) break;
        *step = may_come(&l->next);
        if (*step) return i;
        if (i == to) break;
        if (l->op == OP_P_TRY || l->op == OP_P_IF || l->may_end || may_come(&l->left)) return i;
    }
    return -1;
}
static void emit_leave(Foot *f, int64_t number, bool step) {
    emit(f, (Instr){.op = OP_P_LEAVE, .imm = number, .aux = step ? (void *)(uintptr_t)f->c->at.f : NULL});
}
/* Control leaves for the end of label i, or its P_STEP, if it is not at a place in between. */
static void leave_for(Foot *f, int64_t i, bool step, bool sure) {
    Label *l = &f->labels.items[i];
    const bool loop = l->op == OP_P_LOOP;
    int64_t since = f->clock;
    for (int64_t k = i + (step || !loop); k < f->labels.len; k++)
        if (f->labels.items[k].op == OP_P_LOOP) since = MIN_OF(since, f->labels.items[k].clock);
    leaves_for(f, step ? &l->next : &l->left, sure ? INT64_MAX : since);
    const bool head = !step && loop && !l->rounds;
    if (head) {
        l->is.head = true;
        l->is.head_unknown |= !sure;
    }
    if (!sure) return;
    ends_loops(f, i + (step || !loop || head));
    emit_leave(f, l->number, step);
}
/* For the end of label i, its P_STEP, or (-1) the end of the procedure. */
static void leave_to(Foot *f, int64_t i, bool step) {
    bool near_step = false;
    const int64_t near = nearer_place(f, i, step, &near_step);
    if (i >= 0) leave_for(f, i, step, near < 0);
    if (near >= 0 && f->labels.items[near].op == OP_P_IF) {
        ends_loops(f, near + 1); /* the end of the branch comes for calls that do not take this way */
        emit_leave(f, f->labels.items[near].number, false);
    } else if (near >= 0) {
        leave_for(f, near, near_step, true);
    } else if (i < 0) {
        ends_loops(f, 0);
        emit_op(f, OP_P_RETURN, 0);
    }
    f->dead = true;
}
static void leave(Foot *f, const Instr *in) {
    int64_t i = f->labels.len - 1;
    while (i >= 0 && (f->labels.items[i].op == OP_P_TRY || f->labels.items[i].number != in->imm)) i--;
    if (i >= 0) leave_to(f, i, in->aux != NULL);
    else f->bad = true; /* program_finish reports it */
}
/* An error: to the handlers, or out of the procedure. */
static void fail(Foot *f) {
    int64_t i = f->labels.len - 1;
    while (i >= 0 && f->labels.items[i].op != OP_P_TRY) i--;
    leave_to(f, i, false);
}
/* A part that is run whether the condition that leads to it holds or not. */
static void begin_part(Foot *f) {
    const int64_t number = f->to->flow.next_block++;
    emit_op(f, OP_P_BLOCK, number);
    (void)push_label(f, OP_P_IF, number);
}
static bool in_part(const Foot *f) { return f->labels.len > 0 && f->labels.items[f->labels.len - 1].op == OP_P_IF; }
static void end_part(Foot *f) {
    if (in_part(f)) emit_op(f, OP_P_ENDBLOCK, f->labels.items[--f->labels.len].number); /* else there is no memory */
}
static void run_part(Foot *f, int32_t from, int32_t to) {
    f->depth++;
    begin_part(f);
    if (!f->oom) run(f, from, to);
    end_part(f);
    f->depth--;
}
static void branches(Foot *f, int32_t at, bool known) {
    int32_t middle = f->middle[at], end = f->end[at];
    const RegInfo *cond = &f->c->pipe.b.regs.items[f->code[at].a];
    if (cond->is_const) {
        if (!cond->value.is_null && cond->value.u.b) run(f, at + 1, middle >= 0 ? middle : end);
        else if (middle >= 0) run(f, middle + 1, end);
        return;
    }
    bool *before = known_copy(f);
    if (known) emit(f, f->code[at]);
    if (known) run(f, at + 1, middle >= 0 ? middle : end);
    else run_part(f, at + 1, middle >= 0 ? middle : end);
    bool *after = f->dead ? NULL : known_copy(f);
    known_set(f, before);
    f->dead = false;
    if (known && middle >= 0) emit(f, f->code[middle]);
    if (middle >= 0 && known) run(f, middle + 1, end);
    else if (middle >= 0) run_part(f, middle + 1, end);
    if (known) emit(f, f->code[end]);
    known_drop(f, before);
    if (!after) return;
    if (f->dead) known_set(f, after);
    else known_meet(f, after);
    f->dead = false;
    known_drop(f, after);
}
static void run_if(Foot *f, int32_t at) {
    Instr *in = &f->code[at];
    bool known = f->regs[in->a];
    if (!(in->flags & CP_FORMS) || known) {
        branches(f, at, known);
        return;
    }
    if (f->trial == 0) in->flags |= CP_WRITES;
    f->writes_only++;
    run(f, at + 1, f->middle[at]);
    f->writes_only--;
}
static void run_block(Foot *f, int32_t at) {
    emit(f, f->code[at]);
    if (!push_label(f, OP_P_BLOCK, f->code[at].imm)) return;
    run(f, at + 1, f->end[at]);
    Label l = f->labels.items[--f->labels.len];
    emit(f, f->code[f->end[at]]);
    arrive(f, &l.left);
}
static void run_try(Foot *f, int32_t at) {
    int64_t clock = f->clock, number = f->to->flow.next_block++;
    emit_op(f, OP_P_BLOCK, number);
    if (!push_label(f, OP_P_TRY, number)) return;
    run(f, at + 1, f->middle[at]);
    known_drop(f, f->labels.items[--f->labels.len].left.known);
    emit_op(f, OP_P_ENDBLOCK, number);
    f->dead = false;
    forget_since(f, clock);
    f->open++;
    f->handlers++;
    run_part(f, f->middle[at] + 1, f->end[at]);
    f->handlers--;
    f->open--;
    f->dead = false;
    forget_since(f, clock);
}
/* One time through the loop; what is known then is what was known before and is known after it. An open one is a part
 * up to its P_STEP, and another from there. */
static Label one_round(Foot *f, int32_t at, bool open, bool may_end) {
    bool *before = known_copy(f);
    Label *l = push_label(f, OP_P_LOOP, f->code[at].imm);
    if (!l) return (Label){0};
    l->may_end = may_end;
    f->depth += open;
    if (open) begin_part(f);
    if (!f->oom) run(f, at + 1, f->end[at]);
    if (open) end_part(f);
    f->depth -= open;
    if (f->dead) known_set(f, before);
    else known_meet(f, before);
    f->dead = false;
    known_drop(f, before);
    return f->labels.items[--f->labels.len];
}
/* Labels around, the first n, where something may arrive. */
static int64_t count_arrivals(const Foot *f, int64_t n) {
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++) k += may_come(&f->labels.items[i].left) + may_come(&f->labels.items[i].next);
    return k;
}
/* Until nothing changes. What it says of the ends of labels around counts for the last time only. */
static Label settle_loop(Foot *f, int32_t at, bool open) {
    Label l = {0};
    int64_t n = f->labels.len;
    LabelEnds *around = arena_array(f->arena, LabelEnds, n + 1);
    if (!around) f->oom = true;
    for (int64_t i = 0; i < n && around; i++) around[i] = f->labels.items[i].is;
    f->trial++;
    for (bool again = true; again && !f->oom && !f->bad;) {
        const int64_t arrivals = count_arrivals(f, n);
        const bool may_end = l.may_end | may_come(&l.left);
        bool *before = known_copy(f);
        for (int64_t i = 0; i < n; i++) f->labels.items[i].is = around[i];
        known_drop(f, l.left.known);
        l = one_round(f, at, open, may_end);
        again = memcmp(before, f->vars, (size_t)f->n_vars) != 0 || arrivals != count_arrivals(f, n) ||
                (may_come(&l.left) && !may_end);
        known_drop(f, before);
    }
    f->trial--;
    return l;
}
/* The loop assigns a variable that its head reads: else it is left there in its first round or never. */
static bool head_changes(const Foot *f, int32_t at) {
    for (int32_t i = at + 1; i < f->end[at]; i++) {
        if (f->code[i].op == OP_P_ROUND && f->code[i].imm == f->code[at].imm) return false;
        for (int32_t k = at + 1; f->code[i].op == OP_LOAD && k < f->end[at]; k++)
            if (f->code[k].op == OP_STORE && f->code[k].imm == f->code[i].imm) return true;
    }
    return false;
}
static bool is_loop(const Foot *f, int32_t at, LabelEnds is) {
    return is.head ? !is.head_unknown && (is.ends || head_changes(f, at)) : is.ends;
}
static void run_loop(Foot *f, int32_t at) {
    bool *before = known_copy(f), no = false;
    int64_t n = f->labels.len;
    LabelEnds *around = arena_array(f->arena, LabelEnds, n + 1);
    if (!around || !vec_push(f->arena, &f->loops, no)) f->oom = true;
    for (int64_t i = 0; i < n && around; i++) around[i] = f->labels.items[i].is;
    Label l = settle_loop(f, at, false);
    if (f->oom || f->bad) return;
    bool known = is_loop(f, at, l.is);
    if (!known) {
        for (int64_t i = 0; i < n; i++) f->labels.items[i].is = around[i];
        f->loops.items[f->loops.len - 1] = true;
        f->open++;
        known_set(f, before);
        known_drop(f, l.left.known);
        l = settle_loop(f, at, true);
    }
    bool *start = known_copy(f);
    if (known) emit(f, f->code[at]);
    if (f->trial == 0) {
        known_drop(f, l.left.known);
        l = one_round(f, at, !known, l.may_end);
    }
    if (known) emit(f, f->code[f->end[at]]);
    f->open -= !known;
    f->loops.len--;
    known_set(f, start);
    f->dead = known; /* it is left as something in it says; an open one perhaps at its beginning */
    if (!known) forget_since(f, l.clock);
    arrive(f, &l.left);
    known_drop(f, start);
    known_drop(f, before);
}
static void begin_round(Foot *f, const Instr *in) {
    const bool open = in_part(f);
    f->labels.items[f->labels.len - 1 - open].rounds = true;
    if (!open) emit(f, *in);
}
static void step(Foot *f, const Instr *in) {
    const bool open = in_part(f);
    end_part(f);
    arrive(f, &f->labels.items[f->labels.len - 1].next);
    if (open) begin_part(f);
    else emit(f, *in);
}

/* One instruction or what its bracket encloses; the number of what follows. */
static int32_t run_one(Foot *f, int32_t i) {
    const Instr *in = &f->code[i];
    switch (in->op) {
    case OP_IF:
        find_known_body(f, i, f->end[i]);
        emit_body(f, i, f->end[i]);
        return f->end[i] + 1;
    case OP_P_IF: run_if(f, i); return f->end[i] + 1;
    case OP_P_BLOCK: run_block(f, i); return f->end[i] + 1;
    case OP_P_TRY: run_try(f, i); return f->end[i] + 1;
    case OP_P_LOOP: run_loop(f, i); return f->end[i] + 1;
    case OP_P_ROUND: begin_round(f, in); break;
    case OP_P_LEAVE: leave(f, in); break;
    case OP_P_RETURN: leave_to(f, -1, false); break;
    case OP_RAISE:
    case OP_RERAISE: fail(f); break;
    case OP_STORE: store(f, i); break;
    case OP_ITEM: touch(f, in->aux); break;
    default:
        if (in->dst) value(f, i);
    }
    return i + 1;
}
static void run(Foot *f, int32_t from, int32_t to) {
    f->bad |= stack_stop();
    for (int32_t i = from; i < to && !f->oom && !f->bad;) {
        if (f->code[i].op == OP_P_STEP) step(f, &f->code[i++]);
        else if (f->dead) i = opens(f->code[i].op) ? f->end[i] + 1 : i + 1;
        else i = run_one(f, i);
    }
}

/* ---- the pass --------------------------------------------------------------------------------------- */
static bool foot_new(Foot *f, Arena *own) {
    const ProgramBuilder *b = &f->c->pipe.b;
    int64_t n_regs = b->regs.len;
    f->arena = own;
    f->code = b->instrs.items;
    f->n = (int32_t)b->instrs.len;
    f->n_vars = (int32_t)f->c->vars.len;
    f->middle = arena_array(own, int32_t, f->n + 1);
    f->end = arena_array(own, int32_t, f->n + 1);
    f->walked = arena_array(own, int64_t, f->n + 1);
    f->made = arena_array(own, int32_t, n_regs + 1);
    f->regs = arena_calloc(own, n_regs + 1);
    f->same = arena_array(own, Reg, n_regs + 1);
    f->found_by = arena_array(own, int32_t, f->n_vars + 1);
    f->first = arena_array(own, int32_t, f->n_vars + 1);
    f->home = arena_array(own, int32_t, f->n_vars + 1);
    f->vars = arena_calloc(own, f->n_vars + 1);
    f->stamp = arena_array(own, int64_t, f->n_vars + 1);
    if (!f->middle || !f->end || !f->walked || !f->made || !f->regs || !f->same || !f->found_by || !f->first ||
        !f->home || !f->vars || !f->stamp)
        return false;
    for (int64_t r = 0; r < n_regs; r++) {
        f->made[r] = -1;
        f->same[r] = (Reg)r;
        f->regs[r] = r == 0 || b->regs.items[r].is_const;
    }
    for (int32_t v = 0; v < f->n_vars; v++) {
        f->vars[v] = true; /* parameters; the others are NULL */
        f->found_by[v] = -1;
    }
    return true;
}
static Status footprint_in(Cp *c, Cp *foot, Arena *own) {
    Foot *f = arena_new_of(own, Foot);
    if (!f) return cp_oom(c);
    *f = (Foot){.c = c, .to = foot};
    if (!foot_new(f, own)) return cp_oom(c);
    find_brackets(f);
    if (!f->bad) find_homes(f);
    if (!f->oom && !f->bad) run(f, 0, f->n);
    if (f->oom) return cp_oom(c);
    return f->bad ? cp_refuse(c, "its control is too deep") : ST_OK;
}
Status cp_footprint(Cp *c, Cp *foot) {
    Err e = {0};
    TRY(cp_derive(c, foot));
    foot->foot = true;
    Arena *own = arena_new(arena_account(c->arena), &e);
    Status st = own ? footprint_in(c, foot, own) : cp_oom(c);
    if (own) arena_free(own);
    return st;
}
