/* dev_move.c - rows from the device to a row store and back.
 *
 * Rows come over column by column in pieces through a pinned buffer (devices that share the host's memory are read in
 * place) and are handed on as vectors by the pool's threads. Codes become strings through their dictionary on the host.
 * Other strings are not moved at all: every string on the device was brought there from the host, so its address there
 * is turned into the address of the same bytes here (HostRange). Only those of rows that bulks left there come over
 * (device_rows.h): a kernel copies the ones that a piece of the result refers to side by side.
 */
#include <stdlib.h>

#include "exec/device/dev_int.h"
#include "exec/device/device_rows.h"

enum { VECTOR = 2048, HAND_VECTORS = 2 }; /* a worker for so many: waking more takes longer than they save */

/* ---- addresses of strings ------------------------------------------------------------------------- */
static int compare_ranges(const void *a, const void *b) {
    const HostRange *x = a, *y = b;
    return x->base < y->base ? -1 : x->base > y->base;
}

/* The range that has the string; NULL: none. */
static const HostRange *range_of(const DevQuery *q, uint64_t address, int64_t len) {
    const HostRange *g = &q->ranges.gathered;
    if (address >= g->base && address - g->base + (uint64_t)len <= (uint64_t)g->bytes) return g;
    int64_t lo = 0, hi = q->ranges.len; /* the last range that begins at or before the address */
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (q->ranges.items[mid].base <= address) lo = mid + 1;
        else hi = mid;
    }
    const HostRange *r = lo > 0 ? &q->ranges.items[lo - 1] : NULL;
    return r && address - r->base + (uint64_t)len <= (uint64_t)r->bytes ? r : NULL;
}
static Status translate(DevQuery *q, uint64_t address, int64_t len, Str *out, Err *e) {
    if (len == 0) {
        *out = str_make("", 0);
        return ST_OK;
    }
    if (len < 0 || len > UINT32_MAX)
        return err_internal(e, "a string of %lld bytes came from device %s", (long long)len, q->d->info.id);
    const HostRange *r = range_of(q, address, len);
    if (!r) {
        if (q->d->info.shares_memory) {
            *out = str_make((const char *)(uintptr_t)address, len);
            return ST_OK;
        }
        return err_internal(e, "a string from device %s has the unknown address %llx", q->d->info.id,
                            (unsigned long long)address);
    }
    int64_t at = (int64_t)(address - r->base);
    if (r->host) {
        *out = str_make(r->host + at, len);
        return ST_OK;
    }
    int64_t a = 0, b = r->n; /* the last entry that begins at or before it; empty ones do not count */
    while (b - a > 1) {
        int64_t mid = a + (b - a) / 2;
        int64_t off = r->off64 ? (int64_t)r->off64[mid] : (int64_t)r->off32[mid];
        if (off <= at) a = mid;
        else b = mid;
    }
    int64_t off = r->off64 ? (int64_t)r->off64[a] : (int64_t)r->off32[a];
    if (at - off + len > r->cells[a].len)
        return err_internal(e, "a string from device %s crosses an entry", q->d->info.id);
    *out = str_make(r->cells[a].ptr + (at - off), len);
    return ST_OK;
}

/* ---- copies of dictionaries ------------------------------------------------------------------------ */
/* A result is not to point into tables. Copying the entries of a dictionary that is small beside the rows is cheaper
 * than copying each row's string. */
static Status copy_entries(const Dict *d, Arena *a, const Str **out, Err *e) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < d->n; i++) bytes += d->entries[i].len;
    Str *strs = arena_alloc(a, ((int64_t)d->n + 1) * (int64_t)sizeof *strs);
    char *at = arena_alloc(a, bytes + 1);
    if (!strs || !at) return err_oom(e);
    for (int32_t i = 0; i < d->n; i++) {
        if (d->entries[i].len) memcpy(at, d->entries[i].ptr, d->entries[i].len);
        strs[i] = str_make(at, d->entries[i].len);
        at += d->entries[i].len;
    }
    *out = strs;
    return ST_OK;
}

