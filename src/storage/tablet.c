/* tablet.c - building and opening main tablets, and delta tablets.
 *
 * tablet_lay_out() puts encoded columns (encode.c) into a block as tablet.h says. Bulk loads change codes in it once
 * their dictionaries are known; then tablet_seal() adds the checksum.
 *
 * Delta tablets have no block: plain cells, validity bitmaps that appear with the first NULL, and a
 * heap of strings. They grow up to TABLET_ROWS rows. Cells of NULL rows are zero there too.
 */

#include "base/mutex.h"
#include "storage/storage_int.h"

static _Atomic uint64_t last_id; /* of blocks and of SharedBytes */
static uint64_t new_id(void) { return atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1; }

/* ---- main tablets ---- */
static Tablet *tablet_alloc(MemAccount *a, int n_cols, Err *e) {
    int64_t size = (int64_t)(sizeof(Tablet) + sizeof(struct TabletBlock) + sizeof(TabletColumn) * (size_t)n_cols);
    Tablet *t = mem_calloc(a, size, e);
    if (!t) return NULL;
    t->block = (struct TabletBlock *)(void *)(t + 1);
    t->cols = (TabletColumn *)(void *)(t->block + 1);
    t->block->acct = t->block->open = t->block->versions = a;
    atomic_init(&t->block->refs, 1);
    t->block->id = new_id();
    t->block->n_cols = n_cols;
    t->block->heap.acct = a;
    return t;
}

/* ---- watches ---- */
/* One lock for all tablets: it is taken where devices begin or end to use a tablet's bytes, and when a watched tablet
 * is freed. */
static Mutex watch_lock = MUTEX_INITIALIZER(RANK_TABLET_WATCH);

void tablet_watch(Tablet *t, TabletWatch *w) {
    mutex_lock(&watch_lock);
    w->next = atomic_load(&t->block->watches);
    atomic_store(&t->block->watches, w);
    mutex_unlock(&watch_lock);
}

TabletWatch *tablet_watched(const Tablet *t, const void *owner) {
    if (!atomic_load(&t->block->watches)) return NULL;
    mutex_lock(&watch_lock);
    TabletWatch *w = atomic_load(&t->block->watches);
    while (w && w->owner != owner) w = w->next;
    mutex_unlock(&watch_lock);
    return w;
}

bool tablet_unwatch(struct TabletBlock *b, TabletWatch *w) {
    mutex_lock(&watch_lock);
    TabletWatch *x = atomic_load(&b->watches), *before = NULL;
    while (x && x != w) {
        before = x;
        x = x->next;
    }
    if (x && before) before->next = w->next;
    else if (x) atomic_store(&b->watches, w->next);
    mutex_unlock(&watch_lock);
    return x != NULL;
}

static void tell_watches(struct TabletBlock *b) {
    mutex_lock(&watch_lock);
    TabletWatch *w = atomic_exchange(&b->watches, NULL);
    mutex_unlock(&watch_lock);
    for (TabletWatch *next; w; w = next) {
        next = w->next; /* `gone` may free it */
        w->gone(w);
    }
}

void tablet_free(Tablet *t) {
    if (!t) return;
    struct TabletBlock *b = t->block;
    MemAccount *a = b->acct, *open = b->open;
    if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1) return;
    if (UNLIKELY(atomic_load(&b->watches) != NULL)) tell_watches(b);
    if (b->bytes) mem_free(a, b->bytes, b->size);
    if (b->deleted) mem_free(open, b->deleted, DELETED_BYTES);
    if (b->delta) {
        for (int i = 0; i < b->n_cols; i++) {
            if (b->delta[i].share) shared_drop(b->delta[i].share);
            else if (b->delta[i].home) row_home_drop(b->delta[i].home);
            else if (b->delta[i].cells) mem_free(open, b->delta[i].cells, b->cap * b->delta[i].cell_size);
            if (b->delta[i].spare) mem_free(open, b->delta[i].spare, b->cap * b->delta[i].cell_size);
            patches_drop(b->delta[i].patches);
            if (b->delta[i].changed) mem_free(b->versions, b->delta[i].changed, (int64_t)sizeof(RowBits));
            if (b->delta[i].validity) mem_free(open, b->delta[i].validity, b->cap / 8);
        }
        mem_free(open, b->delta, (int64_t)sizeof(DeltaCol) * b->n_cols);
    }
    strheap_free(&b->heap);
    home_texts_drop(b->texts);
    mem_free(a, t, (int64_t)(sizeof(Tablet) + sizeof(struct TabletBlock) + sizeof(TabletColumn) * (size_t)b->n_cols));
}

