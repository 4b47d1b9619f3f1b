/* bulk.c - the phases of a bulk: preparation, footprints, room for inserts, schedule, results; see bulk.h. bulk_adds.c
 * decides which additions commute, bulk_run.c executes.
 *
 * The scheduler needs operations in the order of calls. Footprints therefore run over blocks of consecutive calls:
 * within a block by procedure, on vectors, and a counting sort brings the block's operations into the calls' order
 * while they are in the cache.
 *
 * A call whose footprint fails could touch anything: it writes an item that all other calls add to.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "txn/run/bulk_running.h"

enum { WORKER_CALLS = 256 /* a worker is worth its waking for so many calls */, UNKNOWN_INSERTS = 1024 };
#define CLEAR_BYTES (INT64_C(1) << 20)
#define NUMBER_ALONE (INT64_C(1) << 17) /* calls in group order: waking workers takes longer */
#define ROWS_STEP (INT64_C(1) << 13)    /* calls whose rows are numbered at a time */
#define CALL_STEP (INT64_C(1) << 15)    /* calls that a worker takes at a time, where there is little to do for each */

const char *bulk_phase_name(BulkPhase p) {
    static const char *const names[BULK_PHASES] = {"number",   "prepare",  "place",   "gather",      "foot",
                                                   "rank",     "result",   "reserve", "start",       "run",
                                                   "failures", "fetch",    "finish",  "dev_upload",  "dev_foot",
                                                   "dev_rank", "dev_wait", "dev_run", "dev_download"};
    return names[p];
}
void bulk_mark(Bulk *b, BulkPhase p) {
    int64_t now = clock_ns();
    b->times.phase_ns[p] += now - b->times.last_mark;
    b->times.last_mark = now;
}

void bulk_parallel(Bulk *b, PoolFn fn) {
    if (b->workers == 1) fn(b, 0);
    else pool_run(b->opt->query->pool, b->workers, fn, b);
}

/* ---- calls and groups ---------------------------------------------------------------------- */
/* Workers number the calls in steps; b->alone is set when the numbers are wrong. */
static int64_t number_step(const Bulk *b) {
    return MAX_OF(INT64_C(1024), MIN_OF(CALL_STEP, b->n_calls / (4 * b->workers)));
}
static void number_none(void *ctx, int worker) {
    Bulk *b = ctx;
    const int64_t step = number_step(b);
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < b->n_calls;)
        memset(b->type_of + i, 0xff, (size_t)MIN_OF(step, b->n_calls - i) * 2);
}
static void number_some(void *ctx, int worker) {
    Bulk *b = ctx;
    const int64_t step = number_step(b);
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < b->n_calls;) {
        int64_t from = i, left = MIN_OF(step, b->n_calls - i);
        for (int32_t p = 0; p < b->n_groups && left > 0; p++) { /* the groups, one behind the other */
            const CallGroupRun *x = &b->groups[p];
            int64_t end = MIN_OF(x->group->n, from + left),
                    before = from > 0 && from < x->group->n ? group_call(x, from - 1) : -1;
            for (int64_t k = from; k < end; k++) {
                int64_t call = group_call(x, k);
                if (call >= b->n_calls || call <= before) {
                    atomic_store(&b->alone, true);
                    return;
                }
                before = call;
                b->type_of[call] = (uint16_t)p;
                b->pos_of[call] = (uint32_t)k;
            }
            left -= MAX_OF(end - from, INT64_C(0));
            from = MAX_OF(from - x->group->n, INT64_C(0));
        }
    }
}
#pragma GCC push_options
#pragma GCC optimize("O3")                       /* nothing but stores: worth vectorising */
static void number_runs(void *ctx, int worker) { /* bulk_order_groups has put each group's calls side by side */
    Bulk *b = ctx;
    const int64_t step = number_step(b);
    (void)worker;
    for (int64_t from; (from = atomic_fetch_add(&b->next, step)) < b->n_calls;) {
        const int64_t to = MIN_OF(from + step, b->n_calls);
        for (int32_t p = 0; p < b->n_groups; p++) {
            const int64_t base = b->groups[p].base, begin = MAX_OF(from, base),
                          end = MIN_OF(to, base + b->groups[p].group->n);
            for (int64_t call = begin; call < end; call++) b->type_of[call] = (uint16_t)p;
            for (int64_t call = begin; call < end; call++) b->pos_of[call] = (uint32_t)(call - base);
        }
    }
}
#pragma GCC pop_options
static void number_check(void *ctx,
                         int worker) { /* as many numbers as calls: when one is there twice, another is missing */
    Bulk *b = ctx;
    const int64_t step = number_step(b);
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < b->n_calls;)
        for (int64_t k = i; k < MIN_OF(i + step, b->n_calls); k++)
            if (b->type_of[k] == UINT16_MAX) atomic_store(&b->alone, true);
}

static void number_same(void *ctx, int worker) { /* calls of the only group have its own numbers */
    Bulk *b = ctx;
    const int64_t step = number_step(b);
    (void)worker;
    for (int64_t i; (i = atomic_fetch_add(&b->next, step)) < b->n_calls;) {
        uint32_t other = 0;
        for (int64_t k = i; k < MIN_OF(i + step, b->n_calls); k++) other |= b->groups[0].calls[k] ^ (uint32_t)k;
        if (other) atomic_store(&b->alone, true);
    }
}
static Status wrong_numbers(Err *e) { return err_internal(e, "calls of a bulk are not numbered from 0 on"); }

Status bulk_number_calls(Bulk *b, Err *e) {
    for (int32_t p = 0; p < b->n_groups; p++) b->groups[p].calls = b->groups[p].group->calls;
    if (b->opt->any_order) TRY(bulk_order_groups(b, e));
    if (b->n_groups == 1) {
        if (!b->groups[0].calls) return ST_OK;
        atomic_store(&b->alone, false);
        atomic_store(&b->next, 0);
        if (b->n_calls <= NUMBER_ALONE) number_same(b, 0);
        else bulk_parallel(b, number_same);
        if (atomic_load(&b->alone)) return wrong_numbers(e);
        b->groups[0].calls = NULL;
        return ST_OK;
    }
    BulkLoan *kept = &b->images->numbers[b->slot]; /* touching fresh memory would take longer than the numbering */
    int64_t want = b->n_calls * 6 + 8;
    if (kept->bytes < want) {
        bulk_give_back(kept);
        *kept = (BulkLoan){.account = &b->images->account, .bytes = want + want / 4};
        if (!(kept->p = mem_alloc_raw(kept->account, kept->bytes, e))) return kept->bytes = 0, ST_ERROR;
    }
    b->pos_of = kept->p;
    b->type_of = (uint16_t *)(void *)(b->pos_of + b->n_calls);
    atomic_store(&b->alone, false);
    if (b->group_order) {
        atomic_store(&b->next, 0);
        if (b->n_calls <= NUMBER_ALONE) number_runs(b, 0);
        else bulk_parallel(b, number_runs);
        return ST_OK;
    }
    static const PoolFn passes[] = {number_none, number_some, number_check};
    for (int i = 0; i < (int)ARRAY_LEN(passes); i++) {
        atomic_store(&b->next, 0);
        bulk_parallel(b, passes[i]);
        if (atomic_load(&b->alone)) return wrong_numbers(e);
    }
    return ST_OK;
}

