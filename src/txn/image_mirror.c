/* image_mirror.c - copies of an image's arrays on a device; see image_mirror.h. One block of device memory holds all of them. */
#include "txn/image_mirror.h"

#include "base/mem.h"

enum { PIECE_ALIGN = 256 };

typedef struct Piece {
    void *host;
    int64_t bytes, row_bytes; /* row_bytes 0: not by row */
    int64_t offset;
    bool zeros;    /* behind the rows that there are */
    bool changed;
} Piece;
struct ImageMirror {
    Device *d;
    DevPtr base;
    int64_t bytes;
    int64_t generation, version;
    bool current, ahead;
    char *stage; /* fetched, not committed */
    int64_t stage_bytes;
    int32_t texts;      /* the piece of strings, -1 none: both have the same first `texts_home` bytes */
    int64_t texts_home;
    int32_t n, cap;
    Piece pieces[];
};

static int64_t mirror_size(int32_t pieces) { return (int64_t)sizeof(ImageMirror) + pieces * (int64_t)sizeof(Piece); }

static void add(ImageMirror *m, void *host, int64_t bytes, int64_t row_bytes) {
    if (!host) return;
    m->pieces[m->n++] = (Piece){.host = host, .bytes = bytes, .row_bytes = row_bytes, .offset = m->bytes, .zeros = row_bytes == 1};
    m->bytes += align_up(bytes, PIECE_ALIGN);
}

