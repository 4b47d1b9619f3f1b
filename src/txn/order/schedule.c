/* schedule.c - from operations to an order of execution; see schedule.h.
 *
 * Depths come from one pass in timestamp order over a hash table of items. An item's operations fall into groups: a run
 * of reads, a run of adds, a run of fetch-adds, or a single write. A call that joins the last group must be deeper than
 * all groups before it, and the deepest call before the last group is the deepest of the group before it (depths rise
 * from group to group). So two depths and a kind are all an item has to remember:
 *
 *     state   bits 0-2 kind of the last group (group_code)
 *             bits 3-5 kinds (kind_code) that the call in hand has for this item
 *             bits 6-34 1 + greatest depth before the last group; 35-63 1 + greatest depth in it. 0 = none
 *
 * That is one cache miss per operation, hidden by prefetching. Sorting by (item, timestamp), as in the paper, moves
 * every operation several times and needs a pass over the calls in order all the same to be exact (figures:
 * docs/notes/schedules.md).
 *
 * Counter locks and connected calls need to know which items have more than one group: items with reads only, or adds
 * only, need no lock and connect no calls. A second pass over the same table finds them.
 *
 * Items are opaque here: only equality counts.
 */
#include "base/log.h"
#include "txn/order/schedule_int.h"

enum { FIRST_BITS = 12, MAX_BITS = 40, KEEP_BITS = 3, RADIX_BITS = 11, RADIX = 1 << RADIX_BITS, CHUNK = 1 << 16 };
enum { CHAINS_MAX = 32 };
#define MAX_CALLS ((INT64_C(1) << STATE_BITS) - 2)
#define NO_PARTITION UINT64_MAX

/* From the arena, whose own Err may not be `e`. */
static void *get(Arena *a, int64_t bytes, Err *e) {
    void *p = arena_alloc(a, bytes);
    if (!p && !err_is_set(e)) err_oom(e);
    return p;
}

static const char *const strategy_names[] = {"auto", "kset", "tpl", "part", "serial"};

const char *strategy_name(Strategy s) { return strategy_names[s]; }
bool strategy_from_name(Slice name, Strategy *out) {
    for (int i = 0; i < (int)ARRAY_LEN(strategy_names); i++) {
        if ((int64_t)strlen(strategy_names[i]) != name.len ||
            memcmp(strategy_names[i], name.ptr, (size_t)name.len) != 0)
            continue;
        *out = (Strategy)i;
        return true;
    }
    return false;
}

/* ---- items ---- */
static int64_t table_bytes(int bits) { return (int64_t)sizeof(Slot) << bits; }
/* For at most n items. The last bulk says how many there will be: memory that is there is cheaper than fresh pages, and
 * growing. */
static Status table_init(ItemTable *t, MemAccount *acct, ItemTable *kept, int64_t n, Err *e) {
    int64_t guess = kept ? kept->used + kept->used / 4 : 0;
    *t = (ItemTable){.acct = acct, .bits = 4};
    while (INT64_C(1) << t->bits < 2 * n && (t->bits < FIRST_BITS || INT64_C(1) << t->bits < 2 * guess)) t->bits++;
    t->limit = INT64_C(1) << t->bits >> 1;
    if (kept && kept->slots && kept->cap_bits >= t->bits) {
        t->slots = kept->slots;
        t->cap_bits = kept->cap_bits;
        kept->slots = NULL;
        return ST_OK;
    }
    t->cap_bits = t->bits;
    t->slots = mem_alloc_raw(t->acct, table_bytes(t->bits), e);
    return t->slots ? ST_OK : ST_ERROR;
}
static void table_empty(ItemTable *t) {
    memset(t->slots, 0, (size_t)table_bytes(t->bits));
    t->used = 0;
}
static void table_release(ItemTable *t) { mem_free(t->acct, t->slots, table_bytes(t->cap_bits)); }
/* The same, for the next bulk to find; what is far too large is given back. */
static void table_keep(ItemTable *t, ItemTable *kept) {
    if (!kept || t->cap_bits > t->bits + KEEP_BITS) table_release(t), t->slots = NULL;
    if (!kept) return;
    if (kept->slots) table_release(kept);
    *kept = *t;
}
static ItemTable *kept_table(const ScheduleInput *in) { return in->scratch ? &in->scratch->kept : NULL; }
static MemAccount *table_account(const ScheduleInput *in, Arena *a) {
    return in->scratch ? in->scratch->acct : arena_account(a);
}
ScheduleScratch *schedule_scratch_new(MemAccount *acct, Err *e) {
    ScheduleScratch *s = mem_calloc(acct, (int64_t)sizeof *s, e);
    if (s) s->acct = acct;
    return s;
}
void schedule_scratch_free(ScheduleScratch *s) {
    if (!s) return;
    if (s->kept.slots) table_release(&s->kept);
    if (s->uses.slots) table_release(&s->uses);
    if (s->room) mem_free(s->acct, s->room, s->room_bytes);
    mem_free(s->acct, s, (int64_t)sizeof *s);
}
static FetchAddsHow fetch_adds_how(const ScheduleInput *in) {
    return in->no_fetch_adds ? FETCH_ADDS_NONE : in->fetch_adds_write ? FETCH_ADDS_WRITE : FETCH_ADDS_SHARE;
}
static NOINLINE Status table_grow(ItemTable *t, int64_t more, Err *e) {
    ItemTable g = *t;
    do g.bits += g.bits < 16 ? 2 : 1;
    while (g.bits < MAX_BITS && INT64_C(1) << g.bits >> 1 < t->used + more);
    g.limit = INT64_C(1) << g.bits >> 1;
    g.cap_bits = g.bits;
    g.slots = mem_calloc(g.acct, table_bytes(g.bits), e);
    if (!g.slots) return ST_ERROR;
    for (int64_t i = 0; i < INT64_C(1) << t->bits; i++)
        if (t->slots[i].state) *slot_find(&g, t->slots[i].item) = t->slots[i];
    table_release(t);
    *t = g;
    return ST_OK;
}
/* Room for n more items: pointers into the table stay good while they come. */
ALWAYS_INLINE Status table_reserve(ItemTable *t, int64_t n, Err *e) {
    return LIKELY(t->used + n <= t->limit) ? ST_OK : table_grow(t, n, e);
}