/* ---- tables ----------------------------------------------------------------------------------- */
static int32_t image_index_of(const Image *im, const ImageNeed *need, int32_t index) {
    if (index < need->table->n_keys) return index;
    int32_t g = index - need->table->n_keys;
    for (int32_t i = 0; i < im->n_indexes; i++)
        if (!im->indexes[i].unique && im->indexes[i].n_cols == need->groups[g].n_cols &&
            im->indexes[i].order == need->groups[g].order && im->indexes[i].desc == need->groups[g].desc &&
            memcmp(im->indexes[i].cols, need->groups[g].cols, sizeof(int32_t) * (size_t)need->groups[g].n_cols) == 0)
            return i;
    return -1;
}

static Status use_tables(Bulk *b, ProgRun *pr, Err *e) {
    for (int32_t i = 0; i < pr->proc->n_tables; i++) {
        const ProcTable *pt = &pr->proc->tables[i];
        TableUse *t = &pr->tables[i];
        ImageEntry *x = images_entry(b->images, pt->table_id);
        if (!x || !x->image) return err_internal(e, "%s: a table has no image", pr->proc->name);
        t->image = x->image;
        t->cols = x->cols;
        t->tracks_inserts = false;
        t->counts = t->starts = NULL;
        t->base = t->stride = 0;
        for (int32_t k = 0; k < pt->need.table->n_keys + pt->need.n_groups; k++)
            if ((t->index[k] = image_index_of(x->image, &pt->need, k)) < 0)
                return err_internal(e, "%s: an index is missing", pr->proc->name);
    }
    return ST_OK;
}

static Status prepare_groups(Bulk *b, bool foot, Err *e) {
    ProcEntry *x;
    for (int32_t i = 0; i < b->n_groups; i++)
        TRY(images_proc(b->images, b->groups[i].group->proc, foot, b->vector_size, b->workers, &x, e));
    for (int32_t i = 0; i < b->n_groups; i++) { /* entries have their places now */
        CallGroupRun *p = &b->groups[i];
        TRY(images_proc(b->images, p->group->proc, foot, b->vector_size, b->workers, &p->proc, e));
        const SessionInfo *session = b->opt->query->session;
        p->proc->body->session = session ? *session : (SessionInfo){0};
        TRY(use_tables(b, p->proc->body, e));
        if (!foot) continue;
        p->proc->foot->session = p->proc->body->session;
        TRY(use_tables(b, p->proc->foot, e));
    }
    return ST_OK;
}

/* ---- footprints -------------------------------------------------------------------------------------- */
static int64_t first_at(const CallGroupRun *p, int64_t call) {
    if (!p->calls) return MAX_OF(INT64_C(0), MIN_OF(call - p->base, p->group->n));
    int64_t lo = 0, hi = p->group->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (p->calls[mid] < call) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

Status bulk_ops_room(BulkWorker *w, int64_t want, Err *e) {
    const int64_t size = (int64_t)sizeof(TxnOp);
    if (want <= w->cap_ops) return ST_OK;
    TxnOp *ops = mem_realloc(w->sink.account, w->ops, w->cap_ops * size, want * size, e);
    if (!ops) return ST_ERROR;
    w->ops = ops;
    w->cap_ops = want;
    return ST_OK;
}
static Status block_room(Bulk *b, BulkWorker *w, int64_t more, Err *e) {
    if (w->n_ops + more <= w->cap_ops) return ST_OK;
    int64_t cap = MAX_OF(w->cap_ops * 2, w->n_ops + more);
    if (w->cap_ops == 0) cap = MAX_OF(cap, more * (b->foot.n_blocks / b->workers + 1)); /* blocks are alike */
    return bulk_ops_room(w, cap, e);
}

static Status run_block(Bulk *b, int worker, int64_t block) {
    BulkWorker *w = &b->w[worker];
    CallSink *k = &w->sink;
    int64_t from = block * b->foot.block_size, to = MIN_OF(from + b->foot.block_size, b->n_calls);
    k->n_ops = 0;
    if (b->foot.failed) memset(b->foot.failed + from, 0, (size_t)(to - from));
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroupRun *x = &b->groups[p];
        CallFrame *c = x->proc->foot_frames[worker];
        int64_t hi = first_at(x, to);
        for (int64_t at = first_at(x, from), n; at < hi; at += n) {
            n = MIN_OF(hi - at, c->pr->vector_size);
            int64_t had = k->n_ops, gone = c->departures;
            k->group = p;
            callframe_run(c, k, x->group, n, NULL, at);
            for (int64_t i = had; i < k->n_ops; i++) k->ops[i].call = (uint32_t)group_call(x, at + k->ops[i].call);
            if (LIKELY(c->departures == gone)) continue;
            for (int64_t i = 0; i < n; i++)
                if (c->goes[i] == GO_FAILED) {
                    atomic_store(&b->alone, true);
                    b->foot.failed[group_call(x, at + i)] = 1;
                }
        }
    }
    TRY(block_room(b, w, k->n_ops, &w->err));
    b->foot.blocks[block] = (BulkBlock){worker, w->n_ops, k->n_ops};
    TxnOp *out = w->ops + w->n_ops;
    uint32_t *count = w->counts, sum = 0;
    memset(count, 0, (size_t)(to - from) * 4);
    for (int64_t i = 0; i < k->n_ops; i++) count[k->ops[i].call - from]++;
    for (int64_t i = 0; i < to - from; i++) {
        uint32_t n = count[i];
        count[i] = sum;
        sum += n;
    }
    for (int64_t i = 0; i < k->n_ops; i++) out[count[k->ops[i].call - from]++] = k->ops[i];
    w->n_ops += k->n_ops;
    return ST_OK;
}

static void foot_worker(void *ctx, int worker) {
    Bulk *b = ctx;
    BulkWorker *w = &b->w[worker];
    for (int64_t i; !w->failed && (i = atomic_fetch_add(&b->next, 1)) < b->foot.n_blocks;)
        if (run_block(b, worker, i) != ST_OK) {
            w->failed = true;
            atomic_store(&b->next, b->foot.n_blocks);
        }
}
static Status run_footprints(Bulk *b, Err *e) {
    for (int i = 0; i < b->workers; i++) {
        b->w[i].n_ops = 0;
        b->w[i].sink.null_amount = false;
        memset(b->w[i].sink.sums, 0, sizeof(uint128_t) * (size_t)b->foot.n_sums);
    }
    for (int32_t p = 0; p < b->n_groups; p++) {
        ProgRun *pr = b->groups[p].proc->foot;
        for (int32_t i = 0; i < pr->proc->n_tables; i++)
            if (pr->tables[i].counts) memset(pr->tables[i].counts, 0, (size_t)b->groups[p].group->n * 4);
    }
    bulk_clear_fetch_adds(b);
    atomic_store(&b->alone, false);
    atomic_store(&b->next, 0);
    bulk_parallel(b, foot_worker);
    for (int i = 0; i < b->workers; i++)
        if (b->w[i].failed) {
            err_copy(e, &b->w[i].err);
            return ST_ERROR;
        }
    return ST_OK;
}

/* The blocks' operations, in the order of the calls, and behind them what calls have whose footprints failed, and with
 * them all others. */
static Status gather_ops(Bulk *b, Err *e) {
    const int64_t more = atomic_load(&b->alone) ? b->n_calls : 0;
    if (!(b->foot.runs = arena_array(b->arena, OpRun, b->foot.n_blocks + 1))) return err_oom(e);
    b->foot.n_runs = b->foot.n_ops = 0;
    b->foot.unordered = false;
    for (int64_t i = 0; i < b->foot.n_blocks; i++) {
        const BulkBlock *k = &b->foot.blocks[i];
        if (k->n == 0) continue;
        b->foot.runs[b->foot.n_runs++] = (OpRun){b->w[k->worker].ops + k->first, k->n};
        b->foot.n_ops += k->n;
    }
    if (more == 0) return ST_OK;
    TxnOp *whole = arena_array(b->arena, TxnOp, more);
    if (!whole) return err_oom(e);
    const uint64_t item = hash_combine(hash_u64(0), ITEM_WHOLE);
    for (int64_t i = 0; i < more; i++) whole[i] = (TxnOp){item, (uint32_t)i, b->foot.failed[i] ? OPK_WRITE : OPK_ADD};
    b->foot.runs[b->foot.n_runs++] = (OpRun){whole, more};
    b->foot.n_ops += more;
    return ST_OK;
}

