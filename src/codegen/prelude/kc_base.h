/* kc_base.h - kernel C: one vocabulary for C17 (gcc, clang), CUDA C++ (NVRTC) and OpenCL C 1.2 and later.
 *
 * Types, address spaces, kernel signature, group and item numbers, barriers, atomics, append, packed loads. No standard
 * header is included, since NVRTC has none and a kernel should compile fast. KC_HOST, KC_CUDA or KC_OPENCL is defined
 * by what compiles it.
 *
 * Addresses are u64. Pointers appear only where the compiler must know the address space: results (`PRIV T *`) and
 * local memory
 * (`LOCAL T *`). The contract is README.md of this folder.
 */
#ifndef KC_BASE_H
#define KC_BASE_H
#include "codegen/prelude/kc_codes.h"

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
#define KC_OPENCL 1
#elif defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define KC_CUDA 1
#else
#define KC_HOST 1
#endif
#ifndef N_PARAMS
#define N_PARAMS 1
#endif
#ifndef ERR_PARAM
#define ERR_PARAM 0
#endif

/* ---- types, address spaces, functions ------------------------------------------------------- */
#if defined(KC_OPENCL)
#pragma OPENCL FP_CONTRACT OFF
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#if defined(cl_khr_int64_base_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
typedef double f64;
#define GLOBAL __global
#define LOCAL __local
#define CONSTANT __constant
#define PRIV __private
#if defined(KC_CHECK) /* checkers do not know all that inlining leaves behind */
#define FN static __attribute__((noinline))
#else
#define FN static inline __attribute__((always_inline))
#endif
#define FN_BIG static __attribute__((noinline))
#elif defined(KC_CUDA)
#pragma nv_diag_suppress 177 /* unused functions */
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#define GLOBAL
#define LOCAL
#define CONSTANT static __device__ const
#define PRIV
#define FN static __device__ __forceinline__
#define FN_BIG static __device__ __noinline__
#else
typedef __INT8_TYPE__ i8;
typedef __UINT8_TYPE__ u8;
typedef __INT16_TYPE__ i16;
typedef __UINT16_TYPE__ u16;
typedef __INT32_TYPE__ i32;
typedef __UINT32_TYPE__ u32;
typedef __INT64_TYPE__ i64;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
#if !defined(__cplusplus) && !defined(bool)
#define bool _Bool
#define true 1
#define false 0
#endif
#define GLOBAL
#define LOCAL
#define CONSTANT static const
#define PRIV
#define FN static inline __attribute__((always_inline, unused))
#define FN_BIG static __attribute__((noinline, unused))
#endif

typedef char
    kc_check_sizes[((sizeof(u64) == 8) & (sizeof(u32) == 4) & (sizeof(u16) == 2) & (sizeof(f64) == 8)) ? 1 : -1];

/* A 64-bit literal in every dialect. */
#define U64C(x) ((u64)(x##UL))
#define I64C(x) ((i64)(x##L))
#define I64_MIN (-I64C(9223372036854775807) - 1)
#define I64_MAX I64C(9223372036854775807)
#define I32_MIN (-2147483647 - 1)
#define I32_MAX 2147483647

