/* prelude.h - the kernel C prelude as text (codegen/prelude/README.md). */
#ifndef STELE_CODEGEN_PRELUDE_H
#define STELE_CODEGEN_PRELUDE_H

/* All prelude headers in order, NUL-terminated, embedded at build time. Goes after `#define N_PARAMS n` (and
 * GROUP_SIZE, ERR_PARAM) and before generated kernels. */
extern const char kernel_prelude_text[];
/* kc_make.h: what procedures' kernels that make strings have behind it. */
extern const char kernel_make_text[];
/* kc_order.h: what procedures' kernels on tables with ordered groups have behind it. */
extern const char kernel_order_text[];

/* The line that stands for the prelude in a source given to the code cache: hot lookups need not hash 90 kB. */
#define KERNEL_PRELUDE_INCLUDE "#include \"kernel_c.h\"\n"
/* The source as compilers get it: the first such line replaced by the prelude. malloc'ed; NULL when memory is short. */
char *kernel_source_expand(const char *source);

#endif
