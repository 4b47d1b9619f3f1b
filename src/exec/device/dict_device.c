/* dict_device.c - see dict_device.h. The kernels are codegen/prelude/kr_merge.h. */
#include "exec/device/dict_device.h"

#include "base/log.h"
#include "codegen/emit.h"
#include "device/work.h"
#include "exec/device/dev_int.h"

enum {
    P_A = 1,
    P_N_A,
    P_B,
    P_N_B,
    P_TO,
    P_FROM,
    P_X,
    P_Y,
    P_COUNTS,
    P_N,
    P_SLICES,
    N_PARAMS_MERGE
}; /* 0: error word */
typedef enum Kernel {
    K_SLICES,
    K_CLOSE,
    K_PAIRS,
    K_KEYS,
    K_PATH,
    K_HEADS,
    K_UNIQUE,
    K_SCAN,
    K_MAP,
    K_TILE,
    K_SORT,
    N_KERNELS
} Kernel;
static const char *const names[N_KERNELS] = {"merge_slices", "merge_close", "merge_pairs",  "merge_keys",
                                             "merge_path",   "merge_heads", "merge_unique", "merge_scan",
                                             "merge_map",    "sort_tile",   "sort_merge"};
enum { CHUNK = 4096, RUN = 8 }; /* MERGE_CHUNK, MERGE_RUN */
const char *const dict_way_names[N_DICT_WAYS] = {"slices", "CSUM", "MUM"};

struct DictDevice {
    Device *d;
    CodeCache *cache;
    MemAccount *account;
    CodeRef code;
    DevKernel *kernels[N_KERNELS];
    int32_t group_size;
    DevQueue *q;
    DevMem mem;
    uint64_t p[N_PARAMS_MERGE];
};

Status dict_device_new(Device *d, CodeCache *cache, MemAccount *account, DictDevice **out, Err *e) {
    DictDevice *x = mem_calloc(account, (int64_t)sizeof *x, e);
    if (!x) return ST_ERROR;
    *x = (DictDevice){.d = d, .cache = cache, .account = account, .group_size = d->info.group_rows};
    const KernelSet set = {kernel_merge_text, names, N_KERNELS, N_PARAMS_MERGE, x->group_size, .defines = NULL};
    const bool ready = code_get_set(cache, d, account, &set, true, &x->code, x->kernels, e) == CODE_READY;
    if (ready && device_queue_need(d, &x->q, e) == ST_OK) {
        *out = x;
        return ST_OK;
    }
    dict_device_free(x);
    return ST_ERROR;
}
void dict_device_free(DictDevice *x) {
    if (!x) return;
    device_queue_drop(x->d, &x->q);
    device_mem_free(x->d, &x->mem);
    if (x->code.module) code_release(x->cache, &x->code);
    mem_free(x->account, x, (int64_t)sizeof *x);
}

/* ---- memory: all of a merge in one piece ---- */
typedef struct Places {
    DevPtr err, a, b, x, y, counts;
    DevPtr one, two; /* n values, or as many pairs */
} Places;
static DevPtr carve(DevPtr *at, int64_t bytes) {
    const DevPtr p = *at;
    *at += (uint64_t)align_up(bytes + 64, 256);
    return p;
}
static int64_t lay_out(DevPtr at, const DictInput *in, int64_t n_counts, int64_t cell, Places *m) {
    const DevPtr begin = at;
    const int64_t n = in->n_main + in->n_delta;
    m->err = carve(&at, 16);
    m->a = carve(&at, in->n_main * 8);
    m->b = carve(&at, in->n_delta * 8);
    m->x = carve(&at, in->n_main * 4);
    m->y = carve(&at, in->n_delta * 4);
    m->counts = carve(&at, (n_counts + 1) * 4);
    m->one = carve(&at, n * cell);
    m->two = carve(&at, n * cell);
    return (int64_t)(at - begin);
}
static Status begin(DictDevice *x, const DictInput *in, int64_t n_counts, int64_t cell, Places *m, Err *e) {
    const DeviceOps *ops = x->d->ops;
    if (in->n_main + in->n_delta > INT32_MAX)
        return err_set(e, ERR_PROGRAM_LIMIT, "dictionaries of more than %d values are not merged on a device",
                       INT32_MAX);
    TRY(device_mem_need(x->d, x->q, &x->mem, lay_out(0, in, n_counts, cell, m), e));
    (void)lay_out(x->mem.p, in, n_counts, cell, m);
    x->p[0] = m->err;
    x->p[P_A] = m->a;
    x->p[P_N_A] = (uint64_t)in->n_main;
    x->p[P_B] = m->b;
    x->p[P_N_B] = (uint64_t)in->n_delta;
    x->p[P_X] = m->x;
    x->p[P_Y] = m->y;
    x->p[P_COUNTS] = m->counts;
    TRY(ops->fill(x->q, m->err, 0, 16, e));
    if (in->n_main) TRY(ops->copy_in(x->q, m->a, in->main, in->n_main * 8, e));
    if (in->n_delta) TRY(ops->copy_in(x->q, m->b, in->delta, in->n_delta * 8, e));
    return ops->sync(x->q, NULL, NULL, e);
}

