/* vm_calls.c - programs of procedures on the virtual machine: preparation, control, failures. The design is described
 * in calls_int.h. */
#include "txn/run/calls_int.h"

#include "base/log.h"

enum { FRAME_BYTES = 512 << 10, VECTOR_MIN = 128 };

const char call_canceled[] = "canceling statement due to user request";

/* ---- preparation ------------------------------------------------------------------------ */
/* Checks that the program's variables and tables fit the procedure. */
static Status check_program(const ProgRun *pr, Err *e) {
    const Proc *proc = pr->proc;
    const Program *p = pr->p;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        int32_t table = 0, index = -1, col = -1;
        if (in->op == OP_LOAD || in->op == OP_STORE) {
            if (in->imm >= pr->n_vars || pr->vars[in->imm].phys != in->phys)
                return err_internal(e, "%s: no such variable (instruction %d)", proc->name, (int)i);
            continue;
        }
        switch (in->op) {
        case OP_ROW_FIND:
        case OP_ROW_FIRST:
        case OP_ROW_NEXT:
            table = ((const RowKey *)in->aux)->table;
            index = ((const RowKey *)in->aux)->index;
            break;
        case OP_ROW_GET:
        case OP_ROW_PUT:
        case OP_ROW_ADD:
        case OP_ROW_DELETE:
            table = ((const RowCol *)in->aux)->table;
            col = ((const RowCol *)in->aux)->col;
            break;
        case OP_ROW_INSERT: table = ((const RowInsert *)in->aux)->table; break;
        case OP_ITEM:
            table = (int32_t)((const ItemSite *)in->aux)->table;
            if (((const ItemSite *)in->aux)->has_amount || ((const ItemSite *)in->aux)->fetch_add)
                col = ((const ItemSite *)in->aux)->col;
            break;
        default: continue;
        }
        if (table >= proc->n_tables) return err_internal(e, "%s: no such table (instruction %d)", proc->name, (int)i);
        const ImageNeed *need = &proc->tables[table].need;
        if (index >= need->table->n_keys + need->n_groups)
            return err_internal(e, "%s: no such index (instruction %d)", proc->name, (int)i);
        if (col >= need->table->n_cols)
            return err_internal(e, "%s: no such column (instruction %d)", proc->name, (int)i);
    }
    return ST_OK;
}

/* Whether the log of changes is needed: the procedure may fail after a change, or run out of memory for a string then.
 */
static bool needs_undo(const Proc *proc, const Program *p) {
    if (proc->undo) return true;
    bool changed = false;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        if (in->op == OP_P_LOOP && proc->writes) return true;
        bool allocates = in->op == OP_ROW_PUT && in->phys == PH_STR;
        if (in->op == OP_ROW_INSERT) {
            const RowInsert *ins = in->aux;
            for (int32_t k = 0; k < ins->n; k++) {
                const RegInfo *ri = &p->regs[ins->args[k]];
                allocates |= ins->args[k] && ri->phys == PH_STR && !(ri->is_const && ri->value.is_null);
            }
        }
        if (allocates && changed) return true;
        changed |= op_is_row_write(in->op);
    }
    return false;
}

/* Variables and registers of a vector of calls should stay in a worker's second cache. */
static int64_t fitting_vector(const Proc *proc, int64_t asked) {
    int64_t columns = MAX_OF(proc->n_vars + proc->body->n_regs, proc->n_foot_vars + proc->footprint->n_regs);
    return MIN_OF(asked, MAX_OF((int64_t)VECTOR_MIN, (int64_t)FRAME_BYTES / (columns * 9)));
}

