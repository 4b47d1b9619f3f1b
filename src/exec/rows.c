/* rows.c - the row store: see rows.h and rows_int.h.
 *
 * Appending is column by column: one typed, strided loop per column over the rows that fit the current page. The room
 * for strings of those rows is reserved first, so that nothing can fail half way through a row.
 *
 * Memory. Pages double from ROWS_PAGE_MIN to ROWS_PAGE_BYTES: a result of one row is small, and blocks below
 * 1 MiB are reused by malloc without page faults. When the account's headroom falls below a reserve
 * (an eighth of what there was at the start: other operators need some, too), a worker writes its
 * own full pages to the store's temporary file. When memory is refused altogether, it writes its current page
 * and fills the same block again. Only the very first block of a worker can therefore fail.
 *
 * Thread rules: rows_append by one thread per worker number; the file is created under `lock` and its space handed out
 * atomically. Reading (rows_run_open) takes `lock` for spilled pages only; one unpinned page stays loaded,
 * because short runs of the same page tend to follow each other. rows_cell is for one thread.
 */
#include "base/mutex.h"
#include "exec/rows_int.h"

#include <stdlib.h>

#include "base/vfs.h"

typedef struct RunRec {
    int64_t order;
    RowPage *page;
    int64_t first, n;
    int64_t seq; /* worker and place in it: ties of `order` keep the order of arrival */
} RunRec;

typedef struct RowWorker {
    RowPage **pages;
    int64_t n_pages, cap_pages;
    RunRec *runs;
    int64_t n_runs, cap_runs;
    int64_t next_bytes;      /* size of the next page */
    int64_t first_unspilled; /* pages before it are on disk */
    char pad[64];
} RowWorker;

/* A page that is read back has to be in memory whatever others have taken: beyond the limit, this much for each of two
 * pages per worker. */
enum { LOAD_RESERVE = 512 << 10 };

struct RowStore {
    MemAccount loading; /* of pages read back */
    RowLayout l;
    Arena *arena;
    MemAccount *acct;
    Vfs *vfs;
    const char *temp_dir;
    RowWorker *w;
    int workers;
    int64_t max_page_bytes, first_page_bytes, reserve;
    int64_t most; /* bytes in memory; 0: as many as there are */
    bool no_spill, has_heap, finished;
    int32_t n_heap_cols;
    int32_t *heap_cols; /* PH_STR columns whose bytes are copied */
    _Atomic int64_t bytes, file_end;
    VfsFile *file;
    Mutex lock;
    /* after rows_finish */
    RunRec *runs;
    int64_t n_runs, cap_runs;
    int64_t *start; /* row number of each run, n_runs + 1 */
    int64_t count;
    RowPage *idle; /* loaded, not pinned */
    RowRun cell_run;
    int64_t cell_index; /* run of cell_run, -1 */
};

/* ---- layout ------------------------------------------------------------------ */

static int32_t cell_size(uint8_t phys) { return (int32_t)phys_size((Phys)phys); }
static int32_t cell_align(uint8_t phys) { return phys == PH_I128 ? 16 : MIN_OF(cell_size(phys), 8); }

Status row_layout_init(RowLayout *l, Arena *a, int32_t n_cols, const CellSpec *cols, int32_t header) {
    *l = (RowLayout){.n_cols = n_cols};
    CellSpec *copy = arena_array(a, CellSpec, n_cols ? n_cols : 1);
    l->offset = arena_array(a, int32_t, n_cols ? n_cols : 1);
    l->valid_offset = arena_array(a, int32_t, n_cols ? n_cols : 1);
    if (!copy || !l->offset || !l->valid_offset) return ST_ERROR;
    if (n_cols) memcpy(copy, cols, sizeof *cols * (size_t)n_cols);
    l->cols = copy;
    /* Widest alignment first, so that no padding is needed between cells. */
    int64_t at = header;
    int32_t align = 8;
    for (int32_t want = 16; want >= 1; want /= 2) {
        for (int32_t i = 0; i < n_cols; i++) {
            if (cell_align(cols[i].phys) != want) continue;
            if (want > align) align = want;
            at = align_up(at, want);
            l->offset[i] = (int32_t)at;
            at += cell_size(cols[i].phys);
        }
    }
    for (int32_t i = 0; i < n_cols; i++) l->valid_offset[i] = cols[i].nullable ? (int32_t)at++ : -1;
    at = align_up(at, align);
    if (at == 0) at = 8;
    l->width = (int32_t)at;
    return ST_OK;
}

