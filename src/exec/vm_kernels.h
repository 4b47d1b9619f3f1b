/* vm_kernels.h - the inner loops of the virtual machine, one table per instruction set.
 *
 * vm_kernels.inc holds every loop once; vm_kernels_base.c, _avx2.c and _avx512.c compile it for
 * x86-64-v2, v3 and v4 and export a table each. vm_kernels() picks the best that the processor has,
 * once; vm_set_isa() and the environment variable STELE_ISA force one. On other architectures there is only the base
 * table.
 *
 * Loops run over all n cells, those of NULL rows included (their data is defined, see func.h). A loop that can fail
 * returns non-zero if any cell failed; the caller then looks for the first failing row that is not
 * NULL with the table `bad`. Inputs and outputs do not overlap, with one exception: gather may compact
 * in place, because its indices ascend and dst[i] is written after src[idx[i]], idx[i] >= i, is read.
 */
#ifndef STELE_EXEC_VM_KERNELS_H
#define STELE_EXEC_VM_KERNELS_H

#include "exec/vm.h"
#include "program/program.h"

typedef uint32_t (*VmBin)(int64_t n, const void *a, const void *b, void *d);
typedef uint32_t (*VmUn)(int64_t n, const void *a, void *d);
typedef void (*VmSelect)(int64_t n, const uint8_t *c, const void *a, const void *b, void *d);
enum { BIN_VV, BIN_VC, BIN_CV }; /* operands: vector or one constant cell */
enum { SEL_VV, SEL_VC, SEL_CV, SEL_CC };
enum { SZ_1, SZ_2, SZ_4, SZ_8, SZ_16, SZ_COUNT_ }; /* log2 of the cell size */

typedef struct VmKernels {
    const char *name;
    VmBin bin[OP_COUNT_][PH_COUNT_][3]; /* DISTINCT: as NE */
    VmUn un[OP_COUNT_][PH_COUNT_];
    VmUn cvt[PH_COUNT_][PH_COUNT_]; /* [from][to] */
    /* dst[i] = src[idx[i]] */
    void (*gather[SZ_COUNT_])(int64_t n, const void *src, const int32_t *idx, void *dst);
    void (*fill[SZ_COUNT_])(int64_t n, const void *cell, void *dst);
    VmSelect select[SZ_COUNT_][4];
    /* Indices of rows where b (and valid, when given) is set; out has room for n + 16. */
    int64_t (*true_rows)(int64_t n, const uint8_t *b, const uint8_t *valid, int32_t *out);
    int64_t (*ge0_rows)(int64_t n, const int64_t *m, int32_t *out); /* m[i] >= 0 */
    int64_t (*lt0_rows)(int64_t n, const int64_t *m, int32_t *out);
    /* Three-valued logic: results and their validity; va, vb may be NULL. */
    void (*and3)(int64_t n, const uint8_t *a, const uint8_t *va, const uint8_t *b, const uint8_t *vb, uint8_t *d,
                 uint8_t *vd);
    void (*or3)(int64_t n, const uint8_t *a, const uint8_t *va, const uint8_t *b, const uint8_t *vb, uint8_t *d,
                uint8_t *vd);
    /* d |= (a == value), over a small set of values. */
    void (*in_small[PH_COUNT_])(int64_t n, const void *a, const void *values, int64_t n_values, uint8_t *d);
    /* d = mask[a - base], 0 outside of [base, base + range) */
    void (*in_bytes[PH_COUNT_])(int64_t n, const void *a, int64_t base, int64_t range, const uint8_t *mask, uint8_t *d);
    void (*code_test)(int64_t n, const int32_t *a, const uint8_t *mask, uint8_t *d);
    /* KEY_PACK: acc += (a - base) << shift; bad |= out of [0, max]. */
    void (*pack[PH_COUNT_])(int64_t n, const void *a, uint64_t base, uint64_t max, int shift, uint64_t *acc,
                            uint8_t *bad);
    /* Dates of years 1 to 700,000 or so: field of DF_YEAR, DF_MONTH, DF_DAY, DF_QUARTER. Non-zero: some row is outside.
     */
    uint32_t (*date_part)(int64_t n, int field, const int32_t *days, int32_t *d);
    /* RESCALE by a power of ten that fits: up (checked against limit) and down (rounded half away). */
    uint32_t (*scale_up)(int64_t n, const int64_t *a, int64_t factor, int64_t limit, int64_t *d);
    uint32_t (*scale_down)(int64_t n, const int64_t *a, int64_t factor, int64_t limit, int64_t *d);
    /* |a| < limit everywhere? */
    uint32_t (*digits)(int64_t n, const int64_t *a, int64_t limit);
    /* a / 10^s as double; non-zero if some |a| >= 2^53 */
    uint32_t (*num_to_f64)(int64_t n, const int64_t *a, double power, double *d);
    /* d = match[i] >= 0 */
    void (*match_bool)(int64_t n, const int64_t *m, uint8_t *d);
    void (*offset_rows)(int64_t n, const int32_t *pos, int32_t first, int32_t *out); /* out = pos + first */
    void (*iota)(int64_t n, int64_t first, int64_t step, int64_t *d);
} VmKernels;

extern const VmKernels vm_kernels_base;
#if defined(__x86_64__)
extern const VmKernels vm_kernels_avx2, vm_kernels_avx512;
#endif

const VmKernels *vm_kernels(void);
#endif
