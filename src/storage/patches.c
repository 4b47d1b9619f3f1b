/* patches.c - see patches.h. */
#include "storage/patches.h"

#include "storage/storage_int.h"

static_assert(PATCH_RUNS * PATCH_SPAN == TABLET_ROWS, "runs of a tablet");

static _Atomic uint64_t last_state;
static uint64_t next_state(void) { return atomic_fetch_add_explicit(&last_state, 1, memory_order_relaxed) + 1; }

/* ---- runs ---- */
static int64_t run_bytes(int64_t cap, int64_t cell_size) {
    return (int64_t)sizeof(PatchRun) + cap * (cell_size + (int64_t)sizeof(uint16_t));
}
/* A copy of `from` (NULL: empty) with room for `cap` entries. */
static PatchRun *run_new(const Patches *p, const PatchRun *from, int64_t cap, Err *e) {
    cap = align_up(cap, 4); /* offsets are aligned behind cells of one byte, too */
    PatchRun *r = mem_alloc_raw(p->acct, run_bytes(cap, p->cell_size), e);
    if (!r) return NULL;
    atomic_init(&r->refs, 1);
    r->n = from ? from->n : 0;
    r->cap = (int32_t)cap;
    r->cells = (char *)(r + 1);
    r->offsets = (uint16_t *)(void *)(r->cells + cap * p->cell_size);
    if (r->n > 0) {
        memcpy(r->cells, from->cells, (size_t)(r->n * p->cell_size));
        memcpy(r->offsets, from->offsets, (size_t)r->n * sizeof *r->offsets);
    }
    return r;
}
static void run_drop(const Patches *p, PatchRun *r) {
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1)
        mem_free(p->acct, r, run_bytes(r->cap, p->cell_size));
}
static bool is_shared(const _Atomic int64_t *refs) { return atomic_load_explicit(refs, memory_order_acquire) > 1; }

/* ---- as a whole ---- */
Patches *patches_new(MemAccount *acct, int64_t cell_size, Err *e) {
    Patches *p = mem_calloc(acct, (int64_t)sizeof *p, e);
    if (!p) return NULL;
    atomic_init(&p->refs, 1);
    p->acct = acct;
    p->cell_size = cell_size;
    p->state = next_state();
    return p;
}
void patches_drop(Patches *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1) return;
    for (int i = 0; i < PATCH_RUNS; i++) run_drop(p, p->runs[i]);
    mem_free(p->acct, p, (int64_t)sizeof *p);
}
int64_t patches_bytes(const Patches *p) {
    int64_t bytes = (int64_t)sizeof *p;
    for (int i = 0; i < PATCH_RUNS; i++)
        if (p->runs[i]) bytes += run_bytes(p->runs[i]->cap, p->cell_size);
    return bytes;
}
/* Equal ones. copy_own: with copies of the runs that are not shared, which stay p's alone. */
static Status copy_patches(const Patches *p, bool copy_own, Patches **out, Err *e) {
    Patches *x = patches_new(p->acct, p->cell_size, e);
    if (!x) return ST_ERROR;
    x->n = p->n;
    x->state = p->state;
    x->has_minmax = p->has_minmax;
    x->min = p->min;
    x->max = p->max;
    for (int i = 0; i < PATCH_RUNS; i++) {
        PatchRun *r = p->runs[i];
        if (!r) continue;
        if (copy_own && !is_shared(&r->refs)) {
            if ((x->runs[i] = run_new(x, r, r->n, e))) continue;
            patches_drop(x);
            return ST_ERROR;
        }
        atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
        x->runs[i] = r;
    }
    *out = x;
    return ST_OK;
}
Status patches_publish(Patches *p, bool writable, Patches **out, Err *e) {
    /* What logs have cells of was changed since it was last shared, here or in a version's copy. */
    if (writable) return copy_patches(p, true, out, e);
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    *out = p;
    return ST_OK;
}

/* ---- changes ---- */
/* The run of the row is not shared any more, and has room for one more entry. */
static Status own_run(Patches *p, int64_t span, Err *e) {
    enum { FIRST = 4 };
    PatchRun *r = p->runs[span];
    int64_t cap = r ? r->cap : 0;
    if (!r || r->n == cap) cap = MIN_OF(MAX_OF(2 * cap, (int64_t)FIRST), (int64_t)PATCH_SPAN);
    if (r && cap == r->cap && !is_shared(&r->refs)) return ST_OK;
    PatchRun *own = run_new(p, r, cap, e);
    if (!own) return ST_ERROR;
    run_drop(p, r);
    p->runs[span] = own;
    return ST_OK;
}
Status patches_put(Patches **patches, int64_t row, const void *now, void **cell, Err *e) {
    int64_t span = row >> PATCH_SPAN_BITS, offset = row & (PATCH_SPAN - 1);
    if (is_shared(&(*patches)->refs)) {
        Patches *own;
        TRY(copy_patches(*patches, false, &own, e));
        patches_drop(*patches);
        *patches = own;
    }
    Patches *p = *patches;
    TRY(own_run(p, span, e));
    PatchRun *r = p->runs[span];
    int32_t at = patch_run_find(r, offset), behind = r->n - at;
    char *c = r->cells + at * p->cell_size;
    if (behind == 0 || r->offsets[at] != offset) {
        if (behind > 0) {
            memmove(c + p->cell_size, c, (size_t)(behind * p->cell_size));
            memmove(&r->offsets[at + 1], &r->offsets[at], (size_t)behind * sizeof *r->offsets);
        }
        memcpy(c, now, (size_t)p->cell_size);
        r->offsets[at] = (uint16_t)offset;
        r->n++;
        p->n++;
    }
    p->state = next_state();
    *cell = c;
    return ST_OK;
}