Status progrun_new(const Proc *proc, bool body, int64_t vector_size, MemAccount *acct, ProgRun **out, Err *e) {
    *out = NULL;
    Arena *a = arena_new(acct, e);
    if (!a) return ST_ERROR;
    ProgRun *pr = arena_new_of(a, ProgRun);
    if (!pr) goto oom;
    const Program *p = body ? proc->body : proc->footprint;
    *pr = (ProgRun){.proc = proc,
                    .p = p,
                    .is_body = body,
                    .arena = a,
                    .asked = vector_size,
                    .vector_size = fitting_vector(proc, vector_size)};
    vector_size = pr->vector_size;
    pr->n_vars = body ? proc->n_vars : proc->n_foot_vars;
    pr->vars = body ? proc->vars : proc->foot_vars;
    if (check_program(pr, e) != ST_OK) goto fail;
    pr->run_end = arena_array(a, int32_t, p->n_instrs + 1);
    pr->copy_load = arena_array(a, uint8_t, p->n_instrs + 1);
    pr->add_slot = arena_array(a, int32_t, p->n_instrs + 1);
    pr->left_out = arena_array(a, bool, p->n_instrs + 1);
    pr->tables = arena_array(a, TableUse, proc->n_tables + 1);
    uint8_t *stored = arena_array(a, uint8_t, pr->n_vars + 1);
    if (!pr->run_end || !pr->copy_load || !pr->add_slot || !pr->left_out || !pr->tables || !stored) goto oom;
    for (int32_t i = 0; i < proc->n_tables; i++) {
        const ImageNeed *need = &proc->tables[i].need;
        if (!(pr->tables[i].index = arena_array(a, int32_t, need->table->n_keys + need->n_groups + 1))) goto oom;
    }
    for (int32_t i = p->n_instrs - 1, end = p->n_instrs; i >= 0; i--) {
        const Instr *in = &p->instrs[i];
        if (op_is_control(in->op)) {
            end = i;
            memset(stored, 0, (size_t)pr->n_vars);
        }
        pr->run_end[i] = end;
        if (in->op == OP_STORE) stored[in->imm] = 1;
        if (in->op == OP_LOAD) pr->copy_load[i] = stored[in->imm];
    }
    pr->must_undo = body && needs_undo(proc, p);
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instrs[i].op == OP_P_TRY) pr->n_tries = MAX_OF(pr->n_tries, (int32_t)p->instrs[i].imm + 1);
    if (progrun_buffers(pr, e) != ST_OK) goto fail;
    VmEnv env = {
        .session = &pr->session, .account = acct, .vector_size = vector_size, .workers = 1, .call_fn = call_step_fn};
    if (vm_new(p, &env, &pr->vm, e) != ST_OK) goto fail;
    *out = pr;
    return ST_OK;
oom:
    if (!err_is_set(e)) err_oom(e);
fail:
    arena_free(a);
    return ST_ERROR;
}

void progrun_free(ProgRun *pr) {
    if (!pr) return;
    vm_free(pr->vm);
    arena_free(pr->arena);
}

Status callframe_new(const ProgRun *pr, int worker, CallFrame **out, Err *e) {
    *out = NULL;
    Frame *f;
    TRY(frame_new(pr->vm, worker, &f, e));
    Arena *a = f->arena; /* of the frame's life */
    CallFrame *c = arena_new_of(a, CallFrame);
    if (!c) goto oom;
    *c = (CallFrame){.pr = pr, .f = f};
    f->owner = c;
    int64_t vs = pr->vector_size;
    c->vars = arena_array(a, CallVar, pr->n_vars + 1);
    c->goes = frame_alloc(f, vs * 4);
    c->lists = arena_array(a, int32_t *, pr->p->n_instrs + 1);
    int32_t most = 1;
    for (int32_t i = 0; i < pr->proc->n_tables; i++) most = MAX_OF(most, pr->proc->tables[i].need.table->n_cols);
    c->cells = arena_array(a, const void *, most);
    c->inserted = arena_array(a, int32_t *, pr->proc->n_tables + 1);
    c->try_at = -1;
    c->caught = arena_array(a, CallError **, pr->n_tries + 1);
    if (!c->vars || !c->goes || !c->lists || !c->cells || !c->inserted || !c->caught) goto oom;
    for (int32_t i = 0; i < pr->n_tries; i++)
        if (!(c->caught[i] = frame_alloc(f, vs * (int64_t)sizeof(CallError *)))) goto oom;
    for (int32_t i = 0; i < pr->p->n_instrs; i++) {
        if (pr->p->instrs[i].op != OP_ROW_INSERT) continue;
        int32_t **rows = &c->inserted[((const RowInsert *)pr->p->instrs[i].aux)->table];
        if (!*rows && !(*rows = frame_alloc(f, vs * 4))) goto oom;
    }
    for (int32_t i = 0; i < pr->p->n_instrs; i++)
        if (pr->p->instrs[i].op == OP_P_LOOP && !c->steps && !(c->steps = frame_alloc(f, vs * 8))) goto oom;
    for (int32_t i = 0; i < pr->n_vars; i++) {
        CallVar *v = &c->vars[i];
        v->phys = pr->vars[i].phys;
        v->size = size_class(v->phys);
        v->home = frame_alloc(f, vs << v->size);
        v->home_valid = frame_alloc(f, vs);
        if (!v->home || !v->home_valid) goto oom;
        memset(v->home, 0, (size_t)(vs << v->size)); /* cells of NULLs are defined */
    }
    if (!callframe_buffers(c)) goto oom;
    *out = c;
    return ST_OK;
oom:
    if (!err_is_set(e)) err_oom(e);
    frame_free(f);
    return ST_ERROR;
}