/* Memory at an address: G(i32, p)[i]. GRO: it is not written while the kernel runs; an rvalue. */
#define G(T, addr) ((GLOBAL T *)(addr))
#if defined(KC_CUDA)
template <typename T> FN T kc_ro_load(const T *p) { return *p; }
template <> __device__ __forceinline__ bool kc_ro_load<bool>(const bool *p) {
    return __ldg((const unsigned char *)p) != 0;
}
template <> __device__ __forceinline__ i8 kc_ro_load<i8>(const i8 *p) { return __ldg(p); }
template <> __device__ __forceinline__ u8 kc_ro_load<u8>(const u8 *p) { return __ldg(p); }
template <> __device__ __forceinline__ i16 kc_ro_load<i16>(const i16 *p) { return __ldg(p); }
template <> __device__ __forceinline__ u16 kc_ro_load<u16>(const u16 *p) { return __ldg(p); }
template <> __device__ __forceinline__ i32 kc_ro_load<i32>(const i32 *p) { return __ldg(p); }
template <> __device__ __forceinline__ u32 kc_ro_load<u32>(const u32 *p) { return __ldg(p); }
template <> __device__ __forceinline__ i64 kc_ro_load<i64>(const i64 *p) { return __ldg(p); }
template <> __device__ __forceinline__ u64 kc_ro_load<u64>(const u64 *p) { return __ldg(p); }
template <> __device__ __forceinline__ f32 kc_ro_load<f32>(const f32 *p) { return __ldg(p); }
template <> __device__ __forceinline__ f64 kc_ro_load<f64>(const f64 *p) { return __ldg(p); }
template <typename T> struct KcReadOnly {
    const T *p;
    template <typename I> __device__ __forceinline__ T operator[](I i) const { return kc_ro_load<T>(p + i); }
};
#define GRO(T, addr) (KcReadOnly<T>{(const T *)(addr)})
#else
#define GRO(T, addr) ((GLOBAL const T *)(addr))
#endif
/* A load that sees what other groups wrote during this kernel (past the first-level cache). */
#define GVOL(T, addr) ((GLOBAL volatile T *)(addr))
/* The same for what need not be read in this order, nor again; an rvalue. Not for bool. */
#if defined(KC_CUDA)
template <typename T> struct KcFresh {
    const T *p;
    template <typename I> __device__ __forceinline__ T operator[](I i) const { return __ldcg(p + i); }
};
#define GFRESH(T, addr) (KcFresh<T>{(const T *)(addr)})
#else
#define GFRESH(T, addr) GVOL(T, addr)
#endif
/* Reads of words that others change atomically. Checkers (KC_CHECK) call the volatile read a race, so they get an
 * atomic. */
#if defined(KC_CHECK)
#define KC_PEEK(addr) ga_add_u64(addr, 0)
#define KC_PEEK_LOCAL(p) la_add_u64(p, 0)
#else
#define KC_PEEK(addr) (GVOL(u64, addr)[0])
#define KC_PEEK_LOCAL(p) (*(LOCAL volatile u64 *)(p))
#endif

/* Strings anywhere in the device's memory; intervals and uuids as Interval and Uuid lie in memory. */
typedef struct str {
    u64 ptr;
    i64 len;
} str;
typedef struct iv {
    i64 micros;
    i32 days, months;
} iv;
typedef struct uuid {
    u64 a, b;
} uuid; /* the 16 bytes, little-endian words */

/* ---- kernels ---------------------------------------------------------------------------------- */
#if defined(KC_OPENCL)
#if defined(GROUP_SIZE)
#define KERNEL(name)                                                                                              \
    __kernel __attribute__((reqd_work_group_size(GROUP_SIZE, 1, 1))) void name(__global const ulong *restrict kp, \
                                                                               __local uchar *lmem)
#define LSIZE ((u32)GROUP_SIZE)
#else
#define KERNEL(name) __kernel void name(__global const ulong *restrict kp, __local uchar *lmem)
#define LSIZE ((u32)get_local_size(0))
#endif
#define P(i) (kp[i])
#define GID ((u64)get_group_id(0))
#define NGROUPS ((u64)get_num_groups(0))
#define LID ((u32)get_local_id(0))
#define LMEM lmem
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#elif defined(KC_CUDA)
struct KernelParams {
    u64 p[N_PARAMS];
};
extern __shared__ __align__(16) u8 kc_local_memory[];
#if defined(GROUP_SIZE)
#if defined(GROUPS_PER_UNIT) /* groups that must fit on a multiprocessor: a limit for registers */
#define KC_BOUNDS __launch_bounds__(GROUP_SIZE, GROUPS_PER_UNIT)
#else
#define KC_BOUNDS __launch_bounds__(GROUP_SIZE)
#endif
#define KERNEL(name) extern "C" __global__ void KC_BOUNDS name(const __grid_constant__ KernelParams kp)
#define LSIZE ((u32)GROUP_SIZE)
#else
#define KERNEL(name) extern "C" __global__ void name(const __grid_constant__ KernelParams kp)
#define LSIZE ((u32)blockDim.x)
#endif
#define P(i) (kp.p[i])
#define GID ((u64)blockIdx.x)
#define NGROUPS ((u64)gridDim.x)
#define LID ((u32)threadIdx.x)
#define LMEM kc_local_memory
#define BARRIER() __syncthreads()
#define FENCE() __threadfence()
/* The halves of a fence: what was written before is there for an item that sees what is written behind; what is read
 * behind is as new as what was seen before. */