static void describe_arrays(ImageMirror *m, const Image *im) {
    int64_t texts = 0, used = 0;
    m->n = 0;
    m->bytes = 0;
    m->generation = im->generation;
    m->version = im->version;
    add(m, im->live, im->cap, 1);
    add(m, im->dirty, im->cap, 1);
    add(m, im->rowids, im->cap * 8, 8);
    for (const ImagePart *p = im->parts; p < im->parts + IMAGE_PARTS; p++) {
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
static ImageMirror *describe(const Image *im, Err *e) {
    int32_t most = 4 + IMAGE_PARTS + 2 * im->n_indexes;
    ImageMirror *m = mem_calloc(im->account, mirror_size(most), e);
    if (!m) return NULL;
    m->cap = most;
    describe_arrays(m, im);
    return m;
}

static void drop_stage(Image *im);
void image_mirror_free(Image *im) {
    ImageMirror *m = im->mirror;
    if (!m) return;
    drop_stage(im);
    if (m->base) m->d->ops->free(m->d, m->base, m->bytes);
    mem_free(im->account, m, mirror_size(m->cap));
    im->mirror = NULL;
}

/* The arrays are where and as long as they were. */
static bool fits(const ImageMirror *m, const ImageMirror *now) {
    if (m->n != now->n || m->generation != now->generation || m->bytes != now->bytes) return false;
    for (int32_t i = 0; i < m->n; i++)
        if (m->pieces[i].host != now->pieces[i].host || m->pieces[i].bytes != now->pieces[i].bytes) return false;
    return true;
}

/* What is in use of a piece, and how much of that both sides have. */
static int64_t used_bytes(const Image *im, const Piece *p, int64_t *from) {
    const ImageMirror *m = im->mirror;
    int64_t size, used = 0;
    *from = 0;
    if (m->texts < 0 || p != &m->pieces[m->texts]) return p->row_bytes ? atomic_load(&im->rows) * p->row_bytes : p->bytes;
    (void)image_texts(im, &size, &used);
    *from = MIN_OF(m->texts_home, used);
    return used;
}

Status image_mirror_use(Image *im, Device *d, DevQueue *q, int64_t text_room, Err *e) {
    TRY(image_gather_texts(im, text_room, e));
    ImageMirror *now = describe(im, e);
    if (!now) return ST_ERROR;
    ImageMirror *m = im->mirror;
    if (m && (m->d != d || !fits(m, now))) {
        if (m->ahead) {
            mem_free(im->account, now, mirror_size(now->cap));
            return err_internal(e, "the image of table \"%s\" moved while a device had a newer one", im->table->name);
        }
        image_mirror_free(im);
        m = NULL;
    }
    if (m) {
        mem_free(im->account, now, mirror_size(now->cap));
        if (m->current && m->version == im->version) return ST_OK;
    } else {
        m = now;
        m->d = d;
        if (d->ops->alloc(d, m->bytes, &m->base, e) != ST_OK) {
            mem_free(im->account, m, mirror_size(m->cap));
            return ST_ERROR;
        }
        im->mirror = m;
    }
    m->current = false;
    for (int32_t i = 0; i < m->n; i++) {
        const Piece *p = &m->pieces[i];
        int64_t from = 0, to = used_bytes(im, p, &from);
        if (p->zeros && to < p->bytes) TRY(d->ops->fill(q, m->base + (uint64_t)(p->offset + to), 0, p->bytes - to, e)); /* of rows that are not there yet */
        if (to > from) TRY(d->ops->copy_in(q, m->base + (uint64_t)(p->offset + from), (const char *)p->host + from, to - from, e));
        if (i == m->texts) m->texts_home = to;
    }
    m->version = im->version;
    m->current = true;
    return ST_OK;
}

Status image_mirror_grow(Image *im, Status (*grow)(Image *im, int64_t rows, Err *e), int64_t rows, Err *e) {
    ImageMirror *m = im->mirror, *now = describe(im, e);
    if (!now) return ST_ERROR;
    Status st = grow(im, rows, e);
    describe_arrays(now, im);
    for (int32_t i = 0; i < m->n; i++) m->pieces[i].host = now->pieces[i].host; /* they moved, even if not all of them */
    DevQueue *q = NULL;
    Err why = {0};
    if (st != ST_OK) {
        mem_free(im->account, now, mirror_size(now->cap));
        return ST_ERROR;
    }
    st = m->d->ops->alloc(m->d, now->bytes, &now->base, &why);
    if (st == ST_OK) st = m->d->ops->queue_new(m->d, &q, &why);
    for (int32_t i = 0; i < m->n && st == ST_OK; i++) {
        const Piece *p = &now->pieces[i];
        int64_t had = MIN_OF(m->pieces[i].bytes, p->bytes);
        st = m->d->ops->copy(q, now->base + (uint64_t)p->offset, m->base + (uint64_t)m->pieces[i].offset, had, &why);
        if (st == ST_OK && p->zeros && had < p->bytes) /* marks and texts of rows that never come are looked at */
            st = m->d->ops->fill(q, now->base + (uint64_t)(p->offset + had), 0, p->bytes - had, &why);
        now->pieces[i].changed = m->pieces[i].changed;
    }
    if (st == ST_OK) st = m->d->ops->sync(q, NULL, NULL, &why);
    if (q) m->d->ops->queue_free(m->d, q);
    if (st != ST_OK) {
        if (now->base) m->d->ops->free(m->d, now->base, now->bytes);
        mem_free(im->account, now, mirror_size(now->cap));
        return image_mirror_to_host(im, e); /* where there is room */
    }
    now->d = m->d;
    now->version = m->version;
    now->current = m->current;
    now->ahead = m->ahead;
    now->texts_home = m->texts_home;
    image_mirror_free(im);
    im->mirror = now;
    return ST_OK;
}

static Piece *find(const Image *im, const void *array) {
    ImageMirror *m = im->mirror;
    for (int32_t i = 0; array && i < m->n; i++)
        if ((const char *)array >= (const char *)m->pieces[i].host && (const char *)array < (const char *)m->pieces[i].host + m->pieces[i].bytes) return &m->pieces[i];
    return NULL;
}
DevPtr image_mirror_at(const Image *im, const void *array) {
    const Piece *p = find(im, array);
    return p ? im->mirror->base + (uint64_t)p->offset + (uint64_t)((const char *)array - (const char *)p->host) : 0;
}
uint64_t image_mirror_texts(const Image *im) {
    const ImageMirror *m = im->mirror;
    return m->texts < 0 ? 0 : m->base + (uint64_t)m->pieces[m->texts].offset - (uint64_t)(uintptr_t)m->pieces[m->texts].host;
}
void image_mirror_text_room(Image *im, const char *room) {
    ImageMirror *m = im->mirror;
    m->texts_home = MIN_OF(m->texts_home, room - (const char *)m->pieces[m->texts].host);
}
void image_mirror_changed(Image *im, const void *array) {
    Piece *p = find(im, array);
    if (!p) return;
    p->changed = true;
    im->mirror->ahead = true;
}
bool image_mirror_ahead(const Image *im) { return im->mirror && im->mirror->ahead; }

static void drop_stage(Image *im) {
    mem_free(im->account, im->mirror->stage, im->mirror->stage_bytes);
    im->mirror->stage = NULL;
    im->mirror->stage_bytes = 0;
}
Status image_mirror_fetch(Image *im, Err *e) {
    ImageMirror *m = im->mirror;
    if (!m || !m->ahead) return ST_OK;
    DevQueue *q;
    int64_t bytes = 8, at = 0, from;
    for (int32_t i = 0; i < m->n; i++) bytes += m->pieces[i].changed ? used_bytes(im, &m->pieces[i], &from) : 0;
    drop_stage(im);
    if (!(m->stage = mem_alloc(im->account, bytes, e))) return ST_ERROR;
    m->stage_bytes = bytes;
    Status st = m->d->ops->queue_new(m->d, &q, e);
    if (st == ST_OK) {
        for (int32_t i = 0; i < m->n && st == ST_OK; i++) {
            const Piece *p = &m->pieces[i];
            if (!p->changed) continue;
            int64_t n = used_bytes(im, p, &from) - from;
            if (n > 0) st = m->d->ops->copy_out(q, m->stage + at, m->base + (uint64_t)(p->offset + from), n, e);
            at += n;
        }
        if (st == ST_OK) st = m->d->ops->sync(q, NULL, NULL, e);
        m->d->ops->queue_free(m->d, q);
    }
    if (st != ST_OK) drop_stage(im);
    return st;
}
void image_mirror_commit(Image *im) {
    ImageMirror *m = im->mirror;
    if (!m || !m->stage) return;
    for (int64_t i = 0, at = 0, from; i < m->n; i++) {
        Piece *p = &m->pieces[i];
        if (!p->changed) continue;
        int64_t n = used_bytes(im, p, &from) - from;
        memcpy((char *)p->host + from, m->stage + at, (size_t)n);
        at += n;
        p->changed = false;
        if (i == m->texts) m->texts_home = from + n;
    }
    m->ahead = false;
    drop_stage(im);
}
Status image_mirror_to_host(Image *im, Err *e) {
    TRY(image_mirror_fetch(im, e));
    image_mirror_commit(im);
    return ST_OK;
}

void image_mirror_stale(Image *im) {
    if (im->mirror) im->mirror->current = false;
}
