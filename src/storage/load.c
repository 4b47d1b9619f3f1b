/* load.c - bulk loads: rows in, encoded tablets out.
 *
 *  1. load_add copies cells into the worker's raw buffer (RAW_ROWS rows). Strings go through the load's
 *     dictionary of their column, which all workers share: look-ups take no lock, additions do. A
 *     dictionary that finds too many different strings is given up; later buffers keep plain strings.
 *  2. A full buffer, or the end of an order number, makes a piece. Pieces wait, sorted by order, until the
 *     ones at the front are known to have nothing before or between them (orders count up by one, or
 *     every worker is already past them) and fill a tablet. Then the worker that notices
 *     encodes the tablet, column by column, and its raw buffers are reused. So memory is bounded and row
 *     order does not depend on timing. If too much waits for a gap, runs without gaps become tablets of their own.
 *
 * load_end.c makes the table's new state of the tablets.
 *
 * Thread rules: load_add from one thread per worker number; everything else from one thread.
 */
#include "base/mutex.h"
#include "storage/load_int.h"
#include "storage/row_change.h"

enum {
    RAW_HEAP_MAX = 32 << 20, /* a buffer with so many string bytes is full */
    CACHE = 256,
    WAIT_ROWS = 4 * TABLET_ROWS,
    FREE_BUFS = 24,
};
/* A tablet is cut when a column's strings reach this. */
#define CUT_BYTES (INT64_C(1) << 30)
#define DICT_MAX_BYTES (INT64_C(256) << 20)

/* ---- shared dictionaries of a load ---- */
static LoadSlots *slots_new(MemAccount *a, int64_t n, Err *e) {
    LoadSlots *s = mem_calloc(a, (int64_t)sizeof *s + n * 8, e);
    if (s) s->n = n;
    return s;
}
/* Code, or -1; *free_slot is where it would go. */
static int32_t load_dict_probe(const LoadDict *d, LoadSlots *t, Str s, uint32_t hash, int64_t *free_slot) {
    int64_t mask = t->n - 1;
    for (int64_t i = hash & mask;; i = (i + 1) & mask) {
        uint64_t v = atomic_load_explicit(&t->s[i], memory_order_acquire);
        if (!v) {
            *free_slot = i;
            return -1;
        }
        if (v >> 32 == hash && str_eq(load_dict_entry(d, (int32_t)((uint32_t)v - 1)), s))
            return (int32_t)((uint32_t)v - 1);
    }
}
static Status load_dict_grow(LoadDict *d, LoadSlots *old, Err *e) {
    LoadSlots *t = slots_new(d->acct, old ? old->n * 2 : 256, e);
    if (!t) return ST_ERROR;
    for (int64_t i = 0; old && i < old->n; i++) {
        uint64_t v = atomic_load_explicit(&old->s[i], memory_order_relaxed);
        if (!v) continue;
        int64_t k = (int64_t)(v >> 32) & (t->n - 1);
        while (atomic_load_explicit(&t->s[k], memory_order_relaxed)) k = (k + 1) & (t->n - 1);
        atomic_store_explicit(&t->s[k], v, memory_order_relaxed);
    }
    t->older = old; /* readers may still be in it; freed with the load */
    atomic_store_explicit(&d->slots, t, memory_order_release);
    return ST_OK;
}
static int32_t load_dict_insert(LoadDict *d, Str s, uint32_t hash, Err *e) {
    int32_t code = -1;
    int64_t slot = 0;
    mutex_lock(&d->mu);
    LoadSlots *t = atomic_load_explicit(&d->slots, memory_order_relaxed);
    int32_t n = atomic_load_explicit(&d->n, memory_order_relaxed);
    if (!t || n * INT64_C(2) >= t->n) {
        if (load_dict_grow(d, t, e) != ST_OK) goto done;
        t = atomic_load_explicit(&d->slots, memory_order_relaxed);
    }
    code = load_dict_probe(d, t, s, hash, &slot);
    if (code >= 0) goto done;
    if (n / DICT_CHUNK >= d->n_chunks) {
        err_internal(e, "load dictionary overflows");
        goto done;
    }
    Str **chunk = &d->chunks[n / DICT_CHUNK];
    if (!*chunk && !(*chunk = mem_alloc(d->acct, DICT_CHUNK * (int64_t)sizeof(Str), e))) goto done;
    if (!strheap_add(&d->heap, s, &(*chunk)[n % DICT_CHUNK], e)) goto done;
    code = n;
    atomic_store_explicit(&d->n, n + 1, memory_order_relaxed);
    atomic_store_explicit(&t->s[slot], (uint64_t)hash << 32 | (uint32_t)(code + 1), memory_order_release);
    if (n + 1 > DICT_MAX_ENTRIES || d->heap.total > DICT_MAX_BYTES)
        atomic_store_explicit(&d->given_up, true, memory_order_relaxed);
done:
    mutex_unlock(&d->mu);
    return code;
}