/* ---- making and freeing -------------------------------------------------------- */

Status rows_new(const RowLayout *layout, int workers, MemAccount *acct, Vfs *vfs, const char *temp_dir, RowStore **out,
                Err *e) {
    *out = NULL;
    Arena *a = arena_new(acct, e);
    if (!a) return ST_ERROR;
    RowStore *r = arena_new_of(a, RowStore);
    if (!r) goto fail;
    r->arena = a;
    r->acct = acct;
    r->vfs = vfs;
    r->workers = workers < 1 ? 1 : workers;
    int32_t n = layout->n_cols;
    r->l = *layout;
    CellSpec *cols = arena_array(a, CellSpec, n ? n : 1);
    r->l.offset = arena_array(a, int32_t, n ? n : 1);
    r->l.valid_offset = arena_array(a, int32_t, n ? n : 1);
    r->heap_cols = arena_array(a, int32_t, n ? n : 1);
    r->w = arena_array(a, RowWorker, r->workers);
    r->temp_dir = temp_dir ? arena_strdup(a, temp_dir) : NULL;
    if (!cols || !r->l.offset || !r->l.valid_offset || !r->heap_cols || !r->w || (temp_dir && !r->temp_dir)) goto fail;
    if (n) {
        memcpy(cols, layout->cols, sizeof *cols * (size_t)n);
        memcpy(r->l.offset, layout->offset, sizeof(int32_t) * (size_t)n);
        memcpy(r->l.valid_offset, layout->valid_offset, sizeof(int32_t) * (size_t)n);
    }
    r->l.cols = cols;
    for (int32_t i = 0; i < n; i++)
        if (cols[i].phys == PH_STR && !cols[i].stable_str) r->heap_cols[r->n_heap_cols++] = i;
    r->has_heap = r->n_heap_cols > 0;
    int64_t room = mem_headroom(acct);
    r->reserve = room == INT64_MAX ? 0 : room / 8;
    mem_account_init(&r->loading, acct, "rows", 0, NULL);
    atomic_store(&r->loading.reserve, (int64_t)(r->workers + 1) * 2 * LOAD_RESERVE);
    rows_set_page_bytes(r, ROWS_PAGE_MIN, ROWS_PAGE_BYTES);
    r->cell_index = -1;
    if (!mutex_init(&r->lock, RANK_ROWS)) {
        err_oom(e);
        goto fail;
    }
    arena_set_err(a, NULL); /* nothing is taken from it later */
    *out = r;
    return ST_OK;
fail:
    arena_free(a);
    return ST_ERROR;
}

void rows_set_page_bytes(RowStore *r, int64_t first_bytes, int64_t max_bytes) {
    r->first_page_bytes = first_bytes;
    r->max_page_bytes = max_bytes;
    for (int i = 0; i < r->workers; i++) r->w[i].next_bytes = first_bytes;
}
void rows_set_most(RowStore *r, int64_t bytes) { r->most = bytes; }
void rows_set_no_spill(RowStore *r) { r->no_spill = true; }

static void *store_alloc(RowStore *r, int64_t bytes, Err *e) {
    void *p = mem_alloc(r->acct, bytes, e);
    if (p) atomic_fetch_add_explicit(&r->bytes, bytes, memory_order_relaxed);
    return p;
}
static void store_free(RowStore *r, void *p, int64_t bytes) {
    if (!p) return;
    mem_free(r->acct, p, bytes);
    atomic_fetch_sub_explicit(&r->bytes, bytes, memory_order_relaxed);
}

static int64_t page_bytes(const RowStore *r, const RowPage *p) { return p->cap * r->l.width; }

static void free_heap(RowStore *r, HeapChunk *h) {
    while (h) {
        HeapChunk *next = h->next;
        store_free(r, h, h->cap + (int64_t)sizeof *h);
        h = next;
    }
}

static void free_loaded(RowStore *r, RowPage *p) {
    store_free(r, p->loaded, MAX_OF(p->n * r->l.width + p->heap_bytes, 1));
    p->loaded = NULL;
}

