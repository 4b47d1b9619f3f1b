/* reuse.c - what a call has computed before, and what cannot have changed since, is used again: elements of arrays,
 * calls of functions, rows found by key.
 *
 * Global value numbering of the finished program [Alpern, Wegman, Zadeck 1988; available expressions as in Aho et al.].
 * One walk in the order of the text: a state has for each variable its value, for each table the version of its set of
 * rows, and which values have been computed on every way to here. Two values have one number when they are made by the
 * same operation of values with the same numbers, at the same version. Where ways meet, what differs is a new value; at
 * the beginning of a loop everything is that the loop stores, and every table's rows that it inserts into or deletes
 * from. So a number stands for what was computed when the program came by there last: nothing that was computed inside
 * a loop counts at its beginning, and numbers from before it stay what they are. A handler (P_CATCH) begins with what
 * was there at its P_TRY, but for all that was stored or changed since.
 *
 * What is computed once more becomes the register of the first time, in a straight run where no LOCK stands between;
 * else a load of a variable that has the value, or of a hidden one that it is stored in wherever it is computed.
 * Nothing is computed earlier than before, so no error comes that did not.
 *
 * Rows. A lookup gives the same row, or none, as long as no row comes or goes that it could find. The call itself: the
 * table's version. Other calls: a search for rows in a table where rows come and go has an operation on their
 * existence, on the item that inserts and deletes of them write, in this statement and in that one. In a set, or while
 * the call has its locks, no call with a conflicting operation runs. Where locks are given up by statement, the second
 * statement has its LOCK of that item as before, and that item had been taken when the first one looked: had it been
 * given up in between, the LOCK undoes the bulk; else no other call came between. Cells of rows are read anew.
 *
 * LOCKs name one item again and again. The first one leaves its hash in a hidden variable (Instr.dst), the others take
 * it from there (Instr.a).
 *
 * At last what is not used any more is dropped: variables that are never read, and what was computed for them alone,
 * unless it may fail.
 */
#include "base/hash.h"
#include "program/operands.h"
#include "sql/pl/compile_int.h"

enum { VALUES_MAX = 1 << 22, NO_VALUE = -1 };

/* What is known at a place. */
typedef struct State {
    struct State *next; /* among those that are not in use */
    int32_t *vars;      /* by variable: its value */
    int32_t *rows;      /* by table: version of its rows */
    uint64_t *there;    /* bits, by Kept: computed on every way to here */
    bool dead;          /* not reachable */
} State;
typedef struct Open {
    uint16_t op;
    int64_t number;
    int32_t at;
    State *in, *out, *exits,
        *steps; /* at the opening; at the end of the first part; at the target of a P_LEAVE: its end, its P_STEP */
} Open;
typedef struct ValueInfo {
    Reg reg; /* that has it in this stretch of the run, */
    int32_t stretch;
    int32_t holder; /* a variable that had it, -1 none */
    int32_t kept;   /* number among those worth a variable, -1 */
} ValueInfo;
typedef struct Numbered {
    uint64_t hash;
    int32_t value, instr, version;
} Numbered;
typedef enum Act { ACT_STAYS, ACT_GONE, ACT_LOAD, ACT_LOAD_KEPT, ACT_NAMED } Act;

typedef struct Reuse {
    Cp *c;
    Arena *arena;
    int32_t n, n_vars, n_tables;
    Instr *code;
    const RegInfo *regs;
    int64_t words;     /* of State.there */
    int32_t *value;    /* by register */
    Reg *same;         /* by register: the one that stands for it */
    uint8_t *act;      /* by instruction: Act, */
    int32_t *from;     /* ... the variable, or number among those kept */
    bool *in_body;     /* by instruction: between IF and ENDIF */
    int32_t *kept;     /* by instruction: it computes that one; -1 none */
    int32_t *kept_var; /* by number: hidden variable, -1: not needed so far */
    int32_t n_kept, stretch;
    VEC(ValueInfo) values;
    Numbered *table; /* open addressing */
    int64_t mask;
    State *now, *unused;
    VEC(Open) open;
    VEC(int32_t) body; /* values in registers of the IF bodies around */
    bool oom, too_much;
} Reuse;