void callframe_forget_log(CallFrame *c, int64_t most) {
    c->n_undo = 0;
    if (c->cap_undo <= most) return;
    mem_free(c->pr->vm->env.account, c->undo, c->cap_undo * (int64_t)sizeof(CallUndo));
    c->undo = NULL;
    c->cap_undo = 0;
}
void callframe_free(CallFrame *c) {
    if (!c) return;
    callframe_drop_buffers(c);
    callframe_forget_log(c, 0);
    frame_free(c->f);
}

/* ---- failures ------------------------------------------------------------------------------ */
static CallError out_of_memory = {.sqlstate = "53200", .message = (char *)(uintptr_t) "out of memory"};
static char *text_or_null(Arena *a, const char *s) { return s && s[0] ? arena_strdup(a, s) : NULL; }

bool call_error_make(Arena *a, const char *sqlstate, Slice message, const char *detail, const char *hint,
                     const ErrNames *names, CallError *out) {
    *out = (CallError){.message = arena_strndup(a, message.ptr, message.len)};
    memcpy(out->sqlstate, sqlstate, sizeof out->sqlstate);
    out->detail = text_or_null(a, detail);
    out->hint = text_or_null(a, hint);
    bool any = false;
    for (int i = 0; names && i < ERR_FIELDS; i++) any |= names->of[i] != NULL;
    ErrNames *n = any ? arena_new_of(a, ErrNames) : NULL;
    for (int i = 0; n && i < ERR_FIELDS; i++) n->of[i] = text_or_null(a, names->of[i]);
    out->names = n;
    return out->message != NULL;
}
bool call_error_of(Arena *a, const Err *e, CallError *out) {
    ErrNames names = err_names_of(e);
    return call_error_make(a, e->sqlstate, slice_of(e->message), e->detail, e->hint, &names, out);
}
void call_error_tell(const CallError *x, Err *e) {
    err_set(e, x->sqlstate, "%s", x->message ? x->message : "");
    if (x->detail) err_detail(e, "%s", x->detail);
    if (x->hint) err_hint(e, "%s", x->hint);
    if (x->names) err_names(e, x->names);
}

CallError *call_error_place(Arena *a, const Proc *p, int32_t pc, CallError *x) {
    x->line = p->lines ? p->lines[pc] : 0;
    x->place = p->places ? p->places[pc] : NULL;
    x->context = p->contexts ? text_or_null(a, p->contexts[pc]) : NULL; /* results outlive procedures */
    return x;
}
static CallError *call_error(CallFrame *c, int32_t pc, const Err *e) {
    CallError *x = arena_new_of(c->sink->arena, CallError);
    return x && call_error_of(c->sink->arena, e, x) ? call_error_place(c->sink->arena, c->pr->proc, pc, x)
                                                    : &out_of_memory;
}
CallError *call_error_raised(CallFrame *c, int32_t pc, const RaiseSite *r, Slice message) {
    CallError *x = arena_new_of(c->sink->arena, CallError);
    return x && call_error_make(c->sink->arena, r->sqlstate, message, r->detail, r->hint, r->names, x)
               ? call_error_place(c->sink->arena, c->pr->proc, pc, x)
               : &out_of_memory;
}

void call_fail_with(CallFrame *c, int64_t i, CallError *x) {
    int64_t pos = row_pos(c->f, i);
    CallSink *k = c->sink;
    if (c->try_at >= 0) {
        const Instr *in = &c->pr->p->instrs[c->try_at];
        c->caught[in->imm][pos] = x;
        c->goes[pos] = in->jump + 1;
        c->departures++;
        return;
    }
    if (c->pr->is_body) {
        k->n_failed++;
        k->errors[k->group][call_number(c, pos)] = x;
    }
    c->goes[pos] = GO_FAILED;
    c->departures++;
}
void call_fail(CallFrame *c, int64_t i, int32_t pc) {
    Err *e = &c->f->err;
    call_fail_with(c, i, c->pr->is_body ? call_error(c, pc, e) : NULL);
    err_clear(e);
}

