/* emit_parallel_loops.c - warp-parallel loops: the lanes of a warp share the rounds; see emit_proc_int.h.
 *
 * A call that runs alone in its warp leaves 31 lanes idle. Rounds of a FOR loop over numbers that neither need nor
 * disturb each other may as well run at the same time: the call leaves its function at the top of the loop, as it
 * does where it has to wait; each lane runs the function of a round, with that frame and its own value of the loop's
 * counter; then the call goes on behind the loop with what the rounds have left. Such a call's frame lies in shared
 * memory: all lanes read it, none writes it.
 *
 * Lanes stay in step: what one does alone takes as long as what all do. So they reconverge before and behind what a
 * round does under locks (RECONVERGE), and what it does there is a section: those that have acquired all locks of
 * it go through, and release them; then the others look at their locks again. No lane waits for a lock in the
 * midst of a section, nor for other lanes while it has one.
 *
 * Rounds are apart when
 *   - a variable that a round reads has been assigned in the same round, or nowhere in the loop, or it only sums up
 *   (v := v + e): then what the lanes have added is summed
 *     in the order of rounds;
 *   - no two of them work on one item, reads by both and additions aside: just what makes calls conflict. The locks
 *   of the loop say which items these are; their keys are made
 *     of what is known at the beginning of a round, and the lanes compare them before anything is done. When two are
 *     alike the loop runs as ever;
 *   - the loop is left at its top only; rows that it inserts, it inserts once in each round. Numbers of inserted
 *   rows, and places in the log of changes, are counted off per round beforehand, so that tables come out the same.
 *   The first round that fails fails the call.
 *
 * The host and OpenCL run the rounds one by one, the last first: that is for tests.
 */
#include "codegen/emit_proc_int.h"
#include "codegen/prelude.h"

enum { SITES_MAX = 64 };
typedef enum Role {
    ROLE_NONE, /* not assigned in the loop */
    ROLE_OWN,  /* each round's own, and not wanted any more */
    ROLE_LAST, /* wanted behind the loop: the last round's */
    ROLE_SET,  /* ... the last round's that has assigned it */
    ROLE_SUM
} Role;
static bool whole(uint8_t phys) { return phys >= PH_I16 && phys <= PH_I64; }
static bool stored_in(const ProcEm *x, const ParallelLoop *s, int64_t var) {
    int32_t at;
    return count_of(x, s->loop, s->end, OP_STORE, var, &at) > 0;
}

/* ---- which loops --------------------------------------------------------------------------------------------- */
/* cur <= hi at the top, cur := cur + by at the end, as FOR has them. */
static bool counts(const ProcEm *x, ParallelLoop *s) {
    const Program *p = x->p;
    int32_t i = s->loop + 1, at;
    while (i < s->end && !op_is_control(p->instrs[i].op)) i++;
    const Instr *test = p->instrs[i].op == OP_P_IF ? made_by(x, p->instrs[i].a) : NULL;
    if (!test || test->phys != PH_I64 || p->regs[test->a].is_const || p->regs[test->b].is_const ||
        (test->op != OP_LE && test->op != OP_GE))
        return false;
    if (p->instrs[i + 1].op != OP_P_ELSE || p->instrs[i + 2].op != OP_P_LEAVE || p->instrs[i + 2].jump != s->end ||
        p->instrs[i + 3].op != OP_P_ENDIF || p->instrs[i + 4].op != OP_P_ROUND)
        return false;
    const Instr *low = made_by(x, test->op == OP_LE ? test->a : test->b),
                *high = made_by(x, test->op == OP_LE ? test->b : test->a);
    if (!low || !high || low->op != OP_LOAD || high->op != OP_LOAD) return false;
    s->first = i + 5;
    s->cur = (int32_t)low->imm;
    s->hi = (int32_t)high->imm;
    if (stored_in(x, s, s->hi) || count_of(x, s->loop, s->end, OP_STORE, s->cur, &at) != 1) return false;
    const Instr *sum = made_by(x, p->instrs[at].a), *from = sum && sum->op == OP_ADD_N ? made_by(x, sum->a) : NULL,
                *by = from ? made_by(x, sum->b) : NULL;
    if (!by || from->op != OP_LOAD || from->imm != s->cur || by->op != OP_LOAD || stored_in(x, s, by->imm))
        return false;
    s->by = (int32_t)by->imm;
    for (int32_t k = i; k < at; k++) /* the last thing in the loop */
        if (p->instrs[k].op == OP_P_STEP && p->instrs[k].jump == s->loop) {
            s->known = -1;
            for (int32_t t = i; t < k && s->known < 0; t++) {
                const Instr *of = p->instrs[t].op == OP_STORE ? made_by(x, p->instrs[t].a) : NULL;
                if (of && of->op == OP_CVT) of = made_by(x, of->a);
                if (of && of->op == OP_LOAD && of->imm == s->cur) s->known = t;
                else if (op_is_control(p->instrs[t].op) && t > i + 4) break;
            }
            return s->known >= 0;
        }
    return false;
}

