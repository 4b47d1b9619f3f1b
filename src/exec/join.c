/* join.c - the build side of a hash join: staging, finishing, spilling, reading of build rows. See join.h and
 * join_int.h.
 *
 * Staging. Each worker appends its rows to a row store (keys, payload, the hash unless it can be had from a single
 * integer key, and a mark when matched rows are tracked). Rows with a NULL key that matches nothing are dropped, unless
 * unmatched rows are to be returned. An existence test over a known small range sets bits right away and stages
 * nothing.
 *
 * Finishing copies the rows into one array in the order of the map and releases the pages as it goes; so there must be
 * room for the rows twice. When the headroom no longer allows that, the build becomes partitioned: the worker that
 * notices makes the partitions (under `lock`), and every worker moves its own staged rows at its next call.
 *
 * Partitions are row stores that write themselves to disk. One partition at a time is resident: read back and made into
 * a map like any other build side. Matched flags of partitions that left are kept as bits by the rows' places.
 */
#include <stdio.h>

#include "base/mutex.h"
#include "exec/join_int.h"

/* ---- making and freeing --------------------------------------------------------------- */

static bool is_int(uint8_t phys) { return phys == PH_BOOL || phys == PH_I16 || phys == PH_I32 || phys == PH_I64; }

/* Bits while building: only where the range is known to be small against the rows that are expected. */
static Status try_eager(JoinTable *j, Err *e) {
    const KeySpec *k = &j->spec->keys[0];
    if (!j->exists || !j->single_int || !k->has_range || k->max < k->min) return ST_OK;
    uint64_t dom = (uint64_t)k->max - (uint64_t)k->min + 1;
    double rows = MAX_OF(j->spec->est_rows, 1024.0);
    if (dom == 0 || dom > UINT64_C(1) << 40 || ((double)dom > rows * 256 && dom > 1 << 19)) return ST_OK;
    int64_t bytes = (int64_t)((dom + 1 + 63) / 64) * 8;
    if (bytes > mem_headroom(j->acct) / 4) return ST_OK;
    j->map.words = mem_calloc(j->acct, bytes, e);
    if (!j->map.words) return ST_ERROR;
    j->map.words_bytes = bytes;
    j->map.min = (uint64_t)k->min;
    j->map.dom = dom;
    j->map.form = JF_BITMAP;
    j->map.unique = true;
    j->eager = true;
    return ST_OK;
}

static Status make_layout(JoinTable *j, Err *e) {
    const JoinSpec *s = j->spec;
    int32_t n = j->n_keys + j->n_payload;
    CellSpec *cells = arena_array(j->arena, CellSpec, n + 2);
    if (!cells) return ST_ERROR;
    for (int32_t k = 0; k < j->n_keys; k++) {
        const KeySpec *key = &s->keys[k];
        cells[k] = (CellSpec){.phys = key->phys,
                              .type = key->type,
                              .dict = key->dict,
                              .nullable = key->nullable && (key->null_equal || s->track_matched)};
    }
    for (int32_t i = 0; i < j->n_payload; i++) cells[j->n_keys + i] = s->payload[i];
    j->hash_col = j->mark_col = -1;
    if (!j->single_int || (s->keys[0].null_equal && s->keys[0].nullable)) {
        j->hash_col = n;
        cells[n++] = (CellSpec){.phys = PH_I64, .type = type_make(T_INT8)};
    }
    if (s->track_matched) {
        j->mark_col = n;
        cells[n++] = (CellSpec){.phys = PH_I64, .type = type_make(T_INT8)};
    }
    (void)e;
    return row_layout_init(&j->l, j->arena, n, cells, 0);
}