/* ---- states ---------------------------------------------------------------------------------------------- */
static int32_t new_value(Reuse *u) {
    ValueInfo x = {.holder = -1, .kept = -1};
    u->too_much |= u->values.len >= VALUES_MAX;
    if (!vec_push(u->arena, &u->values, x)) u->oom = true;
    return u->oom ? 0 : (int32_t)(u->values.len - 1);
}
static State *state_new(Reuse *u) {
    State *s = u->unused;
    if (s) {
        u->unused = s->next;
        return s;
    }
    if (!(s = arena_new_of(u->arena, State))) return u->oom = true, NULL;
    s->vars = arena_array(u->arena, int32_t, u->n_vars + 1);
    s->rows = arena_array(u->arena, int32_t, u->n_tables + 1);
    s->there = arena_array(u->arena, uint64_t, u->words + 1);
    if (!s->vars || !s->rows || !s->there) return u->oom = true, NULL;
    return s;
}
static void state_drop(Reuse *u, State *s) {
    if (!s) return;
    s->next = u->unused;
    u->unused = s;
}
static void state_set(const Reuse *u, State *to, const State *from) {
    memcpy(to->vars, from->vars, (size_t)u->n_vars * sizeof *to->vars);
    memcpy(to->rows, from->rows, (size_t)u->n_tables * sizeof *to->rows);
    memcpy(to->there, from->there, (size_t)u->words * sizeof *to->there);
    to->dead = from->dead;
}
static State *state_copy(Reuse *u, const State *s) {
    State *t = state_new(u);
    if (t) state_set(u, t, s);
    return t;
}
static void state_meet(Reuse *u, State *s, const State *other) {
    if (!other || other->dead) return;
    if (s->dead) {
        state_set(u, s, other);
        return;
    }
    for (int32_t i = 0; i < u->n_vars; i++)
        if (s->vars[i] != other->vars[i]) s->vars[i] = new_value(u);
    for (int32_t i = 0; i < u->n_tables; i++)
        if (s->rows[i] != other->rows[i]) s->rows[i] = new_value(u);
    for (int64_t i = 0; i < u->words; i++) s->there[i] &= other->there[i];
}
/* The number of the table that the instruction changes the rows of; -1 none. */
static int32_t changes_rows(const Instr *in) {
    if (in->op == OP_ROW_INSERT) return ((const RowInsert *)in->aux)->table;
    return in->op == OP_ROW_DELETE ? ((const RowCol *)in->aux)->table : -1;
}
/* What is stored or changed in the instructions [from, to) is not known. */
static void forget(Reuse *u, int32_t from, int32_t to) {
    for (int32_t i = from; i < to; i++) {
        const Instr *in = &u->code[i];
        int32_t table = changes_rows(in);
        if (in->op == OP_STORE) u->now->vars[in->imm] = new_value(u);
        if (table >= 0) u->now->rows[table] = new_value(u);
    }
}