Status tablet_ensure_deleted(Tablet *t, Err *e) {
    if (t->block->deleted) return ST_OK;
    t->block->deleted = mem_calloc(t->block->open, DELETED_BYTES, e);
    if (!t->block->deleted) return ST_ERROR;
    t->deleted = t->block->deleted;
    return ST_OK;
}

/* Fills the column views from a checked block. */
static void attach(Tablet *t) {
    const char *p = t->block->bytes;
    const TabletHeader *h = t->block->bytes;
    const TabletColDesc *d = (const TabletColDesc *)(const void *)(p + sizeof *h);
    t->rows = (int64_t)h->rows;
    for (int i = 0; i < t->block->n_cols; i++, d++) {
        TabletColumn *c = &t->cols[i];
        c->encoding = d->encoding;
        c->width = d->width;
        c->phys = d->phys;
        c->base = d->base;
        c->data = p + d->data_offset;
        if (d->encoding == ENC_STR) {
            c->offsets = (const uint32_t *)(const void *)(p + d->data_offset);
            c->var_base = p + d->var_offset;
        }
        c->validity = d->validity_offset ? (const uint64_t *)(const void *)(p + d->validity_offset) : NULL;
        c->has_minmax = (d->flags & TABLET_COL_HAS_MINMAX) != 0;
        c->min = d->min;
        c->max = d->max;
        c->null_count = d->null_count;
    }
}

static int64_t area(int64_t bytes) { return align_up(bytes + TABLET_GUARD, TABLET_ALIGN); }

/* An area's bytes, and zeros to its end, which is returned. */
static int64_t put_area(char *block, int64_t at, const void *data, int64_t bytes) {
    int64_t end = at + area(bytes);
    if (bytes) memcpy(block + at, data, (size_t)bytes);
    memset(block + at + bytes, 0, (size_t)(end - at - bytes));
    return end;
}

Status tablet_lay_out(MemAccount *a, int64_t table_id, int64_t rows, int n_cols, const EncCol *cols, Tablet **out,
                      Err *e) {
    int64_t header = (int64_t)(sizeof(TabletHeader) + sizeof(TabletColDesc) * (size_t)n_cols);
    int64_t fixed = align_up(header, TABLET_ALIGN), var = fixed;
    for (int i = 0; i < n_cols; i++) {
        var += area(cols[i].data_bytes);
        if (cols[i].validity) var += area(cols[i].validity_bytes);
    }
    int64_t size = var;
    for (int i = 0; i < n_cols; i++)
        if (cols[i].encoding == ENC_STR) size += area(cols[i].var_bytes);
    Tablet *t = tablet_alloc(a, n_cols, e);
    if (!t) return ST_ERROR;
    t->block->bytes = mem_alloc_raw(a, size, e);
    if (!t->block->bytes) {
        tablet_free(t);
        return ST_ERROR;
    }
    t->block->size = size;
    char *p = t->block->bytes;
    memset(p, 0, (size_t)fixed);
    TabletHeader *h = t->block->bytes;
    memcpy(h->magic, TABLET_MAGIC, sizeof h->magic);
    h->format = TABLET_FORMAT;
    h->header_bytes = (uint32_t)header;
    h->block_bytes = (uint64_t)size;
    h->table_id = (uint64_t)table_id;
    h->rows = (uint64_t)rows;
    h->n_cols = (uint32_t)n_cols;
    h->key_offset = (uint64_t)fixed;
    h->fixed_offset = (uint64_t)fixed;
    h->fixed_bytes = (uint64_t)(var - fixed);
    h->var_offset = (uint64_t)var;
    h->var_bytes = (uint64_t)(size - var);
    TabletColDesc *d = (TabletColDesc *)(void *)(p + sizeof *h);
    int64_t at = fixed, var_at = var;
    for (int i = 0; i < n_cols; i++, d++) {
        const EncCol *c = &cols[i];
        d->encoding = c->encoding;
        d->width = c->width;
        d->phys = c->phys;
        d->flags = c->flags;
        d->base = c->base;
        d->min = c->min;
        d->max = c->max;
        d->null_count = c->null_count;
        d->data_offset = (uint64_t)at;
        d->data_bytes = (uint64_t)c->data_bytes;
        at = put_area(p, at, c->data, c->data_bytes);
        if (c->validity) {
            d->validity_offset = (uint64_t)at;
            at = put_area(p, at, c->validity, c->validity_bytes);
        }
        if (c->encoding == ENC_STR) {
            d->var_offset = (uint64_t)var_at;
            d->var_bytes = (uint64_t)c->var_bytes;
            var_at = put_area(p, var_at, c->var, c->var_bytes);
        }
    }
    attach(t);
    *out = t;
    return ST_OK;
}