Status dev_query_rows_strings(DevQuery *q, int32_t rows, Arena *a, bool *lasting, Err *e) {
    DState *st = &q->rows[rows];
    const RowsSpec *spec = &q->plan->rows[rows];
    TRY(dev_query_finish(q, e));
    if (!(st->copies = arena_array(q->arena, const Str *, st->n_cols + 1))) return err_oom(e);
    for (int32_t c = 0; c < st->n_cols && c < spec->n_cols; c++) {
        const Dict *d = st->cols[c].dict;
        lasting[c] = false;
        if (spec->cols[c].phys != PH_STR || st->cols[c].phys != PH_I32 || !d || d->n > st->count / 4) continue;
        for (int32_t k = 0; k < c && !st->copies[c]; k++)
            if (st->cols[k].dict == d) st->copies[c] = st->copies[k];
        if (!st->copies[c]) TRY(copy_entries(d, a, &st->copies[c], e));
        lasting[c] = true;
    }
    return ST_OK;
}

/* ---- to the host --------------------------------------------------------------------------------------- */
typedef struct Down { /* one column of the piece that is on the host */
    const DevCol *from;
    uint8_t phys;       /* wanted */
    const Str *entries; /* of codes */
    const char *data;
    const uint8_t *valid;
    int32_t slot; /* among the string columns */
} Down;

static Status decode_codes(const Down *c, const int32_t *code, const uint8_t *valid, int64_t n, Str *out, Err *e) {
    int32_t codes = c->from->dict->n;
    for (int64_t i = 0; i < n; i++) {
        if (valid && !valid[i]) out[i] = str_make("", 0);
        else if (code[i] < 0 || code[i] >= codes)
            return err_internal(e, "code %d of a dictionary of %d", (int)code[i], (int)codes);
        else out[i] = c->entries[code[i]];
    }
    return ST_OK;
}

static Status vector_of(DevQuery *q, const Down *c, Str *strs, int64_t first, int64_t n, Vec *out, Err *e) {
    int64_t size = phys_size((Phys)c->from->phys);
    const char *data = c->data + first * size;
    const uint8_t *valid = c->valid ? c->valid + first : NULL;
    *out = (Vec){
        .data = (void *)(uintptr_t)data, .valid = (uint8_t *)(uintptr_t)valid, .phys = c->phys, .type = c->from->type};
    if (c->phys != PH_STR) return ST_OK;
    out->data = strs;
    if (c->from->phys != PH_STR) return decode_codes(c, (const int32_t *)(const void *)data, valid, n, strs, e);
    for (int64_t i = 0; i < n; i++) {
        uint64_t cell[2];
        memcpy(cell, data + i * 16, 16);
        if (valid && !valid[i]) strs[i] = str_make("", 0);
        else TRY(translate(q, cell[0], (int64_t)cell[1], &strs[i], e));
    }
    return ST_OK;
}

/* The piece that is on the host, vector by vector, by as many workers as there are. */
typedef struct Handing {
    DevQuery *q;
    Down *cols;
    int32_t n_cols, n_strs;
    int64_t n, order; /* rows of the piece; number of its first vector */
    int workers;
    Vec *vecs; /* n_cols of each worker */
    Str *strs; /* n_strs vectors of each worker */
    RowsFn fn;
    void *ctx;
    _Atomic int64_t next;
    _Atomic bool failed;
    Err *e;
} Handing;

static Status hand_vector(Handing *h, int worker, int64_t first, Err *e) {
    int64_t n = MIN_OF((int64_t)VECTOR, h->n - first);
    Vec *vecs = h->vecs + (int64_t)worker * h->n_cols;
    for (int32_t c = 0; c < h->n_cols; c++) {
        Str *strs = h->strs + ((int64_t)worker * h->n_strs + h->cols[c].slot) * VECTOR;
        TRY(vector_of(h->q, &h->cols[c], strs, first, n, &vecs[c], e));
    }
    TRY(h->fn(h->ctx, worker, h->order + first / VECTOR, n, vecs, e));
    return query_check_cancel(h->q, e);
}
static void hand_worker(void *ctx, int worker) {
    Handing *h = ctx;
    Err err;
    err_clear(&err);
    for (;;) {
        int64_t first = atomic_fetch_add(&h->next, VECTOR);
        if (first >= h->n || atomic_load(&h->failed)) return;
        if (hand_vector(h, worker, first, &err) == ST_OK) continue;
        if (!atomic_exchange(&h->failed, true)) err_copy(h->e, &err); /* read when all are done */
        return;
    }
}
static Status hand_piece(Handing *h, int64_t n) {
    h->n = n;
    atomic_store(&h->next, 0);
    int64_t vectors = (n + VECTOR - 1) / VECTOR;
    int workers = (int)MIN_OF((int64_t)h->workers, vectors);
    if (workers > 1) pool_run(h->q->opt.pool, workers, hand_worker, h);
    else hand_worker(h, 0);
    h->order += vectors;
    return atomic_load(&h->failed) ? ST_ERROR : ST_OK;
}