/* ---- values ------------------------------------------------------------------------------------------------ */
static bool is_find(uint16_t op) { return op == OP_ROW_FIND || op == OP_ROW_FIRST; }
/* Its result depends on its operands and nothing else; lookups: and on the rows of their table. */
static bool is_function(const Reuse *u, const Instr *in) {
    if (in->op == OP_CALL) return true; /* nothing volatile is compiled */
    if (in->op == OP_ROW_FIRST) {       /* whose order may change */
        const RowKey *k = in->aux;
        return k->order == 0 || !u->c->reg_tables.items[k->table]->written[k->order - 1];
    }
    return in->op == OP_ROW_FIND || op_is_pure(in->op);
}
/* A variable costs less. Strings would have to be kept as long. */
static bool worth_variable(const Reuse *u, const Instr *in) {
    const RegInfo *r = &u->regs[in->dst];
    return (in->op == OP_CALL || is_find(in->op) || in->op == OP_NUM_DIV || in->op == OP_LIKE) && r->phys != PH_STR &&
           type_phys(r->type) == (Phys)r->phys;
}
static bool same_aux(const Instr *a, const Instr *b) {
    if (is_find(a->op)) {
        const RowKey *x = a->aux, *y = b->aux;
        return x->table == y->table && x->index == y->index && x->n == y->n && x->order == y->order &&
               x->desc == y->desc && x->bounded == y->bounded && x->at == y->at;
    }
    if (a->op == OP_LOCK) {
        const ItemSite *x = a->aux, *y = b->aux;
        return x->table == y->table && x->group == y->group && x->n == y->n;
    }
    if (a->op != OP_CALL) return a->aux == b->aux;
    const CallSite *x = a->aux, *y = b->aux;
    if (x->kernel != y->kernel || x->func != y->func || x->strict != y->strict || x->n_args != y->n_args ||
        !type_eq(x->ret, y->ret) || !x->arg_types != !y->arg_types)
        return false;
    for (int32_t i = 0; x->arg_types && i < x->n_args; i++)
        if (!type_eq(x->arg_types[i], y->arg_types[i])) return false;
    return true;
}
static bool same_constant(const RegInfo *x, const RegInfo *y) {
    if (x->phys != y->phys || x->value.is_null != y->value.is_null || !type_eq(x->type, y->type) || x->dict != y->dict)
        return false;
    if (x->value.is_null) return true;
    if (x->phys != PH_STR)
        return memcmp(value_cell_const(&x->value), value_cell_const(&y->value), (size_t)phys_size((Phys)x->phys)) == 0;
    return x->value.u.str.len == y->value.u.str.len &&
           memcmp(x->value.u.str.ptr, y->value.u.str.ptr, (size_t)x->value.u.str.len) == 0;
}
static bool same_value(const Reuse *u, const Instr *a, const Instr *b) {
    const RegInfo *x = &u->regs[a->dst], *y = &u->regs[b->dst];
    if (a->op != b->op || a->phys != b->phys || a->imm != b->imm || x->phys != y->phys || x->dict != y->dict ||
        !type_eq(x->type, y->type) || !same_aux(a, b))
        return false;
    Reg p, q;
    for (int32_t k = 0; (p = instr_use(a, k)) >= 0; k++) {
        q = instr_use(b, k);
        if (q < 0 || !p != !q || (p && u->value[p] != u->value[q])) return false;
    }
    return true;
}
/* The number of what the instruction computes. */
static int32_t number(Reuse *u, int32_t at) {
    const Instr *in = &u->code[at];
    int32_t version = is_find(in->op) ? u->now->rows[((const RowKey *)in->aux)->table] : 0;
    uint64_t h = hash_combine(hash_u64((uint64_t)in->op << 8 | in->phys), (uint64_t)version);
    Reg r;
    for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++) h = hash_combine(h, r ? (uint64_t)u->value[r] + 1 : 0);
    for (int64_t i = (int64_t)(h & (uint64_t)u->mask);; i = (i + 1) & u->mask) {
        Numbered *x = &u->table[i];
        if (x->hash == 0) {
            *x = (Numbered){h | 1, new_value(u), at, version};
            return x->value;
        }
        if (x->hash == (h | 1) && x->version == version && same_value(u, &u->code[x->instr], in)) return x->value;
    }
}
/* Constants of one value have one number. */
static void number_constants(Reuse *u, int64_t n_regs) {
    int32_t *first = arena_array(u->arena, int32_t, u->mask + 1);
    if (!first) {
        u->oom = true;
        return;
    }
    for (Reg r = 1; r < n_regs; r++) {
        const RegInfo *x = &u->regs[r];
        if (!x->is_const) continue;
        uint64_t h = hash_u64(x->phys);
        if (!x->value.is_null)
            h = hash_combine(h, x->phys == PH_STR ? hash_bytes(x->value.u.str.ptr, x->value.u.str.len)
                                                  : hash_bytes(value_cell_const(&x->value), phys_size((Phys)x->phys)));
        int64_t i = (int64_t)(h & (uint64_t)u->mask);
        while (first[i] && !same_constant(&u->regs[first[i]], x)) i = (i + 1) & u->mask;
        if (!first[i]) {
            first[i] = r;
            u->value[r] = new_value(u);
        } else {
            u->value[r] = u->value[first[i]];
        }
    }
}

