/* emit_param.c - parameters of kernels that follow from the program alone: values, and data that addresses point at.
 * One catalogue for segments and procedures; where the data lies is their executors' business. */
#include "codegen/emit_int.h"
#include "codegen/like_code.h"

/* ---- values ---- */
/* Of the constant's cell: 0 low, 1 high; of a string 1 is the length. */
static uint64_t const_limb(const RegInfo *ri, int32_t limb) {
    const void *c = value_cell_const(&ri->value);
    uint64_t v[2] = {0, 0};
    if (ri->value.is_null) return 0;
    switch (ri->phys) {
    case PH_F32: {
        float f;
        double d;
        memcpy(&f, c, 4);
        d = (double)f;
        memcpy(v, &d, 8);
        break;
    }
    case PH_STR: v[1] = ((const Str *)c)->len; break;
    case PH_BOOL: v[0] = *(const uint8_t *)c; break;
    case PH_I16: v[0] = (uint64_t)(int64_t) * (const int16_t *)c; break;
    case PH_I32: v[0] = (uint64_t)(int64_t) * (const int32_t *)c; break;
    default: memcpy(v, c, (size_t)phys_size((Phys)ri->phys));
    }
    return v[limb & 1];
}

/* The address of a constant's string. */
static bool is_text(const Program *prog, const EmitParam *p) {
    return p->kind == KP_CONST && prog->regs[p->id].phys == PH_STR && p->col == 0;
}

bool emit_program_value(const Program *prog, const EmitParam *p, uint64_t *out) {
    *out = 0;
    switch (p->kind) {
    case KP_CONST:
        if (is_text(prog, p)) return false;
        *out = const_limb(&prog->regs[p->id], p->col);
        return true;
    case KP_SET_N: *out = (uint64_t)((const InSet *)prog->instrs[p->id].aux)->n; return true;
    case KP_MASK_BITS: {
        const CodeMask *m = prog->instrs[p->id].aux;
        for (int64_t i = 0; i < m->n && i < 64; i++) *out |= (uint64_t)(m->mask[i] != 0) << i;
        return true;
    }
    default: return false;
    }
}

/* Bounds of a range test in the type it is made in; empty ranges stay empty. */
static void range_bounds(const TabCol *c, const RangeTest *t, int64_t *lo, int64_t *hi) {
    *lo = t->lo;
    *hi = t->hi;
    if (!c || !c->fits32) return;
    if (*lo > *hi || *lo > INT32_MAX || *hi < INT32_MIN) {
        *lo = 1;
        *hi = 0;
        return;
    }
    *lo = MAX_OF(*lo, (int64_t)INT32_MIN);
    *hi = MIN_OF(*hi, (int64_t)INT32_MAX);
}

bool emit_param_value(const EmitPlan *ep, int32_t segment, const EmitParam *p, uint64_t *out) {
    const Program *prog = ep->plan->segments[segment].program;
    if (emit_program_value(prog, p, out)) return true;
    switch ((ParamKind)p->kind) {
    case KP_LO:
    case KP_HI: {
        const Instr *in = &prog->instrs[p->id];
        int64_t lo, hi;
        const TabCol *c = NULL;
        for (int64_t i = 0; i < ep->forms->cols.len && !c; i++)
            if (ep->forms->cols.items[i].table == prog->source.table && ep->forms->cols.items[i].col == in->imm)
                c = &ep->forms->cols.items[i];
        range_bounds(c, in->aux, &lo, &hi);
        *out = (uint64_t)(p->kind == KP_LO ? lo : hi);
        return true;
    }
    case KP_JOIN_MIN: *out = (uint64_t)ep->joins[p->id].min; return true;
    case KP_JOIN_DOM: *out = (uint64_t)ep->joins[p->id].dom; return true;
    case KP_AGG_KEY_MIN: *out = (uint64_t)ep->aggs[p->id].key_min[p->col]; return true;
    case KP_SEQ_BASE: *out = (uint64_t)segment << 44; return true;
    case KP_SERIES_START: *out = (uint64_t)prog->source.start; return true;
    case KP_SERIES_STEP: *out = (uint64_t)prog->source.step; return true;
    case KP_LIMIT: *out = (uint64_t)prog->sink.limit; return true;
    default: return false;
    }
}

/* ---- data ---- */
int64_t emit_param_strings(const Program *prog, const EmitParam *p, const Str **out) {
    *out = NULL;
    if (is_text(prog, p) && !prog->regs[p->id].value.is_null) {
        *out = &prog->regs[p->id].value.u.str;
        return 1;
    }
    if (p->kind == KP_SET && prog->instrs[p->id].phys == PH_STR) {
        const InSet *set = prog->instrs[p->id].aux;
        *out = set->cells;
        return set->n;
    }
    if (p->kind == KP_MAP_CELLS && prog->regs[prog->instrs[p->id].dst].phys == PH_STR) {
        const CodeMap *m = prog->instrs[p->id].aux;
        *out = m->cells;
        return m->n;
    }
    return 0;
}
static int64_t put(void *to, const void *from, int64_t bytes) {
    if (to && bytes > 0) memcpy(to, from, (size_t)bytes);
    return bytes;
}
/* Cells (address, length), then the bytes of all. Entries that are NULL are empty. */
static int64_t put_strings(const Str *s, const uint8_t *valid, int64_t n, uint64_t address, char *to) {
    int64_t bytes = n * EMIT_STR_BYTES;
    for (int64_t i = 0; i < n; i++) {
        const int64_t len = valid && !valid[i] ? 0 : s[i].len;
        const uint64_t cell[2] = {address + (uint64_t)bytes, (uint64_t)len};
        (void)put(to ? to + i * EMIT_STR_BYTES : NULL, cell, EMIT_STR_BYTES);
        bytes += put(to ? to + bytes : NULL, s[i].ptr, len);
    }
    return bytes;
}
int64_t emit_param_data(const Program *prog, const EmitParam *p, uint64_t address, void *to) {
    const Str *strings;
    const int64_t n = emit_param_strings(prog, p, &strings);
    if (p->kind == KP_CONST) return !is_text(prog, p) ? -1 : n > 0 ? put(to, strings->ptr, strings->len) : 0;
    switch (p->kind) {
    case KP_MASK: {
        const CodeMask *m = prog->instrs[p->id].aux;
        return put(to, m->mask, m->n + 1);
    }
    case KP_MAP_CELLS: {
        const CodeMap *m = prog->instrs[p->id].aux;
        if (strings) return put_strings(strings, m->valid, n, address, to);
        return put(to, m->cells, m->n * phys_size((Phys)prog->regs[prog->instrs[p->id].dst].phys));
    }
    case KP_MAP_VALID: {
        const CodeMap *m = prog->instrs[p->id].aux;
        return m->valid ? put(to, m->valid, m->n) : 0;
    }
    case KP_SET: {
        const InSet *set = prog->instrs[p->id].aux;
        if (strings) return put_strings(strings, NULL, n, address, to);
        return put(to, set->cells, set->n * phys_size((Phys)prog->instrs[p->id].phys));
    }
    case KP_LIKE:
        if (to) like_encode(prog->instrs[p->id].aux, to);
        return like_encoded_bytes(prog->instrs[p->id].aux);
    default: return -1;
    }
}