/* ---- operations in call order ---- */
typedef struct OpSort {
    const TxnOp *from;
    TxnOp *to;
    int64_t n, chunks;
    int shift;
    int64_t (*counts)[RADIX]; /* per chunk */
    _Atomic int64_t next;
} OpSort;
static void count_chunks(void *ctx, int worker) {
    OpSort *s = ctx;
    (void)worker;
    for (int64_t c; (c = atomic_fetch_add(&s->next, 1)) < s->chunks;) {
        int64_t *count = s->counts[c];
        memset(count, 0, sizeof s->counts[c]);
        for (int64_t i = c * CHUNK, end = MIN_OF(s->n, i + CHUNK); i < end; i++)
            count[s->from[i].call >> s->shift & (RADIX - 1)]++;
    }
}
static void place_chunks(void *ctx, int worker) {
    OpSort *s = ctx;
    (void)worker;
    for (int64_t c; (c = atomic_fetch_add(&s->next, 1)) < s->chunks;) {
        int64_t *at = s->counts[c];
        for (int64_t i = c * CHUNK, end = MIN_OF(s->n, i + CHUNK); i < end; i++)
            s->to[at[s->from[i].call >> s->shift & (RADIX - 1)]++] = s->from[i];
    }
}
static void run_chunks(OpSort *s, Pool *pool, int workers, PoolFn fn) {
    atomic_store(&s->next, 0);
    if (pool && workers > 1 && s->chunks > 1) pool_run(pool, workers, fn, s);
    else fn(s, 0);
}
/* A stable radix sort by call, least significant digit first. */
static Status sort_ops(const ScheduleInput *in, const TxnOp *ops, Pool *pool, Arena *a, const TxnOp **out, Err *e) {
    OpSort s = {.from = ops, .n = in->n_ops, .chunks = (in->n_ops + CHUNK - 1) / CHUNK};
    TxnOp *to[2] = {get(a, s.n * (int64_t)sizeof(TxnOp), e), NULL};
    s.counts = get(a, s.chunks * (int64_t)sizeof *s.counts, e);
    if (!to[0] || !s.counts) return ST_ERROR;
    for (int pass = 0; pass == 0 || (in->n_calls - 1) >> s.shift > 0; pass++) {
        if (!to[pass & 1] && !(to[pass & 1] = get(a, s.n * (int64_t)sizeof(TxnOp), e))) return ST_ERROR;
        s.to = to[pass & 1];
        run_chunks(&s, pool, in->workers, count_chunks);
        int64_t sum = 0;
        for (int64_t r = 0; r < RADIX; r++)
            for (int64_t c = 0; c < s.chunks; c++) {
                int64_t k = s.counts[c][r];
                s.counts[c][r] = sum;
                sum += k;
            }
        run_chunks(&s, pool, in->workers, place_chunks);
        s.from = s.to;
        s.shift += RADIX_BITS;
    }
    *out = s.from;
    return ST_OK;
}
/* Runs become one array. */
typedef struct Gather {
    const ScheduleInput *in;
    TxnOp *to;
    int64_t *at;
    _Atomic int64_t next;
} Gather;
static void gather_worker(void *ctx, int worker) {
    Gather *g = ctx;
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&g->next, 1)) < g->in->n_runs;)
        if (g->in->runs[i].n > 0)
            memcpy(g->to + g->at[i], g->in->runs[i].ops, (size_t)g->in->runs[i].n * sizeof(TxnOp));
}
static Status gather_runs(const ScheduleInput *in, Pool *pool, Arena *a, const TxnOp **out, Err *e) {
    bool whole = true; /* one behind the other as they are */
    for (int64_t i = 1; i < in->n_runs; i++) whole &= in->runs[i].ops == in->runs[i - 1].ops + in->runs[i - 1].n;
    if (whole) return *out = in->n_runs > 0 ? in->runs[0].ops : NULL, ST_OK;
    Gather g = {.in = in, .to = get(a, in->n_ops * (int64_t)sizeof(TxnOp), e), .at = get(a, in->n_runs * 8, e)};
    if (!g.to || !g.at) return ST_ERROR;
    for (int64_t i = 0, sum = 0; i < in->n_runs; sum += in->runs[i++].n) g.at[i] = sum;
    if (pool && in->workers > 1) pool_run(pool, in->workers, gather_worker, &g);
    else gather_worker(&g, 0);
    *out = g.to;
    return ST_OK;
}
static Status check_size(const ScheduleInput *in, Err *e) {
    if (in->n_calls < 0 || in->n_calls > MAX_CALLS)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk cannot have more than %lld calls", (long long)MAX_CALLS);
    if (in->n_ops > (int64_t)UINT32_MAX - 1)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk cannot have more than %lld operations", (long long)UINT32_MAX - 1);
    return ST_OK;
}
/* The operations in call order: as they are when they come so, as footprints emit them. */
static Status ops_by_call(const ScheduleInput *in, Pool *pool, Arena *a, const TxnOp **out, Err *e) {
    *out = in->ops;
    if (in->runs) TRY(gather_runs(in, pool, a, out, e));
    if (in->in_order) return ST_OK;
    const TxnOp *ops = *out;
    uint32_t last = 0, top = 0;
    bool sorted = true;
    for (int64_t i = 0; i < in->n_ops; i++) {
        uint32_t c = ops[i].call;
        sorted &= c >= last;
        top = MAX_OF(top, c);
        last = c;
    }
    if (in->n_ops && (int64_t)top >= in->n_calls)
        return err_internal(e, "an operation of call %u of %lld", top, (long long)in->n_calls);
    return sorted ? ST_OK : sort_ops(in, ops, pool, a, out, e);
}