/* ---- the walk ------------------------------------------------------------------------------------------------ */
static int32_t depth_of_body(const Reuse *u) { /* IFs around */
    int32_t n = 0;
    for (int64_t i = u->open.len - 1; i >= 0 && (u->open.items[i].op == OP_IF || u->open.items[i].op == OP_ELSE); i--)
        n++;
    return n;
}
static void end_body(Reuse *u, int64_t from) {
    for (int64_t i = from; i < u->body.len; i++) u->values.items[u->body.items[i]].stretch = 0;
    u->body.len = from;
}
/* Whether a register that has the value already may be used instead of r. */
static bool may_stand_for(const Reuse *u, Reg have, Reg r) {
    const RegInfo *x = &u->regs[have], *y = &u->regs[r];
    return (!x->nullable || y->nullable) && x->phys == y->phys &&
           (x->phys != PH_STR || (x->stable_str == y->stable_str && x->dict == y->dict));
}
static void has_register(Reuse *u, int32_t value, Reg r, bool in_body) {
    ValueInfo *x = &u->values.items[value];
    x->reg = r;
    x->stretch = u->stretch;
    if (in_body && !vec_push(u->arena, &u->body, value)) u->oom = true;
}
/* A variable that has the value now; -1 none. */
static int32_t holder(const Reuse *u, int32_t value) {
    int32_t var = u->values.items[value].holder;
    return var >= 0 && u->now->vars[var] == value ? var : -1;
}
static void load(Reuse *u, int32_t at, bool in_body) {
    const Instr *in = &u->code[at];
    int32_t v = u->now->vars[in->imm], var = holder(u, v);
    ValueInfo *x = &u->values.items[v];
    u->value[in->dst] = v;
    if (x->stretch == u->stretch && may_stand_for(u, x->reg, in->dst)) {
        u->act[at] = ACT_GONE;
        u->same[in->dst] = x->reg;
        return;
    }
    if (var < 0) x->holder = var = (int32_t)in->imm;
    u->act[at] = ACT_LOAD;
    u->from[at] = var;
    has_register(u, v, in->dst, in_body);
}
/* It is in its hidden variable already, or is stored there now. */
static void keep(Reuse *u, int32_t at, ValueInfo *x, Act act, bool in_body) {
    if (x->kept < 0) {
        x->kept = u->n_kept++;
        u->kept_var[x->kept] = -1;
    }
    uint64_t bit = UINT64_C(1) << (x->kept & 63), *there = &u->now->there[x->kept >> 6];
    if (*there & bit) {
        u->act[at] = (uint8_t)act;
        u->from[at] = x->kept;
        u->kept_var[x->kept] = 0;
    } else if (!in_body) {
        u->kept[at] = x->kept;
        *there |= bit;
    }
}
static void compute(Reuse *u, int32_t at, bool in_body) {
    const Instr *in = &u->code[at];
    int32_t v = u->value[in->dst] = number(u, at), var = holder(u, v);
    if (u->oom) return;
    ValueInfo *x = &u->values.items[v];
    bool worth = worth_variable(u, in);
    if (x->stretch == u->stretch && may_stand_for(u, x->reg, in->dst)) {
        u->act[at] = ACT_GONE;
        u->same[in->dst] = x->reg;
        return;
    }
    has_register(u, v, in->dst, in_body);
    if (!worth) return;
    if (var >= 0) {
        u->act[at] = ACT_LOAD;
        u->from[at] = var;
        return;
    }
    keep(u, at, x, ACT_LOAD_KEPT, in_body);
}
static void name_item(Reuse *u, int32_t at) {
    if (((const ItemSite *)u->code[at].aux)->n == 0 || u->now->dead) return;
    int32_t v = number(u, at);
    if (!u->oom) keep(u, at, &u->values.items[v], ACT_NAMED, false);
}
static void opens(Reuse *u, int32_t at) {
    Open x = {.op = u->code[at].op, .number = u->code[at].imm, .at = at};
    if (x.op == OP_P_IF || x.op == OP_P_TRY) x.in = state_copy(u, u->now);
    if (x.op == OP_IF) x.number = u->body.len;
    if (!vec_push(u->arena, &u->open, x)) u->oom = true;
}
/* Where the bracket ends that is innermost. */
static int32_t end_of(const Reuse *u, int32_t at, uint16_t opens_op, uint16_t ends_op) {
    int32_t depth = 0;
    for (int32_t i = at; i < u->n; i++) {
        depth += u->code[i].op == opens_op;
        depth -= u->code[i].op == ends_op;
        if (depth == 0) return i;
    }
    return u->n;
}
static void leave(Reuse *u, const Instr *in) {
    for (int64_t i = u->open.len - 1; i >= 0; i--) {
        Open *x = &u->open.items[i];
        if ((x->op != OP_P_LOOP && x->op != OP_P_BLOCK) || x->number != in->imm) continue;
        State **to = in->aux ? &x->steps : &x->exits;
        if (*to) state_meet(u, *to, u->now);
        else *to = state_copy(u, u->now);
        break;
    }
    u->now->dead = true;
}
static void closes(Reuse *u) {
    Open *x = &u->open.items[u->open.len - 1];
    if (x->op == OP_P_LOOP) u->now->dead = true; /* it goes back */
    state_meet(u, u->now, x->op == OP_P_IF ? x->in : x->op == OP_P_ELSE || x->op == OP_P_CATCH ? x->out : x->exits);
    state_drop(u, x->in);
    state_drop(u, x->out);
    state_drop(u, x->exits);
    state_drop(u, x->steps);
    u->open.len--;
}
/* False: program_finish will report what is wrong. */
static bool control(Reuse *u, int32_t at) {
    const Instr *in = &u->code[at];
    Open *top = u->open.len > 0 ? &u->open.items[u->open.len - 1] : NULL;
    bool opening =
        in->op == OP_P_IF || in->op == OP_P_LOOP || in->op == OP_P_BLOCK || in->op == OP_P_TRY || in->op == OP_IF;
    if (!opening && !top && in->op != OP_P_RETURN) return false;
    switch (in->op) {
    case OP_IF:
    case OP_P_IF:
    case OP_P_BLOCK:
    case OP_P_TRY: opens(u, at); break;
    case OP_P_LOOP:
        opens(u, at);
        forget(u, at, end_of(u, at, OP_P_LOOP, OP_P_ENDLOOP));
        break;
    case OP_ELSE:
        end_body(u, top->number);
        top->op = OP_ELSE;
        break;
    case OP_ENDIF:
        end_body(u, top->number);
        u->open.len--;
        break;
    case OP_P_ELSE:
    case OP_P_CATCH: {
        if (!top->in) return false;
        State *end = u->now;
        u->now = top->in;
        top->in = NULL;
        top->out = end;
        if (in->op == OP_P_CATCH) forget(u, top->at, at);
        top->op = in->op;
        break;
    }
    case OP_P_ROUND: break;
    case OP_P_STEP: state_meet(u, u->now, top->steps); break;
    case OP_P_LEAVE: leave(u, in); break;
    case OP_P_RETURN: u->now->dead = true; break;
    default: closes(u);
    }
    return true;
}
static bool walk(Reuse *u) {
    for (int32_t i = 0; i < u->n && !u->oom && !u->too_much; i++) {
        const Instr *in = &u->code[i];
        bool statement = op_is_control(in->op);
        int32_t table = changes_rows(in);
        bool in_body = u->in_body[i] = depth_of_body(u) > 0;
        u->kept[i] = -1;
        if (statement || in->op == OP_LOCK || in->op == OP_UNLOCK) u->stretch++;
        if (statement || in->op == OP_IF || in->op == OP_ELSE || in->op == OP_ENDIF) {
            if (!control(u, i)) return false;
            if (in->dst) u->value[in->dst] = new_value(u);
        } else if (in->dst && (u->now->dead || (in->op != OP_LOAD && !is_function(u, in)))) {
            u->value[in->dst] = new_value(u);
        } else if (in->op == OP_LOAD) {
            load(u, i, in_body);
        } else if (in->dst) {
            compute(u, i, in_body);
        } else if (in->op == OP_LOCK) {
            name_item(u, i);
        } else if (in->op == OP_STORE) {
            int32_t v = u->now->vars[in->imm] = u->value[in->a];
            if (holder(u, v) < 0) u->values.items[v].holder = (int32_t)in->imm;
        }
        if (table >= 0) u->now->rows[table] = new_value(u);
        if (in->op == OP_RAISE || in->op == OP_RERAISE) u->now->dead = true;
    }
    return !u->too_much && u->open.len == 0;
}

