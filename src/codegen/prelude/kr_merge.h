/* kr_merge.h - dictionaries merged on a device [Merge, section 3]; exec/device/dict_device.c launches these. Values are
 * u64, in order, none twice: main's MERGE_N_A of them at MERGE_A, the delta's MERGE_N_B at MERGE_B. X_M and X_D, u32 by
 * value, are at MERGE_X and MERGE_Y.
 *
 * Slice merge (3.1):
 *   merge_slices  each item merges one of MERGE_SLICES equal slices of main with the delta's values that belong to it,
 *                 found by binary search, to MERGE_TO, where both begin; how many different ones goes to MERGE_COUNTS
 *   merge_close   the gaps behind slices are closed, from MERGE_FROM to MERGE_TO, and the maps get the slice's first
 * code
 *
 * CSUM and MUM (3.2):
 *   merge_pairs   CSUM: both one behind the other, as pairs that kc_sort.h sorts; merge_keys: their values again
 *   merge_path    MUM: both merged, each item a piece, whose beginning is found along a diagonal
 *   merge_heads   values of MERGE_N sorted ones that differ from the one before, counted by chunk; merge_unique puts
 *                 them one behind the other
 *   merge_map     the place of each value among these, by binary search
 *
 * Both:
 *   merge_scan    by one group: MERGE_N counts become sums of those before; behind them, the sum of all
 */
#ifndef KR_MERGE_H
#define KR_MERGE_H
#include "codegen/prelude/kc_gen.h"

#define MERGE_A P(1)
#define MERGE_N_A P(2)
#define MERGE_B P(3)
#define MERGE_N_B P(4)
#define MERGE_TO P(5)
#define MERGE_FROM P(6)
#define MERGE_X P(7)
#define MERGE_Y P(8)
#define MERGE_COUNTS P(9)
#define MERGE_N P(10)
#define MERGE_SLICES P(11)
#define MERGE_CHUNK 4096u
#define MERGE_RUN 8u
#define SORT_TILE 1024
#define MERGE_PIECE 32
#define SORT_A MERGE_A
#define SORT_B MERGE_B
#define SORT_N MERGE_N
#define SORT_WIDTH MERGE_SLICES
#define SORT_LESS(ka, ra, kb, rb) ((ka) != (kb) ? (ka) < (kb) : (ra) < (rb))

#define MERGE_ITEMS(i, n) \
    u32 polls = 0;        \
    for (u64 i = GID * LSIZE + LID; i < (n) && GOES_ON(polls, 64u); i += NGROUPS * LSIZE)