/* Rows [first, first + n) of all columns into the pinned buffer. */
static Status fetch_piece(DevQuery *q, const DState *st, Down *cols, int64_t first, int64_t n, Err *e) {
    Lane *l = q->lane;
    TRY(device_pinned_need(q->d, &l->down, DOWN_BYTES, e));
    int64_t at = 0;
    for (int32_t c = 0; c < st->n_cols; c++) {
        int64_t size = phys_size((Phys)st->cols[c].phys);
        char *to = (char *)l->down.p + at;
        TRY(q->d->ops->copy_out(l->queue, to, st->data[c] + (uint64_t)(first * size), n * size, e));
        cols[c].data = to;
        at += align_up(n * size, 64);
        cols[c].valid = NULL;
        if (!st->valid[c]) continue;
        to = (char *)l->down.p + at;
        TRY(q->d->ops->copy_out(l->queue, to, st->valid[c] + (uint64_t)first, n, e));
        cols[c].valid = (const uint8_t *)to;
        at += align_up(n, 64);
    }
    return query_sync(q, e);
}

/* ---- strings of rows that only the device has ----------------------------------------------------------- */
static const DeviceRows *device_rows_of(const DevQuery *q) {
    for (int32_t i = 0; i < q->n; i++) {
        const Source *s = &q->segs[i].p->source;
        if (s->kind == SRC_TABLE && s->table->on_device) return s->table->on_device;
    }
    return NULL;
}
typedef struct Gather {
    DeviceText *list;
    int64_t n, most, bytes;
    char *here;
    DevMem there;
} Gather;
/* Puts the piece's cells that refer to such strings on the list, and, the second time, has them refer to copies. */
static void each_text(const DevQuery *q, const Down *cols, int32_t n_cols, int64_t n, Gather *g, bool refer) {
    int64_t at = 0;
    for (int32_t c = 0; c < n_cols; c++) {
        if (cols[c].from->phys != PH_STR) continue;
        for (int64_t i = 0; i < n; i++) {
            if (cols[c].valid && !cols[c].valid[i]) continue;
            uint64_t cell[2], *where = (uint64_t *)(uintptr_t)(cols[c].data + i * 16); /* in the pinned buffer */
            memcpy(cell, where, sizeof cell);
            if (cell[1] == 0 || range_of(q, cell[0], (int64_t)cell[1])) continue;
            if (refer) {
                where[0] = g->there.p + g->list[at++].place;
                continue;
            }
            g->list[g->n++] = (DeviceText){cell[0], cell[1], (uint64_t)g->bytes};
            g->bytes += (int64_t)cell[1];
        }
    }
}
static Status bring_texts(DevQuery *q, const DeviceRows *rows, Gather *g, Err *e) {
    int64_t list_bytes = align_up(g->n * (int64_t)sizeof *g->list, 256);
    if (!(g->here = mem_alloc(q->account, g->bytes, e))) return ST_ERROR;
    TRY(query_mem_get(q, list_bytes + g->bytes, &g->there, e));
    Upload u = {.from = g->list, .bytes = g->n * (int64_t)sizeof *g->list};
    TRY(query_upload(q, g->there.p, &u, 1, e));
    q->busy = true;
    TRY(rows->texts(rows, q->lane->queue, g->n, g->there.p, g->there.p + (uint64_t)list_bytes, e));
    TRY(q->d->ops->copy_out(q->lane->queue, g->here, g->there.p + (uint64_t)list_bytes, g->bytes, e));
    for (int64_t i = 0; i < g->n; i++) g->list[i].place += (uint64_t)list_bytes;
    return query_sync(q, e);
}
/* The piece that is on the host, with the strings that it needs. */
static Status hand_with_texts(DevQuery *q, const DeviceRows *rows, Handing *h, int64_t n, Err *e) {
    Gather g = {0};
    for (int32_t c = 0; c < h->n_cols; c++) g.most += h->cols[c].from->phys == PH_STR ? n : 0;
    if (!(g.list = mem_alloc(q->account, g.most * (int64_t)sizeof *g.list + 1, e))) return ST_ERROR;
    each_text(q, h->cols, h->n_cols, n, &g, false);
    Status st = g.n > 0 ? bring_texts(q, rows, &g, e) : ST_OK;
    if (st == ST_OK && g.n > 0) {
        each_text(q, h->cols, h->n_cols, n, &g, true);
        q->ranges.gathered = (HostRange){.base = g.there.p + g.list[0].place, .bytes = g.bytes, .host = g.here};
    }
    if (st == ST_OK) st = hand_piece(h, n);
    q->ranges.gathered = (HostRange){0};
    query_mem_put(q, &g.there);
    mem_free(q->account, g.here, g.bytes);
    mem_free(q->account, g.list, g.most * (int64_t)sizeof *g.list + 1);
    return st;
}