/* ---- the program anew ---------------------------------------------------------------------------------------- */
static void rename_uses(const Reuse *u, Instr *in) {
    in->a = u->same[in->a];
    in->b = u->same[in->b];
    in->c = u->same[in->c];
    int32_t n;
    Reg *list = (Reg *)(uintptr_t)instr_list(in, &n); /* this program's own */
    for (int32_t i = 0; i < n; i++) list[i] = u->same[list[i]];
}
static int32_t hidden_var(Reuse *u, const Instr *in) {
    return cp_var_new(u->c, NULL, in->op == OP_LOCK ? type_make(T_INT8) : u->c->pipe.b.regs.items[in->dst].type);
}
static Status rewrite(Reuse *u) {
    Cp *c = u->c;
    ProgramBuilder *b = &c->pipe.b;
    for (int32_t i = 0; i < u->n_kept; i++)
        if (u->kept_var[i] >= 0) u->kept_var[i] = INT32_MAX; /* made where it is stored first */
    int64_t n_lines = MIN_OF(c->from.lines.len, (int64_t)u->n);
    const int32_t *lines = c->from.lines.items;
    const char *const *places = c->from.places.items, *const *contexts = c->from.contexts.items;
    memset(&b->instrs, 0, sizeof b->instrs);
    memset(&c->from.lines, 0, sizeof c->from.lines);
    memset(&c->from.places, 0, sizeof c->from.places);
    memset(&c->from.contexts, 0, sizeof c->from.contexts);
    for (int32_t i = 0; i < u->n; i++) {
        Instr now[3]; /* what it becomes: what comes before it, it, what comes behind it */
        int32_t n = 0, kept = u->kept[i];
        if (u->act[i] == ACT_GONE) continue;
        if (kept >= 0 && u->kept_var[kept] == INT32_MAX && (u->kept_var[kept] = hidden_var(u, &u->code[i])) < 0)
            return ST_ERROR;
        Instr *in = &now[n++];
        *in = u->code[i];
        if (u->act[i] == ACT_LOAD || u->act[i] == ACT_LOAD_KEPT) {
            int32_t var = u->act[i] == ACT_LOAD ? u->from[i] : u->kept_var[u->from[i]];
            *in = (Instr){.op = OP_LOAD, .phys = b->regs.items[in->dst].phys, .dst = in->dst, .imm = var};
        } else {
            rename_uses(u, in);
        }
        if (u->act[i] == ACT_NAMED) {
            Reg r = builder_reg(b, PH_I64, type_make(T_INT8), true);
            now[n] = *in;
            now[n++].a = r;
            *in = (Instr){.op = OP_LOAD, .phys = PH_I64, .dst = r, .imm = u->kept_var[u->from[i]]};
        }
        if (kept >= 0 && u->kept_var[kept] >= 0) {
            if (in->op == OP_LOCK) in->dst = builder_reg(b, PH_I64, type_make(T_INT8), false);
            now[n++] =
                (Instr){.op = OP_STORE, .phys = b->regs.items[in->dst].phys, .a = in->dst, .imm = u->kept_var[kept]};
        }
        if (b->failed) return cp_oom(c);
        for (int32_t k = 0; k < n; k++) {
            if (!vec_push(c->arena, &b->instrs, now[k])) return cp_oom(c);
            if (i >= n_lines) continue;
            if (!vec_push(c->arena, &c->from.lines, lines[i]) || !vec_push(c->arena, &c->from.places, places[i]) ||
                !vec_push(c->arena, &c->from.contexts, contexts[i]))
                return cp_oom(c);
        }
    }
    return ST_OK;
}