/* ---- room for inserts ------------------------------------------------------------------------------------ */
static TableUse *table_in(const CallGroupRun *p, int64_t table_id, int64_t *max) {
    for (int32_t i = 0; i < p->group->proc->n_tables; i++)
        if (p->group->proc->tables[i].table_id == table_id) {
            *max = p->group->proc->tables[i].max_inserts;
            return &p->proc->body->tables[i];
        }
    return NULL;
}
static bool guessed(const CallGroupRun *p, int64_t table_id) {
    for (int32_t i = 0; i < p->group->proc->n_tables; i++)
        if (p->group->proc->tables[i].table_id == table_id) return p->group->proc->tables[i].guessed;
    return false;
}
static bool counts_inserts(const Bulk *b) {
    for (int32_t p = 0; p < b->n_groups; p++)
        for (int32_t i = 0; i < b->groups[p].group->proc->n_tables; i++)
            if (b->groups[p].group->proc->tables[i].max_inserts < 0) return true;
    return false;
}
/* Numbers of a group's calls that go to a device with memory of its own and come from there: in memory that drivers
 * need not copy first. */
static int64_t number_words(int64_t n) { return (n + 16) & ~INT64_C(15); }
static uint32_t *take_numbers(Bulk *b, int64_t n, Err *e) {
    if (b->foot.numbers_left < number_words(n)) {
        uint32_t *own = arena_alloc(b->arena, number_words(n) * 4);
        if (!own) err_oom(e);
        return own;
    }
    uint32_t *x = b->foot.numbers;
    b->foot.numbers += number_words(n);
    b->foot.numbers_left -= number_words(n);
    return x;
}
static Status make_numbers(Bulk *b, Err *e) {
    int64_t most = 0;
    void *p = NULL;
    if (!bulk_device_copies(b)) return ST_OK;
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].group->proc->n_tables; i++) {
            const int64_t max = b->groups[k].group->proc->tables[i].max_inserts;
            most += max == 0 ? 0 : number_words(b->groups[k].group->n) * (max < 0 ? 2 : 1);
        }
    TRY(bulk_device_numbers(b, most * 4, &p, e));
    b->foot.numbers = p;
    b->foot.numbers_left = most;
    return ST_OK;
}
Status bulk_make_counts(Bulk *b, Err *e) {
    TRY(make_numbers(b, e));
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroupRun *pr = &b->groups[p];
        for (int32_t i = 0; i < pr->group->proc->n_tables; i++) {
            if (pr->group->proc->tables[i].max_inserts >= 0) continue;
            uint32_t *counts = take_numbers(b, pr->group->n, e);
            if (!counts) return ST_ERROR;
            pr->proc->body->tables[i].counts = pr->proc->foot->tables[i].counts = counts;
        }
    }
    return ST_OK;
}

/* Rows that calls insert into a table: sums of steps first, then where each call begins. */
typedef struct Numbering {
    Bulk *b;
    TableUse **use;
    int64_t *sums;
    bool write;
} Numbering;
/* The calls [from, to), whose groups are mixed. */
static int64_t number_mixed(const Numbering *y, int64_t from, int64_t to, int64_t total) {
    const Bulk *b = y->b;
    for (int64_t i = from; i < to; i++) {
        TableUse *t = y->use[bulk_type(b, (uint32_t)i)];
        if (!t) continue;
        int64_t k = b->pos_of ? b->pos_of[i] : i;
        if (y->write) t->starts[k] = (uint32_t)total;
        total += t->counts ? t->counts[k] : t->stride;
    }
    return total;
}
/* Side by side, group by group: those that insert nothing are passed over. */
static int64_t number_groups(const Numbering *y, int64_t from, int64_t to, int64_t total) {
    const Bulk *b = y->b;
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroupRun *group = &b->groups[b->group_order[p]];
        const TableUse *t = y->use[b->group_order[p]];
        const int64_t begin = MAX_OF(from - group->base, INT64_C(0)), end = MIN_OF(to - group->base, group->group->n);
        if (!t || begin >= end) continue;
        uint32_t *const starts = t->starts;
        const uint32_t *const counts = t->counts;
        if (!counts && !y->write) {
            total += (end - begin) * t->stride;
            continue;
        }
        for (int64_t k = begin; k < end; k++) {
            if (y->write) starts[k] = (uint32_t)total;
            total += counts ? counts[k] : t->stride;
        }
    }
    return total;
}
static void number_rows(void *ctx, int worker) {
    const Numbering *y = ctx;
    Bulk *b = y->b;
    (void)worker;
    for (int64_t first; (first = atomic_fetch_add(&b->next, ROWS_STEP)) < b->n_calls;) {
        const int64_t total = y->write ? y->sums[first / ROWS_STEP] : 0, to = MIN_OF(first + ROWS_STEP, b->n_calls);
        const int64_t sum = b->group_order ? number_groups(y, first, to, total) : number_mixed(y, first, to, total);
        if (!y->write) y->sums[first / ROWS_STEP] = sum;
    }
}
/* Rows are numbered in the order of calls, whatever order they run in. */
static Status reserve_table(Bulk *b, ImageEntry *x, Err *e) {
    int inserting = 0;
    int64_t total = 0, max = 0;
    bool guesses = false;
    TableUse *only = NULL;
    for (int32_t p = 0; p < b->n_groups; p++) {
        TableUse *t = table_in(&b->groups[p], x->table_id, &max);
        if (!t || max == 0) continue;
        inserting++;
        only = t;
        t->stride = MAX_OF(max, 0);
        total += max * b->groups[p].group->n;
        for (int64_t i = 0; t->counts && atomic_load(&b->alone) && i < b->groups[p].group->n; i++)
            if (b->foot.failed[group_call(&b->groups[p], i)]) t->counts[i] = UNKNOWN_INSERTS;
        const bool guess = guessed(&b->groups[p], x->table_id);
        guesses |= guess;
        for (int64_t i = 0; guess && i < b->groups[p].group->n; i++)
            t->counts[i] += (uint32_t)b->groups[p].group->guess;
    }
    if (inserting == 0) return ST_OK;
    if (inserting > 1 || only->counts) {
        total = 0;
        TableUse **use = arena_array(b->arena, TableUse *, b->n_groups);
        if (!use) return err_oom(e);
        for (int32_t p = 0; p < b->n_groups; p++) {
            max = 0;
            TableUse *t = table_in(&b->groups[p], x->table_id, &max);
            if (!t || max == 0) continue;
            if (!(t->starts = take_numbers(b, b->groups[p].group->n, e))) return ST_ERROR;
            use[p] = t;
        }
        Numbering y = {.b = b, .use = use};
        int64_t steps = (b->n_calls + ROWS_STEP - 1) / ROWS_STEP;
        if (!(y.sums = arena_array(b->arena, int64_t, steps + 1))) return err_oom(e);
        for (int pass = 0; pass < 2; pass++) {
            atomic_store(&b->next, 0);
            y.write = pass == 1;
            if (b->workers == 1) number_rows(&y, 0);
            else pool_run(b->opt->query->pool, b->workers, number_rows, &y);
            for (int64_t i = 0; pass == 0 && i < steps; i++) {
                int64_t sum = y.sums[i];
                y.sums[i] = total;
                total += sum;
            }
        }
    }
    if (total > UINT32_MAX)
        return err_set(e, ERR_PROGRAM_LIMIT, "a bulk inserts too many rows into table \"%s\"", x->need.table->name);
    TRY(image_reserve(x->image, total, e));
    int64_t base = image_claim(x->image, total, e);
    if (base < 0) return ST_ERROR;
    /* Guesses are far more than what calls insert. */
    if (!guesses && !bulk_device_copies(b)) rows_touch(x->image, base, total, b->opt->query->pool, b->workers);
    for (int32_t p = 0; p < b->n_groups; p++) {
        TableUse *t = table_in(&b->groups[p], x->table_id, &max);
        if (t) t->base = base;
    }
    return ST_OK;
}
static Status reserve_rows(Bulk *b, Err *e) {
    for (int64_t i = 0; i < b->images->n; i++)
        if (b->images->entries[i].image) TRY(reserve_table(b, &b->images->entries[i], e));
    return ST_OK;
}

