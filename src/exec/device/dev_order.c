/* dev_order.c - rows back in source order.
 *
 * Kernels append rows in whatever order their groups get to it. Where the order of a row store matters
 * (RowsSpec.ordered), each row carries a sequence number (segment and position in the source), and when the row store
 * is complete its rows are sorted by it: pairs (sequence number, row), merge sort, then one gather per column. One
 * module for all queries: codegen/prelude/kr_order.h.
 */
#include "exec/device/dev_int.h"

enum { P_A = 1, P_B, P_N, P_X, P_Y, N_ORDER_PARAMS }; /* 0 is the error word, of which the stop flag is looked at */
enum { K_INIT, K_TILE, K_MERGE, K_GATHER };
static const char *const names[ORDER_KERNELS] = {"order_init", "sort_tile", "sort_merge", "gather_1",
                                                 "gather_2",   "gather_4",  "gather_8",   "gather_16"};

static bool wants_order(const DevQuery *q) {
    for (int32_t i = 0; i < q->n; i++) {
        const Sink *s = &q->segs[i].p->sink;
        if (!q->segs[i].reason && s->kind == SINK_ROWS && q->ep->rows[s->id].has_seq) return true;
    }
    return false;
}

CodeState order_code(DevQuery *q, bool wait, Err *e) {
    if (q->order.ref.entry || !wants_order(q)) return CODE_READY;
    const KernelSet set = {kernel_order_text,        names,          ORDER_KERNELS, N_ORDER_PARAMS,
                           q->ep->target.group_size, .defines = NULL};
    return code_get_set(q->r->cache, q->d, q->account, &set, wait, &q->order.ref, q->order.kernels, e);
}

static Status run(DevQuery *q, int kernel, int64_t work, int64_t local, const uint64_t *p, Err *e) {
    DevKernel *k = q->order.kernels[kernel];
    int32_t size = q->ep->target.group_size;
    int64_t groups = MAX_OF(INT64_C(1), q->d->ops->resident_groups(k, size, local));
    q->busy = true;
    q->checked = false;
    return q->d->ops->launch(q->lane->queue, k, MIN_OF(groups, MAX_OF(work, INT64_C(1))), size, local, p,
                             N_ORDER_PARAMS, e);
}

static Status gather(DevQuery *q, uint64_t err, int64_t size, int64_t n, DevPtr pairs, DevPtr from, DevPtr to, Err *e) {
    int which = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4;
    uint64_t p[N_ORDER_PARAMS] = {err, [P_A] = pairs, [P_N] = (uint64_t)n, [P_X] = from, [P_Y] = to};
    return run(q, K_GATHER + which, (n + 1023) / 1024, 0, p, e);
}

Status order_rows(DevQuery *q, DState *in, DState *out, Err *e) {
    int64_t n = in->count, seq = in->n_cols - 1, tiles = (n + SORT_TILE - 1) / SORT_TILE;
    TRY(state_alloc_rows(q, out, n, e));
    out->count = n;
    out->exact = true;
    if (n == 0) return ST_OK;
    DevMem a = {0}, b = {0};
    Status st = query_mem_get(q, n * 16, &a, e);
    if (st == ST_OK) st = query_mem_get(q, n * 16, &b, e);
    uint64_t p[N_ORDER_PARAMS] = {
        q->control.p + (uint64_t)in->last * 16, [P_A] = a.p, [P_B] = b.p, [P_N] = (uint64_t)n, [P_X] = in->data[seq]};
    if (st == ST_OK) st = run(q, K_INIT, tiles, 0, p, e);
    if (st == ST_OK) st = run(q, K_TILE, tiles, (int64_t)SORT_TILE * 16, p, e);
    for (int64_t width = SORT_TILE; width < n && st == ST_OK; width *= 2) {
        p[P_A] = a.p;
        p[P_B] = b.p;
        p[P_X] = (uint64_t)width;
        st = run(q, K_MERGE, tiles, 0, p, e);
        DevMem t = a;
        a = b;
        b = t;
    }
    for (int32_t c = 0; c < out->n_cols && st == ST_OK; c++) {
        st = gather(q, p[0], phys_size((Phys)out->cols[c].phys), n, a.p, in->data[c], out->data[c], e);
        if (st == ST_OK && out->valid[c]) st = gather(q, p[0], 1, n, a.p, in->valid[c], out->valid[c], e);
    }
    query_mem_put(q, &a);
    query_mem_put(q, &b);
    return st;
}