#if __CUDACC_VER_MAJOR__ >= 13 && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define FENCE_GIVE() asm volatile("fence.release.gpu;" ::: "memory")
#define FENCE_TAKE() asm volatile("fence.acquire.gpu;" ::: "memory")
#endif
#else
typedef struct {
    u64 gid, ngroups;
    u8 *lmem;
} KernelCtx;
#define KERNEL(name)                                           \
    void name(const u64 *restrict kp, KernelCtx *restrict kc); \
    __attribute__((visibility("default"))) void name(const u64 *restrict kp, KernelCtx *restrict kc)
#define LSIZE 1u
#define P(i) (kp[i])
#define GID (kc->gid)
#define NGROUPS (kc->ngroups)
#define LID 0u
#define LMEM (kc->lmem)
#define BARRIER() ((void)0)
#if defined(HOST_SINGLE)
#define FENCE() ((void)0)
#else
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#endif
#endif
#if !defined(FENCE_GIVE)
#define FENCE_GIVE() FENCE()
#define FENCE_TAKE() FENCE()
#endif
#define PF(i) (bits_f64(P(i)))
#define PI(i) ((i64)P(i))
/* A typed view of the group's memory, `offset` bytes from its start. */
#define LM(T, offset) ((LOCAL T *)(LMEM + (offset)))