/* ---- results ------------------------------------------------------------------------------------------------ */
/* What the result's arena does not hold itself goes with it. */
static void release_result(void *p) {
    BulkOwned *r = p;
    for (int32_t k = 0; k < r->n_blocks; k++) mem_free(r->account, r->blocks[k].p, r->blocks[k].bytes);
    bulk_give_back(&r->loan);
    for (int i = 0; i < r->n_arenas; i++) arena_free(r->arenas[i]);
}

static void *result_alloc(BulkOwned *r, int64_t bytes, Err *e) { /* not cleared: clear_blocks does that */
    bytes = MAX_OF(bytes, 8);
    void *p = mem_alloc_raw(r->account, bytes, e);
    if (p) r->blocks[r->n_blocks++] = (BulkMemory){p, bytes};
    return p;
}

/* All blocks as one row of bytes, of which workers take pieces. */
typedef struct Clearing {
    int32_t n;
    const BulkMemory *blocks;
    int64_t bytes;
    _Atomic int64_t next;
} Clearing;
static void clear_worker(void *ctx, int worker) {
    Clearing *c = ctx;
    (void)worker;
    for (int64_t from; (from = atomic_fetch_add(&c->next, CLEAR_BYTES)) < c->bytes;) {
        int64_t at = 0, to = from + CLEAR_BYTES;
        for (int32_t k = 0; k < c->n; at += c->blocks[k++].bytes) {
            const BulkMemory *m = &c->blocks[k];
            int64_t lo = MAX_OF(from, at), hi = MIN_OF(to, at + m->bytes);
            if (lo < hi) memset((char *)m->p + (lo - at), 0, (size_t)(hi - lo));
        }
    }
}
static void clear_blocks(const Bulk *b, int32_t n, const BulkMemory *blocks) {
    Clearing c = {.n = n, .blocks = blocks};
    for (int32_t k = 0; k < n; k++) c.bytes += blocks[k].bytes;
    if (b->workers > 1 && c.bytes > 2 * CLEAR_BYTES) pool_run(b->opt->query->pool, b->workers, clear_worker, &c);
    else clear_worker(&c, 0);
}

/* For a device that sends results: errors, which are cleared here, then OUT values, which it writes all of. */
static Status borrow_result(Bulk *b, BulkOwned *own, Err *e) {
    BulkResult *r = b->result;
    int64_t errors = 0, bytes = 0;
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroup *group = b->groups[p].group;
        errors += align_up(group->n * (int64_t)sizeof(CallError *), RESULT_ALIGN);
        for (int32_t k = 0; k < group->proc->n_outs; k++)
            bytes += align_up(group->n << size_class(group->proc->vars[group->proc->outs[k]].phys), RESULT_ALIGN) +
                     align_up(group->n, RESULT_ALIGN);
    }
    TRY(bulk_device_borrow(b, errors + bytes, &own->loan, e));
    char *error = own->loan.p, *at = error + errors;
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroup *group = b->groups[p].group;
        r->errors[p] = (CallError **)(void *)error;
        error += align_up(group->n * (int64_t)sizeof(CallError *), RESULT_ALIGN);
        for (int32_t k = 0; k < group->proc->n_outs; k++) {
            Vec *o = &r->outs[p][k];
            o->data = at;
            at += align_up(group->n << size_class(o->phys), RESULT_ALIGN);
            o->valid = (uint8_t *)at;
            at += align_up(group->n, RESULT_ALIGN);
        }
    }
    clear_blocks(b, 1, &(BulkMemory){own->loan.p, errors});
    return ST_OK;
}

Status bulk_make_result(Bulk *b, Err *e) {
    MemAccount *acct = b->opt->query->account;
    Arena *a = arena_new(acct, e);
    if (!a) return ST_ERROR;
    BulkResult *r = arena_new_of(a, BulkResult);
    BulkOwned *own = arena_new_of(a, BulkOwned);
    if (!r || !own || arena_on_release(a, release_result, own) != ST_OK) {
        arena_free(a);
        return err_oom(e);
    }
    b->result = r;
    *r = (BulkResult){.n_calls = b->n_calls, .arena = a};
    if (b->group_order) {
        int32_t *copy = arena_array(a, int32_t, b->n_groups);
        if (!copy) return err_oom(e);
        memcpy(copy, b->group_order, sizeof *copy * (size_t)b->n_groups);
        r->group_order = copy;
    }
    *own = (BulkOwned){.account = acct};
    int64_t blocks = 0;
    for (int32_t p = 0; p < b->n_groups; p++) blocks += 1 + 2 * b->groups[p].group->proc->n_outs;
    own->blocks = arena_array(a, BulkMemory, blocks);
    own->arenas = arena_array(a, Arena *, b->workers);
    r->outs = arena_array(a, Vec *, b->n_groups);
    r->errors = arena_array(a, CallError **, b->n_groups);
    if (!own->blocks || !own->arenas || !r->outs || !r->errors) return err_oom(e);
    for (int i = 0; i < b->workers; i++) {
        if (i > 0) {
            if (!(own->arenas[own->n_arenas] = arena_new(acct, e))) return ST_ERROR;
            own->n_arenas++;
        }
        b->w[i].sink.arena = i == 0 ? a : own->arenas[i - 1];
        b->w[i].sink.errors = r->errors;
    }
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroup *group = b->groups[p].group;
        const Proc *proc = group->proc;
        if (!(r->outs[p] = arena_array(a, Vec, proc->n_outs + 1))) return err_oom(e);
        for (int32_t k = 0; k < proc->n_outs; k++) {
            const ProcVar *v = &proc->vars[proc->outs[k]];
            r->outs[p][k] = (Vec){.phys = v->phys, .type = v->type};
        }
    }
    if (bulk_device_copies(b)) return borrow_result(b, own, e);
    for (int32_t p = 0; p < b->n_groups; p++) {
        const CallGroup *group = b->groups[p].group;
        if (!(r->errors[p] = result_alloc(own, group->n * (int64_t)sizeof(CallError *), e))) return ST_ERROR;
        for (int32_t k = 0; k < group->proc->n_outs; k++) {
            Vec *o = &r->outs[p][k];
            o->data = result_alloc(own, group->n << size_class(o->phys), e);
            o->valid = result_alloc(own, group->n, e);
            if (!o->data || !o->valid) return ST_ERROR;
        }
    }
    clear_blocks(b, own->n_blocks, own->blocks);
    return ST_OK;
}

void bulk_result_free(BulkResult *r) {
    if (r) arena_free(r->arena);
}