/* ---- many rows at once ---- */
enum { SPAN_WORDS = PATCH_SPAN / 64 };
void row_bits_clear(RowBits *b) {
    for (uint64_t left = b->spans; left; left &= left - 1)
        memset(b->rows + __builtin_ctzll(left) * SPAN_WORDS, 0, SPAN_WORDS * sizeof *b->rows);
    b->spans = 0;
}
/* The bits of a span's rows; how many there are. */
static int64_t span_bits(const PatchRows *r, int64_t span, uint64_t bits[SPAN_WORDS]) {
    const int64_t first = span << PATCH_SPAN_BITS;
    int64_t n = 0;
    if (!(r->set->spans >> span & 1)) return 0;
    for (int64_t w = 0; w < SPAN_WORDS; w++) {
        const int64_t left = r->rows - first - 64 * w;
        bits[w] = left > 0 ? r->set->rows[first / 64 + w] : 0;
        if (left > 0 && left < 64) bits[w] &= (UINT64_C(1) << left) - 1;
        if (bits[w]) n += __builtin_popcountll(bits[w]);
    }
    return n;
}
/* Of n rows with bits, those that are not in the run (NULL: none is). */
static int64_t fresh_rows(const PatchRun *run, int64_t n, const uint64_t *bits) {
    for (int32_t i = 0; run && i < run->n; i++) n -= bits[run->offsets[i] >> 6] >> (run->offsets[i] & 63) & 1;
    return n;
}
int64_t patches_count_rows(const Patches *p, const PatchRows *r, int64_t *fresh) {
    uint64_t bits[SPAN_WORDS];
    int64_t all = 0;
    *fresh = 0;
    for (int64_t s = 0; s << PATCH_SPAN_BITS < r->rows; s++) {
        const int64_t n = span_bits(r, s, bits);
        all += n;
        if (n > 0) *fresh += fresh_rows(p ? p->runs[s] : NULL, n, bits);
    }
    return all;
}
/* What is constant where this is called gives a loop of its own. */
ALWAYS_INLINE void copy_entry(int64_t size, PatchRun *to, int64_t at, int64_t offset, const char *cell) {
    to->offsets[at] = (uint16_t)offset;
    memcpy(to->cells + at * size, cell, (size_t)size);
}
ALWAYS_INLINE int32_t merge_cells(int64_t size, const PatchRun *from, const uint64_t *bits, const char *cells,
                                  int64_t stride, PatchRun *to) {
    const int32_t n_from = from ? from->n : 0;
    int32_t k = 0, n = 0;
    for (int64_t w = 0; w < SPAN_WORDS; w++)
        for (uint64_t left = bits[w]; left; left &= left - 1, n++) {
            const int64_t offset = 64 * w + __builtin_ctzll(left);
            for (; k < n_from && from->offsets[k] < offset; k++, n++)
                copy_entry(size, to, n, from->offsets[k], from->cells + k * size);
            k += k < n_from && from->offsets[k] == offset;
            copy_entry(size, to, n, offset, cells + offset * stride);
        }
    for (; k < n_from; k++, n++) copy_entry(size, to, n, from->offsets[k], from->cells + k * size);
    return n;
}
/* The run `to` gets, in order, the entries of `from` (NULL: none) whose rows have no bit, and the rows that have one:
 * of cells from `cells` on. */
static void merge_run(int64_t size, const PatchRun *from, const uint64_t *bits, const char *cells, int64_t stride,
                      PatchRun *to) {
    switch (size) {
    case 1: to->n = merge_cells(1, from, bits, cells, stride, to); break;
    case 2: to->n = merge_cells(2, from, bits, cells, stride, to); break;
    case 4: to->n = merge_cells(4, from, bits, cells, stride, to); break;
    case 8: to->n = merge_cells(8, from, bits, cells, stride, to); break;
    default: to->n = merge_cells(16, from, bits, cells, stride, to);
    }
}
Status patches_with_rows(const Patches *p, const PatchRows *r, Patches **out, Err *e) {
    uint64_t bits[SPAN_WORDS];
    Patches *x;
    TRY(copy_patches(p, false, &x, e));
    x->state = next_state();
    for (int64_t s = 0; s << PATCH_SPAN_BITS < r->rows; s++) {
        const PatchRun *from = p->runs[s];
        const int64_t n = span_bits(r, s, bits), fresh = n > 0 ? fresh_rows(from, n, bits) : 0;
        if (n == 0) continue;
        PatchRun *run = run_new(x, NULL, (from ? from->n : 0) + fresh, e);
        if (!run) {
            patches_drop(x);
            return ST_ERROR;
        }
        merge_run(x->cell_size, from, bits, r->cells + (s << PATCH_SPAN_BITS) * r->stride, r->stride, run);
        run_drop(x, x->runs[s]);
        x->runs[s] = run;
        x->n += fresh;
    }
    *out = x;
    return ST_OK;
}

