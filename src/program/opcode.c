/* opcode.c - the opcode catalogue as data, from OPCODE_TABLE. */
#include "program/opcode.h"

const OpInfo op_info[OP_COUNT_] = {
#define X(name, shape, phys, nulls, flags, exec) [OP_##name] = {#name, (shape), (nulls), (flags), (exec), (phys)},
    OPCODE_TABLE(X)
#undef X
};
