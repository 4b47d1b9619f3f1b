/* rank_device.c - orders of execution made on a device; see rank_device.h. The kernels are
 * codegen/prelude/txn/kr_rank.h.
 *
 *   1. Filter. A table of places by hash of the item, four per operation where that is not too much memory. Operations
 * mark their item's place: which kinds, one call only or several. What has no conflict there is dropped: all of a bulk
 * of additions, nearly all of one over many items.
 *   2. The host reads how much is left; if nothing is, the order is there already.
 *   3. A stable radix sort of the rest by (name of the item, call), 8 or 9 bits at a time. Where operations come in the
 * order of their calls, by name only.
 *   4. Along each item: uses (the operations of one call), ranks (a run of reads, a run of additions, a write).
 *   5. Locks: those of items with several ranks, counted and placed by call. Depths: rounds of a scan (kr_rank.h),
 * several between two checks by the host; then a radix sort of the calls by (depth, type).
 *
 * The grid is as large as the device at most, each group working on one chunk of neighbours, so that one scan of few
 * numbers connects the groups.
 */
#include "txn/order/rank_device.h"

#include <stddef.h>
#include <stdio.h>

#include "base/hash.h"
#include "codegen/prelude/txn/kr_codes.h"
#include "device/work.h"
#include "txn/order/rank_int.h"

enum {
    GROUPS_MAX = 2048,
    TABLE_MIN_BITS = 10,
    TABLE_MAX_BITS = 25, /* 128 MiB */
    ROUNDS_FIRST = 8,
    ROUNDS_MAX = 64, /* of depths, between checks by the host */
    DIGIT_BITS = 9,  /* RK_DIGITS */
    SAMPLE = 64,
    SAMPLE_OF = 1 << 18, /* of the operations, marked first; of at least so many */
};
#define MAX_CALLS ((INT64_C(1) << (32 - RANK_KIND_BITS)) - 2)
static_assert((int)RANK_KIND_BITS == RK_KIND_BITS && (int)RANK_DEQUEUE == RK_DEQUEUE && (int)RANK_NONE == RK_NONE &&
                  (int)RANK_AGAIN == RK_AGAIN && (int)RANK_OPS_AGAIN == RK_OPS_AGAIN,
              "as kernels have them");
#define MAX_OPS (INT64_C(1) << 30)

typedef enum Kernel {
    K_MARK,
    K_FILTER,
    K_HIST,
    K_SCAN,
    K_SCATTER,
    K_SUMS,
    K_USES,
    K_COUNT,
    K_CALL_SUMS,
    K_CALL_STARTS,
    K_LOCKS,
    K_GROUP,
    K_RELAX,
    K_FIGURES,
    K_KEYS,
    K_ORDER,
    K_STARTS,
    N_KERNELS
} Kernel;
static const char *const names[N_KERNELS] = {
    "rank_mark",  "rank_filter",  "rank_hist",      "rank_scan",        "rank_scatter", "rank_sums",
    "rank_uses",  "rank_count",   "rank_call_sums", "rank_call_starts", "rank_locks",   "rank_group",
    "rank_relax", "rank_figures", "rank_keys",      "rank_order",       "rank_starts"};

/* What the host reads back, at the start of the control block. */
typedef struct Control {
    uint64_t err[2];
    uint32_t figures[4]; /* w0, c, greatest depth, calls with locks */
    uint32_t changed[ROUNDS_MAX];
    uint32_t counts[GROUPS_MAX];
} Control;

struct RankDevice {
    Device *d;
    CodeCache *cache;
    MemAccount *account;
    CodeRef code;
    DevKernel *kernels[N_KERNELS];
    int32_t group_size, items;         /* records of an item in a tile */
    int32_t relax_items, relax_passes; /* of rank_relax */
    int64_t groups, local;
    DevMem table;  /* Control, then the filter */
    DevMem ops;    /* per operation */
    DevMem calls;  /* per call */
    DevMem starts; /* per set and type */
    uint32_t *host_starts;
    int64_t host_starts_bytes;
    DevPinned pinned;
    Control *seen; /* there */
    /* of the order in the making */
    DevQueue *q;
    uint64_t p[RK_PARAMS];
    int64_t left; /* operations that the filter left */
};

