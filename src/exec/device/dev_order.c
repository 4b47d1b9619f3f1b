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
#define PIECE "32"

static const char source[] =
    "#define N_PARAMS 6\n#define ERR_PARAM 0\n" KERNEL_PRELUDE_INCLUDE "#define TILE 1024\n"
    "#define ITEMS(i, n) \\\n"
    "    u32 polls = 0; \\\n"
    "    for (u64 i = GID * LSIZE + LID; i < (n) && GOES_ON(polls, 64u); i += NGROUPS * LSIZE)\n"
    "FN bool before(u64 ka, u64 ra, u64 kb, u64 rb) { return ka != kb ? ka < kb : ra < rb; }\n"
    "KERNEL(order_init) {\n"
    "    const u64 n = P(3);\n"
    "    ITEMS(i, n) {\n"
    "        G(u64, P(1))[2 * i] = G(u64, P(4))[i];\n"
    "        G(u64, P(1))[2 * i + 1] = i;\n"
    "    }\n"
    "}\n"
    /* Bitonic sort of TILE pairs in local memory; padding comes last. */
    "KERNEL(order_tile) {\n"
    "    const u64 n = P(3);\n"
    "    LOCAL u64 *const ks = (LOCAL u64 *)LMEM, *const rs = (LOCAL u64 *)LMEM + TILE;\n"
    "    for (u64 base = GID * TILE; base < n; base += NGROUPS * TILE) {\n"
    "        if (LID == 0) ks[0] = STOPPED();\n"
    "        BARRIER();\n"
    "        const bool halt = ks[0] != 0;\n"
    "        BARRIER();\n"
    "        if (halt) break;\n"
    "        const u32 m = n - base < TILE ? (u32)(n - base) : TILE;\n"
    "        u32 size = 1;\n"
    "        while (size < m) size *= 2;\n"
    "        for (u32 i = LID; i < size; i += LSIZE) {\n"
    "            ks[i] = i < m ? G(u64, P(1))[2 * (base + i)] : ~(u64)0;\n"
    "            rs[i] = i < m ? G(u64, P(1))[2 * (base + i) + 1] : ~(u64)0;\n"
    "        }\n"
    "        BARRIER();\n"
    "        for (u32 k = 2; k <= size; k <<= 1)\n"
    "            for (u32 j = k >> 1; j > 0; j >>= 1) {\n"
    "                for (u32 i = LID; i < size / 2; i += LSIZE) {\n"
    "                    const u32 x = 2 * i - (i & (j - 1)), y = x + j;\n"
    "                    const bool up = (x & k) == 0;\n"
    "                    const u64 kx = ks[x], rx = rs[x], ky = ks[y], ry = rs[y];\n"
    "                    if (before(ky, ry, kx, rx) == up) {\n"
    "                        ks[x] = ky;\n"
    "                        rs[x] = ry;\n"
    "                        ks[y] = kx;\n"
    "                        rs[y] = rx;\n"
    "                    }\n"
    "                }\n"
    "                BARRIER();\n"
    "            }\n"
    "        for (u32 i = LID; i < m; i += LSIZE) {\n"
    "            G(u64, P(1))[2 * (base + i)] = ks[i];\n"
    "            G(u64, P(1))[2 * (base + i) + 1] = rs[i];\n"
    "        }\n"
    "        BARRIER();\n"
    "    }\n"
    "}\n"
    /* Each item merges PIECE pairs of the result: a binary search along the diagonal finds where they begin. P(4) =
       length of the runs. */
    "KERNEL(order_merge) {\n"
    "    const u64 n = P(3), width = P(4);\n"
    "    u32 polls = 0;\n"
    "    for (u64 d = (GID * LSIZE + LID) * " PIECE "; d < n && GOES_ON(polls, 8u); d += NGROUPS * LSIZE * " PIECE
    ") {\n"
    "        const u64 start = d / (2 * width) * (2 * width), mid = start + width < n ? start + width : n;\n"
    "        const u64 stop = start + 2 * width < n ? start + 2 * width : n, na = mid - start, nb = stop - mid, diag = "
    "d - start;\n"
    "        const u64 pa = P(1) + start * 16, pb = P(1) + mid * 16;\n"
    "        u64 lo = diag > nb ? diag - nb : 0, hi = diag < na ? diag : na;\n"
    "        while (lo < hi) {\n"
    "            const u64 x = (lo + hi) / 2, y = diag - 1 - x;\n"
    "            if (before(G(u64, pa)[2 * x], G(u64, pa)[2 * x + 1], G(u64, pb)[2 * y], G(u64, pb)[2 * y + 1])) lo = "
    "x + 1;\n"
    "            else hi = x;\n"
    "        }\n"
    "        u64 i = lo, j = diag - lo;\n"
    "        for (u32 q = 0; q < " PIECE " && i + j < na + nb; q++) {\n"
    "            const bool left = j >= nb || (i < na && before(G(u64, pa)[2 * i], G(u64, pa)[2 * i + 1], G(u64, pb)[2 "
    "* j], G(u64, pb)[2 * j + 1]));\n"
    "            const u64 from = left ? pa + i * 16 : pb + j * 16;\n"
    "            G(u64, P(2))[2 * (d + q)] = G(u64, from)[0];\n"
    "            G(u64, P(2))[2 * (d + q) + 1] = G(u64, from)[1];\n"
    "            if (left) i++;\n"
    "            else j++;\n"
    "        }\n"
    "    }\n"
    "}\n"
    "#define GATHER(T) \\\n"
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
static const char *const names[K_COUNT] = {"order_init", "order_tile", "order_merge", "gather_1",
                                           "gather_2",   "gather_4",   "gather_8",    "gather_16"};

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