/* ---- bits ---------------------------------------------------------------------------------------- */
#if defined(KC_OPENCL)
FN u64 f64_bits(f64 x) { return as_ulong(x); }
FN f64 bits_f64(u64 x) { return as_double(x); }
FN u32 f32_bits(f32 x) { return as_uint(x); }
FN f32 bits_f32(u32 x) { return as_float(x); }
FN u32 clz_u64(u64 x) { return (u32)clz(x); }             /* 64 for 0 */
FN u32 ctz_u64(u64 x) { return (u32)(63 - clz(x & -x)); } /* x != 0 */
FN u32 popc_u32(u32 x) { return popcount(x); }
FN u32 popc_u64(u64 x) { return (u32)popcount(x); }
FN u64 mulhi_u64(u64 a, u64 b) { return mul_hi(a, b); }
FN f64 abs_f64(f64 x) { return fabs(x); }
FN f32 abs_f32(f32 x) { return fabs(x); }
FN f64 rint_f64(f64 x) { return rint(x); } /* half to even */
FN f32 rint_f32(f32 x) { return rint(x); }
FN f64 floor_f64(f64 x) { return floor(x); }
FN u64 bswap_u64(u64 x) { return as_ulong(as_uchar8(x).s76543210); }
#elif defined(KC_CUDA)
FN u64 f64_bits(f64 x) { return (u64)__double_as_longlong(x); }
FN f64 bits_f64(u64 x) { return __longlong_as_double((i64)x); }
FN u32 f32_bits(f32 x) { return __float_as_uint(x); }
FN f32 bits_f32(u32 x) { return __uint_as_float(x); }
FN u32 clz_u64(u64 x) { return (u32)__clzll((i64)x); }
FN u32 ctz_u64(u64 x) { return (u32)(__ffsll((i64)x) - 1); }
FN u32 popc_u32(u32 x) { return (u32)__popc(x); }
FN u32 popc_u64(u64 x) { return (u32)__popcll(x); }
FN u64 mulhi_u64(u64 a, u64 b) { return __umul64hi(a, b); }
FN f64 abs_f64(f64 x) { return fabs(x); }
FN f32 abs_f32(f32 x) { return fabsf(x); }
FN f64 rint_f64(f64 x) { return rint(x); }
FN f32 rint_f32(f32 x) { return rintf(x); }
FN f64 floor_f64(f64 x) { return floor(x); }
FN u64 bswap_u64(u64 x) { return (u64)__byte_perm((u32)x, 0, 0x0123) << 32 | __byte_perm((u32)(x >> 32), 0, 0x0123); }
#else
FN u64 f64_bits(f64 x) {
    u64 b;
    __builtin_memcpy(&b, &x, 8);
    return b;
}
FN f64 bits_f64(u64 x) {
    f64 d;
    __builtin_memcpy(&d, &x, 8);
    return d;
}
FN u32 f32_bits(f32 x) {
    u32 b;
    __builtin_memcpy(&b, &x, 4);
    return b;
}
FN f32 bits_f32(u32 x) {
    f32 d;
    __builtin_memcpy(&d, &x, 4);
    return d;
}
FN u32 clz_u64(u64 x) { return x ? (u32)__builtin_clzll(x) : 64u; }
FN u32 ctz_u64(u64 x) { return (u32)__builtin_ctzll(x); }
FN u32 popc_u32(u32 x) { return (u32)__builtin_popcount(x); }
FN u32 popc_u64(u64 x) { return (u32)__builtin_popcountll(x); }
FN u64 mulhi_u64(u64 a, u64 b) {
    __extension__ typedef unsigned __int128 wide;
    return (u64)((wide)a * b >> 64);
}
FN f64 abs_f64(f64 x) { return __builtin_fabs(x); }
FN f32 abs_f32(f32 x) { return __builtin_fabsf(x); }
FN f64 rint_f64(f64 x) { return __builtin_rint(x); }
FN f32 rint_f32(f32 x) { return __builtin_rintf(x); }
FN f64 floor_f64(f64 x) { return __builtin_floor(x); }
FN u64 bswap_u64(u64 x) { return __builtin_bswap64(x); }
#endif

/* ---- atomics: relaxed, return the old value. ga_: an address of the device's memory; la_: local memory -------- */
#if defined(KC_OPENCL)
#define KC_ATOMIC(NAME, T, CALL32)                                                   \
    FN T ga_##NAME(u64 addr, T v) { return CALL32((volatile __global T *)addr, v); } \
    FN T la_##NAME(__local T *p, T v) { return CALL32((volatile __local T *)p, v); }
KC_ATOMIC(add_u32, u32, atomic_add)
KC_ATOMIC(or_u32, u32, atomic_or)
KC_ATOMIC(and_u32, u32, atomic_and)
KC_ATOMIC(max_u32, u32, atomic_max)
KC_ATOMIC(xchg_u32, u32, atomic_xchg)
FN u32 ga_cas_u32(u64 addr, u32 expect, u32 v) { return atomic_cmpxchg((volatile __global u32 *)addr, expect, v); }
FN u32 la_cas_u32(__local u32 *p, u32 expect, u32 v) { return atomic_cmpxchg((volatile __local u32 *)p, expect, v); }
#if defined(cl_khr_int64_base_atomics)
KC_ATOMIC(add_u64, u64, atom_add)
KC_ATOMIC(max_u64, u64, atom_max)
KC_ATOMIC(or_u64, u64, atom_or)
KC_ATOMIC(and_u64, u64, atom_and)
KC_ATOMIC(xchg_u64, u64, atom_xchg)
FN u64 ga_cas_u64(u64 addr, u64 expect, u64 v) { return atom_cmpxchg((volatile __global u64 *)addr, expect, v); }
FN u64 la_cas_u64(__local u64 *p, u64 expect, u64 v) { return atom_cmpxchg((volatile __local u64 *)p, expect, v); }
#else
#define KC_ATOMIC20(NAME, CALL)                                                                            \
    FN u64 ga_##NAME(u64 addr, u64 v) {                                                                    \
        return CALL((volatile __global atomic_ulong *)addr, v, memory_order_relaxed, memory_scope_device); \
    }                                                                                                      \
    FN u64 la_##NAME(__local u64 *p, u64 v) {                                                              \
        return CALL((volatile __local atomic_ulong *)p, v, memory_order_relaxed, memory_scope_work_group); \
    }
