/* schedule_lone.c - depths by several workers, where calls work on one item each, or on a few that happen to be of one
 * partition; see schedule_int.h.
 *
 *   1. operations are dealt out: each piece of them, a worker's at a time, by partition of their items
 *   2. each partition's depths are found by one worker, piece by piece, in a table of its own
 *   3. the depths are where the operations were; the sort of the calls (schedule.c) reads them piece by piece again, so
 * that workers do not write to the same cache lines
 */
#include "txn/order/schedule_int.h"

enum {
    LONE_OPS_MIN = 4096,
    PIECE_OPS = 1024,
    SAMPLES = 16 /* pieces that are sampled first */,
    DEAL_PIECES = 8 /* that a worker takes at a time */
};

ALWAYS_INLINE uint64_t partition_of(int64_t n_partitions, uint64_t item) {
    return (item ^ item >> 32) & (uint64_t)(n_partitions - 1);
}

/* ---- dealing ---- */
/* Two partitions: where they go stays in registers. */
static void deal_two(const TxnOp *ops, int64_t n, TxnOp *to, int64_t first, int64_t second) {
    for (int64_t k = 0; k < n; k++) {
        const int64_t p = (int64_t)partition_of(2, ops[k].item);
        to[p ? second : first] = ops[k];
        second += p;
        first += 1 - p;
    }
}
static bool deal_piece(const Lone *l, int64_t piece, bool *several) {
    const TxnOp *ops = l->pieces[piece].ops;
    const int64_t n = l->pieces[piece].n, n_partitions = l->n_partitions;
    int64_t *start = l->start + piece * n_partitions, at[LONE_PARTITIONS_MAX] = {0}, sum = start[0];
    uint64_t again = 0, crosses = 0, last_partition = 0;
    uint32_t last_call = n > 0 ? ~ops[0].call : 0;
    for (int64_t k = 0; k < n; k++) {
        const uint64_t p = partition_of(n_partitions, ops[k].item), same = ops[k].call == last_call;
        again |= same;
        crosses |= same & (p != last_partition);
        last_call = ops[k].call;
        last_partition = p;
        at[p]++;
    }
    *several |= again;
    if (crosses) return false;
    for (int64_t p = 0; p < n_partitions; p++) {
        const int64_t count = at[p];
        start[p] = at[p] = sum;
        sum += count;
    }
    if (n_partitions == 2) deal_two(ops, n, l->dealt, at[0], at[1]);
    else
        for (int64_t k = 0; k < n; k++) l->dealt[at[partition_of(n_partitions, ops[k].item)]++] = ops[k];
    return true;
}
static void deal_worker(void *ctx, int worker) {
    Lone *l = ctx;
    bool several = false;
    (void)worker;
    for (int64_t from; (from = atomic_fetch_add(&l->next, DEAL_PIECES)) < l->n_pieces;)
        for (int64_t i = from; i < MIN_OF(from + DEAL_PIECES, l->n_pieces); i++)
            if (!deal_piece(l, i, &several)) {
                atomic_store(&l->full, true);
                atomic_store(&l->next, l->n_pieces);
            }
    if (several) atomic_store(&l->several, true);
}

/* ---- depths ---- */
/* Calls with one operation each: all of a group have one depth, so that is all an item has to remember, with the kind
 * of its last group: state = (depth + 1) << 3 | group_code. False: the table is full. */