uint32_t rank_item_name(uint64_t item) {
    return ((uint32_t)(hash_u64(item) >> 32) & ~UINT32_C(1)) | ((uint32_t)item & 1);
}

/* ---- the device
 * ---------------------------------------------------------------------------------------------------------- */
static Status get_kernels(RankDevice *r, Err *e) {
    char defines[160];
    snprintf(defines, sizeof defines,
             "#define ERR_PARAM %d\n#define RANK_ITEMS %d\n#define RELAX_ITEMS %d\n#define RELAX_PASSES %d\n", RK_ERR,
             (int)r->items, (int)r->relax_items, (int)r->relax_passes);
    const KernelSet set = {kernel_rank_text, names, N_KERNELS, RK_PARAMS, r->group_size, defines};
    CodeState st = code_get_set(r->cache, r->d, r->account, &set, true, &r->code, r->kernels, e);
    return st == CODE_READY ? ST_OK : ST_ERROR;
}
Status rank_device_new(Device *d, CodeCache *cache, MemAccount *account, RankDevice **out, Err *e) {
    *out = NULL;
    RankDevice *r = mem_calloc(account, (int64_t)sizeof *r, e);
    if (!r) return ST_ERROR;
    r->d = d;
    r->cache = cache;
    r->account = account;
    const DeviceInfo *i = &d->info;
    int64_t tile;
    if (i->warp_functions) { /* counts of 16 warps by digit and a tile of 4096 records; a digit to a work-item */
        r->group_size = 512;
        r->items = 8;
        r->relax_items = 4;  /* all units have something to do */
        r->relax_passes = 8; /* its groups run at the same time */
        r->groups = 2 * i->units;
        tile = (int64_t)r->group_size * r->items;
        r->local = (r->group_size / 32 + 2) * RK_DIGITS * 4 + tile * 8;
    } else if (i->native_threads) {
        r->group_size = 1;
        r->items = 32;
        r->relax_items = 32;
        r->relax_passes = 1;
        r->groups = 8 * i->units;
        r->local = RK_DIGITS * 4 + 64;
    } else {
        r->group_size = 64;
        r->items = 8;
        r->relax_items = 4;
        r->relax_passes = 2;
        r->groups = 4 * i->units;
        r->local = r->group_size * 16 + RK_DIGITS * 4;
    }
    r->groups = MAX_OF(INT64_C(1), MIN_OF(r->groups, (int64_t)GROUPS_MAX));
    Status st = device_pinned_need(d, &r->pinned, (int64_t)sizeof(Control), e);
    r->seen = r->pinned.p;
    if (st != ST_OK || get_kernels(r, e) != ST_OK) {
        rank_device_free(r);
        return ST_ERROR;
    }
    *out = r;
    return ST_OK;
}
void rank_device_free(RankDevice *r) {
    if (!r) return;
    device_mem_free(r->d, &r->table);
    device_mem_free(r->d, &r->ops);
    device_mem_free(r->d, &r->calls);
    device_mem_free(r->d, &r->starts);
    mem_free(r->account, r->host_starts, r->host_starts_bytes);
    device_pinned_free(r->d, &r->pinned);
    if (r->code.module) code_release(r->cache, &r->code);
    mem_free(r->account, r, (int64_t)sizeof *r);
}
static DevPtr carve(DevPtr *at, int64_t bytes) {
    DevPtr p = *at;
    *at += (uint64_t)align_up(bytes, 256);
    return p;
}

/* ---- launches
 * ------------------------------------------------------------------------------------------------------------- */