/* ---- loads ---- */
static int64_t proto_bytes(const TableLoad *l) {
    return (int64_t)(sizeof(LoadProto) + sizeof(EncCol) * (size_t)l->n_cols);
}

static void buf_free(TableLoad *l, RawBuf *r) {
    if (!r) return;
    for (int c = 0; c < l->n_cols; c++) {
        if (r->cols[c].cells) mem_free(l->acct, r->cols[c].cells, RAW_ROWS * load_cell_size(l, c));
        if (r->cols[c].valid) mem_free(l->acct, r->cols[c].valid, RAW_ROWS);
        strheap_free(&r->cols[c].heap);
    }
    mem_free(l->acct, r, (int64_t)(sizeof(RawBuf) + sizeof(RawCol) * (size_t)l->n_cols));
}
static RawBuf *buf_take(TableLoad *l, Err *e) {
    mutex_lock(&l->mu);
    RawBuf *r = l->free_bufs;
    if (r) {
        l->free_bufs = r->next;
        l->n_free--;
    }
    mutex_unlock(&l->mu);
    if (!r) {
        r = mem_calloc(l->acct, (int64_t)(sizeof(RawBuf) + sizeof(RawCol) * (size_t)l->n_cols), e);
        if (!r) return NULL;
        for (int c = 0; c < l->n_cols; c++) {
            r->cols[c].heap.acct = l->acct;
            r->cols[c].cells = mem_alloc(l->acct, RAW_ROWS * load_cell_size(l, c), e);
            if (r->cols[c].cells && !l->t->cols[c].not_null) r->cols[c].valid = mem_alloc(l->acct, RAW_ROWS, e);
            if (!r->cols[c].cells || (!r->cols[c].valid && !l->t->cols[c].not_null)) {
                buf_free(l, r);
                return NULL;
            }
        }
    }
    r->used = 0;
    r->refs = 1;
    for (int c = 0; c < l->n_cols; c++) {
        atomic_store_explicit(&r->cols[c].nulls, false, memory_order_relaxed);
        r->cols[c].codes = load_is_str(l, c) && !atomic_load_explicit(&l->dicts[c].given_up, memory_order_relaxed);
    }
    return r;
}
/* mu held */
static void buf_unref(TableLoad *l, RawBuf *r) {
    if (!r || --r->refs > 0) return;
    for (int c = 0; c < l->n_cols; c++) strheap_free(&r->cols[c].heap);
    if (l->n_free >= FREE_BUFS) {
        buf_free(l, r);
        return;
    }
    r->next = l->free_bufs;
    l->free_bufs = r;
    l->n_free++;
}