ALWAYS_INLINE bool single_calls(ItemTable *t, Figures *f, int64_t n, TxnOp *ops, FetchAddsHow how) {
    const ItemTable table = *t;
    int64_t used = t->used, width0 = 0;
    uint64_t most = 0;
    for (int64_t k = 0; k < n; k++) {
        const uint64_t item = ops[k].item, code = kind_code(ops[k].kind, how);
        Slot *s = slot_find(&table, item);
        const uint64_t depth = (s->state >> CODE_BITS) - (code == (s->state & CODES));
        used += s->state == 0;
        if (UNLIKELY(used > table.limit)) return false;
        *s = (Slot){item, (depth + 1) << CODE_BITS | group_code(code, how)};
        ops[k].item = depth;
        width0 += depth == 0;
        most = MAX_OF(most, depth + 1);
    }
    t->used = used;
    f->width0 += width0;
    f->depth = MAX_OF(f->depth, (int64_t)most);
    return true;
}
/* Returns the number of calls, -1: the table is full. */
ALWAYS_INLINE int64_t whole_calls(ItemTable *t, Figures *f, int64_t n, TxnOp *ops, FetchAddsHow how) {
    Slot *held[HELD];
    int64_t calls = 0;
    for (int64_t k = 0, m; k < n; k += m, calls++) {
        for (m = 1; k + m < n && ops[k + m].call == ops[k].call; m++) continue;
        for (int64_t i = k + PREFETCH_DISTANCE; i < MIN_OF(n, k + m + PREFETCH_DISTANCE); i++)
            __builtin_prefetch(slot_home(t, ops[i].item), 1);
        if (t->used + m > t->limit) return -1;
        uint32_t d = enter_ops(t, m, ops + k, held, how);
        f->crossing += leave_ops(t, m, ops + k, held, d, how) > 1;
        f->width0 += d == 0;
        f->depth = MAX_OF(f->depth, (int64_t)d + 1);
        for (int64_t i = k; i < k + m; i++) ops[i].item = d;
    }
    return calls;
}
static bool partition_depths(Lone *l, int64_t partition, bool several) {
    ItemTable t = l->partitions[partition].t;
    Figures f = {0};
    int64_t calls = 0;
    memset(t.slots, 0, sizeof(Slot) << t.bits);
    for (int64_t i = 0; i < l->n_pieces; i++) {
        const int64_t *start = l->start + i * l->n_partitions + partition, *next = start + l->n_partitions,
                      n = start[1] - start[0];
        int64_t whole = n;
        for (int64_t k = 0; i + 1 < l->n_pieces && k < next[1] - next[0]; k += 64 / (int64_t)sizeof(TxnOp))
            __builtin_prefetch(l->dealt + next[0] + k, 1); /* another worker has written half of it */
        if (several) whole = BY_FETCH_ADDS(&t, whole_calls, &t, &f, n, l->dealt + start[0]);
        else if (!BY_FETCH_ADDS(&t, single_calls, &t, &f, n, l->dealt + start[0])) whole = -1;
        if (whole < 0) return false;
        calls += whole;
    }
    LonePartition *p = &l->partitions[partition];
    p->t.used = t.used;
    p->f = f;
    p->calls = calls;
    return true;
}
static void partition_worker(void *ctx, int worker) {
    Lone *l = ctx;
    (void)worker;
    for (int64_t partition; (partition = atomic_fetch_add(&l->next, 1)) < l->n_partitions;)
        if (!partition_depths(l, partition, atomic_load(&l->several))) atomic_store(&l->full, true);
}

/* ---- all of it ---- */
/* No call among some, from all over the bulk, has operations in several partitions: calls that lie side by side are
 * often of one procedure. */