/* How many of the n values are less. */
FN u64 merge_below(u64 values, u64 n, u64 value) {
    u64 lo = 0, hi = n;
    while (lo < hi) {
        const u64 mid = (lo + hi) / 2;
        if (GRO(u64, values)[mid] < value) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
/* Slice s: main's values [a, a_end) and the delta's [b, b_end). */
typedef struct merge_slice {
    u64 a, a_end, b, b_end;
} merge_slice;
FN merge_slice merge_slice_of(u64 s, u64 slices, u64 main, u64 n_a, u64 delta, u64 n_b) {
    const u64 len = (n_a + slices - 1) / slices;
    merge_slice x;
    x.a = s * len < n_a ? s * len : n_a;
    x.a_end = x.a + len < n_a ? x.a + len : n_a;
    x.b = s == 0 ? 0 : x.a == n_a ? n_b : merge_below(delta, n_b, GRO(u64, main)[x.a]);
    x.b_end = x.a_end == n_a ? n_b : merge_below(delta, n_b, GRO(u64, main)[x.a_end]);
    return x;
}

KERNEL(merge_slices) {
    const u64 main = MERGE_A, delta = MERGE_B, n_a = MERGE_N_A, n_b = MERGE_N_B, x = MERGE_X, y = MERGE_Y;
    const u64 slices = MERGE_SLICES, counts = MERGE_COUNTS, all = MERGE_TO;
    MERGE_ITEMS(s, slices) {
        const merge_slice z = merge_slice_of(s, slices, main, n_a, delta, n_b);
        const u64 to = all + (z.a + z.b) * 8;
        u64 i = z.a, k = z.b;
        u32 w = 0;
        while (i < z.a_end || k < z.b_end) {
            const bool has_a = i < z.a_end, has_b = k < z.b_end;
            const u64 a = has_a ? GRO(u64, main)[i] : 0, b = has_b ? GRO(u64, delta)[k] : 0;
            const bool take_a = has_a && (!has_b || a <= b), take_b = has_b && (!has_a || b <= a);
            G(u64, to)[w] = take_a ? a : b;
            if (take_a) G(u32, x)[i++] = w;
            if (take_b) G(u32, y)[k++] = w;
            w++;
        }
        G(u32, counts)[s] = w;
    }
}
KERNEL(merge_close) {
    const u64 main = MERGE_A, delta = MERGE_B, n_a = MERGE_N_A, n_b = MERGE_N_B, x = MERGE_X, y = MERGE_Y;
    const u64 slices = MERGE_SLICES, counts = MERGE_COUNTS, from = MERGE_FROM, to = MERGE_TO;
    MERGE_ITEMS(s, slices) {
        const merge_slice z = merge_slice_of(s, slices, main, n_a, delta, n_b);
        const u32 first = G(u32, counts)[s], n = G(u32, counts)[s + 1] - first;
        for (u32 w = 0; w < n; w++) G(u64, to)[first + w] = GRO(u64, from)[z.a + z.b + w];
        for (u64 i = z.a; i < z.a_end; i++) G(u32, x)[i] += first;
        for (u64 k = z.b; k < z.b_end; k++) G(u32, y)[k] += first;
    }
}

KERNEL(merge_pairs) {
    const u64 n_a = MERGE_N_A, a = MERGE_A, b = MERGE_B, to = MERGE_TO;
    MERGE_ITEMS(i, n_a + MERGE_N_B) {
        G(u64, to)[2 * i] = i < n_a ? GRO(u64, a)[i] : GRO(u64, b)[i - n_a];
        G(u64, to)[2 * i + 1] = i;
    }
}
KERNEL(merge_keys) {
    const u64 from = MERGE_FROM, to = MERGE_TO;
    MERGE_ITEMS(i, MERGE_N) { G(u64, to)[i] = GRO(u64, from)[2 * i]; }
}
KERNEL(merge_path) {
    const u64 a = MERGE_A, b = MERGE_B, n_a = MERGE_N_A, n_b = MERGE_N_B, to = MERGE_TO;
    MERGE_ITEMS(piece, (n_a + n_b + MERGE_RUN - 1) / MERGE_RUN) {
        const u64 d = piece * MERGE_RUN;
        u64 lo = d > n_b ? d - n_b : 0, hi = d < n_a ? d : n_a;
        while (lo < hi) { /* how many of the first d are main's */
            const u64 mid = (lo + hi) / 2;
            if (GRO(u64, a)[mid] <= GRO(u64, b)[d - 1 - mid]) lo = mid + 1;
            else hi = mid;
        }
        u64 i = lo, k = d - lo;
        for (u64 w = d; w < d + MERGE_RUN && w < n_a + n_b; w++) {
            const bool take_a = i < n_a && (k >= n_b || GRO(u64, a)[i] <= GRO(u64, b)[k]);
            G(u64, to)[w] = take_a ? GRO(u64, a)[i] : GRO(u64, b)[k];
            if (take_a) i++;
            else k++;
        }
    }
}

/* One answer for the group, since it has barriers. */
#define MERGE_STOPPED(word, halt)        \
    if (LID == 0) (word)[0] = STOPPED(); \
    BARRIER();                           \
    const bool halt = (word)[0] != 0;    \
    BARRIER();
FN bool merge_is_head(u64 values, u64 i) { return i == 0 || GRO(u64, values)[i] != GRO(u64, values)[i - 1]; }
KERNEL(merge_heads) {
    const u64 from = MERGE_FROM, n = MERGE_N, counts = MERGE_COUNTS;
    LOCAL u64 *const word = LM(u64, 0), *const tmp = LM(u64, 8);
    for (u64 c = GID; c * MERGE_CHUNK < n; c += NGROUPS) {
        const u64 end = (c + 1) * MERGE_CHUNK < n ? (c + 1) * MERGE_CHUNK : n;
        u64 heads = 0;
        MERGE_STOPPED(word, halt)
        if (halt) break;
        for (u64 i = c * MERGE_CHUNK + LID; i < end; i += LSIZE) heads += merge_is_head(from, i);
        heads = group_sum_u64(heads, tmp);
        if (LID == 0) G(u32, counts)[c] = (u32)heads;
        BARRIER();
    }
}
KERNEL(merge_unique) {
    const u64 from = MERGE_FROM, n = MERGE_N, counts = MERGE_COUNTS, to = MERGE_TO;
    LOCAL u64 *const word = LM(u64, 0), *const tmp = LM(u64, 8);
    for (u64 c = GID; c * MERGE_CHUNK < n; c += NGROUPS) {
        const u64 end = (c + 1) * MERGE_CHUNK < n ? (c + 1) * MERGE_CHUNK : n;
        u32 base = G(u32, counts)[c], all;
        MERGE_STOPPED(word, halt)
        if (halt) break;
        for (u64 first = c * MERGE_CHUNK; first < end; first += LSIZE) {
            const u64 i = first + LID;
            const u32 head = i < end && merge_is_head(from, i);
            const u32 at = base + group_scan_u32(head, tmp, &all);
            if (head) G(u64, to)[at] = GRO(u64, from)[i];
            base += all;
        }
    }
}
KERNEL(merge_scan) {
    const u64 n = MERGE_N, counts = MERGE_COUNTS;
    LOCAL u64 *const word = LM(u64, 0), *const tmp = LM(u64, 8);
    u32 base = 0, all;
    if (GID != 0) return;
    for (u64 first = 0; first < n; first += LSIZE) {
        const u64 i = first + LID;
        MERGE_STOPPED(word, halt)
        if (halt) break;
        const u32 v = i < n ? G(u32, counts)[i] : 0u;
        const u32 before = group_scan_u32(v, tmp, &all);
        if (i < n) G(u32, counts)[i] = base + before;
        base += all;
    }
    if (LID == 0) G(u32, counts)[n] = base;
}
KERNEL(merge_map) {
    const u64 a = MERGE_A, b = MERGE_B, n_a = MERGE_N_A, values = MERGE_FROM, n = MERGE_N, x = MERGE_X, y = MERGE_Y;
    MERGE_ITEMS(i, n_a + MERGE_N_B) {
        if (i < n_a) G(u32, x)[i] = (u32)merge_below(values, n, GRO(u64, a)[i]);
        else G(u32, y)[i - n_a] = (u32)merge_below(values, n, GRO(u64, b)[i - n_a]);
    }
}
#endif