/* Is the value in the register the variable's with something added? */
static bool adds_to(const ProcEm *x, Reg r, int64_t var, int depth) {
    const Instr *in = made_by(x, r);
    if (!in || depth > 8) return false;
    switch (in->op) {
    case OP_LOAD: return in->imm == var;
    case OP_CVT: return (whole(in->phys) || in->phys == PH_I128) && adds_to(x, in->a, var, depth + 1);
    case OP_RESCALE: return NUM_IMM_FROM(in->imm) == NUM_IMM_TO(in->imm) && adds_to(x, in->a, var, depth + 1);
    case OP_ADD:
    case OP_ADD_N: return adds_to(x, in->a, var, depth + 1) || adds_to(x, in->b, var, depth + 1);
    case OP_SUB:
    case OP_SUB_N: return adds_to(x, in->a, var, depth + 1);
    default: return false;
    }
}
/* What is made of the variable, from its load to its store, is used for nothing but this sum: a round has its own
 * part of it only. */
static bool only_summed(const ProcEm *x, const ParallelLoop *s, int32_t load, int32_t store) {
    bool *of_it = arena_array(x->m.arena, bool, x->p->n_regs + 1);
    if (!of_it || load > store) return false;
    of_it[x->p->instrs[load].dst] = true;
    for (int32_t i = load + 1; i < x->p->n_instrs; i++) {
        const Instr *in = &x->p->instrs[i];
        const bool adds = in->op == OP_CVT || in->op == OP_RESCALE || in->op == OP_ADD || in->op == OP_ADD_N ||
                          in->op == OP_SUB || in->op == OP_SUB_N;
        Reg r;
        bool uses = false;
        for (int32_t u = 0; (r = instr_use(in, u)) >= 0; u++) uses |= of_it[r];
        if (!uses || i == store) continue;
        if (i > store || !adds) return false;
        of_it[in->dst] = true;
    }
    return store < s->end;
}
static bool sums_up(const ProcEm *x, ParallelLoop *s, int32_t var) {
    int32_t load, store;
    if (!whole(x->vars[var].phys) || count_of(x, s->loop, s->end, OP_LOAD, var, &load) != 1 ||
        count_of(x, s->loop, s->end, OP_STORE, var, &store) != 1)
        return false;
    for (int32_t i = MIN_OF(load, store); i < MAX_OF(load, store); i++)
        if (op_is_control(x->p->instrs[i].op)) return false;
    if (!only_summed(x, s, load, store)) return false;
    Type t = x->vars[var].type;
    if (t.id == T_NUMERIC && (t.precision == 0 || t.precision > 18)) return false;
    s->precision[var] = t.id == T_NUMERIC ? t.precision : 0;
    return adds_to(x, x->p->instrs[store].a, var, 0);
}

/* Which variables a round has surely assigned, here and where jumps have gone to; without a state: nothing comes
 * here. */
typedef struct Flow {
    const ProcEm *x;
    ParallelLoop *s;
    bool *now, **there, **saved;
    int32_t depth;
    bool *carried;
} Flow;
static bool *copy_of(const Flow *f, const bool *from) {
    bool *to = arena_array(f->x->m.arena, bool, f->x->n_vars + 1);
    if (to && from) memcpy(to, from, (size_t)f->x->n_vars);
    return to;
}
static bool *both(const Flow *f, bool *a, const bool *b) {
    if (!a) return b ? copy_of(f, b) : NULL;
    for (int32_t i = 0; b && i < f->x->n_vars; i++) a[i] &= b[i];
    return a;
}
/* False when the loop is left in its midst, or the memory is spent. */
static bool flow_instr(Flow *f, int32_t i, bool *in_if) {
    const Instr *in = &f->x->p->instrs[i];
    if (f->x->labels[i] && in->op == OP_P_STEP) f->now = both(f, f->now, f->there[i]);
    switch (in->op) {
    case OP_IF: *in_if = true; break;
    case OP_ENDIF: *in_if = false; break;
    case OP_STORE:
        if (f->now && !*in_if) f->now[in->imm] = true;
        break;
    case OP_LOAD:
        if (f->now && !f->now[in->imm] && stored_in(f->x, f->s, in->imm)) f->carried[in->imm] = true;
        break;
    case OP_P_IF:
        f->saved[f->depth++] = f->now;
        if (f->now && !(f->now = copy_of(f, f->now))) return false;
        break;
    case OP_P_ELSE: {
        bool *then = f->now;
        f->now = f->saved[f->depth - 1];
        f->saved[f->depth - 1] = then;
        break;
    }
    case OP_P_ENDIF: f->now = both(f, f->now, f->saved[--f->depth]); break;
    case OP_P_LOOP: break;
    case OP_P_ENDLOOP: f->now = f->there[i]; break;
    case OP_P_ENDBLOCK: f->now = both(f, f->now, f->there[i]); break;
    case OP_P_LEAVE:
        if (in->jump >= f->s->end) return false;
        f->there[in->jump] = f->there[in->jump] ? both(f, f->there[in->jump], f->now) : f->now;
        f->now = NULL;
        break;
    case OP_P_RETURN: return false;
    default: break;
    }
    return true;
}
static bool find_roles(ProcEm *x, ParallelLoop *s) {
    const Program *p = x->p;
    Arena *a = x->m.arena;
    Flow f = {.x = x,
              .s = s,
              .there = arena_array(a, bool *, p->n_instrs + 1),
              .saved = arena_array(a, bool *, p->n_instrs + 1),
              .carried = arena_array(a, bool, x->n_vars + 1)};
    f.now = copy_of(&f, NULL);
    s->roles = arena_array(a, uint8_t, x->n_vars + 1);
    s->precision = arena_array(a, uint8_t, x->n_vars + 1);
    if (!f.there || !f.saved || !f.carried || !f.now || !s->roles || !s->precision) return false;
    bool in_if = false;
    f.now[s->cur] = true; /* a lane's own */
    for (int32_t i = s->first; i < s->end; i++)
        if (!flow_instr(&f, i, &in_if)) return false;
    if (!f.now) return false;
    for (int32_t v = 0; v < x->n_vars; v++) {
        int32_t at;
        if (v == s->cur || count_of(x, s->loop, s->end, OP_STORE, v, &at) == 0) continue;
        bool wanted = false;
        for (int32_t i = 0; i < p->n_instrs && !wanted; i++)
            wanted = p->instrs[i].op == OP_LOAD && p->instrs[i].imm == v && (i < s->loop || i > s->end);
        for (int32_t k = 0; k < x->proc->n_outs; k++) wanted |= x->proc->outs[k] == v;
        if (f.carried[v]) {
            if (!sums_up(x, s, v)) return false;
            s->roles[v] = ROLE_SUM;
        } else if (!wanted) {
            s->roles[v] = ROLE_OWN;
        } else {
            /* does not fit into a word, or its bytes are the lane's */
            if (!whole(x->vars[v].phys) && x->vars[v].phys != PH_BOOL) return false;
            s->roles[v] = f.now[v] ? ROLE_LAST : ROLE_SET;
        }
    }
    return true;
}