/* ---- depths ---- */
ALWAYS_INLINE Status find_depths_by(const ScheduleInput *in, const TxnOp *ops, ItemTable *t, int32_t *depth, Figures *f,
                                    Err *e, FetchAddsHow how) {
    Slot *held[HELD];
    int64_t i = 0, n = in->n_ops;
    *f = (Figures){0};
    for (int64_t c = 0; c < in->n_calls; c++) {
        int64_t first = i;
        for (; i < n && ops[i].call == c; i++)
            if (i + PREFETCH_DISTANCE < n) __builtin_prefetch(slot_home(t, ops[i + PREFETCH_DISTANCE].item), 1);
        TRY(table_reserve(t, i - first, e));
        uint32_t d = enter_ops(t, i - first, ops + first, held, how);
        f->crossing += leave_ops(t, i - first, ops + first, held, d, how) > 1;
        f->width0 += d == 0;
        f->depth = MAX_OF(f->depth, (int64_t)d + 1);
        depth[c] = (int32_t)d;
    }
    return ST_OK;
}
/* Fills the table, which is empty. */
static Status find_depths(const ScheduleInput *in, const TxnOp *ops, ItemTable *t, int32_t *depth, Figures *f, Err *e) {
    return BY_FETCH_ADDS(t, find_depths_by, in, ops, t, depth, f, e);
}

Status schedule_depths(const ScheduleInput *in, Pool *pool, Arena *a, int32_t *depth, Err *e) {
    const TxnOp *ops;
    Figures f;
    ItemTable t;
    TRY(check_size(in, e));
    TRY(ops_by_call(in, pool, a, &ops, e));
    TRY(table_init(&t, table_account(in, a), kept_table(in), in->n_ops, e));
    t.fetch_adds = fetch_adds_how(in);
    table_empty(&t);
    Status st = find_depths(in, ops, &t, depth, &f, e);
    table_keep(&t, kept_table(in));
    return st;
}

/* ---- counting sort of calls ---- */
/* order[] = the calls of from[] (NULL: by timestamp) by key, stable. start (bins + 1), where not NULL, receives where
 * each key begins. */
static Status sort_calls(int64_t n, const uint32_t *key, int64_t bins, const uint32_t *from, uint32_t *order,
                         int64_t *start, MemAccount *acct, Err *e) {
    int64_t *at = mem_calloc(acct, (bins + 1) * 8, e);
    if (!at) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) at[key[i] + 1]++;
    for (int64_t b = 0; b < bins; b++) at[b + 1] += at[b];
    if (start) memcpy(start, at, (size_t)(bins + 1) * 8);
    for (int64_t i = 0; i < n; i++) {
        uint32_t c = from ? from[i] : (uint32_t)i;
        order[at[key[c]]++] = c;
    }
    mem_free(acct, at, (bins + 1) * 8);
    return ST_OK;
}

/* With few sets and procedures, by several workers, each a run of calls: they count, then each knows where its calls
 * go. */
enum { SHARED_CALLS_MIN = 1 << 15 /* fewer are one worker's: waking others takes longer */, SHARED_BINS_MAX = 4096 };
typedef struct CallSort {
    const ScheduleInput *in;
    const int32_t *depth;
    const Lone *lone; /* instead of it */
    int64_t types, bins, runs;
    uint32_t *key, *order;
    uint32_t *at; /* per run, by key; behind them what is counted apart */
    _Atomic int64_t next;
} CallSort;
/* Of n pieces of lone calls the first of a run; else of the calls. */
static int64_t run_piece(const CallSort *s, int64_t run, int64_t n) { return run * n / s->runs; }
static int64_t run_call(const CallSort *s, int64_t run) {
    return s->lone ? lone_first(s->lone, run_piece(s, run, s->lone->n_pieces)) : run_piece(s, run, s->in->n_calls);
}
/* Keys of the calls [from, to), which are a run. */
static void make_keys(const CallSort *s, int64_t run, int64_t from, int64_t to) {
    const uint32_t types = (uint32_t)s->types;
    const int drop = s->in->type_drop;
    const uint16_t *const type = types > 1 ? s->in->types : NULL;
    uint32_t *const key = s->key;
    for (int64_t i = from; i < to && type; i++) key[i] = (uint32_t)type[i] >> drop;
    if (!type) memset(key + from, 0, (size_t)(to - from) * 4);
    if (!s->lone) {
        for (int64_t i = from; i < to; i++) key[i] += (uint32_t)s->depth[i] * types;
        return;
    }
    const Lone *l = s->lone;
    const TxnOp *op = l->dealt + l->start[run_piece(s, run, l->n_pieces) * l->n_partitions],
                *const end = l->dealt + l->start[run_piece(s, run + 1, l->n_pieces) * l->n_partitions];
    for (; op < end; op++) key[op->call] = (type ? (uint32_t)type[op->call] >> drop : 0) + (uint32_t)op->item * types;
}
/* Neighbours often have one key: every other call is counted apart, or each would wait for the one before. */
static void count_runs(void *ctx, int worker) {
    CallSort *s = ctx;
    (void)worker;
    for (int64_t r; (r = atomic_fetch_add(&s->next, 1)) < s->runs;) {
        uint32_t *const even = s->at + r * s->bins, *const odd = s->at + (s->runs + r) * s->bins;
        const uint32_t *const key = s->key;
        const int64_t from = run_call(s, r), to = run_call(s, r + 1);
        memset(even, 0, (size_t)s->bins * 4);
        memset(odd, 0, (size_t)s->bins * 4);
        make_keys(s, r, from, to);
        int64_t i = from;
        for (; i + 1 < to; i += 2) even[key[i]]++, odd[key[i + 1]]++;
        if (i < to) even[key[i]]++;
        for (int64_t k = 0; k < s->bins; k++) even[k] += odd[k];
    }
}
/* Two runs at the same time: neighbours often have one key, and then each waits for the place that the one before has
 * counted. */