/* All rows in hand fail with the error that is set. */
static RunResult fail_all(CallFrame *c, int32_t pc) {
    Err *e = &c->f->err;
    CallError *x = c->pr->is_body ? call_error(c, pc, e) : NULL;
    for (int64_t i = 0; i < c->f->n; i++) call_fail_with(c, i, x);
    err_clear(e);
    undo_failed(c);
    return RUN_DONE;
}

RunResult calls_dropped(CallFrame *c, int32_t at) {
    Frame *f = c->f;
    const Program *p = c->pr->p;
    int64_t m = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (c->goes[row_pos(f, i)] == GO_ON) f->sel[m++] = (int32_t)i;
    undo_failed(c);
    if (m == 0) return RUN_DONE;
    for (int32_t k = c->run_start; k < at; k++) {
        Reg r = p->instrs[k].dst;
        if (r && p->regs[r].last >= at && frame_compact_regs(f, 1, &r, f->sel, m) != RUN_NEXT) return fail_all(c, at);
    }
    frame_compact_pos(f, f->sel, m);
    f->n = m;
    return RUN_NEXT;
}

/* The instructions [pc, end) failed for some row in hand: which ones, and with what? */
static NOINLINE RunResult retry_rows(CallFrame *c, int32_t pc, int32_t end) {
    Frame *f = c->f;
    const Program *p = c->pr->p;
    int64_t n = f->n, before = c->departures;
    if (n == 1) return fail_all(c, pc);
    if (!c->saved && !(c->saved = arena_array(f->arena, Vec, p->n_regs))) return fail_all(c, pc);
    Vec *saved = c->saved;
    Err first;
    err_copy(&first, &f->err);
    err_clear(&f->err);
    memcpy(saved, f->regs, sizeof(Vec) * (size_t)p->n_regs);
    int32_t *pos = f->pos;
    int64_t from = f->first;
    f->n = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int32_t k = c->run_start; k < pc; k++) {
            Reg r = p->instrs[k].dst;
            if (!r || p->regs[r].last < pc) continue;
            Vec *v = &f->regs[r];
            *v = saved[r];
            if (v->is_const) continue;
            v->data = (char *)v->data + (i << size_class(v->phys));
            if (v->valid) v->valid += i;
        }
        if (pos) f->pos = pos + i;
        else f->first = from + i;
        if (frame_run_range(f, pc, end) == RUN_FAILED) call_fail(c, 0, pc);
    }
    memcpy(f->regs, saved, sizeof(Vec) * (size_t)p->n_regs);
    f->pos = pos;
    f->first = from;
    f->n = n;
    if (c->departures == before) { /* no single row fails: something ran out that all of them need together */
        err_copy(&f->err, &first);
        return fail_all(c, pc);
    }
    return calls_dropped(c, pc);
}

/* ---- control ----------------------------------------------------------------------------------- */
/* One of the three lists of an opening bracket (n_instrs: the program's). */
static int32_t *list_of(CallFrame *c, int32_t opener, int which) {
    int32_t **l = &c->lists[opener];
    int64_t vs = c->pr->vector_size + 16;
    if (!*l) *l = frame_alloc(c->f, vs * 3 * 4);
    return *l ? *l + which * vs : NULL;
}

static int64_t keep_going(const CallFrame *c, const int32_t *list, int64_t n, int32_t *out) {
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t p = list ? list[i] : (int32_t)i;
        out[m] = p;
        m += c->goes[p] == GO_ON;
    }
    return m;
}
/* Calls of the list that wait at instruction `at` run again. */
static void resume_at(CallFrame *c, const int32_t *list, int64_t n, int32_t at) {
    for (int64_t i = 0; i < n; i++) {
        int32_t p = list ? list[i] : (int32_t)i;
        if (c->goes[p] == at + 1) c->goes[p] = GO_ON;
    }
    c->departures++; /* lists are to be looked at again */
}
static void depart(CallFrame *c, const int32_t *list, int64_t n, int32_t where) {
    for (int64_t i = 0; i < n; i++) c->goes[list ? list[i] : i] = where;
    c->departures++;
}