/* Declares n<id>, ok<id>: the register's value, in the round that the loop's variable says; 0: not known then.
 * Overflow does not matter: a round that meets it does nothing else. */
static int32_t put_value(ProcEm *x, const ParallelLoop *s, Reg r, Out *o, int32_t *ids, int depth) {
    const Program *p = x->p;
    const Instr *in = made_by(x, r);
    uint8_t phys = p->regs[r].phys;
    int32_t at, a, b;
    if (!r || depth > 12 || !whole(phys)) return 0;
    if (p->regs[r].is_const) {
        em_use(&x->m, r);
        out_w(&x->m, o, "const i64 n%d = (i64)r%d;\nconst bool ok%d = %s;\n", *ids + 1, r, *ids + 1,
              p->regs[r].value.is_null ? "false" : "true");
        return ++*ids;
    }
    if (!in) return 0;
    if (in->op == OP_LOAD) {
        int32_t stores = count_of(x, s->loop, s->end, OP_STORE, in->imm, &at);
        if (stores > 1) return 0;
        if (stores == 1 && at != s->known && in->imm != s->cur)
            return put_value(x, s, p->instrs[at].a, o, ids, depth + 1);
        out_w(&x->m, o, "const i64 n%d = (i64)y%d;\nconst bool ok%d = z%d;\n", *ids + 1, (int32_t)in->imm, *ids + 1,
              (int32_t)in->imm);
        return ++*ids;
    }
    if (in->op == OP_CVT && whole(in->phys)) {
        if ((a = put_value(x, s, in->a, o, ids, depth + 1)) == 0) return 0;
        out_w(&x->m, o, "const i64 n%d = (i64)(%s)n%d;\nconst bool ok%d = ok%d;\n", *ids + 1, c_type[phys], a, *ids + 1,
              a);
        return ++*ids;
    }
    if (in->op == OP_ADD_N || in->op == OP_SUB_N || in->op == OP_ADD || in->op == OP_SUB) {
        if ((a = put_value(x, s, in->a, o, ids, depth + 1)) == 0 ||
            (b = put_value(x, s, in->b, o, ids, depth + 1)) == 0)
            return 0;
        out_w(&x->m, o, "const i64 n%d = (i64)(%s)((u64)n%d %s (u64)n%d);\nconst bool ok%d = ok%d && ok%d;\n", *ids + 1,
              c_type[phys], a, in->op == OP_ADD || in->op == OP_ADD_N ? "+" : "-", b, *ids + 1, a, b);
        return ++*ids;
    }
    const CallSite *c = in->op == OP_CALL ? in->aux : NULL;
    if (!c || !c->func || c->n_args != 2) return 0;
    const bool by_place = strcmp(c->func->name, "array_element") == 0;
    if (!by_place && strcmp(c->func->name, "array_subscript") != 0) return 0;
    const Instr *of = made_by(x, c->args[0]);
    if (!of || of->op != OP_LOAD || of->imm >= x->proc->n_params || x->stored[of->imm] ||
        (a = put_value(x, s, c->args[1], o, ids, depth + 1)) == 0)
        return 0;
    x->m.views_used[of->imm] = true;
    ++*ids;
    const int32_t array = (int32_t)of->imm;
    out_w(&x->m, o, "%s e%d = 0;\nconst bool ok%d = ok%d && ", c_type[phys], *ids, *ids, a);
    if (!by_place) out_w(&x->m, o, "a%d.shaped == 0 && ", array);
    out_w(&x->m, o, "arr_get_%s(a%d, (i32)n%d, &e%d);\nconst i64 n%d = (i64)e%d;\n", c_name[phys], array, a, *ids, *ids,
          *ids);
    return *ids;
}
/* The locks of a loop, in order. */
static int32_t locks_of(const ProcEm *x, const ParallelLoop *s, const Instr *locks[SITES_MAX]) {
    int32_t n = 0;
    for (int32_t i = s->loop; i < s->end && n < SITES_MAX; i++)
        if (x->p->instrs[i].op == OP_LOCK) locks[n++] = &x->p->instrs[i];
    return n;
}
/* The first one that names the same item as lock k: it takes over its hash. */
static int32_t first_alike(const ProcEm *x, const Instr *const *locks, int32_t k) {
    int32_t kept = locks[k]->a ? proc_hash_var(x, locks[k]) : -1;
    for (int32_t i = 0; kept >= 0 && i < k; i++)
        if (locks[i]->dst && proc_hash_var(x, locks[i]) == kept) return i;
    return k;
}
int32_t proc_asked(const ProcEm *x, const Instr *lock) {
    const Instr *locks[SITES_MAX];
    int32_t n = locks_of(x, x->par.round, locks);
    for (int32_t k = 0; k < n; k++)
        if (locks[k] == lock) return first_alike(x, locks, k);
    return -1;
}
/* Makes hash<k>, the items of the loop's locks. */
static bool put_names(ProcEm *x, const ParallelLoop *s, Out *o) {
    const Instr *locks[SITES_MAX];
    int32_t ids = 0, n = locks_of(x, s, locks);
    if (n == SITES_MAX) return false;
    for (int32_t k = 0; k < n; k++) {
        const ItemSite *it = locks[k]->aux;
        int32_t keys[32];
        if (it->n > (int32_t)ARRAY_LEN(keys)) return false;
        if (first_alike(x, locks, k) != k) continue;
        for (int32_t c = 0; c < it->n; c++)
            if ((keys[c] = put_value(x, s, it->args[c], o, &ids, 0)) == 0) return false;
        out_w(&x->m, o, "hash%d = %p;\n", k, PARAM(PP_LOCK_BASE, it->lock, 0));
        for (int32_t c = 0; c < it->n; c++)
            out_w(&x->m, o, "hash%d = ok%d ? hash_key(hash%d, (u64)n%d) : hash_null(hash%d);\n", k, keys[c], k, keys[c],
                  k);
        char hash[16];
        snprintf(hash, sizeof hash, "hash%d", (int)k);
        proc_hash_ends(x, o, it, hash);
    }
    return true;
}
/* Rows are entered once in each round; changes of a round; nothing that a round could not do on its own. */
static bool find_effects(ProcEm *x, ParallelLoop *s) {
    const Program *p = x->p;
    int32_t depth = 0, nested = 0, jumps = 0;
    bool rows = false;
    if (!(s->inserts = arena_array(x->m.arena, int32_t, x->proc->n_tables + 1))) return false;
    for (int32_t i = s->loop + 1; i < s->end; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_P_LOOP) nested++;
        if (in->op == OP_P_IF || in->op == OP_P_LOOP || in->op == OP_P_BLOCK) depth++;
        if (in->op == OP_P_ENDIF || in->op == OP_P_ENDLOOP || in->op == OP_P_ENDBLOCK) depth--;
        if (in->op == OP_P_LEAVE && p->instrs[in->jump].op == OP_P_STEP && p->instrs[in->jump].jump == s->loop) jumps++;
        if (in->op == OP_ROW_PUT || in->op == OP_ROW_ADD || in->op == OP_ROW_INSERT || in->op == OP_ROW_DELETE)
            s->logs++;
        if (in->op == OP_ROW_FIRST && proc_dequeue_use(x, ((const RowKey *)in->aux)->table, DEQUEUE_ROWS)) s->logs++;
        rows |= in->op == OP_ROW_FIND || in->op == OP_ROW_FIRST || in->op == OP_ROW_INSERT;
        if (in->op != OP_ROW_INSERT) continue;
        if (depth > 0 || jumps > 0) return false;
        s->inserts[((const RowInsert *)in->aux)->table]++;
    }
    if (nested > 0) s->logs = s->logs > 0 ? -1 : 0;
    return rows && (nested == 0 || x->out->scratch == 0);
}
/* What a round does under locks: from the first lock to where the last one is given up, whole statements and blocks.
 * There are no jumps into it or out of it. */