/* Groups for n neighbours in chunks of whole tiles; sets the chunk. */
static int64_t cut_tiles(RankDevice *r, int64_t n, int64_t tile) {
    int64_t tiles = (n + tile - 1) / tile, per = MAX_OF((tiles + r->groups - 1) / r->groups, INT64_C(1));
    r->p[RK_CHUNK] = (uint64_t)(per * tile);
    r->p[RK_COUNTS] = 0;
    r->p[RK_N] = (uint64_t)n;
    return MAX_OF((tiles + per - 1) / per, INT64_C(1));
}
static int64_t cut(RankDevice *r, int64_t n) { return cut_tiles(r, n, (int64_t)r->group_size * r->items); }
static Status run(RankDevice *r, Kernel k, int64_t groups, Err *e) {
    return r->d->ops->launch(r->q, r->kernels[k], groups, r->group_size, r->local, r->p, RK_PARAMS, e);
}
/* Over n things that need no chunks. */
static Status run_over(RankDevice *r, Kernel k, int64_t n, Err *e) {
    return run(r, k, MAX_OF(INT64_C(1), MIN_OF((n + r->group_size - 1) / r->group_size, 2 * r->groups)), e);
}
static Status look(RankDevice *r, int64_t bytes, Err *e) {
    TRY(device_read(r->d, r->q, r->seen, r->p[RK_ERR], bytes, e));
    switch (r->seen->err[0]) {
    case 0: return ST_OK;
    case RK_NO_CALL: return err_internal(e, "an operation of a call beyond %lld", (long long)r->p[RK_N_CALLS]);
    case RK_UNORDERED: return err_internal(e, "operations are not in the order of their calls");
    default: return err_internal(e, "a call of a type beyond %lld", (long long)r->p[RK_N_TYPES]);
    }
}
static int bits_of(uint64_t most) { /* to write every number up to it */
    int bits = 0;
    while (most >> bits) bits++;
    return bits;
}
/* Sorts the records of RK_FROM by bits [shift, shift + bits), using RK_TO; the result is in RK_FROM. `totals`:
 * RK_DIGITS zeros per pass. How the first pass finds the records, in `groups` chunks and with RK_COUNTS or without, is
 * the caller's. */
static int passes_of(int bits) { return (bits + DIGIT_BITS - 1) / DIGIT_BITS; }
static Status sort(RankDevice *r, int64_t n, int64_t groups, int shift, int bits, DevPtr *totals, Err *e) {
    for (int passes = passes_of(bits); passes > 0; passes--) {
        int now = (bits + passes - 1) / passes;
        r->p[RK_SHIFT] = (uint64_t)shift;
        r->p[RK_BITS] = (uint64_t)now;
        r->p[RK_TOTALS] = *totals;
        TRY(run(r, K_HIST, groups, e));
        r->p[RK_N] = (uint64_t)groups;
        TRY(run(r, K_SCAN, INT64_C(1) << now, e));
        r->p[RK_N] = (uint64_t)n;
        TRY(run(r, K_SCATTER, groups, e));
        uint64_t t = r->p[RK_FROM];
        r->p[RK_FROM] = r->p[RK_TO];
        r->p[RK_TO] = t;
        groups = cut(r, n);
        *totals += RK_DIGITS * 4;
        shift += now;
        bits -= now;
    }
    return ST_OK;
}

/* ---- what both orders begin with
 * ------------------------------------------------------------------------------------------------ */