static void place_runs(void *ctx, int worker) {
    CallSort *s = ctx;
    (void)worker;
    for (int64_t r; (r = atomic_fetch_add(&s->next, 2)) < s->runs;) {
        const int64_t second = MIN_OF(r + 1, s->runs - 1);
        uint32_t *at = s->at + r * s->bins, *at2 = s->at + second * s->bins;
        int64_t i = run_call(s, r), to = run_call(s, r + 1), k = run_call(s, r + 1),
                end = run_call(s, MIN_OF(r + 2, s->runs));
        for (; i < to && k < end; i++, k++) {
            s->order[at[s->key[i]]++] = (uint32_t)i;
            s->order[at2[s->key[k]]++] = (uint32_t)k;
        }
        for (; i < to; i++) s->order[at[s->key[i]]++] = (uint32_t)i;
        for (; k < end; k++) s->order[at2[s->key[k]]++] = (uint32_t)k;
    }
}
static Status sort_shared(const ScheduleInput *in, const int32_t *depth, const Lone *lone, int64_t types, Pool *pool,
                          Arena *a, Schedule *out, Err *e) {
    CallSort s = {.in = in,
                  .depth = depth,
                  .lone = lone,
                  .types = types,
                  .bins = out->n_sets * types,
                  .runs = pool && in->n_calls >= SHARED_CALLS_MIN && in->workers > 1 ? 2 * in->workers : 1,
                  .order = out->order};
    int64_t bytes = (in->n_calls + 2 * s.runs * s.bins) * 4, sum = 0;
    if (!(s.key = mem_alloc_raw(arena_account(a), bytes, e))) return ST_ERROR;
    s.at = s.key + in->n_calls;
    if (s.runs > 1) pool_run(pool, in->workers, count_runs, &s);
    else count_runs(&s, 0);
    for (int64_t k = 0; k < s.bins; k++) {
        if (k % types == 0) out->set_start[k / types] = sum;
        for (int64_t r = 0; r < s.runs; r++) {
            uint32_t count = s.at[r * s.bins + k];
            s.at[r * s.bins + k] = (uint32_t)sum;
            sum += count;
        }
    }
    out->set_start[out->n_sets] = sum;
    atomic_store(&s.next, 0);
    if (s.runs > 1) pool_run(pool, in->workers, place_runs, &s);
    else place_runs(&s, 0);
    mem_free(arena_account(a), s.key, bytes);
    return ST_OK;
}
static int32_t *lone_depths(const Lone *l, Arena *a, Err *e) {
    int32_t *depth = get(a, l->n_calls * 4, e);
    if (!depth) return NULL;
    memset(depth, 0, (size_t)l->n_calls * 4);
    for (int64_t k = 0; k < l->n_ops; k++) depth[l->dealt[k].call] = (int32_t)l->dealt[k].item;
    return depth;
}
/* depth NULL: lone calls. */
static Status order_by_depth(const ScheduleInput *in, const int32_t *depth, const Lone *lone, Pool *pool, Arena *a,
                             Schedule *out, Err *e) {
    int64_t n = in->n_calls, types = 1;
    out->n_sets = out->depth;
    out->set_start = get(a, (out->n_sets + 1) * 8, e);
    out->order = get(a, n * 4, e);
    if (!out->set_start || !out->order) return ST_ERROR;
    if (in->types && in->n_types > 0) types = ((in->n_types - 1) >> in->type_drop) + INT64_C(1);
    for (int64_t i = 0; in->types && in->n_types == 0 && i < n; i++)
        types = MAX_OF(types, (in->types[i] >> in->type_drop) + INT64_C(1));
    if (out->n_sets * types <= SHARED_BINS_MAX) return sort_shared(in, depth, lone, types, pool, a, out, e);
    if (lone && !(depth = lone_depths(lone, a, e))) return ST_ERROR;
    if (types == 1)
        return sort_calls(n, (const uint32_t *)depth, out->n_sets, NULL, out->order, out->set_start, arena_account(a),
                          e);
    uint32_t *key = mem_alloc_raw(arena_account(a), n * 8, e), *by_type = key + n;
    if (!key) return ST_ERROR;
    Status st;
    if (out->n_sets * types <= MAX_OF(n, RADIX)) { /* one pass over (depth, type) */
        int64_t *start = (int64_t *)get(a, (out->n_sets * types + 1) * 8, e);
        for (int64_t i = 0; i < n; i++) key[i] = (uint32_t)(depth[i] * types + (in->types[i] >> in->type_drop));
        st = start ? sort_calls(n, key, out->n_sets * types, NULL, out->order, start, arena_account(a), e) : ST_ERROR;
        for (int64_t k = 0; k <= out->n_sets && st == ST_OK; k++) out->set_start[k] = start[k * types];
    } else {
        for (int64_t i = 0; i < n; i++) key[i] = (uint32_t)in->types[i] >> in->type_drop;
        st = sort_calls(n, key, types, NULL, by_type, NULL, arena_account(a), e);
        if (st == ST_OK)
            st = sort_calls(n, (const uint32_t *)depth, out->n_sets, by_type, out->order, out->set_start,
                            arena_account(a), e);
    }
    mem_free(arena_account(a), key, n * 8);
    return st;
}
static Status order_by_time(int64_t n, Arena *a, Schedule *out, Err *e) {
    out->order = get(a, n * 4, e);
    if (!out->order) return ST_ERROR;
    for (int64_t i = 0; i < n; i++) out->order[i] = (uint32_t)i;
    return ST_OK;
}

