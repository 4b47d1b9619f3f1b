/* opcode.h - the opcode catalogue: one table (opcodes.def) that generates everything else.
 *
 * An opcode is a family (OP_ADD); the instruction's `phys` picks the variant
 * (ADD on PH_I64). Columns of opcodes.def:
 *
 *   name     enum suffix and, in lower case, EXPLAIN text
 *   shape    operands: how the verifier, the printer and dispatch read an instruction
 *            (see enum OpShape)
 *   phys     bit set of the PH_* variants it exists for, in terms of its operand a (or of its
 *            result, for loads)
 *   nulls    NN strict: result is NULL where any operand is; N3 three-valued logic;
 *            NV result is never NULL; NX by its own rule
 *   flags    F_FAIL may raise a data error; F_ROWS changes the set of rows (its `carry` list says
 *            which registers move along); F_BLOCK opens, continues or closes a block
 *   effect   what running it may read or change (see enum OpEffect): passes over programs use this, never ranges
 *            of opcodes
 *
 * Arithmetic exists checked (22003 on overflow) and unchecked (_N): the lowering emits
 * the latter where value ranges prove that overflow cannot happen.
 */
#ifndef STELE_TYPES_OPCODE_H
#define STELE_TYPES_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum OpShape {
    SH_NONE,  /* no operands */
    SH_D,     /* dst <- aux/imm */
    SH_DA,    /* dst <- a */
    SH_DAB,   /* dst <- a, b */
    SH_DABC,  /* dst <- a, b, c */
    SH_A,     /* reads a */
    SH_LIST,  /* dst <- args[] (in aux) */
    SH_AB,    /* reads a, b */
    SH_PROBE, /* join probe: keys in aux, dst = build row register */
    SH_BLOCK  /* block bracket */
} OpShape;

#define PB(p) (1u << (p))
#define P_INT (PB(1) | PB(2) | PB(3) | PB(4)) /* I16 I32 I64 I128 */
#define P_BITS (PB(1) | PB(2) | PB(3))        /* I16 I32 I64 */
#define P_FLT (PB(5) | PB(6))                 /* F32 F64 */
#define P_NUM (P_INT | P_FLT)
#define P_STR PB(7)
#define P_BOOL PB(0)
#define P_ALL (P_BOOL | P_NUM | P_STR | PB(8) | PB(9)) /* and INTERVAL, UUID */

enum { NN, N3, NV, NX };
enum { F_FAIL = 1, F_ROWS = 2, F_BLOCK = 4, F_SOURCE = 8 };

typedef enum OpEffect {
    EF_NONE,
    EF_SOURCE,    /* reads the source at the current rows */
    EF_PURE,      /* a value of its operands alone */
    EF_COMPARE,   /* likewise: BOOL of two operands by an ordering */
    EF_CALL,      /* a function by aux CallSite, which says whether it is volatile and may fail */
    EF_BODY,      /* brackets of conditional evaluation */
    EF_JOIN,      /* probes, or reads, the build side of a join */
    EF_STORE,     /* writes a variable of the call */
    EF_BUFFER,    /* a buffer of rows that the call has for itself */
    EF_ROW_READ,  /* reads rows of a table, or an index of it */
    EF_CAUGHT,    /* reads what a handler of the call caught */
    EF_ROW_WRITE, /* writes rows of a table */
    EF_RAISE,     /* an error or a notice of the call */
    EF_ITEM,      /* an entry of the call's access set */
    EF_LOCK,      /* takes or releases statement locks */
    EF_CONTROL    /* a statement of a procedure: which calls go on where */
} OpEffect;

typedef enum Opcode {
#define X(name, shape, phys, nulls, flags, effect) OP_##name,
#include "types/opcodes.def"
#undef X
    OP_COUNT_
} Opcode;

typedef struct OpInfo {
    const char *name;
    uint8_t shape, nulls, flags, effect;
    uint32_t phys;
} OpInfo;
extern const OpInfo op_info[OP_COUNT_];

static inline OpEffect op_effect(int op) { return (OpEffect)op_info[op].effect; }
/* The result depends on the operands and on nothing else. */
static inline bool op_is_pure(int op) { return op_effect(op) == EF_PURE || op_effect(op) == EF_COMPARE; }
static inline bool op_is_comparison(int op) { return op_effect(op) == EF_COMPARE; }
static inline bool op_is_row_read(int op) { return op_effect(op) == EF_ROW_READ; }
static inline bool op_is_row_write(int op) { return op_effect(op) == EF_ROW_WRITE; }
/* A statement that says which calls go on where: IF, loops, blocks, RETURN of procedures. */
static inline bool op_is_control(int op) { return op_effect(op) == EF_CONTROL; }
/* For programs of procedures only, whose rows are calls. */
static inline bool op_is_of_calls(int op) { return op_effect(op) >= EF_STORE; }
/* Leaves something behind the instruction other than its result. */
static inline bool op_has_effect(int op) {
    OpEffect e = op_effect(op);
    return e == EF_STORE || e == EF_BUFFER || e == EF_ROW_WRITE || e == EF_RAISE || e == EF_ITEM || e == EF_LOCK;
}

#endif