void tablet_seal(Tablet *t) {
    char *p = t->block->bytes;
    TabletHeader *h = t->block->bytes;
    h->checksum = checksum64(p + TABLET_CHECKSUM_FROM, t->block->size - TABLET_CHECKSUM_FROM);
}

Status tablet_build(MemAccount *a, int64_t table_id, int64_t rows, int n_cols, const EncCol *cols, Tablet **out,
                    Err *e) {
    TRY(tablet_lay_out(a, table_id, rows, n_cols, cols, out, e));
    tablet_seal(*out);
    return ST_OK;
}

void tablet_put_codes(Tablet *t, int col, const EncCol *c) {
    char *p = t->block->bytes;
    TabletColDesc *d = (TabletColDesc *)(void *)(p + sizeof(TabletHeader)) + col;
    TabletColumn *v = &t->cols[col];
    if (c->data_bytes) memmove(p + d->data_offset, c->data, (size_t)c->data_bytes);
    v->base = d->base = c->base;
    v->min = d->min = c->min;
    v->max = d->max = c->max;
}

/* ---- checking foreign bytes ---- */
/* An aligned area of `bytes` with its guard inside [from, to). */
static bool area_ok(uint64_t offset, uint64_t bytes, uint64_t from, uint64_t to) {
    return offset % TABLET_ALIGN == 0 && offset >= from && offset <= to && bytes <= to - offset &&
           to - offset - bytes >= TABLET_GUARD;
}

static bool desc_ok(const char *p, const TabletHeader *h, const TabletColDesc *d) {
    uint64_t rows = h->rows, fixed_end = h->fixed_offset + h->fixed_bytes, want;
    if (d->encoding > ENC_STR || d->phys >= PH_COUNT_ || d->null_count < 0 || (uint64_t)d->null_count > rows)
        return false;
    if (d->encoding == ENC_FOR) {
        static const uint8_t widths[] = {0, 1, 2, 4, 8, 16, 24, 32, 64};
        if (!phys_is_int(d->phys) || !memchr(widths, d->width, sizeof widths)) return false;
        want = (rows * d->width + 7) / 8;
        if ((d->flags & TABLET_COL_HAS_MINMAX) && d->min > d->max) return false;
    } else if (d->encoding == ENC_PLAIN) {
        if (d->phys == PH_STR) return false;
        want = rows * (uint64_t)phys_size((Phys)d->phys);
    } else {
        want = (rows + 1) * 4;
    }
    if (d->data_bytes != want || !area_ok(d->data_offset, want, h->fixed_offset, fixed_end)) return false;
    if (d->validity_offset && !area_ok(d->validity_offset, (rows + 63) / 64 * 8, h->fixed_offset, fixed_end))
        return false;
    if ((d->null_count > 0) != (d->validity_offset != 0)) return false;
    if (d->encoding != ENC_STR) return true;
    if (!area_ok(d->var_offset, d->var_bytes, h->var_offset, h->var_offset + h->var_bytes)) return false;
    const uint32_t *off = (const uint32_t *)(const void *)(p + d->data_offset);
    if (off[0] != 0 || off[rows] != d->var_bytes) return false;
    bool ok = true;
    for (uint64_t i = 0; i < rows; i++) ok &= off[i] <= off[i + 1];
    return ok;
}

