/* lanes.h - what the text of a CUDA kernel calls, for a C++ compiler of the host: tests run such kernels without a GPU
 * (see README.md). Included before the kernel's text; lanes.c runs it.
 *
 * A lane is a coroutine. What lanes do together (votes, shuffles, meetings) waits until all lanes of the mask have come
 * with the same mask, and for the same; __activemask() is the lane alone, which is always allowed. Atomics and sleeping
 * let others run, so that orders of events differ from run to run of one program.
 */
#ifndef STELE_TESTS_LANES_H
#define STELE_TESTS_LANES_H
#include <math.h>
#include <stdint.h>
#include <string.h>

enum LanesOp { LANES_SYNC, LANES_BALLOT, LANES_ANY, LANES_ALL, LANES_SHUFFLE, LANES_MATCH, LANES_LEAST };
typedef struct LanesIndex {
    unsigned x;
} LanesIndex;
#if defined(__cplusplus)
extern "C" {
#endif
extern LanesIndex threadIdx, blockIdx, blockDim, gridDim;
/* Waits for the lanes of mask; arg is a shuffle's source. Of a vote v is true or false, of LANES_ALL the contrary;
 * others take and give the bits of a value. */
uint64_t lanes_meet(enum LanesOp op, uint32_t mask, uint64_t v, uint32_t arg);
void lanes_barrier(void);
void lanes_yield(void);
void lanes_chance(void); /* sometimes yields */
long long lanes_clock(void);
int lanes_is_shared(const volatile void *p);
#if defined(__cplusplus)
}

#define __device__
#define __global__
#define __constant__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_assume(test) ((void)0)
#define __isShared(p) lanes_is_shared(p)
#define clock64() lanes_clock()

typedef struct uint4 {
    unsigned x, y, z, w;
} uint4;
typedef struct uint2 {
    unsigned x, y;
} uint2;
typedef struct ulonglong2 {
    unsigned long long x, y;
} ulonglong2;
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return uint4{x, y, z, w}; }

static inline void __syncwarp(uint32_t mask = ~0u) { lanes_meet(LANES_SYNC, mask, 0, 0); }
static inline uint32_t __ballot_sync(uint32_t mask, int v) {
    return (uint32_t)lanes_meet(LANES_BALLOT, mask, v != 0, 0);
}
static inline int __any_sync(uint32_t mask, int v) { return lanes_meet(LANES_ANY, mask, v != 0, 0) != 0; }
static inline int __all_sync(uint32_t mask, int v) { return lanes_meet(LANES_ALL, mask, v == 0, 0) == 0; }
static inline uint32_t __activemask() { return 1u << (threadIdx.x & 31u); }
static inline uint32_t __reduce_min_sync(uint32_t mask, uint32_t v) {
    return (uint32_t)lanes_meet(LANES_LEAST, mask, v, 0);
}
template <typename T> static inline uint32_t __match_any_sync(uint32_t mask, T v) {
    return (uint32_t)lanes_meet(LANES_MATCH, mask, (uint64_t)v, 0);
}
template <typename T> static inline T lanes_shuffle(uint32_t mask, T v, uint32_t from) {
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    bits = lanes_meet(LANES_SHUFFLE, mask, bits, from);
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <typename T> static inline T __shfl_sync(uint32_t mask, T v, int from) {
    return lanes_shuffle(mask, v, (uint32_t)from & 31u);
}
template <typename T> static inline T __shfl_xor_sync(uint32_t mask, T v, int x) {
    return lanes_shuffle(mask, v, (threadIdx.x ^ (uint32_t)x) & 31u);
}
template <typename T> static inline T __shfl_down_sync(uint32_t mask, T v, uint32_t d) {
    return lanes_shuffle(mask, v, (threadIdx.x & 31u) + d < 32 ? (threadIdx.x & 31u) + d : threadIdx.x & 31u);
}
template <typename T> static inline T __shfl_up_sync(uint32_t mask, T v, uint32_t d) {
    return lanes_shuffle(mask, v, (threadIdx.x & 31u) >= d ? (threadIdx.x & 31u) - d : threadIdx.x & 31u);
}
static inline void lanes_below_to(uint32_t &v) { v = (1u << (threadIdx.x & 31u)) - 1; }
static inline void lanes_number_to(uint32_t &v) { v = threadIdx.x & 31u; }
static inline void __syncthreads() { lanes_barrier(); }
static inline void __threadfence() { lanes_chance(); }
static inline void __nanosleep(uint32_t) { lanes_yield(); }

template <typename T> static inline T __ldg(const T *p) { return *p; }
template <typename T> static inline T __ldcg(const T *p) { return *(const volatile T *)p; }
static inline int __popc(uint32_t v) { return __builtin_popcount(v); }
static inline int __popcll(uint64_t v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
static inline int __ffs(int v) { return __builtin_ffs(v); }
static inline int __ffsll(long long v) { return __builtin_ffsll(v); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline uint32_t __funnelshift_r(uint32_t lo, uint32_t hi, uint32_t n) {
    return (uint32_t)(((uint64_t)hi << 32 | lo) >> (n & 31u));
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t how) {
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) v |= (uint32_t)(both >> (how >> (4 * i) & 7u) * 8 & 255u) << (8 * i);
    return v;
}
template <typename T, typename F> static inline T lanes_bits(F f) {
    T t;
    static_assert(sizeof t == sizeof f, "bits");
    memcpy(&t, &f, sizeof t);
    return t;
}
static inline long long __double_as_longlong(double v) { return lanes_bits<long long>(v); }
static inline double __longlong_as_double(long long v) { return lanes_bits<double>(v); }
static inline uint32_t __float_as_uint(float v) { return lanes_bits<uint32_t>(v); }
static inline float __uint_as_float(uint32_t v) { return lanes_bits<float>(v); }

#define LANES_ATOMIC(name, result)                                          \
    template <typename T, typename V> static inline T name(T *p, V value) { \
        lanes_chance();                                                     \
        const T was = *(volatile T *)p, v = (T)value;                       \
        *(volatile T *)p = (result);                                        \
        return was;                                                         \
    }
LANES_ATOMIC(atomicAdd, was + v)
LANES_ATOMIC(atomicMax, was > v ? was : v)
LANES_ATOMIC(atomicMin, was < v ? was : v)
LANES_ATOMIC(atomicOr, was | v)
LANES_ATOMIC(atomicAnd, was &v)
LANES_ATOMIC(atomicXor, was ^ v)
LANES_ATOMIC(atomicExch, ((void)was, v))
template <typename T, typename E, typename V> static inline T atomicCAS(T *p, E expect, V v) {
    lanes_chance();
    const T was = *(volatile T *)p;
    if (was == (T)expect) *(volatile T *)p = (T)v;
    return was;
}
#endif
#endif
