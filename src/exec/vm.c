/* vm.c - the virtual machine: preparation, frames, the run loop, filters, IF, and the sink's edge.
 * The design is described in vm_frame.h.
 *
 * The loop calls one function per instruction and vector through a pointer resolved at preparation, which costs a
 * few nanoseconds; everything else is in the kernels.
 */
#include "exec/vm_frame.h"

#include "base/log.h"

static const uint8_t null_cell[64]; /* data of NULL constants */
static uint8_t null_flag[1];        /* their validity; never written */

/* ---- buffers ---------------------------------------------------------------------------- */
void *frame_alloc(Frame *f, int64_t bytes) {
    char *p = arena_alloc(f->arena, bytes + 128); /* slack for alignment and whole-register stores */
    if (!p) {
        if (!err_is_set(&f->err)) err_oom(&f->err);
        return NULL;
    }
    return (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
}
void *frame_home_new(Frame *f, Reg r) {
    int64_t bytes = f->vm->env.vector_size << size_class(f->vm->p->regs[r].phys);
    void *p = frame_alloc(f, bytes);
    if (p) memset(p, 0, (size_t)bytes); /* cells of NULL rows are defined */
    return f->home[r] = p;
}
uint8_t *frame_valid_new(Frame *f, Reg r) { return f->home_valid[r] = frame_alloc(f, f->vm->env.vector_size); }

RunResult frame_set_null(Frame *f, Reg r) {
    Vec *v = &f->regs[r];
    v->data = (void *)(uintptr_t)null_cell;
    v->valid = null_flag;
    v->is_const = true;
    return RUN_NEXT;
}

const Vec *frame_dense(Frame *f, Reg r) {
    Vec *v = &f->regs[r], *d = &f->dense[r];
    if (!v->is_const) return v;
    bool program_const = f->vm->p->regs[r].is_const;
    if (program_const && d->data) return d;
    int64_t n = program_const ? f->vm->env.vector_size : f->n;
    uint8_t size = size_class(v->phys);
    void *data = frame_home(f, r);
    if (!data) return NULL;
    f->k->fill[size](n, v->data, data);
    *d = *v;
    d->data = data;
    d->is_const = false;
    if (v->valid) {
        if (!(d->valid = frame_valid(f, r))) return NULL;
        memset(d->valid, 0, (size_t)n);
    }
    if (!program_const) *v = *d; /* now an ordinary vector */
    return program_const ? d : v;
}

bool frame_stopped(Frame *f) {
    const VmEnv *env = &f->vm->env;
    if (env->stop && atomic_load_explicit(env->stop, memory_order_relaxed)) return true;
    const QueryStop stop = {env->cancel, env->deadline_ns};
    if (query_stopped(&stop)) {
        if (!err_is_set(&f->err)) (void)query_stop_error(&stop, &f->err);
        return true;
    }
    pool_help(env->pool);
    if (env->tick && f->worker == 0 && (++f->ticks & 63) == 0) env->tick(env->ctx);
    return false;
}

/* ---- moving rows --------------------------------------------------------------------------- */
RunResult frame_compact_pos(Frame *f, const int32_t *sel, int64_t m) {
    if (f->pos) f->k->gather[SZ_4](m, f->pos, sel, f->pos_home);
    else f->k->offset_rows(m, sel, (int32_t)f->first, f->pos_home);
    f->pos = f->pos_home;
    return RUN_NEXT;
}

RunResult frame_compact_regs(Frame *f, int32_t n_regs, const Reg *regs, const int32_t *sel, int64_t m) {
    for (int32_t i = 0; i < n_regs; i++) {
        Reg r = regs[i];
        Vec *v = &f->regs[r];
        if (v->is_const) continue;
        void *home = frame_home(f, r);
        if (UNLIKELY(!home)) return RUN_FAILED;
        f->k->gather[size_class(v->phys)](m, v->data, sel, home);
        v->data = home;
        if (v->valid) {
            uint8_t *valid = frame_valid(f, r);
            if (UNLIKELY(!valid)) return RUN_FAILED;
            f->k->gather[SZ_1](m, v->valid, sel, valid);
            v->valid = valid;
        }
    }
    return RUN_NEXT;
}

RunResult frame_compact(Frame *f, const Instr *in, const int32_t *sel, int64_t m) {
    if (frame_compact_regs(f, in->n_carry, in->carry, sel, m) != RUN_NEXT) return RUN_FAILED;
    if (in->keep_pos) frame_compact_pos(f, sel, m);
    f->n = m;
    return RUN_NEXT;
}

RunResult frame_alias(Frame *f, const Step *s, Reg src) {
    const Vec *v = &f->regs[src];
    Vec *d = &f->regs[s->dst];
    uint8_t phys = d->phys;
    Type type = d->type;
    if (v->is_const || f->vm->p->regs[src].last <= s->pc) {
        *d = *v;
    } else {
        if (!(d->data = frame_home(f, s->dst))) return RUN_FAILED;
        memcpy(d->data, v->data, (size_t)(f->n << s->size));
        d->valid = NULL;
        if (v->valid) {
            if (!(d->valid = frame_valid(f, s->dst))) return RUN_FAILED;
            memcpy(d->valid, v->valid, (size_t)f->n);
        }
        d->is_const = false;
    }
    d->phys = phys;
    d->type = type;
    return RUN_NEXT;
}

Status moved_init(Frame *f, Moved *m, const Instr *in, bool own_batch) {
    *m = (Moved){.n = in->n_carry, .regs = in->carry, .keep_pos = in->keep_pos};
    int64_t n = m->n > 0 ? m->n : 1, ptrs = n * (int64_t)sizeof(void *);
    m->saved = frame_alloc(f, n * (int64_t)sizeof(Vec));
    m->data = frame_alloc(f, ptrs);
    m->valid = frame_alloc(f, ptrs);
    m->saved_home = frame_alloc(f, ptrs);
    m->saved_valid = frame_alloc(f, ptrs);
    if (m->keep_pos) m->pos = frame_alloc(f, f->vm->env.vector_size * 4);
    if (!m->saved || !m->data || !m->valid || !m->saved_home || !m->saved_valid || (m->keep_pos && !m->pos))
        return ST_ERROR;
    memset(m->data, 0, (size_t)ptrs); /* homes are made when first needed */
    memset(m->valid, 0, (size_t)ptrs);
    if (own_batch && f->vm->has_strings && !(m->batch = arena_new(f->vm->env.account, &f->err))) return ST_ERROR;
    return ST_OK;
}

void moved_begin(Frame *f, Moved *m) {
    for (int32_t i = 0; i < m->n; i++) {
        Reg r = m->regs[i];
        m->saved[i] = f->regs[r];
        m->saved_home[i] = f->home[r];
        m->saved_valid[i] = f->home_valid[r];
        f->home[r] = m->data[i];
        f->home_valid[r] = m->valid[i];
    }
    m->saved_n = f->n;
    m->saved_first = f->first;
    m->saved_pos = f->pos;
    m->saved_pos_home = f->pos_home;
    m->saved_batch = f->batch;
    if (m->keep_pos) f->pos_home = m->pos;
    if (m->batch) f->batch = m->batch;
}

Status moved_gather(Frame *f, Moved *m, const int32_t *idx, int64_t n) {
    for (int32_t i = 0; i < m->n; i++) {
        const Vec *s = &m->saved[i];
        Vec *d = &f->regs[m->regs[i]];
        *d = *s;
        if (s->is_const) continue;
        if (UNLIKELY(!(d->data = frame_home(f, m->regs[i])))) return ST_ERROR;
        f->k->gather[size_class(s->phys)](n, s->data, idx, d->data);
        if (!s->valid) continue;
        if (UNLIKELY(!(d->valid = frame_valid(f, m->regs[i])))) return ST_ERROR;
        f->k->gather[SZ_1](n, s->valid, idx, d->valid);
    }
    if (m->keep_pos) {
        f->pos = m->saved_pos;
        f->first = m->saved_first;
        frame_compact_pos(f, idx, n);
    }
    if (m->batch) arena_reset(m->batch);
    f->n = n;
    return ST_OK;
}

void moved_end(Frame *f, Moved *m) {
    for (int32_t i = 0; i < m->n; i++) {
        Reg r = m->regs[i];
        m->data[i] = f->home[r];
        m->valid[i] = f->home_valid[r];
        f->regs[r] = m->saved[i];
        f->home[r] = m->saved_home[i];
        f->home_valid[r] = m->saved_valid[i];
    }
    f->n = m->saved_n;
    f->first = m->saved_first;
    f->pos = m->saved_pos;
    f->pos_home = m->saved_pos_home;
    f->batch = m->saved_batch;
}

/* ---- filters ------------------------------------------------------------------------------------ */
static RunResult step_filter(Frame *f, const Step *s) {
    const Vec *c = &f->regs[s->a];
    if (c->is_const) return c->valid || !*(const uint8_t *)c->data ? RUN_DONE : RUN_NEXT;
    int64_t m = f->k->true_rows(f->n, c->data, c->valid, f->sel);
    if (m == f->n) return RUN_NEXT;
    if (m == 0) return RUN_DONE;
    return frame_compact(f, s->in, f->sel, m);
}

/* Source filters in the middle of a program: positions that pass, then their places among the current rows. */
static RunResult keep_positions(Frame *f, const Step *s, int32_t *out, int64_t m) {
    if (m == f->n) return RUN_NEXT;
    if (m == 0) return RUN_DONE;
    if (s->in->n_carry > 0) {
        if (!f->pos) {
            f->k->offset_rows(m, out, -(int32_t)f->first, f->sel);
        } else { /* the rows that pass are a subsequence of pos */
            int32_t j = 0;
            for (int64_t i = 0; i < m; i++) {
                while (f->pos[j] != out[i]) j++;
                f->sel[i] = j++;
            }
        }
        if (frame_compact_regs(f, s->in->n_carry, s->in->carry, f->sel, m) != RUN_NEXT) return RUN_FAILED;
    }
    memcpy(f->pos_home, out, (size_t)m * 4);
    f->pos = f->pos_home;
    f->n = m;
    return RUN_NEXT;
}
static RunResult step_filter_range(Frame *f, const Step *s) {
    const RangeTest *t = s->in->aux;
    int32_t *out = (int32_t *)f->longs;
    return keep_positions(
        f, s, out,
        tablet_filter_range(f->src.tablet, (int)s->in->imm, f->first, f->pos, f->n, t->lo, t->hi, t->negate, out));
}
static RunResult step_filter_codes(Frame *f, const Step *s) {
    const CodeMask *t = s->in->aux;
    int32_t *out = (int32_t *)f->longs;
    return keep_positions(
        f, s, out, tablet_filter_codes(f->src.tablet, (int)s->in->imm, f->first, f->pos, f->n, t->mask, t->n, out));
}

int64_t vm_scan_filter(const Vm *vm, const Tablet *t, int64_t first, int64_t n, int32_t *out, bool *all) {
    const int32_t *pos = NULL;
    int64_t m = n;
    if (t->n_deleted > 0) {
        bool identity = false;
        m = tablet_live_rows(t, first, n, out, &identity);
        if (!identity) pos = out;
    }
    for (int32_t i = 0; i < vm->n_leading && m > 0; i++) {
        const Instr *in = &vm->p->instrs[i];
        if (in->op == OP_FILTER_RANGE) {
            const RangeTest *r = in->aux;
            m = tablet_filter_range(t, (int)in->imm, first, pos, m, r->lo, r->hi, r->negate, out);
        } else {
            const CodeMask *c = in->aux;
            m = tablet_filter_codes(t, (int)in->imm, first, pos, m, c->mask, c->n, out);
        }
        pos = out;
    }
    *all = m == n;
    return m;
}

/* ---- IF ------------------------------------------------------------------------------------------- */
typedef struct IfState {
    Moved first, second;
    int32_t *yes, *no;
} IfState;

static void scatter(uint8_t size, int64_t n, const Vec *v, const int32_t *to, void *dst) {
#define SCATTER(T)                                             \
    {                                                          \
        const T *src = v->data;                                \
        T *d = dst;                                            \
        if (v->is_const) {                                     \
            const T c = src[0];                                \
            for (int64_t i = 0; i < n; i++) d[to[i]] = c;      \
        } else {                                               \
            for (int64_t i = 0; i < n; i++) d[to[i]] = src[i]; \
        }                                                      \
        break;                                                 \
    }
    switch (size) {
    case SZ_1: SCATTER(uint8_t)
    case SZ_2: SCATTER(uint16_t)
    case SZ_4: SCATTER(uint32_t)
    case SZ_8: SCATTER(uint64_t)
    default: SCATTER(Interval)
    }
}

/* One body on the rows `idx`, its value into the result's places. *nulls: validity is being kept. */
static RunResult run_body(Frame *f, const Step *end, Moved *m, int32_t from, int32_t to, Reg value, const int32_t *idx,
                          int64_t n, int64_t total, bool *nulls) {
    moved_begin(f, m);
    RunResult r = stack_check_depth(&f->err) == ST_OK && moved_gather(f, m, idx, n) == ST_OK
                      ? frame_run_range(f, from, to)
                      : RUN_FAILED;
    if (r == RUN_NEXT) {
        const Vec *v = &f->regs[value];
        void *home = frame_home(f, end->dst);
        uint8_t *valid = *nulls || v->valid ? frame_valid(f, end->dst) : NULL;
        if (!home || ((*nulls || v->valid) && !valid)) {
            r = RUN_FAILED;
        } else {
            scatter(end->size, n, v, idx, home);
            if (valid) {
                if (!*nulls) memset(valid, 1, (size_t)total);
                *nulls = true;
                if (v->valid)
                    for (int64_t i = 0; i < n; i++) valid[idx[i]] = v->valid[v->is_const ? 0 : i];
            }
        }
    }
    moved_end(f, m);
    return r;
}

static RunResult step_if(Frame *f, const Step *s) {
    const Vm *vm = f->vm;
    int32_t else_pc = s->in->jump, end_pc = vm->p->instrs[else_pc].jump;
    const Step *el = &vm->steps[else_pc], *end = &vm->steps[end_pc];
    const Vec *c = &f->regs[s->a];
    IfState *st = f->priv[s->pc];
    if (!st) {
        if (!(st = f->priv[s->pc] = frame_alloc(f, (int64_t)sizeof *st))) return RUN_FAILED;
        memset(st, 0, sizeof *st);
        if (moved_init(f, &st->first, s->in, false) != ST_OK || moved_init(f, &st->second, el->in, false) != ST_OK ||
            !(st->yes = frame_alloc(f, vm->env.vector_size * 4 + 64)) ||
            !(st->no = frame_alloc(f, vm->env.vector_size * 4 + 64)))
            return RUN_FAILED;
    }
    f->jump = end_pc + 1;
    int64_t n = f->n, m;
    if (c->is_const) m = c->valid || !*(const uint8_t *)c->data ? 0 : n;
    else m = f->k->true_rows(n, c->data, c->valid, st->yes);
    if (m == n || m == 0) { /* one body does it all, on the rows as they are */
        RunResult r = m == n ? frame_run_range(f, s->pc + 1, else_pc) : frame_run_range(f, else_pc + 1, end_pc);
        if (r != RUN_NEXT) return r;
        f->jump = end_pc + 1;
        return frame_alias(f, end, m == n ? el->a : end->a) == RUN_NEXT ? RUN_JUMP : RUN_FAILED;
    }
    int64_t k = 0, j = 0;
    for (int64_t i = 0; i < n; i++) { /* the complement */
        if (j < m && st->yes[j] == i) j++;
        else st->no[k++] = (int32_t)i;
    }
    bool nulls = false;
    if (run_body(f, end, &st->first, s->pc + 1, else_pc, el->a, st->yes, m, n, &nulls) != RUN_NEXT ||
        run_body(f, end, &st->second, else_pc + 1, end_pc, end->a, st->no, k, n, &nulls) != RUN_NEXT)
        return RUN_FAILED;
    Vec *d = &f->regs[end->dst];
    d->data = f->home[end->dst];
    d->valid = nulls ? f->home_valid[end->dst] : NULL;
    d->is_const = false;
    f->jump = end_pc + 1;
    return RUN_JUMP;
}

/* ---- the loop --------------------------------------------------------------------------------------- */
RunResult frame_run_range(Frame *f, int32_t from, int32_t to) {
    const Step *steps = f->vm->steps;
    for (int32_t pc = from; pc < to;) {
        const Step *s = &steps[pc];
        RunResult r = s->fn(f, s);
        if (LIKELY(r == RUN_NEXT)) pc++;
        else if (r == RUN_JUMP) pc = f->jump;
        else return r;
    }
    return RUN_NEXT;
}

Status frame_run_from(Frame *f, int32_t pc) {
    RunResult r = frame_run_range(f, pc, f->vm->p->n_instrs);
    if (r == RUN_NEXT) {
        f->rows_out += f->n;
        return f->vm->env.sink(f);
    }
    return r == RUN_DONE ? ST_OK : ST_ERROR;
}

Status frame_run(Frame *f, int64_t n, int32_t pc) {
    if (n <= 0) return ST_OK;
    f->n = n;
    Status st = frame_run_from(f, pc);
    if (f->vm->has_strings) arena_reset(f->batch_root);
    return st;
}

/* ---- preparation -------------------------------------------------------------------------------------- */
static RunResult step_none(Frame *f, const Step *s) {
    (void)f, (void)s;
    return RUN_NEXT;
}

Status vm_new(const Program *p, const VmEnv *env, Vm **out, Err *e) {
    *out = NULL;
    Arena *a = arena_new(env->account, e);
    if (!a) return ST_ERROR;
    Vm *vm = arena_new_of(a, Vm);
    if (!vm) {
        arena_free(a);
        return ST_ERROR;
    }
    *vm = (Vm){.p = p, .env = *env, .k = vm_kernels(), .arena = a};
    vm->steps = arena_array(a, Step, p->n_instrs + 1);
    if (!vm->steps) goto fail;
    bool leading = p->source.kind == SRC_TABLE;
    vm->has_strings = p->source.kind == SRC_AGG;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const Instr *in = &p->instrs[i];
        Step *s = &vm->steps[i];
        *s = (Step){.in = in, .dst = in->dst, .a = in->a, .b = in->b, .c = in->c, .pc = i, .phys = in->phys};
        s->dphys = p->regs[in->dst].phys;
        s->size = size_class(s->dphys);
        if (in->op != OP_FILTER_RANGE && in->op != OP_FILTER_CODES) leading = false;
        if (leading) vm->n_leading = i + 1;
        if (in->op == OP_BUF_GET && p->regs[in->dst].phys == PH_STR) vm->has_strings = true;
        if (p->source.kind == SRC_CALLS && env->call_fn && (in->op == OP_LOAD || op_is_of_calls(in->op))) {
            s->fn = env->call_fn(in);
            continue;
        }
        switch (in->op) {
        case OP_LOAD:
        case OP_LOAD_CODE: s->fn = step_load; break;
        case OP_LOAD_ROWID: s->fn = step_load_rowid; break;
        case OP_FILTER: s->fn = step_filter; break;
        case OP_FILTER_RANGE: s->fn = step_filter_range; break;
        case OP_FILTER_CODES: s->fn = step_filter_codes; break;
        case OP_IF: s->fn = step_if; break;
        case OP_ELSE: /* never reached: step_if jumps */
        case OP_ENDIF:
        case OP_PROBE_END: s->fn = step_none; break;
        case OP_PROBE:
        case OP_PROBE_BEGIN:
            s->fn = in->op == OP_PROBE ? step_probe : step_probe_begin;
            if (vm_prepare_probe(vm, s, e) != ST_OK) goto fail;
            break;
        case OP_LOAD_BUILD: {
            const ProbeSite *site = p->instrs[p->regs[in->a].first].aux;
            s->fn = step_load_build;
            if (!(s->join = env->joins[site->join])) {
                err_internal(e, "join %d is used before it is built", (int)site->join);
                goto fail;
            }
            s->join_spec = &env->plan->joins[site->join];
            break;
        }
        case OP_REPEAT: s->fn = step_repeat; break;
        default:
            if (in->op == OP_CALL) vm->has_strings = true;
            if (!(s->fn = vm_expr_fn(vm, s, e))) goto fail;
        }
    }
    *out = vm;
    return ST_OK;
fail:
    if (!err_is_set(e)) err_oom(e);
    vm_free(vm);
    return ST_ERROR;
}