Status tablet_check_block(const void *bytes, int64_t size, const char *what, int64_t at, Err *e) {
    const TabletHeader *h = bytes;
    const char *p = bytes;
    uint64_t n = (uint64_t)size;
    if (size < (int64_t)sizeof *h || memcmp(h->magic, TABLET_MAGIC, sizeof h->magic) != 0)
        return err_corrupted(e, what, at, "not a tablet");
    if (h->format != TABLET_FORMAT) return err_corrupted(e, what, at + 8, "unknown tablet format");
    if (h->block_bytes != n) return err_corrupted(e, what, at + TABLET_CHECKSUM_FROM, "tablet has another size");
    if (!checksum_matches(p + TABLET_CHECKSUM_FROM, size - TABLET_CHECKSUM_FROM, h->checksum))
        return err_corrupted(e, what, at, "tablet checksum does not match");
    uint64_t header = sizeof(TabletHeader) + sizeof(TabletColDesc) * (uint64_t)h->n_cols;
    if (h->rows > TABLET_ROWS || header > n || h->header_bytes != header || h->fixed_offset < header ||
        h->fixed_offset > n || h->fixed_bytes > n - h->fixed_offset ||
        h->var_offset != h->fixed_offset + h->fixed_bytes || h->var_bytes != n - h->var_offset)
        return err_corrupted(e, what, at, "tablet header is invalid");
    const TabletColDesc *d = (const TabletColDesc *)(const void *)(p + sizeof *h);
    for (uint32_t i = 0; i < h->n_cols; i++)
        if (!desc_ok(p, h, &d[i]))
            return err_corrupted(e, what, at + (int64_t)((const char *)&d[i] - p), "column descriptor is invalid");
    return ST_OK;
}

Status tablet_open_block(MemAccount *a, void *bytes, int64_t size, const char *what, int64_t at, Tablet **out, Err *e) {
    TRY(tablet_check_block(bytes, size, what, at, e));
    const TabletHeader *h = bytes;
    Tablet *t = tablet_alloc(a, (int)h->n_cols, e);
    if (!t) return ST_ERROR;
    t->block->bytes = bytes;
    t->block->size = size;
    attach(t);
    *out = t;
    return ST_OK;
}

/* ---- delta tablets ---- */
static void delta_attach(Tablet *t) {
    for (int i = 0; i < t->block->n_cols; i++) {
        t->cols[i].data = t->block->delta[i].cells;
        t->cols[i].validity = t->block->delta[i].validity;
    }
}

void tablet_join(const Table *t, Tablet *tab) {
    struct TabletBlock *b = tab->block;
    dbg_assert(!b->deleted && !b->delta && !b->heap.chunks);
    b->open = table_part(t, TABLE_OPEN);
    b->versions = table_part(t, TABLE_VERSIONS);
    b->heap.acct = table_part(t, TABLE_TEXTS);
}
Status tablet_new_delta(const Table *t, Tablet **out, Err *e) {
    MemAccount *a = table_part(t, TABLE_OPEN);
    Tablet *tab = tablet_alloc(a, t->n_cols, e);
    if (!tab) return ST_ERROR;
    tab->is_delta = true;
    tablet_join(t, tab);
    tab->block->delta = mem_calloc(a, (int64_t)sizeof(DeltaCol) * t->n_cols, e);
    if (!tab->block->delta) {
        tablet_free(tab);
        return ST_ERROR;
    }
    for (int i = 0; i < t->n_cols; i++) {
        TabletColumn *c = &tab->cols[i];
        c->phys = column_phys(&t->cols[i]);
        c->encoding = c->phys == PH_STR ? ENC_STR : ENC_PLAIN;
        c->is_delta = true;
        tab->block->delta[i].cell_size = tab->block->delta[i].stride = phys_size((Phys)c->phys);
    }
    *out = tab;
    return ST_OK;
}

/* ---- cells shared with versions ---- */
SharedBytes *shared_new(MemAccount *acct, void *bytes, int64_t size, Err *e) {
    SharedBytes *s = mem_alloc(acct, (int64_t)sizeof *s, e);
    if (!s) return NULL;
    atomic_init(&s->refs, 1);
    s->id = new_id();
    s->acct = acct;
    s->bytes = bytes;
    s->size = size;
    return s;
}
void shared_drop(SharedBytes *s) {
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1) return;
    mem_free(s->acct, s->bytes, s->size);
    mem_free(s->acct, s, (int64_t)sizeof *s);
}
bool shared_take_back(SharedBytes *s) {
    if (atomic_load_explicit(&s->refs, memory_order_acquire) > 1) return false;
    mem_free(s->acct, s, (int64_t)sizeof *s);
    return true;
}