static void find_section(const ProcEm *x, ParallelLoop *s) {
    const Program *p = x->p;
    int32_t depth = 0, unit = s->first; /* where the outermost run or statement began */
    bool found = false, ends = false;   /* the last of them is in this one */
    s->from = s->to = s->end;
    for (int32_t i = s->first; i < s->end; i++) {
        const Instr *in = &p->instrs[i];
        bool opens = in->op == OP_P_IF || in->op == OP_P_LOOP || in->op == OP_P_BLOCK,
             closes = in->op == OP_P_ENDIF || in->op == OP_P_ENDLOOP || in->op == OP_P_ENDBLOCK;
        /* a run and the IF that asks for what it made are one */
        const bool begins = op_is_control(p->instrs[i - 1].op) || (op_is_control(in->op) && in->op != OP_P_IF);
        if (depth == 0 && begins) {
            if (ends) s->to = i;
            ends = false;
            unit = i;
        }
        if (in->op == OP_LOCK || in->op == OP_UNLOCK) {
            if (!found) s->from = unit;
            found = ends = true;
        }
        depth += opens - closes;
        if (ends && depth == 0 && in->op == OP_UNLOCK && !x->locks.crosses[i]) s->to = i + 1, ends = false;
    }
    if (ends) s->to = s->end;
    for (int32_t i = s->first, at = s->first; found && i < s->end; i++) { /* a round's end is reached from anywhere */
        const Instr *in = &p->instrs[i];
        depth += in->op == OP_P_IF || in->op == OP_P_LOOP || in->op == OP_P_BLOCK;
        if (depth == 1 && (in->op == OP_P_IF || in->op == OP_P_LOOP || in->op == OP_P_BLOCK)) at = i;
        depth -= in->op == OP_P_ENDIF || in->op == OP_P_ENDLOOP || in->op == OP_P_ENDBLOCK;
        if (in->op != OP_P_LEAVE) continue;
        if (i < s->from && in->jump >= s->from) s->from = at;
        if (i >= s->from && i < s->to && in->jump >= s->to) s->to = s->end;
    }
}
void proc_find_parallel(ProcEm *x) {
    const Program *p = x->p;
    x->par.loops = arena_array(x->m.arena, ParallelLoop, p->n_instrs + 1);
    for (int32_t i = 0; x->par.loops && i < p->n_instrs; i++) {
        if (p->instrs[i].op != OP_P_LOOP) continue;
        ParallelLoop *s = &x->par.loops[x->par.n_loops];
        Out names = {0};
        *s = (ParallelLoop){.loop = i, .end = p->instrs[i].jump};
        if (counts(x, s) && find_effects(x, s) && find_roles(x, s) && put_names(x, s, &names)) {
            find_section(x, s);
            s->state = ++x->locks.n_states;
            x->par.n_loops++;
            x->out->waits_in_loops = true; /* a warp for each call */
        }
        i = p->instrs[i].jump; /* loops in loops: the outermost */
    }
}