/* Calls that fail have zeros, as made. */
#define TAKE(T)                                                                  \
    {                                                                            \
        const T *x = v->cells;                                                   \
        T *d = o->data;                                                          \
        for (int64_t i = 0; i < c->n; i++) {                                     \
            if (c->goes[i] == GO_FAILED || (v->valid && !v->valid[i])) continue; \
            int64_t call = call_number(c, i);                                    \
            d[call] = x[i];                                                      \
            o->valid[call] = 1;                                                  \
        }                                                                        \
    }
static void take_texts(BulkWorker *w, int32_t group, const CallFrame *c, const CallVar *v, Vec *o) {
    static CallError oom = {.sqlstate = "53200",
                            .message = (char *)(uintptr_t) "out of memory for the result; the call has been executed"};
    const Str *x = v->cells;
    for (int64_t i = 0; i < c->n; i++) {
        if (c->goes[i] == GO_FAILED || (v->valid && !v->valid[i])) continue;
        int64_t call = call_number(c, i);
        char *copy = arena_strndup(w->sink.arena, x[i].ptr, x[i].len);
        if (copy) ((Str *)o->data)[call] = str_make(copy, x[i].len);
        else if (!w->sink.errors[group][call]) w->sink.errors[group][call] = &oom;
        o->valid[call] = copy != NULL;
    }
}

/* OUT values of the chunk that has run. Strings are copied: tables and frames change. */
static void take_outs(Bulk *b, BulkWorker *w, int32_t group, CallFrame *c, bool failures) {
    const Proc *proc = c->pr->proc;
    for (int32_t k = 0; k < proc->n_outs; k++) {
        const CallVar *v = &c->vars[proc->outs[k]];
        Vec *o = &b->result->outs[group][k];
        bool text = v->phys == PH_STR, plain = !text && !v->valid && !failures;
        if (plain && !c->calls) {
            memcpy((char *)o->data + (c->first_call << v->size), v->cells, (size_t)(c->n << v->size));
            memset(o->valid + c->first_call, 1, (size_t)c->n);
            continue;
        }
        switch (text ? -1 : v->size) {
        case -1: take_texts(w, group, c, v, o); break;
        case SZ_1: TAKE(uint8_t); break;
        case SZ_2: TAKE(uint16_t); break;
        case SZ_4: TAKE(uint32_t); break;
        case SZ_8: TAKE(uint64_t); break;
        default: TAKE(Interval);
        }
    }
}
#undef TAKE

/* Of a call that has not begun. `message` is a constant. */
static CallError *stopped_error(BulkWorker *w, const char *message) {
    static CallError short_of_memory = {.sqlstate = "57014", .message = (char *)(uintptr_t) "canceling statement"};
    CallError *x = arena_new_of(w->sink.arena, CallError);
    if (!x) return &short_of_memory;
    *x = (CallError){.sqlstate = ERR_QUERY_CANCELED, .message = (char *)(uintptr_t)message};
    return x;
}
void bulk_chunk(Bulk *b, int worker, int32_t group, int64_t n, const uint32_t *calls) {
    BulkWorker *w = &b->w[worker];
    CallFrame *c = b->groups[group].proc->body_frames[worker];
    const uint32_t *pos = calls;
    if (b->pos_of) {
        for (int64_t i = 0; i < n; i++) w->calls[i] = b->pos_of[calls[i]];
        pos = w->calls;
    }
    int64_t first = pos[0];
    int64_t same = (int64_t)pos[n - 1] - first == n - 1 ? 1 : n;
    while (same < n && pos[same] == first + same) same++;
    if (same == n && (int64_t)pos[n - 1] - first == n - 1) pos = NULL; /* consecutive */
    w->sink.group = group;
    const char *canceled = sink_canceled(&w->sink);
    if (UNLIKELY(canceled)) {
        CallError *stopped = stopped_error(w, canceled);
        for (int64_t i = 0; i < n; i++) w->sink.errors[group][pos ? pos[i] : first + i] = stopped;
        w->sink.n_failed += n;
        return;
    }
    int64_t failed = w->sink.n_failed;
    if (b->opt->logged) w->sink.set = atomic_fetch_add_explicit(&b->run.chunks_begun, 1, memory_order_relaxed);
    callframe_run(c, &w->sink, b->groups[group].group, n, pos, first);
    if (b->fetch_adds && w->sink.n_failed != failed) bulk_drop_fetch_adds(c);
    take_outs(b, w, group, c, w->sink.n_failed != failed);
}

/* ---- the bulk -------------------------------------------------------------------------------------------------- */
Status bulk_check_groups(Bulk *b, int32_t n, const CallGroup *groups, Err *e) {
    if (n > UINT16_MAX - 1) return err_set(e, ERR_PROGRAM_LIMIT, "a bulk of %d procedures", (int)n);
    for (int32_t i = 0; i < n; i++) {
        b->n_calls += groups[i].n;
        const Proc *p = groups[i].proc;
        for (int32_t k = 0; k < i; k++)
            if (groups[k].proc == p) return err_internal(e, "%s is there twice", p->name);
        if (p->reason) return err_set(e, ERR_FEATURE_NOT_SUPPORTED, "%s cannot run in bulk: %s", p->name, p->reason);
        for (int32_t k = 0; k < p->n_params && groups[i].n > 0; k++) {
            const Vec *v = &groups[i].params[k];
            if (v->phys != p->vars[k].phys || (v->type.id == T_NUMERIC && v->type.scale != p->vars[k].type.scale))
                return err_internal(e, "parameter %d of %s comes in another form", (int)k + 1, p->name);
            dbg_assert(v->is_const ||
                       cells_agree(p->vars[k].type, v->type, (Phys)v->phys, groups[i].n, v->data, v->valid));
        }
        b->groups[i].group = &groups[i];
    }
    if (b->n_calls > INT32_MAX) return err_set(e, ERR_PROGRAM_LIMIT, "a bulk of %lld calls", (long long)b->n_calls);
    return ST_OK;
}

static Status make_workers(Bulk *b, Err *e) {
    const QueryOptions *q = b->opt->query;
    if (!(b->w = arena_alloc(b->arena, (int64_t)sizeof(BulkWorker) * b->workers + 64))) return err_oom(e);
    b->w = (BulkWorker *)(((uintptr_t)b->w + 63) & ~(uintptr_t)63);
    memset(b->w, 0, sizeof(BulkWorker) * (size_t)b->workers);
    for (int i = 0; i < b->workers; i++) {
        BulkWorker *w = &b->w[i];
        w->sink = (CallSink){.account = &b->images->account,
                             .step_limit = b->opt->step_limit,
                             .cancel = q->cancel,
                             .deadline_ns = q->deadline_ns,
                             .keeps = b->opt->logged,
                             .stop = b->opt->stop};
        if (!(w->calls = arena_alloc(b->arena, b->vector_size * 4 + 64))) return err_oom(e);
    }
    return ST_OK;
}