/* ---- steps ---- */
static Status run(DictDevice *x, Kernel k, int64_t work, int64_t local, Err *e) {
    DevKernel *kernel = x->kernels[k];
    const int64_t most = MAX_OF(INT64_C(1), x->d->ops->resident_groups(kernel, x->group_size, local));
    return x->d->ops->launch(x->q, kernel, MIN_OF(most, MAX_OF(work, INT64_C(1))), x->group_size, local, x->p,
                             N_PARAMS_MERGE, e);
}
/* Over n items. */
static Status run_over(DictDevice *x, Kernel k, int64_t n, Err *e) {
    return run(x, k, (n + x->group_size - 1) / x->group_size, 0, e);
}
/* A word and what sums and scans of a group need. */
static int64_t group_local(const DictDevice *x) { return 8 * (x->group_size + 2); }
static Status scan(DictDevice *x, int64_t n, Err *e) {
    x->p[P_N] = (uint64_t)n;
    return run(x, K_SCAN, 1, group_local(x), e);
}
static Status read_total(DictDevice *x, const Places *m, int64_t n_counts, int64_t *n, Err *e) {
    uint32_t total = 0;
    TRY(device_read(x->d, x->q, &total, m->counts + (uint64_t)n_counts * 4, 4, e));
    *n = total;
    return ST_OK;
}
/* Values in order at `from`, those that differ to `to`. */
static Status unique(DictDevice *x, const Places *m, DevPtr from, DevPtr to, int64_t n, int64_t *n_out, Err *e) {
    const int64_t chunks = (n + CHUNK - 1) / CHUNK;
    x->p[P_FROM] = from;
    x->p[P_TO] = to;
    x->p[P_N] = (uint64_t)n;
    TRY(run(x, K_HEADS, chunks, group_local(x), e));
    TRY(scan(x, chunks, e));
    x->p[P_N] = (uint64_t)n;
    TRY(run(x, K_UNIQUE, chunks, group_local(x), e));
    return read_total(x, m, chunks, n_out, e);
}
/* Both, one behind the other, sorted; where the values are then. */
static Status concat_sort(DictDevice *x, const DictInput *in, const Places *m, DevPtr *sorted, DevPtr *spare, Err *e) {
    const int64_t n = in->n_main + in->n_delta, tiles = (n + SORT_TILE - 1) / SORT_TILE;
    DevPtr from = m->one, to = m->two;
    x->p[P_TO] = from;
    TRY(run_over(x, K_PAIRS, n, e));
    x->p[P_N] = (uint64_t)n;
    x->p[P_A] = from;
    TRY(run(x, K_TILE, tiles, (int64_t)SORT_TILE * 16, e));
    for (int64_t width = SORT_TILE; width < n; width *= 2) {
        x->p[P_A] = from;
        x->p[P_B] = to;
        x->p[P_SLICES] = (uint64_t)width;
        TRY(run(x, K_SORT, tiles, 0, e));
        const DevPtr t = from;
        from = to;
        to = t;
    }
    x->p[P_A] = m->a;
    x->p[P_B] = m->b;
    x->p[P_FROM] = from;
    x->p[P_TO] = to;
    *sorted = to;
    *spare = from;
    return run_over(x, K_KEYS, n, e);
}
static Status map(DictDevice *x, const DictInput *in, DevPtr values, int64_t n, Err *e) {
    x->p[P_FROM] = values;
    x->p[P_N] = (uint64_t)n;
    return run_over(x, K_MAP, in->n_main + in->n_delta, e);
}