Status delta_share(Tablet *t, int col, bool logs, Err *e) {
    struct TabletBlock *b = t->block;
    DeltaCol *d = &b->delta[col];
    d->updated = d->updated && logs;
    d->updated_cells = d->updated_cells && logs;
    if (!d->cells || d->home) return ST_OK;
    if (!d->share) d->share = shared_new(b->open, d->cells, b->cap * d->cell_size, e);
    if (!d->share) return ST_ERROR;
    if (!d->updated_cells || d->spare) return ST_OK;
    d->spare = mem_alloc_raw(b->open, b->cap * d->cell_size, e);
    return d->spare ? ST_OK : ST_ERROR;
}
Status delta_unshare(Tablet *t, int col, Err *e) {
    struct TabletBlock *b = t->block;
    DeltaCol *d = &b->delta[col];
    if (!d->share) return ST_OK;
    if (shared_take_back(d->share)) {
        if (d->spare) mem_free(b->open, d->spare, b->cap * d->cell_size);
    } else {
        void *cells = d->spare ? d->spare : mem_alloc_raw(b->open, b->cap * d->cell_size, e);
        if (!cells) return ST_ERROR;
        memcpy(cells, d->cells, (size_t)MIN_OF(b->cap * d->cell_size, d->share->size));
        shared_drop(d->share);
        d->cells = cells;
        t->cols[col].data = cells;
    }
    d->spare = NULL;
    d->share = NULL;
    return ST_OK;
}

/* A home's cells are not the tablet's to resize. */
static void *resize_cells(const struct TabletBlock *b, const DeltaCol *c, int64_t from, int64_t to, Err *e) {
    return c->home ? c->cells : mem_realloc(b->open, c->cells, from * c->cell_size, to * c->cell_size, e);
}
/* Room for `rows` rows, at most TABLET_ROWS. Capacity is a multiple of 64. When it fails part of the way,
 * the columns that grew already go back to the old size. */
Status delta_reserve(Tablet *t, int64_t rows, Err *e) {
    struct TabletBlock *b = t->block;
    if (rows <= b->cap) return ST_OK;
    int64_t cap = b->cap ? b->cap : 64;
    while (cap < rows) cap *= 2;
    for (int c = 0; c < b->n_cols; c++) TRY(delta_unshare(t, c, e));
    int i = 0;
    for (; i < b->n_cols; i++) {
        DeltaCol *c = &b->delta[i];
        void *cells = resize_cells(b, c, b->cap, cap, e);
        if (!cells) goto undo;
        c->cells = cells;
        if (c->validity) {
            uint64_t *v = mem_realloc(b->open, c->validity, b->cap / 8, cap / 8, e);
            if (!v) {
                Err ignored = {0};
                if (b->cap) {
                    void *back = resize_cells(b, c, cap, b->cap, &ignored);
                    c->cells = back ? back : c->cells;
                }
                goto undo;
            }
            memset((char *)v + b->cap / 8, 0xff, (size_t)((cap - b->cap) / 8));
            c->validity = v;
        }
    }
    b->cap = cap;
    delta_attach(t);
    return ST_OK;
undo:
    /* Sizes are remembered once for all columns, so the grown ones must shrink again. */
    for (int k = 0; k < i; k++) {
        DeltaCol *c = &b->delta[k];
        Err ignored = {0};
        if (b->cap == 0 && !c->home) {
            mem_free(b->open, c->cells, cap * c->cell_size);
            c->cells = NULL;
            continue;
        }
        void *back = resize_cells(b, c, cap, b->cap, &ignored);
        c->cells = back ? back : c->cells;
        if (c->validity) {
            back = mem_realloc(b->open, c->validity, cap / 8, b->cap / 8, &ignored);
            c->validity = back ? back : c->validity;
        }
    }
    delta_attach(t);
    return ST_ERROR;
}