Status load_begin(Table *t, int workers, TableLoad **out, Err *e) {
    if (workers < 1) workers = 1;
    MemAccount *a = &t->account;
    TableLoad *l = mem_calloc(a, (int64_t)sizeof *l, e);
    if (!l) return ST_ERROR;
    l->t = t;
    atomic_fetch_add(&t->impl->held, 1);
    l->acct = a;
    l->n_cols = t->n_cols;
    l->n_workers = workers;
    l->group = 1;
    mutex_init(&l->mu, RANK_LOAD);
    mutex_init(&l->err_mu, RANK_LOAD_ERR);
    l->workers = mem_calloc(a, (int64_t)sizeof(LoadWorker) * workers, e);
    l->dicts = mem_calloc(a, (int64_t)sizeof(LoadDict) * MAX_OF(t->n_cols, 1), e);
    if (l->dicts)
        for (int c = 0; c < t->n_cols; c++) {
            mutex_init(&l->dicts[c].mu, RANK_LOAD_DICT);
            l->dicts[c].acct = a;
            l->dicts[c].heap.acct = a;
        }
    bool ok = l->workers && l->dicts;
    for (int c = 0; ok && c < t->n_cols; c++) {
        LoadDict *d = &l->dicts[c];
        if (!load_is_str(l, c)) continue;
        /* After it is given up, each worker may still finish the buffer in hand. */
        d->n_chunks = (DICT_MAX_ENTRIES + (int64_t)RAW_ROWS * (workers + 1)) / DICT_CHUNK + 1;
        d->chunks = mem_calloc(a, d->n_chunks * (int64_t)sizeof(Str *), e);
        ok = d->chunks && load_dict_grow(d, NULL, e) == ST_OK;
    }
    for (int w = 0; ok && w < workers; w++) {
        l->workers[w].caches = mem_calloc(a, (int64_t)sizeof(LoadCacheCell) * CACHE * MAX_OF(t->n_cols, 1), e);
        ok = l->workers[w].caches != NULL;
    }
    if (!ok) {
        load_cancel(l);
        return ST_ERROR;
    }
    *out = l;
    return ST_OK;
}

int load_columns(const TableLoad *l) { return l->n_cols; }

static void proto_free(TableLoad *l, LoadProto *p) {
    if (!p) return;
    for (int c = 0; c < l->n_cols; c++) enc_release(l->acct, &p->cols[c]);
    tablet_free(p->tablet);
    mem_free(l->acct, p, proto_bytes(l));
}

void load_cancel(TableLoad *l) {
    if (!l) return;
    MemAccount *a = l->acct;
    for (int64_t i = 0; i < l->n_pieces; i++) buf_unref(l, l->pieces[i].buf);
    if (l->pieces) mem_free(a, l->pieces, l->cap_pieces * (int64_t)sizeof(LoadPiece));
    for (int w = 0; l->workers && w < l->n_workers; w++) {
        buf_unref(l, l->workers[w].buf);
        if (l->workers[w].caches)
            mem_free(a, l->workers[w].caches, (int64_t)sizeof(LoadCacheCell) * CACHE * MAX_OF(l->n_cols, 1));
    }
    for (RawBuf *r = l->free_bufs, *next; r; r = next) {
        next = r->next;
        buf_free(l, r);
    }
    for (int64_t i = 0; i < l->n_protos; i++) proto_free(l, l->protos[i]);
    if (l->protos) mem_free(a, l->protos, l->cap_protos * (int64_t)sizeof(LoadProto *));
    for (int c = 0; l->dicts && c < l->n_cols; c++) {
        LoadDict *d = &l->dicts[c];
        for (LoadSlots *s = atomic_load(&d->slots), *older; s; s = older) {
            older = s->older;
            mem_free(a, s, (int64_t)sizeof *s + s->n * 8);
        }
        for (int64_t i = 0; d->chunks && i < d->n_chunks; i++)
            if (d->chunks[i]) mem_free(a, d->chunks[i], DICT_CHUNK * (int64_t)sizeof(Str));
        if (d->chunks) mem_free(a, d->chunks, d->n_chunks * (int64_t)sizeof(Str *));
        strheap_free(&d->heap);
        mutex_destroy(&d->mu);
    }
    if (l->final) {
        for (int c = 0; c < l->n_cols; c++)
            if (l->final[c] && l->final[c] != l->t->cols[c].dict) dict_free(l->final[c]);
        mem_free(a, l->final, (int64_t)sizeof(Dict *) * MAX_OF(l->n_cols, 1));
    }
    if (l->remap) {
        for (int c = 0; c < l->n_cols; c++)
            if (l->remap[c]) mem_free(a, l->remap[c], l->remap_n[c] * 4);
        mem_free(a, l->remap, (int64_t)sizeof(int32_t *) * MAX_OF(l->n_cols, 1));
    }
    if (l->remap_n) mem_free(a, l->remap_n, 8 * MAX_OF(l->n_cols, 1));
    if (l->workers) mem_free(a, l->workers, (int64_t)sizeof(LoadWorker) * l->n_workers);
    if (l->dicts) mem_free(a, l->dicts, (int64_t)sizeof(LoadDict) * MAX_OF(l->n_cols, 1));
    mutex_destroy(&l->mu);
    mutex_destroy(&l->err_mu);
    Table *t = l->t;
    mem_free(a, l, (int64_t)sizeof *l);
    table_free_end(t);
}