void vm_free(Vm *vm) {
    if (!vm) return;
    for (int32_t i = 0; vm->steps && i < vm->p->n_instrs; i++) {
        Step *s = &vm->steps[i];
        if (!s->parts) continue;
        for (int32_t k = 0, n = join_n_partitions(s->join); k < n; k++)
            if (s->parts[k]) rows_free(s->parts[k]);
    }
    arena_free(vm->arena);
}

Status frame_new(const Vm *vm, int worker, Frame **out, Err *e) {
    *out = NULL;
    Arena *a = arena_new(vm->env.account, e);
    if (!a) return ST_ERROR;
    const Program *p = vm->p;
    int64_t vs = vm->env.vector_size;
    Frame *f = arena_new_of(a, Frame);
    if (!f) goto fail;
    f->vm = vm;
    f->k = vm->k;
    f->worker = worker;
    f->arena = a;
    f->regs = arena_array(a, Vec, p->n_regs);
    f->dense = arena_array(a, Vec, p->n_regs);
    f->home = arena_array(a, void *, p->n_regs);
    f->home_valid = arena_array(a, uint8_t *, p->n_regs);
    f->priv = arena_array(a, void *, p->n_instrs + 1);
    int64_t n_sink = MAX_OF(p->sink.n_keys, p->sink.n_regs) + 1;
    f->sink_keys = arena_array(a, Vec, n_sink);
    f->sink_regs = arena_array(a, Vec, n_sink);
    f->sink_regs2 = arena_array(a, Vec, n_sink);
    if (!f->regs || !f->dense || !f->home || !f->home_valid || !f->priv || !f->sink_keys || !f->sink_regs ||
        !f->sink_regs2)
        goto fail;
    f->sel = frame_alloc(f, vs * 4 + 64);
    f->pos_home = frame_alloc(f, vs * 4 + 64);
    f->bytes = frame_alloc(f, vs + 64);
    f->bytes2 = frame_alloc(f, vs + 64);
    f->longs = frame_alloc(f, vs * 8 + 64);
    f->longs2 = frame_alloc(f, vs * 8 + 64);
    f->cells = frame_alloc(f, vs * 16 + 64);
    if (!f->sel || !f->pos_home || !f->bytes || !f->bytes2 || !f->longs || !f->longs2 || !f->cells) goto fail;
    if (vm->has_strings && !(f->batch_root = f->batch = arena_new(vm->env.account, e))) goto fail;
    for (Reg r = 1; r < p->n_regs; r++) {
        const RegInfo *ri = &p->regs[r];
        Vec *v = &f->regs[r];
        *v = (Vec){.phys = ri->phys, .type = ri->type};
        if (!ri->is_const) continue;
        if (ri->value.is_null) frame_set_null(f, r);
        else v->data = (void *)(uintptr_t)&ri->value.u;
        v->is_const = true;
    }
    arena_set_err(a, &f->err);
    if (f->batch) arena_set_err(f->batch, &f->err);
    *out = f;
    return ST_OK;
fail:
    if (!err_is_set(e)) err_oom(e);
    if (f && f->batch_root) arena_free(f->batch_root);
    arena_free(a);
    return ST_ERROR;
}

void frame_free(Frame *f) {
    if (!f) return;
    vm_join_release(f);
    if (f->batch_root) arena_free(f->batch_root);
    arena_free(f->arena);
}