void rows_free(RowStore *r) {
    if (!r) return;
    for (int w = 0; w < r->workers; w++) {
        RowWorker *k = &r->w[w];
        for (int64_t i = 0; i < k->n_pages; i++) {
            RowPage *p = k->pages[i];
            store_free(r, p->rows, page_bytes(r, p));
            free_heap(r, p->heap);
            if (p->loaded) free_loaded(r, p);
            mem_free(r->acct, p, (int64_t)sizeof *p);
        }
        mem_free(r->acct, k->pages, k->cap_pages * (int64_t)sizeof *k->pages);
        mem_free(r->acct, k->runs, k->cap_runs * (int64_t)sizeof *k->runs);
    }
    mem_free(r->acct, r->runs, r->cap_runs * (int64_t)sizeof *r->runs);
    mem_free(r->acct, r->start, (r->cap_runs + 1) * (int64_t)sizeof *r->start);
    if (r->file) r->vfs->close(r->file, NULL);
    mutex_destroy(&r->lock);
    arena_free(r->arena);
}

const RowLayout *rows_layout(const RowStore *r) { return &r->l; }
int64_t rows_bytes(const RowStore *r) { return atomic_load_explicit(&r->bytes, memory_order_relaxed); }
int64_t rows_spilled_bytes(const RowStore *r) { return atomic_load_explicit(&r->file_end, memory_order_relaxed); }
int64_t rows_worker_pages(const RowStore *r, int worker) { return r->w[worker].n_pages; }
RowPage *rows_worker_page(const RowStore *r, int worker, int64_t i) { return r->w[worker].pages[i]; }

void rows_release_page(RowStore *r, RowPage *p, bool heap) {
    store_free(r, p->rows, page_bytes(r, p));
    p->rows = NULL;
    p->n = p->cap = 0;
    if (heap) {
        free_heap(r, p->heap);
        p->heap = NULL;
    }
}

/* ---- spilling ---------------------------------------------------------------------- */

static Status open_file(RowStore *r, Err *e) {
    mutex_lock(&r->lock);
    Status s = r->file ? ST_OK : vfs_open_temp(r->vfs, r->temp_dir, &r->file, e);
    mutex_unlock(&r->lock);
    return s;
}

/* Offset of a heap address in the page's heap as it is written. */
static int64_t heap_offset(const RowPage *p, const char *ptr) {
    int64_t at = 0;
    for (const HeapChunk *h = p->heap; h; h = h->next) {
        if ((uintptr_t)ptr >= (uintptr_t)h->data && (uintptr_t)ptr < (uintptr_t)h->data + (uintptr_t)h->used)
            return at + (ptr - h->data);
        at += h->used;
    }
    return 0;
}

/* Writes a page; its blocks stay allocated. */
static Status write_page(RowStore *r, RowPage *p, Err *e) {
    TRY(open_file(r, e));
    int64_t heap = 0;
    for (HeapChunk *h = p->heap; h; h = h->next) heap += h->used;
    int64_t width = r->l.width, rows = p->n * width;
    for (int32_t c = 0; c < r->n_heap_cols; c++) {
        char *cell = p->rows + r->l.offset[r->heap_cols[c]];
        for (int64_t i = 0; i < p->n; i++, cell += width) {
            Str s;
            memcpy(&s, cell, sizeof s);
            s.ptr = (const char *)(intptr_t)(s.len ? heap_offset(p, s.ptr) : 0);
            memcpy(cell, &s, sizeof s);
        }
    }
    int64_t at = atomic_fetch_add(&r->file_end, rows + heap);
    p->file_offset = at;
    p->heap_bytes = heap;
    p->spilled = true;
    TRY(r->file->vfs->write_at(r->file, p->rows, rows, at, e));
    at += rows;
    for (HeapChunk *h = p->heap; h; h = h->next) {
        if (h->used) TRY(r->file->vfs->write_at(r->file, h->data, h->used, at, e));
        at += h->used;
    }
    return ST_OK;
}

static Status spill_page(RowStore *r, RowPage *p, Err *e) {
    TRY(write_page(r, p, e));
    store_free(r, p->rows, page_bytes(r, p));
    p->rows = NULL;
    free_heap(r, p->heap);
    p->heap = NULL;
    return ST_OK;
}

/* Writes the worker's pages; the last one only when `all`. */
static Status spill_full_pages(RowStore *r, RowWorker *k, bool all, Err *e) {
    int64_t end = all ? k->n_pages : k->n_pages - 1;
    for (; k->first_unspilled < end; k->first_unspilled++) {
        RowPage *p = k->pages[k->first_unspilled];
        if (p->rows) TRY(spill_page(r, p, e));
    }
    return ST_OK;
}
Status rows_spill_worker(RowStore *r, int worker, Err *e) { return spill_full_pages(r, &r->w[worker], true, e); }