/* ---- in the body --------------------------------------------------------------------------------------------- */
static const ParallelLoop *parallel_at(const ProcEm *x, int32_t pc) {
    for (int32_t k = 0; k < x->par.n_loops; k++)
        if (pc >= x->par.loops[k].loop && pc <= x->par.loops[k].end) return &x->par.loops[k];
    return NULL;
}
void proc_parallel_top(ProcEm *x, int32_t pc) {
    const ParallelLoop *s = parallel_at(x, pc);
    if (!s || s->loop != pc) return;
    W("S%d: ;\nif (by_statement && serial == 0 && RUNS_PARALLEL(together) && z%d && z%d && z%d && y%d > 0 && y%d <= "
      "y%d && "
      "(u64)(y%d - y%d) >= PARALLEL_MIN * (u64)y%d) {\n*wait = LOCK_NONE;\nSUSPEND(PARALLEL | %d);\n}\n",
      s->state, s->cur, s->hi, s->by, s->by, s->cur, s->hi, s->hi, s->cur, s->by, s->state);
}
static bool excludes(const ItemSite *a, const ItemSite *b) {
    bool ra = a->kind == OPK_READ, rb = b->kind == OPK_READ;
    /* additions to cells may be planned as writes */
    bool aa = a->insert || (a->kind == OPK_ADD && a->group >= ITEM_COARSE),
         ab = b->insert || (b->kind == OPK_ADD && b->group >= ITEM_COARSE);
    return a->table == b->table && a->group == b->group && !(ra && rb) && !(aa && ab);
}
/* Behind instruction pc. */
void proc_parallel_behind(ProcEm *x, int32_t pc) {
    const ParallelLoop *s = x->par.round;
    if (!s) return;
    if (x->p->instrs[pc].op == OP_STORE && s->roles[x->p->instrs[pc].imm] == ROLE_SET)
        W("s%d = true;\n", (int32_t)x->p->instrs[pc].imm);
}
/* The loop's own variable, before the instructions that make it; by that, the items of the round, which must not be
 * another round's as well. */
