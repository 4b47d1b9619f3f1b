/* vm_kernels_avx512.c - the loops of vm_kernels.inc for x86-64-v4. */
#if defined(__x86_64__)
#pragma GCC optimize("O3", "no-trapping-math", "no-math-errno")
#pragma GCC target( \
    "sse4.2,avx,avx2,bmi,bmi2,lzcnt,popcnt,movbe,avx512f,avx512bw,avx512dq,avx512vl,avx512cd,prefer-vector-width=512")
#define VM_KERNELS vm_kernels_avx512
#define VM_KERNELS_NAME "avx512"
#include "exec/vm_kernels.inc"
#else
typedef int vm_kernels_avx512_absent; /* ISO C requires a declaration */
#endif