/* True when `bytes` more would eat into the reserve, or be too much for the store, and there is something to write. */
static bool wants_spill(const RowStore *r, const RowWorker *k, int64_t bytes) {
    if (r->no_spill || k->first_unspilled >= k->n_pages - 1) return false;
    return mem_headroom(r->acct) - r->reserve < bytes || (r->most > 0 && rows_bytes(r) + bytes > r->most);
}

/* ---- appending ---------------------------------------------------------------------- */

static bool grow(RowStore *r, void **items, int64_t *cap, int64_t len, int64_t size, Err *e) {
    if (len < *cap) return true;
    int64_t to = *cap ? *cap * 2 : 8;
    void *p = mem_realloc(r->acct, *items, *cap * size, to * size, e);
    if (!p) return false;
    *items = p;
    *cap = to;
    return true;
}

/* Makes room for metadata of one more page, and the page itself; when memory is refused, the current page goes to
 * disk and its blocks are used again. */
static Status new_page(RowStore *r, RowWorker *k, Err *e) {
    int64_t width = r->l.width;
    int64_t bytes = MAX_OF(k->next_bytes / width, 1) * width;
    if (wants_spill(r, k, bytes)) TRY(spill_full_pages(r, k, true, e));
    if (!grow(r, (void **)&k->pages, &k->cap_pages, k->n_pages, (int64_t)sizeof *k->pages, e)) return ST_ERROR;
    RowPage *p = mem_calloc(r->acct, (int64_t)sizeof *p, e);
    if (!p) return ST_ERROR;
    RowPage *last = k->n_pages ? k->pages[k->n_pages - 1] : NULL;
    Err quiet;
    err_clear(&quiet);
    p->rows = store_alloc(r, bytes, &quiet);
    p->cap = bytes / width;
    if (!p->rows && bytes > ROWS_PAGE_MIN) { /* something smaller, then */
        p->cap = MAX_OF(ROWS_PAGE_MIN / width, 1);
        if (r->no_spill || !last || !last->rows || p->cap > last->cap) p->rows = store_alloc(r, p->cap * width, &quiet);
    }
    if (!p->rows) {
        Status s = ST_ERROR;
        if (!r->no_spill && last && last->rows) {
            s = write_page(r, last, e);
            if (s == ST_OK) {
                p->rows = last->rows;
                p->cap = last->cap;
                last->rows = NULL;
                last->cap = 0;
                free_heap(r, last->heap);
                last->heap = NULL;
                k->first_unspilled = k->n_pages;
            }
        } else {
            err_copy(e, &quiet);
        }
        if (s != ST_OK) {
            mem_free(r->acct, p, (int64_t)sizeof *p);
            return s;
        }
    } else if (k->next_bytes < r->max_page_bytes) {
        k->next_bytes = MIN_OF(k->next_bytes * 2, r->max_page_bytes);
    }
    k->pages[k->n_pages++] = p;
    return ST_OK;
}

/* Room for `bytes` of strings in one chunk of the page. */
static Status reserve_heap(RowStore *r, RowWorker *k, RowPage *p, int64_t bytes, Err *e) {
    if (p->heap && p->heap->cap - p->heap->used >= bytes) return ST_OK;
    int64_t cap = p->heap ? MIN_OF(p->heap->cap * 2, (int64_t)ROWS_PAGE_BYTES) : (int64_t)1024;
    cap = MIN_OF(cap, r->max_page_bytes);
    cap = MAX_OF(cap, bytes);
    if (wants_spill(r, k, cap)) TRY(spill_full_pages(r, k, false, e));
    Err quiet;
    err_clear(&quiet);
    HeapChunk *h = store_alloc(r, cap + (int64_t)sizeof *h, &quiet);
    if (!h && cap > bytes) {
        cap = bytes;
        h = store_alloc(r, cap + (int64_t)sizeof *h, &quiet);
    }
    if (!h) {
        err_copy(e, &quiet);
        return ST_ERROR;
    }
    *h = (HeapChunk){.next = p->heap, .cap = cap};
    p->heap = h;
    return ST_OK;
}

ALWAYS_INLINE int64_t source_row(const Vec *v, const int32_t *sel, int64_t i) {
    return v->is_const ? 0 : sel ? sel[i] : i;
}

/* sizes as constants: the copies become single moves */
ALWAYS_INLINE void put_loop(char *dst, int64_t width, const Vec *v, const int32_t *sel, int64_t first, int64_t n,
                            size_t size) {
    const char *src = v->data;
    if (v->is_const) {
        for (int64_t i = 0; i < n; i++, dst += width) memcpy(dst, src, size);
    } else if (sel) {
        for (int64_t i = 0; i < n; i++, dst += width) memcpy(dst, src + (size_t)sel[first + i] * size, size);
    } else {
        src += (size_t)first * size;
        for (int64_t i = 0; i < n; i++, dst += width, src += size) memcpy(dst, src, size);
    }
}