void proc_round_begins(ProcEm *x) {
    const ParallelLoop *s = x->par.round;
    int32_t var = (int32_t)x->p->instrs[s->known].imm;
    W("y%d = (%s)y%d;\nz%d = z%d;\n", var, c_type[x->vars[var].phys], s->cur, var, s->cur);
    const Instr *locks[SITES_MAX];
    int32_t n = locks_of(x, s, locks);
    W("{\n");
    put_names(x, s, &x->m.text.body);
    W("#if defined(KC_CUDA)\nbool alike = false;\n");
    bool done[SITES_MAX] = {false};
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = a; b < n; b++) {
            int32_t ia = first_alike(x, locks, a), ib = first_alike(x, locks, b);
            if (!excludes(locks[a]->aux, locks[b]->aux) || (ia == ib && done[ia])) continue;
            if (ia == ib) W("alike |= lanes_share(together, (u32)(hash%d >> 32));\n", ia), done[ia] = true;
            else W("alike |= lanes_cross(together, (u32)(hash%d >> 32), (u32)(hash%d >> 32));\n", ia, ib);
        }
    W("if (__any_sync(together, alike)) FAIL(RUN_SERIALLY);\n#else\nif (together == 0) {\n");
    for (int32_t a = 0; a < n; a++) W("left[%d] = hash%d >> 32;\n", a, first_alike(x, locks, a));
    W("FAIL(RUN_SERIALLY);\n}\n#endif\n}\n");
}
void proc_reconverge(ProcEm *x) {
    if (x->par.round && x->par.nested == 0) W("RECONVERGE(%d);\n", ++x->par.n_reconverges);
}
void proc_section_begins(ProcEm *x) {
    const Instr *locks[SITES_MAX];
    int32_t n = locks_of(x, x->par.round, locks);
    x->par.before_section = x->par.n_reconverges;
    W("#if defined(KC_CUDA)\nif (use_at != use_end) {\n");
    for (int32_t a = 0; a < n; a++) {
        if (first_alike(x, locks, a) != a) continue;
        if (proc_lock_dequeues(x, locks[a]->aux))
            W("if (%p == 0) ", PARAM(PP_DEQUEUES, 0, 0)); /* no call waits for that */
        W("ask%d = lock_lookup(kp, use_at, use_end, names, hash%d);\n", a, a);
    }
    W("}\n#endif\nfor (;;) {\nbool due = !over;\n#if defined(KC_CUDA)\n");
    for (int32_t a = 0; a < n; a++)
        if (first_alike(x, locks, a) == a) W("if (due && ask%d != LOCK_NONE) due = lock_due(kp, ask%d);\n", a, a);
    W("#endif\nif (due) {\nif ((LOCK_NONE");
    for (int32_t a = 0; a < n; a++)
        if (first_alike(x, locks, a) == a) W(" & ask%d", a);
    W(") != LOCK_NONE) FENCE_TAKE();\n");
}
void proc_section_ends(ProcEm *x) {
    W("}\n");
    W("F%d: ;\n#if defined(KC_CUDA)\nover |= due;\nif (__all_sync(together, over)) break;\nif (!over && "
      "KC_PEEK(STOP_FLAG) != 0) {\nstatus = %d;\nover = true;\n}\nif (!due) "
      "__nanosleep(100u);\n#else\nbreak;\n#endif\n}\npassed = true;\n",
      x->fail.fails[x->fail.n_fails - 1], fail_code(x, PF_STOPPED));
}
void proc_parallel_over(ProcEm *x, int32_t pc) {
    const ParallelLoop *s = parallel_at(x, pc);
    if (s && s->end == pc) W("serial = 0;\n");
}
bool proc_parallel_flag(const ProcEm *x, int32_t var) {
    bool flag = false;
    for (int32_t k = 0; k < x->par.n_loops; k++) flag |= x->par.loops[k].roles[var] == ROLE_SET;
    return flag;
}

/* ---- a round --------------------------------------------------------------------------------------------------- */
/* The rounds that are run together, and each one's places in the log: n, each. `f` is the call's frame. */
static void put_rounds(ProcEm *x, const ParallelLoop *s, Out *o) {
    Em *m = &x->m;
    out_w(m, o,
          "const u64 gap = (u64)(f->y%d - f->y%d), by = (u64)f->y%d, in_all = by == 1 ? gap + 1 : gap / by + 1;\nconst "
          "u32 n = in_all < 32 ? (u32)in_all : 32u;\n",
          s->hi, s->cur, s->by);
    if (s->logs >= 0) out_w(m, o, "const u32 each = %d;\n", s->logs);
    else
        out_w(m, o,
              "const u32 each = f->n_undo + N_SITES_%d < UNDO_MAX ? (UNDO_MAX - N_SITES_%d - f->n_undo) / n : 0;\n",
              x->number, x->number);
}
/* A function of its own, entered at one place only: in run_K, which is entered at many, the compiler would not let
 * lanes that diverged reconverge. What it leaves are words; places in the log that it did not need say
 * so. */