/* ---- counter locks ----
 * The table that depths left behind serves once more. A slot's state has the same shape, with 1 + uses before the last
 * group, and 1 + all uses so far. */
#define NO_LOCK UINT32_MAX

/* Uses of all items, which the table has or gets now; a lock is named by its slot until it has a number. False: the
 * table is full. */
static bool find_uses(const ScheduleInput *in, const TxnOp *ops, ItemTable *t, Schedule *out) {
    int64_t i = 0, n = in->n_ops, n_uses = 0;
    for (int64_t c = 0; c < in->n_calls; c++) {
        out->lock_start[c] = n_uses;
        for (; i < n && ops[i].call == c; i++) {
            if (i + PREFETCH_DISTANCE < n) __builtin_prefetch(slot_home(t, ops[i + PREFETCH_DISTANCE].item), 1);
            Slot *s = slot_find(t, ops[i].item);
            if (!s->state) {
                if (t->used >= t->limit) return false;
                t->used++;
                *s = (Slot){ops[i].item, state_make(0, 1, 1)};
            }
            out->locks[n_uses].lock = (uint32_t)(s - t->slots);
            n_uses += (s->state >> CODE_BITS & CODES) == 0;
            s->state |= kind_code(ops[i].kind, FETCH_ADDS_WRITE) << CODE_BITS;
        }
        for (int64_t k = out->lock_start[c]; k < n_uses; k++) {
            Slot *s = &t->slots[out->locks[k].lock];
            uint64_t st = s->state, code = st >> CODE_BITS & CODES;
            uint32_t from = state_wanted(st, code == (st & CODES));
            s->state = state_make(group_code(code, FETCH_ADDS_WRITE), from, state_last(st) + 1);
            out->locks[k].from = from - 1;
        }
    }
    out->lock_start[in->n_calls] = n_uses;
    return true;
}
static Status room_for_locks(const ScheduleInput *in, const ItemTable *t, Arena *a, Schedule *out, Err *e) {
    if (t->bits > 32)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk cannot have more than %lld items", (long long)UINT32_MAX / 2);
    out->lock_start = get(a, (in->n_calls + 1) * 8, e);
    out->locks =
        get(a, in->n_ops * (int64_t)sizeof(LockUse) + (int64_t)sizeof(LockUse), e); /* find_uses writes one ahead */
    return out->lock_start && out->locks ? ST_OK : ST_ERROR;
}
/* The uses that are there become locks and uses of them. */
static void number_locks(const ScheduleInput *in, ItemTable *t, Schedule *out) {
    /* Items with one group only need no lock: no call waits for them. */
    out->n_locks = 0;
    for (int64_t k = 0; k < INT64_C(1) << t->bits; k++)
        if (t->slots[k].state)
            t->slots[k].state = state_before(t->slots[k].state) > 1 ? (uint64_t)out->n_locks++ : NO_LOCK;
    int64_t kept = 0, k = 0, n_uses = out->lock_start[in->n_calls];
    for (int64_t c = 0; c < in->n_calls; c++) {
        int64_t end = out->lock_start[c + 1];
        out->lock_start[c] = kept;
        for (; k < end; k++) {
            if (k + PREFETCH_DISTANCE < n_uses)
                __builtin_prefetch(&t->slots[out->locks[k + PREFETCH_DISTANCE].lock].state);
            uint32_t lock = (uint32_t)t->slots[out->locks[k].lock].state;
            out->locks[kept] = (LockUse){lock, out->locks[k].from};
            kept += lock != NO_LOCK;
        }
    }
    out->lock_start[in->n_calls] = kept;
}
/* After find_depths has filled the table. */
static Status make_locks(const ScheduleInput *in, const TxnOp *ops, ItemTable *t, Arena *a, Schedule *out, Err *e) {
    TRY(room_for_locks(in, t, a, out, e));
    for (int64_t k = 0; k < INT64_C(1) << t->bits; k++)
        if (t->slots[k].state) t->slots[k].state = state_make(0, 1, 1);
    if (!find_uses(in, ops, t, out)) return err_internal(e, "an item that had no depth");
    number_locks(in, t, out);
    return ST_OK;
}

/* Depths and locks at the same time, by two workers, when locks are to be expected. Uses have a table of their own;
 * where it is too small, they come after all. */
enum { BOTH_OPS_MIN = 1 << 14 };
typedef struct Both {
    const ScheduleInput *in;
    const TxnOp *ops;
    ItemTable *t, uses;
    int32_t *depth;
    Figures *f;
    Schedule *out;
    bool has_uses;
    Status st;
    Err err;
    _Atomic int64_t next;
} Both;
static void both_worker(void *ctx, int worker) {
    Both *b = ctx;
    (void)worker;
    for (int64_t task; (task = atomic_fetch_add(&b->next, 1)) < 2;) {
        ItemTable *t = task == 0 ? b->t : &b->uses;
        table_empty(t);
        if (task == 0) b->st = find_depths(b->in, b->ops, t, b->depth, b->f, &b->err);
        else if ((b->has_uses = find_uses(b->in, b->ops, t, b->out))) number_locks(b->in, t, b->out);
    }
}
static bool locks_expected(const ScheduleInput *in) {
    return in->workers > 1 && in->n_ops >= BOTH_OPS_MIN && in->scratch &&
           (in->strategy == STRATEGY_TPL || (in->strategy == STRATEGY_AUTO && in->locks_pay && in->scratch->locked));
}
static Status find_both(Both *b, Pool *pool, Arena *a, Err *e) {
    TRY(table_init(&b->uses, b->in->scratch->acct, &b->in->scratch->uses, b->in->n_ops, e));
    Status st = room_for_locks(b->in, &b->uses, a, b->out, e);
    if (st == ST_OK) {
        pool_run(pool, 2, both_worker, b);
        if ((st = b->st) != ST_OK) err_copy(e, &b->err);
    }
    return st;
}