enum { PASSES_MAX = 8 };
/* 1. and 2. Records that are left are in chunks of `groups` groups. */
static Status filter(RankDevice *r, const RankInput *in, int64_t *groups, Err *e) {
    if (in->n_calls < 0 || in->n_calls > MAX_CALLS)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk cannot have more than %lld calls", (long long)MAX_CALLS);
    if (in->max_ops < 0 || in->max_ops >= MAX_OPS)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk cannot have more than %lld operations", (long long)MAX_OPS - 1);
    int bits = MIN_OF(MAX_OF(bits_of((uint64_t)in->max_ops) + 1, (int)TABLE_MIN_BITS), (int)TABLE_MAX_BITS);
    int64_t control = align_up((int64_t)sizeof(Control), 256), table = INT64_C(4) << bits;
    TRY(device_mem_need(r->d, r->q, &r->table, control + table, e));
    memset(r->p, 0, sizeof r->p);
    *groups = cut(r, in->max_ops);
    int64_t sums =
        align_up(r->groups * (1 + r->group_size / 32) * 16, 256); /* of groups, and of warps where there are */
    int64_t records = align_up(*groups * (int64_t)r->p[RK_CHUNK] * 8, 256);
    TRY(device_mem_need(r->d, r->q, &r->ops,
                        3 * records + records / 2 + align_up(r->groups * RK_DIGITS * 4, 256) + sums + 2048, e));
    DevPtr at = r->ops.p;
    r->p[RK_ERR] = r->table.p;
    r->p[RK_FIGURES] = r->table.p + offsetof(Control, figures);
    r->p[RK_CHANGED] = r->table.p + offsetof(Control, changed);
    r->p[RK_TABLE] = r->table.p + (uint64_t)control;
    r->p[RK_ITEMS] = in->items;
    r->p[RK_USES] = in->uses;
    r->p[RK_N_OPS] = in->n_ops;
    r->p[RK_MAX_OPS] = (uint64_t)in->max_ops;
    r->p[RK_N_CALLS] = (uint64_t)in->n_calls;
    r->p[RK_IN_ORDER] = in->in_order;
    r->p[RK_SHIFT] = (uint64_t)(RANK_NAME_BITS - bits);
    r->p[RK_FROM] = carve(&at, records);
    r->p[RK_TO] = carve(&at, records);
    r->p[RK_PLACES] = carve(&at, records);
    r->p[RK_SLOTS] = carve(&at, records / 2);
    r->p[RK_HIST] = carve(&at, r->groups * RK_DIGITS * 4);
    r->p[RK_SUMS] = carve(&at, sums);
    r->p[RK_TYPES] = in->types;
    r->p[RK_N_TYPES] = (uint64_t)MAX_OF(in->n_types, 1);
    r->left = 0;
    if (in->max_ops == 0) return r->d->ops->fill(r->q, r->table.p, 0, control, e);
    TRY(r->d->ops->fill(r->q, r->table.p, 0, control + table, e));
    if (in->max_ops >= SAMPLE_OF) { /* hot items are marked when the rest comes, which then need not send atomics to one
                                       place by the thousand */
        r->p[RK_N] = (uint64_t)in->max_ops / SAMPLE;
        TRY(run_over(r, K_MARK, in->max_ops / SAMPLE / 4, e));
        r->p[RK_N] = (uint64_t)in->max_ops;
    }
    TRY(run_over(r, K_MARK, (in->max_ops + 3) / 4, e));
    uint64_t from = r->p[RK_FROM];
    r->p[RK_TO] = from;
    r->p[RK_COUNTS] = r->table.p + offsetof(Control, counts);
    TRY(run(r, K_FILTER, *groups, e));
    r->p[RK_TO] = from + (uint64_t)records;
    TRY(look(r, (int64_t)offsetof(Control, counts) + *groups * 4, e));
    for (int64_t g = 0; g < *groups; g++) r->left += r->seen->counts[g];
    return ST_OK;
}
/* 3. Sorted by (name, call). */
static Status sort_ops(RankDevice *r, const RankInput *in, int64_t groups, DevPtr *totals, Err *e) {
    if (!in->in_order && in->n_calls > 1) {
        int bits = bits_of((uint64_t)in->n_calls - 1);
        TRY(sort(r, r->left, groups, RANK_KIND_BITS, bits, totals, e));
        groups = cut(r, r->left);
    }
    return sort(r, r->left, groups, 32, RANK_NAME_BITS, totals, e);
}

static void swap_records(RankDevice *r) {
    uint64_t t = r->p[RK_FROM];
    r->p[RK_FROM] = r->p[RK_TO];
    r->p[RK_TO] = t;
}
/* ---- locks
 * ----------------------------------------------------------------------------------------------------------------- */
/* The order in which calls are taken: a stable sort of them by rank_group's keys. `totals`: zeros of GROUP_PASSES
 * passes. */
enum { GROUP_PASSES = 2 };
static Status group_calls(RankDevice *r, const RankInput *in, DevPtr records, DevPtr totals, DevPtr order,
                          RankLocks *out, Err *e) {
    int64_t n = in->n_calls, types = MAX_OF(in->n_types, 1);
    int drop = MAX_OF(bits_of((uint64_t)types - 1) - in->group_bits, 0);
    out->n_first = r->p[RK_FIGURES] + 12;
    r->p[RK_DROP] = (uint64_t)drop;
    r->p[RK_TO] = records;
    r->p[RK_FROM] = records + (uint64_t)align_up(n * 8, 256);
    int64_t groups = cut(r, n);
    TRY(run_over(r, K_GROUP, n, e));
    swap_records(r);
    TRY(sort(r, n, groups, 32, bits_of((uint64_t)((types - 1) >> drop) + 1), &totals, e));
    out->order = r->p[RK_ORDER] = order;
    return run_over(r, K_ORDER, n, e);
}

