/* device_copy.c - copies of an image's arrays on a device; see device_copy.h. Each is a span of device memory, which
 * grows where it is if the device can. */
#include "txn/store/device_copy.h"

#include "base/log.h"
#include "base/mem.h"
#include "txn/store/device_rows.h"
#include "txn/store/device_kernels.h"
#include "txn/store/store_int.h"

typedef struct Piece {
    void *host;
    int64_t bytes, row_bytes; /* row_bytes 0: not by row */
    DevSpan at;
    bool zeros; /* behind the rows that there are: marks and strings of unused row numbers are read */
    bool changed;
} Piece;
/* Shared by the readers of the strings of a copy, and the copy itself. */
struct TextHold {
    _Atomic int64_t refs;
    Device *d;
    DevSpan at;   /* the bytes, once the copy has given them up */
    int64_t used; /* of them, when a hold was taken last */
    MemAccount *account;
};
struct DeviceCopy {
    Device *d;
    ImageKernels kernels;
    int64_t generation, version;
    bool current, newer;
    uint64_t uploaded;
    uint64_t changes; /* device_copy_changes */
    bool broken;      /* a kernel that changes the copy failed: its contents are undefined */
    char *stage;      /* fetched, not committed */
    int64_t stage_bytes;
    int32_t texts; /* the piece of strings, -1 none: both have the same first `texts_home` bytes */
    int64_t texts_home;
    TextHold *hold; /* on these strings; NULL: none was ever asked for */
    int32_t n, cap;
    Piece pieces[];
};

static int64_t copy_size(int32_t pieces) { return (int64_t)sizeof(DeviceCopy) + pieces * (int64_t)sizeof(Piece); }

static void add(DeviceCopy *m, void *host, int64_t bytes, int64_t row_bytes) {
    if (!host) return;
    m->pieces[m->n++] = (Piece){.host = host, .bytes = bytes, .row_bytes = row_bytes, .zeros = row_bytes == 1};
}

static void describe_arrays(DeviceCopy *m, const Image *im) {
    int64_t texts = 0, used = 0;
    m->n = 0;
    m->generation = im->generation;
    m->version = im->version;
    add(m, im->live, im->cap, 1);
    add(m, im->dirty, im->cap, 1);
    for (const RowPiece *p = im->pieces; p < im->pieces + ROW_PIECES; p++) {
        add(m, p->rows, im->cap * p->stride, p->stride);
        if (p->rows) m->pieces[m->n - 1].zeros = p->texts;
    }
    for (int32_t i = 0; i < im->n_indexes; i++) {
        add(m, im->indexes[i].slots, (im->indexes[i].mask + 1) * 8, 0);
        int64_t row_bytes = 8 * image_next_cells(&im->indexes[i]);
        add(m, im->indexes[i].next, im->cap * row_bytes, row_bytes);
    }
    char *bytes = image_texts(im, &texts, &used);
    m->texts = bytes ? m->n : -1;
    add(m, bytes, texts, 0);
}
static DeviceCopy *describe(const Image *im, Err *e) {
    int32_t most = 3 + ROW_PIECES + 2 * im->n_indexes;
    DeviceCopy *m = mem_calloc(im->account, copy_size(most), e);
    if (!m) return NULL;
    m->cap = most;
    describe_arrays(m, im);
    return m;
}

void text_hold_release(TextHold *h) {
    if (!h || atomic_fetch_sub(&h->refs, 1) > 1) return;
    device_span_free(h->d, &h->at);
    mem_free(h->account, h, (int64_t)sizeof *h);
}
/* The strings' bytes at `at` are not the copy's any more. */
static void give_up_texts(DeviceCopy *m, DevSpan *at) {
    if (!m->hold) {
        device_span_free(m->d, at);
        return;
    }
    m->hold->at = *at;
    *at = (DevSpan){0};
    text_hold_release(m->hold);
    m->hold = NULL;
}
static void drop_stage(Image *im);
void device_copy_free(Image *im) {
    DeviceCopy *m = im->device_copy;
    if (!m) return;
    device_rows_free(im);
    drop_stage(im);
    for (int32_t i = 0; i < m->n; i++) {
        if (i == m->texts) give_up_texts(m, &m->pieces[i].at);
        else device_span_free(m->d, &m->pieces[i].at);
    }
    rehash_release(&m->kernels);
    mem_free(im->account, m, copy_size(m->cap));
    im->device_copy = NULL;
}