static void put_str(HeapChunk *h, char *dst, int64_t width, const Vec *v, const int32_t *sel, int64_t first, int64_t n,
                    bool copy) {
    const Str *src = v->data;
    for (int64_t i = 0; i < n; i++, dst += width) {
        int64_t at = source_row(v, sel, first + i);
        Str s = src[at];
        if (v->valid && !v->valid[at]) {
            s = (Str){0};
        } else if (copy && s.len) {
            char *to = h->data + h->used;
            memcpy(to, s.ptr, s.len);
            h->used += s.len;
            s.ptr = to;
        }
        memcpy(dst, &s, sizeof s);
    }
}

static void put_column(const RowLayout *l, int32_t c, HeapChunk *h, char *row, const Vec *v, const int32_t *sel,
                       int64_t first, int64_t n) {
    char *dst = row + l->offset[c];
    int64_t width = l->width;
    if (l->cols[c].phys == PH_STR) {
        put_str(h, dst, width, v, sel, first, n, !l->cols[c].stable_str);
    } else {
        switch (cell_size(l->cols[c].phys)) {
        case 1: put_loop(dst, width, v, sel, first, n, 1); break;
        case 2: put_loop(dst, width, v, sel, first, n, 2); break;
        case 4: put_loop(dst, width, v, sel, first, n, 4); break;
        case 8: put_loop(dst, width, v, sel, first, n, 8); break;
        default: put_loop(dst, width, v, sel, first, n, 16); break;
        }
    }
    if (l->valid_offset[c] < 0) return;
    dst = row + l->valid_offset[c];
    if (!v->valid) {
        for (int64_t i = 0; i < n; i++, dst += width) *dst = 1;
    } else {
        Vec valid = {.data = v->valid, .is_const = v->is_const};
        put_loop(dst, width, &valid, sel, first, n, 1);
    }
}

static int64_t heap_need(const RowStore *r, const Vec *cols, const int32_t *sel, int64_t first, int64_t n) {
    int64_t need = 0;
    for (int32_t c = 0; c < r->n_heap_cols; c++) {
        const Vec *v = &cols[r->heap_cols[c]];
        const Str *s = v->data;
        for (int64_t i = 0; i < n; i++) {
            int64_t at = source_row(v, sel, first + i);
            if (!v->valid || v->valid[at]) need += s[at].len;
        }
    }
    return need;
}

/* Rows that have the store's layout: by address, or those sel[i] of consecutive ones, or all of them. */
typedef struct RawRows {
    const char *const *at;
    const char *rows;
    const int32_t *sel;
} RawRows;

static const char *raw_row(const RawRows *raw, int64_t width, int64_t i) {
    return raw->at ? raw->at[i] : raw->rows + (raw->sel ? raw->sel[i] : i) * width;
}

static int64_t heap_need_raw(const RowStore *r, const RawRows *raw, int64_t first, int64_t n) {
    int64_t need = 0;
    for (int32_t c = 0; c < r->n_heap_cols; c++) {
        int32_t offset = r->l.offset[r->heap_cols[c]];
        for (int64_t i = 0; i < n; i++)
            need += ((const Str *)(const void *)(raw_row(raw, r->l.width, first + i) + offset))->len;
    }
    return need;
}

/* sizes as constants: the copies become single moves */
ALWAYS_INLINE void copy_raw(char *to, const RawRows *raw, int64_t first, int64_t n, size_t width) {
    for (int64_t i = 0; i < n; i++, to += width) memcpy(to, raw_row(raw, (int64_t)width, first + i), width);
}

/* Rows [first, first + n) to a page, which has room for them and their strings. */
static void put_raw(const RowStore *r, RowPage *p, const RawRows *raw, int64_t first, int64_t n) {
    int64_t width = r->l.width;
    char *row = p->rows + p->n * width;
    if (!raw->at && !raw->sel) {
        memcpy(row, raw->rows + first * width, (size_t)(n * width));
    } else {
        switch (width) {
        case 8: copy_raw(row, raw, first, n, 8); break;
        case 16: copy_raw(row, raw, first, n, 16); break;
        case 24: copy_raw(row, raw, first, n, 24); break;
        case 32: copy_raw(row, raw, first, n, 32); break;
        default: copy_raw(row, raw, first, n, (size_t)width);
        }
    }
    for (int32_t c = 0; c < r->n_heap_cols; c++) {
        char *cell = row + r->l.offset[r->heap_cols[c]];
        for (int64_t i = 0; i < n; i++, cell += width) {
            Str s;
            memcpy(&s, cell, sizeof s);
            if (!s.len) continue;
            char *to = p->heap->data + p->heap->used;
            memcpy(to, s.ptr, s.len);
            p->heap->used += s.len;
            s.ptr = to;
            memcpy(cell, &s, sizeof s);
        }
    }
}

