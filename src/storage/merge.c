/* merge.c - see merge.h. The steps are the paper's [Merge §2.2].
 *
 *  0. Plan. Full tablets that are packed, with nothing patched or deleted, are settled: they keep their rows, in order.
 *     The live rows of those between them go to new tablets.
 *  1. Columns with a dictionary, one to a thread at a time. 1a: the delta's dictionary is sorted, which is the entries
 *     behind n_sorted, in the order in which they came. 1b: it is merged with main's sorted entries; the maps X_M and
 *     X_D from old codes to new ones are the two parts of one array. Entries that no row has any more are left out;
 *     which these are is looked at only when main's rows have gone or changed.
 *  2. Columns of new tablets, a column of a tablet to a thread at a time: codes by the maps, at the width that they
 * need now (2a, 2b); other cells are packed anew. A settled tablet stays, unless one of its columns gets other codes;
 *     then it becomes a new one, of which the other columns are copied as they are packed.
 *  3. Key indexes, statistics of what is not settled, and the swap.
 *
 * A string column without a dictionary stays so when most of its rows are packed. Otherwise its form is open, and all
 * rows go through a load (load_rebuild).
 *
 * Thread rules: one thread, which runs the steps on the pool; the table is changed by it alone.
 */
#include "storage/merge.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/log.h"
#include "base/mutex.h"
#include "storage/merge_dict.h"
#include "storage/storage_int.h"

/* After so much was built anew, the allocator gives its free pages back. */
#define TRIM_ROWS 500000
/* A new tablet takes no more rows when their strings may come to this; a packed one has 32 bits for them. */
#define CUT_BYTES (INT64_C(1) << 30)
enum { BATCH = 2048 };

/* Rows [first, end) of a tablet. */
typedef struct Span {
    int64_t tablet, first, end;
} Span;
/* A tablet of the new state. */
typedef struct Made {
    int64_t first_span, n_spans, rows;
    bool settled; /* the rows are those of one tablet, in place */
    bool kept;    /* that tablet itself */
    Tablet *tablet;
    EncCol *cols;
    bool *borrowed; /* by column: bytes are the old tablet's */
    _Atomic int32_t left;
} Made;
/* A string column that has a dictionary. */
typedef struct MergeCol {
    _Atomic uint8_t *used; /* by code: some row has it; NULL: all count as used */
    int64_t n_used;        /* its size */
    DictMaps maps;
    Dict *dict; /* of the result, NULL: plain strings; the table's own when it stays */
    bool same;  /* codes of all rows stay what they are */
} MergeCol;
typedef struct Merge {
    Table *t;
    MemAccount *acct;
    const MergeOptions *o;
    MergeFigures f;
    VEC(Span) spans;
    Made *made;
    int64_t n_made, cap_made, rows;
    Arena *arena;
    MergeCol *cols;
    /* steps */
    _Atomic int64_t next, done, units, delta_ns, dict_ns, codes_ns;
    _Atomic bool failed;
    Mutex err_mu;
    Err err;
} Merge;
typedef struct Worker { /* buffers for the rows of a tablet */
    char *cells;
    uint8_t *valid;
} Worker;

/* ---- parallel steps: the first error wins ---- */
static void step_failed(Merge *m, const Err *e) {
    mutex_lock(&m->err_mu);
    if (!atomic_load(&m->failed)) err_copy(&m->err, e);
    atomic_store(&m->failed, true);
    mutex_unlock(&m->err_mu);
}
/* By the thread that merges, which is worker 0. */
static void look_for_stop(Merge *m) {
    Err e = {0};
    const int64_t units = MAX_OF(atomic_load(&m->units), INT64_C(1));
    if (!merge_stops(m->o, (double)atomic_load(&m->done) / (double)units)) return;
    (void)merge_stopped(&e);
    step_failed(m, &e);
}
static Status run_step(Merge *m, PoolFn fn, Err *e) {
    atomic_store(&m->next, 0);
    pool_run_or_here(m->o->pool, m->o->pool ? pool_threads(m->o->pool) : 1, fn, m);
    if (!atomic_load(&m->failed)) return ST_OK;
    err_copy(e, &m->err);
    return ST_ERROR;
}
/* The next of n units; -1: there is none, or the step has failed. */
static int64_t next_unit(Merge *m, int worker, int64_t n) {
    if (worker == 0) look_for_stop(m);
    if (atomic_load(&m->failed)) return -1;
    const int64_t i = atomic_fetch_add(&m->next, 1);
    return i < n ? i : -1;
}
static void unit_done(Merge *m) { atomic_fetch_add(&m->done, 1); }