Status join_new(const JoinSpec *spec, int workers, Pool *pool, int threads, MemAccount *acct, Vfs *vfs,
                const char *temp_dir, JoinTable **out, Err *e) {
    *out = NULL;
    Arena *a = arena_new(acct, e);
    if (!a) return ST_ERROR;
    JoinTable *j = arena_new_of(a, JoinTable);
    if (!j) goto fail;
    if (!mutex_init(&j->lock, RANK_JOIN)) {
        err_oom(e);
        goto fail;
    }
    j->spec = spec;
    j->arena = a;
    mem_account_init(&j->own, acct, acct->name, 0, acct->setting);
    j->acct = &j->own;
    j->vfs = vfs;
    j->pool = pool;
    j->workers = MAX_OF(workers, 1);
    j->threads = pool ? MIN_OF(MAX_OF(threads, 1), pool_threads(pool)) : 1;
    j->resident = -1;
    j->exists = spec->exists_only && !spec->track_matched;
    j->n_keys = spec->n_keys;
    j->n_payload = j->exists ? 0 : spec->n_payload;
    j->single_int = spec->n_keys == 1 && is_int(spec->keys[0].phys);
    for (int32_t k = 0; k < j->n_keys; k++) j->null_equal_any |= spec->keys[k].null_equal;
#if defined(__x86_64__)
    j->v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    j->v4 = j->v3 && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vpopcntdq");
#endif
    j->temp_dir = temp_dir ? arena_strdup(a, temp_dir) : NULL;
    j->w = arena_array(a, JoinWorker, j->workers);
    *out = j;
    if ((temp_dir && !j->temp_dir) || !j->w || make_layout(j, e) != ST_OK) goto fail_join;
    for (int i = 0; i < j->workers; i++) {
        j->w[i].min = INT64_MAX;
        j->w[i].max = INT64_MIN;
        j->w[i].cols = arena_array(a, Vec, j->l.n_cols);
        if (!j->w[i].cols) goto fail_join;
    }
    if (try_eager(j, e) != ST_OK) goto fail_join;
    if (!j->eager) {
        if (rows_new(&j->l, j->workers, j->acct, vfs, temp_dir, &j->staged, e) != ST_OK) goto fail_join;
        rows_set_no_spill(j->staged);
        /* Big pages are backed by huge ones and take few page faults; memory that is limited is used more carefully. */
        if (mem_headroom(acct) > INT64_C(512) << 20) rows_set_page_bytes(j->staged, ROWS_PAGE_MIN, 4 << 20);
    }
    arena_set_err(a, NULL);
    return ST_OK;
fail_join:
    join_free(j);
    *out = NULL;
    return ST_ERROR;
fail:
    arena_free(a);
    return ST_ERROR;
}

static void unpin(JoinTable *j) {
    for (int64_t i = 0; i < j->n_pins; i++) rows_run_close(j->part[j->resident], &j->pins[i]);
    mem_free(j->acct, j->pins, j->cap_pins * (int64_t)sizeof *j->pins);
    j->pins = NULL;
    j->n_pins = j->cap_pins = 0;
}

void join_set_stop(JoinTable *j, const QueryStop *stop) { j->stop = stop; }
void join_free(JoinTable *j) {
    if (!j) return;
    unpin(j);
    join_map_free(j);
    rows_free(j->staged);
    for (int32_t p = 0; p < JOIN_PARTS_MAX; p++) {
        rows_free(j->part[p]);
        mem_free(j->acct, j->matched[p], j->matched_bytes[p]);
    }
    for (int i = 0; j->w && i < j->workers; i++) {
        JoinWorker *w = &j->w[i];
        mem_free(j->acct, w->hash, w->cap * (int64_t)sizeof *w->hash);
        mem_free(j->acct, w->sel, w->cap * (int64_t)sizeof *w->sel);
        mem_free(j->acct, w->null, w->cap);
    }
    mutex_destroy(&j->lock);
    arena_free(j->arena);
}

/* ---- building ------------------------------------------------------------------------------ */

static Status worker_room(JoinTable *j, JoinWorker *w, int64_t n, Err *e) {
    if (n <= w->cap) return ST_OK;
    int64_t cap = MAX_OF(n, 1024);
    uint64_t *hash = mem_alloc(j->acct, cap * (int64_t)sizeof *hash, e);
    int32_t *sel = mem_alloc(j->acct, cap * (int64_t)sizeof *sel, e);
    uint8_t *null = mem_alloc(j->acct, cap, e);
    bool ok = hash && sel && null;
    if (!ok) {
        mem_free(j->acct, hash, cap * (int64_t)sizeof *hash);
        mem_free(j->acct, sel, cap * (int64_t)sizeof *sel);
        mem_free(j->acct, null, cap);
        return ST_ERROR;
    }
    mem_free(j->acct, w->hash, w->cap * (int64_t)sizeof *hash);
    mem_free(j->acct, w->sel, w->cap * (int64_t)sizeof *sel);
    mem_free(j->acct, w->null, w->cap);
    w->hash = hash;
    w->sel = sel;
    w->null = null;
    w->cap = cap;
    return ST_OK;
}

/* w->null[i]: a key is NULL that matches nothing. *any_null: some key is NULL at all. Returns the number of unmatchable
 * rows. */
static int64_t find_nulls(JoinTable *j, JoinWorker *w, int64_t n, const Vec *keys, bool *any_null) {
    int64_t count = 0;
    bool marked = false;
    *any_null = false;
    for (int32_t k = 0; k < j->n_keys; k++) {
        const Vec *v = &keys[k];
        if (!v->valid) continue;
        bool equal = j->spec->keys[k].null_equal;
        if (v->is_const) {
            if (v->valid[0]) continue;
            *any_null = true;
            if (equal) continue;
            memset(w->null, 1, (size_t)n);
            marked = true;
            continue;
        }
        uint8_t all = 1;
        for (int64_t i = 0; i < n; i++) all &= v->valid[i];
        if (all) continue;
        *any_null = true;
        if (equal) continue;
        if (!marked) memset(w->null, 0, (size_t)n);
        marked = true;
        for (int64_t i = 0; i < n; i++) w->null[i] |= !v->valid[i];
    }
    if (!marked) return 0;
    for (int64_t i = 0; i < n; i++) count += w->null[i];
    return count;
}