static bool is_open(const Tablet *t, int col) { return t->cols[col].is_delta; }
bool tablet_has_open(const Tablet *t) {
    bool open = t->is_delta;
    for (int c = 0; !open && c < t->block->n_cols; c++) open = is_open(t, c);
    return open;
}
bool tablet_has_patches(const Tablet *t) {
    bool patched = false;
    for (int c = 0; !patched && c < t->block->n_cols; c++) patched = t->cols[c].patches != NULL;
    return patched;
}
int64_t table_loose_rows(const Table *t) {
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_tablets; i++) {
        const Tablet *tab = t->tablets[i];
        int64_t patched = 0;
        for (int c = 0; c < t->n_cols; c++)
            if (tab->cols[c].patches) patched = MAX_OF(patched, tablet_patched_rows(tab, c));
        n += tablet_has_open(tab) ? tab->rows : patched + tab->n_deleted;
    }
    return n;
}
/* The cells of a main tablet's column, with patches, into d; which of them are there are bits of its own. */
static Status copy_packed(const Table *t, Tablet *tab, int col, DeltaCol *d, Err *e) {
    const TabletColumn *c = &tab->cols[col];
    MemAccount *a = tab->block->open;
    int64_t cap = tab->block->cap;
    uint8_t *valid = c->validity ? mem_alloc(a, tab->rows, e) : NULL;
    d->cells = mem_alloc_raw(a, cap * d->cell_size, e);
    bool ok = d->cells && (!c->validity || valid), nulls;
    ok = ok && (!c->validity || tablet_ensure_validity(tab, col, e) == ST_OK);
    if (ok) {
        tablet_decode(t, tab, col, 0, NULL, tab->rows, c->phys, d->cells, valid, &nulls);
        memset((char *)d->cells + tab->rows * d->cell_size, 0, (size_t)((cap - tab->rows) * d->cell_size));
    }
    for (int64_t r = 0; ok && valid && r < tab->rows; r++)
        if (!valid[r]) memset((char *)d->cells + r * d->cell_size, 0, (size_t)d->cell_size);
    if (valid) mem_free(a, valid, tab->rows);
    if (ok) return ST_OK;
    if (d->cells) mem_free(a, d->cells, cap * d->cell_size);
    d->cells = NULL;
    return ST_ERROR;
}
Status tablet_ensure_open_columns(Tablet *tab, Err *e) {
    struct TabletBlock *b = tab->block;
    if (b->delta) return ST_OK;
    b->delta = mem_calloc(b->open, (int64_t)sizeof(DeltaCol) * b->n_cols, e);
    if (!b->delta) return ST_ERROR;
    b->cap = align_up(MAX_OF(tab->rows, 1), 64);
    return ST_OK;
}
/* A packed column has integers of more than 64 bits: it has no bounds, and gets none. */
static bool is_wide(const Tablet *tab, int col) {
    const TabletColumn *c = &tab->cols[col];
    return c->encoding == ENC_PLAIN && phys_is_int(c->phys) && !c->has_minmax && c->null_count < tab->rows;
}
void tablet_mark_open(Tablet *tab, int col) {
    TabletColumn *c = &tab->cols[col];
    DeltaCol *d = &tab->block->delta[col];
    d->wide = d->wide || is_wide(tab, col);
    d->updated_cells = d->updated;
    patches_drop(d->patches);
    d->patches = c->patches = NULL;
    c->encoding = c->phys == PH_STR ? ENC_STR : ENC_PLAIN;
    c->is_delta = true;
    c->width = 0;
    c->base = 0;
    c->data = d->cells;
    c->offsets = NULL;
    c->var_base = NULL;
    c->validity = d->validity;
    tab->block->changes++;
}
Status tablet_open_column(const Table *t, Tablet *tab, int col, Err *e) {
    if (is_open(tab, col)) return ST_OK;
    TRY(tablet_ensure_open_columns(tab, e));
    DeltaCol *d = &tab->block->delta[col];
    d->cell_size = d->stride = phys_size((Phys)tab->cols[col].phys);
    TRY(copy_packed(t, tab, col, d, e));
    tablet_mark_open(tab, col);
    return ST_OK;
}