int64_t device_copy_bytes(const Image *im, const Device **of) {
    const DeviceCopy *m = im->device_copy;
    int64_t bytes = 0;
    *of = m ? m->d : NULL;
    for (int32_t i = 0; m && i < m->n; i++) bytes += m->pieces[i].at.bytes;
    return bytes;
}

/* The arrays are where and as long as they were. */
static bool fits(const DeviceCopy *m, const DeviceCopy *now) {
    if (m->n != now->n || m->generation != now->generation) return false;
    for (int32_t i = 0; i < m->n; i++)
        if (m->pieces[i].host != now->pieces[i].host || m->pieces[i].bytes != now->pieces[i].bytes) return false;
    return true;
}

/* What is in use of a piece, and how much of that both sides have. */
static int64_t used_bytes(const Image *im, const Piece *p, int64_t *from) {
    const DeviceCopy *m = im->device_copy;
    int64_t size, used = 0;
    *from = 0;
    if (m->texts < 0 || p != &m->pieces[m->texts])
        return p->row_bytes ? atomic_load(&im->rows) * p->row_bytes : p->bytes;
    (void)image_texts(im, &size, &used);
    *from = MIN_OF(m->texts_home, used);
    return used;
}

bool device_copy_has_texts(const Image *im) { return im->device_copy->texts >= 0; }
TextHold *device_copy_hold_texts(Image *im, Err *e) {
    DeviceCopy *m = im->device_copy;
    if (!m->hold) {
        MemAccount *account = im->account->parent; /* it may outlive the image */
        if (!(m->hold = mem_calloc(account, (int64_t)sizeof *m->hold, e))) return NULL;
        m->hold->d = m->d;
        m->hold->account = account;
        atomic_init(&m->hold->refs, 1);
    }
    int64_t from;
    m->hold->used = used_bytes(im, &m->pieces[m->texts], &from);
    atomic_fetch_add(&m->hold->refs, 1);
    return m->hold;
}

static Status make_spans(DeviceCopy *m, Err *e) {
    for (int32_t i = 0; i < m->n; i++)
        if (device_span_new(m->d, m->pieces[i].bytes, &m->pieces[i].at, e) != ST_OK) {
            while (i-- > 0) device_span_free(m->d, &m->pieces[i].at);
            return ST_ERROR;
        }
    return ST_OK;
}
static _Atomic uint64_t uploads = 1; /* of all images */
static void note_change(DeviceCopy *m) {
    static _Atomic uint64_t changes = 1; /* of all images */
    m->changes = atomic_fetch_add(&changes, 1);
}
uint64_t device_copy_changes(const Image *im) { return im->device_copy ? im->device_copy->changes : 0; }
ImageKernels *device_copy_kernels(const Image *im) { return &im->device_copy->kernels; }
uint64_t device_copy_uploaded(const Image *im) { return im->device_copy ? im->device_copy->uploaded : 0; }
bool device_copy_ready(const Image *im, int64_t text_room) {
    return device_copy_current(im) && image_texts_fit(im, text_room);
}
/* Bytes behind *from are about to be written: not where readers have strings. */
static Status keep_held_texts(DeviceCopy *m, int64_t *from, Err *e) {
    Piece *p = &m->pieces[m->texts];
    DevSpan fresh;
    if (!m->hold || atomic_load(&m->hold->refs) == 1 || *from >= m->hold->used) return ST_OK;
    TRY(device_span_new(m->d, p->bytes, &fresh, e));
    give_up_texts(m, &p->at);
    p->at = fresh;
    *from = 0;
    return ST_OK;
}
Status device_copy_use(Image *im, Device *d, CodeCache *cache, DevQueue *q, int64_t text_room, Err *e) {
    TRY(image_gather_texts(im, text_room, e));
    if (!im->device_copy) TRY(indexes_spread(im, e));
    DeviceCopy *now = describe(im, e);
    if (!now) return ST_ERROR;
    DeviceCopy *m = im->device_copy;
    if (m && (m->d != d || !fits(m, now))) {
        if (m->newer) {
            mem_free(im->account, now, copy_size(now->cap));
            return err_internal(e, "the image of table \"%s\" moved while a device had a newer one", im->table->name);
        }
        device_copy_free(im);
        m = NULL;
    }
    if (m) {
        mem_free(im->account, now, copy_size(now->cap));
        if (m->current && m->version == im->version) return ST_OK;
    } else {
        m = now;
        m->d = d;
        m->kernels = (ImageKernels){.d = d, .cache = cache, .account = im->account};
        if (make_spans(m, e) != ST_OK) {
            mem_free(im->account, m, copy_size(m->cap));
            return ST_ERROR;
        }
        im->device_copy = m;
        rehash_ask(&m->kernels);
    }
    m->current = false;
    note_change(m);
    m->uploaded = atomic_fetch_add(&uploads, 1);
    for (int32_t i = 0; i < m->n; i++) {
        const Piece *p = &m->pieces[i];
        int64_t from = 0, to = used_bytes(im, p, &from);
        if (i == m->texts) TRY(keep_held_texts(m, &from, e));
        if (p->zeros && to < p->bytes)
            TRY(d->ops->fill(q, p->at.at + (uint64_t)to, 0, p->bytes - to, e)); /* of rows that are not there yet */
        if (to > from) TRY(d->ops->copy_in(q, p->at.at + (uint64_t)from, (const char *)p->host + from, to - from, e));
        if (i == m->texts) m->texts_home = to;
    }
    m->version = im->version;
    m->current = true;
    return ST_OK;
}

