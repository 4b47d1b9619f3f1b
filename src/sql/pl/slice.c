/* slice.c - a footprint keeps what leads to its operations.
 *
 * The footprint has all of the body that is known before a call runs (footprint.c), so it computes what the body does
 * with the rows it finds: amounts, texts, sums. Here all is dropped that neither an operation needs nor a condition or
 * loop that operations are under [Weiser 1981]. What is dropped may have failed; then the body does, and the operations
 * that the footprint has more are harmless. A loop without operations goes with what only it needs.
 *
 * Nor is a row looked for only to learn whether it is there, when all that depends on it are operations: they are
 * issued in any case, and no other call conflicts with them at a row that is not there. So calls whose keys are
 * arguments touch no table here.
 */
#include "program/operands.h"
#include "sql/pl/compile_int.h"

typedef struct Bracket {
    int32_t open, middle, end, up;
} Bracket; /* instructions; middle: P_ELSE, ELSE, -1 none; up: the bracket around it, -1 none */

typedef struct Cut {
    ProgramBuilder *b;
    int32_t n, n_brackets;
    Instr *code;
    Bracket *brackets;
    int32_t *around; /* by instruction: the innermost bracket it is in, or is part of; -1 none */
    int32_t *target; /* by P_LEAVE: its bracket */
    bool *kept, *regs;
    int32_t *loads, *before; /* by variable: the last LOAD of it, and by LOAD: the one before it; -1 none */
    bool *passed;            /* by bracket: a P_IF for a row that is there, whose operations are issued in any case */
    bool changed;
} Cut;

static bool opens(uint16_t op) { return op == OP_IF || op == OP_P_IF || op == OP_P_LOOP || op == OP_P_BLOCK; }
static bool is_middle(uint16_t op) { return op == OP_ELSE || op == OP_P_ELSE; }
static bool closes(uint16_t op) {
    return op == OP_ENDIF || op == OP_P_ENDIF || op == OP_P_ENDLOOP || op == OP_P_ENDBLOCK;
}

/* False: program_finish will report what is wrong. */
static bool find_brackets(Cut *s) {
    int32_t top = -1;
    for (int32_t i = 0; i < s->n; i++) {
        uint16_t op = s->code[i].op;
        if (opens(op)) {
            s->brackets[s->n_brackets] = (Bracket){i, -1, -1, top};
            top = s->n_brackets++;
        }
        s->around[i] = top;
        s->target[i] = -1;
        if (top < 0 && (is_middle(op) || closes(op))) return false;
        if (is_middle(op)) s->brackets[top].middle = i;
        if (op == OP_P_LEAVE)
            for (int32_t k = top; k >= 0 && s->target[i] < 0; k = s->brackets[k].up) {
                const Instr *open = &s->code[s->brackets[k].open];
                if ((open->op == OP_P_LOOP || open->op == OP_P_BLOCK) && open->imm == s->code[i].imm) s->target[i] = k;
            }
        if (closes(op)) {
            s->brackets[top].end = i;
            top = s->brackets[top].up;
        }
    }
    return top < 0;
}

static bool mark(Cut *s, bool *what) {
    if (*what) return false;
    return *what = s->changed = true;
}
/* Conditions and brackets that the instruction is under. */
static void keep_around(Cut *s, int32_t i) {
    for (int32_t k = s->around[i]; k >= 0; k = s->brackets[k].up) {
        const Bracket *x = &s->brackets[k];
        uint16_t op = s->code[x->open].op;
        if (op == OP_P_BLOCK || s->passed[k]) continue; /* blocks are kept by what leaves them */
        mark(s, &s->kept[x->open]);
        mark(s, &s->kept[x->end]);
        if (x->middle >= 0 && (op == OP_IF || (i > x->middle && i < x->end))) mark(s, &s->kept[x->middle]);
    }
}
static bool is_content(const Cut *s, int32_t i) {
    uint16_t op = s->code[i].op;
    return s->kept[i] && !(opens(op) && op != OP_P_LOOP) && !is_middle(op) && !closes(op);
}
static bool has_content(const Cut *s, int32_t from, int32_t to) {
    for (int32_t k = from; k < to; k++)
        if (is_content(s, k)) return true;
    return false;
}
/* A loop around the instruction that stays, inside bracket number `to` (-1: the program): it goes on otherwise. */
static bool stops_loop(const Cut *s, int32_t i, int32_t to) {
    for (int32_t k = s->around[i]; k >= 0 && k != to; k = s->brackets[k].up)
        if (s->code[s->brackets[k].open].op == OP_P_LOOP && s->kept[s->brackets[k].open]) return true;
    return false;
}
/* There is something to do behind this LEAVE when it does not leave. */
static bool leave_counts(const Cut *s, int32_t i) {
    const Bracket *x = &s->brackets[s->target[i]];
    if (s->code[x->open].op == OP_P_LOOP) return s->kept[x->open];
    return has_content(s, i + 1, x->end) || stops_loop(s, i, s->target[i]);
}
static bool return_counts(const Cut *s, int32_t i) {
    return i == s->n - 1 || has_content(s, i + 1, s->n - 1) || stops_loop(s, i, -1);
}
/* The variable is read, behind the STORE or in another round. */
static bool is_read(const Cut *s, int32_t i) {
    for (int32_t at = s->loads[s->code[i].imm]; at >= 0; at = s->before[at]) {
        bool reaches = at > i;
        for (int32_t k = s->around[i]; k >= 0 && !reaches; k = s->brackets[k].up)
            reaches =
                s->code[s->brackets[k].open].op == OP_P_LOOP && at > s->brackets[k].open && at < s->brackets[k].end;
        if (reaches && s->kept[at]) return true;
    }
    return false;
}
static bool is_wanted(const Cut *s, int32_t i) {
    const Instr *in = &s->code[i];
    switch (in->op) {
    case OP_P_ROUND:
    case OP_P_STEP: return s->kept[s->brackets[s->around[i]].open];
    case OP_P_RETURN: return return_counts(s, i);
    case OP_ITEM: return true;
    case OP_STORE: return is_read(s, i);
    case OP_P_LEAVE: return s->target[i] < 0 || leave_counts(s, i);
    default: return in->dst && s->regs[in->dst];
    }
}
static void keep_all(Cut *s) {
    do {
        s->changed = false;
        for (int32_t i = s->n - 1; i >= 0; i--) {
            const Instr *in = &s->code[i];
            if (is_wanted(s, i)) mark(s, &s->kept[i]);
            if (!s->kept[i]) continue;
            keep_around(s, i);
            Reg r;
            for (int32_t u = 0; (r = instr_use(in, u)) >= 0; u++)
                if (r) mark(s, &s->regs[r]);
            if (in->op == OP_P_LEAVE && s->target[i] >= 0) {
                mark(s, &s->kept[s->brackets[s->target[i]].open]);
                mark(s, &s->kept[s->brackets[s->target[i]].end]);
            }
        }
    } while (s->changed);
}

