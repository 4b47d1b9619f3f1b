/* rows_touch.c - memory of rows to come, before calls insert them.
 *
 * Rows are numbered by call, so workers insert side by side: all of them reach the same fresh page at the same time,
 * one has the system clear it (2 MiB where pages are huge), and the others wait for that. Here each worker takes pages
 * of its own.
 */
#include "txn/store/image.h"

enum { RANGES_MAX = ROW_PIECES + 2 };
#define TOUCH_STEP (INT64_C(2) << 20)      /* a huge page */
#define TOUCH_ALONE_MAX (INT64_C(1) << 18) /* bytes: for fewer, waking workers takes longer than a first write */

typedef struct TouchRange {
    char *p;
    int64_t bytes;
    int64_t steps; /* pages that it has a part of */
} TouchRange;
typedef struct TouchJob {
    int32_t n;
    TouchRange range[RANGES_MAX];
    _Atomic int64_t next;
} TouchJob;

static void add_range(TouchJob *j, void *array, int64_t size, int64_t first, int64_t n) {
    if (!array) return;
    char *p = (char *)array + first * size;
    const int64_t before = (int64_t)((uintptr_t)p & (uintptr_t)(TOUCH_STEP - 1));
    j->range[j->n++] = (TouchRange){p, n * size, (before + n * size + TOUCH_STEP - 1) / TOUCH_STEP};
}
static void touch_step(const TouchRange *r, int64_t step) {
    const int64_t before = (int64_t)((uintptr_t)r->p & (uintptr_t)(TOUCH_STEP - 1));
    const int64_t from = MAX_OF(step * TOUCH_STEP - before, INT64_C(0)),
                  to = MIN_OF((step + 1) * TOUCH_STEP - before, r->bytes);
    mem_touch(r->p + from, to - from);
}
static void touch_worker(void *ctx, int worker) {
    TouchJob *j = ctx;
    (void)worker;
    for (int64_t step; (step = atomic_fetch_add(&j->next, 1)) >= 0;) {
        const TouchRange *r = j->range, *const end = j->range + j->n;
        for (; r < end && step >= r->steps; r++) step -= r->steps;
        if (r == end) return;
        touch_step(r, step);
    }
}
void rows_touch(Image *im, int64_t first, int64_t n, Pool *pool, int workers) {
    TouchJob j = {0};
    int64_t bytes = 0;
    if (!pool || workers <= 1) return; /* a first write by itself is as quick */
    for (int32_t k = 0; k < ROW_PIECES; k++) add_range(&j, im->pieces[k].rows, im->pieces[k].stride, first, n);
    add_range(&j, im->live, 1, first, n);
    add_range(&j, im->dirty, 1, first, n);
    for (int32_t i = 0; i < j.n; i++) bytes += j.range[i].bytes;
    if (bytes > TOUCH_ALONE_MAX) pool_run(pool, workers, touch_worker, &j);
}