/* Memory for operations comes from the bulk before, if it is there, and goes to the next one. */
static Status take_memory(Bulk *b, Err *e) {
    ImageSet *s = b->images;
    int n = 2 * b->workers;
    if (s->n_kept < n) {
        KeptOps *kept =
            mem_realloc(&s->account, s->kept, s->n_kept * (int64_t)sizeof(KeptOps), n * (int64_t)sizeof(KeptOps), e);
        if (!kept) return ST_ERROR;
        memset(kept + s->n_kept, 0, sizeof(KeptOps) * (size_t)(n - s->n_kept));
        s->kept = kept;
        s->n_kept = n;
    }
    for (int i = 0; i < b->workers; i++) {
        KeptOps *k = &s->kept[2 * i];
        b->w[i].ops = k[0].ops;
        b->w[i].cap_ops = k[0].cap;
        b->w[i].sink.ops = k[1].ops;
        b->w[i].sink.cap_ops = k[1].cap;
        k[0] = k[1] = (KeptOps){0};
        b->w[i].has_memory = true;
    }
    return ST_OK;
}
static void leave_memory(Bulk *b) {
    ImageSet *s = b->images;
    for (int i = 0; b->w && i < b->workers; i++) {
        BulkWorker *w = &b->w[i];
        if (!w->has_memory) continue;
        s->kept[2 * i] = (KeptOps){w->ops, w->cap_ops};
        s->kept[2 * i + 1] = (KeptOps){w->sink.ops, w->sink.cap_ops};
        for (KeptOps *k = &s->kept[2 * i]; k < &s->kept[2 * i + 2]; k++) {
            if (k->cap <= KEPT_OPS_MAX / (2 * b->workers)) continue;
            mem_free(&s->account, k->ops, k->cap * (int64_t)sizeof(TxnOp));
            *k = (KeptOps){0};
        }
    }
}

/* PART with a number of partitions: an item's name says which it is in. */
static Status place_calls(Bulk *b, uint64_t **out, Err *e) {
    enum { NOWHERE = -2, CROSSES = -1 };
    uint64_t n = (uint64_t)b->opt->partitions, *p = arena_alloc(b->arena, (b->n_calls + 1) * 8);
    if (!p) return err_oom(e);
    for (int64_t i = 0; i < b->n_calls; i++) p[i] = (uint64_t)NOWHERE;
    for (int64_t r = 0; r < b->foot.n_runs; r++)
        for (int64_t i = 0; i < b->foot.runs[r].n; i++) {
            const TxnOp *op = &b->foot.runs[r].ops[i];
            uint64_t *mine = &p[op->call], at = hash_u64(op->item) % n;
            *mine = *mine == (uint64_t)NOWHERE || *mine == at ? at : (uint64_t)CROSSES;
        }
    for (int64_t i = 0; i < b->n_calls; i++)
        if (p[i] == (uint64_t)NOWHERE) p[i] = (uint64_t)i % n;
    *out = p;
    return ST_OK;
}

static Status machine_footprints(Bulk *b, Err *e) {
    TRY(run_footprints(b, e));
    while (bulk_demote_adds(b)) TRY(run_footprints(b, e));
    return ST_OK;
}
/* The virtual machine runs all calls of a procedure together, kernels as many as the option says. */
static int type_drop(const Bulk *b) {
    int drop = 0;
    while (b->device && drop < 16 && (b->n_groups - 1) >> drop >> b->opt->group_bits > 0) drop++;
    return drop;
}
static Status make_schedule(Bulk *b, Err *e) {
    if (!b->images->scratch && !(b->images->scratch = schedule_scratch_new(&b->images->account, e))) return ST_ERROR;
    uint64_t *partition = NULL;
    if (b->opt->strategy == STRATEGY_PART && b->opt->partitions > 0) TRY(place_calls(b, &partition, e));
    int64_t measured = b->device ? b->opt->set_min_device : b->opt->set_min_vm;
    int64_t set_min = b->opt->set_min > 0             ? b->opt->set_min
                      : !b->device && b->workers == 1 ? 1
                      : measured > 0                  ? measured
                      : b->device                     ? BULK_SET_MIN
                                                      : BULK_SET_MIN_VM;
    if (b->device && b->opt->set_min == 0 && bulk_device_divergent(b)) set_min *= BULK_SET_UNEQUAL;
    ScheduleInput in = {.n_calls = b->n_calls,
                        .partition = partition,
                        .types = b->type_of,
                        .n_types = b->n_groups,
                        .in_order =
                            !b->foot.unordered && !atomic_load(&b->alone) /* their operations come behind all others */,
                        .n_ops = b->foot.n_ops,
                        .n_runs = b->foot.n_runs,
                        .runs = b->foot.runs,
                        .strategy = b->opt->strategy,
                        .set_min = set_min,
                        .locks_pay = b->device != NULL,
                        .chain_min = BULK_CHAIN_MIN,
                        .c_max = 1,
                        .workers = b->workers,
                        .type_drop = type_drop(b),
                        .group_free = b->device && b->opt->group_bits > 0,
                        .scratch = b->images->scratch,
                        .no_fetch_adds = !bulk_fetch_adds_planned(b)};
    Pool *pool = b->workers > 1 ? b->opt->query->pool : NULL;
    if (in.no_fetch_adds || in.strategy != STRATEGY_AUTO) return schedule_make(&in, pool, b->arena, &b->schedule, e);
    /* Fetch-adds beside each other cost a little more than writes: they pay only where they make narrow sets wider. */
    in.fetch_adds_write = true;
    TRY(schedule_make(&in, pool, b->arena, &b->schedule, e));
    if (b->n_calls < BULK_FETCH_ADD_LEAST || b->n_calls >= BULK_FETCH_ADD_WIDTH * b->schedule.depth)
        return bulk_forget_fetch_adds(b), ST_OK;
    Schedule sets;
    in.fetch_adds_write = false;
    TRY(schedule_make(&in, pool, b->arena, &sets, e));
    if (sets.strategy != STRATEGY_KSET || 2 * sets.depth > b->schedule.depth) return bulk_forget_fetch_adds(b), ST_OK;
    sets.plan_ns += b->schedule.plan_ns;
    sets.why = "calls that take from one counter do so beside each other";
    b->schedule = sets;
    return ST_OK;
}
static Status foot_room(Bulk *b, Err *e) {
    b->foot.block_size = b->vector_size * MIN_OF(b->n_groups, 8);
    b->foot.n_blocks = (b->n_calls + b->foot.block_size - 1) / b->foot.block_size;
    b->foot.blocks = arena_array(b->arena, BulkBlock, b->foot.n_blocks + 1);
    b->foot.failed =
        mem_alloc_raw(b->opt->query->account, b->n_calls + 1, e); /* cleared before each run of footprints */
    if (!b->foot.blocks || !b->foot.failed) return ST_ERROR;
    for (int i = 0; i < b->workers; i++)
        if (!(b->w[i].counts = arena_alloc(b->arena, b->foot.block_size * 4 + 4))) return err_oom(e);
    return take_memory(b, e);
}
static Status make_ops(Bulk *b, BulkPlanned *how, const char **reason, Err *e) {
    TRY(foot_room(b, e));
    TRY(bulk_plan_adds(b, e));
    bulk_plan_fetch_adds(b);
    TRY(bulk_make_counts(b, e));
    *how = PLANNED_NOTHING;
    if (b->device) TRY(bulk_device_footprints(b, how, reason, e));
    if (*how == PLANNED_NOTHING) TRY(machine_footprints(b, e));
    return *how == PLANNED_NOTHING || *how == PLANNED_OPS ? gather_ops(b, e) : ST_OK;
}
static Status plan_bulk(Bulk *b, BulkStats *st, Err *e) {
    int64_t t0 = clock_ns();
    BulkPlanned how;
    TRY(make_ops(b, &how, &st->reason, e));
    int64_t t1 = clock_ns();
    st->n_ops = b->foot.n_ops;
    st->footprint_ns = t1 - t0;
    if (how == PLANNED_ALL) {
        st->schedule_ns = b->schedule.plan_ns;
        st->footprint_ns -= st->schedule_ns;
        return ST_OK;
    }
    TRY(make_schedule(b, e));
    TRY(bulk_share_fetch_adds(b, e));
    st->why =
        b->cautious && !b->device
            ? "calls did not take from counters what was expected: the bulk was undone, and run again without takes"
            : b->schedule.why;
    st->schedule_ns = clock_ns() - t1;
    return ST_OK;
}