#define RANGE_LOOP(T)                     \
    {                                     \
        const T *x = v->data;             \
        T lo = x[0], hi = x[0];           \
        for (int64_t i = 0; i < n; i++) { \
            lo = x[i] < lo ? x[i] : lo;   \
            hi = x[i] > hi ? x[i] : hi;   \
        }                                 \
        min = lo;                         \
        max = hi;                         \
        break;                            \
    }

ALWAYS_INLINE void note_range_body(JoinWorker *w, int64_t n, const Vec *v, uint8_t phys) {
    int64_t min = INT64_MAX, max = INT64_MIN;
    if (v->is_const) n = 1;
    if (!v->valid) {
        switch (phys) {
        case PH_BOOL: RANGE_LOOP(uint8_t)
        case PH_I16: RANGE_LOOP(int16_t)
        case PH_I32: RANGE_LOOP(int32_t)
        default: RANGE_LOOP(int64_t)
        }
    } else {
        int64_t size = phys_size((Phys)phys);
        for (int64_t i = 0; i < n; i++) {
            if (!v->valid[i]) continue;
            int64_t x = load_int((const char *)v->data + i * size, phys);
            min = MIN_OF(min, x);
            max = MAX_OF(max, x);
        }
    }
    w->min = MIN_OF(w->min, min);
    w->max = MAX_OF(w->max, max);
}
static NOINLINE void note_range(JoinWorker *w, int64_t n, const Vec *v, uint8_t phys) {
    note_range_body(w, n, v, phys);
}
TARGET_V3 static NOINLINE void note_range_v3(JoinWorker *w, int64_t n, const Vec *v, uint8_t phys) {
    note_range_body(w, n, v, phys);
}

/* Sets bits; neighbours in the same word are combined. False when a key is out of the promised range. */
ALWAYS_INLINE bool set_bits(JoinTable *j, int64_t n, const Vec *v, uint8_t phys) {
    uint64_t *words = j->map.words, min = j->map.min, dom = j->map.dom, cur = 0, acc = 0;
    bool shared = j->workers > 1, null_equal = j->spec->keys[0].null_equal, ok = true;
    const char *p = v->data;
    int64_t size = phys_size((Phys)phys);
    if (v->is_const && n > 1) n = 1;
    for (int64_t i = 0; i <= n; i++) {
        uint64_t at = UINT64_MAX;
        if (i < n) {
            at = (uint64_t)load_int(p + i * size, phys) - min;
            if (v->valid && !v->valid[i]) {
                if (!null_equal) continue;
                at = dom;
            } else if (UNLIKELY(at >= dom)) {
                ok = false;
                continue;
            }
        }
        if (at >> 6 != cur) {
            if (acc) {
                if (!shared) {
                    words[cur] |= acc;
                } else if ((__atomic_load_n(&words[cur], __ATOMIC_RELAXED) & acc) != acc) {
                    __atomic_fetch_or(&words[cur], acc, __ATOMIC_RELAXED);
                }
            }
            if (i == n) break;
            cur = at >> 6;
            acc = 0;
        }
        acc |= UINT64_C(1) << (at & 63);
    }
    return ok;
}

static Status build_eager(JoinTable *j, JoinWorker *w, int64_t n, const Vec *v, Err *e) {
    bool ok;
    switch (j->l.cols[0].phys) {
    case PH_BOOL: ok = set_bits(j, n, v, PH_BOOL); break;
    case PH_I16: ok = set_bits(j, n, v, PH_I16); break;
    case PH_I32: ok = set_bits(j, n, v, PH_I32); break;
    default: ok = set_bits(j, n, v, PH_I64); break;
    }
    if (!ok) return err_internal(e, "join key out of its known range");
    int64_t nulls = 0;
    if (v->valid) {
        if (v->is_const) {
            nulls = v->valid[0] ? 0 : n;
        } else {
            for (int64_t i = 0; i < n; i++) nulls += !v->valid[i];
        }
    }
    if (nulls) w->null_key = true;
    w->n += j->spec->keys[0].null_equal ? n : n - nulls;
    return ST_OK;
}

/* ---- partitions -------------------------------------------------------------------------------- */