KC_ATOMIC20(add_u64, atomic_fetch_add_explicit)
KC_ATOMIC20(max_u64, atomic_fetch_max_explicit)
KC_ATOMIC20(or_u64, atomic_fetch_or_explicit)
KC_ATOMIC20(and_u64, atomic_fetch_and_explicit)
KC_ATOMIC20(xchg_u64, atomic_exchange_explicit)
FN u64 ga_cas_u64(u64 addr, u64 expect, u64 v) {
    atomic_compare_exchange_strong_explicit((volatile __global atomic_ulong *)addr, &expect, v, memory_order_relaxed,
                                            memory_order_relaxed, memory_scope_device);
    return expect;
}
FN u64 la_cas_u64(__local u64 *p, u64 expect, u64 v) {
    atomic_compare_exchange_strong_explicit((volatile __local atomic_ulong *)p, &expect, v, memory_order_relaxed,
                                            memory_order_relaxed, memory_scope_work_group);
    return expect;
}
#endif
FN f64 ga_add_f64(u64 addr, f64 v) {
    u64 old = KC_PEEK(addr);
    for (;;) {
        u64 seen = ga_cas_u64(addr, old, f64_bits(bits_f64(old) + v));
        if (seen == old) return bits_f64(old);
        old = seen;
    }
}
FN f64 la_add_f64(__local f64 *p, f64 v) {
    u64 old = KC_PEEK_LOCAL((__local u64 *)p);
    for (;;) {
        u64 seen = la_cas_u64((__local u64 *)p, old, f64_bits(bits_f64(old) + v));
        if (seen == old) return bits_f64(old);
        old = seen;
    }
}
FN u64 append(u64 counter) { return ga_add_u64(counter, 1); }

#elif defined(KC_CUDA)
#define KC_ATOMIC(NAME, T, CALL)                                 \
    FN T ga_##NAME(u64 addr, T v) { return CALL((T *)addr, v); } \
    FN T la_##NAME(T *p, T v) { return CALL(p, v); }
KC_ATOMIC(add_u32, u32, atomicAdd)
KC_ATOMIC(or_u32, u32, atomicOr)
KC_ATOMIC(and_u32, u32, atomicAnd)
KC_ATOMIC(max_u32, u32, atomicMax)
KC_ATOMIC(xchg_u32, u32, atomicExch)
KC_ATOMIC(add_u64, u64, atomicAdd)
KC_ATOMIC(max_u64, u64, atomicMax)
KC_ATOMIC(or_u64, u64, atomicOr)
KC_ATOMIC(and_u64, u64, atomicAnd)
KC_ATOMIC(xchg_u64, u64, atomicExch)
KC_ATOMIC(add_f64, f64, atomicAdd)
FN u32 ga_cas_u32(u64 addr, u32 expect, u32 v) { return atomicCAS((u32 *)addr, expect, v); }
FN u32 la_cas_u32(u32 *p, u32 expect, u32 v) { return atomicCAS(p, expect, v); }
FN u64 ga_cas_u64(u64 addr, u64 expect, u64 v) { return atomicCAS((u64 *)addr, expect, v); }
FN u64 la_cas_u64(u64 *p, u64 expect, u64 v) { return atomicCAS(p, expect, v); }
/* One atomic for all lanes that are here together; they must pass the same counter. */
FN u64 append(u64 counter) {
    u32 mask = __activemask(), lanes_below, lane;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_below));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    u32 leader = (u32)__ffs((i32)mask) - 1;
    u64 first = 0;
    if (lane == leader) first = atomicAdd((u64 *)counter, (u64)__popc(mask));
    first = __shfl_sync(mask, first, (i32)leader);
    return first + (u64)__popc(mask & lanes_below);
}