/* ---- the plan ---- */
static bool is_loose(const Tablet *tab) { return tablet_has_open(tab) || tablet_has_patches(tab) || tab->n_deleted; }
static bool is_settled(const Tablet *tab) { return !is_loose(tab) && tab->rows >= TABLET_ROWS / 4 * 3; }
/* True when a merge would change nothing. */
static bool is_merged(const Table *t) {
    int64_t rows = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        if (is_loose(t->tablets[i])) return false;
        rows += t->tablets[i]->rows;
    }
    for (int c = 0; c < t->n_cols; c++)
        if (t->cols[c].dict && t->cols[c].dict->n > t->cols[c].dict->n_sorted) return false;
    return t->n_tablets <= 2 * (rows / TABLET_ROWS + 1);
}

/* The end of the shortest run of rows from `first` on that has `want` live ones, or of the tablet; *n: how many. */
static int64_t live_run(const Tablet *tab, int64_t first, int64_t want, int64_t *n) {
    int64_t row = first;
    *n = 0;
    if (tab->n_deleted == 0) {
        *n = MIN_OF(want, tab->rows - first);
        return first + *n;
    }
    for (; row < tab->rows && *n < want; row++) *n += !tablet_row_deleted(tab, row);
    return row;
}
/* Bytes of strings that rows of the tablet have, at most, in columns that may be plain. */
static int64_t text_bound(const Table *t, const Tablet *tab) {
    int64_t bytes = tablet_text_bytes(tab);
    for (int c = 0; c < t->n_cols; c++) {
        const Dict *d = t->cols[c].dict;
        if (type_phys(t->cols[c].type) != PH_STR) continue;
        if (!d && tab->block->bytes) bytes += tablet_packed_column(tab, c).var_bytes;
        if (d && d->n > 0) bytes += (int64_t)(t->cols[c].stats.avg_width * (double)tab->rows);
    }
    return bytes;
}
static Status add_made(Merge *m, Made **out, Err *e) {
    if (m->n_made == m->cap_made) {
        const int64_t cap = MAX_OF(2 * m->cap_made, INT64_C(16)), one = (int64_t)sizeof(Made);
        Made *p = mem_realloc(m->acct, m->made, m->cap_made * one, cap * one, e);
        if (!p) return ST_ERROR;
        m->made = p;
        m->cap_made = cap;
    }
    *out = &m->made[m->n_made++];
    **out = (Made){.first_span = m->spans.len};
    return ST_OK;
}
static Status add_span(Merge *m, Made *x, Span span, int64_t rows, Err *e) {
    if (!vec_push(m->arena, &m->spans, span)) return err_oom(e);
    x->n_spans++;
    x->rows += rows;
    return ST_OK;
}
/* keep false: all rows go to new tablets. */
static Status plan(Merge *m, bool keep, Err *e) {
    const Table *t = m->t;
    Made *open = NULL; /* takes more rows */
    int64_t texts = 0;
    m->n_made = m->spans.len = m->rows = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const Tablet *tab = t->tablets[i];
        m->rows += tab->rows - tab->n_deleted;
        if (keep && is_settled(tab)) {
            TRY(add_made(m, &open, e));
            open->settled = true;
            TRY(add_span(m, open, (Span){i, 0, tab->rows}, tab->rows, e));
            open = NULL;
            continue;
        }
        const int64_t bound = text_bound(t, tab);
        for (int64_t first = 0, end, n; first < tab->rows; first = end) {
            if (open && (open->rows == TABLET_ROWS || texts + bound > CUT_BYTES)) open = NULL;
            end = live_run(tab, first, open ? TABLET_ROWS - open->rows : TABLET_ROWS, &n);
            if (n == 0) continue;
            if (!open) {
                TRY(add_made(m, &open, e));
                texts = 0;
            }
            texts += bound;
            TRY(add_span(m, open, (Span){i, first, end}, n, e));
        }
    }
    return ST_OK;
}