/* ---- room ---- */
bool device_copy_current(const Image *im) {
    const DeviceCopy *m = im->device_copy;
    return m && m->current && m->version == im->version && m->generation == im->generation;
}
static Status resize_piece(DeviceCopy *m, Piece *p, int64_t bytes, Err *e) {
    DevQueue *q = m->kernels.queue;
    note_change(m);
    if (bytes < p->bytes) {
        TRY(device_span_shrink(m->d, q, &p->at, bytes, bytes, e));
        p->bytes = bytes;
        return ST_OK;
    }
    bool held = m->hold && p == &m->pieces[m->texts] && bytes > p->at.most && bytes > p->bytes;
    if (held) {
        DevSpan fresh;
        TRY(device_span_copy(m->d, q, &p->at, bytes, p->bytes, &fresh, e));
        give_up_texts(m, &p->at);
        p->at = fresh;
    } else {
        TRY(device_span_grow(m->d, q, &p->at, bytes, p->bytes, e));
    }
    if (p->zeros && p->bytes < bytes) TRY(m->d->ops->fill(q, p->at.at + (uint64_t)p->bytes, 0, bytes - p->bytes, e));
    p->bytes = bytes;
    return ST_OK;
}
/* The device could not: the host takes the image over. */
static Status give_up(Image *im, const Err *why, Err *e) {
    log_write(LOG_INFO, "the image of table \"%s\" leaves device \"%s\": %s", im->table->name,
              im->device_copy->d->info.id, why->message);
    TRY(device_copy_to_host(im, e));
    device_copy_stale(im);
    return ST_OK;
}

Status device_copy_resize(Image *im, Status (*resize)(Image *im, int64_t rows, Err *e), int64_t rows, Err *e) {
    DeviceCopy *m = im->device_copy, *now = describe(im, e);
    if (!now) return ST_ERROR;
    const int64_t began = clock_ns();
    Status st = resize(im, rows, e);
    const int64_t grown = clock_ns();
    describe_arrays(now, im);
    for (int32_t i = 0; i < m->n; i++)
        m->pieces[i].host = now->pieces[i].host; /* they moved, even if not all of them */
    Err why = {0};
    if (st != ST_OK) {
        mem_free(im->account, now, copy_size(now->cap));
        return ST_ERROR;
    }
    st = device_queue_need(m->d, &m->kernels.queue, &why);
    for (int32_t i = 0; i < m->n && st == ST_OK; i++)
        if (m->pieces[i].row_bytes) st = resize_piece(m, &m->pieces[i], now->pieces[i].bytes, &why);
    if (m->kernels.queue) st = rehash_end(&m->kernels, st, &why);
    mem_free(im->account, now, copy_size(now->cap));
    if (st != ST_OK) return give_up(im, &why, e);
    log_write(LOG_INFO,
              "the image of table \"%s\" has room for %lld rows: %.1f ms on the host, %.1f ms on device \"%s\"",
              im->table->name, (long long)rows, (double)(grown - began) / 1e6, (double)(clock_ns() - grown) / 1e6,
              m->d->info.id);
    m->generation = im->generation;
    return ST_OK;
}

