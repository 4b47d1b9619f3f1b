/* vm_load.c - LOAD and its relatives: columns of the source and of build rows into registers.
 *
 * Tablets decode straight into the register; plain columns without NULLs are not copied at all, and constant columns
 * become constants. Row stores, aggregations and joins deliver their column's own phys; if the register is of another
 * one (or is to have the strings of codes), cells go through the frame's scratch and are converted.
 */
#include "exec/vm_frame.h"

/* What the source's column looks like: its phys and, for codes, their dictionary. */
static void column_of(const Frame *f, int64_t imm, uint8_t *phys, const Dict **dict) {
    const QueryPlan *plan = f->vm->env.plan;
    const Source *s = &f->vm->p->source;
    *dict = NULL;
    switch (s->kind) {
    case SRC_ROWS: {
        const CellSpec *c = &f->src.layout->cols[imm];
        *phys = c->phys;
        *dict = c->dict;
        break;
    }
    case SRC_AGG: {
        const AggSpec *a = &plan->aggs[s->id];
        if (imm < a->n_keys) {
            *phys = a->keys[imm].phys;
            *dict = a->keys[imm].dict;
        } else {
            *phys = a->aggs[imm - a->n_keys].out_phys;
        }
        break;
    }
    default: *phys = PH_I64;
    }
}
static void build_column(const JoinSpec *j, int64_t imm, uint8_t *phys, const Dict **dict) {
    if (imm < j->n_payload) {
        *phys = j->payload[imm].phys;
        *dict = j->payload[imm].dict;
    } else {
        *phys = j->keys[imm - j->n_payload].phys;
        *dict = j->keys[imm - j->n_payload].dict;
    }
}

/* Cells of `from` in v (as loaded) to the register's phys in `home`. */
static RunResult convert(Frame *f, int64_t n, const Vec *v, const Dict *dict, uint8_t to, void *home) {
    if (to == PH_STR && v->phys == PH_I32 && dict) {
        const int32_t *code = v->data;
        Str *d = home;
        for (int64_t i = 0; i < n; i++)
            d[i] = (v->valid && !v->valid[i]) || code[i] < 0 || code[i] >= dict->n ? str_make("", 0)
                                                                                   : dict->entries[code[i]];
        return RUN_NEXT;
    }
    VmUn k = f->k->cvt[v->phys][to];
    if (!k) {
        err_internal(&f->err, "cannot load a column of %s as %s", phys_name((Phys)v->phys), phys_name((Phys)to));
        return RUN_FAILED;
    }
    k(n, v->data, home); /* values fit by the plan's ranges */
    return RUN_NEXT;
}

static RunResult load_table(Frame *f, const Step *s, Vec *d) {
    const Table *t = f->vm->p->source.table;
    int col = (int)s->in->imm;
    const TabletColumn *tc = &f->src.tablet->cols[col];
    uint8_t phys = s->dphys;
    bool no_nulls = !tc->validity;
    d->is_const = false;
    d->valid = NULL;
    if (no_nulls && !f->pos && !tc->stride && !tc->patches && tc->encoding == ENC_PLAIN && tc->phys == phys) {
        d->data = (void *)(uintptr_t)((const char *)tc->data + (f->first << s->size));
        return RUN_NEXT;
    }
    void *home = frame_home(f, s->dst);
    if (UNLIKELY(!home)) return RUN_FAILED;
    d->data = home;
    if (no_nulls && tc->encoding == ENC_FOR && tc->width == 0 && !tc->is_delta && !tc->patches && phys <= PH_I64) {
        switch (phys) {
        case PH_BOOL: *(uint8_t *)home = (uint8_t)tc->base; break;
        case PH_I16: *(int16_t *)home = (int16_t)tc->base; break;
        case PH_I32: *(int32_t *)home = (int32_t)tc->base; break;
        default: *(int64_t *)home = tc->base;
        }
        d->is_const = true;
        return RUN_NEXT;
    }
    uint8_t *valid = NULL;
    if (!no_nulls && !(valid = frame_valid(f, s->dst))) return RUN_FAILED;
    bool nulls = false;
    tablet_decode(t, f->src.tablet, col, f->first, f->pos, f->n, phys, home, valid, &nulls);
    if (nulls) d->valid = valid;
    return RUN_NEXT;
}