/* ---- 1: dictionaries ---- */
static bool is_coded(const Merge *m, int c) { return m->t->cols[c].dict != NULL; }
/* Some entries may have no row any more. */
static bool may_lack_rows(const Table *t) {
    bool changed = false;
    for (int64_t i = 0; i < t->n_tablets && !changed; i++) {
        const Tablet *tab = t->tablets[i];
        changed = tab->n_deleted > 0 || (!tab->is_delta && is_loose(tab));
    }
    return changed;
}
static void mark_used(const Merge *m, int c, const Made *x) {
    _Atomic uint8_t *used = m->cols[c].used;
    int32_t pos[BATCH], codes[BATCH];
    uint8_t valid[BATCH];
    for (int64_t s = 0; s < x->n_spans; s++) {
        const Span *span = &m->spans.items[x->first_span + s];
        const Tablet *tab = m->t->tablets[span->tablet];
        for (int64_t first = span->first; first < span->end; first += BATCH) {
            bool identity, nulls;
            const int64_t n = tablet_live_rows(tab, first, MIN_OF((int64_t)BATCH, span->end - first), pos, &identity);
            tablet_decode(m->t, tab, c, first, identity ? NULL : pos, n, PH_I32, codes, valid, &nulls);
            for (int64_t i = 0; i < n; i++)
                if ((!nulls || valid[i]) && !atomic_load_explicit(&used[codes[i]], memory_order_relaxed))
                    atomic_store_explicit(&used[codes[i]], 1, memory_order_relaxed);
        }
    }
}
static void mark_worker(void *ctx, int worker) {
    Merge *m = ctx;
    for (int64_t i; (i = next_unit(m, worker, m->n_made * m->t->n_cols)) >= 0; unit_done(m)) {
        const int c = (int)(i % m->t->n_cols);
        if (m->cols[c].used) mark_used(m, c, &m->made[i / m->t->n_cols]);
    }
}
static Status mark_entries(Merge *m, Err *e) {
    bool any = false;
    for (int c = 0; c < m->t->n_cols; c++) {
        if (!is_coded(m, c) || m->t->cols[c].dict->n == 0) continue;
        any = true;
        m->cols[c].n_used = m->t->cols[c].dict->n;
        m->cols[c].used = mem_calloc(m->acct, m->t->cols[c].dict->n, e);
        if (!m->cols[c].used) return ST_ERROR;
    }
    return any ? run_step(m, mark_worker, e) : ST_OK;
}
static Status merge_dict(Merge *m, int c, Err *e) {
    MergeCol *x = &m->cols[c];
    Dict *d = m->t->cols[c].dict;
    DictTimes times;
    TRY(dict_maps_make(m->acct, d, (const uint8_t *)x->used, &x->maps, &times, e));
    atomic_fetch_add(&m->delta_ns, times.delta_ns);
    const int64_t began = clock_thread_ns();
    x->same = x->maps.same;
    Status st = ST_OK;
    if (x->maps.n > 0 && x->maps.n <= dict_keeps(m->rows) && x->maps.n <= DICT_MAX_ENTRIES) {
        if (x->same && x->maps.n == d->n && d->n_sorted == d->n) x->dict = d;
        else st = dict_of_maps(table_part(m->t, TABLE_TEXTS), d, &x->maps, &x->dict, e);
    } else {
        x->same = false;
    }
    atomic_fetch_add(&m->dict_ns, times.merge_ns + clock_thread_ns() - began);
    return st;
}
static void dict_worker(void *ctx, int worker) {
    Merge *m = ctx;
    Err e = {0};
    for (int64_t c; (c = next_unit(m, worker, m->t->n_cols)) >= 0; unit_done(m))
        if (is_coded(m, (int)c) && merge_dict(m, (int)c, &e) != ST_OK) step_failed(m, &e);
}