#else
/* A group is one item, so local memory needs no atomics. With HOST_SINGLE only one thread runs the kernel. */
#define KC_LOCAL_ATOMICS(T)      \
    FN T la_add_##T(T *p, T v) { \
        T old = *p;              \
        *p = (T)(old + v);       \
        return old;              \
    }                            \
    FN T la_max_##T(T *p, T v) { \
        T old = *p;              \
        *p = old > v ? old : v;  \
        return old;              \
    }
#define KC_LOCAL_BITS(T)                   \
    KC_LOCAL_ATOMICS(T)                    \
    FN T la_or_##T(T *p, T v) {            \
        T old = *p;                        \
        *p = old | v;                      \
        return old;                        \
    }                                      \
    FN T la_and_##T(T *p, T v) {           \
        T old = *p;                        \
        *p = old & v;                      \
        return old;                        \
    }                                      \
    FN T la_xchg_##T(T *p, T v) {          \
        T old = *p;                        \
        *p = v;                            \
        return old;                        \
    }                                      \
    FN T la_cas_##T(T *p, T expect, T v) { \
        T old = *p;                        \
        if (old == expect) *p = v;         \
        return old;                        \
    }
KC_LOCAL_BITS(u32)
KC_LOCAL_BITS(u64)
FN f64 la_add_f64(f64 *p, f64 v) {
    f64 old = *p;
    *p = old + v;
    return old;
}
#if defined(HOST_SINGLE)
#define KC_GLOBAL_ATOMICS(T)                                              \
    FN T ga_add_##T(u64 addr, T v) { return la_add_##T((T *)addr, v); }   \
    FN T ga_max_##T(u64 addr, T v) { return la_max_##T((T *)addr, v); }   \
    FN T ga_or_##T(u64 addr, T v) { return la_or_##T((T *)addr, v); }     \
    FN T ga_and_##T(u64 addr, T v) { return la_and_##T((T *)addr, v); }   \
    FN T ga_xchg_##T(u64 addr, T v) { return la_xchg_##T((T *)addr, v); } \
    FN T ga_cas_##T(u64 addr, T expect, T v) { return la_cas_##T((T *)addr, expect, v); }
