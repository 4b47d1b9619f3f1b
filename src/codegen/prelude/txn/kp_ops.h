/* kp_ops.h - what footprints (codegen/emit_proc.h) are written to: the operations of a bulk's calls, for the schedule
 * (txn/order/rank_device.h).
 *
 * foot_K issues the operations of a call of procedure K to an ops_sink, which a work-item has for itself; the kernel
 * that runs it is kp_foot.h.
 *
 * OPS_SHARED 1 (host): each group has memory of its own for operations, in the order of calls, as TxnOp
 * (txn/order/schedule.h); two operations of a call on one item are mostly made one. OPS_SHARED 0: all items write to
 * one array, in any order. A call takes OPS_CHUNK places at a time from a counter (a relaxed atomic; the kernel's end
 * publishes what is written), and leaves those that it did not need empty (RK_NONE). When there are too few places it
 * goes on counting, so that the host knows how many are wanted.
 *
 * N_SUMS, N_LAST: sums of amounts, and places in loops whose last item is known, of the module, + 1.
 */
#ifndef KP_OPS_H
#define KP_OPS_H
#include "codegen/prelude/txn/kp_rows.h"

#if !defined(N_SUMS)
#define OPS_SHARED 0
#define N_SUMS 1
#define N_LAST 1
#endif
#define INSERTS_MAX 0x100000 /* rows of one insert that are counted */

typedef struct {
    u64 items, uses, room, counter, n, at;
    u32 left, known;
    u64 sums[N_SUMS], last[N_LAST];
} ops_sink;

/* The first of OPS_CHUNK places for the item; on CUDA by one atomic for all lanes that are here together. */
FN u64 take_places(u64 counter) {
#if defined(KC_CUDA)
    u32 mask = __activemask(), below, lane;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    const u32 leader = (u32)__ffs((i32)mask) - 1;
    u64 first = 0;
    if (lane == leader) first = atomicAdd((u64 *)counter, (u64)__popc(mask) * OPS_CHUNK);
    return __shfl_sync(mask, first, (i32)leader) + (u64)__popc(mask & below) * OPS_CHUNK;
#else
    return ga_add_u64(counter, OPS_CHUNK);
#endif
}
/* A call's first operation, or one on another item than those before. kind: OPK_* of txn/order/schedule.h. */
FN void put_first(PRIV ops_sink *ops, u64 item, u32 call, u32 kind) {
#if OPS_SHARED
    if (ops->n < ops->room) {
        G(u64, ops->items)[2 * ops->n] = item;
        G(u64, ops->items)[2 * ops->n + 1] = (u64)kind << 32 | call;
    }
    ops->n++;
#else
    if (ops->left == 0) {
        ops->at = take_places(ops->counter);
        ops->left = OPS_CHUNK;
    }
    if (ops->at < ops->room) {
        G(u64, ops->items)[ops->at] = item;
        G(u32, ops->uses)[ops->at] = call << RK_KIND_BITS | kind;
    }
    ops->at++;
    ops->left--;
#endif
}
/* Two of a call on one item are one, as schedules have it (read and add: write): loops over lines of an order have
 * many. One that comes again stays near the end. */
FN void put_op(PRIV ops_sink *ops, u64 item, u32 call, u32 kind) {
#if OPS_SHARED
    for (u64 i = ops->n; i != 0 && i + 6 > ops->n && ops->n <= ops->room; i--) {
        const u64 at = ops->items + 16 * (i - 1), last = ops->items + 16 * (ops->n - 1);
        if (G(u32, at)[2] != call) break;
        if (G(u64, at)[0] != item) continue;
        const u64 both = (u64)(((G(u32, at)[3] + 1) | (kind + 1)) - 1) << 32 | call;
        G(u64, at)[0] = G(u64, last)[0];
        G(u64, at)[1] = G(u64, last)[1];
        G(u64, last)[0] = item;
        G(u64, last)[1] = both;
        return;
    }
#endif
    put_first(ops, item, call, kind);
}
/* An operation of place k in a loop whose item is mostly that of the round before: issued once for all of these
 * rounds (RK_AGAIN). */
FN void put_again(PRIV ops_sink *ops, u32 k, u64 item, u32 call, u32 kind) {
#if !OPS_SHARED
    if (kind < RK_DEQUEUE) {
        if ((ops->known >> k & 1u) != 0 && ops->last[k] == item) return;
        ops->known |= 1u << k;
        ops->last[k] = item;
        kind |= RK_AGAIN;
    }
#endif
    put_op(ops, item, call, kind);
}

/* ---- sums of amounts: how far additions may take a column ---------------------------------------------- */
/* sum + |v|, or the greatest number. */
FN u64 sum_abs(u64 sum, i64 v) {
    const u64 a = v < 0 ? 0 - (u64)v : (u64)v;
    return sum + a < sum ? ~U64C(0) : sum + a;
}
/* Adds an item's sum to the bulk's, u64[2] at `to`; the second word: it is too large. On CUDA all lanes of a warp
 * come here. */
FN void sum_merge(u64 to, u64 sum) {
#if defined(KC_CUDA)
    __syncwarp();
    for (u32 d = 16; d > 0; d >>= 1) {
        const u64 other = __shfl_down_sync(~0u, sum, d);
        sum = sum + other < sum ? ~U64C(0) : sum + other;
    }
    if (LID % 32u != 0) return;
#endif
    if (sum == 0) return;
    const u64 old = ga_add_u64(to, sum);
    if (sum == ~U64C(0) || old + sum < old) ga_or_u64(to + 8, 1);
}

#endif