Status bulk_plan_on_host(Bulk *b, Err *e) {
    b->foot.block_size = b->vector_size * MIN_OF(b->n_groups, 8);
    b->foot.n_blocks = (b->n_calls + b->foot.block_size - 1) / b->foot.block_size;
    if (!(b->foot.blocks = arena_array(b->arena, BulkBlock, b->foot.n_blocks + 1))) return err_oom(e);
    TRY(machine_footprints(b, e));
    TRY(gather_ops(b, e));
    b->schedule = (Schedule){0};
    return make_schedule(b, e);
}

/* Without a plan: the calls run in order, or are known not to conflict. Footprints are only for counts of rows. */
static Status plan_unseen(Bulk *b, const char **reason, Err *e) {
    TRY(bulk_plan_alone(b, e));
    if (!counts_inserts(b)) return ST_OK;
    TRY(foot_room(b, e));
    for (int32_t k = 0; k < b->n_groups; k++)
        for (int32_t i = 0; i < b->groups[k].proc->foot->p->n_instrs; i++) b->groups[k].proc->foot->add_slot[i] = -1;
    TRY(bulk_make_counts(b, e));
    bool counted = false;
    if (b->device) TRY(bulk_device_counts(b, &counted, reason, e));
    return counted ? ST_OK : run_footprints(b, e);
}
/* The calls one by one, in order. */
static Status plan_serial(Bulk *b, const char **reason, Err *e) {
    b->schedule = (Schedule){
        .strategy = STRATEGY_SERIAL, .n_calls = b->n_calls, .depth = b->n_calls, .width0 = MIN_OF(b->n_calls, 1)};
    return plan_unseen(b, reason, e);
}
/* BulkOptions.apart: the calls by procedure. */
static Status plan_apart(Bulk *b, BulkStats *st, Err *e) {
    int64_t t0 = clock_ns(), n = 0;
    Schedule s = {.strategy = STRATEGY_KSET,
                  .n_calls = b->n_calls,
                  .depth = 1,
                  .width0 = b->n_calls,
                  .n_sets = 1,
                  .why = "no two calls conflict"};
    s.order = arena_array(b->arena, uint32_t, b->n_calls + 1);
    s.set_start = arena_array(b->arena, int64_t, 2);
    if (!s.order || !s.set_start) return err_oom(e);
    for (int32_t p = 0; p < b->n_groups; p++)
        for (int64_t i = 0; i < b->groups[p].group->n; i++) s.order[n++] = (uint32_t)group_call(&b->groups[p], i);
    s.set_start[1] = n;
    b->schedule = s;
    st->why = s.why;
    TRY(plan_unseen(b, &st->reason, e));
    st->footprint_ns = clock_ns() - t0;
    return ST_OK;
}

/* A call is one worker's, so its notices have its order. */
static int by_call(const void *x, const void *y) {
    const CallNotice *a = x, *b = y;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->call != b->call) return a->call < b->call ? -1 : 1;
    return (a->seq > b->seq) - (a->seq < b->seq);
}
void bulk_sort_notices(int64_t n, CallNotice *x) {
    if (n > 1) qsort(x, (size_t)n, sizeof *x, by_call);
}
static Status gather_notices(Bulk *b, Err *e) {
    int64_t n = 0;
    for (int i = 0; i < b->workers; i++) n += b->w[i].sink.notices.len;
    if (n == 0) return ST_OK;
    CallNotice *all = arena_array(b->result->arena, CallNotice, n);
    if (!all) return err_oom(e);
    int64_t at = 0;
    for (int i = 0; i < b->workers; i++) {
        const CallSink *k = &b->w[i].sink;
        if (k->notices.len) memcpy(all + at, k->notices.items, (size_t)k->notices.len * sizeof *all);
        at += k->notices.len;
    }
    bulk_sort_notices(n, all);
    b->result->n_notices = n;
    b->result->notices = all;
    return ST_OK;
}

/* Numbers of calls, programs, workers and, where kernels are to run it, the device. */
static Status prepare_bulk(Bulk *b, bool foot, BulkStats *st, Err *e) {
    if (!bulk_prefetch_adopt(b)) TRY(bulk_number_calls(b, e));
    bulk_mark(b, BP_NUMBER);
    TRY(prepare_groups(b, foot, e));
    TRY(make_workers(b, e));
    bulk_forget_adds(b);
    bulk_forget_fetch_adds(b);
    TRY(bulk_device_prepare(b, &st->reason, e));
    bulk_mark(b, BP_PREPARE);
    return ST_OK;
}
/* The plan, and memory for the result where planning has not made it. */
static Status plan_calls(Bulk *b, bool serial, BulkStats *st, Err *e) {
    b->times.began = clock_ns();
    if (serial) TRY(plan_serial(b, &st->reason, e));
    else if (b->opt->apart && !bulk_device_copies(b))
        TRY(plan_apart(b, st, e)); /* other devices rank calls where they have the operations */
    else TRY(plan_bulk(b, st, e));
    bulk_mark(b, BP_FOOT);
    bulk_track_inserts(b);
    bulk_plan_undo(b);
    if (b->result && !bulk_device_copies(b)) { /* the device that was to fill it is gone */
        bulk_result_free(b->result);
        b->result = NULL;
    }
    if (!b->result) TRY(bulk_make_result(b, e));
    bulk_mark(b, BP_RESULT);
    return ST_OK;
}
/* Room for inserts, and what the device needs before calls run. It may give up: then the host has the plan. */
static Status start_calls(Bulk *b, BulkStats *st, Err *e) {
    const int64_t began = clock_ns();
    bulk_prefetch_end(b); /* images may move now */
    TRY(reserve_rows(b, e));
    bulk_mark(b, BP_RESERVE);
    bool planned = b->schedule.order || b->schedule.strategy == STRATEGY_SERIAL;
    if (b->device) TRY(bulk_device_start(b, &st->reason, e));
    if (!b->device && !planned) TRY(bulk_plan_on_host(b, e));
    st->reserve_ns = clock_ns() - began;
    bulk_mark(b, BP_START);
    return ST_OK;
}
/* All calls. Afterwards b->again says that they were undone. */
static Status run_calls(Bulk *b, BulkStats *st, Err *e) {
    if (!b->device) {
        TRY(bulk_execute(b, e));
        bulk_mark(b, BP_RUN);
        return ST_OK;
    }
    st->executor = "compiled";
    st->device = bulk_device_name(b);
    TRY(bulk_device_execute(b, &st->reason, e));
    if (b->again) return ST_OK;
    st->why = bulk_device_why(b, st->why);
    bulk_device_list_failed(b);
    return ST_OK;
}
/* The result's figures; run_ns and total_ns: when calls began to run, and the bulk. */
static void fill_stats(Bulk *b, BulkStats *st) {
    for (int i = 0; i < b->workers; i++) {
        st->n_failed += b->w[i].sink.n_failed;
        st->rows_read += b->w[i].sink.rows_read;
        st->short_of_rows |= b->w[i].sink.short_of_rows;
    }
    st->strategy = b->schedule.strategy;
    st->run_ns = clock_ns() - st->run_ns;
    st->total_ns = clock_ns() - st->total_ns;
    st->transfer_ns = b->times.transfer_ns;
    bulk_mark(b, BP_FINISH);
    memcpy(st->phase_ns, b->times.phase_ns, sizeof st->phase_ns);
    st->send_ns = MAX_OF(st->phase_ns[BP_GATHER], st->phase_ns[BP_DEV_UPLOAD]); /* they begin together */
    st->footprint_ns -= MIN_OF(st->send_ns, st->footprint_ns);
    if (st->reason) { /* the bulk's memory goes; its calls have been executed, so this must not fail */
        const char *reason = arena_strdup(b->result->arena, st->reason);
        st->reason = reason ? reason : "out of memory for the reason";
    }
    st->prefetched = b->adopted && b->args == b->adopted && b->device;
    st->foot_prefetched = st->prefetched && bulk_device_foot_prefetched(b);
    st->depth = b->schedule.depth;
    st->width0 = b->schedule.width0;
    st->crossing = b->schedule.crossing;
    b->result->stats = *st;
}

