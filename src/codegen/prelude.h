/* prelude.h - the kernel C prelude as text (codegen/prelude/README.md). */
#ifndef STELE_CODEGEN_PRELUDE_H
#define STELE_CODEGEN_PRELUDE_H

/* All prelude headers in order, NUL-terminated, embedded at build time. Goes after `#define N_PARAMS n` (and GROUP_SIZE, ERR_PARAM) and
 * before generated kernels. */
extern const char kernel_prelude_text[];

#endif