/* ---- 2: columns of new tablets ---- */
/* Live rows of the tablet's spans as cells of `phys` side by side; *nulls: valid says which are not NULL. */
static void read_cells(const Merge *m, const Made *x, int c, uint8_t phys, Worker *w, bool *nulls) {
    const int64_t size = phys_size((Phys)phys);
    int32_t pos[BATCH];
    int64_t at = 0;
    *nulls = false;
    for (int64_t s = 0; s < x->n_spans; s++) {
        const Span *span = &m->spans.items[x->first_span + s];
        const Tablet *tab = m->t->tablets[span->tablet];
        for (int64_t first = span->first; first < span->end; first += BATCH) {
            bool identity, some;
            const int64_t n = tablet_live_rows(tab, first, MIN_OF((int64_t)BATCH, span->end - first), pos, &identity);
            tablet_decode(m->t, tab, c, first, identity ? NULL : pos, n, phys, w->cells + at * size, w->valid + at,
                          &some);
            if (some && !*nulls) memset(w->valid, 1, (size_t)at);
            if (!some && *nulls) memset(w->valid + at, 1, (size_t)n);
            *nulls = *nulls || some;
            at += n;
        }
    }
}
static void map_codes(const MergeCol *x, int32_t *codes, const uint8_t *valid, int64_t n) {
    const int32_t *map = x->maps.map;
    if (x->same) return;
    if (valid)
        for (int64_t i = 0; i < n; i++) codes[i] = valid[i] ? map[codes[i]] : 0;
    else
        for (int64_t i = 0; i < n; i++) codes[i] = map[codes[i]];
}
static Status encode_cells(const Merge *m, Made *x, int c, Worker *w, Err *e) {
    const bool codes = m->cols[c].dict != NULL;
    const uint8_t phys = codes ? (uint8_t)PH_I32 : (uint8_t)type_phys(m->t->cols[c].type);
    bool nulls;
    read_cells(m, x, c, phys, w, &nulls);
    const uint8_t *valid = nulls ? w->valid : NULL;
    if (codes) map_codes(&m->cols[c], (int32_t *)(void *)w->cells, valid, x->rows);
    const ColSeg seg = {w->cells, valid, x->rows};
    if (codes) return enc_codes(m->acct, NULL, &seg, 1, x->rows, &x->cols[c], e);
    if (phys == PH_STR) return enc_strings(m->acct, &seg, 1, x->rows, &x->cols[c], e);
    return enc_fixed(m->acct, phys, &seg, 1, x->rows, &x->cols[c], e);
}
/* All rows of one tablet, of which the column is packed. */
static const Tablet *packed_source(const Merge *m, const Made *x, int c) {
    const Span *span = &m->spans.items[x->first_span];
    const Tablet *tab = m->t->tablets[span->tablet];
    const bool whole = x->n_spans == 1 && x->rows == tab->rows && tab->block->bytes;
    return whole && !tab->cols[c].is_delta && !tab->cols[c].patches ? tab : NULL;
}
/* Codes of up to 8 bits: a byte of them at a time. */
static Status remap_bytes(const Merge *m, Made *x, int c, const EncCol *from, bool *done, Err *e) {
    EncCol *to = &x->cols[c];
    *done = false;
    if (from->width > 8 || from->validity) return ST_OK;
    *to = *from;
    to->data = NULL;
    if (from->data_bytes) {
        to->data = mem_alloc_raw(m->acct, from->data_bytes + TABLET_GUARD, e);
        if (!to->data) return ST_ERROR;
        memcpy(to->data, from->data, (size_t)from->data_bytes + TABLET_GUARD);
    }
    *done = enc_remap_bytes(to, x->rows, m->cols[c].maps.map);
    if (!*done) enc_release(m->acct, to);
    return ST_OK;
}
static Status make_column(const Merge *m, Made *x, int c, Worker *w, Err *e) {
    const Tablet *tab = packed_source(m, x, c);
    const bool coded = is_coded(m, c);
    bool done = false;
    if (tab && (!coded || m->cols[c].same)) {
        x->cols[c] = tablet_packed_column(tab, c);
        x->borrowed[c] = true;
        return ST_OK;
    }
    if (tab && coded && m->cols[c].dict) {
        const EncCol from = tablet_packed_column(tab, c);
        TRY(remap_bytes(m, x, c, &from, &done, e));
    }
    return done ? ST_OK : encode_cells(m, x, c, w, e);
}
static void release_columns(const Merge *m, Made *x) {
    for (int c = 0; x->cols && c < m->t->n_cols; c++)
        if (!x->borrowed[c]) enc_release(m->acct, &x->cols[c]);
}
static Status finish_tablet(const Merge *m, Made *x, Err *e) {
    TRY(tablet_build(table_part(m->t, TABLE_PACKED), m->t->id, x->rows, m->t->n_cols, x->cols, &x->tablet, e));
    tablet_join(m->t, x->tablet);
    release_columns(m, x);
    memset(x->cols, 0, (size_t)m->t->n_cols * sizeof *x->cols);
    return ST_OK;
}
static Status make_part(Merge *m, int64_t unit, Worker *w, Err *e) {
    Made *x = &m->made[unit / m->t->n_cols];
    if (x->kept) return ST_OK;
    const int64_t began = clock_thread_ns();
    Status st = make_column(m, x, (int)(unit % m->t->n_cols), w, e);
    if (st == ST_OK && atomic_fetch_sub(&x->left, 1) == 1) st = finish_tablet(m, x, e);
    atomic_fetch_add(&m->codes_ns, clock_thread_ns() - began);
    return st;
}
static void make_worker(void *ctx, int worker) {
    Merge *m = ctx;
    Err e = {0};
    Worker w = {.cells = mem_alloc_raw(m->acct, TABLET_ROWS * 16, &e)};
    w.valid = w.cells ? mem_alloc_raw(m->acct, TABLET_ROWS, &e) : NULL;
    if (!w.valid) step_failed(m, &e);
    for (int64_t i; (i = next_unit(m, worker, m->n_made * m->t->n_cols)) >= 0; unit_done(m))
        if (make_part(m, i, &w, &e) != ST_OK) step_failed(m, &e);
    if (w.valid) mem_free(m->acct, w.valid, TABLET_ROWS);
    if (w.cells) mem_free(m->acct, w.cells, TABLET_ROWS * 16);
}
static Status make_tablets(Merge *m, Err *e) {
    const int n = m->t->n_cols;
    bool same = true;
    for (int c = 0; c < n; c++) same = same && (!is_coded(m, c) || m->cols[c].same);
    for (int64_t i = 0; i < m->n_made; i++) {
        Made *x = &m->made[i];
        x->kept = x->settled && same;
        x->cols = arena_array(m->arena, EncCol, n + 1);
        x->borrowed = arena_array(m->arena, bool, n + 1);
        atomic_init(&x->left, n);
        if (!x->cols || !x->borrowed) return err_oom(e);
    }
    return run_step(m, make_worker, e);
}