static void run_straight(CallFrame *c, int32_t pc, int32_t end) {
    Frame *f = c->f;
    const Step *steps = c->pr->vm->steps;
    c->run_start = pc;
    while (pc < end) {
        const Step *s = &steps[pc];
        switch (s->fn(f, s)) {
        case RUN_NEXT: pc++; break;
        case RUN_JUMP: pc = f->jump; break;
        case RUN_DONE: return;
        case RUN_FAILED: {
            int32_t past = s->in->op == OP_IF ? c->pr->p->instrs[s->in->jump].jump + 1 : pc + 1;
            if ((op_has_effect(s->in->op) ? fail_all(c, pc) : retry_rows(c, pc, past)) == RUN_DONE) return;
        }
        }
    }
}

static void no_lists(CallFrame *c, const int32_t *list, int64_t n, int32_t pc) {
    c->f->n = n;
    c->f->pos = (int32_t *)(uintptr_t)list;
    c->f->first = 0;
    if (!err_is_set(&c->f->err)) err_oom(&c->f->err);
    fail_all(c, pc);
}

static void run_body(CallFrame *c, int32_t from, int32_t to, const int32_t *list, int64_t n, int32_t owner);

static void run_if(CallFrame *c, int32_t pc, const int32_t *list, int64_t n) {
    const Program *p = c->pr->p;
    const Instr *in = &p->instrs[pc];
    Frame *f = c->f;
    const Vec *v = &f->regs[in->a];
    bool has_else = p->instrs[in->jump].op == OP_P_ELSE;
    int64_t m, k = 0;
    int32_t *yes = NULL, *no = NULL;
    if (v->is_const || n == 1) {
        m = (v->valid && !v->valid[0]) || !*(const uint8_t *)v->data ? 0 : n;
    } else {
        yes = list_of(c, pc, 1);
        no = list_of(c, pc, 2);
        if (!yes || !no) {
            no_lists(c, list, n, pc);
            return;
        }
        m = f->k->true_rows(n, v->data, v->valid, yes);
    }
    if (m == n) {
        run_body(c, pc + 1, in->jump, list, n, pc);
        return;
    }
    if (m == 0) {
        if (has_else) run_body(c, in->jump + 1, p->instrs[in->jump].jump, list, n, in->jump);
        return;
    }
    if (has_else) {
        int64_t j = 0;
        for (int32_t i = 0; i < n; i++) { /* the complement */
            if (j < m && yes[j] == i) j++;
            else no[k++] = list ? list[i] : i;
        }
    }
    if (list)
        for (int64_t i = 0; i < m; i++) yes[i] = list[yes[i]];
    run_body(c, pc + 1, in->jump, yes, m, pc);
    if (has_else) run_body(c, in->jump + 1, p->instrs[in->jump].jump, no, k, in->jump);
}

/* An iteration begins; calls that have had too many fail. */
static void count_rounds(CallFrame *c, int32_t at, const int32_t *list, int64_t n) {
    Frame *f = c->f;
    int64_t limit = c->sink->step_limit, before = c->departures;
    f->pos = (int32_t *)(uintptr_t)list;
    f->n = n;
    for (int64_t i = 0; i < n; i++) {
        if (++c->steps[list[i]] <= limit || limit == 0) continue;
        err_set(&f->err, ERR_PROGRAM_LIMIT, "the call has made more than %lld loop iterations", (long long)limit);
        err_hint(&f->err, "Raise bulk_step_limit if the loop is meant to be that long.");
        call_fail(c, i, at);
    }
    if (c->departures != before) undo_failed(c);
}
/* Between two iterations. */
static int64_t stop_calls(CallFrame *c, int32_t at, int32_t *list, int64_t n) {
    Frame *f = c->f;
    int64_t before = c->departures;
    const CallSink *k = c->sink;
    const char *stop = sink_canceled(k);
    bool some = !stop && sink_stops_some(k);
    f->pos = list;
    f->n = n;
    for (int64_t i = 0; (stop || some) && i < n; i++) {
        if (stop) err_set(&f->err, ERR_QUERY_CANCELED, "%s", stop);
        else if (k->stop->call(k->stop->ctx, k->group, call_number(c, list[i])))
            err_set(&f->err, ERR_QUERY_CANCELED, "%s", call_canceled);
        else continue;
        call_fail(c, i, at);
    }
    if (c->departures == before) return n;
    undo_failed(c);
    return keep_going(c, list, n, list);
}