static bool has_strings(const JoinTable *j) {
    bool any = false;
    for (int32_t c = 0; c < j->l.n_cols; c++) any |= j->l.cols[c].phys == PH_STR && !j->l.cols[c].stable_str;
    return any;
}

/* Makes the partitions; the first worker that runs short does. */
static Status start_partitions(JoinTable *j, Err *e) {
    Status s = ST_OK;
    mutex_lock(&j->lock);
    if (!atomic_load(&j->partitioned)) {
        /* Each worker fills a page of each partition, and that takes a quarter of the room, so that several are full
         * when memory runs short again: pages get smaller, then partitions fewer, when memory is scarce. */
        int64_t room = MIN_OF(mem_headroom(j->acct), INT64_C(1) << 32) / (has_strings(j) ? 8 : 4);
        int32_t parts = JOIN_PARTS_MAX;
        while (parts > 4 && room / ((int64_t)parts * j->workers) < 4096) parts /= 2;
        int64_t bytes = room / ((int64_t)parts * j->workers);
        bytes = bytes < 1024 ? 1024 : bytes > 65536 ? 65536 : bytes;
        for (int32_t p = 0; s == ST_OK && p < parts; p++) {
            s = rows_new(&j->l, j->workers, j->acct, j->vfs, j->temp_dir, &j->part[p], e);
            if (s == ST_OK) rows_set_page_bytes(j->part[p], bytes, bytes);
        }
        if (s == ST_OK) {
            j->n_parts = parts;
            j->part_page_bytes = bytes * (has_strings(j) ? 2 : 1);
            /* Between a worker's look at the room and its allocation another may take that room: a page of each
             * partition for each worker may therefore go beyond the limit while building. */
            atomic_store(&j->own.reserve, (int64_t)parts * j->part_page_bytes * j->workers);
            atomic_store(&j->partitioned, true);
        } else {
            for (int32_t p = 0; p < parts; p++) {
                rows_free(j->part[p]);
                j->part[p] = NULL;
            }
        }
    }
    mutex_unlock(&j->lock);
    return s;
}

/* Orders the rows sel[0..m) (NULL: all) by partition of w->hash[]: out[] and the ends of the partitions. */
static void split(const JoinTable *j, const uint64_t *hash, const int32_t *sel, int64_t m, int32_t *out, int64_t *end) {
    int64_t count[JOIN_PARTS_MAX] = {0}, at = 0;
    for (int64_t i = 0; i < m; i++) count[join_part_of_hash(j, hash[sel ? sel[i] : i])]++;
    for (int32_t p = 0; p < j->n_parts; p++) {
        end[p] = at;
        at += count[p];
    }
    for (int64_t i = 0; i < m; i++) {
        int32_t row = sel ? sel[i] : (int32_t)i;
        out[end[join_part_of_hash(j, hash[row])]++] = row;
    }
}

static Status spill_worker(JoinTable *j, int worker, Err *e) {
    for (int32_t p = 0; p < j->n_parts; p++) TRY(rows_spill_worker(j->part[p], worker, e));
    return ST_OK;
}

/* A row store makes room from its own pages only. Before n rows go to the partitions, the worker therefore writes its
 * pages of all of them when there may not be a page for each. */
static Status relieve(JoinTable *j, int worker, int64_t n, Err *e) {
    int64_t need = MIN_OF(n, j->n_parts) * j->part_page_bytes * j->workers;
    return mem_headroom(j->acct) < need ? spill_worker(j, worker, e) : ST_OK;
}

enum { MOVE_ROWS = 256 };

/* Moves a worker's staged pages to the partitions. */
static Status move_staged(JoinTable *j, int worker, Err *e) {
    uint64_t hash[MOVE_ROWS];
    int32_t order[MOVE_ROWS];
    int64_t end[JOIN_PARTS_MAX];
    int64_t width = j->l.width;
    int32_t off = j->l.offset[j->hash_col >= 0 ? j->hash_col : 0];
    for (int64_t i = 0; i < rows_worker_pages(j->staged, worker); i++) {
        RowPage *p = rows_worker_page(j->staged, worker, i);
        for (int64_t first = 0; first < p->n; first += MOVE_ROWS) {
            int64_t n = MIN_OF(p->n - first, MOVE_ROWS);
            const char *rows = p->rows + first * width;
            for (int64_t r = 0; r < n; r++) {
                const char *cell = rows + r * width + off;
                hash[r] = j->hash_col >= 0 ? *(const uint64_t *)(const void *)cell
                                           : join_hash_int(load_int(cell, j->l.cols[0].phys));
            }
            split(j, hash, NULL, n, order, end);
            TRY(query_stop_check(j->stop, e));
            TRY(relieve(j, worker, n, e));
            int64_t at = 0;
            for (int32_t k = 0; k < j->n_parts; k++) {
                if (end[k] > at) TRY(rows_append_raw(j->part[k], worker, 0, end[k] - at, rows, order + at, e));
                at = end[k];
            }
        }
        if (p->rows) rows_release_page(j->staged, p, true);
    }
    return ST_OK;
}

