/* opcode.c - the opcode catalogue as data, from opcodes.def. */
#include "types/opcode.h"

const OpInfo op_info[OP_COUNT_] = {
#define X(name, shape, phys, nulls, flags, effect) \
    [OP_##name] = {#name, (shape), (nulls), (flags), EF_##effect, (phys)},
#include "types/opcodes.def"
#undef X
};