static Status add_run(RowStore *r, RowWorker *k, int64_t order, RowPage *p, int64_t n, Err *e) {
    RunRec *last = k->n_runs ? &k->runs[k->n_runs - 1] : NULL;
    if (last && last->page == p && last->order == order) {
        last->n += n;
        return ST_OK;
    }
    if (!grow(r, (void **)&k->runs, &k->cap_runs, k->n_runs, (int64_t)sizeof *k->runs, e)) return ST_ERROR;
    k->runs[k->n_runs] = (RunRec){order, p, p->n, n, 0};
    k->n_runs++;
    return ST_OK;
}

/* Common part of the appends: `cols` or `raw` is given. */
static Status append(RowStore *r, int worker, int64_t order, int64_t n, const Vec *cols, const int32_t *sel,
                     const RawRows *raw, Err *e) {
    RowWorker *k = &r->w[worker];
    int64_t width = r->l.width;
    for (int64_t done = 0; done < n;) {
        RowPage *p = k->n_pages ? k->pages[k->n_pages - 1] : NULL;
        if (!p || !p->rows || p->n == p->cap) {
            TRY(new_page(r, k, e));
            continue;
        }
        int64_t m = MIN_OF(n - done, p->cap - p->n);
        if (r->has_heap) {
            for (;;) {
                int64_t need = cols ? heap_need(r, cols, sel, done, m) : heap_need_raw(r, raw, done, m);
                Err quiet;
                err_clear(&quiet);
                if (need == 0 || reserve_heap(r, k, p, need, &quiet) == ST_OK) break;
                if (m > 1) {
                    m = (m + 1) / 2;
                    continue;
                }
                /* Not even one row's strings fit: everything of this worker goes to disk. */
                if (r->no_spill || p->n == 0) {
                    err_copy(e, &quiet);
                    return ST_ERROR;
                }
                TRY(spill_full_pages(r, k, true, e));
                m = 0;
                break;
            }
            if (m == 0) continue;
        }
        TRY(add_run(r, k, order, p, m, e));
        if (cols) {
            char *row = p->rows + p->n * width;
            for (int32_t c = 0; c < r->l.n_cols; c++) put_column(&r->l, c, p->heap, row, &cols[c], sel, done, m);
        } else {
            put_raw(r, p, raw, done, m);
        }
        p->n += m;
        done += m;
    }
    return ST_OK;
}

Status rows_append(RowStore *r, int worker, int64_t order, int64_t n, const Vec *cols, Err *e) {
    return append(r, worker, order, n, cols, NULL, NULL, e);
}
Status rows_append_sel(RowStore *r, int worker, int64_t order, int64_t n, const Vec *cols, const int32_t *sel, Err *e) {
    return append(r, worker, order, n, cols, sel, NULL, e);
}
Status rows_append_raw(RowStore *r, int worker, int64_t order, int64_t n, const char *rows, const int32_t *sel,
                       Err *e) {
    return append(r, worker, order, n, NULL, NULL, &(RawRows){.rows = rows, .sel = sel}, e);
}
Status rows_append_addresses(RowStore *r, int worker, int64_t order, int64_t n, const char *const *rows, Err *e) {
    return append(r, worker, order, n, NULL, NULL, &(RawRows){.at = rows}, e);
}

/* ---- reading --------------------------------------------------------------------------- */

