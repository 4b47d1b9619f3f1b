/* operands.h - walking an instruction's operands without knowing its opcode.
 *
 * Everything that treats instructions alike (liveness, verifier, printer, the executors' preparation) goes
 * through instr_use(), so that an opcode's operand list is written down once: its shape in the catalogue and,
 * for lists, its aux structure.
 */
#ifndef STELE_PROGRAM_OPERANDS_H
#define STELE_PROGRAM_OPERANDS_H

#include "program/program.h"

/* Registers listed in the aux structure; *n may be 0. */
static inline const Reg *instr_list(const Instr *in, int32_t *n) {
    *n = 0;
    if (!in->aux) return NULL;
    switch (in->op) {
    case OP_CALL: *n = ((const CallSite *)in->aux)->n_args; return ((const CallSite *)in->aux)->args;
    case OP_KEY_PACK: *n = ((const KeyPack *)in->aux)->n; return ((const KeyPack *)in->aux)->args;
    case OP_PROBE:
    case OP_PROBE_BEGIN: *n = ((const ProbeSite *)in->aux)->n_keys; return ((const ProbeSite *)in->aux)->keys;
    case OP_ROW_FIND:
    case OP_ROW_FIRST:
        *n = ((const RowKey *)in->aux)->n + ((const RowKey *)in->aux)->bounded;
        return ((const RowKey *)in->aux)->args;
    case OP_BUF_ADD: {
        const BufferRow *r = (const BufferRow *)in->aux;
        *n = r->spec->n_keys + r->spec->n_cols + 1;
        return r->args;
    }
    case OP_ROW_INSERT: *n = ((const RowInsert *)in->aux)->n; return ((const RowInsert *)in->aux)->args;
    case OP_NOTICE: /* begins with a RaiseSite */
    case OP_RAISE: *n = ((const RaiseSite *)in->aux)->n; return ((const RaiseSite *)in->aux)->args;
    case OP_LOCK:
    case OP_ITEM:
        *n = ((const ItemSite *)in->aux)->n +
             (((const ItemSite *)in->aux)->has_amount || ((const ItemSite *)in->aux)->fetch_add);
        return ((const ItemSite *)in->aux)->args;
    default: return NULL;
    }
}
/* The k-th register the instruction reads; 0 for an unused place, -1 after the last one. */
static inline Reg instr_use(const Instr *in, int32_t k) {
    if (k == 0) return in->a;
    if (k == 1) return in->b;
    if (k == 2) return in->c;
    int32_t n;
    const Reg *list = instr_list(in, &n);
    return k - 3 < n ? list[k - 3] : -1;
}
/* The k-th register a sink reads; 0 for an unused place, -1 after the last one. */
static inline Reg sink_use(const Sink *s, int32_t k) {
    if (k < s->n_keys) return s->keys[k];
    k -= s->n_keys;
    if (k < s->n_regs) return s->regs[k];
    k -= s->n_regs;
    if (s->regs2 && k < s->n_regs) return s->regs2[k];
    return -1;
}

/* A probe that leaves the set of rows as it is: may stand inside bodies and moves no registers. */
static inline bool probe_keeps_rows(uint8_t kind) { return kind == PK_MARK || kind == PK_SINGLE; }
/* The row register of a PROBE_BEGIN stays alive behind its PROBE_END. */
static inline bool probe_has_rows(uint8_t kind) { return kind == PK_INNER || kind == PK_LEFT || kind == PK_SINGLE; }

#endif