static Status run_phases(Bulk *b, Err *e) {
    BulkStats st = {.n_calls = b->n_calls, .executor = "vm", .total_ns = clock_ns()};
    const bool serial = b->opt->strategy == STRATEGY_SERIAL || b->n_calls <= 1;
    b->times.last_mark = st.total_ns;
    TRY(prepare_bulk(b, !serial || counts_inserts(b), &st, e));
    TRY(plan_calls(b, serial, &st, e));
    const char *canceled = sink_canceled(&b->w[0].sink);
    if (canceled) return err_set(e, ERR_QUERY_CANCELED, "%s", canceled);
    TRY(start_calls(b, &st, e));
    st.run_ns = clock_ns();
    TRY(run_calls(b, &st, e));
    if (b->again) return ST_OK;
    bulk_note_bounds(b);
    TRY(gather_notices(b, e));
    fill_stats(b, &st);
    return ST_OK;
}

static int workers_for(const Bulk *b) {
    const QueryOptions *q = b->opt->query;
    int64_t most = q->pool && b->opt->strategy != STRATEGY_SERIAL ? MIN_OF(q->threads, pool_threads(q->pool)) : 1;
    return (int)MAX_OF(1, MIN_OF(most, b->n_calls / WORKER_CALLS));
}

/* What a bulk works with counts against memory_limit, too. Like any other want of memory that is 53200, with bytes and
 * setting as they are. */
static void name_bulk(const Bulk *b, Err *e) {
    Err why = {0};
    if (strcmp(e->sqlstate, ERR_LIMIT_EXCEEDED) != 0) return;
    err_copy(&why, e);
    err_clear(e);
    err_set(e, ERR_OUT_OF_MEMORY, "no room for a bulk of %lld calls: %s", (long long)b->n_calls, why.message);
    if (why.detail[0]) err_detail(e, "%s", why.detail);
    if (why.hint[0]) err_hint(e, "%s", why.hint);
}

/* *again: the bulk was undone, and has to be run once more with `cautious`. */
static Status run_once(ImageSet *images, int32_t n_groups, const CallGroup *groups, const BulkOptions *opt,
                       bool cautious, bool *again, BulkResult **out, Err *e) {
    const QueryOptions *q = opt->query;
    *out = NULL;
    Arena *a = arena_new(q->account, e);
    if (!a) return ST_ERROR;
    Bulk b = {.images = images,
              .opt = opt,
              .n_groups = n_groups,
              .arena = a,
              .err = e,
              .cautious = cautious,
              .slot = images->slot,
              .vector_size = q->vector_size > 0 ? q->vector_size : 1024};
    Status s = ST_ERROR;
    b.groups = arena_array(a, CallGroupRun, n_groups + 1);
    if (b.groups && bulk_check_groups(&b, n_groups, groups, e) == ST_OK) {
        b.workers = workers_for(&b);
        s = run_phases(&b, e);
    }
    if (s != ST_OK && !err_is_set(e)) err_oom(e);
    if (s != ST_OK) name_bulk(&b, e);
    bulk_device_end(&b);
    bulk_prefetch_free(b.adopted);
    leave_memory(&b);
    mem_free(q->account, b.foot.failed, b.n_calls + 1);
    *again = s == ST_OK && b.again;
    if (s == ST_OK && !b.again) *out = b.result;
    else bulk_result_free(b.result);
    arena_free(a);
    return s;
}
Status bulk_run(ImageSet *images, int32_t n_groups, const CallGroup *groups, const BulkOptions *opt, BulkResult **out,
                Err *e) {
    bool again = false;
    pool_urgent_begin();
    Status st = run_once(images, n_groups, groups, opt, false, &again, out, e);
    if (st == ST_OK && again) st = run_once(images, n_groups, groups, opt, true, &again, out, e);
    pool_urgent_end();
    return st;
}

/* ---- footprints alone ---------------------------------------------------------------------------------- */
/* By call, wherever they come from. */
static Status sort_ops(const Bulk *b, Arena *a, BulkOps *out, Err *e) {
    int64_t *start = out->start = arena_array(a, int64_t, b->n_calls + 2);
    out->ops = arena_array(a, TxnOp, b->foot.n_ops + 1);
    out->failed = arena_calloc(a, b->n_calls + 1);
    if (!out->ops || !start || !out->failed) return err_oom(e);
    for (int64_t r = 0; r < b->foot.n_runs; r++)
        for (int64_t i = 0; i < b->foot.runs[r].n; i++) start[b->foot.runs[r].ops[i].call + 2]++;
    for (int64_t c = 2; c <= b->n_calls; c++) start[c] += start[c - 1];
    for (int64_t r = 0; r < b->foot.n_runs; r++)
        for (int64_t i = 0; i < b->foot.runs[r].n; i++)
            out->ops[start[b->foot.runs[r].ops[i].call + 1]++] = b->foot.runs[r].ops[i];
    if (atomic_load(&b->alone)) memcpy(out->failed, b->foot.failed, (size_t)b->n_calls);
    return ST_OK;
}
static Status find_ops(Bulk *b, Arena *a, BulkOps *out, Err *e) {
    const char *reason = NULL;
    BulkPlanned how;
    b->writes_only = true;
    if (!bulk_prefetch_adopt(b)) TRY(bulk_number_calls(b, e));
    TRY(prepare_groups(b, true, e));
    TRY(make_workers(b, e));
    bulk_forget_adds(b);
    TRY(bulk_device_prepare(b, &reason, e));
    b->times.began = b->times.last_mark = clock_ns();
    TRY(make_ops(b, &how, &reason, e));
    const char *canceled = sink_canceled(&b->w[0].sink);
    if (canceled) return err_set(e, ERR_QUERY_CANCELED, "%s", canceled);
    return sort_ops(b, a, out, e);
}
Status bulk_footprints(ImageSet *images, int32_t n_groups, const CallGroup *groups, const BulkOptions *opt, Arena *into,
                       BulkOps *out, Err *e) {
    const QueryOptions *q = opt->query;
    BulkOptions mine = *opt;
    mine.strategy = STRATEGY_PART; /* a device that ranks calls itself gives operations to the host then, and has no
                                      statement locks */
    mine.any_order = false;
    mine.partitions = 0;
    mine.pipeline = NULL;
    Arena *a = arena_new(q->account, e);
    if (!a) return ST_ERROR;
    Bulk b = {.images = images,
              .opt = &mine,
              .n_groups = n_groups,
              .arena = a,
              .err = e,
              .slot = images->slot,
              .vector_size = q->vector_size > 0 ? q->vector_size : 1024};
    Status s = ST_ERROR;
    b.groups = arena_array(a, CallGroupRun, n_groups + 1);
    if (b.groups && bulk_check_groups(&b, n_groups, groups, e) == ST_OK) {
        b.workers = workers_for(&b);
        s = b.n_calls > 0 ? find_ops(&b, into, out, e) : sort_ops(&b, into, out, e);
    }
    if (s != ST_OK && !err_is_set(e)) err_oom(e);
    bulk_device_end(&b);
    leave_memory(&b);
    mem_free(q->account, b.foot.failed, b.n_calls + 1);
    arena_free(a);
    return s;
}