/* ---- tablets from pieces ---- */
/* Strings of a column's pieces as Str arrays, codes looked up; segs[].cells of code pieces are replaced. */
static Status plain_segs(TableLoad *l, int c, const LoadPiece *p, int64_t n, ColSeg *segs, Str *tmp) {
    for (int64_t i = 0; i < n; i++) {
        if (!p[i].buf->cols[c].codes) continue;
        const int32_t *codes = segs[i].cells;
        for (int64_t r = 0; r < p[i].n; r++)
            tmp[r] = segs[i].valid && !segs[i].valid[r] ? (Str){"", 0, 0} : load_dict_entry(&l->dicts[c], codes[r]);
        segs[i].cells = tmp;
        tmp += p[i].n;
    }
    return ST_OK;
}

/* A piece's buffer may still be filled behind it by its worker: only its own rows are looked at. */
static const uint8_t *piece_valid(const RawCol *r, const LoadPiece *p) {
    const uint8_t *valid = load_valid(r, p->start);
    return valid && memchr(valid, 0, (size_t)p->n) ? valid : NULL;
}

static Status encode_pieces(TableLoad *l, const LoadPiece *p, int64_t n, LoadProto **out, Err *e) {
    MemAccount *a = l->acct;
    Status st = ST_ERROR;
    int64_t segs_bytes = n * (int64_t)sizeof(ColSeg), rows = 0, tmp_bytes = 0;
    for (int64_t i = 0; i < n; i++) rows += p[i].n;
    Str *tmp = NULL;
    LoadProto *pr = mem_calloc(a, proto_bytes(l), e);
    ColSeg *segs = mem_alloc(a, segs_bytes, e);
    if (!pr || !segs) goto done;
    pr->group = l->group;
    pr->order = p[0].order;
    pr->seq = p[0].seq;
    pr->start = p[0].start;
    pr->rows = rows;
    for (int c = 0; c < l->n_cols; c++) {
        bool codes = load_is_str(l, c) && !atomic_load_explicit(&l->dicts[c].given_up, memory_order_relaxed),
             some_codes = false;
        int64_t size = load_cell_size(l, c);
        for (int64_t i = 0; i < n; i++) {
            const RawCol *r = &p[i].buf->cols[c];
            segs[i] =
                (ColSeg){(const char *)r->cells + p[i].start * (r->codes ? 4 : size), piece_valid(r, &p[i]), p[i].n};
            codes = codes && r->codes;
            some_codes = some_codes || r->codes;
        }
        if (codes) {
            st = enc_codes(a, NULL, segs, n, rows, &pr->cols[c], e);
        } else if (load_is_str(l, c)) {
            if (some_codes && !tmp) {
                tmp_bytes = rows * (int64_t)sizeof(Str);
                tmp = mem_alloc(a, tmp_bytes, e);
                if (!tmp) {
                    st = ST_ERROR;
                    goto done;
                }
            }
            plain_segs(l, c, p, n, segs, tmp);
            st = enc_strings(a, segs, n, rows, &pr->cols[c], e);
        } else {
            st = enc_fixed(a, (uint8_t)type_phys(l->t->cols[c].type), segs, n, rows, &pr->cols[c], e);
        }
        if (st != ST_OK) goto done;
    }
    st = tablet_lay_out(table_part(l->t, TABLE_PACKED), l->t->id, rows, l->n_cols, pr->cols, &pr->tablet, e);
    if (st != ST_OK) goto done;
    for (int c = 0; c < l->n_cols; c++) enc_release(a, &pr->cols[c]);
    *out = pr;
    pr = NULL;
done:
    if (pr) proto_free(l, pr);
    if (segs) mem_free(a, segs, segs_bytes);
    if (tmp) mem_free(a, tmp, tmp_bytes);
    return st;
}