Status dev_query_rows_to_host(DevQuery *q, int32_t rows, RowsFn fn, void *ctx, Err *e) {
    const DState *st = &q->rows[rows];
    const RowsSpec *spec = &q->plan->rows[rows];
    TRY(dev_query_finish(q, e)); /* everything is right and done */
    if (st->n_cols != spec->n_cols)
        return err_internal(e, "row store %d has %d columns on the device", (int)rows, (int)st->n_cols);
    if (st->count == 0) return ST_OK;
    Down *cols = arena_array(q->arena, Down, st->n_cols + 1);
    if (!cols) return err_oom(e);
    int64_t width = 0;
    int32_t n_strs = 0;
    bool strings = false;
    for (int32_t c = 0; c < st->n_cols; c++) {
        const Dict *dict = st->cols[c].dict;
        cols[c] = (Down){.from = &st->cols[c],
                         .phys = spec->cols[c].phys,
                         .entries = st->copies && st->copies[c] ? st->copies[c]
                                    : dict                      ? dict->entries
                                                                : NULL};
        uint8_t from = st->cols[c].phys;
        if (cols[c].phys != from && !(cols[c].phys == PH_STR && from == PH_I32 && st->cols[c].dict))
            return err_internal(e, "column %d of row store %d is %s on the device", (int)c, (int)rows,
                                phys_name((Phys)from));
        width += phys_size((Phys)from) + 1;
        strings |= from == PH_STR;
        if (cols[c].phys == PH_STR) cols[c].slot = n_strs++;
    }
    Handing h = {
        .q = q, .cols = cols, .n_cols = st->n_cols, .n_strs = n_strs, .workers = 1, .fn = fn, .ctx = ctx, .e = e};
    if (q->opt.pool)
        h.workers = (int)MAX_OF(INT64_C(1), MIN_OF((int64_t)MIN_OF(q->opt.threads, pool_threads(q->opt.pool)),
                                                   st->count / (HAND_VECTORS * VECTOR)));
    h.vecs = arena_array(q->arena, Vec, (int64_t)h.workers * st->n_cols + 1);
    h.strs = arena_alloc(q->arena, (int64_t)h.workers * n_strs * VECTOR * (int64_t)sizeof(Str) + 1);
    if (!h.vecs || !h.strs) return err_oom(e);
    if (strings) TRY(res_ranges(q, e));
    if (strings && q->ranges.len > 1)
        qsort(q->ranges.items, (size_t)q->ranges.len, sizeof *q->ranges.items, compare_ranges);
    if (q->d->info.shares_memory) {
        for (int32_t c = 0; c < st->n_cols; c++) {
            cols[c].data = (const char *)(uintptr_t)st->data[c];
            cols[c].valid = (const uint8_t *)(uintptr_t)st->valid[c];
        }
        return hand_piece(&h, st->count);
    }
    const DeviceRows *rows_there = device_rows_of(q);
    int64_t piece = (DOWN_BYTES - 128 * ((int64_t)st->n_cols + 1)) / MAX_OF(width, INT64_C(1));
    if (piece < 1) return err_internal(e, "a row of %lld bytes", (long long)width);
    for (int64_t i = 0; i < st->count; i += piece) {
        int64_t n = MIN_OF(piece, st->count - i);
        TRY(fetch_piece(q, st, cols, i, n, e));
        TRY(strings && rows_there ? hand_with_texts(q, rows_there, &h, n, e) : hand_piece(&h, n));
    }
    return ST_OK;
}
