/* kp_hot.h - additions to cells that many calls of a launch add to, summed up before they go to memory.
 *
 * On processors an atomic addition to a cell that other cores add to as well waits for the cell's cache line, 100 ns
 * and more. So a work-item keeps sums of its own for some cells and adds each to its cell at the end of the launch, or
 * when another cell takes its slot. A cell takes a slot over that has been missed HOT_MISSES times in a row: cells that
 * are added to once each leave the hot ones where they are, and pay for one comparison.
 *
 * Only where calls hold no locks and stand in no partition: calls of such a launch conflict with no other call of it,
 * so none of them reads a cell that another one adds to. The emitter of additions (codegen/emit_rows.c) makes sure
 * that the call itself does not read the column either. Sums go round as the atomic additions do, so that the order of
 * additions, and taking one back by the log of the call, change nothing.
 *
 * Of the module: RUN_CARRIES, which processors have without statement locks (kp_run.h).
 */
#ifndef KP_HOT_H
#define KP_HOT_H
#include "codegen/prelude/txn/kp_calls.h"

#if RUN_CARRIES && !defined(HOST_SINGLE)
#define HOT_ADDS 1
#else
#define HOT_ADDS 0
#endif
#if HOT_ADDS
#define HOT_SLOTS 256 /* a power of two */
#define HOT_MISSES 4
typedef struct {
    u64 cell, sum; /* an address, 0: free; what is to be added to it */
    u32 bytes;     /* of the cell: 4 or 8 */
    u32 misses;    /* in a row, of other cells */
} hot_slot;
typedef struct {
    hot_slot slots[HOT_SLOTS];
    bool used; /* slots have been made free */
} hot_adds;
#define HOT_ARG , hot_adds *hot
#define HOT_PASS , &hot /* of the kernel */
#define HOT_GIVEN , hot /* of a function that has HOT_ARG */
#define HOT_LAUNCH (PP_COUNTERS == 0 && PP_PART_AT == 0)

FN void hot_add_to(const u64 cell, const u32 bytes, const u64 by) {
    if (bytes == 4) ga_add_u32(cell, (u32)by);
    else ga_add_u64(cell, by);
}
/* Adds `by` to the cell of 4 or 8 bytes, now or at the end of the launch. */
FN void hot_add(hot_adds *hot, const u64 cell, const u32 bytes, const u64 by) {
    hot_slot *s = &hot->slots[(cell >> 2 ^ cell >> 10) & (HOT_SLOTS - 1)];
    if (!hot->used) {
        for (u32 i = 0; i < HOT_SLOTS; i++) hot->slots[i].cell = 0;
        hot->used = true;
    }
    if (s->cell == cell) {
        s->sum += by;
        s->misses = 0;
    } else if (s->cell != 0 && ++s->misses < HOT_MISSES) {
        hot_add_to(cell, bytes, by);
    } else {
        if (s->cell != 0) hot_add_to(s->cell, s->bytes, s->sum);
        *s = (hot_slot){cell, by, bytes, 0};
    }
}
/* Around a launch: its sums are made, and go to their cells. */
#define HOT_BEGIN() \
    hot_adds hot;   \
    hot.used = false
#define HOT_END() hot_flush(&hot)
FN void hot_flush(hot_adds *hot) {
    for (u32 i = 0; hot->used && i < HOT_SLOTS; i++)
        if (hot->slots[i].cell != 0) hot_add_to(hot->slots[i].cell, hot->slots[i].bytes, hot->slots[i].sum);
}
#else
#define HOT_BEGIN() (void)0
#define HOT_END() (void)0
#define HOT_ARG
#define HOT_PASS
#define HOT_GIVEN
#endif

#endif
