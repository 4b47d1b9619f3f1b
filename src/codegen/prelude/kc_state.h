/* kc_state.h - states of aggregates in memory that starts as zero.
 *
 * MIN and MAX keep order-preserving encodings whose neutral element is 0, so that both are ga_max_u64 / la_max_u64.
 * Whether there was a value at all is in `seen` bits, never in the encoding. BIT_AND and BOOL_AND keep the OR of
 * complements. Sums of 64-bit values are exact in 128 bits; sums of 128-bit values in 192. What the virtual machine
 * does differently is in README.md.
 */
#ifndef KC_STATE_H
#define KC_STATE_H
#include "codegen/prelude/kc_text.h"

/* ---- MIN, MAX: bool, i16, i32, dates and timestamps widen to i64, f32 to f64 ---------------------------------- */
FN u64 enc_max_i64(i64 v) { return (u64)v ^ U64C(0x8000000000000000); }
FN u64 enc_min_i64(i64 v) { return (u64)v ^ U64C(0x7fffffffffffffff); }
FN i64 dec_max_i64(u64 e) { return (i64)(e ^ U64C(0x8000000000000000)); }
FN i64 dec_min_i64(u64 e) { return (i64)(e ^ U64C(0x7fffffffffffffff)); }
/* NaN above everything; -0 just below 0 (which of the two is kept is open, they are equal). */
FN u64 enc_max_f64(f64 v) {
    u64 b = v != v ? U64C(0x7ff8000000000000) : f64_bits(v);
    return b ^ ((u64)((i64)b >> 63) | U64C(0x8000000000000000));
}
FN u64 enc_min_f64(f64 v) { return ~enc_max_f64(v); }
FN f64 dec_max_f64(u64 e) { return bits_f64(e ^ ((u64) ~((i64)e >> 63) | U64C(0x8000000000000000))); }
FN f64 dec_min_f64(u64 e) { return dec_max_f64(~e); }

/* ---- 128-bit sums: two limbs in memory, each added atomically; the sum is exact once all additions are done -------
 */
FN void ga_add_i128(u64 addr, i128 v) {
    u64 lo = i128_lo(v), old = ga_add_u64(addr, lo), hi = i128_hi(v) + (u64)(old + lo < lo);
    if (hi != 0) ga_add_u64(addr + 8, hi);
}
FN void la_add_i128(LOCAL u64 *p, i128 v) {
    u64 lo = i128_lo(v), old = la_add_u64(p, lo), hi = i128_hi(v) + (u64)(old + lo < lo);
    if (hi != 0) la_add_u64(p + 1, hi);
}
/* ---- 192-bit sums of 128-bit values ------------------------------------------------------------------------------ */
typedef struct sum192 {
    i128 low;
    i64 top;
} sum192; /* low as unsigned */
FN sum192 sum192_zero(void) {
    sum192 s;
    s.low = i128_from_i64(0);
    s.top = 0;
    return s;
}
FN sum192 sum192_add(sum192 s, i128 v) {
    u128 x = i128_to_u128(s.low), r = u128_add(x, i128_to_u128(v));
    s.top += (i64)u128_lt(r, x) - (i64)i128_is_neg(v);
    s.low = i128_from_u128(r);
    return s;
}
FN sum192 sum192_load(u64 addr) {
    sum192 s;
    s.low = ld_i128(addr);
    s.top = G(i64, addr)[2];
    return s;
}
/* The sum; true when it has more than 38 digits (KE_NUMERIC: what the virtual machine reports). */
FN bool sum192_ovf(sum192 s, PRIV i128 *out) {
    *out = s.low;
    return s.top != (i128_is_neg(s.low) ? -1 : 0) || kc_over38(s.low);
}
#define KC_ADD192(ADD, P0, P1, P2)                                        \
    u64 lo = i128_lo(s.low), hi = i128_hi(s.low), old = ADD(P0, lo);      \
    u64 carry = (u64)(old + lo < lo), top = (u64)s.top, add = hi + carry; \
    top += (u64)(add < carry);                                            \
    if (add != 0) {                                                       \
        old = ADD(P1, add);                                               \
        top += (u64)(old + add < add);                                    \
    }                                                                     \
    if (top != 0) ADD(P2, top);