Status rank_device_locks(RankDevice *r, DevQueue *q, const RankInput *in, RankLocks *out, Err *e) {
    int64_t groups, n = in->n_calls, per_call = align_up((n + 1) * 4, 256);
    const bool group = in->group_bits > 0 && n > 0;
    int64_t group_totals = group ? GROUP_PASSES * RK_DIGITS * 4 : 0,
            group_bytes = group ? per_call + 2 * align_up(n * 8, 256) : 0;
    *out = (RankLocks){0};
    r->q = q;
    TRY(filter(r, in, &groups, e));
    int64_t left = r->left, counters = align_up(left * 4, 256),
            queues = in->dequeues ? counters + align_up(left * 8, 256) : 0, flags = align_up(left, 256),
            totals_bytes = PASSES_MAX * RK_DIGITS * 4;
    /* zero: lock_start, where nothing is left, or uses, waits, totals, flags, counters; then lock_start, locks */
    int64_t zero = group_totals + (left ? 2 * per_call + totals_bytes + flags + counters + queues : per_call);
    TRY(device_mem_need(r->d, r->q, &r->calls, zero + group_bytes + per_call + left * (in->names ? 16 : 8) + 1024, e));
    DevPtr at = r->calls.p, totals, order_totals, order, records;
    TRY(r->d->ops->fill(q, at, 0, zero, e));
    order_totals = carve(&at, group_totals);
    out->ops_left = out->n_locks = out->max_uses = left;
    out->figures = in->figures ? r->p[RK_FIGURES] : 0;
    if (left == 0) {
        out->lock_start = carve(&at, per_call);
        uint32_t w0 = (uint32_t)n;
        r->seen->figures[0] = w0;
        if (in->figures) TRY(r->d->ops->copy_in(q, r->p[RK_FIGURES], &r->seen->figures[0], 4, e));
        order = carve(&at, per_call);
        return group ? group_calls(r, in, at, order_totals, order, out, e) : ST_OK;
    }
    r->p[RK_CALL_USES] = carve(&at, per_call);
    r->p[RK_WAITS] = carve(&at, per_call);
    if (!in->figures) r->p[RK_WAITS] = 0;
    totals = carve(&at, totals_bytes);
    r->p[RK_FLAGS] = carve(&at, flags);
    out->counters = carve(&at, counters);
    if (in->dequeues) {
        r->p[RK_DEQUEUE_TYPE] = (uint64_t)in->dequeue_type;
        out->dequeues = r->p[RK_DEQUEUE_COUNTS] = carve(&at, left * 4);
        out->rows = carve(&at, left * 8);
    }
    out->lock_start = r->p[RK_STARTS] = carve(&at, per_call);
    if (in->names) out->named_locks = r->p[RK_NAMED_LOCKS] = carve(&at, left * 16);
    else out->locks = r->p[RK_LOCKS] = carve(&at, left * 8);
    TRY(sort_ops(r, in, groups, &totals, e));
    groups = cut(r, left);
    TRY(run(r, K_SUMS, groups, e));
    TRY(run(r, K_USES, groups, e));
    TRY(run_over(r, K_COUNT, left, e));
    groups = cut(r, n);
    TRY(run(r, K_CALL_SUMS, groups, e));
    TRY(run(r, K_CALL_STARTS, groups, e));
    r->p[RK_N] = (uint64_t)left;
    TRY(run_over(r, K_LOCKS, left, e));
    if (!group) return ST_OK;
    order = carve(&at, per_call);
    records = carve(&at, 2 * align_up(n * 8, 256));
    return group_calls(r, in, records, order_totals, order, out, e);
}

/* ---- sets
 * ------------------------------------------------------------------------------------------------------------------ */