/* ---- what is not used ---------------------------------------------------------------------------------------- */
static bool goes_unseen(const Instr *in) {
    if (in->op == OP_CALL) return !((const CallSite *)in->aux)->can_fail;
    if (in->op == OP_LOAD || in->op == OP_BUF_GET || op_is_row_read(in->op)) return true;
    return op_is_pure(in->op) && !instr_may_fail(in);
}
Status cp_sweep(Arena *a, const Instr *code, int32_t n, int64_t n_regs, int64_t n_vars, const bool *wanted,
                bool *gone) {
    int32_t *uses = arena_array(a, int32_t, n_regs + 1), *loads = arena_array(a, int32_t, n_vars + 1);
    if (!uses || !loads) return ST_ERROR;
    Reg r;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t k = 0; !gone[i] && (r = instr_use(&code[i], k)) >= 0; k++) uses[r]++;
        if (!gone[i] && code[i].op == OP_LOAD) loads[code[i].imm]++;
    }
    for (bool again = true; again;) {
        again = false;
        for (int32_t i = n - 1; i >= 0; i--) {
            const Instr *in = &code[i];
            if (gone[i] || (in->op == OP_STORE ? wanted[in->imm] || loads[in->imm] > 0
                                               : !in->dst || uses[in->dst] > 0 || !goes_unseen(in)))
                continue;
            gone[i] = again = true;
            for (int32_t k = 0; (r = instr_use(in, k)) >= 0; k++) uses[r]--;
            if (in->op == OP_LOAD) loads[in->imm]--;
        }
    }
    return ST_OK;
}
void cp_drop(Cp *c, const bool *gone) {
    ProgramBuilder *b = &c->pipe.b;
    int64_t n = b->instrs.len, n_lines = MIN_OF(c->from.lines.len, n), m = 0, lines = 0;
    for (int64_t i = 0; i < n; i++) {
        if (gone[i]) continue;
        b->instrs.items[m] = b->instrs.items[i];
        if (i < n_lines) {
            c->from.lines.items[m] = c->from.lines.items[i];
            c->from.places.items[m] = c->from.places.items[i];
            c->from.contexts.items[m] = c->from.contexts.items[i];
            lines = m + 1;
        }
        m++;
    }
    b->instrs.len = m;
    c->from.lines.len = c->from.places.len = c->from.contexts.len = lines;
}
static Status sweep(Cp *c, Arena *own, const bool *wanted) {
    const ProgramBuilder *b = &c->pipe.b;
    bool *gone = arena_calloc(own, b->instrs.len + 1);
    if (!gone ||
        cp_sweep(own, b->instrs.items, (int32_t)b->instrs.len, b->regs.len, c->vars.len, wanted, gone) != ST_OK)
        return cp_oom(c);
    cp_drop(c, gone);
    return ST_OK;
}

