/* dev_order.c - rows back in source order.
 *
 * Kernels append rows in whatever order their groups get to it. Where the order of a row store matters
 * (RowsSpec.ordered), each row carries a sequence number (segment and position in the source), and when the row store
 * is complete its rows are sorted by it: pairs (sequence number, row), merge sort, then one gather per column. One
 * module for all queries, in kernel C like everything else.
 */
#include "codegen/prelude.h"
#include "exec/device/dev_int.h"

enum { P_A = 1, P_B, P_N, P_X, P_Y, N_ORDER_PARAMS }; /* 0 is the error word, of which the stop flag is looked at */

static const char source[] =
    "#define N_PARAMS 6\n#define ERR_PARAM 0\n" KERNEL_PRELUDE_INCLUDE "#define ITEMS(i, n) \\\n"
    "    u32 polls = 0; \\\n"
    "    for (u64 i = GID * LSIZE + LID; i < (n) && GOES_ON(polls, 64u); i += NGROUPS * LSIZE)\n"
    "KERNEL(order_init) {\n"
    "    const u64 n = P(3);\n"
    "    ITEMS(i, n) {\n"
    "        G(u64, P(1))[2 * i] = G(u64, P(4))[i];\n"
    "        G(u64, P(1))[2 * i + 1] = i;\n"
    "    }\n"
    "}\n"
    /* sort_tile and sort_merge */
    "#define SORT_TILE 1024\n#define MERGE_PIECE 32\n#define SORT_A P(1)\n#define SORT_B P(2)\n#define SORT_N P(3)\n"
    "#define SORT_WIDTH P(4)\n#define SORT_LESS(ka, ra, kb, rb) ((ka) != (kb) ? (ka) < (kb) : (ra) < "
    "(rb))\n" KERNEL_PART(kc_sort) "#define GATHER(T) \\\n"
                                   "    ITEMS(i, P(3)) G(T, P(5))[i] = G(T, P(4))[G(u64, P(1))[2 * i + 1]]\n"
                                   "KERNEL(gather_1) { GATHER(u8); }\n"
                                   "KERNEL(gather_2) { GATHER(u16); }\n"
                                   "KERNEL(gather_4) { GATHER(u32); }\n"
                                   "KERNEL(gather_8) { GATHER(u64); }\n"
                                   "KERNEL(gather_16) {\n"
                                   "    ITEMS(i, P(3)) {\n"
                                   "        const u64 row = G(u64, P(1))[2 * i + 1];\n"
                                   "        G(u64, P(5))[2 * i] = G(u64, P(4))[2 * row];\n"
                                   "        G(u64, P(5))[2 * i + 1] = G(u64, P(4))[2 * row + 1];\n"
                                   "    }\n"
                                   "}\n";

enum { K_INIT, K_TILE, K_MERGE, K_GATHER, K_COUNT = K_GATHER + 5 };
static const char *const names[K_COUNT] = {"order_init", "sort_tile", "sort_merge", "gather_1",
                                           "gather_2",   "gather_4",  "gather_8",   "gather_16"};

static bool wants_order(const DevQuery *q) {
    for (int32_t i = 0; i < q->n; i++) {
        const Sink *s = &q->segs[i].p->sink;
        if (!q->segs[i].reason && s->kind == SINK_ROWS && q->ep->rows[s->id].has_seq) return true;
    }
    return false;
}

CodeState order_code(DevQuery *q, bool wait, Err *e) {
    if (q->has_order || !wants_order(q)) return CODE_READY;
    CodeState st = code_get(q->r->cache, q->d, source, "", wait, &q->order, e);
    q->has_order = st == CODE_READY;
    return st;
}

static Status run(DevQuery *q, int kernel, int64_t work, int64_t local, const uint64_t *p, Err *e) {
    DevKernel *k;
    TRY(q->d->ops->kernel(q->order.module, names[kernel], &k, e));
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