/* ---- the ways ---- */
static Status by_slices(DictDevice *x, const Places *m, int64_t slices, DevPtr *values, int64_t *n, Err *e) {
    x->p[P_SLICES] = (uint64_t)slices;
    x->p[P_TO] = m->one;
    TRY(run_over(x, K_SLICES, slices, e));
    TRY(scan(x, slices, e));
    x->p[P_FROM] = m->one;
    x->p[P_TO] = *values = m->two;
    TRY(run_over(x, K_CLOSE, slices, e));
    return read_total(x, m, slices, n, e);
}
static Status by_unique(DictDevice *x, DictWay way, const DictInput *in, const Places *m, DevPtr *values, int64_t *n,
                        Err *e) {
    const int64_t all = in->n_main + in->n_delta;
    DevPtr sorted = m->one, spare = m->two;
    if (way == DICT_CSUM) {
        TRY(concat_sort(x, in, m, &sorted, &spare, e));
    } else {
        x->p[P_TO] = sorted;
        TRY(run_over(x, K_PATH, (all + RUN - 1) / RUN, e));
    }
    TRY(unique(x, m, sorted, spare, all, n, e));
    *values = spare;
    return map(x, in, spare, *n, e);
}
static Status bring_back(DictDevice *x, const DictInput *in, const Places *m, DevPtr values, DictOutput *out, Err *e) {
    const DeviceOps *ops = x->d->ops;
    if (out->n) TRY(ops->copy_out(x->q, out->values, values, out->n * 8, e));
    if (in->n_main && out->of_main) TRY(ops->copy_out(x->q, out->of_main, m->x, in->n_main * 4, e));
    if (in->n_delta && out->of_delta) TRY(ops->copy_out(x->q, out->of_delta, m->y, in->n_delta * 4, e));
    return ops->sync(x->q, NULL, NULL, e);
}
/* way N_DICT_WAYS: the delta's different values. */
static Status merge_steps(DictDevice *x, DictWay way, const DictInput *in, int64_t slices, DictOutput *out, Err *e) {
    const int64_t all = in->n_main + in->n_delta;
    const int64_t n_counts = way == DICT_SLICES ? slices : (all + CHUNK - 1) / CHUNK;
    Places m;
    DevPtr values = 0, sorted;
    const int64_t began = clock_ns();
    TRY(begin(x, in, n_counts, way == DICT_SLICES || way == DICT_MUM ? 8 : 16, &m, e));
    const int64_t in_at = clock_ns();
    if (way == DICT_SLICES) {
        TRY(by_slices(x, &m, slices, &values, &out->n, e));
    } else if (way < N_DICT_WAYS) {
        TRY(by_unique(x, way, in, &m, &values, &out->n, e));
    } else {
        TRY(concat_sort(x, in, &m, &sorted, &values, e));
        TRY(unique(x, &m, sorted, values, all, &out->n, e));
    }
    TRY(x->d->ops->sync(x->q, NULL, NULL, e));
    const int64_t run_at = clock_ns();
    TRY(bring_back(x, in, &m, values, out, e));
    out->in_ns = in_at - began;
    out->run_ns = run_at - in_at;
    out->out_ns = clock_ns() - run_at;
    return ST_OK;
}
static Status merge_any(DictDevice *x, DictWay way, const DictInput *in, DictOutput *out, Err *e) {
    const DeviceInfo *i = &x->d->info;
    const int64_t items = (int64_t)MAX_OF(i->units, 1) * MAX_OF(i->items_per_unit, 1),
                  slices = in->slices > 0 ? in->slices : MAX_OF(MIN_OF(items, in->n_main), INT64_C(1));
    out->n = out->in_ns = out->run_ns = out->out_ns = 0;
    if (in->n_main + in->n_delta == 0) return ST_OK;
    return device_settle(x->d, x->q, merge_steps(x, way, in, slices, out, e), e);
}
Status dict_device_merge(DictDevice *x, DictWay way, const DictInput *in, DictOutput *out, Err *e) {
    return merge_any(x, way, in, out, e);
}
Status dict_device_unique(DictDevice *x, const DictInput *in, DictOutput *out, Err *e) {
    const DictInput delta = {.n_delta = in->n_delta, .delta = in->delta};
    out->of_main = out->of_delta = NULL;
    return merge_any(x, N_DICT_WAYS, &delta, out, e);
}
