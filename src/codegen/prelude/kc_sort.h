/* kc_sort.h - the kernels that sort pairs (prefix of the key, row): a template, taken in behind the kernels of a
 * sort.
 *
 *   sort_tile    each group sorts tiles of SORT_TILE pairs in local memory (bitonic), but for those that are sorted
 *   sort_merge   pairs of runs of SORT_WIDTH pairs become runs of twice as many: each item finds, by a search along a
 *                diagonal, where its MERGE_PIECE pairs of the result begin in both runs [merge path]; runs that follow
 *                each other are copied
 *
 * Groups and items do not wait for each other; a launch is over before the next one begins.
 *
 * Defined in front of it, by emit_sort.c for a query's sort, interp/ki_sort.h for any, and kr_order.h for rows in
 * source order: SORT_TILE, MERGE_PIECE; parameters SORT_N (pairs), SORT_A, SORT_B (addresses: from, to), SORT_WIDTH;
 * SORT_LESS(ka, ra, kb, rb), a total order, in which pairs with row ~0 come behind all others of their key; SORT_BEGIN,
 * if these need variables of the kernel.
 */
#if !defined(SORT_TILE) /* alone */
#include "codegen/prelude/kc_gen.h"
#define SORT_TILE 1024
#define MERGE_PIECE 8
#define SORT_N P(1)
#define SORT_A P(2)
#define SORT_B P(3)
#define SORT_WIDTH P(4)
#define SORT_LESS(ka, ra, kb, rb) ((ka) != (kb) ? (ka) < (kb) : (ra) < (rb))
#endif
#if !defined(SORT_BEGIN)
#define SORT_BEGIN
#endif

KERNEL(sort_tile) {
    SORT_BEGIN
    const u64 n = SORT_N, a = SORT_A;
    LOCAL u64 *const ks = LM(u64, 0), *const rs = LM(u64, SORT_TILE * 8);
    for (u64 base = GID * SORT_TILE; base < n; base += NGROUPS * SORT_TILE) {
        const u32 m = n - base < SORT_TILE ? (u32)(n - base) : SORT_TILE;
        if (LID == 0) {
            ks[0] = STOPPED();
            ks[1] = 0;
        }
        BARRIER();
        for (u32 i = LID; i + 1 < m; i += LSIZE) {
            const u64 at = 2 * (base + i);
            if (SORT_LESS(G(u64, a)[at + 2], G(u64, a)[at + 3], G(u64, a)[at], G(u64, a)[at + 1])) {
                ks[1] = 1; /* by any number of items */
                break;
            }
        }
        BARRIER();
        const bool halt = ks[0] != 0, is_sorted = ks[1] == 0;
        BARRIER();
        if (halt) break;
        if (is_sorted) continue;
        u32 size = 1;
        while (size < m) size *= 2;
        /* padding has row ~0 and comes last; a real pair with the same key is less */
        for (u32 i = LID; i < size; i += LSIZE) {
            ks[i] = i < m ? G(u64, a)[2 * (base + i)] : ~(u64)0;
            rs[i] = i < m ? G(u64, a)[2 * (base + i) + 1] : ~(u64)0;
        }
        BARRIER();
        for (u32 k = 2; k <= size; k <<= 1)
            for (u32 j = k >> 1; j > 0; j >>= 1) {
                for (u32 i = LID; i < size / 2; i += LSIZE) {
                    const u32 x = 2 * i - (i & (j - 1)), y = x + j;
                    const bool up = (x & k) == 0;
                    const bool less = SORT_LESS(ks[y], rs[y], ks[x], rs[x]);
                    if (less == up) {
                        const u64 tk = ks[x], tr = rs[x];
                        ks[x] = ks[y];
                        rs[x] = rs[y];
                        ks[y] = tk;
                        rs[y] = tr;
                    }
                }
                BARRIER();
            }
        for (u32 i = LID; i < m; i += LSIZE) {
            G(u64, a)[2 * (base + i)] = ks[i];
            G(u64, a)[2 * (base + i) + 1] = rs[i];
        }
        BARRIER();
    }
}

KERNEL(sort_merge) {
    SORT_BEGIN
    const u64 n = SORT_N, width = SORT_WIDTH, a = SORT_A, b = SORT_B;
    u32 polls = 0;
    for (u64 d = (GID * LSIZE + LID) * MERGE_PIECE; d < n && GOES_ON(polls, 8u); d += NGROUPS * LSIZE * MERGE_PIECE) {
        const u64 start = d / (2 * width) * (2 * width), mid = start + width < n ? start + width : n,
                  stop = start + 2 * width < n ? start + 2 * width : n;
        const u64 na = mid - start, nb = stop - mid, diag = d - start;
        const u64 pa = a + start * 16, pb = a + mid * 16;
        const bool in_order =
            nb == 0 || SORT_LESS(G(u64, pa)[2 * na - 2], G(u64, pa)[2 * na - 1], G(u64, pb)[0], G(u64, pb)[1]);
        u64 hi = diag < na ? diag : na, lo = in_order ? hi : diag > nb ? diag - nb : 0;
        while (lo < hi) {
            const u64 x = (lo + hi) / 2, y = diag - 1 - x;
            if (SORT_LESS(G(u64, pa)[2 * x], G(u64, pa)[2 * x + 1], G(u64, pb)[2 * y], G(u64, pb)[2 * y + 1]))
                lo = x + 1;
            else hi = x;
        }
        u64 i = lo, j = diag - lo;
        for (u32 q = 0; q < MERGE_PIECE && i + j < na + nb; q++) {
            const bool left = j >= nb || (i < na && (in_order || SORT_LESS(G(u64, pa)[2 * i], G(u64, pa)[2 * i + 1],
                                                                           G(u64, pb)[2 * j], G(u64, pb)[2 * j + 1])));
            const u64 from = left ? pa + i * 16 : pb + j * 16;
            G(u64, b)[2 * (d + q)] = G(u64, from)[0];
            G(u64, b)[2 * (d + q) + 1] = G(u64, from)[1];
            if (left) i++;
            else j++;
        }
    }
}
#undef SORT_BEGIN
#undef SORT_TILE
#undef MERGE_PIECE
#undef SORT_N
#undef SORT_A
#undef SORT_B
#undef SORT_WIDTH