static bool follows(const LoadPiece *p, const LoadPiece *q) {
    return p->last ? q->order == p->order + 1 && q->seq == 0 : q->order == p->order && q->seq == p->seq + 1;
}
/* mu held. The order below which nothing new can come; unstarted workers are ignored when pressed for room. */
static int64_t watermark(TableLoad *l, bool pressed) {
    int64_t w = INT64_MAX;
    bool any = false;
    for (int i = 0; i < l->n_workers; i++) {
        if (!atomic_load(&l->workers[i].started)) {
            if (!pressed) return INT64_MIN;
            continue;
        }
        int64_t o = atomic_load(&l->workers[i].order);
        w = MIN_OF(w, o);
        any = true;
    }
    return any ? w : INT64_MIN;
}
/* mu held. Counts the pieces at the front that nothing can precede any more. */
static void extend_ready(TableLoad *l, bool pressed) {
    int64_t w = watermark(l, pressed);
    while (l->n_ready < l->n_pieces) {
        const LoadPiece *p = &l->pieces[l->n_ready];
        if (!(p->order == l->next_order && p->seq == l->next_seq) && p->order >= w) break;
        l->next_order = p->last ? p->order + 1 : p->order;
        l->next_seq = p->last ? 0 : p->seq + 1;
        l->n_ready++;
    }
}
static bool below_taken(const TableLoad *l, const LoadPiece *p) {
    return l->any_taken && (p->order < l->max_order || (p->order == l->max_order && p->seq < l->max_seq));
}
/* mu held. How many of the first `limit` pieces make one tablet; *full when no more would fit. *cut: rows of the
 * last one that belong to it. */
/* A tablet must not span a place where others were taken out or, when `strict`, may still come. */
static int64_t tablet_pieces(TableLoad *l, int64_t limit, bool strict, bool *full, int64_t *cut) {
    int64_t rows = 0, bytes = 0, n = 0;
    *full = false;
    for (; n < limit; n++) {
        LoadPiece *p = &l->pieces[n];
        if (n > 0 && !follows(p - 1, p) && (strict || below_taken(l, p - 1))) {
            *full = true;
            break;
        }
        if (p->n == 0) continue;
        int64_t more = p->str_bytes;
        if (rows > 0 && bytes + more > CUT_BYTES) {
            *full = true;
            break;
        }
        bytes += more;
        *cut = MIN_OF(p->n, TABLET_ROWS - rows);
        rows += *cut;
        if (rows == TABLET_ROWS) {
            *full = true;
            n++;
            break;
        }
    }
    return n;
}
/* mu held. Takes the first n pieces out (the last one split after `cut` rows) into `out`; pieces without rows vanish.
 */
static int64_t take_pieces(TableLoad *l, int64_t n, int64_t cut, LoadPiece *out) {
    int64_t m = 0, gone = n;
    for (int64_t i = 0; i < n; i++) {
        LoadPiece *p = &l->pieces[i];
        if (p->n == 0) continue;
        out[m] = *p;
        if (!below_taken(l, p)) {
            l->any_taken = true;
            l->max_order = p->order;
            l->max_seq = p->seq;
        }
        bool tail = true; /* no later piece with rows */
        for (int64_t k = i + 1; k < n; k++) tail = tail && l->pieces[k].n == 0;
        if (tail && cut < p->n) {
            out[m].n = cut;
            out[m].last = false;
            p->start += cut;
            p->n -= cut;
            p->buf->refs++;
            gone = i;
        }
        l->pending_rows -= out[m++].n;
        if (gone != n) break;
    }
    memmove(l->pieces, l->pieces + gone, (size_t)(l->n_pieces - gone) * sizeof(LoadPiece));
    l->n_pieces -= gone;
    l->n_ready = MAX_OF(l->n_ready - gone, 0);
    return m;
}

static Status encode_taken(TableLoad *l, LoadPiece *p, int64_t n, Err *e) {
    LoadProto *pr = NULL;
    Status st = n ? encode_pieces(l, p, n, &pr, e) : ST_OK;
    mutex_lock(&l->mu);
    for (int64_t i = 0; i < n; i++) buf_unref(l, p[i].buf);
    if (pr && l->n_protos == l->cap_protos) {
        int64_t cap = l->cap_protos ? l->cap_protos * 2 : 16;
        LoadProto **q =
            mem_realloc(l->acct, l->protos, l->cap_protos * (int64_t)sizeof *q, cap * (int64_t)sizeof *q, e);
        if (q) {
            l->protos = q;
            l->cap_protos = cap;
        } else {
            proto_free(l, pr);
            pr = NULL;
            st = ST_ERROR;
        }
    }
    if (pr) l->protos[l->n_protos++] = pr;
    mutex_unlock(&l->mu);
    return st;
}