void proc_write_round(ProcEm *x, const ParallelLoop *s, const Out *vars, const Out *body) {
    Em *m = &x->m;
    Out *o = &x->par.rounds;
    int32_t starts = PARAM(PP_LOCK_START, 0, 0), step = PARAM(PP_LOCK_STEP, 0, 0), logs = PARAM(PP_UNDO, 0, 0),
            w = W_VARS;
    out_w(m, o,
          "FN_BIG u32 round_%d_%d(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, PRIV frame_%d "
          "*f, const u32 k, const u32 together, PRIV u64 *left) {\nFRAME_IS_SHARED(f);\n",
          x->number, s->state, x->number);
    put_rounds(x, s, o);
    out_w(m, o,
          "u32 status = 0, n_undo = 0, spilled = 0, undo_end = 0;\nu64 steps = 0, rounds = 0;\nbool cond = "
          "false;\nconst bool by_statement = true;\nu32 reconverged = 0;\nbool over = false, passed = false; /* the "
          "round has "
          "been "
          "through its section; all have */\n(void)reconverged; (void)over; (void)passed; (void)n; (void)slot; "
          "(void)together; "
          "(void)rounds; (void)cond; (void)by_statement; (void)pos; (void)undo;\n");
    out_w(m, o,
          "const u64 use_at = G(u32, %p)[call * %p], use_end = G(u32, %p)[(call + 1) * %p], names = "
          "f->names;\n(void)names;\n",
          starts, step, starts, step);
    const Instr *locks[SITES_MAX];
    for (int32_t i = 0, n = locks_of(x, s, locks); i < n; i++)
        if (first_alike(x, locks, i) == i)
            out_w(m, o, "u64 hash%d = 0, ask%d = LOCK_NONE;\n(void)hash%d; (void)ask%d;\n", i, i, i, i);
    proc_lock_vars(x, o);
    proc_append(x, o, &m->text.top);
    for (int32_t i = 0; i < x->proc->n_tables; i++) {
        if (s->inserts[i] > 0) out_w(m, o, "i64 i%d = f->i%d + (i64)k * %d;\n", i, i, s->inserts[i]);
        else out_w(m, o, "i64 i%d = 0;\n(void)i%d;\n", i, i);
    }
    proc_append(x, o, vars);
    for (int32_t i = 0, at; i < x->n_vars; i++) /* what it reads */
        if (x->stored[i] && !proc_in_frame(x, i) && count_of(x, s->loop, s->end, OP_LOAD, i, &at) > 0)
            out_w(m, o, "y%d = f->y%d;\nz%d = f->z%d;\n", i, i, i, i);
    if (x->out->scratch > 0) out_w(m, o, "if (LEAD_SCRATCH(k)) mem = f->mem;\n"); /* others have their own */
    out_w(m, o,
          "y%d = (i64)((u64)y%d + k * by);\nn_undo = f->n_undo + k * each;\nundo_end = n_undo + each;\nsteps = "
          "f->steps + 1;\nspilled = f->spilled;\n",
          s->cur, s->cur);
    proc_append(x, o, body);
    out_w(m, o,
          "failed: ;\nif (status == RUN_SERIALLY) return status;\n"
          "#if defined(KC_CUDA)\nif (%d && !passed) {\nRECONVERGE(%d);\nwhile (!__all_sync(together, true)) "
          "{\n}\n}\n#endif\nRECONVERGE(%d);\nif (%p != 0) {\nROLLED for (u32 i = n_undo; i < undo_end; i++) G(u64, "
          "undo + (u64)i * %d)[0] = ~U64C(0);\n}\nleft[%d] = spilled;\nleft[%d] = steps;\n",
          s->from < s->to, x->par.before_section, x->par.n_reconverges, logs, (int32_t)UNDO_ENTRY, (int32_t)W_SPILLED,
          (int32_t)W_STEPS);
    for (int32_t v = 0; v < x->n_vars; v++)
        if (s->roles[v] >= ROLE_LAST) {
            out_w(m, o, "left[%d] = (u64)%sy%d;\nleft[%d] = (u64)z%d", w, whole(x->vars[v].phys) ? "(i64)" : "", v,
                  w + 1, v);
            if (s->roles[v] == ROLE_SET) out_w(m, o, " | (u64)s%d << 1", v);
            out_w(m, o, ";\n");
            w += 2;
        }
    proc_append(x, o, &x->tail);
    out_w(m, o, "return status;\n}\n");
}

