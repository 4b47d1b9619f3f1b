/* vm_kernels_base.c - the loops of vm_kernels.inc for every processor (x86-64-v2 where that exists), and the choice
 * among the tables. */
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#if defined(__x86_64__)
#pragma GCC target("sse4.2,popcnt")
#endif
#define VM_KERNELS vm_kernels_base
#define VM_KERNELS_NAME "baseline"
#include "exec/vm_kernels.inc"

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(const VmKernels *) chosen;

static const VmKernels *find(const char *name) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (v4 && (!name || strcmp(name, "avx512") == 0)) return &vm_kernels_avx512;
    if (v3 && (!name || strcmp(name, "avx2") == 0)) return &vm_kernels_avx2;
#endif
    return !name || strcmp(name, "baseline") == 0 ? &vm_kernels_base : NULL;
}

bool vm_set_isa(const char *name) {
    const VmKernels *k = find(name);
    if (!k) return false;
    atomic_store(&chosen, k);
    return true;
}

const VmKernels *vm_kernels(void) {
    const VmKernels *k = atomic_load_explicit(&chosen, memory_order_acquire);
    if (LIKELY(k)) return k;
    if (!(k = find(getenv("STELE_ISA")))) k = find(NULL);
    atomic_store(&chosen, k); /* racing threads store the same */
    return k;
}

const char *vm_isa(void) { return vm_kernels()->name; }