/* Between two iterations no register lives: strings that no variable has are garbage. What variables have moves to
 * another arena when there is twice as much as there was left last time. Without memory for that all stays. */
enum { TIDY_LEAST = 4 << 20 };
static void tidy_strings(CallFrame *c) {
    Frame *f = c->f;
    if (!c->pr->vm->has_strings || arena_bytes(f->batch) < c->tidy_at) return;
    Arena *a = arena_new(c->pr->vm->env.account, &f->err);
    Str **moved = a ? arena_array(a, Str *, c->pr->n_vars + 1) : NULL;
    bool ok = moved != NULL;
    for (int32_t k = 0; ok && k < c->pr->n_vars; k++) {
        const CallVar *v = &c->vars[k];
        if (v->phys != PH_STR || v->cells != v->home) continue; /* else it has the caller's */
        ok = (moved[k] = arena_array(a, Str, c->n)) != NULL;
        for (int64_t i = 0; ok && i < c->n; i++) {
            if (v->valid && !v->valid[i]) continue;
            Str s = ((const Str *)v->home)[i];
            char *p = arena_alloc(a, s.len);
            if (!(ok = p != NULL)) break;
            if (s.len > 0) memcpy(p, s.ptr, (size_t)s.len);
            moved[k][i] = str_make(p, s.len);
        }
    }
    if (!ok) {
        arena_free(a);
        err_clear(&f->err);
        c->tidy_at = arena_bytes(f->batch) * 2;
        return;
    }
    for (int32_t k = 0; k < c->pr->n_vars; k++)
        if (moved[k]) memcpy(c->vars[k].home, moved[k], (size_t)c->n * sizeof(Str));
    arena_free(f->batch);
    f->batch = f->batch_root = a;
    c->tidy_at = MAX_OF(arena_bytes(a) * 2, (int64_t)TIDY_LEAST);
}

static void run_loop(CallFrame *c, int32_t pc, const int32_t *list, int64_t n) {
    const Program *p = c->pr->p;
    int32_t end = p->instrs[pc].jump, step = -1;
    for (int32_t i = pc + 1; i < end && step < 0; i++)
        if (p->instrs[i].op == OP_P_STEP && p->instrs[i].jump == pc) step = i;
    int32_t *active = list_of(c, pc, 1);
    if (!active) {
        no_lists(c, list, n, pc);
        return;
    }
    int64_t m = keep_going(c, list, n, active);
    while (m > 0) {
        int64_t before = c->departures;
        run_body(c, pc + 1, step >= 0 ? step : end, active, m, pc);
        if (c->departures != before) {
            if (step >= 0) resume_at(c, active, m, step);
            m = keep_going(c, active, m, active);
        }
        if (step >= 0 && m > 0) {
            before = c->departures;
            run_body(c, step + 1, end, active, m, step);
            if (c->departures != before) m = keep_going(c, active, m, active);
        }
        m = stop_calls(c, end, active, m);
        tidy_strings(c);
    }
    resume_at(c, list, n, end);
}

/* The body; then the handlers for the calls that failed in it. */
static void run_try(CallFrame *c, int32_t pc, const int32_t *list, int64_t n) {
    int32_t to = c->pr->p->instrs[pc].jump, end = c->pr->p->instrs[to].jump, outer = c->try_at;
    uint32_t from = c->try_from;
    int64_t before = c->departures, m = 0;
    int32_t *caught = list_of(c, pc, 1);
    if (!caught) {
        no_lists(c, list, n, pc);
        return;
    }
    c->try_at = pc;
    c->try_from = c->n_changes;
    run_body(c, pc + 1, to, list, n, pc);
    c->try_at = outer;
    c->try_from = from;
    if (c->departures == before) return;
    for (int64_t i = 0; i < n; i++) {
        int32_t p = list ? list[i] : (int32_t)i;
        if (c->goes[p] != to + 1) continue;
        c->goes[p] = GO_ON;
        caught[m++] = p;
    }
    if (m > 0) run_body(c, to + 1, end, caught, m, to);
}

/* Statements [from, to) for the calls of the list (NULL: all of the chunk). `owner` opens the body: its first list is
 * this body's. */