/* ---- partitions ---- */
static uint32_t find_root(uint32_t *parent, uint32_t c) {
    while (parent[c] != c) {
        parent[c] = parent[parent[c]];
        c = parent[c];
    }
    return c;
}
/* Where the locks of a schedule come from. */
typedef struct LockSource {
    const TxnOp *ops;
    ItemTable *t;        /* as depths left it */
    SharedItems *shared; /* instead of it, unless NULL */
} LockSource;
static Status locks_from(const LockSource *from, const ScheduleInput *in, Arena *a, Schedule *out, Err *e) {
    return from->shared ? shared_locks(from->shared, a, out, e) : make_locks(in, from->ops, from->t, a, out, e);
}
/* Partitions = calls connected by items that have a lock. A root is the earliest call of its partition. */
static Status connect_calls(const ScheduleInput *in, const LockSource *from, Arena *a, uint32_t *partition,
                            int64_t *n_partitions, Err *e) {
    Schedule s = {0};
    TRY(locks_from(from, in, a, &s, e));
    uint32_t *first = mem_alloc_raw(arena_account(a), s.n_locks * 4, e);
    uint32_t *parent = first ? mem_alloc_raw(arena_account(a), in->n_calls * 4, e) : NULL;
    if (parent) {
        memset(first, 0xff, (size_t)s.n_locks * 4);
        for (int64_t c = 0; c < in->n_calls; c++) {
            uint32_t root = parent[c] = (uint32_t)c;
            for (int64_t k = s.lock_start[c]; k < s.lock_start[c + 1]; k++) {
                uint32_t lock = s.locks[k].lock;
                if (first[lock] == UINT32_MAX) {
                    first[lock] = (uint32_t)c;
                    continue;
                }
                uint32_t other = find_root(parent, first[lock]);
                if (other < root) parent[root] = other, root = other;
                else parent[other] = root;
            }
        }
        *n_partitions = 0;
        for (int64_t c = 0; c < in->n_calls; c++) {
            uint32_t root = find_root(parent, (uint32_t)c);
            partition[c] = root == c ? (uint32_t)(*n_partitions)++ : partition[root];
        }
        mem_free(arena_account(a), parent, in->n_calls * 4);
    }
    mem_free(arena_account(a), first, s.n_locks * 4);
    return parent ? ST_OK : ST_ERROR;
}
/* Numbers the given partitions by their first calls. */
static Status number_partitions(const ScheduleInput *in, MemAccount *acct, uint32_t *partition, int64_t *n_partitions,
                                Err *e) {
    ItemTable t;
    TRY(table_init(&t, acct, NULL, in->n_calls, e));
    table_empty(&t);
    Status st = ST_OK;
    for (int64_t c = 0; c < in->n_calls; c++) {
        if (c + PREFETCH_DISTANCE < in->n_calls)
            __builtin_prefetch(slot_home(&t, in->partition[c + PREFETCH_DISTANCE]), 1);
        if ((st = table_reserve(&t, 1, e)) != ST_OK) break;
        Slot *s = slot_find(&t, in->partition[c]);
        if (!s->state) *s = (Slot){in->partition[c], (uint64_t)++t.used};
        partition[c] = (uint32_t)(s->state - 1);
    }
    *n_partitions = t.used;
    table_release(&t);
    return st;
}
static Status order_by_partition(const ScheduleInput *in, const LockSource *from, Arena *a, Schedule *out, Err *e) {
    MemAccount *acct = arena_account(a);
    uint32_t *partition = mem_alloc_raw(acct, in->n_calls * 4, e);
    if (!partition) return ST_ERROR;
    Status st;
    if (in->partition && out->crossing == 0) st = number_partitions(in, acct, partition, &out->n_partitions, e);
    else st = connect_calls(in, from, a, partition, &out->n_partitions, e);
    if (st == ST_OK) {
        out->order = get(a, in->n_calls * 4, e);
        out->partition_start = get(a, (out->n_partitions + 1) * 8, e);
        st = out->order && out->partition_start ? sort_calls(in->n_calls, partition, out->n_partitions, NULL,
                                                             out->order, out->partition_start, acct, e)
                                                : ST_ERROR;
    }
    mem_free(acct, partition, in->n_calls * 4);
    return st;
}
static Status order_serially(const ScheduleInput *in, Arena *a, Schedule *out, Err *e) {
    TRY(order_by_time(in->n_calls, a, out, e));
    out->n_partitions = in->n_calls > 0;
    out->partition_start = get(a, 16, e);
    if (!out->partition_start) return ST_ERROR;
    out->partition_start[0] = 0;
    out->partition_start[out->n_partitions] = in->n_calls;
    return ST_OK;
}

/* Calls with locks by time, then the others by type. */
static Status order_free(const ScheduleInput *in, Arena *a, Schedule *out, Err *e) {
    int64_t n = in->n_calls, keys = 2;
    uint32_t *key = mem_alloc_raw(arena_account(a), n * 4, e);
    if (!key) return ST_ERROR;
    for (int64_t c = 0; c < n; c++) {
        key[c] = out->lock_start[c] != out->lock_start[c + 1] ? 0 : ((uint32_t)in->types[c] >> in->type_drop) + 1;
        keys = MAX_OF(keys, key[c] + INT64_C(1));
    }
    Status st = sort_calls(n, key, keys, NULL, out->order, NULL, arena_account(a), e);
    mem_free(arena_account(a), key, n * 4);
    return st;
}