void *patches_own_cell(Patches *p, int64_t row) {
    const PatchRun *r = p->runs[row >> PATCH_SPAN_BITS];
    int64_t offset = row & (PATCH_SPAN - 1);
    dbg_assert(r && !is_shared(&p->refs) && !is_shared(&r->refs));
    int32_t at = patch_run_find(r, offset);
    dbg_assert(at < r->n && r->offsets[at] == offset);
    p->state = next_state();
    return r->cells + at * p->cell_size;
}

/* ---- reading ---- */
static const void *next_of_range(PatchScan *s, int64_t *i) {
    while (s->i < s->n) {
        int64_t row = s->first + s->i, span = row & ~(int64_t)(PATCH_SPAN - 1);
        const PatchRun *r = s->p->runs[row >> PATCH_SPAN_BITS];
        if (r && r != s->run) s->at = patch_run_find(r, row - span);
        s->run = r;
        if (r && s->at < r->n) {
            int64_t at = span + r->offsets[s->at] - s->first;
            s->i = at + 1;
            if (at >= s->n) return NULL;
            *i = at;
            return patch_cell(s->p, r, s->at++);
        }
        s->i = span + PATCH_SPAN - s->first;
    }
    return NULL;
}
static const void *next_of_list(PatchScan *s, int64_t *i) {
    for (; s->i < s->n; s->i++) {
        int64_t row = s->pos[s->i], offset = row & (PATCH_SPAN - 1);
        const PatchRun *r = s->p->runs[row >> PATCH_SPAN_BITS];
        if (!r) continue;
        if (r != s->run || (s->at > 0 && r->offsets[s->at - 1] >= offset)) s->at = patch_run_find(r, offset);
        while (s->at < r->n && r->offsets[s->at] < offset) s->at++;
        s->run = r;
        if (s->at == r->n || r->offsets[s->at] != offset) continue;
        *i = s->i++;
        return patch_cell(s->p, r, s->at);
    }
    return NULL;
}
/* The first of pos[i..n) that is not below `row`; they ascend. */
static int64_t skip_below(const int32_t *pos, int64_t i, int64_t n, int64_t row) {
    while (i < n && pos[i] < row) i++;
    return i;
}
/* Of ascending rows: from patch to patch, not from row to row. */
static const void *next_ascending(PatchScan *s, int64_t *i) {
    while (s->i < s->n) {
        const int64_t row = s->pos[s->i], span = row & ~(int64_t)(PATCH_SPAN - 1);
        const PatchRun *r = s->p->runs[row >> PATCH_SPAN_BITS];
        if (r && r != s->run) s->at = patch_run_find(r, row - span);
        s->run = r;
        while (r && s->at < r->n && span + r->offsets[s->at] < row) s->at++;
        const int64_t next = r && s->at < r->n ? span + r->offsets[s->at] : span + PATCH_SPAN;
        s->i = skip_below(s->pos, s->i, s->n, next);
        if (s->i == s->n || s->pos[s->i] != next || next == span + PATCH_SPAN) continue;
        *i = s->i++;
        return patch_cell(s->p, r, s->at); /* the next row may be the same one */
    }
    return NULL;
}
static bool ascends(const int32_t *pos, int64_t n) {
    int32_t back = 0;
    for (int64_t i = 1; i < n; i++) back |= pos[i] < pos[i - 1];
    return back == 0;
}
const void *patch_scan_next(PatchScan *s, int64_t *i) {
    if (!s->pos) return next_of_range(s, i);
    if (s->order == PATCH_ORDER_UNKNOWN) s->order = ascends(s->pos, s->n) ? PATCH_ASCENDING : PATCH_ANY_ORDER;
    return s->order == PATCH_ASCENDING ? next_ascending(s, i) : next_of_list(s, i);
}

bool patches_verify(const Patches *p, int64_t rows) {
    int64_t n = 0;
    bool ok = atomic_load(&p->refs) >= 1;
    for (int i = 0; i < PATCH_RUNS; i++) {
        const PatchRun *r = p->runs[i];
        if (!r) continue;
        ok = ok && atomic_load(&r->refs) >= 1 && r->n <= r->cap;
        for (int32_t k = 0; ok && k < r->n; k++)
            ok = (k == 0 || r->offsets[k - 1] < r->offsets[k]) && i * (int64_t)PATCH_SPAN + r->offsets[k] < rows;
        n += r->n;
    }
    return ok && n == p->n;
}