static void run_body(CallFrame *c, int32_t from, int32_t to, const int32_t *list, int64_t n, int32_t owner) {
    const Program *p = c->pr->p;
    if (from < to && n > 0 && stack_check_depth(&c->f->err) != ST_OK) {
        no_lists(c, list, n, from);
        return;
    }
    for (int32_t pc = from; pc < to && n > 0;) {
        const Instr *in = &p->instrs[pc];
        int64_t before = c->departures;
        switch (in->op) {
        case OP_P_IF:
            run_if(c, pc, list, n);
            pc = (p->instrs[in->jump].op == OP_P_ELSE ? p->instrs[in->jump].jump : in->jump) + 1;
            break;
        case OP_P_LOOP:
            run_loop(c, pc, list, n);
            pc = in->jump + 1;
            break;
        case OP_P_ROUND: count_rounds(c, pc++, list, n); break;
        case OP_P_BLOCK:
            run_body(c, pc + 1, in->jump, list, n, pc);
            if (c->departures != before) resume_at(c, list, n, in->jump);
            pc = in->jump + 1;
            break;
        case OP_P_TRY:
            run_try(c, pc, list, n);
            pc = p->instrs[in->jump].jump + 1;
            break;
        case OP_P_LEAVE: depart(c, list, n, in->jump + 1); return;
        case OP_P_RETURN: depart(c, list, n, GO_DONE); return;
        default:
            c->f->n = n;
            c->f->pos = (int32_t *)(uintptr_t)list; /* read only: a run that drops calls moves to its own */
            c->f->first = 0;
            run_straight(c, pc, c->pr->run_end[pc]);
            pc = c->pr->run_end[pc];
        }
        if (c->departures == before) continue;
        int32_t *own = list_of(c, owner, 0);
        if (!own) {
            no_lists(c, list, n, pc < to ? pc : to - 1);
            return;
        }
        n = keep_going(c, list, n, own);
        list = own;
    }
}

/* ---- a chunk -------------------------------------------------------------------------------------- */
static void set_params(CallFrame *c, const CallGroup *group) {
    const VmKernels *k = c->f->k;
    int64_t n = c->n;
    for (int32_t i = 0; i < c->pr->proc->n_params; i++) {
        CallVar *v = &c->vars[i];
        const Vec *s = &group->params[i];
        if (s->is_const) {
            k->fill[v->size](n, s->data, v->home);
            v->cells = v->home;
            v->valid = NULL;
            if (s->valid && !s->valid[0]) v->valid = memset(v->home_valid, 0, (size_t)n);
            continue;
        }
        if (!c->calls) {
            v->cells = (const char *)s->data + (c->first_call << v->size);
            v->valid = s->valid ? s->valid + c->first_call : NULL;
        } else {
            k->gather[v->size](n, s->data, (const int32_t *)c->calls, v->home);
            v->cells = v->home;
            v->valid = NULL;
            if (s->valid) {
                k->gather[SZ_1](n, s->valid, (const int32_t *)c->calls, v->home_valid);
                v->valid = v->home_valid;
            }
        }
        if (v->valid && !memchr(v->valid, 0, (size_t)n)) v->valid = NULL;
    }
    for (int32_t i = c->pr->proc->n_params; i < c->pr->n_vars; i++) {
        CallVar *v = &c->vars[i];
        v->cells = v->home;
        v->valid = memset(v->home_valid, 0, (size_t)n);
    }
}

void callframe_run(CallFrame *c, CallSink *sink, const CallGroup *group, int64_t n, const uint32_t *calls,
                   int64_t first) {
    Frame *f = c->f;
    c->sink = sink;
    c->n = n;
    c->calls = calls;
    c->first_call = first;
    c->undo_from = c->n_undo;
    c->n_changes = 0;
    c->try_at = -1;
    memset(c->goes, 0, (size_t)n * 4);
    if (c->steps) memset(c->steps, 0, (size_t)n * 8);
    for (int32_t i = 0; i < c->pr->proc->n_tables; i++)
        if (c->inserted[i]) memset(c->inserted[i], 0, (size_t)n * 4);
    if (c->pr->vm->has_strings) arena_reset(f->batch_root);
    c->tidy_at = TIDY_LEAST;
    err_clear(&f->err);
    set_params(c, group);
    run_body(c, 0, c->pr->p->n_instrs, NULL, n, c->pr->p->n_instrs);
    callframe_drop_buffers(c);
    if (!sink->keeps) c->n_undo = 0;
}
