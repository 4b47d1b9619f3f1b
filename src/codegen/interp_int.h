/* interp_int.h - inside of the bytecode compiler. Only src/codegen/interp*.c may include it.
 *
 *   interp.c        instructions, registers, labels
 *   interp_sink.c   sinks, finishing kernels' tables
 */
#ifndef STELE_CODEGEN_INTERP_INT_H
#define STELE_CODEGEN_INTERP_INT_H

#include "codegen/emit_int.h"
#include "codegen/interp.h"
#include "codegen/prelude/interp/ki_codes.h"

typedef struct Ref { /* a word that names a place in the code: patched when labels are known */
    bool in_table;
    int32_t word, label;
} Ref;
typedef struct Loop {
    int32_t again, end;
} Loop; /* label where the next candidate is tried; last instruction of the program inside */

typedef struct ProbeCode {
    uint32_t table;
    int32_t behind;
} ProbeCode; /* place of its table, label of what comes after it */

typedef struct Bc {
    const EmitPlan *ep;
    EmitForms *forms;
    const QueryPlan *plan;
    const Program *prog;
    const RegForm *regs;
    Arena *arena;
    int32_t segment;
    bool last;
    int32_t pc;          /* of the program */
    bool ends;           /* what follows is never reached */
    VEC(uint32_t) code;  /* instructions */
    VEC(uint32_t) table; /* everything else; its first word is word BH_WORDS of the result */
    uint32_t head[BH_WORDS];
    VEC(Ref) refs;
    VEC(int32_t) labels; /* instruction numbers */
    VEC(Loop) loops;     /* open ones */
    VEC(EmitParam) params;
    VEC(int32_t) cols;
    int32_t *until;        /* per register of the program: the instruction up to which its value is wanted */
    uint8_t *slot;         /* and where it is */
    int32_t busy[BC_REGS]; /* per machine register: the instruction up to which it is taken, -1 free */
    ProbeCode *probes;     /* by the number of the instruction that begins it */
    uint32_t kernels;
    const char *reason;
    bool oom;
} Bc;

uint32_t bc_param(Bc *b, ParamKind kind, int32_t id, int32_t col, const Dict *dict);
/* Room for n zeroed words; its place in the result. */
uint32_t bc_table(Bc *b, uint32_t n);
#define TABLE(b, place) ((b)->table.items[(place)-BH_WORDS])
/* The machine register of an operand: constants are loaded into one that stays taken up to instruction `until`. `text`:
 * as a string, not as a code. */
uint32_t bc_use(Bc *b, Reg r, bool text, int32_t until);
uint32_t bc_keys(Bc *b, const Reg *regs, int32_t join, int32_t until);
#define BC_PARAM(b, kind, id, col) bc_param((b), (kind), (id), (col), NULL)

void bc_sink(Bc *b);   /* interp_sink.c */
void bc_finish(Bc *b); /* tables of join_build and of the sort kernels */

#endif