/* ---- forks ---- */
/* An open column's cells, shared, and a column's patches. */
static void fork_column(Tablet *t, const Tablet *of, int col) {
    TabletColumn *c = &t->cols[col];
    DeltaCol *d = &t->block->delta[col];
    SharedBytes *share = c->is_delta ? version_cells(of, col) : NULL;
    d->cell_size = d->stride = phys_size((Phys)c->phys);
    d->wide = is_wide(t, col);
    d->patches = c->patches;
    if (d->patches) atomic_fetch_add_explicit(&d->patches->refs, 1, memory_order_relaxed);
    if (!share) return;
    atomic_fetch_add_explicit(&share->refs, 1, memory_order_relaxed);
    d->share = share;
    d->cells = share->bytes;
}
Status tablet_fork(const Table *t, const Tablet *of, Tablet **out, Err *e) {
    Tablet *tab = tablet_alloc(table_part(t, TABLE_OPEN), t->n_cols, e);
    if (!tab) return ST_ERROR;
    tablet_join(t, tab);
    struct TabletBlock *b = tab->block;
    tab->rows = of->rows;
    tab->is_delta = of->is_delta;
    memcpy(tab->cols, of->cols, sizeof *tab->cols * (size_t)t->n_cols);
    b->published = of->rows;
    bool ok = tablet_ensure_open_columns(tab, e) == ST_OK;
    for (int c = 0; ok && c < t->n_cols; c++) fork_column(tab, of, c);
    if (ok && of->deleted) ok = tablet_ensure_deleted(tab, e) == ST_OK;
    if (!ok) {
        tablet_free(tab);
        return ST_ERROR;
    }
    if (of->deleted) memcpy(b->deleted, of->deleted, DELETED_BYTES);
    tab->n_deleted = of->n_deleted;
    *out = tab;
    return ST_OK;
}

/* ---- patches ---- */
static Status begin_patches(Tablet *tab, int col, Err *e) {
    TabletColumn *c = &tab->cols[col];
    TRY(tablet_ensure_open_columns(tab, e));
    DeltaCol *d = &tab->block->delta[col];
    int64_t size = phys_size((Phys)c->phys);
    Patches *p = patches_new(tab->block->open, size, e);
    if (!p) return ST_ERROR;
    p->has_minmax = c->has_minmax;
    p->min = c->min;
    p->max = c->max;
    d->cell_size = size;
    if (!c->is_delta) d->wide = is_wide(tab, col);
    d->patches = c->patches = p;
    return ST_OK;
}
/* Patched cells of an open column go to where they belong, which no version shares any more. */
static void settle_patches(Tablet *tab, int col) {
    TabletColumn *c = &tab->cols[col];
    DeltaCol *d = &tab->block->delta[col];
    if (!d->patches) return;
    PatchScan s = {.p = d->patches, .n = tab->rows};
    int64_t row;
    for (const void *cell; (cell = patch_scan_next(&s, &row));) memcpy(delta_cell(d, row), cell, (size_t)d->cell_size);
    d->updated_cells = d->updated;
    patches_drop(d->patches);
    d->patches = c->patches = NULL;
}
Status delta_begin_update(Tablet *tab, int col, int64_t fresh, bool crowded, Err *e) {
    const DeltaCol *d = &tab->block->delta[col];
    if (!crowded && d->share && atomic_load_explicit(&d->share->refs, memory_order_acquire) > 1)
        return fresh == 0 || d->patches ? ST_OK : begin_patches(tab, col, e);
    TRY(delta_unshare(tab, col, e));
    settle_patches(tab, col);
    return ST_OK;
}
Status tablet_patch_cell(const Table *t, Tablet *tab, int col, int64_t row, void **cell, Err *e) {
    TabletColumn *c = &tab->cols[col];
    char now[16] = {0};
    uint8_t valid = 1;
    int32_t pos = (int32_t)row;
    bool nulls;
    if (!c->patches) TRY(begin_patches(tab, col, e));
    if (!column_patch(c, row)) {
        tablet_decode(t, tab, col, 0, &pos, 1, c->phys, now, &valid, &nulls);
        if (nulls && !valid) memset(now, 0, sizeof now);
    }
    DeltaCol *d = &tab->block->delta[col];
    Status st = patches_put(&d->patches, row, now, cell, e);
    c->patches = d->patches;
    return st;
}