static Status build_partitioned(JoinTable *j, JoinWorker *w, int worker, int64_t n, const int32_t *sel, Err *e) {
    TRY(move_staged(j, worker, e));
    int32_t order[1024];
    int64_t end[JOIN_PARTS_MAX];
    for (int64_t first = 0; first < n; first += 1024) {
        int64_t m = MIN_OF(n - first, 1024);
        int32_t part_sel[1024];
        for (int64_t i = 0; i < m; i++) part_sel[i] = sel ? sel[first + i] : (int32_t)(first + i);
        split(j, w->hash, part_sel, m, order, end);
        TRY(relieve(j, worker, m, e));
        int64_t at = 0;
        for (int32_t k = 0; k < j->n_parts; k++) {
            if (end[k] > at) TRY(rows_append_sel(j->part[k], worker, 0, end[k] - at, w->cols, order + at, e));
            at = end[k];
        }
    }
    return ST_OK;
}

/* True when the staged rows of all workers could no longer be made into a map beside `more` bytes of new ones. */
static bool short_of_memory(const JoinTable *j, int64_t more) {
    int64_t room = mem_headroom(j->acct);
    if (room == INT64_MAX) return false;
    int64_t staged = rows_bytes(j->staged);
    return room < staged + staged / 2 + more * 2 + (128 << 10);
}

Status join_build(JoinTable *j, int worker, int64_t n, const Vec *keys, const Vec *payload, Err *e) {
    if (n <= 0) return ST_OK;
    JoinWorker *w = &j->w[worker];
    if (j->eager) return build_eager(j, w, n, &keys[0], e);
    TRY(worker_room(j, w, n, e));
    bool any_null;
    int64_t dead = find_nulls(j, w, n, keys, &any_null), m = n;
    const int32_t *sel = NULL;
    if (any_null) w->null_key = true;
    if (dead && j->mark_col < 0) { /* unmatched rows are not needed: NULL keys are dropped */
        m = 0;
        for (int64_t i = 0; i < n; i++) {
            w->sel[m] = (int32_t)i;
            m += !w->null[i];
        }
        sel = w->sel;
        if (m == 0) return ST_OK;
    } else if (dead) {
        w->orphans += dead;
    }
    bool partitioned = atomic_load_explicit(&j->partitioned, memory_order_acquire);
    if (j->single_int && !partitioned) {
        if (j->v3) {
            note_range_v3(w, n, &keys[0], j->l.cols[0].phys);
        } else {
            note_range(w, n, &keys[0], j->l.cols[0].phys);
        }
    }
    for (int32_t k = 0; k < j->n_keys; k++) w->cols[k] = keys[k];
    for (int32_t k = 0; k < j->n_payload; k++) w->cols[j->n_keys + k] = payload[k];
    if (j->hash_col >= 0) {
        join_hash_keys(j, 0, n, keys, w->hash);
        w->cols[j->hash_col] = (Vec){.data = w->hash, .phys = PH_I64};
    }
    if (j->mark_col >= 0) w->cols[j->mark_col] = (Vec){.data = &j->mark_zero, .phys = PH_I64, .is_const = true};
    w->n += m;
    if (!partitioned && short_of_memory(j, m * j->l.width)) {
        TRY(start_partitions(j, e));
        partitioned = true;
    }
    if (!partitioned) return rows_append_sel(j->staged, worker, 0, m, w->cols, sel, e);
    if (j->hash_col < 0) join_hash_keys(j, 0, n, keys, w->hash);
    return build_partitioned(j, w, worker, m, sel, e);
}

/* ---- finishing ------------------------------------------------------------------------------------ */

static Status finish_staged(JoinTable *j, int64_t n, int64_t orphans, Err *e) {
    int64_t pages = 0, min = INT64_MAX, max = INT64_MIN;
    for (int i = 0; i < j->workers; i++) {
        for (int64_t p = 0; p < rows_worker_pages(j->staged, i); p++)
            pages += (rows_worker_page(j->staged, i, p)->n + JOIN_BLOCK - 1) / JOIN_BLOCK;
        min = MIN_OF(min, j->w[i].min);
        max = MAX_OF(max, j->w[i].max);
    }
    int64_t bytes = MAX_OF(pages, 1) * (int64_t)sizeof(JoinSrc), k = 0;
    JoinSrc *src = mem_alloc(j->acct, bytes, e);
    if (!src) return ST_ERROR;
    for (int i = 0; i < j->workers; i++) {
        for (int64_t p = 0; p < rows_worker_pages(j->staged, i); p++) {
            RowPage *page = rows_worker_page(j->staged, i, p);
            for (int64_t first = 0; first < page->n; first += JOIN_BLOCK) {
                int64_t left = page->n - first;
                src[k++] = (JoinSrc){page->rows + first * j->l.width, MIN_OF(left, (int64_t)JOIN_BLOCK), j->staged,
                                     left <= JOIN_BLOCK ? page : NULL};
            }
        }
    }
    Status s = join_map_build(j, src, k, n, orphans, min, max, e);
    mem_free(j->acct, src, bytes);
    return s;
}