static bool seem_lone(const Lone *l) {
    for (int64_t s = 0; s < SAMPLES; s++) {
        const OpRun *piece = &l->pieces[s * l->n_pieces / SAMPLES];
        const TxnOp *ops = piece->ops;
        for (int64_t i = 1; i < MIN_OF(piece->n, (int64_t)(LONE_OPS_MIN / SAMPLES)); i++)
            if (ops[i].call == ops[i - 1].call &&
                partition_of(l->n_partitions, ops[i].item) != partition_of(l->n_partitions, ops[i - 1].item))
                return false;
    }
    return true;
}
/* Pieces of one array end behind a call's last operation. */
static Status cut(Lone *l, const TxnOp *ops, Err *e) {
    l->pieces_bytes = (l->n_ops / PIECE_OPS + 1) * (int64_t)sizeof(OpRun);
    OpRun *pieces = mem_alloc_raw(l->acct, l->pieces_bytes, e);
    if (!pieces) return l->pieces_bytes = 0, ST_ERROR;
    l->pieces = pieces;
    for (int64_t i = 0, n; i < l->n_ops; i += n) {
        n = MIN_OF((int64_t)PIECE_OPS, l->n_ops - i);
        while (i + n < l->n_ops && ops[i + n].call == ops[i + n - 1].call) n++;
        pieces[l->n_pieces++] = (OpRun){ops + i, n};
    }
    return ST_OK;
}
static Status lone_room(Lone *l, const ScheduleInput *in, const TxnOp *ops, Err *e) {
    if (in->runs) {
        l->pieces = in->runs;
        l->n_pieces = in->n_runs;
    } else {
        TRY(cut(l, ops, e));
    }
    l->start_bytes = (l->n_pieces * l->n_partitions + 1) * 8;
    if (!(l->start = mem_alloc_raw(l->acct, l->start_bytes, e))) return l->start_bytes = 0, ST_ERROR;
    l->dealt_bytes = l->n_ops * (int64_t)sizeof(TxnOp);
    if (!(l->dealt = mem_alloc_raw(l->acct, l->dealt_bytes, e))) return l->dealt_bytes = 0, ST_ERROR;
    int64_t sum = 0;
    for (int64_t i = 0; i < l->n_pieces; i++) {
        l->start[i * l->n_partitions] = sum;
        sum += l->pieces[i].n;
    }
    l->start[l->n_pieces * l->n_partitions] = sum;
    return ST_OK;
}
int64_t lone_first(const Lone *l, int64_t piece) {
    if (piece == 0) return 0;
    while (piece < l->n_pieces && l->pieces[piece].n == 0) piece++;
    return piece < l->n_pieces ? l->pieces[piece].ops[0].call : l->n_calls;
}
void lone_free(Lone *l) {
    if (l->pieces_bytes) mem_free(l->acct, (OpRun *)(uintptr_t)l->pieces, l->pieces_bytes);
    if (l->start_bytes) mem_free(l->acct, l->start, l->start_bytes);
    if (l->dealt_bytes) mem_free(l->acct, l->dealt, l->dealt_bytes);
    l->pieces_bytes = l->start_bytes = l->dealt_bytes = 0;
}
bool lone_find(Lone *l, const ScheduleInput *in, const TxnOp *ops, Pool *pool, ItemTable *t, MemAccount *acct,
               Figures *f) {
    *l = (Lone){.n_ops = in->n_ops, .n_calls = in->n_calls, .n_partitions = 2, .acct = acct};
    if (!pool || in->workers < 2 || in->n_ops < LONE_OPS_MIN) return false;
    int bits = 1;
    for (; l->n_partitions < in->workers && l->n_partitions < LONE_PARTITIONS_MAX; bits++) l->n_partitions *= 2;
    Err e = {0};
    if (t->bits - bits <= 4 || lone_room(l, in, ops, &e) != ST_OK || !seem_lone(l))
        return false; /* there is another way, which needs less memory */
    for (int64_t k = 0; k < l->n_partitions; k++) {
        LonePartition *p = &l->partitions[k];
        p->t = *t;
        p->t.used = 0;
        p->t.bits = t->bits - bits;
        p->t.slots = t->slots + (k << p->t.bits);
        p->t.limit = INT64_C(1) << p->t.bits >> 1;
    }
    const int workers = (int)MIN_OF((int64_t)in->workers, l->n_partitions);
    pool_run(pool, workers, deal_worker, l);
    if (atomic_load(&l->full)) return false;
    atomic_store(&l->next, 0);
    pool_run(pool, workers, partition_worker, l);
    if (atomic_load(&l->full)) return false;
    *f = (Figures){.depth = in->n_calls > 0, .width0 = in->n_calls};
    for (int64_t k = 0; k < l->n_partitions; k++) {
        const LonePartition *p = &l->partitions[k];
        f->width0 += p->f.width0 - p->calls; /* calls without operations: all of depth 0 */
        f->depth = MAX_OF(f->depth, p->f.depth);
        f->crossing += p->f.crossing;
        t->used += p->t.used;
    }
    return true;
}