EncCol tablet_packed_column(const Tablet *tab, int col) {
    char *p = tab->block->bytes;
    const TabletHeader *h = tab->block->bytes;
    const TabletColDesc *d = (const TabletColDesc *)(const void *)(p + sizeof *h) + col;
    EncCol c = {.encoding = d->encoding,
                .width = d->width,
                .phys = d->phys,
                .flags = d->flags,
                .base = d->base,
                .min = d->min,
                .max = d->max,
                .null_count = d->null_count,
                .data = p + d->data_offset,
                .data_bytes = (int64_t)d->data_bytes};
    if (d->validity_offset) {
        c.validity = (uint64_t *)(void *)(p + d->validity_offset);
        c.validity_bytes = (tab->rows + 63) / 64 * 8;
    }
    if (d->encoding == ENC_STR) {
        c.var = p + d->var_offset;
        c.var_bytes = (int64_t)d->var_bytes;
    }
    return c;
}
static Status encode_column(const Table *t, const Tablet *tab, int col, MemAccount *a, uint8_t *valid, EncCol *out,
                            Err *e) {
    const TabletColumn *c = &tab->cols[col];
    int64_t bytes = c->stride || c->patches ? MAX_OF(tab->rows, 1) * phys_size((Phys)c->phys) : 0;
    char *cells = NULL;
    bool nulls;
    if (bytes && !(cells = mem_alloc(a, bytes, e))) return ST_ERROR;
    ColSeg seg = {cells ? cells : c->data, c->validity ? valid : NULL, tab->rows};
    if (c->patches) tablet_decode(t, tab, col, 0, NULL, tab->rows, c->phys, cells, valid, &nulls);
    else column_copy_cells(c, 0, tab->rows, cells, c->validity ? valid : NULL);
    Status st = t->cols[col].dict        ? enc_codes(a, NULL, &seg, 1, tab->rows, out, e)
                : c->encoding == ENC_STR ? enc_strings(a, &seg, 1, tab->rows, out, e)
                                         : enc_fixed(a, c->phys, &seg, 1, tab->rows, out, e);
    if (cells) mem_free(a, cells, bytes);
    return st;
}
static bool is_as_built(const Tablet *tab, int col) { return !is_open(tab, col) && !tab->cols[col].patches; }
Status tablet_encode_with(const Table *t, const Tablet *tab, const bool *is_set, const EncCol *cols, MemAccount *tmp,
                          MemAccount *a, Tablet **out, Err *e) {
    Status st = ST_OK;
    int64_t enc_bytes = (int64_t)sizeof(EncCol) * MAX_OF(t->n_cols, 1);
    EncCol *enc = mem_calloc(tmp, enc_bytes, e);
    uint8_t *valid = mem_alloc(tmp, TABLET_ROWS, e);
    if (!enc || !valid) st = ST_ERROR;
    for (int i = 0; st == ST_OK && i < t->n_cols; i++) {
        if (is_set && is_set[i]) enc[i] = cols[i];
        else if (is_as_built(tab, i)) enc[i] = tablet_packed_column(tab, i);
        else st = encode_column(t, tab, i, tmp, valid, &enc[i], e);
    }
    if (st == ST_OK) st = tablet_build(a, t->id, tab->rows, t->n_cols, enc, out, e);
    for (int i = 0; enc && i < t->n_cols; i++)
        if (!(is_set && is_set[i]) && !is_as_built(tab, i)) enc_release(tmp, &enc[i]);
    if (enc) mem_free(tmp, enc, enc_bytes);
    if (valid) mem_free(tmp, valid, TABLET_ROWS);
    return st;
}
Status tablet_encode(const Table *t, const Tablet *tab, MemAccount *a, Tablet **out, Err *e) {
    return tablet_encode_with(t, tab, NULL, NULL, a, a, out, e);
}

/* Of what the tablet, or a version of it, has: its writer may go on meanwhile. */
int64_t tablet_bytes(const Tablet *tab) {
    int64_t bytes = tab->block->size + tablet_text_bytes(tab);
    if (tab->deleted) bytes += DELETED_BYTES;
    for (int c = 0; c < tab->block->n_cols; c++) {
        if (is_open(tab, c)) bytes += tab->rows * phys_size((Phys)tab->cols[c].phys);
        if (tab->cols[c].patches) bytes += patches_bytes(tab->cols[c].patches);
    }
    return bytes;
}