/* The register is the row that a lookup found. */
static bool is_row(const Cut *s, Reg r, int depth) {
    bool found = false;
    for (int32_t i = 0; i < s->n; i++) {
        const Instr *in = &s->code[i];
        if (in->dst != r) continue;
        if (in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST) return true;
        if (in->op != OP_LOAD || depth > 0) return false;
        for (int32_t k = 0; k < s->n; k++) {
            if (s->code[k].op != OP_STORE || s->code[k].imm != in->imm) continue;
            if (!is_row(s, s->code[k].a, depth + 1)) return false;
            found = true;
        }
    }
    return found;
}
static bool asks_for_row(const Cut *s, const Bracket *x) {
    if (s->code[x->open].op != OP_P_IF || x->middle >= 0) return false;
    for (int32_t i = 0; i < s->n; i++) {
        const Instr *in = &s->code[i];
        if (in->dst != s->code[x->open].a || in->op != OP_GE) continue;
        const RegInfo *zero = &s->b->regs.items[in->b];
        int64_t v;
        return zero->is_const && !zero->value.is_null && cell_as_i64((Phys)zero->phys, &zero->value.u, &v) && v == 0 &&
               is_row(s, in->a, 0);
    }
    return false;
}
/* Can be done for calls that it was not meant for: cannot fail, changes nothing. */
static bool is_plain(const Cut *s, int32_t i) {
    const Instr *in = &s->code[i];
    if (in->op == OP_ITEM) return ((const ItemSite *)in->aux)->kind != OPK_INSERTED;
    if (opens(in->op) || closes(in->op) || is_middle(in->op)) return s->passed[s->around[i]];
    if (!in->dst || op_is_row_read(in->op) || op_effect(in->op) == EF_CAUGHT || op_effect(in->op) == EF_BUFFER)
        return false;
    if (in->op == OP_CALL) return !((const CallSite *)in->aux)->can_fail;
    return !instr_may_fail(in);
}
/* Rows that are looked up after all. */
static bool refuse_some(Cut *s) {
    bool some = false;
    for (int32_t k = 0; k < s->n_brackets; k++) {
        const Bracket *x = &s->brackets[k];
        for (int32_t i = x->open + 1; s->passed[k] && i < x->end; i++)
            if (s->kept[i] && !is_plain(s, i)) s->passed[k] = false, some = true;
    }
    return some;
}

Status cp_slice(Cp *c) {
    ProgramBuilder *b = &c->pipe.b;
    int64_t n = b->instrs.len, n_vars = c->vars.len;
    Cut s = {.b = b, .n = (int32_t)n, .code = b->instrs.items};
    s.brackets = arena_array(c->arena, Bracket, n + 1);
    s.around = arena_array(c->arena, int32_t, n + 1);
    s.target = arena_array(c->arena, int32_t, n + 1);
    s.passed = arena_calloc(c->arena, n + 1);
    s.kept = arena_calloc(c->arena, n + 1);
    s.regs = arena_calloc(c->arena, b->regs.len + 1);
    s.loads = arena_array(c->arena, int32_t, n_vars + 1);
    s.before = arena_array(c->arena, int32_t, n + 1);
    if (b->failed || !s.brackets || !s.around || !s.target || !s.passed || !s.kept || !s.regs || !s.loads || !s.before)
        return cp_oom(c);
    if (!find_brackets(&s)) return ST_OK;
    for (int64_t v = 0; v < n_vars; v++) s.loads[v] = -1;
    for (int32_t i = 0; i < s.n; i++) {
        if (s.code[i].op != OP_LOAD) continue;
        s.before[i] = s.loads[s.code[i].imm];
        s.loads[s.code[i].imm] = i;
    }
    for (int32_t k = 0; k < s.n_brackets; k++) s.passed[k] = asks_for_row(&s, &s.brackets[k]);
    do {
        memset(s.kept, 0, (size_t)n);
        memset(s.regs, 0, (size_t)b->regs.len);
        keep_all(&s);
    } while (refuse_some(&s));
    b->instrs.len = 0;
    for (int32_t i = 0; i < s.n; i++)
        if (s.kept[i]) b->instrs.items[b->instrs.len++] = s.code[i];
    return ST_OK;
}