FN f64 ga_add_f64(u64 addr, f64 v) { return la_add_f64((f64 *)addr, v); }
#else
#define KC_GLOBAL_ATOMICS(T)                                                                                          \
    FN T ga_add_##T(u64 addr, T v) { return __atomic_fetch_add((T *)addr, v, __ATOMIC_RELAXED); }                     \
    FN T ga_or_##T(u64 addr, T v) { return __atomic_fetch_or((T *)addr, v, __ATOMIC_RELAXED); }                       \
    FN T ga_and_##T(u64 addr, T v) { return __atomic_fetch_and((T *)addr, v, __ATOMIC_RELAXED); }                     \
    FN T ga_xchg_##T(u64 addr, T v) { return __atomic_exchange_n((T *)addr, v, __ATOMIC_RELAXED); }                   \
    FN T ga_cas_##T(u64 addr, T expect, T v) {                                                                        \
        __atomic_compare_exchange_n((T *)addr, &expect, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                    \
        return expect;                                                                                                \
    }                                                                                                                 \
    FN T ga_max_##T(u64 addr, T v) {                                                                                  \
        T old = __atomic_load_n((T *)addr, __ATOMIC_RELAXED);                                                         \
        while (old < v && !__atomic_compare_exchange_n((T *)addr, &old, v, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {} \
        return old;                                                                                                   \
    }
FN f64 ga_add_f64(u64 addr, f64 v) {
    u64 old = __atomic_load_n((u64 *)addr, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n((u64 *)addr, &old, f64_bits(bits_f64(old) + v), 1, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {}
    return bits_f64(old);
}
#endif
KC_GLOBAL_ATOMICS(u32)
KC_GLOBAL_ATOMICS(u64)
FN u64 append(u64 counter) { return ga_add_u64(counter, 1); }
#endif

/* The same for a counter of the group's own. */
FN u32 append_local(LOCAL u32 *counter) {
#if defined(KC_CUDA)
    u32 mask = __activemask(), lanes_below, lane;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_below));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    u32 leader = (u32)__ffs((i32)mask) - 1, first = 0;
    if (lane == leader) first = la_add_u32(counter, (u32)__popc(mask));
    return __shfl_sync(mask, first, (i32)leader) + (u32)__popc(mask & lanes_below);
#else
    return la_add_u32(counter, 1);
#endif
}

/* ---- appending in chunks ------------------------------------------------------------------------------- */
/* One counter for a whole device is the limit of a build that many items append to. Here a group takes APPEND_CHUNK
 * slots at a time and hands them out from a word in local memory (first slot << 16 | taken), which append_chunk_init
 * fills before a barrier. Slots that are left over stay empty: append_chunk_end adds their number to the u32 at `holes`
 * after a barrier. All lanes of one call must pass the same word. */
FN void append_chunk_init(LOCAL u64 *word) { word[0] = APPEND_CHUNK; }
FN void append_chunk_lose(u32 taken, u64 holes) {
    if (taken < APPEND_CHUNK) ga_add_u32(holes, APPEND_CHUNK - taken);
}
FN void append_chunk_end(LOCAL u64 *word, u64 holes) { append_chunk_lose((u32)word[0] & 0xffffu, holes); }
/* n neighbouring slots for a caller that counts for n items. The item that goes past the end of a chunk brings the next
 * one; those that come before it is there take their slots from the counter, so that no more than n - 1 slots of a
 * chunk are lost. */
FN u64 append_chunk_take(u64 counter, LOCAL u64 *word, u64 holes, u32 n) {
    u64 old = la_add_u64(word, (u64)n), first;
    u32 taken = (u32)old & 0xffffu;
    if (taken + n <= APPEND_CHUNK) return (old >> 16) + taken;
    if (taken > APPEND_CHUNK) return ga_add_u64(counter, (u64)n);
    append_chunk_lose(taken, holes);
    first = ga_add_u64(counter, APPEND_CHUNK);
    la_xchg_u64(word, first << 16 | n);
    return first;
}
FN u64 append_chunk(u64 counter, LOCAL u64 *word, u64 holes) {
#if defined(KC_CUDA)
    u32 mask = __activemask(), lanes_below, lane;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes_below));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    u32 leader = (u32)__ffs((i32)mask) - 1;
    u64 first = 0;
    if (lane == leader) first = append_chunk_take(counter, word, holes, (u32)__popc(mask));
    first = __shfl_sync(mask, first, (i32)leader);
    return first + (u64)__popc(mask & lanes_below);
#else
    return append_chunk_take(counter, word, holes, 1);
#endif
}

/* ---- errors ------------------------------------------------------------------------------------------ */
/* The error word is u64[2]: the first error (0 none), and the stop flag that the host sets to cancel. The first error
 * stays. */
FN_BIG void kc_raise(u64 word, u64 code) {
    if (KC_PEEK(word) == 0) ga_cas_u64(word, 0, code);
}
FN bool kc_stopped(u64 word) { return (KC_PEEK(word) | KC_PEEK(word + 8)) != 0; }
#define RAISE(code) kc_raise(P(ERR_PARAM), (u64)(code))
#define STOPPED() kc_stopped(P(ERR_PARAM))
/* In the condition of a loop that each item runs alone: whether to go on. The flag is read in the first round and every
 * so many; `polls` is a u32 that begins with 0. */