Status load_encode(TableLoad *l, bool flush, Err *e) {
    for (;;) {
        mutex_lock(&l->mu);
        extend_ready(l, false);
        int64_t ready = flush ? l->n_pieces : l->n_ready, cut = 0;
        bool full = false;
        int64_t n = tablet_pieces(l, ready, false, &full, &cut);
        if (!full && !flush && l->pending_rows > WAIT_ROWS) {
            extend_ready(l, true);
            n = tablet_pieces(l, l->n_ready, false, &full, &cut);
            if (!full)
                n = tablet_pieces(l, l->n_pieces, true, &full, &cut); /* a run without gaps, wherever it starts */
        }
        if ((!full && !flush) || n == 0) {
            mutex_unlock(&l->mu);
            return ST_OK;
        }
        LoadPiece *taken = mem_alloc(l->acct, n * (int64_t)sizeof(LoadPiece), e);
        if (!taken) {
            mutex_unlock(&l->mu);
            return ST_ERROR;
        }
        int64_t m = take_pieces(l, n, cut, taken);
        mutex_unlock(&l->mu);
        Status st = encode_taken(l, taken, m, e);
        mem_free(l->acct, taken, n * (int64_t)sizeof(LoadPiece));
        TRY(st);
    }
}

/* Ends the worker's piece. */
static Status seal(TableLoad *l, LoadWorker *w, bool last, Err *e) {
    int64_t end = w->buf ? w->buf->used : 0, n = end - w->piece_start;
    if (n == 0 && !last) return ST_OK;
    Status st = ST_ERROR;
    mutex_lock(&l->mu);
    if (l->n_pieces == l->cap_pieces) {
        int64_t cap = l->cap_pieces ? l->cap_pieces * 2 : 64;
        LoadPiece *q = mem_realloc(l->acct, l->pieces, l->cap_pieces * (int64_t)sizeof *q, cap * (int64_t)sizeof *q, e);
        if (!q) goto done;
        l->pieces = q;
        l->cap_pieces = cap;
    }
    LoadPiece p = {.order = atomic_load(&w->order),
                   .seq = w->seq++,
                   .last = last,
                   .buf = n ? w->buf : NULL,
                   .start = w->piece_start,
                   .n = n};
    for (int c = 0; n && c < l->n_cols; c++) p.str_bytes = MAX_OF(p.str_bytes, w->buf->cols[c].heap.total);
    if (n) w->buf->refs++;
    int64_t i = l->n_pieces;
    while (i > 0 &&
           (l->pieces[i - 1].order > p.order || (l->pieces[i - 1].order == p.order && l->pieces[i - 1].seq > p.seq)))
        i--;
    memmove(l->pieces + i + 1, l->pieces + i, (size_t)(l->n_pieces - i) * sizeof(LoadPiece));
    l->pieces[i] = p;
    l->n_pieces++;
    if (i < l->n_ready) l->n_ready++; /* late, but nothing more can be waited for */
    l->pending_rows += n;
    st = ST_OK;
done:
    mutex_unlock(&l->mu);
    w->piece_start = end;
    return st;
}