/* ---- 3: the swap ---- */
/* The table's tablets are those of m->made; kept ones are still the old state's. */
static Status put_tablets(Merge *m, const TableState *old, Err *e) {
    Table *t = m->t;
    for (int64_t i = 0; i < m->n_made; i++) {
        Made *x = &m->made[i];
        TRY(table_add_tablet(t, x->kept ? old->tablets[m->spans.items[x->first_span].tablet] : x->tablet, e));
        if (!x->kept) x->tablet = NULL;
        t->live_rows += x->rows;
    }
    return ST_OK;
}
/* A tablet, or a dictionary, that both states have belongs to the table (`old` gives it up) or to `old`. */
static void part_from(const Merge *m, TableState *old, bool old_keeps) {
    Table *t = m->t;
    for (int64_t i = 0; i < MIN_OF(m->n_made, t->n_tablets); i++) {
        if (!m->made[i].kept) continue;
        if (old_keeps) t->tablets[i] = NULL;
        else old->tablets[m->spans.items[m->made[i].first_span].tablet] = NULL;
    }
    for (int c = 0; c < t->n_cols; c++) {
        if (!old->dicts[c] || old->dicts[c] != t->cols[c].dict) continue;
        if (old_keeps) t->cols[c].dict = NULL;
        else old->dicts[c] = NULL;
    }
}
static int64_t settled_tablets(const Merge *m) {
    int64_t n = 0;
    while (n < m->n_made && m->made[n].settled) n++;
    return n;
}
static Status install_new(Merge *m, const TableState *old, Err *e) {
    Table *t = m->t;
    int64_t began = clock_ns();
    TRY(put_tablets(m, old, e));
    for (int k = 0; k < table_indexes(t); k++) TRY(keyindex_add_tablets(t, k, 0, e));
    m->f.index_ns = clock_ns() - began;
    began = clock_ns();
    TRY(stats_merged(t, old->stats, settled_tablets(m), m->o->pool, e));
    m->f.stats_ns = clock_ns() - began;
    return ST_OK;
}
static Status install(Merge *m, Err *e) {
    Table *t = m->t;
    TableState *old;
    TRY(table_state_take(t, &old, e));
    for (int c = 0; c < t->n_cols; c++) {
        t->cols[c].dict = m->cols[c].dict;
        m->cols[c].dict = NULL;
    }
    const Status st = install_new(m, old, e);
    part_from(m, old, st != ST_OK);
    if (st == ST_OK) table_state_free(t, old);
    else table_state_put(t, old);
    return st;
}