/* A batch's cells: its own, or those at f->pos. The register has the column's phys. */
static RunResult load_stream(Frame *f, const Step *s, Vec *d) {
    const Vec *v = &f->src.stream[s->in->imm];
    int64_t size = phys_size((Phys)s->dphys);
    if (v->phys != s->dphys) {
        err_internal(&f->err, "cannot load a column of %s as %s", phys_name((Phys)v->phys), phys_name((Phys)s->dphys));
        return RUN_FAILED;
    }
    d->is_const = false;
    d->valid = NULL;
    if (!f->pos) {
        d->data = (char *)v->data + f->first * size;
        if (v->valid) d->valid = v->valid + f->first;
        return RUN_NEXT;
    }
    void *home = frame_home(f, s->dst);
    uint8_t *valid = frame_valid(f, s->dst);
    if (!home || !valid) return RUN_FAILED;
    f->k->gather[s->size](f->n, v->data, f->pos, home);
    d->data = home;
    if (!v->valid) return RUN_NEXT;
    f->k->gather[SZ_1](f->n, v->valid, f->pos, valid);
    d->valid = valid;
    return RUN_NEXT;
}

RunResult step_load(Frame *f, const Step *s) {
    Vec *d = &f->regs[s->dst];
    const Vm *vm = f->vm;
    if (vm->p->source.kind == SRC_TABLE && !vm->env.load) return load_table(f, s, d);
    if (vm->p->source.kind == SRC_STREAM && !vm->env.load) return load_stream(f, s, d);
    void *home = frame_home(f, s->dst);
    uint8_t *valid = frame_valid(f, s->dst);
    if (!home || !valid) return RUN_FAILED;
    d->is_const = false;
    d->data = home;
    d->valid = valid;
    if (vm->env.load) return vm->env.load(f, s->in, d) == ST_OK ? RUN_NEXT : RUN_FAILED;

    uint8_t phys;
    const Dict *dict;
    column_of(f, s->in->imm, &phys, &dict);
    Vec v = *d;
    v.phys = phys;
    if (phys != s->dphys) v.data = f->cells;
    switch (vm->p->source.kind) {
    case SRC_ROWS: rows_load(f->src.layout, (int32_t)s->in->imm, &f->src.run, f->first, f->pos, f->n, &v); break;
    case SRC_AGG:
        if (agg_load(f->src.agg, (int32_t)s->in->imm, &f->src.morsel, f->first, f->pos, f->n, &v, f->batch, &f->err) !=
            ST_OK)
            return RUN_FAILED;
        break;
    case SRC_JOIN: {
        const int64_t *rows = f->src.build_rows + f->first;
        build_column(&vm->env.plan->joins[vm->p->source.id], s->in->imm, &v.phys, &dict);
        v.data = v.phys != s->dphys ? f->cells : home;
        if (f->pos) {
            f->k->gather[SZ_8](f->n, f->src.build_rows, f->pos, f->longs);
            rows = f->longs;
        }
        join_load(f->src.join, (int32_t)s->in->imm, f->n, rows, &v);
        break;
    }
    case SRC_SERIES: {
        const Source *src = &vm->p->source;
        int64_t *out = home;
        v.valid = NULL;
        uint64_t base = (uint64_t)src->start + (uint64_t)f->src.series_base * (uint64_t)src->step;
        if (f->pos)
            for (int64_t i = 0; i < f->n; i++) out[i] = (int64_t)(base + (uint64_t)f->pos[i] * (uint64_t)src->step);
        else f->k->iota(f->n, (int64_t)(base + (uint64_t)f->first * (uint64_t)src->step), src->step, out);
        break;
    }
    default: err_internal(&f->err, "load from a source without columns"); return RUN_FAILED;
    }
    d->valid = v.valid;
    if (v.phys == s->dphys) {
        d->data = v.data;
        return RUN_NEXT;
    }
    return convert(f, f->n, &v, dict, s->dphys, home);
}

RunResult step_load_rowid(Frame *f, const Step *s) {
    Vec *d = &f->regs[s->dst];
    int64_t *out = frame_home(f, s->dst);
    if (!out) return RUN_FAILED;
    d->data = out;
    d->valid = NULL;
    d->is_const = false;
    int64_t hi = f->src.unit << 32;
    if (f->pos)
        for (int64_t i = 0; i < f->n; i++) out[i] = hi | f->pos[i];
    else f->k->iota(f->n, hi + f->first, 1, out);
    return RUN_NEXT;
}

RunResult step_load_build(Frame *f, const Step *s) {
    const Vec *rows = frame_dense(f, s->a);
    Vec *d = &f->regs[s->dst];
    void *home = frame_home(f, s->dst);
    uint8_t *valid = frame_valid(f, s->dst);
    if (!rows || !home || !valid) return RUN_FAILED;
    uint8_t phys;
    const Dict *dict = NULL;
    build_column(s->join_spec, s->in->imm, &phys, &dict);
    Vec v = *d;
    v.is_const = false;
    v.phys = phys;
    v.data = phys == s->dphys ? home : f->cells;
    v.valid = valid;
    join_load(s->join, (int32_t)s->in->imm, f->n, rows->data, &v);
    d->is_const = false;
    d->valid = v.valid;
    if (phys == s->dphys) {
        d->data = v.data;
        return RUN_NEXT;
    }
    d->data = home;
    return convert(f, f->n, &v, dict, s->dphys, home);
}