bool device_copy_grow_texts(Image *im, int64_t size) {
    DeviceCopy *m = im->device_copy;
    if (!m || !m->current || m->texts < 0) return !device_copy_newer(im); /* it will be made anew */
    Err why = {0};
    if (device_queue_need(m->d, &m->kernels.queue, &why) != ST_OK) return false;
    return rehash_end(&m->kernels, resize_piece(m, &m->pieces[m->texts], size, &why), &why) == ST_OK;
}

bool device_copy_shrink_texts(Image *im, int64_t size) {
    DeviceCopy *m = im->device_copy;
    if (!m || !m->current || m->texts < 0) return !device_copy_newer(im); /* it will be made anew */
    Piece *p = &m->pieces[m->texts];
    if (p->at.most == 0 && m->hold && atomic_load(&m->hold->refs) > 1) return false; /* it would move */
    Err why = {0};
    if (device_queue_need(m->d, &m->kernels.queue, &why) != ST_OK) return false;
    return rehash_end(&m->kernels, resize_piece(m, p, size, &why), &why) == ST_OK;
}

static Piece *find(const Image *im, const void *array) {
    DeviceCopy *m = im->device_copy;
    for (int32_t i = 0; array && i < m->n; i++)
        if ((const char *)array >= (const char *)m->pieces[i].host &&
            (const char *)array < (const char *)m->pieces[i].host + m->pieces[i].bytes)
            return &m->pieces[i];
    return NULL;
}
DevPtr device_copy_address(const Image *im, const void *array) {
    const Piece *p = find(im, array);
    return p ? p->at.at + (uint64_t)((const char *)array - (const char *)p->host) : 0;
}
uint64_t device_copy_texts(const Image *im) {
    const DeviceCopy *m = im->device_copy;
    return m->texts < 0 ? 0 : m->pieces[m->texts].at.at - (uint64_t)(uintptr_t)m->pieces[m->texts].host;
}
void device_copy_text_room(Image *im, const char *room) {
    DeviceCopy *m = im->device_copy;
    m->texts_home = MIN_OF(m->texts_home, room - (const char *)m->pieces[m->texts].host);
}
void device_copy_changed(Image *im, const void *array) {
    Piece *p = find(im, array);
    if (!p) return;
    p->changed = true;
    note_change(im->device_copy);
    im->device_copy->newer = true;
}
bool device_copy_newer(const Image *im) { return im->device_copy && im->device_copy->newer; }