Status join_finish(JoinTable *j, Err *e) {
    int64_t n = 0, orphans = 0;
    atomic_store(&j->own.reserve, 0);
    for (int i = 0; i < j->workers; i++) {
        n += j->w[i].n;
        orphans += j->w[i].orphans;
        j->null_key |= j->w[i].null_key;
        mem_free(j->acct, j->w[i].hash, j->w[i].cap * (int64_t)sizeof *j->w[i].hash);
        mem_free(j->acct, j->w[i].sel, j->w[i].cap * (int64_t)sizeof *j->w[i].sel);
        mem_free(j->acct, j->w[i].null, j->w[i].cap);
        j->w[i].hash = NULL;
        j->w[i].sel = NULL;
        j->w[i].null = NULL;
        j->w[i].cap = 0;
    }
    j->n_rows = n;
    j->finished = true;
    if (j->eager) {
        j->map.null_slot = (j->map.words[j->map.dom >> 6] >> (j->map.dom & 63) & 1) != 0;
        if (n == 0) {
            join_map_free(j);
            j->map.form = JF_EMPTY;
            j->map.unique = true;
        }
        return ST_OK;
    }
    if (!atomic_load(&j->partitioned)) {
        if (n == 0 || mem_headroom(j->acct) >= join_map_need(j, n)) return finish_staged(j, n, orphans, e);
        /* An existence test may come out as a small bitmap. */
        int64_t min = INT64_MAX, max = INT64_MIN;
        for (int i = 0; i < j->workers; i++) {
            min = MIN_OF(min, j->w[i].min);
            max = MAX_OF(max, j->w[i].max);
        }
        if (j->exists && j->single_int && max >= min && ((uint64_t)max - (uint64_t)min) / 8 < (uint64_t)n)
            return finish_staged(j, n, orphans, e);
        TRY(start_partitions(j, e));
    }
    for (int i = 0; i < j->workers; i++) TRY(spill_worker(j, i, e));
    for (int i = 0; i < j->workers; i++) {
        TRY(move_staged(j, i, e));
        TRY(spill_worker(j, i, e));
    }
    rows_free(j->staged);
    j->staged = NULL;
    for (int32_t p = 0; p < j->n_parts; p++) TRY(rows_finish(j->part[p], false, e));
    return join_partition_load(j, 0, e);
}

/* ---- resident partition ------------------------------------------------------------------------------- */

/* Notes the matched rows of the resident partition before it leaves. */
static Status save_matched(JoinTable *j, Err *e) {
    int32_t p = j->resident;
    if (p < 0 || j->mark_col < 0) return ST_OK;
    if (!j->matched[p]) {
        int64_t bytes = MAX_OF((rows_count(j->part[p]) + 63) / 64, 1) * 8;
        j->matched[p] = mem_calloc(j->acct, bytes, e);
        if (!j->matched[p]) return ST_ERROR;
        j->matched_bytes[p] = bytes;
    }
    const char *row = j->map.rows + j->l.offset[j->mark_col];
    for (int64_t i = 0; i < j->map.n_rows; i++, row += j->map.width) {
        uint64_t mark = *(const uint64_t *)(const void *)row;
        if (mark & 1) j->matched[p][mark >> 7] |= UINT64_C(1) << (mark >> 1 & 63);
    }
    return ST_OK;
}

/* Restores marks and finds the range of keys and the unmatchable rows of one block. */
static void prepare_block(JoinTable *j, int32_t part, char *row, int64_t n, int64_t place, int64_t *orphans,
                          int64_t *min, int64_t *max) {
    const uint64_t *matched = j->matched[part];
    uint8_t phys = j->l.cols[0].phys;
    for (int64_t i = 0; i < n; i++, row += j->l.width, place++) {
        if (j->mark_col >= 0) {
            uint64_t on = matched ? matched[place >> 6] >> (place & 63) & 1 : 0;
            *(uint64_t *)(void *)(row + j->l.offset[j->mark_col]) = (uint64_t)place << 1 | on;
        }
        bool null = false, dead = false;
        for (int32_t k = 0; k < j->n_keys; k++) {
            if (j->l.valid_offset[k] < 0 || row[j->l.valid_offset[k]]) continue;
            null = true;
            dead |= !j->spec->keys[k].null_equal;
        }
        *orphans += dead;
        if (!j->single_int || null) continue;
        int64_t key = load_int(row + j->l.offset[0], phys);
        *min = MIN_OF(*min, key);
        *max = MAX_OF(*max, key);
    }
}