/* ---- all of it ---- */
static Merge *merge_new(Table *t, const MergeOptions *o, Err *e) {
    Merge *m = mem_calloc(&t->account, (int64_t)sizeof *m, e);
    if (!m) return NULL;
    m->t = t;
    m->acct = &t->account;
    m->o = o;
    mutex_init(&m->err_mu, RANK_LOAD_ERR);
    m->arena = arena_new(m->acct, e);
    m->cols = mem_calloc(m->acct, MAX_OF(t->n_cols, 1) * (int64_t)sizeof(MergeCol), e);
    return m;
}
static void merge_free(Merge *m) {
    MemAccount *a = m->acct;
    for (int64_t i = 0; i < m->n_made; i++) {
        release_columns(m, &m->made[i]);
        tablet_free(m->made[i].tablet);
    }
    for (int c = 0; m->cols && c < m->t->n_cols; c++) {
        MergeCol *x = &m->cols[c];
        if (x->dict && x->dict != m->t->cols[c].dict) dict_free(x->dict);
        if (x->used) mem_free(a, (void *)x->used, x->n_used);
        dict_maps_free(a, &x->maps);
    }
    if (m->cols) mem_free(a, m->cols, MAX_OF(m->t->n_cols, 1) * (int64_t)sizeof(MergeCol));
    if (m->made) mem_free(a, m->made, m->cap_made * (int64_t)sizeof(Made));
    arena_free(m->arena);
    mutex_destroy(&m->err_mu);
    mem_free(a, m, (int64_t)sizeof *m);
}
static Status run(Merge *m, Err *e) {
    const Table *t = m->t;
    TRY(plan(m, true, e));
    if (m->n_made > 2 * (m->rows / TABLET_ROWS + 1)) TRY(plan(m, false, e));
    const bool marks = may_lack_rows(t);
    atomic_store(&m->units, (m->n_made * (marks ? 2 : 1) + 1) * MAX_OF(t->n_cols, 1));
    if (marks) TRY(mark_entries(m, e));
    TRY(run_step(m, dict_worker, e));
    TRY(make_tablets(m, e));
    look_for_stop(m); /* for the last time */
    if (atomic_load(&m->failed)) return err_copy(e, &m->err), ST_ERROR;
    for (int64_t i = 0; i < m->n_made; i++) *(m->made[i].kept ? &m->f.kept : &m->f.made) += 1;
    return install(m, e);
}

/* A string column without a dictionary might get one: most of its rows have come since its form was decided. */
static bool form_is_open(const Table *t) {
    int64_t packed = 0;
    bool texts = false;
    for (int64_t i = 0; i < t->n_tablets; i++)
        if (!t->tablets[i]->is_delta) packed += t->tablets[i]->rows;
    for (int c = 0; c < t->n_cols; c++) texts |= type_phys(t->cols[c].type) == PH_STR && !t->cols[c].dict;
    return texts && packed < t->live_rows / 4 + 1;
}
static void count_table(const Table *t, int64_t *bytes, int64_t *entries) {
    for (int64_t i = 0; i < t->n_tablets; i++) *bytes += tablet_bytes(t->tablets[i]);
    for (int c = 0; c < t->n_cols; c++) *entries += t->cols[c].dict ? t->cols[c].dict->n : 0;
}
static Status merge_loose(Table *t, const MergeOptions *o, MergeFigures *f, Err *e) {
    if (form_is_open(t)) {
        TRY(load_rebuild(t, o, e));
        f->made = t->n_tablets;
        return ST_OK;
    }
    Merge *m = merge_new(t, o, e);
    if (!m) return ST_ERROR;
    m->f = *f;
    const Status st = m->arena && m->cols ? run(m, e) : ST_ERROR;
    *f = m->f;
    f->delta_ns = atomic_load(&m->delta_ns);
    f->dict_ns = atomic_load(&m->dict_ns);
    f->codes_ns = atomic_load(&m->codes_ns);
    merge_free(m);
    return st;
}
Status table_merge_with(Table *t, const MergeOptions *o, Err *e) {
    MergeFigures f = {0};
    const int64_t began = clock_ns();
    if (t->impl->undo_open)
        return err_set(e, ERR_NOT_IN_STATE, "cannot merge table \"%s\" while a transaction has changed it", t->name);
    if (is_merged(t)) {
        t->impl->changed_rows = t->impl->dead_text = 0;
        if (o->figures) *o->figures = f;
        return ST_OK;
    }
    count_table(t, &f.bytes_in, &f.entries_in);
    TRY(merge_loose(t, o, &f, e));
    count_table(t, &f.bytes_out, &f.entries_out);
#ifdef __GLIBC__
    if (t->live_rows > TRIM_ROWS) malloc_trim(0);
#endif
    table_changed(t);
    f.ns = clock_ns() - began;
    if (o->figures) *o->figures = f;
    return ST_OK;
}