bool *cp_results(const Cp *c) {
    const PlFunction *f = c->at.f;
    bool *wanted = arena_calloc(c->arena, c->vars.len + f->n_params + 1);
    if (!wanted || c->foot) return wanted;
    if (c->at.ret >= 0) wanted[c->at.ret] = true;
    for (int32_t i = 0; i < f->n_params; i++)
        if (f->param_modes[i] != PL_IN && c->at.var_of[i] >= 0) wanted[c->at.var_of[i]] = true;
    return wanted;
}

static Status reuse_in(Cp *c, Arena *own) {
    ProgramBuilder *b = &c->pipe.b;
    int64_t n = b->instrs.len, n_regs = b->regs.len;
    if (b->failed) return cp_oom(c);
    Reuse *u = arena_new_of(own, Reuse);
    if (!u) return cp_oom(c);
    *u = (Reuse){.c = c,
                 .arena = own,
                 .n = (int32_t)n,
                 .n_vars = (int32_t)c->vars.len,
                 .n_tables = (int32_t)c->tables.len,
                 .code = b->instrs.items,
                 .regs = b->regs.items,
                 .stretch = 1};
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++)
        most += b->instrs.items[i].op == OP_LOCK || (b->instrs.items[i].dst && worth_variable(u, &b->instrs.items[i]));
    u->words = most / 64 + 1;
    u->value = arena_array(u->arena, int32_t, n_regs + 1);
    u->same = arena_array(u->arena, Reg, n_regs + 1);
    u->act = arena_calloc(u->arena, n + 1);
    u->from = arena_array(u->arena, int32_t, n + 1);
    u->kept = arena_array(u->arena, int32_t, n + 1);
    u->kept_var = arena_array(u->arena, int32_t, most + 1);
    u->in_body = arena_calloc(u->arena, n + 1);
    for (u->mask = 64; u->mask < 2 * MAX_OF(n, n_regs); u->mask *= 2) {}
    u->table = arena_array(u->arena, Numbered, u->mask);
    u->mask--;
    if (!u->value || !u->same || !u->act || !u->from || !u->kept || !u->kept_var || !u->in_body || !u->table ||
        !(u->now = state_new(u)))
        return cp_oom(c);
    for (Reg r = 0; r < n_regs; r++) u->same[r] = r;
    (void)new_value(u); /* 0: of nothing */
    number_constants(u, n_regs);
    u->now->dead = false;
    memset(u->now->there, 0, (size_t)u->words * sizeof *u->now->there);
    for (int32_t i = 0; i < u->n_vars && !u->oom; i++) {
        u->now->vars[i] = new_value(u);
        u->values.items[u->now->vars[i]].holder = i;
    }
    for (int32_t i = 0; i < u->n_tables; i++) u->now->rows[i] = new_value(u);
    bool done = !u->oom && walk(u);
    if (u->oom) return cp_oom(c);
    if (!done) return ST_OK;
    TRY(rewrite(u));
    bool *wanted = cp_results(c);
    return wanted ? sweep(c, own, wanted) : cp_oom(c);
}
/* What it needs itself is freed at once: programs stay as long as their procedures. */
Status cp_reuse(Cp *c) {
    Err e = {0};
    Arena *own = arena_new(arena_account(c->arena), &e);
    Status st = own ? reuse_in(c, own) : cp_oom(c);
    if (own) arena_free(own);
    return st;
}