static Status load_partition(JoinTable *j, int32_t part, Err *e) {
    TRY(save_matched(j, e));
    if (j->resident >= 0) unpin(j);
    join_map_free(j);
    j->resident = part;
    RowStore *r = j->part[part];
    int64_t runs = rows_n_runs(r), n = 0, orphans = 0, min = INT64_MAX, max = INT64_MIN;
    int64_t bytes = MAX_OF(runs, 1) * (int64_t)sizeof(JoinSrc);
    JoinSrc *src = mem_alloc(j->acct, bytes, e);
    Status s = src ? ST_OK : ST_ERROR;
    if (s == ST_OK) {
        j->pins = mem_calloc(j->acct, MAX_OF(runs, 1) * (int64_t)sizeof *j->pins, e);
        j->cap_pins = MAX_OF(runs, 1);
        if (!j->pins) {
            j->cap_pins = 0;
            s = ST_ERROR;
        }
    }
    for (int64_t i = 0; s == ST_OK && i < runs; i++) {
        RowRun *run = &j->pins[i];
        s = query_stop_check(j->stop, e);
        if (s == ST_OK) s = rows_run_open(r, i, run, e);
        if (s != ST_OK) break;
        j->n_pins = i + 1;
        /* A loaded page is a copy of our own: writing marks into it is fine. */
        char *rows = (char *)(uintptr_t)run->rows;
        src[i] = (JoinSrc){.rows = rows, .n = run->n};
        prepare_block(j, part, rows, run->n, n, &orphans, &min, &max);
        n += run->n;
    }
    if (s == ST_OK) s = join_map_build(j, src, runs, n, orphans, min, max, e);
    mem_free(j->acct, src, bytes);
    if (s != ST_OK) {
        unpin(j);
        j->resident = -1;
        return s;
    }
    if (!has_strings(j)) unpin(j);
    return ST_OK;
}

/* A partition has to be in memory, whatever others have taken since it was planned to fit: beyond the limit, if need
 * be. */
Status join_partition_load(JoinTable *j, int32_t part, Err *e) {
    enum { PARTITION_RESERVE = 64 << 20 };
    if (part == j->resident) return ST_OK;
    atomic_store(&j->own.reserve, PARTITION_RESERVE);
    Status s = load_partition(j, part, e);
    atomic_store(&j->own.reserve, 0);
    return s;
}

bool join_is_partitioned(const JoinTable *j) {
    return atomic_load_explicit(&((JoinTable *)(uintptr_t)j)->partitioned, memory_order_relaxed);
}
int32_t join_n_partitions(const JoinTable *j) { return j->n_parts; }
bool join_partition_resident(const JoinTable *j, int32_t part) { return part == j->resident; }

void join_partition_of(const JoinTable *j, int64_t n, const Vec *keys, int32_t *part) {
    uint64_t hash[256];
    for (int64_t first = 0; first < n; first += 256) {
        int64_t m = MIN_OF(n - first, 256);
        join_hash_keys(j, first, m, keys, hash);
        for (int64_t i = 0; i < m; i++) part[first + i] = join_part_of_hash(j, hash[i]);
    }
    for (int32_t k = 0; k < j->n_keys; k++) {
        const Vec *v = &keys[k];
        if (!v->valid || j->spec->keys[k].null_equal) continue;
        for (int64_t i = 0; i < n; i++)
            if (!v->valid[v->is_const ? 0 : i]) part[i] = -1;
    }
}

/* ---- reading build rows ------------------------------------------------------------------------------------ */

int64_t join_rows(const JoinTable *j) { return j->n_rows; }
bool join_is_unique(const JoinTable *j) { return j->map.unique && !join_is_partitioned(j); }
bool join_has_null_key(const JoinTable *j) { return j->null_key; }

/* size constant: single moves */
ALWAYS_INLINE void load_loop(char *dst, const int64_t *rows, int64_t offset, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + (size_t)i * size, (const char *)(intptr_t)(rows[i] + offset), size);
}
static NOINLINE void load_some(char *dst, uint8_t *valid, const int64_t *rows, int64_t offset, int64_t valid_offset,
                               int64_t n, int64_t size) {
    for (int64_t i = 0; i < n; i++) {
        const char *row = (const char *)(intptr_t)rows[i];
        bool ok = rows[i] >= 0 && (valid_offset < 0 || row[valid_offset]);
        valid[i] = ok;
        if (ok) {
            memcpy(dst + i * size, row + offset, (size_t)size);
        } else {
            memset(dst + i * size, 0, (size_t)size);
        }
    }
}