/* ---- adding rows ---- */
static inline uint32_t cache_slot(Str s) {
    uint32_t tail = s.prefix;
    if (s.len > 4) memcpy(&tail, s.ptr + s.len - 4, 4);
    return (uint32_t)(((uint64_t)(s.prefix ^ tail * 31u) + s.len) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}
/* -1: failed. */
static int32_t code_of(LoadDict *d, LoadCacheCell *cache, Str x, Err *e) {
    LoadCacheCell *k = &cache[cache_slot(x)];
    if (k->s.ptr && str_eq(k->s, x)) return k->code;
    uint32_t hash = hash_constant ? 0 : (uint32_t)(hash_bytes(x.ptr, x.len) >> 32);
    int64_t slot;
    int32_t code = load_dict_probe(d, atomic_load_explicit(&d->slots, memory_order_acquire), x, hash, &slot);
    if (code < 0) code = load_dict_insert(d, x, hash, e);
    if (code < 0) return -1;
    k->s = load_dict_entry(d, code);
    k->code = code;
    return code;
}
/* Strings of one call that lie in the same place, as those of a file's dictionary do, are looked at once. */
static Status add_codes(LoadDict *d, LoadCacheCell *cache, const Str *s, bool is_const, const uint8_t *valid, int64_t n,
                        int32_t *out, Err *e) {
    enum { PLACES = 64, GIVE_UP = 128 };
    struct {
        const char *ptr;
        uint32_t len;
        int32_t code;
    } places[PLACES] = {{0}};
    int64_t missed = 0;
    for (int64_t i = 0; i < n; i++) {
        if (valid && !valid[i]) {
            out[i] = 0;
            continue;
        }
        Str x = s[is_const ? 0 : i];
        int64_t k = (int64_t)((uint64_t)(uintptr_t)x.ptr * UINT64_C(0x9e3779b97f4a7c15) >> 58);
        if (missed < GIVE_UP && x.ptr && places[k].ptr == x.ptr && places[k].len == x.len) {
            out[i] = places[k].code;
            continue;
        }
        if ((out[i] = code_of(d, cache, x, e)) < 0) return ST_ERROR;
        if (missed++ >= GIVE_UP) continue;
        places[k].ptr = x.ptr;
        places[k].len = x.len;
        places[k].code = out[i];
    }
    return ST_OK;
}
#define CONVERT_CELLS(T)                                        \
    for (int64_t i = 0; i < n; i++) {                           \
        int64_t k = v->is_const ? 0 : first + i;                \
        int128_t x = 0;                                         \
        switch (v->phys) {                                      \
        case PH_BOOL: x = ((const uint8_t *)v->data)[k]; break; \
        case PH_I16: x = ((const int16_t *)v->data)[k]; break;  \
        case PH_I32: x = ((const int32_t *)v->data)[k]; break;  \
        case PH_I64: x = ((const int64_t *)v->data)[k]; break;  \
        default: x = ((const int128_t *)v->data)[k];            \
        }                                                       \
        ((T *)out)[i] = (T)x;                                   \
    }
static void convert_ints(uint8_t phys, const Vec *v, int64_t first, int64_t n, void *out) {
    switch (phys) {
    case PH_BOOL: CONVERT_CELLS(uint8_t) break;
    case PH_I16: CONVERT_CELLS(int16_t) break;
    case PH_I32: CONVERT_CELLS(int32_t) break;
    case PH_I64: CONVERT_CELLS(int64_t) break;
    default: CONVERT_CELLS(int128_t)
    }
}

static Status add_column(TableLoad *l, LoadWorker *w, int c, const Vec *v, int64_t first, int64_t n, Err *e) {
    RawCol *r = &w->buf->cols[c];
    int64_t at = w->buf->used, size = load_cell_size(l, c);
    const uint8_t *valid = NULL;
    if (v->valid) {
        if (v->is_const) valid = v->valid[0] ? NULL : v->valid;
        else if (memchr(v->valid + first, 0, (size_t)n)) valid = v->valid + first;
    }
    if (valid && r->valid && !r->nulls) {
        memset(r->valid, 1, (size_t)at);
        atomic_store_explicit(&r->nulls, true, memory_order_release);
    }
    if (r->nulls) {
        if (!valid) memset(r->valid + at, 1, (size_t)n);
        else if (v->is_const) memset(r->valid + at, 0, (size_t)n);
        else memcpy(r->valid + at, valid, (size_t)n);
    }
    const uint8_t *own = valid ? r->valid + at : NULL;
    if (size == 16 && load_is_str(l, c)) {
        const Str *s = (const Str *)v->data + (v->is_const ? 0 : first);
        if (r->codes)
            return add_codes(&l->dicts[c], w->caches + (int64_t)c * CACHE, s, v->is_const, own, n,
                             (int32_t *)r->cells + at, e);
        Str *out = (Str *)r->cells + at;
        for (int64_t i = 0; i < n; i++) {
            if (own && !own[i]) out[i] = (Str){"", 0, 0};
            else if (!strheap_add(&r->heap, s[v->is_const ? 0 : i], &out[i], e)) return ST_ERROR;
        }
        return ST_OK;
    }
    uint8_t phys = (uint8_t)type_phys(l->t->cols[c].type);
    char *out = (char *)r->cells + at * size;
    if (v->phys != phys) convert_ints(phys, v, first, n, out);
    else if (!v->is_const) memcpy(out, (const char *)v->data + first * size, (size_t)(n * size));
    else
        for (int64_t i = 0; i < n; i++) memcpy(out + i * size, v->data, (size_t)size);
    return ST_OK;
}

/* Rows of [first, n) that the buffer takes: it is also full by bytes of strings. */
static int64_t rows_for_buf(const TableLoad *l, const LoadWorker *w, const Vec *cols, int64_t first, int64_t n) {
    int64_t k = MIN_OF(n - first, RAW_ROWS - w->buf->used);
    for (int c = 0; c < l->n_cols; c++) {
        if (!load_is_str(l, c) || w->buf->cols[c].codes) continue;
        int64_t bytes = w->buf->cols[c].heap.total;
        if (bytes + 65536 * k <= RAW_HEAP_MAX) continue; /* cannot be */
        const Str *s = cols[c].data;
        for (int64_t i = 0; i < k; i++) {
            bytes += s[cols[c].is_const ? 0 : first + i].len;
            if (bytes > RAW_HEAP_MAX) {
                k = i == 0 && w->buf->used == 0 ? 1 : i;
                break;
            }
        }
    }
    return k;
}

/* The buffer in hand is full: judge its dictionaries and get another. */
static Status next_buf(TableLoad *l, LoadWorker *w, Err *e) {
    for (int c = 0; c < l->n_cols; c++) {
        LoadDict *d = &l->dicts[c];
        if (!d->chunks || !w->buf) continue;
        int64_t rows = atomic_fetch_add(&d->rows, w->buf->used) + w->buf->used, n = atomic_load(&d->n);
        if (n > DICT_SMALL && n * 2 > rows) atomic_store(&d->given_up, true);
    }
    mutex_lock(&l->mu);
    buf_unref(l, w->buf);
    w->buf = NULL;
    mutex_unlock(&l->mu);
    w->piece_start = 0;
    w->buf = buf_take(l, e);
    return w->buf ? ST_OK : ST_ERROR;
}

Status load_add(TableLoad *l, int worker, int64_t order, int64_t n, const Vec *cols, Err *e) {
    LoadWorker *w = &l->workers[worker];
    if (worker < 0 || worker >= l->n_workers) return err_internal(e, "bulk load has no worker %d", worker);
    dbg_assert(!cols || table_vecs_agree(l->t, l->n_cols, NULL, 0, n, cols));
    if (n > 0) TRY(rows_check(l->t, &(NewRows){.n = n, .n_cols = l->n_cols, .vals = cols}, NULL, e));
    if (!atomic_load(&w->started)) {
        atomic_store(&w->order, order);
        atomic_store(&w->started, true);
    } else if (atomic_load(&w->order) != order) {
        TRY(seal(l, w, true, e));
        atomic_store(&w->order, order);
        w->seq = 0;
        TRY(load_encode(l, false, e));
    }
    for (int64_t first = 0; first < n;) {
        if (!w->buf) TRY(next_buf(l, w, e));
        int64_t k = rows_for_buf(l, w, cols, first, n);
        if (k == 0) {
            TRY(seal(l, w, false, e));
            TRY(next_buf(l, w, e));
            TRY(load_encode(l, false, e));
            continue;
        }
        for (int c = 0; c < l->n_cols; c++) TRY(add_column(l, w, c, &cols[c], first, k, e));
        w->buf->used += k;
        first += k;
    }
    return ST_OK;
}

Status load_seal(TableLoad *l, Err *e) {
    for (int i = 0; i < l->n_workers; i++) {
        LoadWorker *w = &l->workers[i];
        if (!atomic_load(&w->started)) continue;
        TRY(seal(l, w, true, e));
        mutex_lock(&l->mu);
        buf_unref(l, w->buf);
        w->buf = NULL;
        mutex_unlock(&l->mu);
        w->piece_start = w->seq = 0;
        atomic_store(&w->started, false);
    }
    return ST_OK;
}