FN void ga_add_sum192(u64 addr, sum192 s){KC_ADD192(ga_add_u64, addr, addr + 8, addr + 16)} FN
    void la_add_sum192(LOCAL u64 *p, sum192 s){KC_ADD192(la_add_u64, p, p + 1, p + 2)}

/* ---- a group's items together: barriers inside, so only in uniform control flow. `tmp` is local memory for LSIZE u64,
 * free again afterwards. Reductions give item 0 the result (the others: something); the order of a double sum depends
 * on the group size alone. group_scan_u32 gives each item the sum of the items before it, and all of them the total. */
#if defined(KC_HOST)
FN u64 group_sum_u64(u64 v, u64 *tmp) {
    (void)tmp;
    return v;
}
FN u64 group_max_u64(u64 v, u64 *tmp) {
    (void)tmp;
    return v;
}
FN f64 group_sum_f64(f64 v, u64 *tmp) {
    (void)tmp;
    return v;
}
FN u32 group_scan_u32(u32 v, u64 *tmp, u32 *total) {
    (void)tmp;
    *total = v;
    return 0;
}
#elif defined(KC_CUDA)
/* Groups are whole warps. */
#define KC_GROUP_REDUCE(NAME, T, WARP_FN, MERGE)    \
    FN T NAME(T v, u64 *tmp) {                      \
        T *part = (T *)tmp;                         \
        v = WARP_FN(v);                             \
        if (LANE == 0) part[LID / 32u] = v;         \
        __syncthreads();                            \
        if (LID == 0)                               \
            for (u32 w = 1; w < LSIZE / 32u; w++) { \
                T o = part[w];                      \
                MERGE;                              \
            }                                       \
        __syncthreads();                            \
        return v;                                   \
    }
KC_GROUP_REDUCE(group_sum_u64, u64, warp_sum_u64, v += o)
    KC_GROUP_REDUCE(group_max_u64, u64, warp_max_u64, v = o > v ? o : v)
        KC_GROUP_REDUCE(group_sum_f64, f64, warp_sum_f64, v += o) FN u32 group_scan_u32(u32 v, u64 *tmp, u32 *total) {
    u32 *part = (u32 *)tmp, sum = v, before = 0, all = 0;
    for (u32 d = 1; d < 32u; d <<= 1) {
        u32 o = __shfl_up_sync(0xffffffffu, sum, d);
        if (LANE >= d) sum += o;
    }
    if (LANE == 31u) part[LID / 32u] = sum;
    __syncthreads();
    for (u32 w = 0; w < LSIZE / 32u; w++) {
        before += w < LID / 32u ? part[w] : 0u;
        all += part[w];
    }
    __syncthreads();
    *total = all;
    return before + sum - v;
}
#else
#define KC_GROUP_REDUCE(NAME, T, MERGE) \
    FN T NAME(T v, LOCAL u64 *tmp) {    \
        LOCAL T *part = (LOCAL T *)tmp; \
        part[LID] = v;                  \
        BARRIER();                      \
        for (u32 n = LSIZE; n > 1;) {   \
            u32 up = (n + 1) / 2;       \
            if (LID < n / 2) {          \
                T o = part[LID + up];   \
                v = part[LID];          \
                MERGE;                  \
                part[LID] = v;          \
            }                           \
            BARRIER();                  \
            n = up;                     \
        }                               \
        v = part[0];                    \
        BARRIER();                      \
        return v;                       \
    }
KC_GROUP_REDUCE(group_sum_u64, u64, v += o) KC_GROUP_REDUCE(group_max_u64, u64, v = o > v ? o : v)
    KC_GROUP_REDUCE(group_sum_f64, f64, v += o) FN u32 group_scan_u32(u32 v, LOCAL u64 *tmp, PRIV u32 *total) {
    LOCAL u32 *part = (LOCAL u32 *)tmp;
    part[LID] = v;
    BARRIER();
    for (u32 d = 1; d < LSIZE; d <<= 1) {
        u32 o = LID >= d ? part[LID - d] : 0u;
        BARRIER();
        part[LID] += o;
        BARRIER();
    }
    u32 before = part[LID] - v;
    *total = part[LSIZE - 1];
    BARRIER();
    return before;
}
#endif

#endif