void join_load(const JoinTable *j, int32_t imm, int64_t n, const int64_t *rows, Vec *out) {
    int32_t col = imm < j->spec->n_payload ? j->n_keys + imm : imm - j->spec->n_payload;
    int64_t offset = j->l.offset[col], vo = j->l.valid_offset[col];
    int64_t size = phys_size((Phys)j->l.cols[col].phys), sign = 0;
    char *dst = out->data;
    out->is_const = false;
    for (int64_t i = 0; i < n; i++) sign |= rows[i];
    if (sign < 0) {
        load_some(dst, out->valid, rows, offset, vo, n, size);
        return;
    }
    switch (size) {
    case 1: load_loop(dst, rows, offset, n, 1); break;
    case 2: load_loop(dst, rows, offset, n, 2); break;
    case 4: load_loop(dst, rows, offset, n, 4); break;
    case 8: load_loop(dst, rows, offset, n, 8); break;
    default: load_loop(dst, rows, offset, n, 16); break;
    }
    if (vo < 0) {
        out->valid = NULL;
        return;
    }
    uint8_t all = 1;
    for (int64_t i = 0; i < n; i++) all &= out->valid[i] = *(const uint8_t *)(intptr_t)(rows[i] + vo);
    if (all) out->valid = NULL;
}

void join_mark_matched(JoinTable *j, int64_t n, const int64_t *rows) {
    if (j->mark_col < 0) return;
    int64_t offset = j->l.offset[j->mark_col];
    for (int64_t i = 0; i < n; i++) {
        if (rows[i] < 0) continue;
        uint64_t *mark = (uint64_t *)(intptr_t)(rows[i] + offset);
        /* All threads that write it write the same value. */
        uint64_t v = __atomic_load_n(mark, __ATOMIC_RELAXED);
        if (!(v & 1)) __atomic_store_n(mark, v | 1, __ATOMIC_RELAXED);
    }
}

int64_t join_n_morsels(const JoinTable *j) { return (j->map.n_rows + JOIN_MORSEL - 1) / JOIN_MORSEL; }

int64_t join_morsel_rows(const JoinTable *j, int64_t morsel, bool matched, int64_t *cursor, int64_t cap,
                         int64_t *rows) {
    const JoinMap *m = &j->map;
    int64_t first = morsel * JOIN_MORSEL, end = MIN_OF(first + JOIN_MORSEL, m->n_rows), out = 0, i = first + *cursor;
    int64_t offset = j->mark_col >= 0 ? j->l.offset[j->mark_col] : 0;
    for (; i < end && out < cap; i++) {
        const char *row = m->rows + i * m->width;
        bool on = j->mark_col >= 0 && (*(const uint64_t *)(const void *)(row + offset) & 1);
        rows[out] = (int64_t)(intptr_t)row;
        out += on == matched;
    }
    *cursor = i - first;
    return out;
}

/* "1500000" as "1,500,000". */
static const char *grouped(int64_t v, char *buf, size_t size) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v), at = 0;
    for (int i = 0; i < n && at + 2 < (int)size; i++) {
        if (i && (n - i) % 3 == 0) buf[at++] = ',';
        buf[at++] = digits[i];
    }
    buf[at] = 0;
    return buf;
}

char *join_text(const JoinTable *j, Arena *a) {
    static const char *const names[] = {"empty", "bitmap",      "array", "dense index",
                                        "array", "dense index", "hash",  "hash"};
    const JoinMap *m = &j->map;
    char rows[40], size[40];
    int64_t bytes = m->words_bytes + m->starts_bytes + m->dir_bytes + m->rows_bytes;
    if (bytes < 10 << 20) {
        snprintf(size, sizeof size, "%lld KiB", (long long)((bytes + 1023) / 1024));
    } else {
        snprintf(size, sizeof size, "%lld MiB", (long long)((bytes + (1 << 19)) >> 20));
    }
    grouped(j->n_rows, rows, sizeof rows);
    if (join_is_partitioned(j)) {
        int64_t disk = 0;
        for (int32_t p = 0; p < j->n_parts; p++) disk += rows_spilled_bytes(j->part[p]);
        return arena_printf(a, "hash, %s rows in %d partitions on disk (%lld MiB)", rows, (int)j->n_parts,
                            (long long)((disk + (1 << 20) - 1) >> 20));
    }
    return arena_printf(a, "%s, %s rows%s, %s", names[m->form], rows,
                        m->unique && !j->exists && m->form != JF_EMPTY ? ", unique" : "", size);
}