static Strategy because(Schedule *s, const char *why, Strategy strategy) {
    s->why = why;
    return strategy;
}
/* Algorithm 1, or what is measured instead: the 0-set may be wide although a long chain comes after it, so the sets'
 * average width decides. */
static Strategy choose(const ScheduleInput *in, Schedule *s) {
    if (in->strategy != STRATEGY_AUTO) return because(s, "asked for", in->strategy);
    if (in->set_min > 0) {
        if (in->n_calls >= in->set_min * s->depth) return because(s, "sets are wide", STRATEGY_KSET);
        if (in->locks_pay && s->crossing < in->c_max && in->n_calls >= in->chain_min * s->width0)
            return because(s, "sets are narrow, and calls wait for one thing each, in long chains", STRATEGY_PART);
        if (in->locks_pay && s->width0 <= CHAINS_MAX && in->n_calls >= in->chain_min * s->width0 &&
            10 * in->n_calls >= 9 * s->depth * s->width0)
            return because(
                s, "sets are as narrow as the first: a few long chains",
                STRATEGY_PART); /* they may cross, but then links by locks take longer than all calls one by one */
        if (in->locks_pay) return because(s, "sets are narrow", STRATEGY_TPL);
        if (s->crossing < in->c_max)
            return because(s, "sets are narrow, and calls wait for one thing each", STRATEGY_PART);
        return because(s, "sets are narrow, but calls wait for several things", STRATEGY_KSET);
    }
    if (s->width0 >= in->w0_min) return because(s, "the first set is wide", STRATEGY_KSET);
    if (s->crossing < in->c_max) return because(s, "few calls cross partitions", STRATEGY_PART);
    if (s->depth > in->d_max) return because(s, "there are many sets", STRATEGY_PART);
    return because(s, "many calls cross partitions, and there are few sets", STRATEGY_TPL);
}

static void take_figures(const ScheduleInput *in, const Figures *f, Schedule *out) {
    out->depth = f->depth;
    out->width0 = f->width0;
    out->crossing = f->crossing;
    if (in->partition) {
        out->crossing = 0;
        for (int64_t c = 0; c < in->n_calls; c++) out->crossing += in->partition[c] == NO_PARTITION;
    }
    out->strategy = choose(in, out);
}
/* Sets of lone calls. *done = false: it has to be done otherwise. */
static Status make_lone(const ScheduleInput *in, const TxnOp *ops, Pool *pool, ItemTable *t, Arena *a, Schedule *out,
                        bool *done, Err *e) {
    Lone l;
    Figures f;
    Status st = ST_OK;
    if (lone_find(&l, in, ops, pool, t, table_account(in, a), &f)) {
        take_figures(in, &f, out);
        *done = out->strategy == STRATEGY_KSET;
        if (*done) st = order_by_depth(in, NULL, &l, pool, a, out, e);
    }
    lone_free(&l);
    return st;
}
static Status make_ordered(const ScheduleInput *in, const TxnOp *ops, Pool *pool, ItemTable *t, Arena *a, Schedule *out,
                           Err *e) {
    int32_t *depth = get(a, in->n_calls * 4, e);
    if (!depth) return ST_ERROR;
    Figures f;
    Both both = {.in = in, .ops = ops, .t = t, .depth = depth, .f = &f, .out = out};
    if (pool && locks_expected(in)) {
        Status st = find_both(&both, pool, a, e);
        if (both.uses.slots) table_keep(&both.uses, &in->scratch->uses);
        TRY(st);
    } else {
        table_empty(t);
        TRY(find_depths(in, ops, t, depth, &f, e));
    }
    take_figures(in, &f, out);
    const LockSource from = {.ops = ops, .t = t};
    switch (out->strategy) {
    case STRATEGY_PART: return order_by_partition(in, &from, a, out, e);
    case STRATEGY_TPL:
        TRY(order_by_time(in->n_calls, a, out, e));
        if (!both.has_uses) TRY(make_locks(in, ops, t, a, out, e));
        return in->group_free && in->types ? order_free(in, a, out, e) : ST_OK;
    case STRATEGY_SERIAL: return order_serially(in, a, out, e);
    default: return order_by_depth(in, depth, NULL, pool, a, out, e);
    }
}
static Status order_shared(const ScheduleInput *in, SharedItems *shared, Pool *pool, Arena *a, Schedule *out, Err *e) {
    const LockSource from = {.shared = shared};
    switch (out->strategy) {
    case STRATEGY_PART: return order_by_partition(in, &from, a, out, e);
    case STRATEGY_TPL:
        TRY(order_by_time(in->n_calls, a, out, e));
        TRY(locks_from(&from, in, a, out, e));
        return in->group_free && in->types ? order_free(in, a, out, e) : ST_OK;
    case STRATEGY_SERIAL: return order_serially(in, a, out, e);
    default: return order_by_depth(in, shared->depth, NULL, pool, a, out, e);
    }
}
/* ops NULL: the runs. *done = false: it has to be done otherwise. */
static Status make_shared(const ScheduleInput *in, const TxnOp *ops, Pool *pool, Arena *a, Schedule *out, bool *done,
                          Err *e) {
    SharedItems shared;
    Figures f;
    Status st = ST_OK;
    if (!shared_pays(in)) return ST_OK;
    int32_t *depth = get(a, in->n_calls * 4, e);
    if (!depth) return ST_ERROR;
    *done = shared_find(&shared, in, ops, fetch_adds_how(in), pool, table_account(in, a), depth, &f);
    if (*done) {
        take_figures(in, &f, out);
        st = order_shared(in, &shared, pool, a, out, e);
    }
    shared_free(&shared, *done); /* another way needs the memory */
    return st;
}
static Status make(const ScheduleInput *in, Pool *pool, ItemTable *t, Arena *a, Schedule *out, Err *e) {
    const bool sets_only =
        in->strategy == STRATEGY_AUTO || in->strategy == STRATEGY_KSET; /* others go over the table once more */
    const bool lone = pool && sets_only && !locks_expected(in);
    const TxnOp *ops;
    bool done = false;
    if (lone && in->runs && in->in_order)
        TRY(make_lone(in, NULL, pool, t, a, out, &done, e)); /* without bringing them together */
    if (!done && in->runs && in->in_order) TRY(make_shared(in, NULL, pool, a, out, &done, e));
    if (done) return ST_OK;
    TRY(ops_by_call(in, pool, a, &ops, e));
    if (lone && !(in->runs && in->in_order)) {
        ScheduleInput one = *in;
        one.runs = NULL;
        TRY(make_lone(&one, ops, pool, t, a, out, &done, e));
    }
    if (!done && !(in->runs && in->in_order)) TRY(make_shared(in, ops, pool, a, out, &done, e));
    return done ? ST_OK : make_ordered(in, ops, pool, t, a, out, e);
}