/* ---- indexes ---- */
DeviceImageColumn device_copy_column(const Image *im, int32_t number) {
    const ImageColumn *col = &im->cols[number];
    return (DeviceImageColumn){col->phys, device_copy_address(im, col->cells), (uint64_t)col->stride,
                               device_copy_address(im, col->valid)};
}
static void describe_table(const Image *im, const ImageIndex *x, RehashTable *t) {
    *t = (RehashTable){.slots = device_copy_address(im, x->slots),
                       .n = x->mask + 1,
                       .live = x->unique ? device_copy_address(im, im->live) : 0,
                       .rows = atomic_load(&im->rows),
                       .dense = x->dense,
                       .n_cols = x->n_cols,
                       .texts = device_copy_texts(im)};
    for (int32_t c = 0; c < x->n_cols; c++) t->cols[c] = device_copy_column(im, x->cols[c]);
}
/* From table t to one of n slots, on the device, with room for it on the host. */
static Status rehash(Image *im, ImageIndex *x, const RehashTable *t, int64_t n, Err *e) {
    DeviceCopy *m = im->device_copy;
    Piece *p = find(im, x->slots);
    DevSpan fresh = {0};
    uint64_t *slots = mem_calloc(im->account, n * 8, e);
    if (!slots) return ST_ERROR;
    Status st = device_span_new(m->d, n * 8, &fresh, e);
    if (st == ST_OK) st = image_rehash(&m->kernels, t, fresh.at, n, e);
    if (st != ST_OK) {
        device_span_free(m->d, &fresh);
        mem_free(im->account, slots, n * 8);
        return ST_ERROR;
    }
    device_span_free(m->d, &p->at);
    mem_free(im->account, x->slots, (x->mask + 1) * 8);
    *p = (Piece){.host = slots, .bytes = n * 8, .at = fresh, .changed = true};
    x->slots = slots;
    x->mask = n - 1;
    m->generation = ++im->generation;
    return ST_OK;
}
Status device_copy_rehash(Image *im, ImageIndex *x, int64_t inserts, int64_t ahead, Err *e) {
    DeviceCopy *m = im->device_copy;
    RehashTable t;
    Err why = {0};
    int64_t entries = 0, kept = 0, began = clock_ns();
    Status st = rehash_need(&m->kernels, &why);
    describe_table(im, x, &t);
    if (st == ST_OK) st = rehash_count(&m->kernels, &t, &entries, &kept, &why);
    if (st == ST_OK && !slots_suffice(t.n, entries + inserts, true)) {
        int64_t n = MAX_OF(image_slots_for(kept + ahead, true), kept * 2 > x->mask ? 2 * t.n : t.n);
        st = rehash(im, x, &t, n, &why);
        entries = kept;
        if (st == ST_OK)
            log_write(LOG_INFO,
                      "an index of table \"%s\" with %lld entries has room for %lld: %.1f ms on device \"%s\"",
                      im->table->name, (long long)kept, (long long)entries_fit(n, true),
                      (double)(clock_ns() - began) / 1e6, m->d->info.id);
    }
    if (st != ST_OK) return give_up(im, &why, e);
    x->used = entries;
    return ST_OK;
}

bool device_copy_bound(const Image *im, int32_t col, uint64_t *bound) {
    DeviceCopy *m = im->device_copy;
    RehashTable t = {.n = atomic_load(&im->rows), .live = device_copy_address(im, im->live), .n_cols = 1};
    Err why = {0};
    t.cols[0] = device_copy_column(im, col);
    Status st = rehash_need(&m->kernels, &why);
    if (st == ST_OK) st = rehash_bound(&m->kernels, &t, bound, &why);
    if (st != ST_OK)
        log_write(LOG_INFO, "additions to column \"%s\" of table \"%s\" are checked one by one: %s",
                  im->table->cols[col].name, im->table->name, why.message);
    return st == ST_OK;
}

Status device_copy_live(const Image *im, int64_t *live, Err *e) {
    DeviceCopy *m = im->device_copy;
    uint64_t found = 0;
    RehashTable t = {.n = atomic_load(&im->rows), .live = device_copy_address(im, im->live)};
    *live = t.n;
    if (t.n == 0 || !rehash_ready(&m->kernels)) return ST_OK;
    TRY(rehash_live(&m->kernels, &t, &found, e));
    *live = (int64_t)found;
    return ST_OK;
}