static int compare_runs(const void *a, const void *b) {
    const RunRec *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Reading back a page needs room for it: pages still in memory follow to disk until there is room for two. */
static Status make_reading_room(RowStore *r, Err *e) {
    int64_t largest = 0;
    for (int w = 0; w < r->workers; w++) {
        for (int64_t i = 0; i < r->w[w].n_pages; i++) {
            const RowPage *p = r->w[w].pages[i];
            if (p->spilled) largest = MAX_OF(largest, p->n * r->l.width + p->heap_bytes);
        }
    }
    for (int w = 0; w < r->workers && largest; w++) {
        for (int64_t i = 0; i < r->w[w].n_pages && mem_headroom(r->acct) < 2 * largest + r->reserve; i++) {
            RowPage *p = r->w[w].pages[i];
            if (!p->rows) continue;
            TRY(spill_page(r, p, e));
            largest = MAX_OF(largest, p->n * r->l.width + p->heap_bytes);
        }
    }
    return ST_OK;
}

Status rows_finish(RowStore *r, bool ordered, Err *e) {
    int64_t total = 0;
    TRY(make_reading_room(r, e));
    for (int w = 0; w < r->workers; w++) total += ordered ? r->w[w].n_runs : r->w[w].n_pages;
    mem_free(r->acct, r->runs, r->cap_runs * (int64_t)sizeof *r->runs);
    mem_free(r->acct, r->start, (r->cap_runs + 1) * (int64_t)sizeof *r->start);
    r->runs = NULL;
    r->start = NULL;
    r->n_runs = r->cap_runs = 0;
    r->count = 0;
    int64_t cap = MAX_OF(total, 1);
    RunRec *runs = mem_alloc(r->acct, cap * (int64_t)sizeof *runs, e);
    if (!runs) return ST_ERROR;
    int64_t *start = mem_alloc(r->acct, (cap + 1) * (int64_t)sizeof *start, e);
    if (!start) {
        mem_free(r->acct, runs, cap * (int64_t)sizeof *runs);
        return ST_ERROR;
    }
    int64_t n = 0;
    for (int w = 0; w < r->workers; w++) {
        RowWorker *k = &r->w[w];
        if (ordered) {
            for (int64_t i = 0; i < k->n_runs; i++) {
                runs[n] = k->runs[i];
                runs[n].seq = n;
                n++;
            }
        } else {
            for (int64_t i = 0; i < k->n_pages; i++)
                if (k->pages[i]->n) runs[n++] = (RunRec){0, k->pages[i], 0, k->pages[i]->n, n};
        }
    }
    if (ordered && n > 1) qsort(runs, (size_t)n, sizeof *runs, compare_runs);
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        start[i] = at;
        at += runs[i].n;
    }
    start[n] = at;
    r->runs = runs;
    r->start = start;
    r->n_runs = n;
    r->cap_runs = cap;
    r->count = at;
    r->finished = true;
    return ST_OK;
}

int64_t rows_count(const RowStore *r) { return r->count; }
int64_t rows_n_runs(const RowStore *r) { return r->n_runs; }
int64_t rows_run_start(const RowStore *r, int64_t run) { return r->start[run]; }

static Status load_page(RowStore *r, RowPage *p, Err *e) {
    int64_t width = r->l.width, rows = p->n * width, bytes = rows + p->heap_bytes, got = 0;
    if (r->idle) { /* the page kept for luck makes room */
        free_loaded(r, r->idle);
        r->idle = NULL;
    }
    char *mem = mem_alloc(&r->loading, MAX_OF(bytes, 1), e);
    if (!mem) return ST_ERROR;
    atomic_fetch_add_explicit(&r->bytes, MAX_OF(bytes, 1), memory_order_relaxed);
    p->loaded = mem;
    Status s = r->file->vfs->read_at(r->file, mem, bytes, p->file_offset, &got, e);
    if (s == ST_OK && got != bytes) s = err_set(e, ERR_IO, "temporary file is shorter than expected");
    if (s != ST_OK) {
        free_loaded(r, p);
        return s;
    }
    for (int32_t c = 0; c < r->n_heap_cols; c++) {
        char *cell = mem + r->l.offset[r->heap_cols[c]];
        for (int64_t i = 0; i < p->n; i++, cell += width) {
            Str v;
            memcpy(&v, cell, sizeof v);
            v.ptr = v.len ? mem + rows + (intptr_t)v.ptr : NULL;
            memcpy(cell, &v, sizeof v);
        }
    }
    return ST_OK;
}

Status rows_run_open(RowStore *r, int64_t run, RowRun *out, Err *e) {
    RunRec *k = &r->runs[run];
    RowPage *p = k->page;
    int64_t width = r->l.width;
    *out = (RowRun){.n = k->n, .width = width};
    if (!p->spilled) {
        out->rows = p->rows + k->first * width;
        return ST_OK;
    }
    mutex_lock(&r->lock);
    Status s = p->loaded ? ST_OK : load_page(r, p, e);
    if (s == ST_OK) {
        if (r->idle == p) r->idle = NULL;
        p->pins++;
        out->rows = p->loaded + k->first * width;
        out->pin = p;
    }
    mutex_unlock(&r->lock);
    return s;
}