Status schedule_make(const ScheduleInput *in, Pool *pool, Arena *a, Schedule *out, Err *e) {
    int64_t begin = clock_ns();
    *out = (Schedule){.n_calls = in->n_calls};
    ItemTable t;
    TRY(check_size(in, e));
    TRY(table_init(&t, table_account(in, a), kept_table(in), in->n_ops, e));
    t.fetch_adds = fetch_adds_how(in);
    Status st = make(in, pool, &t, a, out, e);
    table_keep(&t, kept_table(in));
    if (in->scratch) {
        in->scratch->locked = st == ST_OK && out->strategy == STRATEGY_TPL;
        shared_trim(in->scratch, in->n_ops);
    }
    out->plan_ns = clock_ns() - begin;
    return st;
}

/* ---- the reference ---- */
typedef struct RefOp {
    uint64_t item;
    uint32_t call;
    uint8_t kind;
} RefOp;
static bool ref_before(const RefOp *a, const RefOp *b) {
    return a->item != b->item ? a->item < b->item : a->call < b->call;
}
static void ref_sink(RefOp *h, int64_t i, int64_t n) {
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && ref_before(&h[child], &h[child + 1])) child++;
        if (!ref_before(&h[i], &h[child])) return;
        RefOp x = h[i];
        h[i] = h[child];
        h[child] = x;
    }
}
static void ref_sort(RefOp *h, int64_t n) {
    for (int64_t i = n / 2; i-- > 0;) ref_sink(h, i, n);
    for (int64_t end = n - 1; end > 0; end--) {
        RefOp x = h[0];
        h[0] = h[end];
        h[end] = x;
        ref_sink(h, 0, end);
    }
}
typedef struct RefEdge {
    uint32_t to;
    bool beside;
    int64_t next;
} RefEdge; /* beside: not before, but perhaps at the same time */

Status schedule_reference(const ScheduleInput *in, Arena *a, int32_t *depth, Err *e) {
    /* 1. Operations by (item, call); one per call and item, the strongest. */
    RefOp *ops = get(a, in->n_ops * (int64_t)sizeof *ops, e);
    int64_t *head = get(a, in->n_calls * 8, e);
    if (!ops || !head) return ST_ERROR;
    for (int64_t i = 0; i < in->n_ops; i++) ops[i] = (RefOp){in->ops[i].item, in->ops[i].call, in->ops[i].kind};
    ref_sort(ops, in->n_ops);
    int64_t n = 0;
    for (int64_t i = 0; i < in->n_ops; i++) {
        RefOp *last = n ? &ops[n - 1] : NULL;
        if (last && last->item == ops[i].item && last->call == ops[i].call) {
            if (last->kind != ops[i].kind) last->kind = OPK_WRITE;
        } else {
            ops[n++] = ops[i];
        }
    }
    /* 2. Edges: from the tail of the item's list back to the nearest operation that conflicts, and all that commute
     * with that one next to it. */
    VEC(RefEdge) edges = {0};
    for (int64_t c = 0; c < in->n_calls; c++) head[c] = -1;
    for (int64_t i = 0; i < n; i++) {
        int64_t j = i - 1;
        uint8_t kind = ops[i].kind;
        if (kind != OPK_WRITE)
            while (j >= 0 && ops[j].item == ops[i].item && ops[j].kind == kind) j--;
        for (int64_t k = j; k >= 0 && ops[k].item == ops[i].item && ops[k].kind == ops[j].kind; k--) {
            if (!vec_push(a, &edges, ((RefEdge){ops[i].call, false, head[ops[k].call]})))
                return err_is_set(e) ? ST_ERROR : err_oom(e);
            head[ops[k].call] = edges.len - 1;
            if (ops[k].kind == OPK_WRITE) break;
        }
        for (int64_t k = i - 1; kind == OPK_FETCH_ADD && k > j; k--) {
            if (!vec_push(a, &edges, ((RefEdge){ops[i].call, true, head[ops[k].call]})))
                return err_is_set(e) ? ST_ERROR : err_oom(e);
            head[ops[k].call] = edges.len - 1;
        }
    }
    /* 3. Every edge leads to a later call: by timestamp is a topological order. */
    for (int64_t c = 0; c < in->n_calls; c++) depth[c] = 0;
    for (int64_t c = 0; c < in->n_calls; c++)
        for (int64_t k = head[c]; k >= 0; k = edges.items[k].next) {
            uint32_t to = edges.items[k].to;
            depth[to] = MAX_OF(depth[to], depth[c] + !edges.items[k].beside);
        }
    return ST_OK;
}