/* ---- strings in a new piece ---- */
static void describe_texts(const Image *im, int32_t n, const int32_t *cols, const bool *dead_too, RehashTable *t) {
    *t = (RehashTable){.n = atomic_load(&im->rows),
                       .live = device_copy_address(im, im->live),
                       .n_cols = n,
                       .texts = device_copy_texts(im)};
    for (int32_t c = 0; c < n; c++) {
        t->cols[c] = device_copy_column(im, cols[c]);
        t->cols[c].phys = dead_too[c];
    }
}
bool device_copy_text_bytes(const Image *im, int32_t n, const int32_t *cols, const bool *dead_too, int64_t *bytes) {
    DeviceCopy *m = im->device_copy;
    RehashTable t;
    Err why = {0};
    uint64_t found = 0;
    if (m->texts < 0) return false;
    describe_texts(im, n, cols, dead_too, &t);
    Status st = rehash_need(&m->kernels, &why);
    if (st == ST_OK) st = rehash_sizes(&m->kernels, &t, &found, &why);
    if (st != ST_OK)
        log_write(LOG_INFO, "strings of table \"%s\" are gathered on the host: %s", im->table->name, why.message);
    *bytes = (int64_t)found;
    return st == ST_OK;
}
Status device_copy_move_texts(Image *im, int32_t n, const int32_t *cols, const bool *dead_too, char *to, int64_t size,
                              bool *done, Err *e) {
    DeviceCopy *m = im->device_copy;
    DevSpan fresh = {0};
    RehashTable t;
    Err why = {0};
    *done = false;
    describe_texts(im, n, cols, dead_too, &t);
    if (rehash_need(&m->kernels, &why) != ST_OK || device_span_new(m->d, size, &fresh, &why) != ST_OK) {
        log_write(LOG_INFO, "strings of table \"%s\" are gathered on the host: %s", im->table->name, why.message);
    } else if (rehash_texts(&m->kernels, &t, fresh.at, (uint64_t)(uintptr_t)to, e) != ST_OK) {
        m->broken = true;
    } else {
        *done = true;
    }
    if (!*done) {
        device_span_free(m->d, &fresh);
        return m->broken ? ST_ERROR : ST_OK;
    }
    Piece *p = &m->pieces[m->texts];
    give_up_texts(m, &p->at);
    *p = (Piece){.host = to, .bytes = size, .at = fresh, .changed = true};
    m->texts_home = 0;
    for (int32_t c = 0; c < n; c++) device_copy_changed(im, im->cols[cols[c]].cells);
    return ST_OK;
}

/* ---- home ---- */
static void drop_stage(Image *im) {
    mem_free(im->account, im->device_copy->stage, im->device_copy->stage_bytes);
    im->device_copy->stage = NULL;
    im->device_copy->stage_bytes = 0;
}
Status device_copy_fetch(Image *im, Err *e) {
    DeviceCopy *m = im->device_copy;
    if (!m || !m->newer) return ST_OK;
    if (m->broken) return device_lost(m->d, e);
    int64_t bytes = 8, at = 0, from;
    for (int32_t i = 0; i < m->n; i++) bytes += m->pieces[i].changed ? used_bytes(im, &m->pieces[i], &from) : 0;
    drop_stage(im);
    if (!(m->stage = mem_alloc(im->account, bytes, e))) return ST_ERROR;
    m->stage_bytes = bytes;
    Status st = device_queue_need(m->d, &m->kernels.queue, e);
    for (int32_t i = 0; i < m->n && st == ST_OK; i++) {
        const Piece *p = &m->pieces[i];
        if (!p->changed) continue;
        int64_t n = used_bytes(im, p, &from) - from;
        if (n > 0) st = m->d->ops->copy_out(m->kernels.queue, m->stage + at, p->at.at + (uint64_t)from, n, e);
        at += n;
    }
    if (m->kernels.queue) st = rehash_end(&m->kernels, st, e);
    if (st != ST_OK) drop_stage(im);
    return st;
}
void device_copy_commit(Image *im) {
    DeviceCopy *m = im->device_copy;
    if (!m || !m->stage) return;
    log_write(LOG_INFO, "rows of table \"%s\" come to the host from device \"%s\": %lld bytes", im->table->name,
              m->d->info.id, (long long)m->stage_bytes);
    for (int64_t i = 0, at = 0, from; i < m->n; i++) {
        Piece *p = &m->pieces[i];
        if (!p->changed) continue;
        int64_t n = used_bytes(im, p, &from) - from;
        memcpy((char *)p->host + from, m->stage + at, (size_t)n);
        at += n;
        p->changed = false;
        if (i == m->texts) m->texts_home = from + n;
    }
    m->newer = false;
    drop_stage(im);
    image_drop_texts(im);
}
Status device_copy_to_host(Image *im, Err *e) {
    TRY(device_copy_fetch(im, e));
    device_copy_commit(im);
    return ST_OK;
}

void device_copy_stale(Image *im) {
    if (im->device_copy) im->device_copy->current = false;
}