/* Depths of all calls, unless too deep. */
static Status find_depths(RankDevice *r, int64_t depth_max, RankSets *out, Err *e) {
    int64_t groups = cut(r, r->left), n_calls = (int64_t)r->p[RK_N_CALLS];
    TRY(run(r, K_SUMS, groups, e));
    TRY(run(r, K_USES, groups, e));
    groups = cut_tiles(r, r->left, (int64_t)r->group_size * r->relax_items);
    r->p[RK_ROUND] = RK_FIRST_ROUND;
    TRY(run(r, K_RELAX, groups, e));
    for (int64_t rounds = ROUNDS_FIRST;; rounds = MIN_OF(rounds * 2, (int64_t)ROUNDS_MAX)) {
        TRY(r->d->ops->fill(r->q, r->p[RK_FIGURES], 0,
                            (int64_t)(offsetof(Control, counts) - offsetof(Control, figures)), e));
        r->p[RK_N] = (uint64_t)r->left;
        for (int64_t k = 0; k < rounds; k++) {
            r->p[RK_ROUND] = (uint64_t)k;
            TRY(run(r, K_RELAX, groups, e));
        }
        r->p[RK_N] = (uint64_t)n_calls;
        TRY(run_over(r, K_FIGURES, n_calls, e));
        TRY(look(r, (int64_t)offsetof(Control, counts), e));
        for (int64_t k = 0; k < rounds && (k == 0 || r->seen->changed[k - 1]); k++) out->rounds++;
        out->depth = (int64_t)r->seen->figures[2] + 1;
        out->width0 = r->seen->figures[0];
        out->crossing = r->seen->figures[1];
        if (!r->seen->changed[rounds - 1] || (depth_max > 0 && out->depth > depth_max)) return ST_OK;
    }
}
/* 5. order, start. */
static Status order_calls(RankDevice *r, int64_t n, DevPtr records, DevPtr *totals, RankSets *out, Err *e) {
    int64_t keys = out->depth * (int64_t)r->p[RK_N_TYPES];
    if (keys > (int64_t)UINT32_MAX / 8)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk cannot have %lld sets of %lld types", (long long)out->depth,
                       (long long)r->p[RK_N_TYPES]);
    TRY(device_mem_need(r->d, r->q, &r->starts, (keys + 1) * 4, e));
    if (r->host_starts_bytes < (keys + 1) * 4) {
        mem_free(r->account, r->host_starts, r->host_starts_bytes);
        r->host_starts_bytes = (keys + 1) * 5;
        if (!(r->host_starts = mem_alloc(r->account, r->host_starts_bytes, e)))
            return r->host_starts_bytes = 0, ST_ERROR;
    }
    r->p[RK_TO] = records;
    r->p[RK_FROM] = records + (uint64_t)align_up(n * 8, 256);
    int64_t groups = cut(r, n);
    TRY(run_over(r, K_KEYS, n, e));
    swap_records(r);
    TRY(sort(r, n, groups, 32, bits_of((uint64_t)MAX_OF(keys - 1, INT64_C(0))), totals, e));
    r->p[RK_ORDER] = out->order;
    TRY(run_over(r, K_ORDER, n, e));
    out->start = r->p[RK_STARTS] = r->starts.p;
    out->starts = r->host_starts;
    r->p[RK_MAX_OPS] = (uint64_t)keys;
    TRY(run_over(r, K_STARTS, keys + 1, e));
    TRY(r->d->ops->copy_out(r->q, r->host_starts, out->start, (keys + 1) * 4, e));
    return look(r, (int64_t)offsetof(Control, figures), e);
}
Status rank_device_sets(RankDevice *r, DevQueue *q, const RankInput *in, RankSets *out, Err *e) {
    int64_t groups, n = in->n_calls, per_call = align_up(n * 4, 256), totals_bytes = 2 * PASSES_MAX * RK_DIGITS * 4;
    *out = (RankSets){0};
    r->q = q;
    TRY(filter(r, in, &groups, e));
    out->ops_left = r->left;
    int64_t zero = totals_bytes + 2 * per_call;
    TRY(device_mem_need(r->d, r->q, &r->calls, zero + per_call + 2 * align_up(n * 8, 256) + 1024, e));
    DevPtr at = r->calls.p, totals = carve(&at, totals_bytes);
    TRY(r->d->ops->fill(q, totals, 0, zero, e));
    r->p[RK_WAITS] = carve(&at, per_call);
    r->p[RK_DEPTH] = carve(&at, per_call);
    out->order = carve(&at, per_call);
    out->depth = n > 0;
    out->width0 = n;
    if (r->left > 0) {
        TRY(sort_ops(r, in, groups, &totals, e));
        TRY(find_depths(r, in->depth_max, out, e));
        if (in->depth_max > 0 && out->depth > in->depth_max) return out->order = 0, ST_OK;
    }
    return order_calls(r, n, at, &totals, out, e);
}