/* ---- what runs them ------------------------------------------------------------------------------------------ */
/* The greatest value of a sum. */
static void sum_limit(const ProcEm *x, const ParallelLoop *s, int32_t var, char most[48]) {
    static const char *const whole_types[] = {
        [PH_I16] = "0x7fff", [PH_I32] = "0x7fffffff", [PH_I64] = "0x7fffffffffffffff"};
    int64_t limit = 1;
    for (int32_t d = 0; d < s->precision[var]; d++) limit *= 10;
    if (s->precision[var]) snprintf(most, 48, "%lld", (long long)limit - 1);
    else snprintf(most, 48, "%s", whole_types[x->vars[var].phys]);
}
/* EACH_SUM_VAR, EACH_VAR, EACH_INSERT of prelude/txn/kp_parallel_loop.h. */
static void define_vars(ProcEm *x, const ParallelLoop *s, Out *o) {
    Em *m = &x->m;
    int32_t w = W_VARS;
    out_w(m, o, "#define EACH_SUM_VAR(M)");
    for (int32_t v = 0; v < x->n_vars; v++) {
        char most[48];
        w += s->roles[v] >= ROLE_LAST ? 2 : 0;
        if (s->roles[v] != ROLE_SUM) continue;
        sum_limit(x, s, v, most);
        out_w(m, o, " M(%d, %d, %s, %d)", v, w - 2, most, s->precision[v] ? 0 : 1);
    }
    out_w(m, o, "\n#define EACH_VAR(SUM, LAST, SET)");
    w = W_VARS;
    for (int32_t v = 0; v < x->n_vars; v++) {
        const char *type = c_type[x->vars[v].phys];
        if (s->roles[v] == ROLE_SUM) out_w(m, o, " SUM(%d, %s)", v, type);
        if (s->roles[v] == ROLE_LAST) out_w(m, o, " LAST(%d, %s, %d)", v, type, w);
        if (s->roles[v] == ROLE_SET) out_w(m, o, " SET(%d, %s, %d)", v, type, w);
        w += s->roles[v] >= ROLE_LAST ? 2 : 0;
    }
    out_w(m, o, "\n#define EACH_INSERT(M)");
    for (int32_t t = 0; t < x->proc->n_tables; t++)
        if (s->inserts[t]) out_w(m, o, " M(%d, %d)", t, s->inserts[t]);
    out_w(m, o, "\n");
}
/* LOOP_ALIKE: for the host. */
static void define_alike(ProcEm *x, const ParallelLoop *s, Out *o) {
    const Instr *locks[SITES_MAX];
    const int32_t n = locks_of(x, s, locks);
    out_w(&x->m, o, "#define LOOP_ALIKE(i, k)");
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = a; b < n; b++)
            if (excludes(locks[a]->aux, locks[b]->aux))
                out_w(&x->m, o, " alike |= names[i][%d] == names[k][%d];", a, b);
    out_w(&x->m, o, "\n#define LOOP_LOCKS %d\n", n);
}
/* loop_K_S. */
static void write_loop(ProcEm *x, const ParallelLoop *s, Out *o) {
    Em *m = &x->m;
    const int32_t code = (s->loop + 1) << 8;
    bool sums = false;
    for (int32_t v = 0; v < x->n_vars; v++) sums |= s->roles[v] == ROLE_SUM;
    out_w(m, o, "#define LOOP(f) f##_%d_%d\n#define LOOP_STATE %d\n", x->number, s->state, s->state);
    out_w(m, o, "#define LOOP_CUR y%d\n#define LOOP_HI y%d\n#define LOOP_BY y%d\n", s->cur, s->hi, s->by);
    out_w(m, o, "#define LOOP_LOGS %d\n#define LOOP_STEP_LIMIT %p\n", s->logs, PARAM(PP_STEP_LIMIT, 0, 0));
    out_w(m, o, "#define LOOP_NO_ROOM %d\n#define LOOP_STEPS %d\n", code | (int32_t)PF_ROOM, code | (int32_t)PF_STEPS);
    /* a lane's own sum may be out of range where the call's is not */
    if (sums) out_w(m, o, "#define LOOP_FAILS(ended) ((ended) & 255u) != PF_RAISED_PLAIN ? LOOP_NO_ROOM : (ended)\n");
    else out_w(m, o, "#define LOOP_FAILS(ended) (ended)\n");
    define_alike(x, s, o);
    define_vars(x, s, o);
    proc_include(x, o, KERNEL_PART(kp_parallel_loop));
}
/* parallel_K: the rounds of the loop whose top is a call's state; the state to go on from. All lanes of a warp, of
 * which the first one has the call; on others one item. */
void proc_write_parallel(ProcEm *x, Out *o) {
    Em *m = &x->m;
    int32_t words = 0, sites = 0;
    if (x->par.n_loops == 0) return;
    for (int32_t k = 0; k < x->par.n_loops; k++) {
        const ParallelLoop *s = &x->par.loops[k];
        const Instr *locks[SITES_MAX];
        int32_t n = W_VARS;
        for (int32_t v = 0; v < x->n_vars; v++) n += s->roles[v] >= ROLE_LAST ? 2 : 0;
        words = MAX_OF(words, n);
        sites = MAX_OF(sites, locks_of(x, s, locks));
    }
    out_w(m, o, "#define LOOP_FRAME frame_%d\n#define N_SITES N_SITES_%d\n", x->number, x->number);
    out_w(m, o, "#define WORDS %d\n#define SITES %d\n", words, sites + 1);
    for (int32_t k = 0; k < x->par.n_loops; k++) write_loop(x, &x->par.loops[k], o);
    out_w(m, o, "#undef LOOP_FRAME\n#undef N_SITES\n#undef WORDS\n#undef SITES\n");
    out_w(m, o, "FN_BIG u32 parallel_%d(KP_ARG, const u64 call, const u64 pos, const u64 undo, const u64 slot, ",
          x->number);
    out_w(m, o, "PRIV frame_%d *f, const u32 state) {\nFRAME_IS_SHARED(f);\nswitch (state & 0x3fffu) {\n", x->number);
    for (int32_t k = 0; k < x->par.n_loops; k++) {
        const int32_t state = x->par.loops[k].state;
        out_w(m, o, "case %d: return loop_%d_%d(kp, call, pos, undo, slot, f);\n", state, x->number, state);
    }
    out_w(m, o, "default: break;\n}\nreturn state & 0x3fffu;\n}\n");
}
