/* prelude.h - the kernel C prelude as text (codegen/prelude/README.md). */
#ifndef STELE_CODEGEN_PRELUDE_H
#define STELE_CODEGEN_PRELUDE_H

#include <stdint.h>

/* All prelude headers in order, NUL-terminated, embedded at build time. Goes after `#define N_PARAMS n` (and
 * GROUP_SIZE, ERR_PARAM) and before generated kernels. */
extern const char kernel_prelude_text[];

/* The line that stands for the prelude in a source given to the code cache: hot lookups need not hash 90 kB. */
#define KERNEL_PRELUDE_INCLUDE "#include \"kernel_c.h\"\n"

/* Parts: further kernel C that a source takes in where it has the line KERNEL_PART(name), as often as it has it
 * (kp_find is a template). kc_channel: channels between kernels; kc_sort: the kernels of a sort; kc_make, kc_order:
 * what kernels of procedures need that make strings, or whose tables have ordered groups. kp_*: prelude/txn, how
 * kernels of procedures run. kp_base is the first of these. */
/* clang-format off */
#define KERNEL_PARTS(PART) \
    PART(kc_channel) \
    PART(kc_sort) \
    PART(kc_make) \
    PART(kc_order) \
    PART(kp_base) \
    PART(kp_rows) \
    PART(kp_call_locks) \
    PART(kp_slots) \
    PART(kp_find) \
    PART(kp_enter) \
    PART(kp_calls) \
    PART(kp_hot) \
    PART(kp_ops) \
    PART(kp_foot) \
    PART(kp_statement_locks) \
    PART(kp_dequeue) \
    PART(kp_parallel) \
    PART(kp_parallel_loop) \
    PART(kp_run_statement) \
    PART(kp_run_warp) \
    PART(kp_run) \
    PART(kp_undo)
/* clang-format on */
#define KERNEL_PART(name) "#include \"" #name ".h\"\n"
#define KERNEL_PART_TEXT(name) extern const char kernel_##name##_text[];
KERNEL_PARTS(KERNEL_PART_TEXT)
#undef KERNEL_PART_TEXT

/* The source as compilers get it: such lines replaced by what they stand for; of parts of the prelude/txn folder, and
 * of the source behind them, compilers name the right lines. malloc'ed; NULL when memory is short. */
char *kernel_source_expand(const char *source);
/* A number that changes with the prelude and with any of the parts. */
uint64_t kernel_texts_hash(void);

#endif