void rows_run_close(RowStore *r, RowRun *run) {
    RowPage *p = run->pin;
    if (!p) return;
    mutex_lock(&r->lock);
    if (--p->pins == 0) {
        if (r->idle) free_loaded(r, r->idle);
        r->idle = p;
    }
    mutex_unlock(&r->lock);
    run->pin = NULL;
}

Status rows_cell(RowStore *r, int64_t row, int32_t col, const void **cell, bool *is_null, Err *e) {
    int64_t i = r->cell_index;
    if (i < 0 || row < r->start[i] || row >= r->start[i + 1]) {
        if (row < 0 || row >= r->count) return err_internal(e, "row %lld of %lld", (long long)row, (long long)r->count);
        if (i >= 0 && i + 1 < r->n_runs && row >= r->start[i + 1] && row < r->start[i + 2]) {
            i++;
        } else {
            int64_t lo = 0, hi = r->n_runs;
            while (hi - lo > 1) {
                int64_t mid = lo + (hi - lo) / 2;
                if (r->start[mid] <= row) {
                    lo = mid;
                } else {
                    hi = mid;
                }
            }
            i = lo;
        }
        if (r->cell_index >= 0) rows_run_close(r, &r->cell_run);
        r->cell_index = -1;
        TRY(rows_run_open(r, i, &r->cell_run, e));
        r->cell_index = i;
    }
    const char *p = r->cell_run.rows + (row - r->start[i]) * r->l.width;
    bool null = r->l.valid_offset[col] >= 0 && !p[r->l.valid_offset[col]];
    *is_null = null;
    *cell = null ? NULL : p + r->l.offset[col];
    return ST_OK;
}

ALWAYS_INLINE void gather_loop(char *dst, const char *const *rows, int64_t offset, int64_t n, size_t size) {
    for (int64_t i = 0; i < n; i++) memcpy(dst + (size_t)i * size, rows[i] + offset, size);
}

void rows_gather(const RowLayout *l, int32_t col, const char *const *rows, int64_t n, Vec *out) {
    int64_t offset = l->offset[col];
    char *dst = out->data;
    out->is_const = false;
    switch (cell_size(l->cols[col].phys)) {
    case 1: gather_loop(dst, rows, offset, n, 1); break;
    case 2: gather_loop(dst, rows, offset, n, 2); break;
    case 4: gather_loop(dst, rows, offset, n, 4); break;
    case 8: gather_loop(dst, rows, offset, n, 8); break;
    default: gather_loop(dst, rows, offset, n, 16); break;
    }
    if (l->valid_offset[col] < 0) {
        out->valid = NULL;
        return;
    }
    uint8_t all = 1;
    offset = l->valid_offset[col];
    for (int64_t i = 0; i < n; i++) all &= out->valid[i] = (uint8_t)rows[i][offset];
    if (all) out->valid = NULL;
}

ALWAYS_INLINE void load_loop(char *dst, const char *src, int64_t width, const int32_t *pos, int64_t n, size_t size) {
    if (pos) {
        for (int64_t i = 0; i < n; i++) memcpy(dst + (size_t)i * size, src + pos[i] * width, size);
    } else {
        for (int64_t i = 0; i < n; i++, src += width) memcpy(dst + (size_t)i * size, src, size);
    }
}

void rows_load(const RowLayout *l, int32_t col, const RowRun *run, int64_t first, const int32_t *pos, int64_t n,
               Vec *out) {
    int64_t width = l->width;
    const char *base = run->rows + (pos ? 0 : first * width);
    const char *src = base + l->offset[col];
    char *dst = out->data;
    out->is_const = false;
    switch (cell_size(l->cols[col].phys)) {
    case 1: load_loop(dst, src, width, pos, n, 1); break;
    case 2: load_loop(dst, src, width, pos, n, 2); break;
    case 4: load_loop(dst, src, width, pos, n, 4); break;
    case 8: load_loop(dst, src, width, pos, n, 8); break;
    default: load_loop(dst, src, width, pos, n, 16); break;
    }
    if (l->valid_offset[col] < 0) {
        out->valid = NULL;
        return;
    }
    src = base + l->valid_offset[col];
    uint8_t all = 1;
    for (int64_t i = 0; i < n; i++) all &= out->valid[i] = (uint8_t)src[(pos ? pos[i] : i) * width];
    if (all) out->valid = NULL;
}
