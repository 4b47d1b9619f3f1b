/* vm_kernels_avx2.c - the loops of vm_kernels.inc for x86-64-v3. */
#if defined(__x86_64__)
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#pragma GCC target("sse4.2,avx,avx2,bmi,bmi2,lzcnt,popcnt,movbe")
#define VM_KERNELS vm_kernels_avx2
#define VM_KERNELS_NAME "avx2"
#include "exec/vm_kernels.inc"
#else
typedef int vm_kernels_avx2_absent; /* ISO C requires a declaration */
#endif
