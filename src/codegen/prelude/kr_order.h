/* kr_order.h - rows back in source order (exec/device/dev_order.c launches these): pairs (sequence number, row), which
 * kc_sort.h sorts, then one gather per column.
 *
 *   order_init  the pairs of ORDER_N rows, at ORDER_A, of their sequence numbers at ORDER_X
 *   gather_N    cells of N bytes, from ORDER_X to ORDER_Y, in the order of the pairs
 */
#ifndef KR_ORDER_H
#define KR_ORDER_H
#include "codegen/prelude/kc_gen.h"

#define ORDER_A P(1)
#define ORDER_N P(3)
#define ORDER_X P(4)
#define ORDER_Y P(5)
#define SORT_TILE 1024
#define MERGE_PIECE 32
#define SORT_A ORDER_A
#define SORT_B P(2)
#define SORT_N ORDER_N
#define SORT_WIDTH ORDER_X
#define SORT_LESS(ka, ra, kb, rb) ((ka) != (kb) ? (ka) < (kb) : (ra) < (rb))

#define ORDER_ITEMS(i) \
    u32 polls = 0;     \
    for (u64 i = GID * LSIZE + LID; i < ORDER_N && GOES_ON(polls, 64u); i += NGROUPS * LSIZE)

KERNEL(order_init) {
    ORDER_ITEMS(i) {
        G(u64, ORDER_A)[2 * i] = G(u64, ORDER_X)[i];
        G(u64, ORDER_A)[2 * i + 1] = i;
    }
}

#define GATHER(T) ORDER_ITEMS(i) G(T, ORDER_Y)[i] = G(T, ORDER_X)[G(u64, ORDER_A)[2 * i + 1]]
KERNEL(gather_1) { GATHER(u8); }
KERNEL(gather_2) { GATHER(u16); }
KERNEL(gather_4) { GATHER(u32); }
KERNEL(gather_8) { GATHER(u64); }
KERNEL(gather_16) {
    ORDER_ITEMS(i) {
        const u64 row = G(u64, ORDER_A)[2 * i + 1];
        G(u64, ORDER_Y)[2 * i] = G(u64, ORDER_X)[2 * row];
        G(u64, ORDER_Y)[2 * i + 1] = G(u64, ORDER_X)[2 * row + 1];
    }
}
#endif