#define GOES_ON(polls, every) (!((polls)++ % (every) == 0 && STOPPED()))

/* ---- warps ------------------------------------------------------------------------------------------- */
/* Only where all lanes of the warp are (uniform control flow, group size a multiple of WARP). */
#if defined(KC_CUDA)
#define HAVE_WARP 1
#define WARP 32u
#define LANE (LID & 31u)
FN u32 ballot(bool p) { return __ballot_sync(0xffffffffu, p); }
FN u64 warp_sum_u64(u64 v) {
    for (i32 d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v; /* of lane 0 */
}
FN u32 warp_sum_u32(u32 v) {
    for (i32 d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}
FN u64 warp_max_u64(u64 v) {
    for (i32 d = 16; d > 0; d >>= 1) {
        u64 o = __shfl_down_sync(0xffffffffu, v, d);
        v = o > v ? o : v;
    }
    return v;
}
FN f64 warp_sum_f64(f64 v) {
    for (i32 d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}
#endif

/* ---- packed columns (storage/tablet.h): data areas are 64-byte aligned and have 64 readable bytes behind them
 * ---------- */
FN u64 unpack_0(u64 addr, i64 row) {
    (void)addr;
    (void)row;
    return 0;
}
FN u64 unpack_1(u64 addr, i64 row) { return (u64)(((u32)GRO(u8, addr)[row >> 3] >> (row & 7)) & 1u); }
FN u64 unpack_2(u64 addr, i64 row) { return (u64)(((u32)GRO(u8, addr)[row >> 2] >> ((row & 3) * 2)) & 3u); }
FN u64 unpack_4(u64 addr, i64 row) { return (u64)(((u32)GRO(u8, addr)[row >> 1] >> ((row & 1) * 4)) & 15u); }
FN u64 unpack_8(u64 addr, i64 row) { return (u64)GRO(u8, addr)[row]; }
FN u64 unpack_16(u64 addr, i64 row) { return (u64)GRO(u16, addr)[row]; }
FN u64 unpack_32(u64 addr, i64 row) { return (u64)GRO(u32, addr)[row]; }
FN u64 unpack_64(u64 addr, i64 row) { return GRO(u64, addr)[row]; }
FN u64 unpack_24(u64 addr, i64 row) {
#if defined(KC_HOST)
    u32 v;
    __builtin_memcpy(&v, (const u8 *)addr + 3 * row, 4);
    return (u64)(v & 0xffffffu);
#else
    i64 at = 3 * row, word = at >> 2;
    u32 lo = GRO(u32, addr)[word], hi = GRO(u32, addr)[word + 1], shift = ((u32)at & 3u) * 8u;
#if defined(KC_CUDA)
    return (u64)(__funnelshift_r(lo, hi, shift) & 0xffffffu);
#else
    return (((u64)hi << 32 | lo) >> shift) & 0xffffffu;
#endif
#endif
}
FN u64 unpack(u32 width, u64 addr, i64 row) {
    switch (width) {
    case 1: return unpack_1(addr, row);
    case 2: return unpack_2(addr, row);
    case 4: return unpack_4(addr, row);
    case 8: return unpack_8(addr, row);
    case 16: return unpack_16(addr, row);
    case 24: return unpack_24(addr, row);
    case 32: return unpack_32(addr, row);
    case 64: return unpack_64(addr, row);
    default: return 0;
    }
}
/* Bit `row` of a bitmap of 64-bit words. */
FN bool bit_at(u64 addr, i64 row) { return ((u32)GRO(u8, addr)[row >> 3] >> (row & 7)) & 1u; }

/* Loops that had better stay loops, functions that had better be called: instructions of long procedures do not fit
 * into a GPU's cache for them (KC_LONG: whose kernels these are). */
#if defined(KC_CUDA) && defined(KC_LONG)
#define ROLLED _Pragma("unroll 1")
#define FN_LONG FN_BIG /* a function that is worth a call there only */
#else
#define ROLLED
#define FN_LONG FN
#endif

#endif
